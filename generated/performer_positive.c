/* performer_positive.c, made by attnc 0.2.0: attnc performer_positive.yaml
   C11 with GNU extensions, for a C compiler; C++ includes performer_positive.h.
   Performer attention with positive random features
   Choromanski et al., Rethinking Attention with Performers (ICLR 2021), section 2.3

   Computes, in f32, over the axes b (batch), g (key/value head), m (query head of g), i (query), j (key), d (64),
   e (64), c (256):
     q [b g m i d]
     k [b g j d]
     v [b g j e]
     x3 [b g m i d] = q * 0.3535533905932738
     x4 [b g m i d] = x3 * x3
     x5 [b g m i] = sum over d of x4
     x6 [b g m i] = x5 * 0.5
     features.w [c d], orthogonal parameter
     x8 [b g m i c] = sum over d of x3 * features.w
     x9 [b g m i c] = exp(x8 - x6)
     x10 [b g j d] = k * 0.3535533905932738
     x11 [b g j d] = x10 * x10
     x12 [b g j] = sum over d of x11
     x13 [b g j] = x12 * 0.5
     x14 [b g j c] = sum over d of x10 * features.w
     x15 [b g j c] = exp(x14 - x13)
     x16 [b g m i j] = sum over c of x9 * x15
     x17 [b g m i j] = x16 * 0.00390625
     x18 [b g m i] = sum over j of x17 if j <= i + query_start
     x19 [b g m i e] = sum over j of x17 * v if j <= i + query_start
     x20 [b g m i e] = x18 == 0 ? 0 : x19 / x18
     out = x20
   query_start is the position of the first query: problem.query_start[b], or n_k - n_q if that is NULL.

   How: each vector lane holds one query. Keys are processed in tiles,
   so row sums and maxima need no reduction across lanes.
   The sums of a tile start from zero and are added to the sums so far. Tiles that no query sees are skipped.
   For few queries each lane holds one key. The queries of all heads that share keys are the rows of one tile,
   so each key is read once.
   The chunks of keys are divided among the threads. Their sums are added in the order of the chunks.
   Linear from 45 keys on: the weight is an inner product of 256 features. The state is a sum over keys of 256 x 65
   numbers.
     x86-64-v4  quadratic tiles of 32 queries and 96 keys, in blocks of 256 queries;
     614528 bytes of workspace per thread
     x86-64-v4  linear    tiles of 16 queries and 16 keys; 521472 bytes of workspace per thread
     x86-64-v4  few       tiles of 64 queries and 128 keys; 516288 bytes of workspace per thread
     x86-64-v3  quadratic tiles of 16 queries and 96 keys, in blocks of 256 queries;
     598080 bytes of workspace per thread
     x86-64-v3  linear    tiles of 16 queries and 16 keys; 521472 bytes of workspace per thread
     x86-64-v3  few       tiles of 64 queries and 128 keys; 516288 bytes of workspace per thread
     generic    quadratic tiles of 16 queries and 96 keys, in blocks of 128 queries;
     401472 bytes of workspace per thread
     generic    linear    tiles of 16 queries and 16 keys; 521472 bytes of workspace per thread
     generic    few       tiles of 64 queries and 128 keys; 516288 bytes of workspace per thread

   Contents:
     loops      performer_positive_rows, performer_positive_linear, performer_positive_few
     targets    x86-64-v4, x86-64-v3, generic
     tables     arrays and programs, for the functions of attnrt that call the loops
     interface  performer_positive_workspace, performer_positive_forward, performer_positive_kernel
   The file includes itself, so that the loops are compiled once for each target. T(name) is a name with the target's
   suffix, LANES the elements of its vectors, and OF(…) a number for each target.

   Compile with: cc -O2 -fopenmp performer_positive.c … -lattnrt -lm */
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
TARGET APART void T(dot0)(int64_t lanes, const float *a, const float *b, float *c)
{
    T(dot)(/*vectors=*/2, lanes, /*rows=*/256, /*tail=*/4, /*steps=*/64, /*span=*/32, a, /*a_row=*/64, /*a_step=*/1, b,
        /*b_step=*/OF(32, 16, 16), c, /*c_row=*/OF(32, 16, 16), /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL);
}
TARGET APART void T(dot1)(int64_t lanes, const float *a, const float *b, float *c)
{
    T(dot)(/*vectors=*/OF(3, 2, 2), lanes, /*rows=*/256, /*tail=*/4, /*steps=*/64, /*span=*/32, a, /*a_row=*/64,
        /*a_step=*/1, b, /*b_step=*/96, c, /*c_row=*/96, /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL);
}
TARGET APART void T(dot2)(int64_t lanes, int64_t steps, const float *a, int64_t a_step, const float *b, float *c,
    const float *factor, float *compensation)
{
    T(dot_finite)(/*vectors=*/2, lanes, /*rows=*/64, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/1, a_step, b,
        /*b_step=*/OF(32, 16, 16), c, /*c_row=*/OF(32, 16, 16), /*update=*/3, factor, compensation);
}
TARGET APART void T(dot3)(int64_t lanes, int64_t steps, const float *a, int64_t a_step, const float *b, float *c,
    const float *factor, float *compensation)
{
    T(dot)(/*vectors=*/2, lanes, /*rows=*/64, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/1, a_step, b,
        /*b_step=*/OF(32, 16, 16), c, /*c_row=*/OF(32, 16, 16), /*update=*/3, factor, compensation);
}
#if OF(1, 0, 0)
TARGET APART void T(dot4)(const float *a, const float *b, float *c, const struct coming *next)
#else
TARGET APART void T(dot4)(int64_t lanes, const float *a, const float *b, float *c, const struct coming *next)
#endif
{
#if OF(1, 0, 0)
    T(dot_meanwhile)(/*vectors=*/1, /*lanes=*/16, /*rows=*/256, /*tail=*/4, /*steps=*/64, /*span=*/32, a, /*a_row=*/64,
        /*a_step=*/1, b, /*b_step=*/16, c, /*c_row=*/16, /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL, next,
        /*arrays=*/2, /*nexts=*/16);
#else
    T(dot_meanwhile)(/*vectors=*/2, lanes, /*rows=*/256, /*tail=*/4, /*steps=*/64, /*span=*/32, a, /*a_row=*/64,
        /*a_step=*/1, b, /*b_step=*/16, c, /*c_row=*/16, /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL, next,
        /*arrays=*/2, /*nexts=*/16);
#endif
}
TARGET APART void T(dot5)(int64_t steps, const float *a, const float *b, int64_t b_step, float *c)
{
    T(dot)(/*vectors=*/OF(4, 2, 2), /*lanes=*/64, /*rows=*/256, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/16,
        /*a_step=*/1, b, b_step, c, /*c_row=*/64, /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL);
}
#if OF(1, 0, 0)
TARGET APART void T(dot6)(const float *a, const float *b, float *c)
{
    T(dot)(/*vectors=*/1, /*lanes=*/16, /*rows=*/256, /*tail=*/4, /*steps=*/64, /*span=*/32, a, /*a_row=*/64,
        /*a_step=*/1, b, /*b_step=*/16, c, /*c_row=*/16, /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL);
}
TARGET APART void T(dot7)(const float *a, const float *b, float *c, const struct coming *next)
{
    T(dot_meanwhile)(/*vectors=*/1, /*lanes=*/16, /*rows=*/64, /*tail=*/4, /*steps=*/256, /*span=*/32, a, /*a_row=*/1,
        /*a_step=*/64, b, /*b_step=*/16, c, /*c_row=*/16, /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL, next,
        /*arrays=*/1, /*nexts=*/16);
}
TARGET APART void T(dot8)(const float *a, const float *b, float *c, const struct coming *next)
{
    T(dot_meanwhile)(/*vectors=*/1, /*lanes=*/16, /*rows=*/256, /*tail=*/4, /*steps=*/64, /*span=*/32, a, /*a_row=*/64,
        /*a_step=*/1, b, /*b_step=*/16, c, /*c_row=*/16, /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL, next,
        /*arrays=*/3, /*nexts=*/16);
}
TARGET APART void T(dot9)(int64_t steps, const float *a, int64_t a_step, const float *b, float *c, const float *factor,
    float *compensation)
#else
TARGET APART void T(dot6)(int64_t lanes, const float *a, const float *b, float *c, const struct coming *next)
#endif
{
#if OF(1, 0, 0)
    T(dot_finite)(/*vectors=*/1, /*lanes=*/16, /*rows=*/64, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/1, a_step, b,
        /*b_step=*/16, c, /*c_row=*/16, /*update=*/3, factor, compensation);
#else
    T(dot_meanwhile)(/*vectors=*/2, lanes, /*rows=*/64, /*tail=*/4, /*steps=*/256, /*span=*/32, a, /*a_row=*/1,
        /*a_step=*/64, b, /*b_step=*/16, c, /*c_row=*/16, /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL, next,
        /*arrays=*/1, /*nexts=*/16);
#endif
}
#if OF(1, 0, 0)
TARGET APART void T(dot10)(int64_t steps, const float *a, int64_t a_step, const float *b, float *c, const float *factor,
    float *compensation)
#else
TARGET APART void T(dot7)(int64_t lanes, const float *a, const float *b, float *c, const struct coming *next)
#endif
{
#if OF(1, 0, 0)
    T(dot)(/*vectors=*/1, /*lanes=*/16, /*rows=*/64, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/1, a_step, b,
        /*b_step=*/16, c, /*c_row=*/16, /*update=*/3, factor, compensation);
#else
    T(dot_meanwhile)(/*vectors=*/2, lanes, /*rows=*/256, /*tail=*/4, /*steps=*/64, /*span=*/32, a, /*a_row=*/64,
        /*a_step=*/1, b, /*b_step=*/16, c, /*c_row=*/16, /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL, next,
        /*arrays=*/3, /*nexts=*/16);
#endif
}
#if OF(1, 0, 0)
TARGET APART void T(dot11)(int64_t lanes, const float *a, const float *b, float *c)
#else
TARGET APART void T(dot8)(int64_t lanes, const float *a, const float *b, float *c)
#endif
{
    T(dot)(/*vectors=*/OF(4, 2, 2), lanes, /*rows=*/256, /*tail=*/4, /*steps=*/64, /*span=*/32, a, /*a_row=*/64,
        /*a_step=*/1, b, /*b_step=*/64, c, /*c_row=*/64, /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL);
}
#if OF(1, 0, 0)
TARGET APART void T(dot12)(int64_t lanes, const float *a, const float *b, float *c)
#else
TARGET APART void T(dot9)(int64_t lanes, const float *a, const float *b, float *c)
#endif
{
    T(dot)(/*vectors=*/OF(4, 2, 2), lanes, /*rows=*/256, /*tail=*/4, /*steps=*/64, /*span=*/32, a, /*a_row=*/64,
        /*a_step=*/1, b, /*b_step=*/144, c, /*c_row=*/144, /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL);
}
#if OF(1, 0, 0)
TARGET APART void T(dot13)(int64_t rows, int64_t steps, const float *a, const float *b, int64_t b_step, float *c)
#else
TARGET APART void T(dot10)(int64_t rows, int64_t steps, const float *a, const float *b, int64_t b_step, float *c)
#endif
{
    T(dot_finite_lanes)(/*fetched=*/1, /*vectors=*/OF(4, 2, 2), /*lanes=*/64, rows, /*tail=*/-1, steps, /*span=*/192, a,
        /*a_row=*/144, /*a_step=*/1, b, b_step, c, /*c_row=*/64, /*update=*/1, /*factor=*/NULL, /*compensation=*/NULL);
}
#if OF(1, 0, 0)
TARGET APART void T(dot14)(int64_t rows, int64_t steps, const float *a, const float *b, int64_t b_step, float *c,
    int64_t early)
