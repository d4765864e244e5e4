/* Rewrites powers of a positive base whose exponent depends on positions or prefix sums: 0.97^(i-j) becomes
   exp2((i-j)*log2(0.97)). The logarithm is usually loop-invariant.
   - Accuracy: the relative error is about |x| * 2^-24 for the exponent x. For a decay, a large |x| is a weight of
     almost 0.
   - This runs after stabilise, which would otherwise make these exponentials relative to a maximum. */
#include "pass.h"
#include "../analysis/analysis.h"
#include "../schedule/schedule.h"

#include <math.h>

static const struct expr *log2_of(struct module *m, const struct expr *base)
{
    switch ((int)base->op) {
    case EXPR_REAL: return expr_real(m, log2(base->real));
    case EXPR_EXP2: return base->arg[0];
    case EXPR_EXP: return expr_make(m, EXPR_MUL, base->arg[0], expr_real(m, 1 / log(2)), NULL);
    case EXPR_POW: return expr_make(m, EXPR_MUL, base->arg[1], log2_of(m, base->arg[0]), NULL);
    default: return expr_make(m, EXPR_MUL, expr_make(m, EXPR_LOG, base, NULL, NULL), expr_real(m, 1 / log(2)), NULL);
    }
}

static const struct expr *rewritten(struct module *m, const struct expr *e)
{
    int arity = expr_arity(e->op);
    if (!expr_has(e, EXPR_POW)) return e;
    const bool of_positions = e->op == EXPR_POW && !expr_has(e, EXPR_OPERAND) && expr_axes(e->arg[1]),
               of_sums = e->op == EXPR_POW && expr_is_exact_difference(e->arg[1]);
    if ((of_positions || of_sums) && real_range(e->arg[0]).low > 0)
        return expr_make(m, EXPR_EXP2, expr_make(m, EXPR_MUL, e->arg[1], rewritten(m, log2_of(m, e->arg[0])), NULL),
                         NULL, NULL);
    const struct expr *arg[3] = {NULL, NULL, NULL};
    for (int k = 0; k < arity; k++) arg[k] = rewritten(m, e->arg[k]);
    return expr_with_args(m, e, arg);
}

void pass_strength_reduce(struct compilation *c)
{
    for (int v = 0; v < c->graph->values; v++) {
        struct value *value = &c->graph->value[v];
        if (value->op == GRAPH_MAP) value->expr = rewritten(c->graph->module, value->expr);
    }
}
