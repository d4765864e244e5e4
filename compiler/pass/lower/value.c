/* Makes the statements of each value, a map or a sum (contract or reduction). */
#include "lower.h"

#include <math.h>
#include <string.h>

/* Finds the axes that v sums over in its statement, with the lanes last. Axes that have loops around the statement
   do not count. Returns the number of axes. */
static int summed_axes(const struct lowering *x, const struct value *v, int *axes)
{
    int rank = 0;
    const uint32_t summed = value_operand_axes(v) & ~value_axes(v),
                   tiles = summed & ~(x->outer | x->within | x->one_by_one);
    for (int a = 0; a < x->m->axes; a++)
        if ((tiles >> a & 1) && a != x->lane) axes[rank++] = a;
    if (x->lane >= 0 && (summed >> x->lane & 1)) axes[rank++] = x->lane;
    return rank;
}

/* Whether an operand along `axis` is a tile with another last axis, so `axis` is not in its lanes. */
static bool across_lanes(const struct lowering *x, const struct value *v, int axis)
{
    for (int k = 0; k < v->operands; k++) {
        const struct array *a = &x->l->array[x->lowered[v->operand[k].of].array];
        if (ref_uses_axis(&v->operand[k], axis) && a->kind == ARRAY_TILE && a->axes[a->rank - 1] != axis) return true;
    }
    return false;
}

/* A sum or maximum that is being lowered. */
struct sum {
    const struct value *v;
    struct lowered_value *own;
    int rank, axes[MAX_RANK];    /* the axes of the result's tile, without slots */
    int count, summed[MAX_AXES]; /* the axes that the statement sums over */
    bool state, maximum;
    bool over_outer;      /* it sums over outer axes only */
    bool over_loop;       /* it sums over an axis that a loop around the statement takes one by one */
    bool of_slice;        /* it sums over the rows of a slice */
    bool streamed;        /* it sums over the keys of the loop, tile by tile */
    bool one_tile;        /* the state has one tile of keys per chunk, so its sum is set instead of added */
    bool many_terms;      /* it sums over many keys or rows, with compensation */
    struct stmt ***at;    /* the list for the statement that sums */
    struct stmt ***begin; /* the list for the statement that sets the initial value, if iterations add to the sum */
    int rescale;          /* the factor that rescales the sum when the maximum grows, or -1 */
};

static struct sum describe_sum(struct lowering *x, int number)
{
    const struct value *v = &x->g->value[number];
    struct lowered_value *own = &x->lowered[number];
    struct sum s = {
        .v = v, .own = own, .state = own->stage == STATE, .maximum = v->op == GRAPH_REDUCE && v->fold == FOLD_MAX};
    s.rank = lower_tile_axes(x, v, s.axes);
    s.count = summed_axes(x, v, s.summed);
    for (int k = 0; k < s.count; k++) s.streamed |= s.summed[k] == x->stream;
    s.streamed |= x->stream < 0 && !x->outer_only && lower_sums_outer(x, v);
    s.of_slice = lower_has_slices(x, v);
    s.over_outer = own->over_outer;
    if ((s.state || s.of_slice) && v->op == GRAPH_CONTRACT && s.rank == 2 && across_lanes(x, v, s.axes[1]) &&
        !(s.state && across_lanes(x, v, s.axes[0]))) {
        const int first = s.axes[0];
        s.axes[0] = s.axes[1];
        s.axes[1] = first;
    }
    s.one_tile = x->whole_chunk && s.streamed;
    s.one_tile |= s.state && lower_tiles_of_chunk(x) == 1 && !x->outer && !x->after && !lower_has_padding(x) &&
                  !lower_wait(x, v); /* the slot of an empty chunk would not be set */
    s.many_terms = s.over_outer || (s.of_slice && !x->prefix) ||
                   (s.streamed && x->stream >= 0 && !x->whole_chunk && !x->last_axis &&
                    !(s.state && lower_tiles_of_chunk(x) <= FEW_TILES));
    s.over_loop = x->one_by_one & value_operand_axes(v) & ~value_axes(v);
    s.begin = s.over_loop ? x->outside : s.of_slice || s.over_outer ? &x->open : &x->before;
    s.at = s.of_slice                                           ? &x->end
           : s.streamed || s.over_outer || own->stage == INSIDE ? &x->inside
           : own->stage == BEFORE                               ? (x->prepare ? &x->prepare : &x->before)
                                                                : &x->end;
    s.rescale = v->online >= 0 && !s.one_tile ? x->lowered[v->online].rescale : -1;
    return s;
}

