/* softmax_rope_2d.c, made by attnc 0.2.0: attnc softmax_rope_2d.yaml
   C11 with GNU extensions, for a C compiler; C++ includes softmax_rope_2d.h.
   softmax attention between the patches of an image with 32 patches in a row, rotated by row and column in turn
   Heo et al., Rotary Position Embedding for Vision Transformer (ECCV 2024), section 3.1, axial frequencies

   Computes, in f32, over the axes b (batch), g (key/value head), m (query head of g), i (query), j (key), d (64),
   e (64), t (32):
     q [b g m i d]
     k [b g j d]
     v [b g j e]
     rope_angle [t], constant
     x4 [j t] = cos((t % 2 != 0 ? j / 32 : j % 32) * 1 * rope_angle)
     x5 [j t] = sin((t % 2 != 0 ? j / 32 : j % 32) * 1 * rope_angle)
     x6 [b g j d] = k * x4[j, d / 2] + k[b, g, j, d % 2 == 0 ? d + 1 : d + -1] * x5[j, d / 2] * (d % 2 == 0 ? -1 : 1)
     x7 [b i t] = cos((t % 2 != 0 ? (i + query_start) / 32 : (i + query_start) % 32) * 1 * rope_angle)
     x8 [b i t] = sin((t % 2 != 0 ? (i + query_start) / 32 : (i + query_start) % 32) * 1 * rope_angle)
     x9 [b g m i d] = q * x7[b, i, d / 2] + q[b, g, m, i, d % 2 == 0 ? d + 1 : d + -1] * x8[b, i,
     d / 2] * (d % 2 == 0 ? -1 : 1)
     x10 [b g m i j] = sum over d of x9 * x6
     x11 [b g m i j] = exp(x10 * 0.125)
     x12 [b g m i] = sum over j of x11
     x13 [b g m i e] = sum over j of x11 * v
     x14 [b g m i e] = x12 == 0 ? 0 : x13 / x12
     out = x14
   query_start is the position of the first query: problem.query_start[b], or n_k - n_q if that is NULL.

   How: each vector lane holds one query. Keys are processed in tiles,
   so row sums and maxima need no reduction across lanes.
   The sums of a tile start from zero and are added to the sums so far. Tiles that no query sees are skipped.
   For few queries each lane holds one key. The queries of all heads that share keys are the rows of one tile,
   so each key is read once.
   The chunks of keys are divided among the threads. Their sums are added in the order of the chunks.
     x86-64-v4  quadratic tiles of 32 queries and 96 keys, in blocks of 256 queries;
     273408 bytes of workspace per thread
     x86-64-v4  few       tiles of 64 queries and 128 keys; 245056 bytes of workspace per thread
     x86-64-v3  quadratic tiles of 16 queries and 96 keys, in blocks of 256 queries;
     273408 bytes of workspace per thread
     x86-64-v3  few       tiles of 64 queries and 128 keys; 245056 bytes of workspace per thread
     generic    quadratic tiles of 16 queries and 96 keys, in blocks of 128 queries;
     173568 bytes of workspace per thread
     generic    few       tiles of 64 queries and 128 keys; 245056 bytes of workspace per thread

   Contents:
     loops      softmax_rope_2d_rows, softmax_rope_2d_few
     targets    x86-64-v4, x86-64-v3, generic
     tables     arrays and programs, for the functions of attnrt that call the loops
     interface  softmax_rope_2d_workspace, softmax_rope_2d_forward, softmax_rope_2d_kernel
   The file includes itself, so that the loops are compiled once for each target. T(name) is a name with the target's
   suffix, LANES the elements of its vectors, and OF(…) a number for each target.

   Compile with: cc -O2 -fopenmp softmax_rope_2d.c … -lattnrt -lm */
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
    T(dot)(/*vectors=*/2, lanes, /*rows=*/64, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/1, a_step, b,
        /*b_step=*/OF(32, 16, 16), c, /*c_row=*/OF(32, 16, 16), /*update=*/3, factor, compensation);
}
TARGET APART void T(dot2)(int64_t lanes, int64_t rows, const float *a, const float *b, float *c)
{
    T(dot)(/*vectors=*/OF(4, 2, 2), lanes, rows, /*tail=*/-1, /*steps=*/64, /*span=*/32, a, /*a_row=*/1, /*a_step=*/64,
        b, /*b_step=*/144, c, /*c_row=*/144, /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL);
}
#if OF(1, 0, 0)
TARGET APART void T(dot3)(int64_t rows, int64_t steps, const float *a, const float *b, int64_t b_step, float *c,
    int64_t early)
