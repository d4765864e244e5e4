/* Rewrites operations on pairs of a query and a key that take long.
   Powers of a positive base whose exponent depends on positions or prefix sums: 0.97^(i-j) becomes
   exp2((i-j)*log2(0.97)). The logarithm is usually loop-invariant.
   - Accuracy: the relative error is about |x| * 2^-24 for the exponent x. For a decay, a large |x| is a weight of
     almost 0.
   - This runs after stabilise, which would otherwise make these exponentials relative to a maximum.
   Products: factors and divisors that do not depend on both the query and the key are multiplied first, so that they
   are loop-invariant. a[h] * x / f(i) * 2 becomes x * (a[h] * 2 / f(i)), where x depends on both.
   Quotients: x / s becomes x * (1 / s) if s is the sum of a row's exponentials, which is at least 1, and x has further
   axes. A division takes as long as 10 to 20 products. */
#include "pass.h"
#include "../analysis/analysis.h"
#include "../schedule/schedule.h"

#include <math.h>

static const struct expr *with_exp2(void *m, const struct expr *e)
{
    const struct expr *const base = e->arg[0], *const exponent = e->arg[1];
    if (!expr_has(e, EXPR_POW)) return e;
    const bool of_positions = e->op == EXPR_POW && !expr_has(exponent, EXPR_OPERAND) && expr_axes(exponent) &&
                              (!expr_has(base, EXPR_OPERAND) || decay_has_exact_log2(base)),
               of_sums = e->op == EXPR_POW && expr_is_exact_difference(exponent);
    if ((!of_positions && !of_sums) || expr_sign(base, NULL) <= 0) return NULL;
    const struct expr *const log2_of = expr_map(m, decay_log2(m, base), with_exp2, m);
    return expr_exp2(m, expr_mul(m, exponent, log2_of));
}

/* ---- products ---- */

enum { MAX_FACTORS = 12 };
/* The factors and divisors of a product of reals, and the sequences that each depends on, as bits. */
struct product {
    const struct graph *g;
    const struct value *map;
    uint32_t sequences; /* the axes that are sequences, as bits */
    int count;
    struct factor {
        const struct expr *e;
        bool divides;
        uint32_t along;
    } factor[MAX_FACTORS];
    bool movable; /* whether the order of the factors may change */
    bool repeats; /* whether a factor occurs twice, as in a power */
};

static bool on_pairs(uint32_t along)
{
    return (along & (along - 1)) != 0;
}

/* Adds the factors of e to the product. These products are not movable:
   - products of positions, which stay exact
   - products of exponentials, which may be so large that the order matters
   - powers */
static void collect(struct product *p, const struct expr *e, bool divides)
{
    if (!p->movable) return;
    if (e->type == TYPE_REAL && (e->op == EXPR_MUL || e->op == EXPR_DIV)) {
        collect(p, e->arg[0], divides);
        collect(p, e->arg[1], divides != (e->op == EXPR_DIV));
        return;
    }
    const uint32_t along = expr_axes_read(e, p->map->operand) & p->sequences;
    const bool grows = expr_has(e, EXPR_EXP) || expr_has(e, EXPR_EXP2) || expr_has(e, EXPR_POW);
    p->movable &= p->count < MAX_FACTORS && e->type == TYPE_REAL && !grows &&
                  (e->op == EXPR_REAL || expr_has(e, EXPR_OPERAND));
    for (int k = 0; k < p->count; k++) p->repeats |= p->factor[k].e == e;
    p->movable &= !p->repeats;
    if (p->count < MAX_FACTORS) p->factor[p->count++] = (struct factor){e, divides, along};
}

/* Returns `made` times or divided by a factor. `made` may be NULL, for 1. */
static const struct expr *times(struct module *m, const struct expr *made, const struct factor *f)
{
    if (f->divides) return expr_div(m, made ? made : expr_real(m, 1), f->e);
    return made ? expr_mul(m, made, f->e) : f->e;
}

/* Returns the product of the factors along exactly these sequences, after `made`. */
static const struct expr *product_along(const struct product *p, const struct expr *made, uint32_t along)
{
    for (int divides = 0; divides < 2; divides++)
        for (int k = 0; k < p->count; k++)
            if (p->factor[k].along == along && p->factor[k].divides == divides)
                made = times(p->g->module, made, &p->factor[k]);
    return made;
}

