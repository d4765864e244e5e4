/* softmax_kerple.c, made by attnc 0.2.0: attnc softmax_kerple.yaml
   C11 with GNU extensions, for a C compiler; C++ includes softmax_kerple.h.
   causal softmax attention with a learned logarithmic penalty on distance for each head
   Chi et al., KERPLE: Kernelized Relative Positional Embedding (NeurIPS 2022), section 4

   Computes, in f32, over the axes b (batch), g (key/value head), m (query head of g), i (query), j (key), d (64),
   e (64):
     q [b g m i d]
     k [b g j d]
     v [b g j e]
     x3 [b g m i j] = sum over d of q * k
     a [g m], learned parameter
     c [g m], learned parameter
     x6 [b g m i j] = exp(x3 * 0.125 - abs(a) * log1p(abs(c) * (abs(i + query_start - j) * 1)))
     x7 [b g m i] = sum over j of x6 if j <= i + query_start
     x8 [b g m i e] = sum over j of x6 * v if j <= i + query_start
     x9 [b g m i e] = x7 == 0 ? 0 : x8 / x7
     out = x9
   query_start is the position of the first query: problem.query_start[b], or n_k - n_q if that is NULL.

   How: each vector lane holds one query. Keys are processed in tiles,
   so row sums and maxima need no reduction across lanes.
   The sums of a tile start from zero and are added to the sums so far. Tiles that no query sees are skipped.
   For few queries each lane holds one key. The queries of all heads that share keys are the rows of one tile,
   so each key is read once.
   The chunks of keys are divided among the threads. Their sums are added in the order of the chunks.
     x86-64-v4  quadratic tiles of 64 queries and 288 keys; 418304 bytes of workspace per thread
     x86-64-v4  few       tiles of 64 queries and 128 keys; 155072 bytes of workspace per thread
     x86-64-v3  quadratic tiles of 64 queries and 288 keys; 418304 bytes of workspace per thread
     x86-64-v3  few       tiles of 64 queries and 128 keys; 155072 bytes of workspace per thread
     generic    quadratic tiles of 64 queries and 288 keys; 418304 bytes of workspace per thread
     generic    few       tiles of 64 queries and 128 keys; 155072 bytes of workspace per thread

   Contents:
     loops      softmax_kerple_rows, softmax_kerple_few, softmax_kerple_saved, softmax_kerple_row_sums,
     softmax_kerple_dq_sums1, softmax_kerple_dk_dv, softmax_kerple_totals1
     targets    x86-64-v4, x86-64-v3, generic
     tables     arrays and programs, for the functions of attnrt that call the loops
     interface  softmax_kerple_workspace, softmax_kerple_forward, softmax_kerple_backward, softmax_kerple_kernel
   The file includes itself, so that the loops are compiled once for each target. T(name) is a name with the target's
   suffix, LANES the elements of its vectors, and OF(…) a number for each target.

   Compile with: cc -O2 -fopenmp softmax_kerple.c … -lattnrt -lm */
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
    T(dot_finite)(/*vectors=*/OF(4, 2, 2), lanes, /*rows=*/64, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/1, a_step,
        b, /*b_step=*/80, c, /*c_row=*/80, /*update=*/3, factor, compensation);
}
TARGET APART void T(dot2)(int64_t lanes, int64_t steps, const float *a, int64_t a_step, const float *b, float *c,
    const float *factor, float *compensation)
{
    T(dot)(/*vectors=*/OF(4, 2, 2), lanes, /*rows=*/64, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/1, a_step, b,
        /*b_step=*/80, c, /*c_row=*/80, /*update=*/3, factor, compensation);
}
#if OF(1, 0, 0)
TARGET APART void T(dot3)(int64_t rows, int64_t columns, const float *a, const float *b, int64_t b_row, float *c,
    int64_t early)
