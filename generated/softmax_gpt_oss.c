/* softmax_gpt_oss.c, made by attnc 0.2.0: attnc softmax_gpt_oss.yaml
   C11 with GNU extensions, for a C compiler; C++ includes softmax_gpt_oss.h.
   causal softmax attention to the last 128 keys, with a learned logit for each head that belongs to no key
   OpenAI, gpt-oss-120b and gpt-oss-20b Model Card (arXiv 2025), section 2.2

   Computes, in f32, over the axes b (batch), g (key/value head), m (query head of g), i (query), j (key), d (64),
   e (64), t (32):
     q [b g m i d]
     k [b g j d]
     v [b g j e]
     rope_theta [t], constant
     x4 [j t] = cos(j * rope_theta)
     x5 [j t] = sin(j * rope_theta)
     x6 [b g j d] = k * x4[j, d % 32] + k[b, g, j, d < 32 ? d + 32 : d + -32] * x5[j, d % 32] * (d < 32 ? -1 : 1)
     x7 [b i t] = cos((i + query_start) * rope_theta)
     x8 [b i t] = sin((i + query_start) * rope_theta)
     x9 [b g m i d] = q * x7[b, i, d % 32] + q[b, g, m, i, d < 32 ? d + 32 : d + -32] * x8[b, i,
     d % 32] * (d < 32 ? -1 : 1)
     x10 [b g m i j] = sum over d of x9 * x6
     x11 [b g m i j] = exp(x10 * 0.125)
     x12 [b g m i] = sum over j of x11 if i + query_start + -127 <= j && j <= i + query_start
     x13 [b g m i e] = sum over j of x11 * v if i + query_start + -127 <= j && j <= i + query_start
     sink [g m], learned parameter
     x15 [b g m i e] = x12 + exp(sink) == 0 ? 0 : x13 / (x12 + exp(sink))
     out = x15
   query_start is the position of the first query: problem.query_start[b], or n_k - n_q if that is NULL.

   How: each vector lane holds one query. Keys are processed in tiles,
   so row sums and maxima need no reduction across lanes.
   The sums of a tile start from zero and are added to the sums so far. Tiles that no query sees are skipped.
   For few queries each lane holds one key. The queries of all heads that share keys are the rows of one tile,
   so each key is read once.
   The chunks of keys are divided among the threads. Their sums are added in the order of the chunks.
     x86-64-v4  quadratic tiles of 32 queries and 48 keys, in blocks of 256 queries;
     236544 bytes of workspace per thread
     x86-64-v4  few       tiles of 64 queries and 128 keys; 245056 bytes of workspace per thread
     x86-64-v3  quadratic tiles of 16 queries and 48 keys, in blocks of 256 queries;
     236544 bytes of workspace per thread
     x86-64-v3  few       tiles of 64 queries and 128 keys; 245056 bytes of workspace per thread
     generic    quadratic tiles of 16 queries and 48 keys, in blocks of 128 queries;
     136704 bytes of workspace per thread
     generic    few       tiles of 64 queries and 128 keys; 245056 bytes of workspace per thread

   Contents:
     loops      softmax_gpt_oss_rows, softmax_gpt_oss_few, softmax_gpt_oss_saved, softmax_gpt_oss_row_sums,
     softmax_gpt_oss_dk_dv_sum_0, softmax_gpt_oss_sums2, softmax_gpt_oss_dq, softmax_gpt_oss_totals1,
     softmax_gpt_oss_prepare, softmax_gpt_oss_extend, softmax_gpt_oss_extend_few
     targets    x86-64-v4, x86-64-v3, generic
     tables     arrays and programs, for the functions of attnrt that call the loops
     interface  softmax_gpt_oss_workspace, softmax_gpt_oss_forward, softmax_gpt_oss_backward, softmax_gpt_oss_extend,
     softmax_gpt_oss_kernel
   The file includes itself, so that the loops are compiled once for each target. T(name) is a name with the target's
   suffix, LANES the elements of its vectors, and OF(…) a number for each target.

   Compile with: cc -O2 -fopenmp softmax_gpt_oss.c … -lattnrt -lm */
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
#define PAGED 1
#include <attnrt/kernel/stored.h>

