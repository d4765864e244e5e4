/* cosine.c, made by attnc 0.2.0: attnc cosine.yaml
   C11 with GNU extensions, for a C compiler; C++ includes cosine.h.
   softmax of scaled cosines
   Henry et al., Query-Key Normalization for Transformers (Findings of EMNLP 2020), section 3; Liu et al.,
   Swin Transformer V2 (CVPR 2022), section 3.3

   Computes, in f32, over the axes b (batch), g (key/value head), m (query head of g), i (query), j (key), d (64),
   e (64):
     q [b g m i d]
     k [b g j d]
     v [b g j e]
     x3 [b g j d] = k * k
     x4 [b g j] = sum over d of x3
     x5 [b g j] = 1 / sqrt(x4 + 1e-06)
     x6 [b g j d] = k * x5
     x7 [b g m i d] = q * q
     x8 [b g m i] = sum over d of x7
     x9 [b g m i] = 1 / sqrt(x8 + 1e-06)
     x10 [b g m i d] = q * x9
     x11 [b g m i d] = x10 * 10
     x12 [b g m i j] = sum over d of x11 * x6
     x13 [b g m i j] = exp(x12)
     x14 [b g m i] = sum over j of x13
     x15 [b g m i e] = sum over j of x13 * v
     x16 [b g m i e] = x14 == 0 ? 0 : x15 / x14
     out = x16

   How: each vector lane holds one query. Keys are processed in tiles,
   so row sums and maxima need no reduction across lanes.
   The sums of a tile start from zero and are added to the sums so far. Tiles that no query sees are skipped.
   For few queries each lane holds one key. The queries of all heads that share keys are the rows of one tile,
   so each key is read once.
   The chunks of keys are divided among the threads. Their sums are added in the order of the chunks.
     x86-64-v4  quadratic tiles of 32 queries and 96 keys, in blocks of 256 queries;
     236928 bytes of workspace per thread
     x86-64-v4  few       tiles of 64 queries and 128 keys; 191936 bytes of workspace per thread
     x86-64-v3  quadratic tiles of 16 queries and 96 keys, in blocks of 256 queries;
     230784 bytes of workspace per thread
     x86-64-v3  few       tiles of 64 queries and 128 keys; 191936 bytes of workspace per thread
     generic    quadratic tiles of 16 queries and 96 keys, in blocks of 128 queries;
     130944 bytes of workspace per thread
     generic    few       tiles of 64 queries and 128 keys; 191936 bytes of workspace per thread

   Contents:
     loops      cosine_rows, cosine_few
     targets    x86-64-v4, x86-64-v3, generic
     tables     arrays and programs, for the functions of attnrt that call the loops
     interface  cosine_workspace, cosine_forward, cosine_kernel
   The file includes itself, so that the loops are compiled once for each target. T(name) is a name with the target's
   suffix, LANES the elements of its vectors, and OF(…) a number for each target.

   Compile with: cc -O2 -fopenmp cosine.c … -lattnrt -lm */
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
    T(dot)(/*vectors=*/2, lanes, /*rows=*/64, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/1, a_step, b,
        /*b_step=*/OF(32, 16, 16), c, /*c_row=*/OF(32, 16, 16), /*update=*/3, factor, compensation);
}
TARGET APART void T(dot2)(int64_t lanes, int64_t rows, const float *a, const float *b, float *c)
{
    T(dot)(/*vectors=*/OF(4, 2, 2), lanes, rows, /*tail=*/-1, /*steps=*/64, /*span=*/32, a, /*a_row=*/1, /*a_step=*/64,
        b, /*b_step=*/144, c, /*c_row=*/144, /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL);
}
#if OF(1, 0, 0)
TARGET APART void T(dot3)(int64_t rows, int64_t steps, const float *a, const float *b, int64_t b_step, float *c,
    int64_t early)
