/* hedgehog.c, made by attnc 0.2.0: attnc hedgehog.yaml
   C11 with GNU extensions, for a C compiler; C++ includes hedgehog.h.
   Hedgehog attention, a learned feature map that mimics the softmax
   Zhang et al., The Hedgehog and the Porcupine (ICLR 2024), section 4

   Computes, in f32, over the axes b (batch), g (key/value head), m (query head of g), i (query), j (key), d (64),
   e (64), c (64):
     q [b g m i d]
     k [b g j d]
     v [b g j e]
     features.wq [g m d c], learned parameter
     x4 [b g m i c] = sum over d of q * features.wq
     x5 [b g m i] = max over c of x4
     x6 [b g m i c] = exp(x4 - x5)
     x7 [b g m i] = sum over c of x6
     x8 [b g m i c] = x6 / x7
     x9 [b g m i c] = -x4
     x10 [b g m i] = max over c of x9
     x11 [b g m i c] = exp(x9 - x10)
     x12 [b g m i] = sum over c of x11
     x13 [b g m i c] = x11 / x12
     features.wk [g d c], learned parameter
     x15 [b g j c] = sum over d of k * features.wk
     x16 [b g j] = max over c of x15
     x17 [b g j c] = exp(x15 - x16)
     x18 [b g j] = sum over c of x17
     x19 [b g j c] = x17 / x18
     x20 [b g j c] = -x15
     x21 [b g j] = max over c of x20
     x22 [b g j c] = exp(x20 - x21)
     x23 [b g j] = sum over c of x22
     x24 [b g j c] = x22 / x23
     x25 [b g m i j] = sum over c of x8 * x19
     x26 [b g m i j] = sum over c of x13 * x24
     x27 [b g m i j] = x25 + x26
     x28 [b g m i] = sum over j of x27 if j <= i + query_start
     x29 [b g m i e] = sum over j of x27 * v if j <= i + query_start
     x30 [b g m i e] = x28 == 0 ? 0 : x29 / x28
     out = x30
   query_start is the position of the first query: problem.query_start[b], or n_k - n_q if that is NULL.

   How: each vector lane holds one query. Keys are processed in tiles,
   so row sums and maxima need no reduction across lanes.
   The sums of a tile start from zero and are added to the sums so far. Tiles that no query sees are skipped.
   Linear from 253 keys on: the weight is an inner product of 128 features. The state is a sum over keys of 128 x 65
   numbers.
     x86-64-v4  quadratic tiles of 32 queries and 96 keys, in blocks of 256 queries;
     342272 bytes of workspace per thread
     x86-64-v4  linear    tiles of 32 queries and 32 keys; 262272 bytes of workspace per thread
     x86-64-v3  quadratic tiles of 16 queries and 96 keys, in blocks of 256 queries;
     327808 bytes of workspace per thread
     x86-64-v3  linear    tiles of 32 queries and 32 keys; 262272 bytes of workspace per thread
     generic    quadratic tiles of 16 queries and 96 keys, in blocks of 128 queries;
     195712 bytes of workspace per thread
     generic    linear    tiles of 32 queries and 32 keys; 262272 bytes of workspace per thread

   Contents:
     loops      hedgehog_rows, hedgehog_linear
     targets    x86-64-v4, x86-64-v3, generic
     tables     arrays and programs, for the functions of attnrt that call the loops
     interface  hedgehog_workspace, hedgehog_forward, hedgehog_kernel
   The file includes itself, so that the loops are compiled once for each target. T(name) is a name with the target's
   suffix, LANES the elements of its vectors, and OF(…) a number for each target.

   Compile with: cc -O2 -fopenmp hedgehog.c … -lattnrt -lm */
#ifdef SECTION
#include <attnrt/kernel/vector.h>
#include <attnrt/kernel/elementary.h>
#include <attnrt/kernel/product.h>

