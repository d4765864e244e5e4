/* gated_deltanet.c, made by attnc 0.2.0: attnc gated_deltanet.yaml
   C11 with GNU extensions, for a C compiler; C++ includes gated_deltanet.h.
   gated DeltaNet: the delta rule with a decay for each head and position
   Yang, Kautz and Hatamizadeh, Gated Delta Networks: Improving Mamba2 with Delta Rule (ICLR 2025), section 3.1

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
     x16 [b g t_key d] = k[b, g, t_key, d]
     x17 [b g t_key d] = x16 * x16
     x18 [b g t_key] = sum over d of x17
     x19 [b g t_key] = x18 == 0 ? 0 : 1 / sqrt(x18)
     x20 [b g t_key d] = x16 * x19
     x21 [b g t_key j] = sum over d of x20 * x6
     x22 [b g t_key j] = x21 * pow(2.718281828459045, x15[b, g, 0, t_key] - x15[b, g, 0, j])
     beta [b g m j], learned parameter
     x24 [b g j] = beta[b, g, 0, j]
     x25 [b g j e] = u with u[t_key] = x24 * (v - sum over j < t_key of x22 * u[j] if j <= t_key)
     x26 [b g m i j] = sum over d of x11 * x6
     x27 [b g m i j] = x26 * pow(2.718281828459045, x14 - x15[b, g, 0, j])
     x28 [b g m i e] = sum over j of x27 * x25 if j <= i + query_start
     x29 [b g m i e] = x28
     out = x29
   query_start is the position of the first query: problem.query_start[b], or n_k - n_q if that is NULL.

   How: each vector lane holds one query. Keys are processed in tiles,
   so row sums and maxima need no reduction across lanes.
   The sums of a tile start from zero and are added to the sums so far. Tiles that no query sees are skipped.
   Linear: the weight is an inner product of 64 features. The state is a sum over keys of 64 x 65 numbers.
     x86-64-v4  linear    tiles of 32 queries and 32 keys; 70400 bytes of workspace per thread
     x86-64-v3  linear    tiles of 32 queries and 32 keys; 70400 bytes of workspace per thread
     generic    linear    tiles of 32 queries and 32 keys; 70400 bytes of workspace per thread

   Contents:
     loops      gated_deltanet_linear, gated_deltanet_linear_saved_solution,
     gated_deltanet_linear_dv_linear_part_1_dbeta_linear_part_2_linear_part_3_linear_part_4_linear_part_5,
     gated_deltanet_linear_dq_dlog_decay_q_dk_dlog_decay_k, gated_deltanet_linear_terms_dgate, gated_deltanet_terms
     targets    x86-64-v4, x86-64-v3, generic
     tables     arrays and programs, for the functions of attnrt that call the loops
     interface  gated_deltanet_workspace, gated_deltanet_forward, gated_deltanet_backward, gated_deltanet_kernel
   The file includes itself, so that the loops are compiled once for each target. T(name) is a name with the target's
   suffix, LANES the elements of its vectors, and OF(…) a number for each target.

   Compile with: cc -O2 -fopenmp gated_deltanet.c … -lattnrt -lm */
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
TARGET APART void T(dot5)(int64_t steps, const float *a, const float *b, float *c, const float *kept, const float *lost)
{
    T(dot_kept)(/*vectors=*/OF(4, 2, 2), /*lanes=*/64, /*rows=*/64, steps, a, /*a_row=*/32, /*a_step=*/1, b,
        /*b_step=*/64, c, /*c_row=*/64, kept, lost);
}
TARGET APART void T(dot6)(int64_t rows, const float *a, const float *b, float *c)
{
    T(dot)(/*vectors=*/OF(4, 2, 2), /*lanes=*/64, rows, /*tail=*/-1, /*steps=*/64, /*span=*/32, a, /*a_row=*/1,
        /*a_step=*/32, b, /*b_step=*/64, c, /*c_row=*/64, /*update=*/0, /*factor=*/NULL);
}
TARGET APART void T(dot7)(int64_t lanes, const float *a, const float *b, float *c, const struct coming *next)
{
    T(dot_meanwhile)(/*vectors=*/2, lanes, /*rows=*/64, /*tail=*/4, /*steps=*/64, /*span=*/32, a, /*a_row=*/64,
        /*a_step=*/1, b, /*b_step=*/32, c, /*c_row=*/32, /*update=*/0, /*factor=*/NULL, next, /*arrays=*/2,
        /*nexts=*/32);
}
TARGET APART void T(dot8)(int64_t lanes, int64_t rows, const float *a, int64_t a_row, const float *b, float *c)
{
    T(dot)(/*vectors=*/2, lanes, rows, /*tail=*/-1, /*steps=*/64, /*span=*/32, a, a_row, /*a_step=*/1, b, /*b_step=*/32,
        c, /*c_row=*/32, /*update=*/0, /*factor=*/NULL);
}
TARGET APART void T(dot9)(int64_t rows, int64_t steps, const float *a, const float *b, int64_t b_step, float *c)
{
    T(dot_finite_lanes)(/*fetched=*/0, /*vectors=*/OF(4, 2, 2), /*lanes=*/64, rows, /*tail=*/-1, steps, /*span=*/192, a,
        /*a_row=*/32, /*a_step=*/1, b, b_step, c, /*c_row=*/64, /*update=*/1, /*factor=*/NULL);
}
TARGET APART void T(dot10)(int64_t rows, int64_t steps, const float *a, const float *b, int64_t b_step, float *c)
{
    T(dot)(/*vectors=*/OF(4, 2, 2), /*lanes=*/64, rows, /*tail=*/-1, steps, /*span=*/192, a, /*a_row=*/32, /*a_step=*/1,
        b, b_step, c, /*c_row=*/64, /*update=*/1, /*factor=*/NULL);
}
TARGET APART void T(dot11)(int64_t steps, const float *a, const float *b, int64_t b_step, float *c)
{
    T(dot)(/*vectors=*/OF(4, 2, 2), /*lanes=*/64, /*rows=*/64, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/32,
        /*a_step=*/1, b, b_step, c, /*c_row=*/64, /*update=*/1, /*factor=*/NULL);
}
TARGET APART void T(dot12)(int64_t lanes, int64_t steps, const float *a, const float *b, float *c)
{
    T(dot_finite)(/*vectors=*/2, lanes, /*rows=*/64, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/32, /*a_step=*/1, b,
        /*b_step=*/32, c, /*c_row=*/32, /*update=*/1, /*factor=*/NULL);
}
TARGET APART void T(dot13)(int64_t lanes, int64_t steps, const float *a, const float *b, float *c)
{
    T(dot)(/*vectors=*/2, lanes, /*rows=*/64, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/32, /*a_step=*/1, b,
        /*b_step=*/32, c, /*c_row=*/32, /*update=*/1, /*factor=*/NULL);
}
TARGET APART void T(dot14)(int64_t rows, const float *w, int64_t w_row, int64_t w_step, const float *rate,
    int64_t rate_step, const float *x, int64_t x_row, float *u, int64_t u_row)
{
    T(solve)(/*lanes=*/64, /*first=*/0, rows, w, w_row, w_step, rate, rate_step, x, x_row, u, u_row);
}
TARGET APART void T(dot15)(int64_t lanes, int64_t rows, const float *a, const float *b, float *c)
{
    T(dot)(/*vectors=*/2, lanes, rows, /*tail=*/-1, /*steps=*/64, /*span=*/32, a, /*a_row=*/64, /*a_step=*/1, b,
        /*b_step=*/32, c, /*c_row=*/32, /*update=*/0, /*factor=*/NULL);
}
TARGET APART void T(dot16)(int64_t lanes, int64_t steps, const float *a, const float *b, float *c)
{
    T(dot_finite)(/*vectors=*/2, lanes, /*rows=*/64, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/32, /*a_step=*/1, b,
        /*b_step=*/32, c, /*c_row=*/32, /*update=*/0, /*factor=*/NULL);
}
TARGET APART void T(dot17)(int64_t lanes, int64_t steps, const float *a, const float *b, float *c)
{
    T(dot)(/*vectors=*/2, lanes, /*rows=*/64, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/32, /*a_step=*/1, b,
        /*b_step=*/32, c, /*c_row=*/32, /*update=*/0, /*factor=*/NULL);
}
TARGET APART void T(dot18)(int64_t steps, const float *a, const float *b, float *c)
{
    T(dot)(/*vectors=*/OF(4, 2, 2), /*lanes=*/64, /*rows=*/64, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/32,
        /*a_step=*/1, b, /*b_step=*/64, c, /*c_row=*/64, /*update=*/1, /*factor=*/NULL);
}
TARGET APART void T(dot19)(int64_t lanes, const float *a, const float *b, float *c, const struct coming *next)
{
    T(dot_meanwhile)(/*vectors=*/2, lanes, /*rows=*/64, /*tail=*/4, /*steps=*/64, /*span=*/32, a, /*a_row=*/64,
        /*a_step=*/1, b, /*b_step=*/32, c, /*c_row=*/32, /*update=*/0, /*factor=*/NULL, next, /*arrays=*/5,
        /*nexts=*/32);
}

/* Computes task number `task`: one tile of queries of one head. `work` is this thread's workspace. */
TARGET static void T(gated_deltanet_linear)(const struct call *call, int64_t task, unsigned char *work)
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
    const float *const beta_array = (const float *)call->array[ARRAY_beta_array].at + b *
        call->array[ARRAY_beta_array].strides.batch + g * members * call->array[ARRAY_beta_array].strides.head;
    const int64_t beta_array_row = call->array[ARRAY_beta_array].strides.row;
    float *const state = (float *)(void *)(work + 0); /* [f: 64, e: 64] */
    float *const query_sum = (float *)(void *)(work + 16384); /* [j: 32] */
    float *const query_features = (float *)(void *)(work + 16512); /* [d: 64, j: 32] */
    float *const score = (float *)(void *)(work + 24704); /* [j: 32, t_key: 32] */
    float *const query = (float *)(void *)(work + 28800); /* [f: 64, t_key: 32] */
    float *const query_scale = (float *)(void *)(work + 16384); /* [j: 32] */
    float *const query_scale_2 = (float *)(void *)(work + 36992); /* [j: 32] */
    float *const from_state = (float *)(void *)(work + 37120); /* [t_key: 32, e: 64] */
    float *const corrected = (float *)(void *)(work + 28800); /* [j: 32, e: 64] */
    float *const saved_solution = call->array[ARRAY_saved_solution].at ? (float *)call->array[ARRAY_saved_solution].at +
        b * call->array[ARRAY_saved_solution].strides.batch + g * call->array[ARRAY_saved_solution].strides.head : NULL;
    const int64_t saved_solution_row = call->array[ARRAY_saved_solution].strides.row;
    float *const query_features_3 = (float *)(void *)(work + 36992); /* [f: 64, j: 32] */
    float *const query_sum_3 = (float *)(void *)(work + 24704); /* [i: 32] */
    float *const score_2 = (float *)(void *)(work + 24704); /* [j: 32, i: 32] */
    float *const query_2 = (float *)(void *)(work + 45184); /* [f: 64, i: 32] */
    float *const sum_from_state = (float *)(void *)(work + 53376); /* [i: 32, e: 64] */
    float *const sum = (float *)(void *)(work + 45184); /* [i: 32, e: 64] */
    float *const out = (float *)call->array[ARRAY_out].at + b * call->array[ARRAY_out].strides.batch + g * members *
        call->array[ARRAY_out].strides.head;
    const int64_t out_row = call->array[ARRAY_out].strides.row;
    const int64_t out_head = call->array[ARRAY_out].strides.head;
    float *const kept_share = (float *)(void *)(work + 16384); /* [f: 64] */
    float *const lost_share = (float *)(void *)(work + 16640); /* [f: 64] */
    float *const k_tile = (float *)(void *)(work + 61568); /* [d: 64, j: 32] */
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
                    /* query = query_features * select((lo() / 32) == 0, 1.0f,
                       exp2(((log_decay_k_tile_2 - log_decay_chunk) + (log_decay_k_low_tile_2 - ... */
                    const int t_3 = (j0 / 32) == 0;
                    const float log_decay_chunk_4 = log_decay_chunk[max(min(j0 - 1, n_k - 1), 0)];
                    const float log_decay_chunk_low_5 = log_decay_chunk_low[max(min(j0 - 1, n_k - 1), 0)];
                    for (int64_t t_key = 0; t_key < t_key1 - t_key0; t_key += LANES) {
                        const T(vec) t_6 = t_3 ? T(splat)(1.0f) : T(exp2)(((T(load)(log_decay_k_tile_2 + ((t_key0 +
                            t_key) - j0)) - log_decay_chunk_4) + (T(load)(log_decay_k_low_tile_2 + ((t_key0 + t_key) -
                            j0)) - log_decay_chunk_low_5)) * 1.442695f);
                        for (int64_t f = 0; f < 64; f++) {
                            T(store)(query + f * 32 + t_key, T(load)(query_features + f * 32 + ((t_key0 + t_key) - j0))
                                * t_6);
                        }
                    }
                    /* query_scale = beta_tile */
                    for (int64_t j = 0; j < j1 - j0; j += LANES) {
                        T(store)(query_scale + j, T(load)(beta_tile + j));
                    }
                    /* score = (score * exp2(((log_decay_k_tile_2 - log_decay_k) + (log_decay_k_low_tile_2 -
                       log_decay_k_low)) * 1.442695f)) * query_scale */
                    for (int64_t t_key = 0; t_key < t_key1 - t_key0; t_key += LANES) {
                        const T(vec) log_decay_k_tile_2_7 = T(load)(log_decay_k_tile_2 + ((t_key0 + t_key) - j0));
                        const T(vec) log_decay_k_low_tile_2_8 = T(load)(log_decay_k_low_tile_2 + ((t_key0 + t_key) -
                            j0));
                        for (int64_t j = 0; j < j1 - j0; j++) {
                            T(store)(score + j * 32 + t_key, (T(load)(score + j * 32 + t_key) *
                                T(exp2)(((log_decay_k_tile_2_7 - log_decay_k[(j0 + j)]) + (log_decay_k_low_tile_2_8 -
                                log_decay_k_low[(j0 + j)])) * 1.442695f)) * query_scale[j]);
                        }
                    }
                    /* query_scale_2 = 1.0f */
                    for (int64_t j = 0; j < j1 - j0; j += LANES) {
                        T(store)(query_scale_2 + j, T(splat)(1.0f));
                    }
                    /* from_state[t_key][e] = sum over f of query * state */
                    T(dot1)(t_key1 - t_key0, query, state, from_state, (const struct coming[]){{v + t_key0 * v_row,
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
                    /* corrected[t_key][e] = query_scale_2[t_key] * (from_state[t_key][e] - sum over j < t_key of score
                       * corrected[j][e]) */
                    T(dot2)(t_key1 - t_key0, score, query_scale_2, from_state, corrected);
                    if (saved_solution) {
                        /* saved_solution = corrected */
                        for (int64_t j = 0; j < j1 - j0; j++)
                            for (int64_t e = 0; e < 64; e++)
                                saved_solution[(j0 + j) * saved_solution_row + e] = corrected[j * 64 + e];
                    }
                    /* query_features_3 = (query_features * exp2(((log_decay_chunk - log_decay_k_tile_2) +
                       (log_decay_chunk_low - log_decay_k_low_tile_ ... */
                    const float log_decay_chunk_9 = log_decay_chunk[max(min((((j0 / 32) + 1) * 32) - 1, n_k - 1), 0)];
                    const float log_decay_chunk_low_10 = log_decay_chunk_low[max(min((((j0 / 32) + 1) * 32) - 1,
                        n_k - 1), 0)];
                    for (int64_t j = 0; j < j1 - j0; j += LANES) {
                        const T(vec) t_11 = T(exp2)(((log_decay_chunk_9 - T(load)(log_decay_k_tile_2 + j)) +
                            (log_decay_chunk_low_10 - T(load)(log_decay_k_low_tile_2 + j))) * 1.442695f);
                        const T(vec) query_scale_12 = T(load)(query_scale + j);
                        for (int64_t f = 0; f < 64; f++) {
                            T(store)(query_features_3 + f * 32 + j, (T(load)(query_features + f * 32 + j) * t_11) *
                                query_scale_12);
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
                                    const T(vec) q_tile_13 = T(load)(q_tile + d * 32 + i);
                                    query_sum_3_in[vector] += q_tile_13 * q_tile_13;
                                }
                            }
                            UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += LANES) {
                                T(store)(query_sum_3 + i, T(load)(query_sum_3 + i) + query_sum_3_in[vector]);
                            }
                        }
                        /* q_tile = (q_tile * select(query_sum_3 == 0.0f, 0.0f, 1.0f / sqrt(query_sum_3))) * 0.125f */
                        for (int64_t i = 0; i < i1 - i0; i += LANES) {
                            const T(vec) query_sum_3_14 = T(load)(query_sum_3 + i);
                            const T(vec) t_15 = T(pick)(query_sum_3_14 == 0.0f, T(splat)(0.0f),
                                1.0f / T(sqrt)(query_sum_3_14));
                            for (int64_t d = 0; d < 64; d++) {
                                T(store)(q_tile + d * 32 + i, (T(load)(q_tile + d * 32 + i) * t_15) * 0.125f);
                            }
                        }
                        /* score_2[j][i] = sum over d of query_features * q_tile */
                        T(dot0)(round_up(i1 - i0, LANES), j1 - j0, query_features, q_tile, score_2);
                        /* query_2 = q_tile * select((lo() / 32) == 0, 1.0f,
                           exp2(((log_decay_q_tile - log_decay_chunk) + (log_decay_q_low_tile - log_decay ... */
                        const int t_16 = (j0 / 32) == 0;
                        const float log_decay_chunk_17 = log_decay_chunk[max(min(j0 - 1, n_k - 1), 0)];
                        const float log_decay_chunk_low_18 = log_decay_chunk_low[max(min(j0 - 1, n_k - 1), 0)];
                        for (int64_t i = 0; i < i1 - i0; i += LANES) {
                            const T(vec) t_19 = t_16 ? T(splat)(1.0f) : T(exp2)(((T(load)(log_decay_q_tile + i) -
                                log_decay_chunk_17) + (T(load)(log_decay_q_low_tile + i) - log_decay_chunk_low_18)) *
                                1.442695f);
                            for (int64_t f = 0; f < 64; f++) {
                                T(store)(query_2 + f * 32 + i, T(load)(q_tile + f * 32 + i) * t_19);
                            }
                        }
                        /* sum_from_state[i][e] = sum over f of query_2 * state */
                        T(dot1)(i1 - i0, query_2, state, sum_from_state, (const struct coming[]){{out + m * out_head +
                            i0 * out_row, 4 * out_row, 256}, {k + (j0 + 32) * k_row, 4 * k_row, 256}});
                        /* score_2 = (score_2 * exp2(((log_decay_q_tile - log_decay_k) + (log_decay_q_low_tile -
                           log_decay_k_low)) * 1.442695f)) * query_scale */
                        for (int64_t i = 0; i < i1 - i0; i += LANES) {
                            const T(vec) log_decay_q_tile_20 = T(load)(log_decay_q_tile + i);
                            const T(vec) log_decay_q_low_tile_21 = T(load)(log_decay_q_low_tile + i);
                            for (int64_t j = 0; j < j1 - j0; j++) {
                                T(store)(score_2 + j * 32 + i, (T(load)(score_2 + j * 32 + i) *
                                    T(exp2)(((log_decay_q_tile_20 - log_decay_k[(j0 + j)]) + (log_decay_q_low_tile_21 -
                                    log_decay_k_low[(j0 + j)])) * 1.442695f)) * query_scale[j]);
                            }
                        }
                        /* score_2 = select(j <= (i + query_start), score_2, 0.0f) */
                        for (int64_t i = 0; i < i1 - i0; i += LANES) {
                            const T(ints) t_22 = (i0 + i + T(lane)) + query_start;
                            for (int64_t j = 0; j < j1 - j0; j++) {
                                T(store)(score_2 + j * 32 + i, T(pick)(__builtin_convertvector((j0 + j) <= t_22,
                                    T(mask)), T(load)(score_2 + j * 32 + i), T(splat)(0.0f)));
                            }
                        }
                        /* sum[i][e] = sum over j of score_2 * corrected */
                        if (__builtin_expect(!T(finite)(corrected, 64, j1 - j0, 64),
                            0)) { /* infinity and NaN affect only queries that see them */
                            T(dot3)(i1 - i0, j1 - j0, score_2, corrected, sum);
                            for (int64_t i = 0; i < i1 - i0; i++) {
                                T(mask) in_region[OF(2, 4, 8)] = {0};
                                const int64_t t_23 = (i0 + i) + query_start;
                                for (int64_t j = 0; j < j1 - j0; j += LANES) {
                                    in_region[j / LANES] = __builtin_convertvector((j0 + j + T(lane)) <= t_23, T(mask));
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
                    /* kept_share = select(exp2(((log_decay_chunk - log_decay_chunk) + (log_decay_chunk_low -
                       log_decay_chunk_low)) * 1.442695f) < 0.5f ... */
                    const float t_24 = (log_decay_chunk[max(min((((j0 / 32) + 1) * 32) - 1, n_k - 1),
                        0)] - log_decay_chunk[max(min(j0 - 1, n_k - 1), 0)]) + (log_decay_chunk_low[max(min((((j0 / 32)
                        + 1) * 32) - 1, n_k - 1), 0)] - log_decay_chunk_low[max(min(j0 - 1, n_k - 1), 0)]);
                    const float t_25 = exp2f(t_24 * 1.442695f);
                    const int t_26 = t_25 < 0.5f;
                    const float t_27 = t_26 ? t_25 : 1.0f;
                    const float t_28 = t_26 ? 0.0f : (-expm1f(t_24));
                    for (int64_t f = 0; f < 64; f += LANES) {
                        T(store)(kept_share + f, T(splat)(t_27));
                        T(store)(lost_share + f, T(splat)(t_28));
                    }
                    /* state[f][e] = state * kept_share - state * lost_share + sum over j of query_features_3 *
                       corrected */
                    T(dot5)(j1 - j0, query_features_3, corrected, state, kept_share, lost_share);
                }
            }
        }
    }
}

