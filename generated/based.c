/* based.c, made by attnc 0.2.0: attnc based.yaml
   C11 with GNU extensions, for a C compiler; C++ includes based.h.
   exact weights inside a window of 64 keys, and Taylor features of second order outside, with one denominator
   Arora et al., Simple Linear Attention Language Models Balance the Recall-Throughput Tradeoff (Based, ICML 2024),
   for the
   features; Zhang et al., LoLCATs: On Low-Rank Linearizing of Large Language Models (ICLR 2025), section 3.3.1,
   for one sum

   Computes, in f32, over the axes b (batch), g (key/value head), m (query head of g), i (query), j (key), d (16),
   e (64):
     q [b g m i d]
     k [b g j d]
     v [b g j e]
     x3 [b g m i j] = sum over d of q * k
     x4 [b g m i j] = i + query_start + -63 <= j ? exp(x3 * 0.25) : 1 + x3 * 0.25 + x3 * 0.03125 * x3
     x5 [b g m i] = sum over j of x4 if j <= i + query_start
     x6 [b g m i e] = sum over j of x4 * v if j <= i + query_start
     x7 [b g m i e] = x5 == 0 ? 0 : x6 / x5
     out = x7
   query_start is the position of the first query: problem.query_start[b], or n_k - n_q if that is NULL.

   How: each vector lane holds one query. Keys are processed in tiles,
   so row sums and maxima need no reduction across lanes.
   The sums of a tile start from zero and are added to the sums so far. Tiles that no query sees are skipped.
   For few queries each lane holds one key. The queries of all heads that share keys are the rows of one tile,
   so each key is read once.
   The chunks of keys are divided among the threads. Their sums are added in the order of the chunks.
   Linear from 540 keys on: the weight is an inner product of 273 features. The state is a sum over keys of 273 x 65
   numbers.
     x86-64-v4  quadratic tiles of 32 queries and 48 keys; 47872 bytes of workspace per thread
     x86-64-v4  linear    tiles of 32 queries and 64 keys; 518720 bytes of workspace per thread
     x86-64-v4  few       tiles of 64 queries and 128 keys; 279808 bytes of workspace per thread
     x86-64-v3  quadratic tiles of 16 queries and 48 keys; 23936 bytes of workspace per thread
     x86-64-v3  linear    tiles of 32 queries and 64 keys; 518720 bytes of workspace per thread
     x86-64-v3  few       tiles of 64 queries and 128 keys; 279808 bytes of workspace per thread
     generic    quadratic tiles of 16 queries and 48 keys; 23936 bytes of workspace per thread
     generic    linear    tiles of 32 queries and 64 keys; 518720 bytes of workspace per thread
     generic    few       tiles of 64 queries and 128 keys; 279808 bytes of workspace per thread

   Contents:
     loops      based_rows, based_linear, based_few
     targets    x86-64-v4, x86-64-v3, generic
     tables     arrays and programs, for the functions of attnrt that call the loops
     interface  based_workspace, based_forward, based_kernel
   The file includes itself, so that the loops are compiled once for each target. T(name) is a name with the target's
   suffix, LANES the elements of its vectors, and OF(…) a number for each target.

   Compile with: cc -O2 -fopenmp based.c … -lattnrt -lm */
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
    T(dot_ahead)(/*vectors=*/2, lanes, rows, /*tail=*/-1, /*steps=*/16, /*span=*/32, a, a_row, /*a_step=*/1, b,
        /*b_step=*/OF(32, 16, 16), c, /*c_row=*/OF(32, 16, 16), /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL,
        next, next_row, /*width=*/64, result, result_row, /*result_width=*/64, results);
}
TARGET APART void T(dot1)(int64_t lanes, int64_t steps, const float *a, int64_t a_step, const float *b, float *c,
    const float *factor, float *compensation)
{
    T(dot_finite)(/*vectors=*/2, lanes, /*rows=*/64, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/1, a_step, b,
        /*b_step=*/OF(32, 16, 16), c, /*c_row=*/OF(32, 16, 16), /*update=*/3, factor, compensation);
}
TARGET APART void T(dot2)(int64_t lanes, int64_t steps, const float *a, int64_t a_step, const float *b, float *c,
    const float *factor, float *compensation)
{
    T(dot)(/*vectors=*/2, lanes, /*rows=*/64, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/1, a_step, b,
        /*b_step=*/OF(32, 16, 16), c, /*c_row=*/OF(32, 16, 16), /*update=*/3, factor, compensation);
}
TARGET APART void T(dot3)(int64_t lanes, int64_t steps, const float *a, int64_t a_step, const float *b, float *c,
    float *compensation)
{
    T(dot_finite)(/*vectors=*/2, lanes, /*rows=*/64, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/1, a_step, b,
        /*b_step=*/OF(32, 16, 16), c, /*c_row=*/OF(32, 16, 16), /*update=*/3, /*factor=*/NULL, compensation);
}
TARGET APART void T(dot4)(int64_t lanes, int64_t steps, const float *a, int64_t a_step, const float *b, float *c,
    float *compensation)
{
    T(dot)(/*vectors=*/2, lanes, /*rows=*/64, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/1, a_step, b,
        /*b_step=*/OF(32, 16, 16), c, /*c_row=*/OF(32, 16, 16), /*update=*/3, /*factor=*/NULL, compensation);
}
TARGET APART void T(dot5)(int64_t steps, const float *a, const float *b, int64_t b_step, float *c)
{
    T(dot)(/*vectors=*/OF(4, 2, 2), /*lanes=*/64, /*rows=*/273, /*tail=*/3, steps, /*span=*/192, a, /*a_row=*/80,
        /*a_step=*/1, b, b_step, c, /*c_row=*/64, /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL);
}
TARGET APART void T(dot6)(int64_t lanes, const float *a, const float *b, float *c, const struct coming *next)
{
    T(dot_meanwhile)(/*vectors=*/2, lanes, /*rows=*/64, /*tail=*/4, /*steps=*/273, /*span=*/32, a, /*a_row=*/1,
        /*a_step=*/64, b, /*b_step=*/32, c, /*c_row=*/32, /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL, next,
        /*arrays=*/4, /*nexts=*/32);
}
TARGET APART void T(dot7)(int64_t lanes, int64_t rows, const float *a, int64_t a_row, const float *b, float *c)
{
    T(dot)(/*vectors=*/2, lanes, rows, /*tail=*/-1, /*steps=*/16, /*span=*/32, a, a_row, /*a_step=*/1, b, /*b_step=*/32,
        c, /*c_row=*/32, /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL);
}
#if OF(1, 0, 0)
TARGET APART void T(dot8)(int64_t steps, const float *a, const float *b, int64_t b_step, float *c, float *compensation)
#else
TARGET APART void T(dot8)(int64_t lanes, int64_t steps, const float *a, int64_t a_step, const float *b, float *c,
    const float *factor, float *compensation)
#endif
{
#if OF(0, 1, 1)
    T(dot_finite)(/*vectors=*/2, lanes, /*rows=*/64, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/1, a_step, b,
        /*b_step=*/32, c, /*c_row=*/32, /*update=*/3, factor, compensation);
}
TARGET APART void T(dot9)(int64_t lanes, int64_t steps, const float *a, int64_t a_step, const float *b, float *c,
    const float *factor, float *compensation)
{
    T(dot)(/*vectors=*/2, lanes, /*rows=*/64, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/1, a_step, b, /*b_step=*/32,
        c, /*c_row=*/32, /*update=*/3, factor, compensation);
}
TARGET APART void T(dot10)(int64_t lanes, int64_t steps, const float *a, int64_t a_step, const float *b, float *c,
    float *compensation)
{
    T(dot_finite)(/*vectors=*/2, lanes, /*rows=*/64, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/1, a_step, b,
        /*b_step=*/32, c, /*c_row=*/32, /*update=*/3, /*factor=*/NULL, compensation);
}
TARGET APART void T(dot11)(int64_t lanes, int64_t steps, const float *a, int64_t a_step, const float *b, float *c,
    float *compensation)
{
    T(dot)(/*vectors=*/2, lanes, /*rows=*/64, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/1, a_step, b, /*b_step=*/32,
        c, /*c_row=*/32, /*update=*/3, /*factor=*/NULL, compensation);
}
TARGET APART void T(dot12)(int64_t steps, const float *a, const float *b, int64_t b_step, float *c, float *compensation)
{
#endif
    T(dot)(/*vectors=*/OF(4, 2, 2), /*lanes=*/64, /*rows=*/273, /*tail=*/3, steps, /*span=*/192, a, /*a_row=*/80,
        /*a_step=*/1, b, b_step, c, /*c_row=*/64, /*update=*/3, /*factor=*/NULL, compensation);
}
#if OF(1, 0, 0)
TARGET APART void T(dot9)(int64_t rows, int64_t columns, const float *a, const float *b, int64_t b_row, float *c,
    int64_t early)
#else
TARGET APART void T(dot13)(int64_t rows, int64_t columns, const float *a, const float *b, int64_t b_row, float *c)
#endif
{
#if OF(1, 0, 0)
    T(dot_along)(rows, columns, /*steps=*/16, a, /*a_row=*/16, b, b_row, c, /*c_row=*/144, early);
#endif
#if OF(0, 1, 0)
    T(dot_along)(rows, columns, /*steps=*/16, a, /*a_row=*/16, b, b_row, c, /*c_row=*/144);
#endif
#if OF(0, 0, 1)
    T(dot_along)(rows, columns, /*steps=*/16, a, /*a_row=*/16, b, b_row, c, /*c_row=*/144, /*early=*/64);
#endif
}
#if OF(1, 0, 0)
TARGET APART void T(dot10)(int64_t rows, int64_t steps, const float *a, const float *b, int64_t b_step, float *c)
#else
TARGET APART void T(dot14)(int64_t rows, int64_t steps, const float *a, const float *b, int64_t b_step, float *c)
#endif
{
    T(dot_finite_lanes)(/*fetched=*/1, /*vectors=*/OF(4, 2, 2), /*lanes=*/64, rows, /*tail=*/-1, steps, /*span=*/192, a,
        /*a_row=*/144, /*a_step=*/1, b, b_step, c, /*c_row=*/64, /*update=*/1, /*factor=*/NULL, /*compensation=*/NULL);
}
#if OF(1, 0, 0)
TARGET APART void T(dot11)(int64_t rows, int64_t steps, const float *a, const float *b, int64_t b_step, float *c,
    int64_t early)
#else
TARGET APART void T(dot15)(int64_t rows, int64_t steps, const float *a, const float *b, int64_t b_step, float *c)
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