#else
TARGET APART void T(dot11)(int64_t rows, int64_t steps, const float *a, const float *b, int64_t b_step, float *c)
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
TARGET static void T(performer_positive_rows)(const struct call *call, int64_t task, unsigned char *work)
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
    const float *const features_w = (const float *)call->array[ARRAY_features_w].at;
    float *const query_sum = (float *)(void *)(work + 0); /* [i: OF(32, 16, 16)] */
    float *const query_w = (float *)(void *)(work + OF(128, 64, 64)); /* [c: 256, i: OF(32, 16, 16)] */
    float *const all_query_3 = (float *)(void *)(work + OF(32896, 16448, 16448)); /* [c: 256, i: OF(32, 16, 16), OF(8,
        16, 8) times] */
    float *const key_sum = (float *)(void *)(work + 0); /* [j: 96] */
    float *const query_4 = (float *)(void *)(work + OF(295040, 278592, 147520)); /* [c: 256, d: 64] */
    float *const key_2 = (float *)(void *)(work + OF(360576, 344128, 213056)); /* [c: 256, j: 96] */
    float *const weight = (float *)(void *)(work + 0); /* [j: 96, i: OF(32, 16, 16)] */
    float *const all_row_max = (float *)(void *)(work + OF(12288, 6144, 6144)); /* [i: OF(32, 16, 16), OF(8, 16,
        8) times] */
    float *const old_max = (float *)(void *)(work + OF(13312, 7168, 6656)); /* [i: OF(32, 16, 16)] */
    float *const weight_2 = (float *)(void *)(work + 0); /* [j: 96, i: OF(32, 16, 16)] */
    float *const all_row_sum = (float *)(void *)(work + OF(13440, 7232, 6720)); /* [i: OF(32, 16, 16), OF(8, 16,
        8) times] */
    float *const all_row_sum_compensation = (float *)(void *)(work + OF(14464, 8256, 7232)); /* [i: OF(32, 16, 16),
        OF(8, 16, 8) times] */
    float *const all_sum = (float *)(void *)(work + OF(458880, 442432, 311360)); /* [e: 64, i: OF(32, 16, 16), OF(8, 16,
        8) times] */
    float *const all_sum_compensation = (float *)(void *)(work + OF(524416, 507968, 344128)); /* [e: 64, i: OF(32, 16,
        16), OF(8, 16, 8) times] */
    float *const result = (float *)(void *)(work + 0); /* [e: 64, i: OF(32, 16, 16)] */
    float *const out = (float *)call->array[ARRAY_out].at + b * call->array[ARRAY_out].strides.batch + (g * members + m)
        * call->array[ARRAY_out].strides.head;
    const int64_t out_row = call->array[ARRAY_out].strides.row;
    float *const q_tile = (float *)(void *)(work + OF(295040, 278592, 147520)); /* [d: 64, i: OF(32, 16, 16)] */
    float *const k_tile = (float *)(void *)(work + OF(589952, 573504, 376896)); /* [d: 64, j: 96] */
    for (int64_t i_next = i0, i_block = i0, i_end = i1; i_next < i_end; i_next += OF(32, 16, 16)) {
        const int64_t i0 = i_next, i1 = min(i0 + OF(32, 16, 16), i_end);
        float *const query_3 = all_query_3 + (i0 - i_block) / OF(32, 16, 16) * OF(8192, 4096, 4096);
        /* q_tile = q, with zeros beyond the last row */
        T(transpose_padded)(q + i0 * q_row, q_row, i1 - i0, 64, q_tile, OF(32, 16, 16), LANES);
        /* query_sum = 0.0f */
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            T(store)(query_sum + i, T(splat)(0.0f));
        }
        /* q_tile = q_tile * 0.35355339f; query_sum += q_tile * q_tile */
        for (int64_t i_first = 0; i_first < i1 - i0; i_first += (2 * LANES)) {
            T(vec) query_sum_in[2];
            UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += LANES) {
                query_sum_in[vector] = (T(vec)){0};
            }
            for (int64_t d = 0; d < 64; d++) {
                UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += LANES) {
                    const T(vec) q_tile_0 = T(load)(q_tile + d * OF(32, 16, 16) + i);
                    const T(vec) q_tile_new1 = q_tile_0 * 0.35355339f;
                    T(store)(q_tile + d * OF(32, 16, 16) + i, q_tile_new1);
                    query_sum_in[vector] += q_tile_new1 * q_tile_new1;
                }
            }
            UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += LANES) {
                T(store)(query_sum + i, T(load)(query_sum + i) + query_sum_in[vector]);
            }
        }
        /* q_tile = q_tile * 1.442695f */
        for (int64_t d = 0; d < 64; d++) {
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                T(store)(q_tile + d * OF(32, 16, 16) + i, T(load)(q_tile + d * OF(32, 16, 16) + i) * 1.442695f);
            }
        }
        /* query_w[c][i] = sum over d of features_w * q_tile */
        T(dot0)(round_up(i1 - i0, LANES), features_w, q_tile, query_w);
        /* query_3 = query_w - (query_sum * 0.7213475f) */
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            const T(vec) t_2 = T(load)(query_sum + i) * 0.7213475f;
            for (int64_t c = 0; c < 256; c++) {
                T(store)(query_3 + c * OF(32, 16, 16) + i, T(load)(query_w + c * OF(32, 16, 16) + i) - t_2);
            }
        }
    }
    /* query_4 = features.w * 1.442695f */
    for (int64_t c = 0; c < 256; c++) {
        for (int64_t d_first = 0; d_first < 64; d_first += OF(64, 16, 8)) {
            UNROLL for (int64_t vector = 0, d = d_first; vector < OF(4, 2, 2); vector++, d += LANES) {
                T(store)(query_4 + c * 64 + d, T(load)(features_w + c * 64 + d) * 1.442695f);
            }
        }
    }
    {
        for (int64_t i_next = i0, i_block = i0, i_end = i1; i_next < i_end; i_next += OF(32, 16, 16)) {
            const int64_t i0 = i_next, i1 = min(i0 + OF(32, 16, 16), i_end);
            float *const row_max = all_row_max + (i0 - i_block) / OF(32, 16, 16) * OF(32, 16, 16);
            float *const row_sum = all_row_sum + (i0 - i_block) / OF(32, 16, 16) * OF(32, 16, 16);
            float *const row_sum_compensation = all_row_sum_compensation + (i0 - i_block) / OF(32, 16, 16) * OF(32, 16,
                16);
            float *const sum = all_sum + (i0 - i_block) / OF(32, 16, 16) * OF(2048, 1024, 1024);
            float *const sum_compensation = all_sum_compensation + (i0 - i_block) / OF(32, 16, 16) * OF(2048, 1024,
                1024);
            /* row_max = -FLT_MAX; row_sum = 0.0f; row_sum_compensation = 0.0f */
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                T(store)(row_max + i, T(splat)(-FLT_MAX));
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
    }
    for (int64_t j0 = 0, j_end = min(n_k, i1 + query_start); j0 < j_end; j0 += 96) {
        const int64_t j1 = min(j0 + 96, j_end);
        /* k_tile = k, with zeros beyond the last row */
        T(transpose_padded)(k + j0 * k_row, k_row, j1 - j0, 64, k_tile, 96, 64);
        /* key_sum = 0.0f */
        for (int64_t j = 0; j < j1 - j0; j += LANES) {
            T(store)(key_sum + j, T(splat)(0.0f));
        }
        /* k_tile = k_tile * 0.35355339f; key_sum += k_tile * k_tile */
        for (int64_t j_first = 0; j_first < j1 - j0; j_first += OF(48, 16, 8)) {
            T(vec) key_sum_in[OF(3, 2, 2)];
            UNROLL for (int64_t vector = 0, j = j_first; vector < OF(3, 2, 2); vector++, j += LANES) {
                key_sum_in[vector] = (T(vec)){0};
            }
            for (int64_t d = 0; d < 64; d++) {
                UNROLL for (int64_t vector = 0, j = j_first; vector < OF(3, 2, 2); vector++, j += LANES) {
                    const T(vec) k_tile_3 = T(load)(k_tile + d * 96 + j);
                    const T(vec) k_tile_new4 = k_tile_3 * 0.35355339f;
                    T(store)(k_tile + d * 96 + j, k_tile_new4);
                    key_sum_in[vector] += k_tile_new4 * k_tile_new4;
                }
            }
            UNROLL for (int64_t vector = 0, j = j_first; vector < OF(3, 2, 2); vector++, j += LANES) {
                T(store)(key_sum + j, T(load)(key_sum + j) + key_sum_in[vector]);
            }
        }
        /* key_2[c][j] = sum over d of query_4 * k_tile */
        T(dot1)(round_up(j1 - j0, LANES), query_4, k_tile, key_2);
        /* key_2 = key_2 - (key_sum * 0.7213475f) */
        for (int64_t j = 0; j < j1 - j0; j += LANES) {
            const T(vec) t_5 = T(load)(key_sum + j) * 0.7213475f;
            for (int64_t c = 0; c < 256; c++) {
                T(store)(key_2 + c * 96 + j, T(load)(key_2 + c * 96 + j) - t_5);
            }
        }
        for (int64_t i_next = i0, i_block = i0, i_end = i1; i_next < i_end; i_next += OF(32, 16, 16)) {
            const int64_t i0 = i_next, i1 = min(i0 + OF(32, 16, 16), i_end);
            float *const query_3 = all_query_3 + (i0 - i_block) / OF(32, 16, 16) * OF(8192, 4096, 4096);
            float *const row_max = all_row_max + (i0 - i_block) / OF(32, 16, 16) * OF(32, 16, 16);
            float *const row_sum = all_row_sum + (i0 - i_block) / OF(32, 16, 16) * OF(32, 16, 16);
            float *const row_sum_compensation = all_row_sum_compensation + (i0 - i_block) / OF(32, 16, 16) * OF(32, 16,
                16);
            float *const sum = all_sum + (i0 - i_block) / OF(32, 16, 16) * OF(2048, 1024, 1024);
            float *const sum_compensation = all_sum_compensation + (i0 - i_block) / OF(32, 16, 16) * OF(2048, 1024,
                1024);
            if (!(j0 < (i1 + query_start))) continue; /* no query sees a key of the tile */
            /* weight = -FLT_MAX */
            for (int64_t j = 0; j < j1 - j0; j++) {
                for (int64_t i = 0; i < i1 - i0; i += LANES) {
                    T(store)(weight + j * OF(32, 16, 16) + i, T(splat)(-FLT_MAX));
                }
            }
            /* weight max= query_3 + key_2 */
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                for (int64_t j = 0; j < j1 - j0; j++) {
                    T(vec) weight_in = T(load)(weight + j * OF(32, 16, 16) + i);
                    for (int64_t c = 0; c < 256; c++) {
                        weight_in = T(max)(weight_in, T(load)(query_3 + c * OF(32, 16, 16) + i) + (key_2[c * 96 + j]));
                    }
                    T(store)(weight + j * OF(32, 16, 16) + i, weight_in);
                }
            }
            /* old_max = row_max */
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                T(store)(old_max + i, T(load)(row_max + i));
            }
            if ((i0 + query_start + 1) < j1) { /* the tile is partly outside the mask */
                /* weight = select(j <= (i + query_start), weight, -INFINITY) */
                for (int64_t i = 0; i < i1 - i0; i += LANES) {
                    const T(ints) t_6 = (i0 + i + T(lane)) + query_start;
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        T(store)(weight + j * OF(32, 16, 16) + i, T(pick)(__builtin_convertvector((j0 + j) <= t_6,
                            T(mask)), T(load)(weight + j * OF(32, 16, 16) + i), T(splat)(-INFINITY)));
                    }
                }
            }
            /* row_max max= weight */
            for (int64_t i_first = 0; i_first < i1 - i0; i_first += (2 * LANES)) {
                T(vec) row_max_in[2][2];
                UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += LANES) {
                    UNROLL for (int j_chain = 0; j_chain < 2; j_chain++) row_max_in[vector][j_chain] =
                        T(splat)(-INFINITY);
                }
                for (int64_t j_first = 0; j_first < j1 - j0; j_first += 2) {
                    UNROLL for (int j_chain = 0; j_chain < 2; j_chain++) {
                        const int64_t j = min(j_first + j_chain, j1 - j0 - 1);
                        UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += LANES) {
                            row_max_in[vector][j_chain] = T(max)(row_max_in[vector][j_chain],
                                T(load)(weight + j * OF(32, 16, 16) + i));
                        }
                    }
                }
                UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += LANES) {
                    T(store)(row_max + i, T(max)(T(load)(row_max + i), T(max)(row_max_in[vector][0],
                        row_max_in[vector][1])));
                }
            }
            /* old_max = exp2(old_max - row_max) */
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                T(store)(old_max + i, T(exp2)(T(load)(old_max + i) - T(load)(row_max + i)));
            }
            /* weight_2 = 0.0f */
            for (int64_t j = 0; j < j1 - j0; j++) {
                for (int64_t i = 0; i < i1 - i0; i += LANES) {
                    T(store)(weight_2 + j * OF(32, 16, 16) + i, T(splat)(0.0f));
                }
            }
            /* weight_2 += exp2((query_3 + key_2) - row_max) */
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                const T(vec) row_max_7 = T(load)(row_max + i);
                for (int64_t j = 0; j < j1 - j0; j++) {
                    T(vec) weight_2_in = (T(vec)){0};
                    T(vec) weight_2_in_whole = (T(vec)){0};
                    for (int64_t c = 0; c < 256; c++) {
                        weight_2_in += T(exp2)((T(load)(query_3 + c * OF(32, 16,
                            16) + i) + (key_2[c * 96 + j])) - row_max_7);
                        if (c % 32 == 31) {
                            weight_2_in_whole += weight_2_in;
                            weight_2_in = (T(vec)){0};
                        }
                    }
                    weight_2_in += weight_2_in_whole;
                    T(store)(weight_2 + j * OF(32, 16, 16) + i, T(load)(weight_2 + j * OF(32, 16,
                        16) + i) + weight_2_in);
                }
            }
            /* weight_2 = weight_2 * 0.00390625f */
            for (int64_t j = 0; j < j1 - j0; j++) {
                for (int64_t i = 0; i < i1 - i0; i += LANES) {
                    T(store)(weight_2 + j * OF(32, 16, 16) + i, T(load)(weight_2 + j * OF(32, 16,
                        16) + i) * 0.00390625f);
                }
            }
            if ((i0 + query_start + 1) < j1) { /* the tile is partly outside the mask */
                /* weight_2 = select(j <= (i + query_start), weight_2, 0.0f) */
                for (int64_t i = 0; i < i1 - i0; i += LANES) {
                    const T(ints) t_8 = (i0 + i + T(lane)) + query_start;
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        T(store)(weight_2 + j * OF(32, 16, 16) + i, T(pick)(__builtin_convertvector((j0 + j) <= t_8,
                            T(mask)), T(load)(weight_2 + j * OF(32, 16, 16) + i), T(splat)(0.0f)));
                    }
                }
            }
            /* row_sum = row_sum * old_max; row_sum_compensation = row_sum_compensation * old_max */
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                const T(vec) old_max_9 = T(load)(old_max + i);
                T(store)(row_sum + i, T(load)(row_sum + i) * old_max_9);
                T(store)(row_sum_compensation + i, T(load)(row_sum_compensation + i) * old_max_9);
            }
            /* row_sum += weight_2 */
            for (int64_t i_first = 0; i_first < i1 - i0; i_first += (2 * LANES)) {
                T(vec) row_sum_in[2];
                UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += LANES) {
                    row_sum_in[vector] = (T(vec)){0};
                }
                for (int64_t j = 0; j < j1 - j0; j++) {
                    UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += LANES) {
                        row_sum_in[vector] += T(load)(weight_2 + j * OF(32, 16, 16) + i);
                    }
                }
                UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += LANES) {
                    T(add)(row_sum + i, row_sum_compensation + i, row_sum_in[vector], T(splat)(1));
                }
            }
            /* sum[e][i] = sum * old_max + sum over j of v * weight_2 */
            if (__builtin_expect(((i0 + query_start + 1) < j1) && !T(finite)(v + j0 * v_row, v_row, j1 - j0, 64),
                0)) { /* infinity and NaN affect only queries that see them */
                T(dot2)(round_up(i1 - i0, LANES), j1 - j0, v + j0 * v_row, v_row, weight_2, sum, old_max,
                    sum_compensation);
                for (int64_t j = 0; j < j1 - j0; j++) {
                    T(mask) in_region[OF(2, 2, 4)] = {0};
                    if (T(finite)(v + j0 * v_row + j * v_row, 1, 64, 1)) continue;
                    for (int64_t i = 0; i < i1 - i0; i += LANES) {
                        in_region[i / LANES] = __builtin_convertvector((j0 + j) <= ((i0 + i + T(lane)) + query_start),
                            T(mask));
                    }
                    T(add_seen)(64, sum, OF(32, 16, 16), v + j0 * v_row + j * v_row, 1, weight_2 + j * OF(32, 16, 16),
                        in_region, i1 - i0);
                }
            } else
                T(dot3)(round_up(i1 - i0, LANES), j1 - j0, v + j0 * v_row, v_row, weight_2, sum, old_max,
                    sum_compensation);
        }
    }
    {
        for (int64_t i_next = i0, i_block = i0, i_end = i1; i_next < i_end; i_next += OF(32, 16, 16)) {
            const int64_t i0 = i_next, i1 = min(i0 + OF(32, 16, 16), i_end);
            float *const row_sum = all_row_sum + (i0 - i_block) / OF(32, 16, 16) * OF(32, 16, 16);
            float *const sum = all_sum + (i0 - i_block) / OF(32, 16, 16) * OF(2048, 1024, 1024);
            /* result = select(row_sum == 0.0f, 0.0f, sum / row_sum) */
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                const T(vec) row_sum_10 = T(load)(row_sum + i);
                const T(mask) t_11 = row_sum_10 == 0.0f;
                for (int64_t e = 0; e < 64; e++) {
                    T(store)(result + e * OF(32, 16, 16) + i, T(pick)(t_11, T(splat)(0.0f), T(load)(sum + e * OF(32, 16,
                        16) + i) / row_sum_10));
                }
            }
            /* out = result, transposed back */
            T(transpose_out)(result, OF(32, 16, 16), 64, i1 - i0, out + i0 * out_row, out_row, LANES);
        }
    }
}