/* The functions for the products below. Each calls dot or a similar function with constants. */
TARGET APART void T(dot0)(int64_t lanes, const float *a, const float *b, float *c)
{
    T(dot)(/*vectors=*/2, lanes, /*rows=*/64, /*tail=*/4, /*steps=*/64, /*span=*/32, a, /*a_row=*/1, /*a_step=*/64, b,
        /*b_step=*/OF(32, 16, 16), c, /*c_row=*/OF(32, 16, 16), /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL);
}
TARGET APART void T(dot1)(int64_t lanes, const float *a, const float *b, float *c)
{
    T(dot)(/*vectors=*/OF(3, 2, 2), lanes, /*rows=*/64, /*tail=*/4, /*steps=*/64, /*span=*/32, a, /*a_row=*/1,
        /*a_step=*/64, b, /*b_step=*/96, c, /*c_row=*/96, /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL);
}
TARGET APART void T(dot2)(int64_t lanes, int64_t rows, const float *a, const float *b, float *c)
{
    T(dot)(/*vectors=*/2, lanes, rows, /*tail=*/-1, /*steps=*/64, /*span=*/32, a, /*a_row=*/1, /*a_step=*/96, b,
        /*b_step=*/OF(32, 16, 16), c, /*c_row=*/OF(32, 16, 16), /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL);
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
#if OF(1, 0, 0)
TARGET APART void T(dot5)(int64_t steps, const float *a, const float *b, int64_t b_step, float *c)
#else
TARGET APART void T(dot5)(int64_t lanes, const float *a, const float *b, float *c)
#endif
{
#if OF(0, 1, 1)
    T(dot)(/*vectors=*/2, lanes, /*rows=*/64, /*tail=*/4, /*steps=*/64, /*span=*/32, a, /*a_row=*/1, /*a_step=*/64, b,
        /*b_step=*/32, c, /*c_row=*/32, /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL);
}
TARGET APART void T(dot6)(int64_t steps, const float *a, const float *b, int64_t b_step, float *c)
{
#endif
    T(dot)(/*vectors=*/OF(4, 2, 2), /*lanes=*/64, /*rows=*/128, /*tail=*/2, steps, /*span=*/192, a, /*a_row=*/32,
        /*a_step=*/1, b, b_step, c, /*c_row=*/64, /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL);
}
#if OF(1, 0, 0)
TARGET APART void T(dot6)(int64_t lanes, const float *a, const float *b, float *c, const struct coming *next)
#else
TARGET APART void T(dot7)(int64_t lanes, const float *a, const float *b, float *c, const struct coming *next)
#endif
{
    T(dot_meanwhile)(/*vectors=*/2, lanes, /*rows=*/64, /*tail=*/4, /*steps=*/128, /*span=*/32, a, /*a_row=*/1,
        /*a_step=*/64, b, /*b_step=*/32, c, /*c_row=*/32, /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL, next,
        /*arrays=*/4, /*nexts=*/32);
}
#if OF(1, 0, 0)
TARGET APART void T(dot7)(int64_t lanes, int64_t rows, const float *a, const float *b, float *c)
#else
TARGET APART void T(dot8)(int64_t lanes, int64_t rows, const float *a, const float *b, float *c)
#endif
{
    T(dot)(/*vectors=*/2, lanes, rows, /*tail=*/-1, /*steps=*/64, /*span=*/32, a, /*a_row=*/1, /*a_step=*/32, b,
        /*b_step=*/32, c, /*c_row=*/32, /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL);
}
#if OF(0, 1, 1)
TARGET APART void T(dot9)(int64_t lanes, int64_t steps, const float *a, int64_t a_step, const float *b, float *c,
    float *compensation)
{
    T(dot_finite)(/*vectors=*/2, lanes, /*rows=*/64, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/1, a_step, b,
        /*b_step=*/32, c, /*c_row=*/32, /*update=*/3, /*factor=*/NULL, compensation);
}
TARGET APART void T(dot10)(int64_t lanes, int64_t steps, const float *a, int64_t a_step, const float *b, float *c,
    float *compensation)
{
    T(dot)(/*vectors=*/2, lanes, /*rows=*/64, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/1, a_step, b, /*b_step=*/32,
        c, /*c_row=*/32, /*update=*/3, /*factor=*/NULL, compensation);
}
#endif

/* Computes task number `task`: one tile of queries of one head. `work` is this thread's workspace. */
TARGET static void T(hedgehog_rows)(const struct call *call, int64_t task, unsigned char *work)
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
    const float *const features_wq = (const float *)call->array[ARRAY_features_wq].at + (g * members + m) * 64 * 64;
    const float *const features_wk = (const float *)call->array[ARRAY_features_wk].at + g * 64 * 64;
    float *const query_wq = (float *)(void *)(work + 0); /* [c: 64, i: OF(32, 16, 16)] */
    float *const query_max = (float *)(void *)(work + OF(8192, 4096, 4096)); /* [i: OF(32, 16, 16)] */
    float *const query = (float *)(void *)(work + OF(8320, 4160, 4160)); /* [c: 64, i: OF(32, 16, 16)] */
    float *const query_sum = (float *)(void *)(work + OF(16512, 8256, 8256)); /* [i: OF(32, 16, 16)] */
    float *const all_query_2 = (float *)(void *)(work + OF(16640, 8320, 8320)); /* [c: 64, i: OF(32, 16, 16), OF(8, 16,
        8) times] */
    float *const query_max_2 = (float *)(void *)(work + OF(8192, 4096, 4096)); /* [i: OF(32, 16, 16)] */
    float *const query_sum_2 = (float *)(void *)(work + OF(8320, 4160, 4160)); /* [i: OF(32, 16, 16)] */
    float *const all_query_5 = (float *)(void *)(work + OF(82176, 73856, 41088)); /* [c: 64, i: OF(32, 16, 16), OF(8,
        16, 8) times] */
    float *const key_wk = (float *)(void *)(work + OF(147712, 139392, 73856)); /* [c: 64, j: 96] */
    float *const key_max = (float *)(void *)(work + 0); /* [j: 96] */
    float *const key = (float *)(void *)(work + OF(172288, 163968, 98432)); /* [c: 64, j: 96] */
    float *const key_sum = (float *)(void *)(work + 384); /* [j: 96] */
    float *const key_max_2 = (float *)(void *)(work + 0); /* [j: 96] */
    float *const key_sum_2 = (float *)(void *)(work + 384); /* [j: 96] */
    float *const score = (float *)(void *)(work + 0); /* [j: 96, i: OF(32, 16, 16)] */
    float *const score_2 = (float *)(void *)(work + OF(196864, 188544, 123008)); /* [j: 96, i: OF(32, 16, 16)] */
    float *const all_row_sum = (float *)(void *)(work + OF(209152, 194688, 129152)); /* [i: OF(32, 16, 16), OF(8, 16,
        8) times] */
    float *const all_row_sum_compensation = (float *)(void *)(work + OF(210176, 195712, 129664)); /* [i: OF(32, 16, 16),
        OF(8, 16, 8) times] */
    float *const all_sum = (float *)(void *)(work + OF(211200, 196736, 130176)); /* [e: 64, i: OF(32, 16, 16), OF(8, 16,
        8) times] */
    float *const all_sum_compensation = (float *)(void *)(work + OF(276736, 262272, 162944)); /* [e: 64, i: OF(32, 16,
        16), OF(8, 16, 8) times] */
    float *const result = (float *)(void *)(work + 0); /* [e: 64, i: OF(32, 16, 16)] */
    float *const out = (float *)call->array[ARRAY_out].at + b * call->array[ARRAY_out].strides.batch + (g * members + m)
        * call->array[ARRAY_out].strides.head;
    const int64_t out_row = call->array[ARRAY_out].strides.row;
    float *const q_tile = (float *)(void *)(work + OF(8192, 4096, 4096)); /* [d: 64, i: OF(32, 16, 16)] */
    float *const k_tile = (float *)(void *)(work + OF(172288, 163968, 98432)); /* [d: 64, j: 96] */
    for (int64_t i_next = i0, i_block = i0, i_end = i1; i_next < i_end; i_next += OF(32, 16, 16)) {
        const int64_t i0 = i_next, i1 = min(i0 + OF(32, 16, 16), i_end);
        float *const query_2 = all_query_2 + (i0 - i_block) / OF(32, 16, 16) * OF(2048, 1024, 1024);
        float *const query_5 = all_query_5 + (i0 - i_block) / OF(32, 16, 16) * OF(2048, 1024, 1024);
        float *const row_sum = all_row_sum + (i0 - i_block) / OF(32, 16, 16) * OF(32, 16, 16);
        float *const row_sum_compensation = all_row_sum_compensation + (i0 - i_block) / OF(32, 16, 16) * OF(32, 16, 16);
        float *const sum = all_sum + (i0 - i_block) / OF(32, 16, 16) * OF(2048, 1024, 1024);
        float *const sum_compensation = all_sum_compensation + (i0 - i_block) / OF(32, 16, 16) * OF(2048, 1024, 1024);
        /* q_tile = q, with zeros beyond the last row */
        T(transpose_padded)(q + i0 * q_row, q_row, i1 - i0, 64, q_tile, OF(32, 16, 16), LANES);
        /* query_wq[c][i] = sum over d of features_wq * q_tile */
        T(dot0)(round_up(i1 - i0, LANES), features_wq, q_tile, query_wq);
        /* query_max = -INFINITY */
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            T(store)(query_max + i, T(splat)(-INFINITY));
        }
        /* query_max max= query_wq */
        for (int64_t i_first = 0; i_first < i1 - i0; i_first += (2 * LANES)) {
            T(vec) query_max_in[2][2];
            UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += LANES) {
                UNROLL for (int c_chain = 0; c_chain < 2; c_chain++) query_max_in[vector][c_chain] =
                    T(splat)(-INFINITY);
            }
            for (int64_t c_first = 0; c_first < 64; c_first += 2) {
                UNROLL for (int c_chain = 0; c_chain < 2; c_chain++) {
                    const int64_t c = min(c_first + c_chain, 64 - 1);
                    UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += LANES) {
                        query_max_in[vector][c_chain] = T(max)(query_max_in[vector][c_chain],
                            T(load)(query_wq + c * OF(32, 16, 16) + i));
                    }
                }
            }
            UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += LANES) {
                T(store)(query_max + i, T(max)(T(load)(query_max + i), T(max)(query_max_in[vector][0],
                    query_max_in[vector][1])));
            }
        }
        /* query_sum = 0.0f */
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            T(store)(query_sum + i, T(splat)(0.0f));
        }
        /* query = exp(query_wq - query_max); query_sum += query */
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            const T(vec) query_max_0 = T(load)(query_max + i);
            T(vec) query_sum_in = (T(vec)){0};
            for (int64_t c = 0; c < 64; c++) {
                const T(vec) query_new1 = T(exp)(T(load)(query_wq + c * OF(32, 16, 16) + i) - query_max_0);
                T(store)(query + c * OF(32, 16, 16) + i, query_new1);
                query_sum_in += query_new1;
            }
            T(store)(query_sum + i, T(load)(query_sum + i) + query_sum_in);
        }
        /* query_max_2 = -INFINITY */
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            T(store)(query_max_2 + i, T(splat)(-INFINITY));
        }
        /* query_2 = query / query_sum; query_wq = neg(query_wq); query_max_2 max= query_wq */
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            const T(vec) query_sum_3 = T(load)(query_sum + i);
            T(vec) query_max_2_in = T(load)(query_max_2 + i);
            for (int64_t c = 0; c < 64; c++) {
                T(store)(query_2 + c * OF(32, 16, 16) + i, T(load)(query + c * OF(32, 16, 16) + i) / query_sum_3);
                const T(vec) query_wq_4 = T(load)(query_wq + c * OF(32, 16, 16) + i);
                const T(vec) query_wq_new5 = -query_wq_4;
                T(store)(query_wq + c * OF(32, 16, 16) + i, query_wq_new5);
                query_max_2_in = T(max)(query_max_2_in, query_wq_new5);
            }
            T(store)(query_max_2 + i, query_max_2_in);
        }
        /* query_sum_2 = 0.0f */
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            T(store)(query_sum_2 + i, T(splat)(0.0f));
        }
        /* query_wq = exp(query_wq - query_max_2); query_sum_2 += query_wq */
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            const T(vec) query_max_2_7 = T(load)(query_max_2 + i);
            T(vec) query_sum_2_in = (T(vec)){0};
            for (int64_t c = 0; c < 64; c++) {
                const T(vec) query_wq_6 = T(load)(query_wq + c * OF(32, 16, 16) + i);
                const T(vec) query_wq_new8 = T(exp)(query_wq_6 - query_max_2_7);
                T(store)(query_wq + c * OF(32, 16, 16) + i, query_wq_new8);
                query_sum_2_in += query_wq_new8;
            }
            T(store)(query_sum_2 + i, T(load)(query_sum_2 + i) + query_sum_2_in);
        }
        /* query_5 = query_wq / query_sum_2 */
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            const T(vec) query_sum_2_9 = T(load)(query_sum_2 + i);
            for (int64_t c = 0; c < 64; c++) {
                T(store)(query_5 + c * OF(32, 16, 16) + i, T(load)(query_wq + c * OF(32, 16, 16) + i) / query_sum_2_9);
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
        /* key_wk[c][j] = sum over d of features_wk * k_tile */
        T(dot1)(round_up(j1 - j0, LANES), features_wk, k_tile, key_wk);
        /* key_max = -INFINITY */
        for (int64_t j = 0; j < j1 - j0; j += LANES) {
            T(store)(key_max + j, T(splat)(-INFINITY));
        }
        /* key_max max= key_wk */
        for (int64_t j_first = 0; j_first < j1 - j0; j_first += OF(48, 16, 8)) {
#if OF(1, 0, 0)
            T(vec) key_max_in[3];
#else
            T(vec) key_max_in[2][2];
#endif
            UNROLL for (int64_t vector = 0, j = j_first; vector < OF(3, 2, 2); vector++, j += LANES) {
#if OF(1, 0, 0)
                key_max_in[vector] = T(load)(key_max + j);
#else
                UNROLL for (int c_chain = 0; c_chain < 2; c_chain++) key_max_in[vector][c_chain] = T(splat)(-INFINITY);
#endif
            }
#if OF(1, 0, 0)
            for (int64_t c = 0; c < 64; c++) {
                UNROLL for (int64_t vector = 0, j = j_first; vector < 3; vector++, j += 16) {
                    key_max_in[vector] = T(max)(key_max_in[vector], T(load)(key_wk + c * 96 + j));
#else
            for (int64_t c_first = 0; c_first < 64; c_first += 2) {
                UNROLL for (int c_chain = 0; c_chain < 2; c_chain++) {
                    const int64_t c = min(c_first + c_chain, 64 - 1);
                    UNROLL for (int64_t vector = 0, j = j_first; vector < 2; vector++, j += LANES) {
                        key_max_in[vector][c_chain] = T(max)(key_max_in[vector][c_chain], T(load)(key_wk + c * 96 + j));
                    }
#endif
                }
            }
            UNROLL for (int64_t vector = 0, j = j_first; vector < OF(3, 2, 2); vector++, j += LANES) {
#if OF(1, 0, 0)
                T(store)(key_max + j, key_max_in[vector]);
#else
                T(store)(key_max + j, T(max)(T(load)(key_max + j), T(max)(key_max_in[vector][0],
                    key_max_in[vector][1])));
#endif
            }
        }
        /* key_sum = 0.0f */
        for (int64_t j = 0; j < j1 - j0; j += LANES) {
            T(store)(key_sum + j, T(splat)(0.0f));
        }
        /* key = exp(key_wk - key_max); key_sum += key */
        for (int64_t j = 0; j < j1 - j0; j += LANES) {
            const T(vec) key_max_10 = T(load)(key_max + j);
            T(vec) key_sum_in = (T(vec)){0};
            for (int64_t c = 0; c < 64; c++) {
                const T(vec) key_new11 = T(exp)(T(load)(key_wk + c * 96 + j) - key_max_10);
                T(store)(key + c * 96 + j, key_new11);
                key_sum_in += key_new11;
            }
            T(store)(key_sum + j, T(load)(key_sum + j) + key_sum_in);
        }
        /* key_max_2 = -INFINITY */
        for (int64_t j = 0; j < j1 - j0; j += LANES) {
            T(store)(key_max_2 + j, T(splat)(-INFINITY));
        }
        /* key = key / key_sum; key_wk = neg(key_wk); key_max_2 max= key_wk */
        for (int64_t j = 0; j < j1 - j0; j += LANES) {
            const T(vec) key_sum_12 = T(load)(key_sum + j);
            T(vec) key_max_2_in = T(load)(key_max_2 + j);
            for (int64_t c = 0; c < 64; c++) {
                T(store)(key + c * 96 + j, T(load)(key + c * 96 + j) / key_sum_12);
                const T(vec) key_wk_13 = T(load)(key_wk + c * 96 + j);
                const T(vec) key_wk_new14 = -key_wk_13;
                T(store)(key_wk + c * 96 + j, key_wk_new14);
                key_max_2_in = T(max)(key_max_2_in, key_wk_new14);
            }
            T(store)(key_max_2 + j, key_max_2_in);
        }
        /* key_sum_2 = 0.0f */
        for (int64_t j = 0; j < j1 - j0; j += LANES) {
            T(store)(key_sum_2 + j, T(splat)(0.0f));
        }
        /* key_wk = exp(key_wk - key_max_2); key_sum_2 += key_wk */
        for (int64_t j = 0; j < j1 - j0; j += LANES) {
            const T(vec) key_max_2_16 = T(load)(key_max_2 + j);
            T(vec) key_sum_2_in = (T(vec)){0};
            for (int64_t c = 0; c < 64; c++) {
                const T(vec) key_wk_15 = T(load)(key_wk + c * 96 + j);
                const T(vec) key_wk_new17 = T(exp)(key_wk_15 - key_max_2_16);
                T(store)(key_wk + c * 96 + j, key_wk_new17);
                key_sum_2_in += key_wk_new17;
            }
            T(store)(key_sum_2 + j, T(load)(key_sum_2 + j) + key_sum_2_in);
        }
        /* key_wk = key_wk / key_sum_2 */
        for (int64_t j = 0; j < j1 - j0; j += LANES) {
            const T(vec) key_sum_2_18 = T(load)(key_sum_2 + j);
            for (int64_t c = 0; c < 64; c++) {
                T(store)(key_wk + c * 96 + j, T(load)(key_wk + c * 96 + j) / key_sum_2_18);
            }
        }
        for (int64_t i_next = i0, i_block = i0, i_end = i1; i_next < i_end; i_next += OF(32, 16, 16)) {
            const int64_t i0 = i_next, i1 = min(i0 + OF(32, 16, 16), i_end);
            float *const query_2 = all_query_2 + (i0 - i_block) / OF(32, 16, 16) * OF(2048, 1024, 1024);
            float *const query_5 = all_query_5 + (i0 - i_block) / OF(32, 16, 16) * OF(2048, 1024, 1024);
            float *const row_sum = all_row_sum + (i0 - i_block) / OF(32, 16, 16) * OF(32, 16, 16);
            float *const row_sum_compensation = all_row_sum_compensation + (i0 - i_block) / OF(32, 16, 16) * OF(32, 16,
                16);
            float *const sum = all_sum + (i0 - i_block) / OF(32, 16, 16) * OF(2048, 1024, 1024);
            float *const sum_compensation = all_sum_compensation + (i0 - i_block) / OF(32, 16, 16) * OF(2048, 1024,
                1024);
            if (!(j0 < (i1 + query_start))) continue; /* no query sees a key of the tile */
            /* score[j][i] = sum over c of key * query_2 */
            T(dot2)(round_up(i1 - i0, LANES), j1 - j0, key, query_2, score);
            /* score_2[j][i] = sum over c of key_wk * query_5 */
            T(dot2)(round_up(i1 - i0, LANES), j1 - j0, key_wk, query_5, score_2);
            if ((i0 + query_start + 1) < j1) { /* the tile is partly outside the mask */
                /* score = select(j <= (i + query_start), score + score_2, 0.0f); row_sum += score */
                for (int64_t i = 0; i < i1 - i0; i += LANES) {
                    const T(ints) t_19 = (i0 + i + T(lane)) + query_start;
                    T(vec) row_sum_in = (T(vec)){0};
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        const T(vec) score_20 = T(load)(score + j * OF(32, 16, 16) + i);
                        const T(vec) score_new21 = T(pick)(__builtin_convertvector((j0 + j) <= t_19, T(mask)),
                            score_20 + T(load)(score_2 + j * OF(32, 16, 16) + i), T(splat)(0.0f));
                        T(store)(score + j * OF(32, 16, 16) + i, score_new21);
                        row_sum_in += score_new21;
                    }
                    T(add)(row_sum + i, row_sum_compensation + i, row_sum_in, T(splat)(1));
                }
            }
            if (!((i0 + query_start + 1) < j1)) { /* the tile is wholly inside the mask */
                /* score = score + score_2; row_sum += score */
                for (int64_t i_first = 0; i_first < i1 - i0; i_first += (2 * LANES)) {
                    T(vec) row_sum_in[2];
                    UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += LANES) {
                        row_sum_in[vector] = (T(vec)){0};
                    }
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += LANES) {
                            const T(vec) score_22 = T(load)(score + j * OF(32, 16, 16) + i);
                            const T(vec) score_new23 = score_22 + T(load)(score_2 + j * OF(32, 16, 16) + i);
                            T(store)(score + j * OF(32, 16, 16) + i, score_new23);
                            row_sum_in[vector] += score_new23;
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
                T(dot3)(round_up(i1 - i0, LANES), j1 - j0, v + j0 * v_row, v_row, score, sum, sum_compensation);
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
                T(dot4)(round_up(i1 - i0, LANES), j1 - j0, v + j0 * v_row, v_row, score, sum, sum_compensation);
        }
    }
    {
        for (int64_t i_next = i0, i_block = i0, i_end = i1; i_next < i_end; i_next += OF(32, 16, 16)) {
            const int64_t i0 = i_next, i1 = min(i0 + OF(32, 16, 16), i_end);
            float *const row_sum = all_row_sum + (i0 - i_block) / OF(32, 16, 16) * OF(32, 16, 16);
            float *const sum = all_sum + (i0 - i_block) / OF(32, 16, 16) * OF(2048, 1024, 1024);
            /* result = select(row_sum == 0.0f, 0.0f, sum / row_sum) */
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                const T(vec) row_sum_24 = T(load)(row_sum + i);
                const T(mask) t_25 = row_sum_24 == 0.0f;
                for (int64_t e = 0; e < 64; e++) {
                    T(store)(result + e * OF(32, 16, 16) + i, T(pick)(t_25, T(splat)(0.0f), T(load)(sum + e * OF(32, 16,
                        16) + i) / row_sum_24));
                }
            }
            /* out = result, transposed back */
            T(transpose_out)(result, OF(32, 16, 16), 64, i1 - i0, out + i0 * out_row, out_row, LANES);
        }
    }
}

