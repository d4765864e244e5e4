/* Moves a constant factor of an inner product into an operand: (q . k) * c becomes (q * c) . k. The operand, usually
   the queries, has only run-time axes of the output. So the constant multiplies each element of a query, not each
   pair. */
#include "pass.h"
#include "../schedule/schedule.h"

static bool uses_elsewhere(const struct expr *e, const struct expr *leaf, const struct expr *product)
{
    if (e == product) return false;
    if (e == leaf) return true;
    for (int k = 0; k < expr_arity(e->op); k++)
        if (uses_elsewhere(e->arg[k], leaf, product)) return true;
    return false;
}

/* Returns the product leaf * constant in e. Returns NULL if there is none, or if `leaf` also occurs elsewhere. */
static const struct expr *only_product(const struct expr *e, const struct expr *leaf)
{
    const struct expr *found = NULL;
    for (const struct expr *stack[64] = {e}, **top = stack + 1; top > stack && !found;) {
        const struct expr *at = *--top;
        if (at->op == EXPR_MUL && at->arg[0] == leaf && at->arg[1]->op == EXPR_REAL) found = at;
        for (int k = 0; k < expr_arity(at->op) && top < stack + 61; k++) *top++ = at->arg[k];
    }
    return found && !uses_elsewhere(e, leaf, found) ? found : NULL;
}

/* Returns the constant by which all users multiply value v, or 1. */
static double common_factor(const struct graph *g, int v)
{
    double factor = 1;
    bool first = true;
    for (int w = 0; w < g->values; w++)
        for (int k = 0; k < g->value[w].operands; k++) {
            if (g->value[w].operand[k].of != v) continue;
            const struct expr *product = NULL;
            if (g->value[w].op == GRAPH_MAP)
                product = only_product(g->value[w].expr, expr_leaf(g->module, EXPR_OPERAND, k));
            if (!product || (!first && product->arg[1]->real != factor)) return 1;
            factor = product->arg[1]->real;
            first = false;
        }
    return factor;
}

/* Whether the product multiplies two stored inputs in bf16. Scaling would round the inputs again. */
static bool of_stored(const struct compilation *c, const struct value *v)
{
    const struct value *value = c->graph->value;
    bool stored = value[v->operand[0].of].op == GRAPH_INPUT && value[v->operand[1].of].op == GRAPH_INPUT;
    return stored && multiplies_bf16(c);
}

/* Whether the loops over the first output's rows run over every run-time axis of r. Then a map of r's elements runs
   once for each query, outside the sum over keys. */
static bool outside_sum(const struct graph *g, const struct ref *r)
{
    const struct value *const out = &g->value[g->output[0].value];
    int along = -1, rows = -1;
    if (out->op == GRAPH_SOLVE && out->operands <= SOLVE_FEATURES) graph_solve_axes(g->module, out, &along, &rows);
    for (int a = 0; a < g->module->axes; a++)
        if (ref_uses_axis(r, a) && !axis_is_whole(&g->module->axis[a]) && a != rows &&
            (a == along || !value_has_axis(out, a)))
            return false;
    return true;
}

/* Returns the map r * factor, over the axes along which r reads. */
static struct value scaled(struct graph *g, const struct ref *r, double factor)
{
    const struct expr *const operand = expr_leaf(g->module, EXPR_OPERAND, 0);
    struct value times = graph_value(GRAPH_MAP, g->value[r->of].rank, g->value[r->of].axes);
    for (int k = 0; k < r->rank; k++)
        if (ref_axis(r, k) >= 0) times.axes[k] = ref_axis(r, k);
    times.operands = 1;
    times.operand[0] = *r;
    times.expr = expr_make(g->module, EXPR_MUL, operand, expr_real(g->module, factor), NULL);
    return times;
}

void pass_fold_scale(struct compilation *c)
{
    struct graph *g = c->graph;
    struct module *m = g->module;
    for (int v = 0; v < g->values; v++) {
        if (g->value[v].op != GRAPH_CONTRACT || g->value[v].where || graph_is_output(g, v)) continue;
        double factor = common_factor(g, v);
        const int side = outside_sum(g, &g->value[v].operand[0]) ? 0 : outside_sum(g, &g->value[v].operand[1]) ? 1 : -1;
        if (factor == 1 || side < 0 || of_stored(c, &g->value[v])) continue;
        for (int w = v + 1; w < g->values; w++)
            for (int k = 0; k < g->value[w].operands; k++) {
                const struct expr *leaf = expr_leaf(m, EXPR_OPERAND, k);
                if (g->value[w].operand[k].of == v)
                    g->value[w].expr = expr_replace(m, g->value[w].expr,
                                                    expr_make(m, EXPR_MUL, leaf, expr_real(m, factor), NULL), leaf);
            }
        graph_insert(g, v, scaled(g, &g->value[v].operand[side], factor));
        g->value[v + 1].operand[side] = graph_ref(g, v, NULL);
        v++;
    }
}
