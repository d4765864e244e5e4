/* cosformer.c, made by attnc 0.2.0: attnc cosformer.yaml
   C11 with GNU extensions, for a C compiler; C++ includes cosformer.h.
   linear attention with ReLU features and a weight cos(pi/2 (i - j) / 4096), for at most 4096 tokens
   Qin et al., cosFormer: Rethinking Softmax in Attention (ICLR 2022), section 3.2

   Computes, in f32, over the axes b (batch), g (key/value head), m (query head of g), i (query), j (key), d (64),
   e (64):
     q [b g m i d]
     k [b g j d]
     v [b g j e]
     x3 [b g m i d] = max(q, 0)
     x4 [b g j d] = max(k, 0)
     x5 [b g m i j] = sum over d of x3 * x4
     x6 [b g m i j] = x5
     x7 [b g m i j] = x6 * cos((i + query_start - j) * 0.0003834951969714103)
     x8 [b g m i] = sum over j of x7 if j <= i + query_start
     x9 [b g m i e] = sum over j of x7 * v if j <= i + query_start
     x10 [b g m i e] = x8 == 0 ? 0 : x9 / x8
     out = x10
   query_start is the position of the first query: problem.query_start[b], or n_k - n_q if that is NULL.

   How: each vector lane holds one query. Keys are processed in tiles,
   so row sums and maxima need no reduction across lanes.
   The sums of a tile start from zero and are added to the sums so far. Tiles that no query sees are skipped.
   For few queries each lane holds one key. The queries of all heads that share keys are the rows of one tile,
   so each key is read once.
   The chunks of keys are divided among the threads. Their sums are added in the order of the chunks.
   Linear from 381 keys on: the weight is an inner product of 128 features. The state is a sum over keys of 128 x 65
   numbers.
     x86-64-v4  quadratic tiles of 32 queries and 96 keys, in blocks of 256 queries;
     498304 bytes of workspace per thread
     x86-64-v4  linear    tiles of 32 queries and 32 keys; 249856 bytes of workspace per thread
     x86-64-v4  few       tiles of 64 queries and 128 keys; 190400 bytes of workspace per thread
     x86-64-v3  quadratic tiles of 16 queries and 96 keys, in blocks of 256 queries;
     492096 bytes of workspace per thread
     x86-64-v3  linear    tiles of 32 queries and 32 keys; 249856 bytes of workspace per thread
     x86-64-v3  few       tiles of 64 queries and 128 keys; 190400 bytes of workspace per thread
     generic    quadratic tiles of 16 queries and 96 keys, in blocks of 128 queries;
     392768 bytes of workspace per thread
     generic    linear    tiles of 32 queries and 32 keys; 249856 bytes of workspace per thread
     generic    few       tiles of 64 queries and 128 keys; 190400 bytes of workspace per thread

   Contents:
     loops      cosformer_rows, cosformer_linear, cosformer_few
     targets    x86-64-v4, x86-64-v3, generic
     tables     arrays and programs, for the functions of attnrt that call the loops
     interface  cosformer_workspace, cosformer_forward, cosformer_kernel
   The file includes itself, so that the loops are compiled once for each target. T(name) is a name with the target's
   suffix, LANES the elements of its vectors, and OF(…) a number for each target.

   Compile with: cc -O2 -fopenmp cosformer.c … -lattnrt -lm */
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
TARGET APART void T(dot0)(int64_t lanes, int64_t rows, const float *a, const float *b, float *c)
{
    T(dot)(/*vectors=*/2, lanes, rows, /*tail=*/-1, /*steps=*/64, /*span=*/32, a, /*a_row=*/1, /*a_step=*/96, b,
        /*b_step=*/OF(32, 16, 16), c, /*c_row=*/OF(32, 16, 16), /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL);
}
TARGET APART void T(dot1)(int64_t lanes, int64_t steps, const float *a, int64_t a_step, const float *b, float *c,
    float *compensation)
{
    T(dot_finite)(/*vectors=*/2, lanes, /*rows=*/64, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/1, a_step, b,
        /*b_step=*/OF(32, 16, 16), c, /*c_row=*/OF(32, 16, 16), /*update=*/3, /*factor=*/NULL, compensation);
}
TARGET APART void T(dot2)(int64_t lanes, int64_t steps, const float *a, int64_t a_step, const float *b, float *c,
    float *compensation)
{
    T(dot)(/*vectors=*/2, lanes, /*rows=*/64, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/1, a_step, b,
        /*b_step=*/OF(32, 16, 16), c, /*c_row=*/OF(32, 16, 16), /*update=*/3, /*factor=*/NULL, compensation);
}
TARGET APART void T(dot3)(int64_t steps, const float *a, const float *b, int64_t b_step, float *c)
{
    T(dot)(/*vectors=*/OF(4, 2, 2), /*lanes=*/64, /*rows=*/128, /*tail=*/2, steps, /*span=*/192, a, /*a_row=*/32,
        /*a_step=*/1, b, b_step, c, /*c_row=*/64, /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL);
}
TARGET APART void T(dot4)(int64_t lanes, const float *a, const float *b, float *c, const struct coming *next)
{
    T(dot_meanwhile)(/*vectors=*/2, lanes, /*rows=*/64, /*tail=*/4, /*steps=*/128, /*span=*/32, a, /*a_row=*/1,
        /*a_step=*/64, b, /*b_step=*/32, c, /*c_row=*/32, /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL, next,
        /*arrays=*/4, /*nexts=*/32);
}
TARGET APART void T(dot5)(int64_t lanes, int64_t rows, const float *a, const float *b, float *c)
{
    T(dot)(/*vectors=*/2, lanes, rows, /*tail=*/-1, /*steps=*/64, /*span=*/32, a, /*a_row=*/1, /*a_step=*/32, b,
        /*b_step=*/32, c, /*c_row=*/32, /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL);
}
#if OF(1, 0, 0)
TARGET APART void T(dot6)(int64_t lanes, int64_t rows, const float *a, const float *b, float *c)
#else
TARGET APART void T(dot6)(int64_t lanes, int64_t steps, const float *a, int64_t a_step, const float *b, float *c,
    float *compensation)
#endif
{
#if OF(0, 1, 1)
    T(dot_finite)(/*vectors=*/2, lanes, /*rows=*/64, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/1, a_step, b,
        /*b_step=*/32, c, /*c_row=*/32, /*update=*/3, /*factor=*/NULL, compensation);
}
TARGET APART void T(dot7)(int64_t lanes, int64_t steps, const float *a, int64_t a_step, const float *b, float *c,
    float *compensation)
{
    T(dot)(/*vectors=*/2, lanes, /*rows=*/64, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/1, a_step, b, /*b_step=*/32,
        c, /*c_row=*/32, /*update=*/3, /*factor=*/NULL, compensation);
}
TARGET APART void T(dot8)(int64_t lanes, int64_t rows, const float *a, const float *b, float *c)
{
#endif
    T(dot)(/*vectors=*/OF(4, 2, 2), lanes, rows, /*tail=*/-1, /*steps=*/64, /*span=*/32, a, /*a_row=*/1, /*a_step=*/64,
        b, /*b_step=*/144, c, /*c_row=*/144, /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL);
}
#if OF(1, 0, 0)
TARGET APART void T(dot7)(int64_t rows, int64_t steps, const float *a, const float *b, int64_t b_step, float *c)
#else
TARGET APART void T(dot9)(int64_t rows, int64_t steps, const float *a, const float *b, int64_t b_step, float *c)
#endif
{
    T(dot_finite_lanes)(/*fetched=*/1, /*vectors=*/OF(4, 2, 2), /*lanes=*/64, rows, /*tail=*/-1, steps, /*span=*/192, a,
        /*a_row=*/144, /*a_step=*/1, b, b_step, c, /*c_row=*/64, /*update=*/1, /*factor=*/NULL, /*compensation=*/NULL);
}
#if OF(1, 0, 0)
TARGET APART void T(dot8)(int64_t rows, int64_t steps, const float *a, const float *b, int64_t b_step, float *c,
    int64_t early)
