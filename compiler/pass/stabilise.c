/* A sum of weights that carry a factor exp(l) overflows where l is large, although quotients of such sums do not. This
   pass makes every such sum relative to the maximum M of l over its region: it is then 2^-M times what it was, with l
   in powers of two. What uses the sums is corrected: a map keeps track of the exponents that its terms have, brings
   those that it adds to the larger one, and multiplies its result by what does not cancel. A sum over run-time axes is
   marked as relative to M, so that it may be accumulated while M is still growing (the online normaliser of Milakov and
   Gimelshein, 2018). M keeps every axis that its sums keep: a state has a maximum for each of its features, as one for
   all would lose those far below it; an inner product with a state takes 2^M into its other factor, whose own maximum,
   over the features of one row, is known before its sum. An inner product of two exponentials over features that differ
   widely would underflow by parts: it becomes the sum of exp(a + b) that it is. Sums over a sequence in gradients stay
   as they are: what forward saved of a row, which such a sum made, bounds weights that are exponentials; of features
   that are exponentials each has to be a number by itself. */
#include "pass.h"
#include "../schedule/schedule.h"

#include <float.h>
#include <math.h>

/* ---- exponentials in products ---- */

const struct expr *expr_scaled(struct module *m, const struct expr *e, double by)
{
    switch ((int)e->op) {
    case EXPR_ADD:
    case EXPR_SUB:
        if (e->type == TYPE_REAL)
            return expr_make(m, e->op, expr_scaled(m, e->arg[0], by), expr_scaled(m, e->arg[1], by), NULL);
        break;
    case EXPR_NEG: return expr_make(m, EXPR_NEG, expr_scaled(m, e->arg[0], by), NULL, NULL);
    case EXPR_MUL:
        if (e->arg[1]->op == EXPR_REAL)
            return expr_make(m, EXPR_MUL, e->arg[0], expr_real(m, e->arg[1]->real * by), NULL);
        /* slope * distance: into the factor that does not run along the lanes */
        if (e->type == TYPE_REAL && e->arg[0]->type == TYPE_REAL && e->arg[1]->type != TYPE_REAL)
            return expr_make(m, EXPR_MUL, expr_scaled(m, e->arg[0], by), e->arg[1], NULL);
        break;
    default: break;
    }
    return expr_make(m, EXPR_MUL, e, expr_real(m, by), NULL);
}

/* x op y, where NULL is nothing. */
static const struct expr *joined(struct module *m, enum expr_op op, const struct expr *x, const struct expr *y)
{
    return x && y ? expr_make(m, op, x, y, NULL) : x ? x : y;
}

static const struct expr *exp2_of(struct module *m, const struct expr *x)
{
    return expr_make(m, EXPR_EXP2, x, NULL, NULL);
}

/* Splits a product into the sum of the exponents (in powers of two) of its exponentials and the rest; either may come
   out NULL. */
static void split_exponentials(struct module *m, const struct expr *e, const struct expr **exponent,
                               const struct expr **rest)
{
    if (e->op == EXPR_MUL) {
        split_exponentials(m, e->arg[0], exponent, rest);
        split_exponentials(m, e->arg[1], exponent, rest);
    } else if (e->op == EXPR_EXP || e->op == EXPR_EXP2)
        *exponent = joined(m, EXPR_ADD, *exponent,
                           e->op == EXPR_EXP ? expr_scaled(m, e->arg[0], 1 / log(2)) : e->arg[0]);
    else
        *rest = joined(m, EXPR_MUL, *rest, e);
}

/* Whether an exponent is relative to the logarithm of its row's sum, which is computed or given: it is no larger than
   0, or not by more than a weight is. */
static bool is_normalised(const struct graph *g, const struct value *v, const struct expr *exponent)
{
    if (exponent->op != EXPR_SUB || exponent->arg[1]->op != EXPR_OPERAND) return false;
    const struct value *row = &g->value[v->operand[exponent->arg[1]->integer].of];
    return row->rank < v->rank && (row->op == GRAPH_INPUT || (row->op == GRAPH_MAP && expr_has(row->expr, EXPR_LOG)));
}

