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
            if (!axis_is_chunks(&g->module->axis[axis]) && !axis_is_sequence(&g->module->axis[axis])) {
                out->outer |= UINT32_C(1) << axis;
                continue;
            }
            int *role = axis_is_chunks(&g->module->axis[axis]) ? &out->chunk : &out->stream;
            if (*role >= 0 && *role != axis) return "sums over two run-time axes are not compiled yet";
            *role = axis;
        }
    return NULL;
}

/* Whether two outputs can share their loops: they run over the same axes and sum over the same. */
static bool share_loops(const struct graph *g, int a, int b)
{
    struct roles of[2];
    const struct value *v[2] = {&g->value[g->output[a].value], &g->value[g->output[b].value]};
    if (roles_of(g, a, &of[0]) || roles_of(g, b, &of[1])) return false;
    if (of[0].lane != of[1].lane || of[0].stream != of[1].stream || of[0].chunk != of[1].chunk ||
        of[0].outer != of[1].outer)
        return false;
    for (int k = 0; k < 2; k++)
        for (int r = 0; r < v[k]->rank; r++)
            if (g->module->axis[v[k]->axes[r]].source != SIZE_CONSTANT && !value_has_axis(v[1 - k], v[k]->axes[r]))
                return false;
    return true;
}

int output_groups(const struct graph *g, int *group)
{
    int groups = 0;
    for (int o = 0; o < g->outputs; o++) {
        group[o] = 0;
        for (int p = 0; p < o && !group[o]; p++)
            if (share_loops(g, p, o)) group[o] = group[p];
        if (!group[o]) group[o] = ++groups;
    }
    return groups;
}
