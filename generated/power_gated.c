/* power_gated.c, made by attnc 0.2.0: attnc power_gated.yaml
   C11 with GNU extensions, for a C compiler; C++ includes power_gated.h.
   power attention with gates: weights are squares of s, and decay at each position
   Buckman, Gelada and Zhang, Scaling Context Requires Rethinking Attention (arXiv 2025), section 3;
   gate is the logarithm of the decay

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
     x8 [b g m i j] = x7 * 0.125 * (x7 * 0.125) * pow(2.718281828459045, x5 - x6)
     x9 [b g m i] = sum over j of x8 if j <= i + query_start
     x10 [b g m i e] = sum over j of x8 * v if j <= i + query_start
     x11 [b g m i e] = x9 + 1 == 0 ? 0 : x10 / (x9 + 1)
     out = x11
   query_start is the position of the first query: problem.query_start[b], or n_k - n_q if that is NULL.

   How: each vector lane holds one query. Keys are processed in tiles,
   so row sums and maxima need no reduction across lanes.
   The sums of a tile start from zero and are added to the sums so far. Tiles that no query sees are skipped.
   Linear from 5118 keys on: the weight is an inner product of 2080 features. The state is a sum over keys of 2080 x 65
   numbers.
     x86-64-v4  quadratic tiles of 64 queries and 288 keys; 154624 bytes of workspace per thread
     x86-64-v4  linear    tiles of 32 queries and 64 keys; 1705024 bytes of workspace per thread
     x86-64-v3  quadratic tiles of 64 queries and 288 keys; 154624 bytes of workspace per thread
     x86-64-v3  linear    tiles of 32 queries and 64 keys; 1705024 bytes of workspace per thread
     generic    quadratic tiles of 64 queries and 288 keys; 154624 bytes of workspace per thread
     generic    linear    tiles of 32 queries and 64 keys; 1705024 bytes of workspace per thread

   Contents:
     loops      power_gated_rows, power_gated_linear, power_gated_saved, power_gated_row_sums,
     power_gated_dq_dlog_decay_q, power_gated_dk_dv, power_gated_dlog_decay_k, power_gated_terms_dgate,
     power_gated_linear_saved, power_gated_linear_row_sums, power_gated_linear_dq_dlog_decay_q,
     power_gated_linear_linear_heads_0_linear_heads_1_dlog_decay_k, power_gated_linear_totals1,
     power_gated_linear_terms_dgate, power_gated_terms
     targets    x86-64-v4, x86-64-v3, generic
     tables     arrays and programs, for the functions of attnrt that call the loops
     interface  power_gated_workspace, power_gated_forward, power_gated_backward, power_gated_kernel
   The file includes itself, so that the loops are compiled once for each target. T(name) is a name with the target's
   suffix, LANES the elements of its vectors, and OF(…) a number for each target.

   Compile with: cc -O2 -fopenmp power_gated.c … -lattnrt -lm */
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
    float *compensation)
{
    T(dot_finite)(/*vectors=*/OF(4, 2, 2), lanes, /*rows=*/64, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/1, a_step,
        b, /*b_step=*/80, c, /*c_row=*/80, /*update=*/3, /*factor=*/NULL, compensation);
}
TARGET APART void T(dot2)(int64_t lanes, int64_t steps, const float *a, int64_t a_step, const float *b, float *c,
    float *compensation)
{
    T(dot)(/*vectors=*/OF(4, 2, 2), lanes, /*rows=*/64, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/1, a_step, b,
        /*b_step=*/80, c, /*c_row=*/80, /*update=*/3, /*factor=*/NULL, compensation);
}
TARGET APART void T(dot3)(int64_t rows, int64_t steps, const float *a, const float *b, int64_t b_step, float *c)
{
    T(dot)(/*vectors=*/OF(4, 2, 2), /*lanes=*/64, rows, /*tail=*/-1, steps, /*span=*/192, a, /*a_row=*/80, /*a_step=*/1,
        b, b_step, c, /*c_row=*/64, /*update=*/1, /*factor=*/NULL, /*compensation=*/NULL);
}
TARGET APART void T(dot4)(int64_t lanes, int64_t steps, const float *a, const float *b, float *c)
{
    T(dot)(/*vectors=*/2, lanes, /*rows=*/64, /*tail=*/4, steps, /*span=*/32, a, /*a_row=*/1, /*a_step=*/64, b,
        /*b_step=*/32, c, /*c_row=*/32, /*update=*/1, /*factor=*/NULL, /*compensation=*/NULL);
}
TARGET APART void T(dot5)(int64_t lanes, int64_t rows, const float *a, int64_t a_row, const float *b, float *c,
    const float *next, int64_t next_row)
{
    T(dot_ahead)(/*vectors=*/2, lanes, rows, /*tail=*/-1, /*steps=*/64, /*span=*/32, a, a_row, /*a_step=*/1, b,
        /*b_step=*/32, c, /*c_row=*/32, /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL, next, next_row,
        /*width=*/64, /*result=*/NULL, /*result_row=*/0, /*result_width=*/0, /*results=*/0);
}
TARGET APART void T(dot6)(int64_t lanes, int64_t steps, const float *a, int64_t a_step, const float *b, float *c,
    float *compensation)
{
    T(dot_finite)(/*vectors=*/2, lanes, /*rows=*/64, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/1, a_step, b,
        /*b_step=*/32, c, /*c_row=*/32, /*update=*/3, /*factor=*/NULL, compensation);
}
TARGET APART void T(dot7)(int64_t lanes, int64_t steps, const float *a, int64_t a_step, const float *b, float *c,
    float *compensation)
{
    T(dot)(/*vectors=*/2, lanes, /*rows=*/64, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/1, a_step, b, /*b_step=*/32,
        c, /*c_row=*/32, /*update=*/3, /*factor=*/NULL, compensation);
}
TARGET APART void T(dot8)(int64_t lanes, int64_t rows, const float *a, int64_t a_row, const float *b, float *c)
{
    T(dot_ahead)(/*vectors=*/OF(4, 2, 2), lanes, rows, /*tail=*/-1, /*steps=*/64, /*span=*/32, a, a_row, /*a_step=*/1,
        b, /*b_step=*/80, c, /*c_row=*/80, /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL, /*next=*/NULL,
        /*next_row=*/0, /*width=*/0, /*result=*/NULL, /*result_row=*/0, /*result_width=*/0, /*results=*/0);
}
TARGET APART void T(dot9)(int64_t lanes, int64_t rows, const float *a, int64_t a_row, const float *b, float *c,
    const float *result, int64_t result_row, int64_t results)
{
    T(dot_ahead)(/*vectors=*/OF(4, 2, 2), lanes, rows, /*tail=*/-1, /*steps=*/64, /*span=*/32, a, a_row, /*a_step=*/1,
        b, /*b_step=*/80, c, /*c_row=*/80, /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL, /*next=*/NULL,
        /*next_row=*/0, /*width=*/0, result, result_row, /*result_width=*/64, results);
}
TARGET APART void T(dot10)(int64_t lanes, int64_t rows, const float *a, int64_t a_row, const float *b, float *c)
{
    T(dot_ahead)(/*vectors=*/2, lanes, rows, /*tail=*/-1, /*steps=*/64, /*span=*/32, a, a_row, /*a_step=*/1, b,
        /*b_step=*/32, c, /*c_row=*/32, /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL, /*next=*/NULL,
        /*next_row=*/0, /*width=*/0, /*result=*/NULL, /*result_row=*/0, /*result_width=*/0, /*results=*/0);
}
TARGET APART void T(dot11)(int64_t lanes, const float *a, const float *b, float *c, const struct coming *next)
{
    T(dot_meanwhile)(/*vectors=*/2, lanes, /*rows=*/2080, /*tail=*/4, /*steps=*/64, /*span=*/32, a, /*a_row=*/64,
        /*a_step=*/1, b, /*b_step=*/32, c, /*c_row=*/32, /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL, next,
        /*arrays=*/4, /*nexts=*/32);
}
TARGET APART void T(dot12)(int64_t lanes, int64_t rows, const float *a, int64_t a_row, const float *b, float *c)
{
    T(dot)(/*vectors=*/2, lanes, rows, /*tail=*/-1, /*steps=*/64, /*span=*/32, a, a_row, /*a_step=*/1, b, /*b_step=*/32,
        c, /*c_row=*/32, /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL);
}
TARGET APART void T(dot13)(int64_t rows, int64_t steps, const float *a, const float *b, float *c)
{
    T(dot)(/*vectors=*/OF(4, 2, 2), /*lanes=*/64, rows, /*tail=*/-1, steps, /*span=*/192, a, /*a_row=*/80, /*a_step=*/1,
        b, /*b_step=*/64, c, /*c_row=*/64, /*update=*/1, /*factor=*/NULL, /*compensation=*/NULL);
}
TARGET APART void T(dot14)(int64_t lanes, const float *a, const float *b, float *c, const struct coming *next)
{
    T(dot_meanwhile)(/*vectors=*/OF(4, 2, 2), lanes, /*rows=*/2080, /*tail=*/4, /*steps=*/64, /*span=*/32, a,
        /*a_row=*/64, /*a_step=*/1, b, /*b_step=*/80, c, /*c_row=*/80, /*update=*/0, /*factor=*/NULL,
        /*compensation=*/NULL, next, /*arrays=*/4, /*nexts=*/64);
}
TARGET APART void T(dot15)(int64_t lanes, int64_t steps, const float *a, const float *b, float *c)
{
    T(dot)(/*vectors=*/OF(4, 2, 2), lanes, /*rows=*/64, /*tail=*/4, steps, /*span=*/32, a, /*a_row=*/1, /*a_step=*/64,
        b, /*b_step=*/80, c, /*c_row=*/80, /*update=*/1, /*factor=*/NULL, /*compensation=*/NULL);
}
TARGET APART void T(dot16)(int64_t lanes, int64_t rows, const float *a, int64_t a_row, const float *b, float *c)
{
    T(dot)(/*vectors=*/OF(4, 2, 2), lanes, rows, /*tail=*/-1, /*steps=*/64, /*span=*/32, a, a_row, /*a_step=*/1, b,
        /*b_step=*/80, c, /*c_row=*/80, /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL);
}
TARGET APART void T(dot17)(int64_t lanes, int64_t rows, const float *a, const float *b, float *c)
{
    T(dot)(/*vectors=*/OF(4, 2, 2), lanes, rows, /*tail=*/-1, /*steps=*/64, /*span=*/32, a, /*a_row=*/1, /*a_step=*/80,
        b, /*b_step=*/80, c, /*c_row=*/80, /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL);
}
TARGET APART void T(dot18)(int64_t lanes, int64_t steps, const float *a, const float *b, float *c, float *compensation)
{
    T(dot_finite)(/*vectors=*/OF(4, 2, 2), lanes, /*rows=*/64, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/80,
        /*a_step=*/1, b, /*b_step=*/80, c, /*c_row=*/80, /*update=*/3, /*factor=*/NULL, compensation);
}
TARGET APART void T(dot19)(int64_t lanes, int64_t steps, const float *a, const float *b, float *c, float *compensation)
{
    T(dot)(/*vectors=*/OF(4, 2, 2), lanes, /*rows=*/64, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/80, /*a_step=*/1,
        b, /*b_step=*/80, c, /*c_row=*/80, /*update=*/3, /*factor=*/NULL, compensation);
}

/* Computes task number `task`: one tile of queries of one head. `work` is this thread's workspace. */
TARGET static void T(power_gated_rows)(const struct call *call, int64_t task, unsigned char *work)
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
    float *const row_sum = (float *)(void *)(work + 92160); /* [i: 64] */
    float *const row_sum_compensation = (float *)(void *)(work + 92416); /* [i: 64] */
    float *const sum = (float *)(void *)(work + 92672); /* [e: 64, i: 64 of 80] */
    float *const sum_compensation = (float *)(void *)(work + 113152); /* [e: 64, i: 64 of 80] */
    float *const out = (float *)call->array[ARRAY_out].at + b * call->array[ARRAY_out].strides.batch + (g * members + m)
        * call->array[ARRAY_out].strides.head;
    const int64_t out_row = call->array[ARRAY_out].strides.row;
    float *const saved_0 = call->array[ARRAY_saved_0].at ? (float *)call->array[ARRAY_saved_0].at + (b * call->p.heads +
        (g * members + m)) * call->p.n_q : NULL;
    float *const q_tile = (float *)(void *)(work + 133632); /* [d: 64, i: 64 of 80] */
    float *const log_decay_q_tile = (float *)(void *)(work + 154112); /* [i: 64] */
    float *const log_decay_q_low_tile = (float *)(void *)(work + 154368); /* [i: 64] */
    int64_t results = i1 - i0; /* rows of out to prefetch during the first product */
    /* q_tile = q, with zeros beyond the last row */
    T(transpose_padded)(q + i0 * q_row, q_row, i1 - i0, 64, q_tile, 80, LANES);
    /* log_decay_q_tile = log_decay_q, with zeros beyond the last row */
    for (int64_t i = 0; i < round_up(i1 - i0, LANES); i++)
        log_decay_q_tile[i] = i < i1 - i0 ? log_decay_q[(i0 + i)] : 0;
    /* log_decay_q_low_tile = log_decay_q_low, with zeros beyond the last row */
    for (int64_t i = 0; i < round_up(i1 - i0, LANES); i++)
        log_decay_q_low_tile[i] = i < i1 - i0 ? log_decay_q_low[(i0 + i)] : 0;
    /* q_tile = q_tile * 0.125f */
    for (int64_t d = 0; d < 64; d++) {
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            T(store)(q_tile + d * 80 + i, T(load)(q_tile + d * 80 + i) * 0.125f);
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
            T(store)(sum + e * 80 + i, T(splat)(0.0f));
            T(store)(sum_compensation + e * 80 + i, T(splat)(0.0f));
        }
    }
    for (int64_t j0 = 0, j_end = min(n_k, i1 + query_start); j0 < j_end; j0 += 288) {
        const int64_t j1 = min(j0 + 288, j_end);
        /* score[j][i] = sum over d of k * q_tile */
        T(dot0)(round_up(i1 - i0, LANES), j1 - j0, k + j0 * k_row, k_row, q_tile, score, v + j0 * v_row, v_row,
            out + i0 * out_row, out_row, results);
        results = 0;
        if ((i0 + query_start + 1) < j1) { /* the tile is partly outside the mask */
            /* score = select(j <= (i + query_start), (score * score) * exp2(((log_decay_q_tile - log_decay_k) +
               (log_decay_q_low_tile - log_de ... */
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                const T(ints) t_0 = (i0 + i + T(lane)) + query_start;
                const T(vec) log_decay_q_tile_2 = T(load)(log_decay_q_tile + i);
                const T(vec) log_decay_q_low_tile_3 = T(load)(log_decay_q_low_tile + i);
                T(vec) row_sum_in = (T(vec)){0};
                for (int64_t j = 0; j < j1 - j0; j++) {
                    const T(vec) score_1 = T(load)(score + j * 80 + i);
                    const T(vec) score_new4 = T(pick)(__builtin_convertvector((j0 + j) <= t_0, T(mask)),
                        (score_1 * score_1) * T(exp2)(((log_decay_q_tile_2 - log_decay_k[(j0 + j)]) +
                        (log_decay_q_low_tile_3 - log_decay_k_low[(j0 + j)])) * 1.442695f), T(splat)(0.0f));
                    T(store)(score + j * 80 + i, score_new4);
                    row_sum_in += score_new4;
                }
                T(add)(row_sum + i, row_sum_compensation + i, row_sum_in, T(splat)(1));
            }
        }
        if (!((i0 + query_start + 1) < j1)) { /* the tile is wholly inside the mask */
            /* score = (score * score) * exp2(((log_decay_q_tile - log_decay_k) + (log_decay_q_low_tile -
               log_decay_k_low)) * 1.442695f); row_s ... */
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                const T(vec) log_decay_q_tile_6 = T(load)(log_decay_q_tile + i);
                const T(vec) log_decay_q_low_tile_7 = T(load)(log_decay_q_low_tile + i);
                T(vec) row_sum_in = (T(vec)){0};
                for (int64_t j = 0; j < j1 - j0; j++) {
                    const T(vec) score_5 = T(load)(score + j * 80 + i);
                    const T(vec) score_new8 = (score_5 * score_5) * T(exp2)(((log_decay_q_tile_6 - log_decay_k[(j0 +
                        j)]) + (log_decay_q_low_tile_7 - log_decay_k_low[(j0 + j)])) * 1.442695f);
                    T(store)(score + j * 80 + i, score_new8);
                    row_sum_in += score_new8;
                }
                T(add)(row_sum + i, row_sum_compensation + i, row_sum_in, T(splat)(1));
            }
        }
        /* sum[e][i] += sum over j of v * score */
        if (__builtin_expect(((i0 + query_start + 1) < j1) && !T(finite)(v + j0 * v_row, v_row, j1 - j0, 64),
            0)) { /* infinity and NaN affect only queries that see them */
            T(dot1)(round_up(i1 - i0, LANES), j1 - j0, v + j0 * v_row, v_row, score, sum, sum_compensation);
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
            T(dot2)(round_up(i1 - i0, LANES), j1 - j0, v + j0 * v_row, v_row, score, sum, sum_compensation);
    }
    /* sum = select((row_sum + 1.0f) == 0.0f, 0.0f, sum / (row_sum + 1.0f)) */
    for (int64_t i = 0; i < i1 - i0; i += LANES) {
        const T(vec) t_9 = T(load)(row_sum + i) + 1.0f;
        const T(mask) t_10 = t_9 == 0.0f;
        for (int64_t e = 0; e < 64; e++) {
            T(store)(sum + e * 80 + i, T(pick)(t_10, T(splat)(0.0f), T(load)(sum + e * 80 + i) / t_9));
        }
    }
    if (saved_0) {
        /* row_sum = select((row_sum + 1.0f) == 0.0f, 0.0f, 1.0f / (row_sum + 1.0f)) */
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            const T(vec) t_11 = T(load)(row_sum + i) + 1.0f;
            T(store)(row_sum + i, T(pick)(t_11 == 0.0f, T(splat)(0.0f), 1.0f / t_11));
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

/* Initialises the states: they contain no keys yet. */
TARGET APART void T(power_gated_begin)(const struct call *call, int64_t task, const struct share *share,
    int64_t iteration)
{
    (void)call;
    (void)task;
    const int64_t f0 = iteration * 32, f1 = min(f0 + 32, 2080);
    float *const carried_sum = (float *)(void *)(share->shared + 0); /* [f: 2080] */
    float *const carried_sum_compensation = (float *)(void *)(share->shared + 540864); /* [f: 2080] */
    float *const carried = (float *)(void *)(share->shared + 8320); /* [f: 2080, e: 64] */
    float *const carried_compensation = (float *)(void *)(share->shared + 549184); /* [f: 2080, e: 64] */
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
TARGET APART void T(power_gated_keys)(const struct call *call, int64_t task, const struct share *share,
    int64_t iteration)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_k = call->p.n_k;
    const int64_t chunk = iteration;
    const int64_t chunk0 = share->chunk0;
    const int64_t m = task % members;
    const int64_t g = task / members % kv_heads;
    const int64_t b = task / members / kv_heads;
    const float *const k = (const float *)call->array[ARRAY_k].at + b * call->array[ARRAY_k].strides.batch + g /
        call->sharing * call->array[ARRAY_k].strides.head;
    const int64_t k_row = call->array[ARRAY_k].strides.row;
    const float *const v = (const float *)call->array[ARRAY_v].at + b * call->array[ARRAY_v].strides.batch + g *
        call->array[ARRAY_v].strides.head;
    const int64_t v_row = call->array[ARRAY_v].strides.row;
    const float *const log_decay_k_low = (const float *)call->array[ARRAY_log_decay_k_low].at + b *
        call->array[ARRAY_log_decay_k_low].strides.batch + (g * members + m) *
        call->array[ARRAY_log_decay_k_low].strides.head;
    const float *const log_decay_k = (const float *)call->array[ARRAY_log_decay_k].at + b *
        call->array[ARRAY_log_decay_k].strides.batch + (g * members + m) * call->array[ARRAY_log_decay_k].strides.head;
    const float *const log_decay_chunk_low = (const float *)call->array[ARRAY_log_decay_chunk_low].at + b *
        call->array[ARRAY_log_decay_chunk_low].strides.batch + (g * members + m) *
        call->array[ARRAY_log_decay_chunk_low].strides.head;
    const float *const log_decay_chunk = (const float *)call->array[ARRAY_log_decay_chunk].at + b *
        call->array[ARRAY_log_decay_chunk].strides.batch + (g * members + m) *
        call->array[ARRAY_log_decay_chunk].strides.head;
    float *const key_features = (float *)(void *)(share->work + 0); /* [f: 192, j: 64 of 80] */
    float *const state_sum = (float *)(void *)(share->slots + 0); /* [chunk, f: 2080] */
    float *const state = (float *)(void *)(share->slots + 8320); /* [chunk, f: 2080, e: 64] */
    float *const k_tile = (float *)(void *)(share->work + 61440); /* [d: 64, j: 64 of 80] */
    float *const log_decay_k_tile = (float *)(void *)(share->work + 81920); /* [j: 64] */
    float *const log_decay_k_low_tile = (float *)(void *)(share->work + 82176); /* [j: 64] */
    /* state_sum = 0.0f */
    for (int64_t f = 0; f < 2080; f += LANES) {
        T(store)(state_sum + (chunk - chunk0) * 135216 + f, T(splat)(0.0f));
    }
    /* state = 0.0f */
    for (int64_t f = 0; f < 2080; f++) {
        for (int64_t e_first = 0; e_first < 64; e_first += OF(64, 16, 8)) {
            UNROLL for (int64_t vector = 0, e = e_first; vector < OF(4, 2, 2); vector++, e += LANES) {
                T(store)(state + (chunk - chunk0) * 135216 + f * 64 + e, T(splat)(0.0f));
            }
        }
    }
    for (int64_t j0 = chunk * 128, j_end = min(n_k, (chunk + 1) * 128); j0 < j_end; j0 += 64) {
        const int64_t j1 = min(j0 + 64, j_end);
        /* k_tile = k, with zeros beyond the last row */
        T(transpose_padded)(k + j0 * k_row, k_row, j1 - j0, 64, k_tile, 80, 64);
        /* log_decay_k_tile = log_decay_k, with zeros beyond the last row */
        for (int64_t j = 0; j < round_up(j1 - j0, LANES); j++)
            log_decay_k_tile[j] = j < j1 - j0 ? log_decay_k[(j0 + j)] : 0;
        /* log_decay_k_low_tile = log_decay_k_low, with zeros beyond the last row */
        for (int64_t j = 0; j < round_up(j1 - j0, LANES); j++)
            log_decay_k_low_tile[j] = j < j1 - j0 ? log_decay_k_low[(j0 + j)] : 0;
        for (int64_t f0 = 0, f_end = 2080; f0 < f_end; f0 += 192) {
            const int64_t f1 = min(f0 + 192, f_end);
            /* key_features = (k_tile * k_tile) * exp2(((log_decay_chunk - log_decay_k_tile) + (log_decay_chunk_low -
               log_decay_k_low_tile)) *  ... */
            const float log_decay_chunk_0 = log_decay_chunk[max(min(((chunk + 1) * 128) - 1, n_k - 1), 0)];
            const float log_decay_chunk_low_1 = log_decay_chunk_low[max(min(((chunk + 1) * 128) - 1, n_k - 1), 0)];
            for (int64_t j = 0; j < j1 - j0; j += LANES) {
                const T(vec) t_2 = T(exp2)(((log_decay_chunk_0 - T(load)(log_decay_k_tile + j)) + (log_decay_chunk_low_1
                    - T(load)(log_decay_k_low_tile + j))) * 1.442695f);
                for (int64_t f = f0; f < f1; f++) {
                    T(store)(key_features + (f - f0) * 80 + j, (T(load)(k_tile + (f % 64) * 80 + j) * T(load)(k_tile +
                        (((f % 64) + (f / 64)) % 64) * 80 + j)) * t_2);
                }
            }
            /* state_sum += key_features */
            for (int64_t f = f0; f < f1; f++) {
                T(vec) lane_sums = T(splat)(0);
                for (int64_t j = 0; j < j1 - j0; j += LANES) {
                    const T(vec) term = T(load)(key_features + (f - f0) * 80 + j);
                    lane_sums += j + LANES <= j1 - j0 ? term : T(pick)(__builtin_convertvector(j + T(lane) < j1 - j0,
                        T(mask)), term, T(splat)(0));
                }
                const float total = T(lane_sum)(lane_sums);
                state_sum[(chunk - chunk0) * 135216 + f] += total;
            }
            /* state[f][e] += sum over j of key_features * v */
            T(dot3)(f1 - f0, j1 - j0, key_features, v + j0 * v_row, v_row, state + (chunk - chunk0) * 135216 + f0 * 64);
        }
    }
}

/* Folds the slots of the current chunks, in order, for some elements of the states. */
TARGET APART void T(power_gated_fold)(const struct call *call, int64_t task, const struct share *share,
    int64_t iteration)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_k = call->p.n_k;
    const int64_t f0 = iteration * 32, f1 = min(f0 + 32, 2080);
    const int64_t chunk0 = share->chunk0;
    const int64_t chunk1 = share->chunk1;
    const int64_t m = task % members;
    const int64_t g = task / members % kv_heads;
    const int64_t b = task / members / kv_heads;
    const float *const log_decay_chunk_low = (const float *)call->array[ARRAY_log_decay_chunk_low].at + b *
        call->array[ARRAY_log_decay_chunk_low].strides.batch + (g * members + m) *
        call->array[ARRAY_log_decay_chunk_low].strides.head;
    const float *const log_decay_chunk = (const float *)call->array[ARRAY_log_decay_chunk].at + b *
        call->array[ARRAY_log_decay_chunk].strides.batch + (g * members + m) *
        call->array[ARRAY_log_decay_chunk].strides.head;
    float *const state_sum = (float *)(void *)(share->slots + 0); /* [chunk, f: 2080] */
    float *const state = (float *)(void *)(share->slots + 8320); /* [chunk, f: 2080, e: 64] */
    float *const carried_sum = (float *)(void *)(share->shared + 0); /* [f: 2080] */
    float *const carried_sum_compensation = (float *)(void *)(share->shared + 540864); /* [f: 2080] */
    float *const carried = (float *)(void *)(share->shared + 8320); /* [f: 2080, e: 64] */
    float *const carried_compensation = (float *)(void *)(share->shared + 549184); /* [f: 2080, e: 64] */
    float *const kept_share_2 = (float *)(void *)(share->work + 0); /* [f: 2080] */
    float *const lost_share_2 = (float *)(void *)(share->work + 8320); /* [f: 2080] */
    for (int64_t chunk = chunk0; chunk < chunk1; chunk++) {
        /* kept_share = select(exp2(((log_decay_chunk - log_decay_chunk) + (log_decay_chunk_low - log_decay_chunk_low))
           * 1.442695f) < 0.5f ... */
        const float t_3 = (log_decay_chunk[max(min(((chunk + 1) * 128) - 1, n_k - 1),
            0)] - log_decay_chunk[max(min((chunk * 128) - 1, n_k - 1),
            0)]) + (log_decay_chunk_low[max(min(((chunk + 1) * 128) - 1, n_k - 1),
            0)] - log_decay_chunk_low[max(min((chunk * 128) - 1, n_k - 1), 0)]);
        const float t_4 = exp2f(t_3 * 1.442695f);
        const int t_5 = t_4 < 0.5f;
        const float t_6 = t_5 ? t_4 : 1.0f;
        const float t_8 = t_5 ? 0.0f : (-expm1f(t_3));
        for (int64_t f = f0; f < f1; f += LANES) {
            const T(vec) kept_share_new7 = T(splat)(t_6);
            const T(vec) lost_share_new9 = T(splat)(t_8);
            const T(vec) carried_sum_10 = T(load)(carried_sum + f);
            const T(vec) before_sum_new11 = carried_sum_10;
            const T(vec) carried_sum_new12 = carried_sum_10 * kept_share_new7;
            T(store)(carried_sum + f, carried_sum_new12);
            T(store)(carried_sum_compensation + f, T(load)(carried_sum_compensation + f) * kept_share_new7);
            T(add)(carried_sum + f, carried_sum_compensation + f, T(load)(state_sum + (chunk - chunk0) * 135216 + f) -
                (carried_sum_new12 * lost_share_new9), T(splat)(1));
            T(store)(state_sum + (chunk - chunk0) * 135216 + f, before_sum_new11);
        }
        /* kept_share_2 = select(exp2(((log_decay_chunk - log_decay_chunk) + (log_decay_chunk_low -
           log_decay_chunk_low)) * 1.442695f) < 0. ... */
        const float t_13 = (log_decay_chunk[max(min(((chunk + 1) * 128) - 1, n_k - 1),
            0)] - log_decay_chunk[max(min((chunk * 128) - 1, n_k - 1),
            0)]) + (log_decay_chunk_low[max(min(((chunk + 1) * 128) - 1, n_k - 1),
            0)] - log_decay_chunk_low[max(min((chunk * 128) - 1, n_k - 1), 0)]);
        const float t_14 = exp2f(t_13 * 1.442695f);
        const int t_15 = t_14 < 0.5f;
        const float t_16 = t_15 ? t_14 : 1.0f;
        const float t_17 = t_15 ? 0.0f : (-expm1f(t_13));
        for (int64_t f = f0; f < f1; f += LANES) {
            T(store)(kept_share_2 + f, T(splat)(t_16));
            T(store)(lost_share_2 + f, T(splat)(t_17));
        }
        /* before = carried; carried = carried * kept_share_2; carried_compensation = carried_compensation *
           kept_share_2; carried += state ... */
        for (int64_t f = f0; f < f1; f++) {
            for (int64_t e_first = 0; e_first < 64; e_first += OF(64, 16, 8)) {
                UNROLL for (int64_t vector = 0, e = e_first; vector < OF(4, 2, 2); vector++, e += LANES) {
                    const T(vec) carried_18 = T(load)(carried + f * 64 + e);
                    const T(vec) before_new19 = carried_18;
                    const float kept_share_2_20 = kept_share_2[f];
                    const T(vec) carried_new21 = carried_18 * kept_share_2_20;
                    T(store)(carried + f * 64 + e, carried_new21);
                    T(store)(carried_compensation + f * 64 + e, T(load)(carried_compensation + f * 64 + e) *
                        kept_share_2_20);
                    T(add)(carried + f * 64 + e, carried_compensation + f * 64 + e,
                        T(load)(state + (chunk - chunk0) * 135216 + f * 64 + e) - (carried_new21 * lost_share_2[f]),
                        T(splat)(1));
                    T(store)(state + (chunk - chunk0) * 135216 + f * 64 + e, before_new19);
                }
            }
        }
    }
}

