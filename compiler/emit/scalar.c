/* Prints scalar expressions as C. A subexpression becomes a variable if it is used several times, or if it is
   computed in an outer loop. */
#include "emit.h"
#include "printer.h"
#include "scalar.h"
#include "../analysis/analysis.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *scalar_format(const struct nest *n, const char *text, ...)
{
    va_list arguments;
    va_start(arguments, text);
    const char *made = arena_vprintf(n->x->m->arena, text, arguments);
    va_end(arguments);
    return made;
}

/* ---- levels ---- */

bool scalar_depends(const struct nest *n, const struct expr *e, int axis)
{
    return expr_uses_axis(e, n->s->operand, axis);
}

/* Returns whether the expression depends on a row axis. */
static bool on_rows(const struct nest *n, const struct expr *e)
{
    for (int k = 0; k < n->s->rank; k++)
        if (n->s->axes[k] != n->lane && scalar_depends(n, e, n->s->axes[k])) return true;
    return false;
}

enum level scalar_level_of(const struct nest *n, const struct expr *e)
{
    return on_rows(n, e) ? LEVEL_ROW : n->lane >= 0 && scalar_depends(n, e, n->lane) ? LEVEL_LANE : LEVEL_UNIFORM;
}

void scalar_line(struct nest *n, enum level level, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const char *const text = arena_vprintf(n->x->m->arena, format, arguments);
    va_end(arguments);
    text_add(&n->level[level], "%*s%s\n", n->depth[level], "", text);
}

/* ---- terms ---- */

/* Returns a term of formatted C. */
static struct term term_of(struct nest *n, enum kind kind, bool vector, const char *format, ...) IR_PRINTF(4, 5);
static struct term term_of(struct nest *n, enum kind kind, bool vector, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const struct term made = {arena_vprintf(n->x->m->arena, format, arguments), kind, vector, false};
    va_end(arguments);
    return made;
}

static struct term with_lanes(struct term t, bool narrow)
{
    t.narrow = narrow;
    return t;
}

/* An integer, and a truth value, of each lane. */
#define ints_of(n, ...) term_of(n, KIND_INT, true, __VA_ARGS__)
#define mask_of(n, narrow, ...) with_lanes(term_of(n, KIND_BOOL, true, __VA_ARGS__), narrow)

/* Returns the C type of a term. */
static const char *type_name(const struct nest *n, const struct term *t)
{
    const char *suffix = n->x->suffix;
    switch (t->kind) {
    case KIND_INT: return t->vector ? scalar_format(n, "ints_%s", suffix) : "int64_t";
    case KIND_WORD: return scalar_format(n, "words_%s", suffix);
    case KIND_BOOL: return t->vector ? scalar_format(n, t->narrow ? "mask_%s" : "ints_%s", suffix) : "int";
    case KIND_REAL: return t->vector ? scalar_format(n, "vec_%s", suffix) : n->x->real;
    case KIND_DOUBLE: return t->vector ? scalar_format(n, "wide_%s", suffix) : "double";
    }
    return "";
}

/* Returns whether `c` needs no parentheses, because it is a name, number, call or element. */
static bool is_name(const char *c)
{
    if (*c == '-') return false;
    int depth = 0;
    for (; *c; c++) {
        if (*c == '(')
            depth++;
        else if (*c == ')')
            depth--;
        else if (depth == 0 && strchr(" +-*/<>?=&|^~", *c) && !(*c == '-' && (c[-1] == 'e')))
            return false;
    }
    return true;
}

const char *scalar_wrapped(struct nest *n, const char *c)
{
    return is_name(c) ? c : scalar_format(n, "(%s)", c);
}

/* Declares the variable `name` for the term, and returns the variable. */
static struct term name_term(struct nest *n, struct term t, enum level level, const char *name)
{
    scalar_line(n, level, "const %s %s = %s;", type_name(n, &t), name, t.c);
    t.c = name;
    return t;
}

/* Returns NAME_1, NAME_2, …, the first of these that is not the name of an array. */
static const char *unused_name(struct nest *n, const char *name)
{
    const struct loops *l = n->x->l;
    const char *made = scalar_format(n, "%s_%d", name, n->x->temporaries++);
    for (int a = 0; a < l->arrays; a++)
        if (strcmp(emit_local(n->x, l->array[a].name), made) == 0) return unused_name(n, name);
    return made;
}

struct term scalar_as_real(struct nest *n, struct term t)
{
    bool wide_is_vec = n->x->m->dtype == DTYPE_F64;
    if (t.kind == KIND_REAL) return t;
    struct term made = {.kind = KIND_REAL, .vector = t.vector};
    if (!t.vector) {
        made.c = wide_is_vec && t.kind == KIND_DOUBLE ? t.c
                                                      : scalar_format(n, "(%s)%s", n->x->real, scalar_wrapped(n, t.c));
        return made;
    }
    if (t.kind == KIND_BOOL) {
        made.c = scalar_format(n, "-__builtin_convertvector(%s, vec_%s)", t.c, n->x->suffix);
        return made;
    }
    made.c = t.kind == KIND_DOUBLE && wide_is_vec
                 ? t.c
                 : scalar_format(n, "__builtin_convertvector(%s, vec_%s)", t.c, n->x->suffix);
    return made;
}

static struct term as_double(struct nest *n, struct term t)
{
    bool wide_is_vec = n->x->m->dtype == DTYPE_F64;
    if (t.kind == KIND_DOUBLE) return t;
    struct term made = {.kind = KIND_DOUBLE, .vector = t.vector};
    if (!t.vector)
        made.c = scalar_format(n, "(double)%s", scalar_wrapped(n, t.c));
    else if (t.kind == KIND_REAL && wide_is_vec)
        made.c = t.c;
    else
        made.c = scalar_format(n, "%s__builtin_convertvector(%s, wide_%s)", t.kind == KIND_BOOL ? "-" : "", t.c,
                               n->x->suffix);
    return made;
}

static struct term as_int(struct nest *n, struct term t)
{
    if (t.kind == KIND_INT) return t;
    if (t.kind == KIND_WORD) return ints_of(n, "__builtin_convertvector(%s, ints_%s)", t.c, n->x->suffix);
    if (!t.vector) return term_of(n, KIND_INT, false, "(int64_t)%s", scalar_wrapped(n, t.c));
    if (t.narrow) return ints_of(n, "-__builtin_convertvector(%s, ints_%s)", t.c, n->x->suffix);
    return ints_of(n, "-%s", scalar_wrapped(n, t.c));
}

