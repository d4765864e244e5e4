/* forgetting.c, made by attnc 0.2.0: attnc forgetting.yaml
   C11 with GNU extensions, for a C compiler; C++ includes forgetting.h.
   softmax attention with a forget gate: logits fall by the logarithms of the gates after the key
   Lin et al., Forgetting Transformer: Softmax Attention with a Forget Gate (ICLR 2025), section 3; gate is log(f)

   Computes, in f32, over the axes b (batch), g (key/value head), m (query head of g), i (query), j (key), d (64),
   e (64), position (key):
     q [b g m i d]
     k [b g j d]
     v [b g j e]
     gate [b g m j], learned parameter
     x4 [b g m position] = max(gate[b, g, m, position], -10000)
     x5 [b g m i] = sum over position of x4 if position <= i + query_start
     x6 [b g m j] = sum over position of x4 if position <= j
     x7 [b g m i j] = sum over d of q * k
     x8 [b g m i j] = exp(x7 * 0.125 + x5 - x6)
     x9 [b g m i] = sum over j of x8 if j <= i + query_start
     x10 [b g m i e] = sum over j of x8 * v if j <= i + query_start
     x11 [b g m i e] = x9 == 0 ? 0 : x10 / x9
     out = x11
   query_start is the position of the first query: problem.query_start[b], or n_k - n_q if that is NULL.

   How: each vector lane holds one query. Keys are processed in tiles,
   so row sums and maxima need no reduction across lanes.
   The sums of a tile start from zero and are added to the sums so far. Tiles that no query sees are skipped.
     x86-64-v4  quadratic tiles of 64 queries and 288 keys; 155136 bytes of workspace per thread
     x86-64-v3  quadratic tiles of 64 queries and 288 keys; 155136 bytes of workspace per thread
     generic    quadratic tiles of 64 queries and 288 keys; 155136 bytes of workspace per thread

   Contents:
     loops      forgetting_rows, forgetting_saved, forgetting_row_sums, forgetting_dq_dlog_decay_q, forgetting_dk_dv,
     forgetting_dlog_decay_k, forgetting_terms_dgate, forgetting_terms
     targets    x86-64-v4, x86-64-v3, generic
     tables     arrays and programs, for the functions of attnrt that call the loops
     interface  forgetting_workspace, forgetting_forward, forgetting_backward, forgetting_kernel
   The file includes itself, so that the loops are compiled once for each target. T(name) is a name with the target's
   suffix, LANES the elements of its vectors, and OF(…) a number for each target.

   Compile with: cc -O2 -fopenmp forgetting.c … -lattnrt -lm */
#ifdef SECTION
#include <attnrt/kernel/vector.h>
#include <attnrt/kernel/elementary.h>
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
TARGET APART void T(dot3)(int64_t lanes, int64_t rows, const float *a, int64_t a_row, const float *b, float *c)
{
    T(dot_ahead)(/*vectors=*/OF(4, 2, 2), lanes, rows, /*tail=*/-1, /*steps=*/64, /*span=*/32, a, a_row, /*a_step=*/1,
        b, /*b_step=*/80, c, /*c_row=*/80, /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL, /*next=*/NULL,
        /*next_row=*/0, /*width=*/0, /*result=*/NULL, /*result_row=*/0, /*result_width=*/0, /*results=*/0);
}
TARGET APART void T(dot4)(int64_t lanes, int64_t rows, const float *a, int64_t a_row, const float *b, float *c,
    const float *result, int64_t result_row, int64_t results)
{
    T(dot_ahead)(/*vectors=*/OF(4, 2, 2), lanes, rows, /*tail=*/-1, /*steps=*/64, /*span=*/32, a, a_row, /*a_step=*/1,
        b, /*b_step=*/80, c, /*c_row=*/80, /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL, /*next=*/NULL,
        /*next_row=*/0, /*width=*/0, result, result_row, /*result_width=*/64, results);
}
TARGET APART void T(dot5)(int64_t lanes, int64_t steps, const float *a, int64_t a_step, const float *b, float *c,
    float *compensation)
{
    T(dot_finite)(/*vectors=*/OF(4, 2, 2), lanes, /*rows=*/64, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/1, a_step,
        b, /*b_step=*/80, c, /*c_row=*/80, /*update=*/3, /*factor=*/NULL, compensation);
}
TARGET APART void T(dot6)(int64_t lanes, int64_t steps, const float *a, int64_t a_step, const float *b, float *c,
    float *compensation)
{
    T(dot)(/*vectors=*/OF(4, 2, 2), lanes, /*rows=*/64, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/1, a_step, b,
        /*b_step=*/80, c, /*c_row=*/80, /*update=*/3, /*factor=*/NULL, compensation);
}