/* Processes the queries of a chunk: reads the state before the chunk, and the keys in the chunk. */
TARGET APART void T(power_gated_queries)(const struct call *call, int64_t task, const struct share *share,
    int64_t iteration)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_q = call->p.n_q;
    const int64_t n_k = call->p.n_k;
    const int64_t chunk = iteration;
    const int64_t chunk0 = share->chunk0;
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
    const float *const log_decay_chunk_low = (const float *)call->array[ARRAY_log_decay_chunk_low].at + b *
        call->array[ARRAY_log_decay_chunk_low].strides.batch + (g * members + m) *
        call->array[ARRAY_log_decay_chunk_low].strides.head;
    const float *const log_decay_chunk = (const float *)call->array[ARRAY_log_decay_chunk].at + b *
        call->array[ARRAY_log_decay_chunk].strides.batch + (g * members + m) *
        call->array[ARRAY_log_decay_chunk].strides.head;
    float *const state_sum = (float *)(void *)(share->slots + 0); /* [chunk, f: 2080] */
    float *const state = (float *)(void *)(share->slots + 8320); /* [chunk, f: 2080, e: 64] */
    float *const query_features = (float *)(void *)(share->work + 0); /* [d: 64, i: 32] */
    float *const score = (float *)(void *)(share->work + 8192); /* [j: 64, i: 32] */
    float *const query = (float *)(void *)(share->work + 8192); /* [f: 192, i: 32] */
    float *const row_sum_from_state = (float *)(void *)(share->work + 32768); /* [i: 32] */
    float *const row_sum = (float *)(void *)(share->work + 32896); /* [i: 32] */
    float *const row_sum_compensation = (float *)(void *)(share->work + 33024); /* [i: 32] */
    float *const sum_from_state = (float *)(void *)(share->work + 33152); /* [e: 64, i: 32] */
    float *const sum = (float *)(void *)(share->work + 16384); /* [e: 64, i: 32] */
    float *const sum_compensation = (float *)(void *)(share->work + 24576); /* [e: 64, i: 32] */
    float *const out = (float *)call->array[ARRAY_out].at + b * call->array[ARRAY_out].strides.batch + (g * members + m)
        * call->array[ARRAY_out].strides.head;
    const int64_t out_row = call->array[ARRAY_out].strides.row;
    float *const saved_0 = call->array[ARRAY_saved_0].at ? (float *)call->array[ARRAY_saved_0].at + (b * call->p.heads +
        (g * members + m)) * call->p.n_q : NULL;
    float *const q_tile = (float *)(void *)(share->work + 41344); /* [d: 64, i: 32] */
    float *const log_decay_q_tile = (float *)(void *)(share->work + 49536); /* [i: 32] */
    float *const log_decay_q_low_tile = (float *)(void *)(share->work + 49664); /* [i: 32] */
    for (int64_t i0 = (chunk == 0) ? 0 : max(0, (chunk * 128) - query_start), i_end = min(n_q,
        ((chunk + 1) * 128) - query_start); i0 < i_end; i0 += 32) {
        const int64_t i1 = min(i0 + 32, i_end);
        /* q_tile = q, with zeros beyond the last row */
        T(transpose_padded)(q + i0 * q_row, q_row, i1 - i0, 64, q_tile, 32, 64);
        /* log_decay_q_tile = log_decay_q, with zeros beyond the last row */
        for (int64_t i = 0; i < round_up(i1 - i0, LANES); i++)
            log_decay_q_tile[i] = i < i1 - i0 ? log_decay_q[(i0 + i)] : 0;
        /* log_decay_q_low_tile = log_decay_q_low, with zeros beyond the last row */
        for (int64_t i = 0; i < round_up(i1 - i0, LANES); i++)
            log_decay_q_low_tile[i] = i < i1 - i0 ? log_decay_q_low[(i0 + i)] : 0;
        /* query_features = q_tile * 0.125f */
        for (int64_t d = 0; d < 64; d++) {
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                T(store)(query_features + d * 32 + i, T(load)(q_tile + d * 32 + i) * 0.125f);
            }
        }
        /* row_sum_from_state = 0.0f; row_sum = 0.0f; row_sum_compensation = 0.0f */
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            T(store)(row_sum_from_state + i, T(splat)(0.0f));
            T(store)(row_sum + i, T(splat)(0.0f));
            T(store)(row_sum_compensation + i, T(splat)(0.0f));
        }
        /* sum_from_state = 0.0f */
        for (int64_t e = 0; e < 64; e++) {
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                T(store)(sum_from_state + e * 32 + i, T(splat)(0.0f));
            }
        }
        for (int64_t f0 = 0, f_end = 2080; f0 < f_end; f0 += 192) {
            const int64_t f1 = min(f0 + 192, f_end);
            /* query = (((q_tile * 0.125f) * (q_tile * 0.125f)) * select((f / 64) == 0, 1.0f,
               2.0f)) * select(chunk == 0, 1.0f, exp2(((log_deca ... */
            const int t_22 = chunk == 0;
            const float log_decay_chunk_23 = log_decay_chunk[max(min((chunk * 128) - 1, n_k - 1), 0)];
            const float log_decay_chunk_low_24 = log_decay_chunk_low[max(min((chunk * 128) - 1, n_k - 1), 0)];
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                const T(vec) t_25 = t_22 ? T(splat)(1.0f) : T(exp2)(((T(load)(log_decay_q_tile + i) -
                    log_decay_chunk_23) + (T(load)(log_decay_q_low_tile + i) - log_decay_chunk_low_24)) * 1.442695f);
                T(vec) row_sum_from_state_in = (T(vec)){0};
                T(vec) row_sum_from_state_in_whole = (T(vec)){0};
                for (int64_t f = f0; f < f1; f++) {
                    const T(vec) query_new26 = (((T(load)(q_tile + (f % 64) * 32 + i) * 0.125f) * (T(load)(q_tile + (((f
                        % 64) + (f / 64)) % 64) * 32 + i) * 0.125f)) * (float)(((f / 64) == 0) ? 1.0 : 2.0)) * t_25;
                    T(store)(query + (f - f0) * 32 + i, query_new26);
                    row_sum_from_state_in += query_new26 * (state_sum[(chunk - chunk0) * 135216 + f]);
                    if (f % 192 == 191) {
                        row_sum_from_state_in_whole += row_sum_from_state_in;
                        row_sum_from_state_in = (T(vec)){0};
                    }
                }
                row_sum_from_state_in += row_sum_from_state_in_whole;
                T(store)(row_sum_from_state + i, T(load)(row_sum_from_state + i) + row_sum_from_state_in);
            }
            /* sum_from_state[e][i] += sum over f of state * query */
            T(dot4)(round_up(i1 - i0, LANES), f1 - f0, state + (chunk - chunk0) * 135216 + f0 * 64, query,
                sum_from_state);
        }
        /* sum = 0.0f; sum_compensation = 0.0f */
        for (int64_t e = 0; e < 64; e++) {
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                T(store)(sum + e * 32 + i, T(splat)(0.0f));
                T(store)(sum_compensation + e * 32 + i, T(splat)(0.0f));
            }
        }
        for (int64_t j0 = max(0, chunk * 128), j_end = min(n_k, i1 + query_start); j0 < j_end; j0 += 64) {
            const int64_t j1 = min(j0 + 64, j_end);
            /* score[j][i] = sum over d of k * query_features */
            T(dot5)(round_up(i1 - i0, LANES), j1 - j0, k + j0 * k_row, k_row, query_features, score, v + j0 * v_row,
                v_row);
            if ((j0 < (chunk * 128)) || ((i0 + query_start + 1) < j1)) { /* the tile is partly outside the mask */
                /* score = select((j <= (i + query_start)) && ((chunk * 128) <= j),
                   (score * score) * exp2(((log_decay_q_tile - log_decay_k) + (log ... */
                for (int64_t i = 0; i < i1 - i0; i += LANES) {
                    const T(ints) t_27 = (i0 + i + T(lane)) + query_start;
                    const T(vec) log_decay_q_tile_29 = T(load)(log_decay_q_tile + i);
                    const T(vec) log_decay_q_low_tile_30 = T(load)(log_decay_q_low_tile + i);
                    T(vec) row_sum_in = (T(vec)){0};
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        const T(vec) score_28 = T(load)(score + j * 32 + i);
                        const T(vec) score_new31 = T(pick)(__builtin_convertvector(((j0 + j) <= t_27) &
                            (-(int64_t)((chunk * 128) <= (j0 + j))), T(mask)),
                            (score_28 * score_28) * T(exp2)(((log_decay_q_tile_29 - log_decay_k[(j0 + j)]) +
                            (log_decay_q_low_tile_30 - log_decay_k_low[(j0 + j)])) * 1.442695f), T(splat)(0.0f));
                        T(store)(score + j * 32 + i, score_new31);
                        row_sum_in += score_new31;
                    }
                    T(add)(row_sum + i, row_sum_compensation + i, row_sum_in, T(splat)(1));
                }
            }
            if (!((j0 < (chunk * 128)) || ((i0 + query_start + 1) < j1))) { /* the tile is wholly inside the mask */
                /* score = (score * score) * exp2(((log_decay_q_tile - log_decay_k) + (log_decay_q_low_tile -
                   log_decay_k_low)) * 1.442695f); row_s ... */
                for (int64_t i = 0; i < i1 - i0; i += LANES) {
                    const T(vec) log_decay_q_tile_33 = T(load)(log_decay_q_tile + i);
                    const T(vec) log_decay_q_low_tile_34 = T(load)(log_decay_q_low_tile + i);
                    T(vec) row_sum_in = (T(vec)){0};
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        const T(vec) score_32 = T(load)(score + j * 32 + i);
                        const T(vec) score_new35 = (score_32 * score_32) * T(exp2)(((log_decay_q_tile_33 -
                            log_decay_k[(j0 + j)]) + (log_decay_q_low_tile_34 - log_decay_k_low[(j0 + j)])) *
                            1.442695f);
                        T(store)(score + j * 32 + i, score_new35);
                        row_sum_in += score_new35;
                    }
                    T(add)(row_sum + i, row_sum_compensation + i, row_sum_in, T(splat)(1));
                }
            }
            /* sum[e][i] += sum over j of v * score */
            if (__builtin_expect(((j0 < (chunk * 128)) || ((i0 + query_start + 1) < j1)) && !T(finite)(v + j0 * v_row,
                v_row, j1 - j0, 64), 0)) { /* infinity and NaN affect only queries that see them */
                T(dot6)(round_up(i1 - i0, LANES), j1 - j0, v + j0 * v_row, v_row, score, sum, sum_compensation);
                for (int64_t j = 0; j < j1 - j0; j++) {
                    T(mask) in_region[OF(2, 4, 8)] = {0};
                    if (T(finite)(v + j0 * v_row + j * v_row, 1, 64, 1)) continue;
                    const int t_36 = (chunk * 128) <= (j0 + j);
                    for (int64_t i = 0; i < i1 - i0; i += LANES) {
                        in_region[i / LANES] = __builtin_convertvector(((j0 + j) <= ((i0 + i + T(lane)) + query_start))
                            & (-(int64_t)t_36), T(mask));
                    }
                    T(add_seen)(64, sum, 32, v + j0 * v_row + j * v_row, 1, score + j * 32, in_region, i1 - i0);
                }
            } else
                T(dot7)(round_up(i1 - i0, LANES), j1 - j0, v + j0 * v_row, v_row, score, sum, sum_compensation);
        }
        /* sum = select(((row_sum + row_sum_from_state) + 1.0f) == 0.0f, 0.0f,
           (sum + sum_from_state) / ((row_sum + row_sum_from_state) + 1 ... */
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            const T(vec) t_37 = (T(load)(row_sum + i) + T(load)(row_sum_from_state + i)) + 1.0f;
            const T(mask) t_38 = t_37 == 0.0f;
            for (int64_t e = 0; e < 64; e++) {
                T(store)(sum + e * 32 + i, T(pick)(t_38, T(splat)(0.0f),
                    (T(load)(sum + e * 32 + i) + T(load)(sum_from_state + e * 32 + i)) / t_37));
            }
        }
        if (saved_0) {
            /* row_sum = select(((row_sum + row_sum_from_state) + 1.0f) == 0.0f, 0.0f,
               1.0f / ((row_sum + row_sum_from_state) + 1.0f)) */
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                const T(vec) t_39 = (T(load)(row_sum + i) + T(load)(row_sum_from_state + i)) + 1.0f;
                T(store)(row_sum + i, T(pick)(t_39 == 0.0f, T(splat)(0.0f), 1.0f / t_39));
            }
        }
        /* out = sum, transposed back */
        T(transpose_out)(sum, 32, 64, i1 - i0, out + i0 * out_row, out_row, 64);
        if (saved_0) {
            /* saved_0 = row_sum */
            for (int64_t i = 0; i < i1 - i0; i++)
                saved_0[(i0 + i)] = row_sum[i];
        }
    }
}

/* Computes head number `task`. Each thread on the head calls this with `share`. */
TARGET static void T(power_gated_linear)(const struct call *call, int64_t task, struct share *share)
{
    const int64_t n_k = call->p.n_k;
    const int64_t chunks = n_k > 0 ? (n_k - 1) / 128 + 1 : 1;
    for (int64_t iteration = share->number; iteration < ((2080 + 31) / 32); iteration += share->threads)
        T(power_gated_begin)(call, task, share, iteration);
    synchronise(share);
    const int64_t first = 0;
    const int64_t length = segment_length(share, chunks - first);
    for (int64_t segment = share->number; first + segment * length < chunks; segment += share->threads) {
        share->chunk0 = first + segment * length;
        share->chunk1 = min(share->chunk0 + length, chunks);
        for (int64_t iteration = share->chunk0; iteration < share->chunk1; iteration++)
            T(power_gated_keys)(call, task, share, iteration);
        for (int64_t group = 0; group < 16; group++) {
            await_segment(share, group, segment);
            const int64_t end = (group + 1) * ((2080 + 31) / 32) / 16;
            for (int64_t iteration = group * ((2080 + 31) / 32) / 16; iteration < end; iteration++)
                T(power_gated_fold)(call, task, share, iteration);
            pass_segment(share, group, segment);
        }
        for (int64_t iteration = share->chunk0; iteration < share->chunk1; iteration++)
            T(power_gated_queries)(call, task, share, iteration);
    }
    share->segments += (max(chunks - first, 0) + length - 1) / length;
    synchronise(share);
}

/* Computes task number `task`: one tile of queries of one head. `work` is this thread's workspace. */
TARGET static void T(power_gated_saved)(const struct call *call, int64_t task, unsigned char *work)
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
    float *const row_sum = (float *)(void *)(work + 92160); /* [i: 64] */
    float *const row_sum_compensation = (float *)(void *)(work + 92416); /* [i: 64] */
    float *const saved_0 = (float *)call->array[ARRAY_saved_0].at + (b * call->p.heads + (g * members + m)) *
        call->p.n_q;
    float *const q_tile = (float *)(void *)(work + 92672); /* [d: 64, i: 64 of 80] */
    float *const log_decay_q_tile = (float *)(void *)(work + 113152); /* [i: 64] */
    float *const log_decay_q_low_tile = (float *)(void *)(work + 113408); /* [i: 64] */
    /* q_tile = q, with zeros beyond the last row */
    T(transpose_padded)(q + i0 * q_row, q_row, i1 - i0, 64, q_tile, 80, LANES);
    /* log_decay_q_tile = log_decay_q, with zeros beyond the last row */
    for (int64_t i = 0; i < round_up(i1 - i0, LANES); i++)
        log_decay_q_tile[i] = i < i1 - i0 ? log_decay_q[(i0 + i)] : 0;
    /* log_decay_q_low_tile = log_decay_q_low, with zeros beyond the last row */
    for (int64_t i = 0; i < round_up(i1 - i0, LANES); i++)
        log_decay_q_low_tile[i] = i < i1 - i0 ? log_decay_q_low[(i0 + i)] : 0;
    /* q_tile = q_tile * 0.125f */
    for (int64_t d = 0; d < 64; d++) {
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            T(store)(q_tile + d * 80 + i, T(load)(q_tile + d * 80 + i) * 0.125f);
        }
    }
    /* row_sum = 0.0f; row_sum_compensation = 0.0f */
    for (int64_t i = 0; i < i1 - i0; i += LANES) {
        T(store)(row_sum + i, T(splat)(0.0f));
        T(store)(row_sum_compensation + i, T(splat)(0.0f));
    }
    for (int64_t j0 = 0, j_end = min(n_k, i1 + query_start); j0 < j_end; j0 += 288) {
        const int64_t j1 = min(j0 + 288, j_end);
        /* score[j][i] = sum over d of k * q_tile */
        T(dot8)(round_up(i1 - i0, LANES), j1 - j0, k + j0 * k_row, k_row, q_tile, score);
        if ((i0 + query_start + 1) < j1) { /* the tile is partly outside the mask */
            /* score = select(j <= (i + query_start), (score * score) * exp2(((log_decay_q_tile - log_decay_k) +
               (log_decay_q_low_tile - log_de ... */
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                const T(ints) t_0 = (i0 + i + T(lane)) + query_start;
                const T(vec) log_decay_q_tile_2 = T(load)(log_decay_q_tile + i);
                const T(vec) log_decay_q_low_tile_3 = T(load)(log_decay_q_low_tile + i);
                T(vec) row_sum_in = (T(vec)){0};
                for (int64_t j = 0; j < j1 - j0; j++) {
                    const T(vec) score_1 = T(load)(score + j * 80 + i);
                    const T(vec) score_new4 = T(pick)(__builtin_convertvector((j0 + j) <= t_0, T(mask)),
                        (score_1 * score_1) * T(exp2)(((log_decay_q_tile_2 - log_decay_k[(j0 + j)]) +
                        (log_decay_q_low_tile_3 - log_decay_k_low[(j0 + j)])) * 1.442695f), T(splat)(0.0f));
                    T(store)(score + j * 80 + i, score_new4);
                    row_sum_in += score_new4;
                }
                T(add)(row_sum + i, row_sum_compensation + i, row_sum_in, T(splat)(1));
            }
        }
        if (!((i0 + query_start + 1) < j1)) { /* the tile is wholly inside the mask */
            /* score = (score * score) * exp2(((log_decay_q_tile - log_decay_k) + (log_decay_q_low_tile -
               log_decay_k_low)) * 1.442695f); row_s ... */
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                const T(vec) log_decay_q_tile_6 = T(load)(log_decay_q_tile + i);
                const T(vec) log_decay_q_low_tile_7 = T(load)(log_decay_q_low_tile + i);
                T(vec) row_sum_in = (T(vec)){0};
                for (int64_t j = 0; j < j1 - j0; j++) {
                    const T(vec) score_5 = T(load)(score + j * 80 + i);
                    const T(vec) score_new8 = (score_5 * score_5) * T(exp2)(((log_decay_q_tile_6 - log_decay_k[(j0 +
                        j)]) + (log_decay_q_low_tile_7 - log_decay_k_low[(j0 + j)])) * 1.442695f);
                    T(store)(score + j * 80 + i, score_new8);
                    row_sum_in += score_new8;
                }
                T(add)(row_sum + i, row_sum_compensation + i, row_sum_in, T(splat)(1));
            }
        }
    }
    /* row_sum = select((row_sum + 1.0f) == 0.0f, 0.0f, 1.0f / (row_sum + 1.0f)) */
    for (int64_t i = 0; i < i1 - i0; i += LANES) {
        const T(vec) t_9 = T(load)(row_sum + i) + 1.0f;
        T(store)(row_sum + i, T(pick)(t_9 == 0.0f, T(splat)(0.0f), 1.0f / t_9));
    }
    /* saved_0 = row_sum */
    for (int64_t i = 0; i < i1 - i0; i++)
        saved_0[(i0 + i)] = row_sum[i];
}

