/* performer_trig.c, made by attnc 0.2.0: attnc performer_trig.yaml
   C11 with GNU extensions, for a C compiler; C++ includes performer_trig.h.
   Performer attention with trigonometric random features
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
     x9 [b g m i c] = sin(x8)
     x10 [b g m i c] = cos(x8)
     x11 [b g j d] = k * 0.3535533905932738
     x12 [b g j d] = x11 * x11
     x13 [b g j] = sum over d of x12
     x14 [b g j] = x13 * 0.5
     x15 [b g j c] = sum over d of x11 * features.w
     x16 [b g j c] = sin(x15)
     x17 [b g j c] = cos(x15)
     x18 [b g m i j] = sum over c of x9 * x16
     x19 [b g m i j] = sum over c of x10 * x17
     x20 [b g m i j] = (x18 + x19) * exp(x6) * exp(x14) * 0.00390625
     x21 [b g m i] = sum over j of x20 if j <= i + query_start
     x22 [b g m i e] = sum over j of x20 * v if j <= i + query_start
     x23 [b g m i e] = x21 == 0 ? 0 : x22 / x21
     out = x23
   query_start is the position of the first query: problem.query_start[b], or n_k - n_q if that is NULL.

   How: each vector lane holds one query. Keys are processed in tiles,
   so row sums and maxima need no reduction across lanes.
   The sums of a tile start from zero and are added to the sums so far. Tiles that no query sees are skipped.
   For few queries each lane holds one key. The queries of all heads that share keys are the rows of one tile,
   so each key is read once.
   The chunks of keys are divided among the threads. Their sums are added in the order of the chunks.
   Linear from 390 keys on: the weight is an inner product of 512 features. The state is a sum over keys of 512 x 65
   numbers.
     x86-64-v4  quadratic tiles of 32 queries and 96 keys, in blocks of 256 queries;
     901120 bytes of workspace per thread
     x86-64-v4  linear    tiles of 64 queries and 64 keys; 971008 bytes of workspace per thread
     x86-64-v4  few       tiles of 64 queries and 128 keys; 647296 bytes of workspace per thread
     x86-64-v3  quadratic tiles of 16 queries and 96 keys, in blocks of 256 queries;
     878592 bytes of workspace per thread
     x86-64-v3  linear    tiles of 64 queries and 64 keys; 971008 bytes of workspace per thread
     x86-64-v3  few       tiles of 64 queries and 128 keys; 647296 bytes of workspace per thread
     generic    quadratic tiles of 16 queries and 96 keys, in blocks of 128 queries;
     548864 bytes of workspace per thread
     generic    linear    tiles of 64 queries and 64 keys; 971008 bytes of workspace per thread
     generic    few       tiles of 64 queries and 128 keys; 647296 bytes of workspace per thread

   Contents:
     loops      performer_trig_rows, performer_trig_linear, performer_trig_few
     targets    x86-64-v4, x86-64-v3, generic
     tables     arrays and programs, for the functions of attnrt that call the loops
     interface  performer_trig_workspace, performer_trig_forward, performer_trig_kernel
   The file includes itself, so that the loops are compiled once for each target. T(name) is a name with the target's
   suffix, LANES the elements of its vectors, and OF(…) a number for each target.

   Compile with: cc -O2 -fopenmp performer_trig.c … -lattnrt -lm */
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
TARGET APART void T(dot2)(int64_t lanes, int64_t rows, const float *a, const float *b, float *c)
{
    T(dot)(/*vectors=*/2, lanes, rows, /*tail=*/-1, /*steps=*/256, /*span=*/32, a, /*a_row=*/1, /*a_step=*/96, b,
        /*b_step=*/OF(32, 16, 16), c, /*c_row=*/OF(32, 16, 16), /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL);
}
TARGET APART void T(dot3)(int64_t lanes, int64_t steps, const float *a, int64_t a_step, const float *b, float *c,
    const float *factor, float *compensation)
{
    T(dot_finite)(/*vectors=*/2, lanes, /*rows=*/64, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/1, a_step, b,
        /*b_step=*/OF(32, 16, 16), c, /*c_row=*/OF(32, 16, 16), /*update=*/3, factor, compensation);
}
TARGET APART void T(dot4)(int64_t lanes, int64_t steps, const float *a, int64_t a_step, const float *b, float *c,
    const float *factor, float *compensation)
{
    T(dot)(/*vectors=*/2, lanes, /*rows=*/64, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/1, a_step, b,
        /*b_step=*/OF(32, 16, 16), c, /*c_row=*/OF(32, 16, 16), /*update=*/3, factor, compensation);
}
TARGET APART void T(dot5)(int64_t lanes, const float *a, const float *b, float *c)
{
    T(dot)(/*vectors=*/OF(4, 2, 2), lanes, /*rows=*/256, /*tail=*/4, /*steps=*/64, /*span=*/32, a, /*a_row=*/64,
        /*a_step=*/1, b, /*b_step=*/80, c, /*c_row=*/80, /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL);
}
TARGET APART void T(dot6)(int64_t rows, int64_t steps, const float *a, const float *b, int64_t b_step, float *c)
{
    T(dot)(/*vectors=*/OF(4, 2, 2), /*lanes=*/64, rows, /*tail=*/-1, steps, /*span=*/192, a, /*a_row=*/80, /*a_step=*/1,
        b, b_step, c, /*c_row=*/64, /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL);
}
TARGET APART void T(dot7)(int64_t lanes, int64_t steps, const float *a, const float *b, float *c)
{
    T(dot)(/*vectors=*/OF(4, 2, 2), lanes, /*rows=*/64, /*tail=*/4, steps, /*span=*/32, a, /*a_row=*/1, /*a_step=*/64,
        b, /*b_step=*/80, c, /*c_row=*/80, /*update=*/1, /*factor=*/NULL, /*compensation=*/NULL);
}
TARGET APART void T(dot8)(int64_t lanes, int64_t rows, const float *a, const float *b, float *c)
{
    T(dot)(/*vectors=*/OF(4, 2, 2), lanes, rows, /*tail=*/-1, /*steps=*/256, /*span=*/32, a, /*a_row=*/1, /*a_step=*/80,
        b, /*b_step=*/80, c, /*c_row=*/80, /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL);
}
TARGET APART void T(dot9)(int64_t lanes, int64_t steps, const float *a, int64_t a_step, const float *b, float *c,
    const float *factor, float *compensation)
{
    T(dot_finite)(/*vectors=*/OF(4, 2, 2), lanes, /*rows=*/64, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/1, a_step,
        b, /*b_step=*/80, c, /*c_row=*/80, /*update=*/3, factor, compensation);
}
TARGET APART void T(dot10)(int64_t lanes, int64_t steps, const float *a, int64_t a_step, const float *b, float *c,
    const float *factor, float *compensation)
{
    T(dot)(/*vectors=*/OF(4, 2, 2), lanes, /*rows=*/64, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/1, a_step, b,
        /*b_step=*/80, c, /*c_row=*/80, /*update=*/3, factor, compensation);
}
TARGET APART void T(dot11)(int64_t lanes, const float *a, const float *b, float *c)
{
    T(dot)(/*vectors=*/OF(4, 2, 2), lanes, /*rows=*/256, /*tail=*/4, /*steps=*/64, /*span=*/32, a, /*a_row=*/64,
        /*a_step=*/1, b, /*b_step=*/64, c, /*c_row=*/64, /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL);
}
TARGET APART void T(dot12)(int64_t lanes, const float *a, const float *b, float *c)
{
    T(dot)(/*vectors=*/OF(4, 2, 2), lanes, /*rows=*/256, /*tail=*/4, /*steps=*/64, /*span=*/32, a, /*a_row=*/64,
        /*a_step=*/1, b, /*b_step=*/144, c, /*c_row=*/144, /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL);
}
TARGET APART void T(dot13)(int64_t lanes, int64_t rows, const float *a, const float *b, float *c)
{
    T(dot)(/*vectors=*/OF(4, 2, 2), lanes, rows, /*tail=*/-1, /*steps=*/256, /*span=*/32, a, /*a_row=*/1, /*a_step=*/64,
        b, /*b_step=*/144, c, /*c_row=*/144, /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL);
}
TARGET APART void T(dot14)(int64_t rows, int64_t steps, const float *a, const float *b, int64_t b_step, float *c)
{
    T(dot_finite_lanes)(/*fetched=*/1, /*vectors=*/OF(4, 2, 2), /*lanes=*/64, rows, /*tail=*/-1, steps, /*span=*/192, a,
        /*a_row=*/144, /*a_step=*/1, b, b_step, c, /*c_row=*/64, /*update=*/1, /*factor=*/NULL, /*compensation=*/NULL);
}
#if OF(1, 0, 0)
TARGET APART void T(dot15)(int64_t rows, int64_t steps, const float *a, const float *b, int64_t b_step, float *c,
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
TARGET static void T(performer_trig_rows)(const struct call *call, int64_t task, unsigned char *work)
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
    float *const all_query_sum = (float *)(void *)(work + 0); /* [i: OF(32, 16, 16), OF(8, 16, 8) times] */
    float *const query_w = (float *)(void *)(work + OF(1024, 1024, 512)); /* [c: 256, i: OF(32, 16, 16)] */
    float *const all_query_sin = (float *)(void *)(work + OF(33792, 17408, 16896)); /* [c: 256, i: OF(32, 16, 16), OF(8,
        16, 8) times] */
    float *const all_query_cos = (float *)(void *)(work + OF(295936, 279552, 147968)); /* [c: 256, i: OF(32, 16, 16),
        OF(8, 16, 8) times] */
    float *const key_sum = (float *)(void *)(work + OF(1024, 1024, 512)); /* [j: 96] */
    float *const key_w = (float *)(void *)(work + OF(558080, 541696, 279040)); /* [c: 256, j: 96] */
    float *const key_sin = (float *)(void *)(work + OF(656384, 640000, 377344)); /* [c: 256, j: 96] */
    float *const score = (float *)(void *)(work + OF(1408, 1408, 896)); /* [j: 96, i: OF(32, 16, 16)] */
    float *const score_2 = (float *)(void *)(work + OF(13696, 7552, 7040)); /* [j: 96, i: OF(32, 16, 16)] */
    float *const weight = (float *)(void *)(work + OF(754688, 738304, 475648)); /* [j: 96, i: OF(32, 16, 16)] */
    float *const all_row_max = (float *)(void *)(work + OF(766976, 744448, 481792)); /* [i: OF(32, 16, 16), OF(8, 16,
        8) times] */
    float *const old_max = (float *)(void *)(work + OF(25984, 13696, 13184)); /* [i: OF(32, 16, 16)] */
    float *const all_row_sum = (float *)(void *)(work + OF(768000, 745472, 482304)); /* [i: OF(32, 16, 16), OF(8, 16,
        8) times] */
    float *const all_row_sum_compensation = (float *)(void *)(work + OF(769024, 746496, 482816)); /* [i: OF(32, 16, 16),
        OF(8, 16, 8) times] */
    float *const all_sum = (float *)(void *)(work + OF(770048, 747520, 483328)); /* [e: 64, i: OF(32, 16, 16), OF(8, 16,
        8) times] */
    float *const all_sum_compensation = (float *)(void *)(work + OF(835584, 813056, 516096)); /* [e: 64, i: OF(32, 16,
        16), OF(8, 16, 8) times] */
    float *const result = (float *)(void *)(work + 0); /* [e: 64, i: OF(32, 16, 16)] */
    float *const out = (float *)call->array[ARRAY_out].at + b * call->array[ARRAY_out].strides.batch + (g * members + m)
        * call->array[ARRAY_out].strides.head;
    const int64_t out_row = call->array[ARRAY_out].strides.row;
    float *const q_tile = (float *)(void *)(work + OF(558080, 541696, 279040)); /* [d: 64, i: OF(32, 16, 16)] */
    float *const k_tile = (float *)(void *)(work + OF(1408, 640000, 377344)); /* [d: 64, j: 96] */
    for (int64_t i_next = i0, i_block = i0, i_end = i1; i_next < i_end; i_next += OF(32, 16, 16)) {
        const int64_t i0 = i_next, i1 = min(i0 + OF(32, 16, 16), i_end);
        float *const query_sum = all_query_sum + (i0 - i_block) / OF(32, 16, 16) * OF(32, 16, 16);
        float *const query_sin = all_query_sin + (i0 - i_block) / OF(32, 16, 16) * OF(8192, 4096, 4096);
        float *const query_cos = all_query_cos + (i0 - i_block) / OF(32, 16, 16) * OF(8192, 4096, 4096);
        float *const row_max = all_row_max + (i0 - i_block) / OF(32, 16, 16) * OF(32, 16, 16);
        float *const row_sum = all_row_sum + (i0 - i_block) / OF(32, 16, 16) * OF(32, 16, 16);
        float *const row_sum_compensation = all_row_sum_compensation + (i0 - i_block) / OF(32, 16, 16) * OF(32, 16, 16);
        float *const sum = all_sum + (i0 - i_block) / OF(32, 16, 16) * OF(2048, 1024, 1024);
        float *const sum_compensation = all_sum_compensation + (i0 - i_block) / OF(32, 16, 16) * OF(2048, 1024, 1024);
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
        /* query_w[c][i] = sum over d of features_w * q_tile */
        T(dot0)(round_up(i1 - i0, LANES), features_w, q_tile, query_w);
        /* query_sin = sin(query_w); query_cos = cos(query_w) */
        for (int64_t c = 0; c < 256; c++) {
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                const T(vec) query_w_2 = T(load)(query_w + c * OF(32, 16, 16) + i);
                const T(wide) angle3 = __builtin_convertvector(query_w_2, T(wide));
                T(store)(query_sin + c * OF(32, 16, 16) + i, T(sin)(&angle3));
                const T(wide) angle4 = __builtin_convertvector(query_w_2, T(wide));
                T(store)(query_cos + c * OF(32, 16, 16) + i, T(cos)(&angle4));
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
                T(store)(sum + e * OF(32, 16, 16) + i, T(splat)(0.0f));
                T(store)(sum_compensation + e * OF(32, 16, 16) + i, T(splat)(0.0f));
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
                    const T(vec) k_tile_5 = T(load)(k_tile + d * 96 + j);
                    const T(vec) k_tile_new6 = k_tile_5 * 0.35355339f;
                    T(store)(k_tile + d * 96 + j, k_tile_new6);
                    key_sum_in[vector] += k_tile_new6 * k_tile_new6;
                }
            }
            UNROLL for (int64_t vector = 0, j = j_first; vector < OF(3, 2, 2); vector++, j += LANES) {
                T(store)(key_sum + j, T(load)(key_sum + j) + key_sum_in[vector]);
            }
        }
        /* key_w[c][j] = sum over d of features_w * k_tile */
        T(dot1)(round_up(j1 - j0, LANES), features_w, k_tile, key_w);
        /* key_sin = sin(key_w); key_w = cos(key_w) */
        for (int64_t c = 0; c < 256; c++) {
            for (int64_t j = 0; j < j1 - j0; j += LANES) {
                const T(vec) key_w_7 = T(load)(key_w + c * 96 + j);
                const T(wide) angle8 = __builtin_convertvector(key_w_7, T(wide));
                T(store)(key_sin + c * 96 + j, T(sin)(&angle8));
                const T(wide) angle9 = __builtin_convertvector(key_w_7, T(wide));
                T(store)(key_w + c * 96 + j, T(cos)(&angle9));
            }
        }
        for (int64_t i_next = i0, i_block = i0, i_end = i1; i_next < i_end; i_next += OF(32, 16, 16)) {
            const int64_t i0 = i_next, i1 = min(i0 + OF(32, 16, 16), i_end);
            float *const query_sum = all_query_sum + (i0 - i_block) / OF(32, 16, 16) * OF(32, 16, 16);
            float *const query_sin = all_query_sin + (i0 - i_block) / OF(32, 16, 16) * OF(8192, 4096, 4096);
            float *const query_cos = all_query_cos + (i0 - i_block) / OF(32, 16, 16) * OF(8192, 4096, 4096);
            float *const row_max = all_row_max + (i0 - i_block) / OF(32, 16, 16) * OF(32, 16, 16);
            float *const row_sum = all_row_sum + (i0 - i_block) / OF(32, 16, 16) * OF(32, 16, 16);
            float *const row_sum_compensation = all_row_sum_compensation + (i0 - i_block) / OF(32, 16, 16) * OF(32, 16,
                16);
            float *const sum = all_sum + (i0 - i_block) / OF(32, 16, 16) * OF(2048, 1024, 1024);
            float *const sum_compensation = all_sum_compensation + (i0 - i_block) / OF(32, 16, 16) * OF(2048, 1024,
                1024);
            if (!(j0 < (i1 + query_start))) continue; /* no query sees a key of the tile */
            /* score[j][i] = sum over c of key_sin * query_sin */
            T(dot2)(round_up(i1 - i0, LANES), j1 - j0, key_sin, query_sin, score);
            /* score_2[j][i] = sum over c of key_w * query_cos */
            T(dot2)(round_up(i1 - i0, LANES), j1 - j0, key_w, query_cos, score_2);
            /* old_max = row_max */
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                T(store)(old_max + i, T(load)(row_max + i));
            }
            if ((i0 + query_start + 1) < j1) { /* the tile is partly outside the mask */
                /* weight = select(j <= (i + query_start), (query_sum * 0.7213475f) + (key_sum * 0.7213475f),
                   -INFINITY); row_max max= weight */
                for (int64_t i = 0; i < i1 - i0; i += LANES) {
                    const T(ints) t_10 = (i0 + i + T(lane)) + query_start;
                    const T(vec) t_11 = T(load)(query_sum + i) * 0.7213475f;
                    T(vec) row_max_in = T(load)(row_max + i);
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        const T(vec) weight_new12 = T(pick)(__builtin_convertvector((j0 + j) <= t_10, T(mask)),
                            t_11 + (key_sum[j] * 0.7213475f), T(splat)(-INFINITY));
                        T(store)(weight + j * OF(32, 16, 16) + i, weight_new12);
                        row_max_in = T(max)(row_max_in, weight_new12);
                    }
                    T(store)(row_max + i, row_max_in);
                }
            }
            if (!((i0 + query_start + 1) < j1)) { /* the tile is wholly inside the mask */
                /* weight = (query_sum * 0.7213475f) + (key_sum * 0.7213475f); row_max max= weight */
                for (int64_t i = 0; i < i1 - i0; i += LANES) {
                    const T(vec) t_13 = T(load)(query_sum + i) * 0.7213475f;
                    T(vec) row_max_in = T(load)(row_max + i);
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        const T(vec) weight_new14 = t_13 + (key_sum[j] * 0.7213475f);
                        T(store)(weight + j * OF(32, 16, 16) + i, weight_new14);
                        row_max_in = T(max)(row_max_in, weight_new14);
                    }
                    T(store)(row_max + i, row_max_in);
                }
            }
            /* old_max = exp2(old_max - row_max) */
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                T(store)(old_max + i, T(exp2)(T(load)(old_max + i) - T(load)(row_max + i)));
            }
            /* score = exp2(weight - row_max) * ((score + score_2) * 0.00390625f) */
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                const T(vec) row_max_15 = T(load)(row_max + i);
                for (int64_t j = 0; j < j1 - j0; j++) {
                    T(store)(score + j * OF(32, 16, 16) + i, T(exp2)(T(load)(weight + j * OF(32, 16,
                        16) + i) - row_max_15) * ((T(load)(score + j * OF(32, 16,
                        16) + i) + T(load)(score_2 + j * OF(32, 16, 16) + i)) * 0.00390625f));
                }
            }
            if ((i0 + query_start + 1) < j1) { /* the tile is partly outside the mask */
                /* score = select(j <= (i + query_start), score, 0.0f) */
                for (int64_t i = 0; i < i1 - i0; i += LANES) {
                    const T(ints) t_16 = (i0 + i + T(lane)) + query_start;
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        T(store)(score + j * OF(32, 16, 16) + i, T(pick)(__builtin_convertvector((j0 + j) <= t_16,
                            T(mask)), T(load)(score + j * OF(32, 16, 16) + i), T(splat)(0.0f)));
                    }
                }
            }
            /* row_sum = row_sum * old_max; row_sum_compensation = row_sum_compensation * old_max */
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                const T(vec) old_max_17 = T(load)(old_max + i);
                T(store)(row_sum + i, T(load)(row_sum + i) * old_max_17);
                T(store)(row_sum_compensation + i, T(load)(row_sum_compensation + i) * old_max_17);
            }
            /* row_sum += score */
            for (int64_t i_first = 0; i_first < i1 - i0; i_first += (2 * LANES)) {
                T(vec) row_sum_in[2];
                UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += LANES) {
                    row_sum_in[vector] = (T(vec)){0};
                }
                for (int64_t j = 0; j < j1 - j0; j++) {
                    UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += LANES) {
                        row_sum_in[vector] += T(load)(score + j * OF(32, 16, 16) + i);
                    }
                }
                UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += LANES) {
                    T(add)(row_sum + i, row_sum_compensation + i, row_sum_in[vector], T(splat)(1));
                }
            }
            /* sum[e][i] = sum * old_max + sum over j of v * score */
            if (__builtin_expect(((i0 + query_start + 1) < j1) && !T(finite)(v + j0 * v_row, v_row, j1 - j0, 64),
                0)) { /* infinity and NaN affect only queries that see them */
                T(dot3)(round_up(i1 - i0, LANES), j1 - j0, v + j0 * v_row, v_row, score, sum, old_max,
                    sum_compensation);
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
                T(dot4)(round_up(i1 - i0, LANES), j1 - j0, v + j0 * v_row, v_row, score, sum, old_max,
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
                const T(vec) row_sum_18 = T(load)(row_sum + i);
                const T(mask) t_19 = row_sum_18 == 0.0f;
                for (int64_t e = 0; e < 64; e++) {
                    T(store)(result + e * OF(32, 16, 16) + i, T(pick)(t_19, T(splat)(0.0f), T(load)(sum + e * OF(32, 16,
                        16) + i) / row_sum_18));
                }
            }
            /* out = result, transposed back */
            T(transpose_out)(result, OF(32, 16, 16), 64, i1 - i0, out + i0 * out_row, out_row, LANES);
        }
    }
}

