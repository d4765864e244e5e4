/* Prints DOT statements as calls of functions. A product is the sum over t of a[r][t] * b[t][x], with lanes x. A
   product over a region sums only pairs in the region. */
#include "emit.h"
#include "printer.h"

#include <string.h>

/* Returns the number of vectors in a row of a register block. It is the largest divisor of the number of vectors in
   a row of `to`, up to x->vectors. */
static int block_vectors(const struct emitter *x, const struct ref *to)
{
    const int64_t vectors = emit_most_lanes(x, to) / x->lanes;
    int v = x->vectors;
    while (vectors % v) v--;
    return v;
}

/* Returns C for the number of lanes, rounded up to whole vectors. If the lanes are positions, they are those of the
   current tile. */
static const char *lanes_of(struct emitter *x, const struct ref *to)
{
    const struct array *a = &x->l->array[to->of];
    const int axis = a->axes[a->rank - 1];
    const int64_t most = emit_most_lanes(x, to);
    if (most == x->lanes || x->m->axis[axis].source == SIZE_CONSTANT) return emit_whole(x, most);
    return emit_format(x, "round_up(%s, %d)", emit_range(x, axis), x->lanes);
}

/* The places of arguments in the lists of dot (emit_dot) and of dot_along (emit_along). */
enum { DOT_TAIL = 3, DOT_STEPS, DOT_SPAN, DOT_A, DOT_B = 9, DOT_B_STEP, DOT_UPDATE = 13, DOT_FACTOR = 15 };
enum { DOT_COMPENSATION = 16, ALONG_COLUMNS = 1, ALONG_B = 5, ALONG_C = 7, MAX_ARGUMENTS = 24 };

/* Returns C for the stride of pairs along `axis`, in elements. The product sums over axis `over`. */
static const char *pair_stride(struct emitter *x, const struct ref *r, int axis, int over)
{
    const struct array *a = &x->l->array[r->of];
    if (!a->paired) return axis == over ? "2" : emit_step(x, r, axis);
    return axis == over ? emit_whole(x, 2 * a->extent[1]) : "2";
}

/* Returns C for the number of pairs along an axis. */
static const char *pairs_of(struct emitter *x, int axis)
{
    bool constant = x->m->axis[axis].source == SIZE_CONSTANT && !x->cut[axis];
    if (constant) return emit_whole(x, x->m->axis[axis].extent / 2);
    return emit_format(x, "(%s + 1) / 2", emit_range(x, axis));
}

/* Returns C for the number of rows of a product, rounded up to whole vectors, if its operand and its result have room
   for this number. Otherwise returns NULL. */
static const char *rows_in_vectors(struct emitter *x, const struct stmt *s)
{
    const struct axis *const rows = &x->m->axis[s->axes[0]];
    const struct array *const from = &x->l->array[s->operand[0].of], *const to = &x->l->array[s->assign[0].to.of];
    if (rows->source == SIZE_CONSTANT)
        return rows->extent % x->lanes || x->cut[s->axes[0]] ? NULL : emit_range(x, s->axes[0]);
    if (from->kind != ARRAY_TILE || to->kind != ARRAY_TILE || from->extent[from->rank - 1] != to->extent[0] ||
        to->extent[0] % x->lanes)
        return NULL;
    return to->extent[0] == x->lanes ? emit_format(x, "%d", x->lanes)
                                     : emit_format(x, "round_up(%s, %d)", emit_range(x, s->axes[0]), x->lanes);
}

/* Returns whether a product has a form for one lane. */
static bool emit_in_one_lane(struct emitter *x, const struct stmt *s)
{
    return program_keeps_state(&x->c->program) && s->operands == 2 && s->assign[0].fold == FOLD_SET &&
           !x->l->array[s->operand[1].of].paired && x->m->axis[s->axes[1]].source != SIZE_CONSTANT &&
           !x->cut[s->axis] && emit_most_lanes(x, &s->assign[0].to) == x->lanes &&
           emit_adjacent(x, &s->operand[0], s->axes[0]) && rows_in_vectors(x, s);
}

/* Prints the start of a condition: a product with one query, or one new row of a SOLVE, has its rows in the
   lanes, because most lanes of its tile are empty. Prints nothing for products that have no such form. */
static void emit_one_lane(struct emitter *x, const struct stmt *s)
{
    const struct ref *const to = &s->assign[0].to, *const row = &s->operand[0], *const lane = &s->operand[1];
    const char *const size = "int64_t ";
    if (!emit_in_one_lane(x, s)) return;
    const char *const rows = rows_in_vectors(x, s), *const name = x->m->axis[s->axes[1]].name;
    if (s == x->with_rows) {
        emit_line(x, "if (with_rows)");
        emit_line(x, "    ; /* the product of the key has computed it */");
        emit_line(x, "else");
    }
    const bool resumed = x->resumed && x->resumed->axis == s->axes[1];
    if (resumed && !(s->resumes & RESUME_LANES)) return;
    const struct product_argument argument[] = {
        {"rows", size, rows},
        {"lane", size, resumed ? emit_format(x, "%s_new - %s0", name, name) : "0"},
        {"steps", size, emit_range(x, s->axis)},
        {"span", size, x->m->axis[s->axis].source == SIZE_CONSTANT ? "32" : "192"},
        {"a", x->input, emit_corner(x, s, row)},
        {"a_step", size, emit_step(x, row, s->axis)},
        {"b", x->input, emit_corner(x, s, lane)},
        {"b_step", size, emit_step(x, lane, s->axis)},
        {"c", x->output, emit_corner(x, s, to)},
        {"c_row", size, emit_step(x, to, s->axes[0])},
    };
    emit_open(x, "if (%s == 1)", resumed ? emit_format(x, "%s1 - %s_new", name, name) : emit_range(x, s->axes[1]));
    emit_product_call(x, "dot_lane", argument, (int)(sizeof argument / sizeof *argument));
    x->indent -= 4;
    emit_line(x, "else");
}

