/* Functions that the files of cost/ share, but no other folder uses. */
#ifndef ATTNC_COST_COUNT_H
#define ATTNC_COST_COUNT_H

#include "cost.h"

/* Returns the bytes to and from memory for loops that visit `visited` pairs (bytes.c). Most arrays move once. Inputs
   along the stream (usually keys and values) are read again for each tile of lanes if the rows that one tile reads do
   not fit in a cache of `cache` bytes. */
double bytes_moved(const struct compilation *c, const struct problem_size *size, double visited, int64_t cache);

#endif