/* Initialises the states: they contain no keys yet. */
TARGET APART void T(performer_trig_begin)(const struct call *call, int64_t task, const struct share *share,
    int64_t iteration)
{
    (void)call;
    (void)task;
    const int64_t f0 = iteration * 32, f1 = min(f0 + 32, 512);
    float *const carried_max = (float *)(void *)(share->shared + 0); /* [f: 512] */
    float *const carried_sum = (float *)(void *)(share->shared + 2048); /* [f: 512] */
    float *const carried_sum_compensation = (float *)(void *)(share->shared + 135232); /* [f: 512] */
    float *const carried = (float *)(void *)(share->shared + 4096); /* [f: 512, e: 64] */
    float *const carried_compensation = (float *)(void *)(share->shared + 137280); /* [f: 512, e: 64] */
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
TARGET APART void T(performer_trig_keys)(const struct call *call, int64_t task, const struct share *share,
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
    float *const key_sum = (float *)(void *)(share->work + 0); /* [j: 64] */
    float *const key_w = (float *)(void *)(share->work + 256); /* [c: 256, j: 64 of 80] */
    float *const key_sin = (float *)(void *)(share->work + 82176); /* [c: 256, j: 64 of 80] */
    float *const key_features = (float *)(void *)(share->work + 164096); /* [f: 512, j: 64 of 80] */
    float *const state_max = (float *)(void *)(share->slots + 0); /* [chunk, f: 512 of 528] */
    float *const key_features_2 = (float *)(void *)(share->work + 327936); /* [f: 192, j: 64 of 80] */
    float *const state_sum = (float *)(void *)(share->slots + 2112); /* [chunk, f: 512 of 528] */
    float *const state = (float *)(void *)(share->slots + 4224); /* [chunk, f: 512, e: 64] */
    float *const k_tile = (float *)(void *)(share->work + 82176); /* [d: 64, j: 64 of 80] */
    /* state_max = -FLT_MAX; state_sum = 0.0f */
    for (int64_t f = 0; f < 512; f += LANES) {
        T(store)(state_max + (chunk - chunk0) * 33840 + f, T(splat)(-FLT_MAX));
        T(store)(state_sum + (chunk - chunk0) * 33840 + f, T(splat)(0.0f));
    }
    for (int64_t j0 = chunk * 64, j_end = min(n_k, (chunk + 1) * 64); j0 < j_end; j0 += 64) {
        const int64_t j1 = min(j0 + 64, j_end);
        /* k_tile = k, with zeros beyond the last row */
        T(transpose_padded)(k + j0 * k_row, k_row, j1 - j0, 64, k_tile, 80, 64);
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
                    const T(vec) k_tile_0 = T(load)(k_tile + d * 80 + j);
                    const T(vec) k_tile_new1 = k_tile_0 * 0.35355339f;
                    T(store)(k_tile + d * 80 + j, k_tile_new1);
                    key_sum_in[vector] += k_tile_new1 * k_tile_new1;
                }
            }
            UNROLL for (int64_t vector = 0, j = j_first; vector < OF(4, 2, 2); vector++, j += LANES) {
                T(store)(key_sum + j, T(load)(key_sum + j) + key_sum_in[vector]);
            }
        }
        /* key_w[c][j] = sum over d of features_w * k_tile */
        T(dot5)(round_up(j1 - j0, LANES), features_w, k_tile, key_w);
        /* key_sin = sin(key_w); key_w = cos(key_w) */
        for (int64_t c = 0; c < 256; c++) {
            for (int64_t j = 0; j < j1 - j0; j += LANES) {
                const T(vec) key_w_3 = T(load)(key_w + c * 80 + j);
                const T(wide) angle4 = __builtin_convertvector(key_w_3, T(wide));
                T(store)(key_sin + c * 80 + j, T(sin)(&angle4));
                const T(wide) angle5 = __builtin_convertvector(key_w_3, T(wide));
                T(store)(key_w + c * 80 + j, T(cos)(&angle5));
            }
        }
        /* key_features = key_sum * 0.7213475f */
        for (int64_t j = 0; j < j1 - j0; j += LANES) {
            const T(vec) t_6 = T(load)(key_sum + j) * 0.7213475f;
            for (int64_t f = 0; f < 512; f++) {
                T(store)(key_features + f * 80 + j, t_6);
            }
        }
        /* state_max max= key_features */
        for (int64_t f = 0; f < 512; f++) {
            T(vec) lanes_max = T(splat)(-INFINITY);
            for (int64_t j = 0; j < j1 - j0; j += LANES) {
                const T(vec) term = T(load)(key_features + f * 80 + j);
                lanes_max = T(max)(lanes_max, j + LANES <= j1 - j0 ? term : T(pick)(__builtin_convertvector(j + T(lane)
                    < j1 - j0, T(mask)), term, T(splat)(-INFINITY)));
            }
            const float largest = T(lane_max)(lanes_max);
            if (largest > state_max[(chunk - chunk0) * 33840 + f]) state_max[(chunk - chunk0) * 33840 + f] = largest;
        }
        for (int64_t f0 = 0, f_end = 512; f0 < f_end; f0 += 192) {
            const int64_t f1 = min(f0 + 192, f_end);
            /* key_features_2 = exp2(key_features - state_max) * select(f < 256, key_sin, key_w) */
            for (int64_t j = 0; j < j1 - j0; j += LANES) {
                for (int64_t f = f0; f < f1; f++) {
                    T(store)(key_features_2 + (f - f0) * 80 + j, T(exp2)(T(load)(key_features + f * 80 + j) -
                        (state_max[(chunk - chunk0) * 33840 + f])) * ((f < 256) ? T(load)(key_sin + min(f,
                        255) * 80 + j) : T(load)(key_w + max(f - 256, 0) * 80 + j)));
                }
            }
            /* state_sum += key_features_2 */
            for (int64_t f = f0; f < f1; f++) {
                T(vec) lane_sums = T(splat)(0);
                for (int64_t j = 0; j < j1 - j0; j += LANES) {
                    const T(vec) term = T(load)(key_features_2 + (f - f0) * 80 + j);
                    lane_sums += j + LANES <= j1 - j0 ? term : T(pick)(__builtin_convertvector(j + T(lane) < j1 - j0,
                        T(mask)), term, T(splat)(0));
                }
                const float total = T(lane_sum)(lane_sums);
                state_sum[(chunk - chunk0) * 33840 + f] += total;
            }
            /* state[f][e] = sum over j of key_features_2 * v */
            T(dot6)(f1 - f0, j1 - j0, key_features_2, v + j0 * v_row, v_row,
                state + (chunk - chunk0) * 33840 + f0 * 64);
        }
    }
}

