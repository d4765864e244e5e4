/* deltanet.c, made by attnc 0.2.0: attnc deltanet.yaml
   C11 with GNU extensions, for a C compiler; C++ includes deltanet.h.
   DeltaNet: linear attention whose state forgets by the delta rule
   Yang et al., Parallelizing Linear Transformers with the Delta Rule over Sequence Length (NeurIPS 2024), section 2.2

   Computes, in f32, over the axes b (batch), g (key/value head), m (query head of g), i (query), j (key), d (64),
   e (64), t_key (key):
     q [b g m i d]
     k [b g j d]
     v [b g j e]
     x3 [b g j d] = k * k
     x4 [b g j] = sum over d of x3
     x5 [b g j] = x4 == 0 ? 0 : 1 / sqrt(x4)
     x6 [b g j d] = k * x5
     x7 [b g m i d] = q * q
     x8 [b g m i] = sum over d of x7
     x9 [b g m i] = x8 == 0 ? 0 : 1 / sqrt(x8)
     x10 [b g m i d] = q * x9
     x11 [b g m i d] = x10 * 0.125
     x12 [b g t_key d] = k[b, g, t_key, d]
     x13 [b g t_key d] = x12 * x12
     x14 [b g t_key] = sum over d of x13
     x15 [b g t_key] = x14 == 0 ? 0 : 1 / sqrt(x14)
     x16 [b g t_key d] = x12 * x15
     x17 [b g t_key j] = sum over d of x16 * x6
     x18 [b g t_key j] = x17
     beta [b g m j], learned parameter
     x20 [b g j] = beta[b, g, 0, j]
     x21 [b g j e] = u with u[t_key] = x20 * (v - sum over j < t_key of x18 * u[j] if j <= t_key)
     x22 [b g m i j] = sum over d of x11 * x6
     x23 [b g m i j] = x22
     x24 [b g m i e] = sum over j of x23 * x21 if j <= i + query_start
     x25 [b g m i e] = x24
     out = x25
   query_start is the position of the first query: problem.query_start[b], or n_k - n_q if that is NULL.

   How: each vector lane holds one query. Keys are processed in tiles,
   so row sums and maxima need no reduction across lanes.
   The sums of a tile start from zero and are added to the sums so far. Tiles that no query sees are skipped.
   Linear: the weight is an inner product of 64 features. The state is a sum over keys of 64 x 65 numbers.
     x86-64-v4  linear    tiles of 32 queries and 32 keys; 61696 bytes of workspace per thread
     x86-64-v3  linear    tiles of 32 queries and 32 keys; 61696 bytes of workspace per thread
     generic    linear    tiles of 32 queries and 32 keys; 61696 bytes of workspace per thread

   Contents:
     loops      deltanet_linear
     targets    x86-64-v4, x86-64-v3, generic
     tables     arrays and programs, for the functions of attnrt that call the loops
     interface  deltanet_workspace, deltanet_forward, deltanet_kernel
   The file includes itself, so that the loops are compiled once for each target. T(name) is a name with the target's
   suffix, LANES the elements of its vectors, and OF(…) a number for each target.

   Compile with: cc -O2 -fopenmp deltanet.c … -lattnrt -lm */
#ifdef SECTION
#include <attnrt/kernel/vector.h>
#include <attnrt/kernel/elementary.h>
#include <attnrt/kernel/solve.h>
#include <attnrt/kernel/product.h>

