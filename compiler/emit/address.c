/* Prints the addresses of array elements as C. */
#include "emit.h"
#include "printer.h"
#include "../schedule/schedule.h"

#include <string.h>

const char *emit_first(const struct emitter *x, int axis)
{
    const char *const name = x->m->axis[axis].name;
    if (axis + 1 == x->new_rows) return emit_format(x, "%s_new - %s0", name, name);
    return x->cut[axis] ? emit_format(x, "%s0", name) : "0";
}

bool emit_starts_at_zero(const struct emitter *x, int axis)
{
    return axis + 1 != x->new_rows && !x->cut[axis];
}

const char *emit_end(const struct emitter *x, int axis)
{
    const char *name = x->m->axis[axis].name;
    if (emit_tiled(x, axis)) return emit_format(x, emit_apart(x, axis) ? "%s_count" : "%s1 - %s0", name, name);
    return x->cut[axis] ? emit_format(x, "%s1", name) : emit_size(x->m, axis);
}

void emit_loop(struct emitter *x, int deeper, int axis, int step, const char *body)
{
    const char *const name = x->m->axis[axis].name, *const next = step ? emit_format(x, " += %d", step) : "++";
    emit_line(x, "%*sfor (int64_t %s = %s; %s < %s; %s%s)%s", deeper, "", name, emit_first(x, axis), name,
              emit_end(x, axis), name, next, body);
}

/* Returns whether the array is a tile that has only a part of its constant axis `k`. Indices count from the part's
   start. */
static bool emit_part(const struct emitter *x, const struct array *a, int k)
{
    const struct axis *axis = &x->m->axis[a->axes[k]];
    return a->kind == ARRAY_TILE && axis->source == SIZE_CONSTANT && a->extent[k] < axis->extent;
}

const char *emit_bound(const struct compilation *c, const struct expr *e)
{
    struct emitter x = {.c = c, .l = c->loops, .m = c->loops->module};
    return emit_integer(&x, e);
}

bool emit_has_row_strides(const struct emitter *x, const struct array *a)
{
    const bool weights = program_weighs(&x->c->program) && a->kind == ARRAY_OUTPUT;
    return weights || (array_of_elements(x->l, a) && !emit_is_gradient_of_param(x, a));
}

bool emit_has_members(const struct emitter *x, const struct array *a)
{
    return axes_have(x->m, a->rank, a->axes, SIZE_ROWS) || axes_have(x->m, a->rank, a->axes, SIZE_MEMBERS);
}

int64_t emit_row_of_sums(const struct module *m, const struct array *a)
{
    const int64_t line = 64 / dtype_bytes(a->dtype), row = m->axis[a->axes[a->rank - 1]].extent;
    return (row + line - 1) / line * line;
}

bool emit_sums_of_queries(const struct emitter *x, const struct array *a)
{
    return a->sums && (axes_have(x->m, a->rank, a->axes, SIZE_N_Q) || name_is_sum_in_order(a->name));
}

const char *emit_head_index(const struct emitter *x, const struct array *a, const char *index)
{
    const struct kernel_array *const of = a->kind == ARRAY_INPUT ? emit_entry(x, a->name) : NULL;
    return of && of->shared ? emit_format(x, "%s / call->sharing", index) : index;
}

/* A distance in elements: `number` elements, times the C of `factor` if it is not NULL. */
struct step {
    int64_t number;
    const char *factor;
};

static const char *c_of_step(struct emitter *x, struct step step)
{
    if (!step.factor) return emit_whole(x, step.number);
    return step.number == 1 ? step.factor : emit_format(x, "%s * %lld", step.factor, (long long)step.number);
}

