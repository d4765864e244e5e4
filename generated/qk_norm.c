/* qk_norm.c, made by attnc 0.2.0: attnc qk_norm.yaml
   C11 with GNU extensions, for a C compiler; C++ includes qk_norm.h.
   causal softmax attention with learned layer norms of queries and keys before the rotation
   Dehghani et al., Scaling Vision Transformers to 22 Billion Parameters (ICML 2023), section 2, QK normalization;
   Su et al., RoFormer: Enhanced Transformer with Rotary Position Embedding (arXiv 2021), section 3.2

   Computes, in f32, over the axes b (batch), g (key/value head), m (query head of g), i (query), j (key), d (64),
   e (64), t (32):
     q [b g m i d]
     k [b g j d]
     v [b g j e]
     x3 [b g j] = sum over d of k
     x4 [b g j d] = k - x3 * 0.015625
     x5 [b g j d] = x4 * x4
     x6 [b g j] = sum over d of x5
     x7 [b g j] = 1 / sqrt(x6 * 0.015625 + 1e-05)
     k_norm.weight [d], learned parameter
     k_norm.bias [d], learned parameter
     x10 [b g j d] = x4 * x7 * k_norm.weight + k_norm.bias
     rope_theta [t], constant
     x12 [j t] = cos(j * rope_theta)
     x13 [j t] = sin(j * rope_theta)
     x14 [b g j d] = x10 * x12[j, d / 2] + x10[b, g, j, d % 2 == 0 ? d + 1 : d + -1] * x13[j,
     d / 2] * (d % 2 == 0 ? -1 : 1)
     x15 [b g m i] = sum over d of q
     x16 [b g m i d] = q - x15 * 0.015625
     x17 [b g m i d] = x16 * x16
     x18 [b g m i] = sum over d of x17
     x19 [b g m i] = 1 / sqrt(x18 * 0.015625 + 1e-05)
     q_norm.weight [d], learned parameter
     q_norm.bias [d], learned parameter
     x22 [b g m i d] = x16 * x19 * q_norm.weight + q_norm.bias
     x23 [b i t] = cos((i + query_start) * rope_theta)
     x24 [b i t] = sin((i + query_start) * rope_theta)
     x25 [b g m i d] = x22 * x23[b, i, d / 2] + x22[b, g, m, i, d % 2 == 0 ? d + 1 : d + -1] * x24[b, i,
     d / 2] * (d % 2 == 0 ? -1 : 1)
     x26 [b g m i j] = sum over d of x25 * x14
     x27 [b g m i j] = exp(x26 * 0.125)
     x28 [b g m i] = sum over j of x27 if j <= i + query_start
     x29 [b g m i e] = sum over j of x27 * v if j <= i + query_start
     x30 [b g m i e] = x28 == 0 ? 0 : x29 / x28
     out = x30
   query_start is the position of the first query: problem.query_start[b], or n_k - n_q if that is NULL.

   How: each vector lane holds one query. Keys are processed in tiles,
   so row sums and maxima need no reduction across lanes.
   The sums of a tile start from zero and are added to the sums so far. Tiles that no query sees are skipped.
   For few queries each lane holds one key. The queries of all heads that share keys are the rows of one tile,
   so each key is read once.
   The chunks of keys are divided among the threads. Their sums are added in the order of the chunks.
     x86-64-v4  quadratic tiles of 32 queries and 96 keys, in blocks of 256 queries;
     273408 bytes of workspace per thread
     x86-64-v4  few       tiles of 64 queries and 128 keys; 278464 bytes of workspace per thread
     x86-64-v3  quadratic tiles of 16 queries and 96 keys, in blocks of 256 queries;
     273408 bytes of workspace per thread
     x86-64-v3  few       tiles of 64 queries and 128 keys; 278464 bytes of workspace per thread
     generic    quadratic tiles of 16 queries and 96 keys, in blocks of 128 queries;
     173568 bytes of workspace per thread
     generic    few       tiles of 64 queries and 128 keys; 278464 bytes of workspace per thread

   Contents:
     loops      qk_norm_rows, qk_norm_few
     targets    x86-64-v4, x86-64-v3, generic
     tables     arrays and programs, for the functions of attnrt that call the loops
     interface  qk_norm_workspace, qk_norm_forward, qk_norm_kernel
   The file includes itself, so that the loops are compiled once for each target. T(name) is a name with the target's
   suffix, LANES the elements of its vectors, and OF(…) a number for each target.

   Compile with: cc -O2 -fopenmp qk_norm.c … -lattnrt -lm */
#ifdef SECTION
#include <attnrt/kernel/vector.h>
#include <attnrt/kernel/elementary.h>
#include <attnrt/kernel/product.h>

#define S(name) T(name)
#define AT_ONCE 16
#if OF(1, 0, 1)
#define EARLY 1
#endif
#define EARLY_FOR_SEVERAL OF(32, 32, 64)
#define SEVERAL_FROM OF(9, 2, 2)
#if OF(1, 0, 0)
#define SOONER 1
#endif
#include <attnrt/kernel/stored.h>

/* The functions for the products below. Each calls dot or a similar function with constants. */
TARGET APART void T(dot0)(int64_t lanes, int64_t rows, const float *a, const float *b, float *c)
{
    T(dot)(/*vectors=*/2, lanes, rows, /*tail=*/-1, /*steps=*/64, /*span=*/32, a, /*a_row=*/1, /*a_step=*/96, b,
        /*b_step=*/OF(32, 16, 16), c, /*c_row=*/OF(32, 16, 16), /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL);
}
TARGET APART void T(dot1)(int64_t lanes, int64_t steps, const float *a, int64_t a_step, const float *b, float *c,
    const float *factor, float *compensation)
{
    T(dot_finite)(/*vectors=*/2, lanes, /*rows=*/64, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/1, a_step, b,
        /*b_step=*/OF(32, 16, 16), c, /*c_row=*/OF(32, 16, 16), /*update=*/3, factor, compensation);
}
TARGET APART void T(dot2)(int64_t lanes, int64_t steps, const float *a, int64_t a_step, const float *b, float *c,
    const float *factor, float *compensation)
{
    T(dot)(/*vectors=*/2, lanes, /*rows=*/64, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/1, a_step, b,
        /*b_step=*/OF(32, 16, 16), c, /*c_row=*/OF(32, 16, 16), /*update=*/3, factor, compensation);
}
TARGET APART void T(dot3)(int64_t lanes, int64_t rows, const float *a, const float *b, float *c)
{
    T(dot)(/*vectors=*/OF(4, 2, 2), lanes, rows, /*tail=*/-1, /*steps=*/64, /*span=*/32, a, /*a_row=*/1, /*a_step=*/64,
        b, /*b_step=*/144, c, /*c_row=*/144, /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL);
}
TARGET APART void T(dot4)(int64_t rows, int64_t steps, const float *a, const float *b, int64_t b_step, float *c)
{
    T(dot_finite_lanes)(/*fetched=*/1, /*vectors=*/OF(4, 2, 2), /*lanes=*/64, rows, /*tail=*/-1, steps, /*span=*/192, a,
        /*a_row=*/144, /*a_step=*/1, b, b_step, c, /*c_row=*/64, /*update=*/1, /*factor=*/NULL, /*compensation=*/NULL);
}
#if OF(1, 0, 0)
TARGET APART void T(dot5)(int64_t rows, int64_t steps, const float *a, const float *b, int64_t b_step, float *c,
    int64_t early)