/* Initialises the states: they contain no keys yet. */
TARGET APART void T(performer_positive_begin)(const struct call *call, int64_t task, const struct share *share,
    int64_t iteration)
{
    (void)call;
    (void)task;
    const int64_t f0 = iteration * 32, f1 = min(f0 + 32, 256);
    float *const carried_max = (float *)(void *)(share->shared + 0); /* [f: 256] */
    float *const carried_sum = (float *)(void *)(share->shared + 1024); /* [f: 256] */
    float *const carried_sum_compensation = (float *)(void *)(share->shared + 67648); /* [f: 256] */
    float *const carried = (float *)(void *)(share->shared + 2048); /* [f: 256, e: 64] */
    float *const carried_compensation = (float *)(void *)(share->shared + 68672); /* [f: 256, e: 64] */
    /* carried_max = -FLT_MAX; carried_sum = 0.0f; carried_sum_compensation = 0.0f */
    for (int64_t f = f0; f < f1; f += LANES) {
        T(store)(carried_max + f, T(splat)(-FLT_MAX));
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
TARGET APART void T(performer_positive_keys)(const struct call *call, int64_t task, const struct share *share,
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
    const float *const features_w = (const float *)call->array[ARRAY_features_w].at;
    float *const key_sum = (float *)(void *)(share->work + 0); /* [j: 16] */
    float *const query = (float *)(void *)(share->work + 64); /* [c: 256, d: 64] */
    float *const key_2 = (float *)(void *)(share->work + 65600); /* [c: 256, j: 16] */
    float *const state_max = (float *)(void *)(share->slots + 0); /* [chunk, f: 256 of 272] */
    float *const key_features_2 = (float *)(void *)(share->work + 81984); /* [f: 256, j: 16] */
    float *const state_sum = (float *)(void *)(share->slots + 1088); /* [chunk, f: 256 of 272] */
    float *const state = (float *)(void *)(share->slots + 2176); /* [chunk, f: 256, e: 64] */
    float *const k_tile = (float *)(void *)(share->work + 81984); /* [d: 64, j: 16] */
    /* query = features.w * 1.442695f */
    for (int64_t c = 0; c < 256; c++) {
        for (int64_t d_first = 0; d_first < 64; d_first += OF(64, 16, 8)) {
            UNROLL for (int64_t vector = 0, d = d_first; vector < OF(4, 2, 2); vector++, d += LANES) {
                T(store)(query + c * 64 + d, T(load)(features_w + c * 64 + d) * 1.442695f);
            }
        }
    }
    /* state_max = -FLT_MAX; state_sum = 0.0f */
    for (int64_t f = 0; f < 256; f += LANES) {
        T(store)(state_max + (chunk - chunk0) * 16944 + f, T(splat)(-FLT_MAX));
        T(store)(state_sum + (chunk - chunk0) * 16944 + f, T(splat)(0.0f));
    }
    for (int64_t j0 = chunk * 16, j_end = min(n_k, (chunk + 1) * 16); j0 < j_end; j0 += 16) {
        const int64_t j1 = min(j0 + 16, j_end);
        /* k_tile = k, with zeros beyond the last row */
        T(transpose_padded)(k + j0 * k_row, k_row, j1 - j0, 64, k_tile, 16, 0);
        /* key_sum = 0.0f */
        for (int64_t j = 0; j < j1 - j0; j += LANES) {
            T(store)(key_sum + j, T(splat)(0.0f));
        }
        /* k_tile = k_tile * 0.35355339f; key_sum += k_tile * k_tile */
#if OF(1, 0, 0)
        for (int64_t j = 0; j < j1 - j0; j += 16) {
            T(vec) key_sum_in = (T(vec)){0};
#else
        for (int64_t j_first = 0; j_first < j1 - j0; j_first += (2 * LANES)) {
            T(vec) key_sum_in[2];
            UNROLL for (int64_t vector = 0, j = j_first; vector < 2; vector++, j += LANES) {
                key_sum_in[vector] = (T(vec)){0};
            }
#endif
            for (int64_t d = 0; d < 64; d++) {
#if OF(1, 0, 0)
                const T(vec) k_tile_0 = T(load)(k_tile + d * 16 + j);
                const T(vec) k_tile_new1 = k_tile_0 * 0.35355339f;
                T(store)(k_tile + d * 16 + j, k_tile_new1);
                key_sum_in += k_tile_new1 * k_tile_new1;
#else
                UNROLL for (int64_t vector = 0, j = j_first; vector < 2; vector++, j += LANES) {
                    const T(vec) k_tile_0 = T(load)(k_tile + d * 16 + j);
                    const T(vec) k_tile_new1 = k_tile_0 * 0.35355339f;
                    T(store)(k_tile + d * 16 + j, k_tile_new1);
                    key_sum_in[vector] += k_tile_new1 * k_tile_new1;
                }
#endif
            }
#if OF(1, 0, 0)
            T(store)(key_sum + j, T(load)(key_sum + j) + key_sum_in);
#else
            UNROLL for (int64_t vector = 0, j = j_first; vector < 2; vector++, j += LANES) {
                T(store)(key_sum + j, T(load)(key_sum + j) + key_sum_in[vector]);
            }
#endif
        }
        /* key_2[c][j] = sum over d of query * k_tile */
#if OF(1, 0, 0)
        T(dot4)(query, k_tile, key_2, (const struct coming[]){{v + j0 * v_row, 4 * v_row, 256}, {k + (j0 + 16) * k_row,
            4 * k_row, 256}});
#else
        T(dot4)(round_up(j1 - j0, LANES), query, k_tile, key_2, (const struct coming[]){{v + j0 * v_row, 4 * v_row,
            256}, {k + (j0 + 16) * k_row, 4 * k_row, 256}});
#endif
        /* key_2 = key_2 - (key_sum * 0.7213475f) */
        for (int64_t j = 0; j < j1 - j0; j += LANES) {
            const T(vec) t_2 = T(load)(key_sum + j) * 0.7213475f;
            for (int64_t c = 0; c < 256; c++) {
                T(store)(key_2 + c * 16 + j, T(load)(key_2 + c * 16 + j) - t_2);
            }
        }
        /* state_max max= key_2 */
        for (int64_t f = 0; f < 256; f++) {
            T(vec) lanes_max = T(splat)(-INFINITY);
            for (int64_t j = 0; j < j1 - j0; j += LANES) {
                const T(vec) term = T(load)(key_2 + f * 16 + j);
                lanes_max = T(max)(lanes_max, j + LANES <= j1 - j0 ? term : T(pick)(__builtin_convertvector(j + T(lane)
                    < j1 - j0, T(mask)), term, T(splat)(-INFINITY)));
            }
            const float largest = T(lane_max)(lanes_max);
            if (largest > state_max[(chunk - chunk0) * 16944 + f]) state_max[(chunk - chunk0) * 16944 + f] = largest;
        }
        /* key_features_2 = exp2(key_2 - state_max) */
        for (int64_t j = 0; j < j1 - j0; j += LANES) {
            for (int64_t f = 0; f < 256; f++) {
                T(store)(key_features_2 + f * 16 + j, T(exp2)(T(load)(key_2 + f * 16 + j) - (state_max[(chunk - chunk0)
                    * 16944 + f])));
            }
        }
        /* state_sum += key_features_2 */
        for (int64_t f = 0; f < 256; f++) {
            T(vec) lane_sums = T(splat)(0);
            for (int64_t j = 0; j < j1 - j0; j += LANES) {
                const T(vec) term = T(load)(key_features_2 + f * 16 + j);
                lane_sums += j + LANES <= j1 - j0 ? term : T(pick)(__builtin_convertvector(j + T(lane) < j1 - j0,
                    T(mask)), term, T(splat)(0));
            }
            const float total = T(lane_sum)(lane_sums);
            state_sum[(chunk - chunk0) * 16944 + f] += total;
        }
        /* state[f][e] = sum over j of key_features_2 * v */
        T(dot5)(j1 - j0, key_features_2, v + j0 * v_row, v_row, state + (chunk - chunk0) * 16944);
    }
}

/* Folds the slots of the current chunks, in order, for some elements of the states. */
TARGET APART void T(performer_positive_fold)(const struct call *call, int64_t task, const struct share *share,
    int64_t iteration)
{
    (void)call;
    (void)task;
    const int64_t f0 = iteration * 32, f1 = min(f0 + 32, 256);
    const int64_t chunk0 = share->chunk0;
    const int64_t chunk1 = share->chunk1;
    float *const state_max = (float *)(void *)(share->slots + 0); /* [chunk, f: 256 of 272] */
    float *const state_sum = (float *)(void *)(share->slots + 1088); /* [chunk, f: 256 of 272] */
    float *const state = (float *)(void *)(share->slots + 2176); /* [chunk, f: 256, e: 64] */
    float *const carried_max = (float *)(void *)(share->shared + 0); /* [f: 256] */
    float *const carried_factor = (float *)(void *)(share->work + 0); /* [f: 256] */
    float *const slot_factor = (float *)(void *)(share->work + 1024); /* [f: 256] */
    float *const carried_sum = (float *)(void *)(share->shared + 1024); /* [f: 256] */
    float *const carried_sum_compensation = (float *)(void *)(share->shared + 67648); /* [f: 256] */
    float *const carried = (float *)(void *)(share->shared + 2048); /* [f: 256, e: 64] */
    float *const carried_compensation = (float *)(void *)(share->shared + 68672); /* [f: 256, e: 64] */
    for (int64_t chunk = chunk0; chunk < chunk1; chunk++) {
        /* before_max = carried_max; carried_max max= state_max; carried_factor = exp2(before_max - carried_max);
           slot_factor = exp2(state_ ... */
        for (int64_t f = f0; f < f1; f += LANES) {
            const T(vec) carried_max_3 = T(load)(carried_max + f);
            const T(vec) before_max_new4 = carried_max_3;
            const T(vec) state_max_5 = T(load)(state_max + (chunk - chunk0) * 16944 + f);
            const T(vec) carried_max_new6 = T(max)(T(load)(carried_max + f), state_max_5);
            T(store)(carried_max + f, carried_max_new6);
            T(store)(carried_factor + f, T(exp2)(before_max_new4 - carried_max_new6));
            T(store)(slot_factor + f, T(exp2)(state_max_5 - carried_max_new6));
            T(store)(state_max + (chunk - chunk0) * 16944 + f, before_max_new4);
        }
        /* before_sum = carried_sum; carried_sum = carried_sum * carried_factor;
           carried_sum_compensation = carried_sum_compensation * carr ... */
        for (int64_t f = f0; f < f1; f += LANES) {
            const T(vec) carried_sum_7 = T(load)(carried_sum + f);
            const T(vec) before_sum_new8 = carried_sum_7;
            const T(vec) carried_factor_9 = T(load)(carried_factor + f);
            T(store)(carried_sum + f, carried_sum_7 * carried_factor_9);
            T(store)(carried_sum_compensation + f, T(load)(carried_sum_compensation + f) * carried_factor_9);
            T(add)(carried_sum + f, carried_sum_compensation + f, T(load)(state_sum + (chunk - chunk0) * 16944 + f) *
                T(load)(slot_factor + f), T(splat)(1));
            T(store)(state_sum + (chunk - chunk0) * 16944 + f, before_sum_new8);
        }
        /* before = carried; carried = carried * carried_factor; carried_compensation = carried_compensation *
           carried_factor; carried += s ... */
        for (int64_t f = f0; f < f1; f++) {
            for (int64_t e_first = 0; e_first < 64; e_first += OF(64, 16, 8)) {
                UNROLL for (int64_t vector = 0, e = e_first; vector < OF(4, 2, 2); vector++, e += LANES) {
                    const T(vec) carried_10 = T(load)(carried + f * 64 + e);
                    const T(vec) before_new11 = carried_10;
                    const float carried_factor_12 = carried_factor[f];
                    T(store)(carried + f * 64 + e, carried_10 * carried_factor_12);
                    T(store)(carried_compensation + f * 64 + e, T(load)(carried_compensation + f * 64 + e) *
                        carried_factor_12);
                    T(add)(carried + f * 64 + e, carried_compensation + f * 64 + e,
                        T(load)(state + (chunk - chunk0) * 16944 + f * 64 + e) * slot_factor[f], T(splat)(1));
                    T(store)(state + (chunk - chunk0) * 16944 + f * 64 + e, before_new11);
                }
            }
        }
    }
}

/* Processes the queries of a chunk: reads the state before the chunk, and the keys in the chunk. */
TARGET APART void T(performer_positive_queries)(const struct call *call, int64_t task, const struct share *share,
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
    const float *const features_w = (const float *)call->array[ARRAY_features_w].at;
    float *const state_max = (float *)(void *)(share->slots + 0); /* [chunk, f: 256 of 272] */
    float *const state_sum = (float *)(void *)(share->slots + 1088); /* [chunk, f: 256 of 272] */
    float *const state = (float *)(void *)(share->slots + 2176); /* [chunk, f: 256, e: 64] */
    float *const query_sum = (float *)(void *)(share->work + 0); /* [i: 16] */
    float *const query_w = (float *)(void *)(share->work + 64); /* [c: 256, i: 16] */
    float *const key_sum_2 = (float *)(void *)(share->work + 0); /* [j: 16] */
    float *const query_5 = (float *)(void *)(share->work + 16448); /* [c: 256, d: 64] */
    float *const key_4 = (float *)(void *)(share->work + 81984); /* [c: 256, j: 16] */
    float *const query_6 = (float *)(void *)(share->work + 81984); /* [f: 256, i: 16] */
    float *const query_max = (float *)(void *)(share->work + 98368); /* [i: 16] */
    float *const row_sum_from_state = (float *)(void *)(share->work + 98432); /* [i: 16] */
    float *const weight = (float *)(void *)(share->work + 98496); /* [j: 16, i: 16] */
    float *const row_max = (float *)(void *)(share->work + 99520); /* [i: 16] */
    float *const old_max = (float *)(void *)(share->work + 0); /* [i: 16] */
    float *const weight_2 = (float *)(void *)(share->work + 98496); /* [j: 16, i: 16] */
    float *const row_sum = (float *)(void *)(share->work + 99584); /* [i: 16] */
    float *const row_sum_compensation = (float *)(void *)(share->work + 99648); /* [i: 16] */
    float *const sum_from_state = (float *)(void *)(share->work + 99712); /* [e: 64, i: 16] */
    float *const sum = (float *)(void *)(share->work + 103808); /* [e: 64, i: 16] */
    float *const sum_compensation = (float *)(void *)(share->work + 107904); /* [e: 64, i: 16] */
    float *const out = (float *)call->array[ARRAY_out].at + b * call->array[ARRAY_out].strides.batch + g * members *
        call->array[ARRAY_out].strides.head;
    const int64_t out_row = call->array[ARRAY_out].strides.row;
    const int64_t out_head = call->array[ARRAY_out].strides.head;
    float *const q_tile = (float *)(void *)(share->work + 16448); /* [d: 64, i: 16] */
    float *const k_tile_2 = (float *)(void *)(share->work + 112000); /* [d: 64, j: 16] */
    for (int64_t m = 0; m < members; m++) {
        for (int64_t i0 = (chunk == 0) ? 0 : max(0, (chunk * 16) - query_start), i_end = min(n_q,
            ((chunk + 1) * 16) - query_start); i0 < i_end; i0 += 16) {
            const int64_t i1 = min(i0 + 16, i_end);
            /* q_tile = q, with zeros beyond the last row */
            T(transpose_padded)(q + m * q_head + i0 * q_row, q_row, i1 - i0, 64, q_tile, 16, 0);
            /* query_sum = 0.0f */
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                T(store)(query_sum + i, T(splat)(0.0f));
            }
            /* q_tile = q_tile * 0.35355339f; query_sum += q_tile * q_tile */
#if OF(1, 0, 0)
            for (int64_t i = 0; i < i1 - i0; i += 16) {
                T(vec) query_sum_in = (T(vec)){0};
#else
            for (int64_t i_first = 0; i_first < i1 - i0; i_first += (2 * LANES)) {
                T(vec) query_sum_in[2];
                UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += LANES) {
                    query_sum_in[vector] = (T(vec)){0};
                }
#endif
                for (int64_t d = 0; d < 64; d++) {
#if OF(1, 0, 0)
                    const T(vec) q_tile_13 = T(load)(q_tile + d * 16 + i);
                    const T(vec) q_tile_new14 = q_tile_13 * 0.35355339f;
                    T(store)(q_tile + d * 16 + i, q_tile_new14);
                    query_sum_in += q_tile_new14 * q_tile_new14;
#else
                    UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += LANES) {
                        const T(vec) q_tile_13 = T(load)(q_tile + d * 16 + i);
                        const T(vec) q_tile_new14 = q_tile_13 * 0.35355339f;
                        T(store)(q_tile + d * 16 + i, q_tile_new14);
                        query_sum_in[vector] += q_tile_new14 * q_tile_new14;
                    }
#endif
                }
#if OF(1, 0, 0)
                T(store)(query_sum + i, T(load)(query_sum + i) + query_sum_in);
#else
                UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += LANES) {
                    T(store)(query_sum + i, T(load)(query_sum + i) + query_sum_in[vector]);
                }
#endif
            }
            /* q_tile = q_tile * 1.442695f */
            for (int64_t d = 0; d < 64; d++) {
                for (int64_t i = 0; i < i1 - i0; i += LANES) {
                    T(store)(q_tile + d * 16 + i, T(load)(q_tile + d * 16 + i) * 1.442695f);
                }
            }
            /* query_w[c][i] = sum over d of features_w * q_tile */
#if OF(1, 0, 0)
            T(dot6)(features_w, q_tile, query_w);
#else
            T(dot0)(round_up(i1 - i0, LANES), features_w, q_tile, query_w);
#endif
            /* query_w = query_w - (query_sum * 0.7213475f) */
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                const T(vec) t_15 = T(load)(query_sum + i) * 0.7213475f;
                for (int64_t c = 0; c < 256; c++) {
                    T(store)(query_w + c * 16 + i, T(load)(query_w + c * 16 + i) - t_15);
                }
            }
            /* query_5 = features.w * 1.442695f */
            for (int64_t c = 0; c < 256; c++) {
                for (int64_t d_first = 0; d_first < 64; d_first += OF(64, 16, 8)) {
                    UNROLL for (int64_t vector = 0, d = d_first; vector < OF(4, 2, 2); vector++, d += LANES) {
                        T(store)(query_5 + c * 64 + d, T(load)(features_w + c * 64 + d) * 1.442695f);
                    }
                }
            }
            /* query_max = -FLT_MAX */
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                T(store)(query_max + i, T(splat)(-FLT_MAX));
            }
            /* query_6 = query_w + state_max; query_max max= query_6 */
#if OF(1, 0, 0)
            for (int64_t i = 0; i < i1 - i0; i += 16) {
                T(vec) query_max_in = T(load)(query_max + i);
#else
            for (int64_t i_first = 0; i_first < i1 - i0; i_first += (2 * LANES)) {
                T(vec) query_max_in[2];
                UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += LANES) {
                    query_max_in[vector] = T(load)(query_max + i);
                }
#endif
                for (int64_t f = 0; f < 256; f++) {
#if OF(1, 0, 0)
                    const T(vec) query_6_new16 = T(load)(query_w + f * 16 + i) + (state_max[(chunk - chunk0) * 16944 +
                        f]);
                    T(store)(query_6 + f * 16 + i, query_6_new16);
                    query_max_in = T(max)(query_max_in, query_6_new16);
#else
                    UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += LANES) {
                        const T(vec) query_6_new16 = T(load)(query_w + f * 16 + i) + (state_max[(chunk - chunk0) * 16944
                            + f]);
                        T(store)(query_6 + f * 16 + i, query_6_new16);
                        query_max_in[vector] = T(max)(query_max_in[vector], query_6_new16);
                    }
#endif
                }
#if OF(1, 0, 0)
                T(store)(query_max + i, query_max_in);
#else
                UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += LANES) {
                    T(store)(query_max + i, query_max_in[vector]);
                }
