/* Reverse-mode differentiation of the graph. Each operation has a rule (rule.c).
   - A gradient is a list of terms, each with a value, a region outside which it is 0, and a divisor not yet applied.
   - With regions, gradients of keys sum only over queries that see the key.
   - The divisor is a row's sum of weights. It is folded into exponentials if possible: exp(s) / sum = exp(s -
     log(sum)). Otherwise `dout` is divided.
   - The gradients recompute weights tile by tile, and read `out`: <out[i], dout[i]> equals a sum over the weights of
     row i. */
#include "differentiate.h"
#include "../pass.h"
#include "../../analysis/analysis.h"
#include "../../schedule/schedule.h"

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
        if (x->of[v].terms) reversal_fail(x, "a carried state that is not read chunk by chunk");
        if (x->of[v].gathers && !x->failed) reverse_state(x, v);
        return;
    }
    if (!x->of[v].terms) return;
    const struct gradient_term t = reversal_gradient(x, v);
    switch (x->g->value[v].op) {
    case GRAPH_INPUT:
    case GRAPH_PARAM:
    case GRAPH_TABLE:
    case GRAPH_SELECT: break;
    case GRAPH_MAP: reversal_map_rule(x, v, t); break;
    case GRAPH_CONTRACT: reversal_contract_rule(x, v, t); break;
    case GRAPH_REDUCE: reversal_reduce_rule(x, v, t); break;
    case GRAPH_SCAN: reversal_scan_rule(x, v, t); break;
    case GRAPH_SOLVE: reverse_solve(x, v, t); break;
    }
}

/* Forgets the terms of value `first` and of all later values, because these terms have been passed on. */
static void forget_terms(struct reversal *x, int first)
{
    for (int v = first; v < x->forward; v++) {
        const enum graph_op op = x->g->value[v].op;
        x->of[v].gathers = 0;
        if (op != GRAPH_INPUT && op != GRAPH_PARAM && op != GRAPH_TABLE) x->of[v].terms = 0;
    }
}

/* Returns e plus the gradients of inputs within the input `name`. Elements beyond the rows of an inner input get no
   gradient from this input. */
static const struct expr *with_gradients_within(struct reversal *x, struct value *map, const char *name,
                                                const struct expr *e)
{
    for (int u = 0; u < x->forward && !x->failed; u++) {
        const struct value inner = x->g->value[u];
        if (inner.op != GRAPH_INPUT || !inner.within.of || strcmp(inner.within.of, name) != 0 || !x->of[u].terms)
            continue;
        struct value own = graph_value(GRAPH_MAP, inner.rank, inner.axes);
        own.expr = reversal_gradient_in(x, &own, u);
        const int last = map->axes[map->rank - 1];
        const int64_t row = x->m->axis[inner.axes[inner.rank - 1]].extent;
        struct ref r = graph_ref(x->g, reversal_append(x, own), NULL);
        const struct expr *const index = expr_index(x->m, last);
        const bool shorter = row < x->m->axis[last].extent;
        r.sub[r.rank - 1] = shorter ? expr_min(x->m, index, expr_int(x->m, row - 1)) : index;
        const struct expr *gradient = reversal_operand(x, map, r);
        if (shorter)
            gradient = expr_select(x->m, expr_lt(x->m, index, expr_int(x->m, row)), gradient, expr_real(x->m, 0));
        e = expr_add(x->m, e, gradient);
    }
    return e;
}

/* Whether v has only axes of batch entries and heads. If so, its axes become those of `dout`, which have the same
   elements in the same order. */