/* The functions for the products below. Each calls dot or a similar function with constants. */
TARGET APART void T(dot0)(int64_t lanes, int64_t rows, const float *a, const float *b, float *c)
{
    T(dot)(/*vectors=*/2, lanes, rows, /*tail=*/-1, /*steps=*/64, /*span=*/32, a, /*a_row=*/1, /*a_step=*/48, b,
        /*b_step=*/OF(32, 16, 16), c, /*c_row=*/OF(32, 16, 16), /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL);
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
TARGET APART void T(dot3)(int64_t lanes, int64_t rows, const float *a, const float *b, float *c)
{
    T(dot)(/*vectors=*/OF(4, 2, 2), lanes, rows, /*tail=*/-1, /*steps=*/64, /*span=*/32, a, /*a_row=*/1, /*a_step=*/64,
        b, /*b_step=*/144, c, /*c_row=*/144, /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL);
}
TARGET APART void T(dot4)(int64_t rows, int64_t steps, const float *a, const float *b, int64_t b_step, float *c)
{
    T(dot_finite_lanes)(/*fetched=*/1, /*vectors=*/OF(4, 2, 2), /*lanes=*/64, rows, /*tail=*/-1, steps, /*span=*/192, a,
        /*a_row=*/144, /*a_step=*/1, b, b_step, c, /*c_row=*/64, /*update=*/1, /*factor=*/NULL, /*compensation=*/NULL);
}
#if OF(1, 0, 0)
TARGET APART void T(dot5)(int64_t rows, int64_t steps, const float *a, const float *b, int64_t b_step, float *c,
    int64_t early)
#else
TARGET APART void T(dot5)(int64_t rows, int64_t steps, const float *a, const float *b, int64_t b_step, float *c)
#endif
{
#if OF(1, 0, 0)
    T(dot_fetched)(/*vectors=*/4, /*lanes=*/64, rows, /*tail=*/-1, steps, /*span=*/192, a, /*a_row=*/144, /*a_step=*/1,
        b, b_step, c, /*c_row=*/64, /*update=*/1, /*factor=*/NULL, /*compensation=*/NULL, early, /*after=*/NULL);
#endif
#if OF(0, 1, 0)
    T(dot_fetched)(/*vectors=*/2, /*lanes=*/64, rows, /*tail=*/-1, steps, /*span=*/192, a, /*a_row=*/144, /*a_step=*/1,
        b, b_step, c, /*c_row=*/64, /*update=*/1, /*factor=*/NULL, /*compensation=*/NULL, /*after=*/NULL);
#endif
#if OF(0, 0, 1)
    T(dot_fetched)(/*vectors=*/2, /*lanes=*/64, rows, /*tail=*/-1, steps, /*span=*/192, a, /*a_row=*/144, /*a_step=*/1,
        b, b_step, c, /*c_row=*/64, /*update=*/1, /*factor=*/NULL, /*compensation=*/NULL, /*early=*/64, /*after=*/NULL);
#endif
}
TARGET APART void T(dot6)(int64_t lanes, int64_t rows, const float *a, const float *b, float *c)
{
    T(dot)(/*vectors=*/OF(4, 2, 2), lanes, rows, /*tail=*/-1, /*steps=*/64, /*span=*/32, a, /*a_row=*/1, /*a_step=*/144,
        b, /*b_step=*/OF(272, 272, 144), c, /*c_row=*/OF(272, 272, 144), /*update=*/0, /*factor=*/NULL,
        /*compensation=*/NULL);
}
TARGET APART void T(dot7)(int64_t lanes, int64_t rows, const float *a, int64_t a_row, const float *b, float *c)
{
    T(dot_ahead)(/*vectors=*/OF(4, 2, 2), lanes, rows, /*tail=*/-1, /*steps=*/64, /*span=*/32, a, a_row, /*a_step=*/1,
        b, /*b_step=*/OF(272, 272, 144), c, /*c_row=*/OF(272, 272, 144), /*update=*/0, /*factor=*/NULL,
        /*compensation=*/NULL, /*next=*/NULL, /*next_row=*/0, /*width=*/0, /*result=*/NULL, /*result_row=*/0,
        /*result_width=*/0, /*results=*/0);
}
TARGET APART void T(dot8)(int64_t lanes, int64_t steps, const float *a, int64_t a_step, const float *b, float *c,
    float *compensation)
{
    T(dot_finite)(/*vectors=*/OF(4, 2, 2), lanes, /*rows=*/64, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/1, a_step,
        b, /*b_step=*/OF(272, 272, 144), c, /*c_row=*/OF(272, 272, 144), /*update=*/3, /*factor=*/NULL, compensation);
}
TARGET APART void T(dot9)(int64_t lanes, int64_t steps, const float *a, int64_t a_step, const float *b, float *c,
    float *compensation)
{
    T(dot)(/*vectors=*/OF(4, 2, 2), lanes, /*rows=*/64, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/1, a_step, b,
        /*b_step=*/OF(272, 272, 144), c, /*c_row=*/OF(272, 272, 144), /*update=*/3, /*factor=*/NULL, compensation);
}
TARGET APART void T(dot10)(int64_t rows, int64_t steps, const float *a, const float *b, float *c)
{
    T(dot_finite_lanes)(/*fetched=*/0, /*vectors=*/OF(4, 2, 2), /*lanes=*/64, rows, /*tail=*/-1, steps, /*span=*/192, a,
        /*a_row=*/OF(272, 272, 144), /*a_step=*/1, b, /*b_step=*/64, c, /*c_row=*/64, /*update=*/1, /*factor=*/NULL,
        /*compensation=*/NULL);
}
TARGET APART void T(dot11)(int64_t rows, int64_t steps, const float *a, const float *b, float *c)
{
    T(dot)(/*vectors=*/OF(4, 2, 2), /*lanes=*/64, rows, /*tail=*/-1, steps, /*span=*/192, a, /*a_row=*/OF(272, 272,
        144), /*a_step=*/1, b, /*b_step=*/64, c, /*c_row=*/64, /*update=*/1, /*factor=*/NULL, /*compensation=*/NULL);
}
TARGET APART void T(dot12)(int64_t lanes, int64_t steps, const float *a, const float *b, float *c, float *compensation)
{
    T(dot_finite)(/*vectors=*/OF(4, 2, 2), lanes, /*rows=*/64, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/144,
        /*a_step=*/1, b, /*b_step=*/OF(272, 272, 144), c, /*c_row=*/OF(272, 272, 144), /*update=*/3, /*factor=*/NULL,
        compensation);
}
TARGET APART void T(dot13)(int64_t lanes, int64_t steps, const float *a, const float *b, float *c, float *compensation)
{
    T(dot)(/*vectors=*/OF(4, 2, 2), lanes, /*rows=*/64, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/144, /*a_step=*/1,
        b, /*b_step=*/OF(272, 272, 144), c, /*c_row=*/OF(272, 272, 144), /*update=*/3, /*factor=*/NULL, compensation);
}
TARGET APART void T(dot14)(int64_t lanes, int64_t rows, const float *a, int64_t a_row, const float *b, float *c,
    const float *next, int64_t next_row, const float *result, int64_t result_row, int64_t results)
{
    T(dot_ahead)(/*vectors=*/2, lanes, rows, /*tail=*/-1, /*steps=*/64, /*span=*/32, a, a_row, /*a_step=*/1, b,
        /*b_step=*/OF(32, 16, 16), c, /*c_row=*/OF(32, 16, 16), /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL,
        next, next_row, /*width=*/64, result, result_row, /*result_width=*/64, results);
}
#if OF(1, 0, 0)
TARGET APART void T(dot15)(int64_t rows, int64_t columns, const float *a, const float *b, int64_t b_row, float *c,
    int64_t early, const float *after)
#else
TARGET APART void T(dot15)(int64_t rows, int64_t columns, const float *a, const float *b, int64_t b_row, float *c,
    const float *after)
#endif
{
#if OF(1, 0, 0)
    T(dot_along)(rows, columns, /*steps=*/64, a, /*a_row=*/64, b, b_row, c, /*c_row=*/144, early, after);
#endif
#if OF(0, 1, 0)
    T(dot_along)(rows, columns, /*steps=*/64, a, /*a_row=*/64, b, b_row, c, /*c_row=*/144, after);
#endif
#if OF(0, 0, 1)
    T(dot_along)(rows, columns, /*steps=*/64, a, /*a_row=*/64, b, b_row, c, /*c_row=*/144, /*early=*/64, after);
#endif
}
#if OF(1, 0, 0)
TARGET APART void T(dot16)(int64_t rows, int64_t steps, const float *a, const float *b, int64_t b_step, float *c,
    int64_t early, const float *after)
#else
TARGET APART void T(dot16)(int64_t rows, int64_t steps, const float *a, const float *b, int64_t b_step, float *c,
    const float *after)
#endif
{
#if OF(1, 0, 0)
    T(dot_fetched)(/*vectors=*/4, /*lanes=*/64, rows, /*tail=*/-1, steps, /*span=*/192, a, /*a_row=*/144, /*a_step=*/1,
        b, b_step, c, /*c_row=*/64, /*update=*/1, /*factor=*/NULL, /*compensation=*/NULL, early, after);
#endif
#if OF(0, 1, 0)
    T(dot_fetched)(/*vectors=*/2, /*lanes=*/64, rows, /*tail=*/-1, steps, /*span=*/192, a, /*a_row=*/144, /*a_step=*/1,
        b, b_step, c, /*c_row=*/64, /*update=*/1, /*factor=*/NULL, /*compensation=*/NULL, after);
#endif
#if OF(0, 0, 1)
    T(dot_fetched)(/*vectors=*/2, /*lanes=*/64, rows, /*tail=*/-1, steps, /*span=*/192, a, /*a_row=*/144, /*a_step=*/1,
        b, b_step, c, /*c_row=*/64, /*update=*/1, /*factor=*/NULL, /*compensation=*/NULL, /*early=*/64, after);
#endif
}

/* Computes task number `task`: one tile of queries of one head. `work` is this thread's workspace. */
TARGET static void T(softmax_gpt_oss_rows)(const struct call *call, int64_t task, unsigned char *work)
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
    const float *const sink_array = (const float *)call->array[ARRAY_sink_array].at + g * members *
        call->array[ARRAY_sink_array].stride[0] + m * call->array[ARRAY_sink_array].stride[0];
    float *const key_cos = (float *)(void *)(work + 0); /* [t: 32, j: 48] */
    float *const key_sin = (float *)(void *)(work + 6144); /* [t: 32, j: 48] */
    float *const key = (float *)(void *)(work + 12288); /* [d: 64, j: 48] */
    float *const query_cos = (float *)(void *)(work + 0); /* [t: 32, i: OF(32, 16, 16)] */
    float *const query_sin = (float *)(void *)(work + OF(4096, 2048, 2048)); /* [t: 32, i: OF(32, 16, 16)] */
    float *const all_query = (float *)(void *)(work + 24576); /* [d: 64, i: OF(32, 16, 16), OF(8, 16, 8) times] */
    float *const score = (float *)(void *)(work + 0); /* [j: 48, i: OF(32, 16, 16)] */
    float *const all_row_max = (float *)(void *)(work + OF(90112, 90112, 57344)); /* [i: OF(32, 16, 16), OF(8, 16,
        8) times] */
    float *const old_max = (float *)(void *)(work + OF(6144, 3072, 3072)); /* [i: OF(32, 16, 16)] */
    float *const all_row_sum = (float *)(void *)(work + OF(91136, 91136, 57856)); /* [i: OF(32, 16, 16), OF(8, 16,
        8) times] */
    float *const all_row_sum_compensation = (float *)(void *)(work + OF(92160, 92160, 58368)); /* [i: OF(32, 16, 16),
        OF(8, 16, 8) times] */
    float *const all_sum = (float *)(void *)(work + OF(93184, 93184, 58880)); /* [e: 64, i: OF(32, 16, 16), OF(8, 16,
        8) times] */
    float *const all_sum_compensation = (float *)(void *)(work + OF(158720, 158720, 91648)); /* [e: 64, i: OF(32, 16,
        16), OF(8, 16, 8) times] */
    float *const result = (float *)(void *)(work + 0); /* [e: 64, i: OF(32, 16, 16)] */
    float *const query_scale = (float *)(void *)(work + OF(8192, 4096, 4096)); /* [i: OF(32, 16, 16)] */
    float *const out = (float *)call->array[ARRAY_out].at + b * call->array[ARRAY_out].strides.batch + (g * members + m)
        * call->array[ARRAY_out].strides.head;
    const int64_t out_row = call->array[ARRAY_out].strides.row;
    float *const saved_0 = call->array[ARRAY_saved_0].at ? (float *)call->array[ARRAY_saved_0].at + (b * call->p.heads +
        (g * members + m)) * call->p.n_q : NULL;
    float *const q_tile = (float *)(void *)(work + OF(8192, 4096, 4096)); /* [d: 64, i: OF(32, 16, 16)] */
    float *const k_tile = (float *)(void *)(work + OF(224256, 224256, 124416)); /* [d: 64, j: 48] */
    for (int64_t i_next = i0, i_block = i0, i_end = i1; i_next < i_end; i_next += OF(32, 16, 16)) {
        const int64_t i0 = i_next, i1 = min(i0 + OF(32, 16, 16), i_end);
        float *const query = all_query + (i0 - i_block) / OF(32, 16, 16) * OF(2048, 1024, 1024);
        float *const row_max = all_row_max + (i0 - i_block) / OF(32, 16, 16) * OF(32, 16, 16);
        float *const row_sum = all_row_sum + (i0 - i_block) / OF(32, 16, 16) * OF(32, 16, 16);
        float *const row_sum_compensation = all_row_sum_compensation + (i0 - i_block) / OF(32, 16, 16) * OF(32, 16, 16);
        float *const sum = all_sum + (i0 - i_block) / OF(32, 16, 16) * OF(2048, 1024, 1024);
        float *const sum_compensation = all_sum_compensation + (i0 - i_block) / OF(32, 16, 16) * OF(2048, 1024, 1024);
        /* q_tile = q, with zeros beyond the last row */
        T(transpose_padded)(q + i0 * q_row, q_row, i1 - i0, 64, q_tile, OF(32, 16, 16), LANES);
        /* query_cos = cos((i + query_start) * rope_theta); query_sin = sin((i + query_start) * rope_theta) */
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            const T(ints) t_0 = (i0 + i + T(lane)) + query_start;
            for (int64_t t = 0; t < 32; t++) {
                const T(wide) angle1 = __builtin_convertvector(t_0, T(wide)) * rope_theta[t];
                T(store)(query_cos + t * OF(32, 16, 16) + i, T(cos)(&angle1));
                const T(wide) angle2 = __builtin_convertvector(t_0, T(wide)) * rope_theta[t];
                T(store)(query_sin + t * OF(32, 16, 16) + i, T(sin)(&angle2));
            }
        }
        /* query = ((q_tile * query_cos) + ((q_tile * query_sin) * select(d < 32, -1.0f, 1.0f))) * 0.18033688f */
        for (int64_t d = 0; d < 64; d++) {
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                T(store)(query + d * OF(32, 16, 16) + i, ((T(load)(q_tile + d * OF(32, 16,
                    16) + i) * T(load)(query_cos + (d % 32) * OF(32, 16,
                    16) + i)) + ((T(load)(q_tile + ((d < 32) ? (d + 32) : (d - 32)) * OF(32, 16,
                    16) + i) * T(load)(query_sin + (d % 32) * OF(32, 16,
                    16) + i)) * (float)((d < 32) ? (-1.0) : 1.0))) * 0.18033688f);
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
    for (int64_t j0 = max(0, i0 + query_start - 127), j_end = min(n_k, i1 + query_start); j0 < j_end; j0 += 48) {
        const int64_t j1 = min(j0 + 48, j_end);
        /* k_tile = k, with zeros beyond the last row */
        T(transpose_padded)(k + j0 * k_row, k_row, j1 - j0, 64, k_tile, 48, 64);
        /* key_cos = cos(j * rope_theta); key_sin = sin(j * rope_theta) */
        for (int64_t j = 0; j < j1 - j0; j += LANES) {
            const T(ints) t_3 = j0 + j + T(lane);
            for (int64_t t = 0; t < 32; t++) {
                const T(wide) angle4 = __builtin_convertvector(t_3, T(wide)) * rope_theta[t];
                T(store)(key_cos + t * 48 + j, T(cos)(&angle4));
                const T(wide) angle5 = __builtin_convertvector(t_3, T(wide)) * rope_theta[t];
                T(store)(key_sin + t * 48 + j, T(sin)(&angle5));
            }
        }
        /* key = (k_tile * key_cos) + ((k_tile * key_sin) * select(d < 32, -1.0f, 1.0f)) */
        for (int64_t d = 0; d < 64; d++) {
            for (int64_t j = 0; j < j1 - j0; j += LANES) {
                T(store)(key + d * 48 + j, (T(load)(k_tile + d * 48 + j) * T(load)(key_cos + (d % 32) * 48 + j)) +
                    ((T(load)(k_tile + ((d < 32) ? (d + 32) : (d - 32)) * 48 + j) * T(load)(key_sin + (d % 32) * 48 +
                    j)) * (float)((d < 32) ? (-1.0) : 1.0)));
            }
        }
        for (int64_t i_next = i0, i_block = i0, i_end = i1; i_next < i_end; i_next += OF(32, 16, 16)) {
            const int64_t i0 = i_next, i1 = min(i0 + OF(32, 16, 16), i_end);
            float *const query = all_query + (i0 - i_block) / OF(32, 16, 16) * OF(2048, 1024, 1024);
            float *const row_max = all_row_max + (i0 - i_block) / OF(32, 16, 16) * OF(32, 16, 16);
            float *const row_sum = all_row_sum + (i0 - i_block) / OF(32, 16, 16) * OF(32, 16, 16);
            float *const row_sum_compensation = all_row_sum_compensation + (i0 - i_block) / OF(32, 16, 16) * OF(32, 16,
                16);
            float *const sum = all_sum + (i0 - i_block) / OF(32, 16, 16) * OF(2048, 1024, 1024);
            float *const sum_compensation = all_sum_compensation + (i0 - i_block) / OF(32, 16, 16) * OF(2048, 1024,
                1024);
            if (!(((i0 + query_start - 127) < j1) && (j0 < (i1 + query_start)))) continue;
                /* no query sees a key of the tile */
            /* score[j][i] = sum over d of key * query */
            T(dot0)(round_up(i1 - i0, LANES), j1 - j0, key, query, score);
            /* old_max = row_max */
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                T(store)(old_max + i, T(load)(row_max + i));
            }
            if ((j0 < (i1 + query_start - 128)) || ((i0 + query_start + 1) < j1)) { /* the tile is partly outside the
                mask */
                /* score = select((((i + query_start) + -127) <= j) && (j <= (i + query_start)), score, -INFINITY) */
                for (int64_t i = 0; i < i1 - i0; i += LANES) {
                    const T(ints) t_6 = (i0 + i + T(lane)) + query_start;
                    const T(ints) t_7 = t_6 + (-127);
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        T(store)(score + j * OF(32, 16, 16) + i, T(pick)(__builtin_convertvector((t_7 <= (j0 + j)) &
                            ((j0 + j) <= t_6), T(mask)), T(load)(score + j * OF(32, 16, 16) + i), T(splat)(-INFINITY)));
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
                const T(vec) old_max_8 = T(load)(old_max + i);
                const T(vec) old_max_new9 = T(exp2)(old_max_8 - T(load)(row_max + i));
                T(store)(old_max + i, old_max_new9);
                T(store)(row_sum + i, T(load)(row_sum + i) * old_max_new9);
                T(store)(row_sum_compensation + i, T(load)(row_sum_compensation + i) * old_max_new9);
            }
            /* score = exp2(score - row_max); row_sum += score */
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                const T(vec) row_max_11 = T(load)(row_max + i);
                T(vec) row_sum_in = (T(vec)){0};
                for (int64_t j = 0; j < j1 - j0; j++) {
                    const T(vec) score_10 = T(load)(score + j * OF(32, 16, 16) + i);
                    const T(vec) score_new12 = T(exp2)(score_10 - row_max_11);
                    T(store)(score + j * OF(32, 16, 16) + i, score_new12);
                    row_sum_in += score_new12;
                }
                T(add)(row_sum + i, row_sum_compensation + i, row_sum_in, T(splat)(1));
            }
            /* sum[e][i] = sum * old_max + sum over j of v * score */
            if (__builtin_expect(((j0 < (i1 + query_start - 128)) || ((i0 + query_start + 1) < j1)) && !T(finite)(v + j0
                * v_row, v_row, j1 - j0, 64), 0)) { /* infinity and NaN affect only queries that see them */
                T(dot1)(round_up(i1 - i0, LANES), j1 - j0, v + j0 * v_row, v_row, score, sum, old_max,
                    sum_compensation);
                for (int64_t j = 0; j < j1 - j0; j++) {
                    T(mask) in_region[OF(2, 2, 4)] = {0};
                    if (T(finite)(v + j0 * v_row + j * v_row, 1, 64, 1)) continue;
                    for (int64_t i = 0; i < i1 - i0; i += LANES) {
                        const T(ints) t_13 = (i0 + i + T(lane)) + query_start;
                        in_region[i / LANES] = __builtin_convertvector(((t_13 + (-127)) <= (j0 + j)) & ((j0 + j) <=
                            t_13), T(mask));
                    }
                    T(add_seen)(64, sum, OF(32, 16, 16), v + j0 * v_row + j * v_row, 1, score + j * OF(32, 16, 16),
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
            float *const row_max = all_row_max + (i0 - i_block) / OF(32, 16, 16) * OF(32, 16, 16);
            float *const row_sum = all_row_sum + (i0 - i_block) / OF(32, 16, 16) * OF(32, 16, 16);
            float *const sum = all_sum + (i0 - i_block) / OF(32, 16, 16) * OF(2048, 1024, 1024);
            /* result = select(((row_sum * exp2(row_max - max(row_max,
               sink * 1.442695f))) + exp2((sink * 1.442695f) - max(row_max, sink * 1.44 ... */
            const float t_15 = sink_array[0] * 1.442695f;
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                const T(vec) row_max_14 = T(load)(row_max + i);
                const T(vec) t_16 = T(max_nan)(row_max_14, T(splat)(t_15));
                const T(vec) t_17 = T(exp2)(row_max_14 - t_16);
                const T(vec) t_18 = (T(load)(row_sum + i) * t_17) + T(exp2)(t_15 - t_16);
                const T(mask) t_19 = t_18 == 0.0f;
                const T(vec) t_20 = 1.0f / t_18;
                for (int64_t e = 0; e < 64; e++) {
                    T(store)(result + e * OF(32, 16, 16) + i, T(pick)(t_19, T(splat)(0.0f), (T(load)(sum + e * OF(32,
                        16, 16) + i) * t_20) * t_17));
                }
            }
            if (saved_0) {
                /* query_scale = select(((row_sum * exp2(row_max - max(row_max,
                   sink * 1.442695f))) + exp2((sink * 1.442695f) - max(row_max, sink * ... */
                const float t_22 = sink_array[0] * 1.442695f;
                for (int64_t i = 0; i < i1 - i0; i += LANES) {
                    const T(vec) row_max_21 = T(load)(row_max + i);
                    const T(vec) t_23 = T(max_nan)(row_max_21, T(splat)(t_22));
                    const T(vec) t_24 = (T(load)(row_sum + i) * T(exp2)(row_max_21 - t_23)) + T(exp2)(t_22 - t_23);
                    T(store)(query_scale + i, T(pick)(t_24 == 0.0f, T(splat)(0.0f),
                        (T(log)(t_24) + (t_23 * 0.6931472f)) * 1.442695f));
                }
            }
            /* out = result, transposed back */
            T(transpose_out)(result, OF(32, 16, 16), 64, i1 - i0, out + i0 * out_row, out_row, LANES);
            if (saved_0) {
                /* saved_0 = query_scale */
                for (int64_t i = 0; i < i1 - i0; i++)
                    saved_0[(i0 + i)] = query_scale[i];
            }
        }
    }
}

/* Initialises the states: they contain no keys yet. */
TARGET APART void T(softmax_gpt_oss_few_begin)(const struct call *call, int64_t task, const struct share *share,
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
    float *const query_cos = (float *)(void *)(share->shared + 0); /* [t: 32, r: 64] */
    float *const query_sin = (float *)(void *)(share->shared + 8256); /* [t: 32, r: 64] */
    float *const query = (float *)(void *)(share->shared + 16512); /* [d: 64, r: 64] */
    float *const q_tile = (float *)(void *)(share->work + 0); /* [d: 64, r: 64 of 80] */
    /* q_tile = q, with zeros beyond the last row */
    for (int64_t r = r0; r < r0 + round_up(r1 - r0, LANES); r++)
        for (int64_t d = 0; d < 64; d++)
            q_tile[d * 80 + r] = r < r1 ? q[r / n_q * q_head + r % n_q * q_row + d] : 0;
    /* query_cos = cos(((r % n_q) + query_start) * rope_theta);
       query_sin = sin(((r % n_q) + query_start) * rope_theta) */
    for (int64_t r = r0; r < r1; r += LANES) {
        const T(ints) t_0 = ((r + T(lane)) % n_q) + query_start;
        for (int64_t t = 0; t < 32; t++) {
            const T(wide) angle1 = __builtin_convertvector(t_0, T(wide)) * rope_theta[t];
            T(store)(query_cos + t * 64 + r, T(cos)(&angle1));
            const T(wide) angle2 = __builtin_convertvector(t_0, T(wide)) * rope_theta[t];
            T(store)(query_sin + t * 64 + r, T(sin)(&angle2));
        }
    }
    /* query = ((q_tile * query_cos) + ((q_tile * query_sin) * select(d < 32, -1.0f, 1.0f))) * 0.18033688f */
    for (int64_t r = r0; r < r1; r += LANES) {
        for (int64_t d = 0; d < 64; d++) {
            T(store)(query + d * 64 + r, ((T(load)(q_tile + d * 80 + r) * T(load)(query_cos + (d % 32) * 64 + r)) +
                ((T(load)(q_tile + ((d < 32) ? (d + 32) : (d - 32)) * 80 + r) * T(load)(query_sin + (d % 32) * 64 + r))
                * (float)((d < 32) ? (-1.0) : 1.0))) * 0.18033688f);
        }
    }
}

/* Initialises the states: they contain no keys yet. */
TARGET APART void T(softmax_gpt_oss_few_begin_2)(const struct call *call, int64_t task, const struct share *share,
    int64_t iteration)
{
    (void)task;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t r0 = iteration * 16, r1 = min(r0 + 16, rows);
    float *const carried_max = (float *)(void *)(share->shared + 32960); /* [r: 64] */
    float *const carried_sum = (float *)(void *)(share->shared + 33216); /* [r: 64] */
    float *const carried_sum_compensation = (float *)(void *)(share->shared + 49920); /* [r: 64] */
    float *const carried = (float *)(void *)(share->shared + 33472); /* [r: 64, e: 64] */
    float *const carried_compensation = (float *)(void *)(share->shared + 50176); /* [r: 64, e: 64] */
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
TARGET APART void T(softmax_gpt_oss_few_keys)(const struct call *call, int64_t task, const struct share *share,
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
    float *const key_cos = (float *)(void *)(share->work + 0); /* [t: 32, j: 128 of 144] */
    float *const key_sin = (float *)(void *)(share->work + 18432); /* [t: 32, j: 128 of 144] */
    float *const key = (float *)(void *)(share->work + 36864); /* [d: 64, j: 128 of 144] */
    float *const query = (float *)(void *)(share->shared + 16512); /* [d: 64, r: 64] */
    float *const score = (float *)(void *)(share->work + 0); /* [r: 64, j: 128 of 144] */
    float *const state_max = (float *)(void *)(share->slots + 0); /* [chunk, r: 64] */
    float *const old_max = (float *)(void *)(share->work + 36864); /* [r: 64] */
    float *const state_sum = (float *)(void *)(share->slots + 256); /* [chunk, r: 64] */
    float *const state = (float *)(void *)(share->slots + 512); /* [chunk, r: 64, e: 64] */
    float *const k_tile = (float *)(void *)(share->work + 73728); /* [d: 64, j: 128 of 144] */
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
    for (int64_t j0 = max(chunk * 1024, query_start - 127), j_end = min(min(n_k, (chunk + 1) * 1024),
        n_q + query_start); j0 < j_end; j0 += 128) {
        const int64_t j1 = min(j0 + 128, j_end);
        /* k_tile = k, with zeros beyond the last row */
        T(transpose_padded)(k + j0 * k_row, k_row, j1 - j0, 64, k_tile, 144, 64);
        /* key_cos = cos(j * rope_theta); key_sin = sin(j * rope_theta) */
        for (int64_t j = 0; j < j1 - j0; j += LANES) {
            const T(ints) t_3 = j0 + j + T(lane);
            for (int64_t t = 0; t < 32; t++) {
                const T(wide) angle4 = __builtin_convertvector(t_3, T(wide)) * rope_theta[t];
                T(store)(key_cos + t * 144 + j, T(cos)(&angle4));
                const T(wide) angle5 = __builtin_convertvector(t_3, T(wide)) * rope_theta[t];
                T(store)(key_sin + t * 144 + j, T(sin)(&angle5));
            }
        }
        /* key = (k_tile * key_cos) + ((k_tile * key_sin) * select(d < 32, -1.0f, 1.0f)) */
        for (int64_t d = 0; d < 64; d++) {
            for (int64_t j = 0; j < j1 - j0; j += LANES) {
                T(store)(key + d * 144 + j, (T(load)(k_tile + d * 144 + j) * T(load)(key_cos + (d % 32) * 144 + j)) +
                    ((T(load)(k_tile + ((d < 32) ? (d + 32) : (d - 32)) * 144 + j) * T(load)(key_sin + (d % 32) * 144 +
                    j)) * (float)((d < 32) ? (-1.0) : 1.0)));
            }
        }
        /* score[r][j] = sum over d of query * key */
        T(dot3)(round_up(j1 - j0, LANES), rows, query, key, score);
        /* old_max = state_max */
        for (int64_t r = 0; r < rows; r += LANES) {
            T(store)(old_max + r, T(load)(state_max + (chunk - chunk0) * 4240 + r));
        }
        if ((j0 < (n_q + query_start - 128)) || ((query_start + 1) < j1)) { /* the tile is partly outside the mask */
            /* score = select(((((r % n_q) + query_start) + -127) <= j) && (j <= ((r % n_q) + query_start)), score,
               -INFINITY) */
            for (int64_t j = 0; j < j1 - j0; j += LANES) {
                const T(ints) t_6 = j0 + j + T(lane);
                for (int64_t r = 0; r < rows; r++) {
                    const int64_t t_7 = (r % n_q) + query_start;
                    T(store)(score + r * 144 + j, T(pick)(__builtin_convertvector((((r % n_q) + query_start - 127) <=
                        t_6) & (t_6 <= t_7), T(mask)), T(load)(score + r * 144 + j), T(splat)(-INFINITY)));
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
            if (largest > state_max[(chunk - chunk0) * 4240 + r]) state_max[(chunk - chunk0) * 4240 + r] = largest;
        }
        /* old_max = exp2(old_max - state_max); state_sum = state_sum * old_max */
        for (int64_t r = 0; r < rows; r += LANES) {
            const T(vec) old_max_8 = T(load)(old_max + r);
            const T(vec) old_max_new9 = T(exp2)(old_max_8 - T(load)(state_max + (chunk - chunk0) * 4240 + r));
            T(store)(old_max + r, old_max_new9);
            T(store)(state_sum + (chunk - chunk0) * 4240 + r, T(load)(state_sum + (chunk - chunk0) * 4240 + r) *
                old_max_new9);
        }
        /* score = exp2(score - state_max) */
        for (int64_t j = 0; j < j1 - j0; j += LANES) {
            for (int64_t r = 0; r < rows; r++) {
                T(store)(score + r * 144 + j, T(exp2)(T(load)(score + r * 144 + j) - (state_max[(chunk - chunk0) * 4240
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
        if (__builtin_expect(((j0 < (n_q + query_start - 128)) || ((query_start + 1) < j1)) && !T(finite)(v + j0 *
            v_row, v_row, j1 - j0, 64), 0)) { /* infinity and NaN affect only queries that see them */
            T(dot4)(rows, j1 - j0, score, v + j0 * v_row, v_row, state + (chunk - chunk0) * 4240);
            for (int64_t r = 0; r < rows; r++) {
                T(mask) in_region[OF(8, 16, 32)] = {0};
                const int64_t t_10 = (r % n_q) + query_start - 127;
                const int64_t t_12 = (r % n_q) + query_start;
                for (int64_t j = 0; j < j1 - j0; j += LANES) {
                    const T(ints) t_11 = j0 + j + T(lane);
                    in_region[j / LANES] = __builtin_convertvector((t_10 <= t_11) & (t_11 <= t_12), T(mask));
                }
                T(add_seen_lanes)(64, state + (chunk - chunk0) * 4240 + r * 64, score + r * 144, v + j0 * v_row, v_row,
                    j1 - j0, in_region);
            }
        } else
#if OF(1, 0, 0)
            T(dot5)(rows, j1 - j0, score, v + j0 * v_row, v_row, state + (chunk - chunk0) * 4240,
                attn_is_intel() ? 16 : 0);
#else
            T(dot5)(rows, j1 - j0, score, v + j0 * v_row, v_row, state + (chunk - chunk0) * 4240);
#endif
    }
}

/* Folds the slots of the current chunks, in order, for some elements of the states. */
TARGET APART void T(softmax_gpt_oss_few_fold)(const struct call *call, int64_t task, const struct share *share,
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
    float *const carried_max = (float *)(void *)(share->shared + 32960); /* [r: 64] */
    float *const carried_factor = (float *)(void *)(share->work + 0); /* [r: 64] */
    float *const slot_factor = (float *)(void *)(share->work + 256); /* [r: 64] */
    float *const carried_sum = (float *)(void *)(share->shared + 33216); /* [r: 64] */
    float *const carried_sum_compensation = (float *)(void *)(share->shared + 49920); /* [r: 64] */
    float *const carried = (float *)(void *)(share->shared + 33472); /* [r: 64, e: 64] */
    float *const carried_compensation = (float *)(void *)(share->shared + 50176); /* [r: 64, e: 64] */
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
TARGET APART void T(softmax_gpt_oss_few_queries)(const struct call *call, int64_t task, const struct share *share,
    int64_t iteration)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_q = call->p.n_q;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t r0 = iteration * 16, r1 = min(r0 + 16, rows);
    const int64_t g = task % kv_heads;
    const int64_t b = task / kv_heads;
    const float *const sink_array = (const float *)call->array[ARRAY_sink_array].at + g * members *
        call->array[ARRAY_sink_array].stride[0];
    const int64_t sink_array_stride_0 = call->array[ARRAY_sink_array].stride[0];
    float *const carried_max = (float *)(void *)(share->shared + 32960); /* [r: 64] */
    float *const carried_sum = (float *)(void *)(share->shared + 33216); /* [r: 64] */
    float *const carried = (float *)(void *)(share->shared + 33472); /* [r: 64, e: 64] */
    float *const result = (float *)(void *)(share->work + 0); /* [r: 64, e: 64] */
    float *const out = (float *)call->array[ARRAY_out].at + b * call->array[ARRAY_out].strides.batch + g * members *
        call->array[ARRAY_out].strides.head;
    const int64_t out_row = call->array[ARRAY_out].strides.row;
    const int64_t out_head = call->array[ARRAY_out].strides.head;
    /* result = select(((carried_sum * exp2(carried_max - max(carried_max,
       sink * 1.442695f))) + exp2((sink * 1.442695f) - max(carried_ ... */
    for (int64_t r = r0; r < r1; r++) {
        for (int64_t e = 0; e < 64; e += LANES) {
            const float carried_max_22 = carried_max[r];
            const float t_23 = (sink_array[(r / n_q) * sink_array_stride_0]) * 1.442695f;
            const float t_24 = (carried_max_22 > t_23 || carried_max_22 != carried_max_22 ? carried_max_22 : t_23);
            const float t_25 = exp2f(carried_max_22 - t_24);
            const float t_26 = (carried_sum[r] * t_25) + exp2f(t_23 - t_24);
            T(store)(result + r * 64 + e, (t_26 == 0.0f) ? T(splat)(0.0f) : (T(load)(carried + r * 64 + e) * (1.0f /
                t_26)) * t_25);
        }
    }
    /* out = result */
    for (int64_t r = r0; r < r1; r++)
        for (int64_t e = 0; e < 64; e++)
            out[r / n_q * out_head + r % n_q * out_row + e] = result[r * 64 + e];
}

/* Computes head number `task`. Each thread on the head calls this with `share`. */
TARGET static void T(softmax_gpt_oss_few)(const struct call *call, int64_t task, struct share *share)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t n_q = call->p.n_q;
    const int64_t n_k = call->p.n_k;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t chunks = n_k > 0 ? (n_k - 1) / 1024 + 1 : 1;
    const int64_t b = task / kv_heads;
    const int64_t query_start = call->p.query_start ? call->p.query_start[b] : n_k - n_q;
    for (int64_t iteration = share->number; iteration < ((rows + 63) / 64); iteration += share->threads)
        T(softmax_gpt_oss_few_begin)(call, task, share, iteration);
    for (int64_t iteration = share->number; iteration < ((rows + 15) / 16); iteration += share->threads)
        T(softmax_gpt_oss_few_begin_2)(call, task, share, iteration);
    synchronise(share);
    const int64_t first = max(query_start - 127, 0) / 1024;
    const int64_t length = segment_length(share, chunks - first);
    for (int64_t segment = share->number; first + segment * length < chunks; segment += share->threads) {
        share->chunk0 = first + segment * length;
        share->chunk1 = min(share->chunk0 + length, chunks);
        for (int64_t iteration = share->chunk0; iteration < share->chunk1; iteration++)
            T(softmax_gpt_oss_few_keys)(call, task, share, iteration);
        for (int64_t group = 0; group < 16; group++) {
            await_segment(share, group, segment);
            const int64_t end = (group + 1) * ((rows + 15) / 16) / 16;
            for (int64_t iteration = group * ((rows + 15) / 16) / 16; iteration < end; iteration++)
                T(softmax_gpt_oss_few_fold)(call, task, share, iteration);
            pass_segment(share, group, segment);
        }
    }
    share->segments += (max(chunks - first, 0) + length - 1) / length;
    synchronise(share);
    for (int64_t iteration = share->number; iteration < ((rows + 15) / 16); iteration += share->threads)
        T(softmax_gpt_oss_few_queries)(call, task, share, iteration);
    synchronise(share);
}

/* Computes task number `task`: one tile of queries of one head. `work` is this thread's workspace. */
TARGET static void T(softmax_gpt_oss_saved)(const struct call *call, int64_t task, unsigned char *work)
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
    const float *const sink_array = (const float *)call->array[ARRAY_sink_array].at + g * members *
        call->array[ARRAY_sink_array].stride[0] + m * call->array[ARRAY_sink_array].stride[0];
    float *const key_cos = (float *)(void *)(work + 0); /* [t: 32, j: 48] */
    float *const key_sin = (float *)(void *)(work + 6144); /* [t: 32, j: 48] */
    float *const key = (float *)(void *)(work + 12288); /* [d: 64, j: 48] */
    float *const query_cos = (float *)(void *)(work + 0); /* [t: 32, i: OF(32, 16, 16)] */
    float *const query_sin = (float *)(void *)(work + OF(4096, 2048, 2048)); /* [t: 32, i: OF(32, 16, 16)] */
    float *const all_query = (float *)(void *)(work + 24576); /* [d: 64, i: OF(32, 16, 16), OF(8, 16, 8) times] */
    float *const score = (float *)(void *)(work + 0); /* [j: 48, i: OF(32, 16, 16)] */
    float *const all_row_max = (float *)(void *)(work + OF(90112, 90112, 57344)); /* [i: OF(32, 16, 16), OF(8, 16,
        8) times] */
    float *const old_max = (float *)(void *)(work + OF(6144, 3072, 3072)); /* [i: OF(32, 16, 16)] */
    float *const all_row_sum = (float *)(void *)(work + OF(91136, 91136, 57856)); /* [i: OF(32, 16, 16), OF(8, 16,
        8) times] */
    float *const all_row_sum_compensation = (float *)(void *)(work + OF(92160, 92160, 58368)); /* [i: OF(32, 16, 16),
        OF(8, 16, 8) times] */
    float *const result = (float *)(void *)(work + 0); /* [i: OF(32, 16, 16)] */
    float *const saved_0 = (float *)call->array[ARRAY_saved_0].at + (b * call->p.heads + (g * members + m)) *
        call->p.n_q;
    float *const q_tile = (float *)(void *)(work + OF(8192, 4096, 4096)); /* [d: 64, i: OF(32, 16, 16)] */
    float *const k_tile = (float *)(void *)(work + OF(93184, 93184, 58880)); /* [d: 64, j: 48] */
    for (int64_t i_next = i0, i_block = i0, i_end = i1; i_next < i_end; i_next += OF(32, 16, 16)) {
        const int64_t i0 = i_next, i1 = min(i0 + OF(32, 16, 16), i_end);
        float *const query = all_query + (i0 - i_block) / OF(32, 16, 16) * OF(2048, 1024, 1024);
        float *const row_max = all_row_max + (i0 - i_block) / OF(32, 16, 16) * OF(32, 16, 16);
        float *const row_sum = all_row_sum + (i0 - i_block) / OF(32, 16, 16) * OF(32, 16, 16);
        float *const row_sum_compensation = all_row_sum_compensation + (i0 - i_block) / OF(32, 16, 16) * OF(32, 16, 16);
        /* q_tile = q, with zeros beyond the last row */
        T(transpose_padded)(q + i0 * q_row, q_row, i1 - i0, 64, q_tile, OF(32, 16, 16), LANES);
        /* query_cos = cos((i + query_start) * rope_theta); query_sin = sin((i + query_start) * rope_theta) */
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            const T(ints) t_0 = (i0 + i + T(lane)) + query_start;
            for (int64_t t = 0; t < 32; t++) {
                const T(wide) angle1 = __builtin_convertvector(t_0, T(wide)) * rope_theta[t];
                T(store)(query_cos + t * OF(32, 16, 16) + i, T(cos)(&angle1));
                const T(wide) angle2 = __builtin_convertvector(t_0, T(wide)) * rope_theta[t];
                T(store)(query_sin + t * OF(32, 16, 16) + i, T(sin)(&angle2));
            }
        }
        /* query = ((q_tile * query_cos) + ((q_tile * query_sin) * select(d < 32, -1.0f, 1.0f))) * 0.18033688f */
        for (int64_t d = 0; d < 64; d++) {
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                T(store)(query + d * OF(32, 16, 16) + i, ((T(load)(q_tile + d * OF(32, 16,
                    16) + i) * T(load)(query_cos + (d % 32) * OF(32, 16,
                    16) + i)) + ((T(load)(q_tile + ((d < 32) ? (d + 32) : (d - 32)) * OF(32, 16,
                    16) + i) * T(load)(query_sin + (d % 32) * OF(32, 16,
                    16) + i)) * (float)((d < 32) ? (-1.0) : 1.0))) * 0.18033688f);
            }
        }
        /* row_max = -FLT_MAX; row_sum = 0.0f; row_sum_compensation = 0.0f */
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            T(store)(row_max + i, T(splat)(-FLT_MAX));
            T(store)(row_sum + i, T(splat)(0.0f));
            T(store)(row_sum_compensation + i, T(splat)(0.0f));
        }
    }
    for (int64_t j0 = max(0, i0 + query_start - 127), j_end = min(n_k, i1 + query_start); j0 < j_end; j0 += 48) {
        const int64_t j1 = min(j0 + 48, j_end);
        /* k_tile = k, with zeros beyond the last row */
        T(transpose_padded)(k + j0 * k_row, k_row, j1 - j0, 64, k_tile, 48, 64);
        /* key_cos = cos(j * rope_theta); key_sin = sin(j * rope_theta) */
        for (int64_t j = 0; j < j1 - j0; j += LANES) {
            const T(ints) t_3 = j0 + j + T(lane);
            for (int64_t t = 0; t < 32; t++) {
                const T(wide) angle4 = __builtin_convertvector(t_3, T(wide)) * rope_theta[t];
                T(store)(key_cos + t * 48 + j, T(cos)(&angle4));
                const T(wide) angle5 = __builtin_convertvector(t_3, T(wide)) * rope_theta[t];
                T(store)(key_sin + t * 48 + j, T(sin)(&angle5));
            }
        }
        /* key = (k_tile * key_cos) + ((k_tile * key_sin) * select(d < 32, -1.0f, 1.0f)) */
        for (int64_t d = 0; d < 64; d++) {
            for (int64_t j = 0; j < j1 - j0; j += LANES) {
                T(store)(key + d * 48 + j, (T(load)(k_tile + d * 48 + j) * T(load)(key_cos + (d % 32) * 48 + j)) +
                    ((T(load)(k_tile + ((d < 32) ? (d + 32) : (d - 32)) * 48 + j) * T(load)(key_sin + (d % 32) * 48 +
                    j)) * (float)((d < 32) ? (-1.0) : 1.0)));
            }
        }
        for (int64_t i_next = i0, i_block = i0, i_end = i1; i_next < i_end; i_next += OF(32, 16, 16)) {
            const int64_t i0 = i_next, i1 = min(i0 + OF(32, 16, 16), i_end);
            float *const query = all_query + (i0 - i_block) / OF(32, 16, 16) * OF(2048, 1024, 1024);
            float *const row_max = all_row_max + (i0 - i_block) / OF(32, 16, 16) * OF(32, 16, 16);
            float *const row_sum = all_row_sum + (i0 - i_block) / OF(32, 16, 16) * OF(32, 16, 16);
            float *const row_sum_compensation = all_row_sum_compensation + (i0 - i_block) / OF(32, 16, 16) * OF(32, 16,
                16);
            if (!(((i0 + query_start - 127) < j1) && (j0 < (i1 + query_start)))) continue;
                /* no query sees a key of the tile */
            /* score[j][i] = sum over d of key * query */
            T(dot0)(round_up(i1 - i0, LANES), j1 - j0, key, query, score);
            /* old_max = row_max */
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                T(store)(old_max + i, T(load)(row_max + i));
            }
            if ((j0 < (i1 + query_start - 128)) || ((i0 + query_start + 1) < j1)) { /* the tile is partly outside the
                mask */
                /* score = select((((i + query_start) + -127) <= j) && (j <= (i + query_start)), score, -INFINITY) */
                for (int64_t i = 0; i < i1 - i0; i += LANES) {
                    const T(ints) t_6 = (i0 + i + T(lane)) + query_start;
                    const T(ints) t_7 = t_6 + (-127);
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        T(store)(score + j * OF(32, 16, 16) + i, T(pick)(__builtin_convertvector((t_7 <= (j0 + j)) &
                            ((j0 + j) <= t_6), T(mask)), T(load)(score + j * OF(32, 16, 16) + i), T(splat)(-INFINITY)));
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
                const T(vec) old_max_8 = T(load)(old_max + i);
                const T(vec) old_max_new9 = T(exp2)(old_max_8 - T(load)(row_max + i));
                T(store)(old_max + i, old_max_new9);
                T(store)(row_sum + i, T(load)(row_sum + i) * old_max_new9);
                T(store)(row_sum_compensation + i, T(load)(row_sum_compensation + i) * old_max_new9);
            }
            /* score = exp2(score - row_max); row_sum += score */
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                const T(vec) row_max_11 = T(load)(row_max + i);
                T(vec) row_sum_in = (T(vec)){0};
                for (int64_t j = 0; j < j1 - j0; j++) {
                    const T(vec) score_10 = T(load)(score + j * OF(32, 16, 16) + i);
                    const T(vec) score_new12 = T(exp2)(score_10 - row_max_11);
                    T(store)(score + j * OF(32, 16, 16) + i, score_new12);
                    row_sum_in += score_new12;
                }
                T(add)(row_sum + i, row_sum_compensation + i, row_sum_in, T(splat)(1));
            }
        }
    }
    {
        for (int64_t i_next = i0, i_block = i0, i_end = i1; i_next < i_end; i_next += OF(32, 16, 16)) {
            const int64_t i0 = i_next, i1 = min(i0 + OF(32, 16, 16), i_end);
            float *const row_max = all_row_max + (i0 - i_block) / OF(32, 16, 16) * OF(32, 16, 16);
            float *const row_sum = all_row_sum + (i0 - i_block) / OF(32, 16, 16) * OF(32, 16, 16);
            /* result = select(((row_sum * exp2(row_max - max(row_max,
               sink * 1.442695f))) + exp2((sink * 1.442695f) - max(row_max, sink * 1.44 ... */
            const float t_14 = sink_array[0] * 1.442695f;
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                const T(vec) row_max_13 = T(load)(row_max + i);
                const T(vec) t_15 = T(max_nan)(row_max_13, T(splat)(t_14));
                const T(vec) t_16 = (T(load)(row_sum + i) * T(exp2)(row_max_13 - t_15)) + T(exp2)(t_14 - t_15);
                T(store)(result + i, T(pick)(t_16 == 0.0f, T(splat)(0.0f),
                    (T(log)(t_16) + (t_15 * 0.6931472f)) * 1.442695f));
            }
            /* saved_0 = result */
            for (int64_t i = 0; i < i1 - i0; i++)
                saved_0[(i0 + i)] = result[i];
        }
    }
}

/* Computes task number `task`: one tile of queries of one head. `work` is this thread's workspace. */
TARGET static void T(softmax_gpt_oss_row_sums)(const struct call *call, int64_t task, unsigned char *work)
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
    float *const out_tile = (float *)(void *)(work + 256); /* [e: 64, i: 64 of 80] */
    float *const dout_tile = (float *)(void *)(work + 20736); /* [e: 64, i: 64 of 80] */
    /* out_tile = out, with zeros beyond the last row */
    T(transpose_padded)(out + i0 * out_row, out_row, i1 - i0, 64, out_tile, 80, LANES);
    /* dout_tile = dout, with zeros beyond the last row */
    T(transpose_padded)(dout + i0 * dout_row, dout_row, i1 - i0, 64, dout_tile, 80, LANES);
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
        for (int64_t e = 0; e < 64; e++) {
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

/* Computes task number `task`: one tile of keys of one head. `work` is this thread's workspace. */
TARGET static void T(softmax_gpt_oss_dk_dv_sum_0)(const struct call *call, int64_t task, unsigned char *work)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_q = call->p.n_q;
    const int64_t n_k = call->p.n_k;
    const int64_t tiles = (n_k + OF(256, 256, 128) - 1) / OF(256, 256, 128), j0 = task % tiles * OF(256, 256, 128),
        j1 = min(j0 + OF(256, 256, 128), n_k);
    const int64_t g = task / tiles % kv_heads;
    const int64_t b = task / tiles / kv_heads;
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
    float *const dk = call->array[ARRAY_dk].at ? (float *)call->array[ARRAY_dk].at + b *
        call->array[ARRAY_dk].strides.batch + g * call->array[ARRAY_dk].strides.head : NULL;
    const int64_t dk_row = call->array[ARRAY_dk].strides.row;
    float *const dv = call->array[ARRAY_dv].at ? (float *)call->array[ARRAY_dv].at + b *
        call->array[ARRAY_dv].strides.batch + g * call->array[ARRAY_dv].strides.head : NULL;
    const int64_t dv_row = call->array[ARRAY_dv].strides.row;
    float *const sum_0 = call->array[ARRAY_sum_0].at ? (float *)call->array[ARRAY_sum_0].at + (b * call->p.heads + g *
        members) * call->p.n_q * 64 : NULL;
    const int64_t sum_0_head = call->p.n_q * 64;
    float *const query_cos = (float *)(void *)(work + 0); /* [t: 32, j: OF(256, 256, 128) of OF(272, 272, 144)] */
    float *const query_sin = (float *)(void *)(work + OF(34816, 34816, 18432)); /* [t: 32, j: OF(256, 256,
        128) of OF(272, 272, 144)] */
    float *const query = (float *)(void *)(work + OF(69632, 69632, 36864)); /* [d: 64, j: OF(256, 256, 128) of OF(272,
        272, 144)] */
    float *const key_cos = (float *)(void *)(work + OF(69632, 69632, 36864)); /* [t: 32, i: 144] */
    float *const key_sin = (float *)(void *)(work + OF(88064, 88064, 55296)); /* [t: 32, i: 144] */
    float *const key = (float *)(void *)(work + OF(106496, 106496, 73728)); /* [d: 64, i: 144] */
    float *const query_2 = (float *)(void *)(work + OF(143360, 143360, 110592)); /* [d: 64, j: OF(256, 256,
        128) of OF(272, 272, 144)] */
    float *const score = (float *)(void *)(work + OF(212992, 212992, 147456)); /* [i: 144, j: OF(256, 256,
        128) of OF(272, 272, 144)] */
    float *const score_2 = (float *)(void *)(work + OF(369664, 369664, 230400)); /* [i: 144, j: OF(256, 256,
        128) of OF(272, 272, 144)] */
    float *const sum = (float *)(void *)(work + OF(526336, 526336, 313344)); /* [e: 64, j: OF(256, 256, 128) of OF(272,
        272, 144)] */
    float *const sum_compensation = (float *)(void *)(work + OF(595968, 595968, 350208)); /* [e: 64, j: OF(256, 256,
        128) of OF(272, 272, 144)] */
    float *const query_turned = (float *)(void *)(work + OF(665600, 665600, 387072)); /* [j: OF(256, 256, 128),
        d: 64] */
    float *const sum_2 = (float *)(void *)(work + OF(731136, 731136, 419840)); /* [d: 64, j: OF(256, 256,
        128) of OF(272, 272, 144)] */
    float *const sum_2_compensation = (float *)(void *)(work + OF(800768, 800768, 456704)); /* [d: 64, j: OF(256, 256,
        128) of OF(272, 272, 144)] */
    float *const query_3 = (float *)(void *)(work + OF(69632, 69632, 36864)); /* [d: 64, j: OF(256, 256, 128) of OF(272,
        272, 144)] */
    float *const k_tile = (float *)(void *)(work + OF(212992, 212992, 73728)); /* [d: 64, j: OF(256, 256,
        128) of OF(272, 272, 144)] */
    float *const q_tile = (float *)(void *)(work + OF(212992, 212992, 147456)); /* [d: 64, i: 144] */
    float *const v_tile = (float *)(void *)(work + OF(870400, 870400, 493568)); /* [e: 64, j: OF(256, 256,
        128) of OF(272, 272, 144)] */
    /* k_tile = k, with zeros beyond the last row */
    T(transpose_padded)(k + j0 * k_row, k_row, j1 - j0, 64, k_tile, OF(272, 272, 144), 64);
    if (dk || sum_0) {
        /* v_tile = v, with zeros beyond the last row */
        T(transpose_padded)(v + j0 * v_row, v_row, j1 - j0, 64, v_tile, OF(272, 272, 144), 64);
    }
    if (j0 <= 0) {
        for (int64_t m = 0; m < members; m++) {
            for (int64_t i0 = 0, i_end = n_q; i0 < i_end; i0 += 144) {
                const int64_t i1 = min(i0 + 144, i_end);
                if (sum_0) {
                    /* sum_0 = 0.0f */
                    for (int64_t i = 0; i < i1 - i0; i++) {
                        for (int64_t d = 0; d < 64; d += LANES) {
                            T(store)(sum_0 + m * sum_0_head + (i0 + i) * 64 + d, T(splat)(0.0f));
                        }
                    }
                }
            }
        }
    }
    /* query_cos = cos(j * rope_theta); query_sin = sin(j * rope_theta) */
    for (int64_t j = 0; j < j1 - j0; j += LANES) {
        const T(ints) t_0 = j0 + j + T(lane);
        for (int64_t t = 0; t < 32; t++) {
            const T(wide) angle1 = __builtin_convertvector(t_0, T(wide)) * rope_theta[t];
            T(store)(query_cos + t * OF(272, 272, 144) + j, T(cos)(&angle1));
            const T(wide) angle2 = __builtin_convertvector(t_0, T(wide)) * rope_theta[t];
            T(store)(query_sin + t * OF(272, 272, 144) + j, T(sin)(&angle2));
        }
    }
    /* query = (k_tile * query_cos) + ((k_tile * query_sin) * select(d < 32, -1.0f, 1.0f));
       query_2 = query * 0.18033688f */
    for (int64_t d = 0; d < 64; d++) {
        for (int64_t j = 0; j < j1 - j0; j += LANES) {
            const T(vec) query_new3 = (T(load)(k_tile + d * OF(272, 272,
                144) + j) * T(load)(query_cos + (d % 32) * OF(272, 272,
                144) + j)) + ((T(load)(k_tile + ((d < 32) ? (d + 32) : (d - 32)) * OF(272, 272,
                144) + j) * T(load)(query_sin + (d % 32) * OF(272, 272, 144) + j)) * (float)((d < 32) ? (-1.0) : 1.0));
            T(store)(query + d * OF(272, 272, 144) + j, query_new3);
            T(store)(query_2 + d * OF(272, 272, 144) + j, query_new3 * 0.18033688f);
        }
    }
    if (dv) {
        /* sum = 0.0f; sum_compensation = 0.0f */
        for (int64_t e = 0; e < 64; e++) {
            for (int64_t j = 0; j < j1 - j0; j += LANES) {
                T(store)(sum + e * OF(272, 272, 144) + j, T(splat)(0.0f));
                T(store)(sum_compensation + e * OF(272, 272, 144) + j, T(splat)(0.0f));
            }
        }
    }
    if (sum_0) {
        /* query_turned = query, with zeros beyond the last row */
        T(transpose)(query, OF(272, 272, 144), 64, j1 - j0, query_turned, 64, 64);
    }
    if (dk) {
        /* sum_2 = 0.0f; sum_2_compensation = 0.0f */
        for (int64_t d = 0; d < 64; d++) {
            for (int64_t j = 0; j < j1 - j0; j += LANES) {
                T(store)(sum_2 + d * OF(272, 272, 144) + j, T(splat)(0.0f));
                T(store)(sum_2_compensation + d * OF(272, 272, 144) + j, T(splat)(0.0f));
            }
        }
    }
    for (int64_t m = 0; m < members; m++) {
        for (int64_t i0 = max(0, j0 - query_start), i_end = min(n_q, j1 - query_start + 127); i0 < i_end; i0 += 144) {
            const int64_t i1 = min(i0 + 144, i_end);
            /* q_tile = q, with zeros beyond the last row */
            T(transpose_padded)(q + m * q_head + i0 * q_row, q_row, i1 - i0, 64, q_tile, 144, 64);
            /* key_cos = cos((i + query_start) * rope_theta); key_sin = sin((i + query_start) * rope_theta) */
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                const T(ints) t_4 = (i0 + i + T(lane)) + query_start;
                for (int64_t t = 0; t < 32; t++) {
                    const T(wide) angle5 = __builtin_convertvector(t_4, T(wide)) * rope_theta[t];
                    T(store)(key_cos + t * 144 + i, T(cos)(&angle5));
                    const T(wide) angle6 = __builtin_convertvector(t_4, T(wide)) * rope_theta[t];
                    T(store)(key_sin + t * 144 + i, T(sin)(&angle6));
                }
            }
            /* key = (q_tile * key_cos) + ((q_tile * key_sin) * select(d < 32, -1.0f, 1.0f)) */
            for (int64_t d = 0; d < 64; d++) {
                for (int64_t i = 0; i < i1 - i0; i += LANES) {
                    T(store)(key + d * 144 + i, (T(load)(q_tile + d * 144 + i) * T(load)(key_cos + (d % 32) * 144 + i))
                        + ((T(load)(q_tile + ((d < 32) ? (d + 32) : (d - 32)) * 144 + i) * T(load)(key_sin + (d % 32) *
                        144 + i)) * (float)((d < 32) ? (-1.0) : 1.0)));
                }
            }
            /* score[i][j] = sum over d of key * query_2 */
            T(dot6)(round_up(j1 - j0, LANES), i1 - i0, key, query_2, score);
            if (dk || sum_0) {
                /* score_2[i][j] = sum over e of dout * v_tile */
                T(dot7)(round_up(j1 - j0, LANES), i1 - i0, dout + m * dout_head + i0 * dout_row, dout_row, v_tile,
                    score_2);
            }
            /* score = exp2(score - saved_0) */
            for (int64_t j = 0; j < j1 - j0; j += LANES) {
                for (int64_t i = 0; i < i1 - i0; i++) {
                    T(store)(score + i * OF(272, 272, 144) + j, T(exp2)(T(load)(score + i * OF(272, 272,
                        144) + j) - (saved_0[m * saved_0_head + (i0 + i)])));
                }
            }
            if ((i0 < (j1 - query_start - 1)) || ((j0 - query_start + 128) < i1)) { /* the tile is partly outside the
                mask */
                /* score = select((((i + query_start) + -127) <= j) && (j <= (i + query_start)), score, 0.0f) */
                for (int64_t j = 0; j < j1 - j0; j += LANES) {
                    const T(ints) t_7 = j0 + j + T(lane);
                    for (int64_t i = 0; i < i1 - i0; i++) {
                        const int64_t t_8 = (i0 + i) + query_start;
                        T(store)(score + i * OF(272, 272, 144) + j, T(pick)(__builtin_convertvector((((i0 + i) +
                            query_start - 127) <= t_7) & (t_7 <= t_8), T(mask)), T(load)(score + i * OF(272, 272,
                            144) + j), T(splat)(0.0f)));
                    }
                }
            }
            if (dv) {
                /* sum[e][j] += sum over i of dout * score */
                if (__builtin_expect(((i0 < (j1 - query_start - 1)) || ((j0 - query_start + 128) < i1)) &&
                    !T(finite)(dout + m * dout_head + i0 * dout_row, dout_row, i1 - i0, 64),
                    0)) { /* infinity and NaN affect only queries that see them */
                    T(dot8)(round_up(j1 - j0, LANES), i1 - i0, dout + m * dout_head + i0 * dout_row, dout_row, score,
                        sum, sum_compensation);
                    for (int64_t i = 0; i < i1 - i0; i++) {
                        T(mask) in_region[OF(16, 32, 32)] = {0};
                        if (T(finite)(dout + m * dout_head + i0 * dout_row + i * dout_row, 1, 64, 1)) continue;
                        const int64_t t_9 = (i0 + i) + query_start - 127;
                        const int64_t t_11 = (i0 + i) + query_start;
                        for (int64_t j = 0; j < j1 - j0; j += LANES) {
                            const T(ints) t_10 = j0 + j + T(lane);
                            in_region[j / LANES] = __builtin_convertvector((t_9 <= t_10) & (t_10 <= t_11), T(mask));
                        }
                        T(add_seen)(64, sum, OF(272, 272, 144), dout + m * dout_head + i0 * dout_row + i * dout_row, 1,
                            score + i * OF(272, 272, 144), in_region, j1 - j0);
                    }
                } else
                    T(dot9)(round_up(j1 - j0, LANES), i1 - i0, dout + m * dout_head + i0 * dout_row, dout_row, score,
                        sum, sum_compensation);
            }
            if (dk || sum_0) {
                /* score_2 = (score_2 + row_0) * (score * 0.125f) */
                for (int64_t j_first = 0; j_first < j1 - j0; j_first += OF(64, 16, 8)) {
                    for (int64_t i = 0; i < i1 - i0; i++) {
                        UNROLL for (int64_t vector = 0, j = j_first; vector < OF(4, 2, 2); vector++, j += LANES) {
                            T(store)(score_2 + i * OF(272, 272, 144) + j, (T(load)(score_2 + i * OF(272, 272,
                                144) + j) + (row_0[m * row_0_head + (i0 + i)])) * (T(load)(score + i * OF(272, 272,
                                144) + j) * 0.125f));
                        }
                    }
                }
            }
            if ((i0 < (j1 - query_start - 1)) || ((j0 - query_start + 128) < i1)) { /* the tile is partly outside the
                mask */
                if (dk || sum_0) {
                    /* score_2 = select((((i + query_start) + -127) <= j) && (j <= (i + query_start)), score_2, 0.0f) */
                    for (int64_t j = 0; j < j1 - j0; j += LANES) {
                        const T(ints) t_12 = j0 + j + T(lane);
                        for (int64_t i = 0; i < i1 - i0; i++) {
                            const int64_t t_13 = (i0 + i) + query_start;
                            T(store)(score_2 + i * OF(272, 272, 144) + j, T(pick)(__builtin_convertvector((((i0 + i) +
                                query_start - 127) <= t_12) & (t_12 <= t_13), T(mask)), T(load)(score_2 + i * OF(272,
                                272, 144) + j), T(splat)(0.0f)));
                        }
                    }
                }
            }
            if (sum_0) {
                /* sum_0[i][d] += sum over j of score_2 * query_turned */
                await_turn(call, task, m * n_q + i1);
                if (__builtin_expect(((i0 < (j1 - query_start - 1)) || ((j0 - query_start + 128) < i1)) &&
                    !T(finite)(query_turned, 64, j1 - j0, 64), 0)) { /* infinity and NaN affect only queries that see
                    them */
                    T(dot10)(i1 - i0, j1 - j0, score_2, query_turned, sum_0 + m * sum_0_head + i0 * 64);
                    for (int64_t i = 0; i < i1 - i0; i++) {
                        T(mask) in_region[OF(16, 32, 32)] = {0};
                        const int64_t t_14 = (i0 + i) + query_start - 127;
                        const int64_t t_16 = (i0 + i) + query_start;
                        for (int64_t j = 0; j < j1 - j0; j += LANES) {
                            const T(ints) t_15 = j0 + j + T(lane);
                            in_region[j / LANES] = __builtin_convertvector((t_14 <= t_15) & (t_15 <= t_16), T(mask));
                        }
                        T(add_seen_lanes)(64, sum_0 + m * sum_0_head + i0 * 64 + i * 64, score_2 + i * OF(272, 272,
                            144), query_turned, 64, j1 - j0, in_region);
                    }
                } else
                    T(dot11)(i1 - i0, j1 - j0, score_2, query_turned, sum_0 + m * sum_0_head + i0 * 64);
                pass_turn(call, task, m * n_q + i1);
            }
            if (dk) {
                /* sum_2[d][j] += sum over i of key * score_2 */
                if (__builtin_expect(((i0 < (j1 - query_start - 1)) || ((j0 - query_start + 128) < i1)) &&
                    !T(finite)(key, 144, 64, i1 - i0), 0)) { /* infinity and NaN affect only queries that see them */
                    T(dot12)(round_up(j1 - j0, LANES), i1 - i0, key, score_2, sum_2, sum_2_compensation);
                    for (int64_t i = 0; i < i1 - i0; i++) {
                        T(mask) in_region[OF(16, 32, 32)] = {0};
                        if (T(finite)(key + i * 1, 144, 64, 1)) continue;
                        const int64_t t_17 = (i0 + i) + query_start - 127;
                        const int64_t t_19 = (i0 + i) + query_start;
                        for (int64_t j = 0; j < j1 - j0; j += LANES) {
                            const T(ints) t_18 = j0 + j + T(lane);
                            in_region[j / LANES] = __builtin_convertvector((t_17 <= t_18) & (t_18 <= t_19), T(mask));
                        }
                        T(add_seen)(64, sum_2, OF(272, 272, 144), key + i * 1, 144, score_2 + i * OF(272, 272, 144),
                            in_region, j1 - j0);
                    }
                } else
                    T(dot13)(round_up(j1 - j0, LANES), i1 - i0, key, score_2, sum_2, sum_2_compensation);
            }
        }
    }
    if (dk) {
        /* query_3 = sum_2 * (query_sin * select(d < 32, -1.0f, 1.0f)) */
        for (int64_t d = 0; d < 64; d++) {
            for (int64_t j = 0; j < j1 - j0; j += LANES) {
                T(store)(query_3 + d * OF(272, 272, 144) + j, T(load)(sum_2 + d * OF(272, 272,
                    144) + j) * (T(load)(query_sin + (d % 32) * OF(272, 272,
                    144) + j) * (float)((d < 32) ? (-1.0) : 1.0)));
            }
        }
        /* sum_2 = (sum_2 * query_cos) + query_3 */
        for (int64_t d = 0; d < 64; d++) {
            for (int64_t j = 0; j < j1 - j0; j += LANES) {
                T(store)(sum_2 + d * OF(272, 272, 144) + j, (T(load)(sum_2 + d * OF(272, 272,
                    144) + j) * T(load)(query_cos + (d % 32) * OF(272, 272,
                    144) + j)) + T(load)(query_3 + ((d < 32) ? (d + 32) : (d - 32)) * OF(272, 272, 144) + j));
            }
        }
    }
    if (dv) {
        /* sum = sum */
        for (int64_t e = 0; e < 64; e++) {
            for (int64_t j = 0; j < j1 - j0; j += LANES) {
                T(store)(sum + e * OF(272, 272, 144) + j, T(load)(sum + e * OF(272, 272, 144) + j));
            }
        }
    }
    if (dk) {
        /* dk = sum_2, transposed back */
        T(transpose_out)(sum_2, OF(272, 272, 144), 64, j1 - j0, dk + j0 * dk_row, dk_row, 64);
    }
    if (dv) {
        /* dv = sum, transposed back */
        T(transpose_out)(sum, OF(272, 272, 144), 64, j1 - j0, dv + j0 * dv_row, dv_row, 64);
    }
}

/* Computes task number `task`: one slice of the rows of all batches and heads. `work` is this thread's workspace. */
TARGET static void T(softmax_gpt_oss_sums2)(const struct call *call, int64_t task, unsigned char *work)
{
    const int64_t batch = call->p.batch;
    const int64_t members = call->p.heads / max(call->p.kv_heads, 1);
    const int64_t n_q = call->p.n_q;
    const int64_t unit16 = task % 16;
    const int64_t m = task / 16 % members;
    const int64_t g = task / 16 / members;
    const float *const sink_array = (const float *)call->array[ARRAY_sink_array].at + g * members *
        call->array[ARRAY_sink_array].stride[0] + m * call->array[ARRAY_sink_array].stride[0];
    const float *const out = (const float *)call->array[ARRAY_out].at + (g * members + m) *
        call->array[ARRAY_out].strides.head;
    const int64_t out_row = call->array[ARRAY_out].strides.row;
    const int64_t out_batch = call->array[ARRAY_out].strides.batch;
    const float *const dout = (const float *)call->array[ARRAY_dout].at + (g * members + m) *
        call->array[ARRAY_dout].strides.head;
    const int64_t dout_row = call->array[ARRAY_dout].strides.row;
    const int64_t dout_batch = call->array[ARRAY_dout].strides.batch;
    const float *const saved_0 = (const float *)call->array[ARRAY_saved_0].at + (g * members + m) * call->p.n_q;
    const int64_t saved_0_batch = call->p.heads * call->p.n_q;
    float *const unit_sum = (float *)(void *)(work + 0); /* [one: LANES] */
    float *const unit_sum_compensation = (float *)(void *)(work + 64); /* [one: LANES] */
    float *const partial_0 = call->array[ARRAY_partial_0].at ? (float *)call->array[ARRAY_partial_0].at + ((g * members
        + m) * 16 + unit16) * 1 : NULL;
    float *const out_tile = (float *)(void *)(work + 128); /* [e: 64, i: 64 of 80] */
    float *const dout_tile = (float *)(void *)(work + 20608); /* [e: 64, i: 64 of 80] */
    float *const saved_0_tile = (float *)(void *)(work + 41088); /* [i: 64] */
    /* unit_sum = 0.0f; unit_sum_compensation = 0.0f */
    for (int64_t one = 0; one < 1; one += LANES) {
        T(store)(unit_sum + one, T(splat)(0.0f));
        T(store)(unit_sum_compensation + one, T(splat)(0.0f));
    }
    for (int64_t b = 0; b < batch; b++) {
        for (int64_t i0 = max(0, (unit16 * ((((batch * ((n_q + 63) / 64)) + 15) / 16) * 64)) - ((b * ((n_q + 63) / 64))
            * 64)), i_end = min(n_q, (unit16 * ((((batch * ((n_q + 63) / 64)) + 15) / 16) * 64)) + ((((batch * ((n_q +
            63) / 64)) + 15) / 16) * 64) - ((b * ((n_q + 63) / 64)) * 64)); i0 < i_end; i0 += 64) {
            const int64_t i1 = min(i0 + 64, i_end);
            /* out_tile = out, with zeros beyond the last row */
            T(transpose_padded)(out + b * out_batch + i0 * out_row, out_row, i1 - i0, 64, out_tile, 80, 64);
            /* dout_tile = dout, with zeros beyond the last row */
            T(transpose_padded)(dout + b * dout_batch + i0 * dout_row, dout_row, i1 - i0, 64, dout_tile, 80, 64);
            /* saved_0_tile = saved_0, with zeros beyond the last row */
            for (int64_t i = 0; i < round_up(i1 - i0, LANES); i++)
                saved_0_tile[i] = i < i1 - i0 ? saved_0[b * saved_0_batch + (i0 + i)] : 0;
            /* unit_sum += dout_tile * neg(out_tile * exp2((sink * 1.442695f) - saved_0_tile)) */
            const float t_0 = sink_array[0] * 1.442695f;
            for (int64_t one = 0; one < 1; one++) {
                for (int64_t e = 0; e < 64; e++) {
                    T(vec) lane_sums = T(splat)(0);
                    for (int64_t i = 0; i < i1 - i0; i += LANES) {
                        const T(vec) t_1 = T(exp2)(t_0 - T(load)(saved_0_tile + i));
                        const T(vec) term = T(load)(dout_tile + e * 80 + i) * (-(T(load)(out_tile + e * 80 + i) * t_1));
                        lane_sums += i + LANES <= i1 - i0 ? term : T(pick)(__builtin_convertvector(i + T(lane) < i1 -
                            i0, T(mask)), term, T(splat)(0));
                    }
                    const float total = T(lane_sum)(lane_sums);
                    const float more = unit_sum_compensation[one] + total, sum_then = unit_sum[one] + more;
                    unit_sum_compensation[one] = more - (sum_then - unit_sum[one]);
                    unit_sum[one] = sum_then;
                }
            }
        }
    }
    if (partial_0) {
        /* partial_0 = unit_sum */
        for (int64_t one = 0; one < 1; one++)
            partial_0[one] = unit_sum[one];
    }
}

/* Computes task number `task`: one tile of queries of one head. `work` is this thread's workspace. */
TARGET static void T(softmax_gpt_oss_dq)(const struct call *call, int64_t task, unsigned char *work)
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
    const float *const sum_0 = (const float *)call->array[ARRAY_sum_0].at + (b * call->p.heads + (g * members + m)) *
        call->p.n_q * 64;
    float *const query_cos = (float *)(void *)(work + 0); /* [t: 32, i: 64 of 80] */
    float *const query_sin = (float *)(void *)(work + 10240); /* [t: 32, i: 64 of 80] */
    float *const query = (float *)(void *)(work + 20480); /* [d: 64, i: 64 of 80] */
    float *const dq = call->array[ARRAY_dq].at ? (float *)call->array[ARRAY_dq].at + b *
        call->array[ARRAY_dq].strides.batch + (g * members + m) * call->array[ARRAY_dq].strides.head : NULL;
    const int64_t dq_row = call->array[ARRAY_dq].strides.row;
    float *const sum_0_tile = (float *)(void *)(work + 40960); /* [d: 64, i: 64 of 80] */
    /* sum_0_tile = sum_0, with zeros beyond the last row */
    T(transpose_padded)(sum_0 + i0 * 64, 64, i1 - i0, 64, sum_0_tile, 80, LANES);
    /* query_cos = cos((i + query_start) * rope_theta); query_sin = sin((i + query_start) * rope_theta) */
    for (int64_t i = 0; i < i1 - i0; i += LANES) {
        const T(ints) t_0 = (i0 + i + T(lane)) + query_start;
        for (int64_t t = 0; t < 32; t++) {
            const T(wide) angle1 = __builtin_convertvector(t_0, T(wide)) * rope_theta[t];
            T(store)(query_cos + t * 80 + i, T(cos)(&angle1));
            const T(wide) angle2 = __builtin_convertvector(t_0, T(wide)) * rope_theta[t];
            T(store)(query_sin + t * 80 + i, T(sin)(&angle2));
        }
    }
    /* query = sum_0_tile * (query_sin * select(d < 32, -1.0f, 1.0f)) */
    for (int64_t d = 0; d < 64; d++) {
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            T(store)(query + d * 80 + i, T(load)(sum_0_tile + d * 80 + i) * (T(load)(query_sin + (d % 32) * 80 + i) *
                (float)((d < 32) ? (-1.0) : 1.0)));
        }
    }
    /* sum_0_tile = (sum_0_tile * query_cos) + query */
    for (int64_t d = 0; d < 64; d++) {
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            T(store)(sum_0_tile + d * 80 + i, (T(load)(sum_0_tile + d * 80 + i) * T(load)(query_cos + (d % 32) * 80 +
                i)) + T(load)(query + ((d < 32) ? (d + 32) : (d - 32)) * 80 + i));
        }
    }
    if (dq) {
        /* dq = sum_0_tile, transposed back */
        T(transpose_out)(sum_0_tile, 80, 64, i1 - i0, dq + i0 * dq_row, dq_row, LANES);
    }
}

