/* Takes prefix sums out of the program. A loop over pairs of a query and a key would compute them again for each pair.
   So a kernel computes them once, at the start of a call:
   - A separate program, PROGRAM_PREFIX_TERMS, computes a term for each query of a call. The last query is at the last
     key. So a call that continues a sequence computes only terms of new positions.
   - A function of the kernel adds the terms (runtime/call/sums.c).
   - Other programs read the sums from two arrays for queries and two for keys. The second array has what the first
     loses by rounding. So differences of sums are exact even after a million positions.
   - Backward computes gradients with respect to these arrays. A function of the kernel adds them from the last position
     to the first, which gives the gradients of the terms.
   - Programs of terms (program.of_terms) compute the gradients of the caller's arrays from those of the terms. */
#include "pass.h"
#include "../analysis/analysis.h"
#include "../schedule/schedule.h"

/* Replaces the axis `from` by the axis `to` in all values, and the index of `from` by `index`. */
static void rename_axis(struct graph *g, int from, int to, const struct expr *index)
{
    const struct expr *const old = expr_index(g->module, from);
    for (int v = 0; v < g->values; v++) {
        struct value *const value = &g->value[v];
        for (int k = 0; k < value->rank; k++)
            if (value->axes[k] == from) value->axes[k] = to;
        for (int k = 0; k < value->operands; k++)
            for (int s = 0; s < value->operand[k].rank; s++)
                value->operand[k].sub[s] = expr_replace(g->module, value->operand[k].sub[s], old, index);
        if (value->expr) value->expr = expr_replace(g->module, value->expr, old, index);
    }
}

/* Makes value v, the terms, the only output of the graph. The axis of the terms becomes the axis of queries. For
   gradients of the caller's arrays, it becomes the axis of keys. */
static void output_terms(struct graph *g, int v, bool of_queries)
{
    struct module *const m = g->module;
    const int keys = axes_first(axes_with_size(m, SIZE_N_K)),
              to = of_queries ? axes_first(axes_with_size(m, SIZE_N_Q)) : keys;
    const struct expr *index = expr_index(m, to);
    if (of_queries) index = expr_add(m, index, expr_sub(m, expr_size(m, keys), expr_size(m, to)));
    g->outputs = 0;
    graph_output(g, prefix_array_name(PREFIX_OF_KEY), v);
    graph_sweep(g);
    const struct value *const terms = &g->value[g->output[0].value];
    for (int k = 0; k < terms->rank; k++)
        if (m->axis[terms->axes[k]].source == SIZE_N_K) rename_axis(g, terms->axes[k], to, index);
}

static struct value array_of(const struct value *like, enum prefix_array array, enum origin origin)
{
    struct value made = graph_value(GRAPH_PARAM, like->rank, like->axes);
    made.name = prefix_array_name(array);
    made.origin = origin;
    return made;
}

/* Turns the prefix sum v into an array. An array with its low part precedes it. Returns the number of the array. */
static int take(struct graph *g, int v, bool of_query)
{
    const struct value sum = g->value[v];
    graph_insert(g, v, array_of(&sum, of_query ? PREFIX_OF_QUERY_LOW : PREFIX_OF_KEY_LOW, ORIGIN_COMPUTED));
    g->value[v + 1] = array_of(&sum, of_query ? PREFIX_OF_QUERY : PREFIX_OF_KEY, ORIGIN_LEARNED);
    return v + 1;
}

static bool is_sum(const struct graph *g, const struct ref *r)
{
    const struct value *const v = &g->value[r->of];
    return v->op == GRAPH_PARAM &&
           (prefix_array_find(v->name) == PREFIX_OF_QUERY || prefix_array_find(v->name) == PREFIX_OF_KEY);
}

/* Adds the low part of operand `of` to the operands of map v, and returns its leaf. Returns NULL if v has too many
   operands. Values hold low parts just before high parts. */
static const struct expr *low_part(const struct graph *g, struct value *v, int64_t of)
{
    struct ref r = v->operand[of];
    r.of--;
    const int number = graph_operand(v, &r);
    return number < 0 ? NULL : expr_operand(g->module, number);
}

struct low_parts {
    struct compilation *c;
    struct value *v;
};

/* Adds the difference of low parts to a difference a - b of prefix sums. */
static const struct expr *with_low_parts(void *of, const struct expr *e)
{
    const struct low_parts *const x = of;
    const struct graph *const g = x->c->graph;
    const struct expr *const a = e->arg[0], *const b = e->arg[1];
    if (e->op != EXPR_SUB || a->op != EXPR_OPERAND || b->op != EXPR_OPERAND || !is_sum(g, &x->v->operand[a->integer]) ||
        !is_sum(g, &x->v->operand[b->integer]))
        return expr_has(e, EXPR_SUB) ? NULL : e;
    const struct expr *const low = low_part(g, x->v, a->integer), *const low_b = low_part(g, x->v, b->integer);
    if (low && low_b) return expr_add(g->module, e, expr_sub(g->module, low, low_b));
    diagnostics_error(x->c->diagnostics, x->c->spec->similarity.at,
                      "a weight with a decay reads too many arrays: this is not compiled yet");
    return e;
}

void pass_prefix_sums(struct compilation *c)
{
    struct graph *const g = c->graph;
    struct prefix_sum sum;
    bool any = false;
    for (int v = 0; v < g->values; v++) {
        if (!prefix_sum_of(g, v, &sum)) continue;
        if (program_computes_terms(&c->program) || c->program.of_terms) {
            output_terms(g, sum.terms, program_computes_terms(&c->program));
            return;
        }
        if (!any) c->sums = graph_copy(g);
        v = take(g, v, sum.of_query);
        any = true;
    }
    for (int v = 0; v < g->values && any; v++)
        if (g->value[v].op == GRAPH_MAP)
            g->value[v].expr = expr_map(g->module, g->value[v].expr, with_low_parts,
                                        &(struct low_parts){c, &g->value[v]});
}
