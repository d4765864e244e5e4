/* The two intermediate representations (IRs) of a program. Both contain the same scalar expressions.
   - The graph is tensor algebra over named axes. It defines what is computed.
   - The loops are statements on tiles inside loops over ranges of axes. They define how it is computed.
   Each IR has a text form, a parser, a verifier and an interpreter in float64. Tests compare the results of passes and
   of emitted code with those of the interpreters. This folder includes no header of another folder.

   Terms:
   - value: a node of the graph, with one element for each point of its axes.
   - region: a condition on indices, such as j <= i. A sum or maximum takes only the indices for which the condition
     holds.
   - current range of an axis: the indices lo <= x < hi that the innermost FOR over this axis processes at the moment.
     If there is no FOR over the axis, all its indices.
   - tile: an array in the workspace that stores the elements of the current ranges of its axes.
   - lanes: the last axis of a MAP, or of the result of a DOT. Vector instructions process several of its indices at
     once.
   - head: a pair of a batch index and a key/value head.
   - quadratic form, linear form: two programs for the same spec. The quadratic form computes a weight for every pair of
     query and key. The linear form (linear attention) sums features of keys into a state.
   - chunk: a fixed number of consecutive keys (or queries). The linear form carries its sums from one chunk to the
     next.
   - slot: the memory for the elements of one chunk in a tile over chunks.
   - window: the chunks that have a slot at the same time.
   - state: the carried sums of a sequence. The caller stores them between calls. */
#ifndef ATTNC_IR_H
#define ATTNC_IR_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define IR_PRINTF(text, first) __attribute__((format(printf, text, first)))

/* ---- memory: an arena is freed as a whole; single allocations are never freed (arena.c) ---- */

struct arena;
struct arena *arena_new(void);
void arena_free(struct arena *arena);
/* Returns zeroed memory, aligned for any type. If memory runs out, the program ends with status 3. */
void *arena_alloc(struct arena *arena, size_t bytes);
char *arena_copy(struct arena *arena, const char *text);
char *arena_printf(struct arena *arena, const char *format, ...) IR_PRINTF(2, 3);
char *arena_vprintf(struct arena *arena, const char *format, va_list args) IR_PRINTF(2, 0);

/* A string that grows. Zero the struct first; free with text_free. `data` is NULL or ends in a zero byte, which
   `length` does not count. */
struct text {
    char *data;
    size_t length, capacity;
};
void text_add(struct text *text, const char *format, ...) IR_PRINTF(2, 3);
void text_append(struct text *text, const char *bytes, size_t length);
void text_free(struct text *text);

/* ---- text from other sources: files, databases, other programs (plain_text.c) ---- */

/* Returns the number of bytes, 1 to 4, of the UTF-8 character at s. Returns 0 if it is invalid or longer than
   `left`. */
size_t utf8_character(const char *s, size_t left);
/* Returns true if the UTF-8 character of `length` bytes at s is a control character. */
bool utf8_control(const char *s, size_t length);
/* Appends bytes. Replaces each control character and each invalid byte by `instead`. Keeps tabs. Keeps newlines if
   `lines` is PLAIN_LINES. Use it for all text from users and other programs, which may contain escape sequences. */
enum plain_lines { PLAIN_LINE, PLAIN_LINES };
void text_plain(struct text *text, const char *bytes, size_t length, enum plain_lines lines, const char *instead);

/* ---- diagnostics (diagnostics.c): `file:line:column: error: message`, then the source line, then a caret ---- */

struct position {
    int line, column; /* counted from 1; 0 means unknown */
};

struct diagnostics;
/* `file` is the name to print. `source` is the text of the file, or NULL. It must outlive the struct diagnostics.
   diagnostics_flush prints the messages. */
struct diagnostics *diagnostics_new(struct arena *arena, const char *file, const char *source, size_t length);
void diagnostics_error(struct diagnostics *d, struct position at, const char *format, ...) IR_PRINTF(3, 4);
void diagnostics_warning(struct diagnostics *d, struct position at, const char *format, ...) IR_PRINTF(3, 4);
/* Attaches a note to the last error or warning. */
void diagnostics_note(struct diagnostics *d, struct position at, const char *format, ...) IR_PRINTF(3, 4);
/* Adds the messages of `from`, without their positions. */
void diagnostics_take(struct diagnostics *d, const struct diagnostics *from);
int diagnostics_errors(const struct diagnostics *d); /* returns the number of errors so far, without warnings */
/* Writes and removes the messages, sorted by position, with their notes. Returns the number of errors. */
int diagnostics_flush(struct diagnostics *d, FILE *out, bool color);
/* Returns the word of the list that is most similar to the misspelt `text`, or NULL. */
const char *nearest_word(const char *text, const char *const *words);

/* ---- storage types ---- */

/* The types that attnrt.h describes (enum attn_dtype).
   - I32 and U8 are for parameters only. U8 is a truth value: 0 is false.
   - FP8 and the types after it are for inputs only. Their rows are bytes: elements with their scales. */
enum dtype {
    DTYPE_F32,
    DTYPE_BF16,
    DTYPE_F16,
    DTYPE_F64,
    DTYPE_I32,
    DTYPE_U8,
    DTYPE_FP8,
    DTYPE_I8,
    DTYPE_I8_32,
    DTYPE_I8_64,
    DTYPE_Q8_0,
    DTYPE_Q4_0,
    DTYPE_COUNT
};
const char *dtype_name(enum dtype dtype); /* returns a name such as "f32" */
bool dtype_parse(const char *text, enum dtype *dtype);
/* Returns the bytes of an element, or 1 if rows are bytes. */
int dtype_bytes(enum dtype dtype);
bool dtype_is_integer(enum dtype dtype);
bool dtype_is_packed(enum dtype dtype); /* true if rows are bytes */
bool dtype_is_narrow(enum dtype dtype); /* true if elements are widened before they are used */
/* Returns the number of elements that share a scale. A row has a multiple of it. Returns 1 if there are no scales,
   and 0 for one scale per row. */
