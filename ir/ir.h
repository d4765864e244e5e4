/* The two intermediate representations of a program, over one kind of scalar expressions.
   - The graph, tensor algebra over named axes, says what is computed.
   - The loops, statements on tiles inside loops over ranges of axes, say how.
   Both have a text form that can be read back, a verifier, and an interpreter in float64, which is the oracle for
   every pass and for emitted code. This folder includes no header of another folder. */
#ifndef ATTNC_IR_H
#define ATTNC_IR_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define IR_PRINTF(text, first) __attribute__((format(printf, text, first)))

/* ---- memory: one arena per lifetime, no free per node (arena.c) ---- */

struct arena;
struct arena *arena_new(void);
void arena_free(struct arena *arena);
/* Memory is zeroed, aligned for any type, and never NULL: if memory runs out, the program prints an error and exits
   with status 3. */
void *arena_alloc(struct arena *arena, size_t bytes);
char *arena_copy(struct arena *arena, const char *text);
char *arena_printf(struct arena *arena, const char *format, ...) IR_PRINTF(2, 3);
char *arena_vprintf(struct arena *arena, const char *format, va_list args) IR_PRINTF(2, 0);

/* A string that grows. Zero the struct before use. data is NULL or ends in a zero byte. Free it with text_free. */
struct text {
    char *data;
    size_t length, capacity;
};
void text_add(struct text *text, const char *format, ...) IR_PRINTF(2, 3);
void text_append(struct text *text, const char *bytes, size_t length);
void text_free(struct text *text);

/* ---- text from other sources: files, databases, other programs (plain_text.c) ---- */

/* The length in bytes of the well-formed UTF-8 character at s; 0 if there is none. */
size_t utf8_character(const char *s, size_t left);
/* Whether a well-formed character is a control character. */
bool utf8_control(const char *s, size_t length);
/* Appends the text, with `instead` for every byte that is not UTF-8 and for every control character except tabs
   (and, with PLAIN_LINES, newlines). Text from people or other programs passes through this function before it is
   shown in a terminal or on a page. */
enum plain_lines { PLAIN_LINE, PLAIN_LINES };
void text_plain(struct text *text, const char *bytes, size_t length, enum plain_lines lines, const char *instead);

/* ---- diagnostics in one format (diagnostics.c): `file:line:column: error: message`, the line, a caret ---- */

struct position {
    int line, column; /* counted from 1; 0: no particular position */
};

struct diagnostics;
/* `source` is the whole text of the file, or NULL; it must outlive the object. Messages are kept until
   diagnostics_flush. */
struct diagnostics *diagnostics_new(struct arena *arena, const char *file, const char *source, size_t length);
void diagnostics_error(struct diagnostics *d, struct position at, const char *format, ...) IR_PRINTF(3, 4);
void diagnostics_warning(struct diagnostics *d, struct position at, const char *format, ...) IR_PRINTF(3, 4);
/* Adds a remark to the last error or warning. */
void diagnostics_note(struct diagnostics *d, struct position at, const char *format, ...) IR_PRINTF(3, 4);
int diagnostics_errors(const struct diagnostics *d); /* without warnings */
/* Writes every message in the order of the file, each followed by its notes. Returns the number of errors. */
int diagnostics_flush(struct diagnostics *d, FILE *out, bool color);
/* The word of `words` (which ends with NULL) that is nearest to `text`, or NULL if no word is near enough to be a
   likely correction. */
const char *nearest_word(const char *text, const char *const *words);

/* ---- storage types ---- */

enum dtype { DTYPE_F32, DTYPE_BF16, DTYPE_F16, DTYPE_F64, DTYPE_I32 /* for parameters only */ };
const char *dtype_name(enum dtype dtype); /* "f32" */
bool dtype_parse(const char *text, enum dtype *dtype);
int dtype_bytes(enum dtype dtype);
enum dtype dtype_of_sums(enum dtype dtype); /* the type of computations on values stored as `dtype`: f64 for f64,
                                               else f32 */

/* ---- axes and scalar expressions (expr.c) ---- */

