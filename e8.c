/* e8.c, made by attnc 0.1.0: attnc e8.yaml --target generic
   C11 with GNU extensions, for a C compiler; C++ includes e8.h.

   Computes, in f32, over the axes b (batch), g (key/value head), m (query head of g), i (query), j (key), d (16),
   e (16):
     q [b g m i d]
     k [b g j d]
     v [b g j e]
     x3 [b g m i d] = 0 < q ? q + 1 : exp(min(q, 0))
     x4 [b g j d] = 0 < k ? k + 1 : exp(min(k, 0))
     x5 [b g m i j] = sum over d of x3 * x4
     x6 [b g m i j] = x5
     x7 [b g m i] = sum over j of x6
     x8 [b g m i e] = sum over j of x6 * v
     x9 [b g m i e] = x7 == 0 ? 0 : x8 / x7
     x10 [b g m i j] = sum over d of q * k
     x11 [b g m i j] = x10 * x10
     x12 [b g m i] = sum over j of x11 if j <= i + query_start
     x13 [b g m i e] = sum over j of x11 * v if j <= i + query_start
     x14 [b g m i e] = x12 + 1 == 0 ? 0 : x13 / (x12 + 1)
     x15 [b g m i e] = x14 - x9
     out = x15
   query_start is the position of the first query: problem.query_start[b], or n_k - n_q if that is NULL.

   How: each vector lane holds one query. Keys are processed in tiles,
   so row sums and maxima need no reduction across lanes.
   The sums of a tile start from zero and are added to the sums so far. Tiles that no query sees are skipped.
   Linear: the weight is an inner product of 152 features. The state is a sum over keys of 152 x 17 numbers.
     generic    linear    tiles of 32 queries and 32 keys; 87936 bytes of workspace per thread

   Contents:
     loops      e8_linear, e8_linear_saved, e8_linear_row_sums, e8_linear_dq, e8_linear_dk_dv
     targets    generic
     tables     arrays and programs, for the functions of attnrt that call the loops
     interface  e8_workspace, e8_forward, e8_backward, e8_kernel

   Compile with: cc -O2 -fopenmp e8.c … -lattnrt -lm */
#ifdef __cplusplus
#error "e8.c is C, not C++: compile it with a C compiler"
#elif !defined __STDC_VERSION__ || __STDC_VERSION__ < 199901L
#error "e8.c is C11, not C89: compile it without -std=, or with -std=gnu11"
extern int e8_is_c11;
#elif !defined __GNUC__
#error "e8.c uses GNU C vector extensions: compile it with gcc or clang"
extern int e8_is_gnu_c;
#else
#include "e8.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include <attnrt/kernel/optimize.h>
#include <attnrt/kernel/call.h>

/* the numbers of the arrays of a call */
enum {
    ARRAY_q, ARRAY_k, ARRAY_v, ARRAY_out, ARRAY_dout, ARRAY_dq, ARRAY_dk, ARRAY_dv, ARRAY_saved_0, ARRAY_saved_1,
    ARRAY_row_0, ARRAY_row_1
};

/* ==== generic ==== */
#define T(name) name##_any
#define TARGET
#define LANES 4
#define REGISTERS 16
#define ROWS 6
#define VECTORS 2
#define COMPENSATED 1
#define AHEAD 64
#define NEAR 2
#define MAX_STEPS 32
#include <attnrt/kernel/vector.h>
#include <attnrt/kernel/elementary.h>
#include <attnrt/kernel/product.h>

/* The functions for the products below. Each calls dot or a similar function with constants. */
TARGET APART void T(dot0)(int64_t steps, const float *a, const float *b, int64_t b_step, float *c)
{
    T(dot)(/*vectors=*/2, /*lanes=*/16, /*rows=*/16, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/32, /*a_step=*/1, b,
        b_step, c, /*c_row=*/16, /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL);
}
TARGET APART void T(dot1)(int64_t steps, const float *a, const float *b, int64_t b_step, float *c)
{
    T(dot)(/*vectors=*/2, /*lanes=*/16, /*rows=*/136, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/32, /*a_step=*/1, b,
        b_step, c, /*c_row=*/16, /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL);
}
TARGET APART void T(dot2)(int64_t lanes, const float *a, const float *b, float *c)
{
    T(dot)(/*vectors=*/2, lanes, /*rows=*/16, /*tail=*/4, /*steps=*/16, /*span=*/32, a, /*a_row=*/1, /*a_step=*/16, b,
        /*b_step=*/32, c, /*c_row=*/32, /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL);
}
TARGET APART void T(dot3)(int64_t lanes, const float *a, const float *b, float *c)
{
    T(dot)(/*vectors=*/2, lanes, /*rows=*/16, /*tail=*/4, /*steps=*/136, /*span=*/32, a, /*a_row=*/1, /*a_step=*/16, b,
        /*b_step=*/32, c, /*c_row=*/32, /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL);
}
TARGET APART void T(dot4)(int64_t lanes, int64_t rows, const float *a, int64_t a_row, const float *b, float *c,
    const float *next, int64_t next_row)
{
    T(dot_ahead)(/*vectors=*/2, lanes, rows, /*tail=*/-1, /*steps=*/16, /*span=*/32, a, a_row, /*a_step=*/1, b,
        /*b_step=*/32, c, /*c_row=*/32, /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL, next, next_row,
        /*width=*/16, /*result=*/NULL, /*result_row=*/0, /*result_width=*/0, /*results=*/0);
}
TARGET APART void T(dot5)(int64_t lanes, int64_t steps, const float *a, int64_t a_step, const float *b, float *c,
    float *compensation)
{
    T(dot_finite)(/*vectors=*/2, lanes, /*rows=*/16, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/1, a_step, b,
        /*b_step=*/32, c, /*c_row=*/32, /*update=*/3, /*factor=*/NULL, compensation);
}
TARGET APART void T(dot6)(int64_t lanes, int64_t steps, const float *a, int64_t a_step, const float *b, float *c,
    float *compensation)
{
    T(dot)(/*vectors=*/2, lanes, /*rows=*/16, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/1, a_step, b, /*b_step=*/32,
        c, /*c_row=*/32, /*update=*/3, /*factor=*/NULL, compensation);
}
TARGET APART void T(dot7)(int64_t steps, const float *a, const float *b, int64_t b_step, float *c, float *compensation)
{
    T(dot)(/*vectors=*/2, /*lanes=*/16, /*rows=*/16, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/32, /*a_step=*/1, b,
        b_step, c, /*c_row=*/16, /*update=*/3, /*factor=*/NULL, compensation);
}
TARGET APART void T(dot8)(int64_t steps, const float *a, const float *b, int64_t b_step, float *c, float *compensation)
{
    T(dot)(/*vectors=*/2, /*lanes=*/16, /*rows=*/136, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/32, /*a_step=*/1, b,
        b_step, c, /*c_row=*/16, /*update=*/3, /*factor=*/NULL, compensation);
}
TARGET APART void T(dot9)(int64_t lanes, int64_t rows, const float *a, int64_t a_row, const float *b, float *c)
{
    T(dot_ahead)(/*vectors=*/2, lanes, rows, /*tail=*/-1, /*steps=*/16, /*span=*/32, a, a_row, /*a_step=*/1, b,
        /*b_step=*/32, c, /*c_row=*/32, /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL, /*next=*/NULL,
        /*next_row=*/0, /*width=*/0, /*result=*/NULL, /*result_row=*/0, /*result_width=*/0, /*results=*/0);
}
TARGET APART void T(dot10)(int64_t lanes, const float *a, const float *b, float *c)
{
    T(dot)(/*vectors=*/2, lanes, /*rows=*/136, /*tail=*/4, /*steps=*/16, /*span=*/32, a, /*a_row=*/16, /*a_step=*/1, b,
        /*b_step=*/32, c, /*c_row=*/32, /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL);
}
TARGET APART void T(dot11)(int64_t lanes, const float *a, const float *b, float *c)
{
    T(dot)(/*vectors=*/2, lanes, /*rows=*/16, /*tail=*/4, /*steps=*/16, /*span=*/32, a, /*a_row=*/16, /*a_step=*/1, b,
        /*b_step=*/32, c, /*c_row=*/32, /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL);
}
TARGET APART void T(dot12)(int64_t steps, const float *a, const float *b, float *c)
{
    T(dot)(/*vectors=*/2, /*lanes=*/16, /*rows=*/136, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/32, /*a_step=*/1, b,
        /*b_step=*/16, c, /*c_row=*/16, /*update=*/1, /*factor=*/NULL, /*compensation=*/NULL);
}
TARGET APART void T(dot13)(int64_t steps, const float *a, const float *b, float *c)
{
    T(dot)(/*vectors=*/2, /*lanes=*/16, /*rows=*/16, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/32, /*a_step=*/1, b,
        /*b_step=*/16, c, /*c_row=*/16, /*update=*/1, /*factor=*/NULL, /*compensation=*/NULL);
}
TARGET APART void T(dot14)(int64_t lanes, int64_t rows, const float *a, const float *b, float *c)
{
    T(dot)(/*vectors=*/2, lanes, rows, /*tail=*/-1, /*steps=*/16, /*span=*/32, a, /*a_row=*/1, /*a_step=*/32, b,
        /*b_step=*/32, c, /*c_row=*/32, /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL);
}
TARGET APART void T(dot15)(int64_t lanes, int64_t steps, const float *a, const float *b, float *c, float *compensation)
{
    T(dot_finite)(/*vectors=*/2, lanes, /*rows=*/16, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/32, /*a_step=*/1, b,
        /*b_step=*/32, c, /*c_row=*/32, /*update=*/3, /*factor=*/NULL, compensation);
}
TARGET APART void T(dot16)(int64_t lanes, int64_t steps, const float *a, const float *b, float *c, float *compensation)
{
    T(dot)(/*vectors=*/2, lanes, /*rows=*/16, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/32, /*a_step=*/1, b,
        /*b_step=*/32, c, /*c_row=*/32, /*update=*/3, /*factor=*/NULL, compensation);
}

/* Initialises the states: they contain no keys yet. */
TARGET APART void T(e8_begin)(const struct call *call, int64_t task, const struct share *share, int64_t iteration)
{
    (void)call;
    (void)task;
    const int64_t f0 = iteration * 32, f1 = min(f0 + 32, 16);
    float *const carried_sum = (float *)(void *)(share->shared + 0); /* [f: 16] */
    float *const carried_sum_compensation = (float *)(void *)(share->shared + 10368); /* [f: 16] */
    float *const carried = (float *)(void *)(share->shared + 64); /* [f: 16, e: 16] */
    float *const carried_compensation = (float *)(void *)(share->shared + 10432); /* [f: 16, e: 16] */
    /* carried_sum = 0.0f; carried_sum_compensation = 0.0f */
    for (int64_t f = f0; f < f1; f += 4) {
        T(store)(carried_sum + f, T(splat)(0.0f));
        T(store)(carried_sum_compensation + f, T(splat)(0.0f));
    }
    /* carried = 0.0f; carried_compensation = 0.0f */
    for (int64_t f = f0; f < f1; f++) {
        for (int64_t e_first = 0; e_first < 16; e_first += 8) {
            UNROLL for (int64_t vector = 0, e = e_first; vector < 2; vector++, e += 4) {
                T(store)(carried + f * 16 + e, T(splat)(0.0f));
                T(store)(carried_compensation + f * 16 + e, T(splat)(0.0f));
            }
        }
    }
}

/* Initialises the states: they contain no keys yet. */
TARGET APART void T(e8_begin_2)(const struct call *call, int64_t task, const struct share *share, int64_t iteration)
{
    (void)call;
    (void)task;
    const int64_t f10 = iteration * 32, f11 = min(f10 + 32, 136);
    float *const carried_sum_2 = (float *)(void *)(share->shared + 1088); /* [f1: 136] */
    float *const carried_sum_2_compensation = (float *)(void *)(share->shared + 11456); /* [f1: 136] */
    float *const carried_2 = (float *)(void *)(share->shared + 1664); /* [f1: 136, e: 16] */
    float *const carried_2_compensation = (float *)(void *)(share->shared + 12032); /* [f1: 136, e: 16] */
    /* carried_sum_2 = 0.0f; carried_sum_2_compensation = 0.0f */
    for (int64_t f1 = f10; f1 < f11; f1 += 4) {
        T(store)(carried_sum_2 + f1, T(splat)(0.0f));
        T(store)(carried_sum_2_compensation + f1, T(splat)(0.0f));
    }
    /* carried_2 = 0.0f; carried_2_compensation = 0.0f */
    for (int64_t f1 = f10; f1 < f11; f1++) {
        for (int64_t e_first = 0; e_first < 16; e_first += 8) {
            UNROLL for (int64_t vector = 0, e = e_first; vector < 2; vector++, e += 4) {
                T(store)(carried_2 + f1 * 16 + e, T(splat)(0.0f));
                T(store)(carried_2_compensation + f1 * 16 + e, T(splat)(0.0f));
            }
        }
    }
}

/* Sums the keys of a chunk, from zero, into its slot. */
TARGET APART void T(e8_keys)(const struct call *call, int64_t task, const struct share *share, int64_t iteration)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t n_k = call->p.n_k;
    const int64_t chunk = iteration;
    const int64_t chunk0 = share->chunk0;
    const int64_t g = task % kv_heads;
    const int64_t b = task / kv_heads;
    const float *const k = (const float *)call->array[ARRAY_k].at + b * call->array[ARRAY_k].strides.batch + g /
        call->sharing * call->array[ARRAY_k].strides.head;
    const int64_t k_row = call->array[ARRAY_k].strides.row;
    const float *const v = (const float *)call->array[ARRAY_v].at + b * call->array[ARRAY_v].strides.batch + g *
        call->array[ARRAY_v].strides.head;
    const int64_t v_row = call->array[ARRAY_v].strides.row;
    float *const key_features = (float *)(void *)(share->work + 0); /* [d: 16, j: 32] */
    float *const state_sum = (float *)(void *)(share->slots + 0); /* [chunk, f: 16] */
    float *const state = (float *)(void *)(share->slots + 64); /* [chunk, f: 16, e: 16] */
    float *const key_features_2 = (float *)(void *)(share->work + 0); /* [f1: 136, j: 32] */
    float *const state_sum_2 = (float *)(void *)(share->slots + 1088); /* [chunk, f1: 136] */
    float *const state_2 = (float *)(void *)(share->slots + 1664); /* [chunk, f1: 136, e: 16] */
    float *const k_tile = (float *)(void *)(share->work + 17408); /* [d: 16, j: 32] */
    /* state_sum = 0.0f */
    for (int64_t f = 0; f < 16; f += 4) {
        T(store)(state_sum + (chunk - chunk0) * 2592 + f, T(splat)(0.0f));
    }
    /* state_sum_2 = 0.0f */
    for (int64_t f1 = 0; f1 < 136; f1 += 4) {
        T(store)(state_sum_2 + (chunk - chunk0) * 2592 + f1, T(splat)(0.0f));
    }
    for (int64_t j0 = chunk * 32, j_end = min(n_k, (chunk + 1) * 32); j0 < j_end; j0 += 32) {
        const int64_t j1 = min(j0 + 32, j_end);
        /* k_tile = k, with zeros beyond the last row */
        T(transpose_padded)(k + j0 * k_row, k_row, j1 - j0, 16, k_tile, 32, 64);
        /* key_features = select(0.0f < k_tile, k_tile + 1.0f, exp(min(k_tile, 0.0f))) */
        for (int64_t d = 0; d < 16; d++) {
            for (int64_t j = 0; j < j1 - j0; j += 4) {
                const T(vec) k_tile_0 = T(load)(k_tile + d * 32 + j);
                T(store)(key_features + d * 32 + j, T(pick)(0.0f < k_tile_0, k_tile_0 + 1.0f, T(exp)(T(min)(k_tile_0,
                    T(splat)(0.0f)))));
            }
        }
        /* state_sum += key_features */
        for (int64_t f = 0; f < 16; f++) {
            T(vec) lane_sums = T(splat)(0);
            for (int64_t j = 0; j < j1 - j0; j += 4) {
                const T(vec) term = T(load)(key_features + f * 32 + j);
                lane_sums += j + 4 <= j1 - j0 ? term : T(pick)(__builtin_convertvector(j + T(lane) < j1 - j0, T(mask)),
                    term, T(splat)(0));
            }
            const float total = T(lane_sum)(lane_sums);
            state_sum[(chunk - chunk0) * 2592 + f] += total;
        }
        /* state[f][e] = sum over j of key_features * v */
        T(dot0)(j1 - j0, key_features, v + j0 * v_row, v_row, state + (chunk - chunk0) * 2592);
        /* key_features_2 = k_tile * k_tile */
        for (int64_t f1 = 0; f1 < 136; f1++) {
            for (int64_t j = 0; j < j1 - j0; j += 4) {
                T(store)(key_features_2 + f1 * 32 + j, T(load)(k_tile + (f1 % 16) * 32 + j) * T(load)(k_tile + (((f1 %
                    16) + (f1 / 16)) % 16) * 32 + j));
            }
        }
        /* state_sum_2 += key_features_2 */
        for (int64_t f1 = 0; f1 < 136; f1++) {
            T(vec) lane_sums = T(splat)(0);
            for (int64_t j = 0; j < j1 - j0; j += 4) {
                const T(vec) term = T(load)(key_features_2 + f1 * 32 + j);
                lane_sums += j + 4 <= j1 - j0 ? term : T(pick)(__builtin_convertvector(j + T(lane) < j1 - j0, T(mask)),
                    term, T(splat)(0));
            }
            const float total = T(lane_sum)(lane_sums);
            state_sum_2[(chunk - chunk0) * 2592 + f1] += total;
        }
        /* state_2[f1][e] = sum over j of key_features_2 * v */
        T(dot1)(j1 - j0, key_features_2, v + j0 * v_row, v_row, state_2 + (chunk - chunk0) * 2592);
    }
}

/* Folds the slots of the current chunks, in order, for some elements of the states. */
TARGET APART void T(e8_fold)(const struct call *call, int64_t task, const struct share *share, int64_t iteration)
{
    (void)call;
    (void)task;
    const int64_t f0 = iteration * 32, f1 = min(f0 + 32, 16);
    const int64_t chunk0 = share->chunk0;
    const int64_t chunk1 = share->chunk1;
    float *const state_sum = (float *)(void *)(share->slots + 0); /* [chunk, f: 16] */
    float *const state = (float *)(void *)(share->slots + 64); /* [chunk, f: 16, e: 16] */
    float *const carried_sum = (float *)(void *)(share->shared + 0); /* [f: 16] */
    float *const carried_sum_compensation = (float *)(void *)(share->shared + 10368); /* [f: 16] */
    float *const carried = (float *)(void *)(share->shared + 64); /* [f: 16, e: 16] */
    float *const carried_compensation = (float *)(void *)(share->shared + 10432); /* [f: 16, e: 16] */
    for (int64_t chunk = chunk0; chunk < chunk1; chunk++) {
        /* before_sum = carried_sum; carried_sum += state_sum; state_sum = before_sum */
        for (int64_t f = f0; f < f1; f += 4) {
            const T(vec) before_sum_new1 = T(load)(carried_sum + f);
            T(add)(carried_sum + f, carried_sum_compensation + f, T(load)(state_sum + (chunk - chunk0) * 2592 + f),
                T(splat)(1));
            T(store)(state_sum + (chunk - chunk0) * 2592 + f, before_sum_new1);
        }
        /* before = carried; carried += state; state = before */
        for (int64_t f = f0; f < f1; f++) {
            for (int64_t e_first = 0; e_first < 16; e_first += 8) {
                UNROLL for (int64_t vector = 0, e = e_first; vector < 2; vector++, e += 4) {
                    const T(vec) before_new2 = T(load)(carried + f * 16 + e);
                    T(add)(carried + f * 16 + e, carried_compensation + f * 16 + e,
                        T(load)(state + (chunk - chunk0) * 2592 + f * 16 + e), T(splat)(1));
                    T(store)(state + (chunk - chunk0) * 2592 + f * 16 + e, before_new2);
                }
            }
        }
    }
}

/* Folds the slots of the current chunks, in order, for some elements of the states. */
TARGET APART void T(e8_fold_2)(const struct call *call, int64_t task, const struct share *share, int64_t iteration)
{
    (void)call;
    (void)task;
    const int64_t f10 = iteration * 32, f11 = min(f10 + 32, 136);
    const int64_t chunk0 = share->chunk0;
    const int64_t chunk1 = share->chunk1;
    float *const state_sum_2 = (float *)(void *)(share->slots + 1088); /* [chunk, f1: 136] */
    float *const state_2 = (float *)(void *)(share->slots + 1664); /* [chunk, f1: 136, e: 16] */
    float *const carried_sum_2 = (float *)(void *)(share->shared + 1088); /* [f1: 136] */
    float *const carried_sum_2_compensation = (float *)(void *)(share->shared + 11456); /* [f1: 136] */
    float *const carried_2 = (float *)(void *)(share->shared + 1664); /* [f1: 136, e: 16] */
    float *const carried_2_compensation = (float *)(void *)(share->shared + 12032); /* [f1: 136, e: 16] */
    for (int64_t chunk = chunk0; chunk < chunk1; chunk++) {
        /* before_sum_2 = carried_sum_2; carried_sum_2 += state_sum_2; state_sum_2 = before_sum_2 */
        for (int64_t f1 = f10; f1 < f11; f1 += 4) {
            const T(vec) before_sum_2_new3 = T(load)(carried_sum_2 + f1);
            T(add)(carried_sum_2 + f1, carried_sum_2_compensation + f1,
                T(load)(state_sum_2 + (chunk - chunk0) * 2592 + f1), T(splat)(1));
            T(store)(state_sum_2 + (chunk - chunk0) * 2592 + f1, before_sum_2_new3);
        }
        /* before_2 = carried_2; carried_2 += state_2; state_2 = before_2 */
        for (int64_t f1 = f10; f1 < f11; f1++) {
            for (int64_t e_first = 0; e_first < 16; e_first += 8) {
                UNROLL for (int64_t vector = 0, e = e_first; vector < 2; vector++, e += 4) {
                    const T(vec) before_2_new4 = T(load)(carried_2 + f1 * 16 + e);
                    T(add)(carried_2 + f1 * 16 + e, carried_2_compensation + f1 * 16 + e,
                        T(load)(state_2 + (chunk - chunk0) * 2592 + f1 * 16 + e), T(splat)(1));
                    T(store)(state_2 + (chunk - chunk0) * 2592 + f1 * 16 + e, before_2_new4);
                }
            }
        }
    }
}

