/* Exponential weights of a row that their sum divides, and maxima that only shift exponents: what keeps gradients from
   overflowing and from work that cancels. Found in the expressions, as everything else. */
#include "differentiate.h"
#include "pass.h"

#include <math.h>

/* ---- weights that a row's sum divides ---- */

static bool contains(const struct expr *e, const struct expr *part)
{
    return expr_uses(e, part);
}

/* The exponential, of something computed, that is a factor of e and occurs nowhere else in it; NULL: there is none. */
static const struct expr *exponential_factor(const struct expr *e)
{
    if (e->op == EXPR_EXP || e->op == EXPR_EXP2) return expr_has(e, EXPR_OPERAND) ? e : NULL;
    if (e->op != EXPR_MUL) return NULL;
    for (int k = 0; k < 2; k++) {
        const struct expr *found = exponential_factor(e->arg[k]);
        if (found && !contains(e->arg[1 - k], found)) return found;
    }
    return NULL;
}

/* Whether an exponent is relative to the largest there is. */
static bool is_bounded(const struct reversal *x, const struct value *v, const struct expr *exponent)
{
    if (exponent->op != EXPR_SUB || exponent->arg[1]->op != EXPR_OPERAND) return false;
    const struct value *shift = &x->g->value[v->operand[exponent->arg[1]->integer].of];
    return shift->op == GRAPH_REDUCE && shift->fold == FOLD_MAX;
}

bool is_exponential_weight(const struct reversal *x, int weight, int by)
{
    const struct value *v = &x->g->value[weight];
    if (by < 0 || v->op != GRAPH_MAP) return false;
    const struct expr *found = exponential_factor(v->expr);
    uint32_t axes = reversal_axes(x, weight), rows = reversal_axes(x, by);
    return found && !is_bounded(x, v, found->arg[0]) && !(rows & ~axes) && rows != axes;
}

static bool value_never_negative(const struct graph *g, int v);

static bool never_negative(const struct graph *g, const struct value *v, const struct expr *e)
{
    switch ((int)e->op) {
    case EXPR_EXP:
    case EXPR_EXP2:
    case EXPR_SQRT:
    case EXPR_ABS: return true;
    case EXPR_REAL: return e->real >= 0;
    case EXPR_INT: return e->integer >= 0;
    case EXPR_MUL:
        return e->arg[0] == e->arg[1] || (never_negative(g, v, e->arg[0]) && never_negative(g, v, e->arg[1]));
    case EXPR_ADD:
    case EXPR_DIV:
    case EXPR_MIN: return never_negative(g, v, e->arg[0]) && never_negative(g, v, e->arg[1]);
    case EXPR_MAX: return never_negative(g, v, e->arg[0]) || never_negative(g, v, e->arg[1]);
    case EXPR_SELECT: return never_negative(g, v, e->arg[1]) && never_negative(g, v, e->arg[2]);
    case EXPR_OPERAND: return value_never_negative(g, v->operand[e->integer].of);
    default: return false;
    }
}

static bool value_never_negative(const struct graph *g, int v)
{
    const struct value *value = &g->value[v];
    switch (value->op) {
    case GRAPH_INPUT:
    case GRAPH_PARAM:
    case GRAPH_TABLE: return false;
    case GRAPH_MAP: return never_negative(g, value, value->expr);
    case GRAPH_CONTRACT:
        return value_never_negative(g, value->operand[0].of) && value_never_negative(g, value->operand[1].of);
    case GRAPH_REDUCE: return value->init >= 0 && value_never_negative(g, value->operand[0].of);
    }
    return false;
}

struct normalised normalise_weight(struct reversal *x, int weight, int by)
{
    struct module *m = x->m;
    const struct value v = x->g->value[weight];
    struct normalised out = {exponential_factor(v.expr), -1, -1};
    const bool positive = value_never_negative(x->g, by);
    const double per_bit = 1 / log(2);
    const struct expr *zero = expr_real(m, 0), *e;