/* Computes task number `task`: one tile of queries of one head. `work` is this thread's workspace. */
TARGET static void T(power_gated_row_sums)(const struct call *call, int64_t task, unsigned char *work)
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
    const float *const saved_0 = (const float *)call->array[ARRAY_saved_0].at + (b * call->p.heads + (g * members + m))
        * call->p.n_q;
    float *const query_sum = (float *)(void *)(work + 0); /* [i: 64] */
    float *const row_0 = (float *)call->array[ARRAY_row_0].at + (b * call->p.heads + (g * members + m)) * call->p.n_q;
    float *const out_tile = (float *)(void *)(work + 256); /* [e: 64, i: 64 of 80] */
    float *const dout_tile = (float *)(void *)(work + 20736); /* [e: 64, i: 64 of 80] */
    float *const saved_0_tile = (float *)(void *)(work + 41216); /* [i: 64] */
    /* out_tile = out, with zeros beyond the last row */
    T(transpose_padded)(out + i0 * out_row, out_row, i1 - i0, 64, out_tile, 80, LANES);
    /* dout_tile = dout, with zeros beyond the last row */
    T(transpose_padded)(dout + i0 * dout_row, dout_row, i1 - i0, 64, dout_tile, 80, LANES);
    /* saved_0_tile = saved_0, with zeros beyond the last row */
    for (int64_t i = 0; i < round_up(i1 - i0, LANES); i++)
        saved_0_tile[i] = i < i1 - i0 ? saved_0[(i0 + i)] : 0;
    /* query_sum = 0.0f */
    for (int64_t i = 0; i < i1 - i0; i += LANES) {
        T(store)(query_sum + i, T(splat)(0.0f));
    }
    /* query_sum += dout_tile * neg(out_tile) */
    for (int64_t i_first = 0; i_first < i1 - i0; i_first += OF(64, 16, 8)) {
        T(vec) query_sum_in[OF(4, 2, 2)];
        UNROLL for (int64_t vector = 0, i = i_first; vector < OF(4, 2, 2); vector++, i += LANES) {
            query_sum_in[vector] = (T(vec)){0};
        }
        for (int64_t e = 0; e < 64; e++) {
            UNROLL for (int64_t vector = 0, i = i_first; vector < OF(4, 2, 2); vector++, i += LANES) {
                query_sum_in[vector] += T(load)(dout_tile + e * 80 + i) * (-T(load)(out_tile + e * 80 + i));
            }
        }
        UNROLL for (int64_t vector = 0, i = i_first; vector < OF(4, 2, 2); vector++, i += LANES) {
            T(store)(query_sum + i, T(load)(query_sum + i) + query_sum_in[vector]);
        }
    }
    /* query_sum = query_sum * saved_0_tile */
    for (int64_t i = 0; i < i1 - i0; i += LANES) {
        T(store)(query_sum + i, T(load)(query_sum + i) * T(load)(saved_0_tile + i));
    }
    /* row_0 = query_sum */
    for (int64_t i = 0; i < i1 - i0; i++)
        row_0[(i0 + i)] = query_sum[i];
}

/* Computes task number `task`: one tile of queries of one head. `work` is this thread's workspace. */
TARGET static void T(power_gated_dq_dlog_decay_q)(const struct call *call, int64_t task, unsigned char *work)
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
    const float *const saved_0 = (const float *)call->array[ARRAY_saved_0].at + (b * call->p.heads + (g * members + m))
        * call->p.n_q;
    const float *const row_0 = (const float *)call->array[ARRAY_row_0].at + (b * call->p.heads + (g * members + m)) *
        call->p.n_q;
    float *const score = (float *)(void *)(work + 0); /* [j: 288, i: 64 of 80] */
    float *const score_2 = (float *)(void *)(work + 92160); /* [j: 288, i: 64 of 80] */
    float *const weight_2 = (float *)(void *)(work + 184320); /* [j: 288, i: 64 of 80] */
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
    float *const dout_tile = (float *)(void *)(work + 317952); /* [e: 64, i: 64 of 80] */
    float *const saved_0_tile = (float *)(void *)(work + 0); /* [i: 64] */
    float *const q_tile = (float *)(void *)(work + 338432); /* [d: 64, i: 64 of 80] */
    float *const row_0_tile = (float *)(void *)(work + 358912); /* [i: 64] */
    float *const log_decay_q_tile = (float *)(void *)(work + 359168); /* [i: 64] */
    float *const log_decay_q_low_tile = (float *)(void *)(work + 359424); /* [i: 64] */
    int64_t results = i1 - i0; /* rows of dq to prefetch during the first product */
    /* dout_tile = dout, with zeros beyond the last row */
    T(transpose_padded)(dout + i0 * dout_row, dout_row, i1 - i0, 64, dout_tile, 80, LANES);
    /* saved_0_tile = saved_0, with zeros beyond the last row */
    for (int64_t i = 0; i < round_up(i1 - i0, LANES); i++)
        saved_0_tile[i] = i < i1 - i0 ? saved_0[(i0 + i)] : 0;
    /* q_tile = q, with zeros beyond the last row */
    T(transpose_padded)(q + i0 * q_row, q_row, i1 - i0, 64, q_tile, 80, LANES);
    /* row_0_tile = row_0, with zeros beyond the last row */
    for (int64_t i = 0; i < round_up(i1 - i0, LANES); i++)
        row_0_tile[i] = i < i1 - i0 ? row_0[(i0 + i)] : 0;
    /* log_decay_q_tile = log_decay_q, with zeros beyond the last row */
    for (int64_t i = 0; i < round_up(i1 - i0, LANES); i++)
        log_decay_q_tile[i] = i < i1 - i0 ? log_decay_q[(i0 + i)] : 0;
    /* log_decay_q_low_tile = log_decay_q_low, with zeros beyond the last row */
    for (int64_t i = 0; i < round_up(i1 - i0, LANES); i++)
        log_decay_q_low_tile[i] = i < i1 - i0 ? log_decay_q_low[(i0 + i)] : 0;
    /* dout_tile = dout_tile * saved_0_tile */
    for (int64_t i = 0; i < i1 - i0; i += LANES) {
        const T(vec) saved_0_tile_0 = T(load)(saved_0_tile + i);
        for (int64_t e = 0; e < 64; e++) {
            T(store)(dout_tile + e * 80 + i, T(load)(dout_tile + e * 80 + i) * saved_0_tile_0);
        }
    }
    if (dlog_decay_q) {
        /* row_sum = 0.0f; row_sum_compensation = 0.0f */
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            T(store)(row_sum + i, T(splat)(0.0f));
            T(store)(row_sum_compensation + i, T(splat)(0.0f));
        }
    }
    if (dq) {
        /* sum = 0.0f; sum_compensation = 0.0f */
        for (int64_t d = 0; d < 64; d++) {
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                T(store)(sum + d * 80 + i, T(splat)(0.0f));
                T(store)(sum_compensation + d * 80 + i, T(splat)(0.0f));
            }
        }
    }
    for (int64_t j0 = 0, j_end = min(n_k, i1 + query_start); j0 < j_end; j0 += 288) {
        const int64_t j1 = min(j0 + 288, j_end);
        /* score[j][i] = sum over d of k * q_tile */
        T(dot9)(round_up(i1 - i0, LANES), j1 - j0, k + j0 * k_row, k_row, q_tile, score, dq + i0 * dq_row, dq_row,
            results);
        results = 0;
        /* score_2[j][i] = sum over e of v * dout_tile */
        T(dot0)(round_up(i1 - i0, LANES), j1 - j0, v + j0 * v_row, v_row, dout_tile, score_2, k + j0 * k_row, k_row,
            dq + i0 * dq_row, dq_row, results);
        results = 0;
        /* score_2 = score_2 + row_0_tile; weight_2 = score_2 * ((score * exp2(((log_decay_q_tile - log_decay_k) +
           (log_decay_q_low_tile -  ... */
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            const T(vec) row_0_tile_2 = T(load)(row_0_tile + i);
            const T(vec) log_decay_q_tile_5 = T(load)(log_decay_q_tile + i);
            const T(vec) log_decay_q_low_tile_6 = T(load)(log_decay_q_low_tile + i);
            for (int64_t j = 0; j < j1 - j0; j++) {
                const T(vec) score_2_1 = T(load)(score_2 + j * 80 + i);
                const T(vec) score_2_new3 = score_2_1 + row_0_tile_2;
                T(store)(score_2 + j * 80 + i, score_2_new3);
                const T(vec) score_4 = T(load)(score + j * 80 + i);
                const T(vec) t_7 = T(exp2)(((log_decay_q_tile_5 - log_decay_k[(j0 + j)]) + (log_decay_q_low_tile_6 -
                    log_decay_k_low[(j0 + j)])) * 1.442695f);
                T(store)(weight_2 + j * 80 + i, score_2_new3 * ((score_4 * t_7) * 0.03125f));
                const T(vec) t_8 = score_4 * 0.125f;
                T(store)(score + j * 80 + i, score_2_new3 * ((t_8 * t_8) * t_7));
            }
        }
        if ((i0 + query_start + 1) < j1) { /* the tile is partly outside the mask */
            if (dlog_decay_q) {
                /* score = select(j <= (i + query_start), score, 0.0f) */
                for (int64_t i = 0; i < i1 - i0; i += LANES) {
                    const T(ints) t_9 = (i0 + i + T(lane)) + query_start;
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        T(store)(score + j * 80 + i, T(pick)(__builtin_convertvector((j0 + j) <= t_9, T(mask)),
                            T(load)(score + j * 80 + i), T(splat)(0.0f)));
                    }
                }
            }
        }
        if (dlog_decay_q) {
            /* row_sum += score */
            for (int64_t i_first = 0; i_first < i1 - i0; i_first += OF(64, 16, 8)) {
                T(vec) row_sum_in[OF(4, 2, 2)];
                UNROLL for (int64_t vector = 0, i = i_first; vector < OF(4, 2, 2); vector++, i += LANES) {
                    row_sum_in[vector] = (T(vec)){0};
                }
                for (int64_t j = 0; j < j1 - j0; j++) {
                    UNROLL for (int64_t vector = 0, i = i_first; vector < OF(4, 2, 2); vector++, i += LANES) {
                        row_sum_in[vector] += T(load)(score + j * 80 + i);
                    }
                }
                UNROLL for (int64_t vector = 0, i = i_first; vector < OF(4, 2, 2); vector++, i += LANES) {
                    T(add)(row_sum + i, row_sum_compensation + i, row_sum_in[vector], T(splat)(1));
                }
            }
        }
        if ((i0 + query_start + 1) < j1) { /* the tile is partly outside the mask */
            if (dq) {
                /* weight_2 = select(j <= (i + query_start), weight_2, 0.0f) */
                for (int64_t i = 0; i < i1 - i0; i += LANES) {
                    const T(ints) t_10 = (i0 + i + T(lane)) + query_start;
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        T(store)(weight_2 + j * 80 + i, T(pick)(__builtin_convertvector((j0 + j) <= t_10, T(mask)),
                            T(load)(weight_2 + j * 80 + i), T(splat)(0.0f)));
                    }
                }
            }
        }
        if (dq) {
            /* sum[d][i] += sum over j of k * weight_2 */
            if (__builtin_expect(((i0 + query_start + 1) < j1) && !T(finite)(k + j0 * k_row, k_row, j1 - j0, 64),
                0)) { /* infinity and NaN affect only queries that see them */
                T(dot1)(round_up(i1 - i0, LANES), j1 - j0, k + j0 * k_row, k_row, weight_2, sum, sum_compensation);
                for (int64_t j = 0; j < j1 - j0; j++) {
                    T(mask) in_region[OF(4, 8, 16)] = {0};
                    if (T(finite)(k + j0 * k_row + j * k_row, 1, 64, 1)) continue;
                    for (int64_t i = 0; i < i1 - i0; i += LANES) {
                        in_region[i / LANES] = __builtin_convertvector((j0 + j) <= ((i0 + i + T(lane)) + query_start),
                            T(mask));
                    }
                    T(add_seen)(64, sum, 80, k + j0 * k_row + j * k_row, 1, weight_2 + j * 80, in_region, i1 - i0);
                }
            } else
                T(dot2)(round_up(i1 - i0, LANES), j1 - j0, k + j0 * k_row, k_row, weight_2, sum, sum_compensation);
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
TARGET static void T(power_gated_dk_dv)(const struct call *call, int64_t task, unsigned char *work)
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
    const float *const saved_0 = (const float *)call->array[ARRAY_saved_0].at + (b * call->p.heads + g * members) *
        call->p.n_q;
    const int64_t saved_0_head = call->p.n_q;
    const float *const row_0 = (const float *)call->array[ARRAY_row_0].at + (b * call->p.heads + g * members) *
        call->p.n_q;
    const int64_t row_0_head = call->p.n_q;
    float *const score = (float *)(void *)(work + 0); /* [i: 288, j: 64 of 80] */
    float *const score_2 = (float *)(void *)(work + 92160); /* [i: 288, j: 64 of 80] */
    float *const weight = (float *)(void *)(work + 184320); /* [i: 288, j: 64 of 80] */
    float *const sum = (float *)(void *)(work + 276480); /* [e: 64, j: 64 of 80] */
    float *const sum_compensation = (float *)(void *)(work + 296960); /* [e: 64, j: 64 of 80] */
    float *const sum_2 = (float *)(void *)(work + 317440); /* [d: 64, j: 64 of 80] */
    float *const sum_2_compensation = (float *)(void *)(work + 337920); /* [d: 64, j: 64 of 80] */
    float *const dk = call->array[ARRAY_dk].at ? (float *)call->array[ARRAY_dk].at + b *
        call->array[ARRAY_dk].strides.batch + g * call->array[ARRAY_dk].strides.head : NULL;
    const int64_t dk_row = call->array[ARRAY_dk].strides.row;
    float *const dv = call->array[ARRAY_dv].at ? (float *)call->array[ARRAY_dv].at + b *
        call->array[ARRAY_dv].strides.batch + g * call->array[ARRAY_dv].strides.head : NULL;
    const int64_t dv_row = call->array[ARRAY_dv].strides.row;
    float *const k_tile = (float *)(void *)(work + 358400); /* [d: 64, j: 64 of 80] */
    float *const v_tile = (float *)(void *)(work + 378880); /* [e: 64, j: 64 of 80] */
    float *const log_decay_k_tile = (float *)(void *)(work + 399360); /* [j: 64] */
    float *const log_decay_k_low_tile = (float *)(void *)(work + 399616); /* [j: 64] */
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
    if (dk) {
        /* sum_2 = 0.0f; sum_2_compensation = 0.0f */
        for (int64_t d = 0; d < 64; d++) {
            for (int64_t j = 0; j < j1 - j0; j += LANES) {
                T(store)(sum_2 + d * 80 + j, T(splat)(0.0f));
                T(store)(sum_2_compensation + d * 80 + j, T(splat)(0.0f));
            }
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
            if (dv) {
                /* weight = (((score * 0.125f) * (score * 0.125f)) * exp2(((log_decay_q - log_decay_k_tile) +
                   (log_decay_q_low - log_decay_k_low_ti ... */
                for (int64_t j = 0; j < j1 - j0; j += LANES) {
                    const T(vec) log_decay_k_tile_1 = T(load)(log_decay_k_tile + j);
                    const T(vec) log_decay_k_low_tile_2 = T(load)(log_decay_k_low_tile + j);
                    for (int64_t i = 0; i < i1 - i0; i++) {
                        const T(vec) t_0 = T(load)(score + i * 80 + j) * 0.125f;
                        T(store)(weight + i * 80 + j, ((t_0 * t_0) * T(exp2)((((log_decay_q[m * log_decay_q_head + (i0 +
                            i)]) - log_decay_k_tile_1) + ((log_decay_q_low[m * log_decay_q_low_head + (i0 + i)]) -
                            log_decay_k_low_tile_2)) * 1.442695f)) * (saved_0[m * saved_0_head + (i0 + i)]));
                    }
                }
            }
            if (i0 < (j1 - query_start - 1)) { /* the tile is partly outside the mask */
                if (dv) {
                    /* weight = select(j <= (i + query_start), weight, 0.0f) */
                    for (int64_t j = 0; j < j1 - j0; j += LANES) {
                        const T(ints) t_3 = j0 + j + T(lane);
                        for (int64_t i = 0; i < i1 - i0; i++) {
                            T(store)(weight + i * 80 + j, T(pick)(__builtin_convertvector(t_3 <= ((i0 + i) +
                                query_start), T(mask)), T(load)(weight + i * 80 + j), T(splat)(0.0f)));
                        }
                    }
                }
            }
            if (dv) {
                /* sum[e][j] += sum over i of dout * weight */
                if (__builtin_expect((i0 < (j1 - query_start - 1)) && !T(finite)(dout + m * dout_head + i0 * dout_row,
                    dout_row, i1 - i0, 64), 0)) { /* infinity and NaN affect only queries that see them */
                    T(dot1)(round_up(j1 - j0, LANES), i1 - i0, dout + m * dout_head + i0 * dout_row, dout_row, weight,
                        sum, sum_compensation);
                    for (int64_t i = 0; i < i1 - i0; i++) {
                        T(mask) in_region[OF(4, 8, 16)] = {0};
                        if (T(finite)(dout + m * dout_head + i0 * dout_row + i * dout_row, 1, 64, 1)) continue;
                        const int64_t t_4 = (i0 + i) + query_start;
                        for (int64_t j = 0; j < j1 - j0; j += LANES) {
                            in_region[j / LANES] = __builtin_convertvector((j0 + j + T(lane)) <= t_4, T(mask));
                        }
                        T(add_seen)(64, sum, 80, dout + m * dout_head + i0 * dout_row + i * dout_row, 1,
                            weight + i * 80, in_region, j1 - j0);
                    }
                } else
                    T(dot2)(round_up(j1 - j0, LANES), i1 - i0, dout + m * dout_head + i0 * dout_row, dout_row, weight,
                        sum, sum_compensation);
            }
            if (dk) {
                /* score_2 = ((score_2 * saved_0) + row_0) * ((score * exp2(((log_decay_q - log_decay_k_tile) +
                   (log_decay_q_low - log_decay_k_low_ ... */
                for (int64_t j = 0; j < j1 - j0; j += LANES) {
                    const T(vec) log_decay_k_tile_5 = T(load)(log_decay_k_tile + j);
                    const T(vec) log_decay_k_low_tile_6 = T(load)(log_decay_k_low_tile + j);
                    for (int64_t i = 0; i < i1 - i0; i++) {
                        T(store)(score_2 + i * 80 + j, ((T(load)(score_2 + i * 80 + j) * (saved_0[m * saved_0_head + (i0
                            + i)])) + (row_0[m * row_0_head + (i0 + i)])) * ((T(load)(score + i * 80 + j) *
                            T(exp2)((((log_decay_q[m * log_decay_q_head + (i0 + i)]) - log_decay_k_tile_5) +
                            ((log_decay_q_low[m * log_decay_q_low_head + (i0 + i)]) - log_decay_k_low_tile_6)) *
                            1.442695f)) * 0.03125f));
                    }
                }
            }
            if (i0 < (j1 - query_start - 1)) { /* the tile is partly outside the mask */
                if (dk) {
                    /* score_2 = select(j <= (i + query_start), score_2, 0.0f) */
                    for (int64_t j = 0; j < j1 - j0; j += LANES) {
                        const T(ints) t_7 = j0 + j + T(lane);
                        for (int64_t i = 0; i < i1 - i0; i++) {
                            T(store)(score_2 + i * 80 + j, T(pick)(__builtin_convertvector(t_7 <= ((i0 + i) +
                                query_start), T(mask)), T(load)(score_2 + i * 80 + j), T(splat)(0.0f)));
                        }
                    }
                }
            }
            if (dk) {
                /* sum_2[d][j] += sum over i of q * score_2 */
                if (__builtin_expect((i0 < (j1 - query_start - 1)) && !T(finite)(q + m * q_head + i0 * q_row, q_row,
                    i1 - i0, 64), 0)) { /* infinity and NaN affect only queries that see them */
                    T(dot1)(round_up(j1 - j0, LANES), i1 - i0, q + m * q_head + i0 * q_row, q_row, score_2, sum_2,
                        sum_2_compensation);
                    for (int64_t i = 0; i < i1 - i0; i++) {
                        T(mask) in_region[OF(4, 8, 16)] = {0};
                        if (T(finite)(q + m * q_head + i0 * q_row + i * q_row, 1, 64, 1)) continue;
                        const int64_t t_8 = (i0 + i) + query_start;
                        for (int64_t j = 0; j < j1 - j0; j += LANES) {
                            in_region[j / LANES] = __builtin_convertvector((j0 + j + T(lane)) <= t_8, T(mask));
                        }
                        T(add_seen)(64, sum_2, 80, q + m * q_head + i0 * q_row + i * q_row, 1, score_2 + i * 80,
                            in_region, j1 - j0);
                    }
                } else
                    T(dot2)(round_up(j1 - j0, LANES), i1 - i0, q + m * q_head + i0 * q_row, q_row, score_2, sum_2,
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
TARGET static void T(power_gated_dlog_decay_k)(const struct call *call, int64_t task, unsigned char *work)
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
    const float *const saved_0 = (const float *)call->array[ARRAY_saved_0].at + (b * call->p.heads + (g * members + m))
        * call->p.n_q;
    const float *const row_0 = (const float *)call->array[ARRAY_row_0].at + (b * call->p.heads + (g * members + m)) *
        call->p.n_q;
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
    /* k_tile = k_tile * 0.125f */
    for (int64_t d = 0; d < 64; d++) {
        for (int64_t j = 0; j < j1 - j0; j += LANES) {
            T(store)(k_tile + d * 80 + j, T(load)(k_tile + d * 80 + j) * 0.125f);
        }
    }
    /* row_sum = 0.0f; row_sum_compensation = 0.0f */
    for (int64_t j = 0; j < j1 - j0; j += LANES) {
        T(store)(row_sum + j, T(splat)(0.0f));
        T(store)(row_sum_compensation + j, T(splat)(0.0f));
    }
    for (int64_t i0 = max(0, j0 - query_start), i_end = n_q; i0 < i_end; i0 += 288) {
        const int64_t i1 = min(i0 + 288, i_end);
        /* score[i][j] = sum over d of q * k_tile */
        T(dot8)(round_up(j1 - j0, LANES), i1 - i0, q + i0 * q_row, q_row, k_tile, score);
        /* score_2[i][j] = sum over e of dout * v_tile */
        T(dot8)(round_up(j1 - j0, LANES), i1 - i0, dout + i0 * dout_row, dout_row, v_tile, score_2);
        if (i0 < (j1 - query_start - 1)) { /* the tile is partly outside the mask */
            /* score_2 = select(j <= (i + query_start), ((score_2 * saved_0) + row_0) * neg((score * score) *
               exp2(((log_decay_q - log_decay_k_ ... */
            for (int64_t j = 0; j < j1 - j0; j += LANES) {
                const T(ints) t_0 = j0 + j + T(lane);
                const T(vec) log_decay_k_tile_4 = T(load)(log_decay_k_tile + j);
                const T(vec) log_decay_k_low_tile_5 = T(load)(log_decay_k_low_tile + j);
                T(vec) row_sum_in = (T(vec)){0};
                for (int64_t i = 0; i < i1 - i0; i++) {
                    const T(vec) score_2_1 = T(load)(score_2 + i * 80 + j);
                    const T(vec) score_3 = T(load)(score + i * 80 + j);
                    const T(vec) score_2_new6 = T(pick)(__builtin_convertvector(t_0 <= ((i0 + i) + query_start),
                        T(mask)), ((score_2_1 * saved_0[(i0 + i)]) + row_0[(i0 + i)]) * (-((score_3 * score_3) *
                        T(exp2)(((log_decay_q[(i0 + i)] - log_decay_k_tile_4) + (log_decay_q_low[(i0 + i)] -
                        log_decay_k_low_tile_5)) * 1.442695f))), T(splat)(0.0f));
                    T(store)(score_2 + i * 80 + j, score_2_new6);
                    row_sum_in += score_2_new6;
                }
                T(add)(row_sum + j, row_sum_compensation + j, row_sum_in, T(splat)(1));
            }
        }
        if (!(i0 < (j1 - query_start - 1))) { /* the tile is wholly inside the mask */
            /* score_2 = ((score_2 * saved_0) + row_0) * neg((score * score) * exp2(((log_decay_q - log_decay_k_tile) +
               (log_decay_q_low - log_ ... */
            for (int64_t j = 0; j < j1 - j0; j += LANES) {
                const T(vec) log_decay_k_tile_9 = T(load)(log_decay_k_tile + j);
                const T(vec) log_decay_k_low_tile_10 = T(load)(log_decay_k_low_tile + j);
                T(vec) row_sum_in = (T(vec)){0};
                for (int64_t i = 0; i < i1 - i0; i++) {
                    const T(vec) score_2_7 = T(load)(score_2 + i * 80 + j);
                    const T(vec) score_8 = T(load)(score + i * 80 + j);
                    const T(vec) score_2_new11 = ((score_2_7 * saved_0[(i0 + i)]) + row_0[(i0 + i)]) * (-((score_8 *
                        score_8) * T(exp2)(((log_decay_q[(i0 + i)] - log_decay_k_tile_9) + (log_decay_q_low[(i0 + i)] -
                        log_decay_k_low_tile_10)) * 1.442695f)));
                    T(store)(score_2 + i * 80 + j, score_2_new11);
                    row_sum_in += score_2_new11;
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
TARGET static void T(power_gated_terms_dgate)(const struct call *call, int64_t task, unsigned char *work)
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

/* Initialises the states: they contain no keys yet. */
TARGET APART void T(power_gated_linear_saved_begin)(const struct call *call, int64_t task, const struct share *share,
    int64_t iteration)
{
    (void)call;
    (void)task;
    const int64_t f0 = iteration * 32, f1 = min(f0 + 32, 2080);
    float *const carried_sum = (float *)(void *)(share->shared + 0); /* [f: 2080] */
    float *const carried_sum_compensation = (float *)(void *)(share->shared + 8320); /* [f: 2080] */
    /* carried_sum = 0.0f; carried_sum_compensation = 0.0f */
    for (int64_t f = f0; f < f1; f += LANES) {
        T(store)(carried_sum + f, T(splat)(0.0f));
        T(store)(carried_sum_compensation + f, T(splat)(0.0f));
    }
}

/* Sums the keys of a chunk, from zero, into its slot. */
TARGET APART void T(power_gated_linear_saved_keys)(const struct call *call, int64_t task, const struct share *share,
    int64_t iteration)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_k = call->p.n_k;
    const int64_t chunk = iteration;
    const int64_t chunk0 = share->chunk0;
    const int64_t m = task % members;
    const int64_t g = task / members % kv_heads;
    const int64_t b = task / members / kv_heads;
    const float *const k = (const float *)call->array[ARRAY_k].at + b * call->array[ARRAY_k].strides.batch + g /
        call->sharing * call->array[ARRAY_k].strides.head;
    const int64_t k_row = call->array[ARRAY_k].strides.row;
    const float *const log_decay_k_low = (const float *)call->array[ARRAY_log_decay_k_low].at + b *
        call->array[ARRAY_log_decay_k_low].strides.batch + (g * members + m) *
        call->array[ARRAY_log_decay_k_low].strides.head;
    const float *const log_decay_k = (const float *)call->array[ARRAY_log_decay_k].at + b *
        call->array[ARRAY_log_decay_k].strides.batch + (g * members + m) * call->array[ARRAY_log_decay_k].strides.head;
    const float *const log_decay_chunk_low = (const float *)call->array[ARRAY_log_decay_chunk_low].at + b *
        call->array[ARRAY_log_decay_chunk_low].strides.batch + (g * members + m) *
        call->array[ARRAY_log_decay_chunk_low].strides.head;
    const float *const log_decay_chunk = (const float *)call->array[ARRAY_log_decay_chunk].at + b *
        call->array[ARRAY_log_decay_chunk].strides.batch + (g * members + m) *
        call->array[ARRAY_log_decay_chunk].strides.head;
    float *const key_features = (float *)(void *)(share->work + 0); /* [f: 192, j: 64 of 80] */
    float *const state_sum = (float *)(void *)(share->slots + 0); /* [chunk, f: 2080] */
    float *const k_tile = (float *)(void *)(share->work + 61440); /* [d: 64, j: 64 of 80] */
    float *const log_decay_k_tile = (float *)(void *)(share->work + 81920); /* [j: 64] */
    float *const log_decay_k_low_tile = (float *)(void *)(share->work + 82176); /* [j: 64] */
    /* state_sum = 0.0f */
    for (int64_t f = 0; f < 2080; f += LANES) {
        T(store)(state_sum + (chunk - chunk0) * 2080 + f, T(splat)(0.0f));
    }
    for (int64_t j0 = chunk * 128, j_end = min(n_k, (chunk + 1) * 128); j0 < j_end; j0 += 64) {
        const int64_t j1 = min(j0 + 64, j_end);
        /* k_tile = k, with zeros beyond the last row */
        T(transpose_padded)(k + j0 * k_row, k_row, j1 - j0, 64, k_tile, 80, 64);
        /* log_decay_k_tile = log_decay_k, with zeros beyond the last row */
        for (int64_t j = 0; j < round_up(j1 - j0, LANES); j++)
            log_decay_k_tile[j] = j < j1 - j0 ? log_decay_k[(j0 + j)] : 0;
        /* log_decay_k_low_tile = log_decay_k_low, with zeros beyond the last row */
        for (int64_t j = 0; j < round_up(j1 - j0, LANES); j++)
            log_decay_k_low_tile[j] = j < j1 - j0 ? log_decay_k_low[(j0 + j)] : 0;
        for (int64_t f0 = 0, f_end = 2080; f0 < f_end; f0 += 192) {
            const int64_t f1 = min(f0 + 192, f_end);
            /* key_features = (k_tile * k_tile) * exp2(((log_decay_chunk - log_decay_k_tile) + (log_decay_chunk_low -
               log_decay_k_low_tile)) *  ... */
            const float log_decay_chunk_0 = log_decay_chunk[max(min(((chunk + 1) * 128) - 1, n_k - 1), 0)];
            const float log_decay_chunk_low_1 = log_decay_chunk_low[max(min(((chunk + 1) * 128) - 1, n_k - 1), 0)];
            for (int64_t j = 0; j < j1 - j0; j += LANES) {
                const T(vec) t_2 = T(exp2)(((log_decay_chunk_0 - T(load)(log_decay_k_tile + j)) + (log_decay_chunk_low_1
                    - T(load)(log_decay_k_low_tile + j))) * 1.442695f);
                for (int64_t f = f0; f < f1; f++) {
                    T(store)(key_features + (f - f0) * 80 + j, (T(load)(k_tile + (f % 64) * 80 + j) * T(load)(k_tile +
                        (((f % 64) + (f / 64)) % 64) * 80 + j)) * t_2);
                }
            }
            /* state_sum += key_features */
            for (int64_t f = f0; f < f1; f++) {
                T(vec) lane_sums = T(splat)(0);
                for (int64_t j = 0; j < j1 - j0; j += LANES) {
                    const T(vec) term = T(load)(key_features + (f - f0) * 80 + j);
                    lane_sums += j + LANES <= j1 - j0 ? term : T(pick)(__builtin_convertvector(j + T(lane) < j1 - j0,
                        T(mask)), term, T(splat)(0));
                }
                const float total = T(lane_sum)(lane_sums);
                state_sum[(chunk - chunk0) * 2080 + f] += total;
            }
        }
    }
}

/* Folds the slots of the current chunks, in order, for some elements of the states. */
TARGET APART void T(power_gated_linear_saved_fold)(const struct call *call, int64_t task, const struct share *share,
    int64_t iteration)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_k = call->p.n_k;
    const int64_t f0 = iteration * 32, f1 = min(f0 + 32, 2080);
    const int64_t chunk0 = share->chunk0;
    const int64_t chunk1 = share->chunk1;
    const int64_t m = task % members;
    const int64_t g = task / members % kv_heads;
    const int64_t b = task / members / kv_heads;
    const float *const log_decay_chunk_low = (const float *)call->array[ARRAY_log_decay_chunk_low].at + b *
        call->array[ARRAY_log_decay_chunk_low].strides.batch + (g * members + m) *
        call->array[ARRAY_log_decay_chunk_low].strides.head;
    const float *const log_decay_chunk = (const float *)call->array[ARRAY_log_decay_chunk].at + b *
        call->array[ARRAY_log_decay_chunk].strides.batch + (g * members + m) *
        call->array[ARRAY_log_decay_chunk].strides.head;
    float *const state_sum = (float *)(void *)(share->slots + 0); /* [chunk, f: 2080] */
    float *const carried_sum = (float *)(void *)(share->shared + 0); /* [f: 2080] */
    float *const carried_sum_compensation = (float *)(void *)(share->shared + 8320); /* [f: 2080] */
    for (int64_t chunk = chunk0; chunk < chunk1; chunk++) {
        /* kept_share = select(exp2(((log_decay_chunk - log_decay_chunk) + (log_decay_chunk_low - log_decay_chunk_low))
           * 1.442695f) < 0.5f ... */
        const float t_3 = (log_decay_chunk[max(min(((chunk + 1) * 128) - 1, n_k - 1),
            0)] - log_decay_chunk[max(min((chunk * 128) - 1, n_k - 1),
            0)]) + (log_decay_chunk_low[max(min(((chunk + 1) * 128) - 1, n_k - 1),
            0)] - log_decay_chunk_low[max(min((chunk * 128) - 1, n_k - 1), 0)]);
        const float t_4 = exp2f(t_3 * 1.442695f);
        const int t_5 = t_4 < 0.5f;
        const float t_6 = t_5 ? t_4 : 1.0f;
        const float t_8 = t_5 ? 0.0f : (-expm1f(t_3));
        for (int64_t f = f0; f < f1; f += LANES) {
            const T(vec) kept_share_new7 = T(splat)(t_6);
            const T(vec) lost_share_new9 = T(splat)(t_8);
            const T(vec) carried_sum_10 = T(load)(carried_sum + f);
            const T(vec) before_sum_new11 = carried_sum_10;
            const T(vec) carried_sum_new12 = carried_sum_10 * kept_share_new7;
            T(store)(carried_sum + f, carried_sum_new12);
            T(store)(carried_sum_compensation + f, T(load)(carried_sum_compensation + f) * kept_share_new7);
            T(add)(carried_sum + f, carried_sum_compensation + f, T(load)(state_sum + (chunk - chunk0) * 2080 + f) -
                (carried_sum_new12 * lost_share_new9), T(splat)(1));
            T(store)(state_sum + (chunk - chunk0) * 2080 + f, before_sum_new11);
        }
    }
}

/* Processes the queries of a chunk: reads the state before the chunk, and the keys in the chunk. */
TARGET APART void T(power_gated_linear_saved_queries)(const struct call *call, int64_t task, const struct share *share,
    int64_t iteration)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_q = call->p.n_q;
    const int64_t n_k = call->p.n_k;
    const int64_t chunk = iteration;
    const int64_t chunk0 = share->chunk0;
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
    const float *const log_decay_chunk_low = (const float *)call->array[ARRAY_log_decay_chunk_low].at + b *
        call->array[ARRAY_log_decay_chunk_low].strides.batch + (g * members + m) *
        call->array[ARRAY_log_decay_chunk_low].strides.head;
    const float *const log_decay_chunk = (const float *)call->array[ARRAY_log_decay_chunk].at + b *
        call->array[ARRAY_log_decay_chunk].strides.batch + (g * members + m) *
        call->array[ARRAY_log_decay_chunk].strides.head;
    float *const state_sum = (float *)(void *)(share->slots + 0); /* [chunk, f: 2080] */
    float *const query_features = (float *)(void *)(share->work + 0); /* [d: 64, i: 32] */
    float *const score = (float *)(void *)(share->work + 8192); /* [j: 64, i: 32] */
    float *const row_sum_from_state = (float *)(void *)(share->work + 16384); /* [i: 32] */
    float *const row_sum = (float *)(void *)(share->work + 16512); /* [i: 32] */
    float *const row_sum_compensation = (float *)(void *)(share->work + 16640); /* [i: 32] */
    float *const saved_0 = (float *)call->array[ARRAY_saved_0].at + (b * call->p.heads + (g * members + m)) *
        call->p.n_q;
    float *const q_tile = (float *)(void *)(share->work + 8192); /* [d: 64, i: 32] */
    float *const log_decay_q_tile = (float *)(void *)(share->work + 16768); /* [i: 32] */
    float *const log_decay_q_low_tile = (float *)(void *)(share->work + 16896); /* [i: 32] */
    for (int64_t i0 = (chunk == 0) ? 0 : max(0, (chunk * 128) - query_start), i_end = min(n_q,
        ((chunk + 1) * 128) - query_start); i0 < i_end; i0 += 32) {
        const int64_t i1 = min(i0 + 32, i_end);
        /* q_tile = q, with zeros beyond the last row */
        T(transpose_padded)(q + i0 * q_row, q_row, i1 - i0, 64, q_tile, 32, 64);
        /* log_decay_q_tile = log_decay_q, with zeros beyond the last row */
        for (int64_t i = 0; i < round_up(i1 - i0, LANES); i++)
            log_decay_q_tile[i] = i < i1 - i0 ? log_decay_q[(i0 + i)] : 0;
        /* log_decay_q_low_tile = log_decay_q_low, with zeros beyond the last row */
        for (int64_t i = 0; i < round_up(i1 - i0, LANES); i++)
            log_decay_q_low_tile[i] = i < i1 - i0 ? log_decay_q_low[(i0 + i)] : 0;
        /* query_features = q_tile * 0.125f */
        for (int64_t d = 0; d < 64; d++) {
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                T(store)(query_features + d * 32 + i, T(load)(q_tile + d * 32 + i) * 0.125f);
            }
        }
        /* row_sum_from_state = 0.0f */
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            T(store)(row_sum_from_state + i, T(splat)(0.0f));
        }
        for (int64_t f0 = 0, f_end = 2080; f0 < f_end; f0 += 192) {
            const int64_t f1 = min(f0 + 192, f_end);
            /* query = (((q_tile * 0.125f) * (q_tile * 0.125f)) * select((f / 64) == 0, 1.0f,
               2.0f)) * select(chunk == 0, 1.0f, exp2(((log_deca ... */
            const int t_13 = chunk == 0;
            const float log_decay_chunk_14 = log_decay_chunk[max(min((chunk * 128) - 1, n_k - 1), 0)];
            const float log_decay_chunk_low_15 = log_decay_chunk_low[max(min((chunk * 128) - 1, n_k - 1), 0)];
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                const T(vec) t_16 = t_13 ? T(splat)(1.0f) : T(exp2)(((T(load)(log_decay_q_tile + i) -
                    log_decay_chunk_14) + (T(load)(log_decay_q_low_tile + i) - log_decay_chunk_low_15)) * 1.442695f);
                T(vec) row_sum_from_state_in = (T(vec)){0};
                T(vec) row_sum_from_state_in_whole = (T(vec)){0};
                for (int64_t f = f0; f < f1; f++) {
                    const T(vec) query_new17 = (((T(load)(q_tile + (f % 64) * 32 + i) * 0.125f) * (T(load)(q_tile + (((f
                        % 64) + (f / 64)) % 64) * 32 + i) * 0.125f)) * (float)(((f / 64) == 0) ? 1.0 : 2.0)) * t_16;
                    row_sum_from_state_in += query_new17 * (state_sum[(chunk - chunk0) * 2080 + f]);
                    if (f % 192 == 191) {
                        row_sum_from_state_in_whole += row_sum_from_state_in;
                        row_sum_from_state_in = (T(vec)){0};
                    }
                }
                row_sum_from_state_in += row_sum_from_state_in_whole;
                T(store)(row_sum_from_state + i, T(load)(row_sum_from_state + i) + row_sum_from_state_in);
            }
        }
        /* row_sum = 0.0f; row_sum_compensation = 0.0f */
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            T(store)(row_sum + i, T(splat)(0.0f));
            T(store)(row_sum_compensation + i, T(splat)(0.0f));
        }
        for (int64_t j0 = max(0, chunk * 128), j_end = min(n_k, i1 + query_start); j0 < j_end; j0 += 64) {
            const int64_t j1 = min(j0 + 64, j_end);
            /* score[j][i] = sum over d of k * query_features */
            T(dot10)(round_up(i1 - i0, LANES), j1 - j0, k + j0 * k_row, k_row, query_features, score);
            if ((j0 < (chunk * 128)) || ((i0 + query_start + 1) < j1)) { /* the tile is partly outside the mask */
                /* score = select((j <= (i + query_start)) && ((chunk * 128) <= j),
                   (score * score) * exp2(((log_decay_q_tile - log_decay_k) + (log ... */
                for (int64_t i = 0; i < i1 - i0; i += LANES) {
                    const T(ints) t_18 = (i0 + i + T(lane)) + query_start;
                    const T(vec) log_decay_q_tile_20 = T(load)(log_decay_q_tile + i);
                    const T(vec) log_decay_q_low_tile_21 = T(load)(log_decay_q_low_tile + i);
                    T(vec) row_sum_in = (T(vec)){0};
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        const T(vec) score_19 = T(load)(score + j * 32 + i);
                        const T(vec) score_new22 = T(pick)(__builtin_convertvector(((j0 + j) <= t_18) &
                            (-(int64_t)((chunk * 128) <= (j0 + j))), T(mask)),
                            (score_19 * score_19) * T(exp2)(((log_decay_q_tile_20 - log_decay_k[(j0 + j)]) +
                            (log_decay_q_low_tile_21 - log_decay_k_low[(j0 + j)])) * 1.442695f), T(splat)(0.0f));
                        T(store)(score + j * 32 + i, score_new22);
                        row_sum_in += score_new22;
                    }
                    T(add)(row_sum + i, row_sum_compensation + i, row_sum_in, T(splat)(1));
                }
            }
            if (!((j0 < (chunk * 128)) || ((i0 + query_start + 1) < j1))) { /* the tile is wholly inside the mask */
                /* score = (score * score) * exp2(((log_decay_q_tile - log_decay_k) + (log_decay_q_low_tile -
                   log_decay_k_low)) * 1.442695f); row_s ... */
                for (int64_t i = 0; i < i1 - i0; i += LANES) {
                    const T(vec) log_decay_q_tile_24 = T(load)(log_decay_q_tile + i);
                    const T(vec) log_decay_q_low_tile_25 = T(load)(log_decay_q_low_tile + i);
                    T(vec) row_sum_in = (T(vec)){0};
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        const T(vec) score_23 = T(load)(score + j * 32 + i);
                        const T(vec) score_new26 = (score_23 * score_23) * T(exp2)(((log_decay_q_tile_24 -
                            log_decay_k[(j0 + j)]) + (log_decay_q_low_tile_25 - log_decay_k_low[(j0 + j)])) *
                            1.442695f);
                        T(store)(score + j * 32 + i, score_new26);
                        row_sum_in += score_new26;
                    }
                    T(add)(row_sum + i, row_sum_compensation + i, row_sum_in, T(splat)(1));
                }
            }
        }
        /* row_sum = select(((row_sum + row_sum_from_state) + 1.0f) == 0.0f, 0.0f,
           1.0f / ((row_sum + row_sum_from_state) + 1.0f)) */
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            const T(vec) t_27 = (T(load)(row_sum + i) + T(load)(row_sum_from_state + i)) + 1.0f;
            T(store)(row_sum + i, T(pick)(t_27 == 0.0f, T(splat)(0.0f), 1.0f / t_27));
        }
        /* saved_0 = row_sum */
        for (int64_t i = 0; i < i1 - i0; i++)
            saved_0[(i0 + i)] = row_sum[i];
    }
}