struct term scalar_as_bool(struct nest *n, struct term t)
{
    if (t.kind == KIND_BOOL) return t;
    return (struct term){scalar_format(n, "%s != 0", scalar_wrapped(n, t.c)), KIND_BOOL, t.vector,
                         t.vector && t.kind == KIND_REAL};
}

const char *scalar_as_vector(struct nest *n, struct term t)
{
    if (t.vector) return t.c;
    const char *zero = t.kind == KIND_INT ? "ints" : t.kind == KIND_DOUBLE ? "wide" : "vec";
    if (t.kind == KIND_REAL) return scalar_format(n, "splat_%s(%s)", n->x->suffix, t.c);
    return scalar_format(n, "(%s - (%s_%s){0})", scalar_wrapped(n, t.c), zero, n->x->suffix);
}

const char *scalar_as_mask(struct nest *n, struct term t)
{
    if (t.narrow || n->x->m->dtype == DTYPE_F64) return t.c;
    return scalar_format(n, "__builtin_convertvector(%s, mask_%s)", t.c, n->x->suffix);
}

static struct term load(struct nest *n, int operand)
{
    struct emitter *x = n->x;
    const struct ref *r = &n->s->operand[operand];
    const struct array *a = &x->l->array[r->of];
    bool vector = n->lane >= 0 && ref_uses_axis(r, n->lane);
    if (n->fresh[operand]) return (struct term){n->fresh[operand], KIND_REAL, vector, false};
    if (vector) return (struct term){emit_numbers_at(x, r), KIND_REAL, true, false};
    return (struct term){emit_number_at(x, r), a->kind == ARRAY_TABLE ? KIND_DOUBLE : KIND_REAL, false, false};
}

/* Returns C for the minimum or maximum of two scalars. Unlike fmin and fmax, it keeps NaN. */
static const char *extreme(struct nest *n, enum expr_op op, const char *a, const char *b)
{
    return scalar_format(n, "(%s %s %s || %s != %s ? %s : %s)", a, op == EXPR_MIN ? "<" : ">", b, a, a, a, b);
}

/* Returns whether e contains only indices, constants and tables. */
static bool from_indices(const struct nest *n, const struct expr *e)
{
    bool from = true;
    for (struct exprs w = {.of = e}; exprs_next(&w);)
        from &= w.e->op != EXPR_OPERAND || n->x->l->array[n->s->operand[w.e->integer].of].kind == ARRAY_TABLE;
    return from;
}

static const char *subscript_of_lanes(void *user, const struct expr *sub);

/* The nest in which the subscripts of a row are declared, and the level of their code. */
struct lanes {
    struct nest *n;
    enum level level;
};

/* Returns the term of an EXPR_ELEMENT, a double. The emitted C reads each lane separately. */
static struct term named_element(struct nest *n, const struct expr *e, enum level level)
{
    struct emitter *const x = n->x;
    if (n->lane < 0 || !scalar_depends(n, e, n->lane)) {
        const char *const one = emit_element_by_name(x, e, -1, NULL, NULL);
        return term_of(n, KIND_DOUBLE, false, "(double)%s", one);
    }
    const char *const name = scalar_format(n, "element_%d", x->temporaries++);
    const char *const one = emit_element_by_name(x, e, n->lane, subscript_of_lanes, &(struct lanes){n, level});
    scalar_line(n, level, "wide_%s %s;", x->suffix, name);
    scalar_line(n, level, "for (int lane = 0; lane < %d; lane++) %s[lane] = (double)%s;", x->lanes, name, one);
    return (struct term){name, KIND_DOUBLE, true, false};
}

/* Returns the term of a real expression of indices. It is a double, because it must be exact. */
static struct term wide_term(struct nest *n, const struct expr *e, enum level level)
{
    struct emitter *x = n->x;
    const char *suffix = x->suffix;
    if (e->op == EXPR_REAL) return (struct term){emit_number(x, e->real, false), KIND_DOUBLE, false, false};
    if (e->op == EXPR_ELEMENT) return named_element(n, e, scalar_level_of(n, e));
    if (e->type != TYPE_REAL || n->lane < 0 || !scalar_depends(n, e, n->lane))
        return as_double(n, scalar_term(n, e, level));
    struct term arg[3] = {
        {"", KIND_DOUBLE, false, false}, {"", KIND_DOUBLE, false, false}, {"", KIND_DOUBLE, false, false}};
    for (int k = 0; k < expr_arity(e->op); k++)
        arg[k] = e->op == EXPR_SELECT && k == 0 ? scalar_as_bool(n, scalar_term(n, e->arg[k], level))
                                                : wide_term(n, e->arg[k], level);
    const char *a = scalar_wrapped(n, arg[0].c), *b = scalar_wrapped(n, arg[1].c), *c = scalar_wrapped(n, arg[2].c);
    if (expr_infix(e->op)) return term_of(n, KIND_DOUBLE, true, "%s %s %s", a, expr_infix(e->op), b);
    if (e->op == EXPR_NEG) return term_of(n, KIND_DOUBLE, true, "-%s", a);
    /* Other operations become a loop over the lanes. */
    int number = x->temporaries++;
    const char *value;
    enum level own = scalar_level_of(n, e);
    if (e->op == EXPR_SELECT) {
        const char *const parts[] = {arg[0].c, b, c};
        const char *lanes[3];
        for (int k = 0; k < 3; k++) {
            lanes[k] = parts[k];
            if (!arg[k].vector) continue;
            lanes[k] = scalar_format(n, "t_%d_%c[lane]", number, "cab"[k]);
            scalar_line(n, own, "const %s t_%d_%c = %s;", type_name(n, &arg[k]), number, "cab"[k], parts[k]);
        }
        value = scalar_format(n, "%s ? %s : %s", scalar_wrapped(n, lanes[0]), lanes[1], lanes[2]);
        scalar_line(n, own, "wide_%s t_%d;", suffix, number);
    } else {
        const char *second = arg[1].c;
        scalar_line(n, own, "wide_%s t_%d = %s;", suffix, number,
                    arg[0].vector ? arg[0].c : scalar_format(n, "%s - (wide_%s){0}", a, suffix));
        if (arg[1].vector) {
            scalar_line(n, own, "const wide_%s t_%d_b = %s;", suffix, number, second);
            second = scalar_format(n, "t_%d_b[lane]", number);
        }
        if (e->op == EXPR_MIN || e->op == EXPR_MAX)
            value = extreme(n, e->op, scalar_format(n, "t_%d[lane]", number), scalar_wrapped(n, second));
        else
            value = *second ? scalar_format(n, "%s(t_%d[lane], %s)", expr_c_function(e->op), number, second)
                            : scalar_format(n, "%s(t_%d[lane])", expr_c_function(e->op), number);
    }
    scalar_line(n, own, "for (int lane = 0; lane < %d; lane++) t_%d[lane] = %s;", x->lanes, number, value);
    return term_of(n, KIND_DOUBLE, true, "t_%d", number);
}

