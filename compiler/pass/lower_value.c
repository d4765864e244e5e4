/* The statements that compute one value of the graph. */
#include "lower.h"

#include <math.h>
#include <string.h>

/* The axes that the operands run over and v does not. */
static int summed_axes(const struct lowering *x, const struct value *v, int *axes)
{
    int rank = 0;
    for (int a = 0; a < x->m->axes; a++) {
        bool used = false;
        for (int k = 0; k < v->operands; k++) used |= ref_uses_axis(&v->operand[k], a);
        if (used && !value_has_axis(v, a)) axes[rank++] = a;
    }
    return rank;
}

/* Masked elements of the tile become what the fold ignores, unless what it is computed from already makes them so. */
static void apply_region(struct lowering *x, const struct value *sum, int operand, double neutral)
{
    int v = sum->operand[operand].of;
    const struct value *value = &x->g->value[v];
    struct lowered_value *tile = &x->lowered[v];
    if (!sum->where || tile->masked_infinity || tile->masked_zero || !value_has_axis(value, x->lane) || !value_has_axis(value, x->stream)) return;
    if (neutral == 0 && value->op == GRAPH_MAP) {
        const struct expr *e = value->expr;
        for (int k = 0; k < value->operands; k++)
            if (x->lowered[value->operand[k].of].masked_infinity) e = expr_replace(x->m, e, expr_leaf(x->m, EXPR_OPERAND, k), expr_real(x->m, -INFINITY));
        if (expr_is_real(e, 0)) return;
    }
    int axes[MAX_RANK], rank = lower_tile_axes(x, value, axes);
    const struct expr *kept = expr_make(x->m, EXPR_SELECT, sum->where, expr_leaf(x->m, EXPR_OPERAND, 0), expr_real(x->m, neutral));
    struct stmt *s = lower_assign(x, &x->inside, rank, axes, tile->array, FOLD_SET, kept);
    s->operands = 1;
    s->operand[0] = loops_ref(x->l, tile->array);
    *(neutral == 0 ? &tile->masked_zero : &tile->masked_infinity) = true;
}

/* Whether an operand over this axis is a tile that has other lanes: then the other axis of the product is its lanes. */
static bool across_lanes(const struct lowering *x, const struct value *v, int axis)
{
    for (int k = 0; k < v->operands; k++) {
        const struct array *a = &x->l->array[x->lowered[v->operand[k].of].array];
        if (ref_uses_axis(&v->operand[k], axis) && a->kind == ARRAY_TILE && a->axes[a->rank - 1] != axis) return true;
    }
    return false;
}

