/* The values of a graph that a separate program computes before any other program runs: the corrected values of the
   delta rule in its quadratic form (pass/correct_values.c), and lists of the best keys (pass/select.c). */
#include "computed_arrays.h"

const char *const corrected_values[MAX_SYSTEMS] = {"corrected", "corrected_tangent"};

const char *computed_tensors(const struct graph *source, const struct problem_size *size, const struct tensor *in,
                             int count, struct tensor *out, int *made)
{
    const char *wrong = prefix_tensors(source, size, in, count, out, made);
    for (int v = 0, system = 0; v < source->values && !wrong; v++) {
        const struct value *const value = &source->value[v];
        if (value->op != GRAPH_SOLVE && value->op != GRAPH_SELECT) continue;
        struct graph *const g = graph_copy(source);
        size_t n = 1;
        for (int k = 0; k < value->rank; k++) n *= (size_t)axis_extent(g->module, value->axes[k], size);
        double *const elements = arena_alloc(g->module->arena, (n + 1) * sizeof *elements);
        const char *const name = value->op == GRAPH_SOLVE ? corrected_values[system++] : value->name;
        g->outputs = 0;
        graph_output(g, name, v);
        out[(*made)++] = (struct tensor){name, elements};
        wrong = graph_eval(g, size, in, count, elements);
    }
    return wrong;
}
