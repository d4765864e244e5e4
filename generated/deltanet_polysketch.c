/* deltanet_polysketch.c, made by attnc 0.2.0: attnc deltanet_polysketch.yaml
   C11 with GNU extensions, for a C compiler; C++ includes deltanet_polysketch.h.
   the delta rule with the features of polynomial attention of degree 4, through a random sketch of size 8
   Schlag, Irie and Schmidhuber, Linear Transformers Are Secretly Fast Weight Programmers (ICML 2021), section 4.2;
   Kacham, Mirrokni and Zhong, PolySketchFormer (ICML 2024), algorithm 1

   Computes, in f32, over the axes b (batch), g (key/value head), m (query head of g), i (query), j (key), d (64),
   e (64), t_key (key), r (8):
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
     sketch.g1 [d r], normal parameter
     x17 [b g t_key r] = sum over d of x15 * sketch.g1
     sketch.g2 [d r], normal parameter
     x19 [b g t_key r] = sum over d of x15 * sketch.g2
     x20 [b g t_key r] = x17 * x19 * 0.35355339059327373
     x21 [b g j r] = sum over d of x6 * sketch.g1
     x22 [b g j r] = sum over d of x6 * sketch.g2
     x23 [b g j r] = x21 * x22 * 0.35355339059327373
     x24 [b g t_key j] = sum over r of x20 * x23
     x25 [b g t_key j] = x24 * x24
     beta [b g m j], learned parameter
     x27 [b g j] = beta[b, g, 0, j]
     x28 [b g j e] = u with u[t_key] = x27 * (v - sum over j < t_key of x25 * u[j] if j <= t_key)
     x29 [b g m i r] = sum over d of x10 * sketch.g1
     x30 [b g m i r] = sum over d of x10 * sketch.g2
     x31 [b g m i r] = x29 * x30 * 0.35355339059327373
     x32 [b g j r] = sum over d of x6 * sketch.g1
     x33 [b g j r] = sum over d of x6 * sketch.g2
     x34 [b g j r] = x32 * x33 * 0.35355339059327373
     x35 [b g m i j] = sum over r of x31 * x34
     x36 [b g m i j] = x35 * x35
     x37 [b g m i e] = sum over j of x36 * x28 if j <= i + query_start
     x38 [b g m i e] = x37
     out = x38
   query_start is the position of the first query: problem.query_start[b], or n_k - n_q if that is NULL.

   How: each vector lane holds one query. Keys are processed in tiles,
   so row sums and maxima need no reduction across lanes.
   The sums of a tile start from zero and are added to the sums so far. Tiles that no query sees are skipped.
   Linear: the weight is an inner product of 36 features. The state is a sum over keys of 36 x 65 numbers.
     x86-64-v4  linear    tiles of 32 queries and 32 keys; 49920 bytes of workspace per thread
     x86-64-v3  linear    tiles of 32 queries and 32 keys; 49920 bytes of workspace per thread
     generic    linear    tiles of 32 queries and 32 keys; 49920 bytes of workspace per thread

   Contents:
     loops      deltanet_polysketch_linear
     targets    x86-64-v4, x86-64-v3, generic
     tables     arrays and programs, for the functions of attnrt that call the loops
     interface  deltanet_polysketch_workspace, deltanet_polysketch_forward, deltanet_polysketch_kernel
   The file includes itself, so that the loops are compiled once for each target. T(name) is a name with the target's
   suffix, LANES the elements of its vectors, and OF(…) a number for each target.

   Compile with: cc -O2 -fopenmp deltanet_polysketch.c … -lattnrt -lm */
#ifdef SECTION
#include <attnrt/kernel/vector.h>
#include <attnrt/kernel/elementary.h>
#include <attnrt/kernel/solve.h>
#include <attnrt/kernel/product.h>

