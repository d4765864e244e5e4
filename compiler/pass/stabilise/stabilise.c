/* Keeps sums of exponentials and of high powers from overflowing. A sum of exp(l) may overflow although quotients of
   such sums are ordinary. The pass writes exp(l) as 2^x and computes relative sums, of 2^(x - M), where M is the
   maximum of x.
   - A map over relative sums scales terms to a common M, and multiplies the result by the power that does not cancel.
   - In a sum over a run-time axis, M grows, and partial sums are rescaled (online normaliser, Milakov and Gimelshein,
     2018).
   - M has all axes of its sums, so a state has an M per feature. A common M would lose small features.
   - Features times a state become the sum over f of (feature[f] * 2^M[f]) * (state[f] * 2^-M[f]). The first factor is
     an exponential, too.
   - A product of two exponentials becomes a sum of exp(a + b), because exp(a) or exp(b) could underflow.
   - Gradients from saved rows keep their sums over a sequence, because their weights are divided by the saved sum. An
     exception are carried states, which have a factor of keys or of queries alone, such as exp(j) or 2^-log2(sum).
     If M has no axis that an inner product sums, the result of the product is relative to M, too.
   - High powers u^p overflow, too (analysis/powers.c). Their sums become sums of (u / M)^p, in the quadratic form
     only. */
#include "stabilise.h"

#include <float.h>
#include <math.h>

/* ---- expressions over relative sums ----
   struct power describes a value that is relative to an exponent. The value is e * 2^exponent, or e * exponent^degree
   if the degree is not 0. If `exponent` is NULL, the value is e. */

struct scaling {
    struct module *m;
    /* If `degree` is not 0, values are relative to powers of this degree. Otherwise, they are relative to powers of
       two. */
    int64_t degree;
    const struct expr *const *relative; /* the exponent of each operand of the map, or NULL */
    bool joins;                         /* exponentials that multiply relative values become part of the exponent */
    bool impossible;
};
struct power {
    const struct expr *e, *exponent;
};

/* Returns 2^exponent, or exponent^degree if the degree is not 0. */
static const struct expr *raised(struct module *m, const struct expr *exponent, int64_t degree)
{
    return degree ? expr_power(m, exponent, degree) : exp2_of(m, exponent);
}

static const struct expr *exponent_of_quotient(struct scaling *s, const struct expr *a, const struct expr *b)
{
    if (!b || a == b) return b ? NULL : a;
    return expr_make(s->m, s->degree ? EXPR_DIV : EXPR_SUB, a ? a : expr_real(s->m, s->degree ? 1 : 0), b, NULL);
}

/* Rewrites a constant as p^degree * e, with p a power of two and e close to 1. With degree 0, rewrites an extreme
   constant as 2^p * e. */
static void split_constant(struct scaling *s, struct power *p)
{
    static const double FAR = 100;
    if (p->exponent || p->e->op != EXPR_REAL || p->e->real == 0) return;
    const double bits = round(log2(fabs(p->e->real)) / (double)(s->degree ? s->degree : 1));
    if (bits == 0 || (!s->degree && fabs(bits) < FAR)) return;
    if (!s->degree) {
        p->exponent = expr_real(s->m, bits);
        p->e = expr_real(s->m, p->e->real * exp2(-bits));
        return;
    }
    p->exponent = expr_real(s->m, exp2(bits));
    p->e = expr_real(s->m, p->e->real * exp2(-bits * (double)s->degree));
}

/* Rewrites a summand exp(x) * e that is not relative, because exp(x) could overflow. An example is a row's logit
   without a key. */
static void split_exponential(struct scaling *s, struct power *p)
{
    const struct expr *exponent = NULL, *others = NULL;
    if (p->exponent) return;
    split_exponentials(s->m, p->e, &exponent, &others);
    if (!exponent) return;
    if (s->degree) exponent = exp2_of(s->m, expr_scaled(s->m, exponent, 1 / (double)s->degree));
    p->exponent = exponent;
    p->e = others ? others : expr_real(s->m, 1);
}