static bool over_heads(const struct reversal *x, struct value *v)
{
    const struct value *const dout = &x->g->value[x->given_dout];
    int axes[MAX_RANK], rank = 0;
    for (int k = 0; k < v->rank; k++) {
        const enum size_source source = x->m->axis[v->axes[k]].source;
        bool found = false;
        for (int n = 0; n < dout->rank; n++) {
            const enum size_source own = x->m->axis[dout->axes[n]].source;
            const bool heads = source == SIZE_HEADS && (own == SIZE_KV_HEADS || own == SIZE_MEMBERS);
            if (rank == MAX_RANK || axis_is_sequence(&x->m->axis[dout->axes[n]]) || own == SIZE_CONSTANT) break;
            if (!heads && source != own) continue;
            for (int a = 0; a < rank; a++)
                if (axes[a] == dout->axes[n]) return false;
            axes[rank++] = dout->axes[n];
            found = true;
        }
        if (!found) return false;
    }
    for (int k = 0; k < rank; k++) v->axes[k] = axes[k];
    v->rank = rank;
    return true;
}

/* Adds the output "dNAME": the gradient of value v, an array like `like`. v = -1: the gradient is 0. */
static void output_gradient(struct reversal *x, const struct value *like, const struct module *named, int v)
{
    struct graph *const g = x->g;
    struct value map = graph_value(GRAPH_MAP, like->rank, like->axes);
    for (int k = 0; k < like->rank; k++) map.axes[k] = module_find_axis(x->m, named->axis[like->axes[k]].name);
    map.expr = expr_real(x->m, 0);
    const bool own = v >= 0 && x->of[v].terms;
    if (own) map.expr = reversal_gradient_in(x, &map, v);
    if (v >= 0 && reversal_has_rows(x, v)) {
        map.expr = reversal_add_rows(x, &map, v, own ? map.expr : NULL);
        if (!map.expr) return;
    } else if (!own && over_heads(x, &map)) { /* a sum over no rows: no statement runs over heads alone */
        const struct ref dout = graph_ref(g, x->given_dout, NULL);
        map.expr = reversal_value(x, &map, graph_reduce(g, FOLD_SUM, 0, map.rank, map.axes, dout, expr_int(x->m, 0)));
    }
    if (like->op == GRAPH_INPUT) map.expr = with_gradients_within(x, &map, like->name, map.expr);
    if (g->outputs == MAX_OUTPUTS) reversal_fail(x, "too many parameters");
    graph_output(g, arena_printf(x->m->arena, "d%s", like->name), reversal_append(x, map));
}

/* Marks the values that the terms of prefix sums need. */
static bool *values_of_terms(const struct graph *source)
{
    bool *const of_terms = arena_alloc(source->module->arena, (size_t)source->values * sizeof *of_terms);
    struct prefix_sum sum;
    for (int v = 0; v < source->values; v++)
        if (prefix_sum_of(source, v, &sum)) of_terms[sum.terms] = true;
    for (int v = source->values - 1; v >= 0; v--)
        for (int k = 0; k < source->value[v].operands && of_terms[v]; k++)
            of_terms[source->value[v].operand[k].of] = true;
    return of_terms;
}

/* Makes an output "dNAME" for each input and learned parameter NAME of the source graph, and for prefix sums. If
   the result does not depend on NAME, the gradient is 0. If an input is within another input, its gradient is added
   to the gradient of the outer input. */
static void output_gradients(struct reversal *x)
{
    struct graph *g = x->g;
    const struct graph *source = x->c->source ? x->c->source : g;
    const int named = x->c->source ? source->values : x->forward;
    const bool *const of_terms = values_of_terms(source);
    g->outputs = 0;
    for (int n = 0; n < named && !x->failed; n++) {
        const struct value like = source->value[n];
        const int v = graph_find(g, like.name ? like.name : "");
        if (!has_gradient(&like) || like.within.of) continue;
        if (of_terms[n] ? v < 0 : x->c->program.of_terms) continue; /* another part computes this gradient */
        output_gradient(x, &like, source->module, v);
    }
    for (int v = 0; v < x->forward && !x->failed && !x->c->program.of_terms; v++) {
        const struct value like = g->value[v];
        const enum prefix_array array = like.name ? prefix_array_find(like.name) : PREFIX_ARRAYS;
        if (array == PREFIX_OF_QUERY || array == PREFIX_OF_KEY) output_gradient(x, &like, x->m, v);
    }
}

