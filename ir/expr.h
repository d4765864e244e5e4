/* Axes, scalar expressions, and references to values and arrays. Both IRs contain them (expr.c, expr_text.c,
   expr_verify.c). */
#ifndef ATTNC_EXPR_H
#define ATTNC_EXPR_H

#include "memory.h"

enum size_source {
#define SIZE(name, text, kind) SIZE_##name,
#include "size.def"
#undef SIZE
};
/* Returns the name in IR text and emitted C, such as "n_q". Returns "" for a constant. */
const char *size_name(enum size_source source);

struct axis {
    const char *name;
    enum size_source source;
    int64_t extent; /* - SIZE_CONSTANT, SIZE_UNITS: the number of indices
                       - SIZE_ROWS: the maximum number of indices
                       - SIZE_CHUNKS, SIZE_QUERY_CHUNKS: the keys or queries in a chunk */
};

enum { MAX_AXES = 24, MAX_RANK = 8, MAX_OPERANDS = 24, MAX_ASSIGNS = 8, MAX_RANGES = 24 };

enum expr_op {
#define EXPR(name, ...) EXPR_##name,
#include "expr.def"
#undef EXPR
    EXPR_OPS
};

/* The cost of an operation (expr.def), from cheap to expensive. */
enum expr_effort { EFFORT_NONE, EFFORT_SIMPLE, EFFORT_SLOW, EFFORT_FUNCTION };

enum expr_type { TYPE_REAL, TYPE_INT, TYPE_BOOL };

/* The parameters of EXPR_DRAWN. It draws `count` different numbers for each integer a. They are random, or listed in
   an integer parameter. Equal draws have equal pointers. */
struct draw {
    /* If not NULL, the numbers for a are row c + a of this integer parameter. c is the third argument of
       EXPR_DRAWN. Negative numbers in the row are ignored. */
    const char *name;
    bool sorted; /* if true, each row of the parameter has its numbers in ascending order, then negative ones */
    /* The count of numbers for each a. If fewer numbers exist, all are drawn. */
    int64_t count;
    uint64_t seed;
    /* If true, numbers are drawn from 0 … a. Otherwise they are drawn from 0 … n - 1, where n is the third
       argument. */
    bool upto;
    struct draw *next;
};

/* A scalar expression. Expressions are immutable. Equal expressions of a module have equal pointers. */
struct expr {
    enum expr_op op;
    enum expr_type type;
    int id; /* the number of the expression in its module, from 0 */
    const struct expr *arg[3];
    double real; /* used by EXPR_REAL */
    /* - EXPR_INT: the value
       - EXPR_OPERAND: the number of the operand
       - EXPR_INDEX, SIZE, LO, HI: the axis */
    int64_t integer;
    const struct draw *draw; /* used by EXPR_DRAWN */
    /* Used by the operations that expr_id makes. It is the name of the parameter. Equal names have equal pointers. */
    const char *name;
    struct expr *next; /* the next expression in its chain of `module.table` */
    /* These describe the expression and all its parts: operations and axes whose INDEX occurs (as bits), the highest
       effort, and whether one is real. */
    uint64_t ops;
    uint32_t axes;
    enum expr_effort effort;
    bool has_real;
    int64_t size; /* the number of operations and leaves, each as often as it occurs, at most 2^62 */
};

/* The memory, axes and expressions that a graph and its loops share. */
struct module {
    struct arena *arena;
    const char *name;
    enum dtype dtype; /* the type of inputs and outputs; other values have dtype_of_sums(dtype) */
    int axes;
    struct axis axis[MAX_AXES];
    int exprs;
    struct expr **table; /* all expressions: a hash table with 4096 chains */
    struct draw *draws;
    uint64_t seed;              /* the key of EXPR_RANDOM in the interpreters; kernels use the seed of the call */
    const int64_t *query_start; /* [batch]: the positions of first queries in the interpreters, or NULL */
    struct id_name *id_names;
};

