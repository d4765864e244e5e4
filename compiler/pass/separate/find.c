/* Finds the features of a weight: turns its expression into a tree of struct node. */
#include "separate.h"
#include "../pass.h"
#include "../../analysis/analysis.h"
#include "../../expression/expression.h"

#include <string.h>

static struct node *node(struct separation *x, enum node_kind kind, const struct node *a, const struct node *b,
                         int64_t features)
{
    struct node *n = arena_alloc(x->m->arena, sizeof *n);
    *n = (struct node){.kind = kind, .a = a, .b = b, .features = features};
    return n;
}

/* Makes the node of a query's factor times a key's factor. */
static struct node *factor(struct separation *x, const struct expr *query, const struct expr *key)
{
    struct node *n = node(x, NODE_FACTOR, NULL, NULL, 1);
    n->factor[QUERY] = query;
    n->factor[KEY] = key;
    return n;
}

/* Whether r reads a side's prefix sum. Queries that are keys themselves read the keys' sums. */
static bool reads_sum_of(const struct separation *x, const struct ref *r, enum side side)
{
    const char *const name = x->g->value[r->of].name;
    const enum prefix_array found = name ? prefix_array_find(name) : PREFIX_ARRAYS;
    const bool of_keys = side == KEY || x->m->axis[x->lane].source == x->m->axis[x->stream].source;
    return found == (of_keys ? PREFIX_OF_KEY : PREFIX_OF_QUERY) && ref_uses_axis(r, side == KEY ? x->stream : x->lane);
}

/* Returns the DECAY of e, a power of (prefix sum of the query - prefix sum of the key). Returns NULL if e has
   another form. `axis`: the axis of elements that have separate sums, or -1. */
static struct node *decay_by_sums(struct separation *x, const struct value *v, const struct expr *e, int axis)
{
    struct sums *const sums = arena_alloc(x->m->arena, sizeof *sums);
    if (e->op != EXPR_POW || e->arg[0]->op != EXPR_REAL || !expr_is_exact_difference(e->arg[1])) return NULL;
    for (int side = 0; side < 2; side++) {
        const struct ref *const high = &v->operand[e->arg[1]->arg[0]->arg[side]->integer];
        sums->side[side] = *high;
        sums->low[side] = v->operand[e->arg[1]->arg[1]->arg[side]->integer];
        if (!reads_sum_of(x, high, (enum side)side)) return NULL;
    }
    sums->axis = axis;
    struct node *n = node(x, NODE_DECAY, NULL, NULL, 1);
    n->base = e->arg[0];
    n->sums = sums;
    x->sums = true;
    return n;
}

/* Adds the factors of product e to the factors of query and key, or makes n->decay. Returns false if a factor has
   another form. */
static bool split_product(struct separation *x, struct node *n, const struct expr *e)
{
    if (e->op == EXPR_MUL) return split_product(x, n, e->arg[0]) && split_product(x, n, e->arg[1]);
    const bool query = expr_uses_axis(e, n->terms->operand, x->lane),
               key = expr_uses_axis(e, n->terms->operand, x->stream);
    if (query && key) {
        const struct node *const decay = n->decay ? NULL : decay_by_sums(x, n->terms, e, n->axis);
        n->decay = decay;
        return decay != NULL;
    }
    const struct expr **const to = &n->factor[key ? KEY : QUERY];
    *to = expr_mul(x->m, *to, e);
    return true;
}

/* Returns the first factor of the product e that is a sum of query and key, or NULL. */
static const struct expr *sum_in_product(const struct separation *x, const struct value *v, const struct expr *e)
{
    const bool pair = expr_uses_axis(e, v->operand, x->lane) && expr_uses_axis(e, v->operand, x->stream);
    if (pair && (e->op == EXPR_ADD || e->op == EXPR_SUB)) return e;
    const struct expr *const first = pair && e->op == EXPR_MUL ? sum_in_product(x, v, e->arg[0]) : NULL;
    return first || !pair || e->op != EXPR_MUL ? first : sum_in_product(x, v, e->arg[1]);
}

