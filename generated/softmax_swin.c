/* softmax_swin.c, made by attnc 0.2.0: attnc softmax_swin.yaml
   C11 with GNU extensions, for a C compiler; C++ includes softmax_swin.h.
   softmax attention in windows of 7 x 7 patches, each an entry of the batch,
   with a bias for each difference of rows and columns
   Liu et al., Swin Transformer (ICCV 2021), section 3.2

   Computes, in f32, over the axes b (batch), g (key/value head), m (query head of g), i (query), j (key), d (32),
   e (32), table_axis_2 (13), table_axis_3 (13):
     q [b g m i d]
     k [b g j d]
     v [b g j e]
     x3 [b g m i j] = sum over d of q * k
     table [g m table_axis_2 table_axis_3], learned parameter
     x5 [b g m i j] = exp(x3 * 0.17677669529663687 + table[g, m, max(min((i + query_start) / 7 - j / 7 + 6, 12), 0),
     max(min((i + query_start) % 7 - j % 7 + 6, 12), 0)])
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
     x86-64-v4  quadratic tiles of 64 queries and 64 keys; 709696 bytes of workspace per thread
     x86-64-v4  few       tiles of 64 queries and 64 keys; 101824 bytes of workspace per thread
     x86-64-v3  quadratic tiles of 64 queries and 64 keys; 709696 bytes of workspace per thread
     x86-64-v3  few       tiles of 64 queries and 64 keys; 101824 bytes of workspace per thread
     generic    quadratic tiles of 64 queries and 64 keys; 709696 bytes of workspace per thread
     generic    few       tiles of 64 queries and 64 keys; 101824 bytes of workspace per thread

   Contents:
     loops      softmax_swin_rows, softmax_swin_few, softmax_swin_saved, softmax_swin_row_sums, softmax_swin_dq_sums1,
     softmax_swin_dk_dv, softmax_swin_totals1
     targets    x86-64-v4, x86-64-v3, generic
     tables     arrays and programs, for the functions of attnrt that call the loops
     interface  softmax_swin_workspace, softmax_swin_forward, softmax_swin_backward, softmax_swin_kernel
   The file includes itself, so that the loops are compiled once for each target. T(name) is a name with the target's
   suffix, LANES the elements of its vectors, and OF(…) a number for each target.

   Compile with: cc -O2 -fopenmp softmax_swin.c … -lattnrt -lm */
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
    T(dot_ahead)(/*vectors=*/OF(4, 2, 2), lanes, rows, /*tail=*/-1, /*steps=*/32, /*span=*/32, a, a_row, /*a_step=*/1,
        b, /*b_step=*/80, c, /*c_row=*/80, /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL, next, next_row,
        /*width=*/32, result, result_row, /*result_width=*/32, results);
}
TARGET APART void T(dot1)(int64_t lanes, int64_t steps, const float *a, int64_t a_step, const float *b, float *c,
    const float *factor, float *compensation)
{
    T(dot)(/*vectors=*/OF(4, 2, 2), lanes, /*rows=*/32, /*tail=*/2, steps, /*span=*/192, a, /*a_row=*/1, a_step, b,
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
    T(dot_along)(rows, columns, /*steps=*/32, a, /*a_row=*/32, b, b_row, c, /*c_row=*/80, early);
#endif
#if OF(0, 1, 0)
    T(dot_along)(rows, columns, /*steps=*/32, a, /*a_row=*/32, b, b_row, c, /*c_row=*/80);
#endif
#if OF(0, 0, 1)
    T(dot_along)(rows, columns, /*steps=*/32, a, /*a_row=*/32, b, b_row, c, /*c_row=*/80, /*early=*/64);
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
    T(dot_fetched)(/*vectors=*/2, /*lanes=*/32, rows, /*tail=*/-1, steps, /*span=*/192, a, /*a_row=*/80, /*a_step=*/1,
        b, b_step, c, /*c_row=*/32, /*update=*/1, /*factor=*/NULL, /*compensation=*/NULL, early);
#endif
#if OF(0, 1, 0)
    T(dot_fetched)(/*vectors=*/2, /*lanes=*/32, rows, /*tail=*/-1, steps, /*span=*/192, a, /*a_row=*/80, /*a_step=*/1,
        b, b_step, c, /*c_row=*/32, /*update=*/1, /*factor=*/NULL, /*compensation=*/NULL);
#endif
#if OF(0, 0, 1)
    T(dot_fetched)(/*vectors=*/2, /*lanes=*/32, rows, /*tail=*/-1, steps, /*span=*/192, a, /*a_row=*/80, /*a_step=*/1,
        b, b_step, c, /*c_row=*/32, /*update=*/1, /*factor=*/NULL, /*compensation=*/NULL, /*early=*/64);
#endif
}
TARGET APART void T(dot4)(int64_t lanes, int64_t rows, const float *a, int64_t a_row, const float *b, float *c)
{
    T(dot_ahead)(/*vectors=*/OF(4, 2, 2), lanes, rows, /*tail=*/-1, /*steps=*/32, /*span=*/32, a, a_row, /*a_step=*/1,
        b, /*b_step=*/80, c, /*c_row=*/80, /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL, /*next=*/NULL,
        /*next_row=*/0, /*width=*/0, /*result=*/NULL, /*result_row=*/0, /*result_width=*/0, /*results=*/0);
}
TARGET APART void T(dot5)(int64_t lanes, int64_t rows, const float *a, int64_t a_row, const float *b, float *c,
    const float *next, int64_t next_row)
{
    T(dot_ahead)(/*vectors=*/OF(4, 2, 2), lanes, rows, /*tail=*/-1, /*steps=*/32, /*span=*/32, a, a_row, /*a_step=*/1,
        b, /*b_step=*/80, c, /*c_row=*/80, /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL, next, next_row,
        /*width=*/32, /*result=*/NULL, /*result_row=*/0, /*result_width=*/0, /*results=*/0);
}
TARGET APART void T(dot6)(int64_t lanes, int64_t steps, const float *a, int64_t a_step, const float *b, float *c,
    float *compensation)
{
    T(dot)(/*vectors=*/OF(4, 2, 2), lanes, /*rows=*/32, /*tail=*/2, steps, /*span=*/192, a, /*a_row=*/1, a_step, b,
        /*b_step=*/80, c, /*c_row=*/80, /*update=*/3, /*factor=*/NULL, compensation);
}

/* Computes task number `task`: one tile of queries of one head. `work` is this thread's workspace. */
TARGET static void T(softmax_swin_rows)(const struct call *call, int64_t task, unsigned char *work)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_q = call->p.n_q;
    const int64_t n_k = call->p.n_k;
    const int64_t tiles = (n_q + 64 - 1) / 64, i0 = (tiles - 1 - task % tiles) * 64,
        i1 = min(i0 + 64, n_q);
    /* The thread has 32 places for tiles. If only those of one head have a place, a head is computed for all
       sequences before the next head. */
    const int64_t of_head = ((n_k + 63) / 64) * ((n_q + 63) / 64);
    const int by_heads = of_head <= 32 && kv_heads * members * of_head > 32;
    const int64_t unit = by_heads ? (task / tiles) % call->p.batch * (kv_heads * members) + (task / tiles) /
        call->p.batch : task / tiles;
    const int64_t m = unit % members;
    const int64_t g = unit / members % kv_heads;
    const int64_t b = unit / members / kv_heads;
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
    const int64_t table_array_stride_2 = call->array[ARRAY_table_array].stride[2];
    float *const score = (float *)(void *)(work + 0); /* [j: 64, i: 64 of 80] */
    float *const row_max = (float *)(void *)(work + 20480); /* [i: 64] */
    float *const old_max = (float *)(void *)(work + 20736); /* [i: 64] */
    float *const row_sum = (float *)(void *)(work + 20992); /* [i: 64] */
    float *const row_sum_compensation = (float *)(void *)(work + 21248); /* [i: 64] */
    float *const sum = (float *)(void *)(work + 21504); /* [e: 32, i: 64 of 80] */
    float *const sum_compensation = (float *)(void *)(work + 31744); /* [e: 32, i: 64 of 80] */
    float *const out = (float *)call->array[ARRAY_out].at + b * call->array[ARRAY_out].strides.batch + (g * members + m)
        * call->array[ARRAY_out].strides.head;
    const int64_t out_row = call->array[ARRAY_out].strides.row;
    float *const saved_0 = call->array[ARRAY_saved_0].at ? (float *)call->array[ARRAY_saved_0].at + (b * call->p.heads +
        (g * members + m)) * call->p.n_q : NULL;
    float *const q_tile = (float *)(void *)(work + 41984); /* [d: 32, i: 64 of 80] */
    struct remembered *const table_at_places = (struct remembered *)(void *)(work + 52224);
    float *const table_at_kept = (float *)(void *)(work + 54336); /* [32 tiles, j: 64, i: 64] */
    int64_t results = i1 - i0; /* rows of out to prefetch during the first product */
    /* q_tile = q, with zeros beyond the last row */
    T(transpose_padded)(q + i0 * q_row, q_row, i1 - i0, 32, q_tile, 80, LANES);
    /* q_tile = q_tile * 0.25503486f */
    for (int64_t d = 0; d < 32; d++) {
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            T(store)(q_tile + d * 80 + i, T(load)(q_tile + d * 80 + i) * 0.25503486f);
        }
    }
    /* row_max = -FLT_MAX; row_sum = 0.0f; row_sum_compensation = 0.0f */
    for (int64_t i = 0; i < i1 - i0; i += LANES) {
        T(store)(row_max + i, T(splat)(-FLT_MAX));
        T(store)(row_sum + i, T(splat)(0.0f));
        T(store)(row_sum_compensation + i, T(splat)(0.0f));
    }
    /* sum = 0.0f; sum_compensation = 0.0f */
    for (int64_t e = 0; e < 32; e++) {
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            T(store)(sum + e * 80 + i, T(splat)(0.0f));
            T(store)(sum_compensation + e * 80 + i, T(splat)(0.0f));
        }
    }
    for (int64_t j0 = 0, j_end = n_k; j0 < j_end; j0 += 64) {
        const int64_t j1 = min(j0 + 64, j_end);
        /* score[j][i] = sum over d of k * q_tile */
        T(dot0)(round_up(i1 - i0, LANES), j1 - j0, k + j0 * k_row, k_row, q_tile, score, v + j0 * v_row, v_row,
            out + i0 * out_row, out_row, results);
        results = 0;
        /* old_max = row_max */
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            T(store)(old_max + i, T(load)(row_max + i));
        }
        /* table_at, which this thread may have from an earlier sequence */
        struct known_tile *const table_at_known = place_of_tile(table_at_places,
            (by_heads ? 0 : ((call->p.query_start ? b : 0) * kv_heads + g) * members + m) * ((n_k + 63) / 64) * ((n_q +
            63) / 64) + j0 / 64 * ((n_q + 63) / 64) + i0 / 64, 32);
        float *const table_at = table_at_kept + (table_at_known - (struct known_tile *)(void *)table_at_places - 1) *
            5120;
        if (!knows_tile(table_at_known, ((call->p.query_start ? b : 0) * kv_heads + g) * members + m, j0, j1, i0, i1)) {
            /* table_at = table_array, at computed subscripts */
            int64_t part_0[64];
            for (int64_t i = 0; i < i1 - i0; i++) part_0[i] = ((i0 + i) + query_start) / 7;
            int64_t part_1[64];
            for (int64_t i = 0; i < i1 - i0; i++) part_1[i] = ((i0 + i) + query_start) % 7;
            for (int64_t j = 0; j < j1 - j0; j++) {
                int64_t at_2[64];
                for (int64_t i = 0; i < i1 - i0; i++) at_2[i] = max(min(part_0[i] - ((j0 + j) / 7) + 6, 12),
                    0) * table_array_stride_1 + max(min(part_1[i] - ((j0 + j) % 7) + 6, 12), 0) * table_array_stride_2;
                for (int64_t i = 0; i < i1 - i0; i++) table_at[j * 80 + i] = table_array[at_2[i]];
                for (int64_t i = i1 - i0; i < round_up(i1 - i0, LANES); i++) table_at[j * 80 + i] = 0;
            }
        }
        /* score = score + (table_at * 1.442695f); row_max max= score */
        for (int64_t i_first = 0; i_first < i1 - i0; i_first += OF(64, 16, 8)) {
            T(vec) row_max_in[OF(4, 2, 2)];
            UNROLL for (int64_t vector = 0, i = i_first; vector < OF(4, 2, 2); vector++, i += LANES) {
                row_max_in[vector] = T(load)(row_max + i);
            }
            for (int64_t j = 0; j < j1 - j0; j++) {
                UNROLL for (int64_t vector = 0, i = i_first; vector < OF(4, 2, 2); vector++, i += LANES) {
                    const T(vec) score_3 = T(load)(score + j * 80 + i);
                    const T(vec) score_new4 = score_3 + (T(load)(table_at + j * 80 + i) * 1.442695f);
                    T(store)(score + j * 80 + i, score_new4);
                    row_max_in[vector] = T(max)(row_max_in[vector], score_new4);
                }
            }
            UNROLL for (int64_t vector = 0, i = i_first; vector < OF(4, 2, 2); vector++, i += LANES) {
                T(store)(row_max + i, row_max_in[vector]);
            }
        }
        /* old_max = exp2(old_max - row_max); row_sum = row_sum * old_max;
           row_sum_compensation = row_sum_compensation * old_max */
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            const T(vec) old_max_5 = T(load)(old_max + i);
            const T(vec) old_max_new6 = T(exp2)(old_max_5 - T(load)(row_max + i));
            T(store)(old_max + i, old_max_new6);
            T(store)(row_sum + i, T(load)(row_sum + i) * old_max_new6);
            T(store)(row_sum_compensation + i, T(load)(row_sum_compensation + i) * old_max_new6);
        }
        /* score = exp2(score - row_max); row_sum += score */
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            const T(vec) row_max_8 = T(load)(row_max + i);
            T(vec) row_sum_in = (T(vec)){0};
            for (int64_t j = 0; j < j1 - j0; j++) {
                const T(vec) score_7 = T(load)(score + j * 80 + i);
                const T(vec) score_new9 = T(exp2)(score_7 - row_max_8);
                T(store)(score + j * 80 + i, score_new9);
                row_sum_in += score_new9;
            }
            T(add)(row_sum + i, row_sum_compensation + i, row_sum_in, T(splat)(1));
        }
        /* sum[e][i] = sum * old_max + sum over j of v * score */
        T(dot1)(round_up(i1 - i0, LANES), j1 - j0, v + j0 * v_row, v_row, score, sum, old_max, sum_compensation);
    }
    /* sum = select(row_sum == 0.0f, 0.0f, sum * (1.0f / row_sum)) */
    for (int64_t i = 0; i < i1 - i0; i += LANES) {
        const T(vec) row_sum_10 = T(load)(row_sum + i);
        const T(mask) t_11 = row_sum_10 == 0.0f;
        const T(vec) t_12 = 1.0f / row_sum_10;
        for (int64_t e = 0; e < 32; e++) {
            T(store)(sum + e * 80 + i, T(pick)(t_11, T(splat)(0.0f), T(load)(sum + e * 80 + i) * t_12));
        }
    }
    if (saved_0) {
        /* row_sum = select(row_sum == 0.0f, 0.0f, (log(row_sum) + (row_max * 0.6931472f)) * 1.442695f) */
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            const T(vec) row_sum_13 = T(load)(row_sum + i);
            T(store)(row_sum + i, T(pick)(row_sum_13 == 0.0f, T(splat)(0.0f),
                (T(log)(row_sum_13) + (T(load)(row_max + i) * 0.6931472f)) * 1.442695f));
        }
    }
    /* out = sum, transposed back */
    T(transpose_out)(sum, 80, 32, i1 - i0, out + i0 * out_row, out_row, LANES);
    if (saved_0) {
        /* saved_0 = row_sum */
        for (int64_t i = 0; i < i1 - i0; i++)
            saved_0[(i0 + i)] = row_sum[i];
    }
}