/* ---- integers and truth values ---- */

static bool compares(const struct expr *e)
{
    return e->op == EXPR_LT || e->op == EXPR_LE || e->op == EXPR_EQ || e->op == EXPR_NE;
}

static bool compares_reals(const struct expr *e)
{
    return compares(e) && (e->arg[0]->type == TYPE_REAL || e->arg[1]->type == TYPE_REAL);
}

/* Returns the term of an integer or truth value that is the same in all lanes. */
static struct term shared_integer(struct nest *n, const struct expr *e, enum level level)
{
    enum kind kind = e->type == TYPE_BOOL ? KIND_BOOL : KIND_INT;
    if (!expr_has_real(e) || e->op == EXPR_ID) return (struct term){emit_integer(n->x, e), kind, false, false};
    const char *part[3] = {"", "", ""}, *c;
    bool reals = compares_reals(e), exact = !expr_has(e, EXPR_OPERAND);
    for (int k = 0; k < expr_arity(e->op); k++) {
        struct term t = scalar_term(n, e->arg[k], level);
        if (reals && exact && e->arg[k]->op == EXPR_REAL)
            t = (struct term){emit_number(n->x, e->arg[k]->real, false), KIND_DOUBLE, false, false};
        if (reals)
            t = exact ? as_double(n, t) : scalar_as_real(n, t);
        else if (e->op == EXPR_TRUNC)
            t = as_double(n, t);
        else if (kind == KIND_INT && t.kind == KIND_BOOL)
            t = as_int(n, t);
        part[k] = scalar_wrapped(n, t.c);
    }
    if (e->op == EXPR_TRUNC)
        c = scalar_format(n, "truncated(%s)", part[0]);
    else if (e->op == EXPR_NOT)
        c = scalar_format(n, "!%s", part[0]);
    else if (e->op == EXPR_SELECT)
        c = scalar_format(n, "%s ? %s : %s", part[0], part[1], part[2]);
    else if (expr_is_of_bits(e->op) && *expr_c_function(e->op))
        c = scalar_format(n, "%s(%s, %s)", expr_c_function(e->op), part[0], part[1]);
    else if (expr_infix(e->op))
        c = scalar_format(n, "%s %s %s", part[0], expr_infix(e->op), part[1]);
    else if (e->op == EXPR_NEG)
        c = scalar_format(n, "-%s", part[0]);
    else if (e->op == EXPR_ABS)
        c = scalar_format(n, "(int64_t)llabs(%s)", part[0]);
    else
        c = scalar_format(n, "%s(%s, %s)",
                          e->op == EXPR_MIN   ? "min"
                          : e->op == EXPR_MAX ? "max"
                                              : "floor_mod",
                          part[0], part[1]);
    return (struct term){c, kind, false, false};
}

/* Returns a term with the index of each lane on the lane axis. */
static struct term index_of_lanes(struct nest *n)
{
    struct emitter *x = n->x;
    const char *name = x->m->axis[n->lane].name;
    if (emit_apart(x, n->lane))
        return ints_of(n, "%s0 + %lld * (%s + lane_%s)", name, (long long)x->stride[n->lane], name, x->suffix);
    const char *base = emit_tiled(x, n->lane) ? scalar_format(n, "%s0 + %s", name, name) : name;
    return ints_of(n, "%s + lane_%s", base, x->suffix);
}

/* Returns whether e tests one flag of a parameter in each lane, at equal distances. Sets *rows and *positions to the
   distance. */
static bool reads_flags_of_lanes(struct nest *n, const struct expr *e, int64_t *rows, int64_t *positions)
{
    struct module *const m = n->x->m;
    if (e->op != EXPR_LT || !expr_is_real(e->arg[0], 0) || e->arg[1]->op != EXPR_ID ||
        !emit_reads_flags(n->x, e->arg[1]) || emit_apart(n->x, n->lane) || m->axis[n->lane].source == SIZE_ROWS)
        return false;
    const struct expr *const lane = expr_index(m, n->lane), *const row = emit_row(n->x, e->arg[1]),
                             *const at = e->arg[1]->arg[1], *const next = expr_add(m, lane, expr_int(m, 1));
    return known_difference(m, expr_replace(m, row, lane, next), row, rows) &&
           known_difference(m, expr_replace(m, at, lane, next), at, positions);
}

/* Returns the number of keys whose flags can be loaded at once for a vector of lanes, or 0. The lanes must be rows
   of the mask. The keys of the statement must be its columns. */
static int64_t flags_to_turn(const struct nest *n, const struct expr *id, int64_t rows, int64_t positions)
{
    const struct emitter *const x = n->x;
    const struct stmt *const s = n->s;
    const int key = s->rank == 2 ? s->axes[0] : -1;
    int64_t moved_row, moved;
    if (key < 0 || rows != 1 || positions != 0 || x->lanes % 8 || !emit_tiled(x, key) || emit_apart(x, key) ||
        n->lane != s->axes[1])
        return 0;
    const struct expr *const at = expr_index(x->m, key), *const row = emit_row(x, id),
                             *const next = expr_add(x->m, at, expr_int(x->m, 1));
    if (!known_difference(x->m, expr_replace(x->m, row, at, next), row, &moved_row) || moved_row != 0 ||
        !known_difference(x->m, expr_replace(x->m, id->arg[1], at, next), id->arg[1], &moved) || moved != 1)
        return 0;
    const struct ref *const to = &s->assign[0].to;
    const struct array *const a = &x->l->array[to->of];
    for (int k = 0; k < a->rank && a->kind == ARRAY_TILE; k++)
        if (ref_axis(to, k) == key) return a->extent[k];
    return 0;
}

/* Returns C for the distance in memory from the flag of one lane to the flag of the next. */
static const char *step_of_flags(struct nest *n, const struct expr *id, int64_t rows, int64_t positions)
{
    struct emitter *const x = n->x;
    const struct array *const a = emit_ids_array(x, id);
    if (!emit_strided(x, a))
        return !rows ? scalar_format(n, "%lld", (long long)positions)
               : positions
                   ? scalar_format(n, "%lld * %s + %lld", (long long)rows, emit_row_length(x, id), (long long)positions)
               : rows == 1 ? emit_row_length(x, id)
                           : scalar_format(n, "%lld * %s", (long long)rows, emit_row_length(x, id));
    const struct expr *const lane = expr_index(x->m, n->lane), *const row = emit_row(x, id),
                             *const next = expr_add(x->m, lane, expr_int(x->m, 1));
    return emit_step_of_lanes(x, a, row, expr_replace(x->m, row, lane, next), positions);
}