/* Computes task number `task`: the totals of the partial sums that the slices of rows have stored. `work` is this
   thread's workspace. */
TARGET static void T(softmax_gpt_oss_totals1)(const struct call *call, int64_t task, unsigned char *work)
{
    const int64_t members = call->p.heads / max(call->p.kv_heads, 1);
    const int64_t m = task % members;
    const int64_t g = task / members;
    const float *const partial_0 = call->array[ARRAY_partial_0].at ? (const float *)call->array[ARRAY_partial_0].at + (g
        * members + m) * 16 * 1 : NULL;
    float *const gradient = (float *)(void *)(work + 0); /* [one: LANES] */
    float *const gradient_2 = (float *)(void *)(work + 64); /* [one: LANES] */
    float *const dsink_array = call->array[ARRAY_dsink_array].at ? (float *)call->array[ARRAY_dsink_array].at + (g *
        members + m) * 1 : NULL;
    float *const partial_0_tile = (float *)(void *)(work + 64); /* [unit16: 16, one: LANES] */
    /* partial_0_tile = partial_0, with zeros beyond the last row */
    for (int64_t unit16 = 0; unit16 < 16; unit16++)
        for (int64_t one = 0; one < 1; one++)
            partial_0_tile[unit16 * LANES + one] = partial_0[unit16 + one];
    /* gradient = 0.0f */
    for (int64_t one = 0; one < 1; one += LANES) {
        T(store)(gradient + one, T(splat)(0.0f));
    }
    /* gradient += partial_0_tile */
    for (int64_t one = 0; one < 1; one += LANES) {
        T(vec) gradient_in = (T(vec)){0};
        for (int64_t unit16 = 0; unit16 < 16; unit16++) {
            gradient_in += T(load)(partial_0_tile + unit16 * LANES + one);
        }
        T(store)(gradient + one, T(load)(gradient + one) + gradient_in);
    }
    /* gradient_2 = gradient */
    const float gradient_0 = gradient[0];
    for (int64_t one = 0; one < 1; one += LANES) {
        T(store)(gradient_2 + one, T(splat)(gradient_0));
    }
    if (dsink_array) {
        /* dsink_array = gradient_2 */
        for (int64_t one = 0; one < 1; one++)
            dsink_array[one] = gradient_2[one];
    }
}