/* Folds the slots of the current chunks, in order, for some elements of the states. */
TARGET APART void T(performer_trig_fold)(const struct call *call, int64_t task, const struct share *share,
    int64_t iteration)
{
    (void)call;
    (void)task;
    const int64_t f0 = iteration * 32, f1 = min(f0 + 32, 512);
    const int64_t chunk0 = share->chunk0;
    const int64_t chunk1 = share->chunk1;
    float *const state_max = (float *)(void *)(share->slots + 0); /* [chunk, f: 512 of 528] */
    float *const state_sum = (float *)(void *)(share->slots + 2112); /* [chunk, f: 512 of 528] */
    float *const state = (float *)(void *)(share->slots + 4224); /* [chunk, f: 512, e: 64] */
    float *const carried_max = (float *)(void *)(share->shared + 0); /* [f: 512] */
    float *const carried_factor = (float *)(void *)(share->work + 0); /* [f: 512] */
    float *const slot_factor = (float *)(void *)(share->work + 2048); /* [f: 512] */
    float *const carried_sum = (float *)(void *)(share->shared + 2048); /* [f: 512] */
    float *const carried_sum_compensation = (float *)(void *)(share->shared + 135232); /* [f: 512] */
    float *const carried = (float *)(void *)(share->shared + 4096); /* [f: 512, e: 64] */
    float *const carried_compensation = (float *)(void *)(share->shared + 137280); /* [f: 512, e: 64] */
    for (int64_t chunk = chunk0; chunk < chunk1; chunk++) {
        /* before_max = carried_max; carried_max max= state_max; carried_factor = exp2(before_max - carried_max);
           slot_factor = exp2(state_ ... */
        for (int64_t f = f0; f < f1; f += LANES) {
            const T(vec) carried_max_7 = T(load)(carried_max + f);
            const T(vec) before_max_new8 = carried_max_7;
            const T(vec) state_max_9 = T(load)(state_max + (chunk - chunk0) * 33840 + f);
            const T(vec) carried_max_new10 = T(max)(T(load)(carried_max + f), state_max_9);
            T(store)(carried_max + f, carried_max_new10);
            T(store)(carried_factor + f, T(exp2)(before_max_new8 - carried_max_new10));
            T(store)(slot_factor + f, T(exp2)(state_max_9 - carried_max_new10));
            T(store)(state_max + (chunk - chunk0) * 33840 + f, before_max_new8);
        }
        /* before_sum = carried_sum; carried_sum = carried_sum * carried_factor;
           carried_sum_compensation = carried_sum_compensation * carr ... */
        for (int64_t f = f0; f < f1; f += LANES) {
            const T(vec) carried_sum_11 = T(load)(carried_sum + f);
            const T(vec) before_sum_new12 = carried_sum_11;
            const T(vec) carried_factor_13 = T(load)(carried_factor + f);
            T(store)(carried_sum + f, carried_sum_11 * carried_factor_13);
            T(store)(carried_sum_compensation + f, T(load)(carried_sum_compensation + f) * carried_factor_13);
            T(add)(carried_sum + f, carried_sum_compensation + f, T(load)(state_sum + (chunk - chunk0) * 33840 + f) *
                T(load)(slot_factor + f), T(splat)(1));
            T(store)(state_sum + (chunk - chunk0) * 33840 + f, before_sum_new12);
        }
        /* before = carried; carried = carried * carried_factor; carried_compensation = carried_compensation *
           carried_factor; carried += s ... */
        for (int64_t f = f0; f < f1; f++) {
            for (int64_t e_first = 0; e_first < 64; e_first += OF(64, 16, 8)) {
                UNROLL for (int64_t vector = 0, e = e_first; vector < OF(4, 2, 2); vector++, e += LANES) {
                    const T(vec) carried_14 = T(load)(carried + f * 64 + e);
                    const T(vec) before_new15 = carried_14;
                    const float carried_factor_16 = carried_factor[f];
                    T(store)(carried + f * 64 + e, carried_14 * carried_factor_16);
                    T(store)(carried_compensation + f * 64 + e, T(load)(carried_compensation + f * 64 + e) *
                        carried_factor_16);
                    T(add)(carried + f * 64 + e, carried_compensation + f * 64 + e,
                        T(load)(state + (chunk - chunk0) * 33840 + f * 64 + e) * slot_factor[f], T(splat)(1));
                    T(store)(state + (chunk - chunk0) * 33840 + f * 64 + e, before_new15);
                }
            }
        }
    }
}

