/* If a statement cannot read an array in whole vectors, copies the array into a tile whose last axis is in the lanes.
   - An input is copied outside as many loops as possible.
   - A tile is copied just before its reader.
   - An input of 16-bit elements is copied to widen it once. Exceptions: products of bf16 pairs, and some products
     for few queries. */
#include "pass.h"
#include "../schedule/schedule.h"

#include <string.h>

/* Whether the spec declares the array. The caller gives the distance between its elements, which need not be 1. */
static bool is_declared(const struct compilation *c, const struct array *a)
{
    return c->spec && a->kind == ARRAY_PARAM &&
           (spec_array(c->spec, a->name) >= 0 || spec_has_tangent(c->spec, a->name));
}

/* Whether r can be read in whole vectors: lanes are contiguous, and no vector crosses a row's end. */
static bool along_lanes(const struct compilation *c, const struct ref *r, const struct array *a, int lane)
{
    if (!ref_uses_axis(r, lane)) return true;
    const int64_t lanes = c->target->vector_bytes / dtype_bytes(dtype_of_sums(a->dtype));
    if (copies_elements(c->loops, r, lane, lanes)) return true; /* the pass computed_subscripts copies these elements */
    if (a->kind == ARRAY_TILE) return ref_axis(r, r->rank - 1) == lane;
    return ref_in_vectors(c->loops, r, lane, lanes) && !is_declared(c, a);
}

/* Finds the axes along which r reads its array. An array of keys can be read along a second axis of keys. */
static void axes_read(const struct loops *l, const struct ref *r, int *axes)
{
    const struct array *const a = &l->array[r->of];
    for (int k = 0; k < a->rank; k++) {
        const int axis = ref_axis(r, k), own = a->axes[k];
        const bool other = axis >= 0 && axis != own && axis_is_sequence(&l->module->axis[own]);
        axes[k] = other ? axis : own;
    }
}

/* Whether subscript k of r is a number along an axis whose size is known only at run time, or is computed along such an
   axis that is no sequence, as the head of a[H - 1 - h][j] is. Then the copy lacks this axis. */
static bool is_number(const struct loops *l, const struct ref *r, int k)
{
    const struct axis *const axis = &l->module->axis[l->array[r->of].axes[k]];
    return axis->source != SIZE_CONSTANT &&
           (r->sub[k]->op == EXPR_INT || (ref_axis(r, k) < 0 && !axis_is_sequence(axis)));
}

static bool same_axes(const struct loops *l, const struct ref *a, const struct ref *b)
{
    int of_a[MAX_RANK], of_b[MAX_RANK];
    axes_read(l, a, of_a);
    axes_read(l, b, of_b);
    for (int k = 0; k < b->rank; k++)
        if (is_number(l, b, k) && a->sub[k] != b->sub[k]) return false;
    return memcmp(of_a, of_b, (size_t)l->array[a->of].rank * sizeof *of_a) == 0;
}

/* Batches, heads and chunks have one index at a time, so the tile does not have their axes. */
static int packed_along(struct loops *l, const struct stmts *w, const struct ref *r, int lane, int64_t lane_extent,
                        enum packing packing, const struct matrix_unit *unit)
{
    const bool numbers = packing == PACK_NUMBERS, paired = packing == PACK_PAIRS || packing == PACK_MATRIX_PAIRS,
               matrix = packing == PACK_MATRIX_PAIRS || packing == PACK_MATRIX_ROWS;
    const struct array *a = &l->array[r->of];
    int axes[MAX_RANK];
    axes_read(l, r, axes);
    struct array tile = {.dtype = numbers  ? dtype_of_sums(a->dtype)
                                  : matrix ? DTYPE_BF16
                                           : a->dtype,
                         .paired = paired,
                         .matrix = matrix,
                         .name = arena_printf(l->module->arena, "%s_tile", a->name)};
    for (int pass = 0; pass < 2; pass++) /* the second iteration adds the lanes */
        for (int k = 0; k < a->rank; k++) {
            const struct axis *const axis = &l->module->axis[axes[k]];
            const struct stmt *const loop = axis->source == SIZE_ROWS ? NULL : stmts_over(w, axes[k]);
            const bool fixed = (loop && !axis_is_sequence(axis)) || is_number(l, r, k);
            if (fixed || (axes[k] == lane) != (pass == 1)) continue;
            tile.axes[tile.rank] = axes[k];
            tile.extent[tile.rank++] = axes[k] == lane ? lane_extent : loop ? loop->step : axis->extent;
        }
    /* find the innermost loop that is parallel or runs over an axis of the array */
    int outer = 0;
    uint32_t along = axes_set(a->rank, axes);
    for (int k = 0; k < a->rank; k++) along |= is_number(l, r, k) ? expr_axes(r->sub[k]) : 0;
    for (int f = 0; f < w->loops; f++)
        if (w->loop[f]->parallel || along >> w->loop[f]->axis & 1) outer = f;
    struct stmt **at = w->loops ? &w->loop[outer]->body : &l->body;
    for (; *at && (*at)->op == LOOPS_COPY; at = &(*at)->next) {
        const struct array *const there = &l->array[(*at)->assign[0].to.of];
        if ((*at)->operand[0].of == r->of && there->dtype == tile.dtype && there->paired == paired &&
            there->matrix == matrix && (lane < 0 || (*at)->axes[(*at)->rank - 1] == lane) &&
            (!matrix || memcmp(there->axes, tile.axes, (size_t)tile.rank * sizeof *tile.axes) == 0) &&
            same_axes(l, &(*at)->operand[0], r))
            return (*at)->assign[0].to.of;
    }
    if (matrix) pad_matrix_operand(&tile, unit);
    struct ref from = loops_ref(l, r->of);
    for (int k = 0; k < a->rank; k++) from.sub[k] = is_number(l, r, k) ? r->sub[k] : expr_index(l->module, axes[k]);
    struct stmt *const copy = stmt_fill(l, LOOPS_COPY, tile);
    copy->operand[copy->operands++] = from;
    copy->next = *at;
    *at = copy;
    return copy->assign[0].to.of;
}

