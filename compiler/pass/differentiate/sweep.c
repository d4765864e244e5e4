/* Computes two groups of gradients in one sweep over the pairs, so that weights are recomputed once.
   - Example: dq has queries in the lanes. dk and dv have keys in the lanes.
   - Group B keeps its loops. The lanes of group A are the stream of B.
   - A joins if it needs only sums of weight times vector, such as sum over j of w[i][j] * k[j].
   - B's loops compute these sums too, with a vector per point of the stream.
   - c->gradients.from_sums computes A's gradients from the sums. */
#include "differentiate.h"
#include "../../analysis/analysis.h"

#include <string.h>

/* An attempt to join two groups: `lanes` keeps its loops, `across` joins. */
struct join {
    struct graph *g;
    struct roles lanes, across; /* the roles of axes in each group */
    int sums, sum[MAX_OUTPUTS]; /* the sums that group `across` needs */
    bool *seen;                 /* for each value: whether find_sums has visited it */
};

/* Whether v has a vector per point j of the stream: sum over the lanes i of weight[i][j] * vector[i]. */
static bool sums_vectors(const struct join *x, const struct value *v)
{
    const struct module *m = x->g->module;
    if (v->op != GRAPH_CONTRACT || v->online >= 0 || v->keep || v->rank < 1) return false;
    int pairs = -1;
    const int last = v->axes[v->rank - 1];
    for (int k = 0; k < 2; k++)
        if (value_has_axis(&x->g->value[v->operand[k].of], x->lanes.stream)) pairs = k;
    if (pairs < 0 || axes_only(value_axes(v) & axes_with_size(m, SIZE_CONSTANT)) != last) return false;
    const struct ref *weight = &v->operand[pairs], *vector = &v->operand[1 - pairs];
    const struct value *of = &x->g->value[weight->of];
    for (int k = 0; k < of->rank; k++)
        if (m->axis[of->axes[k]].source == SIZE_CONSTANT || ref_axis(weight, k) != of->axes[k]) return false;
    return value_has_axis(of, x->lanes.lane) && ref_uses_axis(vector, last) && ref_uses_axis(vector, x->lanes.lane) &&
           !ref_uses_axis(vector, x->lanes.stream);
}

/* Adds the sums over the lanes that v needs to x->sum. Returns false if v cannot be computed from these sums row by
   row. */
static bool find_sums(struct join *x, int v)
{
    const struct value *value = &x->g->value[v];
    if (x->seen[v]) return true;
    x->seen[v] = true;
    if (value_has_axis(value, x->lanes.lane)) return false;
    if (value_operand_axes(value) >> x->lanes.lane & 1) {
        if (!sums_vectors(x, value)) return false;
        x->sum[x->sums++] = v;
        return true;
    }
    for (int k = 0; k < value->operands; k++)
        if (!find_sums(x, value->operand[k].of)) return false;
    return true;
}

/* Returns whether a region of the graph is periodic, such as (i - j) % 4 == 0. Loops over a periodic region visit
   positions out of order. */
static bool has_period(const struct graph *g)
{
    for (int v = 0; v < g->values; v++) {
        const struct expr *where = g->value[v].where;
        if (where && (expr_has(where, EXPR_MOD) || expr_has(where, EXPR_FLOORMOD))) return true;
    }
    return false;
}

/* Whether group `across` can join group `lanes`. Fills in x. */
static bool can_join(struct join *x, const int *of, int lanes, int across)
{
    const struct module *m = x->g->module;
    bool found[2] = {false, false};
    memset(x->seen, 0, (size_t)x->g->values * sizeof *x->seen);
    x->sums = 0;
    for (int o = 0; o < x->g->outputs; o++) {
        struct roles *const to = of[o] == lanes ? &x->lanes : &x->across;
        if (of[o] != lanes && of[o] != across) continue;
        if (roles_of(x->g, o, to) || to->slices >= 0) return false;
        found[to == &x->across] = true;
    }
    if (!found[0] || !found[1] || x->lanes.stream < 0 || x->across.stream != x->lanes.lane ||
        x->across.lane != x->lanes.stream || x->lanes.chunk >= 0 || x->across.chunk >= 0 || x->across.outer)
        return false;
    if (m->axis[x->lanes.stream].source != SIZE_N_Q)
        return false; /* only rows of queries are padded to whole vectors */
    if (x->lanes.outer & ~axes_with_size(m, SIZE_MEMBERS)) return false;
    for (int o = 0; o < x->g->outputs; o++)
        if (of[o] == across && !find_sums(x, x->g->output[o].value)) return false;
    return x->sums > 0;
}

/* Moves the outputs o with moves[o] to c->gradients.from_sums. This graph has inputs sum_0, sum_1, …, which become
   outputs. */
static void move_outputs(struct compilation *c, struct join *x, const bool *moves)
{
    struct graph *g = x->g, *rows = graph_copy(g);
    int kept = 0;
    rows->outputs = 0;
    for (int o = 0; o < g->outputs; o++)
        if (moves[o])
            rows->output[rows->outputs++] = g->output[o];
        else
            g->output[kept++] = g->output[o];
    g->outputs = kept;
    for (int s = 0; s < x->sums; s++) {
        const struct value *v = &g->value[x->sum[s]];
        struct value given = graph_value(GRAPH_INPUT, v->rank, v->axes);
        given.name = arena_printf(g->module->arena, SUM_IN_ORDER "%d", s);
        given.sums = true;
        rows->value[x->sum[s]] = given; /* the input gets the sum's number, so its users read the input */
        graph_output(g, given.name, x->sum[s]);
    }
    graph_sweep(rows);
    c->gradients.from_sums = rows;
}