/* Makes the array with the gradient of the terms of prefix sums. Programs of terms read it instead of `dout`. */
static int gradient_of_terms(struct reversal *x, const struct value *terms)
{
    struct value v = graph_value(GRAPH_PARAM, terms->rank, terms->axes);
    v.name = prefix_array_name(PREFIX_GRADIENT);
    v.origin = ORIGIN_COMPUTED;
    return reversal_append(x, v);
}

/* Whether the graph has a running sum, and sums over another region. Loops of gradients carry running sums in one. */
static bool runs_in_two_regions(const struct graph *g)
{
    const int scan = graph_find_scan(g);
    const uint32_t sequences = scan < 0 ? 0 : value_axes(&g->value[scan]) & axes_of_sequences(g->module);
    bool two = false;
    for (int v = 0; v < g->values && scan >= 0; v++) {
        const struct value *const value = &g->value[v];
        const bool sums = value->op != GRAPH_MAP && value_operand_axes(value) & ~value_axes(value) & sequences;
        two |= (sums || value->where) && value->where != g->value[scan].where;
    }
    return two;
}

/* Keeps only the outputs of c->program's group, or all for group 0. */
static void take_group(struct compilation *c)
{
    struct graph *g = c->graph;
    int of[MAX_OUTPUTS], kept = 0;
    if ((c->program.group || program_takes_sums(&c->program)) && !program_adds_totals(&c->program) &&
        (runs_in_two_regions(g) || !reversal_sum_lanes(c)))
        diagnostics_error(
            c->diagnostics, c->spec->emit_at,
            "the gradient of this sum with 'running' is not compiled yet; leave 'backward' out of 'emit'");
    c->gradients.groups = output_groups(g, of);
    const int group = c->program.group;
    const bool grouped = group || program_takes_sums(&c->program); /* false: one program has all outputs */
    /* With a SOLVE, groups wait for parts of other groups, so that no two groups share a sweep over the pairs. */
    const bool joins = !program_adds_totals(&c->program) && !c->program.linear && grouped && graph_find_solve(g) < 0 &&
                       graph_find_scan(g) < 0 && schedule_knob(c, "sweep", 1);
    if (joins) c->gradients.groups = reversal_join_groups(c, of, c->gradients.groups);
    if (program_takes_sums(&c->program)) {
        c->graph = g = c->gradients.from_sums;
        c->gradients.groups = output_groups(g, of);
    } else
        c->gradients.parts = graph_copy(g);
    for (int o = 0; o < g->outputs && group; o++)
        if (of[o] == group) g->output[kept++] = g->output[o];
    if (!group) return;
    g->outputs = kept;
    graph_sweep(g);
    if (!c->program.linear && !program_takes_sums(&c->program)) reversal_move_factors(g);
}

/* Removes HELD: held(a) becomes a, and a - held(a) becomes 0, with its products. */
static const struct expr *without_held(void *m, const struct expr *e)
{
    const struct expr *const a = e->arg[0], *const b = e->arg[1];
    if (!expr_has(e, EXPR_HELD)) return e;
    if (e->op == EXPR_HELD) return expr_map(m, a, without_held, m);
    if (e->op == EXPR_SUB && b->op == EXPR_HELD && b->arg[0] == a) return expr_real(m, 0);
    if (e->op != EXPR_MUL) return NULL;
    const struct expr *const arg[3] = {expr_map(m, a, without_held, m), expr_map(m, b, without_held, m)};
    for (int k = 0; k < 2; k++) {
        if (expr_is_real(arg[k], 0)) return arg[k];
        if (expr_is_real(arg[k], 1) && arg[1 - k]->type == TYPE_REAL) return arg[1 - k];
    }
    return expr_with_args(m, e, arg);
}

