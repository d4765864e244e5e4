/* Names of the templates of entry points, which entry.c fills in. */
#ifndef ATTNC_EMIT_ENTRY_H
#define ATTNC_EMIT_ENTRY_H

#include "emit.h"
#include "printer.h"

/* ---- entry_arrays.c ---- */
/* Returns C for the sizes of an array of the caller, separated by commas. */
const char *emit_sizes_of(struct arena *arena, const struct kernel_array *a);
/* Returns whether the parameter has a row for each token. If so, struct call has its pointer and strides, because a
   state can replace them. */
bool emit_is_param_of_rows(const struct kernel_array *a);
/* Returns the members of struct call for arrays: the arguments of the entry points, the arrays within them, and the
   parameters with rows. Arguments that no entry point writes are const. */
const char *emit_call_members(struct arena *arena, const struct emission *p, bool backward);
/* Sets the names in templates for the arrays of an entry point. The names begin with ARRAY for forward, and with
   GRADIENT for backward. */
void emit_set_arrays(struct template_names *t, const struct kernel_arrays *arrays, enum entry entry);
/* Sets the names that the template needs for the tables of the tiles of masks. */
void emit_set_tiles(struct template_names *t, const struct kernel_arrays *arrays);

/* ---- entry_backward.c ---- */
/* Returns the numbers of keys at which versions change, as a C initialiser such as "0, 4096". */
const char *emit_lengths(const struct version *v, int versions, struct arena *arena);
void emit_set_prefix_sums(struct template_names *t, const struct emitted_file *e);
void emit_set_backward(struct template_names *t, const struct emitted_file *e);

/* ---- entry_params.c ---- */
/* Returns the number of the array's axis that has this size, or -1. */
int emit_axis_of_size(const struct kernel_array *a, enum array_size size);
void emit_set_params(struct template_names *t, const struct emitted_file *e);

/* ---- entry_state.c ---- */
void emit_set_state(struct template_names *t, const struct emitted_file *e);

#endif
