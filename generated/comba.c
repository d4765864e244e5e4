/* comba.c, made by attnc 0.2.0: attnc comba.yaml
   C11 with GNU extensions, for a C compiler; C++ includes comba.h.
   Comba: the gated delta rule with feedback by another vector than the key
   after Hu et al., Comba: Improving Bilinear RNNs with Closed-loop Control (arXiv 2025); feedback is p, normalised,
   which reads the decayed state, and q comes less its multiple of k

   Computes, in f32, over the axes b (batch), g (key/value head), m (query head of g), i (query), j (key), d (64),
   e (64), position (key), t_key (key):
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
     gate [b g m j], learned parameter
     x13 [b g m position] = max(gate[b, g, m, position], -10000)
     x14 [b g m i] = sum over position of x13 if position <= i + query_start
     x15 [b g m j] = sum over position of x13 if position <= j
     feedback [b g m j d], learned parameter
     x17 [b g t_key d] = feedback[b, g, 0, t_key, d]
     x18 [b g t_key d] = x17 * x17
     x19 [b g t_key] = sum over d of x18
     x20 [b g t_key] = x19 == 0 ? 0 : 1 / sqrt(x19)
     x21 [b g t_key d] = x17 * x20
     x22 [b g t_key j] = sum over d of x21 * x6
     x23 [b g t_key j] = x22 * pow(2.718281828459045, x15[b, g, 0, t_key] - x15[b, g, 0, j])
     beta [b g m j], learned parameter
     x25 [b g j] = beta[b, g, 0, j]
     x26 [b g j e] = u with u[t_key] = x25 * (v - sum over j < t_key of x23 * u[j] if j <= t_key)
     x27 [b g m i j] = sum over d of x11 * x6
     x28 [b g m i j] = x27 * pow(2.718281828459045, x14 - x15[b, g, 0, j])
     x29 [b g m i e] = sum over j of x28 * x26 if j <= i + query_start
     x30 [b g m i e] = x29
     out = x30
   query_start is the position of the first query: problem.query_start[b], or n_k - n_q if that is NULL.

   How: each vector lane holds one query. Keys are processed in tiles,
   so row sums and maxima need no reduction across lanes.
   The sums of a tile start from zero and are added to the sums so far. Tiles that no query sees are skipped.
   Linear: the weight is an inner product of 64 features. The state is a sum over keys of 64 x 65 numbers.
     x86-64-v4  linear    tiles of 32 queries and 32 keys; 70400 bytes of workspace per thread
     x86-64-v3  linear    tiles of 32 queries and 32 keys; 70400 bytes of workspace per thread
     generic    linear    tiles of 32 queries and 32 keys; 70400 bytes of workspace per thread

   Contents:
     loops      comba_linear, comba_terms
     targets    x86-64-v4, x86-64-v3, generic
     tables     arrays and programs, for the functions of attnrt that call the loops
     interface  comba_workspace, comba_forward, comba_kernel
   The file includes itself, so that the loops are compiled once for each target. T(name) is a name with the target's
   suffix, LANES the elements of its vectors, and OF(…) a number for each target.

   Compile with: cc -O2 -fopenmp comba.c … -lattnrt -lm */
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
TARGET APART void T(dot3)(int64_t rows, const float *a, const float *b, float *c, const struct coming *next)
{
    T(dot_meanwhile)(/*vectors=*/OF(4, 2, 2), /*lanes=*/64, rows, /*tail=*/-1, /*steps=*/64, /*span=*/32, a,
        /*a_row=*/1, /*a_step=*/32, b, /*b_step=*/64, c, /*c_row=*/64, /*update=*/0, /*factor=*/NULL, next,
        /*arrays=*/3, /*nexts=*/32);
}
TARGET APART void T(dot4)(int64_t rows, int64_t steps, const float *a, const float *b, float *c)
{
    T(dot_finite_lanes)(/*fetched=*/0, /*vectors=*/OF(4, 2, 2), /*lanes=*/64, rows, /*tail=*/-1, steps, /*span=*/192, a,
        /*a_row=*/1, /*a_step=*/32, b, /*b_step=*/64, c, /*c_row=*/64, /*update=*/0, /*factor=*/NULL);
}
TARGET APART void T(dot5)(int64_t rows, int64_t steps, const float *a, const float *b, float *c, int64_t visible)
{
    T(dot_until)(/*vectors=*/OF(4, 2, 2), /*lanes=*/64, rows, /*tail=*/-1, steps, /*span=*/192, a, /*a_row=*/1,
        /*a_step=*/32, b, /*b_step=*/64, c, /*c_row=*/64, visible);
}
TARGET APART void T(dot6)(int64_t steps, const float *a, const float *b, float *c, const float *kept, const float *lost)
{
    T(dot_kept)(/*vectors=*/OF(4, 2, 2), /*lanes=*/64, /*rows=*/64, steps, a, /*a_row=*/32, /*a_step=*/1, b,
        /*b_step=*/64, c, /*c_row=*/64, kept, lost);
}