#else
TARGET APART void T(dot3)(int64_t rows, int64_t steps, const float *a, const float *b, int64_t b_step, float *c)
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
TARGET static void T(cosine_rows)(const struct call *call, int64_t task, unsigned char *work)
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
    float *const key_sum = (float *)(void *)(work + 0); /* [j: 96] */
    float *const query_sum = (float *)(void *)(work + 0); /* [i: OF(32, 16, 16)] */
    float *const all_query = (float *)(void *)(work + 384); /* [d: 64, i: OF(32, 16, 16), OF(8, 16, 8) times] */
    float *const score = (float *)(void *)(work + OF(65920, 65920, 33152)); /* [j: 96, i: OF(32, 16, 16)] */
    float *const all_row_max = (float *)(void *)(work + OF(78208, 72064, 39296)); /* [i: OF(32, 16, 16), OF(8, 16,
        8) times] */
    float *const old_max = (float *)(void *)(work + 0); /* [i: OF(32, 16, 16)] */
    float *const all_row_sum = (float *)(void *)(work + OF(79232, 73088, 39808)); /* [i: OF(32, 16, 16), OF(8, 16,
        8) times] */
    float *const all_row_sum_compensation = (float *)(void *)(work + OF(80256, 74112, 40320)); /* [i: OF(32, 16, 16),
        OF(8, 16, 8) times] */
    float *const all_sum = (float *)(void *)(work + OF(81280, 75136, 40832)); /* [e: 64, i: OF(32, 16, 16), OF(8, 16,
        8) times] */
    float *const all_sum_compensation = (float *)(void *)(work + OF(146816, 140672, 73600)); /* [e: 64, i: OF(32, 16,
        16), OF(8, 16, 8) times] */
    float *const result = (float *)(void *)(work + 0); /* [e: 64, i: OF(32, 16, 16)] */
    float *const out = (float *)call->array[ARRAY_out].at + b * call->array[ARRAY_out].strides.batch + (g * members + m)
        * call->array[ARRAY_out].strides.head;
    const int64_t out_row = call->array[ARRAY_out].strides.row;
    float *const q_tile = (float *)(void *)(work + OF(65920, 65920, 33152)); /* [d: 64, i: OF(32, 16, 16)] */
    float *const k_tile = (float *)(void *)(work + OF(212352, 206208, 106368)); /* [d: 64, j: 96] */
    for (int64_t i_next = i0, i_block = i0, i_end = i1; i_next < i_end; i_next += OF(32, 16, 16)) {
        const int64_t i0 = i_next, i1 = min(i0 + OF(32, 16, 16), i_end);
        float *const query = all_query + (i0 - i_block) / OF(32, 16, 16) * OF(2048, 1024, 1024);
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
        /* query = (q_tile * (1.0f / sqrt(query_sum + 1e-06f))) * 14.42695f */
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            const T(vec) t_1 = 1.0f / T(sqrt)(T(load)(query_sum + i) + 1e-06f);
            for (int64_t d = 0; d < 64; d++) {
                T(store)(query + d * OF(32, 16, 16) + i, (T(load)(q_tile + d * OF(32, 16, 16) + i) * t_1) * 14.42695f);
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
                    const T(vec) k_tile_2 = T(load)(k_tile + d * 96 + j);
                    key_sum_in[vector] += k_tile_2 * k_tile_2;
                }
            }
            UNROLL for (int64_t vector = 0, j = j_first; vector < OF(3, 2, 2); vector++, j += LANES) {
                T(store)(key_sum + j, T(load)(key_sum + j) + key_sum_in[vector]);
            }
        }
        /* k_tile = k_tile * (1.0f / sqrt(key_sum + 1e-06f)) */
        for (int64_t j = 0; j < j1 - j0; j += LANES) {
            const T(vec) t_3 = 1.0f / T(sqrt)(T(load)(key_sum + j) + 1e-06f);
            for (int64_t d = 0; d < 64; d++) {
                T(store)(k_tile + d * 96 + j, T(load)(k_tile + d * 96 + j) * t_3);
            }
        }
        for (int64_t i_next = i0, i_block = i0, i_end = i1; i_next < i_end; i_next += OF(32, 16, 16)) {
            const int64_t i0 = i_next, i1 = min(i0 + OF(32, 16, 16), i_end);
            float *const query = all_query + (i0 - i_block) / OF(32, 16, 16) * OF(2048, 1024, 1024);
            float *const row_max = all_row_max + (i0 - i_block) / OF(32, 16, 16) * OF(32, 16, 16);
            float *const row_sum = all_row_sum + (i0 - i_block) / OF(32, 16, 16) * OF(32, 16, 16);
            float *const row_sum_compensation = all_row_sum_compensation + (i0 - i_block) / OF(32, 16, 16) * OF(32, 16,
                16);
            float *const sum = all_sum + (i0 - i_block) / OF(32, 16, 16) * OF(2048, 1024, 1024);
            float *const sum_compensation = all_sum_compensation + (i0 - i_block) / OF(32, 16, 16) * OF(2048, 1024,
                1024);
            /* score[j][i] = sum over d of k_tile * query */
            T(dot0)(round_up(i1 - i0, LANES), j1 - j0, k_tile, query, score);
            /* old_max = row_max */
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                T(store)(old_max + i, T(load)(row_max + i));
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
                    const T(vec) score_6 = T(load)(score + j * OF(32, 16, 16) + i);
                    const T(vec) score_new8 = T(exp2)(score_6 - row_max_7);
                    T(store)(score + j * OF(32, 16, 16) + i, score_new8);
                    row_sum_in += score_new8;
                }
                T(add)(row_sum + i, row_sum_compensation + i, row_sum_in, T(splat)(1));
            }
            /* sum[e][i] = sum * old_max + sum over j of v * score */
            T(dot1)(round_up(i1 - i0, LANES), j1 - j0, v + j0 * v_row, v_row, score, sum, old_max, sum_compensation);
        }
    }
    {
        for (int64_t i_next = i0, i_block = i0, i_end = i1; i_next < i_end; i_next += OF(32, 16, 16)) {
            const int64_t i0 = i_next, i1 = min(i0 + OF(32, 16, 16), i_end);
            float *const row_sum = all_row_sum + (i0 - i_block) / OF(32, 16, 16) * OF(32, 16, 16);
            float *const sum = all_sum + (i0 - i_block) / OF(32, 16, 16) * OF(2048, 1024, 1024);
            /* result = select(row_sum == 0.0f, 0.0f, sum * (1.0f / row_sum)) */
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                const T(vec) row_sum_9 = T(load)(row_sum + i);
                const T(mask) t_10 = row_sum_9 == 0.0f;
                const T(vec) t_11 = 1.0f / row_sum_9;
                for (int64_t e = 0; e < 64; e++) {
                    T(store)(result + e * OF(32, 16, 16) + i, T(pick)(t_10, T(splat)(0.0f), T(load)(sum + e * OF(32, 16,
                        16) + i) * t_11));
                }
            }
            /* out = result, transposed back */
            T(transpose_out)(result, OF(32, 16, 16), 64, i1 - i0, out + i0 * out_row, out_row, LANES);
        }
    }
}

