/* Sums over a whole sequence that other such sums are made from: keys and values projected along their sequence, or the
   state of all keys where parameters of the queries' features are learned. One pass over the rows cannot make both:
   each of these sums is left by a part of the program, WHOLE_n, and what meets it is given it. So what any part sums
   over is rows alone. The outputs come in an order in which each finds what it needs. */
#include "differentiate.h"

struct wholes {
    struct compilation *c;
    struct graph *g;
    struct module *m;
    bool *total;     /* by value: it is such a sum */
    bool *met;       /* by value: rows, or other sums, are made from it */
    int *depth;      /* by value: how many such sums it is made from, one from another */
    uint32_t *heads; /* by value: the axes of these sums, which are those of heads */
    int deepest;     /* of all sums */
    bool failed;
};

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

/* Whether loops that sum over rows alone are not enough: a sum is made from another one, or rows are summed over heads
   that have sums of their own. */
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

static void find_met(struct wholes *x)
{
    for (int v = x->g->values - 1; v >= 0; v--) {
        const struct value *value = &x->g->value[v];
        const bool rows = reversal_sequences(x->m, reversal_bits(value->rank, value->axes)) != 0;
        for (int k = 0; k < value->operands; k++) x->met[value->operand[k].of] |= x->met[v] || x->total[v] || rows;
    }
}

/* Whether loops can leave the sum: it is over one sequence of each head, and a row or a table. */
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

/* The sum becomes an output, and an input of what it is met by. */
static void leave(struct wholes *x, int v, int number)
{
    const struct value sum = x->g->value[v];
    struct value given = graph_value(GRAPH_INPUT, sum.rank, sum.axes);
    if (!is_of_heads(x, &sum)) {
        diagnostics_error(x->c->diagnostics, (struct position){0, 0},
                          "a gradient that is made from a sum over all heads is not compiled yet");
        x->failed = true;
        return;
    }
    given.name = arena_printf(x->m->arena, x->c->linear ? "linear_whole_%d" : "whole_%d", number);
    x->g->value[v] = given; /* its number stays */
    graph_insert(x->g, x->g->values, sum);
    graph_output(x->g, given.name, x->g->values - 1);
}

int reversal_split_wholes(struct compilation *c)
{
    struct graph *g = c->graph;
    graph_sweep(g); /* of what is by now given */
    struct graph *const before = graph_copy(g);
    struct wholes found = {.c = c, .g = g, .m = g->module}, *x = &found;
    const int values = g->values;
    x->total = arena_alloc(x->m->arena, (size_t)values * sizeof *x->total);
    x->met = arena_alloc(x->m->arena, (size_t)values * sizeof *x->met);
    x->depth = arena_alloc(x->m->arena, (size_t)values * sizeof *x->depth);
    x->heads = arena_alloc(x->m->arena, (size_t)values * sizeof *x->heads);
    find_totals(x);
    if (!needs_parts(x)) return 0;
    find_met(x);
    g->outputs = 0;
    for (int depth = 0, number = 0; depth <= x->deepest; depth++)
        for (int v = 0; v < values && !x->failed; v++)
            if (x->total[v] && x->met[v] && x->depth[v] == depth) leave(x, v, number++);
    const int left = g->outputs;
    for (int o = 0; o < before->outputs; o++) graph_output(g, before->output[o].name, before->output[o].value);
    graph_sweep(g);
    return left;
}
