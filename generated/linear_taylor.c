/* linear_taylor.c, made by attnc 0.2.0: attnc linear_taylor.yaml
   C11 with GNU extensions, for a C compiler; C++ includes linear_taylor.h.
   linear attention by the first-order Taylor expansion of the exponential, on unit vectors
   Li et al., Linear Attention Mechanism (arXiv 2020), section 3.2

   Computes, in f32, over the axes b (batch), g (key/value head), m (query head of g), i (query), j (key), d (64),
   e (64):
     q [b g m i d]
     k [b g j d]
     v [b g j e]
     x3 [b g m i d] = q * q
     x4 [b g m i] = sum over d of x3
     x5 [b g m i] = x4 == 0 ? 0 : 1 / sqrt(x4)
     x6 [b g m i d] = q * x5
     x7 [b g j d] = k * k
     x8 [b g j] = sum over d of x7
     x9 [b g j] = x8 == 0 ? 0 : 1 / sqrt(x8)
     x10 [b g j d] = k * x9
     x11 [b g m i j] = sum over d of x6 * x10
     x12 [b g m i j] = x11 + 1
     x13 [b g m i] = sum over j of x12
     x14 [b g m i e] = sum over j of x12 * v
     x15 [b g m i e] = x13 == 0 ? 0 : x14 / x13
     out = x15

   How: each vector lane holds one query. Keys are processed in tiles,
   so row sums and maxima need no reduction across lanes.
   The sums of a tile start from zero and are added to the sums so far. Tiles that no query sees are skipped.
   For few queries each lane holds one key. The queries of all heads that share keys are the rows of one tile,
   so each key is read once.
   The chunks of keys are divided among the threads. Their sums are added in the order of the chunks.
   Linear from 70 keys on: the weight is an inner product of 65 features. The state is a sum over keys of 65 x 65
   numbers.
     x86-64-v4  quadratic tiles of 32 queries and 96 keys, in blocks of 256 queries;
     235648 bytes of workspace per thread
     x86-64-v4  linear    tiles of 256 queries and 144 keys; 243136 bytes of workspace per thread
     x86-64-v4  few       tiles of 64 queries and 128 keys; 190656 bytes of workspace per thread
     x86-64-v3  quadratic tiles of 16 queries and 96 keys, in blocks of 256 queries;
     229440 bytes of workspace per thread
     x86-64-v3  linear    tiles of 256 queries and 144 keys; 243136 bytes of workspace per thread
     x86-64-v3  few       tiles of 64 queries and 128 keys; 190656 bytes of workspace per thread
     generic    quadratic tiles of 16 queries and 96 keys, in blocks of 128 queries;
     130112 bytes of workspace per thread
     generic    linear    tiles of 128 queries and 144 keys; 176576 bytes of workspace per thread
     generic    few       tiles of 64 queries and 128 keys; 190656 bytes of workspace per thread

   Contents:
     loops      linear_taylor_rows, linear_taylor_linear, linear_taylor_few
     targets    x86-64-v4, x86-64-v3, generic
     tables     arrays and programs, for the functions of attnrt that call the loops
     interface  linear_taylor_workspace, linear_taylor_forward, linear_taylor_kernel
   The file includes itself, so that the loops are compiled once for each target. T(name) is a name with the target's
   suffix, LANES the elements of its vectors, and OF(…) a number for each target.

   Compile with: cc -O2 -fopenmp linear_taylor.c … -lattnrt -lm */
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
    float *compensation)
{
    T(dot)(/*vectors=*/2, lanes, /*rows=*/64, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/1, a_step, b,
        /*b_step=*/OF(32, 16, 16), c, /*c_row=*/OF(32, 16, 16), /*update=*/3, /*factor=*/NULL, compensation);
}
TARGET APART void T(dot2)(int64_t steps, const float *a, const float *b, int64_t b_step, float *c)
{
    T(dot)(/*vectors=*/OF(4, 2, 2), /*lanes=*/64, /*rows=*/65, /*tail=*/5, steps, /*span=*/192, a, /*a_row=*/144,
        /*a_step=*/1, b, b_step, c, /*c_row=*/64, /*update=*/1, /*factor=*/NULL, /*compensation=*/NULL);
}
TARGET APART void T(dot3)(int64_t lanes, const float *a, const float *b, float *c)
{
    T(dot)(/*vectors=*/OF(4, 2, 2), lanes, /*rows=*/64, /*tail=*/4, /*steps=*/65, /*span=*/32, a, /*a_row=*/1,
        /*a_step=*/64, b, /*b_step=*/OF(272, 272, 144), c, /*c_row=*/OF(272, 272, 144), /*update=*/0, /*factor=*/NULL,
        /*compensation=*/NULL);
}
TARGET APART void T(dot4)(int64_t lanes, int64_t rows, const float *a, const float *b, float *c)
{
    T(dot)(/*vectors=*/OF(4, 2, 2), lanes, rows, /*tail=*/-1, /*steps=*/64, /*span=*/32, a, /*a_row=*/1, /*a_step=*/64,
        b, /*b_step=*/144, c, /*c_row=*/144, /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL);
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
TARGET static void T(linear_taylor_rows)(const struct call *call, int64_t task, unsigned char *work)
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
    const float *const q = (const float *)call->array[ARRAY_q].at + b * call->array[ARRAY_q].strides.batch + (g /
        call->sharing * members + m) * call->array[ARRAY_q].strides.head;
    const int64_t q_row = call->array[ARRAY_q].strides.row;
    const float *const k = (const float *)call->array[ARRAY_k].at + b * call->array[ARRAY_k].strides.batch + g /
        call->sharing * call->array[ARRAY_k].strides.head;
    const int64_t k_row = call->array[ARRAY_k].strides.row;
    const float *const v = (const float *)call->array[ARRAY_v].at + b * call->array[ARRAY_v].strides.batch + g *
        call->array[ARRAY_v].strides.head;
    const int64_t v_row = call->array[ARRAY_v].strides.row;
    float *const query_sum = (float *)(void *)(work + 0); /* [i: OF(32, 16, 16)] */
    float *const all_query = (float *)(void *)(work + OF(128, 64, 64)); /* [d: 64, i: OF(32, 16, 16), OF(8, 16,
        8) times] */
    float *const key_sum = (float *)(void *)(work + OF(65664, 65600, 32832)); /* [j: 96] */
    float *const score = (float *)(void *)(work + OF(65664, 65600, 32832)); /* [j: 96, i: OF(32, 16, 16)] */
    float *const all_row_sum = (float *)(void *)(work + OF(77952, 71744, 38976)); /* [i: OF(32, 16, 16), OF(8, 16,
        8) times] */
    float *const all_row_sum_compensation = (float *)(void *)(work + OF(78976, 72768, 39488)); /* [i: OF(32, 16, 16),
        OF(8, 16, 8) times] */
    float *const all_sum = (float *)(void *)(work + OF(80000, 73792, 40000)); /* [e: 64, i: OF(32, 16, 16), OF(8, 16,
        8) times] */
    float *const all_sum_compensation = (float *)(void *)(work + OF(145536, 139328, 72768)); /* [e: 64, i: OF(32, 16,
        16), OF(8, 16, 8) times] */
    float *const result = (float *)(void *)(work + 0); /* [e: 64, i: OF(32, 16, 16)] */
    float *const out = (float *)call->array[ARRAY_out].at + b * call->array[ARRAY_out].strides.batch + (g * members + m)
        * call->array[ARRAY_out].strides.head;
    const int64_t out_row = call->array[ARRAY_out].strides.row;
    float *const q_tile = (float *)(void *)(work + OF(65664, 65600, 32832)); /* [d: 64, i: OF(32, 16, 16)] */
    float *const k_tile = (float *)(void *)(work + OF(211072, 204864, 105536)); /* [d: 64, j: 96] */
    for (int64_t i_next = i0, i_block = i0, i_end = i1; i_next < i_end; i_next += OF(32, 16, 16)) {
        const int64_t i0 = i_next, i1 = min(i0 + OF(32, 16, 16), i_end);
        float *const query = all_query + (i0 - i_block) / OF(32, 16, 16) * OF(2048, 1024, 1024);
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
        /* query_sum += q_tile * q_tile */
        for (int64_t i_first = 0; i_first < i1 - i0; i_first += (2 * LANES)) {
            T(vec) query_sum_in[2];
            UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += LANES) {
                query_sum_in[vector] = (T(vec)){0};
            }
            for (int64_t d = 0; d < 64; d++) {
                UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += LANES) {
                    const T(vec) q_tile_0 = T(load)(q_tile + d * OF(32, 16, 16) + i);
                    query_sum_in[vector] += q_tile_0 * q_tile_0;
                }
            }
            UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += LANES) {
                T(store)(query_sum + i, T(load)(query_sum + i) + query_sum_in[vector]);
            }
        }
        /* query = q_tile * select(query_sum == 0.0f, 0.0f, 1.0f / sqrt(query_sum)) */
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            const T(vec) query_sum_1 = T(load)(query_sum + i);
            const T(vec) t_2 = T(pick)(query_sum_1 == 0.0f, T(splat)(0.0f), 1.0f / T(sqrt)(query_sum_1));
            for (int64_t d = 0; d < 64; d++) {
                T(store)(query + d * OF(32, 16, 16) + i, T(load)(q_tile + d * OF(32, 16, 16) + i) * t_2);
            }
        }
        /* row_sum = 0.0f; row_sum_compensation = 0.0f */
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
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
    for (int64_t j0 = 0, j_end = n_k; j0 < j_end; j0 += 96) {
        const int64_t j1 = min(j0 + 96, j_end);
        /* k_tile = k, with zeros beyond the last row */
        T(transpose_padded)(k + j0 * k_row, k_row, j1 - j0, 64, k_tile, 96, 64);
        /* key_sum = 0.0f */
        for (int64_t j = 0; j < j1 - j0; j += LANES) {
            T(store)(key_sum + j, T(splat)(0.0f));
        }
        /* key_sum += k_tile * k_tile */
        for (int64_t j_first = 0; j_first < j1 - j0; j_first += OF(48, 16, 8)) {
            T(vec) key_sum_in[OF(3, 2, 2)];
            UNROLL for (int64_t vector = 0, j = j_first; vector < OF(3, 2, 2); vector++, j += LANES) {
                key_sum_in[vector] = (T(vec)){0};
            }
            for (int64_t d = 0; d < 64; d++) {
                UNROLL for (int64_t vector = 0, j = j_first; vector < OF(3, 2, 2); vector++, j += LANES) {
                    const T(vec) k_tile_3 = T(load)(k_tile + d * 96 + j);
                    key_sum_in[vector] += k_tile_3 * k_tile_3;
                }
            }
            UNROLL for (int64_t vector = 0, j = j_first; vector < OF(3, 2, 2); vector++, j += LANES) {
                T(store)(key_sum + j, T(load)(key_sum + j) + key_sum_in[vector]);
            }
        }
        /* k_tile = k_tile * select(key_sum == 0.0f, 0.0f, 1.0f / sqrt(key_sum)) */
        for (int64_t j = 0; j < j1 - j0; j += LANES) {
            const T(vec) key_sum_4 = T(load)(key_sum + j);
            const T(vec) t_5 = T(pick)(key_sum_4 == 0.0f, T(splat)(0.0f), 1.0f / T(sqrt)(key_sum_4));
            for (int64_t d = 0; d < 64; d++) {
                T(store)(k_tile + d * 96 + j, T(load)(k_tile + d * 96 + j) * t_5);
            }
        }
        for (int64_t i_next = i0, i_block = i0, i_end = i1; i_next < i_end; i_next += OF(32, 16, 16)) {
            const int64_t i0 = i_next, i1 = min(i0 + OF(32, 16, 16), i_end);
            float *const query = all_query + (i0 - i_block) / OF(32, 16, 16) * OF(2048, 1024, 1024);
            float *const row_sum = all_row_sum + (i0 - i_block) / OF(32, 16, 16) * OF(32, 16, 16);
            float *const row_sum_compensation = all_row_sum_compensation + (i0 - i_block) / OF(32, 16, 16) * OF(32, 16,
                16);
            float *const sum = all_sum + (i0 - i_block) / OF(32, 16, 16) * OF(2048, 1024, 1024);
            float *const sum_compensation = all_sum_compensation + (i0 - i_block) / OF(32, 16, 16) * OF(2048, 1024,
                1024);
            /* score[j][i] = sum over d of k_tile * query */
            T(dot0)(round_up(i1 - i0, LANES), j1 - j0, k_tile, query, score);
            /* score = score + 1.0f; row_sum += score */
            for (int64_t i_first = 0; i_first < i1 - i0; i_first += (2 * LANES)) {
                T(vec) row_sum_in[2];
                UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += LANES) {
                    row_sum_in[vector] = (T(vec)){0};
                }
                for (int64_t j = 0; j < j1 - j0; j++) {
                    UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += LANES) {
                        const T(vec) score_6 = T(load)(score + j * OF(32, 16, 16) + i);
                        const T(vec) score_new7 = score_6 + 1.0f;
                        T(store)(score + j * OF(32, 16, 16) + i, score_new7);
                        row_sum_in[vector] += score_new7;
                    }
                }
                UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += LANES) {
                    T(add)(row_sum + i, row_sum_compensation + i, row_sum_in[vector], T(splat)(1));
                }
            }
            /* sum[e][i] += sum over j of v * score */
            T(dot1)(round_up(i1 - i0, LANES), j1 - j0, v + j0 * v_row, v_row, score, sum, sum_compensation);
        }
    }
    {
        for (int64_t i_next = i0, i_block = i0, i_end = i1; i_next < i_end; i_next += OF(32, 16, 16)) {
            const int64_t i0 = i_next, i1 = min(i0 + OF(32, 16, 16), i_end);
            float *const row_sum = all_row_sum + (i0 - i_block) / OF(32, 16, 16) * OF(32, 16, 16);
            float *const sum = all_sum + (i0 - i_block) / OF(32, 16, 16) * OF(2048, 1024, 1024);
            /* result = select(row_sum == 0.0f, 0.0f, sum / row_sum) */
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                const T(vec) row_sum_8 = T(load)(row_sum + i);
                const T(mask) t_9 = row_sum_8 == 0.0f;
                for (int64_t e = 0; e < 64; e++) {
                    T(store)(result + e * OF(32, 16, 16) + i, T(pick)(t_9, T(splat)(0.0f), T(load)(sum + e * OF(32, 16,
                        16) + i) / row_sum_8));
                }
            }
            /* out = result, transposed back */
            T(transpose_out)(result, OF(32, 16, 16), 64, i1 - i0, out + i0 * out_row, out_row, LANES);
        }
    }
}

