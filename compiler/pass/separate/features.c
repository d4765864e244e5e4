/* Makes the map of each side's features, query and key, from a tree of struct node. The last axis of a map counts
   features. */
#include "separate.h"
#include "../pass.h"
#include "../../analysis/analysis.h"

#include <math.h>

/* Returns the operand of a side's map that reads r. Adds the operand if needed. Returns NULL if there is no room. */
static const struct expr *operand_of(struct separation *x, enum side side, const struct ref *r)
{
    struct value *v = &x->made[side];
    int k = 0;
    while (k < v->operands && !ref_equal(&v->operand[k], r)) k++;
    if (k == MAX_OPERANDS) return NULL;
    if (k == v->operands) v->operand[v->operands++] = *r;
    return expr_operand(x->m, k);
}

/* Returns e, an expression over the weight's operands, as an expression over the operands of v. May add operands to v.
   Returns NULL if there is no room. */
static const struct expr *over_operands_of(const struct separation *x, struct value *v, const struct expr *e)
{
    const struct expr *with[MAX_OPERANDS] = {NULL};
    for (int k = 0; k < x->value->operands; k++) {
        with[k] = expr_operand(x->m, k);
        if (!expr_uses(e, with[k])) continue;
        const int number = graph_operand(v, &x->value->operand[k]);
        if (number < 0) return NULL;
        with[k] = expr_operand(x->m, number);
    }
    return expr_bind(x->m, e, with);
}

/* Returns one part of the prefix sums at position `end`. `sum` reads the keys' sums. */
static struct ref at_position(const struct separation *x, const struct ref *sum, bool low, const struct expr *end)
{
    struct ref r = *sum;
    r.of = low ? x->at_chunks - 1 : x->at_chunks;
    for (int k = 0; k < r.rank; k++)
        if (ref_axis(&r, k) == x->stream) r.sub[k] = end;
    return r;
}

/* Returns `position`, or the nearest position of a key. */
static const struct expr *within_keys(const struct separation *x, const struct expr *position)
{
    const struct expr *const last = expr_sub(x->m, expr_size(x->m, x->stream), expr_int(x->m, 1));
    return expr_max(x->m, expr_min(x->m, position, last), expr_int(x->m, 0));
}

/* Returns r at element f of a head. */
static struct ref of_element(const struct separation *x, struct ref r, int axis, const struct expr *f)
{
    for (int k = 0; k < r.rank && axis >= 0; k++) r.sub[k] = expr_replace(x->m, r.sub[k], expr_index(x->m, axis), f);
    return r;
}

/* Returns base^(a - b), or NULL if there is no room. a and b are prefix sums, each of a high and a low part that
   operands of v read. */
static const struct expr *power_of_sums(const struct separation *x, const struct node *n, struct value *v,
                                        const struct expr *f, const struct ref *high, const struct ref *low)
{
    const struct expr *part[2];
    for (int p = 0; p < 2; p++) {
        const struct expr *of[2];
        for (int k = 0; k < 2; k++) {
            const struct ref r = of_element(x, p ? low[k] : high[k], n->sums->axis, f);
            const int number = graph_operand(v, &r);
            if (number < 0) return NULL;
            of[k] = expr_operand(x->m, number);
        }
        part[p] = expr_sub(x->m, of[0], of[1]);
    }
    return expr_pow(x->m, n->base, expr_add(x->m, part[0], part[1]));
}

/* Returns the feature of a decay by prefix sums. For a query, the feature is base^(own sum - end). For a key, it is
   base^(end - own sum). `end` is the sum before the chunk. */
static const struct expr *decay_feature(struct separation *x, const struct node *n, enum side side,
                                        const struct expr *f)
{
    const struct sums *const s = n->sums;
    const struct expr *const position = within_keys(x, x->end[side]);
    const struct ref end[2] = {at_position(x, &s->side[KEY], false, position),
                               at_position(x, &s->side[KEY], true, position)};
    const struct ref high[2] = {side == QUERY ? s->side[QUERY] : end[0], side == QUERY ? end[0] : s->side[KEY]},
                     low[2] = {side == QUERY ? s->low[QUERY] : end[1], side == QUERY ? end[1] : s->low[KEY]};
    const struct expr *const e = power_of_sums(x, n, &x->made[side], f, high, low);
    return e && side == QUERY && !program_takes_outer_sums(x->c) ? expr_select(x->m, x->before, expr_real(x->m, 1), e)
                                                                 : e;
}

