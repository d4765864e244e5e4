/* Rows of a state on pages, and keys that several sequences share. */
#ifndef ATTNC_PAGES_H
#define ATTNC_PAGES_H

#include "../schedule/schedule.h"

/* Pages of a state (pages.c). In the workspace, the rows of a tile that is on several pages, or that a loop gathers,
   follow the lists of ranges.
   - array_in_pages returns whether the array has a row for each key.
   - loops_read_pages returns whether a program reads such rows only in loops over keys, at the keys of a range.
   - pages_workspace returns the bytes of the rows of all arrays, and pages_offset the bytes before those of one.
   - pages_row_bytes returns the bytes of a row.
   - loops_gather returns whether a loop gathers rows. */
bool array_in_pages(const struct loops *l, const struct array *a);
bool loops_read_pages(const struct loops *l);
int64_t pages_workspace(const struct compilation *c);
int64_t pages_offset(const struct compilation *c, int array);
bool loops_gather(const struct loops *l);
int64_t pages_row_bytes(const struct compilation *c, const struct array *a);
/* The sums over the keys of pages that several sequences share (common_keys.c). A program computes them once for the
   rows of all these sequences, a chunk at a time.
   - chunk: the keys of a chunk
   - tile: tiles with a row for each query, which all threads of a head share: prepared queries, and carried sums
   - bytes: the bytes of a row of each of these tiles; row: those of all tiles, a multiple of 64
   - keys: the loop over chunks for keys that all rows see. NULL: the loop of the program. In it,
     EXPR_START(r, k) is looked up for row r: the position of query 0 for k = 0, the number of the row's query for
     k = 1, and of its member for k = 2.
   - from, to: the keys that all rows of a sequence see, if `keys` is not NULL; NULL: no such bound */
enum { MAX_COMMON_TILES = 16 };
struct common_keys {
    int64_t chunk, row;
    const struct stmt *keys;
    const struct expr *from, *to;
    int tiles, tile[MAX_COMMON_TILES];
    int64_t bytes[MAX_COMMON_TILES];
};
/* Returns whether the sums over keys before the queries depend on sequences only by their rows. */
bool common_keys_of(const struct loops *l, struct common_keys *out);

#endif