/* Initialises the states: they contain no keys yet. */
TARGET APART void T(linear_taylor_begin)(const struct call *call, int64_t task, const struct share *share,
    int64_t iteration)
{
    (void)call;
    (void)task;
    const int64_t f0 = iteration * 32, f1 = min(f0 + 32, 65);
    float *const carried_sum = (float *)(void *)(share->shared + 0); /* [f: (LANES + 64)] */
    float *const carried_sum_compensation = (float *)(void *)(share->shared + 16960); /* [f: (LANES + 64)] */
    float *const carried = (float *)(void *)(share->shared + 320); /* [f: 65, e: 64] */
    float *const carried_compensation = (float *)(void *)(share->shared + 17280); /* [f: 65, e: 64] */
    /* carried_sum = 0.0f; carried_sum_compensation = 0.0f */
    for (int64_t f = f0; f < f1; f += LANES) {
        T(store)(carried_sum + f, T(splat)(0.0f));
        T(store)(carried_sum_compensation + f, T(splat)(0.0f));
    }
    /* carried = 0.0f; carried_compensation = 0.0f */
    for (int64_t f = f0; f < f1; f++) {
        for (int64_t e_first = 0; e_first < 64; e_first += OF(64, 16, 8)) {
            UNROLL for (int64_t vector = 0, e = e_first; vector < OF(4, 2, 2); vector++, e += LANES) {
                T(store)(carried + f * 64 + e, T(splat)(0.0f));
                T(store)(carried_compensation + f * 64 + e, T(splat)(0.0f));
            }
        }
    }
}

