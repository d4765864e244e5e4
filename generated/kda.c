/* kda.c, made by attnc 0.2.0: attnc kda.yaml
   C11 with GNU extensions, for a C compiler; C++ includes kda.h.
   Kimi Delta Attention: the delta rule with a decay for each element of the key and position
   Kimi Team, Kimi Linear: An Expressive, Efficient Attention Architecture (arXiv 2025), section 3

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
     gate [b g m j d], learned parameter
     x13 [b g m position d] = max(gate[b, g, m, position, d], -10000)
     x14 [b g m i d] = sum over position of x13 if position <= i + query_start
     x15 [b g m j d] = sum over position of x13 if position <= j
     x16 [b g t_key d] = k[b, g, t_key, d]
     x17 [b g t_key d] = x16 * x16
     x18 [b g t_key] = sum over d of x17
     x19 [b g t_key] = x18 == 0 ? 0 : 1 / sqrt(x18)
     x20 [b g t_key d] = x16 * x19
     x21 [b g t_key j d] = x20 * x6 * pow(2.718281828459045, x15[b, g, 0, t_key, d] - x15[b, g, 0, j, d])
     x22 [b g t_key j] = sum over d of x21
     x23 [b g t_key j] = x22
     beta [b g m j], learned parameter
     x25 [b g j] = beta[b, g, 0, j]
     x26 [b g j e] = u with u[t_key] = x25 * (v - sum over j < t_key of x23 * u[j] if j <= t_key)
     x27 [b g m i j d] = x11 * x6 * pow(2.718281828459045, x14 - x15[b, g, 0, j, d])
     x28 [b g m i j] = sum over d of x27
     x29 [b g m i j] = x28
     x30 [b g m i e] = sum over j of x29 * x26 if j <= i + query_start
     x31 [b g m i e] = x30
     out = x31
   query_start is the position of the first query: problem.query_start[b], or n_k - n_q if that is NULL.

   How: each vector lane holds one query. Keys are processed in tiles,
   so row sums and maxima need no reduction across lanes.
   The sums of a tile start from zero and are added to the sums so far. Tiles that no query sees are skipped.
   Linear: the weight is an inner product of 64 features. The state is a sum over keys of 64 x 65 numbers.
     x86-64-v4  linear    tiles of 32 queries and 32 keys; 86272 bytes of workspace per thread
     x86-64-v3  linear    tiles of 32 queries and 32 keys; 86272 bytes of workspace per thread
     generic    linear    tiles of 32 queries and 32 keys; 86272 bytes of workspace per thread

   Contents:
     loops      kda_linear, kda_terms
     targets    x86-64-v4, x86-64-v3, generic
     tables     arrays and programs, for the functions of attnrt that call the loops
     interface  kda_workspace, kda_forward, kda_kernel
   The file includes itself, so that the loops are compiled once for each target. T(name) is a name with the target's
   suffix, LANES the elements of its vectors, and OF(…) a number for each target.

   Compile with: cc -O2 -fopenmp kda.c … -lattnrt -lm */
#ifdef SECTION
#include <attnrt/kernel/vector.h>
#include <attnrt/kernel/elementary.h>
#include <attnrt/kernel/solve.h>
#include <attnrt/kernel/decayed_rows.h>
#include <attnrt/kernel/product.h>