static void lower_sum(struct lowering *x, int number)
{
    const struct value *v = &x->g->value[number];
    int axes[MAX_RANK], rank = lower_tile_axes(x, v, axes), summed[MAX_AXES], count = summed_axes(x, v, summed);
    bool streamed = false;
    for (int k = 0; k < count; k++) streamed |= summed[k] == x->stream;
    bool maximum = v->op == GRAPH_REDUCE && v->fold == FOLD_MAX;
    bool inside = streamed || value_has_axis(v, x->stream), state = x->lowered[number].stage == STATE;
    if (state && v->op == GRAPH_CONTRACT && rank == 2 && across_lanes(x, v, axes[1])) {
        int first = axes[0];
        axes[0] = axes[1];
        axes[1] = first;
    }
    int slot[MAX_RANK] = {x->chunk};
    memcpy(slot + 1, axes, (size_t)rank * sizeof *axes);
    int to = state ? lower_new_tile(x, "state", rank + 1, slot)
                   : lower_new_tile(x,
                                    !streamed               ? lower_tile_name(x, v)
                                    : maximum               ? "row_max"
                                    : v->op == GRAPH_REDUCE ? "row_sum"
                                                            : "sum",
                                    rank, axes);
    x->lowered[number].array = to;
    bool whole = state && lower_tiles_of_chunk(x) == 1, piled = streamed && !(state && lower_tiles_of_chunk(x) <= FEW_TILES);
    struct stmt ***at = inside ? &x->inside : x->lowered[number].stage == BEFORE ? &x->before : &x->end;
    int factor = v->online >= 0 && !whole ? x->lowered[v->online].rescale : -1;

    /* a product of two arrays over one axis, lanes last */
    int lane = rank == 2 ? axes[1] : -1, row = -1;
    if (v->op == GRAPH_CONTRACT && rank == 2 && count == 1) {
        const struct ref read[2] = {lower_ref(x, &v->operand[0]), lower_ref(x, &v->operand[1])};
        for (int k = 0; k < 2; k++)
            if (ref_uses_axis(&read[k], lane) && !ref_uses_axis(&read[k], axes[0]) && !ref_uses_axis(&read[1 - k], lane)) row = 1 - k;
    }
    if (row >= 0) {
        if (streamed) {
            if (!whole) lower_set_constant(x, &x->before, to, 0);
            apply_region(x, v, 1 - row, 0);
        }
        int compensation = lower_new_compensation(x, piled, to, &x->before);
        if (state && factor >= 0) { /* by rows, not lanes */
            lower_rescale(x, at, rank, axes, to, factor);
            if (compensation) lower_rescale(x, at, rank, axes, compensation - 1, factor);
            factor = -1;
        }
        struct stmt *s = lower_append(x, at, LOOPS_DOT);
        s->rank = 2;
        s->axes[0] = axes[0];
        s->axes[1] = lane;
        s->axis = summed[0];
        s->operands = 2;
        s->operand[0] = lower_ref(x, &v->operand[row]);
        s->operand[1] = lower_ref(x, &v->operand[1 - row]);
        if (factor >= 0) s->operand[s->operands++] = loops_ref(x->l, factor);
        if (streamed && !state) s->where = v->where;
        s->assigns = 1;
        s->assign[0] = (struct assign){loops_ref(x->l, to), streamed && !whole ? FOLD_SUM : FOLD_SET, NULL, compensation};
        return;
    }

    lower_set_constant(x, streamed ? &x->before : at, to, v->op == GRAPH_REDUCE ? v->init : 0);
    int old = -1;
    if (maximum && x->lowered[number].running && !whole) {
        old = lower_new_tile(x, "old_max", rank, axes);
        struct stmt *s = lower_assign(x, at, rank, axes, old, FOLD_SET, expr_leaf(x->m, EXPR_OPERAND, 0));
        s->operand[s->operands++] = loops_ref(x->l, to);
    }
    for (int k = 0; k < v->operands && streamed; k++) apply_region(x, v, k, maximum ? -INFINITY : 0);
    int compensation = lower_new_compensation(x, piled && !maximum, to, &x->before);
    if (factor >= 0) lower_rescale(x, at, rank, axes, to, factor);
    if (factor >= 0 && compensation) lower_rescale(x, at, rank, axes, compensation - 1, factor);
    /* The axes of the sum inside those of the result, so that a sum can stay in a register, but the lanes last: those of the result, or of the keys
       where the result has no sequence. */
    int nest[MAX_RANK], outer = state || rank == 0 ? rank : rank - 1;
    for (int k = 0; k < outer; k++) nest[k] = axes[k];
    for (int k = 0; k < count; k++) nest[outer + k] = summed[k];
    if (outer < rank) nest[outer + count] = axes[outer];
    struct stmt *s = lower_assign(x, at, count + rank, nest, to, maximum ? FOLD_MAX : FOLD_SUM, expr_leaf(x->m, EXPR_OPERAND, 0));
    s->assign[0].compensation = compensation;
    const struct value *from = &x->g->value[v->operand[0].of];
    if (x->lowered[v->operand[0].of].inlined) {
        s->assign[0].expr = from->expr;
        s->operands = from->operands;
        for (int k = 0; k < from->operands; k++) s->operand[k] = lower_ref(x, &from->operand[k]);
    } else {
        s->operands = v->operands;
        for (int k = 0; k < v->operands; k++) s->operand[k] = lower_ref(x, &v->operand[k]);
        if (v->operands == 2) s->assign[0].expr = expr_make(x->m, EXPR_MUL, expr_leaf(x->m, EXPR_OPERAND, 0), expr_leaf(x->m, EXPR_OPERAND, 1), NULL);
        if (v->operands == 2 && v->where && !state) s->assign[0].expr = expr_make(x->m, EXPR_SELECT, v->where, s->assign[0].expr, expr_real(x->m, 0));
    }
    if (old >= 0) {
        x->lowered[number].rescale = lower_new_tile(x, "rescale", rank, axes);
        const struct expr *change = expr_make(x->m, EXPR_SUB, expr_leaf(x->m, EXPR_OPERAND, 0), expr_leaf(x->m, EXPR_OPERAND, 1), NULL);
        s = lower_assign(x, at, rank, axes, x->lowered[number].rescale, FOLD_SET, expr_make(x->m, EXPR_EXP2, change, NULL, NULL));
        s->operand[s->operands++] = loops_ref(x->l, old);
        s->operand[s->operands++] = loops_ref(x->l, to);
    }
}

