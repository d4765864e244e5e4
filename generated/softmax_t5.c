/* softmax_t5.c, made by attnc 0.2.0: attnc softmax_t5.yaml
   C11 with GNU extensions, for a C compiler; C++ includes softmax_t5.h.
   softmax attention with T5's biases for 32 buckets of distances, whose logits are not scaled
   Raffel et al., Exploring the Limits of Transfer Learning with a Unified Text-to-Text Transformer (JMLR 2020),
   section 2.1

   Computes, in f32, over the axes b (batch), g (key/value head), m (query head of g), i (query), j (key), d (64),
   e (64), table_axis_2 (32):
     q [b g m i d]
     k [b g j d]
     v [b g j e]
     x3 [b g m i j] = sum over d of q * k
     table [g m table_axis_2], learned parameter
     x5 [b g m i j] = exp(x3 + table[g, m, max(min((i + query_start + 1 <= j ? 16 : 0) + (i + query_start + -7 <= j && j
     <= i + query_start + 7 ? abs(i + query_start - j) : trunc(min(8 + log(abs(i + query_start - j) * 0.125) /
     2.772588722239781 * 8, 15))), 31), 0)])
     x6 [b g m i] = sum over j of x5
     x7 [b g m i e] = sum over j of x5 * v
     x8 [b g m i e] = x6 == 0 ? 0 : x7 / x6
     out = x8
   query_start is the position of the first query: problem.query_start[b], or n_k - n_q if that is NULL.

   How: each vector lane holds one query. Keys are processed in tiles,
   so row sums and maxima need no reduction across lanes.
   The sums of a tile start from zero and are added to the sums so far. Tiles that no query sees are skipped.
   For few queries each lane holds one key. The queries of all heads that share keys are the rows of one tile,
   so each key is read once.
   The chunks of keys are divided among the threads. Their sums are added in the order of the chunks.
     x86-64-v4  quadratic tiles of 64 queries and 288 keys; 418304 bytes of workspace per thread
     x86-64-v4  few       tiles of 64 queries and 128 keys; 191936 bytes of workspace per thread
     x86-64-v3  quadratic tiles of 64 queries and 288 keys; 418304 bytes of workspace per thread
     x86-64-v3  few       tiles of 64 queries and 128 keys; 191936 bytes of workspace per thread
     generic    quadratic tiles of 64 queries and 288 keys; 418304 bytes of workspace per thread
     generic    few       tiles of 64 queries and 128 keys; 191936 bytes of workspace per thread

   Contents:
     loops      softmax_t5_rows, softmax_t5_few, softmax_t5_saved, softmax_t5_row_sums, softmax_t5_dq_sums1,
     softmax_t5_dk_dv, softmax_t5_totals1
     targets    x86-64-v4, x86-64-v3, generic
     tables     arrays and programs, for the functions of attnrt that call the loops
     interface  softmax_t5_workspace, softmax_t5_forward, softmax_t5_backward, softmax_t5_kernel
   The file includes itself, so that the loops are compiled once for each target. T(name) is a name with the target's
   suffix, LANES the elements of its vectors, and OF(…) a number for each target.

   Compile with: cc -O2 -fopenmp softmax_t5.c … -lattnrt -lm */
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
    T(dot)(/*vectors=*/OF(4, 2, 2), lanes, /*rows=*/64, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/1, a_step, b,
        /*b_step=*/80, c, /*c_row=*/80, /*update=*/3, factor, compensation);
}
#if OF(1, 0, 0)
TARGET APART void T(dot2)(int64_t rows, int64_t columns, const float *a, const float *b, int64_t b_row, float *c,
    int64_t early)