#else
TARGET APART void T(dot3)(int64_t rows, int64_t steps, const float *a, const float *b, int64_t b_step, float *c)
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
TARGET static void T(softmax_rope_2d_rows)(const struct call *call, int64_t task, unsigned char *work)
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
    float *const key_cos = (float *)(void *)(work + 0); /* [t: 32, j: 96] */
    float *const key_sin = (float *)(void *)(work + 12288); /* [t: 32, j: 96] */
    float *const key = (float *)(void *)(work + 24576); /* [d: 64, j: 96] */
    float *const query_cos = (float *)(void *)(work + 0); /* [t: 32, i: OF(32, 16, 16)] */
    float *const query_sin = (float *)(void *)(work + OF(4096, 2048, 2048)); /* [t: 32, i: OF(32, 16, 16)] */
    float *const all_query = (float *)(void *)(work + 49152); /* [d: 64, i: OF(32, 16, 16), OF(8, 16, 8) times] */
    float *const score = (float *)(void *)(work + 0); /* [j: 96, i: OF(32, 16, 16)] */
    float *const all_row_max = (float *)(void *)(work + OF(114688, 114688, 81920)); /* [i: OF(32, 16, 16), OF(8, 16,
        8) times] */
    float *const old_max = (float *)(void *)(work + OF(12288, 6144, 6144)); /* [i: OF(32, 16, 16)] */
    float *const all_row_sum = (float *)(void *)(work + OF(115712, 115712, 82432)); /* [i: OF(32, 16, 16), OF(8, 16,
        8) times] */
    float *const all_row_sum_compensation = (float *)(void *)(work + OF(116736, 116736, 82944)); /* [i: OF(32, 16, 16),
        OF(8, 16, 8) times] */
    float *const all_sum = (float *)(void *)(work + OF(117760, 117760, 83456)); /* [e: 64, i: OF(32, 16, 16), OF(8, 16,
        8) times] */
    float *const all_sum_compensation = (float *)(void *)(work + OF(183296, 183296, 116224)); /* [e: 64, i: OF(32, 16,
        16), OF(8, 16, 8) times] */
    float *const result = (float *)(void *)(work + 0); /* [e: 64, i: OF(32, 16, 16)] */
    float *const out = (float *)call->array[ARRAY_out].at + b * call->array[ARRAY_out].strides.batch + (g * members + m)
        * call->array[ARRAY_out].strides.head;
    const int64_t out_row = call->array[ARRAY_out].strides.row;
    float *const q_tile = (float *)(void *)(work + OF(8192, 4096, 4096)); /* [d: 64, i: OF(32, 16, 16)] */
    float *const k_tile = (float *)(void *)(work + OF(248832, 248832, 148992)); /* [d: 64, j: 96] */
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
        /* query_cos = cos((select((t % 2) != 0, (i + query_start) / 32, (i + query_start) % 32) * 1.0f) * rope_angle);
           query_sin = sin((se ... */
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            const T(ints) t_0 = (i0 + i + T(lane)) + query_start;
            const T(ints) t_1 = t_0 / 32;
            const T(ints) t_2 = t_0 % 32;
            for (int64_t t = 0; t < 32; t++) {
                const T(wide) angle3 = (__builtin_convertvector(((t % 2) != 0) ? t_1 : t_2,
                    T(wide)) * 1.0) * rope_angle[t];
                T(store)(query_cos + t * OF(32, 16, 16) + i, T(cos)(&angle3));
                const T(wide) angle4 = (__builtin_convertvector(((t % 2) != 0) ? t_1 : t_2,
                    T(wide)) * 1.0) * rope_angle[t];
                T(store)(query_sin + t * OF(32, 16, 16) + i, T(sin)(&angle4));
            }
        }
        /* query = ((q_tile * query_cos) + ((q_tile * query_sin) * select((d % 2) == 0, -1.0f, 1.0f))) * 0.18033688f */
        for (int64_t d = 0; d < 64; d++) {
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                T(store)(query + d * OF(32, 16, 16) + i, ((T(load)(q_tile + d * OF(32, 16,
                    16) + i) * T(load)(query_cos + (d / 2) * OF(32, 16,
                    16) + i)) + ((T(load)(q_tile + (((d % 2) == 0) ? (d + 1) : (d - 1)) * OF(32, 16,
                    16) + i) * T(load)(query_sin + (d / 2) * OF(32, 16,
                    16) + i)) * (float)(((d % 2) == 0) ? (-1.0) : 1.0))) * 0.18033688f);
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
    for (int64_t j0 = 0, j_end = n_k; j0 < j_end; j0 += 96) {
        const int64_t j1 = min(j0 + 96, j_end);
        /* k_tile = k, with zeros beyond the last row */
        T(transpose_padded)(k + j0 * k_row, k_row, j1 - j0, 64, k_tile, 96, 64);
        /* key_cos = cos((select((t % 2) != 0, j / 32, j % 32) * 1.0f) * rope_angle);
           key_sin = sin((select((t % 2) != 0, j / 32, j % 32) * ... */
        for (int64_t j = 0; j < j1 - j0; j += LANES) {
            const T(ints) t_5 = j0 + j + T(lane);
            const T(ints) t_6 = t_5 / 32;
            const T(ints) t_7 = t_5 % 32;
            for (int64_t t = 0; t < 32; t++) {
                const T(wide) angle8 = (__builtin_convertvector(((t % 2) != 0) ? t_6 : t_7,
                    T(wide)) * 1.0) * rope_angle[t];
                T(store)(key_cos + t * 96 + j, T(cos)(&angle8));
                const T(wide) angle9 = (__builtin_convertvector(((t % 2) != 0) ? t_6 : t_7,
                    T(wide)) * 1.0) * rope_angle[t];
                T(store)(key_sin + t * 96 + j, T(sin)(&angle9));
            }
        }
        /* key = (k_tile * key_cos) + ((k_tile * key_sin) * select((d % 2) == 0, -1.0f, 1.0f)) */
        for (int64_t d = 0; d < 64; d++) {
            for (int64_t j = 0; j < j1 - j0; j += LANES) {
                T(store)(key + d * 96 + j, (T(load)(k_tile + d * 96 + j) * T(load)(key_cos + (d / 2) * 96 + j)) +
                    ((T(load)(k_tile + (((d % 2) == 0) ? (d + 1) : (d - 1)) * 96 + j) * T(load)(key_sin + (d / 2) * 96 +
                    j)) * (float)(((d % 2) == 0) ? (-1.0) : 1.0)));
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
            /* score[j][i] = sum over d of key * query */
            T(dot0)(round_up(i1 - i0, LANES), j1 - j0, key, query, score);
            /* old_max = row_max */
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                T(store)(old_max + i, T(load)(row_max + i));
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
                const T(vec) old_max_10 = T(load)(old_max + i);
                const T(vec) old_max_new11 = T(exp2)(old_max_10 - T(load)(row_max + i));
                T(store)(old_max + i, old_max_new11);
                T(store)(row_sum + i, T(load)(row_sum + i) * old_max_new11);
                T(store)(row_sum_compensation + i, T(load)(row_sum_compensation + i) * old_max_new11);
            }
            /* score = exp2(score - row_max); row_sum += score */
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                const T(vec) row_max_13 = T(load)(row_max + i);
                T(vec) row_sum_in = (T(vec)){0};
                for (int64_t j = 0; j < j1 - j0; j++) {
                    const T(vec) score_12 = T(load)(score + j * OF(32, 16, 16) + i);
                    const T(vec) score_new14 = T(exp2)(score_12 - row_max_13);
                    T(store)(score + j * OF(32, 16, 16) + i, score_new14);
                    row_sum_in += score_new14;
                }
                T(add)(row_sum + i, row_sum_compensation + i, row_sum_in, T(splat)(1));
            }
            /* sum[e][i] = sum * old_max + sum over j of v * score */
            T(dot1)(round_up(i1 - i0, LANES), j1 - j0, v + j0 * v_row, v_row, score, sum, old_max, sum_compensation);
        }
    }
    {
        for (int64_t i_next = i0, i_block = i0, i_end = i1; i_next < i_end; i_next += OF(32, 16, 16)) {
            const int64_t i0 = i_next, i1 = min(i0 + OF(32, 16, 16), i_end);
            float *const row_sum = all_row_sum + (i0 - i_block) / OF(32, 16, 16) * OF(32, 16, 16);
            float *const sum = all_sum + (i0 - i_block) / OF(32, 16, 16) * OF(2048, 1024, 1024);
            /* result = select(row_sum == 0.0f, 0.0f, sum * (1.0f / row_sum)) */
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                const T(vec) row_sum_15 = T(load)(row_sum + i);
                const T(mask) t_16 = row_sum_15 == 0.0f;
                const T(vec) t_17 = 1.0f / row_sum_15;
                for (int64_t e = 0; e < 64; e++) {
                    T(store)(result + e * OF(32, 16, 16) + i, T(pick)(t_16, T(splat)(0.0f), T(load)(sum + e * OF(32, 16,
                        16) + i) * t_17));
                }
            }
            /* out = result, transposed back */
            T(transpose_out)(result, OF(32, 16, 16), 64, i1 - i0, out + i0 * out_row, out_row, LANES);
        }
    }
}