/* Computes task number `task`: prepares a tile of rows of one head for a state. `work` is this thread's workspace. */
TARGET static void T(softmax_gpt_oss_prepare)(const struct call *call, int64_t task, unsigned char *work)
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
    float *const query_cos = (float *)(void *)(work + 0); /* [t: 32, i: 64 of 80] */
    float *const query_sin = (float *)(void *)(work + 10240); /* [t: 32, i: 64 of 80] */
    float *const result = (float *)(void *)(work + 20480); /* [d: 64, i: 64 of 80] */
    float *const out = (float *)call->array[ARRAY_out].at + b * call->array[ARRAY_out].strides.batch + g *
        call->array[ARRAY_out].strides.head;
    const int64_t out_row = call->array[ARRAY_out].strides.row;
    float *const q_tile = (float *)(void *)(work + 40960); /* [d: 64, i: 64 of 80] */
    /* q_tile = q, with zeros beyond the last row */
    T(transpose_padded)(q + i0 * q_row, q_row, i1 - i0, 64, q_tile, 80, LANES);
    /* query_cos = cos((i + query_start) * rope_theta); query_sin = sin((i + query_start) * rope_theta) */
    for (int64_t i = 0; i < i1 - i0; i += LANES) {
        const T(ints) t_0 = (i0 + i + T(lane)) + query_start;
        for (int64_t t = 0; t < 32; t++) {
            const T(wide) angle1 = __builtin_convertvector(t_0, T(wide)) * rope_theta[t];
            T(store)(query_cos + t * 80 + i, T(cos)(&angle1));
            const T(wide) angle2 = __builtin_convertvector(t_0, T(wide)) * rope_theta[t];
            T(store)(query_sin + t * 80 + i, T(sin)(&angle2));
        }
    }
    /* result = (q_tile * query_cos) + ((q_tile * query_sin) * select(d < 32, -1.0f, 1.0f)) */
    for (int64_t d = 0; d < 64; d++) {
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            T(store)(result + d * 80 + i, (T(load)(q_tile + d * 80 + i) * T(load)(query_cos + (d % 32) * 80 + i)) +
                ((T(load)(q_tile + ((d < 32) ? (d + 32) : (d - 32)) * 80 + i) * T(load)(query_sin + (d % 32) * 80 + i))
                * (float)((d < 32) ? (-1.0) : 1.0)));
        }
    }
    /* out = result, transposed back */
    T(transpose_out)(result, 80, 64, i1 - i0, out + i0 * out_row, out_row, LANES);
}