/* Sums the keys of a chunk, from zero, into its slot. */
TARGET APART void T(linear_taylor_keys)(const struct call *call, int64_t task, const struct share *share,
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
    float *const key_sum = (float *)(void *)(share->work + 0); /* [j: 144] */
    float *const key_features = (float *)(void *)(share->work + 0); /* [f: 65, j: 144] */
    float *const state_sum = (float *)(void *)(share->slots + 0); /* [chunk, f: (LANES + 64)] */
    float *const state = (float *)(void *)(share->slots + 320); /* [chunk, f: 65, e: 64] */
    float *const k_tile = (float *)(void *)(share->work + 37440); /* [d: 64, j: 144] */
    /* state_sum = 0.0f */
    for (int64_t f = 0; f < 65; f += LANES) {
        T(store)(state_sum + (chunk - chunk0) * 4240 + f, T(splat)(0.0f));
    }
    /* state = 0.0f */
    for (int64_t f = 0; f < 65; f++) {
        for (int64_t e_first = 0; e_first < 64; e_first += OF(64, 16, 8)) {
            UNROLL for (int64_t vector = 0, e = e_first; vector < OF(4, 2, 2); vector++, e += LANES) {
                T(store)(state + (chunk - chunk0) * 4240 + f * 64 + e, T(splat)(0.0f));
            }
        }
    }
    for (int64_t j0 = chunk * 576, j_end = min(n_k, (chunk + 1) * 576); j0 < j_end; j0 += 144) {
        const int64_t j1 = min(j0 + 144, j_end);
        /* k_tile = k, with zeros beyond the last row */
        T(transpose_padded)(k + j0 * k_row, k_row, j1 - j0, 64, k_tile, 144, 64);
        /* key_sum = 0.0f */
        for (int64_t j = 0; j < j1 - j0; j += LANES) {
            T(store)(key_sum + j, T(splat)(0.0f));
        }
        /* key_sum += k_tile * k_tile */
        for (int64_t j_first = 0; j_first < j1 - j0; j_first += OF(48, 16, 8)) {
            T(vec) key_sum_in[OF(3, 2, 2)];
            UNROLL for (int64_t vector = 0, j = j_first; vector < OF(3, 2, 2); vector++, j += LANES) {
                key_sum_in[vector] = (T(vec)){0};
            }
            for (int64_t d = 0; d < 64; d++) {
                UNROLL for (int64_t vector = 0, j = j_first; vector < OF(3, 2, 2); vector++, j += LANES) {
                    const T(vec) k_tile_0 = T(load)(k_tile + d * 144 + j);
                    key_sum_in[vector] += k_tile_0 * k_tile_0;
                }
            }
            UNROLL for (int64_t vector = 0, j = j_first; vector < OF(3, 2, 2); vector++, j += LANES) {
                T(store)(key_sum + j, T(load)(key_sum + j) + key_sum_in[vector]);
            }
        }
        /* k_tile = k_tile * select(key_sum == 0.0f, 0.0f, 1.0f / sqrt(key_sum)) */
        for (int64_t j = 0; j < j1 - j0; j += LANES) {
            const T(vec) key_sum_1 = T(load)(key_sum + j);
            const T(vec) t_2 = T(pick)(key_sum_1 == 0.0f, T(splat)(0.0f), 1.0f / T(sqrt)(key_sum_1));
            for (int64_t d = 0; d < 64; d++) {
                T(store)(k_tile + d * 144 + j, T(load)(k_tile + d * 144 + j) * t_2);
            }
        }
        /* key_features = select(f < 64, k_tile, 1.0f) */
        for (int64_t f = 0; f < 65; f++) {
            for (int64_t j = 0; j < j1 - j0; j += LANES) {
                T(store)(key_features + f * 144 + j, (f < 64) ? T(load)(k_tile + min(f,
                    63) * 144 + j) : T(splat)(1.0f));
            }
        }
        /* state_sum += key_features */
        for (int64_t f = 0; f < 65; f++) {
            T(vec) lane_sums = T(splat)(0);
            for (int64_t j = 0; j < j1 - j0; j += LANES) {
                const T(vec) term = T(load)(key_features + f * 144 + j);
                lane_sums += j + LANES <= j1 - j0 ? term : T(pick)(__builtin_convertvector(j + T(lane) < j1 - j0,
                    T(mask)), term, T(splat)(0));
            }
            const float total = T(lane_sum)(lane_sums);
            state_sum[(chunk - chunk0) * 4240 + f] += total;
        }
        /* state[f][e] += sum over j of key_features * v */
        T(dot2)(j1 - j0, key_features, v + j0 * v_row, v_row, state + (chunk - chunk0) * 4240);
    }
}