/* The functions for the products below. Each calls dot or a similar function with constants. */
TARGET APART void T(dot0)(int64_t lanes, int64_t rows, const float *a, const float *b, float *c)
{
    T(dot)(/*vectors=*/2, lanes, rows, /*tail=*/-1, /*steps=*/64, /*span=*/32, a, /*a_row=*/1, /*a_step=*/32, b,
        /*b_step=*/32, c, /*c_row=*/32, /*update=*/0, /*factor=*/NULL);
}
TARGET APART void T(dot1)(int64_t rows, const float *a, const float *b, float *c, const struct coming *next)
{
    T(dot_meanwhile)(/*vectors=*/OF(4, 2, 2), /*lanes=*/64, rows, /*tail=*/-1, /*steps=*/64, /*span=*/32, a,
        /*a_row=*/1, /*a_step=*/32, b, /*b_step=*/64, c, /*c_row=*/64, /*update=*/0, /*factor=*/NULL, next,
        /*arrays=*/2, /*nexts=*/32);
}
TARGET APART void T(dot2)(int64_t rows, const float *w, const float *rate, const float *x, float *u)
{
    T(solve)(/*lanes=*/64, /*first=*/0, rows, w, /*w_row=*/1, /*w_step=*/32, rate, /*rate_step=*/1, x, /*x_row=*/64, u,
        /*u_row=*/64);
}
TARGET APART void T(dot3)(int64_t rows, int64_t steps, const float *a, const float *b, float *c)
{
    T(dot_finite_lanes)(/*fetched=*/0, /*vectors=*/OF(4, 2, 2), /*lanes=*/64, rows, /*tail=*/-1, steps, /*span=*/192, a,
        /*a_row=*/1, /*a_step=*/32, b, /*b_step=*/64, c, /*c_row=*/64, /*update=*/0, /*factor=*/NULL);
}
TARGET APART void T(dot4)(int64_t rows, int64_t steps, const float *a, const float *b, float *c, int64_t visible)
{
    T(dot_until)(/*vectors=*/OF(4, 2, 2), /*lanes=*/64, rows, /*tail=*/-1, steps, /*span=*/192, a, /*a_row=*/1,
        /*a_step=*/32, b, /*b_step=*/64, c, /*c_row=*/64, visible);
}
TARGET APART void T(dot5)(int64_t steps, const float *a, const float *b, float *c)
{
    T(dot)(/*vectors=*/OF(4, 2, 2), /*lanes=*/64, /*rows=*/64, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/32,
        /*a_step=*/1, b, /*b_step=*/64, c, /*c_row=*/64, /*update=*/1, /*factor=*/NULL);
}