/* Returns element f of a LEAF's vector, times the feature of the element's decay. */
static const struct expr *decaying_element(struct separation *x, const struct node *n, enum side side,
                                           const struct expr *f)
{
    const struct expr *with[MAX_OPERANDS] = {NULL}, *const index = expr_index(x->m, n->axis);
    for (int k = 0; k < n->terms->operands; k++) {
        with[k] = expr_operand(x->m, k);
        if (!expr_uses(n->factor[side], with[k])) continue;
        const struct ref r = of_element(x, n->terms->operand[k], n->axis, f);
        if (!(with[k] = operand_of(x, side, &r))) return NULL;
    }
    const struct expr *const element = expr_bind(x->m, expr_replace(x->m, n->factor[side], index, f), with),
                             *const decay = decay_feature(x, n->decay, side, f);
    return decay ? expr_mul(x->m, element, decay) : NULL;
}

/* Returns the factor of a state with a decay by prefix sums from one chunk to the next. If the program joins two
   states, the last two positions of the sums' array hold the sums before and after the keys of the second state. */
static const struct expr *kept_by_sums(struct separation *x, const struct node *n, const struct expr *f, int64_t chunk,
                                       struct value *state)
{
    const struct expr *const own = expr_index(x->m, x->chunk_axis),
                             *const next = expr_add(x->m, own, expr_int(x->m, 1)), *const of[2] = {next, own},
                             *const length = expr_int(x->m, chunk);
    struct ref high[2], low[2];
    const int64_t elements = n->sums->axis < 0 ? 0 : x->m->axis[n->sums->axis].extent;
    if (elements && (f->op != EXPR_INDEX || x->m->axis[f->integer].extent != elements))
        f = expr_max(x->m, expr_min(x->m, f, expr_int(x->m, elements - 1)), /* The index of another term's row can be
                                                                               beyond the elements, so it is clamped. */
                     expr_int(x->m, 0));
    for (int k = 0; k < 2; k++) {
        const bool joins = program_folds_states(&x->c->program);
        const struct expr *const begin = joins ? expr_size(x->m, x->stream) : expr_mul(x->m, of[k], length),
                                 *const end = expr_sub(x->m, begin, expr_int(x->m, joins ? 1 + k : 1 + x->wait));
        /* A program that joins states has the sums before the second state, even if that state has one key. */
        const struct expr *const position = joins ? end : within_keys(x, end);
        high[k] = at_position(x, &n->sums->side[KEY], false, position);
        low[k] = at_position(x, &n->sums->side[KEY], true, position);
    }
    const struct expr *const kept = power_of_sums(x, n, state, f, high, low);
    x->full |= !kept;
    return kept;
}

/* Returns base^steps for a base from 0 to 1 and steps >= 0. `above` is a base above 0, because powers are computed with
   its logarithm. If the base is 0, only steps 0 and 1 have a value or a derivative. */
static const struct expr *or_of_0(const struct separation *x, const struct expr *base, const struct expr *above,
                                  const struct expr *steps, const struct expr *power)
{
    if (above == base) return power;
    const struct expr *const zero = expr_real(x->m, 0), *const one = expr_real(x->m, 1);
    const struct expr *e = program_is_differentiated(&x->c->program)
                               ? expr_select(x->m, expr_eq(x->m, steps, expr_int(x->m, 1)), base, zero)
                               : zero;
    e = expr_select(x->m, expr_eq(x->m, steps, expr_int(x->m, 0)), one, e);
    return expr_select(x->m, expr_eq(x->m, base, zero), e, power);
}

/* Returns the base if it is above 0. Otherwise returns a base that is, and is equal if it matters. */
static const struct expr *above_0(const struct separation *x, const struct expr *base)
{
    static const double NEAR_0 = 0x1p-60;
    return expr_range(base, NULL).low > 0 ? base : expr_max(x->m, base, expr_real(x->m, NEAR_0));
}