enum size_source {
#define SIZE(name, text, sequence) SIZE_##name,
#include "size.def"
#undef SIZE
};
const char *size_name(enum size_source source); /* the name in the text of both IRs and in emitted C; "" for a
                                                   constant */

struct axis {
    const char *name;
    enum size_source source;
    int64_t extent; /* SIZE_CONSTANT, SIZE_UNITS: the extent; chunks: the length of one chunk; SIZE_ROWS: the maximum */
};

enum { MAX_AXES = 24, MAX_RANK = 8, MAX_OPERANDS = 24, MAX_ASSIGNS = 8, MAX_RANGES = 24 };

enum expr_op {
#define EXPR(name, ...) EXPR_##name,
#include "expr.def"
#undef EXPR
    EXPR_OPS
};

/* The cost of computing an operation, in ascending order; defined in expr.def. */
enum expr_effort { EFFORT_NONE, EFFORT_SIMPLE, EFFORT_SLOW, EFFORT_FUNCTION };

enum expr_type { TYPE_REAL, TYPE_INT, TYPE_BOOL };

/* How EXPR_DRAWN draws. expr_drawn makes one object for equal values. */
struct draw {
    int64_t count; /* how many numbers are drawn; all of them if there are fewer */
    uint64_t seed;
    bool upto; /* numbers are drawn for a from 0 … a; otherwise from 0 … n - 1, where n is an argument of the
                  expression */
    struct draw *next;
};

/* Expressions are interned: two expressions of one module are equal exactly if their pointers are. They are never
   changed after they are made. */
struct expr {
    enum expr_op op;
    enum expr_type type;
    int id; /* the number of expressions made before */
    const struct expr *arg[3];
    double real;             /* EXPR_REAL */
    int64_t integer;         /* EXPR_INT: value; EXPR_OPERAND: its number; EXPR_INDEX, SIZE, LO, HI: the axis */
    const struct draw *draw; /* EXPR_DRAWN */
    const char *name;        /* EXPR_ID, MIN_ID, MAX_ID: the parameter; equal names have equal pointers */
    struct expr *next;       /* the next in the same chain of the interning table */
};

/* The memory, axes and expressions that a graph shares with the loops made from it. */
struct module {
    struct arena *arena;
    const char *name;
    enum dtype dtype; /* of the inputs and the output; everything else has type dtype_of_sums(dtype) */
    int axes;
    struct axis axis[MAX_AXES];
    int exprs;
    struct expr **table; /* the interning table, 4096 chains */
    struct draw *draws;
    struct id_name *id_names;
};

struct module *module_new(struct arena *arena, const char *name, enum dtype dtype);
int module_axis(struct module *m, const char *name, enum size_source source, int64_t extent); /* returns its number */
int module_find_axis(const struct module *m, const char *name); /* returns -1 if there is none */
bool axis_is_sequence(const struct axis *a);                    /* loops over the axis are tiled */
bool axis_is_chunks(const struct axis *a);
bool axis_is_counted(const struct axis *a); /* the extent does not depend on the problem */
bool axis_is_whole(const struct axis *a);   /* constant, or rows: every tile holds the whole axis, counted from 0 */

int expr_arity(enum expr_op op);
const char *expr_name(enum expr_op op);
/* The sign of a binary operator in C, or NULL. */
const char *expr_infix(enum expr_op op);
/* The function of C's library that computes it, or "". */
const char *expr_c_function(enum expr_op op);
/* Whether users may call it, by that name; and all those names. */
bool expr_is_for_users(enum expr_op op);
void expr_list_functions(struct text *out, const char *between);
enum expr_effort expr_effort(enum expr_op op);
/* Whether e or a subexpression of e costs at least `effort`. */
bool expr_takes(const struct expr *e, enum expr_effort effort);
/* The module's only expression equal to e. Use it only for expressions that the builders below cannot make. */
const struct expr *expr_intern(struct module *m, struct expr e);
/* Builders fold constants and apply identities that hold for every finite value (x + 0, x * 1, select on a constant,
   …). */