/* Processes the queries of a chunk: reads the state before the chunk, and the keys in the chunk. */
TARGET APART void T(performer_trig_queries)(const struct call *call, int64_t task, const struct share *share,
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
    float *const state_max = (float *)(void *)(share->slots + 0); /* [chunk, f: 512 of 528] */
    float *const state_sum = (float *)(void *)(share->slots + 2112); /* [chunk, f: 512 of 528] */
    float *const state = (float *)(void *)(share->slots + 4224); /* [chunk, f: 512, e: 64] */
    float *const query_sum = (float *)(void *)(share->work + 0); /* [i: 64] */
    float *const query_w = (float *)(void *)(share->work + 256); /* [c: 256, i: 64 of 80] */
    float *const query_sin = (float *)(void *)(share->work + 82176); /* [c: 256, i: 64 of 80] */
    float *const key_sum_2 = (float *)(void *)(share->work + 164096); /* [j: 64] */
    float *const key_w_2 = (float *)(void *)(share->work + 164352); /* [c: 256, j: 64 of 80] */
    float *const key_sin_2 = (float *)(void *)(share->work + 246272); /* [c: 256, j: 64 of 80] */
    float *const score = (float *)(void *)(share->work + 328192); /* [j: 64, i: 64 of 80] */
    float *const score_2 = (float *)(void *)(share->work + 246272); /* [j: 64, i: 64 of 80] */
    float *const query_2 = (float *)(void *)(share->work + 164096); /* [f: 512, i: 64 of 80] */
    float *const query_max = (float *)(void *)(share->work + 348672); /* [i: 64] */
    float *const query_3 = (float *)(void *)(share->work + 348928); /* [f: 192, i: 64 of 80] */
    float *const row_sum_from_state = (float *)(void *)(share->work + 410368); /* [i: 64] */
    float *const weight = (float *)(void *)(share->work + 164352); /* [j: 64, i: 64 of 80] */
    float *const row_max = (float *)(void *)(share->work + 410624); /* [i: 64] */
    float *const old_max = (float *)(void *)(share->work + 184832); /* [i: 64] */
    float *const row_sum = (float *)(void *)(share->work + 410880); /* [i: 64] */
    float *const row_sum_compensation = (float *)(void *)(share->work + 411136); /* [i: 64] */
    float *const sum_from_state = (float *)(void *)(share->work + 411392); /* [e: 64, i: 64 of 80] */
    float *const sum = (float *)(void *)(share->work + 348928); /* [e: 64, i: 64 of 80] */
    float *const sum_compensation = (float *)(void *)(share->work + 369408); /* [e: 64, i: 64 of 80] */
    float *const out = (float *)call->array[ARRAY_out].at + b * call->array[ARRAY_out].strides.batch + g * members *
        call->array[ARRAY_out].strides.head;
    const int64_t out_row = call->array[ARRAY_out].strides.row;
    const int64_t out_head = call->array[ARRAY_out].strides.head;
    float *const q_tile = (float *)(void *)(share->work + 82176); /* [d: 64, i: 64 of 80] */
    float *const k_tile_2 = (float *)(void *)(share->work + 246272); /* [d: 64, j: 64 of 80] */
    for (int64_t m = 0; m < members; m++) {
        for (int64_t i0 = (chunk == 0) ? 0 : max(0, (chunk * 64) - query_start), i_end = min(n_q,
            ((chunk + 1) * 64) - query_start); i0 < i_end; i0 += 64) {
            const int64_t i1 = min(i0 + 64, i_end);
            /* q_tile = q, with zeros beyond the last row */
            T(transpose_padded)(q + m * q_head + i0 * q_row, q_row, i1 - i0, 64, q_tile, 80, 64);
            /* query_sum = 0.0f */
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                T(store)(query_sum + i, T(splat)(0.0f));
            }
            /* q_tile = q_tile * 0.35355339f; query_sum += q_tile * q_tile */
            for (int64_t i_first = 0; i_first < i1 - i0; i_first += OF(64, 16, 8)) {
                T(vec) query_sum_in[OF(4, 2, 2)];
                UNROLL for (int64_t vector = 0, i = i_first; vector < OF(4, 2, 2); vector++, i += LANES) {
                    query_sum_in[vector] = (T(vec)){0};
                }
                for (int64_t d = 0; d < 64; d++) {
                    UNROLL for (int64_t vector = 0, i = i_first; vector < OF(4, 2, 2); vector++, i += LANES) {
                        const T(vec) q_tile_17 = T(load)(q_tile + d * 80 + i);
                        const T(vec) q_tile_new18 = q_tile_17 * 0.35355339f;
                        T(store)(q_tile + d * 80 + i, q_tile_new18);
                        query_sum_in[vector] += q_tile_new18 * q_tile_new18;
                    }
                }
                UNROLL for (int64_t vector = 0, i = i_first; vector < OF(4, 2, 2); vector++, i += LANES) {
                    T(store)(query_sum + i, T(load)(query_sum + i) + query_sum_in[vector]);
                }
            }
            /* query_w[c][i] = sum over d of features_w * q_tile */
            T(dot5)(round_up(i1 - i0, LANES), features_w, q_tile, query_w);
            /* query_sin = sin(query_w); query_w = cos(query_w) */
            for (int64_t c = 0; c < 256; c++) {
                for (int64_t i = 0; i < i1 - i0; i += LANES) {
                    const T(vec) query_w_19 = T(load)(query_w + c * 80 + i);
                    const T(wide) angle20 = __builtin_convertvector(query_w_19, T(wide));
                    T(store)(query_sin + c * 80 + i, T(sin)(&angle20));
                    const T(wide) angle21 = __builtin_convertvector(query_w_19, T(wide));
                    T(store)(query_w + c * 80 + i, T(cos)(&angle21));
                }
            }
            /* query_max = -FLT_MAX */
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                T(store)(query_max + i, T(splat)(-FLT_MAX));
            }
            /* query_2 = (query_sum * 0.7213475f) + state_max; query_max max= query_2 */
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                const T(vec) t_22 = T(load)(query_sum + i) * 0.7213475f;
                T(vec) query_max_in = T(load)(query_max + i);
                for (int64_t f = 0; f < 512; f++) {
                    const T(vec) query_2_new23 = t_22 + (state_max[(chunk - chunk0) * 33840 + f]);
                    T(store)(query_2 + f * 80 + i, query_2_new23);
                    query_max_in = T(max)(query_max_in, query_2_new23);
                }
                T(store)(query_max + i, query_max_in);
            }
            /* row_sum_from_state = 0.0f; row_max = -FLT_MAX; row_sum = 0.0f; row_sum_compensation = 0.0f */
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                T(store)(row_sum_from_state + i, T(splat)(0.0f));
                T(store)(row_max + i, T(splat)(-FLT_MAX));
                T(store)(row_sum + i, T(splat)(0.0f));
                T(store)(row_sum_compensation + i, T(splat)(0.0f));
            }
            /* sum_from_state = 0.0f */
            for (int64_t e = 0; e < 64; e++) {
                for (int64_t i = 0; i < i1 - i0; i += LANES) {
                    T(store)(sum_from_state + e * 80 + i, T(splat)(0.0f));
                }
            }
            for (int64_t f0 = 0, f_end = 512; f0 < f_end; f0 += 192) {
                const int64_t f1 = min(f0 + 192, f_end);
                /* query_3 = exp2(query_2 - query_max) * (select(f < 256, query_sin, query_w) * 0.00390625f);
                   row_sum_from_state += query_3 * state_sum */
                for (int64_t i = 0; i < i1 - i0; i += LANES) {
                    const T(vec) query_max_24 = T(load)(query_max + i);
                    T(vec) row_sum_from_state_in = (T(vec)){0};
                    T(vec) row_sum_from_state_in_whole = (T(vec)){0};
                    for (int64_t f = f0; f < f1; f++) {
                        const T(vec) query_3_new25 = T(exp2)(T(load)(query_2 + f * 80 + i) - query_max_24) * (((f < 256)
                            ? T(load)(query_sin + min(f, 255) * 80 + i) : T(load)(query_w + max(f - 256,
                            0) * 80 + i)) * 0.00390625f);
                        T(store)(query_3 + (f - f0) * 80 + i, query_3_new25);
                        row_sum_from_state_in += query_3_new25 * (state_sum[(chunk - chunk0) * 33840 + f]);
                        if (f % 192 == 191) {
                            row_sum_from_state_in_whole += row_sum_from_state_in;
                            row_sum_from_state_in = (T(vec)){0};
                        }
                    }
                    row_sum_from_state_in += row_sum_from_state_in_whole;
                    T(store)(row_sum_from_state + i, T(load)(row_sum_from_state + i) + row_sum_from_state_in);
                }
                /* sum_from_state[e][i] += sum over f of state * query_3 */
                T(dot7)(round_up(i1 - i0, LANES), f1 - f0, state + (chunk - chunk0) * 33840 + f0 * 64, query_3,
                    sum_from_state);
            }
            /* sum = 0.0f; sum_compensation = 0.0f */
            for (int64_t e = 0; e < 64; e++) {
                for (int64_t i = 0; i < i1 - i0; i += LANES) {
                    T(store)(sum + e * 80 + i, T(splat)(0.0f));
                    T(store)(sum_compensation + e * 80 + i, T(splat)(0.0f));
                }
            }
            for (int64_t j0 = max(0, chunk * 64), j_end = min(n_k, i1 + query_start); j0 < j_end; j0 += 64) {
                const int64_t j1 = min(j0 + 64, j_end);
                /* k_tile_2 = k, with zeros beyond the last row */
                T(transpose_padded)(k + j0 * k_row, k_row, j1 - j0, 64, k_tile_2, 80, 64);
                /* key_sum_2 = 0.0f */
                for (int64_t j = 0; j < j1 - j0; j += LANES) {
                    T(store)(key_sum_2 + j, T(splat)(0.0f));
                }
                /* k_tile_2 = k_tile_2 * 0.35355339f; key_sum_2 += k_tile_2 * k_tile_2 */
                for (int64_t j_first = 0; j_first < j1 - j0; j_first += OF(64, 16, 8)) {
                    T(vec) key_sum_2_in[OF(4, 2, 2)];
                    UNROLL for (int64_t vector = 0, j = j_first; vector < OF(4, 2, 2); vector++, j += LANES) {
                        key_sum_2_in[vector] = (T(vec)){0};
                    }
                    for (int64_t d = 0; d < 64; d++) {
                        UNROLL for (int64_t vector = 0, j = j_first; vector < OF(4, 2, 2); vector++, j += LANES) {
                            const T(vec) k_tile_2_26 = T(load)(k_tile_2 + d * 80 + j);
                            const T(vec) k_tile_2_new27 = k_tile_2_26 * 0.35355339f;
                            T(store)(k_tile_2 + d * 80 + j, k_tile_2_new27);
                            key_sum_2_in[vector] += k_tile_2_new27 * k_tile_2_new27;
                        }
                    }
                    UNROLL for (int64_t vector = 0, j = j_first; vector < OF(4, 2, 2); vector++, j += LANES) {
                        T(store)(key_sum_2 + j, T(load)(key_sum_2 + j) + key_sum_2_in[vector]);
                    }
                }
                /* key_w_2[c][j] = sum over d of features_w * k_tile_2 */
                T(dot5)(round_up(j1 - j0, LANES), features_w, k_tile_2, key_w_2);
                /* key_sin_2 = sin(key_w_2); key_w_2 = cos(key_w_2) */
                for (int64_t c = 0; c < 256; c++) {
                    for (int64_t j = 0; j < j1 - j0; j += LANES) {
                        const T(vec) key_w_2_28 = T(load)(key_w_2 + c * 80 + j);
                        const T(wide) angle29 = __builtin_convertvector(key_w_2_28, T(wide));
                        T(store)(key_sin_2 + c * 80 + j, T(sin)(&angle29));
                        const T(wide) angle30 = __builtin_convertvector(key_w_2_28, T(wide));
                        T(store)(key_w_2 + c * 80 + j, T(cos)(&angle30));
                    }
                }
                /* score[j][i] = sum over c of key_sin_2 * query_sin */
                T(dot8)(round_up(i1 - i0, LANES), j1 - j0, key_sin_2, query_sin, score);
                /* score_2[j][i] = sum over c of key_w_2 * query_w */
                T(dot8)(round_up(i1 - i0, LANES), j1 - j0, key_w_2, query_w, score_2);
                /* old_max = row_max */
                for (int64_t i = 0; i < i1 - i0; i += LANES) {
                    T(store)(old_max + i, T(load)(row_max + i));
                }
                if ((j0 < (chunk * 64)) || ((i0 + query_start + 1) < j1)) { /* the tile is partly outside the mask */
                    /* weight = select((j <= (i + query_start)) && ((chunk * 64) <= j),
                       (query_sum * 0.7213475f) + (key_sum_2 * 0.7213475f), -INFINITY) ... */
                    for (int64_t i = 0; i < i1 - i0; i += LANES) {
                        const T(ints) t_31 = (i0 + i + T(lane)) + query_start;
                        const T(vec) t_32 = T(load)(query_sum + i) * 0.7213475f;
                        T(vec) row_max_in = T(load)(row_max + i);
                        for (int64_t j = 0; j < j1 - j0; j++) {
                            const T(vec) weight_new33 = T(pick)(__builtin_convertvector(((j0 + j) <= t_31) &
                                (-(int64_t)((chunk * 64) <= (j0 + j))), T(mask)), t_32 + (key_sum_2[j] * 0.7213475f),
                                T(splat)(-INFINITY));
                            T(store)(weight + j * 80 + i, weight_new33);
                            row_max_in = T(max)(row_max_in, weight_new33);
                        }
                        T(store)(row_max + i, row_max_in);
                    }
                }
                if (!((j0 < (chunk * 64)) || ((i0 + query_start + 1) < j1))) { /* the tile is wholly inside the mask */
                    /* weight = (query_sum * 0.7213475f) + (key_sum_2 * 0.7213475f); row_max max= weight */
                    for (int64_t i = 0; i < i1 - i0; i += LANES) {
                        const T(vec) t_34 = T(load)(query_sum + i) * 0.7213475f;
                        T(vec) row_max_in = T(load)(row_max + i);
                        for (int64_t j = 0; j < j1 - j0; j++) {
                            const T(vec) weight_new35 = t_34 + (key_sum_2[j] * 0.7213475f);
                            T(store)(weight + j * 80 + i, weight_new35);
                            row_max_in = T(max)(row_max_in, weight_new35);
                        }
                        T(store)(row_max + i, row_max_in);
                    }
                }
                /* old_max = exp2(old_max - row_max) */
                for (int64_t i = 0; i < i1 - i0; i += LANES) {
                    T(store)(old_max + i, T(exp2)(T(load)(old_max + i) - T(load)(row_max + i)));
                }
                /* score = exp2(weight - row_max) * ((score + score_2) * 0.00390625f) */
                for (int64_t i = 0; i < i1 - i0; i += LANES) {
                    const T(vec) row_max_36 = T(load)(row_max + i);
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        T(store)(score + j * 80 + i, T(exp2)(T(load)(weight + j * 80 + i) - row_max_36) *
                            ((T(load)(score + j * 80 + i) + T(load)(score_2 + j * 80 + i)) * 0.00390625f));
                    }
                }
                if ((j0 < (chunk * 64)) || ((i0 + query_start + 1) < j1)) { /* the tile is partly outside the mask */
                    /* score = select((j <= (i + query_start)) && ((chunk * 64) <= j), score, 0.0f) */
                    for (int64_t i = 0; i < i1 - i0; i += LANES) {
                        const T(ints) t_37 = (i0 + i + T(lane)) + query_start;
                        for (int64_t j = 0; j < j1 - j0; j++) {
                            T(store)(score + j * 80 + i, T(pick)(__builtin_convertvector(((j0 + j) <= t_37) &
                                (-(int64_t)((chunk * 64) <= (j0 + j))), T(mask)), T(load)(score + j * 80 + i),
                                T(splat)(0.0f)));
                        }
                    }
                }
                /* row_sum = row_sum * old_max; row_sum_compensation = row_sum_compensation * old_max */
                for (int64_t i = 0; i < i1 - i0; i += LANES) {
                    const T(vec) old_max_38 = T(load)(old_max + i);
                    T(store)(row_sum + i, T(load)(row_sum + i) * old_max_38);
                    T(store)(row_sum_compensation + i, T(load)(row_sum_compensation + i) * old_max_38);
                }
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
                /* sum[e][i] = sum * old_max + sum over j of v * score */
                if (__builtin_expect(((j0 < (chunk * 64)) || ((i0 + query_start + 1) < j1)) && !T(finite)(v + j0 *
                    v_row, v_row, j1 - j0, 64), 0)) { /* infinity and NaN affect only queries that see them */
                    T(dot9)(round_up(i1 - i0, LANES), j1 - j0, v + j0 * v_row, v_row, score, sum, old_max,
                        sum_compensation);
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        T(mask) in_region[OF(4, 8, 16)] = {0};
                        if (T(finite)(v + j0 * v_row + j * v_row, 1, 64, 1)) continue;
                        const int t_39 = (chunk * 64) <= (j0 + j);
                        for (int64_t i = 0; i < i1 - i0; i += LANES) {
                            in_region[i / LANES] = __builtin_convertvector(((j0 + j) <= ((i0 + i + T(lane)) +
                                query_start)) & (-(int64_t)t_39), T(mask));
                        }
                        T(add_seen)(64, sum, 80, v + j0 * v_row + j * v_row, 1, score + j * 80, in_region, i1 - i0);
                    }
                } else
                    T(dot10)(round_up(i1 - i0, LANES), j1 - j0, v + j0 * v_row, v_row, score, sum, old_max,
                        sum_compensation);
            }
            /* sum = select(((row_sum * exp2(row_max - max(row_max,
               query_max))) + (row_sum_from_state * exp2(query_max - max(row_max, query_ma ... */
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                const T(vec) row_max_40 = T(load)(row_max + i);
                const T(vec) query_max_41 = T(load)(query_max + i);
                const T(vec) t_42 = T(max_nan)(row_max_40, query_max_41);
                const T(vec) t_43 = T(exp2)(row_max_40 - t_42);
                const T(vec) t_44 = T(exp2)(query_max_41 - t_42);
                const T(vec) t_45 = (T(load)(row_sum + i) * t_43) + (T(load)(row_sum_from_state + i) * t_44);
                const T(mask) t_46 = t_45 == 0.0f;
                for (int64_t e = 0; e < 64; e++) {
                    T(store)(sum + e * 80 + i, T(pick)(t_46, T(splat)(0.0f),
                        ((T(load)(sum + e * 80 + i) * t_43) + (T(load)(sum_from_state + e * 80 + i) * t_44)) / t_45));
                }
            }
            /* out = sum, transposed back */
            T(transpose_out)(sum, 80, 64, i1 - i0, out + m * out_head + i0 * out_row, out_row, 64);
        }
    }
}

