/* Finds the roles of the run-time axes for an output, such as the lane. Passes use roles and need not know queries
   and keys. */
#include "computed_arrays.h"
#include "roles.h"

enum { ROWS_AT_A_TIME = 64 }; /* the number of rows in a slice is a multiple of this */

static bool run_time(const struct graph *g, int axis)
{
    return !axis_is_whole(&g->module->axis[axis]);
}

/* Marks value v and all values that it needs. A prefix sum counts as an input. */
static void mark(const struct graph *g, int v, bool *needed)
{
    struct prefix_sum sum;
    if (needed[v]) return;
    needed[v] = true;
    if (prefix_sum_of(g, v, &sum)) return;
    for (int k = 0; k < g->value[v].operands; k++) mark(g, g->value[v].operand[k].of, needed);
    if (g->value[v].online >= 0) mark(g, g->value[v].online, needed);
}

/* Sets the axes of the rows, and the lane. */
static void find_rows(const struct graph *g, const struct value *result, struct roles *out)
{
    for (int k = 0; k < result->rank; k++) {
        const int axis = result->axes[k];
        if (g->module->axis[axis].source == SIZE_UNITS)
            out->slices = axis;
        else if (run_time(g, axis))
            out->rows |= AXIS(axis);
        if (!axis_is_sequence(&g->module->axis[axis])) continue;
        out->outer_only |= out->lane >= 0;
        out->stream = out->lane;
        out->lane = axis;
    }
    for (int a = 0; a < g->module->axes && out->slices >= 0; a++) {
        if (!(expr_axes(result->where) >> a & 1) || !run_time(g, a) || a == out->slices) continue;
        out->rows |= AXIS(a);
        if (axis_is_sequence(&g->module->axis[a])) out->lane = a;
    }
}

/* Handles an output that solves a linear system without features. No state can replace such a system. The rows are the
   equations. */
static void find_equations(const struct graph *g, const struct value *result, struct roles *out)
{
    int along;
    if (result->op != GRAPH_SOLVE || result->operands > SOLVE_FEATURES ||
        !graph_solve_axes(g->module, result, &along, &out->lane))
        return;
    out->rows = (out->rows & ~AXIS(along)) | AXIS(out->lane);
}

/* Handles an output of pairs that depends on sums over one of its sequences, such as weights that are divided by the
   sum of their row. Its loops run over that sequence twice. */
static void find_summed(const struct graph *g, const bool *needed, struct roles *out)
{
    const int sequence[2] = {out->lane, out->stream};
    for (int v = 0; v < g->values && out->stream >= 0 && out->outer_only; v++)
        for (int k = 0; k < 2 && needed[v] && out->outer_only; k++) {
            const struct value *const value = &g->value[v];
            const bool sums = (value->op == GRAPH_CONTRACT || value->op == GRAPH_REDUCE) &&
                              value_has_axis(value, sequence[1 - k]) && !value_has_axis(value, sequence[k]);
            if (!sums || !(value_operand_axes(value) >> sequence[k] & 1)) continue;
            out->lane = sequence[1 - k];
            out->stream = sequence[k];
            out->rows &= ~AXIS(out->stream);
            out->outer_only = false;
        }
}

/* Handles an output that needs running sums. Loops carry them along the stream, with the other sequence in the lanes.
 */
static void find_scanned(const struct graph *g, const bool *needed, struct roles *out)
{
    for (int v = 0; v < g->values; v++) {
        const struct value *const value = &g->value[v];
        if (!needed[v] || value->op != GRAPH_SCAN) continue;
        out->stream = value->axes[value->rank - 1];
        out->lane = axes_first(value_axes(value) & axes_of_sequences(g->module) & ~AXIS(out->stream));
        out->rows = (out->rows & ~AXIS(out->stream)) | (out->slices < 0 ? AXIS(out->lane) : 0);
        for (int k = 0; k < value->rank; k++) /* the loops are those of each query head */
            if (g->module->axis[value->axes[k]].source == SIZE_MEMBERS && out->slices < 0)
                out->rows |= AXIS(value->axes[k]);
        out->outer_only = false;
    }
}

