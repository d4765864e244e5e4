/* This header declares what the files of emit/ share: the state of the printer, and the functions that print names,
   numbers, addresses and statements as C. Terms:
   - current range of an axis: the indices of the innermost loop over the axis, for example i0 <= i < i1 for a tile of
     queries i.
   - task: the work of one call of an emitted function. It is a tile of queries or keys, a slice of rows, or a head.
   - slice: one of the equal parts into which the rows (queries) of all batches and heads, or of one head, are divided.
     Identifiers and SIZE_UNITS call a slice a unit.
   - phase: an emitted function for one parallel loop inside a head. The threads on a head run its phases in turn.
   - slot: the memory for the state of one chunk. A segment is a range of chunks that one thread processes.
   - member: one of the query heads that share a key/value head.
   - region: the pairs of a query and a key that a sum runs over.
   - ids: one integer for each position of a sequence, such as the number of its document. Regions can compare ids.
   - part of backward: one of the programs that compute the gradients. The parts run one after the other.
   - few: the form for few queries, whose lanes hold keys instead of queries. */
#ifndef ATTNC_EMIT_PRINTER_H
#define ATTNC_EMIT_PRINTER_H

#include "emit.h"
#include "../analysis/analysis.h"
#include "../schedule/schedule.h"
#include "../spec/spec.h"
#include "../support/support.h"
#include "../target/target.h"

enum { MAX_ID_RANGES = 16 }; /* the maximum number of ranges of ids that one tile declares (ids.c) */

/* Returns the suffix of the names of a compilation's functions: the target, such as "v4", and the register block if it
   is not the default. */
const char *emit_suffix(const struct compilation *c);
/* For --standalone: standalone_types prints the types of attnrt.h, with their include guard. standalone_functions
   prints the runtime functions that the C text `kernel` calls, as static functions. (standalone.c) */
void standalone_types(struct text *out);
void standalone_functions(struct arena *arena, const char *kernel, struct text *out);

/* An emitted function for products of one shape. `list` is its parameter list. `call` is the call of a product of
   emit/embedded/product.c in its body, without the last parenthesis. (product_function.c) */
struct product_function {
    const char *list, *call;
    struct product_function *next;
};

struct served;

/* The state of the printer while it prints one compilation for one target. */
struct emitter {
    const struct compilation *c;
    const struct kernel_arrays *arrays;
    const struct loops *l;
    struct module *m;
    const char *suffix, *real;          /* "v4", "float" */
    int lanes, vectors, rows;           /* lanes of a vector; the register block of a product: vectors by rows */
    int unroll;                         /* vectors that a MAP computes at a time */
    struct product_function **products; /* the list of product functions, shared by compilations with one suffix */
    bool compensated;                   /* some sum is compensated (Kahan) */
    int64_t unit_depth;                 /* the maximum number of terms of a unit_dot whose rows may need padding */
    int64_t region_keys, region_pairs;  /* the maximum number of terms of a product over a region, of reals or pairs */
    int64_t along_terms;                /* the maximum number of terms of a dot_along */
    int64_t fetched_lanes;              /* the maximum number of lanes of a dot_fetched */
    struct text *out;
    int indent, temporaries;
    bool task_axis[MAX_AXES]; /* axes with a fixed index in a task, such as b; pointers to arrays include that index */
    int64_t stride[MAX_AXES]; /* distance between neighbouring indices in the current range; 0 means 1 */
    bool block[MAX_AXES];     /* axes whose current range is a block, which inner loops split into tiles */
    bool contiguous;          /* the code that is printed now runs only if the last axis of its array is contiguous */
    bool cut[MAX_AXES];       /* constant axes whose current range is only a part: f0 <= f < f1 */
    bool phases;              /* the functions are phases and find their memory in struct part; else in `work` */
    bool in_window;           /* the current range of the chunk axis is several chunks, not one */
    int drawns;               /* the number of random draws whose lists are declared */
    const struct expr *drawn[MAX_DRAWN];
    int64_t workspace_used;               /* the offset of the next free byte after the tiles; 0: all bytes are free */
    int ids;                              /* the number of declared ranges of ids */
    const struct expr *id[MAX_ID_RANGES]; /* for each declared range: its MIN_ID or its MAX_ID */
    struct served *served;       /* the outputs that depend on each statement (optional_outputs.c); NULL: unknown */
    const struct range *hoisted; /* the ranges whose union was declared last, for emit_outside */
};
/* Breaks lines of C longer than 120 columns at blanks. Directives, literals, and the attnc command that people copy are
   not broken. */
