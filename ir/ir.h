/* What programs are. Two representations over one set of scalar expressions:
   the graph (tensor algebra over named axes) says what is computed, the loops (statements on tiles under loops over
   ranges of axes) say how. Both print as text that reads back, have a verifier, and an interpreter in float64 that is
   the oracle for every pass and for emitted code. This folder includes nothing of the others. */
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
/* Zeroed, aligned for any type, never NULL: when memory runs out the program says so and ends with status 3. */
void *arena_alloc(struct arena *arena, size_t bytes);
char *arena_copy(struct arena *arena, const char *text);
char *arena_printf(struct arena *arena, const char *format, ...) IR_PRINTF(2, 3);
char *arena_vprintf(struct arena *arena, const char *format, va_list args) IR_PRINTF(2, 0);

/* A string that grows. Zero it first; data is NULL or ends in a zero byte; text_free gives it back. */
struct text {
    char *data;
    size_t length, capacity;
};
void text_add(struct text *text, const char *format, ...) IR_PRINTF(2, 3);
void text_append(struct text *text, const char *bytes, size_t length);
void text_free(struct text *text);

/* ---- text from elsewhere: files, databases, other programs (plain_text.c) ---- */

/* Bytes of the well-formed UTF-8 character at s; 0: it is none. */
size_t utf8_character(const char *s, size_t left);
/* Whether a well-formed character is a control character. */
bool utf8_control(const char *s, size_t length);
/* Appends the text with `instead` for every control character but tabs (and newlines, where there may be several lines)
   and for what is not UTF-8. All that others wrote goes through this on its way to a terminal or a page. */
enum plain_lines { PLAIN_LINE, PLAIN_LINES };
void text_plain(struct text *text, const char *bytes, size_t length, enum plain_lines lines, const char *instead);

/* ---- diagnostics (diagnostics.c): one format, `file:line:column: error: message`, the line, a caret ---- */

struct position {
    int line, column; /* from 1; 0: nowhere in particular */
};

struct diagnostics;
/* `source` is the whole text of the file (it must outlive the object) and may be NULL. Messages are kept until
   diagnostics_flush. */
struct diagnostics *diagnostics_new(struct arena *arena, const char *file, const char *source, size_t length);
void diagnostics_error(struct diagnostics *d, struct position at, const char *format, ...) IR_PRINTF(3, 4);
void diagnostics_warning(struct diagnostics *d, struct position at, const char *format, ...) IR_PRINTF(3, 4);
/* A remark that belongs to the error or the warning before it. */
void diagnostics_note(struct diagnostics *d, struct position at, const char *format, ...) IR_PRINTF(3, 4);
int diagnostics_errors(const struct diagnostics *d); /* warnings are none */
/* Writes every message in the order of the file, an error's notes after it; returns the number of errors. */
int diagnostics_flush(struct diagnostics *d, FILE *out, bool color);
/* The word of `words` (NULL-ended) nearest to `text`, or NULL when none is near enough to be meant. */
const char *nearest_word(const char *text, const char *const *words);

/* ---- storage types ---- */

enum dtype { DTYPE_F32, DTYPE_BF16, DTYPE_F16, DTYPE_F64, DTYPE_I32 /* of parameters only */ };
const char *dtype_name(enum dtype dtype); /* "f32" */
bool dtype_parse(const char *text, enum dtype *dtype);
int dtype_bytes(enum dtype dtype);
enum dtype dtype_of_sums(enum dtype dtype); /* what is computed in where elements are stored so: f32, or f64 for f64 */

/* ---- axes and scalar expressions (expr.c) ---- */

enum size_source {
#define SIZE(name, text, sequence) SIZE_##name,
#include "size.def"
#undef SIZE
};
const char *size_name(enum size_source source); /* in the text of both IRs and in emitted C; of a constant "" */

struct axis {
    const char *name;
    enum size_source source;
    int64_t extent; /* SIZE_CONSTANT, SIZE_UNITS; of one chunk where it is chunks; SIZE_ROWS: the most */
};

enum { MAX_AXES = 24, MAX_RANK = 8, MAX_OPERANDS = 24, MAX_ASSIGNS = 8, MAX_RANGES = 24 };