#else
TARGET APART void T(dot10)(int64_t rows, int64_t steps, const float *a, const float *b, int64_t b_step, float *c)
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
TARGET static void T(cosformer_rows)(const struct call *call, int64_t task, unsigned char *work)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_q = call->p.n_q;
    const int64_t n_k = call->p.n_k;
    const int64_t tiles = (n_q + OF(256, 256, 128) - 1) / OF(256, 256, 128), i0 = (tiles - 1 - task % tiles) * OF(256,
        256, 128),
        i1 = min(i0 + OF(256, 256, 128), n_q);
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
    float *const all_query = (float *)(void *)(work + 0); /* [d: 64, i: OF(32, 16, 16), OF(8, 16, 8) times] */
    float *const score = (float *)(void *)(work + OF(65536, 65536, 32768)); /* [j: 96, i: OF(32, 16, 16)] */
    float *const all_row_sum = (float *)(void *)(work + OF(77824, 71680, 38912)); /* [i: OF(32, 16, 16), OF(8, 16,
        8) times] */
    float *const all_row_sum_compensation = (float *)(void *)(work + OF(78848, 72704, 39424)); /* [i: OF(32, 16, 16),
        OF(8, 16, 8) times] */
    float *const all_sum = (float *)(void *)(work + OF(79872, 73728, 39936)); /* [e: 64, i: OF(32, 16, 16), OF(8, 16,
        8) times] */
    float *const all_sum_compensation = (float *)(void *)(work + OF(145408, 139264, 72704)); /* [e: 64, i: OF(32, 16,
        16), OF(8, 16, 8) times] */
    float *const result = (float *)(void *)(work + 0); /* [e: 64, i: OF(32, 16, 16)] */
    float *const out = (float *)call->array[ARRAY_out].at + b * call->array[ARRAY_out].strides.batch + (g * members + m)
        * call->array[ARRAY_out].strides.head;
    const int64_t out_row = call->array[ARRAY_out].strides.row;
    float *const q_tile = (float *)(void *)(work + OF(65536, 65536, 32768)); /* [d: 64, i: OF(32, 16, 16)] */
    float *const k_tile = (float *)(void *)(work + OF(210944, 204800, 105472)); /* [d: 64, j: 96] */
    struct remembered *const of_difference_known = (struct remembered *)(void *)(work + OF(235520, 229376, 130048));
    float *const of_difference_kept = (float *)(void *)(work + OF(235584, 229440, 130112)); /* [OF(65680, 65656,
        65652) differences] */
    for (int64_t i_next = i0, i_block = i0, i_end = i1; i_next < i_end; i_next += OF(32, 16, 16)) {
        const int64_t i0 = i_next, i1 = min(i0 + OF(32, 16, 16), i_end);
        float *const query = all_query + (i0 - i_block) / OF(32, 16, 16) * OF(2048, 1024, 1024);
        float *const row_sum = all_row_sum + (i0 - i_block) / OF(32, 16, 16) * OF(32, 16, 16);
        float *const row_sum_compensation = all_row_sum_compensation + (i0 - i_block) / OF(32, 16, 16) * OF(32, 16, 16);
        float *const sum = all_sum + (i0 - i_block) / OF(32, 16, 16) * OF(2048, 1024, 1024);
        float *const sum_compensation = all_sum_compensation + (i0 - i_block) / OF(32, 16, 16) * OF(2048, 1024, 1024);
        /* q_tile = q, with zeros beyond the last row */
        T(transpose_padded)(q + i0 * q_row, q_row, i1 - i0, 64, q_tile, OF(32, 16, 16), LANES);
        /* query = max(q_tile, 0.0f) */
        for (int64_t d = 0; d < 64; d++) {
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                T(store)(query + d * OF(32, 16, 16) + i, T(max)(T(load)(q_tile + d * OF(32, 16, 16) + i),
                    T(splat)(0.0f)));
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
                T(store)(sum + e * OF(32, 16, 16) + i, T(splat)(0.0f));
                T(store)(sum_compensation + e * OF(32, 16, 16) + i, T(splat)(0.0f));
            }
        }
    }
    for (int64_t j0 = 0, j_end = min(n_k, i1 + query_start); j0 < j_end; j0 += 96) {
        const int64_t j1 = min(j0 + 96, j_end);
        /* k_tile = k, with zeros beyond the last row */
        T(transpose_padded)(k + j0 * k_row, k_row, j1 - j0, 64, k_tile, 96, 64);
        /* k_tile = max(k_tile, 0.0f) */
        for (int64_t d = 0; d < 64; d++) {
            for (int64_t j = 0; j < j1 - j0; j += LANES) {
                T(store)(k_tile + d * 96 + j, T(max)(T(load)(k_tile + d * 96 + j), T(splat)(0.0f)));
            }
        }
        for (int64_t i_next = i0, i_block = i0, i_end = i1; i_next < i_end; i_next += OF(32, 16, 16)) {
            const int64_t i0 = i_next, i1 = min(i0 + OF(32, 16, 16), i_end);
            float *const query = all_query + (i0 - i_block) / OF(32, 16, 16) * OF(2048, 1024, 1024);
            float *const row_sum = all_row_sum + (i0 - i_block) / OF(32, 16, 16) * OF(32, 16, 16);
            float *const row_sum_compensation = all_row_sum_compensation + (i0 - i_block) / OF(32, 16, 16) * OF(32, 16,
                16);
            float *const sum = all_sum + (i0 - i_block) / OF(32, 16, 16) * OF(2048, 1024, 1024);
            float *const sum_compensation = all_sum_compensation + (i0 - i_block) / OF(32, 16, 16) * OF(2048, 1024,
                1024);
            if (!(j0 < (i1 + query_start))) continue; /* no query sees a key of the tile */
            /* score[j][i] = sum over d of k_tile * query */
            T(dot0)(round_up(i1 - i0, LANES), j1 - j0, k_tile, query, score);
            /* the elements of of_difference that this thread has for the head */
            const int64_t of_difference_first = i0 - j1 + 1;
            recall(of_difference_known, (call->p.query_start ? b : 0), of_difference_first,
                of_difference_first + OF(144, 120, 116), 1 - n_k, n_q + n_k + OF(144, 120, 116), 65536);
            float *const of_difference = of_difference_kept + (of_difference_first - of_difference_known->base);
            for (int above = 0; above < 2; above++) { /* the differences below the known ones, and those above */
#if OF(1, 0, 0)
                const int64_t difference_1440 = above ? of_difference_known->to - of_difference_first : 0;
                const int64_t difference_1441 = above ? 144 : of_difference_known->from - of_difference_first;
                if (difference_1440 >= difference_1441) continue;
                /* of_difference = cos((((difference_144 + (lo() - hi())) + query_start) + 1) * 0.0003834952f) */
#endif
#if OF(0, 1, 0)
                const int64_t difference_1200 = above ? of_difference_known->to - of_difference_first : 0;
                const int64_t difference_1201 = above ? 120 : of_difference_known->from - of_difference_first;
                if (difference_1200 >= difference_1201) continue;
                /* of_difference = cos((((difference_120 + (lo() - hi())) + query_start) + 1) * 0.0003834952f) */
#endif
#if OF(0, 0, 1)
                const int64_t difference_1160 = above ? of_difference_known->to - of_difference_first : 0;
                const int64_t difference_1161 = above ? 116 : of_difference_known->from - of_difference_first;
                if (difference_1160 >= difference_1161) continue;
                /* of_difference = cos((((difference_116 + (lo() - hi())) + query_start) + 1) * 0.0003834952f) */
#endif
                const int64_t t_0 = i0 - j1;
#if OF(1, 0, 0)
                for (int64_t difference_144 = difference_1440; difference_144 < difference_1441; difference_144 += 16) {
                    const T(wide) angle1 = __builtin_convertvector((((difference_144 + T(lane)) + t_0) + query_start) +
                        1, T(wide)) * 0.0003834951969714103;
                    T(store)(of_difference + difference_144, T(cos)(&angle1));
#endif
#if OF(0, 1, 0)
                for (int64_t difference_120 = difference_1200; difference_120 < difference_1201; difference_120 += 8) {
                    const T(wide) angle1 = __builtin_convertvector((((difference_120 + T(lane)) + t_0) + query_start) +
                        1, T(wide)) * 0.0003834951969714103;
                    T(store)(of_difference + difference_120, T(cos)(&angle1));
#endif
#if OF(0, 0, 1)
                for (int64_t difference_116 = difference_1160; difference_116 < difference_1161; difference_116 += 4) {
                    const T(wide) angle1 = __builtin_convertvector((((difference_116 + T(lane)) + t_0) + query_start) +
                        1, T(wide)) * 0.0003834951969714103;
                    T(store)(of_difference + difference_116, T(cos)(&angle1));
#endif
                }
            }
            extend_known(of_difference_known, of_difference_first, of_difference_first + OF(144, 120, 116));
            if ((i0 + query_start + 1) < j1) { /* the tile is partly outside the mask */
                /* score = select(j <= (i + query_start), score * of_difference, 0.0f); row_sum += score */
                for (int64_t i = 0; i < i1 - i0; i += LANES) {
                    const T(ints) t_2 = (i0 + i + T(lane)) + query_start;
                    T(vec) row_sum_in = (T(vec)){0};
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        const T(vec) score_3 = T(load)(score + j * OF(32, 16, 16) + i);
                        const T(vec) score_new4 = T(pick)(__builtin_convertvector((j0 + j) <= t_2, T(mask)),
                            score_3 * T(load)(of_difference + ((i0 + i) - (j0 + j) - (i0 - j1) - 1)), T(splat)(0.0f));
                        T(store)(score + j * OF(32, 16, 16) + i, score_new4);
                        row_sum_in += score_new4;
                    }
                    T(add)(row_sum + i, row_sum_compensation + i, row_sum_in, T(splat)(1));
                }
            }
            if (!((i0 + query_start + 1) < j1)) { /* the tile is wholly inside the mask */
                /* score = score * of_difference; row_sum += score */
                for (int64_t i_first = 0; i_first < i1 - i0; i_first += (2 * LANES)) {
                    T(vec) row_sum_in[2];
                    UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += LANES) {
                        row_sum_in[vector] = (T(vec)){0};
                    }
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += LANES) {
                            const T(vec) score_5 = T(load)(score + j * OF(32, 16, 16) + i);
                            const T(vec) score_new6 = score_5 * T(load)(of_difference + ((i0 + i) - (j0 + j) - (i0 - j1)
                                - 1));
                            T(store)(score + j * OF(32, 16, 16) + i, score_new6);
                            row_sum_in[vector] += score_new6;
                        }
                    }
                    UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += LANES) {
                        T(add)(row_sum + i, row_sum_compensation + i, row_sum_in[vector], T(splat)(1));
                    }
                }
            }
            /* sum[e][i] += sum over j of v * score */
            if (__builtin_expect(((i0 + query_start + 1) < j1) && !T(finite)(v + j0 * v_row, v_row, j1 - j0, 64),
                0)) { /* infinity and NaN affect only queries that see them */
                T(dot1)(round_up(i1 - i0, LANES), j1 - j0, v + j0 * v_row, v_row, score, sum, sum_compensation);
                for (int64_t j = 0; j < j1 - j0; j++) {
                    T(mask) in_region[OF(2, 2, 4)] = {0};
                    if (T(finite)(v + j0 * v_row + j * v_row, 1, 64, 1)) continue;
                    for (int64_t i = 0; i < i1 - i0; i += LANES) {
                        in_region[i / LANES] = __builtin_convertvector((j0 + j) <= ((i0 + i + T(lane)) + query_start),
                            T(mask));
                    }
                    T(add_seen)(64, sum, OF(32, 16, 16), v + j0 * v_row + j * v_row, 1, score + j * OF(32, 16, 16),
                        in_region, i1 - i0);
                }
            } else
                T(dot2)(round_up(i1 - i0, LANES), j1 - j0, v + j0 * v_row, v_row, score, sum, sum_compensation);
        }
    }
    {
        for (int64_t i_next = i0, i_block = i0, i_end = i1; i_next < i_end; i_next += OF(32, 16, 16)) {
            const int64_t i0 = i_next, i1 = min(i0 + OF(32, 16, 16), i_end);
            float *const row_sum = all_row_sum + (i0 - i_block) / OF(32, 16, 16) * OF(32, 16, 16);
            float *const sum = all_sum + (i0 - i_block) / OF(32, 16, 16) * OF(2048, 1024, 1024);
            /* result = select(row_sum == 0.0f, 0.0f, sum / row_sum) */
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                const T(vec) row_sum_7 = T(load)(row_sum + i);
                const T(mask) t_8 = row_sum_7 == 0.0f;
                for (int64_t e = 0; e < 64; e++) {
                    T(store)(result + e * OF(32, 16, 16) + i, T(pick)(t_8, T(splat)(0.0f), T(load)(sum + e * OF(32, 16,
                        16) + i) / row_sum_7));
                }
            }
            /* out = result, transposed back */
            T(transpose_out)(result, OF(32, 16, 16), 64, i1 - i0, out + i0 * out_row, out_row, LANES);
        }
    }
}