/* Initialises the states: they contain no keys yet. */
TARGET APART void T(hedgehog_begin)(const struct call *call, int64_t task, const struct share *share, int64_t iteration)
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
TARGET APART void T(hedgehog_keys)(const struct call *call, int64_t task, const struct share *share, int64_t iteration)
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
    const float *const features_wk = (const float *)call->array[ARRAY_features_wk].at + g * 64 * 64;
    float *const key_wk = (float *)(void *)(share->work + 0); /* [c: 64, j: 32] */
    float *const key_max = (float *)(void *)(share->work + 8192); /* [j: 32] */
    float *const key = (float *)(void *)(share->work + 8320); /* [c: 64, j: 32] */
    float *const key_sum = (float *)(void *)(share->work + 16512); /* [j: 32] */
    float *const key_max_2 = (float *)(void *)(share->work + 8192); /* [j: 32] */
    float *const key_sum_2 = (float *)(void *)(share->work + 16512); /* [j: 32] */
    float *const key_features_3 = (float *)(void *)(share->work + 16512); /* [f: 128, j: 32] */
    float *const state_sum = (float *)(void *)(share->slots + 0); /* [chunk, f: 128 of 144] */
    float *const state = (float *)(void *)(share->slots + 576); /* [chunk, f: 128, e: 64] */
    float *const k_tile = (float *)(void *)(share->work + 8192); /* [d: 64, j: 32] */
    /* state_sum = 0.0f */
    for (int64_t f = 0; f < 128; f += LANES) {
        T(store)(state_sum + (chunk - chunk0) * 8352 + f, T(splat)(0.0f));
    }
    for (int64_t j0 = chunk * 32, j_end = min(n_k, (chunk + 1) * 32); j0 < j_end; j0 += 32) {
        const int64_t j1 = min(j0 + 32, j_end);
        /* k_tile = k, with zeros beyond the last row */
        T(transpose_padded)(k + j0 * k_row, k_row, j1 - j0, 64, k_tile, 32, 64);
        /* key_wk[c][j] = sum over d of features_wk * k_tile */
#if OF(1, 0, 0)
        T(dot0)(round_up(j1 - j0, 16), features_wk, k_tile, key_wk);
#else
        T(dot5)(round_up(j1 - j0, LANES), features_wk, k_tile, key_wk);
#endif
        /* key_max = -INFINITY */
        for (int64_t j = 0; j < j1 - j0; j += LANES) {
            T(store)(key_max + j, T(splat)(-INFINITY));
        }
        /* key_max max= key_wk */
        for (int64_t j_first = 0; j_first < j1 - j0; j_first += (2 * LANES)) {
            T(vec) key_max_in[2][2];
            UNROLL for (int64_t vector = 0, j = j_first; vector < 2; vector++, j += LANES) {
                UNROLL for (int c_chain = 0; c_chain < 2; c_chain++) key_max_in[vector][c_chain] = T(splat)(-INFINITY);
            }
            for (int64_t c_first = 0; c_first < 64; c_first += 2) {
                UNROLL for (int c_chain = 0; c_chain < 2; c_chain++) {
                    const int64_t c = min(c_first + c_chain, 64 - 1);
                    UNROLL for (int64_t vector = 0, j = j_first; vector < 2; vector++, j += LANES) {
                        key_max_in[vector][c_chain] = T(max)(key_max_in[vector][c_chain], T(load)(key_wk + c * 32 + j));
                    }
                }
            }
            UNROLL for (int64_t vector = 0, j = j_first; vector < 2; vector++, j += LANES) {
                T(store)(key_max + j, T(max)(T(load)(key_max + j), T(max)(key_max_in[vector][0],
                    key_max_in[vector][1])));
            }
        }
        /* key_sum = 0.0f */
        for (int64_t j = 0; j < j1 - j0; j += LANES) {
            T(store)(key_sum + j, T(splat)(0.0f));
        }
        /* key = exp(key_wk - key_max); key_sum += key */
        for (int64_t j = 0; j < j1 - j0; j += LANES) {
            const T(vec) key_max_0 = T(load)(key_max + j);
            T(vec) key_sum_in = (T(vec)){0};
            for (int64_t c = 0; c < 64; c++) {
                const T(vec) key_new1 = T(exp)(T(load)(key_wk + c * 32 + j) - key_max_0);
                T(store)(key + c * 32 + j, key_new1);
                key_sum_in += key_new1;
            }
            T(store)(key_sum + j, T(load)(key_sum + j) + key_sum_in);
        }
        /* key_max_2 = -INFINITY */
        for (int64_t j = 0; j < j1 - j0; j += LANES) {
            T(store)(key_max_2 + j, T(splat)(-INFINITY));
        }
        /* key = key / key_sum; key_wk = neg(key_wk); key_max_2 max= key_wk */
        for (int64_t j = 0; j < j1 - j0; j += LANES) {
            const T(vec) key_sum_5 = T(load)(key_sum + j);
            T(vec) key_max_2_in = T(load)(key_max_2 + j);
            for (int64_t c = 0; c < 64; c++) {
                T(store)(key + c * 32 + j, T(load)(key + c * 32 + j) / key_sum_5);
                const T(vec) key_wk_6 = T(load)(key_wk + c * 32 + j);
                const T(vec) key_wk_new7 = -key_wk_6;
                T(store)(key_wk + c * 32 + j, key_wk_new7);
                key_max_2_in = T(max)(key_max_2_in, key_wk_new7);
            }
            T(store)(key_max_2 + j, key_max_2_in);
        }
        /* key_sum_2 = 0.0f */
        for (int64_t j = 0; j < j1 - j0; j += LANES) {
            T(store)(key_sum_2 + j, T(splat)(0.0f));
        }
        /* key_wk = exp(key_wk - key_max_2); key_sum_2 += key_wk */
        for (int64_t j = 0; j < j1 - j0; j += LANES) {
            const T(vec) key_max_2_9 = T(load)(key_max_2 + j);
            T(vec) key_sum_2_in = (T(vec)){0};
            for (int64_t c = 0; c < 64; c++) {
                const T(vec) key_wk_8 = T(load)(key_wk + c * 32 + j);
                const T(vec) key_wk_new10 = T(exp)(key_wk_8 - key_max_2_9);
                T(store)(key_wk + c * 32 + j, key_wk_new10);
                key_sum_2_in += key_wk_new10;
            }
            T(store)(key_sum_2 + j, T(load)(key_sum_2 + j) + key_sum_2_in);
        }
        /* key_wk = key_wk / key_sum_2 */
        for (int64_t j = 0; j < j1 - j0; j += LANES) {
            const T(vec) key_sum_2_11 = T(load)(key_sum_2 + j);
            for (int64_t c = 0; c < 64; c++) {
                T(store)(key_wk + c * 32 + j, T(load)(key_wk + c * 32 + j) / key_sum_2_11);
            }
        }
        /* key_features_3 = select(f < 64, key, key_wk) */
        for (int64_t f = 0; f < 128; f++) {
            for (int64_t j = 0; j < j1 - j0; j += LANES) {
                T(store)(key_features_3 + f * 32 + j, (f < 64) ? T(load)(key + min(f,
                    63) * 32 + j) : T(load)(key_wk + max(f - 64, 0) * 32 + j));
            }
        }
        /* state_sum += key_features_3 */
        for (int64_t f = 0; f < 128; f++) {
            T(vec) lane_sums = T(splat)(0);
            for (int64_t j = 0; j < j1 - j0; j += LANES) {
                const T(vec) term = T(load)(key_features_3 + f * 32 + j);
                lane_sums += j + LANES <= j1 - j0 ? term : T(pick)(__builtin_convertvector(j + T(lane) < j1 - j0,
                    T(mask)), term, T(splat)(0));
            }
            const float total = T(lane_sum)(lane_sums);
            state_sum[(chunk - chunk0) * 8352 + f] += total;
        }
        /* state[f][e] = sum over j of key_features_3 * v */
#if OF(1, 0, 0)
        T(dot5)(j1 - j0, key_features_3, v + j0 * v_row, v_row, state + (chunk - chunk0) * 8352);
#else
        T(dot6)(j1 - j0, key_features_3, v + j0 * v_row, v_row, state + (chunk - chunk0) * 8352);
#endif
    }
}