/* Computes head number `task`. Each thread on the head calls this with `share`. */
TARGET static void T(power_gated_linear_saved)(const struct call *call, int64_t task, struct share *share)
{
    const int64_t n_k = call->p.n_k;
    const int64_t chunks = n_k > 0 ? (n_k - 1) / 128 + 1 : 1;
    for (int64_t iteration = share->number; iteration < ((2080 + 31) / 32); iteration += share->threads)
        T(power_gated_linear_saved_begin)(call, task, share, iteration);
    synchronise(share);
    const int64_t first = 0;
    const int64_t length = segment_length(share, chunks - first);
    for (int64_t segment = share->number; first + segment * length < chunks; segment += share->threads) {
        share->chunk0 = first + segment * length;
        share->chunk1 = min(share->chunk0 + length, chunks);
        for (int64_t iteration = share->chunk0; iteration < share->chunk1; iteration++)
            T(power_gated_linear_saved_keys)(call, task, share, iteration);
        for (int64_t group = 0; group < 16; group++) {
            await_segment(share, group, segment);
            const int64_t end = (group + 1) * ((2080 + 31) / 32) / 16;
            for (int64_t iteration = group * ((2080 + 31) / 32) / 16; iteration < end; iteration++)
                T(power_gated_linear_saved_fold)(call, task, share, iteration);
            pass_segment(share, group, segment);
        }
        for (int64_t iteration = share->chunk0; iteration < share->chunk1; iteration++)
            T(power_gated_linear_saved_queries)(call, task, share, iteration);
    }
    share->segments += (max(chunks - first, 0) + length - 1) / length;
    synchronise(share);
}

/* Computes task number `task`: one tile of queries of one head. `work` is this thread's workspace. */
TARGET static void T(power_gated_linear_row_sums)(const struct call *call, int64_t task, unsigned char *work)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_q = call->p.n_q;
    const int64_t tiles = (n_q + 32 - 1) / 32, i0 = (tiles - 1 - task % tiles) * 32,
        i1 = min(i0 + 32, n_q);
    const int64_t m = task / tiles % members;
    const int64_t g = task / tiles / members % kv_heads;
    const int64_t b = task / tiles / members / kv_heads;
    const float *const out = (const float *)call->array[ARRAY_out].at + b * call->array[ARRAY_out].strides.batch + (g *
        members + m) * call->array[ARRAY_out].strides.head;
    const int64_t out_row = call->array[ARRAY_out].strides.row;
    const float *const dout = (const float *)call->array[ARRAY_dout].at + b * call->array[ARRAY_dout].strides.batch + (g
        * members + m) * call->array[ARRAY_dout].strides.head;
    const int64_t dout_row = call->array[ARRAY_dout].strides.row;
    const float *const saved_0 = (const float *)call->array[ARRAY_saved_0].at + (b * call->p.heads + (g * members + m))
        * call->p.n_q;
    float *const query_sum = (float *)(void *)(work + 0); /* [i: 32] */
    float *const row_0 = (float *)call->array[ARRAY_row_0].at + (b * call->p.heads + (g * members + m)) * call->p.n_q;
    float *const out_tile = (float *)(void *)(work + 128); /* [e: 64, i: 32] */
    float *const dout_tile = (float *)(void *)(work + 8320); /* [e: 64, i: 32] */
    float *const saved_0_tile = (float *)(void *)(work + 16512); /* [i: 32] */
    /* out_tile = out, with zeros beyond the last row */
    T(transpose_padded)(out + i0 * out_row, out_row, i1 - i0, 64, out_tile, 32, LANES);
    /* dout_tile = dout, with zeros beyond the last row */
    T(transpose_padded)(dout + i0 * dout_row, dout_row, i1 - i0, 64, dout_tile, 32, LANES);
    /* saved_0_tile = saved_0, with zeros beyond the last row */
    for (int64_t i = 0; i < round_up(i1 - i0, LANES); i++)
        saved_0_tile[i] = i < i1 - i0 ? saved_0[(i0 + i)] : 0;
    /* query_sum = 0.0f */
    for (int64_t i = 0; i < i1 - i0; i += LANES) {
        T(store)(query_sum + i, T(splat)(0.0f));
    }
    /* query_sum += dout_tile * neg(out_tile) */
    for (int64_t i_first = 0; i_first < i1 - i0; i_first += (2 * LANES)) {
        T(vec) query_sum_in[2];
        UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += LANES) {
            query_sum_in[vector] = (T(vec)){0};
        }
        for (int64_t e = 0; e < 64; e++) {
            UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += LANES) {
                query_sum_in[vector] += T(load)(dout_tile + e * 32 + i) * (-T(load)(out_tile + e * 32 + i));
            }
        }
        UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += LANES) {
            T(store)(query_sum + i, T(load)(query_sum + i) + query_sum_in[vector]);
        }
    }
    /* query_sum = query_sum * saved_0_tile */
    for (int64_t i = 0; i < i1 - i0; i += LANES) {
        T(store)(query_sum + i, T(load)(query_sum + i) * T(load)(saved_0_tile + i));
    }
    /* row_0 = query_sum */
    for (int64_t i = 0; i < i1 - i0; i++)
        row_0[(i0 + i)] = query_sum[i];
}

/* Initialises the states: they contain no keys yet. */
TARGET APART void T(power_gated_linear_dq_dlog_decay_q_begin)(const struct call *call, int64_t task,
    const struct share *share, int64_t iteration)
{
    (void)call;
    (void)task;
    const int64_t f0 = iteration * 32, f1 = min(f0 + 32, 2080);
    float *const carried_sum = (float *)(void *)(share->shared + 0); /* [f: 2080] */
    float *const carried_sum_compensation = (float *)(void *)(share->shared + 540864); /* [f: 2080] */
    float *const carried = (float *)(void *)(share->shared + 8320); /* [f: 2080, e: 64] */
    float *const carried_compensation = (float *)(void *)(share->shared + 549184); /* [f: 2080, e: 64] */
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
TARGET APART void T(power_gated_linear_dq_dlog_decay_q_keys)(const struct call *call, int64_t task,
    const struct share *share, int64_t iteration)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_k = call->p.n_k;
    const int64_t chunk = iteration;
    const int64_t chunk0 = share->chunk0;
    const int64_t m = task % members;
    const int64_t g = task / members % kv_heads;
    const int64_t b = task / members / kv_heads;
    const float *const k = (const float *)call->array[ARRAY_k].at + b * call->array[ARRAY_k].strides.batch + g /
        call->sharing * call->array[ARRAY_k].strides.head;
    const int64_t k_row = call->array[ARRAY_k].strides.row;
    const float *const v = (const float *)call->array[ARRAY_v].at + b * call->array[ARRAY_v].strides.batch + g *
        call->array[ARRAY_v].strides.head;
    const int64_t v_row = call->array[ARRAY_v].strides.row;
    const float *const log_decay_k_low = (const float *)call->array[ARRAY_log_decay_k_low].at + b *
        call->array[ARRAY_log_decay_k_low].strides.batch + (g * members + m) *
        call->array[ARRAY_log_decay_k_low].strides.head;
    const float *const log_decay_k = (const float *)call->array[ARRAY_log_decay_k].at + b *
        call->array[ARRAY_log_decay_k].strides.batch + (g * members + m) * call->array[ARRAY_log_decay_k].strides.head;
    const float *const log_decay_chunk_low = (const float *)call->array[ARRAY_log_decay_chunk_low].at + b *
        call->array[ARRAY_log_decay_chunk_low].strides.batch + (g * members + m) *
        call->array[ARRAY_log_decay_chunk_low].strides.head;
    const float *const log_decay_chunk = (const float *)call->array[ARRAY_log_decay_chunk].at + b *
        call->array[ARRAY_log_decay_chunk].strides.batch + (g * members + m) *
        call->array[ARRAY_log_decay_chunk].strides.head;
    float *const key_features = (float *)(void *)(share->work + 0); /* [f: 192, j: 64 of 80] */
    float *const state_sum = (float *)(void *)(share->slots + 0); /* [chunk, f: 2080] */
    float *const state = (float *)(void *)(share->slots + 8320); /* [chunk, f: 2080, e: 64] */
    float *const k_tile = (float *)(void *)(share->work + 61440); /* [d: 64, j: 64 of 80] */
    float *const log_decay_k_tile = (float *)(void *)(share->work + 81920); /* [j: 64] */
    float *const log_decay_k_low_tile = (float *)(void *)(share->work + 82176); /* [j: 64] */
    /* state_sum = 0.0f */
    for (int64_t f = 0; f < 2080; f += LANES) {
        T(store)(state_sum + (chunk - chunk0) * 135216 + f, T(splat)(0.0f));
    }
    /* state = 0.0f */
    for (int64_t f = 0; f < 2080; f++) {
        for (int64_t e_first = 0; e_first < 64; e_first += OF(64, 16, 8)) {
            UNROLL for (int64_t vector = 0, e = e_first; vector < OF(4, 2, 2); vector++, e += LANES) {
                T(store)(state + (chunk - chunk0) * 135216 + f * 64 + e, T(splat)(0.0f));
            }
        }
    }
    for (int64_t j0 = chunk * 128, j_end = min(n_k, (chunk + 1) * 128); j0 < j_end; j0 += 64) {
        const int64_t j1 = min(j0 + 64, j_end);
        /* k_tile = k, with zeros beyond the last row */
        T(transpose_padded)(k + j0 * k_row, k_row, j1 - j0, 64, k_tile, 80, 64);
        /* log_decay_k_tile = log_decay_k, with zeros beyond the last row */
        for (int64_t j = 0; j < round_up(j1 - j0, LANES); j++)
            log_decay_k_tile[j] = j < j1 - j0 ? log_decay_k[(j0 + j)] : 0;
        /* log_decay_k_low_tile = log_decay_k_low, with zeros beyond the last row */
        for (int64_t j = 0; j < round_up(j1 - j0, LANES); j++)
            log_decay_k_low_tile[j] = j < j1 - j0 ? log_decay_k_low[(j0 + j)] : 0;
        for (int64_t f0 = 0, f_end = 2080; f0 < f_end; f0 += 192) {
            const int64_t f1 = min(f0 + 192, f_end);
            /* key_features = (k_tile * k_tile) * exp2(((log_decay_chunk - log_decay_k_tile) + (log_decay_chunk_low -
               log_decay_k_low_tile)) *  ... */
            const float log_decay_chunk_0 = log_decay_chunk[max(min(((chunk + 1) * 128) - 1, n_k - 1), 0)];
            const float log_decay_chunk_low_1 = log_decay_chunk_low[max(min(((chunk + 1) * 128) - 1, n_k - 1), 0)];
            for (int64_t j = 0; j < j1 - j0; j += LANES) {
                const T(vec) t_2 = T(exp2)(((log_decay_chunk_0 - T(load)(log_decay_k_tile + j)) + (log_decay_chunk_low_1
                    - T(load)(log_decay_k_low_tile + j))) * 1.442695f);
                for (int64_t f = f0; f < f1; f++) {
                    T(store)(key_features + (f - f0) * 80 + j, (T(load)(k_tile + (f % 64) * 80 + j) * T(load)(k_tile +
                        (((f % 64) + (f / 64)) % 64) * 80 + j)) * t_2);
                }
            }
            /* state_sum += key_features */
            for (int64_t f = f0; f < f1; f++) {
                T(vec) lane_sums = T(splat)(0);
                for (int64_t j = 0; j < j1 - j0; j += LANES) {
                    const T(vec) term = T(load)(key_features + (f - f0) * 80 + j);
                    lane_sums += j + LANES <= j1 - j0 ? term : T(pick)(__builtin_convertvector(j + T(lane) < j1 - j0,
                        T(mask)), term, T(splat)(0));
                }
                const float total = T(lane_sum)(lane_sums);
                state_sum[(chunk - chunk0) * 135216 + f] += total;
            }
            /* state[f][e] += sum over j of key_features * v */
            T(dot3)(f1 - f0, j1 - j0, key_features, v + j0 * v_row, v_row, state + (chunk - chunk0) * 135216 + f0 * 64);
        }
    }
}

