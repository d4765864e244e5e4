/* softmax_mrope.c, made by attnc 0.2.0: attnc softmax_mrope.yaml
   C11 with GNU extensions, for a C compiler; C++ includes softmax_mrope.h.
   causal softmax attention over text, images and videos, rotated by the frame, row and column of each token
   Wang et al., Qwen2-VL (arXiv 2024), section 2.1, multimodal rotary position embedding; positions [B, Nk, 3];
   for text all three are equal

   Computes, in f32, over the axes b (batch), g (key/value head), m (query head of g), i (query), j (key), d (128),
   e (128), t (64), positions_axis_3 (3):
     q [b g m i d]
     k [b g j d]
     v [b g j e]
     positions [b j positions_axis_3], learned parameter
     rope_angle [t], constant
     x5 [b j t] = cos(id(positions, b * n_k + j, max(min(t < 16 ? 0 : t < 40 ? 1 : 2, 2), 0)) * 1 * rope_angle)
     x6 [b j t] = sin(id(positions, b * n_k + j, max(min(t < 16 ? 0 : t < 40 ? 1 : 2, 2), 0)) * 1 * rope_angle)
     x7 [b g j d] = k * x5[b, j, d % 64] + k[b, g, j, d < 64 ? d + 64 : d + -64] * x6[b, j, d % 64] * (d < 64 ? -1 : 1)
     x8 [b i t] = cos(id(positions, b * n_k + max(min(i + query_start, n_k + -1), 0),
     max(min(t < 16 ? 0 : t < 40 ? 1 : 2, 2), 0)) * 1 * rope_angle)
     x9 [b i t] = sin(id(positions, b * n_k + max(min(i + query_start, n_k + -1), 0),
     max(min(t < 16 ? 0 : t < 40 ? 1 : 2, 2), 0)) * 1 * rope_angle)
     x10 [b g m i d] = q * x8[b, i, d % 64] + q[b, g, m, i, d < 64 ? d + 64 : d + -64] * x9[b, i,
     d % 64] * (d < 64 ? -1 : 1)
     x11 [b g m i j] = sum over d of x10 * x7
     x12 [b g m i j] = exp(x11 * 0.08838834764831843)
     x13 [b g m i] = sum over j of x12 if j <= i + query_start
     x14 [b g m i e] = sum over j of x12 * v if j <= i + query_start
     x15 [b g m i e] = x13 == 0 ? 0 : x14 / x13
     out = x15
   query_start is the position of the first query: problem.query_start[b], or n_k - n_q if that is NULL.

   How: each vector lane holds one query. Keys are processed in tiles,
   so row sums and maxima need no reduction across lanes.
   The sums of a tile start from zero and are added to the sums so far. Tiles that no query sees are skipped.
   For few queries each lane holds one key. The queries of all heads that share keys are the rows of one tile,
   so each key is read once.
   The chunks of keys are divided among the threads. Their sums are added in the order of the chunks.
     x86-64-v4  quadratic tiles of 32 queries and 96 keys, in blocks of 256 queries;
     543744 bytes of workspace per thread
     x86-64-v4  few       tiles of 64 queries and 128 keys; 511296 bytes of workspace per thread
     x86-64-v3  quadratic tiles of 16 queries and 96 keys, in blocks of 128 queries;
     345600 bytes of workspace per thread
     x86-64-v3  few       tiles of 64 queries and 128 keys; 511296 bytes of workspace per thread
     generic    quadratic tiles of 16 queries and 96 keys, in blocks of 64 queries; 246528 bytes of workspace per thread
     generic    few       tiles of 64 queries and 128 keys; 511296 bytes of workspace per thread

   Contents:
     loops      softmax_mrope_rows, softmax_mrope_few, softmax_mrope_prepare, softmax_mrope_extend,
     softmax_mrope_extend_few
     targets    x86-64-v4, x86-64-v3, generic
     tables     arrays and programs, for the functions of attnrt that call the loops
     interface  softmax_mrope_workspace, softmax_mrope_forward, softmax_mrope_extend, softmax_mrope_kernel
   The file includes itself, so that the loops are compiled once for each target. T(name) is a name with the target's
   suffix, LANES the elements of its vectors, and OF(…) a number for each target.

   Compile with: cc -O2 -fopenmp softmax_mrope.c … -lattnrt -lm */
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
    T(dot)(/*vectors=*/2, lanes, rows, /*tail=*/-1, /*steps=*/128, /*span=*/32, a, /*a_row=*/1, /*a_step=*/96, b,
        /*b_step=*/OF(32, 16, 16), c, /*c_row=*/OF(32, 16, 16), /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL);
}
TARGET APART void T(dot1)(int64_t lanes, int64_t steps, const float *a, int64_t a_step, const float *b, float *c,
    const float *factor, float *compensation)
{
    T(dot_finite)(/*vectors=*/2, lanes, /*rows=*/128, /*tail=*/2, steps, /*span=*/192, a, /*a_row=*/1, a_step, b,
        /*b_step=*/OF(32, 16, 16), c, /*c_row=*/OF(32, 16, 16), /*update=*/3, factor, compensation);
}
TARGET APART void T(dot2)(int64_t lanes, int64_t steps, const float *a, int64_t a_step, const float *b, float *c,
    const float *factor, float *compensation)
{
    T(dot)(/*vectors=*/2, lanes, /*rows=*/128, /*tail=*/2, steps, /*span=*/192, a, /*a_row=*/1, a_step, b,
        /*b_step=*/OF(32, 16, 16), c, /*c_row=*/OF(32, 16, 16), /*update=*/3, factor, compensation);
}
TARGET APART void T(dot3)(int64_t lanes, int64_t rows, const float *a, const float *b, float *c)
{
    T(dot)(/*vectors=*/OF(4, 2, 2), lanes, rows, /*tail=*/-1, /*steps=*/128, /*span=*/32, a, /*a_row=*/1, /*a_step=*/64,
        b, /*b_step=*/144, c, /*c_row=*/144, /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL);
}
TARGET APART void T(dot4)(int64_t rows, int64_t steps, const float *a, const float *b, int64_t b_step, float *c)
{
    T(dot_finite_lanes)(/*fetched=*/1, /*vectors=*/OF(4, 2, 2), /*lanes=*/128, rows, /*tail=*/-1, steps, /*span=*/192,
        a, /*a_row=*/144, /*a_step=*/1, b, b_step, c, /*c_row=*/144, /*update=*/1, /*factor=*/NULL,
        /*compensation=*/NULL);
}
#if OF(1, 0, 0)
TARGET APART void T(dot5)(int64_t rows, int64_t steps, const float *a, const float *b, int64_t b_step, float *c,
    int64_t early)
#else
TARGET APART void T(dot5)(int64_t rows, int64_t steps, const float *a, const float *b, int64_t b_step, float *c)
#endif
{
#if OF(1, 0, 0)
    T(dot_fetched)(/*vectors=*/4, /*lanes=*/128, rows, /*tail=*/-1, steps, /*span=*/192, a, /*a_row=*/144, /*a_step=*/1,
        b, b_step, c, /*c_row=*/144, /*update=*/1, /*factor=*/NULL, /*compensation=*/NULL, early);
#endif
#if OF(0, 1, 0)
    T(dot_fetched)(/*vectors=*/2, /*lanes=*/128, rows, /*tail=*/-1, steps, /*span=*/192, a, /*a_row=*/144, /*a_step=*/1,
        b, b_step, c, /*c_row=*/144, /*update=*/1, /*factor=*/NULL, /*compensation=*/NULL);
#endif
#if OF(0, 0, 1)
    T(dot_fetched)(/*vectors=*/2, /*lanes=*/128, rows, /*tail=*/-1, steps, /*span=*/192, a, /*a_row=*/144, /*a_step=*/1,
        b, b_step, c, /*c_row=*/144, /*update=*/1, /*factor=*/NULL, /*compensation=*/NULL, /*early=*/64);
#endif
}
TARGET APART void T(dot6)(int64_t lanes, int64_t rows, const float *a, int64_t a_row, const float *b, float *c,
    const float *next, int64_t next_row, const float *result, int64_t result_row, int64_t results)
{
    T(dot_ahead)(/*vectors=*/OF(4, 2, 2), lanes, rows, /*tail=*/-1, /*steps=*/128, /*span=*/32, a, a_row, /*a_step=*/1,
        b, /*b_step=*/80, c, /*c_row=*/80, /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL, next, next_row,
        /*width=*/128, result, result_row, /*result_width=*/128, results);
}
TARGET APART void T(dot7)(int64_t lanes, int64_t steps, const float *a, int64_t a_step, const float *b, float *c,
    const float *factor, float *compensation)
{
    T(dot_finite)(/*vectors=*/OF(4, 2, 2), lanes, /*rows=*/128, /*tail=*/2, steps, /*span=*/192, a, /*a_row=*/1, a_step,
        b, /*b_step=*/80, c, /*c_row=*/80, /*update=*/3, factor, compensation);
}
TARGET APART void T(dot8)(int64_t lanes, int64_t steps, const float *a, int64_t a_step, const float *b, float *c,
    const float *factor, float *compensation)
{
    T(dot)(/*vectors=*/OF(4, 2, 2), lanes, /*rows=*/128, /*tail=*/2, steps, /*span=*/192, a, /*a_row=*/1, a_step, b,
        /*b_step=*/80, c, /*c_row=*/80, /*update=*/3, factor, compensation);
}
#if OF(1, 0, 0)
TARGET APART void T(dot9)(int64_t rows, int64_t columns, const float *a, const float *b, int64_t b_row, float *c,
    int64_t early)
#else
TARGET APART void T(dot9)(int64_t rows, int64_t columns, const float *a, const float *b, int64_t b_row, float *c)
#endif
{
#if OF(1, 0, 0)
    T(dot_along)(rows, columns, /*steps=*/128, a, /*a_row=*/144, b, b_row, c, /*c_row=*/144, early);
#endif
#if OF(0, 1, 0)
    T(dot_along)(rows, columns, /*steps=*/128, a, /*a_row=*/144, b, b_row, c, /*c_row=*/144);
#endif
#if OF(0, 0, 1)
    T(dot_along)(rows, columns, /*steps=*/128, a, /*a_row=*/144, b, b_row, c, /*c_row=*/144, /*early=*/64);
#endif
}