/* Computes task number `task`: one tile of queries of one head. `work` is this thread's workspace. */
TARGET static void T(deltanet_linear)(const struct call *call, int64_t task, unsigned char *work)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_q = call->p.n_q;
    const int64_t n_k = call->p.n_k;
    const int64_t chunks = n_k > 0 ? (n_k - 1) / 32 + 1 : 1;
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
    const float *const beta_array = (const float *)call->array[ARRAY_beta_array].at + b *
        call->array[ARRAY_beta_array].strides.batch + g * members * call->array[ARRAY_beta_array].strides.head;
    const int64_t beta_array_row = call->array[ARRAY_beta_array].strides.row;
    float *const state = (float *)(void *)(work + 0); /* [f: 64, e: 64] */
    float *const query_sum = (float *)(void *)(work + 16384); /* [j: 32] */
    float *const query_features = (float *)(void *)(work + 16512); /* [d: 64, j: 32] */
    float *const score = (float *)(void *)(work + 24704); /* [j: 32, t_key: 32] */
    float *const query_scale = (float *)(void *)(work + 16384); /* [j: 32] */
    float *const from_state = (float *)(void *)(work + 28800); /* [t_key: 32, e: 64] */
    float *const corrected = (float *)(void *)(work + 36992); /* [j: 32, e: 64] */
    float *const query_sum_3 = (float *)(void *)(work + 16384); /* [i: 32] */
    float *const score_2 = (float *)(void *)(work + 24704); /* [j: 32, i: 32] */
    float *const sum_from_state = (float *)(void *)(work + 28800); /* [i: 32, e: 64] */
    float *const sum = (float *)(void *)(work + 45184); /* [i: 32, e: 64] */
    float *const out = (float *)call->array[ARRAY_out].at + b * call->array[ARRAY_out].strides.batch + g * members *
        call->array[ARRAY_out].strides.head;
    const int64_t out_row = call->array[ARRAY_out].strides.row;
    const int64_t out_head = call->array[ARRAY_out].strides.head;
    float *const k_tile = (float *)(void *)(work + 53376); /* [d: 64, j: 32] */
    float *const beta_tile = (float *)(void *)(work + 61568); /* [j: 32] */
    float *const q_tile = (float *)(void *)(work + 45184); /* [d: 64, i: 32] */
    for (int64_t m = 0; m < members; m++) {
        /* state = 0.0f */
        for (int64_t f = 0; f < 64; f++) {
            for (int64_t e_first = 0; e_first < 64; e_first += OF(64, 16, 8)) {
                UNROLL for (int64_t vector = 0, e = e_first; vector < OF(4, 2, 2); vector++, e += LANES) {
                    T(store)(state + f * 64 + e, T(splat)(0.0f));
                }
            }
        }
        for (int64_t chunk = 0; chunk < chunks; chunk++) {
            for (int64_t j0 = chunk * 32, j_end = min((chunk * 32) + 32, n_k); j0 < j_end; j0 += 32) {
                const int64_t j1 = min(j0 + 32, j_end);
                /* k_tile = k, with zeros beyond the last row */
                T(transpose_padded)(k + j0 * k_row, k_row, j1 - j0, 64, k_tile, 32, 0);
                if (beta_array_row == 1) {
                    /* beta_tile = beta_array, with zeros beyond the last row */
                    for (int64_t j = 0; j < round_up(j1 - j0, LANES); j++)
                        beta_tile[j] = j < j1 - j0 ? beta_array[(j0 + j)] : 0;
                } else {
                    /* beta_tile = beta_array, with zeros beyond the last row */
                    for (int64_t j = 0; j < round_up(j1 - j0, LANES); j++)
                        beta_tile[j] = j < j1 - j0 ? beta_array[(j0 + j) * beta_array_row] : 0;
                }
                for (int64_t t_key0 = j0, t_key_end = j1; t_key0 < t_key_end; t_key0 += 32) {
                    const int64_t t_key1 = min(t_key0 + 32, t_key_end);
                    /* query_sum = 0.0f */
                    for (int64_t j = 0; j < j1 - j0; j += LANES) {
                        T(store)(query_sum + j, T(splat)(0.0f));
                    }
                    /* query_sum += k_tile * k_tile */
                    for (int64_t j_first = 0; j_first < j1 - j0; j_first += (2 * LANES)) {
                        T(vec) query_sum_in[2];
                        UNROLL for (int64_t vector = 0, j = j_first; vector < 2; vector++, j += LANES) {
                            query_sum_in[vector] = (T(vec)){0};
                        }
                        for (int64_t d = 0; d < 64; d++) {
                            UNROLL for (int64_t vector = 0, j = j_first; vector < 2; vector++, j += LANES) {
                                const T(vec) k_tile_0 = T(load)(k_tile + d * 32 + j);
                                query_sum_in[vector] += k_tile_0 * k_tile_0;
                            }
                        }
                        UNROLL for (int64_t vector = 0, j = j_first; vector < 2; vector++, j += LANES) {
                            T(store)(query_sum + j, T(load)(query_sum + j) + query_sum_in[vector]);
                        }
                    }
                    /* query_features = k_tile * select(query_sum == 0.0f, 0.0f, 1.0f / sqrt(query_sum)) */
                    for (int64_t j = 0; j < j1 - j0; j += LANES) {
                        const T(vec) query_sum_1 = T(load)(query_sum + j);
                        const T(vec) t_2 = T(pick)(query_sum_1 == 0.0f, T(splat)(0.0f), 1.0f / T(sqrt)(query_sum_1));
                        for (int64_t d = 0; d < 64; d++) {
                            T(store)(query_features + d * 32 + j, T(load)(k_tile + d * 32 + j) * t_2);
                        }
                    }
                    /* score[j][t_key] = sum over d of query_features * query_features */
                    T(dot0)(round_up(t_key1 - t_key0, LANES), j1 - j0, query_features, query_features, score);
                    /* query_scale = beta_tile */
                    for (int64_t j = 0; j < j1 - j0; j += LANES) {
                        T(store)(query_scale + j, T(load)(beta_tile + j));
                    }
                    /* from_state[t_key][e] = sum over f of query_features * state */
                    T(dot1)(t_key1 - t_key0, query_features, state, from_state,
                        (const struct coming[]){{v + t_key0 * v_row, 4 * v_row, 256},
                        {q + m * q_head + (((j0 / 32) == 0) ? 0 : max(0, j0 - query_start)) * q_row, 4 * q_row, 256}});
                    /* from_state = v - from_state */
                    for (int64_t t_key = 0; t_key < t_key1 - t_key0; t_key++) {
                        for (int64_t e_first = 0; e_first < 64; e_first += OF(64, 16, 8)) {
                            UNROLL for (int64_t vector = 0, e = e_first; vector < OF(4, 2, 2); vector++, e += LANES) {
                                T(store)(from_state + t_key * 64 + e, T(load)(v + (t_key0 + t_key) * v_row + e) -
                                    T(load)(from_state + t_key * 64 + e));
                            }
                        }
                    }
                    /* corrected[t_key][e] = query_scale[t_key] * (from_state[t_key][e] - sum over j < t_key of score *
                       corrected[j][e]) */
                    T(dot2)(t_key1 - t_key0, score, query_scale, from_state, corrected);
                    for (int64_t i0 = ((j0 / 32) == 0) ? 0 : max(0, j0 - query_start), i_end = min(n_q,
                        (((j0 / 32) + 1) * 32) - query_start); i0 < i_end; i0 += 32) {
                        const int64_t i1 = min(i0 + 32, i_end);
                        /* q_tile = q, with zeros beyond the last row */
                        T(transpose_padded)(q + m * q_head + i0 * q_row, q_row, i1 - i0, 64, q_tile, 32, 0);
                        /* query_sum_3 = 0.0f */
                        for (int64_t i = 0; i < i1 - i0; i += LANES) {
                            T(store)(query_sum_3 + i, T(splat)(0.0f));
                        }
                        /* query_sum_3 += q_tile * q_tile */
                        for (int64_t i_first = 0; i_first < i1 - i0; i_first += (2 * LANES)) {
                            T(vec) query_sum_3_in[2];
                            UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += LANES) {
                                query_sum_3_in[vector] = (T(vec)){0};
                            }
                            for (int64_t d = 0; d < 64; d++) {
                                UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += LANES) {
                                    const T(vec) q_tile_3 = T(load)(q_tile + d * 32 + i);
                                    query_sum_3_in[vector] += q_tile_3 * q_tile_3;
                                }
                            }
                            UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += LANES) {
                                T(store)(query_sum_3 + i, T(load)(query_sum_3 + i) + query_sum_3_in[vector]);
                            }
                        }
                        /* q_tile = (q_tile * select(query_sum_3 == 0.0f, 0.0f, 1.0f / sqrt(query_sum_3))) * 0.125f */
                        for (int64_t i = 0; i < i1 - i0; i += LANES) {
                            const T(vec) query_sum_3_4 = T(load)(query_sum_3 + i);
                            const T(vec) t_5 = T(pick)(query_sum_3_4 == 0.0f, T(splat)(0.0f),
                                1.0f / T(sqrt)(query_sum_3_4));
                            for (int64_t d = 0; d < 64; d++) {
                                T(store)(q_tile + d * 32 + i, (T(load)(q_tile + d * 32 + i) * t_5) * 0.125f);
                            }
                        }
                        /* score_2[j][i] = sum over d of query_features * q_tile */
                        T(dot0)(round_up(i1 - i0, LANES), j1 - j0, query_features, q_tile, score_2);
                        /* sum_from_state[i][e] = sum over f of q_tile * state */
                        T(dot1)(i1 - i0, q_tile, state, sum_from_state, (const struct coming[]){{out + m * out_head + i0
                            * out_row, 4 * out_row, 256}, {k + (j0 + 32) * k_row, 4 * k_row, 256}});
                        /* score_2 = select(j <= (i + query_start), score_2, 0.0f) */
                        for (int64_t i = 0; i < i1 - i0; i += LANES) {
                            const T(ints) t_6 = (i0 + i + T(lane)) + query_start;
                            for (int64_t j = 0; j < j1 - j0; j++) {
                                T(store)(score_2 + j * 32 + i, T(pick)(__builtin_convertvector((j0 + j) <= t_6,
                                    T(mask)), T(load)(score_2 + j * 32 + i), T(splat)(0.0f)));
                            }
                        }
                        /* sum[i][e] = sum over j of score_2 * corrected */
                        if (__builtin_expect(!T(finite)(corrected, 64, j1 - j0, 64),
                            0)) { /* infinity and NaN affect only queries that see them */
                            T(dot3)(i1 - i0, j1 - j0, score_2, corrected, sum);
                            for (int64_t i = 0; i < i1 - i0; i++) {
                                T(mask) in_region[OF(2, 4, 8)] = {0};
                                const int64_t t_7 = (i0 + i) + query_start;
                                for (int64_t j = 0; j < j1 - j0; j += LANES) {
                                    in_region[j / LANES] = __builtin_convertvector((j0 + j + T(lane)) <= t_7, T(mask));
                                }
                                T(add_seen_lanes)(64, sum + i * 64, score_2 + i * 1, corrected, 64, j1 - j0, in_region);
                            }
                        } else
                            T(dot4)(i1 - i0, j1 - j0, score_2, corrected, sum, i0 + query_start - j0 + 1);
                        /* sum = sum + sum_from_state */
                        for (int64_t i = 0; i < i1 - i0; i++) {
                            for (int64_t e_first = 0; e_first < 64; e_first += OF(64, 16, 8)) {
                                UNROLL for (int64_t vector = 0, e = e_first; vector < OF(4, 2, 2); vector++,
                                    e += LANES) {
                                    T(store)(sum + i * 64 + e, T(load)(sum + i * 64 + e) + T(load)(sum_from_state + i *
                                        64 + e));
                                }
                            }
                        }
                        /* out = sum */
                        for (int64_t i = 0; i < i1 - i0; i++)
                            for (int64_t e = 0; e < 64; e++)
                                out[m * out_head + (i0 + i) * out_row + e] = sum[i * 64 + e];
                    }
                    /* state[f][e] += sum over j of query_features * corrected */
                    T(dot5)(j1 - j0, query_features, corrected, state);
                }
            }
        }
    }
}
#include <attnrt/kernel/end.h>
#else
#ifdef __cplusplus
#error "deltanet.c is C, not C++: compile it with a C compiler"
#elif !defined __STDC_VERSION__ || __STDC_VERSION__ < 199901L
#error "deltanet.c is C11, not C89: compile it without -std=, or with -std=gnu11"
extern int deltanet_is_c11;
#elif !defined __GNUC__
#error "deltanet.c uses GNU C vector extensions: compile it with gcc or clang"
extern int deltanet_is_gnu_c;
#else
#include "deltanet.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include <attnrt/kernel/optimize.h>
#include <attnrt/kernel/call.h>

