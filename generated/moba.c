/* moba.c, made by attnc 0.2.0: attnc moba.yaml
   C11 with GNU extensions, for a C compiler; C++ includes moba.h.
   mixture of block attention: a query sees its own block and the 2 earlier blocks whose mean key fits it best
   Lu et al., MoBA (arXiv 2025), section 2.2, equations 2 to 6 with blocks of 512 and k = 3

   Computes, in f32, over the axes b (batch), g (key/value head), m (query head of g), i (query), j (key), d (64),
   e (64), listed (3):
     q [b g m i d]
     k [b g j d]
     v [b g j e]
     mean [b g j d], learned parameter
     x4 [b g m i j] = sum over d of q * mean
     x5 [b g m i j] = sum over d of q * k
     x6 [b g m i j] = exp(x5 * 0.125)
     x7 [b g m i j] = j / 512 == (i + query_start) / 512 ? 1e+30 : j % 512 == 511 ? x4 : -1e+30
     taken [b g m i listed] = 
     x9 [b g m i] = sum over j of x6 if j <= i + query_start && drawn(i, floor(j / 512),
     ((b * kv_heads + g) * members + m) * n_q, in taken)
     x10 [b g m i e] = sum over j of x6 * v if j <= i + query_start && drawn(i, floor(j / 512),
     ((b * kv_heads + g) * members + m) * n_q, in taken)
     x11 [b g m i e] = x9 == 0 ? 0 : x10 / x9
     out = x11
   query_start is the position of the first query: problem.query_start[b], or n_k - n_q if that is NULL.

   How: each vector lane holds one query. Keys are processed in tiles,
   so row sums and maxima need no reduction across lanes.
   The sums of a tile start from zero and are added to the sums so far. Tiles that no query sees are skipped.
     x86-64-v4  quadratic tiles of 64 queries and 288 keys; 159488 bytes of workspace per thread
     x86-64-v3  quadratic tiles of 64 queries and 288 keys; 159488 bytes of workspace per thread
     generic    quadratic tiles of 64 queries and 288 keys; 159488 bytes of workspace per thread

   Contents:
     loops      moba_rows, moba_select
     targets    x86-64-v4, x86-64-v3, generic
     tables     arrays and programs, for the functions of attnrt that call the loops
     interface  moba_workspace, moba_forward, moba_kernel
   The file includes itself, so that the loops are compiled once for each target. T(name) is a name with the target's
   suffix, LANES the elements of its vectors, and OF(…) a number for each target.

   Compile with: cc -O2 -fopenmp moba.c … -lattnrt -lm */
#ifdef SECTION
#include <attnrt/kernel/vector.h>
#include <attnrt/kernel/elementary.h>
#include <attnrt/kernel/draw.h>
#include <attnrt/kernel/listed.h>
#include <attnrt/kernel/select.h>
#include <attnrt/kernel/product.h>

/* The functions for the products below. Each calls dot or a similar function with constants. */
TARGET APART void T(dot0)(int64_t lanes, int64_t rows, const float *a, int64_t a_row, const float *b, float *c,
    const float *next, int64_t next_row, const float *result, int64_t result_row, int64_t results)
{
    T(dot_ahead)(/*vectors=*/OF(4, 2, 2), lanes, rows, /*tail=*/-1, /*steps=*/64, /*span=*/32, a, a_row, /*a_step=*/1,
        b, /*b_step=*/80, c, /*c_row=*/80, /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL, next, next_row,
        /*width=*/64, result, result_row, /*result_width=*/64, results);
}
TARGET APART void T(dot1)(int64_t lanes, int64_t steps, const float *a, int64_t a_step, const float *b, float *c,
    const float *factor, float *compensation)
{
    T(dot_finite)(/*vectors=*/OF(4, 2, 2), lanes, /*rows=*/64, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/1, a_step,
        b, /*b_step=*/80, c, /*c_row=*/80, /*update=*/3, factor, compensation);
}
TARGET APART void T(dot2)(int64_t lanes, int64_t steps, const float *a, int64_t a_step, const float *b, float *c,
    const float *factor, float *compensation)
{
    T(dot)(/*vectors=*/OF(4, 2, 2), lanes, /*rows=*/64, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/1, a_step, b,
        /*b_step=*/80, c, /*c_row=*/80, /*update=*/3, factor, compensation);
}
TARGET APART void T(dot3)(int64_t rows, const float *a, int64_t a_row, const float *b, float *c)
{
    T(select_product)(rows, /*steps=*/64, a, a_row, b, /*b_step=*/80, c, /*c_row=*/80);
}
TARGET APART void T(dot4)(int64_t lanes, int64_t rows, const float *a, int64_t a_row, int64_t a_step, const float *b,
    float *c)
{
    T(dot)(/*vectors=*/OF(4, 2, 2), lanes, rows, /*tail=*/-1, /*steps=*/64, /*span=*/32, a, a_row, a_step, b,
        /*b_step=*/80, c, /*c_row=*/80, /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL);
}
TARGET APART void T(dot5)(int64_t lanes, float *best, float *known, const float *value, struct attn_range keys)
{
    T(select)(lanes, /*count=*/3, /*block=*/512, best, /*best_row=*/160, known, /*known_row=*/80, value,
        /*value_row=*/80, keys);
}
TARGET APART void T(dot6)(int64_t lanes, float *best, float *known, int32_t *list, const struct share *share)
{
    T(select_list)(lanes, /*count=*/3, /*block=*/512, best, /*best_row=*/160, known, /*known_row=*/80, list, share,
        /*own=*/154880);
}