/* Computes task number `task`: one tile of queries of one head. `work` is this thread's workspace. */
TARGET static void T(softmax_mrope_rows)(const struct call *call, int64_t task, unsigned char *work)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_q = call->p.n_q;
    const int64_t n_k = call->p.n_k;
    const int64_t tiles = (n_q + (16 * LANES) - 1) / (16 * LANES), i0 = (tiles - 1 - task % tiles) * (16 * LANES),
        i1 = min(i0 + (16 * LANES), n_q);
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
    const int32_t *const positions_array = (const int32_t *)call->array[ARRAY_positions_array].at;
    const int64_t positions_array_stride_0 = call->array[ARRAY_positions_array].stride[0];
    const int64_t positions_array_stride_1 = call->array[ARRAY_positions_array].stride[1];
    const int64_t positions_array_stride_2 = call->array[ARRAY_positions_array].stride[2];
    float *const key_cos = (float *)(void *)(work + 0); /* [t: 64, j: 96] */
    float *const key_sin = (float *)(void *)(work + 24576); /* [t: 64, j: 96] */
    float *const key = (float *)(void *)(work + 49152); /* [d: 128, j: 96] */
    float *const query_cos = (float *)(void *)(work + 0); /* [t: 64, i: OF(32, 16, 16)] */
    float *const query_sin = (float *)(void *)(work + OF(8192, 4096, 4096)); /* [t: 64, i: OF(32, 16, 16)] */
    float *const all_query = (float *)(void *)(work + 98304); /* [d: 128, i: OF(32, 16, 16), OF(8, 8, 4) times] */
    float *const score = (float *)(void *)(work + 0); /* [j: 96, i: OF(32, 16, 16)] */
    float *const all_row_max = (float *)(void *)(work + (8192 * LANES + 98304)); /* [i: OF(32, 16, 16), OF(8, 8,
        4) times] */
    float *const old_max = (float *)(void *)(work + OF(12288, 6144, 6144)); /* [i: OF(32, 16, 16)] */
    float *const all_row_sum = (float *)(void *)(work + (8256 * LANES + 98304)); /* [i: OF(32, 16, 16), OF(8, 8,
        4) times] */
    float *const all_row_sum_compensation = (float *)(void *)(work + (8320 * LANES + 98304)); /* [i: OF(32, 16, 16),
        OF(8, 8, 4) times] */
    float *const all_sum = (float *)(void *)(work + (8384 * LANES + 98304)); /* [e: 128, i: OF(32, 16, 16), OF(8, 8,
        4) times] */
    float *const all_sum_compensation = (float *)(void *)(work + (16576 * LANES + 98304)); /* [e: 128, i: OF(32, 16,
        16), OF(8, 8, 4) times] */
    float *const result = (float *)(void *)(work + 0); /* [e: 128, i: OF(32, 16, 16)] */
    float *const out = (float *)call->array[ARRAY_out].at + b * call->array[ARRAY_out].strides.batch + (g * members + m)
        * call->array[ARRAY_out].strides.head;
    const int64_t out_row = call->array[ARRAY_out].strides.row;
    float *const q_tile = (float *)(void *)(work + OF(16384, 8192, 8192)); /* [d: 128, i: OF(32, 16, 16)] */
    float *const k_tile = (float *)(void *)(work + (24768 * LANES + 98304)); /* [d: 128, j: 96] */
    for (int64_t i_next = i0, i_block = i0, i_end = i1; i_next < i_end; i_next += OF(32, 16, 16)) {
        const int64_t i0 = i_next, i1 = min(i0 + OF(32, 16, 16), i_end);
        float *const query = all_query + (i0 - i_block) / OF(32, 16, 16) * OF(4096, 2048, 2048);
        float *const row_max = all_row_max + (i0 - i_block) / OF(32, 16, 16) * OF(32, 16, 16);
        float *const row_sum = all_row_sum + (i0 - i_block) / OF(32, 16, 16) * OF(32, 16, 16);
        float *const row_sum_compensation = all_row_sum_compensation + (i0 - i_block) / OF(32, 16, 16) * OF(32, 16, 16);
        float *const sum = all_sum + (i0 - i_block) / OF(32, 16, 16) * OF(4096, 2048, 2048);
        float *const sum_compensation = all_sum_compensation + (i0 - i_block) / OF(32, 16, 16) * OF(4096, 2048, 2048);
        /* q_tile = q, with zeros beyond the last row */
        T(transpose_padded)(q + i0 * q_row, q_row, i1 - i0, 128, q_tile, OF(32, 16, 16), LANES);
        /* query_cos = cos((id(positions, (b * n_k) + max(min(i + query_start, n_k + -1), 0), max(min(select(t < 16, 0,
           select(t < 40, 1, 2 ... */
        const int64_t t_2 = n_k - 1;
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            const T(ints) t_3 = (((((((i0 + i + T(lane)) + query_start) < t_2) & ((i0 + i + T(lane)) + query_start)) |
                (~(((i0 + i + T(lane)) + query_start) < t_2) & (t_2 - (T(ints)){0}))) > 0) & (((((i0 + i + T(lane)) +
                query_start) < t_2) & ((i0 + i + T(lane)) + query_start)) | (~(((i0 + i + T(lane)) + query_start) < t_2)
                & (t_2 - (T(ints)){0})))) | (~((((((i0 + i + T(lane)) + query_start) < t_2) & ((i0 + i + T(lane)) +
                query_start)) | (~(((i0 + i + T(lane)) + query_start) < t_2) & (t_2 - (T(ints)){0}))) > 0) & (0 -
                (T(ints)){0}));
            for (int64_t t = 0; t < 64; t++) {
                const T(ints) rows_1 = t_3;
                T(ints) id_0 = (max(min((t < 16) ? 0 : ((t < 40) ? 1 : 2), 2), 0) - (T(ints)){0});
                for (int lane = 0; lane < LANES; lane++) id_0[lane] = id_along(positions_array + (b +
                    call->first_sequence) * positions_array_stride_0 + min(rows_1[lane],
                    n_k - 1) * positions_array_stride_1, id_0[lane], 3, positions_array_stride_2);
                const T(wide) angle4 = (__builtin_convertvector(id_0, T(wide)) * 1.0) * rope_angle[t];
                T(store)(query_cos + t * OF(32, 16, 16) + i, T(cos)(&angle4));
                const T(ints) rows_6 = t_3;
                T(ints) id_5 = (max(min((t < 16) ? 0 : ((t < 40) ? 1 : 2), 2), 0) - (T(ints)){0});
                for (int lane = 0; lane < LANES; lane++) id_5[lane] = id_along(positions_array + (b +
                    call->first_sequence) * positions_array_stride_0 + min(rows_6[lane],
                    n_k - 1) * positions_array_stride_1, id_5[lane], 3, positions_array_stride_2);
                const T(wide) angle7 = (__builtin_convertvector(id_5, T(wide)) * 1.0) * rope_angle[t];
                T(store)(query_sin + t * OF(32, 16, 16) + i, T(sin)(&angle7));
            }
        }
        /* query = ((q_tile * query_cos) + ((q_tile * query_sin) * select(d < 64, -1.0f, 1.0f))) * 0.12751743f */
        for (int64_t d = 0; d < 128; d++) {
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                T(store)(query + d * OF(32, 16, 16) + i, ((T(load)(q_tile + d * OF(32, 16,
                    16) + i) * T(load)(query_cos + (d % 64) * OF(32, 16,
                    16) + i)) + ((T(load)(q_tile + ((d < 64) ? (d + 64) : (d - 64)) * OF(32, 16,
                    16) + i) * T(load)(query_sin + (d % 64) * OF(32, 16,
                    16) + i)) * (float)((d < 64) ? (-1.0) : 1.0))) * 0.12751743f);
            }
        }
        /* row_max = -FLT_MAX; row_sum = 0.0f; row_sum_compensation = 0.0f */
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            T(store)(row_max + i, T(splat)(-FLT_MAX));
            T(store)(row_sum + i, T(splat)(0.0f));
            T(store)(row_sum_compensation + i, T(splat)(0.0f));
        }
        /* sum = 0.0f; sum_compensation = 0.0f */
        for (int64_t e = 0; e < 128; e++) {
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                T(store)(sum + e * OF(32, 16, 16) + i, T(splat)(0.0f));
                T(store)(sum_compensation + e * OF(32, 16, 16) + i, T(splat)(0.0f));
            }
        }
    }
    for (int64_t j0 = 0, j_end = min(n_k, i1 + query_start); j0 < j_end; j0 += 96) {
        const int64_t j1 = min(j0 + 96, j_end);
        /* k_tile = k, with zeros beyond the last row */
        T(transpose_padded)(k + j0 * k_row, k_row, j1 - j0, 128, k_tile, 96, 64);
        /* key_cos = cos((id(positions, (b * n_k) + j, max(min(select(t < 16, 0, select(t < 40, 1, 2)), 2),
           0)) * 1.0f) * rope_angle); key_ ... */
        for (int64_t j = 0; j < j1 - j0; j += LANES) {
            const T(ints) t_10 = j0 + j + T(lane);
            for (int64_t t = 0; t < 64; t++) {
                const T(ints) rows_9 = t_10;
                T(ints) id_8 = (max(min((t < 16) ? 0 : ((t < 40) ? 1 : 2), 2), 0) - (T(ints)){0});
                for (int lane = 0; lane < LANES; lane++) id_8[lane] = id_along(positions_array + (b +
                    call->first_sequence) * positions_array_stride_0 + min(rows_9[lane],
                    n_k - 1) * positions_array_stride_1, id_8[lane], 3, positions_array_stride_2);
                const T(wide) angle11 = (__builtin_convertvector(id_8, T(wide)) * 1.0) * rope_angle[t];
                T(store)(key_cos + t * 96 + j, T(cos)(&angle11));
                const T(ints) rows_13 = t_10;
                T(ints) id_12 = (max(min((t < 16) ? 0 : ((t < 40) ? 1 : 2), 2), 0) - (T(ints)){0});
                for (int lane = 0; lane < LANES; lane++) id_12[lane] = id_along(positions_array + (b +
                    call->first_sequence) * positions_array_stride_0 + min(rows_13[lane],
                    n_k - 1) * positions_array_stride_1, id_12[lane], 3, positions_array_stride_2);
                const T(wide) angle14 = (__builtin_convertvector(id_12, T(wide)) * 1.0) * rope_angle[t];
                T(store)(key_sin + t * 96 + j, T(sin)(&angle14));
            }
        }
        /* key = (k_tile * key_cos) + ((k_tile * key_sin) * select(d < 64, -1.0f, 1.0f)) */
        for (int64_t d = 0; d < 128; d++) {
            for (int64_t j = 0; j < j1 - j0; j += LANES) {
                T(store)(key + d * 96 + j, (T(load)(k_tile + d * 96 + j) * T(load)(key_cos + (d % 64) * 96 + j)) +
                    ((T(load)(k_tile + ((d < 64) ? (d + 64) : (d - 64)) * 96 + j) * T(load)(key_sin + (d % 64) * 96 +
                    j)) * (float)((d < 64) ? (-1.0) : 1.0)));
            }
        }
        for (int64_t i_next = i0, i_block = i0, i_end = i1; i_next < i_end; i_next += OF(32, 16, 16)) {
            const int64_t i0 = i_next, i1 = min(i0 + OF(32, 16, 16), i_end);
            float *const query = all_query + (i0 - i_block) / OF(32, 16, 16) * OF(4096, 2048, 2048);
            float *const row_max = all_row_max + (i0 - i_block) / OF(32, 16, 16) * OF(32, 16, 16);
            float *const row_sum = all_row_sum + (i0 - i_block) / OF(32, 16, 16) * OF(32, 16, 16);
            float *const row_sum_compensation = all_row_sum_compensation + (i0 - i_block) / OF(32, 16, 16) * OF(32, 16,
                16);
            float *const sum = all_sum + (i0 - i_block) / OF(32, 16, 16) * OF(4096, 2048, 2048);
            float *const sum_compensation = all_sum_compensation + (i0 - i_block) / OF(32, 16, 16) * OF(4096, 2048,
                2048);
            if (!(j0 < (i1 + query_start))) continue; /* no query sees a key of the tile */
            /* score[j][i] = sum over d of key * query */
            T(dot0)(round_up(i1 - i0, LANES), j1 - j0, key, query, score);
            /* old_max = row_max */
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                T(store)(old_max + i, T(load)(row_max + i));
            }
            if ((i0 + query_start + 1) < j1) { /* the tile is partly outside the mask */
                /* score = select(j <= (i + query_start), score, -INFINITY) */
                for (int64_t i = 0; i < i1 - i0; i += LANES) {
                    const T(ints) t_15 = (i0 + i + T(lane)) + query_start;
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        T(store)(score + j * OF(32, 16, 16) + i, T(pick)(__builtin_convertvector((j0 + j) <= t_15,
                            T(mask)), T(load)(score + j * OF(32, 16, 16) + i), T(splat)(-INFINITY)));
                    }
                }
            }
            /* row_max max= score */
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
                            row_max_in[vector][j_chain] = T(max)(row_max_in[vector][j_chain], T(load)(score + j * OF(32,
                                16, 16) + i));
                        }
                    }
                }
                UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += LANES) {
                    T(store)(row_max + i, T(max)(T(load)(row_max + i), T(max)(row_max_in[vector][0],
                        row_max_in[vector][1])));
                }
            }
            /* old_max = exp2(old_max - row_max); row_sum = row_sum * old_max;
               row_sum_compensation = row_sum_compensation * old_max */
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                const T(vec) old_max_16 = T(load)(old_max + i);
                const T(vec) old_max_new17 = T(exp2)(old_max_16 - T(load)(row_max + i));
                T(store)(old_max + i, old_max_new17);
                T(store)(row_sum + i, T(load)(row_sum + i) * old_max_new17);
                T(store)(row_sum_compensation + i, T(load)(row_sum_compensation + i) * old_max_new17);
            }
            /* score = exp2(score - row_max); row_sum += score */
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                const T(vec) row_max_19 = T(load)(row_max + i);
                T(vec) row_sum_in = (T(vec)){0};
                for (int64_t j = 0; j < j1 - j0; j++) {
                    const T(vec) score_18 = T(load)(score + j * OF(32, 16, 16) + i);
                    const T(vec) score_new20 = T(exp2)(score_18 - row_max_19);
                    T(store)(score + j * OF(32, 16, 16) + i, score_new20);
                    row_sum_in += score_new20;
                }
                T(add)(row_sum + i, row_sum_compensation + i, row_sum_in, T(splat)(1));
            }
            /* sum[e][i] = sum * old_max + sum over j of v * score */
            if (__builtin_expect(((i0 + query_start + 1) < j1) && !T(finite)(v + j0 * v_row, v_row, j1 - j0, 128),
                0)) { /* infinity and NaN affect only queries that see them */
                T(dot1)(round_up(i1 - i0, LANES), j1 - j0, v + j0 * v_row, v_row, score, sum, old_max,
                    sum_compensation);
                for (int64_t j = 0; j < j1 - j0; j++) {
                    T(mask) in_region[OF(2, 2, 4)] = {0};
                    if (T(finite)(v + j0 * v_row + j * v_row, 1, 128, 1)) continue;
                    for (int64_t i = 0; i < i1 - i0; i += LANES) {
                        in_region[i / LANES] = __builtin_convertvector((j0 + j) <= ((i0 + i + T(lane)) + query_start),
                            T(mask));
                    }
                    T(add_seen)(128, sum, OF(32, 16, 16), v + j0 * v_row + j * v_row, 1, score + j * OF(32, 16, 16),
                        in_region, i1 - i0);
                }
            } else
                T(dot2)(round_up(i1 - i0, LANES), j1 - j0, v + j0 * v_row, v_row, score, sum, old_max,
                    sum_compensation);
        }
    }
    {
        for (int64_t i_next = i0, i_block = i0, i_end = i1; i_next < i_end; i_next += OF(32, 16, 16)) {
            const int64_t i0 = i_next, i1 = min(i0 + OF(32, 16, 16), i_end);
            float *const row_sum = all_row_sum + (i0 - i_block) / OF(32, 16, 16) * OF(32, 16, 16);
            float *const sum = all_sum + (i0 - i_block) / OF(32, 16, 16) * OF(4096, 2048, 2048);
            /* result = select(row_sum == 0.0f, 0.0f, sum * (1.0f / row_sum)) */
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                const T(vec) row_sum_21 = T(load)(row_sum + i);
                const T(mask) t_22 = row_sum_21 == 0.0f;
                const T(vec) t_23 = 1.0f / row_sum_21;
                for (int64_t e = 0; e < 128; e++) {
                    T(store)(result + e * OF(32, 16, 16) + i, T(pick)(t_22, T(splat)(0.0f), T(load)(sum + e * OF(32, 16,
                        16) + i) * t_23));
                }
            }
            /* out = result, transposed back */
            T(transpose_out)(result, OF(32, 16, 16), 128, i1 - i0, out + i0 * out_row, out_row, LANES);
        }
    }
}