/* Prints a product in a tile that has pairs outside the region. Their weights are 0, and 0 * infinity is NaN. So
   infinite values are added separately, for the queries that see them. */
static void emit_over_region(struct emitter *x, const struct stmt *s, const struct product_argument *argument,
                             int arguments)
{
    const struct ref *to = &s->assign[0].to, *row = &s->operand[0], *lane = &s->operand[1];
    const struct array *weights = &x->l->array[lane->of], *sums = &x->l->array[to->of];
    const bool paired = weights->paired;
    const char *kind = emit_format(x, "%s_%s", paired ? "_paired" : "", x->suffix), *rows = emit_range(x, s->axes[0]),
               *keys = emit_range(x, s->axis);
    const char *across = paired ? "2" : emit_step(x, row, s->axes[0]),
               *along = paired ? pair_stride(x, row, s->axis, s->axis) : emit_step(x, row, s->axis);
    const char *partial = s->when ? emit_integer(x, s->when) : s->ranges ? emit_outside(x, s) : NULL, *searched;
    const bool apart = !paired && !emit_adjacent(x, row, s->axes[0]) && !emit_adjacent(x, row, s->axis);
    if (paired) /* The elements of a pair are adjacent. */
        searched = emit_format(x, "%s, (%s + 1) / 2, 2 * %s", along, keys, rows);
    else if (emit_adjacent(x, row, s->axis))
        searched = emit_format(x, "%s, %s, %s", across, rows, keys);
    else
        searched = emit_format(x, apart ? "%s, %s, %s, %s" : "%s, %s, %s", along, keys, rows, across);
    int64_t *max = paired ? &x->region_pairs : &x->region_keys;
    for (int k = 0; k < weights->rank; k++)
        if (weights->axes[k] == s->axis && weights->extent[k] > *max) *max = weights->extent[k];
    emit_open(x,
              "if (__builtin_expect(%s!finite%s%s(%s, %s), 0)) { /* infinity and NaN affect only queries that see "
              "them */",
              partial ? emit_format(x, "(%s) && ", partial) : "", apart ? "_apart" : "", kind, emit_corner(x, s, row),
              searched);
    emit_product_call(x, paired ? "dot_finite_paired" : "dot_finite", argument, arguments);
    const char *j = x->m->axis[s->axis].name, *lead = paired ? " / 2" : "";
    emit_open(x, "for (int64_t %s = 0; %s < %s; %s++) {", j, j, keys, j);
    const char *values = emit_format(x, "%s + %s%s * %s%s", emit_corner(x, s, row), j, lead, along,
                                     paired ? emit_format(x, " + %s %% 2", j) : "");
    emit_line(x, "mask_%s in_region[%lld] = {0};", x->suffix, (long long)(sums->extent[sums->rank - 1] / x->lanes));
    emit_line(x, "if (finite%s(%s, %s, %s, 1)) continue;", kind, values, across, rows);
    emit_region(x, s->where, s->axes[1], "in_region");
    emit_line(x, "add_seen%s(%s, %s, %s, %s, %s, %s + %s%s * %s%s, in_region, %s);", kind, rows, emit_corner(x, s, to),
              emit_step(x, to, s->axes[0]), values, across, emit_corner(x, s, lane), j, lead,
              paired ? pair_stride(x, lane, s->axis, s->axis) : emit_step(x, lane, s->axis),
              paired ? emit_format(x, ", %s %% 2", j) : "", emit_range(x, s->axes[1]));
    emit_close(x);
    x->indent -= 4;
    emit_open(x, "} else");
    emit_one_lane(x, s);
    emit_product_call(x, paired ? "dot_paired" : "dot", argument, arguments);
    x->indent -= 4;
}

