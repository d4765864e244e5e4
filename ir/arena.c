/* Arenas, whose allocations are freed together, and strings that grow. */
#include "memory.h"

#include <stdlib.h>
#include <string.h>

enum { BLOCK_BYTES = 1 << 16 };

struct block {
    struct block *next;
    size_t used, size;
    max_align_t data[];
};

struct arena {
    struct block *block; /* new allocations come from the first block */
};

static _Noreturn void out_of_memory(void)
{
    fputs("attnc: error: out of memory\n", stderr);
    exit(3);
}

static struct block *block_new(size_t bytes)
{
    if (bytes > SIZE_MAX - sizeof(struct block)) out_of_memory();
    struct block *b = calloc(1, sizeof *b + bytes);
    if (!b) out_of_memory();
    b->size = bytes;
    return b;
}

struct arena *arena_new(void)
{
    struct arena *a = calloc(1, sizeof *a);
    if (!a) out_of_memory();
    a->block = block_new(BLOCK_BYTES);
    return a;
}

void arena_free(struct arena *arena)
{
    if (!arena) return;
    for (struct block *b = arena->block, *next; b; b = next) {
        next = b->next;
        free(b);
    }
    free(arena);
}

void *arena_alloc(struct arena *arena, size_t bytes)
{
    const size_t unit = sizeof(max_align_t);
    if (bytes > SIZE_MAX - unit) out_of_memory();
    bytes = (bytes + unit - 1) / unit * unit;
    if (bytes == 0) bytes = unit;
    struct block *b = arena->block;
    if (bytes > BLOCK_BYTES / 4) {
        /* A large allocation gets its own block, after the first block, which still has free space. */
        struct block *own = block_new(bytes);
        own->used = bytes;
        own->next = b->next;
        b->next = own;
        return own->data;
    }
    if (bytes > b->size - b->used) {
        b = block_new(BLOCK_BYTES);
        b->next = arena->block;
        arena->block = b;
    }
    void *p = (char *)b->data + b->used;
    b->used += bytes;
    return p;
}

void *arena_copy_bytes(struct arena *arena, const void *from, size_t bytes)
{
    return memcpy(arena_alloc(arena, bytes), from, bytes);
}

void *arena_grow(struct arena *arena, void *array, int count, int *capacity, size_t size)
{
    if (count < *capacity) return array;
    *capacity = 2 * *capacity + 16;
    void *const grown = arena_alloc(arena, (size_t)*capacity * size);
    if (array) memcpy(grown, array, (size_t)count * size);
    return grown;
}

char *arena_copy(struct arena *arena, const char *text)
{
    return arena_copy_bytes(arena, text, strlen(text) + 1);
}

char *arena_vprintf(struct arena *arena, const char *format, va_list args)
{
    va_list again;
    va_copy(again, args);
    const int length = vsnprintf(NULL, 0, format, again);
    va_end(again);
    if (length < 0) out_of_memory();
    char *out = arena_alloc(arena, (size_t)length + 1);
    vsnprintf(out, (size_t)length + 1, format, args);
    return out;
}

char *arena_printf(struct arena *arena, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    char *out = arena_vprintf(arena, format, args);
    va_end(args);
    return out;
}

/* ---- strings that grow ---- */

static char *text_reserve(struct text *text, size_t more)
{
    if (more > SIZE_MAX / 2 - text->length - 1) out_of_memory();
    if (text->length + more + 1 > text->capacity) {
        size_t capacity = text->capacity ? text->capacity : 256;
        while (capacity < text->length + more + 1) capacity *= 2;
        char *data = realloc(text->data, capacity);
        if (!data) out_of_memory();
        text->data = data;
        text->capacity = capacity;
    }
    return text->data + text->length;
}

void text_add(struct text *text, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const int length = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (length < 0) out_of_memory();
    char *to = text_reserve(text, (size_t)length);
    va_start(args, format);
    vsnprintf(to, (size_t)length + 1, format, args);
    va_end(args);
    text->length += (size_t)length;
}

void text_append(struct text *text, const char *bytes, size_t length)
{
    char *to = text_reserve(text, length);
    if (length) memcpy(to, bytes, length);
    to[length] = 0;
    text->length += length;
}

void text_free(struct text *text)
{
    free(text->data);
    *text = (struct text){0};
}

const char *text_take(struct text *text, struct arena *arena)
{
    const char *const copy = arena_copy(arena, text->data ? text->data : "");
    text_free(text);
    return copy;
}