enum expr_op {
#define EXPR(name, text, arguments, result, infix, effort, derivative) EXPR_##name,
#include "expr.def"
#undef EXPR
    EXPR_OPS
};

/* What computing an operation takes, from little to much: expr.def says more. */
enum expr_effort { EFFORT_NONE, EFFORT_SIMPLE, EFFORT_SLOW, EFFORT_FUNCTION };

enum expr_type { TYPE_REAL, TYPE_INT, TYPE_BOOL };

/* How EXPR_DRAWN draws. Made by expr_drawn, once for the same values. */
struct draw {
    int64_t count; /* how many numbers; all there are if that is no more */
    uint64_t seed;
    bool upto; /* among 0 … a, a what is drawn for; else among as many as the expression says */
    struct draw *next;
};

/* Interned: two expressions of one module are equal exactly when their pointers are. Never changed once made. */
struct expr {
    enum expr_op op;
    enum expr_type type;
    int id; /* order of making, from 0 */
    const struct expr *arg[3];
    double real;             /* EXPR_REAL */
    int64_t integer;         /* EXPR_INT: value; EXPR_OPERAND: its number; EXPR_INDEX, SIZE, LO, HI: the axis */
    const struct draw *draw; /* EXPR_DRAWN */
    const char *name;        /* EXPR_ID, MIN_ID, MAX_ID: the parameter; once for the same name */
    struct expr *next;       /* the interning table's chain */
};

/* What a graph and the loops made from it share: memory, axes, expressions. */
struct module {
    struct arena *arena;
    const char *name;
    enum dtype dtype; /* of the inputs and the output; all else is in dtype_of_sums(dtype) */
    int axes;
    struct axis axis[MAX_AXES];
    int exprs;
    struct expr **table; /* 4096 chains */
    struct draw *draws;
    struct id_name *id_names;
};

struct module *module_new(struct arena *arena, const char *name, enum dtype dtype);
int module_axis(struct module *m, const char *name, enum size_source source, int64_t extent); /* its number */
int module_find_axis(const struct module *m, const char *name);                               /* or -1 */
bool axis_is_sequence(const struct axis *a); /* loops over it go in tiles */
bool axis_is_chunks(const struct axis *a);
bool axis_is_counted(const struct axis *a); /* its extent does not depend on the problem */
bool axis_is_whole(const struct axis *a);   /* tiles have all of it, counted from 0: it is constant, or rows */

int expr_arity(enum expr_op op);
const char *expr_name(enum expr_op op);
/* The sign of a binary operator as C has it, or NULL. */
const char *expr_infix(enum expr_op op);
enum expr_effort expr_effort(enum expr_op op);
/* Whether e or anything that it is computed from takes at least `effort`. */
bool expr_takes(const struct expr *e, enum expr_effort effort);
/* The one expression of the module that is like this. Only for what the builders below cannot make. */
const struct expr *expr_intern(struct module *m, struct expr e);
/* Builders fold constants and apply identities that hold for every finite value (x + 0, x * 1, select on a constant,
   …). */
const struct expr *expr_real(struct module *m, double value);
const struct expr *expr_int(struct module *m, int64_t value);
const struct expr *expr_leaf(struct module *m, enum expr_op op, int number); /* OPERAND, INDEX, SIZE, LO, HI */
const struct expr *expr_make(struct module *m, enum expr_op op, const struct expr *a, const struct expr *b,
                             const struct expr *c);
/* Whether b is one of the numbers drawn for a out of 0 … among - 1. (draw.c) */
const struct expr *expr_drawn(struct module *m, const struct expr *a, const struct expr *b, const struct expr *among,
                              struct draw draw);
bool draw_holds(const struct draw *draw, int64_t a, int64_t b, int64_t among);
/* What EXPR_ID, MIN_ID and MAX_ID read: parameters of integers over batches and keys. `op` says which of the three;
   `to` is NULL for the first. (ids.c) */
const struct expr *expr_id(struct module *m, enum expr_op op, const char *name, const struct expr *b,
                           const struct expr *x, const struct expr *to);
