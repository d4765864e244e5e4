/* The lists of the best keys of rows, which a separate program computes (pass/select.c). */
#include "computed_arrays.h"

int lists_of_keys(const struct graph *g)
{
    int lists = 0;
    for (int v = 0; v < g->values; v++) lists += g->value[v].op == GRAPH_SELECT;
    return lists;
}

const char *lists_tensors(const struct graph *source, const struct problem_size *size, const struct tensor *in,
                          int count, struct tensor *out, int *made)
{
    const char *wrong = NULL;
    for (int v = 0; v < source->values && !wrong; v++) {
        if (source->value[v].op != GRAPH_SELECT) continue;
        struct graph *const g = graph_copy(source);
        size_t n = 1;
        for (int k = 0; k < g->value[v].rank; k++) n *= (size_t)axis_extent(g->module, g->value[v].axes[k], size);
        double *const lists = arena_alloc(g->module->arena, (n + 1) * sizeof *lists);
        g->outputs = 0;
        graph_output(g, g->value[v].name, v);
        out[(*made)++] = (struct tensor){g->value[v].name, lists};
        wrong = graph_eval(g, size, in, count, lists);
    }
    return wrong;
}
