/* Reads a whole file into memory, for test programs in C. */
#ifndef ATTNC_TESTS_READ_WHOLE_H
#define ATTNC_TESTS_READ_WHOLE_H

#include "../../ir/memory.h"

#include <stdio.h>

/* Returns the bytes of the file with a zero after them, or NULL. Sets *length to their number, without the zero. */
static inline char *read_whole(struct arena *arena, const char *file, size_t *length)
{
    struct text text = {NULL, 0, 0};
    char buffer[4096];
    FILE *in = fopen(file, "rb");
    if (!in) return NULL;
    while (!feof(in) && !ferror(in)) text_append(&text, buffer, fread(buffer, 1, sizeof buffer, in));
    const bool read = !ferror(in);
    fclose(in);
    *length = text.length;
    char *copy = read ? arena_copy(arena, text.data ? text.data : "") : NULL;
    text_free(&text);
    return copy;
}

#endif