/* Returns the term of an expression for which reads_flags_of_lanes is true. */
static struct term flags_of_lanes(struct nest *n, const struct expr *e, int64_t rows, int64_t positions,
                                  const char *step)
{
    struct emitter *const x = n->x;
    const struct expr *const id = e->arg[1];
    const bool strided = emit_strided(x, emit_ids_array(x, id));
    const char *const column = strided ? emit_last_stride(x, emit_ids_array(x, id)) : "1",
                      *const times = strided ? scalar_format(n, " * %s", column) : "";
    const char *const lanes = scalar_format(n, "%s - %s", emit_size(x->m, n->lane),
                                            emit_integer_text(x, expr_index(x->m, n->lane), true));
    const struct array *const array = emit_ids_array(x, id);
    const char *const function = array->hides ? scalar_format(n, "shown_%s", dtype_name(array->dtype)) : "flags";
    const int64_t keys = array->hides ? 0 : flags_to_turn(n, id, rows, positions);
    if (keys > 0) {
        const int key = n->s->axes[0];
        const struct expr *const first = expr_replace(x->m, id->arg[1], expr_index(x->m, key), expr_lo(x->m, key));
        const char *const flags = scalar_format(n, "flags_%d", x->temporaries++);
        scalar_line(n, LEVEL_LANE, "uint8_t %s[%lld * %d];", flags, (long long)keys, x->lanes);
        scalar_line(n, LEVEL_LANE, "turn_flags_%s(%s, %s + %s%s, %s, %s, %s, %s1 - %s0);", x->suffix, flags,
                    emit_ids_of_sequence(x, id), emit_integer_text(x, first, true), times, step, column, lanes,
                    x->m->axis[key].name, x->m->axis[key].name);
        return mask_of(n, true, "flags_of_lanes_%s(%s + %s * %d, 1, %d)", x->suffix, flags, x->m->axis[key].name,
                       x->lanes, x->lanes);
    }
    return mask_of(n, true, "%s_of_lanes_%s(%s + %s%s, %s, %s)", function, x->suffix, emit_ids_of_sequence(x, id),
                   emit_integer_text(x, id->arg[1], true), times, step, lanes);
}

/* Declares a variable with the integer of each lane, and returns the variable's name. */
static const char *ints_of_lanes(struct nest *n, const struct expr *e, enum level level)
{
    struct emitter *const x = n->x;
    const char *const name = scalar_format(n, "rows_%d", x->temporaries++);
    scalar_line(n, level, "const ints_%s %s = %s;", x->suffix, name, as_int(n, scalar_term(n, e, level)).c);
    return name;
}

static const char *subscript_of_lanes(void *user, const struct expr *sub)
{
    const struct lanes *const to = user;
    return ints_of_lanes(to->n, sub, to->level);
}

/* Returns a term with the elements of an integer parameter for all lanes. The emitted C looks up each element
   separately. If the row differs by lane, it is counted from the start of the array. Lanes that are not used may
   have rows after the last one. */
static struct term ids_of_lanes(struct nest *n, const struct expr *e, enum level level)
{
    struct emitter *x = n->x;
    struct term at = as_int(n, scalar_term(n, e->arg[1], level));
    const struct array *const a = emit_ids_array(x, e);
    const bool strided = emit_strided(x, a);
    const char *name = scalar_format(n, "id_%d", x->temporaries++), *row = NULL, *length = emit_row_length(x, e);
    if (scalar_depends(n, e->arg[0], n->lane))
        row = strided ? scalar_format(n, "%s + %s", emit_ids_base(x, a),
                                      emit_offset_of_lane(x, a, emit_row(x, e), n->lane, subscript_of_lanes,
                                                          &(struct lanes){n, level}))
                      : scalar_format(n, "%s + min(%s[lane], %s - 1) * %s", emit_ids_base(x, a),
                                      ints_of_lanes(n, emit_row(x, e), level), emit_rows(x, e), length);
    scalar_line(n, level, "ints_%s %s = %s;", x->suffix, name, scalar_as_vector(n, at));
    scalar_line(n, level, "for (int lane = 0; lane < %d; lane++) %s[lane] = %s;", x->lanes, name,
                emit_element_along(x, e, row ? row : emit_ids_of_sequence(x, e), scalar_format(n, "%s[lane]", name)));
    return ints_of(n, "%s", name);
}

/* Returns a term with numbers of a list for all lanes. Lanes that are not used may be after its end. */
static struct term listed_of_lanes(struct nest *n, const struct expr *e, enum level level)
{
    const struct term at = as_int(n, scalar_term(n, e->arg[0], level));
    const char *const name = scalar_format(n, "entry_%d", n->x->temporaries++);
    scalar_line(n, level, "ints_%s %s = %s;", n->x->suffix, name, scalar_as_vector(n, at));
    scalar_line(n, level, "for (int lane = 0; lane < %d; lane++) %s[lane] = %s[min(%s[lane], %d)];", n->x->lanes, name,
                emit_list(n->x, e), name, (int)strlen(e->name) - 2);
    return ints_of(n, "%s", name);
}

/* Returns whether e compares a random number with a 32-bit constant. */
static bool compares_words(const struct expr *e)
{
    return e->op == EXPR_LT && e->arg[0]->op == EXPR_RANDOM && e->arg[1]->op == EXPR_INT && e->arg[1]->integer >= 0 &&
           e->arg[1]->integer <= UINT32_MAX;
}

