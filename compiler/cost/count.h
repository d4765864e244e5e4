/* Shared by the files that count. */
#ifndef ATTNC_COST_COUNT_H
#define ATTNC_COST_COUNT_H

#include "cost.h"

/* Bytes to and from memory for loops that visit `visited` pairs. Every array is moved once, except streamed ones: if
   the rows that a tile of the lanes reads do not fit a cache of `cache` bytes, they are read once for each tile
   (bytes.c). */
double bytes_moved(const struct compilation *c, const struct problem_size *size, double visited, int64_t cache);

#endif