#endif
            }
            /* row_sum_from_state = 0.0f */
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                T(store)(row_sum_from_state + i, T(splat)(0.0f));
            }
            /* query_6 = exp2(query_6 - query_max) * 0.00390625f; row_sum_from_state += query_6 * state_sum */
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                const T(vec) query_max_18 = T(load)(query_max + i);
                T(vec) row_sum_from_state_in = (T(vec)){0};
                T(vec) row_sum_from_state_in_whole = (T(vec)){0};
                for (int64_t f = 0; f < 256; f++) {
                    const T(vec) query_6_17 = T(load)(query_6 + f * 16 + i);
                    const T(vec) query_6_new19 = T(exp2)(query_6_17 - query_max_18) * 0.00390625f;
                    T(store)(query_6 + f * 16 + i, query_6_new19);
                    row_sum_from_state_in += query_6_new19 * (state_sum[(chunk - chunk0) * 16944 + f]);
                    if (f % 32 == 31) {
                        row_sum_from_state_in_whole += row_sum_from_state_in;
                        row_sum_from_state_in = (T(vec)){0};
                    }
                }
                row_sum_from_state_in += row_sum_from_state_in_whole;
                T(store)(row_sum_from_state + i, T(load)(row_sum_from_state + i) + row_sum_from_state_in);
            }
            /* row_max = -FLT_MAX; row_sum = 0.0f; row_sum_compensation = 0.0f */
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                T(store)(row_max + i, T(splat)(-FLT_MAX));
                T(store)(row_sum + i, T(splat)(0.0f));
                T(store)(row_sum_compensation + i, T(splat)(0.0f));
            }
            /* sum_from_state[e][i] = sum over f of state * query_6 */
