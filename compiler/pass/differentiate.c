/* Reverse mode on the graph: the gradient by every value, from the output back to the inputs and the learned
   parameters, by one rule for each operation. A gradient is kept as terms: a value, a region outside of which it is 0,
   and a value that it is still to be divided by. So the region of the sums over keys becomes, unchanged, that of the
   sums over queries; and what a row is divided by joins the exponentials of its weights, or else the row of `dout`. The
   program that comes out computes the weights again, tile by tile; it is given the output, `out`, whose products with
   `dout` are what the sum of a row's weights needs. */
#include "differentiate.h"
#include "pass.h"
#include "../analysis/analysis.h"
#include "../schedule/schedule.h"

#include <math.h>
#include <string.h>

static bool has_gradient(const struct value *v)
{
    return v->op == GRAPH_INPUT || (v->op == GRAPH_PARAM && v->origin == ORIGIN_LEARNED && !v->integers);
}

static void find_active(struct reversal *x)
{
    for (int v = 0; v < x->forward; v++) {
        const struct value *value = &x->g->value[v];
        x->active[v] = has_gradient(value);
        for (int k = 0; k < value->operands; k++) x->active[v] |= x->active[value->operand[k].of];
        if (value->online >= 0) reversal_fail(x, "sums relative to a running maximum");
    }
}

static void reverse(struct reversal *x, int v)
{
    if (is_carried_state(x, v)) {
        if (x->of[v].terms) reversal_fail(x, "a state that is read whole");
        if (x->of[v].gathers && !x->failed) reverse_state(x, v);
        return;
    }
    if (!x->of[v].terms) return;
    const struct gradient_term t = reversal_gradient(x, v);
    switch (x->g->value[v].op) {
    case GRAPH_INPUT:
    case GRAPH_PARAM:
    case GRAPH_TABLE: break;
    case GRAPH_MAP: reversal_map_rule(x, v, t); break;
    case GRAPH_CONTRACT: reversal_contract_rule(x, v, t); break;
    case GRAPH_REDUCE: reversal_reduce_rule(x, v, t); break;
    }
}

/* The outputs: the gradients by the inputs and the learned parameters, as the program had them before the first pass, 0
   where nothing depends on one. */
static void output_gradients(struct reversal *x)
{
    struct graph *g = x->g;
    const struct graph *source = x->c->source ? x->c->source : g;
    const int named = x->c->source ? source->values : x->forward;
    g->outputs = 0;
    for (int n = 0; n < named && !x->failed; n++) {
        const struct value like = source->value[n];
        if (!has_gradient(&like)) continue;
        const int v = graph_find(g, like.name);
        struct value map = graph_value(GRAPH_MAP, like.rank, like.axes);
        for (int k = 0; k < like.rank; k++)
            map.axes[k] = module_find_axis(x->m, source->module->axis[like.axes[k]].name);
        map.expr = expr_real(x->m, 0);
        if (v >= 0 && x->of[v].terms) {
            struct gradient_term t = reversal_divided(x, reversal_gradient(x, v));
            map.expr = reversal_value(x, &map, t.value);
            if (t.where) map.expr = expr_make(x->m, EXPR_SELECT, t.where, map.expr, expr_real(x->m, 0));
        }
        if (g->outputs == MAX_OUTPUTS) reversal_fail(x, "too many parameters");
        graph_output(g, arena_printf(x->m->arena, "d%s", like.name), reversal_append(x, map));
    }
}

/* Leaves the outputs of one group, whose loops they share. */
static void take_group(struct compilation *c)
{
    struct graph *g = c->graph;
    int of[MAX_OUTPUTS], kept = 0;
    c->groups = output_groups(g, of);
    const bool parts = c->group || c->program == PROGRAM_FROM_SUMS; /* else all is one program */
    const bool joins = c->program != PROGRAM_TOTALS && !c->linear && parts && schedule_knob(c, "sweep", 1);
    if (joins) c->groups = reversal_join_groups(c, of, c->groups);
    if (c->program == PROGRAM_FROM_SUMS) {
        c->graph = c->from_sums;
        return;
    }
    for (int o = 0; o < g->outputs && c->group; o++)
        if (of[o] == c->group) g->output[kept++] = g->output[o];
    if (!c->group) return;
    g->outputs = kept;
    graph_sweep(g);
    if (!c->linear) reversal_move_factors(g);
}

void pass_differentiate(struct compilation *c)
{
    switch (c->program) {
    case PROGRAM_FORWARD:
    case PROGRAM_EXTEND:
    case PROGRAM_FOLD:
    case PROGRAM_MEET:
    case PROGRAM_PREPARE: return;
    case PROGRAM_SAVING:
    case PROGRAM_SAVED:
    case PROGRAM_ROW_SUMS:
    case PROGRAM_GRADIENTS:
    case PROGRAM_TOTALS:
    case PROGRAM_FROM_SUMS:
    case PROGRAM_ALONE: break;
    }
    struct graph *g = c->graph;
    struct reversal reversal = {.c = c,
                                .g = g,
                                .m = g->module,
                                .forward = g->values,
                                .out = g->output[0].value,
                                .out_name = g->output[0].name},
                    *x = &reversal;
    x->active = arena_alloc(x->m->arena, (size_t)x->forward * sizeof *x->active);
    x->of = arena_alloc(x->m->arena, (size_t)x->forward * sizeof *x->of);
    find_active(x);
    const struct value out = g->value[x->out];
    x->given_out = graph_input(g, "out", out.rank, out.axes);
    x->given_dout = graph_input(g, "dout", out.rank, out.axes);
    if (x->active[x->out]) reversal_give(x, x->out, (struct gradient_term){x->given_dout, -1, NULL});
    for (int v = x->forward - 1; v >= 0 && !x->failed; v--) reverse(x, v);
    output_gradients(x);
    if (x->failed) return;
    if (c->program != PROGRAM_ALONE)
        graph_output(g, x->out_name, x->out); /* the last one, until what is saved is known */
    graph_sweep(g);
    if (c->program == PROGRAM_ALONE) return;
    pass_simplify(c); /* so that what is saved is not saved twice */
    reversal_save_rows(c);
    if (c->program == PROGRAM_GRADIENTS || c->program == PROGRAM_TOTALS || c->program == PROGRAM_FROM_SUMS) {
        int lane = -1;
        for (int k = 0; k < out.rank; k++)
            if (axis_is_sequence(&x->m->axis[out.axes[k]])) lane = out.axes[k];
        if (c->group) reversal_split_totals(c, lane, reversal_split_wholes(c));
        if (c->group) reversal_split_heads(c);
        if (c->program == PROGRAM_TOTALS) c->graph = c->totals;
        take_group(c);
        return;
    }
    c->graph = c->program == PROGRAM_ROW_SUMS ? c->row_sums : c->saving;
    if (c->program != PROGRAM_SAVED) return;
    for (int o = 1; o < c->graph->outputs; o++) c->graph->output[o - 1] = c->graph->output[o];
    c->graph->outputs--;
    graph_sweep(c->graph);
}
