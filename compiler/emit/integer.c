/* Prints names, sizes and integer expressions that are the same for all lanes. scalar.c prints integers that differ
   by lane. */
#include "emit.h"
#include "printer.h"
#include "../analysis/analysis.h"
#include "../expression/expression.h"
#include "../schedule/schedule.h"
#include "../spec/spec.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

bool emit_tiled(const struct emitter *x, int axis)
{
    return axis_is_sequence(&x->m->axis[axis]);
}

bool emit_apart(const struct emitter *x, int axis)
{
    return x->stride[axis] > 1;
}

/* Returns whether the C has variables i0 and i1 for the axis's current range. */
static bool ranged(const struct emitter *x, int axis)
{
    return emit_tiled(x, axis) || x->cut[axis] || (x->in_window && axis_is_chunks(&x->m->axis[axis]));
}

const char *emit_number(const struct emitter *x, double value, bool narrow)
{
    if (isinf(value)) return value > 0 ? "INFINITY" : "-INFINITY";
    if (isnan(value)) return "NAN";
    if (narrow && fabs(value) >= 3.4028234663852886e38) return value > 0 ? "FLT_MAX" : "-FLT_MAX";
    if (narrow && (float)value == 0) value = 0;
    if (!narrow && fabs(value) >= 1.7976931348623157e308) return value > 0 ? "DBL_MAX" : "-DBL_MAX";
    char text[48];
    int digits = narrow ? 9 : 17;
    for (int d = 1; d <= digits; d++) {
        snprintf(text, sizeof text, "%.*g", d, value);
        if (narrow ? strtof(text, NULL) == (float)value : strtod(text, NULL) == value) break;
    }
    return emit_format(x, "%s%s%s", text, strpbrk(text, ".e") ? "" : ".0", narrow ? "f" : "");
}

static void find_batch(void *user, const struct expression *e)
{
    bool *const found = user;
    *found |= e->uses[NAME_b] || e->uses[NAME_B];
}

bool emit_numbers_sequences(const struct spec *spec)
{
    bool found = spec->graph || mask_numbers_sequences(spec->mask);
    spec_expressions(spec, find_batch, &found);
    return found && spec->emit & EMIT_DECODE;
}

static void find_truncated(void *user, const struct expression *e)
{
    bool *const found = user;
    *found |= expr_has(e->value, EXPR_TRUNC);
    for (int k = 0; k < e->elements; k++)
        for (int n = 0; n < e->element[k].array->rank; n++) *found |= expr_has(e->element[k].sub[n], EXPR_TRUNC);
}

static bool truncates(const struct spec *spec)
{
    bool found = spec->graph && strstr(spec->graph, "trunc");
    spec_expressions(spec, find_truncated, &found);
    return found;
}

/* Returns C for the batch index of a task, if `e` is an INDEX, LO or HI of it. Otherwise returns NULL. A call with a
   state computes groups of sequences, and `b` counts from 0 in each group. */
static const char *sequence_number(const struct emitter *x, const struct expr *e, bool inner)
{
    const int axis = (int)e->integer;
    const bool numbered = x->m->axis[axis].source == SIZE_BATCH && x->task_axis[axis] &&
                          !program_is_backward(&x->c->program) && emit_numbers_sequences(x->c->spec);
    if (!numbered) return NULL;
    const char *const name = x->m->axis[axis].name, *const more = e->op == EXPR_HI ? " + 1" : "";
    return emit_format(x, inner ? "(%s + call->first_sequence%s)" : "%s + call->first_sequence%s", name, more);
}

static bool is_sum(const struct expr *e)
{
    return e->op == EXPR_ADD || e->op == EXPR_SUB;
}

enum { MAX_CANCELLED = 1 << 30 }; /* Larger constants are not simplified, to avoid overflow. */