#if OF(1, 0, 0)
            T(dot7)(state + (chunk - chunk0) * 16944, query_6, sum_from_state, (const struct coming[]){{k + max(0,
                chunk * 16) * k_row, 4 * k_row, 256}});
#else
            T(dot6)(round_up(i1 - i0, LANES), state + (chunk - chunk0) * 16944, query_6, sum_from_state,
                (const struct coming[]){{k + max(0, chunk * 16) * k_row, 4 * k_row, 256}});
#endif
            /* sum = 0.0f; sum_compensation = 0.0f */
            for (int64_t e = 0; e < 64; e++) {
                for (int64_t i = 0; i < i1 - i0; i += LANES) {
                    T(store)(sum + e * 16 + i, T(splat)(0.0f));
                    T(store)(sum_compensation + e * 16 + i, T(splat)(0.0f));
                }
            }
            for (int64_t j0 = max(0, chunk * 16), j_end = min(n_k, i1 + query_start); j0 < j_end; j0 += 16) {
                const int64_t j1 = min(j0 + 16, j_end);
                /* k_tile_2 = k, with zeros beyond the last row */
                T(transpose_padded)(k + j0 * k_row, k_row, j1 - j0, 64, k_tile_2, 16, 0);
                /* key_sum_2 = 0.0f */
                for (int64_t j = 0; j < j1 - j0; j += LANES) {
                    T(store)(key_sum_2 + j, T(splat)(0.0f));
                }
                /* k_tile_2 = k_tile_2 * 0.35355339f; key_sum_2 += k_tile_2 * k_tile_2 */
#if OF(1, 0, 0)
                for (int64_t j = 0; j < j1 - j0; j += 16) {
                    T(vec) key_sum_2_in = (T(vec)){0};
#else
                for (int64_t j_first = 0; j_first < j1 - j0; j_first += (2 * LANES)) {
                    T(vec) key_sum_2_in[2];
                    UNROLL for (int64_t vector = 0, j = j_first; vector < 2; vector++, j += LANES) {
                        key_sum_2_in[vector] = (T(vec)){0};
                    }
#endif
                    for (int64_t d = 0; d < 64; d++) {
#if OF(1, 0, 0)
                        const T(vec) k_tile_2_20 = T(load)(k_tile_2 + d * 16 + j);
                        const T(vec) k_tile_2_new21 = k_tile_2_20 * 0.35355339f;
                        T(store)(k_tile_2 + d * 16 + j, k_tile_2_new21);
                        key_sum_2_in += k_tile_2_new21 * k_tile_2_new21;
#else
                        UNROLL for (int64_t vector = 0, j = j_first; vector < 2; vector++, j += LANES) {
                            const T(vec) k_tile_2_20 = T(load)(k_tile_2 + d * 16 + j);
                            const T(vec) k_tile_2_new21 = k_tile_2_20 * 0.35355339f;
                            T(store)(k_tile_2 + d * 16 + j, k_tile_2_new21);
                            key_sum_2_in[vector] += k_tile_2_new21 * k_tile_2_new21;
                        }
#endif
                    }
#if OF(1, 0, 0)
                    T(store)(key_sum_2 + j, T(load)(key_sum_2 + j) + key_sum_2_in);
#else
                    UNROLL for (int64_t vector = 0, j = j_first; vector < 2; vector++, j += LANES) {
                        T(store)(key_sum_2 + j, T(load)(key_sum_2 + j) + key_sum_2_in[vector]);
                    }
#endif
                }
                /* key_4[c][j] = sum over d of query_5 * k_tile_2 */
#if OF(1, 0, 0)
                T(dot8)(query_5, k_tile_2, key_4, (const struct coming[]){{v + j0 * v_row, 4 * v_row, 256},
                    {out + m * out_head + i0 * out_row, 4 * out_row, 256}, {q + m * q_head + (i0 + 16) * q_row,
                    4 * q_row, 256}});
#else
                T(dot7)(round_up(j1 - j0, LANES), query_5, k_tile_2, key_4, (const struct coming[]){{v + j0 * v_row,
                    4 * v_row, 256}, {out + m * out_head + i0 * out_row, 4 * out_row, 256},
                    {q + m * q_head + (i0 + 16) * q_row, 4 * q_row, 256}});
#endif
                /* key_4 = key_4 - (key_sum_2 * 0.7213475f) */
                for (int64_t j = 0; j < j1 - j0; j += LANES) {
                    const T(vec) t_22 = T(load)(key_sum_2 + j) * 0.7213475f;
                    for (int64_t c = 0; c < 256; c++) {
                        T(store)(key_4 + c * 16 + j, T(load)(key_4 + c * 16 + j) - t_22);
                    }
                }
                /* weight = -FLT_MAX */
                for (int64_t j = 0; j < j1 - j0; j++) {
                    for (int64_t i = 0; i < i1 - i0; i += LANES) {
                        T(store)(weight + j * 16 + i, T(splat)(-FLT_MAX));
                    }
                }
                /* weight max= query_w + key_4 */
                for (int64_t i = 0; i < i1 - i0; i += LANES) {
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        T(vec) weight_in = T(load)(weight + j * 16 + i);
                        for (int64_t c = 0; c < 256; c++) {
                            weight_in = T(max)(weight_in, T(load)(query_w + c * 16 + i) + (key_4[c * 16 + j]));
                        }
                        T(store)(weight + j * 16 + i, weight_in);
                    }
                }
                /* old_max = row_max */
                for (int64_t i = 0; i < i1 - i0; i += LANES) {
                    T(store)(old_max + i, T(load)(row_max + i));
                }
                if ((j0 < (chunk * 16)) || ((i0 + query_start + 1) < j1)) { /* the tile is partly outside the mask */
                    /* weight = select((j <= (i + query_start)) && ((chunk * 16) <= j), weight, -INFINITY) */
                    for (int64_t i = 0; i < i1 - i0; i += LANES) {
                        const T(ints) t_23 = (i0 + i + T(lane)) + query_start;
                        for (int64_t j = 0; j < j1 - j0; j++) {
                            T(store)(weight + j * 16 + i, T(pick)(__builtin_convertvector(((j0 + j) <= t_23) &
                                (-(int64_t)((chunk * 16) <= (j0 + j))), T(mask)), T(load)(weight + j * 16 + i),
                                T(splat)(-INFINITY)));
                        }
                    }
                }
                /* row_max max= weight */
#if OF(1, 0, 0)
                for (int64_t i = 0; i < i1 - i0; i += 16) {
                    T(vec) row_max_in[4];
                    UNROLL for (int j_chain = 0; j_chain < 4; j_chain++) row_max_in[j_chain] = T(splat)(-INFINITY);
#else
                for (int64_t i_first = 0; i_first < i1 - i0; i_first += (2 * LANES)) {
                    T(vec) row_max_in[2][2];
                    UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += LANES) {
                        UNROLL for (int j_chain = 0; j_chain < 2; j_chain++) row_max_in[vector][j_chain] =
                            T(splat)(-INFINITY);
                    }
#endif
                    for (int64_t j_first = 0; j_first < j1 - j0; j_first += OF(4, 2, 2)) {
                        UNROLL for (int j_chain = 0; j_chain < OF(4, 2, 2); j_chain++) {
                            const int64_t j = min(j_first + j_chain, j1 - j0 - 1);
#if OF(1, 0, 0)
                            row_max_in[j_chain] = T(max)(row_max_in[j_chain], T(load)(weight + j * 16 + i));
#else
                            UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += LANES) {
                                row_max_in[vector][j_chain] = T(max)(row_max_in[vector][j_chain],
                                    T(load)(weight + j * 16 + i));
                            }
#endif
                        }
                    }
#if OF(1, 0, 0)
                    T(store)(row_max + i, T(max)(T(load)(row_max + i), T(max)(T(max)(T(max)(row_max_in[0],
                        row_max_in[1]), row_max_in[2]), row_max_in[3])));
#else
                    UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += LANES) {
                        T(store)(row_max + i, T(max)(T(load)(row_max + i), T(max)(row_max_in[vector][0],
                            row_max_in[vector][1])));
                    }