/* Folds the slots of the current chunks, in order, for some elements of the states. */
TARGET APART void T(power_gated_linear_dq_dlog_decay_q_fold)(const struct call *call, int64_t task,
    const struct share *share, int64_t iteration)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_k = call->p.n_k;
    const int64_t f0 = iteration * 32, f1 = min(f0 + 32, 2080);
    const int64_t chunk0 = share->chunk0;
    const int64_t chunk1 = share->chunk1;
    const int64_t m = task % members;
    const int64_t g = task / members % kv_heads;
    const int64_t b = task / members / kv_heads;
    const float *const log_decay_chunk_low = (const float *)call->array[ARRAY_log_decay_chunk_low].at + b *
        call->array[ARRAY_log_decay_chunk_low].strides.batch + (g * members + m) *
        call->array[ARRAY_log_decay_chunk_low].strides.head;
    const float *const log_decay_chunk = (const float *)call->array[ARRAY_log_decay_chunk].at + b *
        call->array[ARRAY_log_decay_chunk].strides.batch + (g * members + m) *
        call->array[ARRAY_log_decay_chunk].strides.head;
    float *const state_sum = (float *)(void *)(share->slots + 0); /* [chunk, f: 2080] */
    float *const state = (float *)(void *)(share->slots + 8320); /* [chunk, f: 2080, e: 64] */
    float *const carried_sum = (float *)(void *)(share->shared + 0); /* [f: 2080] */
    float *const carried_sum_compensation = (float *)(void *)(share->shared + 540864); /* [f: 2080] */
    float *const carried = (float *)(void *)(share->shared + 8320); /* [f: 2080, e: 64] */
    float *const carried_compensation = (float *)(void *)(share->shared + 549184); /* [f: 2080, e: 64] */
    float *const kept_share_2 = (float *)(void *)(share->work + 0); /* [f: 2080] */
    float *const lost_share_2 = (float *)(void *)(share->work + 8320); /* [f: 2080] */
    for (int64_t chunk = chunk0; chunk < chunk1; chunk++) {
        /* kept_share = select(exp2(((log_decay_chunk - log_decay_chunk) + (log_decay_chunk_low - log_decay_chunk_low))
           * 1.442695f) < 0.5f ... */
        const float t_3 = (log_decay_chunk[max(min(((chunk + 1) * 128) - 1, n_k - 1),
            0)] - log_decay_chunk[max(min((chunk * 128) - 1, n_k - 1),
            0)]) + (log_decay_chunk_low[max(min(((chunk + 1) * 128) - 1, n_k - 1),
            0)] - log_decay_chunk_low[max(min((chunk * 128) - 1, n_k - 1), 0)]);
        const float t_4 = exp2f(t_3 * 1.442695f);
        const int t_5 = t_4 < 0.5f;
        const float t_6 = t_5 ? t_4 : 1.0f;
        const float t_8 = t_5 ? 0.0f : (-expm1f(t_3));
        for (int64_t f = f0; f < f1; f += LANES) {
            const T(vec) kept_share_new7 = T(splat)(t_6);
            const T(vec) lost_share_new9 = T(splat)(t_8);
            const T(vec) carried_sum_10 = T(load)(carried_sum + f);
            const T(vec) before_sum_new11 = carried_sum_10;
            const T(vec) carried_sum_new12 = carried_sum_10 * kept_share_new7;
            T(store)(carried_sum + f, carried_sum_new12);
            T(store)(carried_sum_compensation + f, T(load)(carried_sum_compensation + f) * kept_share_new7);
            T(add)(carried_sum + f, carried_sum_compensation + f, T(load)(state_sum + (chunk - chunk0) * 135216 + f) -
                (carried_sum_new12 * lost_share_new9), T(splat)(1));
            T(store)(state_sum + (chunk - chunk0) * 135216 + f, before_sum_new11);
        }
        /* kept_share_2 = select(exp2(((log_decay_chunk - log_decay_chunk) + (log_decay_chunk_low -
           log_decay_chunk_low)) * 1.442695f) < 0. ... */
        const float t_13 = (log_decay_chunk[max(min(((chunk + 1) * 128) - 1, n_k - 1),
            0)] - log_decay_chunk[max(min((chunk * 128) - 1, n_k - 1),
            0)]) + (log_decay_chunk_low[max(min(((chunk + 1) * 128) - 1, n_k - 1),
            0)] - log_decay_chunk_low[max(min((chunk * 128) - 1, n_k - 1), 0)]);
        const float t_14 = exp2f(t_13 * 1.442695f);
        const int t_15 = t_14 < 0.5f;
        const float t_16 = t_15 ? t_14 : 1.0f;
        const float t_17 = t_15 ? 0.0f : (-expm1f(t_13));
        for (int64_t f = f0; f < f1; f += LANES) {
            T(store)(kept_share_2 + f, T(splat)(t_16));
            T(store)(lost_share_2 + f, T(splat)(t_17));
        }
        /* before = carried; carried = carried * kept_share_2; carried_compensation = carried_compensation *
           kept_share_2; carried += state ... */
        for (int64_t f = f0; f < f1; f++) {
            for (int64_t e_first = 0; e_first < 64; e_first += OF(64, 16, 8)) {
                UNROLL for (int64_t vector = 0, e = e_first; vector < OF(4, 2, 2); vector++, e += LANES) {
                    const T(vec) carried_18 = T(load)(carried + f * 64 + e);
                    const T(vec) before_new19 = carried_18;
                    const float kept_share_2_20 = kept_share_2[f];
                    const T(vec) carried_new21 = carried_18 * kept_share_2_20;
                    T(store)(carried + f * 64 + e, carried_new21);
                    T(store)(carried_compensation + f * 64 + e, T(load)(carried_compensation + f * 64 + e) *
                        kept_share_2_20);
                    T(add)(carried + f * 64 + e, carried_compensation + f * 64 + e,
                        T(load)(state + (chunk - chunk0) * 135216 + f * 64 + e) - (carried_new21 * lost_share_2[f]),
                        T(splat)(1));
                    T(store)(state + (chunk - chunk0) * 135216 + f * 64 + e, before_new19);
                }
            }
        }
    }
}

/* Processes the queries of a chunk: reads the state before the chunk, and the keys in the chunk. */
TARGET APART void T(power_gated_linear_dq_dlog_decay_q_queries)(const struct call *call, int64_t task,
    const struct share *share, int64_t iteration)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_q = call->p.n_q;
    const int64_t n_k = call->p.n_k;
    const int64_t chunk = iteration;
    const int64_t chunk0 = share->chunk0;
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
    const float *const log_decay_chunk_low = (const float *)call->array[ARRAY_log_decay_chunk_low].at + b *
        call->array[ARRAY_log_decay_chunk_low].strides.batch + (g * members + m) *
        call->array[ARRAY_log_decay_chunk_low].strides.head;
    const float *const log_decay_chunk = (const float *)call->array[ARRAY_log_decay_chunk].at + b *
        call->array[ARRAY_log_decay_chunk].strides.batch + (g * members + m) *
        call->array[ARRAY_log_decay_chunk].strides.head;
    const float *const dout = (const float *)call->array[ARRAY_dout].at + b * call->array[ARRAY_dout].strides.batch + (g
        * members + m) * call->array[ARRAY_dout].strides.head;
    const int64_t dout_row = call->array[ARRAY_dout].strides.row;
    const float *const saved_0 = (const float *)call->array[ARRAY_saved_0].at + (b * call->p.heads + (g * members + m))
        * call->p.n_q;
    const float *const row_0 = (const float *)call->array[ARRAY_row_0].at + (b * call->p.heads + (g * members + m)) *
        call->p.n_q;
    float *const state_sum = (float *)(void *)(share->slots + 0); /* [chunk, f: 2080] */
    float *const state = (float *)(void *)(share->slots + 8320); /* [chunk, f: 2080, e: 64] */
    float *const score = (float *)(void *)(share->work + 0); /* [j: 64, i: 32] */
    float *const score_2 = (float *)(void *)(share->work + 8192); /* [j: 64, i: 32] */
    float *const sum_from_state = (float *)(void *)(share->work + 0); /* [f: 2080, i: 32] */
    float *const weight_2 = (float *)(void *)(share->work + 16384); /* [j: 64, i: 32] */
    float *const row_sum = (float *)(void *)(share->work + 266240); /* [i: 32] */
    float *const row_sum_compensation = (float *)(void *)(share->work + 266368); /* [i: 32] */
    float *const query_sum = (float *)(void *)(share->work + 266496); /* [d: 64, i: 32] */
    float *const query_sum_2 = (float *)(void *)(share->work + 274688); /* [d: 64, i: 32] */
    float *const query_sum_3 = (float *)(void *)(share->work + 282880); /* [i: 32] */
    float *const sum = (float *)(void *)(share->work + 24576); /* [d: 64, i: 32] */
    float *const sum_compensation = (float *)(void *)(share->work + 32768); /* [d: 64, i: 32] */
    float *const dq = call->array[ARRAY_dq].at ? (float *)call->array[ARRAY_dq].at + b *
        call->array[ARRAY_dq].strides.batch + (g * members + m) * call->array[ARRAY_dq].strides.head : NULL;
    const int64_t dq_row = call->array[ARRAY_dq].strides.row;
    float *const dlog_decay_q = call->array[ARRAY_dlog_decay_q].at ? (float *)call->array[ARRAY_dlog_decay_q].at + b *
        call->array[ARRAY_dlog_decay_q].strides.batch + (g * members + m) * call->array[ARRAY_dlog_decay_q].strides.head
        : NULL;
    const int64_t dlog_decay_q_row = call->array[ARRAY_dlog_decay_q].strides.row;
    float *const dout_tile = (float *)(void *)(share->work + 283008); /* [e: 64, i: 32] */
    float *const saved_0_tile = (float *)(void *)(share->work + 0); /* [i: 32] */
    float *const row_0_tile = (float *)(void *)(share->work + 291200); /* [i: 32] */
    float *const q_tile = (float *)(void *)(share->work + 291328); /* [d: 64, i: 32] */
    float *const log_decay_q_tile = (float *)(void *)(share->work + 299520); /* [i: 32] */
    float *const log_decay_q_low_tile = (float *)(void *)(share->work + 299648); /* [i: 32] */
    for (int64_t i0 = (chunk == 0) ? 0 : max(0, (chunk * 128) - query_start), i_end = min(n_q,
        ((chunk + 1) * 128) - query_start); i0 < i_end; i0 += 32) {
        const int64_t i1 = min(i0 + 32, i_end);
        /* dout_tile = dout, with zeros beyond the last row */
        T(transpose_padded)(dout + i0 * dout_row, dout_row, i1 - i0, 64, dout_tile, 32, 0);
        /* saved_0_tile = saved_0, with zeros beyond the last row */
        for (int64_t i = 0; i < round_up(i1 - i0, LANES); i++)
            saved_0_tile[i] = i < i1 - i0 ? saved_0[(i0 + i)] : 0;
        /* row_0_tile = row_0, with zeros beyond the last row */
        for (int64_t i = 0; i < round_up(i1 - i0, LANES); i++)
            row_0_tile[i] = i < i1 - i0 ? row_0[(i0 + i)] : 0;
        /* q_tile = q, with zeros beyond the last row */
        T(transpose_padded)(q + i0 * q_row, q_row, i1 - i0, 64, q_tile, 32, 0);
        /* log_decay_q_tile = log_decay_q, with zeros beyond the last row */
        for (int64_t i = 0; i < round_up(i1 - i0, LANES); i++)
            log_decay_q_tile[i] = i < i1 - i0 ? log_decay_q[(i0 + i)] : 0;
        /* log_decay_q_low_tile = log_decay_q_low, with zeros beyond the last row */
        for (int64_t i = 0; i < round_up(i1 - i0, LANES); i++)
            log_decay_q_low_tile[i] = i < i1 - i0 ? log_decay_q_low[(i0 + i)] : 0;
        /* dout_tile = dout_tile * saved_0_tile */
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            const T(vec) saved_0_tile_22 = T(load)(saved_0_tile + i);
            for (int64_t e = 0; e < 64; e++) {
                T(store)(dout_tile + e * 32 + i, T(load)(dout_tile + e * 32 + i) * saved_0_tile_22);
            }
        }
        /* sum_from_state[f][i] = sum over e of state * dout_tile */
        T(dot11)(round_up(i1 - i0, LANES), state + (chunk - chunk0) * 135216, dout_tile, sum_from_state,
            (const struct coming[]){{k + max(0, chunk * 128) * k_row, 4 * k_row, 256}, {v + max(0, chunk * 128) * v_row,
            4 * v_row, 256}, {dout + (i0 + 32) * dout_row, 4 * dout_row, 256}, {q + (i0 + 32) * q_row, 4 * q_row,
            256}});
        /* sum_from_state = sum_from_state + (row_0_tile * state_sum) */
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            const T(vec) row_0_tile_23 = T(load)(row_0_tile + i);
            for (int64_t f = 0; f < 2080; f++) {
                T(store)(sum_from_state + f * 32 + i, T(load)(sum_from_state + f * 32 + i) + (row_0_tile_23 *
                    (state_sum[(chunk - chunk0) * 135216 + f])));
            }
        }
        if (dq) {
            /* query_sum = 0.0f */
            for (int64_t d = 0; d < 64; d++) {
                for (int64_t i = 0; i < i1 - i0; i += LANES) {
                    T(store)(query_sum + d * 32 + i, T(splat)(0.0f));
                }
            }
            /* query_sum_2 = 0.0f */
            for (int64_t d = 0; d < 64; d++) {
                for (int64_t i = 0; i < i1 - i0; i += LANES) {
                    T(store)(query_sum_2 + d * 32 + i, T(splat)(0.0f));
                }
            }
            /* query_sum += select(((t33 * 64) + d) < 2080, sum_from_state * (((q_tile * select(t33 == 0, 1.0f,
               2.0f)) * select(chunk == 0, 1.0 ... */
            const int t_25 = chunk == 0;
            const float log_decay_chunk_26 = log_decay_chunk[max(min((chunk * 128) - 1, n_k - 1), 0)];
            const float log_decay_chunk_low_27 = log_decay_chunk_low[max(min((chunk * 128) - 1, n_k - 1), 0)];
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                const T(vec) t_28 = t_25 ? T(splat)(1.0f) : T(exp2)(((T(load)(log_decay_q_tile + i) -
                    log_decay_chunk_26) + (T(load)(log_decay_q_low_tile + i) - log_decay_chunk_low_27)) * 1.442695f);
                for (int64_t d = 0; d < 64; d++) {
                    T(vec) query_sum_in = (T(vec)){0};
                    T(vec) query_sum_2_in = (T(vec)){0};
                    for (int64_t t33 = 0; t33 < 33; t33++) {
                        const double t_24 = (t33 == 0) ? 1.0 : 2.0;
                        query_sum_in += (((t33 * 64) + d) < 2080) ? T(load)(sum_from_state + min((t33 * 64) + d,
                            2079) * 32 + i) * (((T(load)(q_tile + ((d + t33) % 64) * 32 + i) * (float)t_24) * t_28) *
                            0.015625f) : T(splat)(0.0f);
                        query_sum_2_in += (((t33 * 64) + floor_mod(d - t33,
                            64)) < 2080) ? T(load)(sum_from_state + min((t33 * 64) + floor_mod(d - t33, 64),
                            2079) * 32 + i) * (((T(load)(q_tile + floor_mod(d - t33,
                            64) * 32 + i) * (float)t_24) * t_28) * 0.015625f) : T(splat)(0.0f);
                    }
                    T(store)(query_sum + d * 32 + i, T(load)(query_sum + d * 32 + i) + query_sum_in);
                    T(store)(query_sum_2 + d * 32 + i, T(load)(query_sum_2 + d * 32 + i) + query_sum_2_in);
                }
            }
        }
        if (dlog_decay_q) {
            /* row_sum = 0.0f; row_sum_compensation = 0.0f; query_sum_3 = 0.0f */
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                T(store)(row_sum + i, T(splat)(0.0f));
                T(store)(row_sum_compensation + i, T(splat)(0.0f));
                T(store)(query_sum_3 + i, T(splat)(0.0f));
            }
            /* query_sum_3 += sum_from_state * ((((q_tile * 0.125f) * (q_tile * 0.125f)) * select((f / 64) == 0, 1.0f,
               2.0f)) * select(chunk == ... */
            const int t_29 = chunk == 0;
            const float log_decay_chunk_30 = log_decay_chunk[max(min((chunk * 128) - 1, n_k - 1), 0)];
            const float log_decay_chunk_low_31 = log_decay_chunk_low[max(min((chunk * 128) - 1, n_k - 1), 0)];
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                const T(vec) t_32 = t_29 ? T(splat)(0.0f) : T(exp2)(((T(load)(log_decay_q_tile + i) -
                    log_decay_chunk_30) + (T(load)(log_decay_q_low_tile + i) - log_decay_chunk_low_31)) * 1.442695f);
                T(vec) query_sum_3_in = (T(vec)){0};
                T(vec) query_sum_3_in_whole = (T(vec)){0};
                for (int64_t f = 0; f < 2080; f++) {
                    query_sum_3_in += T(load)(sum_from_state + f * 32 + i) * ((((T(load)(q_tile + (f % 64) * 32 + i) *
                        0.125f) * (T(load)(q_tile + (((f % 64) + (f / 64)) % 64) * 32 + i) * 0.125f)) * (float)(((f /
                        64) == 0) ? 1.0 : 2.0)) * t_32);
                    if (f % 192 == 191) {
                        query_sum_3_in_whole += query_sum_3_in;
                        query_sum_3_in = (T(vec)){0};
                    }
                }
                query_sum_3_in += query_sum_3_in_whole;
                T(store)(query_sum_3 + i, T(load)(query_sum_3 + i) + query_sum_3_in);
            }
        }
        if (dq) {
            /* sum = 0.0f; sum_compensation = 0.0f */
            for (int64_t d = 0; d < 64; d++) {
                for (int64_t i = 0; i < i1 - i0; i += LANES) {
                    T(store)(sum + d * 32 + i, T(splat)(0.0f));
                    T(store)(sum_compensation + d * 32 + i, T(splat)(0.0f));
                }
            }
        }
        for (int64_t j0 = max(0, chunk * 128), j_end = min(n_k, i1 + query_start); j0 < j_end; j0 += 64) {
            const int64_t j1 = min(j0 + 64, j_end);
            /* score[j][i] = sum over d of k * q_tile */
            T(dot12)(round_up(i1 - i0, LANES), j1 - j0, k + j0 * k_row, k_row, q_tile, score);
            /* score_2[j][i] = sum over e of v * dout_tile */
            T(dot12)(round_up(i1 - i0, LANES), j1 - j0, v + j0 * v_row, v_row, dout_tile, score_2);
            /* score_2 = score_2 + row_0_tile; weight_2 = score_2 * ((score * exp2(((log_decay_q_tile - log_decay_k) +
               (log_decay_q_low_tile -  ... */
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                const T(vec) row_0_tile_34 = T(load)(row_0_tile + i);
                const T(vec) log_decay_q_tile_37 = T(load)(log_decay_q_tile + i);
                const T(vec) log_decay_q_low_tile_38 = T(load)(log_decay_q_low_tile + i);
                for (int64_t j = 0; j < j1 - j0; j++) {
                    const T(vec) score_2_33 = T(load)(score_2 + j * 32 + i);
                    const T(vec) score_2_new35 = score_2_33 + row_0_tile_34;
                    T(store)(score_2 + j * 32 + i, score_2_new35);
                    const T(vec) score_36 = T(load)(score + j * 32 + i);
                    const T(vec) t_39 = T(exp2)(((log_decay_q_tile_37 - log_decay_k[(j0 + j)]) +
                        (log_decay_q_low_tile_38 - log_decay_k_low[(j0 + j)])) * 1.442695f);
                    T(store)(weight_2 + j * 32 + i, score_2_new35 * ((score_36 * t_39) * 0.03125f));
                    const T(vec) t_40 = score_36 * 0.125f;
                    T(store)(score + j * 32 + i, score_2_new35 * ((t_40 * t_40) * t_39));
                }
            }
            if ((j0 < (chunk * 128)) || ((i0 + query_start + 1) < j1)) { /* the tile is partly outside the mask */
                if (dlog_decay_q) {
                    /* score = select((j <= (i + query_start)) && ((chunk * 128) <= j), score, 0.0f) */
                    for (int64_t i = 0; i < i1 - i0; i += LANES) {
                        const T(ints) t_41 = (i0 + i + T(lane)) + query_start;
                        for (int64_t j = 0; j < j1 - j0; j++) {
                            T(store)(score + j * 32 + i, T(pick)(__builtin_convertvector(((j0 + j) <= t_41) &
                                (-(int64_t)((chunk * 128) <= (j0 + j))), T(mask)), T(load)(score + j * 32 + i),
                                T(splat)(0.0f)));
                        }
                    }
                }
            }
            if (dlog_decay_q) {
                /* row_sum += score */
                for (int64_t i_first = 0; i_first < i1 - i0; i_first += (2 * LANES)) {
                    T(vec) row_sum_in[2];
                    UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += LANES) {
                        row_sum_in[vector] = (T(vec)){0};
                    }
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += LANES) {
                            row_sum_in[vector] += T(load)(score + j * 32 + i);
                        }
                    }
                    UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += LANES) {
                        T(add)(row_sum + i, row_sum_compensation + i, row_sum_in[vector], T(splat)(1));
                    }
                }
            }
            if ((j0 < (chunk * 128)) || ((i0 + query_start + 1) < j1)) { /* the tile is partly outside the mask */
                if (dq) {
                    /* weight_2 = select((j <= (i + query_start)) && ((chunk * 128) <= j), weight_2, 0.0f) */
                    for (int64_t i = 0; i < i1 - i0; i += LANES) {
                        const T(ints) t_42 = (i0 + i + T(lane)) + query_start;
                        for (int64_t j = 0; j < j1 - j0; j++) {
                            T(store)(weight_2 + j * 32 + i, T(pick)(__builtin_convertvector(((j0 + j) <= t_42) &
                                (-(int64_t)((chunk * 128) <= (j0 + j))), T(mask)), T(load)(weight_2 + j * 32 + i),
                                T(splat)(0.0f)));
                        }
                    }
                }
            }
            if (dq) {
                /* sum[d][i] += sum over j of k * weight_2 */
                if (__builtin_expect(((j0 < (chunk * 128)) || ((i0 + query_start + 1) < j1)) && !T(finite)(k + j0 *
                    k_row, k_row, j1 - j0, 64), 0)) { /* infinity and NaN affect only queries that see them */
                    T(dot6)(round_up(i1 - i0, LANES), j1 - j0, k + j0 * k_row, k_row, weight_2, sum, sum_compensation);
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        T(mask) in_region[OF(2, 4, 8)] = {0};
                        if (T(finite)(k + j0 * k_row + j * k_row, 1, 64, 1)) continue;
                        const int t_43 = (chunk * 128) <= (j0 + j);
                        for (int64_t i = 0; i < i1 - i0; i += LANES) {
                            in_region[i / LANES] = __builtin_convertvector(((j0 + j) <= ((i0 + i + T(lane)) +
                                query_start)) & (-(int64_t)t_43), T(mask));
                        }
                        T(add_seen)(64, sum, 32, k + j0 * k_row + j * k_row, 1, weight_2 + j * 32, in_region, i1 - i0);
                    }
                } else
                    T(dot7)(round_up(i1 - i0, LANES), j1 - j0, k + j0 * k_row, k_row, weight_2, sum, sum_compensation);
            }
        }
        if (dq) {
            /* query_sum = (query_sum + query_sum_2) + sum */
            for (int64_t d = 0; d < 64; d++) {
                for (int64_t i = 0; i < i1 - i0; i += LANES) {
                    T(store)(query_sum + d * 32 + i, (T(load)(query_sum + d * 32 + i) + T(load)(query_sum_2 + d * 32 +
                        i)) + T(load)(sum + d * 32 + i));
                }
            }
        }
        if (dlog_decay_q) {
            /* row_sum = row_sum + query_sum_3 */
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                T(store)(row_sum + i, T(load)(row_sum + i) + T(load)(query_sum_3 + i));
            }
        }
        if (dq) {
            /* dq = query_sum, transposed back */
            T(transpose_out)(query_sum, 32, 64, i1 - i0, dq + i0 * dq_row, dq_row, 0);
        }
        if (dlog_decay_q) {
            /* dlog_decay_q = row_sum */
            for (int64_t i = 0; i < i1 - i0; i++)
                dlog_decay_q[(i0 + i) * dlog_decay_q_row] = row_sum[i];
        }
    }
}

