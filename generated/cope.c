/* cope.c, made by attnc 0.2.0: attnc cope.yaml
   C11 with GNU extensions, for a C compiler; C++ includes cope.h.
   contextual positions: the logit has an interpolated position vector, whose number is a sum of the gates of later keys
   Golovneva et al., Contextual Position Encoding (arXiv 2024), section 4; `at` is the query times each position vector

   Computes, in f32, over the axes b (batch), g (key/value head), m (query head of g), i (query), j (key), d (64),
   e (64), at_axis_4 (64), at_at_4 (64):
     q [b g m i d]
     k [b g j d]
     v [b g j e]
     x3 [b g m i j] = sum over d of q * k
     x4 [b g m i j] = sigmoid(x3 * 0.125)
     x5 [b g m i j] = sum over later j of x4 if j <= i + query_start
     x6 [b g m i j] = x5 + x4
     x7 [b g m i j] = sum over d of q * k
     at [b g m i at_axis_4], learned parameter
     x9 [b g m i j] = max(min(trunc(x6), 63), 0) * 1
     x10 [b g m i j at_at_4] = abs(x9 - at_at_4 * 1) < 0.5 ? at[b, g, m, i, at_at_4] : 0
     x11 [b g m i j] = sum over at_at_4 of x10
     x12 [b g m i j] = max(min(trunc(x6) + 1, 63), 0) * 1
     x13 [b g m i j at_at_4] = abs(x12 - at_at_4 * 1) < 0.5 ? at[b, g, m, i, at_at_4] : 0
     x14 [b g m i j] = sum over at_at_4 of x13
     x15 [b g m i j] = exp(x7 * 0.125 + x11 + (x6 - trunc(x6)) * (x14 - x11))
     x16 [b g m i] = sum over j of x15 if j <= i + query_start
     x17 [b g m i e] = sum over j of x15 * v if j <= i + query_start
     x18 [b g m i e] = x16 == 0 ? 0 : x17 / x16
     out = x18
   query_start is the position of the first query: problem.query_start[b], or n_k - n_q if that is NULL.

   How: each vector lane holds one query. Keys are processed in tiles,
   so row sums and maxima need no reduction across lanes.
   The sums of a tile start from zero and are added to the sums so far. Tiles that no query sees are skipped.
     x86-64-v4  quadratic tiles of 64 queries and 288 keys; 451840 bytes of workspace per thread
     x86-64-v3  quadratic tiles of 64 queries and 288 keys; 451840 bytes of workspace per thread
     generic    quadratic tiles of 64 queries and 288 keys; 451840 bytes of workspace per thread

   Contents:
     loops      cope_rows
     targets    x86-64-v4, x86-64-v3, generic
     tables     arrays and programs, for the functions of attnrt that call the loops
     interface  cope_workspace, cope_forward, cope_kernel
   The file includes itself, so that the loops are compiled once for each target. T(name) is a name with the target's
   suffix, LANES the elements of its vectors, and OF(…) a number for each target.

   Compile with: cc -O2 -fopenmp cope.c … -lattnrt -lm */
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