/* Computes task number `task`: one tile of queries of one head. `work` is this thread's workspace. */
TARGET static void T(gated_deltanet_linear_saved_solution)(const struct call *call, int64_t task, unsigned char *work)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_k = call->p.n_k;
    const int64_t chunks = n_k > 0 ? (n_k - 1) / 32 + 1 : 1;
    const int64_t g = task % kv_heads;
    const int64_t b = task / kv_heads;
    const float *const k = (const float *)call->array[ARRAY_k].at + b * call->array[ARRAY_k].strides.batch + g /
        call->sharing * call->array[ARRAY_k].strides.head;
    const int64_t k_row = call->array[ARRAY_k].strides.row;
    const float *const v = (const float *)call->array[ARRAY_v].at + b * call->array[ARRAY_v].strides.batch + g *
        call->array[ARRAY_v].strides.head;
    const int64_t v_row = call->array[ARRAY_v].strides.row;
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
    const float *const beta_array = (const float *)call->array[ARRAY_beta_array].at + b *
        call->array[ARRAY_beta_array].strides.batch + g * members * call->array[ARRAY_beta_array].strides.head;
    const int64_t beta_array_row = call->array[ARRAY_beta_array].strides.row;
    float *const state = (float *)(void *)(work + 0); /* [f: 64, e: 64] */
    float *const key_sum = (float *)(void *)(work + 16384); /* [j: 32] */
    float *const key_features = (float *)(void *)(work + 16512); /* [d: 64, j: 32] */
    float *const key_scale = (float *)(void *)(work + 16384); /* [j: 32] */
    float *const score = (float *)(void *)(work + 24704); /* [j: 32, t_key: 32] */
    float *const query = (float *)(void *)(work + 28800); /* [f: 64, t_key: 32] */
    float *const key_scale_2 = (float *)(void *)(work + 36992); /* [j: 32] */
    float *const key = (float *)(void *)(work + 37120); /* [f: 64, j: 32] */
    float *const from_state = (float *)(void *)(work + 16384); /* [t_key: 32, e: 64] */
    float *const corrected = (float *)(void *)(work + 45312); /* [j: 32, e: 64] */
    float *const kept_share = (float *)(void *)(work + 16384); /* [f: 64] */
    float *const lost_share = (float *)(void *)(work + 16640); /* [f: 64] */
    float *const saved_solution = call->array[ARRAY_saved_solution].at ? (float *)call->array[ARRAY_saved_solution].at +
        b * call->array[ARRAY_saved_solution].strides.batch + g * call->array[ARRAY_saved_solution].strides.head : NULL;
    const int64_t saved_solution_row = call->array[ARRAY_saved_solution].strides.row;
    float *const k_tile_2 = (float *)(void *)(work + 53504); /* [d: 64, j: 32] */
    float *const beta_tile = (float *)(void *)(work + 61696); /* [j: 32] */
    float *const log_decay_k_tile_2 = (float *)(void *)(work + 61824); /* [j: 32] */
    float *const log_decay_k_low_tile_2 = (float *)(void *)(work + 61952); /* [j: 32] */
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
            /* k_tile_2 = k, with zeros beyond the last row */
            T(transpose_padded)(k + j0 * k_row, k_row, j1 - j0, 64, k_tile_2, 32, 0);
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
                /* key_features = k_tile_2 * select(key_sum == 0.0f, 0.0f, 1.0f / sqrt(key_sum)) */
                for (int64_t j = 0; j < j1 - j0; j += LANES) {
                    const T(vec) key_sum_1 = T(load)(key_sum + j);
                    const T(vec) t_2 = T(pick)(key_sum_1 == 0.0f, T(splat)(0.0f), 1.0f / T(sqrt)(key_sum_1));
                    for (int64_t d = 0; d < 64; d++) {
                        T(store)(key_features + d * 32 + j, T(load)(k_tile_2 + d * 32 + j) * t_2);
                    }
                }
                /* query = key_features * select((lo() / 32) == 0, 1.0f,
                   exp2(((log_decay_k_tile_2 - log_decay_chunk) + (log_decay_k_low_tile_2 - l ... */
                const int t_3 = (j0 / 32) == 0;
                const float log_decay_chunk_4 = log_decay_chunk[max(min(j0 - 1, n_k - 1), 0)];
                const float log_decay_chunk_low_5 = log_decay_chunk_low[max(min(j0 - 1, n_k - 1), 0)];
                for (int64_t t_key = 0; t_key < t_key1 - t_key0; t_key += LANES) {
                    const T(vec) t_6 = t_3 ? T(splat)(1.0f) : T(exp2)(((T(load)(log_decay_k_tile_2 + ((t_key0 + t_key) -
                        j0)) - log_decay_chunk_4) + (T(load)(log_decay_k_low_tile_2 + ((t_key0 + t_key) - j0)) -
                        log_decay_chunk_low_5)) * 1.442695f);
                    for (int64_t f = 0; f < 64; f++) {
                        T(store)(query + f * 32 + t_key, T(load)(key_features + f * 32 + ((t_key0 + t_key) - j0)) *
                            t_6);
                    }
                }
                /* key_scale = beta_tile */
                for (int64_t j = 0; j < j1 - j0; j += LANES) {
                    T(store)(key_scale + j, T(load)(beta_tile + j));
                }
                /* score[j][t_key] = sum over d of key_features * key_features */
                T(dot0)(round_up(t_key1 - t_key0, LANES), j1 - j0, key_features, key_features, score);
                /* score = (score * exp2(((log_decay_k_tile_2 - log_decay_k) + (log_decay_k_low_tile_2 -
                   log_decay_k_low)) * 1.442695f)) * key_scale */
                for (int64_t t_key = 0; t_key < t_key1 - t_key0; t_key += LANES) {
                    const T(vec) log_decay_k_tile_2_7 = T(load)(log_decay_k_tile_2 + ((t_key0 + t_key) - j0));
                    const T(vec) log_decay_k_low_tile_2_8 = T(load)(log_decay_k_low_tile_2 + ((t_key0 + t_key) - j0));
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        T(store)(score + j * 32 + t_key, (T(load)(score + j * 32 + t_key) *
                            T(exp2)(((log_decay_k_tile_2_7 - log_decay_k[(j0 + j)]) + (log_decay_k_low_tile_2_8 -
                            log_decay_k_low[(j0 + j)])) * 1.442695f)) * key_scale[j]);
                    }
                }
                /* key_scale_2 = 1.0f */
                for (int64_t j = 0; j < j1 - j0; j += LANES) {
                    T(store)(key_scale_2 + j, T(splat)(1.0f));
                }
                /* key = (key_features * exp2(((log_decay_chunk - log_decay_k_tile_2) + (log_decay_chunk_low -
                   log_decay_k_low_tile_2)) * 1.442695f ... */
                const float log_decay_chunk_9 = log_decay_chunk[max(min((((j0 / 32) + 1) * 32) - 1, n_k - 1), 0)];
                const float log_decay_chunk_low_10 = log_decay_chunk_low[max(min((((j0 / 32) + 1) * 32) - 1, n_k - 1),
                    0)];
                for (int64_t j = 0; j < j1 - j0; j += LANES) {
                    const T(vec) t_11 = T(exp2)(((log_decay_chunk_9 - T(load)(log_decay_k_tile_2 + j)) +
                        (log_decay_chunk_low_10 - T(load)(log_decay_k_low_tile_2 + j))) * 1.442695f);
                    const T(vec) key_scale_12 = T(load)(key_scale + j);
                    for (int64_t f = 0; f < 64; f++) {
                        T(store)(key + f * 32 + j, (T(load)(key_features + f * 32 + j) * t_11) * key_scale_12);
                    }
                }
                /* from_state[t_key][e] = sum over f of query * state */
                T(dot1)(t_key1 - t_key0, query, state, from_state, (const struct coming[]){{v + t_key0 * v_row,
                    4 * v_row, 256}, {k + (j0 + 32) * k_row, 4 * k_row, 256}});
                /* from_state = v - from_state */
                for (int64_t t_key = 0; t_key < t_key1 - t_key0; t_key++) {
                    for (int64_t e_first = 0; e_first < 64; e_first += OF(64, 16, 8)) {
                        UNROLL for (int64_t vector = 0, e = e_first; vector < OF(4, 2, 2); vector++, e += LANES) {
                            T(store)(from_state + t_key * 64 + e, T(load)(v + (t_key0 + t_key) * v_row + e) -
                                T(load)(from_state + t_key * 64 + e));
                        }
                    }
                }
                /* corrected[t_key][e] = key_scale_2[t_key] * (from_state[t_key][e] - sum over j < t_key of score *
                   corrected[j][e]) */
                T(dot2)(t_key1 - t_key0, score, key_scale_2, from_state, corrected);
            }
            /* kept_share = select(exp2(((log_decay_chunk - log_decay_chunk) + (log_decay_chunk_low -
               log_decay_chunk_low)) * 1.442695f) < 0.5f ... */
            const float t_13 = (log_decay_chunk[max(min((((j0 / 32) + 1) * 32) - 1, n_k - 1),
                0)] - log_decay_chunk[max(min(j0 - 1, n_k - 1), 0)]) + (log_decay_chunk_low[max(min((((j0 / 32) + 1) *
                32) - 1, n_k - 1), 0)] - log_decay_chunk_low[max(min(j0 - 1, n_k - 1), 0)]);
            const float t_14 = exp2f(t_13 * 1.442695f);
            const int t_15 = t_14 < 0.5f;
            const float t_16 = t_15 ? t_14 : 1.0f;
            const float t_17 = t_15 ? 0.0f : (-expm1f(t_13));
            for (int64_t f = 0; f < 64; f += LANES) {
                T(store)(kept_share + f, T(splat)(t_16));
                T(store)(lost_share + f, T(splat)(t_17));
            }
            /* state[f][e] = state * kept_share - state * lost_share + sum over j of key * corrected */
            T(dot5)(j1 - j0, key, corrected, state, kept_share, lost_share);
            if (saved_solution) {
                /* saved_solution = corrected, transposed back */
                for (int64_t j = 0; j < j1 - j0; j++)
                    for (int64_t e = 0; e < 64; e++)
                        saved_solution[(j0 + j) * saved_solution_row + e] = corrected[j * 64 + e];
            }
        }
    }
}

