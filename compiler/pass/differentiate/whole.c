/* Splits off totals that rows or other totals use, such as projected keys.
   - One loop over rows cannot compute such a total and rows that use it. So the total becomes an output, whole_n, and
     its users read an input of this name.
   - Then no program uses a total in its own rows or other totals.
   - Programs run in the order of outputs, so an output follows the outputs that it needs. */
#include "differentiate.h"

struct wholes {
    struct compilation *c;
    struct graph *g;
    struct module *m;
    /* For each value: */
    bool *total;     /* whether it is a total */
    bool *used;      /* rows or other totals depend on it */
    int *depth;      /* the length of the longest chain of totals that the value depends on */
    uint32_t *heads; /* the axes of heads and batches of the totals that the value depends on, as bits */

    int deepest; /* the maximum depth of a total */
    bool failed;
};

/* Returns v's run-time axes, as bits. */
static uint32_t run_time_axes(const struct wholes *x, const struct value *v)
{
    return value_axes(v) & ~axes_with_size(x->m, SIZE_CONSTANT);
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

/* Whether more than one loop over rows is needed, because a total depends on another total or belongs to one head. */
static bool needs_parts(const struct wholes *x)
{
    bool needs = x->deepest > 0;
    for (int o = 0; o < x->g->outputs; o++) {
        const int v = x->g->output[o].value;
        const uint32_t own = run_time_axes(x, &x->g->value[v]);
        needs |= (own & axes_of_sequences(x->m)) && (x->heads[v] & ~own);
    }
    return needs;
}

/* Sets x->used. Goes from the last value to the first, because users follow operands. */
static void find_used(struct wholes *x)
{
    for (int v = x->g->values - 1; v >= 0; v--) {
        const struct value *value = &x->g->value[v];
        const bool rows = (value_axes(value) & axes_of_sequences(x->m)) != 0;
        for (int k = 0; k < value->operands; k++) x->used[value->operand[k].of] |= x->used[v] || x->total[v] || rows;
    }
}

/* Whether v is a total that loops can output. */
static bool is_of_heads(const struct wholes *x, const struct value *v)
{
    const uint32_t own = value_axes(v), summed = value_read_axes(v) & ~own, sequence = summed & axes_of_sequences(x->m),
                   heads = axes_with_size(x->m, SIZE_BATCH) | axes_with_size(x->m, SIZE_KV_HEADS);
    return (own & axes_with_size(x->m, SIZE_CONSTANT)) && !(summed & heads) && !(sequence & (sequence - 1));
}

/* Makes total v an output. Users read an input with the total's name instead. */
static void output_total(struct wholes *x, int v, int number)
{
    const struct value sum = x->g->value[v];
    struct value given = graph_value(GRAPH_INPUT, sum.rank, sum.axes);
    if (!is_of_heads(x, &sum)) {
        diagnostics_error(x->c->diagnostics, NO_POSITION,
                          "a gradient that depends on a sum over all heads is not compiled yet");
        x->failed = true;
        return;
    }
    given.name = arena_printf(x->m->arena, x->c->program.linear ? "linear_whole_%d" : "whole_%d", number);
    x->g->value[v] = given; /* the input gets the total's number, so its users read the input */
    graph_insert(x->g, x->g->values, sum);
    graph_output(x->g, given.name, x->g->values - 1);
}

int reversal_split_wholes(struct compilation *c)
{
    struct graph *g = c->graph;
    graph_sweep(g); /* removes values that are not used any more */
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