/* Computes task number `task`: one tile of queries of one head. `work` is this thread's workspace. */
TARGET static void T(forgetting_rows)(const struct call *call, int64_t task, unsigned char *work)
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
    const float *const log_decay_q_low = (const float *)call->array[ARRAY_log_decay_q_low].at + b *
        call->array[ARRAY_log_decay_q_low].strides.batch + (g * members + m) *
        call->array[ARRAY_log_decay_q_low].strides.head;
    const float *const log_decay_q = (const float *)call->array[ARRAY_log_decay_q].at + b *
        call->array[ARRAY_log_decay_q].strides.batch + (g * members + m) * call->array[ARRAY_log_decay_q].strides.head;
    const float *const log_decay_k_low = (const float *)call->array[ARRAY_log_decay_k_low].at + b *
        call->array[ARRAY_log_decay_k_low].strides.batch + (g * members + m) *
        call->array[ARRAY_log_decay_k_low].strides.head;
    const float *const log_decay_k = (const float *)call->array[ARRAY_log_decay_k].at + b *
        call->array[ARRAY_log_decay_k].strides.batch + (g * members + m) * call->array[ARRAY_log_decay_k].strides.head;
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
    float *const saved_0 = call->array[ARRAY_saved_0].at ? (float *)call->array[ARRAY_saved_0].at + (b * call->p.heads +
        (g * members + m)) * call->p.n_q : NULL;
    float *const q_tile = (float *)(void *)(work + 134144); /* [d: 64, i: 64 of 80] */
    float *const log_decay_q_tile = (float *)(void *)(work + 154624); /* [i: 64] */
    float *const log_decay_q_low_tile = (float *)(void *)(work + 154880); /* [i: 64] */
    int64_t results = i1 - i0; /* rows of out to prefetch during the first product */
    /* q_tile = q, with zeros beyond the last row */
    T(transpose_padded)(q + i0 * q_row, q_row, i1 - i0, 64, q_tile, 80, LANES);
    /* log_decay_q_tile = log_decay_q, with zeros beyond the last row */
    for (int64_t i = 0; i < round_up(i1 - i0, LANES); i++)
        log_decay_q_tile[i] = i < i1 - i0 ? log_decay_q[(i0 + i)] : 0;
    /* log_decay_q_low_tile = log_decay_q_low, with zeros beyond the last row */
    for (int64_t i = 0; i < round_up(i1 - i0, LANES); i++)
        log_decay_q_low_tile[i] = i < i1 - i0 ? log_decay_q_low[(i0 + i)] : 0;
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
        /* skips the tile if the decay makes all its weights too small to change a sum */
        const double j_gap = max_gap(log_decay_q_tile, i1 - i0, 1, log_decay_k + j0, j1 - j0, 1, 1.4426950408889634);
        if (i1 + query_start <= n_k && fades(j_gap, n_k) && fades(j_gap + max_norm_of_columns(q_tile, i1 - i0, 80,
            64) * (max_norm_of_rows(k + j0 * k_row, j1 - j0, k_row, 64) + max_norm_of_rows(k + max(i0 + query_start,
            0) * k_row, i1 + query_start - max(i0 + query_start, 0), k_row, 64)), n_k)) continue;
        /* score[j][i] = sum over d of k * q_tile */
        T(dot0)(round_up(i1 - i0, LANES), j1 - j0, k + j0 * k_row, k_row, q_tile, score, v + j0 * v_row, v_row,
            out + i0 * out_row, out_row, results);
        results = 0;
        /* old_max = row_max */
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            T(store)(old_max + i, T(load)(row_max + i));
        }
        if ((i0 + query_start + 1) < j1) { /* the tile is partly outside the mask */
            /* score = select(j <= (i + query_start), score + (((log_decay_q_tile - log_decay_k) + (log_decay_q_low_tile
               - log_decay_k_low)) *  ... */
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                const T(ints) t_0 = (i0 + i + T(lane)) + query_start;
                const T(vec) log_decay_q_tile_2 = T(load)(log_decay_q_tile + i);
                const T(vec) log_decay_q_low_tile_3 = T(load)(log_decay_q_low_tile + i);
                T(vec) row_max_in = T(load)(row_max + i);
                for (int64_t j = 0; j < j1 - j0; j++) {
                    const T(vec) score_1 = T(load)(score + j * 80 + i);
                    const T(vec) score_new4 = T(pick)(__builtin_convertvector((j0 + j) <= t_0, T(mask)),
                        score_1 + (((log_decay_q_tile_2 - log_decay_k[(j0 + j)]) + (log_decay_q_low_tile_3 -
                        log_decay_k_low[(j0 + j)])) * 1.442695f), T(splat)(-INFINITY));
                    T(store)(score + j * 80 + i, score_new4);
                    row_max_in = T(max)(row_max_in, score_new4);
                }
                T(store)(row_max + i, row_max_in);
            }
        }
        if (!((i0 + query_start + 1) < j1)) { /* the tile is wholly inside the mask */
            /* score = score + (((log_decay_q_tile - log_decay_k) + (log_decay_q_low_tile - log_decay_k_low)) *
               1.442695f); row_max max= score */
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                const T(vec) log_decay_q_tile_6 = T(load)(log_decay_q_tile + i);
                const T(vec) log_decay_q_low_tile_7 = T(load)(log_decay_q_low_tile + i);
                T(vec) row_max_in = T(load)(row_max + i);
                for (int64_t j = 0; j < j1 - j0; j++) {
                    const T(vec) score_5 = T(load)(score + j * 80 + i);
                    const T(vec) score_new8 = score_5 + (((log_decay_q_tile_6 - log_decay_k[(j0 + j)]) +
                        (log_decay_q_low_tile_7 - log_decay_k_low[(j0 + j)])) * 1.442695f);
                    T(store)(score + j * 80 + i, score_new8);
                    row_max_in = T(max)(row_max_in, score_new8);
                }
                T(store)(row_max + i, row_max_in);
            }
        }
        /* old_max = exp2(old_max - row_max); row_sum = row_sum * old_max;
           row_sum_compensation = row_sum_compensation * old_max */
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            const T(vec) old_max_9 = T(load)(old_max + i);
            const T(vec) old_max_new10 = T(exp2)(old_max_9 - T(load)(row_max + i));
            T(store)(old_max + i, old_max_new10);
            T(store)(row_sum + i, T(load)(row_sum + i) * old_max_new10);
            T(store)(row_sum_compensation + i, T(load)(row_sum_compensation + i) * old_max_new10);
        }
        /* score = exp2(score - row_max); row_sum += score */
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            const T(vec) row_max_12 = T(load)(row_max + i);
            T(vec) row_sum_in = (T(vec)){0};
            for (int64_t j = 0; j < j1 - j0; j++) {
                const T(vec) score_11 = T(load)(score + j * 80 + i);
                const T(vec) score_new13 = T(exp2)(score_11 - row_max_12);
                T(store)(score + j * 80 + i, score_new13);
                row_sum_in += score_new13;
            }
            T(add)(row_sum + i, row_sum_compensation + i, row_sum_in, T(splat)(1));
        }
        /* sum[e][i] = sum * old_max + sum over j of v * score */
        if (__builtin_expect(((i0 + query_start + 1) < j1) && !T(finite)(v + j0 * v_row, v_row, j1 - j0, 64),
            0)) { /* infinity and NaN affect only queries that see them */
            T(dot1)(round_up(i1 - i0, LANES), j1 - j0, v + j0 * v_row, v_row, score, sum, old_max, sum_compensation);
            for (int64_t j = 0; j < j1 - j0; j++) {
                T(mask) in_region[OF(4, 8, 16)] = {0};
                if (T(finite)(v + j0 * v_row + j * v_row, 1, 64, 1)) continue;
                for (int64_t i = 0; i < i1 - i0; i += LANES) {
                    in_region[i / LANES] = __builtin_convertvector((j0 + j) <= ((i0 + i + T(lane)) + query_start),
                        T(mask));
                }
                T(add_seen)(64, sum, 80, v + j0 * v_row + j * v_row, 1, score + j * 80, in_region, i1 - i0);
            }
        } else
            T(dot2)(round_up(i1 - i0, LANES), j1 - j0, v + j0 * v_row, v_row, score, sum, old_max, sum_compensation);
    }
    /* sum = select(row_sum == 0.0f, 0.0f, sum * (1.0f / row_sum)) */
    for (int64_t i = 0; i < i1 - i0; i += LANES) {
        const T(vec) row_sum_14 = T(load)(row_sum + i);
        const T(mask) t_15 = row_sum_14 == 0.0f;
        const T(vec) t_16 = 1.0f / row_sum_14;
        for (int64_t e = 0; e < 64; e++) {
            T(store)(sum + e * 80 + i, T(pick)(t_15, T(splat)(0.0f), T(load)(sum + e * 80 + i) * t_16));
        }
    }
    if (saved_0) {
        /* row_sum = select(row_sum == 0.0f, 0.0f, (log(row_sum) + (row_max * 0.6931472f)) * 1.442695f) */
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            const T(vec) row_sum_17 = T(load)(row_sum + i);
            T(store)(row_sum + i, T(pick)(row_sum_17 == 0.0f, T(splat)(0.0f),
                (T(log)(row_sum_17) + (T(load)(row_max + i) * 0.6931472f)) * 1.442695f));
        }
    }
    /* out = sum, transposed back */
    T(transpose_out)(sum, 80, 64, i1 - i0, out + i0 * out_row, out_row, LANES);
    if (saved_0) {
        /* saved_0 = row_sum */
        for (int64_t i = 0; i < i1 - i0; i++)
            saved_0[(i0 + i)] = row_sum[i];
    }
}