/* Computes task number `task`: one tile of queries of one head. `work` is this thread's workspace. */
TARGET static void T(based_rows)(const struct call *call, int64_t task, unsigned char *work)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_q = call->p.n_q;
    const int64_t n_k = call->p.n_k;
    const int64_t tiles = (n_q + OF(32, 16, 16) - 1) / OF(32, 16, 16), i0 = (tiles - 1 - task % tiles) * OF(32, 16, 16),
        i1 = min(i0 + OF(32, 16, 16), n_q);
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
    float *const score = (float *)(void *)(work + 0); /* [j: 48, i: OF(32, 16, 16)] */
    float *const weight = (float *)(void *)(work + OF(6144, 3072, 3072)); /* [j: 48, i: OF(32, 16, 16)] */
    float *const weight_2 = (float *)(void *)(work + OF(6144, 3072, 3072)); /* [j: 48, i: OF(32, 16, 16)] */
    float *const row_max = (float *)(void *)(work + OF(12288, 6144, 6144)); /* [i: OF(32, 16, 16)] */
    float *const old_max = (float *)(void *)(work + OF(12416, 6208, 6208)); /* [i: OF(32, 16, 16)] */
    float *const row_sum = (float *)(void *)(work + OF(12544, 6272, 6272)); /* [i: OF(32, 16, 16)] */
    float *const row_sum_compensation = (float *)(void *)(work + OF(12672, 6336, 6336)); /* [i: OF(32, 16, 16)] */
    float *const row_sum_2 = (float *)(void *)(work + OF(12800, 6400, 6400)); /* [i: OF(32, 16, 16)] */
    float *const row_sum_2_compensation = (float *)(void *)(work + OF(12928, 6464, 6464)); /* [i: OF(32, 16, 16)] */
    float *const sum = (float *)(void *)(work + OF(13056, 6528, 6528)); /* [e: 64, i: OF(32, 16, 16)] */
    float *const sum_compensation = (float *)(void *)(work + OF(21248, 10624, 10624)); /* [e: 64, i: OF(32, 16, 16)] */
    float *const sum_2 = (float *)(void *)(work + OF(29440, 14720, 14720)); /* [e: 64, i: OF(32, 16, 16)] */
    float *const sum_2_compensation = (float *)(void *)(work + OF(37632, 18816, 18816)); /* [e: 64, i: OF(32, 16,
        16)] */
    float *const out = (float *)call->array[ARRAY_out].at + b * call->array[ARRAY_out].strides.batch + (g * members + m)
        * call->array[ARRAY_out].strides.head;
    const int64_t out_row = call->array[ARRAY_out].strides.row;
    float *const q_tile = (float *)(void *)(work + OF(45824, 22912, 22912)); /* [d: 16, i: OF(32, 16, 16)] */
    int64_t results = i1 - i0; /* rows of out to prefetch during the first product */
    /* q_tile = q, with zeros beyond the last row */
    T(transpose_padded)(q + i0 * q_row, q_row, i1 - i0, 16, q_tile, OF(32, 16, 16), LANES);
    /* row_max = -FLT_MAX; row_sum = 0.0f; row_sum_compensation = 0.0f; row_sum_2 = 0.0f;
       row_sum_2_compensation = 0.0f */
    for (int64_t i = 0; i < i1 - i0; i += LANES) {
        T(store)(row_max + i, T(splat)(-FLT_MAX));
        T(store)(row_sum + i, T(splat)(0.0f));
        T(store)(row_sum_compensation + i, T(splat)(0.0f));
        T(store)(row_sum_2 + i, T(splat)(0.0f));
        T(store)(row_sum_2_compensation + i, T(splat)(0.0f));
    }
    /* sum = 0.0f; sum_compensation = 0.0f; sum_2 = 0.0f; sum_2_compensation = 0.0f */
    for (int64_t e = 0; e < 64; e++) {
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            T(store)(sum + e * OF(32, 16, 16) + i, T(splat)(0.0f));
            T(store)(sum_compensation + e * OF(32, 16, 16) + i, T(splat)(0.0f));
            T(store)(sum_2 + e * OF(32, 16, 16) + i, T(splat)(0.0f));
            T(store)(sum_2_compensation + e * OF(32, 16, 16) + i, T(splat)(0.0f));
        }
    }
    for (int64_t j0 = max(0, i0 + query_start - 63), j_end = min(n_k, i1 + query_start); j0 < j_end; j0 += 48) {
        const int64_t j1 = min(j0 + 48, j_end);
        /* score[j][i] = sum over d of k * q_tile */
        T(dot0)(round_up(i1 - i0, LANES), j1 - j0, k + j0 * k_row, k_row, q_tile, score, v + j0 * v_row, v_row,
            out + i0 * out_row, out_row, results);
        results = 0;
        /* old_max = row_max */
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            T(store)(old_max + i, T(load)(row_max + i));
        }
        if ((j0 < (i1 + query_start - 64)) || ((i0 + query_start + 1) < j1)) { /* the tile is partly outside the mask */
            /* weight_2 = select((j <= (i + query_start)) && (((i + query_start) + -63) <= j), score * 0.36067376f,
               -INFINITY); row_max max= we ... */
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                const T(ints) t_0 = (i0 + i + T(lane)) + query_start;
                const T(ints) t_1 = t_0 + (-63);
                T(vec) row_max_in = T(load)(row_max + i);
                for (int64_t j = 0; j < j1 - j0; j++) {
                    const T(vec) weight_2_new2 = T(pick)(__builtin_convertvector(((j0 + j) <= t_0) & (t_1 <= (j0 + j)),
                        T(mask)), T(load)(score + j * OF(32, 16, 16) + i) * 0.36067376f, T(splat)(-INFINITY));
                    T(store)(weight_2 + j * OF(32, 16, 16) + i, weight_2_new2);
                    row_max_in = T(max)(row_max_in, weight_2_new2);
                }
                T(store)(row_max + i, row_max_in);
            }
        }
        if (!((j0 < (i1 + query_start - 64)) || ((i0 + query_start + 1) < j1))) { /* the tile is wholly inside the mask
            */
            /* weight_2 = score * 0.36067376f; row_max max= weight_2 */
            for (int64_t i_first = 0; i_first < i1 - i0; i_first += (2 * LANES)) {
                T(vec) row_max_in[2];
                UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += LANES) {
                    row_max_in[vector] = T(load)(row_max + i);
                }
                for (int64_t j = 0; j < j1 - j0; j++) {
                    UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += LANES) {
                        const T(vec) weight_2_new3 = T(load)(score + j * OF(32, 16, 16) + i) * 0.36067376f;
                        T(store)(weight_2 + j * OF(32, 16, 16) + i, weight_2_new3);
                        row_max_in[vector] = T(max)(row_max_in[vector], weight_2_new3);
                    }
                }
                UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += LANES) {
                    T(store)(row_max + i, row_max_in[vector]);
                }
            }
        }
        /* old_max = exp2(old_max - row_max); row_sum = row_sum * old_max */
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            const T(vec) old_max_4 = T(load)(old_max + i);
            const T(vec) old_max_new5 = T(exp2)(old_max_4 - T(load)(row_max + i));
            T(store)(old_max + i, old_max_new5);
            T(store)(row_sum + i, T(load)(row_sum + i) * old_max_new5);
        }
        /* weight_2 = exp2(weight_2 - row_max); row_sum += weight_2 */
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            const T(vec) row_max_7 = T(load)(row_max + i);
            T(vec) row_sum_in = (T(vec)){0};
            for (int64_t j = 0; j < j1 - j0; j++) {
                const T(vec) weight_2_6 = T(load)(weight_2 + j * OF(32, 16, 16) + i);
                const T(vec) weight_2_new8 = T(exp2)(weight_2_6 - row_max_7);
                T(store)(weight_2 + j * OF(32, 16, 16) + i, weight_2_new8);
                row_sum_in += weight_2_new8;
            }
            T(add)(row_sum + i, row_sum_compensation + i, row_sum_in, T(splat)(1));
        }
        /* sum[e][i] = sum * old_max + sum over j of v * weight_2 */
        if (__builtin_expect(((j0 < (i1 + query_start - 64)) || ((i0 + query_start + 1) < j1)) && !T(finite)(v + j0 *
            v_row, v_row, j1 - j0, 64), 0)) { /* infinity and NaN affect only queries that see them */
            T(dot1)(round_up(i1 - i0, LANES), j1 - j0, v + j0 * v_row, v_row, weight_2, sum, old_max, sum_compensation);
            for (int64_t j = 0; j < j1 - j0; j++) {
                T(mask) in_region[OF(2, 2, 4)] = {0};
                if (T(finite)(v + j0 * v_row + j * v_row, 1, 64, 1)) continue;
                for (int64_t i = 0; i < i1 - i0; i += LANES) {
                    const T(ints) t_9 = (i0 + i + T(lane)) + query_start;
                    in_region[i / LANES] = __builtin_convertvector(((j0 + j) <= t_9) & ((t_9 + (-63)) <= (j0 + j)),
                        T(mask));
                }
                T(add_seen)(64, sum, OF(32, 16, 16), v + j0 * v_row + j * v_row, 1, weight_2 + j * OF(32, 16, 16),
                    in_region, i1 - i0);
            }
        } else
            T(dot2)(round_up(i1 - i0, LANES), j1 - j0, v + j0 * v_row, v_row, weight_2, sum, old_max, sum_compensation);
    }
    {
        for (int64_t j0 = 0, j_end = min(n_k, min(i1 + query_start, i1 + query_start - 64)); j0 < j_end; j0 += 48) {
            const int64_t j1 = min(j0 + 48, j_end);
            /* score[j][i] = sum over d of k * q_tile */
            T(dot0)(round_up(i1 - i0, LANES), j1 - j0, k + j0 * k_row, k_row, q_tile, score, v + j0 * v_row, v_row,
                out + i0 * out_row, out_row, results);
            results = 0;
            if (min(i0 + query_start + 1, i0 + query_start - 63) < j1) { /* the tile is partly outside the mask */
                /* weight = select((j <= (i + query_start)) && not(((i + query_start) + -63) <= j),
                   (1 + (score * 0.25f)) + ((score * 0.03125f) * s ... */
                for (int64_t i = 0; i < i1 - i0; i += LANES) {
                    const T(ints) t_10 = (i0 + i + T(lane)) + query_start;
                    const T(ints) t_11 = t_10 + (-63);
                    T(vec) row_sum_2_in = (T(vec)){0};
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        const T(vec) score_12 = T(load)(score + j * OF(32, 16, 16) + i);
                        const T(vec) weight_new13 = T(pick)(__builtin_convertvector(((j0 + j) <= t_10) & (~(t_11 <= (j0
                            + j))), T(mask)), ((float)1 + (score_12 * 0.25f)) + ((score_12 * 0.03125f) * score_12),
                            T(splat)(0.0f));
                        T(store)(weight + j * OF(32, 16, 16) + i, weight_new13);
                        row_sum_2_in += weight_new13;
                    }
                    T(add)(row_sum_2 + i, row_sum_2_compensation + i, row_sum_2_in, T(splat)(1));
                }
            }
            if (!(min(i0 + query_start + 1, i0 + query_start - 63) < j1)) { /* the tile is wholly inside the mask */
                /* weight = (1 + (score * 0.25f)) + ((score * 0.03125f) * score); row_sum_2 += weight */
                for (int64_t i_first = 0; i_first < i1 - i0; i_first += (2 * LANES)) {
                    T(vec) row_sum_2_in[2];
                    UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += LANES) {
                        row_sum_2_in[vector] = (T(vec)){0};
                    }
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += LANES) {
                            const T(vec) score_14 = T(load)(score + j * OF(32, 16, 16) + i);
                            const T(vec) weight_new15 = ((float)1 + (score_14 * 0.25f)) + ((score_14 * 0.03125f) *
                                score_14);
                            T(store)(weight + j * OF(32, 16, 16) + i, weight_new15);
                            row_sum_2_in[vector] += weight_new15;
                        }
                    }
                    UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += LANES) {
                        T(add)(row_sum_2 + i, row_sum_2_compensation + i, row_sum_2_in[vector], T(splat)(1));
                    }
                }
            }
            /* sum_2[e][i] += sum over j of v * weight */
            if (__builtin_expect((min(i0 + query_start + 1, i0 + query_start - 63) < j1) && !T(finite)(v + j0 * v_row,
                v_row, j1 - j0, 64), 0)) { /* infinity and NaN affect only queries that see them */
                T(dot3)(round_up(i1 - i0, LANES), j1 - j0, v + j0 * v_row, v_row, weight, sum_2, sum_2_compensation);
                for (int64_t j = 0; j < j1 - j0; j++) {
                    T(mask) in_region[OF(2, 2, 4)] = {0};
                    if (T(finite)(v + j0 * v_row + j * v_row, 1, 64, 1)) continue;
                    for (int64_t i = 0; i < i1 - i0; i += LANES) {
                        const T(ints) t_16 = (i0 + i + T(lane)) + query_start;
                        in_region[i / LANES] = __builtin_convertvector(((j0 + j) <= t_16) & (~((t_16 + (-63)) <= (j0 +
                            j))), T(mask));
                    }
                    T(add_seen)(64, sum_2, OF(32, 16, 16), v + j0 * v_row + j * v_row, 1, weight + j * OF(32, 16, 16),
                        in_region, i1 - i0);
                }
            } else
                T(dot4)(round_up(i1 - i0, LANES), j1 - j0, v + j0 * v_row, v_row, weight, sum_2, sum_2_compensation);
        }
    }
    /* sum = select(((row_sum * exp2(row_max - max(row_max, 0.0f))) + (row_sum_2 * exp2(0.0f - max(row_max,
       0.0f)))) == 0.0f, 0.0f, ((s ... */
    for (int64_t i = 0; i < i1 - i0; i += LANES) {
        const T(vec) row_max_17 = T(load)(row_max + i);
        const T(vec) t_18 = T(max)(row_max_17, T(splat)(0.0f));
        const T(vec) t_19 = T(exp2)(row_max_17 - t_18);
        const T(vec) t_20 = T(exp2)(0.0f - t_18);
        const T(vec) t_21 = (T(load)(row_sum + i) * t_19) + (T(load)(row_sum_2 + i) * t_20);
        const T(mask) t_22 = t_21 == 0.0f;
        for (int64_t e = 0; e < 64; e++) {
            T(store)(sum + e * OF(32, 16, 16) + i, T(pick)(t_22, T(splat)(0.0f), ((T(load)(sum + e * OF(32, 16,
                16) + i) * t_19) + (T(load)(sum_2 + e * OF(32, 16, 16) + i) * t_20)) / t_21));
        }
    }
    /* out = sum, transposed back */
    T(transpose_out)(sum, OF(32, 16, 16), 64, i1 - i0, out + i0 * out_row, out_row, LANES);
}