/* Computes task number `task`: one tile of queries of one head. `work` is this thread's workspace. */
TARGET static void T(softmax_gpt_oss_extend)(const struct call *call, int64_t task, unsigned char *work)
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
    const float *const sink_array = (const float *)call->array[ARRAY_sink_array].at + g * members *
        call->array[ARRAY_sink_array].stride[0] + m * call->array[ARRAY_sink_array].stride[0];
    float *const query_cos = (float *)(void *)(work + 0); /* [t: 32, i: OF(32, 16, 16)] */
    float *const query_sin = (float *)(void *)(work + OF(4096, 2048, 2048)); /* [t: 32, i: OF(32, 16, 16)] */
    float *const query = (float *)(void *)(work + OF(8192, 4096, 4096)); /* [d: 64, i: OF(32, 16, 16)] */
    float *const score = (float *)(void *)(work + 0); /* [j: 48, i: OF(32, 16, 16)] */
    float *const row_max = (float *)(void *)(work + OF(6144, 3072, 3072)); /* [i: OF(32, 16, 16)] */
    float *const old_max = (float *)(void *)(work + OF(6272, 3136, 3136)); /* [i: OF(32, 16, 16)] */
    float *const row_sum = (float *)(void *)(work + OF(6400, 3200, 3200)); /* [i: OF(32, 16, 16)] */
    float *const row_sum_compensation = (float *)(void *)(work + OF(6528, 3264, 3264)); /* [i: OF(32, 16, 16)] */
    float *const sum = (float *)(void *)(work + OF(16384, 8192, 8192)); /* [e: 64, i: OF(32, 16, 16)] */
    float *const sum_compensation = (float *)(void *)(work + OF(24576, 12288, 12288)); /* [e: 64, i: OF(32, 16, 16)] */
    float *const out = (float *)call->array[ARRAY_out].at + b * call->array[ARRAY_out].strides.batch + (g * members + m)
        * call->array[ARRAY_out].strides.head;
    const int64_t out_row = call->array[ARRAY_out].strides.row;
    float *const q_tile = (float *)(void *)(work + OF(16384, 8192, 8192)); /* [d: 64, i: OF(32, 16, 16)] */
    int64_t results = i1 - i0; /* rows of out to prefetch during the first product */
    /* q_tile = q, with zeros beyond the last row */
    T(transpose_padded)(q + i0 * q_row, q_row, i1 - i0, 64, q_tile, OF(32, 16, 16), LANES);
    /* query_cos = cos((i + query_start) * rope_theta); query_sin = sin((i + query_start) * rope_theta) */
    for (int64_t i = 0; i < i1 - i0; i += LANES) {
        const T(ints) t_0 = (i0 + i + T(lane)) + query_start;
        for (int64_t t = 0; t < 32; t++) {
            const T(wide) angle1 = __builtin_convertvector(t_0, T(wide)) * rope_theta[t];
            T(store)(query_cos + t * OF(32, 16, 16) + i, T(cos)(&angle1));
            const T(wide) angle2 = __builtin_convertvector(t_0, T(wide)) * rope_theta[t];
            T(store)(query_sin + t * OF(32, 16, 16) + i, T(sin)(&angle2));
        }
    }
    /* query = ((q_tile * query_cos) + ((q_tile * query_sin) * select(d < 32, -1.0f, 1.0f))) * 0.18033688f */
    for (int64_t d = 0; d < 64; d++) {
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            T(store)(query + d * OF(32, 16, 16) + i, ((T(load)(q_tile + d * OF(32, 16,
                16) + i) * T(load)(query_cos + (d % 32) * OF(32, 16, 16) + i)) + ((T(load)(q_tile + ((d < 32) ? (d + 32)
                : (d - 32)) * OF(32, 16, 16) + i) * T(load)(query_sin + (d % 32) * OF(32, 16,
                16) + i)) * (float)((d < 32) ? (-1.0) : 1.0))) * 0.18033688f);
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
    for (int64_t j0 = max(0, i0 + query_start - 127), j_end = min(n_k, i1 + query_start); j0 < j_end; j0 += 48) {
        const int64_t j1 = min(j0 + 48, j_end);
        const float *const paged_k = !call->pages ? k : (const float *)paged_rows(call, b, k,
            k_row * (int64_t)sizeof(float), j0, j1, 0, work + OF(32768, 16384, 16384));
        const float *const paged_v = !call->pages ? v : (const float *)paged_rows(call, b, v,
            v_row * (int64_t)sizeof(float), j0, j1, 0, work + OF(45056, 28672, 28672));
        /* score[j][i] = sum over d of k * query */
        T(dot14)(round_up(i1 - i0, LANES), j1 - j0, paged_k + j0 * k_row, k_row, query, score, paged_v + j0 * v_row,
            v_row, out + i0 * out_row, out_row, results);
        results = 0;
        /* old_max = row_max */
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            T(store)(old_max + i, T(load)(row_max + i));
        }
        if ((j0 < (i1 + query_start - 128)) || ((i0 + query_start + 1) < j1)) { /* the tile is partly outside the mask
            */
            /* score = select((((i + query_start) + -127) <= j) && (j <= (i + query_start)), score, -INFINITY) */
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                const T(ints) t_3 = (i0 + i + T(lane)) + query_start;
                const T(ints) t_4 = t_3 + (-127);
                for (int64_t j = 0; j < j1 - j0; j++) {
                    T(store)(score + j * OF(32, 16, 16) + i, T(pick)(__builtin_convertvector((t_4 <= (j0 + j)) & ((j0 +
                        j) <= t_3), T(mask)), T(load)(score + j * OF(32, 16, 16) + i), T(splat)(-INFINITY)));
                }
            }
        }
        /* row_max max= score */
        for (int64_t i_first = 0; i_first < i1 - i0; i_first += (2 * LANES)) {
            T(vec) row_max_in[2][2];
            UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += LANES) {
                UNROLL for (int j_chain = 0; j_chain < 2; j_chain++) row_max_in[vector][j_chain] = T(splat)(-INFINITY);
            }
            for (int64_t j_first = 0; j_first < j1 - j0; j_first += 2) {
                UNROLL for (int j_chain = 0; j_chain < 2; j_chain++) {
                    const int64_t j = min(j_first + j_chain, j1 - j0 - 1);
                    UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += LANES) {
                        row_max_in[vector][j_chain] = T(max)(row_max_in[vector][j_chain], T(load)(score + j * OF(32, 16,
                            16) + i));
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
                const T(vec) score_7 = T(load)(score + j * OF(32, 16, 16) + i);
                const T(vec) score_new9 = T(exp2)(score_7 - row_max_8);
                T(store)(score + j * OF(32, 16, 16) + i, score_new9);
                row_sum_in += score_new9;
            }
            T(add)(row_sum + i, row_sum_compensation + i, row_sum_in, T(splat)(1));
        }
        /* sum[e][i] = sum * old_max + sum over j of v * score */
        if (__builtin_expect(((j0 < (i1 + query_start - 128)) || ((i0 + query_start + 1) < j1)) && !T(finite)(paged_v +
            j0 * v_row, v_row, j1 - j0, 64), 0)) { /* infinity and NaN affect only queries that see them */
            T(dot1)(round_up(i1 - i0, LANES), j1 - j0, paged_v + j0 * v_row, v_row, score, sum, old_max,
                sum_compensation);
            for (int64_t j = 0; j < j1 - j0; j++) {
                T(mask) in_region[OF(2, 2, 4)] = {0};
                if (T(finite)(paged_v + j0 * v_row + j * v_row, 1, 64, 1)) continue;
                for (int64_t i = 0; i < i1 - i0; i += LANES) {
                    const T(ints) t_10 = (i0 + i + T(lane)) + query_start;
                    in_region[i / LANES] = __builtin_convertvector(((t_10 + (-127)) <= (j0 + j)) & ((j0 + j) <= t_10),
                        T(mask));
                }
                T(add_seen)(64, sum, OF(32, 16, 16), paged_v + j0 * v_row + j * v_row, 1, score + j * OF(32, 16, 16),
                    in_region, i1 - i0);
            }
        } else
            T(dot2)(round_up(i1 - i0, LANES), j1 - j0, paged_v + j0 * v_row, v_row, score, sum, old_max,
                sum_compensation);
    }
    /* sum = select(((row_sum * exp2(row_max - max(row_max, sink * 1.442695f))) + exp2((sink * 1.442695f) - max(row_max,
       sink * 1.44269 ... */
    const float t_12 = sink_array[0] * 1.442695f;
    for (int64_t i = 0; i < i1 - i0; i += LANES) {
        const T(vec) row_max_11 = T(load)(row_max + i);
        const T(vec) t_13 = T(max_nan)(row_max_11, T(splat)(t_12));
        const T(vec) t_14 = T(exp2)(row_max_11 - t_13);
        const T(vec) t_15 = (T(load)(row_sum + i) * t_14) + T(exp2)(t_12 - t_13);
        const T(mask) t_16 = t_15 == 0.0f;
        const T(vec) t_17 = 1.0f / t_15;
        for (int64_t e = 0; e < 64; e++) {
            T(store)(sum + e * OF(32, 16, 16) + i, T(pick)(t_16, T(splat)(0.0f), (T(load)(sum + e * OF(32, 16,
                16) + i) * t_17) * t_14));
        }
    }
    /* out = sum, transposed back */
    T(transpose_out)(sum, OF(32, 16, 16), 64, i1 - i0, out + i0 * out_row, out_row, LANES);
}