/* Computes task number `task`: one tile of queries of one head. `work` is this thread's workspace. */
TARGET static void T(forgetting_saved)(const struct call *call, int64_t task, unsigned char *work)
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
    const float *const log_decay_q_low = (const float *)call->array[ARRAY_log_decay_q_low].at + b *
        call->array[ARRAY_log_decay_q_low].strides.batch + (g * members + m) *
        call->array[ARRAY_log_decay_q_low].strides.head;
    const float *const log_decay_q = (const float *)call->array[ARRAY_log_decay_q].at + b *
        call->array[ARRAY_log_decay_q].strides.batch + (g * members + m) * call->array[ARRAY_log_decay_q].strides.head;
    const float *const log_decay_k_low = (const float *)call->array[ARRAY_log_decay_k_low].at + b *
        call->array[ARRAY_log_decay_k_low].strides.batch + (g * members + m) *
        call->array[ARRAY_log_decay_k_low].strides.head;
    const float *const log_decay_k = (const float *)call->array[ARRAY_log_decay_k].at + b *
        call->array[ARRAY_log_decay_k].strides.batch + (g * members + m) * call->array[ARRAY_log_decay_k].strides.head;
    float *const score = (float *)(void *)(work + 0); /* [j: 288, i: 64 of 80] */
    float *const row_max = (float *)(void *)(work + 92160); /* [i: 64] */
    float *const old_max = (float *)(void *)(work + 92416); /* [i: 64] */
    float *const row_sum = (float *)(void *)(work + 92672); /* [i: 64] */
    float *const row_sum_compensation = (float *)(void *)(work + 92928); /* [i: 64] */
    float *const saved_0 = (float *)call->array[ARRAY_saved_0].at + (b * call->p.heads + (g * members + m)) *
        call->p.n_q;
    float *const q_tile = (float *)(void *)(work + 93184); /* [d: 64, i: 64 of 80] */
    float *const log_decay_q_tile = (float *)(void *)(work + 113664); /* [i: 64] */
    float *const log_decay_q_low_tile = (float *)(void *)(work + 113920); /* [i: 64] */
    /* q_tile = q, with zeros beyond the last row */
    T(transpose_padded)(q + i0 * q_row, q_row, i1 - i0, 64, q_tile, 80, LANES);
    /* log_decay_q_tile = log_decay_q, with zeros beyond the last row */
    for (int64_t i = 0; i < round_up(i1 - i0, LANES); i++)
        log_decay_q_tile[i] = i < i1 - i0 ? log_decay_q[(i0 + i)] : 0;
    /* log_decay_q_low_tile = log_decay_q_low, with zeros beyond the last row */
    for (int64_t i = 0; i < round_up(i1 - i0, LANES); i++)
        log_decay_q_low_tile[i] = i < i1 - i0 ? log_decay_q_low[(i0 + i)] : 0;
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
    for (int64_t j0 = 0, j_end = min(n_k, i1 + query_start); j0 < j_end; j0 += 288) {
        const int64_t j1 = min(j0 + 288, j_end);
        /* skips the tile if the decay makes all its weights too small to change a sum */
        const double j_gap = max_gap(log_decay_q_tile, i1 - i0, 1, log_decay_k + j0, j1 - j0, 1, 1.4426950408889634);
        if (i1 + query_start <= n_k && fades(j_gap, n_k) && fades(j_gap + max_norm_of_columns(q_tile, i1 - i0, 80,
            64) * (max_norm_of_rows(k + j0 * k_row, j1 - j0, k_row, 64) + max_norm_of_rows(k + max(i0 + query_start,
            0) * k_row, i1 + query_start - max(i0 + query_start, 0), k_row, 64)), n_k)) continue;
        /* score[j][i] = sum over d of k * q_tile */
        T(dot3)(round_up(i1 - i0, LANES), j1 - j0, k + j0 * k_row, k_row, q_tile, score);
        /* old_max = row_max */
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            T(store)(old_max + i, T(load)(row_max + i));
        }
        if ((i0 + query_start + 1) < j1) { /* the tile is partly outside the mask */
            /* score = select(j <= (i + query_start), score + (((log_decay_q_tile - log_decay_k) + (log_decay_q_low_tile
               - log_decay_k_low)) *  ... */
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                const T(ints) t_0 = (i0 + i + T(lane)) + query_start;
                const T(vec) log_decay_q_tile_2 = T(load)(log_decay_q_tile + i);
                const T(vec) log_decay_q_low_tile_3 = T(load)(log_decay_q_low_tile + i);
                T(vec) row_max_in = T(load)(row_max + i);
                for (int64_t j = 0; j < j1 - j0; j++) {
                    const T(vec) score_1 = T(load)(score + j * 80 + i);
                    const T(vec) score_new4 = T(pick)(__builtin_convertvector((j0 + j) <= t_0, T(mask)),
                        score_1 + (((log_decay_q_tile_2 - log_decay_k[(j0 + j)]) + (log_decay_q_low_tile_3 -
                        log_decay_k_low[(j0 + j)])) * 1.442695f), T(splat)(-INFINITY));
                    T(store)(score + j * 80 + i, score_new4);
                    row_max_in = T(max)(row_max_in, score_new4);
                }
                T(store)(row_max + i, row_max_in);
            }
        }
        if (!((i0 + query_start + 1) < j1)) { /* the tile is wholly inside the mask */
            /* score = score + (((log_decay_q_tile - log_decay_k) + (log_decay_q_low_tile - log_decay_k_low)) *
               1.442695f); row_max max= score */
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                const T(vec) log_decay_q_tile_6 = T(load)(log_decay_q_tile + i);
                const T(vec) log_decay_q_low_tile_7 = T(load)(log_decay_q_low_tile + i);
                T(vec) row_max_in = T(load)(row_max + i);
                for (int64_t j = 0; j < j1 - j0; j++) {
                    const T(vec) score_5 = T(load)(score + j * 80 + i);
                    const T(vec) score_new8 = score_5 + (((log_decay_q_tile_6 - log_decay_k[(j0 + j)]) +
                        (log_decay_q_low_tile_7 - log_decay_k_low[(j0 + j)])) * 1.442695f);
                    T(store)(score + j * 80 + i, score_new8);
                    row_max_in = T(max)(row_max_in, score_new8);
                }
                T(store)(row_max + i, row_max_in);
            }
        }
        /* old_max = exp2(old_max - row_max); row_sum = row_sum * old_max;
           row_sum_compensation = row_sum_compensation * old_max */
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            const T(vec) old_max_9 = T(load)(old_max + i);
            const T(vec) old_max_new10 = T(exp2)(old_max_9 - T(load)(row_max + i));
            T(store)(old_max + i, old_max_new10);
            T(store)(row_sum + i, T(load)(row_sum + i) * old_max_new10);
            T(store)(row_sum_compensation + i, T(load)(row_sum_compensation + i) * old_max_new10);
        }
        /* score = exp2(score - row_max); row_sum += score */
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            const T(vec) row_max_12 = T(load)(row_max + i);
            T(vec) row_sum_in = (T(vec)){0};
            for (int64_t j = 0; j < j1 - j0; j++) {
                const T(vec) score_11 = T(load)(score + j * 80 + i);
                const T(vec) score_new13 = T(exp2)(score_11 - row_max_12);
                T(store)(score + j * 80 + i, score_new13);
                row_sum_in += score_new13;
            }
            T(add)(row_sum + i, row_sum_compensation + i, row_sum_in, T(splat)(1));
        }
    }
    /* row_sum = select(row_sum == 0.0f, 0.0f, (log(row_sum) + (row_max * 0.6931472f)) * 1.442695f) */
    for (int64_t i = 0; i < i1 - i0; i += LANES) {
        const T(vec) row_sum_14 = T(load)(row_sum + i);
        T(store)(row_sum + i, T(pick)(row_sum_14 == 0.0f, T(splat)(0.0f),
            (T(log)(row_sum_14) + (T(load)(row_max + i) * 0.6931472f)) * 1.442695f));
    }
    /* saved_0 = row_sum */
    for (int64_t i = 0; i < i1 - i0; i++)
        saved_0[(i0 + i)] = row_sum[i];
}

/* Computes task number `task`: one tile of queries of one head. `work` is this thread's workspace. */
TARGET static void T(forgetting_row_sums)(const struct call *call, int64_t task, unsigned char *work)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_q = call->p.n_q;
    const int64_t tiles = (n_q + 64 - 1) / 64, i0 = (tiles - 1 - task % tiles) * 64,
        i1 = min(i0 + 64, n_q);
    const int64_t m = task / tiles % members;
    const int64_t g = task / tiles / members % kv_heads;
    const int64_t b = task / tiles / members / kv_heads;
    const float *const out = (const float *)call->array[ARRAY_out].at + b * call->array[ARRAY_out].strides.batch + (g *
        members + m) * call->array[ARRAY_out].strides.head;
    const int64_t out_row = call->array[ARRAY_out].strides.row;
    const float *const dout = (const float *)call->array[ARRAY_dout].at + b * call->array[ARRAY_dout].strides.batch + (g
        * members + m) * call->array[ARRAY_dout].strides.head;
    const int64_t dout_row = call->array[ARRAY_dout].strides.row;
    float *const result = (float *)(void *)(work + 0); /* [i: 64] */
    float *const row_0 = (float *)call->array[ARRAY_row_0].at + (b * call->p.heads + (g * members + m)) * call->p.n_q;
    float *const out_tile = (float *)(void *)(work + 256); /* [e: 64, i: 64 of 80] */
    float *const dout_tile = (float *)(void *)(work + 20736); /* [e: 64, i: 64 of 80] */
    /* out_tile = out, with zeros beyond the last row */
    T(transpose_padded)(out + i0 * out_row, out_row, i1 - i0, 64, out_tile, 80, LANES);
    /* dout_tile = dout, with zeros beyond the last row */
    T(transpose_padded)(dout + i0 * dout_row, dout_row, i1 - i0, 64, dout_tile, 80, LANES);
    /* result = 0.0f */
    for (int64_t i = 0; i < i1 - i0; i += LANES) {
        T(store)(result + i, T(splat)(0.0f));
    }
    /* result += dout_tile * neg(out_tile) */
    for (int64_t i_first = 0; i_first < i1 - i0; i_first += OF(64, 16, 8)) {
        T(vec) result_in[OF(4, 2, 2)];
        UNROLL for (int64_t vector = 0, i = i_first; vector < OF(4, 2, 2); vector++, i += LANES) {
            result_in[vector] = (T(vec)){0};
        }
        for (int64_t e = 0; e < 64; e++) {
            UNROLL for (int64_t vector = 0, i = i_first; vector < OF(4, 2, 2); vector++, i += LANES) {
                result_in[vector] += T(load)(dout_tile + e * 80 + i) * (-T(load)(out_tile + e * 80 + i));
            }
        }
        UNROLL for (int64_t vector = 0, i = i_first; vector < OF(4, 2, 2); vector++, i += LANES) {
            T(store)(result + i, T(load)(result + i) + result_in[vector]);
        }
    }
    /* row_0 = result */
    for (int64_t i = 0; i < i1 - i0; i++)
        row_0[(i0 + i)] = result[i];
}