/* Folds the slots of the current chunks, in order, for some elements of the states. */
TARGET APART void T(hedgehog_fold)(const struct call *call, int64_t task, const struct share *share, int64_t iteration)
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
            const T(vec) before_sum_new12 = T(load)(carried_sum + f);
            T(add)(carried_sum + f, carried_sum_compensation + f, T(load)(state_sum + (chunk - chunk0) * 8352 + f),
                T(splat)(1));
            T(store)(state_sum + (chunk - chunk0) * 8352 + f, before_sum_new12);
        }
        /* before = carried; carried += state; state = before */
        for (int64_t f = f0; f < f1; f++) {
            for (int64_t e_first = 0; e_first < 64; e_first += OF(64, 16, 8)) {
                UNROLL for (int64_t vector = 0, e = e_first; vector < OF(4, 2, 2); vector++, e += LANES) {
                    const T(vec) before_new13 = T(load)(carried + f * 64 + e);
                    T(add)(carried + f * 64 + e, carried_compensation + f * 64 + e,
                        T(load)(state + (chunk - chunk0) * 8352 + f * 64 + e), T(splat)(1));
                    T(store)(state + (chunk - chunk0) * 8352 + f * 64 + e, before_new13);
                }
            }
        }
    }
}

/* Processes the queries of a chunk: reads the state before the chunk, and the keys in the chunk. */
TARGET APART void T(hedgehog_queries)(const struct call *call, int64_t task, const struct share *share,
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
    const float *const features_wq = (const float *)call->array[ARRAY_features_wq].at + g * members * 64 * 64;
    const float *const features_wk = (const float *)call->array[ARRAY_features_wk].at + g * 64 * 64;
    float *const state_sum = (float *)(void *)(share->slots + 0); /* [chunk, f: 128 of 144] */
    float *const state = (float *)(void *)(share->slots + 576); /* [chunk, f: 128, e: 64] */
    float *const query_wq = (float *)(void *)(share->work + 0); /* [c: 64, i: 32] */
    float *const query_max = (float *)(void *)(share->work + 8192); /* [i: 32] */
    float *const query = (float *)(void *)(share->work + 8320); /* [c: 64, i: 32] */
    float *const query_sum = (float *)(void *)(share->work + 16512); /* [i: 32] */
    float *const query_max_2 = (float *)(void *)(share->work + 8192); /* [i: 32] */
    float *const query_sum_2 = (float *)(void *)(share->work + 16512); /* [i: 32] */
    float *const key_wk_2 = (float *)(void *)(share->work + 16512); /* [c: 64, j: 32] */
    float *const key_max_3 = (float *)(void *)(share->work + 8192); /* [j: 32] */
    float *const key_4 = (float *)(void *)(share->work + 24704); /* [c: 64, j: 32] */
    float *const key_sum_3 = (float *)(void *)(share->work + 32896); /* [j: 32] */
    float *const key_max_4 = (float *)(void *)(share->work + 8192); /* [j: 32] */
    float *const key_sum_4 = (float *)(void *)(share->work + 32896); /* [j: 32] */
    float *const score = (float *)(void *)(share->work + 32896); /* [j: 32, i: 32] */
    float *const score_2 = (float *)(void *)(share->work + 24704); /* [j: 32, i: 32] */
    float *const query_4 = (float *)(void *)(share->work + 16512); /* [f: 128, i: 32] */
    float *const row_sum_from_state = (float *)(void *)(share->work + 36992); /* [i: 32] */
    float *const row_sum = (float *)(void *)(share->work + 37120); /* [i: 32] */
    float *const row_sum_compensation = (float *)(void *)(share->work + 37248); /* [i: 32] */
    float *const sum_from_state = (float *)(void *)(share->work + 37376); /* [e: 64, i: 32] */
    float *const sum = (float *)(void *)(share->work + 45568); /* [e: 64, i: 32] */
    float *const sum_compensation = (float *)(void *)(share->work + 53760); /* [e: 64, i: 32] */
    float *const out = (float *)call->array[ARRAY_out].at + b * call->array[ARRAY_out].strides.batch + g * members *
        call->array[ARRAY_out].strides.head;
    const int64_t out_row = call->array[ARRAY_out].strides.row;
    const int64_t out_head = call->array[ARRAY_out].strides.head;
    float *const q_tile = (float *)(void *)(share->work + 8192); /* [d: 64, i: 32] */
    float *const k_tile_2 = (float *)(void *)(share->work + 24704); /* [d: 64, j: 32] */
    for (int64_t m = 0; m < members; m++) {
        for (int64_t i0 = (chunk == 0) ? 0 : max(0, (chunk * 32) - query_start), i_end = min(n_q,
            ((chunk + 1) * 32) - query_start); i0 < i_end; i0 += 32) {
            const int64_t i1 = min(i0 + 32, i_end);
            /* q_tile = q, with zeros beyond the last row */
            T(transpose_padded)(q + m * q_head + i0 * q_row, q_row, i1 - i0, 64, q_tile, 32, 0);
            /* query_wq[c][i] = sum over d of features_wq * q_tile */
#if OF(1, 0, 0)
            T(dot0)(round_up(i1 - i0, 16), features_wq + m * 4096, q_tile, query_wq);
#else
            T(dot5)(round_up(i1 - i0, LANES), features_wq + m * 4096, q_tile, query_wq);
#endif
            /* query_max = -INFINITY */
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                T(store)(query_max + i, T(splat)(-INFINITY));
            }
            /* query_max max= query_wq */
            for (int64_t i_first = 0; i_first < i1 - i0; i_first += (2 * LANES)) {
                T(vec) query_max_in[2][2];
                UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += LANES) {
                    UNROLL for (int c_chain = 0; c_chain < 2; c_chain++) query_max_in[vector][c_chain] =
                        T(splat)(-INFINITY);
                }
                for (int64_t c_first = 0; c_first < 64; c_first += 2) {
                    UNROLL for (int c_chain = 0; c_chain < 2; c_chain++) {
                        const int64_t c = min(c_first + c_chain, 64 - 1);
                        UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += LANES) {
                            query_max_in[vector][c_chain] = T(max)(query_max_in[vector][c_chain],
                                T(load)(query_wq + c * 32 + i));
                        }
                    }
                }
                UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += LANES) {
                    T(store)(query_max + i, T(max)(T(load)(query_max + i), T(max)(query_max_in[vector][0],
                        query_max_in[vector][1])));
                }
            }
            /* query_sum = 0.0f */
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                T(store)(query_sum + i, T(splat)(0.0f));
            }
            /* query = exp(query_wq - query_max); query_sum += query */
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                const T(vec) query_max_14 = T(load)(query_max + i);
                T(vec) query_sum_in = (T(vec)){0};
                for (int64_t c = 0; c < 64; c++) {
                    const T(vec) query_new15 = T(exp)(T(load)(query_wq + c * 32 + i) - query_max_14);
                    T(store)(query + c * 32 + i, query_new15);
                    query_sum_in += query_new15;
                }
                T(store)(query_sum + i, T(load)(query_sum + i) + query_sum_in);
            }
            /* query_max_2 = -INFINITY */
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                T(store)(query_max_2 + i, T(splat)(-INFINITY));
            }
            /* query = query / query_sum; query_wq = neg(query_wq); query_max_2 max= query_wq */
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                const T(vec) query_sum_16 = T(load)(query_sum + i);
                T(vec) query_max_2_in = T(load)(query_max_2 + i);
                for (int64_t c = 0; c < 64; c++) {
                    T(store)(query + c * 32 + i, T(load)(query + c * 32 + i) / query_sum_16);
                    const T(vec) query_wq_17 = T(load)(query_wq + c * 32 + i);
                    const T(vec) query_wq_new18 = -query_wq_17;
                    T(store)(query_wq + c * 32 + i, query_wq_new18);
                    query_max_2_in = T(max)(query_max_2_in, query_wq_new18);
                }
                T(store)(query_max_2 + i, query_max_2_in);
            }
            /* query_sum_2 = 0.0f */
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                T(store)(query_sum_2 + i, T(splat)(0.0f));
            }
            /* query_wq = exp(query_wq - query_max_2); query_sum_2 += query_wq */
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                const T(vec) query_max_2_20 = T(load)(query_max_2 + i);
                T(vec) query_sum_2_in = (T(vec)){0};
                for (int64_t c = 0; c < 64; c++) {
                    const T(vec) query_wq_19 = T(load)(query_wq + c * 32 + i);
                    const T(vec) query_wq_new21 = T(exp)(query_wq_19 - query_max_2_20);
                    T(store)(query_wq + c * 32 + i, query_wq_new21);
                    query_sum_2_in += query_wq_new21;
                }
                T(store)(query_sum_2 + i, T(load)(query_sum_2 + i) + query_sum_2_in);
            }
            /* query_wq = query_wq / query_sum_2 */
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                const T(vec) query_sum_2_22 = T(load)(query_sum_2 + i);
                for (int64_t c = 0; c < 64; c++) {
                    T(store)(query_wq + c * 32 + i, T(load)(query_wq + c * 32 + i) / query_sum_2_22);
                }
            }
            /* row_sum_from_state = 0.0f */
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                T(store)(row_sum_from_state + i, T(splat)(0.0f));
            }
            /* query_4 = select(f < 64, query, query_wq); row_sum_from_state += query_4 * state_sum */
            for (int64_t i_first = 0; i_first < i1 - i0; i_first += (2 * LANES)) {
                T(vec) row_sum_from_state_in[2], row_sum_from_state_in_whole[2];
                UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += LANES) {
                    row_sum_from_state_in[vector] = (T(vec)){0};
                    row_sum_from_state_in_whole[vector] = (T(vec)){0};
                }
                for (int64_t f = 0; f < 128; f++) {
                    UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += LANES) {
                        const T(vec) query_4_new23 = (f < 64) ? T(load)(query + min(f,
                            63) * 32 + i) : T(load)(query_wq + max(f - 64, 0) * 32 + i);
                        T(store)(query_4 + f * 32 + i, query_4_new23);
                        row_sum_from_state_in[vector] += query_4_new23 * (state_sum[(chunk - chunk0) * 8352 + f]);
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
            /* row_sum = 0.0f; row_sum_compensation = 0.0f */
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                T(store)(row_sum + i, T(splat)(0.0f));
                T(store)(row_sum_compensation + i, T(splat)(0.0f));
            }
            /* sum_from_state[e][i] = sum over f of state * query_4 */
