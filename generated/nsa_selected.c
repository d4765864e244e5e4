/* nsa_selected.c, made by attnc 0.2.0: attnc nsa_selected.yaml
   C11 with GNU extensions, for a C compiler; C++ includes nsa_selected.h.
   natively sparse attention that chooses its blocks: compressed blocks, the best blocks by their weights, and a window
   Yuan et al., Native Sparse Attention (ACL 2025), equations 5 to 12 with blocks of 64 that do not overlap

   Computes, in f32, over the axes b (batch), g (key/value head), m (query head of g), i (query), j (key), d (64),
   e (64), qg_axis_2 (16), kc_axis_2 (1), lse_axis_3 (16), vc_axis_2 (1), listed (16), gate_axis_4 (3):
     q [b g m i d]
     k [b g j d]
     v [b g j e]
     qg [b qg_axis_2 i d], learned parameter
     kc [b kc_axis_2 j d], learned parameter
     x5 [b qg_axis_2 i j] = sum over d of qg * kc[b, 0, j, d]
     lse [b i lse_axis_3], learned parameter
     x7 [b i j qg_axis_2] = exp(x5 * 0.125 - lse[b, i, qg_axis_2])
     x8 [b i j] = sum over qg_axis_2 of x7
     x9 [b g m i j] = sum over d of q * kc[b, 0, j, d]
     ks [b g j d], learned parameter
     x11 [b g m i j] = sum over d of q * ks
     vc [b vc_axis_2 j e], learned parameter
     x13 [b g m i j] = exp(x9 * 0.125)
     x14 [b g m i] = sum over j of x13 if j % 64 == 63 && j <= i + query_start
     x15 [b g m i e] = sum over j, vc_axis_2 of x13 * vc if j % 64 == 63 && j <= i + query_start
     x16 [b g m i e] = x14 == 0 ? 0 : x15 / x14
     vs [b g j e], learned parameter
     x18 [b g m i j] = exp(x11 * 0.125)
     x19 [b i j] = j < 64 || (i + query_start) / 64 + -1 <= j / 64 ? 1e+30 : j % 64 == 63 ? x8 : -1
     taken [b i listed] = 
     x21 [b g m i] = sum over j of x18 if j <= i + query_start && drawn(i, floor(j / 64), b * n_q, in taken)
     x22 [b g m i e] = sum over j of x18 * vs if j <= i + query_start && drawn(i, floor(j / 64), b * n_q, in taken)
     x23 [b g m i e] = x21 == 0 ? 0 : x22 / x21
     x24 [b g m i j] = sum over d of q * k
     x25 [b g m i j] = exp(x24 * 0.125)
     x26 [b g m i] = sum over j of x25 if i + query_start + -511 <= j && j <= i + query_start
     x27 [b g m i e] = sum over j of x25 * v if i + query_start + -511 <= j && j <= i + query_start
     x28 [b g m i e] = x26 == 0 ? 0 : x27 / x26
     gate [b g m i gate_axis_4], learned parameter
     x30 [b g m i e] = gate[b, g, m, i, 0] * x16 + gate[b, g, m, i, 1] * x23 + gate[b, g, m, i, 2] * x28
     out = x30
   query_start is the position of the first query: problem.query_start[b], or n_k - n_q if that is NULL.

   How: each vector lane holds one query. Keys are processed in tiles,
   so row sums and maxima need no reduction across lanes.
   The sums of a tile start from zero and are added to the sums so far. Tiles that no query sees are skipped.
   For few queries each lane holds one key. The queries of all heads that share keys are the rows of one tile,
   so each key is read once.
   The chunks of keys are divided among the threads. Their sums are added in the order of the chunks.
     x86-64-v4  quadratic tiles of 64 queries and 288 keys; 243904 bytes of workspace per thread
     x86-64-v4  few       tiles of 64 queries and 128 keys; 938880 bytes of workspace per thread
     x86-64-v3  quadratic tiles of 64 queries and 288 keys; 243904 bytes of workspace per thread
     x86-64-v3  few       tiles of 64 queries and 128 keys; 676736 bytes of workspace per thread
     generic    quadratic tiles of 64 queries and 288 keys; 243904 bytes of workspace per thread
     generic    few       tiles of 64 queries and 128 keys; 545664 bytes of workspace per thread

   Contents:
     loops      nsa_selected_rows, nsa_selected_few, nsa_selected_select
     targets    x86-64-v4, x86-64-v3, generic
     tables     arrays and programs, for the functions of attnrt that call the loops
     interface  nsa_selected_workspace, nsa_selected_forward, nsa_selected_kernel
   The file includes itself, so that the loops are compiled once for each target. T(name) is a name with the target's
   suffix, LANES the elements of its vectors, and OF(…) a number for each target.

   Compile with: cc -O2 -fopenmp nsa_selected.c … -lattnrt -lm */
#ifdef SECTION
#include <attnrt/kernel/vector.h>
#include <attnrt/kernel/elementary.h>
#include <attnrt/kernel/draw.h>
#include <attnrt/kernel/listed.h>
#include <attnrt/kernel/select.h>
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
TARGET APART void T(dot12)(int64_t lanes, float *best, float *known, const float *value, struct attn_range keys)
{
    T(select)(lanes, /*count=*/16, /*block=*/64, best, /*best_row=*/160, known, /*known_row=*/80, value,
        /*value_row=*/80, keys);
}
TARGET APART void T(dot13)(int64_t lanes, float *best, float *known, int32_t *list, const struct share *share)
{
    T(select_list)(lanes, /*count=*/16, /*block=*/64, best, /*best_row=*/160, known, /*known_row=*/80, list, share,
        /*own=*/2033920);
}