/* Returns the product e with its loop-invariant factors multiplied first, or NULL if that saves nothing. */
static const struct expr *hoisted(const struct product *p)
{
    struct module *const m = p->g->module;
    const struct expr *made = NULL;
    uint32_t along = 0;
    int fixed = 0, groups = 0; /* the factors that are no pairs', and the products that they become */
    bool divides = false;
    for (int k = 0; k < p->count; k++) {
        if (on_pairs(p->factor[k].along)) continue;
        fixed++;
        groups += (p->factor[k].along & ~along) != 0;
        along |= p->factor[k].along;
        divides |= p->factor[k].divides;
    }
    for (int k = 0; k < p->count; k++)
        if (on_pairs(p->factor[k].along) && !p->factor[k].divides) made = times(m, made, &p->factor[k]);
    if (!p->movable || !made || (fixed <= (groups > 0 ? groups : 1) && !divides)) return NULL;
    for (int k = 0; k < p->count; k++)
        if (on_pairs(p->factor[k].along) && p->factor[k].divides) made = times(m, made, &p->factor[k]);
    const struct expr *inner = product_along(p, NULL, 0);
    for (uint32_t axis = 1; axis && axis <= p->sequences; axis <<= 1) {
        bool any = false;
        for (int k = 0; k < p->count; k++) any |= p->factor[k].along == axis;
        if (!any) continue;
        made = expr_mul(m, made, product_along(p, inner, axis));
        inner = NULL;
    }
    return inner ? expr_mul(m, made, inner) : made;
}

/* Rewrites a product. `of`: an empty product, with the map. */
static const struct expr *with_products(void *of, const struct expr *e)
{
    struct product p = *(const struct product *)of;
    if (e->type != TYPE_REAL || (e->op != EXPR_MUL && e->op != EXPR_DIV)) return NULL;
    collect(&p, e, false);
    if (p.repeats) return e;       /* a power would repeat the rounding error of a reciprocal */
    if (!hoisted(&p)) return NULL; /* this depends only on which axes the factors have */
    for (int k = 0; k < p.count; k++) p.factor[k].e = expr_map(p.g->module, p.factor[k].e, with_products, of);
    return hoisted(&p);
}

static void rewrite_products(struct graph *g, struct value *map)
{
    const uint32_t sequences = axes_of_sequences(g->module);
    struct product p = {.g = g, .map = map, .sequences = sequences, .movable = true};
    if (on_pairs(value_axes(map) & sequences)) map->expr = expr_map(g->module, map->expr, with_products, &p);
}

/* ---- quotients ---- */

/* Returns the maximum that the exponentials of a row are relative to, if e is their sum. Otherwise returns -1. */
static int maximum_of_sum(const struct graph *g, const struct value *map, const struct expr *e)
{
    const struct value *const v = e->op == EXPR_OPERAND ? &g->value[map->operand[e->integer].of] : NULL;
    if (!v || v->op != GRAPH_REDUCE || v->fold != FOLD_SUM || v->online < 0 || v->power) return -1;
    const struct value *const terms = &g->value[v->operand[0].of];
    const struct expr *const exponent = terms->expr && terms->expr->op == EXPR_EXP2 ? terms->expr->arg[0] : NULL;
    const bool is_relative = exponent && exponent->op == EXPR_SUB && exponent->arg[1]->op == EXPR_OPERAND &&
                             terms->operand[exponent->arg[1]->integer].of == v->online;
    return is_relative ? v->online : -1;
}

/* Whether e is 0 or at least 1, so that its reciprocal is no subnormal number:
   - the sum of a row's exponentials relative to their maximum M
   - sum * 2^(M - x) + 2^(y - x), where x = max(M, y): the sum with that of a sink */
static bool is_sum_of_exponentials(const struct graph *g, const struct value *map, const struct expr *e)
{
    if (e->op != EXPR_ADD) return maximum_of_sum(g, map, e) >= 0;
    const struct expr *const sum = e->arg[0], *const sink = e->arg[1];
    if (sum->op != EXPR_MUL || sum->arg[1]->op != EXPR_EXP2 || sink->op != EXPR_EXP2) return false;
    const struct expr *const a = sum->arg[1]->arg[0], *const b = sink->arg[0];
    if (a->op != EXPR_SUB || b->op != EXPR_SUB || a->arg[1] != b->arg[1] || a->arg[1]->op != EXPR_MAX) return false;
    const struct expr *const M = a->arg[0], *const larger = a->arg[1];
    return larger->arg[0] == M && larger->arg[1] == b->arg[0] && M->op == EXPR_OPERAND &&
           maximum_of_sum(g, map, sum->arg[0]) == map->operand[M->integer].of;
}

/* Takes the reciprocal of a sum of exponentials that does not depend on all axes of the map. */
static const struct expr *with_reciprocal(void *of, const struct expr *e)
{
    const struct product *const p = of;
    if (e->op != EXPR_DIV || e->type != TYPE_REAL ||
        !(value_axes(p->map) & ~expr_axes_read(e->arg[1], p->map->operand)) ||
        !is_sum_of_exponentials(p->g, p->map, e->arg[1]))
        return NULL;
    const struct expr *const one = expr_real(p->g->module, 1);
    return expr_mul(p->g->module, e->arg[0], expr_div(p->g->module, one, e->arg[1]));
}

void pass_strength_reduce(struct compilation *c)
{
    struct module *const m = c->graph->module;
    for (int v = 0; v < c->graph->values; v++) {
        struct value *value = &c->graph->value[v];
        if (value->op != GRAPH_MAP) continue;
        value->expr = expr_map(m, value->expr, with_exp2, m);
        rewrite_products(c->graph, value);
        value->expr = expr_map_up(m, value->expr, with_reciprocal, &(struct product){.g = c->graph, .map = value});
    }
}