/* Computes task number `task`: one tile of queries of one head. `work` is this thread's workspace. */
TARGET static void T(comba_linear)(const struct call *call, int64_t task, unsigned char *work)
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
    const float *const log_decay_q_low = (const float *)call->array[ARRAY_log_decay_q_low].at + b *
        call->array[ARRAY_log_decay_q_low].strides.batch + g * members *
        call->array[ARRAY_log_decay_q_low].strides.head;
    const int64_t log_decay_q_low_head = call->array[ARRAY_log_decay_q_low].strides.head;
    const float *const log_decay_q = (const float *)call->array[ARRAY_log_decay_q].at + b *
        call->array[ARRAY_log_decay_q].strides.batch + g * members * call->array[ARRAY_log_decay_q].strides.head;
    const int64_t log_decay_q_head = call->array[ARRAY_log_decay_q].strides.head;
    const float *const log_decay_k_low = (const float *)call->array[ARRAY_log_decay_k_low].at + b *
        call->array[ARRAY_log_decay_k_low].strides.batch + g * members *
        call->array[ARRAY_log_decay_k_low].strides.head;
    const float *const log_decay_k = (const float *)call->array[ARRAY_log_decay_k].at + b *
        call->array[ARRAY_log_decay_k].strides.batch + g * members * call->array[ARRAY_log_decay_k].strides.head;
    const float *const log_decay_chunk_low = (const float *)call->array[ARRAY_log_decay_chunk_low].at + b *
        call->array[ARRAY_log_decay_chunk_low].strides.batch + g * members *
        call->array[ARRAY_log_decay_chunk_low].strides.head;
    const float *const log_decay_chunk = (const float *)call->array[ARRAY_log_decay_chunk].at + b *
        call->array[ARRAY_log_decay_chunk].strides.batch + g * members *
        call->array[ARRAY_log_decay_chunk].strides.head;
    const float *const feedback_array = (const float *)call->array[ARRAY_feedback_array].at + b *
        call->array[ARRAY_feedback_array].strides.batch + g * members * call->array[ARRAY_feedback_array].strides.head;
    const int64_t feedback_array_row = call->array[ARRAY_feedback_array].strides.row;
    const int64_t feedback_array_stride_3 = call->array[ARRAY_feedback_array].stride[3];
    const float *const beta_array = (const float *)call->array[ARRAY_beta_array].at + b *
        call->array[ARRAY_beta_array].strides.batch + g * members * call->array[ARRAY_beta_array].strides.head;
    const int64_t beta_array_row = call->array[ARRAY_beta_array].strides.row;
    float *const state = (float *)(void *)(work + 0); /* [f: 64, e: 64] */
    float *const query_sum = (float *)(void *)(work + 16384); /* [j: 32] */
    float *const query_features = (float *)(void *)(work + 16512); /* [d: 64, j: 32] */
    float *const query_sum_2 = (float *)(void *)(work + 16384); /* [t_key: 32] */
    float *const score = (float *)(void *)(work + 24704); /* [j: 32, t_key: 32] */
    float *const query_2 = (float *)(void *)(work + 28800); /* [f: 64, t_key: 32] */
    float *const query_scale = (float *)(void *)(work + 16384); /* [j: 32] */
    float *const from_state = (float *)(void *)(work + 36992); /* [t_key: 32, e: 64] */
    float *const corrected = (float *)(void *)(work + 28800); /* [j: 32, e: 64] */
    float *const query_features_3 = (float *)(void *)(work + 36992); /* [f: 64, j: 32] */
    float *const query_sum_3 = (float *)(void *)(work + 16384); /* [i: 32] */
    float *const score_2 = (float *)(void *)(work + 24704); /* [j: 32, i: 32] */
    float *const query_3 = (float *)(void *)(work + 45184); /* [f: 64, i: 32] */
    float *const sum_from_state = (float *)(void *)(work + 53376); /* [i: 32, e: 64] */
    float *const sum = (float *)(void *)(work + 45184); /* [i: 32, e: 64] */
    float *const out = (float *)call->array[ARRAY_out].at + b * call->array[ARRAY_out].strides.batch + g * members *
        call->array[ARRAY_out].strides.head;
    const int64_t out_row = call->array[ARRAY_out].strides.row;
    const int64_t out_head = call->array[ARRAY_out].strides.head;
    float *const kept_share = (float *)(void *)(work + 16384); /* [f: 64] */
    float *const lost_share = (float *)(void *)(work + 16640); /* [f: 64] */
    float *const k_tile = (float *)(void *)(work + 61568); /* [d: 64, j: 32] */
    float *const feedback_tile = (float *)(void *)(work + 36992); /* [d: 64, t_key: 32] */
    float *const beta_tile = (float *)(void *)(work + 69760); /* [j: 32] */
    float *const log_decay_k_tile_2 = (float *)(void *)(work + 69888); /* [j: 32] */
    float *const log_decay_k_low_tile_2 = (float *)(void *)(work + 70016); /* [j: 32] */
    float *const q_tile = (float *)(void *)(work + 53376); /* [d: 64, i: 32] */
    float *const log_decay_q_tile = (float *)(void *)(work + 70144); /* [i: 32] */
    float *const log_decay_q_low_tile = (float *)(void *)(work + 70272); /* [i: 32] */
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
                /* log_decay_k_tile_2 = log_decay_k, with zeros beyond the last row */
                for (int64_t j = 0; j < round_up(j1 - j0, LANES); j++)
                    log_decay_k_tile_2[j] = j < j1 - j0 ? log_decay_k[(j0 + j)] : 0;
                /* log_decay_k_low_tile_2 = log_decay_k_low, with zeros beyond the last row */
                for (int64_t j = 0; j < round_up(j1 - j0, LANES); j++)
                    log_decay_k_low_tile_2[j] = j < j1 - j0 ? log_decay_k_low[(j0 + j)] : 0;
                for (int64_t t_key0 = j0, t_key_end = j1; t_key0 < t_key_end; t_key0 += 32) {
                    const int64_t t_key1 = min(t_key0 + 32, t_key_end);
                    if (feedback_array_stride_3 == 1) {
                        /* feedback_tile = feedback_array, with zeros beyond the last row */
                        T(transpose_padded)(feedback_array + t_key0 * feedback_array_row, feedback_array_row,
                            t_key1 - t_key0, 64, feedback_tile, 32, 0);
                    } else {
                        /* feedback_tile = feedback_array, with zeros beyond the last row */
                        for (int64_t t_key = 0; t_key < round_up(t_key1 - t_key0, LANES); t_key++)
                            for (int64_t d = 0; d < 64; d++)
                                feedback_tile[d * 32 + t_key] = t_key < t_key1 - t_key0 ? feedback_array[(t_key0 +
                                    t_key) * feedback_array_row + d * feedback_array_stride_3] : 0;
                    }
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
                    /* query_sum_2 = 0.0f */
                    for (int64_t t_key = 0; t_key < t_key1 - t_key0; t_key += LANES) {
                        T(store)(query_sum_2 + t_key, T(splat)(0.0f));
                    }
                    /* feedback_tile = feedback_tile; query_sum_2 += feedback_tile * feedback_tile */
                    for (int64_t t_key_first = 0; t_key_first < t_key1 - t_key0; t_key_first += (2 * LANES)) {
                        T(vec) query_sum_2_in[2];
                        UNROLL for (int64_t vector = 0, t_key = t_key_first; vector < 2; vector++, t_key += LANES) {
                            query_sum_2_in[vector] = (T(vec)){0};
                        }
                        for (int64_t d = 0; d < 64; d++) {
                            UNROLL for (int64_t vector = 0, t_key = t_key_first; vector < 2; vector++, t_key += LANES) {
                                const T(vec) feedback_tile_3 = T(load)(feedback_tile + d * 32 + t_key);
                                const T(vec) feedback_tile_new4 = feedback_tile_3;
                                T(store)(feedback_tile + d * 32 + t_key, feedback_tile_new4);
                                query_sum_2_in[vector] += feedback_tile_new4 * feedback_tile_new4;
                            }
                        }
                        UNROLL for (int64_t vector = 0, t_key = t_key_first; vector < 2; vector++, t_key += LANES) {
                            T(store)(query_sum_2 + t_key, T(load)(query_sum_2 + t_key) + query_sum_2_in[vector]);
                        }
                    }
                    /* feedback_tile = feedback_tile * select(query_sum_2 == 0.0f, 0.0f, 1.0f / sqrt(query_sum_2)) */
                    for (int64_t t_key = 0; t_key < t_key1 - t_key0; t_key += LANES) {
                        const T(vec) query_sum_2_5 = T(load)(query_sum_2 + t_key);
                        const T(vec) t_6 = T(pick)(query_sum_2_5 == 0.0f, T(splat)(0.0f),
                            1.0f / T(sqrt)(query_sum_2_5));
                        for (int64_t d = 0; d < 64; d++) {
                            T(store)(feedback_tile + d * 32 + t_key, T(load)(feedback_tile + d * 32 + t_key) * t_6);
                        }
                    }
                    /* score[j][t_key] = sum over d of query_features * feedback_tile */
                    T(dot0)(round_up(t_key1 - t_key0, LANES), j1 - j0, query_features, feedback_tile, score);
                    /* query_2 = feedback_tile * select((lo() / 32) == 0, 1.0f,
                       exp2(((log_decay_k_tile_2 - log_decay_chunk) + (log_decay_k_low_tile_2  ... */
                    const int t_7 = (j0 / 32) == 0;
                    const float log_decay_chunk_8 = log_decay_chunk[max(min(j0 - 1, n_k - 1), 0)];
                    const float log_decay_chunk_low_9 = log_decay_chunk_low[max(min(j0 - 1, n_k - 1), 0)];
                    for (int64_t t_key = 0; t_key < t_key1 - t_key0; t_key += LANES) {
                        const T(vec) t_10 = t_7 ? T(splat)(1.0f) : T(exp2)(((T(load)(log_decay_k_tile_2 + ((t_key0 +
                            t_key) - j0)) - log_decay_chunk_8) + (T(load)(log_decay_k_low_tile_2 + ((t_key0 + t_key) -
                            j0)) - log_decay_chunk_low_9)) * 1.442695f);
                        for (int64_t f = 0; f < 64; f++) {
                            T(store)(query_2 + f * 32 + t_key, T(load)(feedback_tile + f * 32 + t_key) * t_10);
                        }
                    }
                    /* score = score * exp2(((log_decay_k_tile_2 - log_decay_k) + (log_decay_k_low_tile_2 -
                       log_decay_k_low)) * 1.442695f) */
                    for (int64_t t_key = 0; t_key < t_key1 - t_key0; t_key += LANES) {
                        const T(vec) log_decay_k_tile_2_11 = T(load)(log_decay_k_tile_2 + ((t_key0 + t_key) - j0));
                        const T(vec) log_decay_k_low_tile_2_12 = T(load)(log_decay_k_low_tile_2 + ((t_key0 + t_key) -
                            j0));
                        for (int64_t j = 0; j < j1 - j0; j++) {
                            T(store)(score + j * 32 + t_key, T(load)(score + j * 32 + t_key) *
                                T(exp2)(((log_decay_k_tile_2_11 - log_decay_k[(j0 + j)]) + (log_decay_k_low_tile_2_12 -
                                log_decay_k_low[(j0 + j)])) * 1.442695f));
                        }
                    }
                    /* query_scale = beta_tile */
                    for (int64_t j = 0; j < j1 - j0; j += LANES) {
                        T(store)(query_scale + j, T(load)(beta_tile + j));
                    }
                    /* from_state[t_key][e] = sum over f of query_2 * state */
                    T(dot1)(t_key1 - t_key0, query_2, state, from_state, (const struct coming[]){{v + t_key0 * v_row,
                        4 * v_row, 256}, {q + m * q_head + (((j0 / 32) == 0) ? 0 : max(0, j0 - query_start)) * q_row,
                        4 * q_row, 256}});
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
                    /* query_features_3 = query_features * exp2(((log_decay_chunk - log_decay_k_tile_2) +
                       (log_decay_chunk_low - log_decay_k_low_tile_2 ... */
                    const float log_decay_chunk_13 = log_decay_chunk[max(min((((j0 / 32) + 1) * 32) - 1, n_k - 1), 0)];
                    const float log_decay_chunk_low_14 = log_decay_chunk_low[max(min((((j0 / 32) + 1) * 32) - 1,
                        n_k - 1), 0)];
                    for (int64_t j = 0; j < j1 - j0; j += LANES) {
                        const T(vec) t_15 = T(exp2)(((log_decay_chunk_13 - T(load)(log_decay_k_tile_2 + j)) +
                            (log_decay_chunk_low_14 - T(load)(log_decay_k_low_tile_2 + j))) * 1.442695f);
                        for (int64_t f = 0; f < 64; f++) {
                            T(store)(query_features_3 + f * 32 + j, T(load)(query_features + f * 32 + j) * t_15);
                        }
                    }
                    for (int64_t i0 = ((j0 / 32) == 0) ? 0 : max(0, j0 - query_start), i_end = min(n_q,
                        (((j0 / 32) + 1) * 32) - query_start); i0 < i_end; i0 += 32) {
                        const int64_t i1 = min(i0 + 32, i_end);
                        /* q_tile = q, with zeros beyond the last row */
                        T(transpose_padded)(q + m * q_head + i0 * q_row, q_row, i1 - i0, 64, q_tile, 32, 0);
                        /* log_decay_q_tile = log_decay_q, with zeros beyond the last row */
                        for (int64_t i = 0; i < round_up(i1 - i0, LANES); i++)
                            log_decay_q_tile[i] = i < i1 - i0 ? log_decay_q[m * log_decay_q_head + (i0 + i)] : 0;
                        /* log_decay_q_low_tile = log_decay_q_low, with zeros beyond the last row */
                        for (int64_t i = 0; i < round_up(i1 - i0, LANES); i++)
                            log_decay_q_low_tile[i] = i < i1 - i0 ? log_decay_q_low[m * log_decay_q_low_head + (i0 + i)]
                                : 0;
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
                                    const T(vec) q_tile_16 = T(load)(q_tile + d * 32 + i);
                                    query_sum_3_in[vector] += q_tile_16 * q_tile_16;
                                }
                            }
                            UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += LANES) {
                                T(store)(query_sum_3 + i, T(load)(query_sum_3 + i) + query_sum_3_in[vector]);
                            }
                        }
                        /* q_tile = (q_tile * select(query_sum_3 == 0.0f, 0.0f, 1.0f / sqrt(query_sum_3))) * 0.125f */
                        for (int64_t i = 0; i < i1 - i0; i += LANES) {
                            const T(vec) query_sum_3_17 = T(load)(query_sum_3 + i);
                            const T(vec) t_18 = T(pick)(query_sum_3_17 == 0.0f, T(splat)(0.0f),
                                1.0f / T(sqrt)(query_sum_3_17));
                            for (int64_t d = 0; d < 64; d++) {
                                T(store)(q_tile + d * 32 + i, (T(load)(q_tile + d * 32 + i) * t_18) * 0.125f);
                            }
                        }
                        /* score_2[j][i] = sum over d of query_features * q_tile */
                        T(dot0)(round_up(i1 - i0, LANES), j1 - j0, query_features, q_tile, score_2);
                        /* query_3 = q_tile * select((lo() / 32) == 0, 1.0f,
                           exp2(((log_decay_q_tile - log_decay_chunk) + (log_decay_q_low_tile - log_decay ... */
                        const int t_19 = (j0 / 32) == 0;
                        const float log_decay_chunk_20 = log_decay_chunk[max(min(j0 - 1, n_k - 1), 0)];
                        const float log_decay_chunk_low_21 = log_decay_chunk_low[max(min(j0 - 1, n_k - 1), 0)];
                        for (int64_t i = 0; i < i1 - i0; i += LANES) {
                            const T(vec) t_22 = t_19 ? T(splat)(1.0f) : T(exp2)(((T(load)(log_decay_q_tile + i) -
                                log_decay_chunk_20) + (T(load)(log_decay_q_low_tile + i) - log_decay_chunk_low_21)) *
                                1.442695f);
                            for (int64_t f = 0; f < 64; f++) {
                                T(store)(query_3 + f * 32 + i, T(load)(q_tile + f * 32 + i) * t_22);
                            }
                        }
                        /* score_2 = score_2 * exp2(((log_decay_q_tile - log_decay_k) + (log_decay_q_low_tile -
                           log_decay_k_low)) * 1.442695f) */
                        for (int64_t i = 0; i < i1 - i0; i += LANES) {
                            const T(vec) log_decay_q_tile_23 = T(load)(log_decay_q_tile + i);
                            const T(vec) log_decay_q_low_tile_24 = T(load)(log_decay_q_low_tile + i);
                            for (int64_t j = 0; j < j1 - j0; j++) {
                                T(store)(score_2 + j * 32 + i, T(load)(score_2 + j * 32 + i) *
                                    T(exp2)(((log_decay_q_tile_23 - log_decay_k[(j0 + j)]) + (log_decay_q_low_tile_24 -
                                    log_decay_k_low[(j0 + j)])) * 1.442695f));
                            }
                        }
                        /* sum_from_state[i][e] = sum over f of query_3 * state */
                        T(dot3)(i1 - i0, query_3, state, sum_from_state, (const struct coming[]){{out + m * out_head +
                            i0 * out_row, 4 * out_row, 256}, {k + (j0 + 32) * k_row, 4 * k_row, 256},
                            {feedback_array + (t_key0 + 32) * feedback_array_row, 4 * feedback_array_row, 256}});
                        /* score_2 = select(j <= (i + query_start), score_2, 0.0f) */
                        for (int64_t i = 0; i < i1 - i0; i += LANES) {
                            const T(ints) t_25 = (i0 + i + T(lane)) + query_start;
                            for (int64_t j = 0; j < j1 - j0; j++) {
                                T(store)(score_2 + j * 32 + i, T(pick)(__builtin_convertvector((j0 + j) <= t_25,
                                    T(mask)), T(load)(score_2 + j * 32 + i), T(splat)(0.0f)));
                            }
                        }
                        /* sum[i][e] = sum over j of score_2 * corrected */
                        if (__builtin_expect(!T(finite)(corrected, 64, j1 - j0, 64),
                            0)) { /* infinity and NaN affect only queries that see them */
                            T(dot4)(i1 - i0, j1 - j0, score_2, corrected, sum);
                            for (int64_t i = 0; i < i1 - i0; i++) {
                                T(mask) in_region[OF(2, 4, 8)] = {0};
                                const int64_t t_26 = (i0 + i) + query_start;
                                for (int64_t j = 0; j < j1 - j0; j += LANES) {
                                    in_region[j / LANES] = __builtin_convertvector((j0 + j + T(lane)) <= t_26, T(mask));
                                }
                                T(add_seen_lanes)(64, sum + i * 64, score_2 + i * 1, corrected, 64, j1 - j0, in_region);
                            }
                        } else
                            T(dot5)(i1 - i0, j1 - j0, score_2, corrected, sum, i0 + query_start - j0 + 1);
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
                    /* kept_share = select(exp2(((log_decay_chunk - log_decay_chunk) + (log_decay_chunk_low -
                       log_decay_chunk_low)) * 1.442695f) < 0.5f ... */
                    const float t_27 = (log_decay_chunk[max(min((((j0 / 32) + 1) * 32) - 1, n_k - 1),
                        0)] - log_decay_chunk[max(min(j0 - 1, n_k - 1), 0)]) + (log_decay_chunk_low[max(min((((j0 / 32)
                        + 1) * 32) - 1, n_k - 1), 0)] - log_decay_chunk_low[max(min(j0 - 1, n_k - 1), 0)]);
                    const float t_28 = exp2f(t_27 * 1.442695f);
                    const int t_29 = t_28 < 0.5f;
                    const float t_30 = t_29 ? t_28 : 1.0f;
                    const float t_31 = t_29 ? 0.0f : (-expm1f(t_27));
                    for (int64_t f = 0; f < 64; f += LANES) {
                        T(store)(kept_share + f, T(splat)(t_30));
                        T(store)(lost_share + f, T(splat)(t_31));
                    }
                    /* state[f][e] = state * kept_share - state * lost_share + sum over j of query_features_3 *
                       corrected */
                    T(dot6)(j1 - j0, query_features_3, corrected, state, kept_share, lost_share);
                }
            }
        }
    }
}