bool expr_reads_ids(const struct expr *e);
/* The name of a parameter that the expression reads ids from and that `known` does not know; NULL: there is none. */
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
    bool outside; /* something was read beyond the end of an array */
};
void ids_add(struct ids *ids, const char *name, const double *data, int64_t batch, int64_t keys);
/* Without `ids`, or an array of that name, all are 0. */
int64_t ids_read(struct ids *ids, const char *name, int64_t b, int64_t x);
int64_t ids_extreme(struct ids *ids, const char *name, int64_t b, int64_t from, int64_t to, bool largest);
/* x to a whole power, by squarings. */
const struct expr *expr_power(struct module *m, const struct expr *x, int64_t power);
/* The expression with every occurrence of `from` replaced by `to`, rebuilt (and so folded). */
const struct expr *expr_replace(struct module *m, const struct expr *e, const struct expr *from, const struct expr *to);
/* The expression with operand k replaced by with[k]. */
const struct expr *expr_bind(struct module *m, const struct expr *e, const struct expr *const *with);
/* The derivative by a leaf, mostly an OPERAND; REAL 0 where the expression does not move with it.
   (expr_derivative.c) */
const struct expr *expr_derivative(struct module *m, const struct expr *e, const struct expr *leaf);
bool expr_uses(const struct expr *e, const struct expr *leaf);
bool expr_has(const struct expr *e, enum expr_op op);
bool expr_is_real(const struct expr *e, double value); /* the constant `value`, of either type */

/* What the leaves stand for while an expression is evaluated. */
struct environment {
    const double *operand; /* by number */
    const int64_t *index;  /* by axis, as are the next three */
    const int64_t *size, *lo, *hi;
    struct ids *ids; /* NULL: none */
};
double expr_eval(const struct expr *e, const struct environment *env);      /* float64; a comparison gives 0 or 1 */
int64_t expr_eval_int(const struct expr *e, const struct environment *env); /* e->type must not be TYPE_REAL */

/* ---- references: an element of a value or an array, for every point of the axes around it ---- */

struct ref {
    int of; /* number of the value (graph) or array (loops) */
    int rank;
    const struct expr *sub[MAX_RANK]; /* one integer expression in INDEX, SIZE per axis; most are just an INDEX */
};
bool ref_equal(const struct ref *a, const struct ref *b);
/* The axis that subscript k simply runs along, or -1 when it is any other expression. */
int ref_axis(const struct ref *r, int k);
bool ref_uses_axis(const struct ref *r, int axis);
/* Whether e, whose operands are these, changes along the axis. */
bool expr_uses_axis(const struct expr *e, const struct ref *operand, int axis);

enum fold { FOLD_SET, FOLD_SUM, FOLD_MAX };

/* ---- text and checks of expressions, for both IRs (expr_text.c, expr_verify.c) ---- */

/* What a reference refers to, as its text needs it. */
struct referred {
    const char *name; /* without the % */
    int rank;
    const int *axes;
};
typedef struct referred referred_by(const void *program, int of);

void real_print(double value, bool visibly_real, struct text *out); /* the shortest digits that read back exactly */
void axes_print(const struct module *m, int rank, const int *axes, struct text *out);
void ref_print(const struct module *m, const struct ref *r, referred_by *by, const void *program, struct text *out);
/* `operand` is what EXPR_OPERAND numbers; it prints as the reference itself. */
void expr_print(const struct module *m, const struct expr *e, const struct ref *operand, referred_by *by,
                const void *program, struct text *out);

/* A text being read. After an error, which is reported once, the token is the end of the text and every function
   returns something harmless. */