void emit_fold(struct text *file);
void emit_line(struct emitter *x, const char *format, ...) IR_PRINTF(2, 3);
/* Prints the vector types, vector functions and products that the C text `code` uses. (vector.c) */
void emit_vector_functions(const struct emitter *x, const char *code, struct text *out);
const char *emit_real(enum dtype dtype);   /* the C type of computations on elements that are stored as `dtype` */
const char *emit_stored(enum dtype dtype); /* the C type of a stored element */
/* Prints the functions of one compilation. (phases.c) */
void emit_tasks(struct emitter *x, struct text *out);
/* emit_function returns the C name of a compilation's function: NAME_part_v4, or NAME_part_from4096_v4 if the code is
   for 4096 or more keys. emit_form returns the `part` of the main function: "linear", "rows", … (function_name.c) */
const char *emit_function(const struct compilation *c, const char *part);
const char *emit_form(const struct compilation *c);
/* Returns whether a task is a head whose parallel loops are printed as phases. */
bool emit_in_phases(const struct loops *l);
/* Returns the number of queries, or keys, of a task. Returns 0 if a task is a whole key/value head, and -1 if a task is
   a whole query head. */
int64_t emit_tasks_of(const struct loops *l);
/* Returns the number of slices that the rows are divided into, if a task is a slice. If each batch entry or head has
   separate slices, this is the number for one of them. Returns 1 if tasks run over the rows without dividing them, or
   add up the partial sums of slices. Returns 0 if a task is a tile or a head. */
int64_t emit_units_of(const struct loops *l, bool backward);
/* Returns whether the tasks are tiles of keys. */
bool emit_tasks_of_keys(const struct loops *l);
/* Returns whether the tasks of a head add to shared sums, each task after the task before it. */
bool emit_in_order(const struct loops *l);
/* Returns the distance between the positions of neighbouring queries in a task's tile. */
int64_t emit_tasks_apart(const struct loops *l);
/* emit_is_wanted returns whether the array is an optional output: the caller may pass NULL. emit_condition returns C
   that tests whether the caller wants an output that depends on the statement, or NULL if the statement always runs.
   (optional_outputs.c) */
bool emit_is_wanted(const struct emitter *x, const struct array *a);
const char *emit_condition(struct emitter *x, const struct stmt *s);
/* Returns the entry in the kernel's table if the array is a parameter with a row for each token, or an output with a
   number for each query. The rows have strides in struct call, as rows of q and out have. Returns NULL for any other
   array. (address.c) */
const struct kernel_array *emit_strided_rows(const struct emitter *x, const struct array *a);
bool emit_is_gradient_of_param(const struct emitter *x, const struct array *a); /* such a gradient is contiguous */
/* Arrays whose strides the caller may give (strided.c):
   - emit_strided returns the entry in the kernel's table, or NULL for any other array
   - emit_axis_of_caller returns the caller's number of axis k of the array; an axis of query heads is two axes here
   - emit_stride_of_caller returns C for the stride of axis k, emit_last_stride for that of the last axis
   - emit_levels_of lists the axes. An axis of rows (SIZE_ROWS) is the two axes of members and of queries
   - emit_subscripts_of_row divides the number of a row of integers into a subscript for each axis but the last. Returns
     how many there are */
