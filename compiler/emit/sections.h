/* The code of a kernel for one target and register block, and its text for all of them (sections.c). */
#ifndef ATTNC_EMIT_SECTIONS_H
#define ATTNC_EMIT_SECTIONS_H

#include "printer.h"

enum { MAX_SECTIONS = 16 };
struct section {
    const char *title, *guard, *suffix; /* guard: the condition of the preprocessor, or "" */
    int lanes;
    struct text head, body; /* head: the names that describe the target; body: #include lines and functions */
};
/* Prints the bodies of all sections. */
void sections_print(struct arena *arena, const struct section *const *s, int sections, struct text *out);

#endif
