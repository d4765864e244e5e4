/* Scalar expressions: interned, folded as they are built, evaluated in float64. */
#include "ir.h"

#include <math.h>
#include <string.h>

enum { TABLE_SIZE = 4096, RESULT_REAL = 0, RESULT_INT, RESULT_BOOL, RESULT_SAME };

static const struct {
    const char *name;
    int arity, result;
    const char *infix;
    enum expr_effort effort;
} operation[EXPR_OPS] = {
#define EXPR(name, text, arguments, result, infix, effort, derivative) \
    {text, arguments, RESULT_##result, infix, EFFORT_##effort},
#include "expr.def"
#undef EXPR
};

struct module *module_new(struct arena *arena, const char *name, enum dtype dtype)
{
    struct module *m = arena_alloc(arena, sizeof *m);
    m->arena = arena;
    m->name = arena_copy(arena, name);
    m->dtype = dtype;
    m->table = arena_alloc(arena, TABLE_SIZE * sizeof *m->table);
    return m;
}

int module_axis(struct module *m, const char *name, enum size_source source, int64_t extent)
{
    if (m->axes == MAX_AXES) return -1;
    m->axis[m->axes] = (struct axis){arena_copy(m->arena, name), source, extent};
    return m->axes++;
}

int module_find_axis(const struct module *m, const char *name)
{
    for (int a = 0; a < m->axes; a++)
        if (strcmp(m->axis[a].name, name) == 0) return a;
    return -1;
}

bool axis_is_sequence(const struct axis *a)
{
    static const bool sequences[] = {
#define SIZE(name, text, sequence) sequence,
#include "size.def"
#undef SIZE
    };
    return sequences[a->source];
}

bool axis_is_chunks(const struct axis *a)
{
    return a->source == SIZE_CHUNKS || a->source == SIZE_QUERY_CHUNKS;
}

bool axis_is_counted(const struct axis *a)
{
    return a->source == SIZE_CONSTANT || a->source == SIZE_UNITS;
}

bool axis_is_whole(const struct axis *a)
{
    return a->source == SIZE_CONSTANT || a->source == SIZE_ROWS;
}

int64_t axis_extent(const struct module *m, int axis, const struct problem_size *size)
{
    switch (m->axis[axis].source) {
    case SIZE_CONSTANT:
    case SIZE_UNITS: return m->axis[axis].extent;
    case SIZE_BATCH: return size->batch;
    case SIZE_KV_HEADS: return size->kv_heads;
    case SIZE_MEMBERS: return size->members;
    case SIZE_N_Q: return size->n_q;
    case SIZE_N_K: return size->n_k;
    case SIZE_ROWS: return size->members * size->n_q;
    case SIZE_CHUNKS: return size->n_k > 0 ? (size->n_k - 1) / m->axis[axis].extent + 1 : 1;
    case SIZE_QUERY_CHUNKS: return size->n_q > 0 ? (size->n_q - 1) / m->axis[axis].extent + 1 : 1;
    }
    return 0;
}

int expr_arity(enum expr_op op)
{
    return operation[op].arity;
}

const char *expr_name(enum expr_op op)
{
    return operation[op].name;
}

const char *expr_infix(enum expr_op op)
{
    return *operation[op].infix ? operation[op].infix : NULL;
}

enum expr_effort expr_effort(enum expr_op op)
{
    return operation[op].effort;
}

/* ---- interning ---- */

static bool same(const struct expr *a, const struct expr *b)
{
    return a->op == b->op && a->type == b->type && a->integer == b->integer && a->draw == b->draw &&
           a->name == b->name && memcmp(&a->real, &b->real, sizeof a->real) == 0 && a->arg[0] == b->arg[0] &&
           a->arg[1] == b->arg[1] && a->arg[2] == b->arg[2];
}

const struct expr *expr_intern(struct module *m, struct expr e)
{
    uint64_t hash = (uint64_t)e.op * 31 + (uint64_t)e.integer, bits;
    memcpy(&bits, &e.real, sizeof bits);
    hash = (hash ^ bits) * UINT64_C(0x9E3779B97F4A7C15);
    for (int k = 0; k < 3; k++)
        hash = (hash ^ (e.arg[k] ? (uint64_t)e.arg[k]->id + 1 : 0)) * UINT64_C(0x9E3779B97F4A7C15);
    struct expr **chain = &m->table[hash >> 52];
    for (struct expr *known = *chain; known; known = known->next)
        if (same(known, &e)) return known;
    struct expr *made = arena_alloc(m->arena, sizeof *made);
    *made = e;
    made->id = m->exprs++;
    made->next = *chain;
    *chain = made;
    return made;
}

const struct expr *expr_real(struct module *m, double value)
{
    return expr_intern(m, (struct expr){.op = EXPR_REAL, .type = TYPE_REAL, .real = value});
}

const struct expr *expr_int(struct module *m, int64_t value)
{
    return expr_intern(m, (struct expr){.op = EXPR_INT, .type = TYPE_INT, .integer = value});
}

const struct expr *expr_leaf(struct module *m, enum expr_op op, int number)
{
    if (op == EXPR_SIZE && axis_is_counted(&m->axis[number])) return expr_int(m, m->axis[number].extent);
    return expr_intern(m,
                       (struct expr){.op = op, .type = op == EXPR_OPERAND ? TYPE_REAL : TYPE_INT, .integer = number});
}

/* ---- building, folding what is constant ---- */

static bool constant(const struct expr *e)
{
    return e->op == EXPR_REAL || e->op == EXPR_INT;
}

bool expr_is_real(const struct expr *e, double value)
{
    return (e->op == EXPR_REAL && e->real == value) || (e->op == EXPR_INT && (double)e->integer == value);
}

static bool infinite(const struct expr *e)
{
    return e->op == EXPR_REAL && isinf(e->real);
}

/* x + constant, of integers */
static bool offset(const struct expr *e)
{
    return e->op == EXPR_ADD && e->type == TYPE_INT && e->arg[1]->op == EXPR_INT;
}

/* A sum of integers without one of its terms; NULL: it is none of them. */
static const struct expr *without(struct module *m, const struct expr *sum, const struct expr *term)
{
    if (sum == term) return expr_int(m, 0);
    if (sum->type != TYPE_INT || (sum->op != EXPR_ADD && sum->op != EXPR_SUB)) return NULL;
    const struct expr *left = without(m, sum->arg[0], term);
    if (left) return expr_make(m, sum->op, left, sum->arg[1], NULL);
    const struct expr *right = sum->op == EXPR_ADD ? without(m, sum->arg[1], term) : NULL;
    return right ? expr_make(m, EXPR_ADD, sum->arg[0], right, NULL) : NULL;
}

/* The difference of two sums of integers without a term that both have; NULL: there is none. */
static const struct expr *cancelled(struct module *m, const struct expr *a, const struct expr *b)
{
    const struct expr *term = b;
    while (term->type == TYPE_INT && (term->op == EXPR_ADD || term->op == EXPR_SUB)) {
        const struct expr *last = term->op == EXPR_ADD ? term->arg[1] : NULL, *left = last ? without(m, a, last) : NULL;
        if (left) return expr_make(m, EXPR_SUB, left, without(m, b, last), NULL);
        term = term->arg[0];
    }
    const struct expr *left = without(m, a, term);
    return left ? expr_make(m, EXPR_SUB, left, without(m, b, term), NULL) : NULL;
}

/* The simpler expression that op(a, b, c) is, or NULL. A variable real is taken to be finite. */
static const struct expr *identity(struct module *m, enum expr_op op, const struct expr *a, const struct expr *b,
                                   const struct expr *c)
{
    bool integers = a->type != TYPE_REAL && (!b || b->type != TYPE_REAL);
    switch (op) {
    case EXPR_ADD:
        if (expr_is_real(a, 0) && (b->type == TYPE_REAL || integers)) return b;
        if (expr_is_real(b, 0) && (a->type == TYPE_REAL || integers)) return a;
        if (infinite(a)) return a;
        if (infinite(b)) return b;
        /* constants gather at the end of a sum of integers */
        if (integers && a->op == EXPR_INT) return expr_make(m, EXPR_ADD, b, a, NULL);
        if (integers && offset(a))
            return expr_make(m, EXPR_ADD,
                             expr_make(m, EXPR_ADD, a->arg[0], b->op == EXPR_INT ? expr_int(m, 0) : b, NULL),
                             b->op == EXPR_INT ? expr_make(m, EXPR_ADD, a->arg[1], b, NULL) : a->arg[1], NULL);
        if (integers && offset(b))
            return expr_make(m, EXPR_ADD, expr_make(m, EXPR_ADD, a, b->arg[0], NULL), b->arg[1], NULL);
        if (integers && b->op == EXPR_NEG) return expr_make(m, EXPR_SUB, a, b->arg[0], NULL);
        if (integers && a->op == EXPR_NEG && b->op != EXPR_INT) return expr_make(m, EXPR_SUB, b, a->arg[0], NULL);
        return NULL;
    case EXPR_SUB:
        if (expr_is_real(b, 0) && (a->type == TYPE_REAL || integers)) return a;
        if (integers && a == b) return expr_int(m, 0);
        if (integers && b->op == EXPR_INT && b->integer != INT64_MIN)
            return expr_make(m, EXPR_ADD, a, expr_int(m, -b->integer), NULL);
        if (integers && expr_is_real(a, 0)) return expr_make(m, EXPR_NEG, b, NULL, NULL);
        if (integers && b->op == EXPR_NEG) return expr_make(m, EXPR_ADD, a, b->arg[0], NULL);
        if (integers && offset(a))
            return expr_make(m, EXPR_ADD, expr_make(m, EXPR_SUB, a->arg[0], b, NULL), a->arg[1], NULL);
        if (integers && offset(b))
            return expr_make(m, EXPR_SUB, expr_make(m, EXPR_SUB, a, b->arg[0], NULL), b->arg[1], NULL);
        if (integers) return cancelled(m, a, b);
        if (infinite(a)) return a;
        if (infinite(b)) return expr_real(m, -b->real);
        return NULL;
    case EXPR_MUL:
        if (constant(a) && !constant(b)) return expr_make(m, EXPR_MUL, b, a, NULL);
        if (expr_is_real(b, 1) && (a->type == TYPE_REAL || integers)) return a;
        if (integers && expr_is_real(b, 0)) return b;
        if (b->op == EXPR_REAL && isfinite(b->real) && a->op == EXPR_MUL && a->arg[1]->op == EXPR_REAL &&
            a->type == TYPE_REAL)
            return expr_make(m, EXPR_MUL, a->arg[0], expr_real(m, a->arg[1]->real * b->real), NULL);
        return NULL;
    case EXPR_DIV:
        if (expr_is_real(b, 1) && (a->type == TYPE_REAL || integers)) return a;
        if (!integers && b->op == EXPR_REAL && b->real != 0 && isfinite(b->real)) {
            int exponent; /* a power of two divides exactly by multiplication */
            if (fabs(frexp(b->real, &exponent)) == 0.5)
                return expr_make(m, EXPR_MUL, a, expr_real(m, 1 / b->real), NULL);
        }
        return NULL;
    case EXPR_MOD:
    case EXPR_FLOORMOD: return expr_is_real(b, 1) ? expr_int(m, 0) : NULL;
    case EXPR_AND:
        if (expr_is_real(a, 0) || expr_is_real(b, 0)) return expr_int(m, 0);
        if (a->op == EXPR_INT && b->type == TYPE_BOOL) return b;
        if (b->op == EXPR_INT && a->type == TYPE_BOOL) return a;
        return a == b && a->type == TYPE_BOOL ? a : NULL;
    case EXPR_OR:
        if ((a->op == EXPR_INT && a->integer) || (b->op == EXPR_INT && b->integer)) return expr_int(m, 1);
        if (a->op == EXPR_INT && b->type == TYPE_BOOL) return b;
        if (b->op == EXPR_INT && a->type == TYPE_BOOL) return a;
        return a == b && a->type == TYPE_BOOL ? a : NULL;
    case EXPR_NOT: return a->op == EXPR_NOT && a->arg[0]->type == TYPE_BOOL ? a->arg[0] : NULL;
    case EXPR_SELECT:
        if (a->op == EXPR_INT) return a->integer ? b : c;
        return b == c ? b : NULL;
    case EXPR_LE:
    case EXPR_EQ: return integers && a == b ? expr_int(m, 1) : NULL;
    case EXPR_LT:
    case EXPR_NE: return integers && a == b ? expr_int(m, 0) : NULL;
    case EXPR_MIN:
    case EXPR_MAX: return a == b ? a : NULL;
    case EXPR_ABS: return a->op == EXPR_ABS ? a : NULL;
    case EXPR_NEG:
        if (a->op == EXPR_NEG) return a->arg[0];
        if (integers && a->op == EXPR_SUB) return expr_make(m, EXPR_SUB, a->arg[1], a->arg[0], NULL);
        if (integers && offset(a))
            return expr_make(m, EXPR_SUB, expr_make(m, EXPR_NEG, a->arg[0], NULL, NULL), a->arg[1], NULL);
        return NULL;
    case EXPR_POW: return expr_is_real(b, 1) ? a : NULL;
    case EXPR_REAL:
    case EXPR_INT:
    case EXPR_OPERAND:
    case EXPR_INDEX:
    case EXPR_SIZE:
    case EXPR_LO:
    case EXPR_HI:
    case EXPR_DRAWN:
    case EXPR_ID:
    case EXPR_MIN_ID:
    case EXPR_MAX_ID:
    case EXPR_FLOOR:
    case EXPR_SQRT:
    case EXPR_EXP:
    case EXPR_EXP2:
    case EXPR_LOG:
    case EXPR_TANH:
    case EXPR_SIN:
    case EXPR_COS:
    case EXPR_OPS: return NULL;
    }
    return NULL;
}

const struct expr *expr_make(struct module *m, enum expr_op op, const struct expr *a, const struct expr *b,
                             const struct expr *c)
{
    enum expr_type type = TYPE_REAL;
    switch (operation[op].result) {
    case RESULT_REAL: type = TYPE_REAL; break;
    case RESULT_INT: type = TYPE_INT; break;
    case RESULT_BOOL: type = TYPE_BOOL; break;
    case RESULT_SAME: {
        const struct expr *x = op == EXPR_SELECT ? b : a, *y = op == EXPR_SELECT ? c : b;
        type = x->type == TYPE_REAL || (y && y->type == TYPE_REAL) ? TYPE_REAL : TYPE_INT;
        break;
    }
    }
    struct expr e = {.op = op, .type = type, .arg = {a, b, c}};
    if (constant(a) && (!b || constant(b)) && (!c || constant(c))) {
        bool by_zero = (op == EXPR_DIV || op == EXPR_MOD || op == EXPR_FLOORMOD) && type == TYPE_INT && b->integer == 0;
        if (!by_zero)
            return type == TYPE_REAL ? expr_real(m, expr_eval(&e, NULL)) : expr_int(m, expr_eval_int(&e, NULL));
    }
    const struct expr *simpler = identity(m, op, a, b, c);
    return simpler ? simpler : expr_intern(m, e);
}

const struct expr *expr_power(struct module *m, const struct expr *x, int64_t power)
{
    if (power == 0) return expr_real(m, 1);
    const struct expr *half = expr_power(m, x, power / 2);
    const struct expr *square = power < 2 ? half : expr_make(m, EXPR_MUL, half, half, NULL);
    return power % 2 ? (power == 1 ? x : expr_make(m, EXPR_MUL, square, x, NULL)) : square;
}

static const struct expr *rebuild(struct module *m, const struct expr *e, const struct expr *from,
                                  const struct expr *to, const struct expr *const *with)
{
    if (e == from) return to;
    if (with && e->op == EXPR_OPERAND) return with[e->integer];
    int arity = operation[e->op].arity;
    const struct expr *arg[3] = {NULL, NULL, NULL};
    bool changed = false;
    for (int k = 0; k < arity; k++) {
        arg[k] = rebuild(m, e->arg[k], from, to, with);
        changed |= arg[k] != e->arg[k];
    }
    if (changed && e->op == EXPR_DRAWN) return expr_drawn(m, arg[0], arg[1], arg[2], *e->draw);
    if (changed && e->name) return expr_id(m, e->op, e->name, arg[0], arg[1], arg[2]);
    return changed ? expr_make(m, e->op, arg[0], arg[1], arg[2]) : e;
}

const struct expr *expr_replace(struct module *m, const struct expr *e, const struct expr *from, const struct expr *to)
{
    return rebuild(m, e, from, to, NULL);
}

const struct expr *expr_bind(struct module *m, const struct expr *e, const struct expr *const *with)
{
    return rebuild(m, e, NULL, NULL, with);
}

bool expr_uses(const struct expr *e, const struct expr *leaf)
{
    if (e == leaf) return true;
    for (int k = 0; k < operation[e->op].arity; k++)
        if (expr_uses(e->arg[k], leaf)) return true;
    return false;
}

bool expr_has(const struct expr *e, enum expr_op op)
{
    if (e->op == op) return true;
    for (int k = 0; k < operation[e->op].arity; k++)
        if (expr_has(e->arg[k], op)) return true;
    return false;
}

bool expr_takes(const struct expr *e, enum expr_effort effort)
{
    if (operation[e->op].effort >= effort) return true;
    for (int k = 0; k < operation[e->op].arity; k++)
        if (expr_takes(e->arg[k], effort)) return true;
    return false;
}

/* ---- evaluation ---- */

static int64_t wrap(uint64_t bits)
{
    int64_t value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

int64_t expr_eval_int(const struct expr *e, const struct environment *env)
{
    const struct expr *a = e->arg[0], *b = e->arg[1], *c = e->arg[2];
    /* Integers wrap, so that no expression a user writes is undefined. */
#define I(x) expr_eval_int(x, env)
#define U(x) ((uint64_t)expr_eval_int(x, env))
#define COMPARE(operator) \
    (a->type == TYPE_REAL || b->type == TYPE_REAL ? expr_eval(a, env) operator expr_eval(b, env) : I(a) operator I(b))
    switch (e->op) {
    case EXPR_INT: return e->integer;
    case EXPR_INDEX: return env->index[e->integer];
    case EXPR_SIZE: return env->size[e->integer];
    case EXPR_LO: return env->lo[e->integer];
    case EXPR_HI: return env->hi[e->integer];
    case EXPR_NEG: return wrap(0 - U(a));
    case EXPR_ADD: return wrap(U(a) + U(b));
    case EXPR_SUB: return wrap(U(a) - U(b));
    case EXPR_MUL: return wrap(U(a) * U(b));
    case EXPR_DIV: {
        int64_t y = I(b);
        return y == 0 ? 0 : y == -1 ? wrap(0 - U(a)) : I(a) / y;
    }
    case EXPR_MOD: {
        int64_t y = I(b);
        return y == 0 || y == -1 ? 0 : I(a) % y;
    }
    case EXPR_FLOORMOD: {
        int64_t y = I(b), r = y == 0 || y == -1 ? 0 : I(a) % y;
        return r != 0 && (r < 0) != (y < 0) ? r + y : r;
    }
    case EXPR_LT: return COMPARE(<);
    case EXPR_LE: return COMPARE(<=);
    case EXPR_EQ: return COMPARE(==);
    case EXPR_NE: return COMPARE(!=);
    case EXPR_AND: return I(a) && I(b);
    case EXPR_OR: return I(a) || I(b);
    case EXPR_NOT: return !I(a);
    case EXPR_DRAWN: return draw_holds(e->draw, I(a), I(b), I(c));
    case EXPR_ID: return ids_read(env->ids, e->name, I(a), I(b));
    case EXPR_MIN_ID:
    case EXPR_MAX_ID: return ids_extreme(env->ids, e->name, I(a), I(b), I(c), e->op == EXPR_MAX_ID);
    case EXPR_SELECT: return I(a) ? I(b) : I(c);
    case EXPR_ABS: {
        int64_t x = I(a);
        return x < 0 ? wrap(0 - (uint64_t)x) : x;
    }
    case EXPR_MIN: {
        int64_t x = I(a), y = I(b);
        return x < y ? x : y;
    }
    case EXPR_MAX: {
        int64_t x = I(a), y = I(b);
        return x > y ? x : y;
    }
    case EXPR_REAL:
    case EXPR_OPERAND:
    case EXPR_FLOOR:
    case EXPR_SQRT:
    case EXPR_EXP:
    case EXPR_EXP2:
    case EXPR_LOG:
    case EXPR_TANH:
    case EXPR_SIN:
    case EXPR_COS:
    case EXPR_POW:
    case EXPR_OPS: return 0;
    }
#undef I
#undef U
#undef COMPARE
    return 0;
}

double expr_eval(const struct expr *e, const struct environment *env)
{
    if (e->type != TYPE_REAL) return (double)expr_eval_int(e, env);
    const struct expr *a = e->arg[0], *b = e->arg[1], *c = e->arg[2];
#define R(x) expr_eval(x, env)
    switch (e->op) {
    case EXPR_REAL: return e->real;
    case EXPR_OPERAND: return env->operand[e->integer];
    case EXPR_NEG: return -R(a);
    case EXPR_ADD: return R(a) + R(b);
    case EXPR_SUB: return R(a) - R(b);
    case EXPR_MUL: return R(a) * R(b);
    case EXPR_DIV: return R(a) / R(b);
    case EXPR_SELECT: return expr_eval_int(a, env) ? R(b) : R(c);
    case EXPR_ABS: return fabs(R(a));
    case EXPR_MIN: {
        double x = R(a), y = R(b);
        return x < y || x != x ? x : y;
    }
    case EXPR_MAX: {
        double x = R(a), y = R(b);
        return x > y || x != x ? x : y;
    }
    case EXPR_FLOOR: return floor(R(a));
    case EXPR_SQRT: return sqrt(R(a));
    case EXPR_EXP: return exp(R(a));
    case EXPR_EXP2: return exp2(R(a));
    case EXPR_LOG: return log(R(a));
    case EXPR_TANH: return tanh(R(a));
    case EXPR_SIN: return sin(R(a));
    case EXPR_COS: return cos(R(a));
    case EXPR_POW: return pow(R(a), R(b));
    case EXPR_INT:
    case EXPR_INDEX:
    case EXPR_SIZE:
    case EXPR_LO:
    case EXPR_HI:
    case EXPR_MOD:
    case EXPR_FLOORMOD:
    case EXPR_LT:
    case EXPR_LE:
    case EXPR_EQ:
    case EXPR_NE:
    case EXPR_AND:
    case EXPR_OR:
    case EXPR_NOT:
    case EXPR_DRAWN:
    case EXPR_ID:
    case EXPR_MIN_ID:
    case EXPR_MAX_ID:
    case EXPR_OPS: return 0; /* of integer type: handled above */
    }
#undef R
    return 0;
}

const struct expr *expr_drawn(struct module *m, const struct expr *a, const struct expr *b, const struct expr *among,
                              struct draw draw)
{
    struct draw *known = m->draws;
    while (known && (known->count != draw.count || known->seed != draw.seed || known->upto != draw.upto))
        known = known->next;
    if (!known) {
        known = arena_alloc(m->arena, sizeof *known);
        *known = draw;
        known->next = m->draws;
        m->draws = known;
    }
    return expr_intern(m, (struct expr){.op = EXPR_DRAWN, .type = TYPE_BOOL, .arg = {a, b, among}, .draw = known});
}

struct id_name {
    const char *name;
    struct id_name *next;
};

const struct expr *expr_id(struct module *m, enum expr_op op, const char *name, const struct expr *b,
                           const struct expr *x, const struct expr *to)
{
    struct id_name *known = m->id_names;
    while (known && strcmp(known->name, name) != 0) known = known->next;
    if (!known) {
        known = arena_alloc(m->arena, sizeof *known);
        known->name = arena_copy(m->arena, name);
        known->next = m->id_names;
        m->id_names = known;
    }
    return expr_intern(m, (struct expr){.op = op, .type = TYPE_INT, .arg = {b, x, to}, .name = known->name});
}

static bool reads_here(const struct expr *e)
{
    return e->op == EXPR_ID || e->op == EXPR_MIN_ID || e->op == EXPR_MAX_ID;
}

bool expr_reads_ids(const struct expr *e)
{
    return expr_has(e, EXPR_ID) || expr_has(e, EXPR_MIN_ID) || expr_has(e, EXPR_MAX_ID);
}

const char *expr_unknown_ids(const struct expr *e, bool (*known)(const void *program, const char *name),
                             const void *program)
{
    if (!e) return NULL;
    const char *unknown = reads_here(e) && !known(program, e->name) ? e->name : NULL;
    for (int k = 0; k < expr_arity(e->op) && !unknown; k++) unknown = expr_unknown_ids(e->arg[k], known, program);
    return unknown;
}

bool expr_integer_only(enum expr_op op, int argument)
{
    return op == EXPR_DRAWN || op == EXPR_ID || op == EXPR_MIN_ID || op == EXPR_MAX_ID || op == EXPR_MOD ||
           op == EXPR_FLOORMOD || op == EXPR_AND || op == EXPR_OR || op == EXPR_NOT ||
           (op == EXPR_SELECT && argument == 0);
}
