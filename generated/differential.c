/* differential.c, made by attnc 0.2.0: attnc differential.yaml
   C11 with GNU extensions, for a C compiler; C++ includes differential.h.
   the difference of two softmax maps, whose second queries and keys are arrays
   Ye et al., Differential Transformer (ICLR 2025), section 2.1; lam is lambda, which the paper computes from vectors

   Computes, in f32, over the axes b (batch), g (key/value head), m (query head of g), i (query), j (key), d (64),
   e (128), t (32):
     q [b g m i d]
     k [b g j d]
     v [b g j e]
     rope_theta [t], constant
     x4 [j t] = cos(j * rope_theta)
     x5 [j t] = sin(j * rope_theta)
     x6 [b g j d] = k * x4[j, d / 2] + k[b, g, j, d % 2 == 0 ? d + 1 : d + -1] * x5[j, d / 2] * (d % 2 == 0 ? -1 : 1)
     x7 [b i t] = cos((i + query_start) * rope_theta)
     x8 [b i t] = sin((i + query_start) * rope_theta)
     x9 [b g m i d] = q * x7[b, i, d / 2] + q[b, g, m, i, d % 2 == 0 ? d + 1 : d + -1] * x8[b, i,
     d / 2] * (d % 2 == 0 ? -1 : 1)
     q2 [b g m i d], learned parameter
     x11 [b i t] = cos((i + query_start) * rope_theta)
     x12 [b i t] = sin((i + query_start) * rope_theta)
     x13 [b g m i d] = q2 * x11[b, i, d / 2] + q2[b, g, m, i, d % 2 == 0 ? d + 1 : d + -1] * x12[b, i,
     d / 2] * (d % 2 == 0 ? -1 : 1)
     k2 [b g j d], learned parameter
     x15 [j t] = cos(j * rope_theta)
     x16 [j t] = sin(j * rope_theta)
     x17 [b g j d] = k2 * x15[j, d / 2] + k2[b, g, j, d % 2 == 0 ? d + 1 : d + -1] * x16[j,
     d / 2] * (d % 2 == 0 ? -1 : 1)
     x18 [b g m i j] = sum over d of x13 * x17
     x19 [b g m i j] = sum over d of x9 * x6
     x20 [b g m i j] = exp(x19 * 0.125)
     x21 [b g m i] = sum over j of x20 if j <= i + query_start
     x22 [b g m i e] = sum over j of x20 * v if j <= i + query_start
     x23 [b g m i e] = x21 == 0 ? 0 : x22 / x21
     x24 [b g m i j] = exp(x18 * 0.125)
     x25 [b g m i] = sum over j of x24 if j <= i + query_start
     x26 [b g m i e] = sum over j of x24 * v if j <= i + query_start
     x27 [b g m i e] = x25 == 0 ? 0 : x26 / x25
     lam [g m], learned parameter
     x29 [b g m i e] = x23 - lam * x27
     out = x29
   query_start is the position of the first query: problem.query_start[b], or n_k - n_q if that is NULL.

   How: each vector lane holds one query. Keys are processed in tiles,
   so row sums and maxima need no reduction across lanes.
   The sums of a tile start from zero and are added to the sums so far. Tiles that no query sees are skipped.
   For few queries each lane holds one key. The queries of all heads that share keys are the rows of one tile,
   so each key is read once.
   The chunks of keys are divided among the threads. Their sums are added in the order of the chunks.
     x86-64-v4  quadratic tiles of 32 queries and 96 keys, in blocks of 256 queries;
     784512 bytes of workspace per thread
     x86-64-v4  few       tiles of 64 queries and 128 keys; 682496 bytes of workspace per thread
     x86-64-v3  quadratic tiles of 16 queries and 96 keys, in blocks of 128 queries;
     453632 bytes of workspace per thread
     x86-64-v3  few       tiles of 64 queries and 128 keys; 682496 bytes of workspace per thread
     generic    quadratic tiles of 16 queries and 96 keys, in blocks of 64 queries; 288256 bytes of workspace per thread
     generic    few       tiles of 64 queries and 128 keys; 682496 bytes of workspace per thread

   Contents:
     loops      differential_rows, differential_few, differential_saved, differential_row_sums,
     differential_dq_dq2_sums1, differential_dk_dv_dk2, differential_totals1
     targets    x86-64-v4, x86-64-v3, generic
     tables     arrays and programs, for the functions of attnrt that call the loops
     interface  differential_workspace, differential_forward, differential_backward, differential_kernel
   The file includes itself, so that the loops are compiled once for each target. T(name) is a name with the target's
   suffix, LANES the elements of its vectors, and OF(…) a number for each target.

   Compile with: cc -O2 -fopenmp differential.c … -lattnrt -lm */
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
    T(dot)(/*vectors=*/OF(4, 2, 2), lanes, rows, /*tail=*/-1, /*steps=*/64, /*span=*/32, a, /*a_row=*/1, /*a_step=*/64,
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
TARGET APART void T(dot6)(int64_t lanes, int64_t rows, const float *a, const float *b, float *c)
{
    T(dot)(/*vectors=*/OF(4, 2, 2), lanes, rows, /*tail=*/-1, /*steps=*/64, /*span=*/32, a, /*a_row=*/1,
        /*a_step=*/OF(144, 144, 288), b, /*b_step=*/(16 * LANES + 16), c, /*c_row=*/(16 * LANES + 16), /*update=*/0,
        /*factor=*/NULL, /*compensation=*/NULL);
}
TARGET APART void T(dot7)(int64_t lanes, int64_t steps, const float *a, int64_t a_step, const float *b, float *c,
    const float *factor, float *compensation)
{
    T(dot_finite)(/*vectors=*/OF(4, 2, 2), lanes, /*rows=*/128, /*tail=*/2, steps, /*span=*/192, a, /*a_row=*/1, a_step,
        b, /*b_step=*/(16 * LANES + 16), c, /*c_row=*/(16 * LANES + 16), /*update=*/3, factor, compensation);
}
TARGET APART void T(dot8)(int64_t lanes, int64_t steps, const float *a, int64_t a_step, const float *b, float *c,
    const float *factor, float *compensation)
{
    T(dot)(/*vectors=*/OF(4, 2, 2), lanes, /*rows=*/128, /*tail=*/2, steps, /*span=*/192, a, /*a_row=*/1, a_step, b,
        /*b_step=*/(16 * LANES + 16), c, /*c_row=*/(16 * LANES + 16), /*update=*/3, factor, compensation);
}
#if OF(1, 1, 0)
TARGET APART void T(dot9)(int64_t lanes, int64_t rows, const float *a, int64_t a_row, const float *b, float *c)
#else
TARGET APART void T(dot9)(int64_t lanes, int64_t rows, const float *a, const float *b, float *c)
#endif
{
#if OF(0, 0, 1)
    T(dot)(/*vectors=*/2, lanes, rows, /*tail=*/-1, /*steps=*/64, /*span=*/32, a, /*a_row=*/1, /*a_step=*/144, b,
        /*b_step=*/80, c, /*c_row=*/80, /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL);
}
TARGET APART void T(dot10)(int64_t lanes, int64_t rows, const float *a, int64_t a_row, const float *b, float *c)
{
#endif
    T(dot_ahead)(/*vectors=*/OF(4, 2, 2), lanes, rows, /*tail=*/-1, /*steps=*/128, /*span=*/32, a, a_row, /*a_step=*/1,
        b, /*b_step=*/(16 * LANES + 16), c, /*c_row=*/(16 * LANES + 16), /*update=*/0, /*factor=*/NULL,
        /*compensation=*/NULL, /*next=*/NULL, /*next_row=*/0, /*width=*/0, /*result=*/NULL, /*result_row=*/0,
        /*result_width=*/0, /*results=*/0);
}
#if OF(1, 1, 0)
TARGET APART void T(dot10)(int64_t lanes, int64_t steps, const float *a, const float *b, float *c, float *compensation)
#else
TARGET APART void T(dot11)(int64_t lanes, int64_t steps, const float *a, const float *b, float *c, float *compensation)
#endif
{
    T(dot_finite)(/*vectors=*/OF(4, 2, 2), lanes, /*rows=*/64, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/144,
        /*a_step=*/1, b, /*b_step=*/(16 * LANES + 16), c, /*c_row=*/(16 * LANES + 16), /*update=*/3, /*factor=*/NULL,
        compensation);
}
#if OF(1, 1, 0)
TARGET APART void T(dot11)(int64_t lanes, int64_t steps, const float *a, const float *b, float *c, float *compensation)
#else
TARGET APART void T(dot12)(int64_t lanes, int64_t steps, const float *a, const float *b, float *c, float *compensation)
#endif
{
    T(dot)(/*vectors=*/OF(4, 2, 2), lanes, /*rows=*/64, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/144, /*a_step=*/1,
        b, /*b_step=*/(16 * LANES + 16), c, /*c_row=*/(16 * LANES + 16), /*update=*/3, /*factor=*/NULL, compensation);
}
#if OF(1, 1, 0)
TARGET APART void T(dot12)(int64_t lanes, int64_t rows, const float *a, const float *b, float *c)
#else
TARGET APART void T(dot13)(int64_t lanes, int64_t rows, const float *a, const float *b, float *c)
#endif
{
    T(dot)(/*vectors=*/OF(4, 2, 2), lanes, rows, /*tail=*/-1, /*steps=*/128, /*span=*/32, a, /*a_row=*/1,
        /*a_step=*/OF(144, 144, 288), b, /*b_step=*/(16 * LANES + 16), c, /*c_row=*/(16 * LANES + 16), /*update=*/0,
        /*factor=*/NULL, /*compensation=*/NULL);
}
#if OF(1, 1, 0)
TARGET APART void T(dot13)(int64_t lanes, int64_t steps, const float *a, const float *b, float *c, float *compensation)
#else
TARGET APART void T(dot14)(int64_t lanes, int64_t steps, const float *a, const float *b, float *c, float *compensation)
#endif
{
    T(dot_finite)(/*vectors=*/OF(4, 2, 2), lanes, /*rows=*/128, /*tail=*/2, steps, /*span=*/192, a, /*a_row=*/OF(144,
        144, 288), /*a_step=*/1, b, /*b_step=*/(16 * LANES + 16), c, /*c_row=*/(16 * LANES + 16), /*update=*/3,
        /*factor=*/NULL, compensation);
}
#if OF(1, 1, 0)
TARGET APART void T(dot14)(int64_t lanes, int64_t steps, const float *a, const float *b, float *c, float *compensation)
#else
TARGET APART void T(dot15)(int64_t lanes, int64_t steps, const float *a, const float *b, float *c, float *compensation)
#endif
{
    T(dot)(/*vectors=*/OF(4, 2, 2), lanes, /*rows=*/128, /*tail=*/2, steps, /*span=*/192, a, /*a_row=*/OF(144, 144,
        288), /*a_step=*/1, b, /*b_step=*/(16 * LANES + 16), c, /*c_row=*/(16 * LANES + 16), /*update=*/3,
        /*factor=*/NULL, compensation);
}
#if OF(1, 1, 0)
TARGET APART void T(dot15)(int64_t lanes, int64_t rows, const float *a, int64_t a_row, const float *b, float *c,
    const float *result, int64_t result_row, int64_t results)
#else
TARGET APART void T(dot16)(int64_t lanes, int64_t rows, const float *a, int64_t a_row, const float *b, float *c,
    const float *result, int64_t result_row, int64_t results)
#endif
{
    T(dot_ahead)(/*vectors=*/OF(4, 2, 2), lanes, rows, /*tail=*/-1, /*steps=*/128, /*span=*/32, a, a_row, /*a_step=*/1,
        b, /*b_step=*/(16 * LANES + 16), c, /*c_row=*/(16 * LANES + 16), /*update=*/0, /*factor=*/NULL,
        /*compensation=*/NULL, /*next=*/NULL, /*next_row=*/0, /*width=*/0, result, result_row, /*result_width=*/64,
        results);
}
#if OF(1, 1, 0)
TARGET APART void T(dot16)(int64_t lanes, int64_t steps, const float *a, int64_t a_step, const float *b, float *c,
    float *compensation)
#else
TARGET APART void T(dot17)(int64_t lanes, int64_t steps, const float *a, int64_t a_step, const float *b, float *c,
    float *compensation)
#endif
{
    T(dot_finite)(/*vectors=*/OF(4, 2, 2), lanes, /*rows=*/128, /*tail=*/2, steps, /*span=*/192, a, /*a_row=*/1, a_step,
        b, /*b_step=*/(16 * LANES + 16), c, /*c_row=*/(16 * LANES + 16), /*update=*/3, /*factor=*/NULL, compensation);
}
#if OF(1, 1, 0)
TARGET APART void T(dot17)(int64_t lanes, int64_t steps, const float *a, int64_t a_step, const float *b, float *c,
    float *compensation)
#else
TARGET APART void T(dot18)(int64_t lanes, int64_t steps, const float *a, int64_t a_step, const float *b, float *c,
    float *compensation)
#endif
{
    T(dot)(/*vectors=*/OF(4, 2, 2), lanes, /*rows=*/128, /*tail=*/2, steps, /*span=*/192, a, /*a_row=*/1, a_step, b,
        /*b_step=*/(16 * LANES + 16), c, /*c_row=*/(16 * LANES + 16), /*update=*/3, /*factor=*/NULL, compensation);
}
#if OF(0, 0, 1)
TARGET APART void T(dot19)(int64_t lanes, int64_t steps, const float *a, const float *b, float *c, float *compensation)
{
    T(dot_finite)(/*vectors=*/2, lanes, /*rows=*/64, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/288, /*a_step=*/1, b,
        /*b_step=*/80, c, /*c_row=*/80, /*update=*/3, /*factor=*/NULL, compensation);
}
TARGET APART void T(dot20)(int64_t lanes, int64_t steps, const float *a, const float *b, float *c, float *compensation)
{
    T(dot)(/*vectors=*/2, lanes, /*rows=*/64, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/288, /*a_step=*/1, b,
        /*b_step=*/80, c, /*c_row=*/80, /*update=*/3, /*factor=*/NULL, compensation);
}
#endif

/* Computes task number `task`: one tile of queries of one head. `work` is this thread's workspace. */
TARGET static void T(differential_rows)(const struct call *call, int64_t task, unsigned char *work)
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
    const float *const q2_array = (const float *)call->array[ARRAY_q2_array].at + b *
        call->array[ARRAY_q2_array].strides.batch + (g * members + m) * call->array[ARRAY_q2_array].strides.head;
    const int64_t q2_array_row = call->array[ARRAY_q2_array].strides.row;
    const int64_t q2_array_stride_3 = call->array[ARRAY_q2_array].stride[3];
    const float *const k2_array = (const float *)call->array[ARRAY_k2_array].at + b *
        call->array[ARRAY_k2_array].strides.batch + g * call->array[ARRAY_k2_array].strides.head;
    const int64_t k2_array_row = call->array[ARRAY_k2_array].strides.row;
    const int64_t k2_array_stride_3 = call->array[ARRAY_k2_array].stride[3];
    const float *const lam_array = (const float *)call->array[ARRAY_lam_array].at + g * members *
        call->array[ARRAY_lam_array].stride[0] + m * call->array[ARRAY_lam_array].stride[0];
    float *const key_cos = (float *)(void *)(work + 0); /* [t: 32, j: 96] */
    float *const key_sin = (float *)(void *)(work + 12288); /* [t: 32, j: 96] */
    float *const key = (float *)(void *)(work + 24576); /* [d: 64, j: 96] */
    float *const query_cos = (float *)(void *)(work + 0); /* [t: 32, i: OF(32, 16, 16)] */
    float *const query_sin = (float *)(void *)(work + OF(4096, 2048, 2048)); /* [t: 32, i: OF(32, 16, 16)] */
    float *const key_2 = (float *)(void *)(work + 49152); /* [d: 64, j: 96] */
    float *const all_query = (float *)(void *)(work + 73728); /* [d: 64, i: OF(32, 16, 16), OF(8, 8, 4) times] */
    float *const score = (float *)(void *)(work + 0); /* [j: 96, i: OF(32, 16, 16)] */
    float *const all_query_2 = (float *)(void *)(work + (4096 * LANES + 73728)); /* [d: 64, i: OF(32, 16, 16), OF(8, 8,
        4) times] */
    float *const score_2 = (float *)(void *)(work + OF(12288, 6144, 6144)); /* [j: 96, i: OF(32, 16, 16)] */
    float *const all_row_max = (float *)(void *)(work + (8192 * LANES + 73728)); /* [i: OF(32, 16, 16), OF(8, 8,
        4) times] */
    float *const old_max = (float *)(void *)(work + OF(205824, 12288, 12288)); /* [i: OF(32, 16, 16)] */
    float *const all_row_sum = (float *)(void *)(work + OF(205952, 139776, 106752)); /* [i: OF(32, 16, 16), OF(8, 8,
        4) times] */
    float *const all_row_sum_compensation = (float *)(void *)(work + OF(206976, 140288, 107008)); /* [i: OF(32, 16, 16),
        OF(8, 8, 4) times] */
    float *const all_sum = (float *)(void *)(work + OF(208000, 140800, 107264)); /* [e: 128, i: OF(32, 16, 16), OF(8, 8,
        4) times] */
    float *const all_sum_compensation = (float *)(void *)(work + OF(339072, 206336, 140032)); /* [e: 128, i: OF(32, 16,
        16), OF(8, 8, 4) times] */
    float *const all_row_max_2 = (float *)(void *)(work + OF(470144, 271872, 172800)); /* [i: OF(32, 16, 16), OF(8, 8,
        4) times] */
    float *const old_max_2 = (float *)(void *)(work + OF(12288, 6144, 6144)); /* [i: OF(32, 16, 16)] */
    float *const all_row_sum_2 = (float *)(void *)(work + OF(471168, 272384, 173056)); /* [i: OF(32, 16, 16), OF(8, 8,
        4) times] */
    float *const all_row_sum_2_compensation = (float *)(void *)(work + OF(472192, 272896, 173312)); /* [i: OF(32, 16,
        16), OF(8, 8, 4) times] */
    float *const all_sum_2 = (float *)(void *)(work + OF(473216, 273408, 173568)); /* [e: 128, i: OF(32, 16, 16), OF(8,
        8, 4) times] */
    float *const all_sum_2_compensation = (float *)(void *)(work + OF(604288, 338944, 206336)); /* [e: 128, i: OF(32,
        16, 16), OF(8, 8, 4) times] */
    float *const result = (float *)(void *)(work + 0); /* [e: 128, i: OF(32, 16, 16)] */
    float *const query_scale = (float *)(void *)(work + OF(16384, 8192, 8192)); /* [i: OF(32, 16, 16)] */
    float *const query_scale_2 = (float *)(void *)(work + OF(16512, 8256, 8256)); /* [i: OF(32, 16, 16)] */
    float *const out = (float *)call->array[ARRAY_out].at + b * call->array[ARRAY_out].strides.batch + (g * members + m)
        * call->array[ARRAY_out].strides.head;
    const int64_t out_row = call->array[ARRAY_out].strides.row;
    float *const saved_0 = call->array[ARRAY_saved_0].at ? (float *)call->array[ARRAY_saved_0].at + (b * call->p.heads +
        (g * members + m)) * call->p.n_q : NULL;
    float *const saved_1 = call->array[ARRAY_saved_1].at ? (float *)call->array[ARRAY_saved_1].at + (b * call->p.heads +
        (g * members + m)) * call->p.n_q : NULL;
    float *const q2_tile = (float *)(void *)(work + OF(8192, 4096, 4096)); /* [d: 64, i: OF(32, 16, 16)] */
    float *const q_tile = (float *)(void *)(work + OF(16384, 8192, 8192)); /* [d: 64, i: OF(32, 16, 16)] */
    float *const k_tile = (float *)(void *)(work + OF(735360, 404480, 239104)); /* [d: 64, j: 96] */
    float *const k2_tile = (float *)(void *)(work + OF(759936, 429056, 263680)); /* [d: 64, j: 96] */
    for (int64_t i_next = i0, i_block = i0, i_end = i1; i_next < i_end; i_next += OF(32, 16, 16)) {
        const int64_t i0 = i_next, i1 = min(i0 + OF(32, 16, 16), i_end);
        float *const query = all_query + (i0 - i_block) / OF(32, 16, 16) * OF(2048, 1024, 1024);
        float *const query_2 = all_query_2 + (i0 - i_block) / OF(32, 16, 16) * OF(2048, 1024, 1024);
        float *const row_max = all_row_max + (i0 - i_block) / OF(32, 16, 16) * OF(32, 16, 16);
        float *const row_sum = all_row_sum + (i0 - i_block) / OF(32, 16, 16) * OF(32, 16, 16);
        float *const row_sum_compensation = all_row_sum_compensation + (i0 - i_block) / OF(32, 16, 16) * OF(32, 16, 16);
        float *const sum = all_sum + (i0 - i_block) / OF(32, 16, 16) * OF(4096, 2048, 2048);
        float *const sum_compensation = all_sum_compensation + (i0 - i_block) / OF(32, 16, 16) * OF(4096, 2048, 2048);
        float *const row_max_2 = all_row_max_2 + (i0 - i_block) / OF(32, 16, 16) * OF(32, 16, 16);
        float *const row_sum_2 = all_row_sum_2 + (i0 - i_block) / OF(32, 16, 16) * OF(32, 16, 16);
        float *const row_sum_2_compensation = all_row_sum_2_compensation + (i0 - i_block) / OF(32, 16, 16) * OF(32, 16,
            16);
        float *const sum_2 = all_sum_2 + (i0 - i_block) / OF(32, 16, 16) * OF(4096, 2048, 2048);
        float *const sum_2_compensation = all_sum_2_compensation + (i0 - i_block) / OF(32, 16, 16) * OF(4096, 2048,
            2048);
        if (q2_array_stride_3 == 1) {
            /* q2_tile = q2_array, with zeros beyond the last row */
            T(transpose_padded)(q2_array + i0 * q2_array_row, q2_array_row, i1 - i0, 64, q2_tile, OF(32, 16, 16),
                LANES);
        } else {
            /* q2_tile = q2_array, with zeros beyond the last row */
            for (int64_t i = 0; i < round_up(i1 - i0, LANES); i++)
                for (int64_t d = 0; d < 64; d++)
                    q2_tile[d * OF(32, 16, 16) + i] = i < i1 - i0 ? q2_array[(i0 + i) * q2_array_row + d *
                        q2_array_stride_3] : 0;
        }
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
        /* query = ((q2_tile * query_cos) + ((q2_tile * query_sin) * select((d % 2) == 0, -1.0f, 1.0f))) * 0.18033688f;
           query_2 = ((q_tile  ... */
        for (int64_t d = 0; d < 64; d++) {
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                const T(vec) query_cos_3 = T(load)(query_cos + (d / 2) * OF(32, 16, 16) + i);
                const T(vec) query_sin_4 = T(load)(query_sin + (d / 2) * OF(32, 16, 16) + i);
                const double t_5 = ((d % 2) == 0) ? (-1.0) : 1.0;
                T(store)(query + d * OF(32, 16, 16) + i, ((T(load)(q2_tile + d * OF(32, 16,
                    16) + i) * query_cos_3) + ((T(load)(q2_tile + (((d % 2) == 0) ? (d + 1) : (d - 1)) * OF(32, 16,
                    16) + i) * query_sin_4) * (float)t_5)) * 0.18033688f);
                T(store)(query_2 + d * OF(32, 16, 16) + i, ((T(load)(q_tile + d * OF(32, 16,
                    16) + i) * query_cos_3) + ((T(load)(q_tile + (((d % 2) == 0) ? (d + 1) : (d - 1)) * OF(32, 16,
                    16) + i) * query_sin_4) * (float)t_5)) * 0.18033688f);
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
        }
        /* sum = 0.0f; sum_compensation = 0.0f; sum_2 = 0.0f; sum_2_compensation = 0.0f */
        for (int64_t e = 0; e < 128; e++) {
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                T(store)(sum + e * OF(32, 16, 16) + i, T(splat)(0.0f));
                T(store)(sum_compensation + e * OF(32, 16, 16) + i, T(splat)(0.0f));
                T(store)(sum_2 + e * OF(32, 16, 16) + i, T(splat)(0.0f));
                T(store)(sum_2_compensation + e * OF(32, 16, 16) + i, T(splat)(0.0f));
            }
        }
    }
    for (int64_t j0 = 0, j_end = min(n_k, i1 + query_start); j0 < j_end; j0 += 96) {
        const int64_t j1 = min(j0 + 96, j_end);
        /* k_tile = k, with zeros beyond the last row */
        T(transpose_padded)(k + j0 * k_row, k_row, j1 - j0, 64, k_tile, 96, 64);
        if (k2_array_stride_3 == 1) {
            /* k2_tile = k2_array, with zeros beyond the last row */
            T(transpose_padded)(k2_array + j0 * k2_array_row, k2_array_row, j1 - j0, 64, k2_tile, 96, 64);
        } else {
            /* k2_tile = k2_array, with zeros beyond the last row */
            for (int64_t j = 0; j < round_up(j1 - j0, LANES); j++)
                for (int64_t d = 0; d < 64; d++)
                    k2_tile[d * 96 + j] = j < j1 - j0 ? k2_array[(j0 + j) * k2_array_row + d * k2_array_stride_3] : 0;
        }
        /* key_cos = cos(j * rope_theta); key_sin = sin(j * rope_theta) */
        for (int64_t j = 0; j < j1 - j0; j += LANES) {
            const T(ints) t_6 = j0 + j + T(lane);
            for (int64_t t = 0; t < 32; t++) {
                const T(wide) angle7 = __builtin_convertvector(t_6, T(wide)) * rope_theta[t];
                T(store)(key_cos + t * 96 + j, T(cos)(&angle7));
                const T(wide) angle8 = __builtin_convertvector(t_6, T(wide)) * rope_theta[t];
                T(store)(key_sin + t * 96 + j, T(sin)(&angle8));
            }
        }
        /* key = (k_tile * key_cos) + ((k_tile * key_sin) * select((d % 2) == 0, -1.0f, 1.0f));
           key_2 = (k2_tile * key_cos) + ((k2_tile * k ... */
        for (int64_t d = 0; d < 64; d++) {
            for (int64_t j = 0; j < j1 - j0; j += LANES) {
                const T(vec) key_cos_9 = T(load)(key_cos + (d / 2) * 96 + j);
                const T(vec) key_sin_10 = T(load)(key_sin + (d / 2) * 96 + j);
                const double t_11 = ((d % 2) == 0) ? (-1.0) : 1.0;
                T(store)(key + d * 96 + j, (T(load)(k_tile + d * 96 + j) * key_cos_9) + ((T(load)(k_tile + (((d % 2) ==
                    0) ? (d + 1) : (d - 1)) * 96 + j) * key_sin_10) * (float)t_11));
                T(store)(key_2 + d * 96 + j, (T(load)(k2_tile + d * 96 + j) * key_cos_9) + ((T(load)(k2_tile + (((d % 2)
                    == 0) ? (d + 1) : (d - 1)) * 96 + j) * key_sin_10) * (float)t_11));
            }
        }
        for (int64_t i_next = i0, i_block = i0, i_end = i1; i_next < i_end; i_next += OF(32, 16, 16)) {
            const int64_t i0 = i_next, i1 = min(i0 + OF(32, 16, 16), i_end);
            float *const query = all_query + (i0 - i_block) / OF(32, 16, 16) * OF(2048, 1024, 1024);
            float *const query_2 = all_query_2 + (i0 - i_block) / OF(32, 16, 16) * OF(2048, 1024, 1024);
            float *const row_max = all_row_max + (i0 - i_block) / OF(32, 16, 16) * OF(32, 16, 16);
            float *const row_sum = all_row_sum + (i0 - i_block) / OF(32, 16, 16) * OF(32, 16, 16);
            float *const row_sum_compensation = all_row_sum_compensation + (i0 - i_block) / OF(32, 16, 16) * OF(32, 16,
                16);
            float *const sum = all_sum + (i0 - i_block) / OF(32, 16, 16) * OF(4096, 2048, 2048);
            float *const sum_compensation = all_sum_compensation + (i0 - i_block) / OF(32, 16, 16) * OF(4096, 2048,
                2048);
            float *const row_max_2 = all_row_max_2 + (i0 - i_block) / OF(32, 16, 16) * OF(32, 16, 16);
            float *const row_sum_2 = all_row_sum_2 + (i0 - i_block) / OF(32, 16, 16) * OF(32, 16, 16);
            float *const row_sum_2_compensation = all_row_sum_2_compensation + (i0 - i_block) / OF(32, 16, 16) * OF(32,
                16, 16);
            float *const sum_2 = all_sum_2 + (i0 - i_block) / OF(32, 16, 16) * OF(4096, 2048, 2048);
            float *const sum_2_compensation = all_sum_2_compensation + (i0 - i_block) / OF(32, 16, 16) * OF(4096, 2048,
                2048);
            if (!(j0 < (i1 + query_start))) continue; /* no query sees a key of the tile */
            /* score[j][i] = sum over d of key_2 * query */
            T(dot0)(round_up(i1 - i0, LANES), j1 - j0, key_2, query, score);
            /* score_2[j][i] = sum over d of key * query_2 */
            T(dot0)(round_up(i1 - i0, LANES), j1 - j0, key, query_2, score_2);
            /* old_max = row_max */
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                T(store)(old_max + i, T(load)(row_max + i));
            }
            if ((i0 + query_start + 1) < j1) { /* the tile is partly outside the mask */
                /* score_2 = select(j <= (i + query_start), score_2, -INFINITY) */
                for (int64_t i = 0; i < i1 - i0; i += LANES) {
                    const T(ints) t_12 = (i0 + i + T(lane)) + query_start;
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        T(store)(score_2 + j * OF(32, 16, 16) + i, T(pick)(__builtin_convertvector((j0 + j) <= t_12,
                            T(mask)), T(load)(score_2 + j * OF(32, 16, 16) + i), T(splat)(-INFINITY)));
                    }
                }
            }
            /* row_max max= score_2 */
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
                                T(load)(score_2 + j * OF(32, 16, 16) + i));
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
                const T(vec) old_max_13 = T(load)(old_max + i);
                const T(vec) old_max_new14 = T(exp2)(old_max_13 - T(load)(row_max + i));
                T(store)(old_max + i, old_max_new14);
                T(store)(row_sum + i, T(load)(row_sum + i) * old_max_new14);
                T(store)(row_sum_compensation + i, T(load)(row_sum_compensation + i) * old_max_new14);
            }
            /* score_2 = exp2(score_2 - row_max); row_sum += score_2 */
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                const T(vec) row_max_16 = T(load)(row_max + i);
                T(vec) row_sum_in = (T(vec)){0};
                for (int64_t j = 0; j < j1 - j0; j++) {
                    const T(vec) score_2_15 = T(load)(score_2 + j * OF(32, 16, 16) + i);
                    const T(vec) score_2_new17 = T(exp2)(score_2_15 - row_max_16);
                    T(store)(score_2 + j * OF(32, 16, 16) + i, score_2_new17);
                    row_sum_in += score_2_new17;
                }
                T(add)(row_sum + i, row_sum_compensation + i, row_sum_in, T(splat)(1));
            }
            /* sum[e][i] = sum * old_max + sum over j of v * score_2 */
            if (__builtin_expect(((i0 + query_start + 1) < j1) && !T(finite)(v + j0 * v_row, v_row, j1 - j0, 128),
                0)) { /* infinity and NaN affect only queries that see them */
                T(dot1)(round_up(i1 - i0, LANES), j1 - j0, v + j0 * v_row, v_row, score_2, sum, old_max,
                    sum_compensation);
                for (int64_t j = 0; j < j1 - j0; j++) {
                    T(mask) in_region[OF(2, 2, 4)] = {0};
                    if (T(finite)(v + j0 * v_row + j * v_row, 1, 128, 1)) continue;
                    for (int64_t i = 0; i < i1 - i0; i += LANES) {
                        in_region[i / LANES] = __builtin_convertvector((j0 + j) <= ((i0 + i + T(lane)) + query_start),
                            T(mask));
                    }
                    T(add_seen)(128, sum, OF(32, 16, 16), v + j0 * v_row + j * v_row, 1, score_2 + j * OF(32, 16, 16),
                        in_region, i1 - i0);
                }
            } else
                T(dot2)(round_up(i1 - i0, LANES), j1 - j0, v + j0 * v_row, v_row, score_2, sum, old_max,
                    sum_compensation);
            /* old_max_2 = row_max_2 */
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                T(store)(old_max_2 + i, T(load)(row_max_2 + i));
            }
            if ((i0 + query_start + 1) < j1) { /* the tile is partly outside the mask */
                /* score = select(j <= (i + query_start), score, -INFINITY) */
                for (int64_t i = 0; i < i1 - i0; i += LANES) {
                    const T(ints) t_18 = (i0 + i + T(lane)) + query_start;
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        T(store)(score + j * OF(32, 16, 16) + i, T(pick)(__builtin_convertvector((j0 + j) <= t_18,
                            T(mask)), T(load)(score + j * OF(32, 16, 16) + i), T(splat)(-INFINITY)));
                    }
                }
            }
            /* row_max_2 max= score */
            for (int64_t i_first = 0; i_first < i1 - i0; i_first += (2 * LANES)) {
                T(vec) row_max_2_in[2][2];
                UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += LANES) {
                    UNROLL for (int j_chain = 0; j_chain < 2; j_chain++) row_max_2_in[vector][j_chain] =
                        T(splat)(-INFINITY);
                }
                for (int64_t j_first = 0; j_first < j1 - j0; j_first += 2) {
                    UNROLL for (int j_chain = 0; j_chain < 2; j_chain++) {
                        const int64_t j = min(j_first + j_chain, j1 - j0 - 1);
                        UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += LANES) {
                            row_max_2_in[vector][j_chain] = T(max)(row_max_2_in[vector][j_chain],
                                T(load)(score + j * OF(32, 16, 16) + i));
                        }
                    }
                }
                UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += LANES) {
                    T(store)(row_max_2 + i, T(max)(T(load)(row_max_2 + i), T(max)(row_max_2_in[vector][0],
                        row_max_2_in[vector][1])));
                }
            }
            /* old_max_2 = exp2(old_max_2 - row_max_2); row_sum_2 = row_sum_2 * old_max_2;
               row_sum_2_compensation = row_sum_2_compensation * ol ... */
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                const T(vec) old_max_2_19 = T(load)(old_max_2 + i);
                const T(vec) old_max_2_new20 = T(exp2)(old_max_2_19 - T(load)(row_max_2 + i));
                T(store)(old_max_2 + i, old_max_2_new20);
                T(store)(row_sum_2 + i, T(load)(row_sum_2 + i) * old_max_2_new20);
                T(store)(row_sum_2_compensation + i, T(load)(row_sum_2_compensation + i) * old_max_2_new20);
            }
            /* score = exp2(score - row_max_2); row_sum_2 += score */
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                const T(vec) row_max_2_22 = T(load)(row_max_2 + i);
                T(vec) row_sum_2_in = (T(vec)){0};
                for (int64_t j = 0; j < j1 - j0; j++) {
                    const T(vec) score_21 = T(load)(score + j * OF(32, 16, 16) + i);
                    const T(vec) score_new23 = T(exp2)(score_21 - row_max_2_22);
                    T(store)(score + j * OF(32, 16, 16) + i, score_new23);
                    row_sum_2_in += score_new23;
                }
                T(add)(row_sum_2 + i, row_sum_2_compensation + i, row_sum_2_in, T(splat)(1));
            }
            /* sum_2[e][i] = sum_2 * old_max_2 + sum over j of v * score */
            if (__builtin_expect(((i0 + query_start + 1) < j1) && !T(finite)(v + j0 * v_row, v_row, j1 - j0, 128),
                0)) { /* infinity and NaN affect only queries that see them */
                T(dot1)(round_up(i1 - i0, LANES), j1 - j0, v + j0 * v_row, v_row, score, sum_2, old_max_2,
                    sum_2_compensation);
                for (int64_t j = 0; j < j1 - j0; j++) {
                    T(mask) in_region[OF(2, 2, 4)] = {0};
                    if (T(finite)(v + j0 * v_row + j * v_row, 1, 128, 1)) continue;
                    for (int64_t i = 0; i < i1 - i0; i += LANES) {
                        in_region[i / LANES] = __builtin_convertvector((j0 + j) <= ((i0 + i + T(lane)) + query_start),
                            T(mask));
                    }
                    T(add_seen)(128, sum_2, OF(32, 16, 16), v + j0 * v_row + j * v_row, 1, score + j * OF(32, 16, 16),
                        in_region, i1 - i0);
                }
            } else
                T(dot2)(round_up(i1 - i0, LANES), j1 - j0, v + j0 * v_row, v_row, score, sum_2, old_max_2,
                    sum_2_compensation);
        }
    }
    {
        for (int64_t i_next = i0, i_block = i0, i_end = i1; i_next < i_end; i_next += OF(32, 16, 16)) {
            const int64_t i0 = i_next, i1 = min(i0 + OF(32, 16, 16), i_end);
            float *const row_max = all_row_max + (i0 - i_block) / OF(32, 16, 16) * OF(32, 16, 16);
            float *const row_sum = all_row_sum + (i0 - i_block) / OF(32, 16, 16) * OF(32, 16, 16);
            float *const sum = all_sum + (i0 - i_block) / OF(32, 16, 16) * OF(4096, 2048, 2048);
            float *const row_max_2 = all_row_max_2 + (i0 - i_block) / OF(32, 16, 16) * OF(32, 16, 16);
            float *const row_sum_2 = all_row_sum_2 + (i0 - i_block) / OF(32, 16, 16) * OF(32, 16, 16);
            float *const sum_2 = all_sum_2 + (i0 - i_block) / OF(32, 16, 16) * OF(4096, 2048, 2048);
            /* result = select(row_sum == 0.0f, 0.0f, sum * (1.0f / row_sum)) - (lam * select(row_sum_2 == 0.0f, 0.0f,
               sum_2 * (1.0f / row_sum_2))) */
            const float lam_array_27 = lam_array[0];
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                const T(vec) row_sum_24 = T(load)(row_sum + i);
                const T(mask) t_25 = row_sum_24 == 0.0f;
                const T(vec) t_26 = 1.0f / row_sum_24;
                const T(vec) row_sum_2_28 = T(load)(row_sum_2 + i);
                const T(mask) t_29 = row_sum_2_28 == 0.0f;
                const T(vec) t_30 = 1.0f / row_sum_2_28;
                for (int64_t e = 0; e < 128; e++) {
                    T(store)(result + e * OF(32, 16, 16) + i, T(pick)(t_25, T(splat)(0.0f), T(load)(sum + e * OF(32, 16,
                        16) + i) * t_26) - (lam_array_27 * T(pick)(t_29, T(splat)(0.0f), T(load)(sum_2 + e * OF(32, 16,
                        16) + i) * t_30)));
                }
            }
            if (saved_0 || saved_1) {
                /* query_scale = select(row_sum_2 == 0.0f, 0.0f, (log(row_sum_2) + (row_max_2 * 0.6931472f)) *
                   1.442695f); query_scale_2 = select(r ... */
                for (int64_t i = 0; i < i1 - i0; i += LANES) {
                    const T(vec) row_sum_2_31 = T(load)(row_sum_2 + i);
                    T(store)(query_scale + i, T(pick)(row_sum_2_31 == 0.0f, T(splat)(0.0f),
                        (T(log)(row_sum_2_31) + (T(load)(row_max_2 + i) * 0.6931472f)) * 1.442695f));
                    const T(vec) row_sum_32 = T(load)(row_sum + i);
                    T(store)(query_scale_2 + i, T(pick)(row_sum_32 == 0.0f, T(splat)(0.0f),
                        (T(log)(row_sum_32) + (T(load)(row_max + i) * 0.6931472f)) * 1.442695f));
                }
            }
            /* out = result, transposed back */
            T(transpose_out)(result, OF(32, 16, 16), 128, i1 - i0, out + i0 * out_row, out_row, LANES);
            if (saved_0) {
                /* saved_0 = query_scale */
                for (int64_t i = 0; i < i1 - i0; i++)
                    saved_0[(i0 + i)] = query_scale[i];
            }
            if (saved_1) {
                /* saved_1 = query_scale_2 */
                for (int64_t i = 0; i < i1 - i0; i++)
                    saved_1[(i0 + i)] = query_scale_2[i];
            }
        }
    }
}