#endif
                }
                /* old_max = exp2(old_max - row_max) */
                for (int64_t i = 0; i < i1 - i0; i += LANES) {
                    T(store)(old_max + i, T(exp2)(T(load)(old_max + i) - T(load)(row_max + i)));
                }
                /* weight_2 = 0.0f */
                for (int64_t j = 0; j < j1 - j0; j++) {
                    for (int64_t i = 0; i < i1 - i0; i += LANES) {
                        T(store)(weight_2 + j * 16 + i, T(splat)(0.0f));
                    }
                }
                /* weight_2 += exp2((query_w + key_4) - row_max) */
                for (int64_t i = 0; i < i1 - i0; i += LANES) {
                    const T(vec) row_max_24 = T(load)(row_max + i);
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        T(vec) weight_2_in = (T(vec)){0};
                        T(vec) weight_2_in_whole = (T(vec)){0};
                        for (int64_t c = 0; c < 256; c++) {
                            weight_2_in += T(exp2)((T(load)(query_w + c * 16 + i) + (key_4[c * 16 + j])) - row_max_24);
                            if (c % 32 == 31) {
                                weight_2_in_whole += weight_2_in;
                                weight_2_in = (T(vec)){0};
                            }
                        }
                        weight_2_in += weight_2_in_whole;
                        T(store)(weight_2 + j * 16 + i, T(load)(weight_2 + j * 16 + i) + weight_2_in);
                    }
                }
                /* weight_2 = weight_2 * 0.00390625f */
                for (int64_t j = 0; j < j1 - j0; j++) {
                    for (int64_t i = 0; i < i1 - i0; i += LANES) {
                        T(store)(weight_2 + j * 16 + i, T(load)(weight_2 + j * 16 + i) * 0.00390625f);
                    }
                }
                if ((j0 < (chunk * 16)) || ((i0 + query_start + 1) < j1)) { /* the tile is partly outside the mask */
                    /* weight_2 = select((j <= (i + query_start)) && ((chunk * 16) <= j), weight_2, 0.0f) */
                    for (int64_t i = 0; i < i1 - i0; i += LANES) {
                        const T(ints) t_25 = (i0 + i + T(lane)) + query_start;
                        for (int64_t j = 0; j < j1 - j0; j++) {
                            T(store)(weight_2 + j * 16 + i, T(pick)(__builtin_convertvector(((j0 + j) <= t_25) &
                                (-(int64_t)((chunk * 16) <= (j0 + j))), T(mask)), T(load)(weight_2 + j * 16 + i),
                                T(splat)(0.0f)));
                        }
                    }
                }
                /* row_sum = row_sum * old_max; row_sum_compensation = row_sum_compensation * old_max */
                for (int64_t i = 0; i < i1 - i0; i += LANES) {
                    const T(vec) old_max_26 = T(load)(old_max + i);
                    T(store)(row_sum + i, T(load)(row_sum + i) * old_max_26);
                    T(store)(row_sum_compensation + i, T(load)(row_sum_compensation + i) * old_max_26);
                }
                /* row_sum += weight_2 */
#if OF(1, 0, 0)
                for (int64_t i = 0; i < i1 - i0; i += 16) {
                    T(vec) row_sum_in = (T(vec)){0};
#else
                for (int64_t i_first = 0; i_first < i1 - i0; i_first += (2 * LANES)) {
                    T(vec) row_sum_in[2];
                    UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += LANES) {
                        row_sum_in[vector] = (T(vec)){0};
                    }
#endif
                    for (int64_t j = 0; j < j1 - j0; j++) {
#if OF(1, 0, 0)
                        row_sum_in += T(load)(weight_2 + j * 16 + i);
#else
                        UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += LANES) {
                            row_sum_in[vector] += T(load)(weight_2 + j * 16 + i);
                        }
#endif
                    }
#if OF(1, 0, 0)
                    T(add)(row_sum + i, row_sum_compensation + i, row_sum_in, T(splat)(1));
#else
                    UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += LANES) {
                        T(add)(row_sum + i, row_sum_compensation + i, row_sum_in[vector], T(splat)(1));
                    }
#endif
                }
                /* sum[e][i] = sum * old_max + sum over j of v * weight_2 */
                if (__builtin_expect(((j0 < (chunk * 16)) || ((i0 + query_start + 1) < j1)) && !T(finite)(v + j0 *
                    v_row, v_row, j1 - j0, 64), 0)) { /* infinity and NaN affect only queries that see them */
#if OF(1, 0, 0)
                    T(dot9)(j1 - j0, v + j0 * v_row, v_row, weight_2, sum, old_max, sum_compensation);
#else
                    T(dot2)(round_up(i1 - i0, LANES), j1 - j0, v + j0 * v_row, v_row, weight_2, sum, old_max,
                        sum_compensation);
#endif
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        T(mask) in_region[OF(1, 2, 4)] = {0};
                        if (T(finite)(v + j0 * v_row + j * v_row, 1, 64, 1)) continue;
                        const int t_27 = (chunk * 16) <= (j0 + j);
                        for (int64_t i = 0; i < i1 - i0; i += LANES) {
                            in_region[i / LANES] = __builtin_convertvector(((j0 + j) <= ((i0 + i + T(lane)) +
                                query_start)) & (-(int64_t)t_27), T(mask));
                        }
                        T(add_seen)(64, sum, 16, v + j0 * v_row + j * v_row, 1, weight_2 + j * 16, in_region, i1 - i0);
                    }
                } else
#if OF(1, 0, 0)
                    T(dot10)(j1 - j0, v + j0 * v_row, v_row, weight_2, sum, old_max, sum_compensation);
#else
                    T(dot3)(round_up(i1 - i0, LANES), j1 - j0, v + j0 * v_row, v_row, weight_2, sum, old_max,
                        sum_compensation);
#endif
            }
            /* sum = select(((row_sum * exp2(row_max - max(row_max,
               query_max))) + (row_sum_from_state * exp2(query_max - max(row_max, query_ma ... */
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                const T(vec) row_max_28 = T(load)(row_max + i);
                const T(vec) query_max_29 = T(load)(query_max + i);
                const T(vec) t_30 = T(max_nan)(row_max_28, query_max_29);
                const T(vec) t_31 = T(exp2)(row_max_28 - t_30);
                const T(vec) t_32 = T(exp2)(query_max_29 - t_30);
                const T(vec) t_33 = (T(load)(row_sum + i) * t_31) + (T(load)(row_sum_from_state + i) * t_32);
                const T(mask) t_34 = t_33 == 0.0f;
                for (int64_t e = 0; e < 64; e++) {
                    T(store)(sum + e * 16 + i, T(pick)(t_34, T(splat)(0.0f),
                        ((T(load)(sum + e * 16 + i) * t_31) + (T(load)(sum_from_state + e * 16 + i) * t_32)) / t_33));
                }
            }
            /* out = sum, transposed back */
            T(transpose_out)(sum, 16, 64, i1 - i0, out + m * out_head + i0 * out_row, out_row, 0);
        }
    }
}

/* Computes head number `task`. Each thread on the head calls this with `share`. */
TARGET static void T(performer_positive_linear)(const struct call *call, int64_t task, struct share *share)
{
    const int64_t n_k = call->p.n_k;
    const int64_t chunks = n_k > 0 ? (n_k - 1) / 16 + 1 : 1;
    for (int64_t iteration = share->number; iteration < ((256 + 31) / 32); iteration += share->threads)
        T(performer_positive_begin)(call, task, share, iteration);
    synchronise(share);
    const int64_t first = 0;
    const int64_t length = segment_length(share, chunks - first);
    for (int64_t segment = share->number; first + segment * length < chunks; segment += share->threads) {
        share->chunk0 = first + segment * length;
        share->chunk1 = min(share->chunk0 + length, chunks);
        for (int64_t iteration = share->chunk0; iteration < share->chunk1; iteration++)
            T(performer_positive_keys)(call, task, share, iteration);
        for (int64_t group = 0; group < 16; group++) {
            await_segment(share, group, segment);
            const int64_t end = (group + 1) * ((256 + 31) / 32) / 16;
            for (int64_t iteration = group * ((256 + 31) / 32) / 16; iteration < end; iteration++)
                T(performer_positive_fold)(call, task, share, iteration);
            pass_segment(share, group, segment);
        }
        for (int64_t iteration = share->chunk0; iteration < share->chunk1; iteration++)
            T(performer_positive_queries)(call, task, share, iteration);
    }
    share->segments += (max(chunks - first, 0) + length - 1) / length;
    synchronise(share);
}

/* Initialises the states: they contain no keys yet. */
TARGET APART void T(performer_positive_few_begin)(const struct call *call, int64_t task, const struct share *share,
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
    const float *const features_w = (const float *)call->array[ARRAY_features_w].at;
    float *const query = (float *)(void *)(share->shared + 0); /* [d: 64, r: 64] */
    float *const query_sum = (float *)(void *)(share->shared + 16448); /* [r: 64] */
    float *const query_2 = (float *)(void *)(share->shared + 16704); /* [d: 64, r: 64] */
    float *const query_w = (float *)(void *)(share->shared + 33152); /* [c: 256, r: 64] */
    float *const query_3 = (float *)(void *)(share->shared + 98752); /* [c: 256, r: 64] */
    float *const query_4 = (float *)(void *)(share->shared + 164352); /* [c: 256, d: 64] */
    float *const q_tile = (float *)(void *)(share->work + 0); /* [d: 64, r: 64 of 80] */
    /* q_tile = q, with zeros beyond the last row */
    for (int64_t r = r0; r < r0 + round_up(r1 - r0, LANES); r++)
        for (int64_t d = 0; d < 64; d++)
            q_tile[d * 80 + r] = r < r1 ? q[r / n_q * q_head + r % n_q * q_row + d] : 0;
    /* query_sum = 0.0f */
    for (int64_t r = r0; r < r1; r += LANES) {
        T(store)(query_sum + r, T(splat)(0.0f));
    }
    /* query = q_tile * 0.35355339f; query_sum += query * query; query_2 = query * 1.442695f */
    for (int64_t r = r0; r < r1; r += LANES) {
        T(vec) query_sum_in = (T(vec)){0};
        for (int64_t d = 0; d < 64; d++) {
            const T(vec) query_new0 = T(load)(q_tile + d * 80 + r) * 0.35355339f;
            T(store)(query + d * 64 + r, query_new0);
            query_sum_in += query_new0 * query_new0;
            T(store)(query_2 + d * 64 + r, query_new0 * 1.442695f);
        }
        T(store)(query_sum + r, T(load)(query_sum + r) + query_sum_in);
    }
    /* query_w[c][r] = sum over d of features_w * query_2 */
#if OF(1, 0, 0)
    T(dot11)(round_up(r1 - r0, 16), features_w, query_2 + r0, query_w + r0);
#else
    T(dot8)(round_up(r1 - r0, LANES), features_w, query_2 + r0, query_w + r0);
#endif
    /* query_3 = query_w - (query_sum * 0.7213475f) */
    for (int64_t r = r0; r < r1; r += LANES) {
        const T(vec) t_1 = T(load)(query_sum + r) * 0.7213475f;
        for (int64_t c = 0; c < 256; c++) {
            T(store)(query_3 + c * 64 + r, T(load)(query_w + c * 64 + r) - t_1);
        }
    }
    /* query_4 = features.w * 1.442695f */
    for (int64_t c = 0; c < 256; c++) {
        for (int64_t d_first = 0; d_first < 64; d_first += OF(64, 16, 8)) {
            UNROLL for (int64_t vector = 0, d = d_first; vector < OF(4, 2, 2); vector++, d += LANES) {
                T(store)(query_4 + c * 64 + d, T(load)(features_w + c * 64 + d) * 1.442695f);
            }
        }
    }
}

