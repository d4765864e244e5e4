/* Definitions taken out of C files by what uses them (pieces.c), and C files with values in place of names
   (template.c). */
#ifndef ATTNC_EMIT_PIECES_H
#define ATTNC_EMIT_PIECES_H

#include "../../ir/ir.h"

/* Definitions at the outermost level of some files, each with the comment above it. */
struct pieces;
struct pieces *pieces_new(struct arena *arena);
/* The text must outlive the pieces. `external` functions, which other files of their own library call, become
   static. */
void pieces_add(struct pieces *all, const char *text, bool external);
/* Wants every definition that the text names, and what those name. */
void pieces_want(struct pieces *all, const char *text);
/* The wanted definitions in the order of their files, and above them the #include lines of the files that they are
   of. */
void pieces_print(const struct pieces *all, struct text *out);

/* What names become, and their values in conditions. A name that begins with `_` is the end of names, one that ends
   with `_` their beginning; of several that fit the first counts. */
enum { MAX_VALUES = 128 };
struct template_names {
    struct arena *arena;
    struct template_value {
        const char *name, *text;
        int64_t number;
        size_t length; /* of the name */
        bool is_beginning, is_end;
    } value[MAX_VALUES];
    int values;
};
void template_set(struct template_names *t, const char *name, const char *text); /* and 1 in conditions */
void template_set_number(struct template_names *t, const char *name, int64_t number);
/* Lines, without the last end of one; the text is freed. */
void template_set_text(struct template_names *t, const char *name, struct text *lines);
/* A file without the comment on top: names are replaced, and what `#if NAME`, `#if !NAME` or `#if NAME > number` leave
   out is gone. */
const char *template_fill(const struct template_names *t, const char *file);

#endif
