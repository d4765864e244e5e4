/* softpick.c, made by attnc 0.2.0: attnc softpick.yaml
   C11 with GNU extensions, for a C compiler; C++ includes softpick.h.
   rectified softmax, whose rows need not sum to 1: max(e^x - 1, 0) divided by the sum of the absolute values of e^x - 1
   Zuhri, Fuadi and Aji, Softpick: No Attention Sink, No Massive Activations with Rectified Softmax (arXiv 2025),
   section 3

   Computes, in f32, over the axes b (batch), g (key/value head), m (query head of g), i (query), j (key), d (64),
   e (64):
     q [b g m i d]
     k [b g j d]
     v [b g j e]
     x3 [b g m i j] = sum over d of q * k
     x4 [b g m i j] = max(expm1(min(x3 * 0.125, 60)), 0)
     x5 [b g m i e] = sum over j of x4 * v if j <= i + query_start
     x6 [b g m i e] = x5
     x7 [b g m i j] = sum over d of q * k
     x8 [b g m i j] = abs(expm1(min(x7 * 0.125, 60)))
     x9 [b g m i] = sum over j of x8 if j <= i + query_start
     x10 [b g m i] = x9
     x11 [b g m i e] = x6 / (x10 + 1e-06)
     out = x11
   query_start is the position of the first query: problem.query_start[b], or n_k - n_q if that is NULL.

   How: each vector lane holds one query. Keys are processed in tiles,
   so row sums and maxima need no reduction across lanes.
   The sums of a tile start from zero and are added to the sums so far. Tiles that no query sees are skipped.
   For few queries each lane holds one key. The queries of all heads that share keys are the rows of one tile,
   so each key is read once.
   The chunks of keys are divided among the threads. Their sums are added in the order of the chunks.
     x86-64-v4  quadratic tiles of 64 queries and 288 keys; 246272 bytes of workspace per thread
     x86-64-v4  few       tiles of 64 queries and 128 keys; 190400 bytes of workspace per thread
     x86-64-v3  quadratic tiles of 64 queries and 288 keys; 246272 bytes of workspace per thread
     x86-64-v3  few       tiles of 64 queries and 128 keys; 190400 bytes of workspace per thread
     generic    quadratic tiles of 64 queries and 288 keys; 246272 bytes of workspace per thread
     generic    few       tiles of 64 queries and 128 keys; 190400 bytes of workspace per thread

   Contents:
     loops      softpick_rows, softpick_few, softpick_saved, softpick_row_sums, softpick_dk_dv_sum_0, softpick_dq
     targets    x86-64-v4, x86-64-v3, generic
     tables     arrays and programs, for the functions of attnrt that call the loops
     interface  softpick_workspace, softpick_forward, softpick_backward, softpick_kernel
   The file includes itself, so that the loops are compiled once for each target. T(name) is a name with the target's
   suffix, LANES the elements of its vectors, and OF(…) a number for each target.

   Compile with: cc -O2 -fopenmp softpick.c … -lattnrt -lm */
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
    T(dot_ahead)(/*vectors=*/OF(4, 2, 2), lanes, rows, /*tail=*/-1, /*steps=*/64, /*span=*/32, a, a_row, /*a_step=*/1,
        b, /*b_step=*/80, c, /*c_row=*/80, /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL, next, next_row,
        /*width=*/64, result, result_row, /*result_width=*/64, results);
}
TARGET APART void T(dot1)(int64_t lanes, int64_t steps, const float *a, int64_t a_step, const float *b, float *c,
    float *compensation)
{
    T(dot_finite)(/*vectors=*/OF(4, 2, 2), lanes, /*rows=*/64, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/1, a_step,
        b, /*b_step=*/80, c, /*c_row=*/80, /*update=*/3, /*factor=*/NULL, compensation);
}
TARGET APART void T(dot2)(int64_t lanes, int64_t steps, const float *a, int64_t a_step, const float *b, float *c,
    float *compensation)
{
    T(dot)(/*vectors=*/OF(4, 2, 2), lanes, /*rows=*/64, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/1, a_step, b,
        /*b_step=*/80, c, /*c_row=*/80, /*update=*/3, /*factor=*/NULL, compensation);
}
#if OF(1, 0, 0)
TARGET APART void T(dot3)(int64_t rows, int64_t columns, const float *a, const float *b, int64_t b_row, float *c,
    int64_t early)
#else
TARGET APART void T(dot3)(int64_t rows, int64_t columns, const float *a, const float *b, int64_t b_row, float *c)
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
TARGET APART void T(dot6)(int64_t lanes, int64_t rows, const float *a, int64_t a_row, const float *b, float *c)
{
    T(dot_ahead)(/*vectors=*/OF(4, 2, 2), lanes, rows, /*tail=*/-1, /*steps=*/64, /*span=*/32, a, a_row, /*a_step=*/1,
        b, /*b_step=*/80, c, /*c_row=*/80, /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL, /*next=*/NULL,
        /*next_row=*/0, /*width=*/0, /*result=*/NULL, /*result_row=*/0, /*result_width=*/0, /*results=*/0);
}
TARGET APART void T(dot7)(int64_t lanes, int64_t rows, const float *a, int64_t a_row, const float *b, float *c,
    const float *next, int64_t next_row)
{
    T(dot_ahead)(/*vectors=*/OF(4, 2, 2), lanes, rows, /*tail=*/-1, /*steps=*/64, /*span=*/32, a, a_row, /*a_step=*/1,
        b, /*b_step=*/80, c, /*c_row=*/80, /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL, next, next_row,
        /*width=*/64, /*result=*/NULL, /*result_row=*/0, /*result_width=*/0, /*results=*/0);
}
TARGET APART void T(dot8)(int64_t rows, int64_t steps, const float *a, const float *b, int64_t b_step, float *c)
{
    T(dot_finite_lanes)(/*fetched=*/0, /*vectors=*/OF(4, 2, 2), /*lanes=*/64, rows, /*tail=*/-1, steps, /*span=*/192, a,
        /*a_row=*/80, /*a_step=*/1, b, b_step, c, /*c_row=*/64, /*update=*/1, /*factor=*/NULL, /*compensation=*/NULL);
}
TARGET APART void T(dot9)(int64_t rows, int64_t steps, const float *a, const float *b, int64_t b_step, float *c)
{
    T(dot)(/*vectors=*/OF(4, 2, 2), /*lanes=*/64, rows, /*tail=*/-1, steps, /*span=*/192, a, /*a_row=*/80, /*a_step=*/1,
        b, b_step, c, /*c_row=*/64, /*update=*/1, /*factor=*/NULL, /*compensation=*/NULL);
}