/* The exponent of a map's value, NULL when it has no exponential factor that has to be made relative to something. */
static const struct expr *exponent_of(const struct graph *g, int v, const struct expr **rest)
{
    const struct expr *exponent = NULL;
    *rest = NULL;
    if (g->value[v].op == GRAPH_MAP) split_exponentials(g->module, g->value[v].expr, &exponent, rest);
    return exponent && is_normalised(g, &g->value[v], exponent) ? NULL : exponent;
}

/* ---- what the pass begins with: exponents are values of their own ---- */

/* Whether `operand` is a factor of the product e. */
static bool is_factor(const struct expr *e, const struct expr *operand)
{
    return e == operand || (e->op == EXPR_MUL && (is_factor(e->arg[0], operand) || is_factor(e->arg[1], operand)));
}

/* Maps that multiply by an exponential have it written out: exp2 of a value, times the rest. */
static void write_out(struct graph *g)
{
    struct module *m = g->module;
    const struct expr *rest;
    for (int v = 0; v < g->values; v++) {
        const struct expr *exponent = exponent_of(g, v, &rest);
        bool multiplies = false;
        for (int w = v + 1; w < g->values && exponent; w++)
            for (int k = 0; k < g->value[w].operands; k++) {
                if (g->value[w].operand[k].of != v) continue;
                bool by_map = g->value[w].op == GRAPH_MAP && is_factor(g->value[w].expr, expr_leaf(m, EXPR_OPERAND, k));
                const struct ref *other = g->value[w].op == GRAPH_CONTRACT ? &g->value[w].operand[1 - k] : NULL;
                const struct expr *its;
                multiplies |= by_map || (other && exponent_of(g, other->of, &its));
            }
        if (!multiplies || (exponent->op == EXPR_OPERAND && !rest)) continue;
        struct value value = g->value[v];
        value.expr = exponent;
        graph_insert(g, v, value);
        struct value *map = &g->value[v + 1];
        struct ref power = graph_ref(g, v, NULL);
        int number = graph_operand(map, &power);
        if (number >= 0) map->expr = joined(m, EXPR_MUL, exp2_of(m, expr_leaf(m, EXPR_OPERAND, number)), rest);
        v++;
    }
    for (int v = 0; v < g->values; v++)
        for (int k = 0; g->value[v].op == GRAPH_MAP && k < g->value[v].operands; k++) {
            int u = g->value[v].operand[k].of;
            if (!is_factor(g->value[v].expr, expr_leaf(m, EXPR_OPERAND, k)) || !exponent_of(g, u, &rest)) continue;
            if (graph_inline(g, &g->value[v], k, &g->value[u])) k = -1;
        }
}

/* A sum over an exponential map whose axes it calls by other names reads a map with those names. */
static void rename_axes(struct graph *g)
{
    for (int v = 0; v < g->values; v++)
        for (int k = 0; k < g->value[v].operands; k++) {
            const struct ref r = g->value[v].operand[k], plain = graph_ref(g, r.of, NULL);
            const struct expr *rest;
            if (g->value[v].op == GRAPH_MAP || ref_equal(&r, &plain) || !exponent_of(g, r.of, &rest)) continue;
            struct value map = graph_value(GRAPH_MAP, 0, NULL);
            bool names = true;
            for (int a = 0; a < r.rank && names; a++) {
                map.axes[map.rank] = ref_axis(&r, a);
                names = map.axes[map.rank] >= 0 && !value_has_axis(&map, map.axes[map.rank]);
                map.rank++;
            }
            map.operand[map.operands++] = r;
            map.expr = expr_leaf(g->module, EXPR_OPERAND, 0);
            if (!names || !graph_inline(g, &map, 0, &g->value[r.of])) continue;
            int same = 0;
            while (same < v && !graph_value_equal(&g->value[same], &map)) same++;
            if (same == v) graph_insert(g, v++, map);
            g->value[v].operand[k] = graph_ref(g, same, NULL);
        }
}