/* Returns base^steps. In a program with gradients, its derivative is that of base^position. The ends of chunks do not
   affect the result, and the factor from chunk to chunk has no gradient. Positions are counted from the last key,
   because the weights of few queries are near it. */
static const struct expr *decay_power(const struct separation *x, const struct expr *base, const struct expr *steps,
                                      const struct expr *position)
{
    const struct expr *const above = above_0(x, base), *power = expr_pow(x->m, above, steps);
    if (!program_is_differentiated(&x->c->program) || !expr_has(base, EXPR_OPERAND))
        return or_of_0(x, base, above, steps, power);
    const struct expr *const log = decay_log(x->m, above), *const zero = expr_sub(x->m, log, expr_held(x->m, log));
    power = expr_mul(x->m, expr_held(x->m, power), expr_add(x->m, expr_real(x->m, 1), expr_mul(x->m, zero, position)));
    return or_of_0(x, base, above, steps, power);
}

/* Returns feature f of one side of tree n, or NULL if there is no room for operands. 0 <= f < n->features. */
static const struct expr *feature(struct separation *x, const struct node *n, enum side side, const struct expr *f)
{
    switch (n->kind) {
    case NODE_LEAF: {
        if (n->decay) return decaying_element(x, n, side, f);
        struct ref r = n->leaf[side];
        for (int k = 0; k < r.rank; k++) r.sub[k] = expr_replace(x->m, r.sub[k], expr_index(x->m, n->axis), f);
        const struct expr *const element = operand_of(x, side, &r), *const decay = n->decay ? decay_feature(x, n->decay,
                                                                                                            side, f)
                                                                                            : NULL;
        if (!n->decay || !element || !decay) return n->decay && !decay ? NULL : element;
        return expr_mul(x->m, element, decay);
    }
    case NODE_FACTOR: return over_operands_of(x, &x->made[side], n->factor[side]);
    case NODE_DECAY: {
        if (n->sums) return decay_feature(x, n, side, f);
        /* The query has base^(i - end), the key base^(end - j), with `end` the last key before the chunk. Queries of
           chunk 0 have base^0. */
        const struct expr *own = side == KEY ? expr_index(x->m, x->stream) : separate_query_position(x);
        const struct expr *steps = side == KEY ? expr_sub(x->m, x->end[KEY], own) : expr_sub(x->m, own, x->end[QUERY]);
        if (side == QUERY && !program_takes_outer_sums(x->c))
            steps = expr_select(x->m, x->before, expr_int(x->m, 0), steps);
        const struct expr *const base = over_operands_of(x, &x->made[side], n->base);
        const struct expr *const size = expr_size(x->m, x->stream);
        return base ? decay_power(x, base, steps, expr_sub(x->m, side == KEY ? size : own, side == KEY ? own : size))
                    : NULL;
    }
    case NODE_SUM: {
        const struct expr *count = expr_int(x->m, n->a->features);
        const struct expr *in_a = n->a->features == 1 ? expr_int(x->m, 0)
                                                      : expr_min(x->m, f, expr_int(x->m, n->a->features - 1));
        const struct expr *const zero = expr_real(x->m, 0);
        const struct expr *in_b = !n->b || n->b->features == 1
                                      ? expr_int(x->m, 0)
                                      : expr_max(x->m, expr_sub(x->m, f, count), expr_int(x->m, 0));
        const struct expr *a = feature(x, n->a, side, in_a), *b = n->b ? feature(x, n->b, side, in_b) : zero,
                          *const chosen = n->factor[side] ? over_operands_of(x, &x->made[side], n->factor[side]) : zero;
        if (!a || !b || !chosen) return NULL;
        if (n->factor[side]) {
            a = expr_select(x->m, chosen, a, zero);
            b = expr_select(x->m, chosen, zero, b);
        }
        return n->b ? expr_select(x->m, expr_lt(x->m, f, count), a, b) : a;
    }
    case NODE_PRODUCT: {
        const struct expr *count = expr_int(x->m, n->b->features);
        const struct expr *a = feature(x, n->a, side,
                                       n->a->features == 1 ? expr_int(x->m, 0) : expr_div(x->m, f, count));
        const struct expr *b = feature(x, n->b, side, n->a->features == 1 ? f : expr_mod(x->m, f, count));
        return a && b ? expr_mul(x->m, a, b) : NULL;
    }
    case NODE_SQUARE: {
        /* Feature f = t * n + k is the product of elements k and (k + t) mod n. Products with t > 0 occur twice, so
           the query's side is doubled. */
        const struct expr *count = expr_int(x->m, n->a->features), *t = expr_div(x->m, f, count),
                          *first = expr_mod(x->m, f, count);
        const struct expr *a = feature(x, n->a, side, first),
                          *b = feature(x, n->a, side, expr_mod(x->m, expr_add(x->m, first, t), count));
        if (!a || !b) return NULL;
        const struct expr *product = expr_mul(x->m, a, b);
        if (side == KEY || n->a->features == 1) return product;
        const struct expr *once = expr_eq(x->m, t, expr_int(x->m, 0));
        return expr_mul(x->m, product, expr_select(x->m, once, expr_real(x->m, 1), expr_real(x->m, 2)));
    }
    case NODE_POWER: {
        const struct expr *product = side == QUERY ? separate_power_times(x, n, f) : expr_real(x->m, 1);
        for (int k = 0; k < n->power->degree && product; k++) {
            const struct expr *const e = feature(x, n->a, side, separate_power_index(x, n, k, f));
            product = e ? expr_mul(x->m, product, e) : NULL;
        }
        return product;
    }
    }
    return NULL;
}

