/* This header declares what the files of the printer share: the state of the printer, and the functions that print
   names, numbers, addresses and statements as C. */
#ifndef ATTNC_EMIT_PRINTER_H
#define ATTNC_EMIT_PRINTER_H

#include "emit.h"
#include "../analysis/analysis.h"
#include "../schedule/schedule.h"
#include "../spec/spec.h"
#include "../support/support.h"
#include "../target/target.h"

enum { MAX_ID_RANGES = 16 }; /* in the conditions of one tile */

/* Returns the end of the names of a compilation's functions. The end names the target, and also the register block if
   the block is not the default. */
const char *emit_suffix(const struct compilation *c);
/* The runtime's types, with their guard in attnrt.h; and the functions of the runtime that `kernel` calls, as static
   functions. (standalone.c) */
void standalone_types(struct text *out);
void standalone_functions(struct arena *arena, const char *kernel, struct text *out);

/* A function for products of one shape in one target's code: its parameters, and the call of the general product in its
   body (product_function.c). */
struct product_function {
    const char *list, *call;
    struct product_function *next;
};

struct served;

/* The printer of one target's code. */
struct emitter {
    const struct compilation *c;
    const struct kernel_arrays *arrays;
    const struct loops *l;
    struct module *m;
    const char *suffix, *real;          /* "v4", "float" */
    int lanes, vectors, rows;           /* elements of a vector; register block of a product */
    int unroll;                         /* vectors of a map at a time */
    struct product_function **products; /* a list that the compilations for a target share */
    bool compensated;                   /* some sums are compensated */
    int64_t unit_depth;                 /* the maximum number of terms in products of stored rows on matrix units */
    int64_t region_keys, region_pairs;  /* the maximum number of terms in products over a region; of pairs of bf16 */
    int64_t along_terms;                /* the maximum number of terms in products of contiguous rows */
    int64_t fetched_lanes;              /* the maximum number of lanes in products that prefetch, for few queries */
    struct text *out;
    int indent, temporaries;
    bool task_axis[MAX_AXES]; /* axes that the task number fixes */
    int64_t stride[MAX_AXES]; /* between neighbours in the current range of an axis; 0: 1 */
    bool block[MAX_AXES];     /* axes whose range is a block, with loops over its tiles inside */
    bool cut[MAX_AXES];       /* constant axes that an iteration covers only in part, from f0 to f1 */
    bool phases;              /* a thread's memory is in *part; else `work` */
    bool in_window;           /* the range of the chunks is the window, not one chunk */
    int drawns;               /* random draws whose lists are declared */
    const struct expr *drawn[MAX_DRAWN];
    int64_t workspace_used; /* the next free byte after the tiles; 0: all bytes are free */
    int ids;                /* ranges of positions whose ids are declared, each as one of its ends */
    const struct expr *id[MAX_ID_RANGES];
    struct served *served;       /* the outputs that statements serve (optional_outputs.c); NULL: not known yet */
    const struct range *hoisted; /* the ranges of an IF whose union is known before its loop */
};
/* Cuts long lines of C at blanks. Directives, literals and the command that makes the file are not cut. */
void emit_fold(struct text *file);
void emit_line(struct emitter *x, const char *format, ...) IR_PRINTF(2, 3);
/* The vector types, functions and products that the code uses. */
void emit_vector_functions(const struct emitter *x, const char *code, struct text *out);
const char *emit_real(enum dtype dtype);   /* the C type of what is computed with elements stored so */
const char *emit_stored(enum dtype dtype); /* the C type of such an element */
/* Prints the functions of one compilation. (phases.c) */
void emit_tasks(struct emitter *x, struct text *out);
/* The name of a function of a compilation: NAME_part_v4, or NAME_part_from4096_v4; and the `part` of the function that
   computes a call: "linear", "rows", … (function_name.c) */
const char *emit_function(const struct compilation *c, const char *part);
const char *emit_form(const struct compilation *c);
/* Whether the functions are phases: parallel loops on a head, one after the other. */
bool emit_in_phases(const struct loops *l);
/* Returns the number of queries of a task: 0 if a task is a whole key/value head, or -1 if a task is a whole query
 * head. */
int64_t emit_tasks_of(const struct loops *l);
/* The number of slices of the rows, of all heads or of each head, if tasks are slices; else 0. */
int64_t emit_units_of(const struct loops *l);
/* Returns whether the tasks are tiles of keys. */
bool emit_tasks_of_keys(const struct loops *l);
/* Whether tasks of one head add to sums in the order of the tasks. */
bool emit_in_order(const struct loops *l);
/* The distance between neighbours in a task's tile of queries. */
int64_t emit_tasks_apart(const struct loops *l);
/* Whether the array is an optional output: its pointer may be NULL. The condition, as C, under which a statement runs:
   that one of its outputs is wanted; NULL: it always runs. (optional_outputs.c) */