/* Initialises the states: they contain no keys yet. */
TARGET APART void T(cosformer_begin)(const struct call *call, int64_t task, const struct share *share,
    int64_t iteration)
{
    (void)call;
    (void)task;
    const int64_t f0 = iteration * 32, f1 = min(f0 + 32, 128);
    float *const carried_sum = (float *)(void *)(share->shared + 0); /* [f: 128] */
    float *const carried_sum_compensation = (float *)(void *)(share->shared + 33344); /* [f: 128] */
    float *const carried = (float *)(void *)(share->shared + 512); /* [f: 128, e: 64] */
    float *const carried_compensation = (float *)(void *)(share->shared + 33856); /* [f: 128, e: 64] */
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
TARGET APART void T(cosformer_keys)(const struct call *call, int64_t task, const struct share *share, int64_t iteration)
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
    float *const key_features_2 = (float *)(void *)(share->work + 0); /* [f: 128, j: 32] */
    float *const state_sum = (float *)(void *)(share->slots + 0); /* [chunk, f: 128 of 144] */
    float *const state = (float *)(void *)(share->slots + 576); /* [chunk, f: 128, e: 64] */
    float *const k_tile = (float *)(void *)(share->work + 16384); /* [d: 64, j: 32] */
    /* state_sum = 0.0f */
    for (int64_t f = 0; f < 128; f += LANES) {
        T(store)(state_sum + (chunk - chunk0) * 8352 + f, T(splat)(0.0f));
    }
    for (int64_t j0 = chunk * 32, j_end = min(n_k, (chunk + 1) * 32); j0 < j_end; j0 += 32) {
        const int64_t j1 = min(j0 + 32, j_end);
        /* k_tile = k, with zeros beyond the last row */
        T(transpose_padded)(k + j0 * k_row, k_row, j1 - j0, 64, k_tile, 32, 64);
        /* k_tile = max(k_tile, 0.0f) */
        for (int64_t d = 0; d < 64; d++) {
            for (int64_t j = 0; j < j1 - j0; j += LANES) {
                T(store)(k_tile + d * 32 + j, T(max)(T(load)(k_tile + d * 32 + j), T(splat)(0.0f)));
            }
        }
        /* key_features_2 = k_tile * select((f % 2) < 1, cos(neg(j) * 0.0003834952f), sin(neg(j) * 0.0003834952f)) */
        for (int64_t j = 0; j < j1 - j0; j += LANES) {
            const T(wide) angle0 = __builtin_convertvector(-(j0 + j + T(lane)), T(wide)) * 0.0003834951969714103;
            const T(vec) t_1 = T(cos)(&angle0);
            const T(wide) angle2 = __builtin_convertvector(-(j0 + j + T(lane)), T(wide)) * 0.0003834951969714103;
            const T(vec) t_3 = T(sin)(&angle2);
            for (int64_t f = 0; f < 128; f++) {
                T(store)(key_features_2 + f * 32 + j, T(load)(k_tile + (f / 2) * 32 + j) * (((f % 2) < 1) ? t_1 : t_3));
            }
        }
        /* state_sum += key_features_2 */
        for (int64_t f = 0; f < 128; f++) {
            T(vec) lane_sums = T(splat)(0);
            for (int64_t j = 0; j < j1 - j0; j += LANES) {
                const T(vec) term = T(load)(key_features_2 + f * 32 + j);
                lane_sums += j + LANES <= j1 - j0 ? term : T(pick)(__builtin_convertvector(j + T(lane) < j1 - j0,
                    T(mask)), term, T(splat)(0));
            }
            const float total = T(lane_sum)(lane_sums);
            state_sum[(chunk - chunk0) * 8352 + f] += total;
        }
        /* state[f][e] = sum over j of key_features_2 * v */
        T(dot3)(j1 - j0, key_features_2, v + j0 * v_row, v_row, state + (chunk - chunk0) * 8352);
    }
}