/* Scales a->e and b->e to the larger exponent, and returns this exponent. The constant 0 has any exponent. */
static const struct expr *agree(struct scaling *s, struct power *a, struct power *b)
{
    if (expr_is_real(a->e, 0)) a->exponent = b->exponent;
    if (expr_is_real(b->e, 0)) b->exponent = a->exponent;
    if (a->exponent == b->exponent) return a->exponent;
    struct power *side[2] = {a, b};
    const struct expr *none = expr_real(s->m, s->degree ? 1 : 0), *common;
    for (int k = 0; k < 2; k++) split_exponential(s, side[k]);
    for (int k = 0; k < 2; k++) split_constant(s, side[k]);
    common = expr_max(s->m, a->exponent ? a->exponent : none, b->exponent ? b->exponent : none);
    for (int k = 0; k < 2; k++) {
        const struct expr *down = exponent_of_quotient(s, side[k]->exponent ? side[k]->exponent : none, common);
        side[k]->e = expr_mul(s->m, side[k]->e, raised(s->m, down, s->degree));
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
        case EXPR_LOG: /* log(e * 2^x) = log(e) + x * log(2), and log(e * x^p) = log(e) + p * log(x) */
            e = expr_log(s->m, arg[0].e);
            exponent = arg[0].exponent;
            if (s->degree) exponent = expr_log(s->m, exponent);
            exponent = expr_scaled(s->m, exponent, s->degree ? (double)s->degree : log(2));
            return (struct power){expr_add(s->m, e, exponent), NULL};
        case EXPR_POW: /* (e * x^p)^(1/p) = e^(1/p) * x. Other powers are not supported */
            s->impossible |= !s->degree || !expr_is_real(e->arg[1], 1 / (double)s->degree);
            e = expr_pow(s->m, arg[0].e, e->arg[1]);
            return (struct power){expr_mul(s->m, e, arg[0].exponent), NULL};
        case EXPR_ADD:
        case EXPR_SUB: exponent = agree(s, &arg[0], &arg[1]); break;
        case EXPR_MUL:
            for (int k = 0; k < 2 && s->joins; k++) split_exponential(s, &arg[k]);
            exponent = joined(s->m, s->degree ? EXPR_MUL : EXPR_ADD, arg[0].exponent, arg[1].exponent);
            break;
        case EXPR_DIV: exponent = exponent_of_quotient(s, arg[0].exponent, arg[1].exponent); break;
        case EXPR_EQ:
        case EXPR_NE:
        case EXPR_LT:
        case EXPR_LE: agree(s, &arg[0], &arg[1]); break;
        case EXPR_SELECT: exponent = agree(s, &arg[1], &arg[2]); break;
        default: s->impossible = true;
        }
    const struct expr *const scaled[3] = {arg[0].e, arg[1].e, arg[2].e};
    return (struct power){expr_with_args(s->m, e, scaled), exponent};
}

/* ---- plans ---- */

/* A weight that is rewritten, and its sums.
   - The weight is a map with an exponential factor, a high power, or an inner sum as a factor. An inner sum of
     exponential terms runs over constant axes.
   - All users of the weight are sums over one region, and outputs. The users of the sums are maps, or inner products
     with features (can_scale_state). */
struct plan {
    int weight, inner; /* `inner`: the inner sum, or -1 */
    int64_t degree;    /* the weight is a power of this degree with base `exponent`. 0: it is an exponential */
    int sums, sum[MAX_OPERANDS];
    bool cancels; /* maps read the sums, and none of them depends on M */
    bool running; /* the sums run over run-time axes, so the maximum grows */
    const struct expr *exponent, *others, *where;
};

/* Whether `sum` sums over a run-time axis of the weight. */
static bool sums_at_run_time(const struct graph *g, const struct value *sum, const struct value *weight)
{
    for (int a = 0; a < weight->rank; a++)
        if (g->module->axis[weight->axes[a]].source != SIZE_CONSTANT && !value_has_axis(sum, weight->axes[a]))
            return true;
    return false;
}

/* Returns the weight's inner sum: a factor with one use that sums exponential terms over constant axes. Returns -1
   if there is none. */