/* The functions for the products below. Each calls dot or a similar function with constants. */
TARGET APART void T(dot0)(int64_t lanes, const float *a, const float *b, float *c)
{
    T(dot)(/*vectors=*/2, lanes, /*rows=*/8, /*tail=*/2, /*steps=*/64, /*span=*/32, a, /*a_row=*/1, /*a_step=*/8, b,
        /*b_step=*/32, c, /*c_row=*/32, /*update=*/0, /*factor=*/NULL);
}
TARGET APART void T(dot1)(int64_t lanes, int64_t rows, const float *a, const float *b, float *c)
{
    T(dot)(/*vectors=*/2, lanes, rows, /*tail=*/-1, /*steps=*/8, /*span=*/32, a, /*a_row=*/1, /*a_step=*/32, b,
        /*b_step=*/32, c, /*c_row=*/32, /*update=*/0, /*factor=*/NULL);
}
TARGET APART void T(dot2)(int64_t rows, const float *a, const float *b, float *c)
{
    T(dot)(/*vectors=*/OF(4, 2, 2), /*lanes=*/64, rows, /*tail=*/-1, /*steps=*/36, /*span=*/32, a, /*a_row=*/1,
        /*a_step=*/32, b, /*b_step=*/64, c, /*c_row=*/64, /*update=*/0, /*factor=*/NULL);
}
TARGET APART void T(dot3)(int64_t rows, const float *w, const float *rate, const float *x, float *u)
{
    T(solve)(/*lanes=*/64, /*first=*/0, rows, w, /*w_row=*/1, /*w_step=*/32, rate, /*rate_step=*/1, x, /*x_row=*/64, u,
        /*u_row=*/64);
}
TARGET APART void T(dot4)(int64_t lanes, const float *a, const float *b, float *c)
{
    T(dot)(/*vectors=*/2, lanes, /*rows=*/64, /*tail=*/4, /*steps=*/36, /*span=*/32, a, /*a_row=*/1, /*a_step=*/64, b,
        /*b_step=*/32, c, /*c_row=*/32, /*update=*/0, /*factor=*/NULL);
}
TARGET APART void T(dot5)(int64_t lanes, int64_t steps, const float *a, const float *b, float *c)
{
    T(dot_finite)(/*vectors=*/2, lanes, /*rows=*/64, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/1, /*a_step=*/64, b,
        /*b_step=*/32, c, /*c_row=*/32, /*update=*/0, /*factor=*/NULL);
}
TARGET APART void T(dot6)(int64_t lanes, int64_t steps, const float *a, const float *b, float *c)
{
    T(dot)(/*vectors=*/2, lanes, /*rows=*/64, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/1, /*a_step=*/64, b,
        /*b_step=*/32, c, /*c_row=*/32, /*update=*/0, /*factor=*/NULL);
}
TARGET APART void T(dot7)(int64_t steps, const float *a, const float *b, float *c)
{
    T(dot)(/*vectors=*/OF(4, 2, 2), /*lanes=*/64, /*rows=*/36, /*tail=*/0, steps, /*span=*/192, a, /*a_row=*/32,
        /*a_step=*/1, b, /*b_step=*/64, c, /*c_row=*/64, /*update=*/1, /*factor=*/NULL);
}