struct axis_of_caller {
    const struct expr *size;
    const char *stride;
};
const struct kernel_array *emit_strided(const struct emitter *x, const struct array *a);
int emit_axis_of_caller(const struct emitter *x, const struct array *a, int k);
const char *emit_stride_of_caller(const struct emitter *x, const struct array *a, int k);
const char *emit_last_stride(const struct emitter *x, const struct array *a);
int emit_levels_of(const struct emitter *x, const struct array *a, struct axis_of_caller *level);
int emit_subscripts_of_row(const struct emitter *x, const struct array *a, const struct expr *row, struct axis_of_caller *level,
                           const struct expr **sub);
/* For rows of integers in such arrays (integer.c):
   - emit_last_size returns C for the size of the last axis
   - emit_offset_of_lane returns C for the offset of a row that differs by lane, in a loop over `lane`; of_lanes declares
     a variable with the values of a subscript, and returns its name
   - emit_step_of_lanes returns C for the distance between an element and one in row `next`, so many positions later;
     NULL: it is not known */
const char *emit_last_size(struct emitter *x, const struct array *a);
const char *emit_offset_of_lane(struct emitter *x, const struct array *a, const struct expr *row, int lane,
                                const char *(*of_lanes)(void *user, const struct expr *sub), void *user);
const char *emit_step_of_lanes(struct emitter *x, const struct array *a, const struct expr *row,
                               const struct expr *next, int64_t positions);
const char *emit_ids_of_box(struct emitter *x, const struct array *a, const struct expr *first, const struct expr *last,
                            const char *from, const char *to);
/* Returns whether the array has a vector for each row, and strides of its rows. A gradient with respect to an array in
   `params` is contiguous. */
/* Whether the array has one number per row of queries, and is not the gradient with respect to a parameter. */
bool emit_of_rows(const struct emitter *x, const struct array *a);
bool emit_has_row_strides(const struct emitter *x, const struct array *a);
/* Returns whether an array has elements for each query head, not only for each key/value head. */
bool emit_has_members(const struct emitter *x, const struct array *a);
/* Whether extend moves the pointer of a parameter to the first sequence of a call. */
bool emit_starts_at_first(const struct emitter *x, const struct array *a);
/* Returns whether a state stores only the first and the last rows of the array, and drops the rows between them. */
bool emit_has_dropped(const struct emitter *x, const struct array *a);
/* Returns whether the reference reads the row of a key. If not, a row of keys is the one at the query's own position,
   which is among the last rows. */
bool emit_is_of_key(const struct emitter *x, const struct ref *r);
/* Prints the statements to x->out. */
void emit_statements(struct emitter *x, const struct stmt *s);
/* Prints a DOT statement. (product.c) */
void emit_dot(struct emitter *x, const struct stmt *s);
/* Prints a SOLVE statement. (solve.c) */
void emit_solve(struct emitter *x, const struct stmt *s);
/* Returns the maximum number of lanes of a product whose result is `to`: the constant extent of the last axis of `to`,
   rounded up to whole vectors. If the extent is not constant: the row length of the tile, or INT64_MAX if `to` is no
   tile. Rows of a state can be longer, because they are padded to whole cache lines. (address.c) */
int64_t emit_most_lanes(const struct emitter *x, const struct ref *to);
/* Prints the functions that products call. (product_function.c) */
void emit_products(const struct emitter *x, struct text *out);
/* An argument of a product: the name and C type of the parameter, and the value as C. */
struct product_argument {
    const char *name, *type, *value;
};
/* Prints a call of the emitted function for this product and these arguments. Constant arguments are in the body of the
   function, and the call passes only the variable arguments. (product_function.c) */
void emit_product_call(struct emitter *x, const char *product, const struct product_argument *argument, int arguments);
/* For matrix units (matrix.c):
   - emit_matrix_dot prints a DOT statement.
   - emit_matrix_across prints a DOT statement that adds to sums which several tasks share.
   - emit_matrix_copy prints a COPY into an operand of such statements.
   - emit_tile_registers prints the definitions of tile registers, once for a file. */
