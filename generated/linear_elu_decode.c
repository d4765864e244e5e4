/* linear_elu_decode.c, made by attnc 0.2.0: attnc linear_elu_decode.yaml
   C11 with GNU extensions, for a C compiler; C++ includes linear_elu_decode.h.
   linear attention with the feature map ELU + 1 that decodes tokens from a state of constant size
   Katharopoulos et al., Transformers are RNNs (ICML 2020), section 3.4

   Computes, in f32, over the axes b (batch), g (key/value head), m (query head of g), i (query), j (key), d (16),
   e (16):
     q [b g m i d]
     k [b g j d]
     v [b g j e]
     x3 [b g m i d] = 0 < q ? q + 1 : exp(min(q, 0))
     x4 [b g j d] = 0 < k ? k + 1 : exp(min(k, 0))
     x5 [b g m i j] = sum over d of x3 * x4
     x6 [b g m i j] = x5
     x7 [b g m i] = sum over j of x6 if j <= i + query_start
     x8 [b g m i e] = sum over j of x6 * v if j <= i + query_start
     x9 [b g m i e] = x7 == 0 ? 0 : x8 / x7
     out = x9
   query_start is the position of the first query: problem.query_start[b], or n_k - n_q if that is NULL.

   How: each vector lane holds one query. Keys are processed in tiles,
   so row sums and maxima need no reduction across lanes.
   The sums of a tile start from zero and are added to the sums so far. Tiles that no query sees are skipped.
   Linear: the weight is an inner product of 16 features. The state is a sum over keys of 16 x 17 numbers.
     x86-64-v4  linear    tiles of 16 queries and 16 keys; 12864 bytes of workspace per thread
     x86-64-v3  linear    tiles of 16 queries and 16 keys; 12864 bytes of workspace per thread
     generic    linear    tiles of 16 queries and 16 keys; 12864 bytes of workspace per thread

   Contents:
     loops      linear_elu_decode_linear, linear_elu_decode_extend, linear_elu_decode_join
     targets    x86-64-v4, x86-64-v3, generic
     tables     arrays and programs, for the functions of attnrt that call the loops
     interface  linear_elu_decode_workspace, linear_elu_decode_forward, linear_elu_decode_extend,
     linear_elu_decode_kernel
   The file includes itself, so that the loops are compiled once for each target. T(name) is a name with the target's
   suffix, LANES the elements of its vectors, and OF(…) a number for each target.

   Compile with: cc -O2 -fopenmp linear_elu_decode.c … -lattnrt -lm */
#ifdef SECTION
#include <attnrt/kernel/vector.h>
#include <attnrt/kernel/elementary.h>
#include <attnrt/kernel/product.h>

/* The functions for the products below. Each calls dot or a similar function with constants. */
TARGET APART void T(dot0)(int64_t steps, const float *a, const float *b, int64_t b_step, float *c)
{
    T(dot)(/*vectors=*/OF(1, 2, 2), /*lanes=*/16, /*rows=*/16, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/16,
        /*a_step=*/1, b, b_step, c, /*c_row=*/16, /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL);
}
#if OF(1, 0, 0)
TARGET APART void T(dot1)(const float *a, const float *b, float *c)
#else
TARGET APART void T(dot1)(int64_t lanes, const float *a, const float *b, float *c)
#endif
{
#if OF(1, 0, 0)
    T(dot)(/*vectors=*/1, /*lanes=*/16, /*rows=*/16, /*tail=*/4, /*steps=*/16, /*span=*/32, a, /*a_row=*/1,
        /*a_step=*/16, b, /*b_step=*/16, c, /*c_row=*/16, /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL);
#else
    T(dot)(/*vectors=*/2, lanes, /*rows=*/16, /*tail=*/4, /*steps=*/16, /*span=*/32, a, /*a_row=*/1, /*a_step=*/16, b,
        /*b_step=*/16, c, /*c_row=*/16, /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL);
#endif
}
#if OF(1, 0, 0)
TARGET APART void T(dot2)(int64_t rows, const float *a, const float *b, float *c)
#else
TARGET APART void T(dot2)(int64_t lanes, int64_t rows, const float *a, const float *b, float *c)
#endif
{
#if OF(1, 0, 0)
    T(dot)(/*vectors=*/1, /*lanes=*/16, rows, /*tail=*/-1, /*steps=*/16, /*span=*/32, a, /*a_row=*/1, /*a_step=*/16, b,
        /*b_step=*/16, c, /*c_row=*/16, /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL);
#else
    T(dot)(/*vectors=*/2, lanes, rows, /*tail=*/-1, /*steps=*/16, /*span=*/32, a, /*a_row=*/1, /*a_step=*/16, b,
        /*b_step=*/16, c, /*c_row=*/16, /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL);
#endif
}
#if OF(1, 0, 0)
TARGET APART void T(dot3)(int64_t steps, const float *a, int64_t a_step, const float *b, float *c, float *compensation)
#else
TARGET APART void T(dot3)(int64_t lanes, int64_t steps, const float *a, int64_t a_step, const float *b, float *c,
    float *compensation)
#endif
{
#if OF(1, 0, 0)
    T(dot_finite)(/*vectors=*/1, /*lanes=*/16, /*rows=*/16, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/1, a_step, b,
        /*b_step=*/16, c, /*c_row=*/16, /*update=*/3, /*factor=*/NULL, compensation);
#else
    T(dot_finite)(/*vectors=*/2, lanes, /*rows=*/16, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/1, a_step, b,
        /*b_step=*/16, c, /*c_row=*/16, /*update=*/3, /*factor=*/NULL, compensation);
#endif
}
#if OF(1, 0, 0)
TARGET APART void T(dot4)(int64_t steps, const float *a, int64_t a_step, const float *b, float *c, float *compensation)
#else
TARGET APART void T(dot4)(int64_t lanes, int64_t steps, const float *a, int64_t a_step, const float *b, float *c,
    float *compensation)
#endif
{
#if OF(1, 0, 0)
    T(dot)(/*vectors=*/1, /*lanes=*/16, /*rows=*/16, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/1, a_step, b,
        /*b_step=*/16, c, /*c_row=*/16, /*update=*/3, /*factor=*/NULL, compensation);
#else
    T(dot)(/*vectors=*/2, lanes, /*rows=*/16, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/1, a_step, b, /*b_step=*/16,
        c, /*c_row=*/16, /*update=*/3, /*factor=*/NULL, compensation);
#endif
}
TARGET APART void T(dot5)(int64_t steps, const float *a, const float *b, int64_t b_step, float *c, float *compensation)
{
    T(dot)(/*vectors=*/OF(1, 2, 2), /*lanes=*/16, /*rows=*/16, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/16,
        /*a_step=*/1, b, b_step, c, /*c_row=*/16, /*update=*/3, /*factor=*/NULL, compensation);
}
#if OF(1, 0, 0)
TARGET APART void T(dot6)(const float *a, const float *b, float *c)
{
    T(dot_lane)(/*rows=*/16, /*lane=*/0, /*steps=*/16, /*span=*/32, a, /*a_step=*/16, b, /*b_step=*/16, c,
        /*c_row=*/16);
}
#endif