/* Computes task number `task`: one tile of queries of one head. `work` is this thread's workspace. */
TARGET static void T(comba_terms)(const struct call *call, int64_t task, unsigned char *work)
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
    const float *const gate_array = (const float *)call->array[ARRAY_gate_array].at + b *
        call->array[ARRAY_gate_array].strides.batch + (g * members + m) * call->array[ARRAY_gate_array].strides.head;
    const int64_t gate_array_row = call->array[ARRAY_gate_array].strides.row;
    float *const result = (float *)(void *)(work + 0); /* [i: 64] */
    float *const log_decay_k = call->array[ARRAY_log_decay_k].at ? (float *)call->array[ARRAY_log_decay_k].at + b *
        call->array[ARRAY_log_decay_k].strides.batch + (g * members + m) * call->array[ARRAY_log_decay_k].strides.head :
        NULL;
    const int64_t log_decay_k_row = call->array[ARRAY_log_decay_k].strides.row;
    float *const gate_at = (float *)(void *)(work + 256); /* [i: 64] */
    /* gate_at = gate_array, at computed subscripts */
    for (int64_t i = 0; i < i1 - i0; i++) gate_at[i] = gate_array[((i0 + i) + n_k - n_q) * gate_array_row];
    for (int64_t i = i1 - i0; i < round_up(i1 - i0, LANES); i++) gate_at[i] = 0;
    /* result = max(gate_at, -1e+04f) */
    for (int64_t i = 0; i < i1 - i0; i += LANES) {
        T(store)(result + i, T(max)(T(load)(gate_at + i), T(splat)(-1e+04f)));
    }
    if (log_decay_k) {
        /* log_decay_k = result */
        for (int64_t i = 0; i < i1 - i0; i++)
            log_decay_k[(i0 + i) * log_decay_k_row] = result[i];
    }
}
#include <attnrt/kernel/end.h>
#else
#ifdef __cplusplus
#error "comba.c is C, not C++: compile it with a C compiler"
#elif !defined __STDC_VERSION__ || __STDC_VERSION__ < 199901L
#error "comba.c is C11, not C89: compile it without -std=, or with -std=gnu11"
extern int comba_is_c11;
#elif !defined __GNUC__
#error "comba.c uses GNU C vector extensions: compile it with gcc or clang"
extern int comba_is_gnu_c;
#else
#include "comba.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include <attnrt/kernel/optimize.h>
#include <attnrt/kernel/call.h>