struct module *module_new(struct arena *arena, const char *name, enum dtype dtype);
/* Adds an axis. Returns its number, or -1 if there are MAX_AXES axes. */
int module_axis(struct module *m, const char *name, enum size_source source, int64_t extent);
int module_find_axis(const struct module *m, const char *name); /* returns the axis with this name, or -1 */
/* Returns an axis of this constant extent, which is made if needed. Others of this name have a number in their name. */
int module_constant_axis(struct module *m, const char *name, int64_t extent);
/* The kinds of an axis (size.def):
   - SEQUENCE: queries and keys, whose loops are tiled
   - CHUNK, HEAD: chunks, and heads, of queries or keys
   - NUMBER: a number of a call, which may be 0 and has no loop
   - COUNTED: the extent does not depend on the problem size
   - WHOLE: a tile stores the axis from index 0 on. If its extent is smaller, the tile stores only the current range.
   - GIVEN: the text of the axis has its extent, as in `axis c chunks 64` */
enum axis_kind {
    AXIS_OTHER = 0,
    AXIS_SEQUENCE = 1,
    AXIS_CHUNK = 2,
    AXIS_HEAD = 4,
    AXIS_NUMBER = 8,
    AXIS_COUNTED = 16,
    AXIS_WHOLE = 32,
    AXIS_GIVEN = 64
};
extern const int axis_kinds[];
/* clang-format off */
#define AXIS_IS(name, kind) \
    static inline bool axis_##name(const struct axis *a) { return (axis_kinds[a->source] & AXIS_##kind) != 0; }
AXIS_IS(is_sequence, SEQUENCE) AXIS_IS(is_chunks, CHUNK) AXIS_IS(is_heads, HEAD) AXIS_IS(is_number, NUMBER)
AXIS_IS(is_counted, COUNTED) AXIS_IS(is_whole, WHOLE) AXIS_IS(has_extent, GIVEN)
#undef AXIS_IS
/* clang-format on */

/* Sets of axes, as bits (axes.c): bit a stands for axis a. */
#define AXIS(a) (UINT32_C(1) << (a))
        uint32_t axes_set(int rank, const int *axes);
uint32_t axes_with_size(const struct module *m, enum size_source source);
uint32_t axes_of_sequences(const struct module *m);
uint32_t axes_of_chunks(const struct module *m);
/* Whether one of the axes has this size. */
bool axes_have(const struct module *m, int rank, const int *axes, enum size_source source);
int axes_list(uint32_t axes, int *list); /* lists the axes of a set in ascending order; returns their number */
int axes_first(uint32_t axes);           /* returns the first axis of a set, or -1 if the set is empty */
int axes_only(uint32_t axes); /* returns the only axis of a set, or -1 if the set is empty or has several axes */

struct problem_size {
    int64_t batch, kv_heads, members, n_q, n_k;
};
int64_t axis_extent(const struct module *m, int axis, const struct problem_size *size);

/* The row of an operation in expr.def. */
struct expr_operation {
    const char *name, *c, *infix;
    bool for_users;
    int arity, result;
    enum expr_effort effort;
};
extern const struct expr_operation expr_operations[EXPR_OPS];
/* - infix: the operator sign in C, such as "+", or NULL
   - c_function: the C function that computes the operation, such as "fabs", or ""
   - is_for_users: users may call the operation, by the name c_function
   - is_of_bits: true for & | ^ << >>
   - rounds: true for floor, ceil, round and trunc
   - is_of_ids: the operations that expr_id makes
   - is_looked_up: these, draws and random numbers */
#define EXPR_BIT(op) (UINT64_C(1) << (op))
#define EXPR_OF_IDS \
    (EXPR_BIT(EXPR_ID) | EXPR_BIT(EXPR_MIN_ID) | EXPR_BIT(EXPR_MAX_ID) | EXPR_BIT(EXPR_ANY_ID) | \
     EXPR_BIT(EXPR_ANY_SORTED) | EXPR_BIT(EXPR_ELEMENT))
#define EXPR_LOOKED_UP (EXPR_OF_IDS | EXPR_BIT(EXPR_DRAWN) | EXPR_BIT(EXPR_RANDOM))
/* clang-format off */
#define EXPR_COLUMN(type, name, value) \
    static inline type expr_##name(enum expr_op op) { return value; }