/* Processes the queries of a chunk: reads the state before the chunk, and the keys in the chunk. */
TARGET APART void T(e8_queries)(const struct call *call, int64_t task, const struct share *share, int64_t iteration)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_q = call->p.n_q;
    const int64_t n_k = call->p.n_k;
    const int64_t chunk = iteration;
    const int64_t chunk0 = share->chunk0;
    const int64_t g = task % kv_heads;
    const int64_t b = task / kv_heads;
    const int64_t query_start = call->p.query_start ? call->p.query_start[b] : n_k - n_q;
    const float *const q = (const float *)call->array[ARRAY_q].at + b * call->array[ARRAY_q].strides.batch + g /
        call->sharing * members * call->array[ARRAY_q].strides.head;
    const int64_t q_row = call->array[ARRAY_q].strides.row;
    const int64_t q_head = call->array[ARRAY_q].strides.head;
    const float *const k = (const float *)call->array[ARRAY_k].at + b * call->array[ARRAY_k].strides.batch + g /
        call->sharing * call->array[ARRAY_k].strides.head;
    const int64_t k_row = call->array[ARRAY_k].strides.row;
    const float *const v = (const float *)call->array[ARRAY_v].at + b * call->array[ARRAY_v].strides.batch + g *
        call->array[ARRAY_v].strides.head;
    const int64_t v_row = call->array[ARRAY_v].strides.row;
    float *const state_sum = (float *)(void *)(share->slots + 0); /* [chunk, f: 16] */
    float *const state = (float *)(void *)(share->slots + 64); /* [chunk, f: 16, e: 16] */
    float *const state_sum_2 = (float *)(void *)(share->slots + 1088); /* [chunk, f1: 136] */
    float *const state_2 = (float *)(void *)(share->slots + 1664); /* [chunk, f1: 136, e: 16] */
    float *const query = (float *)(void *)(share->work + 0); /* [d: 16, i: 32] */
    float *const row_sum_from_state = (float *)(void *)(share->work + 2048); /* [i: 32] */
    float *const sum_from_state = (float *)(void *)(share->work + 2176); /* [e: 16, i: 32] */
    float *const score = (float *)(void *)(share->work + 4224); /* [j: 32, i: 32] */
    float *const query_2 = (float *)(void *)(share->work + 4224); /* [f1: 136, i: 32] */
    float *const row_sum_from_state_2 = (float *)(void *)(share->work + 0); /* [i: 32] */
    float *const row_sum = (float *)(void *)(share->work + 128); /* [i: 32] */
    float *const row_sum_compensation = (float *)(void *)(share->work + 256); /* [i: 32] */
    float *const sum_from_state_2 = (float *)(void *)(share->work + 21632); /* [e: 16, i: 32] */
    float *const sum = (float *)(void *)(share->work + 8320); /* [e: 16, i: 32] */
    float *const sum_compensation = (float *)(void *)(share->work + 10368); /* [e: 16, i: 32] */
    float *const query_scale_2 = (float *)(void *)(share->work + 384); /* [i: 32] */
    float *const out = (float *)call->array[ARRAY_out].at + b * call->array[ARRAY_out].strides.batch + g * members *
        call->array[ARRAY_out].strides.head;
    const int64_t out_row = call->array[ARRAY_out].strides.row;
    const int64_t out_head = call->array[ARRAY_out].strides.head;
    float *const saved_0 = call->array[ARRAY_saved_0].at ? (float *)call->array[ARRAY_saved_0].at + (b * call->p.heads +
        g * members) * call->p.n_q : NULL;
    const int64_t saved_0_head = call->p.n_q;
    float *const saved_1 = call->array[ARRAY_saved_1].at ? (float *)call->array[ARRAY_saved_1].at + (b * call->p.heads +
        g * members) * call->p.n_q : NULL;
    const int64_t saved_1_head = call->p.n_q;
    float *const q_tile = (float *)(void *)(share->work + 23680); /* [d: 16, i: 32] */
    for (int64_t m = 0; m < members; m++) {
        for (int64_t i0 = (chunk == 0) ? 0 : max(0, (chunk * 32) - query_start), i_end = min(n_q,
            ((chunk + 1) * 32) - query_start); i0 < i_end; i0 += 32) {
            const int64_t i1 = min(i0 + 32, i_end);
            /* q_tile = q, with zeros beyond the last row */
            T(transpose_padded)(q + m * q_head + i0 * q_row, q_row, i1 - i0, 16, q_tile, 32, 64);
            /* query = select(0.0f < q_tile, q_tile + 1.0f, exp(min(q_tile, 0.0f))) */
            for (int64_t d = 0; d < 16; d++) {
                for (int64_t i = 0; i < i1 - i0; i += 4) {
                    const T(vec) q_tile_5 = T(load)(q_tile + d * 32 + i);
                    T(store)(query + d * 32 + i, T(pick)(0.0f < q_tile_5, q_tile_5 + 1.0f, T(exp)(T(min)(q_tile_5,
                        T(splat)(0.0f)))));
                }
            }
            /* row_sum_from_state = 0.0f */
            for (int64_t i = 0; i < i1 - i0; i += 4) {
                T(store)(row_sum_from_state + i, T(splat)(0.0f));
            }
            /* row_sum_from_state += query * state_sum */
            for (int64_t i_first = 0; i_first < i1 - i0; i_first += 8) {
                T(vec) row_sum_from_state_in[2];
                UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += 4) {
                    row_sum_from_state_in[vector] = (T(vec)){0};
                }
                for (int64_t f = 0; f < 16; f++) {
                    UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += 4) {
                        row_sum_from_state_in[vector] += T(load)(query + f * 32 + i) * (state_sum[(chunk - chunk0) *
                            2592 + f]);
                    }
                }
                UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += 4) {
                    T(store)(row_sum_from_state + i, T(load)(row_sum_from_state + i) + row_sum_from_state_in[vector]);
                }
            }
            /* sum_from_state[e][i] = sum over f of state * query */
            T(dot2)(round_up(i1 - i0, 4), state + (chunk - chunk0) * 2592, query, sum_from_state);
            /* row_sum_from_state_2 = 0.0f */
            for (int64_t i = 0; i < i1 - i0; i += 4) {
                T(store)(row_sum_from_state_2 + i, T(splat)(0.0f));
            }
            /* query_2 = (q_tile * q_tile) * select((f1 / 16) == 0, 1.0f, 2.0f);
               row_sum_from_state_2 += query_2 * state_sum_2 */
            for (int64_t i_first = 0; i_first < i1 - i0; i_first += 8) {
                T(vec) row_sum_from_state_2_in[2], row_sum_from_state_2_in_whole[2];
                UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += 4) {
                    row_sum_from_state_2_in[vector] = (T(vec)){0};
                    row_sum_from_state_2_in_whole[vector] = (T(vec)){0};
                }
                for (int64_t f1 = 0; f1 < 136; f1++) {
                    UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += 4) {
                        const T(vec) query_2_new6 = (T(load)(q_tile + (f1 % 16) * 32 + i) * T(load)(q_tile + (((f1 % 16)
                            + (f1 / 16)) % 16) * 32 + i)) * (float)(((f1 / 16) == 0) ? 1.0 : 2.0);
                        T(store)(query_2 + f1 * 32 + i, query_2_new6);
                        row_sum_from_state_2_in[vector] += query_2_new6 * (state_sum_2[(chunk - chunk0) * 2592 + f1]);
                        if (f1 % 32 == 31) {
                            row_sum_from_state_2_in_whole[vector] += row_sum_from_state_2_in[vector];
                            row_sum_from_state_2_in[vector] = (T(vec)){0};
                        }
                    }
                }
                UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += 4) {
                    row_sum_from_state_2_in[vector] += row_sum_from_state_2_in_whole[vector];
                    T(store)(row_sum_from_state_2 + i, T(load)(row_sum_from_state_2 + i) +
                        row_sum_from_state_2_in[vector]);
                }
            }
            /* sum_from_state_2[e][i] = sum over f1 of state_2 * query_2 */
            T(dot3)(round_up(i1 - i0, 4), state_2 + (chunk - chunk0) * 2592, query_2, sum_from_state_2);
            /* sum = 0.0f; sum_compensation = 0.0f */
            for (int64_t e = 0; e < 16; e++) {
                for (int64_t i = 0; i < i1 - i0; i += 4) {
                    T(store)(sum + e * 32 + i, T(splat)(0.0f));
                    T(store)(sum_compensation + e * 32 + i, T(splat)(0.0f));
                }
            }
            /* row_sum = 0.0f; row_sum_compensation = 0.0f; query_scale_2 = select(row_sum_from_state == 0.0f, 0.0f,
               1.0f / row_sum_from_state) */
            for (int64_t i = 0; i < i1 - i0; i += 4) {
                T(store)(row_sum + i, T(splat)(0.0f));
                T(store)(row_sum_compensation + i, T(splat)(0.0f));
                const T(vec) row_sum_from_state_7 = T(load)(row_sum_from_state + i);
                T(store)(query_scale_2 + i, T(pick)(row_sum_from_state_7 == 0.0f, T(splat)(0.0f),
                    1.0f / row_sum_from_state_7));
            }
            for (int64_t j0 = max(0, chunk * 32), j_end = min(n_k, i1 + query_start); j0 < j_end; j0 += 32) {
                const int64_t j1 = min(j0 + 32, j_end);
                /* score[j][i] = sum over d of k * q_tile */
                T(dot4)(round_up(i1 - i0, 4), j1 - j0, k + j0 * k_row, k_row, q_tile, score, v + j0 * v_row, v_row);
                if ((j0 < (chunk * 32)) || ((i0 + query_start + 1) < j1)) { /* the tile is partly outside the mask */
                    /* score = select((j <= (i + query_start)) && ((chunk * 32) <= j), score * score, 0.0f);
                       row_sum += score */
                    for (int64_t i = 0; i < i1 - i0; i += 4) {
                        const T(ints) t_8 = (i0 + i + T(lane)) + query_start;
                        T(vec) row_sum_in = (T(vec)){0};
                        for (int64_t j = 0; j < j1 - j0; j++) {
                            const T(vec) score_9 = T(load)(score + j * 32 + i);
                            const T(vec) score_new10 = T(pick)(__builtin_convertvector(((j0 + j) <= t_8) &
                                (-(int64_t)((chunk * 32) <= (j0 + j))), T(mask)), score_9 * score_9, T(splat)(0.0f));
                            T(store)(score + j * 32 + i, score_new10);
                            row_sum_in += score_new10;
                        }
                        T(add)(row_sum + i, row_sum_compensation + i, row_sum_in, T(splat)(1));
                    }
                }
                if (!((j0 < (chunk * 32)) || ((i0 + query_start + 1) < j1))) { /* the tile is wholly inside the mask */
                    /* score = score * score; row_sum += score */
                    for (int64_t i_first = 0; i_first < i1 - i0; i_first += 8) {
                        T(vec) row_sum_in[2];
                        UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += 4) {
                            row_sum_in[vector] = (T(vec)){0};
                        }
                        for (int64_t j = 0; j < j1 - j0; j++) {
                            UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += 4) {
                                const T(vec) score_11 = T(load)(score + j * 32 + i);
                                const T(vec) score_new12 = score_11 * score_11;
                                T(store)(score + j * 32 + i, score_new12);
                                row_sum_in[vector] += score_new12;
                            }
                        }
                        UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += 4) {
                            T(add)(row_sum + i, row_sum_compensation + i, row_sum_in[vector], T(splat)(1));
                        }
                    }
                }
                /* sum[e][i] += sum over j of v * score */
                if (__builtin_expect(((j0 < (chunk * 32)) || ((i0 + query_start + 1) < j1)) && !T(finite)(v + j0 *
                    v_row, v_row, j1 - j0, 16), 0)) { /* infinity and NaN affect only queries that see them */
                    T(dot5)(round_up(i1 - i0, 4), j1 - j0, v + j0 * v_row, v_row, score, sum, sum_compensation);
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        T(mask) in_region[8] = {0};
                        if (T(finite)(v + j0 * v_row + j * v_row, 1, 16, 1)) continue;
                        const int t_13 = (chunk * 32) <= (j0 + j);
                        for (int64_t i = 0; i < i1 - i0; i += 4) {
                            in_region[i / 4] = __builtin_convertvector(((j0 + j) <= ((i0 + i + T(lane)) + query_start))
                                & (-(int64_t)t_13), T(mask));
                        }
                        T(add_seen)(16, sum, 32, v + j0 * v_row + j * v_row, 1, score + j * 32, in_region, i1 - i0);
                    }
                } else
                    T(dot6)(round_up(i1 - i0, 4), j1 - j0, v + j0 * v_row, v_row, score, sum, sum_compensation);
            }
            /* sum = select(((row_sum + row_sum_from_state_2) + 1.0f) == 0.0f, 0.0f,
               (sum + sum_from_state_2) / ((row_sum + row_sum_from_state_ ... */
            for (int64_t i = 0; i < i1 - i0; i += 4) {
                const T(vec) t_14 = (T(load)(row_sum + i) + T(load)(row_sum_from_state_2 + i)) + 1.0f;
                const T(mask) t_15 = t_14 == 0.0f;
                const T(vec) row_sum_from_state_16 = T(load)(row_sum_from_state + i);
                const T(mask) t_17 = row_sum_from_state_16 == 0.0f;
                for (int64_t e = 0; e < 16; e++) {
                    T(store)(sum + e * 32 + i, T(pick)(t_15, T(splat)(0.0f),
                        (T(load)(sum + e * 32 + i) + T(load)(sum_from_state_2 + e * 32 + i)) / t_14) - T(pick)(t_17,
                        T(splat)(0.0f), T(load)(sum_from_state + e * 32 + i) / row_sum_from_state_16));
                }
            }
            if (saved_0) {
                /* row_sum = select(((row_sum + row_sum_from_state_2) + 1.0f) == 0.0f, 0.0f,
                   1.0f / ((row_sum + row_sum_from_state_2) + 1.0f)) */
                for (int64_t i = 0; i < i1 - i0; i += 4) {
                    const T(vec) t_18 = (T(load)(row_sum + i) + T(load)(row_sum_from_state_2 + i)) + 1.0f;
                    T(store)(row_sum + i, T(pick)(t_18 == 0.0f, T(splat)(0.0f), 1.0f / t_18));
                }
            }
            /* out = sum, transposed back */
            T(transpose_out)(sum, 32, 16, i1 - i0, out + m * out_head + i0 * out_row, out_row, 64);
            if (saved_0) {
                /* saved_0 = row_sum */
                for (int64_t i = 0; i < i1 - i0; i++)
                    saved_0[m * saved_0_head + (i0 + i)] = row_sum[i];
            }
            if (saved_1) {
                /* saved_1 = query_scale_2 */
                for (int64_t i = 0; i < i1 - i0; i++)
                    saved_1[m * saved_1_head + (i0 + i)] = query_scale_2[i];
            }
        }
    }
}

/* For a thread that works on the head alone: adds a chunk to the carried state. */
TARGET APART void T(e8_keys_alone)(const struct call *call, int64_t task, const struct share *share, int64_t iteration)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t n_k = call->p.n_k;
    const int64_t chunk = iteration;
    const int64_t chunk0 = share->chunk0;
    const int64_t g = task % kv_heads;
    const int64_t b = task / kv_heads;
    const float *const k = (const float *)call->array[ARRAY_k].at + b * call->array[ARRAY_k].strides.batch + g /
        call->sharing * call->array[ARRAY_k].strides.head;
    const int64_t k_row = call->array[ARRAY_k].strides.row;
    const float *const v = (const float *)call->array[ARRAY_v].at + b * call->array[ARRAY_v].strides.batch + g *
        call->array[ARRAY_v].strides.head;
    const int64_t v_row = call->array[ARRAY_v].strides.row;
    float *const key_features = (float *)(void *)(share->work + 0); /* [d: 16, j: 32] */
    float *const state_sum = (float *)(void *)(share->slots + 0); /* [chunk, f: 16] */
    float *const key_features_2 = (float *)(void *)(share->work + 0); /* [f1: 136, j: 32] */
    float *const state_sum_2 = (float *)(void *)(share->slots + 1088); /* [chunk, f1: 136] */
    float *const carried = (float *)(void *)(share->shared + 64); /* [f: 16, e: 16] */
    float *const carried_compensation = (float *)(void *)(share->shared + 10432); /* [f: 16, e: 16] */
    float *const carried_2 = (float *)(void *)(share->shared + 1664); /* [f1: 136, e: 16] */
    float *const carried_2_compensation = (float *)(void *)(share->shared + 12032); /* [f1: 136, e: 16] */
    float *const k_tile = (float *)(void *)(share->work + 17408); /* [d: 16, j: 32] */
    /* state_sum = 0.0f */
    for (int64_t f = 0; f < 16; f += 4) {
        T(store)(state_sum + (chunk - chunk0) * 2592 + f, T(splat)(0.0f));
    }
    /* state_sum_2 = 0.0f */
    for (int64_t f1 = 0; f1 < 136; f1 += 4) {
        T(store)(state_sum_2 + (chunk - chunk0) * 2592 + f1, T(splat)(0.0f));
    }
    for (int64_t j0 = chunk * 32, j_end = min(n_k, (chunk + 1) * 32); j0 < j_end; j0 += 32) {
        const int64_t j1 = min(j0 + 32, j_end);
        /* k_tile = k, with zeros beyond the last row */
        T(transpose_padded)(k + j0 * k_row, k_row, j1 - j0, 16, k_tile, 32, 64);
        /* key_features = select(0.0f < k_tile, k_tile + 1.0f, exp(min(k_tile, 0.0f))) */
        for (int64_t d = 0; d < 16; d++) {
            for (int64_t j = 0; j < j1 - j0; j += 4) {
                const T(vec) k_tile_19 = T(load)(k_tile + d * 32 + j);
                T(store)(key_features + d * 32 + j, T(pick)(0.0f < k_tile_19, k_tile_19 + 1.0f, T(exp)(T(min)(k_tile_19,
                    T(splat)(0.0f)))));
            }
        }
        /* state_sum += key_features */
        for (int64_t f = 0; f < 16; f++) {
            T(vec) lane_sums = T(splat)(0);
            for (int64_t j = 0; j < j1 - j0; j += 4) {
                const T(vec) term = T(load)(key_features + f * 32 + j);
                lane_sums += j + 4 <= j1 - j0 ? term : T(pick)(__builtin_convertvector(j + T(lane) < j1 - j0, T(mask)),
                    term, T(splat)(0));
            }
            const float total = T(lane_sum)(lane_sums);
            state_sum[(chunk - chunk0) * 2592 + f] += total;
        }
        /* carried[f][e] += sum over j of key_features * v */
        T(dot7)(j1 - j0, key_features, v + j0 * v_row, v_row, carried, carried_compensation);
        /* key_features_2 = k_tile * k_tile */
        for (int64_t f1 = 0; f1 < 136; f1++) {
            for (int64_t j = 0; j < j1 - j0; j += 4) {
                T(store)(key_features_2 + f1 * 32 + j, T(load)(k_tile + (f1 % 16) * 32 + j) * T(load)(k_tile + (((f1 %
                    16) + (f1 / 16)) % 16) * 32 + j));
            }
        }
        /* state_sum_2 += key_features_2 */
        for (int64_t f1 = 0; f1 < 136; f1++) {
            T(vec) lane_sums = T(splat)(0);
            for (int64_t j = 0; j < j1 - j0; j += 4) {
                const T(vec) term = T(load)(key_features_2 + f1 * 32 + j);
                lane_sums += j + 4 <= j1 - j0 ? term : T(pick)(__builtin_convertvector(j + T(lane) < j1 - j0, T(mask)),
                    term, T(splat)(0));
            }
            const float total = T(lane_sum)(lane_sums);
            state_sum_2[(chunk - chunk0) * 2592 + f1] += total;
        }
        /* carried_2[f1][e] += sum over j of key_features_2 * v */
        T(dot8)(j1 - j0, key_features_2, v + j0 * v_row, v_row, carried_2, carried_2_compensation);
    }
}

/* Adds to the carried state the sums that no product computes. */
TARGET APART void T(e8_fold_alone)(const struct call *call, int64_t task, const struct share *share, int64_t iteration)
{
    (void)call;
    (void)task;
    const int64_t f0 = iteration * 32, f1 = min(f0 + 32, 16);
    const int64_t chunk0 = share->chunk0;
    const int64_t chunk1 = share->chunk1;
    float *const state_sum = (float *)(void *)(share->slots + 0); /* [chunk, f: 16] */
    float *const carried_sum = (float *)(void *)(share->shared + 0); /* [f: 16] */
    float *const carried_sum_compensation = (float *)(void *)(share->shared + 10368); /* [f: 16] */
    for (int64_t chunk = chunk0; chunk < chunk1; chunk++) {
        /* carried_sum += state_sum */
        for (int64_t f = f0; f < f1; f += 4) {
            T(add)(carried_sum + f, carried_sum_compensation + f, T(load)(state_sum + (chunk - chunk0) * 2592 + f),
                T(splat)(1));
        }
    }
}

/* Adds to the carried state the sums that no product computes. */
TARGET APART void T(e8_fold_alone_2)(const struct call *call, int64_t task, const struct share *share,
    int64_t iteration)
{
    (void)call;
    (void)task;
    const int64_t f10 = iteration * 32, f11 = min(f10 + 32, 136);
    const int64_t chunk0 = share->chunk0;
    const int64_t chunk1 = share->chunk1;
    float *const state_sum_2 = (float *)(void *)(share->slots + 1088); /* [chunk, f1: 136] */
    float *const carried_sum_2 = (float *)(void *)(share->shared + 1088); /* [f1: 136] */
    float *const carried_sum_2_compensation = (float *)(void *)(share->shared + 11456); /* [f1: 136] */
    for (int64_t chunk = chunk0; chunk < chunk1; chunk++) {
        /* carried_sum_2 += state_sum_2 */
        for (int64_t f1 = f10; f1 < f11; f1 += 4) {
            T(add)(carried_sum_2 + f1, carried_sum_2_compensation + f1,
                T(load)(state_sum_2 + (chunk - chunk0) * 2592 + f1), T(splat)(1));
        }
    }
}

/* Computes head number `task`. Each thread on the head calls this with `share`. */
TARGET static void T(e8_linear)(const struct call *call, int64_t task, struct share *share)
{
    const int64_t n_k = call->p.n_k;
    const int64_t chunks = n_k > 0 ? (n_k - 1) / 32 + 1 : 1;
    for (int64_t iteration = share->number; iteration < ((16 + 31) / 32); iteration += share->threads)
        T(e8_begin)(call, task, share, iteration);
    synchronise(share);
    for (int64_t iteration = share->number; iteration < ((136 + 31) / 32); iteration += share->threads)
        T(e8_begin_2)(call, task, share, iteration);
    synchronise(share);
    const int64_t first = 0;
    if (share->threads == 1) { /* queries read the carried state before their chunk is added */
        unsigned char *const slots = share->slots;
        for (share->chunk0 = first; share->chunk0 < chunks; share->chunk0++) {
            share->chunk1 = share->chunk0 + 1;
            share->slots = share->shared;
            T(e8_queries)(call, task, share, share->chunk0);
            share->slots = slots;
            T(e8_keys_alone)(call, task, share, share->chunk0);
            for (int64_t iteration = 0; iteration < ((16 + 31) / 32); iteration++)
                T(e8_fold_alone)(call, task, share, iteration);
            for (int64_t iteration = 0; iteration < ((136 + 31) / 32); iteration++)
                T(e8_fold_alone_2)(call, task, share, iteration);
        }
    } else {
        const int64_t length = segment_length(share, chunks - first);
        for (int64_t segment = share->number; first + segment * length < chunks; segment += share->threads) {
            share->chunk0 = first + segment * length;
            share->chunk1 = min(share->chunk0 + length, chunks);
            for (int64_t iteration = share->chunk0; iteration < share->chunk1; iteration++)
                T(e8_keys)(call, task, share, iteration);
            for (int64_t group = 0; group < 8; group++) {
                await_segment(share, group, segment);
                const int64_t end = (group + 1) * ((16 + 31) / 32) / 8;
                for (int64_t iteration = group * ((16 + 31) / 32) / 8; iteration < end; iteration++)
                    T(e8_fold)(call, task, share, iteration);
                pass_segment(share, group, segment);
            }
            for (int64_t group = 0; group < 8; group++) {
                await_segment(share, 8 + group, segment);
                const int64_t end = (group + 1) * ((136 + 31) / 32) / 8;
                for (int64_t iteration = group * ((136 + 31) / 32) / 8; iteration < end; iteration++)
                    T(e8_fold_2)(call, task, share, iteration);
                pass_segment(share, 8 + group, segment);
            }
            for (int64_t iteration = share->chunk0; iteration < share->chunk1; iteration++)
                T(e8_queries)(call, task, share, iteration);
        }
        share->segments += (max(chunks - first, 0) + length - 1) / length;
    }
    synchronise(share);
}

/* Initialises the states: they contain no keys yet. */
TARGET APART void T(e8_linear_saved_begin)(const struct call *call, int64_t task, const struct share *share,
    int64_t iteration)
{
    (void)call;
    (void)task;
    const int64_t f0 = iteration * 32, f1 = min(f0 + 32, 16);
    float *const carried_sum = (float *)(void *)(share->shared + 0); /* [f: 16] */
    float *const carried_sum_compensation = (float *)(void *)(share->shared + 640); /* [f: 16] */
    /* carried_sum = 0.0f; carried_sum_compensation = 0.0f */
    for (int64_t f = f0; f < f1; f += 4) {
        T(store)(carried_sum + f, T(splat)(0.0f));
        T(store)(carried_sum_compensation + f, T(splat)(0.0f));
    }
}

/* Initialises the states: they contain no keys yet. */
TARGET APART void T(e8_linear_saved_begin_2)(const struct call *call, int64_t task, const struct share *share,
    int64_t iteration)
{
    (void)call;
    (void)task;
    const int64_t f10 = iteration * 32, f11 = min(f10 + 32, 136);
    float *const carried_sum_2 = (float *)(void *)(share->shared + 64); /* [f1: 136] */
    float *const carried_sum_2_compensation = (float *)(void *)(share->shared + 704); /* [f1: 136] */
    /* carried_sum_2 = 0.0f; carried_sum_2_compensation = 0.0f */
    for (int64_t f1 = f10; f1 < f11; f1 += 4) {
        T(store)(carried_sum_2 + f1, T(splat)(0.0f));
        T(store)(carried_sum_2_compensation + f1, T(splat)(0.0f));
    }
}