/* Inner products, over one constant axis, of two exponentials that both run along it become sums of exponentials. */
static void open_products(struct graph *g)
{
    struct module *m = g->module;
    for (int v = 0; v < g->values; v++) {
        const struct value *product = &g->value[v];
        const struct expr *rest[2];
        if (product->op != GRAPH_CONTRACT || product->where || product->rank == MAX_RANK) continue;
        int axis = -1, summed = 0;
        for (int a = 0; a < m->axes; a++)
            if ((ref_uses_axis(&product->operand[0], a) || ref_uses_axis(&product->operand[1], a)) &&
                !value_has_axis(product, a)) {
                axis = a;
                summed++;
            }
        if (summed != 1 || m->axis[axis].source != SIZE_CONSTANT) continue;
        struct value terms = graph_value(GRAPH_MAP, product->rank, product->axes);
        terms.axes[terms.rank++] = axis;
        terms.expr = NULL;
        bool both = true;
        for (int k = 0; k < 2; k++) {
            const struct ref *r = &product->operand[k];
            both &= ref_uses_axis(r, axis) && exponent_of(g, r->of, &rest[k]) != NULL;
            terms.operand[terms.operands++] = *r;
            terms.expr = joined(m, EXPR_MUL, terms.expr, expr_leaf(m, EXPR_OPERAND, k));
        }
        for (int k = 0; k < terms.operands && both; k++) {
            int u = terms.operand[k].of;
            if (exponent_of(g, u, &rest[0])) both = graph_inline(g, &terms, k, &g->value[u]), k = -1;
        }
        if (!both) continue;
        struct value sum = graph_value(GRAPH_REDUCE, product->rank, product->axes);
        sum.fold = FOLD_SUM;
        sum.operands = 1;
        graph_insert(g, v, terms);
        sum.operand[0] = graph_ref(g, v, NULL);
        g->value[++v] = sum;
        v += graph_map_summed(g, v);
    }
}

/* ---- how an expression over relative sums follows from the sums as they were: original = e * 2^exponent, where NULL
   is 0 ---- */

struct scaling {
    struct module *m;
    const struct expr *const *relative; /* by operand: its exponent, or NULL */
    bool impossible;
};
struct power {
    const struct expr *e, *exponent;
};

/* a and b to a common exponent, the larger one; a constant 0 has any. */
static const struct expr *agree(struct scaling *s, struct power *a, struct power *b)
{
    if (expr_is_real(a->e, 0)) a->exponent = b->exponent;
    if (expr_is_real(b->e, 0)) b->exponent = a->exponent;
    if (a->exponent == b->exponent) return a->exponent;
    struct power *part[2] = {a, b};
    const struct expr *zero = expr_real(s->m, 0), *common;
    common = expr_make(s->m, EXPR_MAX, a->exponent ? a->exponent : zero, b->exponent ? b->exponent : zero, NULL);
    for (int k = 0; k < 2; k++) {
        const struct expr *down = expr_make(s->m, EXPR_SUB, part[k]->exponent ? part[k]->exponent : zero, common, NULL);
        part[k]->e = expr_make(s->m, EXPR_MUL, part[k]->e, exp2_of(s->m, down), NULL);
    }
    return common;
}