/* the numbers of the arrays of a call */
enum {
    ARRAY_q, ARRAY_k, ARRAY_v, ARRAY_out, ARRAY_gate_array, ARRAY_feedback_array, ARRAY_beta_array, ARRAY_log_decay_q,
    ARRAY_log_decay_q_low, ARRAY_log_decay_k, ARRAY_log_decay_k_low, ARRAY_log_decay_chunk, ARRAY_log_decay_chunk_low
};

#ifdef __FILE_NAME__
#define LOOPS __FILE_NAME__ /* this file, whose first part has the loops */
#else
#define LOOPS "comba.c"
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
    {"gate", ATTN_F32, 3, {ATTN_BATCH, ATTN_HEADS, ATTN_N_K}, offsetof(struct comba_params, gate), 0,
        offsetof(struct comba_strides, gate), 0, 1, ATTN_NO_LIMITS},
    {"feedback", ATTN_F32, 4, {ATTN_BATCH, ATTN_HEADS, ATTN_N_K, 64}, offsetof(struct comba_params, feedback), 0,
        offsetof(struct comba_strides, feedback), 0, 1, ATTN_NO_LIMITS},
    {"beta", ATTN_F32, 3, {ATTN_BATCH, ATTN_HEADS, ATTN_N_K}, offsetof(struct comba_params, beta), 0,
        offsetof(struct comba_strides, beta), 0, 1, ATTN_NO_LIMITS},
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
    {.name = "gate", .access = {ACCESS_READ, ACCESS_NONE}, .dtype = ATTN_F32, .rows = ROWS_OF_KEYS,
        .origin = FROM_PARAMS, .param = 0, .axis = {0, 1, 2}, .has_rows = 1},
    {.name = "feedback", .access = {ACCESS_READ, ACCESS_NONE}, .dtype = ATTN_F32, .rows = ROWS_OF_KEYS,
        .origin = FROM_PARAMS, .param = 1, .axis = {0, 1, 2}, .has_rows = 1},
    {.name = "beta", .access = {ACCESS_READ, ACCESS_NONE}, .dtype = ATTN_F32, .rows = ROWS_OF_KEYS,
        .origin = FROM_PARAMS, .param = 2, .axis = {0, 1, 2}, .has_rows = 1},
    {.name = "log_decay_q", .access = {ACCESS_NONE, ACCESS_NONE}, .dtype = ATTN_F32, .rows = ROWS_OF_QUERIES,
        .origin = FROM_LIBRARY},
    {.name = "log_decay_q_low", .access = {ACCESS_NONE, ACCESS_NONE}, .dtype = ATTN_F32, .rows = ROWS_OF_QUERIES,
        .origin = FROM_LIBRARY},
    {.name = "log_decay_k", .access = {ACCESS_NONE, ACCESS_NONE}, .dtype = ATTN_F32, .rows = ROWS_OF_KEYS,
        .origin = FROM_LIBRARY},
    {.name = "log_decay_k_low", .access = {ACCESS_NONE, ACCESS_NONE}, .dtype = ATTN_F32, .rows = ROWS_OF_KEYS,
        .origin = FROM_LIBRARY},
    {.name = "log_decay_chunk", .access = {ACCESS_NONE, ACCESS_NONE}, .dtype = ATTN_F32, .rows = ROWS_OF_KEYS,
        .origin = FROM_LIBRARY},
    {.name = "log_decay_chunk_low", .access = {ACCESS_NONE, ACCESS_NONE}, .dtype = ATTN_F32, .rows = ROWS_OF_KEYS,
        .origin = FROM_LIBRARY},
};

