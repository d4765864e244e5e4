/* deltanet_softmax.c, made by attnc 0.2.0: attnc deltanet_softmax.yaml
   C11 with GNU extensions, for a C compiler; C++ includes deltanet_softmax.h.
   the delta rule with the weights of softmax: each value is corrected by the sum of the earlier corrected values with
   these weights, which is not normalised
   Schlag, Irie and Schmidhuber, Linear Transformers Are Secretly Fast Weight Programmers (ICML 2021), section 4.2,
   for softmax

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
     x11 [b g t_key d] = k[b, g, t_key, d]
     x12 [b g t_key d] = x11 * x11
     x13 [b g t_key] = sum over d of x12
     x14 [b g t_key] = x13 == 0 ? 0 : 1 / sqrt(x13)
     x15 [b g t_key d] = x11 * x14
     x16 [b g t_key j] = sum over d of x15 * x6
     x17 [b g t_key j] = x16 * 11.541560327111707
     x18 [b g t_key] = max over j of x17 if j <= t_key && j < t_key
     x19 [b g t_key j] = exp2(x17 - x18)
     beta [b g m j], learned parameter
     x21 [b g j] = beta[b, g, 0, j]
     x22 [b g j e] = u with u[t_key] = x21 * (v - sum over j < t_key of x19 * u[j] if j <= t_key)
     x23 [b g m i j] = sum over d of x10 * x6
     x24 [b g m i j] = exp(x23 * 8)
     x25 [b g m i] = sum over j of x24 if j <= i + query_start
     x26 [b g m i e] = sum over j of x24 * x22 if j <= i + query_start
     x27 [b g m i e] = x25 == 0 ? 0 : x26 / x25
     out = x27
   query_start is the position of the first query: problem.query_start[b], or n_k - n_q if that is NULL.

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
     loops      deltanet_softmax_rows, deltanet_softmax_few, deltanet_softmax_correct
     targets    x86-64-v4, x86-64-v3, generic
     tables     arrays and programs, for the functions of attnrt that call the loops
     interface  deltanet_softmax_workspace, deltanet_softmax_forward, deltanet_softmax_kernel
   The file includes itself, so that the loops are compiled once for each target. T(name) is a name with the target's
   suffix, LANES the elements of its vectors, and OF(…) a number for each target.

   Compile with: cc -O2 -fopenmp deltanet_softmax.c … -lattnrt -lm */
#ifdef SECTION
#include <attnrt/kernel/vector.h>
#include <attnrt/kernel/elementary.h>
#include <attnrt/kernel/solve.h>
#include <attnrt/kernel/product.h>

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
    T(dot_finite_lanes)(/*fetched=*/0, /*vectors=*/OF(4, 2, 2), /*lanes=*/64, rows, /*tail=*/-1, steps, /*span=*/192, a,
        /*a_row=*/144, /*a_step=*/1, b, b_step, c, /*c_row=*/64, /*update=*/1, /*factor=*/NULL, /*compensation=*/NULL);
}
TARGET APART void T(dot5)(int64_t rows, int64_t steps, const float *a, const float *b, int64_t b_step, float *c)
{
    T(dot)(/*vectors=*/OF(4, 2, 2), /*lanes=*/64, rows, /*tail=*/-1, steps, /*span=*/192, a, /*a_row=*/144,
        /*a_step=*/1, b, b_step, c, /*c_row=*/64, /*update=*/1, /*factor=*/NULL, /*compensation=*/NULL);
}
TARGET APART void T(dot6)(int64_t lanes, int64_t rows, const float *a, const float *b, float *c)
{
    T(dot)(/*vectors=*/OF(4, 2, 2), lanes, rows, /*tail=*/-1, /*steps=*/64, /*span=*/32, a, /*a_row=*/1, /*a_step=*/144,
        b, /*b_step=*/80, c, /*c_row=*/80, /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL);
}
TARGET APART void T(dot7)(int64_t rows, int64_t steps, const float *a, const float *b, int64_t b_step, float *c,
    float *compensation)
{
    T(dot)(/*vectors=*/OF(4, 2, 2), /*lanes=*/64, rows, /*tail=*/-1, steps, /*span=*/192, a, /*a_row=*/1, /*a_step=*/80,
        b, b_step, c, /*c_row=*/64, /*update=*/3, /*factor=*/NULL, compensation);
}
TARGET APART void T(dot8)(int64_t rows, const float *w, const float *rate, const float *x, float *u)
{
    T(solve)(/*lanes=*/64, /*first=*/0, rows, w, /*w_row=*/1, /*w_step=*/80, rate, /*rate_step=*/1, x, /*x_row=*/64, u,
        /*u_row=*/64);
}