const char *roles_of(const struct graph *g, int output, struct roles *out)
{
    const struct value *result = &g->value[g->output[output].value];
    bool *needed = arena_alloc(g->module->arena, (size_t)g->values * sizeof *needed);
    *out = (struct roles){.lane = -1, .stream = -1, .chunk = -1, .slices = -1};
    find_rows(g, result, out);
    find_equations(g, result, out);
    mark(g, g->output[output].value, needed);
    find_summed(g, needed, out);
    find_scanned(g, needed, out);
    int along, of_equations = -1;
    for (int v = 0; v < g->values; v++)
        if (needed[v] && g->value[v].op == GRAPH_SOLVE && (&g->value[v] != result || result->operands > SOLVE_FEATURES))
            graph_solve_axes(g->module, &g->value[v], &along, &of_equations);
    for (int v = 0; v < g->values; v++) {
        struct prefix_sum sum;
        const struct value *const value = &g->value[v]; /* an array of the caller needs no loops */
        uint32_t axes = needed[v] && value->operands && !prefix_sum_of(g, v, &sum)
                            ? value_operand_axes(value) | value_axes(value)
                            : 0;
        if (of_equations >= 0) axes &= ~AXIS(of_equations);
        for (int axis = 0; axes >> axis; axis++) {
            if (!(axes >> axis & 1) || !run_time(g, axis) || out->rows >> axis & 1 ||
                g->module->axis[axis].source == SIZE_UNITS)
                continue;
            if (!axis_is_chunks(&g->module->axis[axis]) && !axis_is_sequence(&g->module->axis[axis])) {
                out->outer |= AXIS(axis);
                continue;
            }
            int *role = axis_is_chunks(&g->module->axis[axis]) ? &out->chunk : &out->stream;
            if (g->by_chunks && *role >= 0) continue;
            if (*role >= 0 && *role != axis)
                return graph_find_scan(g) >= 0 ? "the gradient of this sum with 'running' is not compiled yet; leave "
                                                 "'backward' out of 'emit'"
                                               : "sums over two run-time axes are not compiled yet";
            *role = axis;
        }
    }
    out->outer_only |= out->lane < 0 && out->stream < 0;
    return NULL;
}

struct row_slices slices_of_rows(struct module *m, uint32_t axes, int lane, int slices, enum expr_op leaf)
{
    const struct expr *step = expr_int(m, ROWS_AT_A_TIME), *before = expr_int(m, 0), *all = expr_int(m, 1);
    const struct expr *tiles = expr_size(m, lane), *count = expr_size(m, slices);
    for (int a = 0; a < m->axes; a++) {
        if (!(axes >> a & 1) || a == lane) continue;
        const struct expr *size = expr_size(m, a);
        before = expr_add(m, expr_mul(m, before, size), expr_leaf(m, leaf, a));
        all = expr_mul(m, all, size);
    }
    const struct expr *less = expr_int(m, ROWS_AT_A_TIME - 1);
    tiles = expr_div(m, expr_add(m, tiles, less), step);
    all = expr_mul(m, all, tiles);
    all = expr_add(m, all, expr_sub(m, count, expr_int(m, 1)));
    const struct expr *length = expr_mul(m, expr_div(m, all, count), step);
    before = expr_mul(m, expr_mul(m, before, tiles), step);
    return (struct row_slices){before, length};
}

/* Whether b is a sum over the lane of a, for each index of a's stream. For example, b is dk and a is dq. Then a's
   loops can compute b. */