/* Initialises the states: they contain no keys yet. */
TARGET APART void T(performer_positive_few_begin_2)(const struct call *call, int64_t task, const struct share *share,
    int64_t iteration)
{
    (void)task;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t r0 = iteration * 16, r1 = min(r0 + 16, rows);
    float *const carried_max = (float *)(void *)(share->shared + 229952); /* [r: 64] */
    float *const carried_sum = (float *)(void *)(share->shared + 230208); /* [r: 64] */
    float *const carried_sum_compensation = (float *)(void *)(share->shared + 246912); /* [r: 64] */
    float *const carried = (float *)(void *)(share->shared + 230464); /* [r: 64, e: 64] */
    float *const carried_compensation = (float *)(void *)(share->shared + 247168); /* [r: 64, e: 64] */
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
TARGET APART void T(performer_positive_few_keys)(const struct call *call, int64_t task, const struct share *share,
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
    float *const query_3 = (float *)(void *)(share->shared + 98752); /* [c: 256, r: 64] */
    float *const key_sum = (float *)(void *)(share->work + 0); /* [j: 128] */
    float *const query_4 = (float *)(void *)(share->shared + 164352); /* [c: 256, d: 64] */
    float *const key_2 = (float *)(void *)(share->work + 512); /* [c: 256, j: 128 of 144] */
    float *const weight = (float *)(void *)(share->work + 147968); /* [r: 64, j: 128 of 144] */
    float *const state_max = (float *)(void *)(share->slots + 0); /* [chunk, r: 64] */
    float *const old_max = (float *)(void *)(share->work + 0); /* [r: 64] */
    float *const weight_2 = (float *)(void *)(share->work + 147968); /* [r: 64, j: 128 of 144] */
    float *const state_sum = (float *)(void *)(share->slots + 256); /* [chunk, r: 64] */
    float *const state = (float *)(void *)(share->slots + 512); /* [chunk, r: 64, e: 64] */
    float *const k_tile = (float *)(void *)(share->work + 147968); /* [d: 64, j: 128 of 144] */
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
        /* k_tile = k, with zeros beyond the last row */
        T(transpose_padded)(k + j0 * k_row, k_row, j1 - j0, 64, k_tile, 144, 64);
        /* key_sum = 0.0f */
        for (int64_t j = 0; j < j1 - j0; j += LANES) {
            T(store)(key_sum + j, T(splat)(0.0f));
        }
        /* k_tile = k_tile * 0.35355339f; key_sum += k_tile * k_tile */
        for (int64_t j_first = 0; j_first < j1 - j0; j_first += OF(64, 16, 8)) {
            T(vec) key_sum_in[OF(4, 2, 2)];
            UNROLL for (int64_t vector = 0, j = j_first; vector < OF(4, 2, 2); vector++, j += LANES) {
                key_sum_in[vector] = (T(vec)){0};
            }
            for (int64_t d = 0; d < 64; d++) {
                UNROLL for (int64_t vector = 0, j = j_first; vector < OF(4, 2, 2); vector++, j += LANES) {
                    const T(vec) k_tile_2 = T(load)(k_tile + d * 144 + j);
                    const T(vec) k_tile_new3 = k_tile_2 * 0.35355339f;
                    T(store)(k_tile + d * 144 + j, k_tile_new3);
                    key_sum_in[vector] += k_tile_new3 * k_tile_new3;
                }
            }
            UNROLL for (int64_t vector = 0, j = j_first; vector < OF(4, 2, 2); vector++, j += LANES) {
                T(store)(key_sum + j, T(load)(key_sum + j) + key_sum_in[vector]);
            }
        }
        /* key_2[c][j] = sum over d of query_4 * k_tile */
#if OF(1, 0, 0)
        T(dot12)(round_up(j1 - j0, 16), query_4, k_tile, key_2);
#else
        T(dot9)(round_up(j1 - j0, LANES), query_4, k_tile, key_2);
#endif
        /* key_2 = key_2 - (key_sum * 0.7213475f) */
        for (int64_t j = 0; j < j1 - j0; j += LANES) {
            const T(vec) t_4 = T(load)(key_sum + j) * 0.7213475f;
            for (int64_t c = 0; c < 256; c++) {
                T(store)(key_2 + c * 144 + j, T(load)(key_2 + c * 144 + j) - t_4);
            }
        }
        /* weight = -FLT_MAX */
        for (int64_t r = 0; r < rows; r++) {
            for (int64_t j = 0; j < j1 - j0; j += LANES) {
                T(store)(weight + r * 144 + j, T(splat)(-FLT_MAX));
            }
        }
        /* weight max= query_3 + key_2 */
        for (int64_t j = 0; j < j1 - j0; j += LANES) {
            for (int64_t r = 0; r < rows; r++) {
                T(vec) weight_in = T(load)(weight + r * 144 + j);
                for (int64_t c = 0; c < 256; c++) {
                    weight_in = T(max)(weight_in, (query_3[c * 64 + r]) + T(load)(key_2 + c * 144 + j));
                }
                T(store)(weight + r * 144 + j, weight_in);
            }
        }
        /* old_max = state_max */
        for (int64_t r = 0; r < rows; r += LANES) {
            T(store)(old_max + r, T(load)(state_max + (chunk - chunk0) * 4240 + r));
        }
        if ((query_start + 1) < j1) { /* the tile is partly outside the mask */
            /* weight = select(j <= ((r % n_q) + query_start), weight, -INFINITY) */
            for (int64_t j = 0; j < j1 - j0; j += LANES) {
                const T(ints) t_5 = j0 + j + T(lane);
                for (int64_t r = 0; r < rows; r++) {
                    T(store)(weight + r * 144 + j, T(pick)(__builtin_convertvector(t_5 <= ((r % n_q) + query_start),
                        T(mask)), T(load)(weight + r * 144 + j), T(splat)(-INFINITY)));
                }
            }
        }
        /* state_max max= weight */
        for (int64_t r = 0; r < rows; r++) {
            T(vec) lanes_max = T(splat)(-INFINITY);
            for (int64_t j = 0; j < j1 - j0; j += LANES) {
                const T(vec) term = T(load)(weight + r * 144 + j);
                lanes_max = T(max)(lanes_max, j + LANES <= j1 - j0 ? term : T(pick)(__builtin_convertvector(j + T(lane)
                    < j1 - j0, T(mask)), term, T(splat)(-INFINITY)));
            }
            const float largest = T(lane_max)(lanes_max);
            if (largest > state_max[(chunk - chunk0) * 4240 + r]) state_max[(chunk - chunk0) * 4240 + r] = largest;
        }
        /* old_max = exp2(old_max - state_max) */
        for (int64_t r = 0; r < rows; r += LANES) {
            T(store)(old_max + r, T(exp2)(T(load)(old_max + r) - T(load)(state_max + (chunk - chunk0) * 4240 + r)));
        }
        /* weight_2 = 0.0f */
        for (int64_t r = 0; r < rows; r++) {
            for (int64_t j = 0; j < j1 - j0; j += LANES) {
                T(store)(weight_2 + r * 144 + j, T(splat)(0.0f));
            }
        }
        /* weight_2 += exp2((query_3 + key_2) - state_max) */
        for (int64_t j = 0; j < j1 - j0; j += LANES) {
            for (int64_t r = 0; r < rows; r++) {
                T(vec) weight_2_in = (T(vec)){0};
                T(vec) weight_2_in_whole = (T(vec)){0};
                for (int64_t c = 0; c < 256; c++) {
                    weight_2_in += T(exp2)(((query_3[c * 64 + r]) + T(load)(key_2 + c * 144 + j)) - (state_max[(chunk -
                        chunk0) * 4240 + r]));
                    if (c % 32 == 31) {
                        weight_2_in_whole += weight_2_in;
                        weight_2_in = (T(vec)){0};
                    }
                }
                weight_2_in += weight_2_in_whole;
                T(store)(weight_2 + r * 144 + j, T(load)(weight_2 + r * 144 + j) + weight_2_in);
            }
        }
        /* weight_2 = weight_2 * 0.00390625f */
        for (int64_t r = 0; r < rows; r++) {
            for (int64_t j = 0; j < j1 - j0; j += LANES) {
                T(store)(weight_2 + r * 144 + j, T(load)(weight_2 + r * 144 + j) * 0.00390625f);
            }
        }
        if ((query_start + 1) < j1) { /* the tile is partly outside the mask */
            /* weight_2 = select(j <= ((r % n_q) + query_start), weight_2, 0.0f) */
            for (int64_t j = 0; j < j1 - j0; j += LANES) {
                const T(ints) t_6 = j0 + j + T(lane);
                for (int64_t r = 0; r < rows; r++) {
                    T(store)(weight_2 + r * 144 + j, T(pick)(__builtin_convertvector(t_6 <= ((r % n_q) + query_start),
                        T(mask)), T(load)(weight_2 + r * 144 + j), T(splat)(0.0f)));
                }
            }
        }
        /* state_sum = state_sum * old_max */
        for (int64_t r = 0; r < rows; r += LANES) {
            T(store)(state_sum + (chunk - chunk0) * 4240 + r, T(load)(state_sum + (chunk - chunk0) * 4240 + r) *
                T(load)(old_max + r));
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
        /* state[r][e] += sum over j of weight_2 * v */
        if (__builtin_expect(((query_start + 1) < j1) && !T(finite)(v + j0 * v_row, v_row, j1 - j0, 64),
            0)) { /* infinity and NaN affect only queries that see them */
#if OF(1, 0, 0)
            T(dot13)(rows, j1 - j0, weight_2, v + j0 * v_row, v_row, state + (chunk - chunk0) * 4240);
#else
            T(dot10)(rows, j1 - j0, weight_2, v + j0 * v_row, v_row, state + (chunk - chunk0) * 4240);
#endif
            for (int64_t r = 0; r < rows; r++) {
                T(mask) in_region[OF(8, 16, 32)] = {0};
                const int64_t t_7 = (r % n_q) + query_start;
                for (int64_t j = 0; j < j1 - j0; j += LANES) {
                    in_region[j / LANES] = __builtin_convertvector((j0 + j + T(lane)) <= t_7, T(mask));
                }
                T(add_seen_lanes)(64, state + (chunk - chunk0) * 4240 + r * 64, weight_2 + r * 144, v + j0 * v_row,
                    v_row, j1 - j0, in_region);
            }
        } else
#if OF(1, 0, 0)
            T(dot14)(rows, j1 - j0, weight_2, v + j0 * v_row, v_row, state + (chunk - chunk0) * 4240,
                attn_is_intel() ? 16 : 0);
#else
            T(dot11)(rows, j1 - j0, weight_2, v + j0 * v_row, v_row, state + (chunk - chunk0) * 4240);
#endif
    }
}

/* Folds the slots of the current chunks, in order, for some elements of the states. */
TARGET APART void T(performer_positive_few_fold)(const struct call *call, int64_t task, const struct share *share,
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
    float *const carried_max = (float *)(void *)(share->shared + 229952); /* [r: 64] */
    float *const carried_factor = (float *)(void *)(share->work + 0); /* [r: 64] */
    float *const slot_factor = (float *)(void *)(share->work + 256); /* [r: 64] */
    float *const carried_sum = (float *)(void *)(share->shared + 230208); /* [r: 64] */
    float *const carried_sum_compensation = (float *)(void *)(share->shared + 246912); /* [r: 64] */
    float *const carried = (float *)(void *)(share->shared + 230464); /* [r: 64, e: 64] */
    float *const carried_compensation = (float *)(void *)(share->shared + 247168); /* [r: 64, e: 64] */
    for (int64_t chunk = chunk0; chunk < chunk1; chunk++) {
        /* before_max = carried_max; carried_max max= state_max; carried_factor = exp2(before_max - carried_max);
           slot_factor = exp2(state_ ... */
        for (int64_t r = r0; r < r1; r += LANES) {
            const T(vec) carried_max_8 = T(load)(carried_max + r);
            const T(vec) before_max_new9 = carried_max_8;
            const T(vec) state_max_10 = T(load)(state_max + (chunk - chunk0) * 4240 + r);
            const T(vec) carried_max_new11 = T(max)(T(load)(carried_max + r), state_max_10);
            T(store)(carried_max + r, carried_max_new11);
            const T(vec) carried_factor_new12 = T(exp2)(before_max_new9 - carried_max_new11);
            T(store)(carried_factor + r, carried_factor_new12);
            const T(vec) slot_factor_new13 = T(exp2)(state_max_10 - carried_max_new11);
            T(store)(slot_factor + r, slot_factor_new13);
            const T(vec) carried_sum_14 = T(load)(carried_sum + r);
            T(store)(carried_sum + r, carried_sum_14 * carried_factor_new12);
            T(store)(carried_sum_compensation + r, T(load)(carried_sum_compensation + r) * carried_factor_new12);
            T(add)(carried_sum + r, carried_sum_compensation + r, T(load)(state_sum + (chunk - chunk0) * 4240 + r) *
                slot_factor_new13, T(splat)(1));
        }
        /* before = carried; carried = carried * carried_factor; carried_compensation = carried_compensation *
           carried_factor; carried += s ... */
        for (int64_t r = r0; r < r1; r++) {
            for (int64_t e_first = 0; e_first < 64; e_first += OF(64, 16, 8)) {
                UNROLL for (int64_t vector = 0, e = e_first; vector < OF(4, 2, 2); vector++, e += LANES) {
                    const T(vec) carried_15 = T(load)(carried + r * 64 + e);
                    const float carried_factor_16 = carried_factor[r];
                    T(store)(carried + r * 64 + e, carried_15 * carried_factor_16);
                    T(store)(carried_compensation + r * 64 + e, T(load)(carried_compensation + r * 64 + e) *
                        carried_factor_16);
                    T(add)(carried + r * 64 + e, carried_compensation + r * 64 + e,
                        T(load)(state + (chunk - chunk0) * 4240 + r * 64 + e) * slot_factor[r], T(splat)(1));
                }
            }
        }
    }
}

/* Processes a tile of queries: reads the states. */
TARGET APART void T(performer_positive_few_queries)(const struct call *call, int64_t task, const struct share *share,
    int64_t iteration)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_q = call->p.n_q;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t r0 = iteration * 16, r1 = min(r0 + 16, rows);
    const int64_t g = task % kv_heads;
    const int64_t b = task / kv_heads;
    float *const carried_sum = (float *)(void *)(share->shared + 230208); /* [r: 64] */
    float *const carried = (float *)(void *)(share->shared + 230464); /* [r: 64, e: 64] */
    float *const result = (float *)(void *)(share->work + 0); /* [r: 64, e: 64] */
    float *const out = (float *)call->array[ARRAY_out].at + b * call->array[ARRAY_out].strides.batch + g * members *
        call->array[ARRAY_out].strides.head;
    const int64_t out_row = call->array[ARRAY_out].strides.row;
    const int64_t out_head = call->array[ARRAY_out].strides.head;
    /* result = select(carried_sum == 0.0f, 0.0f, carried / carried_sum) */
    for (int64_t r = r0; r < r1; r++) {
        for (int64_t e_first = 0; e_first < 64; e_first += OF(64, 16, 8)) {
            UNROLL for (int64_t vector = 0, e = e_first; vector < OF(4, 2, 2); vector++, e += LANES) {
                const float carried_sum_17 = carried_sum[r];
                T(store)(result + r * 64 + e, (carried_sum_17 == 0.0f) ? T(splat)(0.0f) : T(load)(carried + r * 64 + e)
                    / carried_sum_17);
            }
        }
    }
    /* out = result */
    for (int64_t r = r0; r < r1; r++)
        for (int64_t e = 0; e < 64; e++)
            out[r / n_q * out_head + r % n_q * out_row + e] = result[r * 64 + e];
}