#if defined(__x86_64__)
static int runs_v4(void)
{
    return attn_x86_64_level() >= 4;
}
static const struct program programs_v4[] = {
    {.role = RUN_FORWARD,
     .rows = comba_linear_v4, .tile = 0, .own = 70400, .of_token = 4160, .in_keys = 1},
    {.role = RUN_TERMS,
     .rows = comba_terms_v4, .tile = 64, .own = 512, .of_pair = 128},
};
#endif
#if defined(__x86_64__)
static int runs_v3(void)
{
    return attn_x86_64_level() >= 3;
}
static const struct program programs_v3[] = {
    {.role = RUN_FORWARD,
     .rows = comba_linear_v3, .tile = 0, .own = 70400, .of_token = 4160, .in_keys = 1},
    {.role = RUN_TERMS,
     .rows = comba_terms_v3, .tile = 64, .own = 512, .of_pair = 128},
};
#endif
static const struct program programs_any[] = {
    {.role = RUN_FORWARD,
     .rows = comba_linear_any, .tile = 0, .own = 70400, .of_token = 4160, .in_keys = 1},
    {.role = RUN_TERMS,
     .rows = comba_terms_any, .tile = 64, .own = 512, .of_pair = 128},
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
    .layout = KERNEL_LAYOUT, .name = "comba", .openmp = OPENMP,
    .target = target, .targets = sizeof target / sizeof *target - 1,
    .array = array, .arrays = sizeof array / sizeof *array,
    .param = param, .params = 3, .params_bytes = sizeof(struct comba_params),
    .dtype = ATTN_F32, .key_dtype = ATTN_F32, .value_dtype = ATTN_F32, .real = sizeof(float), .element = sizeof(float),
    .head_dim = 64, .value_dim = 64, .key_row = 64, .value_row = 64,
    .strided = 1, .strides = offsetof(struct comba_params, strides),
    .shares = 1,
    .delta = 1,
    .positions = 1,
    .ids = -1,
    .corrected = -1,
    .prefix_row = 1,
    .sum_tokens = 4096,
    .prefix = {ARRAY_log_decay_q, ARRAY_log_decay_q_low, ARRAY_log_decay_k, ARRAY_log_decay_k_low,
        ARRAY_log_decay_chunk, ARRAY_log_decay_chunk_low, NO_ARRAY, NO_ARRAY, NO_ARRAY},
    .solution = -1,
};