/* Computes task number `task`: one tile of queries of one head. `work` is this thread's workspace. */
TARGET static void
    T(gated_deltanet_linear_dv_linear_part_1_dbeta_linear_part_2_linear_part_3_linear_part_4_linear_part_5)(const struct
    call *call, int64_t task, unsigned char *work)
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
    const float *const beta_array = (const float *)call->array[ARRAY_beta_array].at + b *
        call->array[ARRAY_beta_array].strides.batch + g * members * call->array[ARRAY_beta_array].strides.head;
    const int64_t beta_array_row = call->array[ARRAY_beta_array].strides.row;
    const float *const dout = (const float *)call->array[ARRAY_dout].at + b * call->array[ARRAY_dout].strides.batch + g
        * members * call->array[ARRAY_dout].strides.head;
    const int64_t dout_row = call->array[ARRAY_dout].strides.row;
    const int64_t dout_head = call->array[ARRAY_dout].strides.head;
    const float *const saved_solution = call->array[ARRAY_saved_solution].at ? (const float
        *)call->array[ARRAY_saved_solution].at + b * call->array[ARRAY_saved_solution].strides.batch + g *
        call->array[ARRAY_saved_solution].strides.head : NULL;
    const int64_t saved_solution_row = call->array[ARRAY_saved_solution].strides.row;
    float *const state = (float *)(void *)(work + 0); /* [f: 64, e: 64] */
    float *const query_sum = (float *)(void *)(work + 16384); /* [j: 32] */
    float *const query_features = (float *)(void *)(work + 16512); /* [d: 64, j: 32] */
    float *const query_scale = (float *)(void *)(work + 24704); /* [j: 32] */
    float *const query_features_2 = (float *)(void *)(work + 24832); /* [e: 64, j: 32] */
    float *const score = (float *)(void *)(work + 33024); /* [j: 32, t_key: 32] */
    float *const weight_2 = (float *)(void *)(work + 37120); /* [j: 32, t_key: 32] */
    float *const query = (float *)(void *)(work + 41216); /* [f: 64, j: 32] */
    float *const sum_from_state = (float *)(void *)(work + 49408); /* [j: 32, e: 64] */
    float *const query_scale_2 = (float *)(void *)(work + 57600); /* [t_key: 32] */
    float *const query_features_4 = (float *)(void *)(work + 57728); /* [f: 64, t_key: 32] */
    float *const query_2 = (float *)(void *)(work + 65920); /* [f: 64, j: 32] */
    float *const query_3 = (float *)(void *)(work + 74112); /* [f: 64, j: 32] */
    float *const query_sum_3 = (float *)(void *)(work + 82304); /* [j: 32] */
    float *const kept_share = (float *)(void *)(work + 41216); /* [f: 64] */
    float *const lost_share = (float *)(void *)(work + 41472); /* [f: 64] */
    float *const query_sum_4 = (float *)(void *)(work + 41216); /* [i: 32] */
    float *const score_2 = (float *)(void *)(work + 41344); /* [i: 32, j: 32] */
    float *const weight_3 = (float *)(void *)(work + 65920); /* [i: 32, j: 32] */
    float *const score_3 = (float *)(void *)(work + 70016); /* [j: 32, i: 32] */
    float *const sum = (float *)(void *)(work + 82432); /* [j: 32, e: 64] */
    float *const query_features_6 = (float *)(void *)(work + 90624); /* [f: 64, i: 32] */
    float *const sum_2 = (float *)(void *)(work + 98816); /* [d: 64, j: 32] */
    float *const row_sum = (float *)(void *)(work + 45440); /* [j: 32] */
    float *const corrected = (float *)(void *)(work + 45568); /* [t_key: 32, e: 64] */
    float *const linear_part_1 = call->array[ARRAY_linear_part_1].at ? (float *)call->array[ARRAY_linear_part_1].at + b
        * call->array[ARRAY_linear_part_1].strides.batch + g * call->array[ARRAY_linear_part_1].strides.head : NULL;
    const int64_t linear_part_1_row = call->array[ARRAY_linear_part_1].strides.row;
    float *const key_2 = (float *)(void *)(work + 37120); /* [t_key: 32, e: 64] */
    float *const key_3 = (float *)(void *)(work + 65920); /* [j: 32, e: 64] */
    float *const dv = call->array[ARRAY_dv].at ? (float *)call->array[ARRAY_dv].at + b *
        call->array[ARRAY_dv].strides.batch + g * call->array[ARRAY_dv].strides.head : NULL;
    const int64_t dv_row = call->array[ARRAY_dv].strides.row;
    float *const query_4 = (float *)(void *)(work + 24704); /* [t_key: 32] */
    float *const query_scale_3 = (float *)(void *)(work + 45312); /* [j: 32] */
    float *const dbeta_array = call->array[ARRAY_dbeta_array].at ? (float *)call->array[ARRAY_dbeta_array].at + (b *
        kv_heads + g) * members * n_k : NULL;
    float *const score_4 = (float *)(void *)(work + 45568); /* [t_key: 32, j: 32] */
    float *const weight_6 = (float *)(void *)(work + 24704); /* [t_key: 32, j: 32] */
    float *const sum_3 = (float *)(void *)(work + 65920); /* [d: 64, t_key: 32] */
    float *const weight_6_turned = (float *)(void *)(work + 28800); /* [j: 32, t_key: 32] */
    float *const linear_part_2 = call->array[ARRAY_linear_part_2].at ? (float *)call->array[ARRAY_linear_part_2].at + b
        * call->array[ARRAY_linear_part_2].strides.batch + g * call->array[ARRAY_linear_part_2].strides.head : NULL;
    const int64_t linear_part_2_row = call->array[ARRAY_linear_part_2].strides.row;
    float *const sum_4 = (float *)(void *)(work + 65920); /* [d: 64, j: 32] */
    float *const query_sum_5 = (float *)(void *)(work + 16512); /* [j: 32] */
    float *const linear_part_3 = call->array[ARRAY_linear_part_3].at ? (float *)call->array[ARRAY_linear_part_3].at + b
        * call->array[ARRAY_linear_part_3].strides.batch + g * call->array[ARRAY_linear_part_3].strides.head : NULL;
    const int64_t linear_part_3_row = call->array[ARRAY_linear_part_3].strides.row;
    float *const row_sum_2 = (float *)(void *)(work + 16384); /* [t_key: 32] */
    float *const linear_part_4 = call->array[ARRAY_linear_part_4].at ? (float *)call->array[ARRAY_linear_part_4].at + (b
        * kv_heads + g) * n_k : NULL;
    float *const row_sum_3 = (float *)(void *)(work + 16384); /* [j: 32] */
    float *const linear_part_5 = call->array[ARRAY_linear_part_5].at ? (float *)call->array[ARRAY_linear_part_5].at + (b
        * kv_heads + g) * n_k : NULL;
    float *const k_tile = (float *)(void *)(work + 107008); /* [d: 64, j: 32] */
    float *const beta_tile = (float *)(void *)(work + 115200); /* [j: 32] */
    float *const saved_solution_tile = (float *)(void *)(work + 115328); /* [e: 64, j: 32] */
    float *const log_decay_k_tile_2 = (float *)(void *)(work + 123520); /* [j: 32] */
    float *const log_decay_k_low_tile_2 = (float *)(void *)(work + 123648); /* [j: 32] */
    float *const q_tile = (float *)(void *)(work + 123776); /* [d: 64, i: 32] */
    float *const log_decay_q_tile = (float *)(void *)(work + 45568); /* [i: 32] */
    float *const log_decay_q_low_tile = (float *)(void *)(work + 45696); /* [i: 32] */
    float *const weight_4_turned = (float *)(void *)(work + 65920); /* [i: 32, j: 32] */
    float *const corrected_turned = (float *)(void *)(work + 65920); /* [e: 64, t_key: 32] */
    float *const score_4_turned = (float *)(void *)(work + 16512); /* [j: 32, t_key: 32] */
    float *const weight_turned = (float *)(void *)(work + 16512); /* [t_key: 32, j: 32] */
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
            for (int64_t j0 = (chunks - chunk - 1) * 32, j_end = min(((chunks - chunk - 1) * 32) + 32, n_k); j0 < j_end;
                j0 += 32) {
                const int64_t j1 = min(j0 + 32, j_end);
                /* k_tile = k, with zeros beyond the last row */
                T(transpose_padded)(k + j0 * k_row, k_row, j1 - j0, 64, k_tile, 32, -32);
                if (beta_array_row == 1) {
                    /* beta_tile = beta_array, with zeros beyond the last row */
                    for (int64_t j = 0; j < round_up(j1 - j0, LANES); j++)
                        beta_tile[j] = j < j1 - j0 ? beta_array[(j0 + j)] : 0;
                } else {
                    /* beta_tile = beta_array, with zeros beyond the last row */
                    for (int64_t j = 0; j < round_up(j1 - j0, LANES); j++)
                        beta_tile[j] = j < j1 - j0 ? beta_array[(j0 + j) * beta_array_row] : 0;
                }
                if (dbeta_array || linear_part_2 || linear_part_3 || linear_part_4 || linear_part_5) {
                    /* saved_solution_tile = saved_solution, with zeros beyond the last row */
                    T(transpose_padded)(saved_solution + j0 * saved_solution_row, saved_solution_row, j1 - j0, 64,
                        saved_solution_tile, 32, -32);
                }
                /* log_decay_k_tile_2 = log_decay_k, with zeros beyond the last row */
                for (int64_t j = 0; j < round_up(j1 - j0, LANES); j++)
                    log_decay_k_tile_2[j] = j < j1 - j0 ? log_decay_k[(j0 + j)] : 0;
                /* log_decay_k_low_tile_2 = log_decay_k_low, with zeros beyond the last row */
                for (int64_t j = 0; j < round_up(j1 - j0, LANES); j++)
                    log_decay_k_low_tile_2[j] = j < j1 - j0 ? log_decay_k_low[(j0 + j)] : 0;
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
                    /* query_scale = beta_tile */
                    for (int64_t j = 0; j < j1 - j0; j += LANES) {
                        T(store)(query_scale + j, T(load)(beta_tile + j));
                    }
                    if (linear_part_2 || linear_part_3 || linear_part_4 || linear_part_5) {
                        /* query_features_2 = saved_solution_tile * query_scale */
                        for (int64_t j = 0; j < j1 - j0; j += LANES) {
                            const T(vec) query_scale_4 = T(load)(query_scale + j);
                            for (int64_t e = 0; e < 64; e++) {
                                T(store)(query_features_2 + e * 32 + j, T(load)(saved_solution_tile + e * 32 + j) *
                                    query_scale_4);
                            }
                        }
                    }
                    /* score[j][t_key] = sum over d of query_features * query_features */
                    T(dot0)(round_up(t_key1 - t_key0, LANES), j1 - j0, query_features, query_features, score);
                    /* score = score * exp2(((log_decay_k_tile_2 - log_decay_k) + (log_decay_k_low_tile_2 -
                       log_decay_k_low)) * 1.442695f); weight_2 =  ... */
                    for (int64_t t_key = 0; t_key < t_key1 - t_key0; t_key += LANES) {
                        const T(vec) log_decay_k_tile_2_6 = T(load)(log_decay_k_tile_2 + ((t_key0 + t_key) - j0));
                        const T(vec) log_decay_k_low_tile_2_7 = T(load)(log_decay_k_low_tile_2 + ((t_key0 + t_key) -
                            j0));
                        const T(vec) query_scale_9 = T(load)(query_scale + ((t_key0 + t_key) - j0));
                        for (int64_t j = 0; j < j1 - j0; j++) {
                            const T(vec) score_5 = T(load)(score + j * 32 + t_key);
                            const T(vec) score_new8 = score_5 * T(exp2)(((log_decay_k_tile_2_6 - log_decay_k[(j0 + j)])
                                + (log_decay_k_low_tile_2_7 - log_decay_k_low[(j0 + j)])) * 1.442695f);
                            T(store)(score + j * 32 + t_key, score_new8);
                            T(store)(weight_2 + j * 32 + t_key, score_new8 * query_scale_9);
                        }
                    }
                    /* query = query_features * exp2(((log_decay_chunk - log_decay_k_tile_2) + (log_decay_chunk_low -
                       log_decay_k_low_tile_2)) * 1.442695f) */
                    const float log_decay_chunk_10 = log_decay_chunk[max(min((((j0 / 32) + 1) * 32) - 1, n_k - 1), 0)];
                    const float log_decay_chunk_low_11 = log_decay_chunk_low[max(min((((j0 / 32) + 1) * 32) - 1,
                        n_k - 1), 0)];
                    for (int64_t j = 0; j < j1 - j0; j += LANES) {
                        const T(vec) t_12 = T(exp2)(((log_decay_chunk_10 - T(load)(log_decay_k_tile_2 + j)) +
                            (log_decay_chunk_low_11 - T(load)(log_decay_k_low_tile_2 + j))) * 1.442695f);
                        for (int64_t f = 0; f < 64; f++) {
                            T(store)(query + f * 32 + j, T(load)(query_features + f * 32 + j) * t_12);
                        }
                    }
                    /* sum_from_state[j][e] = sum over f of query * state */
                    T(dot6)(j1 - j0, query, state, sum_from_state);
                    /* query_scale_2 = 1.0f */
                    for (int64_t t_key = 0; t_key < t_key1 - t_key0; t_key += LANES) {
                        T(store)(query_scale_2 + t_key, T(splat)(1.0f));
                    }
                    /* query_features_4 = (query_features * select((lo() / 32) == 0, 1.0f,
                       exp2(((log_decay_k_tile_2 - log_decay_chunk) + (log_decay_k_ ... */
                    const int t_13 = (j0 / 32) == 0;
                    const float log_decay_chunk_14 = log_decay_chunk[max(min(j0 - 1, n_k - 1), 0)];
                    const float log_decay_chunk_low_15 = log_decay_chunk_low[max(min(j0 - 1, n_k - 1), 0)];
                    const float t_17 = exp2f(((log_decay_chunk_14 - log_decay_chunk[max(min(j0 - 1, n_k - 1),
                        0)]) + (log_decay_chunk_low_15 - log_decay_chunk_low[max(min(j0 - 1, n_k - 1),
                        0)])) * 1.442695f);
                    for (int64_t t_key = 0; t_key < t_key1 - t_key0; t_key += LANES) {
                        const T(vec) t_16 = t_13 ? T(splat)(1.0f) : T(exp2)(((T(load)(log_decay_k_tile_2 + ((t_key0 +
                            t_key) - j0)) - log_decay_chunk_14) + (T(load)(log_decay_k_low_tile_2 + ((t_key0 + t_key) -
                            j0)) - log_decay_chunk_low_15)) * 1.442695f);
                        for (int64_t f = 0; f < 64; f++) {
                            T(store)(query_features_4 + f * 32 + t_key, (T(load)(query_features + f * 32 + ((t_key0 +
                                t_key) - j0)) * t_16) * t_17);
                        }
                    }
                    if (linear_part_3 || linear_part_5) {
                        /* query_2[f][j] = sum over e of state * query_features_2 */
                        T(dot7)(round_up(j1 - j0, LANES), state, query_features_2, query_2,
                            (const struct coming[]){{q + m * q_head + (((j0 / 32) == 0) ? 0 : max(0,
                            j0 - query_start)) * q_row, 4 * q_row, 256}, {dout + m * dout_head + (((j0 / 32) == 0) ? 0 :
                            max(0, j0 - query_start)) * dout_row, 4 * dout_row, 256}});
                    }
                    if (linear_part_5) {
                        /* query_sum_3 = 0.0f */
                        for (int64_t j = 0; j < j1 - j0; j += LANES) {
                            T(store)(query_sum_3 + j, T(splat)(0.0f));
                        }
                    }
                    if (linear_part_3 || linear_part_5) {
                        /* query_3 = query_2 * exp2(((log_decay_chunk - log_decay_k_tile_2) + (log_decay_chunk_low -
                           log_decay_k_low_tile_2)) * 1.442695f); ... */
                        const float log_decay_chunk_19 = log_decay_chunk[max(min((((j0 / 32) + 1) * 32) - 1, n_k - 1),
                            0)];
                        const float log_decay_chunk_low_20 = log_decay_chunk_low[max(min((((j0 / 32) + 1) * 32) - 1,
                            n_k - 1), 0)];
                        for (int64_t j = 0; j < j1 - j0; j += LANES) {
                            const T(vec) t_21 = T(exp2)(((log_decay_chunk_19 - T(load)(log_decay_k_tile_2 + j)) +
                                (log_decay_chunk_low_20 - T(load)(log_decay_k_low_tile_2 + j))) * 1.442695f);
                            T(vec) query_sum_3_in = (T(vec)){0};
                            for (int64_t f = 0; f < 64; f++) {
                                const T(vec) query_2_18 = T(load)(query_2 + f * 32 + j);
                                T(store)(query_3 + f * 32 + j, query_2_18 * t_21);
                                query_sum_3_in += query_2_18 * (-T(load)(query + f * 32 + j));
                            }
                            T(store)(query_sum_3 + j, T(load)(query_sum_3 + j) + query_sum_3_in);
                        }
                    }
                    /* kept_share = select(exp2(((log_decay_chunk - log_decay_chunk) + (log_decay_chunk_low -
                       log_decay_chunk_low)) * 1.442695f) < 0.5f ... */
                    const float t_22 = (log_decay_chunk[max(min((((j0 / 32) + 1) * 32) - 1, n_k - 1),
                        0)] - log_decay_chunk[max(min(j0 - 1, n_k - 1), 0)]) + (log_decay_chunk_low[max(min((((j0 / 32)
                        + 1) * 32) - 1, n_k - 1), 0)] - log_decay_chunk_low[max(min(j0 - 1, n_k - 1), 0)]);
                    const float t_23 = exp2f(t_22 * 1.442695f);
                    const int t_24 = t_23 < 0.5f;
                    const float t_25 = t_24 ? t_23 : 1.0f;
                    const float t_26 = t_24 ? 0.0f : (-expm1f(t_22));
                    for (int64_t f = 0; f < 64; f += LANES) {
                        T(store)(kept_share + f, T(splat)(t_25));
                        T(store)(lost_share + f, T(splat)(t_26));
                    }
                    /* state = (state * kept_share) - (state * lost_share) */
                    for (int64_t f = 0; f < 64; f++) {
                        for (int64_t e_first = 0; e_first < 64; e_first += OF(64, 16, 8)) {
                            UNROLL for (int64_t vector = 0, e = e_first; vector < OF(4, 2, 2); vector++, e += LANES) {
                                const T(vec) state_27 = T(load)(state + f * 64 + e);
                                T(store)(state + f * 64 + e, (state_27 * kept_share[f]) - (state_27 * lost_share[f]));
                            }
                        }
                    }
                    /* sum = 0.0f */
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        for (int64_t e_first = 0; e_first < 64; e_first += OF(64, 16, 8)) {
                            UNROLL for (int64_t vector = 0, e = e_first; vector < OF(4, 2, 2); vector++, e += LANES) {
                                T(store)(sum + j * 64 + e, T(splat)(0.0f));
                            }
                        }
                    }
                    if (linear_part_3) {
                        /* sum_2 = 0.0f */
                        for (int64_t d = 0; d < 64; d++) {
                            for (int64_t j = 0; j < j1 - j0; j += LANES) {
                                T(store)(sum_2 + d * 32 + j, T(splat)(0.0f));
                            }
                        }
                    }
                    if (linear_part_5) {
                        /* row_sum = 0.0f */
                        for (int64_t j = 0; j < j1 - j0; j += LANES) {
                            T(store)(row_sum + j, T(splat)(0.0f));
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
                        /* query_sum_4 = 0.0f */
                        for (int64_t i = 0; i < i1 - i0; i += LANES) {
                            T(store)(query_sum_4 + i, T(splat)(0.0f));
                        }
                        /* query_sum_4 += q_tile * q_tile */
                        for (int64_t i_first = 0; i_first < i1 - i0; i_first += (2 * LANES)) {
                            T(vec) query_sum_4_in[2];
                            UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += LANES) {
                                query_sum_4_in[vector] = (T(vec)){0};
                            }
                            for (int64_t d = 0; d < 64; d++) {
                                UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += LANES) {
                                    const T(vec) q_tile_28 = T(load)(q_tile + d * 32 + i);
                                    query_sum_4_in[vector] += q_tile_28 * q_tile_28;
                                }
                            }
                            UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += LANES) {
                                T(store)(query_sum_4 + i, T(load)(query_sum_4 + i) + query_sum_4_in[vector]);
                            }
                        }
                        if (linear_part_3 || linear_part_5) {
                            /* score_2[i][j] = sum over e of dout * query_features_2 */
                            T(dot8)(round_up(j1 - j0, LANES), i1 - i0, dout + m * dout_head + i0 * dout_row, dout_row,
                                query_features_2, score_2);
                        }
                        if (linear_part_3) {
                            /* weight_3 = score_2 * exp2(((log_decay_q - log_decay_k_tile_2) + (log_decay_q_low -
                               log_decay_k_low_tile_2)) * 1.442695f) */
                            for (int64_t j = 0; j < j1 - j0; j += LANES) {
                                const T(vec) log_decay_k_tile_2_29 = T(load)(log_decay_k_tile_2 + j);
                                const T(vec) log_decay_k_low_tile_2_30 = T(load)(log_decay_k_low_tile_2 + j);
                                for (int64_t i = 0; i < i1 - i0; i++) {
                                    T(store)(weight_3 + i * 32 + j, T(load)(score_2 + i * 32 + j) *
                                        T(exp2)((((log_decay_q[m * log_decay_q_head + (i0 + i)]) -
                                        log_decay_k_tile_2_29) + ((log_decay_q_low[m * log_decay_q_low_head + (i0 + i)])
                                        - log_decay_k_low_tile_2_30)) * 1.442695f));
                                }
                            }
                        }
                        /* q_tile = (q_tile * select(query_sum_4 == 0.0f, 0.0f, 1.0f / sqrt(query_sum_4))) * 0.125f */
                        for (int64_t i = 0; i < i1 - i0; i += LANES) {
                            const T(vec) query_sum_4_31 = T(load)(query_sum_4 + i);
                            const T(vec) t_32 = T(pick)(query_sum_4_31 == 0.0f, T(splat)(0.0f),
                                1.0f / T(sqrt)(query_sum_4_31));
                            for (int64_t d = 0; d < 64; d++) {
                                T(store)(q_tile + d * 32 + i, (T(load)(q_tile + d * 32 + i) * t_32) * 0.125f);
                            }
                        }
                        /* score_3[j][i] = sum over d of query_features * q_tile */
                        T(dot0)(round_up(i1 - i0, LANES), j1 - j0, query_features, q_tile, score_3);
                        /* score_3 = score_3 * exp2(((log_decay_q_tile - log_decay_k) + (log_decay_q_low_tile -
                           log_decay_k_low)) * 1.442695f) */
                        for (int64_t i = 0; i < i1 - i0; i += LANES) {
                            const T(vec) log_decay_q_tile_33 = T(load)(log_decay_q_tile + i);
                            const T(vec) log_decay_q_low_tile_34 = T(load)(log_decay_q_low_tile + i);
                            for (int64_t j = 0; j < j1 - j0; j++) {
                                T(store)(score_3 + j * 32 + i, T(load)(score_3 + j * 32 + i) *
                                    T(exp2)(((log_decay_q_tile_33 - log_decay_k[(j0 + j)]) + (log_decay_q_low_tile_34 -
                                    log_decay_k_low[(j0 + j)])) * 1.442695f));
                            }
                        }
                        /* score_3 = select(j <= (i + query_start), score_3, 0.0f) */
                        for (int64_t i = 0; i < i1 - i0; i += LANES) {
                            const T(ints) t_35 = (i0 + i + T(lane)) + query_start;
                            for (int64_t j = 0; j < j1 - j0; j++) {
                                T(store)(score_3 + j * 32 + i, T(pick)(__builtin_convertvector((j0 + j) <= t_35,
                                    T(mask)), T(load)(score_3 + j * 32 + i), T(splat)(0.0f)));
                            }
                        }
                        /* sum[j][e] += sum over i of score_3 * dout */
                        if (__builtin_expect(!T(finite)(dout + m * dout_head + i0 * dout_row, dout_row, i1 - i0, 64),
                            0)) { /* infinity and NaN affect only queries that see them */
                            T(dot9)(j1 - j0, i1 - i0, score_3, dout + m * dout_head + i0 * dout_row, dout_row, sum);
                            for (int64_t j = 0; j < j1 - j0; j++) {
                                T(mask) in_region[OF(2, 4, 8)] = {0};
                                for (int64_t i = 0; i < i1 - i0; i += LANES) {
                                    in_region[i / LANES] = __builtin_convertvector((j0 + j) <= ((i0 + i + T(lane)) +
                                        query_start), T(mask));
                                }
                                T(add_seen_lanes)(64, sum + j * 64, score_3 + j * 32,
                                    dout + m * dout_head + i0 * dout_row, dout_row, i1 - i0, in_region);
                            }
                        } else
                            T(dot10)(j1 - j0, i1 - i0, score_3, dout + m * dout_head + i0 * dout_row, dout_row, sum);
                        /* query_features_6 = (q_tile * select((lo() / 32) == 0, 1.0f,
                           exp2(((log_decay_q_tile - log_decay_chunk) + (log_decay_q_low_tile - ... */
                        const int t_36 = (j0 / 32) == 0;
                        const float log_decay_chunk_37 = log_decay_chunk[max(min(j0 - 1, n_k - 1), 0)];
                        const float log_decay_chunk_low_38 = log_decay_chunk_low[max(min(j0 - 1, n_k - 1), 0)];
                        const float t_40 = exp2f(((log_decay_chunk_37 - log_decay_chunk[max(min(j0 - 1, n_k - 1),
                            0)]) + (log_decay_chunk_low_38 - log_decay_chunk_low[max(min(j0 - 1, n_k - 1),
                            0)])) * 1.442695f);
                        for (int64_t i = 0; i < i1 - i0; i += LANES) {
                            const T(vec) t_39 = t_36 ? T(splat)(1.0f) : T(exp2)(((T(load)(log_decay_q_tile + i) -
                                log_decay_chunk_37) + (T(load)(log_decay_q_low_tile + i) - log_decay_chunk_low_38)) *
                                1.442695f);
                            for (int64_t f = 0; f < 64; f++) {
                                T(store)(query_features_6 + f * 32 + i, (T(load)(q_tile + f * 32 + i) * t_39) * t_40);
                            }
                        }
                        /* state[f][e] += sum over i of query_features_6 * dout */
                        T(dot11)(i1 - i0, query_features_6, dout + m * dout_head + i0 * dout_row, dout_row, state);
                        if (linear_part_3) {
                            /* weight_3 = select(j <= (i + query_start), weight_3, 0.0f) */
                            for (int64_t j = 0; j < j1 - j0; j += LANES) {
                                const T(ints) t_41 = j0 + j + T(lane);
                                for (int64_t i = 0; i < i1 - i0; i++) {
                                    T(store)(weight_3 + i * 32 + j, T(pick)(__builtin_convertvector(t_41 <= ((i0 + i) +
                                        query_start), T(mask)), T(load)(weight_3 + i * 32 + j), T(splat)(0.0f)));
                                }
                            }
                            /* sum_2[d][j] += sum over i of q_tile * weight_3 */
                            if (__builtin_expect(!T(finite)(q_tile, 32, 64, i1 - i0),
                                0)) { /* infinity and NaN affect only queries that see them */
                                T(dot12)(round_up(j1 - j0, LANES), i1 - i0, q_tile, weight_3, sum_2);
                                for (int64_t i = 0; i < i1 - i0; i++) {
                                    T(mask) in_region[OF(2, 4, 8)] = {0};
                                    if (T(finite)(q_tile + i * 1, 32, 64, 1)) continue;
                                    const int64_t t_42 = (i0 + i) + query_start;
                                    for (int64_t j = 0; j < j1 - j0; j += LANES) {
                                        in_region[j / LANES] = __builtin_convertvector((j0 + j + T(lane)) <= t_42,
                                            T(mask));
                                    }
                                    T(add_seen)(64, sum_2, 32, q_tile + i * 1, 32, weight_3 + i * 32, in_region,
                                        j1 - j0);
                                }
                            } else
                                T(dot13)(round_up(j1 - j0, LANES), i1 - i0, q_tile, weight_3, sum_2);
                        }
                        if (linear_part_5) {
                            /* weight_4_turned = score_3, with zeros beyond the last row */
                            T(transpose_padded)(score_3, 32, j1 - j0, i1 - i0, weight_4_turned, 32, -32);
                            /* weight_4_turned = score_2 * neg(weight_4_turned) */
                            for (int64_t i = 0; i < i1 - i0; i++) {
                                for (int64_t j = 0; j < j1 - j0; j += LANES) {
                                    T(store)(weight_4_turned + i * 32 + j, T(load)(score_2 + i * 32 + j) *
                                        (-T(load)(weight_4_turned + i * 32 + j)));
                                }
                            }
                            /* weight_4_turned = select(j <= (i + query_start), weight_4_turned, 0.0f);
                               row_sum += weight_4_turned */
                            for (int64_t j = 0; j < j1 - j0; j += LANES) {
                                const T(ints) t_43 = j0 + j + T(lane);
                                T(vec) row_sum_in = (T(vec)){0};
                                for (int64_t i = 0; i < i1 - i0; i++) {
                                    const T(vec) weight_4_turned_44 = T(load)(weight_4_turned + i * 32 + j);
                                    const T(vec) weight_4_turned_new45 = T(pick)(__builtin_convertvector(t_43 <= ((i0 +
                                        i) + query_start), T(mask)), weight_4_turned_44, T(splat)(0.0f));
                                    T(store)(weight_4_turned + i * 32 + j, weight_4_turned_new45);
                                    row_sum_in += weight_4_turned_new45;
                                }
                                T(store)(row_sum + j, T(load)(row_sum + j) + row_sum_in);
                            }
                        }
                    }
                    /* sum = sum + sum_from_state */
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        for (int64_t e_first = 0; e_first < 64; e_first += OF(64, 16, 8)) {
                            UNROLL for (int64_t vector = 0, e = e_first; vector < OF(4, 2, 2); vector++, e += LANES) {
                                T(store)(sum + j * 64 + e, T(load)(sum + j * 64 + e) + T(load)(sum_from_state + j * 64 +
                                    e));
                            }
                        }
                    }
                    /* corrected[j][e] = query_scale_2[j] * (sum[j][e] - sum over t_key > j of weight_2 *
                       corrected[t_key][e]) */
                    T(dot14)(j1 - j0, weight_2 + (j1 - j0 - 1) * (32 + 1), -(32), -(1),
                        query_scale_2 + (j1 - j0 - 1) * (1), -(1), sum + (j1 - j0 - 1) * (64), -(64),
                        corrected + (j1 - j0 - 1) * (64), -(64));
                    if (linear_part_1) {
                        /* linear_part_1 = corrected */
                        for (int64_t t_key = 0; t_key < t_key1 - t_key0; t_key++)
                            for (int64_t e = 0; e < 64; e++)
                                linear_part_1[(t_key0 + t_key) * linear_part_1_row + e] = corrected[t_key * 64 + e];
                    }
                    /* key_2 = corrected * query_scale */
                    for (int64_t t_key = 0; t_key < t_key1 - t_key0; t_key++) {
                        for (int64_t e_first = 0; e_first < 64; e_first += OF(64, 16, 8)) {
                            UNROLL for (int64_t vector = 0, e = e_first; vector < OF(4, 2, 2); vector++, e += LANES) {
                                T(store)(key_2 + t_key * 64 + e, T(load)(corrected + t_key * 64 + e) *
                                    query_scale[((t_key0 + t_key) - j0)]);
                            }
                        }
                    }
                    if (dv) {
                        /* key_3 = key_2 */
                        for (int64_t j = 0; j < j1 - j0; j++) {
                            for (int64_t e_first = 0; e_first < 64; e_first += OF(64, 16, 8)) {
                                UNROLL for (int64_t vector = 0, e = e_first; vector < OF(4, 2, 2); vector++,
                                    e += LANES) {
                                    T(store)(key_3 + j * 64 + e, T(load)(key_2 + ((j0 + j) - t_key0) * 64 + e));
                                }
                            }
                        }
                        /* dv = key_3 */
                        for (int64_t j = 0; j < j1 - j0; j++)
                            for (int64_t e = 0; e < 64; e++)
                                dv[(j0 + j) * dv_row + e] = key_3[j * 64 + e];
                    }
                    if (dbeta_array) {
                        /* query_4 = 0.0f */
                        for (int64_t t_key = 0; t_key < t_key1 - t_key0; t_key += LANES) {
                            T(store)(query_4 + t_key, T(splat)(0.0f));
                        }
                        /* corrected_turned = corrected, with zeros beyond the last row */
                        T(transpose_padded)(corrected, 64, t_key1 - t_key0, 64, corrected_turned, 32, -32);
                        /* query_4 += corrected_turned * saved_solution_tile */
                        for (int64_t t_key_first = 0; t_key_first < t_key1 - t_key0; t_key_first += (2 * LANES)) {
                            T(vec) query_4_in[2];
                            UNROLL for (int64_t vector = 0, t_key = t_key_first; vector < 2; vector++, t_key += LANES) {
                                query_4_in[vector] = (T(vec)){0};
                            }
                            for (int64_t e = 0; e < 64; e++) {
                                UNROLL for (int64_t vector = 0, t_key = t_key_first; vector < 2; vector++,
                                    t_key += LANES) {
                                    query_4_in[vector] += T(load)(corrected_turned + e * 32 + t_key) *
                                        T(load)(saved_solution_tile + e * 32 + ((t_key0 + t_key) - j0));
                                }
                            }
                            UNROLL for (int64_t vector = 0, t_key = t_key_first; vector < 2; vector++, t_key += LANES) {
                                T(store)(query_4 + t_key, T(load)(query_4 + t_key) + query_4_in[vector]);
                            }
                        }
                        /* query_scale_3 = select(m == 0, query_4, 0.0f) */
                        const int t_46 = m == 0;
                        for (int64_t j = 0; j < j1 - j0; j += LANES) {
                            T(store)(query_scale_3 + j, t_46 ? T(load)(query_4 + ((j0 + j) - t_key0)) : T(splat)(0.0f));
                        }
                        /* dbeta_array = query_scale_3 */
                        for (int64_t j = 0; j < j1 - j0; j++)
                            dbeta_array[m * n_k + (j0 + j)] = query_scale_3[j];
                    }
                    /* key_2 = 0.0f - key_2 */
                    for (int64_t t_key = 0; t_key < t_key1 - t_key0; t_key++) {
                        for (int64_t e_first = 0; e_first < 64; e_first += OF(64, 16, 8)) {
                            UNROLL for (int64_t vector = 0, e = e_first; vector < OF(4, 2, 2); vector++, e += LANES) {
                                T(store)(key_2 + t_key * 64 + e, 0.0f - T(load)(key_2 + t_key * 64 + e));
                            }
                        }
                    }
                    if (linear_part_2 || linear_part_3 || linear_part_4 || linear_part_5) {
                        /* score_4[t_key][j] = sum over e of key_2 * query_features_2 */
                        T(dot15)(round_up(j1 - j0, LANES), t_key1 - t_key0, key_2, query_features_2, score_4);
                    }
                    if (linear_part_2 || linear_part_3) {
                        /* weight_6 = score_4 * exp2(((log_decay_k - log_decay_k_tile_2) + (log_decay_k_low -
                           log_decay_k_low_tile_2)) * 1.442695f) */
                        for (int64_t j = 0; j < j1 - j0; j += LANES) {
                            const T(vec) log_decay_k_tile_2_47 = T(load)(log_decay_k_tile_2 + j);
                            const T(vec) log_decay_k_low_tile_2_48 = T(load)(log_decay_k_low_tile_2 + j);
                            for (int64_t t_key = 0; t_key < t_key1 - t_key0; t_key++) {
                                T(store)(weight_6 + t_key * 32 + j, T(load)(score_4 + t_key * 32 + j) *
                                    T(exp2)(((log_decay_k[(t_key0 + t_key)] - log_decay_k_tile_2_47) +
                                    (log_decay_k_low[(t_key0 + t_key)] - log_decay_k_low_tile_2_48)) * 1.442695f));
                            }
                        }
                        /* weight_6 = select(j < t_key, weight_6, 0.0f) */
                        for (int64_t j = 0; j < j1 - j0; j += LANES) {
                            const T(ints) t_49 = j0 + j + T(lane);
                            for (int64_t t_key = 0; t_key < t_key1 - t_key0; t_key++) {
                                T(store)(weight_6 + t_key * 32 + j, T(pick)(__builtin_convertvector(t_49 < (t_key0 +
                                    t_key), T(mask)), T(load)(weight_6 + t_key * 32 + j), T(splat)(0.0f)));
                            }
                        }
                    }
                    if (linear_part_2) {
                        /* weight_6_turned = weight_6, with zeros beyond the last row */
                        T(transpose_padded)(weight_6, 32, t_key1 - t_key0, j1 - j0, weight_6_turned, 32, -32);
                        /* sum_3[d][t_key] = sum over j of query_features * weight_6_turned */
                        if (__builtin_expect(!T(finite)(query_features, 32, 64, j1 - j0),
                            0)) { /* infinity and NaN affect only queries that see them */
                            T(dot16)(round_up(t_key1 - t_key0, LANES), j1 - j0, query_features, weight_6_turned, sum_3);
                            for (int64_t j = 0; j < j1 - j0; j++) {
                                T(mask) in_region[OF(2, 4, 8)] = {0};
                                if (T(finite)(query_features + j * 1, 32, 64, 1)) continue;
                                for (int64_t t_key = 0; t_key < t_key1 - t_key0; t_key += LANES) {
                                    in_region[t_key / LANES] = __builtin_convertvector((j0 + j) < (t_key0 + t_key +
                                        T(lane)), T(mask));
                                }
                                T(add_seen)(64, sum_3, 32, query_features + j * 1, 32, weight_6_turned + j * 32,
                                    in_region, t_key1 - t_key0);
                            }
                        } else
                            T(dot17)(round_up(t_key1 - t_key0, LANES), j1 - j0, query_features, weight_6_turned, sum_3);
                        /* sum_3 = sum_3 */
                        for (int64_t d = 0; d < 64; d++) {
                            for (int64_t t_key = 0; t_key < t_key1 - t_key0; t_key += LANES) {
                                T(store)(sum_3 + d * 32 + t_key, T(load)(sum_3 + d * 32 + t_key));
                            }
                        }
                        /* linear_part_2 = sum_3, transposed back */
                        T(transpose_out)(sum_3, 32, 64, t_key1 - t_key0, linear_part_2 + t_key0 * linear_part_2_row,
                            linear_part_2_row, 0);
                    }
                    if (linear_part_3) {
                        /* sum_4[d][j] = sum over t_key of query_features * weight_6 */
                        if (__builtin_expect(!T(finite)(query_features, 32, 64, t_key1 - t_key0),
                            0)) { /* infinity and NaN affect only queries that see them */
                            T(dot16)(round_up(j1 - j0, LANES), t_key1 - t_key0, query_features, weight_6, sum_4);
                            for (int64_t t_key = 0; t_key < t_key1 - t_key0; t_key++) {
                                T(mask) in_region[OF(2, 4, 8)] = {0};
                                if (T(finite)(query_features + t_key * 1, 32, 64, 1)) continue;
                                for (int64_t j = 0; j < j1 - j0; j += LANES) {
                                    in_region[j / LANES] = __builtin_convertvector((j0 + j + T(lane)) < (t_key0 +
                                        t_key), T(mask));
                                }
                                T(add_seen)(64, sum_4, 32, query_features + t_key * 1, 32, weight_6 + t_key * 32,
                                    in_region, j1 - j0);
                            }
                        } else
                            T(dot17)(round_up(j1 - j0, LANES), t_key1 - t_key0, query_features, weight_6, sum_4);
                        /* query_sum_5 = 0.0f */
                        for (int64_t j = 0; j < j1 - j0; j += LANES) {
                            T(store)(query_sum_5 + j, T(splat)(0.0f));
                        }
                        /* sum_2 = (query_3 + sum_2) + sum_4; query_sum_5 += sum_2 * (k_tile * select(query_sum == 0.0f,
                           0.0f, neg((1.0f / sqrt(query_sum)) ... */
                        for (int64_t j = 0; j < j1 - j0; j += LANES) {
                            const T(vec) query_sum_52 = T(load)(query_sum + j);
                            const T(vec) t_53 = T(sqrt)(query_sum_52);
                            const T(vec) t_54 = T(pick)(query_sum_52 == 0.0f, T(splat)(0.0f),
                                (-((1.0f / t_53) * (0.5f / t_53))) / t_53);
                            T(vec) query_sum_5_in = (T(vec)){0};
                            for (int64_t d = 0; d < 64; d++) {
                                const T(vec) sum_2_50 = T(load)(sum_2 + d * 32 + j);
                                const T(vec) sum_2_new51 = (T(load)(query_3 + d * 32 + j) + sum_2_50) + T(load)(sum_4 +
                                    d * 32 + j);
                                T(store)(sum_2 + d * 32 + j, sum_2_new51);
                                query_sum_5_in += sum_2_new51 * (T(load)(k_tile + d * 32 + j) * t_54);
                            }
                            T(store)(query_sum_5 + j, T(load)(query_sum_5 + j) + query_sum_5_in);
                        }
                        /* sum_2 = (sum_2 * select(query_sum == 0.0f, 0.0f,
                           1.0f / sqrt(query_sum))) + (query_sum_5 * (k_tile * 2.0f)) */
                        for (int64_t j = 0; j < j1 - j0; j += LANES) {
                            const T(vec) query_sum_55 = T(load)(query_sum + j);
                            const T(vec) t_56 = T(pick)(query_sum_55 == 0.0f, T(splat)(0.0f),
                                1.0f / T(sqrt)(query_sum_55));
                            const T(vec) query_sum_5_57 = T(load)(query_sum_5 + j);
                            for (int64_t d = 0; d < 64; d++) {
                                T(store)(sum_2 + d * 32 + j, (T(load)(sum_2 + d * 32 + j) * t_56) + (query_sum_5_57 *
                                    (T(load)(k_tile + d * 32 + j) * 2.0f)));
                            }
                        }
                        /* linear_part_3 = sum_2, transposed back */
                        T(transpose_out)(sum_2, 32, 64, j1 - j0, linear_part_3 + j0 * linear_part_3_row,
                            linear_part_3_row, 0);
                    }
                    if (linear_part_4) {
                        /* score_4_turned = score_4, with zeros beyond the last row */
                        T(transpose_padded)(score_4, 32, t_key1 - t_key0, j1 - j0, score_4_turned, 32, -32);
                        /* score_4_turned = score_4_turned * score */
                        for (int64_t j = 0; j < j1 - j0; j++) {
                            for (int64_t t_key = 0; t_key < t_key1 - t_key0; t_key += LANES) {
                                T(store)(score_4_turned + j * 32 + t_key, T(load)(score_4_turned + j * 32 + t_key) *
                                    T(load)(score + j * 32 + t_key));
                            }
                        }
                        /* row_sum_2 = 0.0f */
                        for (int64_t t_key = 0; t_key < t_key1 - t_key0; t_key += LANES) {
                            T(store)(row_sum_2 + t_key, T(splat)(0.0f));
                        }
                        /* score_4_turned = select(j < t_key, score_4_turned, 0.0f); row_sum_2 += score_4_turned */
                        for (int64_t t_key = 0; t_key < t_key1 - t_key0; t_key += LANES) {
                            const T(ints) t_58 = t_key0 + t_key + T(lane);
                            T(vec) row_sum_2_in = (T(vec)){0};
                            for (int64_t j = 0; j < j1 - j0; j++) {
                                const T(vec) score_4_turned_59 = T(load)(score_4_turned + j * 32 + t_key);
                                const T(vec) score_4_turned_new60 = T(pick)(__builtin_convertvector((j0 + j) < t_58,
                                    T(mask)), score_4_turned_59, T(splat)(0.0f));
                                T(store)(score_4_turned + j * 32 + t_key, score_4_turned_new60);
                                row_sum_2_in += score_4_turned_new60;
                            }
                            T(store)(row_sum_2 + t_key, T(load)(row_sum_2 + t_key) + row_sum_2_in);
                        }
                        /* row_sum_2 = row_sum_2 */
                        for (int64_t t_key = 0; t_key < t_key1 - t_key0; t_key += LANES) {
                            T(store)(row_sum_2 + t_key, T(load)(row_sum_2 + t_key));
                        }
                        /* linear_part_4 = row_sum_2 */
                        for (int64_t t_key = 0; t_key < t_key1 - t_key0; t_key++)
                            linear_part_4[(t_key0 + t_key)] = row_sum_2[t_key];
                    }
                    if (linear_part_5) {
                        /* weight_turned = score, with zeros beyond the last row */
                        T(transpose_padded)(score, 32, j1 - j0, t_key1 - t_key0, weight_turned, 32, -32);
                        /* weight_turned = score_4 * neg(weight_turned) */
                        for (int64_t t_key = 0; t_key < t_key1 - t_key0; t_key++) {
                            for (int64_t j = 0; j < j1 - j0; j += LANES) {
                                T(store)(weight_turned + t_key * 32 + j, T(load)(score_4 + t_key * 32 + j) *
                                    (-T(load)(weight_turned + t_key * 32 + j)));
                            }
                        }
                        /* row_sum_3 = 0.0f */
                        for (int64_t j = 0; j < j1 - j0; j += LANES) {
                            T(store)(row_sum_3 + j, T(splat)(0.0f));
                        }
                        /* weight_turned = select(j < t_key, weight_turned, 0.0f); row_sum_3 += weight_turned */
                        for (int64_t j = 0; j < j1 - j0; j += LANES) {
                            const T(ints) t_61 = j0 + j + T(lane);
                            T(vec) row_sum_3_in = (T(vec)){0};
                            for (int64_t t_key = 0; t_key < t_key1 - t_key0; t_key++) {
                                const T(vec) weight_turned_62 = T(load)(weight_turned + t_key * 32 + j);
                                const T(vec) weight_turned_new63 = T(pick)(__builtin_convertvector(t_61 < (t_key0 +
                                    t_key), T(mask)), weight_turned_62, T(splat)(0.0f));
                                T(store)(weight_turned + t_key * 32 + j, weight_turned_new63);
                                row_sum_3_in += weight_turned_new63;
                            }
                            T(store)(row_sum_3 + j, T(load)(row_sum_3 + j) + row_sum_3_in);
                        }
                        /* row_sum = (row_sum + query_sum_3) + row_sum_3 */
                        for (int64_t j = 0; j < j1 - j0; j += LANES) {
                            T(store)(row_sum + j, (T(load)(row_sum + j) + T(load)(query_sum_3 + j)) + T(load)(row_sum_3
                                + j));
                        }
                        /* linear_part_5 = row_sum */
                        for (int64_t j = 0; j < j1 - j0; j++)
                            linear_part_5[(j0 + j)] = row_sum[j];
                    }
                    /* state[f][e] += sum over t_key of query_features_4 * key_2 */
                    T(dot18)(t_key1 - t_key0, query_features_4, key_2, state);
                }
            }
        }
    }
}