/* Computes task number `task`: one tile of queries of one head. `work` is this thread's workspace. */
TARGET static void T(forgetting_dq_dlog_decay_q)(const struct call *call, int64_t task, unsigned char *work)
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
    const float *const log_decay_q_low = (const float *)call->array[ARRAY_log_decay_q_low].at + b *
        call->array[ARRAY_log_decay_q_low].strides.batch + (g * members + m) *
        call->array[ARRAY_log_decay_q_low].strides.head;
    const float *const log_decay_q = (const float *)call->array[ARRAY_log_decay_q].at + b *
        call->array[ARRAY_log_decay_q].strides.batch + (g * members + m) * call->array[ARRAY_log_decay_q].strides.head;
    const float *const log_decay_k_low = (const float *)call->array[ARRAY_log_decay_k_low].at + b *
        call->array[ARRAY_log_decay_k_low].strides.batch + (g * members + m) *
        call->array[ARRAY_log_decay_k_low].strides.head;
    const float *const log_decay_k = (const float *)call->array[ARRAY_log_decay_k].at + b *
        call->array[ARRAY_log_decay_k].strides.batch + (g * members + m) * call->array[ARRAY_log_decay_k].strides.head;
    const float *const dout = (const float *)call->array[ARRAY_dout].at + b * call->array[ARRAY_dout].strides.batch + (g
        * members + m) * call->array[ARRAY_dout].strides.head;
    const int64_t dout_row = call->array[ARRAY_dout].strides.row;
    const float *const row_0 = (const float *)call->array[ARRAY_row_0].at + (b * call->p.heads + (g * members + m)) *
        call->p.n_q;
    const float *const saved_0 = (const float *)call->array[ARRAY_saved_0].at + (b * call->p.heads + (g * members + m))
        * call->p.n_q;
    float *const score = (float *)(void *)(work + 0); /* [j: 288, i: 64 of 80] */
    float *const score_2 = (float *)(void *)(work + 92160); /* [j: 288, i: 64 of 80] */
    float *const weight_3 = (float *)(void *)(work + 184320); /* [j: 288, i: 64 of 80] */
    float *const row_sum = (float *)(void *)(work + 276480); /* [i: 64] */
    float *const row_sum_compensation = (float *)(void *)(work + 276736); /* [i: 64] */
    float *const sum = (float *)(void *)(work + 276992); /* [d: 64, i: 64 of 80] */
    float *const sum_compensation = (float *)(void *)(work + 297472); /* [d: 64, i: 64 of 80] */
    float *const dq = call->array[ARRAY_dq].at ? (float *)call->array[ARRAY_dq].at + b *
        call->array[ARRAY_dq].strides.batch + (g * members + m) * call->array[ARRAY_dq].strides.head : NULL;
    const int64_t dq_row = call->array[ARRAY_dq].strides.row;
    float *const dlog_decay_q = call->array[ARRAY_dlog_decay_q].at ? (float *)call->array[ARRAY_dlog_decay_q].at + b *
        call->array[ARRAY_dlog_decay_q].strides.batch + (g * members + m) * call->array[ARRAY_dlog_decay_q].strides.head
        : NULL;
    const int64_t dlog_decay_q_row = call->array[ARRAY_dlog_decay_q].strides.row;
    float *const q_tile = (float *)(void *)(work + 317952); /* [d: 64, i: 64 of 80] */
    float *const dout_tile = (float *)(void *)(work + 338432); /* [e: 64, i: 64 of 80] */
    float *const log_decay_q_tile = (float *)(void *)(work + 358912); /* [i: 64] */
    float *const log_decay_q_low_tile = (float *)(void *)(work + 359168); /* [i: 64] */
    float *const saved_0_tile = (float *)(void *)(work + 359424); /* [i: 64] */
    float *const row_0_tile = (float *)(void *)(work + 359680); /* [i: 64] */
    int64_t results = i1 - i0; /* rows of dq to prefetch during the first product */
    /* q_tile = q, with zeros beyond the last row */
    T(transpose_padded)(q + i0 * q_row, q_row, i1 - i0, 64, q_tile, 80, LANES);
    /* dout_tile = dout, with zeros beyond the last row */
    T(transpose_padded)(dout + i0 * dout_row, dout_row, i1 - i0, 64, dout_tile, 80, LANES);
    /* log_decay_q_tile = log_decay_q, with zeros beyond the last row */
    for (int64_t i = 0; i < round_up(i1 - i0, LANES); i++)
        log_decay_q_tile[i] = i < i1 - i0 ? log_decay_q[(i0 + i)] : 0;
    /* log_decay_q_low_tile = log_decay_q_low, with zeros beyond the last row */
    for (int64_t i = 0; i < round_up(i1 - i0, LANES); i++)
        log_decay_q_low_tile[i] = i < i1 - i0 ? log_decay_q_low[(i0 + i)] : 0;
    /* saved_0_tile = saved_0, with zeros beyond the last row */
    for (int64_t i = 0; i < round_up(i1 - i0, LANES); i++)
        saved_0_tile[i] = i < i1 - i0 ? saved_0[(i0 + i)] : 0;
    /* row_0_tile = row_0, with zeros beyond the last row */
    for (int64_t i = 0; i < round_up(i1 - i0, LANES); i++)
        row_0_tile[i] = i < i1 - i0 ? row_0[(i0 + i)] : 0;
    if (dlog_decay_q) {
        /* row_sum = 0.0f; row_sum_compensation = 0.0f */
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            T(store)(row_sum + i, T(splat)(0.0f));
            T(store)(row_sum_compensation + i, T(splat)(0.0f));
        }
    }
    /* q_tile = q_tile * 0.18033688f; sum = 0.0f; sum_compensation = 0.0f */
    for (int64_t d = 0; d < 64; d++) {
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            T(store)(q_tile + d * 80 + i, T(load)(q_tile + d * 80 + i) * 0.18033688f);
            T(store)(sum + d * 80 + i, T(splat)(0.0f));
            T(store)(sum_compensation + d * 80 + i, T(splat)(0.0f));
        }
    }
    for (int64_t j0 = 0, j_end = min(n_k, i1 + query_start); j0 < j_end; j0 += 288) {
        const int64_t j1 = min(j0 + 288, j_end);
        /* skips the tile if the decay makes all its weights too small to change a sum */
        const double j_gap = max_gap(log_decay_q_tile, i1 - i0, 1, log_decay_k + j0, j1 - j0, 1,
            1.4426950408889634) - min_of(saved_0_tile, i1 - i0, 1);
        if (fades(j_gap, n_k) && fades(j_gap + max_norm_of_columns(q_tile, i1 - i0, 80,
            64) * max_norm_of_rows(k + j0 * k_row, j1 - j0, k_row, 64), n_k)) continue;
        /* score[j][i] = sum over d of k * q_tile */
        T(dot4)(round_up(i1 - i0, LANES), j1 - j0, k + j0 * k_row, k_row, q_tile, score, dq + i0 * dq_row, dq_row,
            results);
        results = 0;
        /* score_2[j][i] = sum over e of v * dout_tile */
        T(dot0)(round_up(i1 - i0, LANES), j1 - j0, v + j0 * v_row, v_row, dout_tile, score_2, k + j0 * k_row, k_row,
            dq + i0 * dq_row, dq_row, results);
        results = 0;
        /* score = exp2((score + (((log_decay_q_tile - log_decay_k) + (log_decay_q_low_tile - log_decay_k_low)) *
           1.442695f)) - saved_0_til ... */
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            const T(vec) log_decay_q_tile_1 = T(load)(log_decay_q_tile + i);
            const T(vec) log_decay_q_low_tile_2 = T(load)(log_decay_q_low_tile + i);
            const T(vec) saved_0_tile_3 = T(load)(saved_0_tile + i);
            const T(vec) row_0_tile_6 = T(load)(row_0_tile + i);
            for (int64_t j = 0; j < j1 - j0; j++) {
                const T(vec) score_0 = T(load)(score + j * 80 + i);
                const T(vec) score_new4 = T(exp2)((score_0 + (((log_decay_q_tile_1 - log_decay_k[(j0 + j)]) +
                    (log_decay_q_low_tile_2 - log_decay_k_low[(j0 + j)])) * 1.442695f)) - saved_0_tile_3);
                T(store)(score + j * 80 + i, score_new4);
                const T(vec) score_2_5 = T(load)(score_2 + j * 80 + i);
                const T(vec) score_2_new7 = score_2_5 + row_0_tile_6;
                T(store)(score_2 + j * 80 + i, score_2_new7);
                T(store)(weight_3 + j * 80 + i, score_2_new7 * (score_new4 * 0.125f));
            }
        }
        if ((i0 + query_start + 1) < j1) { /* the tile is partly outside the mask */
            if (dlog_decay_q) {
                /* score = select(j <= (i + query_start), score_2 * score, 0.0f); row_sum += score */
                for (int64_t i = 0; i < i1 - i0; i += LANES) {
                    const T(ints) t_8 = (i0 + i + T(lane)) + query_start;
                    T(vec) row_sum_in = (T(vec)){0};
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        const T(vec) score_9 = T(load)(score + j * 80 + i);
                        const T(vec) score_new10 = T(pick)(__builtin_convertvector((j0 + j) <= t_8, T(mask)),
                            T(load)(score_2 + j * 80 + i) * score_9, T(splat)(0.0f));
                        T(store)(score + j * 80 + i, score_new10);
                        row_sum_in += score_new10;
                    }
                    T(add)(row_sum + i, row_sum_compensation + i, row_sum_in, T(splat)(1));
                }
            }
        }
        if (!((i0 + query_start + 1) < j1)) { /* the tile is wholly inside the mask */
            if (dlog_decay_q) {
                /* score = score_2 * score; row_sum += score */
                for (int64_t i_first = 0; i_first < i1 - i0; i_first += OF(64, 16, 8)) {
                    T(vec) row_sum_in[OF(4, 2, 2)];
                    UNROLL for (int64_t vector = 0, i = i_first; vector < OF(4, 2, 2); vector++, i += LANES) {
                        row_sum_in[vector] = (T(vec)){0};
                    }
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        UNROLL for (int64_t vector = 0, i = i_first; vector < OF(4, 2, 2); vector++, i += LANES) {
                            const T(vec) score_11 = T(load)(score + j * 80 + i);
                            const T(vec) score_new12 = T(load)(score_2 + j * 80 + i) * score_11;
                            T(store)(score + j * 80 + i, score_new12);
                            row_sum_in[vector] += score_new12;
                        }
                    }
                    UNROLL for (int64_t vector = 0, i = i_first; vector < OF(4, 2, 2); vector++, i += LANES) {
                        T(add)(row_sum + i, row_sum_compensation + i, row_sum_in[vector], T(splat)(1));
                    }
                }
            }
        }
        if ((i0 + query_start + 1) < j1) { /* the tile is partly outside the mask */
            if (dq) {
                /* weight_3 = select(j <= (i + query_start), weight_3, 0.0f) */
                for (int64_t i = 0; i < i1 - i0; i += LANES) {
                    const T(ints) t_13 = (i0 + i + T(lane)) + query_start;
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        T(store)(weight_3 + j * 80 + i, T(pick)(__builtin_convertvector((j0 + j) <= t_13, T(mask)),
                            T(load)(weight_3 + j * 80 + i), T(splat)(0.0f)));
                    }
                }
            }
        }
        if (dq) {
            /* sum[d][i] += sum over j of k * weight_3 */
            if (__builtin_expect(((i0 + query_start + 1) < j1) && !T(finite)(k + j0 * k_row, k_row, j1 - j0, 64),
                0)) { /* infinity and NaN affect only queries that see them */
                T(dot5)(round_up(i1 - i0, LANES), j1 - j0, k + j0 * k_row, k_row, weight_3, sum, sum_compensation);
                for (int64_t j = 0; j < j1 - j0; j++) {
                    T(mask) in_region[OF(4, 8, 16)] = {0};
                    if (T(finite)(k + j0 * k_row + j * k_row, 1, 64, 1)) continue;
                    for (int64_t i = 0; i < i1 - i0; i += LANES) {
                        in_region[i / LANES] = __builtin_convertvector((j0 + j) <= ((i0 + i + T(lane)) + query_start),
                            T(mask));
                    }
                    T(add_seen)(64, sum, 80, k + j0 * k_row + j * k_row, 1, weight_3 + j * 80, in_region, i1 - i0);
                }
            } else
                T(dot6)(round_up(i1 - i0, LANES), j1 - j0, k + j0 * k_row, k_row, weight_3, sum, sum_compensation);
        }
    }
    if (dq) {
        /* sum = sum */
        for (int64_t d = 0; d < 64; d++) {
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                T(store)(sum + d * 80 + i, T(load)(sum + d * 80 + i));
            }
        }
    }
    if (dlog_decay_q) {
        /* row_sum = row_sum */
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            T(store)(row_sum + i, T(load)(row_sum + i));
        }
    }
    if (dq) {
        /* dq = sum, transposed back */
        T(transpose_out)(sum, 80, 64, i1 - i0, dq + i0 * dq_row, dq_row, LANES);
    }
    if (dlog_decay_q) {
        /* dlog_decay_q = row_sum */
        for (int64_t i = 0; i < i1 - i0; i++)
            dlog_decay_q[(i0 + i) * dlog_decay_q_row] = row_sum[i];
    }
}