/* Initialises the states: they contain no keys yet. */
TARGET APART void T(softmax_swin_few_begin)(const struct call *call, int64_t task, const struct share *share,
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
    float *const query_turned = (float *)(void *)(share->shared + 0); /* [r: 64, d: 32] */
    /* query_turned = q * 0.25503486f */
    for (int64_t r = r0; r < r1; r++) {
        for (int64_t d_first = 0; d_first < 32; d_first += (2 * LANES)) {
            UNROLL for (int64_t vector = 0, d = d_first; vector < 2; vector++, d += LANES) {
                T(store)(query_turned + r * 32 + d, T(load)(q + r / n_q * q_head + r % n_q * q_row + d) * 0.25503486f);
            }
        }
    }
}

/* Initialises the states: they contain no keys yet. */
TARGET APART void T(softmax_swin_few_begin_2)(const struct call *call, int64_t task, const struct share *share,
    int64_t iteration)
{
    (void)task;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t r0 = iteration * 16, r1 = min(r0 + 16, rows);
    float *const carried_max = (float *)(void *)(share->shared + 8256); /* [r: 64] */
    float *const carried_sum = (float *)(void *)(share->shared + 8512); /* [r: 64] */
    float *const carried_sum_compensation = (float *)(void *)(share->shared + 17024); /* [r: 64] */
    float *const carried = (float *)(void *)(share->shared + 8768); /* [r: 64, e: 32] */
    float *const carried_compensation = (float *)(void *)(share->shared + 17280); /* [r: 64, e: 32] */
    /* carried_max = -FLT_MAX; carried_sum = 0.0f; carried_sum_compensation = 0.0f */
    for (int64_t r = r0; r < r1; r += LANES) {
        T(store)(carried_max + r, T(splat)(-FLT_MAX));
        T(store)(carried_sum + r, T(splat)(0.0f));
        T(store)(carried_sum_compensation + r, T(splat)(0.0f));
    }
    /* carried = 0.0f; carried_compensation = 0.0f */
    for (int64_t r = r0; r < r1; r++) {
        for (int64_t e_first = 0; e_first < 32; e_first += (2 * LANES)) {
            UNROLL for (int64_t vector = 0, e = e_first; vector < 2; vector++, e += LANES) {
                T(store)(carried + r * 32 + e, T(splat)(0.0f));
                T(store)(carried_compensation + r * 32 + e, T(splat)(0.0f));
            }
        }
    }
}