/* Computes task number `task`: one tile of queries of one head. `work` is this thread's workspace. */
TARGET static void T(moba_rows)(const struct call *call, int64_t task, unsigned char *work)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_q = call->p.n_q;
    const int64_t n_k = call->p.n_k;
    const int64_t tiles = (n_q + 64 - 1) / 64, i0 = (tiles - 1 - task % tiles) * 64,
        i1 = min(i0 + 64, n_q);
    const int64_t m = task / tiles % members;
    const int64_t g = task / tiles / members % kv_heads;
    const int64_t b = task / tiles / members / kv_heads;
    const int64_t query_start = call->p.query_start ? call->p.query_start[b] : n_k - n_q;
    const float *const q = (const float *)call->array[ARRAY_q].at + b * call->array[ARRAY_q].strides.batch + (g /
        call->sharing * members + m) * call->array[ARRAY_q].strides.head;
    const int64_t q_row = call->array[ARRAY_q].strides.row;
    const float *const k = (const float *)call->array[ARRAY_k].at + b * call->array[ARRAY_k].strides.batch + g /
        call->sharing * call->array[ARRAY_k].strides.head;
    const int64_t k_row = call->array[ARRAY_k].strides.row;
    const float *const v = (const float *)call->array[ARRAY_v].at + b * call->array[ARRAY_v].strides.batch + g *
        call->array[ARRAY_v].strides.head;
    const int64_t v_row = call->array[ARRAY_v].strides.row;
    const int32_t *const taken = (const int32_t *)call->array[ARRAY_taken].at;
    float *const score = (float *)(void *)(work + 0); /* [j: 288, i: 64 of 80] */
    float *const row_max = (float *)(void *)(work + 92160); /* [i: 64] */
    float *const old_max = (float *)(void *)(work + 92416); /* [i: 64] */
    float *const row_sum = (float *)(void *)(work + 92672); /* [i: 64] */
    float *const row_sum_compensation = (float *)(void *)(work + 92928); /* [i: 64] */
    float *const sum = (float *)(void *)(work + 93184); /* [e: 64, i: 64 of 80] */
    float *const sum_compensation = (float *)(void *)(work + 113664); /* [e: 64, i: 64 of 80] */
    float *const out = (float *)call->array[ARRAY_out].at + b * call->array[ARRAY_out].strides.batch + (g * members + m)
        * call->array[ARRAY_out].strides.head;
    const int64_t out_row = call->array[ARRAY_out].strides.row;
    float *const q_tile = (float *)(void *)(work + 134144); /* [d: 64, i: 64 of 80] */
    int64_t results = i1 - i0; /* rows of out to prefetch during the first product */
    /* q_tile = q, with zeros beyond the last row */
    T(transpose_padded)(q + i0 * q_row, q_row, i1 - i0, 64, q_tile, 80, LANES);
    /* q_tile = q_tile * 0.18033688f */
    for (int64_t d = 0; d < 64; d++) {
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            T(store)(q_tile + d * 80 + i, T(load)(q_tile + d * 80 + i) * 0.18033688f);
        }
    }
    /* row_max = -FLT_MAX; row_sum = 0.0f; row_sum_compensation = 0.0f */
    for (int64_t i = 0; i < i1 - i0; i += LANES) {
        T(store)(row_max + i, T(splat)(-FLT_MAX));
        T(store)(row_sum + i, T(splat)(0.0f));
        T(store)(row_sum_compensation + i, T(splat)(0.0f));
    }
    /* sum = 0.0f; sum_compensation = 0.0f */
    for (int64_t e = 0; e < 64; e++) {
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            T(store)(sum + e * 80 + i, T(splat)(0.0f));
            T(store)(sum_compensation + e * 80 + i, T(splat)(0.0f));
        }
    }
    for (int64_t j0 = 0, j_end = min(n_k, i1 + query_start); j0 < j_end; j0 += 288) {
        const int64_t j1 = min(j0 + 288, j_end);
        if (!(any_sorted(taken, 3, (((((b * kv_heads) + g) * members) + m) * n_q) + i0,
            (((((b * kv_heads) + g) * members) + m) * n_q) + i1, (j0 - floor_mod(j0, 512)) / 512,
            ((j1 - floor_mod(j1 - 1, 512) - 1) / 512) + 1))) continue; /* no query sees a key of the tile */
        /* drawn_0: which keys of this tile are in the lists of its rows */
        const struct listed drawn_0 = {i0, (j0 - floor_mod(j0, 512)) / 512, 2, (uint64_t *)(void *)(work + 154624)};
        find_listed(&drawn_0, taken + (((((b * kv_heads) + g) * members) + m) * n_q + drawn_0.first) * 3, 3, i1 - 1,
            (j1 - floor_mod(j1 - 1, 512) - 1) / 512);
        /* score[j][i] = sum over d of k * q_tile */
        T(dot0)(round_up(i1 - i0, LANES), j1 - j0, k + j0 * k_row, k_row, q_tile, score, v + j0 * v_row, v_row,
            out + i0 * out_row, out_row, results);
        results = 0;
        /* old_max = row_max */
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            T(store)(old_max + i, T(load)(row_max + i));
        }
        /* score = select((j <= (i + query_start)) && drawn(i, (j - floormod(j, 512)) / 512,
           ((((b * kv_heads) + g) * members) + m) * n_q), ... */
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            const T(ints) t_0 = i0 + i + T(lane);
            const T(ints) t_1 = t_0 + query_start;
            T(vec) row_max_in = T(load)(row_max + i);
            for (int64_t j = 0; j < j1 - j0; j++) {
                const T(vec) score_2 = T(load)(score + j * 80 + i);
                const T(vec) score_new3 = T(pick)(__builtin_convertvector((j0 + j) <= t_1,
                    T(mask)) & T(listed)(&drawn_0, &t_0, ((j0 + j) - floor_mod(j0 + j, 512)) / 512), score_2,
                    T(splat)(-INFINITY));
                T(store)(score + j * 80 + i, score_new3);
                row_max_in = T(max)(row_max_in, score_new3);
            }
            T(store)(row_max + i, row_max_in);
        }
        /* old_max = exp2(old_max - row_max); row_sum = row_sum * old_max;
           row_sum_compensation = row_sum_compensation * old_max */
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            const T(vec) old_max_4 = T(load)(old_max + i);
            const T(vec) old_max_new5 = T(exp2)(old_max_4 - T(load)(row_max + i));
            T(store)(old_max + i, old_max_new5);
            T(store)(row_sum + i, T(load)(row_sum + i) * old_max_new5);
            T(store)(row_sum_compensation + i, T(load)(row_sum_compensation + i) * old_max_new5);
        }
        /* score = exp2(score - row_max); row_sum += score */
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            const T(vec) row_max_7 = T(load)(row_max + i);
            T(vec) row_sum_in = (T(vec)){0};
            for (int64_t j = 0; j < j1 - j0; j++) {
                const T(vec) score_6 = T(load)(score + j * 80 + i);
                const T(vec) score_new8 = T(exp2)(score_6 - row_max_7);
                T(store)(score + j * 80 + i, score_new8);
                row_sum_in += score_new8;
            }
            T(add)(row_sum + i, row_sum_compensation + i, row_sum_in, T(splat)(1));
        }
        /* sum[e][i] = sum * old_max + sum over j of v * score */
        if (__builtin_expect(!T(finite)(v + j0 * v_row, v_row, j1 - j0, 64),
            0)) { /* infinity and NaN affect only queries that see them */
            T(dot1)(round_up(i1 - i0, LANES), j1 - j0, v + j0 * v_row, v_row, score, sum, old_max, sum_compensation);
            for (int64_t j = 0; j < j1 - j0; j++) {
                T(mask) in_region[OF(4, 8, 16)] = {0};
                if (T(finite)(v + j0 * v_row + j * v_row, 1, 64, 1)) continue;
                const int64_t t_10 = ((j0 + j) - floor_mod(j0 + j, 512)) / 512;
                for (int64_t i = 0; i < i1 - i0; i += LANES) {
                    const T(ints) t_9 = i0 + i + T(lane);
                    in_region[i / LANES] = __builtin_convertvector((j0 + j) <= (t_9 + query_start),
                        T(mask)) & T(listed)(&drawn_0, &t_9, t_10);
                }
                T(add_seen)(64, sum, 80, v + j0 * v_row + j * v_row, 1, score + j * 80, in_region, i1 - i0);
            }
        } else
            T(dot2)(round_up(i1 - i0, LANES), j1 - j0, v + j0 * v_row, v_row, score, sum, old_max, sum_compensation);
    }
    /* sum = select(row_sum == 0.0f, 0.0f, sum * (1.0f / row_sum)) */
    for (int64_t i = 0; i < i1 - i0; i += LANES) {
        const T(vec) row_sum_11 = T(load)(row_sum + i);
        const T(mask) t_12 = row_sum_11 == 0.0f;
        const T(vec) t_13 = 1.0f / row_sum_11;
        for (int64_t e = 0; e < 64; e++) {
            T(store)(sum + e * 80 + i, T(pick)(t_12, T(splat)(0.0f), T(load)(sum + e * 80 + i) * t_13));
        }
    }
    /* out = sum, transposed back */
    T(transpose_out)(sum, 80, 64, i1 - i0, out + i0 * out_row, out_row, LANES);
}