/* Returns the term of a comparison per lane. Real numbers that depend only on indices are compared as doubles. */
static struct term comparison(struct nest *n, const struct expr *e, enum level level)
{
    struct term a, b;
    bool narrow = false;
    int64_t rows, positions;
    const char *const step = reads_flags_of_lanes(n, e, &rows, &positions)
                                 ? step_of_flags(n, e->arg[1], rows, positions)
                                 : NULL;
    if (step) return flags_of_lanes(n, e, rows, positions, step);
    if (compares_words(e))
        return mask_of(n, true, "words_below_%s(%s, UINT32_C(%lld))", n->x->suffix, scalar_term(n, e->arg[0], level).c,
                       (long long)e->arg[1]->integer);
    if (compares_reals(e) && !expr_has(e, EXPR_OPERAND)) {
        a = wide_term(n, e->arg[0], level);
        b = wide_term(n, e->arg[1], level);
    } else {
        a = scalar_term(n, e->arg[0], level);
        b = scalar_term(n, e->arg[1], level);
        narrow = a.kind == KIND_REAL || b.kind == KIND_REAL || a.kind == KIND_DOUBLE || b.kind == KIND_DOUBLE;
        a = narrow ? scalar_as_real(n, a) : as_int(n, a);
        b = narrow ? scalar_as_real(n, b) : as_int(n, b);
    }
    return mask_of(n, narrow, "%s %s %s", scalar_wrapped(n, a.c), expr_infix(e->op), scalar_wrapped(n, b.c));
}

/* Returns C for an operand of `and` or `or`, which is 0 or -1 in each lane. If `narrow`, it is as wide as the
   kernel's type. Otherwise it has 64 bits. */
static const char *side(struct nest *n, struct term t, bool narrow)
{
    if (!t.vector) t.c = scalar_format(n, "-(int64_t)%s", scalar_wrapped(n, t.c));
    if (narrow && t.vector && !t.narrow) t.c = scalar_as_mask(n, t);
    if (narrow && !t.vector) t.c = scalar_format(n, "(int)(%s)", t.c);
    return scalar_wrapped(n, t.c);
}

static struct term and_or(struct nest *n, const struct expr *e, enum level level)
{
    struct term a = scalar_as_bool(n, scalar_term(n, e->arg[0], level)),
                b = scalar_as_bool(n, scalar_term(n, e->arg[1], level));
    bool narrow = a.narrow || b.narrow;
    return mask_of(n, narrow, "%s %s %s", side(n, a, narrow), e->op == EXPR_AND ? "&" : "|", side(n, b, narrow));
}

/* Returns the term of EXPR_DRAWN. It is a mask that a function of runtime/kernel/draw.h computes. */
static struct term drawn(struct nest *n, const struct expr *e, enum level level)
{
    struct emitter *x = n->x;
    struct term a = as_int(n, scalar_term(n, e->arg[0], level)), b = as_int(n, scalar_term(n, e->arg[1], level));
    struct term *const lanes = a.vector ? &a : &b; /* the argument that differs by lane */
    if (lanes->vector && (!is_name(lanes->c) || strchr(lanes->c, '(')))
        *lanes = name_term(n, *lanes, level, scalar_format(n, "block%d", x->temporaries++));
    return (struct term){a.vector ? scalar_format(n, "%s_%s(&%s, &%s, %s)", e->draw->sorted ? "listed" : "drawn",
                                                  x->suffix, emit_drawn_name(x, e), a.c, b.c)
                                  : scalar_format(n, "%s_for_%s(&%s, %s, &%s)", e->draw->sorted ? "listed" : "drawn",
                                                  x->suffix, emit_drawn_name(x, e), a.c, b.c),
                         KIND_BOOL, true, true};
}

/* Returns the term of a select between integers. Its C has no branch: (mask & p) | (~mask & q). */
static struct term select_integer(struct nest *n, const struct expr *e, enum level level)
{
    struct term a = scalar_as_bool(n, scalar_term(n, e->arg[0], level)),
                b = as_int(n, scalar_term(n, e->arg[1], level)), c = as_int(n, scalar_term(n, e->arg[2], level));
    const char *p = scalar_wrapped(n, scalar_as_vector(n, b)), *q = scalar_wrapped(n, scalar_as_vector(n, c));
    if (!a.vector) return ints_of(n, "%s ? %s : %s", scalar_wrapped(n, a.c), p, q);
    const char *mask = a.narrow && n->x->m->dtype != DTYPE_F64
                           ? scalar_format(n, "__builtin_convertvector(%s, ints_%s)", a.c, n->x->suffix)
                           : scalar_wrapped(n, a.c);
    return ints_of(n, "(%s & %s) | (~%s & %s)", mask, p, mask, q);
}

/* Returns the term of a shift per lane. C does not define shifts by fewer than 0 or more than 63 bits. */
static struct term shift(struct nest *n, const struct expr *e, enum level level)
{
    const struct term a = as_int(n, scalar_term(n, e->arg[0], level)), b = as_int(n, scalar_term(n, e->arg[1], level));
    const char *const p = scalar_wrapped(n, scalar_as_vector(n, a));
    const struct term shifts = ints_of(n, "%s", scalar_as_vector(n, b));
    const char *const by = name_term(n, shifts, level, scalar_format(n, "by_%d", n->x->temporaries++)).c;
    return e->op == EXPR_SHIFT_LEFT ? ints_of(n, "(%s << (%s & 63)) & ((%s & ~63) == 0)", p, by, by)
                                    : ints_of(n, "%s >> ((%s | ((%s & ~63) != 0)) & 63)", p, by, by);
}

/* Returns the term of integer arithmetic per lane, without a branch. */
static struct term arithmetic(struct nest *n, const struct expr *e, enum level level)
{
    struct term a = as_int(n, scalar_term(n, e->arg[0], level));
    const char *p = scalar_wrapped(n, a.c);
    if (e->op == EXPR_NEG) return ints_of(n, "-%s", p);
    if (e->op == EXPR_ABS) return ints_of(n, "(%s ^ (%s >> 63)) - (%s >> 63)", p, p, p);
    struct term b = as_int(n, scalar_term(n, e->arg[1], level));
    const char *q = scalar_wrapped(n, b.c);
    if (expr_infix(e->op)) return ints_of(n, "%s %s %s", p, expr_infix(e->op), q);
    if (e->op == EXPR_FLOORMOD) {
        const char *r = name_term(n, ints_of(n, "%s %% %s", p, q), level, scalar_format(n, "r%d", n->x->temporaries++))
                            .c;
        return ints_of(n, "%s + (((%s != 0) & ((%s < 0) != (%s < 0))) & %s)", r, r, r, q, q);
    }
    const char *less = scalar_format(n, "(%s %s %s)", p, e->op == EXPR_MIN ? "<" : ">", q);
    return ints_of(n, "(%s & %s) | (~%s & %s)", less, scalar_wrapped(n, scalar_as_vector(n, a)), less,
                   scalar_wrapped(n, scalar_as_vector(n, b)));
}

/* Returns the term for a real that is truncated to an integer. The C function truncate_T takes addresses, because
   `wide_T` and `ints_T` may be wider than the target's vectors. */
