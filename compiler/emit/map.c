/* Scalar expressions as C. In a MAP nest the lanes are the outer loop and the other axes the inner ones; what does not depend on the inner axes
   is computed outside of them, what does not depend on the lanes is a scalar. Expressions over indices alone are exact integers or doubles until
   they meet an element; the argument of sin and cos is a double. */
#include "../compiler.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum kind { KIND_INT, KIND_BOOL, KIND_REAL, KIND_DOUBLE };
enum level { LEVEL_UNIFORM, LEVEL_LANE, LEVEL_ROW };

/* A piece of C. `vector` terms have one element per lane: INT as ints, BOOL as ints or (narrow) as mask, REAL as vec, DOUBLE as wide. */
struct term {
    const char *c;
    enum kind kind;
    bool vector, narrow;
};

struct nest {
    struct emitter *x;
    const struct stmt *s;
    int lane;                /* axis, or -1 */
    struct text level[3];    /* code at each level so far */
    int depth[3];            /* its indentation */
    int exprs;
    const struct expr **seen; /* what has a term already, and at which level */
    struct term *term;
    int *count;               /* parents of each expression in the statement */
    const char *fresh[MAX_OPERANDS]; /* operands that an assignment of this statement has just made: their C */
};

static const char *format(const struct nest *n, const char *text, ...) __attribute__((format(printf, 2, 3)));
static const char *format(const struct nest *n, const char *text, ...)
{
    va_list arguments;
    va_start(arguments, text);
    const char *made = arena_vprintf(n->x->m->arena, text, arguments);
    va_end(arguments);
    return made;
}

/* ---- levels ---- */

static bool depends(const struct nest *n, const struct expr *e, int axis)
{
    if (e->op == EXPR_INDEX) return e->integer == axis;
    if (e->op == EXPR_OPERAND) return ref_uses_axis(&n->s->operand[e->integer], axis);
    for (int k = 0; k < expr_arity(e->op); k++)
        if (depends(n, e->arg[k], axis)) return true;
    return false;
}

static bool on_rows(const struct nest *n, const struct expr *e)
{
    for (int k = 0; k < n->s->rank; k++)
        if (n->s->axes[k] != n->lane && depends(n, e, n->s->axes[k])) return true;
    return false;
}

static enum level level_of(const struct nest *n, const struct expr *e)
{
    return on_rows(n, e) ? LEVEL_ROW : n->lane >= 0 && depends(n, e, n->lane) ? LEVEL_LANE : LEVEL_UNIFORM;
}

static void line(struct nest *n, enum level level, const char *text)
{
    emit_wrapped(&n->level[level], n->depth[level], text);
}

/* ---- terms ---- */

static const char *type_name(const struct nest *n, const struct term *t)
{
    const char *suffix = n->x->suffix;
    switch (t->kind) {
    case KIND_INT: return t->vector ? format(n, "ints_%s", suffix) : "int64_t";
    case KIND_BOOL: return t->vector ? format(n, t->narrow ? "mask_%s" : "ints_%s", suffix) : "int";
    case KIND_REAL: return t->vector ? format(n, "vec_%s", suffix) : n->x->real;
    case KIND_DOUBLE: return t->vector ? format(n, "wide_%s", suffix) : "double";
    }
    return "";
}

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

static const char *wrapped(struct nest *n, const char *c)
{
    return is_name(c) ? c : format(n, "(%s)", c);
}

static struct term name_term(struct nest *n, struct term t, enum level level, const char *name)
{
    line(n, level, format(n, "const %s %s = %s;", type_name(n, &t), name, t.c));
    t.c = name;
    return t;
}

/* NAME_1, NAME_2, …: what no array is called. */
static const char *unused_name(struct nest *n, const char *name)
{
    const struct loops *l = n->x->l;
    const char *made = format(n, "%s_%d", name, n->x->temporaries++);
    for (int a = 0; a < l->arrays; a++)
        if (strcmp(emit_name(n->x->m->arena, l->array[a].name), made) == 0) return unused_name(n, name);
    return made;
}

static struct term as_real(struct nest *n, struct term t)
{
    bool wide_is_vec = n->x->m->dtype == DTYPE_F64;
    if (t.kind == KIND_REAL) return t;
    struct term made = {.kind = KIND_REAL, .vector = t.vector};
    if (!t.vector) {
        made.c = wide_is_vec && t.kind == KIND_DOUBLE ? t.c : format(n, "(%s)%s", n->x->real, wrapped(n, t.c));
        return made;
    }
    if (t.kind == KIND_BOOL) {
        made.c = format(n, "-__builtin_convertvector(%s, vec_%s)", t.c, n->x->suffix);
        return made;
    }
    made.c = t.kind == KIND_DOUBLE && wide_is_vec ? t.c : format(n, "__builtin_convertvector(%s, vec_%s)", t.c, n->x->suffix);
    return made;
}

static struct term as_double(struct nest *n, struct term t)
{
    bool wide_is_vec = n->x->m->dtype == DTYPE_F64;
    if (t.kind == KIND_DOUBLE) return t;
    struct term made = {.kind = KIND_DOUBLE, .vector = t.vector};
    if (!t.vector)
        made.c = format(n, "(double)%s", wrapped(n, t.c));
    else if (t.kind == KIND_REAL && wide_is_vec)
        made.c = t.c;
    else
        made.c = format(n, "%s__builtin_convertvector(%s, wide_%s)", t.kind == KIND_BOOL ? "-" : "", t.c, n->x->suffix);
    return made;
}

static struct term as_int(struct nest *n, struct term t)
{
    if (t.kind == KIND_INT) return t;
    if (!t.vector) return (struct term){format(n, "(int64_t)%s", wrapped(n, t.c)), KIND_INT, false, false};
    if (t.narrow) return (struct term){format(n, "-__builtin_convertvector(%s, ints_%s)", t.c, n->x->suffix), KIND_INT, true, false};
    return (struct term){format(n, "-%s", wrapped(n, t.c)), KIND_INT, true, false};
}

static struct term as_bool(struct nest *n, struct term t)
{
    if (t.kind == KIND_BOOL) return t;
    return (struct term){format(n, "%s != 0", wrapped(n, t.c)), KIND_BOOL, t.vector, t.vector && t.kind == KIND_REAL};
}