/* Sums the keys of a chunk, from zero, into its slot. */
TARGET APART void T(e8_linear_saved_keys)(const struct call *call, int64_t task, const struct share *share,
    int64_t iteration)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t n_k = call->p.n_k;
    const int64_t chunk = iteration;
    const int64_t chunk0 = share->chunk0;
    const int64_t g = task % kv_heads;
    const int64_t b = task / kv_heads;
    const float *const k = (const float *)call->array[ARRAY_k].at + b * call->array[ARRAY_k].strides.batch + g /
        call->sharing * call->array[ARRAY_k].strides.head;
    const int64_t k_row = call->array[ARRAY_k].strides.row;
    float *const key_features = (float *)(void *)(share->work + 0); /* [d: 16, j: 32] */
    float *const state_sum = (float *)(void *)(share->slots + 0); /* [chunk, f: 16] */
    float *const key_features_2 = (float *)(void *)(share->work + 0); /* [f1: 136, j: 32] */
    float *const state_sum_2 = (float *)(void *)(share->slots + 64); /* [chunk, f1: 136] */
    float *const k_tile = (float *)(void *)(share->work + 17408); /* [d: 16, j: 32] */
    /* state_sum = 0.0f */
    for (int64_t f = 0; f < 16; f += 4) {
        T(store)(state_sum + (chunk - chunk0) * 160 + f, T(splat)(0.0f));
    }
    /* state_sum_2 = 0.0f */
    for (int64_t f1 = 0; f1 < 136; f1 += 4) {
        T(store)(state_sum_2 + (chunk - chunk0) * 160 + f1, T(splat)(0.0f));
    }
    for (int64_t j0 = chunk * 32, j_end = min(n_k, (chunk + 1) * 32); j0 < j_end; j0 += 32) {
        const int64_t j1 = min(j0 + 32, j_end);
        /* k_tile = k, with zeros beyond the last row */
        T(transpose_padded)(k + j0 * k_row, k_row, j1 - j0, 16, k_tile, 32, 64);
        /* key_features = select(0.0f < k_tile, k_tile + 1.0f, exp(min(k_tile, 0.0f))) */
        for (int64_t d = 0; d < 16; d++) {
            for (int64_t j = 0; j < j1 - j0; j += 4) {
                const T(vec) k_tile_0 = T(load)(k_tile + d * 32 + j);
                T(store)(key_features + d * 32 + j, T(pick)(0.0f < k_tile_0, k_tile_0 + 1.0f, T(exp)(T(min)(k_tile_0,
                    T(splat)(0.0f)))));
            }
        }
        /* state_sum += key_features */
        for (int64_t f = 0; f < 16; f++) {
            T(vec) lane_sums = T(splat)(0);
            for (int64_t j = 0; j < j1 - j0; j += 4) {
                const T(vec) term = T(load)(key_features + f * 32 + j);
                lane_sums += j + 4 <= j1 - j0 ? term : T(pick)(__builtin_convertvector(j + T(lane) < j1 - j0, T(mask)),
                    term, T(splat)(0));
            }
            const float total = T(lane_sum)(lane_sums);
            state_sum[(chunk - chunk0) * 160 + f] += total;
        }
        /* key_features_2 = k_tile * k_tile */
        for (int64_t f1 = 0; f1 < 136; f1++) {
            for (int64_t j = 0; j < j1 - j0; j += 4) {
                T(store)(key_features_2 + f1 * 32 + j, T(load)(k_tile + (f1 % 16) * 32 + j) * T(load)(k_tile + (((f1 %
                    16) + (f1 / 16)) % 16) * 32 + j));
            }
        }
        /* state_sum_2 += key_features_2 */
        for (int64_t f1 = 0; f1 < 136; f1++) {
            T(vec) lane_sums = T(splat)(0);
            for (int64_t j = 0; j < j1 - j0; j += 4) {
                const T(vec) term = T(load)(key_features_2 + f1 * 32 + j);
                lane_sums += j + 4 <= j1 - j0 ? term : T(pick)(__builtin_convertvector(j + T(lane) < j1 - j0, T(mask)),
                    term, T(splat)(0));
            }
            const float total = T(lane_sum)(lane_sums);
            state_sum_2[(chunk - chunk0) * 160 + f1] += total;
        }
    }
}

/* Folds the slots of the current chunks, in order, for some elements of the states. */
TARGET APART void T(e8_linear_saved_fold)(const struct call *call, int64_t task, const struct share *share,
    int64_t iteration)
{
    (void)call;
    (void)task;
    const int64_t f0 = iteration * 32, f1 = min(f0 + 32, 16);
    const int64_t chunk0 = share->chunk0;
    const int64_t chunk1 = share->chunk1;
    float *const state_sum = (float *)(void *)(share->slots + 0); /* [chunk, f: 16] */
    float *const carried_sum = (float *)(void *)(share->shared + 0); /* [f: 16] */
    float *const carried_sum_compensation = (float *)(void *)(share->shared + 640); /* [f: 16] */
    for (int64_t chunk = chunk0; chunk < chunk1; chunk++) {
        /* before_sum = carried_sum; carried_sum += state_sum; state_sum = before_sum */
        for (int64_t f = f0; f < f1; f += 4) {
            const T(vec) before_sum_new1 = T(load)(carried_sum + f);
            T(add)(carried_sum + f, carried_sum_compensation + f, T(load)(state_sum + (chunk - chunk0) * 160 + f),
                T(splat)(1));
            T(store)(state_sum + (chunk - chunk0) * 160 + f, before_sum_new1);
        }
    }
}

/* Folds the slots of the current chunks, in order, for some elements of the states. */
TARGET APART void T(e8_linear_saved_fold_2)(const struct call *call, int64_t task, const struct share *share,
    int64_t iteration)
{
    (void)call;
    (void)task;
    const int64_t f10 = iteration * 32, f11 = min(f10 + 32, 136);
    const int64_t chunk0 = share->chunk0;
    const int64_t chunk1 = share->chunk1;
    float *const state_sum_2 = (float *)(void *)(share->slots + 64); /* [chunk, f1: 136] */
    float *const carried_sum_2 = (float *)(void *)(share->shared + 64); /* [f1: 136] */
    float *const carried_sum_2_compensation = (float *)(void *)(share->shared + 704); /* [f1: 136] */
    for (int64_t chunk = chunk0; chunk < chunk1; chunk++) {
        /* before_sum_2 = carried_sum_2; carried_sum_2 += state_sum_2; state_sum_2 = before_sum_2 */
        for (int64_t f1 = f10; f1 < f11; f1 += 4) {
            const T(vec) before_sum_2_new2 = T(load)(carried_sum_2 + f1);
            T(add)(carried_sum_2 + f1, carried_sum_2_compensation + f1,
                T(load)(state_sum_2 + (chunk - chunk0) * 160 + f1), T(splat)(1));
            T(store)(state_sum_2 + (chunk - chunk0) * 160 + f1, before_sum_2_new2);
        }
    }
}

/* Processes the queries of a chunk: reads the state before the chunk, and the keys in the chunk. */
TARGET APART void T(e8_linear_saved_queries)(const struct call *call, int64_t task, const struct share *share,
    int64_t iteration)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_q = call->p.n_q;
    const int64_t n_k = call->p.n_k;
    const int64_t chunk = iteration;
    const int64_t chunk0 = share->chunk0;
    const int64_t g = task % kv_heads;
    const int64_t b = task / kv_heads;
    const int64_t query_start = call->p.query_start ? call->p.query_start[b] : n_k - n_q;
    const float *const q = (const float *)call->array[ARRAY_q].at + b * call->array[ARRAY_q].strides.batch + g /
        call->sharing * members * call->array[ARRAY_q].strides.head;
    const int64_t q_row = call->array[ARRAY_q].strides.row;
    const int64_t q_head = call->array[ARRAY_q].strides.head;
    const float *const k = (const float *)call->array[ARRAY_k].at + b * call->array[ARRAY_k].strides.batch + g /
        call->sharing * call->array[ARRAY_k].strides.head;
    const int64_t k_row = call->array[ARRAY_k].strides.row;
    float *const state_sum = (float *)(void *)(share->slots + 0); /* [chunk, f: 16] */
    float *const state_sum_2 = (float *)(void *)(share->slots + 64); /* [chunk, f1: 136] */
    float *const query = (float *)(void *)(share->work + 0); /* [d: 16, i: 32] */
    float *const row_sum_from_state = (float *)(void *)(share->work + 2048); /* [i: 32] */
    float *const score = (float *)(void *)(share->work + 2176); /* [j: 32, i: 32] */
    float *const row_sum_from_state_2 = (float *)(void *)(share->work + 0); /* [i: 32] */
    float *const row_sum = (float *)(void *)(share->work + 128); /* [i: 32] */
    float *const row_sum_compensation = (float *)(void *)(share->work + 256); /* [i: 32] */
    float *const saved_0 = (float *)call->array[ARRAY_saved_0].at + (b * call->p.heads + g * members) * call->p.n_q;
    const int64_t saved_0_head = call->p.n_q;
    float *const saved_1 = (float *)call->array[ARRAY_saved_1].at + (b * call->p.heads + g * members) * call->p.n_q;
    const int64_t saved_1_head = call->p.n_q;
    float *const q_tile = (float *)(void *)(share->work + 6272); /* [d: 16, i: 32] */
    for (int64_t m = 0; m < members; m++) {
        for (int64_t i0 = (chunk == 0) ? 0 : max(0, (chunk * 32) - query_start), i_end = min(n_q,
            ((chunk + 1) * 32) - query_start); i0 < i_end; i0 += 32) {
            const int64_t i1 = min(i0 + 32, i_end);
            /* q_tile = q, with zeros beyond the last row */
            T(transpose_padded)(q + m * q_head + i0 * q_row, q_row, i1 - i0, 16, q_tile, 32, 64);
            /* query = select(0.0f < q_tile, q_tile + 1.0f, exp(min(q_tile, 0.0f))) */
            for (int64_t d = 0; d < 16; d++) {
                for (int64_t i = 0; i < i1 - i0; i += 4) {
                    const T(vec) q_tile_3 = T(load)(q_tile + d * 32 + i);
                    T(store)(query + d * 32 + i, T(pick)(0.0f < q_tile_3, q_tile_3 + 1.0f, T(exp)(T(min)(q_tile_3,
                        T(splat)(0.0f)))));
                }
            }
            /* row_sum_from_state = 0.0f */
            for (int64_t i = 0; i < i1 - i0; i += 4) {
                T(store)(row_sum_from_state + i, T(splat)(0.0f));
            }
            /* row_sum_from_state += query * state_sum */
            for (int64_t i_first = 0; i_first < i1 - i0; i_first += 8) {
                T(vec) row_sum_from_state_in[2];
                UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += 4) {
                    row_sum_from_state_in[vector] = (T(vec)){0};
                }
                for (int64_t f = 0; f < 16; f++) {
                    UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += 4) {
                        row_sum_from_state_in[vector] += T(load)(query + f * 32 + i) * (state_sum[(chunk - chunk0) * 160
                            + f]);
                    }
                }
                UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += 4) {
                    T(store)(row_sum_from_state + i, T(load)(row_sum_from_state + i) + row_sum_from_state_in[vector]);
                }
            }
            /* row_sum_from_state_2 = 0.0f */
            for (int64_t i = 0; i < i1 - i0; i += 4) {
                T(store)(row_sum_from_state_2 + i, T(splat)(0.0f));
            }
            /* query_2 = (q_tile * q_tile) * select((f1 / 16) == 0, 1.0f, 2.0f);
               row_sum_from_state_2 += query_2 * state_sum_2 */
            for (int64_t i_first = 0; i_first < i1 - i0; i_first += 8) {
                T(vec) row_sum_from_state_2_in[2], row_sum_from_state_2_in_whole[2];
                UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += 4) {
                    row_sum_from_state_2_in[vector] = (T(vec)){0};
                    row_sum_from_state_2_in_whole[vector] = (T(vec)){0};
                }
                for (int64_t f1 = 0; f1 < 136; f1++) {
                    UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += 4) {
                        const T(vec) query_2_new4 = (T(load)(q_tile + (f1 % 16) * 32 + i) * T(load)(q_tile + (((f1 % 16)
                            + (f1 / 16)) % 16) * 32 + i)) * (float)(((f1 / 16) == 0) ? 1.0 : 2.0);
                        row_sum_from_state_2_in[vector] += query_2_new4 * (state_sum_2[(chunk - chunk0) * 160 + f1]);
                        if (f1 % 32 == 31) {
                            row_sum_from_state_2_in_whole[vector] += row_sum_from_state_2_in[vector];
                            row_sum_from_state_2_in[vector] = (T(vec)){0};
                        }
                    }
                }
                UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += 4) {
                    row_sum_from_state_2_in[vector] += row_sum_from_state_2_in_whole[vector];
                    T(store)(row_sum_from_state_2 + i, T(load)(row_sum_from_state_2 + i) +
                        row_sum_from_state_2_in[vector]);
                }
            }
            /* row_sum = 0.0f; row_sum_compensation = 0.0f; row_sum_from_state = select(row_sum_from_state == 0.0f,
               0.0f, 1.0f / row_sum_from_s ... */
            for (int64_t i = 0; i < i1 - i0; i += 4) {
                T(store)(row_sum + i, T(splat)(0.0f));
                T(store)(row_sum_compensation + i, T(splat)(0.0f));
                const T(vec) row_sum_from_state_5 = T(load)(row_sum_from_state + i);
                T(store)(row_sum_from_state + i, T(pick)(row_sum_from_state_5 == 0.0f, T(splat)(0.0f),
                    1.0f / row_sum_from_state_5));
            }
            for (int64_t j0 = max(0, chunk * 32), j_end = min(n_k, i1 + query_start); j0 < j_end; j0 += 32) {
                const int64_t j1 = min(j0 + 32, j_end);
                /* score[j][i] = sum over d of k * q_tile */
                T(dot9)(round_up(i1 - i0, 4), j1 - j0, k + j0 * k_row, k_row, q_tile, score);
                if ((j0 < (chunk * 32)) || ((i0 + query_start + 1) < j1)) { /* the tile is partly outside the mask */
                    /* score = select((j <= (i + query_start)) && ((chunk * 32) <= j), score * score, 0.0f);
                       row_sum += score */
                    for (int64_t i = 0; i < i1 - i0; i += 4) {
                        const T(ints) t_6 = (i0 + i + T(lane)) + query_start;
                        T(vec) row_sum_in = (T(vec)){0};
                        for (int64_t j = 0; j < j1 - j0; j++) {
                            const T(vec) score_7 = T(load)(score + j * 32 + i);
                            const T(vec) score_new8 = T(pick)(__builtin_convertvector(((j0 + j) <= t_6) &
                                (-(int64_t)((chunk * 32) <= (j0 + j))), T(mask)), score_7 * score_7, T(splat)(0.0f));
                            T(store)(score + j * 32 + i, score_new8);
                            row_sum_in += score_new8;
                        }
                        T(add)(row_sum + i, row_sum_compensation + i, row_sum_in, T(splat)(1));
                    }
                }
                if (!((j0 < (chunk * 32)) || ((i0 + query_start + 1) < j1))) { /* the tile is wholly inside the mask */
                    /* score = score * score; row_sum += score */
                    for (int64_t i_first = 0; i_first < i1 - i0; i_first += 8) {
                        T(vec) row_sum_in[2];
                        UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += 4) {
                            row_sum_in[vector] = (T(vec)){0};
                        }
                        for (int64_t j = 0; j < j1 - j0; j++) {
                            UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += 4) {
                                const T(vec) score_9 = T(load)(score + j * 32 + i);
                                const T(vec) score_new10 = score_9 * score_9;
                                T(store)(score + j * 32 + i, score_new10);
                                row_sum_in[vector] += score_new10;
                            }
                        }
                        UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += 4) {
                            T(add)(row_sum + i, row_sum_compensation + i, row_sum_in[vector], T(splat)(1));
                        }
                    }
                }
            }
            /* row_sum = select(((row_sum + row_sum_from_state_2) + 1.0f) == 0.0f, 0.0f,
               1.0f / ((row_sum + row_sum_from_state_2) + 1.0f)) */
            for (int64_t i = 0; i < i1 - i0; i += 4) {
                const T(vec) t_11 = (T(load)(row_sum + i) + T(load)(row_sum_from_state_2 + i)) + 1.0f;
                T(store)(row_sum + i, T(pick)(t_11 == 0.0f, T(splat)(0.0f), 1.0f / t_11));
            }
            /* saved_0 = row_sum */
            for (int64_t i = 0; i < i1 - i0; i++)
                saved_0[m * saved_0_head + (i0 + i)] = row_sum[i];
            /* saved_1 = row_sum_from_state */
            for (int64_t i = 0; i < i1 - i0; i++)
                saved_1[m * saved_1_head + (i0 + i)] = row_sum_from_state[i];
        }
    }
}

/* Computes head number `task`. Each thread on the head calls this with `share`. */
TARGET static void T(e8_linear_saved)(const struct call *call, int64_t task, struct share *share)
{
    const int64_t n_k = call->p.n_k;
    const int64_t chunks = n_k > 0 ? (n_k - 1) / 32 + 1 : 1;
    for (int64_t iteration = share->number; iteration < ((16 + 31) / 32); iteration += share->threads)
        T(e8_linear_saved_begin)(call, task, share, iteration);
    synchronise(share);
    for (int64_t iteration = share->number; iteration < ((136 + 31) / 32); iteration += share->threads)
        T(e8_linear_saved_begin_2)(call, task, share, iteration);
    synchronise(share);
    const int64_t first = 0;
    const int64_t length = segment_length(share, chunks - first);
    for (int64_t segment = share->number; first + segment * length < chunks; segment += share->threads) {
        share->chunk0 = first + segment * length;
        share->chunk1 = min(share->chunk0 + length, chunks);
        for (int64_t iteration = share->chunk0; iteration < share->chunk1; iteration++)
            T(e8_linear_saved_keys)(call, task, share, iteration);
        for (int64_t group = 0; group < 8; group++) {
            await_segment(share, group, segment);
            const int64_t end = (group + 1) * ((16 + 31) / 32) / 8;
            for (int64_t iteration = group * ((16 + 31) / 32) / 8; iteration < end; iteration++)
                T(e8_linear_saved_fold)(call, task, share, iteration);
            pass_segment(share, group, segment);
        }
        for (int64_t group = 0; group < 8; group++) {
            await_segment(share, 8 + group, segment);
            const int64_t end = (group + 1) * ((136 + 31) / 32) / 8;
            for (int64_t iteration = group * ((136 + 31) / 32) / 8; iteration < end; iteration++)
                T(e8_linear_saved_fold_2)(call, task, share, iteration);
            pass_segment(share, 8 + group, segment);
        }
        for (int64_t iteration = share->chunk0; iteration < share->chunk1; iteration++)
            T(e8_linear_saved_queries)(call, task, share, iteration);
    }
    share->segments += (max(chunks - first, 0) + length - 1) / length;
    synchronise(share);
}

/* Initialises the states: they contain no keys yet. */
TARGET APART void T(e8_linear_row_sums_begin)(const struct call *call, int64_t task, const struct share *share,
    int64_t iteration)
{
    (void)call;
    (void)task;
    const int64_t f0 = iteration * 32, f1 = min(f0 + 32, 16);
    float *const carried_sum = (float *)(void *)(share->shared + 0); /* [f: 16] */
    float *const carried_sum_compensation = (float *)(void *)(share->shared + 10368); /* [f: 16] */
    float *const carried = (float *)(void *)(share->shared + 64); /* [f: 16, e: 16] */
    float *const carried_compensation = (float *)(void *)(share->shared + 10432); /* [f: 16, e: 16] */
    /* carried_sum = 0.0f; carried_sum_compensation = 0.0f */
    for (int64_t f = f0; f < f1; f += 4) {
        T(store)(carried_sum + f, T(splat)(0.0f));
        T(store)(carried_sum_compensation + f, T(splat)(0.0f));
    }
    /* carried = 0.0f; carried_compensation = 0.0f */
    for (int64_t f = f0; f < f1; f++) {
        for (int64_t e_first = 0; e_first < 16; e_first += 8) {
            UNROLL for (int64_t vector = 0, e = e_first; vector < 2; vector++, e += 4) {
                T(store)(carried + f * 16 + e, T(splat)(0.0f));
                T(store)(carried_compensation + f * 16 + e, T(splat)(0.0f));
            }
        }
    }
}

/* Initialises the states: they contain no keys yet. */
TARGET APART void T(e8_linear_row_sums_begin_2)(const struct call *call, int64_t task, const struct share *share,
    int64_t iteration)
{
    (void)call;
    (void)task;
    const int64_t f10 = iteration * 32, f11 = min(f10 + 32, 136);
    float *const carried_sum_2 = (float *)(void *)(share->shared + 1088); /* [f1: 136] */
    float *const carried_sum_2_compensation = (float *)(void *)(share->shared + 11456); /* [f1: 136] */
    float *const carried_2 = (float *)(void *)(share->shared + 1664); /* [f1: 136, e: 16] */
    float *const carried_2_compensation = (float *)(void *)(share->shared + 12032); /* [f1: 136, e: 16] */
    /* carried_sum_2 = 0.0f; carried_sum_2_compensation = 0.0f */
    for (int64_t f1 = f10; f1 < f11; f1 += 4) {
        T(store)(carried_sum_2 + f1, T(splat)(0.0f));
        T(store)(carried_sum_2_compensation + f1, T(splat)(0.0f));
    }
    /* carried_2 = 0.0f; carried_2_compensation = 0.0f */
    for (int64_t f1 = f10; f1 < f11; f1++) {
        for (int64_t e_first = 0; e_first < 16; e_first += 8) {
            UNROLL for (int64_t vector = 0, e = e_first; vector < 2; vector++, e += 4) {
                T(store)(carried_2 + f1 * 16 + e, T(splat)(0.0f));
                T(store)(carried_2_compensation + f1 * 16 + e, T(splat)(0.0f));
            }
        }
    }
}

