/* Simplifies the graph:
   - merges equal values,
   - inlines a map into its only user, if no costly work is repeated,
   - removes unused values, unused operands, and maps that only copy. */
#include "pass.h"
#include "../schedule/schedule.h"

static void merge_equal(struct graph *g)
{
    for (int v = 1; v < g->values; v++)
        for (int u = 0; u < v; u++) {
            if (!graph_value_equal(&g->value[u], &g->value[v])) continue;
            for (int w = v + 1; w < g->values; w++) {
                for (int k = 0; k < g->value[w].operands; k++)
                    if (g->value[w].operand[k].of == v) g->value[w].operand[k].of = u;
                if (g->value[w].online == v) g->value[w].online = u;
            }
            for (int o = 0; o < g->outputs; o++)
                if (g->output[o].value == v) g->output[o].value = u;
            break;
        }
}

/* Whether e applies a costly function, such as a logarithm, to an operand. */
static bool takes_function(const struct expr *e)
{
    bool takes = false;
    for (struct exprs w = {.of = e}; exprs_next(&w);)
        takes |= expr_effort(w.e->op) == EFFORT_FUNCTION && expr_has(w.e, EXPR_OPERAND);
    return takes;
}

/* Whether inlining `inner` into `user` would repeat costly work. Maps without operands are cheap. So are maps with one
   operand and cheap operations. The work of other maps is repeated if `user` has
   - a sequence axis that `inner` lacks, because a number of a row would be computed for every pair,
   - a constant axis that `inner` lacks, and `inner` applies a costly function. */
static bool repeats(const struct graph *g, const struct value *user, const struct value *inner)
{
    const bool slow = takes_function(inner->expr);
    bool again = false;
    if (inner->operands < 2 && !expr_takes(inner->expr, EFFORT_SLOW)) return false;
    for (int k = 0; k < user->rank; k++) {
        const struct axis *axis = &g->module->axis[user->axes[k]];
        again |= (axis_is_sequence(axis) || (slow && axis->source == SIZE_CONSTANT)) &&
                 !value_has_axis(inner, user->axes[k]);
    }
    return again && inner->operands > 0;
}

static bool inline_single_uses(struct graph *g)
{
    bool changed = false;
    for (int v = 0; v < g->values; v++) {
        if (g->value[v].op != GRAPH_MAP) continue;
        for (int k = 0; k < g->value[v].operands; k++) {
            int u = g->value[v].operand[k].of;
            const struct value *inner = &g->value[u];
            if (inner->op != GRAPH_MAP || graph_uses(g, u) != 1 || !graph_is_plain(g, &g->value[v].operand[k]) ||
                repeats(g, &g->value[v], inner))
                continue;
            if (!graph_inline(g, &g->value[v], k, inner)) continue;
            changed = true;
            k = -1; /* inlining renumbers the operands: start again */
        }
    }
    return changed;
}

/* Makes users of a copying map read its operand. Maps that are outputs stay. */
static void drop_identities(struct graph *g)
{
    for (int v = 0; v < g->values; v++) {
        const struct value *value = &g->value[v];
        if (value->op != GRAPH_MAP || graph_is_output(g, v) || value->expr->op != EXPR_OPERAND) continue;
        const struct ref *r = &value->operand[value->expr->integer];
        struct ref self = graph_ref(g, v, NULL);
        self.of = r->of;
        if (!ref_equal(r, &self)) continue;
        for (int w = v + 1; w < g->values; w++)
            for (int k = 0; k < g->value[w].operands; k++)
                if (g->value[w].operand[k].of == v) g->value[w].operand[k].of = r->of;
    }
}

void simplify_graph(struct graph *g)
{
    do {
        merge_equal(g);
        graph_drop_operands(g);
        drop_identities(g);
        graph_sweep(g);
    } while (inline_single_uses(g));
    graph_sweep(g);
}

void pass_simplify(struct compilation *c)
{
    simplify_graph(c->graph);
}