/* Computes task number `task`: one tile of queries of one head. `work` is this thread's workspace. */
TARGET static void T(gated_deltanet_linear_dq_dlog_decay_q_dk_dlog_decay_k)(const struct call *call, int64_t task,
    unsigned char *work)
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
    const float *const beta_array = (const float *)call->array[ARRAY_beta_array].at + b *
        call->array[ARRAY_beta_array].strides.batch + g * members * call->array[ARRAY_beta_array].strides.head;
    const int64_t beta_array_row = call->array[ARRAY_beta_array].strides.row;
    const float *const dout = (const float *)call->array[ARRAY_dout].at + b * call->array[ARRAY_dout].strides.batch + g
        * members * call->array[ARRAY_dout].strides.head;
    const int64_t dout_row = call->array[ARRAY_dout].strides.row;
    const int64_t dout_head = call->array[ARRAY_dout].strides.head;
    const float *const saved_solution = call->array[ARRAY_saved_solution].at ? (const float
        *)call->array[ARRAY_saved_solution].at + b * call->array[ARRAY_saved_solution].strides.batch + g *
        call->array[ARRAY_saved_solution].strides.head : NULL;
    const int64_t saved_solution_row = call->array[ARRAY_saved_solution].strides.row;
    const float *const linear_part_1 = call->array[ARRAY_linear_part_1].at ? (const float
        *)call->array[ARRAY_linear_part_1].at + b * call->array[ARRAY_linear_part_1].strides.batch + g *
        call->array[ARRAY_linear_part_1].strides.head : NULL;
    const int64_t linear_part_1_row = call->array[ARRAY_linear_part_1].strides.row;
    const float *const linear_part_2 = call->array[ARRAY_linear_part_2].at ? (const float
        *)call->array[ARRAY_linear_part_2].at + b * call->array[ARRAY_linear_part_2].strides.batch + g *
        call->array[ARRAY_linear_part_2].strides.head : NULL;
    const int64_t linear_part_2_row = call->array[ARRAY_linear_part_2].strides.row;
    const float *const linear_part_3 = call->array[ARRAY_linear_part_3].at ? (const float
        *)call->array[ARRAY_linear_part_3].at + b * call->array[ARRAY_linear_part_3].strides.batch + g *
        call->array[ARRAY_linear_part_3].strides.head : NULL;
    const int64_t linear_part_3_row = call->array[ARRAY_linear_part_3].strides.row;
    const float *const linear_part_4 = call->array[ARRAY_linear_part_4].at ? (const float
        *)call->array[ARRAY_linear_part_4].at + (b * kv_heads + g) * n_k : NULL;
    const float *const linear_part_5 = call->array[ARRAY_linear_part_5].at ? (const float
        *)call->array[ARRAY_linear_part_5].at + (b * kv_heads + g) * n_k : NULL;
    float *const state = (float *)(void *)(work + 0); /* [f: 64, e: 64] */
    float *const query_sum = (float *)(void *)(work + 16384); /* [j: 32] */
    float *const query_features = (float *)(void *)(work + 16512); /* [d: 64, j: 32] */
    float *const query_features_2 = (float *)(void *)(work + 24704); /* [f: 64, j: 32] */
    float *const query_scale = (float *)(void *)(work + 32896); /* [j: 32] */
    float *const key_features = (float *)(void *)(work + 33024); /* [j: 32, e: 64] */
    float *const sum_from_state = (float *)(void *)(work + 41216); /* [f: 64, t_key: 32] */
    float *const query_2 = (float *)(void *)(work + 49408); /* [f: 64, t_key: 32] */
    float *const query_4 = (float *)(void *)(work + 57600); /* [d: 64, t_key: 32] */
    float *const query_sum_3 = (float *)(void *)(work + 32896); /* [t_key: 32] */
    float *const query_5 = (float *)(void *)(work + 49408); /* [d: 64, t_key: 32] */
    float *const query_6 = (float *)(void *)(work + 65792); /* [d: 64, j: 32] */
    float *const dk = call->array[ARRAY_dk].at ? (float *)call->array[ARRAY_dk].at + b *
        call->array[ARRAY_dk].strides.batch + g * call->array[ARRAY_dk].strides.head : NULL;
    const int64_t dk_row = call->array[ARRAY_dk].strides.row;
    float *const query_sum_4 = (float *)(void *)(work + 16384); /* [t_key: 32] */
    float *const query_scale_3 = (float *)(void *)(work + 32896); /* [j: 32] */
    float *const dlog_decay_k = call->array[ARRAY_dlog_decay_k].at ? (float *)call->array[ARRAY_dlog_decay_k].at + b *
        call->array[ARRAY_dlog_decay_k].strides.batch + g * members * call->array[ARRAY_dlog_decay_k].strides.head :
        NULL;
    const int64_t dlog_decay_k_head = call->array[ARRAY_dlog_decay_k].strides.head;
    float *const query_sum_5 = (float *)(void *)(work + 16384); /* [i: 32] */
    float *const sum_from_state_2 = (float *)(void *)(work + 41216); /* [f: 64, i: 32] */
    float *const query_8 = (float *)(void *)(work + 49408); /* [f: 64, i: 32] */
    float *const score = (float *)(void *)(work + 57600); /* [j: 32, i: 32] */
    float *const weight = (float *)(void *)(work + 61696); /* [j: 32, i: 32] */
    float *const sum = (float *)(void *)(work + 65792); /* [d: 64, i: 32] */
    float *const query_sum_6 = (float *)(void *)(work + 32896); /* [i: 32] */
    float *const dq = call->array[ARRAY_dq].at ? (float *)call->array[ARRAY_dq].at + b *
        call->array[ARRAY_dq].strides.batch + g * members * call->array[ARRAY_dq].strides.head : NULL;
    const int64_t dq_row = call->array[ARRAY_dq].strides.row;
    const int64_t dq_head = call->array[ARRAY_dq].strides.head;
    float *const score_2 = (float *)(void *)(work + 49408); /* [j: 32, i: 32] */
    float *const row_sum = (float *)(void *)(work + 16384); /* [i: 32] */
    float *const query_sum_7 = (float *)(void *)(work + 32896); /* [i: 32] */
    float *const dlog_decay_q = call->array[ARRAY_dlog_decay_q].at ? (float *)call->array[ARRAY_dlog_decay_q].at + b *
        call->array[ARRAY_dlog_decay_q].strides.batch + g * members * call->array[ARRAY_dlog_decay_q].strides.head :
        NULL;
    const int64_t dlog_decay_q_row = call->array[ARRAY_dlog_decay_q].strides.row;
    const int64_t dlog_decay_q_head = call->array[ARRAY_dlog_decay_q].strides.head;
    float *const kept_share = (float *)(void *)(work + 16384); /* [f: 64] */
    float *const lost_share = (float *)(void *)(work + 16640); /* [f: 64] */
    float *const k_tile = (float *)(void *)(work + 73984); /* [d: 64, j: 32] */
    float *const log_decay_k_tile = (float *)(void *)(work + 82176); /* [j: 32] */
    float *const log_decay_k_low_tile = (float *)(void *)(work + 82304); /* [j: 32] */
    float *const beta_tile = (float *)(void *)(work + 82432); /* [j: 32] */
    float *const linear_part_1_tile = (float *)(void *)(work + 49408); /* [e: 64, t_key: 32] */
    float *const linear_part_2_tile = (float *)(void *)(work + 65792); /* [d: 64, t_key: 32] */
    float *const linear_part_3_tile = (float *)(void *)(work + 82560); /* [d: 64, j: 32] */
    float *const linear_part_4_tile = (float *)(void *)(work + 90752); /* [t_key: 32] */
    float *const linear_part_5_tile = (float *)(void *)(work + 90880); /* [j: 32] */
    float *const q_tile = (float *)(void *)(work + 91008); /* [d: 64, i: 32] */
    float *const dout_tile = (float *)(void *)(work + 61696); /* [e: 64, i: 32] */
    float *const log_decay_q_tile = (float *)(void *)(work + 90752); /* [i: 32] */
    float *const log_decay_q_low_tile = (float *)(void *)(work + 99200); /* [i: 32] */
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
                /* log_decay_k_tile = log_decay_k, with zeros beyond the last row */
                for (int64_t j = 0; j < round_up(j1 - j0, LANES); j++)
                    log_decay_k_tile[j] = j < j1 - j0 ? log_decay_k[(j0 + j)] : 0;
                /* log_decay_k_low_tile = log_decay_k_low, with zeros beyond the last row */
                for (int64_t j = 0; j < round_up(j1 - j0, LANES); j++)
                    log_decay_k_low_tile[j] = j < j1 - j0 ? log_decay_k_low[(j0 + j)] : 0;
                if (beta_array_row == 1) {
                    /* beta_tile = beta_array, with zeros beyond the last row */
                    for (int64_t j = 0; j < round_up(j1 - j0, LANES); j++)
                        beta_tile[j] = j < j1 - j0 ? beta_array[(j0 + j)] : 0;
                } else {
                    /* beta_tile = beta_array, with zeros beyond the last row */
                    for (int64_t j = 0; j < round_up(j1 - j0, LANES); j++)
                        beta_tile[j] = j < j1 - j0 ? beta_array[(j0 + j) * beta_array_row] : 0;
                }
                if (dk) {
                    /* linear_part_3_tile = linear_part_3, with zeros beyond the last row */
                    T(transpose_padded)(linear_part_3 + j0 * linear_part_3_row, linear_part_3_row, j1 - j0, 64,
                        linear_part_3_tile, 32, 0);
                }
                if (dlog_decay_k) {
                    /* linear_part_5_tile = linear_part_5, with zeros beyond the last row */
                    for (int64_t j = 0; j < round_up(j1 - j0, LANES); j++)
                        linear_part_5_tile[j] = j < j1 - j0 ? linear_part_5[(j0 + j)] : 0;
                }
                for (int64_t t_key0 = j0, t_key_end = j1; t_key0 < t_key_end; t_key0 += 32) {
                    const int64_t t_key1 = min(t_key0 + 32, t_key_end);
                    if (dk || dlog_decay_k) {
                        /* linear_part_1_tile = linear_part_1, with zeros beyond the last row */
                        T(transpose_padded)(linear_part_1 + t_key0 * linear_part_1_row, linear_part_1_row,
                            t_key1 - t_key0, 64, linear_part_1_tile, 32, 0);
                    }
                    if (dk) {
                        /* linear_part_2_tile = linear_part_2, with zeros beyond the last row */
                        T(transpose_padded)(linear_part_2 + t_key0 * linear_part_2_row, linear_part_2_row,
                            t_key1 - t_key0, 64, linear_part_2_tile, 32, 0);
                    }
                    if (dlog_decay_k) {
                        /* linear_part_4_tile = linear_part_4, with zeros beyond the last row */
                        for (int64_t t_key = 0; t_key < round_up(t_key1 - t_key0, LANES); t_key++)
                            linear_part_4_tile[t_key] = t_key < t_key1 - t_key0 ? linear_part_4[(t_key0 + t_key)] : 0;
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
                    /* query_features_2 = query_features * exp2(((log_decay_chunk - log_decay_k_tile) +
                       (log_decay_chunk_low - log_decay_k_low_tile)) * ... */
                    const float log_decay_chunk_3 = log_decay_chunk[max(min((((j0 / 32) + 1) * 32) - 1, n_k - 1), 0)];
                    const float log_decay_chunk_low_4 = log_decay_chunk_low[max(min((((j0 / 32) + 1) * 32) - 1,
                        n_k - 1), 0)];
                    for (int64_t j = 0; j < j1 - j0; j += LANES) {
                        const T(vec) t_5 = T(exp2)(((log_decay_chunk_3 - T(load)(log_decay_k_tile + j)) +
                            (log_decay_chunk_low_4 - T(load)(log_decay_k_low_tile + j))) * 1.442695f);
                        for (int64_t f = 0; f < 64; f++) {
                            T(store)(query_features_2 + f * 32 + j, T(load)(query_features + f * 32 + j) * t_5);
                        }
                    }
                    /* query_scale = beta_tile */
                    for (int64_t j = 0; j < j1 - j0; j += LANES) {
                        T(store)(query_scale + j, T(load)(beta_tile + j));
                    }
                    /* key_features = saved_solution * query_scale */
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        for (int64_t e_first = 0; e_first < 64; e_first += OF(64, 16, 8)) {
                            UNROLL for (int64_t vector = 0, e = e_first; vector < OF(4, 2, 2); vector++, e += LANES) {
                                T(store)(key_features + j * 64 + e, T(load)(saved_solution + (j0 + j) *
                                    saved_solution_row + e) * query_scale[j]);
                            }
                        }
                    }
                    if (dk || dlog_decay_k) {
                        /* linear_part_1_tile = 0.0f - (linear_part_1_tile * query_scale) */
                        for (int64_t t_key = 0; t_key < t_key1 - t_key0; t_key += LANES) {
                            const T(vec) query_scale_6 = T(load)(query_scale + ((t_key0 + t_key) - j0));
                            for (int64_t e = 0; e < 64; e++) {
                                T(store)(linear_part_1_tile + e * 32 + t_key,
                                    0.0f - (T(load)(linear_part_1_tile + e * 32 + t_key) * query_scale_6));
                            }
                        }
                        /* sum_from_state[f][t_key] = sum over e of state * linear_part_1_tile */
                        T(dot7)(round_up(t_key1 - t_key0, LANES), state, linear_part_1_tile, sum_from_state,
                            (const struct coming[]){{q + m * q_head + (((j0 / 32) == 0) ? 0 : max(0,
                            j0 - query_start)) * q_row, 4 * q_row, 256}, {dout + m * dout_head + (((j0 / 32) == 0) ? 0 :
                            max(0, j0 - query_start)) * dout_row, 4 * dout_row, 256}});
                    }
                    if (dk) {
                        /* query_2 = sum_from_state * select((lo() / 32) == 0, 1.0f,
                           exp2(((log_decay_k_tile - log_decay_chunk) + (log_decay_k_low_tile - l ... */
                        const int t_7 = (j0 / 32) == 0;
                        const float log_decay_chunk_8 = log_decay_chunk[max(min(j0 - 1, n_k - 1), 0)];
                        const float log_decay_chunk_low_9 = log_decay_chunk_low[max(min(j0 - 1, n_k - 1), 0)];
                        for (int64_t t_key = 0; t_key < t_key1 - t_key0; t_key += LANES) {
                            const T(vec) t_10 = t_7 ? T(splat)(1.0f) : T(exp2)(((T(load)(log_decay_k_tile + ((t_key0 +
                                t_key) - j0)) - log_decay_chunk_8) + (T(load)(log_decay_k_low_tile + ((t_key0 + t_key) -
                                j0)) - log_decay_chunk_low_9)) * 1.442695f);
                            for (int64_t f = 0; f < 64; f++) {
                                T(store)(query_2 + f * 32 + t_key, T(load)(sum_from_state + f * 32 + t_key) * t_10);
                            }
                        }
                        /* query_sum_3 = 0.0f */
                        for (int64_t t_key = 0; t_key < t_key1 - t_key0; t_key += LANES) {
                            T(store)(query_sum_3 + t_key, T(splat)(0.0f));
                        }
                        /* linear_part_2_tile = query_2 + linear_part_2_tile;
                           query_4 = linear_part_2_tile * select(query_sum == 0.0f, 0.0f, 1.0f / sqrt(qu ... */
                        for (int64_t t_key = 0; t_key < t_key1 - t_key0; t_key += LANES) {
                            const T(vec) query_sum_13 = T(load)(query_sum + ((t_key0 + t_key) - j0));
                            const T(mask) t_14 = query_sum_13 == 0.0f;
                            const T(vec) t_15 = T(sqrt)(query_sum_13);
                            const T(vec) t_16 = 1.0f / t_15;
                            const T(vec) t_17 = T(pick)(t_14, T(splat)(0.0f), t_16);
                            const T(vec) t_18 = T(pick)(t_14, T(splat)(0.0f), (-(t_16 * (0.5f / t_15))) / t_15);
                            T(vec) query_sum_3_in = (T(vec)){0};
                            for (int64_t d = 0; d < 64; d++) {
                                const T(vec) linear_part_2_tile_11 = T(load)(linear_part_2_tile + d * 32 + t_key);
                                const T(vec) linear_part_2_tile_new12 = T(load)(query_2 + d * 32 + t_key) +
                                    linear_part_2_tile_11;
                                T(store)(linear_part_2_tile + d * 32 + t_key, linear_part_2_tile_new12);
                                T(store)(query_4 + d * 32 + t_key, linear_part_2_tile_new12 * t_17);
                                query_sum_3_in += linear_part_2_tile_new12 * (T(load)(k_tile + d * 32 + ((t_key0 +
                                    t_key) - j0)) * t_18);
                            }
                            T(store)(query_sum_3 + t_key, T(load)(query_sum_3 + t_key) + query_sum_3_in);
                        }
                        /* query_5 = query_sum_3 * (k_tile * 2.0f) */
                        for (int64_t t_key = 0; t_key < t_key1 - t_key0; t_key += LANES) {
                            const T(vec) query_sum_3_19 = T(load)(query_sum_3 + t_key);
                            for (int64_t d = 0; d < 64; d++) {
                                T(store)(query_5 + d * 32 + t_key, query_sum_3_19 * (T(load)(k_tile + d * 32 + ((t_key0
                                    + t_key) - j0)) * 2.0f));
                            }
                        }
                        /* query_6 = (query_4 + query_5) + linear_part_3_tile */
                        for (int64_t d = 0; d < 64; d++) {
                            for (int64_t j = 0; j < j1 - j0; j += LANES) {
                                T(store)(query_6 + d * 32 + j, (T(load)(query_4 + d * 32 + ((j0 + j) - t_key0)) +
                                    T(load)(query_5 + d * 32 + ((j0 + j) - t_key0))) + T(load)(linear_part_3_tile + d *
                                    32 + j));
                            }
                        }
                        /* dk = query_6, transposed back */
                        T(transpose_out)(query_6, 32, 64, j1 - j0, dk + j0 * dk_row, dk_row, 0);
                    }
                    if (dlog_decay_k) {
                        /* query_sum_4 = 0.0f */
                        for (int64_t t_key = 0; t_key < t_key1 - t_key0; t_key += LANES) {
                            T(store)(query_sum_4 + t_key, T(splat)(0.0f));
                        }
                        /* query_sum_4 += sum_from_state * (query_features * select((lo() / 32) == 0, 0.0f,
                           exp2(((log_decay_k_tile - log_decay_chunk) + (l ... */
                        const int t_20 = (j0 / 32) == 0;
                        const float log_decay_chunk_21 = log_decay_chunk[max(min(j0 - 1, n_k - 1), 0)];
                        const float log_decay_chunk_low_22 = log_decay_chunk_low[max(min(j0 - 1, n_k - 1), 0)];
                        for (int64_t t_key = 0; t_key < t_key1 - t_key0; t_key += LANES) {
                            const T(vec) t_23 = t_20 ? T(splat)(0.0f) : T(exp2)(((T(load)(log_decay_k_tile + ((t_key0 +
                                t_key) - j0)) - log_decay_chunk_21) + (T(load)(log_decay_k_low_tile + ((t_key0 + t_key)
                                - j0)) - log_decay_chunk_low_22)) * 1.442695f);
                            T(vec) query_sum_4_in = (T(vec)){0};
                            for (int64_t f = 0; f < 64; f++) {
                                query_sum_4_in += T(load)(sum_from_state + f * 32 + t_key) * (T(load)(query_features + f
                                    * 32 + ((t_key0 + t_key) - j0)) * t_23);
                            }
                            T(store)(query_sum_4 + t_key, T(load)(query_sum_4 + t_key) + query_sum_4_in);
                        }
                        /* query_sum_4 = query_sum_4 + linear_part_4_tile */
                        for (int64_t t_key = 0; t_key < t_key1 - t_key0; t_key += LANES) {
                            T(store)(query_sum_4 + t_key, T(load)(query_sum_4 + t_key) + T(load)(linear_part_4_tile +
                                t_key));
                        }
                        /* query_scale_3 = select(m == 0, query_sum_4 + linear_part_5_tile, 0.0f) */
                        const int t_24 = m == 0;
                        for (int64_t j = 0; j < j1 - j0; j += LANES) {
                            T(store)(query_scale_3 + j, t_24 ? T(load)(query_sum_4 + ((j0 + j) - t_key0)) +
                                T(load)(linear_part_5_tile + j) : T(splat)(0.0f));
                        }
                        /* dlog_decay_k = query_scale_3 */
                        for (int64_t j = 0; j < j1 - j0; j++)
                            dlog_decay_k[m * dlog_decay_k_head + (j0 + j)] = query_scale_3[j];
                    }
                    for (int64_t i0 = ((j0 / 32) == 0) ? 0 : max(0, j0 - query_start), i_end = min(n_q,
                        (((j0 / 32) + 1) * 32) - query_start); i0 < i_end; i0 += 32) {
                        const int64_t i1 = min(i0 + 32, i_end);
                        if (dq || dlog_decay_q) {
                            /* q_tile = q, with zeros beyond the last row */
                            T(transpose_padded)(q + m * q_head + i0 * q_row, q_row, i1 - i0, 64, q_tile, 32, 0);
                            /* dout_tile = dout, with zeros beyond the last row */
                            T(transpose_padded)(dout + m * dout_head + i0 * dout_row, dout_row, i1 - i0, 64, dout_tile,
                                32, 0);
                            /* log_decay_q_tile = log_decay_q, with zeros beyond the last row */
                            for (int64_t i = 0; i < round_up(i1 - i0, LANES); i++)
                                log_decay_q_tile[i] = i < i1 - i0 ? log_decay_q[m * log_decay_q_head + (i0 + i)] : 0;
                            /* log_decay_q_low_tile = log_decay_q_low, with zeros beyond the last row */
                            for (int64_t i = 0; i < round_up(i1 - i0, LANES); i++)
                                log_decay_q_low_tile[i] = i < i1 - i0 ? log_decay_q_low[m * log_decay_q_low_head + (i0 +
                                    i)] : 0;
                            /* query_sum_5 = 0.0f */
                            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                                T(store)(query_sum_5 + i, T(splat)(0.0f));
                            }
                            /* sum_from_state_2[f][i] = sum over e of state * dout_tile */
                            T(dot19)(round_up(i1 - i0, LANES), state, dout_tile, sum_from_state_2,
                                (const struct coming[]){{k + (j0 + 32) * k_row, 4 * k_row, 256},
                                {linear_part_3 + (j0 + 32) * linear_part_3_row, 4 * linear_part_3_row, 256},
                                {linear_part_1 + (t_key0 + 32) * linear_part_1_row, 4 * linear_part_1_row, 256},
                                {linear_part_2 + (t_key0 + 32) * linear_part_2_row, 4 * linear_part_2_row, 256},
                                {saved_solution + (j0 + 32) * saved_solution_row, 4 * saved_solution_row, 256}});
                        }
                        if (dq) {
                            /* query_8 = sum_from_state_2 * select((lo() / 32) == 0, 1.0f,
                               exp2(((log_decay_q_tile - log_decay_chunk) + (log_decay_q_low_tile - ... */
                            const int t_25 = (j0 / 32) == 0;
                            const float log_decay_chunk_26 = log_decay_chunk[max(min(j0 - 1, n_k - 1), 0)];
                            const float log_decay_chunk_low_27 = log_decay_chunk_low[max(min(j0 - 1, n_k - 1), 0)];
                            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                                const T(vec) t_28 = t_25 ? T(splat)(1.0f) : T(exp2)(((T(load)(log_decay_q_tile + i) -
                                    log_decay_chunk_26) + (T(load)(log_decay_q_low_tile + i) - log_decay_chunk_low_27))
                                    * 1.442695f);
                                for (int64_t f = 0; f < 64; f++) {
                                    T(store)(query_8 + f * 32 + i, T(load)(sum_from_state_2 + f * 32 + i) * t_28);
                                }
                            }
                        }
                        if (dq || dlog_decay_q) {
                            /* score[j][i] = sum over e of key_features * dout_tile */
                            T(dot15)(round_up(i1 - i0, LANES), j1 - j0, key_features, dout_tile, score);
                        }
                        if (dq) {
                            /* weight = score * exp2(((log_decay_q_tile - log_decay_k) + (log_decay_q_low_tile -
                               log_decay_k_low)) * 1.442695f) */
                            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                                const T(vec) log_decay_q_tile_29 = T(load)(log_decay_q_tile + i);
                                const T(vec) log_decay_q_low_tile_30 = T(load)(log_decay_q_low_tile + i);
                                for (int64_t j = 0; j < j1 - j0; j++) {
                                    T(store)(weight + j * 32 + i, T(load)(score + j * 32 + i) *
                                        T(exp2)(((log_decay_q_tile_29 - log_decay_k[(j0 + j)]) +
                                        (log_decay_q_low_tile_30 - log_decay_k_low[(j0 + j)])) * 1.442695f));
                                }
                            }
                            /* weight = select(j <= (i + query_start), weight, 0.0f) */
                            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                                const T(ints) t_31 = (i0 + i + T(lane)) + query_start;
                                for (int64_t j = 0; j < j1 - j0; j++) {
                                    T(store)(weight + j * 32 + i, T(pick)(__builtin_convertvector((j0 + j) <= t_31,
                                        T(mask)), T(load)(weight + j * 32 + i), T(splat)(0.0f)));
                                }
                            }
                            /* sum[d][i] = sum over j of query_features * weight */
                            if (__builtin_expect(!T(finite)(query_features, 32, 64, j1 - j0),
                                0)) { /* infinity and NaN affect only queries that see them */
                                T(dot16)(round_up(i1 - i0, LANES), j1 - j0, query_features, weight, sum);
                                for (int64_t j = 0; j < j1 - j0; j++) {
                                    T(mask) in_region[OF(2, 4, 8)] = {0};
                                    if (T(finite)(query_features + j * 1, 32, 64, 1)) continue;
                                    for (int64_t i = 0; i < i1 - i0; i += LANES) {
                                        in_region[i / LANES] = __builtin_convertvector((j0 + j) <= ((i0 + i + T(lane)) +
                                            query_start), T(mask));
                                    }
                                    T(add_seen)(64, sum, 32, query_features + j * 1, 32, weight + j * 32, in_region,
                                        i1 - i0);
                                }
                            } else
                                T(dot17)(round_up(i1 - i0, LANES), j1 - j0, query_features, weight, sum);
                        }
                        if (dq || dlog_decay_q) {
                            /* query_sum_5 += q_tile * q_tile; sum = query_8 + sum */
                            for (int64_t i_first = 0; i_first < i1 - i0; i_first += (2 * LANES)) {
                                T(vec) query_sum_5_in[2];
                                UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += LANES) {
                                    query_sum_5_in[vector] = (T(vec)){0};
                                }
                                for (int64_t d = 0; d < 64; d++) {
                                    UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += LANES) {
                                        const T(vec) q_tile_32 = T(load)(q_tile + d * 32 + i);
                                        query_sum_5_in[vector] += q_tile_32 * q_tile_32;
                                        T(store)(sum + d * 32 + i, T(load)(query_8 + d * 32 + i) + T(load)(sum + d * 32
                                            + i));
                                    }
                                }
                                UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += LANES) {
                                    T(store)(query_sum_5 + i, T(load)(query_sum_5 + i) + query_sum_5_in[vector]);
                                }
                            }
                        }
                        if (dq) {
                            /* query_sum_6 = 0.0f */
                            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                                T(store)(query_sum_6 + i, T(splat)(0.0f));
                            }
                            /* query_sum_6 += sum * ((q_tile * select(query_sum_5 == 0.0f, 0.0f,
                               neg((1.0f / sqrt(query_sum_5)) * (0.5f / sqrt(query_sum_5))) / ... */
                            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                                const T(vec) query_sum_5_33 = T(load)(query_sum_5 + i);
                                const T(vec) t_34 = T(sqrt)(query_sum_5_33);
                                const T(vec) t_35 = T(pick)(query_sum_5_33 == 0.0f, T(splat)(0.0f),
                                    (-((1.0f / t_34) * (0.5f / t_34))) / t_34);
                                T(vec) query_sum_6_in = (T(vec)){0};
                                for (int64_t d = 0; d < 64; d++) {
                                    query_sum_6_in += T(load)(sum + d * 32 + i) * ((T(load)(q_tile + d * 32 + i) * t_35)
                                        * 0.125f);
                                }
                                T(store)(query_sum_6 + i, T(load)(query_sum_6 + i) + query_sum_6_in);
                            }
                            /* sum = (sum * (select(query_sum_5 == 0.0f, 0.0f,
                               1.0f / sqrt(query_sum_5)) * 0.125f)) + (query_sum_6 * (q_tile * 2.0f)) */
                            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                                const T(vec) query_sum_5_36 = T(load)(query_sum_5 + i);
                                const T(vec) t_37 = T(pick)(query_sum_5_36 == 0.0f, T(splat)(0.0f),
                                    1.0f / T(sqrt)(query_sum_5_36)) * 0.125f;
                                const T(vec) query_sum_6_38 = T(load)(query_sum_6 + i);
                                for (int64_t d = 0; d < 64; d++) {
                                    T(store)(sum + d * 32 + i, (T(load)(sum + d * 32 + i) * t_37) + (query_sum_6_38 *
                                        (T(load)(q_tile + d * 32 + i) * 2.0f)));
                                }
                            }
                            /* dq = sum, transposed back */
                            T(transpose_out)(sum, 32, 64, i1 - i0, dq + m * dq_head + i0 * dq_row, dq_row, 0);
                        }
                        if (dlog_decay_q) {
                            /* q_tile = (q_tile * select(query_sum_5 == 0.0f, 0.0f,
                               1.0f / sqrt(query_sum_5))) * 0.125f */
                            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                                const T(vec) query_sum_5_39 = T(load)(query_sum_5 + i);
                                const T(vec) t_40 = T(pick)(query_sum_5_39 == 0.0f, T(splat)(0.0f),
                                    1.0f / T(sqrt)(query_sum_5_39));
                                for (int64_t d = 0; d < 64; d++) {
                                    T(store)(q_tile + d * 32 + i, (T(load)(q_tile + d * 32 + i) * t_40) * 0.125f);
                                }
                            }
                            /* score_2[j][i] = sum over d of query_features * q_tile */
                            T(dot0)(round_up(i1 - i0, LANES), j1 - j0, query_features, q_tile, score_2);
                            /* score_2 = score * (score_2 * exp2(((log_decay_q_tile - log_decay_k) +
                               (log_decay_q_low_tile - log_decay_k_low)) * 1.442695f)) */
                            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                                const T(vec) log_decay_q_tile_41 = T(load)(log_decay_q_tile + i);
                                const T(vec) log_decay_q_low_tile_42 = T(load)(log_decay_q_low_tile + i);
                                for (int64_t j = 0; j < j1 - j0; j++) {
                                    T(store)(score_2 + j * 32 + i, T(load)(score + j * 32 + i) * (T(load)(score_2 + j *
                                        32 + i) * T(exp2)(((log_decay_q_tile_41 - log_decay_k[(j0 + j)]) +
                                        (log_decay_q_low_tile_42 - log_decay_k_low[(j0 + j)])) * 1.442695f)));
                                }
                            }
                            /* row_sum = 0.0f */
                            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                                T(store)(row_sum + i, T(splat)(0.0f));
                            }
                            /* score_2 = select(j <= (i + query_start), score_2, 0.0f); row_sum += score_2 */
                            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                                const T(ints) t_43 = (i0 + i + T(lane)) + query_start;
                                T(vec) row_sum_in = (T(vec)){0};
                                for (int64_t j = 0; j < j1 - j0; j++) {
                                    const T(vec) score_2_44 = T(load)(score_2 + j * 32 + i);
                                    const T(vec) score_2_new45 = T(pick)(__builtin_convertvector((j0 + j) <= t_43,
                                        T(mask)), score_2_44, T(splat)(0.0f));
                                    T(store)(score_2 + j * 32 + i, score_2_new45);
                                    row_sum_in += score_2_new45;
                                }
                                T(store)(row_sum + i, T(load)(row_sum + i) + row_sum_in);
                            }
                            /* query_sum_7 = 0.0f */
                            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                                T(store)(query_sum_7 + i, T(splat)(0.0f));
                            }
                            /* query_sum_7 += sum_from_state_2 * (q_tile * select((lo() / 32) == 0, 0.0f,
                               exp2(((log_decay_q_tile - log_decay_chunk) + (log_dec ... */
                            const int t_46 = (j0 / 32) == 0;
                            const float log_decay_chunk_47 = log_decay_chunk[max(min(j0 - 1, n_k - 1), 0)];
                            const float log_decay_chunk_low_48 = log_decay_chunk_low[max(min(j0 - 1, n_k - 1), 0)];
                            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                                const T(vec) t_49 = t_46 ? T(splat)(0.0f) : T(exp2)(((T(load)(log_decay_q_tile + i) -
                                    log_decay_chunk_47) + (T(load)(log_decay_q_low_tile + i) - log_decay_chunk_low_48))
                                    * 1.442695f);
                                T(vec) query_sum_7_in = (T(vec)){0};
                                for (int64_t f = 0; f < 64; f++) {
                                    query_sum_7_in += T(load)(sum_from_state_2 + f * 32 + i) * (T(load)(q_tile + f * 32
                                        + i) * t_49);
                                }
                                T(store)(query_sum_7 + i, T(load)(query_sum_7 + i) + query_sum_7_in);
                            }
                            /* row_sum = row_sum + query_sum_7 */
                            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                                T(store)(row_sum + i, T(load)(row_sum + i) + T(load)(query_sum_7 + i));
                            }
                            /* dlog_decay_q = row_sum */
                            for (int64_t i = 0; i < i1 - i0; i++)
                                dlog_decay_q[m * dlog_decay_q_head + (i0 + i) * dlog_decay_q_row] = row_sum[i];
                        }
                    }
                    /* kept_share = select(exp2(((log_decay_chunk - log_decay_chunk) + (log_decay_chunk_low -
                       log_decay_chunk_low)) * 1.442695f) < 0.5f ... */
                    const float t_50 = (log_decay_chunk[max(min((((j0 / 32) + 1) * 32) - 1, n_k - 1),
                        0)] - log_decay_chunk[max(min(j0 - 1, n_k - 1), 0)]) + (log_decay_chunk_low[max(min((((j0 / 32)
                        + 1) * 32) - 1, n_k - 1), 0)] - log_decay_chunk_low[max(min(j0 - 1, n_k - 1), 0)]);
                    const float t_51 = exp2f(t_50 * 1.442695f);
                    const int t_52 = t_51 < 0.5f;
                    const float t_53 = t_52 ? t_51 : 1.0f;
                    const float t_54 = t_52 ? 0.0f : (-expm1f(t_50));
                    for (int64_t f = 0; f < 64; f += LANES) {
                        T(store)(kept_share + f, T(splat)(t_53));
                        T(store)(lost_share + f, T(splat)(t_54));
                    }
                    /* state[f][e] = state * kept_share - state * lost_share + sum over j of query_features_2 *
                       key_features */
                    T(dot5)(j1 - j0, query_features_2, key_features, state, kept_share, lost_share);
                }
            }
        }
    }
}