/* the numbers of the arrays of a call */
enum {
    ARRAY_q, ARRAY_k, ARRAY_v, ARRAY_out, ARRAY_beta_array
};

#ifdef __FILE_NAME__
#define LOOPS __FILE_NAME__ /* this file, whose first part has the loops */
#else
#define LOOPS "deltanet.c"
#endif

/* ==== x86-64-v4 ==== */
#if defined(__x86_64__)
#define T(name) name##_v4
#define TARGET __attribute__((target("avx512f,avx512bw,avx512cd,avx512dq,avx512vl,avx2,bmi,bmi2,fma,f16c")))
#define LANES 16
#define REGISTERS 32
#define DQ 1
#define F16C 1
#define AVX 1
#define ROWS 6
#define VECTORS 4
#define AHEAD 64
#define NEAR 3
#define MAX_STEPS 32
#define OF(v4, v3, any) v4 /* a number of each target */
#define SECTION
#include LOOPS
#undef SECTION
#endif

/* ==== x86-64-v3 ==== */
#if defined(__x86_64__)
#define T(name) name##_v3
#define TARGET __attribute__((target("avx2,bmi,bmi2,fma,f16c")))
#define LANES 8
#define REGISTERS 16
#define F16C 1
#define AVX 1
#define ROWS 6
#define VECTORS 2
#define AHEAD 64
#define NEAR 3
#define MAX_STEPS 32
#define OF(v4, v3, any) v3 /* a number of each target */
#define SECTION
#include LOOPS
#undef SECTION
#endif