/* Initialises the states: they contain no keys yet. */
TARGET APART void T(linear_elu_decode_begin)(const struct call *call, int64_t task, const struct share *share,
    int64_t iteration)
{
    (void)call;
    (void)task;
    const int64_t f0 = iteration * 32, f1 = min(f0 + 32, 16);
    float *const carried_sum = (float *)(void *)(share->shared + 0); /* [f: 16] */
    float *const carried_sum_compensation = (float *)(void *)(share->shared + 1088); /* [f: 16] */
    float *const carried = (float *)(void *)(share->shared + 64); /* [f: 16, e: 16] */
    float *const carried_compensation = (float *)(void *)(share->shared + 1152); /* [f: 16, e: 16] */
    /* carried_sum = 0.0f; carried_sum_compensation = 0.0f */
    for (int64_t f = f0; f < f1; f += LANES) {
        T(store)(carried_sum + f, T(splat)(0.0f));
        T(store)(carried_sum_compensation + f, T(splat)(0.0f));
    }
    /* carried = 0.0f; carried_compensation = 0.0f */
    for (int64_t f = f0; f < f1; f++) {
#if OF(1, 0, 0)
        for (int64_t e = 0; e < 16; e += 16) {
            T(store)(carried + f * 16 + e, T(splat)(0.0f));
            T(store)(carried_compensation + f * 16 + e, T(splat)(0.0f));
#else
        for (int64_t e_first = 0; e_first < 16; e_first += (2 * LANES)) {
            UNROLL for (int64_t vector = 0, e = e_first; vector < 2; vector++, e += LANES) {
                T(store)(carried + f * 16 + e, T(splat)(0.0f));
                T(store)(carried_compensation + f * 16 + e, T(splat)(0.0f));
            }
#endif
        }
    }
}

/* Sums the keys of a chunk, from zero, into its slot. */
TARGET APART void T(linear_elu_decode_keys)(const struct call *call, int64_t task, const struct share *share,
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
    float *const state_sum = (float *)(void *)(share->slots + 0); /* [chunk, f: 16] */
    float *const state = (float *)(void *)(share->slots + 64); /* [chunk, f: 16, e: 16] */
    float *const k_tile = (float *)(void *)(share->work + 0); /* [d: 16, j: 16] */
    /* state_sum = 0.0f */
    for (int64_t f = 0; f < 16; f += LANES) {
        T(store)(state_sum + (chunk - chunk0) * 272 + f, T(splat)(0.0f));
    }
    for (int64_t j0 = chunk * 16, j_end = min(n_k, (chunk + 1) * 16); j0 < j_end; j0 += 16) {
        const int64_t j1 = min(j0 + 16, j_end);
        /* k_tile = k, with zeros beyond the last row */
        T(transpose_padded)(k + j0 * k_row, k_row, j1 - j0, 16, k_tile, 16, 64);
        /* k_tile = select(0.0f < k_tile, k_tile + 1.0f, exp(min(k_tile, 0.0f))) */
        for (int64_t d = 0; d < 16; d++) {
            for (int64_t j = 0; j < j1 - j0; j += LANES) {
                const T(vec) k_tile_0 = T(load)(k_tile + d * 16 + j);
                T(store)(k_tile + d * 16 + j, T(pick)(0.0f < k_tile_0, k_tile_0 + 1.0f, T(exp)(T(min)(k_tile_0,
                    T(splat)(0.0f)))));
            }
        }
        /* state_sum += k_tile */
        for (int64_t f = 0; f < 16; f++) {
            T(vec) lane_sums = T(splat)(0);
            for (int64_t j = 0; j < j1 - j0; j += LANES) {
                const T(vec) term = T(load)(k_tile + f * 16 + j);
                lane_sums += j + LANES <= j1 - j0 ? term : T(pick)(__builtin_convertvector(j + T(lane) < j1 - j0,
                    T(mask)), term, T(splat)(0));
            }
            const float total = T(lane_sum)(lane_sums);
            state_sum[(chunk - chunk0) * 272 + f] += total;
        }
        /* state[f][e] = sum over j of k_tile * v */
        T(dot0)(j1 - j0, k_tile, v + j0 * v_row, v_row, state + (chunk - chunk0) * 272);
    }
}

/* Folds the slots of the current chunks, in order, for some elements of the states. */
TARGET APART void T(linear_elu_decode_fold)(const struct call *call, int64_t task, const struct share *share,
    int64_t iteration)
{
    (void)call;
    (void)task;
    const int64_t f0 = iteration * 32, f1 = min(f0 + 32, 16);
    const int64_t chunk0 = share->chunk0;
    const int64_t chunk1 = share->chunk1;
    float *const state_sum = (float *)(void *)(share->slots + 0); /* [chunk, f: 16] */
    float *const state = (float *)(void *)(share->slots + 64); /* [chunk, f: 16, e: 16] */
    float *const carried_sum = (float *)(void *)(share->shared + 0); /* [f: 16] */
    float *const carried_sum_compensation = (float *)(void *)(share->shared + 1088); /* [f: 16] */
    float *const carried = (float *)(void *)(share->shared + 64); /* [f: 16, e: 16] */
    float *const carried_compensation = (float *)(void *)(share->shared + 1152); /* [f: 16, e: 16] */
    for (int64_t chunk = chunk0; chunk < chunk1; chunk++) {
        /* before_sum = carried_sum; carried_sum += state_sum; state_sum = before_sum */
        for (int64_t f = f0; f < f1; f += LANES) {
            const T(vec) before_sum_new1 = T(load)(carried_sum + f);
            T(add)(carried_sum + f, carried_sum_compensation + f, T(load)(state_sum + (chunk - chunk0) * 272 + f),
                T(splat)(1));
            T(store)(state_sum + (chunk - chunk0) * 272 + f, before_sum_new1);
        }
        /* before = carried; carried += state; state = before */
        for (int64_t f = f0; f < f1; f++) {
#if OF(1, 0, 0)
            for (int64_t e = 0; e < 16; e += 16) {
                const T(vec) before_new2 = T(load)(carried + f * 16 + e);
                T(add)(carried + f * 16 + e, carried_compensation + f * 16 + e,
                    T(load)(state + (chunk - chunk0) * 272 + f * 16 + e), T(splat)(1));
                T(store)(state + (chunk - chunk0) * 272 + f * 16 + e, before_new2);
#else
            for (int64_t e_first = 0; e_first < 16; e_first += (2 * LANES)) {
                UNROLL for (int64_t vector = 0, e = e_first; vector < 2; vector++, e += LANES) {
                    const T(vec) before_new2 = T(load)(carried + f * 16 + e);
                    T(add)(carried + f * 16 + e, carried_compensation + f * 16 + e,
                        T(load)(state + (chunk - chunk0) * 272 + f * 16 + e), T(splat)(1));
                    T(store)(state + (chunk - chunk0) * 272 + f * 16 + e, before_new2);
                }
#endif
            }
        }
    }
}

/* Processes the queries of a chunk: reads the state before the chunk, and the keys in the chunk. */
TARGET APART void T(linear_elu_decode_queries)(const struct call *call, int64_t task, const struct share *share,
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
    float *const state_sum = (float *)(void *)(share->slots + 0); /* [chunk, f: 16] */
    float *const state = (float *)(void *)(share->slots + 64); /* [chunk, f: 16, e: 16] */
    float *const score = (float *)(void *)(share->work + 0); /* [j: 16, i: 16] */
    float *const row_sum_from_state = (float *)(void *)(share->work + 1024); /* [i: 16] */
    float *const row_sum = (float *)(void *)(share->work + 1088); /* [i: 16] */
    float *const row_sum_compensation = (float *)(void *)(share->work + 1152); /* [i: 16] */
    float *const sum_from_state = (float *)(void *)(share->work + 1216); /* [e: 16, i: 16] */
    float *const sum = (float *)(void *)(share->work + 2240); /* [e: 16, i: 16] */
    float *const sum_compensation = (float *)(void *)(share->work + 3264); /* [e: 16, i: 16] */
    float *const out = (float *)call->array[ARRAY_out].at + b * call->array[ARRAY_out].strides.batch + g * members *
        call->array[ARRAY_out].strides.head;
    const int64_t out_row = call->array[ARRAY_out].strides.row;
    const int64_t out_head = call->array[ARRAY_out].strides.head;
    float *const q_tile = (float *)(void *)(share->work + 4288); /* [d: 16, i: 16] */
    float *const k_tile_2 = (float *)(void *)(share->work + 5312); /* [d: 16, j: 16] */
    for (int64_t m = 0; m < members; m++) {
        for (int64_t i0 = (chunk == 0) ? 0 : max(0, (chunk * 16) - query_start), i_end = min(n_q,
            ((chunk + 1) * 16) - query_start); i0 < i_end; i0 += 16) {
            const int64_t i1 = min(i0 + 16, i_end);
            /* q_tile = q, with zeros beyond the last row */
            T(transpose_padded)(q + m * q_head + i0 * q_row, q_row, i1 - i0, 16, q_tile, 16, 64);
            /* q_tile = select(0.0f < q_tile, q_tile + 1.0f, exp(min(q_tile, 0.0f))) */
            for (int64_t d = 0; d < 16; d++) {
                for (int64_t i = 0; i < i1 - i0; i += LANES) {
                    const T(vec) q_tile_3 = T(load)(q_tile + d * 16 + i);
                    T(store)(q_tile + d * 16 + i, T(pick)(0.0f < q_tile_3, q_tile_3 + 1.0f, T(exp)(T(min)(q_tile_3,
                        T(splat)(0.0f)))));
                }
            }
            /* row_sum_from_state = 0.0f */
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                T(store)(row_sum_from_state + i, T(splat)(0.0f));
            }
            /* row_sum_from_state += q_tile * state_sum */
#if OF(1, 0, 0)
            for (int64_t i = 0; i < i1 - i0; i += 16) {
                T(vec) row_sum_from_state_in = (T(vec)){0};
#else
            for (int64_t i_first = 0; i_first < i1 - i0; i_first += (2 * LANES)) {
                T(vec) row_sum_from_state_in[2];
                UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += LANES) {
                    row_sum_from_state_in[vector] = (T(vec)){0};
                }
#endif
                for (int64_t f = 0; f < 16; f++) {
#if OF(1, 0, 0)
                    row_sum_from_state_in += T(load)(q_tile + f * 16 + i) * (state_sum[(chunk - chunk0) * 272 + f]);
#else
                    UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += LANES) {
                        row_sum_from_state_in[vector] += T(load)(q_tile + f * 16 + i) * (state_sum[(chunk - chunk0) *
                            272 + f]);
                    }
#endif
                }
#if OF(1, 0, 0)
                T(store)(row_sum_from_state + i, T(load)(row_sum_from_state + i) + row_sum_from_state_in);
#else
                UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += LANES) {
                    T(store)(row_sum_from_state + i, T(load)(row_sum_from_state + i) + row_sum_from_state_in[vector]);
                }
#endif
            }
            /* row_sum = 0.0f; row_sum_compensation = 0.0f */
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                T(store)(row_sum + i, T(splat)(0.0f));
                T(store)(row_sum_compensation + i, T(splat)(0.0f));
            }
            /* sum_from_state[e][i] = sum over f of state * q_tile */
#if OF(1, 0, 0)
            T(dot1)(state + (chunk - chunk0) * 272, q_tile, sum_from_state);
#else
            T(dot1)(round_up(i1 - i0, LANES), state + (chunk - chunk0) * 272, q_tile, sum_from_state);
#endif
            /* sum = 0.0f; sum_compensation = 0.0f */
            for (int64_t e = 0; e < 16; e++) {
                for (int64_t i = 0; i < i1 - i0; i += LANES) {
                    T(store)(sum + e * 16 + i, T(splat)(0.0f));
                    T(store)(sum_compensation + e * 16 + i, T(splat)(0.0f));
                }
            }
            for (int64_t j0 = max(0, chunk * 16), j_end = min(n_k, i1 + query_start); j0 < j_end; j0 += 16) {
                const int64_t j1 = min(j0 + 16, j_end);
                /* k_tile_2 = k, with zeros beyond the last row */
                T(transpose_padded)(k + j0 * k_row, k_row, j1 - j0, 16, k_tile_2, 16, 64);
                /* k_tile_2 = select(0.0f < k_tile_2, k_tile_2 + 1.0f, exp(min(k_tile_2, 0.0f))) */
                for (int64_t d = 0; d < 16; d++) {
                    for (int64_t j = 0; j < j1 - j0; j += LANES) {
                        const T(vec) k_tile_2_4 = T(load)(k_tile_2 + d * 16 + j);
                        T(store)(k_tile_2 + d * 16 + j, T(pick)(0.0f < k_tile_2_4, k_tile_2_4 + 1.0f,
                            T(exp)(T(min)(k_tile_2_4, T(splat)(0.0f)))));
                    }
                }
                /* score[j][i] = sum over d of k_tile_2 * q_tile */
#if OF(1, 0, 0)
                T(dot2)(j1 - j0, k_tile_2, q_tile, score);
#else
                T(dot2)(round_up(i1 - i0, LANES), j1 - j0, k_tile_2, q_tile, score);
#endif
                if ((j0 < (chunk * 16)) || ((i0 + query_start + 1) < j1)) { /* the tile is partly outside the mask */
                    /* score = select((j <= (i + query_start)) && ((chunk * 16) <= j), score, 0.0f) */
                    for (int64_t i = 0; i < i1 - i0; i += LANES) {
                        const T(ints) t_5 = (i0 + i + T(lane)) + query_start;
                        for (int64_t j = 0; j < j1 - j0; j++) {
                            T(store)(score + j * 16 + i, T(pick)(__builtin_convertvector(((j0 + j) <= t_5) &
                                (-(int64_t)((chunk * 16) <= (j0 + j))), T(mask)), T(load)(score + j * 16 + i),
                                T(splat)(0.0f)));
                        }
                    }
                }
                /* row_sum += score */
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
                        row_sum_in += T(load)(score + j * 16 + i);
#else
                        UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += LANES) {
                            row_sum_in[vector] += T(load)(score + j * 16 + i);
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
                /* sum[e][i] += sum over j of v * score */
                if (__builtin_expect(((j0 < (chunk * 16)) || ((i0 + query_start + 1) < j1)) && !T(finite)(v + j0 *
                    v_row, v_row, j1 - j0, 16), 0)) { /* infinity and NaN affect only queries that see them */
#if OF(1, 0, 0)
                    T(dot3)(j1 - j0, v + j0 * v_row, v_row, score, sum, sum_compensation);
#else
                    T(dot3)(round_up(i1 - i0, LANES), j1 - j0, v + j0 * v_row, v_row, score, sum, sum_compensation);
#endif
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        T(mask) in_region[OF(1, 2, 4)] = {0};
                        if (T(finite)(v + j0 * v_row + j * v_row, 1, 16, 1)) continue;
                        const int t_6 = (chunk * 16) <= (j0 + j);
                        for (int64_t i = 0; i < i1 - i0; i += LANES) {
                            in_region[i / LANES] = __builtin_convertvector(((j0 + j) <= ((i0 + i + T(lane)) +
                                query_start)) & (-(int64_t)t_6), T(mask));
                        }
                        T(add_seen)(16, sum, 16, v + j0 * v_row + j * v_row, 1, score + j * 16, in_region, i1 - i0);
                    }
                } else
#if OF(1, 0, 0)
                    T(dot4)(j1 - j0, v + j0 * v_row, v_row, score, sum, sum_compensation);
#else
                    T(dot4)(round_up(i1 - i0, LANES), j1 - j0, v + j0 * v_row, v_row, score, sum, sum_compensation);
#endif
            }
            /* sum = select((row_sum + row_sum_from_state) == 0.0f, 0.0f,
               (sum + sum_from_state) / (row_sum + row_sum_from_state)) */
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                const T(vec) t_7 = T(load)(row_sum + i) + T(load)(row_sum_from_state + i);
                const T(mask) t_8 = t_7 == 0.0f;
                for (int64_t e = 0; e < 16; e++) {
                    T(store)(sum + e * 16 + i, T(pick)(t_8, T(splat)(0.0f),
                        (T(load)(sum + e * 16 + i) + T(load)(sum_from_state + e * 16 + i)) / t_7));
                }
            }
            /* out = sum, transposed back */
            T(transpose_out)(sum, 16, 16, i1 - i0, out + m * out_head + i0 * out_row, out_row, 64);
        }
    }
}