/* Computes task number `task`: one tile of keys of one head. `work` is this thread's workspace. */
TARGET static void T(gated_deltanet_linear_terms_dgate)(const struct call *call, int64_t task, unsigned char *work)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_k = call->p.n_k;
    const int64_t tiles = (n_k + 64 - 1) / 64, j0 = (tiles - 1 - task % tiles) * 64,
        j1 = min(j0 + 64, n_k);
    const int64_t m = task / tiles % members;
    const int64_t g = task / tiles / members % kv_heads;
    const int64_t b = task / tiles / members / kv_heads;
    const float *const gate_array = (const float *)call->array[ARRAY_gate_array].at + b *
        call->array[ARRAY_gate_array].strides.batch + (g * members + m) * call->array[ARRAY_gate_array].strides.head;
    const int64_t gate_array_row = call->array[ARRAY_gate_array].strides.row;
    const float *const dlog_decay = (const float *)call->array[ARRAY_dlog_decay].at + b *
        call->array[ARRAY_dlog_decay].strides.batch + (g * members + m) * call->array[ARRAY_dlog_decay].strides.head;
    float *const dgate_array = call->array[ARRAY_dgate_array].at ? (float *)call->array[ARRAY_dgate_array].at + ((b *
        kv_heads + g) * members + m) * n_k : NULL;
    float *const gate_tile = (float *)(void *)(work + 0); /* [j: 64] */
    float *const dlog_decay_tile = (float *)(void *)(work + 256); /* [j: 64] */
    if (gate_array_row == 1) {
        /* gate_tile = gate_array, with zeros beyond the last row */
        for (int64_t j = 0; j < round_up(j1 - j0, LANES); j++)
            gate_tile[j] = j < j1 - j0 ? gate_array[(j0 + j)] : 0;
    } else {
        /* gate_tile = gate_array, with zeros beyond the last row */
        for (int64_t j = 0; j < round_up(j1 - j0, LANES); j++)
            gate_tile[j] = j < j1 - j0 ? gate_array[(j0 + j) * gate_array_row] : 0;
    }
    /* dlog_decay_tile = dlog_decay, with zeros beyond the last row */
    for (int64_t j = 0; j < round_up(j1 - j0, LANES); j++)
        dlog_decay_tile[j] = j < j1 - j0 ? dlog_decay[(j0 + j)] : 0;
    /* gate_tile = dlog_decay_tile * select(gate_tile < -1e+04f, 0.0f, 1.0f) */
    for (int64_t j = 0; j < j1 - j0; j += LANES) {
        T(store)(gate_tile + j, T(load)(dlog_decay_tile + j) * T(pick)(T(load)(gate_tile + j) < (-1e+04f),
            T(splat)(0.0f), T(splat)(1.0f)));
    }
    if (dgate_array) {
        /* dgate_array = gate_tile */
        for (int64_t j = 0; j < j1 - j0; j++)
            dgate_array[(j0 + j)] = gate_tile[j];
    }
}