static int inner_sum(const struct graph *g, const struct value *weight)
{
    for (int k = 0; k < weight->operands; k++) {
        const struct expr *leaf = expr_operand(g->module, k), *others;
        int u = weight->operand[k].of;
        const struct value *sum = &g->value[u];
        if (sum->op != GRAPH_REDUCE || sum->fold != FOLD_SUM || sum->where || graph_uses(g, u) != 1 ||
            !is_factor(weight->expr, leaf))
            continue;
        if (expr_uses(expr_replace(g->module, weight->expr, leaf, expr_real(g->module, 1)), leaf)) continue;
        int terms = sum->operand[0].of;
        if (graph_uses(g, terms) == 1 && exponent_of(g, terms, &others) && !sums_at_run_time(g, sum, &g->value[terms]))
            return u;
    }
    return -1;
}

/* Whether v is an inner product of a state, operand k, over other axes than those in `kept`, and only maps read it. */
static bool keeps_maximum(const struct graph *g, int number, int k, uint32_t kept)
{
    const struct value *const v = &g->value[number], *const state = &g->value[v->operand[k].of];
    if (v->op != GRAPH_CONTRACT || v->where || graph_is_output(g, number)) return false;
    for (int a = 0; a < state->rank; a++)
        for (int b = 0; b < g->module->axes; b++)
            if ((kept >> state->axes[a] & 1) && (expr_axes(v->operand[k].sub[a]) >> b & 1) && !value_has_axis(v, b))
                return false;
    for (int w = number + 1; w < g->values; w++)
        for (int n = 0; n < g->value[w].operands; n++)
            if (g->value[w].operand[n].of == number && (g->value[w].op != GRAPH_MAP || g->value[w].online >= 0))
                return false;
    return true;
}

/* Whether v is an inner product of a state, operand k, with a map that can be multiplied by 2^M. */
static bool can_scale_state(const struct graph *g, const struct value *v, int k)
{
    return v->op == GRAPH_CONTRACT && !v->where && g->value[v->operand[1 - k].of].op == GRAPH_MAP &&
           g->value[v->operand[1 - k].of].rank < MAX_RANK && names_axes(&v->operand[1 - k]);
}

/* Whether the map `user` reads sums relative to another power of M than `degree`. */
static bool reads_others(const struct graph *g, const struct value *user, const int *maximum, int64_t degree)
{
    for (int k = 0; k < user->operands; k++)
        if (maximum[user->operand[k].of] >= 0 && g->value[user->operand[k].of].power != degree) return true;
    return false;
}

/* Fills in `inner`, `exponent` and `others`. For a high power, `exponent` is the base. Returns false if there is no
   exponential, inner sum or high power. */
static bool find_exponent(const struct graph *g, struct plan *plan)
{
    const struct value *weight = &g->value[plan->weight];
    plan->inner = inner_sum(g, weight);
    plan->exponent = exponent_of(g, plan->weight, &plan->others);
    if (plan->exponent || plan->inner >= 0) return true;
    const struct power_factor power = overflowing_power(g->module, weight);
    if (!power.whole || weight->operands + 2 > MAX_OPERANDS) return false;
    plan->degree = power.degree;
    plan->exponent = power.base;
    plan->others = power.whole == weight->expr
                       ? NULL
                       : expr_replace(g->module, weight->expr, power.whole, expr_real(g->module, 1));
    return true;
}

/* Returns the axes of M, as bits: the axes that all sums share, and that the weight or the region has. */
static uint32_t kept_axes(const struct graph *g, const struct plan *plan)
{
    const struct value *weight = &g->value[plan->weight], *first = &g->value[plan->sum[0]];
    uint32_t axes = 0;
    for (int a = 0; a < first->rank; a++) {
        int axis = first->axes[a];
        bool kept = value_has_axis(weight, axis) || (plan->where && (expr_axes(plan->where) >> axis & 1));
        for (int s = 1; s < plan->sums; s++) kept &= value_has_axis(&g->value[plan->sum[s]], axis);
        if (kept) axes |= AXIS(axis);
    }
    return axes;
}

static bool has_chunks(const struct graph *g, int v)
{
    bool chunks = false;
    for (int k = 0; k < g->value[v].rank; k++) chunks |= axis_is_chunks(&g->module->axis[g->value[v].axes[k]]);
    return chunks;
}

/* Fills in the plan for weight v. Returns false if v cannot be rewritten. `maximum`: see struct stabilising. `growing`:
   the sums are carried states of gradients. */
