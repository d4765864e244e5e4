/* What the files of the printer share: its state, and the C of names, numbers, addresses and statements. */
#ifndef ATTNC_EMIT_PRINTER_H
#define ATTNC_EMIT_PRINTER_H

#include "emit.h"
#include "../schedule/schedule.h"
#include "../spec/spec.h"
#include "../support/support.h"
#include "../target/target.h"

enum { MAX_ID_RANGES = 16 }; /* that one tile compares */

/* How a compilation uses the registers: rows, vectors, unroll; and what its functions' names end in, where some are for
   other blocks. (pass/block.c) */
const char *emit_suffix(const struct compilation *c);
/* The runtime's types, with the guard that they have in attnrt.h, and those of its functions that `kernel` calls,
   static. (standalone.c) */
void standalone_types(struct text *out);
void standalone_functions(struct arena *arena, const char *kernel, struct text *out);

/* A function that one target's code has for products of one shape: its parameters, and its arguments of the product of
   any shape (dot.c). */
struct product_function {
    const char *list, *call;
    struct product_function *next;
};

struct served;

/* The printer of one target's code. */
struct emitter {
    const struct compilation *c;
    const struct loops *l;
    struct module *m;
    const char *suffix, *real;          /* "v4", "float" */
    int lanes, vectors, rows;           /* elements of a vector; register block of a product */
    int unroll;                         /* vectors of a map at a time */
    struct product_function **products; /* a list that the compilations for a target share */
    bool compensated;                   /* some sums keep what rounding leaves over */
    int64_t unit_depth;                 /* elements that products on matrix units sum over, at most, of stored rows */
    int64_t region_keys, region_pairs;  /* that products over a region sum over, at most; the latter in pairs of bf16 */
    int64_t along_terms;                /* of inner products with what is stored along them, at most */
    int64_t fetched_lanes;              /* of what few queries fetch as they need it, at most */
    struct text *out;
    int indent, temporaries;
    bool task_axis[MAX_AXES]; /* axes that the task number fixes */
    int64_t stride[MAX_AXES]; /* between neighbours in the current range of an axis; 0: 1 */
    bool block[MAX_AXES];     /* axes whose range is a block's: FORs inside take tiles of it */
    bool cut[MAX_AXES];       /* constant axes of which an iteration has a part: from f0 to f1 */
    bool phases;              /* a thread's memory is in *part; else `work` */
    bool in_window;           /* the range of the chunks is the window's, not one chunk */
    int drawns;               /* what is drawn at random and has its lists by now */
    const struct expr *drawn[MAX_DRAWN];
    int64_t workspace_used; /* of what lies after the tiles: the next free byte; 0: all is free */
    int ids;                /* ranges of positions whose ids are known, each by one of its ends */
    const struct expr *id[MAX_ID_RANGES];
    struct served *served;       /* the outputs that statements serve (wanted.c); NULL: not known yet */
    const struct range *hoisted; /* the ranges of an IF whose union is known before its loop */
};
/* Cuts long lines of C at blanks; directives, literals and the command that makes the file stay whole. */
void emit_fold(struct text *file);
void emit_line(struct emitter *x, const char *format, ...) IR_PRINTF(2, 3);
/* The vector types, the functions on them and the products that the code names. */
void emit_vector_functions(const struct emitter *x, const char *code, struct text *out);
const char *emit_real(enum dtype dtype);   /* the C type of what is computed with elements stored so */
const char *emit_stored(enum dtype dtype); /* the C type of such an element */
/* The functions of one compilation (task.c). */
void emit_tasks(struct emitter *x, struct text *out);
/* The name of a function of a compilation: NAME_part_v4, or NAME_part_from4096_v4. What does the work of a call is
   "linear" or "rows". */
const char *emit_function(const struct compilation *c, const char *part);
const char *emit_form(const struct compilation *c);
/* Whether the functions are the parallel loops on a head, one after the other. */
bool emit_in_phases(const struct loops *l);
/* The queries of a task, 0 for tasks that are whole key/value heads, -1 for whole query heads. */
int64_t emit_tasks_of(const struct loops *l);
/* The units of rows that tasks are, of all heads or of each; 0: tasks are something else. */
int64_t emit_units_of(const struct loops *l);
/* Whether the tiles are of keys. */
bool emit_tasks_of_keys(const struct loops *l);
/* Whether what tasks of one head add up has to be added in their order. */
bool emit_in_order(const struct loops *l);
/* How far apart neighbours in a task's tile of queries are. */
int64_t emit_tasks_apart(const struct loops *l);
/* Whether it is written only where the caller wants it: its pointer may be NULL. The condition as C under which a
   statement has to run, that one of the outputs that it serves is wanted; NULL: it always runs. (wanted.c) */