/* Computes task number `task`: one tile of queries of one head. `work` is this thread's workspace. */
TARGET static void T(deltanet_polysketch_linear)(const struct call *call, int64_t task, unsigned char *work)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_q = call->p.n_q;
    const int64_t n_k = call->p.n_k;
    const int64_t m = task % members;
    const int64_t g = task / members % kv_heads;
    const int64_t b = task / members / kv_heads;
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
    const float *const sketch_g1 = (const float *)call->array[ARRAY_sketch_g1].at;
    const float *const sketch_g2 = (const float *)call->array[ARRAY_sketch_g2].at;
    const float *const beta_array = (const float *)call->array[ARRAY_beta_array].at + b *
        call->array[ARRAY_beta_array].strides.batch + (g * members + m) * call->array[ARRAY_beta_array].strides.head;
    const int64_t beta_array_row = call->array[ARRAY_beta_array].strides.row;
    float *const state = (float *)(void *)(work + 0); /* [f: 36, e: 64] */
    float *const key_sum = (float *)(void *)(work + 9216); /* [j: 32] */
    float *const key = (float *)(void *)(work + 9344); /* [d: 64, j: 32] */
    float *const key_g1 = (float *)(void *)(work + 17536); /* [r: 8, j: 32] */
    float *const key_g2 = (float *)(void *)(work + 18560); /* [r: 8, j: 32] */
    float *const key_features = (float *)(void *)(work + 19584); /* [r: 8, j: 32] */
    float *const score = (float *)(void *)(work + 9216); /* [j: 32, t_key: 32] */
    float *const query_2 = (float *)(void *)(work + 13312); /* [f: 36, t_key: 32] */
    float *const key_scale = (float *)(void *)(work + 17920); /* [j: 32] */
    float *const key_features_2 = (float *)(void *)(work + 20608); /* [f: 36, j: 32] */
    float *const from_state = (float *)(void *)(work + 25216); /* [t_key: 32, e: 64] */
    float *const corrected = (float *)(void *)(work + 33408); /* [j: 32, e: 64] */
    float *const query_sum_2 = (float *)(void *)(work + 9216); /* [i: 32] */
    float *const query_g1_2 = (float *)(void *)(work + 9216); /* [r: 8, i: 32] */
    float *const query_g2_2 = (float *)(void *)(work + 10240); /* [r: 8, i: 32] */
    float *const score_2 = (float *)(void *)(work + 10240); /* [j: 32, i: 32] */
    float *const query_4 = (float *)(void *)(work + 10240); /* [f: 36, i: 32] */
    float *const sum_from_state = (float *)(void *)(work + 25216); /* [e: 64, i: 32] */
    float *const sum = (float *)(void *)(work + 41600); /* [e: 64, i: 32] */
    float *const out = (float *)call->array[ARRAY_out].at + b * call->array[ARRAY_out].strides.batch + (g * members + m)
        * call->array[ARRAY_out].strides.head;
    const int64_t out_row = call->array[ARRAY_out].strides.row;
    float *const k_tile_2 = (float *)(void *)(work + 41600); /* [d: 64, j: 32] */
    float *const beta_tile = (float *)(void *)(work + 49792); /* [j: 32] */
    float *const q_tile = (float *)(void *)(work + 11264); /* [d: 64, i: 32] */
    /* state = 0.0f */
    for (int64_t f = 0; f < 36; f++) {
        for (int64_t e_first = 0; e_first < 64; e_first += OF(64, 16, 8)) {
            UNROLL for (int64_t vector = 0, e = e_first; vector < OF(4, 2, 2); vector++, e += LANES) {
                T(store)(state + f * 64 + e, T(splat)(0.0f));
            }
        }
    }
    for (int64_t j0 = 0, j_end = n_k; j0 < j_end; j0 += 32) {
        const int64_t j1 = min(j0 + 32, j_end);
        /* k_tile_2 = k, with zeros beyond the last row */
        T(transpose_padded)(k + j0 * k_row, k_row, j1 - j0, 64, k_tile_2, 32, 64);
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
            /* key_sum = 0.0f */
            for (int64_t j = 0; j < j1 - j0; j += LANES) {
                T(store)(key_sum + j, T(splat)(0.0f));
            }
            /* key_sum += k_tile_2 * k_tile_2 */
            for (int64_t j_first = 0; j_first < j1 - j0; j_first += (2 * LANES)) {
                T(vec) key_sum_in[2];
                UNROLL for (int64_t vector = 0, j = j_first; vector < 2; vector++, j += LANES) {
                    key_sum_in[vector] = (T(vec)){0};
                }
                for (int64_t d = 0; d < 64; d++) {
                    UNROLL for (int64_t vector = 0, j = j_first; vector < 2; vector++, j += LANES) {
                        const T(vec) k_tile_2_0 = T(load)(k_tile_2 + d * 32 + j);
                        key_sum_in[vector] += k_tile_2_0 * k_tile_2_0;
                    }
                }
                UNROLL for (int64_t vector = 0, j = j_first; vector < 2; vector++, j += LANES) {
                    T(store)(key_sum + j, T(load)(key_sum + j) + key_sum_in[vector]);
                }
            }
            /* key = k_tile_2 * select(key_sum == 0.0f, 0.0f, 1.0f / sqrt(key_sum)) */
            for (int64_t j = 0; j < j1 - j0; j += LANES) {
                const T(vec) key_sum_1 = T(load)(key_sum + j);
                const T(vec) t_2 = T(pick)(key_sum_1 == 0.0f, T(splat)(0.0f), 1.0f / T(sqrt)(key_sum_1));
                for (int64_t d = 0; d < 64; d++) {
                    T(store)(key + d * 32 + j, T(load)(k_tile_2 + d * 32 + j) * t_2);
                }
            }
            /* key_g1[r][j] = sum over d of sketch_g1 * key */
            T(dot0)(round_up(j1 - j0, LANES), sketch_g1, key, key_g1);
            /* key_g2[r][j] = sum over d of sketch_g2 * key */
            T(dot0)(round_up(j1 - j0, LANES), sketch_g2, key, key_g2);
            /* key_features = (key_g1 * key_g2) * 0.35355339f */
            for (int64_t r = 0; r < 8; r++) {
                for (int64_t j = 0; j < j1 - j0; j += LANES) {
                    T(store)(key_features + r * 32 + j, (T(load)(key_g1 + r * 32 + j) * T(load)(key_g2 + r * 32 + j)) *
                        0.35355339f);
                }
            }
            /* query_2 = (key_features * key_features) * select((f / 8) == 0, 1.0f, 2.0f) */
            for (int64_t f = 0; f < 36; f++) {
                for (int64_t t_key = 0; t_key < t_key1 - t_key0; t_key += LANES) {
                    T(store)(query_2 + f * 32 + t_key, (T(load)(key_features + (f % 8) * 32 + ((t_key0 + t_key) - j0)) *
                        T(load)(key_features + (((f % 8) + (f / 8)) % 8) * 32 + ((t_key0 + t_key) - j0))) * (float)(((f
                        / 8) == 0) ? 1.0 : 2.0));
                }
            }
            /* score[j][t_key] = sum over r of key_features * key_features */
            T(dot1)(round_up(t_key1 - t_key0, LANES), j1 - j0, key_features, key_features, score);
            /* score = score * score */
            for (int64_t j = 0; j < j1 - j0; j++) {
                for (int64_t t_key = 0; t_key < t_key1 - t_key0; t_key += LANES) {
                    const T(vec) score_3 = T(load)(score + j * 32 + t_key);
                    T(store)(score + j * 32 + t_key, score_3 * score_3);
                }
            }
            /* key_scale = beta_tile */
            for (int64_t j = 0; j < j1 - j0; j += LANES) {
                T(store)(key_scale + j, T(load)(beta_tile + j));
            }
            /* key_features_2 = key_features * key_features */
            for (int64_t f = 0; f < 36; f++) {
                for (int64_t j = 0; j < j1 - j0; j += LANES) {
                    T(store)(key_features_2 + f * 32 + j, T(load)(key_features + (f % 8) * 32 + j) *
                        T(load)(key_features + (((f % 8) + (f / 8)) % 8) * 32 + j));
                }
            }
            /* from_state[t_key][e] = sum over f of query_2 * state */
            T(dot2)(t_key1 - t_key0, query_2, state, from_state);
            /* from_state = v - from_state */
            for (int64_t t_key = 0; t_key < t_key1 - t_key0; t_key++) {
                for (int64_t e_first = 0; e_first < 64; e_first += OF(64, 16, 8)) {
                    UNROLL for (int64_t vector = 0, e = e_first; vector < OF(4, 2, 2); vector++, e += LANES) {
                        T(store)(from_state + t_key * 64 + e, T(load)(v + (t_key0 + t_key) * v_row + e) -
                            T(load)(from_state + t_key * 64 + e));
                    }
                }
            }
            /* corrected[t_key][e] = key_scale[t_key] * (from_state[t_key][e] - sum over j < t_key of score *
               corrected[j][e]) */
            T(dot3)(t_key1 - t_key0, score, key_scale, from_state, corrected);
        }
        for (int64_t i0 = ((j0 / 32) == 0) ? 0 : max(0, j0 - query_start), i_end = min(n_q,
            (((j0 / 32) + 1) * 32) - query_start); i0 < i_end; i0 += 32) {
            const int64_t i1 = min(i0 + 32, i_end);
            /* q_tile = q, with zeros beyond the last row */
            T(transpose_padded)(q + i0 * q_row, q_row, i1 - i0, 64, q_tile, 32, 64);
            /* query_sum_2 = 0.0f */
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                T(store)(query_sum_2 + i, T(splat)(0.0f));
            }
            /* query_sum_2 += q_tile * q_tile */
            for (int64_t i_first = 0; i_first < i1 - i0; i_first += (2 * LANES)) {
                T(vec) query_sum_2_in[2];
                UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += LANES) {
                    query_sum_2_in[vector] = (T(vec)){0};
                }
                for (int64_t d = 0; d < 64; d++) {
                    UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += LANES) {
                        const T(vec) q_tile_4 = T(load)(q_tile + d * 32 + i);
                        query_sum_2_in[vector] += q_tile_4 * q_tile_4;
                    }
                }
                UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += LANES) {
                    T(store)(query_sum_2 + i, T(load)(query_sum_2 + i) + query_sum_2_in[vector]);
                }
            }
            /* q_tile = q_tile * select(query_sum_2 == 0.0f, 0.0f, 1.0f / sqrt(query_sum_2)) */
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                const T(vec) query_sum_2_5 = T(load)(query_sum_2 + i);
                const T(vec) t_6 = T(pick)(query_sum_2_5 == 0.0f, T(splat)(0.0f), 1.0f / T(sqrt)(query_sum_2_5));
                for (int64_t d = 0; d < 64; d++) {
                    T(store)(q_tile + d * 32 + i, T(load)(q_tile + d * 32 + i) * t_6);
                }
            }
            /* query_g1_2[r][i] = sum over d of sketch_g1 * q_tile */
            T(dot0)(round_up(i1 - i0, LANES), sketch_g1, q_tile, query_g1_2);
            /* query_g2_2[r][i] = sum over d of sketch_g2 * q_tile */
            T(dot0)(round_up(i1 - i0, LANES), sketch_g2, q_tile, query_g2_2);
            /* query_g1_2 = (query_g1_2 * query_g2_2) * 0.35355339f */
            for (int64_t r = 0; r < 8; r++) {
                for (int64_t i = 0; i < i1 - i0; i += LANES) {
                    T(store)(query_g1_2 + r * 32 + i, (T(load)(query_g1_2 + r * 32 + i) * T(load)(query_g2_2 + r * 32 +
                        i)) * 0.35355339f);
                }
            }
            /* query_4 = (query_g1_2 * query_g1_2) * select((f / 8) == 0, 1.0f, 2.0f) */
            for (int64_t f = 0; f < 36; f++) {
                for (int64_t i = 0; i < i1 - i0; i += LANES) {
                    T(store)(query_4 + f * 32 + i, (T(load)(query_g1_2 + (f % 8) * 32 + i) * T(load)(query_g1_2 + (((f %
                        8) + (f / 8)) % 8) * 32 + i)) * (float)(((f / 8) == 0) ? 1.0 : 2.0));
                }
            }
            /* sum_from_state[e][i] = sum over f of state * query_4 */
            T(dot4)(round_up(i1 - i0, LANES), state, query_4, sum_from_state);
            /* score_2[j][i] = sum over r of key_features * query_g1_2 */
            T(dot1)(round_up(i1 - i0, LANES), j1 - j0, key_features, query_g1_2, score_2);
            /* score_2 = score_2 * score_2 */
            for (int64_t j = 0; j < j1 - j0; j++) {
                for (int64_t i = 0; i < i1 - i0; i += LANES) {
                    const T(vec) score_2_7 = T(load)(score_2 + j * 32 + i);
                    T(store)(score_2 + j * 32 + i, score_2_7 * score_2_7);
                }
            }
            /* score_2 = select(j <= (i + query_start), score_2, 0.0f) */
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                const T(ints) t_8 = (i0 + i + T(lane)) + query_start;
                for (int64_t j = 0; j < j1 - j0; j++) {
                    T(store)(score_2 + j * 32 + i, T(pick)(__builtin_convertvector((j0 + j) <= t_8, T(mask)),
                        T(load)(score_2 + j * 32 + i), T(splat)(0.0f)));
                }
            }
            /* sum[e][i] = sum over j of corrected * score_2 */
            if (__builtin_expect(!T(finite)(corrected, 64, j1 - j0, 64),
                0)) { /* infinity and NaN affect only queries that see them */
                T(dot5)(round_up(i1 - i0, LANES), j1 - j0, corrected, score_2, sum);
                for (int64_t j = 0; j < j1 - j0; j++) {
                    T(mask) in_region[OF(2, 4, 8)] = {0};
                    if (T(finite)(corrected + j * 64, 1, 64, 1)) continue;
                    for (int64_t i = 0; i < i1 - i0; i += LANES) {
                        in_region[i / LANES] = __builtin_convertvector((j0 + j) <= ((i0 + i + T(lane)) + query_start),
                            T(mask));
                    }
                    T(add_seen)(64, sum, 32, corrected + j * 64, 1, score_2 + j * 32, in_region, i1 - i0);
                }
            } else
                T(dot6)(round_up(i1 - i0, LANES), j1 - j0, corrected, score_2, sum);
            /* sum = sum + sum_from_state */
            for (int64_t e = 0; e < 64; e++) {
                for (int64_t i = 0; i < i1 - i0; i += LANES) {
                    T(store)(sum + e * 32 + i, T(load)(sum + e * 32 + i) + T(load)(sum_from_state + e * 32 + i));
                }
            }
            /* out = sum, transposed back */
            T(transpose_out)(sum, 32, 64, i1 - i0, out + i0 * out_row, out_row, 64);
        }
        /* state[f][e] += sum over j of key_features_2 * corrected */
        T(dot7)(j1 - j0, key_features_2, corrected, state);
    }
}
#include <attnrt/kernel/end.h>
#else
#ifdef __cplusplus
#error "deltanet_polysketch.c is C, not C++: compile it with a C compiler"
#elif !defined __STDC_VERSION__ || __STDC_VERSION__ < 199901L
#error "deltanet_polysketch.c is C11, not C89: compile it without -std=, or with -std=gnu11"
extern int deltanet_polysketch_is_c11;
#elif !defined __GNUC__
#error "deltanet_polysketch.c uses GNU C vector extensions: compile it with gcc or clang"
extern int deltanet_polysketch_is_gnu_c;
#else
#include "deltanet_polysketch.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include <attnrt/kernel/optimize.h>
#include <attnrt/kernel/call.h>