/* The functions for the products below. Each calls dot or a similar function with constants. */
TARGET APART void T(dot0)(int64_t lanes, int64_t rows, int64_t first, const float *x, const float *y, const float *b,
    const float *b_low, float *w)
{
    T(decayed_rows)(lanes, rows, /*steps=*/64, first, /*times=*/1.0f, /*scale=*/1.442695f, x, /*x_row=*/64, /*a=*/NULL,
        /*a_row=*/0, /*a_low=*/NULL, /*a_low_row=*/0, y, /*y_row=*/64, b, /*b_row=*/64, b_low, /*b_low_row=*/64,
        /*after=*/0, w, /*w_query=*/32, /*w_key=*/1);
}
TARGET APART void T(dot1)(int64_t rows, const float *a, const float *b, float *c, const struct coming *next)
{
    T(dot_meanwhile)(/*vectors=*/OF(4, 2, 2), /*lanes=*/64, rows, /*tail=*/-1, /*steps=*/64, /*span=*/32, a,
        /*a_row=*/64, /*a_step=*/1, b, /*b_step=*/64, c, /*c_row=*/64, /*update=*/0, /*factor=*/NULL, next,
        /*arrays=*/2, /*nexts=*/32);
}
TARGET APART void T(dot2)(int64_t rows, const float *w, const float *rate, const float *x, float *u)
{
    T(solve)(/*lanes=*/64, /*first=*/0, rows, w, /*w_row=*/32, /*w_step=*/1, rate, /*rate_step=*/1, x, /*x_row=*/64, u,
        /*u_row=*/64);
}
TARGET APART void T(dot3)(int64_t rows, const float *a, const float *b, float *c, const struct coming *next)
{
    T(dot_meanwhile)(/*vectors=*/OF(4, 2, 2), /*lanes=*/64, rows, /*tail=*/-1, /*steps=*/64, /*span=*/32, a,
        /*a_row=*/64, /*a_step=*/1, b, /*b_step=*/64, c, /*c_row=*/64, /*update=*/0, /*factor=*/NULL, next,
        /*arrays=*/3, /*nexts=*/32);
}
TARGET APART void T(dot4)(int64_t rows, int64_t steps, const float *a, const float *b, float *c)
{
    T(dot_finite_lanes)(/*fetched=*/0, /*vectors=*/OF(4, 2, 2), /*lanes=*/64, rows, /*tail=*/-1, steps, /*span=*/192, a,
        /*a_row=*/32, /*a_step=*/1, b, /*b_step=*/64, c, /*c_row=*/64, /*update=*/0, /*factor=*/NULL);
}
TARGET APART void T(dot5)(int64_t rows, int64_t steps, const float *a, const float *b, float *c, int64_t visible)
{
    T(dot_until)(/*vectors=*/OF(4, 2, 2), /*lanes=*/64, rows, /*tail=*/-1, steps, /*span=*/192, a, /*a_row=*/32,
        /*a_step=*/1, b, /*b_step=*/64, c, /*c_row=*/64, visible);
}
TARGET APART void T(dot6)(int64_t steps, const float *a, const float *b, float *c, const float *kept, const float *lost)
{
    T(dot_kept)(/*vectors=*/OF(4, 2, 2), /*lanes=*/64, /*rows=*/64, steps, a, /*a_row=*/1, /*a_step=*/64, b,
        /*b_step=*/64, c, /*c_row=*/64, kept, lost);
}

