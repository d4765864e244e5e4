/* Prints products on matrix units, and copies of their operands. An operand can store a number as two or three bf16
   terms whose sum is the number (struct array in ir/loops.h). */
#include "printer.h"

enum { UNIT_FINITE = 6 }; /* the place of `finite` in the arguments of unit_dot */

/* Returns C for the number of tile registers that the summed axis `axis` needs. */
static const char *steps_of(struct emitter *x, int axis)
{
    const struct axis *a = &x->m->axis[axis];
    const int depth = x->c->target->matrix.depth;
    if (a->source == SIZE_CONSTANT && !x->cut[axis]) return emit_whole(x, (a->extent + depth - 1) / depth);
    return emit_format(x, "(%s + %d) / %d", emit_range(x, axis), depth - 1, depth);
}

/* Returns the number of elements in a row of pairs, which has 2 per lane. */
static int64_t row_of_pairs(const struct array *a)
{
    return 2 * a->extent[a->rank - 1];
}

/* Prints a product in a tile that has pairs outside the region. Their weights are 0, and 0 * infinity is NaN. So
   infinite values are added separately, as in emit_over_region (product.c). */
static void over_region(struct emitter *x, const struct stmt *s, struct product_argument *argument, int arguments)
{
    const struct ref *to = &s->assign[0].to, *row = &s->operand[0], *lane = &s->operand[1];
    const struct array *sums = &x->l->array[to->of], *weights = &x->l->array[lane->of];
    const char *partial = s->when ? emit_integer(x, s->when) : s->ranges ? emit_outside(x, s) : NULL;
    const char *values = emit_corner(x, s, row), *values_row = emit_step(x, row, s->axes[0]),
               *rows = emit_range(x, s->axes[0]), *keys = emit_range(x, s->axis), *j = x->m->axis[s->axis].name;
    const int64_t depth = x->l->array[row->of].extent[1];
    if (depth > x->unit_depth) x->unit_depth = depth;
    emit_open(x,
              "if (__builtin_expect(%s!finite_paired_%s(%s, %s, %s, %s), 0)) { /* infinity and NaN affect only "
              "queries that see them */",
              partial ? emit_format(x, "(%s) && ", partial) : "", x->suffix, values, values_row, rows, keys);
    argument[UNIT_FINITE].value = "1";
    emit_product_call(x, "unit_dot", argument, arguments);
    emit_open(x, "for (int64_t %s = 0; %s < %s; %s++) {", j, j, keys, j);
    emit_line(x, "mask_%s in_region[%lld] = {0};", x->suffix, (long long)(sums->extent[sums->rank - 1] / x->lanes));
    emit_line(x, "if (finite_paired_%s(%s + %s, %s, %s, 1)) continue;", x->suffix, values, j, values_row, rows);
    emit_region(x, s->where, s->axes[1], "in_region");
    emit_line(x, "add_seen_paired_%s(%s, %s, %s, %s + %s, %s, %s + %s / 2 * %lld, %s %% 2, in_region, %s);", x->suffix,
              rows, emit_corner(x, s, to), emit_step(x, to, s->axes[0]), values, j, values_row, emit_corner(x, s, lane),
              j, (long long)row_of_pairs(weights), j, emit_range(x, s->axes[1]));
    emit_close(x);
    x->indent -= 4;
    emit_open(x, "} else");
    argument[UNIT_FINITE].value = "0";
    emit_product_call(x, "unit_dot", argument, arguments);
    x->indent -= 4;
}

/* Returns C for the distance between two bf16 terms of a number, in elements. */
static const char *term_of(const struct emitter *x, const struct array *a)
{
    return emit_whole(x, array_elements(a) / array_terms(a));
}

