/* The rules of reverse mode, which pass the gradient of a value on to its operands. Also adds up the terms of a
   gradient. */
#include "differentiate.h"
#include "../pass.h"

#include <math.h>
#include <string.h>

/* Returns an unfinished map over the axes in `bits`. The axes of value `like` come first. */
static struct value map_over(const struct reversal *x, int like, uint32_t bits)
{
    return value_over(GRAPH_MAP, &x->g->value[like], bits);
}

static const struct expr *times(struct reversal *x, const struct expr *a, const struct expr *b)
{
    if (expr_is_real(a, 1) || expr_is_real(b, 1)) return expr_is_real(a, 1) ? b : a;
    if (x->c->gradients.growing && b->op == EXPR_SELECT && expr_is_real(b->arg[1], 0)) /* a may be infinite there */
        return expr_select(x->m, b->arg[0], b->arg[1], times(x, a, b->arg[2]));
    return expr_mul(x->m, a, b);
}

const struct expr *reversal_both(const struct reversal *x, const struct expr *a, const struct expr *b)
{
    return !a ? b : !b ? a : expr_and(x->m, a, b);
}

/* Returns e, or 0 if `by` is 0. */
static const struct expr *where_not_zero(struct reversal *x, const struct expr *by, const struct expr *e)
{
    const struct expr *zero = expr_real(x->m, 0);
    return expr_select(x->m, expr_eq(x->m, by, zero), zero, e);
}

/* ---- terms ---- */

struct gradient_term reversal_divided(struct reversal *x, struct gradient_term t)
{
    if (t.by < 0) return t;
    struct value inverse = map_over(x, t.by, reversal_axes(x, t.by)),
                 product = map_over(x, t.value, reversal_axes(x, t.value) | reversal_axes(x, t.by));
    if (x->c->gradients.growing) {
        const struct expr *const e = reversal_value(x, &product, t.value);
        return (struct gradient_term){reversal_map(x, &product, reversal_times_inverse(x, &product, e, t.by)), -1,
                                      t.where};
    }
    const struct expr *by = reversal_value(x, &inverse, t.by);
    int factor = reversal_map(x, &inverse, where_not_zero(x, by, expr_div(x->m, expr_real(x->m, 1), by)));
    const struct expr *a = reversal_value(x, &product, t.value), *b = reversal_value(x, &product, factor);
    return (struct gradient_term){reversal_map(x, &product, times(x, a, b)), -1, t.where};
}

/* Returns a term that is equal to t and has no region. Its value is 0 outside the region of t. */
static struct gradient_term selected(struct reversal *x, struct gradient_term t)
{
    if (!t.where) return t;
    struct value map = map_over(x, t.value, reversal_axes(x, t.value) | expr_axes(t.where));
    const struct expr *e = reversal_value(x, &map, t.value);
    return (struct gradient_term){reversal_map(x, &map, expr_select(x->m, t.where, e, expr_real(x->m, 0))), t.by, NULL};
}

struct gradient_term reversal_plain(struct reversal *x, struct gradient_term t)
{
    return selected(x, reversal_divided(x, t));
}

void reversal_give(struct reversal *x, int v, struct gradient_term t)
{
    if (!x->active[v]) return;
    x->of[v].term = arena_grow(x->m->arena, x->of[v].term, x->of[v].terms, &x->of[v].term_capacity, sizeof t);
    x->of[v].term[x->of[v].terms++] = t;
}

/* Adds terms with equal divisors and equal regions directly. Before it adds other terms, applies their divisors and
   regions. The sum then has the union of the regions, so that loops visit no other pairs. */
struct gradient_term reversal_gradient(struct reversal *x, int v)
{
    int terms = x->of[v].terms;
    struct gradient_term *term = x->of[v].term, sum = term[0];
    const struct expr *where = sum.where;
    bool same_by = true, same_where = true;
    for (int k = 1; k < terms; k++) {
        same_by &= term[k].by == sum.by;
        same_where &= term[k].where == sum.where;
        if (where != term[k].where) where = where && term[k].where ? expr_or(x->m, where, term[k].where) : NULL;
    }
    for (int k = 0; k < terms; k++) {
        if (!same_by) term[k] = reversal_divided(x, term[k]);
        if (!same_where) term[k] = selected(x, term[k]);
    }
    sum = term[0];
    for (int k = 1; k < terms;) {
        struct value map = map_over(x, v, reversal_axes(x, v));
        const struct expr *e = reversal_value(x, &map, sum.value);
        for (; k < terms && map.operands < MAX_OPERANDS; k++)
            e = expr_add(x->m, e, reversal_value(x, &map, term[k].value));
        sum.value = reversal_map(x, &map, e);
    }
    sum.where = where;
    return sum;
}

