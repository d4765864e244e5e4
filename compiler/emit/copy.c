/* Prints COPY statements. They copy a part of an array to a tile, or a tile to an array. A copy can also widen
   narrow elements, round to bf16, transpose, or join two neighbours into a pair. */
#include "printer.h"
#include "../analysis/analysis.h"

#include <string.h>

/* Prints a copy that widens whole vectors of narrow elements. Returns false if the copy is of another kind. */
static bool emit_copy_widened(struct emitter *x, const struct stmt *s)
{
    const struct ref *to = &s->assign[0].to, *from = &s->operand[0];
    const struct array *a = &x->l->array[from->of];
    int lane = s->axes[s->rank - 1];
    const struct axis *axis = &x->m->axis[lane];
    if (!dtype_is_narrow(a->dtype) || ref_axis(from, from->rank - 1) != lane || axis->source != SIZE_CONSTANT ||
        axis->extent % x->lanes || !emit_adjacent(x, from, lane))
        return false;
    emit_line(x, "/* %s = %s, widened */", emit_array(x, to), emit_array(x, from));
    const bool keys = s->rank == 2 && emit_tiled(x, s->axes[0]) && x->c->target->early_for_several;
    for (int k = 0; k < s->rank; k++) {
        const bool last = k + 1 == s->rank;
        emit_loop(x, 4 * k, s->axes[k], last ? x->lanes : 0, last && keys ? " {" : "");
    }
    emit_line(x, "%*sstore_%s(%s, %s);", 4 * s->rank, "", x->suffix, emit_address(x, to),
              emit_widened(x, from, "widened"));
    if (!keys) return true;
    emit_line(x, "%*s__builtin_prefetch(%s + %d * %s, 0, 2);", 4 * s->rank, "", emit_address(x, from),
              x->c->target->early_for_several, emit_step(x, from, s->axes[0]));
    emit_line(x, "%*s}", 4 * (s->rank - 1), "");
    return true;
}

/* Returns C for the end of the range of `lane`, rounded up to whole vectors from its start. */
static const char *padded_end(struct emitter *x, int lane)
{
    const char *const first = emit_first(x, lane), *const range = emit_range(x, lane);
    const bool zero = emit_starts_at_zero(x, lane);
    return emit_format(x, "%s%sround_up(%s, %d)", zero ? "" : first, zero ? "" : " + ", range, x->lanes);
}

/* Returns how many rows of `axis` a transposition prefetches early. If the next tile of this thread is unknown, it
   prefetches the next rows of the current tile. If chunks run from the last one on, the next tile is before it. */
static int prefetched_rows(const struct emitter *x, int axis)
{
    if (x->c->graph->by_chunks && chunk_direction(x->c->graph, 0) < 0) return -(int)x->c->tiling.tile_k;
    return x->from_last[axis] && !x->block[axis] ? x->lanes : PREFETCH_ROWS;
}

/* Prints a copy that transposes, because the last axes of the arrays differ. Returns false if the copy is of another
   kind. If `pads`, zeros fill the last vector of each row. */