#if OF(1, 0, 0)
            T(dot6)(round_up(i1 - i0, 16), state + (chunk - chunk0) * 8352, query_4, sum_from_state,
                (const struct coming[]){{k + max(0, chunk * 32) * k_row, 4 * k_row, 256}, {v + max(0,
                chunk * 32) * v_row, 4 * v_row, 256}, {out + m * out_head + i0 * out_row, 4 * out_row, 256},
                {q + m * q_head + (i0 + 32) * q_row, 4 * q_row, 256}});
#else
            T(dot7)(round_up(i1 - i0, LANES), state + (chunk - chunk0) * 8352, query_4, sum_from_state,
                (const struct coming[]){{k + max(0, chunk * 32) * k_row, 4 * k_row, 256}, {v + max(0,
                chunk * 32) * v_row, 4 * v_row, 256}, {out + m * out_head + i0 * out_row, 4 * out_row, 256},
                {q + m * q_head + (i0 + 32) * q_row, 4 * q_row, 256}});
#endif
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
                /* key_wk_2[c][j] = sum over d of features_wk * k_tile_2 */
#if OF(1, 0, 0)
                T(dot0)(round_up(j1 - j0, 16), features_wk, k_tile_2, key_wk_2);
#else
                T(dot5)(round_up(j1 - j0, LANES), features_wk, k_tile_2, key_wk_2);