/* Returns whether argument k of e needs no parentheses. */
static bool stands_bare(const struct expr *e, int k)
{
    bool call = e->op == EXPR_MIN || e->op == EXPR_MAX || e->op == EXPR_ABS || e->op == EXPR_FLOORMOD ||
                e->op == EXPR_RANDOM || e->op == EXPR_START;
    return call || (is_sum(e) && is_sum(e->arg[k]) && (k == 0 || e->op == EXPR_ADD));
}

const struct array *emit_ids_array(const struct emitter *x, const struct expr *e)
{
    int a = 0;
    while (strcmp(x->l->array[a].name, e->name) != 0) a++;
    return &x->l->array[a];
}

bool emit_starts_at_first(const struct emitter *x, const struct array *a)
{
    const struct kernel_array *const of = emit_entry(x, a->name);
    return dtype_is_integer(a->dtype) && !(of && of->declared);
}

bool emit_starts_at_sequence(const struct emitter *x, const struct array *a)
{
    return a->rank == 2 && !a->hides && x->m->axis[a->axes[0]].source == SIZE_BATCH && x->task_axis[a->axes[0]];
}

const char *emit_row_length(const struct emitter *x, const struct expr *e)
{
    const struct array *const a = emit_ids_array(x, e);
    return a->rank ? emit_size(x->m, a->axes[a->rank - 1]) : "1";
}

/* Returns row `row` of e's array, counted from the row that the array's pointer points to. */
static const struct expr *own_row(const struct emitter *x, const struct expr *e, const struct expr *row)
{
    const struct array *const a = emit_ids_array(x, e);
    if (!emit_starts_at_sequence(x, a)) return row;
    const bool own = (row->op == EXPR_INDEX || row->op == EXPR_LO) && row->integer == a->axes[0];
    return own ? expr_int(x->m, 0) : expr_sub(x->m, row, expr_index(x->m, a->axes[0]));
}

const struct expr *emit_row(const struct emitter *x, const struct expr *e)
{
    return own_row(x, e, e->arg[0]);
}

/* ---- rows of arrays whose strides the caller may give ---- */

/* Returns C for subscript `sub` times `stride`, or NULL if the product is 0. */
static const char *term(struct emitter *x, const struct expr *sub, const char *stride)
{
    if (expr_is_real(sub, 0)) return NULL;
    if (expr_is_real(sub, 1)) return stride;
    return emit_format(x, "%s * %s", emit_integer_text(x, sub, true), stride);
}

static const char *offset_of_row(struct emitter *x, const struct array *a, const struct expr *row)
{
    struct axis_of_caller level[2 * MAX_RANK];
    const struct expr *sub[2 * MAX_RANK];
    const char *made = NULL;
    const int axes = emit_subscripts_of_row(x, a, row, level, sub);
    for (int k = 0; k < axes; k++) {
        const char *const one = term(x, sub[k], level[k].stride);
        if (one) made = emit_plus(x, made, "%s", one);
    }
    return made;
}

const char *emit_offset_of_lane(struct emitter *x, const struct array *a, const struct expr *row, int lane,
                                const char *(*of_lanes)(void *user, const struct expr *sub), void *user)
{
    struct axis_of_caller level[2 * MAX_RANK];
    const struct expr *sub[2 * MAX_RANK];
    const char *made = NULL;
    const int axes = emit_subscripts_of_row(x, a, row, level, sub);
    for (int k = 0; k < axes; k++) {
        const char *one = term(x, sub[k], level[k].stride);
        if (expr_axes(sub[k]) >> lane & 1)
            one = emit_format(x, "min(%s[lane], %s - 1) * %s", of_lanes(user, sub[k]),
                              emit_integer_text(x, level[k].size, true), level[k].stride);
        if (one) made = emit_plus(x, made, "%s", one);
    }
    return made ? made : "0";
}

static const char *last_size(struct emitter *x, const struct array *a)
{
    struct axis_of_caller level[2 * MAX_RANK];
    return a->rank ? emit_integer(x, level[emit_levels_of(x, a, level) - 1].size) : "1";
}