/* Initialises the states: they contain no keys yet. */
TARGET APART void T(cosine_few_begin)(const struct call *call, int64_t task, const struct share *share,
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
    /* query = (q_tile * (1.0f / sqrt(query_sum + 1e-06f))) * 14.42695f */
    for (int64_t r = r0; r < r1; r += LANES) {
        const T(vec) t_1 = 1.0f / T(sqrt)(T(load)(query_sum + r) + 1e-06f);
        for (int64_t d = 0; d < 64; d++) {
            T(store)(query + d * 64 + r, (T(load)(q_tile + d * 80 + r) * t_1) * 14.42695f);
        }
    }
}

/* Initialises the states: they contain no keys yet. */
TARGET APART void T(cosine_few_begin_2)(const struct call *call, int64_t task, const struct share *share,
    int64_t iteration)
{
    (void)task;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t r0 = iteration * 16, r1 = min(r0 + 16, rows);
    float *const carried_max = (float *)(void *)(share->shared + 16704); /* [r: 64] */
    float *const carried_sum = (float *)(void *)(share->shared + 16960); /* [r: 64] */
    float *const carried_sum_compensation = (float *)(void *)(share->shared + 33664); /* [r: 64] */
    float *const carried = (float *)(void *)(share->shared + 17216); /* [r: 64, e: 64] */
    float *const carried_compensation = (float *)(void *)(share->shared + 33920); /* [r: 64, e: 64] */
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
TARGET APART void T(cosine_few_keys)(const struct call *call, int64_t task, const struct share *share,
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
    float *const key_sum = (float *)(void *)(share->work + 0); /* [j: 128] */
    float *const query = (float *)(void *)(share->shared + 256); /* [d: 64, r: 64] */
    float *const score = (float *)(void *)(share->work + 0); /* [r: 64, j: 128 of 144] */
    float *const state_max = (float *)(void *)(share->slots + 0); /* [chunk, r: 64] */
    float *const old_max = (float *)(void *)(share->work + 36864); /* [r: 64] */
    float *const state_sum = (float *)(void *)(share->slots + 256); /* [chunk, r: 64] */
    float *const state = (float *)(void *)(share->slots + 512); /* [chunk, r: 64, e: 64] */
    float *const k_tile = (float *)(void *)(share->work + 36864); /* [d: 64, j: 128 of 144] */
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
                    const T(vec) k_tile_2 = T(load)(k_tile + d * 144 + j);
                    key_sum_in[vector] += k_tile_2 * k_tile_2;
                }
            }
            UNROLL for (int64_t vector = 0, j = j_first; vector < OF(4, 2, 2); vector++, j += LANES) {
                T(store)(key_sum + j, T(load)(key_sum + j) + key_sum_in[vector]);
            }
        }
        /* k_tile = k_tile * (1.0f / sqrt(key_sum + 1e-06f)) */
        for (int64_t j = 0; j < j1 - j0; j += LANES) {
            const T(vec) t_3 = 1.0f / T(sqrt)(T(load)(key_sum + j) + 1e-06f);
            for (int64_t d = 0; d < 64; d++) {
                T(store)(k_tile + d * 144 + j, T(load)(k_tile + d * 144 + j) * t_3);
            }
        }
        /* score[r][j] = sum over d of query * k_tile */
        T(dot2)(round_up(j1 - j0, LANES), rows, query, k_tile, score);
        /* old_max = state_max */
        for (int64_t r = 0; r < rows; r += LANES) {
            T(store)(old_max + r, T(load)(state_max + (chunk - chunk0) * 4240 + r));
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
            const T(vec) old_max_4 = T(load)(old_max + r);
            const T(vec) old_max_new5 = T(exp2)(old_max_4 - T(load)(state_max + (chunk - chunk0) * 4240 + r));
            T(store)(old_max + r, old_max_new5);
            T(store)(state_sum + (chunk - chunk0) * 4240 + r, T(load)(state_sum + (chunk - chunk0) * 4240 + r) *
                old_max_new5);
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
#if OF(1, 0, 0)
        T(dot3)(rows, j1 - j0, score, v + j0 * v_row, v_row, state + (chunk - chunk0) * 4240, attn_is_intel() ? 16 : 0);
#else
        T(dot3)(rows, j1 - j0, score, v + j0 * v_row, v_row, state + (chunk - chunk0) * 4240);
#endif
    }
}

