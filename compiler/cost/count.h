/* What the files that count share. */
#ifndef ATTNC_COST_COUNT_H
#define ATTNC_COST_COUNT_H

#include "cost.h"

/* To and from memory, by loops that visit as many pairs: everything once; but what is streamed over once for each tile
   of the lanes, where the rows that one of these sees do not stay in a cache of that many bytes (bytes.c). */
double bytes_moved(const struct compilation *c, const struct problem_size *size, double visited, int64_t cache);

#endif