const struct expr *expr_real(struct module *m, double value);
const struct expr *expr_int(struct module *m, int64_t value);
const struct expr *expr_leaf(struct module *m, enum expr_op op, int number); /* OPERAND, INDEX, SIZE, LO, HI */
const struct expr *expr_make(struct module *m, enum expr_op op, const struct expr *a, const struct expr *b,
                             const struct expr *c);
/* Whether b is one of the numbers that are drawn for a from 0 … among - 1. (draw.c) */
const struct expr *expr_drawn(struct module *m, const struct expr *a, const struct expr *b, const struct expr *among,
                              struct draw draw);
bool draw_holds(const struct draw *draw, int64_t a, int64_t b, int64_t among);
/* EXPR_ID, MIN_ID and MAX_ID read a parameter of integers over batches and keys. `op` is one of the three; `to` is
   NULL for EXPR_ID. (ids.c) */
const struct expr *expr_id(struct module *m, enum expr_op op, const char *name, const struct expr *b,
                           const struct expr *x, const struct expr *to);
bool expr_reads_ids(const struct expr *e);
/* The first name of an id parameter in the expression for which `known` returns false; NULL if there is none. */
const char *expr_unknown_ids(const struct expr *e, bool (*known)(const void *program, const char *name),
                             const void *program);
enum { MAX_IDS = 4 };
struct ids {
    int arrays;
    struct {
        const char *name;
        const double *data;
        int64_t batch, keys;
    } array[MAX_IDS];
    bool outside; /* an index beyond the end of an array was read */
};
void ids_add(struct ids *ids, const char *name, const double *data, int64_t batch, int64_t keys);
/* If `ids` is NULL or has no array of that name, all ids are 0. */
int64_t ids_read(struct ids *ids, const char *name, int64_t b, int64_t x);
int64_t ids_extreme(struct ids *ids, const char *name, int64_t b, int64_t from, int64_t to, bool largest);
/* x to an integer power, by repeated squaring. */
const struct expr *expr_power(struct module *m, const struct expr *x, int64_t power);
/* The expression with every occurrence of `from` replaced by `to`, rebuilt and therefore folded. */
const struct expr *expr_replace(struct module *m, const struct expr *e, const struct expr *from, const struct expr *to);
/* The expression with operand k replaced by with[k]. */
const struct expr *expr_bind(struct module *m, const struct expr *e, const struct expr *const *with);
/* The derivative with respect to a leaf, usually an OPERAND; REAL 0 if the expression does not depend on the leaf.
   (expr_derivative.c) */
const struct expr *expr_derivative(struct module *m, const struct expr *e, const struct expr *leaf);
bool expr_uses(const struct expr *e, const struct expr *leaf);
bool expr_has(const struct expr *e, enum expr_op op);
bool expr_is_real(const struct expr *e, double value); /* whether e is the constant `value`, real or integer */

/* The values of the leaves while an expression is evaluated. */
struct environment {
    const double *operand; /* by number */
    const int64_t *index;  /* by axis, like size, lo and hi */
    const int64_t *size, *lo, *hi;
    struct ids *ids; /* NULL: every id is 0 */
    uint64_t *noise; /* the state from which expr_noisy draws for each operation; NULL: no noise */
};
double expr_eval(const struct expr *e, const struct environment *env); /* float64; a comparison gives 0 or 1 */
double expr_noisy(double x, uint64_t *state); /* x with a random relative error of up to 2^-24, like the rounding to
                                                 f32 */
int64_t expr_eval_int(const struct expr *e, const struct environment *env); /* e->type must not be TYPE_REAL */

/* ---- references: an element of a value or an array, for every point of the surrounding axes ---- */

struct ref {
    int of; /* number of the value (graph) or array (loops) */
    int rank;
    const struct expr *sub[MAX_RANK]; /* per axis one integer expression in INDEX and SIZE; most are a single INDEX */
};
bool ref_equal(const struct ref *a, const struct ref *b);
/* The axis whose INDEX is subscript k, or -1 if the subscript is any other expression. */
int ref_axis(const struct ref *r, int k);
bool ref_uses_axis(const struct ref *r, int axis);
/* Whether e depends on the axis; `operand` holds the references of its operands. */
bool expr_uses_axis(const struct expr *e, const struct ref *operand, int axis);