/* Initialises the states: they contain no keys yet. */
TARGET APART void T(based_begin)(const struct call *call, int64_t task, const struct share *share, int64_t iteration)
{
    (void)call;
    (void)task;
    const int64_t f0 = iteration * 32, f1 = min(f0 + 32, 273);
    float *const carried_sum = (float *)(void *)(share->shared + 0); /* [f: (LANES + 272)] */
    float *const carried_sum_compensation = (float *)(void *)(share->shared + 71040); /* [f: (LANES + 272)] */
    float *const carried = (float *)(void *)(share->shared + 1152); /* [f: 273, e: 64] */
    float *const carried_compensation = (float *)(void *)(share->shared + 72192); /* [f: 273, e: 64] */
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
TARGET APART void T(based_keys)(const struct call *call, int64_t task, const struct share *share, int64_t iteration)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t n_k = call->p.n_k;
    const int64_t chunk = iteration;
    const int64_t chunk0 = share->chunk0;
    const int64_t g = task % kv_heads;
    const int64_t b = task / kv_heads;
    const float *const k = (const float *)call->array[ARRAY_k].at + b * call->array[ARRAY_k].strides.batch + g /
        call->sharing * call->array[ARRAY_k].strides.head;
    const int64_t k_row = call->array[ARRAY_k].strides.row;
    const float *const v = (const float *)call->array[ARRAY_v].at + b * call->array[ARRAY_v].strides.batch + g *
        call->array[ARRAY_v].strides.head;
    const int64_t v_row = call->array[ARRAY_v].strides.row;
    float *const key_features = (float *)(void *)(share->work + 0); /* [f: 273, j: 64 of 80] */
    float *const state_sum = (float *)(void *)(share->slots + 0); /* [chunk, f: (LANES + 272)] */
    float *const state = (float *)(void *)(share->slots + 1152); /* [chunk, f: 273, e: 64] */
    float *const k_tile = (float *)(void *)(share->work + 87360); /* [d: 16, j: 64 of 80] */
    /* state_sum = 0.0f */
    for (int64_t f = 0; f < 273; f += LANES) {
        T(store)(state_sum + (chunk - chunk0) * 17760 + f, T(splat)(0.0f));
    }
    for (int64_t j0 = chunk * 64, j_end = min(n_k, (chunk + 1) * 64); j0 < j_end; j0 += 64) {
        const int64_t j1 = min(j0 + 64, j_end);
        /* k_tile = k, with zeros beyond the last row */
        T(transpose_padded)(k + j0 * k_row, k_row, j1 - j0, 16, k_tile, 80, 64);
        /* key_features = select(f < 17, select(min(f, 16) < 1, 1.0f, k_tile), k_tile * k_tile) */
        for (int64_t f = 0; f < 273; f++) {
            for (int64_t j = 0; j < j1 - j0; j += LANES) {
                T(store)(key_features + f * 80 + j, (f < 17) ? (min(f,
                    16) < 1) ? T(splat)(1.0f) : T(load)(k_tile + max(min(f, 16) - 1,
                    0) * 80 + j) : T(load)(k_tile + (max(f - 17, 0) / 16) * 80 + j) * T(load)(k_tile + (max(f - 17,
                    0) % 16) * 80 + j));
            }
        }
        /* state_sum += key_features */
        for (int64_t f = 0; f < 273; f++) {
            T(vec) lane_sums = T(splat)(0);
            for (int64_t j = 0; j < j1 - j0; j += LANES) {
                const T(vec) term = T(load)(key_features + f * 80 + j);
                lane_sums += j + LANES <= j1 - j0 ? term : T(pick)(__builtin_convertvector(j + T(lane) < j1 - j0,
                    T(mask)), term, T(splat)(0));
            }
            const float total = T(lane_sum)(lane_sums);
            state_sum[(chunk - chunk0) * 17760 + f] += total;
        }
        /* state[f][e] = sum over j of key_features * v */
        T(dot5)(j1 - j0, key_features, v + j0 * v_row, v_row, state + (chunk - chunk0) * 17760);
    }
}

/* Folds the slots of the current chunks, in order, for some elements of the states. */
TARGET APART void T(based_fold)(const struct call *call, int64_t task, const struct share *share, int64_t iteration)
{
    (void)call;
    (void)task;
    const int64_t f0 = iteration * 32, f1 = min(f0 + 32, 273);
    const int64_t chunk0 = share->chunk0;
    const int64_t chunk1 = share->chunk1;
    float *const state_sum = (float *)(void *)(share->slots + 0); /* [chunk, f: (LANES + 272)] */
    float *const state = (float *)(void *)(share->slots + 1152); /* [chunk, f: 273, e: 64] */
    float *const carried_sum = (float *)(void *)(share->shared + 0); /* [f: (LANES + 272)] */
    float *const carried_sum_compensation = (float *)(void *)(share->shared + 71040); /* [f: (LANES + 272)] */
    float *const carried = (float *)(void *)(share->shared + 1152); /* [f: 273, e: 64] */
    float *const carried_compensation = (float *)(void *)(share->shared + 72192); /* [f: 273, e: 64] */
    for (int64_t chunk = chunk0; chunk < chunk1; chunk++) {
        /* before_sum = carried_sum; carried_sum += state_sum; state_sum = before_sum */
        for (int64_t f = f0; f < f1; f += LANES) {
            const T(vec) before_sum_new0 = T(load)(carried_sum + f);
            T(add)(carried_sum + f, carried_sum_compensation + f, T(load)(state_sum + (chunk - chunk0) * 17760 + f),
                T(splat)(1));
            T(store)(state_sum + (chunk - chunk0) * 17760 + f, before_sum_new0);
        }
        /* before = carried; carried += state; state = before */
        for (int64_t f = f0; f < f1; f++) {
            for (int64_t e_first = 0; e_first < 64; e_first += OF(64, 16, 8)) {
                UNROLL for (int64_t vector = 0, e = e_first; vector < OF(4, 2, 2); vector++, e += LANES) {
                    const T(vec) before_new1 = T(load)(carried + f * 64 + e);
                    T(add)(carried + f * 64 + e, carried_compensation + f * 64 + e,
                        T(load)(state + (chunk - chunk0) * 17760 + f * 64 + e), T(splat)(1));
                    T(store)(state + (chunk - chunk0) * 17760 + f * 64 + e, before_new1);
                }
            }
        }
    }
}

