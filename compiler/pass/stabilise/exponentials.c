/* Exponentials before they become relative to a maximum: each exponent that a product reads becomes a value, products
   of exponentials one exponential, and sums with one exponent one sum. */
#include "stabilise.h"
#include "../../analysis/signs.h"

#include <math.h>
#include <string.h>

bool expr_is_exact_difference(const struct expr *e)
{
    const struct expr *const high = e->arg[0], *const low = e->arg[1];
    return e->op == EXPR_ADD && high->op == EXPR_SUB && low->op == EXPR_SUB && high->arg[0]->op == EXPR_OPERAND &&
           high->arg[1]->op == EXPR_OPERAND && low->arg[0]->op == EXPR_OPERAND && low->arg[1]->op == EXPR_OPERAND;
}

const struct expr *expr_scaled(struct module *m, const struct expr *e, double by)
{
    switch ((int)e->op) {
    case EXPR_ADD:
    case EXPR_SUB:
        if (e->type == TYPE_REAL && !expr_is_exact_difference(e))
            return expr_make(m, e->op, expr_scaled(m, e->arg[0], by), expr_scaled(m, e->arg[1], by), NULL);
        break;
    case EXPR_NEG: return expr_neg(m, expr_scaled(m, e->arg[0], by));
    case EXPR_MUL:
        if (e->arg[1]->op == EXPR_REAL) return expr_mul(m, e->arg[0], expr_real(m, e->arg[1]->real * by));
        /* slope * distance: scale the slope */
        if (e->type == TYPE_REAL && e->arg[0]->type == TYPE_REAL && e->arg[1]->type != TYPE_REAL)
            return expr_mul(m, expr_scaled(m, e->arg[0], by), e->arg[1]);
        break;
    default: break;
    }
    return expr_mul(m, e, expr_real(m, by));
}

const struct expr *joined(struct module *m, enum expr_op op, const struct expr *x, const struct expr *y)
{
    return x && y ? expr_make(m, op, x, y, NULL) : x ? x : y;
}

const struct expr *exp2_of(struct module *m, const struct expr *x)
{
    return expr_exp2(m, x);
}

void split_exponentials(struct module *m, const struct expr *e, const struct expr **exponent,
                        const struct expr **others)
{
    if (e->op == EXPR_MUL) {
        split_exponentials(m, e->arg[0], exponent, others);
        split_exponentials(m, e->arg[1], exponent, others);
    } else if (e->op == EXPR_EXP || e->op == EXPR_EXP2)
        *exponent = joined(m, EXPR_ADD, *exponent,
                           e->op == EXPR_EXP ? expr_scaled(m, e->arg[0], 1 / log(2)) : e->arg[0]);
    else
        *others = joined(m, EXPR_MUL, *others, e);
}

/* Whether the exponent is x - L, or min(x - L, constant), where L is the logarithm of a row's sum. exp(x - L) needs no
   maximum. */
static bool is_normalised(const struct graph *g, const struct value *v, const struct expr *exponent)
{
    if (exponent->op == EXPR_MIN && exponent->arg[1]->op == EXPR_REAL) exponent = exponent->arg[0];
    if (exponent->op != EXPR_SUB || exponent->arg[1]->op != EXPR_OPERAND) return false;
    const struct value *row = &g->value[v->operand[exponent->arg[1]->integer].of];
    return row->rank < v->rank && (row->op == GRAPH_INPUT || (row->op == GRAPH_MAP && expr_has(row->expr, EXPR_LOG)));
}

/* Whether v is the running sum `scan`, or a map that depends on it. */
static bool depends_on(const struct graph *g, int v, int scan)
{
    bool any = v == scan;
    for (int k = 0; k < g->value[v].operands && g->value[v].op == GRAPH_MAP && !any; k++)
        any = depends_on(g, g->value[v].operand[k].of, scan);
    return any;
}

/* Whether the weight v depends on a running sum, its exponent is bounded, and rows are not divided by a sum of weights
   of this running sum. Then it cannot overflow, and a row without a weight above 0 is 0. */
static bool is_bounded(const struct graph *g, int v, const struct expr *exponent)
{
    static const double MAX_EXPONENT = 60;
    if (graph_find_scan(g) < 0 || !(value_expr_max(g, &g->value[v], exponent) <= MAX_EXPONENT)) return false;
    for (int scan = 0; scan < v; scan++)
        for (int w = scan + 1; w < g->values && g->value[scan].op == GRAPH_SCAN && depends_on(g, v, scan); w++)
            if (g->value[w].op == GRAPH_REDUCE && depends_on(g, g->value[w].operand[0].of, scan)) return false;
    return true;
}

const struct expr *exponent_of(const struct graph *g, int v, const struct expr **others)
{
    const struct expr *exponent = NULL;
    *others = NULL;
    if (g->value[v].op == GRAPH_MAP) split_exponentials(g->module, g->value[v].expr, &exponent, others);
    return exponent && (is_normalised(g, &g->value[v], exponent) || is_bounded(g, v, exponent)) ? NULL : exponent;
}