/* Prints a product of rows that are on several pages, one call for each page. The last argument is `after`. */
static void emit_parts(struct emitter *x, const struct stmt *s, const char *product, int array,
                       struct product_argument *argument, int arguments)
{
    const char *const axis = x->m->axis[x->in_pages->axis].name;
    const bool along = emit_is_along(x, s);
    const char *const times = along || emit_adjacent(x, &s->operand[0], s->axis)
                                  ? ""
                                  : emit_format(x, " * %s", emit_step(x, &s->operand[0], s->axis));
    const char **const moves = &argument[along ? ALONG_C : DOT_A].value;
    *moves = emit_format(x, "%s + (at - %s0)%s", *moves, axis, times);
    argument[along ? ALONG_B : DOT_B].value = "rows_of_page";
    argument[along ? ALONG_COLUMNS : DOT_STEPS].value = "end - at";
    argument[arguments - 1].value = "after";
    const char *const type = dtype_c_type(x->l->array[array].dtype);
    emit_open(x, "for (int64_t at = %s0, end; at < %s1; at = end) {", axis, axis);
    emit_line(x, "end = page_end(call, at, %s1);", axis);
    emit_line(x, "const %s *const rows_of_page = %s,", type, emit_paged_row(x, array, "at"));
    emit_line(x, "    *const after = %s;", emit_paged_after(x, array, "end"));
    emit_product_call(x, product, argument, arguments);
    emit_close(x);
}

/* Prints a product that prefetches the rows of the operand in the lanes. */
static void emit_prefetching(struct emitter *x, const struct stmt *s, const char *product,
                             const struct product_argument *argument, int arguments)
{
    const struct ref *const lane = &s->operand[1];
    const enum dtype dtype = x->l->array[lane->of].dtype;
    const bool parts = x->c->state.paged && emit_in_parts(x, lane->of);
    const char *const early = emit_early(x, dtype, parts);
    struct product_argument all[MAX_ARGUMENTS];
    memcpy(all, argument, (size_t)arguments * sizeof *argument);
    if (early) all[arguments++] = (struct product_argument){"early", "int64_t ", early};
    const char *const name = emit_format(x, "%s%s", product, emit_type_suffix(x->m, dtype));
    const char *const rows = emit_local(x, x->l->array[lane->of].name);
    if (x->emission->paged)
        all[arguments++] = (struct product_argument){"after", emit_format(x, "const %s *", dtype_c_type(dtype)),
                                                     parts ? emit_format(x, "after_%s", rows) : "NULL"};
    if (parts) {
        emit_open(x, "if (paged_%s)", rows);
    }
    emit_product_call(x, name, all, arguments);
    if (!parts) return;
    x->indent -= 4;
    emit_open(x, "else");
    emit_parts(x, s, name, lane->of, all, arguments);
    x->indent -= 4;
}

/* Prints a product without the arguments that say how its result changes.
   - `own`: whether the product has neither parts nor a tail
   - `extra`: the arguments after those of every product */
static void emit_special(struct emitter *x, const char *product, const struct product_argument *argument, int arguments,
                         bool own, const struct product_argument *extra, int extras)
{
    static const int left_out[2][4] = {{DOT_UPDATE, DOT_FACTOR, DOT_COMPENSATION, DOT_COMPENSATION},
                                       {DOT_UPDATE, DOT_FACTOR, DOT_TAIL, DOT_SPAN}};
    struct product_argument all[MAX_ARGUMENTS];
    memcpy(all, argument, (size_t)arguments * sizeof *argument);
    for (int n = 0; n < 4; n++) all[left_out[own][n]].value = NULL;
    memcpy(all + arguments, extra, (size_t)extras * sizeof *extra);
    emit_product_call(x, product, all, arguments + extras);
}

/* Prints a product that also multiplies each row of the sum by what is kept of it. */
static void emit_kept(struct emitter *x, const struct stmt *s, const struct product_argument *argument, int arguments)
{
    const struct product_argument extra[] = {{"kept", x->input, emit_corner(x, s, &s->operand[2])},
                                             {"lost", x->input, emit_corner(x, s, &s->operand[3])}};
    emit_special(x, "dot_kept", argument, arguments, true, extra, 2);
}

/* Returns C for the number of steps that the first row sees, if each row sees the first steps and one step more than
   the row before it. Otherwise returns NULL. */
static const char *steps_of_first_row(struct emitter *x, const struct stmt *s)
{
    struct module *const m = x->m;
    const struct expr *const row = expr_index(m, s->axes[0]), *const last = s->where->arg[1];
    if (s->where->op != EXPR_LE || s->where->arg[0] != expr_index(m, s->axis)) return NULL;
    const uint32_t varies = UINT32_C(1) << s->axes[0] | UINT32_C(1) << s->axes[1] | AXIS(s->axis);
    if (last != row && (last->op != EXPR_ADD || last->arg[0] != row || expr_axes(last->arg[1]) & varies)) return NULL;
    const struct expr *const first = expr_replace(m, last, row, expr_lo(m, s->axes[0]));
    return emit_integer(x, expr_add(m, expr_sub(m, first, expr_lo(m, s->axis)), expr_int(m, 1)));
}