/* Sums the keys of a chunk, from zero, into its slot. */
TARGET APART void T(e8_linear_row_sums_keys)(const struct call *call, int64_t task, const struct share *share,
    int64_t iteration)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t n_k = call->p.n_k;
    const int64_t chunk = iteration;
    const int64_t chunk0 = share->chunk0;
    const int64_t g = task % kv_heads;
    const int64_t b = task / kv_heads;
    const float *const k = (const float *)call->array[ARRAY_k].at + b * call->array[ARRAY_k].strides.batch + g /
        call->sharing * call->array[ARRAY_k].strides.head;
    const int64_t k_row = call->array[ARRAY_k].strides.row;
    const float *const v = (const float *)call->array[ARRAY_v].at + b * call->array[ARRAY_v].strides.batch + g *
        call->array[ARRAY_v].strides.head;
    const int64_t v_row = call->array[ARRAY_v].strides.row;
    float *const key_features = (float *)(void *)(share->work + 0); /* [d: 16, j: 32] */
    float *const state_sum = (float *)(void *)(share->slots + 0); /* [chunk, f: 16] */
    float *const state = (float *)(void *)(share->slots + 64); /* [chunk, f: 16, e: 16] */
    float *const key_features_2 = (float *)(void *)(share->work + 0); /* [f1: 136, j: 32] */
    float *const state_sum_2 = (float *)(void *)(share->slots + 1088); /* [chunk, f1: 136] */
    float *const state_2 = (float *)(void *)(share->slots + 1664); /* [chunk, f1: 136, e: 16] */
    float *const k_tile = (float *)(void *)(share->work + 17408); /* [d: 16, j: 32] */
    /* state_sum = 0.0f */
    for (int64_t f = 0; f < 16; f += 4) {
        T(store)(state_sum + (chunk - chunk0) * 2592 + f, T(splat)(0.0f));
    }
    /* state_sum_2 = 0.0f */
    for (int64_t f1 = 0; f1 < 136; f1 += 4) {
        T(store)(state_sum_2 + (chunk - chunk0) * 2592 + f1, T(splat)(0.0f));
    }
    for (int64_t j0 = chunk * 32, j_end = min(n_k, (chunk + 1) * 32); j0 < j_end; j0 += 32) {
        const int64_t j1 = min(j0 + 32, j_end);
        /* k_tile = k, with zeros beyond the last row */
        T(transpose_padded)(k + j0 * k_row, k_row, j1 - j0, 16, k_tile, 32, 64);
        /* key_features = select(0.0f < k_tile, k_tile + 1.0f, exp(min(k_tile, 0.0f))) */
        for (int64_t d = 0; d < 16; d++) {
            for (int64_t j = 0; j < j1 - j0; j += 4) {
                const T(vec) k_tile_0 = T(load)(k_tile + d * 32 + j);
                T(store)(key_features + d * 32 + j, T(pick)(0.0f < k_tile_0, k_tile_0 + 1.0f, T(exp)(T(min)(k_tile_0,
                    T(splat)(0.0f)))));
            }
        }
        /* state_sum += key_features */
        for (int64_t f = 0; f < 16; f++) {
            T(vec) lane_sums = T(splat)(0);
            for (int64_t j = 0; j < j1 - j0; j += 4) {
                const T(vec) term = T(load)(key_features + f * 32 + j);
                lane_sums += j + 4 <= j1 - j0 ? term : T(pick)(__builtin_convertvector(j + T(lane) < j1 - j0, T(mask)),
                    term, T(splat)(0));
            }
            const float total = T(lane_sum)(lane_sums);
            state_sum[(chunk - chunk0) * 2592 + f] += total;
        }
        /* state[f][e] = sum over j of key_features * v */
        T(dot0)(j1 - j0, key_features, v + j0 * v_row, v_row, state + (chunk - chunk0) * 2592);
        /* key_features_2 = k_tile * k_tile */
        for (int64_t f1 = 0; f1 < 136; f1++) {
            for (int64_t j = 0; j < j1 - j0; j += 4) {
                T(store)(key_features_2 + f1 * 32 + j, T(load)(k_tile + (f1 % 16) * 32 + j) * T(load)(k_tile + (((f1 %
                    16) + (f1 / 16)) % 16) * 32 + j));
            }
        }
        /* state_sum_2 += key_features_2 */
        for (int64_t f1 = 0; f1 < 136; f1++) {
            T(vec) lane_sums = T(splat)(0);
            for (int64_t j = 0; j < j1 - j0; j += 4) {
                const T(vec) term = T(load)(key_features_2 + f1 * 32 + j);
                lane_sums += j + 4 <= j1 - j0 ? term : T(pick)(__builtin_convertvector(j + T(lane) < j1 - j0, T(mask)),
                    term, T(splat)(0));
            }
            const float total = T(lane_sum)(lane_sums);
            state_sum_2[(chunk - chunk0) * 2592 + f1] += total;
        }
        /* state_2[f1][e] = sum over j of key_features_2 * v */
        T(dot1)(j1 - j0, key_features_2, v + j0 * v_row, v_row, state_2 + (chunk - chunk0) * 2592);
    }
}

/* Folds the slots of the current chunks, in order, for some elements of the states. */
TARGET APART void T(e8_linear_row_sums_fold)(const struct call *call, int64_t task, const struct share *share,
    int64_t iteration)
{
    (void)call;
    (void)task;
    const int64_t f0 = iteration * 32, f1 = min(f0 + 32, 16);
    const int64_t chunk0 = share->chunk0;
    const int64_t chunk1 = share->chunk1;
    float *const state_sum = (float *)(void *)(share->slots + 0); /* [chunk, f: 16] */
    float *const state = (float *)(void *)(share->slots + 64); /* [chunk, f: 16, e: 16] */
    float *const carried_sum = (float *)(void *)(share->shared + 0); /* [f: 16] */
    float *const carried_sum_compensation = (float *)(void *)(share->shared + 10368); /* [f: 16] */
    float *const carried = (float *)(void *)(share->shared + 64); /* [f: 16, e: 16] */
    float *const carried_compensation = (float *)(void *)(share->shared + 10432); /* [f: 16, e: 16] */
    for (int64_t chunk = chunk0; chunk < chunk1; chunk++) {
        /* before_sum = carried_sum; carried_sum += state_sum; state_sum = before_sum */
        for (int64_t f = f0; f < f1; f += 4) {
            const T(vec) before_sum_new1 = T(load)(carried_sum + f);
            T(add)(carried_sum + f, carried_sum_compensation + f, T(load)(state_sum + (chunk - chunk0) * 2592 + f),
                T(splat)(1));
            T(store)(state_sum + (chunk - chunk0) * 2592 + f, before_sum_new1);
        }
        /* before = carried; carried += state; state = before */
        for (int64_t f = f0; f < f1; f++) {
            for (int64_t e_first = 0; e_first < 16; e_first += 8) {
                UNROLL for (int64_t vector = 0, e = e_first; vector < 2; vector++, e += 4) {
                    const T(vec) before_new2 = T(load)(carried + f * 16 + e);
                    T(add)(carried + f * 16 + e, carried_compensation + f * 16 + e,
                        T(load)(state + (chunk - chunk0) * 2592 + f * 16 + e), T(splat)(1));
                    T(store)(state + (chunk - chunk0) * 2592 + f * 16 + e, before_new2);
                }
            }
        }
    }
}

/* Folds the slots of the current chunks, in order, for some elements of the states. */
TARGET APART void T(e8_linear_row_sums_fold_2)(const struct call *call, int64_t task, const struct share *share,
    int64_t iteration)
{
    (void)call;
    (void)task;
    const int64_t f10 = iteration * 32, f11 = min(f10 + 32, 136);
    const int64_t chunk0 = share->chunk0;
    const int64_t chunk1 = share->chunk1;
    float *const state_sum_2 = (float *)(void *)(share->slots + 1088); /* [chunk, f1: 136] */
    float *const state_2 = (float *)(void *)(share->slots + 1664); /* [chunk, f1: 136, e: 16] */
    float *const carried_sum_2 = (float *)(void *)(share->shared + 1088); /* [f1: 136] */
    float *const carried_sum_2_compensation = (float *)(void *)(share->shared + 11456); /* [f1: 136] */
    float *const carried_2 = (float *)(void *)(share->shared + 1664); /* [f1: 136, e: 16] */
    float *const carried_2_compensation = (float *)(void *)(share->shared + 12032); /* [f1: 136, e: 16] */
    for (int64_t chunk = chunk0; chunk < chunk1; chunk++) {
        /* before_sum_2 = carried_sum_2; carried_sum_2 += state_sum_2; state_sum_2 = before_sum_2 */
        for (int64_t f1 = f10; f1 < f11; f1 += 4) {
            const T(vec) before_sum_2_new3 = T(load)(carried_sum_2 + f1);
            T(add)(carried_sum_2 + f1, carried_sum_2_compensation + f1,
                T(load)(state_sum_2 + (chunk - chunk0) * 2592 + f1), T(splat)(1));
            T(store)(state_sum_2 + (chunk - chunk0) * 2592 + f1, before_sum_2_new3);
        }
        /* before_2 = carried_2; carried_2 += state_2; state_2 = before_2 */
        for (int64_t f1 = f10; f1 < f11; f1++) {
            for (int64_t e_first = 0; e_first < 16; e_first += 8) {
                UNROLL for (int64_t vector = 0, e = e_first; vector < 2; vector++, e += 4) {
                    const T(vec) before_2_new4 = T(load)(carried_2 + f1 * 16 + e);
                    T(add)(carried_2 + f1 * 16 + e, carried_2_compensation + f1 * 16 + e,
                        T(load)(state_2 + (chunk - chunk0) * 2592 + f1 * 16 + e), T(splat)(1));
                    T(store)(state_2 + (chunk - chunk0) * 2592 + f1 * 16 + e, before_2_new4);
                }
            }
        }
    }
}

/* Processes the queries of a chunk: reads the state before the chunk, and the keys in the chunk. */
TARGET APART void T(e8_linear_row_sums_queries)(const struct call *call, int64_t task, const struct share *share,
    int64_t iteration)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_q = call->p.n_q;
    const int64_t n_k = call->p.n_k;
    const int64_t chunk = iteration;
    const int64_t chunk0 = share->chunk0;
    const int64_t g = task % kv_heads;
    const int64_t b = task / kv_heads;
    const int64_t query_start = call->p.query_start ? call->p.query_start[b] : n_k - n_q;
    const float *const q = (const float *)call->array[ARRAY_q].at + b * call->array[ARRAY_q].strides.batch + g /
        call->sharing * members * call->array[ARRAY_q].strides.head;
    const int64_t q_row = call->array[ARRAY_q].strides.row;
    const int64_t q_head = call->array[ARRAY_q].strides.head;
    const float *const k = (const float *)call->array[ARRAY_k].at + b * call->array[ARRAY_k].strides.batch + g /
        call->sharing * call->array[ARRAY_k].strides.head;
    const int64_t k_row = call->array[ARRAY_k].strides.row;
    const float *const v = (const float *)call->array[ARRAY_v].at + b * call->array[ARRAY_v].strides.batch + g *
        call->array[ARRAY_v].strides.head;
    const int64_t v_row = call->array[ARRAY_v].strides.row;
    const float *const dout = (const float *)call->array[ARRAY_dout].at + b * call->array[ARRAY_dout].strides.batch + g
        * members * call->array[ARRAY_dout].strides.head;
    const int64_t dout_row = call->array[ARRAY_dout].strides.row;
    const int64_t dout_head = call->array[ARRAY_dout].strides.head;
    float *const state_sum = (float *)(void *)(share->slots + 0); /* [chunk, f: 16] */
    float *const state = (float *)(void *)(share->slots + 64); /* [chunk, f: 16, e: 16] */
    float *const state_sum_2 = (float *)(void *)(share->slots + 1088); /* [chunk, f1: 136] */
    float *const state_2 = (float *)(void *)(share->slots + 1664); /* [chunk, f1: 136, e: 16] */
    float *const query = (float *)(void *)(share->work + 0); /* [d: 16, i: 32] */
    float *const row_sum_from_state = (float *)(void *)(share->work + 2048); /* [i: 32] */
    float *const sum_from_state = (float *)(void *)(share->work + 2176); /* [e: 16, i: 32] */
    float *const score = (float *)(void *)(share->work + 2176); /* [j: 32, i: 32] */
    float *const query_2 = (float *)(void *)(share->work + 4224); /* [f1: 136, i: 32] */
    float *const row_sum_from_state_2 = (float *)(void *)(share->work + 0); /* [i: 32] */
    float *const row_sum = (float *)(void *)(share->work + 128); /* [i: 32] */
    float *const row_sum_compensation = (float *)(void *)(share->work + 256); /* [i: 32] */
    float *const sum_from_state_2 = (float *)(void *)(share->work + 21632); /* [e: 16, i: 32] */
    float *const sum = (float *)(void *)(share->work + 6272); /* [e: 16, i: 32] */
    float *const sum_compensation = (float *)(void *)(share->work + 8320); /* [e: 16, i: 32] */
    float *const query_sum = (float *)(void *)(share->work + 256); /* [i: 32] */
    float *const query_sum_2 = (float *)(void *)(share->work + 384); /* [i: 32] */
    float *const row_0 = (float *)call->array[ARRAY_row_0].at + (b * call->p.heads + g * members) * call->p.n_q;
    const int64_t row_0_head = call->p.n_q;
    float *const row_1 = (float *)call->array[ARRAY_row_1].at + (b * call->p.heads + g * members) * call->p.n_q;
    const int64_t row_1_head = call->p.n_q;
    float *const q_tile = (float *)(void *)(share->work + 23680); /* [d: 16, i: 32] */
    float *const dout_tile = (float *)(void *)(share->work + 25728); /* [e: 16, i: 32] */
    for (int64_t m = 0; m < members; m++) {
        for (int64_t i0 = (chunk == 0) ? 0 : max(0, (chunk * 32) - query_start), i_end = min(n_q,
            ((chunk + 1) * 32) - query_start); i0 < i_end; i0 += 32) {
            const int64_t i1 = min(i0 + 32, i_end);
            /* q_tile = q, with zeros beyond the last row */
            T(transpose_padded)(q + m * q_head + i0 * q_row, q_row, i1 - i0, 16, q_tile, 32, 64);
            /* dout_tile = dout, with zeros beyond the last row */
            T(transpose_padded)(dout + m * dout_head + i0 * dout_row, dout_row, i1 - i0, 16, dout_tile, 32, 64);
            /* query = select(0.0f < q_tile, q_tile + 1.0f, exp(min(q_tile, 0.0f))) */
            for (int64_t d = 0; d < 16; d++) {
                for (int64_t i = 0; i < i1 - i0; i += 4) {
                    const T(vec) q_tile_5 = T(load)(q_tile + d * 32 + i);
                    T(store)(query + d * 32 + i, T(pick)(0.0f < q_tile_5, q_tile_5 + 1.0f, T(exp)(T(min)(q_tile_5,
                        T(splat)(0.0f)))));
                }
            }
            /* row_sum_from_state = 0.0f */
            for (int64_t i = 0; i < i1 - i0; i += 4) {
                T(store)(row_sum_from_state + i, T(splat)(0.0f));
            }
            /* row_sum_from_state += query * state_sum */
            for (int64_t i_first = 0; i_first < i1 - i0; i_first += 8) {
                T(vec) row_sum_from_state_in[2];
                UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += 4) {
                    row_sum_from_state_in[vector] = (T(vec)){0};
                }
                for (int64_t f = 0; f < 16; f++) {
                    UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += 4) {
                        row_sum_from_state_in[vector] += T(load)(query + f * 32 + i) * (state_sum[(chunk - chunk0) *
                            2592 + f]);
                    }
                }
                UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += 4) {
                    T(store)(row_sum_from_state + i, T(load)(row_sum_from_state + i) + row_sum_from_state_in[vector]);
                }
            }
            /* sum_from_state[e][i] = sum over f of state * query */
            T(dot2)(round_up(i1 - i0, 4), state + (chunk - chunk0) * 2592, query, sum_from_state);
            /* row_sum_from_state_2 = 0.0f */
            for (int64_t i = 0; i < i1 - i0; i += 4) {
                T(store)(row_sum_from_state_2 + i, T(splat)(0.0f));
            }
            /* query_2 = (q_tile * q_tile) * select((f1 / 16) == 0, 1.0f, 2.0f);
               row_sum_from_state_2 += query_2 * state_sum_2 */
            for (int64_t i_first = 0; i_first < i1 - i0; i_first += 8) {
                T(vec) row_sum_from_state_2_in[2], row_sum_from_state_2_in_whole[2];
                UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += 4) {
                    row_sum_from_state_2_in[vector] = (T(vec)){0};
                    row_sum_from_state_2_in_whole[vector] = (T(vec)){0};
                }
                for (int64_t f1 = 0; f1 < 136; f1++) {
                    UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += 4) {
                        const T(vec) query_2_new6 = (T(load)(q_tile + (f1 % 16) * 32 + i) * T(load)(q_tile + (((f1 % 16)
                            + (f1 / 16)) % 16) * 32 + i)) * (float)(((f1 / 16) == 0) ? 1.0 : 2.0);
                        T(store)(query_2 + f1 * 32 + i, query_2_new6);
                        row_sum_from_state_2_in[vector] += query_2_new6 * (state_sum_2[(chunk - chunk0) * 2592 + f1]);
                        if (f1 % 32 == 31) {
                            row_sum_from_state_2_in_whole[vector] += row_sum_from_state_2_in[vector];
                            row_sum_from_state_2_in[vector] = (T(vec)){0};
                        }
                    }
                }
                UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += 4) {
                    row_sum_from_state_2_in[vector] += row_sum_from_state_2_in_whole[vector];
                    T(store)(row_sum_from_state_2 + i, T(load)(row_sum_from_state_2 + i) +
                        row_sum_from_state_2_in[vector]);
                }
            }
            /* sum_from_state_2[e][i] = sum over f1 of state_2 * query_2 */
            T(dot3)(round_up(i1 - i0, 4), state_2 + (chunk - chunk0) * 2592, query_2, sum_from_state_2);
            /* row_sum = 0.0f; row_sum_compensation = 0.0f; query_sum_2 = 0.0f */
            for (int64_t i = 0; i < i1 - i0; i += 4) {
                T(store)(row_sum + i, T(splat)(0.0f));
                T(store)(row_sum_compensation + i, T(splat)(0.0f));
                T(store)(query_sum_2 + i, T(splat)(0.0f));
            }
            /* sum = 0.0f; sum_compensation = 0.0f; query_sum_2 += dout_tile * neg(select(row_sum_from_state == 0.0f,
               0.0f, neg(sum_from_state  ... */
            for (int64_t i = 0; i < i1 - i0; i += 4) {
                const T(vec) row_sum_from_state_7 = T(load)(row_sum_from_state + i);
                const T(mask) t_8 = row_sum_from_state_7 == 0.0f;
                T(vec) query_sum_2_in = (T(vec)){0};
                for (int64_t e = 0; e < 16; e++) {
                    T(store)(sum + e * 32 + i, T(splat)(0.0f));
                    T(store)(sum_compensation + e * 32 + i, T(splat)(0.0f));
                    query_sum_2_in += T(load)(dout_tile + e * 32 + i) * (-T(pick)(t_8, T(splat)(0.0f),
                        -(T(load)(sum_from_state + e * 32 + i) / row_sum_from_state_7)));
                }
                T(store)(query_sum_2 + i, T(load)(query_sum_2 + i) + query_sum_2_in);
            }
            /* row_sum_from_state = query_sum_2 * select(row_sum_from_state == 0.0f, 0.0f, 1.0f / row_sum_from_state) */
            for (int64_t i = 0; i < i1 - i0; i += 4) {
                const T(vec) row_sum_from_state_9 = T(load)(row_sum_from_state + i);
                T(store)(row_sum_from_state + i, T(load)(query_sum_2 + i) * T(pick)(row_sum_from_state_9 == 0.0f,
                    T(splat)(0.0f), 1.0f / row_sum_from_state_9));
            }
            for (int64_t j0 = max(0, chunk * 32), j_end = min(n_k, i1 + query_start); j0 < j_end; j0 += 32) {
                const int64_t j1 = min(j0 + 32, j_end);
                /* score[j][i] = sum over d of k * q_tile */
                T(dot4)(round_up(i1 - i0, 4), j1 - j0, k + j0 * k_row, k_row, q_tile, score, v + j0 * v_row, v_row);
                if ((j0 < (chunk * 32)) || ((i0 + query_start + 1) < j1)) { /* the tile is partly outside the mask */
                    /* score = select((j <= (i + query_start)) && ((chunk * 32) <= j), score * score, 0.0f);
                       row_sum += score */
                    for (int64_t i = 0; i < i1 - i0; i += 4) {
                        const T(ints) t_10 = (i0 + i + T(lane)) + query_start;
                        T(vec) row_sum_in = (T(vec)){0};
                        for (int64_t j = 0; j < j1 - j0; j++) {
                            const T(vec) score_11 = T(load)(score + j * 32 + i);
                            const T(vec) score_new12 = T(pick)(__builtin_convertvector(((j0 + j) <= t_10) &
                                (-(int64_t)((chunk * 32) <= (j0 + j))), T(mask)), score_11 * score_11, T(splat)(0.0f));
                            T(store)(score + j * 32 + i, score_new12);
                            row_sum_in += score_new12;
                        }
                        T(add)(row_sum + i, row_sum_compensation + i, row_sum_in, T(splat)(1));
                    }
                }
                if (!((j0 < (chunk * 32)) || ((i0 + query_start + 1) < j1))) { /* the tile is wholly inside the mask */
                    /* score = score * score; row_sum += score */
                    for (int64_t i_first = 0; i_first < i1 - i0; i_first += 8) {
                        T(vec) row_sum_in[2];
                        UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += 4) {
                            row_sum_in[vector] = (T(vec)){0};
                        }
                        for (int64_t j = 0; j < j1 - j0; j++) {
                            UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += 4) {
                                const T(vec) score_13 = T(load)(score + j * 32 + i);
                                const T(vec) score_new14 = score_13 * score_13;
                                T(store)(score + j * 32 + i, score_new14);
                                row_sum_in[vector] += score_new14;
                            }
                        }
                        UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += 4) {
                            T(add)(row_sum + i, row_sum_compensation + i, row_sum_in[vector], T(splat)(1));
                        }
                    }
                }
                /* sum[e][i] += sum over j of v * score */
                if (__builtin_expect(((j0 < (chunk * 32)) || ((i0 + query_start + 1) < j1)) && !T(finite)(v + j0 *
                    v_row, v_row, j1 - j0, 16), 0)) { /* infinity and NaN affect only queries that see them */
                    T(dot5)(round_up(i1 - i0, 4), j1 - j0, v + j0 * v_row, v_row, score, sum, sum_compensation);
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        T(mask) in_region[8] = {0};
                        if (T(finite)(v + j0 * v_row + j * v_row, 1, 16, 1)) continue;
                        const int t_15 = (chunk * 32) <= (j0 + j);
                        for (int64_t i = 0; i < i1 - i0; i += 4) {
                            in_region[i / 4] = __builtin_convertvector(((j0 + j) <= ((i0 + i + T(lane)) + query_start))
                                & (-(int64_t)t_15), T(mask));
                        }
                        T(add_seen)(16, sum, 32, v + j0 * v_row + j * v_row, 1, score + j * 32, in_region, i1 - i0);
                    }
                } else
                    T(dot6)(round_up(i1 - i0, 4), j1 - j0, v + j0 * v_row, v_row, score, sum, sum_compensation);
            }
            /* query_sum = 0.0f */
            for (int64_t i = 0; i < i1 - i0; i += 4) {
                T(store)(query_sum + i, T(splat)(0.0f));
            }
            /* query_sum += dout_tile * select(((row_sum + row_sum_from_state_2) + 1.0f) == 0.0f, 0.0f,
               neg((sum + sum_from_state_2) / ((row_su ... */
            for (int64_t i = 0; i < i1 - i0; i += 4) {
                const T(vec) t_16 = (T(load)(row_sum + i) + T(load)(row_sum_from_state_2 + i)) + 1.0f;
                const T(mask) t_17 = t_16 == 0.0f;
                T(vec) query_sum_in = (T(vec)){0};
                for (int64_t e = 0; e < 16; e++) {
                    query_sum_in += T(load)(dout_tile + e * 32 + i) * T(pick)(t_17, T(splat)(0.0f),
                        -((T(load)(sum + e * 32 + i) + T(load)(sum_from_state_2 + e * 32 + i)) / t_16));
                }
                T(store)(query_sum + i, T(load)(query_sum + i) + query_sum_in);
            }
            /* row_sum = query_sum * select(((row_sum + row_sum_from_state_2) + 1.0f) == 0.0f, 0.0f,
               1.0f / ((row_sum + row_sum_from_state_2) + ... */
            for (int64_t i = 0; i < i1 - i0; i += 4) {
                const T(vec) t_18 = (T(load)(row_sum + i) + T(load)(row_sum_from_state_2 + i)) + 1.0f;
                T(store)(row_sum + i, T(load)(query_sum + i) * T(pick)(t_18 == 0.0f, T(splat)(0.0f), 1.0f / t_18));
            }
            /* row_0 = row_sum */
            for (int64_t i = 0; i < i1 - i0; i++)
                row_0[m * row_0_head + (i0 + i)] = row_sum[i];
            /* row_1 = row_sum_from_state */
            for (int64_t i = 0; i < i1 - i0; i++)
                row_1[m * row_1_head + (i0 + i)] = row_sum_from_state[i];
        }
    }
}

