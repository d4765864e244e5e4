/* nsa.c, made by attnc 0.2.0: attnc nsa.yaml
   C11 with GNU extensions, for a C compiler; C++ includes nsa.h.
   softmax attention to compressed blocks of keys, to selected blocks and to a window, mixed by gates
   Yuan et al., Native Sparse Attention (ACL 2025), section 3; row j of kc and vc is the block of 32 keys from j on,
   where j is a multiple of 16, and seen holds the selected blocks of 64 keys

   Computes, in f32, over the axes b (batch), g (key/value head), m (query head of g), i (query), j (key), d (64),
   e (64), key_blocks_64 (((n_k + 63) / 64)), gate_axis_4 (3):
     q [b g m i d]
     k [b g j d]
     v [b g j e]
     kc [b g j d], learned parameter
     x4 [b g m i j] = sum over d of q * kc
     ks [b g j d], learned parameter
     x6 [b g m i j] = sum over d of q * ks
     vc [b g j e], learned parameter
     x8 [b g m i j] = exp(x4 * 0.125)
     x9 [b g m i] = sum over j of x8 if j % 16 == 0 && j <= i + query_start + -31
     x10 [b g m i e] = sum over j of x8 * vc if j % 16 == 0 && j <= i + query_start + -31
     x11 [b g m i e] = x9 == 0 ? 0 : x10 / x9
     vs [b g j e], learned parameter
     x13 [b g m i j] = exp(x6 * 0.125)
     seen [b g i key_blocks_64], learned parameter
     x15 [b g m i] = sum over j of x13 if j <= i + query_start && 0 < id(seen, (b * kv_heads + g) * n_q + i, j / 64)
     x16 [b g m i e] = sum over j of x13 * vs if j <= i + query_start && 0 < id(seen, (b * kv_heads + g) * n_q + i,
     j / 64)
     x17 [b g m i e] = x15 == 0 ? 0 : x16 / x15
     x18 [b g m i j] = sum over d of q * k
     x19 [b g m i j] = exp(x18 * 0.125)
     x20 [b g m i] = sum over j of x19 if i + query_start + -511 <= j && j <= i + query_start
     x21 [b g m i e] = sum over j of x19 * v if i + query_start + -511 <= j && j <= i + query_start
     x22 [b g m i e] = x20 == 0 ? 0 : x21 / x20
     gate [b g m i gate_axis_4], learned parameter
     x24 [b g m i e] = gate[b, g, m, i, 0] * x11 + gate[b, g, m, i, 1] * x17 + gate[b, g, m, i, 2] * x22
     out = x24
   query_start is the position of the first query: problem.query_start[b], or n_k - n_q if that is NULL.

   How: each vector lane holds one query. Keys are processed in tiles,
   so row sums and maxima need no reduction across lanes.
   The sums of a tile start from zero and are added to the sums so far. Tiles that no query sees are skipped.
   For few queries each lane holds one key. The queries of all heads that share keys are the rows of one tile,
   so each key is read once.
   The chunks of keys are divided among the threads. Their sums are added in the order of the chunks.
     x86-64-v4  quadratic tiles of 64 queries and 128 keys; 187840 bytes of workspace per thread
     x86-64-v4  few       tiles of 64 queries and 128 keys; 443904 bytes of workspace per thread
     x86-64-v3  quadratic tiles of 64 queries and 128 keys; 187840 bytes of workspace per thread
     x86-64-v3  few       tiles of 64 queries and 128 keys; 443904 bytes of workspace per thread
     generic    quadratic tiles of 64 queries and 128 keys; 187840 bytes of workspace per thread
     generic    few       tiles of 64 queries and 128 keys; 443904 bytes of workspace per thread

   Contents:
     loops      nsa_rows, nsa_few
     targets    x86-64-v4, x86-64-v3, generic
     tables     arrays and programs, for the functions of attnrt that call the loops
     interface  nsa_workspace, nsa_forward, nsa_kernel
   The file includes itself, so that the loops are compiled once for each target. T(name) is a name with the target's
   suffix, LANES the elements of its vectors, and OF(…) a number for each target.

   Compile with: cc -O2 -fopenmp nsa.c … -lattnrt -lm */
#ifdef SECTION
#include <attnrt/kernel/vector.h>
#include <attnrt/kernel/elementary.h>
#include <attnrt/kernel/flags.h>
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
TARGET APART void T(dot0)(int64_t lanes, int64_t rows, const float *a, int64_t a_row, int64_t a_step, const float *b,
    float *c)
{
    T(dot)(/*vectors=*/OF(4, 2, 2), lanes, rows, /*tail=*/-1, /*steps=*/64, /*span=*/32, a, a_row, a_step, b,
        /*b_step=*/80, c, /*c_row=*/80, /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL);
}
TARGET APART void T(dot1)(int64_t lanes, int64_t steps, const float *a, int64_t a_row, int64_t a_step, const float *b,
    float *c, const float *factor, float *compensation)
{
    T(dot_finite)(/*vectors=*/OF(4, 2, 2), lanes, /*rows=*/64, /*tail=*/4, steps, /*span=*/192, a, a_row, a_step, b,
        /*b_step=*/80, c, /*c_row=*/80, /*update=*/3, factor, compensation);
}
TARGET APART void T(dot2)(int64_t lanes, int64_t steps, const float *a, int64_t a_row, int64_t a_step, const float *b,
    float *c, const float *factor, float *compensation)
{
    T(dot)(/*vectors=*/OF(4, 2, 2), lanes, /*rows=*/64, /*tail=*/4, steps, /*span=*/192, a, a_row, a_step, b,
        /*b_step=*/80, c, /*c_row=*/80, /*update=*/3, factor, compensation);
}
TARGET APART void T(dot3)(int64_t lanes, int64_t rows, const float *a, int64_t a_row, const float *b, float *c,
    const float *next, int64_t next_row, const float *result, int64_t result_row, int64_t results)
{
    T(dot_ahead)(/*vectors=*/OF(4, 2, 2), lanes, rows, /*tail=*/-1, /*steps=*/64, /*span=*/32, a, a_row, /*a_step=*/1,
        b, /*b_step=*/80, c, /*c_row=*/80, /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL, next, next_row,
        /*width=*/64, result, result_row, /*result_width=*/64, results);
}
TARGET APART void T(dot4)(int64_t lanes, int64_t steps, const float *a, int64_t a_step, const float *b, float *c,
    const float *factor, float *compensation)
{
    T(dot_finite)(/*vectors=*/OF(4, 2, 2), lanes, /*rows=*/64, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/1, a_step,
        b, /*b_step=*/80, c, /*c_row=*/80, /*update=*/3, factor, compensation);
}
TARGET APART void T(dot5)(int64_t lanes, int64_t steps, const float *a, int64_t a_step, const float *b, float *c,
    const float *factor, float *compensation)
{
    T(dot)(/*vectors=*/OF(4, 2, 2), lanes, /*rows=*/64, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/1, a_step, b,
        /*b_step=*/80, c, /*c_row=*/80, /*update=*/3, factor, compensation);
}
TARGET APART void T(dot6)(int64_t lanes, int64_t rows, const float *a, const float *b, float *c)
{
    T(dot)(/*vectors=*/OF(4, 2, 2), lanes, rows, /*tail=*/-1, /*steps=*/64, /*span=*/32, a, /*a_row=*/1, /*a_step=*/64,
        b, /*b_step=*/144, c, /*c_row=*/144, /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL);
}
TARGET APART void T(dot7)(int64_t rows, int64_t steps, const float *a, const float *b, float *c)
{
    T(dot_finite_lanes)(/*fetched=*/0, /*vectors=*/OF(4, 2, 2), /*lanes=*/64, rows, /*tail=*/-1, steps, /*span=*/192, a,
        /*a_row=*/144, /*a_step=*/1, b, /*b_step=*/64, c, /*c_row=*/64, /*update=*/1, /*factor=*/NULL,
        /*compensation=*/NULL);
}
TARGET APART void T(dot8)(int64_t rows, int64_t steps, const float *a, const float *b, float *c)
{
    T(dot)(/*vectors=*/OF(4, 2, 2), /*lanes=*/64, rows, /*tail=*/-1, steps, /*span=*/192, a, /*a_row=*/144,
        /*a_step=*/1, b, /*b_step=*/64, c, /*c_row=*/64, /*update=*/1, /*factor=*/NULL, /*compensation=*/NULL);
}
#if OF(1, 0, 0)
TARGET APART void T(dot9)(int64_t rows, int64_t columns, const float *a, const float *b, int64_t b_row, float *c,
    int64_t early)
