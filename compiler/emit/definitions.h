/* Fills in templates (template.c). */
#ifndef ATTNC_EMIT_TEMPLATE_H
#define ATTNC_EMIT_TEMPLATE_H

#include "../../ir/memory.h"

/* The names of a template. A name has a text that replaces it, and a value that conditions test.
   - A name that begins with `_` matches the end of a word: `_T` matches in `load_T`.
   - A name that ends with `_` matches the beginning of a word: `SPEC_` matches in `SPEC_forward`.
   - If several names match a word, the name that was set first is used. */
enum { MAX_VALUES = 320 };
struct template_names {
    struct arena *arena;
    struct template_value {
        const char *name, *text;
        int64_t number;
        size_t length; /* length of the name */
        bool is_beginning, is_end;
    } value[MAX_VALUES];
    int values;
    /* For each character, whether a name begins with it, or ends with it if the name matches the end of a word. */
    bool begins[256], ends[256];
};
void template_set(struct template_names *t, const char *name, const char *text); /* conditions see the value 1 */
void template_set_number(struct template_names *t, const char *name, int64_t number);
/* Sets the text of `name` to `lines` without the final newlines. Frees `lines`. */
void template_set_text(struct template_names *t, const char *name, struct text *lines);
/* Returns the text of `file` after its first empty line, with names replaced. Evaluates `#if NAME`, `#if !NAME`,
   `#if NAME > number`, and such conditions joined by &&. */
const char *template_fill(const struct template_names *t, const char *file);

#endif