const struct expr *reversal_gradient_in(struct reversal *x, struct value *map, int v)
{
    const struct gradient_term t = reversal_divided(x, reversal_gradient(x, v));
    const struct expr *const e = reversal_value(x, map, t.value);
    return t.where ? expr_select(x->m, t.where, e, expr_real(x->m, 0)) : e;
}

/* ---- from a reference to the value that it reads ---- */

/* How a reference reads its value. For x[b, 3, swapped(d)], the subscripts have the axes b, -1 and d. */
struct reading {
    bool own;           /* each subscript is the plain index of its axis */
    uint32_t kept;      /* the axes in subscripts, as bits */
    int axis[MAX_RANK]; /* the axis of each subscript, or -1 for a number */
};

/* Returns the constant axis whose positions the subscript swaps in pairs, as in rotary embeddings, or -1. The swap
   is its own inverse. */
static int swapped_axis(const struct reversal *x, const struct expr *sub)
{
    uint32_t bits = expr_axes(sub);
    for (int a = 0; a < x->m->axes; a++) {
        if (bits != AXIS(a) || x->m->axis[a].source != SIZE_CONSTANT || expr_has(sub, EXPR_SIZE) || expr_reads_ids(sub))
            continue;
        int64_t index[MAX_AXES] = {0}, extent = x->m->axis[a].extent, k = 0;
        const struct environment env = {.index = index};
        for (; k < extent; k++) {
            index[a] = k;
            int64_t there = index[a] = expr_eval_int(sub, &env);
            if (there < 0 || there >= extent || expr_eval_int(sub, &env) != k) break;
        }
        if (k == extent) return a;
    }
    return -1;
}

/* Returns the number of r's first subscript for which swapped_axis gives an axis, or -1. */
static int swapped(const struct reversal *x, const struct ref *r)
{
    for (int s = 0; s < r->rank; s++)
        if (ref_axis(r, s) < 0 && swapped_axis(x, r->sub[s]) >= 0) return s;
    return -1;
}

/* Describes reference r. Fails if a subscript is neither a number, an index nor a swapped index, or an axis occurs
   twice. */
static struct reading reading_of(struct reversal *x, const struct ref *r)
{
    struct reading out = {.own = true};
    for (int s = 0; s < r->rank; s++) {
        int axis = ref_axis(r, s);
        out.own &= axis == x->g->value[r->of].axes[s];
        if (axis < 0) axis = swapped_axis(x, r->sub[s]);
        if ((axis < 0 && r->sub[s]->op != EXPR_INT) || (axis >= 0 && (out.kept >> axis & 1)))
            reversal_fail(x, "a value read at computed positions");
        if (axis >= 0) out.kept |= AXIS(axis);
        out.axis[s] = axis;
    }
    return out;
}

/* Adds the term to the gradient of the value that r reads. Swapped positions are swapped back. For a constant
   subscript, all other positions get 0. */
static void give_back(struct reversal *x, const struct ref *r, const struct reading *how, struct gradient_term t)
{
    if (how->own || x->failed) {
        reversal_give(x, r->of, t);
        return;
    }
    t = selected(x, reversal_divided(x, t));
    const struct value *v = &x->g->value[r->of];
    struct value map = map_over(x, r->of, reversal_axes(x, r->of));
    struct ref read = graph_ref(x->g, t.value, NULL);
    const struct expr *at = NULL;
    for (int s = 0; s < r->rank; s++) {
        const struct expr *index = expr_index(x->m, v->axes[s]);
        if (how->axis[s] < 0) at = reversal_both(x, at, expr_eq(x->m, index, r->sub[s]));
        for (int k = 0; k < read.rank; k++)
            if (x->g->value[t.value].axes[k] == how->axis[s])
                read.sub[k] = expr_replace(x->m, r->sub[s], expr_index(x->m, how->axis[s]), index);
    }
    const struct expr *e = reversal_operand(x, &map, read);
    if (at) e = expr_select(x->m, at, e, expr_real(x->m, 0));
    reversal_give(x, r->of, (struct gradient_term){reversal_map(x, &map, e), -1, NULL});
}

