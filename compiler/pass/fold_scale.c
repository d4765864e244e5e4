/* Moves factors of an inner product into an operand: (q . k) * c becomes (q * c) . k. The operand, usually the queries,
   has only run-time axes of the output. So c multiplies each element of a query, not each pair.
   - c is a constant in all maps that read the inner product.
   - If one map reads it, c may also depend on the query and its head, as in (q . k) * scale[h] * log(i + 1.0). */
#include "pass.h"
#include "../schedule/schedule.h"

static bool uses_elsewhere(const struct expr *e, const struct expr *leaf, const struct expr *product)
{
    for (struct exprs w = {.of = e}; exprs_next(&w);) {
        if (w.e == leaf) return true;
        w.skip = w.e == product;
    }
    return false;
}

/* Returns the product leaf * constant in e. Returns NULL if there is none, or if `leaf` also occurs elsewhere. */
static const struct expr *only_product(const struct expr *e, const struct expr *leaf)
{
    for (struct exprs w = {.of = e}; exprs_next(&w);)
        if (w.e->op == EXPR_MUL && w.e->arg[0] == leaf && w.e->arg[1]->op == EXPR_REAL)
            return uses_elsewhere(e, leaf, w.e) ? NULL : w.e;
    return NULL;
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
            if (g->value[w].op == GRAPH_MAP) product = only_product(g->value[w].expr, expr_operand(g->module, k));
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
    if (out->op == GRAPH_SOLVE && out->operands > SOLVE_FEATURES)
        return false; /* its rows are keys of the same chunk */
    if (out->op == GRAPH_SOLVE) graph_solve_axes(g->module, out, &along, &rows);
    for (int a = 0; a < g->module->axes; a++)
        if (ref_uses_axis(r, a) && !axis_is_whole(&g->module->axis[a]) && a != rows &&
            (a == along || !value_has_axis(out, a)))
            return false;
    return true;
}

/* Returns the map r * factor, over the axes along which r reads. */
static struct value scaled(struct graph *g, const struct ref *r, double factor)
{
    const struct expr *const operand = expr_operand(g->module, 0);
    struct value times = graph_value(GRAPH_MAP, g->value[r->of].rank, g->value[r->of].axes);
    for (int k = 0; k < r->rank; k++)
        if (ref_axis(r, k) >= 0) times.axes[k] = ref_axis(r, k);
    times.operands = 1;
    times.operand[0] = *r;
    times.expr = expr_mul(g->module, operand, expr_real(g->module, factor));
    return times;
}

/* ---- factors that depend on the query ---- */

/* A map that reads an inner product as operand number `own`, and the axes along which a factor may vary, as bits. */
struct scaled_map {
    const struct graph *g;
    const struct value *map;
    int own;
    uint32_t axes;
    const struct expr *factor; /* that of the part that is_scaled */
};

/* Whether e has one value for all keys. */
static bool of_query(const struct scaled_map *x, const struct expr *e)
{
    const uint32_t along = expr_axes_read(e, x->map->operand);
    return !(expr_operands(e, NULL) >> x->own & 1) && !(along & ~x->axes) && !expr_looks_up(e);
}

/* Whether e is the inner product times a factor of the query. Sets *factor, or leaves it NULL if e is the inner product
   itself. */
static bool is_scaled(const struct scaled_map *x, const struct expr *e, const struct expr **factor)
{
    struct module *const m = x->g->module;
    if (e->op == EXPR_OPERAND) return e->integer == x->own;
    if (e->op != EXPR_MUL && e->op != EXPR_DIV) return false;
    for (int k = 0; k < (e->op == EXPR_MUL ? 2 : 1); k++) {
        const struct expr *const f = e->arg[1 - k];
        if (!of_query(x, f) || !is_scaled(x, e->arg[k], factor)) continue;
        if (e->op == EXPR_DIV)
            *factor = expr_div(m, *factor ? *factor : expr_real(m, 1), f);
        else
            *factor = *factor ? expr_mul(m, *factor, f) : f;
        return true;
    }
    return false;
}