bool emit_is_wanted(const struct emitter *x, const struct array *a);
const char *emit_condition(struct emitter *x, const struct stmt *s);
/* The row of the kernel's table where an array is a parameter that has rows of tokens, which have strides as those of
   inputs have; or NULL. (address.c) */
const struct kernel_array *emit_param_of_rows(const struct emitter *x, const struct array *a);
/* Returns whether an array has a head for each query head. */
bool emit_has_members(const struct emitter *x, const struct array *a);
/* Whether a state keeps only the first and the last rows of the array. */
bool emit_has_dropped(const struct emitter *x, const struct array *a);
/* Prints the statements to x->out. */
void emit_statements(struct emitter *x, const struct stmt *s);
/* Prints a DOT statement. (product.c) */
void emit_dot(struct emitter *x, const struct stmt *s);
/* The maximum number of lanes of a product, in whole vectors. The rows of a state are padded further, to whole cache
   lines, but rows of operands need not be. (address.c) */
int64_t emit_most_lanes(const struct emitter *x, const struct ref *to);
/* Prints the functions that products call. (product_function.c) */
void emit_products(const struct emitter *x, struct text *out);
/* One argument of a product; and the call of the function for such arguments. Constant arguments are in the function,
   and the call passes the others. */
struct product_argument {
    const char *name, *type, *value;
};
void emit_product_call(struct emitter *x, const char *product, const struct product_argument *argument, int arguments);
/* A DOT statement on matrix units, a COPY into one of its operands, and the definitions of tile registers for the file.
   (matrix.c) */
void emit_matrix_dot(struct emitter *x, const struct stmt *s);
void emit_matrix_across(struct emitter *x, const struct stmt *s);
void emit_matrix_copy(struct emitter *x, const struct stmt *s);
void emit_tile_registers(struct text *out);
/* As C: the number of elements in an axis' current range, the name of a reference's array, and the address of an
   operand at the beginning of the ranges of the nest's axes. */
const char *emit_range(struct emitter *x, int axis);
const char *emit_array(const struct emitter *x, const struct ref *r);
const char *emit_corner(struct emitter *x, const struct stmt *s, const struct ref *r);
/* Whether the axis is in tiles, with variables i0, i1, and i inside a nest; else its name is its only variable. */
bool emit_tiled(const struct emitter *x, int axis);
/* The first value of a nest's variable for the axis, and one after the last, as C. */
const char *emit_first(const struct emitter *x, int axis);
const char *emit_end(const struct emitter *x, int axis);
/* Opens the loops that a FOR over tiles of queries or keys becomes, and returns their number; the last one is over the
   tiles. The condition of an IF with ranges. The lists of random draws that a loop needs, and their name. (ranges.c) */
int emit_tile_loops(struct emitter *x, const struct stmt *s);
/* The name of an array's tiles for all of a block. (address.c) */
const char *emit_held(const struct emitter *x, const struct array *a);
const char *emit_outside(struct emitter *x, const struct stmt *s);
void emit_drawn_lists(struct emitter *x, const struct stmt *loop, bool inside);
const char *emit_drawn_name(const struct emitter *x, const struct expr *drawn);
/* Declares the ranges of ids that the conditions in a statement compare as early as they are known: before the loop, or
   (`inside`) at the beginning of its body. And the C of one end of such a range. (ids.c) */
void emit_ids(struct emitter *x, const struct stmt *s, bool inside);
const char *emit_id_end(struct emitter *x, const struct expr *e);
/* The address, as C, of the ids of the sequence that an ID, MIN_ID or MAX_ID reads. (integer.c) */
const char *emit_ids_of_sequence(struct emitter *x, const struct expr *e);
/* Returns a bit mask of the axes of all loops in the list `s`, including nested loops. */
uint32_t emit_loop_axes(const struct stmt *s);
/* Prints a MAP statement. */
void emit_map(struct emitter *x, const struct stmt *s);
/* Prints C that sets the array `to` of masks. A mask selects the lanes of the axis `lane` that are in `region` at the
   current indices along all other axes. */
void emit_region(struct emitter *x, const struct expr *region, int lane, const char *to);
/* An expression in SIZE, LO, HI, and INDEX of axes with one variable, as C. */
const char *emit_integer(struct emitter *x, const struct expr *e);
/* A number of the emitted type (`narrow`: float), the shortest that reads back. */
const char *emit_number(const struct emitter *x, double value, bool narrow);
/* The address of element `r`, as C: "q + (i0 + i) * q_row + d". */
const char *emit_address(struct emitter *x, const struct ref *r);
/* The element itself: "q[(i0 + i) * q_row + d]". */
const char *emit_element(struct emitter *x, const struct ref *r);
const char *emit_step(struct emitter *x, const struct ref *r, int axis);
/* The stride between rows of sums that programs pass to each other, in elements: whole vectors of every target. */
int64_t emit_row_of_sums(const struct module *m, const struct array *a);
/* Whether the array has sums for each query, with that stride. Sums for each key have strides in struct call. */
bool emit_sums_of_queries(const struct emitter *x, const struct array *a);
/* Whether the current range of an axis has a stride above 1. Then the variable name_count is the number of elements. */
bool emit_apart(const struct emitter *x, int axis);