/* Computes task number `task`: one tile of queries of one head. `work` is this thread's workspace. */
TARGET static void T(softpick_rows)(const struct call *call, int64_t task, unsigned char *work)
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
    float *const score = (float *)(void *)(work + 0); /* [j: 288, i: 64 of 80] */
    float *const weight = (float *)(void *)(work + 92160); /* [j: 288, i: 64 of 80] */
    float *const sum = (float *)(void *)(work + 184320); /* [e: 64, i: 64 of 80] */
    float *const sum_compensation = (float *)(void *)(work + 204800); /* [e: 64, i: 64 of 80] */
    float *const row_sum = (float *)(void *)(work + 225280); /* [i: 64] */
    float *const row_sum_compensation = (float *)(void *)(work + 225536); /* [i: 64] */
    float *const query_scale = (float *)(void *)(work + 0); /* [i: 64] */
    float *const out = (float *)call->array[ARRAY_out].at + b * call->array[ARRAY_out].strides.batch + (g * members + m)
        * call->array[ARRAY_out].strides.head;
    const int64_t out_row = call->array[ARRAY_out].strides.row;
    float *const saved_0 = call->array[ARRAY_saved_0].at ? (float *)call->array[ARRAY_saved_0].at + (b * call->p.heads +
        (g * members + m)) * call->p.n_q : NULL;
    float *const saved_1 = call->array[ARRAY_saved_1].at ? (float *)call->array[ARRAY_saved_1].at + (b * call->p.heads +
        (g * members + m)) * call->p.n_q : NULL;
    float *const q_tile = (float *)(void *)(work + 225792); /* [d: 64, i: 64 of 80] */
    int64_t results = i1 - i0; /* rows of out to prefetch during the first product */
    /* q_tile = q, with zeros beyond the last row */
    T(transpose_padded)(q + i0 * q_row, q_row, i1 - i0, 64, q_tile, 80, LANES);
    /* q_tile = q_tile * 0.125f */
    for (int64_t d = 0; d < 64; d++) {
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            T(store)(q_tile + d * 80 + i, T(load)(q_tile + d * 80 + i) * 0.125f);
        }
    }
    /* sum = 0.0f; sum_compensation = 0.0f */
    for (int64_t e = 0; e < 64; e++) {
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            T(store)(sum + e * 80 + i, T(splat)(0.0f));
            T(store)(sum_compensation + e * 80 + i, T(splat)(0.0f));
        }
    }
    /* row_sum = 0.0f; row_sum_compensation = 0.0f */
    for (int64_t i = 0; i < i1 - i0; i += LANES) {
        T(store)(row_sum + i, T(splat)(0.0f));
        T(store)(row_sum_compensation + i, T(splat)(0.0f));
    }
    for (int64_t j0 = 0, j_end = min(n_k, i1 + query_start); j0 < j_end; j0 += 288) {
        const int64_t j1 = min(j0 + 288, j_end);
        /* score[j][i] = sum over d of k * q_tile */
        T(dot0)(round_up(i1 - i0, LANES), j1 - j0, k + j0 * k_row, k_row, q_tile, score, v + j0 * v_row, v_row,
            out + i0 * out_row, out_row, results);
        results = 0;
        /* weight = max(expm1(min(score, 6e+01f)), 0) */
        for (int64_t j = 0; j < j1 - j0; j++) {
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                T(store)(weight + j * 80 + i, T(max_nan)(T(expm1)(T(min)(T(load)(score + j * 80 + i),
                    T(splat)(6e+01f))), T(splat)((float)0)));
            }
        }
        if ((i0 + query_start + 1) < j1) { /* the tile is partly outside the mask */
            /* weight = select(j <= (i + query_start), weight, 0.0f) */
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                const T(ints) t_0 = (i0 + i + T(lane)) + query_start;
                for (int64_t j = 0; j < j1 - j0; j++) {
                    T(store)(weight + j * 80 + i, T(pick)(__builtin_convertvector((j0 + j) <= t_0, T(mask)),
                        T(load)(weight + j * 80 + i), T(splat)(0.0f)));
                }
            }
        }
        /* sum[e][i] += sum over j of v * weight */
        if (__builtin_expect(((i0 + query_start + 1) < j1) && !T(finite)(v + j0 * v_row, v_row, j1 - j0, 64),
            0)) { /* infinity and NaN affect only queries that see them */
            T(dot1)(round_up(i1 - i0, LANES), j1 - j0, v + j0 * v_row, v_row, weight, sum, sum_compensation);
            for (int64_t j = 0; j < j1 - j0; j++) {
                T(mask) in_region[OF(4, 8, 16)] = {0};
                if (T(finite)(v + j0 * v_row + j * v_row, 1, 64, 1)) continue;
                for (int64_t i = 0; i < i1 - i0; i += LANES) {
                    in_region[i / LANES] = __builtin_convertvector((j0 + j) <= ((i0 + i + T(lane)) + query_start),
                        T(mask));
                }
                T(add_seen)(64, sum, 80, v + j0 * v_row + j * v_row, 1, weight + j * 80, in_region, i1 - i0);
            }
        } else
            T(dot2)(round_up(i1 - i0, LANES), j1 - j0, v + j0 * v_row, v_row, weight, sum, sum_compensation);
        if ((i0 + query_start + 1) < j1) { /* the tile is partly outside the mask */
            /* score = select(j <= (i + query_start), abs(expm1(min(score, 6e+01f))), 0.0f); row_sum += score */
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                const T(ints) t_1 = (i0 + i + T(lane)) + query_start;
                T(vec) row_sum_in = (T(vec)){0};
                for (int64_t j = 0; j < j1 - j0; j++) {
                    const T(vec) score_2 = T(load)(score + j * 80 + i);
                    const T(vec) score_new3 = T(pick)(__builtin_convertvector((j0 + j) <= t_1, T(mask)),
                        T(abs)(T(expm1)(T(min)(score_2, T(splat)(6e+01f)))), T(splat)(0.0f));
                    T(store)(score + j * 80 + i, score_new3);
                    row_sum_in += score_new3;
                }
                T(add)(row_sum + i, row_sum_compensation + i, row_sum_in, T(splat)(1));
            }
        }
        if (!((i0 + query_start + 1) < j1)) { /* the tile is wholly inside the mask */
            /* score = abs(expm1(min(score, 6e+01f))); row_sum += score */
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                T(vec) row_sum_in = (T(vec)){0};
                for (int64_t j = 0; j < j1 - j0; j++) {
                    const T(vec) score_4 = T(load)(score + j * 80 + i);
                    const T(vec) score_new5 = T(abs)(T(expm1)(T(min)(score_4, T(splat)(6e+01f))));
                    T(store)(score + j * 80 + i, score_new5);
                    row_sum_in += score_new5;
                }
                T(add)(row_sum + i, row_sum_compensation + i, row_sum_in, T(splat)(1));
            }
        }
    }
    /* query_scale = row_sum + 1e-06f */
    for (int64_t i = 0; i < i1 - i0; i += LANES) {
        T(store)(query_scale + i, T(load)(row_sum + i) + 1e-06f);
    }
    /* sum = sum / query_scale */
    for (int64_t i = 0; i < i1 - i0; i += LANES) {
        const T(vec) query_scale_6 = T(load)(query_scale + i);
        for (int64_t e = 0; e < 64; e++) {
            T(store)(sum + e * 80 + i, T(load)(sum + e * 80 + i) / query_scale_6);
        }
    }
    if (saved_1) {
        /* row_sum = 1.0f / (row_sum + 1e-06f) */
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            T(store)(row_sum + i, 1.0f / (T(load)(row_sum + i) + 1e-06f));
        }
    }
    /* out = sum, transposed back */
    T(transpose_out)(sum, 80, 64, i1 - i0, out + i0 * out_row, out_row, LANES);
    if (saved_0) {
        /* saved_0 = query_scale */
        for (int64_t i = 0; i < i1 - i0; i++)
            saved_0[(i0 + i)] = query_scale[i];
    }
    if (saved_1) {
        /* saved_1 = row_sum */
        for (int64_t i = 0; i < i1 - i0; i++)
            saved_1[(i0 + i)] = row_sum[i];
    }
}