/* Computes task number `task`: one tile of queries of one head. `work` is this thread's workspace. */
TARGET static void T(kda_linear)(const struct call *call, int64_t task, unsigned char *work)
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
    float *const key = (float *)(void *)(work + 16512); /* [j: 32, d: 64] */
    float *const row_factor = (float *)(void *)(work + 24704); /* [j: 32] */
    float *const weight = (float *)(void *)(work + 24704); /* [t_key: 32, j: 32] */
    float *const key_3 = (float *)(void *)(work + 28800); /* [t_key: 32, f: 64] */
    float *const query_scale = (float *)(void *)(work + 16384); /* [j: 32] */
    float *const from_state = (float *)(void *)(work + 36992); /* [t_key: 32, e: 64] */
    float *const corrected = (float *)(void *)(work + 28800); /* [j: 32, e: 64] */
    float *const key_features = (float *)(void *)(work + 36992); /* [j: 32, f: 64] */
    float *const query_sum_3 = (float *)(void *)(work + 16384); /* [i: 32] */
    float *const key_4 = (float *)(void *)(work + 45184); /* [i: 32, d: 64] */
    float *const row_factor_3 = (float *)(void *)(work + 24704); /* [i: 32] */
    float *const weight_2 = (float *)(void *)(work + 24704); /* [i: 32, j: 32] */
    float *const key_5 = (float *)(void *)(work + 53376); /* [i: 32, f: 64] */
    float *const sum_from_state = (float *)(void *)(work + 45184); /* [i: 32, e: 64] */
    float *const sum = (float *)(void *)(work + 53376); /* [i: 32, e: 64] */
    float *const out = (float *)call->array[ARRAY_out].at + b * call->array[ARRAY_out].strides.batch + g * members *
        call->array[ARRAY_out].strides.head;
    const int64_t out_row = call->array[ARRAY_out].strides.row;
    const int64_t out_head = call->array[ARRAY_out].strides.head;
    float *const kept_share = (float *)(void *)(work + 16384); /* [f: 64] */
    float *const lost_share = (float *)(void *)(work + 16640); /* [f: 64] */
    float *const log_decay = (float *)(void *)(work + 16384); /* [j: 32, d: 64] */
    float *const log_decay_sum = (float *)(void *)(work + 61568); /* [j: 32, d: 64] */
    float *const log_decay_sum_low = (float *)(void *)(work + 69760); /* [j: 32, d: 64] */
    const float *const gate_array = (const float *)call->array[ARRAY_gate_array].at + b *
        call->array[ARRAY_gate_array].strides.batch + g * members * call->array[ARRAY_gate_array].strides.head;
    const int64_t gate_array_row = call->array[ARRAY_gate_array].strides.row;
    const int64_t gate_array_stride_3 = call->array[ARRAY_gate_array].stride[3];
    float *const log_decay_total = (float *)(void *)(work + 24576); /* [d: 64] */
    float *const log_decay_rest = (float *)(void *)(work + 24832); /* [d: 64] */
    float *const gate_tile = (float *)(void *)(work + 77952); /* [j: 32, d: 64] */
    float *const beta_tile = (float *)(void *)(work + 86144); /* [j: 32] */
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
                if (gate_array_stride_3 == 1) {
                    /* gate_tile = gate_array, with zeros beyond the last row */
                    for (int64_t j = 0; j < j1 - j0; j++)
                        for (int64_t d = 0; d < 64; d++)
                            gate_tile[j * 64 + d] = gate_array[(j0 + j) * gate_array_row + d];
                } else {
                    /* gate_tile = gate_array, with zeros beyond the last row */
                    for (int64_t j = 0; j < j1 - j0; j++)
                        for (int64_t d = 0; d < 64; d++)
                            gate_tile[j * 64 + d] = gate_array[(j0 + j) * gate_array_row + d * gate_array_stride_3];
                }
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
                    /* log_decay = max(gate_tile, -1e+04f) */
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        for (int64_t d_first = 0; d_first < 64; d_first += OF(64, 16, 8)) {
                            UNROLL for (int64_t vector = 0, d = d_first; vector < OF(4, 2, 2); vector++, d += LANES) {
                                T(store)(log_decay + j * 64 + d, T(max)(T(load)(gate_tile + j * 64 + d),
                                    T(splat)(-1e+04f)));
                            }
                        }
                    }
                    /* log_decay_total = 0.0f; log_decay_rest = 0.0f */
                    for (int64_t d = 0; d < 64; d += LANES) {
                        T(store)(log_decay_total + d, T(splat)(0.0f));
                        T(store)(log_decay_rest + d, T(splat)(0.0f));
                    }
                    for (int64_t position0 = j0, position_end = j1; position0 < position_end; position0 += 1) {
                        const int64_t position1 = min(position0 + 1, position_end);
                        (void)position1;
                        /* log_decay_next = log_decay_total + log_decay; log_decay_rest = log_decay_rest +
                           ((log_decay_total - (log_decay_next - (log_decay ... */
                        for (int64_t d = 0; d < 64; d += LANES) {
                            const T(vec) log_decay_total_0 = T(load)(log_decay_total + d);
                            const T(vec) log_decay_1 = T(load)(log_decay + (position0 - j0) * 64 + d);
                            const T(vec) log_decay_next_new2 = log_decay_total_0 + log_decay_1;
                            const T(vec) log_decay_rest_3 = T(load)(log_decay_rest + d);
                            const T(vec) t_4 = log_decay_next_new2 - log_decay_total_0;
                            const T(vec) log_decay_rest_new5 = log_decay_rest_3 + ((log_decay_total_0 -
                                (log_decay_next_new2 - t_4)) + (log_decay_1 - t_4));
                            T(store)(log_decay_rest + d, log_decay_rest_new5);
                            T(store)(log_decay_total + d, log_decay_next_new2);
                            T(store)(log_decay_sum + (position0 - j0) * 64 + d, log_decay_next_new2);
                            T(store)(log_decay_sum_low + (position0 - j0) * 64 + d, log_decay_rest_new5);
                        }
                    }
                    /* query_sum = 0.0f */
                    for (int64_t j = 0; j < j1 - j0; j += LANES) {
                        T(store)(query_sum + j, T(splat)(0.0f));
                    }
                    /* query_sum += k * k */
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        T(vec) lane_sums = T(splat)(0);
                        for (int64_t d = 0; d < 64; d += LANES) {
                            const T(vec) k_6 = T(load)(k + (j0 + j) * k_row + d);
                            const T(vec) term = k_6 * k_6;
                            lane_sums += d + LANES <= 64 ? term : T(pick)(__builtin_convertvector(d + T(lane) < 64,
                                T(mask)), term, T(splat)(0));
                        }
                        const float total = T(lane_sum)(lane_sums);
                        query_sum[j] += total;
                    }
                    /* row_factor = select(query_sum == 0.0f, 0.0f, 1.0f / sqrt(query_sum)) */
                    for (int64_t j = 0; j < j1 - j0; j += LANES) {
                        const T(vec) query_sum_7 = T(load)(query_sum + j);
                        T(store)(row_factor + j, T(pick)(query_sum_7 == 0.0f, T(splat)(0.0f),
                            1.0f / T(sqrt)(query_sum_7)));
                    }
                    /* key = k * row_factor */
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        for (int64_t d_first = 0; d_first < 64; d_first += OF(64, 16, 8)) {
                            UNROLL for (int64_t vector = 0, d = d_first; vector < OF(4, 2, 2); vector++, d += LANES) {
                                T(store)(key + j * 64 + d, T(load)(k + (j0 + j) * k_row + d) * row_factor[j]);
                            }
                        }
                    }
                    /* weight = 0.0f */
                    for (int64_t t_key = 0; t_key < t_key1 - t_key0; t_key++) {
                        for (int64_t j = 0; j < j1 - j0; j += LANES) {
                            T(store)(weight + t_key * 32 + j, T(splat)(0.0f));
                        }
                    }
                    /* weight[t_key][j] += sum over d of key * key * a decay, for j up to the query's last key */
                    T(dot0)(t_key1 - t_key0, j1 - j0, t_key0 - j0, key, key, log_decay_sum, log_decay_sum_low, weight);
                    /* key_3 = key * select((lo() / 32) == 0, 1.0f, exp2((log_decay_sum + log_decay_sum_low) *
                       1.442695f)) */
                    const int t_8 = (j0 / 32) == 0;
                    for (int64_t t_key = 0; t_key < t_key1 - t_key0; t_key++) {
                        for (int64_t f = 0; f < 64; f += LANES) {
                            T(store)(key_3 + t_key * 64 + f, T(load)(key + ((t_key0 + t_key) - j0) * 64 + f) * (t_8 ?
                                T(splat)(1.0f) : T(exp2)((T(load)(log_decay_sum + ((t_key0 + t_key) - j0) * 64 + f) +
                                T(load)(log_decay_sum_low + ((t_key0 + t_key) - j0) * 64 + f)) * 1.442695f)));
                        }
                    }
                    /* query_scale = beta_tile */
                    for (int64_t j = 0; j < j1 - j0; j += LANES) {
                        T(store)(query_scale + j, T(load)(beta_tile + j));
                    }
                    /* from_state[t_key][e] = sum over f of key_3 * state */
                    T(dot1)(t_key1 - t_key0, key_3, state, from_state, (const struct coming[]){{v + t_key0 * v_row,
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
                    /* corrected[t_key][e] = query_scale[t_key] * (from_state[t_key][e] - sum over j < t_key of weight *
                       corrected[j][e]) */
                    T(dot2)(t_key1 - t_key0, weight, query_scale, from_state, corrected);
                    /* key_features = key * exp2(((log_decay_sum - log_decay_sum) + (log_decay_sum_low -
                       log_decay_sum_low)) * 1.442695f) */
                    for (int64_t f = 0; f < 64; f += LANES) {
                        const T(vec) log_decay_sum_9 = T(load)(log_decay_sum + ((j1 - 1) - j0) * 64 + f);
                        const T(vec) log_decay_sum_low_10 = T(load)(log_decay_sum_low + ((j1 - 1) - j0) * 64 + f);
                        for (int64_t j = 0; j < j1 - j0; j++) {
                            T(store)(key_features + j * 64 + f, T(load)(key + j * 64 + f) * T(exp2)(((log_decay_sum_9 -
                                T(load)(log_decay_sum + j * 64 + f)) + (log_decay_sum_low_10 - T(load)(log_decay_sum_low
                                + j * 64 + f))) * 1.442695f));
                        }
                    }
                    for (int64_t i0 = ((j0 / 32) == 0) ? 0 : max(0, j0 - query_start), i_end = min(n_q,
                        (((j0 / 32) + 1) * 32) - query_start); i0 < i_end; i0 += 32) {
                        const int64_t i1 = min(i0 + 32, i_end);
                        /* query_sum_3 = 0.0f */
                        for (int64_t i = 0; i < i1 - i0; i += LANES) {
                            T(store)(query_sum_3 + i, T(splat)(0.0f));
                        }
                        /* query_sum_3 += q * q */
                        for (int64_t i = 0; i < i1 - i0; i++) {
                            T(vec) lane_sums = T(splat)(0);
                            for (int64_t d = 0; d < 64; d += LANES) {
                                const T(vec) q_11 = T(load)(q + m * q_head + (i0 + i) * q_row + d);
                                const T(vec) term = q_11 * q_11;
                                lane_sums += d + LANES <= 64 ? term : T(pick)(__builtin_convertvector(d + T(lane) < 64,
                                    T(mask)), term, T(splat)(0));
                            }
                            const float total = T(lane_sum)(lane_sums);
                            query_sum_3[i] += total;
                        }
                        /* row_factor_3 = select(query_sum_3 == 0.0f, 0.0f, 1.0f / sqrt(query_sum_3)) */
                        for (int64_t i = 0; i < i1 - i0; i += LANES) {
                            const T(vec) query_sum_3_12 = T(load)(query_sum_3 + i);
                            T(store)(row_factor_3 + i, T(pick)(query_sum_3_12 == 0.0f, T(splat)(0.0f),
                                1.0f / T(sqrt)(query_sum_3_12)));
                        }
                        /* key_4 = (q * row_factor_3) * 0.125f */
                        for (int64_t i = 0; i < i1 - i0; i++) {
                            for (int64_t d_first = 0; d_first < 64; d_first += OF(64, 16, 8)) {
                                UNROLL for (int64_t vector = 0, d = d_first; vector < OF(4, 2, 2); vector++,
                                    d += LANES) {
                                    T(store)(key_4 + i * 64 + d, (T(load)(q + m * q_head + (i0 + i) * q_row + d) *
                                        row_factor_3[i]) * 0.125f);
                                }
                            }
                        }
                        /* weight_2 = 0.0f */
                        for (int64_t i = 0; i < i1 - i0; i++) {
                            for (int64_t j = 0; j < j1 - j0; j += LANES) {
                                T(store)(weight_2 + i * 32 + j, T(splat)(0.0f));
                            }
                        }
                        /* weight_2[i][j] += sum over d of key * key_4 * a decay, for j up to the query's last key */
                        T(dot0)(i1 - i0, j1 - j0, i0 + query_start - j0, key_4, key, log_decay_sum, log_decay_sum_low,
                            weight_2);
                        /* key_5 = key_4 * select((lo() / 32) == 0, 1.0f,
                           exp2((log_decay_sum + log_decay_sum_low) * 1.442695f)) */
                        const int t_13 = (j0 / 32) == 0;
                        for (int64_t i = 0; i < i1 - i0; i++) {
                            for (int64_t f = 0; f < 64; f += LANES) {
                                T(store)(key_5 + i * 64 + f, T(load)(key_4 + i * 64 + f) * (t_13 ? T(splat)(1.0f) :
                                    T(exp2)((T(load)(log_decay_sum + (max(j0, min((i0 + i) + query_start,
                                    j1 - 1)) - j0) * 64 + f) + T(load)(log_decay_sum_low + (max(j0,
                                    min((i0 + i) + query_start, j1 - 1)) - j0) * 64 + f)) * 1.442695f)));
                            }
                        }
                        /* sum_from_state[i][e] = sum over f of key_5 * state */
                        T(dot3)(i1 - i0, key_5, state, sum_from_state, (const struct coming[]){{out + m * out_head + i0
                            * out_row, 4 * out_row, 256}, {gate_array + (j0 + 32) * gate_array_row, 4 * gate_array_row,
                            256}, {k + (j0 + 32) * k_row, 4 * k_row, 256}});
                        /* weight_2 = select(j <= (i + query_start), weight_2, 0.0f) */
                        for (int64_t j = 0; j < j1 - j0; j += LANES) {
                            const T(ints) t_14 = j0 + j + T(lane);
                            for (int64_t i = 0; i < i1 - i0; i++) {
                                T(store)(weight_2 + i * 32 + j, T(pick)(__builtin_convertvector(t_14 <= ((i0 + i) +
                                    query_start), T(mask)), T(load)(weight_2 + i * 32 + j), T(splat)(0.0f)));
                            }
                        }
                        /* sum[i][e] = sum over j of weight_2 * corrected */
                        if (__builtin_expect(!T(finite)(corrected, 64, j1 - j0, 64),
                            0)) { /* infinity and NaN affect only queries that see them */
                            T(dot4)(i1 - i0, j1 - j0, weight_2, corrected, sum);
                            for (int64_t i = 0; i < i1 - i0; i++) {
                                T(mask) in_region[OF(2, 4, 8)] = {0};
                                const int64_t t_15 = (i0 + i) + query_start;
                                for (int64_t j = 0; j < j1 - j0; j += LANES) {
                                    in_region[j / LANES] = __builtin_convertvector((j0 + j + T(lane)) <= t_15, T(mask));
                                }
                                T(add_seen_lanes)(64, sum + i * 64, weight_2 + i * 32, corrected, 64, j1 - j0,
                                    in_region);
                            }
                        } else
                            T(dot5)(i1 - i0, j1 - j0, weight_2, corrected, sum, i0 + query_start - j0 + 1);
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
                    /* kept_share = select(exp2((log_decay_sum + log_decay_sum_low) * 1.442695f) < 0.5f,
                       exp2((log_decay_sum + log_decay_sum_low) * 1.4 ... */
                    for (int64_t f = 0; f < 64; f += LANES) {
                        const T(vec) t_16 = T(load)(log_decay_sum + ((j1 - 1) - j0) * 64 + f) +
                            T(load)(log_decay_sum_low + ((j1 - 1) - j0) * 64 + f);
                        const T(vec) t_17 = T(exp2)(t_16 * 1.442695f);
                        const T(mask) t_18 = t_17 < 0.5f;
                        T(store)(kept_share + f, T(pick)(t_18, t_17, T(splat)(1.0f)));
                        T(store)(lost_share + f, T(pick)(t_18, T(splat)(0.0f), -T(expm1)(t_16)));
                    }
                    /* state[f][e] = state * kept_share - state * lost_share + sum over j of key_features * corrected */
                    T(dot6)(j1 - j0, key_features, corrected, state, kept_share, lost_share);
                }
            }
        }
    }
}

