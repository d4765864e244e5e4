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

bool scalar_on_rows(const struct nest *n, const struct expr *e)
{
    for (int k = 0; k < n->s->rank; k++)
        if (n->s->axes[k] != n->lane && scalar_depends(n, e, n->s->axes[k])) return true;
    return false;
}

enum level scalar_level_of(const struct nest *n, const struct expr *e)
{
    return scalar_on_rows(n, e)                            ? LEVEL_ROW
           : n->lane >= 0 && scalar_depends(n, e, n->lane) ? LEVEL_LANE
                                                           : LEVEL_UNIFORM;
}

void scalar_line(struct nest *n, enum level level, const char *text)
{
    text_add(&n->level[level], "%*s%s\n", n->depth[level], "", text);
}

/* ---- terms ---- */

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

bool scalar_is_name(const char *c)
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
    return scalar_is_name(c) ? c : scalar_format(n, "(%s)", c);
}

struct term scalar_name_term(struct nest *n, struct term t, enum level level, const char *name)
{
    scalar_line(n, level, scalar_format(n, "const %s %s = %s;", type_name(n, &t), name, t.c));
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

struct term scalar_as_double(struct nest *n, struct term t)
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

struct term scalar_as_int(struct nest *n, struct term t)
{
    if (t.kind == KIND_INT) return t;
    if (t.kind == KIND_WORD)
        return (struct term){scalar_format(n, "__builtin_convertvector(%s, ints_%s)", t.c, n->x->suffix), KIND_INT,
                             true, false};
    if (!t.vector)
        return (struct term){scalar_format(n, "(int64_t)%s", scalar_wrapped(n, t.c)), KIND_INT, false, false};
    if (t.narrow)
        return (struct term){scalar_format(n, "-__builtin_convertvector(%s, ints_%s)", t.c, n->x->suffix), KIND_INT,
                             true, false};
    return (struct term){scalar_format(n, "-%s", scalar_wrapped(n, t.c)), KIND_INT, true, false};
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
    const char *address = emit_address(x, r);
    if (vector) return (struct term){scalar_format(n, "load_%s(%s)", x->suffix, address), KIND_REAL, true, false};
    return (struct term){emit_element(x, r), a->kind == ARRAY_TABLE ? KIND_DOUBLE : KIND_REAL, false, false};
}

/* Returns C for the minimum or maximum of two scalars. Unlike fmin and fmax, it keeps NaN. */
static const char *extreme(struct nest *n, enum expr_op op, const char *a, const char *b)
{
    return scalar_format(n, "(%s %s %s || %s != %s ? %s : %s)", a, op == EXPR_MIN ? "<" : ">", b, a, a, a, b);
}

/* Returns whether e contains only indices, constants and tables. */
static bool from_indices(const struct nest *n, const struct expr *e)
{
    if (e->op == EXPR_OPERAND) return n->x->l->array[n->s->operand[e->integer].of].kind == ARRAY_TABLE;
    for (int k = 0; k < expr_arity(e->op); k++)
        if (!from_indices(n, e->arg[k])) return false;
    return true;
}

/* Returns the term of an EXPR_ELEMENT, a double. The emitted C reads each lane separately. */
static struct term named_element(struct nest *n, const struct expr *e, enum level level)
{
    struct emitter *const x = n->x;
    if (n->lane < 0 || !scalar_depends(n, e, n->lane)) {
        const char *const one = emit_element_by_name(x, e, -1, NULL, NULL);
        return (struct term){scalar_format(n, "(double)%s", one), KIND_DOUBLE, false, false};
    }
    const char *const name = scalar_format(n, "element_%d", x->temporaries++);
    const char *const one = emit_element_by_name(x, e, n->lane, scalar_subscript_of_lanes, &(struct lanes){n, level});
    scalar_line(n, level, scalar_format(n, "wide_%s %s;", x->suffix, name));
    scalar_line(n, level,
                scalar_format(n, "for (int lane = 0; lane < %d; lane++) %s[lane] = (double)%s;", x->lanes, name, one));
    return (struct term){name, KIND_DOUBLE, true, false};
}

struct term scalar_wide_term(struct nest *n, const struct expr *e, enum level level)
{
    struct emitter *x = n->x;
    const char *suffix = x->suffix;
    if (e->op == EXPR_REAL) return (struct term){emit_number(x, e->real, false), KIND_DOUBLE, false, false};
    if (e->op == EXPR_ELEMENT) return named_element(n, e, scalar_level_of(n, e));
    if (e->type != TYPE_REAL || n->lane < 0 || !scalar_depends(n, e, n->lane))
        return scalar_as_double(n, scalar_term(n, e, level));
    struct term arg[3] = {
        {"", KIND_DOUBLE, false, false}, {"", KIND_DOUBLE, false, false}, {"", KIND_DOUBLE, false, false}};
    for (int k = 0; k < expr_arity(e->op); k++)
        arg[k] = e->op == EXPR_SELECT && k == 0 ? scalar_as_bool(n, scalar_term(n, e->arg[k], level))
                                                : scalar_wide_term(n, e->arg[k], level);
    const char *a = scalar_wrapped(n, arg[0].c), *b = scalar_wrapped(n, arg[1].c), *c = scalar_wrapped(n, arg[2].c);
    if (expr_infix(e->op))
        return (struct term){scalar_format(n, "%s %s %s", a, expr_infix(e->op), b), KIND_DOUBLE, true, false};
    if (e->op == EXPR_NEG) return (struct term){scalar_format(n, "-%s", a), KIND_DOUBLE, true, false};
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
            scalar_line(n, own,
                        scalar_format(n, "const %s t_%d_%c = %s;", type_name(n, &arg[k]), number, "cab"[k], parts[k]));
        }
        value = scalar_format(n, "%s ? %s : %s", scalar_wrapped(n, lanes[0]), lanes[1], lanes[2]);
        scalar_line(n, own, scalar_format(n, "wide_%s t_%d;", suffix, number));
    } else {
        const char *second = arg[1].c;
        scalar_line(n, own,
                    scalar_format(n, "wide_%s t_%d = %s;", suffix, number,
                                  arg[0].vector ? arg[0].c : scalar_format(n, "%s - (wide_%s){0}", a, suffix)));
        if (arg[1].vector) {
            scalar_line(n, own, scalar_format(n, "const wide_%s t_%d_b = %s;", suffix, number, second));
            second = scalar_format(n, "t_%d_b[lane]", number);
        }
        if (e->op == EXPR_MIN || e->op == EXPR_MAX)
            value = extreme(n, e->op, scalar_format(n, "t_%d[lane]", number), scalar_wrapped(n, second));
        else
            value = *second ? scalar_format(n, "%s(t_%d[lane], %s)", expr_c_function(e->op), number, second)
                            : scalar_format(n, "%s(t_%d[lane])", expr_c_function(e->op), number);
    }
    scalar_line(n, own,
                scalar_format(n, "for (int lane = 0; lane < %d; lane++) t_%d[lane] = %s;", x->lanes, number, value));
    return (struct term){scalar_format(n, "t_%d", number), KIND_DOUBLE, true, false};
}