int packed_tile(struct loops *l, const struct stmts *w, int from, int lane, int64_t lane_extent, enum packing packing,
                const struct matrix_unit *unit)
{
    const struct ref own = loops_ref(l, from);
    return packed_along(l, w, &own, lane, lane_extent, packing, unit);
}

struct ref ref_of_copy(const struct loops *l, const struct ref *r, const int *axes, int tile)
{
    const struct array *const to = &l->array[tile];
    struct ref made = {.of = tile, .rank = to->rank};
    for (int t = 0; t < to->rank; t++)
        for (int f = 0; f < l->array[r->of].rank; f++)
            if (axes[f] == to->axes[t]) made.sub[t] = r->sub[f];
    return made;
}

/* Makes operand *r read a copy in the type of sums. */
static void read_copy(struct loops *l, const struct stmts *w, struct ref *r, int lane, int64_t lane_extent)
{
    int axes[MAX_RANK];
    axes_read(l, r, axes);
    *r = ref_of_copy(l, r, axes, packed_along(l, w, r, lane, lane_extent, PACK_NUMBERS, NULL));
}

/* Makes operand *r of s read a transposed copy of its tile. Returns the statement that copies. */
static struct stmt *read_transposed(struct loops *l, const struct stmt *s, struct ref *r, int lane)
{
    const struct array *a = &l->array[r->of];
    struct array tile = {.dtype = a->dtype, .name = arena_printf(l->module->arena, "%s_turned", a->name)};
    for (int pass = 0; pass < 2; pass++)
        for (int k = 0; k < r->rank; k++) {
            const int axis = ref_axis(r, k);
            if (axis < 0 || !(stmt_axes(s) >> axis & 1) || (axis == lane) != (pass == 1)) continue;
            tile.axes[tile.rank] = axis;
            tile.extent[tile.rank++] = a->extent[k];
        }
    struct stmt *const copy = stmt_fill(l, LOOPS_COPY, tile);
    copy->operand[copy->operands++] = *r;
    *r = copy->assign[0].to;
    return copy;
}

/* Whether the product can compute inner products. For few queries, they are cheaper than a copy of the second
   operand. Both operands must be contiguous along the summed axis, in whole vectors. */
static bool along_sum(const struct compilation *c, const struct stmt *s)
{
    if (!c->program.few || s->op != LOOPS_DOT) return false;
    const struct ref *row = &s->operand[0], *lane = &s->operand[1];
    const int64_t lanes = c->target->vector_bytes / dtype_bytes(dtype_of_sums(c->spec->dtype));
    return c->loops->array[row->of].kind == ARRAY_TILE && c->loops->array[lane->of].kind == ARRAY_INPUT &&
           ref_axis(row, row->rank - 1) == s->axis && ref_in_vectors(c->loops, lane, s->axis, lanes);
}

/* For few queries, a product can widen its second operand, an input stored along the lanes. */
static bool widens(const struct compilation *c, const struct stmt *s)
{
    if (!c->program.few || s->op != LOOPS_DOT || s->operands != 2) return false;
    const struct ref *lane = &s->operand[1];
    const int64_t lanes = c->target->vector_bytes / dtype_bytes(dtype_of_sums(c->spec->dtype));
    return s->assign[0].fold == FOLD_SUM && !s->assign[0].compensation &&
           c->loops->array[lane->of].kind == ARRAY_INPUT && ref_in_vectors(c->loops, lane, s->axes[s->rank - 1], lanes);
}