/* Computes task number `task`: one tile of queries of one head. `work` is this thread's workspace. */
TARGET static void T(deltanet_softmax_rows)(const struct call *call, int64_t task, unsigned char *work)
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
    const float *const corrected = call->array[ARRAY_corrected].at ? (const float *)call->array[ARRAY_corrected].at + b
        * call->array[ARRAY_corrected].strides.batch + g * call->array[ARRAY_corrected].strides.head : NULL;
    const int64_t corrected_row = call->array[ARRAY_corrected].strides.row;
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
        /* query = (q_tile * select(query_sum == 0.0f, 0.0f, 1.0f / sqrt(query_sum))) * 11.54156f */
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            const T(vec) query_sum_1 = T(load)(query_sum + i);
            const T(vec) t_2 = T(pick)(query_sum_1 == 0.0f, T(splat)(0.0f), 1.0f / T(sqrt)(query_sum_1));
            for (int64_t d = 0; d < 64; d++) {
                T(store)(query + d * OF(32, 16, 16) + i, (T(load)(q_tile + d * OF(32, 16, 16) + i) * t_2) * 11.54156f);
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
            float *const row_max = all_row_max + (i0 - i_block) / OF(32, 16, 16) * OF(32, 16, 16);
            float *const row_sum = all_row_sum + (i0 - i_block) / OF(32, 16, 16) * OF(32, 16, 16);
            float *const row_sum_compensation = all_row_sum_compensation + (i0 - i_block) / OF(32, 16, 16) * OF(32, 16,
                16);
            float *const sum = all_sum + (i0 - i_block) / OF(32, 16, 16) * OF(2048, 1024, 1024);
            float *const sum_compensation = all_sum_compensation + (i0 - i_block) / OF(32, 16, 16) * OF(2048, 1024,
                1024);
            if (!(j0 < (i1 + query_start))) continue; /* no query sees a key of the tile */
            /* score[j][i] = sum over d of k_tile * query */
            T(dot0)(round_up(i1 - i0, LANES), j1 - j0, k_tile, query, score);
            /* old_max = row_max */
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                T(store)(old_max + i, T(load)(row_max + i));
            }
            if ((i0 + query_start + 1) < j1) { /* the tile is partly outside the mask */
                /* score = select(j <= (i + query_start), score, -INFINITY) */
                for (int64_t i = 0; i < i1 - i0; i += LANES) {
                    const T(ints) t_6 = (i0 + i + T(lane)) + query_start;
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        T(store)(score + j * OF(32, 16, 16) + i, T(pick)(__builtin_convertvector((j0 + j) <= t_6,
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
                const T(vec) old_max_7 = T(load)(old_max + i);
                const T(vec) old_max_new8 = T(exp2)(old_max_7 - T(load)(row_max + i));
                T(store)(old_max + i, old_max_new8);
                T(store)(row_sum + i, T(load)(row_sum + i) * old_max_new8);
                T(store)(row_sum_compensation + i, T(load)(row_sum_compensation + i) * old_max_new8);
            }
            /* score = exp2(score - row_max); row_sum += score */
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                const T(vec) row_max_10 = T(load)(row_max + i);
                T(vec) row_sum_in = (T(vec)){0};
                for (int64_t j = 0; j < j1 - j0; j++) {
                    const T(vec) score_9 = T(load)(score + j * OF(32, 16, 16) + i);
                    const T(vec) score_new11 = T(exp2)(score_9 - row_max_10);
                    T(store)(score + j * OF(32, 16, 16) + i, score_new11);
                    row_sum_in += score_new11;
                }
                T(add)(row_sum + i, row_sum_compensation + i, row_sum_in, T(splat)(1));
            }
            /* sum[e][i] = sum * old_max + sum over j of corrected * score */
            if (__builtin_expect(((i0 + query_start + 1) < j1) && !T(finite)(corrected + j0 * corrected_row,
                corrected_row, j1 - j0, 64), 0)) { /* infinity and NaN affect only queries that see them */
                T(dot1)(round_up(i1 - i0, LANES), j1 - j0, corrected + j0 * corrected_row, corrected_row, score, sum,
                    old_max, sum_compensation);
                for (int64_t j = 0; j < j1 - j0; j++) {
                    T(mask) in_region[OF(2, 2, 4)] = {0};
                    if (T(finite)(corrected + j0 * corrected_row + j * corrected_row, 1, 64, 1)) continue;
                    for (int64_t i = 0; i < i1 - i0; i += LANES) {
                        in_region[i / LANES] = __builtin_convertvector((j0 + j) <= ((i0 + i + T(lane)) + query_start),
                            T(mask));
                    }
                    T(add_seen)(64, sum, OF(32, 16, 16), corrected + j0 * corrected_row + j * corrected_row, 1,
                        score + j * OF(32, 16, 16), in_region, i1 - i0);
                }
            } else
                T(dot2)(round_up(i1 - i0, LANES), j1 - j0, corrected + j0 * corrected_row, corrected_row, score, sum,
                    old_max, sum_compensation);
        }
    }
    {
        for (int64_t i_next = i0, i_block = i0, i_end = i1; i_next < i_end; i_next += OF(32, 16, 16)) {
            const int64_t i0 = i_next, i1 = min(i0 + OF(32, 16, 16), i_end);
            float *const row_sum = all_row_sum + (i0 - i_block) / OF(32, 16, 16) * OF(32, 16, 16);
            float *const sum = all_sum + (i0 - i_block) / OF(32, 16, 16) * OF(2048, 1024, 1024);
            /* result = select(row_sum == 0.0f, 0.0f, sum * (1.0f / row_sum)) */
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                const T(vec) row_sum_12 = T(load)(row_sum + i);
                const T(mask) t_13 = row_sum_12 == 0.0f;
                const T(vec) t_14 = 1.0f / row_sum_12;
                for (int64_t e = 0; e < 64; e++) {
                    T(store)(result + e * OF(32, 16, 16) + i, T(pick)(t_13, T(splat)(0.0f), T(load)(sum + e * OF(32, 16,
                        16) + i) * t_14));
                }
            }
            /* out = result, transposed back */
            T(transpose_out)(result, OF(32, 16, 16), 64, i1 - i0, out + i0 * out_row, out_row, LANES);
        }
    }
}