/* Initialises the states: they contain no keys yet. */
TARGET APART void T(softmax_gpt_oss_extend_few_begin)(const struct call *call, int64_t task, const struct share *share,
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
    float *const query_cos = (float *)(void *)(share->shared + 0); /* [t: 32, r: 64] */
    float *const query_sin = (float *)(void *)(share->shared + 8256); /* [t: 32, r: 64] */
    float *const query = (float *)(void *)(share->shared + 16512); /* [d: 64, r: 64] */
    float *const query_turned = (float *)(void *)(share->shared + 32960); /* [r: 64, d: 64] */
    float *const q_tile = (float *)(void *)(share->work + 0); /* [d: 64, r: 64 of 80] */
    /* q_tile = q, with zeros beyond the last row */
    for (int64_t r = r0; r < r0 + round_up(r1 - r0, LANES); r++)
        for (int64_t d = 0; d < 64; d++)
            q_tile[d * 80 + r] = r < r1 ? q[r / n_q * q_head + r % n_q * q_row + d] : 0;
    /* query_cos = cos(((r % n_q) + query_start) * rope_theta);
       query_sin = sin(((r % n_q) + query_start) * rope_theta) */
    for (int64_t r = r0; r < r1; r += LANES) {
        const T(ints) t_0 = ((r + T(lane)) % n_q) + query_start;
        for (int64_t t = 0; t < 32; t++) {
            const T(wide) angle1 = __builtin_convertvector(t_0, T(wide)) * rope_theta[t];
            T(store)(query_cos + t * 64 + r, T(cos)(&angle1));
            const T(wide) angle2 = __builtin_convertvector(t_0, T(wide)) * rope_theta[t];
            T(store)(query_sin + t * 64 + r, T(sin)(&angle2));
        }
    }
    /* query = ((q_tile * query_cos) + ((q_tile * query_sin) * select(d < 32, -1.0f, 1.0f))) * 0.18033688f */
    for (int64_t r = r0; r < r1; r += LANES) {
        for (int64_t d = 0; d < 64; d++) {
            T(store)(query + d * 64 + r, ((T(load)(q_tile + d * 80 + r) * T(load)(query_cos + (d % 32) * 64 + r)) +
                ((T(load)(q_tile + ((d < 32) ? (d + 32) : (d - 32)) * 80 + r) * T(load)(query_sin + (d % 32) * 64 + r))
                * (float)((d < 32) ? (-1.0) : 1.0))) * 0.18033688f);
        }
    }
    /* query_turned = query, with zeros beyond the last row */
    T(transpose)(query + r0, 64, 64, r1 - r0, query_turned + r0 * 64, 64, 64);
}