const struct expr *separate_kept(struct separation *x, const struct node *n, const struct expr *f, int64_t chunk,
                                 struct value *state)
{
    const struct expr *one = expr_real(x->m, 1), *a = NULL, *b = NULL;
    switch (n->kind) {
    case NODE_LEAF: return n->decay ? kept_by_sums(x, n->decay, f, chunk, state) : NULL;
    case NODE_FACTOR: return NULL;
    case NODE_DECAY:
        if (n->sums) return kept_by_sums(x, n, f, chunk, state);
        a = over_operands_of(x, state, n->base);
        x->full |= !a;
        if (!a) return NULL;
        b = program_folds_states(&x->c->program) ? expr_size(x->m, x->stream) : expr_int(x->m, chunk);
        return or_of_0(x, a, above_0(x, a), b, expr_pow(x->m, above_0(x, a), b));
    case NODE_SUM:
        a = separate_kept(x, n->a, f, chunk, state);
        if (!n->b) return a;
        b = separate_kept(x, n->b, expr_sub(x->m, f, expr_int(x->m, n->a->features)), chunk, state);
        if (!a && !b) return NULL;
        return expr_select(x->m, expr_lt(x->m, f, expr_int(x->m, n->a->features)), a ? a : one, b ? b : one);
    case NODE_PRODUCT:
        a = separate_kept(x, n->a, expr_div(x->m, f, expr_int(x->m, n->b->features)), chunk, state);
        b = separate_kept(x, n->b, expr_mod(x->m, f, expr_int(x->m, n->b->features)), chunk, state);
        break;
    case NODE_SQUARE: {
        const struct expr *count = expr_int(x->m, n->a->features), *first = expr_mod(x->m, f, count);
        a = separate_kept(x, n->a, first, chunk, state);
        b = separate_kept(x, n->a, expr_mod(x->m, expr_add(x->m, first, expr_div(x->m, f, count)), count), chunk,
                          state);
        break;
    }
    case NODE_POWER:
        for (int k = 0; k < n->power->degree; k++) {
            b = separate_kept(x, n->a, separate_power_index(x, n, k, f), chunk, state);
            a = a && b ? expr_mul(x->m, a, b) : a ? a : b;
        }
        return a;
    }
    return a && b ? expr_mul(x->m, a, b) : a ? a : b;
}

const struct expr *separate_same_id(const struct separation *x, const struct expr *position, const struct expr *end)
{
    const struct expr *const like = x->id[KEY], *const j = expr_index(x->m, x->stream);
    if (like->op != EXPR_ID)
        return expr_eq(x->m, expr_replace(x->m, like, j, position), expr_replace(x->m, like, j, end));
    const struct expr *const a = expr_id(x->m, EXPR_ID, like->name, like->arg[0], position, NULL);
    return expr_eq(x->m, a, expr_id(x->m, EXPR_ID, like->name, like->arg[0], end, NULL));
}