/* For a thread that works on the head alone: adds a chunk to the carried state. */
TARGET APART void T(e8_linear_row_sums_keys_alone)(const struct call *call, int64_t task, const struct share *share,
    int64_t iteration)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t n_k = call->p.n_k;
    const int64_t chunk = iteration;
    const int64_t chunk0 = share->chunk0;
    const int64_t g = task % kv_heads;
    const int64_t b = task / kv_heads;
    const float *const k = (const float *)call->array[ARRAY_k].at + b * call->array[ARRAY_k].strides.batch + g /
        call->sharing * call->array[ARRAY_k].strides.head;
    const int64_t k_row = call->array[ARRAY_k].strides.row;
    const float *const v = (const float *)call->array[ARRAY_v].at + b * call->array[ARRAY_v].strides.batch + g *
        call->array[ARRAY_v].strides.head;
    const int64_t v_row = call->array[ARRAY_v].strides.row;
    float *const key_features = (float *)(void *)(share->work + 0); /* [d: 16, j: 32] */
    float *const state_sum = (float *)(void *)(share->slots + 0); /* [chunk, f: 16] */
    float *const key_features_2 = (float *)(void *)(share->work + 0); /* [f1: 136, j: 32] */
    float *const state_sum_2 = (float *)(void *)(share->slots + 1088); /* [chunk, f1: 136] */
    float *const carried = (float *)(void *)(share->shared + 64); /* [f: 16, e: 16] */
    float *const carried_compensation = (float *)(void *)(share->shared + 10432); /* [f: 16, e: 16] */
    float *const carried_2 = (float *)(void *)(share->shared + 1664); /* [f1: 136, e: 16] */
    float *const carried_2_compensation = (float *)(void *)(share->shared + 12032); /* [f1: 136, e: 16] */
    float *const k_tile = (float *)(void *)(share->work + 17408); /* [d: 16, j: 32] */
    /* state_sum = 0.0f */
    for (int64_t f = 0; f < 16; f += 4) {
        T(store)(state_sum + (chunk - chunk0) * 2592 + f, T(splat)(0.0f));
    }
    /* state_sum_2 = 0.0f */
    for (int64_t f1 = 0; f1 < 136; f1 += 4) {
        T(store)(state_sum_2 + (chunk - chunk0) * 2592 + f1, T(splat)(0.0f));
    }
    for (int64_t j0 = chunk * 32, j_end = min(n_k, (chunk + 1) * 32); j0 < j_end; j0 += 32) {
        const int64_t j1 = min(j0 + 32, j_end);
        /* k_tile = k, with zeros beyond the last row */
        T(transpose_padded)(k + j0 * k_row, k_row, j1 - j0, 16, k_tile, 32, 64);
        /* key_features = select(0.0f < k_tile, k_tile + 1.0f, exp(min(k_tile, 0.0f))) */
        for (int64_t d = 0; d < 16; d++) {
            for (int64_t j = 0; j < j1 - j0; j += 4) {
                const T(vec) k_tile_19 = T(load)(k_tile + d * 32 + j);
                T(store)(key_features + d * 32 + j, T(pick)(0.0f < k_tile_19, k_tile_19 + 1.0f, T(exp)(T(min)(k_tile_19,
                    T(splat)(0.0f)))));
            }
        }
        /* state_sum += key_features */
        for (int64_t f = 0; f < 16; f++) {
            T(vec) lane_sums = T(splat)(0);
            for (int64_t j = 0; j < j1 - j0; j += 4) {
                const T(vec) term = T(load)(key_features + f * 32 + j);
                lane_sums += j + 4 <= j1 - j0 ? term : T(pick)(__builtin_convertvector(j + T(lane) < j1 - j0, T(mask)),
                    term, T(splat)(0));
            }
            const float total = T(lane_sum)(lane_sums);
            state_sum[(chunk - chunk0) * 2592 + f] += total;
        }
        /* carried[f][e] += sum over j of key_features * v */
        T(dot7)(j1 - j0, key_features, v + j0 * v_row, v_row, carried, carried_compensation);
        /* key_features_2 = k_tile * k_tile */
        for (int64_t f1 = 0; f1 < 136; f1++) {
            for (int64_t j = 0; j < j1 - j0; j += 4) {
                T(store)(key_features_2 + f1 * 32 + j, T(load)(k_tile + (f1 % 16) * 32 + j) * T(load)(k_tile + (((f1 %
                    16) + (f1 / 16)) % 16) * 32 + j));
            }
        }
        /* state_sum_2 += key_features_2 */
        for (int64_t f1 = 0; f1 < 136; f1++) {
            T(vec) lane_sums = T(splat)(0);
            for (int64_t j = 0; j < j1 - j0; j += 4) {
                const T(vec) term = T(load)(key_features_2 + f1 * 32 + j);
                lane_sums += j + 4 <= j1 - j0 ? term : T(pick)(__builtin_convertvector(j + T(lane) < j1 - j0, T(mask)),
                    term, T(splat)(0));
            }
            const float total = T(lane_sum)(lane_sums);
            state_sum_2[(chunk - chunk0) * 2592 + f1] += total;
        }
        /* carried_2[f1][e] += sum over j of key_features_2 * v */
        T(dot8)(j1 - j0, key_features_2, v + j0 * v_row, v_row, carried_2, carried_2_compensation);
    }
}

/* Adds to the carried state the sums that no product computes. */
TARGET APART void T(e8_linear_row_sums_fold_alone)(const struct call *call, int64_t task, const struct share *share,
    int64_t iteration)
{
    (void)call;
    (void)task;
    const int64_t f0 = iteration * 32, f1 = min(f0 + 32, 16);
    const int64_t chunk0 = share->chunk0;
    const int64_t chunk1 = share->chunk1;
    float *const state_sum = (float *)(void *)(share->slots + 0); /* [chunk, f: 16] */
    float *const carried_sum = (float *)(void *)(share->shared + 0); /* [f: 16] */
    float *const carried_sum_compensation = (float *)(void *)(share->shared + 10368); /* [f: 16] */
    for (int64_t chunk = chunk0; chunk < chunk1; chunk++) {
        /* carried_sum += state_sum */
        for (int64_t f = f0; f < f1; f += 4) {
            T(add)(carried_sum + f, carried_sum_compensation + f, T(load)(state_sum + (chunk - chunk0) * 2592 + f),
                T(splat)(1));
        }
    }
}

/* Adds to the carried state the sums that no product computes. */
TARGET APART void T(e8_linear_row_sums_fold_alone_2)(const struct call *call, int64_t task, const struct share *share,
    int64_t iteration)
{
    (void)call;
    (void)task;
    const int64_t f10 = iteration * 32, f11 = min(f10 + 32, 136);
    const int64_t chunk0 = share->chunk0;
    const int64_t chunk1 = share->chunk1;
    float *const state_sum_2 = (float *)(void *)(share->slots + 1088); /* [chunk, f1: 136] */
    float *const carried_sum_2 = (float *)(void *)(share->shared + 1088); /* [f1: 136] */
    float *const carried_sum_2_compensation = (float *)(void *)(share->shared + 11456); /* [f1: 136] */
    for (int64_t chunk = chunk0; chunk < chunk1; chunk++) {
        /* carried_sum_2 += state_sum_2 */
        for (int64_t f1 = f10; f1 < f11; f1 += 4) {
            T(add)(carried_sum_2 + f1, carried_sum_2_compensation + f1,
                T(load)(state_sum_2 + (chunk - chunk0) * 2592 + f1), T(splat)(1));
        }
    }
}

/* Computes head number `task`. Each thread on the head calls this with `share`. */
TARGET static void T(e8_linear_row_sums)(const struct call *call, int64_t task, struct share *share)
{
    const int64_t n_k = call->p.n_k;
    const int64_t chunks = n_k > 0 ? (n_k - 1) / 32 + 1 : 1;
    for (int64_t iteration = share->number; iteration < ((16 + 31) / 32); iteration += share->threads)
        T(e8_linear_row_sums_begin)(call, task, share, iteration);
    synchronise(share);
    for (int64_t iteration = share->number; iteration < ((136 + 31) / 32); iteration += share->threads)
        T(e8_linear_row_sums_begin_2)(call, task, share, iteration);
    synchronise(share);
    const int64_t first = 0;
    if (share->threads == 1) { /* queries read the carried state before their chunk is added */
        unsigned char *const slots = share->slots;
        for (share->chunk0 = first; share->chunk0 < chunks; share->chunk0++) {
            share->chunk1 = share->chunk0 + 1;
            share->slots = share->shared;
            T(e8_linear_row_sums_queries)(call, task, share, share->chunk0);
            share->slots = slots;
            T(e8_linear_row_sums_keys_alone)(call, task, share, share->chunk0);
            for (int64_t iteration = 0; iteration < ((16 + 31) / 32); iteration++)
                T(e8_linear_row_sums_fold_alone)(call, task, share, iteration);
            for (int64_t iteration = 0; iteration < ((136 + 31) / 32); iteration++)
                T(e8_linear_row_sums_fold_alone_2)(call, task, share, iteration);
        }
    } else {
        const int64_t length = segment_length(share, chunks - first);
        for (int64_t segment = share->number; first + segment * length < chunks; segment += share->threads) {
            share->chunk0 = first + segment * length;
            share->chunk1 = min(share->chunk0 + length, chunks);
            for (int64_t iteration = share->chunk0; iteration < share->chunk1; iteration++)
                T(e8_linear_row_sums_keys)(call, task, share, iteration);
            for (int64_t group = 0; group < 8; group++) {
                await_segment(share, group, segment);
                const int64_t end = (group + 1) * ((16 + 31) / 32) / 8;
                for (int64_t iteration = group * ((16 + 31) / 32) / 8; iteration < end; iteration++)
                    T(e8_linear_row_sums_fold)(call, task, share, iteration);
                pass_segment(share, group, segment);
            }
            for (int64_t group = 0; group < 8; group++) {
                await_segment(share, 8 + group, segment);
                const int64_t end = (group + 1) * ((136 + 31) / 32) / 8;
                for (int64_t iteration = group * ((136 + 31) / 32) / 8; iteration < end; iteration++)
                    T(e8_linear_row_sums_fold_2)(call, task, share, iteration);
                pass_segment(share, 8 + group, segment);
            }
            for (int64_t iteration = share->chunk0; iteration < share->chunk1; iteration++)
                T(e8_linear_row_sums_queries)(call, task, share, iteration);
        }
        share->segments += (max(chunks - first, 0) + length - 1) / length;
    }
    synchronise(share);
}

/* Initialises the states: they contain no keys yet. */
TARGET APART void T(e8_linear_dq_begin)(const struct call *call, int64_t task, const struct share *share,
    int64_t iteration)
{
    (void)call;
    (void)task;
    const int64_t f0 = iteration * 32, f1 = min(f0 + 32, 16);
    float *const carried_sum = (float *)(void *)(share->shared + 0); /* [f: 16] */
    float *const carried_sum_compensation = (float *)(void *)(share->shared + 10368); /* [f: 16] */
    float *const carried = (float *)(void *)(share->shared + 64); /* [f: 16, e: 16] */
    float *const carried_compensation = (float *)(void *)(share->shared + 10432); /* [f: 16, e: 16] */
    /* carried_sum = 0.0f; carried_sum_compensation = 0.0f */
    for (int64_t f = f0; f < f1; f += 4) {
        T(store)(carried_sum + f, T(splat)(0.0f));
        T(store)(carried_sum_compensation + f, T(splat)(0.0f));
    }
    /* carried = 0.0f; carried_compensation = 0.0f */
    for (int64_t f = f0; f < f1; f++) {
        for (int64_t e_first = 0; e_first < 16; e_first += 8) {
            UNROLL for (int64_t vector = 0, e = e_first; vector < 2; vector++, e += 4) {
                T(store)(carried + f * 16 + e, T(splat)(0.0f));
                T(store)(carried_compensation + f * 16 + e, T(splat)(0.0f));
            }
        }
    }
}

/* Initialises the states: they contain no keys yet. */
TARGET APART void T(e8_linear_dq_begin_2)(const struct call *call, int64_t task, const struct share *share,
    int64_t iteration)
{
    (void)call;
    (void)task;
    const int64_t f10 = iteration * 32, f11 = min(f10 + 32, 136);
    float *const carried_sum_2 = (float *)(void *)(share->shared + 1088); /* [f1: 136] */
    float *const carried_sum_2_compensation = (float *)(void *)(share->shared + 11456); /* [f1: 136] */
    float *const carried_2 = (float *)(void *)(share->shared + 1664); /* [f1: 136, e: 16] */
    float *const carried_2_compensation = (float *)(void *)(share->shared + 12032); /* [f1: 136, e: 16] */
    /* carried_sum_2 = 0.0f; carried_sum_2_compensation = 0.0f */
    for (int64_t f1 = f10; f1 < f11; f1 += 4) {
        T(store)(carried_sum_2 + f1, T(splat)(0.0f));
        T(store)(carried_sum_2_compensation + f1, T(splat)(0.0f));
    }
    /* carried_2 = 0.0f; carried_2_compensation = 0.0f */
    for (int64_t f1 = f10; f1 < f11; f1++) {
        for (int64_t e_first = 0; e_first < 16; e_first += 8) {
            UNROLL for (int64_t vector = 0, e = e_first; vector < 2; vector++, e += 4) {
                T(store)(carried_2 + f1 * 16 + e, T(splat)(0.0f));
                T(store)(carried_2_compensation + f1 * 16 + e, T(splat)(0.0f));
            }
        }
    }
}

/* Sums the keys of a chunk, from zero, into its slot. */
TARGET APART void T(e8_linear_dq_keys)(const struct call *call, int64_t task, const struct share *share,
    int64_t iteration)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t n_k = call->p.n_k;
    const int64_t chunk = iteration;
    const int64_t chunk0 = share->chunk0;
    const int64_t g = task % kv_heads;
    const int64_t b = task / kv_heads;
    const float *const k = (const float *)call->array[ARRAY_k].at + b * call->array[ARRAY_k].strides.batch + g /
        call->sharing * call->array[ARRAY_k].strides.head;
    const int64_t k_row = call->array[ARRAY_k].strides.row;
    const float *const v = (const float *)call->array[ARRAY_v].at + b * call->array[ARRAY_v].strides.batch + g *
        call->array[ARRAY_v].strides.head;
    const int64_t v_row = call->array[ARRAY_v].strides.row;
    float *const key_features = (float *)(void *)(share->work + 0); /* [d: 16, j: 32] */
    float *const state_sum = (float *)(void *)(share->slots + 0); /* [chunk, f: 16] */
    float *const state = (float *)(void *)(share->slots + 64); /* [chunk, f: 16, e: 16] */
    float *const key_features_2 = (float *)(void *)(share->work + 0); /* [f1: 136, j: 32] */
    float *const state_sum_2 = (float *)(void *)(share->slots + 1088); /* [chunk, f1: 136] */
    float *const state_2 = (float *)(void *)(share->slots + 1664); /* [chunk, f1: 136, e: 16] */
    float *const k_tile = (float *)(void *)(share->work + 17408); /* [d: 16, j: 32] */
    /* state_sum = 0.0f */
    for (int64_t f = 0; f < 16; f += 4) {
        T(store)(state_sum + (chunk - chunk0) * 2592 + f, T(splat)(0.0f));
    }
    /* state_sum_2 = 0.0f */
    for (int64_t f1 = 0; f1 < 136; f1 += 4) {
        T(store)(state_sum_2 + (chunk - chunk0) * 2592 + f1, T(splat)(0.0f));
    }
    for (int64_t j0 = chunk * 32, j_end = min(n_k, (chunk + 1) * 32); j0 < j_end; j0 += 32) {
        const int64_t j1 = min(j0 + 32, j_end);
        /* k_tile = k, with zeros beyond the last row */
        T(transpose_padded)(k + j0 * k_row, k_row, j1 - j0, 16, k_tile, 32, 64);
        /* key_features = select(0.0f < k_tile, k_tile + 1.0f, exp(min(k_tile, 0.0f))) */
        for (int64_t d = 0; d < 16; d++) {
            for (int64_t j = 0; j < j1 - j0; j += 4) {
                const T(vec) k_tile_0 = T(load)(k_tile + d * 32 + j);
                T(store)(key_features + d * 32 + j, T(pick)(0.0f < k_tile_0, k_tile_0 + 1.0f, T(exp)(T(min)(k_tile_0,
                    T(splat)(0.0f)))));
            }
        }
        /* state_sum += key_features */
        for (int64_t f = 0; f < 16; f++) {
            T(vec) lane_sums = T(splat)(0);
            for (int64_t j = 0; j < j1 - j0; j += 4) {
                const T(vec) term = T(load)(key_features + f * 32 + j);
                lane_sums += j + 4 <= j1 - j0 ? term : T(pick)(__builtin_convertvector(j + T(lane) < j1 - j0, T(mask)),
                    term, T(splat)(0));
            }
            const float total = T(lane_sum)(lane_sums);
            state_sum[(chunk - chunk0) * 2592 + f] += total;
        }
        /* state[f][e] = sum over j of key_features * v */
        T(dot0)(j1 - j0, key_features, v + j0 * v_row, v_row, state + (chunk - chunk0) * 2592);
        /* key_features_2 = k_tile * k_tile */
        for (int64_t f1 = 0; f1 < 136; f1++) {
            for (int64_t j = 0; j < j1 - j0; j += 4) {
                T(store)(key_features_2 + f1 * 32 + j, T(load)(k_tile + (f1 % 16) * 32 + j) * T(load)(k_tile + (((f1 %
                    16) + (f1 / 16)) % 16) * 32 + j));
            }
        }
        /* state_sum_2 += key_features_2 */
        for (int64_t f1 = 0; f1 < 136; f1++) {
            T(vec) lane_sums = T(splat)(0);
            for (int64_t j = 0; j < j1 - j0; j += 4) {
                const T(vec) term = T(load)(key_features_2 + f1 * 32 + j);
                lane_sums += j + 4 <= j1 - j0 ? term : T(pick)(__builtin_convertvector(j + T(lane) < j1 - j0, T(mask)),
                    term, T(splat)(0));
            }
            const float total = T(lane_sum)(lane_sums);
            state_sum_2[(chunk - chunk0) * 2592 + f1] += total;
        }
        /* state_2[f1][e] = sum over j of key_features_2 * v */
        T(dot1)(j1 - j0, key_features_2, v + j0 * v_row, v_row, state_2 + (chunk - chunk0) * 2592);
    }
}

/* Folds the slots of the current chunks, in order, for some elements of the states. */
TARGET APART void T(e8_linear_dq_fold)(const struct call *call, int64_t task, const struct share *share,
    int64_t iteration)
{
    (void)call;
    (void)task;
    const int64_t f0 = iteration * 32, f1 = min(f0 + 32, 16);
    const int64_t chunk0 = share->chunk0;
    const int64_t chunk1 = share->chunk1;
    float *const state_sum = (float *)(void *)(share->slots + 0); /* [chunk, f: 16] */
    float *const state = (float *)(void *)(share->slots + 64); /* [chunk, f: 16, e: 16] */
    float *const carried_sum = (float *)(void *)(share->shared + 0); /* [f: 16] */
    float *const carried_sum_compensation = (float *)(void *)(share->shared + 10368); /* [f: 16] */
    float *const carried = (float *)(void *)(share->shared + 64); /* [f: 16, e: 16] */
    float *const carried_compensation = (float *)(void *)(share->shared + 10432); /* [f: 16, e: 16] */
    for (int64_t chunk = chunk0; chunk < chunk1; chunk++) {
        /* before_sum = carried_sum; carried_sum += state_sum; state_sum = before_sum */
        for (int64_t f = f0; f < f1; f += 4) {
            const T(vec) before_sum_new1 = T(load)(carried_sum + f);
            T(add)(carried_sum + f, carried_sum_compensation + f, T(load)(state_sum + (chunk - chunk0) * 2592 + f),
                T(splat)(1));
            T(store)(state_sum + (chunk - chunk0) * 2592 + f, before_sum_new1);
        }
        /* before = carried; carried += state; state = before */
        for (int64_t f = f0; f < f1; f++) {
            for (int64_t e_first = 0; e_first < 16; e_first += 8) {
                UNROLL for (int64_t vector = 0, e = e_first; vector < 2; vector++, e += 4) {
                    const T(vec) before_new2 = T(load)(carried + f * 16 + e);
                    T(add)(carried + f * 16 + e, carried_compensation + f * 16 + e,
                        T(load)(state + (chunk - chunk0) * 2592 + f * 16 + e), T(splat)(1));
                    T(store)(state + (chunk - chunk0) * 2592 + f * 16 + e, before_new2);
                }
            }
        }
    }
}

/* Folds the slots of the current chunks, in order, for some elements of the states. */
TARGET APART void T(e8_linear_dq_fold_2)(const struct call *call, int64_t task, const struct share *share,
    int64_t iteration)
{
    (void)call;
    (void)task;
    const int64_t f10 = iteration * 32, f11 = min(f10 + 32, 136);
    const int64_t chunk0 = share->chunk0;
    const int64_t chunk1 = share->chunk1;
    float *const state_sum_2 = (float *)(void *)(share->slots + 1088); /* [chunk, f1: 136] */
    float *const state_2 = (float *)(void *)(share->slots + 1664); /* [chunk, f1: 136, e: 16] */
    float *const carried_sum_2 = (float *)(void *)(share->shared + 1088); /* [f1: 136] */
    float *const carried_sum_2_compensation = (float *)(void *)(share->shared + 11456); /* [f1: 136] */
    float *const carried_2 = (float *)(void *)(share->shared + 1664); /* [f1: 136, e: 16] */
    float *const carried_2_compensation = (float *)(void *)(share->shared + 12032); /* [f1: 136, e: 16] */
    for (int64_t chunk = chunk0; chunk < chunk1; chunk++) {
        /* before_sum_2 = carried_sum_2; carried_sum_2 += state_sum_2; state_sum_2 = before_sum_2 */
        for (int64_t f1 = f10; f1 < f11; f1 += 4) {
            const T(vec) before_sum_2_new3 = T(load)(carried_sum_2 + f1);
            T(add)(carried_sum_2 + f1, carried_sum_2_compensation + f1,
                T(load)(state_sum_2 + (chunk - chunk0) * 2592 + f1), T(splat)(1));
            T(store)(state_sum_2 + (chunk - chunk0) * 2592 + f1, before_sum_2_new3);
        }
        /* before_2 = carried_2; carried_2 += state_2; state_2 = before_2 */
        for (int64_t f1 = f10; f1 < f11; f1++) {
            for (int64_t e_first = 0; e_first < 16; e_first += 8) {
                UNROLL for (int64_t vector = 0, e = e_first; vector < 2; vector++, e += 4) {
                    const T(vec) before_2_new4 = T(load)(carried_2 + f1 * 16 + e);
                    T(add)(carried_2 + f1 * 16 + e, carried_2_compensation + f1 * 16 + e,
                        T(load)(state_2 + (chunk - chunk0) * 2592 + f1 * 16 + e), T(splat)(1));
                    T(store)(state_2 + (chunk - chunk0) * 2592 + f1 * 16 + e, before_2_new4);
                }
            }
        }
    }
}