/* Initialises the states: they contain no keys yet. */
TARGET APART void T(softmax_rope_2d_few_begin)(const struct call *call, int64_t task, const struct share *share,
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
    /* query_cos = cos((select((t % 2) != 0, ((r % n_q) + query_start) / 32,
       ((r % n_q) + query_start) % 32) * 1.0f) * rope_angle); que ... */
    for (int64_t r = r0; r < r1; r += LANES) {
        const T(ints) t_0 = ((r + T(lane)) % n_q) + query_start;
        const T(ints) t_1 = t_0 / 32;
        const T(ints) t_2 = t_0 % 32;
        for (int64_t t = 0; t < 32; t++) {
            const T(wide) angle3 = (__builtin_convertvector(((t % 2) != 0) ? t_1 : t_2, T(wide)) * 1.0) * rope_angle[t];
            T(store)(query_cos + t * 64 + r, T(cos)(&angle3));
            const T(wide) angle4 = (__builtin_convertvector(((t % 2) != 0) ? t_1 : t_2, T(wide)) * 1.0) * rope_angle[t];
            T(store)(query_sin + t * 64 + r, T(sin)(&angle4));
        }
    }
    /* query = ((q_tile * query_cos) + ((q_tile * query_sin) * select((d % 2) == 0, -1.0f, 1.0f))) * 0.18033688f */
    for (int64_t r = r0; r < r1; r += LANES) {
        for (int64_t d = 0; d < 64; d++) {
            T(store)(query + d * 64 + r, ((T(load)(q_tile + d * 80 + r) * T(load)(query_cos + (d / 2) * 64 + r)) +
                ((T(load)(q_tile + (((d % 2) == 0) ? (d + 1) : (d - 1)) * 80 + r) * T(load)(query_sin + (d / 2) * 64 +
                r)) * (float)(((d % 2) == 0) ? (-1.0) : 1.0))) * 0.18033688f);
        }
    }
}