/* Like emit_over_region, but the lanes are rows of weights and values. If `fetched`, the values are prefetched. */
static void emit_across_region(struct emitter *x, const struct stmt *s, const struct product_argument *argument,
                               int arguments, bool fetched)
{
    const struct ref *to = &s->assign[0].to, *row = &s->operand[0], *lane = &s->operand[1];
    const struct array *weights = &x->l->array[row->of];
    const bool paired = x->l->array[lane->of].paired;
    const char *steps = emit_range(x, s->axis),
               *value_row = paired ? pair_stride(x, lane, s->axis, s->axis) : emit_step(x, lane, s->axis);
    const char *columns = emit_size(x->m, s->axes[1]), *i = x->m->axis[s->axes[0]].name;
    const int64_t most = weights->extent[weights->rank - 1];
    const char *partial = s->when ? emit_integer(x, s->when) : s->ranges ? emit_outside(x, s) : NULL;
    const bool narrow = fetched && dtype_is_narrow(x->l->array[lane->of].dtype);
    const char *const type = emit_type_suffix(x->m, x->l->array[lane->of].dtype);
    const char *const values = emit_corner(x, s, lane);
    int64_t *const max = paired ? &x->region_pairs : &x->region_keys;
    if (most > *max) *max = most;
    if (fetched && x->c->state.paged && emit_in_parts(x, lane->of)) {
        const char *const name = emit_local(x, x->l->array[lane->of].name);
        emit_line(x, "if (%s!paged_%s)", partial ? emit_format(x, "(%s) && ", partial) : "", name);
        emit_line(x, "    paged_%s = %s;", name, emit_paged_rows(x, lane->of, 0));
    }
    emit_open(
        x,
        "if (__builtin_expect(%s!finite%s_%s(%s, %s, %s, %s), 0)) { /* infinity and NaN affect only queries that see "
        "them */",
        partial ? emit_format(x, "(%s) && ", partial) : "",
        narrow   ? emit_format(x, "_stored%s", type)
        : paired ? "_paired"
                 : "",
        x->suffix, values, value_row, paired ? emit_format(x, "(%s + 1) / 2", steps) : steps,
        paired ? emit_format(x, "2 * %s", columns) : columns);
    struct product_argument finite[MAX_ARGUMENTS] = {{"fetched", "int64_t ", fetched ? "1" : "0"}};
    memcpy(finite + 1, argument, (size_t)arguments * sizeof *argument);
    if (narrow) {
        emit_line(x, "%s wide[%lld];", x->real, (long long)(most * x->m->axis[s->axes[1]].extent));
        emit_line(x, "for (int64_t t = 0; t < %s; t++)", steps);
        emit_line(x, "    for (int64_t x = 0; x < %s; x += %d)", columns, x->lanes);
        emit_line(x, "        store_%s(wide + t * %s + x, widened%s_%s(%s + t * %s, x));", x->suffix, columns, type,
                  x->suffix, values, value_row);
        finite[1 + DOT_B] = (struct product_argument){"b", x->input, "wide"};
        finite[1 + DOT_B_STEP].value = columns;
    }
    emit_product_call(x, paired ? "dot_finite_lanes_paired" : "dot_finite_lanes", finite, arguments + 1);
    emit_open(x, "for (int64_t %s = 0; %s < %s; %s++) {", i, i, emit_range(x, s->axes[0]), i);
    emit_line(x, "mask_%s in_region[%lld] = {0};", x->suffix, (long long)(most / x->lanes));
    emit_region(x, s->where, s->axis, "in_region");
    emit_line(x, "add_seen_lanes_%s%s(%s, %s + %s * %s, %s + %s * %s, %s, %s, %s, in_region);", paired ? "paired_" : "",
              x->suffix, columns, emit_corner(x, s, to), i, emit_step(x, to, s->axes[0]), emit_corner(x, s, row), i,
              emit_step(x, row, s->axes[0]), narrow ? "wide" : values, narrow ? columns : value_row, steps);
    emit_close(x);
    x->indent -= 4;
    emit_open(x, "} else");
    const char *const visible = paired || fetched || s->assign[0].fold != FOLD_SET ? NULL : steps_of_first_row(x, s);
    if (visible)
        emit_special(x, "dot_until", argument, arguments, false,
                     &(struct product_argument){"visible", "int64_t ", visible}, 1);
    else if (fetched)
        emit_prefetching(x, s, "dot_fetched", argument, arguments);
    else
        emit_product_call(x, paired ? "dot_paired" : "dot", argument, arguments);
    x->indent -= 4;
}

/* Returns C for the position that a task reaches in the shared sums, which is the end of the current tile of rows. */
static const char *position_of(struct emitter *x, const struct stmt *s)
{
    const struct array *a = &x->l->array[s->assign[0].to.of];
    const char *const axis = x->m->axis[s->axes[0]].name,
                      *end = x->backward >> s->axes[0] & 1
                                 ? emit_format(x, "%s - %s0", emit_size(x->m, s->axes[0]), axis)
                                 : emit_format(x, "%s1", axis);
    for (int k = 0; k < a->rank; k++)
        if (x->m->axis[a->axes[k]].source == SIZE_MEMBERS && !x->task_axis[a->axes[k]])
            end = emit_format(x, "%s * %s + %s", x->m->axis[a->axes[k]].name, emit_size(x->m, s->axes[0]), end);
    return end;
}

/* Returns whether no later statement of the list adds to shared sums. */
static bool is_last_across(const struct emitter *x, const struct stmt *s)
{
    for (const struct stmt *after = s->next; after; after = after->next)
        if (after->assigns && x->l->array[after->assign[0].to.of].sums) return false;
    return true;
}

