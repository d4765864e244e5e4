/* Prints expressions of integers and truth values as C, and random numbers that are computed from them. */
#include "scalar.h"
#include "../analysis/analysis.h"

#include <stdlib.h>
#include <string.h>

static struct term ints_of(const char *c)
{
    return (struct term){c, KIND_INT, true, false};
}

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
            t = exact ? scalar_as_double(n, t) : scalar_as_real(n, t);
        else if (e->op == EXPR_TRUNC)
            t = scalar_as_double(n, t);
        else if (kind == KIND_INT && t.kind == KIND_BOOL)
            t = scalar_as_int(n, t);
        part[k] = scalar_wrapped(n, t.c);
    }
    if (e->op == EXPR_TRUNC)
        c = scalar_format(n, "truncated(%s)", part[0]);
    else if (e->op == EXPR_NOT)
        c = scalar_format(n, "!%s", part[0]);
    else if (e->op == EXPR_SELECT)
        c = scalar_format(n, "%s ? %s : %s", part[0], part[1], part[2]);
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
        return ints_of(
            scalar_format(n, "%s0 + %lld * (%s + lane_%s)", name, (long long)x->stride[n->lane], name, x->suffix));
    const char *base = emit_tiled(x, n->lane) ? scalar_format(n, "%s0 + %s", name, name) : name;
    return ints_of(scalar_format(n, "%s + lane_%s", base, x->suffix));
}

/* Returns whether e tests one byte of a parameter in each lane, at equal distances. Sets *rows and *positions to the
   distance. */
static bool reads_flags_of_lanes(struct nest *n, const struct expr *e, int64_t *rows, int64_t *positions)
{
    struct module *const m = n->x->m;
    if (e->op != EXPR_LT || !expr_is_real(e->arg[0], 0) || e->arg[1]->op != EXPR_ID ||
        !emit_reads_bytes(n->x, e->arg[1]) || emit_apart(n->x, n->lane) || m->axis[n->lane].source == SIZE_ROWS)
        return false;
    const struct expr *const lane = expr_leaf(m, EXPR_INDEX, n->lane), *const row = emit_row(n->x, e->arg[1]),
                             *const at = e->arg[1]->arg[1],
                             *const next = expr_make(m, EXPR_ADD, lane, expr_int(m, 1), NULL);
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
    const struct expr *const at = expr_leaf(x->m, EXPR_INDEX, key), *const row = emit_row(x, id),
                             *const next = expr_make(x->m, EXPR_ADD, at, expr_int(x->m, 1), NULL);
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
    const struct expr *const lane = expr_leaf(x->m, EXPR_INDEX, n->lane), *const row = emit_row(x, id),
                             *const next = expr_make(x->m, EXPR_ADD, lane, expr_int(x->m, 1), NULL);
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
                                            emit_integer_text(x, expr_leaf(x->m, EXPR_INDEX, n->lane), true));
    const int64_t keys = flags_to_turn(n, id, rows, positions);
    if (keys > 0) {
        const int key = n->s->axes[0];
        const struct expr *const first = expr_replace(x->m, id->arg[1], expr_leaf(x->m, EXPR_INDEX, key),
                                                      expr_leaf(x->m, EXPR_LO, key));
        const char *const flags = scalar_format(n, "flags_%d", x->temporaries++);
        scalar_line(n, LEVEL_LANE, scalar_format(n, "uint8_t %s[%lld * %d];", flags, (long long)keys, x->lanes));
        scalar_line(n, LEVEL_LANE,
                    scalar_format(n, "turn_flags_%s(%s, %s + %s%s, %s, %s, %s, %s1 - %s0);", x->suffix, flags,
                                  emit_ids_of_sequence(x, id), emit_integer_text(x, first, true), times, step, column,
                                  lanes, x->m->axis[key].name, x->m->axis[key].name));
        return (struct term){scalar_format(n, "flags_of_lanes_%s(%s + %s * %d, 1, %d)", x->suffix, flags,
                                           x->m->axis[key].name, x->lanes, x->lanes),
                             KIND_BOOL, true, true};
    }
    return (struct term){scalar_format(n, "flags_of_lanes_%s(%s + %s%s, %s, %s)", x->suffix,
                                       emit_ids_of_sequence(x, id), emit_integer_text(x, id->arg[1], true), times, step,
                                       lanes),
                         KIND_BOOL, true, true};
}

/* Declares a variable with the integer of each lane, and returns the variable's name. */
static const char *ints_of_lanes(struct nest *n, const struct expr *e, enum level level)
{
    struct emitter *const x = n->x;
    const char *const name = scalar_format(n, "rows_%d", x->temporaries++);
    scalar_line(
        n, level,
        scalar_format(n, "const ints_%s %s = %s;", x->suffix, name, scalar_as_int(n, scalar_term(n, e, level)).c));
    return name;
}