/* Folds the slots of the current chunks, in order, for some elements of the states. */
TARGET APART void T(linear_taylor_fold)(const struct call *call, int64_t task, const struct share *share,
    int64_t iteration)
{
    (void)call;
    (void)task;
    const int64_t f0 = iteration * 32, f1 = min(f0 + 32, 65);
    const int64_t chunk0 = share->chunk0;
    const int64_t chunk1 = share->chunk1;
    float *const state_sum = (float *)(void *)(share->slots + 0); /* [chunk, f: (LANES + 64)] */
    float *const state = (float *)(void *)(share->slots + 320); /* [chunk, f: 65, e: 64] */
    float *const carried_sum = (float *)(void *)(share->shared + 0); /* [f: (LANES + 64)] */
    float *const carried_sum_compensation = (float *)(void *)(share->shared + 16960); /* [f: (LANES + 64)] */
    float *const carried = (float *)(void *)(share->shared + 320); /* [f: 65, e: 64] */
    float *const carried_compensation = (float *)(void *)(share->shared + 17280); /* [f: 65, e: 64] */
    for (int64_t chunk = chunk0; chunk < chunk1; chunk++) {
        /* before_sum = carried_sum; carried_sum += state_sum */
        for (int64_t f = f0; f < f1; f += LANES) {
            T(add)(carried_sum + f, carried_sum_compensation + f, T(load)(state_sum + (chunk - chunk0) * 4240 + f),
                T(splat)(1));
        }
        /* before = carried; carried += state */
        for (int64_t f = f0; f < f1; f++) {
            for (int64_t e_first = 0; e_first < 64; e_first += OF(64, 16, 8)) {
                UNROLL for (int64_t vector = 0, e = e_first; vector < OF(4, 2, 2); vector++, e += LANES) {
                    T(add)(carried + f * 64 + e, carried_compensation + f * 64 + e,
                        T(load)(state + (chunk - chunk0) * 4240 + f * 64 + e), T(splat)(1));
                }
            }
        }
    }
}