/* Prints c[r][x] = sum over t of a[r][t] * b[x][t]. Both a and b are contiguous along t. */
static void emit_along(struct emitter *x, const struct stmt *s)
{
    const struct ref *to = &s->assign[0].to, *row = &s->operand[0], *lane = &s->operand[1];
    const char *size = "int64_t ";
    const struct product_argument argument[] = {
        {"rows", size, emit_range(x, s->axes[0])},
        {"columns", size, emit_range(x, s->axes[1])},
        {"steps", size, emit_range(x, s->axis)},
        {"a", x->input, emit_corner(x, s, row)},
        {"a_row", size, emit_step(x, row, s->axes[0])},
        {"b", emit_format(x, "const %s *", dtype_c_type(x->l->array[lane->of].dtype)), emit_corner(x, s, lane)},
        {"b_row", size, emit_step(x, lane, s->axes[1])},
        {"c", x->output, emit_corner(x, s, to)},
        {"c_row", size, emit_step(x, to, s->axes[0])},
    };
    if (x->m->axis[s->axis].extent > x->along_terms) x->along_terms = x->m->axis[s->axis].extent;
    emit_prefetching(x, s, "dot_along", argument, (int)(sizeof argument / sizeof *argument));
}

/* Returns whether the rows of a product are tokens of an array of the caller, such as k. */
static bool rows_of_caller(struct emitter *x, const struct stmt *s)
{
    const struct array *a = &x->l->array[s->operand[0].of];
    return a->kind == ARRAY_INPUT && !a->sums && emit_tiled(x, s->axes[0]) &&
           x->m->axis[s->axis].source == SIZE_CONSTANT && !x->cut[s->axis] && emit_adjacent(x, &s->operand[0], s->axis);
}

/* Whether r has rows of another array of the caller, one for each row of product s. */
static bool other_rows(const struct emitter *x, const struct stmt *s, const struct ref *r, int rows, int elements)
{
    const struct array *const a = &x->l->array[r->of];
    return (a->kind == ARRAY_INPUT || a->kind == ARRAY_OUTPUT) && !a->sums && r->of != s->operand[0].of &&
           rows == s->axes[0] && x->m->axis[elements].source == SIZE_CONSTANT && ref_uses_axis(r, rows) &&
           ref_axis(r, r->rank - 1) == elements;
}

/* Returns the rows of another array of the caller that a later statement of the list reads or writes at the same
   tokens, or NULL. The product fetches them, too. Sets *user to the statement and *elements to the axis of a row. */
static const struct ref *next_over_rows(const struct emitter *x, const struct stmt *s, const struct stmt **user,
                                        int *elements)
{
    for (const struct stmt *t = s->next; t; t = t->next) {
        *user = t;
        if (t->op == LOOPS_DOT && other_rows(x, s, &t->operand[0], t->axis, *elements = t->axes[0]))
            return &t->operand[0];
        if ((t->op != LOOPS_MAP && t->op != LOOPS_COPY) || t->rank != 2) continue;
        *elements = t->axes[1];
        for (int k = 0; k < t->operands + t->assigns; k++) {
            const struct ref *const r = k < t->operands ? &t->operand[k] : &t->assign[k - t->operands].to;
            if (other_rows(x, s, r, t->axes[0], *elements)) return r;
        }
    }
    return NULL;
}

/* Returns whether emit_dot prints the product as a dot_ahead product. */
static bool is_ahead(struct emitter *x, const struct stmt *s)
{
    const struct array *const lane = &x->l->array[s->operand[1].of];
    return !s->where && !s->coming && !x->gathers && !lane->paired && !lane->matrix && !emit_is_along(x, s) &&
           !emit_is_fetched(x, s) && rows_of_caller(x, s);
}

static bool has_ahead(struct emitter *x, const struct stmt *list)
{
    struct stmts w = {.list = (struct stmt *)list};
    for (const struct stmt *s; (s = stmts_next(&w)); w.skip = w.now->op == LOOPS_IF || w.now->gathers)
        if (s->op == LOOPS_DOT && is_ahead(x, s)) return true;
    return false;
}

const struct stmt *emit_prefetched_result(struct emitter *x, const struct stmt *task)
{
    for (const struct stmt *s = task; s; s = s->next) {
        if (s->op != LOOPS_COPY || s->rank != 2) continue;
        const struct ref *const to = &s->assign[0].to;
        const struct array *const a = &x->l->array[to->of];
        const int row = ref_axis(&s->operand[0], s->operand[0].rank - 1), column = ref_axis(to, to->rank - 1);
        if (a->kind == ARRAY_OUTPUT && a->dtype == dtype_of_sums(x->m->dtype) && row >= 0 && x->from_last[row] &&
            !x->block[row] && column >= 0 && x->m->axis[column].source == SIZE_CONSTANT && has_ahead(x, task))
            return s;
    }
    return NULL;
}

/* Prints a product that reads the rows of a list in place. The first product of the loop prefetches rows that the next
   one reads, and the last one rows that the first one reads in the next tile. */