/* ---- exponents become separate values ---- */

bool is_factor(const struct expr *e, const struct expr *operand)
{
    return e == operand || (e->op == EXPR_MUL && (is_factor(e->arg[0], operand) || is_factor(e->arg[1], operand)));
}

int find_equal(const struct graph *g, int at, const struct value *v)
{
    for (int k = 0; k < at; k++)
        if (graph_value_equal(&g->value[k], v)) return k;
    return -1;
}

/* Prepares exponential maps, 2^x * others.
   - If a user multiplies by the map, x becomes a separate value.
   - A map that multiplies by an exponential map inlines it. */
static void write_out(struct graph *g)
{
    struct module *m = g->module;
    const struct expr *others;
    for (int v = 0; v < g->values; v++) {
        const struct expr *exponent = exponent_of(g, v, &others);
        bool multiplies = false;
        for (int w = v + 1; w < g->values && exponent; w++)
            for (int k = 0; k < g->value[w].operands; k++) {
                if (g->value[w].operand[k].of != v) continue;
                bool by_map = g->value[w].op == GRAPH_MAP && is_factor(g->value[w].expr, expr_operand(m, k));
                const struct ref *other = g->value[w].op == GRAPH_CONTRACT ? &g->value[w].operand[1 - k] : NULL;
                const struct expr *its;
                multiplies |= by_map || (other && exponent_of(g, other->of, &its));
            }
        if (!multiplies || (exponent->op == EXPR_OPERAND && !others)) continue;
        struct value value = g->value[v];
        value.expr = exponent;
        value_drop_operands(m, &value);
        int of = find_equal(g, v, &value);
        if (of < 0) graph_insert(g, of = v++, value);
        struct ref power = graph_ref(g, of, NULL);
        int number = graph_operand(&g->value[v], &power);
        if (number >= 0) g->value[v].expr = joined(m, EXPR_MUL, exp2_of(m, expr_operand(m, number)), others);
    }
    for (int v = 0; v < g->values; v++)
        for (int k = 0; g->value[v].op == GRAPH_MAP && k < g->value[v].operands; k++) {
            int u = g->value[v].operand[k].of;
            if (!is_factor(g->value[v].expr, expr_operand(m, k)) || !exponent_of(g, u, &others)) continue;
            if (graph_inline(g, &g->value[v], k, &g->value[u])) k = -1;
        }
}

bool names_axes(const struct ref *r)
{
    bool names = true;
    for (int a = 0; a < r->rank; a++) {
        names &= ref_axis(r, a) >= 0;
        for (int b = 0; b < a; b++) names &= ref_axis(r, a) != ref_axis(r, b);
    }
    return names;
}

struct value copy_as_read(struct graph *g, const struct ref *r)
{
    struct value map = graph_value(GRAPH_MAP, 0, NULL);
    for (int a = 0; a < r->rank; a++) map.axes[map.rank++] = ref_axis(r, a);
    map.operand[map.operands++] = *r;
    map.expr = expr_operand(g->module, 0);
    graph_inline(g, &map, 0, &g->value[r->of]);
    return map;
}

/* If a sum reads an exponential map along other axes, inserts a copy with these axes. */
static void rename_axes(struct graph *g)
{
    for (int v = 0; v < g->values; v++)
        for (int k = 0; k < g->value[v].operands; k++) {
            const struct ref r = g->value[v].operand[k];
            const struct expr *others;
            if (g->value[v].op == GRAPH_MAP || graph_is_plain(g, &r) || !exponent_of(g, r.of, &others)) continue;
            if (!names_axes(&r)) continue;
            const struct value map = copy_as_read(g, &r);
            int same = find_equal(g, v, &map);
            if (same < 0) graph_insert(g, same = v++, map);
            g->value[v].operand[k] = graph_ref(g, same, NULL);
        }
}

/* Rewrites the sum over f of exp(a[f]) * exp(b[f]) as the sum of exp(a[f] + b[f]). f must be one constant axis of
   both. */