#else
TARGET APART void T(dot2)(int64_t rows, int64_t columns, const float *a, const float *b, int64_t b_row, float *c)
#endif
{
#if OF(1, 0, 0)
    T(dot_along)(rows, columns, /*steps=*/64, a, /*a_row=*/64, b, b_row, c, /*c_row=*/144, early);
#endif
#if OF(0, 1, 0)
    T(dot_along)(rows, columns, /*steps=*/64, a, /*a_row=*/64, b, b_row, c, /*c_row=*/144);
#endif
#if OF(0, 0, 1)
    T(dot_along)(rows, columns, /*steps=*/64, a, /*a_row=*/64, b, b_row, c, /*c_row=*/144, /*early=*/64);
#endif
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
TARGET APART void T(dot4)(int64_t lanes, int64_t rows, const float *a, int64_t a_row, const float *b, float *c)
{
    T(dot_ahead)(/*vectors=*/OF(4, 2, 2), lanes, rows, /*tail=*/-1, /*steps=*/64, /*span=*/32, a, a_row, /*a_step=*/1,
        b, /*b_step=*/80, c, /*c_row=*/80, /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL, /*next=*/NULL,
        /*next_row=*/0, /*width=*/0, /*result=*/NULL, /*result_row=*/0, /*result_width=*/0, /*results=*/0);
}
TARGET APART void T(dot5)(int64_t lanes, int64_t rows, const float *a, int64_t a_row, const float *b, float *c,
    const float *next, int64_t next_row)
{
    T(dot_ahead)(/*vectors=*/OF(4, 2, 2), lanes, rows, /*tail=*/-1, /*steps=*/64, /*span=*/32, a, a_row, /*a_step=*/1,
        b, /*b_step=*/80, c, /*c_row=*/80, /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL, next, next_row,
        /*width=*/64, /*result=*/NULL, /*result_row=*/0, /*result_width=*/0, /*results=*/0);
}
TARGET APART void T(dot6)(int64_t lanes, int64_t steps, const float *a, int64_t a_step, const float *b, float *c,
    float *compensation)
{
    T(dot)(/*vectors=*/OF(4, 2, 2), lanes, /*rows=*/64, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/1, a_step, b,
        /*b_step=*/80, c, /*c_row=*/80, /*update=*/3, /*factor=*/NULL, compensation);
}

/* Computes task number `task`: one tile of queries of one head. `work` is this thread's workspace. */
TARGET static void T(softmax_t5_rows)(const struct call *call, int64_t task, unsigned char *work)
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
    const float *const table_array = (const float *)call->array[ARRAY_table_array].at + g * members *
        call->array[ARRAY_table_array].stride[0] + m * call->array[ARRAY_table_array].stride[0];
    const int64_t table_array_stride_1 = call->array[ARRAY_table_array].stride[1];
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
    struct remembered *const table_at_known = (struct remembered *)(void *)(work + 154624);
    float *const table_at_kept = (float *)(void *)(work + 154688); /* [(LANES + 65888) differences] */
    int64_t results = i1 - i0; /* rows of out to prefetch during the first product */
    /* q_tile = q, with zeros beyond the last row */
    T(transpose_padded)(q + i0 * q_row, q_row, i1 - i0, 64, q_tile, 80, LANES);
    /* q_tile = q_tile * 1.442695f */
    for (int64_t d = 0; d < 64; d++) {
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            T(store)(q_tile + d * 80 + i, T(load)(q_tile + d * 80 + i) * 1.442695f);
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
    for (int64_t j0 = 0, j_end = n_k; j0 < j_end; j0 += 288) {
        const int64_t j1 = min(j0 + 288, j_end);
        /* score[j][i] = sum over d of k * q_tile */
        T(dot0)(round_up(i1 - i0, LANES), j1 - j0, k + j0 * k_row, k_row, q_tile, score, v + j0 * v_row, v_row,
            out + i0 * out_row, out_row, results);
        results = 0;
        /* old_max = row_max */
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            T(store)(old_max + i, T(load)(row_max + i));
        }
        /* the elements of table_at that this thread has for the head */
        const int64_t table_at_first = i0 - j1 + 1;
        recall(table_at_known, ((call->p.query_start ? b : 0) * kv_heads + g) * members + m, table_at_first,
            table_at_first + (LANES + 352), 1 - n_k, n_q + n_k + (LANES + 352), 65536);
        float *const table_at = table_at_kept + (table_at_first - table_at_known->base);
        for (int above = 0; above < 2; above++) { /* the differences below the known ones, and those above */
#if OF(1, 0, 0)
            const int64_t difference_3680 = above ? table_at_known->to - table_at_first : 0;
            const int64_t difference_3681 = above ? 368 : table_at_known->from - table_at_first;
            if (difference_3680 >= difference_3681) continue;
#endif
#if OF(0, 1, 0)
            const int64_t difference_3600 = above ? table_at_known->to - table_at_first : 0;
            const int64_t difference_3601 = above ? 360 : table_at_known->from - table_at_first;
            if (difference_3600 >= difference_3601) continue;
#endif
#if OF(0, 0, 1)
            const int64_t difference_3560 = above ? table_at_known->to - table_at_first : 0;
            const int64_t difference_3561 = above ? 356 : table_at_known->from - table_at_first;
            if (difference_3560 >= difference_3561) continue;
#endif
            /* table_at = table_array, at computed subscripts */
#if OF(1, 0, 0)
            for (int64_t difference_368 = difference_3680; difference_368 < difference_3681;
                difference_368++) table_at[difference_368] = table_array[max(min((((difference_368 + i0 - j1 +
                query_start + 2) <= 0) ? 16 : 0) + ((((difference_368 + i0 - j1 + query_start - 6) <= 0) && (0 <=
                (difference_368 + i0 - j1 + query_start + 8))) ? (int64_t)llabs(difference_368 + i0 - j1 + query_start +
                1) : truncated(min_real(8 + ((log(((int64_t)llabs(difference_368 + i0 - j1 + query_start + 1) * 0.125))
                / 2.772588722239781) * 8.0), 15))), 31), 0) * table_array_stride_1];
#endif
#if OF(0, 1, 0)
            for (int64_t difference_360 = difference_3600; difference_360 < difference_3601;
                difference_360++) table_at[difference_360] = table_array[max(min((((difference_360 + i0 - j1 +
                query_start + 2) <= 0) ? 16 : 0) + ((((difference_360 + i0 - j1 + query_start - 6) <= 0) && (0 <=
                (difference_360 + i0 - j1 + query_start + 8))) ? (int64_t)llabs(difference_360 + i0 - j1 + query_start +
                1) : truncated(min_real(8 + ((log(((int64_t)llabs(difference_360 + i0 - j1 + query_start + 1) * 0.125))
                / 2.772588722239781) * 8.0), 15))), 31), 0) * table_array_stride_1];
#endif
#if OF(0, 0, 1)
            for (int64_t difference_356 = difference_3560; difference_356 < difference_3561;
                difference_356++) table_at[difference_356] = table_array[max(min((((difference_356 + i0 - j1 +
                query_start + 2) <= 0) ? 16 : 0) + ((((difference_356 + i0 - j1 + query_start - 6) <= 0) && (0 <=
                (difference_356 + i0 - j1 + query_start + 8))) ? (int64_t)llabs(difference_356 + i0 - j1 + query_start +
                1) : truncated(min_real(8 + ((log(((int64_t)llabs(difference_356 + i0 - j1 + query_start + 1) * 0.125))
                / 2.772588722239781) * 8.0), 15))), 31), 0) * table_array_stride_1];
#endif
        }
        extend_known(table_at_known, table_at_first, table_at_first + (LANES + 352));
        /* score = score + (table_at * 1.442695f); row_max max= score */
        for (int64_t i_first = 0; i_first < i1 - i0; i_first += OF(64, 16, 8)) {
            T(vec) row_max_in[OF(4, 2, 2)];
            UNROLL for (int64_t vector = 0, i = i_first; vector < OF(4, 2, 2); vector++, i += LANES) {
                row_max_in[vector] = T(load)(row_max + i);
            }
            for (int64_t j = 0; j < j1 - j0; j++) {
                UNROLL for (int64_t vector = 0, i = i_first; vector < OF(4, 2, 2); vector++, i += LANES) {
                    const T(vec) score_0 = T(load)(score + j * 80 + i);
                    const T(vec) score_new1 = score_0 + (T(load)(table_at + ((i0 + i) - (j0 + j) - (i0 - j1) - 1)) *
                        1.442695f);
                    T(store)(score + j * 80 + i, score_new1);
                    row_max_in[vector] = T(max)(row_max_in[vector], score_new1);
                }
            }
            UNROLL for (int64_t vector = 0, i = i_first; vector < OF(4, 2, 2); vector++, i += LANES) {
                T(store)(row_max + i, row_max_in[vector]);
            }
        }
        /* old_max = exp2(old_max - row_max); row_sum = row_sum * old_max;
           row_sum_compensation = row_sum_compensation * old_max */
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            const T(vec) old_max_2 = T(load)(old_max + i);
            const T(vec) old_max_new3 = T(exp2)(old_max_2 - T(load)(row_max + i));
            T(store)(old_max + i, old_max_new3);
            T(store)(row_sum + i, T(load)(row_sum + i) * old_max_new3);
            T(store)(row_sum_compensation + i, T(load)(row_sum_compensation + i) * old_max_new3);
        }
        /* score = exp2(score - row_max); row_sum += score */
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            const T(vec) row_max_5 = T(load)(row_max + i);
            T(vec) row_sum_in = (T(vec)){0};
            for (int64_t j = 0; j < j1 - j0; j++) {
                const T(vec) score_4 = T(load)(score + j * 80 + i);
                const T(vec) score_new6 = T(exp2)(score_4 - row_max_5);
                T(store)(score + j * 80 + i, score_new6);
                row_sum_in += score_new6;
            }
            T(add)(row_sum + i, row_sum_compensation + i, row_sum_in, T(splat)(1));
        }
        /* sum[e][i] = sum * old_max + sum over j of v * score */
        T(dot1)(round_up(i1 - i0, LANES), j1 - j0, v + j0 * v_row, v_row, score, sum, old_max, sum_compensation);
    }
    /* sum = select(row_sum == 0.0f, 0.0f, sum * (1.0f / row_sum)) */
    for (int64_t i = 0; i < i1 - i0; i += LANES) {
        const T(vec) row_sum_7 = T(load)(row_sum + i);
        const T(mask) t_8 = row_sum_7 == 0.0f;
        const T(vec) t_9 = 1.0f / row_sum_7;
        for (int64_t e = 0; e < 64; e++) {
            T(store)(sum + e * 80 + i, T(pick)(t_8, T(splat)(0.0f), T(load)(sum + e * 80 + i) * t_9));
        }
    }
    if (saved_0) {
        /* row_sum = select(row_sum == 0.0f, 0.0f, (log(row_sum) + (row_max * 0.6931472f)) * 1.442695f) */
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            const T(vec) row_sum_10 = T(load)(row_sum + i);
            T(store)(row_sum + i, T(pick)(row_sum_10 == 0.0f, T(splat)(0.0f),
                (T(log)(row_sum_10) + (T(load)(row_max + i) * 0.6931472f)) * 1.442695f));
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
TARGET APART void T(softmax_t5_few_begin)(const struct call *call, int64_t task, const struct share *share,
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
    float *const query_turned = (float *)(void *)(share->shared + 0); /* [r: 64, d: 64] */
    /* query_turned = q * 1.442695f */
    for (int64_t r = r0; r < r1; r++) {
        for (int64_t d_first = 0; d_first < 64; d_first += OF(64, 16, 8)) {
            UNROLL for (int64_t vector = 0, d = d_first; vector < OF(4, 2, 2); vector++, d += LANES) {
                T(store)(query_turned + r * 64 + d, T(load)(q + r / n_q * q_head + r % n_q * q_row + d) * 1.442695f);
            }
        }
    }
}

/* Initialises the states: they contain no keys yet. */
TARGET APART void T(softmax_t5_few_begin_2)(const struct call *call, int64_t task, const struct share *share,
    int64_t iteration)
{
    (void)task;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t r0 = iteration * 16, r1 = min(r0 + 16, rows);
    float *const carried_max = (float *)(void *)(share->shared + 16448); /* [r: 64] */
    float *const carried_sum = (float *)(void *)(share->shared + 16704); /* [r: 64] */
    float *const carried_sum_compensation = (float *)(void *)(share->shared + 33408); /* [r: 64] */
    float *const carried = (float *)(void *)(share->shared + 16960); /* [r: 64, e: 64] */
    float *const carried_compensation = (float *)(void *)(share->shared + 33664); /* [r: 64, e: 64] */
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
TARGET APART void T(softmax_t5_few_keys)(const struct call *call, int64_t task, const struct share *share,
    int64_t iteration)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
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
    const float *const table_array = (const float *)call->array[ARRAY_table_array].at + g * members *
        call->array[ARRAY_table_array].stride[0];
    const int64_t table_array_stride_0 = call->array[ARRAY_table_array].stride[0];
    const int64_t table_array_stride_1 = call->array[ARRAY_table_array].stride[1];
    float *const score = (float *)(void *)(share->work + 0); /* [r: 64, j: 128 of 144] */
    float *const query_turned = (float *)(void *)(share->shared + 0); /* [r: 64, d: 64] */
    float *const state_max = (float *)(void *)(share->slots + 0); /* [chunk, r: 64] */
    float *const old_max = (float *)(void *)(share->work + 36864); /* [r: 64] */
    float *const state_sum = (float *)(void *)(share->slots + 256); /* [chunk, r: 64] */
    float *const state = (float *)(void *)(share->slots + 512); /* [chunk, r: 64, e: 64] */
    float *const table_at = (float *)(void *)(share->work + 37120); /* [r: 64, j: 128 of 144] */
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
        /* score[r][j] = sum over d of query_turned * k */
#if OF(1, 0, 0)
        T(dot2)(rows, j1 - j0, query_turned, k + j0 * k_row, k_row, score, attn_is_intel() ? 16 : 0);
#else
        T(dot2)(rows, j1 - j0, query_turned, k + j0 * k_row, k_row, score);
#endif
        /* old_max = state_max */
        for (int64_t r = 0; r < rows; r += LANES) {
            T(store)(old_max + r, T(load)(state_max + (chunk - chunk0) * 4240 + r));
        }
        /* table_at = table_array, at computed subscripts */
        for (int64_t r = 0; r < rows; r++) {
            for (int64_t j = 0; j < j1 - j0; j++) table_at[r * 144 + j] = table_array[(r / n_q) * table_array_stride_0 +
                max(min(((((r % n_q) + query_start + 1) <= (j0 + j)) ? 16 : 0) + (((((r % n_q) + query_start - 7) <= (j0
                + j)) && ((j0 + j) <= ((r % n_q) + query_start + 7))) ? (int64_t)llabs((r % n_q) + query_start - (j0 +
                j)) : truncated(min_real(8 + ((log(((int64_t)llabs((r % n_q) + query_start - (j0 + j)) * 0.125)) /
                2.772588722239781) * 8.0), 15))), 31), 0) * table_array_stride_1];
            for (int64_t j = j1 - j0; j < round_up(j1 - j0, LANES); j++) table_at[r * 144 + j] = 0;
        }
        /* score = score + (table_at * 1.442695f) */
        for (int64_t r = 0; r < rows; r++) {
            for (int64_t j = 0; j < j1 - j0; j += LANES) {
                T(store)(score + r * 144 + j, T(load)(score + r * 144 + j) + (T(load)(table_at + r * 144 + j) *
                    1.442695f));
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
            const T(vec) old_max_0 = T(load)(old_max + r);
            const T(vec) old_max_new1 = T(exp2)(old_max_0 - T(load)(state_max + (chunk - chunk0) * 4240 + r));
            T(store)(old_max + r, old_max_new1);
            T(store)(state_sum + (chunk - chunk0) * 4240 + r, T(load)(state_sum + (chunk - chunk0) * 4240 + r) *
                old_max_new1);
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
TARGET APART void T(softmax_t5_few_fold)(const struct call *call, int64_t task, const struct share *share,
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
    float *const carried_max = (float *)(void *)(share->shared + 16448); /* [r: 64] */
    float *const carried_factor = (float *)(void *)(share->work + 0); /* [r: 64] */
    float *const slot_factor = (float *)(void *)(share->work + 256); /* [r: 64] */
    float *const carried_sum = (float *)(void *)(share->shared + 16704); /* [r: 64] */
    float *const carried_sum_compensation = (float *)(void *)(share->shared + 33408); /* [r: 64] */
    float *const carried = (float *)(void *)(share->shared + 16960); /* [r: 64, e: 64] */
    float *const carried_compensation = (float *)(void *)(share->shared + 33664); /* [r: 64, e: 64] */
    for (int64_t chunk = chunk0; chunk < chunk1; chunk++) {
        /* before_max = carried_max; carried_max max= state_max; carried_factor = exp2(before_max - carried_max);
           slot_factor = exp2(state_ ... */
        for (int64_t r = r0; r < r1; r += LANES) {
            const T(vec) carried_max_2 = T(load)(carried_max + r);
            const T(vec) before_max_new3 = carried_max_2;
            const T(vec) state_max_4 = T(load)(state_max + (chunk - chunk0) * 4240 + r);
            const T(vec) carried_max_new5 = T(max)(T(load)(carried_max + r), state_max_4);
            T(store)(carried_max + r, carried_max_new5);
            const T(vec) carried_factor_new6 = T(exp2)(before_max_new3 - carried_max_new5);
            T(store)(carried_factor + r, carried_factor_new6);
            const T(vec) slot_factor_new7 = T(exp2)(state_max_4 - carried_max_new5);
            T(store)(slot_factor + r, slot_factor_new7);
            const T(vec) carried_sum_8 = T(load)(carried_sum + r);
            T(store)(carried_sum + r, carried_sum_8 * carried_factor_new6);
            T(store)(carried_sum_compensation + r, T(load)(carried_sum_compensation + r) * carried_factor_new6);
            T(add)(carried_sum + r, carried_sum_compensation + r, T(load)(state_sum + (chunk - chunk0) * 4240 + r) *
                slot_factor_new7, T(splat)(1));
        }
        /* before = carried; carried = carried * carried_factor; carried_compensation = carried_compensation *
           carried_factor; carried += s ... */
        for (int64_t r = r0; r < r1; r++) {
            for (int64_t e_first = 0; e_first < 64; e_first += OF(64, 16, 8)) {
                UNROLL for (int64_t vector = 0, e = e_first; vector < OF(4, 2, 2); vector++, e += LANES) {
                    const T(vec) carried_9 = T(load)(carried + r * 64 + e);
                    const float carried_factor_10 = carried_factor[r];
                    T(store)(carried + r * 64 + e, carried_9 * carried_factor_10);
                    T(store)(carried_compensation + r * 64 + e, T(load)(carried_compensation + r * 64 + e) *
                        carried_factor_10);
                    T(add)(carried + r * 64 + e, carried_compensation + r * 64 + e,
                        T(load)(state + (chunk - chunk0) * 4240 + r * 64 + e) * slot_factor[r], T(splat)(1));
                }
            }
        }
    }
}

/* Processes a tile of queries: reads the states. */
TARGET APART void T(softmax_t5_few_queries)(const struct call *call, int64_t task, const struct share *share,
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
    /* result = select(carried_sum == 0.0f, 0.0f, carried * (1.0f / carried_sum)) */
    for (int64_t r = r0; r < r1; r++) {
        for (int64_t e_first = 0; e_first < 64; e_first += OF(64, 16, 8)) {
            UNROLL for (int64_t vector = 0, e = e_first; vector < OF(4, 2, 2); vector++, e += LANES) {
                const float carried_sum_11 = carried_sum[r];
                T(store)(result + r * 64 + e, (carried_sum_11 == 0.0f) ? T(splat)(0.0f) : T(load)(carried + r * 64 + e)
                    * (1.0f / carried_sum_11));
            }
        }
    }
    /* out = result */
    for (int64_t r = r0; r < r1; r++)
        for (int64_t e = 0; e < 64; e++)
            out[r / n_q * out_head + r % n_q * out_row + e] = result[r * 64 + e];
}

/* Computes head number `task`. Each thread on the head calls this with `share`. */
TARGET static void T(softmax_t5_few)(const struct call *call, int64_t task, struct share *share)
{
    const int64_t n_k = call->p.n_k;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t chunks = n_k > 0 ? (n_k - 1) / 1024 + 1 : 1;
    for (int64_t iteration = share->number; iteration < ((rows + 63) / 64); iteration += share->threads)
        T(softmax_t5_few_begin)(call, task, share, iteration);
    for (int64_t iteration = share->number; iteration < ((rows + 15) / 16); iteration += share->threads)
        T(softmax_t5_few_begin_2)(call, task, share, iteration);
    synchronise(share);
    const int64_t first = 0;
    const int64_t length = segment_length(share, chunks - first);
    for (int64_t segment = share->number; first + segment * length < chunks; segment += share->threads) {
        share->chunk0 = first + segment * length;
        share->chunk1 = min(share->chunk0 + length, chunks);
        for (int64_t iteration = share->chunk0; iteration < share->chunk1; iteration++)
            T(softmax_t5_few_keys)(call, task, share, iteration);
        for (int64_t group = 0; group < 16; group++) {
            await_segment(share, group, segment);
            const int64_t end = (group + 1) * ((rows + 15) / 16) / 16;
            for (int64_t iteration = group * ((rows + 15) / 16) / 16; iteration < end; iteration++)
                T(softmax_t5_few_fold)(call, task, share, iteration);
            pass_segment(share, group, segment);
        }
    }
    share->segments += (max(chunks - first, 0) + length - 1) / length;
    synchronise(share);
    for (int64_t iteration = share->number; iteration < ((rows + 15) / 16); iteration += share->threads)
        T(softmax_t5_few_queries)(call, task, share, iteration);
    synchronise(share);
}

/* Computes task number `task`: one tile of queries of one head. `work` is this thread's workspace. */
TARGET static void T(softmax_t5_saved)(const struct call *call, int64_t task, unsigned char *work)
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
    const float *const table_array = (const float *)call->array[ARRAY_table_array].at + g * members *
        call->array[ARRAY_table_array].stride[0] + m * call->array[ARRAY_table_array].stride[0];
    const int64_t table_array_stride_1 = call->array[ARRAY_table_array].stride[1];
    float *const score = (float *)(void *)(work + 0); /* [j: 288, i: 64 of 80] */
    float *const row_max = (float *)(void *)(work + 92160); /* [i: 64] */
    float *const old_max = (float *)(void *)(work + 92416); /* [i: 64] */
    float *const row_sum = (float *)(void *)(work + 92672); /* [i: 64] */
    float *const row_sum_compensation = (float *)(void *)(work + 92928); /* [i: 64] */
    float *const saved_0 = (float *)call->array[ARRAY_saved_0].at + (b * call->p.heads + (g * members + m)) *
        call->p.n_q;
    float *const q_tile = (float *)(void *)(work + 93184); /* [d: 64, i: 64 of 80] */
    struct remembered *const table_at_known = (struct remembered *)(void *)(work + 113664);
    float *const table_at_kept = (float *)(void *)(work + 113728); /* [(LANES + 65888) differences] */
    /* q_tile = q, with zeros beyond the last row */
    T(transpose_padded)(q + i0 * q_row, q_row, i1 - i0, 64, q_tile, 80, LANES);
    /* q_tile = q_tile * 1.442695f */
    for (int64_t d = 0; d < 64; d++) {
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            T(store)(q_tile + d * 80 + i, T(load)(q_tile + d * 80 + i) * 1.442695f);
        }
    }
    /* row_max = -FLT_MAX; row_sum = 0.0f; row_sum_compensation = 0.0f */
    for (int64_t i = 0; i < i1 - i0; i += LANES) {
        T(store)(row_max + i, T(splat)(-FLT_MAX));
        T(store)(row_sum + i, T(splat)(0.0f));
        T(store)(row_sum_compensation + i, T(splat)(0.0f));
    }
    for (int64_t j0 = 0, j_end = n_k; j0 < j_end; j0 += 288) {
        const int64_t j1 = min(j0 + 288, j_end);
        /* score[j][i] = sum over d of k * q_tile */
        T(dot4)(round_up(i1 - i0, LANES), j1 - j0, k + j0 * k_row, k_row, q_tile, score);
        /* old_max = row_max */
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            T(store)(old_max + i, T(load)(row_max + i));
        }
        /* the elements of table_at that this thread has for the head */
        const int64_t table_at_first = i0 - j1 + 1;
        recall(table_at_known, ((call->p.query_start ? b : 0) * kv_heads + g) * members + m, table_at_first,
            table_at_first + (LANES + 352), 1 - n_k, n_q + n_k + (LANES + 352), 65536);
        float *const table_at = table_at_kept + (table_at_first - table_at_known->base);
        for (int above = 0; above < 2; above++) { /* the differences below the known ones, and those above */
#if OF(1, 0, 0)
            const int64_t difference_3680 = above ? table_at_known->to - table_at_first : 0;
            const int64_t difference_3681 = above ? 368 : table_at_known->from - table_at_first;
            if (difference_3680 >= difference_3681) continue;
#endif
#if OF(0, 1, 0)
            const int64_t difference_3600 = above ? table_at_known->to - table_at_first : 0;
            const int64_t difference_3601 = above ? 360 : table_at_known->from - table_at_first;
            if (difference_3600 >= difference_3601) continue;
#endif
#if OF(0, 0, 1)
            const int64_t difference_3560 = above ? table_at_known->to - table_at_first : 0;
            const int64_t difference_3561 = above ? 356 : table_at_known->from - table_at_first;
            if (difference_3560 >= difference_3561) continue;
#endif
            /* table_at = table_array, at computed subscripts */
#if OF(1, 0, 0)
            for (int64_t difference_368 = difference_3680; difference_368 < difference_3681;
                difference_368++) table_at[difference_368] = table_array[max(min((((difference_368 + i0 - j1 +
                query_start + 2) <= 0) ? 16 : 0) + ((((difference_368 + i0 - j1 + query_start - 6) <= 0) && (0 <=
                (difference_368 + i0 - j1 + query_start + 8))) ? (int64_t)llabs(difference_368 + i0 - j1 + query_start +
                1) : truncated(min_real(8 + ((log(((int64_t)llabs(difference_368 + i0 - j1 + query_start + 1) * 0.125))
                / 2.772588722239781) * 8.0), 15))), 31), 0) * table_array_stride_1];
#endif
#if OF(0, 1, 0)
            for (int64_t difference_360 = difference_3600; difference_360 < difference_3601;
                difference_360++) table_at[difference_360] = table_array[max(min((((difference_360 + i0 - j1 +
                query_start + 2) <= 0) ? 16 : 0) + ((((difference_360 + i0 - j1 + query_start - 6) <= 0) && (0 <=
                (difference_360 + i0 - j1 + query_start + 8))) ? (int64_t)llabs(difference_360 + i0 - j1 + query_start +
                1) : truncated(min_real(8 + ((log(((int64_t)llabs(difference_360 + i0 - j1 + query_start + 1) * 0.125))
                / 2.772588722239781) * 8.0), 15))), 31), 0) * table_array_stride_1];
#endif
#if OF(0, 0, 1)
            for (int64_t difference_356 = difference_3560; difference_356 < difference_3561;
                difference_356++) table_at[difference_356] = table_array[max(min((((difference_356 + i0 - j1 +
                query_start + 2) <= 0) ? 16 : 0) + ((((difference_356 + i0 - j1 + query_start - 6) <= 0) && (0 <=
                (difference_356 + i0 - j1 + query_start + 8))) ? (int64_t)llabs(difference_356 + i0 - j1 + query_start +
                1) : truncated(min_real(8 + ((log(((int64_t)llabs(difference_356 + i0 - j1 + query_start + 1) * 0.125))
                / 2.772588722239781) * 8.0), 15))), 31), 0) * table_array_stride_1];
#endif
        }
        extend_known(table_at_known, table_at_first, table_at_first + (LANES + 352));
        /* score = score + (table_at * 1.442695f); row_max max= score */
        for (int64_t i_first = 0; i_first < i1 - i0; i_first += OF(64, 16, 8)) {
            T(vec) row_max_in[OF(4, 2, 2)];
            UNROLL for (int64_t vector = 0, i = i_first; vector < OF(4, 2, 2); vector++, i += LANES) {
                row_max_in[vector] = T(load)(row_max + i);
            }
            for (int64_t j = 0; j < j1 - j0; j++) {
                UNROLL for (int64_t vector = 0, i = i_first; vector < OF(4, 2, 2); vector++, i += LANES) {
                    const T(vec) score_0 = T(load)(score + j * 80 + i);
                    const T(vec) score_new1 = score_0 + (T(load)(table_at + ((i0 + i) - (j0 + j) - (i0 - j1) - 1)) *
                        1.442695f);
                    T(store)(score + j * 80 + i, score_new1);
                    row_max_in[vector] = T(max)(row_max_in[vector], score_new1);
                }
            }
            UNROLL for (int64_t vector = 0, i = i_first; vector < OF(4, 2, 2); vector++, i += LANES) {
                T(store)(row_max + i, row_max_in[vector]);
            }
        }
        /* old_max = exp2(old_max - row_max); row_sum = row_sum * old_max;
           row_sum_compensation = row_sum_compensation * old_max */
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            const T(vec) old_max_2 = T(load)(old_max + i);
            const T(vec) old_max_new3 = T(exp2)(old_max_2 - T(load)(row_max + i));
            T(store)(old_max + i, old_max_new3);
            T(store)(row_sum + i, T(load)(row_sum + i) * old_max_new3);
            T(store)(row_sum_compensation + i, T(load)(row_sum_compensation + i) * old_max_new3);
        }
        /* row_sum += exp2(score - row_max) */
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            const T(vec) row_max_4 = T(load)(row_max + i);
            T(vec) row_sum_in = (T(vec)){0};
            for (int64_t j = 0; j < j1 - j0; j++) {
                row_sum_in += T(exp2)(T(load)(score + j * 80 + i) - row_max_4);
            }
            T(add)(row_sum + i, row_sum_compensation + i, row_sum_in, T(splat)(1));
        }
    }
    /* row_sum = select(row_sum == 0.0f, 0.0f, (log(row_sum) + (row_max * 0.6931472f)) * 1.442695f) */
    for (int64_t i = 0; i < i1 - i0; i += LANES) {
        const T(vec) row_sum_5 = T(load)(row_sum + i);
        T(store)(row_sum + i, T(pick)(row_sum_5 == 0.0f, T(splat)(0.0f),
            (T(log)(row_sum_5) + (T(load)(row_max + i) * 0.6931472f)) * 1.442695f));
    }
    /* saved_0 = row_sum */
    for (int64_t i = 0; i < i1 - i0; i++)
        saved_0[(i0 + i)] = row_sum[i];
}