/* Joins group `across` to group `lanes`. */
static void join(struct compilation *c, struct join *x, int *of, int lanes, int across)
{
    bool moves[MAX_OUTPUTS];
    int kept = 0;
    for (int o = 0; o < x->g->outputs; o++) {
        moves[o] = of[o] == across;
        if (!moves[o]) of[kept++] = of[o];
    }
    move_outputs(c, x, moves);
    for (int o = kept; o < x->g->outputs; o++) of[o] = lanes;
}

/* ---- gradients of keys that need running sums ---- */

/* Whether v sums over the lanes, and perhaps over query heads, for each index of the stream. */
static bool sums_lanes(const struct join *x, const struct value *v)
{
    return (v->op == GRAPH_CONTRACT || (v->op == GRAPH_REDUCE && v->fold == FOLD_SUM)) &&
           value_has_axis(v, x->lanes.stream) && !value_has_axis(v, x->lanes.lane) &&
           (value_operand_axes(v) >> x->lanes.lane & 1);
}

/* Makes a vector of each such sum for each query head, and the sum over these heads. A sum of numbers becomes one of
   vectors of one element. */
static void sum_by_head(struct join *x, int v)
{
    struct graph *const g = x->g;
    struct module *const m = g->module;
    struct value sum = g->value[v], heads = graph_value(GRAPH_REDUCE, sum.rank, sum.axes);
    heads.fold = FOLD_SUM;
    if (sum.op == GRAPH_REDUCE) {
        struct value ones = graph_value(GRAPH_MAP, 2, (int[]){x->lanes.lane, reversal_axis_of_one(m)});
        ones.expr = expr_real(m, 1);
        graph_insert(g, v++, ones);
        sum = g->value[v];
        sum.op = GRAPH_CONTRACT;
        sum.operand[sum.operands++] = graph_ref(g, v - 1, NULL);
    }
    struct value made = sum;
    made.rank = 0;
    value_add_axes(&made, axes_with_size(m, SIZE_BATCH) & (value_axes(&sum) | value_operand_axes(&sum)));
    value_add_axes(&made, axes_with_size(m, SIZE_KV_HEADS) & (value_axes(&sum) | value_operand_axes(&sum)));
    value_add_axes(&made, axes_with_size(m, SIZE_MEMBERS) & value_operand_axes(&sum));
    value_add_axes(&made, AXIS(x->lanes.stream));
    value_add_axes(&made, value_axes(&sum));
    if (heads.rank == sum.rank && g->value[v].op == GRAPH_REDUCE) value_add_axes(&made, AXIS(reversal_axis_of_one(m)));
    graph_insert(g, v, made);
    struct ref r = graph_ref(g, v, NULL);
    if (g->value[v + 1].op == GRAPH_REDUCE) r.sub[r.rank - 1] = expr_int(m, 0);
    heads.operands = 1;
    heads.operand[0] = r;
    g->value[v + 1] = heads;
}

bool reversal_sum_lanes(struct compilation *c)
{
    struct join found = {.g = c->graph}, *x = &found;
    struct graph *const g = c->graph;
    const int scan = graph_find_scan(g);
    bool moves[MAX_OUTPUTS] = {false}, any = false;
    if (scan < 0) return true;
    x->lanes.stream = g->value[scan].axes[g->value[scan].rank - 1];
    x->lanes.lane = axes_first(value_axes(&g->value[scan]) & axes_of_sequences(g->module) & ~AXIS(x->lanes.stream));
    for (int v = 0; v < g->values; v++) {
        if (!sums_lanes(x, &g->value[v])) continue;
        const int before = g->values;
        sum_by_head(x, v);
        v += g->values - before;
    }
    x->seen = arena_alloc(g->module->arena, (size_t)g->values * sizeof *x->seen);
    for (int o = 0; o < g->outputs; o++) {
        const struct value *const v = &g->value[g->output[o].value];
        if (!value_has_axis(v, x->lanes.stream) || value_has_axis(v, x->lanes.lane)) continue;
        if (!find_sums(x, g->output[o].value)) return false;
        any = moves[o] = true;
    }
    if (any) move_outputs(c, x, moves);
    return true;
}

int reversal_join_groups(struct compilation *c, int *of, int groups)
{
    struct join join_found = {.g = c->graph}, *x = &join_found;
    x->seen = arena_alloc(x->g->module->arena, (size_t)x->g->values * sizeof *x->seen);
    if (has_period(x->g)) return groups;
    for (int lanes = 1; lanes <= groups; lanes++)
        for (int across = 1; across <= groups; across++) {
            if (!can_join(x, of, lanes, across)) continue;
            join(c, x, of, lanes, across);
            for (int o = 0; o < x->g->outputs; o++) of[o] -= of[o] > across;
            return groups - 1;
        }
    return groups;
}

const char *knob_sweep(const struct knob_case *x, struct tune_knob *knob)
{
    if (!x->quadratic || !x->quadratic->gradients.from_sums)
        return "no two of its gradients can share a loop over the pairs of query and key";
    return knob_set_values(knob, 1, 1, (const int64_t[]){0});
}