static struct power scale(struct scaling *s, const struct expr *e)
{
    if (e->op == EXPR_OPERAND) return (struct power){e, s->relative[e->integer]};
    int arity = expr_arity(e->op);
    struct power arg[3] = {{NULL, NULL}, {NULL, NULL}, {NULL, NULL}};
    bool relative = false;
    for (int k = 0; k < arity; k++) {
        arg[k] = scale(s, e->arg[k]);
        relative |= arg[k].exponent != NULL;
    }
    const struct expr *exponent = NULL;
    if (relative) switch ((int)e->op) {
        case EXPR_ABS:
        case EXPR_NEG: exponent = arg[0].exponent; break;
        case EXPR_LOG: /* log(e * 2^x) = log(e) + x log 2 */
            e = expr_make(s->m, EXPR_LOG, arg[0].e, NULL, NULL);
            return (struct power){expr_make(s->m, EXPR_ADD, e, expr_scaled(s->m, arg[0].exponent, log(2)), NULL), NULL};
        case EXPR_ADD:
        case EXPR_SUB: exponent = agree(s, &arg[0], &arg[1]); break;
        case EXPR_MUL: exponent = joined(s->m, EXPR_ADD, arg[0].exponent, arg[1].exponent); break;
        case EXPR_DIV:
            exponent = arg[0].exponent;
            if (arg[1].exponent == exponent)
                exponent = NULL;
            else if (arg[1].exponent)
                exponent = expr_make(s->m, EXPR_SUB, exponent ? exponent : expr_real(s->m, 0), arg[1].exponent, NULL);
            break;
        case EXPR_EQ:
        case EXPR_NE:
        case EXPR_LT:
        case EXPR_LE: agree(s, &arg[0], &arg[1]); break;
        case EXPR_SELECT: exponent = agree(s, &arg[1], &arg[2]); break;
        default: s->impossible = true;
        }
    return (struct power){arity ? expr_make(s->m, e->op, arg[0].e, arg[1].e, arg[2].e) : e, exponent};
}

/* ---- plans ---- */

/* Map v is a weight that this pass can treat: it has an exponential factor, its own or that of the terms of a sum over
   constant axes that it is a multiple of, and is used only by sums over one region, which are used by maps or met by
   the features of a row. */
struct plan {
    int weight, inner; /* the sum over constant axes, or -1 */
    int sums, sum[MAX_OPERANDS];
    bool running; /* the sums run over run-time axes: the maximum is still growing while they do */
    const struct expr *exponent, *rest, *where;
};

/* Whether the sum runs over a run-time axis of the weight. */
static bool sums_at_run_time(const struct graph *g, const struct value *sum, const struct value *weight)
{
    for (int a = 0; a < weight->rank; a++)
        if (g->module->axis[weight->axes[a]].source != SIZE_CONSTANT && !value_has_axis(sum, weight->axes[a]))
            return true;
    return false;
}

/* The sum of exponential terms that the weight is a multiple of, or -1. */
static int inner_sum(const struct graph *g, const struct value *weight)
{
    for (int k = 0; k < weight->operands; k++) {
        const struct expr *leaf = expr_leaf(g->module, EXPR_OPERAND, k), *rest;
        int u = weight->operand[k].of;
        const struct value *sum = &g->value[u];
        if (sum->op != GRAPH_REDUCE || sum->fold != FOLD_SUM || sum->where || graph_uses(g, u) != 1 ||
            !is_factor(weight->expr, leaf))
            continue;
        if (expr_uses(expr_replace(g->module, weight->expr, leaf, expr_real(g->module, 1)), leaf)) continue;
        int terms = sum->operand[0].of;
        if (graph_uses(g, terms) == 1 && exponent_of(g, terms, &rest) && !sums_at_run_time(g, sum, &g->value[terms]))
            return u;
    }
    return -1;
}

/* Operand k of the contraction is a state; whether the other is a map that can take in what the state is relative
   to. */
static bool meets_state(const struct graph *g, const struct value *v, int k)
{
    return v->op == GRAPH_CONTRACT && !v->where && g->value[v->operand[1 - k].of].op == GRAPH_MAP &&
           g->value[v->operand[1 - k].of].rank < MAX_RANK;
}