/* Sums the keys of a chunk, from zero, into its slot. */
TARGET APART void T(softmax_swin_few_keys)(const struct call *call, int64_t task, const struct share *share,
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
    const int64_t table_array_stride_2 = call->array[ARRAY_table_array].stride[2];
    float *const score = (float *)(void *)(share->work + 0); /* [r: 64, j: 64 of 80] */
    float *const query_turned = (float *)(void *)(share->shared + 0); /* [r: 64, d: 32] */
    float *const state_max = (float *)(void *)(share->slots + 0); /* [chunk, r: 64] */
    float *const old_max = (float *)(void *)(share->work + 20480); /* [r: 64] */
    float *const state_sum = (float *)(void *)(share->slots + 256); /* [chunk, r: 64] */
    float *const state = (float *)(void *)(share->slots + 512); /* [chunk, r: 64, e: 32] */
    float *const table_at = (float *)(void *)(share->work + 20736); /* [r: 64, j: 64 of 80] */
    /* state_max = -FLT_MAX; state_sum = 0.0f */
    for (int64_t r = 0; r < rows; r += LANES) {
        T(store)(state_max + (chunk - chunk0) * 2192 + r, T(splat)(-FLT_MAX));
        T(store)(state_sum + (chunk - chunk0) * 2192 + r, T(splat)(0.0f));
    }
    /* state = 0.0f */
    for (int64_t r = 0; r < rows; r++) {
        for (int64_t e_first = 0; e_first < 32; e_first += (2 * LANES)) {
            UNROLL for (int64_t vector = 0, e = e_first; vector < 2; vector++, e += LANES) {
                T(store)(state + (chunk - chunk0) * 2192 + r * 32 + e, T(splat)(0.0f));
            }
        }
    }
    for (int64_t j0 = chunk * 512, j_end = min(n_k, (chunk + 1) * 512); j0 < j_end; j0 += 64) {
        const int64_t j1 = min(j0 + 64, j_end);
        /* score[r][j] = sum over d of query_turned * k */
#if OF(1, 0, 0)
        T(dot2)(rows, j1 - j0, query_turned, k + j0 * k_row, k_row, score, attn_is_intel() ? 16 : 0);
#else
        T(dot2)(rows, j1 - j0, query_turned, k + j0 * k_row, k_row, score);
#endif
        /* old_max = state_max */
        for (int64_t r = 0; r < rows; r += LANES) {
            T(store)(old_max + r, T(load)(state_max + (chunk - chunk0) * 2192 + r));
        }
        /* table_at = table_array, at computed subscripts */
        int64_t part_0[64];
        for (int64_t j = 0; j < j1 - j0; j++) part_0[j] = (j0 + j) / 7;
        int64_t part_1[64];
        for (int64_t j = 0; j < j1 - j0; j++) part_1[j] = (j0 + j) % 7;
        for (int64_t r = 0; r < rows; r++) {
            int64_t at_2[64];
            for (int64_t j = 0; j < j1 - j0; j++) at_2[j] = (r / n_q) * table_array_stride_0 + max(min((((r % n_q) +
                query_start) / 7) - part_0[j] + 6, 12), 0) * table_array_stride_1 + max(min((((r % n_q) + query_start) %
                7) - part_1[j] + 6, 12), 0) * table_array_stride_2;
            for (int64_t j = 0; j < j1 - j0; j++) table_at[r * 80 + j] = table_array[at_2[j]];
            for (int64_t j = j1 - j0; j < round_up(j1 - j0, LANES); j++) table_at[r * 80 + j] = 0;
        }
        /* score = score + (table_at * 1.442695f) */
        for (int64_t r = 0; r < rows; r++) {
            for (int64_t j = 0; j < j1 - j0; j += LANES) {
                T(store)(score + r * 80 + j, T(load)(score + r * 80 + j) + (T(load)(table_at + r * 80 + j) *
                    1.442695f));
            }
        }
        /* state_max max= score */
        for (int64_t r = 0; r < rows; r++) {
            T(vec) lanes_max = T(splat)(-INFINITY);
            for (int64_t j = 0; j < j1 - j0; j += LANES) {
                const T(vec) term = T(load)(score + r * 80 + j);
                lanes_max = T(max)(lanes_max, j + LANES <= j1 - j0 ? term : T(pick)(__builtin_convertvector(j + T(lane)
                    < j1 - j0, T(mask)), term, T(splat)(-INFINITY)));
            }
            const float largest = T(lane_max)(lanes_max);
            if (largest > state_max[(chunk - chunk0) * 2192 + r]) state_max[(chunk - chunk0) * 2192 + r] = largest;
        }
        /* old_max = exp2(old_max - state_max); state_sum = state_sum * old_max */
        for (int64_t r = 0; r < rows; r += LANES) {
            const T(vec) old_max_3 = T(load)(old_max + r);
            const T(vec) old_max_new4 = T(exp2)(old_max_3 - T(load)(state_max + (chunk - chunk0) * 2192 + r));
            T(store)(old_max + r, old_max_new4);
            T(store)(state_sum + (chunk - chunk0) * 2192 + r, T(load)(state_sum + (chunk - chunk0) * 2192 + r) *
                old_max_new4);
        }
        /* score = exp2(score - state_max) */
        for (int64_t j = 0; j < j1 - j0; j += LANES) {
            for (int64_t r = 0; r < rows; r++) {
                T(store)(score + r * 80 + j, T(exp2)(T(load)(score + r * 80 + j) - (state_max[(chunk - chunk0) * 2192 +
                    r])));
            }
        }
        /* state_sum += score */
        for (int64_t r = 0; r < rows; r++) {
            T(vec) lane_sums = T(splat)(0);
            for (int64_t j = 0; j < j1 - j0; j += LANES) {
                const T(vec) term = T(load)(score + r * 80 + j);
                lane_sums += j + LANES <= j1 - j0 ? term : T(pick)(__builtin_convertvector(j + T(lane) < j1 - j0,
                    T(mask)), term, T(splat)(0));
            }
            const float total = T(lane_sum)(lane_sums);
            state_sum[(chunk - chunk0) * 2192 + r] += total;
        }
        /* state = state * old_max */
        for (int64_t r = 0; r < rows; r++) {
            for (int64_t e_first = 0; e_first < 32; e_first += (2 * LANES)) {
                UNROLL for (int64_t vector = 0, e = e_first; vector < 2; vector++, e += LANES) {
                    T(store)(state + (chunk - chunk0) * 2192 + r * 32 + e,
                        T(load)(state + (chunk - chunk0) * 2192 + r * 32 + e) * old_max[r]);
                }
            }
        }
        /* state[r][e] += sum over j of score * v */
#if OF(1, 0, 0)
        T(dot3)(rows, j1 - j0, score, v + j0 * v_row, v_row, state + (chunk - chunk0) * 2192, attn_is_intel() ? 16 : 0);
#else
        T(dot3)(rows, j1 - j0, score, v + j0 * v_row, v_row, state + (chunk - chunk0) * 2192);
#endif
    }
}

/* Folds the slots of the current chunks, in order, for some elements of the states. */
TARGET APART void T(softmax_swin_few_fold)(const struct call *call, int64_t task, const struct share *share,
    int64_t iteration)
{
    (void)task;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t r0 = iteration * 16, r1 = min(r0 + 16, rows);
    const int64_t chunk0 = share->chunk0;
    const int64_t chunk1 = share->chunk1;
    float *const state_max = (float *)(void *)(share->slots + 0); /* [chunk, r: 64] */
    float *const state_sum = (float *)(void *)(share->slots + 256); /* [chunk, r: 64] */
    float *const state = (float *)(void *)(share->slots + 512); /* [chunk, r: 64, e: 32] */
    float *const carried_max = (float *)(void *)(share->shared + 8256); /* [r: 64] */
    float *const carried_factor = (float *)(void *)(share->work + 0); /* [r: 64] */
    float *const slot_factor = (float *)(void *)(share->work + 256); /* [r: 64] */
    float *const carried_sum = (float *)(void *)(share->shared + 8512); /* [r: 64] */
    float *const carried_sum_compensation = (float *)(void *)(share->shared + 17024); /* [r: 64] */
    float *const carried = (float *)(void *)(share->shared + 8768); /* [r: 64, e: 32] */
    float *const carried_compensation = (float *)(void *)(share->shared + 17280); /* [r: 64, e: 32] */
    for (int64_t chunk = chunk0; chunk < chunk1; chunk++) {
        /* before_max = carried_max; carried_max max= state_max; carried_factor = exp2(before_max - carried_max);
           slot_factor = exp2(state_ ... */
        for (int64_t r = r0; r < r1; r += LANES) {
            const T(vec) carried_max_5 = T(load)(carried_max + r);
            const T(vec) before_max_new6 = carried_max_5;
            const T(vec) state_max_7 = T(load)(state_max + (chunk - chunk0) * 2192 + r);
            const T(vec) carried_max_new8 = T(max)(T(load)(carried_max + r), state_max_7);
            T(store)(carried_max + r, carried_max_new8);
            const T(vec) carried_factor_new9 = T(exp2)(before_max_new6 - carried_max_new8);
            T(store)(carried_factor + r, carried_factor_new9);
            const T(vec) slot_factor_new10 = T(exp2)(state_max_7 - carried_max_new8);
            T(store)(slot_factor + r, slot_factor_new10);
            const T(vec) carried_sum_11 = T(load)(carried_sum + r);
            T(store)(carried_sum + r, carried_sum_11 * carried_factor_new9);
            T(store)(carried_sum_compensation + r, T(load)(carried_sum_compensation + r) * carried_factor_new9);
            T(add)(carried_sum + r, carried_sum_compensation + r, T(load)(state_sum + (chunk - chunk0) * 2192 + r) *
                slot_factor_new10, T(splat)(1));
        }
        /* before = carried; carried = carried * carried_factor; carried_compensation = carried_compensation *
           carried_factor; carried += s ... */
        for (int64_t r = r0; r < r1; r++) {
            for (int64_t e_first = 0; e_first < 32; e_first += (2 * LANES)) {
                UNROLL for (int64_t vector = 0, e = e_first; vector < 2; vector++, e += LANES) {
                    const T(vec) carried_12 = T(load)(carried + r * 32 + e);
                    const float carried_factor_13 = carried_factor[r];
                    T(store)(carried + r * 32 + e, carried_12 * carried_factor_13);
                    T(store)(carried_compensation + r * 32 + e, T(load)(carried_compensation + r * 32 + e) *
                        carried_factor_13);
                    T(add)(carried + r * 32 + e, carried_compensation + r * 32 + e,
                        T(load)(state + (chunk - chunk0) * 2192 + r * 32 + e) * slot_factor[r], T(splat)(1));
                }
            }
        }
    }
}

/* Processes a tile of queries: reads the states. */
TARGET APART void T(softmax_swin_few_queries)(const struct call *call, int64_t task, const struct share *share,
    int64_t iteration)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_q = call->p.n_q;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t r0 = iteration * 16, r1 = min(r0 + 16, rows);
    const int64_t g = task % kv_heads;
    const int64_t b = task / kv_heads;
    float *const carried_sum = (float *)(void *)(share->shared + 8512); /* [r: 64] */
    float *const carried = (float *)(void *)(share->shared + 8768); /* [r: 64, e: 32] */
    float *const result = (float *)(void *)(share->work + 0); /* [r: 64, e: 32] */
    float *const out = (float *)call->array[ARRAY_out].at + b * call->array[ARRAY_out].strides.batch + g * members *
        call->array[ARRAY_out].strides.head;
    const int64_t out_row = call->array[ARRAY_out].strides.row;
    const int64_t out_head = call->array[ARRAY_out].strides.head;
    /* result = select(carried_sum == 0.0f, 0.0f, carried * (1.0f / carried_sum)) */
    for (int64_t r = r0; r < r1; r++) {
        for (int64_t e_first = 0; e_first < 32; e_first += (2 * LANES)) {
            UNROLL for (int64_t vector = 0, e = e_first; vector < 2; vector++, e += LANES) {
                const float carried_sum_14 = carried_sum[r];
                T(store)(result + r * 32 + e, (carried_sum_14 == 0.0f) ? T(splat)(0.0f) : T(load)(carried + r * 32 + e)
                    * (1.0f / carried_sum_14));
            }
        }
    }
    /* out = result */
    for (int64_t r = r0; r < r1; r++)
        for (int64_t e = 0; e < 32; e++)
            out[r / n_q * out_head + r % n_q * out_row + e] = result[r * 32 + e];
}