/* Prints a product of the linear form on matrix units. Its operands have several bf16 terms. */
static void emit_terms(struct emitter *x, const struct stmt *s)
{
    const struct ref *to = &s->assign[0].to, *row = &s->operand[0], *lane = &s->operand[1];
    const struct array *sums = &x->l->array[to->of], *rows = &x->l->array[row->of], *lanes = &x->l->array[lane->of];
    const char *size = "int64_t ";
    const struct product_argument argument[] = {
        {"lanes", size,
         emit_whole(x,
                    lanes->extent[1] < sums->extent[sums->rank - 1] ? lanes->extent[1] : sums->extent[sums->rank - 1])},
        {"rows", size, emit_range(x, s->axes[0])},
        {"steps", size, steps_of(x, s->axis)},
        {"a", "const uint16_t *", emit_corner(x, s, row)},
        {"a_row", size, emit_step(x, row, s->axes[0])},
        {"a_terms", "int ", emit_whole(x, array_terms(rows))},
        {"a_term", size, term_of(x, rows)},
        {"b", "const uint16_t *", emit_corner(x, s, lane)},
        {"b_row", size, emit_whole(x, row_of_pairs(lanes))},
        {"b_terms", "int ", emit_whole(x, array_terms(lanes))},
        {"b_term", size, term_of(x, lanes)},
        {"c", x->output, emit_corner(x, s, to)},
        {"c_row", size, emit_step(x, to, s->axes[0])},
        {"add", size, s->assign[0].fold == FOLD_SUM ? "1" : "0"},
    };
    emit_product_call(x, "unit_terms", argument, (int)(sizeof argument / sizeof *argument));
}

void emit_matrix_dot(struct emitter *x, const struct stmt *s)
{
    if (x->c->program.linear && x->l->array[s->operand[0].of].matrix && !s->where && s->operands == 2) {
        emit_terms(x, s);
        return;
    }

    const struct ref *to = &s->assign[0].to, *row = &s->operand[0], *lane = &s->operand[1];
    const struct array *sums = &x->l->array[to->of], *rows = &x->l->array[row->of];
    const char *size = "int64_t ", *c_row = emit_step(x, to, s->axes[0]), *c = emit_corner(x, s, to);
    const int64_t lanes = sums->extent[sums->rank - 1];
    const bool padded = rows->matrix;
    const int64_t depth = padded ? 0 : x->m->axis[s->axis].extent;
    if (depth > x->unit_depth) x->unit_depth = depth;
    if (s->operands == 3)
        emit_line(x, "unit_scale_%s(%lld, %s, %s, %s, %s);", x->suffix, (long long)lanes, emit_range(x, s->axes[0]), c,
                  c_row, emit_corner(x, s, &s->operand[2]));
    struct product_argument argument[] = {
        {"lanes", size, emit_whole(x, lanes)},
        {"rows", size, emit_range(x, s->axes[0])},
        {"steps", size, steps_of(x, s->axis)},
        {"a", "const uint16_t *", emit_corner(x, s, row)},
        {"a_row", size, emit_step(x, row, s->axes[0])},
        {"padded", size, padded ? "1" : "0"},
        {"finite", size, "0"},
        {"b", "const uint16_t *", emit_corner(x, s, lane)},
        {"b_row", size, emit_whole(x, row_of_pairs(&x->l->array[lane->of]))},
        {"c", x->output, c},
        {"c_row", size, c_row},
        {"add", size, s->assign[0].fold == FOLD_SUM ? "1" : "0"},
    };
    const int arguments = (int)(sizeof argument / sizeof *argument);
    if (s->where)
        over_region(x, s, argument, arguments);
    else
        emit_product_call(x, "unit_dot", argument, arguments);
}

/* Prints a product that adds to shared sums. Weights outside the region are 0, and 0 * infinity is NaN. So tiles
   with such weights handle infinity and NaN separately. */