#else
TARGET APART void T(dot9)(int64_t rows, int64_t columns, const float *a, const float *b, int64_t b_row, float *c)
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
TARGET APART void T(dot10)(int64_t rows, int64_t steps, const float *a, const float *b, int64_t b_step, float *c)
{
    T(dot_finite_lanes)(/*fetched=*/1, /*vectors=*/OF(4, 2, 2), /*lanes=*/64, rows, /*tail=*/-1, steps, /*span=*/192, a,
        /*a_row=*/144, /*a_step=*/1, b, b_step, c, /*c_row=*/64, /*update=*/1, /*factor=*/NULL, /*compensation=*/NULL);
}
#if OF(1, 0, 0)
TARGET APART void T(dot11)(int64_t rows, int64_t steps, const float *a, const float *b, int64_t b_step, float *c,
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
TARGET static void T(nsa_rows)(const struct call *call, int64_t task, unsigned char *work)
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
    const float *const kc_array = (const float *)call->array[ARRAY_kc_array].at + b *
        call->array[ARRAY_kc_array].strides.batch + g * call->array[ARRAY_kc_array].strides.head;
    const int64_t kc_array_row = call->array[ARRAY_kc_array].strides.row;
    const int64_t kc_array_stride_3 = call->array[ARRAY_kc_array].stride[3];
    const float *const ks_array = (const float *)call->array[ARRAY_ks_array].at + b *
        call->array[ARRAY_ks_array].strides.batch + g * call->array[ARRAY_ks_array].strides.head;
    const int64_t ks_array_row = call->array[ARRAY_ks_array].strides.row;
    const int64_t ks_array_stride_3 = call->array[ARRAY_ks_array].stride[3];
    const float *const vc_array = (const float *)call->array[ARRAY_vc_array].at + b *
        call->array[ARRAY_vc_array].strides.batch + g * call->array[ARRAY_vc_array].strides.head;
    const int64_t vc_array_row = call->array[ARRAY_vc_array].strides.row;
    const int64_t vc_array_stride_3 = call->array[ARRAY_vc_array].stride[3];
    const float *const vs_array = (const float *)call->array[ARRAY_vs_array].at + b *
        call->array[ARRAY_vs_array].strides.batch + g * call->array[ARRAY_vs_array].strides.head;
    const int64_t vs_array_row = call->array[ARRAY_vs_array].strides.row;
    const int64_t vs_array_stride_3 = call->array[ARRAY_vs_array].stride[3];
    const uint8_t *const seen_array = (const uint8_t *)call->array[ARRAY_seen_array].at;
    const int64_t seen_array_stride_0 = call->array[ARRAY_seen_array].stride[0];
    const int64_t seen_array_stride_1 = call->array[ARRAY_seen_array].stride[1];
    const int64_t seen_array_stride_2 = call->array[ARRAY_seen_array].stride[2];
    const int64_t seen_array_stride_3 = call->array[ARRAY_seen_array].stride[3];
    const float *const gate_array = (const float *)call->array[ARRAY_gate_array].at + b *
        call->array[ARRAY_gate_array].strides.batch + (g * members + m) * call->array[ARRAY_gate_array].strides.head;
    const int64_t gate_array_row = call->array[ARRAY_gate_array].strides.row;
    const int64_t gate_array_stride_3 = call->array[ARRAY_gate_array].stride[3];
    float *const score = (float *)(void *)(work + 0); /* [j: 128, i: 64 of 80] */
    float *const score_2 = (float *)(void *)(work + 0); /* [j: 128, i: 64 of 80] */
    float *const row_max = (float *)(void *)(work + 40960); /* [i: 64] */
    float *const old_max = (float *)(void *)(work + 41216); /* [i: 64] */
    float *const row_sum = (float *)(void *)(work + 41472); /* [i: 64] */
    float *const row_sum_compensation = (float *)(void *)(work + 41728); /* [i: 64] */
    float *const sum = (float *)(void *)(work + 41984); /* [e: 64, i: 64 of 80] */
    float *const sum_compensation = (float *)(void *)(work + 62464); /* [e: 64, i: 64 of 80] */
    float *const row_max_2 = (float *)(void *)(work + 82944); /* [i: 64] */
    float *const old_max_2 = (float *)(void *)(work + 40960); /* [i: 64] */
    float *const row_sum_2 = (float *)(void *)(work + 83200); /* [i: 64] */
    float *const row_sum_2_compensation = (float *)(void *)(work + 83456); /* [i: 64] */
    float *const sum_2 = (float *)(void *)(work + 83712); /* [e: 64, i: 64 of 80] */
    float *const sum_2_compensation = (float *)(void *)(work + 104192); /* [e: 64, i: 64 of 80] */
    float *const score_3 = (float *)(void *)(work + 0); /* [j: 128, i: 64 of 80] */
    float *const row_max_3 = (float *)(void *)(work + 124672); /* [i: 64] */
    float *const old_max_3 = (float *)(void *)(work + 40960); /* [i: 64] */
    float *const row_sum_3 = (float *)(void *)(work + 124928); /* [i: 64] */
    float *const row_sum_3_compensation = (float *)(void *)(work + 125184); /* [i: 64] */
    float *const sum_3 = (float *)(void *)(work + 125440); /* [e: 64, i: 64 of 80] */
    float *const sum_3_compensation = (float *)(void *)(work + 145920); /* [e: 64, i: 64 of 80] */
    float *const out = (float *)call->array[ARRAY_out].at + b * call->array[ARRAY_out].strides.batch + (g * members + m)
        * call->array[ARRAY_out].strides.head;
    const int64_t out_row = call->array[ARRAY_out].strides.row;
    float *const q_tile = (float *)(void *)(work + 166400); /* [d: 64, i: 64 of 80] */
    float *const gate_tile = (float *)(void *)(work + 186880); /* [gate_axis_4: 3, i: 64 of 80] */
    int64_t results = i1 - i0; /* rows of out to prefetch during the first product */
    /* q_tile = q, with zeros beyond the last row */
    T(transpose_padded)(q + i0 * q_row, q_row, i1 - i0, 64, q_tile, 80, LANES);
    if (gate_array_stride_3 == 1) {
        /* gate_tile = gate_array, with zeros beyond the last row */
        T(transpose_padded)(gate_array + i0 * gate_array_row, gate_array_row, i1 - i0, 3, gate_tile, 80, LANES);
    } else {
        /* gate_tile = gate_array, with zeros beyond the last row */
        for (int64_t i = 0; i < round_up(i1 - i0, LANES); i++)
            for (int64_t gate_axis_4 = 0; gate_axis_4 < 3; gate_axis_4++)
                gate_tile[gate_axis_4 * 80 + i] = i < i1 - i0 ? gate_array[(i0 + i) * gate_array_row + gate_axis_4 *
                    gate_array_stride_3] : 0;
    }
    /* q_tile = q_tile * 0.18033688f */
    for (int64_t d = 0; d < 64; d++) {
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            T(store)(q_tile + d * 80 + i, T(load)(q_tile + d * 80 + i) * 0.18033688f);
        }
    }
    /* row_max = -FLT_MAX; row_sum = 0.0f; row_sum_compensation = 0.0f; row_max_2 = -FLT_MAX; row_sum_2 = 0.0f;
       row_sum_2_compensation  ... */
    for (int64_t i = 0; i < i1 - i0; i += LANES) {
        T(store)(row_max + i, T(splat)(-FLT_MAX));
        T(store)(row_sum + i, T(splat)(0.0f));
        T(store)(row_sum_compensation + i, T(splat)(0.0f));
        T(store)(row_max_2 + i, T(splat)(-FLT_MAX));
        T(store)(row_sum_2 + i, T(splat)(0.0f));
        T(store)(row_sum_2_compensation + i, T(splat)(0.0f));
        T(store)(row_max_3 + i, T(splat)(-FLT_MAX));
        T(store)(row_sum_3 + i, T(splat)(0.0f));
    }
    /* row_sum_3_compensation = 0.0f */
    for (int64_t i = 0; i < i1 - i0; i += LANES) {
        T(store)(row_sum_3_compensation + i, T(splat)(0.0f));
    }
    /* sum = 0.0f; sum_compensation = 0.0f; sum_2 = 0.0f; sum_2_compensation = 0.0f; sum_3 = 0.0f;
       sum_3_compensation = 0.0f */
    for (int64_t e = 0; e < 64; e++) {
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            T(store)(sum + e * 80 + i, T(splat)(0.0f));
            T(store)(sum_compensation + e * 80 + i, T(splat)(0.0f));
            T(store)(sum_2 + e * 80 + i, T(splat)(0.0f));
            T(store)(sum_2_compensation + e * 80 + i, T(splat)(0.0f));
            T(store)(sum_3 + e * 80 + i, T(splat)(0.0f));
            T(store)(sum_3_compensation + e * 80 + i, T(splat)(0.0f));
        }
    }
    {
        const int64_t j_end = min(n_k, i1 + query_start - 31);
        /* every j congruent to 0 modulo 16 */
        const int64_t j_first = floor_mod(0, 16);
        for (int64_t j0 = j_first; j0 < j_end; j0 += 2048) {
            const int64_t j1 = min(j0 + 2033, j_end), j_count = (j1 - j0 + 15) / 16;
            /* score[j][i] = sum over d of kc_array * q_tile */
            T(dot0)(round_up(i1 - i0, LANES), j_count, kc_array + j0 * kc_array_row, kc_array_row * 16,
                kc_array_stride_3, q_tile, score);
            /* old_max = row_max */
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                T(store)(old_max + i, T(load)(row_max + i));
            }
            if ((i0 + query_start - 30) < j1) { /* the tile is partly outside the mask */
                /* score = select(j <= ((i + query_start) + -31), score, -INFINITY) */
                for (int64_t i = 0; i < i1 - i0; i += LANES) {
                    const T(ints) t_0 = ((i0 + i + T(lane)) + query_start) + (-31);
                    for (int64_t j = 0; j < j_count; j++) {
                        T(store)(score + j * 80 + i, T(pick)(__builtin_convertvector((j0 + 16 * j) <= t_0, T(mask)),
                            T(load)(score + j * 80 + i), T(splat)(-INFINITY)));
                    }
                }
            }
            /* row_max max= score */
            for (int64_t i_first = 0; i_first < i1 - i0; i_first += OF(64, 16, 8)) {
#if OF(1, 0, 0)
                T(vec) row_max_in[4];
#else
                T(vec) row_max_in[2][2];
#endif
                UNROLL for (int64_t vector = 0, i = i_first; vector < OF(4, 2, 2); vector++, i += LANES) {
#if OF(1, 0, 0)
                    row_max_in[vector] = T(load)(row_max + i);
#else
                    UNROLL for (int j_chain = 0; j_chain < 2; j_chain++) row_max_in[vector][j_chain] =
                        T(splat)(-INFINITY);
#endif
                }
#if OF(1, 0, 0)
                for (int64_t j = 0; j < j_count; j++) {
                    UNROLL for (int64_t vector = 0, i = i_first; vector < 4; vector++, i += 16) {
                        row_max_in[vector] = T(max)(row_max_in[vector], T(load)(score + j * 80 + i));
#else
                for (int64_t j_first = 0; j_first < j_count; j_first += 2) {
                    UNROLL for (int j_chain = 0; j_chain < 2; j_chain++) {
                        const int64_t j = min(j_first + j_chain, j_count - 1);
                        UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += LANES) {
                            row_max_in[vector][j_chain] = T(max)(row_max_in[vector][j_chain],
                                T(load)(score + j * 80 + i));
                        }
#endif
                    }
                }
                UNROLL for (int64_t vector = 0, i = i_first; vector < OF(4, 2, 2); vector++, i += LANES) {
#if OF(1, 0, 0)
                    T(store)(row_max + i, row_max_in[vector]);
#else
                    T(store)(row_max + i, T(max)(T(load)(row_max + i), T(max)(row_max_in[vector][0],
                        row_max_in[vector][1])));
#endif
                }
            }
            /* old_max = exp2(old_max - row_max); row_sum = row_sum * old_max */
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                const T(vec) old_max_1 = T(load)(old_max + i);
                const T(vec) old_max_new2 = T(exp2)(old_max_1 - T(load)(row_max + i));
                T(store)(old_max + i, old_max_new2);
                T(store)(row_sum + i, T(load)(row_sum + i) * old_max_new2);
            }
            /* score = exp2(score - row_max); row_sum += score */
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                const T(vec) row_max_5 = T(load)(row_max + i);
                T(vec) row_sum_in = (T(vec)){0};
                for (int64_t j = 0; j < j_count; j++) {
                    const T(vec) score_4 = T(load)(score + j * 80 + i);
                    const T(vec) score_new6 = T(exp2)(score_4 - row_max_5);
                    T(store)(score + j * 80 + i, score_new6);
                    row_sum_in += score_new6;
                }
                T(add)(row_sum + i, row_sum_compensation + i, row_sum_in, T(splat)(1));
            }
            /* sum[e][i] = sum * old_max + sum over j of vc_array * score */
            if (__builtin_expect(!T(finite_apart)(vc_array + j0 * vc_array_row, vc_array_row * 16, j_count, 64,
                vc_array_stride_3), 0)) { /* infinity and NaN affect only queries that see them */
                T(dot1)(round_up(i1 - i0, LANES), j_count, vc_array + j0 * vc_array_row, vc_array_stride_3,
                    vc_array_row * 16, score, sum, old_max, sum_compensation);
                for (int64_t j = 0; j < j_count; j++) {
                    T(mask) in_region[OF(4, 8, 16)] = {0};
                    if (T(finite)(vc_array + j0 * vc_array_row + j * vc_array_row * 16, vc_array_stride_3, 64,
                        1)) continue;
                    const int t_7 = ((j0 + 16 * j) % 16) == 0;
                    for (int64_t i = 0; i < i1 - i0; i += LANES) {
                        in_region[i / LANES] = __builtin_convertvector((-(int64_t)t_7) & ((j0 + 16 * j) <= (((i0 + i +
                            T(lane)) + query_start) + (-31))), T(mask));
                    }
                    T(add_seen)(64, sum, 80, vc_array + j0 * vc_array_row + j * vc_array_row * 16, vc_array_stride_3,
                        score + j * 80, in_region, i1 - i0);
                }
            } else
                T(dot2)(round_up(i1 - i0, LANES), j_count, vc_array + j0 * vc_array_row, vc_array_stride_3,
                    vc_array_row * 16, score, sum, old_max, sum_compensation);
        }
    }
    {
        for (int64_t j0 = 0, j_end = min(n_k, i1 + query_start); j0 < j_end; j0 += 128) {
            const int64_t j1 = min(j0 + 128, j_end);
            const struct ids ids_0 = flags_of_box(seen_array, 3, (const int64_t[]){seen_array_stride_0,
                seen_array_stride_1, seen_array_stride_2}, (const int64_t[]){b, g, i0}, (const int64_t[]){b, g, i1 - 1},
                seen_array_stride_3, (j0 - floor_mod(j0, 64)) / 64, ((j1 - floor_mod(j1 - 1, 64) - 1) / 64) + 1);
                /* of the tile of j */
            if (!(0 < ids_0.max)) continue; /* no query sees a key of the tile */
            /* score_2[j][i] = sum over d of ks_array * q_tile */
            T(dot0)(round_up(i1 - i0, LANES), j1 - j0, ks_array + j0 * ks_array_row, ks_array_row, ks_array_stride_3,
                q_tile, score_2);
            /* old_max_2 = row_max_2 */
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                T(store)(old_max_2 + i, T(load)(row_max_2 + i));
            }
            if (((0 < ids_0.min) ? (i0 + query_start + 1) : 0) < j1) { /* the tile is partly outside the mask */
                /* score_2 = select((j <= (i + query_start)) && (0 < id(seen, (((b * kv_heads) + g) * n_q) + i,
                   j / 64)), score_2, -INFINITY) */
                for (int64_t i = 0; i < i1 - i0; i += LANES) {
                    const T(ints) t_8 = i0 + i + T(lane);
                    const T(ints) t_9 = t_8 + query_start;
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        T(store)(score_2 + j * 80 + i, T(pick)(__builtin_convertvector((j0 + j) <= t_9,
                            T(mask)) & T(flags_of_lanes)(seen_array + b * seen_array_stride_0 + g * seen_array_stride_1
                            + (i0 + i) * seen_array_stride_2 + ((j0 + j) / 64) * seen_array_stride_3,
                            seen_array_stride_2, n_q - (i0 + i)), T(load)(score_2 + j * 80 + i), T(splat)(-INFINITY)));
                    }
                }
            }
            /* row_max_2 max= score_2 */
            for (int64_t i_first = 0; i_first < i1 - i0; i_first += OF(64, 16, 8)) {
#if OF(1, 0, 0)
                T(vec) row_max_2_in[4];
#else
                T(vec) row_max_2_in[2][2];
#endif
                UNROLL for (int64_t vector = 0, i = i_first; vector < OF(4, 2, 2); vector++, i += LANES) {
#if OF(1, 0, 0)
                    row_max_2_in[vector] = T(load)(row_max_2 + i);
#else
                    UNROLL for (int j_chain = 0; j_chain < 2; j_chain++) row_max_2_in[vector][j_chain] =
                        T(splat)(-INFINITY);
#endif
                }
#if OF(1, 0, 0)
                for (int64_t j = 0; j < j1 - j0; j++) {
                    UNROLL for (int64_t vector = 0, i = i_first; vector < 4; vector++, i += 16) {
                        row_max_2_in[vector] = T(max)(row_max_2_in[vector], T(load)(score_2 + j * 80 + i));
#else
                for (int64_t j_first = 0; j_first < j1 - j0; j_first += 2) {
                    UNROLL for (int j_chain = 0; j_chain < 2; j_chain++) {
                        const int64_t j = min(j_first + j_chain, j1 - j0 - 1);
                        UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += LANES) {
                            row_max_2_in[vector][j_chain] = T(max)(row_max_2_in[vector][j_chain],
                                T(load)(score_2 + j * 80 + i));
                        }
#endif
                    }
                }
                UNROLL for (int64_t vector = 0, i = i_first; vector < OF(4, 2, 2); vector++, i += LANES) {
#if OF(1, 0, 0)
                    T(store)(row_max_2 + i, row_max_2_in[vector]);
#else
                    T(store)(row_max_2 + i, T(max)(T(load)(row_max_2 + i), T(max)(row_max_2_in[vector][0],
                        row_max_2_in[vector][1])));
#endif
                }
            }
            /* old_max_2 = exp2(old_max_2 - row_max_2); row_sum_2 = row_sum_2 * old_max_2 */
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                const T(vec) old_max_2_10 = T(load)(old_max_2 + i);
                const T(vec) old_max_2_new11 = T(exp2)(old_max_2_10 - T(load)(row_max_2 + i));
                T(store)(old_max_2 + i, old_max_2_new11);
                T(store)(row_sum_2 + i, T(load)(row_sum_2 + i) * old_max_2_new11);
            }
            /* score_2 = exp2(score_2 - row_max_2); row_sum_2 += score_2 */
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                const T(vec) row_max_2_13 = T(load)(row_max_2 + i);
                T(vec) row_sum_2_in = (T(vec)){0};
                for (int64_t j = 0; j < j1 - j0; j++) {
                    const T(vec) score_2_12 = T(load)(score_2 + j * 80 + i);
                    const T(vec) score_2_new14 = T(exp2)(score_2_12 - row_max_2_13);
                    T(store)(score_2 + j * 80 + i, score_2_new14);
                    row_sum_2_in += score_2_new14;
                }
                T(add)(row_sum_2 + i, row_sum_2_compensation + i, row_sum_2_in, T(splat)(1));
            }
            /* sum_2[e][i] = sum_2 * old_max_2 + sum over j of vs_array * score_2 */
            if (__builtin_expect((((0 < ids_0.min) ? (i0 + query_start + 1) : 0) < j1) && !T(finite_apart)(vs_array + j0
                * vs_array_row, vs_array_row, j1 - j0, 64, vs_array_stride_3),
                0)) { /* infinity and NaN affect only queries that see them */
                T(dot1)(round_up(i1 - i0, LANES), j1 - j0, vs_array + j0 * vs_array_row, vs_array_stride_3,
                    vs_array_row, score_2, sum_2, old_max_2, sum_2_compensation);
                for (int64_t j = 0; j < j1 - j0; j++) {
                    T(mask) in_region[OF(4, 8, 16)] = {0};
                    if (T(finite)(vs_array + j0 * vs_array_row + j * vs_array_row, vs_array_stride_3, 64, 1)) continue;
                    for (int64_t i = 0; i < i1 - i0; i += LANES) {
                        const T(ints) t_15 = i0 + i + T(lane);
                        in_region[i / LANES] = __builtin_convertvector((j0 + j) <= (t_15 + query_start),
                            T(mask)) & T(flags_of_lanes)(seen_array + b * seen_array_stride_0 + g * seen_array_stride_1
                            + (i0 + i) * seen_array_stride_2 + ((j0 + j) / 64) * seen_array_stride_3,
                            seen_array_stride_2, n_q - (i0 + i));
                    }
                    T(add_seen)(64, sum_2, 80, vs_array + j0 * vs_array_row + j * vs_array_row, vs_array_stride_3,
                        score_2 + j * 80, in_region, i1 - i0);
                }
            } else
                T(dot2)(round_up(i1 - i0, LANES), j1 - j0, vs_array + j0 * vs_array_row, vs_array_stride_3,
                    vs_array_row, score_2, sum_2, old_max_2, sum_2_compensation);
        }
    }
    {
        for (int64_t j0 = max(0, i0 + query_start - 511), j_end = min(n_k, i1 + query_start); j0 < j_end; j0 += 128) {
            const int64_t j1 = min(j0 + 128, j_end);
            /* score_3[j][i] = sum over d of k * q_tile */
            T(dot3)(round_up(i1 - i0, LANES), j1 - j0, k + j0 * k_row, k_row, q_tile, score_3, v + j0 * v_row, v_row,
                out + i0 * out_row, out_row, results);
            results = 0;
            /* old_max_3 = row_max_3 */
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                T(store)(old_max_3 + i, T(load)(row_max_3 + i));
            }
            if ((j0 < (i1 + query_start - 512)) || ((i0 + query_start + 1) < j1)) { /* the tile is partly outside the
                mask */
                /* score_3 = select((((i + query_start) + -511) <= j) && (j <= (i + query_start)), score_3,
                   -INFINITY) */
                for (int64_t i = 0; i < i1 - i0; i += LANES) {
                    const T(ints) t_16 = (i0 + i + T(lane)) + query_start;
                    const T(ints) t_17 = t_16 + (-511);
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        T(store)(score_3 + j * 80 + i, T(pick)(__builtin_convertvector((t_17 <= (j0 + j)) & ((j0 + j) <=
                            t_16), T(mask)), T(load)(score_3 + j * 80 + i), T(splat)(-INFINITY)));
                    }
                }
            }
            /* row_max_3 max= score_3 */
            for (int64_t i_first = 0; i_first < i1 - i0; i_first += OF(64, 16, 8)) {
#if OF(1, 0, 0)
                T(vec) row_max_3_in[4];
#else
                T(vec) row_max_3_in[2][2];
#endif
                UNROLL for (int64_t vector = 0, i = i_first; vector < OF(4, 2, 2); vector++, i += LANES) {
#if OF(1, 0, 0)
                    row_max_3_in[vector] = T(load)(row_max_3 + i);
#else
                    UNROLL for (int j_chain = 0; j_chain < 2; j_chain++) row_max_3_in[vector][j_chain] =
                        T(splat)(-INFINITY);
#endif
                }
#if OF(1, 0, 0)
                for (int64_t j = 0; j < j1 - j0; j++) {
                    UNROLL for (int64_t vector = 0, i = i_first; vector < 4; vector++, i += 16) {
                        row_max_3_in[vector] = T(max)(row_max_3_in[vector], T(load)(score_3 + j * 80 + i));
#else
                for (int64_t j_first = 0; j_first < j1 - j0; j_first += 2) {
                    UNROLL for (int j_chain = 0; j_chain < 2; j_chain++) {
                        const int64_t j = min(j_first + j_chain, j1 - j0 - 1);
                        UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += LANES) {
                            row_max_3_in[vector][j_chain] = T(max)(row_max_3_in[vector][j_chain],
                                T(load)(score_3 + j * 80 + i));
                        }
#endif
                    }
                }
                UNROLL for (int64_t vector = 0, i = i_first; vector < OF(4, 2, 2); vector++, i += LANES) {
#if OF(1, 0, 0)
                    T(store)(row_max_3 + i, row_max_3_in[vector]);
#else
                    T(store)(row_max_3 + i, T(max)(T(load)(row_max_3 + i), T(max)(row_max_3_in[vector][0],
                        row_max_3_in[vector][1])));
#endif
                }
            }
            /* old_max_3 = exp2(old_max_3 - row_max_3); row_sum_3 = row_sum_3 * old_max_3 */
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                const T(vec) old_max_3_18 = T(load)(old_max_3 + i);
                const T(vec) old_max_3_new19 = T(exp2)(old_max_3_18 - T(load)(row_max_3 + i));
                T(store)(old_max_3 + i, old_max_3_new19);
                T(store)(row_sum_3 + i, T(load)(row_sum_3 + i) * old_max_3_new19);
            }
            /* score_3 = exp2(score_3 - row_max_3); row_sum_3 += score_3 */
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                const T(vec) row_max_3_21 = T(load)(row_max_3 + i);
                T(vec) row_sum_3_in = (T(vec)){0};
                for (int64_t j = 0; j < j1 - j0; j++) {
                    const T(vec) score_3_20 = T(load)(score_3 + j * 80 + i);
                    const T(vec) score_3_new22 = T(exp2)(score_3_20 - row_max_3_21);
                    T(store)(score_3 + j * 80 + i, score_3_new22);
                    row_sum_3_in += score_3_new22;
                }
                T(add)(row_sum_3 + i, row_sum_3_compensation + i, row_sum_3_in, T(splat)(1));
            }
            /* sum_3[e][i] = sum_3 * old_max_3 + sum over j of v * score_3 */
            if (__builtin_expect(((j0 < (i1 + query_start - 512)) || ((i0 + query_start + 1) < j1)) && !T(finite)(v + j0
                * v_row, v_row, j1 - j0, 64), 0)) { /* infinity and NaN affect only queries that see them */
                T(dot4)(round_up(i1 - i0, LANES), j1 - j0, v + j0 * v_row, v_row, score_3, sum_3, old_max_3,
                    sum_3_compensation);
                for (int64_t j = 0; j < j1 - j0; j++) {
                    T(mask) in_region[OF(4, 8, 16)] = {0};
                    if (T(finite)(v + j0 * v_row + j * v_row, 1, 64, 1)) continue;
                    for (int64_t i = 0; i < i1 - i0; i += LANES) {
                        const T(ints) t_23 = (i0 + i + T(lane)) + query_start;
                        in_region[i / LANES] = __builtin_convertvector(((t_23 + (-511)) <= (j0 + j)) & ((j0 + j) <=
                            t_23), T(mask));
                    }
                    T(add_seen)(64, sum_3, 80, v + j0 * v_row + j * v_row, 1, score_3 + j * 80, in_region, i1 - i0);
                }
            } else
                T(dot5)(round_up(i1 - i0, LANES), j1 - j0, v + j0 * v_row, v_row, score_3, sum_3, old_max_3,
                    sum_3_compensation);
        }
    }
    /* sum_3 = ((gate_tile * select(row_sum == 0.0f, 0.0f, sum * (1.0f / row_sum))) + (gate_tile * select(row_sum_2 ==
       0.0f, 0.0f, sum_ ... */
    for (int64_t i = 0; i < i1 - i0; i += LANES) {
        const T(vec) gate_tile_24 = T(load)(gate_tile + i);
        const T(vec) row_sum_25 = T(load)(row_sum + i);
        const T(mask) t_26 = row_sum_25 == 0.0f;
        const T(vec) t_27 = 1.0f / row_sum_25;
        const T(vec) gate_tile_28 = T(load)(gate_tile + 1 * 80 + i);
        const T(vec) row_sum_2_29 = T(load)(row_sum_2 + i);
        const T(mask) t_30 = row_sum_2_29 == 0.0f;
        const T(vec) t_31 = 1.0f / row_sum_2_29;
        const T(vec) gate_tile_32 = T(load)(gate_tile + 2 * 80 + i);
        const T(vec) row_sum_3_33 = T(load)(row_sum_3 + i);
        const T(mask) t_34 = row_sum_3_33 == 0.0f;
        const T(vec) t_35 = 1.0f / row_sum_3_33;
        for (int64_t e = 0; e < 64; e++) {
            T(store)(sum_3 + e * 80 + i, ((gate_tile_24 * T(pick)(t_26, T(splat)(0.0f),
                T(load)(sum + e * 80 + i) * t_27)) + (gate_tile_28 * T(pick)(t_30, T(splat)(0.0f),
                T(load)(sum_2 + e * 80 + i) * t_31))) + (gate_tile_32 * T(pick)(t_34, T(splat)(0.0f),
                T(load)(sum_3 + e * 80 + i) * t_35)));
        }
    }
    /* out = sum_3, transposed back */
    T(transpose_out)(sum_3, 80, 64, i1 - i0, out + i0 * out_row, out_row, LANES);
}