static bool make_plan(const struct graph *g, int v, const int *maximum, bool growing, struct plan *plan)
{
    const struct value *weight = &g->value[v];
    if (weight->op != GRAPH_MAP || graph_is_output(g, v)) return false;
    *plan = (struct plan){.weight = v};
    if (!find_exponent(g, plan)) return false;
    for (int w = 0; w < g->values; w++)
        for (int k = 0; k < g->value[w].operands; k++) {
            const struct value *user = &g->value[w];
            if (user->operand[k].of != v) continue;
            if (user->op == GRAPH_MAP && graph_is_output(g, w)) continue;
            bool sum = (user->op == GRAPH_CONTRACT || (user->op == GRAPH_REDUCE && user->fold == FOLD_SUM)) &&
                       maximum[w] == -1;
            if (!sum || (graph_is_output(g, w) && (growing || user->op != GRAPH_REDUCE)) ||
                plan->sums == MAX_OPERANDS || (plan->sums && user->where != plan->where))
                return false;
            if (!graph_is_plain(g, &user->operand[k])) return false;
            bool running = sums_at_run_time(g, user, weight);
            if (plan->sums && running != plan->running) return false;
            plan->running = running;
            plan->where = user->where;
            plan->sum[plan->sums++] = w;
        }
    bool divided = false, read = false, of_states = growing && plan->running && !plan->degree;
    for (int s = 0; s < plan->sums && of_states; s++) of_states = has_chunks(g, plan->sum[s]);
    if (growing && plan->running && !of_states) return false;
    const uint32_t kept = plan->sums ? kept_axes(g, plan) : 0;
    int inner = 0, product[MAX_OPERANDS]; /* inner products of the sums that are relative to M, too */
    for (int w = 0; w < g->values; w++) {
        const struct value *user = &g->value[w];
        const struct expr *relative[MAX_OPERANDS] = {NULL};
        bool any = false;
        for (int k = 0; k < user->operands; k++) {
            if (user->operand[k].of == v && user->op == GRAPH_MAP) {
                relative[k] = expr_operand(g->module, MAX_OPERANDS);
                any = true;
            }
            for (int s = 0; s < plan->sums; s++) {
                if (user->operand[k].of != plan->sum[s]) continue;
                if (of_states && keeps_maximum(g, w, k, kept)) {
                    if (inner == MAX_OPERANDS) return false;
                    product[inner++] = w;
                } else if (user->op != GRAPH_MAP && !(plan->running && !plan->degree && can_scale_state(g, user, k)))
                    return false;
                relative[k] = expr_operand(g->module, MAX_OPERANDS);
                any = true;
            }
            for (int s = 0; s < inner; s++) {
                if (user->operand[k].of != product[s]) continue;
                relative[k] = expr_operand(g->module, MAX_OPERANDS);
                any = true;
            }
        }
        if (!any || user->op != GRAPH_MAP) continue;
        if (reads_others(g, user, maximum, plan->degree)) return false;
        struct scaling trial = {.m = g->module, .degree = plan->degree, .relative = relative, .joins = growing};
        const struct power result = scale(&trial, user->expr);
        if (trial.impossible || user->operands + 2 > MAX_OPERANDS) return false;
        divided |= result.exponent != expr_operand(g->module, MAX_OPERANDS);
        plan->cancels = !result.exponent && (plan->cancels || !read);
        read = true;
    }
    /* if no map divides by M^degree, results overflow anyway, so the rewriting gains nothing */
    return plan->sums > 0 && (divided || !plan->degree);
}

/* ---- the rewriting ---- */

enum { OF_WEIGHT = -2 }; /* the value is an inner sum, which is rewritten with its weight */

struct stabilising {
    struct graph *g;
    struct module *m;
    bool growing; /* as in struct gradient_graphs, if the program reads saved rows */
    int capacity;
    int *maximum;          /* for each value: its maximum M, -1 if there is none, or OF_WEIGHT */
    struct ref joined_map; /* join_state's last result is joined_map * 2^joined_maximum */
    int joined_maximum, joined_value;
};

/* Inserts v like graph_insert, and renumbers values in x. */
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
    x->joined_map.of += x->joined_map.of >= at;
    x->joined_maximum += x->joined_maximum >= at;
    x->joined_value += x->joined_value >= at;
}

