/* Memory, text, diagnostics and storage types. */
#ifndef ATTNC_MEMORY_H
#define ATTNC_MEMORY_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define IR_PRINTF(text, first) __attribute__((format(printf, text, first)))

/* ---- memory: an arena is freed as a whole; single allocations are never freed (arena.c) ---- */

struct arena;
struct arena *arena_new(void);
void arena_free(struct arena *arena);
/* Returns zeroed memory, aligned for any type. If memory runs out, the program ends with status 3. */
void *arena_alloc(struct arena *arena, size_t bytes);
char *arena_copy(struct arena *arena, const char *text);
void *arena_copy_bytes(struct arena *arena, const void *from, size_t bytes);
/* Returns an array with room for another element after `count`: `array`, or a copy with a larger *capacity. */
void *arena_grow(struct arena *arena, void *array, int count, int *capacity, size_t size);
char *arena_printf(struct arena *arena, const char *format, ...) IR_PRINTF(2, 3);
char *arena_vprintf(struct arena *arena, const char *format, va_list args) IR_PRINTF(2, 0);

/* A string that grows. Zero the struct first; free with text_free. `data` is NULL or ends in a zero byte, which
   `length` does not count. */
struct text {
    char *data;
    size_t length, capacity;
};
void text_add(struct text *text, const char *format, ...) IR_PRINTF(2, 3);
void text_append(struct text *text, const char *bytes, size_t length);
void text_free(struct text *text);
/* Frees the text and returns a copy in the arena. */
const char *text_take(struct text *text, struct arena *arena);

/* ---- text from other sources: files, databases, other programs (plain_text.c) ---- */

/* Returns the number of bytes, 1 to 4, of the UTF-8 character at s. Returns 0 if it is invalid or longer than
   `left`. */
size_t utf8_character(const char *s, size_t left);
/* Returns true if the UTF-8 character of `length` bytes at s is a control character. */
bool utf8_control(const char *s, size_t length);
/* Appends bytes. Replaces each control character and each invalid byte by `instead`. Keeps tabs. Keeps newlines if
   `lines` is PLAIN_LINES. Use it for all text from users and other programs, which may contain escape sequences. */
enum plain_lines { PLAIN_LINE, PLAIN_LINES };
void text_plain(struct text *text, const char *bytes, size_t length, enum plain_lines lines, const char *instead);

/* ---- diagnostics (diagnostics.c): `file:line:column: error: message`, then the source line, then a caret ---- */

struct position {
    int line, column; /* counted from 1; 0 means unknown */
};
#define NO_POSITION ((struct position){0, 0})

struct diagnostics;
/* `file` is the name to print. `source` is the text of the file, or NULL. It must outlive the struct diagnostics.
   diagnostics_flush prints the messages. */
struct diagnostics *diagnostics_new(struct arena *arena, const char *file, const char *source, size_t length);
/* Messages return false, which callers may return after an error. diagnostics_note attaches a note to the last one. */
bool diagnostics_error(struct diagnostics *d, struct position at, const char *format, ...) IR_PRINTF(3, 4);
bool diagnostics_warning(struct diagnostics *d, struct position at, const char *format, ...) IR_PRINTF(3, 4);
bool diagnostics_note(struct diagnostics *d, struct position at, const char *format, ...) IR_PRINTF(3, 4);
/* Adds the messages of `from`, without their positions. */
void diagnostics_take(struct diagnostics *d, const struct diagnostics *from);
int diagnostics_errors(const struct diagnostics *d); /* returns the number of errors so far, without warnings */
/* Writes and removes the messages, sorted by position, with their notes. Returns the number of errors. */
int diagnostics_flush(struct diagnostics *d, FILE *out, bool color);
/* Returns the word of the list that is most similar to the misspelt `text`, or NULL. */
const char *nearest_word(const char *text, const char *const *words);

/* ---- storage types ---- */

enum dtype {
#define DTYPE(name, text, elements, bytes, c) DTYPE_##name,
#include "dtype.def"
#undef DTYPE
    DTYPE_COUNT
};
const char *dtype_name(enum dtype dtype);   /* returns a name such as "f32" */
const char *dtype_c_type(enum dtype dtype); /* returns a type such as "float" */
bool dtype_parse(const char *text, enum dtype *dtype);
/* Returns the bytes of an element, or 1 if rows are bytes. */
int dtype_bytes(enum dtype dtype);
bool dtype_is_integer(enum dtype dtype);
bool dtype_is_packed(enum dtype dtype); /* true if rows are bytes */
bool dtype_is_narrow(enum dtype dtype); /* true if elements are widened before they are used */
/* Returns the number of elements that share a scale. A row has a multiple of it. Returns 1 if there are no scales,
   and 0 for one scale per row. */
int dtype_block(enum dtype dtype);
/* Return the bytes of a row, and the distance of contiguous rows in elements, or in bytes if rows are bytes. */
int64_t dtype_row_bytes(enum dtype dtype, int64_t elements);
int64_t dtype_row_units(enum dtype dtype, int64_t elements);
/* Returns the type of computation and sums. It is f64 for f64, otherwise f32. */
enum dtype dtype_of_sums(enum dtype dtype);

#endif