/* Processes the queries of a chunk: reads the state before the chunk, and the keys in the chunk. */
TARGET APART void T(based_queries)(const struct call *call, int64_t task, const struct share *share, int64_t iteration)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_q = call->p.n_q;
    const int64_t n_k = call->p.n_k;
    const int64_t chunk = iteration;
    const int64_t chunk0 = share->chunk0;
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
    float *const state_sum = (float *)(void *)(share->slots + 0); /* [chunk, f: (LANES + 272)] */
    float *const state = (float *)(void *)(share->slots + 1152); /* [chunk, f: 273, e: 64] */
    float *const score = (float *)(void *)(share->work + 0); /* [j: 64, i: 32] */
    float *const query = (float *)(void *)(share->work + 0); /* [f: 273, i: 32] */
    float *const weight = (float *)(void *)(share->work + 8192); /* [j: 64, i: 32] */
    float *const weight_2 = (float *)(void *)(share->work + 8192); /* [j: 64, i: 32] */
    float *const row_max = (float *)(void *)(share->work + 34944); /* [i: 32] */
    float *const old_max = (float *)(void *)(share->work + 16384); /* [i: 32] */
    float *const row_sum = (float *)(void *)(share->work + 35072); /* [i: 32] */
    float *const row_sum_compensation = (float *)(void *)(share->work + 35200); /* [i: 32] */
    float *const row_sum_from_state = (float *)(void *)(share->work + 35328); /* [i: 32] */
    float *const row_sum_2 = (float *)(void *)(share->work + 35456); /* [i: 32] */
    float *const row_sum_2_compensation = (float *)(void *)(share->work + 35584); /* [i: 32] */
    float *const sum = (float *)(void *)(share->work + 16512); /* [e: 64, i: 32] */
    float *const sum_compensation = (float *)(void *)(share->work + 24704); /* [e: 64, i: 32] */
    float *const sum_from_state = (float *)(void *)(share->work + 35712); /* [e: 64, i: 32] */
    float *const sum_2 = (float *)(void *)(share->work + 43904); /* [e: 64, i: 32] */
    float *const sum_2_compensation = (float *)(void *)(share->work + 52096); /* [e: 64, i: 32] */
    float *const out = (float *)call->array[ARRAY_out].at + b * call->array[ARRAY_out].strides.batch + g * members *
        call->array[ARRAY_out].strides.head;
    const int64_t out_row = call->array[ARRAY_out].strides.row;
    const int64_t out_head = call->array[ARRAY_out].strides.head;
    float *const q_tile = (float *)(void *)(share->work + 60288); /* [d: 16, i: 32] */
    for (int64_t m = 0; m < members; m++) {
        for (int64_t i0 = (chunk == 0) ? 0 : max(0, max((chunk * 64) - query_start + 63,
            ((chunk * 64) <= (n_k - 1)) ? 0 : n_q)), i_end = min(n_q, max(((chunk + 1) * 64) - query_start + 63,
            (((chunk + 1) * 64) <= (n_k - 1)) ? 0 : n_q)); i0 < i_end; i0 += 32) {
            const int64_t i1 = min(i0 + 32, i_end);
            /* q_tile = q, with zeros beyond the last row */
            T(transpose_padded)(q + m * q_head + i0 * q_row, q_row, i1 - i0, 16, q_tile, 32, 0);
            /* row_max = -FLT_MAX; row_sum = 0.0f; row_sum_compensation = 0.0f; row_sum_from_state = 0.0f */
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                T(store)(row_max + i, T(splat)(-FLT_MAX));
                T(store)(row_sum + i, T(splat)(0.0f));
                T(store)(row_sum_compensation + i, T(splat)(0.0f));
                T(store)(row_sum_from_state + i, T(splat)(0.0f));
            }
            /* query = select(f < 17, select(min(f, 16) < 1, 1, q_tile * 0.25f), (q_tile * 0.03125f) * q_tile);
               row_sum_from_state += query * s ... */
            for (int64_t i_first = 0; i_first < i1 - i0; i_first += (2 * LANES)) {
                T(vec) row_sum_from_state_in[2], row_sum_from_state_in_whole[2];
                UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += LANES) {
                    row_sum_from_state_in[vector] = (T(vec)){0};
                    row_sum_from_state_in_whole[vector] = (T(vec)){0};
                }
                for (int64_t f = 0; f < 273; f++) {
                    UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += LANES) {
                        const T(vec) query_new2 = (f < 17) ? (min(f, 16) < 1) ? T(splat)((float)1) : T(load)(q_tile +
                            max(min(f, 16) - 1, 0) * 32 + i) * 0.25f : (T(load)(q_tile + (max(f - 17,
                            0) / 16) * 32 + i) * 0.03125f) * T(load)(q_tile + (max(f - 17, 0) % 16) * 32 + i);
                        T(store)(query + f * 32 + i, query_new2);
                        row_sum_from_state_in[vector] += query_new2 * (state_sum[(chunk - chunk0) * 17760 + f]);
                        if (f % 32 == 31) {
                            row_sum_from_state_in_whole[vector] += row_sum_from_state_in[vector];
                            row_sum_from_state_in[vector] = (T(vec)){0};
                        }
                    }
                }
                UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += LANES) {
                    row_sum_from_state_in[vector] += row_sum_from_state_in_whole[vector];
                    T(store)(row_sum_from_state + i, T(load)(row_sum_from_state + i) + row_sum_from_state_in[vector]);
                }
            }
            /* row_sum_2 = 0.0f; row_sum_2_compensation = 0.0f */
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                T(store)(row_sum_2 + i, T(splat)(0.0f));
                T(store)(row_sum_2_compensation + i, T(splat)(0.0f));
            }
            /* sum_from_state[e][i] = sum over f of state * query */
            T(dot6)(round_up(i1 - i0, LANES), state + (chunk - chunk0) * 17760, query, sum_from_state,
                (const struct coming[]){{k + max(0, i0 + query_start - 63) * k_row, 4 * k_row, 64}, {v + max(0,
                i0 + query_start - 63) * v_row, 4 * v_row, 256}, {out + m * out_head + i0 * out_row, 4 * out_row, 256},
                {q + m * q_head + (i0 + 32) * q_row, 4 * q_row, 64}});
            /* sum = 0.0f; sum_compensation = 0.0f; sum_2 = 0.0f; sum_2_compensation = 0.0f */
            for (int64_t e = 0; e < 64; e++) {
                for (int64_t i = 0; i < i1 - i0; i += LANES) {
                    T(store)(sum + e * 32 + i, T(splat)(0.0f));
                    T(store)(sum_compensation + e * 32 + i, T(splat)(0.0f));
                    T(store)(sum_2 + e * 32 + i, T(splat)(0.0f));
                    T(store)(sum_2_compensation + e * 32 + i, T(splat)(0.0f));
                }
            }
            for (int64_t j0 = max(0, i0 + query_start - 63), j_end = min(n_k, i1 + query_start); j0 < j_end; j0 += 64) {
                const int64_t j1 = min(j0 + 64, j_end);
                /* score[j][i] = sum over d of k * q_tile */
                T(dot7)(round_up(i1 - i0, LANES), j1 - j0, k + j0 * k_row, k_row, q_tile, score);
                /* old_max = row_max */
                for (int64_t i = 0; i < i1 - i0; i += LANES) {
                    T(store)(old_max + i, T(load)(row_max + i));
                }
                if ((j0 < (i1 + query_start - 64)) || ((i0 + query_start + 1) < j1)) { /* the tile is partly outside the
                    mask */
                    /* weight_2 = select((j <= (i + query_start)) && (((i + query_start) + -63) <= j),
                       score * 0.36067376f, -INFINITY); row_max max= we ... */
                    for (int64_t i = 0; i < i1 - i0; i += LANES) {
                        const T(ints) t_3 = (i0 + i + T(lane)) + query_start;
                        const T(ints) t_4 = t_3 + (-63);
                        T(vec) row_max_in = T(load)(row_max + i);
                        for (int64_t j = 0; j < j1 - j0; j++) {
                            const T(vec) weight_2_new5 = T(pick)(__builtin_convertvector(((j0 + j) <= t_3) & (t_4 <= (j0
                                + j)), T(mask)), T(load)(score + j * 32 + i) * 0.36067376f, T(splat)(-INFINITY));
                            T(store)(weight_2 + j * 32 + i, weight_2_new5);
                            row_max_in = T(max)(row_max_in, weight_2_new5);
                        }
                        T(store)(row_max + i, row_max_in);
                    }
                }
                if (!((j0 < (i1 + query_start - 64)) || ((i0 + query_start + 1) < j1))) { /* the tile is wholly inside
                    the mask */
                    /* weight_2 = score * 0.36067376f; row_max max= weight_2 */
                    for (int64_t i_first = 0; i_first < i1 - i0; i_first += (2 * LANES)) {
                        T(vec) row_max_in[2];
                        UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += LANES) {
                            row_max_in[vector] = T(load)(row_max + i);
                        }
                        for (int64_t j = 0; j < j1 - j0; j++) {
                            UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += LANES) {
                                const T(vec) weight_2_new6 = T(load)(score + j * 32 + i) * 0.36067376f;
                                T(store)(weight_2 + j * 32 + i, weight_2_new6);
                                row_max_in[vector] = T(max)(row_max_in[vector], weight_2_new6);
                            }
                        }
                        UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += LANES) {
                            T(store)(row_max + i, row_max_in[vector]);
                        }
                    }
                }
                /* old_max = exp2(old_max - row_max); row_sum = row_sum * old_max */
                for (int64_t i = 0; i < i1 - i0; i += LANES) {
                    const T(vec) old_max_7 = T(load)(old_max + i);
                    const T(vec) old_max_new8 = T(exp2)(old_max_7 - T(load)(row_max + i));
                    T(store)(old_max + i, old_max_new8);
                    T(store)(row_sum + i, T(load)(row_sum + i) * old_max_new8);
                }
                /* weight_2 = exp2(weight_2 - row_max); row_sum += weight_2 */
                for (int64_t i = 0; i < i1 - i0; i += LANES) {
                    const T(vec) row_max_10 = T(load)(row_max + i);
                    T(vec) row_sum_in = (T(vec)){0};
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        const T(vec) weight_2_9 = T(load)(weight_2 + j * 32 + i);
                        const T(vec) weight_2_new11 = T(exp2)(weight_2_9 - row_max_10);
                        T(store)(weight_2 + j * 32 + i, weight_2_new11);
                        row_sum_in += weight_2_new11;
                    }
                    T(add)(row_sum + i, row_sum_compensation + i, row_sum_in, T(splat)(1));
                }
                /* sum[e][i] = sum * old_max + sum over j of v * weight_2 */
                if (__builtin_expect(((j0 < (i1 + query_start - 64)) || ((i0 + query_start + 1) < j1)) && !T(finite)(v +
                    j0 * v_row, v_row, j1 - j0, 64), 0)) { /* infinity and NaN affect only queries that see them */
#if OF(1, 0, 0)
                    T(dot1)(round_up(i1 - i0, 16), j1 - j0, v + j0 * v_row, v_row, weight_2, sum, old_max,
                        sum_compensation);
#else
                    T(dot8)(round_up(i1 - i0, LANES), j1 - j0, v + j0 * v_row, v_row, weight_2, sum, old_max,
                        sum_compensation);
#endif
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        T(mask) in_region[OF(2, 4, 8)] = {0};
                        if (T(finite)(v + j0 * v_row + j * v_row, 1, 64, 1)) continue;
                        for (int64_t i = 0; i < i1 - i0; i += LANES) {
                            const T(ints) t_12 = (i0 + i + T(lane)) + query_start;
                            in_region[i / LANES] = __builtin_convertvector(((j0 + j) <= t_12) & ((t_12 + (-63)) <= (j0 +
                                j)), T(mask));
                        }
                        T(add_seen)(64, sum, 32, v + j0 * v_row + j * v_row, 1, weight_2 + j * 32, in_region, i1 - i0);
                    }
                } else
#if OF(1, 0, 0)
                    T(dot2)(round_up(i1 - i0, 16), j1 - j0, v + j0 * v_row, v_row, weight_2, sum, old_max,
                        sum_compensation);
#else
                    T(dot9)(round_up(i1 - i0, LANES), j1 - j0, v + j0 * v_row, v_row, weight_2, sum, old_max,
                        sum_compensation);