/* Initialises the states: they contain no keys yet. */
TARGET APART void T(deltanet_softmax_few_begin)(const struct call *call, int64_t task, const struct share *share,
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
    /* query = (q_tile * select(query_sum == 0.0f, 0.0f, 1.0f / sqrt(query_sum))) * 11.54156f */
    for (int64_t r = r0; r < r1; r += LANES) {
        const T(vec) query_sum_1 = T(load)(query_sum + r);
        const T(vec) t_2 = T(pick)(query_sum_1 == 0.0f, T(splat)(0.0f), 1.0f / T(sqrt)(query_sum_1));
        for (int64_t d = 0; d < 64; d++) {
            T(store)(query + d * 64 + r, (T(load)(q_tile + d * 80 + r) * t_2) * 11.54156f);
        }
    }
}

/* Initialises the states: they contain no keys yet. */
TARGET APART void T(deltanet_softmax_few_begin_2)(const struct call *call, int64_t task, const struct share *share,
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
TARGET APART void T(deltanet_softmax_few_keys)(const struct call *call, int64_t task, const struct share *share,
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
    const float *const corrected = call->array[ARRAY_corrected].at ? (const float *)call->array[ARRAY_corrected].at + b
        * call->array[ARRAY_corrected].strides.batch + g * call->array[ARRAY_corrected].strides.head : NULL;
    const int64_t corrected_row = call->array[ARRAY_corrected].strides.row;
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
    for (int64_t j0 = chunk * 1024, j_end = min(min(n_k, (chunk + 1) * 1024), n_q + query_start); j0 < j_end;
        j0 += 128) {
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
        T(dot3)(round_up(j1 - j0, LANES), rows, query, k_tile, score);
        /* old_max = state_max */
        for (int64_t r = 0; r < rows; r += LANES) {
            T(store)(old_max + r, T(load)(state_max + (chunk - chunk0) * 4240 + r));
        }
        if ((query_start + 1) < j1) { /* the tile is partly outside the mask */
            /* score = select(j <= ((r % n_q) + query_start), score, -INFINITY) */
            for (int64_t j = 0; j < j1 - j0; j += LANES) {
                const T(ints) t_6 = j0 + j + T(lane);
                for (int64_t r = 0; r < rows; r++) {
                    T(store)(score + r * 144 + j, T(pick)(__builtin_convertvector(t_6 <= ((r % n_q) + query_start),
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
            const T(vec) old_max_7 = T(load)(old_max + r);
            const T(vec) old_max_new8 = T(exp2)(old_max_7 - T(load)(state_max + (chunk - chunk0) * 4240 + r));
            T(store)(old_max + r, old_max_new8);
            T(store)(state_sum + (chunk - chunk0) * 4240 + r, T(load)(state_sum + (chunk - chunk0) * 4240 + r) *
                old_max_new8);
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
        /* state[r][e] += sum over j of score * corrected */
        if (__builtin_expect(((query_start + 1) < j1) && !T(finite)(corrected + j0 * corrected_row, corrected_row,
            j1 - j0, 64), 0)) { /* infinity and NaN affect only queries that see them */
            T(dot4)(rows, j1 - j0, score, corrected + j0 * corrected_row, corrected_row,
                state + (chunk - chunk0) * 4240);
            for (int64_t r = 0; r < rows; r++) {
                T(mask) in_region[OF(8, 16, 32)] = {0};
                const int64_t t_9 = (r % n_q) + query_start;
                for (int64_t j = 0; j < j1 - j0; j += LANES) {
                    in_region[j / LANES] = __builtin_convertvector((j0 + j + T(lane)) <= t_9, T(mask));
                }
                T(add_seen_lanes)(64, state + (chunk - chunk0) * 4240 + r * 64, score + r * 144,
                    corrected + j0 * corrected_row, corrected_row, j1 - j0, in_region);
            }
        } else
            T(dot5)(rows, j1 - j0, score, corrected + j0 * corrected_row, corrected_row,
                state + (chunk - chunk0) * 4240);
    }
}

/* Folds the slots of the current chunks, in order, for some elements of the states. */
TARGET APART void T(deltanet_softmax_few_fold)(const struct call *call, int64_t task, const struct share *share,
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
            const T(vec) carried_max_10 = T(load)(carried_max + r);
            const T(vec) before_max_new11 = carried_max_10;
            const T(vec) state_max_12 = T(load)(state_max + (chunk - chunk0) * 4240 + r);
            const T(vec) carried_max_new13 = T(max)(T(load)(carried_max + r), state_max_12);
            T(store)(carried_max + r, carried_max_new13);
            const T(vec) carried_factor_new14 = T(exp2)(before_max_new11 - carried_max_new13);
            T(store)(carried_factor + r, carried_factor_new14);
            const T(vec) slot_factor_new15 = T(exp2)(state_max_12 - carried_max_new13);
            T(store)(slot_factor + r, slot_factor_new15);
            const T(vec) carried_sum_16 = T(load)(carried_sum + r);
            T(store)(carried_sum + r, carried_sum_16 * carried_factor_new14);
            T(store)(carried_sum_compensation + r, T(load)(carried_sum_compensation + r) * carried_factor_new14);
            T(add)(carried_sum + r, carried_sum_compensation + r, T(load)(state_sum + (chunk - chunk0) * 4240 + r) *
                slot_factor_new15, T(splat)(1));
        }
        /* before = carried; carried = carried * carried_factor; carried_compensation = carried_compensation *
           carried_factor; carried += s ... */
        for (int64_t r = r0; r < r1; r++) {
            for (int64_t e_first = 0; e_first < 64; e_first += OF(64, 16, 8)) {
                UNROLL for (int64_t vector = 0, e = e_first; vector < OF(4, 2, 2); vector++, e += LANES) {
                    const T(vec) carried_17 = T(load)(carried + r * 64 + e);
                    const float carried_factor_18 = carried_factor[r];
                    T(store)(carried + r * 64 + e, carried_17 * carried_factor_18);
                    T(store)(carried_compensation + r * 64 + e, T(load)(carried_compensation + r * 64 + e) *
                        carried_factor_18);
                    T(add)(carried + r * 64 + e, carried_compensation + r * 64 + e,
                        T(load)(state + (chunk - chunk0) * 4240 + r * 64 + e) * slot_factor[r], T(splat)(1));
                }
            }
        }
    }
}

/* Processes a tile of queries: reads the states. */
TARGET APART void T(deltanet_softmax_few_queries)(const struct call *call, int64_t task, const struct share *share,
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
                const float carried_sum_19 = carried_sum[r];
                T(store)(result + r * 64 + e, (carried_sum_19 == 0.0f) ? T(splat)(0.0f) : T(load)(carried + r * 64 + e)
                    * (1.0f / carried_sum_19));
            }
        }
    }
    /* out = result */
    for (int64_t r = r0; r < r1; r++)
        for (int64_t e = 0; e < 64; e++)
            out[r / n_q * out_head + r % n_q * out_row + e] = result[r * 64 + e];
}

/* Computes head number `task`. Each thread on the head calls this with `share`. */
TARGET static void T(deltanet_softmax_few)(const struct call *call, int64_t task, struct share *share)
{
    const int64_t n_k = call->p.n_k;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t chunks = n_k > 0 ? (n_k - 1) / 1024 + 1 : 1;
    for (int64_t iteration = share->number; iteration < ((rows + 63) / 64); iteration += share->threads)
        T(deltanet_softmax_few_begin)(call, task, share, iteration);
    for (int64_t iteration = share->number; iteration < ((rows + 15) / 16); iteration += share->threads)
        T(deltanet_softmax_few_begin_2)(call, task, share, iteration);
    synchronise(share);
    const int64_t first = 0;
    const int64_t length = segment_length(share, chunks - first);
    for (int64_t segment = share->number; first + segment * length < chunks; segment += share->threads) {
        share->chunk0 = first + segment * length;
        share->chunk1 = min(share->chunk0 + length, chunks);
        for (int64_t iteration = share->chunk0; iteration < share->chunk1; iteration++)
            T(deltanet_softmax_few_keys)(call, task, share, iteration);
        for (int64_t group = 0; group < 16; group++) {
            await_segment(share, group, segment);
            const int64_t end = (group + 1) * ((rows + 15) / 16) / 16;
            for (int64_t iteration = group * ((rows + 15) / 16) / 16; iteration < end; iteration++)
                T(deltanet_softmax_few_fold)(call, task, share, iteration);
            pass_segment(share, group, segment);
        }
    }
    share->segments += (max(chunks - first, 0) + length - 1) / length;
    synchronise(share);
    for (int64_t iteration = share->number; iteration < ((rows + 15) / 16); iteration += share->threads)
        T(deltanet_softmax_few_queries)(call, task, share, iteration);
    synchronise(share);
}

/* Computes task number `task`: one tile of queries of one head. `work` is this thread's workspace. */
TARGET static void T(deltanet_softmax_correct)(const struct call *call, int64_t task, unsigned char *work)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_k = call->p.n_k;
    const int64_t g = task % kv_heads;
    const int64_t b = task / kv_heads;
    const float *const k = (const float *)call->array[ARRAY_k].at + b * call->array[ARRAY_k].strides.batch + g /
        call->sharing * call->array[ARRAY_k].strides.head;
    const int64_t k_row = call->array[ARRAY_k].strides.row;
    const float *const v = (const float *)call->array[ARRAY_v].at + b * call->array[ARRAY_v].strides.batch + g *
        call->array[ARRAY_v].strides.head;
    const int64_t v_row = call->array[ARRAY_v].strides.row;
    const float *const beta_array = (const float *)call->array[ARRAY_beta_array].at + b *
        call->array[ARRAY_beta_array].strides.batch + g * members * call->array[ARRAY_beta_array].strides.head;
    const int64_t beta_array_row = call->array[ARRAY_beta_array].strides.row;
    float *const corrected = (float *)call->array[ARRAY_corrected].at + b * call->array[ARRAY_corrected].strides.batch +
        g * call->array[ARRAY_corrected].strides.head;
    const int64_t corrected_row = call->array[ARRAY_corrected].strides.row;
    float *const earlier = (float *)(void *)(work + 0); /* [t_key: 64, e: 64] */
    float *const earlier_compensation = (float *)(void *)(work + 16384); /* [t_key: 64, e: 64] */
    float *const key_sum = (float *)(void *)(work + 32768); /* [j: 144] */
    float *const key = (float *)(void *)(work + 33344); /* [d: 64, j: 144] */
    float *const query_sum = (float *)(void *)(work + 32768); /* [t_key: 64] */
    float *const query = (float *)(void *)(work + 70208); /* [d: 64, t_key: 64 of 80] */
    float *const score = (float *)(void *)(work + 90688); /* [j: 144, t_key: 64 of 80] */
    float *const row_max = (float *)(void *)(work + 136768); /* [t_key: 64] */
    float *const old_max = (float *)(void *)(work + 137024); /* [t_key: 64] */
    float *const rescale = (float *)(void *)(work + 137280); /* [t_key: 64] */
    float *const weight = (float *)(void *)(work + 137536); /* [j: 144, t_key: 64 of 80] */
    float *const key_scale = (float *)(void *)(work + 183616); /* [j: 144] */
    float *const rest = (float *)(void *)(work + 184192); /* [t_key: 64, e: 64] */
    float *const solution = (float *)(void *)(work + 200576); /* [j: 144, e: 64] */
    float *const k_tile = (float *)(void *)(work + 237440); /* [d: 64, t_key: 64 of 80] */
    float *const k_tile_2 = (float *)(void *)(work + 183616); /* [d: 64, j: 144] */
    float *const beta_tile = (float *)(void *)(work + 184192); /* [j: 64] */
    for (int64_t t_key0 = 0, t_key_end = n_k; t_key0 < t_key_end; t_key0 += 64) {
        const int64_t t_key1 = min(t_key0 + 64, t_key_end);
        /* k_tile = k, with zeros beyond the last row */
        T(transpose_padded)(k + t_key0 * k_row, k_row, t_key1 - t_key0, 64, k_tile, 80, 64);
        /* earlier = 0.0f; earlier_compensation = 0.0f */
        for (int64_t t_key = 0; t_key < t_key1 - t_key0; t_key++) {
            for (int64_t e_first = 0; e_first < 64; e_first += OF(64, 16, 8)) {
                UNROLL for (int64_t vector = 0, e = e_first; vector < OF(4, 2, 2); vector++, e += LANES) {
                    T(store)(earlier + t_key * 64 + e, T(splat)(0.0f));
                    T(store)(earlier_compensation + t_key * 64 + e, T(splat)(0.0f));
                }
            }
        }
        /* query_sum = 0.0f */
        for (int64_t t_key = 0; t_key < t_key1 - t_key0; t_key += LANES) {
            T(store)(query_sum + t_key, T(splat)(0.0f));
        }
        /* query_sum += k_tile * k_tile */
        for (int64_t t_key_first = 0; t_key_first < t_key1 - t_key0; t_key_first += OF(64, 16, 8)) {
            T(vec) query_sum_in[OF(4, 2, 2)];
            UNROLL for (int64_t vector = 0, t_key = t_key_first; vector < OF(4, 2, 2); vector++, t_key += LANES) {
                query_sum_in[vector] = (T(vec)){0};
            }
            for (int64_t d = 0; d < 64; d++) {
                UNROLL for (int64_t vector = 0, t_key = t_key_first; vector < OF(4, 2, 2); vector++, t_key += LANES) {
                    const T(vec) k_tile_0 = T(load)(k_tile + d * 80 + t_key);
                    query_sum_in[vector] += k_tile_0 * k_tile_0;
                }
            }
            UNROLL for (int64_t vector = 0, t_key = t_key_first; vector < OF(4, 2, 2); vector++, t_key += LANES) {
                T(store)(query_sum + t_key, T(load)(query_sum + t_key) + query_sum_in[vector]);
            }
        }
        /* query = (k_tile * select(query_sum == 0.0f, 0.0f, 1.0f / sqrt(query_sum))) * 11.54156f */
        for (int64_t t_key = 0; t_key < t_key1 - t_key0; t_key += LANES) {
            const T(vec) query_sum_1 = T(load)(query_sum + t_key);
            const T(vec) t_2 = T(pick)(query_sum_1 == 0.0f, T(splat)(0.0f), 1.0f / T(sqrt)(query_sum_1));
            for (int64_t d = 0; d < 64; d++) {
                T(store)(query + d * 80 + t_key, (T(load)(k_tile + d * 80 + t_key) * t_2) * 11.54156f);
            }
        }
        /* row_max = -FLT_MAX */
        for (int64_t t_key = 0; t_key < t_key1 - t_key0; t_key += LANES) {
            T(store)(row_max + t_key, T(splat)(-FLT_MAX));
        }
        for (int64_t j0 = 0, j_end = min(t_key0, t_key1); j0 < j_end; j0 += 144) {
            const int64_t j1 = min(j0 + 144, j_end);
            /* k_tile_2 = k, with zeros beyond the last row */
            T(transpose_padded)(k + j0 * k_row, k_row, j1 - j0, 64, k_tile_2, 144, 64);
            /* key_sum = 0.0f */
            for (int64_t j = 0; j < j1 - j0; j += LANES) {
                T(store)(key_sum + j, T(splat)(0.0f));
            }
            /* key_sum += k_tile_2 * k_tile_2 */
            for (int64_t j_first = 0; j_first < j1 - j0; j_first += OF(48, 16, 8)) {
                T(vec) key_sum_in[OF(3, 2, 2)];
                UNROLL for (int64_t vector = 0, j = j_first; vector < OF(3, 2, 2); vector++, j += LANES) {
                    key_sum_in[vector] = (T(vec)){0};
                }
                for (int64_t d = 0; d < 64; d++) {
                    UNROLL for (int64_t vector = 0, j = j_first; vector < OF(3, 2, 2); vector++, j += LANES) {
                        const T(vec) k_tile_2_3 = T(load)(k_tile_2 + d * 144 + j);
                        key_sum_in[vector] += k_tile_2_3 * k_tile_2_3;
                    }
                }
                UNROLL for (int64_t vector = 0, j = j_first; vector < OF(3, 2, 2); vector++, j += LANES) {
                    T(store)(key_sum + j, T(load)(key_sum + j) + key_sum_in[vector]);
                }
            }
            /* key = k_tile_2 * select(key_sum == 0.0f, 0.0f, 1.0f / sqrt(key_sum)) */
            for (int64_t j = 0; j < j1 - j0; j += LANES) {
                const T(vec) key_sum_4 = T(load)(key_sum + j);
                const T(vec) t_5 = T(pick)(key_sum_4 == 0.0f, T(splat)(0.0f), 1.0f / T(sqrt)(key_sum_4));
                for (int64_t d = 0; d < 64; d++) {
                    T(store)(key + d * 144 + j, T(load)(k_tile_2 + d * 144 + j) * t_5);
                }
            }
            /* score[j][t_key] = sum over d of key * query */
            T(dot6)(round_up(t_key1 - t_key0, LANES), j1 - j0, key, query, score);
            /* old_max = row_max */
            for (int64_t t_key = 0; t_key < t_key1 - t_key0; t_key += LANES) {
                T(store)(old_max + t_key, T(load)(row_max + t_key));
            }
            /* score = select((j <= t_key) && (j < t_key), score, -INFINITY); row_max max= score */
            for (int64_t t_key = 0; t_key < t_key1 - t_key0; t_key += LANES) {
                const T(ints) t_6 = t_key0 + t_key + T(lane);
                T(vec) row_max_in = T(load)(row_max + t_key);
                for (int64_t j = 0; j < j1 - j0; j++) {
                    const T(vec) score_7 = T(load)(score + j * 80 + t_key);
                    const T(vec) score_new8 = T(pick)(__builtin_convertvector(((j0 + j) <= t_6) & ((j0 + j) < t_6),
                        T(mask)), score_7, T(splat)(-INFINITY));
                    T(store)(score + j * 80 + t_key, score_new8);
                    row_max_in = T(max)(row_max_in, score_new8);
                }
                T(store)(row_max + t_key, row_max_in);
            }
            /* rescale = exp2(old_max - row_max) */
            for (int64_t t_key = 0; t_key < t_key1 - t_key0; t_key += LANES) {
                T(store)(rescale + t_key, T(exp2)(T(load)(old_max + t_key) - T(load)(row_max + t_key)));
            }
            /* weight = exp2(score - row_max) */
            for (int64_t t_key = 0; t_key < t_key1 - t_key0; t_key += LANES) {
                const T(vec) row_max_9 = T(load)(row_max + t_key);
                for (int64_t j = 0; j < j1 - j0; j++) {
                    T(store)(weight + j * 80 + t_key, T(exp2)(T(load)(score + j * 80 + t_key) - row_max_9));
                }
            }
            /* earlier = earlier * rescale; earlier_compensation = earlier_compensation * rescale */
            for (int64_t t_key = 0; t_key < t_key1 - t_key0; t_key++) {
                for (int64_t e_first = 0; e_first < 64; e_first += OF(64, 16, 8)) {
                    UNROLL for (int64_t vector = 0, e = e_first; vector < OF(4, 2, 2); vector++, e += LANES) {
                        const float rescale_10 = rescale[t_key];
                        T(store)(earlier + t_key * 64 + e, T(load)(earlier + t_key * 64 + e) * rescale_10);
                        T(store)(earlier_compensation + t_key * 64 + e, T(load)(earlier_compensation + t_key * 64 + e) *
                            rescale_10);
                    }
                }
            }
            /* earlier[t_key][e] += sum over j of weight * corrected */
            T(dot7)(t_key1 - t_key0, j1 - j0, weight, corrected + j0 * corrected_row, corrected_row, earlier,
                earlier_compensation);
        }
        {
            for (int64_t j0 = t_key0, j_end = t_key1; j0 < j_end; j0 += 64) {
                const int64_t j1 = min(j0 + 64, j_end);
                if (beta_array_row == 1) {
                    /* beta_tile = beta_array, with zeros beyond the last row */
                    for (int64_t j = 0; j < round_up(j1 - j0, LANES); j++)
                        beta_tile[j] = j < j1 - j0 ? beta_array[(j0 + j)] : 0;
                } else {
                    /* beta_tile = beta_array, with zeros beyond the last row */
                    for (int64_t j = 0; j < round_up(j1 - j0, LANES); j++)
                        beta_tile[j] = j < j1 - j0 ? beta_array[(j0 + j) * beta_array_row] : 0;
                }
                /* key_sum = 0.0f */
                for (int64_t j = 0; j < j1 - j0; j += LANES) {
                    T(store)(key_sum + j, T(splat)(0.0f));
                }
                /* key_sum += k_tile * k_tile */
#if OF(1, 0, 0)
                for (int64_t j = 0; j < j1 - j0; j += 16) {
                    T(vec) key_sum_in = (T(vec)){0};
#else
                for (int64_t j_first = 0; j_first < j1 - j0; j_first += (2 * LANES)) {
                    T(vec) key_sum_in[2];
                    UNROLL for (int64_t vector = 0, j = j_first; vector < 2; vector++, j += LANES) {
                        key_sum_in[vector] = (T(vec)){0};
                    }
#endif
                    for (int64_t d = 0; d < 64; d++) {
#if OF(1, 0, 0)
                        const T(vec) k_tile_11 = T(load)(k_tile + d * 80 + ((j0 + j) - t_key0));
                        key_sum_in += k_tile_11 * k_tile_11;
#else
                        UNROLL for (int64_t vector = 0, j = j_first; vector < 2; vector++, j += LANES) {
                            const T(vec) k_tile_11 = T(load)(k_tile + d * 80 + ((j0 + j) - t_key0));
                            key_sum_in[vector] += k_tile_11 * k_tile_11;
                        }
#endif
                    }
#if OF(1, 0, 0)
                    T(store)(key_sum + j, T(load)(key_sum + j) + key_sum_in);
#else
                    UNROLL for (int64_t vector = 0, j = j_first; vector < 2; vector++, j += LANES) {
                        T(store)(key_sum + j, T(load)(key_sum + j) + key_sum_in[vector]);
                    }
#endif
                }
                /* key = k_tile * select(key_sum == 0.0f, 0.0f, 1.0f / sqrt(key_sum)) */
                for (int64_t j = 0; j < j1 - j0; j += LANES) {
                    const T(vec) key_sum_12 = T(load)(key_sum + j);
                    const T(vec) t_13 = T(pick)(key_sum_12 == 0.0f, T(splat)(0.0f), 1.0f / T(sqrt)(key_sum_12));
                    for (int64_t d = 0; d < 64; d++) {
                        T(store)(key + d * 144 + j, T(load)(k_tile + d * 80 + ((j0 + j) - t_key0)) * t_13);
                    }
                }
                /* score[j][t_key] = sum over d of key * query */
                T(dot6)(round_up(t_key1 - t_key0, LANES), j1 - j0, key, query, score);
                /* old_max = row_max */
                for (int64_t t_key = 0; t_key < t_key1 - t_key0; t_key += LANES) {
                    T(store)(old_max + t_key, T(load)(row_max + t_key));
                }
                /* score = select((j <= t_key) && (j < t_key), score, -INFINITY); row_max max= score */
                for (int64_t t_key = 0; t_key < t_key1 - t_key0; t_key += LANES) {
                    const T(ints) t_14 = t_key0 + t_key + T(lane);
                    T(vec) row_max_in = T(load)(row_max + t_key);
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        const T(vec) score_15 = T(load)(score + j * 80 + t_key);
                        const T(vec) score_new16 = T(pick)(__builtin_convertvector(((j0 + j) <= t_14) & ((j0 + j) <
                            t_14), T(mask)), score_15, T(splat)(-INFINITY));
                        T(store)(score + j * 80 + t_key, score_new16);
                        row_max_in = T(max)(row_max_in, score_new16);
                    }
                    T(store)(row_max + t_key, row_max_in);
                }
                /* rescale = exp2(old_max - row_max) */
                for (int64_t t_key = 0; t_key < t_key1 - t_key0; t_key += LANES) {
                    T(store)(rescale + t_key, T(exp2)(T(load)(old_max + t_key) - T(load)(row_max + t_key)));
                }
                /* weight = exp2(score - row_max) */
                for (int64_t t_key = 0; t_key < t_key1 - t_key0; t_key += LANES) {
                    const T(vec) row_max_17 = T(load)(row_max + t_key);
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        T(store)(weight + j * 80 + t_key, T(exp2)(T(load)(score + j * 80 + t_key) - row_max_17));
                    }
                }
                /* key_scale = beta_tile */
                for (int64_t j = 0; j < j1 - j0; j += LANES) {
                    T(store)(key_scale + j, T(load)(beta_tile + j));
                }
                /* earlier = earlier * rescale; earlier_compensation = earlier_compensation * rescale;
                   rest = v - earlier */
                for (int64_t t_key = 0; t_key < t_key1 - t_key0; t_key++) {
                    for (int64_t e_first = 0; e_first < 64; e_first += OF(64, 16, 8)) {
                        UNROLL for (int64_t vector = 0, e = e_first; vector < OF(4, 2, 2); vector++, e += LANES) {
                            const T(vec) earlier_18 = T(load)(earlier + t_key * 64 + e);
                            const float rescale_19 = rescale[t_key];
                            const T(vec) earlier_new20 = earlier_18 * rescale_19;
                            T(store)(earlier + t_key * 64 + e, earlier_new20);
                            T(store)(earlier_compensation + t_key * 64 + e,
                                T(load)(earlier_compensation + t_key * 64 + e) * rescale_19);
                            T(store)(rest + t_key * 64 + e, T(load)(v + (t_key0 + t_key) * v_row + e) - earlier_new20);
                        }
                    }
                }
                /* solution[t_key][e] = key_scale[t_key] * (rest[t_key][e] - sum over j < t_key of weight *
                   solution[j][e]) */
                T(dot8)(t_key1 - t_key0, weight, key_scale, rest, solution);
                /* corrected = solution */
                for (int64_t j = 0; j < j1 - j0; j++)
                    for (int64_t e = 0; e < 64; e++)
                        corrected[(j0 + j) * corrected_row + e] = solution[j * 64 + e];
            }
        }
    }
}
#include <attnrt/kernel/end.h>
#else
#ifdef __cplusplus
#error "deltanet_softmax.c is C, not C++: compile it with a C compiler"
#elif !defined __STDC_VERSION__ || __STDC_VERSION__ < 199901L
#error "deltanet_softmax.c is C11, not C89: compile it without -std=, or with -std=gnu11"
extern int deltanet_softmax_is_c11;
#elif !defined __GNUC__
#error "deltanet_softmax.c uses GNU C vector extensions: compile it with gcc or clang"
extern int deltanet_softmax_is_gnu_c;
#else
#include "deltanet_softmax.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include <attnrt/kernel/optimize.h>
#include <attnrt/kernel/call.h>

