/* The cost model: FLOPs of the two forms, from which the length follows where one overtakes the other. */
#include "compiler.h"

static double pair_flops(const struct compilation *c)
{
    return 2.0 * (double)c->spec->head_dim + 2.0 * (double)c->spec->value_dim;
}

static double chunk_length(const struct compilation *c)
{
    const struct module *m = c->graph->module;
    for (int a = 0; a < m->axes; a++)
        if (m->axis[a].source == SIZE_CHUNKS) return (double)m->axis[a].extent;
    return 0;
}

double linear_flops(const struct compilation *c)
{
    double features = (double)c->features;
    return 4 * features * (double)(c->spec->value_dim + 1) + 6 * features + chunk_length(c) / 2 * pair_flops(c);
}

int64_t crossover_length(const struct compilation *c)
{
    /* a query that sees the keys up to its own meets half of them */
    double seen = chunk_length(c) > 0 ? 0.5 : 1;
    return (int64_t)(linear_flops(c) / (seen * pair_flops(c))) + 1;
}