void reversal_give_back(struct reversal *x, const struct ref *r, struct gradient_term t)
{
    const struct reading how = reading_of(x, r);
    give_back(x, r, &how, t);
}

/* Returns the product of the sizes of the axes in `bits`. The sum of a constant over these axes is the constant
   times this product. */
static const struct expr *sizes(struct reversal *x, uint32_t bits)
{
    const struct expr *product = expr_real(x->m, 1);
    for (int a = 0; a < x->m->axes; a++)
        if (bits >> a & 1) product = expr_mul(x->m, product, expr_size(x->m, a));
    return product;
}

/* Returns whether v is a map of arrays that heads share, such as the cosines of a rotation. `axes`: those of its
   reader. A sum over heads would be needed before the gradients of these arrays. */
static bool is_shared_map(const struct reversal *x, const struct value *v, uint32_t axes)
{
    if (v->op != GRAPH_MAP || v->online >= 0) return false;
    for (int k = 0; k < v->operands; k++)
        if (x->g->value[v->operand[k].of].op != GRAPH_PARAM && x->g->value[v->operand[k].of].op != GRAPH_TABLE)
            return false;
    return (axes & ~value_axes(v) & (axes_with_size(x->m, SIZE_KV_HEADS) | axes_with_size(x->m, SIZE_MEMBERS))) != 0;
}

/* Returns e, a part of v or of its references, at the point that `from` reads. */
static const struct expr *read_at(const struct reversal *x, const struct value *v, const struct ref *from,
                                  const struct expr *e)
{
    for (int a = 0; a < v->rank; a++) e = expr_replace(x->m, e, expr_index(x->m, v->axes[a]), from->sub[a]);
    return e;
}

static void deliver(struct reversal *x, struct value *map, const struct expr *e, uint32_t axes, const struct ref *from,
                    int by, const struct expr *where);

/* Gives e, a term of a shared map, to the operands of this map. */
static void deliver_through(struct reversal *x, const struct value *map, const struct expr *e, uint32_t axes,
                            const struct ref *from, int by, const struct expr *where)
{
    const struct value v = x->g->value[from->of];
    struct ref read[MAX_OPERANDS];
    for (int k = 0; k < v.operands; k++) {
        read[k] = v.operand[k];
        for (int s = 0; s < read[k].rank; s++) read[k].sub[s] = read_at(x, &v, from, read[k].sub[s]);
    }
    for (int k = 0; k < v.operands && !x->failed; k++) {
        if (!x->active[v.operand[k].of]) continue;
        struct value own = *map;
        const struct expr *with[MAX_OPERANDS];
        for (int n = 0; n < v.operands; n++) with[n] = reversal_operand(x, &own, read[n]);
        const struct expr *derivative = expr_derivative(x->m, v.expr, expr_operand(x->m, k));
        derivative = expr_bind(x->m, read_at(x, &v, from, derivative), with);
        if (!expr_is_real(derivative, 0)) deliver(x, &own, times(x, e, derivative), axes, &read[k], by, where);
    }
}

/* Returns r, or a copy of its value that also has the axes in `bits`. A sum of products needs its axis in both
   factors, and a sum over a region needs the region's axes. */
static struct ref with_axes(struct reversal *x, struct ref r, uint32_t bits)
{
    const uint32_t own = ref_axes(&r);
    if (!(bits & ~own)) return r;
    struct value copy = map_over(x, r.of, own | bits);
    copy.expr = reversal_operand(x, &copy, r);
    return graph_ref(x->g, reversal_append(x, copy), NULL);
}

/* Whether a value over these axes has elements for each pair, such as a decay of each element. */
static bool has_elements_of_pairs(const struct reversal *x, uint32_t axes)
{
    const uint32_t sequences = axes & axes_of_sequences(x->m);
    return (sequences & (sequences - 1)) && (axes & axes_with_size(x->m, SIZE_CONSTANT));
}

