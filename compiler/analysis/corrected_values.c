/* The corrected values of the delta rule. For the quadratic form, a separate program computes these values before
   any other program runs (pass/correct_values.c). */
#include "computed_arrays.h"

const char corrected_values[] = "corrected";

const char *corrected_tensor(const struct graph *source, const struct problem_size *size, const struct tensor *in,
                             int count, struct tensor *out, int *made)
{
    const int solve = graph_find_solve(source);
    if (solve < 0) return NULL;
    struct graph *const g = graph_copy(source);
    const struct value *const v = &g->value[solve];
    size_t n = 1;
    for (int k = 0; k < v->rank; k++) n *= (size_t)axis_extent(g->module, v->axes[k], size);
    double *const solution = arena_alloc(g->module->arena, (n + 1) * sizeof *solution);
    g->outputs = 0;
    graph_output(g, corrected_values, solve);
    out[(*made)++] = (struct tensor){corrected_values, solution};
    return graph_eval(g, size, in, count, solution);
}