int dtype_block(enum dtype dtype);
/* Return the bytes of a row, and the distance of contiguous rows in elements, or in bytes if rows are bytes. */
int64_t dtype_row_bytes(enum dtype dtype, int64_t elements);
int64_t dtype_row_units(enum dtype dtype, int64_t elements);
/* Returns the type of computation and sums. It is f64 for f64, otherwise f32. */
enum dtype dtype_of_sums(enum dtype dtype);

/* ---- axes and scalar expressions (expr.c) ---- */

enum size_source {
#define SIZE(name, text, sequence) SIZE_##name,
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
    /* What e or some subexpression of e has: operations and axes whose INDEX occurs (as bits), the highest effort, and
       real numbers. */
    uint64_t ops;
    uint32_t axes;
    enum expr_effort effort;
    bool has_real;
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
bool axis_is_sequence(const struct axis *a);                    /* true for queries and keys, whose loops are tiled */
bool axis_is_chunks(const struct axis *a);
bool axis_is_number(const struct axis *a);  /* true for numbers of a call, which may be 0 and have no loop (size.def) */
bool axis_is_counted(const struct axis *a); /* true if the extent does not depend on the problem size */
/* True for SIZE_CONSTANT and SIZE_ROWS. A tile stores such an axis from index 0 on. If its extent is smaller, the
   tile stores only the current range. */
bool axis_is_whole(const struct axis *a);

int expr_arity(enum expr_op op);
const char *expr_name(enum expr_op op);
/* Returns the operator sign in C, such as "+". Returns NULL if the operation has none. */
const char *expr_infix(enum expr_op op);
bool expr_is_of_bits(enum expr_op op); /* true for & | ^ << >> */
bool expr_rounds(enum expr_op op);     /* true for floor, ceil, round and trunc */
/* Returns the C function that computes the operation, such as "fabs". Returns "" if there is none. */
const char *expr_c_function(enum expr_op op);
/* Returns true if users may call the operation, by the name expr_c_function(op). */
bool expr_is_for_users(enum expr_op op);
enum expr_effort expr_effort(enum expr_op op);
/* Returns the interned expression that equals e. Prefer the builders below. */
const struct expr *expr_intern(struct module *m, struct expr e);
/* Builders. They fold constants and simplify, for example x + 0 and x * 1. The simplifications hold for finite x. */
const struct expr *expr_real(struct module *m, double value);
const struct expr *expr_int(struct module *m, int64_t value);
/* `op` is EXPR_OPERAND, EXPR_INDEX, EXPR_SIZE, EXPR_LO or EXPR_HI. */
const struct expr *expr_leaf(struct module *m, enum expr_op op, int number);
const struct expr *expr_make(struct module *m, enum expr_op op, const struct expr *a, const struct expr *b,
                             const struct expr *c);
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
/* Makes an EXPR_ID, EXPR_MIN_ID, EXPR_MAX_ID or EXPR_ANY_ID. They read an integer parameter as rows of its last
   axis. EXPR_ELEMENT reads a real parameter. expr.def describes their arguments. (ids.c)
   - EXPR_ID and EXPR_ELEMENT have only the arguments `row` and `x`; `to` is NULL.
   - For the other operations, `row` is an EXPR_RANGE of rows. */
const struct expr *expr_id(struct module *m, enum expr_op op, const char *name, const struct expr *row,
                           const struct expr *x, const struct expr *to);
bool expr_is_of_ids(enum expr_op op);    /* true for the operations that expr_id makes */
bool expr_is_looked_up(enum expr_op op); /* true for these, draws and random numbers */
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
/* If subscript k is the plain INDEX of an axis, returns the axis. Otherwise returns -1. */
int ref_axis(const struct ref *r, int k);
bool ref_uses_axis(const struct ref *r, int axis);
/* Returns true if a computed subscript, such as i - j + 7, depends on the axis. */
bool ref_computes_with(const struct ref *r, int axis);

/* SET replaces the old value, SUM adds to it, MAX keeps the larger one. */
enum fold { FOLD_SET, FOLD_SUM, FOLD_MAX };

/* ---- questions about expressions (expr_query.c). Prefer them to a recursion. An expression is in itself. ---- */

/* An answer about one expression. ANSWER_ARGUMENTS: this expression does not decide, ask its arguments. */
enum answer { ANSWER_NO, ANSWER_YES, ANSWER_ARGUMENTS };
typedef enum answer expr_question(const void *of, const struct expr *e);
/* expr_any returns true if the answer for an expression in e is YES. expr_all returns true if no answer is NO. Without
   an expression (e is NULL), expr_any returns false and expr_all returns true. */
bool expr_any(const struct expr *e, expr_question *ask, const void *of);
bool expr_all(const struct expr *e, expr_question *ask, const void *of);
/* Visits e, and then the arguments of each expression for which `visit` returns true. */
typedef bool expr_visit(void *to, const struct expr *e);
void expr_each(const struct expr *e, expr_visit *visit, void *to);
/* Returns the union of the bits of the expressions in e, such as axes. If `bits` sets *arguments to false, the
   arguments of this expression do not count. */
typedef uint32_t expr_bits_of(const void *of, const struct expr *e, bool *arguments);
uint32_t expr_bits(const struct expr *e, expr_bits_of *bits, const void *of);
/* Return e with other parts, simplified.
   - expr_map asks from the root. `rewrite` returns what replaces an expression, or NULL if only its arguments change.
   - expr_map_up asks from the leaves. `rewrite` gets an expression whose arguments are rewritten. It returns what
     replaces the expression, or NULL to keep it. */
typedef const struct expr *expr_rewrite(void *of, const struct expr *e);
const struct expr *expr_map(struct module *m, const struct expr *e, expr_rewrite *rewrite, void *of);
const struct expr *expr_map_up(struct module *m, const struct expr *e, expr_rewrite *rewrite, void *of);
/* Returns e with `from` replaced by `to`. */
const struct expr *expr_replace(struct module *m, const struct expr *e, const struct expr *from, const struct expr *to);
/* Returns e with EXPR_OPERAND k replaced by with[k], for every k. */
const struct expr *expr_bind(struct module *m, const struct expr *e, const struct expr *const *with);

/* These questions need no walk, but expr_uses. */
#define EXPR_BIT(op) (UINT64_C(1) << (op))
static inline bool expr_has(const struct expr *e, enum expr_op op)
{
    return e->ops >> op & 1;
}
/* Returns true if e has one of the operations, which are EXPR_BITs. */
static inline bool expr_has_one(const struct expr *e, uint64_t ops)
{
    return (e->ops & ops) != 0;
}
/* Returns the axes whose INDEX occurs, as bits. */
static inline uint32_t expr_axes(const struct expr *e)
{
    return e->axes;
}
static inline bool expr_has_real(const struct expr *e) /* true if e or a part of it is real */
{
    return e->has_real;
}
/* Returns true if an operation of e costs at least `effort`. */
static inline bool expr_takes(const struct expr *e, enum expr_effort effort)
{
    return e->effort >= effort;
}
bool expr_reads_ids(const struct expr *e);
bool expr_uses(const struct expr *e, const struct expr *part); /* true if `part` is in e */
/* Returns true if an EXPR_ID or EXPR_ELEMENT in e depends on one of the axes, which are bits. */
bool expr_ids_along(const struct expr *e, uint32_t axes);
/* Returns true if e depends on the axis, directly or in a subscript of an operand. */
bool expr_uses_axis(const struct expr *e, const struct ref *operand, int axis);

/* A term of a sum, added or subtracted. */
struct expr_term {
    const struct expr *e;
    bool minus;
};
/* These functions write e as a sum of terms, or as a product of factors, from left to right. They return the number of
   terms or factors, or -1 if there are more than `max`. */
int expr_terms(const struct expr *e, struct expr_term *term, int max);
int expr_factors(const struct expr *e, const struct expr **factor, int max);
/* Writes e as slope * INDEX(axis) + rest, where neither has this INDEX. Returns false if e is not linear. */
bool expr_linear(struct module *m, const struct expr *e, int axis, const struct expr **slope, const struct expr **rest);

/* ---- text and checks of expressions, for both IRs (expr_text.c, expr_verify.c) ---- */

/* The name and axes of a value or array, for printing. Each IR has a function of type referred_by. */
struct referred {
    const char *name; /* the name without the % */
    int rank;
    const int *axes;
};
typedef struct referred referred_by(const void *program, int of);

/* Prints the shortest decimal number that reads back as `value`. If `visibly_real` is true, prints 2.0 instead of 2. */
void real_print(double value, bool visibly_real, struct text *out);
void axes_print(const struct module *m, int rank, const int *axes, struct text *out);
void ref_print(const struct module *m, const struct ref *r, referred_by *by, const void *program, struct text *out);
/* Prints an expression. EXPR_OPERAND k prints as operand[k], or as %?k if `operand` is NULL. */
void expr_print(const struct module *m, const struct expr *e, const struct ref *operand, referred_by *by,
                const void *program, struct text *out);

/* A text that is being parsed. Only the first error is reported. After it, the current token is the end of the text
   and every function returns a harmless value. So callers need not check for errors. */
struct reader {
    struct module *module;
    struct diagnostics *diagnostics;
    const char *token, *line_start;
    size_t length; /* the length of the token; 0 at the end of the text */
    int line, depth;
    bool failed;
    const void *program;
    /* Finds the value or array `name`. Sets *plain to a reference with the INDEX of axis k as subscript k. Returns
       false if there is none. */
    bool (*find)(const void *program, const char *name, struct ref *plain);
    /* The number of references in the current statement or value. Equal references count once. */
    int operands;
    struct ref operand[MAX_OPERANDS];
};
void reader_start(struct reader *r, struct module *m, const char *text, struct diagnostics *d);
void reader_next(struct reader *r);
void reader_error(struct reader *r, const char *format, ...) IR_PRINTF(2, 3); /* reports an error at the token */
bool reader_at(const struct reader *r, const char *token);
/* If `token` is the current token, skips it and returns true. */
bool reader_take(struct reader *r, const char *token);
void reader_expect(struct reader *r, const char *token); /* skips `token`; any other token is an error */
const char *reader_name(struct reader *r, const char *what);
int64_t reader_int(struct reader *r, int64_t min);
double reader_real(struct reader *r);
int reader_axis(struct reader *r);
void reader_axes(struct reader *r, int *rank, int *axes);
struct ref reader_ref(struct reader *r);
const struct expr *reader_expr(struct reader *r);
enum dtype reader_dtype(struct reader *r);
/* Reads a table such as `{1, 2.5}`. It has one number for each point of the axes, which are constant. */
const double *reader_table(struct reader *r, int rank, const int *axes);
/* Reads `axis NAME SIZE` lines. */
void reader_axis_lines(struct reader *r);
void axis_lines_print(const struct module *m, struct text *out);
void table_print(const struct module *m, int rank, const int *axes, const double *data, struct text *out);

/* Returns the axes whose INDEX occurs in the subscripts, as bits. */
uint32_t ref_axes(const struct ref *r);
/* The leaves that an expression may have, depending on its use. */
struct allowed {
    int operands;   /* EXPR_OPERAND k is allowed if k is below this number */
    uint32_t index; /* the axes whose EXPR_INDEX is allowed, as bits */
    bool ranges;    /* true if EXPR_LO and EXPR_HI are allowed */
};
/* The functions …_check return NULL if the argument is valid, otherwise an error message. */
const char *expr_check(struct module *m, const struct expr *e, const struct allowed *allowed);
/* Calls expr_check, and also checks that e is a condition. */
const char *where_check(struct module *m, const struct expr *e, const struct allowed *allowed);
const char *axes_check(struct module *m, int rank, const int *axes);
const char *module_check(struct module *m);
/* Checks the number, types and axes of the subscripts of a reference. An axis in a subscript must be as long as the
   axis that it indexes. */
const char *ref_check(struct module *m, const struct ref *r, int rank, const int *axes, const struct allowed *allowed);
bool name_is_plain(const char *name);                  /* true if `name` has only letters, digits, _ and . */
bool expr_integer_only(enum expr_op op, int argument); /* true if this argument must not be real */

/* ---- the graph (graph.c, graph_text.c, graph_eval.c) ---- */

enum graph_op {
#define GRAPH(name, text) GRAPH_##name,
#include "graph.def"
#undef GRAPH
};

enum origin {
#define ORIGIN(name, text) ORIGIN_##name,
#include "origin.def"
#undef ORIGIN
};
enum {
    ORIGINS = 0
#define ORIGIN(name, text) +1
#include "origin.def"
#undef ORIGIN
};
const char *origin_name(enum origin origin); /* returns the word in the text of the graph, or "" for LEARNED */
enum initial {
#define INITIAL(name, text) INITIAL_##name,
#include "initial.def"
#undef INITIAL
};
const char *initial_name(enum initial initial);

/* An input that shares the memory of another input. Each of its rows is the beginning of a row of the other input. */
struct within {
    const char *of; /* the name of the input that has the memory; NULL if there is none */
    int row;        /* the last axis of the input `of`; its extent is constant */
};

struct value {
    enum graph_op op;
    /* The name of an INPUT, PARAM or TABLE, such as "bias" or "rope_theta". */
    const char *name;
    enum origin origin; /* used by PARAM */
    /* Used by a learned PARAM. It names the value before training, which programs do not use. */
    enum initial initial;
    /* Used by PARAM. If true, elements are int32. Only expressions such as EXPR_ID and EXPR_DRAWN read them, and
       refer to the parameter by name. */
    bool integers;
    bool bytes;   /* if true, the integer elements are stored as U8 */
    bool by_name; /* used by a real PARAM: if true, EXPR_ELEMENT may read elements, by the parameter's name */
    /* Used by a real PARAM. If true, the elements of -inf hide pairs: EXPR_ID reads 0 for -inf, and 1 for any other
       element. */
    bool hides;
    /* Used by INPUT. If true, the elements are sums that another program of the kernel computes. */
    bool sums;
    /* The type in memory. F32 means the type of the module for an INPUT, and that of sums for a PARAM. The type of a
       PARAM has 16 bits. */
    enum dtype stored;
    struct within within; /* used by INPUT */
    int rank;
    int axes[MAX_RANK]; /* in order of storage; the last axis is contiguous */
    int operands;
    struct ref operand[MAX_OPERANDS];
    /* Used by MAP. It computes the element. EXPR_OPERAND k stands for operand[k]. */
    const struct expr *expr;
    enum fold fold; /* used by REDUCE: FOLD_SUM or FOLD_MAX */
    /* Used by REDUCE. It is the start value, and also the result for an empty region. */
    double init;
    /* Used by REDUCE and CONTRACT. It is the region, a condition in INDEX and SIZE. NULL means all points. */
    const struct expr *where;
    /* Used by REDUCE and CONTRACT. It is the number of the value m that is the maximum of the exponents, or -1 if there
       is none.
       - Every term contains the factor exp2(-m), from the pass stabilise. If `power` is not 0, the factor is
         m^-power.
       - Loops compute m as a running maximum. When m changes, they multiply partial sums by exp2(old - new), or by
         (old / new)^power. */
    int online;
    int64_t power;
    /* Used by REDUCE and CONTRACT with an axis of chunks. The sum is multiplied by this factor when it is carried to
       the next chunk. NULL if the sum is not carried. The pass separate sets it. Its operands follow the operands
       that are summed (graph_summed).
       - S[c + 1] = keep * S[c] + the sum of the terms in the region of c + 1 but not of c.
       - If the region has later chunks, the recurrence runs backward, from S[c + 1] to S[c].
       - The recurrence must give the sum over the region, which defines S. */
    const struct expr *keep;
    const double *data; /* used by TABLE */
    /* Used by SOLVE. It computes u[t] = rate[t] * (values[t] - s[t]), where t runs along the sequence of the result.
       s[t] is the sum of weights[t][j] * u[j] over the j < t in the region `where`.
       - Operands 0 to 2 are the weights, the values and the rate.
       - The weights have both axes t and j. Only the weights have axis t. j is the axis of the result
         (graph_solve_axes).
       - Operand 3 is optional. It has the features of t as a query. Their inner products with the features of j are
         the weights of the keys j before the chunk of t. It does not change the value.
       - Operand 4 is optional. It has the features of j, as a state sums them. `keep` is the factor of this state.
       - With `backward`, equations are solved from the last to the first. The sum is over j > t. The keys of operand
         3 are after the chunk of t. */
    bool backward;
};

enum { SOLVE_WEIGHTS, SOLVE_VALUES, SOLVE_RATE, SOLVE_FEATURES, SOLVE_KEYS };

enum { MAX_OUTPUTS = 512 };
struct graph {
    struct module *module;
    int values, capacity;
    struct value *value; /* operands have lower numbers than the value */
    /* Loops over chunks compute each group of outputs, so values can have several sequences of the chunk's rows. */
    bool by_chunks;
    int outputs;
    struct {
        const char *name; /* the name of the output array, such as that of the result */
        int value;
    } output[MAX_OUTPUTS];
};

struct graph *graph_new(struct module *m);
struct graph *graph_copy(const struct graph *g); /* the copy has the same module */
/* These functions append a value and return its number. `axes` has `rank` elements. */
int graph_input(struct graph *g, const char *name, int rank, const int *axes);
int graph_param(struct graph *g, const char *name, int rank, const int *axes); /* appends a learned parameter */
/* Appends an integer parameter. If `bytes` is true, its elements are bytes. Otherwise they are int32. */
int graph_ids(struct graph *g, const char *name, int rank, const int *axes, bool bytes);
/* Returns true if the value is an integer parameter with an integer for each key, such as its document. */
bool graph_numbers_keys(const struct graph *g, const struct value *v);
/* Appends a parameter with constant extents. `origin` tells how its values are computed. */
int graph_random(struct graph *g, const char *name, enum origin origin, int rank, const int *axes);
int graph_table(struct graph *g, const char *name, int rank, const int *axes, const double *data);
int graph_map(struct graph *g, int rank, const int *axes, int operands, const struct ref *operand,
              const struct expr *expr);
int graph_contract(struct graph *g, int rank, const int *axes, struct ref a, struct ref b, const struct expr *where);
int graph_reduce(struct graph *g, enum fold fold, double init, int rank, const int *axes, struct ref a,
                 const struct expr *where);
int graph_solve(struct graph *g, int rank, const int *axes, struct ref weights, struct ref values, struct ref rate,
                const struct expr *where);
/* Finds two axes of the weights of a SOLVE. `along` is the sequence axis of the result. `rows` is the axis of the
   equations. Returns false if there is not exactly one such pair. */
bool graph_solve_axes(const struct module *m, const struct value *v, int *along, int *rows);
/* Returns the number of the first SOLVE, or -1 if there is none. */
int graph_find_solve(const struct graph *g);
void graph_output(struct graph *g, const char *name, int v);
bool graph_has(const struct graph *g, enum expr_op op); /* true if an expression or subscript has the operation */
bool graph_is_output(const struct graph *g, int v);
/* Returns a reference to value v. Subscript k is the INDEX of axes[k]. If `axes` is NULL, the axes of v are used. */
struct ref graph_ref(const struct graph *g, int v, const int *axes);
/* Returns a value without operands, which is in no graph. */
struct value graph_value(enum graph_op op, int rank, const int *axes);
/* Inserts v as value `at` and renumbers later values. v's operands must be before `at`. */
void graph_insert(struct graph *g, int at, struct value v);
/* Inserts a map that copies value v, if a sum or maximum reads v. All readers of v then read the map, because some
   passes rewrite only maps. Returns the number of new values. */
int graph_map_summed(struct graph *g, int v);
/* Returns the number of the value with this name, or -1 if there is none. */
int graph_find(const struct graph *g, const char *name);
/* Returns the number of the output with this name, or -1 if there is none. */
int graph_find_output(const struct graph *g, const char *name);
/* Marks value v and the values that it depends on. */
void graph_mark(const struct graph *g, int v, bool *marked);
/* Removes values that no output depends on, and renumbers. Integer parameters stay. */
void graph_sweep(struct graph *g);
/* Removes operands that the expression of a map, or of all maps, does not use. */
void value_drop_operands(struct module *m, struct value *map);
void graph_drop_operands(struct graph *g);
/* Removes unused operands and values, but keeps inputs and parameters. */
void graph_sweep_computed(struct graph *g);
bool value_has_axis(const struct value *v, int axis);
/* Returns the number of elements of value v for each index of its run-time axes. */
int64_t graph_constant_elements(const struct graph *g, int v);
/* Returns the number of operands that a REDUCE or CONTRACT sums, which is 1 or 2. For a SOLVE, returns the number of
   operands that `keep` does not use. Any operands after these belong to `keep`. */
int graph_summed(const struct value *v);
/* Whether expressions may read elements of a parameter by its name. */
bool graph_is_named(const struct value *v);
/* Returns the number of operands that refer to value v, plus 1 if v is an output. */
int graph_uses(const struct graph *g, int v);
bool graph_value_equal(const struct value *a, const struct value *b); /* a and b must belong to one module */
/* Returns k such that v->operand[k] is `r`, and appends `r` if needed. Returns -1 if there is no room. */
int graph_operand(struct value *v, const struct ref *r);
/* Inlines the map `inner` into map v at operand `at`. Returns false, without changing v, if v would have too many
   operands. */
bool graph_inline(struct graph *g, struct value *v, int at, const struct value *inner);

/* Returns true if value `out` does not depend on the maximum, as exp(s - maximum) / sum of exp(s - maximum) does not.
   (graph_maximum.c) */
bool graph_maximum_cancels(const struct graph *g, int maximum, int out);
/* Replaces the first output by its tangent, the derivative along the tangents of inputs and learned parameters. The
   tangent of NAME is the learned parameter NAME.tangent. Returns NULL, or what has no tangent yet, such as "a maximum".
   (tangents.c) */
#define TANGENT ".tangent"
const char *graph_differentiate_forward(struct graph *g);
bool name_is_tangent(const char *name);

/* Returns true if a and b are tables with equal names, axes and numbers. Only such values may share a name. */
bool graph_same_table(const struct graph *g, const struct value *a, const struct value *b);
/* Returns NULL if the graph is valid, otherwise an error message. */
const char *graph_verify(const struct graph *g);
void graph_print(const struct graph *g, struct text *out);
/* Parses the text of graph_print. Returns NULL after errors. */
struct graph *graph_parse(struct arena *arena, const char *text, struct diagnostics *d);

/* An input of an interpreter: a contiguous float64 array with the axes of the value `name`.
   - An array [H, …] over query heads may be given for a parameter [G, M, …], because both have one memory layout.
   - An input that shares the memory of another input needs no tensor. */
struct tensor {
    const char *name;
    double *data;
};
struct problem_size {
    int64_t batch, kv_heads, members, n_q, n_k;
};
int64_t axis_extent(const struct module *m, int axis, const struct problem_size *size);

/* Functions for inputs that share the memory of another input, in both IRs. (within.c) */
/* Prints, for example, " within k d". Prints nothing if w->of is NULL. */
void within_print(const struct module *m, const struct within *w, struct text *out);
struct within within_read(struct reader *r);
const char *within_check(struct module *m, const struct within *w, int rank, const int *axes);
/* Copies `rows` rows of `row` elements each from the input `name` to `out`. If w->of is not NULL, it names the input
   that has the memory. A row of that input has `whole` elements. Returns false if `in` does not have the tensor. */
bool tensor_read(const struct tensor *in, int count, const char *name, const struct within *w, int64_t rows,
                 int64_t row, int64_t whole, double *out);
/* Evaluates the graph. Writes its outputs to `out`, contiguous, one after the other. Returns NULL or an error
   message. */
const char *graph_eval(const struct graph *g, const struct problem_size *size, const struct tensor *in, int count,
                       double *out);
/* Does the same as graph_eval, but every operation has a random relative error of up to 2^-24, like rounding to f32.
   This shows the rounding errors of a kernel. Partial sums over rows have no errors, because kernels compensate
   them. */
const char *graph_eval_noisy(const struct graph *g, const struct problem_size *size, const struct tensor *in, int count,
                             uint64_t *state, double *out);

/* ---- the loops (loops.c, loops_text.c, loops_eval.c) ---- */

enum array_kind { ARRAY_INPUT, ARRAY_PARAM, ARRAY_OUTPUT, ARRAY_TABLE, ARRAY_TILE };

enum { MAX_REMEMBERED = 4 }; /* the largest number of arrays with `remembered` in a program */

struct array {
    enum array_kind kind;
    const char *name;
    enum dtype dtype;
    int rank;
    int axes[MAX_RANK];
    /* Used by TILE. It is the number of elements reserved along each axis. The last extent is padded to whole vectors.
       Along a run-time axis, element 0 has index LO. */
    int64_t extent[MAX_RANK];
    int64_t gap; /* the number of unused elements after each row of a TILE */
    /* Used by TILE of bf16 with rank 2. If true, elements 2 r and 2 r + 1 of the first axis are adjacent in memory,
       for instructions on pairs. */
    bool paired;
    /* Used by TILE of bf16 with rank 2. If true, the tile is an operand for matrix units, padded with zeros to
       whole registers. Operand 1 of a product is also `paired`; operand 0 is not. */
    bool matrix;
    /* Used by TILE with `matrix`. If not 0, each number is stored as a sum of 2 or 3 bf16 terms. The first terms of
       all numbers come first. In a product of n and m terms, terms i and j are multiplied only if i + j < max(n,
       m). */
    int terms;
    /* Used by TILE inside a FOR with `block`. The tile stores the elements of this number of ranges of its last
       axis. 0 means only the current range. */
    int64_t held;
    /* Used by TILE. If not 0, a thread keeps elements for later tiles. The interpreter computes all elements for each
       tile.
       - Rank 1: element x belongs to the difference (index of `lane`) - (index of `other`) = x + lo(lane) -
         hi(other) + 1. The thread keeps this number of elements.
       - Rank 2, over queries and keys: the elements also depend on the head, but not on the sequence of the batch.
         The thread keeps this number of tiles. */
    int64_t remembered;
    int lane, other;
    bool by_name; /* used by PARAM: if true, EXPR_ELEMENT may read elements, by the array's name */
    bool hides;   /* used by a real PARAM: if true, EXPR_ID reads 0 for an element of -inf, and 1 for any other */
    /* Used by INPUT and OUTPUT. If true, the elements are sums in the workspace. One program of a call computes
       them and another program reads them. Rows of queries are padded to whole vectors. */
    bool sums;
    struct within within; /* used by INPUT */
    /* Used by TILE. If true, all threads of a head share one copy. Otherwise each thread has a copy. A tile over
       chunks is always shared, with a slot per chunk. */
    bool shared;
    /* Used by TILE with `shared`. If true, the tile is stored in the caller's state. At first it has the sums of
       earlier calls. */
    bool kept;
    /* Used by TILE with `kept`. If true, the tile is stored in a second state. This program merges it into the
       caller's state. */
    bool folded;
    /* Used by a private TILE. If true, the tile is stored in the caller's state. It is the solution of a SOLVE. If the
       last chunk of a call is not full, the next call does not solve its first equations again. */
    bool solved;
    /* Used by a private TILE. If true, the tile is a sum over the tokens of a head, which loops carry from chunk to
       chunk. It is 0 before the first chunk. */
    bool carried;
    /* Used by TILE. It is the byte offset in the workspace or the state, a multiple of 64. -1 means that the tile is
       not allocated. */
    int64_t offset;
    const double *data; /* used by TABLE */
};

struct assign {
    struct ref to;
    enum fold fold; /* SUM and MAX reduce over the axes that `to` lacks */
    const struct expr *expr;
    /* Used by SUM. If not 0, compensation - 1 is the number of a tile for compensated (Kahan) summation. This tile
       has the shape of the array of `to`. The interpreter ignores it. */
    int compensation;
};

/* The indices from <= x < to of an axis. If `drawn` is not NULL, it is an EXPR_DRAWN that selects some of them:
   - In a FOR, it selects the indices that are drawn for at least one point of the current ranges.
   - In an IF or DOT, it selects the indices that are drawn for all these points. */
struct range {
    const struct expr *from, *to, *drawn;
};

#define AHEAD_OF_RESULT (UINT32_C(1) << MAX_OPERANDS)

struct stmt {
    int op; /* an enum loops_op */
    struct stmt *next;
    struct stmt *body; /* used by FOR and IF */
    /* Members of FOR and IF. Bounds are integer expressions in SIZE, LO and HI.
       - A FOR runs its body for the ranges [x, min(x + step, to)) of `axis`, with x = from, from + step, …
       - The body of a FOR has no effect outside the region `where`.
       - A FOR with `ranges` visits only the union of these ranges, once, in ascending order.
       - An IF with `where` runs its body if `where` holds. `where` is a condition in SIZE, LO and HI.
       - An IF with `ranges` runs its body if the current range of `axis` has an index outside the union of these
         ranges. */
    int axis;
    int ranges;
    const struct range *range;
    const struct expr *from, *to, *where;
    /* Used by FOR if period > 0. The FOR visits only the indices x with floormod(x - phase, period) < run.
       - With `apart`, the indices of a tile are `period` apart. The FOR visits the tiles of one remainder after
         those of another.
       - Without `apart`, a tile has consecutive indices. */
    int64_t period, run;
    const struct expr *phase; /* an expression in SIZE, LO and HI */
    bool apart;
    /* Used by FOR and DOT. A FOR skips a range if this expression in LO and HI is false. NULL skips no range. For
       DOT, see below. */
    const struct expr *when;
    int64_t step;
    bool parallel;
    /* Used by a parallel FOR. If true, iterations add to shared sums in sequential order. Results then do not
       depend on the number of threads. */
    bool ordered;
    /* Used by a FOR over chunks. If true, each range has one chunk per slot. FORs in the body may divide the range. */
    bool window;
    /* - MAP runs the assignments in order at every point of `axes`. The last axis is the lanes. An assignment sees
         the results of earlier assignments.
         - `where` is a region outside which no statement uses the results. Points there may be left out.
       - DOT computes the sum of row * lane over `axis`. With FOLD_SET, `to` becomes this sum. With FOLD_SUM, `to`
         becomes to * factor + this sum.
         - `to` has the axes [row axis, lane axis].
         - `row` is operand 0. It does not have the lane axis.
         - `lane` is operand 1. Its last axis is the lane axis. It does not have the row axis.
         - `factor` is operand 2, with the lane axis. It may be absent.
         - `less` is operand 3, and may be absent. With it, both factors have the row axis instead of the lane axis, and
           `to` becomes to * factor - to * less + this sum.
         - If `lane` is paired along `axis`, then `row` is paired too, or is bf16 with `axis` last.
         - `where` is the region of the sum. `lane` is 0 outside the region. So the region matters only if `row` is
           infinite or NaN there.
         - `when` or `ranges` tells whether the current ranges have points outside the region. Without both, they may
           have such points.
       - COPY sets assign[0].to to operand 0 at every point of `axes`.
       - SOLVE computes u[t] = rate[t] * (rest[t] - s[t]) for the indices t of axes[0] in ascending order. s[t] is
         the sum of weights[t][j] * u[j] over j < t. j is the index of `axis`. The current ranges of both axes are
         equal.
         - `to` is u. It has `axis`, and its last axis is axes[1], the lanes.
         - Operand 0 is the weights, with axes[0] and `axis`.
         - Operand 1 is `rest`, with axes[0] and the lanes.
         - Operand 2 is the rate, with `axis`.
         - With `backward`, t is in descending order, and the sum is over j > t. */
    bool backward;
    /* Used by FOR. If true, the body has FORs over the same axis that divide the range from LO to HI further. */
    bool block;
    int rank;
    int axes[MAX_RANK];
    /* Used by MAP. If true, exp2 may have low precision, because results are rounded to bf16. */
    bool coarse;
    /* Used by MAP and COPY. Rows of the caller whose successors, a range later, are prefetched: bit k is for
       operand k, and AHEAD_OF_RESULT for the first target. (pass/rows_ahead.c) */
    uint32_t ahead;
    /* Used by DOT of bf16 pairs with FOLD_SET. If not 0, the sum is multiplied by this factor. */
    double times;
    int operands;
    struct ref operand[MAX_OPERANDS];
    int assigns;
    /* DOT and COPY use only `to`, `fold` and `compensation` of assign[0]. */
    struct assign assign[MAX_ASSIGNS];
};

enum loops_op {
#define LOOPS(name, text) LOOPS_##name,
#include "loops.def"
#undef LOOPS
};

struct loops {
    struct module *module;
    int arrays, capacity;
    struct array *array;
    struct stmt *body;
    /* Sizes in bytes. They are 0 until tiles get their offsets.
       - workspace: the private tiles of one thread
       - shared: the shared tiles of one head
       - slot: one slot of all tiles over chunks
       - kept: the state of one head */
    int64_t workspace, shared, slot, kept;
};

struct loops *loops_new(struct module *m);
struct loops *loops_copy(const struct loops *l);
int loops_array(struct loops *l, struct array array);
/* Whether expressions may read elements of an array by its name. */
bool array_is_named(const struct array *a);
/* Returns a new array name. It is `wanted`, or `wanted` with a number, such as "sum_2". */
const char *loops_unused_name(const struct loops *l, const char *wanted);
struct stmt *stmt_new(struct loops *l, int op);
/* These functions look for uses of array a. stmt_reads and stmt_writes look at the statement without its body.
   stmt_touches also looks at the body. */
bool stmt_reads(const struct stmt *s, int a);
bool stmt_writes(const struct stmt *s, int a);
bool stmt_touches(const struct stmt *s, int a);

/* ---- lists of statements and the bodies in them (stmts.c) ---- */

enum { MAX_NEST = 32 }; /* the largest number of FORs and IFs around a statement */

/* A walk through a list and the bodies in it, each statement before its body. Example:
     for (struct stmts w = {.list = l->body}; (s = stmts_next(&w));)
   Set `place` instead of `list` if `at` is used. Statements may be inserted before and after the current one. */
struct stmts {
    struct stmt *list, **place;
    struct stmt *now, **at; /* the current statement, and its place when the walk came to it */
    bool skip;              /* set it to leave out the body of the current statement */
    /* Outermost first: the FORs and IFs around the current statement, and only the FORs. */
    int depth, loops;
    struct stmt *around[MAX_NEST], *loop[MAX_NEST];
};
struct stmt *stmts_next(struct stmts *w);        /* returns the next statement, or NULL */
struct stmt *stmts_first(const struct stmts *w); /* returns the first statement of the current list */
/* Calls `rewrite` for the places of all statements, bodies first. If it returns true, it has changed what stands at
 *at, and is called again. */
void stmts_rewrite(struct stmt **list, bool (*rewrite)(struct loops *l, struct stmt **at), struct loops *l);
/* Copies the list up to, but without, `end`. */
struct stmt *stmts_copy(struct loops *l, const struct stmt *list, const struct stmt *end);
/* Removes the assignments for which `keep` returns false, and then the statements that have neither assignments nor a
   body. */
void stmts_keep_assigns(struct stmt **list, bool (*keep)(const void *of, const struct stmt *s, const struct assign *a),
                        const void *of);
/* Return the first FOR over the axis, or over windows. NULL if there is none. */
struct stmt *stmts_loop(const struct stmt *list, int axis);
struct stmt *stmts_window(const struct stmt *list);
/* Return the number of statements that write array a, and of those without a body that read or write it. */
int stmts_writing(const struct stmt *list, int a);
int stmts_touching(const struct stmt *list, int a);
void stmts_rename(struct stmt *list, int from, int to); /* replaces array `from` by array `to` */

/* Returns the distance between neighbouring indices in a range of the FOR. It is the period with `apart`, otherwise
   1. */
int64_t stmt_stride(const struct stmt *s);
/* Returns true if a and b are MAPs over equal axes in equal order, without regions. */
bool stmt_same_nest(const struct stmt *a, const struct stmt *b);
/* Whether r is a row of reals of the caller, which a MAP or COPY over tokens and elements reads or sets. */
bool stmt_reads_row(const struct loops *l, const struct stmt *s, const struct ref *r);
/* Returns a reference to array a. Its subscripts are the INDEX of each axis of a. */
struct ref loops_ref(const struct loops *l, int a);
/* Returns the number of bf16 terms per number. 1 means that numbers are not split. */
int array_terms(const struct array *a);
/* Returns the number of bf16 multiplications for two numbers of a and b terms (array.terms). */
int products_of_terms(int a, int b);
/* Returns the number of elements in memory, with padding, held tiles, and with the first lines of remembered tiles,
   which say what they have. Returns INT64_MAX if the number overflows. */
int64_t array_elements(const struct array *a);
/* Returns true if the array is an input or output with one number per query. Such an array is contiguous. */
bool array_of_rows(const struct loops *l, const struct array *a);
/* Returns true if the array is an input or output with a vector per row, such as q or dk. Such arrays may have
   strides. All other arrays are contiguous. */
bool array_of_elements(const struct loops *l, const struct array *a);
/* Returns true if the array is a tile with a slot for each chunk. */
bool array_has_slots(const struct loops *l, const struct array *a);
/* loops_paired returns true if an array is `paired`. loops_on_matrix_units returns true if an array has `matrix`. */
bool loops_paired(const struct loops *l);
bool loops_on_matrix_units(const struct loops *l);
/* Returns the number n of slots per thread, 1 to 4. A thread sums n chunks before it waits for the state of the
   previous thread. */
int64_t loops_slots(const struct loops *l);
/* Returns the bytes of workspace per thread. */
int64_t loops_bytes(const struct loops *l);
/* These functions print, read and check ranges. ranges_check returns NULL or an error message. (ranges.c) */
void ranges_print(const struct loops *l, const struct stmt *s, struct text *out);
void ranges_read(struct reader *r, struct stmt *s);
const char *ranges_check(struct module *m, const struct stmt *s);
const char *loops_verify(const struct loops *l);
void loops_print(const struct loops *l, struct text *out);
/* Prints the statement on one line, without its body. */
void stmt_print(const struct loops *l, const struct stmt *s, struct text *out);
struct loops *loops_parse(struct arena *arena, const char *text, struct diagnostics *d);
const char *loops_eval(const struct loops *l, const struct problem_size *size, const struct tensor *in, int count,
                       double *out);
/* Runs the loops like loops_eval, but without outputs, and counts the operations that it runs. The bodies of all FORs
   run, as in a kernel, which does not test regions of FORs.
   - products: two for each term of a product, of a triangular system, and of a sum over an axis in a MAP
   - scalars, functions: the other operations on reals in MAPs, for one element */
struct executed {
    double products, scalars, functions;
};
const char *loops_execute(const struct loops *l, const struct problem_size *size, const struct tensor *in, int count,
                          struct executed *out);
/* Counts the work of loops over keys that are inside loops over queries.
   - tiles: the number of tiles of keys
   - points: the number of points in all these tiles
   - tested: the number of points in the tiles whose body tests the region */
struct visits {
    int64_t tiles, points, tested;
};
const char *loops_visits(const struct loops *l, const struct problem_size *size, struct visits *out);

#endif