enum { MAX_FACTORS = 16 };

/* Writes e as a product of at most `max` factors, also those of the maps with elements of pairs that it reads. Returns
   their number, or -1. */
static int factors_of(struct reversal *x, struct value *map, const struct expr *e, const struct expr **factor, int max)
{
    const struct expr *part[2] = {NULL, NULL}, *with[MAX_OPERANDS];
    if (e->op == EXPR_MUL || e->op == EXPR_NEG) {
        part[0] = e->op == EXPR_NEG ? expr_real(x->m, -1) : e->arg[0];
        part[1] = e->arg[e->op == EXPR_MUL];
    } else if (e->op == EXPR_OPERAND) {
        const struct ref *const r = &map->operand[e->integer];
        const struct value *const v = &x->g->value[r->of];
        if (v->op == GRAPH_MAP && v->online < 0 && has_elements_of_pairs(x, value_axes(v)) && graph_is_plain(x->g, r) &&
            map->operands + v->operands < MAX_OPERANDS) {
            for (int k = 0; k < v->operands; k++) with[k] = reversal_operand(x, map, v->operand[k]);
            return factors_of(x, map, expr_bind(x->m, v->expr, with), factor, max);
        }
    }
    if (part[0]) {
        const int first = factors_of(x, map, part[0], factor, max),
                  second = first < 0 ? -1 : factors_of(x, map, part[1], factor + first, max - first);
        return second < 0 ? -1 : first + second;
    }
    *factor = e;
    return max > 0 ? 1 : -1;
}

/* Returns e without the factors that a sum over the axes `over` need not have, and sets *outside to their product. So
   the gradient with respect to a row, and that with respect to the logarithm of its decay, have the same sum. */
static const struct expr *take_out(struct reversal *x, struct value *map, const struct expr *e, uint32_t over,
                                   const struct expr **outside)
{
    const struct expr *factor[MAX_FACTORS], *inside = NULL;
    const int factors = over & axes_of_sequences(x->m) ? factors_of(x, map, e, factor, MAX_FACTORS) : -1;
    if (factors < 0 || map->operands == MAX_OPERANDS) return e;
    for (int k = 0; k < factors; k++) {
        const bool sums = reversal_axes_within(x, map, factor[k]) & over;
        const struct expr **const product = sums ? &inside : outside;
        *product = *product ? expr_mul(x->m, *product, factor[k]) : factor[k];
    }
    return inside ? inside : expr_real(x->m, 1);
}

/* Adds a term to the gradient of the value that `from` reads: the sum of e over the axes that `from` lacks. If `by`
   is not -1, value `by` divides the term. */
static void deliver(struct reversal *x, struct value *map, const struct expr *e, uint32_t axes, const struct ref *from,
                    int by, const struct expr *where)
{
    if (is_shared_map(x, &x->g->value[from->of], axes)) {
        deliver_through(x, map, e, axes, from, by, where);
        return;
    }
    struct ref read = *from, *r = &read;
    if (swapped(x, r) < 0) e = reversal_scatter(x, map, e, r, &axes, &where);
    const struct reading how = reading_of(x, r);
    const struct expr *const divided = by >= 0 ? reversal_divide_exponential(x, map, e, by) : NULL;
    if (divided) {
        e = divided;
        by = -1;
    }
    if (by >= 0 && (!how.own || (reversal_axes(x, by) & ~how.kept))) {
        if (x->c->gradients.growing)
            e = reversal_times_inverse(x, map, e, by);
        else {
            const struct expr *divisor = reversal_value(x, map, by);
            e = where_not_zero(x, divisor, expr_div(x->m, e, divisor));
        }
        by = -1;
    }
    uint32_t used = reversal_axes_within(x, map, e) | (where ? expr_axes(where) : 0);
    const struct expr *outside = NULL;
    if (by < 0 && has_elements_of_pairs(x, used)) e = take_out(x, map, e, used & ~how.kept, &outside);
    const struct expr *repeats = sizes(x, axes & ~used & ~how.kept);
    struct gradient_term t = {reversal_map(x, map, times(x, e, repeats)), by, where};
    if (used & ~how.kept) {
        struct value sum = map_over(x, t.value, used & how.kept);
        const bool inside = where && (expr_axes(where) & ~how.kept);
        const struct ref term = with_axes(x, graph_ref(x->g, t.value, NULL), inside ? expr_axes(where) & ~how.kept : 0);
        t.value = graph_reduce(x->g, FOLD_SUM, 0, sum.rank, sum.axes, term, inside ? where : NULL);
        t.where = inside ? NULL : where;
    }
    if (outside) {
        struct value product = map_over(x, t.value, reversal_axes(x, t.value) | reversal_axes_within(x, map, outside));
        product.operands = map->operands;
        memcpy(product.operand, map->operand, sizeof product.operand);
        const struct expr *const sum = reversal_value(x, &product, t.value);
        t.value = reversal_map(x, &product, times(x, sum, outside));
    }
    give_back(x, r, &how, t);
}