enum fold { FOLD_SET, FOLD_SUM, FOLD_MAX };

/* ---- text and checks of expressions, for both IRs (expr_text.c, expr_verify.c) ---- */

/* A value or array as the text of a reference to it needs it. */
struct referred {
    const char *name; /* without the % */
    int rank;
    const int *axes;
};
typedef struct referred referred_by(const void *program, int of);

void real_print(double value, bool visibly_real, struct text *out); /* the shortest digits that read back exactly */
void axes_print(const struct module *m, int rank, const int *axes, struct text *out);
void ref_print(const struct module *m, const struct ref *r, referred_by *by, const void *program, struct text *out);
/* `operand` lists the references for EXPR_OPERAND; they are printed in place of the operands. */
void expr_print(const struct module *m, const struct expr *e, const struct ref *operand, referred_by *by,
                const void *program, struct text *out);

/* A text being read. Only the first error is reported. After it the token is the end of the text and every function
   returns a harmless value. */
struct reader {
    struct module *module;
    struct diagnostics *diagnostics;
    const char *token, *line_start;
    size_t length; /* of the token; 0 at the end */
    int line, depth;
    bool failed;
    const void *program;
    /* Finds `%name` and sets `plain` to a reference to it over its axes. */
    bool (*find)(const void *program, const char *name, struct ref *plain);
    int operands; /* the different references in the expressions read so far */
    struct ref operand[MAX_OPERANDS];
};
void reader_start(struct reader *r, struct module *m, const char *text, struct diagnostics *d);
void reader_next(struct reader *r);
void reader_error(struct reader *r, const char *format, ...) IR_PRINTF(2, 3); /* reports an error at the token */
bool reader_at(const struct reader *r, const char *token);
bool reader_take(struct reader *r, const char *token);   /* if the token is next, skips it and returns true */
void reader_expect(struct reader *r, const char *token); /* skips the token; an error if another is next */
const char *reader_name(struct reader *r, const char *what);
int64_t reader_int(struct reader *r, int64_t min);
double reader_real(struct reader *r);
int reader_axis(struct reader *r);
void reader_axes(struct reader *r, int *rank, int *axes);
struct ref reader_ref(struct reader *r);
const struct expr *reader_expr(struct reader *r);
enum dtype reader_dtype(struct reader *r);
/* Reads `{1, 2.5}`: as many numbers as the axes, which must be constant, have elements. */
const double *reader_table(struct reader *r, int rank, const int *axes);
/* Reads `axis NAME SIZE` lines. */
void reader_axis_lines(struct reader *r);
void axis_lines_print(const struct module *m, struct text *out);
void table_print(const struct module *m, int rank, const int *axes, const double *data, struct text *out);

/* The axes whose INDEX occurs, as bits. */
uint32_t expr_axes(const struct expr *e);
uint32_t ref_axes(const struct ref *r);
/* The leaves that an expression may contain at its place. */
struct allowed {
    int operands;   /* EXPR_OPERAND with a number below this */
    uint32_t index; /* INDEX of these axes */
    bool ranges;    /* whether LO and HI are allowed */
};
/* These return NULL, or an error message in the module's arena. */
const char *expr_check(struct module *m, const struct expr *e, const struct allowed *allowed);
const char *where_check(struct module *m, const struct expr *e, const struct allowed *allowed); /* a condition */
const char *axes_check(struct module *m, int rank, const int *axes);
const char *module_check(struct module *m);
/* Checks a reference to a value or array with these axes: the rank, the types, and the sizes if they are known. */
const char *ref_check(struct module *m, const struct ref *r, int rank, const int *axes, const struct allowed *allowed);
bool name_is_plain(const char *name);                  /* letters, digits, _ and . */
bool expr_integer_only(enum expr_op op, int argument); /* this argument of the operation must not be real */

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
const char *origin_name(enum origin origin); /* its text, "" for LEARNED */
enum initial {
#define INITIAL(name, text) INITIAL_##name,
#include "initial.def"
#undef INITIAL
};
const char *initial_name(enum initial initial);