/* Makes the tile of a sum. The tile of a state has a slot per chunk. */
static int new_sum_tile(struct lowering *x, const struct sum *s)
{
    if (s->state || (s->of_slice && x->prefix)) {
        int slot[MAX_RANK] = {x->chunk};
        memcpy(slot + 1, s->axes, (size_t)s->rank * sizeof *s->axes);
        const char *state = s->maximum ? "state_max" : s->v->op == GRAPH_REDUCE ? "state_sum" : "state";
        return lower_new_tile(x, s->state ? state : "unit_sum", s->rank + 1, slot);
    }
    const char *name = s->of_slice                ? "unit_sum"
                       : !s->streamed             ? lower_tile_name(x, s->v)
                       : s->maximum               ? "row_max"
                       : s->v->op == GRAPH_REDUCE ? "row_sum"
                                                  : "sum";
    return lower_new_tile(x, name, s->rank, s->axes);
}

/* Multiplies the sum so far, and its compensation, by s->rescale. `compensation`: 1 + the array, or 0. */
static void rescale_sum(struct lowering *x, const struct sum *s, int compensation)
{
    lower_rescale(x, s->at, s->rank, s->axes, s->own->array, s->rescale);
    if (compensation) lower_rescale(x, s->at, s->rank, s->axes, compensation - 1, s->rescale);
}

/* Whether the sum is a matrix product: result[row][lane] = sum over k of a[row][k] * b[k][lane]. Returns the number
   of the operand `a`, 0 or 1. Returns -1 if it is no matrix product. */
static int operand_of_rows(const struct lowering *x, const struct sum *s)
{
    if (s->v->op != GRAPH_CONTRACT || s->rank != 2 || s->count != 1) return -1;
    const struct ref read[2] = {lower_ref(x, &s->v->operand[0]), lower_ref(x, &s->v->operand[1])};
    int rows = -1;
    for (int k = 0; k < 2; k++)
        if (ref_uses_axis(&read[k], s->axes[1]) && !ref_uses_axis(&read[k], s->axes[0]) &&
            !ref_uses_axis(&read[1 - k], s->axes[1]))
            rows = 1 - k;
    return rows;
}

/* Makes the statement of a matrix product. `rows`: the number of the operand `a` (operand_of_rows). */
static void lower_dot(struct lowering *x, const struct sum *sum, int rows)
{
    const struct value *v = sum->v;
    const int to = sum->own->array;
    const bool adds = sum->of_slice || sum->over_outer || (sum->streamed && !sum->one_tile);
    if (adds) lower_set_constant(x, sum->begin, to, 0);
    /* Whether operand `rows` holds weights. */
    const bool of_rows = lower_of_pairs(x, &x->g->value[v->operand[rows].of]);
    if (sum->streamed) lower_apply_region(x, v, of_rows ? rows : 1 - rows, 0);
    const int compensation = lower_new_compensation(x, sum->many_terms, to, sum->begin);
    /* The factor of a state is per row, but the factor of a DOT is per lane. */
    const bool by_rows = sum->state && sum->rescale >= 0;
    if (by_rows) rescale_sum(x, sum, compensation);
    const struct ref lane = lower_turned(x, sum->at, lower_ref(x, &v->operand[1 - rows]), sum->summed[0], sum->axes[1]);
    struct ref row = lower_ref(x, &v->operand[rows]);
    if (x->prepare && x->l->array[lane.of].kind == ARRAY_INPUT && ref_axis(&lane, lane.rank - 1) == sum->summed[0]) {
        row = lower_turned(x, &x->prepare, row, sum->axes[0],
                           sum->summed[0]); /* both operands then have the summed axis last */
        if (x->l->array[row.of].kind == ARRAY_TILE) x->l->array[row.of].shared = true;
    }
    struct stmt *const s = lower_product(x, sum->at, sum->axes, sum->summed[0], row, lane, to,
                                         adds ? FOLD_SUM : FOLD_SET);
    s->assign[0].compensation = compensation;
    if (sum->rescale >= 0 && !by_rows) s->operand[s->operands++] = loops_ref(x->l, sum->rescale);
    /* The region keeps infinity and NaN from pairs outside. */
    if (sum->streamed && (!sum->state || of_rows)) s->where = v->where;
}