/* Folds the slots of the current chunks, in order, for some elements of the states. */
TARGET APART void T(cosine_few_fold)(const struct call *call, int64_t task, const struct share *share,
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
    float *const carried_max = (float *)(void *)(share->shared + 16704); /* [r: 64] */
    float *const carried_factor = (float *)(void *)(share->work + 0); /* [r: 64] */
    float *const slot_factor = (float *)(void *)(share->work + 256); /* [r: 64] */
    float *const carried_sum = (float *)(void *)(share->shared + 16960); /* [r: 64] */
    float *const carried_sum_compensation = (float *)(void *)(share->shared + 33664); /* [r: 64] */
    float *const carried = (float *)(void *)(share->shared + 17216); /* [r: 64, e: 64] */
    float *const carried_compensation = (float *)(void *)(share->shared + 33920); /* [r: 64, e: 64] */
    for (int64_t chunk = chunk0; chunk < chunk1; chunk++) {
        /* before_max = carried_max; carried_max max= state_max; carried_factor = exp2(before_max - carried_max);
           slot_factor = exp2(state_ ... */
        for (int64_t r = r0; r < r1; r += LANES) {
            const T(vec) carried_max_6 = T(load)(carried_max + r);
            const T(vec) before_max_new7 = carried_max_6;
            const T(vec) state_max_8 = T(load)(state_max + (chunk - chunk0) * 4240 + r);
            const T(vec) carried_max_new9 = T(max)(T(load)(carried_max + r), state_max_8);
            T(store)(carried_max + r, carried_max_new9);
            const T(vec) carried_factor_new10 = T(exp2)(before_max_new7 - carried_max_new9);
            T(store)(carried_factor + r, carried_factor_new10);
            const T(vec) slot_factor_new11 = T(exp2)(state_max_8 - carried_max_new9);
            T(store)(slot_factor + r, slot_factor_new11);
            const T(vec) carried_sum_12 = T(load)(carried_sum + r);
            T(store)(carried_sum + r, carried_sum_12 * carried_factor_new10);
            T(store)(carried_sum_compensation + r, T(load)(carried_sum_compensation + r) * carried_factor_new10);
            T(add)(carried_sum + r, carried_sum_compensation + r, T(load)(state_sum + (chunk - chunk0) * 4240 + r) *
                slot_factor_new11, T(splat)(1));
        }
        /* before = carried; carried = carried * carried_factor; carried_compensation = carried_compensation *
           carried_factor; carried += s ... */
        for (int64_t r = r0; r < r1; r++) {
            for (int64_t e_first = 0; e_first < 64; e_first += OF(64, 16, 8)) {
                UNROLL for (int64_t vector = 0, e = e_first; vector < OF(4, 2, 2); vector++, e += LANES) {
                    const T(vec) carried_13 = T(load)(carried + r * 64 + e);
                    const float carried_factor_14 = carried_factor[r];
                    T(store)(carried + r * 64 + e, carried_13 * carried_factor_14);
                    T(store)(carried_compensation + r * 64 + e, T(load)(carried_compensation + r * 64 + e) *
                        carried_factor_14);
                    T(add)(carried + r * 64 + e, carried_compensation + r * 64 + e,
                        T(load)(state + (chunk - chunk0) * 4240 + r * 64 + e) * slot_factor[r], T(splat)(1));
                }
            }
        }
    }
}