/* Computes task number `task`: one tile of queries of one head. `work` is this thread's workspace. */
TARGET static void T(softmax_t5_row_sums)(const struct call *call, int64_t task, unsigned char *work)
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

/* Computes task number `task`: one slice of the rows of all batches and heads. `work` is this thread's workspace. */
TARGET static void T(softmax_t5_dq_sums1)(const struct call *call, int64_t task, unsigned char *work)
{
    const int64_t batch = call->p.batch;
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / max(call->p.kv_heads, 1);
    const int64_t n_q = call->p.n_q;
    const int64_t n_k = call->p.n_k;
    const int64_t unit16 = task % 16;
    const int64_t m = task / 16 % members;
    const int64_t g = task / 16 / members;
    const float *const q = (const float *)call->array[ARRAY_q].at + (g / call->sharing * members + m) *
        call->array[ARRAY_q].strides.head;
    const int64_t q_row = call->array[ARRAY_q].strides.row;
    const int64_t q_batch = call->array[ARRAY_q].strides.batch;
    const float *const k = (const float *)call->array[ARRAY_k].at + g / call->sharing *
        call->array[ARRAY_k].strides.head;
    const int64_t k_row = call->array[ARRAY_k].strides.row;
    const int64_t k_batch = call->array[ARRAY_k].strides.batch;
    const float *const v = (const float *)call->array[ARRAY_v].at + g * call->array[ARRAY_v].strides.head;
    const int64_t v_row = call->array[ARRAY_v].strides.row;
    const int64_t v_batch = call->array[ARRAY_v].strides.batch;
    const float *const table_array = (const float *)call->array[ARRAY_table_array].at + g * members *
        call->array[ARRAY_table_array].stride[0] + m * call->array[ARRAY_table_array].stride[0];
    const int64_t table_array_stride_1 = call->array[ARRAY_table_array].stride[1];
    const float *const dout = (const float *)call->array[ARRAY_dout].at + (g * members + m) *
        call->array[ARRAY_dout].strides.head;
    const int64_t dout_row = call->array[ARRAY_dout].strides.row;
    const int64_t dout_batch = call->array[ARRAY_dout].strides.batch;
    const float *const row_0 = (const float *)call->array[ARRAY_row_0].at + (g * members + m) * call->p.n_q;
    const int64_t row_0_batch = call->p.heads * call->p.n_q;
    const float *const saved_0 = (const float *)call->array[ARRAY_saved_0].at + (g * members + m) * call->p.n_q;
    const int64_t saved_0_batch = call->p.heads * call->p.n_q;
    float *const score = (float *)(void *)(work + 0); /* [j: 144, i: 64 of 80] */
    float *const score_2 = (float *)(void *)(work + 46080); /* [j: 144, i: 64 of 80] */
    float *const weight_3 = (float *)(void *)(work + 92160); /* [j: 144, i: 64 of 80] */
    float *const sum = (float *)(void *)(work + 138240); /* [d: 64, i: 64 of 80] */
    float *const sum_compensation = (float *)(void *)(work + 158720); /* [d: 64, i: 64 of 80] */
    float *const row_sum = (float *)(void *)(work + 179200); /* [table_axis_2: 32, i: 64 of 80] */
    float *const row_sum_compensation = (float *)(void *)(work + 189440); /* [table_axis_2: 32, i: 64 of 80] */
    float *const unit_sum = (float *)(void *)(work + 199680); /* [table_axis_2: 32] */
    float *const unit_sum_compensation = (float *)(void *)(work + 199808); /* [table_axis_2: 32] */
    float *const dq = call->array[ARRAY_dq].at ? (float *)call->array[ARRAY_dq].at + (g * members + m) *
        call->array[ARRAY_dq].strides.head : NULL;
    const int64_t dq_row = call->array[ARRAY_dq].strides.row;
    const int64_t dq_batch = call->array[ARRAY_dq].strides.batch;
    float *const partial_0 = call->array[ARRAY_partial_0].at ? (float *)call->array[ARRAY_partial_0].at + ((g * members
        + m) * 16 + unit16) * 32 : NULL;
    float *const q_tile = (float *)(void *)(work + 199936); /* [d: 64, i: 64 of 80] */
    float *const dout_tile = (float *)(void *)(work + 220416); /* [e: 64, i: 64 of 80] */
    float *const saved_0_tile = (float *)(void *)(work + 240896); /* [i: 64] */
    float *const row_0_tile = (float *)(void *)(work + 241152); /* [i: 64] */
    struct remembered *const table_at_known = (struct remembered *)(void *)(work + 241408);
    float *const table_at_kept = (float *)(void *)(work + 241472); /* [(LANES + 65744) differences] */
    struct remembered *const subscript_known = (struct remembered *)(void *)(work + 504512);
    float *const subscript_kept = (float *)(void *)(work + 504576); /* [(LANES + 65744) differences] */
    if (partial_0) {
        /* unit_sum = 0.0f; unit_sum_compensation = 0.0f */
        for (int64_t table_axis_2 = 0; table_axis_2 < 32; table_axis_2 += LANES) {
            T(store)(unit_sum + table_axis_2, T(splat)(0.0f));
            T(store)(unit_sum_compensation + table_axis_2, T(splat)(0.0f));
        }
    }
    for (int64_t b = 0; b < batch; b++) {
        const int64_t query_start = call->p.query_start ? call->p.query_start[b] : n_k - n_q;
        for (int64_t i0 = max(0, (unit16 * ((((batch * ((n_q + 63) / 64)) + 15) / 16) * 64)) - ((b * ((n_q + 63) / 64))
            * 64)), i_end = min(n_q, (unit16 * ((((batch * ((n_q + 63) / 64)) + 15) / 16) * 64)) + ((((batch * ((n_q +
            63) / 64)) + 15) / 16) * 64) - ((b * ((n_q + 63) / 64)) * 64)); i0 < i_end; i0 += 64) {
            const int64_t i1 = min(i0 + 64, i_end);
            /* q_tile = q, with zeros beyond the last row */
            T(transpose_padded)(q + b * q_batch + i0 * q_row, q_row, i1 - i0, 64, q_tile, 80, 64);
            /* dout_tile = dout, with zeros beyond the last row */
            T(transpose_padded)(dout + b * dout_batch + i0 * dout_row, dout_row, i1 - i0, 64, dout_tile, 80, 64);
            /* saved_0_tile = saved_0, with zeros beyond the last row */
            for (int64_t i = 0; i < round_up(i1 - i0, LANES); i++)
                saved_0_tile[i] = i < i1 - i0 ? saved_0[b * saved_0_batch + (i0 + i)] : 0;
            /* row_0_tile = row_0, with zeros beyond the last row */
            for (int64_t i = 0; i < round_up(i1 - i0, LANES); i++)
                row_0_tile[i] = i < i1 - i0 ? row_0[b * row_0_batch + (i0 + i)] : 0;
            /* q_tile = q_tile * 1.442695f; sum = 0.0f; sum_compensation = 0.0f */
            for (int64_t d = 0; d < 64; d++) {
                for (int64_t i = 0; i < i1 - i0; i += LANES) {
                    T(store)(q_tile + d * 80 + i, T(load)(q_tile + d * 80 + i) * 1.442695f);
                    T(store)(sum + d * 80 + i, T(splat)(0.0f));
                    T(store)(sum_compensation + d * 80 + i, T(splat)(0.0f));
                }
            }
            if (partial_0) {
                /* row_sum = 0.0f; row_sum_compensation = 0.0f */
                for (int64_t table_axis_2 = 0; table_axis_2 < 32; table_axis_2++) {
                    for (int64_t i = 0; i < i1 - i0; i += LANES) {
                        T(store)(row_sum + table_axis_2 * 80 + i, T(splat)(0.0f));
                        T(store)(row_sum_compensation + table_axis_2 * 80 + i, T(splat)(0.0f));
                    }
                }
            }
            for (int64_t j0 = 0, j_end = n_k; j0 < j_end; j0 += 144) {
                const int64_t j1 = min(j0 + 144, j_end);
                /* score[j][i] = sum over d of k * q_tile */
                T(dot4)(round_up(i1 - i0, LANES), j1 - j0, k + b * k_batch + j0 * k_row, k_row, q_tile, score);
                /* score_2[j][i] = sum over e of v * dout_tile */
                T(dot5)(round_up(i1 - i0, LANES), j1 - j0, v + b * v_batch + j0 * v_row, v_row, dout_tile, score_2,
                    k + b * k_batch + j0 * k_row, k_row);
                /* the elements of table_at that this thread has for the head */
                const int64_t table_at_first = i0 - j1 + 1;
                recall(table_at_known, ((call->p.query_start ? b : 0) * kv_heads + g) * members + m, table_at_first,
                    table_at_first + (LANES + 208), 1 - n_k, n_q + n_k + (LANES + 208), 65536);
                float *const table_at = table_at_kept + (table_at_first - table_at_known->base);
                for (int above = 0; above < 2; above++) { /* the differences below the known ones, and those above */
#if OF(1, 0, 0)
                    const int64_t difference_2240 = above ? table_at_known->to - table_at_first : 0;
                    const int64_t difference_2241 = above ? 224 : table_at_known->from - table_at_first;
                    if (difference_2240 >= difference_2241) continue;
#endif
#if OF(0, 1, 0)
                    const int64_t difference_2160 = above ? table_at_known->to - table_at_first : 0;
                    const int64_t difference_2161 = above ? 216 : table_at_known->from - table_at_first;
                    if (difference_2160 >= difference_2161) continue;
#endif
#if OF(0, 0, 1)
                    const int64_t difference_2120 = above ? table_at_known->to - table_at_first : 0;
                    const int64_t difference_2121 = above ? 212 : table_at_known->from - table_at_first;
                    if (difference_2120 >= difference_2121) continue;
#endif
                    /* table_at = table_array, at computed subscripts */
#if OF(1, 0, 0)
                    for (int64_t difference_224 = difference_2240; difference_224 < difference_2241;
                        difference_224++) table_at[difference_224] = table_array[max(min((((difference_224 + i0 - j1 +
                        query_start + 2) <= 0) ? 16 : 0) + ((((difference_224 + i0 - j1 + query_start - 6) <= 0) && (0
                        <= (difference_224 + i0 - j1 + query_start + 8))) ? (int64_t)llabs(difference_224 + i0 - j1 +
                        query_start + 1) : truncated(min_real(8 + ((log(((int64_t)llabs(difference_224 + i0 - j1 +
                        query_start + 1) * 0.125)) / 2.772588722239781) * 8.0), 15))), 31), 0) * table_array_stride_1];
#endif
#if OF(0, 1, 0)
                    for (int64_t difference_216 = difference_2160; difference_216 < difference_2161;
                        difference_216++) table_at[difference_216] = table_array[max(min((((difference_216 + i0 - j1 +
                        query_start + 2) <= 0) ? 16 : 0) + ((((difference_216 + i0 - j1 + query_start - 6) <= 0) && (0
                        <= (difference_216 + i0 - j1 + query_start + 8))) ? (int64_t)llabs(difference_216 + i0 - j1 +
                        query_start + 1) : truncated(min_real(8 + ((log(((int64_t)llabs(difference_216 + i0 - j1 +
                        query_start + 1) * 0.125)) / 2.772588722239781) * 8.0), 15))), 31), 0) * table_array_stride_1];
#endif
#if OF(0, 0, 1)
                    for (int64_t difference_212 = difference_2120; difference_212 < difference_2121;
                        difference_212++) table_at[difference_212] = table_array[max(min((((difference_212 + i0 - j1 +
                        query_start + 2) <= 0) ? 16 : 0) + ((((difference_212 + i0 - j1 + query_start - 6) <= 0) && (0
                        <= (difference_212 + i0 - j1 + query_start + 8))) ? (int64_t)llabs(difference_212 + i0 - j1 +
                        query_start + 1) : truncated(min_real(8 + ((log(((int64_t)llabs(difference_212 + i0 - j1 +
                        query_start + 1) * 0.125)) / 2.772588722239781) * 8.0), 15))), 31), 0) * table_array_stride_1];
#endif
                }
                extend_known(table_at_known, table_at_first, table_at_first + (LANES + 208));
                /* score = exp2((score + (table_at * 1.442695f)) - saved_0_tile); score_2 = score_2 + row_0_tile;
                   weight_3 = score_2 * score */
                for (int64_t i = 0; i < i1 - i0; i += LANES) {
                    const T(vec) saved_0_tile_1 = T(load)(saved_0_tile + i);
                    const T(vec) row_0_tile_4 = T(load)(row_0_tile + i);
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        const T(vec) score_0 = T(load)(score + j * 80 + i);
                        const T(vec) score_new2 = T(exp2)((score_0 + (T(load)(table_at + ((i0 + i) - (j0 + j) - (i0 -
                            j1) - 1)) * 1.442695f)) - saved_0_tile_1);
                        T(store)(score + j * 80 + i, score_new2);
                        const T(vec) score_2_3 = T(load)(score_2 + j * 80 + i);
                        const T(vec) score_2_new5 = score_2_3 + row_0_tile_4;
                        T(store)(score_2 + j * 80 + i, score_2_new5);
                        T(store)(weight_3 + j * 80 + i, score_2_new5 * score_new2);
                    }
                }
                if (dq) {
                    /* sum[d][i] += sum over j of k * weight_3 */
                    T(dot6)(round_up(i1 - i0, LANES), j1 - j0, k + b * k_batch + j0 * k_row, k_row, weight_3, sum,
                        sum_compensation);
                }
                /* the elements of subscript that this thread has for the head */
                const int64_t subscript_first = i0 - j1 + 1;
                recall(subscript_known, (call->p.query_start ? b : 0), subscript_first, subscript_first + (LANES + 208),
                    1 - n_k, n_q + n_k + (LANES + 208), 65536);
                float *const subscript = subscript_kept + (subscript_first - subscript_known->base);
                if (partial_0) {
                    for (int above = 0; above < 2; above++) { /* the differences below the known ones,
                        and those above */
#if OF(1, 0, 0)
                        const int64_t difference_2240 = above ? subscript_known->to - subscript_first : 0;
                        const int64_t difference_2241 = above ? 224 : subscript_known->from - subscript_first;
                        if (difference_2240 >= difference_2241) continue;
                        /* subscript = max(min(select((((difference_224 + (lo() - hi())) + query_start) + 2) <= 0, 16,
                           0) + select(((((difference_224 + (lo ... */
#endif
#if OF(0, 1, 0)
                        const int64_t difference_2160 = above ? subscript_known->to - subscript_first : 0;
                        const int64_t difference_2161 = above ? 216 : subscript_known->from - subscript_first;
                        if (difference_2160 >= difference_2161) continue;
                        /* subscript = max(min(select((((difference_216 + (lo() - hi())) + query_start) + 2) <= 0, 16,
                           0) + select(((((difference_216 + (lo ... */
#endif
#if OF(0, 0, 1)
                        const int64_t difference_2120 = above ? subscript_known->to - subscript_first : 0;
                        const int64_t difference_2121 = above ? 212 : subscript_known->from - subscript_first;
                        if (difference_2120 >= difference_2121) continue;
                        /* subscript = max(min(select((((difference_212 + (lo() - hi())) + query_start) + 2) <= 0, 16,
                           0) + select(((((difference_212 + (lo ... */
#endif
                        const int64_t t_6 = i0 - j1;
#if OF(1, 0, 0)
                        for (int64_t difference_224 = difference_2240; difference_224 < difference_2241;
                            difference_224 += 16) {
                            const T(ints) t_7 = ((difference_224 + T(lane)) + t_6) + query_start;
#endif
#if OF(0, 1, 0)
                        for (int64_t difference_216 = difference_2160; difference_216 < difference_2161;
                            difference_216 += 8) {
                            const T(ints) t_7 = ((difference_216 + T(lane)) + t_6) + query_start;
#endif
#if OF(0, 0, 1)
                        for (int64_t difference_212 = difference_2120; difference_212 < difference_2121;
                            difference_212 += 4) {
                            const T(ints) t_7 = ((difference_212 + T(lane)) + t_6) + query_start;
#endif
                            const T(ints) t_8 = ((t_7 + 1) ^ ((t_7 + 1) >> 63)) - ((t_7 + 1) >> 63);
                            T(wide) t_9 = __builtin_convertvector(t_8, T(wide)) * 0.125;
                            for (int lane = 0; lane < LANES; lane++) t_9[lane] = log(t_9[lane]);
                            T(wide) t_10 = (double)8 + ((t_9 / 2.772588722239781) * 8.0);
                            for (int lane = 0; lane < LANES; lane++) t_10[lane] = (t_10[lane] < (double)15 || t_10[lane]
                                != t_10[lane] ? t_10[lane] : (double)15);
                            const T(wide) real11 = t_10;
                            T(ints) whole11 = {0};
                            T(truncate)(&whole11, &real11);
#if OF(1, 0, 0)
                            T(store)(subscript + difference_224, __builtin_convertvector(((((((((((t_7 + 2) <= 0) & (16
                                - (T(ints)){0})) | (~((t_7 + 2) <= 0) & (0 - (T(ints)){0}))) + (((((t_7 + (-6)) <= 0) &
                                (0 <= (t_7 + 8))) & t_8) | (~(((t_7 + (-6)) <= 0) & (0 <= (t_7 + 8))) & whole11))) < 31)
                                & (((((t_7 + 2) <= 0) & (16 - (T(ints)){0})) | (~((t_7 + 2) <= 0) & (0 - (T(ints)){0})))
                                + (((((t_7 + (-6)) <= 0) & (0 <= (t_7 + 8))) & t_8) | (~(((t_7 + (-6)) <= 0) & (0 <=
                                (t_7 + 8))) & whole11)))) | (~((((((t_7 + 2) <= 0) & (16 - (T(ints)){0})) | (~((t_7 + 2)
                                <= 0) & (0 - (T(ints)){0}))) + (((((t_7 + (-6)) <= 0) & (0 <= (t_7 + 8))) & t_8) |
                                (~(((t_7 + (-6)) <= 0) & (0 <= (t_7 + 8))) & whole11))) < 31) & (31 - (T(ints)){0}))) >
                                0) & ((((((((t_7 + 2) <= 0) & (16 - (T(ints)){0})) | (~((t_7 + 2) <= 0) & (0 -
                                (T(ints)){0}))) + (((((t_7 + (-6)) <= 0) & (0 <= (t_7 + 8))) & t_8) | (~(((t_7 + (-6))
                                <= 0) & (0 <= (t_7 + 8))) & whole11))) < 31) & (((((t_7 + 2) <= 0) & (16 -
                                (T(ints)){0})) | (~((t_7 + 2) <= 0) & (0 - (T(ints)){0}))) + (((((t_7 + (-6)) <= 0) & (0
                                <= (t_7 + 8))) & t_8) | (~(((t_7 + (-6)) <= 0) & (0 <= (t_7 + 8))) & whole11)))) |
                                (~((((((t_7 + 2) <= 0) & (16 - (T(ints)){0})) | (~((t_7 + 2) <= 0) & (0 -
                                (T(ints)){0}))) + (((((t_7 + (-6)) <= 0) & (0 <= (t_7 + 8))) & t_8) | (~(((t_7 + (-6))
                                <= 0) & (0 <= (t_7 + 8))) & whole11))) < 31) & (31 - (T(ints)){0})))) | (~(((((((((t_7 +
                                2) <= 0) & (16 - (T(ints)){0})) | (~((t_7 + 2) <= 0) & (0 - (T(ints)){0}))) + (((((t_7 +
                                (-6)) <= 0) & (0 <= (t_7 + 8))) & t_8) | (~(((t_7 + (-6)) <= 0) & (0 <= (t_7 + 8))) &
                                whole11))) < 31) & (((((t_7 + 2) <= 0) & (16 - (T(ints)){0})) | (~((t_7 + 2) <= 0) & (0
                                - (T(ints)){0}))) + (((((t_7 + (-6)) <= 0) & (0 <= (t_7 + 8))) & t_8) | (~(((t_7 + (-6))
                                <= 0) & (0 <= (t_7 + 8))) & whole11)))) | (~((((((t_7 + 2) <= 0) & (16 - (T(ints)){0}))
                                | (~((t_7 + 2) <= 0) & (0 - (T(ints)){0}))) + (((((t_7 + (-6)) <= 0) & (0 <= (t_7 + 8)))
                                & t_8) | (~(((t_7 + (-6)) <= 0) & (0 <= (t_7 + 8))) & whole11))) < 31) & (31 -
                                (T(ints)){0}))) > 0) & (0 - (T(ints)){0})), T(vec)));
#endif
#if OF(0, 1, 0)
                            T(store)(subscript + difference_216, __builtin_convertvector(((((((((((t_7 + 2) <= 0) & (16
                                - (T(ints)){0})) | (~((t_7 + 2) <= 0) & (0 - (T(ints)){0}))) + (((((t_7 + (-6)) <= 0) &
                                (0 <= (t_7 + 8))) & t_8) | (~(((t_7 + (-6)) <= 0) & (0 <= (t_7 + 8))) & whole11))) < 31)
                                & (((((t_7 + 2) <= 0) & (16 - (T(ints)){0})) | (~((t_7 + 2) <= 0) & (0 - (T(ints)){0})))
                                + (((((t_7 + (-6)) <= 0) & (0 <= (t_7 + 8))) & t_8) | (~(((t_7 + (-6)) <= 0) & (0 <=
                                (t_7 + 8))) & whole11)))) | (~((((((t_7 + 2) <= 0) & (16 - (T(ints)){0})) | (~((t_7 + 2)
                                <= 0) & (0 - (T(ints)){0}))) + (((((t_7 + (-6)) <= 0) & (0 <= (t_7 + 8))) & t_8) |
                                (~(((t_7 + (-6)) <= 0) & (0 <= (t_7 + 8))) & whole11))) < 31) & (31 - (T(ints)){0}))) >
                                0) & ((((((((t_7 + 2) <= 0) & (16 - (T(ints)){0})) | (~((t_7 + 2) <= 0) & (0 -
                                (T(ints)){0}))) + (((((t_7 + (-6)) <= 0) & (0 <= (t_7 + 8))) & t_8) | (~(((t_7 + (-6))
                                <= 0) & (0 <= (t_7 + 8))) & whole11))) < 31) & (((((t_7 + 2) <= 0) & (16 -
                                (T(ints)){0})) | (~((t_7 + 2) <= 0) & (0 - (T(ints)){0}))) + (((((t_7 + (-6)) <= 0) & (0
                                <= (t_7 + 8))) & t_8) | (~(((t_7 + (-6)) <= 0) & (0 <= (t_7 + 8))) & whole11)))) |
                                (~((((((t_7 + 2) <= 0) & (16 - (T(ints)){0})) | (~((t_7 + 2) <= 0) & (0 -
                                (T(ints)){0}))) + (((((t_7 + (-6)) <= 0) & (0 <= (t_7 + 8))) & t_8) | (~(((t_7 + (-6))
                                <= 0) & (0 <= (t_7 + 8))) & whole11))) < 31) & (31 - (T(ints)){0})))) | (~(((((((((t_7 +
                                2) <= 0) & (16 - (T(ints)){0})) | (~((t_7 + 2) <= 0) & (0 - (T(ints)){0}))) + (((((t_7 +
                                (-6)) <= 0) & (0 <= (t_7 + 8))) & t_8) | (~(((t_7 + (-6)) <= 0) & (0 <= (t_7 + 8))) &
                                whole11))) < 31) & (((((t_7 + 2) <= 0) & (16 - (T(ints)){0})) | (~((t_7 + 2) <= 0) & (0
                                - (T(ints)){0}))) + (((((t_7 + (-6)) <= 0) & (0 <= (t_7 + 8))) & t_8) | (~(((t_7 + (-6))
                                <= 0) & (0 <= (t_7 + 8))) & whole11)))) | (~((((((t_7 + 2) <= 0) & (16 - (T(ints)){0}))
                                | (~((t_7 + 2) <= 0) & (0 - (T(ints)){0}))) + (((((t_7 + (-6)) <= 0) & (0 <= (t_7 + 8)))
                                & t_8) | (~(((t_7 + (-6)) <= 0) & (0 <= (t_7 + 8))) & whole11))) < 31) & (31 -
                                (T(ints)){0}))) > 0) & (0 - (T(ints)){0})), T(vec)));
#endif
#if OF(0, 0, 1)
                            T(store)(subscript + difference_212, __builtin_convertvector(((((((((((t_7 + 2) <= 0) & (16
                                - (T(ints)){0})) | (~((t_7 + 2) <= 0) & (0 - (T(ints)){0}))) + (((((t_7 + (-6)) <= 0) &
                                (0 <= (t_7 + 8))) & t_8) | (~(((t_7 + (-6)) <= 0) & (0 <= (t_7 + 8))) & whole11))) < 31)
                                & (((((t_7 + 2) <= 0) & (16 - (T(ints)){0})) | (~((t_7 + 2) <= 0) & (0 - (T(ints)){0})))
                                + (((((t_7 + (-6)) <= 0) & (0 <= (t_7 + 8))) & t_8) | (~(((t_7 + (-6)) <= 0) & (0 <=
                                (t_7 + 8))) & whole11)))) | (~((((((t_7 + 2) <= 0) & (16 - (T(ints)){0})) | (~((t_7 + 2)
                                <= 0) & (0 - (T(ints)){0}))) + (((((t_7 + (-6)) <= 0) & (0 <= (t_7 + 8))) & t_8) |
                                (~(((t_7 + (-6)) <= 0) & (0 <= (t_7 + 8))) & whole11))) < 31) & (31 - (T(ints)){0}))) >
                                0) & ((((((((t_7 + 2) <= 0) & (16 - (T(ints)){0})) | (~((t_7 + 2) <= 0) & (0 -
                                (T(ints)){0}))) + (((((t_7 + (-6)) <= 0) & (0 <= (t_7 + 8))) & t_8) | (~(((t_7 + (-6))
                                <= 0) & (0 <= (t_7 + 8))) & whole11))) < 31) & (((((t_7 + 2) <= 0) & (16 -
                                (T(ints)){0})) | (~((t_7 + 2) <= 0) & (0 - (T(ints)){0}))) + (((((t_7 + (-6)) <= 0) & (0
                                <= (t_7 + 8))) & t_8) | (~(((t_7 + (-6)) <= 0) & (0 <= (t_7 + 8))) & whole11)))) |
                                (~((((((t_7 + 2) <= 0) & (16 - (T(ints)){0})) | (~((t_7 + 2) <= 0) & (0 -
                                (T(ints)){0}))) + (((((t_7 + (-6)) <= 0) & (0 <= (t_7 + 8))) & t_8) | (~(((t_7 + (-6))
                                <= 0) & (0 <= (t_7 + 8))) & whole11))) < 31) & (31 - (T(ints)){0})))) | (~(((((((((t_7 +
                                2) <= 0) & (16 - (T(ints)){0})) | (~((t_7 + 2) <= 0) & (0 - (T(ints)){0}))) + (((((t_7 +
                                (-6)) <= 0) & (0 <= (t_7 + 8))) & t_8) | (~(((t_7 + (-6)) <= 0) & (0 <= (t_7 + 8))) &
                                whole11))) < 31) & (((((t_7 + 2) <= 0) & (16 - (T(ints)){0})) | (~((t_7 + 2) <= 0) & (0
                                - (T(ints)){0}))) + (((((t_7 + (-6)) <= 0) & (0 <= (t_7 + 8))) & t_8) | (~(((t_7 + (-6))
                                <= 0) & (0 <= (t_7 + 8))) & whole11)))) | (~((((((t_7 + 2) <= 0) & (16 - (T(ints)){0}))
                                | (~((t_7 + 2) <= 0) & (0 - (T(ints)){0}))) + (((((t_7 + (-6)) <= 0) & (0 <= (t_7 + 8)))
                                & t_8) | (~(((t_7 + (-6)) <= 0) & (0 <= (t_7 + 8))) & whole11))) < 31) & (31 -
                                (T(ints)){0}))) > 0) & (0 - (T(ints)){0})), T(vec)));
#endif
                        }
                    }
                    extend_known(subscript_known, subscript_first, subscript_first + (LANES + 208));
                    /* row_sum += select(subscript == table_axis_2, score_2 * score, 0.0f) */
                    for (int64_t i = 0; i < i1 - i0; i += LANES) {
                        for (int64_t table_axis_2 = 0; table_axis_2 < 32; table_axis_2++) {
                            T(vec) row_sum_in = (T(vec)){0};
                            for (int64_t j = 0; j < j1 - j0; j++) {
                                row_sum_in += T(pick)(T(load)(subscript + ((i0 + i) - (j0 + j) - (i0 - j1) - 1)) ==
                                    (float)table_axis_2, T(load)(score_2 + j * 80 + i) * T(load)(score + j * 80 + i),
                                    T(splat)(0.0f));
                            }
                            T(add)(row_sum + table_axis_2 * 80 + i, row_sum_compensation + table_axis_2 * 80 + i,
                                row_sum_in, T(splat)(1));
                        }
                    }
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
            if (partial_0) {
                /* unit_sum += row_sum */
                for (int64_t table_axis_2 = 0; table_axis_2 < 32; table_axis_2++) {
                    T(vec) lane_sums = T(splat)(0);
                    for (int64_t i = 0; i < i1 - i0; i += LANES) {
                        const T(vec) term = T(load)(row_sum + table_axis_2 * 80 + i);
                        lane_sums += i + LANES <= i1 - i0 ? term : T(pick)(__builtin_convertvector(i + T(lane) < i1 -
                            i0, T(mask)), term, T(splat)(0));
                    }
                    const float total = T(lane_sum)(lane_sums);
                    const float more = unit_sum_compensation[table_axis_2] + total,
                        sum_then = unit_sum[table_axis_2] + more;
                    unit_sum_compensation[table_axis_2] = more - (sum_then - unit_sum[table_axis_2]);
                    unit_sum[table_axis_2] = sum_then;
                }
            }
            if (dq) {
                /* dq = sum, transposed back */
                T(transpose_out)(sum, 80, 64, i1 - i0, dq + b * dq_batch + i0 * dq_row, dq_row, 64);
            }
        }
    }
    if (partial_0) {
        /* partial_0 = unit_sum */
        for (int64_t table_axis_2 = 0; table_axis_2 < 32; table_axis_2++)
            partial_0[table_axis_2] = unit_sum[table_axis_2];
    }
}

/* Computes task number `task`: one tile of keys of one head. `work` is this thread's workspace. */
TARGET static void T(softmax_t5_dk_dv)(const struct call *call, int64_t task, unsigned char *work)
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
    const float *const table_array = (const float *)call->array[ARRAY_table_array].at + g * members *
        call->array[ARRAY_table_array].stride[0];
    const int64_t table_array_stride_0 = call->array[ARRAY_table_array].stride[0];
    const int64_t table_array_stride_1 = call->array[ARRAY_table_array].stride[1];
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
    struct remembered *const table_at_known = (struct remembered *)(void *)(work + 307200);
    float *const table_at_kept = (float *)(void *)(work + 307264); /* [(LANES + 65888) differences] */
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
    /* k_tile = k_tile * 1.442695f; sum_2 = 0.0f; sum_2_compensation = 0.0f */
    for (int64_t d = 0; d < 64; d++) {
        for (int64_t j = 0; j < j1 - j0; j += LANES) {
            T(store)(k_tile + d * 80 + j, T(load)(k_tile + d * 80 + j) * 1.442695f);
            T(store)(sum_2 + d * 80 + j, T(splat)(0.0f));
            T(store)(sum_2_compensation + d * 80 + j, T(splat)(0.0f));
        }
    }
    for (int64_t m = 0; m < members; m++) {
        for (int64_t i0 = 0, i_end = n_q; i0 < i_end; i0 += 288) {
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
            /* the elements of table_at that this thread has for the head */
            const int64_t table_at_first = j0 - i1 + 1;
            recall(table_at_known, ((call->p.query_start ? b : 0) * kv_heads + g) * members + m, table_at_first,
                table_at_first + (LANES + 352), 1 - n_q, n_k + n_q + (LANES + 352), 65536);
            float *const table_at = table_at_kept + (table_at_first - table_at_known->base);
            for (int above = 0; above < 2; above++) { /* the differences below the known ones, and those above */
#if OF(1, 0, 0)
                const int64_t difference_3680 = above ? table_at_known->to - table_at_first : 0;
                const int64_t difference_3681 = above ? 368 : table_at_known->from - table_at_first;
                if (difference_3680 >= difference_3681) continue;
#endif
#if OF(0, 1, 0)
                const int64_t difference_3600 = above ? table_at_known->to - table_at_first : 0;
                const int64_t difference_3601 = above ? 360 : table_at_known->from - table_at_first;
                if (difference_3600 >= difference_3601) continue;
#endif
#if OF(0, 0, 1)
                const int64_t difference_3560 = above ? table_at_known->to - table_at_first : 0;
                const int64_t difference_3561 = above ? 356 : table_at_known->from - table_at_first;
                if (difference_3560 >= difference_3561) continue;
#endif
                /* table_at = table_array, at computed subscripts */
#if OF(1, 0, 0)
                for (int64_t difference_368 = difference_3680; difference_368 < difference_3681;
                    difference_368++) table_at[difference_368] = table_array[m * table_array_stride_0 +
                    max(min((((query_start + 1) <= (difference_368 + j0 - i1 + 1)) ? 16 : 0) + ((((query_start - 7) <=
                    (difference_368 + j0 - i1 + 1)) && ((difference_368 + j0 - i1 + 1) <= (query_start + 7))) ?
                    (int64_t)llabs(query_start - (difference_368 + j0 - i1) - 1) : truncated(min_real(8 +
                    ((log(((int64_t)llabs(query_start - (difference_368 + j0 - i1) - 1) * 0.125)) / 2.772588722239781) *
                    8.0), 15))), 31), 0) * table_array_stride_1];
#endif
#if OF(0, 1, 0)
                for (int64_t difference_360 = difference_3600; difference_360 < difference_3601;
                    difference_360++) table_at[difference_360] = table_array[m * table_array_stride_0 +
                    max(min((((query_start + 1) <= (difference_360 + j0 - i1 + 1)) ? 16 : 0) + ((((query_start - 7) <=
                    (difference_360 + j0 - i1 + 1)) && ((difference_360 + j0 - i1 + 1) <= (query_start + 7))) ?
                    (int64_t)llabs(query_start - (difference_360 + j0 - i1) - 1) : truncated(min_real(8 +
                    ((log(((int64_t)llabs(query_start - (difference_360 + j0 - i1) - 1) * 0.125)) / 2.772588722239781) *
                    8.0), 15))), 31), 0) * table_array_stride_1];
#endif
#if OF(0, 0, 1)
                for (int64_t difference_356 = difference_3560; difference_356 < difference_3561;
                    difference_356++) table_at[difference_356] = table_array[m * table_array_stride_0 +
                    max(min((((query_start + 1) <= (difference_356 + j0 - i1 + 1)) ? 16 : 0) + ((((query_start - 7) <=
                    (difference_356 + j0 - i1 + 1)) && ((difference_356 + j0 - i1 + 1) <= (query_start + 7))) ?
                    (int64_t)llabs(query_start - (difference_356 + j0 - i1) - 1) : truncated(min_real(8 +
                    ((log(((int64_t)llabs(query_start - (difference_356 + j0 - i1) - 1) * 0.125)) / 2.772588722239781) *
                    8.0), 15))), 31), 0) * table_array_stride_1];
#endif
            }
            extend_known(table_at_known, table_at_first, table_at_first + (LANES + 352));
            /* score = exp2((score + (table_at * 1.442695f)) - saved_0) */
            for (int64_t j = 0; j < j1 - j0; j += LANES) {
                for (int64_t i = 0; i < i1 - i0; i++) {
                    T(store)(score + i * 80 + j, T(exp2)((T(load)(score + i * 80 + j) + (T(load)(table_at + ((j0 + j) -
                        (i0 + i) - (j0 - i1) - 1)) * 1.442695f)) - (saved_0[m * saved_0_head + (i0 + i)])));
                }
            }
            if (dv) {
                /* sum[e][j] += sum over i of dout * score */
                T(dot6)(round_up(j1 - j0, LANES), i1 - i0, dout + m * dout_head + i0 * dout_row, dout_row, score, sum,
                    sum_compensation);
            }
            if (dk) {
                /* score_2 = (score_2 + row_0) * score */
                for (int64_t j_first = 0; j_first < j1 - j0; j_first += OF(64, 16, 8)) {
                    for (int64_t i = 0; i < i1 - i0; i++) {
                        UNROLL for (int64_t vector = 0, j = j_first; vector < OF(4, 2, 2); vector++, j += LANES) {
                            T(store)(score_2 + i * 80 + j, (T(load)(score_2 + i * 80 + j) + (row_0[m * row_0_head + (i0
                                + i)])) * T(load)(score + i * 80 + j));
                        }
                    }
                }
                /* sum_2[d][j] += sum over i of q * score_2 */
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

/* Computes task number `task`: the totals of the partial sums that the slices of rows have stored. `work` is this
   thread's workspace. */
TARGET static void T(softmax_t5_totals1)(const struct call *call, int64_t task, unsigned char *work)
{
    const int64_t members = call->p.heads / max(call->p.kv_heads, 1);
    const int64_t m = task % members;
    const int64_t g = task / members;
    const float *const partial_0 = call->array[ARRAY_partial_0].at ? (const float *)call->array[ARRAY_partial_0].at + (g
        * members + m) * 16 * 32 : NULL;
    float *const gradient = (float *)(void *)(work + 0); /* [table_axis_2: 32] */
    float *const gradient_2 = (float *)(void *)(work + 128); /* [table_axis_2: 32] */
    float *const dtable_array = call->array[ARRAY_dtable_array].at ? (float *)call->array[ARRAY_dtable_array].at + (g *
        members + m) * 32 : NULL;
    /* gradient = 0.0f */
    for (int64_t table_axis_2 = 0; table_axis_2 < 32; table_axis_2 += LANES) {
        T(store)(gradient + table_axis_2, T(splat)(0.0f));
    }
    /* gradient += partial_0 */
    for (int64_t table_axis_2_first = 0; table_axis_2_first < 32; table_axis_2_first += (2 * LANES)) {
        T(vec) gradient_in[2];
        UNROLL for (int64_t vector = 0, table_axis_2 = table_axis_2_first; vector < 2; vector++,
            table_axis_2 += LANES) {
            gradient_in[vector] = (T(vec)){0};
        }
        for (int64_t unit16 = 0; unit16 < 16; unit16++) {
            UNROLL for (int64_t vector = 0, table_axis_2 = table_axis_2_first; vector < 2; vector++,
                table_axis_2 += LANES) {
                gradient_in[vector] += T(load)(partial_0 + unit16 * 32 + table_axis_2);
            }
        }
        UNROLL for (int64_t vector = 0, table_axis_2 = table_axis_2_first; vector < 2; vector++,
            table_axis_2 += LANES) {
            T(store)(gradient + table_axis_2, T(load)(gradient + table_axis_2) + gradient_in[vector]);
        }
    }
    /* gradient_2 = gradient */
    for (int64_t table_axis_2 = 0; table_axis_2 < 32; table_axis_2 += LANES) {
        T(store)(gradient_2 + table_axis_2, T(load)(gradient + table_axis_2));
    }
    if (dtable_array) {
        /* dtable_array = gradient_2 */
        for (int64_t table_axis_2 = 0; table_axis_2 < 32; table_axis_2++)
            dtable_array[table_axis_2] = gradient_2[table_axis_2];
    }
}
#include <attnrt/kernel/end.h>
#else
#ifdef __cplusplus
#error "softmax_t5.c is C, not C++: compile it with a C compiler"
#elif !defined __STDC_VERSION__ || __STDC_VERSION__ < 199901L
#error "softmax_t5.c is C11, not C89: compile it without -std=, or with -std=gnu11"
extern int softmax_t5_is_c11;
#elif !defined __GNUC__
#error "softmax_t5.c uses GNU C vector extensions: compile it with gcc or clang"
extern int softmax_t5_is_gnu_c;
#else
#include "softmax_t5.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include <attnrt/kernel/optimize.h>
#include <attnrt/kernel/call.h>
#include <attnrt/kernel/remembered.h>

/* the numbers of the arrays of a call */
enum {
    ARRAY_q, ARRAY_k, ARRAY_v, ARRAY_out, ARRAY_dout, ARRAY_dq, ARRAY_dk, ARRAY_dv, ARRAY_table_array,
    ARRAY_dtable_array, ARRAY_saved_0, ARRAY_row_0, ARRAY_partial_0
};

#ifdef __FILE_NAME__
#define LOOPS __FILE_NAME__ /* this file, whose first part has the loops */
#else
#define LOOPS "softmax_t5.c"
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
#define MAX_TERMS 64
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
#define MAX_TERMS 64
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
#define MAX_TERMS 64
#define MAX_LANES 64
#define OF(v4, v3, any) any /* a number of each target */
#define SECTION
#include LOOPS
#undef SECTION

/* ==== tables for the library that calls these functions (attnrt/kernel/call.h) ==== */
static const struct attn_param param[] = {
    {"table", ATTN_F32, 2, {ATTN_HEADS, 32}, offsetof(struct softmax_t5_params, table), 0,
        offsetof(struct softmax_t5_strides, table), 0, 0, ATTN_NO_LIMITS},
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
    {.name = "table", .access = {ACCESS_READ, ACCESS_READ}, .dtype = ATTN_F32, .origin = FROM_PARAMS, .param = 0,
        .axis = {-1, 0, -1}},
    {.name = "dtable", .access = {ACCESS_NONE, ACCESS_WANTED}, .dtype = ATTN_F32, .origin = FROM_GRADIENTS,
        .member = offsetof(struct softmax_t5_gradients, table)},
    {.name = "saved_0", .origin = FROM_SAVED},
    {.name = "row_0", .origin = FROM_ROW_SUMS},
    {.name = "partial_0", .origin = FROM_LEFT, .elements = 512, .sizes = 1 << -ATTN_HEADS,
        .wanted = (const uint16_t[]){ARRAY_dtable_array, NO_ARRAY}},
};

#if defined(__x86_64__)
static int runs_v4(void)
{
    return attn_x86_64_level() >= 4;
}
static const struct program programs_v4[] = {
    {.role = RUN_FORWARD, .form = FORM_FEW,
     .head = softmax_t5_few_v4, .tile = 0, .own = 73984, .few_rows = 64, .lanes = 16, .of_pair = 128, .shared = 50112,
         .slot = 16960, .slots = 4, .together = 1},
    {.role = RUN_FORWARD,
     .rows = softmax_t5_rows_v4, .tile = 64, .own = 418304, .of_pair = 128, .saves = 1, .remembered = 1,
         .remembers = {154624}},
    {.role = RUN_BACKWARD, .part = 4, .sums_slices = 1,
     .rows = softmax_t5_totals1_v4, .tile = -1, .own = 256, .of_pair = 128,
         .wanted = (const uint16_t[]){ARRAY_dtable_array, NO_ARRAY}, .units = 1, .unit_heads = 2},
    {.role = RUN_BACKWARD, .part = 3,
     .rows = softmax_t5_dk_dv_v4, .tile = 64, .own = 570880, .of_pair = 128, .wanted = (const uint16_t[]){ARRAY_dk,
         ARRAY_dv, NO_ARRAY}, .of_keys = OF_KEY_HEAD, .remembered = 1, .remembers = {307200}},
    {.role = RUN_BACKWARD, .part = 2,
     .rows = softmax_t5_dq_sums1_v4, .tile = -1, .own = 767616, .of_pair = 128, .wanted = (const uint16_t[]){ARRAY_dq,
         ARRAY_partial_0, NO_ARRAY}, .units = 16, .unit_heads = 2, .remembered = 2, .remembers = {241408, 504512}},
    {.role = RUN_BACKWARD, .part = 1,
     .rows = softmax_t5_row_sums_v4, .tile = 64, .own = 41216, .of_pair = 128},
    {.role = RUN_BACKWARD, .saved_again = 1,
     .rows = softmax_t5_saved_v4, .tile = 64, .own = 377344, .of_pair = 128, .remembered = 1, .remembers = {113664}},
};
#endif
#if defined(__x86_64__)
static int runs_v3(void)
{
    return attn_x86_64_level() >= 3;
}
static const struct program programs_v3[] = {
    {.role = RUN_FORWARD, .form = FORM_FEW,
     .head = softmax_t5_few_v3, .tile = 0, .own = 73984, .few_rows = 64, .lanes = 8, .of_pair = 128, .shared = 50112,
         .slot = 16960, .slots = 4, .together = 1},
    {.role = RUN_FORWARD,
     .rows = softmax_t5_rows_v3, .tile = 64, .own = 418304, .of_pair = 128, .saves = 1, .remembered = 1,
         .remembers = {154624}},
    {.role = RUN_BACKWARD, .part = 4, .sums_slices = 1,
     .rows = softmax_t5_totals1_v3, .tile = -1, .own = 256, .of_pair = 128,
         .wanted = (const uint16_t[]){ARRAY_dtable_array, NO_ARRAY}, .units = 1, .unit_heads = 2},
    {.role = RUN_BACKWARD, .part = 3,
     .rows = softmax_t5_dk_dv_v3, .tile = 64, .own = 570880, .of_pair = 128, .wanted = (const uint16_t[]){ARRAY_dk,
         ARRAY_dv, NO_ARRAY}, .of_keys = OF_KEY_HEAD, .remembered = 1, .remembers = {307200}},
    {.role = RUN_BACKWARD, .part = 2,
     .rows = softmax_t5_dq_sums1_v3, .tile = -1, .own = 767616, .of_pair = 128, .wanted = (const uint16_t[]){ARRAY_dq,
         ARRAY_partial_0, NO_ARRAY}, .units = 16, .unit_heads = 2, .remembered = 2, .remembers = {241408, 504512}},
    {.role = RUN_BACKWARD, .part = 1,
     .rows = softmax_t5_row_sums_v3, .tile = 64, .own = 41216, .of_pair = 128},
    {.role = RUN_BACKWARD, .saved_again = 1,
     .rows = softmax_t5_saved_v3, .tile = 64, .own = 377344, .of_pair = 128, .remembered = 1, .remembers = {113664}},
};
#endif
static const struct program programs_any[] = {
    {.role = RUN_FORWARD, .form = FORM_FEW,
     .head = softmax_t5_few_any, .tile = 0, .own = 73984, .few_rows = 64, .lanes = 4, .of_pair = 128, .shared = 50112,
         .slot = 16960, .slots = 4, .together = 1},
    {.role = RUN_FORWARD,
     .rows = softmax_t5_rows_any, .tile = 64, .own = 418304, .of_pair = 128, .saves = 1, .remembered = 1,
         .remembers = {154624}},
    {.role = RUN_BACKWARD, .part = 4, .sums_slices = 1,
     .rows = softmax_t5_totals1_any, .tile = -1, .own = 256, .of_pair = 128,
         .wanted = (const uint16_t[]){ARRAY_dtable_array, NO_ARRAY}, .units = 1, .unit_heads = 2},
    {.role = RUN_BACKWARD, .part = 3,
     .rows = softmax_t5_dk_dv_any, .tile = 64, .own = 570880, .of_pair = 128, .wanted = (const uint16_t[]){ARRAY_dk,
         ARRAY_dv, NO_ARRAY}, .of_keys = OF_KEY_HEAD, .remembered = 1, .remembers = {307200}},
    {.role = RUN_BACKWARD, .part = 2,
     .rows = softmax_t5_dq_sums1_any, .tile = -1, .own = 767616, .of_pair = 128, .wanted = (const uint16_t[]){ARRAY_dq,
         ARRAY_partial_0, NO_ARRAY}, .units = 16, .unit_heads = 2, .remembered = 2, .remembers = {241408, 504512}},
    {.role = RUN_BACKWARD, .part = 1,
     .rows = softmax_t5_row_sums_any, .tile = 64, .own = 41216, .of_pair = 128},
    {.role = RUN_BACKWARD, .saved_again = 1,
     .rows = softmax_t5_saved_any, .tile = 64, .own = 377344, .of_pair = 128, .remembered = 1, .remembers = {113664}},
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
    .layout = KERNEL_LAYOUT, .name = "softmax_t5", .openmp = OPENMP,
    .target = target, .targets = sizeof target / sizeof *target - 1,
    .array = array, .arrays = sizeof array / sizeof *array,
    .param = param, .params = 1, .params_bytes = sizeof(struct softmax_t5_params),
    .dtype = ATTN_F32, .key_dtype = ATTN_F32, .value_dtype = ATTN_F32, .real = sizeof(float), .element = sizeof(float),
    .head_dim = 64, .value_dim = 64, .key_row = 64, .value_row = 64,
    .strided = 1, .strides = offsetof(struct softmax_t5_params, strides),
    .shares = 1,
    .positions = 1,
    .ids = -1,
    .corrected = -1,
    .solution = -1,
    .gradients_bytes = sizeof(struct softmax_t5_gradients),
    .parts = 5,
    .saved = 1,
    .row_sums = 1,
    .shared_gradient = {ARRAY_dq, ARRAY_dk},
};

/* ==== the interface ==== */
size_t softmax_t5_params_size(void) { return attn_call_params_size(&kernel); }
int softmax_t5_params_init(struct softmax_t5_params *params, uint64_t seed, void *storage)
{
    return attn_call_params_init(&kernel, params, seed, storage);
}
size_t softmax_t5_workspace(const struct attn_problem *problem) { return attn_call_workspace(&kernel, problem); }
size_t softmax_t5_saved(const struct attn_problem *problem) { return attn_call_saved(&kernel, problem); }
size_t softmax_t5_backward_workspace(const struct attn_problem *problem)
{
    return attn_call_backward_workspace(&kernel, problem);
}
int softmax_t5_forward(const struct attn_problem *problem, const struct softmax_t5_params *params, const float *q,
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
int softmax_t5_backward(const struct attn_problem *problem, const struct softmax_t5_params *params, const float *q,
    const float *k, const float *v, const float *out, const float *dout,
    float *dq, float *dk, float *dv, struct softmax_t5_gradients *gradients, void *workspace)
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
const struct attn_kernel softmax_t5_kernel = {
    .name = "softmax_t5", .version = "0.2.0", .dtype = ATTN_F32, .head_dim = 64, .value_dim = 64,
    .params = 1, .param = param, .params_bytes = sizeof(struct softmax_t5_params),
    .params_size = softmax_t5_params_size, .params_init = params_init_any, .forward = forward_any,
    .workspace = softmax_t5_workspace,
    .saved = softmax_t5_saved,
    .backward_workspace = softmax_t5_backward_workspace,
    .backward = backward_any,
    .key_dtype = ATTN_F32, .value_dtype = ATTN_F32,
    .strides = offsetof(struct softmax_t5_params, strides), .strides_bytes = sizeof(struct softmax_t5_strides),
    .before = INT64_MAX, .after = INT64_MAX, .period = 1, .names_heads = 0, .names_sequences = 0, .in_parts = 0,
    .saved_power = 0, .has_sink = 0, .open_keys = 0, .end_of_keys = INT64_MAX,
};
#endif /* a compiler of this language */
#endif /* SECTION */