/* Copies the running maximum before the current tile of keys, and returns the copy. */
static int keep_old_maximum(struct lowering *x, const struct sum *sum)
{
    const int old = lower_new_tile(x, "old_max", sum->rank, sum->axes);
    struct stmt *s = lower_assign(x, sum->at, sum->rank, sum->axes, old, FOLD_SET, expr_operand(x->m, 0));
    s->operand[s->operands++] = loops_ref(x->l, sum->own->array);
    return old;
}

/* Makes sum->own->rescale: the factor from maximum `old` to the new one. */
static void make_rescale(struct lowering *x, const struct sum *sum, int old)
{
    sum->own->rescale = lower_new_tile(x, "rescale", sum->rank, sum->axes);
    const struct expr *change = lower_moved(x, sum->own, expr_operand(x->m, 0), expr_operand(x->m, 1));
    struct stmt *s = lower_assign(x, sum->at, sum->rank, sum->axes, sum->own->rescale, FOLD_SET, change);
    s->operand[s->operands++] = loops_ref(x->l, old);
    s->operand[s->operands++] = loops_ref(x->l, sum->own->array);
}

/* Makes the MAP that adds the terms, or takes their maximum.
   - Summed axes are inside the result's axes, so a sum stays in a register.
   - The innermost axis is in the lanes: the result's last axis if it is a sequence, otherwise the last summed axis.
     With x->by_elements, and if the terms decay differently, summed elements are innermost.
   - An inlined map is computed for each term. */
static void fold_terms(struct lowering *x, const struct sum *sum, int compensation)
{
    const struct value *v = sum->v, *from = &x->g->value[v->operand[0].of];
    const bool elements = sum->count == 1 && axis_is_whole(&x->m->axis[sum->summed[0]]) &&
                          (x->by_elements || lower_sums_decayed_pairs(x, v));
    int nest[MAX_RANK], outer = sum->state || sum->of_slice || sum->rank == 0 || elements ? sum->rank : sum->rank - 1;
    for (int k = 0; k < outer; k++) nest[k] = sum->axes[k];
    for (int k = 0; k < sum->count; k++) nest[outer + k] = sum->summed[k];
    if (outer < sum->rank) nest[outer + sum->count] = sum->axes[outer];
    const struct expr *first = expr_operand(x->m, 0);
    struct stmt *s = lower_assign(x, sum->at, sum->count + sum->rank, nest, sum->own->array,
                                  sum->maximum ? FOLD_MAX : FOLD_SUM, first);
    s->assign[0].compensation = compensation;
    const bool inlined = x->lowered[v->operand[0].of].inlined;
    const struct value *reads = inlined ? from : v;
    s->operands = inlined ? reads->operands : graph_summed(v);
    for (int k = 0; k < s->operands; k++) s->operand[k] = lower_ref(x, &reads->operand[k]);
    if (inlined)
        s->assign[0].expr = from->expr;
    else if (graph_summed(v) == 2) {
        s->assign[0].expr = expr_mul(x->m, first, expr_operand(x->m, 1));
    }
    const bool decays = inlined && lower_decayed_elements(x, v) >= 0,
               region = v->where && !sum->state && !sum->of_slice;
    if (decays) { /* later terms would grow */
        s->where = v->where;
        return;
    }
    /* A tile of pairs has 0 outside the region already. Rows, which have no axis of lanes, do not. */
    const bool of_pairs = sum->streamed && x->stream >= 0 && lower_of_pairs(x, from);
    if (region && (sum->over_outer || !of_pairs || (!inlined && graph_summed(v) == 2)))
        s->assign[0].expr = expr_select(x->m, v->where, s->assign[0].expr,
                                        expr_real(x->m, sum->maximum ? -INFINITY : 0));
}

/* Makes the statements of a sum or maximum that is no matrix product. `running`: also makes the factor that
   rescales sums. */
