/* The points that a search considers, and its random numbers. */
#ifndef ATTNC_TUNE_POOL_H
#define ATTNC_TUNE_POOL_H

#include "search.h"

/* Returns the k-th 64 random bits of a stream (Philox). They are equal on all machines. */
uint64_t search_bits(uint64_t seed, uint64_t stream, uint64_t k);
enum { STREAM_ORDER, STREAM_DESIGN = 16 }; /* search_shuffled uses the streams STREAM_ORDER + 0, 1, ..., 5 */
/* Returns element k of a random permutation of 0, 1, ..., count - 1. */
int64_t search_shuffled(uint64_t seed, int64_t count, int64_t k);

/* All points of the space except the default point. If there are more than `max`, the pool is a random sample of `max`
   points. The arrays have room for `room` more points. */
struct search_pool {
    int count;
    int64_t *number;  /* point numbers, ascending if the pool has all points, otherwise in random order */
    double *expected; /* log of the cost model's prediction, or infinity */
    int *ranked;      /* indices of points by ascending prediction; ties by point number */
};
struct search_pool search_pool_make(struct arena *arena, const struct search_request *request, int max, int room);
/* Returns the log of the cost model's prediction for point `number`, or infinity. */
double search_expected(const struct search_request *request, int64_t number);

#endif