/* Computes head number `task`. Each thread on the head calls this with `share`. */
TARGET static void T(performer_trig_linear)(const struct call *call, int64_t task, struct share *share)
{
    const int64_t n_k = call->p.n_k;
    const int64_t chunks = n_k > 0 ? (n_k - 1) / 64 + 1 : 1;
    for (int64_t iteration = share->number; iteration < ((512 + 31) / 32); iteration += share->threads)
        T(performer_trig_begin)(call, task, share, iteration);
    synchronise(share);
    const int64_t first = 0;
    const int64_t length = segment_length(share, chunks - first);
    for (int64_t segment = share->number; first + segment * length < chunks; segment += share->threads) {
        share->chunk0 = first + segment * length;
        share->chunk1 = min(share->chunk0 + length, chunks);
        for (int64_t iteration = share->chunk0; iteration < share->chunk1; iteration++)
            T(performer_trig_keys)(call, task, share, iteration);
        for (int64_t group = 0; group < 16; group++) {
            await_segment(share, group, segment);
            const int64_t end = (group + 1) * ((512 + 31) / 32) / 16;
            for (int64_t iteration = group * ((512 + 31) / 32) / 16; iteration < end; iteration++)
                T(performer_trig_fold)(call, task, share, iteration);
            pass_segment(share, group, segment);
        }
        for (int64_t iteration = share->chunk0; iteration < share->chunk1; iteration++)
            T(performer_trig_queries)(call, task, share, iteration);
    }
    share->segments += (max(chunks - first, 0) + length - 1) / length;
    synchronise(share);
}