void emit_matrix_across(struct emitter *x, const struct stmt *s)
{
    const struct ref *to = &s->assign[0].to, *row = &s->operand[0], *lane = &s->operand[1];
    const struct array *weights = &x->l->array[row->of], *values = &x->l->array[lane->of];
    const char *size = "int64_t ", *a_row = emit_step(x, row, s->axes[0]), *c_row = emit_step(x, to, s->axes[0]),
               *b_row = emit_whole(x, row_of_pairs(values)), *i = x->m->axis[s->axes[0]].name,
               *columns = emit_size(x->m, s->axes[1]), *steps = emit_range(x, s->axis);
    const struct product_argument argument[] = {
        {"lanes", size, emit_whole(x, values->extent[1])},
        {"rows", size, emit_range(x, s->axes[0])},
        {"steps", size, steps_of(x, s->axis)},
        {"a", "const uint16_t *", emit_corner(x, s, row)},
        {"a_row", size, a_row},
        {"b", "const uint16_t *", emit_corner(x, s, lane)},
        {"b_row", size, b_row},
        {"c", x->output, emit_corner(x, s, to)},
        {"c_row", size, c_row},
    };
    const int arguments = (int)(sizeof argument / sizeof *argument);
    if (s->where) {
        const char *partial = s->when ? emit_integer(x, s->when) : s->ranges ? emit_outside(x, s) : NULL;
        emit_open(x,
                  "if (__builtin_expect(%s!finite_paired_%s(%s, %s, (%s + 1) / 2, 2 * %s), 0)) { /* infinity and NaN "
                  "affect only queries that see them */",
                  partial ? emit_format(x, "(%s) && ", partial) : "", x->suffix, argument[5].value, b_row, steps,
                  columns);
        emit_product_call(x, "unit_across_finite", argument, arguments);
        emit_open(x, "for (int64_t %s = 0; %s < %s; %s++) {", i, i, argument[1].value, i);
        emit_line(x, "mask_%s in_region[%lld] = {0};", x->suffix, (long long)(weights->extent[1] / x->lanes));
        emit_region(x, s->where, s->axis, "in_region");
        emit_line(x, "add_seen_lanes_paired_%s(%s, %s + %s * %s, %s + %s * %s, %s, %s, %s, in_region);", x->suffix,
                  columns, argument[7].value, i, c_row, argument[3].value, i, a_row, argument[5].value, b_row, steps);
        emit_close(x);
        x->indent -= 4;
        emit_open(x, "} else");
    }
    emit_product_call(x, "unit_across", argument, arguments);
    if (s->where) x->indent -= 4;
}

void emit_matrix_copy(struct emitter *x, const struct stmt *s)
{
    const struct ref *to = &s->assign[0].to, *from = &s->operand[0];
    const struct array *a = &x->l->array[from->of], *tile = &x->l->array[to->of];
    const char *step = NULL, *function = "rows", *to_row = emit_step(x, to, tile->axes[0]);
    int row = ref_axis(to, 0), column = ref_axis(to, 1); /* the axes of the source array */
    const bool numbers = a->dtype == DTYPE_F32, along = ref_axis(from, from->rank - 1) == column,
               terms = numbers && (tile->terms || !along);
    if (tile->paired) {
        to_row = emit_whole(x, row_of_pairs(tile));
        function = terms                                   ? "pair_terms"
                   : numbers                               ? "rounded"
                   : ref_axis(from, from->rank - 1) == row ? "pairs"
                                                           : "woven";
    } else if (numbers)
        function = !terms ? "narrowed" : along ? "row_terms" : "turned_terms";
    else if (ref_axis(from, from->rank - 1) == row)
        function = "turned";
    if ((!numbers && ref_axis(from, from->rank - 1) == row) || (!tile->paired && terms && !along)) {
        const int other = row;
        row = column;
        column = other;
    }
    step = emit_step(x, from, row);
    emit_line(x, "/* %s = %s, for matrix units */", emit_array(x, to), emit_array(x, from));
    emit_line(x, "unit_%s_%s(%s, %s, %s, %s, %s, %s%s);", function, x->suffix, emit_corner(x, s, from), step,
              emit_range(x, row), emit_range(x, column), emit_corner(x, s, to), to_row,
              terms ? emit_format(x, ", %d, %s", array_terms(tile), term_of(x, tile)) : "");
}