/* One element per lane, of the type that `like` says. */
static const char *as_vector(struct nest *n, struct term t)
{
    if (t.vector) return t.c;
    const char *zero = t.kind == KIND_INT ? "ints" : t.kind == KIND_DOUBLE ? "wide" : "vec";
    if (t.kind == KIND_REAL) return format(n, "splat_%s(%s)", n->x->suffix, t.c);
    return format(n, "(%s - (%s_%s){0})", wrapped(n, t.c), zero, n->x->suffix);
}

static const char *as_mask(struct nest *n, struct term t)
{
    if (t.narrow || n->x->m->dtype == DTYPE_F64) return t.c;
    return format(n, "__builtin_convertvector(%s, mask_%s)", t.c, n->x->suffix);
}

static struct term term_of(struct nest *n, const struct expr *e, enum level user);

static struct term load(struct nest *n, int operand)
{
    struct emitter *x = n->x;
    const struct ref *r = &n->s->operand[operand];
    const struct array *a = &x->l->array[r->of];
    bool vector = n->lane >= 0 && ref_uses_axis(r, n->lane);
    if (n->fresh[operand]) return (struct term){n->fresh[operand], KIND_REAL, vector, false};
    const char *address = emit_address(x, r);
    if (vector) return (struct term){format(n, "load_%s(%s)", x->suffix, address), KIND_REAL, true, false};
    return (struct term){emit_element(x, r), a->kind == ARRAY_TABLE ? KIND_DOUBLE : KIND_REAL, false, false};
}

static bool has_real(const struct expr *e)
{
    if (e->type == TYPE_REAL) return true;
    for (int k = 0; k < expr_arity(e->op); k++)
        if (has_real(e->arg[k])) return true;
    return false;
}

/* The smaller or larger of two scalars; unlike C's functions of that name it keeps NaN. */
static const char *extreme(struct nest *n, enum expr_op op, const char *a, const char *b)
{
    return format(n, "(%s %s %s || %s != %s ? %s : %s)", a, op == EXPR_MIN ? "<" : ">", b, a, a, a, b);
}

/* A real expression over indices alone, in double whatever the kernel's own type: what is compared or rounded down must not be off by a bit. */
static struct term wide_term(struct nest *n, const struct expr *e, enum level level)
{
    struct emitter *x = n->x;
    const char *suffix = x->suffix;
    if (e->op == EXPR_REAL) return (struct term){emit_number(x, e->real, false), KIND_DOUBLE, false, false};
    if (e->type != TYPE_REAL || n->lane < 0 || !depends(n, e, n->lane)) return as_double(n, term_of(n, e, level));
    struct term arg[3] = {{"", KIND_DOUBLE, false, false}, {"", KIND_DOUBLE, false, false}, {"", KIND_DOUBLE, false, false}};
    for (int k = 0; k < expr_arity(e->op); k++)
        arg[k] = e->op == EXPR_SELECT && k == 0 ? as_bool(n, term_of(n, e->arg[k], level)) : wide_term(n, e->arg[k], level);
    const char *a = wrapped(n, arg[0].c), *b = wrapped(n, arg[1].c), *c = wrapped(n, arg[2].c);
    if (emit_infix(e->op)) return (struct term){format(n, "%s %s %s", a, emit_infix(e->op), b), KIND_DOUBLE, true, false};
    if (e->op == EXPR_NEG) return (struct term){format(n, "-%s", a), KIND_DOUBLE, true, false};
    /* the rest lane by lane */
    int number = x->temporaries++;
    const char *function = e->op == EXPR_ABS ? "fabs" : expr_name(e->op), *value;
    enum level own = level_of(n, e);
    if (e->op == EXPR_SELECT) {
        const char *const parts[] = {arg[0].c, b, c};
        const char *lanes[3];
        for (int k = 0; k < 3; k++) {
            lanes[k] = parts[k];
            if (!arg[k].vector) continue;
            lanes[k] = format(n, "t_%d_%c[lane]", number, "cab"[k]);
            line(n, own, format(n, "const %s t_%d_%c = %s;", type_name(n, &arg[k]), number, "cab"[k], parts[k]));
        }
        value = format(n, "%s ? %s : %s", wrapped(n, lanes[0]), lanes[1], lanes[2]);
        line(n, own, format(n, "wide_%s t_%d;", suffix, number));
    } else {
        const char *second = arg[1].c;
        line(n, own, format(n, "wide_%s t_%d = %s;", suffix, number, arg[0].vector ? arg[0].c : format(n, "%s - (wide_%s){0}", a, suffix)));
        if (arg[1].vector) {
            line(n, own, format(n, "const wide_%s t_%d_b = %s;", suffix, number, second));
            second = format(n, "t_%d_b[lane]", number);
        }
        if (e->op == EXPR_MIN || e->op == EXPR_MAX)
            value = extreme(n, e->op, format(n, "t_%d[lane]", number), wrapped(n, second));
        else
            value = *second ? format(n, "%s(t_%d[lane], %s)", function, number, second) : format(n, "%s(t_%d[lane])", function, number);
    }
    line(n, own, format(n, "for (int lane = 0; lane < %d; lane++) t_%d[lane] = %s;", x->lanes, number, value));
    return (struct term){format(n, "t_%d", number), KIND_DOUBLE, true, false};
}

