/* This header declares two tools for C text: definitions.c selects the definitions of C files that other C code uses,
   and template.c fills in C files that are templates. */
#ifndef ATTNC_EMIT_PIECES_H
#define ATTNC_EMIT_PIECES_H

#include "../../ir/ir.h"

/* This holds the outermost definitions of several files. Each definition includes the comment above it. */
struct pieces;
struct pieces *pieces_new(struct arena *arena);
/* Adds the definitions of a file's `text`, which must outlive `all`. If `external` is true, functions of the file that
   are not static are made static. */
void pieces_add(struct pieces *all, const char *text, bool external);
/* Selects every definition that the text names, and the definitions that those name. */
void pieces_want(struct pieces *all, const char *text);
/* Prints the selected definitions in the order of their files, after the #include lines of these files. */
void pieces_print(const struct pieces *all, struct text *out);

/* This lists the text that replaces each name of a template, and the number that the name has in conditions. A name
   that begins with `_` matches the end of a word, and a name that ends with `_` matches the beginning of a word. The
   first entry that matches counts. */
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
void template_set(struct template_names *t, const char *name, const char *text); /* the name is 1 in conditions */
void template_set_number(struct template_names *t, const char *name, int64_t number);
/* Sets `name` to the text of `lines` without its last newline, and frees `lines`. */
void template_set_text(struct template_names *t, const char *name, struct text *lines);
/* Returns the text of `file` without its first comment. Names are replaced, and `#if NAME`, `#if !NAME` and `#if NAME >
   number` are evaluated; other directives stay. */
const char *template_fill(const struct template_names *t, const char *file);

#endif