static void lower_fold(struct lowering *x, const struct sum *sum, bool running)
{
    const struct value *v = sum->v;
    const int to = sum->own->array;
    const bool adds = sum->streamed || sum->of_slice || sum->over_outer || sum->over_loop;
    lower_set_constant(x, adds ? sum->begin : sum->at, to, v->op == GRAPH_REDUCE ? v->init : 0);
    const int old = running ? keep_old_maximum(x, sum) : -1;
    struct value summed = *v;
    const bool decays = lower_decayed_elements(x, v) >= 0;
    if (decays) { /* the pairs that its terms read */
        summed = x->g->value[v->operand[0].of];
        summed.where = v->where;
    }
    for (int k = 0; k < (decays ? summed.operands : graph_summed(v)) && sum->streamed; k++)
        if (!decays || x->g->value[summed.operand[k].of].operands)
            lower_apply_region(x, &summed, k, sum->maximum ? -INFINITY : 0);
    const int compensation = lower_new_compensation(x, sum->many_terms && !sum->maximum && !decays, to, sum->begin);
    if (sum->rescale >= 0) rescale_sum(x, sum, compensation);
    fold_terms(x, sum, compensation);
    if (running) make_rescale(x, sum, old);
}

static void lower_sum(struct lowering *x, int number)
{
    const struct sum sum = describe_sum(x, number);
    sum.own->array = new_sum_tile(x, &sum);
    const int rows = operand_of_rows(x, &sum);
    if (rows >= 0)
        lower_dot(x, &sum, rows);
    else
        lower_fold(x, &sum, sum.maximum && sum.own->running && !sum.one_tile);
}

/* Whether statements of pairs make value v, and it has the axis. */
static bool of_pairs_along(const struct lowering *x, int v, int axis)
{
    return x->needed[v] && x->lowered[v].stage == INSIDE && value_has_axis(&x->g->value[v], axis) &&
           lower_of_pairs(x, &x->g->value[v]);
}

/* Returns the last axis of elements that the sum v of pairs sums over, if this sum alone needs the values of pairs with
   this axis, and one of them is a product. Otherwise returns -1. The axis may be that of the heads of an indexer. */
static int axis_one_by_one(const struct lowering *x, int v)
{
    const struct value *const sum = &x->g->value[v];
    if (sum->op != GRAPH_REDUCE || sum->where || x->lowered[v].stage != INSIDE || !lower_of_pairs(x, sum)) return -1;
    int axis = -1;
    for (int a = 0; a < x->m->axes; a++)
        if ((value_operand_axes(sum) & ~value_axes(sum)) >> a & 1 && !lower_run_time(x, a)) axis = a;
    bool product = false;
    for (int u = 0; axis >= 0 && u < x->g->values; u++) {
        const struct value *const reader = &x->g->value[u];
        product |= reader->op == GRAPH_CONTRACT && of_pairs_along(x, u, axis);
        for (int k = 0; k < reader->operands; k++)
            if (u != v && x->needed[u] && of_pairs_along(x, reader->operand[k].of, axis) && !of_pairs_along(x, u, axis))
                return -1;
    }
    return product ? axis : -1;
}

/* Returns the sum that takes the axes of v one by one, if v is one of the values that it needs. Otherwise returns
   -1. */
static int sum_one_by_one(const struct lowering *x, int v)
{
    for (int u = v + 1; u < x->g->values; u++) {
        const int axis = x->needed[u] ? axis_one_by_one(x, u) : -1;
        if (axis >= 0 && of_pairs_along(x, v, axis)) return u;
    }
    return -1;
}

/* Makes the sum v of pairs in a loop over an axis, with the values that it needs. So each is a tile of pairs alone. */
static void lower_one_by_one(struct lowering *x, int v, int axis)
{
    struct stmt **outside = x->inside, **const body = lower_new_list(x);
    x->outside = &outside;
    x->one_by_one = AXIS(axis);
    x->inside = body;
    for (int u = 0; u < v; u++)
        if (of_pairs_along(x, u, axis)) lower_value(x, u);
    lower_sum(x, v);
    x->inside = outside;
    x->one_by_one = 0;
    lower_loop_over(x, &x->inside, axis, expr_int(x->m, 0), expr_size(x->m, axis), 1)->body = *body;
}