const char *emit_widened_element(const struct emitter *x, const struct array *a, const char *element)
{
    const bool widens = a->kind == ARRAY_PARAM && dtype_is_narrow(a->dtype);
    return widens ? emit_format(x, "widened_%s(%s)", dtype_name(a->dtype), element) : element;
}

const char *emit_element_by_name(struct emitter *x, const struct expr *e, int lane,
                                 const char *(*of_lanes)(void *user, const struct expr *sub), void *user)
{
    const struct array *const a = emit_ids_array(x, e);
    struct axis_of_caller level[2 * MAX_RANK];
    struct ref r = {.of = (int)(a - x->l->array), .rank = a->rank};
    const struct expr *sub[2 * MAX_RANK];
    const char *name = emit_local(x, a->name), *made = NULL;
    const int axes = emit_subscripts_of_row(x, a, e->arg[0], level, sub);
    for (int k = 0; k < a->rank; k++) r.sub[k] = k < axes ? sub[k] : e->arg[1];
    if (emit_has_dropped(x, a) && !emit_is_of_key(x, &r)) name = emit_format(x, "last_%s", name);
    for (int k = 0; k < a->rank; k++) {
        if (x->task_axis[a->axes[k]]) continue;
        const char *one = term(x, r.sub[k], emit_stride_of_caller(x, a, k));
        if (lane >= 0 && expr_axes(r.sub[k]) >> lane & 1)
            one = emit_format(x, "min(%s[lane], %s - 1) * %s", of_lanes(user, r.sub[k]), emit_size(x->m, a->axes[k]),
                              emit_stride_of_caller(x, a, k));
        if (one) made = emit_plus(x, made, "%s", one);
    }
    return emit_widened_element(x, a, emit_format(x, "%s[%s]", name, made ? made : "0"));
}

static const char *ids_of_box(struct emitter *x, const struct array *a, const struct expr *first,
                              const struct expr *last, const char *from, const char *to)
{
    struct axis_of_caller level[2 * MAX_RANK];
    const struct expr *low[2 * MAX_RANK], *high[2 * MAX_RANK];
    const int axes = emit_subscripts_of_row(x, a, first, level, low);
    emit_subscripts_of_row(x, a, last, level, high);
    const char *strides = "", *begin = "", *end = "";
    for (int k = 0; k < axes; k++) {
        const char *const comma = k ? ", " : "";
        strides = emit_format(x, "%s%s%s", strides, comma, level[k].stride);
        begin = emit_format(x, "%s%s%s", begin, comma, emit_integer(x, low[k]));
        end = emit_format(x, "%s%s%s", end, comma, emit_integer(x, high[k]));
    }
    const char *const list = axes ? "(const int64_t[]){%s}" : "NULL%s";
    const char *const function = a->hides               ? "shown"
                                 : a->dtype == DTYPE_U8 ? "flags"
                                                        : "ids",
                      *const type = a->hides ? emit_format(x, ", %s", emit_runtime_dtype(a->dtype)) : "";
    return emit_format(x, "%s_of_box(%s%s, %d, %s, %s, %s, %s, %s, %s)", function, emit_ids_base(x, a), type, axes,
                       emit_format(x, list, strides), emit_format(x, list, begin), emit_format(x, list, end),
                       emit_last_stride(x, a), from, to);
}

const char *emit_step_of_lanes(struct emitter *x, const struct array *a, const struct expr *row,
                               const struct expr *next, int64_t positions)
{
    struct axis_of_caller level[2 * MAX_RANK];
    const struct expr *one[2 * MAX_RANK], *two[2 * MAX_RANK];
    const int axes = emit_subscripts_of_row(x, a, row, level, one);
    emit_subscripts_of_row(x, a, next, level, two);
    const char *made = NULL;
    for (int k = 0; k < axes; k++) {
        int64_t step;
        if (!known_difference(x->m, two[k], one[k], &step)) return NULL;
        const char *const add = term(x, expr_int(x->m, step), level[k].stride);
        if (add) made = emit_plus(x, made, "%s", add);
    }
    if (positions) made = emit_plus(x, made, "%s", term(x, expr_int(x->m, positions), emit_last_stride(x, a)));
    return made ? made : "0";
}