static bool sums_across(const struct graph *g, int b, const struct roles *a, const struct roles *of)
{
    const struct value *v = &g->value[g->output[b].value];
    return v->op == GRAPH_CONTRACT && value_has_axis(v, of->lane) && a->slices < 0 && of->slices < 0 &&
           a->stream >= 0 && of->stream == a->lane && of->lane == a->stream && of->chunk < 0 && a->chunk < 0;
}

/* Whether output o is a sum over the lane for each index of the stream. */
static bool is_across(const struct graph *g, int o, const struct roles *of)
{
    const struct value *const v = &g->value[g->output[o].value];
    return of->stream >= 0 && value_has_axis(v, of->stream) && !value_has_axis(v, of->lane);
}

/* Which outputs need which others. An output needs another one if it reads it as an input, perhaps through others. */
struct needs {
    const struct graph *g;
    bool *need; /* need[a * outputs + b]: output a needs output b */
    int *waits; /* the length of the longest chain of outputs that ends at this output */
};

static bool follows(const struct needs *x, int a, int b)
{
    return x->need[a * x->g->outputs + b];
}

/* Adds what output `through` needs to what each output that needs it needs. */
static void need_through(const struct needs *x, int through)
{
    const int outputs = x->g->outputs;
    for (int a = 0; a < outputs; a++)
        for (int b = 0; b < outputs && follows(x, a, through); b++) x->need[a * outputs + b] |= follows(x, through, b);
}

static struct needs needs_of(const struct graph *g)
{
    const int outputs = g->outputs;
    struct arena *const arena = g->module->arena;
    struct needs x = {g, arena_alloc(arena, (size_t)outputs * (size_t)outputs * sizeof *x.need),
                      arena_alloc(arena, (size_t)outputs * sizeof *x.waits)};
    for (int a = 0; a < outputs; a++) {
        bool *const needed = arena_alloc(arena, (size_t)g->values * sizeof *needed);
        mark(g, g->output[a].value, needed);
        for (int b = 0; b < outputs; b++) {
            const int given = graph_find(g, g->output[b].name);
            x.need[a * outputs + b] = a != b && given >= 0 && needed[given] && g->value[given].op == GRAPH_INPUT;
        }
    }
    for (int through = 0; through < outputs; through++) need_through(&x, through);
    for (int round = 0; round < outputs; round++) /* a chain has at most `outputs` outputs */
        for (int a = 0; a < outputs; a++)
            for (int b = 0; b < outputs; b++)
                if (follows(&x, a, b) && x.waits[a] <= x.waits[b]) x.waits[a] = x.waits[b] + 1;
    return x;
}

/* Whether output b is the solution of a SOLVE that output a needs too. The loops of a compute b then. */
static bool needs_solution(const struct graph *g, int a, int b)
{
    const int v = g->output[b].value;
    bool *const needed = arena_alloc(g->module->arena, (size_t)g->values * sizeof *needed);
    if (g->value[v].op != GRAPH_SOLVE || g->output[a].value == v) return false;
    mark(g, g->output[a].value, needed);
    return needed[v];
}

/* Whether output o solves a linear system without features. Its loops compute nothing else. */
static bool substitutes(const struct graph *g, int o)
{
    const struct value *const v = &g->value[g->output[o].value];
    return v->op == GRAPH_SOLVE && v->operands <= SOLVE_FEATURES;
}

int chunk_direction(const struct graph *g, int output)
{
    bool *const needed = arena_alloc(g->module->arena, (size_t)g->values * sizeof *needed);
    int direction = 0;
    mark(g, g->output[output].value, needed);
    for (int v = 0; v < g->values; v++) {
        const struct value *const value = &g->value[v];
        if (!needed[v]) continue;
        if (value->op == GRAPH_SOLVE) direction = value->backward ? -1 : 1;
        if ((value->op != GRAPH_CONTRACT && value->op != GRAPH_REDUCE) || !value->where) continue;
        for (int k = 0; k < value->rank; k++)
            if (axis_is_chunks(&g->module->axis[value->axes[k]]))
                direction = value->where->arg[0] == expr_index(g->module, value->axes[k]) ? -1 : 1;
    }
    return direction;
}