struct value {
    enum graph_op op;
    const char *name;     /* INPUT, PARAM, TABLE: "q", "bias", "rope_theta" */
    enum origin origin;   /* PARAM */
    enum initial initial; /* PARAM that is learned: its value before training; it does not affect what the graph
                             computes */
    bool integers;        /* PARAM: int32 over batches and keys; only EXPR_ID, MIN_ID and MAX_ID read it */
    bool sums;            /* INPUT: sums that another program of the same call computed, not an array of the caller */
    int rank;
    int axes[MAX_RANK]; /* in order of storage */
    int operands;
    struct ref operand[MAX_OPERANDS];
    const struct expr *expr; /* MAP: EXPR_OPERAND k is operand k */
    enum fold fold;          /* REDUCE: SUM or MAX */
    double init;             /* REDUCE: the start value, which is also the result for an empty region */
    /* REDUCE, CONTRACT: only indices in this region are summed, a BOOL over INDEX and SIZE; NULL: all */
    const struct expr *where;
    /* REDUCE, CONTRACT: a value that is a running maximum over the same axes, or -1. The terms are relative to the
       maximum: they contain the factor exp2(-maximum), so partial sums are rescaled by exp2(old - new) when the
       maximum changes. If `power` is not 0, the factor is maximum^-power, and partial sums are rescaled by
       (old / new)^power. The stabilise pass guarantees this. */
    int online;
    int64_t power;
    /* REDUCE, CONTRACT over chunks, sums: how the sum goes from one chunk to the next, or NULL. `keep` is an expression
       over INDEX of the value's axes and SIZE.
       - The sum at chunk + 1 is `keep` times the sum at chunk, plus the terms of the keys that are in the region of
         chunk + 1 but not of chunk, as the terms are at chunk + 1.
       - If the region contains later chunks, the recurrence runs backward: from the sum at chunk + 1 to the sum at
         chunk.
       The value itself is still the sum over the region; the separate pass guarantees that the recurrence gives the
       same. */
    const struct expr *keep;
    const double *data; /* TABLE */
};

enum { MAX_OUTPUTS = 512 };
struct graph {
    struct module *module;
    int values, capacity;
    struct value *value; /* operands come before their users */
    int outputs;
    struct {
        const char *name; /* the name of the output array, such as "out" */
        int value;
    } output[MAX_OUTPUTS];
};

struct graph *graph_new(struct module *m);
struct graph *graph_copy(const struct graph *g); /* shares the module */
/* Builders return the number of the new value. Axes are given as a count and the numbers. */
int graph_input(struct graph *g, const char *name, int rank, const int *axes);
int graph_param(struct graph *g, const char *name, int rank, const int *axes); /* a learned parameter */
/* A parameter of integers. */
int graph_ids(struct graph *g, const char *name, int rank, const int *axes);
/* A parameter that can be made from a seed; its axes have constant extents. */
int graph_random(struct graph *g, const char *name, enum origin origin, int rank, const int *axes);
int graph_table(struct graph *g, const char *name, int rank, const int *axes, const double *data);
int graph_map(struct graph *g, int rank, const int *axes, int operands, const struct ref *operand,
              const struct expr *expr);
int graph_contract(struct graph *g, int rank, const int *axes, struct ref a, struct ref b, const struct expr *where);
int graph_reduce(struct graph *g, enum fold fold, double init, int rank, const int *axes, struct ref a,
                 const struct expr *where);
void graph_output(struct graph *g, const char *name, int v);
bool graph_is_output(const struct graph *g, int v);
/* A reference to value v: subscript k is the INDEX of axes[k], or of v's axis k if `axes` is NULL. */
struct ref graph_ref(const struct graph *g, int v, const int *axes);
/* A value with this operation and shape; all other members are empty. */
struct value graph_value(enum graph_op op, int rank, const int *axes);
/* Inserts a value before value `at` and renumbers the later values. The operands of the new value are numbered below
   `at`. */
void graph_insert(struct graph *g, int at, struct value v);
/* If a sum reads value v, inserts a map after v that copies v and makes all users read the map, because passes look
   only at maps. Returns the number of values added. */