/* Initialises the states: they contain no keys yet. */
TARGET APART void T(differential_few_begin)(const struct call *call, int64_t task, const struct share *share,
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
    const float *const q2_array = (const float *)call->array[ARRAY_q2_array].at + b *
        call->array[ARRAY_q2_array].strides.batch + g * members * call->array[ARRAY_q2_array].strides.head;
    const int64_t q2_array_row = call->array[ARRAY_q2_array].strides.row;
    const int64_t q2_array_stride_3 = call->array[ARRAY_q2_array].stride[3];
    const int64_t q2_array_head = call->array[ARRAY_q2_array].strides.head;
    float *const query_cos = (float *)(void *)(share->shared + 0); /* [t: 32, r: 64] */
    float *const query_sin = (float *)(void *)(share->shared + 8256); /* [t: 32, r: 64] */
    float *const query = (float *)(void *)(share->shared + 16512); /* [d: 64, r: 64] */
    float *const query_2 = (float *)(void *)(share->shared + 32960); /* [d: 64, r: 64] */
    float *const q2_tile = (float *)(void *)(share->work + 0); /* [d: 64, r: 64 of 80] */
    float *const q_tile = (float *)(void *)(share->work + 20480); /* [d: 64, r: 64 of 80] */
    if (q2_array_stride_3 == 1) {
        /* q2_tile = q2_array, with zeros beyond the last row */
        for (int64_t r = r0; r < r0 + round_up(r1 - r0, LANES); r++)
            for (int64_t d = 0; d < 64; d++)
                q2_tile[d * 80 + r] = r < r1 ? q2_array[r / n_q * q2_array_head + r % n_q * q2_array_row + d] : 0;
    } else {
        /* q2_tile = q2_array, with zeros beyond the last row */
        for (int64_t r = r0; r < r0 + round_up(r1 - r0, LANES); r++)
            for (int64_t d = 0; d < 64; d++)
                q2_tile[d * 80 + r] = r < r1 ? q2_array[r / n_q * q2_array_head + r % n_q * q2_array_row + d *
                    q2_array_stride_3] : 0;
    }
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
    /* query = ((q2_tile * query_cos) + ((q2_tile * query_sin) * select((d % 2) == 0, -1.0f, 1.0f))) * 0.18033688f;
       query_2 = ((q_tile  ... */
    for (int64_t r = r0; r < r1; r += LANES) {
        for (int64_t d = 0; d < 64; d++) {
            const T(vec) query_cos_3 = T(load)(query_cos + (d / 2) * 64 + r);
            const T(vec) query_sin_4 = T(load)(query_sin + (d / 2) * 64 + r);
            const double t_5 = ((d % 2) == 0) ? (-1.0) : 1.0;
            T(store)(query + d * 64 + r, ((T(load)(q2_tile + d * 80 + r) * query_cos_3) + ((T(load)(q2_tile + (((d % 2)
                == 0) ? (d + 1) : (d - 1)) * 80 + r) * query_sin_4) * (float)t_5)) * 0.18033688f);
            T(store)(query_2 + d * 64 + r, ((T(load)(q_tile + d * 80 + r) * query_cos_3) + ((T(load)(q_tile + (((d % 2)
                == 0) ? (d + 1) : (d - 1)) * 80 + r) * query_sin_4) * (float)t_5)) * 0.18033688f);
        }
    }
}

/* Initialises the states: they contain no keys yet. */
TARGET APART void T(differential_few_begin_2)(const struct call *call, int64_t task, const struct share *share,
    int64_t iteration)
{
    (void)task;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t r0 = iteration * 16, r1 = min(r0 + 16, rows);
    float *const carried_max = (float *)(void *)(share->shared + 49408); /* [r: 64] */
    float *const carried_sum = (float *)(void *)(share->shared + 49664); /* [r: 64] */
    float *const carried_sum_compensation = (float *)(void *)(share->shared + 124288); /* [r: 64] */
    float *const carried = (float *)(void *)(share->shared + 49920); /* [r: 64, e: 128 of 144] */
    float *const carried_compensation = (float *)(void *)(share->shared + 124544); /* [r: 64, e: 128 of 144] */
    float *const carried_max_2 = (float *)(void *)(share->shared + 86848); /* [r: 64] */
    float *const carried_sum_2 = (float *)(void *)(share->shared + 87104); /* [r: 64] */
    float *const carried_sum_2_compensation = (float *)(void *)(share->shared + 161472); /* [r: 64] */
    float *const carried_2 = (float *)(void *)(share->shared + 87360); /* [r: 64, e: 128 of 144] */
    float *const carried_2_compensation = (float *)(void *)(share->shared + 161728); /* [r: 64, e: 128 of 144] */
    /* carried_max = -FLT_MAX; carried_sum = 0.0f; carried_sum_compensation = 0.0f; carried_max_2 = -FLT_MAX;
       carried_sum_2 = 0.0f; car ... */
    for (int64_t r = r0; r < r1; r += LANES) {
        T(store)(carried_max + r, T(splat)(-FLT_MAX));
        T(store)(carried_sum + r, T(splat)(0.0f));
        T(store)(carried_sum_compensation + r, T(splat)(0.0f));
        T(store)(carried_max_2 + r, T(splat)(-FLT_MAX));
        T(store)(carried_sum_2 + r, T(splat)(0.0f));
        T(store)(carried_sum_2_compensation + r, T(splat)(0.0f));
    }
    /* carried = 0.0f; carried_compensation = 0.0f; carried_2 = 0.0f; carried_2_compensation = 0.0f */
    for (int64_t r = r0; r < r1; r++) {
        for (int64_t e_first = 0; e_first < 128; e_first += OF(64, 16, 8)) {
            UNROLL for (int64_t vector = 0, e = e_first; vector < OF(4, 2, 2); vector++, e += LANES) {
                T(store)(carried + r * 144 + e, T(splat)(0.0f));
                T(store)(carried_compensation + r * 144 + e, T(splat)(0.0f));
                T(store)(carried_2 + r * 144 + e, T(splat)(0.0f));
                T(store)(carried_2_compensation + r * 144 + e, T(splat)(0.0f));
            }
        }
    }
}