/* Returns the product e with `to` in place of the factor `sum`. */
static const struct expr *with_term(struct module *m, const struct expr *e, const struct expr *sum,
                                    const struct expr *to)
{
    if (e == sum) return to;
    return e->op == EXPR_MUL ? expr_mul(m, with_term(m, e->arg[0], sum, to), with_term(m, e->arg[1], sum, to)) : e;
}

/* Whether two LEAFs with a decay have the same one. */
static bool same_decay(const struct node *a, const struct node *b)
{
    bool same = a->base == b->base;
    for (int side = 0; side < 2; side++)
        same &= ref_equal(&a->sums->side[side], &b->sums->side[side]) &&
                ref_equal(&a->sums->low[side], &b->sums->low[side]);
    return same;
}

enum { MAX_LEAFS = 16 };

/* The terms of a sum, which are LEAFs. */
struct leafs {
    int count;
    struct node *of[MAX_LEAFS];
};

/* Adds the product e, a[i] * b[j] * decay, to the terms. If another term has the same a or b, that term gets a sum as
   its b or a. Returns false if e has another form. */
static bool add_leaf(struct separation *x, const struct value *v, int axis, const struct expr *e, struct leafs *to)
{
    struct node *const n = node(x, NODE_LEAF, NULL, NULL, x->m->axis[axis].extent);
    n->axis = axis;
    n->terms = v;
    n->factor[QUERY] = n->factor[KEY] = expr_real(x->m, 1);
    if (!split_product(x, n, e) || !n->decay) return false;
    for (int k = 0; k < to->count; k++) {
        struct node *const other = to->of[k];
        for (int side = 0; side < 2 && same_decay(other->decay, n->decay); side++) {
            if (other->factor[side] != n->factor[side]) continue;
            other->factor[1 - side] = expr_add(x->m, other->factor[1 - side], n->factor[1 - side]);
            return true;
        }
    }
    if (to->count == MAX_LEAFS) return false;
    to->of[to->count++] = n;
    return true;
}

/* Adds the terms a[i] * b[j] * decay whose sum is e, over the operands of v. Returns false if e has another form. */
static bool add_leafs(struct separation *x, const struct value *v, int axis, const struct expr *e, struct leafs *to)
{
    const struct expr *const sum = sum_in_product(x, v, e);
    if (!sum) return add_leaf(x, v, axis, e, to);
    const struct expr *const second = sum->op == EXPR_ADD ? sum->arg[1] : expr_neg(x->m, sum->arg[1]);
    return add_leafs(x, v, axis, with_term(x->m, e, sum, sum->arg[0]), to) &&
           add_leafs(x, v, axis, with_term(x->m, e, sum, second), to);
}

/* Returns the tree of a sum of a[i] * b[j] * decay over one constant axis, with a decay per element. Otherwise
   returns NULL. */
static const struct node *decaying_product(struct separation *x, const struct ref *r)
{
    const struct value *const sum = &x->g->value[r->of], *const v = &x->g->value[sum->operand[0].of];
    if (sum->op != GRAPH_REDUCE || sum->fold != FOLD_SUM || sum->init != 0 || sum->where || !graph_is_plain(x->g, r) ||
        v->op != GRAPH_MAP || !graph_is_plain(x->g, &sum->operand[0]) || v->rank != sum->rank + 1)
        return NULL;
    const int axis = v->axes[v->rank - 1];
    if (value_has_axis(sum, axis) || x->m->axis[axis].source != SIZE_CONSTANT) return NULL;
    struct value *const copy = arena_alloc(x->m->arena, sizeof *copy); /* a copy, because graph_insert moves values */
    *copy = *v;
    struct leafs all = {0};
    if (!add_leafs(x, copy, axis, v->expr, &all)) return NULL;
    const struct node *tree = all.of[0];
    for (int k = 1; k < all.count; k++) tree = node(x, NODE_SUM, tree, all.of[k], tree->features + all.of[k]->features);
    return tree;
}