/* ---- the rules ---- */

/* A derivative can contain the map's expression e, as for exp(x). Replaces e by `own`, the computed value. Handles
   each branch of a SELECT separately. */
static const struct expr *with_own_value(struct reversal *x, const struct expr *derivative, const struct expr *e,
                                         const struct expr *own)
{
    if (e->op != EXPR_SELECT) return e->size > 1 ? expr_replace(x->m, derivative, e, own) : derivative;
    if (derivative->op != EXPR_SELECT || derivative->arg[0] != e->arg[0]) return derivative;
    return expr_select(x->m, e->arg[0], with_own_value(x, derivative->arg[1], e->arg[1], own),
                       with_own_value(x, derivative->arg[2], e->arg[2], own));
}

enum { MAX_QUOTIENTS = 16 };

static bool divides_by(const struct expr *e, const struct expr *divisor)
{
    bool divides = false;
    for (struct exprs w = {.of = e}; exprs_next(&w);) divides |= w.e->op == EXPR_DIV && w.e->arg[1] == divisor;
    return divides;
}

/* If the derivative is "divisor == 0 ? 0 : e / divisor", or a product or the negation of that, returns it for e, and
   sets *divisor. Otherwise returns the derivative, and sets *divisor to NULL. If e divides by the divisor once more, it
   is 0 where the divisor is. */
static const struct expr *without_divisor(struct reversal *x, const struct value *v, const struct expr *derivative,
                                          const struct expr **divisor)
{
    const struct expr *c = derivative->arg[0], *e = derivative->arg[2];
    *divisor = NULL;
    if (derivative->op == EXPR_NEG) {
        const struct expr *const negated = without_divisor(x, v, derivative->arg[0], divisor);
        return *divisor ? expr_neg(x->m, negated) : derivative;
    }
    for (int k = 0; k < 2 && derivative->op == EXPR_MUL; k++) {
        const struct expr *const factor = without_divisor(x, v, derivative->arg[k], divisor);
        if (*divisor) return times(x, factor, derivative->arg[1 - k]);
    }
    if (derivative->op != EXPR_SELECT || c->op != EXPR_EQ || !expr_is_real(c->arg[1], 0) ||
        !expr_is_real(derivative->arg[1], 0))
        return derivative;
    if (e->op != EXPR_DIV || e->arg[1] != c->arg[0] || reversal_axes_within(x, v, c->arg[0]) == value_axes(v))
        return derivative;
    *divisor = c->arg[0];
    return divides_by(e->arg[0], *divisor) ? where_not_zero(x, *divisor, e->arg[0]) : e->arg[0];
}

/* A summand of a derivative: e / divisor, or 0 where the divisor is 0. divisor = NULL: it is e. */
struct quotient {
    const struct expr *e, *divisor;
};

/* Returns whether e has a quotient that without_divisor finds, perhaps in one of its summands. */
static bool has_quotient(struct reversal *x, const struct value *v, const struct expr *e)
{
    const struct expr *divisor;
    const bool both = e->op == EXPR_ADD || e->op == EXPR_SUB || e->op == EXPR_MUL;
    without_divisor(x, v, e, &divisor);
    if (divisor) return true;
    if (e->op == EXPR_SELECT) return has_quotient(x, v, e->arg[1]) || has_quotient(x, v, e->arg[2]);
    if (!both && e->op != EXPR_DIV && e->op != EXPR_NEG) return false;
    return has_quotient(x, v, e->arg[0]) || (both && has_quotient(x, v, e->arg[1]));
}