/* Whether outputs a and b of a graph by chunks can share loops: these run in one direction, and neither output is
   needed to compute the other. */
static bool share_chunks(const struct needs *needs, int a, int b)
{
    const int of_a = chunk_direction(needs->g, a), of_b = chunk_direction(needs->g, b);
    return !follows(needs, a, b) && !follows(needs, b, a) && (of_a == of_b || !of_a || !of_b);
}

/* Whether outputs a and b can share loops: the loops run over the same axes, and neither output is needed to compute
   the other. */
static bool share_loops(const struct needs *needs, int a, int b)
{
    const struct graph *const g = needs->g;
    struct roles x, y;
    if (g->by_chunks) return share_chunks(needs, a, b);
    if (substitutes(g, a) || substitutes(g, b)) return false;
    if (needs_solution(g, a, b) || needs_solution(g, b, a)) return true;
    if (graph_find_solve(g) >= 0 ? follows(needs, a, b) || follows(needs, b, a) : needs->waits[a] != needs->waits[b])
        return false;
    if (roles_of(g, a, &x) || roles_of(g, b, &y)) return false;
    if (graph_find_solve(g) < 0 && sums_across(g, b, &x, &y)) return true;
    const bool across = graph_find_scan(g) >= 0 && (x.slices >= 0 || y.slices >= 0) &&
                        (is_across(g, a, &x) || is_across(g, b, &y)); /* slices run in any order */
    return !across && x.lane == y.lane && x.stream == y.stream && x.chunk == y.chunk && x.outer == y.outer &&
           x.rows == y.rows && (x.slices == y.slices || x.slices < 0 || y.slices < 0);
}

/* Whether an output of group a needs an output of group b, perhaps through other groups. */
static bool group_follows(const struct needs *x, const int *group, int a, int b)
{
    const struct graph *const g = x->g;
    bool found = false;
    for (int o = 0; o < g->outputs && group[o] && !found; o++) /* later outputs have no group yet */
        for (int p = 0; p < g->outputs && group[p] && !found && group[o] == a; p++)
            found = group[p] == b && follows(x, o, p);
    return found;
}

/* Numbers the groups so that each group has a higher number than the groups whose outputs it reads. */
static void order_groups(const struct needs *x, int *group, int groups)
{
    const struct graph *const g = x->g;
    int *const number = arena_alloc(g->module->arena, ((size_t)groups + 1) * sizeof *number);
    for (int n = 1; n <= groups; n++) {
        int next = 0;
        for (int a = groups; a > 0; a--) {
            bool first = !number[a];
            for (int b = 1; b <= groups && first; b++) first = number[b] || a == b || !group_follows(x, group, a, b);
            if (first) next = a;
        }
        number[next] = n;
    }
    for (int o = 0; o < g->outputs; o++) group[o] = number[group[o]];
}

int output_groups(const struct graph *g, int *group)
{
    int groups = 0;
    const struct needs needs = needs_of(g);
    for (int o = 0; o < g->outputs; o++) group[o] = 0;
    for (int o = 0; o < g->outputs; o++) {
        for (int p = 0; p < o && !group[o]; p++) {
            bool alike = share_loops(&needs, p, o);
            for (int n = 0; n < o && alike; n++) alike = group[n] != group[p] || share_loops(&needs, n, o);
            if (!alike) continue;
            group[o] = group[p];
            for (int n = 1; n <= groups && group[o]; n++) /* two groups must not wait for each other */
                if (n != group[p] && group_follows(&needs, group, n, group[p]) &&
                    group_follows(&needs, group, group[p], n))
                    group[o] = 0;
        }
        if (!group[o]) group[o] = ++groups;
    }
    if (graph_find_solve(g) >= 0 || g->by_chunks) order_groups(&needs, group, groups);
    return groups;
}