bool emit_is_wanted(const struct emitter *x, const struct array *a);
const char *emit_condition(struct emitter *x, const struct stmt *s);
/* Whether the heads of an array are those of queries. */
bool emit_has_members(const struct emitter *x, const struct array *a);
/* Whether a state keeps the first and the last rows of the array, and drops those between them. */
bool emit_has_dropped(const struct emitter *x, const struct array *a);
/* Statements, into x->out. */
void emit_statements(struct emitter *x, const struct stmt *s);
/* A DOT statement; the functions that those before it call. (dot.c) */
void emit_dot(struct emitter *x, const struct stmt *s);
void emit_products(const struct emitter *x, struct text *out);
/* One parameter of a product: a constant stands in the function, whatever else is the caller's to say. And the call of
   the function for such arguments. */
struct product_argument {
    const char *name, *type, *value;
};
void emit_product_call(struct emitter *x, const char *product, const struct product_argument *argument, int arguments);
/* A DOT statement on matrix units, a COPY into one of its operands, and what the whole file needs of tile registers.
   (matrix.c) */
void emit_matrix_dot(struct emitter *x, const struct stmt *s);
void emit_matrix_across(struct emitter *x, const struct stmt *s);
void emit_matrix_copy(struct emitter *x, const struct stmt *s);
void emit_tile_registers(struct text *out);
/* Elements of an axis' current range, the name of a reference's array, and the address of an operand at the beginning
   of the ranges of the nest's axes, as C. */
const char *emit_range(struct emitter *x, int axis);
const char *emit_array(const struct emitter *x, const struct ref *r);
const char *emit_corner(struct emitter *x, const struct stmt *s, const struct ref *r);
/* Whether the axis is in tiles (variables i0, i1, and i inside a nest); else it has one variable of its own name. */
bool emit_tiled(const struct emitter *x, int axis);
/* Where a nest's variable of the axis begins and ends, as C. */
const char *emit_first(const struct emitter *x, int axis);
const char *emit_end(const struct emitter *x, int axis);
/* The heads of the loops that a FOR over tiles of queries or keys is, the last of them over the tiles, with their
   ranges: returns how many. The condition of an IF with ranges; what a loop needs that is drawn at random, and its
   name. (ranges.c) */
int emit_tile_loops(struct emitter *x, const struct stmt *s);
/* The name of all the tiles that are held of an array. (address.c) */
const char *emit_held(const struct emitter *x, const struct array *a);
const char *emit_outside(struct emitter *x, const struct stmt *s);
void emit_drawn_lists(struct emitter *x, const struct stmt *loop, bool inside);
const char *emit_drawn_name(const struct emitter *x, const struct expr *drawn);
/* What the conditions in a statement compare of ids, declared where they are first known: before the loop, or
   (`inside`) at the beginning of its body; and the C of one end of such a range. (ids.c) */
void emit_ids(struct emitter *x, const struct stmt *s, bool inside);
const char *emit_id_end(struct emitter *x, const struct expr *e);
/* The axes of the loops of a list and inside of it, as bits. */
uint32_t emit_loop_axes(const struct stmt *s);
/* A MAP statement. */
void emit_map(struct emitter *x, const struct stmt *s);
/* The array `to` of masks says in which lanes of the axis the region holds, for the other axes as they stand. */
void emit_region(struct emitter *x, const struct expr *region, int lane, const char *to);
/* An expression in SIZE, LO, HI (and INDEX of axes with their own variable) as C. */
const char *emit_integer(struct emitter *x, const struct expr *e);
/* A number of the emitted type (`narrow`: float), the shortest that reads back. */
const char *emit_number(const struct emitter *x, double value, bool narrow);
/* The address of element `r`, as C: "q + (i0 + i) * q_row + d". */
const char *emit_address(struct emitter *x, const struct ref *r);
/* The element itself: "q[(i0 + i) * q_row + d]". */
const char *emit_element(struct emitter *x, const struct ref *r);
const char *emit_step(struct emitter *x, const struct ref *r, int axis);
/* From a row of sums that programs leave for one another to the next, in elements: whole vectors of every target. */
int64_t emit_row_of_sums(const struct module *m, const struct array *a);
/* Whether the array has sums of queries, whose rows are those; sums of keys have strides in struct call. */
bool emit_sums_of_queries(const struct emitter *x, const struct array *a);
/* Whether neighbours in the current range of an axis are apart: then its elements are counted, and name_count is how
   many there are. */
