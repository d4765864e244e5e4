/* Makes the loops over queries, over slices, and over the queries of a chunk. */
#include "lower.h"
#include "../../analysis/analysis.h"

#include <string.h>

const struct expr *lower_chunk_number(const struct lowering *x, const struct expr *place)
{
    if (!x->after) return place;
    const struct expr *last = expr_sub(x->m, expr_size(x->m, x->chunk), expr_int(x->m, 1));
    return expr_sub(x->m, last, place);
}

/* Replaces the formula of a query's chunk by the index of the loop over chunks. This is done in s, in statements
   after s, and inside these statements. */
static void name_chunks(struct lowering *x, struct stmt *s)
{
    const struct expr *own = lower_chunk_number(x, expr_index(x->m, x->chunk));
    for (; s; s = s->next) {
        if (s->where) s->where = expr_replace(x->m, s->where, x->chunk_of, own);
        for (int k = 0; k < s->assigns; k++)
            if (s->assign[k].expr) s->assign[k].expr = expr_replace(x->m, s->assign[k].expr, x->chunk_of, own);
        for (int k = 0; k < s->operands; k++)
            for (int n = 0; n < s->operand[k].rank; n++)
                if (x->l->array[s->operand[k].of].kind == ARRAY_PARAM)
                    s->operand[k].sub[n] = expr_replace(x->m, s->operand[k].sub[n], x->chunk_of, own);
        name_chunks(x, s->body);
    }
}

/* Returns the first query whose last key is at least `min`, as an index of `axis`. The index may be negative.
   Example: min - 5 for last = i + 5. `last` never gets smaller from query to query. */
static const struct expr *first_query(const struct lowering *x, int axis, const struct expr *last,
                                      const struct expr *min)
{
    struct module *const m = x->m;
    const struct expr *zero = expr_int(m, 0),
                      *none = expr_size(m, axis), *const a = last->arg[0], *const b = last->arg[1], *of;
    int64_t by;
    if (!expr_has(last, EXPR_INDEX)) return expr_select(m, expr_le(m, min, last), zero, none);
    if (last->op == EXPR_INDEX) return min;
    if (last->op == EXPR_MIN || last->op == EXPR_MAX)
        return expr_make(m, last->op == EXPR_MIN ? EXPR_MAX : EXPR_MIN, first_query(x, axis, a, min),
                         first_query(x, axis, b, min), NULL);
    if (floor_quotient(m, last, &of, &by)) return first_query(x, axis, of, expr_mul(m, min, b));
    if (last->op == EXPR_DIV) /* rounds towards 0 */
        return first_query(x, axis, a,
                           expr_sub(m, expr_mul(m, min, b),
                                    expr_select(m, expr_lt(m, zero, min), zero, expr_sub(m, b, expr_int(m, 1)))));
    const bool rounded = last->op == EXPR_SUB && b->op == EXPR_FLOORMOD && expr_has(b, EXPR_INDEX);
    if (rounded || last->op == EXPR_MUL) {
        by = (rounded ? b->arg[1] : b)->integer;
        const struct expr *const quotient = floor_divide(m, expr_add(m, min, expr_int(m, by - 1)), by);
        return first_query(x, axis, a, rounded ? expr_mul(m, quotient, expr_int(m, by)) : quotient);
    }
    const struct expr *const inner = expr_has(a, EXPR_INDEX) ? a : b;
    return first_query(x, axis, inner, expr_sub(m, min, expr_replace(m, last, inner, zero)));
}

void lower_chunk_range(const struct lowering *x, int axis, const struct expr *last, const struct expr **from,
                       const struct expr **to)
{
    const struct expr *zero = expr_int(x->m, 0), *chunk = lower_chunk_number(x, expr_lo(x->m, x->chunk)),
                      *length = expr_int(x->m, x->m->axis[x->chunk].extent);
    const struct expr *begin = expr_mul(x->m, chunk, length);
    const struct expr *end = expr_mul(x->m, expr_add(x->m, chunk, expr_int(x->m, 1)), length);
    const struct expr *none_before = expr_eq(x->m, chunk, zero);
    *from = expr_select(x->m, none_before, zero, expr_max(x->m, zero, first_query(x, axis, last, begin)));
    *to = expr_min(x->m, expr_size(x->m, axis), first_query(x, axis, last, end));
}