/* Returns the LEAF of an inner product <a[i], b[j]> over one constant axis, or NULL. */
static struct node *inner_product(struct separation *x, const struct ref *r)
{
    const struct value *v = &x->g->value[r->of];
    if (v->op != GRAPH_CONTRACT || v->where || !graph_is_plain(x->g, r)) return NULL;
    int summed = -1;
    for (int a = 0; a < x->m->axes; a++) {
        bool used = ref_uses_axis(&v->operand[0], a) || ref_uses_axis(&v->operand[1], a), kept = false;
        for (int k = 0; k < v->rank; k++) kept |= v->axes[k] == a;
        if (!used || kept) continue;
        if (summed >= 0 || x->m->axis[a].source != SIZE_CONSTANT) return NULL;
        summed = a;
    }
    if (summed < 0) return NULL;
    struct node *n = node(x, NODE_LEAF, NULL, NULL, x->m->axis[summed].extent);
    n->axis = summed;
    for (int k = 0; k < 2; k++) {
        bool query = ref_uses_axis(&v->operand[k], x->lane), key = ref_uses_axis(&v->operand[k], x->stream);
        if (query == key) return NULL;
        n->leaf[key ? KEY : QUERY] = v->operand[k];
    }
    return n->leaf[QUERY].rank && n->leaf[KEY].rank ? n : NULL;
}

/* Whether an exponential is a factor of e, over the operands of v. */
static bool exponential_factor(const struct graph *g, const struct value *v, const struct expr *e)
{
    if (e->op == EXPR_MUL) return exponential_factor(g, v, e->arg[0]) || exponential_factor(g, v, e->arg[1]);
    if (e->op != EXPR_OPERAND) return e->op == EXPR_EXP || e->op == EXPR_EXP2;
    const struct value *inner = &g->value[v->operand[e->integer].of];
    return inner->op == GRAPH_MAP && exponential_factor(g, inner, inner->expr);
}

/* Whether v is a map with an exponential factor. */
static bool grows_exponentially(const struct graph *g, int v)
{
    return g->value[v].op == GRAPH_MAP && exponential_factor(g, &g->value[v], g->value[v].expr);
}

bool separate_grows(const struct separation *x, const struct node *n)
{
    if (!n) return false;
    if (n->kind == NODE_LEAF && n->decay) return exponential_factor(x->g, n->terms, n->factor[KEY]);
    if (n->kind == NODE_LEAF) return grows_exponentially(x->g, n->leaf[KEY].of);
    if (n->kind == NODE_FACTOR) return exponential_factor(x->g, x->value, n->factor[KEY]);
    return separate_grows(x, n->a) || separate_grows(x, n->b);
}

const struct node *separate_none(struct separation *x, const char *why)
{
    const char *const said = x->c->reason;
    if (!said)
        x->c->reason = why;
    else if (!strstr(said, why))
        x->c->reason = arena_printf(x->m->arena, "%s; and %s", said, why);
    return NULL;
}

const struct node *separate_too_many(struct separation *x)
{
    return separate_none(x, arena_printf(x->m->arena, "it would have more than %d features", MAX_FEATURES));
}

/* Returns the tree of e, an exponential or power of query and key: base^(i - j) times a factor per side. Adds e to
   x->decay. Returns NULL after separate_none if e has another form. */
static const struct node *decay(struct separation *x, const struct expr *e)
{
    struct decay found;
    struct node *const by_sums = decay_by_sums(x, x->value, e, -1);
    if (by_sums) return by_sums;
    const struct expr *position = separate_query_position(x);
    const bool ordered = x->last && separate_not_ahead(x, x->last, position);
    const char *why = decay_of(x->m, x->value, x->lane, x->stream, ordered, e, &found);
    if (!why && !x->last)
        why = "a weight that decays with the distance between query and key has a linear form only under a mask "
              "that ends at the query, such as 'causal'";
    if (why) return separate_none(x, why);
    struct node *n = node(x, NODE_DECAY, NULL, NULL, 1);
    n->base = found.base;
    /* A base that reads an array has no constant logarithm, so a power would not be faster than e. */
    if (x->decays < MAX_DECAYS && !expr_has(found.base, EXPR_OPERAND)) {
        const struct expr *distance = expr_sub(x->m, position, expr_index(x->m, x->stream));
        x->decay[x->decays] = e;
        x->written[x->decays++] = expr_mul(
            x->m, expr_mul(x->m, expr_pow(x->m, found.base, distance), found.factor[QUERY]), found.factor[KEY]);
    }
    if (expr_is_real(found.factor[QUERY], 1) && expr_is_real(found.factor[KEY], 1)) return n;
    return node(x, NODE_PRODUCT, factor(x, found.factor[QUERY], found.factor[KEY]), n, 1);
}

