/* Forward-mode differentiation of a graph. The tangent of a value is its derivative along given tangents of inputs and
   learned parameters. It has the axes of the value.
   - The tangent of an input NAME is the parameter NAME.tangent.
   - A value without a tangent does not depend on any input or learned parameter that has one.
   - The tangent of a value follows it directly. The result is a graph as forward's, so passes find its features, maxima
     and tiles as they do there. */
#include "graph.h"

#include <math.h>
#include <string.h>

enum { NONE = -1 };

struct tangents {
    const struct graph *from; /* the graph of the output */
    struct graph *g;          /* the graph of its tangent */
    struct module *m;
    bool *needed; /* for each value of `from`: whether the output's tangent depends on its tangent */
    int *copy;    /* for each value of `from`: its number in g */
    int *tangent; /* for each value of `from`: the number of its tangent in g, or NONE */
    const char *wrong;
};

bool name_is_tangent(const char *name)
{
    const size_t length = strlen(name), suffix = strlen(TANGENT);
    return length > suffix && strcmp(name + length - suffix, TANGENT) == 0;
}

/* Whether the tangent of v depends on that of its operand k. A maximum that cancels counts as constant, because the
   output does not depend on it. */
static bool depends(struct tangents *x, const struct value *v, int k)
{
    if (v->op == GRAPH_SELECT) return false;
    if (v->op == GRAPH_REDUCE) return v->fold == FOLD_SUM;
    return v->op != GRAPH_MAP || !expr_is_real(expr_derivative(x->m, v->expr, expr_operand(x->m, k)), 0);
}

static void find_needed(struct tangents *x, int out)
{
    x->needed[out] = true;
    for (int v = out; v >= 0; v--) {
        const struct value *const value = &x->from->value[v];
        for (int k = 0; k < value->operands && x->needed[v]; k++)
            if (depends(x, value, k)) x->needed[value->operand[k].of] = true;
        if (!x->needed[v]) continue;
        if (value->op == GRAPH_INPUT && value->within.of) x->needed[graph_find(x->from, value->within.of)] = true;
        if (value->op == GRAPH_REDUCE && value->fold == FOLD_MAX && !graph_maximum_cancels(x->from, v, out))
            x->wrong = "of a maximum";
    }
}

/* Makes the parameter that is the tangent of an input or learned parameter. An input within another one has the
   beginnings of the rows of that one's tangent. */
static int given(struct tangents *x, const struct value *v)
{
    if (!v->within.of) return graph_param(x->g, arena_printf(x->m->arena, "%s" TANGENT, v->name), v->rank, v->axes);
    struct ref row = graph_ref(x->g, x->tangent[graph_find(x->from, v->within.of)], NULL);
    for (int k = 0; k < v->rank; k++) row.sub[k] = expr_index(x->m, v->axes[k]);
    return graph_map(x->g, v->rank, v->axes, 1, &row, expr_operand(x->m, 0));
}

/* Returns operand k of the copy of v as its tangent. Its `of` is NONE if it has none. */
static struct ref tangent_of(const struct tangents *x, const struct value *v, int k)
{
    struct ref r = v->operand[k];
    r.of = x->tangent[r.of];
    return r;
}

/* Returns the sum of the values that `term` reads, over the axes of v. */
static int sum_of(struct tangents *x, const struct value *v, int terms, const struct ref *term)
{
    const struct expr *sum = expr_operand(x->m, 0);
    if (terms < 2) return terms ? term[0].of : NONE;
    for (int k = 1; k < terms; k++) sum = expr_add(x->m, sum, expr_operand(x->m, k));
    return graph_map(x->g, v->rank, v->axes, terms, term, sum);
}

/* Splits the product e into its exponentials and its other factors, each NULL if there are none. */
static void split(struct module *m, const struct expr *e, const struct expr **exponentials, const struct expr **others)
{
    const bool exponential = e->op == EXPR_EXP || e->op == EXPR_EXP2;
    const struct expr **const to = exponential ? exponentials : others;
    if (e->op == EXPR_MUL) {
        split(m, e->arg[0], exponentials, others);
        split(m, e->arg[1], exponentials, others);
    } else
        *to = *to ? expr_mul(m, *to, e) : e;
}

/* Returns the sum of the tangents of the factors of a product of exponentials, each divided by the factor. */
static const struct expr *logarithmic(struct module *m, const struct expr *e, const struct expr *const *tangent)
{
    if (e->op == EXPR_MUL) return expr_add(m, logarithmic(m, e->arg[0], tangent), logarithmic(m, e->arg[1], tangent));
    const struct expr *const inner = expr_tangent(m, e->arg[0], tangent);
    return e->op == EXPR_EXP ? inner : expr_mul(m, inner, expr_real(m, log(2)));
}

