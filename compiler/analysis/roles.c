/* What the run-time axes are to an output: found from the graph, so that no pass asks which of them are the queries'
   and which the keys'. */
#include "analysis.h"

static bool run_time(const struct graph *g, int axis)
{
    return g->module->axis[axis].source != SIZE_CONSTANT;
}

/* Marks v and all that it is computed from. */
static void mark(const struct graph *g, int v, bool *needed)
{
    if (needed[v]) return;
    needed[v] = true;
    for (int k = 0; k < g->value[v].operands; k++) mark(g, g->value[v].operand[k].of, needed);
    if (g->value[v].online >= 0) mark(g, g->value[v].online, needed);
}

const char *roles_of(const struct graph *g, int output, struct roles *out)
{
    const struct value *result = &g->value[g->output[output].value];
    bool *needed = arena_alloc(g->module->arena, (size_t)g->values * sizeof *needed);
    *out = (struct roles){.lane = -1, .stream = -1, .chunk = -1, .outer = 0};
    for (int k = 0; k < result->rank; k++)
        if (run_time(g, result->axes[k])) out->lane = result->axes[k];
    mark(g, g->output[output].value, needed);
    for (int v = 0; v < g->values; v++)
        for (int k = 0; needed[v] && k < g->value[v].rank; k++) {
            int axis = g->value[v].axes[k];
            if (!run_time(g, axis) || value_has_axis(result, axis)) continue;
            if (g->module->axis[axis].source != SIZE_CHUNKS && !axis_is_sequence(&g->module->axis[axis])) {
                out->outer |= UINT32_C(1) << axis;
                continue;
            }
            int *role = g->module->axis[axis].source == SIZE_CHUNKS ? &out->chunk : &out->stream;
            if (*role >= 0 && *role != axis) return "sums over two run-time axes are not compiled yet";
            *role = axis;
        }
    return NULL;
}