/* Computes task number `task`: one tile of queries of one head. The threads of `share` share its keys. */
TARGET static void T(moba_select)(const struct call *call, int64_t task, struct share *share)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_q = call->p.n_q;
    const int64_t n_k = call->p.n_k;
    const int64_t tiles = (n_q + 64 - 1) / 64, i0 = (tiles - 1 - task % tiles) * 64,
        i1 = min(i0 + 64, n_q);
    const int64_t m = task / tiles % members;
    const int64_t g = task / tiles / members % kv_heads;
    const int64_t b = task / tiles / members / kv_heads;
    unsigned char *const work = share->work;
    const int64_t query_start = call->p.query_start ? call->p.query_start[b] : n_k - n_q;
    const float *const q = (const float *)call->array[ARRAY_q].at + b * call->array[ARRAY_q].strides.batch + (g /
        call->sharing * members + m) * call->array[ARRAY_q].strides.head;
    const int64_t q_row = call->array[ARRAY_q].strides.row;
    const float *const mean_array = (const float *)call->array[ARRAY_mean_array].at + b *
        call->array[ARRAY_mean_array].strides.batch + g * call->array[ARRAY_mean_array].strides.head;
    const int64_t mean_array_row = call->array[ARRAY_mean_array].strides.row;
    const int64_t mean_array_stride_3 = call->array[ARRAY_mean_array].stride[3];
    float *const score = (float *)(void *)(work + 0); /* [j: 288, i: 64 of 80] */
    float *const best = (float *)(void *)(work + 92160); /* [i: 64, room: 160] */
    float *const best_known = (float *)(void *)(work + 133120); /* [known: 4, i: 64 of 80] */
    float *const q_tile = (float *)(void *)(work + 134400); /* [d: 64, i: 64 of 80] */
    /* q_tile = q, with zeros beyond the last row */
    T(transpose_padded)(q + i0 * q_row, q_row, i1 - i0, 64, q_tile, 80, LANES);
    /* best_known = -INFINITY */
    for (int64_t known = 0; known < 4; known++) {
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            T(store)(best_known + known * 80 + i, T(splat)(-INFINITY));
        }
    }
    const struct attn_range j_own = range_of_share(share, 0, min(n_k, i1 + query_start), 512);
    for (int64_t j0 = j_own.from, j_end = j_own.to; j0 < j_end; j0 += 288) {
        const int64_t j1 = min(j0 + 288, j_end);
        /* score[j][i] = sum over d of mean_array * q_tile */
        if (i1 - i0 == 1 && mean_array_stride_3 == 1)
            T(dot3)(j1 - j0, mean_array + j0 * mean_array_row, mean_array_row, q_tile, score);
        else
        T(dot4)(round_up(i1 - i0, LANES), j1 - j0, mean_array + j0 * mean_array_row, mean_array_row,
            mean_array_stride_3, q_tile, score);
        /* score = select((j / 512) == ((i + query_start) / 512), 1e+30f, select((j % 512) == 511, score, -1e+30f)) */
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            const T(ints) t_0 = ((i0 + i + T(lane)) + query_start) / 512;
            for (int64_t j = 0; j < j1 - j0; j++) {
                T(store)(score + j * 80 + i, T(pick)(__builtin_convertvector(((j0 + j) / 512) == t_0, T(mask)),
                    T(splat)(1e+30f), (((j0 + j) % 512) == 511) ? T(load)(score + j * 80 + i) : T(splat)(-1e+30f)));
            }
        }
        if ((i0 + query_start + 1) < j1) { /* the tile is partly outside the mask */
            /* score = select(j <= (i + query_start), score, -INFINITY) */
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                const T(ints) t_1 = (i0 + i + T(lane)) + query_start;
                for (int64_t j = 0; j < j1 - j0; j++) {
                    T(store)(score + j * 80 + i, T(pick)(__builtin_convertvector((j0 + j) <= t_1, T(mask)),
                        T(load)(score + j * 80 + i), T(splat)(-INFINITY)));
                }
            }
        }
        /* adds the keys of the tile to the candidates of each row */
        T(dot5)(i1 - i0, best, best_known, score, (struct attn_range){j0, j1});
    }
    /* the numbers of the best candidates of each row, of all threads */
    T(dot6)(i1 - i0, best, best_known, (int32_t *)call->array[ARRAY_taken].at + ((((((b * kv_heads) + g) * members) + m)
        * n_q) + i0) * 3, share);
}
#include <attnrt/kernel/end.h>
#else
#ifdef __cplusplus
#error "moba.c is C, not C++: compile it with a C compiler"
#elif !defined __STDC_VERSION__ || __STDC_VERSION__ < 199901L
#error "moba.c is C11, not C89: compile it without -std=, or with -std=gnu11"
extern int moba_is_c11;
#elif !defined __GNUC__
#error "moba.c uses GNU C vector extensions: compile it with gcc or clang"
extern int moba_is_gnu_c;
#else
#include "moba.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include <attnrt/kernel/optimize.h>
#include <attnrt/kernel/call.h>
#include <attnrt/kernel/masks.h>