#else
TARGET APART void T(dot5)(int64_t rows, int64_t steps, const float *a, const float *b, int64_t b_step, float *c)
#endif
{
#if OF(1, 0, 0)
    T(dot_fetched)(/*vectors=*/4, /*lanes=*/64, rows, /*tail=*/-1, steps, /*span=*/192, a, /*a_row=*/144, /*a_step=*/1,
        b, b_step, c, /*c_row=*/64, /*update=*/1, /*factor=*/NULL, /*compensation=*/NULL, early);
#endif
#if OF(0, 1, 0)
    T(dot_fetched)(/*vectors=*/2, /*lanes=*/64, rows, /*tail=*/-1, steps, /*span=*/192, a, /*a_row=*/144, /*a_step=*/1,
        b, b_step, c, /*c_row=*/64, /*update=*/1, /*factor=*/NULL, /*compensation=*/NULL);
#endif
#if OF(0, 0, 1)
    T(dot_fetched)(/*vectors=*/2, /*lanes=*/64, rows, /*tail=*/-1, steps, /*span=*/192, a, /*a_row=*/144, /*a_step=*/1,
        b, b_step, c, /*c_row=*/64, /*update=*/1, /*factor=*/NULL, /*compensation=*/NULL, /*early=*/64);
#endif
}