/* For a thread that works on the head alone: adds a chunk to the carried state. */
TARGET APART void T(linear_elu_decode_keys_alone)(const struct call *call, int64_t task, const struct share *share,
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
    float *const state_sum = (float *)(void *)(share->slots + 0); /* [chunk, f: 16] */
    float *const carried = (float *)(void *)(share->shared + 64); /* [f: 16, e: 16] */
    float *const carried_compensation = (float *)(void *)(share->shared + 1152); /* [f: 16, e: 16] */
    float *const k_tile = (float *)(void *)(share->work + 0); /* [d: 16, j: 16] */
    /* state_sum = 0.0f */
    for (int64_t f = 0; f < 16; f += LANES) {
        T(store)(state_sum + (chunk - chunk0) * 272 + f, T(splat)(0.0f));
    }
    for (int64_t j0 = chunk * 16, j_end = min(n_k, (chunk + 1) * 16); j0 < j_end; j0 += 16) {
        const int64_t j1 = min(j0 + 16, j_end);
        /* k_tile = k, with zeros beyond the last row */
        T(transpose_padded)(k + j0 * k_row, k_row, j1 - j0, 16, k_tile, 16, 64);
        /* k_tile = select(0.0f < k_tile, k_tile + 1.0f, exp(min(k_tile, 0.0f))) */
        for (int64_t d = 0; d < 16; d++) {
            for (int64_t j = 0; j < j1 - j0; j += LANES) {
                const T(vec) k_tile_9 = T(load)(k_tile + d * 16 + j);
                T(store)(k_tile + d * 16 + j, T(pick)(0.0f < k_tile_9, k_tile_9 + 1.0f, T(exp)(T(min)(k_tile_9,
                    T(splat)(0.0f)))));
            }
        }
        /* state_sum += k_tile */
        for (int64_t f = 0; f < 16; f++) {
            T(vec) lane_sums = T(splat)(0);
            for (int64_t j = 0; j < j1 - j0; j += LANES) {
                const T(vec) term = T(load)(k_tile + f * 16 + j);
                lane_sums += j + LANES <= j1 - j0 ? term : T(pick)(__builtin_convertvector(j + T(lane) < j1 - j0,
                    T(mask)), term, T(splat)(0));
            }
            const float total = T(lane_sum)(lane_sums);
            state_sum[(chunk - chunk0) * 272 + f] += total;
        }
        /* carried[f][e] += sum over j of k_tile * v */
        T(dot5)(j1 - j0, k_tile, v + j0 * v_row, v_row, carried, carried_compensation);
    }
}