void lower_array(struct lowering *x, int number, enum array_kind kind)
{
    const struct value *v = &x->g->value[number];
    struct array a = {.kind = kind,
                      .name = v->name,
                      .dtype = dtype_of_sums(x->m->dtype),
                      .rank = v->rank,
                      .offset = -1,
                      .data = v->data};
    for (int k = 0; k < v->rank; k++) a.axes[k] = v->axes[k];
    a.by_name = v->by_name;
    a.hides = v->hides;
    a.sums = v->sums;
    a.within = v->within;
    if (kind == ARRAY_INPUT && array_of_elements(x->l, &a) && !a.sums) a.dtype = v->stored ? v->stored : x->m->dtype;
    if (kind == ARRAY_PARAM && v->stored) a.dtype = v->stored;
    if (kind == ARRAY_TABLE) a.dtype = DTYPE_F64;
    if (v->integers) a.dtype = v->bytes ? DTYPE_U8 : DTYPE_I32;
    for (int k = 0; k < x->l->arrays; k++) /* another group's loops may have made the array */
        if (x->l->array[k].kind == kind && strcmp(x->l->array[k].name, v->name) == 0) {
            x->lowered[number].array = k;
            return;
        }
    x->lowered[number].array = loops_array(x->l, a);
}

/* Marks the values that v needs, up to states and values after a loop over keys. */
static void mark_needed(const struct lowering *x, int v, bool *needed)
{
    for (int k = 0; k < x->g->value[v].operands; k++) {
        int u = x->g->value[v].operand[k].of;
        if (needed[u] || x->lowered[u].stage == AFTER || x->lowered[u].stage == STATE) continue;
        needed[u] = true;
        mark_needed(x, u, needed);
    }
}

struct row_part {
    const struct stmt *s;
    int row; /* the axis of the row */
};

/* Whether e is costly and has the same value for all elements of a row. */
static enum answer is_of_row(void *of, const struct expr *e)
{
    struct row_part *const x = of;
    const uint32_t read = expr_operands(e, NULL);
    x->row = -1;
    for (int k = 0; k < x->s->operands; k++) {
        const struct ref *const r = &x->s->operand[k];
        if (read >> k & 1 && r->rank) x->row = ref_axis(r, r->rank - 1);
    }
    const bool varies = expr_axes_read(e, x->s->operand) >> x->s->axes[x->s->rank - 1] & 1;
    return e->type == TYPE_REAL && !varies && expr_takes(e, EFFORT_SLOW) && x->row == x->s->axes[0] ? ANSWER_YES
                                                                                                    : ANSWER_ARGUMENTS;
}

/* If a costly part of map s has one value for each row, computes it in a map over rows, before s at *at. So it is not
   computed for each vector of elements. */
static void compute_by_row(struct lowering *x, struct stmt *s, struct stmt **at)
{
    struct row_part found = {.s = s};
    const struct expr *const part = s->rank == 2 ? expr_find(s->assign[0].expr, is_of_row, &found) : NULL,
                             *with[MAX_OPERANDS] = {NULL};
    if (!part || s->operands == MAX_OPERANDS) return;
    const int made = lower_new_tile(x, "row_factor", 1, &found.row);
    struct stmt *const map = lower_assign(x, &at, 1, &found.row, made, FOLD_SET, NULL);
    for (int k = 0; k < s->operands; k++) {
        if (!expr_uses(part, expr_operand(x->m, k))) continue;
        with[k] = expr_operand(x->m, map->operands);
        map->operand[map->operands++] = s->operand[k];
    }
    map->assign[0].expr = expr_bind(x->m, part, with);
    s->assign[0].expr = expr_replace(x->m, s->assign[0].expr, part, expr_operand(x->m, s->operands));
    s->operand[s->operands++] = loops_ref(x->l, made);
    map->next = s;
}

/* Makes the statements of a running sum. The terms are a tile that nothing else reads (own_terms), in whose place the
   sums are. */
static void lower_scan(struct lowering *x, int number)
{
    const struct value *const v = &x->g->value[number];
    int axes[MAX_RANK];
    const int rank = lower_tile_axes(x, v, axes), carried = lower_new_tile(x, "carried", rank - 1, axes + 1);
    lower_set_constant(x, &x->before, carried, 0);
    lower_apply_region(x, v, 0, 0);
    x->lowered[number].array = x->lowered[v->operand[0].of].array;
    struct stmt *const s = lower_append(x, &x->inside, LOOPS_SCAN);
    s->rank = rank;
    memcpy(s->axes, axes, sizeof axes);
    s->backward = v->backward;
    s->operands = s->assigns = 2;
    s->operand[0] = loops_ref(x->l, x->lowered[number].array);
    s->operand[1] = loops_ref(x->l, carried);
    for (int k = 0; k < 2; k++) s->assign[k] = (struct assign){s->operand[k], FOLD_SET, NULL, 0};
}