/* Initialises the states: they contain no keys yet. */
TARGET APART void T(softmax_rope_2d_few_begin_2)(const struct call *call, int64_t task, const struct share *share,
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
TARGET APART void T(softmax_rope_2d_few_keys)(const struct call *call, int64_t task, const struct share *share,
    int64_t iteration)
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
    for (int64_t j0 = chunk * 1024, j_end = min(n_k, (chunk + 1) * 1024); j0 < j_end; j0 += 128) {
        const int64_t j1 = min(j0 + 128, j_end);
        /* k_tile = k, with zeros beyond the last row */
        T(transpose_padded)(k + j0 * k_row, k_row, j1 - j0, 64, k_tile, 144, 64);
        /* key_cos = cos((select((t % 2) != 0, j / 32, j % 32) * 1.0f) * rope_angle);
           key_sin = sin((select((t % 2) != 0, j / 32, j % 32) * ... */
        for (int64_t j = 0; j < j1 - j0; j += LANES) {
            const T(ints) t_5 = j0 + j + T(lane);
            const T(ints) t_6 = t_5 / 32;
            const T(ints) t_7 = t_5 % 32;
            for (int64_t t = 0; t < 32; t++) {
                const T(wide) angle8 = (__builtin_convertvector(((t % 2) != 0) ? t_6 : t_7,
                    T(wide)) * 1.0) * rope_angle[t];
                T(store)(key_cos + t * 144 + j, T(cos)(&angle8));
                const T(wide) angle9 = (__builtin_convertvector(((t % 2) != 0) ? t_6 : t_7,
                    T(wide)) * 1.0) * rope_angle[t];
                T(store)(key_sin + t * 144 + j, T(sin)(&angle9));
            }
        }
        /* key = (k_tile * key_cos) + ((k_tile * key_sin) * select((d % 2) == 0, -1.0f, 1.0f)) */
        for (int64_t d = 0; d < 64; d++) {
            for (int64_t j = 0; j < j1 - j0; j += LANES) {
                T(store)(key + d * 144 + j, (T(load)(k_tile + d * 144 + j) * T(load)(key_cos + (d / 2) * 144 + j)) +
                    ((T(load)(k_tile + (((d % 2) == 0) ? (d + 1) : (d - 1)) * 144 + j) * T(load)(key_sin + (d / 2) * 144
                    + j)) * (float)(((d % 2) == 0) ? (-1.0) : 1.0)));
            }
        }
        /* score[r][j] = sum over d of query * key */
        T(dot2)(round_up(j1 - j0, LANES), rows, query, key, score);
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
#if OF(1, 0, 0)
        T(dot3)(rows, j1 - j0, score, v + j0 * v_row, v_row, state + (chunk - chunk0) * 4240, attn_is_intel() ? 16 : 0);
#else
        T(dot3)(rows, j1 - j0, score, v + j0 * v_row, v_row, state + (chunk - chunk0) * 4240);
#endif
    }
}