const char *scalar_subscript_of_lanes(void *user, const struct expr *sub)
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
    struct term at = scalar_as_int(n, scalar_term(n, e->arg[1], level));
    const struct array *const a = emit_ids_array(x, e);
    const bool strided = emit_strided(x, a);
    const char *name = scalar_format(n, "id_%d", x->temporaries++), *row = NULL,
               *length = strided ? emit_last_size(x, a) : emit_row_length(x, e);
    if (scalar_depends(n, e->arg[0], n->lane))
        row = strided ? scalar_format(n, "%s + %s", emit_local(x, e->name),
                                      emit_offset_of_lane(x, a, emit_row(x, e), n->lane, scalar_subscript_of_lanes,
                                                          &(struct lanes){n, level}))
                      : scalar_format(n, "%s + min(%s[lane], %s - 1) * %s", emit_local(x, e->name),
                                      ints_of_lanes(n, emit_row(x, e), level), emit_rows(x, e), length);
    scalar_line(n, level, scalar_format(n, "ints_%s %s = %s;", x->suffix, name, scalar_as_vector(n, at)));
    const char *const last = strided ? scalar_format(n, ", %s", emit_last_stride(x, a)) : "";
    scalar_line(n, level,
                scalar_format(n, "for (int lane = 0; lane < %d; lane++) %s[lane] = %s_%s(%s, %s[lane], %s%s);",
                              x->lanes, name, emit_reads_bytes(x, e) ? "flag" : "id", strided ? "along" : "at",
                              row ? row : emit_ids_of_sequence(x, e), name, length, last));
    return ints_of(name);
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
        return (struct term){scalar_format(n, "words_below_%s(%s, UINT32_C(%lld))", n->x->suffix,
                                           scalar_term(n, e->arg[0], level).c, (long long)e->arg[1]->integer),
                             KIND_BOOL, true, true};
    if (compares_reals(e) && !expr_has(e, EXPR_OPERAND)) {
        a = scalar_wide_term(n, e->arg[0], level);
        b = scalar_wide_term(n, e->arg[1], level);
    } else {
        a = scalar_term(n, e->arg[0], level);
        b = scalar_term(n, e->arg[1], level);
        narrow = a.kind == KIND_REAL || b.kind == KIND_REAL || a.kind == KIND_DOUBLE || b.kind == KIND_DOUBLE;
        a = narrow ? scalar_as_real(n, a) : scalar_as_int(n, a);
        b = narrow ? scalar_as_real(n, b) : scalar_as_int(n, b);
    }
    return (struct term){
        scalar_format(n, "%s %s %s", scalar_wrapped(n, a.c), expr_infix(e->op), scalar_wrapped(n, b.c)), KIND_BOOL,
        true, narrow};
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
    return (struct term){
        scalar_format(n, "%s %s %s", side(n, a, narrow), e->op == EXPR_AND ? "&" : "|", side(n, b, narrow)), KIND_BOOL,
        true, narrow};
}

/* Returns the term of EXPR_DRAWN. It is a mask that a function of embedded/vector.c computes. */
static struct term drawn(struct nest *n, const struct expr *e, enum level level)
{
    struct emitter *x = n->x;
    struct term a = scalar_as_int(n, scalar_term(n, e->arg[0], level)),
                b = scalar_as_int(n, scalar_term(n, e->arg[1], level));
    struct term *const lanes = a.vector ? &a : &b; /* the argument that differs by lane */
    if (lanes->vector && (!scalar_is_name(lanes->c) || strchr(lanes->c, '(')))
        *lanes = scalar_name_term(n, *lanes, level, scalar_format(n, "block%d", x->temporaries++));
    return (struct term){
        a.vector ? scalar_format(n, "drawn_%s(&%s, &%s, %s)", x->suffix, emit_drawn_name(x, e), a.c, b.c)
                 : scalar_format(n, "drawn_for_%s(&%s, %s, &%s)", x->suffix, emit_drawn_name(x, e), a.c, b.c),
        KIND_BOOL, true, true};
}

/* Returns the term of a select between integers. Its C has no branch: (mask & p) | (~mask & q). */
static struct term select_integer(struct nest *n, const struct expr *e, enum level level)
{
    struct term a = scalar_as_bool(n, scalar_term(n, e->arg[0], level)),
                b = scalar_as_int(n, scalar_term(n, e->arg[1], level)),
                c = scalar_as_int(n, scalar_term(n, e->arg[2], level));
    const char *p = scalar_wrapped(n, scalar_as_vector(n, b)), *q = scalar_wrapped(n, scalar_as_vector(n, c));
    if (!a.vector) return ints_of(scalar_format(n, "%s ? %s : %s", scalar_wrapped(n, a.c), p, q));
    const char *mask = a.narrow && n->x->m->dtype != DTYPE_F64
                           ? scalar_format(n, "__builtin_convertvector(%s, ints_%s)", a.c, n->x->suffix)
                           : scalar_wrapped(n, a.c);
    return ints_of(scalar_format(n, "(%s & %s) | (~%s & %s)", mask, p, mask, q));
}