#endif
                /* key_max_3 = -INFINITY */
                for (int64_t j = 0; j < j1 - j0; j += LANES) {
                    T(store)(key_max_3 + j, T(splat)(-INFINITY));
                }
                /* key_max_3 max= key_wk_2 */
                for (int64_t j_first = 0; j_first < j1 - j0; j_first += (2 * LANES)) {
                    T(vec) key_max_3_in[2][2];
                    UNROLL for (int64_t vector = 0, j = j_first; vector < 2; vector++, j += LANES) {
                        UNROLL for (int c_chain = 0; c_chain < 2; c_chain++) key_max_3_in[vector][c_chain] =
                            T(splat)(-INFINITY);
                    }
                    for (int64_t c_first = 0; c_first < 64; c_first += 2) {
                        UNROLL for (int c_chain = 0; c_chain < 2; c_chain++) {
                            const int64_t c = min(c_first + c_chain, 64 - 1);
                            UNROLL for (int64_t vector = 0, j = j_first; vector < 2; vector++, j += LANES) {
                                key_max_3_in[vector][c_chain] = T(max)(key_max_3_in[vector][c_chain],
                                    T(load)(key_wk_2 + c * 32 + j));
                            }
                        }
                    }
                    UNROLL for (int64_t vector = 0, j = j_first; vector < 2; vector++, j += LANES) {
                        T(store)(key_max_3 + j, T(max)(T(load)(key_max_3 + j), T(max)(key_max_3_in[vector][0],
                            key_max_3_in[vector][1])));
                    }
                }
                /* key_sum_3 = 0.0f */
                for (int64_t j = 0; j < j1 - j0; j += LANES) {
                    T(store)(key_sum_3 + j, T(splat)(0.0f));
                }
                /* key_4 = exp(key_wk_2 - key_max_3); key_sum_3 += key_4 */
                for (int64_t j = 0; j < j1 - j0; j += LANES) {
                    const T(vec) key_max_3_24 = T(load)(key_max_3 + j);
                    T(vec) key_sum_3_in = (T(vec)){0};
                    for (int64_t c = 0; c < 64; c++) {
                        const T(vec) key_4_new25 = T(exp)(T(load)(key_wk_2 + c * 32 + j) - key_max_3_24);
                        T(store)(key_4 + c * 32 + j, key_4_new25);
                        key_sum_3_in += key_4_new25;
                    }
                    T(store)(key_sum_3 + j, T(load)(key_sum_3 + j) + key_sum_3_in);
                }
                /* key_max_4 = -INFINITY */
                for (int64_t j = 0; j < j1 - j0; j += LANES) {
                    T(store)(key_max_4 + j, T(splat)(-INFINITY));
                }
                /* key_4 = key_4 / key_sum_3; key_wk_2 = neg(key_wk_2); key_max_4 max= key_wk_2 */
                for (int64_t j = 0; j < j1 - j0; j += LANES) {
                    const T(vec) key_sum_3_26 = T(load)(key_sum_3 + j);
                    T(vec) key_max_4_in = T(load)(key_max_4 + j);
                    for (int64_t c = 0; c < 64; c++) {
                        T(store)(key_4 + c * 32 + j, T(load)(key_4 + c * 32 + j) / key_sum_3_26);
                        const T(vec) key_wk_2_27 = T(load)(key_wk_2 + c * 32 + j);
                        const T(vec) key_wk_2_new28 = -key_wk_2_27;
                        T(store)(key_wk_2 + c * 32 + j, key_wk_2_new28);
                        key_max_4_in = T(max)(key_max_4_in, key_wk_2_new28);
                    }
                    T(store)(key_max_4 + j, key_max_4_in);
                }
                /* key_sum_4 = 0.0f */
                for (int64_t j = 0; j < j1 - j0; j += LANES) {
                    T(store)(key_sum_4 + j, T(splat)(0.0f));
                }
                /* key_wk_2 = exp(key_wk_2 - key_max_4); key_sum_4 += key_wk_2 */
                for (int64_t j = 0; j < j1 - j0; j += LANES) {
                    const T(vec) key_max_4_30 = T(load)(key_max_4 + j);
                    T(vec) key_sum_4_in = (T(vec)){0};
                    for (int64_t c = 0; c < 64; c++) {
                        const T(vec) key_wk_2_29 = T(load)(key_wk_2 + c * 32 + j);
                        const T(vec) key_wk_2_new31 = T(exp)(key_wk_2_29 - key_max_4_30);
                        T(store)(key_wk_2 + c * 32 + j, key_wk_2_new31);
                        key_sum_4_in += key_wk_2_new31;
                    }
                    T(store)(key_sum_4 + j, T(load)(key_sum_4 + j) + key_sum_4_in);
                }
                /* key_wk_2 = key_wk_2 / key_sum_4 */
                for (int64_t j = 0; j < j1 - j0; j += LANES) {
                    const T(vec) key_sum_4_32 = T(load)(key_sum_4 + j);
                    for (int64_t c = 0; c < 64; c++) {
                        T(store)(key_wk_2 + c * 32 + j, T(load)(key_wk_2 + c * 32 + j) / key_sum_4_32);
                    }
                }
                /* score[j][i] = sum over c of key_4 * query */
