/* Computes the range of an expression for all positions, heads and sizes. An exponential is above 0, so a quotient
   with it as divisor can have bounds. */
#include "expr_query.h"

#include <float.h>
#include <math.h>

static const struct expr_range anything = {-INFINITY, INFINITY};

static double times(double a, double b)
{
    return a == 0 || b == 0 ? 0 : a * b;
}

/* Returns the smallest range that contains the four numbers. If one is NaN, returns the range of all numbers. */
static struct expr_range around(double a, double b, double c, double d)
{
    if (isnan(a) || isnan(b) || isnan(c) || isnan(d)) return anything;
    return (struct expr_range){fmin(fmin(a, b), fmin(c, d)), fmax(fmax(a, b), fmax(c, d))};
}

static struct expr_range between(double low, double high)
{
    return around(low, low, high, high);
}

static bool is_negative_of(const struct expr *a, const struct expr *b)
{
    return (a->op == EXPR_NEG && a->arg[0] == b) || (b->op == EXPR_NEG && b->arg[0] == a);
}

static struct expr_range product(const struct expr *e, struct expr_range a, struct expr_range b)
{
    /* e is a square, or the negative of a square. */
    if (e->arg[0] == e->arg[1] || is_negative_of(e->arg[0], e->arg[1])) {
        const struct expr_range square = between(a.low > 0    ? a.low * a.low
                                                 : a.high < 0 ? a.high * a.high
                                                              : 0,
                                                 fmax(a.low * a.low, a.high * a.high));
        return e->arg[0] == e->arg[1] ? square : between(-square.high, -square.low);
    }
    return around(times(a.low, b.low), times(a.low, b.high), times(a.high, b.low), times(a.high, b.high));
}

static struct expr_range quotient(const struct expr *e, struct expr_range a, struct expr_range b)
{
    if (a.low >= 0 && b.low >= 0 && (e->type != TYPE_REAL || b.low == 0)) return between(0, INFINITY);
    if (e->type != TYPE_REAL || (b.low <= 0 && b.high >= 0)) return anything;
    return around(times(a.low, 1 / b.low), times(a.low, 1 / b.high), times(a.high, 1 / b.low),
                  times(a.high, 1 / b.high));
}

static struct expr_range magnitude(struct expr_range a)
{
    return between(a.low > 0 ? a.low : a.high < 0 ? -a.high : 0, fmax(fabs(a.low), fabs(a.high)));
}

static struct expr_range power(struct expr_range a, struct expr_range b)
{
    if (a.low <= 0) return anything;
    a = (struct expr_range){log2(a.low), log2(a.high)};
    a = around(times(b.low, a.low), times(b.low, a.high), times(b.high, a.low), times(b.high, a.high));
    return between(fmax(exp2(a.low), DBL_TRUE_MIN), exp2(a.high));
}

static struct expr_range common_bits(struct expr_range a, struct expr_range b)
{
    if (a.low < 0 && b.low < 0) return anything;
    return between(0, a.low < 0 ? b.high : b.low < 0 ? a.high : fmin(a.high, b.high));
}

/* The range of a | b and a ^ b: no bit is set that neither a nor b has. */
static struct expr_range joined_bits(struct expr_range a, struct expr_range b)
{
    return a.low < 0 || b.low < 0 ? anything : between(0, a.high + b.high);
}

/* The rules of the column `range` of expr.def. If a function is NaN at a bound, the range is all numbers. */
#define ANYTHING anything
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
#define ROOT between(sqrt(fmax(a.low, 0)), sqrt(a.high))
#define REMAINDER (a.low >= 0 ? between(0, a.high) : anything)
#define FLOOR_REMAINDER (b.low >= 0 ? between(0, fmax(b.high - 1, 0)) : anything)
#define COMMON_BITS common_bits(a, b)
#define JOINED_BITS joined_bits(a, b)
#define NEARER_0 between(fmin(a.low, 0), fmax(a.high, 0))

/* A fact from the condition of a select: e is at least `low` where the select takes this argument. */
struct condition {
    const struct expr *e;
    double low;
    const struct condition *outer;
};

static struct expr_range of_parts(const struct expr *e, const struct expr_facts *facts, const struct condition *known);

static struct expr_range range_of(const struct expr *e, const struct expr_facts *facts, const struct condition *known)
{
    struct expr_range range = e->type == TYPE_BOOL ? between(0, 1) : of_parts(e, facts, known);
    if (facts) facts->tell(facts->of, e, &range);
    for (; known; known = known->outer)
        if (known->e == e) range.low = fmax(range.low, known->low);
    return range;
}

static struct expr_range of_parts(const struct expr *e, const struct expr_facts *facts, const struct condition *known)
{
    const struct expr *const first = e->arg[0];
    struct expr_range a = anything, b = anything, c = anything;
    if (e->op == EXPR_SELECT) {
        const bool bounds = (first->op == EXPR_LT || first->op == EXPR_LE) && first->arg[0]->op == EXPR_REAL;
        const struct condition holds = {bounds ? first->arg[1] : NULL, bounds ? first->arg[0]->real : 0, known};
        b = range_of(e->arg[1], facts, &holds);
        c = range_of(e->arg[2], facts, known);
    } else {
        if (first) a = range_of(first, facts, known);
        if (e->arg[1]) b = range_of(e->arg[1], facts, known);
    }
    switch (e->op) {
#define EXPR(name, text, function, caller, arguments, result, infix, effort, real, integer, range, derivative) \
    case EXPR_##name: return range;
#include "expr.def"
#undef EXPR
    case EXPR_OPS: break;
    }
    return anything;
}

struct expr_range expr_range(const struct expr *e, const struct expr_facts *facts)
{
    return range_of(e, facts, NULL);
}

static void tell_operand(const void *of, const struct expr *e, struct expr_range *range)
{
    if (e->op == EXPR_OPERAND) *range = *(const struct expr_range *)of;
}

struct expr_range expr_range_where(const struct expr *e, struct expr_range operand)
{
    return expr_range(e, &(struct expr_facts){tell_operand, &operand});
}

int expr_sign(const struct expr *e, const struct expr_facts *facts)
{
    const double low = expr_range(e, facts).low;
    return low > 0 ? 1 : low >= 0 ? 0 : -1;
}