/* Sums the keys of a chunk, from zero, into its slot. */
TARGET APART void T(differential_few_keys)(const struct call *call, int64_t task, const struct share *share,
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
    const float *const k2_array = (const float *)call->array[ARRAY_k2_array].at + b *
        call->array[ARRAY_k2_array].strides.batch + g * call->array[ARRAY_k2_array].strides.head;
    const int64_t k2_array_row = call->array[ARRAY_k2_array].strides.row;
    const int64_t k2_array_stride_3 = call->array[ARRAY_k2_array].stride[3];
    float *const key_cos = (float *)(void *)(share->work + 0); /* [t: 32, j: 128 of 144] */
    float *const key_sin = (float *)(void *)(share->work + 18432); /* [t: 32, j: 128 of 144] */
    float *const key = (float *)(void *)(share->work + 36864); /* [d: 64, j: 128 of 144] */
    float *const key_2 = (float *)(void *)(share->work + 73728); /* [d: 64, j: 128 of 144] */
    float *const query = (float *)(void *)(share->shared + 16512); /* [d: 64, r: 64] */
    float *const score = (float *)(void *)(share->work + 0); /* [r: 64, j: 128 of 144] */
    float *const query_2 = (float *)(void *)(share->shared + 32960); /* [d: 64, r: 64] */
    float *const score_2 = (float *)(void *)(share->work + 73728); /* [r: 64, j: 128 of 144] */
    float *const state_max = (float *)(void *)(share->slots + 0); /* [chunk, r: 64] */
    float *const old_max = (float *)(void *)(share->work + 36864); /* [r: 64] */
    float *const state_sum = (float *)(void *)(share->slots + 256); /* [chunk, r: 64] */
    float *const state = (float *)(void *)(share->slots + 512); /* [chunk, r: 64, e: 128 of 144] */
    float *const state_max_2 = (float *)(void *)(share->slots + 37440); /* [chunk, r: 64] */
    float *const old_max_2 = (float *)(void *)(share->work + 36864); /* [r: 64] */
    float *const state_sum_2 = (float *)(void *)(share->slots + 37696); /* [chunk, r: 64] */
    float *const state_2 = (float *)(void *)(share->slots + 37952); /* [chunk, r: 64, e: 128 of 144] */
    float *const k_tile = (float *)(void *)(share->work + 110592); /* [d: 64, j: 128 of 144] */
    float *const k2_tile = (float *)(void *)(share->work + 147456); /* [d: 64, j: 128 of 144] */
    /* state_max = -FLT_MAX; state_sum = 0.0f; state_max_2 = -FLT_MAX; state_sum_2 = 0.0f */
    for (int64_t r = 0; r < rows; r += LANES) {
        T(store)(state_max + (chunk - chunk0) * 18720 + r, T(splat)(-FLT_MAX));
        T(store)(state_sum + (chunk - chunk0) * 18720 + r, T(splat)(0.0f));
        T(store)(state_max_2 + (chunk - chunk0) * 18720 + r, T(splat)(-FLT_MAX));
        T(store)(state_sum_2 + (chunk - chunk0) * 18720 + r, T(splat)(0.0f));
    }
    /* state = 0.0f; state_2 = 0.0f */
    for (int64_t r = 0; r < rows; r++) {
        for (int64_t e_first = 0; e_first < 128; e_first += OF(64, 16, 8)) {
            UNROLL for (int64_t vector = 0, e = e_first; vector < OF(4, 2, 2); vector++, e += LANES) {
                T(store)(state + (chunk - chunk0) * 18720 + r * 144 + e, T(splat)(0.0f));
                T(store)(state_2 + (chunk - chunk0) * 18720 + r * 144 + e, T(splat)(0.0f));
            }
        }
    }
    for (int64_t j0 = chunk * 1024, j_end = min(min(n_k, (chunk + 1) * 1024), n_q + query_start); j0 < j_end;
        j0 += 128) {
        const int64_t j1 = min(j0 + 128, j_end);
        /* k_tile = k, with zeros beyond the last row */
        T(transpose_padded)(k + j0 * k_row, k_row, j1 - j0, 64, k_tile, 144, 64);
        if (k2_array_stride_3 == 1) {
            /* k2_tile = k2_array, with zeros beyond the last row */
            T(transpose_padded)(k2_array + j0 * k2_array_row, k2_array_row, j1 - j0, 64, k2_tile, 144, 64);
        } else {
            /* k2_tile = k2_array, with zeros beyond the last row */
            for (int64_t j = 0; j < round_up(j1 - j0, LANES); j++)
                for (int64_t d = 0; d < 64; d++)
                    k2_tile[d * 144 + j] = j < j1 - j0 ? k2_array[(j0 + j) * k2_array_row + d * k2_array_stride_3] : 0;
        }
        /* key_cos = cos(j * rope_theta); key_sin = sin(j * rope_theta) */
        for (int64_t j = 0; j < j1 - j0; j += LANES) {
            const T(ints) t_6 = j0 + j + T(lane);
            for (int64_t t = 0; t < 32; t++) {
                const T(wide) angle7 = __builtin_convertvector(t_6, T(wide)) * rope_theta[t];
                T(store)(key_cos + t * 144 + j, T(cos)(&angle7));
                const T(wide) angle8 = __builtin_convertvector(t_6, T(wide)) * rope_theta[t];
                T(store)(key_sin + t * 144 + j, T(sin)(&angle8));
            }
        }
        /* key = (k_tile * key_cos) + ((k_tile * key_sin) * select((d % 2) == 0, -1.0f, 1.0f));
           key_2 = (k2_tile * key_cos) + ((k2_tile * k ... */
        for (int64_t d = 0; d < 64; d++) {
            for (int64_t j = 0; j < j1 - j0; j += LANES) {
                const T(vec) key_cos_9 = T(load)(key_cos + (d / 2) * 144 + j);
                const T(vec) key_sin_10 = T(load)(key_sin + (d / 2) * 144 + j);
                const double t_11 = ((d % 2) == 0) ? (-1.0) : 1.0;
                T(store)(key + d * 144 + j, (T(load)(k_tile + d * 144 + j) * key_cos_9) + ((T(load)(k_tile + (((d % 2)
                    == 0) ? (d + 1) : (d - 1)) * 144 + j) * key_sin_10) * (float)t_11));
                T(store)(key_2 + d * 144 + j, (T(load)(k2_tile + d * 144 + j) * key_cos_9) + ((T(load)(k2_tile + (((d %
                    2) == 0) ? (d + 1) : (d - 1)) * 144 + j) * key_sin_10) * (float)t_11));
            }
        }
        /* score[r][j] = sum over d of query * key_2 */
        T(dot3)(round_up(j1 - j0, LANES), rows, query, key_2, score);
        /* score_2[r][j] = sum over d of query_2 * key */
        T(dot3)(round_up(j1 - j0, LANES), rows, query_2, key, score_2);
        /* old_max = state_max */
        for (int64_t r = 0; r < rows; r += LANES) {
            T(store)(old_max + r, T(load)(state_max + (chunk - chunk0) * 18720 + r));
        }
        if ((query_start + 1) < j1) { /* the tile is partly outside the mask */
            /* score_2 = select(j <= ((r % n_q) + query_start), score_2, -INFINITY) */
            for (int64_t j = 0; j < j1 - j0; j += LANES) {
                const T(ints) t_12 = j0 + j + T(lane);
                for (int64_t r = 0; r < rows; r++) {
                    T(store)(score_2 + r * 144 + j, T(pick)(__builtin_convertvector(t_12 <= ((r % n_q) + query_start),
                        T(mask)), T(load)(score_2 + r * 144 + j), T(splat)(-INFINITY)));
                }
            }
        }
        /* state_max max= score_2 */
        for (int64_t r = 0; r < rows; r++) {
            T(vec) lanes_max = T(splat)(-INFINITY);
            for (int64_t j = 0; j < j1 - j0; j += LANES) {
                const T(vec) term = T(load)(score_2 + r * 144 + j);
                lanes_max = T(max)(lanes_max, j + LANES <= j1 - j0 ? term : T(pick)(__builtin_convertvector(j + T(lane)
                    < j1 - j0, T(mask)), term, T(splat)(-INFINITY)));
            }
            const float largest = T(lane_max)(lanes_max);
            if (largest > state_max[(chunk - chunk0) * 18720 + r]) state_max[(chunk - chunk0) * 18720 + r] = largest;
        }
        /* old_max = exp2(old_max - state_max); state_sum = state_sum * old_max */
        for (int64_t r = 0; r < rows; r += LANES) {
            const T(vec) old_max_13 = T(load)(old_max + r);
            const T(vec) old_max_new14 = T(exp2)(old_max_13 - T(load)(state_max + (chunk - chunk0) * 18720 + r));
            T(store)(old_max + r, old_max_new14);
            T(store)(state_sum + (chunk - chunk0) * 18720 + r, T(load)(state_sum + (chunk - chunk0) * 18720 + r) *
                old_max_new14);
        }
        /* score_2 = exp2(score_2 - state_max) */
        for (int64_t j = 0; j < j1 - j0; j += LANES) {
            for (int64_t r = 0; r < rows; r++) {
                T(store)(score_2 + r * 144 + j, T(exp2)(T(load)(score_2 + r * 144 + j) - (state_max[(chunk - chunk0) *
                    18720 + r])));
            }
        }
        /* state_sum += score_2 */
        for (int64_t r = 0; r < rows; r++) {
            T(vec) lane_sums = T(splat)(0);
            for (int64_t j = 0; j < j1 - j0; j += LANES) {
                const T(vec) term = T(load)(score_2 + r * 144 + j);
                lane_sums += j + LANES <= j1 - j0 ? term : T(pick)(__builtin_convertvector(j + T(lane) < j1 - j0,
                    T(mask)), term, T(splat)(0));
            }
            const float total = T(lane_sum)(lane_sums);
            state_sum[(chunk - chunk0) * 18720 + r] += total;
        }
        /* state = state * old_max */
        for (int64_t r = 0; r < rows; r++) {
            for (int64_t e_first = 0; e_first < 128; e_first += OF(64, 16, 8)) {
                UNROLL for (int64_t vector = 0, e = e_first; vector < OF(4, 2, 2); vector++, e += LANES) {
                    T(store)(state + (chunk - chunk0) * 18720 + r * 144 + e,
                        T(load)(state + (chunk - chunk0) * 18720 + r * 144 + e) * old_max[r]);
                }
            }
        }
        /* state[r][e] += sum over j of score_2 * v */
        if (__builtin_expect(((query_start + 1) < j1) && !T(finite)(v + j0 * v_row, v_row, j1 - j0, 128),
            0)) { /* infinity and NaN affect only queries that see them */
            T(dot4)(rows, j1 - j0, score_2, v + j0 * v_row, v_row, state + (chunk - chunk0) * 18720);
            for (int64_t r = 0; r < rows; r++) {
                T(mask) in_region[OF(8, 16, 32)] = {0};
                const int64_t t_15 = (r % n_q) + query_start;
                for (int64_t j = 0; j < j1 - j0; j += LANES) {
                    in_region[j / LANES] = __builtin_convertvector((j0 + j + T(lane)) <= t_15, T(mask));
                }
                T(add_seen_lanes)(128, state + (chunk - chunk0) * 18720 + r * 144, score_2 + r * 144, v + j0 * v_row,
                    v_row, j1 - j0, in_region);
            }
        } else
#if OF(1, 0, 0)
            T(dot5)(rows, j1 - j0, score_2, v + j0 * v_row, v_row, state + (chunk - chunk0) * 18720,
                attn_is_intel() ? 16 : 0);
#else
            T(dot5)(rows, j1 - j0, score_2, v + j0 * v_row, v_row, state + (chunk - chunk0) * 18720);
#endif
        /* old_max_2 = state_max_2 */
        for (int64_t r = 0; r < rows; r += LANES) {
            T(store)(old_max_2 + r, T(load)(state_max_2 + (chunk - chunk0) * 18720 + r));
        }
        if ((query_start + 1) < j1) { /* the tile is partly outside the mask */
            /* score = select(j <= ((r % n_q) + query_start), score, -INFINITY) */
            for (int64_t j = 0; j < j1 - j0; j += LANES) {
                const T(ints) t_16 = j0 + j + T(lane);
                for (int64_t r = 0; r < rows; r++) {
                    T(store)(score + r * 144 + j, T(pick)(__builtin_convertvector(t_16 <= ((r % n_q) + query_start),
                        T(mask)), T(load)(score + r * 144 + j), T(splat)(-INFINITY)));
                }
            }
        }
        /* state_max_2 max= score */
        for (int64_t r = 0; r < rows; r++) {
            T(vec) lanes_max = T(splat)(-INFINITY);
            for (int64_t j = 0; j < j1 - j0; j += LANES) {
                const T(vec) term = T(load)(score + r * 144 + j);
                lanes_max = T(max)(lanes_max, j + LANES <= j1 - j0 ? term : T(pick)(__builtin_convertvector(j + T(lane)
                    < j1 - j0, T(mask)), term, T(splat)(-INFINITY)));
            }
            const float largest = T(lane_max)(lanes_max);
            if (largest > state_max_2[(chunk - chunk0) * 18720 + r]) state_max_2[(chunk - chunk0) * 18720 + r] =
                largest;
        }
        /* old_max_2 = exp2(old_max_2 - state_max_2); state_sum_2 = state_sum_2 * old_max_2 */
        for (int64_t r = 0; r < rows; r += LANES) {
            const T(vec) old_max_2_17 = T(load)(old_max_2 + r);
            const T(vec) old_max_2_new18 = T(exp2)(old_max_2_17 - T(load)(state_max_2 + (chunk - chunk0) * 18720 + r));
            T(store)(old_max_2 + r, old_max_2_new18);
            T(store)(state_sum_2 + (chunk - chunk0) * 18720 + r, T(load)(state_sum_2 + (chunk - chunk0) * 18720 + r) *
                old_max_2_new18);
        }
        /* score = exp2(score - state_max_2) */
        for (int64_t j = 0; j < j1 - j0; j += LANES) {
            for (int64_t r = 0; r < rows; r++) {
                T(store)(score + r * 144 + j, T(exp2)(T(load)(score + r * 144 + j) - (state_max_2[(chunk - chunk0) *
                    18720 + r])));
            }
        }
        /* state_sum_2 += score */
        for (int64_t r = 0; r < rows; r++) {
            T(vec) lane_sums = T(splat)(0);
            for (int64_t j = 0; j < j1 - j0; j += LANES) {
                const T(vec) term = T(load)(score + r * 144 + j);
                lane_sums += j + LANES <= j1 - j0 ? term : T(pick)(__builtin_convertvector(j + T(lane) < j1 - j0,
                    T(mask)), term, T(splat)(0));
            }
            const float total = T(lane_sum)(lane_sums);
            state_sum_2[(chunk - chunk0) * 18720 + r] += total;
        }
        /* state_2 = state_2 * old_max_2 */
        for (int64_t r = 0; r < rows; r++) {
            for (int64_t e_first = 0; e_first < 128; e_first += OF(64, 16, 8)) {
                UNROLL for (int64_t vector = 0, e = e_first; vector < OF(4, 2, 2); vector++, e += LANES) {
                    T(store)(state_2 + (chunk - chunk0) * 18720 + r * 144 + e,
                        T(load)(state_2 + (chunk - chunk0) * 18720 + r * 144 + e) * old_max_2[r]);
                }
            }
        }
        /* state_2[r][e] += sum over j of score * v */
        if (__builtin_expect(((query_start + 1) < j1) && !T(finite)(v + j0 * v_row, v_row, j1 - j0, 128),
            0)) { /* infinity and NaN affect only queries that see them */
            T(dot4)(rows, j1 - j0, score, v + j0 * v_row, v_row, state_2 + (chunk - chunk0) * 18720);
            for (int64_t r = 0; r < rows; r++) {
                T(mask) in_region[OF(8, 16, 32)] = {0};
                const int64_t t_19 = (r % n_q) + query_start;
                for (int64_t j = 0; j < j1 - j0; j += LANES) {
                    in_region[j / LANES] = __builtin_convertvector((j0 + j + T(lane)) <= t_19, T(mask));
                }
                T(add_seen_lanes)(128, state_2 + (chunk - chunk0) * 18720 + r * 144, score + r * 144, v + j0 * v_row,
                    v_row, j1 - j0, in_region);
            }
        } else
#if OF(1, 0, 0)
            T(dot5)(rows, j1 - j0, score, v + j0 * v_row, v_row, state_2 + (chunk - chunk0) * 18720,
                attn_is_intel() ? 16 : 0);
#else
            T(dot5)(rows, j1 - j0, score, v + j0 * v_row, v_row, state_2 + (chunk - chunk0) * 18720);
#endif
    }
}

/* Folds the slots of the current chunks, in order, for some elements of the states. */
TARGET APART void T(differential_few_fold)(const struct call *call, int64_t task, const struct share *share,
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
    float *const state_max_2 = (float *)(void *)(share->slots + 37440); /* [chunk, r: 64] */
    float *const state_sum_2 = (float *)(void *)(share->slots + 37696); /* [chunk, r: 64] */
    float *const state_2 = (float *)(void *)(share->slots + 37952); /* [chunk, r: 64, e: 128 of 144] */
    float *const carried_max = (float *)(void *)(share->shared + 49408); /* [r: 64] */
    float *const carried_factor = (float *)(void *)(share->work + 0); /* [r: 64] */
    float *const slot_factor = (float *)(void *)(share->work + 256); /* [r: 64] */
    float *const carried_sum = (float *)(void *)(share->shared + 49664); /* [r: 64] */
    float *const carried_sum_compensation = (float *)(void *)(share->shared + 124288); /* [r: 64] */
    float *const carried = (float *)(void *)(share->shared + 49920); /* [r: 64, e: 128 of 144] */
    float *const carried_compensation = (float *)(void *)(share->shared + 124544); /* [r: 64, e: 128 of 144] */
    float *const carried_max_2 = (float *)(void *)(share->shared + 86848); /* [r: 64] */
    float *const carried_factor_2 = (float *)(void *)(share->work + 512); /* [r: 64] */
    float *const slot_factor_2 = (float *)(void *)(share->work + 768); /* [r: 64] */
    float *const carried_sum_2 = (float *)(void *)(share->shared + 87104); /* [r: 64] */
    float *const carried_sum_2_compensation = (float *)(void *)(share->shared + 161472); /* [r: 64] */
    float *const carried_2 = (float *)(void *)(share->shared + 87360); /* [r: 64, e: 128 of 144] */
    float *const carried_2_compensation = (float *)(void *)(share->shared + 161728); /* [r: 64, e: 128 of 144] */
    for (int64_t chunk = chunk0; chunk < chunk1; chunk++) {
        /* before_max = carried_max; carried_max max= state_max; carried_factor = exp2(before_max - carried_max);
           slot_factor = exp2(state_ ... */
        for (int64_t r = r0; r < r1; r += LANES) {
            const T(vec) carried_max_20 = T(load)(carried_max + r);
            const T(vec) before_max_new21 = carried_max_20;
            const T(vec) state_max_22 = T(load)(state_max + (chunk - chunk0) * 18720 + r);
            const T(vec) carried_max_new23 = T(max)(T(load)(carried_max + r), state_max_22);
            T(store)(carried_max + r, carried_max_new23);
            const T(vec) carried_factor_new24 = T(exp2)(before_max_new21 - carried_max_new23);
            T(store)(carried_factor + r, carried_factor_new24);
            const T(vec) slot_factor_new25 = T(exp2)(state_max_22 - carried_max_new23);
            T(store)(slot_factor + r, slot_factor_new25);
            const T(vec) carried_sum_26 = T(load)(carried_sum + r);
            T(store)(carried_sum + r, carried_sum_26 * carried_factor_new24);
            T(store)(carried_sum_compensation + r, T(load)(carried_sum_compensation + r) * carried_factor_new24);
            T(add)(carried_sum + r, carried_sum_compensation + r, T(load)(state_sum + (chunk - chunk0) * 18720 + r) *
                slot_factor_new25, T(splat)(1));
        }
        /* before_max_2 = carried_max_2; carried_max_2 max= state_max_2;
           carried_factor_2 = exp2(before_max_2 - carried_max_2); slot_factor ... */
        for (int64_t r = r0; r < r1; r += LANES) {
            const T(vec) carried_max_2_27 = T(load)(carried_max_2 + r);
            const T(vec) before_max_2_new28 = carried_max_2_27;
            const T(vec) state_max_2_29 = T(load)(state_max_2 + (chunk - chunk0) * 18720 + r);
            const T(vec) carried_max_2_new30 = T(max)(T(load)(carried_max_2 + r), state_max_2_29);
            T(store)(carried_max_2 + r, carried_max_2_new30);
            const T(vec) carried_factor_2_new31 = T(exp2)(before_max_2_new28 - carried_max_2_new30);
            T(store)(carried_factor_2 + r, carried_factor_2_new31);
            const T(vec) slot_factor_2_new32 = T(exp2)(state_max_2_29 - carried_max_2_new30);
            T(store)(slot_factor_2 + r, slot_factor_2_new32);
            const T(vec) carried_sum_2_33 = T(load)(carried_sum_2 + r);
            T(store)(carried_sum_2 + r, carried_sum_2_33 * carried_factor_2_new31);
            T(store)(carried_sum_2_compensation + r, T(load)(carried_sum_2_compensation + r) * carried_factor_2_new31);
            T(add)(carried_sum_2 + r, carried_sum_2_compensation + r,
                T(load)(state_sum_2 + (chunk - chunk0) * 18720 + r) * slot_factor_2_new32, T(splat)(1));
        }
        /* before = carried; carried = carried * carried_factor; carried_compensation = carried_compensation *
           carried_factor; carried += s ... */
        for (int64_t r = r0; r < r1; r++) {
            for (int64_t e_first = 0; e_first < 128; e_first += OF(64, 16, 8)) {
                UNROLL for (int64_t vector = 0, e = e_first; vector < OF(4, 2, 2); vector++, e += LANES) {
                    const T(vec) carried_34 = T(load)(carried + r * 144 + e);
                    const float carried_factor_35 = carried_factor[r];
                    T(store)(carried + r * 144 + e, carried_34 * carried_factor_35);
                    T(store)(carried_compensation + r * 144 + e, T(load)(carried_compensation + r * 144 + e) *
                        carried_factor_35);
                    T(add)(carried + r * 144 + e, carried_compensation + r * 144 + e,
                        T(load)(state + (chunk - chunk0) * 18720 + r * 144 + e) * slot_factor[r], T(splat)(1));
                    const T(vec) carried_2_36 = T(load)(carried_2 + r * 144 + e);
                    const float carried_factor_2_37 = carried_factor_2[r];
                    T(store)(carried_2 + r * 144 + e, carried_2_36 * carried_factor_2_37);
                    T(store)(carried_2_compensation + r * 144 + e, T(load)(carried_2_compensation + r * 144 + e) *
                        carried_factor_2_37);
                    T(add)(carried_2 + r * 144 + e, carried_2_compensation + r * 144 + e,
                        T(load)(state_2 + (chunk - chunk0) * 18720 + r * 144 + e) * slot_factor_2[r], T(splat)(1));
                }
            }
        }
    }
}

/* Processes a tile of queries: reads the states. */
TARGET APART void T(differential_few_queries)(const struct call *call, int64_t task, const struct share *share,
    int64_t iteration)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_q = call->p.n_q;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t r0 = iteration * 16, r1 = min(r0 + 16, rows);
    const int64_t g = task % kv_heads;
    const int64_t b = task / kv_heads;
    const float *const lam_array = (const float *)call->array[ARRAY_lam_array].at + g * members *
        call->array[ARRAY_lam_array].stride[0];
    const int64_t lam_array_stride_0 = call->array[ARRAY_lam_array].stride[0];
    float *const carried_sum = (float *)(void *)(share->shared + 49664); /* [r: 64] */
    float *const carried = (float *)(void *)(share->shared + 49920); /* [r: 64, e: 128 of 144] */
    float *const carried_sum_2 = (float *)(void *)(share->shared + 87104); /* [r: 64] */
    float *const carried_2 = (float *)(void *)(share->shared + 87360); /* [r: 64, e: 128 of 144] */
    float *const result = (float *)(void *)(share->work + 0); /* [r: 64, e: 128 of 144] */
    float *const out = (float *)call->array[ARRAY_out].at + b * call->array[ARRAY_out].strides.batch + g * members *
        call->array[ARRAY_out].strides.head;
    const int64_t out_row = call->array[ARRAY_out].strides.row;
    const int64_t out_head = call->array[ARRAY_out].strides.head;
    /* result = select(carried_sum == 0.0f, 0.0f, carried * (1.0f / carried_sum)) - (lam * select(carried_sum_2 == 0.0f,
       0.0f, carried_ ... */
    for (int64_t r = r0; r < r1; r++) {
        for (int64_t e_first = 0; e_first < 128; e_first += OF(64, 16, 8)) {
            UNROLL for (int64_t vector = 0, e = e_first; vector < OF(4, 2, 2); vector++, e += LANES) {
                const float carried_sum_38 = carried_sum[r];
                const float carried_sum_2_39 = carried_sum_2[r];
                T(store)(result + r * 144 + e, ((carried_sum_38 == 0.0f) ? T(splat)(0.0f) : T(load)(carried + r * 144 +
                    e) * (1.0f / carried_sum_38)) - ((lam_array[(r / n_q) * lam_array_stride_0]) * ((carried_sum_2_39 ==
                    0.0f) ? T(splat)(0.0f) : T(load)(carried_2 + r * 144 + e) * (1.0f / carried_sum_2_39))));
            }
        }
    }
    /* out = result */
    for (int64_t r = r0; r < r1; r++)
        for (int64_t e = 0; e < 128; e++)
            out[r / n_q * out_head + r % n_q * out_row + e] = result[r * 144 + e];
}

/* Computes head number `task`. Each thread on the head calls this with `share`. */
TARGET static void T(differential_few)(const struct call *call, int64_t task, struct share *share)
{
    const int64_t n_k = call->p.n_k;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t chunks = n_k > 0 ? (n_k - 1) / 1024 + 1 : 1;
    for (int64_t iteration = share->number; iteration < ((rows + 63) / 64); iteration += share->threads)
        T(differential_few_begin)(call, task, share, iteration);
    for (int64_t iteration = share->number; iteration < ((rows + 15) / 16); iteration += share->threads)
        T(differential_few_begin_2)(call, task, share, iteration);
    synchronise(share);
    const int64_t first = 0;
    const int64_t length = segment_length(share, chunks - first);
    for (int64_t segment = share->number; first + segment * length < chunks; segment += share->threads) {
        share->chunk0 = first + segment * length;
        share->chunk1 = min(share->chunk0 + length, chunks);
        for (int64_t iteration = share->chunk0; iteration < share->chunk1; iteration++)
            T(differential_few_keys)(call, task, share, iteration);
        for (int64_t group = 0; group < 16; group++) {
            await_segment(share, group, segment);
            const int64_t end = (group + 1) * ((rows + 15) / 16) / 16;
            for (int64_t iteration = group * ((rows + 15) / 16) / 16; iteration < end; iteration++)
                T(differential_few_fold)(call, task, share, iteration);
            pass_segment(share, group, segment);
        }
    }
    share->segments += (max(chunks - first, 0) + length - 1) / length;
    synchronise(share);
    for (int64_t iteration = share->number; iteration < ((rows + 15) / 16); iteration += share->threads)
        T(differential_few_queries)(call, task, share, iteration);
    synchronise(share);
}