/* the numbers of the arrays of a call */
enum {
    ARRAY_q, ARRAY_k, ARRAY_v, ARRAY_out, ARRAY_mean_array, ARRAY_taken
};

#ifdef __FILE_NAME__
#define LOOPS __FILE_NAME__ /* this file, whose first part has the loops */
#else
#define LOOPS "moba.c"
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
#define COMPENSATED 1
#define AHEAD 64
#define NEAR 3
#define MAX_STEPS 288
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
#define COMPENSATED 1
#define AHEAD 64
#define NEAR 3
#define MAX_STEPS 288
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
#define COMPENSATED 1
#define AHEAD 64
#define NEAR 2
#define MAX_STEPS 288
#define OF(v4, v3, any) any /* a number of each target */
#define SECTION
#include LOOPS
#undef SECTION

/* ==== tables for the library that calls these functions (attnrt/kernel/call.h) ==== */
static const struct attn_param param[] = {
    {"mean", ATTN_F32, 4, {ATTN_BATCH, ATTN_KV_HEADS, ATTN_N_K, 64}, offsetof(struct moba_params, mean), 0,
        offsetof(struct moba_strides, mean), 0, 1, ATTN_NO_LIMITS},
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
    {.name = "mean", .access = {ACCESS_READ, ACCESS_NONE}, .dtype = ATTN_F32, .rows = ROWS_OF_KEYS,
        .origin = FROM_PARAMS, .param = 0, .axis = {0, 1, 2}, .has_rows = 1},
    {.name = "taken", .access = {ACCESS_NONE, ACCESS_NONE}, .dtype = ATTN_I32, .rows = ROWS_OF_QUERIES,
        .origin = FROM_LISTS, .elements = 3, .sizes = 1 << -ATTN_BATCH | 1 << -ATTN_HEADS | 1 << -ATTN_N_Q},
};