/* Processes a tile of queries: reads the states. */
TARGET APART void T(linear_taylor_queries)(const struct call *call, int64_t task, const struct share *share,
    int64_t iteration)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_q = call->p.n_q;
    const int64_t tiles = (n_q + OF(256, 256, 128) - 1) / OF(256, 256, 128),
        i0 = (tiles - 1 - iteration % tiles) * OF(256, 256, 128),
        i1 = min(i0 + OF(256, 256, 128), n_q);
    const int64_t m = iteration / tiles;
    const int64_t g = task % kv_heads;
    const int64_t b = task / kv_heads;
    const float *const q = (const float *)call->array[ARRAY_q].at + b * call->array[ARRAY_q].strides.batch + (g /
        call->sharing * members + m) * call->array[ARRAY_q].strides.head;
    const int64_t q_row = call->array[ARRAY_q].strides.row;
    float *const carried_sum = (float *)(void *)(share->shared + 0); /* [f: (LANES + 64)] */
    float *const carried = (float *)(void *)(share->shared + 320); /* [f: 65, e: 64] */
    float *const query_sum = (float *)(void *)(share->work + 0); /* [i: OF(256, 256, 128)] */
    float *const query_2 = (float *)(void *)(share->work + 0); /* [f: 65, i: OF(256, 256, 128) of OF(272, 272, 144)] */
    float *const row_sum_from_state = (float *)(void *)(share->work + OF(70720, 70720, 37440)); /* [i: OF(256, 256,
        128)] */
    float *const sum_from_state = (float *)(void *)(share->work + OF(71744, 71744, 37952)); /* [e: 64, i: OF(256, 256,
        128) of OF(272, 272, 144)] */
    float *const out = (float *)call->array[ARRAY_out].at + b * call->array[ARRAY_out].strides.batch + (g * members + m)
        * call->array[ARRAY_out].strides.head;
    const int64_t out_row = call->array[ARRAY_out].strides.row;
    float *const q_tile = (float *)(void *)(share->work + OF(71744, 71744, 37952)); /* [d: 64, i: OF(256, 256,
        128) of OF(272, 272, 144)] */
    /* q_tile = q, with zeros beyond the last row */
    T(transpose_padded)(q + i0 * q_row, q_row, i1 - i0, 64, q_tile, OF(272, 272, 144), LANES);
    /* query_sum = 0.0f */
    for (int64_t i = 0; i < i1 - i0; i += LANES) {
        T(store)(query_sum + i, T(splat)(0.0f));
    }
    /* query_sum += q_tile * q_tile */
    for (int64_t i_first = 0; i_first < i1 - i0; i_first += OF(64, 16, 8)) {
        T(vec) query_sum_in[OF(4, 2, 2)];
        UNROLL for (int64_t vector = 0, i = i_first; vector < OF(4, 2, 2); vector++, i += LANES) {
            query_sum_in[vector] = (T(vec)){0};
        }
        for (int64_t d = 0; d < 64; d++) {
            UNROLL for (int64_t vector = 0, i = i_first; vector < OF(4, 2, 2); vector++, i += LANES) {
                const T(vec) q_tile_3 = T(load)(q_tile + d * OF(272, 272, 144) + i);
                query_sum_in[vector] += q_tile_3 * q_tile_3;
            }
        }
        UNROLL for (int64_t vector = 0, i = i_first; vector < OF(4, 2, 2); vector++, i += LANES) {
            T(store)(query_sum + i, T(load)(query_sum + i) + query_sum_in[vector]);
        }
    }
    /* q_tile = q_tile * select(query_sum == 0.0f, 0.0f, 1.0f / sqrt(query_sum)) */
    for (int64_t i = 0; i < i1 - i0; i += LANES) {
        const T(vec) query_sum_4 = T(load)(query_sum + i);
        const T(vec) t_5 = T(pick)(query_sum_4 == 0.0f, T(splat)(0.0f), 1.0f / T(sqrt)(query_sum_4));
        for (int64_t d = 0; d < 64; d++) {
            T(store)(q_tile + d * OF(272, 272, 144) + i, T(load)(q_tile + d * OF(272, 272, 144) + i) * t_5);
        }
    }
    /* row_sum_from_state = 0.0f */
    for (int64_t i = 0; i < i1 - i0; i += LANES) {
        T(store)(row_sum_from_state + i, T(splat)(0.0f));
    }
    /* query_2 = select(f < 64, q_tile, 1.0f); row_sum_from_state += query_2 * carried_sum */
    for (int64_t i_first = 0; i_first < i1 - i0; i_first += OF(64, 16, 8)) {
        T(vec) row_sum_from_state_in[OF(4, 2, 2)], row_sum_from_state_in_whole[OF(4, 2, 2)];
        UNROLL for (int64_t vector = 0, i = i_first; vector < OF(4, 2, 2); vector++, i += LANES) {
            row_sum_from_state_in[vector] = (T(vec)){0};
            row_sum_from_state_in_whole[vector] = (T(vec)){0};
        }
        for (int64_t f = 0; f < 65; f++) {
            UNROLL for (int64_t vector = 0, i = i_first; vector < OF(4, 2, 2); vector++, i += LANES) {
                const T(vec) query_2_new6 = (f < 64) ? T(load)(q_tile + min(f, 63) * OF(272, 272,
                    144) + i) : T(splat)(1.0f);
                T(store)(query_2 + f * OF(272, 272, 144) + i, query_2_new6);
                row_sum_from_state_in[vector] += query_2_new6 * carried_sum[f];
                if (f % 32 == 31) {
                    row_sum_from_state_in_whole[vector] += row_sum_from_state_in[vector];
                    row_sum_from_state_in[vector] = (T(vec)){0};
                }
            }
        }
        UNROLL for (int64_t vector = 0, i = i_first; vector < OF(4, 2, 2); vector++, i += LANES) {
            row_sum_from_state_in[vector] += row_sum_from_state_in_whole[vector];
            T(store)(row_sum_from_state + i, T(load)(row_sum_from_state + i) + row_sum_from_state_in[vector]);
        }
    }
    /* sum_from_state[e][i] = sum over f of carried * query_2 */
    T(dot3)(round_up(i1 - i0, LANES), carried, query_2, sum_from_state);
    /* sum_from_state = select(row_sum_from_state == 0.0f, 0.0f, sum_from_state / row_sum_from_state) */
    for (int64_t i = 0; i < i1 - i0; i += LANES) {
        const T(vec) row_sum_from_state_7 = T(load)(row_sum_from_state + i);
        const T(mask) t_8 = row_sum_from_state_7 == 0.0f;
        for (int64_t e = 0; e < 64; e++) {
            T(store)(sum_from_state + e * OF(272, 272, 144) + i, T(pick)(t_8, T(splat)(0.0f),
                T(load)(sum_from_state + e * OF(272, 272, 144) + i) / row_sum_from_state_7));
        }
    }
    /* out = sum_from_state, transposed back */
    T(transpose_out)(sum_from_state, OF(272, 272, 144), 64, i1 - i0, out + i0 * out_row, out_row, LANES);
}

/* Computes head number `task`. Each thread on the head calls this with `share`. */
TARGET static void T(linear_taylor_linear)(const struct call *call, int64_t task, struct share *share)
{
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_q = call->p.n_q;
    const int64_t n_k = call->p.n_k;
    const int64_t chunks = n_k > 0 ? (n_k - 1) / 576 + 1 : 1;
    for (int64_t iteration = share->number; iteration < ((65 + 31) / 32); iteration += share->threads)
        T(linear_taylor_begin)(call, task, share, iteration);
    synchronise(share);
    const int64_t first = 0;
    const int64_t length = segment_length(share, chunks - first);
    for (int64_t segment = share->number; first + segment * length < chunks; segment += share->threads) {
        share->chunk0 = first + segment * length;
        share->chunk1 = min(share->chunk0 + length, chunks);
        for (int64_t iteration = share->chunk0; iteration < share->chunk1; iteration++)
            T(linear_taylor_keys)(call, task, share, iteration);
        for (int64_t group = 0; group < 16; group++) {
            await_segment(share, group, segment);
            const int64_t end = (group + 1) * ((65 + 31) / 32) / 16;
            for (int64_t iteration = group * ((65 + 31) / 32) / 16; iteration < end; iteration++)
                T(linear_taylor_fold)(call, task, share, iteration);
            pass_segment(share, group, segment);
        }
    }
    share->segments += (max(chunks - first, 0) + length - 1) / length;
    synchronise(share);
    for (int64_t iteration = share->number; iteration < members * ((n_q + OF(255, 255, 127)) / OF(256, 256, 128));
        iteration += share->threads)
        T(linear_taylor_queries)(call, task, share, iteration);
    synchronise(share);
}