/* Computes task number `task`: one tile of queries of one head. `work` is this thread's workspace. */
TARGET static void T(differential_saved)(const struct call *call, int64_t task, unsigned char *work)
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
    const float *const q2_array = (const float *)call->array[ARRAY_q2_array].at + b *
        call->array[ARRAY_q2_array].strides.batch + (g * members + m) * call->array[ARRAY_q2_array].strides.head;
    const int64_t q2_array_row = call->array[ARRAY_q2_array].strides.row;
    const int64_t q2_array_stride_3 = call->array[ARRAY_q2_array].stride[3];
    const float *const k2_array = (const float *)call->array[ARRAY_k2_array].at + b *
        call->array[ARRAY_k2_array].strides.batch + g * call->array[ARRAY_k2_array].strides.head;
    const int64_t k2_array_row = call->array[ARRAY_k2_array].strides.row;
    const int64_t k2_array_stride_3 = call->array[ARRAY_k2_array].stride[3];
    float *const key_cos = (float *)(void *)(work + 0); /* [t: 32, j: 96] */
    float *const key_sin = (float *)(void *)(work + 12288); /* [t: 32, j: 96] */
    float *const key = (float *)(void *)(work + 24576); /* [d: 64, j: 96] */
    float *const query_cos = (float *)(void *)(work + 0); /* [t: 32, i: OF(32, 16, 16)] */
    float *const query_sin = (float *)(void *)(work + OF(4096, 2048, 2048)); /* [t: 32, i: OF(32, 16, 16)] */
    float *const key_2 = (float *)(void *)(work + 49152); /* [d: 64, j: 96] */
    float *const all_query = (float *)(void *)(work + 73728); /* [d: 64, i: OF(32, 16, 16), OF(8, 8, 4) times] */
    float *const score = (float *)(void *)(work + 0); /* [j: 96, i: OF(32, 16, 16)] */
    float *const all_query_2 = (float *)(void *)(work + (4096 * LANES + 73728)); /* [d: 64, i: OF(32, 16, 16), OF(8, 8,
        4) times] */
    float *const score_2 = (float *)(void *)(work + OF(12288, 6144, 6144)); /* [j: 96, i: OF(32, 16, 16)] */
    float *const all_row_max = (float *)(void *)(work + (8192 * LANES + 73728)); /* [i: OF(32, 16, 16), OF(8, 8,
        4) times] */
    float *const old_max = (float *)(void *)(work + OF(205824, 12288, 12288)); /* [i: OF(32, 16, 16)] */
    float *const all_row_sum = (float *)(void *)(work + OF(205952, 139776, 106752)); /* [i: OF(32, 16, 16), OF(8, 8,
        4) times] */
    float *const all_row_sum_compensation = (float *)(void *)(work + OF(206976, 140288, 107008)); /* [i: OF(32, 16, 16),
        OF(8, 8, 4) times] */
    float *const all_row_max_2 = (float *)(void *)(work + OF(208000, 140800, 107264)); /* [i: OF(32, 16, 16), OF(8, 8,
        4) times] */
    float *const old_max_2 = (float *)(void *)(work + OF(12288, 6144, 6144)); /* [i: OF(32, 16, 16)] */
    float *const all_row_sum_2 = (float *)(void *)(work + OF(209024, 141312, 107520)); /* [i: OF(32, 16, 16), OF(8, 8,
        4) times] */
    float *const all_row_sum_2_compensation = (float *)(void *)(work + OF(210048, 141824, 107776)); /* [i: OF(32, 16,
        16), OF(8, 8, 4) times] */
    float *const result = (float *)(void *)(work + 0); /* [i: OF(32, 16, 16)] */
    float *const query_scale = (float *)(void *)(work + OF(128, 64, 64)); /* [i: OF(32, 16, 16)] */
    float *const saved_0 = (float *)call->array[ARRAY_saved_0].at + (b * call->p.heads + (g * members + m)) *
        call->p.n_q;
    float *const saved_1 = (float *)call->array[ARRAY_saved_1].at + (b * call->p.heads + (g * members + m)) *
        call->p.n_q;
    float *const q2_tile = (float *)(void *)(work + OF(8192, 4096, 4096)); /* [d: 64, i: OF(32, 16, 16)] */
    float *const q_tile = (float *)(void *)(work + OF(16384, 8192, 8192)); /* [d: 64, i: OF(32, 16, 16)] */
    float *const k_tile = (float *)(void *)(work + OF(211072, 142336, 108032)); /* [d: 64, j: 96] */
    float *const k2_tile = (float *)(void *)(work + OF(235648, 166912, 132608)); /* [d: 64, j: 96] */
    for (int64_t i_next = i0, i_block = i0, i_end = i1; i_next < i_end; i_next += OF(32, 16, 16)) {
        const int64_t i0 = i_next, i1 = min(i0 + OF(32, 16, 16), i_end);
        float *const query = all_query + (i0 - i_block) / OF(32, 16, 16) * OF(2048, 1024, 1024);
        float *const query_2 = all_query_2 + (i0 - i_block) / OF(32, 16, 16) * OF(2048, 1024, 1024);
        float *const row_max = all_row_max + (i0 - i_block) / OF(32, 16, 16) * OF(32, 16, 16);
        float *const row_sum = all_row_sum + (i0 - i_block) / OF(32, 16, 16) * OF(32, 16, 16);
        float *const row_sum_compensation = all_row_sum_compensation + (i0 - i_block) / OF(32, 16, 16) * OF(32, 16, 16);
        float *const row_max_2 = all_row_max_2 + (i0 - i_block) / OF(32, 16, 16) * OF(32, 16, 16);
        float *const row_sum_2 = all_row_sum_2 + (i0 - i_block) / OF(32, 16, 16) * OF(32, 16, 16);
        float *const row_sum_2_compensation = all_row_sum_2_compensation + (i0 - i_block) / OF(32, 16, 16) * OF(32, 16,
            16);
        if (q2_array_stride_3 == 1) {
            /* q2_tile = q2_array, with zeros beyond the last row */
            T(transpose_padded)(q2_array + i0 * q2_array_row, q2_array_row, i1 - i0, 64, q2_tile, OF(32, 16, 16),
                LANES);
        } else {
            /* q2_tile = q2_array, with zeros beyond the last row */
            for (int64_t i = 0; i < round_up(i1 - i0, LANES); i++)
                for (int64_t d = 0; d < 64; d++)
                    q2_tile[d * OF(32, 16, 16) + i] = i < i1 - i0 ? q2_array[(i0 + i) * q2_array_row + d *
                        q2_array_stride_3] : 0;
        }
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
        /* query = ((q2_tile * query_cos) + ((q2_tile * query_sin) * select((d % 2) == 0, -1.0f, 1.0f))) * 0.18033688f;
           query_2 = ((q_tile  ... */
        for (int64_t d = 0; d < 64; d++) {
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                const T(vec) query_cos_3 = T(load)(query_cos + (d / 2) * OF(32, 16, 16) + i);
                const T(vec) query_sin_4 = T(load)(query_sin + (d / 2) * OF(32, 16, 16) + i);
                const double t_5 = ((d % 2) == 0) ? (-1.0) : 1.0;
                T(store)(query + d * OF(32, 16, 16) + i, ((T(load)(q2_tile + d * OF(32, 16,
                    16) + i) * query_cos_3) + ((T(load)(q2_tile + (((d % 2) == 0) ? (d + 1) : (d - 1)) * OF(32, 16,
                    16) + i) * query_sin_4) * (float)t_5)) * 0.18033688f);
                T(store)(query_2 + d * OF(32, 16, 16) + i, ((T(load)(q_tile + d * OF(32, 16,
                    16) + i) * query_cos_3) + ((T(load)(q_tile + (((d % 2) == 0) ? (d + 1) : (d - 1)) * OF(32, 16,
                    16) + i) * query_sin_4) * (float)t_5)) * 0.18033688f);
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
        }
    }
    for (int64_t j0 = 0, j_end = min(n_k, i1 + query_start); j0 < j_end; j0 += 96) {
        const int64_t j1 = min(j0 + 96, j_end);
        /* k_tile = k, with zeros beyond the last row */
        T(transpose_padded)(k + j0 * k_row, k_row, j1 - j0, 64, k_tile, 96, 64);
        if (k2_array_stride_3 == 1) {
            /* k2_tile = k2_array, with zeros beyond the last row */
            T(transpose_padded)(k2_array + j0 * k2_array_row, k2_array_row, j1 - j0, 64, k2_tile, 96, 64);
        } else {
            /* k2_tile = k2_array, with zeros beyond the last row */
            for (int64_t j = 0; j < round_up(j1 - j0, LANES); j++)
                for (int64_t d = 0; d < 64; d++)
                    k2_tile[d * 96 + j] = j < j1 - j0 ? k2_array[(j0 + j) * k2_array_row + d * k2_array_stride_3] : 0;
        }
        /* key_cos = cos(j * rope_theta); key_sin = sin(j * rope_theta) */
        for (int64_t j = 0; j < j1 - j0; j += LANES) {
            const T(ints) t_6 = j0 + j + T(lane);
            for (int64_t t = 0; t < 32; t++) {
                const T(wide) angle7 = __builtin_convertvector(t_6, T(wide)) * rope_theta[t];
                T(store)(key_cos + t * 96 + j, T(cos)(&angle7));
                const T(wide) angle8 = __builtin_convertvector(t_6, T(wide)) * rope_theta[t];
                T(store)(key_sin + t * 96 + j, T(sin)(&angle8));
            }
        }
        /* key = (k_tile * key_cos) + ((k_tile * key_sin) * select((d % 2) == 0, -1.0f, 1.0f));
           key_2 = (k2_tile * key_cos) + ((k2_tile * k ... */
        for (int64_t d = 0; d < 64; d++) {
            for (int64_t j = 0; j < j1 - j0; j += LANES) {
                const T(vec) key_cos_9 = T(load)(key_cos + (d / 2) * 96 + j);
                const T(vec) key_sin_10 = T(load)(key_sin + (d / 2) * 96 + j);
                const double t_11 = ((d % 2) == 0) ? (-1.0) : 1.0;
                T(store)(key + d * 96 + j, (T(load)(k_tile + d * 96 + j) * key_cos_9) + ((T(load)(k_tile + (((d % 2) ==
                    0) ? (d + 1) : (d - 1)) * 96 + j) * key_sin_10) * (float)t_11));
                T(store)(key_2 + d * 96 + j, (T(load)(k2_tile + d * 96 + j) * key_cos_9) + ((T(load)(k2_tile + (((d % 2)
                    == 0) ? (d + 1) : (d - 1)) * 96 + j) * key_sin_10) * (float)t_11));
            }
        }
        for (int64_t i_next = i0, i_block = i0, i_end = i1; i_next < i_end; i_next += OF(32, 16, 16)) {
            const int64_t i0 = i_next, i1 = min(i0 + OF(32, 16, 16), i_end);
            float *const query = all_query + (i0 - i_block) / OF(32, 16, 16) * OF(2048, 1024, 1024);
            float *const query_2 = all_query_2 + (i0 - i_block) / OF(32, 16, 16) * OF(2048, 1024, 1024);
            float *const row_max = all_row_max + (i0 - i_block) / OF(32, 16, 16) * OF(32, 16, 16);
            float *const row_sum = all_row_sum + (i0 - i_block) / OF(32, 16, 16) * OF(32, 16, 16);
            float *const row_sum_compensation = all_row_sum_compensation + (i0 - i_block) / OF(32, 16, 16) * OF(32, 16,
                16);
            float *const row_max_2 = all_row_max_2 + (i0 - i_block) / OF(32, 16, 16) * OF(32, 16, 16);
            float *const row_sum_2 = all_row_sum_2 + (i0 - i_block) / OF(32, 16, 16) * OF(32, 16, 16);
            float *const row_sum_2_compensation = all_row_sum_2_compensation + (i0 - i_block) / OF(32, 16, 16) * OF(32,
                16, 16);
            if (!(j0 < (i1 + query_start))) continue; /* no query sees a key of the tile */
            /* score[j][i] = sum over d of key_2 * query */
            T(dot0)(round_up(i1 - i0, LANES), j1 - j0, key_2, query, score);
            /* score_2[j][i] = sum over d of key * query_2 */
            T(dot0)(round_up(i1 - i0, LANES), j1 - j0, key, query_2, score_2);
            /* old_max = row_max */
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                T(store)(old_max + i, T(load)(row_max + i));
            }
            if ((i0 + query_start + 1) < j1) { /* the tile is partly outside the mask */
                /* score_2 = select(j <= (i + query_start), score_2, -INFINITY) */
                for (int64_t i = 0; i < i1 - i0; i += LANES) {
                    const T(ints) t_12 = (i0 + i + T(lane)) + query_start;
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        T(store)(score_2 + j * OF(32, 16, 16) + i, T(pick)(__builtin_convertvector((j0 + j) <= t_12,
                            T(mask)), T(load)(score_2 + j * OF(32, 16, 16) + i), T(splat)(-INFINITY)));
                    }
                }
            }
            /* row_max max= score_2 */
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
                                T(load)(score_2 + j * OF(32, 16, 16) + i));
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
                const T(vec) old_max_13 = T(load)(old_max + i);
                const T(vec) old_max_new14 = T(exp2)(old_max_13 - T(load)(row_max + i));
                T(store)(old_max + i, old_max_new14);
                T(store)(row_sum + i, T(load)(row_sum + i) * old_max_new14);
                T(store)(row_sum_compensation + i, T(load)(row_sum_compensation + i) * old_max_new14);
            }
            /* score_2 = exp2(score_2 - row_max); row_sum += score_2 */
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                const T(vec) row_max_16 = T(load)(row_max + i);
                T(vec) row_sum_in = (T(vec)){0};
                for (int64_t j = 0; j < j1 - j0; j++) {
                    const T(vec) score_2_15 = T(load)(score_2 + j * OF(32, 16, 16) + i);
                    const T(vec) score_2_new17 = T(exp2)(score_2_15 - row_max_16);
                    T(store)(score_2 + j * OF(32, 16, 16) + i, score_2_new17);
                    row_sum_in += score_2_new17;
                }
                T(add)(row_sum + i, row_sum_compensation + i, row_sum_in, T(splat)(1));
            }
            /* old_max_2 = row_max_2 */
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                T(store)(old_max_2 + i, T(load)(row_max_2 + i));
            }
            if ((i0 + query_start + 1) < j1) { /* the tile is partly outside the mask */
                /* score = select(j <= (i + query_start), score, -INFINITY) */
                for (int64_t i = 0; i < i1 - i0; i += LANES) {
                    const T(ints) t_18 = (i0 + i + T(lane)) + query_start;
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        T(store)(score + j * OF(32, 16, 16) + i, T(pick)(__builtin_convertvector((j0 + j) <= t_18,
                            T(mask)), T(load)(score + j * OF(32, 16, 16) + i), T(splat)(-INFINITY)));
                    }
                }
            }
            /* row_max_2 max= score */
            for (int64_t i_first = 0; i_first < i1 - i0; i_first += (2 * LANES)) {
                T(vec) row_max_2_in[2][2];
                UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += LANES) {
                    UNROLL for (int j_chain = 0; j_chain < 2; j_chain++) row_max_2_in[vector][j_chain] =
                        T(splat)(-INFINITY);
                }
                for (int64_t j_first = 0; j_first < j1 - j0; j_first += 2) {
                    UNROLL for (int j_chain = 0; j_chain < 2; j_chain++) {
                        const int64_t j = min(j_first + j_chain, j1 - j0 - 1);
                        UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += LANES) {
                            row_max_2_in[vector][j_chain] = T(max)(row_max_2_in[vector][j_chain],
                                T(load)(score + j * OF(32, 16, 16) + i));
                        }
                    }
                }
                UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += LANES) {
                    T(store)(row_max_2 + i, T(max)(T(load)(row_max_2 + i), T(max)(row_max_2_in[vector][0],
                        row_max_2_in[vector][1])));
                }
            }
            /* old_max_2 = exp2(old_max_2 - row_max_2); row_sum_2 = row_sum_2 * old_max_2;
               row_sum_2_compensation = row_sum_2_compensation * ol ... */
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                const T(vec) old_max_2_19 = T(load)(old_max_2 + i);
                const T(vec) old_max_2_new20 = T(exp2)(old_max_2_19 - T(load)(row_max_2 + i));
                T(store)(old_max_2 + i, old_max_2_new20);
                T(store)(row_sum_2 + i, T(load)(row_sum_2 + i) * old_max_2_new20);
                T(store)(row_sum_2_compensation + i, T(load)(row_sum_2_compensation + i) * old_max_2_new20);
            }
            /* score = exp2(score - row_max_2); row_sum_2 += score */
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                const T(vec) row_max_2_22 = T(load)(row_max_2 + i);
                T(vec) row_sum_2_in = (T(vec)){0};
                for (int64_t j = 0; j < j1 - j0; j++) {
                    const T(vec) score_21 = T(load)(score + j * OF(32, 16, 16) + i);
                    const T(vec) score_new23 = T(exp2)(score_21 - row_max_2_22);
                    T(store)(score + j * OF(32, 16, 16) + i, score_new23);
                    row_sum_2_in += score_new23;
                }
                T(add)(row_sum_2 + i, row_sum_2_compensation + i, row_sum_2_in, T(splat)(1));
            }
        }
    }
    {
        for (int64_t i_next = i0, i_block = i0, i_end = i1; i_next < i_end; i_next += OF(32, 16, 16)) {
            const int64_t i0 = i_next, i1 = min(i0 + OF(32, 16, 16), i_end);
            float *const row_max = all_row_max + (i0 - i_block) / OF(32, 16, 16) * OF(32, 16, 16);
            float *const row_sum = all_row_sum + (i0 - i_block) / OF(32, 16, 16) * OF(32, 16, 16);
            float *const row_max_2 = all_row_max_2 + (i0 - i_block) / OF(32, 16, 16) * OF(32, 16, 16);
            float *const row_sum_2 = all_row_sum_2 + (i0 - i_block) / OF(32, 16, 16) * OF(32, 16, 16);
            /* result = select(row_sum_2 == 0.0f, 0.0f, (log(row_sum_2) + (row_max_2 * 0.6931472f)) * 1.442695f);
               query_scale = select(row_sum  ... */
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                const T(vec) row_sum_2_24 = T(load)(row_sum_2 + i);
                T(store)(result + i, T(pick)(row_sum_2_24 == 0.0f, T(splat)(0.0f),
                    (T(log)(row_sum_2_24) + (T(load)(row_max_2 + i) * 0.6931472f)) * 1.442695f));
                const T(vec) row_sum_25 = T(load)(row_sum + i);
                T(store)(query_scale + i, T(pick)(row_sum_25 == 0.0f, T(splat)(0.0f),
                    (T(log)(row_sum_25) + (T(load)(row_max + i) * 0.6931472f)) * 1.442695f));
            }
            /* saved_0 = result */
            for (int64_t i = 0; i < i1 - i0; i++)
                saved_0[(i0 + i)] = result[i];
            /* saved_1 = query_scale */
            for (int64_t i = 0; i < i1 - i0; i++)
                saved_1[(i0 + i)] = query_scale[i];
        }
    }
}