/* Adds to the carried state the sums that no product computes. */
TARGET APART void T(linear_elu_decode_fold_alone)(const struct call *call, int64_t task, const struct share *share,
    int64_t iteration)
{
    (void)call;
    (void)task;
    const int64_t f0 = iteration * 32, f1 = min(f0 + 32, 16);
    const int64_t chunk0 = share->chunk0;
    const int64_t chunk1 = share->chunk1;
    float *const state_sum = (float *)(void *)(share->slots + 0); /* [chunk, f: 16] */
    float *const carried_sum = (float *)(void *)(share->shared + 0); /* [f: 16] */
    float *const carried_sum_compensation = (float *)(void *)(share->shared + 1088); /* [f: 16] */
    for (int64_t chunk = chunk0; chunk < chunk1; chunk++) {
        /* carried_sum += state_sum */
        for (int64_t f = f0; f < f1; f += LANES) {
            T(add)(carried_sum + f, carried_sum_compensation + f, T(load)(state_sum + (chunk - chunk0) * 272 + f),
                T(splat)(1));
        }
    }
}

/* Computes head number `task`. Each thread on the head calls this with `share`. */
TARGET static void T(linear_elu_decode_linear)(const struct call *call, int64_t task, struct share *share)
{
    const int64_t n_k = call->p.n_k;
    const int64_t chunks = n_k > 0 ? (n_k - 1) / 16 + 1 : 1;
    for (int64_t iteration = share->number; iteration < ((16 + 31) / 32); iteration += share->threads)
        T(linear_elu_decode_begin)(call, task, share, iteration);
    synchronise(share);
    const int64_t first = 0;
    if (share->threads == 1) { /* queries read the carried state before their chunk is added */
        unsigned char *const slots = share->slots;
        for (share->chunk0 = first; share->chunk0 < chunks; share->chunk0++) {
            share->chunk1 = share->chunk0 + 1;
            share->slots = share->shared;
            T(linear_elu_decode_queries)(call, task, share, share->chunk0);
            share->slots = slots;
            T(linear_elu_decode_keys_alone)(call, task, share, share->chunk0);
            for (int64_t iteration = 0; iteration < ((16 + 31) / 32); iteration++)
                T(linear_elu_decode_fold_alone)(call, task, share, iteration);
        }
    } else {
        const int64_t length = segment_length(share, chunks - first);
        for (int64_t segment = share->number; first + segment * length < chunks; segment += share->threads) {
            share->chunk0 = first + segment * length;
            share->chunk1 = min(share->chunk0 + length, chunks);
            for (int64_t iteration = share->chunk0; iteration < share->chunk1; iteration++)
                T(linear_elu_decode_keys)(call, task, share, iteration);
            for (int64_t group = 0; group < 16; group++) {
                await_segment(share, group, segment);
                const int64_t end = (group + 1) * ((16 + 31) / 32) / 16;
                for (int64_t iteration = group * ((16 + 31) / 32) / 16; iteration < end; iteration++)
                    T(linear_elu_decode_fold)(call, task, share, iteration);
                pass_segment(share, group, segment);
            }
            for (int64_t iteration = share->chunk0; iteration < share->chunk1; iteration++)
                T(linear_elu_decode_queries)(call, task, share, iteration);
        }
        share->segments += (max(chunks - first, 0) + length - 1) / length;
    }
    synchronise(share);
}