/* Initialises the states: they contain no keys yet. */
TARGET APART void T(softmax_gpt_oss_extend_few_begin_2)(const struct call *call, int64_t task,
    const struct share *share, int64_t iteration)
{
    (void)task;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t r0 = iteration * 16, r1 = min(r0 + 16, rows);
    float *const carried_max = (float *)(void *)(share->shared + 49408); /* [r: 64] */
    float *const carried_sum = (float *)(void *)(share->shared + 49664); /* [r: 64] */
    float *const carried_sum_compensation = (float *)(void *)(share->shared + 66368); /* [r: 64] */
    float *const carried = (float *)(void *)(share->shared + 49920); /* [r: 64, e: 64] */
    float *const carried_compensation = (float *)(void *)(share->shared + 66624); /* [r: 64, e: 64] */
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
TARGET APART void T(softmax_gpt_oss_extend_few_keys)(const struct call *call, int64_t task, const struct share *share,
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
    float *const query_turned = (float *)(void *)(share->shared + 32960); /* [r: 64, d: 64] */
    float *const state_max = (float *)(void *)(share->slots + 0); /* [chunk, r: 64] */
    float *const old_max = (float *)(void *)(share->work + 36864); /* [r: 64] */
    float *const state_sum = (float *)(void *)(share->slots + 256); /* [chunk, r: 64] */
    float *const state = (float *)(void *)(share->slots + 512); /* [chunk, r: 64, e: 64] */
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
    for (int64_t j0 = max(chunk * 1024, query_start - 127), j_end = min(min(n_k, (chunk + 1) * 1024),
        n_q + query_start); j0 < j_end; j0 += 128) {
        const int64_t j1 = min(j0 + 128, j_end);
        const float *paged_k = !call->pages ? k : (const float *)paged_rows(call, b, k, k_row * (int64_t)sizeof(float),
            j0, j1, 16, share->work + 37120);
        const float *const after_k = call->pages ? (const float *)paged_after(call, b, k,
            k_row * (int64_t)sizeof(float), j1, n_k, OF(32, 32, 64)) : NULL;
        const float *paged_v = !call->pages ? v : (const float *)paged_rows(call, b, v, v_row * (int64_t)sizeof(float),
            j0, j1, 16, share->work + 69888);
        const float *const after_v = call->pages ? (const float *)paged_after(call, b, v,
            v_row * (int64_t)sizeof(float), j1, n_k, OF(32, 32, 64)) : NULL;
        /* score[r][j] = sum over d of query_turned * k */
        if (paged_k)
#if OF(1, 0, 0)
            T(dot15)(rows, j1 - j0, query_turned, paged_k + j0 * k_row, k_row, score, attn_is_intel() ? 16 : 0,
                after_k);
#else
            T(dot15)(rows, j1 - j0, query_turned, paged_k + j0 * k_row, k_row, score, after_k);
#endif
        else
            for (int64_t at = j0, end; at < j1; at = end) {
                end = page_end(call, at, j1);
                const float *const rows_of_page = (const float *)paged_row(call, b, k, k_row * (int64_t)sizeof(float),
                    at, n_k),
                    *const after = (const float *)paged_after(call, b, k, k_row * (int64_t)sizeof(float), end, n_k,
                        OF(32, 32, 64));
#if OF(1, 0, 0)
                T(dot15)(rows, end - at, query_turned, rows_of_page, k_row, score + (at - j0), attn_is_intel() ? 16 : 0,
                    after);
#else
                T(dot15)(rows, end - at, query_turned, rows_of_page, k_row, score + (at - j0), after);
#endif
            }
        /* old_max = state_max */
        for (int64_t r = 0; r < rows; r += LANES) {
            T(store)(old_max + r, T(load)(state_max + (chunk - chunk0) * 4240 + r));
        }
        if ((j0 < (n_q + query_start - 128)) || ((query_start + 1) < j1)) { /* the tile is partly outside the mask */
            /* score = select(((((r % n_q) + query_start) + -127) <= j) && (j <= ((r % n_q) + query_start)), score,
               -INFINITY) */
            for (int64_t j = 0; j < j1 - j0; j += LANES) {
                const T(ints) t_3 = j0 + j + T(lane);
                for (int64_t r = 0; r < rows; r++) {
                    const int64_t t_4 = (r % n_q) + query_start;
                    T(store)(score + r * 144 + j, T(pick)(__builtin_convertvector((((r % n_q) + query_start - 127) <=
                        t_3) & (t_3 <= t_4), T(mask)), T(load)(score + r * 144 + j), T(splat)(-INFINITY)));
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
            if (largest > state_max[(chunk - chunk0) * 4240 + r]) state_max[(chunk - chunk0) * 4240 + r] = largest;
        }
        /* old_max = exp2(old_max - state_max); state_sum = state_sum * old_max */
        for (int64_t r = 0; r < rows; r += LANES) {
            const T(vec) old_max_5 = T(load)(old_max + r);
            const T(vec) old_max_new6 = T(exp2)(old_max_5 - T(load)(state_max + (chunk - chunk0) * 4240 + r));
            T(store)(old_max + r, old_max_new6);
            T(store)(state_sum + (chunk - chunk0) * 4240 + r, T(load)(state_sum + (chunk - chunk0) * 4240 + r) *
                old_max_new6);
        }
        /* score = exp2(score - state_max) */
        for (int64_t j = 0; j < j1 - j0; j += LANES) {
            for (int64_t r = 0; r < rows; r++) {
                T(store)(score + r * 144 + j, T(exp2)(T(load)(score + r * 144 + j) - (state_max[(chunk - chunk0) * 4240
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
        if (((j0 < (n_q + query_start - 128)) || ((query_start + 1) < j1)) && !paged_v)
            paged_v = (const float *)paged_rows(call, b, v, v_row * (int64_t)sizeof(float), j0, j1, 0,
                share->work + 69888);
        if (__builtin_expect(((j0 < (n_q + query_start - 128)) || ((query_start + 1) < j1)) && !T(finite)(paged_v + j0 *
            v_row, v_row, j1 - j0, 64), 0)) { /* infinity and NaN affect only queries that see them */
            T(dot4)(rows, j1 - j0, score, paged_v + j0 * v_row, v_row, state + (chunk - chunk0) * 4240);
            for (int64_t r = 0; r < rows; r++) {
                T(mask) in_region[OF(8, 16, 32)] = {0};
                const int64_t t_7 = (r % n_q) + query_start - 127;
                const int64_t t_9 = (r % n_q) + query_start;
                for (int64_t j = 0; j < j1 - j0; j += LANES) {
                    const T(ints) t_8 = j0 + j + T(lane);
                    in_region[j / LANES] = __builtin_convertvector((t_7 <= t_8) & (t_8 <= t_9), T(mask));
                }
                T(add_seen_lanes)(64, state + (chunk - chunk0) * 4240 + r * 64, score + r * 144, paged_v + j0 * v_row,
                    v_row, j1 - j0, in_region);
            }
        } else
            if (paged_v)
#if OF(1, 0, 0)
                T(dot16)(rows, j1 - j0, score, paged_v + j0 * v_row, v_row, state + (chunk - chunk0) * 4240,
                    attn_is_intel() ? 16 : 0, after_v);
#else
                T(dot16)(rows, j1 - j0, score, paged_v + j0 * v_row, v_row, state + (chunk - chunk0) * 4240, after_v);
#endif
            else
                for (int64_t at = j0, end; at < j1; at = end) {
                    end = page_end(call, at, j1);
                    const float *const rows_of_page = (const float *)paged_row(call, b, v,
                        v_row * (int64_t)sizeof(float), at, n_k),
                        *const after = (const float *)paged_after(call, b, v, v_row * (int64_t)sizeof(float), end, n_k,
                            OF(32, 32, 64));
#if OF(1, 0, 0)
                    T(dot16)(rows, end - at, score + (at - j0), rows_of_page, v_row, state + (chunk - chunk0) * 4240,
                        attn_is_intel() ? 16 : 0, after);
#else
                    T(dot16)(rows, end - at, score + (at - j0), rows_of_page, v_row, state + (chunk - chunk0) * 4240,
                        after);
#endif
                }
    }
}

/* Sums the keys of a chunk that all rows see, for the rows of several sequences. */
TARGET APART void T(softmax_gpt_oss_extend_few_keys_of_several)(const struct call *call, int64_t task,
    const struct share *share, int64_t iteration)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t n_k = call->p.n_k;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
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
    float *const score = (float *)(void *)(share->work + 0); /* [r: 64, j: 128 of 144] */
    float *const query_turned = (float *)(void *)(share->shared + 32960); /* [r: 64, d: 64] */
    float *const state_max = (float *)(void *)(share->slots + 0); /* [chunk, r: 64] */
    float *const old_max = (float *)(void *)(share->work + 36864); /* [r: 64] */
    float *const state_sum = (float *)(void *)(share->slots + 256); /* [chunk, r: 64] */
    float *const state = (float *)(void *)(share->slots + 512); /* [chunk, r: 64, e: 64] */
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
    for (int64_t j0 = chunk * 1024, j_end = min(n_k, (chunk + 1) * 1024); j0 < j_end; j0 += 128) {
        const int64_t j1 = min(j0 + 128, j_end);
        const float *paged_k = !call->pages ? k : (const float *)paged_rows(call, b, k, k_row * (int64_t)sizeof(float),
            j0, j1, 16, share->work + 37120);
        const float *const after_k = call->pages ? (const float *)paged_after(call, b, k,
            k_row * (int64_t)sizeof(float), j1, n_k, OF(32, 32, 64)) : NULL;
        const float *paged_v = !call->pages ? v : (const float *)paged_rows(call, b, v, v_row * (int64_t)sizeof(float),
            j0, j1, 16, share->work + 69888);
        const float *const after_v = call->pages ? (const float *)paged_after(call, b, v,
            v_row * (int64_t)sizeof(float), j1, n_k, OF(32, 32, 64)) : NULL;
        /* score[r][j] = sum over d of query_turned * k */
        if (paged_k)
#if OF(1, 0, 0)
            T(dot15)(rows, j1 - j0, query_turned, paged_k + j0 * k_row, k_row, score, attn_is_intel() ? 16 : 0,
                after_k);
#else
            T(dot15)(rows, j1 - j0, query_turned, paged_k + j0 * k_row, k_row, score, after_k);
#endif
        else
            for (int64_t at = j0, end; at < j1; at = end) {
                end = page_end(call, at, j1);
                const float *const rows_of_page = (const float *)paged_row(call, b, k, k_row * (int64_t)sizeof(float),
                    at, n_k),
                    *const after = (const float *)paged_after(call, b, k, k_row * (int64_t)sizeof(float), end, n_k,
                        OF(32, 32, 64));
#if OF(1, 0, 0)
                T(dot15)(rows, end - at, query_turned, rows_of_page, k_row, score + (at - j0), attn_is_intel() ? 16 : 0,
                    after);
#else
                T(dot15)(rows, end - at, query_turned, rows_of_page, k_row, score + (at - j0), after);
#endif
            }
        /* old_max = state_max */
        for (int64_t r = 0; r < rows; r += LANES) {
            T(store)(old_max + r, T(load)(state_max + (chunk - chunk0) * 4240 + r));
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
            if (largest > state_max[(chunk - chunk0) * 4240 + r]) state_max[(chunk - chunk0) * 4240 + r] = largest;
        }
        /* old_max = exp2(old_max - state_max); state_sum = state_sum * old_max */
        for (int64_t r = 0; r < rows; r += LANES) {
            const T(vec) old_max_10 = T(load)(old_max + r);
            const T(vec) old_max_new11 = T(exp2)(old_max_10 - T(load)(state_max + (chunk - chunk0) * 4240 + r));
            T(store)(old_max + r, old_max_new11);
            T(store)(state_sum + (chunk - chunk0) * 4240 + r, T(load)(state_sum + (chunk - chunk0) * 4240 + r) *
                old_max_new11);
        }
        /* score = exp2(score - state_max) */
        for (int64_t j = 0; j < j1 - j0; j += LANES) {
            for (int64_t r = 0; r < rows; r++) {
                T(store)(score + r * 144 + j, T(exp2)(T(load)(score + r * 144 + j) - (state_max[(chunk - chunk0) * 4240
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
        if (paged_v)
#if OF(1, 0, 0)
            T(dot16)(rows, j1 - j0, score, paged_v + j0 * v_row, v_row, state + (chunk - chunk0) * 4240,
                attn_is_intel() ? 16 : 0, after_v);
#else
            T(dot16)(rows, j1 - j0, score, paged_v + j0 * v_row, v_row, state + (chunk - chunk0) * 4240, after_v);
#endif
        else
            for (int64_t at = j0, end; at < j1; at = end) {
                end = page_end(call, at, j1);
                const float *const rows_of_page = (const float *)paged_row(call, b, v, v_row * (int64_t)sizeof(float),
                    at, n_k),
                    *const after = (const float *)paged_after(call, b, v, v_row * (int64_t)sizeof(float), end, n_k,
                        OF(32, 32, 64));
#if OF(1, 0, 0)
                T(dot16)(rows, end - at, score + (at - j0), rows_of_page, v_row, state + (chunk - chunk0) * 4240,
                    attn_is_intel() ? 16 : 0, after);
#else
                T(dot16)(rows, end - at, score + (at - j0), rows_of_page, v_row, state + (chunk - chunk0) * 4240,
                    after);
#endif
            }
    }
}

/* Folds the slots of the current chunks, in order, for some elements of the states. */
TARGET APART void T(softmax_gpt_oss_extend_few_fold)(const struct call *call, int64_t task, const struct share *share,
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
    float *const carried_max = (float *)(void *)(share->shared + 49408); /* [r: 64] */
    float *const carried_factor = (float *)(void *)(share->work + 0); /* [r: 64] */
    float *const slot_factor = (float *)(void *)(share->work + 256); /* [r: 64] */
    float *const carried_sum = (float *)(void *)(share->shared + 49664); /* [r: 64] */
    float *const carried_sum_compensation = (float *)(void *)(share->shared + 66368); /* [r: 64] */
    float *const carried = (float *)(void *)(share->shared + 49920); /* [r: 64, e: 64] */
    float *const carried_compensation = (float *)(void *)(share->shared + 66624); /* [r: 64, e: 64] */
    for (int64_t chunk = chunk0; chunk < chunk1; chunk++) {
        /* before_max = carried_max; carried_max max= state_max; carried_factor = exp2(before_max - carried_max);
           slot_factor = exp2(state_ ... */
        for (int64_t r = r0; r < r1; r += LANES) {
            const T(vec) carried_max_12 = T(load)(carried_max + r);
            const T(vec) before_max_new13 = carried_max_12;
            const T(vec) state_max_14 = T(load)(state_max + (chunk - chunk0) * 4240 + r);
            const T(vec) carried_max_new15 = T(max)(T(load)(carried_max + r), state_max_14);
            T(store)(carried_max + r, carried_max_new15);
            const T(vec) carried_factor_new16 = T(exp2)(before_max_new13 - carried_max_new15);
            T(store)(carried_factor + r, carried_factor_new16);
            const T(vec) slot_factor_new17 = T(exp2)(state_max_14 - carried_max_new15);
            T(store)(slot_factor + r, slot_factor_new17);
            const T(vec) carried_sum_18 = T(load)(carried_sum + r);
            T(store)(carried_sum + r, carried_sum_18 * carried_factor_new16);
            T(store)(carried_sum_compensation + r, T(load)(carried_sum_compensation + r) * carried_factor_new16);
            T(add)(carried_sum + r, carried_sum_compensation + r, T(load)(state_sum + (chunk - chunk0) * 4240 + r) *
                slot_factor_new17, T(splat)(1));
        }
        /* before = carried; carried = carried * carried_factor; carried_compensation = carried_compensation *
           carried_factor; carried += s ... */
        for (int64_t r = r0; r < r1; r++) {
            for (int64_t e_first = 0; e_first < 64; e_first += OF(64, 16, 8)) {
                UNROLL for (int64_t vector = 0, e = e_first; vector < OF(4, 2, 2); vector++, e += LANES) {
                    const T(vec) carried_19 = T(load)(carried + r * 64 + e);
                    const float carried_factor_20 = carried_factor[r];
                    T(store)(carried + r * 64 + e, carried_19 * carried_factor_20);
                    T(store)(carried_compensation + r * 64 + e, T(load)(carried_compensation + r * 64 + e) *
                        carried_factor_20);
                    T(add)(carried + r * 64 + e, carried_compensation + r * 64 + e,
                        T(load)(state + (chunk - chunk0) * 4240 + r * 64 + e) * slot_factor[r], T(splat)(1));
                }
            }
        }
    }
}

/* Processes a tile of queries: reads the states. */
TARGET APART void T(softmax_gpt_oss_extend_few_queries)(const struct call *call, int64_t task,
    const struct share *share, int64_t iteration)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_q = call->p.n_q;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t r0 = iteration * 16, r1 = min(r0 + 16, rows);
    const int64_t g = task % kv_heads;
    const int64_t b = task / kv_heads;
    const float *const sink_array = (const float *)call->array[ARRAY_sink_array].at + g * members *
        call->array[ARRAY_sink_array].stride[0];
    const int64_t sink_array_stride_0 = call->array[ARRAY_sink_array].stride[0];
    float *const carried_max = (float *)(void *)(share->shared + 49408); /* [r: 64] */
    float *const carried_sum = (float *)(void *)(share->shared + 49664); /* [r: 64] */
    float *const carried = (float *)(void *)(share->shared + 49920); /* [r: 64, e: 64] */
    float *const result = (float *)(void *)(share->work + 0); /* [r: 64, e: 64] */
    float *const out = (float *)call->array[ARRAY_out].at + b * call->array[ARRAY_out].strides.batch + g * members *
        call->array[ARRAY_out].strides.head;
    const int64_t out_row = call->array[ARRAY_out].strides.row;
    const int64_t out_head = call->array[ARRAY_out].strides.head;
    /* result = select(((carried_sum * exp2(carried_max - max(carried_max,
       sink * 1.442695f))) + exp2((sink * 1.442695f) - max(carried_ ... */
    for (int64_t r = r0; r < r1; r++) {
        for (int64_t e = 0; e < 64; e += LANES) {
            const float carried_max_21 = carried_max[r];
            const float t_22 = (sink_array[(r / n_q) * sink_array_stride_0]) * 1.442695f;
            const float t_23 = (carried_max_21 > t_22 || carried_max_21 != carried_max_21 ? carried_max_21 : t_22);
            const float t_24 = exp2f(carried_max_21 - t_23);
            const float t_25 = (carried_sum[r] * t_24) + exp2f(t_22 - t_23);
            T(store)(result + r * 64 + e, (t_25 == 0.0f) ? T(splat)(0.0f) : (T(load)(carried + r * 64 + e) * (1.0f /
                t_25)) * t_24);
        }
    }
    /* out = result */
    for (int64_t r = r0; r < r1; r++)
        for (int64_t e = 0; e < 64; e++)
            out[r / n_q * out_head + r % n_q * out_row + e] = result[r * 64 + e];
}

/* Prepares the queries of head number `task`, and initialises its states. */
TARGET static void T(softmax_gpt_oss_extend_few_first)(const struct call *call, int64_t task, struct share *share)
{
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    for (int64_t iteration = share->number; iteration < ((rows + 63) / 64); iteration += share->threads)
        T(softmax_gpt_oss_extend_few_begin)(call, task, share, iteration);
    for (int64_t iteration = share->number; iteration < ((rows + 15) / 16); iteration += share->threads)
        T(softmax_gpt_oss_extend_few_begin_2)(call, task, share, iteration);
    synchronise(share);
}

/* Copies the rows of the call's queries from the tiles to call->common, or back. They are the rows from `first` on of
   the tiles. */
TARGET APART void T(softmax_gpt_oss_extend_few_move)(const struct call *call, int64_t task, const struct share *share,
    int64_t first, int back)
{
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    unsigned char *row = call->common + task * rows * 832;
    for (int64_t r = first; r < first + rows; r++, row += 832) {
        move_bytes(row + 0, share->shared + 32960 + r * 256, 256, back);
        move_bytes(row + 256, share->shared + 49408 + r * 4, 4, back);
        move_bytes(row + 260, share->shared + 49664 + r * 4, 4, back);
        move_bytes(row + 264, share->shared + 66368 + r * 4, 4, back);
        move_bytes(row + 268, share->shared + 49920 + r * 256, 256, back);
        move_bytes(row + 524, share->shared + 66624 + r * 256, 256, back);
    }
}

/* Sets range[0] and range[1] to the keys that all rows of a sequence see. They are the same for all heads. */
TARGET static void T(softmax_gpt_oss_extend_few_range)(const struct call *call, int64_t task, int64_t *range)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t n_q = call->p.n_q;
    const int64_t n_k = call->p.n_k;
    const int64_t b = task / kv_heads;
    const int64_t query_start = call->p.query_start ? call->p.query_start[b] : n_k - n_q;
    range[0] = n_q + query_start - 128;
    range[1] = query_start + 1;
}

/* Sums the chunks of a sequence before chunk number `end`, from which on other sequences share them. */
TARGET static void T(softmax_gpt_oss_extend_few_earlier)(const struct call *call, int64_t task, struct share *share,
    int64_t end)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t n_q = call->p.n_q;
    const int64_t n_k = call->p.n_k;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t b = task / kv_heads;
    const int64_t query_start = call->p.query_start ? call->p.query_start[b] : n_k - n_q;
    const int64_t segment = 0;
    for (share->chunk0 = max(query_start - 127, 0) / 1024; share->chunk0 < end; share->chunk0++) {
        share->chunk1 = share->chunk0 + 1;
        for (int64_t iteration = share->chunk0; iteration < share->chunk1; iteration++)
            T(softmax_gpt_oss_extend_few_keys)(call, task, share, iteration);
        for (int64_t group = 0; group < 16; group++) {
            await_segment(share, group, segment);
            const int64_t end = (group + 1) * ((rows + 15) / 16) / 16;
            for (int64_t iteration = group * ((rows + 15) / 16) / 16; iteration < end; iteration++)
                T(softmax_gpt_oss_extend_few_fold)(call, task, share, iteration);
            pass_segment(share, group, segment);
        }
    }
}

/* Sums the keys of chunks that several sequences share, once for the rows of all these sequences. */
TARGET static void T(softmax_gpt_oss_extend_few_common)(const struct call *call, int64_t task, struct share *share)
{
    const int64_t n_k = call->p.n_k;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t chunks = n_k > 0 ? (n_k - 1) / 1024 + 1 : 1;
    const int64_t segment = 0;
    int64_t first = 0;
    for (int64_t n = 0; n < call->sharers; n++) {
        if (call->sharer[n]->common_begun) continue;
        T(softmax_gpt_oss_extend_few_first)(call->sharer[n], task, share);
        T(softmax_gpt_oss_extend_few_earlier)(call->sharer[n], task, share, call->common_chunks);
        T(softmax_gpt_oss_extend_few_move)(call->sharer[n], task, share, 0, 0);
    }
    for (int64_t n = 0; n < call->sharers; n++) {
        const struct attn_problem *const of = &call->sharer[n]->p;
        T(softmax_gpt_oss_extend_few_move)(call->sharer[n], task, share, first, 1);
        first += of->heads / of->kv_heads * of->n_q;
    }
    for (share->chunk0 = call->common_chunks; share->chunk0 < chunks; share->chunk0++) {
        share->chunk1 = share->chunk0 + 1;
        for (int64_t iteration = share->chunk0; iteration < share->chunk1; iteration++)
            T(softmax_gpt_oss_extend_few_keys_of_several)(call, task, share, iteration);
        for (int64_t group = 0; group < 16; group++) {
            await_segment(share, group, segment);
            const int64_t end = (group + 1) * ((rows + 15) / 16) / 16;
            for (int64_t iteration = group * ((rows + 15) / 16) / 16; iteration < end; iteration++)
                T(softmax_gpt_oss_extend_few_fold)(call, task, share, iteration);
            pass_segment(share, group, segment);
        }
    }
    first = 0;
    for (int64_t n = 0; n < call->sharers; n++) {
        const struct attn_problem *const of = &call->sharer[n]->p;
        T(softmax_gpt_oss_extend_few_move)(call->sharer[n], task, share, first, 0);
        first += of->heads / of->kv_heads * of->n_q;
    }
}

/* Computes head number `task`. Each thread on the head calls this with `share`. */
TARGET static void T(softmax_gpt_oss_extend_few)(const struct call *call, int64_t task, struct share *share)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t n_q = call->p.n_q;
    const int64_t n_k = call->p.n_k;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t chunks = n_k > 0 ? (n_k - 1) / 1024 + 1 : 1;
    const int64_t b = task / kv_heads;
    const int64_t query_start = call->p.query_start ? call->p.query_start[b] : n_k - n_q;
    if (call->common_begun) {
        if (share->number == 0) T(softmax_gpt_oss_extend_few_move)(call, task, share, 0, 1);
        synchronise(share);
    } else
        T(softmax_gpt_oss_extend_few_first)(call, task, share);
    const int64_t first = call->common_begun ? call->common_chunks : max(query_start - 127, 0) / 1024;
    const int64_t length = segment_length(share, chunks - first);
    for (int64_t segment = share->number; first + segment * length < chunks; segment += share->threads) {
        share->chunk0 = first + segment * length;
        share->chunk1 = min(share->chunk0 + length, chunks);
        for (int64_t iteration = share->chunk0; iteration < share->chunk1; iteration++)
            T(softmax_gpt_oss_extend_few_keys)(call, task, share, iteration);
        for (int64_t group = 0; group < 16; group++) {
            await_segment(share, group, segment);
            const int64_t end = (group + 1) * ((rows + 15) / 16) / 16;
            for (int64_t iteration = group * ((rows + 15) / 16) / 16; iteration < end; iteration++)
                T(softmax_gpt_oss_extend_few_fold)(call, task, share, iteration);
            pass_segment(share, group, segment);
        }
    }
    share->segments += (max(chunks - first, 0) + length - 1) / length;
    synchronise(share);
    for (int64_t iteration = share->number; iteration < ((rows + 15) / 16); iteration += share->threads)
        T(softmax_gpt_oss_extend_few_queries)(call, task, share, iteration);
    synchronise(share);
}
#include <attnrt/kernel/end.h>
#else
#ifdef __cplusplus
#error "softmax_gpt_oss.c is C, not C++: compile it with a C compiler"
#elif !defined __STDC_VERSION__ || __STDC_VERSION__ < 199901L
#error "softmax_gpt_oss.c is C11, not C89: compile it without -std=, or with -std=gnu11"
extern int softmax_gpt_oss_is_c11;
#elif !defined __GNUC__
#error "softmax_gpt_oss.c uses GNU C vector extensions: compile it with gcc or clang"
extern int softmax_gpt_oss_is_gnu_c;
#else
#include "softmax_gpt_oss.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include <attnrt/kernel/optimize.h>
#include <attnrt/kernel/call.h>
#include <attnrt/kernel/pages.h>

/* the numbers of the arrays of a call */
enum {
    ARRAY_q, ARRAY_k, ARRAY_v, ARRAY_out, ARRAY_dout, ARRAY_dq, ARRAY_dk, ARRAY_dv, ARRAY_sink_array, ARRAY_dsink_array,
    ARRAY_saved_0, ARRAY_row_0, ARRAY_sum_0, ARRAY_partial_0
};

static const double rope_theta[32] = {
    1, 0.74989420933245587, 0.56234132519034907, 0.42169650342858223, 0.31622776601683794, 0.23713737056616552,
    0.17782794100389229, 0.1333521432163324, 0.10000000000000001, 0.074989420933245579, 0.056234132519034911,
        0.042169650342858224,
    0.031622776601683791, 0.023713737056616554, 0.017782794100389229, 0.013335214321633241, 0.01, 0.0074989420933245579,
    0.005623413251903491, 0.0042169650342858229, 0.0031622776601683794, 0.0023713737056616554, 0.0017782794100389228,
        0.0013335214321633241,
    0.001, 0.00074989420933245586, 0.0005623413251903491, 0.00042169650342858224, 0.00031622776601683794,
        0.00023713737056616554,
    0.00017782794100389227, 0.0001333521432163324};

#ifdef __FILE_NAME__
#define LOOPS __FILE_NAME__ /* this file, whose first part has the loops */
#else
#define LOOPS "softmax_gpt_oss.c"
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
#define MAX_STEPS 256
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
#define MAX_STEPS 256
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
#define MAX_STEPS 144
#define MAX_TERMS 64
#define MAX_LANES 64
#define OF(v4, v3, any) any /* a number of each target */
#define SECTION
#include LOOPS
#undef SECTION

/* ==== tables for the library that calls these functions (attnrt/kernel/call.h) ==== */
static const struct attn_param param[] = {
    {"sink", ATTN_F32, 1, {ATTN_HEADS}, offsetof(struct softmax_gpt_oss_params, sink), 0,
        offsetof(struct softmax_gpt_oss_strides, sink), 0, 0, ATTN_NO_LIMITS},
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
    {.name = "sink", .access = {ACCESS_READ, ACCESS_READ}, .dtype = ATTN_F32, .origin = FROM_PARAMS, .param = 0,
        .axis = {-1, 0, -1}},
    {.name = "dsink", .access = {ACCESS_NONE, ACCESS_WANTED}, .dtype = ATTN_F32, .origin = FROM_GRADIENTS,
        .member = offsetof(struct softmax_gpt_oss_gradients, sink)},
    {.name = "saved_0", .origin = FROM_SAVED},
    {.name = "row_0", .origin = FROM_ROW_SUMS},
    {.name = "sum_0", .origin = FROM_SUMS, .elements = 64},
    {.name = "partial_0", .origin = FROM_LEFT, .elements = 16, .sizes = 1 << -ATTN_HEADS,
        .wanted = (const uint16_t[]){ARRAY_dsink_array, NO_ARRAY}},
};

#if defined(__x86_64__)
static int runs_v4(void)
{
    return attn_x86_64_level() >= 4;
}
static const struct program programs_v4[] = {
    {.role = RUN_FORWARD, .form = FORM_FEW,
     .head = softmax_gpt_oss_few_v4, .tile = 0, .own = 110592, .few_rows = 64, .lanes = 16, .of_pair = 128,
         .shared = 66624, .slot = 16960, .slots = 4, .together = 1},
    {.role = RUN_FORWARD,
     .rows = softmax_gpt_oss_rows_v4, .tile = 256, .own = 236544, .of_pair = 128, .saves = 1},
    {.role = RUN_BACKWARD, .part = 5, .sums_slices = 1,
     .rows = softmax_gpt_oss_totals1_v4, .tile = -1, .own = 1088, .of_pair = 128,
         .wanted = (const uint16_t[]){ARRAY_dsink_array, NO_ARRAY}, .units = 1, .unit_heads = 2},
    {.role = RUN_BACKWARD, .part = 4,
     .rows = softmax_gpt_oss_dq_v4, .tile = 64, .own = 61440, .of_pair = 128, .wanted = (const uint16_t[]){ARRAY_dq,
         NO_ARRAY}},
    {.role = RUN_BACKWARD, .part = 3,
     .rows = softmax_gpt_oss_sums2_v4, .tile = -1, .own = 41344, .of_pair = 128,
         .wanted = (const uint16_t[]){ARRAY_partial_0, NO_ARRAY}, .units = 16, .unit_heads = 2},
    {.role = RUN_BACKWARD, .part = 2,
     .rows = softmax_gpt_oss_dk_dv_sum_0_v4, .tile = 256, .own = 940032, .of_pair = 128,
         .wanted = (const uint16_t[]){ARRAY_dk, ARRAY_dv, ARRAY_sum_0, NO_ARRAY}, .of_keys = OF_KEY_HEAD,
         .in_order = 1},
    {.role = RUN_BACKWARD, .part = 1,
     .rows = softmax_gpt_oss_row_sums_v4, .tile = 64, .own = 41216, .of_pair = 128},
    {.role = RUN_BACKWARD, .saved_again = 1,
     .rows = softmax_gpt_oss_saved_v4, .tile = 256, .own = 105472, .of_pair = 128},
    {.role = RUN_PREPARE,
     .rows = softmax_gpt_oss_prepare_v4, .tile = 64, .own = 61440, .of_pair = 128},
    {.role = RUN_ATTEND, .form = FORM_FEW,
     .head = softmax_gpt_oss_extend_few_v4, .tile = 0, .own = 102656, .few_rows = 64, .lanes = 16, .of_pair = 128,
         .shared = 83072, .slot = 16960, .slots = 4, .together = 1, .common = softmax_gpt_oss_extend_few_common_v4,
         .common_rows = 64, .common_chunk = 1024, .common_row = 832,
         .common_range = softmax_gpt_oss_extend_few_range_v4},
    {.role = RUN_ATTEND,
     .rows = softmax_gpt_oss_extend_v4, .tile = 32, .own = 57344, .of_pair = 128},
};
#endif
#if defined(__x86_64__)
static int runs_v3(void)
{
    return attn_x86_64_level() >= 3;
}
static const struct program programs_v3[] = {
    {.role = RUN_FORWARD, .form = FORM_FEW,
     .head = softmax_gpt_oss_few_v3, .tile = 0, .own = 110592, .few_rows = 64, .lanes = 8, .of_pair = 128,
         .shared = 66624, .slot = 16960, .slots = 4, .together = 1},
    {.role = RUN_FORWARD,
     .rows = softmax_gpt_oss_rows_v3, .tile = 256, .own = 236544, .of_pair = 128, .saves = 1},
    {.role = RUN_BACKWARD, .part = 5, .sums_slices = 1,
     .rows = softmax_gpt_oss_totals1_v3, .tile = -1, .own = 576, .of_pair = 128,
         .wanted = (const uint16_t[]){ARRAY_dsink_array, NO_ARRAY}, .units = 1, .unit_heads = 2},
    {.role = RUN_BACKWARD, .part = 4,
     .rows = softmax_gpt_oss_dq_v3, .tile = 64, .own = 61440, .of_pair = 128, .wanted = (const uint16_t[]){ARRAY_dq,
         NO_ARRAY}},
    {.role = RUN_BACKWARD, .part = 3,
     .rows = softmax_gpt_oss_sums2_v3, .tile = -1, .own = 41344, .of_pair = 128,
         .wanted = (const uint16_t[]){ARRAY_partial_0, NO_ARRAY}, .units = 16, .unit_heads = 2},
    {.role = RUN_BACKWARD, .part = 2,
     .rows = softmax_gpt_oss_dk_dv_sum_0_v3, .tile = 256, .own = 940032, .of_pair = 128,
         .wanted = (const uint16_t[]){ARRAY_dk, ARRAY_dv, ARRAY_sum_0, NO_ARRAY}, .of_keys = OF_KEY_HEAD,
         .in_order = 1},
    {.role = RUN_BACKWARD, .part = 1,
     .rows = softmax_gpt_oss_row_sums_v3, .tile = 64, .own = 41216, .of_pair = 128},
    {.role = RUN_BACKWARD, .saved_again = 1,
     .rows = softmax_gpt_oss_saved_v3, .tile = 256, .own = 105472, .of_pair = 128},
    {.role = RUN_PREPARE,
     .rows = softmax_gpt_oss_prepare_v3, .tile = 64, .own = 61440, .of_pair = 128},
    {.role = RUN_ATTEND, .form = FORM_FEW,
     .head = softmax_gpt_oss_extend_few_v3, .tile = 0, .own = 102656, .few_rows = 64, .lanes = 8, .of_pair = 128,
         .shared = 83072, .slot = 16960, .slots = 4, .together = 1, .common = softmax_gpt_oss_extend_few_common_v3,
         .common_rows = 64, .common_chunk = 1024, .common_row = 832,
         .common_range = softmax_gpt_oss_extend_few_range_v3},
    {.role = RUN_ATTEND,
     .rows = softmax_gpt_oss_extend_v3, .tile = 16, .own = 40960, .of_pair = 128},
};
#endif
static const struct program programs_any[] = {
    {.role = RUN_FORWARD, .form = FORM_FEW,
     .head = softmax_gpt_oss_few_any, .tile = 0, .own = 110592, .few_rows = 64, .lanes = 4, .of_pair = 128,
         .shared = 66624, .slot = 16960, .slots = 4, .together = 1},
    {.role = RUN_FORWARD,
     .rows = softmax_gpt_oss_rows_any, .tile = 128, .own = 136704, .of_pair = 128, .saves = 1},
    {.role = RUN_BACKWARD, .part = 5, .sums_slices = 1,
     .rows = softmax_gpt_oss_totals1_any, .tile = -1, .own = 320, .of_pair = 128,
         .wanted = (const uint16_t[]){ARRAY_dsink_array, NO_ARRAY}, .units = 1, .unit_heads = 2},
    {.role = RUN_BACKWARD, .part = 4,
     .rows = softmax_gpt_oss_dq_any, .tile = 64, .own = 61440, .of_pair = 128, .wanted = (const uint16_t[]){ARRAY_dq,
         NO_ARRAY}},
    {.role = RUN_BACKWARD, .part = 3,
     .rows = softmax_gpt_oss_sums2_any, .tile = -1, .own = 41344, .of_pair = 128,
         .wanted = (const uint16_t[]){ARRAY_partial_0, NO_ARRAY}, .units = 16, .unit_heads = 2},
    {.role = RUN_BACKWARD, .part = 2,
     .rows = softmax_gpt_oss_dk_dv_sum_0_any, .tile = 128, .own = 530432, .of_pair = 128,
         .wanted = (const uint16_t[]){ARRAY_dk, ARRAY_dv, ARRAY_sum_0, NO_ARRAY}, .of_keys = OF_KEY_HEAD,
         .in_order = 1},
    {.role = RUN_BACKWARD, .part = 1,
     .rows = softmax_gpt_oss_row_sums_any, .tile = 64, .own = 41216, .of_pair = 128},
    {.role = RUN_BACKWARD, .saved_again = 1,
     .rows = softmax_gpt_oss_saved_any, .tile = 128, .own = 71168, .of_pair = 128},
    {.role = RUN_PREPARE,
     .rows = softmax_gpt_oss_prepare_any, .tile = 64, .own = 61440, .of_pair = 128},
    {.role = RUN_ATTEND, .form = FORM_FEW,
     .head = softmax_gpt_oss_extend_few_any, .tile = 0, .own = 102656, .few_rows = 64, .lanes = 4, .of_pair = 128,
         .shared = 83072, .slot = 16960, .slots = 4, .together = 1, .common = softmax_gpt_oss_extend_few_common_any,
         .common_rows = 64, .common_chunk = 1024, .common_row = 832,
         .common_range = softmax_gpt_oss_extend_few_range_any},
    {.role = RUN_ATTEND,
     .rows = softmax_gpt_oss_extend_any, .tile = 16, .own = 40960, .of_pair = 128},
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
    {ARRAY_k, 256, 1, 0, 0, 1},
    {ARRAY_v, 256, ATTN_KV_HEADS, 0, 0, 0},
};

#include <attnrt/kernel/openmp.h>
static const struct kernel kernel = {
    .layout = KERNEL_LAYOUT, .name = "softmax_gpt_oss", .openmp = OPENMP,
    .target = target, .targets = sizeof target / sizeof *target - 1,
    .array = array, .arrays = sizeof array / sizeof *array,
    .param = param, .params = 1, .params_bytes = sizeof(struct softmax_gpt_oss_params),
    .dtype = ATTN_F32, .key_dtype = ATTN_F32, .value_dtype = ATTN_F32, .real = sizeof(float), .element = sizeof(float),
    .head_dim = 64, .value_dim = 64, .key_row = 64, .value_row = 64,
    .strided = 1, .strides = offsetof(struct softmax_gpt_oss_params, strides),
    .shares = 1,
    .positions = 1,
    .ids = -1,
    .corrected = -1,
    .solution = -1,
    .gradients_bytes = sizeof(struct softmax_gpt_oss_gradients),
    .parts = 6,
    .saved = 1,
    .row_sums = 1,
    .row_of_sums = 64,
    .sums_wanted = (const uint16_t[]){ARRAY_dq, NO_ARRAY},
    .shared_gradient = {ARRAY_dq, ARRAY_dk},
    .decodes = 1,
    .moves = 1,
    .terms_move = 1,
    .prepared = 1,
    .attends = 1,
    .paged = 1,
    .read_back = 127,
    .rows_kept = 383,
    .common_row = 832,
    .fingerprint = UINT64_C(0x2bd0d5739138e528),
    .kept_array = kept_array, .kept_arrays = 2, .given = 2, .sums = 2,
};

/* ==== the interface ==== */
size_t softmax_gpt_oss_params_size(void) { return attn_call_params_size(&kernel); }
int softmax_gpt_oss_params_init(struct softmax_gpt_oss_params *params, uint64_t seed, void *storage)
{
    return attn_call_params_init(&kernel, params, seed, storage);
}
size_t softmax_gpt_oss_workspace(const struct attn_problem *problem) { return attn_call_workspace(&kernel, problem); }
size_t softmax_gpt_oss_saved(const struct attn_problem *problem) { return attn_call_saved(&kernel, problem); }
size_t softmax_gpt_oss_backward_workspace(const struct attn_problem *problem)
{
    return attn_call_backward_workspace(&kernel, problem);
}
size_t softmax_gpt_oss_state(const struct attn_problem *problem) { return attn_call_state(&kernel, problem); }
int softmax_gpt_oss_state_init(const struct attn_problem *problem, void *state)
{
    return attn_call_state_init(&kernel, problem, state);
}
size_t softmax_gpt_oss_page(const struct attn_problem *problem) { return attn_call_page(&kernel, problem); }
size_t softmax_gpt_oss_extend_workspace(const struct attn_problem *problem)
{
    return attn_call_extend_workspace(&kernel, problem);
}
int64_t softmax_gpt_oss_state_length(const struct attn_problem *problem, const void *state, int64_t sequence)
{
    return attn_call_state_length(&kernel, problem, state, sequence);
}
int64_t softmax_gpt_oss_state_min_length(const struct attn_problem *problem, const void *state, int64_t sequence)
{
    return attn_call_state_min_length(&kernel, problem, state, sequence);
}
int softmax_gpt_oss_state_truncate(const struct attn_problem *problem, void *state, int64_t sequence, int64_t length)
{
    return attn_call_state_truncate(&kernel, problem, state, sequence, length);
}
int softmax_gpt_oss_state_copy(const struct attn_problem *problem, void *to, int64_t to_sequence, const void *from,
    int64_t from_sequence)
{
    return attn_call_state_copy(&kernel, problem, to, to_sequence, from, from_sequence);
}
int softmax_gpt_oss_state_keep(const struct attn_problem *problem, void *state, int64_t sequence, const int64_t *path,
    int64_t count)
{
    return attn_call_state_keep(&kernel, problem, state, sequence, path, count);
}
size_t softmax_gpt_oss_state_sums(const struct attn_problem *problem) { return attn_call_state_sums(&kernel, problem); }
int softmax_gpt_oss_state_set(const struct attn_problem *problem, void *state, const void *sums)
{
    return attn_call_state_set(&kernel, problem, state, sums);
}
int softmax_gpt_oss_state_get(const struct attn_problem *problem, const void *params, void *state, void *sums,
    void *workspace)
{
    return attn_call_state_get(&kernel, problem, params, state, sums, workspace);
}
int softmax_gpt_oss_state_fold(const struct attn_problem *problem, void *left, const void *right)
{
    return attn_call_state_fold(&kernel, problem, left, right);
}
int softmax_gpt_oss_forward(const struct attn_problem *problem, const struct softmax_gpt_oss_params *params,
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
int softmax_gpt_oss_backward(const struct attn_problem *problem, const struct softmax_gpt_oss_params *params,
    const float *q, const float *k, const float *v, const float *out, const float *dout,
    float *dq, float *dk, float *dv, struct softmax_gpt_oss_gradients *gradients, void *workspace)
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
int softmax_gpt_oss_extend(const struct attn_problem *problem, const struct softmax_gpt_oss_params *params,
    const float *q, const float *k, const float *v,
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
const struct attn_kernel softmax_gpt_oss_kernel = {
    .name = "softmax_gpt_oss", .version = "0.2.0", .dtype = ATTN_F32, .head_dim = 64, .value_dim = 64,
    .params = 1, .param = param, .params_bytes = sizeof(struct softmax_gpt_oss_params),
    .params_size = softmax_gpt_oss_params_size, .params_init = params_init_any, .forward = forward_any,
    .workspace = softmax_gpt_oss_workspace,
    .saved = softmax_gpt_oss_saved,
    .backward_workspace = softmax_gpt_oss_backward_workspace,
    .state = softmax_gpt_oss_state,
    .state_init = softmax_gpt_oss_state_init,
    .page = softmax_gpt_oss_page,
    .extend_workspace = softmax_gpt_oss_extend_workspace,
    .state_length = softmax_gpt_oss_state_length,
    .state_min_length = softmax_gpt_oss_state_min_length,
    .state_truncate = softmax_gpt_oss_state_truncate,
    .state_copy = softmax_gpt_oss_state_copy,
    .state_keep = softmax_gpt_oss_state_keep,
    .state_sums = softmax_gpt_oss_state_sums,
    .state_set = softmax_gpt_oss_state_set,
    .state_get = softmax_gpt_oss_state_get,
    .state_fold = softmax_gpt_oss_state_fold,
    .backward = backward_any,
    .extend = extend_any, .state_chunk = state_chunk, .state_part = state_part,
    .key_dtype = ATTN_F32, .value_dtype = ATTN_F32,
    .strides = offsetof(struct softmax_gpt_oss_params, strides),
        .strides_bytes = sizeof(struct softmax_gpt_oss_strides),
    .before = 127, .after = 0, .period = 1, .names_heads = 0, .names_sequences = 0, .in_parts = 0,
    .saved_power = 0, .has_sink = 0, .open_keys = 0, .end_of_keys = INT64_MAX,
};
#endif /* a compiler of this language */
#endif /* SECTION */