/* Returns the tangent of e. That of exp(x) * y is exp(x) * (y * dx + dy), in which stabilise finds the exponential. */
static const struct expr *tangent_of_expr(struct module *m, const struct expr *e, const struct expr *const *tangent)
{
    const struct expr *exponentials = NULL, *others = NULL;
    split(m, e, &exponentials, &others);
    if (!exponentials || !others) return expr_tangent(m, e, tangent);
    const struct expr *const of_exponents = logarithmic(m, exponentials, tangent),
                             *const of_others = expr_tangent(m, others, tangent), *sum = of_others;
    if (!expr_is_real(of_exponents, 0)) sum = expr_mul(m, others, of_exponents);
    if (!expr_is_real(of_exponents, 0) && !expr_is_real(of_others, 0)) sum = expr_add(m, sum, of_others);
    return expr_is_real(sum, 0) ? sum : expr_mul(m, exponentials, sum);
}

/* A map with too many operands for their tangents has a sum of maps as its tangent. */
static int of_map(struct tangents *x, const struct value *v, const struct value *copy)
{
    struct ref part[MAX_OPERANDS];
    int parts = 0;
    for (int k = 0; k < v->operands;) {
        struct value map = *copy;
        const struct expr *tangent[MAX_OPERANDS] = {NULL};
        const int first = k;
        for (; k < v->operands; k++) {
            const struct ref r = tangent_of(x, v, k);
            if (r.of < 0 || !depends(x, v, k)) continue;
            const int read = graph_operand(&map, &r);
            if (read < 0) break;
            tangent[k] = expr_operand(x->m, read);
        }
        if (k == first) {
            x->wrong = "of a formula of too large a number of arrays";
            return NONE;
        }
        const struct expr *const e = tangent_of_expr(x->m, v->expr, tangent);
        if (expr_is_real(e, 0)) continue;
        part[parts++] = graph_ref(x->g, graph_map(x->g, v->rank, v->axes, map.operands, map.operand, e), NULL);
    }
    return sum_of(x, v, parts, part);
}

/* A product of two values is linear in each of them. */
static int of_contract(struct tangents *x, const struct value *v, const struct value *copy)
{
    struct ref term[2];
    int terms = 0;
    for (int k = 0; k < 2; k++) {
        struct ref factor[2] = {copy->operand[0], copy->operand[1]};
        factor[k] = tangent_of(x, v, k);
        if (factor[k].of < 0) continue;
        term[terms++] = graph_ref(x->g, graph_contract(x->g, v->rank, v->axes, factor[0], factor[1], v->where), NULL);
    }
    return sum_of(x, v, terms, term);
}

/* Returns r with the index of axis `to` instead of that of axis `from`. */
static struct ref moved(const struct tangents *x, struct ref r, int from, int to)
{
    for (int k = 0; k < r.rank; k++)
        r.sub[k] = expr_replace(x->m, r.sub[k], expr_index(x->m, from), expr_index(x->m, to));
    return r;
}

/* Returns the number of the tangent of a SOLVE's sums of weights[t][j] * u[j] if only the weights change. Weights that
   are divided by a sum of their row are summed first, so that loops need not know their row's sum. */
static int of_read(struct tangents *x, const struct value *solve, const struct value *rows, int solution,
                   const struct expr *where)
{
    const struct value *const w = &x->from->value[solve->operand[SOLVE_WEIGHTS].of];
    const struct ref u = graph_ref(x->g, solution, NULL);
    if (!value_divides_rows(w, ref_axis(&solve->operand[SOLVE_WEIGHTS], w->rank - 1)))
        return graph_contract(x->g, rows->rank, rows->axes, tangent_of(x, solve, SOLVE_WEIGHTS), u, where);
    struct value read = *rows;
    struct ref own[2], of[2];
    const struct expr *tangent[MAX_OPERANDS] = {NULL};
    for (int k = 0; k < 2; k++) {
        own[k] = w->operand[k];
        own[k].of = x->copy[own[k].of];
        of[k] = tangent_of(x, w, k);
    }
    own[0] = graph_ref(x->g, graph_contract(x->g, rows->rank, rows->axes, own[0], u, where), NULL);
    if (of[0].of >= 0) of[0] = graph_ref(x->g, graph_contract(x->g, rows->rank, rows->axes, of[0], u, where), NULL);
    for (int k = 0; k < 2; k++) read.operand[read.operands++] = own[k];
    for (int k = 0; k < 2; k++)
        if (of[k].of >= 0) tangent[k] = expr_operand(x->m, graph_operand(&read, &of[k]));
    return graph_map(x->g, read.rank, read.axes, read.operands, read.operand, expr_tangent(x->m, w->expr, tangent));
}

/* The solution is u[t] = rate[t] * (values[t] - sum over j < t of w[t][j] * u[j]), with a constant rate. Its tangent
   solves the same system, for the values (tangent of values[t]) - sum over j < t of (tangent of w[t][j]) * u[j]. */