/* Text that can be in a C comment: without the beginning or end of a comment, and without trigraphs. */
const char *emit_harmless(struct arena *arena, const char *text);
/* Prints the lines of `text` as part of a C comment. */
void emit_comment(struct arena *arena, struct text *out, const char *text, int indent);

/* The member of struct NAME_params with integers, or NULL. */
const char *emit_param_of_ids(const struct kernel_arrays *arrays);
bool emit_has_random(const struct kernel_arrays *arrays);
void emit_params_struct(const struct emission *p, struct text *out);
void emit_gradients_struct(const struct emission *p, struct text *out);
/* NAME_params_size and NAME_params_init: every random array is at a multiple of 64 bytes. Memory for making the
   orthogonal arrays follows. */
void emit_params_functions(const struct emission *p, struct text *out);
/* Returns the name that the runtime has for a storage type. */
const char *emit_runtime_dtype(enum dtype dtype);

/* Returns whether the choice of a version depends on the number of keys. */
bool emit_by_length(const struct version *v, int versions);
/* Whether some products need special instructions of the processor. */
bool emit_any_paired(const struct compilation *const *c, int compilations);
bool emit_any_on_matrix_units(const struct compilation *const *c, int compilations);
enum { FOLD_GROUPS = 16 }; /* groups of elements of states, into which threads fold in order (embedded/kernel.c) */
bool emit_any_in_phases(const struct compilation *const *c, int compilations);
bool emit_any_waits(const struct compilation *const *c, int compilations); /* in phases, or in order */
bool emit_any_in_order(const struct compilation *const *c, int compilations);
bool emit_any_slower(const struct compilation *const *c, int compilations); /* on some processors that support it */
/* Returns how many compilations at the beginning of the list `c` have the same target. */
int emit_same_target(const struct compilation *const *c, int compilations);
/* Returns whether the code for the target is compiled and can run on every machine. */
bool emit_certain_target(const struct target *t);
/* The condition under which the code for the k-th compilation's target is compiled: unless an earlier target is always
   chosen. */
const char *emit_guard(const struct compilation *const *c, int k);

/* The contents of one file: the code of all targets of a unit, or of one target. */
struct emitted_file {
    const struct emission *p;
    const struct compilation *const *c;
    const struct version *version;
    int compilations, versions;
    const char *command;
};

struct template_names;
/* Set the names of emit/embedded/entry.c for the functions that choose a version. */
void emit_choice(const struct emitted_file *e, struct template_names *t);
void emit_choice_of_extend(const struct emitted_file *e, struct template_names *t);
void emit_choice_of_prepared(const struct emitted_file *e, struct template_names *t);
void emit_choice_of_parts(const struct emitted_file *e, struct template_names *t); /* of the parts of backward */

/* Prints the comment at the top of the file. */
void emit_heading(const struct emitted_file *e, struct text *out);
/* Print the beginning of a kernel's C file, and its entry points. */
void emit_preamble(const struct emitted_file *e, struct text *out);
void emit_entry_points(const struct emitted_file *e, struct text *out);

/* The arrays that parts of backward leave for one another, and the gradients with respect to learned parameters
   (left_arrays.c): whether there are any; their members of the call; the statements that set them; the calls of the
   parts. */
bool emit_has_totals(const struct emitted_file *e, struct arena *arena);
const char *emit_total_members(const struct emitted_file *e, struct arena *arena);
const char *emit_total_values(const struct emitted_file *e, struct arena *arena);
const char *emit_left_values(const struct emitted_file *e, struct arena *arena);
const char *emit_part_calls(const struct emitted_file *e, struct arena *arena);
/* Adds to the condition that the pointer `name` may also be set, unless the condition has the name already. */
const char *emit_or_name(struct arena *arena, const char *condition, const char *name);

/* The arrays that an entry point takes, in C: "const float *q, …". */
const char *emit_array_arguments(struct arena *arena, const struct kernel_arrays *arrays, enum entry entry);
/* The arguments of forward as the comment of a header shows them: "q [B,H,n_q,64]  …". */
const char *emit_array_shapes(struct arena *arena, const struct kernel_arrays *arrays);

/* Returns `e` as C. If `inner` is true, the text has outer parentheses unless `e` is a single name or number. */
const char *emit_integer_text(struct emitter *x, const struct expr *e, bool inner);

/* Returns the number of the declared range of ids that `e` is an end of, or x->ids if no such range is declared. */
int emit_known_ids(const struct emitter *x, const struct expr *e);

/* A COPY statement. Elements beyond the range of the lanes become 0, so whole vectors can be computed. */
void emit_copy(struct emitter *x, const struct stmt *s);

bool emit_any_apart(const struct compilation *const *c, int compilations);

#endif