int graph_map_summed(struct graph *g, int v);
/* The value with that name; -1 if there is none. */
int graph_find(const struct graph *g, const char *name);
/* Removes values that no output needs, and renumbers the others. */
void graph_sweep(struct graph *g);
bool value_has_axis(const struct value *v, int axis);
/* The number of operands that refer to value v, plus one if v is an output. */
int graph_uses(const struct graph *g, int v);
bool graph_value_equal(const struct value *a, const struct value *b); /* both in one module */
/* The number of operand `r` in v, which is added if it is new; -1 if v has no room. */
int graph_operand(struct value *v, const struct ref *r);
/* Replaces operand `at` of map v, which refers to the map `inner`, by inner's expression. Returns false if v has no
   room. */
bool graph_inline(struct graph *g, struct value *v, int at, const struct value *inner);

/* Whether both are tables with the same name, axes and numbers. Only such values may share a name. */
bool graph_same_table(const struct graph *g, const struct value *a, const struct value *b);
/* NULL, or an error message in the arena of the graph's module. */
const char *graph_verify(const struct graph *g);
void graph_print(const struct graph *g, struct text *out);
/* Reads the text that graph_print writes; returns NULL after reporting errors to d. */
struct graph *graph_parse(struct arena *arena, const char *text, struct diagnostics *d);

/* An array given to or returned by an interpreter: float64, contiguous, with the axes in the order of the value of
   that name. (A parameter over heads [H, …] is the same memory as [G, M, …].) */
struct tensor {
    const char *name;
    double *data;
};
struct problem_size {
    int64_t batch, kv_heads, members, n_q, n_k;
};
int64_t axis_extent(const struct module *m, int axis, const struct problem_size *size);
/* Evaluates the outputs into `out` (float64, contiguous, one after the other). Every value is computed as a whole.
   Returns NULL, or an error message (a missing array, no memory). */
const char *graph_eval(const struct graph *g, const struct problem_size *size, const struct tensor *in, int count,
                       double *out);
/* Evaluates like graph_eval, but changes every result at random by as much as rounding to f32 may, which shows how
   exactly terms cancel in a kernel. A kernel compensates sums over rows, so there the terms are changed, not the
   sums. Numbers overflow or underflow only if they do so in a double. */
const char *graph_eval_noisy(const struct graph *g, const struct problem_size *size, const struct tensor *in, int count,
                             uint64_t *state, double *out);

/* ---- the loops (loops.c, loops_text.c, loops_eval.c) ---- */

enum array_kind { ARRAY_INPUT, ARRAY_PARAM, ARRAY_OUTPUT, ARRAY_TABLE, ARRAY_TILE };

struct array {
    enum array_kind kind;
    const char *name;
    enum dtype dtype;
    int rank;
    int axes[MAX_RANK];
    int64_t extent[MAX_RANK]; /* TILE: the maximum number of elements that the range of each axis has (on run-time
                                 axes index 0 is LO); the last extent is padded to whole vectors */
    int64_t gap;              /* TILE: elements between the end of a row of the last axis and the next row */
    bool paired;    /* TILE of bf16 with pairs, as DOT of pairs reads them: two neighbours along the first axis, whose
                       extent is even, are adjacent in memory. The first operand of such a DOT may also be an unpaired
                       TILE of bf16 whose last axis is summed over; if that axis has an odd number of elements, a 0
                       follows */
    bool matrix;    /* TILE of bf16: an operand of products on matrix units. If paired, it is the second operand; else
                       the first, whose last axis is summed over. Beyond the ranges it holds zeros, up to a multiple of
                       32 along the axis summed over and of 16 along the other */
    int terms;      /* TILE, matrix: 2 or 3: a number copied into the tile is stored as the sum of this many bf16
                       numbers: first the first terms of all numbers, then the second terms, then the third. A product
                       of two such sums multiplies term i by term j, counted from 0, if i + j is below the larger number
                       of terms. 0: the number is rounded */
    int64_t held;   /* TILE: the number of tiles of this shape that are kept, one for each range of the last axis
                       inside the surrounding block; 0: a single tile, for the current range */
    bool sums;      /* INPUT, OUTPUT: sums in the workspace that one program of a call computes for another, not an
                       array of the caller. They have the type of sums. Rows of queries are padded to whole vectors;
                       rows of keys have separate strides */
    bool shared;    /* TILE: seen by all threads that work on one head; else private to a thread. A tile over chunks is
                       shared too: every chunk has a slot */
    bool kept;      /* TILE, shared: stored in the state that a caller keeps; it holds the sums of the chunks before the
                       first chunk of a call */
    bool folded;    /* TILE, kept: belongs to another state, which is merged into this one */
    int64_t offset; /* TILE: the offset in bytes into its kind of memory, a multiple of 64; -1: not allocated yet, or
                       never in memory */
    const double *data; /* TABLE */
};