static struct term integer_term(struct nest *n, const struct expr *e, enum level level)
{
    struct emitter *x = n->x;
    bool vector = n->lane >= 0 && depends(n, e, n->lane);
    enum kind kind = e->type == TYPE_BOOL ? KIND_BOOL : KIND_INT;
    if (!vector && !has_real(e)) return (struct term){emit_integer(x, e), kind, false, false};
    if (!vector) { /* comparisons of reals, and what is made of them */
        const char *part[3] = {"", "", ""};
        bool exact = !expr_has(e, EXPR_OPERAND);
        for (int k = 0; k < expr_arity(e->op); k++) {
            struct term t = term_of(n, e->arg[k], level);
            bool compares = e->op == EXPR_LT || e->op == EXPR_LE || e->op == EXPR_EQ || e->op == EXPR_NE;
            bool reals = compares && (e->arg[0]->type == TYPE_REAL || e->arg[1]->type == TYPE_REAL), constant = e->arg[k]->op == EXPR_REAL;
            if (reals && exact && constant) t = (struct term){emit_number(x, e->arg[k]->real, false), KIND_DOUBLE, false, false};
            part[k] = wrapped(n, reals ? exact ? as_double(n, t).c : as_real(n, t).c : kind == KIND_INT && t.kind == KIND_BOOL ? as_int(n, t).c : t.c);
        }
        if (e->op == EXPR_NOT) return (struct term){format(n, "!%s", part[0]), kind, false, false};
        if (e->op == EXPR_SELECT) return (struct term){format(n, "%s ? %s : %s", part[0], part[1], part[2]), kind, false, false};
        if (emit_infix(e->op)) return (struct term){format(n, "%s %s %s", part[0], emit_infix(e->op), part[1]), kind, false, false};
        if (e->op == EXPR_NEG) return (struct term){format(n, "-%s", part[0]), kind, false, false};
        if (e->op == EXPR_ABS) return (struct term){format(n, "(int64_t)llabs(%s)", part[0]), kind, false, false};
        const char *function = e->op == EXPR_MIN ? "least" : e->op == EXPR_MAX ? "most" : "floor_mod";
        return (struct term){format(n, "%s(%s, %s)", function, part[0], part[1]), kind, false, false};
    }
    if (e->op == EXPR_INDEX) {
        const char *name = x->m->axis[n->lane].name;
        if (emit_apart(x, n->lane))
            return (struct term){format(n, "%s0 + %lld * (%s + lane_%s)", name, (long long)x->stride[n->lane], name, x->suffix), KIND_INT, true, false};
        const char *base = emit_tiled(x, n->lane) ? format(n, "%s0 + %s", name, name) : name;
        return (struct term){format(n, "%s + lane_%s", base, x->suffix), KIND_INT, true, false};
    }
    if (e->op == EXPR_ID) { /* lane by lane */
        const char *at = as_int(n, term_of(n, e->arg[1], level)).c, *name = format(n, "id_%d", x->temporaries++);
        line(n, level, format(n, "ints_%s %s = %s;", x->suffix, name, at));
        line(n, level,
             format(n, "for (int lane = 0; lane < %d; lane++) %s[lane] = id_at(%s, %s[lane], n_k);", x->lanes, name, emit_name(x->m->arena, e->name), name));
        return (struct term){name, KIND_INT, true, false};
    }
    bool reals = e->arg[1] && (e->arg[0]->type == TYPE_REAL || e->arg[1]->type == TYPE_REAL);
    if (reals && e->op != EXPR_SELECT && !expr_has(e, EXPR_OPERAND)) {
        const char *left = wrapped(n, wide_term(n, e->arg[0], level).c), *right = wrapped(n, wide_term(n, e->arg[1], level).c);
        return (struct term){format(n, "%s %s %s", left, emit_infix(e->op), right), KIND_BOOL, true, false};
    }
    struct term a = term_of(n, e->arg[0], level), b = e->arg[1] ? term_of(n, e->arg[1], level) : (struct term){"", KIND_INT, false, false};
    const char *p, *q;
    switch ((int)e->op) {
    case EXPR_LT:
    case EXPR_LE:
    case EXPR_EQ:
    case EXPR_NE:
        if (a.kind == KIND_REAL || b.kind == KIND_REAL || a.kind == KIND_DOUBLE || b.kind == KIND_DOUBLE) {
            a = as_real(n, a), b = as_real(n, b);
            return (struct term){format(n, "%s %s %s", wrapped(n, a.c), emit_infix(e->op), wrapped(n, b.c)), KIND_BOOL, true, true};
        }
        a = as_int(n, a), b = as_int(n, b);
        return (struct term){format(n, "%s %s %s", wrapped(n, a.c), emit_infix(e->op), wrapped(n, b.c)), KIND_BOOL, true, false};
    case EXPR_AND:
    case EXPR_OR: {
        a = as_bool(n, a), b = as_bool(n, b);
        bool narrow = a.narrow || b.narrow;
        if (!a.vector) a.c = format(n, "-(int64_t)%s", wrapped(n, a.c));
        if (!b.vector) b.c = format(n, "-(int64_t)%s", wrapped(n, b.c));
        if (narrow && a.vector && !a.narrow) a.c = as_mask(n, a);
        if (narrow && b.vector && !b.narrow) b.c = as_mask(n, b);
        if (narrow && !a.vector) a.c = format(n, "(int)(%s)", a.c);
        if (narrow && !b.vector) b.c = format(n, "(int)(%s)", b.c);
        return (struct term){format(n, "%s %s %s", wrapped(n, a.c), e->op == EXPR_AND ? "&" : "|", wrapped(n, b.c)), KIND_BOOL, true, narrow};
    }
    case EXPR_DRAWN:
        a = as_int(n, a), b = as_int(n, b);
        if (!is_name(a.c) || strchr(a.c, '(')) a = name_term(n, a, level, format(n, "block%d", x->temporaries++));
        return (struct term){format(n, "drawn_%s(&%s, &%s, %s)", x->suffix, emit_drawn_name(x, e), a.c, b.c), KIND_BOOL, true, true};
    case EXPR_NOT: a = as_bool(n, a); return (struct term){format(n, "~%s", wrapped(n, a.c)), KIND_BOOL, true, a.narrow};
    case EXPR_SELECT: {
        struct term c = term_of(n, e->arg[2], level);
        a = as_bool(n, a), b = as_int(n, b), c = as_int(n, c);
        p = wrapped(n, as_vector(n, b)), q = wrapped(n, as_vector(n, c));
        if (!a.vector) return (struct term){format(n, "%s ? %s : %s", wrapped(n, a.c), p, q), KIND_INT, true, false};
        const char *mask = a.narrow && n->x->m->dtype != DTYPE_F64 ? format(n, "__builtin_convertvector(%s, ints_%s)", a.c, x->suffix) : wrapped(n, a.c);
        return (struct term){format(n, "(%s & %s) | (~%s & %s)", mask, p, mask, q), KIND_INT, true, false};
    }
    default: break;
    }
    a = as_int(n, a);
    p = wrapped(n, a.c);
    if (!e->arg[1]) {
        if (e->op == EXPR_NEG) return (struct term){format(n, "-%s", p), KIND_INT, true, false};
        return (struct term){format(n, "(%s ^ (%s >> 63)) - (%s >> 63)", p, p, p), KIND_INT, true, false}; /* ABS */
    }
    b = as_int(n, b);
    q = wrapped(n, b.c);
    if (emit_infix(e->op)) return (struct term){format(n, "%s %s %s", p, emit_infix(e->op), q), KIND_INT, true, false};
    if (e->op == EXPR_FLOORMOD) {
        struct term r = name_term(n, (struct term){format(n, "%s %% %s", p, q), KIND_INT, true, false}, level, format(n, "r%d", n->x->temporaries++));
        return (struct term){format(n, "%s + (((%s != 0) & ((%s < 0) != (%s < 0))) & %s)", r.c, r.c, r.c, q, q), KIND_INT, true, false};
    }
    const char *less = format(n, "(%s %s %s)", p, e->op == EXPR_MIN ? "<" : ">", q);
    return (struct term){format(n, "(%s & %s) | (~%s & %s)", less, wrapped(n, as_vector(n, a)), less, wrapped(n, as_vector(n, b))), KIND_INT, true, false};
}