static bool emit_copy_transposed(struct emitter *x, const struct stmt *s, bool pads)
{
    const struct ref *to = &s->assign[0].to, *from = &s->operand[0];
    const bool widens = dtype_is_narrow(x->l->array[from->of].dtype),
               narrows = dtype_bytes(x->l->array[to->of].dtype) == 2;
    if (s->rank != 2 || (widens && narrows)) return false;
    int row = ref_axis(to, to->rank - 1), column = ref_axis(from, from->rank - 1);
    if (row >= 0 && x->m->axis[row].source == SIZE_ROWS && x->l->array[from->of].kind != ARRAY_TILE)
        return false; /* SIZE_ROWS: rows of several heads have no common stride */
    if (row >= 0 && ref_computes_with(from, row)) return false; /* rows at computed subscripts have no common stride */
    bool both = (row == s->axes[0] && column == s->axes[1]) || (row == s->axes[1] && column == s->axes[0]);
    if (!both || !emit_adjacent(x, from, column) || !emit_adjacent(x, to, row)) return false;
    const bool out = x->l->array[to->of].kind == ARRAY_OUTPUT;
    const char *rows = emit_range(x, row), *to_row = emit_step(x, to, column), *name = x->m->axis[row].name;
    const bool pads_itself = pads && !widens && !narrows;
    emit_line(x, "transpose%s%s_%s(%s, %s, %s, %s, %s, %s, %d);",
              widens        ? "_widened"
              : narrows     ? "_narrowed"
              : out         ? "_out"
              : pads_itself ? "_padded"
                            : "",
              emit_type_suffix(x->m, x->l->array[from->of].dtype), x->suffix, emit_corner(x, s, from),
              emit_step(x, from, row), rows, emit_range(x, column), emit_corner(x, s, to), to_row,
              s->coming ? 0 : prefetched_rows(x, out || narrows ? column : row));
    if (!pads || pads_itself) return true;
    const char *other = x->m->axis[column].name; /* the inner loop writes neighbouring elements */
    emit_line(x, "for (int64_t %s = 0; %s < %s; %s++)", other, other, emit_range(x, column), other);
    emit_line(x, "    for (int64_t %s = %s; %s < %s; %s++) %s = 0;", name, emit_end(x, row), name, padded_end(x, row),
              name, emit_element(x, to));
    return true;
}

/* Prints a copy of rows that are contiguous in both arrays. Returns false if the copy is of another kind. If `pads`,
   zeros fill the last vector of each row. */
static bool emit_copy_rows(struct emitter *x, const struct stmt *s, bool pads)
{
    const struct ref *to = &s->assign[0].to, *from = &s->operand[0];
    const int row = s->axes[0], lane = s->axes[s->rank - 1];
    const struct array *const a = &x->l->array[from->of];
    const bool widens = a->kind == ARRAY_PARAM && dtype_is_narrow(a->dtype) &&
                        dtype_bytes(x->l->array[to->of].dtype) == 4,
               same = x->l->array[to->of].dtype == a->dtype;
    if (s->rank != 2 || (!same && !widens) || !axis_is_sequence(&x->m->axis[lane]) || emit_apart(x, lane)) return false;
    if (!emit_adjacent(x, from, lane) || !emit_adjacent(x, to, lane)) return false;
    const char *l = x->m->axis[lane].name, *lanes = emit_range(x, lane);
    emit_loop(x, 0, row, 0, " {");
    if (widens) {
        emit_line(x, "    int64_t %s = 0;", l);
        emit_line(x, "    for (; %s + %d <= %s; %s += %d)", l, x->lanes, lanes, l, x->lanes);
        emit_line(x, "        store_%s(%s, %s);", x->suffix, emit_address(x, to), emit_numbers_at(x, from));
        emit_line(x, "    for (; %s < %s; %s++)", l, lanes, l);
    } else
        emit_line(x, "    for (int64_t %s = 0; %s < %s; %s++)", l, l, lanes, l);
    emit_line(x, "        %s = %s;", emit_element(x, to), emit_number_at(x, from));
    if (pads) {
        emit_line(x, "    for (int64_t %s = %s; %s < round_up(%s, %d); %s++)", l, lanes, l, lanes, x->lanes, l);
        emit_line(x, "        %s = 0;", emit_element(x, to));
    }
    emit_line(x, "}");
    return true;
}

/* Prints a copy into a tile of pairs. If the number of elements is odd, the last element is paired with 0. The
   source is one of
   - a tile of f32, which is rounded to bf16,
   - an input of bf16 whose last axis is the lanes,
   - an input of bf16 whose pairs are adjacent. */