/* Computes head number `task`. Each thread on the head calls this with `share`. */
TARGET static void T(softmax_swin_few)(const struct call *call, int64_t task, struct share *share)
{
    const int64_t n_k = call->p.n_k;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t chunks = n_k > 0 ? (n_k - 1) / 512 + 1 : 1;
    for (int64_t iteration = share->number; iteration < ((rows + 63) / 64); iteration += share->threads)
        T(softmax_swin_few_begin)(call, task, share, iteration);
    for (int64_t iteration = share->number; iteration < ((rows + 15) / 16); iteration += share->threads)
        T(softmax_swin_few_begin_2)(call, task, share, iteration);
    synchronise(share);
    const int64_t first = 0;
    const int64_t length = segment_length(share, chunks - first);
    for (int64_t segment = share->number; first + segment * length < chunks; segment += share->threads) {
        share->chunk0 = first + segment * length;
        share->chunk1 = min(share->chunk0 + length, chunks);
        for (int64_t iteration = share->chunk0; iteration < share->chunk1; iteration++)
            T(softmax_swin_few_keys)(call, task, share, iteration);
        for (int64_t group = 0; group < 16; group++) {
            await_segment(share, group, segment);
            const int64_t end = (group + 1) * ((rows + 15) / 16) / 16;
            for (int64_t iteration = group * ((rows + 15) / 16) / 16; iteration < end; iteration++)
                T(softmax_swin_few_fold)(call, task, share, iteration);
            pass_segment(share, group, segment);
        }
    }
    share->segments += (max(chunks - first, 0) + length - 1) / length;
    synchronise(share);
    for (int64_t iteration = share->number; iteration < ((rows + 15) / 16); iteration += share->threads)
        T(softmax_swin_few_queries)(call, task, share, iteration);
    synchronise(share);
}

/* Computes task number `task`: one tile of queries of one head. `work` is this thread's workspace. */
TARGET static void T(softmax_swin_saved)(const struct call *call, int64_t task, unsigned char *work)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_q = call->p.n_q;
    const int64_t n_k = call->p.n_k;
    const int64_t tiles = (n_q + 64 - 1) / 64, i0 = (tiles - 1 - task % tiles) * 64,
        i1 = min(i0 + 64, n_q);
    /* The thread has 32 places for tiles. If only those of one head have a place, a head is computed for all
       sequences before the next head. */
    const int64_t of_head = ((n_k + 63) / 64) * ((n_q + 63) / 64);
    const int by_heads = of_head <= 32 && kv_heads * members * of_head > 32;
    const int64_t unit = by_heads ? (task / tiles) % call->p.batch * (kv_heads * members) + (task / tiles) /
        call->p.batch : task / tiles;
    const int64_t m = unit % members;
    const int64_t g = unit / members % kv_heads;
    const int64_t b = unit / members / kv_heads;
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
    const int64_t table_array_stride_2 = call->array[ARRAY_table_array].stride[2];
    float *const score = (float *)(void *)(work + 0); /* [j: 64, i: 64 of 80] */
    float *const row_max = (float *)(void *)(work + 20480); /* [i: 64] */
    float *const old_max = (float *)(void *)(work + 20736); /* [i: 64] */
    float *const row_sum = (float *)(void *)(work + 20992); /* [i: 64] */
    float *const row_sum_compensation = (float *)(void *)(work + 21248); /* [i: 64] */
    float *const saved_0 = (float *)call->array[ARRAY_saved_0].at + (b * call->p.heads + (g * members + m)) *
        call->p.n_q;
    float *const q_tile = (float *)(void *)(work + 21504); /* [d: 32, i: 64 of 80] */
    struct remembered *const table_at_places = (struct remembered *)(void *)(work + 31744);
    float *const table_at_kept = (float *)(void *)(work + 33856); /* [32 tiles, j: 64, i: 64] */
    /* q_tile = q, with zeros beyond the last row */
    T(transpose_padded)(q + i0 * q_row, q_row, i1 - i0, 32, q_tile, 80, LANES);
    /* q_tile = q_tile * 0.25503486f */
    for (int64_t d = 0; d < 32; d++) {
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            T(store)(q_tile + d * 80 + i, T(load)(q_tile + d * 80 + i) * 0.25503486f);
        }
    }
    /* row_max = -FLT_MAX; row_sum = 0.0f; row_sum_compensation = 0.0f */
    for (int64_t i = 0; i < i1 - i0; i += LANES) {
        T(store)(row_max + i, T(splat)(-FLT_MAX));
        T(store)(row_sum + i, T(splat)(0.0f));
        T(store)(row_sum_compensation + i, T(splat)(0.0f));
    }
    for (int64_t j0 = 0, j_end = n_k; j0 < j_end; j0 += 64) {
        const int64_t j1 = min(j0 + 64, j_end);
        /* score[j][i] = sum over d of k * q_tile */
        T(dot4)(round_up(i1 - i0, LANES), j1 - j0, k + j0 * k_row, k_row, q_tile, score);
        /* old_max = row_max */
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            T(store)(old_max + i, T(load)(row_max + i));
        }
        /* table_at, which this thread may have from an earlier sequence */
        struct known_tile *const table_at_known = place_of_tile(table_at_places,
            (by_heads ? 0 : ((call->p.query_start ? b : 0) * kv_heads + g) * members + m) * ((n_k + 63) / 64) * ((n_q +
            63) / 64) + j0 / 64 * ((n_q + 63) / 64) + i0 / 64, 32);
        float *const table_at = table_at_kept + (table_at_known - (struct known_tile *)(void *)table_at_places - 1) *
            5120;
        if (!knows_tile(table_at_known, ((call->p.query_start ? b : 0) * kv_heads + g) * members + m, j0, j1, i0, i1)) {
            /* table_at = table_array, at computed subscripts */
            int64_t part_0[64];
            for (int64_t i = 0; i < i1 - i0; i++) part_0[i] = ((i0 + i) + query_start) / 7;
            int64_t part_1[64];
            for (int64_t i = 0; i < i1 - i0; i++) part_1[i] = ((i0 + i) + query_start) % 7;
            for (int64_t j = 0; j < j1 - j0; j++) {
                int64_t at_2[64];
                for (int64_t i = 0; i < i1 - i0; i++) at_2[i] = max(min(part_0[i] - ((j0 + j) / 7) + 6, 12),
                    0) * table_array_stride_1 + max(min(part_1[i] - ((j0 + j) % 7) + 6, 12), 0) * table_array_stride_2;
                for (int64_t i = 0; i < i1 - i0; i++) table_at[j * 80 + i] = table_array[at_2[i]];
                for (int64_t i = i1 - i0; i < round_up(i1 - i0, LANES); i++) table_at[j * 80 + i] = 0;
            }
        }
        /* score = score + (table_at * 1.442695f); row_max max= score */
        for (int64_t i_first = 0; i_first < i1 - i0; i_first += OF(64, 16, 8)) {
            T(vec) row_max_in[OF(4, 2, 2)];
            UNROLL for (int64_t vector = 0, i = i_first; vector < OF(4, 2, 2); vector++, i += LANES) {
                row_max_in[vector] = T(load)(row_max + i);
            }
            for (int64_t j = 0; j < j1 - j0; j++) {
                UNROLL for (int64_t vector = 0, i = i_first; vector < OF(4, 2, 2); vector++, i += LANES) {
                    const T(vec) score_3 = T(load)(score + j * 80 + i);
                    const T(vec) score_new4 = score_3 + (T(load)(table_at + j * 80 + i) * 1.442695f);
                    T(store)(score + j * 80 + i, score_new4);
                    row_max_in[vector] = T(max)(row_max_in[vector], score_new4);
                }
            }
            UNROLL for (int64_t vector = 0, i = i_first; vector < OF(4, 2, 2); vector++, i += LANES) {
                T(store)(row_max + i, row_max_in[vector]);
            }
        }
        /* old_max = exp2(old_max - row_max); row_sum = row_sum * old_max;
           row_sum_compensation = row_sum_compensation * old_max */
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            const T(vec) old_max_5 = T(load)(old_max + i);
            const T(vec) old_max_new6 = T(exp2)(old_max_5 - T(load)(row_max + i));
            T(store)(old_max + i, old_max_new6);
            T(store)(row_sum + i, T(load)(row_sum + i) * old_max_new6);
            T(store)(row_sum_compensation + i, T(load)(row_sum_compensation + i) * old_max_new6);
        }
        /* row_sum += exp2(score - row_max) */
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            const T(vec) row_max_7 = T(load)(row_max + i);
            T(vec) row_sum_in = (T(vec)){0};
            for (int64_t j = 0; j < j1 - j0; j++) {
                row_sum_in += T(exp2)(T(load)(score + j * 80 + i) - row_max_7);
            }
            T(add)(row_sum + i, row_sum_compensation + i, row_sum_in, T(splat)(1));
        }
    }
    /* row_sum = select(row_sum == 0.0f, 0.0f, (log(row_sum) + (row_max * 0.6931472f)) * 1.442695f) */
    for (int64_t i = 0; i < i1 - i0; i += LANES) {
        const T(vec) row_sum_8 = T(load)(row_sum + i);
        T(store)(row_sum + i, T(pick)(row_sum_8 == 0.0f, T(splat)(0.0f),
            (T(log)(row_sum_8) + (T(load)(row_max + i) * 0.6931472f)) * 1.442695f));
    }
    /* saved_0 = row_sum */
    for (int64_t i = 0; i < i1 - i0; i++)
        saved_0[(i0 + i)] = row_sum[i];
}