#endif
            }
            {
                for (int64_t j0 = max(0, chunk * 64), j_end = min(n_k, i1 + query_start - 64); j0 < j_end; j0 += 64) {
                    const int64_t j1 = min(j0 + 64, j_end);
                    /* score[j][i] = sum over d of k * q_tile */
                    T(dot7)(round_up(i1 - i0, LANES), j1 - j0, k + j0 * k_row, k_row, q_tile, score);
                    if ((j0 < (chunk * 64)) || ((i0 + query_start - 63) < j1)) { /* the tile is partly outside the mask
                        */
                        /* weight = select((j <= ((i + query_start) + -64)) && ((chunk * 64) <= j),
                           (1 + (score * 0.25f)) + ((score * 0.03125f) * score), 0 ... */
                        for (int64_t i = 0; i < i1 - i0; i += LANES) {
                            const T(ints) t_13 = ((i0 + i + T(lane)) + query_start) + (-64);
                            T(vec) row_sum_2_in = (T(vec)){0};
                            for (int64_t j = 0; j < j1 - j0; j++) {
                                const T(vec) score_14 = T(load)(score + j * 32 + i);
                                const T(vec) weight_new15 = T(pick)(__builtin_convertvector(((j0 + j) <= t_13) &
                                    (-(int64_t)((chunk * 64) <= (j0 + j))), T(mask)),
                                    ((float)1 + (score_14 * 0.25f)) + ((score_14 * 0.03125f) * score_14),
                                    T(splat)(0.0f));
                                T(store)(weight + j * 32 + i, weight_new15);
                                row_sum_2_in += weight_new15;
                            }
                            T(add)(row_sum_2 + i, row_sum_2_compensation + i, row_sum_2_in, T(splat)(1));
                        }
                    }
                    if (!((j0 < (chunk * 64)) || ((i0 + query_start - 63) < j1))) { /* the tile is wholly inside the
                        mask */
                        /* weight = (1 + (score * 0.25f)) + ((score * 0.03125f) * score); row_sum_2 += weight */
                        for (int64_t i_first = 0; i_first < i1 - i0; i_first += (2 * LANES)) {
                            T(vec) row_sum_2_in[2];
                            UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += LANES) {
                                row_sum_2_in[vector] = (T(vec)){0};
                            }
                            for (int64_t j = 0; j < j1 - j0; j++) {
                                UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += LANES) {
                                    const T(vec) score_16 = T(load)(score + j * 32 + i);
                                    const T(vec) weight_new17 = ((float)1 + (score_16 * 0.25f)) + ((score_16 * 0.03125f)
                                        * score_16);
                                    T(store)(weight + j * 32 + i, weight_new17);
                                    row_sum_2_in[vector] += weight_new17;
                                }
                            }
                            UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += LANES) {
                                T(add)(row_sum_2 + i, row_sum_2_compensation + i, row_sum_2_in[vector], T(splat)(1));
                            }
                        }
                    }
                    /* sum_2[e][i] += sum over j of v * weight */
                    if (__builtin_expect(((j0 < (chunk * 64)) || ((i0 + query_start - 63) < j1)) && !T(finite)(v + j0 *
                        v_row, v_row, j1 - j0, 64), 0)) { /* infinity and NaN affect only queries that see them */
#if OF(1, 0, 0)
                        T(dot3)(round_up(i1 - i0, 16), j1 - j0, v + j0 * v_row, v_row, weight, sum_2,
                            sum_2_compensation);
#else
                        T(dot10)(round_up(i1 - i0, LANES), j1 - j0, v + j0 * v_row, v_row, weight, sum_2,
                            sum_2_compensation);
#endif
                        for (int64_t j = 0; j < j1 - j0; j++) {
                            T(mask) in_region[OF(2, 4, 8)] = {0};
                            if (T(finite)(v + j0 * v_row + j * v_row, 1, 64, 1)) continue;
                            const int t_18 = (chunk * 64) <= (j0 + j);
                            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                                in_region[i / LANES] = __builtin_convertvector(((j0 + j) <= (((i0 + i + T(lane)) +
                                    query_start) + (-64))) & (-(int64_t)t_18), T(mask));
                            }
                            T(add_seen)(64, sum_2, 32, v + j0 * v_row + j * v_row, 1, weight + j * 32, in_region,
                                i1 - i0);
                        }
                    } else
#if OF(1, 0, 0)
                        T(dot4)(round_up(i1 - i0, 16), j1 - j0, v + j0 * v_row, v_row, weight, sum_2,
                            sum_2_compensation);
#else
                        T(dot11)(round_up(i1 - i0, LANES), j1 - j0, v + j0 * v_row, v_row, weight, sum_2,
                            sum_2_compensation);
#endif
                }
            }
            /* sum_2 = select(((row_sum * exp2(row_max - max(row_max,
               0.0f))) + ((row_sum_2 + row_sum_from_state) * exp2(0.0f - max(row_max, 0. ... */
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                const T(vec) row_max_19 = T(load)(row_max + i);
                const T(vec) t_20 = T(max)(row_max_19, T(splat)(0.0f));
                const T(vec) t_21 = T(exp2)(row_max_19 - t_20);
                const T(vec) t_22 = T(exp2)(0.0f - t_20);
                const T(vec) t_23 = (T(load)(row_sum + i) * t_21) + ((T(load)(row_sum_2 + i) +
                    T(load)(row_sum_from_state + i)) * t_22);
                const T(mask) t_24 = t_23 == 0.0f;
                for (int64_t e = 0; e < 64; e++) {
                    T(store)(sum_2 + e * 32 + i, T(pick)(t_24, T(splat)(0.0f),
                        ((T(load)(sum + e * 32 + i) * t_21) + ((T(load)(sum_2 + e * 32 + i) + T(load)(sum_from_state + e
                        * 32 + i)) * t_22)) / t_23));
                }
            }
            /* out = sum_2, transposed back */
            T(transpose_out)(sum_2, 32, 64, i1 - i0, out + m * out_head + i0 * out_row, out_row, 0);
        }
    }
}

/* For a thread that works on the head alone: adds a chunk to the carried state. */
TARGET APART void T(based_keys_alone)(const struct call *call, int64_t task, const struct share *share,
    int64_t iteration)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t n_k = call->p.n_k;
    const int64_t chunk = iteration;
    const int64_t chunk0 = share->chunk0;
    const int64_t g = task % kv_heads;
    const int64_t b = task / kv_heads;
    const float *const k = (const float *)call->array[ARRAY_k].at + b * call->array[ARRAY_k].strides.batch + g /
        call->sharing * call->array[ARRAY_k].strides.head;
    const int64_t k_row = call->array[ARRAY_k].strides.row;
    const float *const v = (const float *)call->array[ARRAY_v].at + b * call->array[ARRAY_v].strides.batch + g *
        call->array[ARRAY_v].strides.head;
    const int64_t v_row = call->array[ARRAY_v].strides.row;
    float *const key_features = (float *)(void *)(share->work + 0); /* [f: 273, j: 64 of 80] */
    float *const state_sum = (float *)(void *)(share->slots + 0); /* [chunk, f: (LANES + 272)] */
    float *const carried = (float *)(void *)(share->shared + 1152); /* [f: 273, e: 64] */
    float *const carried_compensation = (float *)(void *)(share->shared + 72192); /* [f: 273, e: 64] */
    float *const k_tile = (float *)(void *)(share->work + 87360); /* [d: 16, j: 64 of 80] */
    /* state_sum = 0.0f */
    for (int64_t f = 0; f < 273; f += LANES) {
        T(store)(state_sum + (chunk - chunk0) * 17760 + f, T(splat)(0.0f));
    }
    for (int64_t j0 = chunk * 64, j_end = min(n_k, (chunk + 1) * 64); j0 < j_end; j0 += 64) {
        const int64_t j1 = min(j0 + 64, j_end);
        /* k_tile = k, with zeros beyond the last row */
        T(transpose_padded)(k + j0 * k_row, k_row, j1 - j0, 16, k_tile, 80, 64);
        /* key_features = select(f < 17, select(min(f, 16) < 1, 1.0f, k_tile), k_tile * k_tile) */
        for (int64_t f = 0; f < 273; f++) {
            for (int64_t j = 0; j < j1 - j0; j += LANES) {
                T(store)(key_features + f * 80 + j, (f < 17) ? (min(f,
                    16) < 1) ? T(splat)(1.0f) : T(load)(k_tile + max(min(f, 16) - 1,
                    0) * 80 + j) : T(load)(k_tile + (max(f - 17, 0) / 16) * 80 + j) * T(load)(k_tile + (max(f - 17,
                    0) % 16) * 80 + j));
            }
        }
        /* state_sum += key_features */
        for (int64_t f = 0; f < 273; f++) {
            T(vec) lane_sums = T(splat)(0);
            for (int64_t j = 0; j < j1 - j0; j += LANES) {
                const T(vec) term = T(load)(key_features + f * 80 + j);
                lane_sums += j + LANES <= j1 - j0 ? term : T(pick)(__builtin_convertvector(j + T(lane) < j1 - j0,
                    T(mask)), term, T(splat)(0));
            }
            const float total = T(lane_sum)(lane_sums);
            state_sum[(chunk - chunk0) * 17760 + f] += total;
        }
        /* carried[f][e] += sum over j of key_features * v */
#if OF(1, 0, 0)
        T(dot8)(j1 - j0, key_features, v + j0 * v_row, v_row, carried, carried_compensation);
#else
        T(dot12)(j1 - j0, key_features, v + j0 * v_row, v_row, carried, carried_compensation);
#endif
    }
}

/* Adds to the carried state the sums that no product computes. */
TARGET APART void T(based_fold_alone)(const struct call *call, int64_t task, const struct share *share,
    int64_t iteration)
{
    (void)call;
    (void)task;
    const int64_t f0 = iteration * 32, f1 = min(f0 + 32, 273);
    const int64_t chunk0 = share->chunk0;
    const int64_t chunk1 = share->chunk1;
    float *const state_sum = (float *)(void *)(share->slots + 0); /* [chunk, f: (LANES + 272)] */
    float *const carried_sum = (float *)(void *)(share->shared + 0); /* [f: (LANES + 272)] */
    float *const carried_sum_compensation = (float *)(void *)(share->shared + 71040); /* [f: (LANES + 272)] */
    for (int64_t chunk = chunk0; chunk < chunk1; chunk++) {
        /* carried_sum += state_sum */
        for (int64_t f = f0; f < f1; f += LANES) {
            T(add)(carried_sum + f, carried_sum_compensation + f, T(load)(state_sum + (chunk - chunk0) * 17760 + f),
                T(splat)(1));
        }
    }
}

