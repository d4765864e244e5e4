/* The corrected values of the delta rule. For the quadratic form, a separate program computes these values before
   any other program runs (pass/correct_values.c). */
#include "computed_arrays.h"

const char *const corrected_values[MAX_SYSTEMS] = {"corrected", "corrected_tangent"};

int systems_of_keys(const struct graph *g)
{
    int systems = 0;
    for (int v = 0; v < g->values; v++) systems += g->value[v].op == GRAPH_SOLVE;
    return systems;
}

const char *corrected_tensors(const struct graph *source, const struct problem_size *size, const struct tensor *in,
                              int count, struct tensor *out, int *made)
{
    const char *wrong = NULL;
    for (int solve = 0, system = 0; solve < source->values && !wrong; solve++) {
        if (source->value[solve].op != GRAPH_SOLVE) continue;
        struct graph *const g = graph_copy(source);
        const struct value *const v = &g->value[solve];
        size_t n = 1;
        for (int k = 0; k < v->rank; k++) n *= (size_t)axis_extent(g->module, v->axes[k], size);
        double *const solution = arena_alloc(g->module->arena, (n + 1) * sizeof *solution);
        g->outputs = 0;
        graph_output(g, corrected_values[system], solve);
        out[(*made)++] = (struct tensor){corrected_values[system++], solution};
        wrong = graph_eval(g, size, in, count, solution);
    }
    return wrong;
}