/* Makes operand *r of the current MAP, which has a region, read a copy whose last axis is the rows (emit/decayed.c). */
static void read_by_row(struct loops *l, const struct stmts *w, struct ref *r)
{
    const struct stmt *const s = w->now, *const loop = stmts_over(w, s->axes[0]);
    if (loop && ref_uses_axis(r, s->axes[0]) && !ref_uses_axis(r, s->axes[s->rank - 1]))
        read_copy(l, w, r, s->axes[0], loop->step);
}

/* Makes the copies, in two runs. The first run makes copies that change the order of axes. The second, with
   `widening`, makes copies that widen. */
static void copy_operands(const struct compilation *c, bool widening)
{
    struct loops *l = c->loops;
    struct stmts w = {.place = &l->body};
    for (struct stmt *s; (s = stmts_next(&w));) {
        bool of_pairs = s->op == LOOPS_DOT && l->array[s->operand[1].of].paired;
        if ((s->op != LOOPS_MAP && s->op != LOOPS_DOT) || s->rank == 0 || of_pairs) continue;
        int lane = s->axes[s->rank - 1];
        const struct axis *const along = &l->module->axis[lane];
        const int64_t extent = along->source == SIZE_ROWS ? along->extent : stmts_extent(&w, l->module, lane);
        for (int k = 0; k < s->operands; k++) {
            struct ref *r = &s->operand[k];
            const struct array *a = &l->array[r->of];
            const bool narrow = dtype_is_narrow(a->dtype);
            /* Rows of the caller (pass/few_queries.c) are not at equal distances, which a product needs. */
            if (!widening && s->op == LOOPS_DOT && k == 0 && (a->kind == ARRAY_INPUT || is_declared(c, a)) &&
                axes_set(a->rank, a->axes) & axes_with_size(l->module, SIZE_ROWS)) {
                read_copy(l, &w, r, -1, 0);
                continue;
            }
            if (k == 1 && (along_sum(c, s) || (widening && narrow && widens(c, s)))) continue;
            if (widening && s->op == LOOPS_MAP && a->kind == ARRAY_PARAM) continue; /* a map widens what it reads */
            const bool vectors = extent && ref_uses_axis(r, lane); /* false: the copy keeps the order of axes */
            if (widening && narrow)
                read_copy(l, &w, r, vectors ? lane : -1, vectors ? extent : 0);
            else if (!widening && !along_lanes(c, r, a, lane) && a->kind == ARRAY_TILE) {
                struct stmt *const copy = read_transposed(l, s, r, lane);
                while (*w.at != s) w.at = &(*w.at)->next;
                copy->next = s;
                *w.at = copy;
            } else if (!widening && extent && !along_lanes(c, r, a, lane))
                read_copy(l, &w, r, lane, extent);
            else if (!widening && s->op == LOOPS_MAP && s->where && a->kind != ARRAY_TILE)
                read_by_row(l, &w, r);
        }
    }
}

/* Returns whether the map sets a tile of two axes, element by element, from arrays of the caller alone. */
static bool maps_input(const struct loops *l, const struct stmt *s)
{
    bool maps = s->op == LOOPS_MAP && s->rank == 2 && s->assigns == 1 && s->assign[0].fold == FOLD_SET && !s->where &&
                !s->when && !s->ranges;
    for (int k = 0; k < s->operands && maps; k++) maps = l->array[s->operand[k].of].kind != ARRAY_TILE;
    const struct ref *const to = &s->assign[0].to;
    return maps && to->rank == 2 && ref_axis(to, 0) == s->axes[0] && ref_axis(to, 1) == s->axes[1];
}

/* If a tile is only copied with its axes exchanged, its map computes the elements in that order, without the copy. For
   a few queries, whole vectors of their elements then replace mostly empty vectors of queries. */
static void turn_maps(struct loops *l)
{
    struct stmts w = {.list = l->body};
    for (struct stmt *s; (s = stmts_next(&w));) {
        const struct stmt *const copy = s->next;
        if (!copy || copy->op != LOOPS_COPY || !maps_input(l, s)) continue;
        const int tile = s->assign[0].to.of;
        if (copy->operand[0].of != tile || copy->rank != 2 || copy->axes[0] != s->axes[1] ||
            copy->axes[1] != s->axes[0] || ref_axis(&copy->operand[0], 0) != s->axes[0] ||
            ref_axis(&copy->operand[0], 1) != s->axes[1] || stmts_touching(l->body, tile) != 2)
            continue;
        s->axes[0] = copy->axes[0];
        s->axes[1] = copy->axes[1];
        s->assign[0].to = copy->assign[0].to;
        s->next = copy->next;
    }
}

void pass_pack(struct compilation *c)
{
    if (c->program.few) turn_maps(c->loops);
    copy_operands(c, false);
    copy_operands(c, true);
}