/* Computes task number `task`: one tile of queries of one head. `work` is this thread's workspace. */
TARGET static void T(qk_norm_rows)(const struct call *call, int64_t task, unsigned char *work)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_q = call->p.n_q;
    const int64_t n_k = call->p.n_k;
    const int64_t tiles = (n_q + OF(256, 256, 128) - 1) / OF(256, 256, 128), i0 = (tiles - 1 - task % tiles) * OF(256,
        256, 128),
        i1 = min(i0 + OF(256, 256, 128), n_q);
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
    const float *const k_norm_weight = (const float *)call->array[ARRAY_k_norm_weight].at;
    const float *const k_norm_bias = (const float *)call->array[ARRAY_k_norm_bias].at;
    const float *const q_norm_weight = (const float *)call->array[ARRAY_q_norm_weight].at;
    const float *const q_norm_bias = (const float *)call->array[ARRAY_q_norm_bias].at;
    float *const key_sum = (float *)(void *)(work + 0); /* [j: 96] */
    float *const key_sum_2 = (float *)(void *)(work + 384); /* [j: 96] */
    float *const key_cos = (float *)(void *)(work + 0); /* [t: 32, j: 96] */
    float *const key_sin = (float *)(void *)(work + 12288); /* [t: 32, j: 96] */
    float *const key_3 = (float *)(void *)(work + 24576); /* [d: 64, j: 96] */
    float *const query_sum = (float *)(void *)(work + 0); /* [i: OF(32, 16, 16)] */
    float *const query_sum_2 = (float *)(void *)(work + OF(128, 64, 64)); /* [i: OF(32, 16, 16)] */
    float *const query_cos = (float *)(void *)(work + 0); /* [t: 32, i: OF(32, 16, 16)] */
    float *const query_sin = (float *)(void *)(work + OF(4096, 2048, 2048)); /* [t: 32, i: OF(32, 16, 16)] */
    float *const all_query_3 = (float *)(void *)(work + 49152); /* [d: 64, i: OF(32, 16, 16), OF(8, 16, 8) times] */
    float *const score = (float *)(void *)(work + 0); /* [j: 96, i: OF(32, 16, 16)] */
    float *const all_row_max = (float *)(void *)(work + OF(114688, 114688, 81920)); /* [i: OF(32, 16, 16), OF(8, 16,
        8) times] */
    float *const old_max = (float *)(void *)(work + OF(12288, 6144, 6144)); /* [i: OF(32, 16, 16)] */
    float *const all_row_sum = (float *)(void *)(work + OF(115712, 115712, 82432)); /* [i: OF(32, 16, 16), OF(8, 16,
        8) times] */
    float *const all_row_sum_compensation = (float *)(void *)(work + OF(116736, 116736, 82944)); /* [i: OF(32, 16, 16),
        OF(8, 16, 8) times] */
    float *const all_sum = (float *)(void *)(work + OF(117760, 117760, 83456)); /* [e: 64, i: OF(32, 16, 16), OF(8, 16,
        8) times] */
    float *const all_sum_compensation = (float *)(void *)(work + OF(183296, 183296, 116224)); /* [e: 64, i: OF(32, 16,
        16), OF(8, 16, 8) times] */
    float *const result = (float *)(void *)(work + 0); /* [e: 64, i: OF(32, 16, 16)] */
    float *const out = (float *)call->array[ARRAY_out].at + b * call->array[ARRAY_out].strides.batch + (g * members + m)
        * call->array[ARRAY_out].strides.head;
    const int64_t out_row = call->array[ARRAY_out].strides.row;
    float *const q_tile = (float *)(void *)(work + OF(8192, 4096, 4096)); /* [d: 64, i: OF(32, 16, 16)] */
    float *const k_tile = (float *)(void *)(work + OF(248832, 248832, 148992)); /* [d: 64, j: 96] */
    for (int64_t i_next = i0, i_block = i0, i_end = i1; i_next < i_end; i_next += OF(32, 16, 16)) {
        const int64_t i0 = i_next, i1 = min(i0 + OF(32, 16, 16), i_end);
        float *const query_3 = all_query_3 + (i0 - i_block) / OF(32, 16, 16) * OF(2048, 1024, 1024);
        float *const row_max = all_row_max + (i0 - i_block) / OF(32, 16, 16) * OF(32, 16, 16);
        float *const row_sum = all_row_sum + (i0 - i_block) / OF(32, 16, 16) * OF(32, 16, 16);
        float *const row_sum_compensation = all_row_sum_compensation + (i0 - i_block) / OF(32, 16, 16) * OF(32, 16, 16);
        float *const sum = all_sum + (i0 - i_block) / OF(32, 16, 16) * OF(2048, 1024, 1024);
        float *const sum_compensation = all_sum_compensation + (i0 - i_block) / OF(32, 16, 16) * OF(2048, 1024, 1024);
        /* q_tile = q, with zeros beyond the last row */
        T(transpose_padded)(q + i0 * q_row, q_row, i1 - i0, 64, q_tile, OF(32, 16, 16), LANES);
        /* query_sum = 0.0f */
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            T(store)(query_sum + i, T(splat)(0.0f));
        }
        /* query_sum += q_tile */
        for (int64_t i_first = 0; i_first < i1 - i0; i_first += (2 * LANES)) {
            T(vec) query_sum_in[2];
            UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += LANES) {
                query_sum_in[vector] = (T(vec)){0};
            }
            for (int64_t d = 0; d < 64; d++) {
                UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += LANES) {
                    query_sum_in[vector] += T(load)(q_tile + d * OF(32, 16, 16) + i);
                }
            }
            UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += LANES) {
                T(store)(query_sum + i, T(load)(query_sum + i) + query_sum_in[vector]);
            }
        }
        /* query_sum_2 = 0.0f */
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            T(store)(query_sum_2 + i, T(splat)(0.0f));
        }
        /* q_tile = q_tile - (query_sum * 0.015625f); query_sum_2 += q_tile * q_tile */
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            const T(vec) t_1 = T(load)(query_sum + i) * 0.015625f;
            T(vec) query_sum_2_in = (T(vec)){0};
            for (int64_t d = 0; d < 64; d++) {
                const T(vec) q_tile_0 = T(load)(q_tile + d * OF(32, 16, 16) + i);
                const T(vec) q_tile_new2 = q_tile_0 - t_1;
                T(store)(q_tile + d * OF(32, 16, 16) + i, q_tile_new2);
                query_sum_2_in += q_tile_new2 * q_tile_new2;
            }
            T(store)(query_sum_2 + i, T(load)(query_sum_2 + i) + query_sum_2_in);
        }
        /* q_tile = ((q_tile * (1.0f / sqrt((query_sum_2 * 0.015625f) + 1e-05f))) * q_norm.weight) + q_norm.bias */
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            const T(vec) t_3 = 1.0f / T(sqrt)((T(load)(query_sum_2 + i) * 0.015625f) + 1e-05f);
            for (int64_t d = 0; d < 64; d++) {
                T(store)(q_tile + d * OF(32, 16, 16) + i, ((T(load)(q_tile + d * OF(32, 16,
                    16) + i) * t_3) * q_norm_weight[d]) + q_norm_bias[d]);
            }
        }
        /* query_cos = cos((i + query_start) * rope_theta); query_sin = sin((i + query_start) * rope_theta) */
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            const T(ints) t_4 = (i0 + i + T(lane)) + query_start;
            for (int64_t t = 0; t < 32; t++) {
                const T(wide) angle5 = __builtin_convertvector(t_4, T(wide)) * rope_theta[t];
                T(store)(query_cos + t * OF(32, 16, 16) + i, T(cos)(&angle5));
                const T(wide) angle6 = __builtin_convertvector(t_4, T(wide)) * rope_theta[t];
                T(store)(query_sin + t * OF(32, 16, 16) + i, T(sin)(&angle6));
            }
        }
        /* query_3 = ((q_tile * query_cos) + ((q_tile * query_sin) * select((d % 2) == 0, -1.0f,
           1.0f))) * 0.18033688f */
        for (int64_t d = 0; d < 64; d++) {
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                T(store)(query_3 + d * OF(32, 16, 16) + i, ((T(load)(q_tile + d * OF(32, 16,
                    16) + i) * T(load)(query_cos + (d / 2) * OF(32, 16,
                    16) + i)) + ((T(load)(q_tile + (((d % 2) == 0) ? (d + 1) : (d - 1)) * OF(32, 16,
                    16) + i) * T(load)(query_sin + (d / 2) * OF(32, 16,
                    16) + i)) * (float)(((d % 2) == 0) ? (-1.0) : 1.0))) * 0.18033688f);
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
                T(store)(sum + e * OF(32, 16, 16) + i, T(splat)(0.0f));
                T(store)(sum_compensation + e * OF(32, 16, 16) + i, T(splat)(0.0f));
            }
        }
    }
    for (int64_t j0 = 0, j_end = min(n_k, i1 + query_start); j0 < j_end; j0 += 96) {
        const int64_t j1 = min(j0 + 96, j_end);
        /* k_tile = k, with zeros beyond the last row */
        T(transpose_padded)(k + j0 * k_row, k_row, j1 - j0, 64, k_tile, 96, 64);
        /* key_sum = 0.0f */
        for (int64_t j = 0; j < j1 - j0; j += LANES) {
            T(store)(key_sum + j, T(splat)(0.0f));
        }
        /* key_sum += k_tile */
        for (int64_t j_first = 0; j_first < j1 - j0; j_first += OF(48, 16, 8)) {
            T(vec) key_sum_in[OF(3, 2, 2)];
            UNROLL for (int64_t vector = 0, j = j_first; vector < OF(3, 2, 2); vector++, j += LANES) {
                key_sum_in[vector] = (T(vec)){0};
            }
            for (int64_t d = 0; d < 64; d++) {
                UNROLL for (int64_t vector = 0, j = j_first; vector < OF(3, 2, 2); vector++, j += LANES) {
                    key_sum_in[vector] += T(load)(k_tile + d * 96 + j);
                }
            }
            UNROLL for (int64_t vector = 0, j = j_first; vector < OF(3, 2, 2); vector++, j += LANES) {
                T(store)(key_sum + j, T(load)(key_sum + j) + key_sum_in[vector]);
            }
        }
        /* key_sum_2 = 0.0f */
        for (int64_t j = 0; j < j1 - j0; j += LANES) {
            T(store)(key_sum_2 + j, T(splat)(0.0f));
        }
        /* k_tile = k_tile - (key_sum * 0.015625f); key_sum_2 += k_tile * k_tile */
        for (int64_t j = 0; j < j1 - j0; j += LANES) {
            const T(vec) t_8 = T(load)(key_sum + j) * 0.015625f;
            T(vec) key_sum_2_in = (T(vec)){0};
            for (int64_t d = 0; d < 64; d++) {
                const T(vec) k_tile_7 = T(load)(k_tile + d * 96 + j);
                const T(vec) k_tile_new9 = k_tile_7 - t_8;
                T(store)(k_tile + d * 96 + j, k_tile_new9);
                key_sum_2_in += k_tile_new9 * k_tile_new9;
            }
            T(store)(key_sum_2 + j, T(load)(key_sum_2 + j) + key_sum_2_in);
        }
        /* k_tile = ((k_tile * (1.0f / sqrt((key_sum_2 * 0.015625f) + 1e-05f))) * k_norm.weight) + k_norm.bias */
        for (int64_t j = 0; j < j1 - j0; j += LANES) {
            const T(vec) t_10 = 1.0f / T(sqrt)((T(load)(key_sum_2 + j) * 0.015625f) + 1e-05f);
            for (int64_t d = 0; d < 64; d++) {
                T(store)(k_tile + d * 96 + j, ((T(load)(k_tile + d * 96 + j) * t_10) * k_norm_weight[d]) +
                    k_norm_bias[d]);
            }
        }
        /* key_cos = cos(j * rope_theta); key_sin = sin(j * rope_theta) */
        for (int64_t j = 0; j < j1 - j0; j += LANES) {
            const T(ints) t_11 = j0 + j + T(lane);
            for (int64_t t = 0; t < 32; t++) {
                const T(wide) angle12 = __builtin_convertvector(t_11, T(wide)) * rope_theta[t];
                T(store)(key_cos + t * 96 + j, T(cos)(&angle12));
                const T(wide) angle13 = __builtin_convertvector(t_11, T(wide)) * rope_theta[t];
                T(store)(key_sin + t * 96 + j, T(sin)(&angle13));
            }
        }
        /* key_3 = (k_tile * key_cos) + ((k_tile * key_sin) * select((d % 2) == 0, -1.0f, 1.0f)) */
        for (int64_t d = 0; d < 64; d++) {
            for (int64_t j = 0; j < j1 - j0; j += LANES) {
                T(store)(key_3 + d * 96 + j, (T(load)(k_tile + d * 96 + j) * T(load)(key_cos + (d / 2) * 96 + j)) +
                    ((T(load)(k_tile + (((d % 2) == 0) ? (d + 1) : (d - 1)) * 96 + j) * T(load)(key_sin + (d / 2) * 96 +
                    j)) * (float)(((d % 2) == 0) ? (-1.0) : 1.0)));
            }
        }
        for (int64_t i_next = i0, i_block = i0, i_end = i1; i_next < i_end; i_next += OF(32, 16, 16)) {
            const int64_t i0 = i_next, i1 = min(i0 + OF(32, 16, 16), i_end);
            float *const query_3 = all_query_3 + (i0 - i_block) / OF(32, 16, 16) * OF(2048, 1024, 1024);
            float *const row_max = all_row_max + (i0 - i_block) / OF(32, 16, 16) * OF(32, 16, 16);
            float *const row_sum = all_row_sum + (i0 - i_block) / OF(32, 16, 16) * OF(32, 16, 16);
            float *const row_sum_compensation = all_row_sum_compensation + (i0 - i_block) / OF(32, 16, 16) * OF(32, 16,
                16);
            float *const sum = all_sum + (i0 - i_block) / OF(32, 16, 16) * OF(2048, 1024, 1024);
            float *const sum_compensation = all_sum_compensation + (i0 - i_block) / OF(32, 16, 16) * OF(2048, 1024,
                1024);
            if (!(j0 < (i1 + query_start))) continue; /* no query sees a key of the tile */
            /* score[j][i] = sum over d of key_3 * query_3 */
            T(dot0)(round_up(i1 - i0, LANES), j1 - j0, key_3, query_3, score);
            /* old_max = row_max */
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                T(store)(old_max + i, T(load)(row_max + i));
            }
            if ((i0 + query_start + 1) < j1) { /* the tile is partly outside the mask */
                /* score = select(j <= (i + query_start), score, -INFINITY) */
                for (int64_t i = 0; i < i1 - i0; i += LANES) {
                    const T(ints) t_14 = (i0 + i + T(lane)) + query_start;
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        T(store)(score + j * OF(32, 16, 16) + i, T(pick)(__builtin_convertvector((j0 + j) <= t_14,
                            T(mask)), T(load)(score + j * OF(32, 16, 16) + i), T(splat)(-INFINITY)));
                    }
                }
            }
            /* row_max max= score */
            for (int64_t i_first = 0; i_first < i1 - i0; i_first += (2 * LANES)) {
                T(vec) row_max_in[2][2];
                UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += LANES) {
                    UNROLL for (int j_chain = 0; j_chain < 2; j_chain++) row_max_in[vector][j_chain] =
                        T(splat)(-INFINITY);
                }
                for (int64_t j_first = 0; j_first < j1 - j0; j_first += 2) {
                    UNROLL for (int j_chain = 0; j_chain < 2; j_chain++) {
                        const int64_t j = min(j_first + j_chain, j1 - j0 - 1);
                        UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += LANES) {
                            row_max_in[vector][j_chain] = T(max)(row_max_in[vector][j_chain], T(load)(score + j * OF(32,
                                16, 16) + i));
                        }
                    }
                }
                UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += LANES) {
                    T(store)(row_max + i, T(max)(T(load)(row_max + i), T(max)(row_max_in[vector][0],
                        row_max_in[vector][1])));
                }
            }
            /* old_max = exp2(old_max - row_max); row_sum = row_sum * old_max;
               row_sum_compensation = row_sum_compensation * old_max */
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                const T(vec) old_max_15 = T(load)(old_max + i);
                const T(vec) old_max_new16 = T(exp2)(old_max_15 - T(load)(row_max + i));
                T(store)(old_max + i, old_max_new16);
                T(store)(row_sum + i, T(load)(row_sum + i) * old_max_new16);
                T(store)(row_sum_compensation + i, T(load)(row_sum_compensation + i) * old_max_new16);
            }
            /* score = exp2(score - row_max); row_sum += score */
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                const T(vec) row_max_18 = T(load)(row_max + i);
                T(vec) row_sum_in = (T(vec)){0};
                for (int64_t j = 0; j < j1 - j0; j++) {
                    const T(vec) score_17 = T(load)(score + j * OF(32, 16, 16) + i);
                    const T(vec) score_new19 = T(exp2)(score_17 - row_max_18);
                    T(store)(score + j * OF(32, 16, 16) + i, score_new19);
                    row_sum_in += score_new19;
                }
                T(add)(row_sum + i, row_sum_compensation + i, row_sum_in, T(splat)(1));
            }
            /* sum[e][i] = sum * old_max + sum over j of v * score */
            if (__builtin_expect(((i0 + query_start + 1) < j1) && !T(finite)(v + j0 * v_row, v_row, j1 - j0, 64),
                0)) { /* infinity and NaN affect only queries that see them */
                T(dot1)(round_up(i1 - i0, LANES), j1 - j0, v + j0 * v_row, v_row, score, sum, old_max,
                    sum_compensation);
                for (int64_t j = 0; j < j1 - j0; j++) {
                    T(mask) in_region[OF(2, 2, 4)] = {0};
                    if (T(finite)(v + j0 * v_row + j * v_row, 1, 64, 1)) continue;
                    for (int64_t i = 0; i < i1 - i0; i += LANES) {
                        in_region[i / LANES] = __builtin_convertvector((j0 + j) <= ((i0 + i + T(lane)) + query_start),
                            T(mask));
                    }
                    T(add_seen)(64, sum, OF(32, 16, 16), v + j0 * v_row + j * v_row, 1, score + j * OF(32, 16, 16),
                        in_region, i1 - i0);
                }
            } else
                T(dot2)(round_up(i1 - i0, LANES), j1 - j0, v + j0 * v_row, v_row, score, sum, old_max,
                    sum_compensation);
        }
    }
    {
        for (int64_t i_next = i0, i_block = i0, i_end = i1; i_next < i_end; i_next += OF(32, 16, 16)) {
            const int64_t i0 = i_next, i1 = min(i0 + OF(32, 16, 16), i_end);
            float *const row_sum = all_row_sum + (i0 - i_block) / OF(32, 16, 16) * OF(32, 16, 16);
            float *const sum = all_sum + (i0 - i_block) / OF(32, 16, 16) * OF(2048, 1024, 1024);
            /* result = select(row_sum == 0.0f, 0.0f, sum * (1.0f / row_sum)) */
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                const T(vec) row_sum_20 = T(load)(row_sum + i);
                const T(mask) t_21 = row_sum_20 == 0.0f;
                const T(vec) t_22 = 1.0f / row_sum_20;
                for (int64_t e = 0; e < 64; e++) {
                    T(store)(result + e * OF(32, 16, 16) + i, T(pick)(t_21, T(splat)(0.0f), T(load)(sum + e * OF(32, 16,
                        16) + i) * t_22));
                }
            }
            /* out = result, transposed back */
            T(transpose_out)(result, OF(32, 16, 16), 64, i1 - i0, out + i0 * out_row, out_row, LANES);
        }
    }
}

