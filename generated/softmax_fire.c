/* softmax_fire.c, made by attnc 0.2.0: attnc softmax_fire.yaml
   C11 with GNU extensions, for a C compiler; C++ includes softmax_fire.h.
   causal softmax attention with FIRE: a learned function of the distance,
   which is relative to the position of the query
   Li et al., Functional Interpolation for Relative Positions Improves Long Context Transformers (ICLR 2024), section 3;
   the network has 4 hidden units

   Computes, in f32, over the axes b (batch), g (key/value head), m (query head of g), i (query), j (key), d (64),
   e (64), w2_axis_2 (4), w1_axis_1 (4), shift_axis_1 (4):
     q [b g m i d]
     k [b g j d]
     v [b g j e]
     x3 [b g m i j] = sum over d of q * k
     offset [g m], learned parameter
     w2 [g m w2_axis_2], learned parameter
     w1 [w1_axis_1], learned parameter
     c [], learned parameter
     threshold [], learned parameter
     shift [shift_axis_1], learned parameter
     x10 [b g m i j] = exp(x3 * 0.125 + offset + w2[g, m, 0] * max(0,
     w1[0] * log1p(abs(c) * ((i + query_start - j) * 1)) / log1p(abs(c) * max(abs(threshold),
     i + query_start)) + shift[0]) + w2[g, m, 1] * max(0, w1[1] * log1p(abs(c) * ((i + query_start - j) * 1)) /
     log1p(abs(c) * max(abs(threshold), i + query_start)) + shift[1]) + w2[g, m, 2] * max(0,
     w1[2] * log1p(abs(c) * ((i + query_start - j) * 1)) / log1p(abs(c) * max(abs(threshold),
     i + query_start)) + shift[2]) + w2[g, m, 3] * max(0, w1[3] * log1p(abs(c) * ((i + query_start - j) * 1)) /
     log1p(abs(c) * max(abs(threshold), i + query_start)) + shift[3]))
     x11 [b g m i] = sum over j of x10 if j <= i + query_start
     x12 [b g m i e] = sum over j of x10 * v if j <= i + query_start
     x13 [b g m i e] = x11 == 0 ? 0 : x12 / x11
     out = x13
   query_start is the position of the first query: problem.query_start[b], or n_k - n_q if that is NULL.

   How: each vector lane holds one query. Keys are processed in tiles,
   so row sums and maxima need no reduction across lanes.
   The sums of a tile start from zero and are added to the sums so far. Tiles that no query sees are skipped.
   For few queries each lane holds one key. The queries of all heads that share keys are the rows of one tile,
   so each key is read once.
   The chunks of keys are divided among the threads. Their sums are added in the order of the chunks.
     x86-64-v4  quadratic tiles of 64 queries and 288 keys; 418304 bytes of workspace per thread
     x86-64-v4  few       tiles of 64 queries and 128 keys; 156096 bytes of workspace per thread
     x86-64-v3  quadratic tiles of 64 queries and 288 keys; 418304 bytes of workspace per thread
     x86-64-v3  few       tiles of 64 queries and 128 keys; 156096 bytes of workspace per thread
     generic    quadratic tiles of 64 queries and 288 keys; 418304 bytes of workspace per thread
     generic    few       tiles of 64 queries and 128 keys; 156096 bytes of workspace per thread

   Contents:
     loops      softmax_fire_rows, softmax_fire_few, softmax_fire_saved, softmax_fire_row_sums, softmax_fire_dq_sums1,
     softmax_fire_dk_dv, softmax_fire_totals1, softmax_fire_totals2
     targets    x86-64-v4, x86-64-v3, generic
     tables     arrays and programs, for the functions of attnrt that call the loops
     interface  softmax_fire_workspace, softmax_fire_forward, softmax_fire_backward, softmax_fire_kernel
   The file includes itself, so that the loops are compiled once for each target. T(name) is a name with the target's
   suffix, LANES the elements of its vectors, and OF(…) a number for each target.

   Compile with: cc -O2 -fopenmp softmax_fire.c … -lattnrt -lm */
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
TARGET static void T(softmax_fire_rows)(const struct call *call, int64_t task, unsigned char *work)
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
    const float *const offset_array = (const float *)call->array[ARRAY_offset_array].at + g * members *
        call->array[ARRAY_offset_array].stride[0] + m * call->array[ARRAY_offset_array].stride[0];
    const float *const w2_array = (const float *)call->array[ARRAY_w2_array].at + g * members *
        call->array[ARRAY_w2_array].stride[0] + m * call->array[ARRAY_w2_array].stride[0];
    const int64_t w2_array_stride_1 = call->array[ARRAY_w2_array].stride[1];
    const float *const w1_array = (const float *)call->array[ARRAY_w1_array].at;
    const int64_t w1_array_stride_0 = call->array[ARRAY_w1_array].stride[0];
    const float *const c_array = (const float *)call->array[ARRAY_c_array].at;
    const float *const threshold_array = (const float *)call->array[ARRAY_threshold_array].at;
    const float *const shift_array = (const float *)call->array[ARRAY_shift_array].at;
    const int64_t shift_array_stride_0 = call->array[ARRAY_shift_array].stride[0];
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
        recall(of_difference_known, (call->p.query_start ? b : 0), of_difference_first,
            of_difference_first + (LANES + 352), 1 - n_k, n_q + n_k + (LANES + 352), 65536);
        float *const of_difference = of_difference_kept + (of_difference_first - of_difference_known->base);
        for (int above = 0; above < 2; above++) { /* the differences below the known ones, and those above */
#if OF(1, 0, 0)
            const int64_t difference_3680 = above ? of_difference_known->to - of_difference_first : 0;
            const int64_t difference_3681 = above ? 368 : of_difference_known->from - of_difference_first;
            if (difference_3680 >= difference_3681) continue;
            /* of_difference = log1p(abs(c) * ((((difference_368 + (lo() - hi())) + query_start) + 1) * 1.0f)) */
#endif
#if OF(0, 1, 0)
            const int64_t difference_3600 = above ? of_difference_known->to - of_difference_first : 0;
            const int64_t difference_3601 = above ? 360 : of_difference_known->from - of_difference_first;
            if (difference_3600 >= difference_3601) continue;
            /* of_difference = log1p(abs(c) * ((((difference_360 + (lo() - hi())) + query_start) + 1) * 1.0f)) */
#endif
#if OF(0, 0, 1)
            const int64_t difference_3560 = above ? of_difference_known->to - of_difference_first : 0;
            const int64_t difference_3561 = above ? 356 : of_difference_known->from - of_difference_first;
            if (difference_3560 >= difference_3561) continue;
            /* of_difference = log1p(abs(c) * ((((difference_356 + (lo() - hi())) + query_start) + 1) * 1.0f)) */
#endif
            const float t_0 = fabsf(c_array[0]);
            const int64_t t_1 = i0 - j1;
#if OF(1, 0, 0)
            for (int64_t difference_368 = difference_3680; difference_368 < difference_3681; difference_368 += 16) {
                T(store)(of_difference + difference_368, T(log1p)(t_0 * (__builtin_convertvector((((difference_368 +
                    T(lane)) + t_1) + query_start) + 1, T(vec)) * 1.0f)));
#endif
#if OF(0, 1, 0)
            for (int64_t difference_360 = difference_3600; difference_360 < difference_3601; difference_360 += 8) {
                T(store)(of_difference + difference_360, T(log1p)(t_0 * (__builtin_convertvector((((difference_360 +
                    T(lane)) + t_1) + query_start) + 1, T(vec)) * 1.0f)));
#endif
#if OF(0, 0, 1)
            for (int64_t difference_356 = difference_3560; difference_356 < difference_3561; difference_356 += 4) {
                T(store)(of_difference + difference_356, T(log1p)(t_0 * (__builtin_convertvector((((difference_356 +
                    T(lane)) + t_1) + query_start) + 1, T(vec)) * 1.0f)));
#endif
            }
        }
        extend_known(of_difference_known, of_difference_first, of_difference_first + (LANES + 352));
        /* old_max = row_max */
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            T(store)(old_max + i, T(load)(row_max + i));
        }
        if ((i0 + query_start + 1) < j1) { /* the tile is partly outside the mask */
            /* score = select(j <= (i + query_start), ((((score + (offset * 1.442695f)) + (max(0,
               (of_difference * (w1 / log1p(abs(c) * max(abs ... */
            const float t_4 = offset_array[0] * 1.442695f;
            const float w1_array_6 = w1_array[0];
            const float t_7 = fabsf(c_array[0]);
            const float t_8 = fabsf(threshold_array[0]);
            const float shift_array_11 = shift_array[0];
            const float t_12 = w2_array[0] * 1.442695f;
            const float w1_array_13 = w1_array[1 * w1_array_stride_0];
            const float shift_array_15 = shift_array[1 * shift_array_stride_0];
            const float t_16 = (w2_array[1 * w2_array_stride_1]) * 1.442695f;
            const float w1_array_17 = w1_array[2 * w1_array_stride_0];
            const float shift_array_19 = shift_array[2 * shift_array_stride_0];
            const float t_20 = (w2_array[2 * w2_array_stride_1]) * 1.442695f;
            const float w1_array_21 = w1_array[3 * w1_array_stride_0];
            const float shift_array_23 = shift_array[3 * shift_array_stride_0];
            const float t_24 = (w2_array[3 * w2_array_stride_1]) * 1.442695f;
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                const T(ints) t_2 = (i0 + i + T(lane)) + query_start;
                const T(vec) t_9 = T(log1p)(t_7 * T(max_nan)(T(splat)(t_8), __builtin_convertvector(t_2, T(vec))));
                const T(vec) t_10 = w1_array_6 / t_9;
                const T(vec) t_14 = w1_array_13 / t_9;
                const T(vec) t_18 = w1_array_17 / t_9;
                const T(vec) t_22 = w1_array_21 / t_9;
                T(vec) row_max_in = T(load)(row_max + i);
                for (int64_t j = 0; j < j1 - j0; j++) {
                    const T(vec) score_3 = T(load)(score + j * 80 + i);
                    const T(vec) of_difference_5 = T(load)(of_difference + ((i0 + i) - (j0 + j) - (i0 - j1) - 1));
                    const T(vec) score_new25 = T(pick)(__builtin_convertvector((j0 + j) <= t_2, T(mask)),
                        ((((score_3 + t_4) + (T(max_nan)(T(splat)((float)0),
                        (of_difference_5 * t_10) + shift_array_11) * t_12)) + (T(max_nan)(T(splat)((float)0),
                        (of_difference_5 * t_14) + shift_array_15) * t_16)) + (T(max_nan)(T(splat)((float)0),
                        (of_difference_5 * t_18) + shift_array_19) * t_20)) + (T(max_nan)(T(splat)((float)0),
                        (of_difference_5 * t_22) + shift_array_23) * t_24), T(splat)(-INFINITY));
                    T(store)(score + j * 80 + i, score_new25);
                    row_max_in = T(max)(row_max_in, score_new25);
                }
                T(store)(row_max + i, row_max_in);
            }
        }
        if (!((i0 + query_start + 1) < j1)) { /* the tile is wholly inside the mask */
            /* score = ((((score + (offset * 1.442695f)) + (max(0, (of_difference * (w1 / log1p(abs(c) *
               max(abs(threshold), i + query_start))) ... */
            const float t_27 = offset_array[0] * 1.442695f;
            const float w1_array_29 = w1_array[0];
            const float t_30 = fabsf(c_array[0]);
            const float t_31 = fabsf(threshold_array[0]);
            const float shift_array_34 = shift_array[0];
            const float t_35 = w2_array[0] * 1.442695f;
            const float w1_array_36 = w1_array[1 * w1_array_stride_0];
            const float shift_array_38 = shift_array[1 * shift_array_stride_0];
            const float t_39 = (w2_array[1 * w2_array_stride_1]) * 1.442695f;
            const float w1_array_40 = w1_array[2 * w1_array_stride_0];
            const float shift_array_42 = shift_array[2 * shift_array_stride_0];
            const float t_43 = (w2_array[2 * w2_array_stride_1]) * 1.442695f;
            const float w1_array_44 = w1_array[3 * w1_array_stride_0];
            const float shift_array_46 = shift_array[3 * shift_array_stride_0];
            const float t_47 = (w2_array[3 * w2_array_stride_1]) * 1.442695f;
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                const T(vec) t_32 = T(log1p)(t_30 * T(max_nan)(T(splat)(t_31),
                    __builtin_convertvector((i0 + i + T(lane)) + query_start, T(vec))));
                const T(vec) t_33 = w1_array_29 / t_32;
                const T(vec) t_37 = w1_array_36 / t_32;
                const T(vec) t_41 = w1_array_40 / t_32;
                const T(vec) t_45 = w1_array_44 / t_32;
                T(vec) row_max_in = T(load)(row_max + i);
                for (int64_t j = 0; j < j1 - j0; j++) {
                    const T(vec) score_26 = T(load)(score + j * 80 + i);
                    const T(vec) of_difference_28 = T(load)(of_difference + ((i0 + i) - (j0 + j) - (i0 - j1) - 1));
                    const T(vec) score_new48 = ((((score_26 + t_27) + (T(max_nan)(T(splat)((float)0),
                        (of_difference_28 * t_33) + shift_array_34) * t_35)) + (T(max_nan)(T(splat)((float)0),
                        (of_difference_28 * t_37) + shift_array_38) * t_39)) + (T(max_nan)(T(splat)((float)0),
                        (of_difference_28 * t_41) + shift_array_42) * t_43)) + (T(max_nan)(T(splat)((float)0),
                        (of_difference_28 * t_45) + shift_array_46) * t_47);
                    T(store)(score + j * 80 + i, score_new48);
                    row_max_in = T(max)(row_max_in, score_new48);
                }
                T(store)(row_max + i, row_max_in);
            }
        }
        /* old_max = exp2(old_max - row_max); row_sum = row_sum * old_max;
           row_sum_compensation = row_sum_compensation * old_max */
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            const T(vec) old_max_49 = T(load)(old_max + i);
            const T(vec) old_max_new50 = T(exp2)(old_max_49 - T(load)(row_max + i));
            T(store)(old_max + i, old_max_new50);
            T(store)(row_sum + i, T(load)(row_sum + i) * old_max_new50);
            T(store)(row_sum_compensation + i, T(load)(row_sum_compensation + i) * old_max_new50);
        }
        /* score = exp2(score - row_max); row_sum += score */
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            const T(vec) row_max_52 = T(load)(row_max + i);
            T(vec) row_sum_in = (T(vec)){0};
            for (int64_t j = 0; j < j1 - j0; j++) {
                const T(vec) score_51 = T(load)(score + j * 80 + i);
                const T(vec) score_new53 = T(exp2)(score_51 - row_max_52);
                T(store)(score + j * 80 + i, score_new53);
                row_sum_in += score_new53;
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
        const T(vec) row_sum_54 = T(load)(row_sum + i);
        const T(mask) t_55 = row_sum_54 == 0.0f;
        const T(vec) t_56 = 1.0f / row_sum_54;
        for (int64_t e = 0; e < 64; e++) {
            T(store)(sum + e * 80 + i, T(pick)(t_55, T(splat)(0.0f), T(load)(sum + e * 80 + i) * t_56));
        }
    }
    if (saved_0) {
        /* row_sum = select(row_sum == 0.0f, 0.0f, (log(row_sum) + (row_max * 0.6931472f)) * 1.442695f) */
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            const T(vec) row_sum_57 = T(load)(row_sum + i);
            T(store)(row_sum + i, T(pick)(row_sum_57 == 0.0f, T(splat)(0.0f),
                (T(log)(row_sum_57) + (T(load)(row_max + i) * 0.6931472f)) * 1.442695f));
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
TARGET APART void T(softmax_fire_few_begin)(const struct call *call, int64_t task, const struct share *share,
    int64_t iteration)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_q = call->p.n_q;
    const int64_t n_k = call->p.n_k;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t r0 = iteration * 64, r1 = min(r0 + 64, rows);
    const int64_t g = task % kv_heads;
    const int64_t b = task / kv_heads;
    const int64_t query_start = call->p.query_start ? call->p.query_start[b] : n_k - n_q;
    const float *const q = (const float *)call->array[ARRAY_q].at + b * call->array[ARRAY_q].strides.batch + g /
        call->sharing * members * call->array[ARRAY_q].strides.head;
    const int64_t q_row = call->array[ARRAY_q].strides.row;
    const int64_t q_head = call->array[ARRAY_q].strides.head;
    const float *const w1_array = (const float *)call->array[ARRAY_w1_array].at;
    const int64_t w1_array_stride_0 = call->array[ARRAY_w1_array].stride[0];
    const float *const c_array = (const float *)call->array[ARRAY_c_array].at;
    const float *const threshold_array = (const float *)call->array[ARRAY_threshold_array].at;
    float *const query_turned = (float *)(void *)(share->shared + 0); /* [r: 64, d: 64] */
    float *const of_row = (float *)(void *)(share->shared + 33408); /* [r: 64] */
    float *const of_row_2 = (float *)(void *)(share->shared + 33664); /* [r: 64] */
    float *const of_row_3 = (float *)(void *)(share->shared + 33920); /* [r: 64] */
    float *const of_row_4 = (float *)(void *)(share->shared + 34176); /* [r: 64] */
    /* query_turned = q * 0.18033688f */
    for (int64_t r = r0; r < r1; r++) {
        for (int64_t d_first = 0; d_first < 64; d_first += OF(64, 16, 8)) {
            UNROLL for (int64_t vector = 0, d = d_first; vector < OF(4, 2, 2); vector++, d += LANES) {
                T(store)(query_turned + r * 64 + d, T(load)(q + r / n_q * q_head + r % n_q * q_row + d) * 0.18033688f);
            }
        }
    }
    /* of_row = w1 / log1p(abs(c) * max(abs(threshold), (r % n_q) + query_start)) */
    const float w1_array_0 = w1_array[0];
    const float t_1 = fabsf(c_array[0]);
    const float t_2 = fabsf(threshold_array[0]);
    for (int64_t r = r0; r < r1; r++) {
        const float t_3 = (float)((r % n_q) + query_start);
        of_row[r] = w1_array_0 / log1pf(t_1 * (t_2 > t_3 || t_2 != t_2 ? t_2 : t_3));
    }
    /* of_row_2 = w1 / log1p(abs(c) * max(abs(threshold), (r % n_q) + query_start)) */
    const float w1_array_4 = w1_array[1 * w1_array_stride_0];
    const float t_5 = fabsf(c_array[0]);
    const float t_6 = fabsf(threshold_array[0]);
    for (int64_t r = r0; r < r1; r++) {
        const float t_7 = (float)((r % n_q) + query_start);
        of_row_2[r] = w1_array_4 / log1pf(t_5 * (t_6 > t_7 || t_6 != t_6 ? t_6 : t_7));
    }
    /* of_row_3 = w1 / log1p(abs(c) * max(abs(threshold), (r % n_q) + query_start)) */
    const float w1_array_8 = w1_array[2 * w1_array_stride_0];
    const float t_9 = fabsf(c_array[0]);
    const float t_10 = fabsf(threshold_array[0]);
    for (int64_t r = r0; r < r1; r++) {
        const float t_11 = (float)((r % n_q) + query_start);
        of_row_3[r] = w1_array_8 / log1pf(t_9 * (t_10 > t_11 || t_10 != t_10 ? t_10 : t_11));
    }
    /* of_row_4 = w1 / log1p(abs(c) * max(abs(threshold), (r % n_q) + query_start)) */
    const float w1_array_12 = w1_array[3 * w1_array_stride_0];
    const float t_13 = fabsf(c_array[0]);
    const float t_14 = fabsf(threshold_array[0]);
    for (int64_t r = r0; r < r1; r++) {
        const float t_15 = (float)((r % n_q) + query_start);
        of_row_4[r] = w1_array_12 / log1pf(t_13 * (t_14 > t_15 || t_14 != t_14 ? t_14 : t_15));
    }
}