/* Processes the queries of a chunk: reads the state before the chunk, and the keys in the chunk. */
TARGET APART void T(e8_linear_dq_queries)(const struct call *call, int64_t task, const struct share *share,
    int64_t iteration)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_q = call->p.n_q;
    const int64_t n_k = call->p.n_k;
    const int64_t chunk = iteration;
    const int64_t chunk0 = share->chunk0;
    const int64_t g = task % kv_heads;
    const int64_t b = task / kv_heads;
    const int64_t query_start = call->p.query_start ? call->p.query_start[b] : n_k - n_q;
    const float *const q = (const float *)call->array[ARRAY_q].at + b * call->array[ARRAY_q].strides.batch + g /
        call->sharing * members * call->array[ARRAY_q].strides.head;
    const int64_t q_row = call->array[ARRAY_q].strides.row;
    const int64_t q_head = call->array[ARRAY_q].strides.head;
    const float *const k = (const float *)call->array[ARRAY_k].at + b * call->array[ARRAY_k].strides.batch + g /
        call->sharing * call->array[ARRAY_k].strides.head;
    const int64_t k_row = call->array[ARRAY_k].strides.row;
    const float *const v = (const float *)call->array[ARRAY_v].at + b * call->array[ARRAY_v].strides.batch + g *
        call->array[ARRAY_v].strides.head;
    const int64_t v_row = call->array[ARRAY_v].strides.row;
    const float *const dout = (const float *)call->array[ARRAY_dout].at + b * call->array[ARRAY_dout].strides.batch + g
        * members * call->array[ARRAY_dout].strides.head;
    const int64_t dout_row = call->array[ARRAY_dout].strides.row;
    const int64_t dout_head = call->array[ARRAY_dout].strides.head;
    const float *const saved_0 = (const float *)call->array[ARRAY_saved_0].at + (b * call->p.heads + g * members) *
        call->p.n_q;
    const int64_t saved_0_head = call->p.n_q;
    const float *const row_0 = (const float *)call->array[ARRAY_row_0].at + (b * call->p.heads + g * members) *
        call->p.n_q;
    const int64_t row_0_head = call->p.n_q;
    const float *const saved_1 = (const float *)call->array[ARRAY_saved_1].at + (b * call->p.heads + g * members) *
        call->p.n_q;
    const int64_t saved_1_head = call->p.n_q;
    const float *const row_1 = (const float *)call->array[ARRAY_row_1].at + (b * call->p.heads + g * members) *
        call->p.n_q;
    const int64_t row_1_head = call->p.n_q;
    float *const state_sum = (float *)(void *)(share->slots + 0); /* [chunk, f: 16] */
    float *const state = (float *)(void *)(share->slots + 64); /* [chunk, f: 16, e: 16] */
    float *const state_sum_2 = (float *)(void *)(share->slots + 1088); /* [chunk, f1: 136] */
    float *const state_2 = (float *)(void *)(share->slots + 1664); /* [chunk, f1: 136, e: 16] */
    float *const query_features = (float *)(void *)(share->work + 0); /* [d: 16, i: 32] */
    float *const score = (float *)(void *)(share->work + 2048); /* [j: 32, i: 32] */
    float *const query_features_2 = (float *)(void *)(share->work + 6144); /* [e: 16, i: 32] */
    float *const score_2 = (float *)(void *)(share->work + 8192); /* [j: 32, i: 32] */
    float *const sum_from_state = (float *)(void *)(share->work + 8192); /* [f1: 136, i: 32] */
    float *const query_sum = (float *)(void *)(share->work + 25600); /* [d: 16, i: 32] */
    float *const query_sum_2 = (float *)(void *)(share->work + 27648); /* [d: 16, i: 32] */
    float *const sum = (float *)(void *)(share->work + 12288); /* [d: 16, i: 32] */
    float *const sum_compensation = (float *)(void *)(share->work + 14336); /* [d: 16, i: 32] */
    float *const sum_from_state_2 = (float *)(void *)(share->work + 16384); /* [f: 16, i: 32] */
    float *const query_3 = (float *)(void *)(share->work + 18432); /* [f: 16, i: 32] */
    float *const dq = call->array[ARRAY_dq].at ? (float *)call->array[ARRAY_dq].at + b *
        call->array[ARRAY_dq].strides.batch + g * members * call->array[ARRAY_dq].strides.head : NULL;
    const int64_t dq_row = call->array[ARRAY_dq].strides.row;
    const int64_t dq_head = call->array[ARRAY_dq].strides.head;
    float *const q_tile = (float *)(void *)(share->work + 29696); /* [d: 16, i: 32] */
    float *const dout_tile = (float *)(void *)(share->work + 2048); /* [e: 16, i: 32] */
    float *const saved_0_tile = (float *)(void *)(share->work + 0); /* [i: 32] */
    float *const row_0_tile = (float *)(void *)(share->work + 31744); /* [i: 32] */
    float *const saved_1_tile = (float *)(void *)(share->work + 4096); /* [i: 32] */
    float *const row_1_tile = (float *)(void *)(share->work + 4224); /* [i: 32] */
    for (int64_t m = 0; m < members; m++) {
        for (int64_t i0 = (chunk == 0) ? 0 : max(0, (chunk * 32) - query_start), i_end = min(n_q,
            ((chunk + 1) * 32) - query_start); i0 < i_end; i0 += 32) {
            const int64_t i1 = min(i0 + 32, i_end);
            /* q_tile = q, with zeros beyond the last row */
            T(transpose_padded)(q + m * q_head + i0 * q_row, q_row, i1 - i0, 16, q_tile, 32, 64);
            /* dout_tile = dout, with zeros beyond the last row */
            T(transpose_padded)(dout + m * dout_head + i0 * dout_row, dout_row, i1 - i0, 16, dout_tile, 32, 64);
            /* saved_0_tile = saved_0, with zeros beyond the last row */
            for (int64_t i = 0; i < round_up(i1 - i0, 4); i++)
                saved_0_tile[i] = i < i1 - i0 ? saved_0[m * saved_0_head + (i0 + i)] : 0;
            /* row_0_tile = row_0, with zeros beyond the last row */
            for (int64_t i = 0; i < round_up(i1 - i0, 4); i++)
                row_0_tile[i] = i < i1 - i0 ? row_0[m * row_0_head + (i0 + i)] : 0;
            /* saved_1_tile = saved_1, with zeros beyond the last row */
            for (int64_t i = 0; i < round_up(i1 - i0, 4); i++)
                saved_1_tile[i] = i < i1 - i0 ? saved_1[m * saved_1_head + (i0 + i)] : 0;
            /* row_1_tile = row_1, with zeros beyond the last row */
            for (int64_t i = 0; i < round_up(i1 - i0, 4); i++)
                row_1_tile[i] = i < i1 - i0 ? row_1[m * row_1_head + (i0 + i)] : 0;
            /* query_features_2 = dout_tile * saved_0_tile */
            for (int64_t i = 0; i < i1 - i0; i += 4) {
                const T(vec) saved_0_tile_5 = T(load)(saved_0_tile + i);
                for (int64_t e = 0; e < 16; e++) {
                    T(store)(query_features_2 + e * 32 + i, T(load)(dout_tile + e * 32 + i) * saved_0_tile_5);
                }
            }
            /* sum_from_state[f1][i] = sum over e of state_2 * query_features_2 */
            T(dot10)(round_up(i1 - i0, 4), state_2 + (chunk - chunk0) * 2592, query_features_2, sum_from_state);
            /* sum_from_state = sum_from_state + (row_0_tile * state_sum_2) */
            for (int64_t i = 0; i < i1 - i0; i += 4) {
                const T(vec) row_0_tile_6 = T(load)(row_0_tile + i);
                for (int64_t f1 = 0; f1 < 136; f1++) {
                    T(store)(sum_from_state + f1 * 32 + i, T(load)(sum_from_state + f1 * 32 + i) + (row_0_tile_6 *
                        (state_sum_2[(chunk - chunk0) * 2592 + f1])));
                }
            }
            /* query_features = q_tile * 2.0f; query_sum = 0.0f */
            for (int64_t d = 0; d < 16; d++) {
                for (int64_t i = 0; i < i1 - i0; i += 4) {
                    T(store)(query_features + d * 32 + i, T(load)(q_tile + d * 32 + i) * 2.0f);
                    T(store)(query_sum + d * 32 + i, T(splat)(0.0f));
                }
            }
            /* query_sum_2 = 0.0f */
            for (int64_t d = 0; d < 16; d++) {
                for (int64_t i = 0; i < i1 - i0; i += 4) {
                    T(store)(query_sum_2 + d * 32 + i, T(splat)(0.0f));
                }
            }
            /* query_sum += select(((t9 * 16) + d) < 136, sum_from_state * (q_tile * select(t9 == 0, 1.0f, 2.0f)),
               0.0f); query_sum_2 += select ... */
            for (int64_t i = 0; i < i1 - i0; i += 4) {
                for (int64_t d = 0; d < 16; d++) {
                    T(vec) query_sum_in = (T(vec)){0};
                    T(vec) query_sum_2_in = (T(vec)){0};
                    for (int64_t t9 = 0; t9 < 9; t9++) {
                        const double t_7 = (t9 == 0) ? 1.0 : 2.0;
                        query_sum_in += (((t9 * 16) + d) < 136) ? T(load)(sum_from_state + min((t9 * 16) + d,
                            135) * 32 + i) * (T(load)(q_tile + ((d + t9) % 16) * 32 + i) * (float)t_7) : T(splat)(0.0f);
                        query_sum_2_in += (((t9 * 16) + floor_mod(d - t9,
                            16)) < 136) ? T(load)(sum_from_state + min((t9 * 16) + floor_mod(d - t9, 16),
                            135) * 32 + i) * (T(load)(q_tile + floor_mod(d - t9,
                            16) * 32 + i) * (float)t_7) : T(splat)(0.0f);
                    }
                    T(store)(query_sum + d * 32 + i, T(load)(query_sum + d * 32 + i) + query_sum_in);
                    T(store)(query_sum_2 + d * 32 + i, T(load)(query_sum_2 + d * 32 + i) + query_sum_2_in);
                }
            }
            /* sum = 0.0f; sum_compensation = 0.0f */
            for (int64_t d = 0; d < 16; d++) {
                for (int64_t i = 0; i < i1 - i0; i += 4) {
                    T(store)(sum + d * 32 + i, T(splat)(0.0f));
                    T(store)(sum_compensation + d * 32 + i, T(splat)(0.0f));
                }
            }
            /* dout_tile = (dout_tile * -1.0f) * saved_1_tile */
            for (int64_t i = 0; i < i1 - i0; i += 4) {
                const T(vec) saved_1_tile_8 = T(load)(saved_1_tile + i);
                for (int64_t e = 0; e < 16; e++) {
                    T(store)(dout_tile + e * 32 + i, (T(load)(dout_tile + e * 32 + i) * (-1.0f)) * saved_1_tile_8);
                }
            }
            /* sum_from_state_2[f][i] = sum over e of state * dout_tile */
            T(dot11)(round_up(i1 - i0, 4), state + (chunk - chunk0) * 2592, dout_tile, sum_from_state_2);
            /* query_3 = row_1_tile * state_sum */
            for (int64_t i = 0; i < i1 - i0; i += 4) {
                const T(vec) row_1_tile_9 = T(load)(row_1_tile + i);
                for (int64_t f = 0; f < 16; f++) {
                    T(store)(query_3 + f * 32 + i, row_1_tile_9 * (state_sum[(chunk - chunk0) * 2592 + f]));
                }
            }
            for (int64_t j0 = max(0, chunk * 32), j_end = min(n_k, i1 + query_start); j0 < j_end; j0 += 32) {
                const int64_t j1 = min(j0 + 32, j_end);
                /* score[j][i] = sum over d of k * query_features */
                T(dot9)(round_up(i1 - i0, 4), j1 - j0, k + j0 * k_row, k_row, query_features, score);
                /* score_2[j][i] = sum over e of v * query_features_2 */
                T(dot4)(round_up(i1 - i0, 4), j1 - j0, v + j0 * v_row, v_row, query_features_2, score_2, k + j0 * k_row,
                    k_row);
                /* score_2 = (score_2 + row_0_tile) * score */
                for (int64_t i = 0; i < i1 - i0; i += 4) {
                    const T(vec) row_0_tile_10 = T(load)(row_0_tile + i);
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        T(store)(score_2 + j * 32 + i, (T(load)(score_2 + j * 32 + i) + row_0_tile_10) * T(load)(score +
                            j * 32 + i));
                    }
                }
                if ((j0 < (chunk * 32)) || ((i0 + query_start + 1) < j1)) { /* the tile is partly outside the mask */
                    /* score_2 = select((j <= (i + query_start)) && ((chunk * 32) <= j), score_2, 0.0f) */
                    for (int64_t i = 0; i < i1 - i0; i += 4) {
                        const T(ints) t_11 = (i0 + i + T(lane)) + query_start;
                        for (int64_t j = 0; j < j1 - j0; j++) {
                            T(store)(score_2 + j * 32 + i, T(pick)(__builtin_convertvector(((j0 + j) <= t_11) &
                                (-(int64_t)((chunk * 32) <= (j0 + j))), T(mask)), T(load)(score_2 + j * 32 + i),
                                T(splat)(0.0f)));
                        }
                    }
                }
                /* sum[d][i] += sum over j of k * score_2 */
                if (__builtin_expect(((j0 < (chunk * 32)) || ((i0 + query_start + 1) < j1)) && !T(finite)(k + j0 *
                    k_row, k_row, j1 - j0, 16), 0)) { /* infinity and NaN affect only queries that see them */
                    T(dot5)(round_up(i1 - i0, 4), j1 - j0, k + j0 * k_row, k_row, score_2, sum, sum_compensation);
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        T(mask) in_region[8] = {0};
                        if (T(finite)(k + j0 * k_row + j * k_row, 1, 16, 1)) continue;
                        const int t_12 = (chunk * 32) <= (j0 + j);
                        for (int64_t i = 0; i < i1 - i0; i += 4) {
                            in_region[i / 4] = __builtin_convertvector(((j0 + j) <= ((i0 + i + T(lane)) + query_start))
                                & (-(int64_t)t_12), T(mask));
                        }
                        T(add_seen)(16, sum, 32, k + j0 * k_row + j * k_row, 1, score_2 + j * 32, in_region, i1 - i0);
                    }
                } else
                    T(dot6)(round_up(i1 - i0, 4), j1 - j0, k + j0 * k_row, k_row, score_2, sum, sum_compensation);
            }
            /* q_tile = ((query_sum + query_sum_2) + sum) + ((sum_from_state_2 + query_3) * select(0.0f < q_tile, 1.0f,
               select(0.0f < q_tile, q ... */
            for (int64_t d = 0; d < 16; d++) {
                for (int64_t i = 0; i < i1 - i0; i += 4) {
                    const T(vec) q_tile_13 = T(load)(q_tile + d * 32 + i);
                    const T(mask) t_14 = 0.0f < q_tile_13;
                    T(store)(q_tile + d * 32 + i, ((T(load)(query_sum + d * 32 + i) + T(load)(query_sum_2 + d * 32 + i))
                        + T(load)(sum + d * 32 + i)) + ((T(load)(sum_from_state_2 + d * 32 + i) + T(load)(query_3 + d *
                        32 + i)) * T(pick)(t_14, T(splat)(1.0f), T(pick)(t_14, q_tile_13 + 1.0f,
                        T(exp)(T(min)(q_tile_13, T(splat)(0.0f)))))));
                }
            }
            if (dq) {
                /* dq = q_tile, transposed back */
                T(transpose_out)(q_tile, 32, 16, i1 - i0, dq + m * dq_head + i0 * dq_row, dq_row, 64);
            }
        }
    }
}

/* For a thread that works on the head alone: adds a chunk to the carried state. */
TARGET APART void T(e8_linear_dq_keys_alone)(const struct call *call, int64_t task, const struct share *share,
    int64_t iteration)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t n_k = call->p.n_k;
    const int64_t chunk = iteration;
    const int64_t chunk0 = share->chunk0;
    const int64_t g = task % kv_heads;
    const int64_t b = task / kv_heads;
    const float *const k = (const float *)call->array[ARRAY_k].at + b * call->array[ARRAY_k].strides.batch + g /
        call->sharing * call->array[ARRAY_k].strides.head;
    const int64_t k_row = call->array[ARRAY_k].strides.row;
    const float *const v = (const float *)call->array[ARRAY_v].at + b * call->array[ARRAY_v].strides.batch + g *
        call->array[ARRAY_v].strides.head;
    const int64_t v_row = call->array[ARRAY_v].strides.row;
    float *const key_features = (float *)(void *)(share->work + 0); /* [d: 16, j: 32] */
    float *const state_sum = (float *)(void *)(share->slots + 0); /* [chunk, f: 16] */
    float *const key_features_2 = (float *)(void *)(share->work + 0); /* [f1: 136, j: 32] */
    float *const state_sum_2 = (float *)(void *)(share->slots + 1088); /* [chunk, f1: 136] */
    float *const carried = (float *)(void *)(share->shared + 64); /* [f: 16, e: 16] */
    float *const carried_compensation = (float *)(void *)(share->shared + 10432); /* [f: 16, e: 16] */
    float *const carried_2 = (float *)(void *)(share->shared + 1664); /* [f1: 136, e: 16] */
    float *const carried_2_compensation = (float *)(void *)(share->shared + 12032); /* [f1: 136, e: 16] */
    float *const k_tile = (float *)(void *)(share->work + 17408); /* [d: 16, j: 32] */
    /* state_sum = 0.0f */
    for (int64_t f = 0; f < 16; f += 4) {
        T(store)(state_sum + (chunk - chunk0) * 2592 + f, T(splat)(0.0f));
    }
    /* state_sum_2 = 0.0f */
    for (int64_t f1 = 0; f1 < 136; f1 += 4) {
        T(store)(state_sum_2 + (chunk - chunk0) * 2592 + f1, T(splat)(0.0f));
    }
    for (int64_t j0 = chunk * 32, j_end = min(n_k, (chunk + 1) * 32); j0 < j_end; j0 += 32) {
        const int64_t j1 = min(j0 + 32, j_end);
        /* k_tile = k, with zeros beyond the last row */
        T(transpose_padded)(k + j0 * k_row, k_row, j1 - j0, 16, k_tile, 32, 64);
        /* key_features = select(0.0f < k_tile, k_tile + 1.0f, exp(min(k_tile, 0.0f))) */
        for (int64_t d = 0; d < 16; d++) {
            for (int64_t j = 0; j < j1 - j0; j += 4) {
                const T(vec) k_tile_15 = T(load)(k_tile + d * 32 + j);
                T(store)(key_features + d * 32 + j, T(pick)(0.0f < k_tile_15, k_tile_15 + 1.0f, T(exp)(T(min)(k_tile_15,
                    T(splat)(0.0f)))));
            }
        }
        /* state_sum += key_features */
        for (int64_t f = 0; f < 16; f++) {
            T(vec) lane_sums = T(splat)(0);
            for (int64_t j = 0; j < j1 - j0; j += 4) {
                const T(vec) term = T(load)(key_features + f * 32 + j);
                lane_sums += j + 4 <= j1 - j0 ? term : T(pick)(__builtin_convertvector(j + T(lane) < j1 - j0, T(mask)),
                    term, T(splat)(0));
            }
            const float total = T(lane_sum)(lane_sums);
            state_sum[(chunk - chunk0) * 2592 + f] += total;
        }
        /* carried[f][e] += sum over j of key_features * v */
        T(dot7)(j1 - j0, key_features, v + j0 * v_row, v_row, carried, carried_compensation);
        /* key_features_2 = k_tile * k_tile */
        for (int64_t f1 = 0; f1 < 136; f1++) {
            for (int64_t j = 0; j < j1 - j0; j += 4) {
                T(store)(key_features_2 + f1 * 32 + j, T(load)(k_tile + (f1 % 16) * 32 + j) * T(load)(k_tile + (((f1 %
                    16) + (f1 / 16)) % 16) * 32 + j));
            }
        }
        /* state_sum_2 += key_features_2 */
        for (int64_t f1 = 0; f1 < 136; f1++) {
            T(vec) lane_sums = T(splat)(0);
            for (int64_t j = 0; j < j1 - j0; j += 4) {
                const T(vec) term = T(load)(key_features_2 + f1 * 32 + j);
                lane_sums += j + 4 <= j1 - j0 ? term : T(pick)(__builtin_convertvector(j + T(lane) < j1 - j0, T(mask)),
                    term, T(splat)(0));
            }
            const float total = T(lane_sum)(lane_sums);
            state_sum_2[(chunk - chunk0) * 2592 + f1] += total;
        }
        /* carried_2[f1][e] += sum over j of key_features_2 * v */
        T(dot8)(j1 - j0, key_features_2, v + j0 * v_row, v_row, carried_2, carried_2_compensation);
    }
}

/* Adds to the carried state the sums that no product computes. */
TARGET APART void T(e8_linear_dq_fold_alone)(const struct call *call, int64_t task, const struct share *share,
    int64_t iteration)
{
    (void)call;
    (void)task;
    const int64_t f0 = iteration * 32, f1 = min(f0 + 32, 16);
    const int64_t chunk0 = share->chunk0;
    const int64_t chunk1 = share->chunk1;
    float *const state_sum = (float *)(void *)(share->slots + 0); /* [chunk, f: 16] */
    float *const carried_sum = (float *)(void *)(share->shared + 0); /* [f: 16] */
    float *const carried_sum_compensation = (float *)(void *)(share->shared + 10368); /* [f: 16] */
    for (int64_t chunk = chunk0; chunk < chunk1; chunk++) {
        /* carried_sum += state_sum */
        for (int64_t f = f0; f < f1; f += 4) {
            T(add)(carried_sum + f, carried_sum_compensation + f, T(load)(state_sum + (chunk - chunk0) * 2592 + f),
                T(splat)(1));
        }
    }
}

/* Adds to the carried state the sums that no product computes. */
TARGET APART void T(e8_linear_dq_fold_alone_2)(const struct call *call, int64_t task, const struct share *share,
    int64_t iteration)
{
    (void)call;
    (void)task;
    const int64_t f10 = iteration * 32, f11 = min(f10 + 32, 136);
    const int64_t chunk0 = share->chunk0;
    const int64_t chunk1 = share->chunk1;
    float *const state_sum_2 = (float *)(void *)(share->slots + 1088); /* [chunk, f1: 136] */
    float *const carried_sum_2 = (float *)(void *)(share->shared + 1088); /* [f1: 136] */
    float *const carried_sum_2_compensation = (float *)(void *)(share->shared + 11456); /* [f1: 136] */
    for (int64_t chunk = chunk0; chunk < chunk1; chunk++) {
        /* carried_sum_2 += state_sum_2 */
        for (int64_t f1 = f10; f1 < f11; f1 += 4) {
            T(add)(carried_sum_2 + f1, carried_sum_2_compensation + f1,
                T(load)(state_sum_2 + (chunk - chunk0) * 2592 + f1), T(splat)(1));
        }
    }
}

/* Computes head number `task`. Each thread on the head calls this with `share`. */
TARGET static void T(e8_linear_dq)(const struct call *call, int64_t task, struct share *share)
{
    const int64_t n_k = call->p.n_k;
    const int64_t chunks = n_k > 0 ? (n_k - 1) / 32 + 1 : 1;
    for (int64_t iteration = share->number; iteration < ((16 + 31) / 32); iteration += share->threads)
        T(e8_linear_dq_begin)(call, task, share, iteration);
    synchronise(share);
    for (int64_t iteration = share->number; iteration < ((136 + 31) / 32); iteration += share->threads)
        T(e8_linear_dq_begin_2)(call, task, share, iteration);
    synchronise(share);
    const int64_t first = 0;
    if (share->threads == 1) { /* queries read the carried state before their chunk is added */
        unsigned char *const slots = share->slots;
        for (share->chunk0 = first; share->chunk0 < chunks; share->chunk0++) {
            share->chunk1 = share->chunk0 + 1;
            share->slots = share->shared;
            T(e8_linear_dq_queries)(call, task, share, share->chunk0);
            share->slots = slots;
            T(e8_linear_dq_keys_alone)(call, task, share, share->chunk0);
            for (int64_t iteration = 0; iteration < ((16 + 31) / 32); iteration++)
                T(e8_linear_dq_fold_alone)(call, task, share, iteration);
            for (int64_t iteration = 0; iteration < ((136 + 31) / 32); iteration++)
                T(e8_linear_dq_fold_alone_2)(call, task, share, iteration);
        }
    } else {
        const int64_t length = segment_length(share, chunks - first);
        for (int64_t segment = share->number; first + segment * length < chunks; segment += share->threads) {
            share->chunk0 = first + segment * length;
            share->chunk1 = min(share->chunk0 + length, chunks);
            for (int64_t iteration = share->chunk0; iteration < share->chunk1; iteration++)
                T(e8_linear_dq_keys)(call, task, share, iteration);
            for (int64_t group = 0; group < 8; group++) {
                await_segment(share, group, segment);
                const int64_t end = (group + 1) * ((16 + 31) / 32) / 8;
                for (int64_t iteration = group * ((16 + 31) / 32) / 8; iteration < end; iteration++)
                    T(e8_linear_dq_fold)(call, task, share, iteration);
                pass_segment(share, group, segment);
            }
            for (int64_t group = 0; group < 8; group++) {
                await_segment(share, 8 + group, segment);
                const int64_t end = (group + 1) * ((136 + 31) / 32) / 8;
                for (int64_t iteration = group * ((136 + 31) / 32) / 8; iteration < end; iteration++)
                    T(e8_linear_dq_fold_2)(call, task, share, iteration);
                pass_segment(share, 8 + group, segment);
            }
            for (int64_t iteration = share->chunk0; iteration < share->chunk1; iteration++)
                T(e8_linear_dq_queries)(call, task, share, iteration);
        }
        share->segments += (max(chunks - first, 0) + length - 1) / length;
    }
    synchronise(share);
}