/* Computes task number `task`: one tile of queries of one head. `work` is this thread's workspace. */
TARGET static void T(kda_terms)(const struct call *call, int64_t task, unsigned char *work)
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
    const int64_t gate_array_stride_3 = call->array[ARRAY_gate_array].stride[3];
    float *const result = (float *)(void *)(work + 0); /* [i: 64, d: 64] */
    float *const log_decay_k = (float *)call->array[ARRAY_log_decay_k].at + b *
        call->array[ARRAY_log_decay_k].strides.batch + (g * members + m) * call->array[ARRAY_log_decay_k].strides.head;
    const int64_t log_decay_k_row = call->array[ARRAY_log_decay_k].strides.row;
    float *const gate_at = (float *)(void *)(work + 16384); /* [i: 64, d: 64] */
    if (gate_array_stride_3 == 1) {
        /* gate_at = gate_array, with zeros beyond the last row */
        for (int64_t i = 0; i < i1 - i0; i++)
            for (int64_t d = 0; d < 64; d++)
                gate_at[i * 64 + d] = gate_array[((i0 + i) + n_k - n_q) * gate_array_row + d];
    } else {
        /* gate_at = gate_array, with zeros beyond the last row */
        for (int64_t i = 0; i < i1 - i0; i++)
            for (int64_t d = 0; d < 64; d++)
                gate_at[i * 64 + d] = gate_array[((i0 + i) + n_k - n_q) * gate_array_row + d * gate_array_stride_3];
    }
    /* result = max(gate_at, -1e+04f) */
    for (int64_t i = 0; i < i1 - i0; i++) {
        for (int64_t d_first = 0; d_first < 64; d_first += OF(64, 16, 8)) {
            UNROLL for (int64_t vector = 0, d = d_first; vector < OF(4, 2, 2); vector++, d += LANES) {
                T(store)(result + i * 64 + d, T(max)(T(load)(gate_at + i * 64 + d), T(splat)(-1e+04f)));
            }
        }
    }
    /* log_decay_k = result */
    for (int64_t i = 0; i < i1 - i0; i++)
        for (int64_t d = 0; d < 64; d++)
            log_decay_k[(i0 + i) * log_decay_k_row + d] = result[i * 64 + d];
}
#include <attnrt/kernel/end.h>
#else
#ifdef __cplusplus
#error "kda.c is C, not C++: compile it with a C compiler"
#elif !defined __STDC_VERSION__ || __STDC_VERSION__ < 199901L
#error "kda.c is C11, not C89: compile it without -std=, or with -std=gnu11"
extern int kda_is_c11;
#elif !defined __GNUC__
#error "kda.c uses GNU C vector extensions: compile it with gcc or clang"
extern int kda_is_gnu_c;
#else
#include "kda.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include <attnrt/kernel/optimize.h>
#include <attnrt/kernel/call.h>

