/* Splits off each total that rows or other totals use.
   - Examples: keys projected along their sequence, and the state of all keys if features of queries have learned
     parameters.
   - One loop over the rows cannot compute such a total and also the rows that use it. So each such total becomes an
     output, whole_n, and its users read an input of this name instead.
   - After that, no program uses a total in its own rows or in its other totals.
   - Programs run in the order of the outputs, so an output follows all outputs that it depends on. */
#include "differentiate.h"

struct wholes {
    struct compilation *c;
    struct graph *g;
    struct module *m;
    /* For each value: */
    bool *total;     /* whether it is a total */
    bool *used;      /* whether rows or other totals depend on it */
    int *depth;      /* the value can depend on a chain of totals; this is the length of the longest chain */
    uint32_t *heads; /* as bits: the axes of heads and batches of all totals that the value depends on */

    int deepest; /* the maximum depth of a total */
    bool failed;
};

/* Returns the axes of v whose sizes are known only at run time, as bits. */
static uint32_t run_time_axes(const struct wholes *x, const struct value *v)
{
    uint32_t axes = 0;
    for (int k = 0; k < v->rank; k++)
        if (x->m->axis[v->axes[k]].source != SIZE_CONSTANT) axes |= UINT32_C(1) << v->axes[k];
    return axes;
}

static void find_totals(struct wholes *x)
{
    for (int v = 0; v < x->g->values; v++) {
        const struct value *value = &x->g->value[v];
        x->total[v] = reversal_is_total(x->m, value);
        for (int k = 0; k < value->operands; k++) {
            const int of = value->operand[k].of, depth = x->depth[of] + x->total[of];
            if (depth > x->depth[v]) x->depth[v] = depth;
            x->heads[v] |= x->heads[of] | (x->total[of] ? run_time_axes(x, &x->g->value[of]) : 0);
        }
        if (x->total[v] && x->depth[v] > x->deepest) x->deepest = x->depth[v];
    }
}

/* Whether one loop over the rows is not enough. There are two such cases: a total depends on another total; or an
   output with rows sums over heads that have separate totals. */
static bool needs_parts(const struct wholes *x)
{
    bool needs = x->deepest > 0;
    for (int o = 0; o < x->g->outputs; o++) {
        const int v = x->g->output[o].value;
        const uint32_t own = run_time_axes(x, &x->g->value[v]);
        needs |= reversal_sequences(x->m, own) && (x->heads[v] & ~own);
    }
    return needs;
}

/* Sets x->used. Users follow their operands in the graph, so values are visited from last to first. */
static void find_used(struct wholes *x)
{
    for (int v = x->g->values - 1; v >= 0; v--) {
        const struct value *value = &x->g->value[v];
        const bool rows = reversal_sequences(x->m, reversal_bits(value->rank, value->axes)) != 0;
        for (int k = 0; k < value->operands; k++) x->used[value->operand[k].of] |= x->used[v] || x->total[v] || rows;
    }
}

/* Whether loops can output the total. The total must have a constant axis, and must be a sum over at most one sequence
   and over neither batches nor key/value heads. */
static bool is_of_heads(const struct wholes *x, const struct value *v)
{
    const uint32_t own = reversal_bits(v->rank, v->axes), summed = reversal_summed(v) & ~own,
                   sequence = reversal_sequences(x->m, summed);
    bool constant = false, heads = true;
    for (int a = 0; a < x->m->axes; a++) {
        const enum size_source source = x->m->axis[a].source;
        constant |= (own >> a & 1) && source == SIZE_CONSTANT;
        heads &= !(summed >> a & 1) || (source != SIZE_BATCH && source != SIZE_KV_HEADS);
    }
    return constant && heads && !(sequence & (sequence - 1));
}

/* Makes total v an output. An input of the same name replaces v for its users. */
static void output_total(struct wholes *x, int v, int number)
{
    const struct value sum = x->g->value[v];
    struct value given = graph_value(GRAPH_INPUT, sum.rank, sum.axes);
    if (!is_of_heads(x, &sum)) {
        diagnostics_error(x->c->diagnostics, (struct position){0, 0},
                          "a gradient that depends on a sum over all heads is not compiled yet");
        x->failed = true;
        return;
    }
    given.name = arena_printf(x->m->arena, x->c->program.linear ? "linear_whole_%d" : "whole_%d", number);
    x->g->value[v] = given; /* the input gets the number of the total, so users of the total now read the input */
    graph_insert(x->g, x->g->values, sum);
    graph_output(x->g, given.name, x->g->values - 1);
}

int reversal_split_wholes(struct compilation *c)
{
    struct graph *g = c->graph;
    graph_sweep(g); /* removes values that nothing uses any more, because inputs have replaced their users */
    struct graph *const before = graph_copy(g);
    struct wholes found = {.c = c, .g = g, .m = g->module}, *x = &found;
    const int values = g->values;
    x->total = arena_alloc(x->m->arena, (size_t)values * sizeof *x->total);
    x->used = arena_alloc(x->m->arena, (size_t)values * sizeof *x->used);
    x->depth = arena_alloc(x->m->arena, (size_t)values * sizeof *x->depth);
    x->heads = arena_alloc(x->m->arena, (size_t)values * sizeof *x->heads);
    find_totals(x);
    if (!needs_parts(x)) return 0;
    find_used(x);
    g->outputs = 0;
    for (int depth = 0, number = 0; depth <= x->deepest; depth++)
        for (int v = 0; v < values && !x->failed; v++)
            if (x->total[v] && x->used[v] && x->depth[v] == depth) output_total(x, v, number++);
    const int left = g->outputs;
    for (int o = 0; o < before->outputs; o++) graph_output(g, before->output[o].name, before->output[o].value);
    graph_sweep(g);
    return left;
}