/* Initialises the states: they contain no queries yet. */
TARGET APART void T(e8_linear_dk_dv_begin)(const struct call *call, int64_t task, const struct share *share,
    int64_t iteration)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t f0 = iteration * 32, f1 = min(f0 + 32, 16);
    const int64_t g = task % kv_heads;
    const int64_t b = task / kv_heads;
    float *const carried_3 = (float *)(void *)(share->shared + 0); /* [f: 16, e: 16] */
    float *const carried_3_compensation = (float *)(void *)(share->shared + 10368); /* [f: 16, e: 16] */
    float *const carried_4 = (float *)(void *)(share->shared + 1024); /* [f: 16] */
    float *const carried_4_compensation = (float *)(void *)(share->shared + 11392); /* [f: 16] */
    float *const dk = call->array[ARRAY_dk].at ? (float *)call->array[ARRAY_dk].at + b *
        call->array[ARRAY_dk].strides.batch + g * call->array[ARRAY_dk].strides.head : NULL;
    /* carried_3 = 0.0f; carried_3_compensation = 0.0f */
    for (int64_t f = f0; f < f1; f++) {
        for (int64_t e_first = 0; e_first < 16; e_first += 8) {
            UNROLL for (int64_t vector = 0, e = e_first; vector < 2; vector++, e += 4) {
                T(store)(carried_3 + f * 16 + e, T(splat)(0.0f));
                T(store)(carried_3_compensation + f * 16 + e, T(splat)(0.0f));
            }
        }
    }
    if (dk) {
        /* carried_4 = 0.0f; carried_4_compensation = 0.0f */
        for (int64_t f = f0; f < f1; f += 4) {
            T(store)(carried_4 + f, T(splat)(0.0f));
            T(store)(carried_4_compensation + f, T(splat)(0.0f));
        }
    }
}

/* Initialises the states: they contain no queries yet. */
TARGET APART void T(e8_linear_dk_dv_begin_2)(const struct call *call, int64_t task, const struct share *share,
    int64_t iteration)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t f10 = iteration * 32, f11 = min(f10 + 32, 136);
    const int64_t g = task % kv_heads;
    const int64_t b = task / kv_heads;
    float *const carried = (float *)(void *)(share->shared + 1088); /* [f1: 136, e: 16] */
    float *const carried_compensation = (float *)(void *)(share->shared + 11456); /* [f1: 136, e: 16] */
    float *const carried_2 = (float *)(void *)(share->shared + 9792); /* [f1: 136] */
    float *const carried_2_compensation = (float *)(void *)(share->shared + 20160); /* [f1: 136] */
    float *const dk = call->array[ARRAY_dk].at ? (float *)call->array[ARRAY_dk].at + b *
        call->array[ARRAY_dk].strides.batch + g * call->array[ARRAY_dk].strides.head : NULL;
    /* carried = 0.0f; carried_compensation = 0.0f */
    for (int64_t f1 = f10; f1 < f11; f1++) {
        for (int64_t e_first = 0; e_first < 16; e_first += 8) {
            UNROLL for (int64_t vector = 0, e = e_first; vector < 2; vector++, e += 4) {
                T(store)(carried + f1 * 16 + e, T(splat)(0.0f));
                T(store)(carried_compensation + f1 * 16 + e, T(splat)(0.0f));
            }
        }
    }
    if (dk) {
        /* carried_2 = 0.0f; carried_2_compensation = 0.0f */
        for (int64_t f1 = f10; f1 < f11; f1 += 4) {
            T(store)(carried_2 + f1, T(splat)(0.0f));
            T(store)(carried_2_compensation + f1, T(splat)(0.0f));
        }
    }
}

/* Sums the queries of a chunk, from zero, into its slot. */
TARGET APART void T(e8_linear_dk_dv_queries)(const struct call *call, int64_t task, const struct share *share,
    int64_t iteration)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_q = call->p.n_q;
    const int64_t n_k = call->p.n_k;
    const int64_t chunks = n_k > 0 ? (n_k - 1) / 32 + 1 : 1;
    const int64_t chunk = iteration;
    const int64_t chunk0 = share->chunk0;
    const int64_t g = task % kv_heads;
    const int64_t b = task / kv_heads;
    const int64_t query_start = call->p.query_start ? call->p.query_start[b] : n_k - n_q;
    const float *const q = (const float *)call->array[ARRAY_q].at + b * call->array[ARRAY_q].strides.batch + g /
        call->sharing * members * call->array[ARRAY_q].strides.head;
    const int64_t q_row = call->array[ARRAY_q].strides.row;
    const int64_t q_head = call->array[ARRAY_q].strides.head;
    const float *const dout = (const float *)call->array[ARRAY_dout].at + b * call->array[ARRAY_dout].strides.batch + g
        * members * call->array[ARRAY_dout].strides.head;
    const int64_t dout_row = call->array[ARRAY_dout].strides.row;
    const int64_t dout_head = call->array[ARRAY_dout].strides.head;
    const float *const saved_0 = (const float *)call->array[ARRAY_saved_0].at + (b * call->p.heads + g * members) *
        call->p.n_q;
    const int64_t saved_0_head = call->p.n_q;
    const float *const row_0 = (const float *)call->array[ARRAY_row_0].at + (b * call->p.heads + g * members) *
        call->p.n_q;
    const int64_t row_0_head = call->p.n_q;
    const float *const saved_1 = (const float *)call->array[ARRAY_saved_1].at + (b * call->p.heads + g * members) *
        call->p.n_q;
    const int64_t saved_1_head = call->p.n_q;
    const float *const row_1 = (const float *)call->array[ARRAY_row_1].at + (b * call->p.heads + g * members) *
        call->p.n_q;
    const int64_t row_1_head = call->p.n_q;
    float *const key_features = (float *)(void *)(share->work + 0); /* [d: 16, i: 32] */
    float *const key_features_2 = (float *)(void *)(share->work + 2048); /* [f1: 136, i: 32] */
    float *const key_features_3 = (float *)(void *)(share->work + 19456); /* [i: 32, e: 16] */
    float *const state = (float *)(void *)(share->slots + 0); /* [chunk, f1: 136, e: 16] */
    float *const state_2 = (float *)(void *)(share->slots + 8704); /* [chunk, f1: 136] */
    float *const key_features_4 = (float *)(void *)(share->work + 2048); /* [i: 32, e: 16] */
    float *const state_3 = (float *)(void *)(share->slots + 9280); /* [chunk, f: 16, e: 16] */
    float *const state_4 = (float *)(void *)(share->slots + 10304); /* [chunk, f: 16] */
    float *const dk = call->array[ARRAY_dk].at ? (float *)call->array[ARRAY_dk].at + b *
        call->array[ARRAY_dk].strides.batch + g * call->array[ARRAY_dk].strides.head : NULL;
    float *const q_tile = (float *)(void *)(share->work + 19456); /* [d: 16, i: 32] */
    float *const row_0_tile = (float *)(void *)(share->work + 21504); /* [i: 32] */
    float *const row_1_tile = (float *)(void *)(share->work + 21632); /* [i: 32] */
    /* state = 0.0f */
    for (int64_t f1 = 0; f1 < 136; f1++) {
        for (int64_t e_first = 0; e_first < 16; e_first += 8) {
            UNROLL for (int64_t vector = 0, e = e_first; vector < 2; vector++, e += 4) {
                T(store)(state + (chunk - chunk0) * 2592 + f1 * 16 + e, T(splat)(0.0f));
            }
        }
    }
    if (dk) {
        /* state_2 = 0.0f */
        for (int64_t f1 = 0; f1 < 136; f1 += 4) {
            T(store)(state_2 + (chunk - chunk0) * 2592 + f1, T(splat)(0.0f));
        }
    }
    /* state_3 = 0.0f */
    for (int64_t f = 0; f < 16; f++) {
        for (int64_t e_first = 0; e_first < 16; e_first += 8) {
            UNROLL for (int64_t vector = 0, e = e_first; vector < 2; vector++, e += 4) {
                T(store)(state_3 + (chunk - chunk0) * 2592 + f * 16 + e, T(splat)(0.0f));
            }
        }
    }
    if (dk) {
        /* state_4 = 0.0f */
        for (int64_t f = 0; f < 16; f += 4) {
            T(store)(state_4 + (chunk - chunk0) * 2592 + f, T(splat)(0.0f));
        }
    }
    for (int64_t m = 0; m < members; m++) {
        for (int64_t i0 = ((chunks - chunk - 1) == 0) ? 0 : max(0, ((chunks - chunk - 1) * 32) - query_start),
            i_end = min(n_q, ((chunks - chunk) * 32) - query_start); i0 < i_end; i0 += 32) {
            const int64_t i1 = min(i0 + 32, i_end);
            /* q_tile = q, with zeros beyond the last row */
            T(transpose_padded)(q + m * q_head + i0 * q_row, q_row, i1 - i0, 16, q_tile, 32, 64);
            if (dk) {
                /* row_0_tile = row_0, with zeros beyond the last row */
                for (int64_t i = 0; i < round_up(i1 - i0, 4); i++)
                    row_0_tile[i] = i < i1 - i0 ? row_0[m * row_0_head + (i0 + i)] : 0;
                /* row_1_tile = row_1, with zeros beyond the last row */
                for (int64_t i = 0; i < round_up(i1 - i0, 4); i++)
                    row_1_tile[i] = i < i1 - i0 ? row_1[m * row_1_head + (i0 + i)] : 0;
            }
            /* key_features = select(0.0f < q_tile, q_tile + 1.0f, exp(min(q_tile, 0.0f))) */
            for (int64_t d = 0; d < 16; d++) {
                for (int64_t i = 0; i < i1 - i0; i += 4) {
                    const T(vec) q_tile_0 = T(load)(q_tile + d * 32 + i);
                    T(store)(key_features + d * 32 + i, T(pick)(0.0f < q_tile_0, q_tile_0 + 1.0f,
                        T(exp)(T(min)(q_tile_0, T(splat)(0.0f)))));
                }
            }
            /* key_features_2 = (q_tile * q_tile) * select((f1 / 16) == 0, 1.0f, 2.0f) */
            for (int64_t f1 = 0; f1 < 136; f1++) {
                for (int64_t i = 0; i < i1 - i0; i += 4) {
                    T(store)(key_features_2 + f1 * 32 + i, (T(load)(q_tile + (f1 % 16) * 32 + i) * T(load)(q_tile +
                        (((f1 % 16) + (f1 / 16)) % 16) * 32 + i)) * (float)(((f1 / 16) == 0) ? 1.0 : 2.0));
                }
            }
            /* key_features_3 = dout * saved_0 */
            for (int64_t i = 0; i < i1 - i0; i++) {
                for (int64_t e_first = 0; e_first < 16; e_first += 8) {
                    UNROLL for (int64_t vector = 0, e = e_first; vector < 2; vector++, e += 4) {
                        T(store)(key_features_3 + i * 16 + e, T(load)(dout + m * dout_head + (i0 + i) * dout_row + e) *
                            (saved_0[m * saved_0_head + (i0 + i)]));
                    }
                }
            }
            /* state[f1][e] += sum over i of key_features_2 * key_features_3 */
            T(dot12)(i1 - i0, key_features_2, key_features_3, state + (chunk - chunk0) * 2592);
            if (dk) {
                /* state_2 += key_features_2 * row_0_tile */
                for (int64_t f1 = 0; f1 < 136; f1++) {
                    T(vec) lane_sums = T(splat)(0);
                    for (int64_t i = 0; i < i1 - i0; i += 4) {
                        const T(vec) row_0_tile_1 = T(load)(row_0_tile + i);
                        const T(vec) term = T(load)(key_features_2 + f1 * 32 + i) * row_0_tile_1;
                        lane_sums += i + 4 <= i1 - i0 ? term : T(pick)(__builtin_convertvector(i + T(lane) < i1 - i0,
                            T(mask)), term, T(splat)(0));
                    }
                    const float total = T(lane_sum)(lane_sums);
                    state_2[(chunk - chunk0) * 2592 + f1] += total;
                }
            }
            /* key_features_4 = (dout * -1.0f) * saved_1 */
            for (int64_t i = 0; i < i1 - i0; i++) {
                for (int64_t e_first = 0; e_first < 16; e_first += 8) {
                    UNROLL for (int64_t vector = 0, e = e_first; vector < 2; vector++, e += 4) {
                        T(store)(key_features_4 + i * 16 + e, (T(load)(dout + m * dout_head + (i0 + i) * dout_row + e) *
                            (-1.0f)) * (saved_1[m * saved_1_head + (i0 + i)]));
                    }
                }
            }
            /* state_3[f][e] += sum over i of key_features * key_features_4 */
            T(dot13)(i1 - i0, key_features, key_features_4, state_3 + (chunk - chunk0) * 2592);
            if (dk) {
                /* state_4 += row_1_tile * key_features */
                for (int64_t f = 0; f < 16; f++) {
                    T(vec) lane_sums = T(splat)(0);
                    for (int64_t i = 0; i < i1 - i0; i += 4) {
                        const T(vec) row_1_tile_2 = T(load)(row_1_tile + i);
                        const T(vec) term = row_1_tile_2 * T(load)(key_features + f * 32 + i);
                        lane_sums += i + 4 <= i1 - i0 ? term : T(pick)(__builtin_convertvector(i + T(lane) < i1 - i0,
                            T(mask)), term, T(splat)(0));
                    }
                    const float total = T(lane_sum)(lane_sums);
                    state_4[(chunk - chunk0) * 2592 + f] += total;
                }
            }
        }
    }
}

/* Folds the slots of the current chunks, in order, for some elements of the states. */
TARGET APART void T(e8_linear_dk_dv_fold)(const struct call *call, int64_t task, const struct share *share,
    int64_t iteration)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t f0 = iteration * 32, f1 = min(f0 + 32, 16);
    const int64_t chunk0 = share->chunk0;
    const int64_t chunk1 = share->chunk1;
    const int64_t g = task % kv_heads;
    const int64_t b = task / kv_heads;
    float *const state_3 = (float *)(void *)(share->slots + 9280); /* [chunk, f: 16, e: 16] */
    float *const state_4 = (float *)(void *)(share->slots + 10304); /* [chunk, f: 16] */
    float *const carried_3 = (float *)(void *)(share->shared + 0); /* [f: 16, e: 16] */
    float *const carried_3_compensation = (float *)(void *)(share->shared + 10368); /* [f: 16, e: 16] */
    float *const carried_4 = (float *)(void *)(share->shared + 1024); /* [f: 16] */
    float *const carried_4_compensation = (float *)(void *)(share->shared + 11392); /* [f: 16] */
    float *const dk = call->array[ARRAY_dk].at ? (float *)call->array[ARRAY_dk].at + b *
        call->array[ARRAY_dk].strides.batch + g * call->array[ARRAY_dk].strides.head : NULL;
    for (int64_t chunk = chunk0; chunk < chunk1; chunk++) {
        /* before_3 = carried_3; carried_3 += state_3; state_3 = before_3 */
        for (int64_t f = f0; f < f1; f++) {
            for (int64_t e_first = 0; e_first < 16; e_first += 8) {
                UNROLL for (int64_t vector = 0, e = e_first; vector < 2; vector++, e += 4) {
                    const T(vec) before_3_new3 = T(load)(carried_3 + f * 16 + e);
                    T(add)(carried_3 + f * 16 + e, carried_3_compensation + f * 16 + e,
                        T(load)(state_3 + (chunk - chunk0) * 2592 + f * 16 + e), T(splat)(1));
                    T(store)(state_3 + (chunk - chunk0) * 2592 + f * 16 + e, before_3_new3);
                }
            }
        }
        if (dk) {
            /* before_4 = carried_4; carried_4 += state_4; state_4 = before_4 */
            for (int64_t f = f0; f < f1; f += 4) {
                const T(vec) before_4_new4 = T(load)(carried_4 + f);
                T(add)(carried_4 + f, carried_4_compensation + f, T(load)(state_4 + (chunk - chunk0) * 2592 + f),
                    T(splat)(1));
                T(store)(state_4 + (chunk - chunk0) * 2592 + f, before_4_new4);
            }
        }
    }
}

/* Folds the slots of the current chunks, in order, for some elements of the states. */
TARGET APART void T(e8_linear_dk_dv_fold_2)(const struct call *call, int64_t task, const struct share *share,
    int64_t iteration)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t f10 = iteration * 32, f11 = min(f10 + 32, 136);
    const int64_t chunk0 = share->chunk0;
    const int64_t chunk1 = share->chunk1;
    const int64_t g = task % kv_heads;
    const int64_t b = task / kv_heads;
    float *const state = (float *)(void *)(share->slots + 0); /* [chunk, f1: 136, e: 16] */
    float *const state_2 = (float *)(void *)(share->slots + 8704); /* [chunk, f1: 136] */
    float *const carried = (float *)(void *)(share->shared + 1088); /* [f1: 136, e: 16] */
    float *const carried_compensation = (float *)(void *)(share->shared + 11456); /* [f1: 136, e: 16] */
    float *const carried_2 = (float *)(void *)(share->shared + 9792); /* [f1: 136] */
    float *const carried_2_compensation = (float *)(void *)(share->shared + 20160); /* [f1: 136] */
    float *const dk = call->array[ARRAY_dk].at ? (float *)call->array[ARRAY_dk].at + b *
        call->array[ARRAY_dk].strides.batch + g * call->array[ARRAY_dk].strides.head : NULL;
    for (int64_t chunk = chunk0; chunk < chunk1; chunk++) {
        /* before = carried; carried += state; state = before */
        for (int64_t f1 = f10; f1 < f11; f1++) {
            for (int64_t e_first = 0; e_first < 16; e_first += 8) {
                UNROLL for (int64_t vector = 0, e = e_first; vector < 2; vector++, e += 4) {
                    const T(vec) before_new5 = T(load)(carried + f1 * 16 + e);
                    T(add)(carried + f1 * 16 + e, carried_compensation + f1 * 16 + e,
                        T(load)(state + (chunk - chunk0) * 2592 + f1 * 16 + e), T(splat)(1));
                    T(store)(state + (chunk - chunk0) * 2592 + f1 * 16 + e, before_new5);
                }
            }
        }
        if (dk) {
            /* before_2 = carried_2; carried_2 += state_2; state_2 = before_2 */
            for (int64_t f1 = f10; f1 < f11; f1 += 4) {
                const T(vec) before_2_new6 = T(load)(carried_2 + f1);
                T(add)(carried_2 + f1, carried_2_compensation + f1, T(load)(state_2 + (chunk - chunk0) * 2592 + f1),
                    T(splat)(1));
                T(store)(state_2 + (chunk - chunk0) * 2592 + f1, before_2_new6);
            }
        }
    }
}