/* Computes task number `task`: one tile of queries of one head. `work` is this thread's workspace. */
TARGET static void T(differential_row_sums)(const struct call *call, int64_t task, unsigned char *work)
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
    const float *const q2_array = (const float *)call->array[ARRAY_q2_array].at + b *
        call->array[ARRAY_q2_array].strides.batch + (g * members + m) * call->array[ARRAY_q2_array].strides.head;
    const int64_t q2_array_row = call->array[ARRAY_q2_array].strides.row;
    const int64_t q2_array_stride_3 = call->array[ARRAY_q2_array].stride[3];
    const float *const k2_array = (const float *)call->array[ARRAY_k2_array].at + b *
        call->array[ARRAY_k2_array].strides.batch + g * call->array[ARRAY_k2_array].strides.head;
    const int64_t k2_array_row = call->array[ARRAY_k2_array].strides.row;
    const int64_t k2_array_stride_3 = call->array[ARRAY_k2_array].stride[3];
    const float *const lam_array = (const float *)call->array[ARRAY_lam_array].at + g * members *
        call->array[ARRAY_lam_array].stride[0] + m * call->array[ARRAY_lam_array].stride[0];
    const float *const dout = (const float *)call->array[ARRAY_dout].at + b * call->array[ARRAY_dout].strides.batch + (g
        * members + m) * call->array[ARRAY_dout].strides.head;
    const int64_t dout_row = call->array[ARRAY_dout].strides.row;
    float *const key_cos = (float *)(void *)(work + 0); /* [t: 32, j: OF(144, 144, 288)] */
    float *const key_sin = (float *)(void *)(work + OF(18432, 18432, 36864)); /* [t: 32, j: OF(144, 144, 288)] */
    float *const key = (float *)(void *)(work + OF(36864, 36864, 73728)); /* [d: 64, j: OF(144, 144, 288)] */
    float *const query_cos = (float *)(void *)(work + 0); /* [t: 32, i: (16 * LANES) of (16 * LANES + 16)] */
    float *const query_sin = (float *)(void *)(work + (2048 * LANES + 2048)); /* [t: 32,
        i: (16 * LANES) of (16 * LANES + 16)] */
    float *const key_2 = (float *)(void *)(work + OF(73728, 73728, 147456)); /* [d: 64, j: OF(144, 144, 288)] */
    float *const query = (float *)(void *)(work + OF(110592, 110592, 221184)); /* [d: 64,
        i: (16 * LANES) of (16 * LANES + 16)] */
    float *const score = (float *)(void *)(work + OF(180224, 147456, 241664)); /* [j: OF(144, 144, 288),
        i: (16 * LANES) of (16 * LANES + 16)] */
    float *const query_2 = (float *)(void *)(work + OF(336896, 230400, 333824)); /* [d: 64,
        i: (16 * LANES) of (16 * LANES + 16)] */
    float *const score_2 = (float *)(void *)(work + OF(406528, 267264, 354304)); /* [j: OF(144, 144, 288),
        i: (16 * LANES) of (16 * LANES + 16)] */
    float *const row_max = (float *)(void *)(work + OF(563200, 350208, 446464)); /* [i: (16 * LANES)] */
    float *const old_max = (float *)(void *)(work + 0); /* [i: (16 * LANES)] */
    float *const row_sum = (float *)(void *)(work + OF(564224, 350720, 446720)); /* [i: (16 * LANES)] */
    float *const row_sum_compensation = (float *)(void *)(work + OF(565248, 351232, 446976)); /* [i: (16 * LANES)] */
    float *const sum = (float *)(void *)(work + OF(566272, 351744, 447232)); /* [e: 128,
        i: (16 * LANES) of (16 * LANES + 16)] */
    float *const sum_compensation = (float *)(void *)(work + OF(705536, 425472, 488192)); /* [e: 128,
        i: (16 * LANES) of (16 * LANES + 16)] */
    float *const row_max_2 = (float *)(void *)(work + OF(844800, 499200, 529152)); /* [i: (16 * LANES)] */
    float *const old_max_2 = (float *)(void *)(work + 0); /* [i: (16 * LANES)] */
    float *const row_sum_2 = (float *)(void *)(work + OF(845824, 499712, 529408)); /* [i: (16 * LANES)] */
    float *const row_sum_2_compensation = (float *)(void *)(work + OF(846848, 500224, 529664)); /* [i: (16 * LANES)] */
    float *const sum_2 = (float *)(void *)(work + OF(847872, 500736, 529920)); /* [e: 128,
        i: (16 * LANES) of (16 * LANES + 16)] */
    float *const sum_2_compensation = (float *)(void *)(work + OF(987136, 574464, 570880)); /* [e: 128,
        i: (16 * LANES) of (16 * LANES + 16)] */
    float *const result = (float *)(void *)(work + 0); /* [i: (16 * LANES)] */
    float *const query_sum = (float *)(void *)(work + (64 * LANES)); /* [i: (16 * LANES)] */
    float *const row_0 = (float *)call->array[ARRAY_row_0].at + (b * call->p.heads + (g * members + m)) * call->p.n_q;
    float *const row_1 = (float *)call->array[ARRAY_row_1].at + (b * call->p.heads + (g * members + m)) * call->p.n_q;
    float *const q2_tile = (float *)(void *)(work + OF(180224, 36864, 20480)); /* [d: 64,
        i: (16 * LANES) of (16 * LANES + 16)] */
    float *const q_tile = (float *)(void *)(work + OF(249856, 73728, 40960)); /* [d: 64,
        i: (16 * LANES) of (16 * LANES + 16)] */
    float *const k_tile = (float *)(void *)(work + OF(180224, 147456, 241664)); /* [d: 64, j: OF(144, 144, 288)] */
    float *const k2_tile = (float *)(void *)(work + OF(217088, 184320, 354304)); /* [d: 64, j: OF(144, 144, 288)] */
    float *const dout_tile = (float *)(void *)(work + OF(1126400, 648192, 611840)); /* [e: 128,
        i: (16 * LANES) of (16 * LANES + 16)] */
    if (q2_array_stride_3 == 1) {
        /* q2_tile = q2_array, with zeros beyond the last row */
        T(transpose_padded)(q2_array + i0 * q2_array_row, q2_array_row, i1 - i0, 64, q2_tile, (16 * LANES + 16), LANES);
    } else {
        /* q2_tile = q2_array, with zeros beyond the last row */
        for (int64_t i = 0; i < round_up(i1 - i0, LANES); i++)
            for (int64_t d = 0; d < 64; d++)
                q2_tile[d * (16 * LANES + 16) + i] = i < i1 - i0 ? q2_array[(i0 + i) * q2_array_row + d *
                    q2_array_stride_3] : 0;
    }
    /* q_tile = q, with zeros beyond the last row */
    T(transpose_padded)(q + i0 * q_row, q_row, i1 - i0, 64, q_tile, (16 * LANES + 16), LANES);
    /* dout_tile = dout, with zeros beyond the last row */
    T(transpose_padded)(dout + i0 * dout_row, dout_row, i1 - i0, 128, dout_tile, (16 * LANES + 16), LANES);
    /* query_cos = cos((i + query_start) * rope_theta); query_sin = sin((i + query_start) * rope_theta) */
    for (int64_t i = 0; i < i1 - i0; i += LANES) {
        const T(ints) t_0 = (i0 + i + T(lane)) + query_start;
        for (int64_t t = 0; t < 32; t++) {
            const T(wide) angle1 = __builtin_convertvector(t_0, T(wide)) * rope_theta[t];
            T(store)(query_cos + t * (16 * LANES + 16) + i, T(cos)(&angle1));
            const T(wide) angle2 = __builtin_convertvector(t_0, T(wide)) * rope_theta[t];
            T(store)(query_sin + t * (16 * LANES + 16) + i, T(sin)(&angle2));
        }
    }
    /* query = ((q2_tile * query_cos) + ((q2_tile * query_sin) * select((d % 2) == 0, -1.0f, 1.0f))) * 0.18033688f;
       query_2 = ((q_tile  ... */
    for (int64_t d = 0; d < 64; d++) {
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            const T(vec) query_cos_3 = T(load)(query_cos + (d / 2) * (16 * LANES + 16) + i);
            const T(vec) query_sin_4 = T(load)(query_sin + (d / 2) * (16 * LANES + 16) + i);
            const double t_5 = ((d % 2) == 0) ? (-1.0) : 1.0;
            T(store)(query + d * (16 * LANES + 16) + i, ((T(load)(q2_tile + d * (16 * LANES + 16) + i) * query_cos_3) +
                ((T(load)(q2_tile + (((d % 2) == 0) ? (d + 1) : (d - 1)) * (16 * LANES + 16) + i) * query_sin_4) *
                (float)t_5)) * 0.18033688f);
            T(store)(query_2 + d * (16 * LANES + 16) + i, ((T(load)(q_tile + d * (16 * LANES + 16) + i) * query_cos_3) +
                ((T(load)(q_tile + (((d % 2) == 0) ? (d + 1) : (d - 1)) * (16 * LANES + 16) + i) * query_sin_4) *
                (float)t_5)) * 0.18033688f);
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
    }
    /* sum = 0.0f; sum_compensation = 0.0f; sum_2 = 0.0f; sum_2_compensation = 0.0f */
    for (int64_t e = 0; e < 128; e++) {
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            T(store)(sum + e * (16 * LANES + 16) + i, T(splat)(0.0f));
            T(store)(sum_compensation + e * (16 * LANES + 16) + i, T(splat)(0.0f));
            T(store)(sum_2 + e * (16 * LANES + 16) + i, T(splat)(0.0f));
            T(store)(sum_2_compensation + e * (16 * LANES + 16) + i, T(splat)(0.0f));
        }
    }
    for (int64_t j0 = 0, j_end = min(n_k, i1 + query_start); j0 < j_end; j0 += OF(144, 144, 288)) {
        const int64_t j1 = min(j0 + OF(144, 144, 288), j_end);
        /* k_tile = k, with zeros beyond the last row */
        T(transpose_padded)(k + j0 * k_row, k_row, j1 - j0, 64, k_tile, OF(144, 144, 288), 64);
        if (k2_array_stride_3 == 1) {
            /* k2_tile = k2_array, with zeros beyond the last row */
            T(transpose_padded)(k2_array + j0 * k2_array_row, k2_array_row, j1 - j0, 64, k2_tile, OF(144, 144, 288),
                64);
        } else {
            /* k2_tile = k2_array, with zeros beyond the last row */
            for (int64_t j = 0; j < round_up(j1 - j0, LANES); j++)
                for (int64_t d = 0; d < 64; d++)
                    k2_tile[d * OF(144, 144, 288) + j] = j < j1 - j0 ? k2_array[(j0 + j) * k2_array_row + d *
                        k2_array_stride_3] : 0;
        }
        /* key_cos = cos(j * rope_theta); key_sin = sin(j * rope_theta) */
        for (int64_t j = 0; j < j1 - j0; j += LANES) {
            const T(ints) t_6 = j0 + j + T(lane);
            for (int64_t t = 0; t < 32; t++) {
                const T(wide) angle7 = __builtin_convertvector(t_6, T(wide)) * rope_theta[t];
                T(store)(key_cos + t * OF(144, 144, 288) + j, T(cos)(&angle7));
                const T(wide) angle8 = __builtin_convertvector(t_6, T(wide)) * rope_theta[t];
                T(store)(key_sin + t * OF(144, 144, 288) + j, T(sin)(&angle8));
            }
        }
        /* key = (k_tile * key_cos) + ((k_tile * key_sin) * select((d % 2) == 0, -1.0f, 1.0f));
           key_2 = (k2_tile * key_cos) + ((k2_tile * k ... */
        for (int64_t d = 0; d < 64; d++) {
            for (int64_t j = 0; j < j1 - j0; j += LANES) {
                const T(vec) key_cos_9 = T(load)(key_cos + (d / 2) * OF(144, 144, 288) + j);
                const T(vec) key_sin_10 = T(load)(key_sin + (d / 2) * OF(144, 144, 288) + j);
                const double t_11 = ((d % 2) == 0) ? (-1.0) : 1.0;
                T(store)(key + d * OF(144, 144, 288) + j, (T(load)(k_tile + d * OF(144, 144,
                    288) + j) * key_cos_9) + ((T(load)(k_tile + (((d % 2) == 0) ? (d + 1) : (d - 1)) * OF(144, 144,
                    288) + j) * key_sin_10) * (float)t_11));
                T(store)(key_2 + d * OF(144, 144, 288) + j, (T(load)(k2_tile + d * OF(144, 144,
                    288) + j) * key_cos_9) + ((T(load)(k2_tile + (((d % 2) == 0) ? (d + 1) : (d - 1)) * OF(144, 144,
                    288) + j) * key_sin_10) * (float)t_11));
            }
        }
        /* score[j][i] = sum over d of key_2 * query */
        T(dot6)(round_up(i1 - i0, LANES), j1 - j0, key_2, query, score);
        /* score_2[j][i] = sum over d of key * query_2 */
        T(dot6)(round_up(i1 - i0, LANES), j1 - j0, key, query_2, score_2);
        /* old_max = row_max */
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            T(store)(old_max + i, T(load)(row_max + i));
        }
        if ((i0 + query_start + 1) < j1) { /* the tile is partly outside the mask */
            /* score_2 = select(j <= (i + query_start), score_2, -INFINITY) */
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                const T(ints) t_12 = (i0 + i + T(lane)) + query_start;
                for (int64_t j = 0; j < j1 - j0; j++) {
                    T(store)(score_2 + j * (16 * LANES + 16) + i, T(pick)(__builtin_convertvector((j0 + j) <= t_12,
                        T(mask)), T(load)(score_2 + j * (16 * LANES + 16) + i), T(splat)(-INFINITY)));
                }
            }
        }
        /* row_max max= score_2 */
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
                    row_max_in[vector] = T(max)(row_max_in[vector], T(load)(score_2 + j * 272 + i));
#else
            for (int64_t j_first = 0; j_first < j1 - j0; j_first += 2) {
                UNROLL for (int j_chain = 0; j_chain < 2; j_chain++) {
                    const int64_t j = min(j_first + j_chain, j1 - j0 - 1);
                    UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += LANES) {
                        row_max_in[vector][j_chain] = T(max)(row_max_in[vector][j_chain],
                            T(load)(score_2 + j * (16 * LANES + 16) + i));
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
            const T(vec) old_max_13 = T(load)(old_max + i);
            const T(vec) old_max_new14 = T(exp2)(old_max_13 - T(load)(row_max + i));
            T(store)(old_max + i, old_max_new14);
            T(store)(row_sum + i, T(load)(row_sum + i) * old_max_new14);
            T(store)(row_sum_compensation + i, T(load)(row_sum_compensation + i) * old_max_new14);
        }
        /* score_2 = exp2(score_2 - row_max); row_sum += score_2 */
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            const T(vec) row_max_16 = T(load)(row_max + i);
            T(vec) row_sum_in = (T(vec)){0};
            for (int64_t j = 0; j < j1 - j0; j++) {
                const T(vec) score_2_15 = T(load)(score_2 + j * (16 * LANES + 16) + i);
                const T(vec) score_2_new17 = T(exp2)(score_2_15 - row_max_16);
                T(store)(score_2 + j * (16 * LANES + 16) + i, score_2_new17);
                row_sum_in += score_2_new17;
            }
            T(add)(row_sum + i, row_sum_compensation + i, row_sum_in, T(splat)(1));
        }
        /* sum[e][i] = sum * old_max + sum over j of v * score_2 */
        if (__builtin_expect(((i0 + query_start + 1) < j1) && !T(finite)(v + j0 * v_row, v_row, j1 - j0, 128),
            0)) { /* infinity and NaN affect only queries that see them */
            T(dot7)(round_up(i1 - i0, LANES), j1 - j0, v + j0 * v_row, v_row, score_2, sum, old_max, sum_compensation);
            for (int64_t j = 0; j < j1 - j0; j++) {
                T(mask) in_region[16] = {0};
                if (T(finite)(v + j0 * v_row + j * v_row, 1, 128, 1)) continue;
                for (int64_t i = 0; i < i1 - i0; i += LANES) {
                    in_region[i / LANES] = __builtin_convertvector((j0 + j) <= ((i0 + i + T(lane)) + query_start),
                        T(mask));
                }
                T(add_seen)(128, sum, (16 * LANES + 16), v + j0 * v_row + j * v_row, 1, score_2 + j * (16 * LANES + 16),
                    in_region, i1 - i0);
            }
        } else
            T(dot8)(round_up(i1 - i0, LANES), j1 - j0, v + j0 * v_row, v_row, score_2, sum, old_max, sum_compensation);
        /* old_max_2 = row_max_2 */
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            T(store)(old_max_2 + i, T(load)(row_max_2 + i));
        }
        if ((i0 + query_start + 1) < j1) { /* the tile is partly outside the mask */
            /* score = select(j <= (i + query_start), score, -INFINITY) */
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                const T(ints) t_18 = (i0 + i + T(lane)) + query_start;
                for (int64_t j = 0; j < j1 - j0; j++) {
                    T(store)(score + j * (16 * LANES + 16) + i, T(pick)(__builtin_convertvector((j0 + j) <= t_18,
                        T(mask)), T(load)(score + j * (16 * LANES + 16) + i), T(splat)(-INFINITY)));
                }
            }
        }
        /* row_max_2 max= score */
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
                    row_max_2_in[vector] = T(max)(row_max_2_in[vector], T(load)(score + j * 272 + i));
#else
            for (int64_t j_first = 0; j_first < j1 - j0; j_first += 2) {
                UNROLL for (int j_chain = 0; j_chain < 2; j_chain++) {
                    const int64_t j = min(j_first + j_chain, j1 - j0 - 1);
                    UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += LANES) {
                        row_max_2_in[vector][j_chain] = T(max)(row_max_2_in[vector][j_chain],
                            T(load)(score + j * (16 * LANES + 16) + i));
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
        /* old_max_2 = exp2(old_max_2 - row_max_2); row_sum_2 = row_sum_2 * old_max_2;
           row_sum_2_compensation = row_sum_2_compensation * ol ... */
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            const T(vec) old_max_2_19 = T(load)(old_max_2 + i);
            const T(vec) old_max_2_new20 = T(exp2)(old_max_2_19 - T(load)(row_max_2 + i));
            T(store)(old_max_2 + i, old_max_2_new20);
            T(store)(row_sum_2 + i, T(load)(row_sum_2 + i) * old_max_2_new20);
            T(store)(row_sum_2_compensation + i, T(load)(row_sum_2_compensation + i) * old_max_2_new20);
        }
        /* score = exp2(score - row_max_2); row_sum_2 += score */
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            const T(vec) row_max_2_22 = T(load)(row_max_2 + i);
            T(vec) row_sum_2_in = (T(vec)){0};
            for (int64_t j = 0; j < j1 - j0; j++) {
                const T(vec) score_21 = T(load)(score + j * (16 * LANES + 16) + i);
                const T(vec) score_new23 = T(exp2)(score_21 - row_max_2_22);
                T(store)(score + j * (16 * LANES + 16) + i, score_new23);
                row_sum_2_in += score_new23;
            }
            T(add)(row_sum_2 + i, row_sum_2_compensation + i, row_sum_2_in, T(splat)(1));
        }
        /* sum_2[e][i] = sum_2 * old_max_2 + sum over j of v * score */
        if (__builtin_expect(((i0 + query_start + 1) < j1) && !T(finite)(v + j0 * v_row, v_row, j1 - j0, 128),
            0)) { /* infinity and NaN affect only queries that see them */
            T(dot7)(round_up(i1 - i0, LANES), j1 - j0, v + j0 * v_row, v_row, score, sum_2, old_max_2,
                sum_2_compensation);
            for (int64_t j = 0; j < j1 - j0; j++) {
                T(mask) in_region[16] = {0};
                if (T(finite)(v + j0 * v_row + j * v_row, 1, 128, 1)) continue;
                for (int64_t i = 0; i < i1 - i0; i += LANES) {
                    in_region[i / LANES] = __builtin_convertvector((j0 + j) <= ((i0 + i + T(lane)) + query_start),
                        T(mask));
                }
                T(add_seen)(128, sum_2, (16 * LANES + 16), v + j0 * v_row + j * v_row, 1, score + j * (16 * LANES + 16),
                    in_region, i1 - i0);
            }
        } else
            T(dot8)(round_up(i1 - i0, LANES), j1 - j0, v + j0 * v_row, v_row, score, sum_2, old_max_2,
                sum_2_compensation);
    }
    /* result = 0.0f */
    for (int64_t i = 0; i < i1 - i0; i += LANES) {
        T(store)(result + i, T(splat)(0.0f));
    }
    /* query_sum = 0.0f */
    for (int64_t i = 0; i < i1 - i0; i += LANES) {
        T(store)(query_sum + i, T(splat)(0.0f));
    }
    /* result += dout_tile * neg(select(row_sum_2 == 0.0f, 0.0f, neg(sum_2 * (1.0f / row_sum_2))) * lam);
       query_sum += dout_tile * sele ... */
    const float lam_array_28 = lam_array[0];
    for (int64_t i = 0; i < i1 - i0; i += LANES) {
        const T(vec) row_sum_2_25 = T(load)(row_sum_2 + i);
        const T(mask) t_26 = row_sum_2_25 == 0.0f;
        const T(vec) t_27 = 1.0f / row_sum_2_25;
        const T(vec) row_sum_29 = T(load)(row_sum + i);
        const T(mask) t_30 = row_sum_29 == 0.0f;
        const T(vec) t_31 = 1.0f / row_sum_29;
        T(vec) result_in = (T(vec)){0};
        T(vec) result_in_whole = (T(vec)){0};
        T(vec) query_sum_in = (T(vec)){0};
        T(vec) query_sum_in_whole = (T(vec)){0};
        for (int64_t e = 0; e < 128; e++) {
            const T(vec) dout_tile_24 = T(load)(dout_tile + e * (16 * LANES + 16) + i);
            result_in += dout_tile_24 * (-(T(pick)(t_26, T(splat)(0.0f),
                -(T(load)(sum_2 + e * (16 * LANES + 16) + i) * t_27)) * lam_array_28));
            if (e % 32 == 31) {
                result_in_whole += result_in;
                result_in = (T(vec)){0};
            }
            query_sum_in += dout_tile_24 * T(pick)(t_30, T(splat)(0.0f),
                -(T(load)(sum + e * (16 * LANES + 16) + i) * t_31));
            if (e % 32 == 31) {
                query_sum_in_whole += query_sum_in;
                query_sum_in = (T(vec)){0};
            }
        }
        result_in += result_in_whole;
        T(store)(result + i, T(load)(result + i) + result_in);
        query_sum_in += query_sum_in_whole;
        T(store)(query_sum + i, T(load)(query_sum + i) + query_sum_in);
    }
    /* row_0 = result */
    for (int64_t i = 0; i < i1 - i0; i++)
        row_0[(i0 + i)] = result[i];
    /* row_1 = query_sum */
    for (int64_t i = 0; i < i1 - i0; i++)
        row_1[(i0 + i)] = query_sum[i];
}

