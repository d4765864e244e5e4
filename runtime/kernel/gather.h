/* Loops over the indices in a list, which read copies of their rows. */
#ifndef ATTNRT_KERNEL_GATHER_H
#define ATTNRT_KERNEL_GATHER_H

#include "basic.h"

#include <string.h>

/* Writes the indices from <= x < to of the blocks in a list of struct attn_draw. Returns their number. */
INLINE int64_t listed_indices(const int64_t *list, int64_t block, int64_t from, int64_t to, int32_t *index)
{
    int64_t n = 0;
    for (int64_t k = 1; k <= list[0]; k++)
        for (int64_t x = max(list[k] * block, from), end = min((list[k] + 1) * block, to); x < end; x++)
            index[n++] = (int32_t)x;
    return n;
}

/* Like listed_indices, for `count` ascending numbers of blocks. After the last one, numbers are negative. */
INLINE int64_t indices_in_list(const int32_t *list, int64_t count, int64_t block, int64_t from, int64_t to,
    int32_t *index)
{
    int64_t n = 0;
    for (int64_t k = 0; k < count && list[k] >= 0; k++)
        for (int64_t x = max(list[k] * block, from), end = min((list[k] + 1) * block, to); x < end; x++)
            index[n++] = (int32_t)x;
    return n;
}

/* Copies rows index[from] to index[to - 1] of an array to `copy`. Returns the address that row 0 of the copy would have
   if its row `from` were the first one. `row` is the distance of rows in bytes, and `bytes` the size of one. */
INLINE const void *gathered(const void *rows, int64_t row, int64_t bytes, const int32_t *index, int64_t from,
    int64_t to, unsigned char *copy)
{
    for (int64_t x = from; x < to; x++)
        memcpy(copy + (x - from) * bytes, (const unsigned char *)rows + index[x] * row, (size_t)bytes);
    return (const void *)((uintptr_t)copy - (uintptr_t)(from * bytes));
}

#endif