/* ==== the interface ==== */
size_t comba_params_size(void) { return attn_call_params_size(&kernel); }
int comba_params_init(struct comba_params *params, uint64_t seed, void *storage)
{
    return attn_call_params_init(&kernel, params, seed, storage);
}
size_t comba_workspace(const struct attn_problem *problem) { return attn_call_workspace(&kernel, problem); }
int comba_forward(const struct attn_problem *problem, const struct comba_params *params, const float *q, const float *k,
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
const struct attn_kernel comba_kernel = {
    .name = "comba", .version = "0.2.0", .dtype = ATTN_F32, .head_dim = 64, .value_dim = 64,
    .params = 3, .param = param, .params_bytes = sizeof(struct comba_params),
    .params_size = comba_params_size, .params_init = params_init_any, .forward = forward_any,
    .workspace = comba_workspace,
    .key_dtype = ATTN_F32, .value_dtype = ATTN_F32,
    .strides = offsetof(struct comba_params, strides), .strides_bytes = sizeof(struct comba_strides),
    .before = INT64_MAX, .after = 0, .period = 0, .names_heads = 0, .names_sequences = 0, .in_parts = 0,
    .saved_power = 0, .has_sink = 0, .open_keys = 0, .end_of_keys = INT64_MAX,
};
#endif /* a compiler of this language */
#endif /* SECTION */