/* Returns the term of integer arithmetic per lane, without a branch. */
static struct term arithmetic(struct nest *n, const struct expr *e, enum level level)
{
    struct term a = scalar_as_int(n, scalar_term(n, e->arg[0], level));
    const char *p = scalar_wrapped(n, a.c);
    if (e->op == EXPR_NEG) return ints_of(scalar_format(n, "-%s", p));
    if (e->op == EXPR_ABS) return ints_of(scalar_format(n, "(%s ^ (%s >> 63)) - (%s >> 63)", p, p, p));
    struct term b = scalar_as_int(n, scalar_term(n, e->arg[1], level));
    const char *q = scalar_wrapped(n, b.c);
    if (expr_infix(e->op)) return ints_of(scalar_format(n, "%s %s %s", p, expr_infix(e->op), q));
    if (e->op == EXPR_FLOORMOD) {
        const char *r = scalar_name_term(n, ints_of(scalar_format(n, "%s %% %s", p, q)), level,
                                         scalar_format(n, "r%d", n->x->temporaries++))
                            .c;
        return ints_of(scalar_format(n, "%s + (((%s != 0) & ((%s < 0) != (%s < 0))) & %s)", r, r, r, q, q));
    }
    const char *less = scalar_format(n, "(%s %s %s)", p, e->op == EXPR_MIN ? "<" : ">", q);
    return ints_of(scalar_format(n, "(%s & %s) | (~%s & %s)", less, scalar_wrapped(n, scalar_as_vector(n, a)), less,
                                 scalar_wrapped(n, scalar_as_vector(n, b))));
}

/* Returns the term for a real that is truncated to an integer. The C function truncate_T takes addresses, because
   `wide_T` and `ints_T` may be wider than the target's vectors. */
static struct term truncated(struct nest *n, const struct expr *e, enum level level)
{
    struct term a = expr_has(e, EXPR_OPERAND) ? scalar_as_double(n, scalar_term(n, e->arg[0], level))
                                              : scalar_wide_term(n, e->arg[0], level);
    const int number = n->x->temporaries++;
    const char *const suffix = n->x->suffix, *const whole = scalar_format(n, "whole%d", number);
    a = scalar_name_term(n, a, level, scalar_format(n, "real%d", number));
    scalar_line(n, level, scalar_format(n, "ints_%s %s = {0};", suffix, whole));
    scalar_line(n, level, scalar_format(n, "truncate_%s(&%s, &%s);", suffix, whole, a.c));
    return ints_of(whole);
}

/* ---- random numbers: calls of the functions in embedded/random.c ---- */

/* Declares a variable with the value of e in each lane. Returns the variable's name. */
static const char *lanes_of(struct nest *n, const struct expr *e, enum level level, const char *name)
{
    const struct term t = scalar_as_int(n, scalar_term(n, e, level));
    scalar_line(n, level, scalar_format(n, "const ints_%s %s = %s;", n->x->suffix, name, scalar_as_vector(n, t)));
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
               by_y = !z_varies && !scalar_depends(n, arg[1], n->lane) && !scalar_on_rows(n, arg[0]) &&
                      !scalar_on_rows(n, arg[2]),
               by_x = !z_varies && !scalar_depends(n, arg[0], n->lane) &&
                      arg[1] == expr_leaf(x->m, EXPR_INDEX, n->lane) && !emit_apart(x, n->lane);
    scalar_line(
        n, LEVEL_UNIFORM,
        scalar_format(n, "const struct random_keys_%s keys_%d = random_keys_of_%s(call->p.seed);", s, number, s));
    if (by_y || by_x)
        scalar_line(n, LEVEL_LANE, scalar_format(n, "struct random_%s last_%d = {.first = INT64_MIN};", s, number));
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

struct term scalar_integer_term(struct nest *n, const struct expr *e, enum level level)
{
    if (n->lane < 0 || !scalar_depends(n, e, n->lane)) return shared_integer(n, e, level);
    if (compares(e)) return comparison(n, e, level);
    switch ((int)e->op) {
    case EXPR_INDEX: return index_of_lanes(n);
    case EXPR_ID: return ids_of_lanes(n, e, level);
    case EXPR_TRUNC: return truncated(n, e, level);
    case EXPR_AND:
    case EXPR_OR: return and_or(n, e, level);
    case EXPR_NOT: {
        struct term a = scalar_as_bool(n, scalar_term(n, e->arg[0], level));
        return (struct term){scalar_format(n, "~%s", scalar_wrapped(n, a.c)), KIND_BOOL, true, a.narrow};
    }
    case EXPR_DRAWN: return drawn(n, e, level);
    case EXPR_RANDOM: return random_term(n, e, level);
    case EXPR_SELECT: return select_integer(n, e, level);
    default: return arithmetic(n, e, level);
    }
}
