/* sliding_window.c, made by attnc 0.2.0: attnc sliding_window.yaml
   C11 with GNU extensions, for a C compiler; C++ includes sliding_window.h.
   causal softmax attention to the 4096 positions before a query
   Jiang et al., Mistral 7B (arXiv 2023), section 2, sliding window attention

   Computes, in f32, over the axes b (batch), g (key/value head), m (query head of g), i (query), j (key), d (128),
   e (128), t (64):
     q [b g m i d]
     k [b g j d]
     v [b g j e]
     rope_theta [t], constant
     x4 [j t] = cos(j * rope_theta)
     x5 [j t] = sin(j * rope_theta)
     x6 [b g j d] = k * x4[j, d % 64] + k[b, g, j, d < 64 ? d + 64 : d + -64] * x5[j, d % 64] * (d < 64 ? -1 : 1)
     x7 [b i t] = cos((i + query_start) * rope_theta)
     x8 [b i t] = sin((i + query_start) * rope_theta)
     x9 [b g m i d] = q * x7[b, i, d % 64] + q[b, g, m, i, d < 64 ? d + 64 : d + -64] * x8[b, i,
     d % 64] * (d < 64 ? -1 : 1)
     x10 [b g m i j] = sum over d of x9 * x6
     x11 [b g m i j] = exp(x10 * 0.08838834764831843)
     x12 [b g m i] = sum over j of x11 if i + query_start + -4096 <= j && j <= i + query_start
     x13 [b g m i e] = sum over j of x11 * v if i + query_start + -4096 <= j && j <= i + query_start
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
     543744 bytes of workspace per thread
     x86-64-v4  few       tiles of 64 queries and 128 keys; 511296 bytes of workspace per thread
     x86-64-v3  quadratic tiles of 16 queries and 96 keys, in blocks of 128 queries;
     345600 bytes of workspace per thread
     x86-64-v3  few       tiles of 64 queries and 128 keys; 511296 bytes of workspace per thread
     generic    quadratic tiles of 16 queries and 96 keys, in blocks of 64 queries; 246528 bytes of workspace per thread
     generic    few       tiles of 64 queries and 128 keys; 511296 bytes of workspace per thread

   Contents:
     loops      sliding_window_rows, sliding_window_few
     targets    x86-64-v4, x86-64-v3, generic
     tables     arrays and programs, for the functions of attnrt that call the loops
     interface  sliding_window_workspace, sliding_window_forward, sliding_window_kernel
   The file includes itself, so that the loops are compiled once for each target. T(name) is a name with the target's
   suffix, LANES the elements of its vectors, and OF(…) a number for each target.

   Compile with: cc -O2 -fopenmp sliding_window.c … -lattnrt -lm */
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