/* Initialises the states: they contain no keys yet. */
TARGET APART void T(softmax_mrope_few_begin)(const struct call *call, int64_t task, const struct share *share,
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
    const int32_t *const positions_array = (const int32_t *)call->array[ARRAY_positions_array].at;
    const int64_t positions_array_stride_0 = call->array[ARRAY_positions_array].stride[0];
    const int64_t positions_array_stride_1 = call->array[ARRAY_positions_array].stride[1];
    const int64_t positions_array_stride_2 = call->array[ARRAY_positions_array].stride[2];
    float *const query_cos = (float *)(void *)(share->shared + 0); /* [t: 64, r: 64] */
    float *const query_sin = (float *)(void *)(share->shared + 16448); /* [t: 64, r: 64] */
    float *const query = (float *)(void *)(share->shared + 32896); /* [d: 128, r: 64] */
    float *const q_tile = (float *)(void *)(share->work + 0); /* [d: 128, r: 64 of 80] */
    /* q_tile = q, with zeros beyond the last row */
    for (int64_t r = r0; r < r0 + round_up(r1 - r0, LANES); r++)
        for (int64_t d = 0; d < 128; d++)
            q_tile[d * 80 + r] = r < r1 ? q[r / n_q * q_head + r % n_q * q_row + d] : 0;
    /* query_cos = cos((id(positions, (b * n_k) + max(min((r % n_q) + query_start, n_k + -1), 0), max(min(select(t < 16,
       0, select(t <  ... */
    const int64_t t_2 = n_k - 1;
    for (int64_t r = r0; r < r1; r += LANES) {
        const T(ints) t_3 = ((((((((r + T(lane)) % n_q) + query_start) < t_2) & (((r + T(lane)) % n_q) + query_start)) |
            (~((((r + T(lane)) % n_q) + query_start) < t_2) & (t_2 - (T(ints)){0}))) > 0) & ((((((r + T(lane)) % n_q) +
            query_start) < t_2) & (((r + T(lane)) % n_q) + query_start)) | (~((((r + T(lane)) % n_q) + query_start) <
            t_2) & (t_2 - (T(ints)){0})))) | (~(((((((r + T(lane)) % n_q) + query_start) < t_2) & (((r + T(lane)) % n_q)
            + query_start)) | (~((((r + T(lane)) % n_q) + query_start) < t_2) & (t_2 - (T(ints)){0}))) > 0) & (0 -
            (T(ints)){0}));
        for (int64_t t = 0; t < 64; t++) {
            const T(ints) rows_1 = t_3;
            T(ints) id_0 = (max(min((t < 16) ? 0 : ((t < 40) ? 1 : 2), 2), 0) - (T(ints)){0});
            for (int lane = 0; lane < LANES; lane++) id_0[lane] = id_along(positions_array + (b + call->first_sequence)
                * positions_array_stride_0 + min(rows_1[lane], n_k - 1) * positions_array_stride_1, id_0[lane], 3,
                positions_array_stride_2);
            const T(wide) angle4 = (__builtin_convertvector(id_0, T(wide)) * 1.0) * rope_angle[t];
            T(store)(query_cos + t * 64 + r, T(cos)(&angle4));
            const T(ints) rows_6 = t_3;
            T(ints) id_5 = (max(min((t < 16) ? 0 : ((t < 40) ? 1 : 2), 2), 0) - (T(ints)){0});
            for (int lane = 0; lane < LANES; lane++) id_5[lane] = id_along(positions_array + (b + call->first_sequence)
                * positions_array_stride_0 + min(rows_6[lane], n_k - 1) * positions_array_stride_1, id_5[lane], 3,
                positions_array_stride_2);
            const T(wide) angle7 = (__builtin_convertvector(id_5, T(wide)) * 1.0) * rope_angle[t];
            T(store)(query_sin + t * 64 + r, T(sin)(&angle7));
        }
    }
    /* query = ((q_tile * query_cos) + ((q_tile * query_sin) * select(d < 64, -1.0f, 1.0f))) * 0.12751743f */
    for (int64_t r = r0; r < r1; r += LANES) {
        for (int64_t d = 0; d < 128; d++) {
            T(store)(query + d * 64 + r, ((T(load)(q_tile + d * 80 + r) * T(load)(query_cos + (d % 64) * 64 + r)) +
                ((T(load)(q_tile + ((d < 64) ? (d + 64) : (d - 64)) * 80 + r) * T(load)(query_sin + (d % 64) * 64 + r))
                * (float)((d < 64) ? (-1.0) : 1.0))) * 0.12751743f);
        }
    }
}

/* Initialises the states: they contain no keys yet. */
TARGET APART void T(softmax_mrope_few_begin_2)(const struct call *call, int64_t task, const struct share *share,
    int64_t iteration)
{
    (void)task;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t r0 = iteration * 16, r1 = min(r0 + 16, rows);
    float *const carried_max = (float *)(void *)(share->shared + 65728); /* [r: 64] */
    float *const carried_sum = (float *)(void *)(share->shared + 65984); /* [r: 64] */
    float *const carried_sum_compensation = (float *)(void *)(share->shared + 103168); /* [r: 64] */
    float *const carried = (float *)(void *)(share->shared + 66240); /* [r: 64, e: 128 of 144] */
    float *const carried_compensation = (float *)(void *)(share->shared + 103424); /* [r: 64, e: 128 of 144] */
    /* carried_max = -FLT_MAX; carried_sum = 0.0f; carried_sum_compensation = 0.0f */
    for (int64_t r = r0; r < r1; r += LANES) {
        T(store)(carried_max + r, T(splat)(-FLT_MAX));
        T(store)(carried_sum + r, T(splat)(0.0f));
        T(store)(carried_sum_compensation + r, T(splat)(0.0f));
    }
    /* carried = 0.0f; carried_compensation = 0.0f */
    for (int64_t r = r0; r < r1; r++) {
        for (int64_t e_first = 0; e_first < 128; e_first += OF(64, 16, 8)) {
            UNROLL for (int64_t vector = 0, e = e_first; vector < OF(4, 2, 2); vector++, e += LANES) {
                T(store)(carried + r * 144 + e, T(splat)(0.0f));
                T(store)(carried_compensation + r * 144 + e, T(splat)(0.0f));
            }
        }
    }
}

