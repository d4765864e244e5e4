/* Replaces the solution u = rate * r of a SOLVE by r, because derivatives with respect to the rate need r, also where
   the rate is 0. */
#include "graph.h"

/* Whether each subscript of r is the index of an axis. */
static bool is_plain(const struct ref *r)
{
    bool plain = true;
    for (int k = 0; k < r->rank; k++) plain &= ref_axis(r, k) >= 0;
    return plain;
}

/* Returns the number of the operand that a sum multiplies with the solution, or -1 if v reads it in another way. */
static int factor_of(const struct value *v, int solution)
{
    int reads = 0, factor = -1;
    for (int k = 0; k < v->operands; k++) reads += v->operand[k].of == solution;
    for (int k = 0; k < 2 && v->op == GRAPH_CONTRACT && graph_summed(v) == 2 && reads == 1; k++)
        if (v->operand[1 - k].of == solution) factor = k;
    return factor >= 0 && is_plain(&v->operand[factor]) ? factor : -1;
}

/* Inserts the map a * b before value *at, and increases *at. Returns a reference to the map. */
static struct ref insert_product(struct graph *g, int *at, const struct ref *a, const struct ref *b)
{
    struct value map = graph_value(GRAPH_MAP, 0, NULL);
    const struct ref *const both[2] = {a, b};
    const struct expr *of[2];
    for (int n = 0; n < 2; n++) {
        for (int k = 0; k < both[n]->rank; k++) {
            const int axis = ref_axis(both[n], k);
            if (axis >= 0 && !value_has_axis(&map, axis)) map.axes[map.rank++] = axis;
        }
        of[n] = expr_operand(g->module, graph_operand(&map, both[n]));
    }
    map.expr = expr_mul(g->module, of[0], of[1]);
    graph_insert(g, *at, map);
    return graph_ref(g, (*at)++, NULL);
}

bool value_divides_rows(const struct value *w, int along)
{
    if (w->op != GRAPH_MAP || w->operands != 2 || (w->expr->op != EXPR_DIV && w->expr->op != EXPR_MUL)) return false;
    const struct expr *const first = w->expr->arg[0];
    return first->op == EXPR_OPERAND && first->integer == 0 && !expr_uses(w->expr->arg[1], first) &&
           !ref_uses_axis(&w->operand[1], along);
}

int graph_solve_for_residual(struct graph *g)
{
    int s = graph_find_solve(g), along, rows;
    for (int v = s + 1; v < g->values; v++)
        for (int k = 0; k < g->value[v].operands; k++)
            if (g->value[v].operand[k].of == s && factor_of(&g->value[v], s) < 0) return -1;
    const struct value solve = g->value[s];
    const struct ref rate = solve.operand[SOLVE_RATE];
    if (graph_is_output(g, s) || !is_plain(&rate) || !is_plain(&solve.operand[SOLVE_WEIGHTS])) return -1;
    graph_solve_axes(g->module, &solve, &along, &rows);
    struct ref weights = solve.operand[SOLVE_WEIGHTS];
    struct value divided = g->value[weights.of];
    const bool divides = value_divides_rows(&divided, along);
    weights = insert_product(g, &s, divides ? &divided.operand[0] : &weights, &rate);
    if (divides) { /* the row's sum divides last, so that loops need not know it before */
        struct value *const product = &g->value[weights.of];
        const struct value *const w = &g->value[product->operand[0].of];
        if (w->op == GRAPH_MAP) graph_inline(g, product, 0, w); /* its exponential is relative to the row's maximum */
        divided.operand[0] = weights;
        graph_insert(g, s, divided);
        weights = graph_ref(g, s++, NULL);
    }
    struct value one = graph_value(GRAPH_MAP, 1, &along);
    one.expr = expr_real(g->module, 1);
    graph_insert(g, s, one);
    g->value[s + 1].operand[SOLVE_RATE] = graph_ref(g, s, NULL);
    s++;
    g->value[s].operand[SOLVE_WEIGHTS] = weights;
    for (int v = s + 1; v < g->values; v++) {
        const int factor = factor_of(&g->value[v], s);
        if (factor < 0) continue;
        const struct ref scaled = insert_product(g, &v, &g->value[v].operand[factor], &rate);
        g->value[v].operand[factor] = scaled;
    }
    return s;
}