/* Adds the summands of factor * e to the list, one for each divisor. Sums that share weights have quotients by one
   row's sum in several summands. factor = NULL: 1. The summands are 0 where `when` is false. NULL: it is true. */
static void add_quotients(struct reversal *x, const struct value *v, const struct expr *e, const struct expr *factor,
                          const struct expr *when, struct quotient *list, int *count)
{
    struct quotient own;
    own.e = without_divisor(x, v, e, &own.divisor);
    const struct expr *const a = e->arg[0], *const b = e->arg[1];
    if (!own.divisor && has_quotient(x, v, e)) {
        const struct expr *const one = factor ? factor : expr_real(x->m, 1);
        if (e->op == EXPR_SELECT) {
            const struct expr *const other = expr_not(x->m, a);
            add_quotients(x, v, b, factor, when ? expr_and(x->m, when, a) : a, list, count);
            add_quotients(x, v, e->arg[2], factor, when ? expr_and(x->m, when, other) : other, list, count);
        } else if (e->op == EXPR_ADD || e->op == EXPR_SUB) {
            add_quotients(x, v, a, factor, when, list, count);
            add_quotients(x, v, b, e->op == EXPR_ADD ? factor : expr_neg(x->m, one), when, list, count);
        } else if (e->op == EXPR_NEG)
            add_quotients(x, v, a, expr_neg(x->m, one), when, list, count);
        else if (e->op == EXPR_DIV)
            add_quotients(x, v, a, expr_div(x->m, one, b), when, list, count);
        else if (has_quotient(x, v, a))
            add_quotients(x, v, a, factor ? times(x, factor, b) : b, when, list, count);
        else
            add_quotients(x, v, b, factor ? times(x, factor, a) : a, when, list, count);
        return;
    }
    if (factor) own.e = times(x, own.e, factor);
    if (when) own.e = expr_select(x->m, when, own.e, expr_real(x->m, 0));
    if (expr_is_real(own.e, 0)) return;
    int k = 0;
    while (k < *count && list[k].divisor != own.divisor) k++;
    if (k < *count)
        list[k].e = expr_add(x->m, list[k].e, own.e);
    else if (k == MAX_QUOTIENTS)
        reversal_fail(x, "an output with too many divisors");
    else
        list[(*count)++] = own;
}

void reversal_map_rule(struct reversal *x, int number, struct gradient_term t)
{
    struct value v = x->g->value[number];
    struct normalised weight = {NULL, -1, -1};
    if (t.by >= 0 && takes_divisor(x, number, t.by))
        weight = normalise_weight(x, number, t.by);
    else
        t = reversal_divided(x, t);
    const struct expr *row_divisor = NULL;
    int row_by = -1;
    const bool power = weight.weight >= 0 && !weight.exponential;
    if (power) v = x->g->value[weight.weight]; /* differentiates the normalised power, which has a constant divisor */
    for (int k = 0; k < v.operands && !x->failed; k++) {
        if (v.operand[k].of >= x->forward || !x->active[v.operand[k].of]) continue;
        const struct expr *e = expr_derivative(x->m, v.expr, expr_operand(x->m, k));
        if (expr_is_real(e, 0)) continue;
        struct quotient list[MAX_QUOTIENTS];
        int count = 0;
        struct value map = v;
        map.op = GRAPH_MAP;
        if (weight.exponential)
            e = expr_replace(x->m, e, weight.exponential, reversal_value(x, &map, weight.factor));
        else if (!power)
            e = with_own_value(x, e, v.expr, reversal_value(x, &map, number == x->out ? x->given_out : number));
        if (weight.exponential || power)
            list[count++] = (struct quotient){e, NULL};
        else
            add_quotients(x, &v, e, NULL, NULL, list, &count);
        for (int n = 0; n < count && !x->failed; n++) {
            const struct expr *const divisor = list[n].divisor;
            struct value own = map;
            int by = -1;
            /* A term that is summed over rows keeps quotients of sums, because the sums may overflow. */
            const bool over_rows = divisor && (reversal_axes_within(x, &v, divisor) & ~ref_axes(&v.operand[k]));
            if (over_rows && !expr_has(list[n].e, EXPR_EXP) && !expr_has(list[n].e, EXPR_EXP2))
                list[n].e = where_not_zero(x, divisor, expr_div(x->m, list[n].e, divisor));
            else if (divisor) {
                struct value row = v;
                by = divisor->op == EXPR_OPERAND ? v.operand[divisor->integer].of : -1;
                if (by < 0 || !graph_is_plain(x->g, &v.operand[divisor->integer]))
                    by = divisor == row_divisor ? row_by : reversal_map(x, &row, divisor); /* the divisor is made once
                                                                                              for all operands */
                row_divisor = divisor;
                row_by = by;
            }
            e = times(x, reversal_value(x, &own, t.value), list[n].e);
            deliver(x, &own, e, value_axes(&v), &v.operand[k], by, t.where);
        }
    }
}