static void emit_copy_paired(struct emitter *x, const struct stmt *s)
{
    const struct ref *to = &s->assign[0].to, *from = &s->operand[0];
    const struct array *a = &x->l->array[from->of], *tile = &x->l->array[to->of];
    const int over = tile->axes[0], lane = tile->axes[1];
    const char *o = x->m->axis[over].name, *l = x->m->axis[lane].name, *many = emit_range(x, over),
               *lanes = emit_range(x, lane);
    const long long row = (long long)tile->extent[1];
    bool numbers = a->kind == ARRAY_TILE,
         whole = numbers || (x->m->axis[lane].source == SIZE_CONSTANT && x->m->axis[lane].extent % x->lanes == 0);
    emit_line(x, "/* %s = %s, in pairs along %s%s */", emit_array(x, to), emit_array(x, from), o,
              numbers ? ", rounded to bf16" : "");
    if (!numbers && ref_axis(from, from->rank - 1) == over) { /* elements of a pair are adjacent in memory */
        emit_line(x, "for (int64_t %s = 0; %s < round_up(%s, %d); %s++)", l, l, lanes, x->lanes, l);
        emit_line(x, "    for (int64_t %s = 0; %s < %s; %s += 2)", o, o, many, o);
        emit_line(x, "        set_pair_%s(%s + %s * %lld + 2 * %s, %s < %s ? pair_%s(%s) : 0);", x->suffix,
                  emit_array(x, to), o, row, l, l, lanes, x->suffix, emit_address(x, from));
        return;
    }
    struct ref second = *from;
    for (int k = 0; k < second.rank; k++)
        if (ref_axis(from, k) == over)
            second.sub[k] = expr_add(x->m, second.sub[k], expr_int(x->m, emit_apart(x, over) ? x->stride[over] : 1));
    const char *place = emit_format(x, "%s + %s * %lld + 2 * %s", emit_array(x, to), o, row, l),
               *one = emit_address(x, from), *two = emit_address(x, &second);
    emit_line(x, "for (int64_t %s = 0; %s < %s; %s += 2)", o, o, many, o);
    emit_line(x, "    for (int64_t %s = 0; %s < %s; %s%s)", l, l, lanes, l,
              whole ? emit_format(x, " += %d", x->lanes) : "++");
    if (numbers)
        emit_line(x, "        store_paired_%s(%s, load_%s(%s), %s + 1 < %s ? load_%s(%s) : splat_%s(0));", x->suffix,
                  place, x->suffix, one, o, many, x->suffix, two, x->suffix);
    else if (whole)
        emit_line(x, "        join_%s(%s, %s, %s + 1 < %s ? %s : NULL);", x->suffix, place, one, o, many, two);
    else {
        emit_line(x, "        set_pair_%s(%s, (int32_t)(%s | (%s + 1 < %s ? (uint32_t)%s << 16 : 0)));", x->suffix,
                  place, emit_element(x, from), o, many, emit_element(x, &second));
    }
}

/* Prints a copy that rounds rows of f32 to bf16. A 0 follows an odd number of elements. */
static void emit_copy_rounded(struct emitter *x, const struct stmt *s)
{
    const struct ref *to = &s->assign[0].to, *from = &s->operand[0];
    const int row = s->axes[0], lane = s->axes[1];
    const char *l = x->m->axis[lane].name, *lanes = emit_range(x, lane);
    emit_line(x, "/* %s = %s, rounded to bf16 */", emit_array(x, to), emit_array(x, from));
    emit_loop(x, 0, row, 0, " {");
    emit_line(x, "    for (int64_t %s = 0; %s < %s; %s += %d)", l, l, lanes, l, x->lanes);
    emit_line(x, "        store_rounded_%s(%s, load_%s(%s));", x->suffix, emit_address(x, to), x->suffix,
              emit_address(x, from));
    emit_line(x, "    for (int64_t %s = %s; %s < round_up(%s, 2); %s++) %s = 0;", l, lanes, l, lanes, l,
              emit_element(x, to));
    emit_line(x, "}");
}

/* The state of keep_part: the lanes of a copy, and its other axes as bits. */
struct kept_lanes {
    struct emitter *x;
    int lane;
    uint32_t rows;
    int64_t lanes;
};

/* Computes the largest slow parts of an expression that depend on the lanes, but not on the rows, once for all rows,
   into an array. */
