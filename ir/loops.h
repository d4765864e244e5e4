/* The loops: statements on tiles inside loops over ranges of axes. They define how the values are computed (loops.c,
   loops_text.c, loops_eval.c). */
#ifndef ATTNC_LOOPS_H
#define ATTNC_LOOPS_H

#include "reader.h"

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
    /* Used by TILE. If true, the tile is a sum over the tokens of a head, which a thread carries from chunk to chunk,
       or all threads if it is `shared` (pass/carried.c). It is 0 before the first chunk, or has a caller's sum. */
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

enum { MAX_NEST = 32 }; /* the largest number of FORs and IFs around a statement */

#define AHEAD_OF_RESULT (UINT32_C(1) << MAX_OPERANDS)

/* The test whether a decay makes all weights of a tile too small to change a sum (pass/faded.c). The exponent of a
   weight, to base 2, is a product of a query and a key, plus (of_query - of_key) * unit - shift.
   - If `running`, `shift` is a running maximum. The weight then counts relative to that of the query's own key. */
struct fading {
    struct ref of_query, of_key, shift;
    double unit;
    bool running;
};

enum { MAX_COMING = 6 };

/* Rows of arrays of the caller, which a product prefetches because later statements need them: `step` rows from index
   `first` of `axis` on. */
struct coming {
    int count, axis[MAX_COMING];
    struct ref rows[MAX_COMING];
    const struct expr *first[MAX_COMING];
    int64_t step;
};

enum { MAX_LOGS = 2 };

/* A sum over t of products whose terms decay differently (pass/decayed.c):
   to[key][query] += times * sum of x[t][query] * y[t][key] * exp2(scale * (a[t][query] - b[t][key]))
   Or a sum over keys or queries: to[query][t] += times * sum of x[query][key] * y[key][t] * exp2(…), or to[key][t] +=
   times * sum of x[query][key] * y[query][t] * exp2(…)
   - a, b: logarithms of decays. Each is the sum of `logs` numbers.
   - last: the last key of a query, an expression of the query's INDEX. Later keys need no sum. */
struct decaying {
    struct ref x, y, a[MAX_LOGS], b[MAX_LOGS];
    int logs;
    double times, scale;
    const struct expr *last;
};

/* The rows of the second operand of a LIST, and elements of a row of the first one. */
enum { CANDIDATES_HELD, CANDIDATES_ABOVE, CANDIDATES_BLOCK, CANDIDATES_LARGEST, ROWS_OF_CANDIDATES };

enum { RESUME_ROWS = 1, RESUME_LANES = 2, RESUME_SHARES = 4 };

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
    /* Used by FOR with one range, which is drawn from a given list. If true, kernels process `step` of its indices at a
       time, which need not be neighbours. The interpreter processes neighbours. */
    bool gathers;
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
         - With `backward`, t is in descending order, and the sum is over j > t.
       - SELECT adds the values of keys, or of blocks of `keys_of_block` keys, to the candidates of each lane. A value
       of NaN or -inf is no candidate. The keys come in ascending order.
         - The axes are the keys and the lanes. Operand 0 has the values, with both axes.
         - assign[0].to are the candidates, [lane, room]: the first half of a row has values, those of the `count` best
           keys at least, and the second half their numbers.
         - assign[1].to is [ROWS_OF_CANDIDATES, lane], first -inf: how many candidates there are (-inf: none), the value
           above which there are new ones, and the number and value of a block that is not complete.
       - LIST writes the numbers of the `count` best candidates in ascending order, then -1. Its axes are the lanes and
         those of the lists. Operands 0 and 1 are those of assign[0] and assign[1] in SELECT.
       - SCAN replaces each element of a tile by the sum of the elements before it along axes[0], or after it with
         `backward`, and of what is carried from earlier ranges.
         - axes[1] is the lanes. Operand 0 and assign[0].to are the tile. Operand 1 and assign[1].to are a tile of
           lanes: the sum of all elements of earlier ranges, to which those of the range are added.
       - A FOR with `backward` visits its ranges from the last to the first. They are those of a FOR without it. */
    bool backward;
    bool hides; /* SOLVE: weights of hidden pairs are 0, and then infinity and NaN of a solution have no effect */
    /* Used by FOR. If true, the body has FORs over the same axis that divide the range from LO to HI further. */
    bool block;
    int64_t count, keys_of_block; /* used by SELECT and LIST */
    int rank;
    int axes[MAX_RANK];
    /* Used by MAP. If true, exp2 may have low precision, because results are rounded to bf16. */
    bool coarse;
    /* Used by MAP and COPY. Rows of the caller whose successors, a range later, are prefetched: bit k is for
       operand k, and AHEAD_OF_RESULT for the first target. (pass/rows_ahead.c) */
    uint32_t ahead;
    /* Used by DOT: the rows that it prefetches. Used by DOT and COPY: if not NULL, another DOT prefetches the rows of
       this one. Kernels compute the same without. (pass/rows_ahead.c) */
    const struct coming *coming;
    /* Used by DOT. If not NULL, and no weight of the current ranges of queries and keys counts, the iteration of the
       FOR around the DOT ends. */
    const struct fading *fades;
    const struct decaying *decays; /* Used by MAP with `where`. If not NULL, describes the sum that it computes. */
    /* Rows whose solution is in the caller's state, because an earlier call has solved their equations. A FOR with
       RESUME_ROWS has such rows. Statements in it leave them out as bits tell (pass/resume.c):
       - RESUME_ROWS: these rows, along the first axis
       - RESUME_LANES: these rows, along the second axis, if only one row is new
       - RESUME_SHARES: this DOT of the new row and a DOT of the queries after the FOR can read operand 1 together */
    unsigned resumes;
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
/* Makes a tile, and returns a statement that sets it at every point of its axes. The caller fills in the rest. */
struct stmt *stmt_fill(struct loops *l, int op, struct array tile);
/* If s only masks a tile, to = select(region, to, c), returns this SELECT. Otherwise returns NULL. */
const struct expr *stmt_mask(const struct stmt *s);
/* Returns the axes of s and, for a DOT, the axis that it sums over, as bits. */
uint32_t stmt_axes(const struct stmt *s);
/* Whether r is contiguous along the axis, in whole vectors of `lanes` elements. */
bool ref_in_vectors(const struct loops *l, const struct ref *r, int axis, int64_t lanes);
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
/* Whether a MAP adds to a tile of pairs, over its middle or last axis. It can have `decays` if it has a region. */
bool stmt_sums_pairs(const struct stmt *s);
bool stmt_may_decay(const struct stmt *s);
/* Whether such a MAP adds rows of elements over the middle axis, a sequence. */
bool stmt_sums_elements(const struct module *m, const struct stmt *s);
/* Whether a DOT can have `fades`: it multiplies rows of queries and keys as numbers. */
bool stmt_may_fade(const struct loops *l, const struct stmt *s);
/* loops_paired returns true if an array is `paired`. loops_on_matrix_units returns true if an array has `matrix`. */
bool loops_paired(const struct loops *l);
bool loops_on_matrix_units(const struct loops *l);
/* Returns the number n of slots per thread, 1 to 4. A thread sums n chunks before it waits for the state of the
   previous thread. */
int64_t loops_slots(const struct loops *l);
/* Returns the bytes of workspace per thread. */
int64_t loops_bytes(const struct loops *l);
/* The text of ranges, and a check, which returns NULL or an error message. (ranges.c) */
void ranges_text(struct format *f, struct stmt *s);
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