/* Initialises the states: they contain no keys yet. */
TARGET APART void T(performer_trig_few_begin)(const struct call *call, int64_t task, const struct share *share,
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
    float *const query_w = (float *)(void *)(share->shared + 16704); /* [c: 256, r: 64] */
    float *const query_sin = (float *)(void *)(share->shared + 82304); /* [c: 256, r: 64] */
    float *const query_cos = (float *)(void *)(share->shared + 147904); /* [c: 256, r: 64] */
    float *const q_tile = (float *)(void *)(share->work + 0); /* [d: 64, r: 64 of 80] */
    /* q_tile = q, with zeros beyond the last row */
    for (int64_t r = r0; r < r0 + round_up(r1 - r0, LANES); r++)
        for (int64_t d = 0; d < 64; d++)
            q_tile[d * 80 + r] = r < r1 ? q[r / n_q * q_head + r % n_q * q_row + d] : 0;
    /* query_sum = 0.0f */
    for (int64_t r = r0; r < r1; r += LANES) {
        T(store)(query_sum + r, T(splat)(0.0f));
    }
    /* query = q_tile * 0.35355339f; query_sum += query * query */
    for (int64_t r = r0; r < r1; r += LANES) {
        T(vec) query_sum_in = (T(vec)){0};
        for (int64_t d = 0; d < 64; d++) {
            const T(vec) query_new0 = T(load)(q_tile + d * 80 + r) * 0.35355339f;
            T(store)(query + d * 64 + r, query_new0);
            query_sum_in += query_new0 * query_new0;
        }
        T(store)(query_sum + r, T(load)(query_sum + r) + query_sum_in);
    }
    /* query_w[c][r] = sum over d of features_w * query */
    T(dot11)(round_up(r1 - r0, LANES), features_w, query + r0, query_w + r0);
    /* query_sin = sin(query_w); query_cos = cos(query_w) */
    for (int64_t r = r0; r < r1; r += LANES) {
        for (int64_t c = 0; c < 256; c++) {
            const T(vec) query_w_1 = T(load)(query_w + c * 64 + r);
            const T(wide) angle2 = __builtin_convertvector(query_w_1, T(wide));
            T(store)(query_sin + c * 64 + r, T(sin)(&angle2));
            const T(wide) angle3 = __builtin_convertvector(query_w_1, T(wide));
            T(store)(query_cos + c * 64 + r, T(cos)(&angle3));
        }
    }
}