/* the numbers of the arrays of a call */
enum {
    ARRAY_q, ARRAY_k, ARRAY_v, ARRAY_out, ARRAY_beta_array, ARRAY_corrected
};

#ifdef __FILE_NAME__
#define LOOPS __FILE_NAME__ /* this file, whose first part has the loops */
#else
#define LOOPS "deltanet_softmax.c"
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
#define OF(v4, v3, any) any /* a number of each target */
#define SECTION
#include LOOPS
#undef SECTION

/* ==== tables for the library that calls these functions (attnrt/kernel/call.h) ==== */
static const struct attn_param param[] = {
    {"beta", ATTN_F32, 3, {ATTN_BATCH, ATTN_HEADS, ATTN_N_K}, offsetof(struct deltanet_softmax_params, beta), 0,
        offsetof(struct deltanet_softmax_strides, beta), 0, 1, ATTN_NO_LIMITS},
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
    {.name = "corrected", .access = {ACCESS_NONE, ACCESS_NONE}, .dtype = ATTN_F32, .rows = ROWS_OF_KEYS,
        .origin = FROM_LIBRARY},
};

#if defined(__x86_64__)
static int runs_v4(void)
{
    return attn_x86_64_level() >= 4;
}
static const struct program programs_v4[] = {
    {.role = RUN_FORWARD, .form = FORM_FEW,
     .head = deltanet_softmax_few_v4, .tile = 0, .own = 73728, .few_rows = 64, .lanes = 16, .of_pair = 128,
         .shared = 50368, .slot = 16960, .slots = 4, .together = 1},
    {.role = RUN_FORWARD,
     .rows = deltanet_softmax_rows_v4, .tile = 256, .own = 236928, .of_pair = 128},
    {.role = RUN_CORRECT,
     .rows = deltanet_softmax_correct_v4, .tile = 0, .own = 257920, .of_pair = 128},
};
#endif
#if defined(__x86_64__)
static int runs_v3(void)
{
    return attn_x86_64_level() >= 3;
}
static const struct program programs_v3[] = {
    {.role = RUN_FORWARD, .form = FORM_FEW,
     .head = deltanet_softmax_few_v3, .tile = 0, .own = 73728, .few_rows = 64, .lanes = 8, .of_pair = 128,
         .shared = 50368, .slot = 16960, .slots = 4, .together = 1},
    {.role = RUN_FORWARD,
     .rows = deltanet_softmax_rows_v3, .tile = 256, .own = 230784, .of_pair = 128},
    {.role = RUN_CORRECT,
     .rows = deltanet_softmax_correct_v3, .tile = 0, .own = 257920, .of_pair = 128},
};
#endif
static const struct program programs_any[] = {
    {.role = RUN_FORWARD, .form = FORM_FEW,
     .head = deltanet_softmax_few_any, .tile = 0, .own = 73728, .few_rows = 64, .lanes = 4, .of_pair = 128,
         .shared = 50368, .slot = 16960, .slots = 4, .together = 1},
    {.role = RUN_FORWARD,
     .rows = deltanet_softmax_rows_any, .tile = 128, .own = 130944, .of_pair = 128},
    {.role = RUN_CORRECT,
     .rows = deltanet_softmax_correct_any, .tile = 0, .own = 257920, .of_pair = 128},
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
    .layout = KERNEL_LAYOUT, .name = "deltanet_softmax", .openmp = OPENMP,
    .target = target, .targets = sizeof target / sizeof *target - 1,
    .array = array, .arrays = sizeof array / sizeof *array,
    .param = param, .params = 1, .params_bytes = sizeof(struct deltanet_softmax_params),
    .dtype = ATTN_F32, .key_dtype = ATTN_F32, .value_dtype = ATTN_F32, .real = sizeof(float), .element = sizeof(float),
    .head_dim = 64, .value_dim = 64, .key_row = 64, .value_row = 64,
    .strided = 1, .strides = offsetof(struct deltanet_softmax_params, strides),
    .shares = 1,
    .delta = 1,
    .positions = 1,
    .ids = -1,
    .corrected = ARRAY_corrected,
    .solution = -1,
};