void lower_value(struct lowering *x, int v)
{
    const struct value *value = &x->g->value[v];
    struct lowered_value *own = &x->lowered[v];
    switch (value->op) {
    case GRAPH_INPUT:
    case GRAPH_PARAM:
    case GRAPH_TABLE: break; /* lower_outputs has made the arrays of inputs, parameters and tables */
    case GRAPH_MAP: {
        if (own->inlined) break;
        int axes[MAX_RANK], rank = lower_tile_axes(x, value, axes);
        own->array = lower_new_tile(x, lower_tile_name(x, value), rank, axes);
        own->masked_infinity = own->masked_zero = false; /* lower_again makes a second tile */
        struct stmt ***list = own->closed                                   ? &x->close
                              : own->stage == BEFORE                        ? (x->prepare ? &x->prepare : &x->before)
                              : own->stage == INSIDE || own->stage == AGAIN ? &x->inside
                                                                            : &x->end;
        struct stmt **const at = *list, *s = lower_assign(x, list, rank, axes, own->array, FOLD_SET, value->expr);
        s->operands = value->operands;
        for (int k = 0; k < value->operands; k++) s->operand[k] = lower_ref(x, &value->operand[k]);
        if (x->by_elements) compute_by_row(x, s, at);
        break;
    }
    case GRAPH_CONTRACT:
    case GRAPH_REDUCE:
        if (own->stage == ACROSS)
            lower_across(x, v);
        else if (!x->one_by_one && axis_one_by_one(x, v) >= 0)
            lower_one_by_one(x, v, axis_one_by_one(x, v));
        else
            lower_sum(x, v);
        break;
    case GRAPH_SELECT: lower_select(x, v); break;
    case GRAPH_SCAN: lower_scan(x, v); break;
    case GRAPH_SOLVE: break; /* lower_solve has made the statements of a SOLVE */
    }
}

void lower_values(struct lowering *x, enum stage sums)
{
    bool *needed = arena_alloc(x->m->arena, (size_t)x->g->values * sizeof *needed);
    x->needed = needed;
    for (int v = 0; v < x->g->values; v++)
        if (sums == STATE ? x->lowered[v].stage == STATE
            : x->rows >= 0
                ? graph_is_output(x->g, v)
                : x->lowered[v].stage != INSIDE && x->lowered[v].stage != STATE && x->lowered[v].stage != AGAIN) {
            needed[v] = true;
            mark_needed(x, v, needed);
        }
    for (int o = 0; o < x->g->outputs && x->outer_only; o++) {
        needed[x->g->output[o].value] = true;
        mark_needed(x, x->g->output[o].value, needed);
    }
    for (int v = 0; v < x->g->values; v++) {
        if (!needed[v] || (x->done && x->done[v]) || sum_one_by_one(x, v) >= 0) continue;
        lower_value(x, v);
        if (x->prepare && x->lowered[v].stage == BEFORE && x->g->value[v].operands && !x->lowered[v].inlined)
            x->l->array[x->lowered[v].array].shared = true;
    }
}

void lower_again(struct lowering *x)
{
    bool *const needed = arena_alloc(x->m->arena, (size_t)x->g->values * sizeof *needed), any = false;
    for (int v = 0; v < x->g->values; v++) {
        if (x->lowered[v].stage != AGAIN) continue;
        any = needed[v] = true;
        mark_needed(x, v, needed);
    }
    if (!any) return;
    struct stmt **const body = lower_new_list(x);
    x->inside = body;
    x->needed = needed;
    for (int v = 0; v < x->g->values; v++)
        if (needed[v] && (x->lowered[v].stage == INSIDE || x->lowered[v].stage == AGAIN)) lower_value(x, v);
    for (int o = 0; o < x->g->outputs; o++)
        if (x->lowered[x->g->output[o].value].stage == AGAIN) lower_copy_output(x, o, &x->inside);
    lower_stream_loop(x, &x->end, expr_int(x->m, 0), expr_size(x->m, x->stream))->body = *body;
}