/* Returns the stride along an axis. It is 0 if the reference does not use the axis. */
static struct step stride_along(struct emitter *x, const struct ref *r, int axis)
{
    const struct array *a = &x->l->array[r->of];
    for (int k = 0; k < r->rank; k++) {
        if (ref_axis(r, k) != axis) continue;
        const bool rows = emit_of_rows(x, a), last = k == a->rank - 1;
        if (emit_strided(x, a) && !(last && x->contiguous)) return (struct step){1, emit_stride_of_caller(x, a, k)};
        if (last && !(rows && emit_strided_rows(x, a))) return (struct step){1, NULL};
        enum size_source source = x->m->axis[a->axes[k]].source;
        if (emit_sums_of_queries(x, a) && axis_is_sequence(&x->m->axis[a->axes[k]]))
            return (struct step){emit_row_of_sums(x->m, a), NULL};
        if (emit_has_row_strides(x, a) || rows || emit_strided_rows(x, a)) {
            const bool members = emit_has_members(x, a), row = axis_is_sequence(&x->m->axis[a->axes[k]]);
            const char *const name = emit_local(x, a->name);
            const char *const of = source == SIZE_BATCH                                ? "%s_batch"
                                   : source == SIZE_KV_HEADS && members                ? "members * %s_head"
                                   : source == SIZE_KV_HEADS || source == SIZE_MEMBERS ? "%s_head"
                                   : row                                               ? "%s_row"
                                                                                       : NULL;
            if (of) return (struct step){1, emit_format(x, of, name)};
        }
        int64_t constant = 1;
        const char *text = NULL;
        if (a->kind == ARRAY_TILE && axis_is_chunks(&x->m->axis[a->axes[k]])) /* the stride from one slot to the next */
            return (struct step){x->l->slot / dtype_bytes(a->dtype), NULL};
        for (int s = k + 1; s < a->rank; s++) {
            if (a->kind == ARRAY_TILE)
                constant *= a->extent[s] + (s + 1 == a->rank ? a->gap : 0);
            else if (x->m->axis[a->axes[s]].source == SIZE_CONSTANT)
                constant *= x->m->axis[a->axes[s]].extent;
            else
                text = text ? emit_format(x, "%s * %s", text, emit_size(x->m, a->axes[s]))
                            : emit_size(x->m, a->axes[s]);
        }
        return (struct step){constant, text};
    }
    return (struct step){0, NULL};
}

static struct step step_along(struct emitter *x, const struct ref *r, int axis)
{
    struct step step = stride_along(x, r, axis);
    if (emit_apart(x, axis) && x->l->array[r->of].kind != ARRAY_TILE) step.number *= x->stride[axis];
    return step;
}

const char *emit_step(struct emitter *x, const struct ref *r, int axis)
{
    return c_of_step(x, step_along(x, r, axis));
}

bool emit_steps_equal(struct emitter *x, const struct ref *a, const struct ref *b, int axis)
{
    const struct step one = step_along(x, a, axis), other = step_along(x, b, axis);
    return one.number == other.number && !one.factor && !other.factor;
}

bool emit_adjacent(struct emitter *x, const struct ref *r, int axis)
{
    const struct step step = step_along(x, r, axis);
    return step.number == 1 && !step.factor;
}

const char *emit_element(struct emitter *x, const struct ref *r)
{
    const struct element_text at = emit_element_text(x, r);
    return emit_format(x, "%s[%s]", at.array, at.offset ? at.offset : "0");
}

const char *emit_number_at(struct emitter *x, const struct ref *r)
{
    return emit_widened_element(x, &x->l->array[r->of], emit_element(x, r));
}

const char *emit_numbers_at(struct emitter *x, const struct ref *r)
{
    const struct array *const a = &x->l->array[r->of];
    const char *const address = emit_address(x, r);
    return a->kind == ARRAY_PARAM && dtype_is_narrow(a->dtype)
               ? emit_format(x, "widened%s_%s(%s, 0)", emit_type_suffix(x->m, a->dtype), x->suffix, address)
               : emit_format(x, "load_%s(%s)", x->suffix, address);
}

/* Returns a reference to rows of prefix sums that may read row -1, the sums before the first token (outer.c). */
static struct ref with_row_before(const struct emitter *x, struct ref r)
{
    const struct array *const a = &x->l->array[r.of];
    const enum prefix_array found = a->kind == ARRAY_PARAM ? prefix_array_find(a->name) : PREFIX_ARRAYS;
    for (int k = 0; k < r.rank && (found == PREFIX_OF_CHUNK || found == PREFIX_OF_CHUNK_LOW); k++)
        if (r.sub[k]->op == EXPR_MAX && r.sub[k]->arg[1] == expr_int(x->m, 0))
            r.sub[k] = expr_max(x->m, r.sub[k]->arg[0], expr_int(x->m, -1));
    return r;
}