#else
TARGET APART void T(dot3)(int64_t rows, int64_t columns, const float *a, const float *b, int64_t b_row, float *c)
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
TARGET APART void T(dot4)(int64_t rows, int64_t steps, const float *a, const float *b, int64_t b_step, float *c)
{
    T(dot_finite_lanes)(/*fetched=*/1, /*vectors=*/OF(4, 2, 2), /*lanes=*/64, rows, /*tail=*/-1, steps, /*span=*/192, a,
        /*a_row=*/144, /*a_step=*/1, b, b_step, c, /*c_row=*/64, /*update=*/1, /*factor=*/NULL, /*compensation=*/NULL);
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
TARGET APART void T(dot6)(int64_t lanes, int64_t rows, const float *a, int64_t a_row, const float *b, float *c)
{
    T(dot_ahead)(/*vectors=*/OF(4, 2, 2), lanes, rows, /*tail=*/-1, /*steps=*/64, /*span=*/32, a, a_row, /*a_step=*/1,
        b, /*b_step=*/80, c, /*c_row=*/80, /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL, /*next=*/NULL,
        /*next_row=*/0, /*width=*/0, /*result=*/NULL, /*result_row=*/0, /*result_width=*/0, /*results=*/0);
}
TARGET APART void T(dot7)(int64_t lanes, int64_t rows, const float *a, int64_t a_row, const float *b, float *c,
    const float *next, int64_t next_row)
{
    T(dot_ahead)(/*vectors=*/OF(4, 2, 2), lanes, rows, /*tail=*/-1, /*steps=*/64, /*span=*/32, a, a_row, /*a_step=*/1,
        b, /*b_step=*/80, c, /*c_row=*/80, /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL, next, next_row,
        /*width=*/64, /*result=*/NULL, /*result_row=*/0, /*result_width=*/0, /*results=*/0);
}
TARGET APART void T(dot8)(int64_t lanes, int64_t steps, const float *a, int64_t a_step, const float *b, float *c,
    float *compensation)
{
    T(dot_finite)(/*vectors=*/OF(4, 2, 2), lanes, /*rows=*/64, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/1, a_step,
        b, /*b_step=*/80, c, /*c_row=*/80, /*update=*/3, /*factor=*/NULL, compensation);
}
TARGET APART void T(dot9)(int64_t lanes, int64_t steps, const float *a, int64_t a_step, const float *b, float *c,
    float *compensation)
{
    T(dot)(/*vectors=*/OF(4, 2, 2), lanes, /*rows=*/64, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/1, a_step, b,
        /*b_step=*/80, c, /*c_row=*/80, /*update=*/3, /*factor=*/NULL, compensation);
}

/* Computes task number `task`: one tile of queries of one head. `work` is this thread's workspace. */
TARGET static void T(softmax_kerple_rows)(const struct call *call, int64_t task, unsigned char *work)
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
    const float *const a_array = (const float *)call->array[ARRAY_a_array].at + g * members *
        call->array[ARRAY_a_array].stride[0] + m * call->array[ARRAY_a_array].stride[0];
    const float *const c_array = (const float *)call->array[ARRAY_c_array].at + g * members *
        call->array[ARRAY_c_array].stride[0] + m * call->array[ARRAY_c_array].stride[0];
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
    struct remembered *const of_difference_known = (struct remembered *)(void *)(work + 154624);
    float *const of_difference_kept = (float *)(void *)(work + 154688); /* [(LANES + 65888) differences] */
    int64_t results = i1 - i0; /* rows of out to prefetch during the first product */
    /* q_tile = q, with zeros beyond the last row */
    T(transpose_padded)(q + i0 * q_row, q_row, i1 - i0, 64, q_tile, 80, LANES);
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
        /* score[j][i] = sum over d of k * q_tile */
        T(dot0)(round_up(i1 - i0, LANES), j1 - j0, k + j0 * k_row, k_row, q_tile, score, v + j0 * v_row, v_row,
            out + i0 * out_row, out_row, results);
        results = 0;
        /* the elements of of_difference that this thread has for the head */
        const int64_t of_difference_first = i0 - j1 + 1;
        recall(of_difference_known, ((call->p.query_start ? b : 0) * kv_heads + g) * members + m, of_difference_first,
            of_difference_first + (LANES + 352), 1 - n_k, n_q + n_k + (LANES + 352), 65536);
        float *const of_difference = of_difference_kept + (of_difference_first - of_difference_known->base);
        for (int above = 0; above < 2; above++) { /* the differences below the known ones, and those above */
#if OF(1, 0, 0)
            const int64_t difference_3680 = above ? of_difference_known->to - of_difference_first : 0;
            const int64_t difference_3681 = above ? 368 : of_difference_known->from - of_difference_first;
            if (difference_3680 >= difference_3681) continue;
            /* of_difference = log1p(abs(c) * (abs(((difference_368 + (lo() - hi())) + query_start) + 1) * 1.0f)) *
               (abs(a) * 1.442695f) */
#endif
#if OF(0, 1, 0)
            const int64_t difference_3600 = above ? of_difference_known->to - of_difference_first : 0;
            const int64_t difference_3601 = above ? 360 : of_difference_known->from - of_difference_first;
            if (difference_3600 >= difference_3601) continue;
            /* of_difference = log1p(abs(c) * (abs(((difference_360 + (lo() - hi())) + query_start) + 1) * 1.0f)) *
               (abs(a) * 1.442695f) */
#endif
#if OF(0, 0, 1)
            const int64_t difference_3560 = above ? of_difference_known->to - of_difference_first : 0;
            const int64_t difference_3561 = above ? 356 : of_difference_known->from - of_difference_first;
            if (difference_3560 >= difference_3561) continue;
            /* of_difference = log1p(abs(c) * (abs(((difference_356 + (lo() - hi())) + query_start) + 1) * 1.0f)) *
               (abs(a) * 1.442695f) */
#endif
            const float t_0 = fabsf(c_array[0]);
            const int64_t t_1 = i0 - j1;
            const float t_2 = fabsf(a_array[0]) * 1.442695f;
#if OF(1, 0, 0)
            for (int64_t difference_368 = difference_3680; difference_368 < difference_3681; difference_368 += 16) {
                T(store)(of_difference + difference_368, T(log1p)(t_0 * (__builtin_convertvector((((((difference_368 +
                    T(lane)) + t_1) + query_start) + 1) ^ (((((difference_368 + T(lane)) + t_1) + query_start) + 1) >>
                    63)) - (((((difference_368 + T(lane)) + t_1) + query_start) + 1) >> 63), T(vec)) * 1.0f)) * t_2);
#endif
#if OF(0, 1, 0)
            for (int64_t difference_360 = difference_3600; difference_360 < difference_3601; difference_360 += 8) {
                T(store)(of_difference + difference_360, T(log1p)(t_0 * (__builtin_convertvector((((((difference_360 +
                    T(lane)) + t_1) + query_start) + 1) ^ (((((difference_360 + T(lane)) + t_1) + query_start) + 1) >>
                    63)) - (((((difference_360 + T(lane)) + t_1) + query_start) + 1) >> 63), T(vec)) * 1.0f)) * t_2);
#endif
#if OF(0, 0, 1)
            for (int64_t difference_356 = difference_3560; difference_356 < difference_3561; difference_356 += 4) {
                T(store)(of_difference + difference_356, T(log1p)(t_0 * (__builtin_convertvector((((((difference_356 +
                    T(lane)) + t_1) + query_start) + 1) ^ (((((difference_356 + T(lane)) + t_1) + query_start) + 1) >>
                    63)) - (((((difference_356 + T(lane)) + t_1) + query_start) + 1) >> 63), T(vec)) * 1.0f)) * t_2);
#endif
            }
        }
        extend_known(of_difference_known, of_difference_first, of_difference_first + (LANES + 352));
        /* old_max = row_max */
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            T(store)(old_max + i, T(load)(row_max + i));
        }
        if ((i0 + query_start + 1) < j1) { /* the tile is partly outside the mask */
            /* score = select(j <= (i + query_start), score - of_difference, -INFINITY); row_max max= score */
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                const T(ints) t_3 = (i0 + i + T(lane)) + query_start;
                T(vec) row_max_in = T(load)(row_max + i);
                for (int64_t j = 0; j < j1 - j0; j++) {
                    const T(vec) score_4 = T(load)(score + j * 80 + i);
                    const T(vec) score_new5 = T(pick)(__builtin_convertvector((j0 + j) <= t_3, T(mask)),
                        score_4 - T(load)(of_difference + ((i0 + i) - (j0 + j) - (i0 - j1) - 1)), T(splat)(-INFINITY));
                    T(store)(score + j * 80 + i, score_new5);
                    row_max_in = T(max)(row_max_in, score_new5);
                }
                T(store)(row_max + i, row_max_in);
            }
        }
        if (!((i0 + query_start + 1) < j1)) { /* the tile is wholly inside the mask */
            /* score = score - of_difference; row_max max= score */
            for (int64_t i_first = 0; i_first < i1 - i0; i_first += OF(64, 16, 8)) {
                T(vec) row_max_in[OF(4, 2, 2)];
                UNROLL for (int64_t vector = 0, i = i_first; vector < OF(4, 2, 2); vector++, i += LANES) {
                    row_max_in[vector] = T(load)(row_max + i);
                }
                for (int64_t j = 0; j < j1 - j0; j++) {
                    UNROLL for (int64_t vector = 0, i = i_first; vector < OF(4, 2, 2); vector++, i += LANES) {
                        const T(vec) score_6 = T(load)(score + j * 80 + i);
                        const T(vec) score_new7 = score_6 - T(load)(of_difference + ((i0 + i) - (j0 + j) - (i0 - j1) -
                            1));
                        T(store)(score + j * 80 + i, score_new7);
                        row_max_in[vector] = T(max)(row_max_in[vector], score_new7);
                    }
                }
                UNROLL for (int64_t vector = 0, i = i_first; vector < OF(4, 2, 2); vector++, i += LANES) {
                    T(store)(row_max + i, row_max_in[vector]);
                }
            }
        }
        /* old_max = exp2(old_max - row_max); row_sum = row_sum * old_max;
           row_sum_compensation = row_sum_compensation * old_max */
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            const T(vec) old_max_8 = T(load)(old_max + i);
            const T(vec) old_max_new9 = T(exp2)(old_max_8 - T(load)(row_max + i));
            T(store)(old_max + i, old_max_new9);
            T(store)(row_sum + i, T(load)(row_sum + i) * old_max_new9);
            T(store)(row_sum_compensation + i, T(load)(row_sum_compensation + i) * old_max_new9);
        }
        /* score = exp2(score - row_max); row_sum += score */
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            const T(vec) row_max_11 = T(load)(row_max + i);
            T(vec) row_sum_in = (T(vec)){0};
            for (int64_t j = 0; j < j1 - j0; j++) {
                const T(vec) score_10 = T(load)(score + j * 80 + i);
                const T(vec) score_new12 = T(exp2)(score_10 - row_max_11);
                T(store)(score + j * 80 + i, score_new12);
                row_sum_in += score_new12;
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
        const T(vec) row_sum_13 = T(load)(row_sum + i);
        const T(mask) t_14 = row_sum_13 == 0.0f;
        const T(vec) t_15 = 1.0f / row_sum_13;
        for (int64_t e = 0; e < 64; e++) {
            T(store)(sum + e * 80 + i, T(pick)(t_14, T(splat)(0.0f), T(load)(sum + e * 80 + i) * t_15));
        }
    }
    if (saved_0) {
        /* row_sum = select(row_sum == 0.0f, 0.0f, (log(row_sum) + (row_max * 0.6931472f)) * 1.442695f) */
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            const T(vec) row_sum_16 = T(load)(row_sum + i);
            T(store)(row_sum + i, T(pick)(row_sum_16 == 0.0f, T(splat)(0.0f),
                (T(log)(row_sum_16) + (T(load)(row_max + i) * 0.6931472f)) * 1.442695f));
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
TARGET APART void T(softmax_kerple_few_begin)(const struct call *call, int64_t task, const struct share *share,
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
    /* query_turned = q * 0.18033688f */
    for (int64_t r = r0; r < r1; r++) {
        for (int64_t d_first = 0; d_first < 64; d_first += OF(64, 16, 8)) {
            UNROLL for (int64_t vector = 0, d = d_first; vector < OF(4, 2, 2); vector++, d += LANES) {
                T(store)(query_turned + r * 64 + d, T(load)(q + r / n_q * q_head + r % n_q * q_row + d) * 0.18033688f);
            }
        }
    }
}

/* Initialises the states: they contain no keys yet. */
TARGET APART void T(softmax_kerple_few_begin_2)(const struct call *call, int64_t task, const struct share *share,
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
TARGET APART void T(softmax_kerple_few_keys)(const struct call *call, int64_t task, const struct share *share,
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
    const float *const a_array = (const float *)call->array[ARRAY_a_array].at + g * members *
        call->array[ARRAY_a_array].stride[0];
    const int64_t a_array_stride_0 = call->array[ARRAY_a_array].stride[0];
    const float *const c_array = (const float *)call->array[ARRAY_c_array].at + g * members *
        call->array[ARRAY_c_array].stride[0];
    const int64_t c_array_stride_0 = call->array[ARRAY_c_array].stride[0];
    float *const score = (float *)(void *)(share->work + 0); /* [r: 64, j: 128 of 144] */
    float *const query_turned = (float *)(void *)(share->shared + 0); /* [r: 64, d: 64] */
    float *const state_max = (float *)(void *)(share->slots + 0); /* [chunk, r: 64] */
    float *const old_max = (float *)(void *)(share->work + 36864); /* [r: 64] */
    float *const state_sum = (float *)(void *)(share->slots + 256); /* [chunk, r: 64] */
    float *const state = (float *)(void *)(share->slots + 512); /* [chunk, r: 64, e: 64] */
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
        /* score[r][j] = sum over d of query_turned * k */
#if OF(1, 0, 0)
        T(dot3)(rows, j1 - j0, query_turned, k + j0 * k_row, k_row, score, attn_is_intel() ? 16 : 0);
#else
        T(dot3)(rows, j1 - j0, query_turned, k + j0 * k_row, k_row, score);
#endif
        /* score = score - (log1p(abs(c) * (abs(((r % n_q) + query_start) - j) * 1.0f)) * (abs(a) * 1.442695f)) */
        for (int64_t j = 0; j < j1 - j0; j += LANES) {
            const T(ints) t_0 = j0 + j + T(lane);
            for (int64_t r = 0; r < rows; r++) {
                T(store)(score + r * 144 + j, T(load)(score + r * 144 + j) - (T(log1p)(fabsf(c_array[(r / n_q) *
                    c_array_stride_0]) * (T(abs)(__builtin_convertvector(((r % n_q) + query_start) - t_0,
                    T(vec))) * 1.0f)) * (fabsf(a_array[(r / n_q) * a_array_stride_0]) * 1.442695f)));
            }
        }
        /* old_max = state_max */
        for (int64_t r = 0; r < rows; r += LANES) {
            T(store)(old_max + r, T(load)(state_max + (chunk - chunk0) * 4240 + r));
        }
        if ((query_start + 1) < j1) { /* the tile is partly outside the mask */
            /* score = select(j <= ((r % n_q) + query_start), score, -INFINITY) */
            for (int64_t j = 0; j < j1 - j0; j += LANES) {
                const T(ints) t_1 = j0 + j + T(lane);
                for (int64_t r = 0; r < rows; r++) {
                    T(store)(score + r * 144 + j, T(pick)(__builtin_convertvector(t_1 <= ((r % n_q) + query_start),
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
            const T(vec) old_max_2 = T(load)(old_max + r);
            const T(vec) old_max_new3 = T(exp2)(old_max_2 - T(load)(state_max + (chunk - chunk0) * 4240 + r));
            T(store)(old_max + r, old_max_new3);
            T(store)(state_sum + (chunk - chunk0) * 4240 + r, T(load)(state_sum + (chunk - chunk0) * 4240 + r) *
                old_max_new3);
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
        if (__builtin_expect(((query_start + 1) < j1) && !T(finite)(v + j0 * v_row, v_row, j1 - j0, 64),
            0)) { /* infinity and NaN affect only queries that see them */
            T(dot4)(rows, j1 - j0, score, v + j0 * v_row, v_row, state + (chunk - chunk0) * 4240);
            for (int64_t r = 0; r < rows; r++) {
                T(mask) in_region[OF(8, 16, 32)] = {0};
                const int64_t t_4 = (r % n_q) + query_start;
                for (int64_t j = 0; j < j1 - j0; j += LANES) {
                    in_region[j / LANES] = __builtin_convertvector((j0 + j + T(lane)) <= t_4, T(mask));
                }
                T(add_seen_lanes)(64, state + (chunk - chunk0) * 4240 + r * 64, score + r * 144, v + j0 * v_row, v_row,
                    j1 - j0, in_region);
            }
        } else
#if OF(1, 0, 0)
            T(dot5)(rows, j1 - j0, score, v + j0 * v_row, v_row, state + (chunk - chunk0) * 4240,
                attn_is_intel() ? 16 : 0);
#else
            T(dot5)(rows, j1 - j0, score, v + j0 * v_row, v_row, state + (chunk - chunk0) * 4240);
#endif
    }
}

/* Folds the slots of the current chunks, in order, for some elements of the states. */
TARGET APART void T(softmax_kerple_few_fold)(const struct call *call, int64_t task, const struct share *share,
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
            const T(vec) carried_max_5 = T(load)(carried_max + r);
            const T(vec) before_max_new6 = carried_max_5;
            const T(vec) state_max_7 = T(load)(state_max + (chunk - chunk0) * 4240 + r);
            const T(vec) carried_max_new8 = T(max)(T(load)(carried_max + r), state_max_7);
            T(store)(carried_max + r, carried_max_new8);
            const T(vec) carried_factor_new9 = T(exp2)(before_max_new6 - carried_max_new8);
            T(store)(carried_factor + r, carried_factor_new9);
            const T(vec) slot_factor_new10 = T(exp2)(state_max_7 - carried_max_new8);
            T(store)(slot_factor + r, slot_factor_new10);
            const T(vec) carried_sum_11 = T(load)(carried_sum + r);
            T(store)(carried_sum + r, carried_sum_11 * carried_factor_new9);
            T(store)(carried_sum_compensation + r, T(load)(carried_sum_compensation + r) * carried_factor_new9);
            T(add)(carried_sum + r, carried_sum_compensation + r, T(load)(state_sum + (chunk - chunk0) * 4240 + r) *
                slot_factor_new10, T(splat)(1));
        }
        /* before = carried; carried = carried * carried_factor; carried_compensation = carried_compensation *
           carried_factor; carried += s ... */
        for (int64_t r = r0; r < r1; r++) {
            for (int64_t e_first = 0; e_first < 64; e_first += OF(64, 16, 8)) {
                UNROLL for (int64_t vector = 0, e = e_first; vector < OF(4, 2, 2); vector++, e += LANES) {
                    const T(vec) carried_12 = T(load)(carried + r * 64 + e);
                    const float carried_factor_13 = carried_factor[r];
                    T(store)(carried + r * 64 + e, carried_12 * carried_factor_13);
                    T(store)(carried_compensation + r * 64 + e, T(load)(carried_compensation + r * 64 + e) *
                        carried_factor_13);
                    T(add)(carried + r * 64 + e, carried_compensation + r * 64 + e,
                        T(load)(state + (chunk - chunk0) * 4240 + r * 64 + e) * slot_factor[r], T(splat)(1));
                }
            }
        }
    }
}

/* Processes a tile of queries: reads the states. */
TARGET APART void T(softmax_kerple_few_queries)(const struct call *call, int64_t task, const struct share *share,
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
                const float carried_sum_14 = carried_sum[r];
                T(store)(result + r * 64 + e, (carried_sum_14 == 0.0f) ? T(splat)(0.0f) : T(load)(carried + r * 64 + e)
                    * (1.0f / carried_sum_14));
            }
        }
    }
    /* out = result */
    for (int64_t r = r0; r < r1; r++)
        for (int64_t e = 0; e < 64; e++)
            out[r / n_q * out_head + r % n_q * out_row + e] = result[r * 64 + e];
}

/* Computes head number `task`. Each thread on the head calls this with `share`. */
TARGET static void T(softmax_kerple_few)(const struct call *call, int64_t task, struct share *share)
{
    const int64_t n_k = call->p.n_k;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t chunks = n_k > 0 ? (n_k - 1) / 1024 + 1 : 1;
    for (int64_t iteration = share->number; iteration < ((rows + 63) / 64); iteration += share->threads)
        T(softmax_kerple_few_begin)(call, task, share, iteration);
    for (int64_t iteration = share->number; iteration < ((rows + 15) / 16); iteration += share->threads)
        T(softmax_kerple_few_begin_2)(call, task, share, iteration);
    synchronise(share);
    const int64_t first = 0;
    const int64_t length = segment_length(share, chunks - first);
    for (int64_t segment = share->number; first + segment * length < chunks; segment += share->threads) {
        share->chunk0 = first + segment * length;
        share->chunk1 = min(share->chunk0 + length, chunks);
        for (int64_t iteration = share->chunk0; iteration < share->chunk1; iteration++)
            T(softmax_kerple_few_keys)(call, task, share, iteration);
        for (int64_t group = 0; group < 16; group++) {
            await_segment(share, group, segment);
            const int64_t end = (group + 1) * ((rows + 15) / 16) / 16;
            for (int64_t iteration = group * ((rows + 15) / 16) / 16; iteration < end; iteration++)
                T(softmax_kerple_few_fold)(call, task, share, iteration);
            pass_segment(share, group, segment);
        }
    }
    share->segments += (max(chunks - first, 0) + length - 1) / length;
    synchronise(share);
    for (int64_t iteration = share->number; iteration < ((rows + 15) / 16); iteration += share->threads)
        T(softmax_kerple_few_queries)(call, task, share, iteration);
    synchronise(share);
}

/* Computes task number `task`: one tile of queries of one head. `work` is this thread's workspace. */
TARGET static void T(softmax_kerple_saved)(const struct call *call, int64_t task, unsigned char *work)
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
    const float *const a_array = (const float *)call->array[ARRAY_a_array].at + g * members *
        call->array[ARRAY_a_array].stride[0] + m * call->array[ARRAY_a_array].stride[0];
    const float *const c_array = (const float *)call->array[ARRAY_c_array].at + g * members *
        call->array[ARRAY_c_array].stride[0] + m * call->array[ARRAY_c_array].stride[0];
    float *const score = (float *)(void *)(work + 0); /* [j: 288, i: 64 of 80] */
    float *const row_max = (float *)(void *)(work + 92160); /* [i: 64] */
    float *const old_max = (float *)(void *)(work + 92416); /* [i: 64] */
    float *const row_sum = (float *)(void *)(work + 92672); /* [i: 64] */
    float *const row_sum_compensation = (float *)(void *)(work + 92928); /* [i: 64] */
    float *const saved_0 = (float *)call->array[ARRAY_saved_0].at + (b * call->p.heads + (g * members + m)) *
        call->p.n_q;
    float *const q_tile = (float *)(void *)(work + 93184); /* [d: 64, i: 64 of 80] */
    struct remembered *const of_difference_known = (struct remembered *)(void *)(work + 113664);
    float *const of_difference_kept = (float *)(void *)(work + 113728); /* [(LANES + 65888) differences] */
    /* q_tile = q, with zeros beyond the last row */
    T(transpose_padded)(q + i0 * q_row, q_row, i1 - i0, 64, q_tile, 80, LANES);
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
        /* score[j][i] = sum over d of k * q_tile */
        T(dot6)(round_up(i1 - i0, LANES), j1 - j0, k + j0 * k_row, k_row, q_tile, score);
        /* the elements of of_difference that this thread has for the head */
        const int64_t of_difference_first = i0 - j1 + 1;
        recall(of_difference_known, ((call->p.query_start ? b : 0) * kv_heads + g) * members + m, of_difference_first,
            of_difference_first + (LANES + 352), 1 - n_k, n_q + n_k + (LANES + 352), 65536);
        float *const of_difference = of_difference_kept + (of_difference_first - of_difference_known->base);
        for (int above = 0; above < 2; above++) { /* the differences below the known ones, and those above */
#if OF(1, 0, 0)
            const int64_t difference_3680 = above ? of_difference_known->to - of_difference_first : 0;
            const int64_t difference_3681 = above ? 368 : of_difference_known->from - of_difference_first;
            if (difference_3680 >= difference_3681) continue;
            /* of_difference = log1p(abs(c) * (abs(((difference_368 + (lo() - hi())) + query_start) + 1) * 1.0f)) *
               (abs(a) * 1.442695f) */
#endif
#if OF(0, 1, 0)
            const int64_t difference_3600 = above ? of_difference_known->to - of_difference_first : 0;
            const int64_t difference_3601 = above ? 360 : of_difference_known->from - of_difference_first;
            if (difference_3600 >= difference_3601) continue;
            /* of_difference = log1p(abs(c) * (abs(((difference_360 + (lo() - hi())) + query_start) + 1) * 1.0f)) *
               (abs(a) * 1.442695f) */
#endif
#if OF(0, 0, 1)
            const int64_t difference_3560 = above ? of_difference_known->to - of_difference_first : 0;
            const int64_t difference_3561 = above ? 356 : of_difference_known->from - of_difference_first;
            if (difference_3560 >= difference_3561) continue;
            /* of_difference = log1p(abs(c) * (abs(((difference_356 + (lo() - hi())) + query_start) + 1) * 1.0f)) *
               (abs(a) * 1.442695f) */
#endif
            const float t_0 = fabsf(c_array[0]);
            const int64_t t_1 = i0 - j1;
            const float t_2 = fabsf(a_array[0]) * 1.442695f;
#if OF(1, 0, 0)
            for (int64_t difference_368 = difference_3680; difference_368 < difference_3681; difference_368 += 16) {
                T(store)(of_difference + difference_368, T(log1p)(t_0 * (__builtin_convertvector((((((difference_368 +
                    T(lane)) + t_1) + query_start) + 1) ^ (((((difference_368 + T(lane)) + t_1) + query_start) + 1) >>
                    63)) - (((((difference_368 + T(lane)) + t_1) + query_start) + 1) >> 63), T(vec)) * 1.0f)) * t_2);
#endif
#if OF(0, 1, 0)
            for (int64_t difference_360 = difference_3600; difference_360 < difference_3601; difference_360 += 8) {
                T(store)(of_difference + difference_360, T(log1p)(t_0 * (__builtin_convertvector((((((difference_360 +
                    T(lane)) + t_1) + query_start) + 1) ^ (((((difference_360 + T(lane)) + t_1) + query_start) + 1) >>
                    63)) - (((((difference_360 + T(lane)) + t_1) + query_start) + 1) >> 63), T(vec)) * 1.0f)) * t_2);
#endif
#if OF(0, 0, 1)
            for (int64_t difference_356 = difference_3560; difference_356 < difference_3561; difference_356 += 4) {
                T(store)(of_difference + difference_356, T(log1p)(t_0 * (__builtin_convertvector((((((difference_356 +
                    T(lane)) + t_1) + query_start) + 1) ^ (((((difference_356 + T(lane)) + t_1) + query_start) + 1) >>
                    63)) - (((((difference_356 + T(lane)) + t_1) + query_start) + 1) >> 63), T(vec)) * 1.0f)) * t_2);
#endif
            }
        }
        extend_known(of_difference_known, of_difference_first, of_difference_first + (LANES + 352));
        /* old_max = row_max */
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            T(store)(old_max + i, T(load)(row_max + i));
        }
        if ((i0 + query_start + 1) < j1) { /* the tile is partly outside the mask */
            /* score = select(j <= (i + query_start), score - of_difference, -INFINITY); row_max max= score */
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                const T(ints) t_3 = (i0 + i + T(lane)) + query_start;
                T(vec) row_max_in = T(load)(row_max + i);
                for (int64_t j = 0; j < j1 - j0; j++) {
                    const T(vec) score_4 = T(load)(score + j * 80 + i);
                    const T(vec) score_new5 = T(pick)(__builtin_convertvector((j0 + j) <= t_3, T(mask)),
                        score_4 - T(load)(of_difference + ((i0 + i) - (j0 + j) - (i0 - j1) - 1)), T(splat)(-INFINITY));
                    T(store)(score + j * 80 + i, score_new5);
                    row_max_in = T(max)(row_max_in, score_new5);
                }
                T(store)(row_max + i, row_max_in);
            }
        }
        if (!((i0 + query_start + 1) < j1)) { /* the tile is wholly inside the mask */
            /* score = score - of_difference; row_max max= score */
            for (int64_t i_first = 0; i_first < i1 - i0; i_first += OF(64, 16, 8)) {
                T(vec) row_max_in[OF(4, 2, 2)];
                UNROLL for (int64_t vector = 0, i = i_first; vector < OF(4, 2, 2); vector++, i += LANES) {
                    row_max_in[vector] = T(load)(row_max + i);
                }
                for (int64_t j = 0; j < j1 - j0; j++) {
                    UNROLL for (int64_t vector = 0, i = i_first; vector < OF(4, 2, 2); vector++, i += LANES) {
                        const T(vec) score_6 = T(load)(score + j * 80 + i);
                        const T(vec) score_new7 = score_6 - T(load)(of_difference + ((i0 + i) - (j0 + j) - (i0 - j1) -
                            1));
                        T(store)(score + j * 80 + i, score_new7);
                        row_max_in[vector] = T(max)(row_max_in[vector], score_new7);
                    }
                }
                UNROLL for (int64_t vector = 0, i = i_first; vector < OF(4, 2, 2); vector++, i += LANES) {
                    T(store)(row_max + i, row_max_in[vector]);
                }
            }
        }
        /* old_max = exp2(old_max - row_max); row_sum = row_sum * old_max;
           row_sum_compensation = row_sum_compensation * old_max */
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            const T(vec) old_max_8 = T(load)(old_max + i);
            const T(vec) old_max_new9 = T(exp2)(old_max_8 - T(load)(row_max + i));
            T(store)(old_max + i, old_max_new9);
            T(store)(row_sum + i, T(load)(row_sum + i) * old_max_new9);
            T(store)(row_sum_compensation + i, T(load)(row_sum_compensation + i) * old_max_new9);
        }
        /* score = exp2(score - row_max); row_sum += score */
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            const T(vec) row_max_11 = T(load)(row_max + i);
            T(vec) row_sum_in = (T(vec)){0};
            for (int64_t j = 0; j < j1 - j0; j++) {
                const T(vec) score_10 = T(load)(score + j * 80 + i);
                const T(vec) score_new12 = T(exp2)(score_10 - row_max_11);
                T(store)(score + j * 80 + i, score_new12);
                row_sum_in += score_new12;
            }
            T(add)(row_sum + i, row_sum_compensation + i, row_sum_in, T(splat)(1));
        }
    }
    /* row_sum = select(row_sum == 0.0f, 0.0f, (log(row_sum) + (row_max * 0.6931472f)) * 1.442695f) */
    for (int64_t i = 0; i < i1 - i0; i += LANES) {
        const T(vec) row_sum_13 = T(load)(row_sum + i);
        T(store)(row_sum + i, T(pick)(row_sum_13 == 0.0f, T(splat)(0.0f),
            (T(log)(row_sum_13) + (T(load)(row_max + i) * 0.6931472f)) * 1.442695f));
    }
    /* saved_0 = row_sum */
    for (int64_t i = 0; i < i1 - i0; i++)
        saved_0[(i0 + i)] = row_sum[i];
}

