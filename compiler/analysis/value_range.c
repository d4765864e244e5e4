/* The range of a real expression over positions, heads and sizes: between which numbers it stays whatever they are.
   Exponentials are above 0. */
#include "analysis.h"

#include <float.h>
#include <math.h>

static const struct real_range anything = {-INFINITY, INFINITY};

static double times(double a, double b)
{
    return a == 0 || b == 0 ? 0 : a * b;
}

/* The least range with the four numbers; anything when one of them is none. */
static struct real_range around(double a, double b, double c, double d)
{
    if (isnan(a) || isnan(b) || isnan(c) || isnan(d)) return anything;
    return (struct real_range){fmin(fmin(a, b), fmin(c, d)), fmax(fmax(a, b), fmax(c, d))};
}

static struct real_range between(double low, double high)
{
    return around(low, low, high, high);
}

static bool is_negative_of(const struct expr *a, const struct expr *b)
{
    return (a->op == EXPR_NEG && a->arg[0] == b) || (b->op == EXPR_NEG && b->arg[0] == a);
}

struct real_range real_range_of(const struct expr *e, struct real_range operand)
{
    if (e->type == TYPE_BOOL) return between(0, 1);
    struct real_range a = anything, b = anything;
    if (e->op != EXPR_SELECT && e->arg[0]) a = real_range_of(e->arg[0], operand);
    if (e->arg[1]) b = real_range_of(e->arg[1], operand);
    switch ((int)e->op) {
    case EXPR_OPERAND: return operand;
    case EXPR_REAL: return between(e->real, e->real);
    case EXPR_INT: return between((double)e->integer, (double)e->integer);
    case EXPR_INDEX: return between(0, INFINITY);
    case EXPR_SIZE: return between(1, INFINITY);
    case EXPR_NEG: return between(-a.high, -a.low);
    case EXPR_ADD: return between(a.low + b.low, a.high + b.high);
    case EXPR_SUB: return between(a.low - b.high, a.high - b.low);
    case EXPR_MUL:
        if (e->arg[0] == e->arg[1] || is_negative_of(e->arg[0], e->arg[1])) { /* a square, or minus one */
            const struct real_range square = between(a.low > 0    ? a.low * a.low
                                                     : a.high < 0 ? a.high * a.high
                                                                  : 0,
                                                     fmax(a.low * a.low, a.high * a.high));
            return e->arg[0] == e->arg[1] ? square : between(-square.high, -square.low);
        }
        return around(times(a.low, b.low), times(a.low, b.high), times(a.high, b.low), times(a.high, b.high));
    case EXPR_DIV:
        if (e->type != TYPE_REAL || (b.low <= 0 && b.high >= 0)) return anything;
        return around(times(a.low, 1 / b.low), times(a.low, 1 / b.high), times(a.high, 1 / b.low),
                      times(a.high, 1 / b.high));
    case EXPR_SELECT: {
        struct real_range c = real_range_of(e->arg[2], operand);
        return between(fmin(b.low, c.low), fmax(b.high, c.high));
    }
    case EXPR_MIN: return between(fmin(a.low, b.low), fmin(a.high, b.high));
    case EXPR_MAX: return between(fmax(a.low, b.low), fmax(a.high, b.high));
    case EXPR_ABS: return between(a.low > 0 ? a.low : a.high < 0 ? -a.high : 0, fmax(fabs(a.low), fabs(a.high)));
    case EXPR_FLOOR: return between(floor(a.low), floor(a.high));
    case EXPR_SQRT: return a.low >= 0 ? between(sqrt(a.low), sqrt(a.high)) : anything;
    case EXPR_EXP: return between(fmax(exp(a.low), DBL_TRUE_MIN), exp(a.high));
    case EXPR_EXP2: return between(fmax(exp2(a.low), DBL_TRUE_MIN), exp2(a.high));
    case EXPR_LOG: return a.low > 0 ? between(log(a.low), log(a.high)) : anything;
    case EXPR_TANH: return between(tanh(a.low), tanh(a.high));
    case EXPR_POW:
        if (a.low <= 0) return anything;
        a = (struct real_range){log2(a.low), log2(a.high)};
        a = around(times(b.low, a.low), times(b.low, a.high), times(b.high, a.low), times(b.high, a.high));
        return between(fmax(exp2(a.low), DBL_TRUE_MIN), exp2(a.high));
    default: return anything;
    }
}

struct real_range real_range(const struct expr *e)
{
    return real_range_of(e, anything);
}