struct reader {
    struct module *module;
    struct diagnostics *diagnostics;
    const char *token, *line_start;
    size_t length; /* of the token; 0 at the end */
    int line, depth;
    bool failed;
    const void *program;
    /* Finds what `%name` means, referred to over its own axes. */
    bool (*find)(const void *program, const char *name, struct ref *plain);
    int operands; /* the references met in expressions, each once */
    struct ref operand[MAX_OPERANDS];
};
void reader_start(struct reader *r, struct module *m, const char *text, struct diagnostics *d);
void reader_next(struct reader *r);
void reader_error(struct reader *r, const char *format, ...) IR_PRINTF(2, 3); /* at the token */
bool reader_at(const struct reader *r, const char *token);
bool reader_take(struct reader *r, const char *token);   /* and go past it, if it is there */
void reader_expect(struct reader *r, const char *token); /* an error if it is not */
const char *reader_name(struct reader *r, const char *what);
int64_t reader_int(struct reader *r, int64_t min);
double reader_real(struct reader *r);
int reader_axis(struct reader *r);
void reader_axes(struct reader *r, int *rank, int *axes);
struct ref reader_ref(struct reader *r);
const struct expr *reader_expr(struct reader *r);
enum dtype reader_dtype(struct reader *r);
/* `{1, 2.5}`: exactly as many numbers as the axes, all constant, have elements. */
const double *reader_table(struct reader *r, int rank, const int *axes);
/* `axis NAME SIZE` lines. */
void reader_axis_lines(struct reader *r);
void axis_lines_print(const struct module *m, struct text *out);
void table_print(const struct module *m, int rank, const int *axes, const double *data, struct text *out);

/* The axes whose INDEX occurs, as bits. */
uint32_t expr_axes(const struct expr *e);
uint32_t ref_axes(const struct ref *r);
/* What an expression may hold where it stands. */
struct allowed {
    int operands;   /* EXPR_OPERAND below this */
    uint32_t index; /* INDEX of these axes */
    bool ranges;    /* LO and HI */
};
/* These return what is wrong, as a message in the module's arena, or NULL. */
const char *expr_check(struct module *m, const struct expr *e, const struct allowed *allowed);
const char *where_check(struct module *m, const struct expr *e, const struct allowed *allowed); /* a truth value */
const char *axes_check(struct module *m, int rank, const int *axes);
const char *module_check(struct module *m);
/* A reference to something with these axes: rank, types, and sizes where they are known. */
const char *ref_check(struct module *m, const struct ref *r, int rank, const int *axes, const struct allowed *allowed);
bool name_is_plain(const char *name);                  /* letters, digits, _ and . */
bool expr_integer_only(enum expr_op op, int argument); /* this argument of the operation may not be real */

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
    enum initial initial; /* PARAM that is learned: what it begins as; no part of what the graph means */
    bool integers;        /* PARAM: int32 over batches and keys, for EXPR_ID alone to read */
    bool sums;            /* INPUT: what another program of the same call has summed, not an array of the caller's */
    int rank;
    int axes[MAX_RANK]; /* in order of storage */
    int operands;
    struct ref operand[MAX_OPERANDS];
    const struct expr *expr; /* MAP: EXPR_OPERAND k is operand k */
    enum fold fold;          /* REDUCE: SUM or MAX */
    double init;             /* REDUCE: what it starts from; the result of an empty region */
    /* REDUCE, CONTRACT: the region of indices that takes part, a BOOL over INDEX and SIZE; NULL: all */
    const struct expr *where;
    /* REDUCE, CONTRACT, or -1: the value, a running maximum over the same axes, relative to which the terms are
       expressed: they carry the factor exp2(-maximum), so partial sums are rescaled by exp2(old - new) when it moves. A
       promise of the stabilise pass. */
    int online;
    /* REDUCE, CONTRACT over chunks, sums, or NULL: how the sum goes from one chunk to the next. The sum at chunk + 1 is
       `keep`, an expression over INDEX of the value's axes and SIZE, times that at chunk, plus the terms, as they are
       at chunk + 1, of the keys that the region has there and not at chunk; where the region is of chunks after, it is
       the sum at chunk that is `keep` times that at chunk + 1, and so on. A promise of the separate pass about the sum
       over the region, which is the value. */
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
        const char *name; /* of the array: "out" */
        int value;
    } output[MAX_OUTPUTS];
};

struct graph *graph_new(struct module *m);
struct graph *graph_copy(const struct graph *g); /* shares the module */
/* Builders return the number of the new value. Axes are given as a count and the numbers. */
int graph_input(struct graph *g, const char *name, int rank, const int *axes);
int graph_param(struct graph *g, const char *name, int rank, const int *axes); /* a learned one */
/* One of integers. */
int graph_ids(struct graph *g, const char *name, int rank, const int *axes);
/* A parameter that a seed can make; its axes are of constant extent. */
int graph_random(struct graph *g, const char *name, enum origin origin, int rank, const int *axes);
int graph_table(struct graph *g, const char *name, int rank, const int *axes, const double *data);
int graph_map(struct graph *g, int rank, const int *axes, int operands, const struct ref *operand,
              const struct expr *expr);