/* Folds the slots of the current chunks, in order, for some elements of the states. */
TARGET APART void T(softmax_rope_2d_few_fold)(const struct call *call, int64_t task, const struct share *share,
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
TARGET APART void T(softmax_rope_2d_few_queries)(const struct call *call, int64_t task, const struct share *share,
    int64_t iteration)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_q = call->p.n_q;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t r0 = iteration * 16, r1 = min(r0 + 16, rows);
    const int64_t g = task % kv_heads;
    const int64_t b = task / kv_heads;
    float *const carried_sum = (float *)(void *)(share->shared + 33216); /* [r: 64] */
    float *const carried = (float *)(void *)(share->shared + 33472); /* [r: 64, e: 64] */
    float *const result = (float *)(void *)(share->work + 0); /* [r: 64, e: 64] */
    float *const out = (float *)call->array[ARRAY_out].at + b * call->array[ARRAY_out].strides.batch + g * members *
        call->array[ARRAY_out].strides.head;
    const int64_t out_row = call->array[ARRAY_out].strides.row;
    const int64_t out_head = call->array[ARRAY_out].strides.head;
    /* result = select(carried_sum == 0.0f, 0.0f, carried * (1.0f / carried_sum)) */
    for (int64_t r = r0; r < r1; r++) {
        for (int64_t e_first = 0; e_first < 64; e_first += OF(64, 16, 8)) {
            UNROLL for (int64_t vector = 0, e = e_first; vector < OF(4, 2, 2); vector++, e += LANES) {
                const float carried_sum_21 = carried_sum[r];
                T(store)(result + r * 64 + e, (carried_sum_21 == 0.0f) ? T(splat)(0.0f) : T(load)(carried + r * 64 + e)
                    * (1.0f / carried_sum_21));
            }
        }
    }
    /* out = result */
    for (int64_t r = r0; r < r1; r++)
        for (int64_t e = 0; e < 64; e++)
            out[r / n_q * out_head + r % n_q * out_row + e] = result[r * 64 + e];
}