/* Returns the operation in C syntax for messages, such as "'<'" or "fabs(…)". */
static const char *as_written(struct arena *arena, enum expr_op op)
{
    if (op == EXPR_SELECT) return "a choice '? :'";
    if (op == EXPR_NOT || expr_infix(op)) return arena_printf(arena, "'%s'", op == EXPR_NOT ? "!" : expr_infix(op));
    const bool prefixed = op == EXPR_ABS || op == EXPR_MIN || op == EXPR_MAX;
    return arena_printf(arena, "%s%s(…)", prefixed ? "f" : "", expr_name(op));
}

/* Returns the tree of quotient e. `a`: the tree of the dividend. NULL: the dividend has none, which is already
   reported. */
static const struct node *quotient(struct separation *x, const struct expr *e, const struct node *a)
{
    if (separate_uses_axis(x, e->arg[1], x->lane) && separate_uses_axis(x, e->arg[1], x->stream)) {
        if (e->arg[1]->op != EXPR_POW)
            return separate_none(x, "a quotient whose divisor depends on both query and key has no finite features");
        const struct node *power = separate_find(x,
                                                 expr_pow(x->m, e->arg[1]->arg[0], expr_neg(x->m, e->arg[1]->arg[1])));
        return power && a ? node(x, NODE_PRODUCT, power, a, a->features) : NULL;
    }
    if (!a) return NULL;
    const struct expr *one = expr_real(x->m, 1), *inverse = expr_div(x->m, one, e->arg[1]);
    bool of_key = separate_uses_axis(x, e->arg[1], x->stream);
    return node(x, NODE_PRODUCT, factor(x, of_key ? one : inverse, of_key ? inverse : one), a, a->features);
}

/* Writes e as the sum of a query's term, of[QUERY], and a key's term, of[KEY]. Returns false if e is no such sum. */
static bool split_sum(struct separation *x, const struct expr *e, const struct expr *of[2])
{
    const bool query = separate_uses_axis(x, e, x->lane), key = separate_uses_axis(x, e, x->stream);
    if (!query || !key) {
        of[QUERY] = of[KEY] = e->type == TYPE_INT ? expr_int(x->m, 0) : expr_real(x->m, 0);
        of[key ? KEY : QUERY] = e;
        return true;
    }
    const bool scales = e->op == EXPR_MUL || (e->op == EXPR_DIV && e->type == TYPE_REAL);
    const int sum = e->op == EXPR_MUL && !separate_uses_axis(x, e->arg[0], x->lane) &&
                    !separate_uses_axis(x, e->arg[0], x->stream);
    const struct expr *a[2], *b[2] = {e->arg[1 - sum], e->arg[1 - sum]};
    if (e->op != EXPR_ADD && e->op != EXPR_SUB && e->op != EXPR_NEG && !scales) return false;
    if (scales && (separate_uses_axis(x, b[0], x->lane) || separate_uses_axis(x, b[0], x->stream))) return false;
    if (!split_sum(x, e->arg[sum], a) || (e->arg[1] && !scales && !split_sum(x, e->arg[1], b))) return false;
    for (int side = 0; side < 2; side++) of[side] = expr_make(x->m, e->op, a[side], e->arg[1] ? b[side] : NULL, NULL);
    return true;
}