/* Computed in double: the argument of sin and cos. */
static struct term double_term(struct nest *n, const struct expr *e, enum level level)
{
    if (e->type != TYPE_REAL || e->op == EXPR_OPERAND || e->op == EXPR_REAL) {
        struct term t = e->op == EXPR_REAL ? (struct term){emit_number(n->x, e->real, false), KIND_DOUBLE, false, false} : term_of(n, e, level);
        return as_double(n, t);
    }
    if (emit_infix(e->op)) {
        struct term a = double_term(n, e->arg[0], level), b = double_term(n, e->arg[1], level);
        return (struct term){format(n, "%s %s %s", wrapped(n, a.c), emit_infix(e->op), wrapped(n, b.c)), KIND_DOUBLE, a.vector || b.vector, false};
    }
    return as_double(n, term_of(n, e, level));
}

/* An integer as a number of the kernel's type. What changes from row to row of a tile is subtracted as such a number: both it and the distance from
   the beginning of the tile are exact, and few machines convert vectors of 64-bit integers. */
static struct term real_of_integer(struct nest *n, const struct expr *e, enum level level)
{
    struct emitter *x = n->x;
    if (e->type != TYPE_INT || n->lane < 0 || !depends(n, e, n->lane) || !on_rows(n, e)) return as_real(n, term_of(n, e, level));
    if (e->op == EXPR_ABS) {
        return (struct term){format(n, "abs_%s(%s)", x->suffix, real_of_integer(n, e->arg[0], level).c), KIND_REAL, true, false};
    }
    struct form f = {.rest = expr_int(x->m, 0)};
    bool linear = form_add(x->m, &f, e, 1) && !on_rows(n, f.rest); /* the rest may compare elements */
    for (int k = 0; k < f.terms && linear; k++) linear = !on_rows(n, f.term[k].e);
    const char *rows = "";
    const struct expr *base = e;
    for (int k = 0; k < n->s->rank && linear; k++) {
        int axis = n->s->axes[k];
        int64_t weight = f.weight[axis];
        if (axis == n->lane || weight == 0) continue;
        if (!emit_tiled(x, axis)) linear = false;
        base = expr_replace(x->m, base, expr_leaf(x->m, EXPR_INDEX, axis), expr_leaf(x->m, EXPR_LO, axis));
        if (emit_apart(x, axis)) weight *= x->stride[axis];
        const char *times = weight * weight == 1 ? "" : format(n, "%lld * ", (long long)llabs(weight));
        rows = format(n, "%s %c (%s)%s", rows, weight < 0 ? '-' : '+', x->real,
                      *times ? format(n, "(%s%s)", times, x->m->axis[axis].name) : x->m->axis[axis].name);
    }
    if (!linear) return as_real(n, term_of(n, e, level));
    struct term start = as_real(n, term_of(n, base, LEVEL_LANE)); /* before its own name is counted */
    start = name_term(n, start, LEVEL_LANE, format(n, "t_%d", x->temporaries++));
    return (struct term){format(n, "%s%s", start.c, rows), KIND_REAL, true, false};
}

/* Whether e is, but for its sign, a number that is the same for the whole nest times an integer of every lane: a slope times a distance. */
static bool is_slope(const struct nest *n, const struct expr *e)
{
    if (e->op == EXPR_NEG) return is_slope(n, e->arg[0]);
    if (e->op != EXPR_MUL || e->arg[0]->type == e->arg[1]->type) return false;
    const struct expr *slope = e->arg[e->arg[1]->type == TYPE_REAL], *distance = e->arg[e->arg[1]->type != TYPE_REAL];
    return depends(n, distance, n->lane) && !expr_has(slope, EXPR_OPERAND) && level_of(n, slope) == LEVEL_UNIFORM;
}

/* a + b or a - b in float where one is a slope times a distance: the slope, a double, in two parts, of which the first has so few bits that its
   product is exact, and is added first. */
static struct term slope_term(struct nest *n, const struct expr *e, enum level level)
{
    struct emitter *x = n->x;
    int which = is_slope(n, e->arg[1]);
    bool minus[2] = {false, e->op == EXPR_SUB};
    const struct expr *product = e->arg[which];
    for (; product->op == EXPR_NEG; product = product->arg[0]) minus[which] = !minus[which];
    bool swapped = product->arg[1]->type == TYPE_REAL;
    struct term other = as_real(n, term_of(n, e->arg[1 - which], level)), slope = wide_term(n, product->arg[swapped], LEVEL_UNIFORM);
    int number = x->temporaries++;
    line(n, LEVEL_UNIFORM, format(n, "const double t_%d = %s;", number, slope.c));
    line(n, LEVEL_UNIFORM,
         format(n, "const float t_%d_high = high_part_%s(t_%d), t_%d_rest = (float)(t_%d - t_%d_high);", number, x->suffix, number, number, number, number));
    struct term distance = name_term(n, real_of_integer(n, product->arg[!swapped], level), level_of(n, product->arg[!swapped]),
                                     format(n, "t_%d_times", number));
    const char *first = format(n, minus[1 - which] ? "-%s" : "%s", wrapped(n, other.c)), *sign = minus[which] ? "-" : "+";
    return (struct term){format(n, "(%s %s (t_%d_high * %s)) %s (t_%d_rest * %s)", first, sign, number, distance.c, sign, number, distance.c), KIND_REAL, true,
                         false};
}