/* Returns a value equal to v. If there is none before *at, inserts it and increases *at. */
static int insert_once(struct stabilising *x, int *at, struct value v)
{
    if (v.op == GRAPH_MAP) value_drop_operands(x->m, &v);
    const int known = find_equal(x->g, *at, &v);
    if (known >= 0) return known;
    insert(x, *at, v);
    return (*at)++;
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

/* Returns a map of others * 2^(exponent - M), or others * (exponent/M)^degree, over the axes of `like` and M. */
static struct value relative_map(struct stabilising *x, const struct value *like, const struct expr *exponent,
                                 int64_t degree, const struct expr *others, int maximum)
{
    struct value v = *like;
    for (int k = 0; k < x->g->value[maximum].rank; k++)
        if (!value_has_axis(&v, x->g->value[maximum].axes[k])) v.axes[v.rank++] = x->g->value[maximum].axes[k];
    struct ref r = graph_ref(x->g, maximum, NULL);
    const struct expr *M = expr_operand(x->m, graph_operand(&v, &r));
    exponent = expr_make(x->m, degree ? EXPR_DIV : EXPR_SUB, exponent, M, NULL);
    v.expr = joined(x->m, EXPR_MUL, raised(x->m, exponent, degree), others);
    return v;
}

/* Corrects an inner product whose operand k is a state relative to M. The features are multiplied by 2^M. */
static void join_state(struct stabilising *x, int user, int k)
{
    struct graph *g = x->g;
    const struct ref features = g->value[user].operand[1 - k];
    int state = g->value[user].operand[k].of, maximum = x->maximum[state];
    if (!ref_equal(&x->joined_map, &features) || x->joined_maximum != maximum) {
        const struct ref *at = &g->value[user].operand[k];
        struct ref r = graph_ref(g, maximum, NULL);
        for (int a = 0; a < r.rank; a++)
            for (int s = 0; s < at->rank; s++)
                if (g->value[state].axes[s] == g->value[maximum].axes[a]) r.sub[a] = at->sub[s];
        struct value map = copy_as_read(g, &features);
        int number = graph_operand(&map, &r);
        map.expr = expr_mul(x->m, map.expr, exp2_of(x->m, expr_operand(x->m, number)));
        insert(x, user, map);
        x->joined_map = features;
        x->joined_maximum = maximum;
        x->joined_value = user++;
    }
    g->value[user].operand[1 - k] = graph_ref(g, x->joined_value, NULL);
}

/* Whether e has max(x, 0) or "c ? 0 : x", which are 0 for many arguments. Dropout does not count. */
static bool cuts_off(const struct expr *e)
{
    for (struct exprs w = {.of = e}; exprs_next(&w);) {
        const bool selects = w.e->op == EXPR_SELECT && !expr_has(w.e, EXPR_RANDOM);
        if (((selects || w.e->op == EXPR_MAX) && expr_is_real(w.e->arg[1], 0)) ||
            (w.e->op == EXPR_MAX && expr_is_real(w.e->arg[0], 0)) || (selects && expr_is_real(w.e->arg[2], 0)))
            return true;
    }
    return false;
}

/* Whether e, over the operands of v, or a value that it depends on is cut off. */
static bool has_zeros(const struct graph *g, const struct value *v, const struct expr *e)
{
    bool zeros = e && cuts_off(e);
    for (int k = 0; k < v->operands && !zeros; k++) {
        const struct value *const of = &g->value[v->operand[k].of];
        if (!e || expr_uses(e, expr_operand(g->module, k))) zeros = has_zeros(g, of, of->expr);
    }
    return zeros;
}

/* Whether M is the maximum over terms that are not 0. A term of 0 may have any exponent, and next to a large one, all
   other terms of a row would underflow. The pass cancel needs exponents of positions as they are. */
static bool skips_zeros(const struct stabilising *x, const struct plan *plan)
{
    if (!plan->others || plan->degree) return false;
    return x->growing || (has_zeros(x->g, &x->g->value[plan->weight], plan->others) &&
                          expr_has(plan->exponent, EXPR_OPERAND) && !expr_axes(plan->exponent));
}

static void apply(struct stabilising *x, const struct plan *plan)
{
    static const double NO_EXPONENT = -1e30;
    struct graph *g = x->g;
    const int before = g->values;
    const uint32_t kept = kept_axes(g, plan);
    int axes[MAX_RANK], rank = 0, at = plan->sum[0];
    for (int k = 0; k < g->value[at].rank; k++)
        if (kept >> g->value[at].axes[k] & 1) axes[rank++] = g->value[at].axes[k];
    const struct value weight = g->value[plan->weight];
    struct value made;
    int top, maximum;
    if (plan->inner < 0) {
        made = weight;
        made.expr = plan->degree ? expr_abs(x->m, plan->exponent) : plan->exponent;
        if (skips_zeros(x, plan))
            made.expr = expr_select(x->m, expr_eq(x->m, plan->others, expr_real(x->m, 0)), expr_real(x->m, NO_EXPONENT),
                                    made.expr);
        /* weights that differ in other factors share the maximum and the exponential */
        top = insert_once(x, &at, made);
        /* the maximum of a power is a divisor, so it is above 0 */
        maximum = insert_once(
            x, &at, reduction(g, FOLD_MAX, plan->degree ? (double)FLT_MIN : -DBL_MAX, rank, axes, top, plan->where));
        made = graph_value(GRAPH_MAP, weight.rank, weight.axes);
        for (int k = 0; k < weight.operands; k++) made.operand[made.operands++] = weight.operand[k];
        struct ref r = graph_ref(g, top, NULL);
        const struct expr *exponent = plan->degree % 2 ? plan->exponent /* an odd power keeps its base's sign */
                                                       : expr_operand(x->m, graph_operand(&made, &r));
        const struct value whole = relative_map(x, &made, exponent, plan->degree, NULL, maximum);
        struct value alone = whole;
        value_drop_operands(x->m, &alone);
        const int same = find_equal(g, at, &alone);
        struct value relative = same < 0 ? relative_map(x, &made, exponent, plan->degree, plan->others, maximum)
                                         : whole;
        if (same >= 0) {
            r = graph_ref(g, same, NULL);
            relative.expr = joined(x->m, EXPR_MUL, expr_operand(x->m, graph_operand(&relative, &r)), plan->others);
        }
        value_drop_operands(x->m, &relative);
        insert(x, at, relative);
    } else { /* M is the maximum over the inner sum's terms and the region */
        const struct value sum = g->value[plan->inner], terms = g->value[sum.operand[0].of];
        const struct expr *others, *exponent = exponent_of(g, sum.operand[0].of, &others);
        made = terms;
        if (plan->exponent) { /* add the weight's exponent to the exponent of each term */
            const struct expr *with[MAX_OPERANDS] = {NULL};
            for (int k = 0; k < weight.operands; k++)
                if (expr_uses(plan->exponent, expr_operand(x->m, k)))
                    with[k] = expr_operand(x->m, graph_operand(&made, &weight.operand[k]));
                else
                    with[k] = expr_operand(x->m, k);
            exponent = joined(x->m, EXPR_ADD, exponent, expr_bind(x->m, plan->exponent, with));
        }
        made.expr = exponent;
        top = insert_once(x, &at, made);
        top = insert_once(x, &at, reduction(g, FOLD_MAX, -DBL_MAX, sum.rank, sum.axes, top, NULL));
        maximum = insert_once(x, &at, reduction(g, FOLD_MAX, -DBL_MAX, rank, axes, top, plan->where));
        insert(x, at, relative_map(x, &made, exponent, 0, others, maximum));
        insert(x, at + 1, reduction(g, FOLD_SUM, 0, sum.rank, sum.axes, at, NULL));
        x->maximum[at + 1] = OF_WEIGHT;
        made = weight;
        made.expr = plan->others ? plan->others : expr_real(x->m, 1);
        for (int k = 0; k < made.operands; k++)
            if (made.operand[k].of == plan->inner) made.operand[k].of = at + 1;
        at += 2;
        insert(x, at, made);
    }
    for (int s = 0; s < plan->sums; s++) {
        int number = plan->sum[s] + (g->values - before);
        struct value *sum = &g->value[number];
        for (int k = 0; k < sum->operands; k++)
            if (sum->operand[k].of == plan->weight) sum->operand[k] = graph_ref(g, at, NULL);
        if (plan->running) sum->online = maximum;
        sum->power = plan->degree;
        x->maximum[number] = maximum;
    }
    for (int o = 0; o < g->outputs; o++) { /* an output, such as a saved sum, is not relative */
        const int sum = g->output[o].value;
        if (g->value[sum].op != GRAPH_REDUCE || x->maximum[sum] != maximum) continue;
        struct value whole = graph_value(GRAPH_MAP, g->value[sum].rank, g->value[sum].axes);
        const struct ref r = graph_ref(g, sum, NULL);
        whole.expr = expr_operand(x->m, graph_operand(&whole, &r));
        insert(x, sum + 1, whole);
        at += sum < at;
        g->output[o].value = sum + 1;
    }
    if (graph_uses(g, plan->weight)) { /* Outputs read an own copy of the weight, because sums of it are no products. */
        const struct value relative = g->value[at];
        insert(x, ++at, relative);
        x->maximum[at] = maximum;
        for (int w = at + 1; w < g->values; w++)
            for (int k = 0; k < g->value[w].operands; k++)
                if (g->value[w].operand[k].of == plan->weight) g->value[w].operand[k] = graph_ref(g, at, NULL);
    }
    for (int w = maximum + 1; w < g->values; w++)
        for (int k = 0; k < g->value[w].operands; k++) {
            if (x->maximum[g->value[w].operand[k].of] != maximum || g->value[w].op == GRAPH_MAP) continue;
            if (x->growing && keeps_maximum(g, w, k, kept)) {
                x->maximum[w] = maximum;
                continue;
            }
            const int old = g->values;
            join_state(x, w, k);
            w += g->values - old;
        }
}

/* Returns e * 2^exponent, or e * exponent^degree. In select(condition, 0, x), only x is multiplied, because 0 *
   infinity is NaN. */
static const struct expr *times_power(struct module *m, const struct expr *e, const struct expr *exponent,
                                      int64_t degree)
{
    if (e->op == EXPR_SELECT && expr_is_real(e->arg[1], 0))
        return expr_select(m, e->arg[0], e->arg[1], times_power(m, e->arg[2], exponent, degree));
    return expr_mul(m, e, raised(m, exponent, degree));
}

/* Returns a reference to what M is where r reads a value relative to it: a sum, or an inner product with one. */
static struct ref maximum_of(const struct stabilising *x, const struct ref *r, int maximum)
{
    const struct graph *const g = x->g;
    const struct value *const v = &g->value[r->of];
    struct ref at = graph_ref(g, maximum, NULL);
    const struct ref *sum = NULL;
    for (int k = 0; k < v->operands; k++)
        if (x->maximum[v->operand[k].of] == maximum) sum = &v->operand[k];
    for (int a = 0; a < at.rank; a++) {
        const int axis = g->value[maximum].axes[a];
        for (int n = 0; n < (sum ? sum->rank : 0); n++)
            if (g->value[sum->of].axes[n] == axis) at.sub[a] = sum->sub[n];
        for (int n = 0; n < r->rank; n++)
            if (sum || v->axes[n] == axis)
                at.sub[a] = expr_replace(x->m, at.sub[a], expr_index(x->m, v->axes[n]), r->sub[n]);
    }
    return at;
}

/* Returns the maximum M that each operand of the map is relative to, or NULL if there is none. */
static const struct expr *const *relative_operands(struct stabilising *x, struct value *map, struct scaling *s)
{
    const struct graph *g = x->g;
    const struct expr **relative = arena_alloc(x->m->arena, MAX_OPERANDS * sizeof *relative);
    bool any = false;
    for (int k = 0, operands = map->operands; k < operands; k++) {
        const struct ref *r = &map->operand[k];
        int maximum = x->maximum[r->of];
        if (maximum < 0) continue;
        const struct ref at = maximum_of(x, r, maximum);
        relative[k] = expr_operand(x->m, graph_operand(map, &at));
        s->degree = g->value[r->of].power;
        any = true;
    }
    return s->relative = any ? relative : NULL;
}

/* Whether the power of M cancels in `map`, as in the logarithm of a sum. */
static bool cancels(struct stabilising *x, struct value map)
{
    struct scaling s = {.m = x->m, .joins = x->growing};
    if (!relative_operands(x, &map, &s)) return false;
    return !scale(&s, map.expr).exponent && !s.impossible;
}

/* Inlines map v into its users, because its value times the power of M can overflow. Does nothing if v is an output.
   `always`: also into users in which the power of M does not cancel. Growing factors of users join this power. */
static void move_into_users(struct stabilising *x, int v, bool always)
{
    struct graph *g = x->g;
    if (graph_is_output(g, v)) return;
    for (int w = v + 1; w < g->values; w++)
        for (int k = 0; k < g->value[w].operands && g->value[w].op == GRAPH_MAP; k++) {
            struct value user = g->value[w];
            if (user.operand[k].of != v || user.operands + g->value[v].operands + 2 > MAX_OPERANDS) continue;
            const bool joins = x->growing && (expr_has(user.expr, EXPR_EXP) || expr_has(user.expr, EXPR_EXP2));
            if (!graph_inline(g, &user, k, &g->value[v]) || !(always || joins || cancels(x, user))) continue;
            g->value[w] = user;
            k = -1;
        }
}

/* Rewrites map v for its relative operands. If the power of M does not cancel, multiplies the result by it. */
static void correct(struct stabilising *x, int v)
{
    struct value map = x->g->value[v];
    struct scaling s = {.m = x->m, .joins = x->growing};
    if (!relative_operands(x, &map, &s)) return;
    struct power result = scale(&s, map.expr);
    if (result.exponent) move_into_users(x, v, s.degree != 0);
    map.expr = result.exponent ? times_power(x->m, result.e, result.exponent, s.degree) : result.e;
    /* A term of 0 may have any exponent. 2^-M is infinite for a row without keys. */
    const bool inverse = result.exponent && result.exponent->op == EXPR_SUB && expr_is_real(result.exponent->arg[0], 0);
    if (inverse || (result.exponent && x->growing)) {
        const struct expr *const zero = expr_real(x->m, 0);
        map.expr = expr_select(x->m, expr_eq(x->m, result.e, zero), zero, map.expr);
    }
    x->g->value[v] = map;
}

/* Whether map v, or a map that it reads, reads a sum that is relative to a maximum. This maximum joins its exponent
   later. */
static bool reads_relative(const struct stabilising *x, int v)
{
    bool relative = false;
    for (int k = 0; k < x->g->value[v].operands; k++) {
        const int of = x->g->value[v].operand[k].of;
        relative |= x->maximum[of] >= 0 || (x->g->value[of].op == GRAPH_MAP && reads_relative(x, of));
    }
    return relative;
}

void pass_stabilise(struct compilation *c)
{
    struct stabilising stabilising = {.g = c->graph,
                                      .m = c->graph->module,
                                      .growing = c->gradients.growing && program_reads_saved(&c->program),
                                      .joined_maximum = -1},
                       *x = &stabilising;
    prepare_exponentials(c->graph, !program_reads_saved(&c->program));
    x->capacity = c->graph->values;
    x->maximum = arena_alloc(x->m->arena, (size_t)x->capacity * sizeof *x->maximum);
    for (int v = 0; v < x->capacity; v++) x->maximum[v] = -1;
    for (int v = 0; v < x->capacity; v++) {
        int inner = c->graph->value[v].op == GRAPH_MAP ? inner_sum(c->graph, &c->graph->value[v]) : -1;
        if (inner >= 0) x->maximum[inner] = OF_WEIGHT;
    }
    /* Sums over run-time axes come first, because their maxima enter exponents of features. */
    for (int rows = 0; rows < 2; rows++)
        for (int v = 0; v < c->graph->values; v++) {
            struct plan plan;
            if (rows && x->growing && reads_relative(x, v)) continue;
            if (make_plan(c->graph, v, x->maximum, x->growing, &plan) && plan.running == (rows == 0) &&
                !(plan.running && program_reads_saved(&c->program) && !x->growing && !plan.cancels) &&
                !(plan.degree && (!plan.running || c->program.linear)))
                apply(x, &plan);
        }
    for (int v = 0; v < c->graph->values; v++)
        if (c->graph->value[v].op == GRAPH_MAP) correct(x, v);
}
