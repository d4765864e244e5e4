/* Finds weights that are high powers, such as (s + alpha)^20, and overflow for ordinary numbers. */
#include "overflow.h"

#include <float.h>
#include <math.h>

/* The overflow warnings assume bases below 2^ORDINARY_BITS and at most 2^ROW_BITS keys. */
enum { ORDINARY_BITS = 10, ROW_BITS = 20 };

int64_t overflow_degree(enum dtype dtype)
{
    const int bits = dtype == DTYPE_F64 ? DBL_MAX_EXP : FLT_MAX_EXP;
    return (bits - ROW_BITS) / ORDINARY_BITS + 1;
}

double overflow_base(enum dtype dtype, double degree)
{
    return pow(dtype == DTYPE_F64 ? DBL_MAX : (double)FLT_MAX, 1 / degree);
}

double underflow_base(enum dtype dtype, double degree)
{
    return pow(dtype == DTYPE_F64 ? DBL_MIN : (double)FLT_MIN, 1 / degree);
}

/* Returns the operands that vary along all sequence axes of a map, as bits. An inner product of query and key
   varies along both. A coefficient does not. */
static uint32_t operands_of_points(const struct module *m, const struct value *v)
{
    const uint32_t points = value_axes(v) & axes_of_sequences(m);
    uint32_t bits = 0;
    for (int k = 0; k < v->operands; k++)
        if (!(points & ~ref_axes(&v->operand[k]))) bits |= AXIS(k);
    return bits;
}

/* Returns the degree of e in the operands `operands`: 3 for x * x^2. Returns 0 if e does not grow like a power. */
static double growth_of(const struct expr *e, uint32_t operands)
{
    if (e->op == EXPR_OPERAND) return operands >> e->integer & 1;
    if (!expr_has(e, EXPR_OPERAND)) return 0;
    if (e->op == EXPR_MUL && e->arg[0] == e->arg[1]) return 2 * growth_of(e->arg[0], operands);
    double of[3] = {0, 0, 0};
    for (int k = 0; k < expr_arity(e->op); k++) of[k] = growth_of(e->arg[k], operands);
    switch ((int)e->op) {
    case EXPR_ABS:
    case EXPR_NEG:
    case EXPR_DIV: return of[0];
    case EXPR_ADD:
    case EXPR_SUB:
    case EXPR_MAX: return fmax(of[0], of[1]);
    case EXPR_SELECT: return fmax(of[1], of[2]);
    case EXPR_MUL: return of[0] + of[1];
    case EXPR_SQRT: return of[0] / 2;
    case EXPR_POW: return e->arg[1]->op == EXPR_REAL ? of[0] * fmax(e->arg[1]->real, 0) : 0;
    default: return 0;
    }
}

/* Writes e as base^degree. If e is no power, the degree is 1. */
static struct power_factor power_of(const struct expr *e)
{
    if (e->op == EXPR_MUL) {
        const struct power_factor a = power_of(e->arg[0]), b = e->arg[0] == e->arg[1] ? a : power_of(e->arg[1]);
        if (a.base == b.base) return (struct power_factor){e, a.base, a.degree + b.degree};
    }
    return (struct power_factor){e, e, 1};
}

static void find_power(const struct expr *e, struct power_factor *found)
{
    const struct power_factor own = power_of(e);
    if (expr_has(own.base, EXPR_OPERAND) && own.degree > found->degree) *found = own;
    if (own.degree > 1 || (e->op != EXPR_MUL && e->op != EXPR_NEG && e->op != EXPR_DIV)) return;
    for (int k = 0; k < (e->op == EXPR_MUL ? 2 : 1); k++) find_power(e->arg[k], found);
}

struct power_factor overflowing_power(const struct module *m, const struct value *weight)
{
    const struct expr *e = weight->expr;
    struct power_factor found = {NULL, NULL, 1};
    if (expr_has(e, EXPR_EXP) || expr_has(e, EXPR_EXP2)) return found;
    if (growth_of(e, operands_of_points(m, weight)) >= (double)overflow_degree(m->dtype)) find_power(e, &found);
    return found;
}

bool value_of_pairs(const struct module *m, const struct value *v)
{
    return axes_have(m, v->rank, v->axes, SIZE_N_Q) && axes_have(m, v->rank, v->axes, SIZE_N_K);
}

double weight_growth(const struct graph *source)
{
    const struct module *m = source->module;
    double growth = 0;
    for (int v = 0; v < source->values; v++) {
        const struct value *weight = &source->value[v];
        if (weight->op == GRAPH_MAP && value_of_pairs(m, weight))
            growth = fmax(growth, growth_of(weight->expr, operands_of_points(m, weight)));
    }
    return growth;
}

int64_t relative_degree(const struct graph *g)
{
    int64_t degree = 0;
    for (int v = 0; v < g->values; v++)
        if (g->value[v].power > degree) degree = g->value[v].power;
    return degree;
}