static struct term real_term(struct nest *n, const struct expr *e, enum level level)
{
    struct emitter *x = n->x;
    if (e->op == EXPR_OPERAND) return load(n, (int)e->integer);
    bool narrow = x->m->dtype != DTYPE_F64;
    if (e->op == EXPR_REAL) return (struct term){emit_number(x, e->real, narrow), KIND_REAL, false, false};
    bool vector = n->lane >= 0 && depends(n, e, n->lane);
    if (e->op == EXPR_SIN || e->op == EXPR_COS) {
        struct term a = double_term(n, e->arg[0], level);
        if (!a.vector) return as_real(n, (struct term){format(n, "%s(%s)", expr_name(e->op), a.c), KIND_DOUBLE, false, false});
        if (!is_name(a.c) || strchr(a.c, '(')) a = name_term(n, a, level, format(n, "angle%d", n->x->temporaries++));
        return (struct term){format(n, "%s_%s(&%s)", expr_name(e->op), x->suffix, a.c), KIND_REAL, true, false};
    }
    if (e->op == EXPR_FLOOR && vector && !expr_has(e, EXPR_OPERAND)) return as_real(n, wide_term(n, e, level));
    bool sum = e->op == EXPR_ADD || e->op == EXPR_SUB;
    if (narrow && vector && sum && (is_slope(n, e->arg[0]) || is_slope(n, e->arg[1]))) return slope_term(n, e, level);
    /* scalars over indices alone stay doubles */
    bool exact = !vector && !expr_has(e, EXPR_OPERAND);
    struct term arg[3] = {{"", KIND_REAL, false, false}, {"", KIND_REAL, false, false}, {"", KIND_REAL, false, false}};
    for (int k = 0; k < expr_arity(e->op); k++) {
        bool condition = e->op == EXPR_SELECT && k == 0;
        if (exact && e->arg[k]->op == EXPR_REAL)
            arg[k] = (struct term){emit_number(x, e->arg[k]->real, false), KIND_DOUBLE, false, false};
        else
            arg[k] = e->arg[k]->type == TYPE_INT && !exact ? real_of_integer(n, e->arg[k], level) : term_of(n, e->arg[k], level);
        arg[k] = condition ? as_bool(n, arg[k]) : exact ? as_double(n, arg[k]) : as_real(n, arg[k]);
    }
    enum kind kind = exact ? KIND_DOUBLE : KIND_REAL;
    const char *a = arg[0].c, *b = arg[1].c, *c = arg[2].c, *f = !exact && narrow ? "f" : "";
    if (emit_infix(e->op)) return (struct term){format(n, "%s %s %s", wrapped(n, a), emit_infix(e->op), wrapped(n, b)), kind, vector, false};
    if (e->op == EXPR_NEG) return (struct term){format(n, "-%s", wrapped(n, a)), kind, vector, false};
    if (e->op == EXPR_SELECT) {
        if (!vector) return (struct term){format(n, "%s ? %s : %s", wrapped(n, a), wrapped(n, b), wrapped(n, c)), kind, false, false};
        b = as_vector(n, arg[1]), c = as_vector(n, arg[2]);
        if (!arg[0].vector) return (struct term){format(n, "%s ? %s : %s", wrapped(n, a), b, c), kind, true, false};
        return (struct term){format(n, "pick_%s(%s, %s, %s)", x->suffix, as_mask(n, arg[0]), b, c), kind, true, false};
    }
    if (!vector) {
        const char *name = e->op == EXPR_ABS ? "fabs" : expr_name(e->op);
        if (e->op == EXPR_MIN || e->op == EXPR_MAX) {
            for (int k = 0; k < 2; k++)
                if (!is_name(arg[k].c) || strchr(arg[k].c, '(')) arg[k] = name_term(n, arg[k], level, format(n, "t_%d", x->temporaries++));
            return (struct term){extreme(n, e->op, arg[0].c, arg[1].c), kind, false, false};
        }
        if (expr_arity(e->op) == 2) return (struct term){format(n, "%s%s(%s, %s)", name, f, a, b), kind, false, false};
        return (struct term){format(n, "%s%s(%s)", name, f, a), kind, false, false};
    }
    a = as_vector(n, arg[0]);
    if (e->op == EXPR_MIN || e->op == EXPR_MAX) { /* NaN stays if it is the first */
        bool first = e->arg[1]->op == EXPR_REAL, either = !first && e->arg[0]->op != EXPR_REAL;
        b = as_vector(n, arg[1]);
        return (struct term){format(n, "%s_%s%s(%s, %s)", expr_name(e->op), either ? "nan_" : "", x->suffix, first || either ? a : b, first || either ? b : a),
                             KIND_REAL, true, false};
    }
    if (expr_arity(e->op) == 2) return (struct term){format(n, "%s_%s(%s, %s)", expr_name(e->op), x->suffix, a, as_vector(n, arg[1])), kind, true, false};
    return (struct term){format(n, "%s_%s(%s)", expr_name(e->op), x->suffix, a), kind, true, false};
}

/* The term of e for a user at level `user`: named when several use it or when it moves to an outer level. */
static struct term term_of(struct nest *n, const struct expr *e, enum level user)
{
    bool known = e->id < n->exprs; /* not made since by real_of_integer */
    if (known && n->seen[e->id]) return n->term[e->id];
    enum level level = level_of(n, e);
    bool leaf = e->op == EXPR_INT || e->op == EXPR_REAL || e->op == EXPR_SIZE || e->op == EXPR_LO || e->op == EXPR_HI;
    bool fresh = e->op == EXPR_OPERAND && n->fresh[e->integer];
    struct term t = e->type == TYPE_REAL ? real_term(n, e, level) : integer_term(n, e, level);
    bool scalar_index = e->op == EXPR_INDEX && !t.vector;
    if (!leaf && !fresh && !scalar_index && ((known && n->count[e->id] > 1) || level != user)) {
        const char *name = e->op == EXPR_OPERAND ? emit_name(n->x->m->arena, n->x->l->array[n->s->operand[e->integer].of].name) : "t";
        t = name_term(n, t, level, unused_name(n, name));
        if (known) {
            n->seen[e->id] = e;
            n->term[e->id] = t;
        }
    }
    return t;
}

static void count_parents(struct nest *n, const struct expr *e)
{
    if (n->count[e->id]++) return;
    for (int k = 0; k < expr_arity(e->op); k++) count_parents(n, e->arg[k]);
}

/* ---- the statement ---- */