static struct term truncated(struct nest *n, const struct expr *e, enum level level)
{
    struct term a = expr_has(e, EXPR_OPERAND) ? as_double(n, scalar_term(n, e->arg[0], level))
                                              : wide_term(n, e->arg[0], level);
    const int number = n->x->temporaries++;
    const char *const suffix = n->x->suffix, *const whole = scalar_format(n, "whole%d", number);
    a = name_term(n, a, level, scalar_format(n, "real%d", number));
    scalar_line(n, level, "ints_%s %s = {0};", suffix, whole);
    scalar_line(n, level, "truncate_%s(&%s, &%s);", suffix, whole, a.c);
    return ints_of(n, "%s", whole);
}

/* ---- random numbers: calls of the functions in runtime/kernel/random.h ---- */

/* Declares a variable with the value of e in each lane. Returns the variable's name. */
static const char *lanes_of(struct nest *n, const struct expr *e, enum level level, const char *name)
{
    const struct term t = as_int(n, scalar_term(n, e, level));
    scalar_line(n, level, "const ints_%s %s = %s;", n->x->suffix, name, scalar_as_vector(n, t));
    return name;
}

/* Returns the term of EXPR_RANDOM for x, y and z. A block of Philox has the numbers of four neighbouring y. So the C
   keeps the last blocks in `last`.
   - If x differs by lane and y by row, the words of a block are for four rows.
   - If y is the lane, a block has the numbers of four lanes. The blocks for all lanes have four rows.
   - In other cases, each lane computes its own block. */
static struct term random_term(struct nest *n, const struct expr *e, enum level level)
{
    struct emitter *const x = n->x;
    const struct expr *const *arg = e->arg;
    const char *const s = x->suffix, *made;
    const int number = x->temporaries++;
    const bool z_varies = scalar_depends(n, arg[2], n->lane),
               by_y = !z_varies && !scalar_depends(n, arg[1], n->lane) && !on_rows(n, arg[0]) && !on_rows(n, arg[2]),
               by_x = !z_varies && !scalar_depends(n, arg[0], n->lane) && arg[1] == expr_index(x->m, n->lane) &&
                      !emit_apart(x, n->lane);
    scalar_line(n, LEVEL_UNIFORM, "const struct random_keys_%s keys_%d = random_keys_of_%s(call->p.seed);", s, number,
                s);
    if (by_y || by_x) scalar_line(n, LEVEL_LANE, "struct random_%s last_%d = {.first = INT64_MIN};", s, number);
    if (by_y)
        made = scalar_format(n, "random_at_y_%s(&last_%d, &keys_%d, &%s, %s, %s)", s, number, number,
                             lanes_of(n, arg[0], LEVEL_LANE, scalar_format(n, "x_%d", number)), emit_integer(x, arg[1]),
                             emit_integer(x, arg[2]));
    else if (by_x)
        made = scalar_format(n, "random_at_x_%s(&last_%d, &keys_%d, %s, %s, %s)", s, number, number,
                             emit_integer(x, arg[0]), emit_integer(x, arg[1]), emit_integer(x, arg[2]));
    else {
        const char *lanes[3];
        for (int k = 0; k < 3; k++) lanes[k] = lanes_of(n, arg[k], level, scalar_format(n, "%c_%d", "xyz"[k], number));
        made = scalar_format(n, "random_of_lanes_%s(&keys_%d, &%s, &%s, &%s)", s, number, lanes[0], lanes[1], lanes[2]);
    }
    return (struct term){made, KIND_WORD, true, false};
}

static struct term integer_term(struct nest *n, const struct expr *e, enum level level)
{
    if (n->lane < 0 || !scalar_depends(n, e, n->lane)) return shared_integer(n, e, level);
    if (compares(e)) return comparison(n, e, level);
    switch ((int)e->op) {
    case EXPR_INDEX: return index_of_lanes(n);
    case EXPR_ID: return ids_of_lanes(n, e, level);
    case EXPR_LISTED: return listed_of_lanes(n, e, level);
    case EXPR_TRUNC: return truncated(n, e, level);
    case EXPR_AND:
    case EXPR_OR: return and_or(n, e, level);
    case EXPR_NOT: {
        struct term a = scalar_as_bool(n, scalar_term(n, e->arg[0], level));
        return mask_of(n, a.narrow, "~%s", scalar_wrapped(n, a.c));
    }
    case EXPR_DRAWN: return drawn(n, e, level);
    case EXPR_RANDOM: return random_term(n, e, level);
    case EXPR_SELECT: return select_integer(n, e, level);
    case EXPR_SHIFT_LEFT:
    case EXPR_SHIFT_RIGHT: return shift(n, e, level);
    default: return arithmetic(n, e, level);
    }
}

/* ---- reals ---- */

/* Returns the term of the argument of sin or cos, in doubles. */
static struct term double_term(struct nest *n, const struct expr *e, enum level level)
{
    if (e->type != TYPE_REAL || e->op == EXPR_OPERAND || e->op == EXPR_REAL) {
        struct term t = e->op == EXPR_REAL ? (struct term){emit_number(n->x, e->real, false), KIND_DOUBLE, false, false}
                                           : scalar_term(n, e, level);
        return as_double(n, t);
    }
    if (expr_infix(e->op)) {
        struct term a = double_term(n, e->arg[0], level), b = double_term(n, e->arg[1], level);
        return term_of(n, KIND_DOUBLE, a.vector || b.vector, "%s %s %s", scalar_wrapped(n, a.c), expr_infix(e->op),
                       scalar_wrapped(n, b.c));
    }
    return from_indices(n, e) ? wide_term(n, e, level) : as_double(n, scalar_term(n, e, level));
}

/* Returns whether the absolute values of all elements of a table are at most 1. */
static bool is_fraction(const struct nest *n, const struct array *table)
{
    int64_t elements = 1;
    for (int k = 0; k < table->rank; k++) elements *= n->x->m->axis[table->axes[k]].extent;
    for (int64_t k = 0; k < elements; k++)
        if (!(fabs(table->data[k]) <= 1)) return false;
    return true;
}

/* Returns the number of integer factors of a product. Returns a large number if another factor may exceed 1. */
static int integer_factors(const struct nest *n, const struct expr *e)
{
    enum { MANY = 100 };
    if (e->type != TYPE_REAL) return 1;
    if (e->op == EXPR_NEG) return integer_factors(n, e->arg[0]);
    if (e->op == EXPR_MUL) return integer_factors(n, e->arg[0]) + integer_factors(n, e->arg[1]);
    if (e->op == EXPR_REAL) return fabs(e->real) <= 1 ? 0 : MANY;
    if (e->op != EXPR_OPERAND) return MANY;
    const struct array *const a = &n->x->l->array[n->s->operand[e->integer].of];
    return a->kind == ARRAY_TABLE && is_fraction(n, a) ? 0 : MANY;
}