/* Folds the slots of the current chunks, in order, for some elements of the states. */
TARGET APART void T(cosformer_fold)(const struct call *call, int64_t task, const struct share *share, int64_t iteration)
{
    (void)call;
    (void)task;
    const int64_t f0 = iteration * 32, f1 = min(f0 + 32, 128);
    const int64_t chunk0 = share->chunk0;
    const int64_t chunk1 = share->chunk1;
    float *const state_sum = (float *)(void *)(share->slots + 0); /* [chunk, f: 128 of 144] */
    float *const state = (float *)(void *)(share->slots + 576); /* [chunk, f: 128, e: 64] */
    float *const carried_sum = (float *)(void *)(share->shared + 0); /* [f: 128] */
    float *const carried_sum_compensation = (float *)(void *)(share->shared + 33344); /* [f: 128] */
    float *const carried = (float *)(void *)(share->shared + 512); /* [f: 128, e: 64] */
    float *const carried_compensation = (float *)(void *)(share->shared + 33856); /* [f: 128, e: 64] */
    for (int64_t chunk = chunk0; chunk < chunk1; chunk++) {
        /* before_sum = carried_sum; carried_sum += state_sum; state_sum = before_sum */
        for (int64_t f = f0; f < f1; f += LANES) {
            const T(vec) before_sum_new4 = T(load)(carried_sum + f);
            T(add)(carried_sum + f, carried_sum_compensation + f, T(load)(state_sum + (chunk - chunk0) * 8352 + f),
                T(splat)(1));
            T(store)(state_sum + (chunk - chunk0) * 8352 + f, before_sum_new4);
        }
        /* before = carried; carried += state; state = before */
        for (int64_t f = f0; f < f1; f++) {
            for (int64_t e_first = 0; e_first < 64; e_first += OF(64, 16, 8)) {
                UNROLL for (int64_t vector = 0, e = e_first; vector < OF(4, 2, 2); vector++, e += LANES) {
                    const T(vec) before_new5 = T(load)(carried + f * 64 + e);
                    T(add)(carried + f * 64 + e, carried_compensation + f * 64 + e,
                        T(load)(state + (chunk - chunk0) * 8352 + f * 64 + e), T(splat)(1));
                    T(store)(state + (chunk - chunk0) * 8352 + f * 64 + e, before_new5);
                }
            }
        }
    }
}

/* Processes the queries of a chunk: reads the state before the chunk, and the keys in the chunk. */
TARGET APART void T(cosformer_queries)(const struct call *call, int64_t task, const struct share *share,
    int64_t iteration)
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
    float *const state_sum = (float *)(void *)(share->slots + 0); /* [chunk, f: 128 of 144] */
    float *const state = (float *)(void *)(share->slots + 576); /* [chunk, f: 128, e: 64] */
    float *const score = (float *)(void *)(share->work + 0); /* [j: 32, i: 32] */
    float *const query = (float *)(void *)(share->work + 0); /* [f: 128, i: 32] */
    float *const row_sum_from_state = (float *)(void *)(share->work + 16384); /* [i: 32] */
    float *const row_sum = (float *)(void *)(share->work + 16512); /* [i: 32] */
    float *const row_sum_compensation = (float *)(void *)(share->work + 16640); /* [i: 32] */
    float *const sum_from_state = (float *)(void *)(share->work + 16768); /* [e: 64, i: 32] */
    float *const sum = (float *)(void *)(share->work + 4096); /* [e: 64, i: 32] */
    float *const sum_compensation = (float *)(void *)(share->work + 24960); /* [e: 64, i: 32] */
    float *const out = (float *)call->array[ARRAY_out].at + b * call->array[ARRAY_out].strides.batch + g * members *
        call->array[ARRAY_out].strides.head;
    const int64_t out_row = call->array[ARRAY_out].strides.row;
    const int64_t out_head = call->array[ARRAY_out].strides.head;
    float *const q_tile = (float *)(void *)(share->work + 33152); /* [d: 64, i: 32] */
    float *const k_tile_2 = (float *)(void *)(share->work + 41344); /* [d: 64, j: 32] */
#if OF(1, 0, 0)
    float *const of_difference = (float *)(void *)(share->work + 12288); /* [difference_80: 80] */
#endif
#if OF(0, 1, 0)
    float *const of_difference = (float *)(void *)(share->work + 12288); /* [difference_72: 72] */
#endif
#if OF(0, 0, 1)
    float *const of_difference = (float *)(void *)(share->work + 12288); /* [difference_68: 68] */