/* Computes head number `task`. Each thread on the head calls this with `share`. */
TARGET static void T(based_linear)(const struct call *call, int64_t task, struct share *share)
{
    const int64_t n_k = call->p.n_k;
    const int64_t chunks = n_k > 0 ? (n_k - 1) / 64 + 1 : 1;
    for (int64_t iteration = share->number; iteration < ((273 + 31) / 32); iteration += share->threads)
        T(based_begin)(call, task, share, iteration);
    synchronise(share);
    const int64_t first = 0;
    if (share->threads == 1) { /* queries read the carried state before their chunk is added */
        unsigned char *const slots = share->slots;
        for (share->chunk0 = first; share->chunk0 < chunks; share->chunk0++) {
            share->chunk1 = share->chunk0 + 1;
            share->slots = share->shared;
            T(based_queries)(call, task, share, share->chunk0);
            share->slots = slots;
            T(based_keys_alone)(call, task, share, share->chunk0);
            for (int64_t iteration = 0; iteration < ((273 + 31) / 32); iteration++)
                T(based_fold_alone)(call, task, share, iteration);
        }
    } else {
        const int64_t length = segment_length(share, chunks - first);
        for (int64_t segment = share->number; first + segment * length < chunks; segment += share->threads) {
            share->chunk0 = first + segment * length;
            share->chunk1 = min(share->chunk0 + length, chunks);
            for (int64_t iteration = share->chunk0; iteration < share->chunk1; iteration++)
                T(based_keys)(call, task, share, iteration);
            for (int64_t group = 0; group < 16; group++) {
                await_segment(share, group, segment);
                const int64_t end = (group + 1) * ((273 + 31) / 32) / 16;
                for (int64_t iteration = group * ((273 + 31) / 32) / 16; iteration < end; iteration++)
                    T(based_fold)(call, task, share, iteration);
                pass_segment(share, group, segment);
            }
            for (int64_t iteration = share->chunk0; iteration < share->chunk1; iteration++)
                T(based_queries)(call, task, share, iteration);
        }
        share->segments += (max(chunks - first, 0) + length - 1) / length;
    }
    synchronise(share);
}

/* Initialises the states: they contain no keys yet. */
TARGET APART void T(based_few_begin)(const struct call *call, int64_t task, const struct share *share,
    int64_t iteration)
{
    (void)task;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t r0 = iteration * 16, r1 = min(r0 + 16, rows);
    float *const carried_max = (float *)(void *)(share->shared + 0); /* [r: 64] */
    float *const carried_sum = (float *)(void *)(share->shared + 256); /* [r: 64] */
    float *const carried_sum_compensation = (float *)(void *)(share->shared + 33664); /* [r: 64] */
    float *const carried_sum_2 = (float *)(void *)(share->shared + 512); /* [r: 64] */
    float *const carried_sum_2_compensation = (float *)(void *)(share->shared + 33920); /* [r: 64] */
    float *const carried = (float *)(void *)(share->shared + 768); /* [r: 64, e: 64] */
    float *const carried_compensation = (float *)(void *)(share->shared + 34176); /* [r: 64, e: 64] */
    float *const carried_2 = (float *)(void *)(share->shared + 17216); /* [r: 64, e: 64] */
    float *const carried_2_compensation = (float *)(void *)(share->shared + 50624); /* [r: 64, e: 64] */
    /* carried_max = -FLT_MAX; carried_sum = 0.0f; carried_sum_compensation = 0.0f; carried_sum_2 = 0.0f;
       carried_sum_2_compensation = 0.0f */
    for (int64_t r = r0; r < r1; r += LANES) {
        T(store)(carried_max + r, T(splat)(-FLT_MAX));
        T(store)(carried_sum + r, T(splat)(0.0f));
        T(store)(carried_sum_compensation + r, T(splat)(0.0f));
        T(store)(carried_sum_2 + r, T(splat)(0.0f));
        T(store)(carried_sum_2_compensation + r, T(splat)(0.0f));
    }
    /* carried = 0.0f; carried_compensation = 0.0f; carried_2 = 0.0f; carried_2_compensation = 0.0f */
    for (int64_t r = r0; r < r1; r++) {
        for (int64_t e_first = 0; e_first < 64; e_first += OF(64, 16, 8)) {
            UNROLL for (int64_t vector = 0, e = e_first; vector < OF(4, 2, 2); vector++, e += LANES) {
                T(store)(carried + r * 64 + e, T(splat)(0.0f));
                T(store)(carried_compensation + r * 64 + e, T(splat)(0.0f));
                T(store)(carried_2 + r * 64 + e, T(splat)(0.0f));
                T(store)(carried_2_compensation + r * 64 + e, T(splat)(0.0f));
            }
        }
    }
}

/* Sums the keys of a chunk, from zero, into its slot. */
TARGET APART void T(based_few_keys)(const struct call *call, int64_t task, const struct share *share, int64_t iteration)
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
    float *const score = (float *)(void *)(share->work + 0); /* [r: 64, j: 128 of 144] */
    float *const weight = (float *)(void *)(share->work + 36864); /* [r: 64, j: 128 of 144] */
    float *const weight_2 = (float *)(void *)(share->work + 36864); /* [r: 64, j: 128 of 144] */
    float *const state_max = (float *)(void *)(share->slots + 0); /* [chunk, r: 64] */
    float *const old_max = (float *)(void *)(share->work + 73728); /* [r: 64] */
    float *const state_sum = (float *)(void *)(share->slots + 256); /* [chunk, r: 64] */
    float *const state_sum_2 = (float *)(void *)(share->slots + 512); /* [chunk, r: 64] */
    float *const state = (float *)(void *)(share->slots + 768); /* [chunk, r: 64, e: 64] */
    float *const state_2 = (float *)(void *)(share->slots + 17216); /* [chunk, r: 64, e: 64] */
    float *const q_tile = (float *)(void *)(share->work + 73984); /* [r: 64, d: 16] */
    /* q_tile = q, with zeros beyond the last row */
    for (int64_t r = 0; r < rows; r++)
        for (int64_t d = 0; d < 16; d++)
            q_tile[r * 16 + d] = q[r / n_q * q_head + r % n_q * q_row + d];
    /* state_max = -FLT_MAX; state_sum = 0.0f; state_sum_2 = 0.0f */
    for (int64_t r = 0; r < rows; r += LANES) {
        T(store)(state_max + (chunk - chunk0) * 8416 + r, T(splat)(-FLT_MAX));
        T(store)(state_sum + (chunk - chunk0) * 8416 + r, T(splat)(0.0f));
        T(store)(state_sum_2 + (chunk - chunk0) * 8416 + r, T(splat)(0.0f));
    }
    /* state = 0.0f; state_2 = 0.0f */
    for (int64_t r = 0; r < rows; r++) {
        for (int64_t e_first = 0; e_first < 64; e_first += OF(64, 16, 8)) {
            UNROLL for (int64_t vector = 0, e = e_first; vector < OF(4, 2, 2); vector++, e += LANES) {
                T(store)(state + (chunk - chunk0) * 8416 + r * 64 + e, T(splat)(0.0f));
                T(store)(state_2 + (chunk - chunk0) * 8416 + r * 64 + e, T(splat)(0.0f));
            }
        }
    }
    for (int64_t j0 = max(chunk * 1024, query_start - 63), j_end = min(min(n_k, (chunk + 1) * 1024), n_q + query_start);
        j0 < j_end; j0 += 128) {
        const int64_t j1 = min(j0 + 128, j_end);
        /* score[r][j] = sum over d of q_tile * k */
#if OF(1, 0, 0)
        T(dot9)(rows, j1 - j0, q_tile, k + j0 * k_row, k_row, score, attn_is_intel() ? 16 : 0);
#else
        T(dot13)(rows, j1 - j0, q_tile, k + j0 * k_row, k_row, score);
#endif
        /* weight_2 = score * 0.36067376f */
        for (int64_t r = 0; r < rows; r++) {
            for (int64_t j = 0; j < j1 - j0; j += LANES) {
                T(store)(weight_2 + r * 144 + j, T(load)(score + r * 144 + j) * 0.36067376f);
            }
        }
        /* old_max = state_max */
        for (int64_t r = 0; r < rows; r += LANES) {
            T(store)(old_max + r, T(load)(state_max + (chunk - chunk0) * 8416 + r));
        }
        if ((j0 < (n_q + query_start - 64)) || ((query_start + 1) < j1)) { /* the tile is partly outside the mask */
            /* weight_2 = select((j <= ((r % n_q) + query_start)) && ((((r % n_q) + query_start) + -63) <= j), weight_2,
               -INFINITY) */
            for (int64_t j = 0; j < j1 - j0; j += LANES) {
                const T(ints) t_0 = j0 + j + T(lane);
                for (int64_t r = 0; r < rows; r++) {
                    const int64_t t_1 = (r % n_q) + query_start;
                    T(store)(weight_2 + r * 144 + j, T(pick)(__builtin_convertvector((t_0 <= t_1) & (((r % n_q) +
                        query_start - 63) <= t_0), T(mask)), T(load)(weight_2 + r * 144 + j), T(splat)(-INFINITY)));
                }
            }
        }
        /* state_max max= weight_2 */
        for (int64_t r = 0; r < rows; r++) {
            T(vec) lanes_max = T(splat)(-INFINITY);
            for (int64_t j = 0; j < j1 - j0; j += LANES) {
                const T(vec) term = T(load)(weight_2 + r * 144 + j);
                lanes_max = T(max)(lanes_max, j + LANES <= j1 - j0 ? term : T(pick)(__builtin_convertvector(j + T(lane)
                    < j1 - j0, T(mask)), term, T(splat)(-INFINITY)));
            }
            const float largest = T(lane_max)(lanes_max);
            if (largest > state_max[(chunk - chunk0) * 8416 + r]) state_max[(chunk - chunk0) * 8416 + r] = largest;
        }
        /* old_max = exp2(old_max - state_max); state_sum = state_sum * old_max */
        for (int64_t r = 0; r < rows; r += LANES) {
            const T(vec) old_max_2 = T(load)(old_max + r);
            const T(vec) old_max_new3 = T(exp2)(old_max_2 - T(load)(state_max + (chunk - chunk0) * 8416 + r));
            T(store)(old_max + r, old_max_new3);
            T(store)(state_sum + (chunk - chunk0) * 8416 + r, T(load)(state_sum + (chunk - chunk0) * 8416 + r) *
                old_max_new3);
        }
        /* weight_2 = exp2(weight_2 - state_max) */
        for (int64_t j = 0; j < j1 - j0; j += LANES) {
            for (int64_t r = 0; r < rows; r++) {
                T(store)(weight_2 + r * 144 + j, T(exp2)(T(load)(weight_2 + r * 144 + j) - (state_max[(chunk - chunk0) *
                    8416 + r])));
            }
        }
        /* state_sum += weight_2 */
        for (int64_t r = 0; r < rows; r++) {
            T(vec) lane_sums = T(splat)(0);
            for (int64_t j = 0; j < j1 - j0; j += LANES) {
                const T(vec) term = T(load)(weight_2 + r * 144 + j);
                lane_sums += j + LANES <= j1 - j0 ? term : T(pick)(__builtin_convertvector(j + T(lane) < j1 - j0,
                    T(mask)), term, T(splat)(0));
            }
            const float total = T(lane_sum)(lane_sums);
            state_sum[(chunk - chunk0) * 8416 + r] += total;
        }
        /* state = state * old_max */
        for (int64_t r = 0; r < rows; r++) {
            for (int64_t e_first = 0; e_first < 64; e_first += OF(64, 16, 8)) {
                UNROLL for (int64_t vector = 0, e = e_first; vector < OF(4, 2, 2); vector++, e += LANES) {
                    T(store)(state + (chunk - chunk0) * 8416 + r * 64 + e,
                        T(load)(state + (chunk - chunk0) * 8416 + r * 64 + e) * old_max[r]);
                }
            }
        }
        /* state[r][e] += sum over j of weight_2 * v */
        if (__builtin_expect(((j0 < (n_q + query_start - 64)) || ((query_start + 1) < j1)) && !T(finite)(v + j0 * v_row,
            v_row, j1 - j0, 64), 0)) { /* infinity and NaN affect only queries that see them */
#if OF(1, 0, 0)
            T(dot10)(rows, j1 - j0, weight_2, v + j0 * v_row, v_row, state + (chunk - chunk0) * 8416);
#else
            T(dot14)(rows, j1 - j0, weight_2, v + j0 * v_row, v_row, state + (chunk - chunk0) * 8416);
#endif
            for (int64_t r = 0; r < rows; r++) {
                T(mask) in_region[OF(8, 16, 32)] = {0};
                const int64_t t_5 = (r % n_q) + query_start;
                const int64_t t_6 = (r % n_q) + query_start - 63;
                for (int64_t j = 0; j < j1 - j0; j += LANES) {
                    const T(ints) t_4 = j0 + j + T(lane);
                    in_region[j / LANES] = __builtin_convertvector((t_4 <= t_5) & (t_6 <= t_4), T(mask));
                }
                T(add_seen_lanes)(64, state + (chunk - chunk0) * 8416 + r * 64, weight_2 + r * 144, v + j0 * v_row,
                    v_row, j1 - j0, in_region);
            }
        } else
#if OF(1, 0, 0)
            T(dot11)(rows, j1 - j0, weight_2, v + j0 * v_row, v_row, state + (chunk - chunk0) * 8416,
                attn_is_intel() ? 16 : 0);
#else
            T(dot15)(rows, j1 - j0, weight_2, v + j0 * v_row, v_row, state + (chunk - chunk0) * 8416);
#endif
    }
    {
        for (int64_t j0 = chunk * 1024, j_end = min(min(n_k, (chunk + 1) * 1024), min(n_q + query_start,
            n_q + query_start - 64)); j0 < j_end; j0 += 128) {
            const int64_t j1 = min(j0 + 128, j_end);
            /* score[r][j] = sum over d of q_tile * k */
#if OF(1, 0, 0)
            T(dot9)(rows, j1 - j0, q_tile, k + j0 * k_row, k_row, score, attn_is_intel() ? 16 : 0);
#else
            T(dot13)(rows, j1 - j0, q_tile, k + j0 * k_row, k_row, score);
#endif
            /* weight = (1 + (score * 0.25f)) + ((score * 0.03125f) * score) */
            for (int64_t r = 0; r < rows; r++) {
                for (int64_t j = 0; j < j1 - j0; j += LANES) {
                    const T(vec) score_7 = T(load)(score + r * 144 + j);
                    T(store)(weight + r * 144 + j, ((float)1 + (score_7 * 0.25f)) + ((score_7 * 0.03125f) * score_7));
                }
            }
            if (min(query_start + 1, query_start - 63) < j1) { /* the tile is partly outside the mask */
                /* weight = select((j <= ((r % n_q) + query_start)) && not((((r % n_q) + query_start) + -63) <= j),
                   weight, 0.0f) */
                for (int64_t j = 0; j < j1 - j0; j += LANES) {
                    const T(ints) t_8 = j0 + j + T(lane);
                    for (int64_t r = 0; r < rows; r++) {
                        const int64_t t_9 = (r % n_q) + query_start;
                        T(store)(weight + r * 144 + j, T(pick)(__builtin_convertvector((t_8 <= t_9) & (~(((r % n_q) +
                            query_start - 63) <= t_8)), T(mask)), T(load)(weight + r * 144 + j), T(splat)(0.0f)));
                    }
                }
            }
            /* state_sum_2 += weight */
            for (int64_t r = 0; r < rows; r++) {
                T(vec) lane_sums = T(splat)(0);
                for (int64_t j = 0; j < j1 - j0; j += LANES) {
                    const T(vec) term = T(load)(weight + r * 144 + j);
                    lane_sums += j + LANES <= j1 - j0 ? term : T(pick)(__builtin_convertvector(j + T(lane) < j1 - j0,
                        T(mask)), term, T(splat)(0));
                }
                const float total = T(lane_sum)(lane_sums);
                state_sum_2[(chunk - chunk0) * 8416 + r] += total;
            }
            /* state_2[r][e] += sum over j of weight * v */
            if (__builtin_expect((min(query_start + 1, query_start - 63) < j1) && !T(finite)(v + j0 * v_row, v_row,
                j1 - j0, 64), 0)) { /* infinity and NaN affect only queries that see them */
#if OF(1, 0, 0)
                T(dot10)(rows, j1 - j0, weight, v + j0 * v_row, v_row, state_2 + (chunk - chunk0) * 8416);
#else
                T(dot14)(rows, j1 - j0, weight, v + j0 * v_row, v_row, state_2 + (chunk - chunk0) * 8416);
#endif
                for (int64_t r = 0; r < rows; r++) {
                    T(mask) in_region[OF(8, 16, 32)] = {0};
                    const int64_t t_11 = (r % n_q) + query_start;
                    const int64_t t_12 = (r % n_q) + query_start - 63;
                    for (int64_t j = 0; j < j1 - j0; j += LANES) {
                        const T(ints) t_10 = j0 + j + T(lane);
                        in_region[j / LANES] = __builtin_convertvector((t_10 <= t_11) & (~(t_12 <= t_10)), T(mask));
                    }
                    T(add_seen_lanes)(64, state_2 + (chunk - chunk0) * 8416 + r * 64, weight + r * 144, v + j0 * v_row,
                        v_row, j1 - j0, in_region);
                }
            } else
#if OF(1, 0, 0)
                T(dot11)(rows, j1 - j0, weight, v + j0 * v_row, v_row, state_2 + (chunk - chunk0) * 8416,
                    attn_is_intel() ? 16 : 0);
#else
                T(dot15)(rows, j1 - j0, weight, v + j0 * v_row, v_row, state_2 + (chunk - chunk0) * 8416);
#endif
        }
    }
}