void reversal_contract_rule(struct reversal *x, int number, struct gradient_term t)
{
    const struct value v = x->g->value[number];
    const struct expr *where = reversal_both(x, t.where, v.where);
    const struct gradient_term divided = reversal_divided(x, t);
    for (int k = 0; k < 2 && !x->failed; k++) {
        const struct ref *r = &v.operand[k];
        struct ref other = v.operand[1 - k];
        if (!x->active[r->of]) continue;
        if (is_carried_state(x, r->of)) {
            int n = x->of[r->of].gathers++;
            if (n == 4 || v.where)
                reversal_fail(x, "this carried state");
            else
                x->of[r->of].gather[n] = (struct state_gather){number, k,
                                                               selected(x, x->c->gradients.growing ? t : divided)};
            continue;
        }
        const struct reading how = reading_of(x, r);
        struct gradient_term part = divided;
        if (t.by >= 0 && graph_is_plain(x->g, &other) && takes_divisor(x, other.of, t.by)) {
            part = (struct gradient_term){t.value, -1, NULL};
            other = graph_ref(x->g, normalise_weight(x, other.of, t.by).weight, NULL);
        } else if (t.by >= 0 && how.own && takes_divisor(x, r->of, t.by))
            part = t;
        else if (x->c->gradients.growing && is_carried_state(x, other.of))
            part = t;
        uint32_t used = reversal_axes(x, part.value) | ref_axes(&other) | (where ? expr_axes(where) : 0);
        uint32_t missing = (value_axes(&v) | ref_axes(r)) & ~used & ~how.kept, summed = used & ~how.kept;
        struct ref left = graph_ref(x->g, part.value, NULL);
        if (!summed || missing) { /* the term is a map, which `deliver` sums if needed */
            struct value map = map_over(x, number, used);
            const struct expr *a = reversal_operand(x, &map, left), *b = reversal_operand(x, &map, other);
            deliver(x, &map, times(x, a, b), used | missing, r, part.by, where);
            continue;
        }
        bool inside = (summed & axes_of_sequences(x->m)) || (where && (expr_axes(where) & ~how.kept));
        struct value sum = graph_value(GRAPH_CONTRACT, 0, NULL);
        for (int s = 0; s < r->rank; s++)
            if (how.axis[s] >= 0 && (used >> how.axis[s] & 1)) sum.axes[sum.rank++] = how.axis[s];
        left = with_axes(x, left, summed);
        part.value = graph_contract(x->g, sum.rank, sum.axes, left, with_axes(x, other, summed), inside ? where : NULL);
        part.where = inside ? NULL : where;
        give_back(x, r, &how, part);
    }
}

/* Makes the middle between the maximum `number` over a sequence and the largest element that is smaller. Each loop may
   round the elements in its own way, so they cannot be compared with the maximum itself. */