EXPR_COLUMN(int, arity, expr_operations[op].arity)
EXPR_COLUMN(const char *, name, expr_operations[op].name)
EXPR_COLUMN(const char *, infix, *expr_operations[op].infix ? expr_operations[op].infix : NULL)
EXPR_COLUMN(const char *, c_function, expr_operations[op].c)
EXPR_COLUMN(bool, is_for_users, expr_operations[op].for_users)
EXPR_COLUMN(enum expr_effort, effort, expr_operations[op].effort)
EXPR_COLUMN(bool, is_of_bits, op >= EXPR_BIT_AND && op <= EXPR_SHIFT_RIGHT)
EXPR_COLUMN(bool, is_of_ids, EXPR_OF_IDS >> op & 1)
EXPR_COLUMN(bool, is_looked_up, EXPR_LOOKED_UP >> op & 1)
EXPR_COLUMN(bool, rounds, op >= EXPR_FLOOR && op <= EXPR_WHOLE)
#undef EXPR_COLUMN
/* clang-format on */
/* Returns the interned expression that equals e. Prefer the builders below. */
const struct expr *expr_intern(struct module *m, struct expr e);
/* Builders. They fold constants and simplify, for example x + 0 and x * 1. The simplifications hold for finite x. */
const struct expr *expr_real(struct module *m, double value);
const struct expr *expr_int(struct module *m, int64_t value);
/* `op` is EXPR_OPERAND, EXPR_INDEX, EXPR_SIZE, EXPR_LO or EXPR_HI. */
const struct expr *expr_leaf(struct module *m, enum expr_op op, int number);
const struct expr *expr_make(struct module *m, enum expr_op op, const struct expr *a, const struct expr *b,
                             const struct expr *c);
