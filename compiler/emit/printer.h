/* The state of the printer, and functions that print names, numbers, addresses and statements. Terms:
   - current range of an axis: the indices of its innermost loop, such as i0 <= i < i1 for a tile of queries i
   - task: the work of one call, which is a tile of queries or keys, a slice of rows, or a head
   - slice: one of the equal parts of all rows (queries), or of a head's rows. Identifiers call it a unit.
   - phase: a function for one parallel loop in a head. The threads run phases in turn.
   - slot: memory for one chunk's state
   - segment: chunks that one thread processes
   - member: a query head of a key/value head
   - region: the pairs that a sum runs over
   - ids: an integer for each position, such as the number of its document. Regions can compare ids.
   - part of backward: a program that computes some gradients. Parts run one after the other.
   - few: the variant of the code for few queries, with keys in the lanes */
#ifndef ATTNC_EMIT_PRINTER_H
#define ATTNC_EMIT_PRINTER_H

#include "contents.h"
#include "emit.h"
#include "integer.h"
#include "outer.h"
#include "place.h"
#include "product.h"
#include "../analysis/analysis.h"
#include "../schedule/schedule.h"
#include "../spec/spec.h"
#include "../support/support.h"
#include "../target/target.h"

enum { MAX_ID_RANGES = 16 }; /* the largest number of ranges of ids that a tile declares (ids.c) */

/* Returns the suffix of a compilation's functions. It is the target, such as "v4", and the register block if it is
   not the default. */
const char *emit_suffix(const struct compilation *c);
/* A function for products of one shape (product_function.c). `list` has its parameters. `call` is the call in its
   body, without the closing parenthesis. */
struct product_function {
    const char *list, *call;
    bool waits; /* only code that waits calls it (emission_waits) */
    struct product_function *next;
};

struct served;

enum { MAX_KEPT_PARTS = 8 };
enum { PREFETCH_ROWS = 64 }; /* products prefetch rows this far ahead, which hides the latency of memory */

/* The state of the printer for one compilation. */
struct emitter {
    const struct compilation *c;
    bool stores_chunks;             /* extend can store the sums of chunks in an array of the caller */
    bool outer;                     /* the carried states begin with outer sums (outer.c) */
    const char *outer_modes;        /* what emit_outer_modes returns, or NULL before its first call */
    const struct needed *needed[2]; /* arrays that calls need if they only add to outer sums, or NULL (outer.c) */
    const struct emission *emission;
    const struct kernel_arrays *arrays;
    const struct loops *l;
    struct module *m;
    const char *suffix, *real;          /* such as "v4" and "float" */
    const char *input, *output;         /* such as "const float *" and "float *" */
    int lanes, vectors, rows;           /* lanes: lanes of a vector; vectors, rows: the register block of a product */
    int unroll;                         /* vectors that a MAP computes at a time */
    struct product_function **products; /* product functions, shared by compilations with the same suffix */
    bool waits;                         /* emission_waits of the compilation */
    bool compensated;                   /* some sum is compensated (Kahan) */
    int64_t unit_depth;                 /* the largest number of terms of a unit_dot with padded rows */
    /* the largest number of terms of a product over a region: of reals, and of bf16 pairs */
    int64_t region_keys, region_pairs;
    int64_t decayed_keys;  /* the largest number of keys in the sums of decayed_rows, in whole blocks */
    int64_t along_terms;   /* the largest number of terms of a dot_along product */
    int64_t fetched_lanes; /* the largest number of lanes of a dot_fetched product */
    struct text *out;
    int indent, temporaries;
    const struct stmt *result;  /* the COPY whose rows the task's first product prefetches, or NULL */
    const struct stmt *resumed; /* the loop around the statement with stmt.resumes, or NULL */
    /* 1 + the axis of rows whose solution is in the state, if the statement that is printed leaves them out. Else 0 */
    int new_rows;
    const struct stmt *with_rows; /* the product of queries that a product of new rows may have computed, or NULL */
    bool task_axis[MAX_AXES]; /* axes with a fixed index in a task, such as b; pointers to arrays include that index */
    int64_t stride[MAX_AXES]; /* distance between neighbouring indices in the current range; 0 means 1 */
    bool block[MAX_AXES];     /* axes whose current range is a block, which inner loops divide into tiles */
    uint32_t backward;        /* axes whose ranges are visited from the last to the first, as bits */
    bool from_last[MAX_AXES]; /* axes whose tiles are tasks, the last tile first */
    /* true if the code that is printed now runs only if the last axis of its array is contiguous */
    bool contiguous;
    const struct stmt *gathers;  /* the loop around the statement that gathers rows, or NULL */
    const struct stmt *in_pages; /* the last loop over keys whose rows may be in pages, or NULL */
    bool cut[MAX_AXES];          /* constant axes whose current range is only a part of the axis: f0 <= f < f1 */
    /* true if the functions are phases and find their memory in struct share; false if it is in `work` */
    bool phases;
    bool in_window; /* true if the current range of the chunk axis is several chunks */
    int drawns;     /* the number of random draws whose lists are declared */
    const struct expr *drawn[MAX_DRAWN];
    int64_t workspace_used;               /* the next free byte after the tiles */
    int ids;                              /* the number of declared ranges of ids */
    const struct expr *id[MAX_ID_RANGES]; /* the MIN_ID or MAX_ID of each declared range */
    struct served *served;                /* outputs that depend on each statement (optional_outputs.c), or NULL */
    const struct expr *start;             /* the last EXPR_START that was printed, or NULL */
    const struct range *hoisted;          /* the ranges of the last union that emit_outside declared */
    int parts; /* parts of subscripts that an array of integers has for each lane, and the C of their elements */
    const struct expr *part[MAX_KEPT_PARTS];
    const char *part_c[MAX_KEPT_PARTS];
};
/* Breaks lines longer than 120 columns, except directives, literals and the attnc command. */
void emit_fold(struct text *file);
void emit_line(struct emitter *x, const char *format, ...) IR_PRINTF(2, 3);
/* emit_open prints a line and indents later ones. emit_close ends a block. */
void emit_open(struct emitter *x, const char *format, ...) IR_PRINTF(2, 3);
void emit_close(struct emitter *x);
const char *emit_format(const struct emitter *x, const char *format, ...) IR_PRINTF(2, 3); /* in the module's arena */
const char *emit_whole(const struct emitter *x, int64_t n); /* a number's decimal digits */
/* emit_target_names prints the names that describe the target and what the kernel asks of it. emit_vector_functions
   prints the #include lines of the functions that `code` calls. (vector.c) */
