/* Rows of a state in pages. A kernel defines struct call first, with its members `pages` and `page`. */
#ifndef ATTNRT_KERNEL_PAGES_H
#define ATTNRT_KERNEL_PAGES_H

#include "basic.h"

#include <string.h>

/* Returns the end of the page with row `at`, or `to` if this is less. */
INLINE int64_t page_end(const struct call *call, int64_t at, int64_t to)
{
    return min(to, (at / call->pages->tokens + 1) * call->pages->tokens);
}

/* Returns the address of row `at` of an array in pages, or NULL from row `to` on. `rows` is the address of the head's
   first row in page 0, and `row` the bytes of a row. */
INLINE const void *paged_row(const struct call *call, int64_t sequence, const void *rows, int64_t row, int64_t at,
    int64_t to)
{
    const struct attn_pages *const p = call->pages;
    const int64_t number = at / p->tokens;
    if (at >= to) return NULL;
    return (const void *)((uintptr_t)rows + (uintptr_t)call->page[sequence * p->row + number] * p->bytes +
        (uintptr_t)((at - number * p->tokens) * row));
}

/* Returns the address of rows `from` to `to` - 1 of an array as the address of row 0. Rows on several pages are copied
   to `copy`. But if `parts` is not 0, the address is NULL if they can be read a page at a time, in parts of a multiple
   of `parts` rows. */
INLINE const void *paged_rows(const struct call *call, int64_t sequence, const void *rows, int64_t row, int64_t from,
    int64_t to, int64_t parts, unsigned char *copy)
{
    const int64_t tokens = call->pages->tokens;
    if (to <= (from / tokens + 1) * tokens)
        return (const void *)((uintptr_t)paged_row(call, sequence, rows, row, from, to) - (uintptr_t)(from * row));
    if (parts && tokens % parts == 0 && from % parts == 0) return NULL;
    for (int64_t at = from, end; at < to; at = end) {
        end = page_end(call, at, to);
        memcpy(copy + (at - from) * row, paged_row(call, sequence, rows, row, at, to), (size_t)((end - at) * row));
    }
    return (const void *)((uintptr_t)copy - (uintptr_t)(from * row));
}

/* Like gathered (gather.h), for rows in pages. */
INLINE const void *gathered_pages(const struct call *call, int64_t sequence, const void *rows, int64_t row,
    int64_t bytes, const int32_t *index, int64_t from, int64_t to, unsigned char *copy)
{
    for (int64_t x = from; x < to; x++)
        memcpy(copy + (x - from) * bytes, paged_row(call, sequence, rows, row, index[x], index[x] + 1), (size_t)bytes);
    return (const void *)((uintptr_t)copy - (uintptr_t)(from * bytes));
}

/* Returns the address of row `at` for a product that prefetches `distance` rows ahead, or NULL. If pages are shorter,
   it skips the rows that an earlier product has prefetched: the address plus their bytes is that of the row after
   them. */
INLINE const void *paged_after(const struct call *call, int64_t sequence, const void *rows, int64_t row, int64_t at,
    int64_t to, int64_t distance)
{
    const int64_t skipped = max(distance - call->pages->tokens, 0);
    const uintptr_t found = (uintptr_t)paged_row(call, sequence, rows, row, at + skipped, to);
    return (const void *)(found ? found - (uintptr_t)(skipped * row) : 0);
}

#endif