#if OF(1, 0, 0)
                T(dot7)(round_up(i1 - i0, 16), j1 - j0, key_4, query, score);
#else
                T(dot8)(round_up(i1 - i0, LANES), j1 - j0, key_4, query, score);
#endif
                /* score_2[j][i] = sum over c of key_wk_2 * query_wq */
#if OF(1, 0, 0)
                T(dot7)(round_up(i1 - i0, 16), j1 - j0, key_wk_2, query_wq, score_2);
#else
                T(dot8)(round_up(i1 - i0, LANES), j1 - j0, key_wk_2, query_wq, score_2);
#endif
                if ((j0 < (chunk * 32)) || ((i0 + query_start + 1) < j1)) { /* the tile is partly outside the mask */
                    /* score = select((j <= (i + query_start)) && ((chunk * 32) <= j), score + score_2, 0.0f);
                       row_sum += score */
                    for (int64_t i = 0; i < i1 - i0; i += LANES) {
                        const T(ints) t_33 = (i0 + i + T(lane)) + query_start;
                        T(vec) row_sum_in = (T(vec)){0};
                        for (int64_t j = 0; j < j1 - j0; j++) {
                            const T(vec) score_34 = T(load)(score + j * 32 + i);
                            const T(vec) score_new35 = T(pick)(__builtin_convertvector(((j0 + j) <= t_33) &
                                (-(int64_t)((chunk * 32) <= (j0 + j))), T(mask)),
                                score_34 + T(load)(score_2 + j * 32 + i), T(splat)(0.0f));
                            T(store)(score + j * 32 + i, score_new35);
                            row_sum_in += score_new35;
                        }
                        T(add)(row_sum + i, row_sum_compensation + i, row_sum_in, T(splat)(1));
                    }
                }
                if (!((j0 < (chunk * 32)) || ((i0 + query_start + 1) < j1))) { /* the tile is wholly inside the mask */
                    /* score = score + score_2; row_sum += score */
                    for (int64_t i_first = 0; i_first < i1 - i0; i_first += (2 * LANES)) {
                        T(vec) row_sum_in[2];
                        UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += LANES) {
                            row_sum_in[vector] = (T(vec)){0};
                        }
                        for (int64_t j = 0; j < j1 - j0; j++) {
                            UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += LANES) {
                                const T(vec) score_36 = T(load)(score + j * 32 + i);
                                const T(vec) score_new37 = score_36 + T(load)(score_2 + j * 32 + i);
                                T(store)(score + j * 32 + i, score_new37);
                                row_sum_in[vector] += score_new37;
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
                    T(dot3)(round_up(i1 - i0, 16), j1 - j0, v + j0 * v_row, v_row, score, sum, sum_compensation);
#else
                    T(dot9)(round_up(i1 - i0, LANES), j1 - j0, v + j0 * v_row, v_row, score, sum, sum_compensation);
#endif
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        T(mask) in_region[OF(2, 4, 8)] = {0};
                        if (T(finite)(v + j0 * v_row + j * v_row, 1, 64, 1)) continue;
                        const int t_38 = (chunk * 32) <= (j0 + j);
                        for (int64_t i = 0; i < i1 - i0; i += LANES) {
                            in_region[i / LANES] = __builtin_convertvector(((j0 + j) <= ((i0 + i + T(lane)) +
                                query_start)) & (-(int64_t)t_38), T(mask));
                        }
                        T(add_seen)(64, sum, 32, v + j0 * v_row + j * v_row, 1, score + j * 32, in_region, i1 - i0);
                    }
                } else
#if OF(1, 0, 0)
                    T(dot4)(round_up(i1 - i0, 16), j1 - j0, v + j0 * v_row, v_row, score, sum, sum_compensation);
#else
                    T(dot10)(round_up(i1 - i0, LANES), j1 - j0, v + j0 * v_row, v_row, score, sum, sum_compensation);
