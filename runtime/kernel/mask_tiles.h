/* Reads tables of the tiles of masks. A kernel defines struct mask_tiles first. */
#ifndef ATTNRT_KERNEL_MASK_TILES_H
#define ATTNRT_KERNEL_MASK_TILES_H

#include "masks.h"

/* Like flags_of_rows, but reads the table of the tiles. A tile that is partly in the range counts as a whole. So
   `min` may be smaller and `max` larger. Rows are numbered through all masks. */
INLINE struct ids flags_of_tiles(const struct mask_tiles *t, int64_t first, int64_t end, int64_t from, int64_t to)
{
    const int64_t mask = first / t->rows, before = mask * t->rows, left = max(from, 0) / ATTN_TILE_COLUMNS,
        right = (to + ATTN_TILE_COLUMNS - 1) / ATTN_TILE_COLUMNS;
    unsigned seen = end - before > t->rows ? ATTN_TILE_SOME | ATTN_TILE_SOME_NOT : 0; /* the rows belong to several
        masks */
    for (int64_t strip = (first - before) / ATTN_TILE_ROWS; strip * ATTN_TILE_ROWS < min(end - before,
        t->rows); strip++) {
        const uint8_t *const tile = t->tile + (mask * t->strips_of_mask + strip) * t->tiles_of_strip;
        for (int64_t x = left; x < right; x++) seen |= tile[x];
    }
    return (struct ids){!(seen & ATTN_TILE_SOME_NOT), seen & ATTN_TILE_SOME};
}

/* Consecutive columns of a mask. */
struct run {
    int64_t from, to;
};
/* Moves *run to the next columns before `end` whose tiles have a true flag in rows `first` to `end_row` - 1. A run
   has at most `most` columns. Returns 0 if no columns are left. */
INLINE int next_run(struct run *run, const struct mask_tiles *t, int64_t first, int64_t end_row, int64_t most,
    int64_t end)
{
    run->from = run->to;
    run->to = min(run->from + most, end);
    for (int64_t x = run->from; x < run->to; x = x / ATTN_TILE_COLUMNS * ATTN_TILE_COLUMNS + ATTN_TILE_COLUMNS) {
        if (flags_of_tiles(t, first, end_row, x, x + 1).max) continue;
        if (x > run->from)
            run->to = x;
        else
            run->to = min((run->from = (x / ATTN_TILE_COLUMNS + 1) * ATTN_TILE_COLUMNS) + most, end);
    }
    return run->from < run->to;
}

#endif