struct assign {
    struct ref to;
    enum fold fold; /* SET; SUM, MAX: combined with the old element, over the axes of the nest that `to` lacks */
    const struct expr *expr;
    /* SUM: 1 + the number of a tile with the shape of `to`'s array that stores the rounding error for the next sum
       (Kahan); 0: none. In exact arithmetic it stays 0, so the interpreter ignores it. */
    int compensation;
};

/* The indices from <= x < to. If `drawn`, an EXPR_DRAWN, is not NULL, only the indices for which it holds at some
   point (FOR) or at all points (IF) of the current ranges of the other axes. */
struct range {
    const struct expr *from, *to, *drawn;
};

struct stmt {
    int op; /* enum loops_op */
    struct stmt *next;
    struct stmt *body; /* FOR, IF */
    /* FOR: runs over the ranges [x, min(x + step, to)) of `axis` for x = from, from + step, …
       - The bounds are integer expressions in SIZE, LO, HI.
       - Outside the region `where` the body has no effect.
       - With `ranges`, the FOR visits in ascending order the indices in the union of the ranges, each once. Ranges that
         overlap or touch act as one.
       IF: runs its body if `where`, in SIZE, LO, HI, holds. If `where` is NULL: if the current range of `axis` is
       not wholly inside the union of the ranges. */
    int axis;
    int ranges;
    const struct range *range;
    const struct expr *from, *to, *where;
    /* FOR, period > 0: visits only the indices x with floormod(x - phase, period) < run. With `apart`, a range holds
       up to `step` of these indices that are `period` apart, one residue after the other, and inner statements see
       only these. Otherwise a range holds neighbouring indices. */
    int64_t period, run;
    const struct expr *phase; /* in SIZE, LO, HI */
    bool apart;
    const struct expr *when; /* FOR: skips ranges for which this does not hold; it may use the LO and HI of the FOR's
                                axis; NULL: skips none. DOT: see below */
    int64_t step;
    bool parallel;
    bool ordered; /* parallel, but the additions to sums shared between iterations happen in the order of the
                     iterations, each from the first position of its inner loops to the last */
    bool window;  /* FOR over chunks: a range has as many chunks as there are slots; a FOR in the body may run over
                     the same axis, from LO to HI */
    /* MAP: runs the assignments, in order, at every point of the current ranges of `axes`, the last of which is the
       lanes. Each assignment sees the results of those before it.
       DOT: to = to * factor + sum over `axis` of row * lane (FOLD_SUM), or only the sum (FOLD_SET).
       - `to` is [row axis, lane axis]. `row`, operand 0, lacks the lane axis. `lane`, operand 1, has the lane axis last
         and lacks the row axis. Operand 2, if present, is the factor [lane axis].
       - If `lane` is paired along `axis`, so is `row`, or `row` is stored in 16 bits with `axis` last.
       - `where`: only pairs inside this region are summed. `lane` is 0 outside the region, so the region matters only
         if `row` has an infinity or NaN.
       - The current ranges contain pairs outside the region only if `when` holds, or if `axis` is outside the union of
         `ranges` as for IF. With neither, they may always contain such pairs.
       COPY: sets assign[0].to to operand 0, over `axes`. */
    bool block; /* FOR: the body splits its range with inner FORs over the same axis, from LO to HI */
    int rank;
    int axes[MAX_RANK];
    bool coarse;  /* MAP: the results are rounded to bf16, or are sums of such results, so exp2 may be computed with
                     low precision */
    double times; /* DOT of pairs with FOLD_SET: the sum is multiplied by this; 0: it is not */
    int operands;
    struct ref operand[MAX_OPERANDS];
    int assigns;
    struct assign assign[MAX_ASSIGNS]; /* DOT, COPY: only `to` and `fold` of the first are used */
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
    int64_t workspace, shared, slot, /* in bytes: per thread; per group of threads that work on one head; per chunk that
                                        a thread processes; 0 until allocated */
        kept;                        /* bytes of the kept state per head */
};