#endif
    for (int64_t m = 0; m < members; m++) {
        for (int64_t i0 = (chunk == 0) ? 0 : max(0, (chunk * 32) - query_start), i_end = min(n_q,
            ((chunk + 1) * 32) - query_start); i0 < i_end; i0 += 32) {
            const int64_t i1 = min(i0 + 32, i_end);
            /* q_tile = q, with zeros beyond the last row */
            T(transpose_padded)(q + m * q_head + i0 * q_row, q_row, i1 - i0, 64, q_tile, 32, 0);
            /* q_tile = max(q_tile, 0.0f) */
            for (int64_t d = 0; d < 64; d++) {
                for (int64_t i = 0; i < i1 - i0; i += LANES) {
                    T(store)(q_tile + d * 32 + i, T(max)(T(load)(q_tile + d * 32 + i), T(splat)(0.0f)));
                }
            }
            /* row_sum_from_state = 0.0f */
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                T(store)(row_sum_from_state + i, T(splat)(0.0f));
            }
            /* query = q_tile * select((f % 2) < 1, cos((i + query_start) * 0.0003834952f),
               neg(sin((i + query_start) * 0.0003834952f))); row_s ... */
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                const T(wide) angle6 = __builtin_convertvector((i0 + i + T(lane)) + query_start,
                    T(wide)) * 0.0003834951969714103;
                const T(vec) t_7 = T(cos)(&angle6);
                const T(wide) angle8 = __builtin_convertvector((i0 + i + T(lane)) + query_start,
                    T(wide)) * 0.0003834951969714103;
                const T(vec) t_9 = -T(sin)(&angle8);
                T(vec) row_sum_from_state_in = (T(vec)){0};
                T(vec) row_sum_from_state_in_whole = (T(vec)){0};
                for (int64_t f = 0; f < 128; f++) {
                    const T(vec) query_new10 = T(load)(q_tile + (f / 2) * 32 + i) * (((f % 2) < 1) ? t_7 : t_9);
                    T(store)(query + f * 32 + i, query_new10);
                    row_sum_from_state_in += query_new10 * (state_sum[(chunk - chunk0) * 8352 + f]);
                    if (f % 32 == 31) {
                        row_sum_from_state_in_whole += row_sum_from_state_in;
                        row_sum_from_state_in = (T(vec)){0};
                    }
                }
                row_sum_from_state_in += row_sum_from_state_in_whole;
                T(store)(row_sum_from_state + i, T(load)(row_sum_from_state + i) + row_sum_from_state_in);
            }
            /* row_sum = 0.0f; row_sum_compensation = 0.0f */
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                T(store)(row_sum + i, T(splat)(0.0f));
                T(store)(row_sum_compensation + i, T(splat)(0.0f));
            }
            /* sum_from_state[e][i] = sum over f of state * query */
            T(dot4)(round_up(i1 - i0, LANES), state + (chunk - chunk0) * 8352, query, sum_from_state,
                (const struct coming[]){{k + max(0, chunk * 32) * k_row, 4 * k_row, 256}, {v + max(0,
                chunk * 32) * v_row, 4 * v_row, 256}, {out + m * out_head + i0 * out_row, 4 * out_row, 256},
                {q + m * q_head + (i0 + 32) * q_row, 4 * q_row, 256}});
            /* sum = 0.0f; sum_compensation = 0.0f */
            for (int64_t e = 0; e < 64; e++) {
                for (int64_t i = 0; i < i1 - i0; i += LANES) {
                    T(store)(sum + e * 32 + i, T(splat)(0.0f));
                    T(store)(sum_compensation + e * 32 + i, T(splat)(0.0f));
                }
            }
            for (int64_t j0 = max(0, chunk * 32), j_end = min(n_k, i1 + query_start); j0 < j_end; j0 += 32) {
                const int64_t j1 = min(j0 + 32, j_end);
                /* k_tile_2 = k, with zeros beyond the last row */
                T(transpose_padded)(k + j0 * k_row, k_row, j1 - j0, 64, k_tile_2, 32, 0);
                /* k_tile_2 = max(k_tile_2, 0.0f) */
                for (int64_t d = 0; d < 64; d++) {
                    for (int64_t j = 0; j < j1 - j0; j += LANES) {
                        T(store)(k_tile_2 + d * 32 + j, T(max)(T(load)(k_tile_2 + d * 32 + j), T(splat)(0.0f)));
                    }
                }
                /* score[j][i] = sum over d of k_tile_2 * q_tile */
                T(dot5)(round_up(i1 - i0, LANES), j1 - j0, k_tile_2, q_tile, score);
#if OF(1, 0, 0)
                /* of_difference = cos((((difference_80 + (lo() - hi())) + query_start) + 1) * 0.0003834952f) */
#endif
#if OF(0, 1, 0)
                /* of_difference = cos((((difference_72 + (lo() - hi())) + query_start) + 1) * 0.0003834952f) */
#endif
#if OF(0, 0, 1)
                /* of_difference = cos((((difference_68 + (lo() - hi())) + query_start) + 1) * 0.0003834952f) */
#endif
                const int64_t t_11 = i0 - j1;
#if OF(1, 0, 0)
                for (int64_t difference_80 = 0; difference_80 < 80; difference_80 += 16) {
                    const T(wide) angle12 = __builtin_convertvector((((difference_80 + T(lane)) + t_11) + query_start) +
                        1, T(wide)) * 0.0003834951969714103;
                    T(store)(of_difference + difference_80, T(cos)(&angle12));
#endif
#if OF(0, 1, 0)
                for (int64_t difference_72 = 0; difference_72 < 72; difference_72 += 8) {
                    const T(wide) angle12 = __builtin_convertvector((((difference_72 + T(lane)) + t_11) + query_start) +
                        1, T(wide)) * 0.0003834951969714103;
                    T(store)(of_difference + difference_72, T(cos)(&angle12));
#endif
#if OF(0, 0, 1)
                for (int64_t difference_68 = 0; difference_68 < 68; difference_68 += 4) {
                    const T(wide) angle12 = __builtin_convertvector((((difference_68 + T(lane)) + t_11) + query_start) +
                        1, T(wide)) * 0.0003834951969714103;
                    T(store)(of_difference + difference_68, T(cos)(&angle12));
#endif
                }
                if ((j0 < (chunk * 32)) || ((i0 + query_start + 1) < j1)) { /* the tile is partly outside the mask */
                    /* score = select((j <= (i + query_start)) && ((chunk * 32) <= j), score * of_difference, 0.0f);
                       row_sum += score */
                    for (int64_t i = 0; i < i1 - i0; i += LANES) {
                        const T(ints) t_13 = (i0 + i + T(lane)) + query_start;
                        T(vec) row_sum_in = (T(vec)){0};
                        for (int64_t j = 0; j < j1 - j0; j++) {
                            const T(vec) score_14 = T(load)(score + j * 32 + i);
                            const T(vec) score_new15 = T(pick)(__builtin_convertvector(((j0 + j) <= t_13) &
                                (-(int64_t)((chunk * 32) <= (j0 + j))), T(mask)),
                                score_14 * T(load)(of_difference + ((i0 + i) - (j0 + j) - (i0 - j1) - 1)),
                                T(splat)(0.0f));
                            T(store)(score + j * 32 + i, score_new15);
                            row_sum_in += score_new15;
                        }
                        T(add)(row_sum + i, row_sum_compensation + i, row_sum_in, T(splat)(1));
                    }
                }
                if (!((j0 < (chunk * 32)) || ((i0 + query_start + 1) < j1))) { /* the tile is wholly inside the mask */
                    /* score = score * of_difference; row_sum += score */
                    for (int64_t i_first = 0; i_first < i1 - i0; i_first += (2 * LANES)) {
                        T(vec) row_sum_in[2];
                        UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += LANES) {
                            row_sum_in[vector] = (T(vec)){0};
                        }
                        for (int64_t j = 0; j < j1 - j0; j++) {
                            UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += LANES) {
                                const T(vec) score_16 = T(load)(score + j * 32 + i);
                                const T(vec) score_new17 = score_16 * T(load)(of_difference + ((i0 + i) - (j0 + j) - (i0
                                    - j1) - 1));
                                T(store)(score + j * 32 + i, score_new17);
                                row_sum_in[vector] += score_new17;
                            }
                        }
                        UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += LANES) {
                            T(add)(row_sum + i, row_sum_compensation + i, row_sum_in[vector], T(splat)(1));
                        }
                    }
                }
                /* sum[e][i] += sum over j of v * score */
                if (__builtin_expect(((j0 < (chunk * 32)) || ((i0 + query_start + 1) < j1)) && !T(finite)(v + j0 *
                    v_row, v_row, j1 - j0, 64), 0)) { /* infinity and NaN affect only queries that see them */
#if OF(1, 0, 0)
                    T(dot1)(round_up(i1 - i0, 16), j1 - j0, v + j0 * v_row, v_row, score, sum, sum_compensation);
#else
                    T(dot6)(round_up(i1 - i0, LANES), j1 - j0, v + j0 * v_row, v_row, score, sum, sum_compensation);
#endif
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        T(mask) in_region[OF(2, 4, 8)] = {0};
                        if (T(finite)(v + j0 * v_row + j * v_row, 1, 64, 1)) continue;
                        const int t_18 = (chunk * 32) <= (j0 + j);
                        for (int64_t i = 0; i < i1 - i0; i += LANES) {
                            in_region[i / LANES] = __builtin_convertvector(((j0 + j) <= ((i0 + i + T(lane)) +
                                query_start)) & (-(int64_t)t_18), T(mask));
                        }
                        T(add_seen)(64, sum, 32, v + j0 * v_row + j * v_row, 1, score + j * 32, in_region, i1 - i0);
                    }
                } else