/* Initialises the states: they contain no keys yet. */
TARGET APART void T(linear_elu_decode_extend_begin)(const struct call *call, int64_t task, const struct share *share,
    int64_t iteration)
{
    (void)share;
    const int64_t f0 = iteration * 32, f1 = min(f0 + 32, 16);
    float *const carried_sum = (float *)(void *)(call->kept + task * 2176 + 0); /* [f: 16] */
    float *const carried_sum_compensation = (float *)(void *)(call->kept + task * 2176 + 1088); /* [f: 16] */
    float *const carried = (float *)(void *)(call->kept + task * 2176 + 64); /* [f: 16, e: 16] */
    float *const carried_compensation = (float *)(void *)(call->kept + task * 2176 + 1152); /* [f: 16, e: 16] */
    /* carried_sum = 0.0f; carried_sum_compensation = 0.0f */
    for (int64_t f = f0; f < f1; f += LANES) {
        T(store)(carried_sum + f, T(splat)(0.0f));
        T(store)(carried_sum_compensation + f, T(splat)(0.0f));
    }
    /* carried = 0.0f; carried_compensation = 0.0f */
    for (int64_t f = f0; f < f1; f++) {
#if OF(1, 0, 0)
        for (int64_t e = 0; e < 16; e += 16) {
            T(store)(carried + f * 16 + e, T(splat)(0.0f));
            T(store)(carried_compensation + f * 16 + e, T(splat)(0.0f));
#else
        for (int64_t e_first = 0; e_first < 16; e_first += (2 * LANES)) {
            UNROLL for (int64_t vector = 0, e = e_first; vector < 2; vector++, e += LANES) {
                T(store)(carried + f * 16 + e, T(splat)(0.0f));
                T(store)(carried_compensation + f * 16 + e, T(splat)(0.0f));
            }
#endif
        }
    }
}

/* Sums the keys of a chunk, from zero, into its slot. */
TARGET APART void T(linear_elu_decode_extend_keys)(const struct call *call, int64_t task, const struct share *share,
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
    float *const state_sum = (float *)(void *)(share->slots + 0); /* [chunk, f: 16] */
    float *const state = (float *)(void *)(share->slots + 64); /* [chunk, f: 16, e: 16] */
    float *const k_tile = (float *)(void *)(share->work + 0); /* [d: 16, j: 16] */
    /* state_sum = 0.0f */
    for (int64_t f = 0; f < 16; f += LANES) {
        T(store)(state_sum + (chunk - chunk0) * 272 + f, T(splat)(0.0f));
    }
    for (int64_t j0 = chunk * 16, j_end = (min(n_k, (chunk + 1) * 16) / 16) * 16; j0 < j_end; j0 += 16) {
        const int64_t j1 = min(j0 + 16, j_end);
        /* k_tile = k, with zeros beyond the last row */
        T(transpose_padded)(k + j0 * k_row, k_row, j1 - j0, 16, k_tile, 16, 64);
        /* k_tile = select(0.0f < k_tile, k_tile + 1.0f, exp(min(k_tile, 0.0f))) */
        for (int64_t d = 0; d < 16; d++) {
            for (int64_t j = 0; j < j1 - j0; j += LANES) {
                const T(vec) k_tile_0 = T(load)(k_tile + d * 16 + j);
                T(store)(k_tile + d * 16 + j, T(pick)(0.0f < k_tile_0, k_tile_0 + 1.0f, T(exp)(T(min)(k_tile_0,
                    T(splat)(0.0f)))));
            }
        }
        /* state_sum += k_tile */
        for (int64_t f = 0; f < 16; f++) {
            T(vec) lane_sums = T(splat)(0);
            for (int64_t j = 0; j < j1 - j0; j += LANES) {
                const T(vec) term = T(load)(k_tile + f * 16 + j);
                lane_sums += j + LANES <= j1 - j0 ? term : T(pick)(__builtin_convertvector(j + T(lane) < j1 - j0,
                    T(mask)), term, T(splat)(0));
            }
            const float total = T(lane_sum)(lane_sums);
            state_sum[(chunk - chunk0) * 272 + f] += total;
        }
        /* state[f][e] = sum over j of k_tile * v */
        T(dot0)(j1 - j0, k_tile, v + j0 * v_row, v_row, state + (chunk - chunk0) * 272);
    }
}

/* Folds the slots of the current chunks, in order, for some elements of the states. */
TARGET APART void T(linear_elu_decode_extend_fold)(const struct call *call, int64_t task, const struct share *share,
    int64_t iteration)
{
    const int64_t n_k = call->p.n_k;
    const int64_t f0 = iteration * 32, f1 = min(f0 + 32, 16);
    const int64_t chunk0 = share->chunk0;
    const int64_t chunk1 = share->chunk1;
    float *const state_sum = (float *)(void *)(share->slots + 0); /* [chunk, f: 16] */
    float *const state = (float *)(void *)(share->slots + 64); /* [chunk, f: 16, e: 16] */
    float *const carried_sum = (float *)(void *)(call->kept + task * 2176 + 0); /* [f: 16] */
    float *const carried_sum_compensation = (float *)(void *)(call->kept + task * 2176 + 1088); /* [f: 16] */
    float *const before_sum = (float *)(void *)(share->work + 0); /* [f: 16] */
    float *const carried = (float *)(void *)(call->kept + task * 2176 + 64); /* [f: 16, e: 16] */
    float *const carried_compensation = (float *)(void *)(call->kept + task * 2176 + 1152); /* [f: 16, e: 16] */
    float *const before = (float *)(void *)(share->work + 64); /* [f: 16, e: 16] */
    for (int64_t chunk = chunk0; chunk < min(chunk1, n_k / 16); chunk++) {
        /* before_sum = carried_sum; carried_sum += state_sum; state_sum = before_sum */
        for (int64_t f = f0; f < f1; f += LANES) {
            const T(vec) before_sum_new1 = T(load)(carried_sum + f);
            T(store)(before_sum + f, before_sum_new1);
            T(add)(carried_sum + f, carried_sum_compensation + f, T(load)(state_sum + (chunk - chunk0) * 272 + f),
                T(splat)(1));
            T(store)(state_sum + (chunk - chunk0) * 272 + f, before_sum_new1);
        }
        /* before = carried; carried += state; state = before */
        for (int64_t f = f0; f < f1; f++) {
#if OF(1, 0, 0)
            for (int64_t e = 0; e < 16; e += 16) {
                const T(vec) before_new2 = T(load)(carried + f * 16 + e);
                T(store)(before + f * 16 + e, before_new2);
                T(add)(carried + f * 16 + e, carried_compensation + f * 16 + e,
                    T(load)(state + (chunk - chunk0) * 272 + f * 16 + e), T(splat)(1));
                T(store)(state + (chunk - chunk0) * 272 + f * 16 + e, before_new2);
#else
            for (int64_t e_first = 0; e_first < 16; e_first += (2 * LANES)) {
                UNROLL for (int64_t vector = 0, e = e_first; vector < 2; vector++, e += LANES) {
                    const T(vec) before_new2 = T(load)(carried + f * 16 + e);
                    T(store)(before + f * 16 + e, before_new2);
                    T(add)(carried + f * 16 + e, carried_compensation + f * 16 + e,
                        T(load)(state + (chunk - chunk0) * 272 + f * 16 + e), T(splat)(1));
                    T(store)(state + (chunk - chunk0) * 272 + f * 16 + e, before_new2);
                }
#endif
            }
        }
    }
    {
        for (int64_t chunk = max(chunk0, n_k / 16); chunk < chunk1; chunk++) {
            /* before_sum = carried_sum; state_sum = before_sum */
            for (int64_t f = f0; f < f1; f += LANES) {
                const T(vec) before_sum_new3 = T(load)(carried_sum + f);
                T(store)(before_sum + f, before_sum_new3);
                T(store)(state_sum + (chunk - chunk0) * 272 + f, before_sum_new3);
            }
            /* before = carried; state = before */
            for (int64_t f = f0; f < f1; f++) {
#if OF(1, 0, 0)
                for (int64_t e = 0; e < 16; e += 16) {
                    const T(vec) before_new4 = T(load)(carried + f * 16 + e);
                    T(store)(before + f * 16 + e, before_new4);
                    T(store)(state + (chunk - chunk0) * 272 + f * 16 + e, before_new4);
#else
                for (int64_t e_first = 0; e_first < 16; e_first += (2 * LANES)) {
                    UNROLL for (int64_t vector = 0, e = e_first; vector < 2; vector++, e += LANES) {
                        const T(vec) before_new4 = T(load)(carried + f * 16 + e);
                        T(store)(before + f * 16 + e, before_new4);
                        T(store)(state + (chunk - chunk0) * 272 + f * 16 + e, before_new4);
                    }
#endif
                }
            }
        }
    }
}

/* Processes the queries of a chunk: reads the state before the chunk, and the keys in the chunk. */
TARGET APART void T(linear_elu_decode_extend_queries)(const struct call *call, int64_t task, const struct share *share,
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
    float *const state_sum = (float *)(void *)(share->slots + 0); /* [chunk, f: 16] */
    float *const state = (float *)(void *)(share->slots + 64); /* [chunk, f: 16, e: 16] */
    float *const score = (float *)(void *)(share->work + 0); /* [j: 16, i: 16] */
    float *const row_sum_from_state = (float *)(void *)(share->work + 1024); /* [i: 16] */
    float *const row_sum = (float *)(void *)(share->work + 1088); /* [i: 16] */
    float *const row_sum_compensation = (float *)(void *)(share->work + 1152); /* [i: 16] */
    float *const sum_from_state = (float *)(void *)(share->work + 1216); /* [e: 16, i: 16] */
    float *const sum = (float *)(void *)(share->work + 2240); /* [e: 16, i: 16] */
    float *const sum_compensation = (float *)(void *)(share->work + 3264); /* [e: 16, i: 16] */
    float *const out = (float *)call->array[ARRAY_out].at + b * call->array[ARRAY_out].strides.batch + g * members *
        call->array[ARRAY_out].strides.head;
    const int64_t out_row = call->array[ARRAY_out].strides.row;
    const int64_t out_head = call->array[ARRAY_out].strides.head;
    float *const q_tile = (float *)(void *)(share->work + 4288); /* [d: 16, i: 16] */
    float *const k_tile_2 = (float *)(void *)(share->work + 5312); /* [d: 16, j: 16] */
    for (int64_t m = 0; m < members; m++) {
        for (int64_t i0 = (chunk == 0) ? 0 : max(0, (chunk * 16) - query_start), i_end = min(n_q,
            ((chunk + 1) * 16) - query_start); i0 < i_end; i0 += 16) {
            const int64_t i1 = min(i0 + 16, i_end);
            /* q_tile = q, with zeros beyond the last row */
            T(transpose_padded)(q + m * q_head + i0 * q_row, q_row, i1 - i0, 16, q_tile, 16, 64);
            /* q_tile = select(0.0f < q_tile, q_tile + 1.0f, exp(min(q_tile, 0.0f))) */
            for (int64_t d = 0; d < 16; d++) {
                for (int64_t i = 0; i < i1 - i0; i += LANES) {
                    const T(vec) q_tile_5 = T(load)(q_tile + d * 16 + i);
                    T(store)(q_tile + d * 16 + i, T(pick)(0.0f < q_tile_5, q_tile_5 + 1.0f, T(exp)(T(min)(q_tile_5,
                        T(splat)(0.0f)))));
                }
            }
            /* row_sum_from_state = 0.0f */
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                T(store)(row_sum_from_state + i, T(splat)(0.0f));
            }
            /* row_sum_from_state += q_tile * state_sum */
#if OF(1, 0, 0)
            for (int64_t i = 0; i < i1 - i0; i += 16) {
                T(vec) row_sum_from_state_in = (T(vec)){0};
#else
            for (int64_t i_first = 0; i_first < i1 - i0; i_first += (2 * LANES)) {
                T(vec) row_sum_from_state_in[2];
                UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += LANES) {
                    row_sum_from_state_in[vector] = (T(vec)){0};
                }
#endif
                for (int64_t f = 0; f < 16; f++) {
#if OF(1, 0, 0)
                    row_sum_from_state_in += T(load)(q_tile + f * 16 + i) * (state_sum[(chunk - chunk0) * 272 + f]);
#else
                    UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += LANES) {
                        row_sum_from_state_in[vector] += T(load)(q_tile + f * 16 + i) * (state_sum[(chunk - chunk0) *
                            272 + f]);
                    }
#endif
                }
#if OF(1, 0, 0)
                T(store)(row_sum_from_state + i, T(load)(row_sum_from_state + i) + row_sum_from_state_in);
#else
                UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += LANES) {
                    T(store)(row_sum_from_state + i, T(load)(row_sum_from_state + i) + row_sum_from_state_in[vector]);
                }
#endif
            }
            /* row_sum = 0.0f; row_sum_compensation = 0.0f */
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                T(store)(row_sum + i, T(splat)(0.0f));
                T(store)(row_sum_compensation + i, T(splat)(0.0f));
            }
            /* sum_from_state[e][i] = sum over f of state * q_tile */
#if OF(1, 0, 0)
            if (i1 - i0 == 1)
                T(dot6)(state + (chunk - chunk0) * 272, q_tile, sum_from_state);
            else
            T(dot1)(state + (chunk - chunk0) * 272, q_tile, sum_from_state);
#else
            T(dot1)(round_up(i1 - i0, LANES), state + (chunk - chunk0) * 272, q_tile, sum_from_state);
#endif
            /* sum = 0.0f; sum_compensation = 0.0f */
            for (int64_t e = 0; e < 16; e++) {
                for (int64_t i = 0; i < i1 - i0; i += LANES) {
                    T(store)(sum + e * 16 + i, T(splat)(0.0f));
                    T(store)(sum_compensation + e * 16 + i, T(splat)(0.0f));
                }
            }
            for (int64_t j0 = max(0, chunk * 16), j_end = min(n_k, i1 + query_start); j0 < j_end; j0 += 16) {
                const int64_t j1 = min(j0 + 16, j_end);
                /* k_tile_2 = k, with zeros beyond the last row */
                T(transpose_padded)(k + j0 * k_row, k_row, j1 - j0, 16, k_tile_2, 16, 64);
                /* k_tile_2 = select(0.0f < k_tile_2, k_tile_2 + 1.0f, exp(min(k_tile_2, 0.0f))) */
                for (int64_t d = 0; d < 16; d++) {
                    for (int64_t j = 0; j < j1 - j0; j += LANES) {
                        const T(vec) k_tile_2_6 = T(load)(k_tile_2 + d * 16 + j);
                        T(store)(k_tile_2 + d * 16 + j, T(pick)(0.0f < k_tile_2_6, k_tile_2_6 + 1.0f,
                            T(exp)(T(min)(k_tile_2_6, T(splat)(0.0f)))));
                    }
                }
                /* score[j][i] = sum over d of k_tile_2 * q_tile */
#if OF(1, 0, 0)
                if (i1 - i0 == 1)
                    T(dot6)(k_tile_2, q_tile, score);
                else
                T(dot2)(j1 - j0, k_tile_2, q_tile, score);
#else
                T(dot2)(round_up(i1 - i0, LANES), j1 - j0, k_tile_2, q_tile, score);
#endif
                if ((j0 < (chunk * 16)) || ((i0 + query_start + 1) < j1)) { /* the tile is partly outside the mask */
                    /* score = select((j <= (i + query_start)) && ((chunk * 16) <= j), score, 0.0f) */
                    for (int64_t i = 0; i < i1 - i0; i += LANES) {
                        const T(ints) t_7 = (i0 + i + T(lane)) + query_start;
                        for (int64_t j = 0; j < j1 - j0; j++) {
                            T(store)(score + j * 16 + i, T(pick)(__builtin_convertvector(((j0 + j) <= t_7) &
                                (-(int64_t)((chunk * 16) <= (j0 + j))), T(mask)), T(load)(score + j * 16 + i),
                                T(splat)(0.0f)));
                        }
                    }
                }
                /* row_sum += score */
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
                        row_sum_in += T(load)(score + j * 16 + i);
#else
                        UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += LANES) {
                            row_sum_in[vector] += T(load)(score + j * 16 + i);
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
                /* sum[e][i] += sum over j of v * score */
                if (__builtin_expect(((j0 < (chunk * 16)) || ((i0 + query_start + 1) < j1)) && !T(finite)(v + j0 *
                    v_row, v_row, j1 - j0, 16), 0)) { /* infinity and NaN affect only queries that see them */
#if OF(1, 0, 0)
                    T(dot3)(j1 - j0, v + j0 * v_row, v_row, score, sum, sum_compensation);
#else
                    T(dot3)(round_up(i1 - i0, LANES), j1 - j0, v + j0 * v_row, v_row, score, sum, sum_compensation);
#endif
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        T(mask) in_region[OF(1, 2, 4)] = {0};
                        if (T(finite)(v + j0 * v_row + j * v_row, 1, 16, 1)) continue;
                        const int t_8 = (chunk * 16) <= (j0 + j);
                        for (int64_t i = 0; i < i1 - i0; i += LANES) {
                            in_region[i / LANES] = __builtin_convertvector(((j0 + j) <= ((i0 + i + T(lane)) +
                                query_start)) & (-(int64_t)t_8), T(mask));
                        }
                        T(add_seen)(16, sum, 16, v + j0 * v_row + j * v_row, 1, score + j * 16, in_region, i1 - i0);
                    }
                } else
#if OF(1, 0, 0)
                    T(dot4)(j1 - j0, v + j0 * v_row, v_row, score, sum, sum_compensation);
#else
                    T(dot4)(round_up(i1 - i0, LANES), j1 - j0, v + j0 * v_row, v_row, score, sum, sum_compensation);
#endif
            }
            /* sum = select((row_sum + row_sum_from_state) == 0.0f, 0.0f,
               (sum + sum_from_state) / (row_sum + row_sum_from_state)) */
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                const T(vec) t_9 = T(load)(row_sum + i) + T(load)(row_sum_from_state + i);
                const T(mask) t_10 = t_9 == 0.0f;
                for (int64_t e = 0; e < 16; e++) {
                    T(store)(sum + e * 16 + i, T(pick)(t_10, T(splat)(0.0f),
                        (T(load)(sum + e * 16 + i) + T(load)(sum_from_state + e * 16 + i)) / t_9));
                }
            }
            /* out = sum, transposed back */
            T(transpose_out)(sum, 16, 16, i1 - i0, out + m * out_head + i0 * out_row, out_row, 64);
        }
    }
}