#if defined(__x86_64__)
static int runs_v4(void)
{
    return attn_x86_64_level() >= 4;
}
static const struct program programs_v4[] = {
    {.role = RUN_FORWARD,
     .rows = moba_rows_v4, .tile = 64, .own = 159488, .of_pair = 128},
    {.role = RUN_SELECT,
     .head = moba_select_v4, .tile = 64, .own = 154880, .of_pair = 128, .together = 1},
};
#endif
#if defined(__x86_64__)
static int runs_v3(void)
{
    return attn_x86_64_level() >= 3;
}
static const struct program programs_v3[] = {
    {.role = RUN_FORWARD,
     .rows = moba_rows_v3, .tile = 64, .own = 159488, .of_pair = 128},
    {.role = RUN_SELECT,
     .head = moba_select_v3, .tile = 64, .own = 154880, .of_pair = 128, .together = 1},
};
#endif
static const struct program programs_any[] = {
    {.role = RUN_FORWARD,
     .rows = moba_rows_any, .tile = 64, .own = 159488, .of_pair = 128},
    {.role = RUN_SELECT,
     .head = moba_select_any, .tile = 64, .own = 154880, .of_pair = 128, .together = 1},
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
    .layout = KERNEL_LAYOUT, .name = "moba", .openmp = OPENMP,
    .target = target, .targets = sizeof target / sizeof *target - 1,
    .array = array, .arrays = sizeof array / sizeof *array,
    .param = param, .params = 1, .params_bytes = sizeof(struct moba_params),
    .dtype = ATTN_F32, .key_dtype = ATTN_F32, .value_dtype = ATTN_F32, .real = sizeof(float), .element = sizeof(float),
    .head_dim = 64, .value_dim = 64, .key_row = 64, .value_row = 64,
    .strided = 1, .strides = offsetof(struct moba_params, strides),
    .shares = 1,
    .positions = 1,
    .ids = -1,
    .corrected = -1,
    .lists = 1,
    .solution = -1,
};

