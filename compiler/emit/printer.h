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

#include "emit.h"
#include "../analysis/analysis.h"
#include "../schedule/schedule.h"
#include "../spec/spec.h"
#include "../support/support.h"
#include "../target/target.h"

enum { MAX_ID_RANGES = 16 }; /* the largest number of ranges of ids that a tile declares (ids.c) */

/* Returns the suffix of a compilation's functions. It is the target, such as "v4", and the register block if it is
   not the default. */
const char *emit_suffix(const struct compilation *c);
/* These functions are for --standalone (standalone.c). standalone_types prints the types of attnrt.h.
   standalone_paste prints the C text `kernel` after the files of the runtime whose functions it and `loops` call, with
   headers in place of its #include lines. Prints `loops` to loops_out, without the headers that `kernel` includes. */
void standalone_types(struct text *out);
void standalone_paste(const char *kernel, const char *loops, struct text *out, struct text *loops_out);

/* A function for products of one shape (product_function.c). `list` has its parameters. `call` is the call in its
   body, without the closing parenthesis. */
struct product_function {
    const char *list, *call;
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
    const bool *outer_states;       /* for each array: whether it is one of these states; or NULL */
    const char *outer_modes;        /* what emit_outer_modes returns, or NULL before its first call */
    const struct needed *needed[2]; /* arrays that calls need if they only add to outer sums, or NULL (outer.c) */
    const struct emission *emission;
    const struct kernel_arrays *arrays;
    const struct loops *l;
    struct module *m;
    const char *suffix, *real;          /* such as "v4" and "float" */
    int lanes, vectors, rows;           /* lanes: lanes of a vector; vectors, rows: the register block of a product */
    int unroll;                         /* vectors that a MAP computes at a time */
    struct product_function **products; /* product functions, shared by compilations with the same suffix */
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
    bool from_last[MAX_AXES]; /* axes whose tiles are tasks, the last tile first */
    /* true if the code that is printed now runs only if the last axis of its array is contiguous */
    bool contiguous;
    const struct stmt *in_pages; /* the last loop over keys whose rows may be in pages, or NULL */
    bool cut[MAX_AXES];          /* constant axes whose current range is only a part of the axis: f0 <= f < f1 */
    /* true if the functions are phases and find their memory in struct part; false if it is in `work` */
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
/* emit_target_names prints the names that describe the target and what the kernel asks of it. emit_vector_functions
   prints the #include lines of the functions that `code` calls. (vector.c) */
void emit_target_names(const struct emitter *x, struct text *out);
void emit_vector_functions(const struct emitter *x, const char *code, struct text *out);
/* Returns C for the number of rows of this type that a product with one row prefetches ahead, or NULL.
   `parts`: they are read in place, even if they are on several pages (emit_in_parts). */
const char *emit_early(const struct emitter *x, enum dtype dtype, bool parts);
/* Returns the number of rows of this type that a product over rows adds at a time, and that one with several rows
   prefetches ahead. */
int emit_rows_at_once(const struct target *target, enum dtype dtype);
int emit_early_for_several(const struct target *target, enum dtype dtype);
const char *emit_real(enum dtype dtype);   /* the C type of computations for `dtype` */
const char *emit_stored(enum dtype dtype); /* the C type of a stored element */
/* Returns the part of a function's name that tells the type of rows in memory, such as "_q8_0". Returns "" for the type
   of the module and of numbers. */
const char *emit_type_suffix(const struct module *m, enum dtype dtype);
/* Prints the functions of one compilation. (phases.c) */
void emit_tasks(struct emitter *x, struct text *out);
/* emit_function returns a function's name: NAME_part_v4, or NAME_part_from4096_v4 if the function is for 4096 or
   more keys. emit_form returns the `part` of the main function, such as "linear". (function_name.c) */
const char *emit_function(const struct compilation *c, const char *part);
const char *emit_form(const struct compilation *c);
/* Returns whether a task is a head that is printed in phases. */
bool emit_in_phases(const struct loops *l);
/* Returns the number of queries or keys of a task. 0 means a whole key/value head, and -1 means a whole query head. */
int64_t emit_tasks_of(const struct loops *l);
/* If a task is a slice, returns the number of slices of the rows: in total, per batch entry, or per head.
   - 1: tasks run over all rows, or add partial sums
   - 0: a task is a tile or a head */
int64_t emit_units_of(const struct loops *l, bool backward);
/* Returns whether tasks are tiles of keys. */
bool emit_tasks_of_keys(const struct loops *l);
/* Returns whether the states of loops in phases are sums over queries. (outer.c) */
bool emit_sums_queries(const struct loops *l);
/* Outer sums (outer.c):
   - emit_carries_outer returns whether the states of a compilation can begin with outer sums.
   - emit_reads_whole returns whether states in phases are read only after the last chunk.
   - emit_outer_adds returns whether the outer sums of two sets of tokens are added: they have no decay or maximum.
   - emit_sums_later returns whether these states sum later tokens, not earlier ones.
   - emit_outer_array_bytes returns the bytes of the outer sums that array `a` has.
   - emit_outer_bytes returns the bytes of the outer sums of a task.
   - emit_outer_copies prints a piece of task.c that copies outer sums to the states, or back if `takes` is false.
     (outer_copies.c) */
bool emit_carries_outer(const struct emission *p, const struct compilation *c);
bool emit_reads_whole(const struct loops *l);
bool emit_outer_adds(const struct emission *p);
bool emit_sums_later(const struct compilation *c);
int64_t emit_outer_array_bytes(const struct array *a);
int64_t emit_outer_bytes(const struct loops *l);
void emit_outer_copies(const struct emitter *x, bool takes, const char *piece, struct text *out);
/* Calls that only add to outer sums (outer.c):
   - emit_outer_modes returns C for the bits of the sums for which a part runs, or "" if there are none.
   - emit_outer_results returns whether the part then computes an array for another part.
   - emit_outer_leaves returns C of another condition for the output `a`, which such a call may not need.
   - emit_outer_states returns whether each array is a state, and emit_outer_state whether one begins with outer sums.
 */
const char *emit_outer_modes(const struct emission *p, const struct compilation *c);
bool emit_outer_results(const struct emission *p, const struct compilation *c);
const char *emit_outer_leaves(struct emitter *x, const struct array *a);
bool *emit_outer_states(const struct loops *l);
bool emit_outer_state(const struct emitter *x, int array);
/* For states that a thread carries, print the following. For others, do nothing. (outer_copies.c)
   - emit_begin_outer: a pointer to the outer sums of the task
   - emit_take_outer: copies of outer sums to the states that statement s has set to 0
   - emit_give_outer: copies of the states to outer sums, at the end of the task */
void emit_begin_outer(struct emitter *x);
void emit_take_outer(struct emitter *x, const struct stmt *s);
void emit_give_outer(struct emitter *x);
/* Returns whether tasks of a head add to shared sums in order. */
bool emit_in_order(const struct loops *l);
/* Returns the distance between the positions of a tile's neighbouring queries. */
int64_t emit_tasks_apart(const struct loops *l);
/* emit_is_wanted returns whether the array is an optional output. emit_condition returns a C condition that the
   caller wants an output which depends on the statement, or NULL. (optional_outputs.c) */
bool emit_is_wanted(const struct emitter *x, const struct array *a);
const char *emit_condition(struct emitter *x, const struct stmt *s);
/* Returns the table entry of an array whose rows have strides in struct call (address.c). Such an array is a
   parameter with a row per token, or an output with a number per query. Returns NULL for other arrays. */
const struct kernel_array *emit_strided_rows(const struct emitter *x, const struct array *a);
/* Returns whether the array is the gradient of a parameter. Such a gradient is contiguous. */
bool emit_is_gradient_of_param(const struct emitter *x, const struct array *a);
/* Arrays whose strides the caller may give (strided.c):
   - emit_strided returns the entry in the kernel's table, or NULL for any other array.
   - emit_axis_of_caller returns the caller's number of axis k of the array. An axis of query heads is two axes here.
   - emit_axis_of_heads returns whether axes k and k + 1 are a single axis of query heads for the caller.
   - emit_stride_of_caller returns C for the stride of axis k. emit_last_stride returns C for the stride of the last
     axis.
   - emit_levels_of lists the axes. An axis of rows (SIZE_ROWS) is listed as two axes: members and queries.
   - emit_subscripts_of_row divides the number of a row of integers into a subscript for each axis but the last. It
     returns the number of subscripts. */
struct axis_of_caller {
    const struct expr *size;
    const char *stride;
};
const char *emit_local(const struct emitter *x, const char *name);
const struct kernel_array *emit_strided(const struct emitter *x, const struct array *a);
bool emit_axis_of_heads(const struct emitter *x, const struct array *a, int k);
int emit_axis_of_caller(const struct emitter *x, const struct array *a, int k);
const char *emit_stride_of_caller(const struct emitter *x, const struct array *a, int k);
const char *emit_last_stride(const struct emitter *x, const struct array *a);
int emit_levels_of(const struct emitter *x, const struct array *a, struct axis_of_caller *level);
int emit_subscripts_of_row(const struct emitter *x, const struct array *a, const struct expr *row,
                           struct axis_of_caller *level, const struct expr **sub);
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
/* Returns whether a product of new rows in the loop and a product of queries after it share a pass over the state.
   The C variable with_rows then tells whether the first product has computed both. (product.c) */
bool emit_shares_pass(struct emitter *x, const struct stmt *rows);
/* Prints the test of a DOT with `fades`. (faded.c) */
void emit_faded(struct emitter *x, const struct stmt *dot);

/* Returns C for the index of a key/value head in the array. The heads of q and k may be shared by several heads. */
const char *emit_head_index(const struct emitter *x, const struct array *a, const char *index);

/* Functions for rows of integers in arrays whose strides the caller may give (integer.c):
   - emit_last_size returns C for the size of the last axis.
   - emit_offset_of_lane returns C for the offset of a row that differs by lane, in a loop over `lane`. of_lanes
     declares a variable with the values of a subscript, and returns its name.
   - emit_step_of_lanes returns C for the distance from an element to the element `positions` later in row `next`. It
     returns NULL if the distance is not known. */
const char *emit_last_size(struct emitter *x, const struct array *a);
const char *emit_offset_of_lane(struct emitter *x, const struct array *a, const struct expr *row, int lane,
                                const char *(*of_lanes)(void *user, const struct expr *sub), void *user);
const char *emit_step_of_lanes(struct emitter *x, const struct array *a, const struct expr *row,
                               const struct expr *next, int64_t positions);
const char *emit_ids_of_box(struct emitter *x, const struct array *a, const struct expr *first, const struct expr *last,
                            const char *from, const char *to);
/* emit_of_rows returns whether the array has one number per query and is not the gradient of a parameter.
   emit_has_row_strides returns whether the array has a vector for each row, and strides of the rows. A gradient with
   respect to an array in `params` is contiguous, so it has no such strides. */
bool emit_of_rows(const struct emitter *x, const struct array *a);
bool emit_has_row_strides(const struct emitter *x, const struct array *a);
/* Returns whether an array has elements for each query head. */
bool emit_has_members(const struct emitter *x, const struct array *a);
/* Returns whether extend moves the parameter's pointer to the first sequence of a call. */
bool emit_starts_at_first(const struct emitter *x, const struct array *a);
/* Returns whether a state stores only the array's first and last rows. */
bool emit_has_dropped(const struct emitter *x, const struct array *a);
/* Rows of keys that are read from memory or pages (pages.c):
   - emit_is_along returns whether both operands of a product are contiguous along its sum.
   - emit_is_fetched returns whether emit_dot prints the product as a dot_fetched product.
   - emit_reads_keys returns whether the statement or its body reads rows of keys of the array.
   - emit_find_pages declares pointers to the rows of keys in the loop's current range, which may be in pages. Rows are
     indexed by position.
   - emit_in_parts returns whether the loop x->in_pages reads the array only by products that can read its rows in
     parts. paged_NAME is NULL then if its rows are on several pages that are long enough.
   - emit_paged_rows returns C for paged_NAME. `parts` is the number that paged_rows takes.
   - emit_paged_row returns C for the address of row `at`, or NULL if there is no such row. emit_paged_after returns C
     for the `after` of a product whose rows end there. */
bool emit_is_along(const struct emitter *x, const struct stmt *s);
bool emit_is_fetched(const struct emitter *x, const struct stmt *s);
bool emit_reads_keys(const struct emitter *x, const struct stmt *s, int array);
void emit_find_pages(struct emitter *x, const struct stmt *s);
bool emit_in_parts(const struct emitter *x, int array);
const char *emit_paged_rows(const struct emitter *x, int array, int64_t parts);
const char *emit_paged_row(const struct emitter *x, int array, const char *at);
const char *emit_paged_after(const struct emitter *x, int array, const char *at);
/* Returns whether the reference reads the row of a key. Otherwise it reads the row at the query's position. */
bool emit_is_of_key(const struct emitter *x, const struct ref *r);
/* Returns the member of struct call for what is looked up for a row (struct common_keys), or NULL if e is not. */
const char *emit_place(const struct module *m, const struct expr *e);
/* Returns C that declares the position of the first query, for x->start. emit_has_query_start returns whether a task
   has one such position. (integer.c) */
bool emit_has_query_start(const struct emitter *x);
const char *emit_query_start(struct emitter *x);
/* Prints the statements to x->out. */
void emit_statements(struct emitter *x, const struct stmt *s);
/* Prints a DOT statement. (product.c) */
void emit_dot(struct emitter *x, const struct stmt *s);
/* Prints a MAP with `decays`. Returns false if its operands are stored in another way. (decayed.c) */
bool emit_decayed(struct emitter *x, const struct stmt *s);
/* Returns C that prefetches elements of operand k, or of the result, in the row that is the current number of rows
   later. Returns NULL if the statement reads no such rows ahead, or their elements may not be adjacent. (copy.c) */
const char *emit_row_ahead(struct emitter *x, const struct stmt *s, int k);
/* Prints a SOLVE statement. (solve.c) */
void emit_solve(struct emitter *x, const struct stmt *s);
/* Returns the maximum number of lanes of a product into `to` (address.c).
   - For a constant axis, it is the extent, rounded up to whole vectors.
   - For another axis, it is the row length of the tile, or INT64_MAX. */
int64_t emit_most_lanes(const struct emitter *x, const struct ref *to);
/* Prints the functions that products call (product_function.c). */
void emit_products(const struct emitter *x, struct text *out);
/* An argument of a product: the parameter's name and C type, and its value as C. */
struct product_argument {
    const char *name, *type, *value;
};
/* Prints a call of the function for this product (product_function.c). Constant arguments are not passed, because
   the function's body has them. Arguments without a value are left out. */
void emit_product_call(struct emitter *x, const char *product, const struct product_argument *argument, int arguments);
/* Returns the COPY at the end of a task whose rows a product in a loop of the task can prefetch, or NULL. */
const struct stmt *emit_prefetched_result(struct emitter *x, const struct stmt *task);
/* For matrix units (matrix.c):
   - emit_matrix_dot prints a DOT.
   - emit_matrix_across prints a DOT that adds to shared sums.
   - emit_matrix_copy prints a COPY into an operand. */
void emit_matrix_dot(struct emitter *x, const struct stmt *s);
void emit_matrix_across(struct emitter *x, const struct stmt *s);
void emit_matrix_copy(struct emitter *x, const struct stmt *s);
/* Each of these functions returns C:
   - emit_range: the number of indices in the current range
   - emit_array: the array's name
   - emit_corner: the address of the first element in the current ranges */
const char *emit_range(struct emitter *x, int axis);
const char *emit_array(const struct emitter *x, const struct ref *r);
const char *emit_corner(struct emitter *x, const struct stmt *s, const struct ref *r);
/* Returns whether loops over axis i have tiles. If so, the C has i0 and i1, and i counts from 0 in a tile. */
bool emit_tiled(const struct emitter *x, int axis);
/* emit_first returns the first value of the loop variable, and emit_starts_at_zero whether it is known to be 0.
   emit_end returns the end, which is not included. */
const char *emit_first(const struct emitter *x, int axis);
bool emit_starts_at_zero(const struct emitter *x, int axis);
const char *emit_end(const struct emitter *x, int axis);
/* Opens the loops over tiles of a FOR statement, and returns the number of loops. (ranges.c) */
int emit_tile_loops(struct emitter *x, const struct stmt *s);
/* Returns C for the memory of a held array (address.c). Such an array is a tile that is stored for each range of a
   block. */
const char *emit_held(const struct emitter *x, const struct array *a);
/* emit_outside returns a C condition that the current range is partly outside the union of the statement's ranges.
   emit_drawn_lists declares the lists of random draws of a loop, before the loop or `inside`. emit_drawn_name
   returns the name of such a list. */
const char *emit_outside(struct emitter *x, const struct stmt *s);
void emit_drawn_lists(struct emitter *x, const struct stmt *loop, bool inside);
const char *emit_drawn_name(const struct emitter *x, const struct expr *drawn);
/* emit_ids declares the minimum and maximum of ids that a loop's conditions compare. The declarations are before the
   loop or `inside`. emit_id_end returns C for one of them (ids.c). */
void emit_ids(struct emitter *x, const struct stmt *s, bool inside);
const char *emit_id_end(struct emitter *x, const struct expr *e);
/* Returns C for a struct ids with the minimum and maximum of the integers in the range of a MIN_ID or MAX_ID. */
const char *emit_ids_in_range(struct emitter *x, const struct expr *e);
/* Returns the number of the table of tiles for the array that a MIN_ID or MAX_ID reads. Returns -1 if the array has
   no table. */
int emit_table_of(const struct emitter *x, const struct expr *e);
/* Returns C for the number of rows of the array that an ID reads. */
const char *emit_rows(struct emitter *x, const struct expr *e);
/* Returns whether the array of an ID, MIN_ID or MAX_ID stores truth values, or reals of which -inf hides a pair. */
bool emit_reads_flags(const struct emitter *x, const struct expr *e);
/* Returns the name of the pointer to the first element of an array that IDs read. A pointer to reals that hide may also
   point to the task's elements. */
const char *emit_ids_base(const struct emitter *x, const struct array *a);
/* Returns C for the value that an ID reads in this element of its array. */
/* Returns C for the element at `at` of a row, or the one at the nearest end. `array` is the row's address. */
const char *emit_element_along(struct emitter *x, const struct expr *e, const char *array, const char *at);
const char *emit_id_of(const struct emitter *x, const struct array *a, const char *element);
/* The integer parameter that an ID, MIN_ID or MAX_ID reads. */
const struct array *emit_ids_array(const struct emitter *x, const struct expr *e);
/* These functions treat the integer parameter that an ID, MIN_ID or MAX_ID reads as rows of its last axis
   (integer.c).
   - emit_ids_of_sequence returns C for the address of the row.
   - emit_row_length returns C for the number of elements in a row.
   - emit_row returns the row's number, counted from the row that the array's pointer points to.
   - emit_starts_at_sequence returns whether the array's pointer includes the task's batch index. */
bool emit_starts_at_sequence(const struct emitter *x, const struct array *a);
const char *emit_row_length(const struct emitter *x, const struct expr *e);
const struct expr *emit_row(const struct emitter *x, const struct expr *e);
const char *emit_ids_of_sequence(struct emitter *x, const struct expr *e);
/* Returns the axes of all loops in the list, and of the loops inside them, as bits. */
uint32_t emit_loop_axes(const struct stmt *s);
void emit_map(struct emitter *x, const struct stmt *s);
/* Prints C that sets each mask in `to`, one for each vector of the axis `lane`. A mask selects the lanes
   that are in `region`. */
void emit_region(struct emitter *x, const struct expr *region, int lane, const char *to);
/* Returns the integer expression `e` as scalar C. */
const char *emit_integer(struct emitter *x, const struct expr *e);
/* Returns the shortest C literal that is read back as `value`. It is a float if `narrow`, otherwise a double. */
const char *emit_number(const struct emitter *x, double value, bool narrow);
/* C for the place of an element: the array, and the offset in it. NULL: the first element. */
struct element_text {
    const char *array, *offset;
};
struct element_text emit_element_text(struct emitter *x, const struct ref *r);
/* Returns C for the address of an element, such as "q + (i0 + i) * q_row + d", and for an element, such as
   "q[(i0 + i) * q_row + d]". */
const char *emit_address(struct emitter *x, const struct ref *r);
const char *emit_element(struct emitter *x, const struct ref *r);
/* Returns a call of `function`, such as "widened", of an element in a type that is widened. */
const char *emit_widened(struct emitter *x, const struct ref *r, const char *function);
/* Returns C for the element as a number. An element of 16 bits of a parameter is widened. */
const char *emit_number_at(struct emitter *x, const struct ref *r);
/* Returns C for neighbouring elements from r on, a vector of numbers. */
const char *emit_numbers_at(struct emitter *x, const struct ref *r);
/* Returns C that widens an element with this C. The array's elements have 16 bits, or are numbers already. */
const char *emit_widened_element(const struct emitter *x, const struct array *a, const char *element);
/* Returns the reference as it is read: rows of prefix sums can begin before the first token (outer.c). */
struct ref emit_read(const struct emitter *x, const struct ref *r);
/* Returns C for an EXPR_ELEMENT. If `lane` is not -1, it is the axis of the lanes, and the C is for one of them,
   `lane`. of_lanes(user, sub) then returns the name of a vector with a subscript's value in each lane. */
const char *emit_element_by_name(struct emitter *x, const struct expr *e, int lane,
                                 const char *(*of_lanes)(void *user, const struct expr *sub), void *user);
/* Returns C for the distance in elements between neighbours in the axis's current range. Returns "0" if the
   reference does not use the axis. */
const char *emit_step(struct emitter *x, const struct ref *r, int axis);
/* Returns whether neighbours in the axis's current range are known to be adjacent in memory. A stride of the caller is
   not known: it can be 1 at run time. */
bool emit_adjacent(struct emitter *x, const struct ref *r, int axis);
/* Returns whether the steps of two references along the axis are known to be equal. */
bool emit_steps_equal(struct emitter *x, const struct ref *a, const struct ref *b, int axis);
/* Returns the stride of rows of sums that one part of backward leaves for later parts. Rows are padded to whole
   cache lines. */
int64_t emit_row_of_sums(const struct module *m, const struct array *a);
/* Returns whether the array has sums per query. Their stride is emit_row_of_sums. Sums per key have strides in
   struct call. */
bool emit_sums_of_queries(const struct emitter *x, const struct array *a);
/* Returns whether neighbours in the current range of axis i are not adjacent. If so, i_count is the number of
   indices in the range. */
bool emit_apart(const struct emitter *x, int axis);

/* Returns `text` in a form that is safe in a C comment. Comment marks and trigraphs are split. Characters that
   change the writing direction are removed. */
const char *emit_harmless(struct arena *arena, const char *text);
/* Prints the lines of `text`, indented, in a C comment. */
void emit_comment(struct arena *arena, struct text *out, const char *text, int indent);

/* Returns the parameter with an id per key that a region compares, or NULL. */
const struct kernel_array *emit_param_of_ids(const struct kernel_arrays *arrays);
bool emit_has_tiled(const struct kernel_arrays *arrays); /* whether a call makes a table of the tiles of a mask */
bool emit_has_random(const struct kernel_arrays *arrays);
void emit_params_struct(const struct emission *p, struct text *out);
/* Returns the member of struct NAME_params that points to the strides of arrays, or NULL if it has none. */
const char *emit_strides_member(const struct kernel_arrays *arrays);
void emit_gradients_struct(const struct emission *p, struct text *out);
/* Returns the name that the runtime has for a storage type. */
const char *emit_runtime_dtype(enum dtype dtype);

/* Returns whether the choice of a version depends on the number of keys. */
bool emit_by_length(const struct version *v, int versions);
/* These functions return whether the answer for the loops of a compilation is true, and whether some processors run a
   target slowly. */
bool emit_any(const struct compilation *const *c, int compilations, bool (*ask)(const struct loops *l));
enum { FOLD_GROUPS = 16 }; /* groups of the elements of states; threads add their segments to a group in order */
bool emit_any_positions(const struct compilation *const *c, int compilations);
bool emit_any_slower(const struct compilation *const *c, int compilations);
/* Returns the number of compilations at the beginning of the list that have the same target. */
int emit_same_target(const struct compilation *const *c, int compilations);
/* Returns whether every machine can compile and run the target. */
bool emit_certain_target(const struct target *t);
/* Returns the preprocessor condition of compilation k, or "". The condition excludes machines that always choose an
   earlier target. */
const char *emit_guard(const struct compilation *const *c, int k);

/* The contents of one C file. */
struct emitted_file {
    const struct emission *p;
    const struct compilation *const *c;
    const struct version *version;
    int compilations, versions;
    const char *command;
};

/* Prints the comment at the top of the file. */
void emit_heading(const struct emitted_file *e, struct text *out);
/* Returns whether backward computes gradients of arrays that a decay reads in a separate call. */
bool emit_finishes_gradients(const struct emission *p);

/* Returns C for the array parameters of an entry point of the kernel. */
const char *emit_array_arguments(struct arena *arena, const struct kernel_arrays *arrays, const struct function_row *f);

/* Returns `e` as C. If `inner`, parentheses enclose everything but a name or number. */
const char *emit_integer_text(struct emitter *x, const struct expr *e, bool inner);

/* Returns whether a kernel with a state has an expression that uses the batch size or a batch index. */
bool emit_numbers_sequences(const struct spec *spec);
/* Returns whether an expression truncates a real. */
bool emit_truncates(const struct spec *spec);
/* Returns the number of the declared range of ids that has the minimum or maximum `e`. Returns x->ids if no range
   has it. */
int emit_known_ids(const struct emitter *x, const struct expr *e);

/* Prints a COPY statement. In a tile, lanes after the current range become 0, so that later statements can use whole
   vectors. */
void emit_copy(struct emitter *x, const struct stmt *s);

#endif