/* Computes head number `task`. Each thread on the head calls this with `share`. */
TARGET static void T(performer_positive_few)(const struct call *call, int64_t task, struct share *share)
{
    const int64_t n_k = call->p.n_k;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t chunks = n_k > 0 ? (n_k - 1) / 1024 + 1 : 1;
    for (int64_t iteration = share->number; iteration < ((rows + 63) / 64); iteration += share->threads)
        T(performer_positive_few_begin)(call, task, share, iteration);
    for (int64_t iteration = share->number; iteration < ((rows + 15) / 16); iteration += share->threads)
        T(performer_positive_few_begin_2)(call, task, share, iteration);
    synchronise(share);
    const int64_t first = 0;
    const int64_t length = segment_length(share, chunks - first);
    for (int64_t segment = share->number; first + segment * length < chunks; segment += share->threads) {
        share->chunk0 = first + segment * length;
        share->chunk1 = min(share->chunk0 + length, chunks);
        for (int64_t iteration = share->chunk0; iteration < share->chunk1; iteration++)
            T(performer_positive_few_keys)(call, task, share, iteration);
        for (int64_t group = 0; group < 16; group++) {
            await_segment(share, group, segment);
            const int64_t end = (group + 1) * ((rows + 15) / 16) / 16;
            for (int64_t iteration = group * ((rows + 15) / 16) / 16; iteration < end; iteration++)
                T(performer_positive_few_fold)(call, task, share, iteration);
            pass_segment(share, group, segment);
        }
    }
    share->segments += (max(chunks - first, 0) + length - 1) / length;
    synchronise(share);
    for (int64_t iteration = share->number; iteration < ((rows + 15) / 16); iteration += share->threads)
        T(performer_positive_few_queries)(call, task, share, iteration);
    synchronise(share);
}
#include <attnrt/kernel/end.h>
#else
#ifdef __cplusplus
#error "performer_positive.c is C, not C++: compile it with a C compiler"
#elif !defined __STDC_VERSION__ || __STDC_VERSION__ < 199901L
#error "performer_positive.c is C11, not C89: compile it without -std=, or with -std=gnu11"
extern int performer_positive_is_c11;
#elif !defined __GNUC__
#error "performer_positive.c uses GNU C vector extensions: compile it with gcc or clang"
extern int performer_positive_is_gnu_c;
#else
#include "performer_positive.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include <attnrt/kernel/optimize.h>
#include <attnrt/kernel/call.h>

/* the numbers of the arrays of a call */
enum {
    ARRAY_q, ARRAY_k, ARRAY_v, ARRAY_out, ARRAY_features_w
};

#ifdef __FILE_NAME__
#define LOOPS __FILE_NAME__ /* this file, whose first part has the loops */
#else
#define LOOPS "performer_positive.c"
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
static const struct attn_param param[] = {
    {"features.w", ATTN_F32, 2, {256, 64}, offsetof(struct performer_positive_params, features_w), 1, ATTN_CONTIGUOUS,
        0, 0, ATTN_NO_LIMITS},
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
    {.name = "features.w", .access = {ACCESS_READ, ACCESS_NONE}, .dtype = ATTN_F32, .origin = FROM_PARAMS, .param = 0,
        .axis = {-1, -1, -1}, .random = RANDOM_ORTHOGONAL},
};

#if defined(__x86_64__)
static int runs_v4(void)
{
    return attn_x86_64_level() >= 4;
}
static const struct program programs_v4[] = {
    {.role = RUN_FORWARD, .form = FORM_FEW, .from = 45,
     .head = performer_positive_few_v4, .tile = 0, .own = 184832, .few_rows = 9, .of_pair = 128, .shared = 263616,
         .slot = 16960, .slots = 4, .together = 1},
    {.role = RUN_FORWARD, .from = 45,
     .head = performer_positive_linear_v4, .tile = 0, .own = 116096, .of_token = 16640, .in_keys = 1, .shared = 134272,
         .slot = 67776, .slots = 4, .together = 1},
    {.role = RUN_FORWARD, .form = FORM_FEW,
     .head = performer_positive_few_v4, .tile = 0, .own = 184832, .few_rows = 64, .lanes = 16, .of_pair = 128,
         .shared = 263616, .slot = 16960, .slots = 4, .together = 1},
    {.role = RUN_FORWARD,
     .rows = performer_positive_rows_v4, .tile = 256, .own = 614528, .of_pair = 128},
};
#endif
#if defined(__x86_64__)
static int runs_v3(void)
{
    return attn_x86_64_level() >= 3;
}
static const struct program programs_v3[] = {
    {.role = RUN_FORWARD, .form = FORM_FEW, .from = 45,
     .head = performer_positive_few_v3, .tile = 0, .own = 184832, .few_rows = 9, .of_pair = 128, .shared = 263616,
         .slot = 16960, .slots = 4, .together = 1},
    {.role = RUN_FORWARD, .from = 45,
     .head = performer_positive_linear_v3, .tile = 0, .own = 116096, .of_token = 16640, .in_keys = 1, .shared = 134272,
         .slot = 67776, .slots = 4, .together = 1},
    {.role = RUN_FORWARD, .form = FORM_FEW,
     .head = performer_positive_few_v3, .tile = 0, .own = 184832, .few_rows = 64, .lanes = 8, .of_pair = 128,
         .shared = 263616, .slot = 16960, .slots = 4, .together = 1},
    {.role = RUN_FORWARD,
     .rows = performer_positive_rows_v3, .tile = 256, .own = 598080, .of_pair = 128},
};
#endif
static const struct program programs_any[] = {
    {.role = RUN_FORWARD, .form = FORM_FEW, .from = 45,
     .head = performer_positive_few_any, .tile = 0, .own = 184832, .few_rows = 9, .of_pair = 128, .shared = 263616,
         .slot = 16960, .slots = 4, .together = 1},
    {.role = RUN_FORWARD, .from = 45,
     .head = performer_positive_linear_any, .tile = 0, .own = 116096, .of_token = 16640, .in_keys = 1, .shared = 134272,
         .slot = 67776, .slots = 4, .together = 1},
    {.role = RUN_FORWARD, .form = FORM_FEW,
     .head = performer_positive_few_any, .tile = 0, .own = 184832, .few_rows = 64, .lanes = 4, .of_pair = 128,
         .shared = 263616, .slot = 16960, .slots = 4, .together = 1},
    {.role = RUN_FORWARD,
     .rows = performer_positive_rows_any, .tile = 128, .own = 401472, .of_pair = 128},
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
    .layout = KERNEL_LAYOUT, .name = "performer_positive", .openmp = OPENMP,
    .target = target, .targets = sizeof target / sizeof *target - 1,
    .array = array, .arrays = sizeof array / sizeof *array,
    .param = param, .params = 1, .params_bytes = sizeof(struct performer_positive_params),
    .dtype = ATTN_F32, .key_dtype = ATTN_F32, .value_dtype = ATTN_F32, .real = sizeof(float), .element = sizeof(float),
    .head_dim = 64, .value_dim = 64, .key_row = 64, .value_row = 64,
    .shares = 1,
    .positions = 1,
    .ids = -1,
    .corrected = -1,
    .solution = -1,
};

/* ==== the interface ==== */
size_t performer_positive_params_size(void) { return attn_call_params_size(&kernel); }
int performer_positive_params_init(struct performer_positive_params *params, uint64_t seed, void *storage)
{
    return attn_call_params_init(&kernel, params, seed, storage);
}
size_t performer_positive_workspace(const struct attn_problem *problem)
{
    return attn_call_workspace(&kernel, problem);
}
int performer_positive_forward(const struct attn_problem *problem, const struct performer_positive_params *params,
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
static int params_init_any(void *params, uint64_t seed, void *storage)
{
    return attn_call_params_init(&kernel, params, seed, storage);
}
const struct attn_kernel performer_positive_kernel = {
    .name = "performer_positive", .version = "0.2.0", .dtype = ATTN_F32, .head_dim = 64, .value_dim = 64,
    .params = 1, .param = param, .params_bytes = sizeof(struct performer_positive_params),
    .params_size = performer_positive_params_size, .params_init = params_init_any, .forward = forward_any,
    .workspace = performer_positive_workspace,
    .key_dtype = ATTN_F32, .value_dtype = ATTN_F32,
    .before = INT64_MAX, .after = 0, .period = 1, .names_heads = 0, .names_sequences = 0, .in_parts = 0,
    .saved_power = 0, .has_sink = 0, .open_keys = 0, .end_of_keys = INT64_MAX,
};
#endif /* a compiler of this language */
#endif /* SECTION */