/* Initialises the states: they contain no keys yet. */
TARGET APART void T(softmax_fire_few_begin_2)(const struct call *call, int64_t task, const struct share *share,
    int64_t iteration)
{
    (void)task;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t r0 = iteration * 16, r1 = min(r0 + 16, rows);
    float *const carried_max = (float *)(void *)(share->shared + 16448); /* [r: 64] */
    float *const carried_sum = (float *)(void *)(share->shared + 16704); /* [r: 64] */
    float *const carried_sum_compensation = (float *)(void *)(share->shared + 34432); /* [r: 64] */
    float *const carried = (float *)(void *)(share->shared + 16960); /* [r: 64, e: 64] */
    float *const carried_compensation = (float *)(void *)(share->shared + 34688); /* [r: 64, e: 64] */
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
TARGET APART void T(softmax_fire_few_keys)(const struct call *call, int64_t task, const struct share *share,
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
    const float *const offset_array = (const float *)call->array[ARRAY_offset_array].at + g * members *
        call->array[ARRAY_offset_array].stride[0];
    const int64_t offset_array_stride_0 = call->array[ARRAY_offset_array].stride[0];
    const float *const w2_array = (const float *)call->array[ARRAY_w2_array].at + g * members *
        call->array[ARRAY_w2_array].stride[0];
    const int64_t w2_array_stride_0 = call->array[ARRAY_w2_array].stride[0];
    const int64_t w2_array_stride_1 = call->array[ARRAY_w2_array].stride[1];
    const float *const c_array = (const float *)call->array[ARRAY_c_array].at;
    const float *const shift_array = (const float *)call->array[ARRAY_shift_array].at;
    const int64_t shift_array_stride_0 = call->array[ARRAY_shift_array].stride[0];
    float *const score = (float *)(void *)(share->work + 0); /* [r: 64, j: 128 of 144] */
    float *const query_turned = (float *)(void *)(share->shared + 0); /* [r: 64, d: 64] */
    float *const state_max = (float *)(void *)(share->slots + 0); /* [chunk, r: 64] */
    float *const old_max = (float *)(void *)(share->work + 36864); /* [r: 64] */
    float *const state_sum = (float *)(void *)(share->slots + 256); /* [chunk, r: 64] */
    float *const state = (float *)(void *)(share->slots + 512); /* [chunk, r: 64, e: 64] */
    float *const of_row = (float *)(void *)(share->shared + 33408); /* [r: 64] */
    float *const of_row_2 = (float *)(void *)(share->shared + 33664); /* [r: 64] */
    float *const of_row_3 = (float *)(void *)(share->shared + 33920); /* [r: 64] */
    float *const of_row_4 = (float *)(void *)(share->shared + 34176); /* [r: 64] */
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
        /* score = ((((score + (offset * 1.442695f)) + (max(0, (log1p(abs(c) * ((((r % n_q) + query_start) - j) * 1.0f))
           * of_row) + shift) ... */
        const float t_16 = fabsf(c_array[0]);
        const float shift_array_19 = shift_array[0];
        const float shift_array_20 = shift_array[1 * shift_array_stride_0];
        const float shift_array_21 = shift_array[2 * shift_array_stride_0];
        const float shift_array_22 = shift_array[3 * shift_array_stride_0];
        for (int64_t j = 0; j < j1 - j0; j += LANES) {
            const T(ints) t_17 = j0 + j + T(lane);
            for (int64_t r = 0; r < rows; r++) {
                const T(vec) t_18 = T(log1p)(t_16 * (__builtin_convertvector(((r % n_q) + query_start) - t_17,
                    T(vec)) * 1.0f));
                T(store)(score + r * 144 + j, ((((T(load)(score + r * 144 + j) + ((offset_array[(r / n_q) *
                    offset_array_stride_0]) * 1.442695f)) + (T(max_nan)(T(splat)((float)0),
                    (t_18 * of_row[r]) + shift_array_19) * ((w2_array[(r / n_q) * w2_array_stride_0]) * 1.442695f))) +
                    (T(max_nan)(T(splat)((float)0), (t_18 * of_row_2[r]) + shift_array_20) * ((w2_array[(r / n_q) *
                    w2_array_stride_0 + 1 * w2_array_stride_1]) * 1.442695f))) + (T(max_nan)(T(splat)((float)0),
                    (t_18 * of_row_3[r]) + shift_array_21) * ((w2_array[(r / n_q) * w2_array_stride_0 + 2 *
                    w2_array_stride_1]) * 1.442695f))) + (T(max_nan)(T(splat)((float)0),
                    (t_18 * of_row_4[r]) + shift_array_22) * ((w2_array[(r / n_q) * w2_array_stride_0 + 3 *
                    w2_array_stride_1]) * 1.442695f)));
            }
        }
        /* old_max = state_max */
        for (int64_t r = 0; r < rows; r += LANES) {
            T(store)(old_max + r, T(load)(state_max + (chunk - chunk0) * 4240 + r));
        }
        if ((query_start + 1) < j1) { /* the tile is partly outside the mask */
            /* score = select(j <= ((r % n_q) + query_start), score, -INFINITY) */
            for (int64_t j = 0; j < j1 - j0; j += LANES) {
                const T(ints) t_23 = j0 + j + T(lane);
                for (int64_t r = 0; r < rows; r++) {
                    T(store)(score + r * 144 + j, T(pick)(__builtin_convertvector(t_23 <= ((r % n_q) + query_start),
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
            const T(vec) old_max_24 = T(load)(old_max + r);
            const T(vec) old_max_new25 = T(exp2)(old_max_24 - T(load)(state_max + (chunk - chunk0) * 4240 + r));
            T(store)(old_max + r, old_max_new25);
            T(store)(state_sum + (chunk - chunk0) * 4240 + r, T(load)(state_sum + (chunk - chunk0) * 4240 + r) *
                old_max_new25);
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
                const int64_t t_26 = (r % n_q) + query_start;
                for (int64_t j = 0; j < j1 - j0; j += LANES) {
                    in_region[j / LANES] = __builtin_convertvector((j0 + j + T(lane)) <= t_26, T(mask));
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
TARGET APART void T(softmax_fire_few_fold)(const struct call *call, int64_t task, const struct share *share,
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
    float *const carried_sum_compensation = (float *)(void *)(share->shared + 34432); /* [r: 64] */
    float *const carried = (float *)(void *)(share->shared + 16960); /* [r: 64, e: 64] */
    float *const carried_compensation = (float *)(void *)(share->shared + 34688); /* [r: 64, e: 64] */
    for (int64_t chunk = chunk0; chunk < chunk1; chunk++) {
        /* before_max = carried_max; carried_max max= state_max; carried_factor = exp2(before_max - carried_max);
           slot_factor = exp2(state_ ... */
        for (int64_t r = r0; r < r1; r += LANES) {
            const T(vec) carried_max_27 = T(load)(carried_max + r);
            const T(vec) before_max_new28 = carried_max_27;
            const T(vec) state_max_29 = T(load)(state_max + (chunk - chunk0) * 4240 + r);
            const T(vec) carried_max_new30 = T(max)(T(load)(carried_max + r), state_max_29);
            T(store)(carried_max + r, carried_max_new30);
            const T(vec) carried_factor_new31 = T(exp2)(before_max_new28 - carried_max_new30);
            T(store)(carried_factor + r, carried_factor_new31);
            const T(vec) slot_factor_new32 = T(exp2)(state_max_29 - carried_max_new30);
            T(store)(slot_factor + r, slot_factor_new32);
            const T(vec) carried_sum_33 = T(load)(carried_sum + r);
            T(store)(carried_sum + r, carried_sum_33 * carried_factor_new31);
            T(store)(carried_sum_compensation + r, T(load)(carried_sum_compensation + r) * carried_factor_new31);
            T(add)(carried_sum + r, carried_sum_compensation + r, T(load)(state_sum + (chunk - chunk0) * 4240 + r) *
                slot_factor_new32, T(splat)(1));
        }
        /* before = carried; carried = carried * carried_factor; carried_compensation = carried_compensation *
           carried_factor; carried += s ... */
        for (int64_t r = r0; r < r1; r++) {
            for (int64_t e_first = 0; e_first < 64; e_first += OF(64, 16, 8)) {
                UNROLL for (int64_t vector = 0, e = e_first; vector < OF(4, 2, 2); vector++, e += LANES) {
                    const T(vec) carried_34 = T(load)(carried + r * 64 + e);
                    const float carried_factor_35 = carried_factor[r];
                    T(store)(carried + r * 64 + e, carried_34 * carried_factor_35);
                    T(store)(carried_compensation + r * 64 + e, T(load)(carried_compensation + r * 64 + e) *
                        carried_factor_35);
                    T(add)(carried + r * 64 + e, carried_compensation + r * 64 + e,
                        T(load)(state + (chunk - chunk0) * 4240 + r * 64 + e) * slot_factor[r], T(splat)(1));
                }
            }
        }
    }
}

/* Processes a tile of queries: reads the states. */
TARGET APART void T(softmax_fire_few_queries)(const struct call *call, int64_t task, const struct share *share,
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
                const float carried_sum_36 = carried_sum[r];
                T(store)(result + r * 64 + e, (carried_sum_36 == 0.0f) ? T(splat)(0.0f) : T(load)(carried + r * 64 + e)
                    * (1.0f / carried_sum_36));
            }
        }
    }
    /* out = result */
    for (int64_t r = r0; r < r1; r++)
        for (int64_t e = 0; e < 64; e++)
            out[r / n_q * out_head + r % n_q * out_row + e] = result[r * 64 + e];
}

/* Computes head number `task`. Each thread on the head calls this with `share`. */
TARGET static void T(softmax_fire_few)(const struct call *call, int64_t task, struct share *share)
{
    const int64_t n_k = call->p.n_k;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t chunks = n_k > 0 ? (n_k - 1) / 1024 + 1 : 1;
    for (int64_t iteration = share->number; iteration < ((rows + 63) / 64); iteration += share->threads)
        T(softmax_fire_few_begin)(call, task, share, iteration);
    for (int64_t iteration = share->number; iteration < ((rows + 15) / 16); iteration += share->threads)
        T(softmax_fire_few_begin_2)(call, task, share, iteration);
    synchronise(share);
    const int64_t first = 0;
    const int64_t length = segment_length(share, chunks - first);
    for (int64_t segment = share->number; first + segment * length < chunks; segment += share->threads) {
        share->chunk0 = first + segment * length;
        share->chunk1 = min(share->chunk0 + length, chunks);
        for (int64_t iteration = share->chunk0; iteration < share->chunk1; iteration++)
            T(softmax_fire_few_keys)(call, task, share, iteration);
        for (int64_t group = 0; group < 16; group++) {
            await_segment(share, group, segment);
            const int64_t end = (group + 1) * ((rows + 15) / 16) / 16;
            for (int64_t iteration = group * ((rows + 15) / 16) / 16; iteration < end; iteration++)
                T(softmax_fire_few_fold)(call, task, share, iteration);
            pass_segment(share, group, segment);
        }
    }
    share->segments += (max(chunks - first, 0) + length - 1) / length;
    synchronise(share);
    for (int64_t iteration = share->number; iteration < ((rows + 15) / 16); iteration += share->threads)
        T(softmax_fire_few_queries)(call, task, share, iteration);
    synchronise(share);
}

/* Computes task number `task`: one tile of queries of one head. `work` is this thread's workspace. */
TARGET static void T(softmax_fire_saved)(const struct call *call, int64_t task, unsigned char *work)
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
    const float *const offset_array = (const float *)call->array[ARRAY_offset_array].at + g * members *
        call->array[ARRAY_offset_array].stride[0] + m * call->array[ARRAY_offset_array].stride[0];
    const float *const w2_array = (const float *)call->array[ARRAY_w2_array].at + g * members *
        call->array[ARRAY_w2_array].stride[0] + m * call->array[ARRAY_w2_array].stride[0];
    const int64_t w2_array_stride_1 = call->array[ARRAY_w2_array].stride[1];
    const float *const w1_array = (const float *)call->array[ARRAY_w1_array].at;
    const int64_t w1_array_stride_0 = call->array[ARRAY_w1_array].stride[0];
    const float *const c_array = (const float *)call->array[ARRAY_c_array].at;
    const float *const threshold_array = (const float *)call->array[ARRAY_threshold_array].at;
    const float *const shift_array = (const float *)call->array[ARRAY_shift_array].at;
    const int64_t shift_array_stride_0 = call->array[ARRAY_shift_array].stride[0];
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
        recall(of_difference_known, (call->p.query_start ? b : 0), of_difference_first,
            of_difference_first + (LANES + 352), 1 - n_k, n_q + n_k + (LANES + 352), 65536);
        float *const of_difference = of_difference_kept + (of_difference_first - of_difference_known->base);
        for (int above = 0; above < 2; above++) { /* the differences below the known ones, and those above */
#if OF(1, 0, 0)
            const int64_t difference_3680 = above ? of_difference_known->to - of_difference_first : 0;
            const int64_t difference_3681 = above ? 368 : of_difference_known->from - of_difference_first;
            if (difference_3680 >= difference_3681) continue;
            /* of_difference = log1p(abs(c) * ((((difference_368 + (lo() - hi())) + query_start) + 1) * 1.0f)) */
#endif
#if OF(0, 1, 0)
            const int64_t difference_3600 = above ? of_difference_known->to - of_difference_first : 0;
            const int64_t difference_3601 = above ? 360 : of_difference_known->from - of_difference_first;
            if (difference_3600 >= difference_3601) continue;
            /* of_difference = log1p(abs(c) * ((((difference_360 + (lo() - hi())) + query_start) + 1) * 1.0f)) */
#endif
#if OF(0, 0, 1)
            const int64_t difference_3560 = above ? of_difference_known->to - of_difference_first : 0;
            const int64_t difference_3561 = above ? 356 : of_difference_known->from - of_difference_first;
            if (difference_3560 >= difference_3561) continue;
            /* of_difference = log1p(abs(c) * ((((difference_356 + (lo() - hi())) + query_start) + 1) * 1.0f)) */
#endif
            const float t_0 = fabsf(c_array[0]);
            const int64_t t_1 = i0 - j1;
#if OF(1, 0, 0)
            for (int64_t difference_368 = difference_3680; difference_368 < difference_3681; difference_368 += 16) {
                T(store)(of_difference + difference_368, T(log1p)(t_0 * (__builtin_convertvector((((difference_368 +
                    T(lane)) + t_1) + query_start) + 1, T(vec)) * 1.0f)));
#endif
#if OF(0, 1, 0)
            for (int64_t difference_360 = difference_3600; difference_360 < difference_3601; difference_360 += 8) {
                T(store)(of_difference + difference_360, T(log1p)(t_0 * (__builtin_convertvector((((difference_360 +
                    T(lane)) + t_1) + query_start) + 1, T(vec)) * 1.0f)));
#endif
#if OF(0, 0, 1)
            for (int64_t difference_356 = difference_3560; difference_356 < difference_3561; difference_356 += 4) {
                T(store)(of_difference + difference_356, T(log1p)(t_0 * (__builtin_convertvector((((difference_356 +
                    T(lane)) + t_1) + query_start) + 1, T(vec)) * 1.0f)));
#endif
            }
        }
        extend_known(of_difference_known, of_difference_first, of_difference_first + (LANES + 352));
        /* old_max = row_max */
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            T(store)(old_max + i, T(load)(row_max + i));
        }
        if ((i0 + query_start + 1) < j1) { /* the tile is partly outside the mask */
            /* score = select(j <= (i + query_start), ((((score + (offset * 1.442695f)) + (max(0,
               (of_difference * (w1 / log1p(abs(c) * max(abs ... */
            const float t_4 = offset_array[0] * 1.442695f;
            const float w1_array_6 = w1_array[0];
            const float t_7 = fabsf(c_array[0]);
            const float t_8 = fabsf(threshold_array[0]);
            const float shift_array_11 = shift_array[0];
            const float t_12 = w2_array[0] * 1.442695f;
            const float w1_array_13 = w1_array[1 * w1_array_stride_0];
            const float shift_array_15 = shift_array[1 * shift_array_stride_0];
            const float t_16 = (w2_array[1 * w2_array_stride_1]) * 1.442695f;
            const float w1_array_17 = w1_array[2 * w1_array_stride_0];
            const float shift_array_19 = shift_array[2 * shift_array_stride_0];
            const float t_20 = (w2_array[2 * w2_array_stride_1]) * 1.442695f;
            const float w1_array_21 = w1_array[3 * w1_array_stride_0];
            const float shift_array_23 = shift_array[3 * shift_array_stride_0];
            const float t_24 = (w2_array[3 * w2_array_stride_1]) * 1.442695f;
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                const T(ints) t_2 = (i0 + i + T(lane)) + query_start;
                const T(vec) t_9 = T(log1p)(t_7 * T(max_nan)(T(splat)(t_8), __builtin_convertvector(t_2, T(vec))));
                const T(vec) t_10 = w1_array_6 / t_9;
                const T(vec) t_14 = w1_array_13 / t_9;
                const T(vec) t_18 = w1_array_17 / t_9;
                const T(vec) t_22 = w1_array_21 / t_9;
                T(vec) row_max_in = T(load)(row_max + i);
                for (int64_t j = 0; j < j1 - j0; j++) {
                    const T(vec) score_3 = T(load)(score + j * 80 + i);
                    const T(vec) of_difference_5 = T(load)(of_difference + ((i0 + i) - (j0 + j) - (i0 - j1) - 1));
                    const T(vec) score_new25 = T(pick)(__builtin_convertvector((j0 + j) <= t_2, T(mask)),
                        ((((score_3 + t_4) + (T(max_nan)(T(splat)((float)0),
                        (of_difference_5 * t_10) + shift_array_11) * t_12)) + (T(max_nan)(T(splat)((float)0),
                        (of_difference_5 * t_14) + shift_array_15) * t_16)) + (T(max_nan)(T(splat)((float)0),
                        (of_difference_5 * t_18) + shift_array_19) * t_20)) + (T(max_nan)(T(splat)((float)0),
                        (of_difference_5 * t_22) + shift_array_23) * t_24), T(splat)(-INFINITY));
                    T(store)(score + j * 80 + i, score_new25);
                    row_max_in = T(max)(row_max_in, score_new25);
                }
                T(store)(row_max + i, row_max_in);
            }
        }
        if (!((i0 + query_start + 1) < j1)) { /* the tile is wholly inside the mask */
            /* score = ((((score + (offset * 1.442695f)) + (max(0, (of_difference * (w1 / log1p(abs(c) *
               max(abs(threshold), i + query_start))) ... */
            const float t_27 = offset_array[0] * 1.442695f;
            const float w1_array_29 = w1_array[0];
            const float t_30 = fabsf(c_array[0]);
            const float t_31 = fabsf(threshold_array[0]);
            const float shift_array_34 = shift_array[0];
            const float t_35 = w2_array[0] * 1.442695f;
            const float w1_array_36 = w1_array[1 * w1_array_stride_0];
            const float shift_array_38 = shift_array[1 * shift_array_stride_0];
            const float t_39 = (w2_array[1 * w2_array_stride_1]) * 1.442695f;
            const float w1_array_40 = w1_array[2 * w1_array_stride_0];
            const float shift_array_42 = shift_array[2 * shift_array_stride_0];
            const float t_43 = (w2_array[2 * w2_array_stride_1]) * 1.442695f;
            const float w1_array_44 = w1_array[3 * w1_array_stride_0];
            const float shift_array_46 = shift_array[3 * shift_array_stride_0];
            const float t_47 = (w2_array[3 * w2_array_stride_1]) * 1.442695f;
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                const T(vec) t_32 = T(log1p)(t_30 * T(max_nan)(T(splat)(t_31),
                    __builtin_convertvector((i0 + i + T(lane)) + query_start, T(vec))));
                const T(vec) t_33 = w1_array_29 / t_32;
                const T(vec) t_37 = w1_array_36 / t_32;
                const T(vec) t_41 = w1_array_40 / t_32;
                const T(vec) t_45 = w1_array_44 / t_32;
                T(vec) row_max_in = T(load)(row_max + i);
                for (int64_t j = 0; j < j1 - j0; j++) {
                    const T(vec) score_26 = T(load)(score + j * 80 + i);
                    const T(vec) of_difference_28 = T(load)(of_difference + ((i0 + i) - (j0 + j) - (i0 - j1) - 1));
                    const T(vec) score_new48 = ((((score_26 + t_27) + (T(max_nan)(T(splat)((float)0),
                        (of_difference_28 * t_33) + shift_array_34) * t_35)) + (T(max_nan)(T(splat)((float)0),
                        (of_difference_28 * t_37) + shift_array_38) * t_39)) + (T(max_nan)(T(splat)((float)0),
                        (of_difference_28 * t_41) + shift_array_42) * t_43)) + (T(max_nan)(T(splat)((float)0),
                        (of_difference_28 * t_45) + shift_array_46) * t_47);
                    T(store)(score + j * 80 + i, score_new48);
                    row_max_in = T(max)(row_max_in, score_new48);
                }
                T(store)(row_max + i, row_max_in);
            }
        }
        /* old_max = exp2(old_max - row_max); row_sum = row_sum * old_max;
           row_sum_compensation = row_sum_compensation * old_max */
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            const T(vec) old_max_49 = T(load)(old_max + i);
            const T(vec) old_max_new50 = T(exp2)(old_max_49 - T(load)(row_max + i));
            T(store)(old_max + i, old_max_new50);
            T(store)(row_sum + i, T(load)(row_sum + i) * old_max_new50);
            T(store)(row_sum_compensation + i, T(load)(row_sum_compensation + i) * old_max_new50);
        }
        /* score = exp2(score - row_max); row_sum += score */
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            const T(vec) row_max_52 = T(load)(row_max + i);
            T(vec) row_sum_in = (T(vec)){0};
            for (int64_t j = 0; j < j1 - j0; j++) {
                const T(vec) score_51 = T(load)(score + j * 80 + i);
                const T(vec) score_new53 = T(exp2)(score_51 - row_max_52);
                T(store)(score + j * 80 + i, score_new53);
                row_sum_in += score_new53;
            }
            T(add)(row_sum + i, row_sum_compensation + i, row_sum_in, T(splat)(1));
        }
    }
    /* row_sum = select(row_sum == 0.0f, 0.0f, (log(row_sum) + (row_max * 0.6931472f)) * 1.442695f) */
    for (int64_t i = 0; i < i1 - i0; i += LANES) {
        const T(vec) row_sum_54 = T(load)(row_sum + i);
        T(store)(row_sum + i, T(pick)(row_sum_54 == 0.0f, T(splat)(0.0f),
            (T(log)(row_sum_54) + (T(load)(row_max + i) * 0.6931472f)) * 1.442695f));
    }
    /* saved_0 = row_sum */
    for (int64_t i = 0; i < i1 - i0; i++)
        saved_0[(i0 + i)] = row_sum[i];
}

/* Computes task number `task`: one tile of queries of one head. `work` is this thread's workspace. */
TARGET static void T(softmax_fire_row_sums)(const struct call *call, int64_t task, unsigned char *work)
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
TARGET static void T(softmax_fire_dq_sums1)(const struct call *call, int64_t task, unsigned char *work)
{
    const int64_t batch = call->p.batch;
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
    const float *const offset_array = (const float *)call->array[ARRAY_offset_array].at + g * members *
        call->array[ARRAY_offset_array].stride[0] + m * call->array[ARRAY_offset_array].stride[0];
    const float *const w2_array = (const float *)call->array[ARRAY_w2_array].at + g * members *
        call->array[ARRAY_w2_array].stride[0] + m * call->array[ARRAY_w2_array].stride[0];
    const int64_t w2_array_stride_1 = call->array[ARRAY_w2_array].stride[1];
    const float *const w1_array = (const float *)call->array[ARRAY_w1_array].at;
    const int64_t w1_array_stride_0 = call->array[ARRAY_w1_array].stride[0];
    const float *const c_array = (const float *)call->array[ARRAY_c_array].at;
    const float *const threshold_array = (const float *)call->array[ARRAY_threshold_array].at;
    const float *const shift_array = (const float *)call->array[ARRAY_shift_array].at;
    const int64_t shift_array_stride_0 = call->array[ARRAY_shift_array].stride[0];
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
    float *const weight_5 = (float *)(void *)(work + 184320); /* [j: 144, i: 64 of 80] */
    float *const weight_6 = (float *)(void *)(work + 230400); /* [j: 144, i: 64 of 80] */
    float *const weight_7 = (float *)(void *)(work + 276480); /* [j: 144, i: 64 of 80] */
    float *const weight_8 = (float *)(void *)(work + 322560); /* [j: 144, i: 64 of 80] */
    float *const weight_9 = (float *)(void *)(work + 368640); /* [j: 144, i: 64 of 80] */
    float *const weight_10 = (float *)(void *)(work + 414720); /* [j: 144, i: 64 of 80] */
    float *const weight_11 = (float *)(void *)(work + 460800); /* [j: 144, i: 64 of 80] */
    float *const weight_12 = (float *)(void *)(work + 506880); /* [j: 144, i: 64 of 80] */
    float *const weight_13 = (float *)(void *)(work + 552960); /* [j: 144, i: 64 of 80] */
    float *const weight_14 = (float *)(void *)(work + 599040); /* [j: 144, i: 64 of 80] */
    float *const weight_15 = (float *)(void *)(work + 645120); /* [j: 144, i: 64 of 80] */
    float *const weight_16 = (float *)(void *)(work + 691200); /* [j: 144, i: 64 of 80] */
    float *const weight_17 = (float *)(void *)(work + 737280); /* [j: 144, i: 64 of 80] */
    float *const sum = (float *)(void *)(work + 783360); /* [d: 64, i: 64 of 80] */
    float *const sum_compensation = (float *)(void *)(work + 803840); /* [d: 64, i: 64 of 80] */
    float *const row_sum = (float *)(void *)(work + 824320); /* [i: 64] */
    float *const row_sum_compensation = (float *)(void *)(work + 824576); /* [i: 64] */
    float *const unit_sum = (float *)(void *)(work + 824832); /* [one: LANES] */
    float *const unit_sum_compensation = (float *)(void *)(work + 824896); /* [one: LANES] */
    float *const row_sum_2 = (float *)(void *)(work + 824960); /* [i: 64] */
    float *const row_sum_2_compensation = (float *)(void *)(work + 825216); /* [i: 64] */
    float *const unit_sum_2 = (float *)(void *)(work + 825472); /* [one: LANES] */
    float *const unit_sum_2_compensation = (float *)(void *)(work + 825536); /* [one: LANES] */
    float *const row_sum_3 = (float *)(void *)(work + 825600); /* [i: 64] */
    float *const row_sum_3_compensation = (float *)(void *)(work + 825856); /* [i: 64] */
    float *const unit_sum_3 = (float *)(void *)(work + 826112); /* [one: LANES] */
    float *const unit_sum_3_compensation = (float *)(void *)(work + 826176); /* [one: LANES] */
    float *const row_sum_4 = (float *)(void *)(work + 826240); /* [i: 64] */
    float *const row_sum_4_compensation = (float *)(void *)(work + 826496); /* [i: 64] */
    float *const unit_sum_4 = (float *)(void *)(work + 826752); /* [one: LANES] */
    float *const unit_sum_4_compensation = (float *)(void *)(work + 826816); /* [one: LANES] */
    float *const row_sum_5 = (float *)(void *)(work + 826880); /* [i: 64] */
    float *const row_sum_5_compensation = (float *)(void *)(work + 827136); /* [i: 64] */
    float *const unit_sum_5 = (float *)(void *)(work + 827392); /* [one: LANES] */
    float *const unit_sum_5_compensation = (float *)(void *)(work + 827456); /* [one: LANES] */
    float *const row_sum_6 = (float *)(void *)(work + 827520); /* [i: 64] */
    float *const row_sum_6_compensation = (float *)(void *)(work + 827776); /* [i: 64] */
    float *const unit_sum_6 = (float *)(void *)(work + 828032); /* [one: LANES] */
    float *const unit_sum_6_compensation = (float *)(void *)(work + 828096); /* [one: LANES] */
    float *const row_sum_7 = (float *)(void *)(work + 828160); /* [i: 64] */
    float *const row_sum_7_compensation = (float *)(void *)(work + 828416); /* [i: 64] */
    float *const unit_sum_7 = (float *)(void *)(work + 828672); /* [one: LANES] */
    float *const unit_sum_7_compensation = (float *)(void *)(work + 828736); /* [one: LANES] */
    float *const row_sum_8 = (float *)(void *)(work + 828800); /* [i: 64] */
    float *const row_sum_8_compensation = (float *)(void *)(work + 829056); /* [i: 64] */
    float *const unit_sum_8 = (float *)(void *)(work + 829312); /* [one: LANES] */
    float *const unit_sum_8_compensation = (float *)(void *)(work + 829376); /* [one: LANES] */
    float *const row_sum_9 = (float *)(void *)(work + 829440); /* [i: 64] */
    float *const row_sum_9_compensation = (float *)(void *)(work + 829696); /* [i: 64] */
    float *const unit_sum_9 = (float *)(void *)(work + 829952); /* [one: LANES] */
    float *const unit_sum_9_compensation = (float *)(void *)(work + 830016); /* [one: LANES] */
    float *const row_sum_10 = (float *)(void *)(work + 830080); /* [i: 64] */
    float *const row_sum_10_compensation = (float *)(void *)(work + 830336); /* [i: 64] */
    float *const unit_sum_10 = (float *)(void *)(work + 830592); /* [one: LANES] */
    float *const unit_sum_10_compensation = (float *)(void *)(work + 830656); /* [one: LANES] */
    float *const row_sum_11 = (float *)(void *)(work + 830720); /* [i: 64] */
    float *const row_sum_11_compensation = (float *)(void *)(work + 830976); /* [i: 64] */
    float *const unit_sum_11 = (float *)(void *)(work + 831232); /* [one: LANES] */
    float *const unit_sum_11_compensation = (float *)(void *)(work + 831296); /* [one: LANES] */
    float *const row_sum_12 = (float *)(void *)(work + 831360); /* [i: 64] */
    float *const row_sum_12_compensation = (float *)(void *)(work + 831616); /* [i: 64] */
    float *const unit_sum_12 = (float *)(void *)(work + 831872); /* [one: LANES] */
    float *const unit_sum_12_compensation = (float *)(void *)(work + 831936); /* [one: LANES] */
    float *const row_sum_13 = (float *)(void *)(work + 832000); /* [i: 64] */
    float *const row_sum_13_compensation = (float *)(void *)(work + 832256); /* [i: 64] */
    float *const unit_sum_13 = (float *)(void *)(work + 832512); /* [one: LANES] */
    float *const unit_sum_13_compensation = (float *)(void *)(work + 832576); /* [one: LANES] */
    float *const row_sum_14 = (float *)(void *)(work + 832640); /* [i: 64] */
    float *const row_sum_14_compensation = (float *)(void *)(work + 832896); /* [i: 64] */
    float *const unit_sum_14 = (float *)(void *)(work + 833152); /* [one: LANES] */
    float *const unit_sum_14_compensation = (float *)(void *)(work + 833216); /* [one: LANES] */
    float *const row_sum_15 = (float *)(void *)(work + 833280); /* [i: 64] */
    float *const row_sum_15_compensation = (float *)(void *)(work + 833536); /* [i: 64] */
    float *const unit_sum_15 = (float *)(void *)(work + 833792); /* [one: LANES] */
    float *const unit_sum_15_compensation = (float *)(void *)(work + 833856); /* [one: LANES] */
    float *const dq = call->array[ARRAY_dq].at ? (float *)call->array[ARRAY_dq].at + (g * members + m) *
        call->array[ARRAY_dq].strides.head : NULL;
    const int64_t dq_row = call->array[ARRAY_dq].strides.row;
    const int64_t dq_batch = call->array[ARRAY_dq].strides.batch;
    float *const partial_0 = call->array[ARRAY_partial_0].at ? (float *)call->array[ARRAY_partial_0].at + ((g * members
        + m) * 16 + unit16) * 1 : NULL;
    float *const partial_1 = call->array[ARRAY_partial_1].at ? (float *)call->array[ARRAY_partial_1].at + ((g * members
        + m) * 16 + unit16) * 1 : NULL;
    float *const partial_2 = call->array[ARRAY_partial_2].at ? (float *)call->array[ARRAY_partial_2].at + ((g * members
        + m) * 16 + unit16) * 1 : NULL;
    float *const partial_3 = call->array[ARRAY_partial_3].at ? (float *)call->array[ARRAY_partial_3].at + ((g * members
        + m) * 16 + unit16) * 1 : NULL;
    float *const partial_4 = call->array[ARRAY_partial_4].at ? (float *)call->array[ARRAY_partial_4].at + ((g * members
        + m) * 16 + unit16) * 1 : NULL;
    float *const partial_5 = call->array[ARRAY_partial_5].at ? (float *)call->array[ARRAY_partial_5].at + ((g * members
        + m) * 16 + unit16) * 1 : NULL;
    float *const partial_6 = call->array[ARRAY_partial_6].at ? (float *)call->array[ARRAY_partial_6].at + ((g * members
        + m) * 16 + unit16) * 1 : NULL;
    float *const partial_7 = call->array[ARRAY_partial_7].at ? (float *)call->array[ARRAY_partial_7].at + ((g * members
        + m) * 16 + unit16) * 1 : NULL;
    float *const partial_8 = call->array[ARRAY_partial_8].at ? (float *)call->array[ARRAY_partial_8].at + ((g * members
        + m) * 16 + unit16) * 1 : NULL;
    float *const partial_9 = call->array[ARRAY_partial_9].at ? (float *)call->array[ARRAY_partial_9].at + ((g * members
        + m) * 16 + unit16) * 1 : NULL;
    float *const partial_10 = call->array[ARRAY_partial_10].at ? (float *)call->array[ARRAY_partial_10].at + ((g *
        members + m) * 16 + unit16) * 1 : NULL;
    float *const partial_11 = call->array[ARRAY_partial_11].at ? (float *)call->array[ARRAY_partial_11].at + ((g *
        members + m) * 16 + unit16) * 1 : NULL;
    float *const partial_12 = call->array[ARRAY_partial_12].at ? (float *)call->array[ARRAY_partial_12].at + ((g *
        members + m) * 16 + unit16) * 1 : NULL;
    float *const partial_13 = call->array[ARRAY_partial_13].at ? (float *)call->array[ARRAY_partial_13].at + ((g *
        members + m) * 16 + unit16) * 1 : NULL;
    float *const partial_14 = call->array[ARRAY_partial_14].at ? (float *)call->array[ARRAY_partial_14].at + ((g *
        members + m) * 16 + unit16) * 1 : NULL;
    float *const q_tile = (float *)(void *)(work + 833920); /* [d: 64, i: 64 of 80] */
    float *const dout_tile = (float *)(void *)(work + 854400); /* [e: 64, i: 64 of 80] */
    float *const saved_0_tile = (float *)(void *)(work + 874880); /* [i: 64] */
    float *const row_0_tile = (float *)(void *)(work + 875136); /* [i: 64] */
    struct remembered *const of_difference_known = (struct remembered *)(void *)(work + 875392);
    float *const of_difference_kept = (float *)(void *)(work + 875456); /* [(LANES + 65744) differences] */
    struct remembered *const of_difference_2_known = (struct remembered *)(void *)(work + 1138496);
    float *const of_difference_2_kept = (float *)(void *)(work + 1138560); /* [(LANES + 65744) differences] */
    struct remembered *const of_difference_3_known = (struct remembered *)(void *)(work + 1401600);
    float *const of_difference_3_kept = (float *)(void *)(work + 1401664); /* [(LANES + 65744) differences] */
    struct remembered *const of_difference_4_known = (struct remembered *)(void *)(work + 1664704);
    float *const of_difference_4_kept = (float *)(void *)(work + 1664768); /* [(LANES + 65744) differences] */
    if (partial_0 || partial_1 || partial_2 || partial_3) {
        /* unit_sum = 0.0f; unit_sum_compensation = 0.0f; unit_sum_2 = 0.0f; unit_sum_2_compensation = 0.0f;
           unit_sum_3 = 0.0f; unit_sum_3_ ... */
        for (int64_t one = 0; one < 1; one += LANES) {
            T(store)(unit_sum + one, T(splat)(0.0f));
            T(store)(unit_sum_compensation + one, T(splat)(0.0f));
            T(store)(unit_sum_2 + one, T(splat)(0.0f));
            T(store)(unit_sum_2_compensation + one, T(splat)(0.0f));
            T(store)(unit_sum_3 + one, T(splat)(0.0f));
            T(store)(unit_sum_3_compensation + one, T(splat)(0.0f));
            T(store)(unit_sum_4 + one, T(splat)(0.0f));
            T(store)(unit_sum_4_compensation + one, T(splat)(0.0f));
        }
    }
    if (partial_4 || partial_5 || partial_6 || partial_7) {
        /* unit_sum_5 = 0.0f; unit_sum_5_compensation = 0.0f; unit_sum_6 = 0.0f; unit_sum_6_compensation = 0.0f;
           unit_sum_7 = 0.0f; unit_su ... */
        for (int64_t one = 0; one < 1; one += LANES) {
            T(store)(unit_sum_5 + one, T(splat)(0.0f));
            T(store)(unit_sum_5_compensation + one, T(splat)(0.0f));
            T(store)(unit_sum_6 + one, T(splat)(0.0f));
            T(store)(unit_sum_6_compensation + one, T(splat)(0.0f));
            T(store)(unit_sum_7 + one, T(splat)(0.0f));
            T(store)(unit_sum_7_compensation + one, T(splat)(0.0f));
            T(store)(unit_sum_8 + one, T(splat)(0.0f));
            T(store)(unit_sum_8_compensation + one, T(splat)(0.0f));
        }
    }
    if (partial_8 || partial_9 || partial_10 || partial_11) {
        /* unit_sum_9 = 0.0f; unit_sum_9_compensation = 0.0f; unit_sum_10 = 0.0f; unit_sum_10_compensation = 0.0f;
           unit_sum_11 = 0.0f; unit ... */
        for (int64_t one = 0; one < 1; one += LANES) {
            T(store)(unit_sum_9 + one, T(splat)(0.0f));
            T(store)(unit_sum_9_compensation + one, T(splat)(0.0f));
            T(store)(unit_sum_10 + one, T(splat)(0.0f));
            T(store)(unit_sum_10_compensation + one, T(splat)(0.0f));
            T(store)(unit_sum_11 + one, T(splat)(0.0f));
            T(store)(unit_sum_11_compensation + one, T(splat)(0.0f));
            T(store)(unit_sum_12 + one, T(splat)(0.0f));
            T(store)(unit_sum_12_compensation + one, T(splat)(0.0f));
        }
    }
    if (partial_12 || partial_13 || partial_14) {
        /* unit_sum_13 = 0.0f; unit_sum_13_compensation = 0.0f; unit_sum_14 = 0.0f; unit_sum_14_compensation = 0.0f;
           unit_sum_15 = 0.0f; un ... */
        for (int64_t one = 0; one < 1; one += LANES) {
            T(store)(unit_sum_13 + one, T(splat)(0.0f));
            T(store)(unit_sum_13_compensation + one, T(splat)(0.0f));
            T(store)(unit_sum_14 + one, T(splat)(0.0f));
            T(store)(unit_sum_14_compensation + one, T(splat)(0.0f));
            T(store)(unit_sum_15 + one, T(splat)(0.0f));
            T(store)(unit_sum_15_compensation + one, T(splat)(0.0f));
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
            if (partial_0 || partial_1 || partial_2 || partial_3) {
                /* row_sum = 0.0f; row_sum_compensation = 0.0f; row_sum_2 = 0.0f; row_sum_2_compensation = 0.0f;
                   row_sum_3 = 0.0f; row_sum_3_compen ... */
                for (int64_t i = 0; i < i1 - i0; i += LANES) {
                    T(store)(row_sum + i, T(splat)(0.0f));
                    T(store)(row_sum_compensation + i, T(splat)(0.0f));
                    T(store)(row_sum_2 + i, T(splat)(0.0f));
                    T(store)(row_sum_2_compensation + i, T(splat)(0.0f));
                    T(store)(row_sum_3 + i, T(splat)(0.0f));
                    T(store)(row_sum_3_compensation + i, T(splat)(0.0f));
                    T(store)(row_sum_4 + i, T(splat)(0.0f));
                    T(store)(row_sum_4_compensation + i, T(splat)(0.0f));
                }
            }
            if (partial_4 || partial_5 || partial_6 || partial_7) {
                /* row_sum_5 = 0.0f; row_sum_5_compensation = 0.0f; row_sum_6 = 0.0f; row_sum_6_compensation = 0.0f;
                   row_sum_7 = 0.0f; row_sum_7_co ... */
                for (int64_t i = 0; i < i1 - i0; i += LANES) {
                    T(store)(row_sum_5 + i, T(splat)(0.0f));
                    T(store)(row_sum_5_compensation + i, T(splat)(0.0f));
                    T(store)(row_sum_6 + i, T(splat)(0.0f));
                    T(store)(row_sum_6_compensation + i, T(splat)(0.0f));
                    T(store)(row_sum_7 + i, T(splat)(0.0f));
                    T(store)(row_sum_7_compensation + i, T(splat)(0.0f));
                    T(store)(row_sum_8 + i, T(splat)(0.0f));
                    T(store)(row_sum_8_compensation + i, T(splat)(0.0f));
                }
            }
            if (partial_8 || partial_9 || partial_10 || partial_11) {
                /* row_sum_9 = 0.0f; row_sum_9_compensation = 0.0f; row_sum_10 = 0.0f; row_sum_10_compensation = 0.0f;
                   row_sum_11 = 0.0f; row_sum_1 ... */
                for (int64_t i = 0; i < i1 - i0; i += LANES) {
                    T(store)(row_sum_9 + i, T(splat)(0.0f));
                    T(store)(row_sum_9_compensation + i, T(splat)(0.0f));
                    T(store)(row_sum_10 + i, T(splat)(0.0f));
                    T(store)(row_sum_10_compensation + i, T(splat)(0.0f));
                    T(store)(row_sum_11 + i, T(splat)(0.0f));
                    T(store)(row_sum_11_compensation + i, T(splat)(0.0f));
                    T(store)(row_sum_12 + i, T(splat)(0.0f));
                    T(store)(row_sum_12_compensation + i, T(splat)(0.0f));
                }
            }
            if (partial_12 || partial_13 || partial_14) {
                /* row_sum_13 = 0.0f; row_sum_13_compensation = 0.0f; row_sum_14 = 0.0f; row_sum_14_compensation = 0.0f;
                   row_sum_15 = 0.0f; row_sum ... */
                for (int64_t i = 0; i < i1 - i0; i += LANES) {
                    T(store)(row_sum_13 + i, T(splat)(0.0f));
                    T(store)(row_sum_13_compensation + i, T(splat)(0.0f));
                    T(store)(row_sum_14 + i, T(splat)(0.0f));
                    T(store)(row_sum_14_compensation + i, T(splat)(0.0f));
                    T(store)(row_sum_15 + i, T(splat)(0.0f));
                    T(store)(row_sum_15_compensation + i, T(splat)(0.0f));
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
                recall(of_difference_known, (call->p.query_start ? b : 0), of_difference_first,
                    of_difference_first + (LANES + 208), 1 - n_k, n_q + n_k + (LANES + 208), 65536);
                float *const of_difference = of_difference_kept + (of_difference_first - of_difference_known->base);
                for (int above = 0; above < 2; above++) { /* the differences below the known ones, and those above */
#if OF(1, 0, 0)
                    const int64_t difference_2240 = above ? of_difference_known->to - of_difference_first : 0;
                    const int64_t difference_2241 = above ? 224 : of_difference_known->from - of_difference_first;
                    if (difference_2240 >= difference_2241) continue;
                    /* of_difference = log1p(abs(c) * ((((difference_224 + (lo() - hi())) + query_start) + 1) * 1.0f))
                       */
#endif
#if OF(0, 1, 0)
                    const int64_t difference_2160 = above ? of_difference_known->to - of_difference_first : 0;
                    const int64_t difference_2161 = above ? 216 : of_difference_known->from - of_difference_first;
                    if (difference_2160 >= difference_2161) continue;
                    /* of_difference = log1p(abs(c) * ((((difference_216 + (lo() - hi())) + query_start) + 1) * 1.0f))
                       */
#endif
#if OF(0, 0, 1)
                    const int64_t difference_2120 = above ? of_difference_known->to - of_difference_first : 0;
                    const int64_t difference_2121 = above ? 212 : of_difference_known->from - of_difference_first;
                    if (difference_2120 >= difference_2121) continue;
                    /* of_difference = log1p(abs(c) * ((((difference_212 + (lo() - hi())) + query_start) + 1) * 1.0f))
                       */
#endif
                    const float t_0 = fabsf(c_array[0]);
                    const int64_t t_1 = i0 - j1;
#if OF(1, 0, 0)
                    for (int64_t difference_224 = difference_2240; difference_224 < difference_2241;
                        difference_224 += 16) {
                        T(store)(of_difference + difference_224, T(log1p)(t_0 *
                            (__builtin_convertvector((((difference_224 + T(lane)) + t_1) + query_start) + 1,
                            T(vec)) * 1.0f)));
#endif
#if OF(0, 1, 0)
                    for (int64_t difference_216 = difference_2160; difference_216 < difference_2161;
                        difference_216 += 8) {
                        T(store)(of_difference + difference_216, T(log1p)(t_0 *
                            (__builtin_convertvector((((difference_216 + T(lane)) + t_1) + query_start) + 1,
                            T(vec)) * 1.0f)));
#endif
#if OF(0, 0, 1)
                    for (int64_t difference_212 = difference_2120; difference_212 < difference_2121;
                        difference_212 += 4) {
                        T(store)(of_difference + difference_212, T(log1p)(t_0 *
                            (__builtin_convertvector((((difference_212 + T(lane)) + t_1) + query_start) + 1,
                            T(vec)) * 1.0f)));
#endif
                    }
                }
                extend_known(of_difference_known, of_difference_first, of_difference_first + (LANES + 208));
                /* the elements of of_difference_2 that this thread has for the head */
                const int64_t of_difference_2_first = i0 - j1 + 1;
                recall(of_difference_2_known, (call->p.query_start ? b : 0), of_difference_2_first,
                    of_difference_2_first + (LANES + 208), 1 - n_k, n_q + n_k + (LANES + 208), 65536);
                float *const of_difference_2 = of_difference_2_kept + (of_difference_2_first -
                    of_difference_2_known->base);
                if (partial_9) {
                    for (int above = 0; above < 2; above++) { /* the differences below the known ones,
                        and those above */
#if OF(1, 0, 0)
                        const int64_t difference_2240 = above ? of_difference_2_known->to - of_difference_2_first : 0;
                        const int64_t difference_2241 = above ? 224 : of_difference_2_known->from -
                            of_difference_2_first;
                        if (difference_2240 >= difference_2241) continue;
                        /* of_difference_2 = (select(c < 0.0f, -1.0f, 1.0f) * (((difference_224 + (lo() - hi())) +
                           query_start) + 1)) / (1.0f + (abs(c) * ( ... */
#endif
#if OF(0, 1, 0)
                        const int64_t difference_2160 = above ? of_difference_2_known->to - of_difference_2_first : 0;
                        const int64_t difference_2161 = above ? 216 : of_difference_2_known->from -
                            of_difference_2_first;
                        if (difference_2160 >= difference_2161) continue;
                        /* of_difference_2 = (select(c < 0.0f, -1.0f, 1.0f) * (((difference_216 + (lo() - hi())) +
                           query_start) + 1)) / (1.0f + (abs(c) * ( ... */
#endif
#if OF(0, 0, 1)
                        const int64_t difference_2120 = above ? of_difference_2_known->to - of_difference_2_first : 0;
                        const int64_t difference_2121 = above ? 212 : of_difference_2_known->from -
                            of_difference_2_first;
                        if (difference_2120 >= difference_2121) continue;
                        /* of_difference_2 = (select(c < 0.0f, -1.0f, 1.0f) * (((difference_212 + (lo() - hi())) +
                           query_start) + 1)) / (1.0f + (abs(c) * ( ... */
#endif
                        const float c_array_2 = c_array[0];
                        const float t_3 = (c_array_2 < 0.0f) ? (-1.0f) : 1.0f;
                        const int64_t t_4 = i0 - j1;
                        const float t_6 = fabsf(c_array_2);
#if OF(1, 0, 0)
                        for (int64_t difference_224 = difference_2240; difference_224 < difference_2241;
                            difference_224 += 16) {
                            const T(ints) t_5 = (((difference_224 + T(lane)) + t_4) + query_start) + 1;
                            T(store)(of_difference_2 + difference_224, (t_3 * __builtin_convertvector(t_5,
                                T(vec))) / (1.0f + (t_6 * (__builtin_convertvector(t_5, T(vec)) * 1.0f))));
#endif
#if OF(0, 1, 0)
                        for (int64_t difference_216 = difference_2160; difference_216 < difference_2161;
                            difference_216 += 8) {
                            const T(ints) t_5 = (((difference_216 + T(lane)) + t_4) + query_start) + 1;
                            T(store)(of_difference_2 + difference_216, (t_3 * __builtin_convertvector(t_5,
                                T(vec))) / (1.0f + (t_6 * (__builtin_convertvector(t_5, T(vec)) * 1.0f))));
#endif
#if OF(0, 0, 1)
                        for (int64_t difference_212 = difference_2120; difference_212 < difference_2121;
                            difference_212 += 4) {
                            const T(ints) t_5 = (((difference_212 + T(lane)) + t_4) + query_start) + 1;
                            T(store)(of_difference_2 + difference_212, (t_3 * __builtin_convertvector(t_5,
                                T(vec))) / (1.0f + (t_6 * (__builtin_convertvector(t_5, T(vec)) * 1.0f))));
#endif
                        }
                    }
                    extend_known(of_difference_2_known, of_difference_2_first, of_difference_2_first + (LANES + 208));
                }
                /* score = exp2((((((score + (offset * 1.442695f)) + (max(0,
                   (of_difference * (w1 / log1p(abs(c) * max(abs(threshold), i + query_st ... */
                const float t_8 = offset_array[0] * 1.442695f;
                const float w1_array_10 = w1_array[0];
                const float c_array_11 = c_array[0];
                const float t_12 = fabsf(c_array_11);
                const float threshold_array_13 = threshold_array[0];
                const float t_14 = fabsf(threshold_array_13);
                const float shift_array_20 = shift_array[0];
                const float w2_array_23 = w2_array[0];
                const float t_24 = w2_array_23 * 1.442695f;
                const float w1_array_25 = w1_array[1 * w1_array_stride_0];
                const float shift_array_27 = shift_array[1 * shift_array_stride_0];
                const float w2_array_29 = w2_array[1 * w2_array_stride_1];
                const float t_30 = w2_array_29 * 1.442695f;
                const float w1_array_31 = w1_array[2 * w1_array_stride_0];
                const float shift_array_33 = shift_array[2 * shift_array_stride_0];
                const float w2_array_35 = w2_array[2 * w2_array_stride_1];
                const float t_36 = w2_array_35 * 1.442695f;
                const float w1_array_37 = w1_array[3 * w1_array_stride_0];
                const float shift_array_39 = shift_array[3 * shift_array_stride_0];
                const float w2_array_41 = w2_array[3 * w2_array_stride_1];
                const float t_42 = w2_array_41 * 1.442695f;
                const float t_51 = (c_array_11 < 0.0f) ? (-1.0f) : 1.0f;
                const float t_52 = w1_array_10 * t_51;
                const float t_56 = w1_array_25 * t_51;
                const float t_59 = w1_array_31 * t_51;
                const float t_62 = w1_array_37 * t_51;
                const float t_64 = w1_array_10 * t_12;
                const float t_65 = (threshold_array_13 < 0.0f) ? (-1.0f) : 1.0f;
                const float t_68 = w1_array_25 * t_12;
                const float t_70 = w1_array_31 * t_12;
                const float t_72 = w1_array_37 * t_12;
                for (int64_t i = 0; i < i1 - i0; i += LANES) {
                    const T(ints) t_15 = (i0 + i + T(lane)) + query_start;
                    const T(vec) t_16 = T(max_nan)(T(splat)(t_14), __builtin_convertvector(t_15, T(vec)));
                    const T(vec) t_17 = t_12 * t_16;
                    const T(vec) t_18 = T(log1p)(t_17);
                    const T(vec) t_19 = w1_array_10 / t_18;
                    const T(vec) t_26 = w1_array_25 / t_18;
                    const T(vec) t_32 = w1_array_31 / t_18;
                    const T(vec) t_38 = w1_array_37 / t_18;
                    const T(vec) saved_0_tile_43 = T(load)(saved_0_tile + i);
                    const T(vec) row_0_tile_46 = T(load)(row_0_tile + i);
                    const T(vec) t_49 = 1.0f / t_18;
                    const T(vec) t_53 = 1.0f + t_17;
                    const T(vec) t_54 = ((t_52 * t_16) / t_18) / t_53;
                    const T(vec) t_57 = ((t_56 * t_16) / t_18) / t_53;
                    const T(vec) t_60 = ((t_59 * t_16) / t_18) / t_53;
                    const T(vec) t_63 = ((t_62 * t_16) / t_18) / t_53;
                    const T(vec) t_66 = T(pick)(t_14 < __builtin_convertvector(t_15, T(vec)), T(splat)(0.0f),
                        T(splat)(t_65));
                    const T(vec) t_67 = ((t_64 * t_66) / t_18) / t_53;
                    const T(vec) t_69 = ((t_68 * t_66) / t_18) / t_53;
                    const T(vec) t_71 = ((t_70 * t_66) / t_18) / t_53;
                    const T(vec) t_73 = ((t_72 * t_66) / t_18) / t_53;
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        const T(vec) score_7 = T(load)(score + j * 80 + i);
                        const T(vec) of_difference_9 = T(load)(of_difference + ((i0 + i) - (j0 + j) - (i0 - j1) - 1));
                        const T(vec) t_21 = (of_difference_9 * t_19) + shift_array_20;
                        const T(vec) t_22 = T(max_nan)(T(splat)((float)0), t_21);
                        const T(vec) t_28 = (of_difference_9 * t_26) + shift_array_27;
                        const T(vec) t_34 = (of_difference_9 * t_32) + shift_array_33;
                        const T(vec) t_40 = (of_difference_9 * t_38) + shift_array_39;
                        const T(vec) score_new44 = T(exp2)((((((score_7 + t_8) + (t_22 * t_24)) +
                            (T(max_nan)(T(splat)((float)0), t_28) * t_30)) + (T(max_nan)(T(splat)((float)0),
                            t_34) * t_36)) + (T(max_nan)(T(splat)((float)0), t_40) * t_42)) - saved_0_tile_43);
                        T(store)(score + j * 80 + i, score_new44);
                        const T(vec) score_2_45 = T(load)(score_2 + j * 80 + i);
                        const T(vec) score_2_new47 = score_2_45 + row_0_tile_46;
                        T(store)(score_2 + j * 80 + i, score_2_new47);
                        T(store)(weight_3 + j * 80 + i, score_2_new47 * (score_new44 * 0.125f));
                        T(store)(weight_4 + j * 80 + i, score_2_new47 * score_new44);
                        T(store)(weight_5 + j * 80 + i, score_2_new47 * (score_new44 * t_22));
                        const T(mask) t_48 = (float)0 < t_21;
                        T(store)(weight_6 + j * 80 + i, score_2_new47 * (score_new44 * (w2_array_23 * T(pick)(t_48,
                            of_difference_9 * t_49, T(splat)(0.0f)))));
                        const T(vec) of_difference_2_50 = T(load)(of_difference_2 + ((i0 + i) - (j0 + j) - (i0 - j1) -
                            1));
                        const T(mask) t_55 = (float)0 < t_28;
                        const T(mask) t_58 = (float)0 < t_34;
                        const T(mask) t_61 = (float)0 < t_40;
                        T(store)(weight_7 + j * 80 + i, score_2_new47 * (score_new44 * ((((w2_array_23 * T(pick)(t_48,
                            ((w1_array_10 * of_difference_2_50) - (of_difference_9 * t_54)) * t_49,
                            T(splat)(0.0f))) + (w2_array_29 * T(pick)(t_55,
                            ((w1_array_25 * of_difference_2_50) - (of_difference_9 * t_57)) * t_49,
                            T(splat)(0.0f)))) + (w2_array_35 * T(pick)(t_58,
                            ((w1_array_31 * of_difference_2_50) - (of_difference_9 * t_60)) * t_49,
                            T(splat)(0.0f)))) + (w2_array_41 * T(pick)(t_61,
                            ((w1_array_37 * of_difference_2_50) - (of_difference_9 * t_63)) * t_49, T(splat)(0.0f))))));
                        T(store)(weight_8 + j * 80 + i, score_2_new47 * (score_new44 * ((((w2_array_23 * T(pick)(t_48,
                            (-(of_difference_9 * t_67)) * t_49, T(splat)(0.0f))) + (w2_array_29 * T(pick)(t_55,
                            (-(of_difference_9 * t_69)) * t_49, T(splat)(0.0f)))) + (w2_array_35 * T(pick)(t_58,
                            (-(of_difference_9 * t_71)) * t_49, T(splat)(0.0f)))) + (w2_array_41 * T(pick)(t_61,
                            (-(of_difference_9 * t_73)) * t_49, T(splat)(0.0f))))));
                    }
                }
                /* the elements of of_difference_3 that this thread has for the head */
                const int64_t of_difference_3_first = i0 - j1 + 1;
                recall(of_difference_3_known, (call->p.query_start ? b : 0), of_difference_3_first,
                    of_difference_3_first + (LANES + 208), 1 - n_k, n_q + n_k + (LANES + 208), 65536);
                float *const of_difference_3 = of_difference_3_kept + (of_difference_3_first -
                    of_difference_3_known->base);
                if (partial_1 || partial_2 || partial_3 || partial_6 || partial_7 || partial_12 || partial_13 ||
                    partial_14) {
                    for (int above = 0; above < 2; above++) { /* the differences below the known ones,
                        and those above */
#if OF(1, 0, 0)
                        const int64_t difference_2240 = above ? of_difference_3_known->to - of_difference_3_first : 0;
                        const int64_t difference_2241 = above ? 224 : of_difference_3_known->from -
                            of_difference_3_first;
                        if (difference_2240 >= difference_2241) continue;
                        /* of_difference_3 = log1p(abs(c) * ((((difference_224 + (lo() - hi())) + query_start) + 1) *
                           1.0f)) */
#endif
#if OF(0, 1, 0)
                        const int64_t difference_2160 = above ? of_difference_3_known->to - of_difference_3_first : 0;
                        const int64_t difference_2161 = above ? 216 : of_difference_3_known->from -
                            of_difference_3_first;
                        if (difference_2160 >= difference_2161) continue;
                        /* of_difference_3 = log1p(abs(c) * ((((difference_216 + (lo() - hi())) + query_start) + 1) *
                           1.0f)) */
#endif
#if OF(0, 0, 1)
                        const int64_t difference_2120 = above ? of_difference_3_known->to - of_difference_3_first : 0;
                        const int64_t difference_2121 = above ? 212 : of_difference_3_known->from -
                            of_difference_3_first;
                        if (difference_2120 >= difference_2121) continue;
                        /* of_difference_3 = log1p(abs(c) * ((((difference_212 + (lo() - hi())) + query_start) + 1) *
                           1.0f)) */
#endif
                        const float t_74 = fabsf(c_array[0]);
                        const int64_t t_75 = i0 - j1;
#if OF(1, 0, 0)
                        for (int64_t difference_224 = difference_2240; difference_224 < difference_2241;
                            difference_224 += 16) {
                            T(store)(of_difference_3 + difference_224, T(log1p)(t_74 *
                                (__builtin_convertvector((((difference_224 + T(lane)) + t_75) + query_start) + 1,
                                T(vec)) * 1.0f)));
#endif
#if OF(0, 1, 0)
                        for (int64_t difference_216 = difference_2160; difference_216 < difference_2161;
                            difference_216 += 8) {
                            T(store)(of_difference_3 + difference_216, T(log1p)(t_74 *
                                (__builtin_convertvector((((difference_216 + T(lane)) + t_75) + query_start) + 1,
                                T(vec)) * 1.0f)));
#endif
#if OF(0, 0, 1)
                        for (int64_t difference_212 = difference_2120; difference_212 < difference_2121;
                            difference_212 += 4) {
                            T(store)(of_difference_3 + difference_212, T(log1p)(t_74 *
                                (__builtin_convertvector((((difference_212 + T(lane)) + t_75) + query_start) + 1,
                                T(vec)) * 1.0f)));
#endif
                        }
                    }
                    extend_known(of_difference_3_known, of_difference_3_first, of_difference_3_first + (LANES + 208));
                    /* weight_9 = score_2 * (score * (w2 * select(0 < ((of_difference_3 * (w1 / log1p(abs(c) *
                       max(abs(threshold), i + query_start))))  ... */
                    const float w2_array_78 = w2_array[0];
                    const float w1_array_80 = w1_array[0];
                    const float t_81 = fabsf(c_array[0]);
                    const float t_82 = fabsf(threshold_array[0]);
                    const float shift_array_85 = shift_array[0];
                    const float w1_array_86 = w1_array[1 * w1_array_stride_0];
                    const float shift_array_88 = shift_array[1 * shift_array_stride_0];
                    const float w2_array_90 = w2_array[1 * w2_array_stride_1];
                    const float w1_array_94 = w1_array[2 * w1_array_stride_0];
                    const float shift_array_96 = shift_array[2 * shift_array_stride_0];
                    const float w2_array_98 = w2_array[2 * w2_array_stride_1];
                    const float w1_array_100 = w1_array[3 * w1_array_stride_0];
                    const float shift_array_102 = shift_array[3 * shift_array_stride_0];
                    for (int64_t i = 0; i < i1 - i0; i += LANES) {
                        const T(vec) t_83 = T(log1p)(t_81 * T(max_nan)(T(splat)(t_82),
                            __builtin_convertvector((i0 + i + T(lane)) + query_start, T(vec))));
                        const T(vec) t_84 = w1_array_80 / t_83;
                        const T(vec) t_87 = w1_array_86 / t_83;
                        const T(vec) t_92 = 1.0f / t_83;
                        const T(vec) t_95 = w1_array_94 / t_83;
                        const T(vec) t_101 = w1_array_100 / t_83;
                        for (int64_t j = 0; j < j1 - j0; j++) {
                            const T(vec) score_2_76 = T(load)(score_2 + j * 80 + i);
                            const T(vec) score_77 = T(load)(score + j * 80 + i);
                            const T(vec) of_difference_3_79 = T(load)(of_difference_3 + ((i0 + i) - (j0 + j) - (i0 - j1)
                                - 1));
                            T(store)(weight_9 + j * 80 + i, score_2_76 * (score_77 * (w2_array_78 * T(pick)((float)0 <
                                ((of_difference_3_79 * t_84) + shift_array_85), T(splat)(1.0f), T(splat)(0.0f)))));
                            const T(vec) t_89 = (of_difference_3_79 * t_87) + shift_array_88;
                            T(store)(weight_10 + j * 80 + i, score_2_76 * (score_77 * T(max_nan)(T(splat)((float)0),
                                t_89)));
                            const T(mask) t_91 = (float)0 < t_89;
                            const T(vec) t_93 = of_difference_3_79 * t_92;
                            T(store)(weight_11 + j * 80 + i, score_2_76 * (score_77 * (w2_array_90 * T(pick)(t_91, t_93,
                                T(splat)(0.0f)))));
                            T(store)(weight_12 + j * 80 + i, score_2_76 * (score_77 * (w2_array_90 * T(pick)(t_91,
                                T(splat)(1.0f), T(splat)(0.0f)))));
                            const T(vec) t_97 = (of_difference_3_79 * t_95) + shift_array_96;
                            T(store)(weight_13 + j * 80 + i, score_2_76 * (score_77 * T(max_nan)(T(splat)((float)0),
                                t_97)));
                            const T(mask) t_99 = (float)0 < t_97;
                            T(store)(weight_14 + j * 80 + i, score_2_76 * (score_77 * (w2_array_98 * T(pick)(t_99, t_93,
                                T(splat)(0.0f)))));
                            T(store)(weight_15 + j * 80 + i, score_2_76 * (score_77 * (w2_array_98 * T(pick)(t_99,
                                T(splat)(1.0f), T(splat)(0.0f)))));
                            T(store)(weight_16 + j * 80 + i, score_2_76 * (score_77 * T(max_nan)(T(splat)((float)0),
                                (of_difference_3_79 * t_101) + shift_array_102)));
                        }
                    }
                }
                /* the elements of of_difference_4 that this thread has for the head */
                const int64_t of_difference_4_first = i0 - j1 + 1;
                recall(of_difference_4_known, (call->p.query_start ? b : 0), of_difference_4_first,
                    of_difference_4_first + (LANES + 208), 1 - n_k, n_q + n_k + (LANES + 208), 65536);
                float *const of_difference_4 = of_difference_4_kept + (of_difference_4_first -
                    of_difference_4_known->base);
                if (partial_5 || partial_11) {
                    for (int above = 0; above < 2; above++) { /* the differences below the known ones,
                        and those above */
#if OF(1, 0, 0)
                        const int64_t difference_2240 = above ? of_difference_4_known->to - of_difference_4_first : 0;
                        const int64_t difference_2241 = above ? 224 : of_difference_4_known->from -
                            of_difference_4_first;
                        if (difference_2240 >= difference_2241) continue;
                        /* of_difference_4 = log1p(abs(c) * ((((difference_224 + (lo() - hi())) + query_start) + 1) *
                           1.0f)) */
#endif
#if OF(0, 1, 0)
                        const int64_t difference_2160 = above ? of_difference_4_known->to - of_difference_4_first : 0;
                        const int64_t difference_2161 = above ? 216 : of_difference_4_known->from -
                            of_difference_4_first;
                        if (difference_2160 >= difference_2161) continue;
                        /* of_difference_4 = log1p(abs(c) * ((((difference_216 + (lo() - hi())) + query_start) + 1) *
                           1.0f)) */
#endif
#if OF(0, 0, 1)
                        const int64_t difference_2120 = above ? of_difference_4_known->to - of_difference_4_first : 0;
                        const int64_t difference_2121 = above ? 212 : of_difference_4_known->from -
                            of_difference_4_first;
                        if (difference_2120 >= difference_2121) continue;
                        /* of_difference_4 = log1p(abs(c) * ((((difference_212 + (lo() - hi())) + query_start) + 1) *
                           1.0f)) */
#endif
                        const float t_103 = fabsf(c_array[0]);
                        const int64_t t_104 = i0 - j1;
#if OF(1, 0, 0)
                        for (int64_t difference_224 = difference_2240; difference_224 < difference_2241;
                            difference_224 += 16) {
                            T(store)(of_difference_4 + difference_224, T(log1p)(t_103 *
                                (__builtin_convertvector((((difference_224 + T(lane)) + t_104) + query_start) + 1,
                                T(vec)) * 1.0f)));
#endif
#if OF(0, 1, 0)
                        for (int64_t difference_216 = difference_2160; difference_216 < difference_2161;
                            difference_216 += 8) {
                            T(store)(of_difference_4 + difference_216, T(log1p)(t_103 *
                                (__builtin_convertvector((((difference_216 + T(lane)) + t_104) + query_start) + 1,
                                T(vec)) * 1.0f)));
#endif
#if OF(0, 0, 1)
                        for (int64_t difference_212 = difference_2120; difference_212 < difference_2121;
                            difference_212 += 4) {
                            T(store)(of_difference_4 + difference_212, T(log1p)(t_103 *
                                (__builtin_convertvector((((difference_212 + T(lane)) + t_104) + query_start) + 1,
                                T(vec)) * 1.0f)));
#endif
                        }
                    }
                    extend_known(of_difference_4_known, of_difference_4_first, of_difference_4_first + (LANES + 208));
                    /* weight_17 = score_2 * (score * (w2 * select(0 < ((of_difference_4 * (w1 / log1p(abs(c) *
                       max(abs(threshold), i + query_start)))) ... */
                    const float w2_array_107 = w2_array[3 * w2_array_stride_1];
                    const float w1_array_109 = w1_array[3 * w1_array_stride_0];
                    const float t_110 = fabsf(c_array[0]);
                    const float t_111 = fabsf(threshold_array[0]);
                    const float shift_array_114 = shift_array[3 * shift_array_stride_0];
                    for (int64_t i = 0; i < i1 - i0; i += LANES) {
                        const T(vec) t_112 = T(log1p)(t_110 * T(max_nan)(T(splat)(t_111),
                            __builtin_convertvector((i0 + i + T(lane)) + query_start, T(vec))));
                        const T(vec) t_113 = w1_array_109 / t_112;
                        const T(vec) t_116 = 1.0f / t_112;
                        for (int64_t j = 0; j < j1 - j0; j++) {
                            const T(vec) score_2_105 = T(load)(score_2 + j * 80 + i);
                            const T(vec) score_106 = T(load)(score + j * 80 + i);
                            const T(vec) of_difference_4_108 = T(load)(of_difference_4 + ((i0 + i) - (j0 + j) - (i0 -
                                j1) - 1));
                            const T(mask) t_115 = (float)0 < ((of_difference_4_108 * t_113) + shift_array_114);
                            T(store)(weight_17 + j * 80 + i, score_2_105 * (score_106 * (w2_array_107 * T(pick)(t_115,
                                of_difference_4_108 * t_116, T(splat)(0.0f)))));
                            T(store)(score + j * 80 + i, score_2_105 * (score_106 * (w2_array_107 * T(pick)(t_115,
                                T(splat)(1.0f), T(splat)(0.0f)))));
                        }
                    }
                }
                if ((i0 + query_start + 1) < j1) { /* the tile is partly outside the mask */
                    if (dq) {
                        /* weight_3 = select(j <= (i + query_start), weight_3, 0.0f) */
                        for (int64_t i = 0; i < i1 - i0; i += LANES) {
                            const T(ints) t_117 = (i0 + i + T(lane)) + query_start;
                            for (int64_t j = 0; j < j1 - j0; j++) {
                                T(store)(weight_3 + j * 80 + i, T(pick)(__builtin_convertvector((j0 + j) <= t_117,
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
                            const T(ints) t_118 = (i0 + i + T(lane)) + query_start;
                            for (int64_t j = 0; j < j1 - j0; j++) {
                                T(store)(weight_4 + j * 80 + i, T(pick)(__builtin_convertvector((j0 + j) <= t_118,
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
                        /* weight_16 = select(j <= (i + query_start), weight_16, 0.0f) */
                        for (int64_t i = 0; i < i1 - i0; i += LANES) {
                            const T(ints) t_119 = (i0 + i + T(lane)) + query_start;
                            for (int64_t j = 0; j < j1 - j0; j++) {
                                T(store)(weight_16 + j * 80 + i, T(pick)(__builtin_convertvector((j0 + j) <= t_119,
                                    T(mask)), T(load)(weight_16 + j * 80 + i), T(splat)(0.0f)));
                            }
                        }
                    }
                }
                if (partial_1) {
                    /* row_sum_2 += weight_16 */
                    for (int64_t i_first = 0; i_first < i1 - i0; i_first += OF(64, 16, 8)) {
                        T(vec) row_sum_2_in[OF(4, 2, 2)];
                        UNROLL for (int64_t vector = 0, i = i_first; vector < OF(4, 2, 2); vector++, i += LANES) {
                            row_sum_2_in[vector] = (T(vec)){0};
                        }
                        for (int64_t j = 0; j < j1 - j0; j++) {
                            UNROLL for (int64_t vector = 0, i = i_first; vector < OF(4, 2, 2); vector++, i += LANES) {
                                row_sum_2_in[vector] += T(load)(weight_16 + j * 80 + i);
                            }
                        }
                        UNROLL for (int64_t vector = 0, i = i_first; vector < OF(4, 2, 2); vector++, i += LANES) {
                            T(add)(row_sum_2 + i, row_sum_2_compensation + i, row_sum_2_in[vector], T(splat)(1));
                        }
                    }
                }
                if ((i0 + query_start + 1) < j1) { /* the tile is partly outside the mask */
                    if (partial_2) {
                        /* weight_13 = select(j <= (i + query_start), weight_13, 0.0f) */
                        for (int64_t i = 0; i < i1 - i0; i += LANES) {
                            const T(ints) t_120 = (i0 + i + T(lane)) + query_start;
                            for (int64_t j = 0; j < j1 - j0; j++) {
                                T(store)(weight_13 + j * 80 + i, T(pick)(__builtin_convertvector((j0 + j) <= t_120,
                                    T(mask)), T(load)(weight_13 + j * 80 + i), T(splat)(0.0f)));
                            }
                        }
                    }
                }
                if (partial_2) {
                    /* row_sum_3 += weight_13 */
                    for (int64_t i_first = 0; i_first < i1 - i0; i_first += OF(64, 16, 8)) {
                        T(vec) row_sum_3_in[OF(4, 2, 2)];
                        UNROLL for (int64_t vector = 0, i = i_first; vector < OF(4, 2, 2); vector++, i += LANES) {
                            row_sum_3_in[vector] = (T(vec)){0};
                        }
                        for (int64_t j = 0; j < j1 - j0; j++) {
                            UNROLL for (int64_t vector = 0, i = i_first; vector < OF(4, 2, 2); vector++, i += LANES) {
                                row_sum_3_in[vector] += T(load)(weight_13 + j * 80 + i);
                            }
                        }
                        UNROLL for (int64_t vector = 0, i = i_first; vector < OF(4, 2, 2); vector++, i += LANES) {
                            T(add)(row_sum_3 + i, row_sum_3_compensation + i, row_sum_3_in[vector], T(splat)(1));
                        }
                    }
                }
                if ((i0 + query_start + 1) < j1) { /* the tile is partly outside the mask */
                    if (partial_3) {
                        /* weight_10 = select(j <= (i + query_start), weight_10, 0.0f) */
                        for (int64_t i = 0; i < i1 - i0; i += LANES) {
                            const T(ints) t_121 = (i0 + i + T(lane)) + query_start;
                            for (int64_t j = 0; j < j1 - j0; j++) {
                                T(store)(weight_10 + j * 80 + i, T(pick)(__builtin_convertvector((j0 + j) <= t_121,
                                    T(mask)), T(load)(weight_10 + j * 80 + i), T(splat)(0.0f)));
                            }
                        }
                    }
                }
                if (partial_3) {
                    /* row_sum_4 += weight_10 */
                    for (int64_t i_first = 0; i_first < i1 - i0; i_first += OF(64, 16, 8)) {
                        T(vec) row_sum_4_in[OF(4, 2, 2)];
                        UNROLL for (int64_t vector = 0, i = i_first; vector < OF(4, 2, 2); vector++, i += LANES) {
                            row_sum_4_in[vector] = (T(vec)){0};
                        }
                        for (int64_t j = 0; j < j1 - j0; j++) {
                            UNROLL for (int64_t vector = 0, i = i_first; vector < OF(4, 2, 2); vector++, i += LANES) {
                                row_sum_4_in[vector] += T(load)(weight_10 + j * 80 + i);
                            }
                        }
                        UNROLL for (int64_t vector = 0, i = i_first; vector < OF(4, 2, 2); vector++, i += LANES) {
                            T(add)(row_sum_4 + i, row_sum_4_compensation + i, row_sum_4_in[vector], T(splat)(1));
                        }
                    }
                }
                if ((i0 + query_start + 1) < j1) { /* the tile is partly outside the mask */
                    if (partial_4) {
                        /* weight_5 = select(j <= (i + query_start), weight_5, 0.0f) */
                        for (int64_t i = 0; i < i1 - i0; i += LANES) {
                            const T(ints) t_122 = (i0 + i + T(lane)) + query_start;
                            for (int64_t j = 0; j < j1 - j0; j++) {
                                T(store)(weight_5 + j * 80 + i, T(pick)(__builtin_convertvector((j0 + j) <= t_122,
                                    T(mask)), T(load)(weight_5 + j * 80 + i), T(splat)(0.0f)));
                            }
                        }
                    }
                }
                if (partial_4) {
                    /* row_sum_5 += weight_5 */
                    for (int64_t i_first = 0; i_first < i1 - i0; i_first += OF(64, 16, 8)) {
                        T(vec) row_sum_5_in[OF(4, 2, 2)];
                        UNROLL for (int64_t vector = 0, i = i_first; vector < OF(4, 2, 2); vector++, i += LANES) {
                            row_sum_5_in[vector] = (T(vec)){0};
                        }
                        for (int64_t j = 0; j < j1 - j0; j++) {
                            UNROLL for (int64_t vector = 0, i = i_first; vector < OF(4, 2, 2); vector++, i += LANES) {
                                row_sum_5_in[vector] += T(load)(weight_5 + j * 80 + i);
                            }
                        }
                        UNROLL for (int64_t vector = 0, i = i_first; vector < OF(4, 2, 2); vector++, i += LANES) {
                            T(add)(row_sum_5 + i, row_sum_5_compensation + i, row_sum_5_in[vector], T(splat)(1));
                        }
                    }
                }
                if ((i0 + query_start + 1) < j1) { /* the tile is partly outside the mask */
                    if (partial_5) {
                        /* weight_17 = select(j <= (i + query_start), weight_17, 0.0f) */
                        for (int64_t i = 0; i < i1 - i0; i += LANES) {
                            const T(ints) t_123 = (i0 + i + T(lane)) + query_start;
                            for (int64_t j = 0; j < j1 - j0; j++) {
                                T(store)(weight_17 + j * 80 + i, T(pick)(__builtin_convertvector((j0 + j) <= t_123,
                                    T(mask)), T(load)(weight_17 + j * 80 + i), T(splat)(0.0f)));
                            }
                        }
                    }
                }
                if (partial_5) {
                    /* row_sum_6 += weight_17 */
                    for (int64_t i_first = 0; i_first < i1 - i0; i_first += OF(64, 16, 8)) {
                        T(vec) row_sum_6_in[OF(4, 2, 2)];
                        UNROLL for (int64_t vector = 0, i = i_first; vector < OF(4, 2, 2); vector++, i += LANES) {
                            row_sum_6_in[vector] = (T(vec)){0};
                        }
                        for (int64_t j = 0; j < j1 - j0; j++) {
                            UNROLL for (int64_t vector = 0, i = i_first; vector < OF(4, 2, 2); vector++, i += LANES) {
                                row_sum_6_in[vector] += T(load)(weight_17 + j * 80 + i);
                            }
                        }
                        UNROLL for (int64_t vector = 0, i = i_first; vector < OF(4, 2, 2); vector++, i += LANES) {
                            T(add)(row_sum_6 + i, row_sum_6_compensation + i, row_sum_6_in[vector], T(splat)(1));
                        }
                    }
                }
                if ((i0 + query_start + 1) < j1) { /* the tile is partly outside the mask */
                    if (partial_6) {
                        /* weight_14 = select(j <= (i + query_start), weight_14, 0.0f) */
                        for (int64_t i = 0; i < i1 - i0; i += LANES) {
                            const T(ints) t_124 = (i0 + i + T(lane)) + query_start;
                            for (int64_t j = 0; j < j1 - j0; j++) {
                                T(store)(weight_14 + j * 80 + i, T(pick)(__builtin_convertvector((j0 + j) <= t_124,
                                    T(mask)), T(load)(weight_14 + j * 80 + i), T(splat)(0.0f)));
                            }
                        }
                    }
                }
                if (partial_6) {
                    /* row_sum_7 += weight_14 */
                    for (int64_t i_first = 0; i_first < i1 - i0; i_first += OF(64, 16, 8)) {
                        T(vec) row_sum_7_in[OF(4, 2, 2)];
                        UNROLL for (int64_t vector = 0, i = i_first; vector < OF(4, 2, 2); vector++, i += LANES) {
                            row_sum_7_in[vector] = (T(vec)){0};
                        }
                        for (int64_t j = 0; j < j1 - j0; j++) {
                            UNROLL for (int64_t vector = 0, i = i_first; vector < OF(4, 2, 2); vector++, i += LANES) {
                                row_sum_7_in[vector] += T(load)(weight_14 + j * 80 + i);
                            }
                        }
                        UNROLL for (int64_t vector = 0, i = i_first; vector < OF(4, 2, 2); vector++, i += LANES) {
                            T(add)(row_sum_7 + i, row_sum_7_compensation + i, row_sum_7_in[vector], T(splat)(1));
                        }
                    }
                }
                if ((i0 + query_start + 1) < j1) { /* the tile is partly outside the mask */
                    if (partial_7) {
                        /* weight_11 = select(j <= (i + query_start), weight_11, 0.0f) */
                        for (int64_t i = 0; i < i1 - i0; i += LANES) {
                            const T(ints) t_125 = (i0 + i + T(lane)) + query_start;
                            for (int64_t j = 0; j < j1 - j0; j++) {
                                T(store)(weight_11 + j * 80 + i, T(pick)(__builtin_convertvector((j0 + j) <= t_125,
                                    T(mask)), T(load)(weight_11 + j * 80 + i), T(splat)(0.0f)));
                            }
                        }
                    }
                }
                if (partial_7) {
                    /* row_sum_8 += weight_11 */
                    for (int64_t i_first = 0; i_first < i1 - i0; i_first += OF(64, 16, 8)) {
                        T(vec) row_sum_8_in[OF(4, 2, 2)];
                        UNROLL for (int64_t vector = 0, i = i_first; vector < OF(4, 2, 2); vector++, i += LANES) {
                            row_sum_8_in[vector] = (T(vec)){0};
                        }
                        for (int64_t j = 0; j < j1 - j0; j++) {
                            UNROLL for (int64_t vector = 0, i = i_first; vector < OF(4, 2, 2); vector++, i += LANES) {
                                row_sum_8_in[vector] += T(load)(weight_11 + j * 80 + i);
                            }
                        }
                        UNROLL for (int64_t vector = 0, i = i_first; vector < OF(4, 2, 2); vector++, i += LANES) {
                            T(add)(row_sum_8 + i, row_sum_8_compensation + i, row_sum_8_in[vector], T(splat)(1));
                        }
                    }
                }
                if ((i0 + query_start + 1) < j1) { /* the tile is partly outside the mask */
                    if (partial_8) {
                        /* weight_6 = select(j <= (i + query_start), weight_6, 0.0f) */
                        for (int64_t i = 0; i < i1 - i0; i += LANES) {
                            const T(ints) t_126 = (i0 + i + T(lane)) + query_start;
                            for (int64_t j = 0; j < j1 - j0; j++) {
                                T(store)(weight_6 + j * 80 + i, T(pick)(__builtin_convertvector((j0 + j) <= t_126,
                                    T(mask)), T(load)(weight_6 + j * 80 + i), T(splat)(0.0f)));
                            }
                        }
                    }
                }
                if (partial_8) {
                    /* row_sum_9 += weight_6 */
                    for (int64_t i_first = 0; i_first < i1 - i0; i_first += OF(64, 16, 8)) {
                        T(vec) row_sum_9_in[OF(4, 2, 2)];
                        UNROLL for (int64_t vector = 0, i = i_first; vector < OF(4, 2, 2); vector++, i += LANES) {
                            row_sum_9_in[vector] = (T(vec)){0};
                        }
                        for (int64_t j = 0; j < j1 - j0; j++) {
                            UNROLL for (int64_t vector = 0, i = i_first; vector < OF(4, 2, 2); vector++, i += LANES) {
                                row_sum_9_in[vector] += T(load)(weight_6 + j * 80 + i);
                            }
                        }
                        UNROLL for (int64_t vector = 0, i = i_first; vector < OF(4, 2, 2); vector++, i += LANES) {
                            T(add)(row_sum_9 + i, row_sum_9_compensation + i, row_sum_9_in[vector], T(splat)(1));
                        }
                    }
                }
                if ((i0 + query_start + 1) < j1) { /* the tile is partly outside the mask */
                    if (partial_9) {
                        /* weight_7 = select(j <= (i + query_start), weight_7, 0.0f) */
                        for (int64_t i = 0; i < i1 - i0; i += LANES) {
                            const T(ints) t_127 = (i0 + i + T(lane)) + query_start;
                            for (int64_t j = 0; j < j1 - j0; j++) {
                                T(store)(weight_7 + j * 80 + i, T(pick)(__builtin_convertvector((j0 + j) <= t_127,
                                    T(mask)), T(load)(weight_7 + j * 80 + i), T(splat)(0.0f)));
                            }
                        }
                    }
                }
                if (partial_9) {
                    /* row_sum_10 += weight_7 */
                    for (int64_t i_first = 0; i_first < i1 - i0; i_first += OF(64, 16, 8)) {
                        T(vec) row_sum_10_in[OF(4, 2, 2)];
                        UNROLL for (int64_t vector = 0, i = i_first; vector < OF(4, 2, 2); vector++, i += LANES) {
                            row_sum_10_in[vector] = (T(vec)){0};
                        }
                        for (int64_t j = 0; j < j1 - j0; j++) {
                            UNROLL for (int64_t vector = 0, i = i_first; vector < OF(4, 2, 2); vector++, i += LANES) {
                                row_sum_10_in[vector] += T(load)(weight_7 + j * 80 + i);
                            }
                        }
                        UNROLL for (int64_t vector = 0, i = i_first; vector < OF(4, 2, 2); vector++, i += LANES) {
                            T(add)(row_sum_10 + i, row_sum_10_compensation + i, row_sum_10_in[vector], T(splat)(1));
                        }
                    }
                }
                if ((i0 + query_start + 1) < j1) { /* the tile is partly outside the mask */
                    if (partial_10) {
                        /* weight_8 = select(j <= (i + query_start), weight_8, 0.0f) */
                        for (int64_t i = 0; i < i1 - i0; i += LANES) {
                            const T(ints) t_128 = (i0 + i + T(lane)) + query_start;
                            for (int64_t j = 0; j < j1 - j0; j++) {
                                T(store)(weight_8 + j * 80 + i, T(pick)(__builtin_convertvector((j0 + j) <= t_128,
                                    T(mask)), T(load)(weight_8 + j * 80 + i), T(splat)(0.0f)));
                            }
                        }
                    }
                }
                if (partial_10) {
                    /* row_sum_11 += weight_8 */
                    for (int64_t i_first = 0; i_first < i1 - i0; i_first += OF(64, 16, 8)) {
                        T(vec) row_sum_11_in[OF(4, 2, 2)];
                        UNROLL for (int64_t vector = 0, i = i_first; vector < OF(4, 2, 2); vector++, i += LANES) {
                            row_sum_11_in[vector] = (T(vec)){0};
                        }
                        for (int64_t j = 0; j < j1 - j0; j++) {
                            UNROLL for (int64_t vector = 0, i = i_first; vector < OF(4, 2, 2); vector++, i += LANES) {
                                row_sum_11_in[vector] += T(load)(weight_8 + j * 80 + i);
                            }
                        }
                        UNROLL for (int64_t vector = 0, i = i_first; vector < OF(4, 2, 2); vector++, i += LANES) {
                            T(add)(row_sum_11 + i, row_sum_11_compensation + i, row_sum_11_in[vector], T(splat)(1));
                        }
                    }
                }
                if ((i0 + query_start + 1) < j1) { /* the tile is partly outside the mask */
                    if (partial_11) {
                        /* score = select(j <= (i + query_start), score, 0.0f) */
                        for (int64_t i = 0; i < i1 - i0; i += LANES) {
                            const T(ints) t_129 = (i0 + i + T(lane)) + query_start;
                            for (int64_t j = 0; j < j1 - j0; j++) {
                                T(store)(score + j * 80 + i, T(pick)(__builtin_convertvector((j0 + j) <= t_129,
                                    T(mask)), T(load)(score + j * 80 + i), T(splat)(0.0f)));
                            }
                        }
                    }
                }
                if (partial_11) {
                    /* row_sum_12 += score */
                    for (int64_t i_first = 0; i_first < i1 - i0; i_first += OF(64, 16, 8)) {
                        T(vec) row_sum_12_in[OF(4, 2, 2)];
                        UNROLL for (int64_t vector = 0, i = i_first; vector < OF(4, 2, 2); vector++, i += LANES) {
                            row_sum_12_in[vector] = (T(vec)){0};
                        }
                        for (int64_t j = 0; j < j1 - j0; j++) {
                            UNROLL for (int64_t vector = 0, i = i_first; vector < OF(4, 2, 2); vector++, i += LANES) {
                                row_sum_12_in[vector] += T(load)(score + j * 80 + i);
                            }
                        }
                        UNROLL for (int64_t vector = 0, i = i_first; vector < OF(4, 2, 2); vector++, i += LANES) {
                            T(add)(row_sum_12 + i, row_sum_12_compensation + i, row_sum_12_in[vector], T(splat)(1));
                        }
                    }
                }
                if ((i0 + query_start + 1) < j1) { /* the tile is partly outside the mask */
                    if (partial_12) {
                        /* weight_15 = select(j <= (i + query_start), weight_15, 0.0f) */
                        for (int64_t i = 0; i < i1 - i0; i += LANES) {
                            const T(ints) t_130 = (i0 + i + T(lane)) + query_start;
                            for (int64_t j = 0; j < j1 - j0; j++) {
                                T(store)(weight_15 + j * 80 + i, T(pick)(__builtin_convertvector((j0 + j) <= t_130,
                                    T(mask)), T(load)(weight_15 + j * 80 + i), T(splat)(0.0f)));
                            }
                        }
                    }
                }
                if (partial_12) {
                    /* row_sum_13 += weight_15 */
                    for (int64_t i_first = 0; i_first < i1 - i0; i_first += OF(64, 16, 8)) {
                        T(vec) row_sum_13_in[OF(4, 2, 2)];
                        UNROLL for (int64_t vector = 0, i = i_first; vector < OF(4, 2, 2); vector++, i += LANES) {
                            row_sum_13_in[vector] = (T(vec)){0};
                        }
                        for (int64_t j = 0; j < j1 - j0; j++) {
                            UNROLL for (int64_t vector = 0, i = i_first; vector < OF(4, 2, 2); vector++, i += LANES) {
                                row_sum_13_in[vector] += T(load)(weight_15 + j * 80 + i);
                            }
                        }
                        UNROLL for (int64_t vector = 0, i = i_first; vector < OF(4, 2, 2); vector++, i += LANES) {
                            T(add)(row_sum_13 + i, row_sum_13_compensation + i, row_sum_13_in[vector], T(splat)(1));
                        }
                    }
                }
                if ((i0 + query_start + 1) < j1) { /* the tile is partly outside the mask */
                    if (partial_13) {
                        /* weight_12 = select(j <= (i + query_start), weight_12, 0.0f) */
                        for (int64_t i = 0; i < i1 - i0; i += LANES) {
                            const T(ints) t_131 = (i0 + i + T(lane)) + query_start;
                            for (int64_t j = 0; j < j1 - j0; j++) {
                                T(store)(weight_12 + j * 80 + i, T(pick)(__builtin_convertvector((j0 + j) <= t_131,
                                    T(mask)), T(load)(weight_12 + j * 80 + i), T(splat)(0.0f)));
                            }
                        }
                    }
                }
                if (partial_13) {
                    /* row_sum_14 += weight_12 */
                    for (int64_t i_first = 0; i_first < i1 - i0; i_first += OF(64, 16, 8)) {
                        T(vec) row_sum_14_in[OF(4, 2, 2)];
                        UNROLL for (int64_t vector = 0, i = i_first; vector < OF(4, 2, 2); vector++, i += LANES) {
                            row_sum_14_in[vector] = (T(vec)){0};
                        }
                        for (int64_t j = 0; j < j1 - j0; j++) {
                            UNROLL for (int64_t vector = 0, i = i_first; vector < OF(4, 2, 2); vector++, i += LANES) {
                                row_sum_14_in[vector] += T(load)(weight_12 + j * 80 + i);
                            }
                        }
                        UNROLL for (int64_t vector = 0, i = i_first; vector < OF(4, 2, 2); vector++, i += LANES) {
                            T(add)(row_sum_14 + i, row_sum_14_compensation + i, row_sum_14_in[vector], T(splat)(1));
                        }
                    }
                }
                if ((i0 + query_start + 1) < j1) { /* the tile is partly outside the mask */
                    if (partial_14) {
                        /* weight_9 = select(j <= (i + query_start), weight_9, 0.0f) */
                        for (int64_t i = 0; i < i1 - i0; i += LANES) {
                            const T(ints) t_132 = (i0 + i + T(lane)) + query_start;
                            for (int64_t j = 0; j < j1 - j0; j++) {
                                T(store)(weight_9 + j * 80 + i, T(pick)(__builtin_convertvector((j0 + j) <= t_132,
                                    T(mask)), T(load)(weight_9 + j * 80 + i), T(splat)(0.0f)));
                            }
                        }
                    }
                }
                if (partial_14) {
                    /* row_sum_15 += weight_9 */
                    for (int64_t i_first = 0; i_first < i1 - i0; i_first += OF(64, 16, 8)) {
                        T(vec) row_sum_15_in[OF(4, 2, 2)];
                        UNROLL for (int64_t vector = 0, i = i_first; vector < OF(4, 2, 2); vector++, i += LANES) {
                            row_sum_15_in[vector] = (T(vec)){0};
                        }
                        for (int64_t j = 0; j < j1 - j0; j++) {
                            UNROLL for (int64_t vector = 0, i = i_first; vector < OF(4, 2, 2); vector++, i += LANES) {
                                row_sum_15_in[vector] += T(load)(weight_9 + j * 80 + i);
                            }
                        }
                        UNROLL for (int64_t vector = 0, i = i_first; vector < OF(4, 2, 2); vector++, i += LANES) {
                            T(add)(row_sum_15 + i, row_sum_15_compensation + i, row_sum_15_in[vector], T(splat)(1));
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
                        const T(vec) row_sum_133 = T(load)(row_sum + i);
                        const T(vec) term = row_sum_133;
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
                        const T(vec) row_sum_2_134 = T(load)(row_sum_2 + i);
                        const T(vec) term = row_sum_2_134;
                        lane_sums += i + LANES <= i1 - i0 ? term : T(pick)(__builtin_convertvector(i + T(lane) < i1 -
                            i0, T(mask)), term, T(splat)(0));
                    }
                    const float total = T(lane_sum)(lane_sums);
                    const float more = unit_sum_2_compensation[one] + total, sum_then = unit_sum_2[one] + more;
                    unit_sum_2_compensation[one] = more - (sum_then - unit_sum_2[one]);
                    unit_sum_2[one] = sum_then;
                }
            }
            if (partial_2) {
                /* unit_sum_3 += row_sum_3 */
                for (int64_t one = 0; one < 1; one++) {
                    T(vec) lane_sums = T(splat)(0);
                    for (int64_t i = 0; i < i1 - i0; i += LANES) {
                        const T(vec) row_sum_3_135 = T(load)(row_sum_3 + i);
                        const T(vec) term = row_sum_3_135;
                        lane_sums += i + LANES <= i1 - i0 ? term : T(pick)(__builtin_convertvector(i + T(lane) < i1 -
                            i0, T(mask)), term, T(splat)(0));
                    }
                    const float total = T(lane_sum)(lane_sums);
                    const float more = unit_sum_3_compensation[one] + total, sum_then = unit_sum_3[one] + more;
                    unit_sum_3_compensation[one] = more - (sum_then - unit_sum_3[one]);
                    unit_sum_3[one] = sum_then;
                }
            }
            if (partial_3) {
                /* unit_sum_4 += row_sum_4 */
                for (int64_t one = 0; one < 1; one++) {
                    T(vec) lane_sums = T(splat)(0);
                    for (int64_t i = 0; i < i1 - i0; i += LANES) {
                        const T(vec) row_sum_4_136 = T(load)(row_sum_4 + i);
                        const T(vec) term = row_sum_4_136;
                        lane_sums += i + LANES <= i1 - i0 ? term : T(pick)(__builtin_convertvector(i + T(lane) < i1 -
                            i0, T(mask)), term, T(splat)(0));
                    }
                    const float total = T(lane_sum)(lane_sums);
                    const float more = unit_sum_4_compensation[one] + total, sum_then = unit_sum_4[one] + more;
                    unit_sum_4_compensation[one] = more - (sum_then - unit_sum_4[one]);
                    unit_sum_4[one] = sum_then;
                }
            }
            if (partial_4) {
                /* unit_sum_5 += row_sum_5 */
                for (int64_t one = 0; one < 1; one++) {
                    T(vec) lane_sums = T(splat)(0);
                    for (int64_t i = 0; i < i1 - i0; i += LANES) {
                        const T(vec) row_sum_5_137 = T(load)(row_sum_5 + i);
                        const T(vec) term = row_sum_5_137;
                        lane_sums += i + LANES <= i1 - i0 ? term : T(pick)(__builtin_convertvector(i + T(lane) < i1 -
                            i0, T(mask)), term, T(splat)(0));
                    }
                    const float total = T(lane_sum)(lane_sums);
                    const float more = unit_sum_5_compensation[one] + total, sum_then = unit_sum_5[one] + more;
                    unit_sum_5_compensation[one] = more - (sum_then - unit_sum_5[one]);
                    unit_sum_5[one] = sum_then;
                }
            }
            if (partial_5) {
                /* unit_sum_6 += row_sum_6 */
                for (int64_t one = 0; one < 1; one++) {
                    T(vec) lane_sums = T(splat)(0);
                    for (int64_t i = 0; i < i1 - i0; i += LANES) {
                        const T(vec) row_sum_6_138 = T(load)(row_sum_6 + i);
                        const T(vec) term = row_sum_6_138;
                        lane_sums += i + LANES <= i1 - i0 ? term : T(pick)(__builtin_convertvector(i + T(lane) < i1 -
                            i0, T(mask)), term, T(splat)(0));
                    }
                    const float total = T(lane_sum)(lane_sums);
                    const float more = unit_sum_6_compensation[one] + total, sum_then = unit_sum_6[one] + more;
                    unit_sum_6_compensation[one] = more - (sum_then - unit_sum_6[one]);
                    unit_sum_6[one] = sum_then;
                }
            }
            if (partial_6) {
                /* unit_sum_7 += row_sum_7 */
                for (int64_t one = 0; one < 1; one++) {
                    T(vec) lane_sums = T(splat)(0);
                    for (int64_t i = 0; i < i1 - i0; i += LANES) {
                        const T(vec) row_sum_7_139 = T(load)(row_sum_7 + i);
                        const T(vec) term = row_sum_7_139;
                        lane_sums += i + LANES <= i1 - i0 ? term : T(pick)(__builtin_convertvector(i + T(lane) < i1 -
                            i0, T(mask)), term, T(splat)(0));
                    }
                    const float total = T(lane_sum)(lane_sums);
                    const float more = unit_sum_7_compensation[one] + total, sum_then = unit_sum_7[one] + more;
                    unit_sum_7_compensation[one] = more - (sum_then - unit_sum_7[one]);
                    unit_sum_7[one] = sum_then;
                }
            }
            if (partial_7) {
                /* unit_sum_8 += row_sum_8 */
                for (int64_t one = 0; one < 1; one++) {
                    T(vec) lane_sums = T(splat)(0);
                    for (int64_t i = 0; i < i1 - i0; i += LANES) {
                        const T(vec) row_sum_8_140 = T(load)(row_sum_8 + i);
                        const T(vec) term = row_sum_8_140;
                        lane_sums += i + LANES <= i1 - i0 ? term : T(pick)(__builtin_convertvector(i + T(lane) < i1 -
                            i0, T(mask)), term, T(splat)(0));
                    }
                    const float total = T(lane_sum)(lane_sums);
                    const float more = unit_sum_8_compensation[one] + total, sum_then = unit_sum_8[one] + more;
                    unit_sum_8_compensation[one] = more - (sum_then - unit_sum_8[one]);
                    unit_sum_8[one] = sum_then;
                }
            }
            if (partial_8) {
                /* unit_sum_9 += row_sum_9 */
                for (int64_t one = 0; one < 1; one++) {
                    T(vec) lane_sums = T(splat)(0);
                    for (int64_t i = 0; i < i1 - i0; i += LANES) {
                        const T(vec) row_sum_9_141 = T(load)(row_sum_9 + i);
                        const T(vec) term = row_sum_9_141;
                        lane_sums += i + LANES <= i1 - i0 ? term : T(pick)(__builtin_convertvector(i + T(lane) < i1 -
                            i0, T(mask)), term, T(splat)(0));
                    }
                    const float total = T(lane_sum)(lane_sums);
                    const float more = unit_sum_9_compensation[one] + total, sum_then = unit_sum_9[one] + more;
                    unit_sum_9_compensation[one] = more - (sum_then - unit_sum_9[one]);
                    unit_sum_9[one] = sum_then;
                }
            }
            if (partial_9) {
                /* unit_sum_10 += row_sum_10 */
                for (int64_t one = 0; one < 1; one++) {
                    T(vec) lane_sums = T(splat)(0);
                    for (int64_t i = 0; i < i1 - i0; i += LANES) {
                        const T(vec) row_sum_10_142 = T(load)(row_sum_10 + i);
                        const T(vec) term = row_sum_10_142;
                        lane_sums += i + LANES <= i1 - i0 ? term : T(pick)(__builtin_convertvector(i + T(lane) < i1 -
                            i0, T(mask)), term, T(splat)(0));
                    }
                    const float total = T(lane_sum)(lane_sums);
                    const float more = unit_sum_10_compensation[one] + total, sum_then = unit_sum_10[one] + more;
                    unit_sum_10_compensation[one] = more - (sum_then - unit_sum_10[one]);
                    unit_sum_10[one] = sum_then;
                }
            }
            if (partial_10) {
                /* unit_sum_11 += row_sum_11 */
                for (int64_t one = 0; one < 1; one++) {
                    T(vec) lane_sums = T(splat)(0);
                    for (int64_t i = 0; i < i1 - i0; i += LANES) {
                        const T(vec) row_sum_11_143 = T(load)(row_sum_11 + i);
                        const T(vec) term = row_sum_11_143;
                        lane_sums += i + LANES <= i1 - i0 ? term : T(pick)(__builtin_convertvector(i + T(lane) < i1 -
                            i0, T(mask)), term, T(splat)(0));
                    }
                    const float total = T(lane_sum)(lane_sums);
                    const float more = unit_sum_11_compensation[one] + total, sum_then = unit_sum_11[one] + more;
                    unit_sum_11_compensation[one] = more - (sum_then - unit_sum_11[one]);
                    unit_sum_11[one] = sum_then;
                }
            }
            if (partial_11) {
                /* unit_sum_12 += row_sum_12 */
                for (int64_t one = 0; one < 1; one++) {
                    T(vec) lane_sums = T(splat)(0);
                    for (int64_t i = 0; i < i1 - i0; i += LANES) {
                        const T(vec) row_sum_12_144 = T(load)(row_sum_12 + i);
                        const T(vec) term = row_sum_12_144;
                        lane_sums += i + LANES <= i1 - i0 ? term : T(pick)(__builtin_convertvector(i + T(lane) < i1 -
                            i0, T(mask)), term, T(splat)(0));
                    }
                    const float total = T(lane_sum)(lane_sums);
                    const float more = unit_sum_12_compensation[one] + total, sum_then = unit_sum_12[one] + more;
                    unit_sum_12_compensation[one] = more - (sum_then - unit_sum_12[one]);
                    unit_sum_12[one] = sum_then;
                }
            }
            if (partial_12) {
                /* unit_sum_13 += row_sum_13 */
                for (int64_t one = 0; one < 1; one++) {
                    T(vec) lane_sums = T(splat)(0);
                    for (int64_t i = 0; i < i1 - i0; i += LANES) {
                        const T(vec) row_sum_13_145 = T(load)(row_sum_13 + i);
                        const T(vec) term = row_sum_13_145;
                        lane_sums += i + LANES <= i1 - i0 ? term : T(pick)(__builtin_convertvector(i + T(lane) < i1 -
                            i0, T(mask)), term, T(splat)(0));
                    }
                    const float total = T(lane_sum)(lane_sums);
                    const float more = unit_sum_13_compensation[one] + total, sum_then = unit_sum_13[one] + more;
                    unit_sum_13_compensation[one] = more - (sum_then - unit_sum_13[one]);
                    unit_sum_13[one] = sum_then;
                }
            }
            if (partial_13) {
                /* unit_sum_14 += row_sum_14 */
                for (int64_t one = 0; one < 1; one++) {
                    T(vec) lane_sums = T(splat)(0);
                    for (int64_t i = 0; i < i1 - i0; i += LANES) {
                        const T(vec) row_sum_14_146 = T(load)(row_sum_14 + i);
                        const T(vec) term = row_sum_14_146;
                        lane_sums += i + LANES <= i1 - i0 ? term : T(pick)(__builtin_convertvector(i + T(lane) < i1 -
                            i0, T(mask)), term, T(splat)(0));
                    }
                    const float total = T(lane_sum)(lane_sums);
                    const float more = unit_sum_14_compensation[one] + total, sum_then = unit_sum_14[one] + more;
                    unit_sum_14_compensation[one] = more - (sum_then - unit_sum_14[one]);
                    unit_sum_14[one] = sum_then;
                }
            }
            if (partial_14) {
                /* unit_sum_15 += row_sum_15 */
                for (int64_t one = 0; one < 1; one++) {
                    T(vec) lane_sums = T(splat)(0);
                    for (int64_t i = 0; i < i1 - i0; i += LANES) {
                        const T(vec) row_sum_15_147 = T(load)(row_sum_15 + i);
                        const T(vec) term = row_sum_15_147;
                        lane_sums += i + LANES <= i1 - i0 ? term : T(pick)(__builtin_convertvector(i + T(lane) < i1 -
                            i0, T(mask)), term, T(splat)(0));
                    }
                    const float total = T(lane_sum)(lane_sums);
                    const float more = unit_sum_15_compensation[one] + total, sum_then = unit_sum_15[one] + more;
                    unit_sum_15_compensation[one] = more - (sum_then - unit_sum_15[one]);
                    unit_sum_15[one] = sum_then;
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
    if (partial_2) {
        /* partial_2 = unit_sum_3 */
        for (int64_t one = 0; one < 1; one++)
            partial_2[one] = unit_sum_3[one];
    }
    if (partial_3) {
        /* partial_3 = unit_sum_4 */
        for (int64_t one = 0; one < 1; one++)
            partial_3[one] = unit_sum_4[one];
    }
    if (partial_4) {
        /* partial_4 = unit_sum_5 */
        for (int64_t one = 0; one < 1; one++)
            partial_4[one] = unit_sum_5[one];
    }
    if (partial_5) {
        /* partial_5 = unit_sum_6 */
        for (int64_t one = 0; one < 1; one++)
            partial_5[one] = unit_sum_6[one];
    }
    if (partial_6) {
        /* partial_6 = unit_sum_7 */
        for (int64_t one = 0; one < 1; one++)
            partial_6[one] = unit_sum_7[one];
    }
    if (partial_7) {
        /* partial_7 = unit_sum_8 */
        for (int64_t one = 0; one < 1; one++)
            partial_7[one] = unit_sum_8[one];
    }
    if (partial_8) {
        /* partial_8 = unit_sum_9 */
        for (int64_t one = 0; one < 1; one++)
            partial_8[one] = unit_sum_9[one];
    }
    if (partial_9) {
        /* partial_9 = unit_sum_10 */
        for (int64_t one = 0; one < 1; one++)
            partial_9[one] = unit_sum_10[one];
    }
    if (partial_10) {
        /* partial_10 = unit_sum_11 */
        for (int64_t one = 0; one < 1; one++)
            partial_10[one] = unit_sum_11[one];
    }
    if (partial_11) {
        /* partial_11 = unit_sum_12 */
        for (int64_t one = 0; one < 1; one++)
            partial_11[one] = unit_sum_12[one];
    }
    if (partial_12) {
        /* partial_12 = unit_sum_13 */
        for (int64_t one = 0; one < 1; one++)
            partial_12[one] = unit_sum_13[one];
    }
    if (partial_13) {
        /* partial_13 = unit_sum_14 */
        for (int64_t one = 0; one < 1; one++)
            partial_13[one] = unit_sum_14[one];
    }
    if (partial_14) {
        /* partial_14 = unit_sum_15 */
        for (int64_t one = 0; one < 1; one++)
            partial_14[one] = unit_sum_15[one];
    }
}

/* Computes task number `task`: one tile of keys of one head. `work` is this thread's workspace. */
TARGET static void T(softmax_fire_dk_dv)(const struct call *call, int64_t task, unsigned char *work)
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
    const float *const offset_array = (const float *)call->array[ARRAY_offset_array].at + g * members *
        call->array[ARRAY_offset_array].stride[0];
    const int64_t offset_array_stride_0 = call->array[ARRAY_offset_array].stride[0];
    const float *const w2_array = (const float *)call->array[ARRAY_w2_array].at + g * members *
        call->array[ARRAY_w2_array].stride[0];
    const int64_t w2_array_stride_0 = call->array[ARRAY_w2_array].stride[0];
    const int64_t w2_array_stride_1 = call->array[ARRAY_w2_array].stride[1];
    const float *const w1_array = (const float *)call->array[ARRAY_w1_array].at;
    const int64_t w1_array_stride_0 = call->array[ARRAY_w1_array].stride[0];
    const float *const c_array = (const float *)call->array[ARRAY_c_array].at;
    const float *const threshold_array = (const float *)call->array[ARRAY_threshold_array].at;
    const float *const shift_array = (const float *)call->array[ARRAY_shift_array].at;
    const int64_t shift_array_stride_0 = call->array[ARRAY_shift_array].stride[0];
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
            recall(of_difference_known, (call->p.query_start ? b : 0), of_difference_first,
                of_difference_first + (LANES + 352), 1 - n_q, n_k + n_q + (LANES + 352), 65536);
            float *const of_difference = of_difference_kept + (of_difference_first - of_difference_known->base);
            for (int above = 0; above < 2; above++) { /* the differences below the known ones, and those above */
#if OF(1, 0, 0)
                const int64_t difference_3680 = above ? of_difference_known->to - of_difference_first : 0;
                const int64_t difference_3681 = above ? 368 : of_difference_known->from - of_difference_first;
                if (difference_3680 >= difference_3681) continue;
                /* of_difference = log1p(abs(c) * (((query_start - (difference_368 + (lo() - hi()))) + -1) * 1.0f)) */
#endif
#if OF(0, 1, 0)
                const int64_t difference_3600 = above ? of_difference_known->to - of_difference_first : 0;
                const int64_t difference_3601 = above ? 360 : of_difference_known->from - of_difference_first;
                if (difference_3600 >= difference_3601) continue;
                /* of_difference = log1p(abs(c) * (((query_start - (difference_360 + (lo() - hi()))) + -1) * 1.0f)) */
#endif
#if OF(0, 0, 1)
                const int64_t difference_3560 = above ? of_difference_known->to - of_difference_first : 0;
                const int64_t difference_3561 = above ? 356 : of_difference_known->from - of_difference_first;
                if (difference_3560 >= difference_3561) continue;
                /* of_difference = log1p(abs(c) * (((query_start - (difference_356 + (lo() - hi()))) + -1) * 1.0f)) */
#endif
                const float t_0 = fabsf(c_array[0]);
                const int64_t t_1 = j0 - i1;
#if OF(1, 0, 0)
                for (int64_t difference_368 = difference_3680; difference_368 < difference_3681; difference_368 += 16) {
                    T(store)(of_difference + difference_368, T(log1p)(t_0 * (__builtin_convertvector((query_start -
                        ((difference_368 + T(lane)) + t_1)) + (-1), T(vec)) * 1.0f)));
#endif
#if OF(0, 1, 0)
                for (int64_t difference_360 = difference_3600; difference_360 < difference_3601; difference_360 += 8) {
                    T(store)(of_difference + difference_360, T(log1p)(t_0 * (__builtin_convertvector((query_start -
                        ((difference_360 + T(lane)) + t_1)) + (-1), T(vec)) * 1.0f)));
#endif
#if OF(0, 0, 1)
                for (int64_t difference_356 = difference_3560; difference_356 < difference_3561; difference_356 += 4) {
                    T(store)(of_difference + difference_356, T(log1p)(t_0 * (__builtin_convertvector((query_start -
                        ((difference_356 + T(lane)) + t_1)) + (-1), T(vec)) * 1.0f)));
#endif
                }
            }
            extend_known(of_difference_known, of_difference_first, of_difference_first + (LANES + 352));
            /* score = exp2((((((score + (offset * 1.442695f)) + (max(0,
               (of_difference * (w1 / log1p(abs(c) * max(abs(threshold), i + query_st ... */
            const float t_2 = (offset_array[m * offset_array_stride_0]) * 1.442695f;
            const float w1_array_4 = w1_array[0];
            const float t_5 = fabsf(c_array[0]);
            const float t_6 = fabsf(threshold_array[0]);
            const float shift_array_9 = shift_array[0];
            const float t_10 = (w2_array[m * w2_array_stride_0]) * 1.442695f;
            const float w1_array_11 = w1_array[1 * w1_array_stride_0];
            const float shift_array_12 = shift_array[1 * shift_array_stride_0];
            const float t_13 = (w2_array[m * w2_array_stride_0 + 1 * w2_array_stride_1]) * 1.442695f;
            const float w1_array_14 = w1_array[2 * w1_array_stride_0];
            const float shift_array_15 = shift_array[2 * shift_array_stride_0];
            const float t_16 = (w2_array[m * w2_array_stride_0 + 2 * w2_array_stride_1]) * 1.442695f;
            const float w1_array_17 = w1_array[3 * w1_array_stride_0];
            const float shift_array_18 = shift_array[3 * shift_array_stride_0];
            const float t_19 = (w2_array[m * w2_array_stride_0 + 3 * w2_array_stride_1]) * 1.442695f;
            for (int64_t j = 0; j < j1 - j0; j += LANES) {
                for (int64_t i = 0; i < i1 - i0; i++) {
                    const T(vec) of_difference_3 = T(load)(of_difference + ((j0 + j) - (i0 + i) - (j0 - i1) - 1));
                    const float t_7 = (float)((i0 + i) + query_start);
                    const float t_8 = log1pf(t_5 * (t_6 > t_7 || t_6 != t_6 ? t_6 : t_7));
                    T(store)(score + i * 80 + j, T(exp2)((((((T(load)(score + i * 80 + j) + t_2) +
                        (T(max_nan)(T(splat)((float)0), (of_difference_3 * (w1_array_4 / t_8)) + shift_array_9) * t_10))
                        + (T(max_nan)(T(splat)((float)0), (of_difference_3 * (w1_array_11 / t_8)) + shift_array_12) *
                        t_13)) + (T(max_nan)(T(splat)((float)0), (of_difference_3 * (w1_array_14 / t_8)) +
                        shift_array_15) * t_16)) + (T(max_nan)(T(splat)((float)0),
                        (of_difference_3 * (w1_array_17 / t_8)) + shift_array_18) * t_19)) - (saved_0[m * saved_0_head +
                        (i0 + i)])));
                }
            }
            if (i0 < (j1 - query_start - 1)) { /* the tile is partly outside the mask */
                /* score = select(j <= (i + query_start), score, 0.0f) */
                for (int64_t j = 0; j < j1 - j0; j += LANES) {
                    const T(ints) t_20 = j0 + j + T(lane);
                    for (int64_t i = 0; i < i1 - i0; i++) {
                        T(store)(score + i * 80 + j, T(pick)(__builtin_convertvector(t_20 <= ((i0 + i) + query_start),
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
                        const int64_t t_21 = (i0 + i) + query_start;
                        for (int64_t j = 0; j < j1 - j0; j += LANES) {
                            in_region[j / LANES] = __builtin_convertvector((j0 + j + T(lane)) <= t_21, T(mask));
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
                        const T(ints) t_22 = j0 + j + T(lane);
                        for (int64_t i = 0; i < i1 - i0; i++) {
                            T(store)(score_2 + i * 80 + j, T(pick)(__builtin_convertvector(t_22 <= ((i0 + i) +
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
                        const int64_t t_23 = (i0 + i) + query_start;
                        for (int64_t j = 0; j < j1 - j0; j += LANES) {
                            in_region[j / LANES] = __builtin_convertvector((j0 + j + T(lane)) <= t_23, T(mask));
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
TARGET static void T(softmax_fire_totals1)(const struct call *call, int64_t task, unsigned char *work)
{
    const int64_t members = call->p.heads / max(call->p.kv_heads, 1);
    const int64_t m = task % members;
    const int64_t g = task / members;
    const float *const partial_0 = call->array[ARRAY_partial_0].at ? (const float *)call->array[ARRAY_partial_0].at + (g
        * members + m) * 16 * 1 : NULL;
    const float *const partial_1 = call->array[ARRAY_partial_1].at ? (const float *)call->array[ARRAY_partial_1].at + (g
        * members + m) * 16 * 1 : NULL;
    const float *const partial_2 = call->array[ARRAY_partial_2].at ? (const float *)call->array[ARRAY_partial_2].at + (g
        * members + m) * 16 * 1 : NULL;
    const float *const partial_3 = call->array[ARRAY_partial_3].at ? (const float *)call->array[ARRAY_partial_3].at + (g
        * members + m) * 16 * 1 : NULL;
    const float *const partial_4 = call->array[ARRAY_partial_4].at ? (const float *)call->array[ARRAY_partial_4].at + (g
        * members + m) * 16 * 1 : NULL;
    float *const gradient = (float *)(void *)(work + 0); /* [one: LANES] */
    float *const gradient_2 = (float *)(void *)(work + 64); /* [one: LANES] */
    float *const gradient_3 = (float *)(void *)(work + 0); /* [one: LANES] */
    float *const gradient_4 = (float *)(void *)(work + 128); /* [one: LANES] */
    float *const gradient_5 = (float *)(void *)(work + 192); /* [one: LANES] */
    float *const gradient_6 = (float *)(void *)(work + 256); /* [one: LANES] */
    float *const gradient_7 = (float *)(void *)(work + 320); /* [w2_axis_2: LANES] */
    float *const doffset_array = call->array[ARRAY_doffset_array].at ? (float *)call->array[ARRAY_doffset_array].at + (g
        * members + m) * 1 : NULL;
    float *const dw2_array = call->array[ARRAY_dw2_array].at ? (float *)call->array[ARRAY_dw2_array].at + (g * members +
        m) * 4 : NULL;
    float *const partial_0_tile = (float *)(void *)(work + 64); /* [unit16: 16, one: LANES] */
    float *const partial_1_tile = (float *)(void *)(work + (64 * LANES + 64)); /* [unit16: 16, one: LANES] */
    float *const partial_2_tile = (float *)(void *)(work + (128 * LANES + 64)); /* [unit16: 16, one: LANES] */
    float *const partial_3_tile = (float *)(void *)(work + (192 * LANES + 64)); /* [unit16: 16, one: LANES] */
    float *const partial_4_tile = (float *)(void *)(work + (256 * LANES + 64)); /* [unit16: 16, one: LANES] */
    if (doffset_array) {
        /* partial_0_tile = partial_0, with zeros beyond the last row */
        for (int64_t unit16 = 0; unit16 < 16; unit16++)
            for (int64_t one = 0; one < 1; one++)
                partial_0_tile[unit16 * LANES + one] = partial_0[unit16 + one];
    }
    if (dw2_array) {
        /* partial_1_tile = partial_1, with zeros beyond the last row */
        for (int64_t unit16 = 0; unit16 < 16; unit16++)
            for (int64_t one = 0; one < 1; one++)
                partial_1_tile[unit16 * LANES + one] = partial_1[unit16 + one];
        /* partial_2_tile = partial_2, with zeros beyond the last row */
        for (int64_t unit16 = 0; unit16 < 16; unit16++)
            for (int64_t one = 0; one < 1; one++)
                partial_2_tile[unit16 * LANES + one] = partial_2[unit16 + one];
        /* partial_3_tile = partial_3, with zeros beyond the last row */
        for (int64_t unit16 = 0; unit16 < 16; unit16++)
            for (int64_t one = 0; one < 1; one++)
                partial_3_tile[unit16 * LANES + one] = partial_3[unit16 + one];
        /* partial_4_tile = partial_4, with zeros beyond the last row */
        for (int64_t unit16 = 0; unit16 < 16; unit16++)
            for (int64_t one = 0; one < 1; one++)
                partial_4_tile[unit16 * LANES + one] = partial_4[unit16 + one];
    }
    if (doffset_array) {
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
    if (dw2_array) {
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
        /* gradient_4 = 0.0f */
        for (int64_t one = 0; one < 1; one += LANES) {
            T(store)(gradient_4 + one, T(splat)(0.0f));
        }
        /* gradient_4 += partial_2_tile */
        for (int64_t one = 0; one < 1; one += LANES) {
            T(vec) gradient_4_in = (T(vec)){0};
            for (int64_t unit16 = 0; unit16 < 16; unit16++) {
                gradient_4_in += T(load)(partial_2_tile + unit16 * LANES + one);
            }
            T(store)(gradient_4 + one, T(load)(gradient_4 + one) + gradient_4_in);
        }
        /* gradient_5 = 0.0f */
        for (int64_t one = 0; one < 1; one += LANES) {
            T(store)(gradient_5 + one, T(splat)(0.0f));
        }
        /* gradient_5 += partial_3_tile */
        for (int64_t one = 0; one < 1; one += LANES) {
            T(vec) gradient_5_in = (T(vec)){0};
            for (int64_t unit16 = 0; unit16 < 16; unit16++) {
                gradient_5_in += T(load)(partial_3_tile + unit16 * LANES + one);
            }
            T(store)(gradient_5 + one, T(load)(gradient_5 + one) + gradient_5_in);
        }
        /* gradient_6 = 0.0f */
        for (int64_t one = 0; one < 1; one += LANES) {
            T(store)(gradient_6 + one, T(splat)(0.0f));
        }
        /* gradient_6 += partial_4_tile */
        for (int64_t one = 0; one < 1; one += LANES) {
            T(vec) gradient_6_in = (T(vec)){0};
            for (int64_t unit16 = 0; unit16 < 16; unit16++) {
                gradient_6_in += T(load)(partial_4_tile + unit16 * LANES + one);
            }
            T(store)(gradient_6 + one, T(load)(gradient_6 + one) + gradient_6_in);
        }
        /* gradient_7 = ((select(w2_axis_2 == 0, gradient_6, 0.0f) + select(w2_axis_2 == 1, gradient_5,
           0.0f)) + select(w2_axis_2 == 2, gra ... */
        const float gradient_6_2 = gradient_6[0];
        const float gradient_5_3 = gradient_5[0];
        const float gradient_4_4 = gradient_4[0];
        const float gradient_3_5 = gradient_3[0];
        for (int64_t w2_axis_2 = 0; w2_axis_2 < 4; w2_axis_2 += LANES) {
            const T(ints) t_1 = w2_axis_2 + T(lane);
            T(store)(gradient_7 + w2_axis_2, ((T(pick)(__builtin_convertvector(t_1 == 0, T(mask)),
                T(splat)(gradient_6_2), T(splat)(0.0f)) + T(pick)(__builtin_convertvector(t_1 == 1, T(mask)),
                T(splat)(gradient_5_3), T(splat)(0.0f))) + T(pick)(__builtin_convertvector(t_1 == 2, T(mask)),
                T(splat)(gradient_4_4), T(splat)(0.0f))) + T(pick)(__builtin_convertvector(t_1 == 3, T(mask)),
                T(splat)(gradient_3_5), T(splat)(0.0f)));
        }
    }
    if (doffset_array) {
        /* doffset_array = gradient_2 */
        for (int64_t one = 0; one < 1; one++)
            doffset_array[one] = gradient_2[one];
    }
    if (dw2_array) {
        /* dw2_array = gradient_7 */
        for (int64_t w2_axis_2 = 0; w2_axis_2 < 4; w2_axis_2++)
            dw2_array[w2_axis_2] = gradient_7[w2_axis_2];
    }
}

/* Computes task number `task`: the totals of the partial sums that the slices of rows have stored. `work` is this
   thread's workspace. */
TARGET static void T(softmax_fire_totals2)(const struct call *call, int64_t task, unsigned char *work)
{
    (void)task;
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / max(call->p.kv_heads, 1);
    const float *const partial_5 = call->array[ARRAY_partial_5].at ? (const float *)call->array[ARRAY_partial_5].at :
        NULL;
    const float *const partial_6 = call->array[ARRAY_partial_6].at ? (const float *)call->array[ARRAY_partial_6].at :
        NULL;
    const float *const partial_7 = call->array[ARRAY_partial_7].at ? (const float *)call->array[ARRAY_partial_7].at :
        NULL;
    const float *const partial_8 = call->array[ARRAY_partial_8].at ? (const float *)call->array[ARRAY_partial_8].at :
        NULL;
    const float *const partial_9 = call->array[ARRAY_partial_9].at ? (const float *)call->array[ARRAY_partial_9].at :
        NULL;
    const float *const partial_10 = call->array[ARRAY_partial_10].at ? (const float *)call->array[ARRAY_partial_10].at :
        NULL;
    const float *const partial_11 = call->array[ARRAY_partial_11].at ? (const float *)call->array[ARRAY_partial_11].at :
        NULL;
    const float *const partial_12 = call->array[ARRAY_partial_12].at ? (const float *)call->array[ARRAY_partial_12].at :
        NULL;
    const float *const partial_13 = call->array[ARRAY_partial_13].at ? (const float *)call->array[ARRAY_partial_13].at :
        NULL;
    const float *const partial_14 = call->array[ARRAY_partial_14].at ? (const float *)call->array[ARRAY_partial_14].at :
        NULL;
    float *const gradient = (float *)(void *)(work + 0); /* [one: LANES] */
    float *const gradient_compensation = (float *)(void *)(work + 64); /* [one: LANES] */
    float *const gradient_2 = (float *)(void *)(work + 128); /* [one: LANES] */
    float *const gradient_2_compensation = (float *)(void *)(work + 192); /* [one: LANES] */
    float *const gradient_3 = (float *)(void *)(work + 256); /* [one: LANES] */
    float *const gradient_3_compensation = (float *)(void *)(work + 320); /* [one: LANES] */
    float *const gradient_4 = (float *)(void *)(work + 384); /* [one: LANES] */
    float *const gradient_4_compensation = (float *)(void *)(work + 448); /* [one: LANES] */
    float *const gradient_5 = (float *)(void *)(work + 64); /* [w1_axis_1: LANES] */
    float *const gradient_6 = (float *)(void *)(work + 512); /* [one: LANES] */
    float *const gradient_6_compensation = (float *)(void *)(work + 576); /* [one: LANES] */
    float *const gradient_7 = (float *)(void *)(work + 0); /* [one: LANES] */
    float *const gradient_8 = (float *)(void *)(work + 640); /* [one: LANES] */
    float *const gradient_8_compensation = (float *)(void *)(work + 704); /* [one: LANES] */
    float *const gradient_9 = (float *)(void *)(work + 128); /* [one: LANES] */
    float *const gradient_10 = (float *)(void *)(work + 768); /* [one: LANES] */
    float *const gradient_10_compensation = (float *)(void *)(work + 832); /* [one: LANES] */
    float *const gradient_11 = (float *)(void *)(work + 896); /* [one: LANES] */
    float *const gradient_11_compensation = (float *)(void *)(work + 960); /* [one: LANES] */
    float *const gradient_12 = (float *)(void *)(work + 1024); /* [one: LANES] */
    float *const gradient_12_compensation = (float *)(void *)(work + 1088); /* [one: LANES] */
    float *const gradient_13 = (float *)(void *)(work + 1152); /* [one: LANES] */
    float *const gradient_13_compensation = (float *)(void *)(work + 1216); /* [one: LANES] */
    float *const gradient_14 = (float *)(void *)(work + 192); /* [shift_axis_1: LANES] */
    float *const dw1_array = call->array[ARRAY_dw1_array].at ? (float *)call->array[ARRAY_dw1_array].at : NULL;
    float *const dc_array = call->array[ARRAY_dc_array].at ? (float *)call->array[ARRAY_dc_array].at : NULL;
    float *const dthreshold_array = call->array[ARRAY_dthreshold_array].at ? (float
        *)call->array[ARRAY_dthreshold_array].at : NULL;
    float *const dshift_array = call->array[ARRAY_dshift_array].at ? (float *)call->array[ARRAY_dshift_array].at : NULL;
    float *const partial_5_tile = (float *)(void *)(work + 1280); /* [unit16: 16, one: LANES] */
    float *const partial_6_tile = (float *)(void *)(work + (64 * LANES + 1280)); /* [unit16: 16, one: LANES] */
    float *const partial_7_tile = (float *)(void *)(work + (128 * LANES + 1280)); /* [unit16: 16, one: LANES] */
    float *const partial_8_tile = (float *)(void *)(work + (192 * LANES + 1280)); /* [unit16: 16, one: LANES] */
    float *const partial_9_tile = (float *)(void *)(work + (256 * LANES + 1280)); /* [unit16: 16, one: LANES] */
    float *const partial_10_tile = (float *)(void *)(work + (320 * LANES + 1280)); /* [unit16: 16, one: LANES] */
    float *const partial_11_tile = (float *)(void *)(work + (384 * LANES + 1280)); /* [unit16: 16, one: LANES] */
    float *const partial_12_tile = (float *)(void *)(work + (448 * LANES + 1280)); /* [unit16: 16, one: LANES] */
    float *const partial_13_tile = (float *)(void *)(work + (512 * LANES + 1280)); /* [unit16: 16, one: LANES] */
    float *const partial_14_tile = (float *)(void *)(work + (576 * LANES + 1280)); /* [unit16: 16, one: LANES] */
    if (dw1_array) {
        /* gradient = 0.0f */
        for (int64_t one = 0; one < 1; one += LANES) {
            T(store)(gradient + one, T(splat)(0.0f));
        }
        /* gradient_compensation = 0.0f */
        for (int64_t one = 0; one < 1; one += LANES) {
            T(store)(gradient_compensation + one, T(splat)(0.0f));
        }
        /* gradient_2 = 0.0f */
        for (int64_t one = 0; one < 1; one += LANES) {
            T(store)(gradient_2 + one, T(splat)(0.0f));
        }
        /* gradient_2_compensation = 0.0f */
        for (int64_t one = 0; one < 1; one += LANES) {
            T(store)(gradient_2_compensation + one, T(splat)(0.0f));
        }
        /* gradient_3 = 0.0f */
        for (int64_t one = 0; one < 1; one += LANES) {
            T(store)(gradient_3 + one, T(splat)(0.0f));
        }
        /* gradient_3_compensation = 0.0f */
        for (int64_t one = 0; one < 1; one += LANES) {
            T(store)(gradient_3_compensation + one, T(splat)(0.0f));
        }
        /* gradient_4 = 0.0f */
        for (int64_t one = 0; one < 1; one += LANES) {
            T(store)(gradient_4 + one, T(splat)(0.0f));
        }
        /* gradient_4_compensation = 0.0f */
        for (int64_t one = 0; one < 1; one += LANES) {
            T(store)(gradient_4_compensation + one, T(splat)(0.0f));
        }
    }
    if (dc_array) {
        /* gradient_6 = 0.0f */
        for (int64_t one = 0; one < 1; one += LANES) {
            T(store)(gradient_6 + one, T(splat)(0.0f));
        }
        /* gradient_6_compensation = 0.0f */
        for (int64_t one = 0; one < 1; one += LANES) {
            T(store)(gradient_6_compensation + one, T(splat)(0.0f));
        }
    }
    if (dthreshold_array) {
        /* gradient_8 = 0.0f */
        for (int64_t one = 0; one < 1; one += LANES) {
            T(store)(gradient_8 + one, T(splat)(0.0f));
        }
        /* gradient_8_compensation = 0.0f */
        for (int64_t one = 0; one < 1; one += LANES) {
            T(store)(gradient_8_compensation + one, T(splat)(0.0f));
        }
    }
    if (dshift_array) {
        /* gradient_10 = 0.0f */
        for (int64_t one = 0; one < 1; one += LANES) {
            T(store)(gradient_10 + one, T(splat)(0.0f));
        }
        /* gradient_10_compensation = 0.0f */
        for (int64_t one = 0; one < 1; one += LANES) {
            T(store)(gradient_10_compensation + one, T(splat)(0.0f));
        }
        /* gradient_11 = 0.0f */
        for (int64_t one = 0; one < 1; one += LANES) {
            T(store)(gradient_11 + one, T(splat)(0.0f));
        }
        /* gradient_11_compensation = 0.0f */
        for (int64_t one = 0; one < 1; one += LANES) {
            T(store)(gradient_11_compensation + one, T(splat)(0.0f));
        }
        /* gradient_12 = 0.0f */
        for (int64_t one = 0; one < 1; one += LANES) {
            T(store)(gradient_12 + one, T(splat)(0.0f));
        }
        /* gradient_12_compensation = 0.0f */
        for (int64_t one = 0; one < 1; one += LANES) {
            T(store)(gradient_12_compensation + one, T(splat)(0.0f));
        }
        /* gradient_13 = 0.0f */
        for (int64_t one = 0; one < 1; one += LANES) {
            T(store)(gradient_13 + one, T(splat)(0.0f));
        }
        /* gradient_13_compensation = 0.0f */
        for (int64_t one = 0; one < 1; one += LANES) {
            T(store)(gradient_13_compensation + one, T(splat)(0.0f));
        }
    }
    for (int64_t g = 0; g < kv_heads; g++) {
        for (int64_t m = 0; m < members; m++) {
            if (dw1_array) {
                /* partial_5_tile = partial_5, with zeros beyond the last row */
                for (int64_t unit16 = 0; unit16 < 16; unit16++)
                    for (int64_t one = 0; one < 1; one++)
                        partial_5_tile[unit16 * LANES + one] = partial_5[g * (members * 16) + m * 16 + unit16 + one];
                /* partial_6_tile = partial_6, with zeros beyond the last row */
                for (int64_t unit16 = 0; unit16 < 16; unit16++)
                    for (int64_t one = 0; one < 1; one++)
                        partial_6_tile[unit16 * LANES + one] = partial_6[g * (members * 16) + m * 16 + unit16 + one];
                /* partial_7_tile = partial_7, with zeros beyond the last row */
                for (int64_t unit16 = 0; unit16 < 16; unit16++)
                    for (int64_t one = 0; one < 1; one++)
                        partial_7_tile[unit16 * LANES + one] = partial_7[g * (members * 16) + m * 16 + unit16 + one];
                /* partial_8_tile = partial_8, with zeros beyond the last row */
                for (int64_t unit16 = 0; unit16 < 16; unit16++)
                    for (int64_t one = 0; one < 1; one++)
                        partial_8_tile[unit16 * LANES + one] = partial_8[g * (members * 16) + m * 16 + unit16 + one];
            }
            if (dc_array) {
                /* partial_9_tile = partial_9, with zeros beyond the last row */
                for (int64_t unit16 = 0; unit16 < 16; unit16++)
                    for (int64_t one = 0; one < 1; one++)
                        partial_9_tile[unit16 * LANES + one] = partial_9[g * (members * 16) + m * 16 + unit16 + one];
            }
            if (dthreshold_array) {
                /* partial_10_tile = partial_10, with zeros beyond the last row */
                for (int64_t unit16 = 0; unit16 < 16; unit16++)
                    for (int64_t one = 0; one < 1; one++)
                        partial_10_tile[unit16 * LANES + one] = partial_10[g * (members * 16) + m * 16 + unit16 + one];
            }
            if (dshift_array) {
                /* partial_11_tile = partial_11, with zeros beyond the last row */
                for (int64_t unit16 = 0; unit16 < 16; unit16++)
                    for (int64_t one = 0; one < 1; one++)
                        partial_11_tile[unit16 * LANES + one] = partial_11[g * (members * 16) + m * 16 + unit16 + one];
                /* partial_12_tile = partial_12, with zeros beyond the last row */
                for (int64_t unit16 = 0; unit16 < 16; unit16++)
                    for (int64_t one = 0; one < 1; one++)
                        partial_12_tile[unit16 * LANES + one] = partial_12[g * (members * 16) + m * 16 + unit16 + one];
                /* partial_13_tile = partial_13, with zeros beyond the last row */
                for (int64_t unit16 = 0; unit16 < 16; unit16++)
                    for (int64_t one = 0; one < 1; one++)
                        partial_13_tile[unit16 * LANES + one] = partial_13[g * (members * 16) + m * 16 + unit16 + one];
                /* partial_14_tile = partial_14, with zeros beyond the last row */
                for (int64_t unit16 = 0; unit16 < 16; unit16++)
                    for (int64_t one = 0; one < 1; one++)
                        partial_14_tile[unit16 * LANES + one] = partial_14[g * (members * 16) + m * 16 + unit16 + one];
            }
            if (dw1_array) {
                /* gradient += partial_5_tile */
                for (int64_t one = 0; one < 1; one += LANES) {
                    T(vec) gradient_in = (T(vec)){0};
                    for (int64_t unit16 = 0; unit16 < 16; unit16++) {
                        gradient_in += T(load)(partial_5_tile + unit16 * LANES + one);
                    }
                    T(add)(gradient + one, gradient_compensation + one, gradient_in, T(splat)(1));
                }
                /* gradient_2 += partial_6_tile */
                for (int64_t one = 0; one < 1; one += LANES) {
                    T(vec) gradient_2_in = (T(vec)){0};
                    for (int64_t unit16 = 0; unit16 < 16; unit16++) {
                        gradient_2_in += T(load)(partial_6_tile + unit16 * LANES + one);
                    }
                    T(add)(gradient_2 + one, gradient_2_compensation + one, gradient_2_in, T(splat)(1));
                }
                /* gradient_3 += partial_7_tile */
                for (int64_t one = 0; one < 1; one += LANES) {
                    T(vec) gradient_3_in = (T(vec)){0};
                    for (int64_t unit16 = 0; unit16 < 16; unit16++) {
                        gradient_3_in += T(load)(partial_7_tile + unit16 * LANES + one);
                    }
                    T(add)(gradient_3 + one, gradient_3_compensation + one, gradient_3_in, T(splat)(1));
                }
                /* gradient_4 += partial_8_tile */
                for (int64_t one = 0; one < 1; one += LANES) {
                    T(vec) gradient_4_in = (T(vec)){0};
                    for (int64_t unit16 = 0; unit16 < 16; unit16++) {
                        gradient_4_in += T(load)(partial_8_tile + unit16 * LANES + one);
                    }
                    T(add)(gradient_4 + one, gradient_4_compensation + one, gradient_4_in, T(splat)(1));
                }
            }
            if (dc_array) {
                /* gradient_6 += partial_9_tile */
                for (int64_t one = 0; one < 1; one += LANES) {
                    T(vec) gradient_6_in = (T(vec)){0};
                    for (int64_t unit16 = 0; unit16 < 16; unit16++) {
                        gradient_6_in += T(load)(partial_9_tile + unit16 * LANES + one);
                    }
                    T(add)(gradient_6 + one, gradient_6_compensation + one, gradient_6_in, T(splat)(1));
                }
            }
            if (dthreshold_array) {
                /* gradient_8 += partial_10_tile */
                for (int64_t one = 0; one < 1; one += LANES) {
                    T(vec) gradient_8_in = (T(vec)){0};
                    for (int64_t unit16 = 0; unit16 < 16; unit16++) {
                        gradient_8_in += T(load)(partial_10_tile + unit16 * LANES + one);
                    }
                    T(add)(gradient_8 + one, gradient_8_compensation + one, gradient_8_in, T(splat)(1));
                }
            }
            if (dshift_array) {
                /* gradient_10 += partial_11_tile */
                for (int64_t one = 0; one < 1; one += LANES) {
                    T(vec) gradient_10_in = (T(vec)){0};
                    for (int64_t unit16 = 0; unit16 < 16; unit16++) {
                        gradient_10_in += T(load)(partial_11_tile + unit16 * LANES + one);
                    }
                    T(add)(gradient_10 + one, gradient_10_compensation + one, gradient_10_in, T(splat)(1));
                }
                /* gradient_11 += partial_12_tile */
                for (int64_t one = 0; one < 1; one += LANES) {
                    T(vec) gradient_11_in = (T(vec)){0};
                    for (int64_t unit16 = 0; unit16 < 16; unit16++) {
                        gradient_11_in += T(load)(partial_12_tile + unit16 * LANES + one);
                    }
                    T(add)(gradient_11 + one, gradient_11_compensation + one, gradient_11_in, T(splat)(1));
                }
                /* gradient_12 += partial_13_tile */
                for (int64_t one = 0; one < 1; one += LANES) {
                    T(vec) gradient_12_in = (T(vec)){0};
                    for (int64_t unit16 = 0; unit16 < 16; unit16++) {
                        gradient_12_in += T(load)(partial_13_tile + unit16 * LANES + one);
                    }
                    T(add)(gradient_12 + one, gradient_12_compensation + one, gradient_12_in, T(splat)(1));
                }
                /* gradient_13 += partial_14_tile */
                for (int64_t one = 0; one < 1; one += LANES) {
                    T(vec) gradient_13_in = (T(vec)){0};
                    for (int64_t unit16 = 0; unit16 < 16; unit16++) {
                        gradient_13_in += T(load)(partial_14_tile + unit16 * LANES + one);
                    }
                    T(add)(gradient_13 + one, gradient_13_compensation + one, gradient_13_in, T(splat)(1));
                }
            }
        }
    }
    if (dw1_array) {
        /* gradient_5 = ((select(w1_axis_1 == 0, gradient_4, 0.0f) + select(w1_axis_1 == 1, gradient_3,
           0.0f)) + select(w1_axis_1 == 2, gra ... */
        const float gradient_4_1 = gradient_4[0];
        const float gradient_3_2 = gradient_3[0];
        const float gradient_2_3 = gradient_2[0];
        const float gradient_15 = gradient[0];
        for (int64_t w1_axis_1 = 0; w1_axis_1 < 4; w1_axis_1 += LANES) {
            const T(ints) t_0 = w1_axis_1 + T(lane);
            T(store)(gradient_5 + w1_axis_1, ((T(pick)(__builtin_convertvector(t_0 == 0, T(mask)),
                T(splat)(gradient_4_1), T(splat)(0.0f)) + T(pick)(__builtin_convertvector(t_0 == 1, T(mask)),
                T(splat)(gradient_3_2), T(splat)(0.0f))) + T(pick)(__builtin_convertvector(t_0 == 2, T(mask)),
                T(splat)(gradient_2_3), T(splat)(0.0f))) + T(pick)(__builtin_convertvector(t_0 == 3, T(mask)),
                T(splat)(gradient_15), T(splat)(0.0f)));
        }
    }
    if (dc_array) {
        /* gradient_7 = gradient_6 */
        const float gradient_6_16 = gradient_6[0];
        for (int64_t one = 0; one < 1; one += LANES) {
            T(store)(gradient_7 + one, T(splat)(gradient_6_16));
        }
    }
    if (dthreshold_array) {
        /* gradient_9 = gradient_8 */
        const float gradient_8_17 = gradient_8[0];
        for (int64_t one = 0; one < 1; one += LANES) {
            T(store)(gradient_9 + one, T(splat)(gradient_8_17));
        }
    }
    if (dshift_array) {
        /* gradient_14 = ((select(shift_axis_1 == 0, gradient_13, 0.0f) + select(shift_axis_1 == 1, gradient_12,
           0.0f)) + select(shift_axis ... */
        const float gradient_13_19 = gradient_13[0];
        const float gradient_12_20 = gradient_12[0];
        const float gradient_11_21 = gradient_11[0];
        const float gradient_10_22 = gradient_10[0];
        for (int64_t shift_axis_1 = 0; shift_axis_1 < 4; shift_axis_1 += LANES) {
            const T(ints) t_18 = shift_axis_1 + T(lane);
            T(store)(gradient_14 + shift_axis_1, ((T(pick)(__builtin_convertvector(t_18 == 0, T(mask)),
                T(splat)(gradient_13_19), T(splat)(0.0f)) + T(pick)(__builtin_convertvector(t_18 == 1, T(mask)),
                T(splat)(gradient_12_20), T(splat)(0.0f))) + T(pick)(__builtin_convertvector(t_18 == 2, T(mask)),
                T(splat)(gradient_11_21), T(splat)(0.0f))) + T(pick)(__builtin_convertvector(t_18 == 3, T(mask)),
                T(splat)(gradient_10_22), T(splat)(0.0f)));
        }
    }
    if (dw1_array) {
        /* dw1_array = gradient_5 */
        for (int64_t w1_axis_1 = 0; w1_axis_1 < 4; w1_axis_1++)
            dw1_array[w1_axis_1] = gradient_5[w1_axis_1];
    }
    if (dc_array) {
        /* dc_array = gradient_7 */
        for (int64_t one = 0; one < 1; one++)
            dc_array[one] = gradient_7[one];
    }
    if (dthreshold_array) {
        /* dthreshold_array = gradient_9 */
        for (int64_t one = 0; one < 1; one++)
            dthreshold_array[one] = gradient_9[one];
    }
    if (dshift_array) {
        /* dshift_array = gradient_14 */
        for (int64_t shift_axis_1 = 0; shift_axis_1 < 4; shift_axis_1++)
            dshift_array[shift_axis_1] = gradient_14[shift_axis_1];
    }
}
#include <attnrt/kernel/end.h>
#else
#ifdef __cplusplus
#error "softmax_fire.c is C, not C++: compile it with a C compiler"
#elif !defined __STDC_VERSION__ || __STDC_VERSION__ < 199901L
#error "softmax_fire.c is C11, not C89: compile it without -std=, or with -std=gnu11"
extern int softmax_fire_is_c11;
#elif !defined __GNUC__
#error "softmax_fire.c uses GNU C vector extensions: compile it with gcc or clang"
extern int softmax_fire_is_gnu_c;
#else
#include "softmax_fire.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include <attnrt/kernel/optimize.h>
#include <attnrt/kernel/call.h>
#include <attnrt/kernel/remembered.h>

/* the numbers of the arrays of a call */
enum {
    ARRAY_q, ARRAY_k, ARRAY_v, ARRAY_out, ARRAY_dout, ARRAY_dq, ARRAY_dk, ARRAY_dv, ARRAY_offset_array, ARRAY_w2_array,
    ARRAY_w1_array, ARRAY_c_array, ARRAY_threshold_array, ARRAY_shift_array, ARRAY_doffset_array, ARRAY_dw2_array,
    ARRAY_dw1_array, ARRAY_dc_array, ARRAY_dthreshold_array, ARRAY_dshift_array, ARRAY_saved_0, ARRAY_row_0,
    ARRAY_partial_0, ARRAY_partial_1, ARRAY_partial_2, ARRAY_partial_3, ARRAY_partial_4, ARRAY_partial_5,
    ARRAY_partial_6, ARRAY_partial_7, ARRAY_partial_8, ARRAY_partial_9, ARRAY_partial_10, ARRAY_partial_11,
    ARRAY_partial_12, ARRAY_partial_13, ARRAY_partial_14
};

#ifdef __FILE_NAME__
#define LOOPS __FILE_NAME__ /* this file, whose first part has the loops */
#else
#define LOOPS "softmax_fire.c"
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
    {"offset", ATTN_F32, 1, {ATTN_HEADS}, offsetof(struct softmax_fire_params, offset), 0,
        offsetof(struct softmax_fire_strides, offset), 0, 0, ATTN_NO_LIMITS},
    {"w2", ATTN_F32, 2, {ATTN_HEADS, 4}, offsetof(struct softmax_fire_params, w2), 0,
        offsetof(struct softmax_fire_strides, w2), 0, 0, ATTN_NO_LIMITS},
    {"w1", ATTN_F32, 1, {4}, offsetof(struct softmax_fire_params, w1), 0, offsetof(struct softmax_fire_strides, w1), 0,
        0, ATTN_NO_LIMITS},
    {"c", ATTN_F32, 0, {0}, offsetof(struct softmax_fire_params, c), 0, ATTN_CONTIGUOUS, 0, 0, ATTN_NO_LIMITS},
    {"threshold", ATTN_F32, 0, {0}, offsetof(struct softmax_fire_params, threshold), 0, ATTN_CONTIGUOUS, 0, 0,
        ATTN_NO_LIMITS},
    {"shift", ATTN_F32, 1, {4}, offsetof(struct softmax_fire_params, shift), 0, offsetof(struct softmax_fire_strides,
        shift), 0, 0, ATTN_NO_LIMITS},
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
    {.name = "offset", .access = {ACCESS_READ, ACCESS_READ}, .dtype = ATTN_F32, .origin = FROM_PARAMS, .param = 0,
        .axis = {-1, 0, -1}},
    {.name = "w2", .access = {ACCESS_READ, ACCESS_READ}, .dtype = ATTN_F32, .origin = FROM_PARAMS, .param = 1,
        .axis = {-1, 0, -1}},
    {.name = "w1", .access = {ACCESS_READ, ACCESS_READ}, .dtype = ATTN_F32, .origin = FROM_PARAMS, .param = 2,
        .axis = {-1, -1, -1}},
    {.name = "c", .access = {ACCESS_READ, ACCESS_READ}, .dtype = ATTN_F32, .origin = FROM_PARAMS, .param = 3,
        .axis = {-1, -1, -1}},
    {.name = "threshold", .access = {ACCESS_READ, ACCESS_READ}, .dtype = ATTN_F32, .origin = FROM_PARAMS, .param = 4,
        .axis = {-1, -1, -1}},
    {.name = "shift", .access = {ACCESS_READ, ACCESS_READ}, .dtype = ATTN_F32, .origin = FROM_PARAMS, .param = 5,
        .axis = {-1, -1, -1}},
    {.name = "doffset", .access = {ACCESS_NONE, ACCESS_WANTED}, .dtype = ATTN_F32, .origin = FROM_GRADIENTS,
        .member = offsetof(struct softmax_fire_gradients, offset)},
    {.name = "dw2", .access = {ACCESS_NONE, ACCESS_WANTED}, .dtype = ATTN_F32, .origin = FROM_GRADIENTS,
        .member = offsetof(struct softmax_fire_gradients, w2)},
    {.name = "dw1", .access = {ACCESS_NONE, ACCESS_WANTED}, .dtype = ATTN_F32, .origin = FROM_GRADIENTS,
        .member = offsetof(struct softmax_fire_gradients, w1)},
    {.name = "dc", .access = {ACCESS_NONE, ACCESS_WANTED}, .dtype = ATTN_F32, .origin = FROM_GRADIENTS,
        .member = offsetof(struct softmax_fire_gradients, c)},
    {.name = "dthreshold", .access = {ACCESS_NONE, ACCESS_WANTED}, .dtype = ATTN_F32, .origin = FROM_GRADIENTS,
        .member = offsetof(struct softmax_fire_gradients, threshold)},
    {.name = "dshift", .access = {ACCESS_NONE, ACCESS_WANTED}, .dtype = ATTN_F32, .origin = FROM_GRADIENTS,
        .member = offsetof(struct softmax_fire_gradients, shift)},
    {.name = "saved_0", .origin = FROM_SAVED},
    {.name = "row_0", .origin = FROM_ROW_SUMS},
    {.name = "partial_0", .origin = FROM_LEFT, .elements = 16, .sizes = 1 << -ATTN_HEADS,
        .wanted = (const uint16_t[]){ARRAY_doffset_array, NO_ARRAY}},
    {.name = "partial_1", .origin = FROM_LEFT, .elements = 16, .sizes = 1 << -ATTN_HEADS,
        .wanted = (const uint16_t[]){ARRAY_dw2_array, NO_ARRAY}},
    {.name = "partial_2", .origin = FROM_LEFT, .elements = 16, .sizes = 1 << -ATTN_HEADS,
        .wanted = (const uint16_t[]){ARRAY_dw2_array, NO_ARRAY}},
    {.name = "partial_3", .origin = FROM_LEFT, .elements = 16, .sizes = 1 << -ATTN_HEADS,
        .wanted = (const uint16_t[]){ARRAY_dw2_array, NO_ARRAY}},
    {.name = "partial_4", .origin = FROM_LEFT, .elements = 16, .sizes = 1 << -ATTN_HEADS,
        .wanted = (const uint16_t[]){ARRAY_dw2_array, NO_ARRAY}},
    {.name = "partial_5", .origin = FROM_LEFT, .elements = 16, .sizes = 1 << -ATTN_HEADS,
        .wanted = (const uint16_t[]){ARRAY_dw1_array, NO_ARRAY}},
    {.name = "partial_6", .origin = FROM_LEFT, .elements = 16, .sizes = 1 << -ATTN_HEADS,
        .wanted = (const uint16_t[]){ARRAY_dw1_array, NO_ARRAY}},
    {.name = "partial_7", .origin = FROM_LEFT, .elements = 16, .sizes = 1 << -ATTN_HEADS,
        .wanted = (const uint16_t[]){ARRAY_dw1_array, NO_ARRAY}},
    {.name = "partial_8", .origin = FROM_LEFT, .elements = 16, .sizes = 1 << -ATTN_HEADS,
        .wanted = (const uint16_t[]){ARRAY_dw1_array, NO_ARRAY}},
    {.name = "partial_9", .origin = FROM_LEFT, .elements = 16, .sizes = 1 << -ATTN_HEADS,
        .wanted = (const uint16_t[]){ARRAY_dc_array, NO_ARRAY}},
    {.name = "partial_10", .origin = FROM_LEFT, .elements = 16, .sizes = 1 << -ATTN_HEADS,
        .wanted = (const uint16_t[]){ARRAY_dthreshold_array, NO_ARRAY}},
    {.name = "partial_11", .origin = FROM_LEFT, .elements = 16, .sizes = 1 << -ATTN_HEADS,
        .wanted = (const uint16_t[]){ARRAY_dshift_array, NO_ARRAY}},
    {.name = "partial_12", .origin = FROM_LEFT, .elements = 16, .sizes = 1 << -ATTN_HEADS,
        .wanted = (const uint16_t[]){ARRAY_dshift_array, NO_ARRAY}},
    {.name = "partial_13", .origin = FROM_LEFT, .elements = 16, .sizes = 1 << -ATTN_HEADS,
        .wanted = (const uint16_t[]){ARRAY_dshift_array, NO_ARRAY}},
    {.name = "partial_14", .origin = FROM_LEFT, .elements = 16, .sizes = 1 << -ATTN_HEADS,
        .wanted = (const uint16_t[]){ARRAY_dshift_array, NO_ARRAY}},
};

#if defined(__x86_64__)
static int runs_v4(void)
{
    return attn_x86_64_level() >= 4;
}
static const struct program programs_v4[] = {
    {.role = RUN_FORWARD, .form = FORM_FEW,
     .head = softmax_fire_few_v4, .tile = 0, .own = 37120, .few_rows = 64, .lanes = 16, .of_pair = 128, .shared = 51136,
         .slot = 16960, .slots = 4, .together = 1},
    {.role = RUN_FORWARD,
     .rows = softmax_fire_rows_v4, .tile = 64, .own = 418304, .of_pair = 128, .saves = 1, .remembered = 1,
         .remembers = {154624}},
    {.role = RUN_BACKWARD, .part = 5, .sums_slices = 1,
     .rows = softmax_fire_totals2_v4, .tile = 0, .own = 11520, .of_pair = 128,
         .wanted = (const uint16_t[]){ARRAY_dw1_array, ARRAY_dc_array, ARRAY_dthreshold_array, ARRAY_dshift_array,
         NO_ARRAY}, .units = 1},
    {.role = RUN_BACKWARD, .part = 4, .sums_slices = 1,
     .rows = softmax_fire_totals1_v4, .tile = -1, .own = 5184, .of_pair = 128,
         .wanted = (const uint16_t[]){ARRAY_doffset_array, ARRAY_dw2_array, NO_ARRAY}, .units = 1, .unit_heads = 2},
    {.role = RUN_BACKWARD, .part = 3,
     .rows = softmax_fire_dk_dv_v4, .tile = 64, .own = 570880, .of_pair = 128, .wanted = (const uint16_t[]){ARRAY_dk,
         ARRAY_dv, NO_ARRAY}, .of_keys = OF_KEY_HEAD, .remembered = 1, .remembers = {307200}},
    {.role = RUN_BACKWARD, .part = 2,
     .rows = softmax_fire_dq_sums1_v4, .tile = -1, .own = 1927808, .of_pair = 128,
         .wanted = (const uint16_t[]){ARRAY_dq, ARRAY_partial_0, ARRAY_partial_1, ARRAY_partial_2, ARRAY_partial_3,
         ARRAY_partial_4, ARRAY_partial_5, ARRAY_partial_6, ARRAY_partial_7, ARRAY_partial_8, ARRAY_partial_9,
         ARRAY_partial_10, ARRAY_partial_11, ARRAY_partial_12, ARRAY_partial_13, ARRAY_partial_14, NO_ARRAY},
         .units = 16, .unit_heads = 2, .remembered = 4, .remembers = {875392, 1138496, 1401600, 1664704}},
    {.role = RUN_BACKWARD, .part = 1,
     .rows = softmax_fire_row_sums_v4, .tile = 64, .own = 41216, .of_pair = 128},
    {.role = RUN_BACKWARD, .saved_again = 1,
     .rows = softmax_fire_saved_v4, .tile = 64, .own = 377344, .of_pair = 128, .remembered = 1, .remembers = {113664}},
};
#endif
#if defined(__x86_64__)
static int runs_v3(void)
{
    return attn_x86_64_level() >= 3;
}
static const struct program programs_v3[] = {
    {.role = RUN_FORWARD, .form = FORM_FEW,
     .head = softmax_fire_few_v3, .tile = 0, .own = 37120, .few_rows = 64, .lanes = 8, .of_pair = 128, .shared = 51136,
         .slot = 16960, .slots = 4, .together = 1},
    {.role = RUN_FORWARD,
     .rows = softmax_fire_rows_v3, .tile = 64, .own = 418304, .of_pair = 128, .saves = 1, .remembered = 1,
         .remembers = {154624}},
    {.role = RUN_BACKWARD, .part = 5, .sums_slices = 1,
     .rows = softmax_fire_totals2_v3, .tile = 0, .own = 6400, .of_pair = 128,
         .wanted = (const uint16_t[]){ARRAY_dw1_array, ARRAY_dc_array, ARRAY_dthreshold_array, ARRAY_dshift_array,
         NO_ARRAY}, .units = 1},
    {.role = RUN_BACKWARD, .part = 4, .sums_slices = 1,
     .rows = softmax_fire_totals1_v3, .tile = -1, .own = 2624, .of_pair = 128,
         .wanted = (const uint16_t[]){ARRAY_doffset_array, ARRAY_dw2_array, NO_ARRAY}, .units = 1, .unit_heads = 2},
    {.role = RUN_BACKWARD, .part = 3,
     .rows = softmax_fire_dk_dv_v3, .tile = 64, .own = 570880, .of_pair = 128, .wanted = (const uint16_t[]){ARRAY_dk,
         ARRAY_dv, NO_ARRAY}, .of_keys = OF_KEY_HEAD, .remembered = 1, .remembers = {307200}},
    {.role = RUN_BACKWARD, .part = 2,
     .rows = softmax_fire_dq_sums1_v3, .tile = -1, .own = 1927808, .of_pair = 128,
         .wanted = (const uint16_t[]){ARRAY_dq, ARRAY_partial_0, ARRAY_partial_1, ARRAY_partial_2, ARRAY_partial_3,
         ARRAY_partial_4, ARRAY_partial_5, ARRAY_partial_6, ARRAY_partial_7, ARRAY_partial_8, ARRAY_partial_9,
         ARRAY_partial_10, ARRAY_partial_11, ARRAY_partial_12, ARRAY_partial_13, ARRAY_partial_14, NO_ARRAY},
         .units = 16, .unit_heads = 2, .remembered = 4, .remembers = {875392, 1138496, 1401600, 1664704}},
    {.role = RUN_BACKWARD, .part = 1,
     .rows = softmax_fire_row_sums_v3, .tile = 64, .own = 41216, .of_pair = 128},
    {.role = RUN_BACKWARD, .saved_again = 1,
     .rows = softmax_fire_saved_v3, .tile = 64, .own = 377344, .of_pair = 128, .remembered = 1, .remembers = {113664}},
};
#endif
static const struct program programs_any[] = {
    {.role = RUN_FORWARD, .form = FORM_FEW,
     .head = softmax_fire_few_any, .tile = 0, .own = 37120, .few_rows = 64, .lanes = 4, .of_pair = 128, .shared = 51136,
         .slot = 16960, .slots = 4, .together = 1},
    {.role = RUN_FORWARD,
     .rows = softmax_fire_rows_any, .tile = 64, .own = 418304, .of_pair = 128, .saves = 1, .remembered = 1,
         .remembers = {154624}},
    {.role = RUN_BACKWARD, .part = 5, .sums_slices = 1,
     .rows = softmax_fire_totals2_any, .tile = 0, .own = 3840, .of_pair = 128,
         .wanted = (const uint16_t[]){ARRAY_dw1_array, ARRAY_dc_array, ARRAY_dthreshold_array, ARRAY_dshift_array,
         NO_ARRAY}, .units = 1},
    {.role = RUN_BACKWARD, .part = 4, .sums_slices = 1,
     .rows = softmax_fire_totals1_any, .tile = -1, .own = 1344, .of_pair = 128,
         .wanted = (const uint16_t[]){ARRAY_doffset_array, ARRAY_dw2_array, NO_ARRAY}, .units = 1, .unit_heads = 2},
    {.role = RUN_BACKWARD, .part = 3,
     .rows = softmax_fire_dk_dv_any, .tile = 64, .own = 570880, .of_pair = 128, .wanted = (const uint16_t[]){ARRAY_dk,
         ARRAY_dv, NO_ARRAY}, .of_keys = OF_KEY_HEAD, .remembered = 1, .remembers = {307200}},
    {.role = RUN_BACKWARD, .part = 2,
     .rows = softmax_fire_dq_sums1_any, .tile = -1, .own = 1927808, .of_pair = 128,
         .wanted = (const uint16_t[]){ARRAY_dq, ARRAY_partial_0, ARRAY_partial_1, ARRAY_partial_2, ARRAY_partial_3,
         ARRAY_partial_4, ARRAY_partial_5, ARRAY_partial_6, ARRAY_partial_7, ARRAY_partial_8, ARRAY_partial_9,
         ARRAY_partial_10, ARRAY_partial_11, ARRAY_partial_12, ARRAY_partial_13, ARRAY_partial_14, NO_ARRAY},
         .units = 16, .unit_heads = 2, .remembered = 4, .remembers = {875392, 1138496, 1401600, 1664704}},
    {.role = RUN_BACKWARD, .part = 1,
     .rows = softmax_fire_row_sums_any, .tile = 64, .own = 41216, .of_pair = 128},
    {.role = RUN_BACKWARD, .saved_again = 1,
     .rows = softmax_fire_saved_any, .tile = 64, .own = 377344, .of_pair = 128, .remembered = 1, .remembers = {113664}},
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
    .layout = KERNEL_LAYOUT, .name = "softmax_fire", .openmp = OPENMP,
    .target = target, .targets = sizeof target / sizeof *target - 1,
    .array = array, .arrays = sizeof array / sizeof *array,
    .param = param, .params = 6, .params_bytes = sizeof(struct softmax_fire_params),
    .dtype = ATTN_F32, .key_dtype = ATTN_F32, .value_dtype = ATTN_F32, .real = sizeof(float), .element = sizeof(float),
    .head_dim = 64, .value_dim = 64, .key_row = 64, .value_row = 64,
    .strided = 1, .strides = offsetof(struct softmax_fire_params, strides),
    .shares = 1,
    .positions = 1,
    .ids = -1,
    .corrected = -1,
    .solution = -1,
    .gradients_bytes = sizeof(struct softmax_fire_gradients),
    .parts = 6,
    .saved = 1,
    .row_sums = 1,
    .shared_gradient = {ARRAY_dq, ARRAY_dk},
};

/* ==== the interface ==== */
size_t softmax_fire_params_size(void) { return attn_call_params_size(&kernel); }
int softmax_fire_params_init(struct softmax_fire_params *params, uint64_t seed, void *storage)
{
    return attn_call_params_init(&kernel, params, seed, storage);
}
size_t softmax_fire_workspace(const struct attn_problem *problem) { return attn_call_workspace(&kernel, problem); }
size_t softmax_fire_saved(const struct attn_problem *problem) { return attn_call_saved(&kernel, problem); }
size_t softmax_fire_backward_workspace(const struct attn_problem *problem)
{
    return attn_call_backward_workspace(&kernel, problem);
}
int softmax_fire_forward(const struct attn_problem *problem, const struct softmax_fire_params *params, const float *q,
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
int softmax_fire_backward(const struct attn_problem *problem, const struct softmax_fire_params *params, const float *q,
    const float *k, const float *v, const float *out, const float *dout,
    float *dq, float *dk, float *dv, struct softmax_fire_gradients *gradients, void *workspace)
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
const struct attn_kernel softmax_fire_kernel = {
    .name = "softmax_fire", .version = "0.2.0", .dtype = ATTN_F32, .head_dim = 64, .value_dim = 64,
    .params = 6, .param = param, .params_bytes = sizeof(struct softmax_fire_params),
    .params_size = softmax_fire_params_size, .params_init = params_init_any, .forward = forward_any,
    .workspace = softmax_fire_workspace,
    .saved = softmax_fire_saved,
    .backward_workspace = softmax_fire_backward_workspace,
    .backward = backward_any,
    .key_dtype = ATTN_F32, .value_dtype = ATTN_F32,
    .strides = offsetof(struct softmax_fire_params, strides), .strides_bytes = sizeof(struct softmax_fire_strides),
    .before = INT64_MAX, .after = 0, .period = 0, .names_heads = 0, .names_sequences = 0, .in_parts = 0,
    .saved_power = 0, .has_sink = 0, .open_keys = 0, .end_of_keys = INT64_MAX,
};
#endif /* a compiler of this language */
#endif /* SECTION */
