/* Functions that the files of cost/ share, but no other folder uses. */
#ifndef ATTNC_COST_COUNT_H
#define ATTNC_COST_COUNT_H

#include "cost.h"
#include "../../runtime/attnrt.h"

/* Returns the bytes to and from memory for `visited` pairs (bytes.c). Most arrays move once. If a tile's keys and
   values do not fit in `cache` bytes, they are read again for each tile of queries. */
double bytes_moved(const struct compilation *c, const struct problem_size *size, double visited, int64_t cache);

/* A list of ranges of keys, which grows. The owner frees `range`. (visit.c) */
struct key_ranges {
    struct attn_range *range;
    int64_t count, room;
    /* the EXPR_DRAWN of the last call of key_ranges_draw, its first and last block of queries, and keys of a block */
    const struct expr *drawn, *low, *high;
    int64_t block;
};
/* Makes room for `count` more ranges. Returns the place of the first one, or NULL if memory is short. */
struct attn_range *key_ranges_more(struct key_ranges *to, int64_t count);
/* Adds the ranges of the blocks of keys that are drawn for the current range of queries, with the runtime's functions:
   blocks of at least one query, or blocks of `every` query. Ranges are clipped to from <= j < end. `drawn` is an
   EXPR_DRAWN. */
void key_ranges_draw(struct key_ranges *to, struct module *m, const struct expr *drawn, const struct environment *env,
                     int64_t from, int64_t end, bool every);

#endif