/* Initialises the states: they contain no keys yet. */
TARGET APART void T(performer_trig_few_begin_2)(const struct call *call, int64_t task, const struct share *share,
    int64_t iteration)
{
    (void)task;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t r0 = iteration * 16, r1 = min(r0 + 16, rows);
    float *const carried_max = (float *)(void *)(share->shared + 213504); /* [r: 64] */
    float *const carried_sum = (float *)(void *)(share->shared + 213760); /* [r: 64] */
    float *const carried_sum_compensation = (float *)(void *)(share->shared + 230464); /* [r: 64] */
    float *const carried = (float *)(void *)(share->shared + 214016); /* [r: 64, e: 64] */
    float *const carried_compensation = (float *)(void *)(share->shared + 230720); /* [r: 64, e: 64] */
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
TARGET APART void T(performer_trig_few_keys)(const struct call *call, int64_t task, const struct share *share,
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
    const float *const features_w = (const float *)call->array[ARRAY_features_w].at;
    float *const query_sum = (float *)(void *)(share->shared + 16448); /* [r: 64] */
    float *const query_sin = (float *)(void *)(share->shared + 82304); /* [c: 256, r: 64] */
    float *const query_cos = (float *)(void *)(share->shared + 147904); /* [c: 256, r: 64] */
    float *const key_sum = (float *)(void *)(share->work + 0); /* [j: 128] */
    float *const key_w = (float *)(void *)(share->work + 512); /* [c: 256, j: 128 of 144] */
    float *const key_sin = (float *)(void *)(share->work + 147968); /* [c: 256, j: 128 of 144] */
    float *const score = (float *)(void *)(share->work + 295424); /* [r: 64, j: 128 of 144] */
    float *const score_2 = (float *)(void *)(share->work + 147968); /* [r: 64, j: 128 of 144] */
    float *const weight = (float *)(void *)(share->work + 512); /* [r: 64, j: 128 of 144] */
    float *const state_max = (float *)(void *)(share->slots + 0); /* [chunk, r: 64] */
    float *const old_max = (float *)(void *)(share->work + 0); /* [r: 64] */
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
                    const T(vec) k_tile_4 = T(load)(k_tile + d * 144 + j);
                    const T(vec) k_tile_new5 = k_tile_4 * 0.35355339f;
                    T(store)(k_tile + d * 144 + j, k_tile_new5);
                    key_sum_in[vector] += k_tile_new5 * k_tile_new5;
                }
            }
            UNROLL for (int64_t vector = 0, j = j_first; vector < OF(4, 2, 2); vector++, j += LANES) {
                T(store)(key_sum + j, T(load)(key_sum + j) + key_sum_in[vector]);
            }
        }
        /* key_w[c][j] = sum over d of features_w * k_tile */
        T(dot12)(round_up(j1 - j0, LANES), features_w, k_tile, key_w);
        /* key_sin = sin(key_w); key_w = cos(key_w) */
        for (int64_t c = 0; c < 256; c++) {
            for (int64_t j = 0; j < j1 - j0; j += LANES) {
                const T(vec) key_w_6 = T(load)(key_w + c * 144 + j);
                const T(wide) angle7 = __builtin_convertvector(key_w_6, T(wide));
                T(store)(key_sin + c * 144 + j, T(sin)(&angle7));
                const T(wide) angle8 = __builtin_convertvector(key_w_6, T(wide));
                T(store)(key_w + c * 144 + j, T(cos)(&angle8));
            }
        }
        /* score[r][j] = sum over c of query_sin * key_sin */
        T(dot13)(round_up(j1 - j0, LANES), rows, query_sin, key_sin, score);
        /* score_2[r][j] = sum over c of query_cos * key_w */
        T(dot13)(round_up(j1 - j0, LANES), rows, query_cos, key_w, score_2);
        /* weight = (query_sum * 0.7213475f) + (key_sum * 0.7213475f) */
        for (int64_t j = 0; j < j1 - j0; j += LANES) {
            const T(vec) t_9 = T(load)(key_sum + j) * 0.7213475f;
            for (int64_t r = 0; r < rows; r++) {
                T(store)(weight + r * 144 + j, (query_sum[r] * 0.7213475f) + t_9);
            }
        }
        /* old_max = state_max */
        for (int64_t r = 0; r < rows; r += LANES) {
            T(store)(old_max + r, T(load)(state_max + (chunk - chunk0) * 4240 + r));
        }
        if ((query_start + 1) < j1) { /* the tile is partly outside the mask */
            /* weight = select(j <= ((r % n_q) + query_start), weight, -INFINITY) */
            for (int64_t j = 0; j < j1 - j0; j += LANES) {
                const T(ints) t_10 = j0 + j + T(lane);
                for (int64_t r = 0; r < rows; r++) {
                    T(store)(weight + r * 144 + j, T(pick)(__builtin_convertvector(t_10 <= ((r % n_q) + query_start),
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
        /* score = exp2(weight - state_max) * ((score + score_2) * 0.00390625f) */
        for (int64_t j = 0; j < j1 - j0; j += LANES) {
            for (int64_t r = 0; r < rows; r++) {
                T(store)(score + r * 144 + j, T(exp2)(T(load)(weight + r * 144 + j) - (state_max[(chunk - chunk0) * 4240
                    + r])) * ((T(load)(score + r * 144 + j) + T(load)(score_2 + r * 144 + j)) * 0.00390625f));
            }
        }
        if ((query_start + 1) < j1) { /* the tile is partly outside the mask */
            /* score = select(j <= ((r % n_q) + query_start), score, 0.0f) */
            for (int64_t j = 0; j < j1 - j0; j += LANES) {
                const T(ints) t_11 = j0 + j + T(lane);
                for (int64_t r = 0; r < rows; r++) {
                    T(store)(score + r * 144 + j, T(pick)(__builtin_convertvector(t_11 <= ((r % n_q) + query_start),
                        T(mask)), T(load)(score + r * 144 + j), T(splat)(0.0f)));
                }
            }
        }
        /* state_sum = state_sum * old_max */
        for (int64_t r = 0; r < rows; r += LANES) {
            T(store)(state_sum + (chunk - chunk0) * 4240 + r, T(load)(state_sum + (chunk - chunk0) * 4240 + r) *
                T(load)(old_max + r));
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
            T(dot14)(rows, j1 - j0, score, v + j0 * v_row, v_row, state + (chunk - chunk0) * 4240);
            for (int64_t r = 0; r < rows; r++) {
                T(mask) in_region[OF(8, 16, 32)] = {0};
                const int64_t t_12 = (r % n_q) + query_start;
                for (int64_t j = 0; j < j1 - j0; j += LANES) {
                    in_region[j / LANES] = __builtin_convertvector((j0 + j + T(lane)) <= t_12, T(mask));
                }
                T(add_seen_lanes)(64, state + (chunk - chunk0) * 4240 + r * 64, score + r * 144, v + j0 * v_row, v_row,
                    j1 - j0, in_region);
            }
        } else
#if OF(1, 0, 0)
            T(dot15)(rows, j1 - j0, score, v + j0 * v_row, v_row, state + (chunk - chunk0) * 4240,
                attn_is_intel() ? 16 : 0);
#else
            T(dot15)(rows, j1 - j0, score, v + j0 * v_row, v_row, state + (chunk - chunk0) * 4240);
#endif
    }
}

/* Folds the slots of the current chunks, in order, for some elements of the states. */
TARGET APART void T(performer_trig_few_fold)(const struct call *call, int64_t task, const struct share *share,
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
    float *const carried_max = (float *)(void *)(share->shared + 213504); /* [r: 64] */
    float *const carried_factor = (float *)(void *)(share->work + 0); /* [r: 64] */
    float *const slot_factor = (float *)(void *)(share->work + 256); /* [r: 64] */
    float *const carried_sum = (float *)(void *)(share->shared + 213760); /* [r: 64] */
    float *const carried_sum_compensation = (float *)(void *)(share->shared + 230464); /* [r: 64] */
    float *const carried = (float *)(void *)(share->shared + 214016); /* [r: 64, e: 64] */
    float *const carried_compensation = (float *)(void *)(share->shared + 230720); /* [r: 64, e: 64] */
    for (int64_t chunk = chunk0; chunk < chunk1; chunk++) {
        /* before_max = carried_max; carried_max max= state_max; carried_factor = exp2(before_max - carried_max);
           slot_factor = exp2(state_ ... */
        for (int64_t r = r0; r < r1; r += LANES) {
            const T(vec) carried_max_13 = T(load)(carried_max + r);
            const T(vec) before_max_new14 = carried_max_13;
            const T(vec) state_max_15 = T(load)(state_max + (chunk - chunk0) * 4240 + r);
            const T(vec) carried_max_new16 = T(max)(T(load)(carried_max + r), state_max_15);
            T(store)(carried_max + r, carried_max_new16);
            const T(vec) carried_factor_new17 = T(exp2)(before_max_new14 - carried_max_new16);
            T(store)(carried_factor + r, carried_factor_new17);
            const T(vec) slot_factor_new18 = T(exp2)(state_max_15 - carried_max_new16);
            T(store)(slot_factor + r, slot_factor_new18);
            const T(vec) carried_sum_19 = T(load)(carried_sum + r);
            T(store)(carried_sum + r, carried_sum_19 * carried_factor_new17);
            T(store)(carried_sum_compensation + r, T(load)(carried_sum_compensation + r) * carried_factor_new17);
            T(add)(carried_sum + r, carried_sum_compensation + r, T(load)(state_sum + (chunk - chunk0) * 4240 + r) *
                slot_factor_new18, T(splat)(1));
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
                        T(load)(state + (chunk - chunk0) * 4240 + r * 64 + e) * slot_factor[r], T(splat)(1));
                }
            }
        }
    }
}

/* Processes a tile of queries: reads the states. */
TARGET APART void T(performer_trig_few_queries)(const struct call *call, int64_t task, const struct share *share,
    int64_t iteration)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_q = call->p.n_q;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t r0 = iteration * 16, r1 = min(r0 + 16, rows);
    const int64_t g = task % kv_heads;
    const int64_t b = task / kv_heads;
    float *const carried_sum = (float *)(void *)(share->shared + 213760); /* [r: 64] */
    float *const carried = (float *)(void *)(share->shared + 214016); /* [r: 64, e: 64] */
    float *const result = (float *)(void *)(share->work + 0); /* [r: 64, e: 64] */
    float *const out = (float *)call->array[ARRAY_out].at + b * call->array[ARRAY_out].strides.batch + g * members *
        call->array[ARRAY_out].strides.head;
    const int64_t out_row = call->array[ARRAY_out].strides.row;
    const int64_t out_head = call->array[ARRAY_out].strides.head;
    /* result = select(carried_sum == 0.0f, 0.0f, carried / carried_sum) */
    for (int64_t r = r0; r < r1; r++) {
        for (int64_t e_first = 0; e_first < 64; e_first += OF(64, 16, 8)) {
            UNROLL for (int64_t vector = 0, e = e_first; vector < OF(4, 2, 2); vector++, e += LANES) {
                const float carried_sum_22 = carried_sum[r];
                T(store)(result + r * 64 + e, (carried_sum_22 == 0.0f) ? T(splat)(0.0f) : T(load)(carried + r * 64 + e)
                    / carried_sum_22);
            }
        }
    }
    /* out = result */
    for (int64_t r = r0; r < r1; r++)
        for (int64_t e = 0; e < 64; e++)
            out[r / n_q * out_head + r % n_q * out_row + e] = result[r * 64 + e];
}