/* Computes task number `task`: one tile of queries of one head. `work` is this thread's workspace. */
TARGET static void T(softmax_kerple_row_sums)(const struct call *call, int64_t task, unsigned char *work)
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
TARGET static void T(softmax_kerple_dq_sums1)(const struct call *call, int64_t task, unsigned char *work)
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
    const float *const a_array = (const float *)call->array[ARRAY_a_array].at + g * members *
        call->array[ARRAY_a_array].stride[0] + m * call->array[ARRAY_a_array].stride[0];
    const float *const c_array = (const float *)call->array[ARRAY_c_array].at + g * members *
        call->array[ARRAY_c_array].stride[0] + m * call->array[ARRAY_c_array].stride[0];
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
    float *const weight_4 = (float *)(void *)(work + 138240); /* [j: 144, i: 64 of 80] */
    float *const sum = (float *)(void *)(work + 184320); /* [d: 64, i: 64 of 80] */
    float *const sum_compensation = (float *)(void *)(work + 204800); /* [d: 64, i: 64 of 80] */
    float *const row_sum = (float *)(void *)(work + 225280); /* [i: 64] */
    float *const row_sum_compensation = (float *)(void *)(work + 225536); /* [i: 64] */
    float *const unit_sum = (float *)(void *)(work + 225792); /* [one: LANES] */
    float *const unit_sum_compensation = (float *)(void *)(work + 225856); /* [one: LANES] */
    float *const row_sum_2 = (float *)(void *)(work + 225920); /* [i: 64] */
    float *const row_sum_2_compensation = (float *)(void *)(work + 226176); /* [i: 64] */
    float *const unit_sum_2 = (float *)(void *)(work + 226432); /* [one: LANES] */
    float *const unit_sum_2_compensation = (float *)(void *)(work + 226496); /* [one: LANES] */
    float *const dq = call->array[ARRAY_dq].at ? (float *)call->array[ARRAY_dq].at + (g * members + m) *
        call->array[ARRAY_dq].strides.head : NULL;
    const int64_t dq_row = call->array[ARRAY_dq].strides.row;
    const int64_t dq_batch = call->array[ARRAY_dq].strides.batch;
    float *const partial_0 = call->array[ARRAY_partial_0].at ? (float *)call->array[ARRAY_partial_0].at + ((g * members
        + m) * 16 + unit16) * 1 : NULL;
    float *const partial_1 = call->array[ARRAY_partial_1].at ? (float *)call->array[ARRAY_partial_1].at + ((g * members
        + m) * 16 + unit16) * 1 : NULL;
    float *const q_tile = (float *)(void *)(work + 226560); /* [d: 64, i: 64 of 80] */
    float *const dout_tile = (float *)(void *)(work + 247040); /* [e: 64, i: 64 of 80] */
    float *const saved_0_tile = (float *)(void *)(work + 267520); /* [i: 64] */
    float *const row_0_tile = (float *)(void *)(work + 267776); /* [i: 64] */
    struct remembered *const of_difference_known = (struct remembered *)(void *)(work + 268032);
    float *const of_difference_kept = (float *)(void *)(work + 268096); /* [(LANES + 65744) differences] */
    struct remembered *const of_difference_2_known = (struct remembered *)(void *)(work + 531136);
    float *const of_difference_2_kept = (float *)(void *)(work + 531200); /* [(LANES + 65744) differences] */
    struct remembered *const of_difference_3_known = (struct remembered *)(void *)(work + 794240);
    float *const of_difference_3_kept = (float *)(void *)(work + 794304); /* [(LANES + 65744) differences] */
    if (partial_0 || partial_1) {
        /* unit_sum = 0.0f; unit_sum_compensation = 0.0f; unit_sum_2 = 0.0f; unit_sum_2_compensation = 0.0f */
        for (int64_t one = 0; one < 1; one += LANES) {
            T(store)(unit_sum + one, T(splat)(0.0f));
            T(store)(unit_sum_compensation + one, T(splat)(0.0f));
            T(store)(unit_sum_2 + one, T(splat)(0.0f));
            T(store)(unit_sum_2_compensation + one, T(splat)(0.0f));
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
            /* q_tile = q_tile * 0.18033688f; sum = 0.0f; sum_compensation = 0.0f */
            for (int64_t d = 0; d < 64; d++) {
                for (int64_t i = 0; i < i1 - i0; i += LANES) {
                    T(store)(q_tile + d * 80 + i, T(load)(q_tile + d * 80 + i) * 0.18033688f);
                    T(store)(sum + d * 80 + i, T(splat)(0.0f));
                    T(store)(sum_compensation + d * 80 + i, T(splat)(0.0f));
                }
            }
            if (partial_0 || partial_1) {
                /* row_sum = 0.0f; row_sum_compensation = 0.0f; row_sum_2 = 0.0f; row_sum_2_compensation = 0.0f */
                for (int64_t i = 0; i < i1 - i0; i += LANES) {
                    T(store)(row_sum + i, T(splat)(0.0f));
                    T(store)(row_sum_compensation + i, T(splat)(0.0f));
                    T(store)(row_sum_2 + i, T(splat)(0.0f));
                    T(store)(row_sum_2_compensation + i, T(splat)(0.0f));
                }
            }
            for (int64_t j0 = 0, j_end = min(n_k, i1 + query_start); j0 < j_end; j0 += 144) {
                const int64_t j1 = min(j0 + 144, j_end);
                /* score[j][i] = sum over d of k * q_tile */
                T(dot6)(round_up(i1 - i0, LANES), j1 - j0, k + b * k_batch + j0 * k_row, k_row, q_tile, score);
                /* score_2[j][i] = sum over e of v * dout_tile */
                T(dot7)(round_up(i1 - i0, LANES), j1 - j0, v + b * v_batch + j0 * v_row, v_row, dout_tile, score_2,
                    k + b * k_batch + j0 * k_row, k_row);
                /* the elements of of_difference that this thread has for the head */
                const int64_t of_difference_first = i0 - j1 + 1;
                recall(of_difference_known, ((call->p.query_start ? b : 0) * kv_heads + g) * members + m,
                    of_difference_first, of_difference_first + (LANES + 208), 1 - n_k, n_q + n_k + (LANES + 208),
                    65536);
                float *const of_difference = of_difference_kept + (of_difference_first - of_difference_known->base);
                for (int above = 0; above < 2; above++) { /* the differences below the known ones, and those above */
#if OF(1, 0, 0)
                    const int64_t difference_2240 = above ? of_difference_known->to - of_difference_first : 0;
                    const int64_t difference_2241 = above ? 224 : of_difference_known->from - of_difference_first;
                    if (difference_2240 >= difference_2241) continue;
                    /* of_difference = log1p(abs(c) * (abs(((difference_224 + (lo() - hi())) + query_start) + 1) *
                       1.0f)) * (abs(a) * 1.442695f) */
#endif
#if OF(0, 1, 0)
                    const int64_t difference_2160 = above ? of_difference_known->to - of_difference_first : 0;
                    const int64_t difference_2161 = above ? 216 : of_difference_known->from - of_difference_first;
                    if (difference_2160 >= difference_2161) continue;
                    /* of_difference = log1p(abs(c) * (abs(((difference_216 + (lo() - hi())) + query_start) + 1) *
                       1.0f)) * (abs(a) * 1.442695f) */
#endif
#if OF(0, 0, 1)
                    const int64_t difference_2120 = above ? of_difference_known->to - of_difference_first : 0;
                    const int64_t difference_2121 = above ? 212 : of_difference_known->from - of_difference_first;
                    if (difference_2120 >= difference_2121) continue;
                    /* of_difference = log1p(abs(c) * (abs(((difference_212 + (lo() - hi())) + query_start) + 1) *
                       1.0f)) * (abs(a) * 1.442695f) */
#endif
                    const float t_0 = fabsf(c_array[0]);
                    const int64_t t_1 = i0 - j1;
                    const float t_2 = fabsf(a_array[0]) * 1.442695f;
#if OF(1, 0, 0)
                    for (int64_t difference_224 = difference_2240; difference_224 < difference_2241;
                        difference_224 += 16) {
                        T(store)(of_difference + difference_224, T(log1p)(t_0 *
                            (__builtin_convertvector((((((difference_224 + T(lane)) + t_1) + query_start) + 1) ^
                            (((((difference_224 + T(lane)) + t_1) + query_start) + 1) >> 63)) - (((((difference_224 +
                            T(lane)) + t_1) + query_start) + 1) >> 63), T(vec)) * 1.0f)) * t_2);
#endif
#if OF(0, 1, 0)
                    for (int64_t difference_216 = difference_2160; difference_216 < difference_2161;
                        difference_216 += 8) {
                        T(store)(of_difference + difference_216, T(log1p)(t_0 *
                            (__builtin_convertvector((((((difference_216 + T(lane)) + t_1) + query_start) + 1) ^
                            (((((difference_216 + T(lane)) + t_1) + query_start) + 1) >> 63)) - (((((difference_216 +
                            T(lane)) + t_1) + query_start) + 1) >> 63), T(vec)) * 1.0f)) * t_2);
#endif
#if OF(0, 0, 1)
                    for (int64_t difference_212 = difference_2120; difference_212 < difference_2121;
                        difference_212 += 4) {
                        T(store)(of_difference + difference_212, T(log1p)(t_0 *
                            (__builtin_convertvector((((((difference_212 + T(lane)) + t_1) + query_start) + 1) ^
                            (((((difference_212 + T(lane)) + t_1) + query_start) + 1) >> 63)) - (((((difference_212 +
                            T(lane)) + t_1) + query_start) + 1) >> 63), T(vec)) * 1.0f)) * t_2);
#endif
                    }
                }
                extend_known(of_difference_known, of_difference_first, of_difference_first + (LANES + 208));
                /* the elements of of_difference_2 that this thread has for the head */
                const int64_t of_difference_2_first = i0 - j1 + 1;
                recall(of_difference_2_known, ((call->p.query_start ? b : 0) * kv_heads + g) * members + m,
                    of_difference_2_first, of_difference_2_first + (LANES + 208), 1 - n_k, n_q + n_k + (LANES + 208),
                    65536);
                float *const of_difference_2 = of_difference_2_kept + (of_difference_2_first -
                    of_difference_2_known->base);
                if (partial_0) {
                    for (int above = 0; above < 2; above++) { /* the differences below the known ones,
                        and those above */
#if OF(1, 0, 0)
                        const int64_t difference_2240 = above ? of_difference_2_known->to - of_difference_2_first : 0;
                        const int64_t difference_2241 = above ? 224 : of_difference_2_known->from -
                            of_difference_2_first;
                        if (difference_2240 >= difference_2241) continue;
                        /* of_difference_2 = select(a < 0.0f, -1.0f, 1.0f) * log1p(abs(c) * (abs(((difference_224 +
                           (lo() - hi())) + query_start) + 1) * 1.0f)) */
#endif
#if OF(0, 1, 0)
                        const int64_t difference_2160 = above ? of_difference_2_known->to - of_difference_2_first : 0;
                        const int64_t difference_2161 = above ? 216 : of_difference_2_known->from -
                            of_difference_2_first;
                        if (difference_2160 >= difference_2161) continue;
                        /* of_difference_2 = select(a < 0.0f, -1.0f, 1.0f) * log1p(abs(c) * (abs(((difference_216 +
                           (lo() - hi())) + query_start) + 1) * 1.0f)) */
#endif
#if OF(0, 0, 1)
                        const int64_t difference_2120 = above ? of_difference_2_known->to - of_difference_2_first : 0;
                        const int64_t difference_2121 = above ? 212 : of_difference_2_known->from -
                            of_difference_2_first;
                        if (difference_2120 >= difference_2121) continue;
                        /* of_difference_2 = select(a < 0.0f, -1.0f, 1.0f) * log1p(abs(c) * (abs(((difference_212 +
                           (lo() - hi())) + query_start) + 1) * 1.0f)) */
#endif
                        const float t_3 = (a_array[0] < 0.0f) ? (-1.0f) : 1.0f;
                        const float t_4 = fabsf(c_array[0]);
                        const int64_t t_5 = i0 - j1;
#if OF(1, 0, 0)
                        for (int64_t difference_224 = difference_2240; difference_224 < difference_2241;
                            difference_224 += 16) {
                            T(store)(of_difference_2 + difference_224, t_3 * T(log1p)(t_4 *
                                (__builtin_convertvector((((((difference_224 + T(lane)) + t_5) + query_start) + 1) ^
                                (((((difference_224 + T(lane)) + t_5) + query_start) + 1) >> 63)) - (((((difference_224
                                + T(lane)) + t_5) + query_start) + 1) >> 63), T(vec)) * 1.0f)));
#endif
#if OF(0, 1, 0)
                        for (int64_t difference_216 = difference_2160; difference_216 < difference_2161;
                            difference_216 += 8) {
                            T(store)(of_difference_2 + difference_216, t_3 * T(log1p)(t_4 *
                                (__builtin_convertvector((((((difference_216 + T(lane)) + t_5) + query_start) + 1) ^
                                (((((difference_216 + T(lane)) + t_5) + query_start) + 1) >> 63)) - (((((difference_216
                                + T(lane)) + t_5) + query_start) + 1) >> 63), T(vec)) * 1.0f)));
#endif
#if OF(0, 0, 1)
                        for (int64_t difference_212 = difference_2120; difference_212 < difference_2121;
                            difference_212 += 4) {
                            T(store)(of_difference_2 + difference_212, t_3 * T(log1p)(t_4 *
                                (__builtin_convertvector((((((difference_212 + T(lane)) + t_5) + query_start) + 1) ^
                                (((((difference_212 + T(lane)) + t_5) + query_start) + 1) >> 63)) - (((((difference_212
                                + T(lane)) + t_5) + query_start) + 1) >> 63), T(vec)) * 1.0f)));
#endif
                        }
                    }
                    extend_known(of_difference_2_known, of_difference_2_first, of_difference_2_first + (LANES + 208));
                }
                /* score = exp2((score - of_difference) - saved_0_tile); score_2 = score_2 + row_0_tile;
                   weight_3 = score_2 * (score * 0.125f); wei ... */
                for (int64_t i = 0; i < i1 - i0; i += LANES) {
                    const T(vec) saved_0_tile_7 = T(load)(saved_0_tile + i);
                    const T(vec) row_0_tile_10 = T(load)(row_0_tile + i);
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        const T(vec) score_6 = T(load)(score + j * 80 + i);
                        const T(vec) score_new8 = T(exp2)((score_6 - T(load)(of_difference + ((i0 + i) - (j0 + j) - (i0
                            - j1) - 1))) - saved_0_tile_7);
                        T(store)(score + j * 80 + i, score_new8);
                        const T(vec) score_2_9 = T(load)(score_2 + j * 80 + i);
                        const T(vec) score_2_new11 = score_2_9 + row_0_tile_10;
                        T(store)(score_2 + j * 80 + i, score_2_new11);
                        T(store)(weight_3 + j * 80 + i, score_2_new11 * (score_new8 * 0.125f));
                        T(store)(weight_4 + j * 80 + i, score_2_new11 * (-(score_new8 * T(load)(of_difference_2 + ((i0 +
                            i) - (j0 + j) - (i0 - j1) - 1)))));
                    }
                }
                /* the elements of of_difference_3 that this thread has for the head */
                const int64_t of_difference_3_first = i0 - j1 + 1;
                recall(of_difference_3_known, ((call->p.query_start ? b : 0) * kv_heads + g) * members + m,
                    of_difference_3_first, of_difference_3_first + (LANES + 208), 1 - n_k, n_q + n_k + (LANES + 208),
                    65536);
                float *const of_difference_3 = of_difference_3_kept + (of_difference_3_first -
                    of_difference_3_known->base);
                if (partial_1) {
                    for (int above = 0; above < 2; above++) { /* the differences below the known ones,
                        and those above */
#if OF(1, 0, 0)
                        const int64_t difference_2240 = above ? of_difference_3_known->to - of_difference_3_first : 0;
                        const int64_t difference_2241 = above ? 224 : of_difference_3_known->from -
                            of_difference_3_first;
                        if (difference_2240 >= difference_2241) continue;
                        /* of_difference_3 = abs(a) * ((select(c < 0.0f, -1.0f,
                           1.0f) * abs(((difference_224 + (lo() - hi())) + query_start) + 1)) / (1.0f  ... */
#endif
#if OF(0, 1, 0)
                        const int64_t difference_2160 = above ? of_difference_3_known->to - of_difference_3_first : 0;
                        const int64_t difference_2161 = above ? 216 : of_difference_3_known->from -
                            of_difference_3_first;
                        if (difference_2160 >= difference_2161) continue;
                        /* of_difference_3 = abs(a) * ((select(c < 0.0f, -1.0f,
                           1.0f) * abs(((difference_216 + (lo() - hi())) + query_start) + 1)) / (1.0f  ... */
#endif
#if OF(0, 0, 1)
                        const int64_t difference_2120 = above ? of_difference_3_known->to - of_difference_3_first : 0;
                        const int64_t difference_2121 = above ? 212 : of_difference_3_known->from -
                            of_difference_3_first;
                        if (difference_2120 >= difference_2121) continue;
                        /* of_difference_3 = abs(a) * ((select(c < 0.0f, -1.0f,
                           1.0f) * abs(((difference_212 + (lo() - hi())) + query_start) + 1)) / (1.0f  ... */
#endif
                        const float t_12 = fabsf(a_array[0]);
                        const float c_array_13 = c_array[0];
                        const float t_14 = (c_array_13 < 0.0f) ? (-1.0f) : 1.0f;
                        const int64_t t_15 = i0 - j1;
                        const float t_17 = fabsf(c_array_13);
#if OF(1, 0, 0)
                        for (int64_t difference_224 = difference_2240; difference_224 < difference_2241;
                            difference_224 += 16) {
                            const T(ints) t_16 = (((((difference_224 + T(lane)) + t_15) + query_start) + 1) ^
                                (((((difference_224 + T(lane)) + t_15) + query_start) + 1) >> 63)) - (((((difference_224
                                + T(lane)) + t_15) + query_start) + 1) >> 63);
                            T(store)(of_difference_3 + difference_224, t_12 * ((t_14 * __builtin_convertvector(t_16,
                                T(vec))) / (1.0f + (t_17 * (__builtin_convertvector(t_16, T(vec)) * 1.0f)))));
#endif
#if OF(0, 1, 0)
                        for (int64_t difference_216 = difference_2160; difference_216 < difference_2161;
                            difference_216 += 8) {
                            const T(ints) t_16 = (((((difference_216 + T(lane)) + t_15) + query_start) + 1) ^
                                (((((difference_216 + T(lane)) + t_15) + query_start) + 1) >> 63)) - (((((difference_216
                                + T(lane)) + t_15) + query_start) + 1) >> 63);
                            T(store)(of_difference_3 + difference_216, t_12 * ((t_14 * __builtin_convertvector(t_16,
                                T(vec))) / (1.0f + (t_17 * (__builtin_convertvector(t_16, T(vec)) * 1.0f)))));
#endif
#if OF(0, 0, 1)
                        for (int64_t difference_212 = difference_2120; difference_212 < difference_2121;
                            difference_212 += 4) {
                            const T(ints) t_16 = (((((difference_212 + T(lane)) + t_15) + query_start) + 1) ^
                                (((((difference_212 + T(lane)) + t_15) + query_start) + 1) >> 63)) - (((((difference_212
                                + T(lane)) + t_15) + query_start) + 1) >> 63);
                            T(store)(of_difference_3 + difference_212, t_12 * ((t_14 * __builtin_convertvector(t_16,
                                T(vec))) / (1.0f + (t_17 * (__builtin_convertvector(t_16, T(vec)) * 1.0f)))));
#endif
                        }
                    }
                    extend_known(of_difference_3_known, of_difference_3_first, of_difference_3_first + (LANES + 208));
                    /* score = score_2 * neg(score * of_difference_3) */
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        for (int64_t i = 0; i < i1 - i0; i += LANES) {
                            T(store)(score + j * 80 + i, T(load)(score_2 + j * 80 + i) * (-(T(load)(score + j * 80 + i)
                                * T(load)(of_difference_3 + ((i0 + i) - (j0 + j) - (i0 - j1) - 1)))));
                        }
                    }
                }
                if ((i0 + query_start + 1) < j1) { /* the tile is partly outside the mask */
                    if (dq) {
                        /* weight_3 = select(j <= (i + query_start), weight_3, 0.0f) */
                        for (int64_t i = 0; i < i1 - i0; i += LANES) {
                            const T(ints) t_18 = (i0 + i + T(lane)) + query_start;
                            for (int64_t j = 0; j < j1 - j0; j++) {
                                T(store)(weight_3 + j * 80 + i, T(pick)(__builtin_convertvector((j0 + j) <= t_18,
                                    T(mask)), T(load)(weight_3 + j * 80 + i), T(splat)(0.0f)));
                            }
                        }
                    }
                }
                if (dq) {
                    /* sum[d][i] += sum over j of k * weight_3 */
                    if (__builtin_expect(((i0 + query_start + 1) < j1) && !T(finite)(k + b * k_batch + j0 * k_row,
                        k_row, j1 - j0, 64), 0)) { /* infinity and NaN affect only queries that see them */
                        T(dot8)(round_up(i1 - i0, LANES), j1 - j0, k + b * k_batch + j0 * k_row, k_row, weight_3, sum,
                            sum_compensation);
                        for (int64_t j = 0; j < j1 - j0; j++) {
                            T(mask) in_region[OF(4, 8, 16)] = {0};
                            if (T(finite)(k + b * k_batch + j0 * k_row + j * k_row, 1, 64, 1)) continue;
                            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                                in_region[i / LANES] = __builtin_convertvector((j0 + j) <= ((i0 + i + T(lane)) +
                                    query_start), T(mask));
                            }
                            T(add_seen)(64, sum, 80, k + b * k_batch + j0 * k_row + j * k_row, 1, weight_3 + j * 80,
                                in_region, i1 - i0);
                        }
                    } else
                        T(dot9)(round_up(i1 - i0, LANES), j1 - j0, k + b * k_batch + j0 * k_row, k_row, weight_3, sum,
                            sum_compensation);
                }
                if ((i0 + query_start + 1) < j1) { /* the tile is partly outside the mask */
                    if (partial_0) {
                        /* weight_4 = select(j <= (i + query_start), weight_4, 0.0f) */
                        for (int64_t i = 0; i < i1 - i0; i += LANES) {
                            const T(ints) t_19 = (i0 + i + T(lane)) + query_start;
                            for (int64_t j = 0; j < j1 - j0; j++) {
                                T(store)(weight_4 + j * 80 + i, T(pick)(__builtin_convertvector((j0 + j) <= t_19,
                                    T(mask)), T(load)(weight_4 + j * 80 + i), T(splat)(0.0f)));
                            }
                        }
                    }
                }
                if (partial_0) {
                    /* row_sum += weight_4 */
                    for (int64_t i_first = 0; i_first < i1 - i0; i_first += OF(64, 16, 8)) {
                        T(vec) row_sum_in[OF(4, 2, 2)];
                        UNROLL for (int64_t vector = 0, i = i_first; vector < OF(4, 2, 2); vector++, i += LANES) {
                            row_sum_in[vector] = (T(vec)){0};
                        }
                        for (int64_t j = 0; j < j1 - j0; j++) {
                            UNROLL for (int64_t vector = 0, i = i_first; vector < OF(4, 2, 2); vector++, i += LANES) {
                                row_sum_in[vector] += T(load)(weight_4 + j * 80 + i);
                            }
                        }
                        UNROLL for (int64_t vector = 0, i = i_first; vector < OF(4, 2, 2); vector++, i += LANES) {
                            T(add)(row_sum + i, row_sum_compensation + i, row_sum_in[vector], T(splat)(1));
                        }
                    }
                }
                if ((i0 + query_start + 1) < j1) { /* the tile is partly outside the mask */
                    if (partial_1) {
                        /* score = select(j <= (i + query_start), score, 0.0f) */
                        for (int64_t i = 0; i < i1 - i0; i += LANES) {
                            const T(ints) t_20 = (i0 + i + T(lane)) + query_start;
                            for (int64_t j = 0; j < j1 - j0; j++) {
                                T(store)(score + j * 80 + i, T(pick)(__builtin_convertvector((j0 + j) <= t_20, T(mask)),
                                    T(load)(score + j * 80 + i), T(splat)(0.0f)));
                            }
                        }
                    }
                }
                if (partial_1) {
                    /* row_sum_2 += score */
                    for (int64_t i_first = 0; i_first < i1 - i0; i_first += OF(64, 16, 8)) {
                        T(vec) row_sum_2_in[OF(4, 2, 2)];
                        UNROLL for (int64_t vector = 0, i = i_first; vector < OF(4, 2, 2); vector++, i += LANES) {
                            row_sum_2_in[vector] = (T(vec)){0};
                        }
                        for (int64_t j = 0; j < j1 - j0; j++) {
                            UNROLL for (int64_t vector = 0, i = i_first; vector < OF(4, 2, 2); vector++, i += LANES) {
                                row_sum_2_in[vector] += T(load)(score + j * 80 + i);
                            }
                        }
                        UNROLL for (int64_t vector = 0, i = i_first; vector < OF(4, 2, 2); vector++, i += LANES) {
                            T(add)(row_sum_2 + i, row_sum_2_compensation + i, row_sum_2_in[vector], T(splat)(1));
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
                for (int64_t one = 0; one < 1; one++) {
                    T(vec) lane_sums = T(splat)(0);
                    for (int64_t i = 0; i < i1 - i0; i += LANES) {
                        const T(vec) row_sum_21 = T(load)(row_sum + i);
                        const T(vec) term = row_sum_21;
                        lane_sums += i + LANES <= i1 - i0 ? term : T(pick)(__builtin_convertvector(i + T(lane) < i1 -
                            i0, T(mask)), term, T(splat)(0));
                    }
                    const float total = T(lane_sum)(lane_sums);
                    const float more = unit_sum_compensation[one] + total, sum_then = unit_sum[one] + more;
                    unit_sum_compensation[one] = more - (sum_then - unit_sum[one]);
                    unit_sum[one] = sum_then;
                }
            }
            if (partial_1) {
                /* unit_sum_2 += row_sum_2 */
                for (int64_t one = 0; one < 1; one++) {
                    T(vec) lane_sums = T(splat)(0);
                    for (int64_t i = 0; i < i1 - i0; i += LANES) {
                        const T(vec) row_sum_2_22 = T(load)(row_sum_2 + i);
                        const T(vec) term = row_sum_2_22;
                        lane_sums += i + LANES <= i1 - i0 ? term : T(pick)(__builtin_convertvector(i + T(lane) < i1 -
                            i0, T(mask)), term, T(splat)(0));
                    }
                    const float total = T(lane_sum)(lane_sums);
                    const float more = unit_sum_2_compensation[one] + total, sum_then = unit_sum_2[one] + more;
                    unit_sum_2_compensation[one] = more - (sum_then - unit_sum_2[one]);
                    unit_sum_2[one] = sum_then;
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
        for (int64_t one = 0; one < 1; one++)
            partial_0[one] = unit_sum[one];
    }
    if (partial_1) {
        /* partial_1 = unit_sum_2 */
        for (int64_t one = 0; one < 1; one++)
            partial_1[one] = unit_sum_2[one];
    }
}

/* Computes task number `task`: one tile of keys of one head. `work` is this thread's workspace. */
TARGET static void T(softmax_kerple_dk_dv)(const struct call *call, int64_t task, unsigned char *work)
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
    const float *const a_array = (const float *)call->array[ARRAY_a_array].at + g * members *
        call->array[ARRAY_a_array].stride[0];
    const int64_t a_array_stride_0 = call->array[ARRAY_a_array].stride[0];
    const float *const c_array = (const float *)call->array[ARRAY_c_array].at + g * members *
        call->array[ARRAY_c_array].stride[0];
    const int64_t c_array_stride_0 = call->array[ARRAY_c_array].stride[0];
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
    struct remembered *const of_difference_known = (struct remembered *)(void *)(work + 307200);
    float *const of_difference_kept = (float *)(void *)(work + 307264); /* [(LANES + 65888) differences] */
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
            /* the elements of of_difference that this thread has for the head */
            const int64_t of_difference_first = j0 - i1 + 1;
            recall(of_difference_known, ((call->p.query_start ? b : 0) * kv_heads + g) * members + m,
                of_difference_first, of_difference_first + (LANES + 352), 1 - n_q, n_k + n_q + (LANES + 352), 65536);
            float *const of_difference = of_difference_kept + (of_difference_first - of_difference_known->base);
            for (int above = 0; above < 2; above++) { /* the differences below the known ones, and those above */
#if OF(1, 0, 0)
                const int64_t difference_3680 = above ? of_difference_known->to - of_difference_first : 0;
                const int64_t difference_3681 = above ? 368 : of_difference_known->from - of_difference_first;
                if (difference_3680 >= difference_3681) continue;
                /* of_difference = log1p(abs(c) * (abs((query_start - (difference_368 + (lo() - hi()))) + -1) * 1.0f)) *
                   (abs(a) * 1.442695f) */
#endif
#if OF(0, 1, 0)
                const int64_t difference_3600 = above ? of_difference_known->to - of_difference_first : 0;
                const int64_t difference_3601 = above ? 360 : of_difference_known->from - of_difference_first;
                if (difference_3600 >= difference_3601) continue;
                /* of_difference = log1p(abs(c) * (abs((query_start - (difference_360 + (lo() - hi()))) + -1) * 1.0f)) *
                   (abs(a) * 1.442695f) */
#endif
#if OF(0, 0, 1)
                const int64_t difference_3560 = above ? of_difference_known->to - of_difference_first : 0;
                const int64_t difference_3561 = above ? 356 : of_difference_known->from - of_difference_first;
                if (difference_3560 >= difference_3561) continue;
                /* of_difference = log1p(abs(c) * (abs((query_start - (difference_356 + (lo() - hi()))) + -1) * 1.0f)) *
                   (abs(a) * 1.442695f) */
#endif
                const float t_0 = fabsf(c_array[m * c_array_stride_0]);
                const int64_t t_1 = j0 - i1;
                const float t_2 = fabsf(a_array[m * a_array_stride_0]) * 1.442695f;
#if OF(1, 0, 0)
                for (int64_t difference_368 = difference_3680; difference_368 < difference_3681; difference_368 += 16) {
                    T(store)(of_difference + difference_368, T(log1p)(t_0 * (__builtin_convertvector((((query_start -
                        ((difference_368 + T(lane)) + t_1)) + (-1)) ^ (((query_start - ((difference_368 + T(lane)) +
                        t_1)) + (-1)) >> 63)) - (((query_start - ((difference_368 + T(lane)) + t_1)) + (-1)) >> 63),
                        T(vec)) * 1.0f)) * t_2);
#endif
#if OF(0, 1, 0)
                for (int64_t difference_360 = difference_3600; difference_360 < difference_3601; difference_360 += 8) {
                    T(store)(of_difference + difference_360, T(log1p)(t_0 * (__builtin_convertvector((((query_start -
                        ((difference_360 + T(lane)) + t_1)) + (-1)) ^ (((query_start - ((difference_360 + T(lane)) +
                        t_1)) + (-1)) >> 63)) - (((query_start - ((difference_360 + T(lane)) + t_1)) + (-1)) >> 63),
                        T(vec)) * 1.0f)) * t_2);
#endif
#if OF(0, 0, 1)
                for (int64_t difference_356 = difference_3560; difference_356 < difference_3561; difference_356 += 4) {
                    T(store)(of_difference + difference_356, T(log1p)(t_0 * (__builtin_convertvector((((query_start -
                        ((difference_356 + T(lane)) + t_1)) + (-1)) ^ (((query_start - ((difference_356 + T(lane)) +
                        t_1)) + (-1)) >> 63)) - (((query_start - ((difference_356 + T(lane)) + t_1)) + (-1)) >> 63),
                        T(vec)) * 1.0f)) * t_2);
#endif
                }
            }
            extend_known(of_difference_known, of_difference_first, of_difference_first + (LANES + 352));
            /* score = exp2((score - of_difference) - saved_0) */
            for (int64_t j = 0; j < j1 - j0; j += LANES) {
                for (int64_t i = 0; i < i1 - i0; i++) {
                    T(store)(score + i * 80 + j, T(exp2)((T(load)(score + i * 80 + j) - T(load)(of_difference + ((j0 +
                        j) - (i0 + i) - (j0 - i1) - 1))) - (saved_0[m * saved_0_head + (i0 + i)])));
                }
            }
            if (i0 < (j1 - query_start - 1)) { /* the tile is partly outside the mask */
                /* score = select(j <= (i + query_start), score, 0.0f) */
                for (int64_t j = 0; j < j1 - j0; j += LANES) {
                    const T(ints) t_3 = j0 + j + T(lane);
                    for (int64_t i = 0; i < i1 - i0; i++) {
                        T(store)(score + i * 80 + j, T(pick)(__builtin_convertvector(t_3 <= ((i0 + i) + query_start),
                            T(mask)), T(load)(score + i * 80 + j), T(splat)(0.0f)));
                    }
                }
            }
            if (dv) {
                /* sum[e][j] += sum over i of dout * score */
                if (__builtin_expect((i0 < (j1 - query_start - 1)) && !T(finite)(dout + m * dout_head + i0 * dout_row,
                    dout_row, i1 - i0, 64), 0)) { /* infinity and NaN affect only queries that see them */
                    T(dot8)(round_up(j1 - j0, LANES), i1 - i0, dout + m * dout_head + i0 * dout_row, dout_row, score,
                        sum, sum_compensation);
                    for (int64_t i = 0; i < i1 - i0; i++) {
                        T(mask) in_region[OF(4, 8, 16)] = {0};
                        if (T(finite)(dout + m * dout_head + i0 * dout_row + i * dout_row, 1, 64, 1)) continue;
                        const int64_t t_4 = (i0 + i) + query_start;
                        for (int64_t j = 0; j < j1 - j0; j += LANES) {
                            in_region[j / LANES] = __builtin_convertvector((j0 + j + T(lane)) <= t_4, T(mask));
                        }
                        T(add_seen)(64, sum, 80, dout + m * dout_head + i0 * dout_row + i * dout_row, 1, score + i * 80,
                            in_region, j1 - j0);
                    }
                } else
                    T(dot9)(round_up(j1 - j0, LANES), i1 - i0, dout + m * dout_head + i0 * dout_row, dout_row, score,
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
                        const T(ints) t_5 = j0 + j + T(lane);
                        for (int64_t i = 0; i < i1 - i0; i++) {
                            T(store)(score_2 + i * 80 + j, T(pick)(__builtin_convertvector(t_5 <= ((i0 + i) +
                                query_start), T(mask)), T(load)(score_2 + i * 80 + j), T(splat)(0.0f)));
                        }
                    }
                }
            }
            if (dk) {
                /* sum_2[d][j] += sum over i of q * score_2 */
                if (__builtin_expect((i0 < (j1 - query_start - 1)) && !T(finite)(q + m * q_head + i0 * q_row, q_row,
                    i1 - i0, 64), 0)) { /* infinity and NaN affect only queries that see them */
                    T(dot8)(round_up(j1 - j0, LANES), i1 - i0, q + m * q_head + i0 * q_row, q_row, score_2, sum_2,
                        sum_2_compensation);
                    for (int64_t i = 0; i < i1 - i0; i++) {
                        T(mask) in_region[OF(4, 8, 16)] = {0};
                        if (T(finite)(q + m * q_head + i0 * q_row + i * q_row, 1, 64, 1)) continue;
                        const int64_t t_6 = (i0 + i) + query_start;
                        for (int64_t j = 0; j < j1 - j0; j += LANES) {
                            in_region[j / LANES] = __builtin_convertvector((j0 + j + T(lane)) <= t_6, T(mask));
                        }
                        T(add_seen)(64, sum_2, 80, q + m * q_head + i0 * q_row + i * q_row, 1, score_2 + i * 80,
                            in_region, j1 - j0);
                    }
                } else
                    T(dot9)(round_up(j1 - j0, LANES), i1 - i0, q + m * q_head + i0 * q_row, q_row, score_2, sum_2,
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
TARGET static void T(softmax_kerple_totals1)(const struct call *call, int64_t task, unsigned char *work)
{
    const int64_t members = call->p.heads / max(call->p.kv_heads, 1);
    const int64_t m = task % members;
    const int64_t g = task / members;
    const float *const partial_0 = call->array[ARRAY_partial_0].at ? (const float *)call->array[ARRAY_partial_0].at + (g
        * members + m) * 16 * 1 : NULL;
    const float *const partial_1 = call->array[ARRAY_partial_1].at ? (const float *)call->array[ARRAY_partial_1].at + (g
        * members + m) * 16 * 1 : NULL;
    float *const gradient = (float *)(void *)(work + 0); /* [one: LANES] */
    float *const gradient_2 = (float *)(void *)(work + 64); /* [one: LANES] */
    float *const gradient_3 = (float *)(void *)(work + 0); /* [one: LANES] */
    float *const gradient_4 = (float *)(void *)(work + 128); /* [one: LANES] */
    float *const da_array = call->array[ARRAY_da_array].at ? (float *)call->array[ARRAY_da_array].at + (g * members + m)
        * 1 : NULL;
    float *const dc_array = call->array[ARRAY_dc_array].at ? (float *)call->array[ARRAY_dc_array].at + (g * members + m)
        * 1 : NULL;
    float *const partial_0_tile = (float *)(void *)(work + 64); /* [unit16: 16, one: LANES] */
    float *const partial_1_tile = (float *)(void *)(work + (64 * LANES + 64)); /* [unit16: 16, one: LANES] */
    if (da_array) {
        /* partial_0_tile = partial_0, with zeros beyond the last row */
        for (int64_t unit16 = 0; unit16 < 16; unit16++)
            for (int64_t one = 0; one < 1; one++)
                partial_0_tile[unit16 * LANES + one] = partial_0[unit16 + one];
    }
    if (dc_array) {
        /* partial_1_tile = partial_1, with zeros beyond the last row */
        for (int64_t unit16 = 0; unit16 < 16; unit16++)
            for (int64_t one = 0; one < 1; one++)
                partial_1_tile[unit16 * LANES + one] = partial_1[unit16 + one];
    }
    if (da_array) {
        /* gradient = 0.0f */
        for (int64_t one = 0; one < 1; one += LANES) {
            T(store)(gradient + one, T(splat)(0.0f));
        }
        /* gradient += partial_0_tile */
        for (int64_t one = 0; one < 1; one += LANES) {
            T(vec) gradient_in = (T(vec)){0};
            for (int64_t unit16 = 0; unit16 < 16; unit16++) {
                gradient_in += T(load)(partial_0_tile + unit16 * LANES + one);
            }
            T(store)(gradient + one, T(load)(gradient + one) + gradient_in);
        }
        /* gradient_2 = gradient */
        const float gradient_0 = gradient[0];
        for (int64_t one = 0; one < 1; one += LANES) {
            T(store)(gradient_2 + one, T(splat)(gradient_0));
        }
    }
    if (dc_array) {
        /* gradient_3 = 0.0f */
        for (int64_t one = 0; one < 1; one += LANES) {
            T(store)(gradient_3 + one, T(splat)(0.0f));
        }
        /* gradient_3 += partial_1_tile */
        for (int64_t one = 0; one < 1; one += LANES) {
            T(vec) gradient_3_in = (T(vec)){0};
            for (int64_t unit16 = 0; unit16 < 16; unit16++) {
                gradient_3_in += T(load)(partial_1_tile + unit16 * LANES + one);
            }
            T(store)(gradient_3 + one, T(load)(gradient_3 + one) + gradient_3_in);
        }
        /* gradient_4 = gradient_3 */
        const float gradient_3_1 = gradient_3[0];
        for (int64_t one = 0; one < 1; one += LANES) {
            T(store)(gradient_4 + one, T(splat)(gradient_3_1));
        }
    }
    if (da_array) {
        /* da_array = gradient_2 */
        for (int64_t one = 0; one < 1; one++)
            da_array[one] = gradient_2[one];
    }
    if (dc_array) {
        /* dc_array = gradient_4 */
        for (int64_t one = 0; one < 1; one++)
            dc_array[one] = gradient_4[one];
    }
}
#include <attnrt/kernel/end.h>
#else
#ifdef __cplusplus
#error "softmax_kerple.c is C, not C++: compile it with a C compiler"
#elif !defined __STDC_VERSION__ || __STDC_VERSION__ < 199901L
#error "softmax_kerple.c is C11, not C89: compile it without -std=, or with -std=gnu11"
extern int softmax_kerple_is_c11;
#elif !defined __GNUC__
#error "softmax_kerple.c uses GNU C vector extensions: compile it with gcc or clang"
extern int softmax_kerple_is_gnu_c;
#else
#include "softmax_kerple.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include <attnrt/kernel/optimize.h>
#include <attnrt/kernel/call.h>
#include <attnrt/kernel/remembered.h>

/* the numbers of the arrays of a call */
enum {
    ARRAY_q, ARRAY_k, ARRAY_v, ARRAY_out, ARRAY_dout, ARRAY_dq, ARRAY_dk, ARRAY_dv, ARRAY_a_array, ARRAY_c_array,
    ARRAY_da_array, ARRAY_dc_array, ARRAY_saved_0, ARRAY_row_0, ARRAY_partial_0, ARRAY_partial_1
};

#ifdef __FILE_NAME__
#define LOOPS __FILE_NAME__ /* this file, whose first part has the loops */
#else
#define LOOPS "softmax_kerple.c"
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
#define MAX_STEPS 288
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
#define MAX_STEPS 288
#define MAX_TERMS 64
#define MAX_LANES 64
#define OF(v4, v3, any) any /* a number of each target */
#define SECTION
#include LOOPS
#undef SECTION

/* ==== tables for the library that calls these functions (attnrt/kernel/call.h) ==== */
static const struct attn_param param[] = {
    {"a", ATTN_F32, 1, {ATTN_HEADS}, offsetof(struct softmax_kerple_params, a), 0,
        offsetof(struct softmax_kerple_strides, a), 0, 0, ATTN_NO_LIMITS},
    {"c", ATTN_F32, 1, {ATTN_HEADS}, offsetof(struct softmax_kerple_params, c), 0,
        offsetof(struct softmax_kerple_strides, c), 0, 0, ATTN_NO_LIMITS},
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
    {.name = "a", .access = {ACCESS_READ, ACCESS_READ}, .dtype = ATTN_F32, .origin = FROM_PARAMS, .param = 0,
        .axis = {-1, 0, -1}},
    {.name = "c", .access = {ACCESS_READ, ACCESS_READ}, .dtype = ATTN_F32, .origin = FROM_PARAMS, .param = 1,
        .axis = {-1, 0, -1}},
    {.name = "da", .access = {ACCESS_NONE, ACCESS_WANTED}, .dtype = ATTN_F32, .origin = FROM_GRADIENTS,
        .member = offsetof(struct softmax_kerple_gradients, a)},
    {.name = "dc", .access = {ACCESS_NONE, ACCESS_WANTED}, .dtype = ATTN_F32, .origin = FROM_GRADIENTS,
        .member = offsetof(struct softmax_kerple_gradients, c)},
    {.name = "saved_0", .origin = FROM_SAVED},
    {.name = "row_0", .origin = FROM_ROW_SUMS},
    {.name = "partial_0", .origin = FROM_LEFT, .elements = 16, .sizes = 1 << -ATTN_HEADS,
        .wanted = (const uint16_t[]){ARRAY_da_array, NO_ARRAY}},
    {.name = "partial_1", .origin = FROM_LEFT, .elements = 16, .sizes = 1 << -ATTN_HEADS,
        .wanted = (const uint16_t[]){ARRAY_dc_array, NO_ARRAY}},
};

#if defined(__x86_64__)
static int runs_v4(void)
{
    return attn_x86_64_level() >= 4;
}
static const struct program programs_v4[] = {
    {.role = RUN_FORWARD, .form = FORM_FEW,
     .head = softmax_kerple_few_v4, .tile = 0, .own = 37120, .few_rows = 64, .lanes = 16, .of_pair = 128,
         .shared = 50112, .slot = 16960, .slots = 4, .together = 1},
    {.role = RUN_FORWARD,
     .rows = softmax_kerple_rows_v4, .tile = 64, .own = 418304, .of_pair = 128, .saves = 1, .remembered = 1,
         .remembers = {154624}},
    {.role = RUN_BACKWARD, .part = 4, .sums_slices = 1,
     .rows = softmax_kerple_totals1_v4, .tile = -1, .own = 2112, .of_pair = 128,
         .wanted = (const uint16_t[]){ARRAY_da_array, ARRAY_dc_array, NO_ARRAY}, .units = 1, .unit_heads = 2},
    {.role = RUN_BACKWARD, .part = 3,
     .rows = softmax_kerple_dk_dv_v4, .tile = 64, .own = 570880, .of_pair = 128, .wanted = (const uint16_t[]){ARRAY_dk,
         ARRAY_dv, NO_ARRAY}, .of_keys = OF_KEY_HEAD, .remembered = 1, .remembers = {307200}},
    {.role = RUN_BACKWARD, .part = 2,
     .rows = softmax_kerple_dq_sums1_v4, .tile = -1, .own = 1057344, .of_pair = 128,
         .wanted = (const uint16_t[]){ARRAY_dq, ARRAY_partial_0, ARRAY_partial_1, NO_ARRAY}, .units = 16,
         .unit_heads = 2, .remembered = 3, .remembers = {268032, 531136, 794240}},
    {.role = RUN_BACKWARD, .part = 1,
     .rows = softmax_kerple_row_sums_v4, .tile = 64, .own = 41216, .of_pair = 128},
    {.role = RUN_BACKWARD, .saved_again = 1,
     .rows = softmax_kerple_saved_v4, .tile = 64, .own = 377344, .of_pair = 128, .remembered = 1,
         .remembers = {113664}},
};
#endif
#if defined(__x86_64__)
static int runs_v3(void)
{
    return attn_x86_64_level() >= 3;
}
static const struct program programs_v3[] = {
    {.role = RUN_FORWARD, .form = FORM_FEW,
     .head = softmax_kerple_few_v3, .tile = 0, .own = 37120, .few_rows = 64, .lanes = 8, .of_pair = 128,
         .shared = 50112, .slot = 16960, .slots = 4, .together = 1},
    {.role = RUN_FORWARD,
     .rows = softmax_kerple_rows_v3, .tile = 64, .own = 418304, .of_pair = 128, .saves = 1, .remembered = 1,
         .remembers = {154624}},
    {.role = RUN_BACKWARD, .part = 4, .sums_slices = 1,
     .rows = softmax_kerple_totals1_v3, .tile = -1, .own = 1088, .of_pair = 128,
         .wanted = (const uint16_t[]){ARRAY_da_array, ARRAY_dc_array, NO_ARRAY}, .units = 1, .unit_heads = 2},
    {.role = RUN_BACKWARD, .part = 3,
     .rows = softmax_kerple_dk_dv_v3, .tile = 64, .own = 570880, .of_pair = 128, .wanted = (const uint16_t[]){ARRAY_dk,
         ARRAY_dv, NO_ARRAY}, .of_keys = OF_KEY_HEAD, .remembered = 1, .remembers = {307200}},
    {.role = RUN_BACKWARD, .part = 2,
     .rows = softmax_kerple_dq_sums1_v3, .tile = -1, .own = 1057344, .of_pair = 128,
         .wanted = (const uint16_t[]){ARRAY_dq, ARRAY_partial_0, ARRAY_partial_1, NO_ARRAY}, .units = 16,
         .unit_heads = 2, .remembered = 3, .remembers = {268032, 531136, 794240}},
    {.role = RUN_BACKWARD, .part = 1,
     .rows = softmax_kerple_row_sums_v3, .tile = 64, .own = 41216, .of_pair = 128},
    {.role = RUN_BACKWARD, .saved_again = 1,
     .rows = softmax_kerple_saved_v3, .tile = 64, .own = 377344, .of_pair = 128, .remembered = 1,
         .remembers = {113664}},
};
#endif
static const struct program programs_any[] = {
    {.role = RUN_FORWARD, .form = FORM_FEW,
     .head = softmax_kerple_few_any, .tile = 0, .own = 37120, .few_rows = 64, .lanes = 4, .of_pair = 128,
         .shared = 50112, .slot = 16960, .slots = 4, .together = 1},
    {.role = RUN_FORWARD,
     .rows = softmax_kerple_rows_any, .tile = 64, .own = 418304, .of_pair = 128, .saves = 1, .remembered = 1,
         .remembers = {154624}},
    {.role = RUN_BACKWARD, .part = 4, .sums_slices = 1,
     .rows = softmax_kerple_totals1_any, .tile = -1, .own = 576, .of_pair = 128,
         .wanted = (const uint16_t[]){ARRAY_da_array, ARRAY_dc_array, NO_ARRAY}, .units = 1, .unit_heads = 2},
    {.role = RUN_BACKWARD, .part = 3,
     .rows = softmax_kerple_dk_dv_any, .tile = 64, .own = 570880, .of_pair = 128, .wanted = (const uint16_t[]){ARRAY_dk,
         ARRAY_dv, NO_ARRAY}, .of_keys = OF_KEY_HEAD, .remembered = 1, .remembers = {307200}},
    {.role = RUN_BACKWARD, .part = 2,
     .rows = softmax_kerple_dq_sums1_any, .tile = -1, .own = 1057344, .of_pair = 128,
         .wanted = (const uint16_t[]){ARRAY_dq, ARRAY_partial_0, ARRAY_partial_1, NO_ARRAY}, .units = 16,
         .unit_heads = 2, .remembered = 3, .remembers = {268032, 531136, 794240}},
    {.role = RUN_BACKWARD, .part = 1,
     .rows = softmax_kerple_row_sums_any, .tile = 64, .own = 41216, .of_pair = 128},
    {.role = RUN_BACKWARD, .saved_again = 1,
     .rows = softmax_kerple_saved_any, .tile = 64, .own = 377344, .of_pair = 128, .remembered = 1,
         .remembers = {113664}},
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
    .layout = KERNEL_LAYOUT, .name = "softmax_kerple", .openmp = OPENMP,
    .target = target, .targets = sizeof target / sizeof *target - 1,
    .array = array, .arrays = sizeof array / sizeof *array,
    .param = param, .params = 2, .params_bytes = sizeof(struct softmax_kerple_params),
    .dtype = ATTN_F32, .key_dtype = ATTN_F32, .value_dtype = ATTN_F32, .real = sizeof(float), .element = sizeof(float),
    .head_dim = 64, .value_dim = 64, .key_row = 64, .value_row = 64,
    .strided = 1, .strides = offsetof(struct softmax_kerple_params, strides),
    .shares = 1,
    .positions = 1,
    .ids = -1,
    .corrected = -1,
    .solution = -1,
    .gradients_bytes = sizeof(struct softmax_kerple_gradients),
    .parts = 5,
    .saved = 1,
    .row_sums = 1,
    .shared_gradient = {ARRAY_dq, ARRAY_dk},
};

/* ==== the interface ==== */
size_t softmax_kerple_params_size(void) { return attn_call_params_size(&kernel); }
int softmax_kerple_params_init(struct softmax_kerple_params *params, uint64_t seed, void *storage)
{
    return attn_call_params_init(&kernel, params, seed, storage);
}
size_t softmax_kerple_workspace(const struct attn_problem *problem) { return attn_call_workspace(&kernel, problem); }
size_t softmax_kerple_saved(const struct attn_problem *problem) { return attn_call_saved(&kernel, problem); }
size_t softmax_kerple_backward_workspace(const struct attn_problem *problem)
{
    return attn_call_backward_workspace(&kernel, problem);
}
int softmax_kerple_forward(const struct attn_problem *problem, const struct softmax_kerple_params *params,
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
int softmax_kerple_backward(const struct attn_problem *problem, const struct softmax_kerple_params *params,
    const float *q, const float *k, const float *v, const float *out, const float *dout,
    float *dq, float *dk, float *dv, struct softmax_kerple_gradients *gradients, void *workspace)
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
const struct attn_kernel softmax_kerple_kernel = {
    .name = "softmax_kerple", .version = "0.2.0", .dtype = ATTN_F32, .head_dim = 64, .value_dim = 64,
    .params = 2, .param = param, .params_bytes = sizeof(struct softmax_kerple_params),
    .params_size = softmax_kerple_params_size, .params_init = params_init_any, .forward = forward_any,
    .workspace = softmax_kerple_workspace,
    .saved = softmax_kerple_saved,
    .backward_workspace = softmax_kerple_backward_workspace,
    .backward = backward_any,
    .key_dtype = ATTN_F32, .value_dtype = ATTN_F32,
    .strides = offsetof(struct softmax_kerple_params, strides), .strides_bytes = sizeof(struct softmax_kerple_strides),
    .before = INT64_MAX, .after = 0, .period = 1, .names_heads = 0, .names_sequences = 0, .in_parts = 0,
    .saved_power = 0, .has_sink = 0, .open_keys = 0, .end_of_keys = INT64_MAX,
};
#endif /* a compiler of this language */
#endif /* SECTION */