/* the numbers of the arrays of a call */
enum {
    ARRAY_q, ARRAY_k, ARRAY_v, ARRAY_out, ARRAY_sketch_g1, ARRAY_sketch_g2, ARRAY_beta_array
};

#ifdef __FILE_NAME__
#define LOOPS __FILE_NAME__ /* this file, whose first part has the loops */
#else
#define LOOPS "deltanet_polysketch.c"
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
    {"sketch.g1", ATTN_F32, 2, {64, 8}, offsetof(struct deltanet_polysketch_params, sketch_g1), 1, ATTN_CONTIGUOUS, 0,
        0, ATTN_NO_LIMITS},
    {"sketch.g2", ATTN_F32, 2, {64, 8}, offsetof(struct deltanet_polysketch_params, sketch_g2), 1, ATTN_CONTIGUOUS, 0,
        0, ATTN_NO_LIMITS},
    {"beta", ATTN_F32, 3, {ATTN_BATCH, ATTN_HEADS, ATTN_N_K}, offsetof(struct deltanet_polysketch_params, beta), 0,
        offsetof(struct deltanet_polysketch_strides, beta), 0, 1, ATTN_NO_LIMITS},
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
    {.name = "sketch.g1", .access = {ACCESS_READ, ACCESS_NONE}, .dtype = ATTN_F32, .origin = FROM_PARAMS, .param = 0,
        .axis = {-1, -1, -1}, .random = RANDOM_NORMAL},
    {.name = "sketch.g2", .access = {ACCESS_READ, ACCESS_NONE}, .dtype = ATTN_F32, .origin = FROM_PARAMS, .param = 1,
        .axis = {-1, -1, -1}, .random = RANDOM_NORMAL},
    {.name = "beta", .access = {ACCESS_READ, ACCESS_NONE}, .dtype = ATTN_F32, .rows = ROWS_OF_KEYS,
        .origin = FROM_PARAMS, .param = 2, .axis = {0, 1, 2}, .has_rows = 1},
};