/* Computes head number `task`. Each thread on the head calls this with `share`. */
TARGET static void T(performer_trig_few)(const struct call *call, int64_t task, struct share *share)
{
    const int64_t n_k = call->p.n_k;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t chunks = n_k > 0 ? (n_k - 1) / 1024 + 1 : 1;
    for (int64_t iteration = share->number; iteration < ((rows + 63) / 64); iteration += share->threads)
        T(performer_trig_few_begin)(call, task, share, iteration);
    for (int64_t iteration = share->number; iteration < ((rows + 15) / 16); iteration += share->threads)
        T(performer_trig_few_begin_2)(call, task, share, iteration);
    synchronise(share);
    const int64_t first = 0;
    const int64_t length = segment_length(share, chunks - first);
    for (int64_t segment = share->number; first + segment * length < chunks; segment += share->threads) {
        share->chunk0 = first + segment * length;
        share->chunk1 = min(share->chunk0 + length, chunks);
        for (int64_t iteration = share->chunk0; iteration < share->chunk1; iteration++)
            T(performer_trig_few_keys)(call, task, share, iteration);
        for (int64_t group = 0; group < 16; group++) {
            await_segment(share, group, segment);
            const int64_t end = (group + 1) * ((rows + 15) / 16) / 16;
            for (int64_t iteration = group * ((rows + 15) / 16) / 16; iteration < end; iteration++)
                T(performer_trig_few_fold)(call, task, share, iteration);
            pass_segment(share, group, segment);
        }
    }
    share->segments += (max(chunks - first, 0) + length - 1) / length;
    synchronise(share);
    for (int64_t iteration = share->number; iteration < ((rows + 15) / 16); iteration += share->threads)
        T(performer_trig_few_queries)(call, task, share, iteration);
    synchronise(share);
}
#include <attnrt/kernel/end.h>
#else
#ifdef __cplusplus
#error "performer_trig.c is C, not C++: compile it with a C compiler"
#elif !defined __STDC_VERSION__ || __STDC_VERSION__ < 199901L
#error "performer_trig.c is C11, not C89: compile it without -std=, or with -std=gnu11"
extern int performer_trig_is_c11;
#elif !defined __GNUC__
#error "performer_trig.c uses GNU C vector extensions: compile it with gcc or clang"
extern int performer_trig_is_gnu_c;
#else
#include "performer_trig.h"

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
#define LOOPS "performer_trig.c"
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
    {"features.w", ATTN_F32, 2, {256, 64}, offsetof(struct performer_trig_params, features_w), 1, ATTN_CONTIGUOUS, 0, 0,
        ATTN_NO_LIMITS},
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
    {.role = RUN_FORWARD, .form = FORM_FEW, .from = 390,
     .head = performer_trig_few_v4, .tile = 0, .own = 332288, .few_rows = 64, .of_pair = 128, .shared = 247168,
         .slot = 16960, .slots = 4, .together = 1},
    {.role = RUN_FORWARD, .from = 390,
     .head = performer_trig_linear_v4, .tile = 0, .own = 431872, .of_token = 33280, .in_keys = 1, .shared = 268416,
         .slot = 135360, .slots = 2, .together = 1},
    {.role = RUN_FORWARD, .form = FORM_FEW,
     .head = performer_trig_few_v4, .tile = 0, .own = 332288, .few_rows = 64, .lanes = 16, .of_pair = 128,
         .shared = 247168, .slot = 16960, .slots = 4, .together = 1},
    {.role = RUN_FORWARD,
     .rows = performer_trig_rows_v4, .tile = 256, .own = 901120, .of_pair = 128},
};
#endif
#if defined(__x86_64__)
static int runs_v3(void)
{
    return attn_x86_64_level() >= 3;
}
static const struct program programs_v3[] = {
    {.role = RUN_FORWARD, .form = FORM_FEW, .from = 390,
     .head = performer_trig_few_v3, .tile = 0, .own = 332288, .few_rows = 64, .of_pair = 128, .shared = 247168,
         .slot = 16960, .slots = 4, .together = 1},
    {.role = RUN_FORWARD, .from = 390,
     .head = performer_trig_linear_v3, .tile = 0, .own = 431872, .of_token = 33280, .in_keys = 1, .shared = 268416,
         .slot = 135360, .slots = 2, .together = 1},
    {.role = RUN_FORWARD, .form = FORM_FEW,
     .head = performer_trig_few_v3, .tile = 0, .own = 332288, .few_rows = 64, .lanes = 8, .of_pair = 128,
         .shared = 247168, .slot = 16960, .slots = 4, .together = 1},
    {.role = RUN_FORWARD,
     .rows = performer_trig_rows_v3, .tile = 256, .own = 878592, .of_pair = 128},
};
#endif
static const struct program programs_any[] = {
    {.role = RUN_FORWARD, .form = FORM_FEW, .from = 390,
     .head = performer_trig_few_any, .tile = 0, .own = 332288, .few_rows = 64, .of_pair = 128, .shared = 247168,
         .slot = 16960, .slots = 4, .together = 1},
    {.role = RUN_FORWARD, .from = 390,
     .head = performer_trig_linear_any, .tile = 0, .own = 431872, .of_token = 33280, .in_keys = 1, .shared = 268416,
         .slot = 135360, .slots = 2, .together = 1},
    {.role = RUN_FORWARD, .form = FORM_FEW,
     .head = performer_trig_few_any, .tile = 0, .own = 332288, .few_rows = 64, .lanes = 4, .of_pair = 128,
         .shared = 247168, .slot = 16960, .slots = 4, .together = 1},
    {.role = RUN_FORWARD,
     .rows = performer_trig_rows_any, .tile = 128, .own = 548864, .of_pair = 128},
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
    .layout = KERNEL_LAYOUT, .name = "performer_trig", .openmp = OPENMP,
    .target = target, .targets = sizeof target / sizeof *target - 1,
    .array = array, .arrays = sizeof array / sizeof *array,
    .param = param, .params = 1, .params_bytes = sizeof(struct performer_trig_params),
    .dtype = ATTN_F32, .key_dtype = ATTN_F32, .value_dtype = ATTN_F32, .real = sizeof(float), .element = sizeof(float),
    .head_dim = 64, .value_dim = 64, .key_row = 64, .value_row = 64,
    .shares = 1,
    .positions = 1,
    .ids = -1,
    .corrected = -1,
    .solution = -1,
};

/* ==== the interface ==== */
size_t performer_trig_params_size(void) { return attn_call_params_size(&kernel); }
int performer_trig_params_init(struct performer_trig_params *params, uint64_t seed, void *storage)
{
    return attn_call_params_init(&kernel, params, seed, storage);
}
size_t performer_trig_workspace(const struct attn_problem *problem) { return attn_call_workspace(&kernel, problem); }
int performer_trig_forward(const struct attn_problem *problem, const struct performer_trig_params *params,
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
const struct attn_kernel performer_trig_kernel = {
    .name = "performer_trig", .version = "0.2.0", .dtype = ATTN_F32, .head_dim = 64, .value_dim = 64,
    .params = 1, .param = param, .params_bytes = sizeof(struct performer_trig_params),
    .params_size = performer_trig_params_size, .params_init = params_init_any, .forward = forward_any,
    .workspace = performer_trig_workspace,
    .key_dtype = ATTN_F32, .value_dtype = ATTN_F32,
    .before = INT64_MAX, .after = 0, .period = 1, .names_heads = 0, .names_sequences = 0, .in_parts = 0,
    .saved_power = 0, .has_sink = 0, .open_keys = 0, .end_of_keys = INT64_MAX,
};
#endif /* a compiler of this language */
#endif /* SECTION */