const struct expr *separate_position_of_id(const struct separation *x)
{
    return x->id[QUERY]->op == EXPR_ID ? x->id[QUERY]->arg[1] : separate_query_position(x);
}

const struct expr *separate_end_before(const struct separation *x, const struct expr *chunk, int64_t length)
{
    const struct expr *begin = expr_mul(x->m, chunk, expr_int(x->m, length));
    if (x->wait) begin = expr_max(x->m, expr_sub(x->m, begin, expr_int(x->m, x->wait)), expr_int(x->m, 0));
    return expr_sub(x->m, expr_min(x->m, begin, expr_size(x->m, x->stream)), expr_int(x->m, 1));
}

const struct expr *separate_of_last_id(const struct separation *x, const struct expr *e, int64_t chunk)
{
    const struct expr *end = separate_end_before(x, expr_index(x->m, x->chunk_axis), chunk);
    return expr_select(x->m, separate_same_id(x, expr_index(x->m, x->stream), end), e, expr_real(x->m, 0));
}

/* Returns the product e with the exponent -infinity for hidden keys, or NULL if it has no exponential. The maximum of
   the exponents must be that of shown keys. */
static const struct expr *without_exponent(const struct separation *x, const struct expr *e)
{
    struct module *const m = x->m;
    if (e->op == EXPR_EXP || e->op == EXPR_EXP2)
        return expr_make(m, e->op, expr_select(m, x->shown, e->arg[0], expr_real(m, -INFINITY)), NULL, NULL);
    const struct expr *const a = e->op == EXPR_MUL ? without_exponent(x, e->arg[0]) : NULL,
                             *const b = e->op == EXPR_MUL && !a ? without_exponent(x, e->arg[1]) : NULL;
    return a ? expr_mul(m, a, e->arg[1]) : b ? expr_mul(m, e->arg[0], b) : NULL;
}

const struct expr *separate_if_shown(const struct separation *x, const struct expr *e)
{
    const struct expr *const hidden = x->shown ? without_exponent(x, e) : NULL;
    return hidden ? hidden : x->shown ? expr_select(x->m, x->shown, e, expr_real(x->m, 0)) : e;
}

/* Whether each index of the axis has its own sum of this side's features. */
static bool is_outer(const struct separation *x, enum side side, int axis)
{
    return x->outer >> axis & 1 && (side == QUERY || x->apart || x->m->axis[axis].source != SIZE_MEMBERS);
}

int separate_feature_map(struct separation *x, const struct node *n, enum side side, int axis, int64_t chunk)
{
    x->made[side] = graph_value(GRAPH_MAP, 0, NULL);
    struct value *v = &x->made[side];
    v->expr = feature(x, n, side, expr_index(x->m, axis));
    if (!v->expr) return -1;
    if (side == KEY) v->expr = separate_if_shown(x, v->expr);
    if (side == KEY && x->id[KEY]) v->expr = separate_of_last_id(x, v->expr, chunk);
    for (int a = 0; a < x->m->axes; a++) /* also if no feature changes along it */
        if (is_outer(x, side, a)) v->axes[v->rank++] = a;
    for (int k = 0; k < x->value->rank; k++) {
        bool used = x->value->axes[k] == (side == KEY ? x->stream : x->lane) ||
                    (expr_axes(v->expr) >> x->value->axes[k] & 1);
        for (int o = 0; o < v->operands; o++) used |= ref_uses_axis(&v->operand[o], x->value->axes[k]);
        if (used && !is_outer(x, side, x->value->axes[k])) v->axes[v->rank++] = x->value->axes[k];
    }
    bool chunks = x->chunk_axis >= 0 && (expr_axes(v->expr) >> x->chunk_axis & 1);
    for (int o = 0; o < v->operands && x->chunk_axis >= 0; o++) chunks |= ref_uses_axis(&v->operand[o], x->chunk_axis);
    if (chunks) v->axes[v->rank++] = x->chunk_axis;
    v->axes[v->rank++] = axis;
    graph_insert(x->g, x->weight, *v);
    return x->weight++;
}