/* Computes head number `task`. Each thread on the head calls this with `share`. */
TARGET static void T(power_gated_linear_dq_dlog_decay_q)(const struct call *call, int64_t task, struct share *share)
{
    const int64_t n_k = call->p.n_k;
    const int64_t chunks = n_k > 0 ? (n_k - 1) / 128 + 1 : 1;
    for (int64_t iteration = share->number; iteration < ((2080 + 31) / 32); iteration += share->threads)
        T(power_gated_linear_dq_dlog_decay_q_begin)(call, task, share, iteration);
    synchronise(share);
    const int64_t first = 0;
    const int64_t length = segment_length(share, chunks - first);
    for (int64_t segment = share->number; first + segment * length < chunks; segment += share->threads) {
        share->chunk0 = first + segment * length;
        share->chunk1 = min(share->chunk0 + length, chunks);
        for (int64_t iteration = share->chunk0; iteration < share->chunk1; iteration++)
            T(power_gated_linear_dq_dlog_decay_q_keys)(call, task, share, iteration);
        for (int64_t group = 0; group < 16; group++) {
            await_segment(share, group, segment);
            const int64_t end = (group + 1) * ((2080 + 31) / 32) / 16;
            for (int64_t iteration = group * ((2080 + 31) / 32) / 16; iteration < end; iteration++)
                T(power_gated_linear_dq_dlog_decay_q_fold)(call, task, share, iteration);
            pass_segment(share, group, segment);
        }
        for (int64_t iteration = share->chunk0; iteration < share->chunk1; iteration++)
            T(power_gated_linear_dq_dlog_decay_q_queries)(call, task, share, iteration);
    }
    share->segments += (max(chunks - first, 0) + length - 1) / length;
    synchronise(share);
}

/* Initialises the states: they contain no queries yet. */
TARGET APART void T(power_gated_linear_linear_heads_0_linear_heads_1_dlog_decay_k_begin)(const struct call *call,
    int64_t task, const struct share *share, int64_t iteration)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t f0 = iteration * 32, f1 = min(f0 + 32, 2080);
    const int64_t m = task % members;
    const int64_t g = task / members % kv_heads;
    const int64_t b = task / members / kv_heads;
    float *const carried = (float *)(void *)(share->shared + 0); /* [f: 2080, e: 64] */
    float *const carried_compensation = (float *)(void *)(share->shared + 540864); /* [f: 2080, e: 64] */
    float *const carried_2 = (float *)(void *)(share->shared + 532544); /* [f: 2080] */
    float *const carried_2_compensation = (float *)(void *)(share->shared + 1073408); /* [f: 2080] */
    float *const linear_heads_0 = call->array[ARRAY_linear_heads_0].at ? (float *)call->array[ARRAY_linear_heads_0].at +
        b * call->array[ARRAY_linear_heads_0].strides.batch + (g * members + m) *
        call->array[ARRAY_linear_heads_0].strides.head : NULL;
    float *const dlog_decay_k = call->array[ARRAY_dlog_decay_k].at ? (float *)call->array[ARRAY_dlog_decay_k].at + b *
        call->array[ARRAY_dlog_decay_k].strides.batch + (g * members + m) * call->array[ARRAY_dlog_decay_k].strides.head
        : NULL;
    /* carried = 0.0f; carried_compensation = 0.0f */
    for (int64_t f = f0; f < f1; f++) {
        for (int64_t e_first = 0; e_first < 64; e_first += OF(64, 16, 8)) {
            UNROLL for (int64_t vector = 0, e = e_first; vector < OF(4, 2, 2); vector++, e += LANES) {
                T(store)(carried + f * 64 + e, T(splat)(0.0f));
                T(store)(carried_compensation + f * 64 + e, T(splat)(0.0f));
            }
        }
    }
    if (linear_heads_0 || dlog_decay_k) {
        /* carried_2 = 0.0f; carried_2_compensation = 0.0f */
        for (int64_t f = f0; f < f1; f += LANES) {
            T(store)(carried_2 + f, T(splat)(0.0f));
            T(store)(carried_2_compensation + f, T(splat)(0.0f));
        }
    }
}

/* Sums the queries of a chunk, from zero, into its slot. */
TARGET APART void T(power_gated_linear_linear_heads_0_linear_heads_1_dlog_decay_k_queries)(const struct call *call,
    int64_t task, const struct share *share, int64_t iteration)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_q = call->p.n_q;
    const int64_t n_k = call->p.n_k;
    const int64_t chunks = n_k > 0 ? (n_k - 1) / 128 + 1 : 1;
    const int64_t chunk = iteration;
    const int64_t chunk0 = share->chunk0;
    const int64_t m = task % members;
    const int64_t g = task / members % kv_heads;
    const int64_t b = task / members / kv_heads;
    const int64_t query_start = call->p.query_start ? call->p.query_start[b] : n_k - n_q;
    const float *const q = (const float *)call->array[ARRAY_q].at + b * call->array[ARRAY_q].strides.batch + (g /
        call->sharing * members + m) * call->array[ARRAY_q].strides.head;
    const int64_t q_row = call->array[ARRAY_q].strides.row;
    const float *const log_decay_q_low = (const float *)call->array[ARRAY_log_decay_q_low].at + b *
        call->array[ARRAY_log_decay_q_low].strides.batch + (g * members + m) *
        call->array[ARRAY_log_decay_q_low].strides.head;
    const float *const log_decay_q = (const float *)call->array[ARRAY_log_decay_q].at + b *
        call->array[ARRAY_log_decay_q].strides.batch + (g * members + m) * call->array[ARRAY_log_decay_q].strides.head;
    const float *const log_decay_chunk_low = (const float *)call->array[ARRAY_log_decay_chunk_low].at + b *
        call->array[ARRAY_log_decay_chunk_low].strides.batch + (g * members + m) *
        call->array[ARRAY_log_decay_chunk_low].strides.head;
    const float *const log_decay_chunk = (const float *)call->array[ARRAY_log_decay_chunk].at + b *
        call->array[ARRAY_log_decay_chunk].strides.batch + (g * members + m) *
        call->array[ARRAY_log_decay_chunk].strides.head;
    const float *const dout = (const float *)call->array[ARRAY_dout].at + b * call->array[ARRAY_dout].strides.batch + (g
        * members + m) * call->array[ARRAY_dout].strides.head;
    const int64_t dout_row = call->array[ARRAY_dout].strides.row;
    const float *const saved_0 = (const float *)call->array[ARRAY_saved_0].at + (b * call->p.heads + (g * members + m))
        * call->p.n_q;
    const float *const row_0 = (const float *)call->array[ARRAY_row_0].at + (b * call->p.heads + (g * members + m)) *
        call->p.n_q;
    float *const key_features = (float *)(void *)(share->work + 0); /* [i: 64, e: 64] */
    float *const key_features_2 = (float *)(void *)(share->work + 16384); /* [f: 192, i: 64 of 80] */
    float *const state = (float *)(void *)(share->slots + 0); /* [chunk, f: 2080, e: 64] */
    float *const state_2 = (float *)(void *)(share->slots + 532544); /* [chunk, f: 2080] */
    float *const linear_heads_0 = call->array[ARRAY_linear_heads_0].at ? (float *)call->array[ARRAY_linear_heads_0].at +
        b * call->array[ARRAY_linear_heads_0].strides.batch + (g * members + m) *
        call->array[ARRAY_linear_heads_0].strides.head : NULL;
    float *const dlog_decay_k = call->array[ARRAY_dlog_decay_k].at ? (float *)call->array[ARRAY_dlog_decay_k].at + b *
        call->array[ARRAY_dlog_decay_k].strides.batch + (g * members + m) * call->array[ARRAY_dlog_decay_k].strides.head
        : NULL;
    float *const q_tile = (float *)(void *)(share->work + 77824); /* [d: 64, i: 64 of 80] */
    float *const log_decay_q_tile = (float *)(void *)(share->work + 98304); /* [i: 64] */
    float *const log_decay_q_low_tile = (float *)(void *)(share->work + 98560); /* [i: 64] */
    float *const row_0_tile = (float *)(void *)(share->work + 98816); /* [i: 64] */
    float *const log_decay_chunk_at = (float *)(void *)(share->work + 99072); /* [i: 64] */
    float *const log_decay_chunk_low_at = (float *)(void *)(share->work + 99328); /* [i: 64] */
    /* state = 0.0f */
    for (int64_t f = 0; f < 2080; f++) {
        for (int64_t e_first = 0; e_first < 64; e_first += OF(64, 16, 8)) {
            UNROLL for (int64_t vector = 0, e = e_first; vector < OF(4, 2, 2); vector++, e += LANES) {
                T(store)(state + (chunk - chunk0) * 135216 + f * 64 + e, T(splat)(0.0f));
            }
        }
    }
    if (linear_heads_0 || dlog_decay_k) {
        /* state_2 = 0.0f */
        for (int64_t f = 0; f < 2080; f += LANES) {
            T(store)(state_2 + (chunk - chunk0) * 135216 + f, T(splat)(0.0f));
        }
    }
    for (int64_t i0 = ((chunks - chunk - 1) == 0) ? 0 : max(0, ((chunks - chunk - 1) * 128) - query_start),
        i_end = min(n_q, ((chunks - chunk) * 128) - query_start); i0 < i_end; i0 += 64) {
        const int64_t i1 = min(i0 + 64, i_end);
        /* q_tile = q, with zeros beyond the last row */
        T(transpose_padded)(q + i0 * q_row, q_row, i1 - i0, 64, q_tile, 80, 64);
        /* log_decay_q_tile = log_decay_q, with zeros beyond the last row */
        for (int64_t i = 0; i < round_up(i1 - i0, LANES); i++)
            log_decay_q_tile[i] = i < i1 - i0 ? log_decay_q[(i0 + i)] : 0;
        /* log_decay_q_low_tile = log_decay_q_low, with zeros beyond the last row */
        for (int64_t i = 0; i < round_up(i1 - i0, LANES); i++)
            log_decay_q_low_tile[i] = i < i1 - i0 ? log_decay_q_low[(i0 + i)] : 0;
        if (linear_heads_0 || dlog_decay_k) {
            /* row_0_tile = row_0, with zeros beyond the last row */
            for (int64_t i = 0; i < round_up(i1 - i0, LANES); i++)
                row_0_tile[i] = i < i1 - i0 ? row_0[(i0 + i)] : 0;
        }
        /* key_features = dout * saved_0 */
        for (int64_t i = 0; i < i1 - i0; i++) {
            for (int64_t e_first = 0; e_first < 64; e_first += OF(64, 16, 8)) {
                UNROLL for (int64_t vector = 0, e = e_first; vector < OF(4, 2, 2); vector++, e += LANES) {
                    T(store)(key_features + i * 64 + e, T(load)(dout + (i0 + i) * dout_row + e) * saved_0[(i0 + i)]);
                }
            }
        }
        for (int64_t f0 = 0, f_end = 2080; f0 < f_end; f0 += 192) {
            const int64_t f1 = min(f0 + 192, f_end);
            /* log_decay_chunk_at = log_decay_chunk, at computed subscripts */
            for (int64_t i = 0; i < i1 - i0; i++) log_decay_chunk_at[i] = log_decay_chunk[max(min(((max((i0 + i) +
                query_start, 0) / 128) * 128) - 1, n_k - 1), 0)];
            for (int64_t i = i1 - i0; i < round_up(i1 - i0, LANES); i++) log_decay_chunk_at[i] = 0;
            /* log_decay_chunk_low_at = log_decay_chunk_low, at computed subscripts */
            for (int64_t i = 0; i < i1 - i0; i++) log_decay_chunk_low_at[i] = log_decay_chunk_low[max(min(((max((i0 + i)
                + query_start, 0) / 128) * 128) - 1, n_k - 1), 0)];
            for (int64_t i = i1 - i0; i < round_up(i1 - i0, LANES); i++) log_decay_chunk_low_at[i] = 0;
            /* key_features_2 = ((((q_tile * 0.125f) * (q_tile * 0.125f)) * select((f / 64) == 0, 1.0f,
               2.0f)) * select((max(i + query_start, 0 ... */
            const float log_decay_chunk_3 = log_decay_chunk[max(min(((chunks - chunk - 1) * 128) - 1, n_k - 1), 0)];
            const float log_decay_chunk_low_4 = log_decay_chunk_low[max(min(((chunks - chunk - 1) * 128) - 1, n_k - 1),
                0)];
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                const T(vec) log_decay_chunk_at_0 = T(load)(log_decay_chunk_at + i);
                const T(vec) log_decay_chunk_low_at_1 = T(load)(log_decay_chunk_low_at + i);
                const T(vec) t_2 = T(pick)(__builtin_convertvector(((((((i0 + i + T(lane)) + query_start) > 0) & ((i0 +
                    i + T(lane)) + query_start)) | (~(((i0 + i + T(lane)) + query_start) > 0) & (0 - (T(ints)){0}))) /
                    128) == 0, T(mask)), T(splat)(1.0f), T(exp2)(((T(load)(log_decay_q_tile + i) - log_decay_chunk_at_0)
                    + (T(load)(log_decay_q_low_tile + i) - log_decay_chunk_low_at_1)) * 1.442695f));
                const T(vec) t_5 = T(exp2)(((log_decay_chunk_at_0 - log_decay_chunk_3) + (log_decay_chunk_low_at_1 -
                    log_decay_chunk_low_4)) * 1.442695f);
                for (int64_t f = f0; f < f1; f++) {
                    T(store)(key_features_2 + (f - f0) * 80 + i, ((((T(load)(q_tile + (f % 64) * 80 + i) * 0.125f) *
                        (T(load)(q_tile + (((f % 64) + (f / 64)) % 64) * 80 + i) * 0.125f)) * (float)(((f / 64) == 0) ?
                        1.0 : 2.0)) * t_2) * t_5);
                }
            }
            /* state[f][e] += sum over i of key_features_2 * key_features */
            T(dot13)(f1 - f0, i1 - i0, key_features_2, key_features, state + (chunk - chunk0) * 135216 + f0 * 64);
            if (linear_heads_0 || dlog_decay_k) {
                /* state_2 += key_features_2 * row_0_tile */
                for (int64_t f = f0; f < f1; f++) {
                    T(vec) lane_sums = T(splat)(0);
                    for (int64_t i = 0; i < i1 - i0; i += LANES) {
                        const T(vec) row_0_tile_6 = T(load)(row_0_tile + i);
                        const T(vec) term = T(load)(key_features_2 + (f - f0) * 80 + i) * row_0_tile_6;
                        lane_sums += i + LANES <= i1 - i0 ? term : T(pick)(__builtin_convertvector(i + T(lane) < i1 -
                            i0, T(mask)), term, T(splat)(0));
                    }
                    const float total = T(lane_sum)(lane_sums);
                    state_2[(chunk - chunk0) * 135216 + f] += total;
                }
            }
        }
    }
}

/* Folds the slots of the current chunks, in order, for some elements of the states. */
TARGET APART void T(power_gated_linear_linear_heads_0_linear_heads_1_dlog_decay_k_fold)(const struct call *call,
    int64_t task, const struct share *share, int64_t iteration)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_k = call->p.n_k;
    const int64_t chunks = n_k > 0 ? (n_k - 1) / 128 + 1 : 1;
    const int64_t f0 = iteration * 32, f1 = min(f0 + 32, 2080);
    const int64_t chunk0 = share->chunk0;
    const int64_t chunk1 = share->chunk1;
    const int64_t m = task % members;
    const int64_t g = task / members % kv_heads;
    const int64_t b = task / members / kv_heads;
    const float *const log_decay_chunk_low = (const float *)call->array[ARRAY_log_decay_chunk_low].at + b *
        call->array[ARRAY_log_decay_chunk_low].strides.batch + (g * members + m) *
        call->array[ARRAY_log_decay_chunk_low].strides.head;
    const float *const log_decay_chunk = (const float *)call->array[ARRAY_log_decay_chunk].at + b *
        call->array[ARRAY_log_decay_chunk].strides.batch + (g * members + m) *
        call->array[ARRAY_log_decay_chunk].strides.head;
    float *const state = (float *)(void *)(share->slots + 0); /* [chunk, f: 2080, e: 64] */
    float *const state_2 = (float *)(void *)(share->slots + 532544); /* [chunk, f: 2080] */
    float *const carried = (float *)(void *)(share->shared + 0); /* [f: 2080, e: 64] */
    float *const carried_compensation = (float *)(void *)(share->shared + 540864); /* [f: 2080, e: 64] */
    float *const kept_share = (float *)(void *)(share->work + 0); /* [f: 2080] */
    float *const lost_share = (float *)(void *)(share->work + 8320); /* [f: 2080] */
    float *const carried_2 = (float *)(void *)(share->shared + 532544); /* [f: 2080] */
    float *const carried_2_compensation = (float *)(void *)(share->shared + 1073408); /* [f: 2080] */
    float *const linear_heads_0 = call->array[ARRAY_linear_heads_0].at ? (float *)call->array[ARRAY_linear_heads_0].at +
        b * call->array[ARRAY_linear_heads_0].strides.batch + (g * members + m) *
        call->array[ARRAY_linear_heads_0].strides.head : NULL;
    float *const dlog_decay_k = call->array[ARRAY_dlog_decay_k].at ? (float *)call->array[ARRAY_dlog_decay_k].at + b *
        call->array[ARRAY_dlog_decay_k].strides.batch + (g * members + m) * call->array[ARRAY_dlog_decay_k].strides.head
        : NULL;
    for (int64_t chunk = chunk0; chunk < chunk1; chunk++) {
        /* kept_share = select(exp2(((log_decay_chunk - log_decay_chunk) + (log_decay_chunk_low - log_decay_chunk_low))
           * 1.442695f) < 0.5f ... */
        const float t_7 = (log_decay_chunk[max(min(((chunks - chunk) * 128) - 1, n_k - 1),
            0)] - log_decay_chunk[max(min(((chunks - chunk - 1) * 128) - 1, n_k - 1),
            0)]) + (log_decay_chunk_low[max(min(((chunks - chunk) * 128) - 1, n_k - 1),
            0)] - log_decay_chunk_low[max(min(((chunks - chunk - 1) * 128) - 1, n_k - 1), 0)]);
        const float t_8 = exp2f(t_7 * 1.442695f);
        const int t_9 = t_8 < 0.5f;
        const float t_10 = t_9 ? t_8 : 1.0f;
        const float t_11 = t_9 ? 0.0f : (-expm1f(t_7));
        for (int64_t f = f0; f < f1; f += LANES) {
            T(store)(kept_share + f, T(splat)(t_10));
            T(store)(lost_share + f, T(splat)(t_11));
        }
        /* before = carried; carried = carried * kept_share; carried_compensation = carried_compensation * kept_share;
           carried += state - ( ... */
        for (int64_t f = f0; f < f1; f++) {
            for (int64_t e_first = 0; e_first < 64; e_first += OF(64, 16, 8)) {
                UNROLL for (int64_t vector = 0, e = e_first; vector < OF(4, 2, 2); vector++, e += LANES) {
                    const T(vec) carried_12 = T(load)(carried + f * 64 + e);
                    const T(vec) before_new13 = carried_12;
                    const float kept_share_14 = kept_share[f];
                    const T(vec) carried_new15 = carried_12 * kept_share_14;
                    T(store)(carried + f * 64 + e, carried_new15);
                    T(store)(carried_compensation + f * 64 + e, T(load)(carried_compensation + f * 64 + e) *
                        kept_share_14);
                    T(add)(carried + f * 64 + e, carried_compensation + f * 64 + e,
                        T(load)(state + (chunk - chunk0) * 135216 + f * 64 + e) - (carried_new15 * lost_share[f]),
                        T(splat)(1));
                    T(store)(state + (chunk - chunk0) * 135216 + f * 64 + e, before_new13);
                }
            }
        }
        if (linear_heads_0 || dlog_decay_k) {
            /* kept_share_2 = select(exp2(((log_decay_chunk - log_decay_chunk) + (log_decay_chunk_low -
               log_decay_chunk_low)) * 1.442695f) < 0. ... */
            const float t_16 = (log_decay_chunk[max(min(((chunks - chunk) * 128) - 1, n_k - 1),
                0)] - log_decay_chunk[max(min(((chunks - chunk - 1) * 128) - 1, n_k - 1),
                0)]) + (log_decay_chunk_low[max(min(((chunks - chunk) * 128) - 1, n_k - 1),
                0)] - log_decay_chunk_low[max(min(((chunks - chunk - 1) * 128) - 1, n_k - 1), 0)]);
            const float t_17 = exp2f(t_16 * 1.442695f);
            const int t_18 = t_17 < 0.5f;
            const float t_19 = t_18 ? t_17 : 1.0f;
            const float t_21 = t_18 ? 0.0f : (-expm1f(t_16));
            for (int64_t f = f0; f < f1; f += LANES) {
                const T(vec) kept_share_2_new20 = T(splat)(t_19);
                const T(vec) lost_share_2_new22 = T(splat)(t_21);
                const T(vec) carried_2_23 = T(load)(carried_2 + f);
                const T(vec) before_2_new24 = carried_2_23;
                const T(vec) carried_2_new25 = carried_2_23 * kept_share_2_new20;
                T(store)(carried_2 + f, carried_2_new25);
                T(store)(carried_2_compensation + f, T(load)(carried_2_compensation + f) * kept_share_2_new20);
                T(add)(carried_2 + f, carried_2_compensation + f, T(load)(state_2 + (chunk - chunk0) * 135216 + f) -
                    (carried_2_new25 * lost_share_2_new22), T(splat)(1));
                T(store)(state_2 + (chunk - chunk0) * 135216 + f, before_2_new24);
            }
        }
    }
}