#if defined(__x86_64__)
static int runs_v4(void)
{
    return attn_x86_64_level() >= 4;
}
static const struct program programs_v4[] = {
    {.role = RUN_FORWARD,
     .rows = deltanet_polysketch_linear_v4, .tile = -1, .own = 49920, .of_token = 2340, .in_keys = 1},
};
#endif
#if defined(__x86_64__)
static int runs_v3(void)
{
    return attn_x86_64_level() >= 3;
}
static const struct program programs_v3[] = {
    {.role = RUN_FORWARD,
     .rows = deltanet_polysketch_linear_v3, .tile = -1, .own = 49920, .of_token = 2340, .in_keys = 1},
};
#endif
static const struct program programs_any[] = {
    {.role = RUN_FORWARD,
     .rows = deltanet_polysketch_linear_any, .tile = -1, .own = 49920, .of_token = 2340, .in_keys = 1},
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
    .layout = KERNEL_LAYOUT, .name = "deltanet_polysketch", .openmp = OPENMP,
    .target = target, .targets = sizeof target / sizeof *target - 1,
    .array = array, .arrays = sizeof array / sizeof *array,
    .param = param, .params = 3, .params_bytes = sizeof(struct deltanet_polysketch_params),
    .dtype = ATTN_F32, .key_dtype = ATTN_F32, .value_dtype = ATTN_F32, .real = sizeof(float), .element = sizeof(float),
    .head_dim = 64, .value_dim = 64, .key_row = 64, .value_row = 64,
    .strided = 1, .strides = offsetof(struct deltanet_polysketch_params, strides),
    .shares = 1,
    .delta = 1,
    .positions = 1,
    .ids = -1,
    .corrected = -1,
    .solution = -1,
};