static void emit_gathered(struct emitter *x, const struct stmt *s, const struct product_argument *argument,
                          int arguments)
{
    const struct stmt *const loop = x->gathers, *next = s->next;
    const char *const axis = x->m->axis[loop->axis].name, *const size = "int64_t ";
    const bool over = s->axis == loop->axis;
    while (next && !emit_is_gathered(x, next)) next = next->next;
    for (const struct stmt *t = loop->body; t && over && !next; t = t->next) next = emit_is_gathered(x, t) ? t : NULL;
    const struct array *const to_fetch = &x->l->array[(next ? next : s)->operand[0].of];
    const char *const rows = emit_local(x, to_fetch->name);
    const struct product_argument extra[] = {
        {"next", argument[DOT_A].type, rows},
        {"next_row", size, emit_format(x, "%s_row", rows)},
        {"width", size, emit_whole(x, x->m->axis[to_fetch->axes[to_fetch->rank - 1]].extent)},
        {"nexts", size, over ? emit_format(x, "min(%s_end - %s1, %lld)", axis, axis, (long long)loop->step) : NULL},
    };
    struct product_argument all[MAX_ARGUMENTS];
    int count = 0;
    for (int k = 0; k < arguments; k++) {
        const bool left = k == 0 || k == DOT_TAIL ||
                          (over ? k == DOT_SPAN || k == DOT_A + 1 : k == DOT_A + 2 || k >= DOT_UPDATE);
        if (left) continue;
        all[count] = argument[k];
        if (k == DOT_SPAN) all[count].value = "64";
        if (k == DOT_A) all[count].value = emit_local(x, x->l->array[s->operand[0].of].name);
        count++;
        if (k == DOT_A + (over ? 2 : 1))
            all[count++] = (struct product_argument){"index", "const int32_t *",
                                                     emit_format(x, "%s_list + %s0", axis, axis)};
    }
    memcpy(all + count, extra, sizeof extra);
    emit_product_call(x, over ? "dot_over_gathered" : "dot_gathered", all, count + (int)(sizeof extra / sizeof *extra));
}

/* Prints a product whose rows are tokens. The rows are prefetched. */
static void emit_ahead(struct emitter *x, const struct stmt *s, const struct product_argument *argument, int arguments)
{
    const char *size = "int64_t ";
    struct product_argument all[MAX_ARGUMENTS];
    const struct stmt *next;
    int elements;
    const struct ref *const r = next_over_rows(x, s, &next, &elements);
    memcpy(all, argument, (size_t)arguments * sizeof *argument);
    all[arguments++] = (struct product_argument){"next", argument[6].type, r ? emit_corner(x, next, r) : "NULL"};
    all[arguments++] = (struct product_argument){"next_row", size, r ? emit_step(x, r, s->axes[0]) : "0"};
    all[arguments++] = (struct product_argument){"width", size, r ? emit_whole(x, x->m->axis[elements].extent) : "0"};
    const struct ref *const to = x->result ? &x->result->assign[0].to : NULL;
    const int row = to ? ref_axis(&x->result->operand[0], x->result->operand[0].rank - 1) : 0;
    all[arguments++] = (struct product_argument){"result", argument[6].type,
                                                 to ? emit_corner(x, x->result, to) : "NULL"};
    all[arguments++] = (struct product_argument){"result_row", size, to ? emit_step(x, to, row) : "0"};
    all[arguments++] = (struct product_argument){
        "result_width", size, to ? emit_whole(x, x->m->axis[ref_axis(to, to->rank - 1)].extent) : "0"};
    all[arguments++] = (struct product_argument){"results", size, to ? "results" : "0"};
    emit_product_call(x, "dot_ahead", all, arguments);
    if (to) emit_line(x, "results = 0;");
}

/* Prints a product that prefetches rows which later statements need. */
static void emit_meanwhile(struct emitter *x, const struct stmt *s, const struct product_argument *argument,
                           int arguments)
{
    struct product_argument all[MAX_ARGUMENTS];
    struct text next = {0};
    int arrays = 0;
    for (int n = 0; n < s->coming->count; n++) {
        struct ref r = s->coming->rows[n];
        const struct array *const a = &x->l->array[r.of];
        if (emit_is_wanted(x, a) || (x->c->state.paged && array_in_pages(x->l, a)))
            continue; /* it may be NULL, or its rows in pages */
        const int axis = s->coming->axis[n], columns = ref_axis(&r, r.rank - 1);
        const char *const row = emit_step(x, &r, axis);
        for (int k = 0; k < r.rank; k++)
            if (ref_axis(&r, k) == axis) r.sub[k] = s->coming->first[n];
        r.sub[r.rank - 1] = expr_int(x->m, 0);
        text_add(&next, "%s{%s, %s, %lld}", arrays++ ? ", " : "(const struct coming[]){", emit_address(x, &r),
                 emit_format(x, "%d * %s", dtype_bytes(a->dtype), row),
                 (long long)(x->m->axis[columns].extent * dtype_bytes(a->dtype)));
    }
    memcpy(all, argument, (size_t)arguments * sizeof *argument);
    all[arguments++] = (struct product_argument){"next", "const struct coming *",
                                                 arrays ? emit_format(x, "%s}", next.data) : "NULL"};
    all[arguments++] = (struct product_argument){"arrays", "int ", emit_format(x, "%d", arrays)};
    all[arguments++] = (struct product_argument){"nexts", "int64_t ",
                                                 emit_format(x, "%lld", (long long)s->coming->step)};
    text_free(&next);
    emit_product_call(x, "dot_meanwhile", all, arguments);
}

