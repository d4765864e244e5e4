/* The points that a search considers, ranked by the cost model, and its random numbers. */
#include "pool.h"
#include "../../runtime/attnrt.h"

#include <math.h>
#include <stdlib.h>

/* ---- random numbers ---- */

uint64_t search_bits(uint64_t seed, uint64_t stream, uint64_t k)
{
    const uint32_t counter[4] = {(uint32_t)k, (uint32_t)(k >> 32), (uint32_t)stream, (uint32_t)(stream >> 32)};
    const uint32_t key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
    uint32_t out[4];
    attn_philox(counter, key, out);
    return (uint64_t)out[1] << 32 | out[0];
}

/* A Feistel network permutes the numbers of 2 * half bits. 2 * half is the smallest even number of bits that is
   enough for count - 1. If a result is `count` or more, the network is applied again (cycle walking). */
int64_t search_shuffled(uint64_t seed, int64_t count, int64_t k)
{
    int half = 1;
    while (half < 32 && (uint64_t)count > UINT64_C(1) << (2 * half)) half++;
    const uint64_t mask = (UINT64_C(1) << half) - 1;
    uint64_t x = (uint64_t)k;
    do {
        uint64_t left = x >> half, right = x & mask;
        for (uint64_t round = 0; round < 6; round++) {
            const uint64_t mixed = left ^ (search_bits(seed, STREAM_ORDER + round, right) & mask);
            left = right;
            right = mixed;
        }
        x = left << half | right;
    } while (x >= (uint64_t)count);
    return (int64_t)x;
}

/* ---- points ---- */

double search_expected(const struct search_request *request, int64_t number)
{
    if (!request->expected) return INFINITY;
    const struct tune_point point = point_of(request->space, number);
    const double seconds = request->expected(request->user, &point);
    return seconds > 0 && isfinite(seconds) ? log(seconds) : INFINITY;
}

struct ranked {
    double expected;
    int64_t number;
    int index;
};

static int by_expected(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;
    if (x->expected != y->expected) return x->expected < y->expected ? -1 : 1;
    return x->number < y->number ? -1 : x->number > y->number;
}

struct search_pool search_pool_make(struct arena *arena, const struct search_request *request, int max, int room)
{
    const int64_t points = space_points(request->space);
    const struct tune_point default_point = point_default(request->space);
    const int64_t by_default = point_number(request->space, &default_point), seen = points <= max ? points : max;
    struct search_pool pool = {0};
    pool.number = arena_alloc(arena, (size_t)(seen + room + 1) * sizeof *pool.number);
    pool.expected = arena_alloc(arena, (size_t)(seen + room + 1) * sizeof *pool.expected);
    pool.ranked = arena_alloc(arena, (size_t)(seen + 1) * sizeof *pool.ranked);
    struct ranked *ranked = arena_alloc(arena, (size_t)(seen + 1) * sizeof *ranked);
    for (int64_t k = 0; k < seen; k++) {
        const int64_t number = points <= max ? k : search_shuffled(request->seed, points, k);
        if (number == by_default) continue;
        pool.number[pool.count] = number;
        pool.expected[pool.count] = search_expected(request, number);
        ranked[pool.count] = (struct ranked){pool.expected[pool.count], number, pool.count};
        pool.count++;
    }
    qsort(ranked, (size_t)pool.count, sizeof *ranked, by_expected);
    for (int k = 0; k < pool.count; k++) pool.ranked[k] = ranked[k].index;
    return pool;
}