/* `maximum`: as below. */
static bool make_plan(const struct graph *g, int v, const int *maximum, struct plan *plan)
{
    const struct value *weight = &g->value[v];
    if (weight->op != GRAPH_MAP || graph_is_output(g, v)) return false;
    *plan = (struct plan){.weight = v, .inner = inner_sum(g, weight)};
    plan->exponent = exponent_of(g, v, &plan->rest);
    if (!plan->exponent && plan->inner < 0) return false;
    for (int w = 0; w < g->values; w++)
        for (int k = 0; k < g->value[w].operands; k++) {
            const struct value *user = &g->value[w];
            if (user->operand[k].of != v) continue;
            struct ref plain = graph_ref(g, v, NULL);
            bool sum = (user->op == GRAPH_CONTRACT || (user->op == GRAPH_REDUCE && user->fold == FOLD_SUM)) &&
                       maximum[w] == -1;
            if (!sum || graph_is_output(g, w) || plan->sums == MAX_OPERANDS ||
                (plan->sums && user->where != plan->where))
                return false;
            if (!ref_equal(&user->operand[k], &plain)) return false;
            bool running = sums_at_run_time(g, user, weight);
            if (plan->sums && running != plan->running) return false;
            plan->running = running;
            plan->where = user->where;
            plan->sum[plan->sums++] = w;
        }
    for (int w = 0; w < g->values; w++) {
        const struct value *user = &g->value[w];
        const struct expr *relative[MAX_OPERANDS] = {NULL};
        bool any = false;
        for (int k = 0; k < user->operands; k++)
            for (int s = 0; s < plan->sums; s++) {
                if (user->operand[k].of != plan->sum[s]) continue;
                if (user->op != GRAPH_MAP && !(plan->running && meets_state(g, user, k))) return false;
                relative[k] = expr_leaf(g->module, EXPR_OPERAND, MAX_OPERANDS);
                any = true;
            }
        if (!any || user->op != GRAPH_MAP) continue;
        struct scaling trial = {.m = g->module, .relative = relative};
        scale(&trial, user->expr);
        if (trial.impossible || user->operands + 2 > MAX_OPERANDS) return false;
    }
    return plan->sums > 0;
}

/* The axes of the maximum: those of the weight, or of the region, that every sum keeps. */
static int kept_axes(const struct graph *g, const struct plan *plan, int *axes)
{
    const struct value *weight = &g->value[plan->weight], *first = &g->value[plan->sum[0]];
    int rank = 0;
    for (int a = 0; a < first->rank; a++) {
        int axis = first->axes[a];
        bool kept = value_has_axis(weight, axis) || (plan->where && (expr_axes(plan->where) >> axis & 1));
        for (int s = 1; s < plan->sums; s++) kept &= value_has_axis(&g->value[plan->sum[s]], axis);
        if (kept) axes[rank++] = axis;
    }
    return rank;
}

/* ---- the rewriting ---- */

enum { OF_WEIGHT = -2 }; /* a sum over the terms of a weight, which it is treated with */

struct stabilising {
    struct graph *g;
    struct module *m;
    int capacity;
    int *maximum;                                 /* by value: the maximum that it is relative to, -1, or OF_WEIGHT */
    int joined_map, joined_maximum, joined_value; /* the last map that took in a maximum, and what it became */
};

/* graph_insert, and everything that numbers values. */
static void insert(struct stabilising *x, int at, struct value v)
{
    graph_insert(x->g, at, v);
    if (x->g->values > x->capacity) {
        int *grown = arena_alloc(x->m->arena, 2 * (size_t)x->g->values * sizeof *grown);
        for (int k = 0; k < x->g->values - 1; k++) grown[k] = x->maximum[k];
        x->maximum = grown;
        x->capacity = 2 * x->g->values;
    }
    for (int k = x->g->values - 1; k > at; k--) x->maximum[k] = x->maximum[k - 1];
    x->maximum[at] = -1;
    for (int k = 0; k < x->g->values; k++) x->maximum[k] += x->maximum[k] >= at;
    x->joined_map += x->joined_map >= at;
    x->joined_maximum += x->joined_maximum >= at;
    x->joined_value += x->joined_value >= at;
}

static struct value reduction(struct graph *g, enum fold fold, double init, int rank, const int *axes, int of,
                              const struct expr *where)
{
    struct value v = graph_value(GRAPH_REDUCE, rank, axes);
    v.fold = fold;
    v.init = init;
    v.where = where;
    v.operands = 1;
    v.operand[0] = graph_ref(g, of, NULL);
    return v;
}