/* Computes task number `task`: one tile of queries of one head. `work` is this thread's workspace. */
TARGET static void T(softmax_swin_row_sums)(const struct call *call, int64_t task, unsigned char *work)
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
    float *const out_tile = (float *)(void *)(work + 256); /* [e: 32, i: 64 of 80] */
    float *const dout_tile = (float *)(void *)(work + 10496); /* [e: 32, i: 64 of 80] */
    /* out_tile = out, with zeros beyond the last row */
    T(transpose_padded)(out + i0 * out_row, out_row, i1 - i0, 32, out_tile, 80, LANES);
    /* dout_tile = dout, with zeros beyond the last row */
    T(transpose_padded)(dout + i0 * dout_row, dout_row, i1 - i0, 32, dout_tile, 80, LANES);
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
        for (int64_t e = 0; e < 32; e++) {
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
TARGET static void T(softmax_swin_dq_sums1)(const struct call *call, int64_t task, unsigned char *work)
{
    const int64_t batch = call->p.batch;
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / max(call->p.kv_heads, 1);
    const int64_t n_q = call->p.n_q;
    const int64_t n_k = call->p.n_k;
    const int by_heads = 0;
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
    const int64_t table_array_stride_2 = call->array[ARRAY_table_array].stride[2];
    const float *const dout = (const float *)call->array[ARRAY_dout].at + (g * members + m) *
        call->array[ARRAY_dout].strides.head;
    const int64_t dout_row = call->array[ARRAY_dout].strides.row;
    const int64_t dout_batch = call->array[ARRAY_dout].strides.batch;
    const float *const row_0 = (const float *)call->array[ARRAY_row_0].at + (g * members + m) * call->p.n_q;
    const int64_t row_0_batch = call->p.heads * call->p.n_q;
    const float *const saved_0 = (const float *)call->array[ARRAY_saved_0].at + (g * members + m) * call->p.n_q;
    const int64_t saved_0_batch = call->p.heads * call->p.n_q;
    float *const score = (float *)(void *)(work + 0); /* [j: 64, i: 64 of 80] */
    float *const score_2 = (float *)(void *)(work + 20480); /* [j: 64, i: 64 of 80] */
    float *const weight_3 = (float *)(void *)(work + 40960); /* [j: 64, i: 64 of 80] */
    float *const sum = (float *)(void *)(work + 61440); /* [d: 32, i: 64 of 80] */
    float *const sum_compensation = (float *)(void *)(work + 71680); /* [d: 32, i: 64 of 80] */
    float *const row_sum = (float *)(void *)(work + 81920); /* [table_axis_2: 13, table_axis_3: 13, i: 64 of 80] */
    float *const row_sum_compensation = (float *)(void *)(work + 136000); /* [table_axis_2: 13, table_axis_3: 13,
        i: 64 of 80] */
    float *const unit_sum = (float *)(void *)(work + 190080); /* [table_axis_2: 13, table_axis_3: 16] */
    float *const unit_sum_compensation = (float *)(void *)(work + 190912); /* [table_axis_2: 13, table_axis_3: 16] */
    float *const dq = call->array[ARRAY_dq].at ? (float *)call->array[ARRAY_dq].at + (g * members + m) *
        call->array[ARRAY_dq].strides.head : NULL;
    const int64_t dq_row = call->array[ARRAY_dq].strides.row;
    const int64_t dq_batch = call->array[ARRAY_dq].strides.batch;
    float *const partial_0 = call->array[ARRAY_partial_0].at ? (float *)call->array[ARRAY_partial_0].at + ((g * members
        + m) * 16 + unit16) * 13 * 13 : NULL;
    float *const q_tile = (float *)(void *)(work + 191744); /* [d: 32, i: 64 of 80] */
    float *const dout_tile = (float *)(void *)(work + 201984); /* [e: 32, i: 64 of 80] */
    float *const saved_0_tile = (float *)(void *)(work + 212224); /* [i: 64] */
    float *const row_0_tile = (float *)(void *)(work + 212480); /* [i: 64] */
    struct remembered *const table_at_places = (struct remembered *)(void *)(work + 212736);
    float *const table_at_kept = (float *)(void *)(work + 214848); /* [32 tiles, j: 64, i: 64] */
    struct remembered *const subscript_places = (struct remembered *)(void *)(work + 870208);
    float *const subscript_kept = (float *)(void *)(work + 872320); /* [32 tiles, j: 64, i: 64] */
    struct remembered *const subscript_2_places = (struct remembered *)(void *)(work + 1527680);
    float *const subscript_2_kept = (float *)(void *)(work + 1529792); /* [32 tiles, j: 64, i: 64] */
    if (partial_0) {
        /* unit_sum = 0.0f; unit_sum_compensation = 0.0f */
        for (int64_t table_axis_2 = 0; table_axis_2 < 13; table_axis_2++) {
#if OF(1, 0, 0)
            for (int64_t table_axis_3 = 0; table_axis_3 < 13; table_axis_3 += 16) {
                T(store)(unit_sum + table_axis_2 * 16 + table_axis_3, T(splat)(0.0f));
                T(store)(unit_sum_compensation + table_axis_2 * 16 + table_axis_3, T(splat)(0.0f));
#else
            for (int64_t table_axis_3_first = 0; table_axis_3_first < 13; table_axis_3_first += (2 * LANES)) {
                UNROLL for (int64_t vector = 0, table_axis_3 = table_axis_3_first; vector < 2; vector++,
                    table_axis_3 += LANES) {
                    T(store)(unit_sum + table_axis_2 * 16 + table_axis_3, T(splat)(0.0f));
                    T(store)(unit_sum_compensation + table_axis_2 * 16 + table_axis_3, T(splat)(0.0f));
                }
#endif
            }
        }
    }
    for (int64_t b = 0; b < batch; b++) {
        const int64_t query_start = call->p.query_start ? call->p.query_start[b] : n_k - n_q;
        for (int64_t i0 = max(0, (unit16 * ((((batch * ((n_q + 63) / 64)) + 15) / 16) * 64)) - ((b * ((n_q + 63) / 64))
            * 64)), i_end = min(n_q, (unit16 * ((((batch * ((n_q + 63) / 64)) + 15) / 16) * 64)) + ((((batch * ((n_q +
            63) / 64)) + 15) / 16) * 64) - ((b * ((n_q + 63) / 64)) * 64)); i0 < i_end; i0 += 64) {
            const int64_t i1 = min(i0 + 64, i_end);
            /* q_tile = q, with zeros beyond the last row */
            T(transpose_padded)(q + b * q_batch + i0 * q_row, q_row, i1 - i0, 32, q_tile, 80, 64);
            /* dout_tile = dout, with zeros beyond the last row */
            T(transpose_padded)(dout + b * dout_batch + i0 * dout_row, dout_row, i1 - i0, 32, dout_tile, 80, 64);
            /* saved_0_tile = saved_0, with zeros beyond the last row */
            for (int64_t i = 0; i < round_up(i1 - i0, LANES); i++)
                saved_0_tile[i] = i < i1 - i0 ? saved_0[b * saved_0_batch + (i0 + i)] : 0;
            /* row_0_tile = row_0, with zeros beyond the last row */
            for (int64_t i = 0; i < round_up(i1 - i0, LANES); i++)
                row_0_tile[i] = i < i1 - i0 ? row_0[b * row_0_batch + (i0 + i)] : 0;
            /* q_tile = q_tile * 0.25503486f; sum = 0.0f; sum_compensation = 0.0f */
            for (int64_t d = 0; d < 32; d++) {
                for (int64_t i = 0; i < i1 - i0; i += LANES) {
                    T(store)(q_tile + d * 80 + i, T(load)(q_tile + d * 80 + i) * 0.25503486f);
                    T(store)(sum + d * 80 + i, T(splat)(0.0f));
                    T(store)(sum_compensation + d * 80 + i, T(splat)(0.0f));
                }
            }
            if (partial_0) {
                /* row_sum = 0.0f; row_sum_compensation = 0.0f */
                for (int64_t table_axis_2 = 0; table_axis_2 < 13; table_axis_2++) {
                    for (int64_t table_axis_3 = 0; table_axis_3 < 13; table_axis_3++) {
                        for (int64_t i = 0; i < i1 - i0; i += LANES) {
                            T(store)(row_sum + table_axis_2 * 1040 + table_axis_3 * 80 + i, T(splat)(0.0f));
                            T(store)(row_sum_compensation + table_axis_2 * 1040 + table_axis_3 * 80 + i,
                                T(splat)(0.0f));
                        }
                    }
                }
            }
            for (int64_t j0 = 0, j_end = n_k; j0 < j_end; j0 += 64) {
                const int64_t j1 = min(j0 + 64, j_end);
                /* score[j][i] = sum over d of k * q_tile */
                T(dot4)(round_up(i1 - i0, LANES), j1 - j0, k + b * k_batch + j0 * k_row, k_row, q_tile, score);
                /* score_2[j][i] = sum over e of v * dout_tile */
                T(dot5)(round_up(i1 - i0, LANES), j1 - j0, v + b * v_batch + j0 * v_row, v_row, dout_tile, score_2,
                    k + b * k_batch + j0 * k_row, k_row);
                /* table_at, which this thread may have from an earlier sequence */
                struct known_tile *const table_at_known = place_of_tile(table_at_places,
                    (by_heads ? 0 : ((call->p.query_start ? b : 0) * kv_heads + g) * members + m) * ((n_k + 63) / 64) *
                    ((n_q + 63) / 64) + j0 / 64 * ((n_q + 63) / 64) + i0 / 64, 32);
                float *const table_at = table_at_kept + (table_at_known - (struct known_tile *)(void *)table_at_places -
                    1) * 5120;
                if (!knows_tile(table_at_known, ((call->p.query_start ? b : 0) * kv_heads + g) * members + m, j0, j1,
                    i0, i1)) {
                    /* table_at = table_array, at computed subscripts */
                    int64_t part_0[64];
                    for (int64_t i = 0; i < i1 - i0; i++) part_0[i] = ((i0 + i) + query_start) / 7;
                    int64_t part_1[64];
                    for (int64_t i = 0; i < i1 - i0; i++) part_1[i] = ((i0 + i) + query_start) % 7;
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        int64_t at_2[64];
                        for (int64_t i = 0; i < i1 - i0; i++) at_2[i] = max(min(part_0[i] - ((j0 + j) / 7) + 6, 12),
                            0) * table_array_stride_1 + max(min(part_1[i] - ((j0 + j) % 7) + 6, 12),
                            0) * table_array_stride_2;
                        for (int64_t i = 0; i < i1 - i0; i++) table_at[j * 80 + i] = table_array[at_2[i]];
                        for (int64_t i = i1 - i0; i < round_up(i1 - i0, LANES); i++) table_at[j * 80 + i] = 0;
                    }
                }
                /* score = exp2((score + (table_at * 1.442695f)) - saved_0_tile); score_2 = score_2 + row_0_tile;
                   weight_3 = score_2 * (score * 0.1 ... */
                for (int64_t i = 0; i < i1 - i0; i += LANES) {
                    const T(vec) saved_0_tile_4 = T(load)(saved_0_tile + i);
                    const T(vec) row_0_tile_7 = T(load)(row_0_tile + i);
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        const T(vec) score_3 = T(load)(score + j * 80 + i);
                        const T(vec) score_new5 = T(exp2)((score_3 + (T(load)(table_at + j * 80 + i) * 1.442695f)) -
                            saved_0_tile_4);
                        T(store)(score + j * 80 + i, score_new5);
                        const T(vec) score_2_6 = T(load)(score_2 + j * 80 + i);
                        const T(vec) score_2_new8 = score_2_6 + row_0_tile_7;
                        T(store)(score_2 + j * 80 + i, score_2_new8);
                        T(store)(weight_3 + j * 80 + i, score_2_new8 * (score_new5 * 0.176776695f));
                    }
                }
                if (dq) {
                    /* sum[d][i] += sum over j of k * weight_3 */
                    T(dot6)(round_up(i1 - i0, LANES), j1 - j0, k + b * k_batch + j0 * k_row, k_row, weight_3, sum,
                        sum_compensation);
                }
                /* subscript, which this thread may have from an earlier sequence */
                struct known_tile *const subscript_known = place_of_tile(subscript_places,
                    (by_heads ? 0 : (call->p.query_start ? b : 0)) * ((n_k + 63) / 64) * ((n_q + 63) / 64) + j0 / 64 *
                    ((n_q + 63) / 64) + i0 / 64, 32);
                float *const subscript = subscript_kept + (subscript_known - (struct known_tile *)(void
                    *)subscript_places - 1) * 5120;
                if (partial_0) {
                    if (!knows_tile(subscript_known, (call->p.query_start ? b : 0), j0, j1, i0, i1)) {
                        /* subscript = max(min((((i + query_start) % 7) - (j % 7)) + 6, 12), 0) */
                        for (int64_t i = 0; i < i1 - i0; i += LANES) {
                            const T(ints) t_9 = ((i0 + i + T(lane)) + query_start) % 7;
                            for (int64_t j = 0; j < j1 - j0; j++) {
                                T(store)(subscript + j * 80 + i, __builtin_convertvector((((((((t_9 - ((j0 + j) % 7)) +
                                    6) < 12) & ((t_9 - ((j0 + j) % 7)) + 6)) | (~(((t_9 - ((j0 + j) % 7)) + 6) < 12) &
                                    (12 - (T(ints)){0}))) > 0) & (((((t_9 - ((j0 + j) % 7)) + 6) < 12) & ((t_9 - ((j0 +
                                    j) % 7)) + 6)) | (~(((t_9 - ((j0 + j) % 7)) + 6) < 12) & (12 - (T(ints)){0})))) |
                                    (~((((((t_9 - ((j0 + j) % 7)) + 6) < 12) & ((t_9 - ((j0 + j) % 7)) + 6)) | (~(((t_9
                                    - ((j0 + j) % 7)) + 6) < 12) & (12 - (T(ints)){0}))) > 0) & (0 - (T(ints)){0})),
                                    T(vec)));
                            }
                        }
                    }
                }
                /* subscript_2, which this thread may have from an earlier sequence */
                struct known_tile *const subscript_2_known = place_of_tile(subscript_2_places,
                    (by_heads ? 0 : (call->p.query_start ? b : 0)) * ((n_k + 63) / 64) * ((n_q + 63) / 64) + j0 / 64 *
                    ((n_q + 63) / 64) + i0 / 64, 32);
                float *const subscript_2 = subscript_2_kept + (subscript_2_known - (struct known_tile *)(void
                    *)subscript_2_places - 1) * 5120;
                if (partial_0) {
                    if (!knows_tile(subscript_2_known, (call->p.query_start ? b : 0), j0, j1, i0, i1)) {
                        /* subscript_2 = max(min((((i + query_start) / 7) - (j / 7)) + 6, 12), 0) */
                        for (int64_t i = 0; i < i1 - i0; i += LANES) {
                            const T(ints) t_10 = ((i0 + i + T(lane)) + query_start) / 7;
                            for (int64_t j = 0; j < j1 - j0; j++) {
                                T(store)(subscript_2 + j * 80 + i, __builtin_convertvector((((((((t_10 - ((j0 + j) / 7))
                                    + 6) < 12) & ((t_10 - ((j0 + j) / 7)) + 6)) | (~(((t_10 - ((j0 + j) / 7)) + 6) < 12)
                                    & (12 - (T(ints)){0}))) > 0) & (((((t_10 - ((j0 + j) / 7)) + 6) < 12) & ((t_10 -
                                    ((j0 + j) / 7)) + 6)) | (~(((t_10 - ((j0 + j) / 7)) + 6) < 12) & (12 -
                                    (T(ints)){0})))) | (~((((((t_10 - ((j0 + j) / 7)) + 6) < 12) & ((t_10 - ((j0 + j) /
                                    7)) + 6)) | (~(((t_10 - ((j0 + j) / 7)) + 6) < 12) & (12 - (T(ints)){0}))) > 0) & (0
                                    - (T(ints)){0})), T(vec)));
                            }
                        }
                    }
                    /* row_sum += select(subscript == table_axis_3, select(subscript_2 == table_axis_2, score_2 * score,
                       0.0f), 0.0f) */
                    for (int64_t i = 0; i < i1 - i0; i += LANES) {
                        for (int64_t table_axis_2 = 0; table_axis_2 < 13; table_axis_2++)
                            for (int64_t table_axis_3 = 0; table_axis_3 < 13; table_axis_3++) {
                                T(vec) row_sum_in = (T(vec)){0};
                                for (int64_t j = 0; j < j1 - j0; j++) {
                                    row_sum_in += T(pick)(T(load)(subscript + j * 80 + i) == (float)table_axis_3,
                                        T(pick)(T(load)(subscript_2 + j * 80 + i) == (float)table_axis_2,
                                        T(load)(score_2 + j * 80 + i) * T(load)(score + j * 80 + i), T(splat)(0.0f)),
                                        T(splat)(0.0f));
                                }
                                T(add)(row_sum + table_axis_2 * 1040 + table_axis_3 * 80 + i,
                                    row_sum_compensation + table_axis_2 * 1040 + table_axis_3 * 80 + i, row_sum_in,
                                    T(splat)(1));
                            }
                    }
                }
            }
            if (dq) {
                /* sum = sum */
                for (int64_t d = 0; d < 32; d++) {
                    for (int64_t i = 0; i < i1 - i0; i += LANES) {
                        T(store)(sum + d * 80 + i, T(load)(sum + d * 80 + i));
                    }
                }
            }
            if (partial_0) {
                /* unit_sum += row_sum */
                for (int64_t table_axis_2 = 0; table_axis_2 < 13; table_axis_2++) {
                    for (int64_t table_axis_3 = 0; table_axis_3 < 13; table_axis_3++) {
                        T(vec) lane_sums = T(splat)(0);
                        for (int64_t i = 0; i < i1 - i0; i += LANES) {
                            const T(vec) term = T(load)(row_sum + table_axis_2 * 1040 + table_axis_3 * 80 + i);
                            lane_sums += i + LANES <= i1 - i0 ? term : T(pick)(__builtin_convertvector(i + T(lane) < i1
                                - i0, T(mask)), term, T(splat)(0));
                        }
                        const float total = T(lane_sum)(lane_sums);
                        const float more = unit_sum_compensation[table_axis_2 * 16 + table_axis_3] + total,
                            sum_then = unit_sum[table_axis_2 * 16 + table_axis_3] + more;
                        unit_sum_compensation[table_axis_2 * 16 + table_axis_3] = more - (sum_then -
                            unit_sum[table_axis_2 * 16 + table_axis_3]);
                        unit_sum[table_axis_2 * 16 + table_axis_3] = sum_then;
                    }
                }
            }
            if (dq) {
                /* dq = sum, transposed back */
                T(transpose_out)(sum, 80, 32, i1 - i0, dq + b * dq_batch + i0 * dq_row, dq_row, 64);
            }
        }
    }
    if (partial_0) {
        /* partial_0 = unit_sum */
        for (int64_t table_axis_2 = 0; table_axis_2 < 13; table_axis_2++)
            for (int64_t table_axis_3 = 0; table_axis_3 < 13; table_axis_3++)
                partial_0[table_axis_2 * 13 + table_axis_3] = unit_sum[table_axis_2 * 16 + table_axis_3];
    }
}