void emit_matrix_dot(struct emitter *x, const struct stmt *s);
void emit_matrix_across(struct emitter *x, const struct stmt *s);
void emit_matrix_copy(struct emitter *x, const struct stmt *s);
void emit_tile_registers(struct text *out);
/* These return C: emit_range the number of indices in the current range of an axis, emit_array the name of the array
   that `r` refers to, and emit_corner the address of the operand's first element in the current ranges. */
const char *emit_range(struct emitter *x, int axis);
const char *emit_array(const struct emitter *x, const struct ref *r);
const char *emit_corner(struct emitter *x, const struct stmt *s, const struct ref *r);
/* Returns whether loops over the axis i run over tiles. The emitted C then has variables i0 and i1 for the current
   range, and i counts from 0 in a tile. Otherwise i is the only variable. */
bool emit_tiled(const struct emitter *x, int axis);
/* Return, as C, the first value of the variable that loops over the axis' current range, and the end (exclusive). */
const char *emit_first(const struct emitter *x, int axis);
const char *emit_end(const struct emitter *x, int axis);
/* Opens the C loops for a FOR over tiles of queries or keys, and returns their number. The innermost loop is over the
   tiles. (ranges.c) */
int emit_tile_loops(struct emitter *x, const struct stmt *s);
/* Returns the name of the memory of a held array: a tile that is stored for every range of a block. (address.c) */
const char *emit_held(const struct emitter *x, const struct array *a);
/* Returns C that tests whether the current range is partly outside the union of the statement's ranges.
   emit_drawn_lists declares the lists of random draws that a loop needs: before the loop, or in its body if `inside` is
   true. emit_drawn_name returns the name of such a list. (ranges.c) */
const char *emit_outside(struct emitter *x, const struct stmt *s);
void emit_drawn_lists(struct emitter *x, const struct stmt *loop, bool inside);
const char *emit_drawn_name(const struct emitter *x, const struct expr *drawn);
/* emit_ids declares the minimum and maximum of the ids that the conditions in a loop compare: before the loop, or at
   the beginning of its body if `inside` is true. emit_id_end returns such a minimum or maximum as C. (ids.c) */
void emit_ids(struct emitter *x, const struct stmt *s, bool inside);
const char *emit_id_end(struct emitter *x, const struct expr *e);
/* Returns C for a struct ids with the minimum and maximum of the integers in the range of a MIN_ID or MAX_ID. */
const char *emit_ids_in_range(struct emitter *x, const struct expr *e);
/* Returns the number of the table of tiles of the array that a MIN_ID or MAX_ID reads, or -1. */
int emit_table_of(const struct emitter *x, const struct expr *e);
/* Returns C for the number of rows of the array that an ID reads. */
const char *emit_rows(struct emitter *x, const struct expr *e);
/* Whether the array that an ID, MIN_ID or MAX_ID reads stores bytes. */
bool emit_reads_bytes(const struct emitter *x, const struct expr *e);
/* The integer parameter that an ID, MIN_ID or MAX_ID reads. */
const struct array *emit_ids_array(const struct emitter *x, const struct expr *e);
/* For the integer parameter that an ID, MIN_ID or MAX_ID reads, as rows of its last axis (integer.c):
   - emit_ids_of_sequence returns C for the address of the row
   - emit_row_length returns C for the number of elements in a row
   - emit_row returns the row's number, counted from the one that the pointer to the array points to
   - emit_starts_at_sequence: whether the pointer to the array is that of the task's batch index */
bool emit_starts_at_sequence(const struct emitter *x, const struct array *a);
const char *emit_row_length(const struct emitter *x, const struct expr *e);
const struct expr *emit_row(const struct emitter *x, const struct expr *e);
const char *emit_ids_of_sequence(struct emitter *x, const struct expr *e);
/* Returns a bit mask of the axes of all loops in the list `s`, including nested loops. */
uint32_t emit_loop_axes(const struct stmt *s);
/* Prints a MAP statement. */
void emit_map(struct emitter *x, const struct stmt *s);
/* Prints C that sets the array `to` of masks, one mask for each vector of the axis `lane`. A mask selects the lanes
   that are in `region`, for the current indices of all other axes. */