/* Computes head number `task`. Each thread on the head calls this with `share`. */
TARGET static void T(linear_elu_decode_extend)(const struct call *call, int64_t task, struct share *share)
{
    const int64_t n_k = call->p.n_k;
    const int64_t chunks = n_k > 0 ? (n_k - 1) / 16 + 1 : 1;
    if (call->length == call->start) { /* the state has no keys yet */
        for (int64_t iteration = share->number; iteration < ((16 + 31) / 32); iteration += share->threads)
            T(linear_elu_decode_extend_begin)(call, task, share, iteration);
        synchronise(share);
    }
    if (call->p.n_k - call->summed < 16) { /* no chunk is complete, so the sums do not change */
        unsigned char *const slots = share->slots;
        share->slots = call->kept + task * 2176;
        share->chunk0 = call->summed / 16;
        if (share->number == 0) T(linear_elu_decode_extend_queries)(call, task, share, share->chunk0);
        synchronise(share);
        share->slots = slots;
        return;
    }
    const int64_t first = call->summed / 16;
    const int64_t length = segment_length(share, chunks - first);
    for (int64_t segment = share->number; first + segment * length < chunks; segment += share->threads) {
        share->chunk0 = first + segment * length;
        share->chunk1 = min(share->chunk0 + length, chunks);
        for (int64_t iteration = share->chunk0; iteration < share->chunk1; iteration++) {
            unsigned char *const stored = stored_sums(call, task, iteration, 16, 1088);
            unsigned char *const slot = share->slots + (iteration - share->chunk0) * 1088;
            if (stored && call->asked)
                memcpy(slot, stored, 1088);
            else
                T(linear_elu_decode_extend_keys)(call, task, share, iteration);
            if (stored && !call->asked) write_through(stored, slot, 1088);
        }
        for (int64_t group = 0; group < 16; group++) {
            await_segment(share, group, segment);
            const int64_t end = (group + 1) * ((16 + 31) / 32) / 16;
            for (int64_t iteration = group * ((16 + 31) / 32) / 16; iteration < end; iteration++)
                T(linear_elu_decode_extend_fold)(call, task, share, iteration);
            pass_segment(share, group, segment);
        }
        for (int64_t iteration = share->chunk0; iteration < share->chunk1; iteration++)
            T(linear_elu_decode_extend_queries)(call, task, share, iteration);
    }
    share->segments += (max(chunks - first, 0) + length - 1) / length;
    synchronise(share);
}