/* Folds the slots of the current chunks, in order, for some elements of the states. */
TARGET APART void T(based_few_fold)(const struct call *call, int64_t task, const struct share *share, int64_t iteration)
{
    (void)task;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t r0 = iteration * 16, r1 = min(r0 + 16, rows);
    const int64_t chunk0 = share->chunk0;
    const int64_t chunk1 = share->chunk1;
    float *const state_max = (float *)(void *)(share->slots + 0); /* [chunk, r: 64] */
    float *const state_sum = (float *)(void *)(share->slots + 256); /* [chunk, r: 64] */
    float *const state_sum_2 = (float *)(void *)(share->slots + 512); /* [chunk, r: 64] */
    float *const state = (float *)(void *)(share->slots + 768); /* [chunk, r: 64, e: 64] */
    float *const state_2 = (float *)(void *)(share->slots + 17216); /* [chunk, r: 64, e: 64] */
    float *const carried_max = (float *)(void *)(share->shared + 0); /* [r: 64] */
    float *const carried_factor = (float *)(void *)(share->work + 0); /* [r: 64] */
    float *const slot_factor = (float *)(void *)(share->work + 256); /* [r: 64] */
    float *const carried_sum = (float *)(void *)(share->shared + 256); /* [r: 64] */
    float *const carried_sum_compensation = (float *)(void *)(share->shared + 33664); /* [r: 64] */
    float *const carried_sum_2 = (float *)(void *)(share->shared + 512); /* [r: 64] */
    float *const carried_sum_2_compensation = (float *)(void *)(share->shared + 33920); /* [r: 64] */
    float *const carried = (float *)(void *)(share->shared + 768); /* [r: 64, e: 64] */
    float *const carried_compensation = (float *)(void *)(share->shared + 34176); /* [r: 64, e: 64] */
    float *const carried_2 = (float *)(void *)(share->shared + 17216); /* [r: 64, e: 64] */
    float *const carried_2_compensation = (float *)(void *)(share->shared + 50624); /* [r: 64, e: 64] */
    for (int64_t chunk = chunk0; chunk < chunk1; chunk++) {
        /* before_max = carried_max; carried_max max= state_max; carried_factor = exp2(before_max - carried_max);
           slot_factor = exp2(state_ ... */
        for (int64_t r = r0; r < r1; r += LANES) {
            const T(vec) carried_max_13 = T(load)(carried_max + r);
            const T(vec) before_max_new14 = carried_max_13;
            const T(vec) state_max_15 = T(load)(state_max + (chunk - chunk0) * 8416 + r);
            const T(vec) carried_max_new16 = T(max)(T(load)(carried_max + r), state_max_15);
            T(store)(carried_max + r, carried_max_new16);
            const T(vec) carried_factor_new17 = T(exp2)(before_max_new14 - carried_max_new16);
            T(store)(carried_factor + r, carried_factor_new17);
            const T(vec) slot_factor_new18 = T(exp2)(state_max_15 - carried_max_new16);
            T(store)(slot_factor + r, slot_factor_new18);
            const T(vec) carried_sum_19 = T(load)(carried_sum + r);
            T(store)(carried_sum + r, carried_sum_19 * carried_factor_new17);
            T(store)(carried_sum_compensation + r, T(load)(carried_sum_compensation + r) * carried_factor_new17);
            T(add)(carried_sum + r, carried_sum_compensation + r, T(load)(state_sum + (chunk - chunk0) * 8416 + r) *
                slot_factor_new18, T(splat)(1));
        }
        /* before_sum_2 = carried_sum_2; carried_sum_2 += state_sum_2 */
        for (int64_t r = r0; r < r1; r += LANES) {
            T(add)(carried_sum_2 + r, carried_sum_2_compensation + r,
                T(load)(state_sum_2 + (chunk - chunk0) * 8416 + r), T(splat)(1));
        }
        /* before = carried; carried = carried * carried_factor; carried_compensation = carried_compensation *
           carried_factor; carried += s ... */
        for (int64_t r = r0; r < r1; r++) {
            for (int64_t e_first = 0; e_first < 64; e_first += OF(64, 16, 8)) {
                UNROLL for (int64_t vector = 0, e = e_first; vector < OF(4, 2, 2); vector++, e += LANES) {
                    const T(vec) carried_20 = T(load)(carried + r * 64 + e);
                    const float carried_factor_21 = carried_factor[r];
                    T(store)(carried + r * 64 + e, carried_20 * carried_factor_21);
                    T(store)(carried_compensation + r * 64 + e, T(load)(carried_compensation + r * 64 + e) *
                        carried_factor_21);
                    T(add)(carried + r * 64 + e, carried_compensation + r * 64 + e,
                        T(load)(state + (chunk - chunk0) * 8416 + r * 64 + e) * slot_factor[r], T(splat)(1));
                    T(add)(carried_2 + r * 64 + e, carried_2_compensation + r * 64 + e,
                        T(load)(state_2 + (chunk - chunk0) * 8416 + r * 64 + e), T(splat)(1));
                }
            }
        }
    }
}

