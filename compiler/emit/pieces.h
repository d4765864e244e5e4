/* Definitions taken out of C files by what uses them (pieces.c), and C files with values in place of names (template.c). */
#ifndef ATTNC_EMIT_PIECES_H
#define ATTNC_EMIT_PIECES_H

#include "../../ir/ir.h"

/* Definitions at the outermost level of some files, each with the comment above it. */
struct pieces;
struct pieces *pieces_new(struct arena *arena);
/* The text must outlive the pieces. `external` functions, which other files of their own library call, become static. */
void pieces_add(struct pieces *all, const char *text, bool external);
/* Wants every definition that the text names, and what those name. */
void pieces_want(struct pieces *all, const char *text);
/* The wanted definitions in the order of their files, and above them the #include lines of the files that they are of. */
void pieces_print(const struct pieces *all, struct text *out);

/* A name that ends in nothing but itself, or with `_` a suffix of names; what it becomes; and its value in conditions. */
struct template_value {
    const char *name, *text;
    int64_t number;
};
/* The text with names replaced, and with what `#if NAME`, `#if !NAME` or `#if NAME > number` leave out, for the names of the list, which ends in a NULL. */
void template_fill(const char *text, const struct template_value *value, struct text *out);

#endif