/* Whether a product with one new row keeps all its sums in registers. */
static bool is_in_one_row(const struct emitter *x, const struct stmt *s)
{
    return s->resumes & RESUME_ROWS && x->m->axis[s->axes[1]].source == SIZE_CONSTANT && !x->cut[s->axes[1]] &&
           x->m->axis[s->axis].source == SIZE_CONSTANT && !x->cut[s->axis];
}

/* Returns the product of queries that shares its pass over the state with product s in the loop `rows`, or NULL. */
static const struct stmt *sharing_pass(struct emitter *x, const struct stmt *rows, const struct stmt *s)
{
    if (!(s->resumes & RESUME_SHARES) || !is_in_one_row(x, s)) return NULL;
    const struct stmt *queries = rows->next->body;
    while (!(queries->resumes & RESUME_SHARES)) queries = queries->next;
    return emit_in_one_lane(x, queries) ? queries : NULL;
}

bool emit_shares_pass(struct emitter *x, const struct stmt *rows)
{
    bool shares = false;
    for (const struct stmt *s = rows->body; s; s = s->next) shares |= sharing_pass(x, rows, s) != NULL;
    return shares;
}

/* Prints the start of a condition: a product with one new row keeps all its sums in registers. */
static void emit_one_row(struct emitter *x, const struct stmt *s)
{
    const struct ref *const to = &s->assign[0].to, *const row = &s->operand[0], *const lane = &s->operand[1];
    const char *const size = "int64_t ";
    if (!is_in_one_row(x, s)) return;
    const struct product_argument argument[] = {
        {"lanes", size, emit_whole(x, emit_most_lanes(x, to))},
        {"steps", size, emit_range(x, s->axis)},
        {"span", size, "32"},
        {"a", x->input, emit_corner(x, s, row)},
        {"a_step", size, emit_step(x, row, s->axis)},
        {"b", x->input, emit_corner(x, s, lane)},
        {"b_step", size, emit_step(x, lane, s->axis)},
        {"c", x->output, emit_corner(x, s, to)},
    };
    const struct stmt *const loop = x->resumed->next, *const queries = sharing_pass(x, x->resumed, s);
    const char *const one_row = emit_format(x, "%s == 1", emit_range(x, s->axes[0]));
    if (queries) {
        const struct ref *const column = &queries->operand[1], *const sums = &queries->assign[0].to;
        const struct product_argument both[] = {
            argument[0],
            argument[1],
            argument[2],
            argument[3],
            argument[4],
            {"lane", x->input, emit_array(x, column)},
            {"lane_step", size, emit_step(x, column, s->axis)},
            argument[5],
            argument[6],
            argument[7],
            {"d", argument[7].type, emit_array(x, sums)},
            {"d_row", size, emit_step(x, sums, s->axes[1])},
        };
        emit_line(x, "with_rows = %s && (%s) - (%s) == 1;", one_row, emit_integer(x, loop->to),
                  emit_integer(x, loop->from));
        emit_open(x, "if (with_rows) /* the query's product, too */");
        emit_product_call(x, "dot_both", both, (int)(sizeof both / sizeof *both));
        x->indent -= 4;
        emit_line(x, "else");
        x->with_rows = queries;
    }
    emit_open(x, "if (%s)", one_row);
    emit_product_call(x, "dot_row", argument, (int)(sizeof argument / sizeof *argument));
    x->indent -= 4;
    emit_line(x, "else");
}

/* Prints the start of a condition: for one query, a product of keys that are to be listed has its terms in the lanes.
   `of` has the arguments of dot. */
static void emit_of_one_query(struct emitter *x, const struct stmt *s, const struct product_argument *of)
{
    enum { MAX_VECTORS = 16 };
    static const int taken[] = {DOT_TAIL - 1, DOT_STEPS,  DOT_A,          DOT_A + 1,
                                DOT_B,        DOT_B_STEP, DOT_B_STEP + 1, DOT_B_STEP + 2};
    const struct axis *const sum = &x->m->axis[s->axis];
    struct product_argument argument[sizeof taken / sizeof *taken];
    if (!program_selects(&x->c->program) || s->assign[0].fold != FOLD_SET || x->l->array[s->operand[1].of].paired ||
        sum->source != SIZE_CONSTANT || x->cut[s->axis] || sum->extent % x->lanes ||
        sum->extent > MAX_VECTORS * x->lanes || !axis_is_sequence(&x->m->axis[s->axes[1]]) ||
        strcmp(dtype_c_type(x->l->array[s->operand[0].of].dtype), x->real) != 0)
        return;
    for (size_t k = 0; k < sizeof taken / sizeof *taken; k++) argument[k] = of[taken[k]];
    const char *const step = of[DOT_A + 2].value, *const one = emit_range(x, s->axes[1]);
    emit_line(x, strcmp(step, "1") ? "if (%s == 1 && %s == 1)" : "if (%s == 1)", one, step);
    x->indent += 4;
    emit_product_call(x, "select_product", argument, (int)(sizeof taken / sizeof *taken));
    x->indent -= 4;
    emit_line(x, "else");
}