/* Computes task number `task`: adds the sums of one head to those of another state. `work` is this thread's workspace.
   */
TARGET static void T(linear_elu_decode_join)(const struct call *call, int64_t task, unsigned char *work)
{
    (void)work;
    float *const state_sum = (float *)(void *)(call->folded + task * 2176 + 0); /* [f: 16] */
    float *const state = (float *)(void *)(call->folded + task * 2176 + 64); /* [f: 16, e: 16] */
    float *const carried_sum = (float *)(void *)(call->kept + task * 2176 + 0); /* [f: 16] */
    float *const carried_sum_compensation = (float *)(void *)(call->kept + task * 2176 + 1088); /* [f: 16] */
    float *const carried = (float *)(void *)(call->kept + task * 2176 + 64); /* [f: 16, e: 16] */
    float *const carried_compensation = (float *)(void *)(call->kept + task * 2176 + 1152); /* [f: 16, e: 16] */
    /* carried_sum += state_sum */
    for (int64_t f = 0; f < 16; f += LANES) {
        T(add)(carried_sum + f, carried_sum_compensation + f, T(load)(state_sum + f), T(splat)(1));
    }
    /* carried += state */
    for (int64_t f = 0; f < 16; f++) {
#if OF(1, 0, 0)
        for (int64_t e = 0; e < 16; e += 16) {
            T(add)(carried + f * 16 + e, carried_compensation + f * 16 + e, T(load)(state + f * 16 + e), T(splat)(1));
#else
        for (int64_t e_first = 0; e_first < 16; e_first += (2 * LANES)) {
            UNROLL for (int64_t vector = 0, e = e_first; vector < 2; vector++, e += LANES) {
                T(add)(carried + f * 16 + e, carried_compensation + f * 16 + e, T(load)(state + f * 16 + e),
                    T(splat)(1));
            }
#endif
        }
    }
}
#include <attnrt/kernel/end.h>
#else
#ifdef __cplusplus
#error "linear_elu_decode.c is C, not C++: compile it with a C compiler"
#elif !defined __STDC_VERSION__ || __STDC_VERSION__ < 199901L
#error "linear_elu_decode.c is C11, not C89: compile it without -std=, or with -std=gnu11"
extern int linear_elu_decode_is_c11;
#elif !defined __GNUC__
#error "linear_elu_decode.c uses GNU C vector extensions: compile it with gcc or clang"
extern int linear_elu_decode_is_gnu_c;
#else
#include "linear_elu_decode.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include <attnrt/kernel/optimize.h>
#include <attnrt/kernel/call.h>

/* the numbers of the arrays of a call */
enum {
    ARRAY_q, ARRAY_k, ARRAY_v, ARRAY_out
};

#ifdef __FILE_NAME__
#define LOOPS __FILE_NAME__ /* this file, whose first part has the loops */
#else
#define LOOPS "linear_elu_decode.c"
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
#define MAX_STEPS 16
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
#define MAX_STEPS 16
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
#define MAX_STEPS 16
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
    {.role = RUN_FORWARD,
     .head = linear_elu_decode_linear_v4, .tile = 0, .own = 6336, .of_token = 272, .in_keys = 1, .shared = 2176,
         .slot = 1088, .slots = 4, .together = 1},
    {.role = RUN_EXTEND,
     .head = linear_elu_decode_extend_v4, .tile = 0, .own = 6336, .of_token = 272, .in_keys = 1, .shared = 0,
         .slot = 1088, .slots = 4, .together = 1,
     .matrices = 2, .matrix = (const struct matrix_of_sums[]){{.at = 0, .features = 16, .columns = 1, .row = 1,
         .column = 0}, {.at = 64, .features = 16, .columns = 16, .row = 16, .column = 1}}, .chunk = 16, .kept = 2176,
         .join = linear_elu_decode_join_v4, .join_work = 0},
};
#endif
#if defined(__x86_64__)
static int runs_v3(void)
{
    return attn_x86_64_level() >= 3;
}
static const struct program programs_v3[] = {
    {.role = RUN_FORWARD,
     .head = linear_elu_decode_linear_v3, .tile = 0, .own = 6336, .of_token = 272, .in_keys = 1, .shared = 2176,
         .slot = 1088, .slots = 4, .together = 1},
    {.role = RUN_EXTEND,
     .head = linear_elu_decode_extend_v3, .tile = 0, .own = 6336, .of_token = 272, .in_keys = 1, .shared = 0,
         .slot = 1088, .slots = 4, .together = 1,
     .matrices = 2, .matrix = (const struct matrix_of_sums[]){{.at = 0, .features = 16, .columns = 1, .row = 1,
         .column = 0}, {.at = 64, .features = 16, .columns = 16, .row = 16, .column = 1}}, .chunk = 16, .kept = 2176,
         .join = linear_elu_decode_join_v3, .join_work = 0},
};
#endif
static const struct program programs_any[] = {
    {.role = RUN_FORWARD,
     .head = linear_elu_decode_linear_any, .tile = 0, .own = 6336, .of_token = 272, .in_keys = 1, .shared = 2176,
         .slot = 1088, .slots = 4, .together = 1},
    {.role = RUN_EXTEND,
     .head = linear_elu_decode_extend_any, .tile = 0, .own = 6336, .of_token = 272, .in_keys = 1, .shared = 0,
         .slot = 1088, .slots = 4, .together = 1,
     .matrices = 2, .matrix = (const struct matrix_of_sums[]){{.at = 0, .features = 16, .columns = 1, .row = 1,
         .column = 0}, {.at = 64, .features = 16, .columns = 16, .row = 16, .column = 1}}, .chunk = 16, .kept = 2176,
         .join = linear_elu_decode_join_any, .join_work = 0},
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
    {ARRAY_k, 64, 1, 0, 0, 0},
    {ARRAY_v, 64, ATTN_KV_HEADS, 0, 0, 0},
};