/* Processes a tile of queries: reads the states. */
TARGET APART void T(cosine_few_queries)(const struct call *call, int64_t task, const struct share *share,
    int64_t iteration)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_q = call->p.n_q;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t r0 = iteration * 16, r1 = min(r0 + 16, rows);
    const int64_t g = task % kv_heads;
    const int64_t b = task / kv_heads;
    float *const carried_sum = (float *)(void *)(share->shared + 16960); /* [r: 64] */
    float *const carried = (float *)(void *)(share->shared + 17216); /* [r: 64, e: 64] */
    float *const result = (float *)(void *)(share->work + 0); /* [r: 64, e: 64] */
    float *const out = (float *)call->array[ARRAY_out].at + b * call->array[ARRAY_out].strides.batch + g * members *
        call->array[ARRAY_out].strides.head;
    const int64_t out_row = call->array[ARRAY_out].strides.row;
    const int64_t out_head = call->array[ARRAY_out].strides.head;
    /* result = select(carried_sum == 0.0f, 0.0f, carried * (1.0f / carried_sum)) */
    for (int64_t r = r0; r < r1; r++) {
        for (int64_t e_first = 0; e_first < 64; e_first += OF(64, 16, 8)) {
            UNROLL for (int64_t vector = 0, e = e_first; vector < OF(4, 2, 2); vector++, e += LANES) {
                const float carried_sum_15 = carried_sum[r];
                T(store)(result + r * 64 + e, (carried_sum_15 == 0.0f) ? T(splat)(0.0f) : T(load)(carried + r * 64 + e)
                    * (1.0f / carried_sum_15));
            }
        }
    }
    /* out = result */
    for (int64_t r = r0; r < r1; r++)
        for (int64_t e = 0; e < 64; e++)
            out[r / n_q * out_head + r % n_q * out_row + e] = result[r * 64 + e];
}