/* Initialises the states: they contain no keys yet. */
TARGET APART void T(softpick_few_begin)(const struct call *call, int64_t task, const struct share *share,
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
    float *const query_turned = (float *)(void *)(share->shared + 0); /* [r: 64, d: 64] */
    /* query_turned = q * 0.125f */
    for (int64_t r = r0; r < r1; r++) {
        for (int64_t d_first = 0; d_first < 64; d_first += OF(64, 16, 8)) {
            UNROLL for (int64_t vector = 0, d = d_first; vector < OF(4, 2, 2); vector++, d += LANES) {
                T(store)(query_turned + r * 64 + d, T(load)(q + r / n_q * q_head + r % n_q * q_row + d) * 0.125f);
            }
        }
    }
}

/* Initialises the states: they contain no keys yet. */
TARGET APART void T(softpick_few_begin_2)(const struct call *call, int64_t task, const struct share *share,
    int64_t iteration)
{
    (void)task;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t r0 = iteration * 16, r1 = min(r0 + 16, rows);
    float *const carried = (float *)(void *)(share->shared + 16448); /* [r: 64, e: 64] */
    float *const carried_compensation = (float *)(void *)(share->shared + 33152); /* [r: 64, e: 64] */
    float *const carried_sum = (float *)(void *)(share->shared + 32896); /* [r: 64] */
    float *const carried_sum_compensation = (float *)(void *)(share->shared + 49600); /* [r: 64] */
    /* carried = 0.0f; carried_compensation = 0.0f */
    for (int64_t r = r0; r < r1; r++) {
        for (int64_t e_first = 0; e_first < 64; e_first += OF(64, 16, 8)) {
            UNROLL for (int64_t vector = 0, e = e_first; vector < OF(4, 2, 2); vector++, e += LANES) {
                T(store)(carried + r * 64 + e, T(splat)(0.0f));
                T(store)(carried_compensation + r * 64 + e, T(splat)(0.0f));
            }
        }
    }
    /* carried_sum = 0.0f; carried_sum_compensation = 0.0f */
    for (int64_t r = r0; r < r1; r += LANES) {
        T(store)(carried_sum + r, T(splat)(0.0f));
        T(store)(carried_sum_compensation + r, T(splat)(0.0f));
    }
}

