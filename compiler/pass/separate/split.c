/* Makes several weights of one, so that each has one region and one formula. */
#include "separate.h"
#include "../../analysis/analysis.h"

void separate_split_by_region(struct separation *x)
{
    struct graph *const g = x->g;
    const struct expr *where = NULL;
    bool found = false, others = false;
    for (int w = 0; w < g->values; w++)
        for (int k = 0; k < g->value[w].operands; k++) {
            if (g->value[w].operand[k].of != x->weight) continue;
            if (!found) where = g->value[w].where;
            others |= found && g->value[w].where != where;
            found = true;
        }
    if (!others) return;
    graph_insert(g, x->weight, *x->value);
    for (int w = x->weight + 2; w < g->values; w++)
        for (int k = 0; k < g->value[w].operands; k++)
            if (g->value[w].operand[k].of == x->weight + 1 && g->value[w].where == where)
                g->value[w].operand[k].of = x->weight;
    x->value = &g->value[x->weight];
}