static void open_products(struct graph *g)
{
    struct module *m = g->module;
    for (int v = 0; v < g->values; v++) {
        const struct value *product = &g->value[v];
        const struct expr *others[2];
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
            both &= ref_uses_axis(r, axis) && exponent_of(g, r->of, &others[k]) != NULL;
            terms.operand[terms.operands++] = *r;
            terms.expr = joined(m, EXPR_MUL, terms.expr, expr_operand(m, k));
        }
        for (int k = 0; k < terms.operands && both; k++) {
            int u = terms.operand[k].of;
            if (exponent_of(g, u, &others[0])) both = graph_inline(g, &terms, k, &g->value[u]), k = -1;
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

/* Returns the terms of the inner sum u if they are 2^exponent * others, and each has one reader. Otherwise NULL. */
static const struct value *exponential_terms(const struct graph *g, int u, const struct expr **exponent,
                                             const struct expr **others)
{
    const struct value *const sum = &g->value[u];
    if (sum->op != GRAPH_REDUCE || sum->fold != FOLD_SUM || sum->where || graph_uses(g, u) != 1) return NULL;
    const int terms = sum->operand[0].of;
    *exponent = exponent_of(g, terms, others);
    return *exponent && graph_uses(g, terms) == 1 && graph_is_plain(g, &sum->operand[0]) ? &g->value[terms] : NULL;
}

static bool same_axes(const struct value *a, const struct value *b)
{
    return a->rank == b->rank && memcmp(a->axes, b->axes, (size_t)a->rank * sizeof *a->axes) == 0;
}

/* Rewrites the sum of 2^x * y plus the sum of 2^x * z, over one axis, as the sum of 2^x * (y + z). The tangent of a
   product of exponential features has such sums. */
static void join_inner_sums(struct graph *g)
{
    struct module *const m = g->module;
    for (int v = 0; v < g->values; v++)
        for (int a = 0; g->value[v].op == GRAPH_MAP && a < g->value[v].operands; a++)
            for (int b = 0; b < g->value[v].operands; b++) {
                struct value *const user = &g->value[v];
                const int u = user->operand[a].of, w = user->operand[b].of;
                const struct expr *const left = expr_operand(m, a), *const right = expr_operand(m, b),
                                         *const both = expr_add(m, left, right), *exponent[2], *others[2];
                const struct value *const x = exponential_terms(g, u, &exponent[0], &others[0]),
                                          *const y = exponential_terms(g, w, &exponent[1], &others[1]);
                if (!x || !y || x >= y || !expr_uses(user->expr, both)) continue;
                struct value terms = *x;
                const struct expr *with[MAX_OPERANDS];
                struct ref other = user->operand[b];
                other.of = u;
                bool alike = same_axes(x, y) && same_axes(&g->value[u], &g->value[w]) &&
                             ref_equal(&other, &user->operand[a]);
                for (int k = 0; k < y->operands && alike; k++) {
                    const int number = graph_operand(&terms, &y->operand[k]);
                    alike = number >= 0;
                    with[k] = expr_operand(m, number);
                }
                if (!alike || expr_bind(m, exponent[1], with) != exponent[0]) continue;
                const struct expr *const one = expr_real(m, 1), *const z = others[1] ? expr_bind(m, others[1], with)
                                                                                     : one;
                terms.expr = joined(m, EXPR_MUL, exp2_of(m, exponent[0]), expr_add(m, others[0] ? others[0] : one, z));
                user->expr = expr_replace(m, user->expr, both, right);
                g->value[y - g->value] = terms;
            }
}

/* Replaces exp(x) by a power of 2 in log(1 + exp(x)), where x is at most 0. */
static const struct expr *with_powers(void *of, const struct expr *e)
{
    struct module *const m = of;
    const struct expr *const a = e->arg[0];
    if (e->op != EXPR_LOG1P || a->op != EXPR_EXP || !(expr_range(a->arg[0], NULL).high <= 0)) return NULL;
    return expr_make(m, EXPR_LOG1P, exp2_of(m, expr_scaled(m, a->arg[0], 1 / log(2))), NULL, NULL);
}

/* Makes exponentials powers of 2, which take half the time, where a relative error that grows with the exponent does
   not matter: bounded exponentials of running sums, and log(1 + exp(x)). Weights of running sums become ever smaller.
   Those below 2^-100 become 0, because sums of subnormal products are slow. */
static void scale_bounded(struct graph *g)
{
    static const double SHIFT = 26; /* exp2 is 0 below -126 */
    for (int v = 0; v < g->values; v++) {
        struct value *const value = &g->value[v];
        const struct expr *exponent = NULL, *others = NULL;
        if (value->op == GRAPH_MAP) split_exponentials(g->module, value->expr, &exponent, &others);
        if (exponent && is_bounded(g, v, exponent)) {
            const struct expr *const shifted = expr_sub(g->module, exponent, expr_real(g->module, SHIFT)),
                                     *const power = expr_mul(g->module, exp2_of(g->module, shifted),
                                                             expr_real(g->module, exp2(SHIFT)));
            value->expr = joined(g->module, EXPR_MUL, power, others);
        }
        if (value->op == GRAPH_MAP && expr_has(value->expr, EXPR_LOG1P))
            value->expr = expr_map(g->module, value->expr, with_powers, g->module);
    }
}

void prepare_exponentials(struct graph *g, bool opens)
{
    scale_bounded(g);
    write_out(g);
    if (opens) open_products(g);
    join_inner_sums(g);
    rename_axes(g);
    graph_sweep(g);
}