int graph_contract(struct graph *g, int rank, const int *axes, struct ref a, struct ref b, const struct expr *where);
int graph_reduce(struct graph *g, enum fold fold, double init, int rank, const int *axes, struct ref a,
                 const struct expr *where);
void graph_output(struct graph *g, const char *name, int v);
bool graph_is_output(const struct graph *g, int v);
/* A reference to value v: subscript k is `axes[k]`'s index, or v's own axes when `axes` is NULL. */
struct ref graph_ref(const struct graph *g, int v, const int *axes);
/* A value of this operation and shape that has nothing else yet. */
struct value graph_value(enum graph_op op, int rank, const int *axes);
/* Puts a value, whose operands are numbered below `at`, before value `at`; the rest is renumbered. */
void graph_insert(struct graph *g, int at, struct value v);
/* Puts a map of value v after it for what uses it, if a sum does: passes look for maps alone. Returns the values added.
 */
int graph_map_summed(struct graph *g, int v);
/* The value of that name; -1: there is none. */
int graph_find(const struct graph *g, const char *name);
/* Drops values that no output needs and renumbers. */
void graph_sweep(struct graph *g);
bool value_has_axis(const struct value *v, int axis);
/* How many operands refer to value v; being the output is one more. */
int graph_uses(const struct graph *g, int v);
bool graph_value_equal(const struct value *a, const struct value *b); /* of one module */
/* The operand number that `r` has in v, added when it is new; -1 when v has no room. */
int graph_operand(struct value *v, const struct ref *r);
/* Operand `at` of map v is itself the map `inner`: writes inner's expression in its place. False when there is no
   room. */
bool graph_inline(struct graph *g, struct value *v, int at, const struct value *inner);

/* Two tables of one name, over the same axes, with the same numbers: the only values that may share a name. */
bool graph_same_table(const struct graph *g, const struct value *a, const struct value *b);
/* What is wrong with the graph, as a message in its module's arena, or NULL. */
const char *graph_verify(const struct graph *g);
void graph_print(const struct graph *g, struct text *out);
/* Reads what graph_print wrote; NULL after reporting to d. */
struct graph *graph_parse(struct arena *arena, const char *text, struct diagnostics *d);

/* A tensor handed to or returned by an interpreter: float64, contiguous, axes in the order of the value that names it
   (a parameter over heads [H, …] is the same memory as [G, M, …]). */
struct tensor {
    const char *name;
    double *data;
};
struct problem_size {
    int64_t batch, kv_heads, members, n_q, n_k;
};
int64_t axis_extent(const struct module *m, int axis, const struct problem_size *size);
/* Evaluates the outputs into out (float64, contiguous, one after the other). Every value is built whole. Returns NULL,
   or what is wrong (a missing array, no memory). */
const char *graph_eval(const struct graph *g, const struct problem_size *size, const struct tensor *in, int count,
                       double *out);

/* ---- the loops (loops.c, loops_text.c, loops_eval.c) ---- */

enum array_kind { ARRAY_INPUT, ARRAY_PARAM, ARRAY_OUTPUT, ARRAY_TABLE, ARRAY_TILE };