    /* the logarithm, in powers of two, of what the row is divided by */
    struct value row = graph_value(GRAPH_MAP, x->g->value[by].rank, x->g->value[by].axes);
    const struct expr *sum = reversal_value(x, &row, by), *none = expr_make(m, EXPR_EQ, sum, zero, NULL);
    e = expr_make(m, EXPR_LOG, positive ? sum : expr_make(m, EXPR_ABS, sum, NULL, NULL), NULL, NULL);
    e = expr_make(m, EXPR_MUL, e, expr_real(m, per_bit), NULL);
    int logarithm = reversal_map(x, &row, expr_make(m, EXPR_SELECT, none, zero, e));

    struct value factor = v;
    const struct expr *exponent = out.exponential->arg[0];
    if (out.exponential->op == EXPR_EXP) exponent = expr_scaled(m, exponent, per_bit);
    e = expr_make(m, EXPR_EXP2, expr_make(m, EXPR_SUB, exponent, reversal_value(x, &factor, logarithm), NULL), NULL,
                  NULL);
    if (!positive) { /* the logarithm has lost the sign */
        sum = reversal_value(x, &factor, by);
        none = expr_make(m, EXPR_EQ, sum, zero, NULL);
        const struct expr *sign = expr_make(m, EXPR_SELECT, expr_make(m, EXPR_LT, sum, zero, NULL), expr_real(m, -1),
                                            expr_real(m, 1));
        e = expr_make(m, EXPR_MUL, e, expr_make(m, EXPR_SELECT, none, zero, sign), NULL);
    }
    out.factor = reversal_map(x, &factor, e);
    out.weight = out.factor;
    if (v.expr == out.exponential) return out;
    struct value whole = v;
    e = reversal_value(x, &whole, out.factor);
    out.weight = reversal_map(x, &whole, expr_replace(m, v.expr, out.exponential, e));
    return out;
}

/* ---- maxima that cancel ---- */

/* How values depend on the maximum M: as exp(-power * M) does, where it is a number; not at all for 0. */
enum { ITSELF = 100, OTHERWISE };

static int power_of(const struct value *v, const struct expr *e, const int *power)
{
    if (e->op == EXPR_OPERAND) return power[v->operand[e->integer].of];
    int of[3] = {0, 0, 0};
    for (int k = 0; k < expr_arity(e->op); k++) of[k] = power_of(v, e->arg[k], power);
    if (of[0] == OTHERWISE || of[1] == OTHERWISE || of[2] == OTHERWISE) return OTHERWISE;
    if (e->op == EXPR_SUB && of[0] == 0 && of[1] == ITSELF) return -ITSELF;
    if (e->op == EXPR_EXP && of[0] == -ITSELF) return 1;
    for (int k = 0; k < 3; k++)
        if (of[k] >= ITSELF || of[k] <= -ITSELF) return OTHERWISE;
    switch ((int)e->op) {
    case EXPR_MUL: return of[0] + of[1];
    case EXPR_DIV: return of[0] - of[1];
    case EXPR_NEG: return of[0];
    case EXPR_ADD:
    case EXPR_SUB: return of[0] == of[1] ? of[0] : OTHERWISE;
    default: return of[0] == 0 && of[1] == 0 && of[2] == 0 ? 0 : OTHERWISE;
    }
}

bool is_cancelled_maximum(const struct reversal *x, int maximum)
{
    int *power = arena_alloc(x->m->arena, (size_t)x->forward * sizeof *power);
    power[maximum] = ITSELF;
    for (int n = maximum + 1; n < x->forward; n++) {
        const struct value *v = &x->g->value[n];
        if (v->op == GRAPH_MAP) power[n] = power_of(v, v->expr, power);
        for (int k = 0; v->op != GRAPH_MAP && k < v->operands; k++) {
            int of = power[v->operand[k].of];
            if (of == ITSELF || of == -ITSELF ||
                (of != 0 && v->op == GRAPH_REDUCE && (v->fold != FOLD_SUM || v->init != 0)))
                return false;
            power[n] += of;
        }
        if (power[n] == OTHERWISE) return false;
    }
    return power[x->out] == 0;
}