/* ==== generic ==== */
#define T(name) name##_any
#define TARGET
#define LANES 4
#define REGISTERS 16
#define ROWS 6
#define VECTORS 2
#define AHEAD 64
#define NEAR 2
#define MAX_STEPS 32
#define OF(v4, v3, any) any /* a number of each target */
#define SECTION
#include LOOPS
#undef SECTION

/* ==== tables for the library that calls these functions (attnrt/kernel/call.h) ==== */
static const struct attn_param param[] = {
    {"beta", ATTN_F32, 3, {ATTN_BATCH, ATTN_HEADS, ATTN_N_K}, offsetof(struct deltanet_params, beta), 0,
        offsetof(struct deltanet_strides, beta), 0, 1, ATTN_NO_LIMITS},
};

static const struct array array[] = {
    {.name = "q", .access = {ACCESS_READ, ACCESS_NONE}, .dtype = ATTN_F32, .rows = ROWS_OF_QUERIES, .argument = {0, 0},
        .strides = offsetof(struct attn_problem, q)},
    {.name = "k", .access = {ACCESS_READ, ACCESS_NONE}, .dtype = ATTN_F32, .rows = ROWS_OF_KEYS, .argument = {1, 1},
        .strides = offsetof(struct attn_problem, k)},
    {.name = "v", .access = {ACCESS_READ, ACCESS_NONE}, .dtype = ATTN_F32, .rows = ROWS_OF_KEYS, .argument = {2, 2},
        .strides = offsetof(struct attn_problem, v)},
    {.name = "out", .access = {ACCESS_WRITTEN, ACCESS_NONE}, .dtype = ATTN_F32, .rows = ROWS_OF_QUERIES, .argument = {3,
        3}, .strides = offsetof(struct attn_problem, out)},
    {.name = "beta", .access = {ACCESS_READ, ACCESS_NONE}, .dtype = ATTN_F32, .rows = ROWS_OF_KEYS,
        .origin = FROM_PARAMS, .param = 0, .axis = {0, 1, 2}, .has_rows = 1},
};