/* Initialises the states: they contain no keys yet. */
TARGET APART void T(nsa_few_begin)(const struct call *call, int64_t task, const struct share *share, int64_t iteration)
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
    float *const query_turned = (float *)(void *)(share->shared + 16448); /* [r: 64, d: 64] */
    float *const q_tile = (float *)(void *)(share->work + 0); /* [d: 64, r: 64 of 80] */
    /* q_tile = q, with zeros beyond the last row */
    for (int64_t r = r0; r < r0 + round_up(r1 - r0, LANES); r++)
        for (int64_t d = 0; d < 64; d++)
            q_tile[d * 80 + r] = r < r1 ? q[r / n_q * q_head + r % n_q * q_row + d] : 0;
    /* query = q_tile * 0.18033688f */
    for (int64_t r = r0; r < r1; r += LANES) {
        for (int64_t d = 0; d < 64; d++) {
            T(store)(query + d * 64 + r, T(load)(q_tile + d * 80 + r) * 0.18033688f);
        }
    }
    /* query_turned = query, with zeros beyond the last row */
    T(transpose)(query + r0, 64, 64, r1 - r0, query_turned + r0 * 64, 64, 64);
}

/* Initialises the states: they contain no keys yet. */
TARGET APART void T(nsa_few_begin_2)(const struct call *call, int64_t task, const struct share *share,
    int64_t iteration)
{
    (void)task;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t r0 = iteration * 16, r1 = min(r0 + 16, rows);
    float *const carried_max = (float *)(void *)(share->shared + 32896); /* [r: 64] */
    float *const carried_sum = (float *)(void *)(share->shared + 33152); /* [r: 64] */
    float *const carried_sum_compensation = (float *)(void *)(share->shared + 83776); /* [r: 64] */
    float *const carried = (float *)(void *)(share->shared + 33408); /* [r: 64, e: 64] */
    float *const carried_compensation = (float *)(void *)(share->shared + 84032); /* [r: 64, e: 64] */
    float *const carried_max_2 = (float *)(void *)(share->shared + 49856); /* [r: 64] */
    float *const carried_sum_2 = (float *)(void *)(share->shared + 50112); /* [r: 64] */
    float *const carried_sum_2_compensation = (float *)(void *)(share->shared + 100480); /* [r: 64] */
    float *const carried_2 = (float *)(void *)(share->shared + 50368); /* [r: 64, e: 64] */
    float *const carried_2_compensation = (float *)(void *)(share->shared + 100736); /* [r: 64, e: 64] */
    float *const carried_max_3 = (float *)(void *)(share->shared + 66816); /* [r: 64] */
    float *const carried_sum_3 = (float *)(void *)(share->shared + 67072); /* [r: 64] */
    float *const carried_sum_3_compensation = (float *)(void *)(share->shared + 117184); /* [r: 64] */
    float *const carried_3 = (float *)(void *)(share->shared + 67328); /* [r: 64, e: 64] */
    float *const carried_3_compensation = (float *)(void *)(share->shared + 117440); /* [r: 64, e: 64] */
    /* carried_max = -FLT_MAX; carried_sum = 0.0f; carried_sum_compensation = 0.0f; carried_max_2 = -FLT_MAX;
       carried_sum_2 = 0.0f; car ... */
    for (int64_t r = r0; r < r1; r += LANES) {
        T(store)(carried_max + r, T(splat)(-FLT_MAX));
        T(store)(carried_sum + r, T(splat)(0.0f));
        T(store)(carried_sum_compensation + r, T(splat)(0.0f));
        T(store)(carried_max_2 + r, T(splat)(-FLT_MAX));
        T(store)(carried_sum_2 + r, T(splat)(0.0f));
        T(store)(carried_sum_2_compensation + r, T(splat)(0.0f));
        T(store)(carried_max_3 + r, T(splat)(-FLT_MAX));
        T(store)(carried_sum_3 + r, T(splat)(0.0f));
    }
    /* carried_sum_3_compensation = 0.0f */
    for (int64_t r = r0; r < r1; r += LANES) {
        T(store)(carried_sum_3_compensation + r, T(splat)(0.0f));
    }
    /* carried = 0.0f; carried_compensation = 0.0f; carried_2 = 0.0f; carried_2_compensation = 0.0f; carried_3 = 0.0f;
       carried_3_compen ... */
    for (int64_t r = r0; r < r1; r++) {
        for (int64_t e_first = 0; e_first < 64; e_first += OF(64, 16, 8)) {
            UNROLL for (int64_t vector = 0, e = e_first; vector < OF(4, 2, 2); vector++, e += LANES) {
                T(store)(carried + r * 64 + e, T(splat)(0.0f));
                T(store)(carried_compensation + r * 64 + e, T(splat)(0.0f));
                T(store)(carried_2 + r * 64 + e, T(splat)(0.0f));
                T(store)(carried_2_compensation + r * 64 + e, T(splat)(0.0f));
                T(store)(carried_3 + r * 64 + e, T(splat)(0.0f));
                T(store)(carried_3_compensation + r * 64 + e, T(splat)(0.0f));
            }
        }
    }
}