/* ---- reals ---- */

/* Returns the term of the argument of sin or cos, in doubles. */
static struct term double_term(struct nest *n, const struct expr *e, enum level level)
{
    if (e->type != TYPE_REAL || e->op == EXPR_OPERAND || e->op == EXPR_REAL) {
        struct term t = e->op == EXPR_REAL ? (struct term){emit_number(n->x, e->real, false), KIND_DOUBLE, false, false}
                                           : scalar_term(n, e, level);
        return scalar_as_double(n, t);
    }
    if (expr_infix(e->op)) {
        struct term a = double_term(n, e->arg[0], level), b = double_term(n, e->arg[1], level);
        return (struct term){
            scalar_format(n, "%s %s %s", scalar_wrapped(n, a.c), expr_infix(e->op), scalar_wrapped(n, b.c)),
            KIND_DOUBLE, a.vector || b.vector, false};
    }
    return from_indices(n, e) ? scalar_wide_term(n, e, level) : scalar_as_double(n, scalar_term(n, e, level));
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
    if (e->type != TYPE_INT || n->lane < 0 || !scalar_depends(n, e, n->lane) || !scalar_on_rows(n, e))
        return scalar_as_real(n, scalar_term(n, e, level));
    if (e->op == EXPR_ABS) {
        return (struct term){scalar_format(n, "abs_%s(%s)", x->suffix, real_of_integer(n, e->arg[0], level).c),
                             KIND_REAL, true, false};
    }
    struct form f = {.remainder = expr_int(x->m, 0)};
    /* The remainder may compare elements, so it may depend on rows. */
    bool linear = form_add(x->m, &f, e, 1) && !scalar_on_rows(n, f.remainder);
    for (int k = 0; k < f.terms && linear; k++) linear = !scalar_on_rows(n, f.term[k].e);
    const char *rows = "";
    const struct expr *base = e;
    for (int k = 0; k < n->s->rank && linear; k++) {
        int axis = n->s->axes[k];
        int64_t weight = f.weight[axis];
        if (axis == n->lane) continue;
        if (weight == 0) { /* the axis does not occur, or it cancels as in j - (i + j) */
            base = expr_replace(x->m, base, expr_leaf(x->m, EXPR_INDEX, axis), expr_int(x->m, 0));
            continue;
        }
        if (!emit_tiled(x, axis)) linear = false;
        base = expr_replace(x->m, base, expr_leaf(x->m, EXPR_INDEX, axis), expr_leaf(x->m, EXPR_LO, axis));
        if (emit_apart(x, axis)) weight *= x->stride[axis];
        const char *times = weight * weight == 1 ? "" : scalar_format(n, "%lld * ", (long long)llabs(weight));
        rows = scalar_format(n, "%s %c (%s)%s", rows, weight < 0 ? '-' : '+', x->real,
                             *times ? scalar_format(n, "(%s%s)", times, x->m->axis[axis].name) : x->m->axis[axis].name);
    }
    if (!linear) return scalar_as_real(n, scalar_term(n, e, level));
    struct term start = scalar_as_real(n, scalar_term(n, base, LEVEL_LANE));
    start = scalar_name_term(n, start, LEVEL_LANE, scalar_format(n, "t_%d", x->temporaries++));
    return (struct term){scalar_format(n, "%s%s", start.c, rows), KIND_REAL, true, false};
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
                slope = scalar_wide_term(n, product->arg[swapped], LEVEL_UNIFORM);
    int number = x->temporaries++;
    scalar_line(n, LEVEL_UNIFORM, scalar_format(n, "const double t_%d = %s;", number, slope.c));
    scalar_line(n, LEVEL_UNIFORM,
                scalar_format(n, "const float t_%d_high = high_part_%s(t_%d), t_%d_rest = (float)(t_%d - t_%d_high);",
                              number, x->suffix, number, number, number, number));
    struct term distance = scalar_name_term(n, real_of_integer(n, product->arg[!swapped], level),
                                            scalar_level_of(n, product->arg[!swapped]),
                                            scalar_format(n, "t_%d_times", number));
    const char *first = scalar_format(n, minus[1 - which] ? "-%s" : "%s", scalar_wrapped(n, other.c)),
               *sign = minus[which] ? "-" : "+";
    return (struct term){scalar_format(n, "(%s %s (t_%d_high * %s)) %s (t_%d_rest * %s)", first, sign, number,
                                       distance.c, sign, number, distance.c),
                         KIND_REAL, true, false};
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
        if (!a.vector)
            return scalar_as_real(
                n, (struct term){scalar_format(n, "%s(%s)", expr_c_function(e->op), a.c), KIND_DOUBLE, false, false});
        if (!scalar_is_name(a.c) || strchr(a.c, '('))
            a = scalar_name_term(n, a, level, scalar_format(n, "angle%d", n->x->temporaries++));
        const char *const any = angle_is_small(n, e->arg[0]) ? "" : "_any";
        return (struct term){scalar_format(n, "%s%s_%s(&%s)", expr_name(e->op), any, x->suffix, a.c), KIND_REAL, true,
                             false};
    }
    if (e->op == EXPR_FLOOR && vector && !expr_has(e, EXPR_OPERAND))
        return scalar_as_real(n, scalar_wide_term(n, e, level));
    bool sum = e->op == EXPR_ADD || e->op == EXPR_SUB;
    if (narrow && vector && sum && (is_slope(n, e->arg[0]) || is_slope(n, e->arg[1]))) return slope_term(n, e, level);
    /* a scalar that depends only on indices stays an exact double */
    bool exact = !vector && from_indices(n, e);
    struct term arg[3] = {{"", KIND_REAL, false, false}, {"", KIND_REAL, false, false}, {"", KIND_REAL, false, false}};
    for (int k = 0; k < expr_arity(e->op); k++) {
        bool condition = e->op == EXPR_SELECT && k == 0;
        if (exact && e->arg[k]->op == EXPR_REAL)
            arg[k] = (struct term){emit_number(x, e->arg[k]->real, false), KIND_DOUBLE, false, false};
        else
            arg[k] = e->arg[k]->type == TYPE_INT && !exact ? real_of_integer(n, e->arg[k], level)
                                                           : scalar_term(n, e->arg[k], level);
        arg[k] = condition ? scalar_as_bool(n, arg[k])
                 : exact   ? scalar_as_double(n, arg[k])
                           : scalar_as_real(n, arg[k]);
    }
    enum kind kind = exact ? KIND_DOUBLE : KIND_REAL;
    const char *a = arg[0].c, *b = arg[1].c, *c = arg[2].c, *f = !exact && narrow ? "f" : "";
    if (expr_infix(e->op))
        return (struct term){
            scalar_format(n, "%s %s %s", scalar_wrapped(n, a), expr_infix(e->op), scalar_wrapped(n, b)), kind, vector,
            false};
    if (e->op == EXPR_NEG) return (struct term){scalar_format(n, "-%s", scalar_wrapped(n, a)), kind, vector, false};
    if (e->op == EXPR_SELECT) {
        if (!vector)
            return (struct term){
                scalar_format(n, "%s ? %s : %s", scalar_wrapped(n, a), scalar_wrapped(n, b), scalar_wrapped(n, c)),
                kind, false, false};
        b = scalar_as_vector(n, arg[1]), c = scalar_as_vector(n, arg[2]);
        if (!arg[0].vector)
            return (struct term){scalar_format(n, "%s ? %s : %s", scalar_wrapped(n, a), b, c), kind, true, false};
        return (struct term){scalar_format(n, "pick_%s(%s, %s, %s)", x->suffix, scalar_as_mask(n, arg[0]), b, c), kind,
                             true, false};
    }
    if (!vector) {
        const char *name = expr_c_function(e->op);
        if (e->op == EXPR_MIN || e->op == EXPR_MAX) {
            for (int k = 0; k < 2; k++)
                if (!scalar_is_name(arg[k].c) || strchr(arg[k].c, '('))
                    arg[k] = scalar_name_term(n, arg[k], level, scalar_format(n, "t_%d", x->temporaries++));
            return (struct term){extreme(n, e->op, arg[0].c, arg[1].c), kind, false, false};
        }
        if (expr_arity(e->op) == 2)
            return (struct term){scalar_format(n, "%s%s(%s, %s)", name, f, a, b), kind, false, false};
        return (struct term){scalar_format(n, "%s%s(%s)", name, f, a), kind, false, false};
    }
    a = scalar_as_vector(n, arg[0]);
    /* max_T keeps a NaN of its first argument. max_nan_T keeps a NaN of either argument. */
    if (e->op == EXPR_MIN || e->op == EXPR_MAX) {
        bool first = e->arg[1]->op == EXPR_REAL, either = !first && e->arg[0]->op != EXPR_REAL;
        b = scalar_as_vector(n, arg[1]);
        return (struct term){scalar_format(n, "%s_%s%s(%s, %s)", expr_name(e->op), either ? "nan_" : "", x->suffix,
                                           first || either ? a : b, first || either ? b : a),
                             KIND_REAL, true, false};
    }
    if (expr_arity(e->op) == 2)
        return (struct term){
            scalar_format(n, "%s_%s(%s, %s)", expr_name(e->op), x->suffix, a, scalar_as_vector(n, arg[1])), kind, true,
            false};
    return (struct term){scalar_format(n, "%s%s_%s(%s)", expr_name(e->op),
                                       e->op == EXPR_EXP2 && n->s->coarse ? "_coarse" : "", x->suffix, a),
                         kind, true, false};
}

struct term scalar_term(struct nest *n, const struct expr *e, enum level user)
{
    bool known = e->id < n->exprs; /* real_of_integer makes expressions that are not in the list */
    if (known && n->seen[e->id]) return n->term[e->id];
    enum level level = scalar_level_of(n, e);
    bool leaf = e->op == EXPR_INT || e->op == EXPR_REAL || e->op == EXPR_SIZE || e->op == EXPR_LO || e->op == EXPR_HI ||
                e->op == EXPR_START;
    bool fresh = e->op == EXPR_OPERAND && n->fresh[e->integer];
    struct term t = e->type == TYPE_REAL ? real_term(n, e, level) : scalar_integer_term(n, e, level);
    bool scalar_index = e->op == EXPR_INDEX && !t.vector;
    if (!leaf && !fresh && !scalar_index && ((known && n->count[e->id] > 1) || level != user)) {
        const char *name = e->op == EXPR_OPERAND ? emit_local(n->x, n->x->l->array[n->s->operand[e->integer].of].name)
                                                 : "t";
        t = scalar_name_term(n, t, level, unused_name(n, name));
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