struct array {
    enum array_kind kind;
    const char *name;
    enum dtype dtype;
    int rank;
    int axes[MAX_RANK];
    int64_t extent[MAX_RANK]; /* TILE: the most elements an axis' range can have (run-time axes count from LO); the last
                                 is padded to whole vectors */
    int64_t gap;              /* TILE: elements that lie between a row of the last axis and the next */
    bool paired; /* TILE of bf16: neighbours along the first axis, an even number of them, lie side by side, as products
                    of pairs take them; their first operand may also be a TILE of bf16 that is not, whose last axis is
                    the one summed over. Where that has an odd number of elements, a 0 follows */
    bool matrix; /* TILE of bf16: an operand of products on matrix units. Paired it is their second operand; else the
                    first, whose last axis is the one summed over. Beyond the ranges there are zeros, up to a multiple
                    of 32 along the axis summed over and of 16 along the other */
    int terms;   /* TILE, matrix: 2 or 3: a number copied into it is kept as the sum of that many numbers of bf16, first
                    the first terms of all numbers, then the second ones, then the third. In a product of two such sums
                    term i meets term j, from 0, if i + j is below the larger number of terms. 0: it is rounded */
    int64_t held; /* TILE: so many tiles of this shape, one for each range along the last axis that a FOR takes of the
                     block around it; 0: one, of the range at hand */
    bool sums;   /* INPUT, OUTPUT: not an array of the caller's, but sums that one program of a call leaves for another,
                    in the workspace, in the type that sums are made in: of queries with rows of whole vectors, of keys
                    with strides of their own */
    bool shared; /* TILE: seen by all threads at work on one head; else a thread's own. One over chunks is shared, too:
                    every chunk has a slot */
    bool kept;   /* TILE, shared: lies in the state that a caller keeps, and holds there what the chunks before the
                    first one of a call left */
    bool folded; /* TILE, kept: that of another state, which this one takes in */
    int64_t offset; /* TILE: bytes into the memory of its kind, a multiple of 64; -1: not placed, or never in memory */
    const double *data; /* TABLE */
};

struct assign {
    struct ref to;
    enum fold fold; /* SET; SUM, MAX: combined with what stands there, over the nest's axes that `to` lacks */
    const struct expr *expr;
    /* SUM: 1 + the array, a tile shaped like to's, that keeps what rounding left over and hands it to the next sum
       (Kahan); 0: none. In exact arithmetic it stays 0, which is all the interpreter knows of it. */
    int compensation;
};

/* The indices from <= x < to; where `drawn`, an EXPR_DRAWN, is not NULL only those for which it holds: what it draws
   for is over other axes, at some point of their current ranges (FOR) or at all of them (IF). */
struct range {
    const struct expr *from, *to, *drawn;
};

struct stmt {
    int op; /* enum loops_op */
    struct stmt *next;
    struct stmt *body; /* FOR, IF */
    /* FOR: ranges [x, min(x + step, to)) of `axis` for x = from, from + step, …; `where` is the region outside which
       the body does nothing. Bounds are integer expressions in SIZE, LO, HI. With `ranges` it runs, in order, over the
       indices that are in one of them: where they overlap or touch once, as one range. IF: `where` in SIZE, LO, HI; or,
       NULL, that the current range of `axis` is not wholly in the union of the ranges. */
    int axis;
    int ranges;
    const struct range *range;
    const struct expr *from, *to, *where;
    /* FOR, period > 0: only the indices x for which floormod(x - phase, period) < run. `apart`: a range holds up to
       `step` of them that are `period` apart, one residue after the other, and what is inside runs over these alone;
       else neighbours. */
    int64_t period, run;
    const struct expr *phase; /* in SIZE, LO, HI */
    bool apart;
    const struct expr *when; /* FOR: only in the ranges, its own in LO and HI among them, for which this holds; NULL: in
                                all. DOT: below */
    int64_t step;
    bool parallel;
    bool ordered; /* parallel, but what its iterations add to sums that are not of their own range alone they add in
                     the order of the iterations, each of them from the first position of the loops inside of it to the
                     last */
    bool window;  /* as many at a time as there are slots (over chunks only); a FOR in its body may run over the same
                     axis, from LO to HI */
    /* MAP: at every point of the current ranges of `axes`, the last being the lanes; the assignments in order, each
       seeing those before it. DOT: to = to * factor + sum over `axis` of row * lane (FOLD_SUM), or just the sum
       (FOLD_SET). `to` is [row axis, lane axis]; `row` lacks the lane axis, `lane` has it last and lacks the row axis;
       operand 0 is row, 1 is lane, 2, if there, the factor [lane axis]. Where `lane` is paired along `axis`, so is
       `row`, or it is stored in 16 bits with `axis` last. `where`: pairs outside this region take no part. `lane` is 0
       in them, so it matters only where `row` has an infinity or NaN. The current ranges hold such pairs only if `when`
       holds, or `axis` is outside of `ranges` as for IF; with neither they always may. COPY: assign[0].to = operand 0,
       over `axes`. */
    bool block; /* what the body does for the range it leaves to FORs in it over the same axis, from LO to HI */
    int rank;
    int axes[MAX_RANK];
    bool coarse;  /* MAP: what it assigns is rounded to bf16, or sums of that: exp2 may be as coarse */
    double times; /* DOT of pairs that sets: what the sum is multiplied by; 0: nothing */
    int operands;
    struct ref operand[MAX_OPERANDS];
    int assigns;
    struct assign assign[MAX_ASSIGNS]; /* DOT, COPY: only `to` and `fold` of the first */
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
    int64_t workspace, shared,
        slot, /* bytes: a thread's own, of the threads at work on a head, of a chunk in their hands; 0 until placed */
        kept; /* bytes of a head's part of the state that a caller keeps */
};