/* Computes task number `task`: one tile of keys of one head. `work` is this thread's workspace. */
TARGET static void T(forgetting_dk_dv)(const struct call *call, int64_t task, unsigned char *work)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_q = call->p.n_q;
    const int64_t n_k = call->p.n_k;
    const int64_t tiles = (n_k + 64 - 1) / 64, j0 = (tiles - 1 - task % tiles) * 64,
        j1 = min(j0 + 64, n_k);
    const int64_t g = task / tiles % kv_heads;
    const int64_t b = task / tiles / kv_heads;
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
    const int64_t log_decay_k_low_head = call->array[ARRAY_log_decay_k_low].strides.head;
    const float *const log_decay_k = (const float *)call->array[ARRAY_log_decay_k].at + b *
        call->array[ARRAY_log_decay_k].strides.batch + g * members * call->array[ARRAY_log_decay_k].strides.head;
    const int64_t log_decay_k_head = call->array[ARRAY_log_decay_k].strides.head;
    const float *const dout = (const float *)call->array[ARRAY_dout].at + b * call->array[ARRAY_dout].strides.batch + g
        * members * call->array[ARRAY_dout].strides.head;
    const int64_t dout_row = call->array[ARRAY_dout].strides.row;
    const int64_t dout_head = call->array[ARRAY_dout].strides.head;
    const float *const row_0 = (const float *)call->array[ARRAY_row_0].at + (b * call->p.heads + g * members) *
        call->p.n_q;
    const int64_t row_0_head = call->p.n_q;
    const float *const saved_0 = (const float *)call->array[ARRAY_saved_0].at + (b * call->p.heads + g * members) *
        call->p.n_q;
    const int64_t saved_0_head = call->p.n_q;
    float *const score = (float *)(void *)(work + 0); /* [i: 288, j: 64 of 80] */
    float *const score_2 = (float *)(void *)(work + 92160); /* [i: 288, j: 64 of 80] */
    float *const sum = (float *)(void *)(work + 184320); /* [e: 64, j: 64 of 80] */
    float *const sum_compensation = (float *)(void *)(work + 204800); /* [e: 64, j: 64 of 80] */
    float *const sum_2 = (float *)(void *)(work + 225280); /* [d: 64, j: 64 of 80] */
    float *const sum_2_compensation = (float *)(void *)(work + 245760); /* [d: 64, j: 64 of 80] */
    float *const dk = call->array[ARRAY_dk].at ? (float *)call->array[ARRAY_dk].at + b *
        call->array[ARRAY_dk].strides.batch + g * call->array[ARRAY_dk].strides.head : NULL;
    const int64_t dk_row = call->array[ARRAY_dk].strides.row;
    float *const dv = call->array[ARRAY_dv].at ? (float *)call->array[ARRAY_dv].at + b *
        call->array[ARRAY_dv].strides.batch + g * call->array[ARRAY_dv].strides.head : NULL;
    const int64_t dv_row = call->array[ARRAY_dv].strides.row;
    float *const k_tile = (float *)(void *)(work + 266240); /* [d: 64, j: 64 of 80] */
    float *const v_tile = (float *)(void *)(work + 286720); /* [e: 64, j: 64 of 80] */
    float *const log_decay_k_tile = (float *)(void *)(work + 307200); /* [j: 64] */
    float *const log_decay_k_low_tile = (float *)(void *)(work + 307456); /* [j: 64] */
    int64_t results = j1 - j0; /* rows of dk to prefetch during the first product */
    /* k_tile = k, with zeros beyond the last row */
    T(transpose_padded)(k + j0 * k_row, k_row, j1 - j0, 64, k_tile, 80, LANES);
    if (dk) {
        /* v_tile = v, with zeros beyond the last row */
        T(transpose_padded)(v + j0 * v_row, v_row, j1 - j0, 64, v_tile, 80, LANES);
    }
    if (dv) {
        /* sum = 0.0f; sum_compensation = 0.0f */
        for (int64_t e = 0; e < 64; e++) {
            for (int64_t j = 0; j < j1 - j0; j += LANES) {
                T(store)(sum + e * 80 + j, T(splat)(0.0f));
                T(store)(sum_compensation + e * 80 + j, T(splat)(0.0f));
            }
        }
    }
    /* k_tile = k_tile * 0.18033688f; sum_2 = 0.0f; sum_2_compensation = 0.0f */
    for (int64_t d = 0; d < 64; d++) {
        for (int64_t j = 0; j < j1 - j0; j += LANES) {
            T(store)(k_tile + d * 80 + j, T(load)(k_tile + d * 80 + j) * 0.18033688f);
            T(store)(sum_2 + d * 80 + j, T(splat)(0.0f));
            T(store)(sum_2_compensation + d * 80 + j, T(splat)(0.0f));
        }
    }
    for (int64_t m = 0; m < members; m++) {
        /* log_decay_k_tile = log_decay_k, with zeros beyond the last row */
        for (int64_t j = 0; j < round_up(j1 - j0, LANES); j++)
            log_decay_k_tile[j] = j < j1 - j0 ? log_decay_k[m * log_decay_k_head + (j0 + j)] : 0;
        /* log_decay_k_low_tile = log_decay_k_low, with zeros beyond the last row */
        for (int64_t j = 0; j < round_up(j1 - j0, LANES); j++)
            log_decay_k_low_tile[j] = j < j1 - j0 ? log_decay_k_low[m * log_decay_k_low_head + (j0 + j)] : 0;
        for (int64_t i0 = max(0, j0 - query_start), i_end = n_q; i0 < i_end; i0 += 288) {
            const int64_t i1 = min(i0 + 288, i_end);
            /* skips the tile if the decay makes all its weights too small to change a sum */
            const double j_gap = max_gap(log_decay_q + m * log_decay_q_head + i0, i1 - i0, 1, log_decay_k_tile, j1 - j0,
                1, 1.4426950408889634) - min_of(saved_0 + m * saved_0_head + i0, i1 - i0, 1);
            if (fades(j_gap, n_k) && fades(j_gap + max_norm_of_columns(k_tile, j1 - j0, 80,
                64) * max_norm_of_rows(q + m * q_head + i0 * q_row, i1 - i0, q_row, 64), n_k)) continue;
            /* score[i][j] = sum over d of q * k_tile */
            T(dot0)(round_up(j1 - j0, LANES), i1 - i0, q + m * q_head + i0 * q_row, q_row, k_tile, score,
                dout + m * dout_head + i0 * dout_row, dout_row, dk + j0 * dk_row, dk_row, results);
            results = 0;
            if (dk) {
                /* score_2[i][j] = sum over e of dout * v_tile */
                T(dot0)(round_up(j1 - j0, LANES), i1 - i0, dout + m * dout_head + i0 * dout_row, dout_row, v_tile,
                    score_2, q + m * q_head + i0 * q_row, q_row, dk + j0 * dk_row, dk_row, results);
                results = 0;
            }
            /* score = exp2((score + (((log_decay_q - log_decay_k_tile) + (log_decay_q_low - log_decay_k_low_tile)) *
               1.442695f)) - saved_0) */
            for (int64_t j = 0; j < j1 - j0; j += LANES) {
                const T(vec) log_decay_k_tile_0 = T(load)(log_decay_k_tile + j);
                const T(vec) log_decay_k_low_tile_1 = T(load)(log_decay_k_low_tile + j);
                for (int64_t i = 0; i < i1 - i0; i++) {
                    T(store)(score + i * 80 + j, T(exp2)((T(load)(score + i * 80 + j) + ((((log_decay_q[m *
                        log_decay_q_head + (i0 + i)]) - log_decay_k_tile_0) + ((log_decay_q_low[m * log_decay_q_low_head
                        + (i0 + i)]) - log_decay_k_low_tile_1)) * 1.442695f)) - (saved_0[m * saved_0_head + (i0 +
                        i)])));
                }
            }
            if (i0 < (j1 - query_start - 1)) { /* the tile is partly outside the mask */
                /* score = select(j <= (i + query_start), score, 0.0f) */
                for (int64_t j = 0; j < j1 - j0; j += LANES) {
                    const T(ints) t_2 = j0 + j + T(lane);
                    for (int64_t i = 0; i < i1 - i0; i++) {
                        T(store)(score + i * 80 + j, T(pick)(__builtin_convertvector(t_2 <= ((i0 + i) + query_start),
                            T(mask)), T(load)(score + i * 80 + j), T(splat)(0.0f)));
                    }
                }
            }
            if (dv) {
                /* sum[e][j] += sum over i of dout * score */
                if (__builtin_expect((i0 < (j1 - query_start - 1)) && !T(finite)(dout + m * dout_head + i0 * dout_row,
                    dout_row, i1 - i0, 64), 0)) { /* infinity and NaN affect only queries that see them */
                    T(dot5)(round_up(j1 - j0, LANES), i1 - i0, dout + m * dout_head + i0 * dout_row, dout_row, score,
                        sum, sum_compensation);
                    for (int64_t i = 0; i < i1 - i0; i++) {
                        T(mask) in_region[OF(4, 8, 16)] = {0};
                        if (T(finite)(dout + m * dout_head + i0 * dout_row + i * dout_row, 1, 64, 1)) continue;
                        const int64_t t_3 = (i0 + i) + query_start;
                        for (int64_t j = 0; j < j1 - j0; j += LANES) {
                            in_region[j / LANES] = __builtin_convertvector((j0 + j + T(lane)) <= t_3, T(mask));
                        }
                        T(add_seen)(64, sum, 80, dout + m * dout_head + i0 * dout_row + i * dout_row, 1, score + i * 80,
                            in_region, j1 - j0);
                    }
                } else
                    T(dot6)(round_up(j1 - j0, LANES), i1 - i0, dout + m * dout_head + i0 * dout_row, dout_row, score,
                        sum, sum_compensation);
            }
            if (dk) {
                /* score_2 = (score_2 + row_0) * (score * 0.125f) */
                for (int64_t j_first = 0; j_first < j1 - j0; j_first += OF(64, 16, 8)) {
                    for (int64_t i = 0; i < i1 - i0; i++) {
                        UNROLL for (int64_t vector = 0, j = j_first; vector < OF(4, 2, 2); vector++, j += LANES) {
                            T(store)(score_2 + i * 80 + j, (T(load)(score_2 + i * 80 + j) + (row_0[m * row_0_head + (i0
                                + i)])) * (T(load)(score + i * 80 + j) * 0.125f));
                        }
                    }
                }
            }
            if (i0 < (j1 - query_start - 1)) { /* the tile is partly outside the mask */
                if (dk) {
                    /* score_2 = select(j <= (i + query_start), score_2, 0.0f) */
                    for (int64_t j = 0; j < j1 - j0; j += LANES) {
                        const T(ints) t_4 = j0 + j + T(lane);
                        for (int64_t i = 0; i < i1 - i0; i++) {
                            T(store)(score_2 + i * 80 + j, T(pick)(__builtin_convertvector(t_4 <= ((i0 + i) +
                                query_start), T(mask)), T(load)(score_2 + i * 80 + j), T(splat)(0.0f)));
                        }
                    }
                }
            }
            if (dk) {
                /* sum_2[d][j] += sum over i of q * score_2 */
                if (__builtin_expect((i0 < (j1 - query_start - 1)) && !T(finite)(q + m * q_head + i0 * q_row, q_row,
                    i1 - i0, 64), 0)) { /* infinity and NaN affect only queries that see them */
                    T(dot5)(round_up(j1 - j0, LANES), i1 - i0, q + m * q_head + i0 * q_row, q_row, score_2, sum_2,
                        sum_2_compensation);
                    for (int64_t i = 0; i < i1 - i0; i++) {
                        T(mask) in_region[OF(4, 8, 16)] = {0};
                        if (T(finite)(q + m * q_head + i0 * q_row + i * q_row, 1, 64, 1)) continue;
                        const int64_t t_5 = (i0 + i) + query_start;
                        for (int64_t j = 0; j < j1 - j0; j += LANES) {
                            in_region[j / LANES] = __builtin_convertvector((j0 + j + T(lane)) <= t_5, T(mask));
                        }
                        T(add_seen)(64, sum_2, 80, q + m * q_head + i0 * q_row + i * q_row, 1, score_2 + i * 80,
                            in_region, j1 - j0);
                    }
                } else
                    T(dot6)(round_up(j1 - j0, LANES), i1 - i0, q + m * q_head + i0 * q_row, q_row, score_2, sum_2,
                        sum_2_compensation);
            }
        }
    }
    if (dk) {
        /* sum_2 = sum_2 */
        for (int64_t d = 0; d < 64; d++) {
            for (int64_t j = 0; j < j1 - j0; j += LANES) {
                T(store)(sum_2 + d * 80 + j, T(load)(sum_2 + d * 80 + j));
            }
        }
    }
    if (dv) {
        /* sum = sum */
        for (int64_t e = 0; e < 64; e++) {
            for (int64_t j = 0; j < j1 - j0; j += LANES) {
                T(store)(sum + e * 80 + j, T(load)(sum + e * 80 + j));
            }
        }
    }
    if (dk) {
        /* dk = sum_2, transposed back */
        T(transpose_out)(sum_2, 80, 64, j1 - j0, dk + j0 * dk_row, dk_row, LANES);
    }
    if (dv) {
        /* dv = sum, transposed back */
        T(transpose_out)(sum, 80, 64, j1 - j0, dv + j0 * dv_row, dv_row, LANES);
    }
}