/* Sums the keys of a chunk, from zero, into its slot. */
TARGET APART void T(softpick_few_keys)(const struct call *call, int64_t task, const struct share *share,
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
    float *const query_turned = (float *)(void *)(share->shared + 0); /* [r: 64, d: 64] */
    float *const weight = (float *)(void *)(share->work + 36864); /* [r: 64, j: 128 of 144] */
    float *const state = (float *)(void *)(share->slots + 0); /* [chunk, r: 64, e: 64] */
    float *const state_sum = (float *)(void *)(share->slots + 16448); /* [chunk, r: 64] */
    /* state = 0.0f */
    for (int64_t r = 0; r < rows; r++) {
        for (int64_t e_first = 0; e_first < 64; e_first += OF(64, 16, 8)) {
            UNROLL for (int64_t vector = 0, e = e_first; vector < OF(4, 2, 2); vector++, e += LANES) {
                T(store)(state + (chunk - chunk0) * 4176 + r * 64 + e, T(splat)(0.0f));
            }
        }
    }
    /* state_sum = 0.0f */
    for (int64_t r = 0; r < rows; r += LANES) {
        T(store)(state_sum + (chunk - chunk0) * 4176 + r, T(splat)(0.0f));
    }
    for (int64_t j0 = chunk * 1024, j_end = min(min(n_k, (chunk + 1) * 1024), n_q + query_start); j0 < j_end;
        j0 += 128) {
        const int64_t j1 = min(j0 + 128, j_end);
        /* score[r][j] = sum over d of query_turned * k */
#if OF(1, 0, 0)
        T(dot3)(rows, j1 - j0, query_turned, k + j0 * k_row, k_row, score, attn_is_intel() ? 16 : 0);
#else
        T(dot3)(rows, j1 - j0, query_turned, k + j0 * k_row, k_row, score);
#endif
        /* weight = max(expm1(min(score, 6e+01f)), 0) */
        for (int64_t r = 0; r < rows; r++) {
            for (int64_t j = 0; j < j1 - j0; j += LANES) {
                T(store)(weight + r * 144 + j, T(max_nan)(T(expm1)(T(min)(T(load)(score + r * 144 + j),
                    T(splat)(6e+01f))), T(splat)((float)0)));
            }
        }
        if ((query_start + 1) < j1) { /* the tile is partly outside the mask */
            /* weight = select(j <= ((r % n_q) + query_start), weight, 0.0f) */
            for (int64_t j = 0; j < j1 - j0; j += LANES) {
                const T(ints) t_0 = j0 + j + T(lane);
                for (int64_t r = 0; r < rows; r++) {
                    T(store)(weight + r * 144 + j, T(pick)(__builtin_convertvector(t_0 <= ((r % n_q) + query_start),
                        T(mask)), T(load)(weight + r * 144 + j), T(splat)(0.0f)));
                }
            }
        }
        /* state[r][e] += sum over j of weight * v */
        if (__builtin_expect(((query_start + 1) < j1) && !T(finite)(v + j0 * v_row, v_row, j1 - j0, 64),
            0)) { /* infinity and NaN affect only queries that see them */
            T(dot4)(rows, j1 - j0, weight, v + j0 * v_row, v_row, state + (chunk - chunk0) * 4176);
            for (int64_t r = 0; r < rows; r++) {
                T(mask) in_region[OF(8, 16, 32)] = {0};
                const int64_t t_1 = (r % n_q) + query_start;
                for (int64_t j = 0; j < j1 - j0; j += LANES) {
                    in_region[j / LANES] = __builtin_convertvector((j0 + j + T(lane)) <= t_1, T(mask));
                }
                T(add_seen_lanes)(64, state + (chunk - chunk0) * 4176 + r * 64, weight + r * 144, v + j0 * v_row, v_row,
                    j1 - j0, in_region);
            }
        } else
#if OF(1, 0, 0)
            T(dot5)(rows, j1 - j0, weight, v + j0 * v_row, v_row, state + (chunk - chunk0) * 4176,
                attn_is_intel() ? 16 : 0);
#else
            T(dot5)(rows, j1 - j0, weight, v + j0 * v_row, v_row, state + (chunk - chunk0) * 4176);
#endif
        /* score = abs(expm1(min(score, 6e+01f))) */
        for (int64_t r = 0; r < rows; r++) {
            for (int64_t j = 0; j < j1 - j0; j += LANES) {
                T(store)(score + r * 144 + j, T(abs)(T(expm1)(T(min)(T(load)(score + r * 144 + j), T(splat)(6e+01f)))));
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
    }
}

/* Folds the slots of the current chunks, in order, for some elements of the states. */
TARGET APART void T(softpick_few_fold)(const struct call *call, int64_t task, const struct share *share,
    int64_t iteration)
{
    (void)task;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t r0 = iteration * 16, r1 = min(r0 + 16, rows);
    const int64_t chunk0 = share->chunk0;
    const int64_t chunk1 = share->chunk1;
    float *const state = (float *)(void *)(share->slots + 0); /* [chunk, r: 64, e: 64] */
    float *const state_sum = (float *)(void *)(share->slots + 16448); /* [chunk, r: 64] */
    float *const carried = (float *)(void *)(share->shared + 16448); /* [r: 64, e: 64] */
    float *const carried_compensation = (float *)(void *)(share->shared + 33152); /* [r: 64, e: 64] */
    float *const carried_sum = (float *)(void *)(share->shared + 32896); /* [r: 64] */
    float *const carried_sum_compensation = (float *)(void *)(share->shared + 49600); /* [r: 64] */
    for (int64_t chunk = chunk0; chunk < chunk1; chunk++) {
        /* before = carried; carried += state */
        for (int64_t r = r0; r < r1; r++) {
            for (int64_t e_first = 0; e_first < 64; e_first += OF(64, 16, 8)) {
                UNROLL for (int64_t vector = 0, e = e_first; vector < OF(4, 2, 2); vector++, e += LANES) {
                    T(add)(carried + r * 64 + e, carried_compensation + r * 64 + e,
                        T(load)(state + (chunk - chunk0) * 4176 + r * 64 + e), T(splat)(1));
                }
            }
        }
        /* before_sum = carried_sum; carried_sum += state_sum */
        for (int64_t r = r0; r < r1; r += LANES) {
            T(add)(carried_sum + r, carried_sum_compensation + r, T(load)(state_sum + (chunk - chunk0) * 4176 + r),
                T(splat)(1));
        }
    }
}

/* Processes a tile of queries: reads the states. */
TARGET APART void T(softpick_few_queries)(const struct call *call, int64_t task, const struct share *share,
    int64_t iteration)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_q = call->p.n_q;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t r0 = iteration * 16, r1 = min(r0 + 16, rows);
    const int64_t g = task % kv_heads;
    const int64_t b = task / kv_heads;
    float *const carried = (float *)(void *)(share->shared + 16448); /* [r: 64, e: 64] */
    float *const carried_sum = (float *)(void *)(share->shared + 32896); /* [r: 64] */
    float *const result = (float *)(void *)(share->work + 0); /* [r: 64, e: 64] */
    float *const out = (float *)call->array[ARRAY_out].at + b * call->array[ARRAY_out].strides.batch + g * members *
        call->array[ARRAY_out].strides.head;
    const int64_t out_row = call->array[ARRAY_out].strides.row;
    const int64_t out_head = call->array[ARRAY_out].strides.head;
    /* result = carried / (carried_sum + 1e-06f) */
    for (int64_t r = r0; r < r1; r++) {
        for (int64_t e_first = 0; e_first < 64; e_first += OF(64, 16, 8)) {
            UNROLL for (int64_t vector = 0, e = e_first; vector < OF(4, 2, 2); vector++, e += LANES) {
                T(store)(result + r * 64 + e, T(load)(carried + r * 64 + e) / (carried_sum[r] + 1e-06f));
            }
        }
    }
    /* out = result */
    for (int64_t r = r0; r < r1; r++)
        for (int64_t e = 0; e < 64; e++)
            out[r / n_q * out_head + r % n_q * out_row + e] = result[r * 64 + e];
}

/* Computes head number `task`. Each thread on the head calls this with `share`. */
TARGET static void T(softpick_few)(const struct call *call, int64_t task, struct share *share)
{
    const int64_t n_k = call->p.n_k;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t chunks = n_k > 0 ? (n_k - 1) / 1024 + 1 : 1;
    for (int64_t iteration = share->number; iteration < ((rows + 63) / 64); iteration += share->threads)
        T(softpick_few_begin)(call, task, share, iteration);
    for (int64_t iteration = share->number; iteration < ((rows + 15) / 16); iteration += share->threads)
        T(softpick_few_begin_2)(call, task, share, iteration);
    synchronise(share);
    const int64_t first = 0;
    const int64_t length = segment_length(share, chunks - first);
    for (int64_t segment = share->number; first + segment * length < chunks; segment += share->threads) {
        share->chunk0 = first + segment * length;
        share->chunk1 = min(share->chunk0 + length, chunks);
        for (int64_t iteration = share->chunk0; iteration < share->chunk1; iteration++)
            T(softpick_few_keys)(call, task, share, iteration);
        for (int64_t group = 0; group < 16; group++) {
            await_segment(share, group, segment);
            const int64_t end = (group + 1) * ((rows + 15) / 16) / 16;
            for (int64_t iteration = group * ((rows + 15) / 16) / 16; iteration < end; iteration++)
                T(softpick_few_fold)(call, task, share, iteration);
            pass_segment(share, group, segment);
        }
    }
    share->segments += (max(chunks - first, 0) + length - 1) / length;
    synchronise(share);
    for (int64_t iteration = share->number; iteration < ((rows + 15) / 16); iteration += share->threads)
        T(softpick_few_queries)(call, task, share, iteration);
    synchronise(share);
}

/* Computes task number `task`: one tile of queries of one head. `work` is this thread's workspace. */
TARGET static void T(softpick_saved)(const struct call *call, int64_t task, unsigned char *work)
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
    float *const score = (float *)(void *)(work + 0); /* [j: 288, i: 64 of 80] */
    float *const row_sum = (float *)(void *)(work + 92160); /* [i: 64] */
    float *const row_sum_compensation = (float *)(void *)(work + 92416); /* [i: 64] */
    float *const result = (float *)(void *)(work + 0); /* [i: 64] */
    float *const saved_0 = (float *)call->array[ARRAY_saved_0].at + (b * call->p.heads + (g * members + m)) *
        call->p.n_q;
    float *const saved_1 = (float *)call->array[ARRAY_saved_1].at + (b * call->p.heads + (g * members + m)) *
        call->p.n_q;
    float *const q_tile = (float *)(void *)(work + 92672); /* [d: 64, i: 64 of 80] */
    /* q_tile = q, with zeros beyond the last row */
    T(transpose_padded)(q + i0 * q_row, q_row, i1 - i0, 64, q_tile, 80, LANES);
    /* q_tile = q_tile * 0.125f */
    for (int64_t d = 0; d < 64; d++) {
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            T(store)(q_tile + d * 80 + i, T(load)(q_tile + d * 80 + i) * 0.125f);
        }
    }
    /* row_sum = 0.0f; row_sum_compensation = 0.0f */
    for (int64_t i = 0; i < i1 - i0; i += LANES) {
        T(store)(row_sum + i, T(splat)(0.0f));
        T(store)(row_sum_compensation + i, T(splat)(0.0f));
    }
    for (int64_t j0 = 0, j_end = min(n_k, i1 + query_start); j0 < j_end; j0 += 288) {
        const int64_t j1 = min(j0 + 288, j_end);
        /* score[j][i] = sum over d of k * q_tile */
        T(dot6)(round_up(i1 - i0, LANES), j1 - j0, k + j0 * k_row, k_row, q_tile, score);
        if ((i0 + query_start + 1) < j1) { /* the tile is partly outside the mask */
            /* score = select(j <= (i + query_start), abs(expm1(min(score, 6e+01f))), 0.0f); row_sum += score */
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                const T(ints) t_0 = (i0 + i + T(lane)) + query_start;
                T(vec) row_sum_in = (T(vec)){0};
                for (int64_t j = 0; j < j1 - j0; j++) {
                    const T(vec) score_1 = T(load)(score + j * 80 + i);
                    const T(vec) score_new2 = T(pick)(__builtin_convertvector((j0 + j) <= t_0, T(mask)),
                        T(abs)(T(expm1)(T(min)(score_1, T(splat)(6e+01f)))), T(splat)(0.0f));
                    T(store)(score + j * 80 + i, score_new2);
                    row_sum_in += score_new2;
                }
                T(add)(row_sum + i, row_sum_compensation + i, row_sum_in, T(splat)(1));
            }
        }
        if (!((i0 + query_start + 1) < j1)) { /* the tile is wholly inside the mask */
            /* score = abs(expm1(min(score, 6e+01f))); row_sum += score */
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                T(vec) row_sum_in = (T(vec)){0};
                for (int64_t j = 0; j < j1 - j0; j++) {
                    const T(vec) score_3 = T(load)(score + j * 80 + i);
                    const T(vec) score_new4 = T(abs)(T(expm1)(T(min)(score_3, T(splat)(6e+01f))));
                    T(store)(score + j * 80 + i, score_new4);
                    row_sum_in += score_new4;
                }
                T(add)(row_sum + i, row_sum_compensation + i, row_sum_in, T(splat)(1));
            }
        }
    }
    /* result = row_sum + 1e-06f; row_sum = 1.0f / (row_sum + 1e-06f) */
    for (int64_t i = 0; i < i1 - i0; i += LANES) {
        const T(vec) t_5 = T(load)(row_sum + i) + 1e-06f;
        T(store)(result + i, t_5);
        T(store)(row_sum + i, 1.0f / t_5);
    }
    /* saved_0 = result */
    for (int64_t i = 0; i < i1 - i0; i++)
        saved_0[(i0 + i)] = result[i];
    /* saved_1 = row_sum */
    for (int64_t i = 0; i < i1 - i0; i++)
        saved_1[(i0 + i)] = row_sum[i];
}