/* Returns C for the offset of a row that own_row has counted, or NULL if the offset is 0. */
static const char *row_offset(struct emitter *x, const struct expr *e, const struct expr *row)
{
    if (emit_strided(x, emit_ids_array(x, e))) return offset_of_row(x, emit_ids_array(x, e), row);
    if (expr_is_real(row, 0)) return NULL;
    return emit_format(x, "%s * %s", emit_integer_text(x, row, true), emit_row_length(x, e));
}

/* Returns C for the address of a row that own_row has counted. */
static const char *row_address(struct emitter *x, const struct expr *e, const struct expr *row)
{
    const char *array = emit_ids_base(x, emit_ids_array(x, e)), *offset = row_offset(x, e, row);
    return offset ? emit_format(x, "%s + %s", array, offset) : array;
}

const char *emit_ids_of_sequence(struct emitter *x, const struct expr *e)
{
    return row_address(x, e, emit_row(x, e));
}

const char *emit_rows(struct emitter *x, const struct expr *e)
{
    const struct array *const a = emit_ids_array(x, e);
    const char *rows = "1";
    for (int k = 0; k + 1 < a->rank; k++)
        rows = k ? emit_format(x, "%s * %s", rows, emit_size(x->m, a->axes[k])) : emit_size(x->m, a->axes[k]);
    return rows;
}

bool emit_reads_flags(const struct emitter *x, const struct expr *e)
{
    const struct array *const a = emit_ids_array(x, e);
    return a->dtype == DTYPE_U8 || a->hides;
}

const char *emit_ids_base(const struct emitter *x, const struct array *a)
{
    const char *const name = emit_local(x, a->name);
    return a->hides ? emit_format(x, "%s_whole", name) : name;
}

static const char *id_of(const struct emitter *x, const struct array *a, const char *element)
{
    return a->hides ? emit_format(x, "shown_%s(%s)", dtype_name(a->dtype), element) : element;
}

const char *emit_element_along(struct emitter *x, const struct expr *e, const char *array, const char *at)
{
    const struct array *const a = emit_ids_array(x, e);
    const char *const length = emit_strided(x, a) ? last_size(x, a) : emit_row_length(x, e),
                      *const stride = emit_strided(x, a) ? emit_last_stride(x, a) : "1";
    if (a->hides) return id_of(x, a, emit_format(x, "(%s)[max(min(%s, %s - 1), 0) * %s]", array, at, length, stride));
    const bool strided = emit_strided(x, a);
    return emit_format(x, strided ? "%s_along(%s, %s, %s, %s)" : "%s_at(%s, %s, %s)",
                       a->dtype == DTYPE_U8 ? "flag" : "id", array, at, length, stride);
}

/* Returns C for an element of an integer parameter. A plain index is always inside the array. For other subscripts,
   the C calls id_at. */
static const char *id_text(struct emitter *x, const struct expr *e)
{
    const struct array *const a = emit_ids_array(x, e);
    const char *array = emit_ids_of_sequence(x, e), *at = emit_integer_text(x, e->arg[1], false);
    const bool strided = emit_strided(x, a), start = expr_is_real(e->arg[1], 0);
    const char *const stride = strided ? emit_last_stride(x, a) : "1";
    if (e->arg[1]->op == EXPR_INT)
        return id_of(x, a, emit_format(x, strided && !start ? "(%s)[%s * %s]" : "(%s)[%s]", array, at, stride));
    const bool index = e->arg[1]->op == EXPR_INDEX || e->arg[1]->op == EXPR_LO;
    if (index && x->task_axis[e->arg[1]->integer] && x->m->axis[e->arg[1]->integer].source == SIZE_BATCH &&
        emit_starts_at_first(x, a))
        at = x->m->axis[e->arg[1]->integer].name; /* extend moves the pointer to the first sequence of its group */
    if (index && x->m->axis[e->arg[1]->integer].source == x->m->axis[a->axes[a->rank - 1]].source) {
        const char *name = emit_ids_base(x, emit_ids_array(x, e)), *offset = row_offset(x, e, emit_row(x, e));
        if (strided) at = emit_format(x, "%s * %s", emit_integer_text(x, e->arg[1], true), stride);
        return id_of(x, a,
                     offset ? emit_format(x, "%s[%s + %s]", name, offset, at) : emit_format(x, "%s[%s]", name, at));
    }
    return emit_element_along(x, e, array, at);
}