/* Returns the tree of cos or sin of a query's term plus a key's term, by the addition theorem. NULL: no such sum. */
static const struct node *wave(struct separation *x, const struct expr *e)
{
    const struct expr *of[2], *sine[2], *cosine[2];
    if (!split_sum(x, e->arg[0], of)) return NULL;
    for (int side = 0; side < 2; side++) {
        sine[side] = expr_make(x->m, EXPR_SIN, of[side], NULL, NULL);
        cosine[side] = expr_make(x->m, EXPR_COS, of[side], NULL, NULL);
    }
    if (e->op == EXPR_SIN)
        return node(x, NODE_SUM, factor(x, sine[QUERY], cosine[KEY]), factor(x, cosine[QUERY], sine[KEY]), 2);
    return node(x, NODE_SUM, factor(x, cosine[QUERY], cosine[KEY]), factor(x, expr_neg(x->m, sine[QUERY]), sine[KEY]),
                2);
}

/* Returns the tree of "condition ? a : b", with a condition on the query or on the key. */
static const struct node *choice(struct separation *x, const struct expr *e)
{
    const bool of_key = separate_uses_axis(x, e->arg[0], x->stream);
    if (of_key && separate_uses_axis(x, e->arg[0], x->lane)) {
        struct text says = {0};
        const struct expr *const i = expr_index(x->m, x->lane); /* in messages, the query's position */
        expression_print(expr_replace(x->m, e->arg[0], separate_query_position(x), i), NULL, x->m, &says);
        separate_none(x, arena_printf(x->m->arena,
                                      "a choice '? :' by '%s', a condition on both query and key, has no "
                                      "finite features",
                                      says.data));
        text_free(&says);
        return NULL;
    }
    const bool none[2] = {expr_is_real(e->arg[1], 0), expr_is_real(e->arg[2], 0)};
    const struct node *const a = none[0] ? NULL : separate_find(x, e->arg[1]), *const b = none[1] ? NULL
                                                                                                  : separate_find(
                                                                                                        x, e->arg[2]);
    if ((!a && !none[0]) || (!b && !none[1])) return NULL;
    struct node *const n = node(x, NODE_SUM, a ? a : b, a ? b : NULL, (a ? a->features : 0) + (b ? b->features : 0));
    n->factor[of_key ? KEY : QUERY] = a ? e->arg[0] : expr_not(x->m, e->arg[0]);
    return n;
}

enum { MAX_BASES = 8 };

/* The factors of a product, each with its exponent. */
struct factors {
    int count;
    const struct expr *of[MAX_BASES];
    int64_t times[MAX_BASES];
};

/* Adds the factors of e^times. Returns false if there are too many. */
static bool add_factors(const struct separation *x, const struct expr *e, int64_t times, struct factors *to)
{
    const bool pair = separate_uses_axis(x, e, x->lane) && separate_uses_axis(x, e, x->stream);
    if (pair && e->op == EXPR_MUL && e->arg[0] == e->arg[1]) return add_factors(x, e->arg[0], 2 * times, to);
    if (pair && e->op == EXPR_MUL) return add_factors(x, e->arg[0], times, to) && add_factors(x, e->arg[1], times, to);
    int k = 0;
    while (k < to->count && to->of[k] != e) k++;
    if (k == MAX_BASES) return false;
    to->count += k == to->count;
    to->of[k] = e;
    to->times[k] += times;
    return true;
}

static bool has_power(const struct separation *x, const struct expr *e)
{
    struct factors all = {0};
    if (e->op != EXPR_MUL || !add_factors(x, e, 1, &all)) return false;
    bool has = false;
    for (int k = 0; k < all.count; k++) {
        if (all.times[k] > MAX_POWER) return false;
        has |= all.times[k] > 2 && separate_uses_axis(x, all.of[k], x->lane) &&
               separate_uses_axis(x, all.of[k], x->stream);
    }
    return has;
}