#if OF(1, 0, 0)
                    T(dot2)(round_up(i1 - i0, 16), j1 - j0, v + j0 * v_row, v_row, score, sum, sum_compensation);
#else
                    T(dot7)(round_up(i1 - i0, LANES), j1 - j0, v + j0 * v_row, v_row, score, sum, sum_compensation);
#endif
            }
            /* sum = select((row_sum + row_sum_from_state) == 0.0f, 0.0f,
               (sum + sum_from_state) / (row_sum + row_sum_from_state)) */
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                const T(vec) t_19 = T(load)(row_sum + i) + T(load)(row_sum_from_state + i);
                const T(mask) t_20 = t_19 == 0.0f;
                for (int64_t e = 0; e < 64; e++) {
                    T(store)(sum + e * 32 + i, T(pick)(t_20, T(splat)(0.0f),
                        (T(load)(sum + e * 32 + i) + T(load)(sum_from_state + e * 32 + i)) / t_19));
                }
            }
            /* out = sum, transposed back */
            T(transpose_out)(sum, 32, 64, i1 - i0, out + m * out_head + i0 * out_row, out_row, 0);
        }
    }
}

/* Computes head number `task`. Each thread on the head calls this with `share`. */
TARGET static void T(cosformer_linear)(const struct call *call, int64_t task, struct share *share)
{
    const int64_t n_k = call->p.n_k;
    const int64_t chunks = n_k > 0 ? (n_k - 1) / 32 + 1 : 1;
    for (int64_t iteration = share->number; iteration < ((128 + 31) / 32); iteration += share->threads)
        T(cosformer_begin)(call, task, share, iteration);
    synchronise(share);
    const int64_t first = 0;
    const int64_t length = segment_length(share, chunks - first);
    for (int64_t segment = share->number; first + segment * length < chunks; segment += share->threads) {
        share->chunk0 = first + segment * length;
        share->chunk1 = min(share->chunk0 + length, chunks);
        for (int64_t iteration = share->chunk0; iteration < share->chunk1; iteration++)
            T(cosformer_keys)(call, task, share, iteration);
        for (int64_t group = 0; group < 16; group++) {
            await_segment(share, group, segment);
            const int64_t end = (group + 1) * ((128 + 31) / 32) / 16;
            for (int64_t iteration = group * ((128 + 31) / 32) / 16; iteration < end; iteration++)
                T(cosformer_fold)(call, task, share, iteration);
            pass_segment(share, group, segment);
        }
        for (int64_t iteration = share->chunk0; iteration < share->chunk1; iteration++)
            T(cosformer_queries)(call, task, share, iteration);
    }
    share->segments += (max(chunks - first, 0) + length - 1) / length;
    synchronise(share);
}

/* Initialises the states: they contain no keys yet. */
TARGET APART void T(cosformer_few_begin)(const struct call *call, int64_t task, const struct share *share,
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
    float *const query = (float *)(void *)(share->shared + 0); /* [d: 64, r: 64] */
    float *const q_tile = (float *)(void *)(share->work + 0); /* [d: 64, r: 64 of 80] */
    /* q_tile = q, with zeros beyond the last row */
    for (int64_t r = r0; r < r0 + round_up(r1 - r0, LANES); r++)
        for (int64_t d = 0; d < 64; d++)
            q_tile[d * 80 + r] = r < r1 ? q[r / n_q * q_head + r % n_q * q_row + d] : 0;
    /* query = max(q_tile, 0.0f) */
    for (int64_t r = r0; r < r1; r += LANES) {
        for (int64_t d = 0; d < 64; d++) {
            T(store)(query + d * 64 + r, T(max)(T(load)(q_tile + d * 80 + r), T(splat)(0.0f)));
        }
    }
}