/* ==== the interface ==== */
size_t moba_params_size(void) { return attn_call_params_size(&kernel); }
int moba_params_init(struct moba_params *params, uint64_t seed, void *storage)
{
    return attn_call_params_init(&kernel, params, seed, storage);
}
size_t moba_workspace(const struct attn_problem *problem) { return attn_call_workspace(&kernel, problem); }
int moba_forward(const struct attn_problem *problem, const struct moba_params *params, const float *q, const float *k,
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
static int params_init_any(void *params, uint64_t seed, void *storage)
{
    return attn_call_params_init(&kernel, params, seed, storage);
}
const struct attn_kernel moba_kernel = {
    .name = "moba", .version = "0.2.0", .dtype = ATTN_F32, .head_dim = 64, .value_dim = 64,
    .params = 1, .param = param, .params_bytes = sizeof(struct moba_params),
    .params_size = moba_params_size, .params_init = params_init_any, .forward = forward_any,
    .workspace = moba_workspace,
    .key_dtype = ATTN_F32, .value_dtype = ATTN_F32,
    .strides = offsetof(struct moba_params, strides), .strides_bytes = sizeof(struct moba_strides),
    .before = INT64_MAX, .after = 0, .period = 0, .names_heads = 1, .names_sequences = 0, .in_parts = 0,
    .saved_power = 0, .has_sink = 0, .open_keys = 0, .end_of_keys = INT64_MAX,
};
#endif /* a compiler of this language */
#endif /* SECTION */