/* Initialises the states: they contain no keys yet. */
TARGET APART void T(linear_taylor_few_begin)(const struct call *call, int64_t task, const struct share *share,
    int64_t iteration)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_q = call->p.n_q;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t r0 = iteration * 64, r1 = min(r0 + 64, rows);
    const int64_t g = task % kv_heads;
    const int64_t b = task / kv_heads;
    const float *const q = (const float *)call->array[ARRAY_q].at + b * call->array[ARRAY_q].strides.batch + g /
        call->sharing * members * call->array[ARRAY_q].strides.head;
    const int64_t q_row = call->array[ARRAY_q].strides.row;
    const int64_t q_head = call->array[ARRAY_q].strides.head;
    float *const query_sum = (float *)(void *)(share->shared + 0); /* [r: 64] */
    float *const query = (float *)(void *)(share->shared + 256); /* [d: 64, r: 64] */
    float *const q_tile = (float *)(void *)(share->work + 0); /* [d: 64, r: 64 of 80] */
    /* q_tile = q, with zeros beyond the last row */
    for (int64_t r = r0; r < r0 + round_up(r1 - r0, LANES); r++)
        for (int64_t d = 0; d < 64; d++)
            q_tile[d * 80 + r] = r < r1 ? q[r / n_q * q_head + r % n_q * q_row + d] : 0;
    /* query_sum = 0.0f */
    for (int64_t r = r0; r < r1; r += LANES) {
        T(store)(query_sum + r, T(splat)(0.0f));
    }
    /* query_sum += q_tile * q_tile */
    for (int64_t r = r0; r < r1; r += LANES) {
        T(vec) query_sum_in = (T(vec)){0};
        for (int64_t d = 0; d < 64; d++) {
            const T(vec) q_tile_0 = T(load)(q_tile + d * 80 + r);
            query_sum_in += q_tile_0 * q_tile_0;
        }
        T(store)(query_sum + r, T(load)(query_sum + r) + query_sum_in);
    }
    /* query = q_tile * select(query_sum == 0.0f, 0.0f, 1.0f / sqrt(query_sum)) */
    for (int64_t r = r0; r < r1; r += LANES) {
        const T(vec) query_sum_1 = T(load)(query_sum + r);
        const T(vec) t_2 = T(pick)(query_sum_1 == 0.0f, T(splat)(0.0f), 1.0f / T(sqrt)(query_sum_1));
        for (int64_t d = 0; d < 64; d++) {
            T(store)(query + d * 64 + r, T(load)(q_tile + d * 80 + r) * t_2);
        }
    }
}