/* Computes task number `task`: one tile of queries of one head. `work` is this thread's workspace. */
TARGET static void T(sliding_window_rows)(const struct call *call, int64_t task, unsigned char *work)
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
        /* query_cos = cos((i + query_start) * rope_theta); query_sin = sin((i + query_start) * rope_theta) */
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            const T(ints) t_0 = (i0 + i + T(lane)) + query_start;
            for (int64_t t = 0; t < 64; t++) {
                const T(wide) angle1 = __builtin_convertvector(t_0, T(wide)) * rope_theta[t];
                T(store)(query_cos + t * OF(32, 16, 16) + i, T(cos)(&angle1));
                const T(wide) angle2 = __builtin_convertvector(t_0, T(wide)) * rope_theta[t];
                T(store)(query_sin + t * OF(32, 16, 16) + i, T(sin)(&angle2));
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
    for (int64_t j0 = max(0, i0 + query_start - 4096), j_end = min(n_k, i1 + query_start); j0 < j_end; j0 += 96) {
        const int64_t j1 = min(j0 + 96, j_end);
        /* k_tile = k, with zeros beyond the last row */
        T(transpose_padded)(k + j0 * k_row, k_row, j1 - j0, 128, k_tile, 96, 64);
        /* key_cos = cos(j * rope_theta); key_sin = sin(j * rope_theta) */
        for (int64_t j = 0; j < j1 - j0; j += LANES) {
            const T(ints) t_3 = j0 + j + T(lane);
            for (int64_t t = 0; t < 64; t++) {
                const T(wide) angle4 = __builtin_convertvector(t_3, T(wide)) * rope_theta[t];
                T(store)(key_cos + t * 96 + j, T(cos)(&angle4));
                const T(wide) angle5 = __builtin_convertvector(t_3, T(wide)) * rope_theta[t];
                T(store)(key_sin + t * 96 + j, T(sin)(&angle5));
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
            if (!(((i0 + query_start - 4096) < j1) && (j0 < (i1 + query_start)))) continue;
                /* no query sees a key of the tile */
            /* score[j][i] = sum over d of key * query */
            T(dot0)(round_up(i1 - i0, LANES), j1 - j0, key, query, score);
            /* old_max = row_max */
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                T(store)(old_max + i, T(load)(row_max + i));
            }
            if ((j0 < (i1 + query_start - 4097)) || ((i0 + query_start + 1) < j1)) { /* the tile is partly outside the
                mask */
                /* score = select((((i + query_start) + -4096) <= j) && (j <= (i + query_start)), score, -INFINITY) */
                for (int64_t i = 0; i < i1 - i0; i += LANES) {
                    const T(ints) t_6 = (i0 + i + T(lane)) + query_start;
                    const T(ints) t_7 = t_6 + (-4096);
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
            if (__builtin_expect(((j0 < (i1 + query_start - 4097)) || ((i0 + query_start + 1) < j1)) && !T(finite)(v +
                j0 * v_row, v_row, j1 - j0, 128), 0)) { /* infinity and NaN affect only queries that see them */
                T(dot1)(round_up(i1 - i0, LANES), j1 - j0, v + j0 * v_row, v_row, score, sum, old_max,
                    sum_compensation);
                for (int64_t j = 0; j < j1 - j0; j++) {
                    T(mask) in_region[OF(2, 2, 4)] = {0};
                    if (T(finite)(v + j0 * v_row + j * v_row, 1, 128, 1)) continue;
                    for (int64_t i = 0; i < i1 - i0; i += LANES) {
                        const T(ints) t_13 = (i0 + i + T(lane)) + query_start;
                        in_region[i / LANES] = __builtin_convertvector(((t_13 + (-4096)) <= (j0 + j)) & ((j0 + j) <=
                            t_13), T(mask));
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
                const T(vec) row_sum_14 = T(load)(row_sum + i);
                const T(mask) t_15 = row_sum_14 == 0.0f;
                const T(vec) t_16 = 1.0f / row_sum_14;
                for (int64_t e = 0; e < 128; e++) {
                    T(store)(result + e * OF(32, 16, 16) + i, T(pick)(t_15, T(splat)(0.0f), T(load)(sum + e * OF(32, 16,
                        16) + i) * t_16));
                }
            }
            /* out = result, transposed back */
            T(transpose_out)(result, OF(32, 16, 16), 128, i1 - i0, out + i0 * out_row, out_row, LANES);
        }
    }
}

/* Initialises the states: they contain no keys yet. */
TARGET APART void T(sliding_window_few_begin)(const struct call *call, int64_t task, const struct share *share,
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
    float *const query_cos = (float *)(void *)(share->shared + 0); /* [t: 64, r: 64] */
    float *const query_sin = (float *)(void *)(share->shared + 16448); /* [t: 64, r: 64] */
    float *const query = (float *)(void *)(share->shared + 32896); /* [d: 128, r: 64] */
    float *const q_tile = (float *)(void *)(share->work + 0); /* [d: 128, r: 64 of 80] */
    /* q_tile = q, with zeros beyond the last row */
    for (int64_t r = r0; r < r0 + round_up(r1 - r0, LANES); r++)
        for (int64_t d = 0; d < 128; d++)
            q_tile[d * 80 + r] = r < r1 ? q[r / n_q * q_head + r % n_q * q_row + d] : 0;
    /* query_cos = cos(((r % n_q) + query_start) * rope_theta);
       query_sin = sin(((r % n_q) + query_start) * rope_theta) */
    for (int64_t r = r0; r < r1; r += LANES) {
        const T(ints) t_0 = ((r + T(lane)) % n_q) + query_start;
        for (int64_t t = 0; t < 64; t++) {
            const T(wide) angle1 = __builtin_convertvector(t_0, T(wide)) * rope_theta[t];
            T(store)(query_cos + t * 64 + r, T(cos)(&angle1));
            const T(wide) angle2 = __builtin_convertvector(t_0, T(wide)) * rope_theta[t];
            T(store)(query_sin + t * 64 + r, T(sin)(&angle2));
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
TARGET APART void T(sliding_window_few_begin_2)(const struct call *call, int64_t task, const struct share *share,
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
TARGET APART void T(sliding_window_few_keys)(const struct call *call, int64_t task, const struct share *share,
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
    for (int64_t j0 = max(chunk * 1024, query_start - 4096), j_end = min(min(n_k, (chunk + 1) * 1024),
        n_q + query_start); j0 < j_end; j0 += 128) {
        const int64_t j1 = min(j0 + 128, j_end);
        /* k_tile = k, with zeros beyond the last row */
        T(transpose_padded)(k + j0 * k_row, k_row, j1 - j0, 128, k_tile, 144, 64);
        /* key_cos = cos(j * rope_theta); key_sin = sin(j * rope_theta) */
        for (int64_t j = 0; j < j1 - j0; j += LANES) {
            const T(ints) t_3 = j0 + j + T(lane);
            for (int64_t t = 0; t < 64; t++) {
                const T(wide) angle4 = __builtin_convertvector(t_3, T(wide)) * rope_theta[t];
                T(store)(key_cos + t * 144 + j, T(cos)(&angle4));
                const T(wide) angle5 = __builtin_convertvector(t_3, T(wide)) * rope_theta[t];
                T(store)(key_sin + t * 144 + j, T(sin)(&angle5));
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
        if ((j0 < (n_q + query_start - 4097)) || ((query_start + 1) < j1)) { /* the tile is partly outside the mask */
            /* score = select(((((r % n_q) + query_start) + -4096) <= j) && (j <= ((r % n_q) + query_start)), score,
               -INFINITY) */
            for (int64_t j = 0; j < j1 - j0; j += LANES) {
                const T(ints) t_6 = j0 + j + T(lane);
                for (int64_t r = 0; r < rows; r++) {
                    const int64_t t_7 = (r % n_q) + query_start;
                    T(store)(score + r * 144 + j, T(pick)(__builtin_convertvector((((r % n_q) + query_start - 4096) <=
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
            if (largest > state_max[(chunk - chunk0) * 9360 + r]) state_max[(chunk - chunk0) * 9360 + r] = largest;
        }
        /* old_max = exp2(old_max - state_max); state_sum = state_sum * old_max */
        for (int64_t r = 0; r < rows; r += LANES) {
            const T(vec) old_max_8 = T(load)(old_max + r);
            const T(vec) old_max_new9 = T(exp2)(old_max_8 - T(load)(state_max + (chunk - chunk0) * 9360 + r));
            T(store)(old_max + r, old_max_new9);
            T(store)(state_sum + (chunk - chunk0) * 9360 + r, T(load)(state_sum + (chunk - chunk0) * 9360 + r) *
                old_max_new9);
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
        if (__builtin_expect(((j0 < (n_q + query_start - 4097)) || ((query_start + 1) < j1)) && !T(finite)(v + j0 *
            v_row, v_row, j1 - j0, 128), 0)) { /* infinity and NaN affect only queries that see them */
            T(dot4)(rows, j1 - j0, score, v + j0 * v_row, v_row, state + (chunk - chunk0) * 9360);
            for (int64_t r = 0; r < rows; r++) {
                T(mask) in_region[OF(8, 16, 32)] = {0};
                const int64_t t_10 = (r % n_q) + query_start - 4096;
                const int64_t t_12 = (r % n_q) + query_start;
                for (int64_t j = 0; j < j1 - j0; j += LANES) {
                    const T(ints) t_11 = j0 + j + T(lane);
                    in_region[j / LANES] = __builtin_convertvector((t_10 <= t_11) & (t_11 <= t_12), T(mask));
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
TARGET APART void T(sliding_window_few_fold)(const struct call *call, int64_t task, const struct share *share,
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
            const T(vec) carried_max_13 = T(load)(carried_max + r);
            const T(vec) before_max_new14 = carried_max_13;
            const T(vec) state_max_15 = T(load)(state_max + (chunk - chunk0) * 9360 + r);
            const T(vec) carried_max_new16 = T(max)(T(load)(carried_max + r), state_max_15);
            T(store)(carried_max + r, carried_max_new16);
            const T(vec) carried_factor_new17 = T(exp2)(before_max_new14 - carried_max_new16);
            T(store)(carried_factor + r, carried_factor_new17);
            const T(vec) slot_factor_new18 = T(exp2)(state_max_15 - carried_max_new16);
            T(store)(slot_factor + r, slot_factor_new18);
            const T(vec) carried_sum_19 = T(load)(carried_sum + r);
            T(store)(carried_sum + r, carried_sum_19 * carried_factor_new17);
            T(store)(carried_sum_compensation + r, T(load)(carried_sum_compensation + r) * carried_factor_new17);
            T(add)(carried_sum + r, carried_sum_compensation + r, T(load)(state_sum + (chunk - chunk0) * 9360 + r) *
                slot_factor_new18, T(splat)(1));
        }
        /* before = carried; carried = carried * carried_factor; carried_compensation = carried_compensation *
           carried_factor; carried += s ... */
        for (int64_t r = r0; r < r1; r++) {
            for (int64_t e_first = 0; e_first < 128; e_first += OF(64, 16, 8)) {
                UNROLL for (int64_t vector = 0, e = e_first; vector < OF(4, 2, 2); vector++, e += LANES) {
                    const T(vec) carried_20 = T(load)(carried + r * 144 + e);
                    const float carried_factor_21 = carried_factor[r];
                    T(store)(carried + r * 144 + e, carried_20 * carried_factor_21);
                    T(store)(carried_compensation + r * 144 + e, T(load)(carried_compensation + r * 144 + e) *
                        carried_factor_21);
                    T(add)(carried + r * 144 + e, carried_compensation + r * 144 + e,
                        T(load)(state + (chunk - chunk0) * 9360 + r * 144 + e) * slot_factor[r], T(splat)(1));
                }
            }
        }
    }
}

/* Processes a tile of queries: reads the states. */
TARGET APART void T(sliding_window_few_queries)(const struct call *call, int64_t task, const struct share *share,
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
                const float carried_sum_22 = carried_sum[r];
                T(store)(result + r * 144 + e, (carried_sum_22 == 0.0f) ? T(splat)(0.0f) : T(load)(carried + r * 144 +
                    e) * (1.0f / carried_sum_22));
            }
        }
    }
    /* out = result */
    for (int64_t r = r0; r < r1; r++)
        for (int64_t e = 0; e < 128; e++)
            out[r / n_q * out_head + r % n_q * out_row + e] = result[r * 144 + e];
}

/* Computes head number `task`. Each thread on the head calls this with `share`. */
TARGET static void T(sliding_window_few)(const struct call *call, int64_t task, struct share *share)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t n_q = call->p.n_q;
    const int64_t n_k = call->p.n_k;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t chunks = n_k > 0 ? (n_k - 1) / 1024 + 1 : 1;
    const int64_t b = task / kv_heads;
    const int64_t query_start = call->p.query_start ? call->p.query_start[b] : n_k - n_q;
    for (int64_t iteration = share->number; iteration < ((rows + 63) / 64); iteration += share->threads)
        T(sliding_window_few_begin)(call, task, share, iteration);
    for (int64_t iteration = share->number; iteration < ((rows + 15) / 16); iteration += share->threads)
        T(sliding_window_few_begin_2)(call, task, share, iteration);
    synchronise(share);
    const int64_t first = max(query_start - 4096, 0) / 1024;
    const int64_t length = segment_length(share, chunks - first);
    for (int64_t segment = share->number; first + segment * length < chunks; segment += share->threads) {
        share->chunk0 = first + segment * length;
        share->chunk1 = min(share->chunk0 + length, chunks);
        for (int64_t iteration = share->chunk0; iteration < share->chunk1; iteration++)
            T(sliding_window_few_keys)(call, task, share, iteration);
        for (int64_t group = 0; group < 16; group++) {
            await_segment(share, group, segment);
            const int64_t end = (group + 1) * ((rows + 15) / 16) / 16;
            for (int64_t iteration = group * ((rows + 15) / 16) / 16; iteration < end; iteration++)
                T(sliding_window_few_fold)(call, task, share, iteration);
            pass_segment(share, group, segment);
        }
    }
    share->segments += (max(chunks - first, 0) + length - 1) / length;
    synchronise(share);
    for (int64_t iteration = share->number; iteration < ((rows + 15) / 16); iteration += share->threads)
        T(sliding_window_few_queries)(call, task, share, iteration);
    synchronise(share);
}
#include <attnrt/kernel/end.h>
#else
#ifdef __cplusplus
#error "sliding_window.c is C, not C++: compile it with a C compiler"
#elif !defined __STDC_VERSION__ || __STDC_VERSION__ < 199901L
#error "sliding_window.c is C11, not C89: compile it without -std=, or with -std=gnu11"
extern int sliding_window_is_c11;
#elif !defined __GNUC__
#error "sliding_window.c uses GNU C vector extensions: compile it with gcc or clang"
extern int sliding_window_is_gnu_c;
#else
#include "sliding_window.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include <attnrt/kernel/optimize.h>
#include <attnrt/kernel/call.h>

/* the numbers of the arrays of a call */
enum {
    ARRAY_q, ARRAY_k, ARRAY_v, ARRAY_out
};

static const double rope_theta[64] = {
    1, 0.86596432336006535, 0.74989420933245587, 0.64938163157621132, 0.56234132519034907, 0.48696752516586311,
    0.42169650342858223, 0.36517412725483772, 0.31622776601683794, 0.27384196342643613, 0.23713737056616552,
        0.20535250264571461,
    0.17782794100389229, 0.15399265260594919, 0.1333521432163324, 0.11547819846894582, 0.10000000000000001,
        0.086596432336006529,
    0.074989420933245579, 0.064938163157621132, 0.056234132519034911, 0.048696752516586311, 0.042169650342858224,
        0.036517412725483769,
    0.031622776601683791, 0.027384196342643614, 0.023713737056616554, 0.02053525026457146, 0.017782794100389229,
        0.015399265260594919,
    0.013335214321633241, 0.011547819846894581, 0.01, 0.0086596432336006543, 0.0074989420933245579,
        0.006493816315762113,
    0.005623413251903491, 0.004869675251658631, 0.0042169650342858229, 0.0036517412725483771, 0.0031622776601683794,
        0.0027384196342643613,
    0.0023713737056616554, 0.002053525026457146, 0.0017782794100389228, 0.001539926526059492, 0.0013335214321633241,
        0.0011547819846894581,
    0.001, 0.00086596432336006539, 0.00074989420933245586, 0.00064938163157621134, 0.0005623413251903491,
        0.0004869675251658631,
    0.00042169650342858224, 0.0003651741272548377, 0.00031622776601683794, 0.00027384196342643611,
        0.00023713737056616554, 0.00020535250264571461,
    0.00017782794100389227, 0.00015399265260594919, 0.0001333521432163324, 0.00011547819846894582};

#ifdef __FILE_NAME__
#define LOOPS __FILE_NAME__ /* this file, whose first part has the loops */
#else
#define LOOPS "sliding_window.c"
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
#define MAX_STEPS 128
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
#define MAX_STEPS 128
#define MAX_LANES 128
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
     .head = sliding_window_few_v4, .tile = 0, .own = 221184, .few_rows = 64, .lanes = 16, .of_pair = 256,
         .shared = 140352, .slot = 37440, .slots = 4, .together = 1},
    {.role = RUN_FORWARD,
     .rows = sliding_window_rows_v4, .tile = 256, .own = 543744, .of_pair = 256},
};
#endif
#if defined(__x86_64__)
static int runs_v3(void)
{
    return attn_x86_64_level() >= 3;
}
static const struct program programs_v3[] = {
    {.role = RUN_FORWARD, .form = FORM_FEW,
     .head = sliding_window_few_v3, .tile = 0, .own = 221184, .few_rows = 64, .lanes = 8, .of_pair = 256,
         .shared = 140352, .slot = 37440, .slots = 4, .together = 1},
    {.role = RUN_FORWARD,
     .rows = sliding_window_rows_v3, .tile = 128, .own = 345600, .of_pair = 256},
};
#endif
static const struct program programs_any[] = {
    {.role = RUN_FORWARD, .form = FORM_FEW,
     .head = sliding_window_few_any, .tile = 0, .own = 221184, .few_rows = 64, .lanes = 4, .of_pair = 256,
         .shared = 140352, .slot = 37440, .slots = 4, .together = 1},
    {.role = RUN_FORWARD,
     .rows = sliding_window_rows_any, .tile = 64, .own = 246528, .of_pair = 256},
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
    .layout = KERNEL_LAYOUT, .name = "sliding_window", .openmp = OPENMP,
    .target = target, .targets = sizeof target / sizeof *target - 1,
    .array = array, .arrays = sizeof array / sizeof *array,
    .params_bytes = sizeof(struct sliding_window_params),
    .dtype = ATTN_F32, .key_dtype = ATTN_F32, .value_dtype = ATTN_F32, .real = sizeof(float), .element = sizeof(float),
    .head_dim = 128, .value_dim = 128, .key_row = 128, .value_row = 128,
    .shares = 1,
    .positions = 1,
    .ids = -1,
    .corrected = -1,
    .solution = -1,
};

/* ==== the interface ==== */
size_t sliding_window_params_size(void) { return attn_call_params_size(&kernel); }
int sliding_window_params_init(struct sliding_window_params *params, uint64_t seed, void *storage)
{
    return attn_call_params_init(&kernel, params, seed, storage);
}
size_t sliding_window_workspace(const struct attn_problem *problem) { return attn_call_workspace(&kernel, problem); }
int sliding_window_forward(const struct attn_problem *problem, const struct sliding_window_params *params,
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
const struct attn_kernel sliding_window_kernel = {
    .name = "sliding_window", .version = "0.2.0", .dtype = ATTN_F32, .head_dim = 128, .value_dim = 128,
    .params = 0, .param = NULL, .params_bytes = sizeof(struct sliding_window_params),
    .params_size = sliding_window_params_size, .params_init = params_init_any, .forward = forward_any,
    .workspace = sliding_window_workspace,
    .key_dtype = ATTN_F32, .value_dtype = ATTN_F32,
    .before = 4096, .after = 0, .period = 1, .names_heads = 0, .names_sequences = 0, .in_parts = 0,
    .saved_power = 0, .has_sink = 0, .open_keys = 0, .end_of_keys = INT64_MAX,
};
#endif /* a compiler of this language */
#endif /* SECTION */