/* Computes task number `task`: one tile of queries of one head. `work` is this thread's workspace. */
TARGET static void T(gated_deltanet_terms)(const struct call *call, int64_t task, unsigned char *work)
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
#error "gated_deltanet.c is C, not C++: compile it with a C compiler"
#elif !defined __STDC_VERSION__ || __STDC_VERSION__ < 199901L
#error "gated_deltanet.c is C11, not C89: compile it without -std=, or with -std=gnu11"
extern int gated_deltanet_is_c11;
#elif !defined __GNUC__
#error "gated_deltanet.c uses GNU C vector extensions: compile it with gcc or clang"
extern int gated_deltanet_is_gnu_c;
#else
#include "gated_deltanet.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include <attnrt/kernel/optimize.h>
#include <attnrt/kernel/call.h>

/* the numbers of the arrays of a call */
enum {
    ARRAY_q, ARRAY_k, ARRAY_v, ARRAY_out, ARRAY_dout, ARRAY_dq, ARRAY_dk, ARRAY_dv, ARRAY_gate_array, ARRAY_beta_array,
    ARRAY_log_decay_q, ARRAY_log_decay_q_low, ARRAY_log_decay_k, ARRAY_log_decay_k_low, ARRAY_log_decay_chunk,
    ARRAY_log_decay_chunk_low, ARRAY_dlog_decay_q, ARRAY_dlog_decay_k, ARRAY_dlog_decay, ARRAY_dgate_array,
    ARRAY_dbeta_array, ARRAY_saved_solution, ARRAY_linear_part_1, ARRAY_linear_part_2, ARRAY_linear_part_3,
    ARRAY_linear_part_4, ARRAY_linear_part_5
};