void emit_target_names(const struct emitter *x, struct text *out);
void emit_vector_functions(const struct emitter *x, const char *code, struct text *out);
const char *emit_real(enum dtype dtype);   /* the C type of computations for `dtype` */
/* Returns the part of a function's name that tells the type of rows in memory, such as "_q8_0". Returns "" for the type
   of the module and of numbers. */
const char *emit_type_suffix(const struct module *m, enum dtype dtype);
/* Prints the functions of one compilation. (phases.c) */
void emit_tasks(struct emitter *x, struct text *out);
/* emit_function returns a function's name: NAME_part_v4, or NAME_part_from4096_v4 if the function is for 4096 or
   more keys. emit_form returns the `part` of the main function, such as "linear". (function_name.c) */
const char *emit_function(const struct compilation *c, const char *part);
const char *emit_form(const struct compilation *c);
/* If a task is a slice, returns the number of slices of the rows: in total, per batch entry, or per head.
   - 1: tasks run over all rows, or add partial sums
   - 0: a task is a tile or a head */
int64_t emit_units_of(const struct loops *l, bool backward);
/* Returns whether tasks are tiles of keys. */
bool emit_tasks_of_keys(const struct loops *l);
/* Returns whether tasks of a head add to shared sums in order. */
bool emit_in_order(const struct loops *l);
bool emit_in_order_for_keys(const struct loops *l); /* whether the tiles are of queries, and the sums of keys */
/* Returns the distance between the positions of a tile's neighbouring queries. */
int64_t emit_tasks_apart(const struct loops *l);
/* emit_is_wanted returns whether the array is an optional output. emit_condition returns a C condition that the
   caller wants an output which depends on the statement, or NULL. (optional_outputs.c) */
bool emit_is_wanted(const struct emitter *x, const struct array *a);
const char *emit_condition(struct emitter *x, const struct stmt *s);
/* Tiles that a thread remembers (remembered.c):
   - emit_remembered returns the remembered tile that the statement fills, or NULL.
   - emit_remembered_tiles sets the offsets of a program's remembered tiles, and returns their number.
   - emit_remembered_rank returns the largest rank of a remembered tile in some programs: 0, 1 or 2.
   - emit_recall prints the declarations for such a statement. emit_missing prints the statement, by `print`, for the
     elements that the thread does not have.
   - emit_first_kept_tile returns the first remembered tile of queries and keys, or NULL. emit_kept_tiles_of_head
   returns C for the number of such tiles of a head. */
const struct array *emit_first_kept_tile(const struct loops *l);
const char *emit_kept_tiles_of_head(const struct emitter *x, const struct array *a);
const struct array *emit_remembered(const struct emitter *x, const struct stmt *s);
int emit_remembered_tiles(const struct loops *l, int64_t offset[MAX_REMEMBERED]);
int emit_remembered_rank(const struct compilation *const *c, int compilations);
void emit_recall(struct emitter *x, const struct stmt *s);
void emit_missing(struct emitter *x, const struct stmt *s, void (*print)(struct emitter *x, const struct stmt *s));
/* Prints the test of a DOT with `fades`. (faded.c) */
void emit_faded(struct emitter *x, const struct stmt *dot);

/* Prints the statements to x->out. */
void emit_statements(struct emitter *x, const struct stmt *s);
/* Prints a MAP with `decays`. Returns false if its operands are stored in another way. (decayed.c) */
bool emit_decayed(struct emitter *x, const struct stmt *s);
/* Returns C that prefetches elements of operand k, or of the result, in the row that is the current number of rows
   later. Returns NULL if the statement reads no such rows ahead, or their elements may not be adjacent. (address.c) */
const char *emit_row_ahead(struct emitter *x, const struct stmt *s, int k);
/* Prints a SOLVE statement. (solve.c) */
void emit_solve(struct emitter *x, const struct stmt *s);
/* Print a SELECT or LIST statement. (select.c) */
void emit_select(struct emitter *x, const struct stmt *s);
void emit_list_of_keys(struct emitter *x, const struct stmt *s);
void emit_scan(struct emitter *x, const struct stmt *s);
/* Opens the loops over tiles of a FOR statement. (ranges.c) */
void emit_tile_loops(struct emitter *x, const struct stmt *s);
void emit_map(struct emitter *x, const struct stmt *s);
/* Prints C that sets each mask in `to`, one for each vector of the axis `lane`. A mask selects the lanes
   that are in `region`. */
void emit_region(struct emitter *x, const struct expr *region, int lane, const char *to);

enum { FOLD_GROUPS = 16 }; /* groups of the elements of states; threads add their segments to a group in order */

/* Prints a COPY statement. In a tile, lanes after the current range become 0, so that later statements can use whole
   vectors. */
void emit_copy(struct emitter *x, const struct stmt *s);

#endif