/* Returns whether an angle is small enough for sin_T and cos_T. Such an angle is a number of an f32 array, or a
   position times factors of at most 1. */
static bool angle_is_small(const struct nest *n, const struct expr *e)
{
    if (e->op == EXPR_OPERAND && n->x->m->dtype != DTYPE_F64) return true;
    return integer_factors(n, e) <= 1;
}

/* Returns an integer as a real. If the integer is linear in the rows, only its value for row 0 is converted, outside
   the loop. The reason is that few machines convert 64-bit integers fast. */
static struct term real_of_integer(struct nest *n, const struct expr *e, enum level level)
{
    struct emitter *x = n->x;
    if (e->type != TYPE_INT || n->lane < 0 || !scalar_depends(n, e, n->lane) || !on_rows(n, e))
        return scalar_as_real(n, scalar_term(n, e, level));
    if (e->op == EXPR_ABS) {
        return term_of(n, KIND_REAL, true, "abs_%s(%s)", x->suffix, real_of_integer(n, e->arg[0], level).c);
    }
    struct form f = {.remainder = expr_int(x->m, 0)};
    /* The remainder may compare elements, so it may depend on rows. */
    bool linear = form_add(x->m, &f, e, 1) && !on_rows(n, f.remainder);
    for (int k = 0; k < f.terms && linear; k++) linear = !on_rows(n, f.term[k].e);
    const char *rows = "";
    const struct expr *base = e;
    for (int k = 0; k < n->s->rank && linear; k++) {
        int axis = n->s->axes[k];
        int64_t weight = f.weight[axis];
        if (axis == n->lane) continue;
        if (weight == 0) { /* the axis does not occur, or it cancels as in j - (i + j) */
            base = expr_replace(x->m, base, expr_index(x->m, axis), expr_int(x->m, 0));
            continue;
        }
        if (!emit_tiled(x, axis) || (x->gathers && x->gathers->axis == axis)) linear = false;
        base = expr_replace(x->m, base, expr_index(x->m, axis), expr_lo(x->m, axis));
        if (emit_apart(x, axis)) weight *= x->stride[axis];
        const char *times = weight * weight == 1 ? "" : scalar_format(n, "%lld * ", (long long)llabs(weight));
        rows = scalar_format(n, "%s %c (%s)%s", rows, weight < 0 ? '-' : '+', x->real,
                             *times ? scalar_format(n, "(%s%s)", times, x->m->axis[axis].name) : x->m->axis[axis].name);
    }
    if (!linear) return scalar_as_real(n, scalar_term(n, e, level));
    struct term start = scalar_as_real(n, scalar_term(n, base, LEVEL_LANE));
    start = name_term(n, start, LEVEL_LANE, scalar_format(n, "t_%d", x->temporaries++));
    return term_of(n, KIND_REAL, true, "%s%s", start.c, rows);
}

/* Returns whether e is a slope times a distance, up to its sign. A slope is a real constant of the nest. A distance
   is an integer of the lane. */
static bool is_slope(const struct nest *n, const struct expr *e)
{
    if (e->op == EXPR_NEG) return is_slope(n, e->arg[0]);
    if (e->op != EXPR_MUL || e->arg[0]->type == e->arg[1]->type) return false;
    const struct expr *slope = e->arg[e->arg[1]->type == TYPE_REAL], *distance = e->arg[e->arg[1]->type != TYPE_REAL];
    return scalar_depends(n, distance, n->lane) && !expr_has(slope, EXPR_OPERAND) &&
           scalar_level_of(n, slope) == LEVEL_UNIFORM;
}

/* Returns a + b or a - b in float, where one of them is a slope times a distance. The slope is split into high +
   rest. The product high * distance is exact and is added first. */
static struct term slope_term(struct nest *n, const struct expr *e, enum level level)
{
    struct emitter *x = n->x;
    int which = is_slope(n, e->arg[1]);
    bool minus[2] = {false, e->op == EXPR_SUB};
    const struct expr *product = e->arg[which];
    for (; product->op == EXPR_NEG; product = product->arg[0]) minus[which] = !minus[which];
    bool swapped = product->arg[1]->type == TYPE_REAL;
    struct term other = scalar_as_real(n, scalar_term(n, e->arg[1 - which], level)),
                slope = wide_term(n, product->arg[swapped], LEVEL_UNIFORM);
    int number = x->temporaries++;
    scalar_line(n, LEVEL_UNIFORM, "const double t_%d = %s;", number, slope.c);
    scalar_line(n, LEVEL_UNIFORM, "const float t_%d_high = high_part_%s(t_%d), t_%d_rest = (float)(t_%d - t_%d_high);",
                number, x->suffix, number, number, number, number);
    struct term distance = name_term(n, real_of_integer(n, product->arg[!swapped], level),
                                     scalar_level_of(n, product->arg[!swapped]),
                                     scalar_format(n, "t_%d_times", number));
    const char *first = scalar_format(n, minus[1 - which] ? "-%s" : "%s", scalar_wrapped(n, other.c)),
               *sign = minus[which] ? "-" : "+";
    return term_of(n, KIND_REAL, true, "(%s %s (t_%d_high * %s)) %s (t_%d_rest * %s)", first, sign, number, distance.c,
                   sign, number, distance.c);
}

/* Returns a tanh that e multiplies by a large constant, or NULL. Such a product caps numbers that are mostly far below
   the constant, so the tanh is mostly near 0. */
static const struct expr *capped(const struct expr *e)
{
    const double large = 16;
    for (int k = 0; k < 2 && e->op == EXPR_MUL; k++)
        if (e->arg[k]->op == EXPR_TANH && e->arg[1 - k]->op == EXPR_REAL && fabs(e->arg[1 - k]->real) >= large)
            return e->arg[k];
    return NULL;
}

