/* Functions that the files of cost/ share, but no other folder uses. */
#ifndef ATTNC_COST_COUNT_H
#define ATTNC_COST_COUNT_H

#include "cost.h"

/* Returns the bytes to and from memory for `visited` pairs (bytes.c). Most arrays move once. If a tile's keys and
   values do not fit in `cache` bytes, they are read again for each tile of queries. */
double bytes_moved(const struct compilation *c, const struct problem_size *size, double visited, int64_t cache);

#endif