/* ==== the interface ==== */
size_t deltanet_polysketch_params_size(void) { return attn_call_params_size(&kernel); }
int deltanet_polysketch_params_init(struct deltanet_polysketch_params *params, uint64_t seed, void *storage)
{
    return attn_call_params_init(&kernel, params, seed, storage);
}
size_t deltanet_polysketch_workspace(const struct attn_problem *problem)
{
    return attn_call_workspace(&kernel, problem);
}
int deltanet_polysketch_forward(const struct attn_problem *problem, const struct deltanet_polysketch_params *params,
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
const struct attn_kernel deltanet_polysketch_kernel = {
    .name = "deltanet_polysketch", .version = "0.2.0", .dtype = ATTN_F32, .head_dim = 64, .value_dim = 64,
    .params = 3, .param = param, .params_bytes = sizeof(struct deltanet_polysketch_params),
    .params_size = deltanet_polysketch_params_size, .params_init = params_init_any, .forward = forward_any,
    .workspace = deltanet_polysketch_workspace,
    .key_dtype = ATTN_F32, .value_dtype = ATTN_F32,
    .strides = offsetof(struct deltanet_polysketch_params, strides),
        .strides_bytes = sizeof(struct deltanet_polysketch_strides),
    .before = INT64_MAX, .after = 0, .period = 0, .names_heads = 0, .names_sequences = 0, .in_parts = 0,
    .saved_power = 0, .has_sink = 0, .open_keys = 0, .end_of_keys = INT64_MAX,
};
#endif /* a compiler of this language */
#endif /* SECTION */
