/* Warns of values that may overflow: users' exponentials with an unbounded argument, and weights of high degree.
   The pass stabilise makes most of these values safe. */
#include "overflow.h"
#include "signs.h"
#include "../expression/expression.h"
#include "../schedule/schedule.h"
#include "../spec/spec.h"

#include <float.h>
#include <math.h>

/* Whether e has one of these forms. Then exp(e) is a factor of a whole row and is not reported.
   - an expression of constants and maxima over rows, with at least one maximum m
   - max(m, x), for any x */
static bool is_maximum(const struct graph *g, const struct value *v, const struct expr *e)
{
    if (e->op == EXPR_OPERAND)
        return g->value[v->operand[e->integer].of].op == GRAPH_REDUCE &&
               g->value[v->operand[e->integer].of].fold == FOLD_MAX;
    if (e->size == 1) return false;
    bool all = true, any = false;
    for (int k = 0; k < expr_arity(e->op); k++) {
        const bool one = is_maximum(g, v, e->arg[k]);
        any |= one;
        all &= one || !expr_has(e->arg[k], EXPR_OPERAND);
    }
    return any && (all || e->op == EXPR_MAX);
}

/* Returns the exponent of exp, exp2, expm1 or pow. Returns NULL for another operation. */
static const struct expr *exponent_of(const struct expr *e)
{
    const bool one = e->op == EXPR_EXP || e->op == EXPR_EXP2 || e->op == EXPR_EXPM1;
    return one ? e->arg[0] : e->op == EXPR_POW ? e->arg[1] : NULL;
}

/* Whether a compilation has an unbounded exponent from which no maximum is subtracted. */
static bool any_loose(const struct compilation *const *compilation, int compilations)
{
    for (int c = 0; c < compilations; c++) {
        const struct graph *g = compilation[c]->graph;
        for (const struct value *v = g->value; v < g->value + g->values; v++)
            for (struct exprs w = {.of = v->op == GRAPH_MAP ? v->expr : NULL}; exprs_next(&w);) {
                const struct expr *const exponent = exponent_of(w.e);
                if (exponent && expr_has(exponent, EXPR_OPERAND) && isinf(value_expr_max(g, v, exponent)) &&
                    !is_maximum(g, v, exponent) && !(exponent->op == EXPR_SUB && is_maximum(g, v, exponent->arg[1])))
                    return true;
            }
    }
    return false;
}

/* ---- how large an inner product can be ---- */

static bool is_square_of(const struct value *v, int of)
{
    const struct expr *e = v->expr;
    return v->op == GRAPH_MAP && e->op == EXPR_MUL && e->arg[0] == e->arg[1] && e->arg[0]->op == EXPR_OPERAND &&
           v->operand[e->arg[0]->integer].of == of;
}

/* Returns the maximum norm of a row: 1 / sqrt(c) if the row is x / sqrt(c * <x, x> + eps), otherwise infinity. */
static double norm_max(const struct graph *g, const struct value *row)
{
    if (row->op != GRAPH_MAP || row->expr->op != EXPR_MUL) return INFINITY;
    for (int k = 0; k < 2; k++) {
        const struct expr *x = row->expr->arg[k], *by = row->expr->arg[1 - k];
        if (x->op != EXPR_OPERAND || by->op != EXPR_OPERAND) return INFINITY;
        const struct value *inverse = &g->value[row->operand[by->integer].of];
        const struct expr *of = inverse->op == GRAPH_MAP ? inverse->expr : NULL;
        /* A row of zeros stays zero, so only the other branch counts. */
        if (of && of->op == EXPR_SELECT && expr_is_real(of->arg[1], 0)) of = of->arg[2];
        const struct expr *root = of && of->op == EXPR_DIV && expr_is_real(of->arg[0], 1) ? of->arg[1] : NULL;
        if (!root || root->op != EXPR_SQRT) continue;
        const struct expr *square = root->arg[0];
        if (square->op == EXPR_ADD && square->arg[1]->op == EXPR_REAL && square->arg[1]->real >= 0)
            square = square->arg[0];
        double c = 1;
        if (square->op == EXPR_MUL && square->arg[1]->op == EXPR_REAL) {
            c = square->arg[1]->real;
            square = square->arg[0];
        }
        if (square->op != EXPR_OPERAND || c <= 0) continue;
        const struct value *sum = &g->value[inverse->operand[square->integer].of];
        if (sum->op == GRAPH_REDUCE && sum->fold == FOLD_SUM && !sum->where &&
            is_square_of(&g->value[sum->operand[0].of], row->operand[x->integer].of))
            return 1 / sqrt(c);
    }
    return INFINITY;
}

/* Returns an upper bound of the inner products of queries and keys, from the norms of both. Returns infinity if
   none is known. */
static double product_max(const struct graph *g)
{
    double max = 0;
    for (int v = 0; v < g->values; v++) {
        const struct value *s = &g->value[v];
        if (s->op == GRAPH_CONTRACT && value_of_pairs(g->module, s))
            max = fmax(max, norm_max(g, &g->value[s->operand[0].of]) * norm_max(g, &g->value[s->operand[1].of]));
    }
    return max > 0 ? max : INFINITY;
}