/* Processes the keys of a chunk: reads the state after the chunk, and the queries in the chunk. */
TARGET APART void T(e8_linear_dk_dv_keys)(const struct call *call, int64_t task, const struct share *share,
    int64_t iteration)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_q = call->p.n_q;
    const int64_t n_k = call->p.n_k;
    const int64_t chunks = n_k > 0 ? (n_k - 1) / 32 + 1 : 1;
    const int64_t chunk = iteration;
    const int64_t chunk0 = share->chunk0;
    const int64_t g = task % kv_heads;
    const int64_t b = task / kv_heads;
    const int64_t query_start = call->p.query_start ? call->p.query_start[b] : n_k - n_q;
    const float *const q = (const float *)call->array[ARRAY_q].at + b * call->array[ARRAY_q].strides.batch + g /
        call->sharing * members * call->array[ARRAY_q].strides.head;
    const int64_t q_row = call->array[ARRAY_q].strides.row;
    const int64_t q_head = call->array[ARRAY_q].strides.head;
    const float *const k = (const float *)call->array[ARRAY_k].at + b * call->array[ARRAY_k].strides.batch + g /
        call->sharing * call->array[ARRAY_k].strides.head;
    const int64_t k_row = call->array[ARRAY_k].strides.row;
    const float *const v = (const float *)call->array[ARRAY_v].at + b * call->array[ARRAY_v].strides.batch + g *
        call->array[ARRAY_v].strides.head;
    const int64_t v_row = call->array[ARRAY_v].strides.row;
    const float *const dout = (const float *)call->array[ARRAY_dout].at + b * call->array[ARRAY_dout].strides.batch + g
        * members * call->array[ARRAY_dout].strides.head;
    const int64_t dout_row = call->array[ARRAY_dout].strides.row;
    const int64_t dout_head = call->array[ARRAY_dout].strides.head;
    const float *const saved_0 = (const float *)call->array[ARRAY_saved_0].at + (b * call->p.heads + g * members) *
        call->p.n_q;
    const int64_t saved_0_head = call->p.n_q;
    const float *const row_0 = (const float *)call->array[ARRAY_row_0].at + (b * call->p.heads + g * members) *
        call->p.n_q;
    const int64_t row_0_head = call->p.n_q;
    float *const state = (float *)(void *)(share->slots + 0); /* [chunk, f1: 136, e: 16] */
    float *const state_2 = (float *)(void *)(share->slots + 8704); /* [chunk, f1: 136] */
    float *const state_3 = (float *)(void *)(share->slots + 9280); /* [chunk, f: 16, e: 16] */
    float *const state_4 = (float *)(void *)(share->slots + 10304); /* [chunk, f: 16] */
    float *const query = (float *)(void *)(share->work + 0); /* [d: 16, j: 32] */
    float *const score = (float *)(void *)(share->work + 2048); /* [i: 32, j: 32] */
    float *const query_2 = (float *)(void *)(share->work + 0); /* [f1: 136, j: 32] */
    float *const weight = (float *)(void *)(share->work + 6144); /* [i: 32, j: 32] */
    float *const score_2 = (float *)(void *)(share->work + 10240); /* [i: 32, j: 32] */
    float *const sum = (float *)(void *)(share->work + 17408); /* [e: 16, j: 32] */
    float *const sum_compensation = (float *)(void *)(share->work + 19456); /* [e: 16, j: 32] */
    float *const sum_from_state = (float *)(void *)(share->work + 21504); /* [f1: 136, j: 32] */
    float *const sum_from_state_2 = (float *)(void *)(share->work + 38912); /* [e: 16, j: 32] */
    float *const query_sum = (float *)(void *)(share->work + 14336); /* [d: 16, j: 32] */
    float *const query_sum_2 = (float *)(void *)(share->work + 40960); /* [d: 16, j: 32] */
    float *const sum_2 = (float *)(void *)(share->work + 21504); /* [d: 16, j: 32] */
    float *const sum_2_compensation = (float *)(void *)(share->work + 23552); /* [d: 16, j: 32] */
    float *const sum_from_state_3 = (float *)(void *)(share->work + 25600); /* [f: 16, j: 32] */
    float *const sum_from_state_4 = (float *)(void *)(share->work + 27648); /* [e: 16, j: 32] */
    float *const dk = call->array[ARRAY_dk].at ? (float *)call->array[ARRAY_dk].at + b *
        call->array[ARRAY_dk].strides.batch + g * call->array[ARRAY_dk].strides.head : NULL;
    const int64_t dk_row = call->array[ARRAY_dk].strides.row;
    float *const dv = call->array[ARRAY_dv].at ? (float *)call->array[ARRAY_dv].at + b *
        call->array[ARRAY_dv].strides.batch + g * call->array[ARRAY_dv].strides.head : NULL;
    const int64_t dv_row = call->array[ARRAY_dv].strides.row;
    float *const k_tile = (float *)(void *)(share->work + 43008); /* [d: 16, j: 32] */
    float *const v_tile = (float *)(void *)(share->work + 45056); /* [e: 16, j: 32] */
    float *const dout_tile = (float *)(void *)(share->work + 29696); /* [e: 16, i: 32] */
    float *const saved_0_tile = (float *)(void *)(share->work + 10240); /* [i: 32] */
    for (int64_t j0 = ((chunks - chunk - 1) == 0) ? 0 : max(0, (chunks - chunk - 1) * 32), j_end = min(n_k,
        (chunks - chunk) * 32); j0 < j_end; j0 += 32) {
        const int64_t j1 = min(j0 + 32, j_end);
        /* k_tile = k, with zeros beyond the last row */
        T(transpose_padded)(k + j0 * k_row, k_row, j1 - j0, 16, k_tile, 32, 64);
        if (dk) {
            /* v_tile = v, with zeros beyond the last row */
            T(transpose_padded)(v + j0 * v_row, v_row, j1 - j0, 16, v_tile, 32, 64);
        }
        if (dv) {
            /* query_2 = k_tile * k_tile */
            for (int64_t f1 = 0; f1 < 136; f1++) {
                for (int64_t j = 0; j < j1 - j0; j += 4) {
                    T(store)(query_2 + f1 * 32 + j, T(load)(k_tile + (f1 % 16) * 32 + j) * T(load)(k_tile + (((f1 % 16)
                        + (f1 / 16)) % 16) * 32 + j));
                }
            }
            /* sum = 0.0f; sum_compensation = 0.0f */
            for (int64_t e = 0; e < 16; e++) {
                for (int64_t j = 0; j < j1 - j0; j += 4) {
                    T(store)(sum + e * 32 + j, T(splat)(0.0f));
                    T(store)(sum_compensation + e * 32 + j, T(splat)(0.0f));
                }
            }
        }
        if (dk) {
            /* sum_from_state[f1][j] = sum over e of state * v_tile */
            T(dot10)(round_up(j1 - j0, 4), state + (chunk - chunk0) * 2592, v_tile, sum_from_state);
        }
        if (dv) {
            /* sum_from_state_2[e][j] = sum over f1 of state * query_2 */
            T(dot3)(round_up(j1 - j0, 4), state + (chunk - chunk0) * 2592, query_2, sum_from_state_2);
        }
        if (dk) {
            /* sum_from_state = sum_from_state + state_2 */
            for (int64_t j_first = 0; j_first < j1 - j0; j_first += 8) {
                for (int64_t f1 = 0; f1 < 136; f1++) {
                    UNROLL for (int64_t vector = 0, j = j_first; vector < 2; vector++, j += 4) {
                        T(store)(sum_from_state + f1 * 32 + j, T(load)(sum_from_state + f1 * 32 + j) + (state_2[(chunk -
                            chunk0) * 2592 + f1]));
                    }
                }
            }
        }
        /* query = select(0.0f < k_tile, k_tile + 1.0f, exp(min(k_tile, 0.0f))); query_sum = 0.0f */
        for (int64_t d = 0; d < 16; d++) {
            for (int64_t j = 0; j < j1 - j0; j += 4) {
                const T(vec) k_tile_7 = T(load)(k_tile + d * 32 + j);
                T(store)(query + d * 32 + j, T(pick)(0.0f < k_tile_7, k_tile_7 + 1.0f, T(exp)(T(min)(k_tile_7,
                    T(splat)(0.0f)))));
                T(store)(query_sum + d * 32 + j, T(splat)(0.0f));
            }
        }
        if (dk) {
            /* query_sum_2 = 0.0f */
            for (int64_t d = 0; d < 16; d++) {
                for (int64_t j = 0; j < j1 - j0; j += 4) {
                    T(store)(query_sum_2 + d * 32 + j, T(splat)(0.0f));
                }
            }
            /* query_sum += select(((t9 * 16) + d) < 136, sum_from_state * k_tile, 0.0f);
               query_sum_2 += select(((t9 * 16) + floormod(d - t9, 1 ... */
            for (int64_t j = 0; j < j1 - j0; j += 4) {
                for (int64_t d = 0; d < 16; d++) {
                    T(vec) query_sum_in = (T(vec)){0};
                    T(vec) query_sum_2_in = (T(vec)){0};
                    for (int64_t t9 = 0; t9 < 9; t9++) {
                        query_sum_in += (((t9 * 16) + d) < 136) ? T(load)(sum_from_state + min((t9 * 16) + d,
                            135) * 32 + j) * T(load)(k_tile + ((d + t9) % 16) * 32 + j) : T(splat)(0.0f);
                        query_sum_2_in += (((t9 * 16) + floor_mod(d - t9,
                            16)) < 136) ? T(load)(sum_from_state + min((t9 * 16) + floor_mod(d - t9, 16),
                            135) * 32 + j) * T(load)(k_tile + floor_mod(d - t9, 16) * 32 + j) : T(splat)(0.0f);
                    }
                    T(store)(query_sum + d * 32 + j, T(load)(query_sum + d * 32 + j) + query_sum_in);
                    T(store)(query_sum_2 + d * 32 + j, T(load)(query_sum_2 + d * 32 + j) + query_sum_2_in);
                }
            }
            /* sum_2 = 0.0f; sum_2_compensation = 0.0f */
            for (int64_t d = 0; d < 16; d++) {
                for (int64_t j = 0; j < j1 - j0; j += 4) {
                    T(store)(sum_2 + d * 32 + j, T(splat)(0.0f));
                    T(store)(sum_2_compensation + d * 32 + j, T(splat)(0.0f));
                }
            }
            /* sum_from_state_3[f][j] = sum over e of state_3 * v_tile */
            T(dot11)(round_up(j1 - j0, 4), state_3 + (chunk - chunk0) * 2592, v_tile, sum_from_state_3);
        }
        if (dv) {
            /* sum_from_state_4[e][j] = sum over f of state_3 * query */
            T(dot2)(round_up(j1 - j0, 4), state_3 + (chunk - chunk0) * 2592, query, sum_from_state_4);
        }
        for (int64_t m = 0; m < members; m++) {
            /* the ranges of i that some query of the tile may see */
            struct attn_range i_range[] = {
                {max(j0 - query_start, -query_start), (((j1 - floor_mod(j1 - 1,
                    32) - 1) / 32) * 32) - query_start + 32},
                {j0 - query_start, (0 <= (j1 - 1)) ? (-query_start) : 0},
            };
            const int64_t i_ranges = attn_union(i_range, 2, 0, n_q);
            /* the ranges that every query of the tile sees */
            struct attn_range i_inside[] = {
                {max(j1 - query_start - 1, -query_start), (((j0 - floor_mod(j0, 32)) / 32) * 32) - query_start + 32},
                {j1 - query_start - 1, (0 <= j0) ? (-query_start) : 0},
            };
            const int64_t i_insides = attn_union(i_inside, 2, 0, n_q);
            for (int64_t piece = 0; piece < i_ranges; piece++) {
                for (int64_t i0 = i_range[piece].from, i_end = i_range[piece].to; i0 < i_end; i0 += 32) {
                    const int64_t i1 = min(i0 + 32, i_end);
                    /* dout_tile = dout, with zeros beyond the last row */
                    T(transpose_padded)(dout + m * dout_head + i0 * dout_row, dout_row, i1 - i0, 16, dout_tile, 32, 64);
                    /* saved_0_tile = saved_0, with zeros beyond the last row */
                    for (int64_t i = 0; i < round_up(i1 - i0, 4); i++)
                        saved_0_tile[i] = i < i1 - i0 ? saved_0[m * saved_0_head + (i0 + i)] : 0;
                    /* score[i][j] = sum over d of q * k_tile */
                    T(dot9)(round_up(j1 - j0, 4), i1 - i0, q + m * q_head + i0 * q_row, q_row, k_tile, score);
                    if (dv) {
                        /* weight = score * score */
                        for (int64_t i = 0; i < i1 - i0; i++) {
                            for (int64_t j = 0; j < j1 - j0; j += 4) {
                                const T(vec) score_8 = T(load)(score + i * 32 + j);
                                T(store)(weight + i * 32 + j, score_8 * score_8);
                            }
                        }
                    }
                    /* dout_tile = dout_tile * saved_0_tile */
                    for (int64_t i = 0; i < i1 - i0; i += 4) {
                        const T(vec) saved_0_tile_9 = T(load)(saved_0_tile + i);
                        for (int64_t e = 0; e < 16; e++) {
                            T(store)(dout_tile + e * 32 + i, T(load)(dout_tile + e * 32 + i) * saved_0_tile_9);
                        }
                    }
                    if (dk) {
                        /* score_2[i][j] = sum over e of dout_tile * v_tile */
                        T(dot14)(round_up(j1 - j0, 4), i1 - i0, dout_tile, v_tile, score_2);
                    }
                    if (!attn_covers(i_inside, i_insides, i0, i1)) { /* the tile is partly outside the mask */
                        if (dv) {
                            /* weight = select((j <= (i + query_start)) && (((max(i + query_start, 0) / 32) * 32) <= j),
                               weight, 0.0f) */
                            for (int64_t j = 0; j < j1 - j0; j += 4) {
                                const T(ints) t_10 = j0 + j + T(lane);
                                for (int64_t i = 0; i < i1 - i0; i++) {
                                    const int64_t t_11 = (i0 + i) + query_start;
                                    T(store)(weight + i * 32 + j, T(pick)(__builtin_convertvector((t_10 <= t_11) &
                                        (((max((i0 + i) + query_start, 0) / 32) * 32) <= t_10), T(mask)),
                                        T(load)(weight + i * 32 + j), T(splat)(0.0f)));
                                }
                            }
                        }
                    }
                    if (dv) {
                        /* sum[e][j] += sum over i of dout_tile * weight */
                        if (__builtin_expect((!attn_covers(i_inside, i_insides, i0, i1)) && !T(finite)(dout_tile, 32,
                            16, i1 - i0), 0)) { /* infinity and NaN affect only queries that see them */
                            T(dot15)(round_up(j1 - j0, 4), i1 - i0, dout_tile, weight, sum, sum_compensation);
                            for (int64_t i = 0; i < i1 - i0; i++) {
                                T(mask) in_region[8] = {0};
                                if (T(finite)(dout_tile + i * 1, 32, 16, 1)) continue;
                                const int64_t t_13 = (i0 + i) + query_start;
                                const int64_t t_14 = (max((i0 + i) + query_start, 0) / 32) * 32;
                                for (int64_t j = 0; j < j1 - j0; j += 4) {
                                    const T(ints) t_12 = j0 + j + T(lane);
                                    in_region[j / 4] = __builtin_convertvector((t_12 <= t_13) & (t_14 <= t_12),
                                        T(mask));
                                }
                                T(add_seen)(16, sum, 32, dout_tile + i * 1, 32, weight + i * 32, in_region, j1 - j0);
                            }
                        } else
                            T(dot16)(round_up(j1 - j0, 4), i1 - i0, dout_tile, weight, sum, sum_compensation);
                    }
                    if (dk) {
                        /* score_2 = (score_2 + row_0) * (score * 2.0f) */
                        for (int64_t j_first = 0; j_first < j1 - j0; j_first += 8) {
                            for (int64_t i = 0; i < i1 - i0; i++) {
                                UNROLL for (int64_t vector = 0, j = j_first; vector < 2; vector++, j += 4) {
                                    T(store)(score_2 + i * 32 + j, (T(load)(score_2 + i * 32 + j) + (row_0[m *
                                        row_0_head + (i0 + i)])) * (T(load)(score + i * 32 + j) * 2.0f));
                                }
                            }
                        }
                    }
                    if (!attn_covers(i_inside, i_insides, i0, i1)) { /* the tile is partly outside the mask */
                        if (dk) {
                            /* score_2 = select((j <= (i + query_start)) && (((max(i + query_start,
                               0) / 32) * 32) <= j), score_2, 0.0f) */
                            for (int64_t j = 0; j < j1 - j0; j += 4) {
                                const T(ints) t_15 = j0 + j + T(lane);
                                for (int64_t i = 0; i < i1 - i0; i++) {
                                    const int64_t t_16 = (i0 + i) + query_start;
                                    T(store)(score_2 + i * 32 + j, T(pick)(__builtin_convertvector((t_15 <= t_16) &
                                        (((max((i0 + i) + query_start, 0) / 32) * 32) <= t_15), T(mask)),
                                        T(load)(score_2 + i * 32 + j), T(splat)(0.0f)));
                                }
                            }
                        }
                    }
                    if (dk) {
                        /* sum_2[d][j] += sum over i of q * score_2 */
                        if (__builtin_expect((!attn_covers(i_inside, i_insides, i0,
                            i1)) && !T(finite)(q + m * q_head + i0 * q_row, q_row, i1 - i0, 16),
                            0)) { /* infinity and NaN affect only queries that see them */
                            T(dot5)(round_up(j1 - j0, 4), i1 - i0, q + m * q_head + i0 * q_row, q_row, score_2, sum_2,
                                sum_2_compensation);
                            for (int64_t i = 0; i < i1 - i0; i++) {
                                T(mask) in_region[8] = {0};
                                if (T(finite)(q + m * q_head + i0 * q_row + i * q_row, 1, 16, 1)) continue;
                                const int64_t t_18 = (i0 + i) + query_start;
                                const int64_t t_19 = (max((i0 + i) + query_start, 0) / 32) * 32;
                                for (int64_t j = 0; j < j1 - j0; j += 4) {
                                    const T(ints) t_17 = j0 + j + T(lane);
                                    in_region[j / 4] = __builtin_convertvector((t_17 <= t_18) & (t_19 <= t_17),
                                        T(mask));
                                }
                                T(add_seen)(16, sum_2, 32, q + m * q_head + i0 * q_row + i * q_row, 1, score_2 + i * 32,
                                    in_region, j1 - j0);
                            }
                        } else
                            T(dot6)(round_up(j1 - j0, 4), i1 - i0, q + m * q_head + i0 * q_row, q_row, score_2, sum_2,
                                sum_2_compensation);
                    }
                }
            }
        }
        if (dk) {
            /* k_tile = ((query_sum + query_sum_2) + sum_2) + ((sum_from_state_3 + state_4) * select(0.0f < k_tile,
               1.0f, query)) */
            for (int64_t j_first = 0; j_first < j1 - j0; j_first += 8) {
                for (int64_t d = 0; d < 16; d++) {
                    UNROLL for (int64_t vector = 0, j = j_first; vector < 2; vector++, j += 4) {
                        T(store)(k_tile + d * 32 + j, ((T(load)(query_sum + d * 32 + j) + T(load)(query_sum_2 + d * 32 +
                            j)) + T(load)(sum_2 + d * 32 + j)) + ((T(load)(sum_from_state_3 + d * 32 + j) +
                            (state_4[(chunk - chunk0) * 2592 + d])) * T(pick)(0.0f < T(load)(k_tile + d * 32 + j),
                            T(splat)(1.0f), T(load)(query + d * 32 + j))));
                    }
                }
            }
        }
        if (dv) {
            /* sum = (sum + sum_from_state_2) + sum_from_state_4 */
            for (int64_t e = 0; e < 16; e++) {
                for (int64_t j = 0; j < j1 - j0; j += 4) {
                    T(store)(sum + e * 32 + j, (T(load)(sum + e * 32 + j) + T(load)(sum_from_state_2 + e * 32 + j)) +
                        T(load)(sum_from_state_4 + e * 32 + j));
                }
            }
        }
        if (dk) {
            /* dk = k_tile, transposed back */
            T(transpose_out)(k_tile, 32, 16, j1 - j0, dk + j0 * dk_row, dk_row, 64);
        }
        if (dv) {
            /* dv = sum, transposed back */
            T(transpose_out)(sum, 32, 16, j1 - j0, dv + j0 * dv_row, dv_row, 64);
        }
    }
}

/* Computes head number `task`. Each thread on the head calls this with `share`. */
TARGET static void T(e8_linear_dk_dv)(const struct call *call, int64_t task, struct share *share)
{
    const int64_t n_k = call->p.n_k;
    const int64_t chunks = n_k > 0 ? (n_k - 1) / 32 + 1 : 1;
    for (int64_t iteration = share->number; iteration < ((16 + 31) / 32); iteration += share->threads)
        T(e8_linear_dk_dv_begin)(call, task, share, iteration);
    synchronise(share);
    for (int64_t iteration = share->number; iteration < ((136 + 31) / 32); iteration += share->threads)
        T(e8_linear_dk_dv_begin_2)(call, task, share, iteration);
    synchronise(share);
    const int64_t first = 0;
    const int64_t length = segment_length(share, chunks - first);
    for (int64_t segment = share->number; first + segment * length < chunks; segment += share->threads) {
        share->chunk0 = first + segment * length;
        share->chunk1 = min(share->chunk0 + length, chunks);
        for (int64_t iteration = share->chunk0; iteration < share->chunk1; iteration++)
            T(e8_linear_dk_dv_queries)(call, task, share, iteration);
        for (int64_t group = 0; group < 8; group++) {
            await_segment(share, group, segment);
            const int64_t end = (group + 1) * ((16 + 31) / 32) / 8;
            for (int64_t iteration = group * ((16 + 31) / 32) / 8; iteration < end; iteration++)
                T(e8_linear_dk_dv_fold)(call, task, share, iteration);
            pass_segment(share, group, segment);
        }
        for (int64_t group = 0; group < 8; group++) {
            await_segment(share, 8 + group, segment);
            const int64_t end = (group + 1) * ((136 + 31) / 32) / 8;
            for (int64_t iteration = group * ((136 + 31) / 32) / 8; iteration < end; iteration++)
                T(e8_linear_dk_dv_fold_2)(call, task, share, iteration);
            pass_segment(share, 8 + group, segment);
        }
        for (int64_t iteration = share->chunk0; iteration < share->chunk1; iteration++)
            T(e8_linear_dk_dv_keys)(call, task, share, iteration);
    }
    share->segments += (max(chunks - first, 0) + length - 1) / length;
    synchronise(share);
}
#include <attnrt/kernel/end.h>

/* ==== tables for the library that calls these functions (attnrt/kernel/call.h) ==== */
static const struct array array[] = {
    {.name = "q", .access = {ACCESS_READ, ACCESS_READ}, .dtype = ATTN_F32, .rows = ROWS_OF_QUERIES, .argument = {0, 0},
        .strides = offsetof(struct attn_problem, q)},
    {.name = "k", .access = {ACCESS_READ, ACCESS_READ}, .dtype = ATTN_F32, .rows = ROWS_OF_KEYS, .argument = {1, 1},
        .strides = offsetof(struct attn_problem, k)},
    {.name = "v", .access = {ACCESS_READ, ACCESS_READ}, .dtype = ATTN_F32, .rows = ROWS_OF_KEYS, .argument = {2, 2},
        .strides = offsetof(struct attn_problem, v)},
    {.name = "out", .access = {ACCESS_WRITTEN, ACCESS_READ}, .dtype = ATTN_F32, .rows = ROWS_OF_QUERIES, .argument = {3,
        3}, .strides = offsetof(struct attn_problem, out)},
    {.name = "dout", .access = {ACCESS_NONE, ACCESS_READ}, .dtype = ATTN_F32, .rows = ROWS_OF_QUERIES, .argument = {4,
        4}, .strides = offsetof(struct attn_problem, dout)},
    {.name = "dq", .access = {ACCESS_NONE, ACCESS_WANTED}, .dtype = ATTN_F32, .rows = ROWS_OF_QUERIES, .argument = {4,
        5}, .strides = offsetof(struct attn_problem, dq)},
    {.name = "dk", .access = {ACCESS_NONE, ACCESS_WANTED}, .dtype = ATTN_F32, .rows = ROWS_OF_KEYS, .argument = {4, 6},
        .strides = offsetof(struct attn_problem, dk)},
    {.name = "dv", .access = {ACCESS_NONE, ACCESS_WANTED}, .dtype = ATTN_F32, .rows = ROWS_OF_KEYS, .argument = {4, 7},
        .strides = offsetof(struct attn_problem, dv)},
    {.name = "saved_0", .origin = FROM_SAVED},
    {.name = "saved_1", .origin = FROM_SAVED},
    {.name = "row_0", .origin = FROM_ROW_SUMS},
    {.name = "row_1", .origin = FROM_ROW_SUMS},
};

static const struct program programs_any[] = {
    {.role = RUN_FORWARD,
     .head = e8_linear_any, .tile = 0, .own = 25728, .of_token = 2584, .in_keys = 1, .saves = 1, .shared = 20736,
         .slot = 10368, .slots = 4, .together = 1},
    {.role = RUN_BACKWARD, .part = 3,
     .head = e8_linear_dk_dv_any, .tile = 0, .own = 47104, .of_token = 2584, .in_keys = 1,
         .wanted = (const uint16_t[]){ARRAY_dk, ARRAY_dv, NO_ARRAY}, .shared = 20736, .slot = 10368, .slots = 4,
         .together = 1},
    {.role = RUN_BACKWARD, .part = 2,
     .head = e8_linear_dq_any, .tile = 0, .own = 31872, .of_token = 2584, .in_keys = 1,
         .wanted = (const uint16_t[]){ARRAY_dq, NO_ARRAY}, .shared = 20736, .slot = 10368, .slots = 4, .together = 1},
    {.role = RUN_BACKWARD, .part = 1,
     .head = e8_linear_row_sums_any, .tile = 0, .own = 27776, .of_token = 2584, .in_keys = 1, .shared = 20736,
         .slot = 10368, .slots = 4, .together = 1},
    {.role = RUN_BACKWARD, .saved_again = 1,
     .head = e8_linear_saved_any, .tile = 0, .own = 19456, .of_token = 2584, .in_keys = 1, .shared = 1280, .slot = 640,
         .slots = 4, .together = 1},
};
static const struct target target[] = {
    {NULL, programs_any, sizeof programs_any / sizeof *programs_any},
    {NULL, NULL, 0},
};

#include <attnrt/kernel/openmp.h>
static const struct kernel kernel = {
    .layout = KERNEL_LAYOUT, .name = "e8", .openmp = OPENMP,
    .target = target, .targets = sizeof target / sizeof *target - 1,
    .array = array, .arrays = sizeof array / sizeof *array,
    .params_bytes = sizeof(struct e8_params),
    .dtype = ATTN_F32, .key_dtype = ATTN_F32, .value_dtype = ATTN_F32, .real = sizeof(float), .element = sizeof(float),
    .head_dim = 16, .value_dim = 16, .key_row = 16, .value_row = 16,
    .shares = 1,
    .positions = 1,
    .ids = -1,
    .corrected = -1,
    .solution = -1,
    .gradients_bytes = sizeof(struct e8_gradients),
    .parts = 4,
    .saved = 2,
    .row_sums = 2,
    .shared_gradient = {ARRAY_dq, ARRAY_dk},
};

/* ==== the interface ==== */
size_t e8_params_size(void) { return attn_call_params_size(&kernel); }
int e8_params_init(struct e8_params *params, uint64_t seed, void *storage)
{
    return attn_call_params_init(&kernel, params, seed, storage);
}
size_t e8_workspace(const struct attn_problem *problem) { return attn_call_workspace(&kernel, problem); }
size_t e8_saved(const struct attn_problem *problem) { return attn_call_saved(&kernel, problem); }
size_t e8_backward_workspace(const struct attn_problem *problem)
{
    return attn_call_backward_workspace(&kernel, problem);
}
int e8_forward(const struct attn_problem *problem, const struct e8_params *params, const float *q, const float *k,
    const float *v,
    float *out, void *workspace)
{
    return attn_call_forward(&kernel, problem, params, (const void *const[]){q, k, v, out}, workspace);
}
static int forward_any(const struct attn_problem *problem, const void *params, const void *q, const void *k,
    const void *v, void *out, void *workspace)
{
    return attn_call_forward(&kernel, problem, params, (const void *const[]){q, k, v, out}, workspace);
}
int e8_backward(const struct attn_problem *problem, const struct e8_params *params, const float *q, const float *k,
    const float *v, const float *out, const float *dout,
    float *dq, float *dk, float *dv, struct e8_gradients *gradients, void *workspace)
{
    return attn_call_backward(&kernel, problem, params, (const void *const[]){q, k, v, out, dout, dq, dk, dv},
        gradients, workspace, OUTER_NONE);
}
static int backward_any(const struct attn_problem *problem, const void *params, const void *q, const void *k,
    const void *v, const void *out, const void *dout, void *dq, void *dk, void *dv, void *gradients, void *workspace)
{
    return attn_call_backward(&kernel, problem, params, (const void *const[]){q, k, v, out, dout, dq, dk, dv},
        gradients, workspace, OUTER_NONE);
}
static int params_init_any(void *params, uint64_t seed, void *storage)
{
    return attn_call_params_init(&kernel, params, seed, storage);
}
const struct attn_kernel e8_kernel = {
    .name = "e8", .version = "0.1.0", .dtype = ATTN_F32, .head_dim = 16, .value_dim = 16,
    .params = 0, .param = NULL, .params_bytes = sizeof(struct e8_params),
    .params_size = e8_params_size, .params_init = params_init_any, .forward = forward_any,
    .workspace = e8_workspace,
    .saved = e8_saved,
    .backward_workspace = e8_backward_workspace,
    .backward = backward_any,
    .key_dtype = ATTN_F32, .value_dtype = ATTN_F32,
    .before = INT64_MAX, .after = INT64_MAX, .period = 1, .names_heads = 0, .names_sequences = 0, .in_parts = 0,
    .saved_power = 0, .has_sink = 0, .open_keys = 0, .end_of_keys = INT64_MAX,
};
#endif /* a compiler of this language */
