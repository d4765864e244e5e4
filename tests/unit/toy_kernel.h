/* Tables of toy kernels, like those that attnc emits, for tests of runtime/call/. A test adds its programs. */
#ifndef ATTNC_TESTS_TOY_KERNEL_H
#define ATTNC_TESTS_TOY_KERNEL_H

#include "runtime/call/state.h"
#include "runtime/kernel/openmp.h"
#include "suite.h"

#include <stdlib.h>

enum { DIM = 2 };

/* The numbers of arrays. PREFIX is the first of those of enum prefix_array. */
enum { Q, K, V, OUT, DOUT, DQ, DK, DV, STATISTICS, PARAM, SAVED, ROW_SUM, SUM, PREFIX, ARRAYS = PREFIX + 9 };

struct toy_strides {
    int64_t param[4];
};
struct toy_params {
    const void *param;
    const struct toy_strides *strides;
    const struct attn_mask_tiles *tiles;
};

#define TOY_ARGUMENT(row, in_forward, in_backward, forward, backward, member) \
    {.name = #member, \
     .access = {in_forward, in_backward}, \
     .rows = row, \
     .argument = {forward, backward}, \
     .strides = offsetof(struct attn_problem, member)}
#define TOY_PREFIX(name_, row) {.name = name_, .rows = row, .origin = FROM_LIBRARY}
static const struct array toy_arrays[ARRAYS] = {
    [Q] = TOY_ARGUMENT(ROWS_OF_QUERIES, ACCESS_READ, ACCESS_READ, 0, 0, q),
    [K] = TOY_ARGUMENT(ROWS_OF_KEYS, ACCESS_READ, ACCESS_READ, 1, 1, k),
    [V] = TOY_ARGUMENT(ROWS_OF_KEYS, ACCESS_READ, ACCESS_READ, 2, 2, v),
    [OUT] = TOY_ARGUMENT(ROWS_OF_QUERIES, ACCESS_WRITTEN, ACCESS_READ, 3, 3, out),
    [DOUT] = TOY_ARGUMENT(ROWS_OF_QUERIES, ACCESS_NONE, ACCESS_READ, 4, 4, dout),
    [DQ] = TOY_ARGUMENT(ROWS_OF_QUERIES, ACCESS_NONE, ACCESS_WANTED, 4, 5, dq),
    [DK] = TOY_ARGUMENT(ROWS_OF_KEYS, ACCESS_NONE, ACCESS_WANTED, 4, 6, dk),
    [DV] = TOY_ARGUMENT(ROWS_OF_KEYS, ACCESS_NONE, ACCESS_WANTED, 4, 7, dv),
    [STATISTICS] = {.name = "statistics",
                    .rows = ROWS_OF_QUERIES,
                    .origin = FROM_PROBLEM,
                    .access = {ACCESS_WANTED, ACCESS_NONE},
                    .member = offsetof(struct attn_problem, statistics),
                    .strides = offsetof(struct attn_problem, statistics_at),
                    .elements = 1},
    [PARAM] = {.name = "param", .origin = FROM_PARAMS, .access = {ACCESS_READ, ACCESS_READ}},
    [SAVED] = {.name = "saved", .rows = ROWS_OF_QUERIES, .origin = FROM_SAVED},
    [ROW_SUM] = {.name = "row_sum", .rows = ROWS_OF_QUERIES, .origin = FROM_ROW_SUMS},
    [SUM] = {.name = "sum", .rows = ROWS_OF_QUERIES, .origin = FROM_SUMS, .elements = 1},
    TOY_PREFIX("sum_q", ROWS_OF_QUERIES),
    TOY_PREFIX("sum_q_low", ROWS_OF_QUERIES),
    TOY_PREFIX("sum_k", ROWS_OF_KEYS),
    TOY_PREFIX("sum_k_low", ROWS_OF_KEYS),
    TOY_PREFIX("sum_chunk", ROWS_OF_KEYS),
    TOY_PREFIX("sum_chunk_low", ROWS_OF_KEYS),
    TOY_PREFIX("dsum_q", ROWS_OF_QUERIES),
    TOY_PREFIX("dsum_k", ROWS_OF_KEYS),
    TOY_PREFIX("dsum", ROWS_OF_KEYS)};

/* A parameter in toy_params with these extents. `tiles` is the offset of the table of its tiles, or 0. */
#define TOY_PARAM(dtype, rank, tiles, ...) \
    {"param", dtype, rank, {__VA_ARGS__}, offsetof(struct toy_params, param), 0, 0, tiles, 0, ATTN_NO_LIMITS}

/* The members that all toy kernels have. A later initialiser replaces one of them. */
#define TOY_KERNEL(targets_) \
    .layout = KERNEL_LAYOUT, .name = "toy", .openmp = OPENMP, .target = targets_, \
    .targets = sizeof(targets_) / sizeof *(targets_), \
    .array = toy_arrays, .arrays = ARRAYS, .params_bytes = sizeof(struct toy_params), \
    .strides = offsetof(struct toy_params, strides), .real = sizeof(float), .element = sizeof(float), .head_dim = DIM, \
    .value_dim = DIM, .key_row = DIM, .value_row = DIM, .ids = -1, .corrected = -1, .solution = -1, \
    .shared_gradient = {DQ, DK}, \
    .prefix = {PREFIX, PREFIX + 1, PREFIX + 2, PREFIX + 3, PREFIX + 4, PREFIX + 5, PREFIX + 6, PREFIX + 7, PREFIX + 8}

/* Returns the address of a row of floats. */
static inline float *toy_row(const struct call *call, int array, int64_t b, int64_t h, int64_t i)
{
    const struct place *const at = &call->array[array];
    return (float *)moved(at->at, (b * at->strides.batch + h * at->strides.head + i * at->strides.row) *
                                      (int64_t)sizeof(float));
}

static inline uint32_t toy_random(uint32_t *state, uint32_t below)
{
    *state = *state * 1664525 + 1013904223;
    return (*state >> 8) % below;
}

#endif