/* Computes task number `task`: one tile of keys of one head. `work` is this thread's workspace. */
TARGET static void T(forgetting_dlog_decay_k)(const struct call *call, int64_t task, unsigned char *work)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_q = call->p.n_q;
    const int64_t n_k = call->p.n_k;
    const int64_t tiles = (n_k + 64 - 1) / 64, j0 = (tiles - 1 - task % tiles) * 64,
        j1 = min(j0 + 64, n_k);
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
    const float *const log_decay_q_low = (const float *)call->array[ARRAY_log_decay_q_low].at + b *
        call->array[ARRAY_log_decay_q_low].strides.batch + (g * members + m) *
        call->array[ARRAY_log_decay_q_low].strides.head;
    const float *const log_decay_q = (const float *)call->array[ARRAY_log_decay_q].at + b *
        call->array[ARRAY_log_decay_q].strides.batch + (g * members + m) * call->array[ARRAY_log_decay_q].strides.head;
    const float *const log_decay_k_low = (const float *)call->array[ARRAY_log_decay_k_low].at + b *
        call->array[ARRAY_log_decay_k_low].strides.batch + (g * members + m) *
        call->array[ARRAY_log_decay_k_low].strides.head;
    const float *const log_decay_k = (const float *)call->array[ARRAY_log_decay_k].at + b *
        call->array[ARRAY_log_decay_k].strides.batch + (g * members + m) * call->array[ARRAY_log_decay_k].strides.head;
    const float *const dout = (const float *)call->array[ARRAY_dout].at + b * call->array[ARRAY_dout].strides.batch + (g
        * members + m) * call->array[ARRAY_dout].strides.head;
    const int64_t dout_row = call->array[ARRAY_dout].strides.row;
    const float *const row_0 = (const float *)call->array[ARRAY_row_0].at + (b * call->p.heads + (g * members + m)) *
        call->p.n_q;
    const float *const saved_0 = (const float *)call->array[ARRAY_saved_0].at + (b * call->p.heads + (g * members + m))
        * call->p.n_q;
    float *const score = (float *)(void *)(work + 0); /* [i: 288, j: 64 of 80] */
    float *const score_2 = (float *)(void *)(work + 92160); /* [i: 288, j: 64 of 80] */
    float *const row_sum = (float *)(void *)(work + 184320); /* [j: 64] */
    float *const row_sum_compensation = (float *)(void *)(work + 184576); /* [j: 64] */
    float *const dlog_decay_k = call->array[ARRAY_dlog_decay_k].at ? (float *)call->array[ARRAY_dlog_decay_k].at + b *
        call->array[ARRAY_dlog_decay_k].strides.batch + (g * members + m) * call->array[ARRAY_dlog_decay_k].strides.head
        : NULL;
    float *const k_tile = (float *)(void *)(work + 184832); /* [d: 64, j: 64 of 80] */
    float *const v_tile = (float *)(void *)(work + 205312); /* [e: 64, j: 64 of 80] */
    float *const log_decay_k_tile = (float *)(void *)(work + 225792); /* [j: 64] */
    float *const log_decay_k_low_tile = (float *)(void *)(work + 226048); /* [j: 64] */
    /* k_tile = k, with zeros beyond the last row */
    T(transpose_padded)(k + j0 * k_row, k_row, j1 - j0, 64, k_tile, 80, LANES);
    /* v_tile = v, with zeros beyond the last row */
    T(transpose_padded)(v + j0 * v_row, v_row, j1 - j0, 64, v_tile, 80, LANES);
    /* log_decay_k_tile = log_decay_k, with zeros beyond the last row */
    for (int64_t j = 0; j < round_up(j1 - j0, LANES); j++)
        log_decay_k_tile[j] = j < j1 - j0 ? log_decay_k[(j0 + j)] : 0;
    /* log_decay_k_low_tile = log_decay_k_low, with zeros beyond the last row */
    for (int64_t j = 0; j < round_up(j1 - j0, LANES); j++)
        log_decay_k_low_tile[j] = j < j1 - j0 ? log_decay_k_low[(j0 + j)] : 0;
    /* k_tile = k_tile * 0.18033688f */
    for (int64_t d = 0; d < 64; d++) {
        for (int64_t j = 0; j < j1 - j0; j += LANES) {
            T(store)(k_tile + d * 80 + j, T(load)(k_tile + d * 80 + j) * 0.18033688f);
        }
    }
    /* row_sum = 0.0f; row_sum_compensation = 0.0f */
    for (int64_t j = 0; j < j1 - j0; j += LANES) {
        T(store)(row_sum + j, T(splat)(0.0f));
        T(store)(row_sum_compensation + j, T(splat)(0.0f));
    }
    for (int64_t i0 = max(0, j0 - query_start), i_end = n_q; i0 < i_end; i0 += 288) {
        const int64_t i1 = min(i0 + 288, i_end);
        /* skips the tile if the decay makes all its weights too small to change a sum */
        const double j_gap = max_gap(log_decay_q + i0, i1 - i0, 1, log_decay_k_tile, j1 - j0, 1,
            1.4426950408889634) - min_of(saved_0 + i0, i1 - i0, 1);
        if (fades(j_gap, n_k) && fades(j_gap + max_norm_of_columns(k_tile, j1 - j0, 80,
            64) * max_norm_of_rows(q + i0 * q_row, i1 - i0, q_row, 64), n_k)) continue;
        /* score[i][j] = sum over d of q * k_tile */
        T(dot3)(round_up(j1 - j0, LANES), i1 - i0, q + i0 * q_row, q_row, k_tile, score);
        /* score_2[i][j] = sum over e of dout * v_tile */
        T(dot3)(round_up(j1 - j0, LANES), i1 - i0, dout + i0 * dout_row, dout_row, v_tile, score_2);
        if (i0 < (j1 - query_start - 1)) { /* the tile is partly outside the mask */
            /* score_2 = select(j <= (i + query_start), (score_2 + row_0) * neg(exp2((score + (((log_decay_q -
               log_decay_k_tile) + (log_decay_q ... */
            for (int64_t j = 0; j < j1 - j0; j += LANES) {
                const T(ints) t_0 = j0 + j + T(lane);
                const T(vec) log_decay_k_tile_2 = T(load)(log_decay_k_tile + j);
                const T(vec) log_decay_k_low_tile_3 = T(load)(log_decay_k_low_tile + j);
                T(vec) row_sum_in = (T(vec)){0};
                for (int64_t i = 0; i < i1 - i0; i++) {
                    const T(vec) score_2_1 = T(load)(score_2 + i * 80 + j);
                    const T(vec) score_2_new4 = T(pick)(__builtin_convertvector(t_0 <= ((i0 + i) + query_start),
                        T(mask)), (score_2_1 + row_0[(i0 + i)]) * (-T(exp2)((T(load)(score + i * 80 + j) +
                        (((log_decay_q[(i0 + i)] - log_decay_k_tile_2) + (log_decay_q_low[(i0 + i)] -
                        log_decay_k_low_tile_3)) * 1.442695f)) - saved_0[(i0 + i)])), T(splat)(0.0f));
                    T(store)(score_2 + i * 80 + j, score_2_new4);
                    row_sum_in += score_2_new4;
                }
                T(add)(row_sum + j, row_sum_compensation + j, row_sum_in, T(splat)(1));
            }
        }
        if (!(i0 < (j1 - query_start - 1))) { /* the tile is wholly inside the mask */
            /* score_2 = (score_2 + row_0) * neg(exp2((score + (((log_decay_q - log_decay_k_tile) + (log_decay_q_low -
               log_decay_k_low_tile)) * ... */
            for (int64_t j = 0; j < j1 - j0; j += LANES) {
                const T(vec) log_decay_k_tile_6 = T(load)(log_decay_k_tile + j);
                const T(vec) log_decay_k_low_tile_7 = T(load)(log_decay_k_low_tile + j);
                T(vec) row_sum_in = (T(vec)){0};
                for (int64_t i = 0; i < i1 - i0; i++) {
                    const T(vec) score_2_5 = T(load)(score_2 + i * 80 + j);
                    const T(vec) score_2_new8 = (score_2_5 + row_0[(i0 + i)]) * (-T(exp2)((T(load)(score + i * 80 + j) +
                        (((log_decay_q[(i0 + i)] - log_decay_k_tile_6) + (log_decay_q_low[(i0 + i)] -
                        log_decay_k_low_tile_7)) * 1.442695f)) - saved_0[(i0 + i)]));
                    T(store)(score_2 + i * 80 + j, score_2_new8);
                    row_sum_in += score_2_new8;
                }
                T(add)(row_sum + j, row_sum_compensation + j, row_sum_in, T(splat)(1));
            }
        }
    }
    /* row_sum = row_sum */
    for (int64_t j = 0; j < j1 - j0; j += LANES) {
        T(store)(row_sum + j, T(load)(row_sum + j));
    }
    if (dlog_decay_k) {
        /* dlog_decay_k = row_sum */
        for (int64_t j = 0; j < j1 - j0; j++)
            dlog_decay_k[(j0 + j)] = row_sum[j];
    }
}