/* Initialises the states: they contain no keys yet. */
TARGET APART void T(qk_norm_few_begin)(const struct call *call, int64_t task, const struct share *share,
    int64_t iteration)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_q = call->p.n_q;
    const int64_t n_k = call->p.n_k;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t r0 = iteration * 64, r1 = min(r0 + 64, rows);
    const int64_t g = task % kv_heads;
    const int64_t b = task / kv_heads;
    const int64_t query_start = call->p.query_start ? call->p.query_start[b] : n_k - n_q;
    const float *const q = (const float *)call->array[ARRAY_q].at + b * call->array[ARRAY_q].strides.batch + g /
        call->sharing * members * call->array[ARRAY_q].strides.head;
    const int64_t q_row = call->array[ARRAY_q].strides.row;
    const int64_t q_head = call->array[ARRAY_q].strides.head;
    const float *const q_norm_weight = (const float *)call->array[ARRAY_q_norm_weight].at;
    const float *const q_norm_bias = (const float *)call->array[ARRAY_q_norm_bias].at;
    float *const query_sum = (float *)(void *)(share->shared + 0); /* [r: 64] */
    float *const query = (float *)(void *)(share->shared + 256); /* [d: 64, r: 64] */
    float *const query_sum_2 = (float *)(void *)(share->shared + 16704); /* [r: 64] */
    float *const query_2 = (float *)(void *)(share->shared + 16960); /* [d: 64, r: 64] */
    float *const query_cos = (float *)(void *)(share->shared + 33408); /* [t: 32, r: 64] */
    float *const query_sin = (float *)(void *)(share->shared + 41664); /* [t: 32, r: 64] */
    float *const query_3 = (float *)(void *)(share->shared + 49920); /* [d: 64, r: 64] */
    float *const q_tile = (float *)(void *)(share->work + 0); /* [d: 64, r: 64 of 80] */
    /* q_tile = q, with zeros beyond the last row */
    for (int64_t r = r0; r < r0 + round_up(r1 - r0, LANES); r++)
        for (int64_t d = 0; d < 64; d++)
            q_tile[d * 80 + r] = r < r1 ? q[r / n_q * q_head + r % n_q * q_row + d] : 0;
    /* query_sum = 0.0f */
    for (int64_t r = r0; r < r1; r += LANES) {
        T(store)(query_sum + r, T(splat)(0.0f));
    }
    /* query_sum += q_tile */
    for (int64_t r = r0; r < r1; r += LANES) {
        T(vec) query_sum_in = (T(vec)){0};
        for (int64_t d = 0; d < 64; d++) {
            query_sum_in += T(load)(q_tile + d * 80 + r);
        }
        T(store)(query_sum + r, T(load)(query_sum + r) + query_sum_in);
    }
    /* query_sum_2 = 0.0f */
    for (int64_t r = r0; r < r1; r += LANES) {
        T(store)(query_sum_2 + r, T(splat)(0.0f));
    }
    /* query = q_tile - (query_sum * 0.015625f); query_sum_2 += query * query */
    for (int64_t r = r0; r < r1; r += LANES) {
        const T(vec) t_0 = T(load)(query_sum + r) * 0.015625f;
        T(vec) query_sum_2_in = (T(vec)){0};
        for (int64_t d = 0; d < 64; d++) {
            const T(vec) query_new1 = T(load)(q_tile + d * 80 + r) - t_0;
            T(store)(query + d * 64 + r, query_new1);
            query_sum_2_in += query_new1 * query_new1;
        }
        T(store)(query_sum_2 + r, T(load)(query_sum_2 + r) + query_sum_2_in);
    }
    /* query_2 = ((query * (1.0f / sqrt((query_sum_2 * 0.015625f) + 1e-05f))) * q_norm.weight) + q_norm.bias */
    for (int64_t r = r0; r < r1; r += LANES) {
        const T(vec) t_2 = 1.0f / T(sqrt)((T(load)(query_sum_2 + r) * 0.015625f) + 1e-05f);
        for (int64_t d = 0; d < 64; d++) {
            T(store)(query_2 + d * 64 + r, ((T(load)(query + d * 64 + r) * t_2) * q_norm_weight[d]) + q_norm_bias[d]);
        }
    }
    /* query_cos = cos(((r % n_q) + query_start) * rope_theta);
       query_sin = sin(((r % n_q) + query_start) * rope_theta) */
    for (int64_t r = r0; r < r1; r += LANES) {
        const T(ints) t_3 = ((r + T(lane)) % n_q) + query_start;
        for (int64_t t = 0; t < 32; t++) {
            const T(wide) angle4 = __builtin_convertvector(t_3, T(wide)) * rope_theta[t];
            T(store)(query_cos + t * 64 + r, T(cos)(&angle4));
            const T(wide) angle5 = __builtin_convertvector(t_3, T(wide)) * rope_theta[t];
            T(store)(query_sin + t * 64 + r, T(sin)(&angle5));
        }
    }
    /* query_3 = ((query_2 * query_cos) + ((query_2 * query_sin) * select((d % 2) == 0, -1.0f, 1.0f))) * 0.18033688f */
    for (int64_t r = r0; r < r1; r += LANES) {
        for (int64_t d = 0; d < 64; d++) {
            T(store)(query_3 + d * 64 + r, ((T(load)(query_2 + d * 64 + r) * T(load)(query_cos + (d / 2) * 64 + r)) +
                ((T(load)(query_2 + (((d % 2) == 0) ? (d + 1) : (d - 1)) * 64 + r) * T(load)(query_sin + (d / 2) * 64 +
                r)) * (float)(((d % 2) == 0) ? (-1.0) : 1.0))) * 0.18033688f);
        }
    }
}