static int middle_below(struct reversal *x, int number, uint32_t axes)
{
    const struct value v = x->g->value[number];
    const struct ref *const r = &v.operand[0];
    const double rounding = ldexp(1, x->m->dtype == DTYPE_F64 ? -48 : -21);
    struct value below = map_over(x, r->of, axes), middle = v;
    const struct expr *element = reversal_operand(x, &below, *r), *maximum = reversal_value(x, &below, number);
    const struct expr *const size = expr_add(x->m, expr_abs(x->m, maximum), expr_real(x->m, 1)),
                             *const ulps = expr_mul(x->m, size, expr_real(x->m, rounding)),
                             *const smaller = expr_lt(x->m, element, expr_sub(x->m, maximum, ulps));
    const int others = reversal_map(x, &below, expr_select(x->m, smaller, element, expr_real(x->m, v.init)));
    const int second = graph_reduce(x->g, FOLD_MAX, v.init, v.rank, v.axes, graph_ref(x->g, others, NULL), v.where);
    middle.op = GRAPH_MAP;
    middle.operands = 0;
    middle.where = NULL;
    maximum = expr_scaled(x->m, reversal_value(x, &middle, number), 0.5);
    return reversal_map(x, &middle,
                        expr_add(x->m, maximum, expr_scaled(x->m, reversal_value(x, &middle, second), 0.5)));
}

/* Makes a value that is 1 for each element that is the maximum `number` of its row, otherwise 0. `apart`: other loops
   than those of the maximum may read the value. */
static int is_maximum(struct reversal *x, int number, uint32_t axes, bool apart)
{
    const struct ref *const r = &x->g->value[number].operand[0];
    struct value same = map_over(x, r->of, axes);
    const int bound = apart ? middle_below(x, number, axes) : number;
    const struct expr *const element = reversal_operand(x, &same, *r), *const own = reversal_value(x, &same, bound);
    const struct expr *const equal = apart ? expr_le(x->m, own, element) : expr_eq(x->m, element, own);
    return reversal_map(x, &same, expr_select(x->m, equal, expr_real(x->m, 1), expr_real(x->m, 0)));
}

void reversal_reduce_rule(struct reversal *x, int number, struct gradient_term t)
{
    const struct value v = x->g->value[number];
    const struct ref *r = &v.operand[0];
    uint32_t axes = value_axes(&v) | ref_axes(r);
    if (v.fold == FOLD_MAX && graph_maximum_cancels(x->g, number, x->out)) return;
    if (v.fold == FOLD_MAX || !takes_divisor(x, r->of, t.by)) t = reversal_divided(x, t);
    const struct expr *where = reversal_both(x, t.where, v.where), *e;
    struct value map = map_over(x, r->of, axes);
    e = reversal_value(x, &map, t.value);
    if (v.fold == FOLD_MAX) { /* elements equal to the maximum share its gradient */
        const bool apart = (ref_axes(r) & ~value_axes(&v) & axes_of_sequences(x->m)) != 0;
        const int is_largest = is_maximum(x, number, axes, apart);
        int count = graph_reduce(x->g, FOLD_SUM, 0, v.rank, v.axes, graph_ref(x->g, is_largest, NULL), v.where);
        const struct expr *elements = reversal_value(x, &map, count);
        if (apart) elements = expr_max(x->m, elements, expr_real(x->m, 1));
        e = times(x, expr_div(x->m, e, elements), reversal_value(x, &map, is_largest));
    }
    deliver(x, &map, e, axes, r, t.by, where);
}

void reversal_scan_rule(struct reversal *x, int number, struct gradient_term t)
{
    const struct value v = x->g->value[number];
    const uint32_t axes = value_axes(&v);
    t = reversal_divided(x, t);
    const struct ref own = with_axes(x, graph_ref(x->g, t.value, NULL), axes);
    const struct value terms = value_over(GRAPH_MAP, &v, axes);
    struct value map = terms, copy = terms;
    copy.expr = reversal_operand(x, &copy, own);
    const int of = reversal_append(x, copy);
    const int all = graph_reduce(x->g, FOLD_SUM, 0, v.rank - 1, v.axes, graph_ref(x->g, of, NULL), t.where),
              scan = graph_scan(x->g, v.rank, v.axes, graph_ref(x->g, of, NULL), v.backward, t.where);
    const struct expr *e = reversal_value(x, &map, of);
    if (t.where) e = expr_select(x->m, t.where, e, expr_real(x->m, 0));
    e = expr_sub(x->m, expr_sub(x->m, reversal_value(x, &map, all), reversal_value(x, &map, scan)), e);
    deliver(x, &map, e, axes, &v.operand[0], -1, v.where);
}