/* Computes task number `task`: one tile of keys of one head. `work` is this thread's workspace. */
TARGET static void T(softmax_swin_dk_dv)(const struct call *call, int64_t task, unsigned char *work)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_q = call->p.n_q;
    const int64_t n_k = call->p.n_k;
    const int64_t tiles = (n_k + 64 - 1) / 64, j0 = (tiles - 1 - task % tiles) * 64,
        j1 = min(j0 + 64, n_k);
    /* The thread has 32 places for tiles. If only those of one head have a place, a head is computed for all
       sequences before the next head. */
    const int64_t of_head = ((n_q + 63) / 64) * ((n_k + 63) / 64);
    const int by_heads = of_head <= 32 && kv_heads * of_head > 32;
    const int64_t unit = by_heads ? (task / tiles) % call->p.batch * (kv_heads) + (task / tiles) / call->p.batch : task
        / tiles;
    const int64_t g = unit % kv_heads;
    const int64_t b = unit / kv_heads;
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
    const int64_t table_array_stride_2 = call->array[ARRAY_table_array].stride[2];
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
    float *const score = (float *)(void *)(work + 0); /* [i: 64, j: 64 of 80] */
    float *const score_2 = (float *)(void *)(work + 20480); /* [i: 64, j: 64 of 80] */
    float *const sum = (float *)(void *)(work + 40960); /* [e: 32, j: 64 of 80] */
    float *const sum_compensation = (float *)(void *)(work + 51200); /* [e: 32, j: 64 of 80] */
    float *const sum_2 = (float *)(void *)(work + 61440); /* [d: 32, j: 64 of 80] */
    float *const sum_2_compensation = (float *)(void *)(work + 71680); /* [d: 32, j: 64 of 80] */
    float *const dk = call->array[ARRAY_dk].at ? (float *)call->array[ARRAY_dk].at + b *
        call->array[ARRAY_dk].strides.batch + g * call->array[ARRAY_dk].strides.head : NULL;
    const int64_t dk_row = call->array[ARRAY_dk].strides.row;
    float *const dv = call->array[ARRAY_dv].at ? (float *)call->array[ARRAY_dv].at + b *
        call->array[ARRAY_dv].strides.batch + g * call->array[ARRAY_dv].strides.head : NULL;
    const int64_t dv_row = call->array[ARRAY_dv].strides.row;
    float *const k_tile = (float *)(void *)(work + 81920); /* [d: 32, j: 64 of 80] */
    float *const v_tile = (float *)(void *)(work + 92160); /* [e: 32, j: 64 of 80] */
    struct remembered *const table_at_places = (struct remembered *)(void *)(work + 102400);
    float *const table_at_kept = (float *)(void *)(work + 104512); /* [32 tiles, i: 64, j: 64] */
    int64_t results = j1 - j0; /* rows of dk to prefetch during the first product */
    /* k_tile = k, with zeros beyond the last row */
    T(transpose_padded)(k + j0 * k_row, k_row, j1 - j0, 32, k_tile, 80, LANES);
    if (dk) {
        /* v_tile = v, with zeros beyond the last row */
        T(transpose_padded)(v + j0 * v_row, v_row, j1 - j0, 32, v_tile, 80, LANES);
    }
    if (dv) {
        /* sum = 0.0f; sum_compensation = 0.0f */
        for (int64_t e = 0; e < 32; e++) {
            for (int64_t j = 0; j < j1 - j0; j += LANES) {
                T(store)(sum + e * 80 + j, T(splat)(0.0f));
                T(store)(sum_compensation + e * 80 + j, T(splat)(0.0f));
            }
        }
    }
    /* k_tile = k_tile * 0.25503486f; sum_2 = 0.0f; sum_2_compensation = 0.0f */
    for (int64_t d = 0; d < 32; d++) {
        for (int64_t j = 0; j < j1 - j0; j += LANES) {
            T(store)(k_tile + d * 80 + j, T(load)(k_tile + d * 80 + j) * 0.25503486f);
            T(store)(sum_2 + d * 80 + j, T(splat)(0.0f));
            T(store)(sum_2_compensation + d * 80 + j, T(splat)(0.0f));
        }
    }
    for (int64_t m = 0; m < members; m++) {
        for (int64_t i0 = 0, i_end = n_q; i0 < i_end; i0 += 64) {
            const int64_t i1 = min(i0 + 64, i_end);
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
            /* table_at, which this thread may have from an earlier sequence */
            struct known_tile *const table_at_known = place_of_tile(table_at_places,
                (by_heads ? 0 : ((call->p.query_start ? b : 0) * kv_heads + g) * members + m) * ((n_q + 63) / 64) *
                ((n_k + 63) / 64) + i0 / 64 * ((n_k + 63) / 64) + j0 / 64, 32);
            float *const table_at = table_at_kept + (table_at_known - (struct known_tile *)(void *)table_at_places - 1)
                * 5120;
            if (!knows_tile(table_at_known, ((call->p.query_start ? b : 0) * kv_heads + g) * members + m, i0, i1, j0,
                j1)) {
                /* table_at = table_array, at computed subscripts */
                int64_t part_0[64];
                for (int64_t j = 0; j < j1 - j0; j++) part_0[j] = (j0 + j) / 7;
                int64_t part_1[64];
                for (int64_t j = 0; j < j1 - j0; j++) part_1[j] = (j0 + j) % 7;
                for (int64_t i = 0; i < i1 - i0; i++) {
                    int64_t at_2[64];
                    for (int64_t j = 0; j < j1 - j0; j++) at_2[j] = m * table_array_stride_0 + max(min((((i0 + i) +
                        query_start) / 7) - part_0[j] + 6, 12), 0) * table_array_stride_1 + max(min((((i0 + i) +
                        query_start) % 7) - part_1[j] + 6, 12), 0) * table_array_stride_2;
                    for (int64_t j = 0; j < j1 - j0; j++) table_at[i * 80 + j] = table_array[at_2[j]];
                    for (int64_t j = j1 - j0; j < round_up(j1 - j0, LANES); j++) table_at[i * 80 + j] = 0;
                }
            }
            /* score = exp2((score + (table_at * 1.442695f)) - saved_0) */
            for (int64_t j = 0; j < j1 - j0; j += LANES) {
                for (int64_t i = 0; i < i1 - i0; i++) {
                    T(store)(score + i * 80 + j, T(exp2)((T(load)(score + i * 80 + j) + (T(load)(table_at + i * 80 + j)
                        * 1.442695f)) - (saved_0[m * saved_0_head + (i0 + i)])));
                }
            }
            if (dv) {
                /* sum[e][j] += sum over i of dout * score */
                T(dot6)(round_up(j1 - j0, LANES), i1 - i0, dout + m * dout_head + i0 * dout_row, dout_row, score, sum,
                    sum_compensation);
            }
            if (dk) {
                /* score_2 = (score_2 + row_0) * (score * 0.176776695f) */
                for (int64_t j_first = 0; j_first < j1 - j0; j_first += OF(64, 16, 8)) {
                    for (int64_t i = 0; i < i1 - i0; i++) {
                        UNROLL for (int64_t vector = 0, j = j_first; vector < OF(4, 2, 2); vector++, j += LANES) {
                            T(store)(score_2 + i * 80 + j, (T(load)(score_2 + i * 80 + j) + (row_0[m * row_0_head + (i0
                                + i)])) * (T(load)(score + i * 80 + j) * 0.176776695f));
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
        for (int64_t d = 0; d < 32; d++) {
            for (int64_t j = 0; j < j1 - j0; j += LANES) {
                T(store)(sum_2 + d * 80 + j, T(load)(sum_2 + d * 80 + j));
            }
        }
    }
    if (dv) {
        /* sum = sum */
        for (int64_t e = 0; e < 32; e++) {
            for (int64_t j = 0; j < j1 - j0; j += LANES) {
                T(store)(sum + e * 80 + j, T(load)(sum + e * 80 + j));
            }
        }
    }
    if (dk) {
        /* dk = sum_2, transposed back */
        T(transpose_out)(sum_2, 80, 32, j1 - j0, dk + j0 * dk_row, dk_row, LANES);
    }
    if (dv) {
        /* dv = sum, transposed back */
        T(transpose_out)(sum, 80, 32, j1 - j0, dv + j0 * dv_row, dv_row, LANES);
    }
}

/* Computes task number `task`: the totals of the partial sums that the slices of rows have stored. `work` is this
   thread's workspace. */
TARGET static void T(softmax_swin_totals1)(const struct call *call, int64_t task, unsigned char *work)
{
    const int64_t members = call->p.heads / max(call->p.kv_heads, 1);
    const int64_t m = task % members;
    const int64_t g = task / members;
    const float *const partial_0 = call->array[ARRAY_partial_0].at ? (const float *)call->array[ARRAY_partial_0].at + (g
        * members + m) * 16 * 13 * 13 : NULL;
    float *const gradient = (float *)(void *)(work + 0); /* [table_axis_2: 13, table_axis_3: 16] */
    float *const gradient_2 = (float *)(void *)(work + 832); /* [table_axis_2: 13, table_axis_3: 16] */
    float *const dtable_array = call->array[ARRAY_dtable_array].at ? (float *)call->array[ARRAY_dtable_array].at + (g *
        members + m) * 13 * 13 : NULL;
    float *const partial_0_tile = (float *)(void *)(work + 832); /* [unit16: 16, table_axis_2: 13, table_axis_3: 16] */
    /* partial_0_tile = partial_0, with zeros beyond the last row */
    for (int64_t unit16 = 0; unit16 < 16; unit16++)
        for (int64_t table_axis_2 = 0; table_axis_2 < 13; table_axis_2++)
            for (int64_t table_axis_3 = 0; table_axis_3 < 13; table_axis_3++)
                partial_0_tile[unit16 * 208 + table_axis_2 * 16 + table_axis_3] = partial_0[unit16 * 169 + table_axis_2
                    * 13 + table_axis_3];
    /* gradient = 0.0f */
    for (int64_t table_axis_2 = 0; table_axis_2 < 13; table_axis_2++) {
#if OF(1, 0, 0)
        for (int64_t table_axis_3 = 0; table_axis_3 < 13; table_axis_3 += 16) {
            T(store)(gradient + table_axis_2 * 16 + table_axis_3, T(splat)(0.0f));
#else
        for (int64_t table_axis_3_first = 0; table_axis_3_first < 13; table_axis_3_first += (2 * LANES)) {
            UNROLL for (int64_t vector = 0, table_axis_3 = table_axis_3_first; vector < 2; vector++,
                table_axis_3 += LANES) {
                T(store)(gradient + table_axis_2 * 16 + table_axis_3, T(splat)(0.0f));
            }
#endif
        }
    }
    /* gradient += partial_0_tile */
    for (int64_t table_axis_3 = 0; table_axis_3 < 13; table_axis_3 += LANES) {
        for (int64_t table_axis_2 = 0; table_axis_2 < 13; table_axis_2++) {
            T(vec) gradient_in = (T(vec)){0};
            for (int64_t unit16 = 0; unit16 < 16; unit16++) {
                gradient_in += T(load)(partial_0_tile + unit16 * 208 + table_axis_2 * 16 + table_axis_3);
            }
            T(store)(gradient + table_axis_2 * 16 + table_axis_3, T(load)(gradient + table_axis_2 * 16 + table_axis_3) +
                gradient_in);
        }
    }
    /* gradient_2 = gradient */
    for (int64_t table_axis_2 = 0; table_axis_2 < 13; table_axis_2++) {
#if OF(1, 0, 0)
        for (int64_t table_axis_3 = 0; table_axis_3 < 13; table_axis_3 += 16) {
            T(store)(gradient_2 + table_axis_2 * 16 + table_axis_3,
                T(load)(gradient + table_axis_2 * 16 + table_axis_3));
#else
        for (int64_t table_axis_3_first = 0; table_axis_3_first < 13; table_axis_3_first += (2 * LANES)) {
            UNROLL for (int64_t vector = 0, table_axis_3 = table_axis_3_first; vector < 2; vector++,
                table_axis_3 += LANES) {
                T(store)(gradient_2 + table_axis_2 * 16 + table_axis_3,
                    T(load)(gradient + table_axis_2 * 16 + table_axis_3));
            }
#endif
        }
    }
    if (dtable_array) {
        /* dtable_array = gradient_2 */
        for (int64_t table_axis_2 = 0; table_axis_2 < 13; table_axis_2++)
            for (int64_t table_axis_3 = 0; table_axis_3 < 13; table_axis_3++)
                dtable_array[table_axis_2 * 13 + table_axis_3] = gradient_2[table_axis_2 * 16 + table_axis_3];
    }
}
#include <attnrt/kernel/end.h>
#else
#ifdef __cplusplus
#error "softmax_swin.c is C, not C++: compile it with a C compiler"
#elif !defined __STDC_VERSION__ || __STDC_VERSION__ < 199901L
#error "softmax_swin.c is C11, not C89: compile it without -std=, or with -std=gnu11"
extern int softmax_swin_is_c11;
#elif !defined __GNUC__
#error "softmax_swin.c uses GNU C vector extensions: compile it with gcc or clang"
extern int softmax_swin_is_gnu_c;
#else
#include "softmax_swin.h"

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
#define LOOPS "softmax_swin.c"
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
#define MAX_TERMS 32
#define MAX_LANES 32
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
#define MAX_TERMS 32
#define MAX_LANES 32
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
#define MAX_TERMS 32
#define MAX_LANES 32
#define OF(v4, v3, any) any /* a number of each target */
#define SECTION
#include LOOPS
#undef SECTION

/* ==== tables for the library that calls these functions (attnrt/kernel/call.h) ==== */
static const struct attn_param param[] = {
    {"table", ATTN_F32, 3, {ATTN_HEADS, 13, 13}, offsetof(struct softmax_swin_params, table), 0,
        offsetof(struct softmax_swin_strides, table), 0, 0, ATTN_NO_LIMITS},
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
        .member = offsetof(struct softmax_swin_gradients, table)},
    {.name = "saved_0", .origin = FROM_SAVED},
    {.name = "row_0", .origin = FROM_ROW_SUMS},
    {.name = "partial_0", .origin = FROM_LEFT, .elements = 2704, .sizes = 1 << -ATTN_HEADS,
        .wanted = (const uint16_t[]){ARRAY_dtable_array, NO_ARRAY}},
};

#if defined(__x86_64__)
static int runs_v4(void)
{
    return attn_x86_64_level() >= 4;
}
static const struct program programs_v4[] = {
    {.role = RUN_FORWARD, .form = FORM_FEW,
     .head = softmax_swin_few_v4, .tile = 0, .own = 41216, .few_rows = 64, .lanes = 16, .of_pair = 64, .shared = 25536,
         .slot = 8768, .slots = 4, .together = 1},
    {.role = RUN_FORWARD,
     .rows = softmax_swin_rows_v4, .tile = 64, .own = 709696, .of_pair = 64, .saves = 1, .remembered = 1,
         .remembers = {52224}},
    {.role = RUN_BACKWARD, .part = 4, .sums_slices = 1,
     .rows = softmax_swin_totals1_v4, .tile = -1, .own = 14144, .of_pair = 64,
         .wanted = (const uint16_t[]){ARRAY_dtable_array, NO_ARRAY}, .units = 1, .unit_heads = 2},
    {.role = RUN_BACKWARD, .part = 3,
     .rows = softmax_swin_dk_dv_v4, .tile = 64, .own = 759872, .of_pair = 64, .wanted = (const uint16_t[]){ARRAY_dk,
         ARRAY_dv, NO_ARRAY}, .of_keys = OF_KEY_HEAD, .remembered = 1, .remembers = {102400}},
    {.role = RUN_BACKWARD, .part = 2,
     .rows = softmax_swin_dq_sums1_v4, .tile = -1, .own = 2185152, .of_pair = 64, .wanted = (const uint16_t[]){ARRAY_dq,
         ARRAY_partial_0, NO_ARRAY}, .units = 16, .unit_heads = 2, .remembered = 3, .remembers = {212736, 870208,
         1527680}},
    {.role = RUN_BACKWARD, .part = 1,
     .rows = softmax_swin_row_sums_v4, .tile = 64, .own = 20736, .of_pair = 64},
    {.role = RUN_BACKWARD, .saved_again = 1,
     .rows = softmax_swin_saved_v4, .tile = 64, .own = 689216, .of_pair = 64, .remembered = 1, .remembers = {31744}},
};
#endif
#if defined(__x86_64__)
static int runs_v3(void)
{
    return attn_x86_64_level() >= 3;
}
static const struct program programs_v3[] = {
    {.role = RUN_FORWARD, .form = FORM_FEW,
     .head = softmax_swin_few_v3, .tile = 0, .own = 41216, .few_rows = 64, .lanes = 8, .of_pair = 64, .shared = 25536,
         .slot = 8768, .slots = 4, .together = 1},
    {.role = RUN_FORWARD,
     .rows = softmax_swin_rows_v3, .tile = 64, .own = 709696, .of_pair = 64, .saves = 1, .remembered = 1,
         .remembers = {52224}},
    {.role = RUN_BACKWARD, .part = 4, .sums_slices = 1,
     .rows = softmax_swin_totals1_v3, .tile = -1, .own = 14144, .of_pair = 64,
         .wanted = (const uint16_t[]){ARRAY_dtable_array, NO_ARRAY}, .units = 1, .unit_heads = 2},
    {.role = RUN_BACKWARD, .part = 3,
     .rows = softmax_swin_dk_dv_v3, .tile = 64, .own = 759872, .of_pair = 64, .wanted = (const uint16_t[]){ARRAY_dk,
         ARRAY_dv, NO_ARRAY}, .of_keys = OF_KEY_HEAD, .remembered = 1, .remembers = {102400}},
    {.role = RUN_BACKWARD, .part = 2,
     .rows = softmax_swin_dq_sums1_v3, .tile = -1, .own = 2185152, .of_pair = 64, .wanted = (const uint16_t[]){ARRAY_dq,
         ARRAY_partial_0, NO_ARRAY}, .units = 16, .unit_heads = 2, .remembered = 3, .remembers = {212736, 870208,
         1527680}},
    {.role = RUN_BACKWARD, .part = 1,
     .rows = softmax_swin_row_sums_v3, .tile = 64, .own = 20736, .of_pair = 64},
    {.role = RUN_BACKWARD, .saved_again = 1,
     .rows = softmax_swin_saved_v3, .tile = 64, .own = 689216, .of_pair = 64, .remembered = 1, .remembers = {31744}},
};
#endif
static const struct program programs_any[] = {
    {.role = RUN_FORWARD, .form = FORM_FEW,
     .head = softmax_swin_few_any, .tile = 0, .own = 41216, .few_rows = 64, .lanes = 4, .of_pair = 64, .shared = 25536,
         .slot = 8768, .slots = 4, .together = 1},
    {.role = RUN_FORWARD,
     .rows = softmax_swin_rows_any, .tile = 64, .own = 709696, .of_pair = 64, .saves = 1, .remembered = 1,
         .remembers = {52224}},
    {.role = RUN_BACKWARD, .part = 4, .sums_slices = 1,
     .rows = softmax_swin_totals1_any, .tile = -1, .own = 14144, .of_pair = 64,
         .wanted = (const uint16_t[]){ARRAY_dtable_array, NO_ARRAY}, .units = 1, .unit_heads = 2},
    {.role = RUN_BACKWARD, .part = 3,
     .rows = softmax_swin_dk_dv_any, .tile = 64, .own = 759872, .of_pair = 64, .wanted = (const uint16_t[]){ARRAY_dk,
         ARRAY_dv, NO_ARRAY}, .of_keys = OF_KEY_HEAD, .remembered = 1, .remembers = {102400}},
    {.role = RUN_BACKWARD, .part = 2,
     .rows = softmax_swin_dq_sums1_any, .tile = -1, .own = 2185152, .of_pair = 64,
         .wanted = (const uint16_t[]){ARRAY_dq, ARRAY_partial_0, NO_ARRAY}, .units = 16, .unit_heads = 2,
         .remembered = 3, .remembers = {212736, 870208, 1527680}},
    {.role = RUN_BACKWARD, .part = 1,
     .rows = softmax_swin_row_sums_any, .tile = 64, .own = 20736, .of_pair = 64},
    {.role = RUN_BACKWARD, .saved_again = 1,
     .rows = softmax_swin_saved_any, .tile = 64, .own = 689216, .of_pair = 64, .remembered = 1, .remembers = {31744}},
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
    .layout = KERNEL_LAYOUT, .name = "softmax_swin", .openmp = OPENMP,
    .target = target, .targets = sizeof target / sizeof *target - 1,
    .array = array, .arrays = sizeof array / sizeof *array,
    .param = param, .params = 1, .params_bytes = sizeof(struct softmax_swin_params),
    .dtype = ATTN_F32, .key_dtype = ATTN_F32, .value_dtype = ATTN_F32, .real = sizeof(float), .element = sizeof(float),
    .head_dim = 32, .value_dim = 32, .key_row = 32, .value_row = 32,
    .max_length = 49,
    .strided = 1, .strides = offsetof(struct softmax_swin_params, strides),
    .shares = 1,
    .positions = 1,
    .ids = -1,
    .corrected = -1,
    .solution = -1,
    .gradients_bytes = sizeof(struct softmax_swin_gradients),
    .parts = 5,
    .saved = 1,
    .row_sums = 1,
    .shared_gradient = {ARRAY_dq, ARRAY_dk},
};

/* ==== the interface ==== */
size_t softmax_swin_params_size(void) { return attn_call_params_size(&kernel); }
int softmax_swin_params_init(struct softmax_swin_params *params, uint64_t seed, void *storage)
{
    return attn_call_params_init(&kernel, params, seed, storage);
}
size_t softmax_swin_workspace(const struct attn_problem *problem) { return attn_call_workspace(&kernel, problem); }
size_t softmax_swin_saved(const struct attn_problem *problem) { return attn_call_saved(&kernel, problem); }
size_t softmax_swin_backward_workspace(const struct attn_problem *problem)
{
    return attn_call_backward_workspace(&kernel, problem);
}
int softmax_swin_forward(const struct attn_problem *problem, const struct softmax_swin_params *params, const float *q,
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
int softmax_swin_backward(const struct attn_problem *problem, const struct softmax_swin_params *params, const float *q,
    const float *k, const float *v, const float *out, const float *dout,
    float *dq, float *dk, float *dv, struct softmax_swin_gradients *gradients, void *workspace)
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
const struct attn_kernel softmax_swin_kernel = {
    .name = "softmax_swin", .version = "0.2.0", .dtype = ATTN_F32, .head_dim = 32, .value_dim = 32,
    .params = 1, .param = param, .params_bytes = sizeof(struct softmax_swin_params),
    .params_size = softmax_swin_params_size, .params_init = params_init_any, .forward = forward_any,
    .workspace = softmax_swin_workspace,
    .saved = softmax_swin_saved,
    .backward_workspace = softmax_swin_backward_workspace,
    .backward = backward_any,
    .key_dtype = ATTN_F32, .value_dtype = ATTN_F32,
    .strides = offsetof(struct softmax_swin_params, strides), .strides_bytes = sizeof(struct softmax_swin_strides),
    .before = INT64_MAX, .after = INT64_MAX, .period = 7, .names_heads = 0, .names_sequences = 0, .in_parts = 0,
    .saved_power = 0, .has_sink = 0, .open_keys = 0, .end_of_keys = INT64_MAX,
};
#endif /* a compiler of this language */
#endif /* SECTION */