static enum answer is_scaled_part(void *of, const struct expr *e)
{
    struct scaled_map *const x = of;
    x->factor = NULL;
    return is_scaled(x, e, &x->factor) ? ANSWER_YES : ANSWER_ARGUMENTS;
}

/* Sets *x to the only map that reads value v. Returns false if there are several readers, or another one. */
static bool only_reader(const struct graph *g, int v, struct scaled_map *x)
{
    int readers = 0;
    for (int w = 0; w < g->values; w++)
        for (int k = 0; k < g->value[w].operands; k++) {
            if (g->value[w].operand[k].of != v) continue;
            *x = (struct scaled_map){.g = g, .map = &g->value[w], .own = k};
            readers++;
        }
    return readers == 1 && x->map->op == GRAPH_MAP;
}

/* Makes `times`, the map of an operand times a constant, multiply by `factor` of the reader's map instead. Returns
   false if there is no room for the operands. */
static bool take_factor(const struct scaled_map *x, struct value *times, const struct expr *factor)
{
    struct module *const m = x->g->module;
    const struct expr *const taken = expr_take(m, factor, x->map->operand, times->operand, &times->operands);
    if (taken) times->expr = expr_mul(m, expr_operand(m, 0), taken);
    return taken != NULL;
}

/* Whether v has elements for pairs: it has a sequence that its operand number `side` lacks. */
static bool of_pairs(const struct graph *g, const struct value *v, int side)
{
    for (int k = 0; k < v->rank; k++)
        if (axis_is_sequence(&g->module->axis[v->axes[k]]) && !ref_uses_axis(&v->operand[side], v->axes[k]))
            return true;
    return false;
}

/* Moves the factor of inner product v that depends on the query into operand number `side`. Returns whether there is
   one. */
static bool fold_factor(struct graph *g, int v, int side)
{
    struct module *const m = g->module;
    struct scaled_map x;
    if (!of_pairs(g, &g->value[v], side) || !only_reader(g, v, &x)) return false;
    const struct value *const out = &g->value[g->output[0].value];
    struct value times = scaled(g, &g->value[v].operand[side], 1);
    for (int k = 0; k < times.rank; k++)
        if (value_has_axis(out, times.axes[k]) && value_has_axis(&g->value[v], times.axes[k]))
            x.axes |= UINT32_C(1) << times.axes[k];
    const struct expr *const leaf = expr_operand(m, x.own), *const found = expr_find(x.map->expr, is_scaled_part, &x);
    if (!found || !x.factor || x.factor->op == EXPR_REAL || uses_elsewhere(x.map->expr, leaf, found) ||
        !take_factor(&x, &times, x.factor))
        return false;
    const int w = (int)(x.map - g->value);
    struct value product = g->value[v];
    g->value[w].expr = expr_replace(m, x.map->expr, found, leaf);
    graph_insert(g, w, times); /* before the map, because the factor's operands may come after the inner product */
    product.operand[side] = graph_ref(g, w, NULL);
    graph_insert(g, w + 1, product);
    g->value[w + 2].operand[x.own].of = w + 1;
    return true;
}

void pass_fold_scale(struct compilation *c)
{
    struct graph *g = c->graph;
    struct module *m = g->module;
    for (int v = 0; v < g->values; v++) {
        if (g->value[v].op != GRAPH_CONTRACT || g->value[v].where || graph_is_output(g, v)) continue;
        double factor = common_factor(g, v);
        const int side = outside_sum(g, &g->value[v].operand[0]) ? 0 : outside_sum(g, &g->value[v].operand[1]) ? 1 : -1;
        if (side < 0 || of_stored(c, &g->value[v])) continue;
        if (fold_factor(g, v, side) || factor == 1) continue;
        for (int w = v + 1; w < g->values; w++)
            for (int k = 0; k < g->value[w].operands; k++) {
                const struct expr *leaf = expr_operand(m, k);
                if (g->value[w].operand[k].of == v)
                    g->value[w].expr = expr_replace(m, g->value[w].expr, expr_mul(m, leaf, expr_real(m, factor)), leaf);
            }
        graph_insert(g, v, scaled(g, &g->value[v].operand[side], factor));
        g->value[v + 1].operand[side] = graph_ref(g, v, NULL);
        v++;
    }
}