#include <attnrt/kernel/openmp.h>
static const struct kernel kernel = {
    .layout = KERNEL_LAYOUT, .name = "linear_elu_decode", .openmp = OPENMP,
    .target = target, .targets = sizeof target / sizeof *target - 1,
    .array = array, .arrays = sizeof array / sizeof *array,
    .params_bytes = sizeof(struct linear_elu_decode_params),
    .dtype = ATTN_F32, .key_dtype = ATTN_F32, .value_dtype = ATTN_F32, .real = sizeof(float), .element = sizeof(float),
    .head_dim = 16, .value_dim = 16, .key_row = 16, .value_row = 16,
    .shares = 1,
    .positions = 1,
    .ids = -1,
    .corrected = -1,
    .solution = -1,
    .decodes = 1,
    .carried = 1,
    .folds = 1,
    .joins = 1,
    .moves = 1,
    .terms_move = 1,
    .any_order = 1,
    .uncopied = 1,
    .chunk_sums = 1,
    .rows_kept = 32,
    .fingerprint = UINT64_C(0x7dfbfe7b36f461eb),
    .kept_array = kept_array, .kept_arrays = 2, .given = 2, .sums = 2,
};

/* ==== the interface ==== */
size_t linear_elu_decode_params_size(void) { return attn_call_params_size(&kernel); }
int linear_elu_decode_params_init(struct linear_elu_decode_params *params, uint64_t seed, void *storage)
{
    return attn_call_params_init(&kernel, params, seed, storage);
}
size_t linear_elu_decode_workspace(const struct attn_problem *problem) { return attn_call_workspace(&kernel, problem); }
size_t linear_elu_decode_state(const struct attn_problem *problem) { return attn_call_state(&kernel, problem); }
int linear_elu_decode_state_init(const struct attn_problem *problem, void *state)
{
    return attn_call_state_init(&kernel, problem, state);
}
size_t linear_elu_decode_page(const struct attn_problem *problem) { return attn_call_page(&kernel, problem); }
size_t linear_elu_decode_extend_workspace(const struct attn_problem *problem)
{
    return attn_call_extend_workspace(&kernel, problem);
}
int64_t linear_elu_decode_state_length(const struct attn_problem *problem, const void *state, int64_t sequence)
{
    return attn_call_state_length(&kernel, problem, state, sequence);
}
int64_t linear_elu_decode_state_min_length(const struct attn_problem *problem, const void *state, int64_t sequence)
{
    return attn_call_state_min_length(&kernel, problem, state, sequence);
}
int linear_elu_decode_state_truncate(const struct attn_problem *problem, void *state, int64_t sequence, int64_t length)
{
    return attn_call_state_truncate(&kernel, problem, state, sequence, length);
}
int linear_elu_decode_state_copy(const struct attn_problem *problem, void *to, int64_t to_sequence, const void *from,
    int64_t from_sequence)
{
    return attn_call_state_copy(&kernel, problem, to, to_sequence, from, from_sequence);
}
int linear_elu_decode_state_keep(const struct attn_problem *problem, void *state, int64_t sequence, const int64_t *path,
    int64_t count)
{
    return attn_call_state_keep(&kernel, problem, state, sequence, path, count);
}
size_t linear_elu_decode_state_sums(const struct attn_problem *problem)
{
    return attn_call_state_sums(&kernel, problem);
}
int linear_elu_decode_state_set(const struct attn_problem *problem, void *state, const void *sums)
{
    return attn_call_state_set(&kernel, problem, state, sums);
}
int linear_elu_decode_state_get(const struct attn_problem *problem, const void *params, void *state, void *sums,
    void *workspace)
{
    return attn_call_state_get(&kernel, problem, params, state, sums, workspace);
}
int linear_elu_decode_state_fold(const struct attn_problem *problem, void *left, const void *right)
{
    return attn_call_state_fold(&kernel, problem, left, right);
}
int linear_elu_decode_forward(const struct attn_problem *problem, const struct linear_elu_decode_params *params,
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
int linear_elu_decode_extend(const struct attn_problem *problem, const struct linear_elu_decode_params *params,
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
static size_t chunk_sums(const struct attn_problem *problem) { return attn_call_chunk_sums(&kernel, problem); }
const struct attn_kernel linear_elu_decode_kernel = {
    .name = "linear_elu_decode", .version = "0.2.0", .dtype = ATTN_F32, .head_dim = 16, .value_dim = 16,
    .params = 0, .param = NULL, .params_bytes = sizeof(struct linear_elu_decode_params),
    .params_size = linear_elu_decode_params_size, .params_init = params_init_any, .forward = forward_any,
    .workspace = linear_elu_decode_workspace,
    .state = linear_elu_decode_state,
    .state_init = linear_elu_decode_state_init,
    .page = linear_elu_decode_page,
    .extend_workspace = linear_elu_decode_extend_workspace,
    .state_length = linear_elu_decode_state_length,
    .state_min_length = linear_elu_decode_state_min_length,
    .state_truncate = linear_elu_decode_state_truncate,
    .state_copy = linear_elu_decode_state_copy,
    .state_keep = linear_elu_decode_state_keep,
    .state_sums = linear_elu_decode_state_sums,
    .state_set = linear_elu_decode_state_set,
    .state_get = linear_elu_decode_state_get,
    .state_fold = linear_elu_decode_state_fold,
    .extend = extend_any, .state_chunk = state_chunk, .state_part = state_part,
    .chunk_sums = chunk_sums,
    .key_dtype = ATTN_F32, .value_dtype = ATTN_F32,
    .before = INT64_MAX, .after = 0, .period = 1, .names_heads = 0, .names_sequences = 0, .in_parts = 0,
    .saved_power = 0, .has_sink = 0, .open_keys = 0, .end_of_keys = INT64_MAX,
    .state_shapes = (const int64_t[]){16, 1, 16, 16}, .state_arrays = 2,
};
#endif /* a compiler of this language */
#endif /* SECTION */