/* Processes the keys of a chunk: reads the state after the chunk, and the queries in the chunk. */
TARGET APART void T(power_gated_linear_linear_heads_0_linear_heads_1_dlog_decay_k_keys)(const struct call *call,
    int64_t task, const struct share *share, int64_t iteration)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_q = call->p.n_q;
    const int64_t n_k = call->p.n_k;
    const int64_t chunks = n_k > 0 ? (n_k - 1) / 128 + 1 : 1;
    const int64_t chunk = iteration;
    const int64_t chunk0 = share->chunk0;
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
    const float *const log_decay_chunk_low = (const float *)call->array[ARRAY_log_decay_chunk_low].at + b *
        call->array[ARRAY_log_decay_chunk_low].strides.batch + (g * members + m) *
        call->array[ARRAY_log_decay_chunk_low].strides.head;
    const float *const log_decay_chunk = (const float *)call->array[ARRAY_log_decay_chunk].at + b *
        call->array[ARRAY_log_decay_chunk].strides.batch + (g * members + m) *
        call->array[ARRAY_log_decay_chunk].strides.head;
    const float *const dout = (const float *)call->array[ARRAY_dout].at + b * call->array[ARRAY_dout].strides.batch + (g
        * members + m) * call->array[ARRAY_dout].strides.head;
    const int64_t dout_row = call->array[ARRAY_dout].strides.row;
    const float *const saved_0 = (const float *)call->array[ARRAY_saved_0].at + (b * call->p.heads + (g * members + m))
        * call->p.n_q;
    const float *const row_0 = (const float *)call->array[ARRAY_row_0].at + (b * call->p.heads + (g * members + m)) *
        call->p.n_q;
    float *const state = (float *)(void *)(share->slots + 0); /* [chunk, f: 2080, e: 64] */
    float *const state_2 = (float *)(void *)(share->slots + 532544); /* [chunk, f: 2080] */
    float *const score = (float *)(void *)(share->work + 0); /* [i: 64, j: 64 of 80] */
    float *const weight = (float *)(void *)(share->work + 20480); /* [i: 64, j: 64 of 80] */
    float *const score_2 = (float *)(void *)(share->work + 40960); /* [i: 64, j: 64 of 80] */
    float *const row_sum = (float *)(void *)(share->work + 61440); /* [j: 64] */
    float *const row_sum_compensation = (float *)(void *)(share->work + 61696); /* [j: 64] */
    float *const query = (float *)(void *)(share->work + 0); /* [f: 192, j: 64 of 80] */
    float *const sum_from_state = (float *)(void *)(share->work + 61952); /* [f: 2080, j: 64 of 80] */
    float *const query_sum = (float *)(void *)(share->work + 727552); /* [j: 64] */
    float *const query_2 = (float *)(void *)(share->work + 727808); /* [f: 2080, j: 64 of 80] */
    float *const query_sum_2 = (float *)(void *)(share->work + 1393408); /* [j: 64] */
    float *const query_sum_3 = (float *)(void *)(share->work + 1393664); /* [d: 64, j: 64 of 80] */
    float *const query_sum_4 = (float *)(void *)(share->work + 1414144); /* [d: 64, j: 64 of 80] */
    float *const query_sum_5 = (float *)(void *)(share->work + 1434624); /* [d: 64, j: 64 of 80] */
    float *const query_sum_6 = (float *)(void *)(share->work + 1455104); /* [d: 64, j: 64 of 80] */
    float *const sum = (float *)(void *)(share->work + 1475584); /* [d: 64, j: 64 of 80] */
    float *const sum_compensation = (float *)(void *)(share->work + 1496064); /* [d: 64, j: 64 of 80] */
    float *const sum_2 = (float *)(void *)(share->work + 1516544); /* [e: 64, j: 64 of 80] */
    float *const sum_2_compensation = (float *)(void *)(share->work + 1537024); /* [e: 64, j: 64 of 80] */
    float *const sum_from_state_2 = (float *)(void *)(share->work + 1557504); /* [e: 64, j: 64 of 80] */
    float *const linear_heads_0 = call->array[ARRAY_linear_heads_0].at ? (float *)call->array[ARRAY_linear_heads_0].at +
        b * call->array[ARRAY_linear_heads_0].strides.batch + (g * members + m) *
        call->array[ARRAY_linear_heads_0].strides.head : NULL;
    const int64_t linear_heads_0_row = call->array[ARRAY_linear_heads_0].strides.row;
    float *const linear_heads_1 = call->array[ARRAY_linear_heads_1].at ? (float *)call->array[ARRAY_linear_heads_1].at +
        b * call->array[ARRAY_linear_heads_1].strides.batch + (g * members + m) *
        call->array[ARRAY_linear_heads_1].strides.head : NULL;
    const int64_t linear_heads_1_row = call->array[ARRAY_linear_heads_1].strides.row;
    float *const dlog_decay_k = call->array[ARRAY_dlog_decay_k].at ? (float *)call->array[ARRAY_dlog_decay_k].at + b *
        call->array[ARRAY_dlog_decay_k].strides.batch + (g * members + m) * call->array[ARRAY_dlog_decay_k].strides.head
        : NULL;
    float *const k_tile = (float *)(void *)(share->work + 1577984); /* [d: 64, j: 64 of 80] */
    float *const log_decay_k_tile = (float *)(void *)(share->work + 1598464); /* [j: 64] */
    float *const log_decay_k_low_tile = (float *)(void *)(share->work + 1598720); /* [j: 64] */
    float *const v_tile = (float *)(void *)(share->work + 1598976); /* [e: 64, j: 64 of 80] */
    float *const dout_tile = (float *)(void *)(share->work + 61952); /* [e: 64, i: 64 of 80] */
    float *const saved_0_tile = (float *)(void *)(share->work + 20480); /* [i: 64] */
    for (int64_t j0 = ((chunks - chunk - 1) == 0) ? 0 : max(0, (chunks - chunk - 1) * 128), j_end = min(n_k,
        (chunks - chunk) * 128); j0 < j_end; j0 += 64) {
        const int64_t j1 = min(j0 + 64, j_end);
        /* k_tile = k, with zeros beyond the last row */
        T(transpose_padded)(k + j0 * k_row, k_row, j1 - j0, 64, k_tile, 80, 0);
        /* log_decay_k_tile = log_decay_k, with zeros beyond the last row */
        for (int64_t j = 0; j < round_up(j1 - j0, LANES); j++)
            log_decay_k_tile[j] = j < j1 - j0 ? log_decay_k[(j0 + j)] : 0;
        /* log_decay_k_low_tile = log_decay_k_low, with zeros beyond the last row */
        for (int64_t j = 0; j < round_up(j1 - j0, LANES); j++)
            log_decay_k_low_tile[j] = j < j1 - j0 ? log_decay_k_low[(j0 + j)] : 0;
        if (linear_heads_0 || dlog_decay_k) {
            /* v_tile = v, with zeros beyond the last row */
            T(transpose_padded)(v + j0 * v_row, v_row, j1 - j0, 64, v_tile, 80, 0);
            /* sum_from_state[f][j] = sum over e of state * v_tile */
            T(dot14)(round_up(j1 - j0, LANES), state + (chunk - chunk0) * 135216, v_tile, sum_from_state,
                (const struct coming[]){{dout, 4 * dout_row, 256}, {q, 4 * q_row, 256}, {k + (j0 - 64) * k_row,
                4 * k_row, 256}, {v + (j0 - 64) * v_row, 4 * v_row, 256}});
            /* query_2 = state_2 */
            for (int64_t j_first = 0; j_first < j1 - j0; j_first += OF(64, 16, 8)) {
                for (int64_t f = 0; f < 2080; f++) {
                    UNROLL for (int64_t vector = 0, j = j_first; vector < OF(4, 2, 2); vector++, j += LANES) {
                        T(store)(query_2 + f * 80 + j, T(splat)(state_2[(chunk - chunk0) * 135216 + f]));
                    }
                }
            }
        }
        if (dlog_decay_k) {
            /* row_sum = 0.0f; row_sum_compensation = 0.0f; query_sum = 0.0f; query_sum_2 = 0.0f */
            for (int64_t j = 0; j < j1 - j0; j += LANES) {
                T(store)(row_sum + j, T(splat)(0.0f));
                T(store)(row_sum_compensation + j, T(splat)(0.0f));
                T(store)(query_sum + j, T(splat)(0.0f));
                T(store)(query_sum_2 + j, T(splat)(0.0f));
            }
        }
        if (linear_heads_0) {
            /* query_sum_3 = 0.0f */
            for (int64_t d = 0; d < 64; d++) {
                for (int64_t j = 0; j < j1 - j0; j += LANES) {
                    T(store)(query_sum_3 + d * 80 + j, T(splat)(0.0f));
                }
            }
            /* query_sum_4 = 0.0f */
            for (int64_t d = 0; d < 64; d++) {
                for (int64_t j = 0; j < j1 - j0; j += LANES) {
                    T(store)(query_sum_4 + d * 80 + j, T(splat)(0.0f));
                }
            }
            /* query_sum_5 = 0.0f */
            for (int64_t d = 0; d < 64; d++) {
                for (int64_t j = 0; j < j1 - j0; j += LANES) {
                    T(store)(query_sum_5 + d * 80 + j, T(splat)(0.0f));
                }
            }
            /* query_sum_6 = 0.0f */
            for (int64_t d = 0; d < 64; d++) {
                for (int64_t j = 0; j < j1 - j0; j += LANES) {
                    T(store)(query_sum_6 + d * 80 + j, T(splat)(0.0f));
                }
            }
            /* query_sum_3 += select(((t33 * 64) + d) < 2080, sum_from_state * (k_tile * exp2(((log_decay_chunk -
               log_decay_k_tile) + (log_deca ... */
            const float log_decay_chunk_27 = log_decay_chunk[max(min(((chunks - chunk) * 128) - 1, n_k - 1), 0)];
            const float log_decay_chunk_low_28 = log_decay_chunk_low[max(min(((chunks - chunk) * 128) - 1, n_k - 1),
                0)];
            for (int64_t j = 0; j < j1 - j0; j += LANES) {
                const T(vec) t_29 = T(exp2)(((log_decay_chunk_27 - T(load)(log_decay_k_tile + j)) +
                    (log_decay_chunk_low_28 - T(load)(log_decay_k_low_tile + j))) * 1.442695f);
                for (int64_t d = 0; d < 64; d++) {
                    T(vec) query_sum_3_in = (T(vec)){0};
                    T(vec) query_sum_4_in = (T(vec)){0};
                    T(vec) query_sum_5_in = (T(vec)){0};
                    T(vec) query_sum_6_in = (T(vec)){0};
                    for (int64_t t33 = 0; t33 < 33; t33++) {
                        const int t_26 = ((t33 * 64) + d) < 2080;
                        const T(vec) t_30 = T(load)(k_tile + ((d + t33) % 64) * 80 + j) * t_29;
                        query_sum_3_in += t_26 ? T(load)(sum_from_state + min((t33 * 64) + d,
                            2079) * 80 + j) * t_30 : T(splat)(0.0f);
                        const int t_31 = ((t33 * 64) + floor_mod(d - t33, 64)) < 2080;
                        const T(vec) t_32 = T(load)(k_tile + floor_mod(d - t33, 64) * 80 + j) * t_29;
                        query_sum_4_in += t_31 ? T(load)(sum_from_state + min((t33 * 64) + floor_mod(d - t33, 64),
                            2079) * 80 + j) * t_32 : T(splat)(0.0f);
                        query_sum_5_in += t_26 ? T(load)(query_2 + min((t33 * 64) + d,
                            2079) * 80 + j) * t_30 : T(splat)(0.0f);
                        query_sum_6_in += t_31 ? T(load)(query_2 + min((t33 * 64) + floor_mod(d - t33, 64),
                            2079) * 80 + j) * t_32 : T(splat)(0.0f);
                    }
                    T(store)(query_sum_3 + d * 80 + j, T(load)(query_sum_3 + d * 80 + j) + query_sum_3_in);
                    T(store)(query_sum_4 + d * 80 + j, T(load)(query_sum_4 + d * 80 + j) + query_sum_4_in);
                    T(store)(query_sum_5 + d * 80 + j, T(load)(query_sum_5 + d * 80 + j) + query_sum_5_in);
                    T(store)(query_sum_6 + d * 80 + j, T(load)(query_sum_6 + d * 80 + j) + query_sum_6_in);
                }
            }
            /* sum = 0.0f; sum_compensation = 0.0f */
            for (int64_t d = 0; d < 64; d++) {
                for (int64_t j = 0; j < j1 - j0; j += LANES) {
                    T(store)(sum + d * 80 + j, T(splat)(0.0f));
                    T(store)(sum_compensation + d * 80 + j, T(splat)(0.0f));
                }
            }
        }
        if (linear_heads_1) {
            /* sum_2 = 0.0f; sum_2_compensation = 0.0f; sum_from_state_2 = 0.0f */
            for (int64_t e = 0; e < 64; e++) {
                for (int64_t j = 0; j < j1 - j0; j += LANES) {
                    T(store)(sum_2 + e * 80 + j, T(splat)(0.0f));
                    T(store)(sum_2_compensation + e * 80 + j, T(splat)(0.0f));
                    T(store)(sum_from_state_2 + e * 80 + j, T(splat)(0.0f));
                }
            }
        }
        for (int64_t f0 = 0, f_end = 2080; f0 < f_end; f0 += 192) {
            const int64_t f1 = min(f0 + 192, f_end);
            if (linear_heads_1 || dlog_decay_k) {
                /* query = (k_tile * k_tile) * exp2(((log_decay_chunk - log_decay_k_tile) + (log_decay_chunk_low -
                   log_decay_k_low_tile)) * 1.44269 ... */
                const float log_decay_chunk_33 = log_decay_chunk[max(min(((chunks - chunk) * 128) - 1, n_k - 1), 0)];
                const float log_decay_chunk_low_34 = log_decay_chunk_low[max(min(((chunks - chunk) * 128) - 1, n_k - 1),
                    0)];
                for (int64_t j = 0; j < j1 - j0; j += LANES) {
                    const T(vec) t_35 = T(exp2)(((log_decay_chunk_33 - T(load)(log_decay_k_tile + j)) +
                        (log_decay_chunk_low_34 - T(load)(log_decay_k_low_tile + j))) * 1.442695f);
                    T(vec) query_sum_in = (T(vec)){0};
                    T(vec) query_sum_in_whole = (T(vec)){0};
                    T(vec) query_sum_2_in = (T(vec)){0};
                    T(vec) query_sum_2_in_whole = (T(vec)){0};
                    for (int64_t f = f0; f < f1; f++) {
                        const T(vec) query_new36 = (T(load)(k_tile + (f % 64) * 80 + j) * T(load)(k_tile + (((f % 64) +
                            (f / 64)) % 64) * 80 + j)) * t_35;
                        T(store)(query + (f - f0) * 80 + j, query_new36);
                        const T(vec) t_37 = -query_new36;
                        query_sum_in += T(load)(sum_from_state + f * 80 + j) * t_37;
                        if (f % 192 == 191) {
                            query_sum_in_whole += query_sum_in;
                            query_sum_in = (T(vec)){0};
                        }
                        query_sum_2_in += T(load)(query_2 + f * 80 + j) * t_37;
                        if (f % 192 == 191) {
                            query_sum_2_in_whole += query_sum_2_in;
                            query_sum_2_in = (T(vec)){0};
                        }
                    }
                    query_sum_in += query_sum_in_whole;
                    T(store)(query_sum + j, T(load)(query_sum + j) + query_sum_in);
                    query_sum_2_in += query_sum_2_in_whole;
                    T(store)(query_sum_2 + j, T(load)(query_sum_2 + j) + query_sum_2_in);
                }
            }
            if (linear_heads_1) {
                /* sum_from_state_2[e][j] += sum over f of state * query */
                T(dot15)(round_up(j1 - j0, LANES), f1 - f0, state + (chunk - chunk0) * 135216 + f0 * 64, query,
                    sum_from_state_2);
            }
        }
        /* the ranges of i that some query of the tile may see */
        struct attn_range i_range[] = {
            {max(j0 - query_start, -query_start), (((j1 - floor_mod(j1 - 1,
                128) - 1) / 128) * 128) - query_start + 128},
            {j0 - query_start, (0 <= (j1 - 1)) ? (-query_start) : 0},
        };
        const int64_t i_ranges = attn_union(i_range, 2, 0, n_q);
        /* the ranges that every query of the tile sees */
        struct attn_range i_inside[] = {
            {max(j1 - query_start - 1, -query_start), (((j0 - floor_mod(j0, 128)) / 128) * 128) - query_start + 128},
            {j1 - query_start - 1, (0 <= j0) ? (-query_start) : 0},
        };
        const int64_t i_insides = attn_union(i_inside, 2, 0, n_q);
        for (int64_t piece = 0; piece < i_ranges; piece++) {
            for (int64_t i0 = i_range[piece].from, i_end = i_range[piece].to; i0 < i_end; i0 += 64) {
                const int64_t i1 = min(i0 + 64, i_end);
                /* dout_tile = dout, with zeros beyond the last row */
                T(transpose_padded)(dout + i0 * dout_row, dout_row, i1 - i0, 64, dout_tile, 80, 0);
                /* saved_0_tile = saved_0, with zeros beyond the last row */
                for (int64_t i = 0; i < round_up(i1 - i0, LANES); i++)
                    saved_0_tile[i] = i < i1 - i0 ? saved_0[(i0 + i)] : 0;
                /* score[i][j] = sum over d of q * k_tile */
                T(dot16)(round_up(j1 - j0, LANES), i1 - i0, q + i0 * q_row, q_row, k_tile, score);
                /* dout_tile = dout_tile * saved_0_tile */
                for (int64_t i = 0; i < i1 - i0; i += LANES) {
                    const T(vec) saved_0_tile_38 = T(load)(saved_0_tile + i);
                    for (int64_t e = 0; e < 64; e++) {
                        T(store)(dout_tile + e * 80 + i, T(load)(dout_tile + e * 80 + i) * saved_0_tile_38);
                    }
                }
                if (linear_heads_0 || dlog_decay_k) {
                    /* score_2[i][j] = sum over e of dout_tile * v_tile */
                    T(dot17)(round_up(j1 - j0, LANES), i1 - i0, dout_tile, v_tile, score_2);
                }
                /* weight = ((score * 0.125f) * (score * 0.125f)) * exp2(((log_decay_q - log_decay_k_tile) +
                   (log_decay_q_low - log_decay_k_low_til ... */
                for (int64_t j = 0; j < j1 - j0; j += LANES) {
                    const T(vec) log_decay_k_tile_41 = T(load)(log_decay_k_tile + j);
                    const T(vec) log_decay_k_low_tile_42 = T(load)(log_decay_k_low_tile + j);
                    for (int64_t i = 0; i < i1 - i0; i++) {
                        const T(vec) score_39 = T(load)(score + i * 80 + j);
                        const T(vec) t_40 = score_39 * 0.125f;
                        const T(vec) t_43 = T(exp2)(((log_decay_q[(i0 + i)] - log_decay_k_tile_41) +
                            (log_decay_q_low[(i0 + i)] - log_decay_k_low_tile_42)) * 1.442695f);
                        T(store)(weight + i * 80 + j, (t_40 * t_40) * t_43);
                        const T(vec) score_2_44 = T(load)(score_2 + i * 80 + j);
                        const T(vec) score_2_new45 = score_2_44 + row_0[(i0 + i)];
                        T(store)(score_2 + i * 80 + j, score_2_new45);
                        T(store)(score + i * 80 + j, score_2_new45 * ((score_39 * t_43) * 0.03125f));
                    }
                }
                if (dlog_decay_k) {
                    /* score_2 = score_2 * neg(weight) */
                    for (int64_t i = 0; i < i1 - i0; i++) {
                        for (int64_t j = 0; j < j1 - j0; j += LANES) {
                            T(store)(score_2 + i * 80 + j, T(load)(score_2 + i * 80 + j) * (-T(load)(weight + i * 80 +
                                j)));
                        }
                    }
                }
                if (!attn_covers(i_inside, i_insides, i0, i1)) { /* the tile is partly outside the mask */
                    if (dlog_decay_k) {
                        /* score_2 = select((j <= (i + query_start)) && (((max(i + query_start, 0) / 128) * 128) <= j),
                           score_2, 0.0f) */
                        for (int64_t j = 0; j < j1 - j0; j += LANES) {
                            const T(ints) t_46 = j0 + j + T(lane);
                            for (int64_t i = 0; i < i1 - i0; i++) {
                                const int64_t t_47 = (i0 + i) + query_start;
                                T(store)(score_2 + i * 80 + j, T(pick)(__builtin_convertvector((t_46 <= t_47) &
                                    (((max((i0 + i) + query_start, 0) / 128) * 128) <= t_46), T(mask)),
                                    T(load)(score_2 + i * 80 + j), T(splat)(0.0f)));
                            }
                        }
                    }
                }
                if (dlog_decay_k) {
                    /* row_sum += score_2 */
                    for (int64_t j_first = 0; j_first < j1 - j0; j_first += OF(64, 16, 8)) {
                        T(vec) row_sum_in[OF(4, 2, 2)];
                        UNROLL for (int64_t vector = 0, j = j_first; vector < OF(4, 2, 2); vector++, j += LANES) {
                            row_sum_in[vector] = (T(vec)){0};
                        }
                        for (int64_t i = 0; i < i1 - i0; i++) {
                            UNROLL for (int64_t vector = 0, j = j_first; vector < OF(4, 2, 2); vector++, j += LANES) {
                                row_sum_in[vector] += T(load)(score_2 + i * 80 + j);
                            }
                        }
                        UNROLL for (int64_t vector = 0, j = j_first; vector < OF(4, 2, 2); vector++, j += LANES) {
                            T(add)(row_sum + j, row_sum_compensation + j, row_sum_in[vector], T(splat)(1));
                        }
                    }
                }
                if (!attn_covers(i_inside, i_insides, i0, i1)) { /* the tile is partly outside the mask */
                    if (linear_heads_0) {
                        /* score = select((j <= (i + query_start)) && (((max(i + query_start, 0) / 128) * 128) <= j),
                           score, 0.0f) */
                        for (int64_t j = 0; j < j1 - j0; j += LANES) {
                            const T(ints) t_48 = j0 + j + T(lane);
                            for (int64_t i = 0; i < i1 - i0; i++) {
                                const int64_t t_49 = (i0 + i) + query_start;
                                T(store)(score + i * 80 + j, T(pick)(__builtin_convertvector((t_48 <= t_49) & (((max((i0
                                    + i) + query_start, 0) / 128) * 128) <= t_48), T(mask)),
                                    T(load)(score + i * 80 + j), T(splat)(0.0f)));
                            }
                        }
                    }
                }
                if (linear_heads_0) {
                    /* sum[d][j] += sum over i of q * score */
                    if (__builtin_expect((!attn_covers(i_inside, i_insides, i0, i1)) && !T(finite)(q + i0 * q_row,
                        q_row, i1 - i0, 64), 0)) { /* infinity and NaN affect only queries that see them */
                        T(dot1)(round_up(j1 - j0, LANES), i1 - i0, q + i0 * q_row, q_row, score, sum, sum_compensation);
                        for (int64_t i = 0; i < i1 - i0; i++) {
                            T(mask) in_region[OF(4, 8, 16)] = {0};
                            if (T(finite)(q + i0 * q_row + i * q_row, 1, 64, 1)) continue;
                            const int64_t t_51 = (i0 + i) + query_start;
                            const int64_t t_52 = (max((i0 + i) + query_start, 0) / 128) * 128;
                            for (int64_t j = 0; j < j1 - j0; j += LANES) {
                                const T(ints) t_50 = j0 + j + T(lane);
                                in_region[j / LANES] = __builtin_convertvector((t_50 <= t_51) & (t_52 <= t_50),
                                    T(mask));
                            }
                            T(add_seen)(64, sum, 80, q + i0 * q_row + i * q_row, 1, score + i * 80, in_region, j1 - j0);
                        }
                    } else
                        T(dot2)(round_up(j1 - j0, LANES), i1 - i0, q + i0 * q_row, q_row, score, sum, sum_compensation);
                }
                if (!attn_covers(i_inside, i_insides, i0, i1)) { /* the tile is partly outside the mask */
                    if (linear_heads_1) {
                        /* weight = select((j <= (i + query_start)) && (((max(i + query_start, 0) / 128) * 128) <= j),
                           weight, 0.0f) */
                        for (int64_t j = 0; j < j1 - j0; j += LANES) {
                            const T(ints) t_53 = j0 + j + T(lane);
                            for (int64_t i = 0; i < i1 - i0; i++) {
                                const int64_t t_54 = (i0 + i) + query_start;
                                T(store)(weight + i * 80 + j, T(pick)(__builtin_convertvector((t_53 <= t_54) &
                                    (((max((i0 + i) + query_start, 0) / 128) * 128) <= t_53), T(mask)),
                                    T(load)(weight + i * 80 + j), T(splat)(0.0f)));
                            }
                        }
                    }
                }
                if (linear_heads_1) {
                    /* sum_2[e][j] += sum over i of dout_tile * weight */
                    if (__builtin_expect((!attn_covers(i_inside, i_insides, i0, i1)) && !T(finite)(dout_tile, 80, 64,
                        i1 - i0), 0)) { /* infinity and NaN affect only queries that see them */
                        T(dot18)(round_up(j1 - j0, LANES), i1 - i0, dout_tile, weight, sum_2, sum_2_compensation);
                        for (int64_t i = 0; i < i1 - i0; i++) {
                            T(mask) in_region[OF(4, 8, 16)] = {0};
                            if (T(finite)(dout_tile + i * 1, 80, 64, 1)) continue;
                            const int64_t t_56 = (i0 + i) + query_start;
                            const int64_t t_57 = (max((i0 + i) + query_start, 0) / 128) * 128;
                            for (int64_t j = 0; j < j1 - j0; j += LANES) {
                                const T(ints) t_55 = j0 + j + T(lane);
                                in_region[j / LANES] = __builtin_convertvector((t_55 <= t_56) & (t_57 <= t_55),
                                    T(mask));
                            }
                            T(add_seen)(64, sum_2, 80, dout_tile + i * 1, 80, weight + i * 80, in_region, j1 - j0);
                        }
                    } else
                        T(dot19)(round_up(j1 - j0, LANES), i1 - i0, dout_tile, weight, sum_2, sum_2_compensation);
                }
            }
        }
        if (dlog_decay_k) {
            /* row_sum = (row_sum + query_sum) + query_sum_2 */
            for (int64_t j = 0; j < j1 - j0; j += LANES) {
                T(store)(row_sum + j, (T(load)(row_sum + j) + T(load)(query_sum + j)) + T(load)(query_sum_2 + j));
            }
        }
        if (linear_heads_0) {
            /* query_sum_3 = (((query_sum_3 + query_sum_4) + query_sum_5) + query_sum_6) + sum */
            for (int64_t d = 0; d < 64; d++) {
                for (int64_t j = 0; j < j1 - j0; j += LANES) {
                    T(store)(query_sum_3 + d * 80 + j, (((T(load)(query_sum_3 + d * 80 + j) + T(load)(query_sum_4 + d *
                        80 + j)) + T(load)(query_sum_5 + d * 80 + j)) + T(load)(query_sum_6 + d * 80 + j)) + T(load)(sum
                        + d * 80 + j));
                }
            }
        }
        if (linear_heads_1) {
            /* sum_2 = sum_2 + sum_from_state_2 */
            for (int64_t e = 0; e < 64; e++) {
                for (int64_t j = 0; j < j1 - j0; j += LANES) {
                    T(store)(sum_2 + e * 80 + j, T(load)(sum_2 + e * 80 + j) + T(load)(sum_from_state_2 + e * 80 + j));
                }
            }
        }
        if (linear_heads_0) {
            /* linear_heads_0 = query_sum_3, transposed back */
            T(transpose_out)(query_sum_3, 80, 64, j1 - j0, linear_heads_0 + j0 * linear_heads_0_row, linear_heads_0_row,
                0);
        }
        if (linear_heads_1) {
            /* linear_heads_1 = sum_2, transposed back */
            T(transpose_out)(sum_2, 80, 64, j1 - j0, linear_heads_1 + j0 * linear_heads_1_row, linear_heads_1_row, 0);
        }
        if (dlog_decay_k) {
            /* dlog_decay_k = row_sum */
            for (int64_t j = 0; j < j1 - j0; j++)
                dlog_decay_k[(j0 + j)] = row_sum[j];
        }
    }
}