/* Returns `text` as an operand. Array elements have 32 bits, so they are converted to 64 bits. */
static const char *wide(struct emitter *x, const struct expr *e, const char *text)
{
    return e->op == EXPR_ID ? emit_format(x, "(int64_t)%s", text) : text;
}

/* Returns whether a and b, whose C is c_a and c_b, are equal terms. Terms without operands are compared as C, because
   two sizes can be one variable. Other terms have no C here. */
static bool same_term(const struct expr *a, const char *c_a, const struct expr *b, const char *c_b)
{
    return c_a && c_b ? strcmp(c_a, c_b) == 0 : a == b;
}

/* Returns C for the sum without terms that cancel, such as i0 and -i0. Returns NULL if no terms cancel. */
static const char *cancelled(struct emitter *x, const struct expr *e, bool inner)
{
    enum { MOST = 128, MAX_KEPT = 16 };
    struct expr_term term[MOST];
    const char *c[MOST];
    const int count = is_sum(e) ? expr_terms(e, term, MOST) : 0;
    int kept = 0, constants = 0;
    int64_t constant = 0;
    bool cancels = false;
    for (int k = 0; k < count; k++) {
        const struct expr_term t = term[k];
        if (t.e->op == EXPR_INT) {
            if (llabs(t.e->integer) > MAX_CANCELLED) return NULL;
            constant += t.minus ? -t.e->integer : t.e->integer;
            cancels |= constants++ > 0;
            continue;
        }
        const char *const own = expr_arity(t.e->op) == 0 ? emit_integer_text(x, t.e, true) : NULL;
        int n = 0;
        while (n < kept && (term[n].minus == t.minus || !same_term(term[n].e, c[n], t.e, own))) n++;
        if (n == kept) {
            if (kept == MAX_KEPT) return NULL;
            term[kept] = t;
            c[kept++] = own;
            continue;
        }
        cancels = true;
        kept--;
        memmove(term + n, term + n + 1, (size_t)(kept - n) * sizeof *term);
        memmove(c + n, c + n + 1, (size_t)(kept - n) * sizeof *c);
    }
    if (!cancels) return NULL;
    struct text made = {0};
    for (int k = 0; k < kept; k++) {
        text_add(&made, "%s", !term[k].minus ? (k ? " + " : "") : k ? " - " : "-");
        text_add(&made, "%s", c[k] ? c[k] : wide(x, term[k].e, emit_integer_text(x, term[k].e, true)));
    }
    if (!kept)
        text_add(&made, "%lld", (long long)constant);
    else if (constant)
        text_add(&made, " %c %lld", constant < 0 ? '-' : '+', (long long)llabs(constant));
    const bool wrapped = inner && strpbrk(made.data, " -");
    return emit_format(x, wrapped ? "(%s)" : "%s", text_take(&made, x->m->arena));
}

/* Returns C for a MIN_ID or MAX_ID. */
static const char *id_end(struct emitter *x, const struct expr *e)
{
    const char *end = e->op == EXPR_MIN_ID ? "min" : "max";
    int k = emit_known_ids(x, e);
    if (k < x->ids) return emit_format(x, "ids_%d.%s", k, end);
    return emit_format(x, "%s.%s", emit_ids_in_range(x, e), end);
}

static const char *print_integer(struct emitter *x, const struct expr *e, bool inner);