static int of_solve(struct tangents *x, const struct value *v, const struct value *copy, int solution)
{
    const struct ref weights = tangent_of(x, v, SOLVE_WEIGHTS), values = tangent_of(x, v, SOLVE_VALUES);
    int along, rows, terms = 0;
    struct ref term[2];
    graph_solve_axes(x->m, v, &along, &rows);
    struct value at_rows = graph_value(GRAPH_MAP, v->rank, v->axes), tangent = *copy;
    for (int k = 0; k < at_rows.rank; k++)
        if (at_rows.axes[k] == along) at_rows.axes[k] = rows;
    if (values.of >= 0) term[terms++] = moved(x, values, along, rows);
    if (weights.of >= 0) {
        const struct expr *const j = expr_index(x->m, along), *const t = expr_index(x->m, rows);
        const struct expr *const where = v->where && v->where != expr_le(x->m, j, t)
                                             ? expr_and(x->m, v->where, expr_lt(x->m, j, t))
                                             : expr_lt(x->m, j, t);
        term[terms++] = graph_ref(x->g, of_read(x, v, &at_rows, solution, where), NULL);
    }
    if (!terms) return NONE;
    const struct expr *const first = expr_operand(x->m, 0), *const e = weights.of < 0 ? first
                                                                       : terms < 2    ? expr_neg(x->m, first)
                                                                                      : expr_sub(x->m, first,
                                                                                                 expr_operand(x->m, 1));
    const int made = graph_map(x->g, at_rows.rank, at_rows.axes, terms, term, e);
    tangent.operand[SOLVE_VALUES] = moved(x, graph_ref(x->g, made, NULL), rows, along);
    graph_insert(x->g, x->g->values, tangent);
    return x->g->values - 1;
}

/* Returns the number of the tangent of v, or NONE. `copy` is v in the new graph. */
static int make_tangent(struct tangents *x, const struct value *v, const struct value *copy)
{
    switch (v->op) {
    case GRAPH_INPUT: return given(x, v);
    case GRAPH_PARAM: return v->origin == ORIGIN_LEARNED && !v->integers ? given(x, v) : NONE;
    case GRAPH_MAP: return of_map(x, v, copy);
    case GRAPH_CONTRACT: return of_contract(x, v, copy);
    case GRAPH_REDUCE: {
        const struct ref terms = tangent_of(x, v, 0);
        if (v->fold == FOLD_MAX || terms.of < 0) return NONE;
        return graph_reduce(x->g, FOLD_SUM, 0, v->rank, v->axes, terms, v->where);
    }
    case GRAPH_SOLVE: return of_solve(x, v, copy, x->g->values - 1);
    case GRAPH_SCAN: {
        const struct ref terms = tangent_of(x, v, 0);
        return terms.of < 0 ? NONE : graph_scan(x->g, v->rank, v->axes, terms, v->backward, v->where);
    }
    case GRAPH_TABLE:
    case GRAPH_SELECT: break;
    }
    return NONE;
}

/* Whether the value depends on an input or a learned parameter. */
static bool is_given(const struct graph *g, int value)
{
    bool *const needed = arena_alloc(g->module->arena, (size_t)g->values * sizeof *needed), given = false;
    graph_mark(g, value, needed);
    for (int v = 0; v < g->values; v++)
        given |= needed[v] && (g->value[v].op == GRAPH_INPUT ||
                               (g->value[v].op == GRAPH_PARAM && g->value[v].origin == ORIGIN_LEARNED));
    return given;
}

const char *graph_differentiate_forward(struct graph *g)
{
    const int solve = graph_find_solve(g);
    if (solve >= 0 && is_given(g, g->value[solve].operand[SOLVE_RATE].of) && graph_solve_for_residual(g) < 0)
        return "of a solution that is not only summed";
    const int out = g->output[0].value;
    struct arena *const arena = g->module->arena;
    struct tangents tangents = {.from = graph_copy(g), .g = g, .m = g->module}, *x = &tangents;
    x->needed = arena_alloc(arena, (size_t)g->values * sizeof *x->needed);
    x->copy = arena_alloc(arena, (size_t)g->values * sizeof *x->copy);
    x->tangent = arena_alloc(arena, (size_t)g->values * sizeof *x->tangent);
    find_needed(x, out);
    g->values = 0;
    for (int v = 0; v < x->from->values && !x->wrong; v++) {
        const struct value *const value = &x->from->value[v];
        struct value copy = *value;
        for (int k = 0; k < copy.operands; k++) copy.operand[k].of = x->copy[copy.operand[k].of];
        x->copy[v] = g->values;
        graph_insert(g, g->values, copy);
        x->tangent[v] = x->needed[v] ? make_tangent(x, value, &copy) : NONE;
    }
    if (x->wrong) return x->wrong;
    const struct value *const like = &x->from->value[out];
    if (x->tangent[out] < 0) x->tangent[out] = graph_map(g, like->rank, like->axes, 0, NULL, expr_real(x->m, 0));
    g->outputs = 1;
    g->output[0].value = x->tangent[out];
    return NULL;
}