struct ref emit_read(const struct emitter *x, const struct ref *r)
{
    return x->emission->outer_chunk && program_is_backward(&x->c->program) ? with_row_before(x, *r) : *r;
}

/* Pointers of INPUT, PARAM and OUTPUT arrays include the axes that the task fixes (b, g, m). */
struct element_text emit_element_text(struct emitter *x, const struct ref *given)
{
    const struct ref read = emit_read(x, given), *const r = &read;
    const struct array *a = &x->l->array[r->of];
    const char *const name = emit_local(x, a->name), *made = NULL, *array = name;
    if (emit_has_dropped(x, a) && !emit_is_of_key(x, r)) array = emit_format(x, "last_%s", array);
    if (x->gathers && array_in_pages(x->l, a))
        array = emit_format(x, "gathered_%s", array);
    else if (x->c->state.paged && array_in_pages(x->l, a))
        array = emit_format(x, "paged_%s", array);
    const struct stmt *const gathers = x->gathers;
    if (a->kind == ARRAY_TILE || array_in_pages(x->l, a)) x->gathers = NULL; /* copies of rows are in order */
    for (int k = 0; k < r->rank; k++) {
        if (a->kind != ARRAY_TILE && x->task_axis[a->axes[k]]) continue;
        if (dtype_is_packed(a->dtype) && k == r->rank - 1) continue; /* the address is that of the row */
        if (r->sub[k]->op == EXPR_INT && r->sub[k]->integer == 0) continue;
        struct ref along = *r; /* For `along`, stride_along returns the array's stride along axis k. */
        along.sub[k] = expr_index(x->m, a->axes[k]);
        const struct step stride = stride_along(x, &along, a->axes[k]);
        int axis = ref_axis(r, k);
        bool local = a->kind == ARRAY_TILE && axis == a->axes[k] && emit_tiled(x, axis);
        const char *index;
        if (local)
            index = x->m->axis[axis].name;
        else if (emit_part(x, a, k) || (a->kind == ARRAY_TILE && axis_is_chunks(&x->m->axis[a->axes[k]])))
            index = emit_format(x, "(%s - %s0)", emit_integer_text(x, r->sub[k], true), x->m->axis[a->axes[k]].name);
        else if (a->kind == ARRAY_TILE && emit_apart(x, a->axes[k]))
            index = emit_format(x, "((%s - %s0) / %lld)", emit_integer_text(x, r->sub[k], true),
                                x->m->axis[a->axes[k]].name, (long long)x->stride[a->axes[k]]);
        else if (a->kind == ARRAY_TILE && emit_tiled(x, a->axes[k]))
            index = emit_format(x, "(%s - %s0)", emit_integer_text(x, r->sub[k], true), x->m->axis[a->axes[k]].name);
        else
            index = emit_integer_text(x, r->sub[k], true);
        if (x->m->axis[a->axes[k]].source == SIZE_KV_HEADS) index = emit_head_index(x, a, index);
        const bool merged = x->m->axis[a->axes[k]].source == SIZE_ROWS;
        if (merged && (array_of_elements(x->l, a) || emit_strided_rows(x, a))) {
            made = emit_plus(x, made, "%s / n_q * %s_head + %s %% n_q * %s_row", index, name, index, name);
            continue;
        }
        if (merged && emit_strided(x, a)) { /* The caller's array has separate axes of query heads and of queries. */
            const int queries = emit_axis_of_caller(x, a, k);
            made = emit_plus(x, made, "%s / n_q * %s_stride_%d + %s %% n_q * %s_stride_%d", index, name, queries - 1,
                             index, name, queries);
            continue;
        }
        const char *const times = c_of_step(x, stride);
        made = stride.number == 1 && !stride.factor ? emit_plus(x, made, "%s", index)
               : strchr(times, '*')                 ? emit_plus(x, made, "%s * (%s)", index, times)
                                                    : emit_plus(x, made, "%s * %s", index, times);
    }
    x->gathers = gathers;
    return (struct element_text){array, made};
}

const char *emit_address(struct emitter *x, const struct ref *r)
{
    const struct element_text at = emit_element_text(x, r);
    return at.offset ? emit_format(x, "%s + %s", at.array, at.offset) : at.array;
}

