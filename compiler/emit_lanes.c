/* Functions that move elements between lanes. A tile is copied transposed in squares of as many rows as a vector has elements, exchanged in registers,
   so that every cache line is written whole: rows may be far apart, and an element-wise copy would touch a line for every element. */
#include "compiler.h"

/* Transposition swaps the bits of row and column numbers one by one: rows `half` apart exchange the elements that are not yet on their side. */
static void exchange(struct emitter *x, int half)
{
    struct text upper = {0}, lower = {0};
    for (int k = 0; k < x->lanes; k++) {
        const char *comma = k ? ", " : "";
        text_add(&upper, "%s%d", comma, k & half ? x->lanes + k - half : k);
        text_add(&lower, "%s%d", comma, k & half ? x->lanes + k : k + half);
    }
    emit_line(x, "        UNROLL for (int r = 0; r < %d; r++)", x->lanes);
    emit_line(x, "            if (!(r & %d)) {", half);
    emit_line(x, "                const vec_%s a = t[r], b = t[r + %d];", x->suffix, half);
    emit_line(x, "                t[r] = __builtin_shufflevector(a, b, %s);", upper.data);
    emit_line(x, "                t[r + %d] = __builtin_shufflevector(a, b, %s);", half, lower.data);
    emit_line(x, "            }");
    text_free(&upper);
    text_free(&lower);
}

enum { AHEAD = 64 }; /* rows: so far that they have come from memory by the time they are copied */

static void one_function(struct emitter *x, const char *name, const char *stored, const char *load, const char *widened)
{
    const char *target = x->c->target->attribute[0] ? arena_printf(x->m->arena, "TARGET_%s ", x->suffix) : "";
    emit_line(x, "/* to[y][x] = from[x][y] */");
    emit_line(x, "%sAPART void %s_%s(const %s *from, int64_t from_row, int64_t rows, int64_t columns, %s *to, int64_t to_row)", target, name, x->suffix, stored,
              x->real);
    emit_line(x, "{");
    emit_line(x, "    const int64_t whole = rows - rows %% %d, deep = columns - columns %% %d;", x->lanes, x->lanes);
    emit_line(x, "    for (int64_t k = 0; k < whole / %d * (deep / %d); k++) {", x->lanes, x->lanes);
    emit_line(x, "        const int64_t row = k / (deep / %d) * %d, column = k %% (deep / %d) * %d;", x->lanes, x->lanes, x->lanes, x->lanes);
    emit_line(x, "        vec_%s t[%d];", x->suffix, x->lanes);
    emit_line(x, "        UNROLL for (int r = 0; r < %d; r++) __builtin_prefetch(from + (row + r + %d) * from_row + column, 0, 2);", x->lanes, AHEAD);
    emit_line(x, "        UNROLL for (int r = 0; r < %d; r++) t[r] = %s_%s(from + (row + r) * from_row + column);", x->lanes, load, x->suffix);
    for (int half = 1; half < x->lanes; half *= 2) exchange(x, half);
    emit_line(x, "        UNROLL for (int r = 0; r < %d; r++) store_%s(to + (column + r) * to_row + row, t[r]);", x->lanes, x->suffix);
    emit_line(x, "    }");
    emit_line(x, "    for (int64_t row = 0; row < rows; row++)");
    emit_line(
        x, "        for (int64_t column = row < whole ? deep : 0; column < columns; column++) to[column * to_row + row] = %s(from[row * from_row + column]);",
        widened);
    emit_line(x, "}");
}

static void lane_sum(struct emitter *x)
{
    const char *target = x->c->target->attribute[0] ? arena_printf(x->m->arena, "TARGET_%s ", x->suffix) : "";
    emit_line(x, "%sINLINE %s lane_sum_%s(vec_%s x)", target, x->real, x->suffix, x->suffix);
    emit_line(x, "{");
    for (int half = x->lanes / 2; half > 0; half /= 2) {
        struct text order = {0};
        for (int k = 0; k < x->lanes; k++) text_add(&order, "%s%d", k ? ", " : "", k ^ half);
        emit_line(x, "    x += __builtin_shufflevector(x, x, %s);", order.data);
        text_free(&order);
    }
    emit_line(x, "    return x[0];");
    emit_line(x, "}");
}

void emit_lane_functions(struct emitter *x)
{
    if (x->uses_lane_sum) lane_sum(x);
    if (x->uses_transpose) one_function(x, "transpose", x->real, "load", "");
    if (x->uses_widening) one_function(x, "transpose_widened", "uint16_t", "widened", "widened");
    if (x->uses_transpose || x->uses_widening || x->uses_lane_sum) text_add(x->out, "\n");
}