/* ---- messages about the user's expressions ---- */

static bool is_factor(const struct expr *e, const struct expr *factor)
{
    return e == factor || (e->op == EXPR_MUL && (is_factor(e->arg[0], factor) || is_factor(e->arg[1], factor)));
}

/* Whether an infinite subexpression x can make e infinite or NaN. An x inside a bounded expression or a positive
   denominator cannot. `s`: the range of the operands. */
static bool is_exposed(const struct expr *e, const struct expr *x, struct expr_range s, double largest)
{
    for (struct exprs w = {.of = e}; exprs_next(&w);) {
        const struct expr_range range = expr_range_where(w.e, s);
        if (w.e == x) return true;
        w.skip = range.low >= -largest && range.high <= largest;
        if (w.skip || w.e->op != EXPR_DIV || expr_range_where(w.e->arg[1], s).low <= 0) continue;
        w.skip = true;
        if (is_exposed(w.e->arg[0], x, s, largest)) return true;
    }
    return false;
}

/* Warns of an exponential in e that overflows for some |s| <= max. `weight`: e is the whole weight. Then an
   exponential that is a factor of e is reported only if no other exponential overflows. */
static void warn_expression(struct arena *arena, const struct expression *e, bool weight, double max, enum dtype dtype,
                            struct diagnostics *d)
{
    const double largest = dtype == DTYPE_F64 ? DBL_MAX : (double)FLT_MAX;
    const struct expr_range s = {-max, max};
    const struct exponential *found = NULL;
    for (int k = 0; k < e->exponentials; k++) {
        const struct exponential *x = &e->exponential[k];
        if (!expr_has(exponent_of(x->e), EXPR_OPERAND) || expr_range_where(x->e, s).high <= largest ||
            !is_exposed(e->value, x->e, s, largest))
            continue;
        if (!found || (weight && is_factor(e->value, found->e) && !is_factor(e->value, x->e))) found = x;
    }
    if (!found) return;
    const bool power = found->e->op == EXPR_POW, two = found->e->op == EXPR_EXP2;
    const double most = two ? log2(largest) : log(largest);
    /* An expression from --set has no line. */
    const char *where = found->at.line ? "" : arena_printf(arena, "in '%.200s': ", e->text);
    const char *above = power ? "" : arena_printf(arena, ", above %.1f", most);
    const char *bound = power ? ""
                              : arena_printf(arena, ", as in %s(fmin(s, %.0f.0))", two ? "exp2" : "exp",
                                             /* A sum of exp(28), or 2^41, such terms does not overflow. */
                                             floor(most) - (two ? 41 : 28));
    diagnostics_warning(d, found->at, "%s'%s' overflows %s if its exponent is large%s; rows of the result are then NaN",
                        where, expr_c_function(found->e->op), dtype_name(dtype_of_sums(dtype)), above);
    diagnostics_note(
        d, found->at,
        "the maximum of a row is subtracted only if the whole weight is a factor times an exponential: write the "
        "weight in this form, or bound the exponent%s",
        bound);
}

/* Warns if the weight is a high power that overflows for a moderate base. Does not warn if every compilation
   divides the power by its maximum in the row. */
static void warn_powers(const struct spec *spec, const struct graph *source,
                        const struct compilation *const *compilation, int compilations, struct diagnostics *d)
{
    const double growth = weight_growth(source);
    const struct compilation *bare = NULL;
    for (int c = 0; c < compilations; c++)
        if (!relative_degree(compilation[c]->graph)) bare = compilation[c];
    if (!bare || growth < (double)overflow_degree(spec->dtype)) return;
    diagnostics_warning(
        d, spec->similarity.at,
        "a weight of degree %.0f overflows %s in the %s form if its base exceeds %.3g: that row of the result is "
        "NaN; a row whose bases are all below %.2g underflows: its result is inexact or 0",
        growth, dtype_name(dtype_of_sums(spec->dtype)), bare->program.linear ? "linear" : "quadratic",
        overflow_base(spec->dtype, growth), underflow_base(spec->dtype, growth));
    diagnostics_note(d, spec->similarity.at,
                     "the quadratic form prevents this, by division by the maximum of the row, if the weight is a "
                     "single power and rows are divided by their sum");
}

void overflow_warn(const struct spec *spec, const struct graph *source, const struct compilation *const *compilation,
                   int compilations, struct diagnostics *d)
{
    const struct similarity *s = &spec->similarity;
    struct arena *arena = source->module->arena;
    warn_powers(spec, source, compilation, compilations, d);
    const bool whole = !spec_has_logarithms(spec);
    for (int k = 0; k < s->steps && any_loose(compilation, compilations); k++)
        warn_expression(arena, s->step[k], whole, whole ? product_max(source) : INFINITY, spec->dtype, d);
}