/* Computes head number `task`. Each thread on the head calls this with `share`. */
TARGET static void T(softmax_rope_2d_few)(const struct call *call, int64_t task, struct share *share)
{
    const int64_t n_k = call->p.n_k;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t chunks = n_k > 0 ? (n_k - 1) / 1024 + 1 : 1;
    for (int64_t iteration = share->number; iteration < ((rows + 63) / 64); iteration += share->threads)
        T(softmax_rope_2d_few_begin)(call, task, share, iteration);
    for (int64_t iteration = share->number; iteration < ((rows + 15) / 16); iteration += share->threads)
        T(softmax_rope_2d_few_begin_2)(call, task, share, iteration);
    synchronise(share);
    const int64_t first = 0;
    const int64_t length = segment_length(share, chunks - first);
    for (int64_t segment = share->number; first + segment * length < chunks; segment += share->threads) {
        share->chunk0 = first + segment * length;
        share->chunk1 = min(share->chunk0 + length, chunks);
        for (int64_t iteration = share->chunk0; iteration < share->chunk1; iteration++)
            T(softmax_rope_2d_few_keys)(call, task, share, iteration);
        for (int64_t group = 0; group < 16; group++) {
            await_segment(share, group, segment);
            const int64_t end = (group + 1) * ((rows + 15) / 16) / 16;
            for (int64_t iteration = group * ((rows + 15) / 16) / 16; iteration < end; iteration++)
                T(softmax_rope_2d_few_fold)(call, task, share, iteration);
            pass_segment(share, group, segment);
        }
    }
    share->segments += (max(chunks - first, 0) + length - 1) / length;
    synchronise(share);
    for (int64_t iteration = share->number; iteration < ((rows + 15) / 16); iteration += share->threads)
        T(softmax_rope_2d_few_queries)(call, task, share, iteration);
    synchronise(share);
}
#include <attnrt/kernel/end.h>
#else
#ifdef __cplusplus
#error "softmax_rope_2d.c is C, not C++: compile it with a C compiler"
#elif !defined __STDC_VERSION__ || __STDC_VERSION__ < 199901L
#error "softmax_rope_2d.c is C11, not C89: compile it without -std=, or with -std=gnu11"
extern int softmax_rope_2d_is_c11;
#elif !defined __GNUC__
#error "softmax_rope_2d.c uses GNU C vector extensions: compile it with gcc or clang"
extern int softmax_rope_2d_is_gnu_c;
#else
#include "softmax_rope_2d.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include <attnrt/kernel/optimize.h>
#include <attnrt/kernel/call.h>

/* the numbers of the arrays of a call */
enum {
    ARRAY_q, ARRAY_k, ARRAY_v, ARRAY_out
};

static const double rope_angle[32] = {
    1, 1, 0.74989420933245587, 0.74989420933245587, 0.56234132519034907, 0.56234132519034907,
    0.42169650342858223, 0.42169650342858223, 0.31622776601683794, 0.31622776601683794, 0.23713737056616552,
        0.23713737056616552,
    0.17782794100389229, 0.17782794100389229, 0.1333521432163324, 0.1333521432163324, 0.10000000000000001,
        0.10000000000000001,
    0.074989420933245579, 0.074989420933245579, 0.056234132519034911, 0.056234132519034911, 0.042169650342858224,
        0.042169650342858224,
    0.031622776601683791, 0.031622776601683791, 0.023713737056616554, 0.023713737056616554, 0.017782794100389229,
        0.017782794100389229,
    0.013335214321633241, 0.013335214321633241};