bool emit_apart(const struct emitter *x, int axis);

/* Text as it may stand in a C comment: nothing in it begins or ends one or is a trigraph. */
const char *emit_harmless(struct arena *arena, const char *text);
/* Lines of text in a C comment. */
void emit_comment(struct arena *arena, struct text *out, const char *text, int indent);

int emit_param_count(const struct graph *g);
/* The shape as the axes of the interface: g and m side by side are the heads. */
int emit_param_shape(const struct graph *g, const struct value *v, const char **shape, const char **said);
/* The parameter of integers, or NULL. */
const char *emit_param_of_ids(const struct graph *g);
bool emit_has_random(const struct graph *g);
void emit_params_struct(const struct compilation *c, struct text *out);
void emit_gradients_struct(const struct compilation *c, struct text *out);
/* NAME_params_size and NAME_params_init: every random array at a multiple of 64 bytes, then what making the orthogonal
   ones takes. */
void emit_params_functions(const struct compilation *c, struct text *out);
/* The runtime's name of a storage type. */
const char *emit_runtime_dtype(enum dtype dtype);

/* Whether what runs depends on the number of keys. */
bool emit_by_length(const struct version *v, int versions);
/* Whether some products need the processor's own instructions. */
bool emit_any_paired(const struct compilation *const *c, int compilations);
bool emit_any_on_matrix_units(const struct compilation *const *c, int compilations);
enum { FOLD_GROUPS = 16 }; /* of elements of states, which threads fold into one after the other (kernel.c) */
bool emit_any_in_phases(const struct compilation *const *c, int compilations);
bool emit_any_waits(const struct compilation *const *c, int compilations); /* one of these two */
bool emit_any_in_order(const struct compilation *const *c, int compilations);
bool emit_any_slower(const struct compilation *const *c, int compilations); /* on some processors that support it */
/* How many compilations from the first on are for its target. */
int emit_same_target(const struct compilation *const *c, int compilations);
/* Compiled and run on every machine. */
bool emit_certain_target(const struct target *t);
/* Where the code for the k-th compilation's target is compiled: not where one before it is always chosen. */
const char *emit_guard(const struct compilation *const *c, int k);

/* What one file has: the code of all targets of a unit, or of one. */
struct emitted_file {
    const struct emission *p;
    const struct compilation *const *c;
    const struct version *version;
    int compilations, versions;
    const char *command;
};

struct template_names;
/* What the function that chooses a version does; its words in emit/c/entry.c. */
void emit_choice(const struct emitted_file *e, struct template_names *t);
void emit_choice_of_extend(const struct emitted_file *e, struct template_names *t);
void emit_choice_of_prepared(const struct emitted_file *e, struct template_names *t);
void emit_choice_of_parts(const struct emitted_file *e, struct template_names *t); /* of the parts of backward */

/* What kernels have above their code, and the entry points below it. */
void emit_preamble(const struct emitted_file *e, struct text *out);
void emit_entry_points(const struct emitted_file *e, struct text *out);

enum entry { ENTRY_forward, ENTRY_backward };
/* The arrays that an entry point takes, in C: "const float *q, …". */
const char *emit_array_arguments(struct arena *arena, enum entry entry, const char *stored);
/* The same as the comment of a header shows them: "q [B,H,n_q,64]  …". */
const char *emit_array_shapes(const struct spec *spec, struct arena *arena);

/* Without outer parentheses; `inner` adds them to what is not a single name or number. */
const char *emit_integer_text(struct emitter *x, const struct expr *e, bool inner);

int emit_known_ids(const struct emitter *x, const struct expr *e);

/* Elements beyond the range of the lanes become 0, so that whole vectors may be computed. */
void emit_copy(struct emitter *x, const struct stmt *s);

bool emit_any_apart(const struct compilation *const *c, int compilations);

#endif