/* Initialises the states: they contain no keys yet. */
TARGET APART void T(qk_norm_few_begin_2)(const struct call *call, int64_t task, const struct share *share,
    int64_t iteration)
{
    (void)task;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t r0 = iteration * 16, r1 = min(r0 + 16, rows);
    float *const carried_max = (float *)(void *)(share->shared + 66368); /* [r: 64] */
    float *const carried_sum = (float *)(void *)(share->shared + 66624); /* [r: 64] */
    float *const carried_sum_compensation = (float *)(void *)(share->shared + 83328); /* [r: 64] */
    float *const carried = (float *)(void *)(share->shared + 66880); /* [r: 64, e: 64] */
    float *const carried_compensation = (float *)(void *)(share->shared + 83584); /* [r: 64, e: 64] */
    /* carried_max = -FLT_MAX; carried_sum = 0.0f; carried_sum_compensation = 0.0f */
    for (int64_t r = r0; r < r1; r += LANES) {
        T(store)(carried_max + r, T(splat)(-FLT_MAX));
        T(store)(carried_sum + r, T(splat)(0.0f));
        T(store)(carried_sum_compensation + r, T(splat)(0.0f));
    }
    /* carried = 0.0f; carried_compensation = 0.0f */
    for (int64_t r = r0; r < r1; r++) {
        for (int64_t e_first = 0; e_first < 64; e_first += OF(64, 16, 8)) {
            UNROLL for (int64_t vector = 0, e = e_first; vector < OF(4, 2, 2); vector++, e += LANES) {
                T(store)(carried + r * 64 + e, T(splat)(0.0f));
                T(store)(carried_compensation + r * 64 + e, T(splat)(0.0f));
            }
        }
    }
}