/* Computes task number `task`: one tile of queries of one head. `work` is this thread's workspace. */
TARGET static void T(softpick_row_sums)(const struct call *call, int64_t task, unsigned char *work)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_q = call->p.n_q;
    const int64_t tiles = (n_q + 64 - 1) / 64, i0 = (tiles - 1 - task % tiles) * 64,
        i1 = min(i0 + 64, n_q);
    const int64_t m = task / tiles % members;
    const int64_t g = task / tiles / members % kv_heads;
    const int64_t b = task / tiles / members / kv_heads;
    const float *const saved_0 = (const float *)call->array[ARRAY_saved_0].at + (b * call->p.heads + (g * members + m))
        * call->p.n_q;
    const float *const out = (const float *)call->array[ARRAY_out].at + b * call->array[ARRAY_out].strides.batch + (g *
        members + m) * call->array[ARRAY_out].strides.head;
    const int64_t out_row = call->array[ARRAY_out].strides.row;
    const float *const dout = (const float *)call->array[ARRAY_dout].at + b * call->array[ARRAY_dout].strides.batch + (g
        * members + m) * call->array[ARRAY_dout].strides.head;
    const int64_t dout_row = call->array[ARRAY_dout].strides.row;
    float *const result = (float *)(void *)(work + 0); /* [i: 64] */
    float *const row_0 = (float *)call->array[ARRAY_row_0].at + (b * call->p.heads + (g * members + m)) * call->p.n_q;
    float *const saved_0_tile = (float *)(void *)(work + 256); /* [i: 64] */
    float *const out_tile = (float *)(void *)(work + 512); /* [e: 64, i: 64 of 80] */
    float *const dout_tile = (float *)(void *)(work + 20992); /* [e: 64, i: 64 of 80] */
    /* saved_0_tile = saved_0, with zeros beyond the last row */
    for (int64_t i = 0; i < round_up(i1 - i0, LANES); i++)
        saved_0_tile[i] = i < i1 - i0 ? saved_0[(i0 + i)] : 0;
    /* out_tile = out, with zeros beyond the last row */
    T(transpose_padded)(out + i0 * out_row, out_row, i1 - i0, 64, out_tile, 80, LANES);
    /* dout_tile = dout, with zeros beyond the last row */
    T(transpose_padded)(dout + i0 * dout_row, dout_row, i1 - i0, 64, dout_tile, 80, LANES);
    /* result = 0.0f */
    for (int64_t i = 0; i < i1 - i0; i += LANES) {
        T(store)(result + i, T(splat)(0.0f));
    }
    /* result += dout_tile * (neg(out_tile) / saved_0_tile) */
    for (int64_t i = 0; i < i1 - i0; i += LANES) {
        const T(vec) saved_0_tile_0 = T(load)(saved_0_tile + i);
        T(vec) result_in = (T(vec)){0};
        for (int64_t e = 0; e < 64; e++) {
            result_in += T(load)(dout_tile + e * 80 + i) * ((-T(load)(out_tile + e * 80 + i)) / saved_0_tile_0);
        }
        T(store)(result + i, T(load)(result + i) + result_in);
    }
    /* row_0 = result */
    for (int64_t i = 0; i < i1 - i0; i++)
        row_0[(i0 + i)] = result[i];
}