/* expr_add(m, a, b), expr_neg(m, a), expr_index(m, axis) and others make an expression of one operation. */
#define EXPR_OF_NUMBER(name, OP) \
    static inline const struct expr *expr_##name(struct module *m, int number) \
    { \
        return expr_leaf(m, EXPR_##OP, number); \
    }
#define EXPR_OF_ONE(name, OP) \
    static inline const struct expr *expr_##name(struct module *m, const struct expr *a) \
    { \
        return expr_make(m, EXPR_##OP, a, NULL, NULL); \
    }
#define EXPR_OF_TWO(name, OP) \
    static inline const struct expr *expr_##name(struct module *m, const struct expr *a, const struct expr *b) \
    { \
        return expr_make(m, EXPR_##OP, a, b, NULL); \
    }
/* clang-format off */
EXPR_OF_NUMBER(operand, OPERAND) EXPR_OF_NUMBER(index, INDEX) EXPR_OF_NUMBER(size, SIZE)
EXPR_OF_NUMBER(lo, LO) EXPR_OF_NUMBER(hi, HI)
EXPR_OF_ONE(neg, NEG) EXPR_OF_ONE(not, NOT) EXPR_OF_ONE(abs, ABS) EXPR_OF_ONE(sqrt, SQRT) EXPR_OF_ONE(exp, EXP)
EXPR_OF_ONE(exp2, EXP2) EXPR_OF_ONE(log, LOG) EXPR_OF_ONE(held, HELD)
EXPR_OF_TWO(add, ADD) EXPR_OF_TWO(sub, SUB) EXPR_OF_TWO(mul, MUL) EXPR_OF_TWO(div, DIV) EXPR_OF_TWO(mod, MOD)
EXPR_OF_TWO(floormod, FLOORMOD) EXPR_OF_TWO(pow, POW) EXPR_OF_TWO(min, MIN) EXPR_OF_TWO(max, MAX)
EXPR_OF_TWO(lt, LT) EXPR_OF_TWO(le, LE) EXPR_OF_TWO(eq, EQ) EXPR_OF_TWO(and, AND) EXPR_OF_TWO(or, OR)
/* clang-format on */
#undef EXPR_OF_NUMBER
#undef EXPR_OF_ONE
#undef EXPR_OF_TWO
                        static inline const
    struct expr *expr_select(struct module *m, const struct expr *condition, const struct expr *a, const struct expr *b)
{
    return expr_make(m, EXPR_SELECT, condition, a, b);
}
/* Return the position of the first query, and of the query at the current index. `queries` and `keys` are axes. */
const struct expr *expr_query_start(struct module *m, int queries, int keys);
const struct expr *expr_query_position(struct module *m, int queries, int keys);
/* Makes an EXPR_DRAWN. It is true if b is one of the numbers drawn for a from 0 … among - 1. If draw.name is not
   NULL, it is true if row among + a of this parameter contains b. (draw.c) */
const struct expr *expr_drawn(struct module *m, const struct expr *a, const struct expr *b, const struct expr *among,
                              struct draw draw);
struct ids;
bool draw_holds(const struct draw *draw, struct ids *ids, int64_t a, int64_t b, int64_t among);
/* Returns the value of EXPR_RANDOM, which expr.def describes. (random.c) */
int64_t random_word(uint64_t seed, int64_t x, int64_t y, int64_t z);
/* Returns e with other arguments, three or fewer. Its name and its draw stay. */
const struct expr *expr_with_args(struct module *m, const struct expr *e, const struct expr *const *arg);
/* Makes an EXPR_ID, EXPR_MIN_ID, EXPR_MAX_ID, EXPR_ANY_ID, EXPR_ANY_SORTED or EXPR_LISTED. All but the last read an
   integer parameter as rows of its last axis. EXPR_ELEMENT reads a real parameter. expr.def describes their arguments.
   (ids.c)
   - EXPR_ID and EXPR_ELEMENT have only the arguments `row` and `x`; `to` is NULL.
   - EXPR_LISTED has only the argument `row`.
   - For the other operations, `row` is an EXPR_RANGE of rows. */
const struct expr *expr_id(struct module *m, enum expr_op op, const char *name, const struct expr *row,
                           const struct expr *x, const struct expr *to);
/* The list of an EXPR_LISTED is its name: LIST_START and a digit for each number, which expr_digit returns. Numbers are
   from 0 to LISTED_NUMBERS - 1. listed_number returns number x, or 0 if there is none. */
enum { LIST_START = '_', LISTED_NUMBERS = 62 };
char expr_digit(int number);
int64_t listed_number(const char *list, int64_t x);
/* Returns the name of the first integer parameter in e for which `known` returns false. Returns NULL if there is
   none. */
const char *expr_unknown_ids(const struct expr *e, bool (*known)(const void *program, const char *name),
                             const void *program);
enum { MAX_IDS = 16 };
/* The integer parameters that an interpreter reads. */
struct ids {
    int arrays;
    struct {
        const char *name;
        const double *data;
        int64_t rows, length;
        bool repeats; /* if true, row k + rows equals row k */
        bool real;    /* if true, EXPR_ID reads 0 for -inf, and 1 for any other element */
        const double *(*make)(void *of, int64_t row); /* if not NULL, returns a row in place of `data` */
        void *of;
    } array[MAX_IDS];
    bool outside; /* true after an expression has read a row that does not exist */
};
void ids_add(struct ids *ids, const char *name, const double *data, int64_t rows, int64_t length, bool real);
/* Returns a row of the integer parameter and sets *length. Returns NULL if the parameter or the row does not exist. */
const double *ids_row(struct ids *ids, const char *name, int64_t row, int64_t *length);
/* ids_read returns element x of a row. ids_extreme returns the largest element of several rows, or the smallest one
   if `largest` is false. These elements have first <= row < end and from <= x < to.
   - If x < 0, the element is INT64_MIN. If x is after the end of the row, it is the last element.
   - If there is no array `name`, every element is 0. */
int64_t ids_read(struct ids *ids, const char *name, int64_t row, int64_t x);
int64_t ids_extreme(struct ids *ids, const char *name, int64_t first, int64_t end, int64_t from, int64_t to,
                    bool largest);
/* Returns element x of a row of a real parameter, which ids_add has added. */
double ids_real(struct ids *ids, const char *name, int64_t row, int64_t x);
/* Returns true if an element of the rows from <= row < to is at least `low` and below `end`. */
bool ids_any(struct ids *ids, const char *name, int64_t from, int64_t to, int64_t low, int64_t end);
/* Keeps, in their order, the `count` largest of `held` values, and their numbers; of equal ones the first. Returns how
   many are left, or -1 if memory is short. (best.c) */
int64_t keep_best(double *value, double *number, int64_t held, int64_t count);
/* Builds x^power for power >= 0 by repeated squaring. */
const struct expr *expr_power(struct module *m, const struct expr *x, int64_t power);
/* Returns the derivative of e with respect to a leaf, usually an EXPR_OPERAND. (expr_derivative.c) */
const struct expr *expr_derivative(struct module *m, const struct expr *e, const struct expr *leaf);
/* Returns the derivative of e where tangent[k] is that of EXPR_OPERAND k, or NULL if it is 0. */
const struct expr *expr_tangent(struct module *m, const struct expr *e, const struct expr *const *tangent);
bool expr_is_real(const struct expr *e, double value); /* true if e is the constant `value` */

/* The values of the leaves during evaluation. */
struct environment {
    const double *operand; /* operand[k]: the value of EXPR_OPERAND k */
    /* index[a] is the current index of axis a. size[a], lo[a] and hi[a] also belong to axis a. */
    const int64_t *index;
    const int64_t *size, *lo, *hi;
    struct ids *ids;      /* if NULL, every EXPR_ID is 0 */
    uint64_t seed;        /* the key of EXPR_RANDOM */
    const int64_t *start; /* the values of EXPR_START; if NULL, they are the second arguments */
    uint64_t *noise;      /* if not NULL, every operation gets a rounding error (expr_noisy) */
};
/* Computes in float64. A comparison gives 0 or 1. */
double expr_eval(const struct expr *e, const struct environment *env);
/* Returns x with a random relative error of up to 2^-24, like rounding to f32. */
double expr_noisy(double x, uint64_t *state);
int64_t expr_eval_int(const struct expr *e, const struct environment *env); /* e->type must not be TYPE_REAL */

/* ---- references: a value or array with subscripts, such as %k[b, g, j - 1, d] ---- */

struct ref {
    int of; /* the number of the value (graph) or array (loops) */
    int rank;
    /* One integer subscript per axis, in INDEX and SIZE. Most subscripts are one INDEX. */
    const struct expr *sub[MAX_RANK];
};
bool ref_equal(const struct ref *a, const struct ref *b);
/* ref_find returns k such that refs[k] equals r, or -1. ref_add appends r if needed, and returns -1 if there are
   MAX_OPERANDS others. */
int ref_find(const struct ref *refs, int count, const struct ref *r);
int ref_add(struct ref *refs, int *count, const struct ref *r);
/* If subscript k is the plain INDEX of an axis, returns the axis. Otherwise returns -1. */
int ref_axis(const struct ref *r, int k);
/* Returns the axes whose INDEX occurs in the subscripts, as bits. */
uint32_t ref_axes(const struct ref *r);
bool ref_uses_axis(const struct ref *r, int axis);
/* Returns true if a computed subscript, such as i - j + 7, depends on the axis. */
bool ref_computes_with(const struct ref *r, int axis);

/* SET replaces the old value, SUM adds to it, MAX keeps the larger one. */
enum fold { FOLD_SET, FOLD_SUM, FOLD_MAX };

/* An input that shares the memory of another input. Each of its rows is the beginning of a row of the other input. */
struct within {
    const char *of; /* the name of the input that has the memory; NULL if there is none */
    int row;        /* the last axis of the input `of`; its extent is constant */
};

/* An input of an interpreter: a contiguous float64 array with the axes of the value `name`.
   - An array [H, …] over query heads may be given for a parameter [G, M, …], because both have one memory layout.
   - An input that shares the memory of another input needs no tensor. */
struct tensor {
    const char *name;
    double *data;
};

/* Copies `rows` rows of `row` elements each from the input `name` to `out`. If w->of is not NULL, it names the input
   that has the memory. A row of that input has `whole` elements. Returns false if `in` does not have the tensor. */
bool tensor_read(const struct tensor *in, int count, const char *name, const struct within *w, int64_t rows,
                 int64_t row, int64_t whole, double *out);

#endif