/* Computes head number `task`. Each thread on the head calls this with `share`. */
TARGET static void T(cosine_few)(const struct call *call, int64_t task, struct share *share)
{
    const int64_t n_k = call->p.n_k;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t chunks = n_k > 0 ? (n_k - 1) / 1024 + 1 : 1;
    for (int64_t iteration = share->number; iteration < ((rows + 63) / 64); iteration += share->threads)
        T(cosine_few_begin)(call, task, share, iteration);
    for (int64_t iteration = share->number; iteration < ((rows + 15) / 16); iteration += share->threads)
        T(cosine_few_begin_2)(call, task, share, iteration);
    synchronise(share);
    const int64_t first = 0;
    const int64_t length = segment_length(share, chunks - first);
    for (int64_t segment = share->number; first + segment * length < chunks; segment += share->threads) {
        share->chunk0 = first + segment * length;
        share->chunk1 = min(share->chunk0 + length, chunks);
        for (int64_t iteration = share->chunk0; iteration < share->chunk1; iteration++)
            T(cosine_few_keys)(call, task, share, iteration);
        for (int64_t group = 0; group < 16; group++) {
            await_segment(share, group, segment);
            const int64_t end = (group + 1) * ((rows + 15) / 16) / 16;
            for (int64_t iteration = group * ((rows + 15) / 16) / 16; iteration < end; iteration++)
                T(cosine_few_fold)(call, task, share, iteration);
            pass_segment(share, group, segment);
        }
    }
    share->segments += (max(chunks - first, 0) + length - 1) / length;
    synchronise(share);
    for (int64_t iteration = share->number; iteration < ((rows + 15) / 16); iteration += share->threads)
        T(cosine_few_queries)(call, task, share, iteration);
    synchronise(share);
}
#include <attnrt/kernel/end.h>
#else
#ifdef __cplusplus
#error "cosine.c is C, not C++: compile it with a C compiler"
#elif !defined __STDC_VERSION__ || __STDC_VERSION__ < 199901L
#error "cosine.c is C11, not C89: compile it without -std=, or with -std=gnu11"
extern int cosine_is_c11;
#elif !defined __GNUC__
#error "cosine.c uses GNU C vector extensions: compile it with gcc or clang"
extern int cosine_is_gnu_c;
#else
#include "cosine.h"

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
#define LOOPS "cosine.c"
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
    {.role = RUN_FORWARD, .form = FORM_FEW,
     .head = cosine_few_v4, .tile = 0, .own = 73728, .few_rows = 64, .lanes = 16, .of_pair = 128, .shared = 50368,
         .slot = 16960, .slots = 4, .together = 1},
    {.role = RUN_FORWARD,
     .rows = cosine_rows_v4, .tile = 256, .own = 236928, .of_pair = 128},
};
#endif
#if defined(__x86_64__)
static int runs_v3(void)
{
    return attn_x86_64_level() >= 3;
}
static const struct program programs_v3[] = {
    {.role = RUN_FORWARD, .form = FORM_FEW,
     .head = cosine_few_v3, .tile = 0, .own = 73728, .few_rows = 64, .lanes = 8, .of_pair = 128, .shared = 50368,
         .slot = 16960, .slots = 4, .together = 1},
    {.role = RUN_FORWARD,
     .rows = cosine_rows_v3, .tile = 256, .own = 230784, .of_pair = 128},
};
#endif
static const struct program programs_any[] = {
    {.role = RUN_FORWARD, .form = FORM_FEW,
     .head = cosine_few_any, .tile = 0, .own = 73728, .few_rows = 64, .lanes = 4, .of_pair = 128, .shared = 50368,
         .slot = 16960, .slots = 4, .together = 1},
    {.role = RUN_FORWARD,
     .rows = cosine_rows_any, .tile = 128, .own = 130944, .of_pair = 128},
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
    .layout = KERNEL_LAYOUT, .name = "cosine", .openmp = OPENMP,
    .target = target, .targets = sizeof target / sizeof *target - 1,
    .array = array, .arrays = sizeof array / sizeof *array,
    .params_bytes = sizeof(struct cosine_params),
    .dtype = ATTN_F32, .key_dtype = ATTN_F32, .value_dtype = ATTN_F32, .real = sizeof(float), .element = sizeof(float),
    .head_dim = 64, .value_dim = 64, .key_row = 64, .value_row = 64,
    .shares = 1,
    .ids = -1,
    .corrected = -1,
    .solution = -1,
};

/* ==== the interface ==== */
size_t cosine_params_size(void) { return attn_call_params_size(&kernel); }
int cosine_params_init(struct cosine_params *params, uint64_t seed, void *storage)
{
    return attn_call_params_init(&kernel, params, seed, storage);
}
size_t cosine_workspace(const struct attn_problem *problem) { return attn_call_workspace(&kernel, problem); }
int cosine_forward(const struct attn_problem *problem, const struct cosine_params *params, const float *q,
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
const struct attn_kernel cosine_kernel = {
    .name = "cosine", .version = "0.2.0", .dtype = ATTN_F32, .head_dim = 64, .value_dim = 64,
    .params = 0, .param = NULL, .params_bytes = sizeof(struct cosine_params),
    .params_size = cosine_params_size, .params_init = params_init_any, .forward = forward_any,
    .workspace = cosine_workspace,
    .key_dtype = ATTN_F32, .value_dtype = ATTN_F32,
    .before = INT64_MAX, .after = INT64_MAX, .period = 1, .names_heads = 0, .names_sequences = 0, .in_parts = 0,
    .saved_power = 0, .has_sink = 0, .open_keys = 0, .end_of_keys = INT64_MAX,
};
#endif /* a compiler of this language */
#endif /* SECTION */