/* Computes task number `task`: one tile of keys of one head. `work` is this thread's workspace. */
TARGET static void T(softpick_dk_dv_sum_0)(const struct call *call, int64_t task, unsigned char *work)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_q = call->p.n_q;
    const int64_t n_k = call->p.n_k;
    const int64_t tiles = (n_k + 64 - 1) / 64, j0 = task % tiles * 64, j1 = min(j0 + 64, n_k);
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
    const float *const saved_1 = (const float *)call->array[ARRAY_saved_1].at + (b * call->p.heads + g * members) *
        call->p.n_q;
    const int64_t saved_1_head = call->p.n_q;
    const float *const row_0 = (const float *)call->array[ARRAY_row_0].at + (b * call->p.heads + g * members) *
        call->p.n_q;
    const int64_t row_0_head = call->p.n_q;
    float *const dk = call->array[ARRAY_dk].at ? (float *)call->array[ARRAY_dk].at + b *
        call->array[ARRAY_dk].strides.batch + g * call->array[ARRAY_dk].strides.head : NULL;
    const int64_t dk_row = call->array[ARRAY_dk].strides.row;
    float *const dv = call->array[ARRAY_dv].at ? (float *)call->array[ARRAY_dv].at + b *
        call->array[ARRAY_dv].strides.batch + g * call->array[ARRAY_dv].strides.head : NULL;
    const int64_t dv_row = call->array[ARRAY_dv].strides.row;
    float *const sum_0 = call->array[ARRAY_sum_0].at ? (float *)call->array[ARRAY_sum_0].at + (b * call->p.heads + g *
        members) * call->p.n_q * 64 : NULL;
    const int64_t sum_0_head = call->p.n_q * 64;
    float *const score = (float *)(void *)(work + 0); /* [i: 144, j: 64 of 80] */
    float *const score_2 = (float *)(void *)(work + 46080); /* [i: 144, j: 64 of 80] */
    float *const weight = (float *)(void *)(work + 92160); /* [i: 144, j: 64 of 80] */
    float *const sum = (float *)(void *)(work + 138240); /* [e: 64, j: 64 of 80] */
    float *const sum_compensation = (float *)(void *)(work + 158720); /* [e: 64, j: 64 of 80] */
    float *const sum_2 = (float *)(void *)(work + 179200); /* [d: 64, j: 64 of 80] */
    float *const sum_2_compensation = (float *)(void *)(work + 199680); /* [d: 64, j: 64 of 80] */
    float *const k_tile = (float *)(void *)(work + 220160); /* [d: 64, j: 64 of 80] */
    float *const v_tile = (float *)(void *)(work + 240640); /* [e: 64, j: 64 of 80] */
    /* k_tile = k, with zeros beyond the last row */
    T(transpose_padded)(k + j0 * k_row, k_row, j1 - j0, 64, k_tile, 80, 64);
    if (dk || sum_0) {
        /* v_tile = v, with zeros beyond the last row */
        T(transpose_padded)(v + j0 * v_row, v_row, j1 - j0, 64, v_tile, 80, 64);
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
    if (dv) {
        /* sum = 0.0f; sum_compensation = 0.0f */
        for (int64_t e = 0; e < 64; e++) {
            for (int64_t j = 0; j < j1 - j0; j += LANES) {
                T(store)(sum + e * 80 + j, T(splat)(0.0f));
                T(store)(sum_compensation + e * 80 + j, T(splat)(0.0f));
            }
        }
    }
    /* k_tile = k_tile * 0.125f; sum_2 = 0.0f; sum_2_compensation = 0.0f */
    for (int64_t d = 0; d < 64; d++) {
        for (int64_t j = 0; j < j1 - j0; j += LANES) {
            T(store)(k_tile + d * 80 + j, T(load)(k_tile + d * 80 + j) * 0.125f);
            T(store)(sum_2 + d * 80 + j, T(splat)(0.0f));
            T(store)(sum_2_compensation + d * 80 + j, T(splat)(0.0f));
        }
    }
    for (int64_t m = 0; m < members; m++) {
        for (int64_t i0 = max(0, j0 - query_start), i_end = n_q; i0 < i_end; i0 += 144) {
            const int64_t i1 = min(i0 + 144, i_end);
            /* score[i][j] = sum over d of q * k_tile */
            T(dot7)(round_up(j1 - j0, LANES), i1 - i0, q + m * q_head + i0 * q_row, q_row, k_tile, score,
                dout + m * dout_head + i0 * dout_row, dout_row);
            if (dk || sum_0) {
                /* score_2[i][j] = sum over e of dout * v_tile */
                T(dot7)(round_up(j1 - j0, LANES), i1 - i0, dout + m * dout_head + i0 * dout_row, dout_row, v_tile,
                    score_2, q + m * q_head + i0 * q_row, q_row);
            }
            if (dv) {
                /* weight = max(expm1(min(score, 6e+01f)), 0) * saved_1 */
                for (int64_t j = 0; j < j1 - j0; j += LANES) {
                    for (int64_t i = 0; i < i1 - i0; i++) {
                        T(store)(weight + i * 80 + j, T(max_nan)(T(expm1)(T(min)(T(load)(score + i * 80 + j),
                            T(splat)(6e+01f))), T(splat)((float)0)) * (saved_1[m * saved_1_head + (i0 + i)]));
                    }
                }
            }
            if (i0 < (j1 - query_start - 1)) { /* the tile is partly outside the mask */
                if (dv) {
                    /* weight = select(j <= (i + query_start), weight, 0.0f) */
                    for (int64_t j = 0; j < j1 - j0; j += LANES) {
                        const T(ints) t_0 = j0 + j + T(lane);
                        for (int64_t i = 0; i < i1 - i0; i++) {
                            T(store)(weight + i * 80 + j, T(pick)(__builtin_convertvector(t_0 <= ((i0 + i) +
                                query_start), T(mask)), T(load)(weight + i * 80 + j), T(splat)(0.0f)));
                        }
                    }
                }
            }
            if (dv) {
                /* sum[e][j] += sum over i of dout * weight */
                if (__builtin_expect((i0 < (j1 - query_start - 1)) && !T(finite)(dout + m * dout_head + i0 * dout_row,
                    dout_row, i1 - i0, 64), 0)) { /* infinity and NaN affect only queries that see them */
                    T(dot1)(round_up(j1 - j0, LANES), i1 - i0, dout + m * dout_head + i0 * dout_row, dout_row, weight,
                        sum, sum_compensation);
                    for (int64_t i = 0; i < i1 - i0; i++) {
                        T(mask) in_region[OF(4, 8, 16)] = {0};
                        if (T(finite)(dout + m * dout_head + i0 * dout_row + i * dout_row, 1, 64, 1)) continue;
                        const int64_t t_1 = (i0 + i) + query_start;
                        for (int64_t j = 0; j < j1 - j0; j += LANES) {
                            in_region[j / LANES] = __builtin_convertvector((j0 + j + T(lane)) <= t_1, T(mask));
                        }
                        T(add_seen)(64, sum, 80, dout + m * dout_head + i0 * dout_row + i * dout_row, 1,
                            weight + i * 80, in_region, j1 - j0);
                    }
                } else
                    T(dot2)(round_up(j1 - j0, LANES), i1 - i0, dout + m * dout_head + i0 * dout_row, dout_row, weight,
                        sum, sum_compensation);
            }
            if (dk || sum_0) {
                /* score_2 = (row_0 * select(expm1(min(score, 6e+01f)) < 0.0f, neg((expm1(min(score,
                   6e+01f)) + 1.0f) * select(6e+01f < score, 0.0f ... */
                for (int64_t j = 0; j < j1 - j0; j += LANES) {
                    for (int64_t i = 0; i < i1 - i0; i++) {
                        const T(vec) score_3 = T(load)(score + i * 80 + j);
                        const T(vec) t_4 = T(expm1)(T(min)(score_3, T(splat)(6e+01f)));
                        const T(vec) t_5 = (t_4 + 1.0f) * T(pick)((6e+01f) < score_3, T(splat)(0.0f), T(splat)(0.125f));
                        T(store)(score_2 + i * 80 + j, ((row_0[m * row_0_head + (i0 + i)]) * T(pick)(t_4 < 0.0f, -t_5,
                            t_5)) + ((T(load)(score_2 + i * 80 + j) * (saved_1[m * saved_1_head + (i0 + i)])) *
                            T(pick)(t_4 < (float)0, T(splat)(0.0f), t_5)));
                    }
                }
            }
            if (i0 < (j1 - query_start - 1)) { /* the tile is partly outside the mask */
                if (dk || sum_0) {
                    /* score_2 = select(j <= (i + query_start), score_2, 0.0f) */
                    for (int64_t j = 0; j < j1 - j0; j += LANES) {
                        const T(ints) t_6 = j0 + j + T(lane);
                        for (int64_t i = 0; i < i1 - i0; i++) {
                            T(store)(score_2 + i * 80 + j, T(pick)(__builtin_convertvector(t_6 <= ((i0 + i) +
                                query_start), T(mask)), T(load)(score_2 + i * 80 + j), T(splat)(0.0f)));
                        }
                    }
                }
            }
            if (sum_0) {
                /* sum_0[i][d] += sum over j of score_2 * k */
                await_turn(call, task, m * n_q + i1);
                if (__builtin_expect((i0 < (j1 - query_start - 1)) && !T(finite)(k + j0 * k_row, k_row, j1 - j0, 64),
                    0)) { /* infinity and NaN affect only queries that see them */
                    T(dot8)(i1 - i0, j1 - j0, score_2, k + j0 * k_row, k_row, sum_0 + m * sum_0_head + i0 * 64);
                    for (int64_t i = 0; i < i1 - i0; i++) {
                        T(mask) in_region[OF(4, 8, 16)] = {0};
                        const int64_t t_7 = (i0 + i) + query_start;
                        for (int64_t j = 0; j < j1 - j0; j += LANES) {
                            in_region[j / LANES] = __builtin_convertvector((j0 + j + T(lane)) <= t_7, T(mask));
                        }
                        T(add_seen_lanes)(64, sum_0 + m * sum_0_head + i0 * 64 + i * 64, score_2 + i * 80,
                            k + j0 * k_row, k_row, j1 - j0, in_region);
                    }
                } else
                    T(dot9)(i1 - i0, j1 - j0, score_2, k + j0 * k_row, k_row, sum_0 + m * sum_0_head + i0 * 64);
                pass_turn(call, task, m * n_q + i1);
            }
            if (dk) {
                /* sum_2[d][j] += sum over i of q * score_2 */
                if (__builtin_expect((i0 < (j1 - query_start - 1)) && !T(finite)(q + m * q_head + i0 * q_row, q_row,
                    i1 - i0, 64), 0)) { /* infinity and NaN affect only queries that see them */
                    T(dot1)(round_up(j1 - j0, LANES), i1 - i0, q + m * q_head + i0 * q_row, q_row, score_2, sum_2,
                        sum_2_compensation);
                    for (int64_t i = 0; i < i1 - i0; i++) {
                        T(mask) in_region[OF(4, 8, 16)] = {0};
                        if (T(finite)(q + m * q_head + i0 * q_row + i * q_row, 1, 64, 1)) continue;
                        const int64_t t_8 = (i0 + i) + query_start;
                        for (int64_t j = 0; j < j1 - j0; j += LANES) {
                            in_region[j / LANES] = __builtin_convertvector((j0 + j + T(lane)) <= t_8, T(mask));
                        }
                        T(add_seen)(64, sum_2, 80, q + m * q_head + i0 * q_row + i * q_row, 1, score_2 + i * 80,
                            in_region, j1 - j0);
                    }
                } else
                    T(dot2)(round_up(j1 - j0, LANES), i1 - i0, q + m * q_head + i0 * q_row, q_row, score_2, sum_2,
                        sum_2_compensation);
            }
        }
    }
    if (dk) {
        /* sum_2 = sum_2 */
        for (int64_t d = 0; d < 64; d++) {
            for (int64_t j = 0; j < j1 - j0; j += LANES) {
                T(store)(sum_2 + d * 80 + j, T(load)(sum_2 + d * 80 + j));
            }
        }
    }
    if (dv) {
        /* sum = sum */
        for (int64_t e = 0; e < 64; e++) {
            for (int64_t j = 0; j < j1 - j0; j += LANES) {
                T(store)(sum + e * 80 + j, T(load)(sum + e * 80 + j));
            }
        }
    }
    if (dk) {
        /* dk = sum_2, transposed back */
        T(transpose_out)(sum_2, 80, 64, j1 - j0, dk + j0 * dk_row, dk_row, 64);
    }
    if (dv) {
        /* dv = sum, transposed back */
        T(transpose_out)(sum, 80, 64, j1 - j0, dv + j0 * dv_row, dv_row, 64);
    }
}