struct loops *loops_new(struct module *m);
struct loops *loops_copy(const struct loops *l);
int loops_array(struct loops *l, struct array array);
/* `wanted`, with a number appended if an array has that name. */
const char *loops_unused_name(const struct loops *l, const char *wanted);
struct stmt *stmt_new(struct loops *l, int op);
struct stmt *stmts_copy(struct loops *l, const struct stmt *s, const struct stmt *end); /* copies from s up to `end`,
                                                                                           which is not copied */
/* About the elements of array a:
   - stmt_reads, stmt_writes: whether the statement itself reads or assigns any.
   - stmt_touches: whether the statement, or a statement inside it, does either.
   - stmts_touching: the number of statements without a body, in the list and inside it, that do. */
bool stmt_reads(const struct stmt *s, int a);
bool stmt_writes(const struct stmt *s, int a);
bool stmt_touches(const struct stmt *s, int a);
int stmts_touching(const struct stmt *s, int a);
/* The distance between neighbouring indices in the range of a FOR. */
int64_t stmt_stride(const struct stmt *s);
/* Whether both are MAPs over the same axes in the same order. */
bool stmt_same_nest(const struct stmt *a, const struct stmt *b);
/* A reference to array a over its own axes. */
struct ref loops_ref(const struct loops *l, int a);
/* Sizes of tiles. array_elements counts elements of memory, over all held tiles; INT64_MAX if there are too many. */
int array_terms(const struct array *a); /* stored terms per number; 1 if numbers are stored unsplit */
int products_of_terms(int a, int b);    /* multiplications in a product of a sum of a terms and a sum of b terms */
int64_t array_elements(const struct array *a);
/* Whether the array is an input or output with one number per row of queries, stored contiguously. */
bool array_of_rows(const struct loops *l, const struct array *a);
/* Whether the array is an input or output with a vector of elements for each row; its rows may have strides. All
   other inputs and outputs are contiguous like parameters: gradients with respect to parameters, those with a number
   for each key among them, and the partial sums of these. */
bool array_of_elements(const struct loops *l, const struct array *a);
/* Whether the array is a tile over chunks. */
bool array_has_slots(const struct loops *l, const struct array *a);
/* Whether any array is paired; whether any is an operand on matrix units. */
bool loops_paired(const struct loops *l);
bool loops_on_matrix_units(const struct loops *l);
/* The number of slots per thread. If slots are small there are several, which makes segments longer. */
int64_t loops_slots(const struct loops *l);
/* The bytes of workspace per thread. */
int64_t loops_bytes(const struct loops *l);
/* Prints, reads and checks the ranges of a FOR, IF or DOT. ranges_check returns NULL or an error message. (ranges.c) */
void ranges_print(const struct loops *l, const struct stmt *s, struct text *out);
void ranges_read(struct reader *r, struct stmt *s);
const char *ranges_check(struct module *m, const struct stmt *s);
const char *loops_verify(const struct loops *l);
void loops_print(const struct loops *l, struct text *out);
void stmt_print(const struct loops *l, const struct stmt *s,
                struct text *out); /* one line; for FOR and IF only the line before the body */
struct loops *loops_parse(struct arena *arena, const char *text, struct diagnostics *d);
const char *loops_eval(const struct loops *l, const struct problem_size *size, const struct tensor *in, int count,
                       double *out);
/* Counts for the loops over keys inside loops over queries: tiles; points of these tiles, over all run-time axes;
   points of tiles in which the region is tested. */
struct visits {
    int64_t tiles, points, tested;
};
const char *loops_visits(const struct loops *l, const struct problem_size *size, struct visits *out);

#endif
