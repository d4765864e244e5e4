/* Makes, simplifies and evaluates scalar expressions. Equal expressions share one object (interning). */
#include "expr_query.h"

#include <math.h>
#include <string.h>

enum { TABLE_SIZE = 4096, RESULT_REAL = 0, RESULT_INT, RESULT_BOOL, RESULT_SAME };

enum { CALLER_INTERNAL = false, CALLER_USER = true };

const struct expr_operation expr_operations[EXPR_OPS] = {
#define EXPR(name, text, c, caller, arguments, result, infix, effort, real, integer, range, derivative) \
    {text, c, infix, CALLER_##caller, arguments, RESULT_##result, EFFORT_##effort},
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

int module_constant_axis(struct module *m, const char *name, int64_t extent)
{
    int axis = -1, others = 0;
    const char *own = name;
    while ((axis = module_find_axis(m, own)) >= 0 && m->axis[axis].extent != extent)
        own = arena_printf(m->arena, "%s%d", name, ++others);
    return axis >= 0 ? axis : module_axis(m, own, SIZE_CONSTANT, extent);
}

const int axis_kinds[] = {
#define SIZE(name, text, kind) kind,
#include "size.def"
#undef SIZE
};

int64_t axis_extent(const struct module *m, int axis, const struct problem_size *size)
{
    switch (m->axis[axis].source) {
    case SIZE_CONSTANT:
    case SIZE_UNITS: return m->axis[axis].extent;
    case SIZE_BATCH: return size->batch;
    case SIZE_KV_HEADS: return size->kv_heads;
    case SIZE_MEMBERS: return size->members;
    case SIZE_N_Q: return size->n_q;
    case SIZE_ALL_KEYS:
    case SIZE_N_K: return size->n_k;
    case SIZE_FIRST_KEY:
    case SIZE_SINK_MODE: return 0;
    case SIZE_ROWS: return size->members * size->n_q;
    case SIZE_HEADS: return size->kv_heads * size->members;
    case SIZE_KEY_BLOCKS:
    case SIZE_CHUNKS: return size->n_k > 0 ? (size->n_k - 1) / m->axis[axis].extent + 1 : 1;
    case SIZE_QUERY_BLOCKS:
    case SIZE_QUERY_CHUNKS: return size->n_q > 0 ? (size->n_q - 1) / m->axis[axis].extent + 1 : 1;
    }
    return 0;
}

/* ---- interning ---- */

static bool same(const struct expr *a, const struct expr *b)
{
    return a->op == b->op && a->type == b->type && a->integer == b->integer && a->draw == b->draw &&
           a->name == b->name && memcmp(&a->real, &b->real, sizeof a->real) == 0 && a->arg[0] == b->arg[0] &&
           a->arg[1] == b->arg[1] && a->arg[2] == b->arg[2];
}

/* Sets what e stores about all its subexpressions. */
static void summarise(struct expr *e)
{
    static const int64_t LARGEST = INT64_C(1) << 62;
    _Static_assert(EXPR_OPS <= 64, "expr.ops has a bit for each operation");
    e->ops = EXPR_BIT(e->op);
    e->axes = e->op == EXPR_INDEX && e->integer >= 0 && e->integer < MAX_AXES ? AXIS(e->integer) : 0;
    e->effort = expr_operations[e->op].effort;
    e->has_real = e->type == TYPE_REAL;
    e->size = 1;
    for (int k = 0; k < expr_operations[e->op].arity; k++) {
        const struct expr *const a = e->arg[k];
        e->ops |= a->ops;
        e->axes |= a->axes;
        e->effort = a->effort > e->effort ? a->effort : e->effort;
        e->has_real |= a->has_real;
        e->size = a->size < LARGEST - e->size ? e->size + a->size : LARGEST;
    }
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
    summarise(made);
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

/* ---- building and constant folding ---- */

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

/* Returns true if e is an integer expression of the form x + constant. */
static bool offset(const struct expr *e)
{
    return e->op == EXPR_ADD && e->type == TYPE_INT && e->arg[1]->op == EXPR_INT;
}

/* Removes `term` from a sum of integers: a + b - c without b is a - c. Returns NULL if it is not in the sum. */
static const struct expr *without(struct module *m, const struct expr *sum, const struct expr *term)
{
    if (sum == term) return expr_int(m, 0);
    if (sum->type != TYPE_INT || (sum->op != EXPR_ADD && sum->op != EXPR_SUB)) return NULL;
    const struct expr *left = without(m, sum->arg[0], term);
    if (left) return expr_make(m, sum->op, left, sum->arg[1], NULL);
    const struct expr *right = sum->op == EXPR_ADD ? without(m, sum->arg[1], term) : NULL;
    return right ? expr_add(m, sum->arg[0], right) : NULL;
}

/* Simplifies a - b if both sums share a term: (x + y) - (x + z) becomes y - z. Otherwise returns NULL. */
static const struct expr *cancelled(struct module *m, const struct expr *a, const struct expr *b)
{
    const struct expr *term = b;
    while (term->type == TYPE_INT && (term->op == EXPR_ADD || term->op == EXPR_SUB)) {
        const struct expr *last = term->op == EXPR_ADD ? term->arg[1] : NULL, *left = last ? without(m, a, last) : NULL;
        if (left) return expr_sub(m, left, without(m, b, last));
        term = term->arg[0];
    }
    const struct expr *left = without(m, a, term);
    return left ? expr_sub(m, left, without(m, b, term)) : NULL;
}

enum { MAX_SAME_DEPTH = 6 };

/* Returns true if two integer expressions are equal up to the order of arguments: a + b equals b + a. Compares at
   most `depth` levels. */
static bool same_integers(const struct expr *a, const struct expr *b, int depth)
{
    if (a == b) return true;
    const bool commutes = a->op == EXPR_ADD || a->op == EXPR_MUL || a->op == EXPR_EQ || a->op == EXPR_NE ||
                          a->op == EXPR_AND || a->op == EXPR_OR || a->op == EXPR_MIN || a->op == EXPR_MAX ||
                          a->op == EXPR_BIT_AND || a->op == EXPR_BIT_OR || a->op == EXPR_BIT_XOR;
    if (a->op != b->op || !commutes || depth == 0) return false;
    for (int first = 0; first < 2; first++)
        if (same_integers(a->arg[0], b->arg[first], depth - 1) && same_integers(a->arg[1], b->arg[!first], depth - 1))
            return true;
    return false;
}

/* Simplifies a comparison of a truth value with a constant if its result is known, as in (x < y) != 2. Otherwise
   returns NULL. */
static const struct expr *truth_compared(struct module *m, enum expr_op op, const struct expr *a, const struct expr *b)
{
    const bool first = a->type == TYPE_BOOL && constant(b), second = b->type == TYPE_BOOL && constant(a);
    if (!first && !second) return NULL;
    const struct expr *result[2];
    for (int value = 0; value < 2; value++) {
        const struct expr *const truth = expr_int(m, value);
        result[value] = expr_make(m, op, first ? truth : a, first ? b : truth, NULL);
    }
    return result[0] == result[1] ? result[0] : NULL;
}

/* Returns true if the integer expression is at least 1: a size, or a product of sizes. */
static bool is_size(const struct expr *e)
{
    return e->op == EXPR_SIZE || (e->op == EXPR_MUL && is_size(e->arg[0]) && is_size(e->arg[1]));
}

/* Returns a simpler expression equal to op(a, b, c) for finite operands, or NULL. */
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
        /* constants of a sum move to the end */
        if (integers && a->op == EXPR_INT) return expr_add(m, b, a);
        if (integers && offset(a))
            return expr_add(m, expr_add(m, a->arg[0], b->op == EXPR_INT ? expr_int(m, 0) : b),
                            b->op == EXPR_INT ? expr_add(m, a->arg[1], b) : a->arg[1]);
        if (integers && offset(b)) return expr_add(m, expr_add(m, a, b->arg[0]), b->arg[1]);
        if (integers && b->op == EXPR_NEG) return expr_sub(m, a, b->arg[0]);
        if (integers && a->op == EXPR_NEG && b->op != EXPR_INT) return expr_sub(m, b, a->arg[0]);
        return NULL;
    case EXPR_SUB:
        if (expr_is_real(b, 0) && (a->type == TYPE_REAL || integers)) return a;
        if (integers && a == b) return expr_int(m, 0);
        if (integers && b->op == EXPR_INT && b->integer != INT64_MIN) return expr_add(m, a, expr_int(m, -b->integer));
        if (integers && expr_is_real(a, 0)) return expr_neg(m, b);
        if (integers && b->op == EXPR_NEG) return expr_add(m, a, b->arg[0]);
        if (integers && offset(a)) return expr_add(m, expr_sub(m, a->arg[0], b), a->arg[1]);
        if (integers && offset(b)) return expr_sub(m, expr_sub(m, a, b->arg[0]), b->arg[1]);
        if (integers) return cancelled(m, a, b);
        if (infinite(a)) return a;
        if (infinite(b)) return expr_real(m, -b->real);
        return NULL;
    case EXPR_MUL:
        if (constant(a) && !constant(b)) return expr_mul(m, b, a);
        if (expr_is_real(b, 1) && (a->type == TYPE_REAL || integers)) return a;
        if (integers && expr_is_real(b, 0)) return b;
        if (b->op == EXPR_REAL && isfinite(b->real) && a->op == EXPR_MUL && a->arg[1]->op == EXPR_REAL &&
            a->type == TYPE_REAL)
            return expr_mul(m, a->arg[0], expr_real(m, a->arg[1]->real * b->real));
        return NULL;
    case EXPR_DIV:
        if (expr_is_real(b, 1) && (a->type == TYPE_REAL || integers)) return a;
        /* for example, kv_heads * members / kv_heads is members */
        if (integers && a->op == EXPR_MUL && is_size(a) && a->arg[0] == b) return a->arg[1];
        if (!integers && b->op == EXPR_REAL && b->real != 0 && isfinite(b->real)) {
            int exponent; /* multiplication by 2^-n is exact and faster */
            if (fabs(frexp(b->real, &exponent)) == 0.5) return expr_mul(m, a, expr_real(m, 1 / b->real));
            if (a->op == EXPR_MUL && a->arg[1]->op == EXPR_REAL)
                return expr_mul(m, a->arg[0], expr_real(m, a->arg[1]->real / b->real));
        }
        return NULL;
    case EXPR_MOD:
    case EXPR_FLOORMOD: return expr_is_real(b, 1) ? expr_int(m, 0) : NULL;
    case EXPR_BIT_AND:
        if (expr_is_real(a, 0) || expr_is_real(b, 0)) return expr_int(m, 0);
        return a == b && a->type == TYPE_INT ? a : NULL;
    case EXPR_BIT_OR:
    case EXPR_BIT_XOR:
        if (expr_is_real(a, 0) && b->type == TYPE_INT) return b;
        if (expr_is_real(b, 0) && a->type == TYPE_INT) return a;
        if (a == b && op == EXPR_BIT_XOR) return expr_int(m, 0);
        return a == b && a->type == TYPE_INT ? a : NULL;
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
    case EXPR_EQ:
        if (op == EXPR_EQ && is_size(a) && b->op == EXPR_INT && b->integer < 1) return expr_int(m, 0);
        return integers && same_integers(a, b, MAX_SAME_DEPTH) ? expr_int(m, 1) : truth_compared(m, op, a, b);
    case EXPR_LT:
    case EXPR_NE: return integers && same_integers(a, b, MAX_SAME_DEPTH) ? expr_int(m, 0) : truth_compared(m, op, a, b);
    case EXPR_MIN:
    case EXPR_MAX: return a == b ? a : NULL;
    case EXPR_ABS: return a->op == EXPR_ABS ? a : NULL;
    case EXPR_NEG:
        if (a->op == EXPR_NEG) return a->arg[0];
        if (integers && a->op == EXPR_SUB) return expr_sub(m, a->arg[1], a->arg[0]);
        if (integers && offset(a)) return expr_sub(m, expr_neg(m, a->arg[0]), a->arg[1]);
        return NULL;
    case EXPR_POW: return expr_is_real(b, 1) ? a : NULL;
    case EXPR_TRUNC: return a->type == TYPE_INT ? a : NULL;
    default: return NULL; /* no simplification is known for the other operations */
    }
    return NULL;
}

const struct expr *expr_make(struct module *m, enum expr_op op, const struct expr *a, const struct expr *b,
                             const struct expr *c)
{
    enum expr_type type = TYPE_REAL;
    switch (expr_operations[op].result) {
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
    if (op != EXPR_RANDOM && op != EXPR_RANGE && op != EXPR_START && constant(a) && (!b || constant(b)) &&
        (!c || constant(c))) {
        bool by_zero = (op == EXPR_DIV || op == EXPR_MOD || op == EXPR_FLOORMOD) && type == TYPE_INT && b->integer == 0;
        if (!by_zero)
            return type == TYPE_REAL ? expr_real(m, expr_eval(&e, NULL)) : expr_int(m, expr_eval_int(&e, NULL));
    }
    const struct expr *simpler = identity(m, op, a, b, c);
    return simpler ? simpler : expr_intern(m, e);
}

const struct expr *expr_query_start(struct module *m, int queries, int keys)
{
    int batch = 0;
    while (batch < m->axes && m->axis[batch].source != SIZE_BATCH) batch++;
    return expr_make(m, EXPR_START, batch < m->axes ? expr_index(m, batch) : expr_int(m, 0),
                     expr_sub(m, expr_size(m, keys), expr_size(m, queries)), NULL);
}

const struct expr *expr_query_position(struct module *m, int queries, int keys)
{
    return expr_add(m, expr_index(m, queries), expr_query_start(m, queries, keys));
}

const struct expr *expr_power(struct module *m, const struct expr *x, int64_t power)
{
    if (power == 0) return expr_real(m, 1);
    const struct expr *half = expr_power(m, x, power / 2);
    const struct expr *square = power < 2 ? half : expr_mul(m, half, half);
    return power % 2 ? (power == 1 ? x : expr_mul(m, square, x)) : square;
}

const struct expr *expr_with_args(struct module *m, const struct expr *e, const struct expr *const *arg)
{
    bool changed = false;
    for (int k = 0; k < expr_operations[e->op].arity; k++) changed |= arg[k] != e->arg[k];
    if (!changed) return e;
    if (e->op == EXPR_DRAWN) return expr_drawn(m, arg[0], arg[1], arg[2], *e->draw);
    if (e->name) return expr_id(m, e->op, e->name, arg[0], arg[1], arg[2]);
    return expr_make(m, e->op, arg[0], arg[1], arg[2]);
}

/* ---- evaluation ---- */

static int64_t wrap(uint64_t bits)
{
    int64_t value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static int64_t quotient(int64_t x, int64_t y)
{
    return y == 0 ? 0 : y == -1 ? wrap(0 - (uint64_t)x) : x / y;
}

static int64_t remains(int64_t x, int64_t y)
{
    return y == 0 || y == -1 ? 0 : x % y;
}

static const char digits[] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

char expr_digit(int number)
{
    return digits[number];
}

int64_t listed_number(const char *list, int64_t x)
{
    const char *const digit = x >= 0 && x < (int64_t)strlen(list) - 1 ? strchr(digits, list[x + 1]) : NULL;
    return digit ? digit - digits : 0;
}

static int64_t floor_remains(int64_t x, int64_t y)
{
    const int64_t r = remains(x, y);
    return r != 0 && (r < 0) != (y < 0) ? r + y : r;
}

static int64_t magnitude(int64_t x)
{
    return x < 0 ? wrap(0 - (uint64_t)x) : x;
}

static int64_t smaller(int64_t x, int64_t y)
{
    return x < y ? x : y;
}

static int64_t larger(int64_t x, int64_t y)
{
    return x > y ? x : y;
}

static int64_t shifted_left(int64_t x, int64_t by)
{
    return by < 0 || by > 63 ? 0 : wrap((uint64_t)x << by);
}

static int64_t shifted_right(int64_t x, int64_t by)
{
    return x >> (by < 0 || by > 63 ? 63 : by);
}

static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

/* These functions return NaN if an argument is NaN, unlike fmin and fmax. */
static double smaller_real(double x, double y)
{
    return x < y || x != x ? x : y;
}

static double larger_real(double x, double y)
{
    return x > y || x != x ? x : y;
}

/* Truncates x and limits it to ±2^62. Returns 0 for NaN. */
static int64_t whole(double x)
{
    return x != x ? 0 : (int64_t)fmin(fmax(x, -0x1p62), 0x1p62);
}

/* Return the value of an argument. Most arguments are leaves, which need no call. */
static inline double real_value(const struct expr *e, const struct environment *env)
{
    return e->op == EXPR_OPERAND ? env->operand[e->integer] : e->op == EXPR_REAL ? e->real : expr_eval(e, env);
}

static inline int64_t integer_value(const struct expr *e, const struct environment *env)
{
    return e->op == EXPR_INDEX ? env->index[e->integer] : e->op == EXPR_INT ? e->integer : expr_eval_int(e, env);
}

/* Names for the columns `real` and `integer` of expr.def. Integers wrap around, because users' expressions must not
   cause undefined behaviour. */
#define R(x) real_value(x, env)
#define I(x) integer_value(x, env)
#define U(x) ((uint64_t)integer_value(x, env))
#define COMPARED(operator) (a->type == TYPE_REAL || b->type == TYPE_REAL ? R(a) operator R(b) : I(a) operator I(b))

int64_t expr_eval_int(const struct expr *e, const struct environment *env)
{
    const struct expr *a = e->arg[0], *b = e->arg[1], *c = e->arg[2];
    switch (e->op) {
#define EXPR(name, text, function, caller, arguments, result, infix, effort, real_value, value, range, derivative) \
    case EXPR_##name: return value;
#include "expr.def"
#undef EXPR
    case EXPR_OPS: break;
    }
    return 0;
}

static double exact(const struct expr *e, const struct environment *env)
{
    const struct expr *a = e->arg[0], *b = e->arg[1], *c = e->arg[2];
    switch (e->op) {
#define EXPR(name, text, function, caller, arguments, result, infix, effort, value, integer_value, range, derivative) \
    case EXPR_##name: return value;
#include "expr.def"
#undef EXPR
    case EXPR_OPS: break;
    }
    return 0;
}
#undef R
#undef I
#undef U
#undef COMPARED

double expr_noisy(double x, uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return x * (1 + (double)((int64_t)*state >> 11) * 0x1p-76); /* a random 53-bit integer, scaled to 2^-24 */
}

double expr_eval(const struct expr *e, const struct environment *env)
{
    if (e->type != TYPE_REAL) return (double)expr_eval_int(e, env);
    const double x = exact(e, env);
    if (!env || !env->noise) return x;
    if (expr_rounds(e->op)) return x;
    switch ((int)e->op) {
    case EXPR_REAL:
    case EXPR_OPERAND:
    case EXPR_NEG:
    case EXPR_ABS:
    case EXPR_MIN:
    case EXPR_MAX:
    case EXPR_SELECT: return x;
    default: return expr_noisy(x, env->noise);
    }
}

struct id_name {
    const char *name;
    struct id_name *next;
};

/* Returns the module's copy of a parameter's name. Equal names have equal pointers. */
static const char *name_in(struct module *m, const char *name)
{
    struct id_name *known = m->id_names;
    while (known && strcmp(known->name, name) != 0) known = known->next;
    if (known) return known->name;
    known = arena_alloc(m->arena, sizeof *known);
    known->name = arena_copy(m->arena, name);
    known->next = m->id_names;
    m->id_names = known;
    return known->name;
}

const struct expr *expr_drawn(struct module *m, const struct expr *a, const struct expr *b, const struct expr *among,
                              struct draw draw)
{
    struct draw *known = m->draws;
    if (draw.name) draw.name = name_in(m, draw.name);
    while (known && (known->count != draw.count || known->seed != draw.seed || known->upto != draw.upto ||
                     known->name != draw.name || known->sorted != draw.sorted))
        known = known->next;
    if (!known) {
        known = arena_alloc(m->arena, sizeof *known);
        *known = draw;
        known->next = m->draws;
        m->draws = known;
    }
    return expr_intern(m, (struct expr){.op = EXPR_DRAWN, .type = TYPE_BOOL, .arg = {a, b, among}, .draw = known});
}

const struct expr *expr_id(struct module *m, enum expr_op op, const char *name, const struct expr *row,
                           const struct expr *x, const struct expr *to)
{
    if (op == EXPR_LISTED && row->op == EXPR_INT) return expr_int(m, listed_number(name, row->integer));
    return expr_intern(m, (struct expr){.op = op,
                                        .type = op == EXPR_ANY_ID || op == EXPR_ANY_SORTED ? TYPE_BOOL
                                                : op == EXPR_ELEMENT                       ? TYPE_REAL
                                                                                           : TYPE_INT,
                                        .arg = {row, x, to},
                                        .name = name_in(m, name)});
}

bool expr_integer_only(enum expr_op op, int argument)
{
    return expr_is_looked_up(op) || op == EXPR_LISTED || op == EXPR_START || op == EXPR_RANGE || op == EXPR_MOD ||
           op == EXPR_FLOORMOD || expr_is_of_bits(op) || op == EXPR_AND || op == EXPR_OR || op == EXPR_NOT ||
           (op == EXPR_SELECT && argument == 0);
}