void emit_region(struct emitter *x, const struct expr *region, int lane, const char *to);
/* Returns the integer expression `e` as scalar C. */
const char *emit_integer(struct emitter *x, const struct expr *e);
/* Returns the shortest C literal that reads back as `value`: a float if `narrow` is true, else a double. */
const char *emit_number(const struct emitter *x, double value, bool narrow);
/* Returns the address of element `r` as C: "q + (i0 + i) * q_row + d". */
const char *emit_address(struct emitter *x, const struct ref *r);
/* Returns the element `r` as C: "q[(i0 + i) * q_row + d]". */
const char *emit_element(struct emitter *x, const struct ref *r);
/* Returns C for the number of elements between neighbouring indices of the axis' current range. Returns "0" if the
   reference does not use the axis. */
const char *emit_step(struct emitter *x, const struct ref *r, int axis);
/* Returns the stride, in elements, between the rows of an array of sums that one part of backward leaves for a later
   part. A row is padded to whole cache lines, so every target can use whole vectors. */
int64_t emit_row_of_sums(const struct module *m, const struct array *a);
/* Returns whether the array has sums for each query. The stride between their rows is emit_row_of_sums. Sums for each
   key have strides in struct call instead. */
bool emit_sums_of_queries(const struct emitter *x, const struct array *a);
/* Returns whether neighbouring indices in the current range of an axis i are more than 1 apart. The variable i_count is
   then the number of indices in the range. */
bool emit_apart(const struct emitter *x, int axis);

/* Returns `text` changed so that it can be in a C comment. A blank splits comment marks and trigraphs, and characters
   that change the direction of writing are removed. */
const char *emit_harmless(struct arena *arena, const char *text);
/* Prints the lines of `text`, indented, as part of a C comment. */
void emit_comment(struct arena *arena, struct text *out, const char *text, int indent);

/* Returns the member of struct NAME_params that holds one id for each key, or NULL. */
const char *emit_param_of_ids(const struct kernel_arrays *arrays);
bool emit_has_lists(const struct kernel_array *a);       /* whether it lists blocks of keys for blocks of queries */
bool emit_has_tiled(const struct kernel_arrays *arrays); /* whether calls make a table of tiles of a mask */
bool emit_has_params_of(const struct kernel_arrays *arrays, enum dtype dtype); /* whether a parameter has this type */
bool emit_has_random(const struct kernel_arrays *arrays);
void emit_params_struct(const struct emission *p, struct text *out);
/* The member of struct NAME_params that points to the strides of arrays; NULL: there is none. */
const char *emit_strides_member(const struct kernel_arrays *arrays);
void emit_gradients_struct(const struct emission *p, struct text *out);
/* Prints NAME_params_size and NAME_params_init. Every random array starts at a multiple of 64 bytes of the caller's
   storage. Working memory for the orthogonal arrays follows the arrays. */
void emit_params_functions(const struct emission *p, struct text *out);
/* Returns the name that the runtime has for a storage type. */
const char *emit_runtime_dtype(enum dtype dtype);

/* Returns whether the choice of a version depends on the number of keys. */
bool emit_by_length(const struct version *v, int versions);
/* emit_any_X returns whether property X holds for any of the compilations:
   - paired: a product takes pairs of bf16.
   - waits: a thread may wait for another thread, because the compilation is in phases or in order.
   - slower: the target has processors that support it but run it slowly.
   - apart: the neighbouring queries of a task are more than 1 position apart. */
bool emit_any_paired(const struct compilation *const *c, int compilations);
bool emit_any_on_matrix_units(const struct compilation *const *c, int compilations);
enum { FOLD_GROUPS = 16 }; /* the elements of the states are divided into groups; threads fold each group in order */
bool emit_any_in_phases(const struct compilation *const *c, int compilations);
bool emit_any_waits(const struct compilation *const *c, int compilations);
bool emit_any_in_order(const struct compilation *const *c, int compilations);
bool emit_any_slower(const struct compilation *const *c, int compilations);
/* Returns how many compilations at the beginning of the list `c` have the same target. */
int emit_same_target(const struct compilation *const *c, int compilations);
/* Returns whether every machine can compile and run the code for the target. */
bool emit_certain_target(const struct target *t);
/* Returns the preprocessor condition under which the code of compilation k is compiled, or "". The condition excludes
   machines on which an earlier target is always chosen. */