/* Computes task number `task`: one tile of queries of one head. `work` is this thread's workspace. */
TARGET static void T(nsa_selected_rows)(const struct call *call, int64_t task, unsigned char *work)
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
        call->array[ARRAY_kc_array].strides.batch;
    const int64_t kc_array_row = call->array[ARRAY_kc_array].strides.row;
    const int64_t kc_array_stride_3 = call->array[ARRAY_kc_array].stride[3];
    const float *const ks_array = (const float *)call->array[ARRAY_ks_array].at + b *
        call->array[ARRAY_ks_array].strides.batch + g * call->array[ARRAY_ks_array].strides.head;
    const int64_t ks_array_row = call->array[ARRAY_ks_array].strides.row;
    const int64_t ks_array_stride_3 = call->array[ARRAY_ks_array].stride[3];
    const float *const vc_array = (const float *)call->array[ARRAY_vc_array].at + b *
        call->array[ARRAY_vc_array].strides.batch;
    const int64_t vc_array_row = call->array[ARRAY_vc_array].strides.row;
    const int64_t vc_array_stride_3 = call->array[ARRAY_vc_array].stride[3];
    const int64_t vc_array_head = call->array[ARRAY_vc_array].strides.head;
    const float *const vs_array = (const float *)call->array[ARRAY_vs_array].at + b *
        call->array[ARRAY_vs_array].strides.batch + g * call->array[ARRAY_vs_array].strides.head;
    const int64_t vs_array_row = call->array[ARRAY_vs_array].strides.row;
    const int64_t vs_array_stride_3 = call->array[ARRAY_vs_array].stride[3];
    const int32_t *const taken = (const int32_t *)call->array[ARRAY_taken].at;
    const float *const gate_array = (const float *)call->array[ARRAY_gate_array].at + b *
        call->array[ARRAY_gate_array].strides.batch + (g * members + m) * call->array[ARRAY_gate_array].strides.head;
    const int64_t gate_array_row = call->array[ARRAY_gate_array].strides.row;
    const int64_t gate_array_stride_3 = call->array[ARRAY_gate_array].stride[3];
    float *const score = (float *)(void *)(work + 0); /* [j: 288, i: 64 of 80] */
    float *const score_2 = (float *)(void *)(work + 0); /* [j: 288, i: 64 of 80] */
    float *const row_max = (float *)(void *)(work + 92160); /* [i: 64] */
    float *const old_max = (float *)(void *)(work + 92416); /* [i: 64] */
    float *const row_sum = (float *)(void *)(work + 92672); /* [i: 64] */
    float *const row_sum_compensation = (float *)(void *)(work + 92928); /* [i: 64] */
    float *const sum = (float *)(void *)(work + 93184); /* [e: 64, i: 64 of 80] */
    float *const sum_compensation = (float *)(void *)(work + 113664); /* [e: 64, i: 64 of 80] */
    float *const row_max_2 = (float *)(void *)(work + 134144); /* [i: 64] */
    float *const old_max_2 = (float *)(void *)(work + 92160); /* [i: 64] */
    float *const row_sum_2 = (float *)(void *)(work + 134400); /* [i: 64] */
    float *const row_sum_2_compensation = (float *)(void *)(work + 134656); /* [i: 64] */
    float *const sum_2 = (float *)(void *)(work + 134912); /* [e: 64, i: 64 of 80] */
    float *const sum_2_compensation = (float *)(void *)(work + 155392); /* [e: 64, i: 64 of 80] */
    float *const score_3 = (float *)(void *)(work + 0); /* [j: 288, i: 64 of 80] */
    float *const row_max_3 = (float *)(void *)(work + 175872); /* [i: 64] */
    float *const old_max_3 = (float *)(void *)(work + 92160); /* [i: 64] */
    float *const row_sum_3 = (float *)(void *)(work + 176128); /* [i: 64] */
    float *const row_sum_3_compensation = (float *)(void *)(work + 176384); /* [i: 64] */
    float *const sum_3 = (float *)(void *)(work + 176640); /* [e: 64, i: 64 of 80] */
    float *const sum_3_compensation = (float *)(void *)(work + 197120); /* [e: 64, i: 64 of 80] */
    float *const out = (float *)call->array[ARRAY_out].at + b * call->array[ARRAY_out].strides.batch + (g * members + m)
        * call->array[ARRAY_out].strides.head;
    const int64_t out_row = call->array[ARRAY_out].strides.row;
    float *const q_tile = (float *)(void *)(work + 217600); /* [d: 64, i: 64 of 80] */
    float *const gate_tile = (float *)(void *)(work + 238080); /* [gate_axis_4: 3, i: 64 of 80] */
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
        const int64_t j_end = min(n_k, i1 + query_start);
        /* every j congruent to 63 modulo 64 */
        const int64_t j_first = floor_mod(63, 64);
        for (int64_t j0 = j_first; j0 < j_end; j0 += 18432) {
            const int64_t j1 = min(j0 + 18369, j_end), j_count = (j1 - j0 + 63) / 64;
            /* score[j][i] = sum over d of kc_array * q_tile */
            T(dot0)(round_up(i1 - i0, LANES), j_count, kc_array + j0 * kc_array_row, kc_array_row * 64,
                kc_array_stride_3, q_tile, score);
            /* old_max = row_max */
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                T(store)(old_max + i, T(load)(row_max + i));
            }
            if ((i0 + query_start + 1) < j1) { /* the tile is partly outside the mask */
                /* score = select(j <= (i + query_start), score, -INFINITY) */
                for (int64_t i = 0; i < i1 - i0; i += LANES) {
                    const T(ints) t_0 = (i0 + i + T(lane)) + query_start;
                    for (int64_t j = 0; j < j_count; j++) {
                        T(store)(score + j * 80 + i, T(pick)(__builtin_convertvector((j0 + 64 * j) <= t_0, T(mask)),
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
            /* sum = sum * old_max */
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                const T(vec) old_max_7 = T(load)(old_max + i);
                for (int64_t e = 0; e < 64; e++) {
                    T(store)(sum + e * 80 + i, T(load)(sum + e * 80 + i) * old_max_7);
                }
            }
            /* sum += select(j <= (i + query_start), score * vc, 0.0f) */
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                const T(ints) t_8 = (i0 + i + T(lane)) + query_start;
                for (int64_t e = 0; e < 64; e++) {
                    T(vec) sum_in = (T(vec)){0};
                    for (int64_t j = 0; j < j_count; j++)
                        for (int64_t vc_axis_2 = 0; vc_axis_2 < 1; vc_axis_2++) {
                            sum_in += T(pick)(__builtin_convertvector((j0 + 64 * j) <= t_8, T(mask)),
                                T(load)(score + j * 80 + i) * (vc_array[vc_axis_2 * vc_array_head + (j0 + 64 * j) *
                                vc_array_row + e * vc_array_stride_3]), T(splat)(0.0f));
                        }
                    T(add)(sum + e * 80 + i, sum_compensation + e * 80 + i, sum_in, T(splat)(1));
                }
            }
        }
    }
    {
        for (int64_t j0 = 0, j_end = min(n_k, i1 + query_start); j0 < j_end; j0 += 288) {
            const int64_t j1 = min(j0 + 288, j_end);
            if (!(any_sorted(taken, 16, (b * n_q) + i0, (b * n_q) + i1, (j0 - floor_mod(j0, 64)) / 64,
                ((j1 - floor_mod(j1 - 1, 64) - 1) / 64) + 1))) continue; /* no query sees a key of the tile */
            /* drawn_0: which keys of this tile are in the lists of its rows */
            const struct listed drawn_0 = {i0, (j0 - floor_mod(j0, 64)) / 64, 2, (uint64_t *)(void *)(work + 239040)};
            find_listed(&drawn_0, taken + (b * n_q + drawn_0.first) * 16, 16, i1 - 1, (j1 - floor_mod(j1 - 1,
                64) - 1) / 64);
            /* score_2[j][i] = sum over d of ks_array * q_tile */
            T(dot0)(round_up(i1 - i0, LANES), j1 - j0, ks_array + j0 * ks_array_row, ks_array_row, ks_array_stride_3,
                q_tile, score_2);
            /* old_max_2 = row_max_2 */
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                T(store)(old_max_2 + i, T(load)(row_max_2 + i));
            }
            /* score_2 = select((j <= (i + query_start)) && drawn(i, (j - floormod(j, 64)) / 64, b * n_q), score_2,
               -INFINITY); row_max_2 max=  ... */
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                const T(ints) t_9 = i0 + i + T(lane);
                const T(ints) t_10 = t_9 + query_start;
                T(vec) row_max_2_in = T(load)(row_max_2 + i);
                for (int64_t j = 0; j < j1 - j0; j++) {
                    const T(vec) score_2_11 = T(load)(score_2 + j * 80 + i);
                    const T(vec) score_2_new12 = T(pick)(__builtin_convertvector((j0 + j) <= t_10,
                        T(mask)) & T(listed)(&drawn_0, &t_9, ((j0 + j) - floor_mod(j0 + j, 64)) / 64), score_2_11,
                        T(splat)(-INFINITY));
                    T(store)(score_2 + j * 80 + i, score_2_new12);
                    row_max_2_in = T(max)(row_max_2_in, score_2_new12);
                }
                T(store)(row_max_2 + i, row_max_2_in);
            }
            /* old_max_2 = exp2(old_max_2 - row_max_2); row_sum_2 = row_sum_2 * old_max_2 */
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                const T(vec) old_max_2_13 = T(load)(old_max_2 + i);
                const T(vec) old_max_2_new14 = T(exp2)(old_max_2_13 - T(load)(row_max_2 + i));
                T(store)(old_max_2 + i, old_max_2_new14);
                T(store)(row_sum_2 + i, T(load)(row_sum_2 + i) * old_max_2_new14);
            }
            /* score_2 = exp2(score_2 - row_max_2); row_sum_2 += score_2 */
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                const T(vec) row_max_2_16 = T(load)(row_max_2 + i);
                T(vec) row_sum_2_in = (T(vec)){0};
                for (int64_t j = 0; j < j1 - j0; j++) {
                    const T(vec) score_2_15 = T(load)(score_2 + j * 80 + i);
                    const T(vec) score_2_new17 = T(exp2)(score_2_15 - row_max_2_16);
                    T(store)(score_2 + j * 80 + i, score_2_new17);
                    row_sum_2_in += score_2_new17;
                }
                T(add)(row_sum_2 + i, row_sum_2_compensation + i, row_sum_2_in, T(splat)(1));
            }
            /* sum_2[e][i] = sum_2 * old_max_2 + sum over j of vs_array * score_2 */
            if (__builtin_expect(!T(finite_apart)(vs_array + j0 * vs_array_row, vs_array_row, j1 - j0, 64,
                vs_array_stride_3), 0)) { /* infinity and NaN affect only queries that see them */
                T(dot1)(round_up(i1 - i0, LANES), j1 - j0, vs_array + j0 * vs_array_row, vs_array_stride_3,
                    vs_array_row, score_2, sum_2, old_max_2, sum_2_compensation);
                for (int64_t j = 0; j < j1 - j0; j++) {
                    T(mask) in_region[OF(4, 8, 16)] = {0};
                    if (T(finite)(vs_array + j0 * vs_array_row + j * vs_array_row, vs_array_stride_3, 64, 1)) continue;
                    const int64_t t_19 = ((j0 + j) - floor_mod(j0 + j, 64)) / 64;
                    for (int64_t i = 0; i < i1 - i0; i += LANES) {
                        const T(ints) t_18 = i0 + i + T(lane);
                        in_region[i / LANES] = __builtin_convertvector((j0 + j) <= (t_18 + query_start),
                            T(mask)) & T(listed)(&drawn_0, &t_18, t_19);
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
        for (int64_t j0 = max(0, i0 + query_start - 511), j_end = min(n_k, i1 + query_start); j0 < j_end; j0 += 288) {
            const int64_t j1 = min(j0 + 288, j_end);
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
                    const T(ints) t_20 = (i0 + i + T(lane)) + query_start;
                    const T(ints) t_21 = t_20 + (-511);
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        T(store)(score_3 + j * 80 + i, T(pick)(__builtin_convertvector((t_21 <= (j0 + j)) & ((j0 + j) <=
                            t_20), T(mask)), T(load)(score_3 + j * 80 + i), T(splat)(-INFINITY)));
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
                const T(vec) old_max_3_22 = T(load)(old_max_3 + i);
                const T(vec) old_max_3_new23 = T(exp2)(old_max_3_22 - T(load)(row_max_3 + i));
                T(store)(old_max_3 + i, old_max_3_new23);
                T(store)(row_sum_3 + i, T(load)(row_sum_3 + i) * old_max_3_new23);
            }
            /* score_3 = exp2(score_3 - row_max_3); row_sum_3 += score_3 */
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                const T(vec) row_max_3_25 = T(load)(row_max_3 + i);
                T(vec) row_sum_3_in = (T(vec)){0};
                for (int64_t j = 0; j < j1 - j0; j++) {
                    const T(vec) score_3_24 = T(load)(score_3 + j * 80 + i);
                    const T(vec) score_3_new26 = T(exp2)(score_3_24 - row_max_3_25);
                    T(store)(score_3 + j * 80 + i, score_3_new26);
                    row_sum_3_in += score_3_new26;
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
                        const T(ints) t_27 = (i0 + i + T(lane)) + query_start;
                        in_region[i / LANES] = __builtin_convertvector(((t_27 + (-511)) <= (j0 + j)) & ((j0 + j) <=
                            t_27), T(mask));
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
        const T(vec) gate_tile_28 = T(load)(gate_tile + i);
        const T(vec) row_sum_29 = T(load)(row_sum + i);
        const T(mask) t_30 = row_sum_29 == 0.0f;
        const T(vec) t_31 = 1.0f / row_sum_29;
        const T(vec) gate_tile_32 = T(load)(gate_tile + 1 * 80 + i);
        const T(vec) row_sum_2_33 = T(load)(row_sum_2 + i);
        const T(mask) t_34 = row_sum_2_33 == 0.0f;
        const T(vec) t_35 = 1.0f / row_sum_2_33;
        const T(vec) gate_tile_36 = T(load)(gate_tile + 2 * 80 + i);
        const T(vec) row_sum_3_37 = T(load)(row_sum_3 + i);
        const T(mask) t_38 = row_sum_3_37 == 0.0f;
        const T(vec) t_39 = 1.0f / row_sum_3_37;
        for (int64_t e = 0; e < 64; e++) {
            T(store)(sum_3 + e * 80 + i, ((gate_tile_28 * T(pick)(t_30, T(splat)(0.0f),
                T(load)(sum + e * 80 + i) * t_31)) + (gate_tile_32 * T(pick)(t_34, T(splat)(0.0f),
                T(load)(sum_2 + e * 80 + i) * t_35))) + (gate_tile_36 * T(pick)(t_38, T(splat)(0.0f),
                T(load)(sum_3 + e * 80 + i) * t_39)));
        }
    }
    /* out = sum_3, transposed back */
    T(transpose_out)(sum_3, 80, 64, i1 - i0, out + i0 * out_row, out_row, LANES);
}

/* Initialises the states: they contain no keys yet. */
TARGET APART void T(nsa_selected_few_begin)(const struct call *call, int64_t task, const struct share *share,
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
TARGET APART void T(nsa_selected_few_begin_2)(const struct call *call, int64_t task, const struct share *share,
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
TARGET APART void T(nsa_selected_few_keys)(const struct call *call, int64_t task, const struct share *share,
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
    const float *const kc_array = (const float *)call->array[ARRAY_kc_array].at + b *
        call->array[ARRAY_kc_array].strides.batch;
    const int64_t kc_array_row = call->array[ARRAY_kc_array].strides.row;
    const int64_t kc_array_stride_3 = call->array[ARRAY_kc_array].stride[3];
    const int64_t kc_array_head = call->array[ARRAY_kc_array].strides.head;
    const float *const ks_array = (const float *)call->array[ARRAY_ks_array].at + b *
        call->array[ARRAY_ks_array].strides.batch + g * call->array[ARRAY_ks_array].strides.head;
    const int64_t ks_array_row = call->array[ARRAY_ks_array].strides.row;
    const int64_t ks_array_stride_3 = call->array[ARRAY_ks_array].stride[3];
    const float *const vc_array = (const float *)call->array[ARRAY_vc_array].at + b *
        call->array[ARRAY_vc_array].strides.batch;
    const int64_t vc_array_row = call->array[ARRAY_vc_array].strides.row;
    const int64_t vc_array_stride_3 = call->array[ARRAY_vc_array].stride[3];
    const int64_t vc_array_head = call->array[ARRAY_vc_array].strides.head;
    const float *const vs_array = (const float *)call->array[ARRAY_vs_array].at + b *
        call->array[ARRAY_vs_array].strides.batch + g * call->array[ARRAY_vs_array].strides.head;
    const int64_t vs_array_row = call->array[ARRAY_vs_array].strides.row;
    const int64_t vs_array_stride_3 = call->array[ARRAY_vs_array].stride[3];
    const int32_t *const taken = (const int32_t *)call->array[ARRAY_taken].at;
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
    float *const kc_tile = (float *)(void *)(share->work + 36864); /* [kc_axis_2: 1, d: 64, j: 128 of 144] */
    float *const vc_tile = (float *)(void *)(share->work + 73728); /* [j: 128, e: 64, vc_axis_2: LANES] */
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
    for (int64_t j0 = chunk * 1024, j_end = min(min(n_k, (chunk + 1) * 1024), n_q + query_start); j0 < j_end;
        j0 += 128) {
        const int64_t j1 = min(j0 + 128, j_end);
        if (kc_array_stride_3 == 1) {
            /* kc_tile = kc_array, with zeros beyond the last row */
            for (int64_t j = 0; j < round_up(j1 - j0, LANES); j++)
                for (int64_t kc_axis_2 = 0; kc_axis_2 < 1; kc_axis_2++)
                    for (int64_t d = 0; d < 64; d++)
                        kc_tile[kc_axis_2 * 9216 + d * 144 + j] = j < j1 - j0 ? kc_array[kc_axis_2 * kc_array_head + (j0
                            + j) * kc_array_row + d] : 0;
        } else {
            /* kc_tile = kc_array, with zeros beyond the last row */
            for (int64_t j = 0; j < round_up(j1 - j0, LANES); j++)
                for (int64_t kc_axis_2 = 0; kc_axis_2 < 1; kc_axis_2++)
                    for (int64_t d = 0; d < 64; d++)
                        kc_tile[kc_axis_2 * 9216 + d * 144 + j] = j < j1 - j0 ? kc_array[kc_axis_2 * kc_array_head + (j0
                            + j) * kc_array_row + d * kc_array_stride_3] : 0;
        }
        if (vc_array_stride_3 == 1) {
            /* vc_tile = vc_array, with zeros beyond the last row */
            for (int64_t j = 0; j < j1 - j0; j++)
                for (int64_t e = 0; e < 64; e++)
                    for (int64_t vc_axis_2 = 0; vc_axis_2 < 1; vc_axis_2++)
                        vc_tile[j * (64 * LANES) + e * LANES + vc_axis_2] = vc_array[vc_axis_2 * vc_array_head + (j0 +
                            j) * vc_array_row + e];
        } else {
            /* vc_tile = vc_array, with zeros beyond the last row */
            for (int64_t j = 0; j < j1 - j0; j++)
                for (int64_t e = 0; e < 64; e++)
                    for (int64_t vc_axis_2 = 0; vc_axis_2 < 1; vc_axis_2++)
                        vc_tile[j * (64 * LANES) + e * LANES + vc_axis_2] = vc_array[vc_axis_2 * vc_array_head + (j0 +
                            j) * vc_array_row + e * vc_array_stride_3];
        }
        /* score[r][j] = sum over d of query * kc_tile */
        T(dot6)(round_up(j1 - j0, LANES), rows, query, kc_tile, score);
        /* old_max = state_max */
        for (int64_t r = 0; r < rows; r += LANES) {
            T(store)(old_max + r, T(load)(state_max + (chunk - chunk0) * 12720 + r));
        }
        /* score = select(((j % 64) == 63) && (j <= ((r % n_q) + query_start)), score, -INFINITY) */
        for (int64_t j = 0; j < j1 - j0; j += LANES) {
            const T(ints) t_0 = j0 + j + T(lane);
            const T(ints) t_1 = (t_0 % 64) == 63;
            for (int64_t r = 0; r < rows; r++) {
                T(store)(score + r * 144 + j, T(pick)(__builtin_convertvector(t_1 & (t_0 <= ((r % n_q) + query_start)),
                    T(mask)), T(load)(score + r * 144 + j), T(splat)(-INFINITY)));
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
        /* state += score * vc_tile */
        for (int64_t r = 0; r < rows; r++) {
            for (int64_t e = 0; e < 64; e++) {
                for (int64_t j = 0; j < j1 - j0; j++) {
                    T(vec) lane_sums = T(splat)(0);
                    for (int64_t vc_axis_2 = 0; vc_axis_2 < 1; vc_axis_2 += LANES) {
                        const T(vec) term = (score[r * 144 + j]) * T(load)(vc_tile + j * (64 * LANES) + e * LANES +
                            vc_axis_2);
                        lane_sums += vc_axis_2 + LANES <= 1 ? term : T(pick)(__builtin_convertvector(vc_axis_2 + T(lane)
                            < 1, T(mask)), term, T(splat)(0));
                    }
                    const float total = T(lane_sum)(lane_sums);
                    state[(chunk - chunk0) * 12720 + r * 64 + e] += total;
                }
            }
        }
    }
    {
        for (int64_t j0 = chunk * 1024, j_end = min(min(n_k, (chunk + 1) * 1024), n_q + query_start); j0 < j_end;
            j0 += 128) {
            const int64_t j1 = min(j0 + 128, j_end);
            if (!(any_sorted(taken, 16, b * n_q, n_q + (b * n_q), (j0 - floor_mod(j0, 64)) / 64,
                ((j1 - floor_mod(j1 - 1, 64) - 1) / 64) + 1))) continue; /* no query sees a key of the tile */
            /* drawn_0: which keys of this tile are in the lists of its rows */
            const struct listed drawn_0 = {0, (j0 - floor_mod(j0, 64)) / 64, 3,
                (uint64_t *)(void *)(share->work + (32768 * LANES + 73728))};
            find_listed(&drawn_0, taken + (b * n_q + drawn_0.first) * 16, 16, n_q - 1, (j1 - floor_mod(j1 - 1,
                64) - 1) / 64);
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
            /* score_2 = select((j <= ((r % n_q) + query_start)) && drawn(r % n_q, (j - floormod(j, 64)) / 64, b * n_q),
               score_2, -INFINITY) */
            for (int64_t j = 0; j < j1 - j0; j += LANES) {
                const T(ints) t_6 = j0 + j + T(lane);
                const T(ints) r8 = t_6 % 64;
                const T(ints) t_9 = (t_6 - (r8 + (((r8 != 0) & ((r8 < 0) != (64 < 0))) & 64))) / 64;
                for (int64_t r = 0; r < rows; r++) {
                    const int64_t t_7 = r % n_q;
                    T(store)(score_2 + r * 144 + j, T(pick)(__builtin_convertvector(t_6 <= ((r % n_q) + query_start),
                        T(mask)) & T(listed_for)(&drawn_0, t_7, &t_9), T(load)(score_2 + r * 144 + j),
                        T(splat)(-INFINITY)));
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
                const T(vec) old_max_2_10 = T(load)(old_max_2 + r);
                const T(vec) old_max_2_new11 = T(exp2)(old_max_2_10 - T(load)(state_max_2 + (chunk - chunk0) * 12720 +
                    r));
                T(store)(old_max_2 + r, old_max_2_new11);
                T(store)(state_sum_2 + (chunk - chunk0) * 12720 + r, T(load)(state_sum_2 + (chunk - chunk0) * 12720 + r)
                    * old_max_2_new11);
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
            if (__builtin_expect(!T(finite)(vs_tile, 64, j1 - j0, 64),
                0)) { /* infinity and NaN affect only queries that see them */
                T(dot7)(rows, j1 - j0, score_2, vs_tile, state_2 + (chunk - chunk0) * 12720);
                for (int64_t r = 0; r < rows; r++) {
                    T(mask) in_region[OF(8, 16, 32)] = {0};
                    const int64_t t_13 = (r % n_q) + query_start;
                    const int64_t t_14 = r % n_q;
                    for (int64_t j = 0; j < j1 - j0; j += LANES) {
                        const T(ints) t_12 = j0 + j + T(lane);
                        const T(ints) r15 = t_12 % 64;
                        const T(ints) block16 = (t_12 - (r15 + (((r15 != 0) & ((r15 < 0) != (64 < 0))) & 64))) / 64;
                        in_region[j / LANES] = __builtin_convertvector(t_12 <= t_13, T(mask)) & T(listed_for)(&drawn_0,
                            t_14, &block16);
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
                    const T(ints) t_17 = j0 + j + T(lane);
                    for (int64_t r = 0; r < rows; r++) {
                        const int64_t t_18 = (r % n_q) + query_start;
                        T(store)(score_3 + r * 144 + j, T(pick)(__builtin_convertvector((((r % n_q) + query_start - 511)
                            <= t_17) & (t_17 <= t_18), T(mask)), T(load)(score_3 + r * 144 + j), T(splat)(-INFINITY)));
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
                const T(vec) old_max_3_19 = T(load)(old_max_3 + r);
                const T(vec) old_max_3_new20 = T(exp2)(old_max_3_19 - T(load)(state_max_3 + (chunk - chunk0) * 12720 +
                    r));
                T(store)(old_max_3 + r, old_max_3_new20);
                T(store)(state_sum_3 + (chunk - chunk0) * 12720 + r, T(load)(state_sum_3 + (chunk - chunk0) * 12720 + r)
                    * old_max_3_new20);
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
                    const int64_t t_21 = (r % n_q) + query_start - 511;
                    const int64_t t_23 = (r % n_q) + query_start;
                    for (int64_t j = 0; j < j1 - j0; j += LANES) {
                        const T(ints) t_22 = j0 + j + T(lane);
                        in_region[j / LANES] = __builtin_convertvector((t_21 <= t_22) & (t_22 <= t_23), T(mask));
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
TARGET APART void T(nsa_selected_few_fold)(const struct call *call, int64_t task, const struct share *share,
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
            const T(vec) carried_max_24 = T(load)(carried_max + r);
            const T(vec) before_max_new25 = carried_max_24;
            const T(vec) state_max_26 = T(load)(state_max + (chunk - chunk0) * 12720 + r);
            const T(vec) carried_max_new27 = T(max)(T(load)(carried_max + r), state_max_26);
            T(store)(carried_max + r, carried_max_new27);
            const T(vec) carried_factor_new28 = T(exp2)(before_max_new25 - carried_max_new27);
            T(store)(carried_factor + r, carried_factor_new28);
            const T(vec) slot_factor_new29 = T(exp2)(state_max_26 - carried_max_new27);
            T(store)(slot_factor + r, slot_factor_new29);
            const T(vec) carried_sum_30 = T(load)(carried_sum + r);
            T(store)(carried_sum + r, carried_sum_30 * carried_factor_new28);
            T(store)(carried_sum_compensation + r, T(load)(carried_sum_compensation + r) * carried_factor_new28);
            T(add)(carried_sum + r, carried_sum_compensation + r, T(load)(state_sum + (chunk - chunk0) * 12720 + r) *
                slot_factor_new29, T(splat)(1));
        }
        /* before_max_2 = carried_max_2; carried_max_2 max= state_max_2;
           carried_factor_2 = exp2(before_max_2 - carried_max_2); slot_factor ... */
        for (int64_t r = r0; r < r1; r += LANES) {
            const T(vec) carried_max_2_31 = T(load)(carried_max_2 + r);
            const T(vec) before_max_2_new32 = carried_max_2_31;
            const T(vec) state_max_2_33 = T(load)(state_max_2 + (chunk - chunk0) * 12720 + r);
            const T(vec) carried_max_2_new34 = T(max)(T(load)(carried_max_2 + r), state_max_2_33);
            T(store)(carried_max_2 + r, carried_max_2_new34);
            const T(vec) carried_factor_2_new35 = T(exp2)(before_max_2_new32 - carried_max_2_new34);
            T(store)(carried_factor_2 + r, carried_factor_2_new35);
            const T(vec) slot_factor_2_new36 = T(exp2)(state_max_2_33 - carried_max_2_new34);
            T(store)(slot_factor_2 + r, slot_factor_2_new36);
            const T(vec) carried_sum_2_37 = T(load)(carried_sum_2 + r);
            T(store)(carried_sum_2 + r, carried_sum_2_37 * carried_factor_2_new35);
            T(store)(carried_sum_2_compensation + r, T(load)(carried_sum_2_compensation + r) * carried_factor_2_new35);
            T(add)(carried_sum_2 + r, carried_sum_2_compensation + r,
                T(load)(state_sum_2 + (chunk - chunk0) * 12720 + r) * slot_factor_2_new36, T(splat)(1));
        }
        /* before_max_3 = carried_max_3; carried_max_3 max= state_max_3;
           carried_factor_3 = exp2(before_max_3 - carried_max_3); slot_factor ... */
        for (int64_t r = r0; r < r1; r += LANES) {
            const T(vec) carried_max_3_38 = T(load)(carried_max_3 + r);
            const T(vec) before_max_3_new39 = carried_max_3_38;
            const T(vec) state_max_3_40 = T(load)(state_max_3 + (chunk - chunk0) * 12720 + r);
            const T(vec) carried_max_3_new41 = T(max)(T(load)(carried_max_3 + r), state_max_3_40);
            T(store)(carried_max_3 + r, carried_max_3_new41);
            const T(vec) carried_factor_3_new42 = T(exp2)(before_max_3_new39 - carried_max_3_new41);
            T(store)(carried_factor_3 + r, carried_factor_3_new42);
            const T(vec) slot_factor_3_new43 = T(exp2)(state_max_3_40 - carried_max_3_new41);
            T(store)(slot_factor_3 + r, slot_factor_3_new43);
            const T(vec) carried_sum_3_44 = T(load)(carried_sum_3 + r);
            T(store)(carried_sum_3 + r, carried_sum_3_44 * carried_factor_3_new42);
            T(store)(carried_sum_3_compensation + r, T(load)(carried_sum_3_compensation + r) * carried_factor_3_new42);
            T(add)(carried_sum_3 + r, carried_sum_3_compensation + r,
                T(load)(state_sum_3 + (chunk - chunk0) * 12720 + r) * slot_factor_3_new43, T(splat)(1));
        }
        /* before = carried; carried = carried * carried_factor; carried_compensation = carried_compensation *
           carried_factor; carried += s ... */
        for (int64_t r = r0; r < r1; r++) {
            for (int64_t e_first = 0; e_first < 64; e_first += OF(64, 16, 8)) {
                UNROLL for (int64_t vector = 0, e = e_first; vector < OF(4, 2, 2); vector++, e += LANES) {
                    const T(vec) carried_45 = T(load)(carried + r * 64 + e);
                    const float carried_factor_46 = carried_factor[r];
                    T(store)(carried + r * 64 + e, carried_45 * carried_factor_46);
                    T(store)(carried_compensation + r * 64 + e, T(load)(carried_compensation + r * 64 + e) *
                        carried_factor_46);
                    T(add)(carried + r * 64 + e, carried_compensation + r * 64 + e,
                        T(load)(state + (chunk - chunk0) * 12720 + r * 64 + e) * slot_factor[r], T(splat)(1));
                    const T(vec) carried_2_47 = T(load)(carried_2 + r * 64 + e);
                    const float carried_factor_2_48 = carried_factor_2[r];
                    T(store)(carried_2 + r * 64 + e, carried_2_47 * carried_factor_2_48);
                    T(store)(carried_2_compensation + r * 64 + e, T(load)(carried_2_compensation + r * 64 + e) *
                        carried_factor_2_48);
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
                    const T(vec) carried_3_49 = T(load)(carried_3 + r * 64 + e);
                    const float carried_factor_3_50 = carried_factor_3[r];
                    T(store)(carried_3 + r * 64 + e, carried_3_49 * carried_factor_3_50);
                    T(store)(carried_3_compensation + r * 64 + e, T(load)(carried_3_compensation + r * 64 + e) *
                        carried_factor_3_50);
                    T(add)(carried_3 + r * 64 + e, carried_3_compensation + r * 64 + e,
                        T(load)(state_3 + (chunk - chunk0) * 12720 + r * 64 + e) * slot_factor_3[r], T(splat)(1));
                }
            }
        }
    }
}

/* Processes a tile of queries: reads the states. */
TARGET APART void T(nsa_selected_few_queries)(const struct call *call, int64_t task, const struct share *share,
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
                const float carried_sum_51 = carried_sum[r];
                const float carried_sum_2_52 = carried_sum_2[r];
                const float carried_sum_3_53 = carried_sum_3[r];
                T(store)(result + r * 64 + e, (((gate_array[r / n_q * gate_array_head + r % n_q * gate_array_row]) *
                    ((carried_sum_51 == 0.0f) ? T(splat)(0.0f) : T(load)(carried + r * 64 + e) * (1.0f /
                    carried_sum_51))) + ((gate_array[r / n_q * gate_array_head + r % n_q * gate_array_row + 1 *
                    gate_array_stride_3]) * ((carried_sum_2_52 == 0.0f) ? T(splat)(0.0f) : T(load)(carried_2 + r * 64 +
                    e) * (1.0f / carried_sum_2_52)))) + ((gate_array[r / n_q * gate_array_head + r % n_q *
                    gate_array_row + 2 * gate_array_stride_3]) * ((carried_sum_3_53 == 0.0f) ? T(splat)(0.0f) :
                    T(load)(carried_3 + r * 64 + e) * (1.0f / carried_sum_3_53))));
            }
        }
    }
    /* out = result */
    for (int64_t r = r0; r < r1; r++)
        for (int64_t e = 0; e < 64; e++)
            out[r / n_q * out_head + r % n_q * out_row + e] = result[r * 64 + e];
}

/* Computes head number `task`. Each thread on the head calls this with `share`. */
TARGET static void T(nsa_selected_few)(const struct call *call, int64_t task, struct share *share)
{
    const int64_t n_k = call->p.n_k;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t chunks = n_k > 0 ? (n_k - 1) / 1024 + 1 : 1;
    for (int64_t iteration = share->number; iteration < ((rows + 63) / 64); iteration += share->threads)
        T(nsa_selected_few_begin)(call, task, share, iteration);
    for (int64_t iteration = share->number; iteration < ((rows + 15) / 16); iteration += share->threads)
        T(nsa_selected_few_begin_2)(call, task, share, iteration);
    synchronise(share);
    const int64_t first = 0;
    const int64_t length = segment_length(share, chunks - first);
    for (int64_t segment = share->number; first + segment * length < chunks; segment += share->threads) {
        share->chunk0 = first + segment * length;
        share->chunk1 = min(share->chunk0 + length, chunks);
        for (int64_t iteration = share->chunk0; iteration < share->chunk1; iteration++)
            T(nsa_selected_few_keys)(call, task, share, iteration);
        for (int64_t group = 0; group < 16; group++) {
            await_segment(share, group, segment);
            const int64_t end = (group + 1) * ((rows + 15) / 16) / 16;
            for (int64_t iteration = group * ((rows + 15) / 16) / 16; iteration < end; iteration++)
                T(nsa_selected_few_fold)(call, task, share, iteration);
            pass_segment(share, group, segment);
        }
    }
    share->segments += (max(chunks - first, 0) + length - 1) / length;
    synchronise(share);
    for (int64_t iteration = share->number; iteration < ((rows + 15) / 16); iteration += share->threads)
        T(nsa_selected_few_queries)(call, task, share, iteration);
    synchronise(share);
}

/* Computes task number `task`: one slice of the rows of all batches and heads. The threads of `share` share its keys.
   */
TARGET static void T(nsa_selected_select)(const struct call *call, int64_t task, struct share *share)
{
    const int64_t n_q = call->p.n_q;
    const int64_t n_k = call->p.n_k;
    const int64_t tiles = (n_q + 64 - 1) / 64, i0 = (tiles - 1 - task % tiles) * 64,
        i1 = min(i0 + 64, n_q);
    const int64_t b = task / tiles;
    unsigned char *const work = share->work;
    const int64_t query_start = call->p.query_start ? call->p.query_start[b] : n_k - n_q;
    const float *const qg_array = (const float *)call->array[ARRAY_qg_array].at + b *
        call->array[ARRAY_qg_array].strides.batch;
    const int64_t qg_array_row = call->array[ARRAY_qg_array].strides.row;
    const int64_t qg_array_stride_3 = call->array[ARRAY_qg_array].stride[3];
    const int64_t qg_array_head = call->array[ARRAY_qg_array].strides.head;
    const float *const kc_array = (const float *)call->array[ARRAY_kc_array].at + b *
        call->array[ARRAY_kc_array].strides.batch;
    const int64_t kc_array_row = call->array[ARRAY_kc_array].strides.row;
    const int64_t kc_array_stride_3 = call->array[ARRAY_kc_array].stride[3];
    const float *const lse_array = (const float *)call->array[ARRAY_lse_array].at + b *
        call->array[ARRAY_lse_array].strides.batch;
    const int64_t lse_array_row = call->array[ARRAY_lse_array].strides.row;
    const int64_t lse_array_stride_2 = call->array[ARRAY_lse_array].stride[2];
    float *const score = (float *)(void *)(work + 0); /* [qg_axis_2: 16, j: 288, i: 64 of 80] */
    float *const weight_2 = (float *)(void *)(work + 1474560); /* [j: 288, i: 64 of 80] */
    float *const weight_3 = (float *)(void *)(work + 1566720); /* [j: 288, i: 64 of 80] */
    float *const best = (float *)(void *)(work + 1658880); /* [i: 64, room: 160] */
    float *const best_known = (float *)(void *)(work + 1699840); /* [known: 4, i: 64 of 80] */
    float *const qg_tile = (float *)(void *)(work + 1701120); /* [qg_axis_2: 16, d: 64, i: 64 of 80] */
    float *const lse_tile = (float *)(void *)(work + 2028800); /* [lse_axis_3: 16, i: 64 of 80] */
    if (qg_array_stride_3 == 1) {
        /* qg_tile = qg_array, with zeros beyond the last row */
        for (int64_t i = 0; i < round_up(i1 - i0, LANES); i++)
            for (int64_t qg_axis_2 = 0; qg_axis_2 < 16; qg_axis_2++)
                for (int64_t d = 0; d < 64; d++)
                    qg_tile[qg_axis_2 * 5120 + d * 80 + i] = i < i1 - i0 ? qg_array[qg_axis_2 * qg_array_head + (i0 + i)
                        * qg_array_row + d] : 0;
    } else {
        /* qg_tile = qg_array, with zeros beyond the last row */
        for (int64_t i = 0; i < round_up(i1 - i0, LANES); i++)
            for (int64_t qg_axis_2 = 0; qg_axis_2 < 16; qg_axis_2++)
                for (int64_t d = 0; d < 64; d++)
                    qg_tile[qg_axis_2 * 5120 + d * 80 + i] = i < i1 - i0 ? qg_array[qg_axis_2 * qg_array_head + (i0 + i)
                        * qg_array_row + d * qg_array_stride_3] : 0;
    }
    if (lse_array_stride_2 == 1) {
        /* lse_tile = lse_array, with zeros beyond the last row */
        T(transpose_padded)(lse_array + i0 * lse_array_row, lse_array_row, i1 - i0, 16, lse_tile, 80, LANES);
    } else {
        /* lse_tile = lse_array, with zeros beyond the last row */
        for (int64_t i = 0; i < round_up(i1 - i0, LANES); i++)
            for (int64_t lse_axis_3 = 0; lse_axis_3 < 16; lse_axis_3++)
                lse_tile[lse_axis_3 * 80 + i] = i < i1 - i0 ? lse_array[(i0 + i) * lse_array_row + lse_axis_3 *
                    lse_array_stride_2] : 0;
    }
    /* qg_tile = qg_tile * 0.18033688f */
    for (int64_t qg_axis_2 = 0; qg_axis_2 < 16; qg_axis_2++) {
        for (int64_t d = 0; d < 64; d++) {
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                T(store)(qg_tile + qg_axis_2 * 5120 + d * 80 + i, T(load)(qg_tile + qg_axis_2 * 5120 + d * 80 + i) *
                    0.18033688f);
            }
        }
    }
    /* best_known = -INFINITY */
    for (int64_t known = 0; known < 4; known++) {
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            T(store)(best_known + known * 80 + i, T(splat)(-INFINITY));
        }
    }
    const struct attn_range j_own = range_of_share(share, 0, min(n_k, i1 + query_start), 64);
    for (int64_t j0 = j_own.from, j_end = j_own.to; j0 < j_end; j0 += 288) {
        const int64_t j1 = min(j0 + 288, j_end);
        /* score = 0.0f */
        for (int64_t qg_axis_2 = 0; qg_axis_2 < 16; qg_axis_2++) {
            for (int64_t j = 0; j < j1 - j0; j++) {
                for (int64_t i = 0; i < i1 - i0; i += LANES) {
                    T(store)(score + qg_axis_2 * 23040 + j * 80 + i, T(splat)(0.0f));
                }
            }
        }
        /* score += qg_tile * kc */
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            for (int64_t qg_axis_2 = 0; qg_axis_2 < 16; qg_axis_2++)
                for (int64_t j = 0; j < j1 - j0; j++) {
                    T(vec) score_in = (T(vec)){0};
                    for (int64_t d = 0; d < 64; d++) {
                        score_in += T(load)(qg_tile + qg_axis_2 * 5120 + d * 80 + i) * (kc_array[(j0 + j) * kc_array_row
                            + d * kc_array_stride_3]);
                    }
                    T(store)(score + qg_axis_2 * 23040 + j * 80 + i, T(load)(score + qg_axis_2 * 23040 + j * 80 + i) +
                        score_in);
                }
        }
        /* score = score - (lse_tile * 1.442695f) */
        for (int64_t qg_axis_2 = 0; qg_axis_2 < 16; qg_axis_2++) {
            for (int64_t j = 0; j < j1 - j0; j++) {
                for (int64_t i = 0; i < i1 - i0; i += LANES) {
                    T(store)(score + qg_axis_2 * 23040 + j * 80 + i, T(load)(score + qg_axis_2 * 23040 + j * 80 + i) -
                        (T(load)(lse_tile + qg_axis_2 * 80 + i) * 1.442695f));
                }
            }
        }
        /* weight_2 = -FLT_MAX */
        for (int64_t j = 0; j < j1 - j0; j++) {
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                T(store)(weight_2 + j * 80 + i, T(splat)(-FLT_MAX));
            }
        }
        /* weight_2 max= score */
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            for (int64_t j = 0; j < j1 - j0; j++) {
                T(vec) weight_2_in = T(load)(weight_2 + j * 80 + i);
                for (int64_t qg_axis_2 = 0; qg_axis_2 < 16; qg_axis_2++) {
                    weight_2_in = T(max)(weight_2_in, T(load)(score + qg_axis_2 * 23040 + j * 80 + i));
                }
                T(store)(weight_2 + j * 80 + i, weight_2_in);
            }
        }
        /* weight_3 = 0.0f */
        for (int64_t j = 0; j < j1 - j0; j++) {
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                T(store)(weight_3 + j * 80 + i, T(splat)(0.0f));
            }
        }
        /* weight_3 += exp2(score - weight_2) */
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            for (int64_t j = 0; j < j1 - j0; j++) {
                T(vec) weight_3_in = (T(vec)){0};
                for (int64_t qg_axis_2 = 0; qg_axis_2 < 16; qg_axis_2++) {
                    weight_3_in += T(exp2)(T(load)(score + qg_axis_2 * 23040 + j * 80 + i) - T(load)(weight_2 + j * 80 +
                        i));
                }
                T(store)(weight_3 + j * 80 + i, T(load)(weight_3 + j * 80 + i) + weight_3_in);
            }
        }
        /* weight_3 = select((j < 64) || ((((i + query_start) / 64) + -1) <= (j / 64)), exp2(1e+02f - max(1e+02f,
           max(weight_2, 0.0f))) * 0 ... */
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            const T(ints) t_0 = (((i0 + i + T(lane)) + query_start) / 64) + (-1);
            for (int64_t j = 0; j < j1 - j0; j++) {
                const T(vec) weight_2_1 = T(load)(weight_2 + j * 80 + i);
                const T(vec) t_2 = T(max)(weight_2_1, T(splat)(0.0f));
                const T(vec) t_3 = T(max)(t_2, T(splat)(1e+02f));
                T(store)(weight_3 + j * 80 + i, T(pick)(__builtin_convertvector((-(int64_t)((j0 + j) < 64)) | (t_0 <=
                    ((j0 + j) / 64)), T(mask)), T(exp2)((1e+02f) - t_3) * 0.7888609f,
                    ((((j0 + j) % 64) == 63) ? T(load)(weight_3 + j * 80 + i) * T(exp2)(weight_2_1 - t_2) : T(exp2)(0.0f
                    - t_2) * (float)(-1)) * T(exp2)(t_2 - t_3)) * T(exp2)(t_3));
            }
        }
        if ((i0 + query_start + 1) < j1) { /* the tile is partly outside the mask */
            /* weight_3 = select(j <= (i + query_start), weight_3, -INFINITY) */
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                const T(ints) t_4 = (i0 + i + T(lane)) + query_start;
                for (int64_t j = 0; j < j1 - j0; j++) {
                    T(store)(weight_3 + j * 80 + i, T(pick)(__builtin_convertvector((j0 + j) <= t_4, T(mask)),
                        T(load)(weight_3 + j * 80 + i), T(splat)(-INFINITY)));
                }
            }
        }
        /* adds the keys of the tile to the candidates of each row */
        T(dot12)(i1 - i0, best, best_known, weight_3, (struct attn_range){j0, j1});
    }
    /* the numbers of the best candidates of each row, of all threads */
    T(dot13)(i1 - i0, best, best_known, (int32_t *)call->array[ARRAY_taken].at + ((b * n_q) + i0) * 16, share);
}
#include <attnrt/kernel/end.h>
#else
#ifdef __cplusplus
#error "nsa_selected.c is C, not C++: compile it with a C compiler"
#elif !defined __STDC_VERSION__ || __STDC_VERSION__ < 199901L
#error "nsa_selected.c is C11, not C89: compile it without -std=, or with -std=gnu11"
extern int nsa_selected_is_c11;
#elif !defined __GNUC__
#error "nsa_selected.c uses GNU C vector extensions: compile it with gcc or clang"
extern int nsa_selected_is_gnu_c;
#else
#include "nsa_selected.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include <attnrt/kernel/optimize.h>
#include <attnrt/kernel/call.h>
#include <attnrt/kernel/masks.h>

/* the numbers of the arrays of a call */
enum {
    ARRAY_q, ARRAY_k, ARRAY_v, ARRAY_out, ARRAY_qg_array, ARRAY_kc_array, ARRAY_lse_array, ARRAY_ks_array,
    ARRAY_vc_array, ARRAY_vs_array, ARRAY_gate_array, ARRAY_taken
};

#ifdef __FILE_NAME__
#define LOOPS __FILE_NAME__ /* this file, whose first part has the loops */
#else
#define LOOPS "nsa_selected.c"
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
    {"qg", ATTN_F32, 4, {ATTN_BATCH, 16, ATTN_N_Q, 64}, offsetof(struct nsa_selected_params, qg), 0,
        offsetof(struct nsa_selected_strides, qg), 0, 1, ATTN_NO_LIMITS},
    {"kc", ATTN_F32, 4, {ATTN_BATCH, 1, ATTN_N_K, 64}, offsetof(struct nsa_selected_params, kc), 0,
        offsetof(struct nsa_selected_strides, kc), 0, 1, ATTN_NO_LIMITS},
    {"lse", ATTN_F32, 3, {ATTN_BATCH, ATTN_N_Q, 16}, offsetof(struct nsa_selected_params, lse), 0,
        offsetof(struct nsa_selected_strides, lse), 0, 1, ATTN_NO_LIMITS},
    {"ks", ATTN_F32, 4, {ATTN_BATCH, ATTN_KV_HEADS, ATTN_N_K, 64}, offsetof(struct nsa_selected_params, ks), 0,
        offsetof(struct nsa_selected_strides, ks), 0, 1, ATTN_NO_LIMITS},
    {"vc", ATTN_F32, 4, {ATTN_BATCH, 1, ATTN_N_K, 64}, offsetof(struct nsa_selected_params, vc), 0,
        offsetof(struct nsa_selected_strides, vc), 0, 1, ATTN_NO_LIMITS},
    {"vs", ATTN_F32, 4, {ATTN_BATCH, ATTN_KV_HEADS, ATTN_N_K, 64}, offsetof(struct nsa_selected_params, vs), 0,
        offsetof(struct nsa_selected_strides, vs), 0, 1, ATTN_NO_LIMITS},
    {"gate", ATTN_F32, 4, {ATTN_BATCH, ATTN_HEADS, ATTN_N_Q, 3}, offsetof(struct nsa_selected_params, gate), 0,
        offsetof(struct nsa_selected_strides, gate), 0, 1, ATTN_NO_LIMITS},
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
    {.name = "qg", .access = {ACCESS_READ, ACCESS_NONE}, .dtype = ATTN_F32, .rows = ROWS_OF_QUERIES,
        .origin = FROM_PARAMS, .param = 0, .axis = {0, 1, 2}, .has_rows = 1},
    {.name = "kc", .access = {ACCESS_READ, ACCESS_NONE}, .dtype = ATTN_F32, .rows = ROWS_OF_KEYS, .origin = FROM_PARAMS,
        .param = 1, .axis = {0, 1, 2}, .has_rows = 1},
    {.name = "lse", .access = {ACCESS_READ, ACCESS_NONE}, .dtype = ATTN_F32, .rows = ROWS_OF_QUERIES,
        .origin = FROM_PARAMS, .param = 2, .axis = {0, -1, 1}, .has_rows = 1},
    {.name = "ks", .access = {ACCESS_READ, ACCESS_NONE}, .dtype = ATTN_F32, .rows = ROWS_OF_KEYS, .origin = FROM_PARAMS,
        .param = 3, .axis = {0, 1, 2}, .has_rows = 1},
    {.name = "vc", .access = {ACCESS_READ, ACCESS_NONE}, .dtype = ATTN_F32, .rows = ROWS_OF_KEYS, .origin = FROM_PARAMS,
        .param = 4, .axis = {0, 1, 2}, .has_rows = 1},
    {.name = "vs", .access = {ACCESS_READ, ACCESS_NONE}, .dtype = ATTN_F32, .rows = ROWS_OF_KEYS, .origin = FROM_PARAMS,
        .param = 5, .axis = {0, 1, 2}, .has_rows = 1},
    {.name = "gate", .access = {ACCESS_READ, ACCESS_NONE}, .dtype = ATTN_F32, .rows = ROWS_OF_QUERIES,
        .origin = FROM_PARAMS, .param = 6, .axis = {0, 1, 2}, .has_rows = 1},
    {.name = "taken", .access = {ACCESS_NONE, ACCESS_NONE}, .dtype = ATTN_I32, .rows = ROWS_OF_QUERIES,
        .origin = FROM_LISTS, .elements = 16, .sizes = 1 << -ATTN_BATCH | 1 << -ATTN_N_Q},
};

#if defined(__x86_64__)
static int runs_v4(void)
{
    return attn_x86_64_level() >= 4;
}
static const struct program programs_v4[] = {
    {.role = RUN_FORWARD, .form = FORM_FEW,
     .head = nsa_selected_few_v4, .tile = 0, .own = 601472, .few_rows = 64, .lanes = 16, .of_pair = 128,
         .shared = 133888, .slot = 50880, .slots = 4, .together = 1},
    {.role = RUN_FORWARD,
     .rows = nsa_selected_rows_v4, .tile = 64, .own = 243904, .of_pair = 128},
    {.role = RUN_SELECT,
     .head = nsa_selected_select_v4, .tile = 64, .own = 2033920, .of_pair = 128, .units = 1, .unit_batch = 1,
         .together = 1},
};
#endif
#if defined(__x86_64__)
static int runs_v3(void)
{
    return attn_x86_64_level() >= 3;
}
static const struct program programs_v3[] = {
    {.role = RUN_FORWARD, .form = FORM_FEW,
     .head = nsa_selected_few_v3, .tile = 0, .own = 339328, .few_rows = 64, .lanes = 8, .of_pair = 128,
         .shared = 133888, .slot = 50880, .slots = 4, .together = 1},
    {.role = RUN_FORWARD,
     .rows = nsa_selected_rows_v3, .tile = 64, .own = 243904, .of_pair = 128},
    {.role = RUN_SELECT,
     .head = nsa_selected_select_v3, .tile = 64, .own = 2033920, .of_pair = 128, .units = 1, .unit_batch = 1,
         .together = 1},
};
#endif
static const struct program programs_any[] = {
    {.role = RUN_FORWARD, .form = FORM_FEW,
     .head = nsa_selected_few_any, .tile = 0, .own = 208256, .few_rows = 64, .lanes = 4, .of_pair = 128,
         .shared = 133888, .slot = 50880, .slots = 4, .together = 1},
    {.role = RUN_FORWARD,
     .rows = nsa_selected_rows_any, .tile = 64, .own = 243904, .of_pair = 128},
    {.role = RUN_SELECT,
     .head = nsa_selected_select_any, .tile = 64, .own = 2033920, .of_pair = 128, .units = 1, .unit_batch = 1,
         .together = 1},
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
    .layout = KERNEL_LAYOUT, .name = "nsa_selected", .openmp = OPENMP,
    .target = target, .targets = sizeof target / sizeof *target - 1,
    .array = array, .arrays = sizeof array / sizeof *array,
    .param = param, .params = 7, .params_bytes = sizeof(struct nsa_selected_params),
    .dtype = ATTN_F32, .key_dtype = ATTN_F32, .value_dtype = ATTN_F32, .real = sizeof(float), .element = sizeof(float),
    .head_dim = 64, .value_dim = 64, .key_row = 64, .value_row = 64,
    .strided = 1, .strides = offsetof(struct nsa_selected_params, strides),
    .shares = 1,
    .positions = 1,
    .ids = -1,
    .corrected = -1,
    .lists = 1,
    .solution = -1,
};

/* ==== the interface ==== */
size_t nsa_selected_params_size(void) { return attn_call_params_size(&kernel); }
int nsa_selected_params_init(struct nsa_selected_params *params, uint64_t seed, void *storage)
{
    return attn_call_params_init(&kernel, params, seed, storage);
}
size_t nsa_selected_workspace(const struct attn_problem *problem) { return attn_call_workspace(&kernel, problem); }
int nsa_selected_forward(const struct attn_problem *problem, const struct nsa_selected_params *params, const float *q,
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
const struct attn_kernel nsa_selected_kernel = {
    .name = "nsa_selected", .version = "0.2.0", .dtype = ATTN_F32, .head_dim = 64, .value_dim = 64,
    .params = 7, .param = param, .params_bytes = sizeof(struct nsa_selected_params),
    .params_size = nsa_selected_params_size, .params_init = params_init_any, .forward = forward_any,
    .workspace = nsa_selected_workspace,
    .key_dtype = ATTN_F32, .value_dtype = ATTN_F32,
    .strides = offsetof(struct nsa_selected_params, strides), .strides_bytes = sizeof(struct nsa_selected_strides),
    .before = INT64_MAX, .after = 0, .period = 0, .names_heads = 0, .names_sequences = 0, .in_parts = 0,
    .saved_power = 0, .has_sink = 0, .open_keys = 0, .end_of_keys = INT64_MAX,
};
#endif /* a compiler of this language */
#endif /* SECTION */
