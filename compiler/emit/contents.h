/* The contents of a file around its functions: the heading, parameters, targets, comments. */
#ifndef ATTNC_EMIT_CONTENTS_H
#define ATTNC_EMIT_CONTENTS_H

#include "emit.h"

struct emitter;
/* These functions are for --standalone (standalone.c). standalone_types prints the types of attnrt.h.
   standalone_paste prints the C text `kernel` after the files of the runtime whose functions it and `loops` call, with
   headers in place of its #include lines. Prints `loops` to loops_out, without the headers that `kernel` includes. */
void standalone_types(struct text *out);
void standalone_paste(const char *kernel, const char *loops, struct text *out, struct text *loops_out);
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

#endif