/* Returns whether a nest of minima, or of maxima, has the operand whose C is `operand`. Two sizes can be
   one variable. */
static bool has_operand(struct emitter *x, const struct expr *nest, enum expr_op op, const char *operand)
{
    if (nest->op != op) return strcmp(print_integer(x, nest, false), operand) == 0;
    return has_operand(x, nest->arg[0], op, operand) || has_operand(x, nest->arg[1], op, operand);
}

/* Returns C for the minimum or maximum of a and b, the C of e's arguments. If b is redundant, returns a. */
static const char *extreme(struct emitter *x, const struct expr *e, const char *a, const char *b)
{
    if (has_operand(x, e->arg[0], e->op, b)) return a;
    return emit_format(x, "%s(%s, %s)", e->op == EXPR_MIN ? "min" : "max", a, b);
}

/* Returns e for a range of one index i: LO becomes i and HI becomes i + 1, so that more terms cancel. Ids and drawn
   blocks are not changed, because they are found by pointer. */
static const struct expr *settle(void *of, const struct expr *e)
{
    const struct emitter *const x = of;
    if (expr_is_of_ids(e->op) || e->op == EXPR_DRAWN || e->op == EXPR_START) return e;
    if (e->op != EXPR_LO && e->op != EXPR_HI) return NULL;
    const int axis = (int)e->integer;
    if (ranged(x, axis) || x->m->axis[axis].source == SIZE_ROWS) return e;
    const struct expr *const index = expr_index(x->m, axis);
    return e->op == EXPR_LO ? index : expr_add(x->m, index, expr_int(x->m, 1));
}

static const struct expr *settled(struct emitter *x, const struct expr *e)
{
    return expr_map(x->m, e, settle, x);
}

const char *emit_place(const struct module *m, const struct expr *e)
{
    static const char *const member[] = {"start", "number", "member"};
    const struct expr *const row = e->op == EXPR_START ? e->arg[0] : NULL;
    if (!row || row->op != EXPR_INDEX || m->axis[row->integer].source != SIZE_ROWS) return NULL;
    return arena_printf(m->arena, "place[%s].%s", m->axis[row->integer].name, member[e->arg[1]->integer]);
}

const char *emit_list(const struct emitter *x, const struct expr *e)
{
    struct text text = {0};
    for (size_t k = 1; k < strlen(e->name); k++)
        text_add(&text, "\\%o", (unsigned)listed_number(e->name, (int64_t)k - 1));
    const char *const made = emit_format(x, "\"%s\"", text.data);
    text_free(&text);
    return made;
}