/* e * 2^(exponent - M), as a map over the axes of `like` and those of M that it lacks. */
static struct value relative_map(struct stabilising *x, const struct value *like, const struct expr *exponent,
                                 const struct expr *rest, int maximum)
{
    struct value v = *like;
    for (int k = 0; k < x->g->value[maximum].rank; k++)
        if (!value_has_axis(&v, x->g->value[maximum].axes[k])) v.axes[v.rank++] = x->g->value[maximum].axes[k];
    struct ref r = graph_ref(x->g, maximum, NULL);
    const struct expr *M = expr_leaf(x->m, EXPR_OPERAND, graph_operand(&v, &r));
    v.expr = joined(x->m, EXPR_MUL, exp2_of(x->m, expr_make(x->m, EXPR_SUB, exponent, M, NULL)), rest);
    return v;
}

/* What meets a state relative to M takes 2^M in: far = sum over f of features * 2^M * (state * 2^-M). */
static void join_state(struct stabilising *x, int user, int k)
{
    struct graph *g = x->g;
    int state = g->value[user].operand[k].of, maximum = x->maximum[state], features = g->value[user].operand[1 - k].of;
    if (x->joined_map != features || x->joined_maximum != maximum) {
        const struct ref *at = &g->value[user].operand[k];
        struct ref r = graph_ref(g, maximum, NULL);
        for (int a = 0; a < r.rank; a++)
            for (int s = 0; s < at->rank; s++)
                if (g->value[state].axes[s] == g->value[maximum].axes[a]) r.sub[a] = at->sub[s];
        struct value map = g->value[features];
        int number = graph_operand(&map, &r);
        map.expr = expr_make(x->m, EXPR_MUL, map.expr, exp2_of(x->m, expr_leaf(x->m, EXPR_OPERAND, number)), NULL);
        insert(x, user, map);
        x->joined_map = features;
        x->joined_maximum = maximum;
        x->joined_value = user++;
    }
    g->value[user].operand[1 - k].of = x->joined_value;
}

static void apply(struct stabilising *x, const struct plan *plan)
{
    struct graph *g = x->g;
    int axes[MAX_RANK], rank = kept_axes(g, plan, axes), at = plan->sum[0], first = at;
    const struct value weight = g->value[plan->weight];
    struct value made;
    int top, maximum;
    if (plan->inner < 0) {
        made = weight;
        made.expr = plan->exponent;
        insert(x, at, made);
        top = at++;
        maximum = at++;
        insert(x, maximum, reduction(g, FOLD_MAX, -DBL_MAX, rank, axes, top, plan->where));
        made = graph_value(GRAPH_MAP, weight.rank, weight.axes);
        for (int k = 0; k < weight.operands; k++) made.operand[made.operands++] = weight.operand[k];
        struct ref r = graph_ref(g, top, NULL);
        insert(x, at,
               relative_map(x, &made, expr_leaf(x->m, EXPR_OPERAND, graph_operand(&made, &r)), plan->rest, maximum));
    } else { /* the maximum over the terms, then over the region */
        const struct value sum = g->value[plan->inner], terms = g->value[sum.operand[0].of];
        const struct expr *rest, *exponent = exponent_of(g, sum.operand[0].of, &rest);
        made = terms;
        if (plan->exponent) { /* the weight's own exponentials join those of the terms */
            const struct expr *with[MAX_OPERANDS] = {NULL};
            for (int k = 0; k < weight.operands; k++)
                if (expr_uses(plan->exponent, expr_leaf(x->m, EXPR_OPERAND, k)))
                    with[k] = expr_leaf(x->m, EXPR_OPERAND, graph_operand(&made, &weight.operand[k]));
                else
                    with[k] = expr_leaf(x->m, EXPR_OPERAND, k);
            exponent = joined(x->m, EXPR_ADD, exponent, expr_bind(x->m, plan->exponent, with));
        }
        made.expr = exponent;
        insert(x, at, made);
        insert(x, at + 1, reduction(g, FOLD_MAX, -DBL_MAX, sum.rank, sum.axes, at, NULL));
        maximum = at + 2;
        insert(x, maximum, reduction(g, FOLD_MAX, -DBL_MAX, rank, axes, at + 1, plan->where));
        insert(x, at + 3, relative_map(x, &made, exponent, rest, maximum));
        insert(x, at + 4, reduction(g, FOLD_SUM, 0, sum.rank, sum.axes, at + 3, NULL));
        x->maximum[at + 4] = OF_WEIGHT;
        made = weight;
        made.expr = plan->rest ? plan->rest : expr_real(x->m, 1);
        for (int k = 0; k < made.operands; k++)
            if (made.operand[k].of == plan->inner) made.operand[k].of = at + 4;
        at += 5;
        insert(x, at, made);
    }
    for (int s = 0; s < plan->sums; s++) {
        int number = plan->sum[s] + (at + 1 - first);
        struct value *sum = &g->value[number];
        for (int k = 0; k < sum->operands; k++)
            if (sum->operand[k].of == plan->weight) sum->operand[k] = graph_ref(g, at, NULL);
        if (plan->running) sum->online = maximum;
        x->maximum[number] = maximum;
    }
    for (int w = maximum + 1; w < g->values; w++)
        for (int k = 0; k < g->value[w].operands; k++) {
            if (x->maximum[g->value[w].operand[k].of] != maximum || g->value[w].op == GRAPH_MAP) continue;
            int before = g->values;
            join_state(x, w, k);
            w += g->values - before;
        }
}