/* Sums the keys of a chunk, from zero, into its slot. */
TARGET APART void T(qk_norm_few_keys)(const struct call *call, int64_t task, const struct share *share,
    int64_t iteration)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t n_q = call->p.n_q;
    const int64_t n_k = call->p.n_k;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t chunk = iteration;
    const int64_t chunk0 = share->chunk0;
    const int64_t g = task % kv_heads;
    const int64_t b = task / kv_heads;
    const int64_t query_start = call->p.query_start ? call->p.query_start[b] : n_k - n_q;
    const float *const k = (const float *)call->array[ARRAY_k].at + b * call->array[ARRAY_k].strides.batch + g /
        call->sharing * call->array[ARRAY_k].strides.head;
    const int64_t k_row = call->array[ARRAY_k].strides.row;
    const float *const v = (const float *)call->array[ARRAY_v].at + b * call->array[ARRAY_v].strides.batch + g *
        call->array[ARRAY_v].strides.head;
    const int64_t v_row = call->array[ARRAY_v].strides.row;
    const float *const k_norm_weight = (const float *)call->array[ARRAY_k_norm_weight].at;
    const float *const k_norm_bias = (const float *)call->array[ARRAY_k_norm_bias].at;
    float *const key_sum = (float *)(void *)(share->work + 0); /* [j: 128] */
    float *const key_sum_2 = (float *)(void *)(share->work + 512); /* [j: 128] */
    float *const key_cos = (float *)(void *)(share->work + 0); /* [t: 32, j: 128 of 144] */
    float *const key_sin = (float *)(void *)(share->work + 18432); /* [t: 32, j: 128 of 144] */
    float *const key_3 = (float *)(void *)(share->work + 36864); /* [d: 64, j: 128 of 144] */
    float *const query_3 = (float *)(void *)(share->shared + 49920); /* [d: 64, r: 64] */
    float *const score = (float *)(void *)(share->work + 0); /* [r: 64, j: 128 of 144] */
    float *const state_max = (float *)(void *)(share->slots + 0); /* [chunk, r: 64] */
    float *const old_max = (float *)(void *)(share->work + 36864); /* [r: 64] */
    float *const state_sum = (float *)(void *)(share->slots + 256); /* [chunk, r: 64] */
    float *const state = (float *)(void *)(share->slots + 512); /* [chunk, r: 64, e: 64] */
    float *const k_tile = (float *)(void *)(share->work + 73728); /* [d: 64, j: 128 of 144] */
    /* state_max = -FLT_MAX; state_sum = 0.0f */
    for (int64_t r = 0; r < rows; r += LANES) {
        T(store)(state_max + (chunk - chunk0) * 4240 + r, T(splat)(-FLT_MAX));
        T(store)(state_sum + (chunk - chunk0) * 4240 + r, T(splat)(0.0f));
    }
    /* state = 0.0f */
    for (int64_t r = 0; r < rows; r++) {
        for (int64_t e_first = 0; e_first < 64; e_first += OF(64, 16, 8)) {
            UNROLL for (int64_t vector = 0, e = e_first; vector < OF(4, 2, 2); vector++, e += LANES) {
                T(store)(state + (chunk - chunk0) * 4240 + r * 64 + e, T(splat)(0.0f));
            }
        }
    }
    for (int64_t j0 = chunk * 1024, j_end = min(min(n_k, (chunk + 1) * 1024), n_q + query_start); j0 < j_end;
        j0 += 128) {
        const int64_t j1 = min(j0 + 128, j_end);
        /* k_tile = k, with zeros beyond the last row */
        T(transpose_padded)(k + j0 * k_row, k_row, j1 - j0, 64, k_tile, 144, 64);
        /* key_sum = 0.0f */
        for (int64_t j = 0; j < j1 - j0; j += LANES) {
            T(store)(key_sum + j, T(splat)(0.0f));
        }
        /* key_sum += k_tile */
        for (int64_t j_first = 0; j_first < j1 - j0; j_first += OF(64, 16, 8)) {
            T(vec) key_sum_in[OF(4, 2, 2)];
            UNROLL for (int64_t vector = 0, j = j_first; vector < OF(4, 2, 2); vector++, j += LANES) {
                key_sum_in[vector] = (T(vec)){0};
            }
            for (int64_t d = 0; d < 64; d++) {
                UNROLL for (int64_t vector = 0, j = j_first; vector < OF(4, 2, 2); vector++, j += LANES) {
                    key_sum_in[vector] += T(load)(k_tile + d * 144 + j);
                }
            }
            UNROLL for (int64_t vector = 0, j = j_first; vector < OF(4, 2, 2); vector++, j += LANES) {
                T(store)(key_sum + j, T(load)(key_sum + j) + key_sum_in[vector]);
            }
        }
        /* key_sum_2 = 0.0f */
        for (int64_t j = 0; j < j1 - j0; j += LANES) {
            T(store)(key_sum_2 + j, T(splat)(0.0f));
        }
        /* k_tile = k_tile - (key_sum * 0.015625f); key_sum_2 += k_tile * k_tile */
        for (int64_t j = 0; j < j1 - j0; j += LANES) {
            const T(vec) t_7 = T(load)(key_sum + j) * 0.015625f;
            T(vec) key_sum_2_in = (T(vec)){0};
            for (int64_t d = 0; d < 64; d++) {
                const T(vec) k_tile_6 = T(load)(k_tile + d * 144 + j);
                const T(vec) k_tile_new8 = k_tile_6 - t_7;
                T(store)(k_tile + d * 144 + j, k_tile_new8);
                key_sum_2_in += k_tile_new8 * k_tile_new8;
            }
            T(store)(key_sum_2 + j, T(load)(key_sum_2 + j) + key_sum_2_in);
        }
        /* k_tile = ((k_tile * (1.0f / sqrt((key_sum_2 * 0.015625f) + 1e-05f))) * k_norm.weight) + k_norm.bias */
        for (int64_t j = 0; j < j1 - j0; j += LANES) {
            const T(vec) t_9 = 1.0f / T(sqrt)((T(load)(key_sum_2 + j) * 0.015625f) + 1e-05f);
            for (int64_t d = 0; d < 64; d++) {
                T(store)(k_tile + d * 144 + j, ((T(load)(k_tile + d * 144 + j) * t_9) * k_norm_weight[d]) +
                    k_norm_bias[d]);
            }
        }
        /* key_cos = cos(j * rope_theta); key_sin = sin(j * rope_theta) */
        for (int64_t j = 0; j < j1 - j0; j += LANES) {
            const T(ints) t_10 = j0 + j + T(lane);
            for (int64_t t = 0; t < 32; t++) {
                const T(wide) angle11 = __builtin_convertvector(t_10, T(wide)) * rope_theta[t];
                T(store)(key_cos + t * 144 + j, T(cos)(&angle11));
                const T(wide) angle12 = __builtin_convertvector(t_10, T(wide)) * rope_theta[t];
                T(store)(key_sin + t * 144 + j, T(sin)(&angle12));
            }
        }
        /* key_3 = (k_tile * key_cos) + ((k_tile * key_sin) * select((d % 2) == 0, -1.0f, 1.0f)) */
        for (int64_t d = 0; d < 64; d++) {
            for (int64_t j = 0; j < j1 - j0; j += LANES) {
                T(store)(key_3 + d * 144 + j, (T(load)(k_tile + d * 144 + j) * T(load)(key_cos + (d / 2) * 144 + j)) +
                    ((T(load)(k_tile + (((d % 2) == 0) ? (d + 1) : (d - 1)) * 144 + j) * T(load)(key_sin + (d / 2) * 144
                    + j)) * (float)(((d % 2) == 0) ? (-1.0) : 1.0)));
            }
        }
        /* score[r][j] = sum over d of query_3 * key_3 */
        T(dot3)(round_up(j1 - j0, LANES), rows, query_3, key_3, score);
        /* old_max = state_max */
        for (int64_t r = 0; r < rows; r += LANES) {
            T(store)(old_max + r, T(load)(state_max + (chunk - chunk0) * 4240 + r));
        }
        if ((query_start + 1) < j1) { /* the tile is partly outside the mask */
            /* score = select(j <= ((r % n_q) + query_start), score, -INFINITY) */
            for (int64_t j = 0; j < j1 - j0; j += LANES) {
                const T(ints) t_13 = j0 + j + T(lane);
                for (int64_t r = 0; r < rows; r++) {
                    T(store)(score + r * 144 + j, T(pick)(__builtin_convertvector(t_13 <= ((r % n_q) + query_start),
                        T(mask)), T(load)(score + r * 144 + j), T(splat)(-INFINITY)));
                }
            }
        }
        /* state_max max= score */
        for (int64_t r = 0; r < rows; r++) {
            T(vec) lanes_max = T(splat)(-INFINITY);
            for (int64_t j = 0; j < j1 - j0; j += LANES) {
                const T(vec) term = T(load)(score + r * 144 + j);
                lanes_max = T(max)(lanes_max, j + LANES <= j1 - j0 ? term : T(pick)(__builtin_convertvector(j + T(lane)
                    < j1 - j0, T(mask)), term, T(splat)(-INFINITY)));
            }
            const float largest = T(lane_max)(lanes_max);
            if (largest > state_max[(chunk - chunk0) * 4240 + r]) state_max[(chunk - chunk0) * 4240 + r] = largest;
        }
        /* old_max = exp2(old_max - state_max); state_sum = state_sum * old_max */
        for (int64_t r = 0; r < rows; r += LANES) {
            const T(vec) old_max_14 = T(load)(old_max + r);
            const T(vec) old_max_new15 = T(exp2)(old_max_14 - T(load)(state_max + (chunk - chunk0) * 4240 + r));
            T(store)(old_max + r, old_max_new15);
            T(store)(state_sum + (chunk - chunk0) * 4240 + r, T(load)(state_sum + (chunk - chunk0) * 4240 + r) *
                old_max_new15);
        }
        /* score = exp2(score - state_max) */
        for (int64_t j = 0; j < j1 - j0; j += LANES) {
            for (int64_t r = 0; r < rows; r++) {
                T(store)(score + r * 144 + j, T(exp2)(T(load)(score + r * 144 + j) - (state_max[(chunk - chunk0) * 4240
                    + r])));
            }
        }
        /* state_sum += score */
        for (int64_t r = 0; r < rows; r++) {
            T(vec) lane_sums = T(splat)(0);
            for (int64_t j = 0; j < j1 - j0; j += LANES) {
                const T(vec) term = T(load)(score + r * 144 + j);
                lane_sums += j + LANES <= j1 - j0 ? term : T(pick)(__builtin_convertvector(j + T(lane) < j1 - j0,
                    T(mask)), term, T(splat)(0));
            }
            const float total = T(lane_sum)(lane_sums);
            state_sum[(chunk - chunk0) * 4240 + r] += total;
        }
        /* state = state * old_max */
        for (int64_t r = 0; r < rows; r++) {
            for (int64_t e_first = 0; e_first < 64; e_first += OF(64, 16, 8)) {
                UNROLL for (int64_t vector = 0, e = e_first; vector < OF(4, 2, 2); vector++, e += LANES) {
                    T(store)(state + (chunk - chunk0) * 4240 + r * 64 + e,
                        T(load)(state + (chunk - chunk0) * 4240 + r * 64 + e) * old_max[r]);
                }
            }
        }
        /* state[r][e] += sum over j of score * v */
        if (__builtin_expect(((query_start + 1) < j1) && !T(finite)(v + j0 * v_row, v_row, j1 - j0, 64),
            0)) { /* infinity and NaN affect only queries that see them */
            T(dot4)(rows, j1 - j0, score, v + j0 * v_row, v_row, state + (chunk - chunk0) * 4240);
            for (int64_t r = 0; r < rows; r++) {
                T(mask) in_region[OF(8, 16, 32)] = {0};
                const int64_t t_16 = (r % n_q) + query_start;
                for (int64_t j = 0; j < j1 - j0; j += LANES) {
                    in_region[j / LANES] = __builtin_convertvector((j0 + j + T(lane)) <= t_16, T(mask));
                }
                T(add_seen_lanes)(64, state + (chunk - chunk0) * 4240 + r * 64, score + r * 144, v + j0 * v_row, v_row,
                    j1 - j0, in_region);
            }
        } else
#if OF(1, 0, 0)
            T(dot5)(rows, j1 - j0, score, v + j0 * v_row, v_row, state + (chunk - chunk0) * 4240,
                attn_is_intel() ? 16 : 0);
#else
            T(dot5)(rows, j1 - j0, score, v + j0 * v_row, v_row, state + (chunk - chunk0) * 4240);
#endif
    }
}