/* Computes task number `task`: one tile of queries of one head. `work` is this thread's workspace. */
TARGET static void T(softpick_dq)(const struct call *call, int64_t task, unsigned char *work)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_q = call->p.n_q;
    const int64_t tiles = (n_q + 64 - 1) / 64, i0 = (tiles - 1 - task % tiles) * 64,
        i1 = min(i0 + 64, n_q);
    const int64_t m = task / tiles % members;
    const int64_t g = task / tiles / members % kv_heads;
    const int64_t b = task / tiles / members / kv_heads;
    const float *const sum_0 = (const float *)call->array[ARRAY_sum_0].at + (b * call->p.heads + (g * members + m)) *
        call->p.n_q * 64;
    float *const dq = call->array[ARRAY_dq].at ? (float *)call->array[ARRAY_dq].at + b *
        call->array[ARRAY_dq].strides.batch + (g * members + m) * call->array[ARRAY_dq].strides.head : NULL;
    const int64_t dq_row = call->array[ARRAY_dq].strides.row;
    float *const sum_0_tile = (float *)(void *)(work + 0); /* [d: 64, i: 64 of 80] */
    /* sum_0_tile = sum_0, with zeros beyond the last row */
    T(transpose_padded)(sum_0 + i0 * 64, 64, i1 - i0, 64, sum_0_tile, 80, LANES);
    /* sum_0_tile = sum_0_tile */
    for (int64_t d = 0; d < 64; d++) {
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            T(store)(sum_0_tile + d * 80 + i, T(load)(sum_0_tile + d * 80 + i));
        }
    }
    if (dq) {
        /* dq = sum_0_tile, transposed back */
        T(transpose_out)(sum_0_tile, 80, 64, i1 - i0, dq + i0 * dq_row, dq_row, LANES);
    }
}
#include <attnrt/kernel/end.h>
#else
#ifdef __cplusplus
#error "softpick.c is C, not C++: compile it with a C compiler"
#elif !defined __STDC_VERSION__ || __STDC_VERSION__ < 199901L
#error "softpick.c is C11, not C89: compile it without -std=, or with -std=gnu11"
extern int softpick_is_c11;
#elif !defined __GNUC__
#error "softpick.c uses GNU C vector extensions: compile it with gcc or clang"
extern int softpick_is_gnu_c;
#else
#include "softpick.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include <attnrt/kernel/optimize.h>
#include <attnrt/kernel/call.h>

/* the numbers of the arrays of a call */
enum {
    ARRAY_q, ARRAY_k, ARRAY_v, ARRAY_out, ARRAY_dout, ARRAY_dq, ARRAY_dk, ARRAY_dv, ARRAY_saved_0, ARRAY_saved_1,
    ARRAY_row_0, ARRAY_sum_0
};

#ifdef __FILE_NAME__
#define LOOPS __FILE_NAME__ /* this file, whose first part has the loops */
#else
#define LOOPS "softpick.c"
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
    {.name = "saved_0", .origin = FROM_SAVED},
    {.name = "saved_1", .origin = FROM_SAVED},
    {.name = "row_0", .origin = FROM_ROW_SUMS},
    {.name = "sum_0", .origin = FROM_SUMS, .elements = 64},
};