/* e * 2^exponent, where the choice of 0, of a row that has no terms, stays 0: its exponent may be infinite. */
static const struct expr *times_power(struct module *m, const struct expr *e, const struct expr *exponent)
{
    if (e->op == EXPR_SELECT && expr_is_real(e->arg[1], 0))
        return expr_make(m, EXPR_SELECT, e->arg[0], e->arg[1], times_power(m, e->arg[2], exponent));
    return expr_make(m, EXPR_MUL, e, exp2_of(m, exponent), NULL);
}

/* Maps over relative sums. */
static void correct(struct stabilising *x, int v)
{
    struct graph *g = x->g;
    const struct expr *relative[MAX_OPERANDS] = {NULL};
    bool any = false;
    for (int k = 0, operands = g->value[v].operands; k < operands; k++) {
        const struct ref *r = &g->value[v].operand[k];
        int maximum = x->maximum[r->of];
        if (maximum < 0) continue;
        struct ref at = graph_ref(g, maximum, NULL);
        for (int a = 0; a < at.rank; a++)
            for (int s = 0; s < r->rank; s++)
                if (g->value[r->of].axes[s] == g->value[maximum].axes[a]) at.sub[a] = r->sub[s];
        relative[k] = expr_leaf(x->m, EXPR_OPERAND, graph_operand(&g->value[v], &at));
        any = true;
    }
    if (!any) return;
    struct scaling s = {.m = x->m, .relative = relative};
    struct power result = scale(&s, g->value[v].expr);
    g->value[v].expr = result.exponent ? times_power(x->m, result.e, result.exponent) : result.e;
}

void pass_stabilise(struct compilation *c)
{
    struct stabilising stabilising = {.g = c->graph, .m = c->graph->module, .joined_map = -1}, *x = &stabilising;
    write_out(c->graph);
    if (c->program != PROGRAM_GRADIENTS) open_products(c->graph);
    rename_axes(c->graph);
    graph_sweep(c->graph);
    x->capacity = c->graph->values;
    x->maximum = arena_alloc(x->m->arena, (size_t)x->capacity * sizeof *x->maximum);
    for (int v = 0; v < x->capacity; v++) x->maximum[v] = -1;
    for (int v = 0; v < x->capacity; v++) {
        int inner = c->graph->value[v].op == GRAPH_MAP ? inner_sum(c->graph, &c->graph->value[v]) : -1;
        if (inner >= 0) x->maximum[inner] = OF_WEIGHT;
    }
    for (int rows = 0; rows < 2; rows++) /* those of a row last: the maxima of states join them */
        for (int v = 0; v < c->graph->values; v++) {
            struct plan plan;
            if (make_plan(c->graph, v, x->maximum, &plan) && plan.running == (rows == 0) &&
                !(plan.running && c->program == PROGRAM_GRADIENTS))
                apply(x, &plan);
        }
    for (int v = 0; v < c->graph->values; v++)
        if (c->graph->value[v].op == GRAPH_MAP) correct(x, v);
}
