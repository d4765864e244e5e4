/* Finds the features of a weight. separate_find turns the weight's expression into a tree of struct node.
   separate_feature_map makes the map of each side, query and key. The last axis of a map counts features. */
#include "separate.h"
#include "../pass.h"
#include "../../analysis/analysis.h"
#include "../../expression/expression.h"

#include <string.h>

const struct expr *separate_query_position(const struct separation *x)
{
    if (x->m->axis[x->lane].source == x->m->axis[x->stream].source) return expr_index(x->m, x->lane);
    return expr_query_position(x->m, x->lane, x->stream);
}

/* ---- from the expression to features ---- */

bool separate_uses_axis(const struct separation *x, const struct expr *e, int axis)
{
    return expr_uses_axis(e, x->value->operand, axis);
}

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

const struct node *separate_product(struct separation *x, const struct node *a, const struct node *b)
{
    return node(x, NODE_PRODUCT, a, b, a->features * b->features);
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

/* Returns the LEAF of a sum of a[i] * b[j] * decay over one constant axis, with a decay per element. Otherwise
   returns NULL. */
static struct node *decaying_product(struct separation *x, const struct ref *r)
{
    const struct value *const sum = &x->g->value[r->of], *const v = &x->g->value[sum->operand[0].of];
    const struct ref plain = graph_ref(x->g, r->of, NULL), terms = graph_ref(x->g, sum->operand[0].of, NULL);
    if (sum->op != GRAPH_REDUCE || sum->fold != FOLD_SUM || sum->init != 0 || sum->where || !ref_equal(r, &plain) ||
        v->op != GRAPH_MAP || !ref_equal(&sum->operand[0], &terms) || v->rank != sum->rank + 1)
        return NULL;
    const int axis = v->axes[v->rank - 1];
    if (value_has_axis(sum, axis) || x->m->axis[axis].source != SIZE_CONSTANT) return NULL;
    struct value *const copy = arena_alloc(x->m->arena, sizeof *copy); /* a copy, because graph_insert moves values */
    *copy = *v;
    struct node *const n = node(x, NODE_LEAF, NULL, NULL, x->m->axis[axis].extent);
    n->axis = axis;
    n->terms = copy;
    n->factor[QUERY] = n->factor[KEY] = expr_real(x->m, 1);
    return split_product(x, n, v->expr) && n->decay ? n : NULL;
}

/* Returns the LEAF of an inner product <a[i], b[j]> over one constant axis, or NULL. */
static struct node *inner_product(struct separation *x, const struct ref *r)
{
    const struct value *v = &x->g->value[r->of];
    if (v->op != GRAPH_CONTRACT || v->where) return NULL;
    struct ref plain = graph_ref(x->g, r->of, NULL);
    if (!ref_equal(r, &plain)) return NULL;
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

/* If a term has no features, continue with the other terms, so that the user sees all reasons. */
const struct node *separate_find(struct separation *x, const struct expr *e)
{
    bool query = separate_uses_axis(x, e, x->lane), key = separate_uses_axis(x, e, x->stream);
    if (!query || !key) return key ? factor(x, expr_real(x->m, 1), e) : factor(x, e, expr_real(x->m, 1));
    if (e->op == EXPR_OPERAND) {
        const struct node *product = inner_product(x, &x->value->operand[e->integer]);
        if (!product) product = decaying_product(x, &x->value->operand[e->integer]);
        if (!product)
            return separate_none(x, "a value that depends on both query and key is not an inner product over features");
        if (product->decay ||
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
    if (separate_has_power(x, e)) return separate_powers(x, e);
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

/* ---- from features to expressions ---- */

/* Returns the operand of a side's map that reads r. Adds the operand if needed. Returns NULL if there is no room. */
static const struct expr *operand_of(struct separation *x, enum side side, const struct ref *r)
{
    struct value *v = &x->made[side];
    int k = 0;
    while (k < v->operands && !ref_equal(&v->operand[k], r)) k++;
    if (k == MAX_OPERANDS) return NULL;
    if (k == v->operands) v->operand[v->operands++] = *r;
    return expr_operand(x->m, k);
}

/* Returns e, an expression over the weight's operands, as an expression over the operands of v. May add operands to v.
   Returns NULL if there is no room. */
static const struct expr *over_operands_of(const struct separation *x, struct value *v, const struct expr *e)
{
    const struct expr *with[MAX_OPERANDS] = {NULL};
    for (int k = 0; k < x->value->operands; k++) {
        with[k] = expr_operand(x->m, k);
        if (!expr_uses(e, with[k])) continue;
        const int number = graph_operand(v, &x->value->operand[k]);
        if (number < 0) return NULL;
        with[k] = expr_operand(x->m, number);
    }
    return expr_bind(x->m, e, with);
}

/* Returns one part of the prefix sums at position `end`. `sum` reads the keys' sums. */
static struct ref at_position(const struct separation *x, const struct ref *sum, bool low, const struct expr *end)
{
    struct ref r = *sum;
    r.of = low ? x->at_chunks - 1 : x->at_chunks;
    for (int k = 0; k < r.rank; k++)
        if (ref_axis(&r, k) == x->stream) r.sub[k] = end;
    return r;
}

/* Returns `position`, or the nearest position of a key. */
static const struct expr *within_keys(const struct separation *x, const struct expr *position)
{
    const struct expr *const last = expr_sub(x->m, expr_size(x->m, x->stream), expr_int(x->m, 1));
    return expr_max(x->m, expr_min(x->m, position, last), expr_int(x->m, 0));
}

/* Returns r at element f of a head. */
static struct ref of_element(const struct separation *x, struct ref r, int axis, const struct expr *f)
{
    for (int k = 0; k < r.rank && axis >= 0; k++) r.sub[k] = expr_replace(x->m, r.sub[k], expr_index(x->m, axis), f);
    return r;
}

/* Returns base^(a - b), or NULL if there is no room. a and b are prefix sums, each of a high and a low part that
   operands of v read. */
static const struct expr *power_of_sums(const struct separation *x, const struct node *n, struct value *v,
                                        const struct expr *f, const struct ref *high, const struct ref *low)
{
    const struct expr *part[2];
    for (int p = 0; p < 2; p++) {
        const struct expr *of[2];
        for (int k = 0; k < 2; k++) {
            const struct ref r = of_element(x, p ? low[k] : high[k], n->sums->axis, f);
            const int number = graph_operand(v, &r);
            if (number < 0) return NULL;
            of[k] = expr_operand(x->m, number);
        }
        part[p] = expr_sub(x->m, of[0], of[1]);
    }
    return expr_pow(x->m, n->base, expr_add(x->m, part[0], part[1]));
}

/* Returns the feature of a decay by prefix sums. For a query, the feature is base^(own sum - end). For a key, it is
   base^(end - own sum). `end` is the sum before the chunk. */
static const struct expr *decay_feature(struct separation *x, const struct node *n, enum side side,
                                        const struct expr *f)
{
    const struct sums *const s = n->sums;
    const struct expr *const position = within_keys(x, x->end[side]);
    const struct ref end[2] = {at_position(x, &s->side[KEY], false, position),
                               at_position(x, &s->side[KEY], true, position)};
    const struct ref high[2] = {side == QUERY ? s->side[QUERY] : end[0], side == QUERY ? end[0] : s->side[KEY]},
                     low[2] = {side == QUERY ? s->low[QUERY] : end[1], side == QUERY ? end[1] : s->low[KEY]};
    const struct expr *const e = power_of_sums(x, n, &x->made[side], f, high, low);
    return e && side == QUERY && !program_takes_outer_sums(x->c) ? expr_select(x->m, x->before, expr_real(x->m, 1), e)
                                                                 : e;
}

/* Returns element f of a LEAF's vector, times the feature of the element's decay. */
static const struct expr *decaying_element(struct separation *x, const struct node *n, enum side side,
                                           const struct expr *f)
{
    const struct expr *with[MAX_OPERANDS] = {NULL}, *const index = expr_index(x->m, n->axis);
    for (int k = 0; k < n->terms->operands; k++) {
        with[k] = expr_operand(x->m, k);
        if (!expr_uses(n->factor[side], with[k])) continue;
        const struct ref r = of_element(x, n->terms->operand[k], n->axis, f);
        if (!(with[k] = operand_of(x, side, &r))) return NULL;
    }
    const struct expr *const element = expr_bind(x->m, expr_replace(x->m, n->factor[side], index, f), with),
                             *const decay = decay_feature(x, n->decay, side, f);
    return decay ? expr_mul(x->m, element, decay) : NULL;
}

/* Returns the factor of a state with a decay by prefix sums from one chunk to the next. If the program joins two
   states, the last two positions of the sums' array hold the sums before and after the keys of the second state. */
static const struct expr *kept_by_sums(struct separation *x, const struct node *n, const struct expr *f, int64_t chunk,
                                       struct value *state)
{
    const struct expr *const own = expr_index(x->m, x->chunk_axis),
                             *const next = expr_add(x->m, own, expr_int(x->m, 1)), *const of[2] = {next, own},
                             *const length = expr_int(x->m, chunk);
    struct ref high[2], low[2];
    const int64_t elements = n->sums->axis < 0 ? 0 : x->m->axis[n->sums->axis].extent;
    if (elements && (f->op != EXPR_INDEX || x->m->axis[f->integer].extent != elements))
        f = expr_max(x->m, expr_min(x->m, f, expr_int(x->m, elements - 1)), /* The index of another term's row can be
                                                                               beyond the elements, so it is clamped. */
                     expr_int(x->m, 0));
    for (int k = 0; k < 2; k++) {
        const bool joins = program_folds_states(&x->c->program);
        const struct expr *const begin = joins ? expr_size(x->m, x->stream) : expr_mul(x->m, of[k], length),
                                 *const end = expr_sub(x->m, begin, expr_int(x->m, joins ? 1 + k : 1 + x->wait));
        /* A program that joins states has the sums before the second state, even if that state has one key. */
        const struct expr *const position = joins ? end : within_keys(x, end);
        high[k] = at_position(x, &n->sums->side[KEY], false, position);
        low[k] = at_position(x, &n->sums->side[KEY], true, position);
    }
    const struct expr *const kept = power_of_sums(x, n, state, f, high, low);
    x->full |= !kept;
    return kept;
}

/* Returns base^steps for a base from 0 to 1 and steps >= 0. `above` is a base above 0, because powers are computed with
   its logarithm. If the base is 0, only steps 0 and 1 have a value or a derivative. */
static const struct expr *or_of_0(const struct separation *x, const struct expr *base, const struct expr *above,
                                  const struct expr *steps, const struct expr *power)
{
    if (above == base) return power;
    const struct expr *const zero = expr_real(x->m, 0), *const one = expr_real(x->m, 1);
    const struct expr *e = program_is_differentiated(&x->c->program)
                               ? expr_select(x->m, expr_eq(x->m, steps, expr_int(x->m, 1)), base, zero)
                               : zero;
    e = expr_select(x->m, expr_eq(x->m, steps, expr_int(x->m, 0)), one, e);
    return expr_select(x->m, expr_eq(x->m, base, zero), e, power);
}

/* Returns the base if it is above 0. Otherwise returns a base that is, and is equal if it matters. */
static const struct expr *above_0(const struct separation *x, const struct expr *base)
{
    static const double NEAR_0 = 0x1p-60;
    return expr_range(base, NULL).low > 0 ? base : expr_max(x->m, base, expr_real(x->m, NEAR_0));
}

/* Returns base^steps. In a program with gradients, its derivative is that of base^position. The ends of chunks do not
   affect the result, and the factor from chunk to chunk has no gradient. Positions are counted from the last key,
   because the weights of few queries are near it. */
static const struct expr *decay_power(const struct separation *x, const struct expr *base, const struct expr *steps,
                                      const struct expr *position)
{
    const struct expr *const above = above_0(x, base), *power = expr_pow(x->m, above, steps);
    if (!program_is_differentiated(&x->c->program) || !expr_has(base, EXPR_OPERAND))
        return or_of_0(x, base, above, steps, power);
    const struct expr *const log = decay_log(x->m, above), *const zero = expr_sub(x->m, log, expr_held(x->m, log));
    power = expr_mul(x->m, expr_held(x->m, power), expr_add(x->m, expr_real(x->m, 1), expr_mul(x->m, zero, position)));
    return or_of_0(x, base, above, steps, power);
}

/* Returns feature f of one side of tree n, or NULL if there is no room for operands. 0 <= f < n->features. */
static const struct expr *feature(struct separation *x, const struct node *n, enum side side, const struct expr *f)
{
    switch (n->kind) {
    case NODE_LEAF: {
        if (n->decay) return decaying_element(x, n, side, f);
        struct ref r = n->leaf[side];
        for (int k = 0; k < r.rank; k++) r.sub[k] = expr_replace(x->m, r.sub[k], expr_index(x->m, n->axis), f);
        const struct expr *const element = operand_of(x, side, &r), *const decay = n->decay ? decay_feature(x, n->decay,
                                                                                                            side, f)
                                                                                            : NULL;
        if (!n->decay || !element || !decay) return n->decay && !decay ? NULL : element;
        return expr_mul(x->m, element, decay);
    }
    case NODE_FACTOR: return over_operands_of(x, &x->made[side], n->factor[side]);
    case NODE_DECAY: {
        if (n->sums) return decay_feature(x, n, side, f);
        /* The query has base^(i - end), the key base^(end - j), with `end` the last key before the chunk. Queries of
           chunk 0 have base^0. */
        const struct expr *own = side == KEY ? expr_index(x->m, x->stream) : separate_query_position(x);
        const struct expr *steps = side == KEY ? expr_sub(x->m, x->end[KEY], own) : expr_sub(x->m, own, x->end[QUERY]);
        if (side == QUERY && !program_takes_outer_sums(x->c))
            steps = expr_select(x->m, x->before, expr_int(x->m, 0), steps);
        const struct expr *const base = over_operands_of(x, &x->made[side], n->base);
        const struct expr *const size = expr_size(x->m, x->stream);
        return base ? decay_power(x, base, steps, expr_sub(x->m, side == KEY ? size : own, side == KEY ? own : size))
                    : NULL;
    }
    case NODE_SUM: {
        const struct expr *count = expr_int(x->m, n->a->features);
        const struct expr *in_a = n->a->features == 1 ? expr_int(x->m, 0)
                                                      : expr_min(x->m, f, expr_int(x->m, n->a->features - 1));
        const struct expr *const zero = expr_real(x->m, 0);
        const struct expr *in_b = !n->b || n->b->features == 1
                                      ? expr_int(x->m, 0)
                                      : expr_max(x->m, expr_sub(x->m, f, count), expr_int(x->m, 0));
        const struct expr *a = feature(x, n->a, side, in_a), *b = n->b ? feature(x, n->b, side, in_b) : zero,
                          *const chosen = n->factor[side] ? over_operands_of(x, &x->made[side], n->factor[side]) : zero;
        if (!a || !b || !chosen) return NULL;
        if (n->factor[side]) {
            a = expr_select(x->m, chosen, a, zero);
            b = expr_select(x->m, chosen, zero, b);
        }
        return n->b ? expr_select(x->m, expr_lt(x->m, f, count), a, b) : a;
    }
    case NODE_PRODUCT: {
        const struct expr *count = expr_int(x->m, n->b->features);
        const struct expr *a = feature(x, n->a, side,
                                       n->a->features == 1 ? expr_int(x->m, 0) : expr_div(x->m, f, count));
        const struct expr *b = feature(x, n->b, side, n->a->features == 1 ? f : expr_mod(x->m, f, count));
        return a && b ? expr_mul(x->m, a, b) : NULL;
    }
    case NODE_SQUARE: {
        /* Feature f = t * n + k is the product of elements k and (k + t) mod n. Products with t > 0 occur twice, so
           the query's side is doubled. */
        const struct expr *count = expr_int(x->m, n->a->features), *t = expr_div(x->m, f, count),
                          *first = expr_mod(x->m, f, count);
        const struct expr *a = feature(x, n->a, side, first),
                          *b = feature(x, n->a, side, expr_mod(x->m, expr_add(x->m, first, t), count));
        if (!a || !b) return NULL;
        const struct expr *product = expr_mul(x->m, a, b);
        if (side == KEY || n->a->features == 1) return product;
        const struct expr *once = expr_eq(x->m, t, expr_int(x->m, 0));
        return expr_mul(x->m, product, expr_select(x->m, once, expr_real(x->m, 1), expr_real(x->m, 2)));
    }
    case NODE_POWER: {
        const struct expr *product = side == QUERY ? separate_power_times(x, n, f) : expr_real(x->m, 1);
        for (int k = 0; k < n->power->degree && product; k++) {
            const struct expr *const e = feature(x, n->a, side, separate_power_index(x, n, k, f));
            product = e ? expr_mul(x->m, product, e) : NULL;
        }
        return product;
    }
    }
    return NULL;
}

const struct expr *separate_kept(struct separation *x, const struct node *n, const struct expr *f, int64_t chunk,
                                 struct value *state)
{
    const struct expr *one = expr_real(x->m, 1), *a = NULL, *b = NULL;
    switch (n->kind) {
    case NODE_LEAF: return n->decay ? kept_by_sums(x, n->decay, f, chunk, state) : NULL;
    case NODE_FACTOR: return NULL;
    case NODE_DECAY:
        if (n->sums) return kept_by_sums(x, n, f, chunk, state);
        a = over_operands_of(x, state, n->base);
        x->full |= !a;
        if (!a) return NULL;
        b = program_folds_states(&x->c->program) ? expr_size(x->m, x->stream) : expr_int(x->m, chunk);
        return or_of_0(x, a, above_0(x, a), b, expr_pow(x->m, above_0(x, a), b));
    case NODE_SUM:
        a = separate_kept(x, n->a, f, chunk, state);
        if (!n->b) return a;
        b = separate_kept(x, n->b, expr_sub(x->m, f, expr_int(x->m, n->a->features)), chunk, state);
        if (!a && !b) return NULL;
        return expr_select(x->m, expr_lt(x->m, f, expr_int(x->m, n->a->features)), a ? a : one, b ? b : one);
    case NODE_PRODUCT:
        a = separate_kept(x, n->a, expr_div(x->m, f, expr_int(x->m, n->b->features)), chunk, state);
        b = separate_kept(x, n->b, expr_mod(x->m, f, expr_int(x->m, n->b->features)), chunk, state);
        break;
    case NODE_SQUARE: {
        const struct expr *count = expr_int(x->m, n->a->features), *first = expr_mod(x->m, f, count);
        a = separate_kept(x, n->a, first, chunk, state);
        b = separate_kept(x, n->a, expr_mod(x->m, expr_add(x->m, first, expr_div(x->m, f, count)), count), chunk,
                          state);
        break;
    }
    case NODE_POWER:
        for (int k = 0; k < n->power->degree; k++) {
            b = separate_kept(x, n->a, separate_power_index(x, n, k, f), chunk, state);
            a = a && b ? expr_mul(x->m, a, b) : a ? a : b;
        }
        return a;
    }
    return a && b ? expr_mul(x->m, a, b) : a ? a : b;
}

const struct expr *separate_same_id(const struct separation *x, const struct expr *position, const struct expr *end)
{
    const struct expr *like = x->id[KEY], *a = expr_id(x->m, EXPR_ID, like->name, like->arg[0], position, NULL);
    return expr_eq(x->m, a, expr_id(x->m, EXPR_ID, like->name, like->arg[0], end, NULL));
}

const struct expr *separate_end_before(const struct separation *x, const struct expr *chunk, int64_t length)
{
    const struct expr *begin = expr_mul(x->m, chunk, expr_int(x->m, length));
    if (x->wait) begin = expr_max(x->m, expr_sub(x->m, begin, expr_int(x->m, x->wait)), expr_int(x->m, 0));
    return expr_sub(x->m, expr_min(x->m, begin, expr_size(x->m, x->stream)), expr_int(x->m, 1));
}

const struct expr *separate_of_last_id(const struct separation *x, const struct expr *e, int64_t chunk)
{
    const struct expr *end = separate_end_before(x, expr_index(x->m, x->chunk_axis), chunk);
    return expr_select(x->m, separate_same_id(x, x->id[KEY]->arg[1], end), e, expr_real(x->m, 0));
}

/* Whether each index of the axis has its own sum of this side's features. */
static bool is_outer(const struct separation *x, enum side side, int axis)
{
    return x->outer >> axis & 1 && (side == QUERY || x->apart || x->m->axis[axis].source != SIZE_MEMBERS);
}

int separate_feature_map(struct separation *x, const struct node *n, enum side side, int axis, int64_t chunk)
{
    x->made[side] = graph_value(GRAPH_MAP, 0, NULL);
    struct value *v = &x->made[side];
    v->expr = feature(x, n, side, expr_index(x->m, axis));
    if (!v->expr) return -1;
    if (side == KEY) v->expr = separate_if_shown(x, v->expr);
    if (side == KEY && x->id[KEY]) v->expr = separate_of_last_id(x, v->expr, chunk);
    for (int a = 0; a < x->m->axes; a++) /* also if no feature changes along it */
        if (is_outer(x, side, a)) v->axes[v->rank++] = a;
    for (int k = 0; k < x->value->rank; k++) {
        bool used = x->value->axes[k] == (side == KEY ? x->stream : x->lane) ||
                    (expr_axes(v->expr) >> x->value->axes[k] & 1);
        for (int o = 0; o < v->operands; o++) used |= ref_uses_axis(&v->operand[o], x->value->axes[k]);
        if (used && !is_outer(x, side, x->value->axes[k])) v->axes[v->rank++] = x->value->axes[k];
    }
    bool chunks = x->chunk_axis >= 0 && (expr_axes(v->expr) >> x->chunk_axis & 1);
    for (int o = 0; o < v->operands && x->chunk_axis >= 0; o++) chunks |= ref_uses_axis(&v->operand[o], x->chunk_axis);
    if (chunks) v->axes[v->rank++] = x->chunk_axis;
    v->axes[v->rank++] = axis;
    graph_insert(x->g, x->weight, *v);
    return x->weight++;
}