static struct term real_term(struct nest *n, const struct expr *e, enum level level)
{
    struct emitter *x = n->x;
    if (e->op == EXPR_OPERAND) return load(n, (int)e->integer);
    if (e->op == EXPR_ELEMENT) return named_element(n, e, level);
    bool narrow = x->m->dtype != DTYPE_F64;
    if (e->op == EXPR_REAL) return (struct term){emit_number(x, e->real, narrow), KIND_REAL, false, false};
    bool vector = n->lane >= 0 && scalar_depends(n, e, n->lane);
    if (e->op == EXPR_SIN || e->op == EXPR_COS) {
        struct term a = double_term(n, e->arg[0], level);
        if (!a.vector) return scalar_as_real(n, term_of(n, KIND_DOUBLE, false, "%s(%s)", expr_c_function(e->op), a.c));
        if (!is_name(a.c) || strchr(a.c, '('))
            a = name_term(n, a, level, scalar_format(n, "angle%d", n->x->temporaries++));
        const char *const any = angle_is_small(n, e->arg[0]) ? "" : "_any";
        return term_of(n, KIND_REAL, true, "%s%s_%s(&%s)", expr_name(e->op), any, x->suffix, a.c);
    }
    if (expr_rounds(e->op) && vector && !expr_has(e, EXPR_OPERAND)) return scalar_as_real(n, wide_term(n, e, level));
    bool sum = e->op == EXPR_ADD || e->op == EXPR_SUB;
    if (narrow && vector && sum && (is_slope(n, e->arg[0]) || is_slope(n, e->arg[1]))) return slope_term(n, e, level);
    /* a scalar that depends only on indices stays an exact double */
    bool exact = !vector && from_indices(n, e);
    struct term arg[3] = {{"", KIND_REAL, false, false}, {"", KIND_REAL, false, false}, {"", KIND_REAL, false, false}};
    if (capped(e)) n->capped = capped(e);
    for (int k = 0; k < expr_arity(e->op); k++) {
        bool condition = e->op == EXPR_SELECT && k == 0;
        if (exact && e->arg[k]->op == EXPR_REAL)
            arg[k] = (struct term){emit_number(x, e->arg[k]->real, false), KIND_DOUBLE, false, false};
        else
            arg[k] = e->arg[k]->type == TYPE_INT && !exact ? real_of_integer(n, e->arg[k], level)
                                                           : scalar_term(n, e->arg[k], level);
        arg[k] = condition ? scalar_as_bool(n, arg[k]) : exact ? as_double(n, arg[k]) : scalar_as_real(n, arg[k]);
    }
    enum kind kind = exact ? KIND_DOUBLE : KIND_REAL;
    const char *a = arg[0].c, *b = arg[1].c, *c = arg[2].c, *f = !exact && narrow ? "f" : "";
    if (expr_infix(e->op))
        return term_of(n, kind, vector, "%s %s %s", scalar_wrapped(n, a), expr_infix(e->op), scalar_wrapped(n, b));
    if (e->op == EXPR_NEG) return term_of(n, kind, vector, "-%s", scalar_wrapped(n, a));
    if (e->op == EXPR_SELECT) {
        if (!vector)
            return term_of(n, kind, false, "%s ? %s : %s", scalar_wrapped(n, a), scalar_wrapped(n, b),
                           scalar_wrapped(n, c));
        b = scalar_as_vector(n, arg[1]), c = scalar_as_vector(n, arg[2]);
        if (!arg[0].vector) return term_of(n, kind, true, "%s ? %s : %s", scalar_wrapped(n, a), b, c);
        return term_of(n, kind, true, "pick_%s(%s, %s, %s)", x->suffix, scalar_as_mask(n, arg[0]), b, c);
    }
    if (!vector) {
        const char *name = expr_c_function(e->op);
        if (e->op == EXPR_MIN || e->op == EXPR_MAX) {
            for (int k = 0; k < 2; k++)
                if (!is_name(arg[k].c) || strchr(arg[k].c, '('))
                    arg[k] = name_term(n, arg[k], level, scalar_format(n, "t_%d", x->temporaries++));
            return (struct term){extreme(n, e->op, arg[0].c, arg[1].c), kind, false, false};
        }
        if (expr_arity(e->op) == 2) return term_of(n, kind, false, "%s%s(%s, %s)", name, f, a, b);
        return term_of(n, kind, false, "%s%s(%s)", name, f, a);
    }
    a = scalar_as_vector(n, arg[0]);
    /* max_T keeps a NaN of its first argument. max_nan_T keeps a NaN of either argument. */
    if (e->op == EXPR_MIN || e->op == EXPR_MAX) {
        bool first = e->arg[1]->op == EXPR_REAL, either = !first && e->arg[0]->op != EXPR_REAL;
        b = scalar_as_vector(n, arg[1]);
        return term_of(n, KIND_REAL, true, "%s_%s%s(%s, %s)", expr_name(e->op), either ? "nan_" : "", x->suffix,
                       first || either ? a : b, first || either ? b : a);
    }
    if (expr_arity(e->op) == 2)
        return term_of(n, kind, true, "%s_%s(%s, %s)", expr_name(e->op), x->suffix, a, scalar_as_vector(n, arg[1]));
    const bool near = e == n->capped && narrow && x->c->target->takes_roots;
    return term_of(n, kind, true, "%s%s_%s(%s)", expr_name(e->op),
                   near                                 ? "_capped"
                   : e->op == EXPR_EXP2 && n->s->coarse ? "_coarse"
                                                        : "",
                   x->suffix, a);
}

struct term scalar_term(struct nest *n, const struct expr *e, enum level user)
{
    bool known = e->id < n->exprs; /* real_of_integer makes expressions that are not in the list */
    if (known && n->seen[e->id]) return n->term[e->id];
    enum level level = scalar_level_of(n, e);
    bool leaf = e->op == EXPR_INT || e->op == EXPR_REAL || e->op == EXPR_SIZE || e->op == EXPR_LO || e->op == EXPR_HI ||
                e->op == EXPR_START;
    bool fresh = e->op == EXPR_OPERAND && n->fresh[e->integer];
    struct term t = e->type == TYPE_REAL ? real_term(n, e, level) : integer_term(n, e, level);
    bool scalar_index = e->op == EXPR_INDEX && !t.vector;
    if (!leaf && !fresh && !scalar_index && ((known && n->count[e->id] > 1) || level != user)) {
        const char *name = e->op == EXPR_OPERAND ? emit_local(n->x, n->x->l->array[n->s->operand[e->integer].of].name)
                                                 : "t";
        t = name_term(n, t, level, unused_name(n, name));
        if (known) {
            n->seen[e->id] = e;
            n->term[e->id] = t;
        }
    }
    return t;
}

void scalar_count_parents(struct nest *n, const struct expr *e)
{
    if (n->count[e->id]++) return;
    for (int k = 0; k < expr_arity(e->op); k++) scalar_count_parents(n, e->arg[k]);
}