/* Returns C for an expression that `settled` has returned. A range without variables is a whole SIZE_ROWS axis. */
static const char *print_integer(struct emitter *x, const struct expr *e, bool inner)
{
    const bool index = e->op == EXPR_INDEX || e->op == EXPR_LO || e->op == EXPR_HI;
    for (int k = 0; k < x->parts; k++)
        if (x->part[k] == e) return x->part_c[k];
    const char *name = index ? x->m->axis[e->integer].name : "", *number = index ? sequence_number(x, e, inner) : NULL;
    if (number) return number;
    switch ((int)e->op) {
    case EXPR_INT: return emit_format(x, e->integer < 0 && inner ? "(%lld)" : "%lld", (long long)e->integer);
    case EXPR_SIZE: return emit_size(x->m, (int)e->integer);
    case EXPR_START:
        if (emit_place(x->m, e)) return emit_format(x, "call->%s", emit_place(x->m, e));
        x->start = e;
        return "query_start";
    case EXPR_LO: return ranged(x, (int)e->integer) ? emit_format(x, "%s0", name) : "0";
    case EXPR_HI: return ranged(x, (int)e->integer) ? emit_format(x, "%s1", name) : emit_size(x->m, (int)e->integer);
    case EXPR_INDEX:
        if (x->gathers && x->gathers->axis == (int)e->integer)
            return emit_format(x, "%s_list[%s0 + %s]", name, name, name);
        if (emit_apart(x, (int)e->integer))
            return emit_format(x, inner ? "(%s0 + %lld * %s)" : "%s0 + %lld * %s", name,
                               (long long)x->stride[e->integer], name);
        return emit_tiled(x, (int)e->integer) ? emit_format(x, inner ? "(%s0 + %s)" : "%s0 + %s", name, name) : name;
    default: break;
    }
    if (e->op == EXPR_MIN_ID || e->op == EXPR_MAX_ID) return id_end(x, e);
    if (e->op == EXPR_ID) return id_text(x, e);
    if (e->op == EXPR_LISTED) return emit_format(x, "%s[%s]", emit_list(x, e), emit_integer_text(x, e->arg[0], false));
    if (e->op == EXPR_ELEMENT) return emit_format(x, "(double)%s", emit_element_by_name(x, e, -1, NULL, NULL));
    if (e->op == EXPR_DRAWN)
        return emit_format(x, "%s(&%s, %s, %s)", e->draw->sorted ? "in_list" : "attn_drawn", emit_drawn_name(x, e),
                           emit_integer_text(x, e->arg[0], false), emit_integer_text(x, e->arg[1], false));
    if (e->op == EXPR_ANY_ID || e->op == EXPR_ANY_SORTED)
        return emit_format(x, "any_%s(%s, %s, %s, %s, %s, %s)", e->op == EXPR_ANY_ID ? "id" : "sorted",
                           emit_ids_base(x, emit_ids_array(x, e)), emit_row_length(x, e),
                           emit_integer(x, e->arg[0]->arg[0]), emit_integer(x, e->arg[0]->arg[1]),
                           emit_integer(x, e->arg[1]), emit_integer(x, e->arg[2]));
    if (e->op == EXPR_REAL) return emit_number(x, e->real, false);
    const bool real = e->type == TYPE_REAL;
    const char *part[3] = {"", "", ""}, *a, *b, *made = real ? NULL : cancelled(x, e, inner);
    if (made) return made;
    for (int k = 0; k < expr_arity(e->op); k++) {
        part[k] = print_integer(x, e->arg[k], !stands_bare(e, k));
        if (e->type == TYPE_INT && (expr_infix(e->op) || e->op == EXPR_NEG)) part[k] = wide(x, e->arg[k], part[k]);
    }
    a = part[0], b = part[1];
    if (e->op == EXPR_ADD && e->arg[1]->op == EXPR_INT && e->arg[1]->integer < 0 && e->arg[1]->integer != INT64_MIN)
        made = emit_format(x, "%s - %lld", a, (long long)-e->arg[1]->integer);
    else if (expr_is_of_bits(e->op) && *expr_c_function(e->op))
        return emit_format(x, "%s(%s, %s)", expr_c_function(e->op), a, b);
    else if (expr_infix(e->op))
        made = emit_format(x, "%s %s %s", a, expr_infix(e->op), b);
    else
        switch ((int)e->op) {
        case EXPR_TRUNC: return emit_format(x, "truncated(%s)", a);
        case EXPR_NEG: made = emit_format(x, "-%s", a); break;
        case EXPR_NOT: made = emit_format(x, "!%s", a); break;
        case EXPR_SELECT: made = emit_format(x, "%s ? %s : %s", a, b, part[2]); break;
        case EXPR_MIN:
        case EXPR_MAX:
            if (!real) return extreme(x, e, a, b);
            if (truncates(x->c->spec))
                return emit_format(x, "%s(%s, %s)", e->op == EXPR_MIN ? "min_real" : "max_real", a, b);
            made = emit_format(x, "%s %s %s || %s != %s ? %s : %s", a, e->op == EXPR_MIN ? "<" : ">", b, a, a, a, b);
            break;
        case EXPR_ABS:
            if (real) return emit_format(x, "fabs(%s)", a);
            return emit_format(x, "(int64_t)llabs(%s)", a);
        case EXPR_FLOORMOD: return emit_format(x, "floor_mod(%s, %s)", a, b);
        case EXPR_RANDOM: return emit_format(x, "random_word_%s(call->p.seed, %s, %s, %s)", x->suffix, a, b, part[2]);
        default: return emit_format(x, *b ? "%s(%s, %s)" : "%s(%s)", expr_c_function(e->op), a, b);
        }
    return inner ? emit_format(x, "(%s)", made) : made;
}