#ifdef __FILE_NAME__
#define LOOPS __FILE_NAME__ /* this file, whose first part has the loops */
#else
#define LOOPS "softmax_rope_2d.c"
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
    {.role = RUN_FORWARD, .form = FORM_FEW,
     .head = softmax_rope_2d_few_v4, .tile = 0, .own = 110592, .few_rows = 64, .lanes = 16, .of_pair = 128,
         .shared = 66624, .slot = 16960, .slots = 4, .together = 1},
    {.role = RUN_FORWARD,
     .rows = softmax_rope_2d_rows_v4, .tile = 256, .own = 273408, .of_pair = 128},
};
#endif
#if defined(__x86_64__)
static int runs_v3(void)
{
    return attn_x86_64_level() >= 3;
}
static const struct program programs_v3[] = {
    {.role = RUN_FORWARD, .form = FORM_FEW,
     .head = softmax_rope_2d_few_v3, .tile = 0, .own = 110592, .few_rows = 64, .lanes = 8, .of_pair = 128,
         .shared = 66624, .slot = 16960, .slots = 4, .together = 1},
    {.role = RUN_FORWARD,
     .rows = softmax_rope_2d_rows_v3, .tile = 256, .own = 273408, .of_pair = 128},
};
#endif
static const struct program programs_any[] = {
    {.role = RUN_FORWARD, .form = FORM_FEW,
     .head = softmax_rope_2d_few_any, .tile = 0, .own = 110592, .few_rows = 64, .lanes = 4, .of_pair = 128,
         .shared = 66624, .slot = 16960, .slots = 4, .together = 1},
    {.role = RUN_FORWARD,
     .rows = softmax_rope_2d_rows_any, .tile = 128, .own = 173568, .of_pair = 128},
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
    .layout = KERNEL_LAYOUT, .name = "softmax_rope_2d", .openmp = OPENMP,
    .target = target, .targets = sizeof target / sizeof *target - 1,
    .array = array, .arrays = sizeof array / sizeof *array,
    .params_bytes = sizeof(struct softmax_rope_2d_params),
    .dtype = ATTN_F32, .key_dtype = ATTN_F32, .value_dtype = ATTN_F32, .real = sizeof(float), .element = sizeof(float),
    .head_dim = 64, .value_dim = 64, .key_row = 64, .value_row = 64,
    .shares = 1,
    .positions = 1,
    .ids = -1,
    .corrected = -1,
    .solution = -1,
};

/* ==== the interface ==== */
size_t softmax_rope_2d_params_size(void) { return attn_call_params_size(&kernel); }
int softmax_rope_2d_params_init(struct softmax_rope_2d_params *params, uint64_t seed, void *storage)
{
    return attn_call_params_init(&kernel, params, seed, storage);
}
size_t softmax_rope_2d_workspace(const struct attn_problem *problem) { return attn_call_workspace(&kernel, problem); }
int softmax_rope_2d_forward(const struct attn_problem *problem, const struct softmax_rope_2d_params *params,
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
const struct attn_kernel softmax_rope_2d_kernel = {
    .name = "softmax_rope_2d", .version = "0.2.0", .dtype = ATTN_F32, .head_dim = 64, .value_dim = 64,
    .params = 0, .param = NULL, .params_bytes = sizeof(struct softmax_rope_2d_params),
    .params_size = softmax_rope_2d_params_size, .params_init = params_init_any, .forward = forward_any,
    .workspace = softmax_rope_2d_workspace,
    .key_dtype = ATTN_F32, .value_dtype = ATTN_F32,
    .before = INT64_MAX, .after = INT64_MAX, .period = 0, .names_heads = 0, .names_sequences = 0, .in_parts = 0,
    .saved_power = 0, .has_sink = 0, .open_keys = 0, .end_of_keys = INT64_MAX,
};
#endif /* a compiler of this language */
#endif /* SECTION */