struct loops *loops_new(struct module *m);
struct loops *loops_copy(const struct loops *l);
int loops_array(struct loops *l, struct array array);
/* `wanted`, or with a number after it when an array has that name. */
const char *loops_unused_name(const struct loops *l, const char *wanted);
struct stmt *stmt_new(struct loops *l, int op);
struct stmt *stmts_copy(struct loops *l, const struct stmt *s, const struct stmt *end); /* from s on, without end */
/* Whether a statement itself reads or assigns elements of array a; whether it or a statement inside of it does either;
   and how many statements without a body, of a list and inside of it, do. */
bool stmt_reads(const struct stmt *s, int a);
bool stmt_writes(const struct stmt *s, int a);
bool stmt_touches(const struct stmt *s, int a);
int stmts_touching(const struct stmt *s, int a);
/* From one index of the range of a FOR to the next. */
int64_t stmt_stride(const struct stmt *s);
/* Whether both are MAPs over the same axes in the same order. */
bool stmt_same_nest(const struct stmt *a, const struct stmt *b);
/* A reference to array a over its own axes. */
struct ref loops_ref(const struct loops *l, int a);
/* Elements of memory that a tile takes, and all that are held; INT64_MAX when that is too many. */
int array_terms(const struct array *a); /* of a number in it: 1 where it is kept as it is */
int products_of_terms(int a, int b);    /* how many a product of sums of a and of b terms takes */
int64_t array_elements(const struct array *a);
/* Whether it is an input or output that has a number a row, which are side by side. */
bool array_of_rows(const struct loops *l, const struct array *a);
/* Whether it is one that has elements in the storage type for each row, and whose rows may stand apart. Inputs and
   outputs that are neither are as parameters are: gradients by these, and what they are summed from. */
bool array_of_elements(const struct loops *l, const struct array *a);
/* Whether the array is a tile over chunks. */
bool array_has_slots(const struct loops *l, const struct array *a);
/* Whether some product is of pairs; whether one is on matrix units. */
bool loops_paired(const struct loops *l);
bool loops_on_matrix_units(const struct loops *l);
/* Slots that a thread brings: more make longer segments, where they are small. */
int64_t loops_slots(const struct loops *l);
/* Bytes of workspace for a thread. */
int64_t loops_bytes(const struct loops *l);
/* The ranges of a FOR or IF as text, their reader, what is wrong with them or NULL, and whether the axis' index x is in
   one. (ranges.c) */
void ranges_print(const struct loops *l, const struct stmt *s, struct text *out);
void ranges_read(struct reader *r, struct stmt *s);
const char *ranges_check(struct module *m, const struct stmt *s);
const char *loops_verify(const struct loops *l);
void loops_print(const struct loops *l, struct text *out);
void stmt_print(const struct loops *l, const struct stmt *s,
                struct text *out); /* one line; of FOR and IF only the head */
struct loops *loops_parse(struct arena *arena, const char *text, struct diagnostics *d);
const char *loops_eval(const struct loops *l, const struct problem_size *size, const struct tensor *in, int count,
                       double *out);
/* What the loops over keys that queries meet would visit: their tiles; the points of these, over all run-time axes; in
   how many of these a region's test is made. */
struct visits {
    int64_t tiles, points, tested;
};
const char *loops_visits(const struct loops *l, const struct problem_size *size, struct visits *out);

#endif