/* Initialises the states: they contain no keys yet. */
TARGET APART void T(linear_taylor_few_begin_2)(const struct call *call, int64_t task, const struct share *share,
    int64_t iteration)
{
    (void)task;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t r0 = iteration * 16, r1 = min(r0 + 16, rows);
    float *const carried_sum = (float *)(void *)(share->shared + 16704); /* [r: 64] */
    float *const carried_sum_compensation = (float *)(void *)(share->shared + 33408); /* [r: 64] */
    float *const carried = (float *)(void *)(share->shared + 16960); /* [r: 64, e: 64] */
    float *const carried_compensation = (float *)(void *)(share->shared + 33664); /* [r: 64, e: 64] */
    /* carried_sum = 0.0f; carried_sum_compensation = 0.0f */
    for (int64_t r = r0; r < r1; r += LANES) {
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
TARGET APART void T(linear_taylor_few_keys)(const struct call *call, int64_t task, const struct share *share,
    int64_t iteration)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t n_k = call->p.n_k;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
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
    float *const query = (float *)(void *)(share->shared + 256); /* [d: 64, r: 64] */
    float *const key_sum = (float *)(void *)(share->work + 0); /* [j: 128] */
    float *const score = (float *)(void *)(share->work + 0); /* [r: 64, j: 128 of 144] */
    float *const state_sum = (float *)(void *)(share->slots + 0); /* [chunk, r: 64] */
    float *const state = (float *)(void *)(share->slots + 256); /* [chunk, r: 64, e: 64] */
    float *const k_tile = (float *)(void *)(share->work + 36864); /* [d: 64, j: 128 of 144] */
    /* state_sum = 0.0f */
    for (int64_t r = 0; r < rows; r += LANES) {
        T(store)(state_sum + (chunk - chunk0) * 4176 + r, T(splat)(0.0f));
    }
    /* state = 0.0f */
    for (int64_t r = 0; r < rows; r++) {
        for (int64_t e_first = 0; e_first < 64; e_first += OF(64, 16, 8)) {
            UNROLL for (int64_t vector = 0, e = e_first; vector < OF(4, 2, 2); vector++, e += LANES) {
                T(store)(state + (chunk - chunk0) * 4176 + r * 64 + e, T(splat)(0.0f));
            }
        }
    }
    for (int64_t j0 = chunk * 1024, j_end = min(n_k, (chunk + 1) * 1024); j0 < j_end; j0 += 128) {
        const int64_t j1 = min(j0 + 128, j_end);
        /* k_tile = k, with zeros beyond the last row */
        T(transpose_padded)(k + j0 * k_row, k_row, j1 - j0, 64, k_tile, 144, 64);
        /* key_sum = 0.0f */
        for (int64_t j = 0; j < j1 - j0; j += LANES) {
            T(store)(key_sum + j, T(splat)(0.0f));
        }
        /* key_sum += k_tile * k_tile */
        for (int64_t j_first = 0; j_first < j1 - j0; j_first += OF(64, 16, 8)) {
            T(vec) key_sum_in[OF(4, 2, 2)];
            UNROLL for (int64_t vector = 0, j = j_first; vector < OF(4, 2, 2); vector++, j += LANES) {
                key_sum_in[vector] = (T(vec)){0};
            }
            for (int64_t d = 0; d < 64; d++) {
                UNROLL for (int64_t vector = 0, j = j_first; vector < OF(4, 2, 2); vector++, j += LANES) {
                    const T(vec) k_tile_3 = T(load)(k_tile + d * 144 + j);
                    key_sum_in[vector] += k_tile_3 * k_tile_3;
                }
            }
            UNROLL for (int64_t vector = 0, j = j_first; vector < OF(4, 2, 2); vector++, j += LANES) {
                T(store)(key_sum + j, T(load)(key_sum + j) + key_sum_in[vector]);
            }
        }
        /* k_tile = k_tile * select(key_sum == 0.0f, 0.0f, 1.0f / sqrt(key_sum)) */
        for (int64_t j = 0; j < j1 - j0; j += LANES) {
            const T(vec) key_sum_4 = T(load)(key_sum + j);
            const T(vec) t_5 = T(pick)(key_sum_4 == 0.0f, T(splat)(0.0f), 1.0f / T(sqrt)(key_sum_4));
            for (int64_t d = 0; d < 64; d++) {
                T(store)(k_tile + d * 144 + j, T(load)(k_tile + d * 144 + j) * t_5);
            }
        }
        /* score[r][j] = sum over d of query * k_tile */
        T(dot4)(round_up(j1 - j0, LANES), rows, query, k_tile, score);
        /* score = score + 1.0f */
        for (int64_t r = 0; r < rows; r++) {
            for (int64_t j = 0; j < j1 - j0; j += LANES) {
                T(store)(score + r * 144 + j, T(load)(score + r * 144 + j) + 1.0f);
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
            state_sum[(chunk - chunk0) * 4176 + r] += total;
        }
        /* state[r][e] += sum over j of score * v */
#if OF(1, 0, 0)
        T(dot5)(rows, j1 - j0, score, v + j0 * v_row, v_row, state + (chunk - chunk0) * 4176, attn_is_intel() ? 16 : 0);
#else
        T(dot5)(rows, j1 - j0, score, v + j0 * v_row, v_row, state + (chunk - chunk0) * 4176);
#endif
    }
}

/* Folds the slots of the current chunks, in order, for some elements of the states. */
TARGET APART void T(linear_taylor_few_fold)(const struct call *call, int64_t task, const struct share *share,
    int64_t iteration)
{
    (void)task;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t r0 = iteration * 16, r1 = min(r0 + 16, rows);
    const int64_t chunk0 = share->chunk0;
    const int64_t chunk1 = share->chunk1;
    float *const state_sum = (float *)(void *)(share->slots + 0); /* [chunk, r: 64] */
    float *const state = (float *)(void *)(share->slots + 256); /* [chunk, r: 64, e: 64] */
    float *const carried_sum = (float *)(void *)(share->shared + 16704); /* [r: 64] */
    float *const carried_sum_compensation = (float *)(void *)(share->shared + 33408); /* [r: 64] */
    float *const carried = (float *)(void *)(share->shared + 16960); /* [r: 64, e: 64] */
    float *const carried_compensation = (float *)(void *)(share->shared + 33664); /* [r: 64, e: 64] */
    for (int64_t chunk = chunk0; chunk < chunk1; chunk++) {
        /* before_sum = carried_sum; carried_sum += state_sum */
        for (int64_t r = r0; r < r1; r += LANES) {
            T(add)(carried_sum + r, carried_sum_compensation + r, T(load)(state_sum + (chunk - chunk0) * 4176 + r),
                T(splat)(1));
        }
        /* before = carried; carried += state */
        for (int64_t r = r0; r < r1; r++) {
            for (int64_t e_first = 0; e_first < 64; e_first += OF(64, 16, 8)) {
                UNROLL for (int64_t vector = 0, e = e_first; vector < OF(4, 2, 2); vector++, e += LANES) {
                    T(add)(carried + r * 64 + e, carried_compensation + r * 64 + e,
                        T(load)(state + (chunk - chunk0) * 4176 + r * 64 + e), T(splat)(1));
                }
            }
        }
    }
}

/* Processes a tile of queries: reads the states. */
TARGET APART void T(linear_taylor_few_queries)(const struct call *call, int64_t task, const struct share *share,
    int64_t iteration)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_q = call->p.n_q;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t r0 = iteration * 16, r1 = min(r0 + 16, rows);
    const int64_t g = task % kv_heads;
    const int64_t b = task / kv_heads;
    float *const carried_sum = (float *)(void *)(share->shared + 16704); /* [r: 64] */
    float *const carried = (float *)(void *)(share->shared + 16960); /* [r: 64, e: 64] */
    float *const result = (float *)(void *)(share->work + 0); /* [r: 64, e: 64] */
    float *const out = (float *)call->array[ARRAY_out].at + b * call->array[ARRAY_out].strides.batch + g * members *
        call->array[ARRAY_out].strides.head;
    const int64_t out_row = call->array[ARRAY_out].strides.row;
    const int64_t out_head = call->array[ARRAY_out].strides.head;
    /* result = select(carried_sum == 0.0f, 0.0f, carried / carried_sum) */
    for (int64_t r = r0; r < r1; r++) {
        for (int64_t e_first = 0; e_first < 64; e_first += OF(64, 16, 8)) {
            UNROLL for (int64_t vector = 0, e = e_first; vector < OF(4, 2, 2); vector++, e += LANES) {
                const float carried_sum_6 = carried_sum[r];
                T(store)(result + r * 64 + e, (carried_sum_6 == 0.0f) ? T(splat)(0.0f) : T(load)(carried + r * 64 + e) /
                    carried_sum_6);
            }
        }
    }
    /* out = result */
    for (int64_t r = r0; r < r1; r++)
        for (int64_t e = 0; e < 64; e++)
            out[r / n_q * out_head + r % n_q * out_row + e] = result[r * 64 + e];
}

/* Computes head number `task`. Each thread on the head calls this with `share`. */
TARGET static void T(linear_taylor_few)(const struct call *call, int64_t task, struct share *share)
{
    const int64_t n_k = call->p.n_k;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t chunks = n_k > 0 ? (n_k - 1) / 1024 + 1 : 1;
    for (int64_t iteration = share->number; iteration < ((rows + 63) / 64); iteration += share->threads)
        T(linear_taylor_few_begin)(call, task, share, iteration);
    for (int64_t iteration = share->number; iteration < ((rows + 15) / 16); iteration += share->threads)
        T(linear_taylor_few_begin_2)(call, task, share, iteration);
    synchronise(share);
    const int64_t first = 0;
    const int64_t length = segment_length(share, chunks - first);
    for (int64_t segment = share->number; first + segment * length < chunks; segment += share->threads) {
        share->chunk0 = first + segment * length;
        share->chunk1 = min(share->chunk0 + length, chunks);
        for (int64_t iteration = share->chunk0; iteration < share->chunk1; iteration++)
            T(linear_taylor_few_keys)(call, task, share, iteration);
        for (int64_t group = 0; group < 16; group++) {
            await_segment(share, group, segment);
            const int64_t end = (group + 1) * ((rows + 15) / 16) / 16;
            for (int64_t iteration = group * ((rows + 15) / 16) / 16; iteration < end; iteration++)
                T(linear_taylor_few_fold)(call, task, share, iteration);
            pass_segment(share, group, segment);
        }
    }
    share->segments += (max(chunks - first, 0) + length - 1) / length;
    synchronise(share);
    for (int64_t iteration = share->number; iteration < ((rows + 15) / 16); iteration += share->threads)
        T(linear_taylor_few_queries)(call, task, share, iteration);
    synchronise(share);
}
#include <attnrt/kernel/end.h>
#else
#ifdef __cplusplus
#error "linear_taylor.c is C, not C++: compile it with a C compiler"
#elif !defined __STDC_VERSION__ || __STDC_VERSION__ < 199901L
#error "linear_taylor.c is C11, not C89: compile it without -std=, or with -std=gnu11"
extern int linear_taylor_is_c11;
#elif !defined __GNUC__
#error "linear_taylor.c uses GNU C vector extensions: compile it with gcc or clang"
extern int linear_taylor_is_gnu_c;
#else
#include "linear_taylor.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include <attnrt/kernel/optimize.h>
#include <attnrt/kernel/call.h>

/* the numbers of the arrays of a call */
enum {
    ARRAY_q, ARRAY_k, ARRAY_v, ARRAY_out
};

#ifdef __FILE_NAME__
#define LOOPS __FILE_NAME__ /* this file, whose first part has the loops */
#else
#define LOOPS "linear_taylor.c"
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
#define MAX_LANES 64
#define OF(v4, v3, any) any /* a number of each target */
#define SECTION
#include LOOPS
#undef SECTION

/* ==== tables for the library that calls these functions (attnrt/kernel/call.h) ==== */
static const struct array array[] = {
    {.name = "q", .access = {ACCESS_READ, ACCESS_NONE}, .dtype = ATTN_F32, .rows = ROWS_OF_QUERIES, .argument = {0, 0},
        .strides = offsetof(struct attn_problem, q)},
    {.name = "k", .access = {ACCESS_READ, ACCESS_NONE}, .dtype = ATTN_F32, .rows = ROWS_OF_KEYS, .argument = {1, 1},
        .strides = offsetof(struct attn_problem, k)},
    {.name = "v", .access = {ACCESS_READ, ACCESS_NONE}, .dtype = ATTN_F32, .rows = ROWS_OF_KEYS, .argument = {2, 2},
        .strides = offsetof(struct attn_problem, v)},
    {.name = "out", .access = {ACCESS_WRITTEN, ACCESS_NONE}, .dtype = ATTN_F32, .rows = ROWS_OF_QUERIES, .argument = {3,
        3}, .strides = offsetof(struct attn_problem, out)},
};

#if defined(__x86_64__)
static int runs_v4(void)
{
    return attn_x86_64_level() >= 4;
}
static const struct program programs_v4[] = {
    {.role = RUN_FORWARD, .form = FORM_FEW, .from = 70,
     .head = linear_taylor_few_v4, .tile = 0, .own = 73728, .few_rows = 37, .of_pair = 128, .shared = 50112,
         .slot = 16704, .slots = 4, .together = 1},
    {.role = RUN_FORWARD, .from = 70,
     .head = linear_taylor_linear_v4, .tile = 0, .own = 141376, .of_token = 4225, .shared = 33920, .slot = 16960,
         .slots = 4, .together = 1},
    {.role = RUN_FORWARD, .form = FORM_FEW,
     .head = linear_taylor_few_v4, .tile = 0, .own = 73728, .few_rows = 64, .lanes = 16, .of_pair = 128,
         .shared = 50112, .slot = 16704, .slots = 4, .together = 1},
    {.role = RUN_FORWARD,
     .rows = linear_taylor_rows_v4, .tile = 256, .own = 235648, .of_pair = 128},
};
#endif
#if defined(__x86_64__)
static int runs_v3(void)
{
    return attn_x86_64_level() >= 3;
}
static const struct program programs_v3[] = {
    {.role = RUN_FORWARD, .form = FORM_FEW, .from = 70,
     .head = linear_taylor_few_v3, .tile = 0, .own = 73728, .few_rows = 37, .of_pair = 128, .shared = 50112,
         .slot = 16704, .slots = 4, .together = 1},
    {.role = RUN_FORWARD, .from = 70,
     .head = linear_taylor_linear_v3, .tile = 0, .own = 141376, .of_token = 4225, .shared = 33920, .slot = 16960,
         .slots = 4, .together = 1},
    {.role = RUN_FORWARD, .form = FORM_FEW,
     .head = linear_taylor_few_v3, .tile = 0, .own = 73728, .few_rows = 64, .lanes = 8, .of_pair = 128, .shared = 50112,
         .slot = 16704, .slots = 4, .together = 1},
    {.role = RUN_FORWARD,
     .rows = linear_taylor_rows_v3, .tile = 256, .own = 229440, .of_pair = 128},
};
#endif
static const struct program programs_any[] = {
    {.role = RUN_FORWARD, .form = FORM_FEW, .from = 70,
     .head = linear_taylor_few_any, .tile = 0, .own = 73728, .few_rows = 37, .of_pair = 128, .shared = 50112,
         .slot = 16704, .slots = 4, .together = 1},
    {.role = RUN_FORWARD, .from = 70,
     .head = linear_taylor_linear_any, .tile = 0, .own = 74816, .of_token = 4225, .shared = 33920, .slot = 16960,
         .slots = 4, .together = 1},
    {.role = RUN_FORWARD, .form = FORM_FEW,
     .head = linear_taylor_few_any, .tile = 0, .own = 73728, .few_rows = 64, .lanes = 4, .of_pair = 128,
         .shared = 50112, .slot = 16704, .slots = 4, .together = 1},
    {.role = RUN_FORWARD,
     .rows = linear_taylor_rows_any, .tile = 128, .own = 130112, .of_pair = 128},
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
    .layout = KERNEL_LAYOUT, .name = "linear_taylor", .openmp = OPENMP,
    .target = target, .targets = sizeof target / sizeof *target - 1,
    .array = array, .arrays = sizeof array / sizeof *array,
    .params_bytes = sizeof(struct linear_taylor_params),
    .dtype = ATTN_F32, .key_dtype = ATTN_F32, .value_dtype = ATTN_F32, .real = sizeof(float), .element = sizeof(float),
    .head_dim = 64, .value_dim = 64, .key_row = 64, .value_row = 64,
    .shares = 1,
    .ids = -1,
    .corrected = -1,
    .solution = -1,
};

/* ==== the interface ==== */
size_t linear_taylor_params_size(void) { return attn_call_params_size(&kernel); }
int linear_taylor_params_init(struct linear_taylor_params *params, uint64_t seed, void *storage)
{
    return attn_call_params_init(&kernel, params, seed, storage);
}
size_t linear_taylor_workspace(const struct attn_problem *problem) { return attn_call_workspace(&kernel, problem); }
int linear_taylor_forward(const struct attn_problem *problem, const struct linear_taylor_params *params, const float *q,
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
const struct attn_kernel linear_taylor_kernel = {
    .name = "linear_taylor", .version = "0.2.0", .dtype = ATTN_F32, .head_dim = 64, .value_dim = 64,
    .params = 0, .param = NULL, .params_bytes = sizeof(struct linear_taylor_params),
    .params_size = linear_taylor_params_size, .params_init = params_init_any, .forward = forward_any,
    .workspace = linear_taylor_workspace,
    .key_dtype = ATTN_F32, .value_dtype = ATTN_F32,
    .before = INT64_MAX, .after = INT64_MAX, .period = 1, .names_heads = 0, .names_sequences = 0, .in_parts = 0,
    .saved_power = 0, .has_sink = 0, .open_keys = 0, .end_of_keys = INT64_MAX,
};
#endif /* a compiler of this language */
#endif /* SECTION */