/* Sums the keys of a chunk, from zero, into its slot. */
TARGET APART void T(softmax_mrope_few_keys)(const struct call *call, int64_t task, const struct share *share,
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
    const int32_t *const positions_array = (const int32_t *)call->array[ARRAY_positions_array].at;
    const int64_t positions_array_stride_0 = call->array[ARRAY_positions_array].stride[0];
    const int64_t positions_array_stride_1 = call->array[ARRAY_positions_array].stride[1];
    const int64_t positions_array_stride_2 = call->array[ARRAY_positions_array].stride[2];
    float *const key_cos = (float *)(void *)(share->work + 0); /* [t: 64, j: 128 of 144] */
    float *const key_sin = (float *)(void *)(share->work + 36864); /* [t: 64, j: 128 of 144] */
    float *const key = (float *)(void *)(share->work + 73728); /* [d: 128, j: 128 of 144] */
    float *const query = (float *)(void *)(share->shared + 32896); /* [d: 128, r: 64] */
    float *const score = (float *)(void *)(share->work + 0); /* [r: 64, j: 128 of 144] */
    float *const state_max = (float *)(void *)(share->slots + 0); /* [chunk, r: 64] */
    float *const old_max = (float *)(void *)(share->work + 36864); /* [r: 64] */
    float *const state_sum = (float *)(void *)(share->slots + 256); /* [chunk, r: 64] */
    float *const state = (float *)(void *)(share->slots + 512); /* [chunk, r: 64, e: 128 of 144] */
    float *const k_tile = (float *)(void *)(share->work + 147456); /* [d: 128, j: 128 of 144] */
    /* state_max = -FLT_MAX; state_sum = 0.0f */
    for (int64_t r = 0; r < rows; r += LANES) {
        T(store)(state_max + (chunk - chunk0) * 9360 + r, T(splat)(-FLT_MAX));
        T(store)(state_sum + (chunk - chunk0) * 9360 + r, T(splat)(0.0f));
    }
    /* state = 0.0f */
    for (int64_t r = 0; r < rows; r++) {
        for (int64_t e_first = 0; e_first < 128; e_first += OF(64, 16, 8)) {
            UNROLL for (int64_t vector = 0, e = e_first; vector < OF(4, 2, 2); vector++, e += LANES) {
                T(store)(state + (chunk - chunk0) * 9360 + r * 144 + e, T(splat)(0.0f));
            }
        }
    }
    for (int64_t j0 = chunk * 1024, j_end = min(min(n_k, (chunk + 1) * 1024), n_q + query_start); j0 < j_end;
        j0 += 128) {
        const int64_t j1 = min(j0 + 128, j_end);
        /* k_tile = k, with zeros beyond the last row */
        T(transpose_padded)(k + j0 * k_row, k_row, j1 - j0, 128, k_tile, 144, 64);
        /* key_cos = cos((id(positions, (b * n_k) + j, max(min(select(t < 16, 0, select(t < 40, 1, 2)), 2),
           0)) * 1.0f) * rope_angle); key_ ... */
        for (int64_t j = 0; j < j1 - j0; j += LANES) {
            const T(ints) t_10 = j0 + j + T(lane);
            for (int64_t t = 0; t < 64; t++) {
                const T(ints) rows_9 = t_10;
                T(ints) id_8 = (max(min((t < 16) ? 0 : ((t < 40) ? 1 : 2), 2), 0) - (T(ints)){0});
                for (int lane = 0; lane < LANES; lane++) id_8[lane] = id_along(positions_array + (b +
                    call->first_sequence) * positions_array_stride_0 + min(rows_9[lane],
                    n_k - 1) * positions_array_stride_1, id_8[lane], 3, positions_array_stride_2);
                const T(wide) angle11 = (__builtin_convertvector(id_8, T(wide)) * 1.0) * rope_angle[t];
                T(store)(key_cos + t * 144 + j, T(cos)(&angle11));
                const T(ints) rows_13 = t_10;
                T(ints) id_12 = (max(min((t < 16) ? 0 : ((t < 40) ? 1 : 2), 2), 0) - (T(ints)){0});
                for (int lane = 0; lane < LANES; lane++) id_12[lane] = id_along(positions_array + (b +
                    call->first_sequence) * positions_array_stride_0 + min(rows_13[lane],
                    n_k - 1) * positions_array_stride_1, id_12[lane], 3, positions_array_stride_2);
                const T(wide) angle14 = (__builtin_convertvector(id_12, T(wide)) * 1.0) * rope_angle[t];
                T(store)(key_sin + t * 144 + j, T(sin)(&angle14));
            }
        }
        /* key = (k_tile * key_cos) + ((k_tile * key_sin) * select(d < 64, -1.0f, 1.0f)) */
        for (int64_t d = 0; d < 128; d++) {
            for (int64_t j = 0; j < j1 - j0; j += LANES) {
                T(store)(key + d * 144 + j, (T(load)(k_tile + d * 144 + j) * T(load)(key_cos + (d % 64) * 144 + j)) +
                    ((T(load)(k_tile + ((d < 64) ? (d + 64) : (d - 64)) * 144 + j) * T(load)(key_sin + (d % 64) * 144 +
                    j)) * (float)((d < 64) ? (-1.0) : 1.0)));
            }
        }
        /* score[r][j] = sum over d of query * key */
        T(dot3)(round_up(j1 - j0, LANES), rows, query, key, score);
        /* old_max = state_max */
        for (int64_t r = 0; r < rows; r += LANES) {
            T(store)(old_max + r, T(load)(state_max + (chunk - chunk0) * 9360 + r));
        }
        if ((query_start + 1) < j1) { /* the tile is partly outside the mask */
            /* score = select(j <= ((r % n_q) + query_start), score, -INFINITY) */
            for (int64_t j = 0; j < j1 - j0; j += LANES) {
                const T(ints) t_15 = j0 + j + T(lane);
                for (int64_t r = 0; r < rows; r++) {
                    T(store)(score + r * 144 + j, T(pick)(__builtin_convertvector(t_15 <= ((r % n_q) + query_start),
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
            if (largest > state_max[(chunk - chunk0) * 9360 + r]) state_max[(chunk - chunk0) * 9360 + r] = largest;
        }
        /* old_max = exp2(old_max - state_max); state_sum = state_sum * old_max */
        for (int64_t r = 0; r < rows; r += LANES) {
            const T(vec) old_max_16 = T(load)(old_max + r);
            const T(vec) old_max_new17 = T(exp2)(old_max_16 - T(load)(state_max + (chunk - chunk0) * 9360 + r));
            T(store)(old_max + r, old_max_new17);
            T(store)(state_sum + (chunk - chunk0) * 9360 + r, T(load)(state_sum + (chunk - chunk0) * 9360 + r) *
                old_max_new17);
        }
        /* score = exp2(score - state_max) */
        for (int64_t j = 0; j < j1 - j0; j += LANES) {
            for (int64_t r = 0; r < rows; r++) {
                T(store)(score + r * 144 + j, T(exp2)(T(load)(score + r * 144 + j) - (state_max[(chunk - chunk0) * 9360
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
            state_sum[(chunk - chunk0) * 9360 + r] += total;
        }
        /* state = state * old_max */
        for (int64_t r = 0; r < rows; r++) {
            for (int64_t e_first = 0; e_first < 128; e_first += OF(64, 16, 8)) {
                UNROLL for (int64_t vector = 0, e = e_first; vector < OF(4, 2, 2); vector++, e += LANES) {
                    T(store)(state + (chunk - chunk0) * 9360 + r * 144 + e,
                        T(load)(state + (chunk - chunk0) * 9360 + r * 144 + e) * old_max[r]);
                }
            }
        }
        /* state[r][e] += sum over j of score * v */
        if (__builtin_expect(((query_start + 1) < j1) && !T(finite)(v + j0 * v_row, v_row, j1 - j0, 128),
            0)) { /* infinity and NaN affect only queries that see them */
            T(dot4)(rows, j1 - j0, score, v + j0 * v_row, v_row, state + (chunk - chunk0) * 9360);
            for (int64_t r = 0; r < rows; r++) {
                T(mask) in_region[OF(8, 16, 32)] = {0};
                const int64_t t_18 = (r % n_q) + query_start;
                for (int64_t j = 0; j < j1 - j0; j += LANES) {
                    in_region[j / LANES] = __builtin_convertvector((j0 + j + T(lane)) <= t_18, T(mask));
                }
                T(add_seen_lanes)(128, state + (chunk - chunk0) * 9360 + r * 144, score + r * 144, v + j0 * v_row,
                    v_row, j1 - j0, in_region);
            }
        } else
#if OF(1, 0, 0)
            T(dot5)(rows, j1 - j0, score, v + j0 * v_row, v_row, state + (chunk - chunk0) * 9360,
                attn_is_intel() ? 16 : 0);
#else
            T(dot5)(rows, j1 - j0, score, v + j0 * v_row, v_row, state + (chunk - chunk0) * 9360);
#endif
    }
}

/* Folds the slots of the current chunks, in order, for some elements of the states. */
TARGET APART void T(softmax_mrope_few_fold)(const struct call *call, int64_t task, const struct share *share,
    int64_t iteration)
{
    (void)task;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t r0 = iteration * 16, r1 = min(r0 + 16, rows);
    const int64_t chunk0 = share->chunk0;
    const int64_t chunk1 = share->chunk1;
    float *const state_max = (float *)(void *)(share->slots + 0); /* [chunk, r: 64] */
    float *const state_sum = (float *)(void *)(share->slots + 256); /* [chunk, r: 64] */
    float *const state = (float *)(void *)(share->slots + 512); /* [chunk, r: 64, e: 128 of 144] */
    float *const carried_max = (float *)(void *)(share->shared + 65728); /* [r: 64] */
    float *const carried_factor = (float *)(void *)(share->work + 0); /* [r: 64] */
    float *const slot_factor = (float *)(void *)(share->work + 256); /* [r: 64] */
    float *const carried_sum = (float *)(void *)(share->shared + 65984); /* [r: 64] */
    float *const carried_sum_compensation = (float *)(void *)(share->shared + 103168); /* [r: 64] */
    float *const carried = (float *)(void *)(share->shared + 66240); /* [r: 64, e: 128 of 144] */
    float *const carried_compensation = (float *)(void *)(share->shared + 103424); /* [r: 64, e: 128 of 144] */
    for (int64_t chunk = chunk0; chunk < chunk1; chunk++) {
        /* before_max = carried_max; carried_max max= state_max; carried_factor = exp2(before_max - carried_max);
           slot_factor = exp2(state_ ... */
        for (int64_t r = r0; r < r1; r += LANES) {
            const T(vec) carried_max_19 = T(load)(carried_max + r);
            const T(vec) before_max_new20 = carried_max_19;
            const T(vec) state_max_21 = T(load)(state_max + (chunk - chunk0) * 9360 + r);
            const T(vec) carried_max_new22 = T(max)(T(load)(carried_max + r), state_max_21);
            T(store)(carried_max + r, carried_max_new22);
            const T(vec) carried_factor_new23 = T(exp2)(before_max_new20 - carried_max_new22);
            T(store)(carried_factor + r, carried_factor_new23);
            const T(vec) slot_factor_new24 = T(exp2)(state_max_21 - carried_max_new22);
            T(store)(slot_factor + r, slot_factor_new24);
            const T(vec) carried_sum_25 = T(load)(carried_sum + r);
            T(store)(carried_sum + r, carried_sum_25 * carried_factor_new23);
            T(store)(carried_sum_compensation + r, T(load)(carried_sum_compensation + r) * carried_factor_new23);
            T(add)(carried_sum + r, carried_sum_compensation + r, T(load)(state_sum + (chunk - chunk0) * 9360 + r) *
                slot_factor_new24, T(splat)(1));
        }
        /* before = carried; carried = carried * carried_factor; carried_compensation = carried_compensation *
           carried_factor; carried += s ... */
        for (int64_t r = r0; r < r1; r++) {
            for (int64_t e_first = 0; e_first < 128; e_first += OF(64, 16, 8)) {
                UNROLL for (int64_t vector = 0, e = e_first; vector < OF(4, 2, 2); vector++, e += LANES) {
                    const T(vec) carried_26 = T(load)(carried + r * 144 + e);
                    const float carried_factor_27 = carried_factor[r];
                    T(store)(carried + r * 144 + e, carried_26 * carried_factor_27);
                    T(store)(carried_compensation + r * 144 + e, T(load)(carried_compensation + r * 144 + e) *
                        carried_factor_27);
                    T(add)(carried + r * 144 + e, carried_compensation + r * 144 + e,
                        T(load)(state + (chunk - chunk0) * 9360 + r * 144 + e) * slot_factor[r], T(splat)(1));
                }
            }
        }
    }
}

/* Processes a tile of queries: reads the states. */
TARGET APART void T(softmax_mrope_few_queries)(const struct call *call, int64_t task, const struct share *share,
    int64_t iteration)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_q = call->p.n_q;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t r0 = iteration * 16, r1 = min(r0 + 16, rows);
    const int64_t g = task % kv_heads;
    const int64_t b = task / kv_heads;
    float *const carried_sum = (float *)(void *)(share->shared + 65984); /* [r: 64] */
    float *const carried = (float *)(void *)(share->shared + 66240); /* [r: 64, e: 128 of 144] */
    float *const result = (float *)(void *)(share->work + 0); /* [r: 64, e: 128 of 144] */
    float *const out = (float *)call->array[ARRAY_out].at + b * call->array[ARRAY_out].strides.batch + g * members *
        call->array[ARRAY_out].strides.head;
    const int64_t out_row = call->array[ARRAY_out].strides.row;
    const int64_t out_head = call->array[ARRAY_out].strides.head;
    /* result = select(carried_sum == 0.0f, 0.0f, carried * (1.0f / carried_sum)) */
    for (int64_t r = r0; r < r1; r++) {
        for (int64_t e_first = 0; e_first < 128; e_first += OF(64, 16, 8)) {
            UNROLL for (int64_t vector = 0, e = e_first; vector < OF(4, 2, 2); vector++, e += LANES) {
                const float carried_sum_28 = carried_sum[r];
                T(store)(result + r * 144 + e, (carried_sum_28 == 0.0f) ? T(splat)(0.0f) : T(load)(carried + r * 144 +
                    e) * (1.0f / carried_sum_28));
            }
        }
    }
    /* out = result */
    for (int64_t r = r0; r < r1; r++)
        for (int64_t e = 0; e < 128; e++)
            out[r / n_q * out_head + r % n_q * out_row + e] = result[r * 144 + e];
}

/* Computes head number `task`. Each thread on the head calls this with `share`. */
TARGET static void T(softmax_mrope_few)(const struct call *call, int64_t task, struct share *share)
{
    const int64_t n_k = call->p.n_k;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t chunks = n_k > 0 ? (n_k - 1) / 1024 + 1 : 1;
    for (int64_t iteration = share->number; iteration < ((rows + 63) / 64); iteration += share->threads)
        T(softmax_mrope_few_begin)(call, task, share, iteration);
    for (int64_t iteration = share->number; iteration < ((rows + 15) / 16); iteration += share->threads)
        T(softmax_mrope_few_begin_2)(call, task, share, iteration);
    synchronise(share);
    const int64_t first = 0;
    const int64_t length = segment_length(share, chunks - first);
    for (int64_t segment = share->number; first + segment * length < chunks; segment += share->threads) {
        share->chunk0 = first + segment * length;
        share->chunk1 = min(share->chunk0 + length, chunks);
        for (int64_t iteration = share->chunk0; iteration < share->chunk1; iteration++)
            T(softmax_mrope_few_keys)(call, task, share, iteration);
        for (int64_t group = 0; group < 16; group++) {
            await_segment(share, group, segment);
            const int64_t end = (group + 1) * ((rows + 15) / 16) / 16;
            for (int64_t iteration = group * ((rows + 15) / 16) / 16; iteration < end; iteration++)
                T(softmax_mrope_few_fold)(call, task, share, iteration);
            pass_segment(share, group, segment);
        }
    }
    share->segments += (max(chunks - first, 0) + length - 1) / length;
    synchronise(share);
    for (int64_t iteration = share->number; iteration < ((rows + 15) / 16); iteration += share->threads)
        T(softmax_mrope_few_queries)(call, task, share, iteration);
    synchronise(share);
}

/* Computes task number `task`: prepares a tile of rows of one head for a state. `work` is this thread's workspace. */
TARGET static void T(softmax_mrope_prepare)(const struct call *call, int64_t task, unsigned char *work)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t n_q = call->p.n_q;
    const int64_t n_k = call->p.n_k;
    const int64_t tiles = (n_q + 64 - 1) / 64, i0 = (tiles - 1 - task % tiles) * 64,
        i1 = min(i0 + 64, n_q);
    const int64_t g = task / tiles % kv_heads;
    const int64_t b = task / tiles / kv_heads;
    const int64_t query_start = call->p.query_start ? call->p.query_start[b] : n_k - n_q;
    const float *const q = (const float *)call->array[ARRAY_q].at + b * call->array[ARRAY_q].strides.batch + g /
        call->sharing * call->array[ARRAY_q].strides.head;
    const int64_t q_row = call->array[ARRAY_q].strides.row;
    const int32_t *const positions_array = (const int32_t *)call->array[ARRAY_positions_array].at;
    const int64_t positions_array_stride_0 = call->array[ARRAY_positions_array].stride[0];
    const int64_t positions_array_stride_1 = call->array[ARRAY_positions_array].stride[1];
    const int64_t positions_array_stride_2 = call->array[ARRAY_positions_array].stride[2];
    float *const query_cos = (float *)(void *)(work + 0); /* [t: 64, i: 64 of 80] */
    float *const query_sin = (float *)(void *)(work + 20480); /* [t: 64, i: 64 of 80] */
    float *const result = (float *)(void *)(work + 40960); /* [d: 128, i: 64 of 80] */
    float *const out = (float *)call->array[ARRAY_out].at + b * call->array[ARRAY_out].strides.batch + g *
        call->array[ARRAY_out].strides.head;
    const int64_t out_row = call->array[ARRAY_out].strides.row;
    float *const q_tile = (float *)(void *)(work + 81920); /* [d: 128, i: 64 of 80] */
    /* q_tile = q, with zeros beyond the last row */
    T(transpose_padded)(q + i0 * q_row, q_row, i1 - i0, 128, q_tile, 80, LANES);
    /* query_cos = cos((id(positions, (b * n_k) + max(min(i + query_start, n_k + -1), 0), max(min(select(t < 16, 0,
       select(t < 40, 1, 2 ... */
    const int64_t t_2 = n_k - 1;
    for (int64_t i = 0; i < i1 - i0; i += LANES) {
        const T(ints) t_3 = (((((((i0 + i + T(lane)) + query_start) < t_2) & ((i0 + i + T(lane)) + query_start)) |
            (~(((i0 + i + T(lane)) + query_start) < t_2) & (t_2 - (T(ints)){0}))) > 0) & (((((i0 + i + T(lane)) +
            query_start) < t_2) & ((i0 + i + T(lane)) + query_start)) | (~(((i0 + i + T(lane)) + query_start) < t_2) &
            (t_2 - (T(ints)){0})))) | (~((((((i0 + i + T(lane)) + query_start) < t_2) & ((i0 + i + T(lane)) +
            query_start)) | (~(((i0 + i + T(lane)) + query_start) < t_2) & (t_2 - (T(ints)){0}))) > 0) & (0 -
            (T(ints)){0}));
        for (int64_t t = 0; t < 64; t++) {
            const T(ints) rows_1 = t_3;
            T(ints) id_0 = (max(min((t < 16) ? 0 : ((t < 40) ? 1 : 2), 2), 0) - (T(ints)){0});
            for (int lane = 0; lane < LANES; lane++) id_0[lane] = id_along(positions_array + (b + call->first_sequence)
                * positions_array_stride_0 + min(rows_1[lane], n_k - 1) * positions_array_stride_1, id_0[lane], 3,
                positions_array_stride_2);
            const T(wide) angle4 = (__builtin_convertvector(id_0, T(wide)) * 1.0) * rope_angle[t];
            T(store)(query_cos + t * 80 + i, T(cos)(&angle4));
            const T(ints) rows_6 = t_3;
            T(ints) id_5 = (max(min((t < 16) ? 0 : ((t < 40) ? 1 : 2), 2), 0) - (T(ints)){0});
            for (int lane = 0; lane < LANES; lane++) id_5[lane] = id_along(positions_array + (b + call->first_sequence)
                * positions_array_stride_0 + min(rows_6[lane], n_k - 1) * positions_array_stride_1, id_5[lane], 3,
                positions_array_stride_2);
            const T(wide) angle7 = (__builtin_convertvector(id_5, T(wide)) * 1.0) * rope_angle[t];
            T(store)(query_sin + t * 80 + i, T(sin)(&angle7));
        }
    }
    /* result = (q_tile * query_cos) + ((q_tile * query_sin) * select(d < 64, -1.0f, 1.0f)) */
    for (int64_t d = 0; d < 128; d++) {
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            T(store)(result + d * 80 + i, (T(load)(q_tile + d * 80 + i) * T(load)(query_cos + (d % 64) * 80 + i)) +
                ((T(load)(q_tile + ((d < 64) ? (d + 64) : (d - 64)) * 80 + i) * T(load)(query_sin + (d % 64) * 80 + i))
                * (float)((d < 64) ? (-1.0) : 1.0)));
        }
    }
    /* out = result, transposed back */
    T(transpose_out)(result, 80, 128, i1 - i0, out + i0 * out_row, out_row, LANES);
}

/* Computes task number `task`: one tile of queries of one head. `work` is this thread's workspace. */
TARGET static void T(softmax_mrope_extend)(const struct call *call, int64_t task, unsigned char *work)
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
    const int32_t *const positions_array = (const int32_t *)call->array[ARRAY_positions_array].at;
    const int64_t positions_array_stride_0 = call->array[ARRAY_positions_array].stride[0];
    const int64_t positions_array_stride_1 = call->array[ARRAY_positions_array].stride[1];
    const int64_t positions_array_stride_2 = call->array[ARRAY_positions_array].stride[2];
    float *const query_cos = (float *)(void *)(work + 0); /* [t: 64, i: 64 of 80] */
    float *const query_sin = (float *)(void *)(work + 20480); /* [t: 64, i: 64 of 80] */
    float *const query = (float *)(void *)(work + 40960); /* [d: 128, i: 64 of 80] */
    float *const score = (float *)(void *)(work + 81920); /* [j: 288, i: 64 of 80] */
    float *const row_max = (float *)(void *)(work + 0); /* [i: 64] */
    float *const old_max = (float *)(void *)(work + 256); /* [i: 64] */
    float *const row_sum = (float *)(void *)(work + 512); /* [i: 64] */
    float *const row_sum_compensation = (float *)(void *)(work + 768); /* [i: 64] */
    float *const sum = (float *)(void *)(work + 174080); /* [e: 128, i: 64 of 80] */
    float *const sum_compensation = (float *)(void *)(work + 215040); /* [e: 128, i: 64 of 80] */
    float *const out = (float *)call->array[ARRAY_out].at + b * call->array[ARRAY_out].strides.batch + (g * members + m)
        * call->array[ARRAY_out].strides.head;
    const int64_t out_row = call->array[ARRAY_out].strides.row;
    float *const q_tile = (float *)(void *)(work + 81920); /* [d: 128, i: 64 of 80] */
    int64_t results = i1 - i0; /* rows of out to prefetch during the first product */
    /* q_tile = q, with zeros beyond the last row */
    T(transpose_padded)(q + i0 * q_row, q_row, i1 - i0, 128, q_tile, 80, LANES);
    /* query_cos = cos((id(positions, (b * n_k) + max(min(i + query_start, n_k + -1), 0), max(min(select(t < 16, 0,
       select(t < 40, 1, 2 ... */
    const int64_t t_2 = n_k - 1;
    for (int64_t i = 0; i < i1 - i0; i += LANES) {
        const T(ints) t_3 = (((((((i0 + i + T(lane)) + query_start) < t_2) & ((i0 + i + T(lane)) + query_start)) |
            (~(((i0 + i + T(lane)) + query_start) < t_2) & (t_2 - (T(ints)){0}))) > 0) & (((((i0 + i + T(lane)) +
            query_start) < t_2) & ((i0 + i + T(lane)) + query_start)) | (~(((i0 + i + T(lane)) + query_start) < t_2) &
            (t_2 - (T(ints)){0})))) | (~((((((i0 + i + T(lane)) + query_start) < t_2) & ((i0 + i + T(lane)) +
            query_start)) | (~(((i0 + i + T(lane)) + query_start) < t_2) & (t_2 - (T(ints)){0}))) > 0) & (0 -
            (T(ints)){0}));
        for (int64_t t = 0; t < 64; t++) {
            const T(ints) rows_1 = t_3;
            T(ints) id_0 = (max(min((t < 16) ? 0 : ((t < 40) ? 1 : 2), 2), 0) - (T(ints)){0});
            for (int lane = 0; lane < LANES; lane++) id_0[lane] = id_along(positions_array + (b + call->first_sequence)
                * positions_array_stride_0 + min(rows_1[lane], n_k - 1) * positions_array_stride_1, id_0[lane], 3,
                positions_array_stride_2);
            const T(wide) angle4 = (__builtin_convertvector(id_0, T(wide)) * 1.0) * rope_angle[t];
            T(store)(query_cos + t * 80 + i, T(cos)(&angle4));
            const T(ints) rows_6 = t_3;
            T(ints) id_5 = (max(min((t < 16) ? 0 : ((t < 40) ? 1 : 2), 2), 0) - (T(ints)){0});
            for (int lane = 0; lane < LANES; lane++) id_5[lane] = id_along(positions_array + (b + call->first_sequence)
                * positions_array_stride_0 + min(rows_6[lane], n_k - 1) * positions_array_stride_1, id_5[lane], 3,
                positions_array_stride_2);
            const T(wide) angle7 = (__builtin_convertvector(id_5, T(wide)) * 1.0) * rope_angle[t];
            T(store)(query_sin + t * 80 + i, T(sin)(&angle7));
        }
    }
    /* query = ((q_tile * query_cos) + ((q_tile * query_sin) * select(d < 64, -1.0f, 1.0f))) * 0.12751743f */
    for (int64_t d = 0; d < 128; d++) {
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            T(store)(query + d * 80 + i, ((T(load)(q_tile + d * 80 + i) * T(load)(query_cos + (d % 64) * 80 + i)) +
                ((T(load)(q_tile + ((d < 64) ? (d + 64) : (d - 64)) * 80 + i) * T(load)(query_sin + (d % 64) * 80 + i))
                * (float)((d < 64) ? (-1.0) : 1.0))) * 0.12751743f);
        }
    }
    /* row_max = -FLT_MAX; row_sum = 0.0f; row_sum_compensation = 0.0f */
    for (int64_t i = 0; i < i1 - i0; i += LANES) {
        T(store)(row_max + i, T(splat)(-FLT_MAX));
        T(store)(row_sum + i, T(splat)(0.0f));
        T(store)(row_sum_compensation + i, T(splat)(0.0f));
    }
    /* sum = 0.0f; sum_compensation = 0.0f */
    for (int64_t e = 0; e < 128; e++) {
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            T(store)(sum + e * 80 + i, T(splat)(0.0f));
            T(store)(sum_compensation + e * 80 + i, T(splat)(0.0f));
        }
    }
    for (int64_t j0 = 0, j_end = min(n_k, i1 + query_start); j0 < j_end; j0 += 288) {
        const int64_t j1 = min(j0 + 288, j_end);
        /* score[j][i] = sum over d of k * query */
        T(dot6)(round_up(i1 - i0, LANES), j1 - j0, k + j0 * k_row, k_row, query, score, v + j0 * v_row, v_row,
            out + i0 * out_row, out_row, results);
        results = 0;
        /* old_max = row_max */
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            T(store)(old_max + i, T(load)(row_max + i));
        }
        if ((i0 + query_start + 1) < j1) { /* the tile is partly outside the mask */
            /* score = select(j <= (i + query_start), score, -INFINITY) */
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                const T(ints) t_8 = (i0 + i + T(lane)) + query_start;
                for (int64_t j = 0; j < j1 - j0; j++) {
                    T(store)(score + j * 80 + i, T(pick)(__builtin_convertvector((j0 + j) <= t_8, T(mask)),
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
                UNROLL for (int j_chain = 0; j_chain < 2; j_chain++) row_max_in[vector][j_chain] = T(splat)(-INFINITY);
#endif
            }
#if OF(1, 0, 0)
            for (int64_t j = 0; j < j1 - j0; j++) {
                UNROLL for (int64_t vector = 0, i = i_first; vector < 4; vector++, i += 16) {
                    row_max_in[vector] = T(max)(row_max_in[vector], T(load)(score + j * 80 + i));
#else
            for (int64_t j_first = 0; j_first < j1 - j0; j_first += 2) {
                UNROLL for (int j_chain = 0; j_chain < 2; j_chain++) {
                    const int64_t j = min(j_first + j_chain, j1 - j0 - 1);
                    UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += LANES) {
                        row_max_in[vector][j_chain] = T(max)(row_max_in[vector][j_chain], T(load)(score + j * 80 + i));
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
        /* old_max = exp2(old_max - row_max); row_sum = row_sum * old_max;
           row_sum_compensation = row_sum_compensation * old_max */
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            const T(vec) old_max_9 = T(load)(old_max + i);
            const T(vec) old_max_new10 = T(exp2)(old_max_9 - T(load)(row_max + i));
            T(store)(old_max + i, old_max_new10);
            T(store)(row_sum + i, T(load)(row_sum + i) * old_max_new10);
            T(store)(row_sum_compensation + i, T(load)(row_sum_compensation + i) * old_max_new10);
        }
        /* score = exp2(score - row_max); row_sum += score */
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            const T(vec) row_max_12 = T(load)(row_max + i);
            T(vec) row_sum_in = (T(vec)){0};
            for (int64_t j = 0; j < j1 - j0; j++) {
                const T(vec) score_11 = T(load)(score + j * 80 + i);
                const T(vec) score_new13 = T(exp2)(score_11 - row_max_12);
                T(store)(score + j * 80 + i, score_new13);
                row_sum_in += score_new13;
            }
            T(add)(row_sum + i, row_sum_compensation + i, row_sum_in, T(splat)(1));
        }
        /* sum[e][i] = sum * old_max + sum over j of v * score */
        if (__builtin_expect(((i0 + query_start + 1) < j1) && !T(finite)(v + j0 * v_row, v_row, j1 - j0, 128),
            0)) { /* infinity and NaN affect only queries that see them */
            T(dot7)(round_up(i1 - i0, LANES), j1 - j0, v + j0 * v_row, v_row, score, sum, old_max, sum_compensation);
            for (int64_t j = 0; j < j1 - j0; j++) {
                T(mask) in_region[OF(4, 8, 16)] = {0};
                if (T(finite)(v + j0 * v_row + j * v_row, 1, 128, 1)) continue;
                for (int64_t i = 0; i < i1 - i0; i += LANES) {
                    in_region[i / LANES] = __builtin_convertvector((j0 + j) <= ((i0 + i + T(lane)) + query_start),
                        T(mask));
                }
                T(add_seen)(128, sum, 80, v + j0 * v_row + j * v_row, 1, score + j * 80, in_region, i1 - i0);
            }
        } else
            T(dot8)(round_up(i1 - i0, LANES), j1 - j0, v + j0 * v_row, v_row, score, sum, old_max, sum_compensation);
    }
    /* sum = select(row_sum == 0.0f, 0.0f, sum * (1.0f / row_sum)) */
    for (int64_t i = 0; i < i1 - i0; i += LANES) {
        const T(vec) row_sum_14 = T(load)(row_sum + i);
        const T(mask) t_15 = row_sum_14 == 0.0f;
        const T(vec) t_16 = 1.0f / row_sum_14;
        for (int64_t e = 0; e < 128; e++) {
            T(store)(sum + e * 80 + i, T(pick)(t_15, T(splat)(0.0f), T(load)(sum + e * 80 + i) * t_16));
        }
    }
    /* out = sum, transposed back */
    T(transpose_out)(sum, 80, 128, i1 - i0, out + i0 * out_row, out_row, LANES);
}

/* Initialises the states: they contain no keys yet. */
TARGET APART void T(softmax_mrope_extend_few_begin)(const struct call *call, int64_t task, const struct share *share,
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
    const int32_t *const positions_array = (const int32_t *)call->array[ARRAY_positions_array].at;
    const int64_t positions_array_stride_0 = call->array[ARRAY_positions_array].stride[0];
    const int64_t positions_array_stride_1 = call->array[ARRAY_positions_array].stride[1];
    const int64_t positions_array_stride_2 = call->array[ARRAY_positions_array].stride[2];
    float *const query_cos = (float *)(void *)(share->shared + 0); /* [t: 64, r: 64] */
    float *const query_sin = (float *)(void *)(share->shared + 16448); /* [t: 64, r: 64] */
    float *const query = (float *)(void *)(share->shared + 32896); /* [d: 128, r: 64] */
    float *const query_turned = (float *)(void *)(share->shared + 65728); /* [r: 64, d: 128 of 144] */
    float *const q_tile = (float *)(void *)(share->work + 0); /* [d: 128, r: 64 of 80] */
    /* q_tile = q, with zeros beyond the last row */
    for (int64_t r = r0; r < r0 + round_up(r1 - r0, LANES); r++)
        for (int64_t d = 0; d < 128; d++)
            q_tile[d * 80 + r] = r < r1 ? q[r / n_q * q_head + r % n_q * q_row + d] : 0;
    /* query_cos = cos((id(positions, (b * n_k) + max(min((r % n_q) + query_start, n_k + -1), 0), max(min(select(t < 16,
       0, select(t <  ... */
    const int64_t t_2 = n_k - 1;
    for (int64_t r = r0; r < r1; r += LANES) {
        const T(ints) t_3 = ((((((((r + T(lane)) % n_q) + query_start) < t_2) & (((r + T(lane)) % n_q) + query_start)) |
            (~((((r + T(lane)) % n_q) + query_start) < t_2) & (t_2 - (T(ints)){0}))) > 0) & ((((((r + T(lane)) % n_q) +
            query_start) < t_2) & (((r + T(lane)) % n_q) + query_start)) | (~((((r + T(lane)) % n_q) + query_start) <
            t_2) & (t_2 - (T(ints)){0})))) | (~(((((((r + T(lane)) % n_q) + query_start) < t_2) & (((r + T(lane)) % n_q)
            + query_start)) | (~((((r + T(lane)) % n_q) + query_start) < t_2) & (t_2 - (T(ints)){0}))) > 0) & (0 -
            (T(ints)){0}));
        for (int64_t t = 0; t < 64; t++) {
            const T(ints) rows_1 = t_3;
            T(ints) id_0 = (max(min((t < 16) ? 0 : ((t < 40) ? 1 : 2), 2), 0) - (T(ints)){0});
            for (int lane = 0; lane < LANES; lane++) id_0[lane] = id_along(positions_array + (b + call->first_sequence)
                * positions_array_stride_0 + min(rows_1[lane], n_k - 1) * positions_array_stride_1, id_0[lane], 3,
                positions_array_stride_2);
            const T(wide) angle4 = (__builtin_convertvector(id_0, T(wide)) * 1.0) * rope_angle[t];
            T(store)(query_cos + t * 64 + r, T(cos)(&angle4));
            const T(ints) rows_6 = t_3;
            T(ints) id_5 = (max(min((t < 16) ? 0 : ((t < 40) ? 1 : 2), 2), 0) - (T(ints)){0});
            for (int lane = 0; lane < LANES; lane++) id_5[lane] = id_along(positions_array + (b + call->first_sequence)
                * positions_array_stride_0 + min(rows_6[lane], n_k - 1) * positions_array_stride_1, id_5[lane], 3,
                positions_array_stride_2);
            const T(wide) angle7 = (__builtin_convertvector(id_5, T(wide)) * 1.0) * rope_angle[t];
            T(store)(query_sin + t * 64 + r, T(sin)(&angle7));
        }
    }
    /* query = ((q_tile * query_cos) + ((q_tile * query_sin) * select(d < 64, -1.0f, 1.0f))) * 0.12751743f */
    for (int64_t r = r0; r < r1; r += LANES) {
        for (int64_t d = 0; d < 128; d++) {
            T(store)(query + d * 64 + r, ((T(load)(q_tile + d * 80 + r) * T(load)(query_cos + (d % 64) * 64 + r)) +
                ((T(load)(q_tile + ((d < 64) ? (d + 64) : (d - 64)) * 80 + r) * T(load)(query_sin + (d % 64) * 64 + r))
                * (float)((d < 64) ? (-1.0) : 1.0))) * 0.12751743f);
        }
    }
    /* query_turned = query, with zeros beyond the last row */
    T(transpose)(query + r0, 64, 128, r1 - r0, query_turned + r0 * 144, 144, 64);
}

/* Initialises the states: they contain no keys yet. */
TARGET APART void T(softmax_mrope_extend_few_begin_2)(const struct call *call, int64_t task, const struct share *share,
    int64_t iteration)
{
    (void)task;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t r0 = iteration * 16, r1 = min(r0 + 16, rows);
    float *const carried_max = (float *)(void *)(share->shared + 102656); /* [r: 64] */
    float *const carried_sum = (float *)(void *)(share->shared + 102912); /* [r: 64] */
    float *const carried_sum_compensation = (float *)(void *)(share->shared + 140096); /* [r: 64] */
    float *const carried = (float *)(void *)(share->shared + 103168); /* [r: 64, e: 128 of 144] */
    float *const carried_compensation = (float *)(void *)(share->shared + 140352); /* [r: 64, e: 128 of 144] */
    /* carried_max = -FLT_MAX; carried_sum = 0.0f; carried_sum_compensation = 0.0f */
    for (int64_t r = r0; r < r1; r += LANES) {
        T(store)(carried_max + r, T(splat)(-FLT_MAX));
        T(store)(carried_sum + r, T(splat)(0.0f));
        T(store)(carried_sum_compensation + r, T(splat)(0.0f));
    }
    /* carried = 0.0f; carried_compensation = 0.0f */
    for (int64_t r = r0; r < r1; r++) {
        for (int64_t e_first = 0; e_first < 128; e_first += OF(64, 16, 8)) {
            UNROLL for (int64_t vector = 0, e = e_first; vector < OF(4, 2, 2); vector++, e += LANES) {
                T(store)(carried + r * 144 + e, T(splat)(0.0f));
                T(store)(carried_compensation + r * 144 + e, T(splat)(0.0f));
            }
        }
    }
}

/* Sums the keys of a chunk, from zero, into its slot. */
TARGET APART void T(softmax_mrope_extend_few_keys)(const struct call *call, int64_t task, const struct share *share,
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
    float *const score = (float *)(void *)(share->work + 0); /* [r: 64, j: 128 of 144] */
    float *const query_turned = (float *)(void *)(share->shared + 65728); /* [r: 64, d: 128 of 144] */
    float *const state_max = (float *)(void *)(share->slots + 0); /* [chunk, r: 64] */
    float *const old_max = (float *)(void *)(share->work + 36864); /* [r: 64] */
    float *const state_sum = (float *)(void *)(share->slots + 256); /* [chunk, r: 64] */
    float *const state = (float *)(void *)(share->slots + 512); /* [chunk, r: 64, e: 128 of 144] */
    /* state_max = -FLT_MAX; state_sum = 0.0f */
    for (int64_t r = 0; r < rows; r += LANES) {
        T(store)(state_max + (chunk - chunk0) * 9360 + r, T(splat)(-FLT_MAX));
        T(store)(state_sum + (chunk - chunk0) * 9360 + r, T(splat)(0.0f));
    }
    /* state = 0.0f */
    for (int64_t r = 0; r < rows; r++) {
        for (int64_t e_first = 0; e_first < 128; e_first += OF(64, 16, 8)) {
            UNROLL for (int64_t vector = 0, e = e_first; vector < OF(4, 2, 2); vector++, e += LANES) {
                T(store)(state + (chunk - chunk0) * 9360 + r * 144 + e, T(splat)(0.0f));
            }
        }
    }
    for (int64_t j0 = chunk * 1024, j_end = min(min(n_k, (chunk + 1) * 1024), n_q + query_start); j0 < j_end;
        j0 += 128) {
        const int64_t j1 = min(j0 + 128, j_end);
        /* score[r][j] = sum over d of query_turned * k */
#if OF(1, 0, 0)
        T(dot9)(rows, j1 - j0, query_turned, k + j0 * k_row, k_row, score, attn_is_intel() ? 16 : 0);
#else
        T(dot9)(rows, j1 - j0, query_turned, k + j0 * k_row, k_row, score);
#endif
        /* old_max = state_max */
        for (int64_t r = 0; r < rows; r += LANES) {
            T(store)(old_max + r, T(load)(state_max + (chunk - chunk0) * 9360 + r));
        }
        if ((query_start + 1) < j1) { /* the tile is partly outside the mask */
            /* score = select(j <= ((r % n_q) + query_start), score, -INFINITY) */
            for (int64_t j = 0; j < j1 - j0; j += LANES) {
                const T(ints) t_8 = j0 + j + T(lane);
                for (int64_t r = 0; r < rows; r++) {
                    T(store)(score + r * 144 + j, T(pick)(__builtin_convertvector(t_8 <= ((r % n_q) + query_start),
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
            if (largest > state_max[(chunk - chunk0) * 9360 + r]) state_max[(chunk - chunk0) * 9360 + r] = largest;
        }
        /* old_max = exp2(old_max - state_max); state_sum = state_sum * old_max */
        for (int64_t r = 0; r < rows; r += LANES) {
            const T(vec) old_max_9 = T(load)(old_max + r);
            const T(vec) old_max_new10 = T(exp2)(old_max_9 - T(load)(state_max + (chunk - chunk0) * 9360 + r));
            T(store)(old_max + r, old_max_new10);
            T(store)(state_sum + (chunk - chunk0) * 9360 + r, T(load)(state_sum + (chunk - chunk0) * 9360 + r) *
                old_max_new10);
        }
        /* score = exp2(score - state_max) */
        for (int64_t j = 0; j < j1 - j0; j += LANES) {
            for (int64_t r = 0; r < rows; r++) {
                T(store)(score + r * 144 + j, T(exp2)(T(load)(score + r * 144 + j) - (state_max[(chunk - chunk0) * 9360
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
            state_sum[(chunk - chunk0) * 9360 + r] += total;
        }
        /* state = state * old_max */
        for (int64_t r = 0; r < rows; r++) {
            for (int64_t e_first = 0; e_first < 128; e_first += OF(64, 16, 8)) {
                UNROLL for (int64_t vector = 0, e = e_first; vector < OF(4, 2, 2); vector++, e += LANES) {
                    T(store)(state + (chunk - chunk0) * 9360 + r * 144 + e,
                        T(load)(state + (chunk - chunk0) * 9360 + r * 144 + e) * old_max[r]);
                }
            }
        }
        /* state[r][e] += sum over j of score * v */
        if (__builtin_expect(((query_start + 1) < j1) && !T(finite)(v + j0 * v_row, v_row, j1 - j0, 128),
            0)) { /* infinity and NaN affect only queries that see them */
            T(dot4)(rows, j1 - j0, score, v + j0 * v_row, v_row, state + (chunk - chunk0) * 9360);
            for (int64_t r = 0; r < rows; r++) {
                T(mask) in_region[OF(8, 16, 32)] = {0};
                const int64_t t_11 = (r % n_q) + query_start;
                for (int64_t j = 0; j < j1 - j0; j += LANES) {
                    in_region[j / LANES] = __builtin_convertvector((j0 + j + T(lane)) <= t_11, T(mask));
                }
                T(add_seen_lanes)(128, state + (chunk - chunk0) * 9360 + r * 144, score + r * 144, v + j0 * v_row,
                    v_row, j1 - j0, in_region);
            }
        } else
#if OF(1, 0, 0)
            T(dot5)(rows, j1 - j0, score, v + j0 * v_row, v_row, state + (chunk - chunk0) * 9360,
                attn_is_intel() ? 16 : 0);
#else
            T(dot5)(rows, j1 - j0, score, v + j0 * v_row, v_row, state + (chunk - chunk0) * 9360);
#endif
    }
}

/* Folds the slots of the current chunks, in order, for some elements of the states. */
TARGET APART void T(softmax_mrope_extend_few_fold)(const struct call *call, int64_t task, const struct share *share,
    int64_t iteration)
{
    (void)task;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t r0 = iteration * 16, r1 = min(r0 + 16, rows);
    const int64_t chunk0 = share->chunk0;
    const int64_t chunk1 = share->chunk1;
    float *const state_max = (float *)(void *)(share->slots + 0); /* [chunk, r: 64] */
    float *const state_sum = (float *)(void *)(share->slots + 256); /* [chunk, r: 64] */
    float *const state = (float *)(void *)(share->slots + 512); /* [chunk, r: 64, e: 128 of 144] */
    float *const carried_max = (float *)(void *)(share->shared + 102656); /* [r: 64] */
    float *const carried_factor = (float *)(void *)(share->work + 0); /* [r: 64] */
    float *const slot_factor = (float *)(void *)(share->work + 256); /* [r: 64] */
    float *const carried_sum = (float *)(void *)(share->shared + 102912); /* [r: 64] */
    float *const carried_sum_compensation = (float *)(void *)(share->shared + 140096); /* [r: 64] */
    float *const carried = (float *)(void *)(share->shared + 103168); /* [r: 64, e: 128 of 144] */
    float *const carried_compensation = (float *)(void *)(share->shared + 140352); /* [r: 64, e: 128 of 144] */
    for (int64_t chunk = chunk0; chunk < chunk1; chunk++) {
        /* before_max = carried_max; carried_max max= state_max; carried_factor = exp2(before_max - carried_max);
           slot_factor = exp2(state_ ... */
        for (int64_t r = r0; r < r1; r += LANES) {
            const T(vec) carried_max_12 = T(load)(carried_max + r);
            const T(vec) before_max_new13 = carried_max_12;
            const T(vec) state_max_14 = T(load)(state_max + (chunk - chunk0) * 9360 + r);
            const T(vec) carried_max_new15 = T(max)(T(load)(carried_max + r), state_max_14);
            T(store)(carried_max + r, carried_max_new15);
            const T(vec) carried_factor_new16 = T(exp2)(before_max_new13 - carried_max_new15);
            T(store)(carried_factor + r, carried_factor_new16);
            const T(vec) slot_factor_new17 = T(exp2)(state_max_14 - carried_max_new15);
            T(store)(slot_factor + r, slot_factor_new17);
            const T(vec) carried_sum_18 = T(load)(carried_sum + r);
            T(store)(carried_sum + r, carried_sum_18 * carried_factor_new16);
            T(store)(carried_sum_compensation + r, T(load)(carried_sum_compensation + r) * carried_factor_new16);
            T(add)(carried_sum + r, carried_sum_compensation + r, T(load)(state_sum + (chunk - chunk0) * 9360 + r) *
                slot_factor_new17, T(splat)(1));
        }
        /* before = carried; carried = carried * carried_factor; carried_compensation = carried_compensation *
           carried_factor; carried += s ... */
        for (int64_t r = r0; r < r1; r++) {
            for (int64_t e_first = 0; e_first < 128; e_first += OF(64, 16, 8)) {
                UNROLL for (int64_t vector = 0, e = e_first; vector < OF(4, 2, 2); vector++, e += LANES) {
                    const T(vec) carried_19 = T(load)(carried + r * 144 + e);
                    const float carried_factor_20 = carried_factor[r];
                    T(store)(carried + r * 144 + e, carried_19 * carried_factor_20);
                    T(store)(carried_compensation + r * 144 + e, T(load)(carried_compensation + r * 144 + e) *
                        carried_factor_20);
                    T(add)(carried + r * 144 + e, carried_compensation + r * 144 + e,
                        T(load)(state + (chunk - chunk0) * 9360 + r * 144 + e) * slot_factor[r], T(splat)(1));
                }
            }
        }
    }
}

/* Processes a tile of queries: reads the states. */
TARGET APART void T(softmax_mrope_extend_few_queries)(const struct call *call, int64_t task, const struct share *share,
    int64_t iteration)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_q = call->p.n_q;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t r0 = iteration * 16, r1 = min(r0 + 16, rows);
    const int64_t g = task % kv_heads;
    const int64_t b = task / kv_heads;
    float *const carried_sum = (float *)(void *)(share->shared + 102912); /* [r: 64] */
    float *const carried = (float *)(void *)(share->shared + 103168); /* [r: 64, e: 128 of 144] */
    float *const result = (float *)(void *)(share->work + 0); /* [r: 64, e: 128 of 144] */
    float *const out = (float *)call->array[ARRAY_out].at + b * call->array[ARRAY_out].strides.batch + g * members *
        call->array[ARRAY_out].strides.head;
    const int64_t out_row = call->array[ARRAY_out].strides.row;
    const int64_t out_head = call->array[ARRAY_out].strides.head;
    /* result = select(carried_sum == 0.0f, 0.0f, carried * (1.0f / carried_sum)) */
    for (int64_t r = r0; r < r1; r++) {
        for (int64_t e_first = 0; e_first < 128; e_first += OF(64, 16, 8)) {
            UNROLL for (int64_t vector = 0, e = e_first; vector < OF(4, 2, 2); vector++, e += LANES) {
                const float carried_sum_21 = carried_sum[r];
                T(store)(result + r * 144 + e, (carried_sum_21 == 0.0f) ? T(splat)(0.0f) : T(load)(carried + r * 144 +
                    e) * (1.0f / carried_sum_21));
            }
        }
    }
    /* out = result */
    for (int64_t r = r0; r < r1; r++)
        for (int64_t e = 0; e < 128; e++)
            out[r / n_q * out_head + r % n_q * out_row + e] = result[r * 144 + e];
}

/* Computes head number `task`. Each thread on the head calls this with `share`. */
TARGET static void T(softmax_mrope_extend_few)(const struct call *call, int64_t task, struct share *share)
{
    const int64_t n_k = call->p.n_k;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t chunks = n_k > 0 ? (n_k - 1) / 1024 + 1 : 1;
    for (int64_t iteration = share->number; iteration < ((rows + 63) / 64); iteration += share->threads)
        T(softmax_mrope_extend_few_begin)(call, task, share, iteration);
    for (int64_t iteration = share->number; iteration < ((rows + 15) / 16); iteration += share->threads)
        T(softmax_mrope_extend_few_begin_2)(call, task, share, iteration);
    synchronise(share);
    const int64_t first = 0;
    const int64_t length = segment_length(share, chunks - first);
    for (int64_t segment = share->number; first + segment * length < chunks; segment += share->threads) {
        share->chunk0 = first + segment * length;
        share->chunk1 = min(share->chunk0 + length, chunks);
        for (int64_t iteration = share->chunk0; iteration < share->chunk1; iteration++)
            T(softmax_mrope_extend_few_keys)(call, task, share, iteration);
        for (int64_t group = 0; group < 16; group++) {
            await_segment(share, group, segment);
            const int64_t end = (group + 1) * ((rows + 15) / 16) / 16;
            for (int64_t iteration = group * ((rows + 15) / 16) / 16; iteration < end; iteration++)
                T(softmax_mrope_extend_few_fold)(call, task, share, iteration);
            pass_segment(share, group, segment);
        }
    }
    share->segments += (max(chunks - first, 0) + length - 1) / length;
    synchronise(share);
    for (int64_t iteration = share->number; iteration < ((rows + 15) / 16); iteration += share->threads)
        T(softmax_mrope_extend_few_queries)(call, task, share, iteration);
    synchronise(share);
}
#include <attnrt/kernel/end.h>
#else
#ifdef __cplusplus
#error "softmax_mrope.c is C, not C++: compile it with a C compiler"
#elif !defined __STDC_VERSION__ || __STDC_VERSION__ < 199901L
#error "softmax_mrope.c is C11, not C89: compile it without -std=, or with -std=gnu11"
extern int softmax_mrope_is_c11;
#elif !defined __GNUC__
#error "softmax_mrope.c uses GNU C vector extensions: compile it with gcc or clang"
extern int softmax_mrope_is_gnu_c;
#else
#include "softmax_mrope.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include <attnrt/kernel/optimize.h>
#include <attnrt/kernel/call.h>
#include <attnrt/kernel/masks.h>

/* the numbers of the arrays of a call */
enum {
    ARRAY_q, ARRAY_k, ARRAY_v, ARRAY_out, ARRAY_positions_array
};

static const double rope_angle[64] = {
    1, 0.80584218776148187, 0.64938163157621132, 0.5232991146814947, 0.42169650342858223, 0.33982083289425596,
    0.27384196342643613, 0.22067340690845899, 0.17782794100389229, 0.14330125702369628, 0.11547819846894582,
        0.0930572040929699,
    0.074989420933245579, 0.060429639023813285, 0.048696752516586311, 0.039241897584845357, 0.031622776601683791,
        0.025482967479793464,
    0.02053525026457146, 0.016548170999431813, 0.013335214321633241, 0.010746078283213174, 0.0086596432336006543,
        0.0069783058485986633,
    0.005623413251903491, 0.0045315836376008181, 0.0036517412725483771, 0.002942727176209282, 0.0023713737056616554,
        0.0019109529749704406,
    0.001539926526059492, 0.0012409377607517195, 0.001, 0.00080584218776148179, 0.00064938163157621134,
        0.00052329911468149473,
    0.00042169650342858224, 0.00033982083289425596, 0.00027384196342643611, 0.00022067340690845897,
        0.00017782794100389227, 0.00014330125702369627,
    0.00011547819846894582, 9.3057204092969901e-05, 7.4989420933245586e-05, 6.0429639023813283e-05,
        4.8696752516586312e-05, 3.9241897584845357e-05,
    3.1622776601683795e-05, 2.5482967479793464e-05, 2.0535250264571462e-05, 1.6548170999431813e-05,
        1.3335214321633241e-05, 1.0746078283213176e-05,
    8.6596432336006536e-06, 6.9783058485986632e-06, 5.6234132519034912e-06, 4.531583637600818e-06,
        3.6517412725483771e-06, 2.9427271762092816e-06,
    2.3713737056616552e-06, 1.9109529749704404e-06, 1.5399265260594919e-06, 1.2409377607517195e-06};

#ifdef __FILE_NAME__
#define LOOPS __FILE_NAME__ /* this file, whose first part has the loops */
#else
#define LOOPS "softmax_mrope.c"
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
#define MAX_TERMS 128
#define MAX_LANES 128
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
#define MAX_TERMS 128
#define MAX_LANES 128
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
#define MAX_TERMS 128
#define MAX_LANES 128
#define OF(v4, v3, any) any /* a number of each target */
#define SECTION
#include LOOPS
#undef SECTION

/* ==== tables for the library that calls these functions (attnrt/kernel/call.h) ==== */
static const struct attn_param param[] = {
    {"positions", ATTN_I32, 3, {ATTN_BATCH, ATTN_N_K, 3}, offsetof(struct softmax_mrope_params, positions), 0,
        offsetof(struct softmax_mrope_strides, positions), 0, 1, ATTN_NO_LIMITS},
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
    {.name = "positions", .access = {ACCESS_READ, ACCESS_NONE}, .dtype = ATTN_I32, .rows = ROWS_OF_KEYS,
        .origin = FROM_PARAMS, .param = 0, .axis = {0, -1, 1}, .integer_rows = 1},
};

#if defined(__x86_64__)
static int runs_v4(void)
{
    return attn_x86_64_level() >= 4;
}
static const struct program programs_v4[] = {
    {.role = RUN_FORWARD, .form = FORM_FEW,
     .head = softmax_mrope_few_v4, .tile = 0, .own = 221184, .few_rows = 64, .lanes = 16, .of_pair = 256,
         .shared = 140352, .slot = 37440, .slots = 4, .together = 1},
    {.role = RUN_FORWARD,
     .rows = softmax_mrope_rows_v4, .tile = 256, .own = 543744, .of_pair = 256},
    {.role = RUN_PREPARE,
     .rows = softmax_mrope_prepare_v4, .tile = 64, .own = 122880, .of_pair = 256},
    {.role = RUN_ATTEND, .form = FORM_FEW,
     .head = softmax_mrope_extend_few_v4, .tile = 0, .own = 40960, .few_rows = 64, .lanes = 16, .of_pair = 256,
         .shared = 177280, .slot = 37440, .slots = 4, .together = 1},
    {.role = RUN_ATTEND,
     .rows = softmax_mrope_extend_v4, .tile = 64, .own = 256000, .of_pair = 256},
};
#endif
#if defined(__x86_64__)
static int runs_v3(void)
{
    return attn_x86_64_level() >= 3;
}
static const struct program programs_v3[] = {
    {.role = RUN_FORWARD, .form = FORM_FEW,
     .head = softmax_mrope_few_v3, .tile = 0, .own = 221184, .few_rows = 64, .lanes = 8, .of_pair = 256,
         .shared = 140352, .slot = 37440, .slots = 4, .together = 1},
    {.role = RUN_FORWARD,
     .rows = softmax_mrope_rows_v3, .tile = 128, .own = 345600, .of_pair = 256},
    {.role = RUN_PREPARE,
     .rows = softmax_mrope_prepare_v3, .tile = 64, .own = 122880, .of_pair = 256},
    {.role = RUN_ATTEND, .form = FORM_FEW,
     .head = softmax_mrope_extend_few_v3, .tile = 0, .own = 40960, .few_rows = 64, .lanes = 8, .of_pair = 256,
         .shared = 177280, .slot = 37440, .slots = 4, .together = 1},
    {.role = RUN_ATTEND,
     .rows = softmax_mrope_extend_v3, .tile = 64, .own = 256000, .of_pair = 256},
};
#endif
static const struct program programs_any[] = {
    {.role = RUN_FORWARD, .form = FORM_FEW,
     .head = softmax_mrope_few_any, .tile = 0, .own = 221184, .few_rows = 64, .lanes = 4, .of_pair = 256,
         .shared = 140352, .slot = 37440, .slots = 4, .together = 1},
    {.role = RUN_FORWARD,
     .rows = softmax_mrope_rows_any, .tile = 64, .own = 246528, .of_pair = 256},
    {.role = RUN_PREPARE,
     .rows = softmax_mrope_prepare_any, .tile = 64, .own = 122880, .of_pair = 256},
    {.role = RUN_ATTEND, .form = FORM_FEW,
     .head = softmax_mrope_extend_few_any, .tile = 0, .own = 40960, .few_rows = 64, .lanes = 4, .of_pair = 256,
         .shared = 177280, .slot = 37440, .slots = 4, .together = 1},
    {.role = RUN_ATTEND,
     .rows = softmax_mrope_extend_any, .tile = 64, .own = 256000, .of_pair = 256},
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

static const struct kept_array kept_array[] = {
    {ARRAY_k, 512, 1, 0, 0, 1},
    {ARRAY_v, 512, ATTN_KV_HEADS, 0, 0, 0},
    {ARRAY_positions_array, 12, 0, 4, 0, 0},
};

#include <attnrt/kernel/openmp.h>
static const struct kernel kernel = {
    .layout = KERNEL_LAYOUT, .name = "softmax_mrope", .openmp = OPENMP,
    .target = target, .targets = sizeof target / sizeof *target - 1,
    .array = array, .arrays = sizeof array / sizeof *array,
    .param = param, .params = 1, .params_bytes = sizeof(struct softmax_mrope_params),
    .dtype = ATTN_F32, .key_dtype = ATTN_F32, .value_dtype = ATTN_F32, .real = sizeof(float), .element = sizeof(float),
    .head_dim = 128, .value_dim = 128, .key_row = 128, .value_row = 128,
    .strided = 1, .strides = offsetof(struct softmax_mrope_params, strides),
    .shares = 1,
    .positions = 1,
    .ids = -1,
    .corrected = -1,
    .solution = -1,
    .decodes = 1,
    .by_capacity = 1,
    .moves = 1,
    .terms_move = 1,
    .prepared = 1,
    .attends = 1,
    .rows_move = 1,
    .numbered = 1,
    .read_back = -1,
    .rows_kept = 255,
    .fingerprint = UINT64_C(0xb203996826f6da8c),
    .kept_array = kept_array, .kept_arrays = 3, .given = 3, .sums = 3,
};

/* ==== the interface ==== */
size_t softmax_mrope_params_size(void) { return attn_call_params_size(&kernel); }
int softmax_mrope_params_init(struct softmax_mrope_params *params, uint64_t seed, void *storage)
{
    return attn_call_params_init(&kernel, params, seed, storage);
}
size_t softmax_mrope_workspace(const struct attn_problem *problem) { return attn_call_workspace(&kernel, problem); }
size_t softmax_mrope_state(const struct attn_problem *problem) { return attn_call_state(&kernel, problem); }
int softmax_mrope_state_init(const struct attn_problem *problem, void *state)
{
    return attn_call_state_init(&kernel, problem, state);
}
size_t softmax_mrope_page(const struct attn_problem *problem) { return attn_call_page(&kernel, problem); }
size_t softmax_mrope_extend_workspace(const struct attn_problem *problem)
{
    return attn_call_extend_workspace(&kernel, problem);
}
int64_t softmax_mrope_state_length(const struct attn_problem *problem, const void *state, int64_t sequence)
{
    return attn_call_state_length(&kernel, problem, state, sequence);
}
int64_t softmax_mrope_state_min_length(const struct attn_problem *problem, const void *state, int64_t sequence)
{
    return attn_call_state_min_length(&kernel, problem, state, sequence);
}
int softmax_mrope_state_truncate(const struct attn_problem *problem, void *state, int64_t sequence, int64_t length)
{
    return attn_call_state_truncate(&kernel, problem, state, sequence, length);
}
int softmax_mrope_state_copy(const struct attn_problem *problem, void *to, int64_t to_sequence, const void *from,
    int64_t from_sequence)
{
    return attn_call_state_copy(&kernel, problem, to, to_sequence, from, from_sequence);
}
int softmax_mrope_state_keep(const struct attn_problem *problem, void *state, int64_t sequence, const int64_t *path,
    int64_t count)
{
    return attn_call_state_keep(&kernel, problem, state, sequence, path, count);
}
size_t softmax_mrope_state_sums(const struct attn_problem *problem) { return attn_call_state_sums(&kernel, problem); }
int softmax_mrope_state_set(const struct attn_problem *problem, void *state, const void *sums)
{
    return attn_call_state_set(&kernel, problem, state, sums);
}
int softmax_mrope_state_get(const struct attn_problem *problem, const void *params, void *state, void *sums,
    void *workspace)
{
    return attn_call_state_get(&kernel, problem, params, state, sums, workspace);
}
int softmax_mrope_state_fold(const struct attn_problem *problem, void *left, const void *right)
{
    return attn_call_state_fold(&kernel, problem, left, right);
}
int softmax_mrope_forward(const struct attn_problem *problem, const struct softmax_mrope_params *params, const float *q,
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
int softmax_mrope_extend(const struct attn_problem *problem, const struct softmax_mrope_params *params, const float *q,
    const float *k, const float *v,
    float *out, void *state, void *workspace)
{
    return attn_call_extend(&kernel, problem, params, (const void *const[]){q, k, v, out}, state, workspace);
}
static int extend_any(const struct attn_problem *problem, const void *params, const void *q, const void *k,
    const void *v, void *out, void *state, void *workspace)
{
    return attn_call_extend(&kernel, problem, params, (const void *const[]){q, k, v, out}, state, workspace);
}
static int params_init_any(void *params, uint64_t seed, void *storage)
{
    return attn_call_params_init(&kernel, params, seed, storage);
}
static int64_t state_chunk(const struct attn_problem *problem) { return attn_call_state_chunk(&kernel, problem); }
static int state_part(const struct attn_problem *problem, void *state, int64_t sequence, int64_t first_kv_head,
    const struct attn_problem *part_problem, void *part, int back)
{
    return attn_call_state_part(&kernel, problem, state, sequence, first_kv_head, part_problem, part, back);
}
const struct attn_kernel softmax_mrope_kernel = {
    .name = "softmax_mrope", .version = "0.2.0", .dtype = ATTN_F32, .head_dim = 128, .value_dim = 128,
    .params = 1, .param = param, .params_bytes = sizeof(struct softmax_mrope_params),
    .params_size = softmax_mrope_params_size, .params_init = params_init_any, .forward = forward_any,
    .workspace = softmax_mrope_workspace,
    .state = softmax_mrope_state,
    .state_init = softmax_mrope_state_init,
    .page = softmax_mrope_page,
    .extend_workspace = softmax_mrope_extend_workspace,
    .state_length = softmax_mrope_state_length,
    .state_min_length = softmax_mrope_state_min_length,
    .state_truncate = softmax_mrope_state_truncate,
    .state_copy = softmax_mrope_state_copy,
    .state_keep = softmax_mrope_state_keep,
    .state_sums = softmax_mrope_state_sums,
    .state_set = softmax_mrope_state_set,
    .state_get = softmax_mrope_state_get,
    .state_fold = softmax_mrope_state_fold,
    .extend = extend_any, .state_chunk = state_chunk, .state_part = state_part,
    .key_dtype = ATTN_F32, .value_dtype = ATTN_F32,
    .strides = offsetof(struct softmax_mrope_params, strides), .strides_bytes = sizeof(struct softmax_mrope_strides),
    .before = INT64_MAX, .after = 0, .period = 0, .names_heads = 0, .names_sequences = 0, .in_parts = 0,
    .saved_power = 0, .has_sink = 0, .open_keys = 0, .end_of_keys = INT64_MAX,
};
#endif /* a compiler of this language */
#endif /* SECTION */