/* Computes task number `task`: one tile of queries of one head. `work` is this thread's workspace. */
TARGET static void T(cope_rows)(const struct call *call, int64_t task, unsigned char *work)
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
    const float *const at_array = (const float *)call->array[ARRAY_at_array].at + b *
        call->array[ARRAY_at_array].strides.batch + (g * members + m) * call->array[ARRAY_at_array].strides.head;
    const int64_t at_array_row = call->array[ARRAY_at_array].strides.row;
    const int64_t at_array_stride_3 = call->array[ARRAY_at_array].stride[3];
    float *const score = (float *)(void *)(work + 0); /* [j: 288, i: 64 of 80] */
    float *const weight = (float *)(void *)(work + 92160); /* [j: 288, i: 64 of 80] */
    float *const weight_2 = (float *)(void *)(work + 184320); /* [j: 288, i: 64 of 80] */
    float *const carried = (float *)(void *)(work + 276480); /* [i: 64] */
    float *const weight_4 = (float *)(void *)(work + 276736); /* [j: 288, i: 64 of 80] */
    float *const weight_5 = (float *)(void *)(work + 92160); /* [j: 288, i: 64 of 80] */
    float *const row_max = (float *)(void *)(work + 368896); /* [i: 64] */
    float *const old_max = (float *)(void *)(work + 369152); /* [i: 64] */
    float *const row_sum = (float *)(void *)(work + 369408); /* [i: 64] */
    float *const row_sum_compensation = (float *)(void *)(work + 369664); /* [i: 64] */
    float *const sum = (float *)(void *)(work + 369920); /* [e: 64, i: 64 of 80] */
    float *const sum_compensation = (float *)(void *)(work + 390400); /* [e: 64, i: 64 of 80] */
    float *const out = (float *)call->array[ARRAY_out].at + b * call->array[ARRAY_out].strides.batch + (g * members + m)
        * call->array[ARRAY_out].strides.head;
    const int64_t out_row = call->array[ARRAY_out].strides.row;
    float *const q_tile = (float *)(void *)(work + 410880); /* [d: 64, i: 64 of 80] */
    float *const at_tile = (float *)(void *)(work + 431360); /* [at_axis_4: 64, i: 64 of 80] */
    int64_t results = i1 - i0; /* rows of out to prefetch during the first product */
    /* q_tile = q, with zeros beyond the last row */
    T(transpose_padded)(q + i0 * q_row, q_row, i1 - i0, 64, q_tile, 80, LANES);
    if (at_array_stride_3 == 1) {
        /* at_tile = at_array, with zeros beyond the last row */
        T(transpose_padded)(at_array + i0 * at_array_row, at_array_row, i1 - i0, 64, at_tile, 80, LANES);
    } else {
        /* at_tile = at_array, with zeros beyond the last row */
        for (int64_t i = 0; i < round_up(i1 - i0, LANES); i++)
            for (int64_t at_axis_4 = 0; at_axis_4 < 64; at_axis_4++)
                at_tile[at_axis_4 * 80 + i] = i < i1 - i0 ? at_array[(i0 + i) * at_array_row + at_axis_4 *
                    at_array_stride_3] : 0;
    }
    /* carried = 0.0f; row_max = -FLT_MAX; row_sum = 0.0f; row_sum_compensation = 0.0f */
    for (int64_t i = 0; i < i1 - i0; i += LANES) {
        T(store)(carried + i, T(splat)(0.0f));
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
    {
        const int64_t j_from = 0, j_end = min(n_k, i1 + query_start);
        for (int64_t j0 = j_from + (j_end - j_from + 287) / 288 * 288 - 288; j0 >= j_from;
            j0 -= 288) { /* from the last key to the first */
            const int64_t j1 = min(j0 + 288, j_end);
            /* score[j][i] = sum over d of k * q_tile */
            T(dot0)(round_up(i1 - i0, LANES), j1 - j0, k + j0 * k_row, k_row, q_tile, score, v + j0 * v_row, v_row,
                out + i0 * out_row, out_row, results);
            results = 0;
            /* weight = sigmoid(score * 0.125f); weight_2 = weight */
            for (int64_t j = 0; j < j1 - j0; j++) {
                for (int64_t i = 0; i < i1 - i0; i += LANES) {
                    const T(vec) weight_new0 = T(sigmoid)(T(load)(score + j * 80 + i) * 0.125f);
                    T(store)(weight + j * 80 + i, weight_new0);
                    T(store)(weight_2 + j * 80 + i, weight_new0);
                }
            }
            if ((i0 + query_start + 1) < j1) { /* the tile is partly outside the mask */
                /* weight_2 = select(j <= (i + query_start), weight_2, 0.0f) */
                for (int64_t i = 0; i < i1 - i0; i += LANES) {
                    const T(ints) t_1 = (i0 + i + T(lane)) + query_start;
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        T(store)(weight_2 + j * 80 + i, T(pick)(__builtin_convertvector((j0 + j) <= t_1, T(mask)),
                            T(load)(weight_2 + j * 80 + i), T(splat)(0.0f)));
                    }
                }
            }
            /* weight_2[j] = the sum of weight_2 over later j */
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                T(vec) sum = T(load)(carried + i);
                for (int64_t j = j1 - j0 - 1; j >= 0; j--) {
                    const T(vec) term = T(load)(weight_2 + j * 80 + i);
                    T(store)(weight_2 + j * 80 + i, sum);
                    sum += term;
                }
                T(store)(carried + i, sum);
            }
            /* weight_2 = weight_2 + weight; weight_4 = 0.0f */
            for (int64_t j = 0; j < j1 - j0; j++) {
                for (int64_t i = 0; i < i1 - i0; i += LANES) {
                    T(store)(weight_2 + j * 80 + i, T(load)(weight_2 + j * 80 + i) + T(load)(weight + j * 80 + i));
                    T(store)(weight_4 + j * 80 + i, T(splat)(0.0f));
                }
            }
            /* weight_5 = 0.0f */
            for (int64_t j = 0; j < j1 - j0; j++) {
                for (int64_t i = 0; i < i1 - i0; i += LANES) {
                    T(store)(weight_5 + j * 80 + i, T(splat)(0.0f));
                }
            }
            /* weight_4 += select(abs((max(min(trunc(weight_2), 63), 0) * 1.0f) - (at_at_4 * 1.0f)) < 0.5f, at_tile,
               0.0f); weight_5 += select( ... */
            const double t_3 = 1.0;
            const float t_3_high = T(high_part)(t_3), t_3_rest = (float)(t_3 - t_3_high);
            const double t_7 = 1.0;
            const float t_7_high = T(high_part)(t_7), t_7_rest = (float)(t_7 - t_7_high);
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                for (int64_t j = 0; j < j1 - j0; j++) {
                    T(vec) weight_4_in = (T(vec)){0};
                    T(vec) weight_5_in = (T(vec)){0};
                    for (int64_t at_at_4 = 0; at_at_4 < 64; at_at_4++) {
                        const double t_2 = (double)at_at_4 * 1.0;
                        const T(wide) real4 = __builtin_convertvector(T(load)(weight_2 + j * 80 + i), T(wide));
                        T(ints) whole4 = {0};
                        T(truncate)(&whole4, &real4);
                        const T(ints) t_5 = whole4;
                        const T(vec) t_3_times = __builtin_convertvector((((((t_5 < 63) & t_5) | (~(t_5 < 63) & (63 -
                            (T(ints)){0}))) > 0) & (((t_5 < 63) & t_5) | (~(t_5 < 63) & (63 - (T(ints)){0})))) |
                            (~((((t_5 < 63) & t_5) | (~(t_5 < 63) & (63 - (T(ints)){0}))) > 0) & (0 - (T(ints)){0})),
                            T(vec));
                        const T(vec) at_tile_6 = T(load)(at_tile + at_at_4 * 80 + i);
                        weight_4_in += T(pick)(T(abs)((-(float)t_2 + (t_3_high * t_3_times)) + (t_3_rest * t_3_times)) <
                            0.5f, at_tile_6, T(splat)(0.0f));
                        const T(vec) t_7_times = __builtin_convertvector(((((((t_5 + 1) < 63) & (t_5 + 1)) | (~((t_5 +
                            1) < 63) & (63 - (T(ints)){0}))) > 0) & ((((t_5 + 1) < 63) & (t_5 + 1)) | (~((t_5 + 1) < 63)
                            & (63 - (T(ints)){0})))) | (~(((((t_5 + 1) < 63) & (t_5 + 1)) | (~((t_5 + 1) < 63) & (63 -
                            (T(ints)){0}))) > 0) & (0 - (T(ints)){0})), T(vec));
                        weight_5_in += T(pick)(T(abs)((-(float)t_2 + (t_7_high * t_7_times)) + (t_7_rest * t_7_times)) <
                            0.5f, at_tile_6, T(splat)(0.0f));
                    }
                    T(store)(weight_4 + j * 80 + i, T(load)(weight_4 + j * 80 + i) + weight_4_in);
                    T(store)(weight_5 + j * 80 + i, T(load)(weight_5 + j * 80 + i) + weight_5_in);
                }
            }
            /* old_max = row_max */
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                T(store)(old_max + i, T(load)(row_max + i));
            }
            if ((i0 + query_start + 1) < j1) { /* the tile is partly outside the mask */
                /* score = select(j <= (i + query_start), ((score * 0.18033688f) + (weight_4 * 1.442695f)) + (((weight_2
                   - trunc(weight_2)) * (weig ... */
                for (int64_t i = 0; i < i1 - i0; i += LANES) {
                    const T(ints) t_8 = (i0 + i + T(lane)) + query_start;
                    T(vec) row_max_in = T(load)(row_max + i);
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        const T(vec) score_9 = T(load)(score + j * 80 + i);
                        const T(vec) weight_4_10 = T(load)(weight_4 + j * 80 + i);
                        const T(vec) weight_2_11 = T(load)(weight_2 + j * 80 + i);
                        const T(wide) real12 = __builtin_convertvector(weight_2_11, T(wide));
                        T(ints) whole12 = {0};
                        T(truncate)(&whole12, &real12);
                        const T(vec) score_new13 = T(pick)(__builtin_convertvector((j0 + j) <= t_8, T(mask)),
                            ((score_9 * 0.18033688f) + (weight_4_10 * 1.442695f)) + (((weight_2_11 -
                            __builtin_convertvector(whole12, T(vec))) * (T(load)(weight_5 + j * 80 + i) - weight_4_10))
                            * 1.442695f), T(splat)(-INFINITY));
                        T(store)(score + j * 80 + i, score_new13);
                        row_max_in = T(max)(row_max_in, score_new13);
                    }
                    T(store)(row_max + i, row_max_in);
                }
            }
            if (!((i0 + query_start + 1) < j1)) { /* the tile is wholly inside the mask */
                /* score = ((score * 0.18033688f) + (weight_4 * 1.442695f)) + (((weight_2 - trunc(weight_2)) * (weight_5
                   - weight_4)) * 1.442695f); ... */
                for (int64_t i_first = 0; i_first < i1 - i0; i_first += OF(64, 16, 8)) {
                    T(vec) row_max_in[OF(4, 2, 2)];
                    UNROLL for (int64_t vector = 0, i = i_first; vector < OF(4, 2, 2); vector++, i += LANES) {
                        row_max_in[vector] = T(load)(row_max + i);
                    }
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        UNROLL for (int64_t vector = 0, i = i_first; vector < OF(4, 2, 2); vector++, i += LANES) {
                            const T(vec) score_14 = T(load)(score + j * 80 + i);
                            const T(vec) weight_4_15 = T(load)(weight_4 + j * 80 + i);
                            const T(vec) weight_2_16 = T(load)(weight_2 + j * 80 + i);
                            const T(wide) real17 = __builtin_convertvector(weight_2_16, T(wide));
                            T(ints) whole17 = {0};
                            T(truncate)(&whole17, &real17);
                            const T(vec) score_new18 = ((score_14 * 0.18033688f) + (weight_4_15 * 1.442695f)) +
                                (((weight_2_16 - __builtin_convertvector(whole17,
                                T(vec))) * (T(load)(weight_5 + j * 80 + i) - weight_4_15)) * 1.442695f);
                            T(store)(score + j * 80 + i, score_new18);
                            row_max_in[vector] = T(max)(row_max_in[vector], score_new18);
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
                const T(vec) old_max_19 = T(load)(old_max + i);
                const T(vec) old_max_new20 = T(exp2)(old_max_19 - T(load)(row_max + i));
                T(store)(old_max + i, old_max_new20);
                T(store)(row_sum + i, T(load)(row_sum + i) * old_max_new20);
                T(store)(row_sum_compensation + i, T(load)(row_sum_compensation + i) * old_max_new20);
            }
            /* score = exp2(score - row_max); row_sum += score */
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                const T(vec) row_max_22 = T(load)(row_max + i);
                T(vec) row_sum_in = (T(vec)){0};
                for (int64_t j = 0; j < j1 - j0; j++) {
                    const T(vec) score_21 = T(load)(score + j * 80 + i);
                    const T(vec) score_new23 = T(exp2)(score_21 - row_max_22);
                    T(store)(score + j * 80 + i, score_new23);
                    row_sum_in += score_new23;
                }
                T(add)(row_sum + i, row_sum_compensation + i, row_sum_in, T(splat)(1));
            }
            /* sum[e][i] = sum * old_max + sum over j of v * score */
            if (__builtin_expect(((i0 + query_start + 1) < j1) && !T(finite)(v + j0 * v_row, v_row, j1 - j0, 64),
                0)) { /* infinity and NaN affect only queries that see them */
                T(dot1)(round_up(i1 - i0, LANES), j1 - j0, v + j0 * v_row, v_row, score, sum, old_max,
                    sum_compensation);
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
                T(dot2)(round_up(i1 - i0, LANES), j1 - j0, v + j0 * v_row, v_row, score, sum, old_max,
                    sum_compensation);
        }
    }
    /* sum = select(row_sum == 0.0f, 0.0f, sum * (1.0f / row_sum)) */
    for (int64_t i = 0; i < i1 - i0; i += LANES) {
        const T(vec) row_sum_24 = T(load)(row_sum + i);
        const T(mask) t_25 = row_sum_24 == 0.0f;
        const T(vec) t_26 = 1.0f / row_sum_24;
        for (int64_t e = 0; e < 64; e++) {
            T(store)(sum + e * 80 + i, T(pick)(t_25, T(splat)(0.0f), T(load)(sum + e * 80 + i) * t_26));
        }
    }
    /* out = sum, transposed back */
    T(transpose_out)(sum, 80, 64, i1 - i0, out + i0 * out_row, out_row, LANES);
}
#include <attnrt/kernel/end.h>
#else
#ifdef __cplusplus
#error "cope.c is C, not C++: compile it with a C compiler"
#elif !defined __STDC_VERSION__ || __STDC_VERSION__ < 199901L
#error "cope.c is C11, not C89: compile it without -std=, or with -std=gnu11"
extern int cope_is_c11;
#elif !defined __GNUC__
#error "cope.c uses GNU C vector extensions: compile it with gcc or clang"
extern int cope_is_gnu_c;
#else
#include "cope.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include <attnrt/kernel/optimize.h>
#include <attnrt/kernel/call.h>