#ifdef __FILE_NAME__
#define LOOPS __FILE_NAME__ /* this file, whose first part has the loops */
#else
#define LOOPS "gated_deltanet.c"
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
    {"gate", ATTN_F32, 3, {ATTN_BATCH, ATTN_HEADS, ATTN_N_K}, offsetof(struct gated_deltanet_params, gate), 0,
        offsetof(struct gated_deltanet_strides, gate), 0, 1, ATTN_NO_LIMITS},
    {"beta", ATTN_F32, 3, {ATTN_BATCH, ATTN_HEADS, ATTN_N_K}, offsetof(struct gated_deltanet_params, beta), 0,
        offsetof(struct gated_deltanet_strides, beta), 0, 1, ATTN_NO_LIMITS},
};

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
    {.name = "gate", .access = {ACCESS_READ, ACCESS_READ}, .dtype = ATTN_F32, .rows = ROWS_OF_KEYS,
        .origin = FROM_PARAMS, .param = 0, .axis = {0, 1, 2}, .has_rows = 1},
    {.name = "beta", .access = {ACCESS_READ, ACCESS_READ}, .dtype = ATTN_F32, .rows = ROWS_OF_KEYS,
        .origin = FROM_PARAMS, .param = 1, .axis = {0, 1, 2}, .has_rows = 1},
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
    {.name = "dlog_decay_q", .access = {ACCESS_NONE, ACCESS_NONE}, .dtype = ATTN_F32, .rows = ROWS_OF_QUERIES,
        .origin = FROM_LIBRARY},
    {.name = "dlog_decay_k", .access = {ACCESS_NONE, ACCESS_NONE}, .dtype = ATTN_F32, .rows = ROWS_OF_KEYS,
        .origin = FROM_LIBRARY},
    {.name = "dlog_decay", .access = {ACCESS_NONE, ACCESS_NONE}, .dtype = ATTN_F32, .rows = ROWS_OF_KEYS,
        .origin = FROM_LIBRARY},
    {.name = "dgate", .access = {ACCESS_NONE, ACCESS_WANTED}, .dtype = ATTN_F32, .rows = ROWS_OF_KEYS,
        .origin = FROM_GRADIENTS, .member = offsetof(struct gated_deltanet_gradients, gate)},
    {.name = "dbeta", .access = {ACCESS_NONE, ACCESS_WANTED}, .dtype = ATTN_F32, .rows = ROWS_OF_KEYS,
        .origin = FROM_GRADIENTS, .member = offsetof(struct gated_deltanet_gradients, beta)},
    {.name = "saved_solution", .origin = FROM_LEFT, .elements = 64,
        .sizes = 1 << -ATTN_BATCH | 1 << -ATTN_KV_HEADS | 1 << -ATTN_N_K, .wanted = (const uint16_t[]){ARRAY_dq,
        ARRAY_dk, ARRAY_dgate_array, ARRAY_dbeta_array, NO_ARRAY}, .linear = 1, .sums = 1},
    {.name = "linear_part_1", .origin = FROM_LEFT, .elements = 64,
        .sizes = 1 << -ATTN_BATCH | 1 << -ATTN_KV_HEADS | 1 << -ATTN_N_K, .wanted = (const uint16_t[]){ARRAY_dk,
        ARRAY_dgate_array, NO_ARRAY}, .linear = 1, .sums = 1},
    {.name = "linear_part_2", .origin = FROM_LEFT, .elements = 64,
        .sizes = 1 << -ATTN_BATCH | 1 << -ATTN_KV_HEADS | 1 << -ATTN_N_K, .wanted = (const uint16_t[]){ARRAY_dk,
        NO_ARRAY}, .linear = 1, .sums = 1},
    {.name = "linear_part_3", .origin = FROM_LEFT, .elements = 64,
        .sizes = 1 << -ATTN_BATCH | 1 << -ATTN_KV_HEADS | 1 << -ATTN_N_K, .wanted = (const uint16_t[]){ARRAY_dk,
        NO_ARRAY}, .linear = 1, .sums = 1},
    {.name = "linear_part_4", .origin = FROM_LEFT, .elements = 1,
        .sizes = 1 << -ATTN_BATCH | 1 << -ATTN_KV_HEADS | 1 << -ATTN_N_K,
        .wanted = (const uint16_t[]){ARRAY_dgate_array, NO_ARRAY}, .linear = 1},
    {.name = "linear_part_5", .origin = FROM_LEFT, .elements = 1,
        .sizes = 1 << -ATTN_BATCH | 1 << -ATTN_KV_HEADS | 1 << -ATTN_N_K,
        .wanted = (const uint16_t[]){ARRAY_dgate_array, NO_ARRAY}, .linear = 1},
};