#if defined(__x86_64__)
static int runs_v4(void)
{
    return attn_x86_64_level() >= 4;
}
static const struct program programs_v4[] = {
    {.role = RUN_FORWARD,
     .rows = deltanet_linear_v4, .tile = 0, .own = 61696, .of_token = 4160, .in_keys = 1},
};
#endif
#if defined(__x86_64__)
static int runs_v3(void)
{
    return attn_x86_64_level() >= 3;
}
static const struct program programs_v3[] = {
    {.role = RUN_FORWARD,
     .rows = deltanet_linear_v3, .tile = 0, .own = 61696, .of_token = 4160, .in_keys = 1},
};
#endif
static const struct program programs_any[] = {
    {.role = RUN_FORWARD,
     .rows = deltanet_linear_any, .tile = 0, .own = 61696, .of_token = 4160, .in_keys = 1},
};
static const struct target target[] = {
#if defined(__x86_64__)
    {runs_v4, programs_v4, sizeof programs_v4 / sizeof *programs_v4},
#endif
#if defined(__x86_64__)
    {runs_v3, programs_v3, sizeof programs_v3 / sizeof *programs_v3},
#endif
    {NULL, programs_any, sizeof programs_any / sizeof *programs_any},
    {NULL, NULL, 0},
};

#include <attnrt/kernel/openmp.h>
static const struct kernel kernel = {
    .layout = KERNEL_LAYOUT, .name = "deltanet", .openmp = OPENMP,
    .target = target, .targets = sizeof target / sizeof *target - 1,
    .array = array, .arrays = sizeof array / sizeof *array,
    .param = param, .params = 1, .params_bytes = sizeof(struct deltanet_params),
    .dtype = ATTN_F32, .key_dtype = ATTN_F32, .value_dtype = ATTN_F32, .real = sizeof(float), .element = sizeof(float),
    .head_dim = 64, .value_dim = 64, .key_row = 64, .value_row = 64,
    .strided = 1, .strides = offsetof(struct deltanet_params, strides),
    .shares = 1,
    .delta = 1,
    .positions = 1,
    .ids = -1,
    .corrected = -1,
    .solution = -1,
};

/* ==== the interface ==== */
size_t deltanet_params_size(void) { return attn_call_params_size(&kernel); }
int deltanet_params_init(struct deltanet_params *params, uint64_t seed, void *storage)
{
    return attn_call_params_init(&kernel, params, seed, storage);
}
size_t deltanet_workspace(const struct attn_problem *problem) { return attn_call_workspace(&kernel, problem); }
int deltanet_forward(const struct attn_problem *problem, const struct deltanet_params *params, const float *q,
    const float *k, const float *v,
    float *out, void *workspace)
{
    return attn_call_forward(&kernel, problem, params, (const void *const[]){q, k, v, out}, workspace);
}
static int forward_any(const struct attn_problem *problem, const void *params, const void *q, const void *k,
    const void *v, void *out, void *workspace)
{
    return attn_call_forward(&kernel, problem, params, (const void *const[]){q, k, v, out}, workspace);
}
static int params_init_any(void *params, uint64_t seed, void *storage)
{
    return attn_call_params_init(&kernel, params, seed, storage);
}
const struct attn_kernel deltanet_kernel = {
    .name = "deltanet", .version = "0.2.0", .dtype = ATTN_F32, .head_dim = 64, .value_dim = 64,
    .params = 1, .param = param, .params_bytes = sizeof(struct deltanet_params),
    .params_size = deltanet_params_size, .params_init = params_init_any, .forward = forward_any,
    .workspace = deltanet_workspace,
    .key_dtype = ATTN_F32, .value_dtype = ATTN_F32,
    .strides = offsetof(struct deltanet_params, strides), .strides_bytes = sizeof(struct deltanet_strides),
    .before = INT64_MAX, .after = 0, .period = 0, .names_heads = 0, .names_sequences = 0, .in_parts = 0,
    .saved_power = 0, .has_sink = 0, .open_keys = 0, .end_of_keys = INT64_MAX,
};
#endif /* a compiler of this language */
#endif /* SECTION */