static const struct node *powers(struct separation *x, const struct expr *e)
{
    struct factors all = {0};
    const struct node *product = NULL;
    bool found = add_factors(x, e, 1, &all);
    for (int k = 0; k < all.count; k++) {
        const int degree = (int)all.times[k];
        const bool pair = separate_uses_axis(x, all.of[k], x->lane) && separate_uses_axis(x, all.of[k], x->stream);
        const struct node *n = separate_find(x, pair && degree > 2 ? all.of[k] : expr_power(x->m, all.of[k], degree));
        if (n && n->features > MAX_FEATURES) n = separate_too_many(x);
        if (n && pair && degree > 2 && !(n = separate_power(x, n, degree))) separate_too_many(x);
        found &= n != NULL;
        product = found && product ? node(x, NODE_PRODUCT, product, n, product->features * n->features) : n;
        if (product && product->features > MAX_FEATURES) product = separate_too_many(x);
        found &= product != NULL;
    }
    return found ? product : NULL;
}

/* If a term has no features, continue with the other terms, so that the user sees all reasons. */
const struct node *separate_find(struct separation *x, const struct expr *e)
{
    bool query = separate_uses_axis(x, e, x->lane), key = separate_uses_axis(x, e, x->stream);
    if (!query || !key) return key ? factor(x, expr_real(x->m, 1), e) : factor(x, e, expr_real(x->m, 1));
    if (e->op == EXPR_OPERAND) {
        const struct node *const terms = decaying_product(x, &x->value->operand[e->integer]),
                                 *const product = terms ? terms : inner_product(x, &x->value->operand[e->integer]);
        if (!product)
            return separate_none(x, "a value that depends on both query and key is not an inner product over features");
        if (terms ||
            (grows_exponentially(x->g, product->leaf[QUERY].of) && grows_exponentially(x->g, product->leaf[KEY].of)))
            x->exponentials = true;
        return product;
    }
    if (e->op == EXPR_NEG) {
        const struct node *a = separate_find(x, e->arg[0]);
        return a ? node(x, NODE_PRODUCT, factor(x, expr_real(x->m, -1), expr_real(x->m, 1)), a, a->features) : NULL;
    }
    if (e->op == EXPR_EXP || e->op == EXPR_EXP2 || e->op == EXPR_POW) return decay(x, e);
    if (e->op == EXPR_SELECT) return choice(x, e);
    const struct node *const waves = e->op == EXPR_COS || e->op == EXPR_SIN ? wave(x, e) : NULL;
    if (waves) return waves;
    if (e->op != EXPR_ADD && e->op != EXPR_SUB && e->op != EXPR_MUL && e->op != EXPR_DIV)
        return separate_none(
            x, arena_printf(x->m->arena, "%s of query and key has no finite features", as_written(x->m->arena, e->op)));
    const struct expr *of[2];
    if ((e->op == EXPR_ADD || e->op == EXPR_SUB) && split_sum(x, e, of)) { /* two features, however many terms */
        const struct expr *const one = expr_real(x->m, 1);
        return node(x, NODE_SUM, factor(x, of[QUERY], one), factor(x, one, of[KEY]), 2);
    }
    if (has_power(x, e)) return powers(x, e);
    const struct node *a = separate_find(x, e->arg[0]);
    if (a && a->features > MAX_FEATURES) a = separate_too_many(x);
    if (e->op == EXPR_DIV) return quotient(x, e, a);
    if (e->op == EXPR_MUL && e->arg[0] == e->arg[1] && !a) return NULL;
    if (e->op == EXPR_MUL && e->arg[0] == e->arg[1]) {
        if (a->kind == NODE_FACTOR) return node(x, NODE_PRODUCT, a, a, 1);
        return node(x, NODE_SQUARE, a, NULL, a->features * (a->features + 1) / 2);
    }
    const struct node *b = separate_find(x, e->arg[1]);
    if (b && b->features > MAX_FEATURES) b = separate_too_many(x);
    if (!a || !b) return NULL;
    if (e->op == EXPR_MUL) return node(x, NODE_PRODUCT, a, b, a->features * b->features);
    if (e->op == EXPR_SUB)
        b = node(x, NODE_PRODUCT, factor(x, expr_real(x->m, -1), expr_real(x->m, 1)), b, b->features);
    return node(x, NODE_SUM, a, b, a->features + b->features);
}