/* the numbers of the arrays of a call */
enum {
    ARRAY_q, ARRAY_k, ARRAY_v, ARRAY_out, ARRAY_gate_array, ARRAY_beta_array, ARRAY_log_decay_q, ARRAY_log_decay_q_low,
    ARRAY_log_decay_k, ARRAY_log_decay_k_low, ARRAY_log_decay_chunk, ARRAY_log_decay_chunk_low
};

#ifdef __FILE_NAME__
#define LOOPS __FILE_NAME__ /* this file, whose first part has the loops */
#else
#define LOOPS "kda.c"
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
#define DECAYED_KEYS 32
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
#define DECAYED_KEYS 32
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
#define DECAYED_KEYS 32
#define OF(v4, v3, any) any /* a number of each target */
#define SECTION
#include LOOPS
#undef SECTION

/* ==== tables for the library that calls these functions (attnrt/kernel/call.h) ==== */
static const struct attn_param param[] = {
    {"gate", ATTN_F32, 4, {ATTN_BATCH, ATTN_HEADS, ATTN_N_K, 64}, offsetof(struct kda_params, gate), 0,
        offsetof(struct kda_strides, gate), 0, 1, ATTN_NO_LIMITS},
    {"beta", ATTN_F32, 3, {ATTN_BATCH, ATTN_HEADS, ATTN_N_K}, offsetof(struct kda_params, beta), 0,
        offsetof(struct kda_strides, beta), 0, 1, ATTN_NO_LIMITS},
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
    {.name = "beta", .access = {ACCESS_READ, ACCESS_NONE}, .dtype = ATTN_F32, .rows = ROWS_OF_KEYS,
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
};

#if defined(__x86_64__)
static int runs_v4(void)
{
    return attn_x86_64_level() >= 4;
}
static const struct program programs_v4[] = {
    {.role = RUN_FORWARD,
     .rows = kda_linear_v4, .tile = 0, .own = 86272, .of_token = 4160, .in_keys = 1, .own_sums = 1},
    {.role = RUN_TERMS,
     .rows = kda_terms_v4, .tile = 64, .own = 32768, .of_pair = 128},
};
#endif
#if defined(__x86_64__)
static int runs_v3(void)
{
    return attn_x86_64_level() >= 3;
}
static const struct program programs_v3[] = {
    {.role = RUN_FORWARD,
     .rows = kda_linear_v3, .tile = 0, .own = 86272, .of_token = 4160, .in_keys = 1, .own_sums = 1},
    {.role = RUN_TERMS,
     .rows = kda_terms_v3, .tile = 64, .own = 32768, .of_pair = 128},
};
#endif
static const struct program programs_any[] = {
    {.role = RUN_FORWARD,
     .rows = kda_linear_any, .tile = 0, .own = 86272, .of_token = 4160, .in_keys = 1, .own_sums = 1},
    {.role = RUN_TERMS,
     .rows = kda_terms_any, .tile = 64, .own = 32768, .of_pair = 128},
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
    .layout = KERNEL_LAYOUT, .name = "kda", .openmp = OPENMP,
    .target = target, .targets = sizeof target / sizeof *target - 1,
    .array = array, .arrays = sizeof array / sizeof *array,
    .param = param, .params = 2, .params_bytes = sizeof(struct kda_params),
    .dtype = ATTN_F32, .key_dtype = ATTN_F32, .value_dtype = ATTN_F32, .real = sizeof(float), .element = sizeof(float),
    .head_dim = 64, .value_dim = 64, .key_row = 64, .value_row = 64,
    .strided = 1, .strides = offsetof(struct kda_params, strides),
    .shares = 1,
    .delta = 1,
    .positions = 1,
    .ids = -1,
    .corrected = -1,
    .prefix_row = 64,
    .sum_tokens = 512,
    .prefix = {ARRAY_log_decay_q, ARRAY_log_decay_q_low, ARRAY_log_decay_k, ARRAY_log_decay_k_low,
        ARRAY_log_decay_chunk, ARRAY_log_decay_chunk_low, NO_ARRAY, NO_ARRAY, NO_ARRAY},
    .solution = -1,
};

/* ==== the interface ==== */
size_t kda_params_size(void) { return attn_call_params_size(&kernel); }
int kda_params_init(struct kda_params *params, uint64_t seed, void *storage)
{
    return attn_call_params_init(&kernel, params, seed, storage);
}
size_t kda_workspace(const struct attn_problem *problem) { return attn_call_workspace(&kernel, problem); }
int kda_forward(const struct attn_problem *problem, const struct kda_params *params, const float *q, const float *k,
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
const struct attn_kernel kda_kernel = {
    .name = "kda", .version = "0.2.0", .dtype = ATTN_F32, .head_dim = 64, .value_dim = 64,
    .params = 2, .param = param, .params_bytes = sizeof(struct kda_params),
    .params_size = kda_params_size, .params_init = params_init_any, .forward = forward_any,
    .workspace = kda_workspace,
    .key_dtype = ATTN_F32, .value_dtype = ATTN_F32,
    .strides = offsetof(struct kda_params, strides), .strides_bytes = sizeof(struct kda_strides),
    .before = INT64_MAX, .after = 0, .period = 0, .names_heads = 0, .names_sequences = 0, .in_parts = 0,
    .saved_power = 0, .has_sink = 0, .open_keys = 0, .end_of_keys = INT64_MAX,
};
#endif /* a compiler of this language */
#endif /* SECTION */
