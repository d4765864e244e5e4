/* Computes the range of a real expression for all positions, heads and sizes. An exponential is above 0, so a
   quotient with it as divisor can have bounds. */
#include "analysis.h"

#include <float.h>
#include <math.h>

static const struct real_range anything = {-INFINITY, INFINITY};

static double times(double a, double b)
{
    return a == 0 || b == 0 ? 0 : a * b;
}

/* Returns the smallest range that contains the four numbers. If one is NaN, returns the range of all numbers. */
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

static struct real_range product(const struct expr *e, struct real_range a, struct real_range b)
{
    /* e is a square, or the negative of a square. */
    if (e->arg[0] == e->arg[1] || is_negative_of(e->arg[0], e->arg[1])) {
        const struct real_range square = between(a.low > 0    ? a.low * a.low
                                                 : a.high < 0 ? a.high * a.high
                                                              : 0,
                                                 fmax(a.low * a.low, a.high * a.high));
        return e->arg[0] == e->arg[1] ? square : between(-square.high, -square.low);
    }
    return around(times(a.low, b.low), times(a.low, b.high), times(a.high, b.low), times(a.high, b.high));
}

static struct real_range quotient(const struct expr *e, struct real_range a, struct real_range b)
{
    if (e->type != TYPE_REAL || (b.low <= 0 && b.high >= 0)) return anything;
    return around(times(a.low, 1 / b.low), times(a.low, 1 / b.high), times(a.high, 1 / b.low),
                  times(a.high, 1 / b.high));
}

static struct real_range magnitude(struct real_range a)
{
    return between(a.low > 0 ? a.low : a.high < 0 ? -a.high : 0, fmax(fabs(a.low), fabs(a.high)));
}

static struct real_range power(struct real_range a, struct real_range b)
{
    if (a.low <= 0) return anything;
    a = (struct real_range){log2(a.low), log2(a.high)};
    a = around(times(b.low, a.low), times(b.low, a.high), times(b.high, a.low), times(b.high, a.high));
    return between(fmax(exp2(a.low), DBL_TRUE_MIN), exp2(a.high));
}

static struct real_range common_bits(struct real_range a, struct real_range b)
{
    if (a.low < 0 && b.low < 0) return anything;
    return between(0, a.low < 0 ? b.high : b.low < 0 ? a.high : fmin(a.high, b.high));
}

/* The range of a | b and a ^ b: no bit is set that neither a nor b has. */
static struct real_range joined_bits(struct real_range a, struct real_range b)
{
    return a.low < 0 || b.low < 0 ? anything : between(0, a.high + b.high);
}

/* The rules of the column `range` of expr.def. If a function is NaN at a bound, the range is all numbers. */
#define ANYTHING anything
#define OF_OPERAND operand
#define EXACTLY(x) between(x, x)
#define AT_LEAST(x) between(x, INFINITY)
#define BETWEEN(x, y) between(x, y)
#define INCREASING(function) between(function(a.low), function(a.high))
#define POSITIVE(function) between(fmax(function(a.low), DBL_TRUE_MIN), function(a.high))
#define NEGATIVE between(-a.high, -a.low)
#define SUM between(a.low + b.low, a.high + b.high)
#define DIFFERENCE between(a.low - b.high, a.high - b.low)
#define PRODUCT product(e, a, b)
#define QUOTIENT quotient(e, a, b)
#define EITHER between(fmin(b.low, c.low), fmax(b.high, c.high))
#define SMALLER between(fmin(a.low, b.low), fmin(a.high, b.high))
#define LARGER between(fmax(a.low, b.low), fmax(a.high, b.high))
#define MAGNITUDE magnitude(a)
#define POWER power(a, b)
#define COMMON_BITS common_bits(a, b)
#define JOINED_BITS joined_bits(a, b)
#define NEARER_0 between(fmin(a.low, 0), fmax(a.high, 0))

struct real_range real_range_of(const struct expr *e, struct real_range operand)
{
    if (e->type == TYPE_BOOL) return between(0, 1);
    struct real_range a = anything, b = anything, c = anything;
    if (e->op != EXPR_SELECT && e->arg[0]) a = real_range_of(e->arg[0], operand);
    if (e->arg[1]) b = real_range_of(e->arg[1], operand);
    if (e->op == EXPR_SELECT) c = real_range_of(e->arg[2], operand);
    switch (e->op) {
#define EXPR(name, text, function, caller, arguments, result, infix, effort, real, integer, range, derivative) \
    case EXPR_##name: return range;
#include "../../ir/expr.def"
#undef EXPR
    case EXPR_OPS: break;
    }
    return anything;
}

struct real_range real_range(const struct expr *e)
{
    return real_range_of(e, anything);
}