#if defined(__x86_64__)
static int runs_v4(void)
{
    return attn_x86_64_level() >= 4;
}
static const struct program programs_v4[] = {
    {.role = RUN_FORWARD, .form = FORM_FEW,
     .head = softpick_few_v4, .tile = 0, .own = 73728, .few_rows = 64, .lanes = 16, .of_pair = 128, .shared = 49856,
         .slot = 16704, .slots = 4, .together = 1},
    {.role = RUN_FORWARD,
     .rows = softpick_rows_v4, .tile = 64, .own = 246272, .of_pair = 128, .saves = 1},
    {.role = RUN_BACKWARD, .part = 3,
     .rows = softpick_dq_v4, .tile = 64, .own = 20480, .of_pair = 128, .wanted = (const uint16_t[]){ARRAY_dq,
         NO_ARRAY}},
    {.role = RUN_BACKWARD, .part = 2,
     .rows = softpick_dk_dv_sum_0_v4, .tile = 64, .own = 261120, .of_pair = 128, .wanted = (const uint16_t[]){ARRAY_dk,
         ARRAY_dv, ARRAY_sum_0, NO_ARRAY}, .of_keys = OF_KEY_HEAD, .in_order = 1},
    {.role = RUN_BACKWARD, .part = 1,
     .rows = softpick_row_sums_v4, .tile = 64, .own = 41472, .of_pair = 128},
    {.role = RUN_BACKWARD, .saved_again = 1,
     .rows = softpick_saved_v4, .tile = 64, .own = 113152, .of_pair = 128},
};
#endif
#if defined(__x86_64__)
static int runs_v3(void)
{
    return attn_x86_64_level() >= 3;
}
static const struct program programs_v3[] = {
    {.role = RUN_FORWARD, .form = FORM_FEW,
     .head = softpick_few_v3, .tile = 0, .own = 73728, .few_rows = 64, .lanes = 8, .of_pair = 128, .shared = 49856,
         .slot = 16704, .slots = 4, .together = 1},
    {.role = RUN_FORWARD,
     .rows = softpick_rows_v3, .tile = 64, .own = 246272, .of_pair = 128, .saves = 1},
    {.role = RUN_BACKWARD, .part = 3,
     .rows = softpick_dq_v3, .tile = 64, .own = 20480, .of_pair = 128, .wanted = (const uint16_t[]){ARRAY_dq,
         NO_ARRAY}},
    {.role = RUN_BACKWARD, .part = 2,
     .rows = softpick_dk_dv_sum_0_v3, .tile = 64, .own = 261120, .of_pair = 128, .wanted = (const uint16_t[]){ARRAY_dk,
         ARRAY_dv, ARRAY_sum_0, NO_ARRAY}, .of_keys = OF_KEY_HEAD, .in_order = 1},
    {.role = RUN_BACKWARD, .part = 1,
     .rows = softpick_row_sums_v3, .tile = 64, .own = 41472, .of_pair = 128},
    {.role = RUN_BACKWARD, .saved_again = 1,
     .rows = softpick_saved_v3, .tile = 64, .own = 113152, .of_pair = 128},
};
#endif
static const struct program programs_any[] = {
    {.role = RUN_FORWARD, .form = FORM_FEW,
     .head = softpick_few_any, .tile = 0, .own = 73728, .few_rows = 64, .lanes = 4, .of_pair = 128, .shared = 49856,
         .slot = 16704, .slots = 4, .together = 1},
    {.role = RUN_FORWARD,
     .rows = softpick_rows_any, .tile = 64, .own = 246272, .of_pair = 128, .saves = 1},
    {.role = RUN_BACKWARD, .part = 3,
     .rows = softpick_dq_any, .tile = 64, .own = 20480, .of_pair = 128, .wanted = (const uint16_t[]){ARRAY_dq,
         NO_ARRAY}},
    {.role = RUN_BACKWARD, .part = 2,
     .rows = softpick_dk_dv_sum_0_any, .tile = 64, .own = 261120, .of_pair = 128, .wanted = (const uint16_t[]){ARRAY_dk,
         ARRAY_dv, ARRAY_sum_0, NO_ARRAY}, .of_keys = OF_KEY_HEAD, .in_order = 1},
    {.role = RUN_BACKWARD, .part = 1,
     .rows = softpick_row_sums_any, .tile = 64, .own = 41472, .of_pair = 128},
    {.role = RUN_BACKWARD, .saved_again = 1,
     .rows = softpick_saved_any, .tile = 64, .own = 113152, .of_pair = 128},
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
    .layout = KERNEL_LAYOUT, .name = "softpick", .openmp = OPENMP,
    .target = target, .targets = sizeof target / sizeof *target - 1,
    .array = array, .arrays = sizeof array / sizeof *array,
    .params_bytes = sizeof(struct softpick_params),
    .dtype = ATTN_F32, .key_dtype = ATTN_F32, .value_dtype = ATTN_F32, .real = sizeof(float), .element = sizeof(float),
    .head_dim = 64, .value_dim = 64, .key_row = 64, .value_row = 64,
    .shares = 1,
    .positions = 1,
    .ids = -1,
    .corrected = -1,
    .solution = -1,
    .gradients_bytes = sizeof(struct softpick_gradients),
    .parts = 4,
    .saved = 2,
    .row_sums = 1,
    .row_of_sums = 64,
    .sums_wanted = (const uint16_t[]){ARRAY_dq, NO_ARRAY},
    .shared_gradient = {ARRAY_dq, ARRAY_dk},
};

/* ==== the interface ==== */
size_t softpick_params_size(void) { return attn_call_params_size(&kernel); }
int softpick_params_init(struct softpick_params *params, uint64_t seed, void *storage)
{
    return attn_call_params_init(&kernel, params, seed, storage);
}
size_t softpick_workspace(const struct attn_problem *problem) { return attn_call_workspace(&kernel, problem); }
size_t softpick_saved(const struct attn_problem *problem) { return attn_call_saved(&kernel, problem); }
size_t softpick_backward_workspace(const struct attn_problem *problem)
{
    return attn_call_backward_workspace(&kernel, problem);
}
int softpick_forward(const struct attn_problem *problem, const struct softpick_params *params, const float *q,
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
int softpick_backward(const struct attn_problem *problem, const struct softpick_params *params, const float *q,
    const float *k, const float *v, const float *out, const float *dout,
    float *dq, float *dk, float *dv, struct softpick_gradients *gradients, void *workspace)
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
const struct attn_kernel softpick_kernel = {
    .name = "softpick", .version = "0.2.0", .dtype = ATTN_F32, .head_dim = 64, .value_dim = 64,
    .params = 0, .param = NULL, .params_bytes = sizeof(struct softpick_params),
    .params_size = softpick_params_size, .params_init = params_init_any, .forward = forward_any,
    .workspace = softpick_workspace,
    .saved = softpick_saved,
    .backward_workspace = softpick_backward_workspace,
    .backward = backward_any,
    .key_dtype = ATTN_F32, .value_dtype = ATTN_F32,
    .before = INT64_MAX, .after = 0, .period = 1, .names_heads = 0, .names_sequences = 0, .in_parts = 0,
    .saved_power = 0, .has_sink = 0, .open_keys = 0, .end_of_keys = INT64_MAX,
};
#endif /* a compiler of this language */
#endif /* SECTION */