/* Computes task number `task`: one slice of the rows of all batches and heads. `work` is this thread's workspace. */
TARGET static void T(differential_dq_dq2_sums1)(const struct call *call, int64_t task, unsigned char *work)
{
    const int64_t batch = call->p.batch;
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / max(call->p.kv_heads, 1);
    const int64_t n_q = call->p.n_q;
    const int64_t n_k = call->p.n_k;
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
    const float *const q2_array = (const float *)call->array[ARRAY_q2_array].at + (g * members + m) *
        call->array[ARRAY_q2_array].strides.head;
    const int64_t q2_array_row = call->array[ARRAY_q2_array].strides.row;
    const int64_t q2_array_stride_3 = call->array[ARRAY_q2_array].stride[3];
    const int64_t q2_array_batch = call->array[ARRAY_q2_array].strides.batch;
    const float *const k2_array = (const float *)call->array[ARRAY_k2_array].at + g *
        call->array[ARRAY_k2_array].strides.head;
    const int64_t k2_array_row = call->array[ARRAY_k2_array].strides.row;
    const int64_t k2_array_stride_3 = call->array[ARRAY_k2_array].stride[3];
    const int64_t k2_array_batch = call->array[ARRAY_k2_array].strides.batch;
    const float *const lam_array = (const float *)call->array[ARRAY_lam_array].at + g * members *
        call->array[ARRAY_lam_array].stride[0] + m * call->array[ARRAY_lam_array].stride[0];
    const float *const dout = (const float *)call->array[ARRAY_dout].at + (g * members + m) *
        call->array[ARRAY_dout].strides.head;
    const int64_t dout_row = call->array[ARRAY_dout].strides.row;
    const int64_t dout_batch = call->array[ARRAY_dout].strides.batch;
    const float *const row_0 = (const float *)call->array[ARRAY_row_0].at + (g * members + m) * call->p.n_q;
    const int64_t row_0_batch = call->p.heads * call->p.n_q;
    const float *const row_1 = (const float *)call->array[ARRAY_row_1].at + (g * members + m) * call->p.n_q;
    const int64_t row_1_batch = call->p.heads * call->p.n_q;
    const float *const saved_0 = (const float *)call->array[ARRAY_saved_0].at + (g * members + m) * call->p.n_q;
    const int64_t saved_0_batch = call->p.heads * call->p.n_q;
    const float *const saved_1 = (const float *)call->array[ARRAY_saved_1].at + (g * members + m) * call->p.n_q;
    const int64_t saved_1_batch = call->p.heads * call->p.n_q;
    float *const key_cos = (float *)(void *)(work + 0); /* [t: 32, j: 144] */
    float *const key_sin = (float *)(void *)(work + 18432); /* [t: 32, j: 144] */
    float *const key = (float *)(void *)(work + 36864); /* [d: 64, j: 144] */
    float *const query_cos = (float *)(void *)(work + 73728); /* [t: 32, i: (16 * LANES) of (16 * LANES + 16)] */
    float *const query_sin = (float *)(void *)(work + (2048 * LANES + 75776)); /* [t: 32,
        i: (16 * LANES) of (16 * LANES + 16)] */
    float *const key_2 = (float *)(void *)(work + (4096 * LANES + 77824)); /* [d: 64, j: 144] */
    float *const query = (float *)(void *)(work + (4096 * LANES + 114688)); /* [d: 64,
        i: (16 * LANES) of (16 * LANES + 16)] */
    float *const score = (float *)(void *)(work + (8192 * LANES + 118784)); /* [j: 144,
        i: (16 * LANES) of (16 * LANES + 16)] */
    float *const query_2 = (float *)(void *)(work + (17408 * LANES + 128000)); /* [d: 64,
        i: (16 * LANES) of (16 * LANES + 16)] */
    float *const score_2 = (float *)(void *)(work + (21504 * LANES + 132096)); /* [j: 144,
        i: (16 * LANES) of (16 * LANES + 16)] */
    float *const row_max = (float *)(void *)(work + (30720 * LANES + 141312)); /* [i: (16 * LANES)] */
    float *const old_max = (float *)(void *)(work + 0); /* [i: (16 * LANES)] */
    float *const weight = (float *)(void *)(work + (30784 * LANES + 141312)); /* [j: 144,
        i: (16 * LANES) of (16 * LANES + 16)] */
    float *const row_sum = (float *)(void *)(work + (40000 * LANES + 150528)); /* [i: (16 * LANES)] */
    float *const row_sum_compensation = (float *)(void *)(work + (40064 * LANES + 150528)); /* [i: (16 * LANES)] */
    float *const sum = (float *)(void *)(work + (40128 * LANES + 150528)); /* [e: 128,
        i: (16 * LANES) of (16 * LANES + 16)] */
    float *const sum_compensation = (float *)(void *)(work + (48320 * LANES + 158720)); /* [e: 128,
        i: (16 * LANES) of (16 * LANES + 16)] */
    float *const query_3 = (float *)(void *)(work + (56512 * LANES + 166912)); /* [e: 128,
        i: (16 * LANES) of (16 * LANES + 16)] */
    float *const score_3 = (float *)(void *)(work + (30784 * LANES + 141312)); /* [j: 144,
        i: (16 * LANES) of (16 * LANES + 16)] */
    float *const score_4 = (float *)(void *)(work + (64704 * LANES + 175104)); /* [j: 144,
        i: (16 * LANES) of (16 * LANES + 16)] */
    float *const sum_2 = (float *)(void *)(work + (73920 * LANES + 184320)); /* [d: 64,
        i: (16 * LANES) of (16 * LANES + 16)] */
    float *const sum_2_compensation = (float *)(void *)(work + (78016 * LANES + 188416)); /* [d: 64,
        i: (16 * LANES) of (16 * LANES + 16)] */
    float *const sum_3 = (float *)(void *)(work + (82112 * LANES + 192512)); /* [d: 64,
        i: (16 * LANES) of (16 * LANES + 16)] */
    float *const sum_3_compensation = (float *)(void *)(work + (86208 * LANES + 196608)); /* [d: 64,
        i: (16 * LANES) of (16 * LANES + 16)] */
    float *const query_4 = (float *)(void *)(work + 0); /* [d: 64, i: (16 * LANES) of (16 * LANES + 16)] */
    float *const query_5 = (float *)(void *)(work + OF(143360, 36864, 20480)); /* [d: 64,
        i: (16 * LANES) of (16 * LANES + 16)] */
    float *const unit_sum = (float *)(void *)(work + (90304 * LANES + 200704)); /* [one: LANES] */
    float *const unit_sum_compensation = (float *)(void *)(work + (90304 * LANES + 200768)); /* [one: LANES] */
    float *const dq = call->array[ARRAY_dq].at ? (float *)call->array[ARRAY_dq].at + (g * members + m) *
        call->array[ARRAY_dq].strides.head : NULL;
    const int64_t dq_row = call->array[ARRAY_dq].strides.row;
    const int64_t dq_batch = call->array[ARRAY_dq].strides.batch;
    float *const dq2_array = call->array[ARRAY_dq2_array].at ? (float *)call->array[ARRAY_dq2_array].at + (g * members +
        m) * n_q * 64 : NULL;
    float *const partial_0 = call->array[ARRAY_partial_0].at ? (float *)call->array[ARRAY_partial_0].at + ((g * members
        + m) * 16 + unit16) * 1 : NULL;
    float *const q2_tile = (float *)(void *)(work + 0); /* [d: 64, i: (16 * LANES) of (16 * LANES + 16)] */
    float *const q_tile = (float *)(void *)(work + OF(249856, 36864, 20480)); /* [d: 64,
        i: (16 * LANES) of (16 * LANES + 16)] */
    float *const dout_tile = (float *)(void *)(work + (90304 * LANES + 200832)); /* [e: 128,
        i: (16 * LANES) of (16 * LANES + 16)] */
    float *const k_tile = (float *)(void *)(work + (8192 * LANES + 118784)); /* [d: 64, j: 144] */
    float *const k2_tile = (float *)(void *)(work + OF(286720, 221184, 218112)); /* [d: 64, j: 144] */
    float *const saved_0_tile = (float *)(void *)(work + (98496 * LANES + 209024)); /* [i: (16 * LANES)] */
    float *const row_0_tile = (float *)(void *)(work + (98560 * LANES + 209024)); /* [i: (16 * LANES)] */
    float *const saved_1_tile = (float *)(void *)(work + (98624 * LANES + 209024)); /* [i: (16 * LANES)] */
    float *const row_1_tile = (float *)(void *)(work + (98688 * LANES + 209024)); /* [i: (16 * LANES)] */
    if (partial_0) {
        /* unit_sum = 0.0f; unit_sum_compensation = 0.0f */
        for (int64_t one = 0; one < 1; one += LANES) {
            T(store)(unit_sum + one, T(splat)(0.0f));
            T(store)(unit_sum_compensation + one, T(splat)(0.0f));
        }
    }
    for (int64_t b = 0; b < batch; b++) {
        const int64_t query_start = call->p.query_start ? call->p.query_start[b] : n_k - n_q;
        for (int64_t i0 = max(0, (unit16 * ((((batch * ((n_q + 63) / 64)) + 15) / 16) * 64)) - ((b * ((n_q + 63) / 64))
            * 64)), i_end = min(n_q, (unit16 * ((((batch * ((n_q + 63) / 64)) + 15) / 16) * 64)) + ((((batch * ((n_q +
            63) / 64)) + 15) / 16) * 64) - ((b * ((n_q + 63) / 64)) * 64)); i0 < i_end; i0 += (16 * LANES)) {
            const int64_t i1 = min(i0 + (16 * LANES), i_end);
            if (dq2_array || partial_0) {
                if (q2_array_stride_3 == 1) {
                    /* q2_tile = q2_array, with zeros beyond the last row */
                    T(transpose_padded)(q2_array + b * q2_array_batch + i0 * q2_array_row, q2_array_row, i1 - i0, 64,
                        q2_tile, (16 * LANES + 16), 64);
                } else {
                    /* q2_tile = q2_array, with zeros beyond the last row */
                    for (int64_t i = 0; i < round_up(i1 - i0, LANES); i++)
                        for (int64_t d = 0; d < 64; d++)
                            q2_tile[d * (16 * LANES + 16) + i] = i < i1 - i0 ? q2_array[b * q2_array_batch + (i0 + i) *
                                q2_array_row + d * q2_array_stride_3] : 0;
                }
            }
            if (dq) {
                /* q_tile = q, with zeros beyond the last row */
                T(transpose_padded)(q + b * q_batch + i0 * q_row, q_row, i1 - i0, 64, q_tile, (16 * LANES + 16), 64);
            }
            /* dout_tile = dout, with zeros beyond the last row */
            T(transpose_padded)(dout + b * dout_batch + i0 * dout_row, dout_row, i1 - i0, 128, dout_tile,
                (16 * LANES + 16), 64);
            if (dq2_array) {
                /* saved_0_tile = saved_0, with zeros beyond the last row */
                for (int64_t i = 0; i < round_up(i1 - i0, LANES); i++)
                    saved_0_tile[i] = i < i1 - i0 ? saved_0[b * saved_0_batch + (i0 + i)] : 0;
                /* row_0_tile = row_0, with zeros beyond the last row */
                for (int64_t i = 0; i < round_up(i1 - i0, LANES); i++)
                    row_0_tile[i] = i < i1 - i0 ? row_0[b * row_0_batch + (i0 + i)] : 0;
            }
            if (dq) {
                /* saved_1_tile = saved_1, with zeros beyond the last row */
                for (int64_t i = 0; i < round_up(i1 - i0, LANES); i++)
                    saved_1_tile[i] = i < i1 - i0 ? saved_1[b * saved_1_batch + (i0 + i)] : 0;
                /* row_1_tile = row_1, with zeros beyond the last row */
                for (int64_t i = 0; i < round_up(i1 - i0, LANES); i++)
                    row_1_tile[i] = i < i1 - i0 ? row_1[b * row_1_batch + (i0 + i)] : 0;
            }
            /* query_cos = cos((i + query_start) * rope_theta); query_sin = sin((i + query_start) * rope_theta) */
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                const T(ints) t_0 = (i0 + i + T(lane)) + query_start;
                for (int64_t t = 0; t < 32; t++) {
                    const T(wide) angle1 = __builtin_convertvector(t_0, T(wide)) * rope_theta[t];
                    T(store)(query_cos + t * (16 * LANES + 16) + i, T(cos)(&angle1));
                    const T(wide) angle2 = __builtin_convertvector(t_0, T(wide)) * rope_theta[t];
                    T(store)(query_sin + t * (16 * LANES + 16) + i, T(sin)(&angle2));
                }
            }
            if (partial_0) {
                /* row_max = -FLT_MAX; row_sum = 0.0f; row_sum_compensation = 0.0f */
                for (int64_t i = 0; i < i1 - i0; i += LANES) {
                    T(store)(row_max + i, T(splat)(-FLT_MAX));
                    T(store)(row_sum + i, T(splat)(0.0f));
                    T(store)(row_sum_compensation + i, T(splat)(0.0f));
                }
            }
            if (dq2_array || partial_0) {
                /* sum = 0.0f; sum_compensation = 0.0f; query_3 = dout_tile * neg(lam) */
                const float t_3 = -lam_array[0];
                for (int64_t i_first = 0; i_first < i1 - i0; i_first += OF(64, 16, 8)) {
                    for (int64_t e = 0; e < 128; e++) {
                        UNROLL for (int64_t vector = 0, i = i_first; vector < OF(4, 2, 2); vector++, i += LANES) {
                            T(store)(sum + e * (16 * LANES + 16) + i, T(splat)(0.0f));
                            T(store)(sum_compensation + e * (16 * LANES + 16) + i, T(splat)(0.0f));
                            T(store)(query_3 + e * (16 * LANES + 16) + i, T(load)(dout_tile + e * (16 * LANES + 16) + i)
                                * t_3);
                        }
                    }
                }
            }
            /* query = ((q2_tile * query_cos) + ((q2_tile * query_sin) * select((d % 2) == 0, -1.0f,
               1.0f))) * 0.18033688f; query_2 = ((q_tile  ... */
            for (int64_t d = 0; d < 64; d++) {
                for (int64_t i = 0; i < i1 - i0; i += LANES) {
                    const T(vec) query_cos_4 = T(load)(query_cos + (d / 2) * (16 * LANES + 16) + i);
                    const T(vec) query_sin_5 = T(load)(query_sin + (d / 2) * (16 * LANES + 16) + i);
                    const double t_6 = ((d % 2) == 0) ? (-1.0) : 1.0;
                    T(store)(query + d * (16 * LANES + 16) + i, ((T(load)(q2_tile + d * (16 * LANES + 16) + i) *
                        query_cos_4) + ((T(load)(q2_tile + (((d % 2) == 0) ? (d + 1) : (d - 1)) * (16 * LANES + 16) + i)
                        * query_sin_5) * (float)t_6)) * 0.18033688f);
                    T(store)(query_2 + d * (16 * LANES + 16) + i, ((T(load)(q_tile + d * (16 * LANES + 16) + i) *
                        query_cos_4) + ((T(load)(q_tile + (((d % 2) == 0) ? (d + 1) : (d - 1)) * (16 * LANES + 16) + i)
                        * query_sin_5) * (float)t_6)) * 0.18033688f);
                    T(store)(sum_2 + d * (16 * LANES + 16) + i, T(splat)(0.0f));
                    T(store)(sum_2_compensation + d * (16 * LANES + 16) + i, T(splat)(0.0f));
                    T(store)(sum_3 + d * (16 * LANES + 16) + i, T(splat)(0.0f));
                    T(store)(sum_3_compensation + d * (16 * LANES + 16) + i, T(splat)(0.0f));
                }
            }
            for (int64_t j0 = 0, j_end = min(n_k, i1 + query_start); j0 < j_end; j0 += 144) {
                const int64_t j1 = min(j0 + 144, j_end);
                if (dq) {
                    /* k_tile = k, with zeros beyond the last row */
                    T(transpose_padded)(k + b * k_batch + j0 * k_row, k_row, j1 - j0, 64, k_tile, 144, 64);
                }
                if (dq2_array || partial_0) {
                    if (k2_array_stride_3 == 1) {
                        /* k2_tile = k2_array, with zeros beyond the last row */
                        T(transpose_padded)(k2_array + b * k2_array_batch + j0 * k2_array_row, k2_array_row, j1 - j0,
                            64, k2_tile, 144, 64);
                    } else {
                        /* k2_tile = k2_array, with zeros beyond the last row */
                        for (int64_t j = 0; j < round_up(j1 - j0, LANES); j++)
                            for (int64_t d = 0; d < 64; d++)
                                k2_tile[d * 144 + j] = j < j1 - j0 ? k2_array[b * k2_array_batch + (j0 + j) *
                                    k2_array_row + d * k2_array_stride_3] : 0;
                    }
                }
                /* key_cos = cos(j * rope_theta); key_sin = sin(j * rope_theta) */
                for (int64_t j = 0; j < j1 - j0; j += LANES) {
                    const T(ints) t_7 = j0 + j + T(lane);
                    for (int64_t t = 0; t < 32; t++) {
                        const T(wide) angle8 = __builtin_convertvector(t_7, T(wide)) * rope_theta[t];
                        T(store)(key_cos + t * 144 + j, T(cos)(&angle8));
                        const T(wide) angle9 = __builtin_convertvector(t_7, T(wide)) * rope_theta[t];
                        T(store)(key_sin + t * 144 + j, T(sin)(&angle9));
                    }
                }
                /* key = (k_tile * key_cos) + ((k_tile * key_sin) * select((d % 2) == 0, -1.0f, 1.0f));
                   key_2 = (k2_tile * key_cos) + ((k2_tile * k ... */
                for (int64_t d = 0; d < 64; d++) {
                    for (int64_t j = 0; j < j1 - j0; j += LANES) {
                        const T(vec) key_cos_10 = T(load)(key_cos + (d / 2) * 144 + j);
                        const T(vec) key_sin_11 = T(load)(key_sin + (d / 2) * 144 + j);
                        const double t_12 = ((d % 2) == 0) ? (-1.0) : 1.0;
                        T(store)(key + d * 144 + j, (T(load)(k_tile + d * 144 + j) * key_cos_10) + ((T(load)(k_tile +
                            (((d % 2) == 0) ? (d + 1) : (d - 1)) * 144 + j) * key_sin_11) * (float)t_12));
                        T(store)(key_2 + d * 144 + j, (T(load)(k2_tile + d * 144 + j) * key_cos_10) + ((T(load)(k2_tile
                            + (((d % 2) == 0) ? (d + 1) : (d - 1)) * 144 + j) * key_sin_11) * (float)t_12));
                    }
                }
                if (dq2_array || partial_0) {
                    /* score[j][i] = sum over d of key_2 * query */
#if OF(1, 1, 0)
                    T(dot6)(round_up(i1 - i0, LANES), j1 - j0, key_2, query, score);
#else
                    T(dot9)(round_up(i1 - i0, 4), j1 - j0, key_2, query, score);
#endif
                }
                if (dq) {
                    /* score_2[j][i] = sum over d of key * query_2 */
#if OF(1, 1, 0)
                    T(dot6)(round_up(i1 - i0, LANES), j1 - j0, key, query_2, score_2);
#else
                    T(dot9)(round_up(i1 - i0, 4), j1 - j0, key, query_2, score_2);
#endif
                }
                if (partial_0) {
                    /* old_max = row_max */
                    for (int64_t i = 0; i < i1 - i0; i += LANES) {
                        T(store)(old_max + i, T(load)(row_max + i));
                    }
                }
                if ((i0 + query_start + 1) < j1) { /* the tile is partly outside the mask */
                    if (dq2_array || partial_0) {
                        /* score = select(j <= (i + query_start), score, -INFINITY) */
                        for (int64_t i = 0; i < i1 - i0; i += LANES) {
                            const T(ints) t_13 = (i0 + i + T(lane)) + query_start;
                            for (int64_t j = 0; j < j1 - j0; j++) {
                                T(store)(score + j * (16 * LANES + 16) + i, T(pick)(__builtin_convertvector((j0 + j) <=
                                    t_13, T(mask)), T(load)(score + j * (16 * LANES + 16) + i), T(splat)(-INFINITY)));
                            }
                        }
                    }
                }
                if (partial_0) {
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
                        for (int64_t j = 0; j < j1 - j0; j++) {
                            UNROLL for (int64_t vector = 0, i = i_first; vector < 4; vector++, i += 16) {
                                row_max_in[vector] = T(max)(row_max_in[vector], T(load)(score + j * 272 + i));
#else
                        for (int64_t j_first = 0; j_first < j1 - j0; j_first += 2) {
                            UNROLL for (int j_chain = 0; j_chain < 2; j_chain++) {
                                const int64_t j = min(j_first + j_chain, j1 - j0 - 1);
                                UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += LANES) {
                                    row_max_in[vector][j_chain] = T(max)(row_max_in[vector][j_chain],
                                        T(load)(score + j * (16 * LANES + 16) + i));
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
                        const T(vec) old_max_14 = T(load)(old_max + i);
                        const T(vec) old_max_new15 = T(exp2)(old_max_14 - T(load)(row_max + i));
                        T(store)(old_max + i, old_max_new15);
                        T(store)(row_sum + i, T(load)(row_sum + i) * old_max_new15);
                        T(store)(row_sum_compensation + i, T(load)(row_sum_compensation + i) * old_max_new15);
                    }
                    /* weight = exp2(score - row_max); row_sum += weight */
                    for (int64_t i = 0; i < i1 - i0; i += LANES) {
                        const T(vec) row_max_16 = T(load)(row_max + i);
                        T(vec) row_sum_in = (T(vec)){0};
                        for (int64_t j = 0; j < j1 - j0; j++) {
                            const T(vec) weight_new17 = T(exp2)(T(load)(score + j * (16 * LANES + 16) + i) -
                                row_max_16);
                            T(store)(weight + j * (16 * LANES + 16) + i, weight_new17);
                            row_sum_in += weight_new17;
                        }
                        T(add)(row_sum + i, row_sum_compensation + i, row_sum_in, T(splat)(1));
                    }
                    /* sum[e][i] = sum * old_max + sum over j of v * weight */
                    if (__builtin_expect(((i0 + query_start + 1) < j1) && !T(finite)(v + b * v_batch + j0 * v_row,
                        v_row, j1 - j0, 128), 0)) { /* infinity and NaN affect only queries that see them */
                        T(dot7)(round_up(i1 - i0, LANES), j1 - j0, v + b * v_batch + j0 * v_row, v_row, weight, sum,
                            old_max, sum_compensation);
                        for (int64_t j = 0; j < j1 - j0; j++) {
                            T(mask) in_region[16] = {0};
                            if (T(finite)(v + b * v_batch + j0 * v_row + j * v_row, 1, 128, 1)) continue;
                            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                                in_region[i / LANES] = __builtin_convertvector((j0 + j) <= ((i0 + i + T(lane)) +
                                    query_start), T(mask));
                            }
                            T(add_seen)(128, sum, (16 * LANES + 16), v + b * v_batch + j0 * v_row + j * v_row, 1,
                                weight + j * (16 * LANES + 16), in_region, i1 - i0);
                        }
                    } else
                        T(dot8)(round_up(i1 - i0, LANES), j1 - j0, v + b * v_batch + j0 * v_row, v_row, weight, sum,
                            old_max, sum_compensation);
                }
                if (dq2_array) {
                    /* score_3[j][i] = sum over e of v * query_3 */
#if OF(1, 1, 0)
                    T(dot9)(round_up(i1 - i0, LANES), j1 - j0, v + b * v_batch + j0 * v_row, v_row, query_3, score_3);
#else
                    T(dot10)(round_up(i1 - i0, 4), j1 - j0, v + b * v_batch + j0 * v_row, v_row, query_3, score_3);
#endif
                }
                if (dq) {
                    /* score_4[j][i] = sum over e of v * dout_tile */
#if OF(1, 1, 0)
                    T(dot9)(round_up(i1 - i0, LANES), j1 - j0, v + b * v_batch + j0 * v_row, v_row, dout_tile, score_4);
#else
                    T(dot10)(round_up(i1 - i0, 4), j1 - j0, v + b * v_batch + j0 * v_row, v_row, dout_tile, score_4);
#endif
                }
                if (dq || dq2_array) {
                    /* score = (score_3 + row_0_tile) * (exp2(score - saved_0_tile) * 0.125f);
                       score_2 = (score_4 + row_1_tile) * (exp2(score_2 - saved ... */
                    for (int64_t i = 0; i < i1 - i0; i += LANES) {
                        const T(vec) row_0_tile_18 = T(load)(row_0_tile + i);
                        const T(vec) saved_0_tile_19 = T(load)(saved_0_tile + i);
                        const T(vec) row_1_tile_20 = T(load)(row_1_tile + i);
                        const T(vec) saved_1_tile_21 = T(load)(saved_1_tile + i);
                        for (int64_t j = 0; j < j1 - j0; j++) {
                            T(store)(score + j * (16 * LANES + 16) + i, (T(load)(score_3 + j * (16 * LANES + 16) + i) +
                                row_0_tile_18) * (T(exp2)(T(load)(score + j * (16 * LANES + 16) + i) - saved_0_tile_19)
                                * 0.125f));
                            T(store)(score_2 + j * (16 * LANES + 16) + i, (T(load)(score_4 + j * (16 * LANES + 16) + i)
                                + row_1_tile_20) * (T(exp2)(T(load)(score_2 + j * (16 * LANES + 16) + i) -
                                saved_1_tile_21) * 0.125f));
                        }
                    }
                }
                if ((i0 + query_start + 1) < j1) { /* the tile is partly outside the mask */
                    if (dq) {
                        /* score_2 = select(j <= (i + query_start), score_2, 0.0f) */
                        for (int64_t i = 0; i < i1 - i0; i += LANES) {
                            const T(ints) t_22 = (i0 + i + T(lane)) + query_start;
                            for (int64_t j = 0; j < j1 - j0; j++) {
                                T(store)(score_2 + j * (16 * LANES + 16) + i,
                                    T(pick)(__builtin_convertvector((j0 + j) <= t_22, T(mask)),
                                    T(load)(score_2 + j * (16 * LANES + 16) + i), T(splat)(0.0f)));
                            }
                        }
                    }
                }
                if (dq) {
                    /* sum_2[d][i] += sum over j of key * score_2 */
                    if (__builtin_expect(((i0 + query_start + 1) < j1) && !T(finite)(key, 144, 64, j1 - j0),
                        0)) { /* infinity and NaN affect only queries that see them */
#if OF(1, 1, 0)
                        T(dot10)(round_up(i1 - i0, LANES), j1 - j0, key, score_2, sum_2, sum_2_compensation);
#else
                        T(dot11)(round_up(i1 - i0, 4), j1 - j0, key, score_2, sum_2, sum_2_compensation);
#endif
                        for (int64_t j = 0; j < j1 - j0; j++) {
                            T(mask) in_region[16] = {0};
                            if (T(finite)(key + j * 1, 144, 64, 1)) continue;
                            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                                in_region[i / LANES] = __builtin_convertvector((j0 + j) <= ((i0 + i + T(lane)) +
                                    query_start), T(mask));
                            }
                            T(add_seen)(64, sum_2, (16 * LANES + 16), key + j * 1, 144, score_2 + j * (16 * LANES + 16),
                                in_region, i1 - i0);
                        }
                    } else
#if OF(1, 1, 0)
                        T(dot11)(round_up(i1 - i0, LANES), j1 - j0, key, score_2, sum_2, sum_2_compensation);
#else
                        T(dot12)(round_up(i1 - i0, 4), j1 - j0, key, score_2, sum_2, sum_2_compensation);
#endif
                }
                if ((i0 + query_start + 1) < j1) { /* the tile is partly outside the mask */
                    if (dq2_array) {
                        /* score = select(j <= (i + query_start), score, 0.0f) */
                        for (int64_t i = 0; i < i1 - i0; i += LANES) {
                            const T(ints) t_23 = (i0 + i + T(lane)) + query_start;
                            for (int64_t j = 0; j < j1 - j0; j++) {
                                T(store)(score + j * (16 * LANES + 16) + i, T(pick)(__builtin_convertvector((j0 + j) <=
                                    t_23, T(mask)), T(load)(score + j * (16 * LANES + 16) + i), T(splat)(0.0f)));
                            }
                        }
                    }
                }
                if (dq2_array) {
                    /* sum_3[d][i] += sum over j of key_2 * score */
                    if (__builtin_expect(((i0 + query_start + 1) < j1) && !T(finite)(key_2, 144, 64, j1 - j0),
                        0)) { /* infinity and NaN affect only queries that see them */
#if OF(1, 1, 0)
                        T(dot10)(round_up(i1 - i0, LANES), j1 - j0, key_2, score, sum_3, sum_3_compensation);
#else
                        T(dot11)(round_up(i1 - i0, 4), j1 - j0, key_2, score, sum_3, sum_3_compensation);
#endif
                        for (int64_t j = 0; j < j1 - j0; j++) {
                            T(mask) in_region[16] = {0};
                            if (T(finite)(key_2 + j * 1, 144, 64, 1)) continue;
                            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                                in_region[i / LANES] = __builtin_convertvector((j0 + j) <= ((i0 + i + T(lane)) +
                                    query_start), T(mask));
                            }
                            T(add_seen)(64, sum_3, (16 * LANES + 16), key_2 + j * 1, 144, score + j * (16 * LANES + 16),
                                in_region, i1 - i0);
                        }
                    } else
#if OF(1, 1, 0)
                        T(dot11)(round_up(i1 - i0, LANES), j1 - j0, key_2, score, sum_3, sum_3_compensation);
#else
                        T(dot12)(round_up(i1 - i0, 4), j1 - j0, key_2, score, sum_3, sum_3_compensation);
#endif
                }
            }
            if (dq || dq2_array) {
                /* query_4 = sum_3 * (query_sin * select((d % 2) == 0, -1.0f, 1.0f));
                   query_5 = sum_2 * (query_sin * select((d % 2) == 0, -1.0f, 1.0f)) */
                for (int64_t d = 0; d < 64; d++) {
                    for (int64_t i = 0; i < i1 - i0; i += LANES) {
                        const T(vec) t_24 = T(load)(query_sin + (d / 2) * (16 * LANES + 16) + i) * (float)(((d % 2) ==
                            0) ? (-1.0) : 1.0);
                        T(store)(query_4 + d * (16 * LANES + 16) + i, T(load)(sum_3 + d * (16 * LANES + 16) + i) *
                            t_24);
                        T(store)(query_5 + d * (16 * LANES + 16) + i, T(load)(sum_2 + d * (16 * LANES + 16) + i) *
                            t_24);
                    }
                }
                /* sum_2 = (sum_2 * query_cos) + query_5; sum_3 = (sum_3 * query_cos) + query_4 */
                for (int64_t d = 0; d < 64; d++) {
                    for (int64_t i = 0; i < i1 - i0; i += LANES) {
                        const T(vec) query_cos_25 = T(load)(query_cos + (d / 2) * (16 * LANES + 16) + i);
                        T(store)(sum_2 + d * (16 * LANES + 16) + i, (T(load)(sum_2 + d * (16 * LANES + 16) + i) *
                            query_cos_25) + T(load)(query_5 + (((d % 2) == 0) ? (d + 1) : (d - 1)) * (16 * LANES + 16) +
                            i));
                        T(store)(sum_3 + d * (16 * LANES + 16) + i, (T(load)(sum_3 + d * (16 * LANES + 16) + i) *
                            query_cos_25) + T(load)(query_4 + (((d % 2) == 0) ? (d + 1) : (d - 1)) * (16 * LANES + 16) +
                            i));
                    }
                }
            }
            if (partial_0) {
                /* unit_sum += dout_tile * select(row_sum == 0.0f, 0.0f, neg(sum) * (1.0f / row_sum)) */
                for (int64_t one = 0; one < 1; one++) {
                    for (int64_t e = 0; e < 128; e++) {
                        T(vec) lane_sums = T(splat)(0);
                        for (int64_t i = 0; i < i1 - i0; i += LANES) {
                            const T(vec) row_sum_26 = T(load)(row_sum + i);
                            const T(mask) t_27 = row_sum_26 == 0.0f;
                            const T(vec) t_28 = 1.0f / row_sum_26;
                            const T(vec) term = T(load)(dout_tile + e * (16 * LANES + 16) + i) * T(pick)(t_27,
                                T(splat)(0.0f), (-T(load)(sum + e * (16 * LANES + 16) + i)) * t_28);
                            lane_sums += i + LANES <= i1 - i0 ? term : T(pick)(__builtin_convertvector(i + T(lane) < i1
                                - i0, T(mask)), term, T(splat)(0));
                        }
                        const float total = T(lane_sum)(lane_sums);
                        const float more = unit_sum_compensation[one] + total, sum_then = unit_sum[one] + more;
                        unit_sum_compensation[one] = more - (sum_then - unit_sum[one]);
                        unit_sum[one] = sum_then;
                    }
                }
            }
            if (dq) {
                /* dq = sum_2, transposed back */
                T(transpose_out)(sum_2, (16 * LANES + 16), 64, i1 - i0, dq + b * dq_batch + i0 * dq_row, dq_row, 64);
            }
            if (dq2_array) {
                /* dq2_array = sum_3, transposed back */
                T(transpose_out)(sum_3, (16 * LANES + 16), 64, i1 - i0,
                    dq2_array + b * (kv_heads * members * n_q * 64) + i0 * 64, 64, 64);
            }
        }
    }
    if (partial_0) {
        /* partial_0 = unit_sum */
        for (int64_t one = 0; one < 1; one++)
            partial_0[one] = unit_sum[one];
    }
}

