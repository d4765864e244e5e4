/* Derivatives of scalar expressions. The last column of expr.def has the rules, in terms of the functions below.
   These functions omit terms of 0 and factors of 1. A product with a derivative of 0 is 0, even if the other factor
   is infinite. */
#include "expr.h"

#include <math.h>

struct derivation {
    struct module *m;
    const struct expr *leaf;
    const struct expr *const *tangent; /* if `leaf` is NULL: the derivative of each operand, or NULL */
    const struct expr **known;         /* known[e->id]: the derivative of e, or NULL */
};

static const struct expr *real(struct module *m, double value)
{
    return expr_real(m, value);
}

static bool zero(const struct expr *x)
{
    return expr_is_real(x, 0);
}

static const struct expr *negated(struct module *m, const struct expr *x)
{
    if (x->op == EXPR_MUL && x->arg[1]->op == EXPR_REAL) return expr_mul(m, x->arg[0], real(m, -x->arg[1]->real));
    return zero(x) ? x : expr_neg(m, x);
}

static const struct expr *plus(struct module *m, const struct expr *x, const struct expr *y)
{
    if (zero(x) || zero(y)) return zero(x) ? y : x;
    if (y->op == EXPR_NEG) return expr_sub(m, x, y->arg[0]);
    return expr_add(m, x, y);
}

static const struct expr *less(struct module *m, const struct expr *x, const struct expr *y)
{
    return zero(x) ? negated(m, y) : plus(m, x, negated(m, y));
}

/* Removes the constant factor of x and multiplies *factor by it: 3 * y becomes y. */
static const struct expr *without_constant(struct module *m, const struct expr *x, double *factor)
{
    if (x->op == EXPR_NEG) {
        *factor = -*factor;
        return without_constant(m, x->arg[0], factor);
    }
    if (x->op == EXPR_REAL || x->op == EXPR_INT) {
        *factor *= x->op == EXPR_REAL ? x->real : (double)x->integer;
        return real(m, 1);
    }
    if (x->op != EXPR_MUL || x->type != TYPE_REAL || x->arg[1]->op != EXPR_REAL) return x;
    *factor *= x->arg[1]->real;
    return x->arg[0];
}

static const struct expr *times(struct module *m, const struct expr *x, const struct expr *y)
{
    if (zero(x) || zero(y)) return real(m, 0);
    double factor = 1;
    x = without_constant(m, x, &factor);
    y = without_constant(m, y, &factor);
    const struct expr *product = expr_is_real(x, 1) ? y : expr_is_real(y, 1) ? x : expr_mul(m, x, y);
    return factor == -1 && !expr_is_real(product, 1) ? negated(m, product) : expr_mul(m, product, real(m, factor));
}

static const struct expr *over(struct module *m, const struct expr *x, const struct expr *y)
{
    return zero(x) ? x : expr_div(m, x, y);
}

/* Simplifies e if condition c is known to be true (`holds`) or false: select(c, x, y) becomes x or y. */
static const struct expr *where_known(struct module *m, const struct expr *e, const struct expr *c, bool holds)
{
    if (e->op == EXPR_SELECT && e->arg[0] == c) return where_known(m, e->arg[holds ? 1 : 2], c, holds);
    if (e->op != EXPR_MUL && e->op != EXPR_NEG) return e;
    const struct expr *a = where_known(m, e->arg[0], c, holds);
    return e->op == EXPR_NEG ? negated(m, a) : times(m, a, where_known(m, e->arg[1], c, holds));
}

static const struct expr *choose(struct module *m, const struct expr *c, const struct expr *x, const struct expr *y)
{
    return expr_select(m, c, where_known(m, x, c, true), where_known(m, y, c, false));
}

/* Returns b * a^(b - 1). Returns 0 for b = 0, to avoid 0 * infinity. */
static const struct expr *power_less_1(struct module *m, const struct expr *a, const struct expr *b)
{
    const struct expr *rest = expr_sub(m, b, b->type == TYPE_REAL ? real(m, 1) : expr_int(m, 1));
    const struct expr *e = times(m, b, expr_pow(m, a, rest)),
                      *none = expr_eq(m, b, b->type == TYPE_REAL ? real(m, 0) : expr_int(m, 0));
    return expr_select(m, none, real(m, 0), e);
}

/* Returns log(a), or 0 for a <= 0. The derivative of a^b with respect to b is a^b * log(a). For a <= 0 this
   derivative is 0: 0^b is constant, and a negative base has a fixed integer exponent. */
static const struct expr *logarithm(struct module *m, const struct expr *a)
{
    return expr_select(m, expr_le(m, a, real(m, 0)), real(m, 0), expr_log(m, a));
}

/* Names for the last column of expr.def. */
#define ZERO real(m, 0)
#define HALF real(m, 0.5)
#define ONE real(m, 1)
#define TWO real(m, 2)
#define NUMBER(x) real(m, x)
#define NEGATED(x) negated(m, x)
#define PLUS(x, y) plus(m, x, y)
#define LESS(x, y) less(m, x, y)
#define TIMES(x, y) times(m, x, y)
#define OVER(x, y) over(m, x, y)
#define BELOW(x, y) expr_lt(m, x, y)
#define CHOOSE(c, x, y) choose(m, c, x, y)
#define APPLY(function, x) expr_make(m, EXPR_##function, x, NULL, NULL)
#define POWER_LESS_1(x, y) power_less_1(m, x, y)
#define LOGARITHM(x) logarithm(m, x)

static const struct expr *derive(struct derivation *x, const struct expr *e)
{
    struct module *m = x->m;
    if (e == x->leaf) return ONE;
    if (!x->leaf && e->op == EXPR_OPERAND) return x->tangent[e->integer] ? x->tangent[e->integer] : ZERO;
    if (e->type != TYPE_REAL || expr_arity(e->op) == 0) return ZERO;
    if (x->known[e->id]) return x->known[e->id];
    const struct expr *const a = e->arg[0], *const b = e->arg[1], *d[3] = {NULL, NULL, NULL}, *result = ZERO;
    bool moves = false;
    for (int k = 0; k < expr_arity(e->op); k++) {
        d[k] = derive(x, e->arg[k]);
        moves |= !zero(d[k]);
    }
    const struct expr *const da = d[0], *const db = d[1], *const dc = d[2];
    if (moves) switch (e->op) {
#define EXPR(name, text, function, caller, arguments, result_type, infix, effort, value, integer, range, derivative) \
    case EXPR_##name: result = derivative; break;
#include "expr.def"
#undef EXPR
        case EXPR_OPS: break;
        }
    return x->known[e->id] = result;
}

const struct expr *expr_derivative(struct module *m, const struct expr *e, const struct expr *leaf)
{
    struct derivation x = {m, leaf, NULL, arena_alloc(m->arena, (size_t)m->exprs * sizeof *x.known)};
    return derive(&x, e);
}

const struct expr *expr_tangent(struct module *m, const struct expr *e, const struct expr *const *tangent)
{
    struct derivation x = {m, NULL, tangent, arena_alloc(m->arena, (size_t)m->exprs * sizeof *x.known)};
    return derive(&x, e);
}