#if defined(__x86_64__)
static int runs_v4(void)
{
    return attn_x86_64_level() >= 4;
}
static const struct program programs_v4[] = {
    {.role = RUN_FORWARD,
     .rows = gated_deltanet_linear_v4, .tile = 0, .own = 70400, .of_token = 4160, .in_keys = 1},
    {.role = RUN_BACKWARD, .part = 3, .of_terms = 1,
     .rows = gated_deltanet_linear_terms_dgate_v4, .tile = 64, .own = 512, .of_pair = 128,
         .wanted = (const uint16_t[]){ARRAY_dgate_array, NO_ARRAY}, .of_keys = OF_QUERY_HEAD},
    {.role = RUN_BACKWARD, .part = 2,
     .rows = gated_deltanet_linear_dq_dlog_decay_q_dk_dlog_decay_k_v4, .tile = 0, .own = 99328, .of_token = 4160,
         .in_keys = 1, .wanted = (const uint16_t[]){ARRAY_dq, ARRAY_dk, ARRAY_dlog_decay_q, ARRAY_dlog_decay_k,
         NO_ARRAY}},
    {.role = RUN_BACKWARD, .part = 1,
     .rows = gated_deltanet_linear_dv_linear_part_1_dbeta_linear_part_2_linear_part_3_linear_part_4_linear_part_5_v4,
         .tile = 0, .own = 131968, .of_token = 4160, .in_keys = 1, .wanted = (const uint16_t[]){ARRAY_dv,
         ARRAY_dbeta_array, ARRAY_linear_part_1, ARRAY_linear_part_2, ARRAY_linear_part_3, ARRAY_linear_part_4,
         ARRAY_linear_part_5, NO_ARRAY}},
    {.role = RUN_BACKWARD, .solution_again = 1,
     .rows = gated_deltanet_linear_saved_solution_v4, .tile = 0, .own = 62080, .of_token = 4160,
         .wanted = (const uint16_t[]){ARRAY_saved_solution, NO_ARRAY}},
    {.role = RUN_TERMS,
     .rows = gated_deltanet_terms_v4, .tile = 64, .own = 512, .of_pair = 128},
};
#endif
#if defined(__x86_64__)
static int runs_v3(void)
{
    return attn_x86_64_level() >= 3;
}
static const struct program programs_v3[] = {
    {.role = RUN_FORWARD,
     .rows = gated_deltanet_linear_v3, .tile = 0, .own = 70400, .of_token = 4160, .in_keys = 1},
    {.role = RUN_BACKWARD, .part = 3, .of_terms = 1,
     .rows = gated_deltanet_linear_terms_dgate_v3, .tile = 64, .own = 512, .of_pair = 128,
         .wanted = (const uint16_t[]){ARRAY_dgate_array, NO_ARRAY}, .of_keys = OF_QUERY_HEAD},
    {.role = RUN_BACKWARD, .part = 2,
     .rows = gated_deltanet_linear_dq_dlog_decay_q_dk_dlog_decay_k_v3, .tile = 0, .own = 99328, .of_token = 4160,
         .in_keys = 1, .wanted = (const uint16_t[]){ARRAY_dq, ARRAY_dk, ARRAY_dlog_decay_q, ARRAY_dlog_decay_k,
         NO_ARRAY}},
    {.role = RUN_BACKWARD, .part = 1,
     .rows = gated_deltanet_linear_dv_linear_part_1_dbeta_linear_part_2_linear_part_3_linear_part_4_linear_part_5_v3,
         .tile = 0, .own = 131968, .of_token = 4160, .in_keys = 1, .wanted = (const uint16_t[]){ARRAY_dv,
         ARRAY_dbeta_array, ARRAY_linear_part_1, ARRAY_linear_part_2, ARRAY_linear_part_3, ARRAY_linear_part_4,
         ARRAY_linear_part_5, NO_ARRAY}},
    {.role = RUN_BACKWARD, .solution_again = 1,
     .rows = gated_deltanet_linear_saved_solution_v3, .tile = 0, .own = 62080, .of_token = 4160,
         .wanted = (const uint16_t[]){ARRAY_saved_solution, NO_ARRAY}},
    {.role = RUN_TERMS,
     .rows = gated_deltanet_terms_v3, .tile = 64, .own = 512, .of_pair = 128},
};
#endif
static const struct program programs_any[] = {
    {.role = RUN_FORWARD,
     .rows = gated_deltanet_linear_any, .tile = 0, .own = 70400, .of_token = 4160, .in_keys = 1},
    {.role = RUN_BACKWARD, .part = 3, .of_terms = 1,
     .rows = gated_deltanet_linear_terms_dgate_any, .tile = 64, .own = 512, .of_pair = 128,
         .wanted = (const uint16_t[]){ARRAY_dgate_array, NO_ARRAY}, .of_keys = OF_QUERY_HEAD},
    {.role = RUN_BACKWARD, .part = 2,
     .rows = gated_deltanet_linear_dq_dlog_decay_q_dk_dlog_decay_k_any, .tile = 0, .own = 99328, .of_token = 4160,
         .in_keys = 1, .wanted = (const uint16_t[]){ARRAY_dq, ARRAY_dk, ARRAY_dlog_decay_q, ARRAY_dlog_decay_k,
         NO_ARRAY}},
    {.role = RUN_BACKWARD, .part = 1,
     .rows = gated_deltanet_linear_dv_linear_part_1_dbeta_linear_part_2_linear_part_3_linear_part_4_linear_part_5_any,
         .tile = 0, .own = 131968, .of_token = 4160, .in_keys = 1, .wanted = (const uint16_t[]){ARRAY_dv,
         ARRAY_dbeta_array, ARRAY_linear_part_1, ARRAY_linear_part_2, ARRAY_linear_part_3, ARRAY_linear_part_4,
         ARRAY_linear_part_5, NO_ARRAY}},
    {.role = RUN_BACKWARD, .solution_again = 1,
     .rows = gated_deltanet_linear_saved_solution_any, .tile = 0, .own = 62080, .of_token = 4160,
         .wanted = (const uint16_t[]){ARRAY_saved_solution, NO_ARRAY}},
    {.role = RUN_TERMS,
     .rows = gated_deltanet_terms_any, .tile = 64, .own = 512, .of_pair = 128},
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
    .layout = KERNEL_LAYOUT, .name = "gated_deltanet", .openmp = OPENMP,
    .target = target, .targets = sizeof target / sizeof *target - 1,
    .array = array, .arrays = sizeof array / sizeof *array,
    .param = param, .params = 2, .params_bytes = sizeof(struct gated_deltanet_params),
    .dtype = ATTN_F32, .key_dtype = ATTN_F32, .value_dtype = ATTN_F32, .real = sizeof(float), .element = sizeof(float),
    .head_dim = 64, .value_dim = 64, .key_row = 64, .value_row = 64,
    .strided = 1, .strides = offsetof(struct gated_deltanet_params, strides),
    .shares = 1,
    .delta = 1,
    .positions = 1,
    .ids = -1,
    .corrected = -1,
    .prefix_row = 1,
    .sum_tokens = 4096,
    .prefix = {ARRAY_log_decay_q, ARRAY_log_decay_q_low, ARRAY_log_decay_k, ARRAY_log_decay_k_low,
        ARRAY_log_decay_chunk, ARRAY_log_decay_chunk_low, ARRAY_dlog_decay_q, ARRAY_dlog_decay_k, ARRAY_dlog_decay},
    .prefix_wanted = (const uint16_t[]){ARRAY_dgate_array, NO_ARRAY},
    .solution = ARRAY_saved_solution,
    .gradients_bytes = sizeof(struct gated_deltanet_gradients),
    .parts = 4,
    .shared_gradient = {ARRAY_dq, ARRAY_dk},
};

/* ==== the interface ==== */
size_t gated_deltanet_params_size(void) { return attn_call_params_size(&kernel); }
int gated_deltanet_params_init(struct gated_deltanet_params *params, uint64_t seed, void *storage)
{
    return attn_call_params_init(&kernel, params, seed, storage);
}
size_t gated_deltanet_workspace(const struct attn_problem *problem) { return attn_call_workspace(&kernel, problem); }
size_t gated_deltanet_saved(const struct attn_problem *problem) { return attn_call_saved(&kernel, problem); }
size_t gated_deltanet_backward_workspace(const struct attn_problem *problem)
{
    return attn_call_backward_workspace(&kernel, problem);
}
int gated_deltanet_forward(const struct attn_problem *problem, const struct gated_deltanet_params *params,
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
int gated_deltanet_backward(const struct attn_problem *problem, const struct gated_deltanet_params *params,
    const float *q, const float *k, const float *v, const float *out, const float *dout,
    float *dq, float *dk, float *dv, struct gated_deltanet_gradients *gradients, void *workspace)
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
const struct attn_kernel gated_deltanet_kernel = {
    .name = "gated_deltanet", .version = "0.2.0", .dtype = ATTN_F32, .head_dim = 64, .value_dim = 64,
    .params = 2, .param = param, .params_bytes = sizeof(struct gated_deltanet_params),
    .params_size = gated_deltanet_params_size, .params_init = params_init_any, .forward = forward_any,
    .workspace = gated_deltanet_workspace,
    .saved = gated_deltanet_saved,
    .backward_workspace = gated_deltanet_backward_workspace,
    .backward = backward_any,
    .key_dtype = ATTN_F32, .value_dtype = ATTN_F32,
    .strides = offsetof(struct gated_deltanet_params, strides), .strides_bytes = sizeof(struct gated_deltanet_strides),
    .before = INT64_MAX, .after = 0, .period = 0, .names_heads = 0, .names_sequences = 0, .in_parts = 0,
    .saved_power = 0, .has_sink = 0, .open_keys = 0, .end_of_keys = INT64_MAX,
};
#endif /* a compiler of this language */
#endif /* SECTION */