static enum answer keep_part(void *of, const struct expr *e)
{
    const uint64_t slow = EXPR_BIT(EXPR_MOD) | EXPR_BIT(EXPR_FLOORMOD) | EXPR_BIT(EXPR_TRUNC);
    const struct kept_lanes *const k = of;
    struct emitter *const x = k->x;
    if (!(expr_axes(e) >> k->lane & 1) || x->parts == MAX_KEPT_PARTS) return ANSWER_NO;
    if (expr_axes(e) & k->rows || e->type != TYPE_INT || e->op == EXPR_INDEX) return ANSWER_ARGUMENTS;
    if (!expr_takes(e, EFFORT_SLOW) && !expr_has_one(e, slow)) return ANSWER_NO;
    const char *const l = x->m->axis[k->lane].name, *const name = emit_format(x, "part_%d", x->temporaries++);
    emit_line(x, "int64_t %s[%lld];", name, (long long)k->lanes);
    emit_line(x, "for (int64_t %s = 0; %s < %s; %s++) %s[%s] = %s;", l, l, emit_end(x, k->lane), l, name, l,
              emit_integer(x, e));
    x->part[x->parts] = e;
    x->part_c[x->parts++] = emit_format(x, "%s[%s]", name, l);
    return ANSWER_NO;
}

/* Returns C for the element from->…[index], where `index` is an array with the index of each lane, which is computed
   first. So the compiler can use vectors for the indices. */
static const char *element_by_lane(struct emitter *x, const struct ref *from, int lane, int64_t lanes, int depth)
{
    const struct element_text at = emit_element_text(x, from);
    const char *const l = x->m->axis[lane].name, *const name = emit_format(x, "at_%d", x->temporaries++);
    emit_line(x, "%*sint64_t %s[%lld];", depth, "", name, (long long)lanes);
    emit_line(x, "%*sfor (int64_t %s = 0; %s < %s; %s++) %s[%s] = %s;", depth, "", l, l, emit_end(x, lane), l, name, l,
              at.offset ? at.offset : "0");
    return emit_widened_element(x, &x->l->array[from->of], emit_format(x, "%s[%s[%s]]", at.array, name, l));
}

/* Prints a copy at computed subscripts. The lanes are the innermost loop. If `pads`, zeros fill the last vector of
   each row. */
static void emit_copy_computed(struct emitter *x, const struct stmt *s, bool pads)
{
    const struct ref *const to = &s->assign[0].to, *const from = &s->operand[0];
    const int lane = s->axes[s->rank - 1], depth = 4 * (s->rank - 1);
    const char *const l = x->m->axis[lane].name, *const element = emit_element(x, to);
    const int64_t lanes = x->l->array[to->of].extent[to->rank - 1];
    uint32_t rows = 0;
    for (int k = 0; k + 1 < s->rank; k++) rows |= UINT32_C(1) << s->axes[k];
    const struct ref read = emit_read(x, from);
    for (int k = 0; k < read.rank && rows && emit_starts_at_zero(x, lane); k++)
        expr_find(read.sub[k], keep_part, &(struct kept_lanes){x, lane, rows, lanes});
    for (int k = 0; k + 1 < s->rank; k++) emit_loop(x, 4 * k, s->axes[k], 0, " {");
    const char *const value = x->parts ? element_by_lane(x, from, lane, lanes, depth) : emit_number_at(x, from);
    x->parts = 0;
    emit_loop(x, depth, lane, 0, emit_format(x, " %s = %s;", element, value));
    if (pads)
        emit_line(x, "%*sfor (int64_t %s = %s; %s < %s; %s++) %s = 0;", depth, "", l, emit_end(x, lane), l,
                  padded_end(x, lane), l, element);
    for (int k = s->rank - 2; k >= 0; k--) emit_line(x, "%*s}", 4 * k, "");
}

/* Returns C for the stride of the last axis, if it can differ from 1 and the copy is faster where it is 1. Otherwise
   returns NULL. */