/* Computes head number `task`. Each thread on the head calls this with `share`. */
TARGET static void T(power_gated_linear_linear_heads_0_linear_heads_1_dlog_decay_k)(const struct call *call,
    int64_t task, struct share *share)
{
    const int64_t n_k = call->p.n_k;
    const int64_t chunks = n_k > 0 ? (n_k - 1) / 128 + 1 : 1;
    for (int64_t iteration = share->number; iteration < ((2080 + 31) / 32); iteration += share->threads)
        T(power_gated_linear_linear_heads_0_linear_heads_1_dlog_decay_k_begin)(call, task, share, iteration);
    synchronise(share);
    const int64_t first = 0;
    const int64_t length = segment_length(share, chunks - first);
    for (int64_t segment = share->number; first + segment * length < chunks; segment += share->threads) {
        share->chunk0 = first + segment * length;
        share->chunk1 = min(share->chunk0 + length, chunks);
        for (int64_t iteration = share->chunk0; iteration < share->chunk1; iteration++)
            T(power_gated_linear_linear_heads_0_linear_heads_1_dlog_decay_k_queries)(call, task, share, iteration);
        for (int64_t group = 0; group < 16; group++) {
            await_segment(share, group, segment);
            const int64_t end = (group + 1) * ((2080 + 31) / 32) / 16;
            for (int64_t iteration = group * ((2080 + 31) / 32) / 16; iteration < end; iteration++)
                T(power_gated_linear_linear_heads_0_linear_heads_1_dlog_decay_k_fold)(call, task, share, iteration);
            pass_segment(share, group, segment);
        }
        for (int64_t iteration = share->chunk0; iteration < share->chunk1; iteration++)
            T(power_gated_linear_linear_heads_0_linear_heads_1_dlog_decay_k_keys)(call, task, share, iteration);
    }
    share->segments += (max(chunks - first, 0) + length - 1) / length;
    synchronise(share);
}

/* Computes task number `task`: the totals of the partial sums that the slices of rows have stored. `work` is this
   thread's workspace. */
TARGET static void T(power_gated_linear_totals1)(const struct call *call, int64_t task, unsigned char *work)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_k = call->p.n_k;
    const int64_t tiles = (n_k + 32 - 1) / 32, j0 = (tiles - 1 - task % tiles) * 32,
        j1 = min(j0 + 32, n_k);
    const int64_t g = task / tiles % kv_heads;
    const int64_t b = task / tiles / kv_heads;
    const float *const linear_heads_0 = call->array[ARRAY_linear_heads_0].at ? (const float
        *)call->array[ARRAY_linear_heads_0].at + b * call->array[ARRAY_linear_heads_0].strides.batch + g * members *
        call->array[ARRAY_linear_heads_0].strides.head : NULL;
    const int64_t linear_heads_0_row = call->array[ARRAY_linear_heads_0].strides.row;
    const int64_t linear_heads_0_head = call->array[ARRAY_linear_heads_0].strides.head;
    const float *const linear_heads_1 = call->array[ARRAY_linear_heads_1].at ? (const float
        *)call->array[ARRAY_linear_heads_1].at + b * call->array[ARRAY_linear_heads_1].strides.batch + g * members *
        call->array[ARRAY_linear_heads_1].strides.head : NULL;
    const int64_t linear_heads_1_row = call->array[ARRAY_linear_heads_1].strides.row;
    const int64_t linear_heads_1_head = call->array[ARRAY_linear_heads_1].strides.head;
    float *const row_sum = (float *)(void *)(work + 0); /* [d: 64, j: 32] */
    float *const row_sum_2 = (float *)(void *)(work + 8192); /* [e: 64, j: 32] */
    float *const dk = call->array[ARRAY_dk].at ? (float *)call->array[ARRAY_dk].at + b *
        call->array[ARRAY_dk].strides.batch + g * call->array[ARRAY_dk].strides.head : NULL;
    const int64_t dk_row = call->array[ARRAY_dk].strides.row;
    float *const dv = call->array[ARRAY_dv].at ? (float *)call->array[ARRAY_dv].at + b *
        call->array[ARRAY_dv].strides.batch + g * call->array[ARRAY_dv].strides.head : NULL;
    const int64_t dv_row = call->array[ARRAY_dv].strides.row;
    float *const linear_heads_0_tile = (float *)(void *)(work + 16384); /* [d: 64, j: 32] */
    float *const linear_heads_1_tile = (float *)(void *)(work + 24576); /* [e: 64, j: 32] */
    if (dk) {
        /* row_sum = 0.0f */
        for (int64_t d = 0; d < 64; d++) {
            for (int64_t j = 0; j < j1 - j0; j += LANES) {
                T(store)(row_sum + d * 32 + j, T(splat)(0.0f));
            }
        }
    }
    if (dv) {
        /* row_sum_2 = 0.0f */
        for (int64_t e = 0; e < 64; e++) {
            for (int64_t j = 0; j < j1 - j0; j += LANES) {
                T(store)(row_sum_2 + e * 32 + j, T(splat)(0.0f));
            }
        }
    }
    for (int64_t m = 0; m < members; m++) {
        if (dk) {
            /* linear_heads_0_tile = linear_heads_0, with zeros beyond the last row */
            T(transpose_padded)(linear_heads_0 + m * linear_heads_0_head + j0 * linear_heads_0_row, linear_heads_0_row,
                j1 - j0, 64, linear_heads_0_tile, 32, LANES);
        }
        if (dv) {
            /* linear_heads_1_tile = linear_heads_1, with zeros beyond the last row */
            T(transpose_padded)(linear_heads_1 + m * linear_heads_1_head + j0 * linear_heads_1_row, linear_heads_1_row,
                j1 - j0, 64, linear_heads_1_tile, 32, LANES);
        }
        if (dk) {
            /* row_sum += linear_heads_0_tile */
            for (int64_t j_first = 0; j_first < j1 - j0; j_first += (2 * LANES)) {
                for (int64_t d = 0; d < 64; d++) {
                    UNROLL for (int64_t vector = 0, j = j_first; vector < 2; vector++, j += LANES) {
                        T(store)(row_sum + d * 32 + j, T(load)(row_sum + d * 32 + j) + T(load)(linear_heads_0_tile + d *
                            32 + j));
                    }
                }
            }
        }
        if (dv) {
            /* row_sum_2 += linear_heads_1_tile */
            for (int64_t j_first = 0; j_first < j1 - j0; j_first += (2 * LANES)) {
                for (int64_t e = 0; e < 64; e++) {
                    UNROLL for (int64_t vector = 0, j = j_first; vector < 2; vector++, j += LANES) {
                        T(store)(row_sum_2 + e * 32 + j, T(load)(row_sum_2 + e * 32 + j) + T(load)(linear_heads_1_tile +
                            e * 32 + j));
                    }
                }
            }
        }
    }
    if (dk) {
        /* dk = row_sum, transposed back */
        T(transpose_out)(row_sum, 32, 64, j1 - j0, dk + j0 * dk_row, dk_row, LANES);
    }
    if (dv) {
        /* dv = row_sum_2, transposed back */
        T(transpose_out)(row_sum_2, 32, 64, j1 - j0, dv + j0 * dv_row, dv_row, LANES);
    }
}

/* Computes task number `task`: one tile of keys of one head. `work` is this thread's workspace. */
TARGET static void T(power_gated_linear_terms_dgate)(const struct call *call, int64_t task, unsigned char *work)
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
TARGET static void T(power_gated_terms)(const struct call *call, int64_t task, unsigned char *work)
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
#error "power_gated.c is C, not C++: compile it with a C compiler"
#elif !defined __STDC_VERSION__ || __STDC_VERSION__ < 199901L
#error "power_gated.c is C11, not C89: compile it without -std=, or with -std=gnu11"
extern int power_gated_is_c11;
#elif !defined __GNUC__
#error "power_gated.c uses GNU C vector extensions: compile it with gcc or clang"
extern int power_gated_is_gnu_c;
#else
#include "power_gated.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include <attnrt/kernel/optimize.h>
#include <attnrt/kernel/call.h>

/* the numbers of the arrays of a call */
enum {
    ARRAY_q, ARRAY_k, ARRAY_v, ARRAY_out, ARRAY_dout, ARRAY_dq, ARRAY_dk, ARRAY_dv, ARRAY_gate_array, ARRAY_log_decay_q,
    ARRAY_log_decay_q_low, ARRAY_log_decay_k, ARRAY_log_decay_k_low, ARRAY_log_decay_chunk, ARRAY_log_decay_chunk_low,
    ARRAY_dlog_decay_q, ARRAY_dlog_decay_k, ARRAY_dlog_decay, ARRAY_dgate_array, ARRAY_saved_0, ARRAY_row_0,
    ARRAY_linear_heads_0, ARRAY_linear_heads_1
};

#ifdef __FILE_NAME__
#define LOOPS __FILE_NAME__ /* this file, whose first part has the loops */
#else
#define LOOPS "power_gated.c"
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
    {"gate", ATTN_F32, 3, {ATTN_BATCH, ATTN_HEADS, ATTN_N_K}, offsetof(struct power_gated_params, gate), 0,
        offsetof(struct power_gated_strides, gate), 0, 1, ATTN_NO_LIMITS},
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
        .origin = FROM_GRADIENTS, .member = offsetof(struct power_gated_gradients, gate)},
    {.name = "saved_0", .origin = FROM_SAVED},
    {.name = "row_0", .origin = FROM_ROW_SUMS},
    {.name = "linear_heads_0", .origin = FROM_LEFT, .elements = 64,
        .sizes = 1 << -ATTN_BATCH | 1 << -ATTN_HEADS | 1 << -ATTN_N_K, .wanted = (const uint16_t[]){ARRAY_dk, NO_ARRAY},
        .linear = 1, .sums = 1, .whole = ARRAY_dk},
    {.name = "linear_heads_1", .origin = FROM_LEFT, .elements = 64,
        .sizes = 1 << -ATTN_BATCH | 1 << -ATTN_HEADS | 1 << -ATTN_N_K, .wanted = (const uint16_t[]){ARRAY_dv, NO_ARRAY},
        .linear = 1, .sums = 1, .whole = ARRAY_dv},
};

#if defined(__x86_64__)
static int runs_v4(void)
{
    return attn_x86_64_level() >= 4;
}
static const struct program programs_v4[] = {
    {.role = RUN_FORWARD, .from = 5118,
     .head = power_gated_linear_v4, .tile = -1, .own = 82432, .of_token = 135200, .in_keys = 1, .saves = 1,
         .shared = 1081728, .slot = 540864, .slots = 1, .together = 1},
    {.role = RUN_FORWARD,
     .rows = power_gated_rows_v4, .tile = 64, .own = 154624, .of_pair = 128, .saves = 1},
    {.role = RUN_BACKWARD, .part = 5, .from = 5118, .of_terms = 1,
     .rows = power_gated_linear_terms_dgate_v4, .tile = 64, .own = 512, .of_pair = 128,
         .wanted = (const uint16_t[]){ARRAY_dgate_array, NO_ARRAY}, .of_keys = OF_QUERY_HEAD},
    {.role = RUN_BACKWARD, .part = 4, .from = 5118, .sums_slices = 1,
     .rows = power_gated_linear_totals1_v4, .tile = 32, .own = 32768, .of_token = 135200,
         .wanted = (const uint16_t[]){ARRAY_dk, ARRAY_dv, NO_ARRAY}, .of_keys = OF_KEY_HEAD},
    {.role = RUN_BACKWARD, .part = 3, .from = 5118,
     .head = power_gated_linear_linear_heads_0_linear_heads_1_dlog_decay_k_v4, .tile = -1, .own = 1619456,
         .of_token = 135200, .in_keys = 1, .wanted = (const uint16_t[]){ARRAY_dlog_decay_k, ARRAY_linear_heads_0,
         ARRAY_linear_heads_1, NO_ARRAY}, .shared = 1081728, .slot = 540864, .slots = 1, .together = 1},
    {.role = RUN_BACKWARD, .part = 2, .from = 5118,
     .head = power_gated_linear_dq_dlog_decay_q_v4, .tile = -1, .own = 299776, .of_token = 135200, .in_keys = 1,
         .wanted = (const uint16_t[]){ARRAY_dq, ARRAY_dlog_decay_q, NO_ARRAY}, .shared = 1081728, .slot = 540864,
         .slots = 1, .together = 1},
    {.role = RUN_BACKWARD, .part = 1, .from = 5118,
     .rows = power_gated_linear_row_sums_v4, .tile = 32, .own = 16640, .of_token = 135200},
    {.role = RUN_BACKWARD, .from = 5118, .saved_again = 1,
     .head = power_gated_linear_saved_v4, .tile = -1, .own = 82432, .of_token = 135200, .in_keys = 1, .shared = 16640,
         .slot = 8320, .slots = 4, .together = 1},
    {.role = RUN_BACKWARD, .part = 5, .of_terms = 1,
     .rows = power_gated_terms_dgate_v4, .tile = 64, .own = 512, .of_pair = 128,
         .wanted = (const uint16_t[]){ARRAY_dgate_array, NO_ARRAY}, .of_keys = OF_QUERY_HEAD},
    {.role = RUN_BACKWARD, .part = 4, .sums_slices = 1,
     .rows = power_gated_dlog_decay_k_v4, .tile = 64, .own = 226304, .of_pair = 128,
         .wanted = (const uint16_t[]){ARRAY_dlog_decay_k, NO_ARRAY}, .of_keys = OF_QUERY_HEAD},
    {.role = RUN_BACKWARD, .part = 3,
     .rows = power_gated_dk_dv_v4, .tile = 64, .own = 399872, .of_pair = 128, .wanted = (const uint16_t[]){ARRAY_dk,
         ARRAY_dv, NO_ARRAY}, .of_keys = OF_KEY_HEAD},
    {.role = RUN_BACKWARD, .part = 2,
     .rows = power_gated_dq_dlog_decay_q_v4, .tile = 64, .own = 359680, .of_pair = 128,
         .wanted = (const uint16_t[]){ARRAY_dq, ARRAY_dlog_decay_q, NO_ARRAY}},
    {.role = RUN_BACKWARD, .part = 1,
     .rows = power_gated_row_sums_v4, .tile = 64, .own = 41472, .of_pair = 128},
    {.role = RUN_BACKWARD, .saved_again = 1,
     .rows = power_gated_saved_v4, .tile = 64, .own = 113664, .of_pair = 128},
    {.role = RUN_TERMS,
     .rows = power_gated_terms_v4, .tile = 64, .own = 512, .of_pair = 128},
};
#endif
#if defined(__x86_64__)
static int runs_v3(void)
{
    return attn_x86_64_level() >= 3;
}
static const struct program programs_v3[] = {
    {.role = RUN_FORWARD, .from = 5118,
     .head = power_gated_linear_v3, .tile = -1, .own = 82432, .of_token = 135200, .in_keys = 1, .saves = 1,
         .shared = 1081728, .slot = 540864, .slots = 1, .together = 1},
    {.role = RUN_FORWARD,
     .rows = power_gated_rows_v3, .tile = 64, .own = 154624, .of_pair = 128, .saves = 1},
    {.role = RUN_BACKWARD, .part = 5, .from = 5118, .of_terms = 1,
     .rows = power_gated_linear_terms_dgate_v3, .tile = 64, .own = 512, .of_pair = 128,
         .wanted = (const uint16_t[]){ARRAY_dgate_array, NO_ARRAY}, .of_keys = OF_QUERY_HEAD},
    {.role = RUN_BACKWARD, .part = 4, .from = 5118, .sums_slices = 1,
     .rows = power_gated_linear_totals1_v3, .tile = 32, .own = 32768, .of_token = 135200,
         .wanted = (const uint16_t[]){ARRAY_dk, ARRAY_dv, NO_ARRAY}, .of_keys = OF_KEY_HEAD},
    {.role = RUN_BACKWARD, .part = 3, .from = 5118,
     .head = power_gated_linear_linear_heads_0_linear_heads_1_dlog_decay_k_v3, .tile = -1, .own = 1619456,
         .of_token = 135200, .in_keys = 1, .wanted = (const uint16_t[]){ARRAY_dlog_decay_k, ARRAY_linear_heads_0,
         ARRAY_linear_heads_1, NO_ARRAY}, .shared = 1081728, .slot = 540864, .slots = 1, .together = 1},
    {.role = RUN_BACKWARD, .part = 2, .from = 5118,
     .head = power_gated_linear_dq_dlog_decay_q_v3, .tile = -1, .own = 299776, .of_token = 135200, .in_keys = 1,
         .wanted = (const uint16_t[]){ARRAY_dq, ARRAY_dlog_decay_q, NO_ARRAY}, .shared = 1081728, .slot = 540864,
         .slots = 1, .together = 1},
    {.role = RUN_BACKWARD, .part = 1, .from = 5118,
     .rows = power_gated_linear_row_sums_v3, .tile = 32, .own = 16640, .of_token = 135200},
    {.role = RUN_BACKWARD, .from = 5118, .saved_again = 1,
     .head = power_gated_linear_saved_v3, .tile = -1, .own = 82432, .of_token = 135200, .in_keys = 1, .shared = 16640,
         .slot = 8320, .slots = 4, .together = 1},
    {.role = RUN_BACKWARD, .part = 5, .of_terms = 1,
     .rows = power_gated_terms_dgate_v3, .tile = 64, .own = 512, .of_pair = 128,
         .wanted = (const uint16_t[]){ARRAY_dgate_array, NO_ARRAY}, .of_keys = OF_QUERY_HEAD},
    {.role = RUN_BACKWARD, .part = 4, .sums_slices = 1,
     .rows = power_gated_dlog_decay_k_v3, .tile = 64, .own = 226304, .of_pair = 128,
         .wanted = (const uint16_t[]){ARRAY_dlog_decay_k, NO_ARRAY}, .of_keys = OF_QUERY_HEAD},
    {.role = RUN_BACKWARD, .part = 3,
     .rows = power_gated_dk_dv_v3, .tile = 64, .own = 399872, .of_pair = 128, .wanted = (const uint16_t[]){ARRAY_dk,
         ARRAY_dv, NO_ARRAY}, .of_keys = OF_KEY_HEAD},
    {.role = RUN_BACKWARD, .part = 2,
     .rows = power_gated_dq_dlog_decay_q_v3, .tile = 64, .own = 359680, .of_pair = 128,
         .wanted = (const uint16_t[]){ARRAY_dq, ARRAY_dlog_decay_q, NO_ARRAY}},
    {.role = RUN_BACKWARD, .part = 1,
     .rows = power_gated_row_sums_v3, .tile = 64, .own = 41472, .of_pair = 128},
    {.role = RUN_BACKWARD, .saved_again = 1,
     .rows = power_gated_saved_v3, .tile = 64, .own = 113664, .of_pair = 128},
    {.role = RUN_TERMS,
     .rows = power_gated_terms_v3, .tile = 64, .own = 512, .of_pair = 128},
};
#endif
static const struct program programs_any[] = {
    {.role = RUN_FORWARD, .from = 5118,
     .head = power_gated_linear_any, .tile = -1, .own = 82432, .of_token = 135200, .in_keys = 1, .saves = 1,
         .shared = 1081728, .slot = 540864, .slots = 1, .together = 1},
    {.role = RUN_FORWARD,
     .rows = power_gated_rows_any, .tile = 64, .own = 154624, .of_pair = 128, .saves = 1},
    {.role = RUN_BACKWARD, .part = 5, .from = 5118, .of_terms = 1,
     .rows = power_gated_linear_terms_dgate_any, .tile = 64, .own = 512, .of_pair = 128,
         .wanted = (const uint16_t[]){ARRAY_dgate_array, NO_ARRAY}, .of_keys = OF_QUERY_HEAD},
    {.role = RUN_BACKWARD, .part = 4, .from = 5118, .sums_slices = 1,
     .rows = power_gated_linear_totals1_any, .tile = 32, .own = 32768, .of_token = 135200,
         .wanted = (const uint16_t[]){ARRAY_dk, ARRAY_dv, NO_ARRAY}, .of_keys = OF_KEY_HEAD},
    {.role = RUN_BACKWARD, .part = 3, .from = 5118,
     .head = power_gated_linear_linear_heads_0_linear_heads_1_dlog_decay_k_any, .tile = -1, .own = 1619456,
         .of_token = 135200, .in_keys = 1, .wanted = (const uint16_t[]){ARRAY_dlog_decay_k, ARRAY_linear_heads_0,
         ARRAY_linear_heads_1, NO_ARRAY}, .shared = 1081728, .slot = 540864, .slots = 1, .together = 1},
    {.role = RUN_BACKWARD, .part = 2, .from = 5118,
     .head = power_gated_linear_dq_dlog_decay_q_any, .tile = -1, .own = 299776, .of_token = 135200, .in_keys = 1,
         .wanted = (const uint16_t[]){ARRAY_dq, ARRAY_dlog_decay_q, NO_ARRAY}, .shared = 1081728, .slot = 540864,
         .slots = 1, .together = 1},
    {.role = RUN_BACKWARD, .part = 1, .from = 5118,
     .rows = power_gated_linear_row_sums_any, .tile = 32, .own = 16640, .of_token = 135200},
    {.role = RUN_BACKWARD, .from = 5118, .saved_again = 1,
     .head = power_gated_linear_saved_any, .tile = -1, .own = 82432, .of_token = 135200, .in_keys = 1, .shared = 16640,
         .slot = 8320, .slots = 4, .together = 1},
    {.role = RUN_BACKWARD, .part = 5, .of_terms = 1,
     .rows = power_gated_terms_dgate_any, .tile = 64, .own = 512, .of_pair = 128,
         .wanted = (const uint16_t[]){ARRAY_dgate_array, NO_ARRAY}, .of_keys = OF_QUERY_HEAD},
    {.role = RUN_BACKWARD, .part = 4, .sums_slices = 1,
     .rows = power_gated_dlog_decay_k_any, .tile = 64, .own = 226304, .of_pair = 128,
         .wanted = (const uint16_t[]){ARRAY_dlog_decay_k, NO_ARRAY}, .of_keys = OF_QUERY_HEAD},
    {.role = RUN_BACKWARD, .part = 3,
     .rows = power_gated_dk_dv_any, .tile = 64, .own = 399872, .of_pair = 128, .wanted = (const uint16_t[]){ARRAY_dk,
         ARRAY_dv, NO_ARRAY}, .of_keys = OF_KEY_HEAD},
    {.role = RUN_BACKWARD, .part = 2,
     .rows = power_gated_dq_dlog_decay_q_any, .tile = 64, .own = 359680, .of_pair = 128,
         .wanted = (const uint16_t[]){ARRAY_dq, ARRAY_dlog_decay_q, NO_ARRAY}},
    {.role = RUN_BACKWARD, .part = 1,
     .rows = power_gated_row_sums_any, .tile = 64, .own = 41472, .of_pair = 128},
    {.role = RUN_BACKWARD, .saved_again = 1,
     .rows = power_gated_saved_any, .tile = 64, .own = 113664, .of_pair = 128},
    {.role = RUN_TERMS,
     .rows = power_gated_terms_any, .tile = 64, .own = 512, .of_pair = 128},
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
    .layout = KERNEL_LAYOUT, .name = "power_gated", .openmp = OPENMP,
    .target = target, .targets = sizeof target / sizeof *target - 1,
    .array = array, .arrays = sizeof array / sizeof *array,
    .param = param, .params = 1, .params_bytes = sizeof(struct power_gated_params),
    .dtype = ATTN_F32, .key_dtype = ATTN_F32, .value_dtype = ATTN_F32, .real = sizeof(float), .element = sizeof(float),
    .head_dim = 64, .value_dim = 64, .key_row = 64, .value_row = 64,
    .strided = 1, .strides = offsetof(struct power_gated_params, strides),
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
    .gradients_bytes = sizeof(struct power_gated_gradients),
    .parts = 6,
    .saved = 1,
    .row_sums = 1,
    .shared_gradient = {ARRAY_dq, ARRAY_dk},
};

/* ==== the interface ==== */
size_t power_gated_params_size(void) { return attn_call_params_size(&kernel); }
int power_gated_params_init(struct power_gated_params *params, uint64_t seed, void *storage)
{
    return attn_call_params_init(&kernel, params, seed, storage);
}
size_t power_gated_workspace(const struct attn_problem *problem) { return attn_call_workspace(&kernel, problem); }
size_t power_gated_saved(const struct attn_problem *problem) { return attn_call_saved(&kernel, problem); }
size_t power_gated_backward_workspace(const struct attn_problem *problem)
{
    return attn_call_backward_workspace(&kernel, problem);
}
int power_gated_forward(const struct attn_problem *problem, const struct power_gated_params *params, const float *q,
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
int power_gated_backward(const struct attn_problem *problem, const struct power_gated_params *params, const float *q,
    const float *k, const float *v, const float *out, const float *dout,
    float *dq, float *dk, float *dv, struct power_gated_gradients *gradients, void *workspace)
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
const struct attn_kernel power_gated_kernel = {
    .name = "power_gated", .version = "0.2.0", .dtype = ATTN_F32, .head_dim = 64, .value_dim = 64,
    .params = 1, .param = param, .params_bytes = sizeof(struct power_gated_params),
    .params_size = power_gated_params_size, .params_init = params_init_any, .forward = forward_any,
    .workspace = power_gated_workspace,
    .saved = power_gated_saved,
    .backward_workspace = power_gated_backward_workspace,
    .backward = backward_any,
    .key_dtype = ATTN_F32, .value_dtype = ATTN_F32,
    .strides = offsetof(struct power_gated_params, strides), .strides_bytes = sizeof(struct power_gated_strides),
    .before = INT64_MAX, .after = 0, .period = 0, .names_heads = 0, .names_sequences = 0, .in_parts = 0,
    .saved_power = 0, .has_sink = 0, .open_keys = 0, .end_of_keys = INT64_MAX,
};
#endif /* a compiler of this language */
#endif /* SECTION */