#endif
            }
            /* sum = select((row_sum + row_sum_from_state) == 0.0f, 0.0f,
               (sum + sum_from_state) / (row_sum + row_sum_from_state)) */
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                const T(vec) t_39 = T(load)(row_sum + i) + T(load)(row_sum_from_state + i);
                const T(mask) t_40 = t_39 == 0.0f;
                for (int64_t e = 0; e < 64; e++) {
                    T(store)(sum + e * 32 + i, T(pick)(t_40, T(splat)(0.0f),
                        (T(load)(sum + e * 32 + i) + T(load)(sum_from_state + e * 32 + i)) / t_39));
                }
            }
            /* out = sum, transposed back */
            T(transpose_out)(sum, 32, 64, i1 - i0, out + m * out_head + i0 * out_row, out_row, 0);
        }
    }
}

/* Computes head number `task`. Each thread on the head calls this with `share`. */
TARGET static void T(hedgehog_linear)(const struct call *call, int64_t task, struct share *share)
{
    const int64_t n_k = call->p.n_k;
    const int64_t chunks = n_k > 0 ? (n_k - 1) / 32 + 1 : 1;
    for (int64_t iteration = share->number; iteration < ((128 + 31) / 32); iteration += share->threads)
        T(hedgehog_begin)(call, task, share, iteration);
    synchronise(share);
    const int64_t first = 0;
    const int64_t length = segment_length(share, chunks - first);
    for (int64_t segment = share->number; first + segment * length < chunks; segment += share->threads) {
        share->chunk0 = first + segment * length;
        share->chunk1 = min(share->chunk0 + length, chunks);
        for (int64_t iteration = share->chunk0; iteration < share->chunk1; iteration++)
            T(hedgehog_keys)(call, task, share, iteration);
        for (int64_t group = 0; group < 16; group++) {
            await_segment(share, group, segment);
            const int64_t end = (group + 1) * ((128 + 31) / 32) / 16;
            for (int64_t iteration = group * ((128 + 31) / 32) / 16; iteration < end; iteration++)
                T(hedgehog_fold)(call, task, share, iteration);
            pass_segment(share, group, segment);
        }
        for (int64_t iteration = share->chunk0; iteration < share->chunk1; iteration++)
            T(hedgehog_queries)(call, task, share, iteration);
    }
    share->segments += (max(chunks - first, 0) + length - 1) / length;
    synchronise(share);
}
#include <attnrt/kernel/end.h>
#else
#ifdef __cplusplus
#error "hedgehog.c is C, not C++: compile it with a C compiler"
#elif !defined __STDC_VERSION__ || __STDC_VERSION__ < 199901L
#error "hedgehog.c is C11, not C89: compile it without -std=, or with -std=gnu11"
extern int hedgehog_is_c11;
#elif !defined __GNUC__
#error "hedgehog.c uses GNU C vector extensions: compile it with gcc or clang"
extern int hedgehog_is_gnu_c;
#else
#include "hedgehog.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include <attnrt/kernel/optimize.h>
#include <attnrt/kernel/call.h>

/* the numbers of the arrays of a call */
enum {
    ARRAY_q, ARRAY_k, ARRAY_v, ARRAY_out, ARRAY_features_wq, ARRAY_features_wk
};

#ifdef __FILE_NAME__
#define LOOPS __FILE_NAME__ /* this file, whose first part has the loops */
#else
#define LOOPS "hedgehog.c"
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
#define MAX_STEPS 96
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
#define MAX_STEPS 96
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
#define MAX_STEPS 96
#define OF(v4, v3, any) any /* a number of each target */
#define SECTION
#include LOOPS
#undef SECTION

/* ==== tables for the library that calls these functions (attnrt/kernel/call.h) ==== */
static const struct attn_param param[] = {
    {"features.wq", ATTN_F32, 3, {ATTN_HEADS, 64, 64}, offsetof(struct hedgehog_params, features_wq), 0,
        ATTN_CONTIGUOUS, 0, 0, ATTN_NO_LIMITS},
    {"features.wk", ATTN_F32, 3, {ATTN_KV_HEADS, 64, 64}, offsetof(struct hedgehog_params, features_wk), 0,
        ATTN_CONTIGUOUS, 0, 0, ATTN_NO_LIMITS},
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
    {.name = "features.wq", .access = {ACCESS_READ, ACCESS_NONE}, .dtype = ATTN_F32, .origin = FROM_PARAMS, .param = 0,
        .axis = {-1, 0, -1}},
    {.name = "features.wk", .access = {ACCESS_READ, ACCESS_NONE}, .dtype = ATTN_F32, .origin = FROM_PARAMS, .param = 1,
        .axis = {-1, 0, -1}},
};

#if defined(__x86_64__)
static int runs_v4(void)
{
    return attn_x86_64_level() >= 4;
}
static const struct program programs_v4[] = {
    {.role = RUN_FORWARD, .from = 253,
     .head = hedgehog_linear_v4, .tile = 0, .own = 61952, .of_token = 8320, .in_keys = 1, .shared = 66688,
         .slot = 33408, .slots = 4, .together = 1},
    {.role = RUN_FORWARD,
     .rows = hedgehog_rows_v4, .tile = 256, .own = 342272, .of_pair = 128},
};
#endif
#if defined(__x86_64__)
static int runs_v3(void)
{
    return attn_x86_64_level() >= 3;
}
static const struct program programs_v3[] = {
    {.role = RUN_FORWARD, .from = 253,
     .head = hedgehog_linear_v3, .tile = 0, .own = 61952, .of_token = 8320, .in_keys = 1, .shared = 66688,
         .slot = 33408, .slots = 4, .together = 1},
    {.role = RUN_FORWARD,
     .rows = hedgehog_rows_v3, .tile = 256, .own = 327808, .of_pair = 128},
};
#endif
static const struct program programs_any[] = {
    {.role = RUN_FORWARD, .from = 253,
     .head = hedgehog_linear_any, .tile = 0, .own = 61952, .of_token = 8320, .in_keys = 1, .shared = 66688,
         .slot = 33408, .slots = 4, .together = 1},
    {.role = RUN_FORWARD,
     .rows = hedgehog_rows_any, .tile = 128, .own = 195712, .of_pair = 128},
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
    .layout = KERNEL_LAYOUT, .name = "hedgehog", .openmp = OPENMP,
    .target = target, .targets = sizeof target / sizeof *target - 1,
    .array = array, .arrays = sizeof array / sizeof *array,
    .param = param, .params = 2, .params_bytes = sizeof(struct hedgehog_params),
    .dtype = ATTN_F32, .key_dtype = ATTN_F32, .value_dtype = ATTN_F32, .real = sizeof(float), .element = sizeof(float),
    .head_dim = 64, .value_dim = 64, .key_row = 64, .value_row = 64,
    .shares = 1,
    .positions = 1,
    .ids = -1,
    .corrected = -1,
    .solution = -1,
};

/* ==== the interface ==== */
size_t hedgehog_params_size(void) { return attn_call_params_size(&kernel); }
int hedgehog_params_init(struct hedgehog_params *params, uint64_t seed, void *storage)
{
    return attn_call_params_init(&kernel, params, seed, storage);
}
size_t hedgehog_workspace(const struct attn_problem *problem) { return attn_call_workspace(&kernel, problem); }
int hedgehog_forward(const struct attn_problem *problem, const struct hedgehog_params *params, const float *q,
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
const struct attn_kernel hedgehog_kernel = {
    .name = "hedgehog", .version = "0.2.0", .dtype = ATTN_F32, .head_dim = 64, .value_dim = 64,
    .params = 2, .param = param, .params_bytes = sizeof(struct hedgehog_params),
    .params_size = hedgehog_params_size, .params_init = params_init_any, .forward = forward_any,
    .workspace = hedgehog_workspace,
    .key_dtype = ATTN_F32, .value_dtype = ATTN_F32,
    .before = INT64_MAX, .after = 0, .period = 1, .names_heads = 0, .names_sequences = 0, .in_parts = 0,
    .saved_power = 0, .has_sink = 0, .open_keys = 0, .end_of_keys = INT64_MAX,
};
#endif /* a compiler of this language */
#endif /* SECTION */