static const char *other_stride(const struct emitter *x, const struct stmt *s)
{
    const struct ref *const from = &s->operand[0];
    const struct array *const a = &x->l->array[from->of];
    const int axis = from->rank ? ref_axis(from, from->rank - 1) : -1;
    if (!emit_strided(x, a) || axis < 0 || ref_computes_with(from, s->axes[s->rank - 1])) return NULL;
    for (int k = 0; k < s->rank; k++)
        if (s->axes[k] == axis) return emit_last_stride(x, a);
    return NULL;
}

static void copy(struct emitter *x, const struct stmt *s)
{
    const struct ref *to = &s->assign[0].to, *from = &s->operand[0];
    if (x->l->array[to->of].matrix) {
        emit_matrix_copy(x, s);
        return;
    }
    if (x->l->array[to->of].paired) {
        emit_copy_paired(x, s);
        return;
    }
    if (emit_copy_widened(x, s)) return;
    bool into_tile = x->l->array[to->of].kind == ARRAY_TILE;
    if (into_tile && x->l->array[to->of].dtype == DTYPE_BF16) {
        emit_copy_rounded(x, s);
        return;
    }
    int lane = s->axes[s->rank - 1];
    const char *l = x->m->axis[lane].name;
    const bool computed = x->l->array[from->of].kind == ARRAY_PARAM && ref_computes_with(from, lane);
    emit_line(x, "/* %s = %s%s */", emit_array(x, to), emit_array(x, from),
              computed                                            ? ", at computed subscripts"
              : into_tile                                         ? ", with zeros beyond the last row"
              : s->rank > 1 && ref_axis(to, to->rank - 1) != lane ? ", transposed back"
                                                                  : "");
    bool pads = into_tile && x->m->axis[lane].source != SIZE_CONSTANT;
    if (emit_copy_transposed(x, s, pads) || emit_copy_rows(x, s, pads)) return;
    if (computed) {
        emit_copy_computed(x, s, pads);
        return;
    }
    const bool by_rows = !pads && to->rank && ref_axis(to, to->rank - 1) == lane; /* rows are contiguous */
    if (pads)
        emit_line(x, "for (int64_t %s = %s; %s < %s; %s++)", l, emit_first(x, lane), l, padded_end(x, lane), l);
    else if (!by_rows)
        emit_loop(x, 0, lane, 0, "");
    const char *ahead = by_rows ? emit_row_ahead(x, s, 0) : NULL;
    if (by_rows && !ahead) ahead = emit_row_ahead(x, s, 1);
    for (int k = 0; k + 1 < s->rank; k++)
        emit_loop(x, 4 * (k + !by_rows), s->axes[k], 0, ahead && k + 2 == s->rank ? " {" : "");
    if (ahead) { /* once for each vector */
        emit_loop(x, 4 * (s->rank - 1), lane, x->lanes, "");
        emit_line(x, "%*s%s", 4 * s->rank, "", ahead);
    }
    if (by_rows) emit_loop(x, 4 * (s->rank - 1), lane, 0, "");
    const struct array *const given = &x->l->array[from->of];
    const char *value = dtype_is_narrow(given->dtype) && given->kind != ARRAY_PARAM ? emit_widened(x, from, "element")
                                                                                    : emit_number_at(x, from);
    if (dtype_bytes(x->l->array[to->of].dtype) == 2)
        value = emit_format(x, "narrowed_%s(%s)", dtype_name(x->m->dtype), value);
    if (pads) value = emit_format(x, "%s < %s ? %s : 0", l, emit_end(x, lane), value);
    emit_line(x, "%*s%s = %s;", 4 * s->rank, "", emit_element(x, to), value);
    if (ahead) emit_line(x, "%*s}", 4 * (s->rank - 2), "");
}

void emit_copy(struct emitter *x, const struct stmt *s)
{
    const char *const stride = other_stride(x, s);
    if (stride) {
        emit_open(x, "if (%s == 1) {", stride);
        x->contiguous = true;
        copy(x, s);
        x->contiguous = false;
        x->indent -= 4;
        emit_open(x, "} else {");
    }
    copy(x, s);
    if (!stride) return;
    emit_close(x);
}