void lower_array(struct lowering *x, int number, enum array_kind kind)
{
    const struct value *v = &x->g->value[number];
    struct array a = {.kind = kind, .name = v->name, .dtype = dtype_of_sums(x->m->dtype), .rank = v->rank, .offset = -1, .data = v->data};
    if (kind == ARRAY_INPUT) a.dtype = x->m->dtype;
    if (kind == ARRAY_TABLE) a.dtype = DTYPE_F64;
    for (int k = 0; k < v->rank; k++) a.axes[k] = v->axes[k];
    if (v->integers) a.dtype = DTYPE_I32;
    for (int k = 0; k < x->l->arrays; k++) /* several outputs share it */
        if (x->l->array[k].kind == kind && strcmp(x->l->array[k].name, v->name) == 0) {
            x->lowered[number].array = k;
            return;
        }
    x->lowered[number].array = loops_array(x->l, a);
}

/* Marks the values over keys that v is computed from. */
static void mark_needed(const struct lowering *x, int v, bool *needed)
{
    for (int k = 0; k < x->g->value[v].operands; k++) {
        int u = x->g->value[v].operand[k].of;
        if (needed[u] || x->lowered[u].stage == AFTER || x->lowered[u].stage == STATE) continue;
        needed[u] = true;
        mark_needed(x, u, needed);
    }
}

static void lower_value(struct lowering *x, int v)
{
    const struct value *value = &x->g->value[v];
    struct lowered_value *own = &x->lowered[v];
    switch (value->op) {
    case GRAPH_INPUT:
    case GRAPH_PARAM:
    case GRAPH_TABLE: break; /* arrays already */
    case GRAPH_MAP: {
        if (own->inlined) break;
        int axes[MAX_RANK], rank = lower_tile_axes(x, value, axes);
        own->array = lower_new_tile(x, lower_tile_name(x, value), rank, axes);
        struct stmt ***list = own->stage == BEFORE ? &x->before : own->stage == INSIDE ? &x->inside : &x->end;
        struct stmt *s = lower_assign(x, list, rank, axes, own->array, FOLD_SET, value->expr);
        s->operands = value->operands;
        for (int k = 0; k < value->operands; k++) s->operand[k] = lower_ref(x, &value->operand[k]);
        break;
    }
    case GRAPH_CONTRACT:
    case GRAPH_REDUCE: lower_sum(x, v); break;
    }
}

const struct expr *lower_values(struct lowering *x, enum stage sums)
{
    bool *needed = arena_alloc(x->m->arena, (size_t)x->g->values * sizeof *needed);
    for (int v = 0; v < x->g->values; v++)
        if (sums == STATE ? x->lowered[v].stage == STATE : x->lowered[v].stage == AFTER || x->lowered[v].stage == BEFORE) {
            needed[v] = true;
            mark_needed(x, v, needed);
        }
    const struct expr *region = NULL;
    bool first = true;
    for (int v = 0; v < x->g->values; v++) {
        if (!needed[v]) continue;
        lower_value(x, v);
        if (x->lowered[v].stage != AFTER || !lower_has_stream(x, &x->g->value[v])) continue;
        region = first ? x->g->value[v].where : region == x->g->value[v].where ? region : NULL;
        first = false;
    }
    return region;
}