static void remove_held(struct graph *g)
{
    for (int v = 0; v < g->values; v++)
        if (g->value[v].expr) g->value[v].expr = expr_map(g->module, g->value[v].expr, without_held, g->module);
}

/* Solves for r instead of rate * r in forward, and makes r the output SAVED_SOLUTION. Changes nothing if the graph has
   another form. */
static void save_solution(struct graph *g)
{
    const int solve = graph_find_solve(g);
    if (solve < 0 || g->outputs == MAX_OUTPUTS || g->value[solve].operands != SOLVE_FEATURES + 1) return;
    const int residual = graph_solve_for_residual(g);
    if (residual >= 0) graph_output(g, SAVED_SOLUTION, residual);
}

void pass_differentiate(struct compilation *c)
{
    const struct program *const program = &c->program;
    if (program->saves_solution) save_solution(c->graph);
    if (!program_is_differentiated(program)) return;
    struct graph *g = c->graph;
    struct reversal reversal = {.c = c, .g = g, .m = g->module, .solution = -1, .transposed = -1, .residual = -1},
                    *x = &reversal;
    const int results = g->outputs;
    reversal_take_rows(x);
    x->forward = g->values;
    x->out = g->output[0].value;
    struct graph *const before = graph_copy(g);
    remove_held(before);
    x->before = before;
    reversal_hide_rows(x);
    c->gradients.growing = program->linear && reversal_has_growing_factors(x, &c->gradients.overflows);
    if (!program->linear || x->c->gradients.growing) join_exponentials(g);
    x->active = arena_alloc(x->m->arena, (size_t)x->forward * sizeof *x->active);
    x->of = arena_alloc(x->m->arena, (size_t)x->forward * sizeof *x->of);
    find_active(x);
    const struct value out = g->value[x->out];
    x->given_out = graph_input(g, g->output[0].name, out.rank, out.axes);
    x->given_dout = program->of_terms
                        ? gradient_of_terms(x, &out)
                        : graph_input(g, arena_printf(x->m->arena, "d%s", g->output[0].name), out.rank, out.axes);
    if (x->active[x->out]) reversal_give(x, x->out, (struct gradient_term){x->given_dout, -1, NULL});
    for (int v = x->forward - 1; v >= 0 && !x->failed; v--) {
        const bool solve = g->value[v].op == GRAPH_SOLVE && x->of[v].terms;
        if (solve) forget_terms(x, v + 1);
        reverse(x, v);
        /* Later values also depend on the weights, features and states that make the solution. */
        for (int w = x->forward - 1; solve && w > v && !x->failed; w--) reverse(x, w);
    }
    reversal_show_rows(x);
    output_gradients(x);
    remove_held(g);
    if (x->failed) return;
    if (program_is_unsaved(program)) {
        graph_sweep(g);
        return;
    }
    for (int o = 0; o < results; o++) /* reversal_save_rows removes these outputs again */
        graph_output(g, x->before->output[o].name, x->before->output[o].value);
    reversal_cut(x, results);
    if (x->failed) return;
    graph_sweep(g);
    simplify_graph(g); /* merges equal values, so that no value is saved twice */
    c->gradients.results = results;
    reversal_save_rows(c);
    if (program_outputs_gradients(program)) {
        int lane = -1;
        for (int k = 0; k < out.rank; k++)
            if (axis_is_sequence(&x->m->axis[out.axes[k]])) lane = out.axes[k];
        if (program->group) reversal_split_totals(c, lane, reversal_split_wholes(c));
        if (program->group) reversal_split_heads(c);
        if (program->group) reversal_finish_rows(c);
        if (program_adds_totals(program)) c->graph = c->gradients.totals;
        take_group(c);
        return;
    }
    c->graph = program_sums_dout(program) ? c->gradients.row_sums : c->gradients.saving;
    if (!program_recomputes_saved(program)) return;
    c->graph->outputs -= results;
    for (int o = 0; o < c->graph->outputs; o++) c->graph->output[o] = c->graph->output[o + results];
    graph_sweep(c->graph);
}