/* Folds the slots of the current chunks, in order, for some elements of the states. */
TARGET APART void T(qk_norm_few_fold)(const struct call *call, int64_t task, const struct share *share,
    int64_t iteration)
{
    (void)task;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t r0 = iteration * 16, r1 = min(r0 + 16, rows);
    const int64_t chunk0 = share->chunk0;
    const int64_t chunk1 = share->chunk1;
    float *const state_max = (float *)(void *)(share->slots + 0); /* [chunk, r: 64] */
    float *const state_sum = (float *)(void *)(share->slots + 256); /* [chunk, r: 64] */
    float *const state = (float *)(void *)(share->slots + 512); /* [chunk, r: 64, e: 64] */
    float *const carried_max = (float *)(void *)(share->shared + 66368); /* [r: 64] */
    float *const carried_factor = (float *)(void *)(share->work + 0); /* [r: 64] */
    float *const slot_factor = (float *)(void *)(share->work + 256); /* [r: 64] */
    float *const carried_sum = (float *)(void *)(share->shared + 66624); /* [r: 64] */
    float *const carried_sum_compensation = (float *)(void *)(share->shared + 83328); /* [r: 64] */
    float *const carried = (float *)(void *)(share->shared + 66880); /* [r: 64, e: 64] */
    float *const carried_compensation = (float *)(void *)(share->shared + 83584); /* [r: 64, e: 64] */
    for (int64_t chunk = chunk0; chunk < chunk1; chunk++) {
        /* before_max = carried_max; carried_max max= state_max; carried_factor = exp2(before_max - carried_max);
           slot_factor = exp2(state_ ... */
        for (int64_t r = r0; r < r1; r += LANES) {
            const T(vec) carried_max_17 = T(load)(carried_max + r);
            const T(vec) before_max_new18 = carried_max_17;
            const T(vec) state_max_19 = T(load)(state_max + (chunk - chunk0) * 4240 + r);
            const T(vec) carried_max_new20 = T(max)(T(load)(carried_max + r), state_max_19);
            T(store)(carried_max + r, carried_max_new20);
            const T(vec) carried_factor_new21 = T(exp2)(before_max_new18 - carried_max_new20);
            T(store)(carried_factor + r, carried_factor_new21);
            const T(vec) slot_factor_new22 = T(exp2)(state_max_19 - carried_max_new20);
            T(store)(slot_factor + r, slot_factor_new22);
            const T(vec) carried_sum_23 = T(load)(carried_sum + r);
            T(store)(carried_sum + r, carried_sum_23 * carried_factor_new21);
            T(store)(carried_sum_compensation + r, T(load)(carried_sum_compensation + r) * carried_factor_new21);
            T(add)(carried_sum + r, carried_sum_compensation + r, T(load)(state_sum + (chunk - chunk0) * 4240 + r) *
                slot_factor_new22, T(splat)(1));
        }
        /* before = carried; carried = carried * carried_factor; carried_compensation = carried_compensation *
           carried_factor; carried += s ... */
        for (int64_t r = r0; r < r1; r++) {
            for (int64_t e_first = 0; e_first < 64; e_first += OF(64, 16, 8)) {
                UNROLL for (int64_t vector = 0, e = e_first; vector < OF(4, 2, 2); vector++, e += LANES) {
                    const T(vec) carried_24 = T(load)(carried + r * 64 + e);
                    const float carried_factor_25 = carried_factor[r];
                    T(store)(carried + r * 64 + e, carried_24 * carried_factor_25);
                    T(store)(carried_compensation + r * 64 + e, T(load)(carried_compensation + r * 64 + e) *
                        carried_factor_25);
                    T(add)(carried + r * 64 + e, carried_compensation + r * 64 + e,
                        T(load)(state + (chunk - chunk0) * 4240 + r * 64 + e) * slot_factor[r], T(splat)(1));
                }
            }
        }
    }
}

/* Processes a tile of queries: reads the states. */
TARGET APART void T(qk_norm_few_queries)(const struct call *call, int64_t task, const struct share *share,
    int64_t iteration)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_q = call->p.n_q;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t r0 = iteration * 16, r1 = min(r0 + 16, rows);
    const int64_t g = task % kv_heads;
    const int64_t b = task / kv_heads;
    float *const carried_sum = (float *)(void *)(share->shared + 66624); /* [r: 64] */
    float *const carried = (float *)(void *)(share->shared + 66880); /* [r: 64, e: 64] */
    float *const result = (float *)(void *)(share->work + 0); /* [r: 64, e: 64] */
    float *const out = (float *)call->array[ARRAY_out].at + b * call->array[ARRAY_out].strides.batch + g * members *
        call->array[ARRAY_out].strides.head;
    const int64_t out_row = call->array[ARRAY_out].strides.row;
    const int64_t out_head = call->array[ARRAY_out].strides.head;
    /* result = select(carried_sum == 0.0f, 0.0f, carried * (1.0f / carried_sum)) */
    for (int64_t r = r0; r < r1; r++) {
        for (int64_t e_first = 0; e_first < 64; e_first += OF(64, 16, 8)) {
            UNROLL for (int64_t vector = 0, e = e_first; vector < OF(4, 2, 2); vector++, e += LANES) {
                const float carried_sum_26 = carried_sum[r];
                T(store)(result + r * 64 + e, (carried_sum_26 == 0.0f) ? T(splat)(0.0f) : T(load)(carried + r * 64 + e)
                    * (1.0f / carried_sum_26));
            }
        }
    }
    /* out = result */
    for (int64_t r = r0; r < r1; r++)
        for (int64_t e = 0; e < 64; e++)
            out[r / n_q * out_head + r % n_q * out_row + e] = result[r * 64 + e];
}

/* Computes head number `task`. Each thread on the head calls this with `share`. */
TARGET static void T(qk_norm_few)(const struct call *call, int64_t task, struct share *share)
{
    const int64_t n_k = call->p.n_k;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t chunks = n_k > 0 ? (n_k - 1) / 1024 + 1 : 1;
    for (int64_t iteration = share->number; iteration < ((rows + 63) / 64); iteration += share->threads)
        T(qk_norm_few_begin)(call, task, share, iteration);
    for (int64_t iteration = share->number; iteration < ((rows + 15) / 16); iteration += share->threads)
        T(qk_norm_few_begin_2)(call, task, share, iteration);
    synchronise(share);
    const int64_t first = 0;
    const int64_t length = segment_length(share, chunks - first);
    for (int64_t segment = share->number; first + segment * length < chunks; segment += share->threads) {
        share->chunk0 = first + segment * length;
        share->chunk1 = min(share->chunk0 + length, chunks);
        for (int64_t iteration = share->chunk0; iteration < share->chunk1; iteration++)
            T(qk_norm_few_keys)(call, task, share, iteration);
        for (int64_t group = 0; group < 16; group++) {
            await_segment(share, group, segment);
            const int64_t end = (group + 1) * ((rows + 15) / 16) / 16;
            for (int64_t iteration = group * ((rows + 15) / 16) / 16; iteration < end; iteration++)
                T(qk_norm_few_fold)(call, task, share, iteration);
            pass_segment(share, group, segment);
        }
    }
    share->segments += (max(chunks - first, 0) + length - 1) / length;
    synchronise(share);
    for (int64_t iteration = share->number; iteration < ((rows + 15) / 16); iteration += share->threads)
        T(qk_norm_few_queries)(call, task, share, iteration);
    synchronise(share);
}
#include <attnrt/kernel/end.h>
#else
#ifdef __cplusplus
#error "qk_norm.c is C, not C++: compile it with a C compiler"
#elif !defined __STDC_VERSION__ || __STDC_VERSION__ < 199901L
#error "qk_norm.c is C11, not C89: compile it without -std=, or with -std=gnu11"
extern int qk_norm_is_c11;
#elif !defined __GNUC__
#error "qk_norm.c uses GNU C vector extensions: compile it with gcc or clang"
extern int qk_norm_is_gnu_c;
#else
#include "qk_norm.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include <attnrt/kernel/optimize.h>
#include <attnrt/kernel/call.h>