/* Computes task number `task`: one tile of keys of one head. `work` is this thread's workspace. */
TARGET static void T(forgetting_terms_dgate)(const struct call *call, int64_t task, unsigned char *work)
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
TARGET static void T(forgetting_terms)(const struct call *call, int64_t task, unsigned char *work)
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
#error "forgetting.c is C, not C++: compile it with a C compiler"
#elif !defined __STDC_VERSION__ || __STDC_VERSION__ < 199901L
#error "forgetting.c is C11, not C89: compile it without -std=, or with -std=gnu11"
extern int forgetting_is_c11;
#elif !defined __GNUC__
#error "forgetting.c uses GNU C vector extensions: compile it with gcc or clang"
extern int forgetting_is_gnu_c;
#else
#include "forgetting.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include <attnrt/kernel/optimize.h>
#include <attnrt/kernel/call.h>
#define REAL float
#include <attnrt/kernel/fades.h>
#undef REAL

/* the numbers of the arrays of a call */
enum {
    ARRAY_q, ARRAY_k, ARRAY_v, ARRAY_out, ARRAY_dout, ARRAY_dq, ARRAY_dk, ARRAY_dv, ARRAY_gate_array, ARRAY_log_decay_q,
    ARRAY_log_decay_q_low, ARRAY_log_decay_k, ARRAY_log_decay_k_low, ARRAY_log_decay_chunk, ARRAY_log_decay_chunk_low,
    ARRAY_dlog_decay_q, ARRAY_dlog_decay_k, ARRAY_dlog_decay, ARRAY_dgate_array, ARRAY_saved_0, ARRAY_row_0
};

#ifdef __FILE_NAME__
#define LOOPS __FILE_NAME__ /* this file, whose first part has the loops */
#else
#define LOOPS "forgetting.c"
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
    {"gate", ATTN_F32, 3, {ATTN_BATCH, ATTN_HEADS, ATTN_N_K}, offsetof(struct forgetting_params, gate), 0,
        offsetof(struct forgetting_strides, gate), 0, 1, ATTN_NO_LIMITS},
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
        .origin = FROM_GRADIENTS, .member = offsetof(struct forgetting_gradients, gate)},
    {.name = "saved_0", .origin = FROM_SAVED},
    {.name = "row_0", .origin = FROM_ROW_SUMS},
};