const char *emit_widened(struct emitter *x, const struct ref *r, const char *function)
{
    const struct array *const a = &x->l->array[r->of];
    struct ref row = *r;
    row.sub[r->rank - 1] = expr_int(x->m, 0);
    return emit_format(x, "%s%s_%s(%s, %s)", function, emit_type_suffix(x->m, a->dtype), x->suffix,
                       emit_address(x, &row), emit_integer_text(x, r->sub[r->rank - 1], false));
}

const char *emit_array(const struct emitter *x, const struct ref *r)
{
    return emit_local(x, x->l->array[r->of].name);
}

const char *emit_held(const struct emitter *x, const struct array *a)
{
    return emit_format(x, "all_%s", emit_local(x, a->name));
}

int64_t emit_most_lanes(const struct emitter *x, const struct ref *to)
{
    const struct array *a = &x->l->array[to->of];
    const struct axis *axis = &x->m->axis[a->axes[a->rank - 1]];
    const int64_t room = a->kind == ARRAY_TILE ? a->extent[a->rank - 1] : INT64_MAX,
                  all = (axis->extent + x->lanes - 1) / x->lanes * x->lanes;
    return axis->source == SIZE_CONSTANT && all < room ? all : room;
}

const char *emit_range(struct emitter *x, int axis)
{
    const char *name = x->m->axis[axis].name;
    if (emit_apart(x, axis)) return emit_end(x, axis);
    if (axis + 1 == x->new_rows) return emit_format(x, "%s1 - %s_new", name, name);
    const bool whole = axis_is_counted(&x->m->axis[axis]) || axis_is_whole(&x->m->axis[axis]);
    return whole && !x->cut[axis] ? emit_size(x->m, axis) : emit_format(x, "%s1 - %s0", name, name);
}

/* Returns the address of the first element that s uses, if it uses all rows. */
static const char *whole_corner(struct emitter *x, const struct stmt *s, const struct ref *r)
{
    struct ref first = *r;
    const struct array *a = &x->l->array[r->of];
    for (int k = 0; k < r->rank; k++) {
        int axis = ref_axis(r, k);
        bool moves = axis == s->axis;
        for (int n = 0; n < s->rank; n++) moves |= axis == s->axes[n];
        if (!moves) continue;
        bool counted = a->kind == ARRAY_TILE || axis_is_counted(&x->m->axis[a->axes[k]]);
        if (x->cut[axis] && !emit_part(x, a, k)) counted = false;
        first.sub[k] = counted ? expr_int(x->m, 0) : expr_lo(x->m, axis);
    }
    /* Element 0 of a tile is the first element of the current range. */
    if (a->kind == ARRAY_TILE) {
        const char *made = emit_array(x, r);
        for (int k = 0; k < r->rank; k++)
            if (first.sub[k]->op != EXPR_INT) return emit_address(x, &first);
        return made;
    }
    return emit_address(x, &first);
}

const char *emit_corner(struct emitter *x, const struct stmt *s, const struct ref *r)
{
    const char *const corner = whole_corner(x, s, r);
    const int axis = x->new_rows - 1;
    if (axis < 0 || !ref_uses_axis(r, axis)) return corner;
    const char *const rows = x->m->axis[axis].name;
    return emit_adjacent(x, r, axis)
               ? emit_format(x, "%s + (%s_new - %s0)", corner, rows, rows)
               : emit_format(x, "%s + (%s_new - %s0) * (%s)", corner, rows, rows, emit_step(x, r, axis));
}

const char *emit_row_ahead(struct emitter *x, const struct stmt *s, int k)
{
    const struct ref *const r = k < s->operands ? &s->operand[k] : &s->assign[0].to;
    if (!(k < s->operands ? s->ahead >> k & 1 : s->ahead & AHEAD_OF_RESULT) || !emit_adjacent(x, r, s->axes[1]))
        return NULL;
    return emit_format(x, "__builtin_prefetch(%s + (%s) * %s, %d, 2);", emit_address(x, r), emit_range(x, s->axes[0]),
                       emit_step(x, r, s->axes[0]), x->l->array[r->of].kind == ARRAY_OUTPUT);
}