/* the numbers of the arrays of a call */
enum {
    ARRAY_q, ARRAY_k, ARRAY_v, ARRAY_out, ARRAY_at_array
};

#ifdef __FILE_NAME__
#define LOOPS __FILE_NAME__ /* this file, whose first part has the loops */
#else
#define LOOPS "cope.c"
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
    {"at", ATTN_F32, 4, {ATTN_BATCH, ATTN_HEADS, ATTN_N_Q, 64}, offsetof(struct cope_params, at), 0,
        offsetof(struct cope_strides, at), 0, 1, ATTN_NO_LIMITS},
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
    {.name = "at", .access = {ACCESS_READ, ACCESS_NONE}, .dtype = ATTN_F32, .rows = ROWS_OF_QUERIES,
        .origin = FROM_PARAMS, .param = 0, .axis = {0, 1, 2}, .has_rows = 1},
};

#if defined(__x86_64__)
static int runs_v4(void)
{
    return attn_x86_64_level() >= 4;
}
static const struct program programs_v4[] = {
    {.role = RUN_FORWARD,
     .rows = cope_rows_v4, .tile = 64, .own = 451840, .of_pair = 128},
};
#endif
#if defined(__x86_64__)
static int runs_v3(void)
{
    return attn_x86_64_level() >= 3;
}
static const struct program programs_v3[] = {
    {.role = RUN_FORWARD,
     .rows = cope_rows_v3, .tile = 64, .own = 451840, .of_pair = 128},
};
#endif
static const struct program programs_any[] = {
    {.role = RUN_FORWARD,
     .rows = cope_rows_any, .tile = 64, .own = 451840, .of_pair = 128},
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
    .layout = KERNEL_LAYOUT, .name = "cope", .openmp = OPENMP,
    .target = target, .targets = sizeof target / sizeof *target - 1,
    .array = array, .arrays = sizeof array / sizeof *array,
    .param = param, .params = 1, .params_bytes = sizeof(struct cope_params),
    .dtype = ATTN_F32, .key_dtype = ATTN_F32, .value_dtype = ATTN_F32, .real = sizeof(float), .element = sizeof(float),
    .head_dim = 64, .value_dim = 64, .key_row = 64, .value_row = 64,
    .strided = 1, .strides = offsetof(struct cope_params, strides),
    .shares = 1,
    .positions = 1,
    .ids = -1,
    .corrected = -1,
    .solution = -1,
};