/* Processes a tile of queries: reads the states. */
TARGET APART void T(based_few_queries)(const struct call *call, int64_t task, const struct share *share,
    int64_t iteration)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_q = call->p.n_q;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t r0 = iteration * 16, r1 = min(r0 + 16, rows);
    const int64_t g = task % kv_heads;
    const int64_t b = task / kv_heads;
    float *const carried_max = (float *)(void *)(share->shared + 0); /* [r: 64] */
    float *const carried_sum = (float *)(void *)(share->shared + 256); /* [r: 64] */
    float *const carried_sum_2 = (float *)(void *)(share->shared + 512); /* [r: 64] */
    float *const carried = (float *)(void *)(share->shared + 768); /* [r: 64, e: 64] */
    float *const carried_2 = (float *)(void *)(share->shared + 17216); /* [r: 64, e: 64] */
    float *const result = (float *)(void *)(share->work + 0); /* [r: 64, e: 64] */
    float *const out = (float *)call->array[ARRAY_out].at + b * call->array[ARRAY_out].strides.batch + g * members *
        call->array[ARRAY_out].strides.head;
    const int64_t out_row = call->array[ARRAY_out].strides.row;
    const int64_t out_head = call->array[ARRAY_out].strides.head;
    /* result = select(((carried_sum * exp2(carried_max - max(carried_max,
       0.0f))) + (carried_sum_2 * exp2(0.0f - max(carried_max, 0.0f ... */
    for (int64_t r = r0; r < r1; r++) {
        for (int64_t e = 0; e < 64; e += LANES) {
            const float carried_max_22 = carried_max[r];
            const float t_23 = (carried_max_22 > 0.0f || carried_max_22 != carried_max_22 ? carried_max_22 : 0.0f);
            const float t_24 = exp2f(carried_max_22 - t_23);
            const float t_25 = exp2f(0.0f - t_23);
            const float t_26 = (carried_sum[r] * t_24) + (carried_sum_2[r] * t_25);
            T(store)(result + r * 64 + e, (t_26 == 0.0f) ? T(splat)(0.0f) : ((T(load)(carried + r * 64 + e) * t_24) +
                (T(load)(carried_2 + r * 64 + e) * t_25)) / t_26);
        }
    }
    /* out = result */
    for (int64_t r = r0; r < r1; r++)
        for (int64_t e = 0; e < 64; e++)
            out[r / n_q * out_head + r % n_q * out_row + e] = result[r * 64 + e];
}

/* Computes head number `task`. Each thread on the head calls this with `share`. */
TARGET static void T(based_few)(const struct call *call, int64_t task, struct share *share)
{
    const int64_t n_k = call->p.n_k;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t chunks = n_k > 0 ? (n_k - 1) / 1024 + 1 : 1;
    for (int64_t iteration = share->number; iteration < ((rows + 15) / 16); iteration += share->threads)
        T(based_few_begin)(call, task, share, iteration);
    synchronise(share);
    const int64_t first = 0;
    const int64_t length = segment_length(share, chunks - first);
    for (int64_t segment = share->number; first + segment * length < chunks; segment += share->threads) {
        share->chunk0 = first + segment * length;
        share->chunk1 = min(share->chunk0 + length, chunks);
        for (int64_t iteration = share->chunk0; iteration < share->chunk1; iteration++)
            T(based_few_keys)(call, task, share, iteration);
        for (int64_t group = 0; group < 16; group++) {
            await_segment(share, group, segment);
            const int64_t end = (group + 1) * ((rows + 15) / 16) / 16;
            for (int64_t iteration = group * ((rows + 15) / 16) / 16; iteration < end; iteration++)
                T(based_few_fold)(call, task, share, iteration);
            pass_segment(share, group, segment);
        }
    }
    share->segments += (max(chunks - first, 0) + length - 1) / length;
    synchronise(share);
    for (int64_t iteration = share->number; iteration < ((rows + 15) / 16); iteration += share->threads)
        T(based_few_queries)(call, task, share, iteration);
    synchronise(share);
}
#include <attnrt/kernel/end.h>
#else
#ifdef __cplusplus
#error "based.c is C, not C++: compile it with a C compiler"
#elif !defined __STDC_VERSION__ || __STDC_VERSION__ < 199901L
#error "based.c is C11, not C89: compile it without -std=, or with -std=gnu11"
extern int based_is_c11;
#elif !defined __GNUC__
#error "based.c uses GNU C vector extensions: compile it with gcc or clang"
extern int based_is_gnu_c;
#else
#include "based.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include <attnrt/kernel/optimize.h>
#include <attnrt/kernel/call.h>

/* the numbers of the arrays of a call */
enum {
    ARRAY_q, ARRAY_k, ARRAY_v, ARRAY_out
};

#ifdef __FILE_NAME__
#define LOOPS __FILE_NAME__ /* this file, whose first part has the loops */
#else
#define LOOPS "based.c"
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
#define MAX_STEPS 128
#define MAX_TERMS 16
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
#define MAX_STEPS 128
#define MAX_TERMS 16
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
#define MAX_STEPS 128
#define MAX_TERMS 16
#define MAX_LANES 64
#define OF(v4, v3, any) any /* a number of each target */
#define SECTION
#include LOOPS
#undef SECTION

/* ==== tables for the library that calls these functions (attnrt/kernel/call.h) ==== */
static const struct array array[] = {
    {.name = "q", .access = {ACCESS_READ, ACCESS_NONE}, .dtype = ATTN_F32, .rows = ROWS_OF_QUERIES, .argument = {0, 0},
        .strides = offsetof(struct attn_problem, q)},
    {.name = "k", .access = {ACCESS_READ, ACCESS_NONE}, .dtype = ATTN_F32, .rows = ROWS_OF_KEYS, .argument = {1, 1},
        .strides = offsetof(struct attn_problem, k)},
    {.name = "v", .access = {ACCESS_READ, ACCESS_NONE}, .dtype = ATTN_F32, .rows = ROWS_OF_KEYS, .argument = {2, 2},
        .strides = offsetof(struct attn_problem, v)},
    {.name = "out", .access = {ACCESS_WRITTEN, ACCESS_NONE}, .dtype = ATTN_F32, .rows = ROWS_OF_QUERIES, .argument = {3,
        3}, .strides = offsetof(struct attn_problem, out)},
};

#if defined(__x86_64__)
static int runs_v4(void)
{
    return attn_x86_64_level() >= 4;
}
static const struct program programs_v4[] = {
    {.role = RUN_FORWARD, .form = FORM_FEW, .from = 540,
     .head = based_few_v4, .tile = 0, .own = 78080, .few_rows = 64, .of_pair = 80, .shared = 67072, .slot = 33664,
         .slots = 4, .together = 1},
    {.role = RUN_FORWARD, .from = 540,
     .head = based_linear_v4, .tile = 0, .own = 92480, .of_token = 17745, .in_keys = 1, .shared = 142080, .slot = 71040,
         .slots = 4, .together = 1},
    {.role = RUN_FORWARD, .form = FORM_FEW,
     .head = based_few_v4, .tile = 0, .own = 78080, .few_rows = 64, .lanes = 16, .of_pair = 80, .shared = 67072,
         .slot = 33664, .slots = 4, .together = 1},
    {.role = RUN_FORWARD,
     .rows = based_rows_v4, .tile = 32, .own = 47872, .of_pair = 80},
};
#endif
#if defined(__x86_64__)
static int runs_v3(void)
{
    return attn_x86_64_level() >= 3;
}
static const struct program programs_v3[] = {
    {.role = RUN_FORWARD, .form = FORM_FEW, .from = 540,
     .head = based_few_v3, .tile = 0, .own = 78080, .few_rows = 64, .of_pair = 80, .shared = 67072, .slot = 33664,
         .slots = 4, .together = 1},
    {.role = RUN_FORWARD, .from = 540,
     .head = based_linear_v3, .tile = 0, .own = 92480, .of_token = 17745, .in_keys = 1, .shared = 142080, .slot = 71040,
         .slots = 4, .together = 1},
    {.role = RUN_FORWARD, .form = FORM_FEW,
     .head = based_few_v3, .tile = 0, .own = 78080, .few_rows = 64, .lanes = 8, .of_pair = 80, .shared = 67072,
         .slot = 33664, .slots = 4, .together = 1},
    {.role = RUN_FORWARD,
     .rows = based_rows_v3, .tile = 16, .own = 23936, .of_pair = 80},
};
#endif
static const struct program programs_any[] = {
    {.role = RUN_FORWARD, .form = FORM_FEW, .from = 540,
     .head = based_few_any, .tile = 0, .own = 78080, .few_rows = 64, .of_pair = 80, .shared = 67072, .slot = 33664,
         .slots = 4, .together = 1},
    {.role = RUN_FORWARD, .from = 540,
     .head = based_linear_any, .tile = 0, .own = 92480, .of_token = 17745, .in_keys = 1, .shared = 142080,
         .slot = 71040, .slots = 4, .together = 1},
    {.role = RUN_FORWARD, .form = FORM_FEW,
     .head = based_few_any, .tile = 0, .own = 78080, .few_rows = 64, .lanes = 4, .of_pair = 80, .shared = 67072,
         .slot = 33664, .slots = 4, .together = 1},
    {.role = RUN_FORWARD,
     .rows = based_rows_any, .tile = 16, .own = 23936, .of_pair = 80},
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
    .layout = KERNEL_LAYOUT, .name = "based", .openmp = OPENMP,
    .target = target, .targets = sizeof target / sizeof *target - 1,
    .array = array, .arrays = sizeof array / sizeof *array,
    .params_bytes = sizeof(struct based_params),
    .dtype = ATTN_F32, .key_dtype = ATTN_F32, .value_dtype = ATTN_F32, .real = sizeof(float), .element = sizeof(float),
    .head_dim = 16, .value_dim = 64, .key_row = 16, .value_row = 64,
    .shares = 1,
    .positions = 1,
    .ids = -1,
    .corrected = -1,
    .solution = -1,
};

/* ==== the interface ==== */
size_t based_params_size(void) { return attn_call_params_size(&kernel); }
int based_params_init(struct based_params *params, uint64_t seed, void *storage)
{
    return attn_call_params_init(&kernel, params, seed, storage);
}
size_t based_workspace(const struct attn_problem *problem) { return attn_call_workspace(&kernel, problem); }
int based_forward(const struct attn_problem *problem, const struct based_params *params, const float *q, const float *k,
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
const struct attn_kernel based_kernel = {
    .name = "based", .version = "0.2.0", .dtype = ATTN_F32, .head_dim = 16, .value_dim = 64,
    .params = 0, .param = NULL, .params_bytes = sizeof(struct based_params),
    .params_size = based_params_size, .params_init = params_init_any, .forward = forward_any,
    .workspace = based_workspace,
    .key_dtype = ATTN_F32, .value_dtype = ATTN_F32,
    .before = INT64_MAX, .after = 0, .period = 1, .names_heads = 0, .names_sequences = 0, .in_parts = 0,
    .saved_power = 0, .has_sink = 0, .open_keys = 0, .end_of_keys = INT64_MAX,
};
#endif /* a compiler of this language */
#endif /* SECTION */