/* Computes task number `task`: one tile of keys of one head. `work` is this thread's workspace. */
TARGET static void T(differential_dk_dv_dk2)(const struct call *call, int64_t task, unsigned char *work)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_q = call->p.n_q;
    const int64_t n_k = call->p.n_k;
    const int64_t tiles = (n_k + (16 * LANES) - 1) / (16 * LANES), j0 = (tiles - 1 - task % tiles) * (16 * LANES),
        j1 = min(j0 + (16 * LANES), n_k);
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
    const float *const q2_array = (const float *)call->array[ARRAY_q2_array].at + b *
        call->array[ARRAY_q2_array].strides.batch + g * members * call->array[ARRAY_q2_array].strides.head;
    const int64_t q2_array_row = call->array[ARRAY_q2_array].strides.row;
    const int64_t q2_array_stride_3 = call->array[ARRAY_q2_array].stride[3];
    const int64_t q2_array_head = call->array[ARRAY_q2_array].strides.head;
    const float *const k2_array = (const float *)call->array[ARRAY_k2_array].at + b *
        call->array[ARRAY_k2_array].strides.batch + g * call->array[ARRAY_k2_array].strides.head;
    const int64_t k2_array_row = call->array[ARRAY_k2_array].strides.row;
    const int64_t k2_array_stride_3 = call->array[ARRAY_k2_array].stride[3];
    const float *const lam_array = (const float *)call->array[ARRAY_lam_array].at + g * members *
        call->array[ARRAY_lam_array].stride[0];
    const int64_t lam_array_stride_0 = call->array[ARRAY_lam_array].stride[0];
    const float *const dout = (const float *)call->array[ARRAY_dout].at + b * call->array[ARRAY_dout].strides.batch + g
        * members * call->array[ARRAY_dout].strides.head;
    const int64_t dout_row = call->array[ARRAY_dout].strides.row;
    const int64_t dout_head = call->array[ARRAY_dout].strides.head;
    const float *const row_0 = (const float *)call->array[ARRAY_row_0].at + (b * call->p.heads + g * members) *
        call->p.n_q;
    const int64_t row_0_head = call->p.n_q;
    const float *const row_1 = (const float *)call->array[ARRAY_row_1].at + (b * call->p.heads + g * members) *
        call->p.n_q;
    const int64_t row_1_head = call->p.n_q;
    const float *const saved_0 = (const float *)call->array[ARRAY_saved_0].at + (b * call->p.heads + g * members) *
        call->p.n_q;
    const int64_t saved_0_head = call->p.n_q;
    const float *const saved_1 = (const float *)call->array[ARRAY_saved_1].at + (b * call->p.heads + g * members) *
        call->p.n_q;
    const int64_t saved_1_head = call->p.n_q;
    float *const query_cos = (float *)(void *)(work + 0); /* [t: 32, j: (16 * LANES) of (16 * LANES + 16)] */
    float *const query_sin = (float *)(void *)(work + (2048 * LANES + 2048)); /* [t: 32,
        j: (16 * LANES) of (16 * LANES + 16)] */
    float *const key_cos = (float *)(void *)(work + (4096 * LANES + 4096)); /* [t: 32, i: OF(144, 144, 288)] */
    float *const key_sin = (float *)(void *)(work + OF(88064, 55296, 57344)); /* [t: 32, i: OF(144, 144, 288)] */
    float *const key = (float *)(void *)(work + OF(106496, 73728, 94208)); /* [d: 64, i: OF(144, 144, 288)] */
    float *const key_2 = (float *)(void *)(work + OF(143360, 110592, 167936)); /* [d: 64, i: OF(144, 144, 288)] */
    float *const query = (float *)(void *)(work + OF(180224, 147456, 241664)); /* [d: 64,
        j: (16 * LANES) of (16 * LANES + 16)] */
    float *const score = (float *)(void *)(work + OF(249856, 184320, 262144)); /* [i: OF(144, 144, 288),
        j: (16 * LANES) of (16 * LANES + 16)] */
    float *const query_2 = (float *)(void *)(work + OF(406528, 267264, 354304)); /* [d: 64,
        j: (16 * LANES) of (16 * LANES + 16)] */
    float *const score_2 = (float *)(void *)(work + OF(476160, 304128, 374784)); /* [i: OF(144, 144, 288),
        j: (16 * LANES) of (16 * LANES + 16)] */
    float *const score_3 = (float *)(void *)(work + OF(632832, 387072, 466944)); /* [i: OF(144, 144, 288),
        j: (16 * LANES) of (16 * LANES + 16)] */
    float *const sum = (float *)(void *)(work + OF(789504, 470016, 559104)); /* [e: 128,
        j: (16 * LANES) of (16 * LANES + 16)] */
    float *const sum_compensation = (float *)(void *)(work + OF(928768, 543744, 600064)); /* [e: 128,
        j: (16 * LANES) of (16 * LANES + 16)] */
    float *const score_4 = (float *)(void *)(work + OF(1068032, 617472, 641024)); /* [i: OF(144, 144, 288),
        j: (16 * LANES) of (16 * LANES + 16)] */
    float *const sum_2 = (float *)(void *)(work + OF(1224704, 700416, 733184)); /* [e: 128,
        j: (16 * LANES) of (16 * LANES + 16)] */
    float *const sum_2_compensation = (float *)(void *)(work + OF(1363968, 774144, 774144)); /* [e: 128,
        j: (16 * LANES) of (16 * LANES + 16)] */
    float *const sum_3 = (float *)(void *)(work + OF(1503232, 847872, 815104)); /* [d: 64,
        j: (16 * LANES) of (16 * LANES + 16)] */
    float *const sum_3_compensation = (float *)(void *)(work + OF(1572864, 884736, 835584)); /* [d: 64,
        j: (16 * LANES) of (16 * LANES + 16)] */
    float *const sum_4 = (float *)(void *)(work + OF(1642496, 921600, 856064)); /* [d: 64,
        j: (16 * LANES) of (16 * LANES + 16)] */
    float *const sum_4_compensation = (float *)(void *)(work + OF(1712128, 958464, 876544)); /* [d: 64,
        j: (16 * LANES) of (16 * LANES + 16)] */
    float *const query_3 = (float *)(void *)(work + (4096 * LANES + 4096)); /* [d: 64,
        j: (16 * LANES) of (16 * LANES + 16)] */
    float *const query_4 = (float *)(void *)(work + (8192 * LANES + 8192)); /* [d: 64,
        j: (16 * LANES) of (16 * LANES + 16)] */
    float *const dk = call->array[ARRAY_dk].at ? (float *)call->array[ARRAY_dk].at + b *
        call->array[ARRAY_dk].strides.batch + g * call->array[ARRAY_dk].strides.head : NULL;
    const int64_t dk_row = call->array[ARRAY_dk].strides.row;
    float *const dv = call->array[ARRAY_dv].at ? (float *)call->array[ARRAY_dv].at + b *
        call->array[ARRAY_dv].strides.batch + g * call->array[ARRAY_dv].strides.head : NULL;
    const int64_t dv_row = call->array[ARRAY_dv].strides.row;
    float *const dk2_array = call->array[ARRAY_dk2_array].at ? (float *)call->array[ARRAY_dk2_array].at + (b * kv_heads
        + g) * n_k * 64 : NULL;
    float *const k2_tile = (float *)(void *)(work + (4096 * LANES + 4096)); /* [d: 64,
        j: (16 * LANES) of (16 * LANES + 16)] */
    float *const k_tile = (float *)(void *)(work + OF(249856, 73728, 40960)); /* [d: 64,
        j: (16 * LANES) of (16 * LANES + 16)] */
    float *const q_tile = (float *)(void *)(work + OF(249856, 184320, 262144)); /* [d: 64, i: OF(144, 144, 288)] */
    float *const q2_tile = (float *)(void *)(work + OF(286720, 221184, 374784)); /* [d: 64, i: OF(144, 144, 288)] */
    float *const dout_tile = (float *)(void *)(work + OF(1068032, 617472, 897024)); /* [e: 128, i: OF(144, 144, 288)] */
    float *const v_tile = (float *)(void *)(work + OF(1781760, 995328, 1044480)); /* [e: 128,
        j: (16 * LANES) of (16 * LANES + 16)] */
    int64_t results = j1 - j0; /* rows of dk to prefetch during the first product */
    if (dv || dk2_array) {
        if (k2_array_stride_3 == 1) {
            /* k2_tile = k2_array, with zeros beyond the last row */
            T(transpose_padded)(k2_array + j0 * k2_array_row, k2_array_row, j1 - j0, 64, k2_tile, (16 * LANES + 16),
                LANES);
        } else {
            /* k2_tile = k2_array, with zeros beyond the last row */
            for (int64_t j = 0; j < round_up(j1 - j0, LANES); j++)
                for (int64_t d = 0; d < 64; d++)
                    k2_tile[d * (16 * LANES + 16) + j] = j < j1 - j0 ? k2_array[(j0 + j) * k2_array_row + d *
                        k2_array_stride_3] : 0;
        }
    }
    if (dk || dv) {
        /* k_tile = k, with zeros beyond the last row */
        T(transpose_padded)(k + j0 * k_row, k_row, j1 - j0, 64, k_tile, (16 * LANES + 16), LANES);
    }
    if (dk || dk2_array) {
        /* v_tile = v, with zeros beyond the last row */
        T(transpose_padded)(v + j0 * v_row, v_row, j1 - j0, 128, v_tile, (16 * LANES + 16), LANES);
    }
    /* query_cos = cos(j * rope_theta); query_sin = sin(j * rope_theta) */
    for (int64_t j = 0; j < j1 - j0; j += LANES) {
        const T(ints) t_0 = j0 + j + T(lane);
        for (int64_t t = 0; t < 32; t++) {
            const T(wide) angle1 = __builtin_convertvector(t_0, T(wide)) * rope_theta[t];
            T(store)(query_cos + t * (16 * LANES + 16) + j, T(cos)(&angle1));
            const T(wide) angle2 = __builtin_convertvector(t_0, T(wide)) * rope_theta[t];
            T(store)(query_sin + t * (16 * LANES + 16) + j, T(sin)(&angle2));
        }
    }
    if (dv) {
        /* sum = 0.0f; sum_compensation = 0.0f; sum_2 = 0.0f; sum_2_compensation = 0.0f */
        for (int64_t e = 0; e < 128; e++) {
            for (int64_t j = 0; j < j1 - j0; j += LANES) {
                T(store)(sum + e * (16 * LANES + 16) + j, T(splat)(0.0f));
                T(store)(sum_compensation + e * (16 * LANES + 16) + j, T(splat)(0.0f));
                T(store)(sum_2 + e * (16 * LANES + 16) + j, T(splat)(0.0f));
                T(store)(sum_2_compensation + e * (16 * LANES + 16) + j, T(splat)(0.0f));
            }
        }
    }
    /* query = ((k2_tile * query_cos) + ((k2_tile * query_sin) * select((d % 2) == 0, -1.0f, 1.0f))) * 0.18033688f;
       query_2 = ((k_tile  ... */
    for (int64_t d = 0; d < 64; d++) {
        for (int64_t j = 0; j < j1 - j0; j += LANES) {
            const T(vec) query_cos_3 = T(load)(query_cos + (d / 2) * (16 * LANES + 16) + j);
            const T(vec) query_sin_4 = T(load)(query_sin + (d / 2) * (16 * LANES + 16) + j);
            const double t_5 = ((d % 2) == 0) ? (-1.0) : 1.0;
            T(store)(query + d * (16 * LANES + 16) + j, ((T(load)(k2_tile + d * (16 * LANES + 16) + j) * query_cos_3) +
                ((T(load)(k2_tile + (((d % 2) == 0) ? (d + 1) : (d - 1)) * (16 * LANES + 16) + j) * query_sin_4) *
                (float)t_5)) * 0.18033688f);
            T(store)(query_2 + d * (16 * LANES + 16) + j, ((T(load)(k_tile + d * (16 * LANES + 16) + j) * query_cos_3) +
                ((T(load)(k_tile + (((d % 2) == 0) ? (d + 1) : (d - 1)) * (16 * LANES + 16) + j) * query_sin_4) *
                (float)t_5)) * 0.18033688f);
            T(store)(sum_3 + d * (16 * LANES + 16) + j, T(splat)(0.0f));
            T(store)(sum_3_compensation + d * (16 * LANES + 16) + j, T(splat)(0.0f));
            T(store)(sum_4 + d * (16 * LANES + 16) + j, T(splat)(0.0f));
            T(store)(sum_4_compensation + d * (16 * LANES + 16) + j, T(splat)(0.0f));
        }
    }
    for (int64_t m = 0; m < members; m++) {
        for (int64_t i0 = max(0, j0 - query_start), i_end = n_q; i0 < i_end; i0 += OF(144, 144, 288)) {
            const int64_t i1 = min(i0 + OF(144, 144, 288), i_end);
            if (dk || dv) {
                /* q_tile = q, with zeros beyond the last row */
                T(transpose_padded)(q + m * q_head + i0 * q_row, q_row, i1 - i0, 64, q_tile, OF(144, 144, 288), 64);
            }
            if (dv || dk2_array) {
                if (q2_array_stride_3 == 1) {
                    /* q2_tile = q2_array, with zeros beyond the last row */
                    T(transpose_padded)(q2_array + m * q2_array_head + i0 * q2_array_row, q2_array_row, i1 - i0, 64,
                        q2_tile, OF(144, 144, 288), 64);
                } else {
                    /* q2_tile = q2_array, with zeros beyond the last row */
                    for (int64_t i = 0; i < round_up(i1 - i0, LANES); i++)
                        for (int64_t d = 0; d < 64; d++)
                            q2_tile[d * OF(144, 144, 288) + i] = i < i1 - i0 ? q2_array[m * q2_array_head + (i0 + i) *
                                q2_array_row + d * q2_array_stride_3] : 0;
                }
                /* dout_tile = dout, with zeros beyond the last row */
                T(transpose_padded)(dout + m * dout_head + i0 * dout_row, dout_row, i1 - i0, 128, dout_tile, OF(144,
                    144, 288), 64);
            }
            /* key_cos = cos((i + query_start) * rope_theta); key_sin = sin((i + query_start) * rope_theta) */
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                const T(ints) t_6 = (i0 + i + T(lane)) + query_start;
                for (int64_t t = 0; t < 32; t++) {
                    const T(wide) angle7 = __builtin_convertvector(t_6, T(wide)) * rope_theta[t];
                    T(store)(key_cos + t * OF(144, 144, 288) + i, T(cos)(&angle7));
                    const T(wide) angle8 = __builtin_convertvector(t_6, T(wide)) * rope_theta[t];
                    T(store)(key_sin + t * OF(144, 144, 288) + i, T(sin)(&angle8));
                }
            }
            /* key = (q_tile * key_cos) + ((q_tile * key_sin) * select((d % 2) == 0, -1.0f, 1.0f));
               key_2 = (q2_tile * key_cos) + ((q2_tile * k ... */
            for (int64_t d = 0; d < 64; d++) {
                for (int64_t i = 0; i < i1 - i0; i += LANES) {
                    const T(vec) key_cos_9 = T(load)(key_cos + (d / 2) * OF(144, 144, 288) + i);
                    const T(vec) key_sin_10 = T(load)(key_sin + (d / 2) * OF(144, 144, 288) + i);
                    const double t_11 = ((d % 2) == 0) ? (-1.0) : 1.0;
                    T(store)(key + d * OF(144, 144, 288) + i, (T(load)(q_tile + d * OF(144, 144,
                        288) + i) * key_cos_9) + ((T(load)(q_tile + (((d % 2) == 0) ? (d + 1) : (d - 1)) * OF(144, 144,
                        288) + i) * key_sin_10) * (float)t_11));
                    T(store)(key_2 + d * OF(144, 144, 288) + i, (T(load)(q2_tile + d * OF(144, 144,
                        288) + i) * key_cos_9) + ((T(load)(q2_tile + (((d % 2) == 0) ? (d + 1) : (d - 1)) * OF(144, 144,
                        288) + i) * key_sin_10) * (float)t_11));
                }
            }
            if (dv || dk2_array) {
                /* score[i][j] = sum over d of key_2 * query */
                T(dot6)(round_up(j1 - j0, LANES), i1 - i0, key_2, query, score);
            }
            if (dk || dv) {
                /* score_2[i][j] = sum over d of key * query_2 */
                T(dot6)(round_up(j1 - j0, LANES), i1 - i0, key, query_2, score_2);
            }
            if (dv || dk2_array) {
                /* dout_tile = dout_tile * neg(lam) */
                const float t_12 = -(lam_array[m * lam_array_stride_0]);
                for (int64_t i_first = 0; i_first < i1 - i0; i_first += OF(48, 16, 8)) {
                    for (int64_t e = 0; e < 128; e++) {
                        UNROLL for (int64_t vector = 0, i = i_first; vector < OF(3, 2, 2); vector++, i += LANES) {
                            T(store)(dout_tile + e * OF(144, 144, 288) + i, T(load)(dout_tile + e * OF(144, 144,
                                288) + i) * t_12);
                        }
                    }
                }
            }
            if (dk2_array) {
                /* score_3[i][j] = sum over e of dout_tile * v_tile */
#if OF(1, 1, 0)
                T(dot12)(round_up(j1 - j0, LANES), i1 - i0, dout_tile, v_tile, score_3);
#else
                T(dot13)(round_up(j1 - j0, 4), i1 - i0, dout_tile, v_tile, score_3);
#endif
            }
            if (dv || dk2_array) {
                /* score = exp2(score - saved_0) */
                for (int64_t j = 0; j < j1 - j0; j += LANES) {
                    for (int64_t i = 0; i < i1 - i0; i++) {
                        T(store)(score + i * (16 * LANES + 16) + j, T(exp2)(T(load)(score + i * (16 * LANES + 16) + j) -
                            (saved_0[m * saved_0_head + (i0 + i)])));
                    }
                }
            }
            if (i0 < (j1 - query_start - 1)) { /* the tile is partly outside the mask */
                if (dv || dk2_array) {
                    /* score = select(j <= (i + query_start), score, 0.0f) */
                    for (int64_t j = 0; j < j1 - j0; j += LANES) {
                        const T(ints) t_13 = j0 + j + T(lane);
                        for (int64_t i = 0; i < i1 - i0; i++) {
                            T(store)(score + i * (16 * LANES + 16) + j, T(pick)(__builtin_convertvector(t_13 <= ((i0 +
                                i) + query_start), T(mask)), T(load)(score + i * (16 * LANES + 16) + j),
                                T(splat)(0.0f)));
                        }
                    }
                }
            }
            if (dv) {
                /* sum[e][j] += sum over i of dout_tile * score */
                if (__builtin_expect((i0 < (j1 - query_start - 1)) && !T(finite)(dout_tile, OF(144, 144, 288), 128,
                    i1 - i0), 0)) { /* infinity and NaN affect only queries that see them */
#if OF(1, 1, 0)
                    T(dot13)(round_up(j1 - j0, LANES), i1 - i0, dout_tile, score, sum, sum_compensation);
#else
                    T(dot14)(round_up(j1 - j0, 4), i1 - i0, dout_tile, score, sum, sum_compensation);
#endif
                    for (int64_t i = 0; i < i1 - i0; i++) {
                        T(mask) in_region[16] = {0};
                        if (T(finite)(dout_tile + i * 1, OF(144, 144, 288), 128, 1)) continue;
                        const int64_t t_14 = (i0 + i) + query_start;
                        for (int64_t j = 0; j < j1 - j0; j += LANES) {
                            in_region[j / LANES] = __builtin_convertvector((j0 + j + T(lane)) <= t_14, T(mask));
                        }
                        T(add_seen)(128, sum, (16 * LANES + 16), dout_tile + i * 1, OF(144, 144, 288),
                            score + i * (16 * LANES + 16), in_region, j1 - j0);
                    }
                } else
#if OF(1, 1, 0)
                    T(dot14)(round_up(j1 - j0, LANES), i1 - i0, dout_tile, score, sum, sum_compensation);
#else
                    T(dot15)(round_up(j1 - j0, 4), i1 - i0, dout_tile, score, sum, sum_compensation);
#endif
            }
            if (dk) {
                /* score_4[i][j] = sum over e of dout * v_tile */
#if OF(1, 1, 0)
                T(dot15)(round_up(j1 - j0, LANES), i1 - i0, dout + m * dout_head + i0 * dout_row, dout_row, v_tile,
                    score_4, dk + j0 * dk_row, dk_row, results);
#else
                T(dot16)(round_up(j1 - j0, 4), i1 - i0, dout + m * dout_head + i0 * dout_row, dout_row, v_tile, score_4,
                    dk + j0 * dk_row, dk_row, results);
#endif
                results = 0;
            }
            /* score_3 = (score_3 + row_0) * (score * 0.125f); score_2 = exp2(score_2 - saved_1) */
            for (int64_t j = 0; j < j1 - j0; j += LANES) {
                for (int64_t i = 0; i < i1 - i0; i++) {
                    T(store)(score_3 + i * (16 * LANES + 16) + j, (T(load)(score_3 + i * (16 * LANES + 16) + j) +
                        (row_0[m * row_0_head + (i0 + i)])) * (T(load)(score + i * (16 * LANES + 16) + j) * 0.125f));
                    T(store)(score_2 + i * (16 * LANES + 16) + j, T(exp2)(T(load)(score_2 + i * (16 * LANES + 16) + j) -
                        (saved_1[m * saved_1_head + (i0 + i)])));
                }
            }
            if (i0 < (j1 - query_start - 1)) { /* the tile is partly outside the mask */
                if (dk || dv) {
                    /* score_2 = select(j <= (i + query_start), score_2, 0.0f) */
                    for (int64_t j = 0; j < j1 - j0; j += LANES) {
                        const T(ints) t_15 = j0 + j + T(lane);
                        for (int64_t i = 0; i < i1 - i0; i++) {
                            T(store)(score_2 + i * (16 * LANES + 16) + j, T(pick)(__builtin_convertvector(t_15 <= ((i0 +
                                i) + query_start), T(mask)), T(load)(score_2 + i * (16 * LANES + 16) + j),
                                T(splat)(0.0f)));
                        }
                    }
                }
            }
            if (dv) {
                /* sum_2[e][j] += sum over i of dout * score_2 */
                if (__builtin_expect((i0 < (j1 - query_start - 1)) && !T(finite)(dout + m * dout_head + i0 * dout_row,
                    dout_row, i1 - i0, 128), 0)) { /* infinity and NaN affect only queries that see them */
#if OF(1, 1, 0)
                    T(dot16)(round_up(j1 - j0, LANES), i1 - i0, dout + m * dout_head + i0 * dout_row, dout_row, score_2,
                        sum_2, sum_2_compensation);
#else
                    T(dot17)(round_up(j1 - j0, 4), i1 - i0, dout + m * dout_head + i0 * dout_row, dout_row, score_2,
                        sum_2, sum_2_compensation);
#endif
                    for (int64_t i = 0; i < i1 - i0; i++) {
                        T(mask) in_region[16] = {0};
                        if (T(finite)(dout + m * dout_head + i0 * dout_row + i * dout_row, 1, 128, 1)) continue;
                        const int64_t t_16 = (i0 + i) + query_start;
                        for (int64_t j = 0; j < j1 - j0; j += LANES) {
                            in_region[j / LANES] = __builtin_convertvector((j0 + j + T(lane)) <= t_16, T(mask));
                        }
                        T(add_seen)(128, sum_2, (16 * LANES + 16), dout + m * dout_head + i0 * dout_row + i * dout_row,
                            1, score_2 + i * (16 * LANES + 16), in_region, j1 - j0);
                    }
                } else
#if OF(1, 1, 0)
                    T(dot17)(round_up(j1 - j0, LANES), i1 - i0, dout + m * dout_head + i0 * dout_row, dout_row, score_2,
                        sum_2, sum_2_compensation);
#else
                    T(dot18)(round_up(j1 - j0, 4), i1 - i0, dout + m * dout_head + i0 * dout_row, dout_row, score_2,
                        sum_2, sum_2_compensation);
#endif
            }
            if (dk) {
                /* score_4 = (score_4 + row_1) * (score_2 * 0.125f) */
                for (int64_t j_first = 0; j_first < j1 - j0; j_first += OF(64, 16, 8)) {
                    for (int64_t i = 0; i < i1 - i0; i++) {
                        UNROLL for (int64_t vector = 0, j = j_first; vector < OF(4, 2, 2); vector++, j += LANES) {
                            T(store)(score_4 + i * (16 * LANES + 16) + j, (T(load)(score_4 + i * (16 * LANES + 16) + j)
                                + (row_1[m * row_1_head + (i0 + i)])) * (T(load)(score_2 + i * (16 * LANES + 16) + j) *
                                0.125f));
                        }
                    }
                }
            }
            if (i0 < (j1 - query_start - 1)) { /* the tile is partly outside the mask */
                if (dk) {
                    /* score_4 = select(j <= (i + query_start), score_4, 0.0f) */
                    for (int64_t j = 0; j < j1 - j0; j += LANES) {
                        const T(ints) t_17 = j0 + j + T(lane);
                        for (int64_t i = 0; i < i1 - i0; i++) {
                            T(store)(score_4 + i * (16 * LANES + 16) + j, T(pick)(__builtin_convertvector(t_17 <= ((i0 +
                                i) + query_start), T(mask)), T(load)(score_4 + i * (16 * LANES + 16) + j),
                                T(splat)(0.0f)));
                        }
                    }
                }
            }
            if (dk) {
                /* sum_3[d][j] += sum over i of key * score_4 */
                if (__builtin_expect((i0 < (j1 - query_start - 1)) && !T(finite)(key, OF(144, 144, 288), 64, i1 - i0),
                    0)) { /* infinity and NaN affect only queries that see them */
#if OF(1, 1, 0)
                    T(dot10)(round_up(j1 - j0, LANES), i1 - i0, key, score_4, sum_3, sum_3_compensation);
#else
                    T(dot19)(round_up(j1 - j0, 4), i1 - i0, key, score_4, sum_3, sum_3_compensation);
#endif
                    for (int64_t i = 0; i < i1 - i0; i++) {
                        T(mask) in_region[16] = {0};
                        if (T(finite)(key + i * 1, OF(144, 144, 288), 64, 1)) continue;
                        const int64_t t_18 = (i0 + i) + query_start;
                        for (int64_t j = 0; j < j1 - j0; j += LANES) {
                            in_region[j / LANES] = __builtin_convertvector((j0 + j + T(lane)) <= t_18, T(mask));
                        }
                        T(add_seen)(64, sum_3, (16 * LANES + 16), key + i * 1, OF(144, 144, 288),
                            score_4 + i * (16 * LANES + 16), in_region, j1 - j0);
                    }
                } else
#if OF(1, 1, 0)
                    T(dot11)(round_up(j1 - j0, LANES), i1 - i0, key, score_4, sum_3, sum_3_compensation);
#else
                    T(dot20)(round_up(j1 - j0, 4), i1 - i0, key, score_4, sum_3, sum_3_compensation);
#endif
            }
            if (i0 < (j1 - query_start - 1)) { /* the tile is partly outside the mask */
                if (dk2_array) {
                    /* score_3 = select(j <= (i + query_start), score_3, 0.0f) */
                    for (int64_t j = 0; j < j1 - j0; j += LANES) {
                        const T(ints) t_19 = j0 + j + T(lane);
                        for (int64_t i = 0; i < i1 - i0; i++) {
                            T(store)(score_3 + i * (16 * LANES + 16) + j, T(pick)(__builtin_convertvector(t_19 <= ((i0 +
                                i) + query_start), T(mask)), T(load)(score_3 + i * (16 * LANES + 16) + j),
                                T(splat)(0.0f)));
                        }
                    }
                }
            }
            if (dk2_array) {
                /* sum_4[d][j] += sum over i of key_2 * score_3 */
                if (__builtin_expect((i0 < (j1 - query_start - 1)) && !T(finite)(key_2, OF(144, 144, 288), 64, i1 - i0),
                    0)) { /* infinity and NaN affect only queries that see them */
#if OF(1, 1, 0)
                    T(dot10)(round_up(j1 - j0, LANES), i1 - i0, key_2, score_3, sum_4, sum_4_compensation);
#else
                    T(dot19)(round_up(j1 - j0, 4), i1 - i0, key_2, score_3, sum_4, sum_4_compensation);
#endif
                    for (int64_t i = 0; i < i1 - i0; i++) {
                        T(mask) in_region[16] = {0};
                        if (T(finite)(key_2 + i * 1, OF(144, 144, 288), 64, 1)) continue;
                        const int64_t t_20 = (i0 + i) + query_start;
                        for (int64_t j = 0; j < j1 - j0; j += LANES) {
                            in_region[j / LANES] = __builtin_convertvector((j0 + j + T(lane)) <= t_20, T(mask));
                        }
                        T(add_seen)(64, sum_4, (16 * LANES + 16), key_2 + i * 1, OF(144, 144, 288),
                            score_3 + i * (16 * LANES + 16), in_region, j1 - j0);
                    }
                } else
#if OF(1, 1, 0)
                    T(dot11)(round_up(j1 - j0, LANES), i1 - i0, key_2, score_3, sum_4, sum_4_compensation);
#else
                    T(dot20)(round_up(j1 - j0, 4), i1 - i0, key_2, score_3, sum_4, sum_4_compensation);
#endif
            }
        }
    }
    if (dk || dk2_array) {
        /* query_3 = sum_4 * (query_sin * select((d % 2) == 0, -1.0f, 1.0f));
           query_4 = sum_3 * (query_sin * select((d % 2) == 0, -1.0f, 1.0f)) */
        for (int64_t d = 0; d < 64; d++) {
            for (int64_t j = 0; j < j1 - j0; j += LANES) {
                const T(vec) t_21 = T(load)(query_sin + (d / 2) * (16 * LANES + 16) + j) * (float)(((d % 2) == 0) ?
                    (-1.0) : 1.0);
                T(store)(query_3 + d * (16 * LANES + 16) + j, T(load)(sum_4 + d * (16 * LANES + 16) + j) * t_21);
                T(store)(query_4 + d * (16 * LANES + 16) + j, T(load)(sum_3 + d * (16 * LANES + 16) + j) * t_21);
            }
        }
    }
    if (dv) {
        /* sum = sum + sum_2 */
        for (int64_t e = 0; e < 128; e++) {
            for (int64_t j = 0; j < j1 - j0; j += LANES) {
                T(store)(sum + e * (16 * LANES + 16) + j, T(load)(sum + e * (16 * LANES + 16) + j) + T(load)(sum_2 + e *
                    (16 * LANES + 16) + j));
            }
        }
    }
    if (dk || dk2_array) {
        /* sum_3 = (sum_3 * query_cos) + query_4; sum_4 = (sum_4 * query_cos) + query_3 */
        for (int64_t d = 0; d < 64; d++) {
            for (int64_t j = 0; j < j1 - j0; j += LANES) {
                const T(vec) query_cos_22 = T(load)(query_cos + (d / 2) * (16 * LANES + 16) + j);
                T(store)(sum_3 + d * (16 * LANES + 16) + j, (T(load)(sum_3 + d * (16 * LANES + 16) + j) * query_cos_22)
                    + T(load)(query_4 + (((d % 2) == 0) ? (d + 1) : (d - 1)) * (16 * LANES + 16) + j));
                T(store)(sum_4 + d * (16 * LANES + 16) + j, (T(load)(sum_4 + d * (16 * LANES + 16) + j) * query_cos_22)
                    + T(load)(query_3 + (((d % 2) == 0) ? (d + 1) : (d - 1)) * (16 * LANES + 16) + j));
            }
        }
    }
    if (dk) {
        /* dk = sum_3, transposed back */
        T(transpose_out)(sum_3, (16 * LANES + 16), 64, j1 - j0, dk + j0 * dk_row, dk_row, LANES);
    }
    if (dv) {
        /* dv = sum, transposed back */
        T(transpose_out)(sum, (16 * LANES + 16), 128, j1 - j0, dv + j0 * dv_row, dv_row, LANES);
    }
    if (dk2_array) {
        /* dk2_array = sum_4, transposed back */
        T(transpose_out)(sum_4, (16 * LANES + 16), 64, j1 - j0, dk2_array + j0 * 64, 64, LANES);
    }
}

