/* This header declares two tools for C text: definitions.c selects the definitions of C files that other C code uses,
   and template.c fills in C files that are templates. */
#ifndef ATTNC_EMIT_PIECES_H
#define ATTNC_EMIT_PIECES_H

#include "../../ir/ir.h"

/* The pieces of several C files. A piece is an outermost definition or a directive, with the comment above it. */
struct pieces;
struct pieces *pieces_new(struct arena *arena);
/* Adds the pieces of a file's `text`, which must outlive `all`. If `external` is true, pieces_print adds `static` to
   functions of the file that lack it. */
void pieces_add(struct pieces *all, const char *text, bool external);
/* Selects every piece whose name is in `text`, and every piece whose name is in a selected piece. */
void pieces_want(struct pieces *all, const char *text);
/* Prints the #include lines of the files with selected pieces, then the selected pieces, in the order of the files. */
void pieces_print(const struct pieces *all, struct text *out);

/* The names of a template. For each name, the text that replaces the name, and the value of the name in conditions.
   - A name that begins with `_` matches the end of a word: `_T` matches in `load_T`.
   - A name that ends with `_` matches the beginning of a word: `SPEC_` matches in `SPEC_forward`.
   - If several names match a word, the name that was set first is used. */
enum { MAX_VALUES = 160 };
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
void template_set(struct template_names *t, const char *name, const char *text); /* the value in conditions is 1 */
void template_set_number(struct template_names *t, const char *name, int64_t number);
/* Sets `name` to the text of `lines` without newlines at its end, and frees `lines`. */
void template_set_text(struct template_names *t, const char *name, struct text *lines);
/* Returns the text of `file` after its first empty line, so without its first comment. Names are replaced. `#if NAME`,
   `#if !NAME`, `#if NAME > number` and conjunctions of these with && are evaluated. Other directives stay. */
const char *template_fill(const struct template_names *t, const char *file);

#endif