/* Returns the axes of the loops over queries, in order. An output of slices' sums lacks the axes of its rows. */
static int query_axes(const struct lowering *x, const bool *open, int axes[MAX_AXES])
{
    const struct value *const out = &x->g->value[x->output];
    int count = 0;
    const bool across = graph_find_scan(x->g) >= 0 && !value_has_axis(out, x->lane); /* lower_sums_across */
    for (int k = 0; k < out->rank; k++) {
        const int axis = across && out->axes[k] == x->stream ? x->lane : out->axes[k];
        if (lower_run_time(x, axis) && (across || !open[axis]) && axis != x->slices) axes[count++] = axis;
    }
    for (int a = 0; a < x->m->axes && lower_has_slices(x, out); a++)
        if (x->within >> a & 1) axes[count++] = a;
    return count;
}

void lower_query_loops(struct lowering *x, struct stmt ***at, const bool *open, bool parallel, struct stmt *body)
{
    struct stmt **inner = *at, **first = *at;
    const struct expr *zero = expr_int(x->m, 0);
    int axes[MAX_AXES];
    const int count = query_axes(x, open, axes);
    for (int k = 0; k < count; k++) {
        const int axis = axes[k];
        const struct expr *from = zero, *to = expr_size(x->m, axis);
        if (axis == x->lane && x->prefix) lower_chunk_range(x, axis, x->last, &from, &to);
        struct stmt *loop = lower_loop_over(x, &inner, axis, from, to, axis == x->lane ? x->c->tiling.tile_q : 1);
        loop->parallel = parallel;
        for (int v = 0; v < x->g->values && axis == x->lane; v++) loop->ordered |= x->lowered[v].stage == ACROSS;
        if (first == *at) *at = inner; /* the next statement goes after the outermost loop */
        inner = &loop->body;
    }
    *inner = body;
}

void lower_slice_loops(struct lowering *x, struct stmt ***at, struct stmt *body)
{
    struct module *m = x->m;
    const struct expr *zero = expr_int(m, 0), *unit = expr_lo(m, x->slices);
    struct stmt **inner = *at, *loop;
    for (int a = 0; a < m->axes; a++) {
        bool kept = a == x->slices;
        for (int o = 0; o < x->g->outputs; o++) {
            const struct value *v = &x->g->value[x->g->output[o].value];
            kept |= lower_has_slices(x, v) && lower_run_time(x, a) && value_has_axis(v, a);
        }
        if (!kept) continue;
        loop = lower_loop_over(x, &inner, a, zero, expr_size(m, a), 1);
        loop->parallel = true;
        inner = &loop->body;
    }
    *inner = *x->opened;
    while (*inner) inner = &(*inner)->next;
    struct stmt **end = NULL;
    for (int a = 0; a < m->axes; a++) {
        if (!(x->within >> a & 1) || a == x->lane) continue;
        loop = lower_loop_over(x, &inner, a, zero, expr_size(m, a), 1);
        if (!end) end = inner;
        inner = &loop->body;
    }
    const struct row_slices rows = slices_of_rows(m, x->within, x->lane, x->slices, EXPR_LO);
    const struct expr *from = expr_mul(m, unit, rows.length), *to = expr_add(m, from, rows.length);
    from = expr_max(m, zero, expr_sub(m, from, rows.first));
    to = expr_min(m, expr_size(m, x->lane), expr_sub(m, to, rows.first));
    lower_loop_over(x, &inner, x->lane, from, to, x->c->tiling.tile_q)->body = body;
    *(end ? end : inner) = *x->closed;
}

void lower_copy_outputs(struct lowering *x, bool of_slices, struct stmt ***at)
{
    for (int o = 0; o < x->g->outputs; o++) {
        const int v = x->g->output[o].value;
        const enum stage stage = x->lowered[v].stage;
        if (lower_has_slices(x, &x->g->value[v]) != of_slices || stage == ACROSS || stage == AGAIN) continue;
        if (x->done && v == x->solve) continue; /* lower_solve copies the solution */
        if (x->g->value[v].op == GRAPH_SELECT)
            lower_list(x, o, at);
        else
            lower_copy_output(x, o, at);
    }
}