/* Computes task number `task`: the totals of the partial sums that the slices of rows have stored. `work` is this
   thread's workspace. */
TARGET static void T(differential_totals1)(const struct call *call, int64_t task, unsigned char *work)
{
    const int64_t members = call->p.heads / max(call->p.kv_heads, 1);
    const int64_t m = task % members;
    const int64_t g = task / members;
    const float *const partial_0 = call->array[ARRAY_partial_0].at ? (const float *)call->array[ARRAY_partial_0].at + (g
        * members + m) * 16 * 1 : NULL;
    float *const gradient = (float *)(void *)(work + 0); /* [one: LANES] */
    float *const gradient_2 = (float *)(void *)(work + 64); /* [one: LANES] */
    float *const dlam_array = call->array[ARRAY_dlam_array].at ? (float *)call->array[ARRAY_dlam_array].at + (g *
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
    if (dlam_array) {
        /* dlam_array = gradient_2 */
        for (int64_t one = 0; one < 1; one++)
            dlam_array[one] = gradient_2[one];
    }
}
#include <attnrt/kernel/end.h>
#else
#ifdef __cplusplus
#error "differential.c is C, not C++: compile it with a C compiler"
#elif !defined __STDC_VERSION__ || __STDC_VERSION__ < 199901L
#error "differential.c is C11, not C89: compile it without -std=, or with -std=gnu11"
extern int differential_is_c11;
#elif !defined __GNUC__
#error "differential.c uses GNU C vector extensions: compile it with gcc or clang"
extern int differential_is_gnu_c;
#else
#include "differential.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include <attnrt/kernel/optimize.h>
#include <attnrt/kernel/call.h>

/* the numbers of the arrays of a call */
enum {
    ARRAY_q, ARRAY_k, ARRAY_v, ARRAY_out, ARRAY_dout, ARRAY_dq, ARRAY_dk, ARRAY_dv, ARRAY_q2_array, ARRAY_k2_array,
    ARRAY_lam_array, ARRAY_dq2_array, ARRAY_dk2_array, ARRAY_dlam_array, ARRAY_saved_0, ARRAY_saved_1, ARRAY_row_0,
    ARRAY_row_1, ARRAY_partial_0
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
#define LOOPS "differential.c"
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
#define MAX_STEPS 144
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
#define MAX_STEPS 144
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
#define MAX_LANES 128
#define OF(v4, v3, any) any /* a number of each target */
#define SECTION
#include LOOPS
#undef SECTION

/* ==== tables for the library that calls these functions (attnrt/kernel/call.h) ==== */
static const struct attn_param param[] = {
    {"q2", ATTN_F32, 4, {ATTN_BATCH, ATTN_HEADS, ATTN_N_Q, 64}, offsetof(struct differential_params, q2), 0,
        offsetof(struct differential_strides, q2), 0, 1, ATTN_NO_LIMITS},
    {"k2", ATTN_F32, 4, {ATTN_BATCH, ATTN_KV_HEADS, ATTN_N_K, 64}, offsetof(struct differential_params, k2), 0,
        offsetof(struct differential_strides, k2), 0, 1, ATTN_NO_LIMITS},
    {"lam", ATTN_F32, 1, {ATTN_HEADS}, offsetof(struct differential_params, lam), 0,
        offsetof(struct differential_strides, lam), 0, 0, ATTN_NO_LIMITS},
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
    {.name = "q2", .access = {ACCESS_READ, ACCESS_READ}, .dtype = ATTN_F32, .rows = ROWS_OF_QUERIES,
        .origin = FROM_PARAMS, .param = 0, .axis = {0, 1, 2}, .has_rows = 1},
    {.name = "k2", .access = {ACCESS_READ, ACCESS_READ}, .dtype = ATTN_F32, .rows = ROWS_OF_KEYS, .origin = FROM_PARAMS,
        .param = 1, .axis = {0, 1, 2}, .has_rows = 1},
    {.name = "lam", .access = {ACCESS_READ, ACCESS_READ}, .dtype = ATTN_F32, .origin = FROM_PARAMS, .param = 2,
        .axis = {-1, 0, -1}},
    {.name = "dq2", .access = {ACCESS_NONE, ACCESS_WANTED}, .dtype = ATTN_F32, .rows = ROWS_OF_QUERIES,
        .origin = FROM_GRADIENTS, .member = offsetof(struct differential_gradients, q2)},
    {.name = "dk2", .access = {ACCESS_NONE, ACCESS_WANTED}, .dtype = ATTN_F32, .rows = ROWS_OF_KEYS,
        .origin = FROM_GRADIENTS, .member = offsetof(struct differential_gradients, k2)},
    {.name = "dlam", .access = {ACCESS_NONE, ACCESS_WANTED}, .dtype = ATTN_F32, .origin = FROM_GRADIENTS,
        .member = offsetof(struct differential_gradients, lam)},
    {.name = "saved_0", .origin = FROM_SAVED},
    {.name = "saved_1", .origin = FROM_SAVED},
    {.name = "row_0", .origin = FROM_ROW_SUMS},
    {.name = "row_1", .origin = FROM_ROW_SUMS},
    {.name = "partial_0", .origin = FROM_LEFT, .elements = 16, .sizes = 1 << -ATTN_HEADS,
        .wanted = (const uint16_t[]){ARRAY_dlam_array, NO_ARRAY}},
};

#if defined(__x86_64__)
static int runs_v4(void)
{
    return attn_x86_64_level() >= 4;
}
static const struct program programs_v4[] = {
    {.role = RUN_FORWARD, .form = FORM_FEW,
     .head = differential_few_v4, .tile = 0, .own = 184320, .few_rows = 64, .lanes = 16, .of_pair = 192,
         .shared = 198656, .slot = 74880, .slots = 4, .together = 1},
    {.role = RUN_FORWARD,
     .rows = differential_rows_v4, .tile = 256, .own = 784512, .of_pair = 192, .saves = 1},
    {.role = RUN_BACKWARD, .part = 4, .sums_slices = 1,
     .rows = differential_totals1_v4, .tile = -1, .own = 1088, .of_pair = 192,
         .wanted = (const uint16_t[]){ARRAY_dlam_array, NO_ARRAY}, .units = 1, .unit_heads = 2},
    {.role = RUN_BACKWARD, .part = 3,
     .rows = differential_dk_dv_dk2_v4, .tile = 256, .own = 1921024, .of_pair = 192,
         .wanted = (const uint16_t[]){ARRAY_dk, ARRAY_dv, ARRAY_dk2_array, NO_ARRAY}, .of_keys = OF_KEY_HEAD},
    {.role = RUN_BACKWARD, .part = 2,
     .rows = differential_dq_dq2_sums1_v4, .tile = -1, .own = 1789056, .of_pair = 192,
         .wanted = (const uint16_t[]){ARRAY_dq, ARRAY_dq2_array, ARRAY_partial_0, NO_ARRAY}, .units = 16,
         .unit_heads = 2},
    {.role = RUN_BACKWARD, .part = 1,
     .rows = differential_row_sums_v4, .tile = 256, .own = 1265664, .of_pair = 192},
    {.role = RUN_BACKWARD, .saved_again = 1,
     .rows = differential_saved_v4, .tile = 256, .own = 260224, .of_pair = 192},
};
#endif
#if defined(__x86_64__)
static int runs_v3(void)
{
    return attn_x86_64_level() >= 3;
}
static const struct program programs_v3[] = {
    {.role = RUN_FORWARD, .form = FORM_FEW,
     .head = differential_few_v3, .tile = 0, .own = 184320, .few_rows = 64, .lanes = 8, .of_pair = 192,
         .shared = 198656, .slot = 74880, .slots = 4, .together = 1},
    {.role = RUN_FORWARD,
     .rows = differential_rows_v3, .tile = 128, .own = 453632, .of_pair = 192, .saves = 1},
    {.role = RUN_BACKWARD, .part = 4, .sums_slices = 1,
     .rows = differential_totals1_v3, .tile = -1, .own = 576, .of_pair = 192,
         .wanted = (const uint16_t[]){ARRAY_dlam_array, NO_ARRAY}, .units = 1, .unit_heads = 2},
    {.role = RUN_BACKWARD, .part = 3,
     .rows = differential_dk_dv_dk2_v3, .tile = 128, .own = 1069056, .of_pair = 192,
         .wanted = (const uint16_t[]){ARRAY_dk, ARRAY_dv, ARRAY_dk2_array, NO_ARRAY}, .of_keys = OF_KEY_HEAD},
    {.role = RUN_BACKWARD, .part = 2,
     .rows = differential_dq_dq2_sums1_v3, .tile = -1, .own = 999040, .of_pair = 192,
         .wanted = (const uint16_t[]){ARRAY_dq, ARRAY_dq2_array, ARRAY_partial_0, NO_ARRAY}, .units = 16,
         .unit_heads = 2},
    {.role = RUN_BACKWARD, .part = 1,
     .rows = differential_row_sums_v3, .tile = 128, .own = 721920, .of_pair = 192},
    {.role = RUN_BACKWARD, .saved_again = 1,
     .rows = differential_saved_v3, .tile = 128, .own = 191488, .of_pair = 192},
};
#endif
static const struct program programs_any[] = {
    {.role = RUN_FORWARD, .form = FORM_FEW,
     .head = differential_few_any, .tile = 0, .own = 184320, .few_rows = 64, .lanes = 4, .of_pair = 192,
         .shared = 198656, .slot = 74880, .slots = 4, .together = 1},
    {.role = RUN_FORWARD,
     .rows = differential_rows_any, .tile = 64, .own = 288256, .of_pair = 192, .saves = 1},
    {.role = RUN_BACKWARD, .part = 4, .sums_slices = 1,
     .rows = differential_totals1_any, .tile = -1, .own = 320, .of_pair = 192,
         .wanted = (const uint16_t[]){ARRAY_dlam_array, NO_ARRAY}, .units = 1, .unit_heads = 2},
    {.role = RUN_BACKWARD, .part = 3,
     .rows = differential_dk_dv_dk2_any, .tile = 64, .own = 1085440, .of_pair = 192,
         .wanted = (const uint16_t[]){ARRAY_dk, ARRAY_dv, ARRAY_dk2_array, NO_ARRAY}, .of_keys = OF_KEY_HEAD},
    {.role = RUN_BACKWARD, .part = 2,
     .rows = differential_dq_dq2_sums1_any, .tile = -1, .own = 604032, .of_pair = 192,
         .wanted = (const uint16_t[]){ARRAY_dq, ARRAY_dq2_array, ARRAY_partial_0, NO_ARRAY}, .units = 16,
         .unit_heads = 2},
    {.role = RUN_BACKWARD, .part = 1,
     .rows = differential_row_sums_any, .tile = 64, .own = 652800, .of_pair = 192},
    {.role = RUN_BACKWARD, .saved_again = 1,
     .rows = differential_saved_any, .tile = 64, .own = 157184, .of_pair = 192},
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
    .layout = KERNEL_LAYOUT, .name = "differential", .openmp = OPENMP,
    .target = target, .targets = sizeof target / sizeof *target - 1,
    .array = array, .arrays = sizeof array / sizeof *array,
    .param = param, .params = 3, .params_bytes = sizeof(struct differential_params),
    .dtype = ATTN_F32, .key_dtype = ATTN_F32, .value_dtype = ATTN_F32, .real = sizeof(float), .element = sizeof(float),
    .head_dim = 64, .value_dim = 128, .key_row = 64, .value_row = 128,
    .strided = 1, .strides = offsetof(struct differential_params, strides),
    .shares = 1,
    .positions = 1,
    .ids = -1,
    .corrected = -1,
    .solution = -1,
    .gradients_bytes = sizeof(struct differential_gradients),
    .parts = 5,
    .saved = 2,
    .row_sums = 2,
    .shared_gradient = {ARRAY_dq, ARRAY_dk},
};

/* ==== the interface ==== */
size_t differential_params_size(void) { return attn_call_params_size(&kernel); }
int differential_params_init(struct differential_params *params, uint64_t seed, void *storage)
{
    return attn_call_params_init(&kernel, params, seed, storage);
}
size_t differential_workspace(const struct attn_problem *problem) { return attn_call_workspace(&kernel, problem); }
size_t differential_saved(const struct attn_problem *problem) { return attn_call_saved(&kernel, problem); }
size_t differential_backward_workspace(const struct attn_problem *problem)
{
    return attn_call_backward_workspace(&kernel, problem);
}
int differential_forward(const struct attn_problem *problem, const struct differential_params *params, const float *q,
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
int differential_backward(const struct attn_problem *problem, const struct differential_params *params, const float *q,
    const float *k, const float *v, const float *out, const float *dout,
    float *dq, float *dk, float *dv, struct differential_gradients *gradients, void *workspace)
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
const struct attn_kernel differential_kernel = {
    .name = "differential", .version = "0.2.0", .dtype = ATTN_F32, .head_dim = 64, .value_dim = 128,
    .params = 3, .param = param, .params_bytes = sizeof(struct differential_params),
    .params_size = differential_params_size, .params_init = params_init_any, .forward = forward_any,
    .workspace = differential_workspace,
    .saved = differential_saved,
    .backward_workspace = differential_backward_workspace,
    .backward = backward_any,
    .key_dtype = ATTN_F32, .value_dtype = ATTN_F32,
    .strides = offsetof(struct differential_params, strides), .strides_bytes = sizeof(struct differential_strides),
    .before = INT64_MAX, .after = 0, .period = 1, .names_heads = 0, .names_sequences = 0, .in_parts = 0,
    .saved_power = 0, .has_sink = 0, .open_keys = 0, .end_of_keys = INT64_MAX,
};
#endif /* a compiler of this language */
#endif /* SECTION */