/* ==== the interface ==== */
size_t deltanet_softmax_params_size(void) { return attn_call_params_size(&kernel); }
int deltanet_softmax_params_init(struct deltanet_softmax_params *params, uint64_t seed, void *storage)
{
    return attn_call_params_init(&kernel, params, seed, storage);
}
size_t deltanet_softmax_workspace(const struct attn_problem *problem) { return attn_call_workspace(&kernel, problem); }
int deltanet_softmax_forward(const struct attn_problem *problem, const struct deltanet_softmax_params *params,
    const float *q, const float *k, const float *v,
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
const struct attn_kernel deltanet_softmax_kernel = {
    .name = "deltanet_softmax", .version = "0.2.0", .dtype = ATTN_F32, .head_dim = 64, .value_dim = 64,
    .params = 1, .param = param, .params_bytes = sizeof(struct deltanet_softmax_params),
    .params_size = deltanet_softmax_params_size, .params_init = params_init_any, .forward = forward_any,
    .workspace = deltanet_softmax_workspace,
    .key_dtype = ATTN_F32, .value_dtype = ATTN_F32,
    .strides = offsetof(struct deltanet_softmax_params, strides),
        .strides_bytes = sizeof(struct deltanet_softmax_strides),
    .before = INT64_MAX, .after = 0, .period = 0, .names_heads = 0, .names_sequences = 0, .in_parts = 0,
    .saved_power = 0, .has_sink = 0, .open_keys = 0, .end_of_keys = INT64_MAX,
};
#endif /* a compiler of this language */
#endif /* SECTION */