const char *emit_guard(const struct compilation *const *c, int k);

/* The contents of one C file: the code for all targets of a spec, or for one target. */
struct emitted_file {
    const struct emission *p;
    const struct compilation *const *c;
    const struct version *version;
    int compilations, versions;
    const char *command;
};

struct template_names;
/* Set the names of the template emit/embedded/entry.c to the bodies of the functions that choose a version: for
   forward, for the terms of prefix sums, for extend, for prepared keys, and for the parts of backward. */
void emit_choice(const struct emitted_file *e, struct template_names *t);
void emit_choice_of_terms(const struct emitted_file *e, struct template_names *t);
void emit_choice_of_extend(const struct emitted_file *e, struct template_names *t);
void emit_choice_of_attending(const struct emitted_file *e, struct template_names *t);
void emit_choice_of_parts(const struct emitted_file *e, struct template_names *t);

/* Prints the comment at the top of the file. */
void emit_heading(const struct emitted_file *e, struct text *out);
/* Print the beginning of a kernel's C file, and its entry points. */
void emit_preamble(const struct emitted_file *e, struct text *out);
void emit_entry_points(const struct emitted_file *e, struct text *out);

/* About the arrays that one part of backward leaves for later parts, and the gradients with respect to learned
   parameters (left_arrays.c):
   - emit_has_totals: whether the kernel has such arrays.
   - emit_total_members: their members of struct call.
   - emit_total_values: statements that set the pointers to the gradients.
   - emit_left_values: statements that place the arrays in the workspace.
   - emit_part_calls: calls of the parts, in order. */
bool emit_has_totals(const struct emitted_file *e, struct arena *arena);
const char *emit_total_members(const struct emitted_file *e, struct arena *arena);
const char *emit_total_values(const struct emitted_file *e, struct arena *arena);
const char *emit_left_values(const struct emitted_file *e, struct arena *arena);
const char *emit_part_calls(const struct emitted_file *e, struct arena *arena);
/* Returns C that tests whether a call of backward wants a gradient that depends on the terms of prefix sums. */
const char *emit_prefix_wanted(const struct emitted_file *e, struct arena *arena);
/* Returns "condition || name" as C, or `condition` if it contains the name already. */
const char *emit_or_name(struct arena *arena, const char *condition, const char *name);

/* Returns the parameters of an entry point that are arrays, as C: "const float *q, …". */
const char *emit_array_arguments(struct arena *arena, const struct kernel_arrays *arrays, enum entry entry);
/* Returns the shapes of the arrays of forward, for the comment of NAME.h: "q [B,H,n_q,64]  …". */
const char *emit_array_shapes(struct arena *arena, const struct kernel_arrays *arrays);

/* Returns the integer expression `e` as C. If `inner` is true, the text has outer parentheses unless it is a single
   name or number. */
const char *emit_integer_text(struct emitter *x, const struct expr *e, bool inner);

/* Whether an expression has the number of a batch entry, or how many there are, and the kernel can extend a state. */
bool emit_numbers_sequences(const struct spec *spec);
/* Whether an expression removes the fraction of a real. */
bool emit_truncates(const struct spec *spec);
/* Returns the number of the declared range of ids whose minimum or maximum is `e`, or x->ids if that range is not
   declared. */
int emit_known_ids(const struct emitter *x, const struct expr *e);

/* Prints a COPY statement. In a tile, the lanes after the current range are set to 0, so later statements can compute
   whole vectors. */
void emit_copy(struct emitter *x, const struct stmt *s);

bool emit_any_apart(const struct compilation *const *c, int compilations);

#endif