#if defined(__x86_64__)
static int runs_v4(void)
{
    return attn_x86_64_level() >= 4;
}
static const struct program programs_v4[] = {
    {.role = RUN_FORWARD,
     .rows = forgetting_rows_v4, .tile = 64, .own = 155136, .of_pair = 128, .saves = 1},
    {.role = RUN_BACKWARD, .part = 5, .of_terms = 1,
     .rows = forgetting_terms_dgate_v4, .tile = 64, .own = 512, .of_pair = 128,
         .wanted = (const uint16_t[]){ARRAY_dgate_array, NO_ARRAY}, .of_keys = OF_QUERY_HEAD},
    {.role = RUN_BACKWARD, .part = 4,
     .rows = forgetting_dlog_decay_k_v4, .tile = 64, .own = 226304, .of_pair = 128,
         .wanted = (const uint16_t[]){ARRAY_dlog_decay_k, NO_ARRAY}, .of_keys = OF_QUERY_HEAD},
    {.role = RUN_BACKWARD, .part = 3,
     .rows = forgetting_dk_dv_v4, .tile = 64, .own = 307712, .of_pair = 128, .wanted = (const uint16_t[]){ARRAY_dk,
         ARRAY_dv, NO_ARRAY}, .of_keys = OF_KEY_HEAD},
    {.role = RUN_BACKWARD, .part = 2,
     .rows = forgetting_dq_dlog_decay_q_v4, .tile = 64, .own = 359936, .of_pair = 128,
         .wanted = (const uint16_t[]){ARRAY_dq, ARRAY_dlog_decay_q, NO_ARRAY}},
    {.role = RUN_BACKWARD, .part = 1,
     .rows = forgetting_row_sums_v4, .tile = 64, .own = 41216, .of_pair = 128},
    {.role = RUN_BACKWARD, .saved_again = 1,
     .rows = forgetting_saved_v4, .tile = 64, .own = 114176, .of_pair = 128},
    {.role = RUN_TERMS,
     .rows = forgetting_terms_v4, .tile = 64, .own = 512, .of_pair = 128},
};
#endif
#if defined(__x86_64__)
static int runs_v3(void)
{
    return attn_x86_64_level() >= 3;
}
static const struct program programs_v3[] = {
    {.role = RUN_FORWARD,
     .rows = forgetting_rows_v3, .tile = 64, .own = 155136, .of_pair = 128, .saves = 1},
    {.role = RUN_BACKWARD, .part = 5, .of_terms = 1,
     .rows = forgetting_terms_dgate_v3, .tile = 64, .own = 512, .of_pair = 128,
         .wanted = (const uint16_t[]){ARRAY_dgate_array, NO_ARRAY}, .of_keys = OF_QUERY_HEAD},
    {.role = RUN_BACKWARD, .part = 4,
     .rows = forgetting_dlog_decay_k_v3, .tile = 64, .own = 226304, .of_pair = 128,
         .wanted = (const uint16_t[]){ARRAY_dlog_decay_k, NO_ARRAY}, .of_keys = OF_QUERY_HEAD},
    {.role = RUN_BACKWARD, .part = 3,
     .rows = forgetting_dk_dv_v3, .tile = 64, .own = 307712, .of_pair = 128, .wanted = (const uint16_t[]){ARRAY_dk,
         ARRAY_dv, NO_ARRAY}, .of_keys = OF_KEY_HEAD},
    {.role = RUN_BACKWARD, .part = 2,
     .rows = forgetting_dq_dlog_decay_q_v3, .tile = 64, .own = 359936, .of_pair = 128,
         .wanted = (const uint16_t[]){ARRAY_dq, ARRAY_dlog_decay_q, NO_ARRAY}},
    {.role = RUN_BACKWARD, .part = 1,
     .rows = forgetting_row_sums_v3, .tile = 64, .own = 41216, .of_pair = 128},
    {.role = RUN_BACKWARD, .saved_again = 1,
     .rows = forgetting_saved_v3, .tile = 64, .own = 114176, .of_pair = 128},
    {.role = RUN_TERMS,
     .rows = forgetting_terms_v3, .tile = 64, .own = 512, .of_pair = 128},
};
#endif
static const struct program programs_any[] = {
    {.role = RUN_FORWARD,
     .rows = forgetting_rows_any, .tile = 64, .own = 155136, .of_pair = 128, .saves = 1},
    {.role = RUN_BACKWARD, .part = 5, .of_terms = 1,
     .rows = forgetting_terms_dgate_any, .tile = 64, .own = 512, .of_pair = 128,
         .wanted = (const uint16_t[]){ARRAY_dgate_array, NO_ARRAY}, .of_keys = OF_QUERY_HEAD},
    {.role = RUN_BACKWARD, .part = 4,
     .rows = forgetting_dlog_decay_k_any, .tile = 64, .own = 226304, .of_pair = 128,
         .wanted = (const uint16_t[]){ARRAY_dlog_decay_k, NO_ARRAY}, .of_keys = OF_QUERY_HEAD},
    {.role = RUN_BACKWARD, .part = 3,
     .rows = forgetting_dk_dv_any, .tile = 64, .own = 307712, .of_pair = 128, .wanted = (const uint16_t[]){ARRAY_dk,
         ARRAY_dv, NO_ARRAY}, .of_keys = OF_KEY_HEAD},
    {.role = RUN_BACKWARD, .part = 2,
     .rows = forgetting_dq_dlog_decay_q_any, .tile = 64, .own = 359936, .of_pair = 128,
         .wanted = (const uint16_t[]){ARRAY_dq, ARRAY_dlog_decay_q, NO_ARRAY}},
    {.role = RUN_BACKWARD, .part = 1,
     .rows = forgetting_row_sums_any, .tile = 64, .own = 41216, .of_pair = 128},
    {.role = RUN_BACKWARD, .saved_again = 1,
     .rows = forgetting_saved_any, .tile = 64, .own = 114176, .of_pair = 128},
    {.role = RUN_TERMS,
     .rows = forgetting_terms_any, .tile = 64, .own = 512, .of_pair = 128},
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
    .layout = KERNEL_LAYOUT, .name = "forgetting", .openmp = OPENMP,
    .target = target, .targets = sizeof target / sizeof *target - 1,
    .array = array, .arrays = sizeof array / sizeof *array,
    .param = param, .params = 1, .params_bytes = sizeof(struct forgetting_params),
    .dtype = ATTN_F32, .key_dtype = ATTN_F32, .value_dtype = ATTN_F32, .real = sizeof(float), .element = sizeof(float),
    .head_dim = 64, .value_dim = 64, .key_row = 64, .value_row = 64,
    .strided = 1, .strides = offsetof(struct forgetting_params, strides),
    .shares = 1,
    .positions = 1,
    .ids = -1,
    .corrected = -1,
    .prefix_row = 1,
    .sum_tokens = 4096,
    .prefix = {ARRAY_log_decay_q, ARRAY_log_decay_q_low, ARRAY_log_decay_k, ARRAY_log_decay_k_low,
        ARRAY_log_decay_chunk, ARRAY_log_decay_chunk_low, ARRAY_dlog_decay_q, ARRAY_dlog_decay_k, ARRAY_dlog_decay},
    .prefix_wanted = (const uint16_t[]){ARRAY_dgate_array, NO_ARRAY},
    .solution = -1,
    .gradients_bytes = sizeof(struct forgetting_gradients),
    .parts = 6,
    .saved = 1,
    .row_sums = 1,
    .shared_gradient = {ARRAY_dq, ARRAY_dk},
};

/* ==== the interface ==== */
size_t forgetting_params_size(void) { return attn_call_params_size(&kernel); }
int forgetting_params_init(struct forgetting_params *params, uint64_t seed, void *storage)
{
    return attn_call_params_init(&kernel, params, seed, storage);
}
size_t forgetting_workspace(const struct attn_problem *problem) { return attn_call_workspace(&kernel, problem); }
size_t forgetting_saved(const struct attn_problem *problem) { return attn_call_saved(&kernel, problem); }
size_t forgetting_backward_workspace(const struct attn_problem *problem)
{
    return attn_call_backward_workspace(&kernel, problem);
}
int forgetting_forward(const struct attn_problem *problem, const struct forgetting_params *params, const float *q,
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
int forgetting_backward(const struct attn_problem *problem, const struct forgetting_params *params, const float *q,
    const float *k, const float *v, const float *out, const float *dout,
    float *dq, float *dk, float *dv, struct forgetting_gradients *gradients, void *workspace)
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
const struct attn_kernel forgetting_kernel = {
    .name = "forgetting", .version = "0.2.0", .dtype = ATTN_F32, .head_dim = 64, .value_dim = 64,
    .params = 1, .param = param, .params_bytes = sizeof(struct forgetting_params),
    .params_size = forgetting_params_size, .params_init = params_init_any, .forward = forward_any,
    .workspace = forgetting_workspace,
    .saved = forgetting_saved,
    .backward_workspace = forgetting_backward_workspace,
    .backward = backward_any,
    .key_dtype = ATTN_F32, .value_dtype = ATTN_F32,
    .strides = offsetof(struct forgetting_params, strides), .strides_bytes = sizeof(struct forgetting_strides),
    .before = INT64_MAX, .after = 0, .period = 0, .names_heads = 0, .names_sequences = 0, .in_parts = 0,
    .saved_power = 0, .has_sink = 0, .open_keys = 0, .end_of_keys = INT64_MAX,
};
#endif /* a compiler of this language */
#endif /* SECTION */