/* Returns the outer axes that a statement depends on, as bits. `of_tile` has those of each tile computed so far. */
static uint32_t outer_axes(const struct lowering *x, const struct stmt *s, uint32_t *of_tile)
{
    uint32_t axes = 0;
    for (int k = 0; k < s->operands; k++) {
        axes |= of_tile[s->operand[k].of];
        for (int a = 0; a < x->m->axes; a++) axes |= (uint32_t)ref_uses_axis(&s->operand[k], a) << a;
    }
    for (int k = 0; k < s->assigns; k++)
        if (s->assign[k].expr) axes |= expr_axes(s->assign[k].expr);
    for (const struct stmt *in = s->body; in; in = in->next) axes |= outer_axes(x, in, of_tile);
    axes &= x->outer;
    for (int k = 0; k < s->assigns; k++)
        if (x->l->array[s->assign[k].to.of].kind == ARRAY_TILE) of_tile[s->assign[k].to.of] |= axes;
    return axes;
}

/* All sums share the loops over outer axes. A sum that does not depend on one of these axes runs for its first index
   only. */
static void run_sums_once(struct lowering *x, struct stmt **at)
{
    uint32_t *const of_tile = arena_alloc(x->m->arena, (size_t)x->l->arrays * sizeof *of_tile);
    memset(of_tile, 0, (size_t)x->l->arrays * sizeof *of_tile);
    for (; *at; at = &(*at)->next) {
        struct stmt *const s = *at;
        const uint32_t missing = x->outer & ~outer_axes(x, s, of_tile);
        if (!missing || !s->assigns || s->assign[0].fold != FOLD_SUM) continue;
        struct stmt *const first = stmt_new(x->l, LOOPS_IF);
        for (int a = 0; a < x->m->axes; a++) {
            if (!(missing >> a & 1)) continue;
            const struct expr *const is_first = expr_le(x->m, expr_lo(x->m, a), expr_int(x->m, 0));
            first->where = first->where ? expr_and(x->m, first->where, is_first) : is_first;
            first->axis = a;
        }
        first->next = s->next;
        first->body = s;
        s->next = NULL;
        *at = first;
    }
}

/* Makes the loops for a result that sums over outer axes only, around the statements `inside`. If there is an axis
   of keys, a loop over tiles of keys contains these loops. */
static void outer_loops(struct lowering *x, struct stmt *inside)
{
    const struct expr *zero = expr_int(x->m, 0);
    struct stmt **at = x->before, **inner;
    if (x->stream >= 0)
        at = &lower_loop_over(x, &x->before, x->stream, zero, expr_size(x->m, x->stream), x->c->tiling.tile_k)->body;
    *at = *x->opened;
    while (*at) at = &(*at)->next;
    inner = at;
    for (int a = 0; a < x->m->axes; a++)
        if (x->outer >> a & 1)
            inner = &lower_loop_over(x, &(struct stmt **){inner}, a, zero, expr_size(x->m, a), 1)->body;
    *inner = inside;
    while (*at) at = &(*at)->next;
    *at = *x->closed;
    while (x->stream < 0 && *x->before) x->before = &(*x->before)->next;
}

struct stmt *lower_query_body(struct lowering *x)
{
    struct stmt **before = lower_new_list(x), **inside = lower_new_list(x), **after = lower_new_list(x);
    x->before = before;
    x->inside = inside;
    x->end = after;
    x->open = x->opened = lower_new_list(x);
    x->close = x->closed = lower_new_list(x);
    lower_begin_across(x);
    lower_values(x, AFTER);
    lower_copy_outputs(x, false, x->outer_only ? &x->close : &x->end);
    if (!x->prefix) lower_copy_outputs(x, true, &x->close);
    if (x->outer_only) {
        run_sums_once(x, inside);
        outer_loops(x, *inside);
    } else if (*inside) {
        lower_regions(x, *inside, expr_int(x->m, 0), x->stream < 0 ? NULL : expr_size(x->m, x->stream));
    }
    lower_again(x);
    *x->before = *after;
    if (x->prefix) name_chunks(x, *before);
    return *before;
}