void emit_dot(struct emitter *x, const struct stmt *s)
{
    const struct ref *to = &s->assign[0].to, *row = &s->operand[0], *lane = &s->operand[1];
    const char *r = x->m->axis[s->axes[0]].name, *l = x->m->axis[s->axes[1]].name, *sum = x->m->axis[s->axis].name,
               *name = emit_array(x, to);
    bool add = s->assign[0].fold == FOLD_SUM, factor = s->operands == 3, kept = s->operands == 4;
    bool paired = x->l->array[lane->of].paired;
    emit_line(x, "/* %s[%s][%s] %s sum over %s of %s * %s */", name, r, l,
              factor ? emit_format(x, "= %s * %s +", name, emit_array(x, &s->operand[2]))
              : kept ? emit_format(x, "= %s * %s - %s * %s +", name, emit_array(x, &s->operand[2]), name,
                                   emit_array(x, &s->operand[3]))
              : add  ? "+="
                     : "=",
              sum, emit_array(x, row), emit_array(x, lane));
    const bool across = x->l->array[to->of].sums;
    if (x->l->array[lane->of].matrix) {
        const char *turn = across ? position_of(x, s) : NULL;
        if (across) emit_line(x, "await_turn(call, task, %s);", turn);
        (across ? emit_matrix_across : emit_matrix_dot)(x, s);
        if (across && is_last_across(x, s)) emit_line(x, "pass_turn(call, task, %s);", turn);
        return;
    }
    if (emit_is_along(x, s)) {
        emit_along(x, s);
        return;
    }
    const int update = s->assign[0].compensation ? 3 : factor ? 2 : add;
    struct ref compensation = *to;
    compensation.of = s->assign[0].compensation - 1;
    const bool fetched = emit_is_fetched(x, s);
    if (fetched && emit_most_lanes(x, to) > x->fetched_lanes) x->fetched_lanes = emit_most_lanes(x, to);
    const char *size = "int64_t ", *stored = emit_format(x, "const %s *", dtype_c_type(x->l->array[lane->of].dtype)),
               *input = paired ? "const uint16_t *" : x->input;
    const struct product_argument argument[] = {
        {"vectors", size, emit_format(x, "%d", block_vectors(x, to))},
        {"lanes", size, lanes_of(x, to)},
        {"rows", size, emit_range(x, s->axes[0])},
        {"tail", size,
         x->m->axis[s->axes[0]].source == SIZE_CONSTANT && !x->cut[s->axes[0]]
             ? emit_whole(x, x->m->axis[s->axes[0]].extent % x->rows)
             : "-1"},
        {"steps", size, paired ? pairs_of(x, s->axis) : emit_range(x, s->axis)},
        /* the number of terms that are summed separately: 32 for inner products, 192 for sums over keys */
        {"span", size, x->m->axis[s->axis].source == SIZE_CONSTANT ? "32" : "192"},
        {"a", input, emit_corner(x, s, row)},
        {"a_row", size, paired ? pair_stride(x, row, s->axes[0], s->axis) : emit_step(x, row, s->axes[0])},
        {"a_step", size, paired ? pair_stride(x, row, s->axis, s->axis) : emit_step(x, row, s->axis)},
        {"b", fetched ? stored : input, emit_corner(x, s, lane)},
        {"b_step", size, paired ? pair_stride(x, lane, s->axis, s->axis) : emit_step(x, lane, s->axis)},
        {"c", x->output, emit_corner(x, s, to)},
        {"c_row", size, emit_step(x, to, s->axes[0])},
        {"update", size, emit_format(x, "%d", update)},
        {"by", "float ", paired ? emit_number(x, s->times != 0 ? s->times : 1, true) : NULL},
        {"factor", x->input, factor ? emit_corner(x, s, &s->operand[2]) : "NULL"},
        {"compensation", x->output,
         !x->compensated             ? NULL
         : s->assign[0].compensation ? emit_corner(x, s, &compensation)
                                     : "NULL"},
    };
    const int arguments = (int)(sizeof argument / sizeof *argument);
    const char *position = NULL;
    if (across) {
        position = position_of(x, s);
        emit_line(x, "await_turn(call, task, %s);", position);
    }
    if (x->gathers && emit_is_gathered(x, s))
        emit_gathered(x, s, argument, arguments);
    else if (kept)
        emit_kept(x, s, argument, arguments);
    else if (s->where && (across || !axis_is_sequence(&x->m->axis[s->axes[1]])))
        emit_across_region(x, s, argument, arguments, fetched);
    else if (is_ahead(x, s))
        emit_ahead(x, s, argument, arguments);
    else if (s->coming && s->coming->count && !fetched && !paired)
        emit_meanwhile(x, s, argument, arguments);
    else if (!s->where) {
        emit_of_one_query(x, s, argument);
        emit_one_lane(x, s);
        emit_one_row(x, s);
        if (fetched)
            emit_prefetching(x, s, "dot_fetched", argument, arguments);
        else
            emit_product_call(x, paired ? "dot_paired" : "dot", argument, arguments);
    } else
        emit_over_region(x, s, argument, arguments);
    if (across && is_last_across(x, s)) emit_line(x, "pass_turn(call, task, %s);", position);
}