/* The expression as a reader would write it, for the comment above the nest. */
static void describe_expr(const struct nest *n, const struct expr *e, bool inner, struct text *out)
{
    const struct module *m = n->x->m;
    switch ((int)e->op) {
    case EXPR_OPERAND: text_add(out, "%s", n->x->l->array[n->s->operand[e->integer].of].name); return;
    case EXPR_REAL: text_add(out, "%s", emit_number(n->x, e->real, m->dtype != DTYPE_F64)); return;
    case EXPR_INT: text_add(out, "%lld", (long long)e->integer); return;
    case EXPR_INDEX: text_add(out, "%s", m->axis[e->integer].name); return;
    case EXPR_SIZE: text_add(out, "%s", emit_size(m, (int)e->integer)); return;
    default: break;
    }
    const char *between = emit_infix(e->op) ? emit_infix(e->op) : ",";
    if (!emit_infix(e->op))
        text_add(out, "%s(%s%s", expr_name(e->op), e->name ? e->name : "", e->name ? ", " : "");
    else if (inner)
        text_add(out, "(");
    for (int k = 0; k < expr_arity(e->op); k++) {
        if (k) text_add(out, emit_infix(e->op) ? " %s " : "%s ", between);
        describe_expr(n, e->arg[k], emit_infix(e->op) != NULL, out);
    }
    if (!emit_infix(e->op) || inner) text_add(out, ")");
}

static void describe(const struct nest *n)
{
    struct text comment = {0};
    for (int k = 0; k < n->s->assigns; k++) {
        const struct assign *a = &n->s->assign[k];
        text_add(&comment, "%s%s %s ", k ? "; " : "", n->x->l->array[a->to.of].name, a->fold == FOLD_SUM ? "+=" : a->fold == FOLD_MAX ? "max=" : "=");
        describe_expr(n, a->expr, false, &comment);
    }
    bool cut = comment.length > 132;
    emit_line(n->x, "/* %.*s%s */", cut ? 128 : (int)comment.length, comment.data ? comment.data : "", cut ? " ..." : "");
    text_free(&comment);
}

/* Operand o has just been given the value `made`: what was computed from its old value is forgotten. */
static void renew(struct nest *n, int o, const char *made)
{
    const struct expr *leaf = expr_leaf(n->x->m, EXPR_OPERAND, o);
    n->fresh[o] = made;
    for (int id = 0; id < n->exprs; id++)
        if (n->seen[id] && expr_uses(n->seen[id], leaf)) n->seen[id] = NULL;
}

/* A sum or maximum across the lanes: the rows outside, the lanes inside, where what is beyond the range counts nothing. */
static void fold_lanes(struct nest *n)
{
    struct emitter *x = n->x;
    const struct stmt *s = n->s;
    const struct assign *a = &s->assign[0];
    const char *lane = x->m->axis[n->lane].name, *lanes = emit_end(x, n->lane);
    for (int k = 0; k < 3; k++) n->depth[k] = x->indent + 4 * (k == LEVEL_UNIFORM ? 0 : s->rank);
    count_parents(n, a->expr);
    const char *value = as_vector(n, as_real(n, term_of(n, a->expr, LEVEL_ROW)));
    describe(n);
    text_append(x->out, n->level[LEVEL_UNIFORM].data ? n->level[LEVEL_UNIFORM].data : "", n->level[LEVEL_UNIFORM].length);
    for (int k = 0; k + 1 < s->rank; k++, x->indent += 4) {
        const char *axis = x->m->axis[s->axes[k]].name;
        emit_line(x, "for (int64_t %s = %s; %s < %s; %s++) {", axis, emit_first(x, s->axes[k]), axis, emit_end(x, s->axes[k]), axis);
    }
    bool maximum = a->fold == FOLD_MAX;
    const char *folded = maximum ? "lane_max" : "lane_sums", *none = maximum ? "-INFINITY" : "0";
    emit_line(x, "vec_%s %s = splat_%s(%s);", x->suffix, folded, x->suffix, none);
    emit_line(x, "for (int64_t %s = %s; %s < %s; %s += %d) {", lane, emit_first(x, n->lane), lane, lanes, lane, x->lanes);
    for (int k = LEVEL_LANE; k <= LEVEL_ROW; k++) text_append(x->out, n->level[k].data ? n->level[k].data : "", n->level[k].length);
    x->indent += 4;
    emit_line(x, "const vec_%s term = %s;", x->suffix, value);
    const char *inside = as_mask(n, (struct term){format(n, "%s + lane_%s < %s", lane, x->suffix, lanes), KIND_BOOL, true, false});
    const char *term = format(n, "%s + %d <= %s ? term : pick_%s(%s, term, splat_%s(%s))", lane, x->lanes, lanes, x->suffix, inside, x->suffix, none);
    if (maximum)
        emit_line(x, "%s = max_%s(%s, %s);", folded, x->suffix, folded, term);
    else
        emit_line(x, "%s += %s;", folded, term);
    x->indent -= 4;
    emit_line(x, "}");
    if (maximum) {
        const char *to = emit_element(x, &a->to);
        emit_line(x, "for (int lane = 0; lane < %d; lane++)", x->lanes);
        emit_line(x, "    if (%s[lane] > %s) %s = %s[lane];", folded, to, to, folded);
    } else {
        emit_line(x, "const %s total = lane_sum_%s(%s);", x->real, x->suffix, folded);
    }
    if (a->rest) {
        struct ref rest = a->to;
        rest.of = a->rest - 1;
        emit_line(x, "const %s more = %s + total, sum_then = %s + more;", x->real, emit_element(x, &rest), emit_element(x, &a->to));
        emit_line(x, "%s = more - (sum_then - %s);", emit_element(x, &rest), emit_element(x, &a->to));
        emit_line(x, "%s = sum_then;", emit_element(x, &a->to));
    } else if (!maximum)
        emit_line(x, "%s += total;", emit_element(x, &a->to));
    for (int k = 0; k + 1 < s->rank; k++) {
        x->indent -= 4;
        emit_line(x, "}");
    }
    for (int k = 0; k < 3; k++) text_free(&n->level[k]);
}

