/* The tables at the end of a kernel (tables.c, programs.c, entry.c, left_arrays.c). */
#ifndef ATTNC_EMIT_TABLES_H
#define ATTNC_EMIT_TABLES_H

#include "emit.h"
#include "printer.h"

/* A left array of one form (linear or quadratic): one part of backward leaves it for later parts. */
struct left_array {
    const char *name, *identifier; /* the identifier is the name in the emitted C */
    const struct graph *g;         /* the graph of a part that reads the array */
    int v;                         /* the array's value in this graph */
};

/* The arrays of a call, in the order of their numbers. */
struct table_arrays {
    struct arena *arena;
    int count, capacity;
    struct table_array {
        const char *identifier;
        const struct kernel_array *of_caller; /* NULL: parts of backward leave the array for later ones */
        const struct left_array *left;
        bool linear;        /* of `left` */
        const char *origin; /* FROM_… of the runtime, or NULL */
        int64_t elements;
    } *array;
};
void table_arrays(struct table_arrays *all, const struct emitted_file *e);
/* Prints the enumerators ARRAY_q, … of the arrays. */
void table_enumerators(const struct table_arrays *all, struct text *out);
/* Returns C for the list of the arrays with set[k], or NULL if there are none. */
const char *table_list(struct arena *arena, const struct table_arrays *all, const bool *set);
const char *table_statistics(const struct spec *spec);        /* returns the name of enum attn_statistics */
int table_params(const struct emission *p, struct text *out); /* prints struct attn_param; returns their number */
void table_rows(const struct emitted_file *e, const struct table_arrays *all, struct text *out);

/* Prints the arrays of a state. A state stores `kept` arrays: those of the caller, corrected values, and from number
   `sums` on the prefix sums. The arrays from `kept` to `given` - 1 are those that only the terms of prefix sums need.
   An array within another array is stored as part of it, unless the state has the outer array in another form. */
struct kept_counts {
    int kept, given, sums;
};
void table_kept(const struct emission *p, struct kept_counts *counts, struct text *out);

/* ---- programs.c ---- */
void table_programs(const struct emitted_file *e, const struct table_arrays *all, struct text *out);
/* Lists the sums of a head if they are matrices [features, value_dim] and vectors [features], in the order of the sums
   in the graph: at most MAX_OPERANDS. Returns their number, or 0 if NAME_state_get cannot read them. */
int table_matrices(const struct emitted_file *e, const struct compilation *c, const struct array *of[]);
int64_t table_features(const struct compilation *c, const struct array *matrix); /* the features of one of these sums */

/* ---- left_arrays.c ---- */
int table_array_find(const struct table_arrays *all, const char *identifier); /* the array's number, or -1 */
/* Returns the part of backward whose tiles add to shared sums in order, or NULL. */
const struct compilation *emit_ordered_part(const struct emitted_file *e);
/* Sets *of to the left arrays of the linear or quadratic form, and returns their number. */
int emit_left_arrays(const struct emitted_file *e, bool linear, struct arena *arena, struct left_array **of);
/* Marks the arrays of the caller that are computed from the left array. */
void emit_left_wanted(const struct emitted_file *e, bool linear, const struct left_array *left,
                      const struct table_arrays *all, bool *wanted);
/* Returns the name of the gradient that sums the left array over query heads, or NULL if it has no gradient for each
   query head. */
const char *emit_left_whole(const struct emitted_file *e, const struct left_array *left, struct arena *arena);
/* Marks the gradients with respect to arrays that prefix sums are computed from. */
void emit_prefix_wanted(const struct emitted_file *e, const struct table_arrays *all, bool *wanted);

/* ---- entry.c ---- */
void emit_entry_points(const struct emitted_file *e, const struct table_arrays *all, struct text *out);

#endif