/* the numbers of the arrays of a call */
enum {
    ARRAY_q, ARRAY_k, ARRAY_v, ARRAY_out, ARRAY_k_norm_weight, ARRAY_k_norm_bias, ARRAY_q_norm_weight, ARRAY_q_norm_bias
};

static const double rope_theta[32] = {
    1, 0.74989420933245587, 0.56234132519034907, 0.42169650342858223, 0.31622776601683794, 0.23713737056616552,
    0.17782794100389229, 0.1333521432163324, 0.10000000000000001, 0.074989420933245579, 0.056234132519034911,
        0.042169650342858224,
    0.031622776601683791, 0.023713737056616554, 0.017782794100389229, 0.013335214321633241, 0.01, 0.0074989420933245579,
    0.005623413251903491, 0.0042169650342858229, 0.0031622776601683794, 0.0023713737056616554, 0.0017782794100389228,
        0.0013335214321633241,
    0.001, 0.00074989420933245586, 0.0005623413251903491, 0.00042169650342858224, 0.00031622776601683794,
        0.00023713737056616554,
    0.00017782794100389227, 0.0001333521432163324};

#ifdef __FILE_NAME__
#define LOOPS __FILE_NAME__ /* this file, whose first part has the loops */
#else
#define LOOPS "qk_norm.c"
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
#define MAX_STEPS 128
#define MAX_LANES 64
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
#define MAX_STEPS 128
#define MAX_LANES 64
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
#define MAX_STEPS 128
#define MAX_LANES 64
#define OF(v4, v3, any) any /* a number of each target */
#define SECTION
#include LOOPS
#undef SECTION

/* ==== tables for the library that calls these functions (attnrt/kernel/call.h) ==== */
static const struct attn_param param[] = {
    {"k_norm.weight", ATTN_F32, 1, {64}, offsetof(struct qk_norm_params, k_norm_weight), 0, ATTN_CONTIGUOUS, 0, 0,
        ATTN_NO_LIMITS},
    {"k_norm.bias", ATTN_F32, 1, {64}, offsetof(struct qk_norm_params, k_norm_bias), 0, ATTN_CONTIGUOUS, 0, 0,
        ATTN_NO_LIMITS},
    {"q_norm.weight", ATTN_F32, 1, {64}, offsetof(struct qk_norm_params, q_norm_weight), 0, ATTN_CONTIGUOUS, 0, 0,
        ATTN_NO_LIMITS},
    {"q_norm.bias", ATTN_F32, 1, {64}, offsetof(struct qk_norm_params, q_norm_bias), 0, ATTN_CONTIGUOUS, 0, 0,
        ATTN_NO_LIMITS},
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
    {.name = "k_norm.weight", .access = {ACCESS_READ, ACCESS_NONE}, .dtype = ATTN_F32, .origin = FROM_PARAMS,
        .param = 0, .axis = {-1, -1, -1}},
    {.name = "k_norm.bias", .access = {ACCESS_READ, ACCESS_NONE}, .dtype = ATTN_F32, .origin = FROM_PARAMS, .param = 1,
        .axis = {-1, -1, -1}},
    {.name = "q_norm.weight", .access = {ACCESS_READ, ACCESS_NONE}, .dtype = ATTN_F32, .origin = FROM_PARAMS,
        .param = 2, .axis = {-1, -1, -1}},
    {.name = "q_norm.bias", .access = {ACCESS_READ, ACCESS_NONE}, .dtype = ATTN_F32, .origin = FROM_PARAMS, .param = 3,
        .axis = {-1, -1, -1}},
};

#if defined(__x86_64__)
static int runs_v4(void)
{
    return attn_x86_64_level() >= 4;
}
static const struct program programs_v4[] = {
    {.role = RUN_FORWARD, .form = FORM_FEW,
     .head = qk_norm_few_v4, .tile = 0, .own = 110592, .few_rows = 64, .lanes = 16, .of_pair = 128, .shared = 100032,
         .slot = 16960, .slots = 4, .together = 1},
    {.role = RUN_FORWARD,
     .rows = qk_norm_rows_v4, .tile = 256, .own = 273408, .of_pair = 128},
};
#endif
#if defined(__x86_64__)
static int runs_v3(void)
{
    return attn_x86_64_level() >= 3;
}
static const struct program programs_v3[] = {
    {.role = RUN_FORWARD, .form = FORM_FEW,
     .head = qk_norm_few_v3, .tile = 0, .own = 110592, .few_rows = 64, .lanes = 8, .of_pair = 128, .shared = 100032,
         .slot = 16960, .slots = 4, .together = 1},
    {.role = RUN_FORWARD,
     .rows = qk_norm_rows_v3, .tile = 256, .own = 273408, .of_pair = 128},
};
#endif
static const struct program programs_any[] = {
    {.role = RUN_FORWARD, .form = FORM_FEW,
     .head = qk_norm_few_any, .tile = 0, .own = 110592, .few_rows = 64, .lanes = 4, .of_pair = 128, .shared = 100032,
         .slot = 16960, .slots = 4, .together = 1},
    {.role = RUN_FORWARD,
     .rows = qk_norm_rows_any, .tile = 128, .own = 173568, .of_pair = 128},
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
    .layout = KERNEL_LAYOUT, .name = "qk_norm", .openmp = OPENMP,
    .target = target, .targets = sizeof target / sizeof *target - 1,
    .array = array, .arrays = sizeof array / sizeof *array,
    .param = param, .params = 4, .params_bytes = sizeof(struct qk_norm_params),
    .dtype = ATTN_F32, .key_dtype = ATTN_F32, .value_dtype = ATTN_F32, .real = sizeof(float), .element = sizeof(float),
    .head_dim = 64, .value_dim = 64, .key_row = 64, .value_row = 64,
    .shares = 1,
    .positions = 1,
    .ids = -1,
    .corrected = -1,
    .solution = -1,
};

/* ==== the interface ==== */
size_t qk_norm_params_size(void) { return attn_call_params_size(&kernel); }
int qk_norm_params_init(struct qk_norm_params *params, uint64_t seed, void *storage)
{
    return attn_call_params_init(&kernel, params, seed, storage);
}
size_t qk_norm_workspace(const struct attn_problem *problem) { return attn_call_workspace(&kernel, problem); }
int qk_norm_forward(const struct attn_problem *problem, const struct qk_norm_params *params, const float *q,
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
const struct attn_kernel qk_norm_kernel = {
    .name = "qk_norm", .version = "0.2.0", .dtype = ATTN_F32, .head_dim = 64, .value_dim = 64,
    .params = 4, .param = param, .params_bytes = sizeof(struct qk_norm_params),
    .params_size = qk_norm_params_size, .params_init = params_init_any, .forward = forward_any,
    .workspace = qk_norm_workspace,
    .key_dtype = ATTN_F32, .value_dtype = ATTN_F32,
    .before = INT64_MAX, .after = 0, .period = 1, .names_heads = 0, .names_sequences = 0, .in_parts = 0,
    .saved_power = 0, .has_sink = 0, .open_keys = 0, .end_of_keys = INT64_MAX,
};
#endif /* a compiler of this language */
#endif /* SECTION */