const char *emit_integer_text(struct emitter *x, const struct expr *e, bool inner)
{
    return print_integer(x, settled(x, e), inner);
}

bool emit_has_query_start(const struct emitter *x)
{
    const struct expr *const b = x->start ? x->start->arg[0] : NULL;
    return b && (b->op == EXPR_INT || x->task_axis[b->integer]);
}

const char *emit_query_start(struct emitter *x)
{
    const struct expr *const b = x->start->arg[0];
    return emit_format(x, "const int64_t query_start = call->p.query_start ? call->p.query_start[%s] : %s;",
                       b->op == EXPR_INT ? "0" : x->m->axis[b->integer].name, emit_integer(x, x->start->arg[1]));
}

const char *emit_integer(struct emitter *x, const struct expr *e)
{
    return emit_integer_text(x, e, false);
}

/* Returns whether a and b are a minimum or maximum over the same range. */
static bool same_range(const struct expr *a, const struct expr *b)
{
    return a->name == b->name && a->arg[0] == b->arg[0] && a->arg[1] == b->arg[1] && a->arg[2] == b->arg[2];
}

int emit_known_ids(const struct emitter *x, const struct expr *e)
{
    int k = 0;
    while (k < x->ids && !same_range(x->id[k], e)) k++;
    return k;
}

int emit_table_of(const struct emitter *x, const struct expr *e)
{
    const struct kernel_array *const of = emit_entry(x, e->name);
    int table = 0;
    if (!of || !of->tiled) return -1;
    for (const struct kernel_array *a = x->arrays->array; a < of; a++) table += a->tiled;
    return table;
}

const char *emit_ids_in_range(struct emitter *x, const struct expr *e)
{
    const struct expr *const first = settled(x, own_row(x, e, e->arg[0]->arg[0]));
    const struct expr *const end = settled(x, own_row(x, e, e->arg[0]->arg[1]));
    const char *const kind = emit_reads_flags(x, e) ? "flags" : "ids", *const from = emit_integer(x, e->arg[1]),
                      *const to = emit_integer(x, e->arg[2]);
    int64_t rows;
    const int table = emit_table_of(x, e);
    const bool one = known_difference(x->m, end, first, &rows) && rows == 1;
    if (emit_strided(x, emit_ids_array(x, e)) && (one || table < 0))
        return ids_of_box(x, emit_ids_array(x, e), first, expr_sub(x->m, end, expr_int(x->m, 1)), from, to);
    if (one) return emit_format(x, "%s_of(%s, %s, %s)", kind, row_address(x, e, first), from, to);
    if (table >= 0)
        return emit_format(x, "flags_of_tiles(&call->mask_tiles[%d], %s, %s, %s, %s)", table,
                           emit_integer(x, e->arg[0]->arg[0]), emit_integer(x, e->arg[0]->arg[1]), from, to);
    return emit_format(x, "%s_of_rows(%s, %s, %s, %s, %s, %s)", kind, emit_ids_base(x, emit_ids_array(x, e)),
                       emit_row_length(x, e), emit_integer(x, first), emit_integer(x, end), from, to);
}

const char *emit_drawn_name(const struct emitter *x, const struct expr *drawn)
{
    int k = 0;
    while (k < x->drawns && !draw_same_lists(x->drawn[k], drawn)) k++;
    return emit_format(x, "drawn_%d", k);
}

const char *emit_plus(const struct emitter *x, const char *sum, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const char *const more = arena_vprintf(x->m->arena, format, arguments);
    va_end(arguments);
    return sum ? emit_format(x, "%s + %s", sum, more) : more;
}