/* Sums the keys of a chunk, from zero, into its slot. */
TARGET APART void T(nsa_few_keys)(const struct call *call, int64_t task, const struct share *share, int64_t iteration)
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
    const float *const kc_array = (const float *)call->array[ARRAY_kc_array].at + b *
        call->array[ARRAY_kc_array].strides.batch + g * call->array[ARRAY_kc_array].strides.head;
    const int64_t kc_array_row = call->array[ARRAY_kc_array].strides.row;
    const int64_t kc_array_stride_3 = call->array[ARRAY_kc_array].stride[3];
    const float *const ks_array = (const float *)call->array[ARRAY_ks_array].at + b *
        call->array[ARRAY_ks_array].strides.batch + g * call->array[ARRAY_ks_array].strides.head;
    const int64_t ks_array_row = call->array[ARRAY_ks_array].strides.row;
    const int64_t ks_array_stride_3 = call->array[ARRAY_ks_array].stride[3];
    const float *const vc_array = (const float *)call->array[ARRAY_vc_array].at + b *
        call->array[ARRAY_vc_array].strides.batch + g * call->array[ARRAY_vc_array].strides.head;
    const int64_t vc_array_row = call->array[ARRAY_vc_array].strides.row;
    const int64_t vc_array_stride_3 = call->array[ARRAY_vc_array].stride[3];
    const float *const vs_array = (const float *)call->array[ARRAY_vs_array].at + b *
        call->array[ARRAY_vs_array].strides.batch + g * call->array[ARRAY_vs_array].strides.head;
    const int64_t vs_array_row = call->array[ARRAY_vs_array].strides.row;
    const int64_t vs_array_stride_3 = call->array[ARRAY_vs_array].stride[3];
    const uint8_t *const seen_array = (const uint8_t *)call->array[ARRAY_seen_array].at;
    const int64_t seen_array_stride_0 = call->array[ARRAY_seen_array].stride[0];
    const int64_t seen_array_stride_1 = call->array[ARRAY_seen_array].stride[1];
    const int64_t seen_array_stride_2 = call->array[ARRAY_seen_array].stride[2];
    const int64_t seen_array_stride_3 = call->array[ARRAY_seen_array].stride[3];
    float *const query = (float *)(void *)(share->shared + 0); /* [d: 64, r: 64] */
    float *const score = (float *)(void *)(share->work + 0); /* [r: 64, j: 128 of 144] */
    float *const score_2 = (float *)(void *)(share->work + 0); /* [r: 64, j: 128 of 144] */
    float *const state_max = (float *)(void *)(share->slots + 0); /* [chunk, r: 64] */
    float *const old_max = (float *)(void *)(share->work + 36864); /* [r: 64] */
    float *const state_sum = (float *)(void *)(share->slots + 256); /* [chunk, r: 64] */
    float *const state = (float *)(void *)(share->slots + 512); /* [chunk, r: 64, e: 64] */
    float *const state_max_2 = (float *)(void *)(share->slots + 16960); /* [chunk, r: 64] */
    float *const old_max_2 = (float *)(void *)(share->work + 36864); /* [r: 64] */
    float *const state_sum_2 = (float *)(void *)(share->slots + 17216); /* [chunk, r: 64] */
    float *const state_2 = (float *)(void *)(share->slots + 17472); /* [chunk, r: 64, e: 64] */
    float *const score_3 = (float *)(void *)(share->work + 0); /* [r: 64, j: 128 of 144] */
    float *const query_turned = (float *)(void *)(share->shared + 16448); /* [r: 64, d: 64] */
    float *const state_max_3 = (float *)(void *)(share->slots + 33920); /* [chunk, r: 64] */
    float *const old_max_3 = (float *)(void *)(share->work + 36864); /* [r: 64] */
    float *const state_sum_3 = (float *)(void *)(share->slots + 34176); /* [chunk, r: 64] */
    float *const state_3 = (float *)(void *)(share->slots + 34432); /* [chunk, r: 64, e: 64] */
    float *const kc_tile = (float *)(void *)(share->work + 36864); /* [d: 64, j: 128 of 144] */
    float *const vc_tile = (float *)(void *)(share->work + 73728); /* [j: 128, e: 64] */
    float *const ks_tile = (float *)(void *)(share->work + 36864); /* [d: 64, j: 128 of 144] */
    float *const vs_tile = (float *)(void *)(share->work + 73728); /* [j: 128, e: 64] */
    /* state_max = -FLT_MAX; state_sum = 0.0f; state_max_2 = -FLT_MAX; state_sum_2 = 0.0f; state_max_3 = -FLT_MAX;
       state_sum_3 = 0.0f */
    for (int64_t r = 0; r < rows; r += LANES) {
        T(store)(state_max + (chunk - chunk0) * 12720 + r, T(splat)(-FLT_MAX));
        T(store)(state_sum + (chunk - chunk0) * 12720 + r, T(splat)(0.0f));
        T(store)(state_max_2 + (chunk - chunk0) * 12720 + r, T(splat)(-FLT_MAX));
        T(store)(state_sum_2 + (chunk - chunk0) * 12720 + r, T(splat)(0.0f));
        T(store)(state_max_3 + (chunk - chunk0) * 12720 + r, T(splat)(-FLT_MAX));
        T(store)(state_sum_3 + (chunk - chunk0) * 12720 + r, T(splat)(0.0f));
    }
    /* state = 0.0f; state_2 = 0.0f; state_3 = 0.0f */
    for (int64_t r = 0; r < rows; r++) {
        for (int64_t e_first = 0; e_first < 64; e_first += OF(64, 16, 8)) {
            UNROLL for (int64_t vector = 0, e = e_first; vector < OF(4, 2, 2); vector++, e += LANES) {
                T(store)(state + (chunk - chunk0) * 12720 + r * 64 + e, T(splat)(0.0f));
                T(store)(state_2 + (chunk - chunk0) * 12720 + r * 64 + e, T(splat)(0.0f));
                T(store)(state_3 + (chunk - chunk0) * 12720 + r * 64 + e, T(splat)(0.0f));
            }
        }
    }
    for (int64_t j0 = chunk * 1024, j_end = min(min(n_k, (chunk + 1) * 1024), n_q + query_start - 31); j0 < j_end;
        j0 += 128) {
        const int64_t j1 = min(j0 + 128, j_end);
        if (kc_array_stride_3 == 1) {
            /* kc_tile = kc_array, with zeros beyond the last row */
            T(transpose_padded)(kc_array + j0 * kc_array_row, kc_array_row, j1 - j0, 64, kc_tile, 144, 64);
        } else {
            /* kc_tile = kc_array, with zeros beyond the last row */
            for (int64_t j = 0; j < round_up(j1 - j0, LANES); j++)
                for (int64_t d = 0; d < 64; d++)
                    kc_tile[d * 144 + j] = j < j1 - j0 ? kc_array[(j0 + j) * kc_array_row + d * kc_array_stride_3] : 0;
        }
        if (vc_array_stride_3 == 1) {
            /* vc_tile = vc_array, with zeros beyond the last row */
            for (int64_t j = 0; j < j1 - j0; j++)
                for (int64_t e = 0; e < 64; e++)
                    vc_tile[j * 64 + e] = vc_array[(j0 + j) * vc_array_row + e];
        } else {
            /* vc_tile = vc_array, with zeros beyond the last row */
            for (int64_t j = 0; j < j1 - j0; j++)
                for (int64_t e = 0; e < 64; e++)
                    vc_tile[j * 64 + e] = vc_array[(j0 + j) * vc_array_row + e * vc_array_stride_3];
        }
        /* score[r][j] = sum over d of query * kc_tile */
        T(dot6)(round_up(j1 - j0, LANES), rows, query, kc_tile, score);
        /* old_max = state_max */
        for (int64_t r = 0; r < rows; r += LANES) {
            T(store)(old_max + r, T(load)(state_max + (chunk - chunk0) * 12720 + r));
        }
        /* score = select(((j % 16) == 0) && (j <= (((r % n_q) + query_start) + -31)), score, -INFINITY) */
        for (int64_t j = 0; j < j1 - j0; j += LANES) {
            const T(ints) t_0 = j0 + j + T(lane);
            const T(ints) t_1 = (t_0 % 16) == 0;
            for (int64_t r = 0; r < rows; r++) {
                T(store)(score + r * 144 + j, T(pick)(__builtin_convertvector(t_1 & (t_0 <= ((r % n_q) + query_start -
                    31)), T(mask)), T(load)(score + r * 144 + j), T(splat)(-INFINITY)));
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
            if (largest > state_max[(chunk - chunk0) * 12720 + r]) state_max[(chunk - chunk0) * 12720 + r] = largest;
        }
        /* old_max = exp2(old_max - state_max); state_sum = state_sum * old_max */
        for (int64_t r = 0; r < rows; r += LANES) {
            const T(vec) old_max_4 = T(load)(old_max + r);
            const T(vec) old_max_new5 = T(exp2)(old_max_4 - T(load)(state_max + (chunk - chunk0) * 12720 + r));
            T(store)(old_max + r, old_max_new5);
            T(store)(state_sum + (chunk - chunk0) * 12720 + r, T(load)(state_sum + (chunk - chunk0) * 12720 + r) *
                old_max_new5);
        }
        /* score = exp2(score - state_max) */
        for (int64_t j = 0; j < j1 - j0; j += LANES) {
            for (int64_t r = 0; r < rows; r++) {
                T(store)(score + r * 144 + j, T(exp2)(T(load)(score + r * 144 + j) - (state_max[(chunk - chunk0) * 12720
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
            state_sum[(chunk - chunk0) * 12720 + r] += total;
        }
        /* state = state * old_max */
        for (int64_t r = 0; r < rows; r++) {
            for (int64_t e_first = 0; e_first < 64; e_first += OF(64, 16, 8)) {
                UNROLL for (int64_t vector = 0, e = e_first; vector < OF(4, 2, 2); vector++, e += LANES) {
                    T(store)(state + (chunk - chunk0) * 12720 + r * 64 + e,
                        T(load)(state + (chunk - chunk0) * 12720 + r * 64 + e) * old_max[r]);
                }
            }
        }
        /* state[r][e] += sum over j of score * vc_tile */
        if (__builtin_expect(!T(finite)(vc_tile, 64, j1 - j0, 64),
            0)) { /* infinity and NaN affect only queries that see them */
            T(dot7)(rows, j1 - j0, score, vc_tile, state + (chunk - chunk0) * 12720);
            for (int64_t r = 0; r < rows; r++) {
                T(mask) in_region[OF(8, 16, 32)] = {0};
                const int64_t t_7 = (r % n_q) + query_start - 31;
                for (int64_t j = 0; j < j1 - j0; j += LANES) {
                    const T(ints) t_6 = j0 + j + T(lane);
                    in_region[j / LANES] = __builtin_convertvector(((t_6 % 16) == 0) & (t_6 <= t_7), T(mask));
                }
                T(add_seen_lanes)(64, state + (chunk - chunk0) * 12720 + r * 64, score + r * 144, vc_tile, 64, j1 - j0,
                    in_region);
            }
        } else
            T(dot8)(rows, j1 - j0, score, vc_tile, state + (chunk - chunk0) * 12720);
    }
    {
        for (int64_t j0 = chunk * 1024, j_end = min(min(n_k, (chunk + 1) * 1024), n_q + query_start); j0 < j_end;
            j0 += 128) {
            const int64_t j1 = min(j0 + 128, j_end);
            const struct ids ids_0 = flags_of_box(seen_array, 3, (const int64_t[]){seen_array_stride_0,
                seen_array_stride_1, seen_array_stride_2}, (const int64_t[]){b, g, 0}, (const int64_t[]){b, g, n_q - 1},
                seen_array_stride_3, (j0 - floor_mod(j0, 64)) / 64, ((j1 - floor_mod(j1 - 1, 64) - 1) / 64) + 1);
                /* of the tile of j */
            if (!(0 < ids_0.max)) continue; /* no query sees a key of the tile */
            if (ks_array_stride_3 == 1) {
                /* ks_tile = ks_array, with zeros beyond the last row */
                T(transpose_padded)(ks_array + j0 * ks_array_row, ks_array_row, j1 - j0, 64, ks_tile, 144, 64);
            } else {
                /* ks_tile = ks_array, with zeros beyond the last row */
                for (int64_t j = 0; j < round_up(j1 - j0, LANES); j++)
                    for (int64_t d = 0; d < 64; d++)
                        ks_tile[d * 144 + j] = j < j1 - j0 ? ks_array[(j0 + j) * ks_array_row + d * ks_array_stride_3] :
                            0;
            }
            if (vs_array_stride_3 == 1) {
                /* vs_tile = vs_array, with zeros beyond the last row */
                for (int64_t j = 0; j < j1 - j0; j++)
                    for (int64_t e = 0; e < 64; e++)
                        vs_tile[j * 64 + e] = vs_array[(j0 + j) * vs_array_row + e];
            } else {
                /* vs_tile = vs_array, with zeros beyond the last row */
                for (int64_t j = 0; j < j1 - j0; j++)
                    for (int64_t e = 0; e < 64; e++)
                        vs_tile[j * 64 + e] = vs_array[(j0 + j) * vs_array_row + e * vs_array_stride_3];
            }
            /* score_2[r][j] = sum over d of query * ks_tile */
            T(dot6)(round_up(j1 - j0, LANES), rows, query, ks_tile, score_2);
            /* old_max_2 = state_max_2 */
            for (int64_t r = 0; r < rows; r += LANES) {
                T(store)(old_max_2 + r, T(load)(state_max_2 + (chunk - chunk0) * 12720 + r));
            }
            if (((0 < ids_0.min) ? (query_start + 1) : 0) < j1) { /* the tile is partly outside the mask */
                /* score_2 = select((j <= ((r % n_q) + query_start)) && (0 < id(seen,
                   (((b * kv_heads) + g) * n_q) + (r % n_q), j / 64)), score_2,  ... */
                for (int64_t j = 0; j < j1 - j0; j += LANES) {
                    const T(ints) t_8 = j0 + j + T(lane);
                    const T(ints) t_9 = t_8 / 64;
                    for (int64_t r = 0; r < rows; r++) {
                        T(ints) id_10 = t_9;
                        for (int lane = 0; lane < LANES; lane++) id_10[lane] = flag_along(seen_array + b *
                            seen_array_stride_0 + g * seen_array_stride_1 + (r % n_q) * seen_array_stride_2,
                            id_10[lane], ((n_k + 63) / 64), seen_array_stride_3);
                        T(store)(score_2 + r * 144 + j, T(pick)(__builtin_convertvector((t_8 <= ((r % n_q) +
                            query_start)) & (0 < id_10), T(mask)), T(load)(score_2 + r * 144 + j),
                            T(splat)(-INFINITY)));
                    }
                }
            }
            /* state_max_2 max= score_2 */
            for (int64_t r = 0; r < rows; r++) {
                T(vec) lanes_max = T(splat)(-INFINITY);
                for (int64_t j = 0; j < j1 - j0; j += LANES) {
                    const T(vec) term = T(load)(score_2 + r * 144 + j);
                    lanes_max = T(max)(lanes_max, j + LANES <= j1 - j0 ? term : T(pick)(__builtin_convertvector(j +
                        T(lane) < j1 - j0, T(mask)), term, T(splat)(-INFINITY)));
                }
                const float largest = T(lane_max)(lanes_max);
                if (largest > state_max_2[(chunk - chunk0) * 12720 + r]) state_max_2[(chunk - chunk0) * 12720 + r] =
                    largest;
            }
            /* old_max_2 = exp2(old_max_2 - state_max_2); state_sum_2 = state_sum_2 * old_max_2 */
            for (int64_t r = 0; r < rows; r += LANES) {
                const T(vec) old_max_2_11 = T(load)(old_max_2 + r);
                const T(vec) old_max_2_new12 = T(exp2)(old_max_2_11 - T(load)(state_max_2 + (chunk - chunk0) * 12720 +
                    r));
                T(store)(old_max_2 + r, old_max_2_new12);
                T(store)(state_sum_2 + (chunk - chunk0) * 12720 + r, T(load)(state_sum_2 + (chunk - chunk0) * 12720 + r)
                    * old_max_2_new12);
            }
            /* score_2 = exp2(score_2 - state_max_2) */
            for (int64_t j = 0; j < j1 - j0; j += LANES) {
                for (int64_t r = 0; r < rows; r++) {
                    T(store)(score_2 + r * 144 + j, T(exp2)(T(load)(score_2 + r * 144 + j) - (state_max_2[(chunk -
                        chunk0) * 12720 + r])));
                }
            }
            /* state_sum_2 += score_2 */
            for (int64_t r = 0; r < rows; r++) {
                T(vec) lane_sums = T(splat)(0);
                for (int64_t j = 0; j < j1 - j0; j += LANES) {
                    const T(vec) term = T(load)(score_2 + r * 144 + j);
                    lane_sums += j + LANES <= j1 - j0 ? term : T(pick)(__builtin_convertvector(j + T(lane) < j1 - j0,
                        T(mask)), term, T(splat)(0));
                }
                const float total = T(lane_sum)(lane_sums);
                state_sum_2[(chunk - chunk0) * 12720 + r] += total;
            }
            /* state_2 = state_2 * old_max_2 */
            for (int64_t r = 0; r < rows; r++) {
                for (int64_t e_first = 0; e_first < 64; e_first += OF(64, 16, 8)) {
                    UNROLL for (int64_t vector = 0, e = e_first; vector < OF(4, 2, 2); vector++, e += LANES) {
                        T(store)(state_2 + (chunk - chunk0) * 12720 + r * 64 + e,
                            T(load)(state_2 + (chunk - chunk0) * 12720 + r * 64 + e) * old_max_2[r]);
                    }
                }
            }
            /* state_2[r][e] += sum over j of score_2 * vs_tile */
            if (__builtin_expect((((0 < ids_0.min) ? (query_start + 1) : 0) < j1) && !T(finite)(vs_tile, 64, j1 - j0,
                64), 0)) { /* infinity and NaN affect only queries that see them */
                T(dot7)(rows, j1 - j0, score_2, vs_tile, state_2 + (chunk - chunk0) * 12720);
                for (int64_t r = 0; r < rows; r++) {
                    T(mask) in_region[OF(8, 16, 32)] = {0};
                    const int64_t t_14 = (r % n_q) + query_start;
                    for (int64_t j = 0; j < j1 - j0; j += LANES) {
                        const T(ints) t_13 = j0 + j + T(lane);
                        T(ints) id_15 = t_13 / 64;
                        for (int lane = 0; lane < LANES; lane++) id_15[lane] = flag_along(seen_array + b *
                            seen_array_stride_0 + g * seen_array_stride_1 + (r % n_q) * seen_array_stride_2,
                            id_15[lane], ((n_k + 63) / 64), seen_array_stride_3);
                        in_region[j / LANES] = __builtin_convertvector((t_13 <= t_14) & (0 < id_15), T(mask));
                    }
                    T(add_seen_lanes)(64, state_2 + (chunk - chunk0) * 12720 + r * 64, score_2 + r * 144, vs_tile, 64,
                        j1 - j0, in_region);
                }
            } else
                T(dot8)(rows, j1 - j0, score_2, vs_tile, state_2 + (chunk - chunk0) * 12720);
        }
    }
    {
        for (int64_t j0 = max(chunk * 1024, query_start - 511), j_end = min(min(n_k, (chunk + 1) * 1024),
            n_q + query_start); j0 < j_end; j0 += 128) {
            const int64_t j1 = min(j0 + 128, j_end);
            /* score_3[r][j] = sum over d of query_turned * k */
#if OF(1, 0, 0)
            T(dot9)(rows, j1 - j0, query_turned, k + j0 * k_row, k_row, score_3, attn_is_intel() ? 16 : 0);
#else
            T(dot9)(rows, j1 - j0, query_turned, k + j0 * k_row, k_row, score_3);
#endif
            /* old_max_3 = state_max_3 */
            for (int64_t r = 0; r < rows; r += LANES) {
                T(store)(old_max_3 + r, T(load)(state_max_3 + (chunk - chunk0) * 12720 + r));
            }
            if ((j0 < (n_q + query_start - 512)) || ((query_start + 1) < j1)) { /* the tile is partly outside the mask
                */
                /* score_3 = select(((((r % n_q) + query_start) + -511) <= j) && (j <= ((r % n_q) + query_start)),
                   score_3, -INFINITY) */
                for (int64_t j = 0; j < j1 - j0; j += LANES) {
                    const T(ints) t_16 = j0 + j + T(lane);
                    for (int64_t r = 0; r < rows; r++) {
                        const int64_t t_17 = (r % n_q) + query_start;
                        T(store)(score_3 + r * 144 + j, T(pick)(__builtin_convertvector((((r % n_q) + query_start - 511)
                            <= t_16) & (t_16 <= t_17), T(mask)), T(load)(score_3 + r * 144 + j), T(splat)(-INFINITY)));
                    }
                }
            }
            /* state_max_3 max= score_3 */
            for (int64_t r = 0; r < rows; r++) {
                T(vec) lanes_max = T(splat)(-INFINITY);
                for (int64_t j = 0; j < j1 - j0; j += LANES) {
                    const T(vec) term = T(load)(score_3 + r * 144 + j);
                    lanes_max = T(max)(lanes_max, j + LANES <= j1 - j0 ? term : T(pick)(__builtin_convertvector(j +
                        T(lane) < j1 - j0, T(mask)), term, T(splat)(-INFINITY)));
                }
                const float largest = T(lane_max)(lanes_max);
                if (largest > state_max_3[(chunk - chunk0) * 12720 + r]) state_max_3[(chunk - chunk0) * 12720 + r] =
                    largest;
            }
            /* old_max_3 = exp2(old_max_3 - state_max_3); state_sum_3 = state_sum_3 * old_max_3 */
            for (int64_t r = 0; r < rows; r += LANES) {
                const T(vec) old_max_3_18 = T(load)(old_max_3 + r);
                const T(vec) old_max_3_new19 = T(exp2)(old_max_3_18 - T(load)(state_max_3 + (chunk - chunk0) * 12720 +
                    r));
                T(store)(old_max_3 + r, old_max_3_new19);
                T(store)(state_sum_3 + (chunk - chunk0) * 12720 + r, T(load)(state_sum_3 + (chunk - chunk0) * 12720 + r)
                    * old_max_3_new19);
            }
            /* score_3 = exp2(score_3 - state_max_3) */
            for (int64_t j = 0; j < j1 - j0; j += LANES) {
                for (int64_t r = 0; r < rows; r++) {
                    T(store)(score_3 + r * 144 + j, T(exp2)(T(load)(score_3 + r * 144 + j) - (state_max_3[(chunk -
                        chunk0) * 12720 + r])));
                }
            }
            /* state_sum_3 += score_3 */
            for (int64_t r = 0; r < rows; r++) {
                T(vec) lane_sums = T(splat)(0);
                for (int64_t j = 0; j < j1 - j0; j += LANES) {
                    const T(vec) term = T(load)(score_3 + r * 144 + j);
                    lane_sums += j + LANES <= j1 - j0 ? term : T(pick)(__builtin_convertvector(j + T(lane) < j1 - j0,
                        T(mask)), term, T(splat)(0));
                }
                const float total = T(lane_sum)(lane_sums);
                state_sum_3[(chunk - chunk0) * 12720 + r] += total;
            }
            /* state_3 = state_3 * old_max_3 */
            for (int64_t r = 0; r < rows; r++) {
                for (int64_t e_first = 0; e_first < 64; e_first += OF(64, 16, 8)) {
                    UNROLL for (int64_t vector = 0, e = e_first; vector < OF(4, 2, 2); vector++, e += LANES) {
                        T(store)(state_3 + (chunk - chunk0) * 12720 + r * 64 + e,
                            T(load)(state_3 + (chunk - chunk0) * 12720 + r * 64 + e) * old_max_3[r]);
                    }
                }
            }
            /* state_3[r][e] += sum over j of score_3 * v */
            if (__builtin_expect(((j0 < (n_q + query_start - 512)) || ((query_start + 1) < j1)) && !T(finite)(v + j0 *
                v_row, v_row, j1 - j0, 64), 0)) { /* infinity and NaN affect only queries that see them */
                T(dot10)(rows, j1 - j0, score_3, v + j0 * v_row, v_row, state_3 + (chunk - chunk0) * 12720);
                for (int64_t r = 0; r < rows; r++) {
                    T(mask) in_region[OF(8, 16, 32)] = {0};
                    const int64_t t_20 = (r % n_q) + query_start - 511;
                    const int64_t t_22 = (r % n_q) + query_start;
                    for (int64_t j = 0; j < j1 - j0; j += LANES) {
                        const T(ints) t_21 = j0 + j + T(lane);
                        in_region[j / LANES] = __builtin_convertvector((t_20 <= t_21) & (t_21 <= t_22), T(mask));
                    }
                    T(add_seen_lanes)(64, state_3 + (chunk - chunk0) * 12720 + r * 64, score_3 + r * 144,
                        v + j0 * v_row, v_row, j1 - j0, in_region);
                }
            } else
#if OF(1, 0, 0)
                T(dot11)(rows, j1 - j0, score_3, v + j0 * v_row, v_row, state_3 + (chunk - chunk0) * 12720,
                    attn_is_intel() ? 16 : 0);
#else
                T(dot11)(rows, j1 - j0, score_3, v + j0 * v_row, v_row, state_3 + (chunk - chunk0) * 12720);
#endif
        }
    }
}

/* Folds the slots of the current chunks, in order, for some elements of the states. */
TARGET APART void T(nsa_few_fold)(const struct call *call, int64_t task, const struct share *share, int64_t iteration)
{
    (void)task;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t r0 = iteration * 16, r1 = min(r0 + 16, rows);
    const int64_t chunk0 = share->chunk0;
    const int64_t chunk1 = share->chunk1;
    float *const state_max = (float *)(void *)(share->slots + 0); /* [chunk, r: 64] */
    float *const state_sum = (float *)(void *)(share->slots + 256); /* [chunk, r: 64] */
    float *const state = (float *)(void *)(share->slots + 512); /* [chunk, r: 64, e: 64] */
    float *const state_max_2 = (float *)(void *)(share->slots + 16960); /* [chunk, r: 64] */
    float *const state_sum_2 = (float *)(void *)(share->slots + 17216); /* [chunk, r: 64] */
    float *const state_2 = (float *)(void *)(share->slots + 17472); /* [chunk, r: 64, e: 64] */
    float *const state_max_3 = (float *)(void *)(share->slots + 33920); /* [chunk, r: 64] */
    float *const state_sum_3 = (float *)(void *)(share->slots + 34176); /* [chunk, r: 64] */
    float *const state_3 = (float *)(void *)(share->slots + 34432); /* [chunk, r: 64, e: 64] */
    float *const carried_max = (float *)(void *)(share->shared + 32896); /* [r: 64] */
    float *const carried_factor = (float *)(void *)(share->work + 0); /* [r: 64] */
    float *const slot_factor = (float *)(void *)(share->work + 256); /* [r: 64] */
    float *const carried_sum = (float *)(void *)(share->shared + 33152); /* [r: 64] */
    float *const carried_sum_compensation = (float *)(void *)(share->shared + 83776); /* [r: 64] */
    float *const carried = (float *)(void *)(share->shared + 33408); /* [r: 64, e: 64] */
    float *const carried_compensation = (float *)(void *)(share->shared + 84032); /* [r: 64, e: 64] */
    float *const carried_max_2 = (float *)(void *)(share->shared + 49856); /* [r: 64] */
    float *const carried_factor_2 = (float *)(void *)(share->work + 512); /* [r: 64] */
    float *const slot_factor_2 = (float *)(void *)(share->work + 768); /* [r: 64] */
    float *const carried_sum_2 = (float *)(void *)(share->shared + 50112); /* [r: 64] */
    float *const carried_sum_2_compensation = (float *)(void *)(share->shared + 100480); /* [r: 64] */
    float *const carried_2 = (float *)(void *)(share->shared + 50368); /* [r: 64, e: 64] */
    float *const carried_2_compensation = (float *)(void *)(share->shared + 100736); /* [r: 64, e: 64] */
    float *const carried_max_3 = (float *)(void *)(share->shared + 66816); /* [r: 64] */
    float *const carried_factor_3 = (float *)(void *)(share->work + 1024); /* [r: 64] */
    float *const slot_factor_3 = (float *)(void *)(share->work + 1280); /* [r: 64] */
    float *const carried_sum_3 = (float *)(void *)(share->shared + 67072); /* [r: 64] */
    float *const carried_sum_3_compensation = (float *)(void *)(share->shared + 117184); /* [r: 64] */
    float *const carried_3 = (float *)(void *)(share->shared + 67328); /* [r: 64, e: 64] */
    float *const carried_3_compensation = (float *)(void *)(share->shared + 117440); /* [r: 64, e: 64] */
    for (int64_t chunk = chunk0; chunk < chunk1; chunk++) {
        /* before_max = carried_max; carried_max max= state_max; carried_factor = exp2(before_max - carried_max);
           slot_factor = exp2(state_ ... */
        for (int64_t r = r0; r < r1; r += LANES) {
            const T(vec) carried_max_23 = T(load)(carried_max + r);
            const T(vec) before_max_new24 = carried_max_23;
            const T(vec) state_max_25 = T(load)(state_max + (chunk - chunk0) * 12720 + r);
            const T(vec) carried_max_new26 = T(max)(T(load)(carried_max + r), state_max_25);
            T(store)(carried_max + r, carried_max_new26);
            const T(vec) carried_factor_new27 = T(exp2)(before_max_new24 - carried_max_new26);
            T(store)(carried_factor + r, carried_factor_new27);
            const T(vec) slot_factor_new28 = T(exp2)(state_max_25 - carried_max_new26);
            T(store)(slot_factor + r, slot_factor_new28);
            const T(vec) carried_sum_29 = T(load)(carried_sum + r);
            T(store)(carried_sum + r, carried_sum_29 * carried_factor_new27);
            T(store)(carried_sum_compensation + r, T(load)(carried_sum_compensation + r) * carried_factor_new27);
            T(add)(carried_sum + r, carried_sum_compensation + r, T(load)(state_sum + (chunk - chunk0) * 12720 + r) *
                slot_factor_new28, T(splat)(1));
        }
        /* before_max_2 = carried_max_2; carried_max_2 max= state_max_2;
           carried_factor_2 = exp2(before_max_2 - carried_max_2); slot_factor ... */
        for (int64_t r = r0; r < r1; r += LANES) {
            const T(vec) carried_max_2_30 = T(load)(carried_max_2 + r);
            const T(vec) before_max_2_new31 = carried_max_2_30;
            const T(vec) state_max_2_32 = T(load)(state_max_2 + (chunk - chunk0) * 12720 + r);
            const T(vec) carried_max_2_new33 = T(max)(T(load)(carried_max_2 + r), state_max_2_32);
            T(store)(carried_max_2 + r, carried_max_2_new33);
            const T(vec) carried_factor_2_new34 = T(exp2)(before_max_2_new31 - carried_max_2_new33);
            T(store)(carried_factor_2 + r, carried_factor_2_new34);
            const T(vec) slot_factor_2_new35 = T(exp2)(state_max_2_32 - carried_max_2_new33);
            T(store)(slot_factor_2 + r, slot_factor_2_new35);
            const T(vec) carried_sum_2_36 = T(load)(carried_sum_2 + r);
            T(store)(carried_sum_2 + r, carried_sum_2_36 * carried_factor_2_new34);
            T(store)(carried_sum_2_compensation + r, T(load)(carried_sum_2_compensation + r) * carried_factor_2_new34);
            T(add)(carried_sum_2 + r, carried_sum_2_compensation + r,
                T(load)(state_sum_2 + (chunk - chunk0) * 12720 + r) * slot_factor_2_new35, T(splat)(1));
        }
        /* before_max_3 = carried_max_3; carried_max_3 max= state_max_3;
           carried_factor_3 = exp2(before_max_3 - carried_max_3); slot_factor ... */
        for (int64_t r = r0; r < r1; r += LANES) {
            const T(vec) carried_max_3_37 = T(load)(carried_max_3 + r);
            const T(vec) before_max_3_new38 = carried_max_3_37;
            const T(vec) state_max_3_39 = T(load)(state_max_3 + (chunk - chunk0) * 12720 + r);
            const T(vec) carried_max_3_new40 = T(max)(T(load)(carried_max_3 + r), state_max_3_39);
            T(store)(carried_max_3 + r, carried_max_3_new40);
            const T(vec) carried_factor_3_new41 = T(exp2)(before_max_3_new38 - carried_max_3_new40);
            T(store)(carried_factor_3 + r, carried_factor_3_new41);
            const T(vec) slot_factor_3_new42 = T(exp2)(state_max_3_39 - carried_max_3_new40);
            T(store)(slot_factor_3 + r, slot_factor_3_new42);
            const T(vec) carried_sum_3_43 = T(load)(carried_sum_3 + r);
            T(store)(carried_sum_3 + r, carried_sum_3_43 * carried_factor_3_new41);
            T(store)(carried_sum_3_compensation + r, T(load)(carried_sum_3_compensation + r) * carried_factor_3_new41);
            T(add)(carried_sum_3 + r, carried_sum_3_compensation + r,
                T(load)(state_sum_3 + (chunk - chunk0) * 12720 + r) * slot_factor_3_new42, T(splat)(1));
        }
        /* before = carried; carried = carried * carried_factor; carried_compensation = carried_compensation *
           carried_factor; carried += s ... */
        for (int64_t r = r0; r < r1; r++) {
            for (int64_t e_first = 0; e_first < 64; e_first += OF(64, 16, 8)) {
                UNROLL for (int64_t vector = 0, e = e_first; vector < OF(4, 2, 2); vector++, e += LANES) {
                    const T(vec) carried_44 = T(load)(carried + r * 64 + e);
                    const float carried_factor_45 = carried_factor[r];
                    T(store)(carried + r * 64 + e, carried_44 * carried_factor_45);
                    T(store)(carried_compensation + r * 64 + e, T(load)(carried_compensation + r * 64 + e) *
                        carried_factor_45);
                    T(add)(carried + r * 64 + e, carried_compensation + r * 64 + e,
                        T(load)(state + (chunk - chunk0) * 12720 + r * 64 + e) * slot_factor[r], T(splat)(1));
                    const T(vec) carried_2_46 = T(load)(carried_2 + r * 64 + e);
                    const float carried_factor_2_47 = carried_factor_2[r];
                    T(store)(carried_2 + r * 64 + e, carried_2_46 * carried_factor_2_47);
                    T(store)(carried_2_compensation + r * 64 + e, T(load)(carried_2_compensation + r * 64 + e) *
                        carried_factor_2_47);
                    T(add)(carried_2 + r * 64 + e, carried_2_compensation + r * 64 + e,
                        T(load)(state_2 + (chunk - chunk0) * 12720 + r * 64 + e) * slot_factor_2[r], T(splat)(1));
                }
            }
        }
        /* before_3 = carried_3; carried_3 = carried_3 * carried_factor_3;
           carried_3_compensation = carried_3_compensation * carried_factor ... */
        for (int64_t r = r0; r < r1; r++) {
            for (int64_t e_first = 0; e_first < 64; e_first += OF(64, 16, 8)) {
                UNROLL for (int64_t vector = 0, e = e_first; vector < OF(4, 2, 2); vector++, e += LANES) {
                    const T(vec) carried_3_48 = T(load)(carried_3 + r * 64 + e);
                    const float carried_factor_3_49 = carried_factor_3[r];
                    T(store)(carried_3 + r * 64 + e, carried_3_48 * carried_factor_3_49);
                    T(store)(carried_3_compensation + r * 64 + e, T(load)(carried_3_compensation + r * 64 + e) *
                        carried_factor_3_49);
                    T(add)(carried_3 + r * 64 + e, carried_3_compensation + r * 64 + e,
                        T(load)(state_3 + (chunk - chunk0) * 12720 + r * 64 + e) * slot_factor_3[r], T(splat)(1));
                }
            }
        }
    }
}

/* Processes a tile of queries: reads the states. */
TARGET APART void T(nsa_few_queries)(const struct call *call, int64_t task, const struct share *share,
    int64_t iteration)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_q = call->p.n_q;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t r0 = iteration * 16, r1 = min(r0 + 16, rows);
    const int64_t g = task % kv_heads;
    const int64_t b = task / kv_heads;
    const float *const gate_array = (const float *)call->array[ARRAY_gate_array].at + b *
        call->array[ARRAY_gate_array].strides.batch + g * members * call->array[ARRAY_gate_array].strides.head;
    const int64_t gate_array_row = call->array[ARRAY_gate_array].strides.row;
    const int64_t gate_array_stride_3 = call->array[ARRAY_gate_array].stride[3];
    const int64_t gate_array_head = call->array[ARRAY_gate_array].strides.head;
    float *const carried_sum = (float *)(void *)(share->shared + 33152); /* [r: 64] */
    float *const carried = (float *)(void *)(share->shared + 33408); /* [r: 64, e: 64] */
    float *const carried_sum_2 = (float *)(void *)(share->shared + 50112); /* [r: 64] */
    float *const carried_2 = (float *)(void *)(share->shared + 50368); /* [r: 64, e: 64] */
    float *const carried_sum_3 = (float *)(void *)(share->shared + 67072); /* [r: 64] */
    float *const carried_3 = (float *)(void *)(share->shared + 67328); /* [r: 64, e: 64] */
    float *const result = (float *)(void *)(share->work + 0); /* [r: 64, e: 64] */
    float *const out = (float *)call->array[ARRAY_out].at + b * call->array[ARRAY_out].strides.batch + g * members *
        call->array[ARRAY_out].strides.head;
    const int64_t out_row = call->array[ARRAY_out].strides.row;
    const int64_t out_head = call->array[ARRAY_out].strides.head;
    /* result = ((gate * select(carried_sum == 0.0f, 0.0f, carried * (1.0f / carried_sum))) + (gate *
       select(carried_sum_2 == 0.0f, 0.0 ... */
    for (int64_t r = r0; r < r1; r++) {
        for (int64_t e_first = 0; e_first < 64; e_first += OF(64, 16, 8)) {
            UNROLL for (int64_t vector = 0, e = e_first; vector < OF(4, 2, 2); vector++, e += LANES) {
                const float carried_sum_50 = carried_sum[r];
                const float carried_sum_2_51 = carried_sum_2[r];
                const float carried_sum_3_52 = carried_sum_3[r];
                T(store)(result + r * 64 + e, (((gate_array[r / n_q * gate_array_head + r % n_q * gate_array_row]) *
                    ((carried_sum_50 == 0.0f) ? T(splat)(0.0f) : T(load)(carried + r * 64 + e) * (1.0f /
                    carried_sum_50))) + ((gate_array[r / n_q * gate_array_head + r % n_q * gate_array_row + 1 *
                    gate_array_stride_3]) * ((carried_sum_2_51 == 0.0f) ? T(splat)(0.0f) : T(load)(carried_2 + r * 64 +
                    e) * (1.0f / carried_sum_2_51)))) + ((gate_array[r / n_q * gate_array_head + r % n_q *
                    gate_array_row + 2 * gate_array_stride_3]) * ((carried_sum_3_52 == 0.0f) ? T(splat)(0.0f) :
                    T(load)(carried_3 + r * 64 + e) * (1.0f / carried_sum_3_52))));
            }
        }
    }
    /* out = result */
    for (int64_t r = r0; r < r1; r++)
        for (int64_t e = 0; e < 64; e++)
            out[r / n_q * out_head + r % n_q * out_row + e] = result[r * 64 + e];
}

/* Computes head number `task`. Each thread on the head calls this with `share`. */
TARGET static void T(nsa_few)(const struct call *call, int64_t task, struct share *share)
{
    const int64_t n_k = call->p.n_k;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t chunks = n_k > 0 ? (n_k - 1) / 1024 + 1 : 1;
    for (int64_t iteration = share->number; iteration < ((rows + 63) / 64); iteration += share->threads)
        T(nsa_few_begin)(call, task, share, iteration);
    for (int64_t iteration = share->number; iteration < ((rows + 15) / 16); iteration += share->threads)
        T(nsa_few_begin_2)(call, task, share, iteration);
    synchronise(share);
    const int64_t first = 0;
    const int64_t length = segment_length(share, chunks - first);
    for (int64_t segment = share->number; first + segment * length < chunks; segment += share->threads) {
        share->chunk0 = first + segment * length;
        share->chunk1 = min(share->chunk0 + length, chunks);
        for (int64_t iteration = share->chunk0; iteration < share->chunk1; iteration++)
            T(nsa_few_keys)(call, task, share, iteration);
        for (int64_t group = 0; group < 16; group++) {
            await_segment(share, group, segment);
            const int64_t end = (group + 1) * ((rows + 15) / 16) / 16;
            for (int64_t iteration = group * ((rows + 15) / 16) / 16; iteration < end; iteration++)
                T(nsa_few_fold)(call, task, share, iteration);
            pass_segment(share, group, segment);
        }
    }
    share->segments += (max(chunks - first, 0) + length - 1) / length;
    synchronise(share);
    for (int64_t iteration = share->number; iteration < ((rows + 15) / 16); iteration += share->threads)
        T(nsa_few_queries)(call, task, share, iteration);
    synchronise(share);
}
#include <attnrt/kernel/end.h>
#else
#ifdef __cplusplus
#error "nsa.c is C, not C++: compile it with a C compiler"
#elif !defined __STDC_VERSION__ || __STDC_VERSION__ < 199901L
#error "nsa.c is C11, not C89: compile it without -std=, or with -std=gnu11"
extern int nsa_is_c11;
#elif !defined __GNUC__
#error "nsa.c uses GNU C vector extensions: compile it with gcc or clang"
extern int nsa_is_gnu_c;
#else
#include "nsa.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include <attnrt/kernel/optimize.h>
#include <attnrt/kernel/call.h>
#include <attnrt/kernel/masks.h>

/* the numbers of the arrays of a call */
enum {
    ARRAY_q, ARRAY_k, ARRAY_v, ARRAY_out, ARRAY_kc_array, ARRAY_ks_array, ARRAY_vc_array, ARRAY_vs_array,
    ARRAY_seen_array, ARRAY_gate_array
};

#ifdef __FILE_NAME__
#define LOOPS __FILE_NAME__ /* this file, whose first part has the loops */
#else
#define LOOPS "nsa.c"
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
#define MAX_STEPS 128
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
#define MAX_STEPS 128
#define MAX_TERMS 64
#define MAX_LANES 64
#define OF(v4, v3, any) any /* a number of each target */
#define SECTION
#include LOOPS
#undef SECTION

/* ==== tables for the library that calls these functions (attnrt/kernel/call.h) ==== */
static const struct attn_param param[] = {
    {"kc", ATTN_F32, 4, {ATTN_BATCH, ATTN_KV_HEADS, ATTN_N_K, 64}, offsetof(struct nsa_params, kc), 0,
        offsetof(struct nsa_strides, kc), 0, 1, ATTN_NO_LIMITS},
    {"ks", ATTN_F32, 4, {ATTN_BATCH, ATTN_KV_HEADS, ATTN_N_K, 64}, offsetof(struct nsa_params, ks), 0,
        offsetof(struct nsa_strides, ks), 0, 1, ATTN_NO_LIMITS},
    {"vc", ATTN_F32, 4, {ATTN_BATCH, ATTN_KV_HEADS, ATTN_N_K, 64}, offsetof(struct nsa_params, vc), 0,
        offsetof(struct nsa_strides, vc), 0, 1, ATTN_NO_LIMITS},
    {"vs", ATTN_F32, 4, {ATTN_BATCH, ATTN_KV_HEADS, ATTN_N_K, 64}, offsetof(struct nsa_params, vs), 0,
        offsetof(struct nsa_strides, vs), 0, 1, ATTN_NO_LIMITS},
    {"seen", ATTN_U8, 4, {ATTN_BATCH, ATTN_KV_HEADS, ATTN_N_Q, ATTN_BLOCKS(ATTN_N_K, 64)}, offsetof(struct nsa_params,
        seen), 0, offsetof(struct nsa_strides, seen), 0, 0, ATTN_NO_LIMITS},
    {"gate", ATTN_F32, 4, {ATTN_BATCH, ATTN_HEADS, ATTN_N_Q, 3}, offsetof(struct nsa_params, gate), 0,
        offsetof(struct nsa_strides, gate), 0, 1, ATTN_NO_LIMITS},
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
    {.name = "kc", .access = {ACCESS_READ, ACCESS_NONE}, .dtype = ATTN_F32, .rows = ROWS_OF_KEYS, .origin = FROM_PARAMS,
        .param = 0, .axis = {0, 1, 2}, .has_rows = 1},
    {.name = "ks", .access = {ACCESS_READ, ACCESS_NONE}, .dtype = ATTN_F32, .rows = ROWS_OF_KEYS, .origin = FROM_PARAMS,
        .param = 1, .axis = {0, 1, 2}, .has_rows = 1},
    {.name = "vc", .access = {ACCESS_READ, ACCESS_NONE}, .dtype = ATTN_F32, .rows = ROWS_OF_KEYS, .origin = FROM_PARAMS,
        .param = 2, .axis = {0, 1, 2}, .has_rows = 1},
    {.name = "vs", .access = {ACCESS_READ, ACCESS_NONE}, .dtype = ATTN_F32, .rows = ROWS_OF_KEYS, .origin = FROM_PARAMS,
        .param = 3, .axis = {0, 1, 2}, .has_rows = 1},
    {.name = "seen", .access = {ACCESS_READ, ACCESS_NONE}, .dtype = ATTN_U8, .rows = ROWS_OF_QUERIES,
        .origin = FROM_PARAMS, .param = 4, .axis = {0, 1, 2}},
    {.name = "gate", .access = {ACCESS_READ, ACCESS_NONE}, .dtype = ATTN_F32, .rows = ROWS_OF_QUERIES,
        .origin = FROM_PARAMS, .param = 5, .axis = {0, 1, 2}, .has_rows = 1},
};

#if defined(__x86_64__)
static int runs_v4(void)
{
    return attn_x86_64_level() >= 4;
}
static const struct program programs_v4[] = {
    {.role = RUN_FORWARD, .form = FORM_FEW,
     .head = nsa_few_v4, .tile = 0, .own = 106496, .few_rows = 64, .lanes = 16, .of_pair = 128, .shared = 133888,
         .slot = 50880, .slots = 4, .together = 1},
    {.role = RUN_FORWARD,
     .rows = nsa_rows_v4, .tile = 64, .own = 187840, .of_pair = 128},
};
#endif
#if defined(__x86_64__)
static int runs_v3(void)
{
    return attn_x86_64_level() >= 3;
}
static const struct program programs_v3[] = {
    {.role = RUN_FORWARD, .form = FORM_FEW,
     .head = nsa_few_v3, .tile = 0, .own = 106496, .few_rows = 64, .lanes = 8, .of_pair = 128, .shared = 133888,
         .slot = 50880, .slots = 4, .together = 1},
    {.role = RUN_FORWARD,
     .rows = nsa_rows_v3, .tile = 64, .own = 187840, .of_pair = 128},
};
#endif
static const struct program programs_any[] = {
    {.role = RUN_FORWARD, .form = FORM_FEW,
     .head = nsa_few_any, .tile = 0, .own = 106496, .few_rows = 64, .lanes = 4, .of_pair = 128, .shared = 133888,
         .slot = 50880, .slots = 4, .together = 1},
    {.role = RUN_FORWARD,
     .rows = nsa_rows_any, .tile = 64, .own = 187840, .of_pair = 128},
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
    .layout = KERNEL_LAYOUT, .name = "nsa", .openmp = OPENMP,
    .target = target, .targets = sizeof target / sizeof *target - 1,
    .array = array, .arrays = sizeof array / sizeof *array,
    .param = param, .params = 6, .params_bytes = sizeof(struct nsa_params),
    .dtype = ATTN_F32, .key_dtype = ATTN_F32, .value_dtype = ATTN_F32, .real = sizeof(float), .element = sizeof(float),
    .head_dim = 64, .value_dim = 64, .key_row = 64, .value_row = 64,
    .strided = 1, .strides = offsetof(struct nsa_params, strides),
    .shares = 1,
    .positions = 1,
    .ids = -1,
    .corrected = -1,
    .solution = -1,
};

/* ==== the interface ==== */
size_t nsa_params_size(void) { return attn_call_params_size(&kernel); }
int nsa_params_init(struct nsa_params *params, uint64_t seed, void *storage)
{
    return attn_call_params_init(&kernel, params, seed, storage);
}
size_t nsa_workspace(const struct attn_problem *problem) { return attn_call_workspace(&kernel, problem); }
int nsa_forward(const struct attn_problem *problem, const struct nsa_params *params, const float *q, const float *k,
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
const struct attn_kernel nsa_kernel = {
    .name = "nsa", .version = "0.2.0", .dtype = ATTN_F32, .head_dim = 64, .value_dim = 64,
    .params = 6, .param = param, .params_bytes = sizeof(struct nsa_params),
    .params_size = nsa_params_size, .params_init = params_init_any, .forward = forward_any,
    .workspace = nsa_workspace,
    .key_dtype = ATTN_F32, .value_dtype = ATTN_F32,
    .strides = offsetof(struct nsa_params, strides), .strides_bytes = sizeof(struct nsa_strides),
    .before = INT64_MAX, .after = 0, .period = 0, .names_heads = 1, .names_sequences = 0, .in_parts = 0,
    .saved_power = 0, .has_sink = 0, .open_keys = 0, .end_of_keys = INT64_MAX,
};
#endif /* a compiler of this language */
#endif /* SECTION */