void emit_region(struct emitter *x, const struct expr *region, int lane, const char *to)
{
    struct arena *arena = x->m->arena;
    const struct stmt s = {.op = LOOPS_MAP, .rank = 1, .axes = {lane}};
    struct nest nest = {.x = x, .s = &s, .lane = lane, .depth = {x->indent, x->indent + 4, x->indent + 4}, .exprs = x->m->exprs}, *n = &nest;
    size_t exprs = (size_t)x->m->exprs;
    n->seen = arena_alloc(arena, exprs * sizeof *n->seen);
    n->term = arena_alloc(arena, exprs * sizeof *n->term);
    n->count = arena_alloc(arena, exprs * sizeof *n->count);
    count_parents(n, region);
    struct term t = as_bool(n, term_of(n, region, LEVEL_LANE));
    const char *name = x->m->axis[lane].name, *holds = t.vector ? as_mask(n, t) : format(n, "(mask_%s){0} - (%s)", x->suffix, t.c);
    text_append(x->out, n->level[LEVEL_UNIFORM].data ? n->level[LEVEL_UNIFORM].data : "", n->level[LEVEL_UNIFORM].length);
    emit_line(x, "for (int64_t %s = 0; %s < %s; %s += %d) {", name, name, emit_range(x, lane), name, x->lanes);
    text_append(x->out, n->level[LEVEL_LANE].data ? n->level[LEVEL_LANE].data : "", n->level[LEVEL_LANE].length);
    emit_line(x, "    %s[%s / %d] = %s;", to, name, x->lanes, holds);
    emit_line(x, "}");
    for (int k = 0; k < 3; k++) text_free(&n->level[k]);
}

/* How many of the nest's outermost axes an assignment that sums or takes a maximum runs over besides the lanes, where all others are inside of
   them, so that it can stay in a register; -1 when the axes lie otherwise, or when nothing is summed. */
static int kept_outside(const struct stmt *s, const struct assign *a)
{
    if (a->to.rank >= s->rank || a->fold == FOLD_SET) return -1;
    int kept = 0;
    for (int k = 0; k + 1 < s->rank; k++)
        if (ref_uses_axis(&a->to, s->axes[k]) && kept++ != k) return -1;
    return kept;
}

/* What only this statement makes and uses is not. */
static bool in_memory(const struct emitter *x, int array)
{
    return x->l->array[array].kind != ARRAY_TILE || x->l->array[array].offset >= 0;
}

/* How many vectors of lanes a row meets at a time, so that what it takes from one number (an index, an element that all lanes share) is made once
   for them: as many as a product's, unless something is kept for every vector or a function would be written out several times. */
static int vectors_at_a_time(const struct nest *n, int outer)
{
    static const enum expr_op functions[] = {EXPR_EXP, EXPR_EXP2, EXPR_LOG, EXPR_TANH, EXPR_SIN, EXPR_COS, EXPR_POW, EXPR_DRAWN, EXPR_ID};
    const struct emitter *x = n->x;
    const struct stmt *s = n->s;
    int64_t vectors = 0;
    if (s->rank != 2 || outer > 0 || x->cut[n->lane]) return 1;
    for (int k = 0; k < s->assigns; k++) {
        const struct assign *a = &s->assign[k];
        const struct array *to = &x->l->array[a->to.of];
        if (to->kind != ARRAY_TILE || ref_axis(&a->to, a->to.rank - 1) != n->lane || to->extent[to->rank - 1] % x->lanes) return 1;
        if (depends(n, a->expr, n->lane) && expr_uses(a->expr, expr_leaf(x->m, EXPR_INDEX, n->lane))) return 1;
        for (size_t f = 0; f < sizeof functions / sizeof *functions; f++)
            if (expr_has(a->expr, functions[f])) return 1;
        for (int o = 0; o < s->operands; o++) {
            const struct expr *leaf = expr_leaf(x->m, EXPR_OPERAND, o);
            if (expr_uses(a->expr, leaf) && level_of(n, leaf) == LEVEL_LANE) return 1;
        }
        vectors = to->extent[to->rank - 1] / x->lanes;
    }
    int most = x->unroll;
    while (vectors % most) most--;
    return most;
}

/* The code of one level, for as many vectors. */
static void append_vectors(struct nest *n, int vectors, const struct text *code)
{
    if (!code->length) return;
    const char *lane = n->x->m->axis[n->lane].name;
    if (vectors > 1) emit_line(n->x, "UNROLL for (int64_t u = 0, %s = %s_first; u < %d; u++, %s += %d) {", lane, lane, vectors, lane, n->x->lanes);
    text_append(n->x->out, code->data, code->length);
    if (vectors > 1) emit_line(n->x, "}");
}