/* ==== the interface ==== */
size_t cope_params_size(void) { return attn_call_params_size(&kernel); }
int cope_params_init(struct cope_params *params, uint64_t seed, void *storage)
{
    return attn_call_params_init(&kernel, params, seed, storage);
}
size_t cope_workspace(const struct attn_problem *problem) { return attn_call_workspace(&kernel, problem); }
int cope_forward(const struct attn_problem *problem, const struct cope_params *params, const float *q, const float *k,
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
const struct attn_kernel cope_kernel = {
    .name = "cope", .version = "0.2.0", .dtype = ATTN_F32, .head_dim = 64, .value_dim = 64,
    .params = 1, .param = param, .params_bytes = sizeof(struct cope_params),
    .params_size = cope_params_size, .params_init = params_init_any, .forward = forward_any,
    .workspace = cope_workspace,
    .key_dtype = ATTN_F32, .value_dtype = ATTN_F32,
    .strides = offsetof(struct cope_params, strides), .strides_bytes = sizeof(struct cope_strides),
    .before = INT64_MAX, .after = 0, .period = 0, .names_heads = 0, .names_sequences = 0, .in_parts = 0,
    .saved_power = 0, .has_sink = 0, .open_keys = 0, .end_of_keys = INT64_MAX,
};
#endif /* a compiler of this language */
#endif /* SECTION */
