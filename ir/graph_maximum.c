/* Maxima that cancel: exp(x - M) divided by a sum of such terms does not depend on the maximum M, which only keeps
   exponentials from overflowing. */
#include "graph.h"

/* How a value depends on the maximum M:
   - 0: not at all
   - p: proportional to exp(-p * M)
   - ITSELF: it is M
   - -ITSELF: it is x - M, with x independent of M
   - OTHERWISE: none of these */
enum { ITSELF = 100, OTHERWISE };

/* Returns how e, over the operands of v, depends on M. power[u]: how value u depends on M. */
static int power_of(const struct value *v, const struct expr *e, const int *power)
{
    if (e->op == EXPR_OPERAND) return power[v->operand[e->integer].of];
    int of[3] = {0, 0, 0}, first = 0;
    /* a number in place of the maximum, or of a sum that is 0, of a row without keys */
    if (e->op == EXPR_SELECT && e->arg[1]->op == EXPR_REAL && e->arg[0]->arg[0] == e->arg[2] &&
        (e->arg[0]->op == EXPR_EQ || e->arg[0]->op == EXPR_LT) && e->arg[0]->arg[1]->op == EXPR_REAL)
        first = 2;
    for (int k = first; k < expr_arity(e->op); k++) of[k] = power_of(v, e->arg[k], power);
    if (of[0] == OTHERWISE || of[1] == OTHERWISE || of[2] == OTHERWISE) return OTHERWISE;
    if (e->op == EXPR_SUB && of[0] == 0 && of[1] == ITSELF) return -ITSELF;
    if ((e->op == EXPR_EXP || e->op == EXPR_EXP2) && of[0] == -ITSELF) return 1;
    if (first) return of[2];
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

bool graph_maximum_cancels(const struct graph *g, int maximum, int out)
{
    int *power = arena_alloc(g->module->arena, ((size_t)out + 1) * sizeof *power);
    power[maximum] = ITSELF;
    for (int n = maximum + 1; n <= out; n++) {
        const struct value *v = &g->value[n];
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
    return power[out] == 0;
}