void emit_map(struct emitter *x, const struct stmt *s)
{
    struct arena *arena = x->m->arena;
    struct nest nest = {.x = x, .s = s, .lane = s->rank ? s->axes[s->rank - 1] : -1}, *n = &nest;
    size_t exprs = (size_t)x->m->exprs;
    n->exprs = x->m->exprs;
    n->seen = arena_alloc(arena, exprs * sizeof *n->seen);
    n->term = arena_alloc(arena, exprs * sizeof *n->term);
    n->count = arena_alloc(arena, exprs * sizeof *n->count);
    if (n->lane >= 0 && !ref_uses_axis(&s->assign[0].to, n->lane)) {
        fold_lanes(n);
        return;
    }
    bool rows = s->rank > 1;
    enum level innermost = rows ? LEVEL_ROW : LEVEL_LANE;
    n->depth[LEVEL_UNIFORM] = x->indent;
    n->depth[LEVEL_LANE] = x->indent + 4;
    n->depth[LEVEL_ROW] = x->indent + 4 + 4 * (s->rank - 1);
    struct text before = {0}, after = {0};
    int outer = -1; /* loops around the sums that stay in registers */
    for (int k = 0; k < s->assigns && outer < 0; k++) outer = kept_outside(s, &s->assign[k]);
    int vectors = vectors_at_a_time(n, outer);
    const char *each = vectors > 1 ? "[u]" : "", *kept = vectors > 1 ? "" : format(n, "vec_%s ", x->suffix);
    struct text sums = {0};
    if (vectors > 1) n->depth[LEVEL_ROW] += 4;
    for (int k = 0; k < s->assigns; k++) count_parents(n, s->assign[k].expr);
    for (int k = 0; k < s->assigns; k++) {
        const struct assign *a = &s->assign[k];
        const char *name = emit_name(arena, x->l->array[a->to.of].name), *address = emit_address(x, &a->to);
        struct term t = as_real(n, term_of(n, a->expr, innermost));
        const char *value = as_vector(n, t);
        if (kept_outside(s, a) >= 0 && kept_outside(s, a) == outer) { /* over the inner axes: a sum in a register */
            const char *sum = format(n, "%s_in%s", name, each);
            int depth = n->depth[LEVEL_LANE] + 4 * outer + (vectors > 1 ? 4 : 0);
            text_add(&sums, "%s%s_in[%d]", sums.length ? ", " : "", name, vectors);
            if (a->fold == FOLD_MAX) {
                text_add(&before, "%*s%s%s = load_%s(%s);\n", depth, "", kept, sum, x->suffix, address);
                line(n, innermost, format(n, "%s = max_%s(%s, %s);", sum, x->suffix, sum, value));
                text_add(&after, "%*sstore_%s(%s, %s);\n", depth, "", x->suffix, address, sum);
                continue;
            }
            text_add(&before, "%*s%s%s = (vec_%s){0};\n", depth, "", kept, sum, x->suffix);
            line(n, innermost, format(n, "%s += %s;", sum, value));
            const char *row = x->m->axis[s->axes[s->rank - 2]].name;
            const int64_t terms = emit_tiled(x, s->axes[s->rank - 2]) ? 0 : x->m->axis[s->axes[s->rank - 2]].extent, part = terms > 384 ? 192 : 32;
            if (terms > 2 * part) { /* in parts, so that rounding does not pile up */
                const char *whole = format(n, "%s_in_whole%s", name, each);
                text_add(&before, "%*s%s%s = (vec_%s){0};\n", depth, "", kept, whole, x->suffix);
                text_add(&sums, ", %s_in_whole[%d]", name, vectors);
                line(n, innermost, format(n, "if (%s %% %lld == %lld) {", row, (long long)part, (long long)part - 1));
                line(n, innermost, format(n, "    %s += %s;", whole, sum));
                line(n, innermost, format(n, "    %s = (vec_%s){0};", sum, x->suffix));
                line(n, innermost, "}");
                text_add(&after, "%*s%s += %s;\n", depth, "", sum, whole);
            }
            if (a->rest) {
                struct ref rest = a->to;
                rest.of = a->rest - 1;
                text_add(&after, "%*sadd_%s(%s, %s, %s, splat_%s(1));\n", depth, "", x->suffix, address, emit_address(x, &rest), sum, x->suffix);
            } else
                text_add(&after, "%*sstore_%s(%s, load_%s(%s) + %s);\n", depth, "", x->suffix, address, x->suffix, address, sum);
            continue;
        }
        if (a->fold == FOLD_SUM && a->rest) {
            struct ref rest = a->to;
            rest.of = a->rest - 1;
            line(n, innermost, format(n, "add_%s(%s, %s, %s, splat_%s(1));", x->suffix, address, emit_address(x, &rest), value, x->suffix));
            continue;
        }
        if (a->fold == FOLD_SUM) value = format(n, "load_%s(%s) + %s", x->suffix, address, wrapped(n, value));
        if (a->fold == FOLD_MAX) {
            value = format(n, "max_%s(load_%s(%s), %s)", x->suffix, x->suffix, address, value);
        }
        bool used_later = false;
        for (int later = k + 1; later < s->assigns; later++)
            for (int o = 0; o < s->operands; o++)
                used_later |= ref_equal(&s->operand[o], &a->to) && expr_uses(s->assign[later].expr, expr_leaf(x->m, EXPR_OPERAND, o));
        if (used_later) {
            const char *made = format(n, "%s_new%d", name, n->x->temporaries++);
            line(n, innermost, format(n, "const vec_%s %s = %s;", x->suffix, made, value));
            for (int o = 0; o < s->operands; o++)
                if (ref_equal(&s->operand[o], &a->to)) renew(n, o, made);
            value = made;
        }
        if (a->fold != FOLD_SET || in_memory(x, a->to.of)) line(n, innermost, format(n, "store_%s(%s, %s);", x->suffix, address, value));
    }
    /* put the levels together */
    describe(n);
    const char *lane = x->m->axis[n->lane].name;
    text_append(x->out, n->level[LEVEL_UNIFORM].data ? n->level[LEVEL_UNIFORM].data : "", n->level[LEVEL_UNIFORM].length);
    const char *lanes = format(n, "for (int64_t %s = %s; %s < %s; %s += %d) {", lane, emit_first(x, n->lane), lane, emit_end(x, n->lane), lane, x->lanes);
    /* where nothing is kept for a vector's rows, rows go first: neighbours in memory follow each other */
    bool lanes_last = rows && outer < 0 && !n->level[LEVEL_LANE].length && x->m->axis[n->lane].source == SIZE_CONSTANT;
    if (vectors > 1)
        lanes = format(n, "for (int64_t %s_first = %s; %s_first < %s; %s_first += %d) {", lane, emit_first(x, n->lane), lane, emit_end(x, n->lane), lane,
                       x->lanes * vectors);
    if (!lanes_last) emit_line(x, "%s", lanes);
    text_append(x->out, n->level[LEVEL_LANE].data ? n->level[LEVEL_LANE].data : "", n->level[LEVEL_LANE].length);
    x->indent += 4;
    if (vectors > 1 && sums.length) emit_line(x, "vec_%s %s;", x->suffix, sums.data);
    if (outer <= 0) append_vectors(n, vectors, &before);
    x->indent -= 4;
    for (int k = 0; k + 1 < s->rank; k++) {
        const char *axis = x->m->axis[s->axes[k]].name;
        if (!lanes_last || k > 0) x->indent += 4;
        emit_line(x, "for (int64_t %s = %s; %s < %s; %s++)%s", axis, emit_first(x, s->axes[k]), axis, emit_end(x, s->axes[k]), axis,
                  (k + 2 == s->rank || k + 1 == outer || lanes_last) ? " {" : "");
        if (k + 1 == outer) text_append(x->out, before.data ? before.data : "", before.length);
    }
    if (lanes_last) {
        x->indent += 4;
        emit_line(x, "%s", lanes);
    }
    x->indent += 4;
    append_vectors(n, vectors, &n->level[LEVEL_ROW]);
    x->indent -= 4;
    for (int k = 0; k + 1 < s->rank && lanes_last; k++, x->indent -= 4) emit_line(x, "}");
    if (rows && !lanes_last) emit_line(x, "}");
    if (!lanes_last) x->indent -= 4 * (s->rank - 1 - (outer > 0 ? outer : 0));
    x->indent += 4;
    append_vectors(n, vectors, &after);
    x->indent -= 4;
    if (outer > 0) {
        emit_line(x, "}");
        x->indent -= 4 * outer;
    }
    emit_line(x, "}");
    for (int k = 0; k < 3; k++) text_free(&n->level[k]);
    text_free(&sums);
    text_free(&before);
    text_free(&after);
}