/* Initialises the states: they contain no keys yet. */
TARGET APART void T(cosformer_few_begin_2)(const struct call *call, int64_t task, const struct share *share,
    int64_t iteration)
{
    (void)task;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t r0 = iteration * 16, r1 = min(r0 + 16, rows);
    float *const carried_sum = (float *)(void *)(share->shared + 16448); /* [r: 64] */
    float *const carried_sum_compensation = (float *)(void *)(share->shared + 33152); /* [r: 64] */
    float *const carried = (float *)(void *)(share->shared + 16704); /* [r: 64, e: 64] */
    float *const carried_compensation = (float *)(void *)(share->shared + 33408); /* [r: 64, e: 64] */
    /* carried_sum = 0.0f; carried_sum_compensation = 0.0f */
    for (int64_t r = r0; r < r1; r += LANES) {
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
TARGET APART void T(cosformer_few_keys)(const struct call *call, int64_t task, const struct share *share,
    int64_t iteration)
{
    const int64_t kv_heads = call->p.kv_heads;
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
    float *const query = (float *)(void *)(share->shared + 0); /* [d: 64, r: 64] */
    float *const score = (float *)(void *)(share->work + 0); /* [r: 64, j: 128 of 144] */
    float *const state_sum = (float *)(void *)(share->slots + 0); /* [chunk, r: 64] */
    float *const state = (float *)(void *)(share->slots + 256); /* [chunk, r: 64, e: 64] */
    float *const k_tile = (float *)(void *)(share->work + 36864); /* [d: 64, j: 128 of 144] */
    /* state_sum = 0.0f */
    for (int64_t r = 0; r < rows; r += LANES) {
        T(store)(state_sum + (chunk - chunk0) * 4176 + r, T(splat)(0.0f));
    }
    /* state = 0.0f */
    for (int64_t r = 0; r < rows; r++) {
        for (int64_t e_first = 0; e_first < 64; e_first += OF(64, 16, 8)) {
            UNROLL for (int64_t vector = 0, e = e_first; vector < OF(4, 2, 2); vector++, e += LANES) {
                T(store)(state + (chunk - chunk0) * 4176 + r * 64 + e, T(splat)(0.0f));
            }
        }
    }
    for (int64_t j0 = chunk * 1024, j_end = min(min(n_k, (chunk + 1) * 1024), n_q + query_start); j0 < j_end;
        j0 += 128) {
        const int64_t j1 = min(j0 + 128, j_end);
        /* k_tile = k, with zeros beyond the last row */
        T(transpose_padded)(k + j0 * k_row, k_row, j1 - j0, 64, k_tile, 144, 64);
        /* k_tile = max(k_tile, 0.0f) */
        for (int64_t d = 0; d < 64; d++) {
            for (int64_t j = 0; j < j1 - j0; j += LANES) {
                T(store)(k_tile + d * 144 + j, T(max)(T(load)(k_tile + d * 144 + j), T(splat)(0.0f)));
            }
        }
        /* score[r][j] = sum over d of query * k_tile */
#if OF(1, 0, 0)
        T(dot6)(round_up(j1 - j0, 16), rows, query, k_tile, score);
#else
        T(dot8)(round_up(j1 - j0, LANES), rows, query, k_tile, score);
#endif
        /* score = score * cos((((r % n_q) + query_start) - j) * 0.0003834952f) */
        for (int64_t j = 0; j < j1 - j0; j += LANES) {
            const T(ints) t_0 = j0 + j + T(lane);
            for (int64_t r = 0; r < rows; r++) {
                const T(wide) angle1 = __builtin_convertvector(((r % n_q) + query_start) - t_0,
                    T(wide)) * 0.0003834951969714103;
                T(store)(score + r * 144 + j, T(load)(score + r * 144 + j) * T(cos)(&angle1));
            }
        }
        if ((query_start + 1) < j1) { /* the tile is partly outside the mask */
            /* score = select(j <= ((r % n_q) + query_start), score, 0.0f) */
            for (int64_t j = 0; j < j1 - j0; j += LANES) {
                const T(ints) t_2 = j0 + j + T(lane);
                for (int64_t r = 0; r < rows; r++) {
                    T(store)(score + r * 144 + j, T(pick)(__builtin_convertvector(t_2 <= ((r % n_q) + query_start),
                        T(mask)), T(load)(score + r * 144 + j), T(splat)(0.0f)));
                }
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
            state_sum[(chunk - chunk0) * 4176 + r] += total;
        }
        /* state[r][e] += sum over j of score * v */
        if (__builtin_expect(((query_start + 1) < j1) && !T(finite)(v + j0 * v_row, v_row, j1 - j0, 64),
            0)) { /* infinity and NaN affect only queries that see them */
#if OF(1, 0, 0)
            T(dot7)(rows, j1 - j0, score, v + j0 * v_row, v_row, state + (chunk - chunk0) * 4176);
#else
            T(dot9)(rows, j1 - j0, score, v + j0 * v_row, v_row, state + (chunk - chunk0) * 4176);
#endif
            for (int64_t r = 0; r < rows; r++) {
                T(mask) in_region[OF(8, 16, 32)] = {0};
                const int64_t t_3 = (r % n_q) + query_start;
                for (int64_t j = 0; j < j1 - j0; j += LANES) {
                    in_region[j / LANES] = __builtin_convertvector((j0 + j + T(lane)) <= t_3, T(mask));
                }
                T(add_seen_lanes)(64, state + (chunk - chunk0) * 4176 + r * 64, score + r * 144, v + j0 * v_row, v_row,
                    j1 - j0, in_region);
            }
        } else
#if OF(1, 0, 0)
            T(dot8)(rows, j1 - j0, score, v + j0 * v_row, v_row, state + (chunk - chunk0) * 4176,
                attn_is_intel() ? 16 : 0);
#else
            T(dot10)(rows, j1 - j0, score, v + j0 * v_row, v_row, state + (chunk - chunk0) * 4176);
#endif
    }
}

/* Folds the slots of the current chunks, in order, for some elements of the states. */
TARGET APART void T(cosformer_few_fold)(const struct call *call, int64_t task, const struct share *share,
    int64_t iteration)
{
    (void)task;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t r0 = iteration * 16, r1 = min(r0 + 16, rows);
    const int64_t chunk0 = share->chunk0;
    const int64_t chunk1 = share->chunk1;
    float *const state_sum = (float *)(void *)(share->slots + 0); /* [chunk, r: 64] */
    float *const state = (float *)(void *)(share->slots + 256); /* [chunk, r: 64, e: 64] */
    float *const carried_sum = (float *)(void *)(share->shared + 16448); /* [r: 64] */
    float *const carried_sum_compensation = (float *)(void *)(share->shared + 33152); /* [r: 64] */
    float *const carried = (float *)(void *)(share->shared + 16704); /* [r: 64, e: 64] */
    float *const carried_compensation = (float *)(void *)(share->shared + 33408); /* [r: 64, e: 64] */
    for (int64_t chunk = chunk0; chunk < chunk1; chunk++) {
        /* before_sum = carried_sum; carried_sum += state_sum */
        for (int64_t r = r0; r < r1; r += LANES) {
            T(add)(carried_sum + r, carried_sum_compensation + r, T(load)(state_sum + (chunk - chunk0) * 4176 + r),
                T(splat)(1));
        }
        /* before = carried; carried += state */
        for (int64_t r = r0; r < r1; r++) {
            for (int64_t e_first = 0; e_first < 64; e_first += OF(64, 16, 8)) {
                UNROLL for (int64_t vector = 0, e = e_first; vector < OF(4, 2, 2); vector++, e += LANES) {
                    T(add)(carried + r * 64 + e, carried_compensation + r * 64 + e,
                        T(load)(state + (chunk - chunk0) * 4176 + r * 64 + e), T(splat)(1));
                }
            }
        }
    }
}

/* Processes a tile of queries: reads the states. */
TARGET APART void T(cosformer_few_queries)(const struct call *call, int64_t task, const struct share *share,
    int64_t iteration)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_q = call->p.n_q;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t r0 = iteration * 16, r1 = min(r0 + 16, rows);
    const int64_t g = task % kv_heads;
    const int64_t b = task / kv_heads;
    float *const carried_sum = (float *)(void *)(share->shared + 16448); /* [r: 64] */
    float *const carried = (float *)(void *)(share->shared + 16704); /* [r: 64, e: 64] */
    float *const result = (float *)(void *)(share->work + 0); /* [r: 64, e: 64] */
    float *const out = (float *)call->array[ARRAY_out].at + b * call->array[ARRAY_out].strides.batch + g * members *
        call->array[ARRAY_out].strides.head;
    const int64_t out_row = call->array[ARRAY_out].strides.row;
    const int64_t out_head = call->array[ARRAY_out].strides.head;
    /* result = select(carried_sum == 0.0f, 0.0f, carried / carried_sum) */
    for (int64_t r = r0; r < r1; r++) {
        for (int64_t e_first = 0; e_first < 64; e_first += OF(64, 16, 8)) {
            UNROLL for (int64_t vector = 0, e = e_first; vector < OF(4, 2, 2); vector++, e += LANES) {
                const float carried_sum_4 = carried_sum[r];
                T(store)(result + r * 64 + e, (carried_sum_4 == 0.0f) ? T(splat)(0.0f) : T(load)(carried + r * 64 + e) /
                    carried_sum_4);
            }
        }
    }
    /* out = result */
    for (int64_t r = r0; r < r1; r++)
        for (int64_t e = 0; e < 64; e++)
            out[r / n_q * out_head + r % n_q * out_row + e] = result[r * 64 + e];
}

/* Computes head number `task`. Each thread on the head calls this with `share`. */
TARGET static void T(cosformer_few)(const struct call *call, int64_t task, struct share *share)
{
    const int64_t n_k = call->p.n_k;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t chunks = n_k > 0 ? (n_k - 1) / 1024 + 1 : 1;
    for (int64_t iteration = share->number; iteration < ((rows + 63) / 64); iteration += share->threads)
        T(cosformer_few_begin)(call, task, share, iteration);
    for (int64_t iteration = share->number; iteration < ((rows + 15) / 16); iteration += share->threads)
        T(cosformer_few_begin_2)(call, task, share, iteration);
    synchronise(share);
    const int64_t first = 0;
    const int64_t length = segment_length(share, chunks - first);
    for (int64_t segment = share->number; first + segment * length < chunks; segment += share->threads) {
        share->chunk0 = first + segment * length;
        share->chunk1 = min(share->chunk0 + length, chunks);
        for (int64_t iteration = share->chunk0; iteration < share->chunk1; iteration++)
            T(cosformer_few_keys)(call, task, share, iteration);
        for (int64_t group = 0; group < 16; group++) {
            await_segment(share, group, segment);
            const int64_t end = (group + 1) * ((rows + 15) / 16) / 16;
            for (int64_t iteration = group * ((rows + 15) / 16) / 16; iteration < end; iteration++)
                T(cosformer_few_fold)(call, task, share, iteration);
            pass_segment(share, group, segment);
        }
    }
    share->segments += (max(chunks - first, 0) + length - 1) / length;
    synchronise(share);
    for (int64_t iteration = share->number; iteration < ((rows + 15) / 16); iteration += share->threads)
        T(cosformer_few_queries)(call, task, share, iteration);
    synchronise(share);
}
#include <attnrt/kernel/end.h>
#else
#ifdef __cplusplus
#error "cosformer.c is C, not C++: compile it with a C compiler"
#elif !defined __STDC_VERSION__ || __STDC_VERSION__ < 199901L
#error "cosformer.c is C11, not C89: compile it without -std=, or with -std=gnu11"
extern int cosformer_is_c11;
#elif !defined __GNUC__
#error "cosformer.c uses GNU C vector extensions: compile it with gcc or clang"
extern int cosformer_is_gnu_c;
#else
#include "cosformer.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include <attnrt/kernel/optimize.h>
#include <attnrt/kernel/call.h>
#include <attnrt/kernel/remembered.h>

/* the numbers of the arrays of a call */
enum {
    ARRAY_q, ARRAY_k, ARRAY_v, ARRAY_out
};

#ifdef __FILE_NAME__
#define LOOPS __FILE_NAME__ /* this file, whose first part has the loops */
#else
#define LOOPS "cosformer.c"
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
    {.role = RUN_FORWARD, .form = FORM_FEW, .from = 381,
     .head = cosformer_few_v4, .tile = 0, .own = 73728, .few_rows = 64, .of_pair = 128, .shared = 49856, .slot = 16704,
         .slots = 4, .together = 1},
    {.role = RUN_FORWARD, .from = 381,
     .head = cosformer_linear_v4, .tile = 0, .own = 49536, .of_token = 8320, .in_keys = 1, .shared = 66688,
         .slot = 33408, .slots = 4, .together = 1},
    {.role = RUN_FORWARD, .form = FORM_FEW,
     .head = cosformer_few_v4, .tile = 0, .own = 73728, .few_rows = 64, .lanes = 16, .of_pair = 128, .shared = 49856,
         .slot = 16704, .slots = 4, .together = 1},
    {.role = RUN_FORWARD,
     .rows = cosformer_rows_v4, .tile = 256, .own = 498304, .of_pair = 128, .remembered = 1, .remembers = {235520}},
};
#endif
#if defined(__x86_64__)
static int runs_v3(void)
{
    return attn_x86_64_level() >= 3;
}
static const struct program programs_v3[] = {
    {.role = RUN_FORWARD, .form = FORM_FEW, .from = 381,
     .head = cosformer_few_v3, .tile = 0, .own = 73728, .few_rows = 64, .of_pair = 128, .shared = 49856, .slot = 16704,
         .slots = 4, .together = 1},
    {.role = RUN_FORWARD, .from = 381,
     .head = cosformer_linear_v3, .tile = 0, .own = 49536, .of_token = 8320, .in_keys = 1, .shared = 66688,
         .slot = 33408, .slots = 4, .together = 1},
    {.role = RUN_FORWARD, .form = FORM_FEW,
     .head = cosformer_few_v3, .tile = 0, .own = 73728, .few_rows = 64, .lanes = 8, .of_pair = 128, .shared = 49856,
         .slot = 16704, .slots = 4, .together = 1},
    {.role = RUN_FORWARD,
     .rows = cosformer_rows_v3, .tile = 256, .own = 492096, .of_pair = 128, .remembered = 1, .remembers = {229376}},
};
#endif
static const struct program programs_any[] = {
    {.role = RUN_FORWARD, .form = FORM_FEW, .from = 381,
     .head = cosformer_few_any, .tile = 0, .own = 73728, .few_rows = 64, .of_pair = 128, .shared = 49856, .slot = 16704,
         .slots = 4, .together = 1},
    {.role = RUN_FORWARD, .from = 381,
     .head = cosformer_linear_any, .tile = 0, .own = 49536, .of_token = 8320, .in_keys = 1, .shared = 66688,
         .slot = 33408, .slots = 4, .together = 1},
    {.role = RUN_FORWARD, .form = FORM_FEW,
     .head = cosformer_few_any, .tile = 0, .own = 73728, .few_rows = 64, .lanes = 4, .of_pair = 128, .shared = 49856,
         .slot = 16704, .slots = 4, .together = 1},
    {.role = RUN_FORWARD,
     .rows = cosformer_rows_any, .tile = 128, .own = 392768, .of_pair = 128, .remembered = 1, .remembers = {130048}},
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
    .layout = KERNEL_LAYOUT, .name = "cosformer", .openmp = OPENMP,
    .target = target, .targets = sizeof target / sizeof *target - 1,
    .array = array, .arrays = sizeof array / sizeof *array,
    .params_bytes = sizeof(struct cosformer_params),
    .dtype = ATTN_F32, .key_dtype = ATTN_F32, .value_dtype = ATTN_F32, .real = sizeof(float), .element = sizeof(float),
    .head_dim = 64, .value_dim = 64, .key_row = 64, .value_row = 64,
    .shares = 1,
    .positions = 1,
    .ids = -1,
    .corrected = -1,
    .solution = -1,
};

/* ==== the interface ==== */
size_t cosformer_params_size(void) { return attn_call_params_size(&kernel); }
int cosformer_params_init(struct cosformer_params *params, uint64_t seed, void *storage)
{
    return attn_call_params_init(&kernel, params, seed, storage);
}
size_t cosformer_workspace(const struct attn_problem *problem) { return attn_call_workspace(&kernel, problem); }
int cosformer_forward(const struct attn_problem *problem, const struct cosformer_params *params, const float *q,
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
static int params_init_any(void *params, uint64_t seed, void *storage)
{
    return attn_call_params_init(&kernel, params, seed, storage);
}
const struct attn_kernel cosformer_kernel = {
    .name = "cosformer", .version = "0.2.0", .dtype = ATTN_F32, .head_dim = 64, .value_dim = 64,
    .params = 0, .param = NULL, .params_bytes = sizeof(struct cosformer_params),
    .params_size = cosformer_params_size, .params_init = params_init_any, .forward = forward_any,
    .workspace = cosformer_workspace,
    .key_dtype = ATTN_F32, .value_dtype = ATTN_F32,
    .before = INT64_MAX, .after = 0, .period = 1, .names_heads = 0, .names_sequences = 0, .in_parts = 0,
    .saved_power = 0, .has_sink = 0, .open_keys = 0, .end_of_keys = INT64_MAX,
};
#endif /* a compiler of this language */
#endif /* SECTION */
