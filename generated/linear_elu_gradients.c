/* linear_elu_gradients.c, made by attnc 0.2.0: attnc linear_elu_gradients.yaml
   C11 with GNU extensions, for a C compiler; C++ includes linear_elu_gradients.h.
   linear attention with the feature map ELU + 1 and gradients, in the linear form for any number of keys
   Katharopoulos et al., Transformers are RNNs (ICML 2020), section 3.3.1

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
     loops      linear_elu_gradients_linear, linear_elu_gradients_linear_saved, linear_elu_gradients_linear_row_sums,
     linear_elu_gradients_linear_dq, linear_elu_gradients_linear_dk_dv
     targets    x86-64-v4, x86-64-v3, generic
     tables     arrays and programs, for the functions of attnrt that call the loops
     interface  linear_elu_gradients_workspace, linear_elu_gradients_forward, linear_elu_gradients_backward,
     linear_elu_gradients_kernel
   The file includes itself, so that the loops are compiled once for each target. T(name) is a name with the target's
   suffix, LANES the elements of its vectors, and OF(…) a number for each target.

   Compile with: cc -O2 -fopenmp linear_elu_gradients.c … -lattnrt -lm */
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
#else
TARGET APART void T(dot6)(int64_t lanes, const float *a, const float *b, float *c)
#endif
{
#if OF(1, 0, 0)
    T(dot)(/*vectors=*/1, /*lanes=*/16, /*rows=*/16, /*tail=*/4, /*steps=*/16, /*span=*/32, a, /*a_row=*/16,
        /*a_step=*/1, b, /*b_step=*/16, c, /*c_row=*/16, /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL);
#else
    T(dot)(/*vectors=*/2, lanes, /*rows=*/16, /*tail=*/4, /*steps=*/16, /*span=*/32, a, /*a_row=*/16, /*a_step=*/1, b,
        /*b_step=*/16, c, /*c_row=*/16, /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL);
#endif
}
#if OF(1, 0, 0)
TARGET APART void T(dot7)(int64_t rows, const float *a, int64_t a_row, const float *b, float *c)
#else
TARGET APART void T(dot7)(int64_t lanes, int64_t rows, const float *a, int64_t a_row, const float *b, float *c)
#endif
{
#if OF(1, 0, 0)
    T(dot_ahead)(/*vectors=*/1, /*lanes=*/16, rows, /*tail=*/-1, /*steps=*/16, /*span=*/32, a, a_row, /*a_step=*/1, b,
        /*b_step=*/16, c, /*c_row=*/16, /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL, /*next=*/NULL,
        /*next_row=*/0, /*width=*/0, /*result=*/NULL, /*result_row=*/0, /*result_width=*/0, /*results=*/0);
#else
    T(dot_ahead)(/*vectors=*/2, lanes, rows, /*tail=*/-1, /*steps=*/16, /*span=*/32, a, a_row, /*a_step=*/1, b,
        /*b_step=*/16, c, /*c_row=*/16, /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL, /*next=*/NULL,
        /*next_row=*/0, /*width=*/0, /*result=*/NULL, /*result_row=*/0, /*result_width=*/0, /*results=*/0);
#endif
}
#if OF(1, 0, 0)
TARGET APART void T(dot8)(int64_t steps, const float *a, const float *b, float *c, float *compensation)
#else
TARGET APART void T(dot8)(int64_t lanes, int64_t steps, const float *a, const float *b, float *c, float *compensation)
#endif
{
#if OF(1, 0, 0)
    T(dot_finite)(/*vectors=*/1, /*lanes=*/16, /*rows=*/16, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/16,
        /*a_step=*/1, b, /*b_step=*/16, c, /*c_row=*/16, /*update=*/3, /*factor=*/NULL, compensation);
#else
    T(dot_finite)(/*vectors=*/2, lanes, /*rows=*/16, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/16, /*a_step=*/1, b,
        /*b_step=*/16, c, /*c_row=*/16, /*update=*/3, /*factor=*/NULL, compensation);
#endif
}
#if OF(1, 0, 0)
TARGET APART void T(dot9)(int64_t steps, const float *a, const float *b, float *c, float *compensation)
#else
TARGET APART void T(dot9)(int64_t lanes, int64_t steps, const float *a, const float *b, float *c, float *compensation)
#endif
{
#if OF(1, 0, 0)
    T(dot)(/*vectors=*/1, /*lanes=*/16, /*rows=*/16, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/16, /*a_step=*/1, b,
        /*b_step=*/16, c, /*c_row=*/16, /*update=*/3, /*factor=*/NULL, compensation);
#else
    T(dot)(/*vectors=*/2, lanes, /*rows=*/16, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/16, /*a_step=*/1, b,
        /*b_step=*/16, c, /*c_row=*/16, /*update=*/3, /*factor=*/NULL, compensation);
#endif
}
TARGET APART void T(dot10)(int64_t steps, const float *a, const float *b, float *c)
{
    T(dot)(/*vectors=*/OF(1, 2, 2), /*lanes=*/16, /*rows=*/16, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/16,
        /*a_step=*/1, b, /*b_step=*/16, c, /*c_row=*/16, /*update=*/1, /*factor=*/NULL, /*compensation=*/NULL);
}

/* Initialises the states: they contain no keys yet. */
TARGET APART void T(linear_elu_gradients_begin)(const struct call *call, int64_t task, const struct share *share,
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
TARGET APART void T(linear_elu_gradients_keys)(const struct call *call, int64_t task, const struct share *share,
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
TARGET APART void T(linear_elu_gradients_fold)(const struct call *call, int64_t task, const struct share *share,
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
TARGET APART void T(linear_elu_gradients_queries)(const struct call *call, int64_t task, const struct share *share,
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
    float *const saved_0 = call->array[ARRAY_saved_0].at ? (float *)call->array[ARRAY_saved_0].at + (b * call->p.heads +
        g * members) * call->p.n_q : NULL;
    const int64_t saved_0_head = call->p.n_q;
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
            if (saved_0) {
                /* row_sum = select((row_sum + row_sum_from_state) == 0.0f, 0.0f,
                   1.0f / (row_sum + row_sum_from_state)) */
                for (int64_t i = 0; i < i1 - i0; i += LANES) {
                    const T(vec) t_9 = T(load)(row_sum + i) + T(load)(row_sum_from_state + i);
                    T(store)(row_sum + i, T(pick)(t_9 == 0.0f, T(splat)(0.0f), 1.0f / t_9));
                }
            }
            /* out = sum, transposed back */
            T(transpose_out)(sum, 16, 16, i1 - i0, out + m * out_head + i0 * out_row, out_row, 64);
            if (saved_0) {
                /* saved_0 = row_sum */
                for (int64_t i = 0; i < i1 - i0; i++)
                    saved_0[m * saved_0_head + (i0 + i)] = row_sum[i];
            }
        }
    }
}

/* For a thread that works on the head alone: adds a chunk to the carried state. */
TARGET APART void T(linear_elu_gradients_keys_alone)(const struct call *call, int64_t task, const struct share *share,
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
                const T(vec) k_tile_10 = T(load)(k_tile + d * 16 + j);
                T(store)(k_tile + d * 16 + j, T(pick)(0.0f < k_tile_10, k_tile_10 + 1.0f, T(exp)(T(min)(k_tile_10,
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
TARGET APART void T(linear_elu_gradients_fold_alone)(const struct call *call, int64_t task, const struct share *share,
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
TARGET static void T(linear_elu_gradients_linear)(const struct call *call, int64_t task, struct share *share)
{
    const int64_t n_k = call->p.n_k;
    const int64_t chunks = n_k > 0 ? (n_k - 1) / 16 + 1 : 1;
    for (int64_t iteration = share->number; iteration < ((16 + 31) / 32); iteration += share->threads)
        T(linear_elu_gradients_begin)(call, task, share, iteration);
    synchronise(share);
    const int64_t first = 0;
    if (share->threads == 1) { /* queries read the carried state before their chunk is added */
        unsigned char *const slots = share->slots;
        for (share->chunk0 = first; share->chunk0 < chunks; share->chunk0++) {
            share->chunk1 = share->chunk0 + 1;
            share->slots = share->shared;
            T(linear_elu_gradients_queries)(call, task, share, share->chunk0);
            share->slots = slots;
            T(linear_elu_gradients_keys_alone)(call, task, share, share->chunk0);
            for (int64_t iteration = 0; iteration < ((16 + 31) / 32); iteration++)
                T(linear_elu_gradients_fold_alone)(call, task, share, iteration);
        }
    } else {
        const int64_t length = segment_length(share, chunks - first);
        for (int64_t segment = share->number; first + segment * length < chunks; segment += share->threads) {
            share->chunk0 = first + segment * length;
            share->chunk1 = min(share->chunk0 + length, chunks);
            for (int64_t iteration = share->chunk0; iteration < share->chunk1; iteration++)
                T(linear_elu_gradients_keys)(call, task, share, iteration);
            for (int64_t group = 0; group < 16; group++) {
                await_segment(share, group, segment);
                const int64_t end = (group + 1) * ((16 + 31) / 32) / 16;
                for (int64_t iteration = group * ((16 + 31) / 32) / 16; iteration < end; iteration++)
                    T(linear_elu_gradients_fold)(call, task, share, iteration);
                pass_segment(share, group, segment);
            }
            for (int64_t iteration = share->chunk0; iteration < share->chunk1; iteration++)
                T(linear_elu_gradients_queries)(call, task, share, iteration);
        }
        share->segments += (max(chunks - first, 0) + length - 1) / length;
    }
    synchronise(share);
}

/* Initialises the states: they contain no keys yet. */
TARGET APART void T(linear_elu_gradients_linear_saved_begin)(const struct call *call, int64_t task,
    const struct share *share, int64_t iteration)
{
    (void)call;
    (void)task;
    const int64_t f0 = iteration * 32, f1 = min(f0 + 32, 16);
    float *const carried_sum = (float *)(void *)(share->shared + 0); /* [f: 16] */
    float *const carried_sum_compensation = (float *)(void *)(share->shared + 64); /* [f: 16] */
    /* carried_sum = 0.0f; carried_sum_compensation = 0.0f */
    for (int64_t f = f0; f < f1; f += LANES) {
        T(store)(carried_sum + f, T(splat)(0.0f));
        T(store)(carried_sum_compensation + f, T(splat)(0.0f));
    }
}

/* Sums the keys of a chunk, from zero, into its slot. */
TARGET APART void T(linear_elu_gradients_linear_saved_keys)(const struct call *call, int64_t task,
    const struct share *share, int64_t iteration)
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
    float *const state_sum = (float *)(void *)(share->slots + 0); /* [chunk, f: 16] */
    float *const k_tile = (float *)(void *)(share->work + 0); /* [d: 16, j: 16] */
    /* state_sum = 0.0f */
    for (int64_t f = 0; f < 16; f += LANES) {
        T(store)(state_sum + (chunk - chunk0) * 16 + f, T(splat)(0.0f));
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
            state_sum[(chunk - chunk0) * 16 + f] += total;
        }
    }
}

/* Folds the slots of the current chunks, in order, for some elements of the states. */
TARGET APART void T(linear_elu_gradients_linear_saved_fold)(const struct call *call, int64_t task,
    const struct share *share, int64_t iteration)
{
    (void)call;
    (void)task;
    const int64_t f0 = iteration * 32, f1 = min(f0 + 32, 16);
    const int64_t chunk0 = share->chunk0;
    const int64_t chunk1 = share->chunk1;
    float *const state_sum = (float *)(void *)(share->slots + 0); /* [chunk, f: 16] */
    float *const carried_sum = (float *)(void *)(share->shared + 0); /* [f: 16] */
    float *const carried_sum_compensation = (float *)(void *)(share->shared + 64); /* [f: 16] */
    for (int64_t chunk = chunk0; chunk < chunk1; chunk++) {
        /* before_sum = carried_sum; carried_sum += state_sum; state_sum = before_sum */
        for (int64_t f = f0; f < f1; f += LANES) {
            const T(vec) before_sum_new1 = T(load)(carried_sum + f);
            T(add)(carried_sum + f, carried_sum_compensation + f, T(load)(state_sum + (chunk - chunk0) * 16 + f),
                T(splat)(1));
            T(store)(state_sum + (chunk - chunk0) * 16 + f, before_sum_new1);
        }
    }
}

/* Processes the queries of a chunk: reads the state before the chunk, and the keys in the chunk. */
TARGET APART void T(linear_elu_gradients_linear_saved_queries)(const struct call *call, int64_t task,
    const struct share *share, int64_t iteration)
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
    float *const state_sum = (float *)(void *)(share->slots + 0); /* [chunk, f: 16] */
    float *const score = (float *)(void *)(share->work + 0); /* [j: 16, i: 16] */
    float *const row_sum_from_state = (float *)(void *)(share->work + 1024); /* [i: 16] */
    float *const row_sum = (float *)(void *)(share->work + 1088); /* [i: 16] */
    float *const row_sum_compensation = (float *)(void *)(share->work + 1152); /* [i: 16] */
    float *const saved_0 = (float *)call->array[ARRAY_saved_0].at + (b * call->p.heads + g * members) * call->p.n_q;
    const int64_t saved_0_head = call->p.n_q;
    float *const q_tile = (float *)(void *)(share->work + 1216); /* [d: 16, i: 16] */
    float *const k_tile_2 = (float *)(void *)(share->work + 2240); /* [d: 16, j: 16] */
    for (int64_t m = 0; m < members; m++) {
        for (int64_t i0 = (chunk == 0) ? 0 : max(0, (chunk * 16) - query_start), i_end = min(n_q,
            ((chunk + 1) * 16) - query_start); i0 < i_end; i0 += 16) {
            const int64_t i1 = min(i0 + 16, i_end);
            /* q_tile = q, with zeros beyond the last row */
            T(transpose_padded)(q + m * q_head + i0 * q_row, q_row, i1 - i0, 16, q_tile, 16, 64);
            /* q_tile = select(0.0f < q_tile, q_tile + 1.0f, exp(min(q_tile, 0.0f))) */
            for (int64_t d = 0; d < 16; d++) {
                for (int64_t i = 0; i < i1 - i0; i += LANES) {
                    const T(vec) q_tile_2 = T(load)(q_tile + d * 16 + i);
                    T(store)(q_tile + d * 16 + i, T(pick)(0.0f < q_tile_2, q_tile_2 + 1.0f, T(exp)(T(min)(q_tile_2,
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
                    row_sum_from_state_in += T(load)(q_tile + f * 16 + i) * (state_sum[(chunk - chunk0) * 16 + f]);
#else
                    UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += LANES) {
                        row_sum_from_state_in[vector] += T(load)(q_tile + f * 16 + i) * (state_sum[(chunk - chunk0) * 16
                            + f]);
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
            for (int64_t j0 = max(0, chunk * 16), j_end = min(n_k, i1 + query_start); j0 < j_end; j0 += 16) {
                const int64_t j1 = min(j0 + 16, j_end);
                /* k_tile_2 = k, with zeros beyond the last row */
                T(transpose_padded)(k + j0 * k_row, k_row, j1 - j0, 16, k_tile_2, 16, 64);
                /* k_tile_2 = select(0.0f < k_tile_2, k_tile_2 + 1.0f, exp(min(k_tile_2, 0.0f))) */
                for (int64_t d = 0; d < 16; d++) {
                    for (int64_t j = 0; j < j1 - j0; j += LANES) {
                        const T(vec) k_tile_2_3 = T(load)(k_tile_2 + d * 16 + j);
                        T(store)(k_tile_2 + d * 16 + j, T(pick)(0.0f < k_tile_2_3, k_tile_2_3 + 1.0f,
                            T(exp)(T(min)(k_tile_2_3, T(splat)(0.0f)))));
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
                        const T(ints) t_4 = (i0 + i + T(lane)) + query_start;
                        for (int64_t j = 0; j < j1 - j0; j++) {
                            T(store)(score + j * 16 + i, T(pick)(__builtin_convertvector(((j0 + j) <= t_4) &
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
            }
            /* row_sum = select((row_sum + row_sum_from_state) == 0.0f, 0.0f, 1.0f / (row_sum + row_sum_from_state)) */
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                const T(vec) t_5 = T(load)(row_sum + i) + T(load)(row_sum_from_state + i);
                T(store)(row_sum + i, T(pick)(t_5 == 0.0f, T(splat)(0.0f), 1.0f / t_5));
            }
            /* saved_0 = row_sum */
            for (int64_t i = 0; i < i1 - i0; i++)
                saved_0[m * saved_0_head + (i0 + i)] = row_sum[i];
        }
    }
}

/* Computes head number `task`. Each thread on the head calls this with `share`. */
TARGET static void T(linear_elu_gradients_linear_saved)(const struct call *call, int64_t task, struct share *share)
{
    const int64_t n_k = call->p.n_k;
    const int64_t chunks = n_k > 0 ? (n_k - 1) / 16 + 1 : 1;
    for (int64_t iteration = share->number; iteration < ((16 + 31) / 32); iteration += share->threads)
        T(linear_elu_gradients_linear_saved_begin)(call, task, share, iteration);
    synchronise(share);
    const int64_t first = 0;
    const int64_t length = segment_length(share, chunks - first);
    for (int64_t segment = share->number; first + segment * length < chunks; segment += share->threads) {
        share->chunk0 = first + segment * length;
        share->chunk1 = min(share->chunk0 + length, chunks);
        for (int64_t iteration = share->chunk0; iteration < share->chunk1; iteration++)
            T(linear_elu_gradients_linear_saved_keys)(call, task, share, iteration);
        for (int64_t group = 0; group < 16; group++) {
            await_segment(share, group, segment);
            const int64_t end = (group + 1) * ((16 + 31) / 32) / 16;
            for (int64_t iteration = group * ((16 + 31) / 32) / 16; iteration < end; iteration++)
                T(linear_elu_gradients_linear_saved_fold)(call, task, share, iteration);
            pass_segment(share, group, segment);
        }
        for (int64_t iteration = share->chunk0; iteration < share->chunk1; iteration++)
            T(linear_elu_gradients_linear_saved_queries)(call, task, share, iteration);
    }
    share->segments += (max(chunks - first, 0) + length - 1) / length;
    synchronise(share);
}

/* Computes task number `task`: one tile of queries of one head. `work` is this thread's workspace. */
TARGET static void T(linear_elu_gradients_linear_row_sums)(const struct call *call, int64_t task, unsigned char *work)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_q = call->p.n_q;
    const int64_t tiles = (n_q + 16 - 1) / 16, i0 = (tiles - 1 - task % tiles) * 16,
        i1 = min(i0 + 16, n_q);
    const int64_t m = task / tiles % members;
    const int64_t g = task / tiles / members % kv_heads;
    const int64_t b = task / tiles / members / kv_heads;
    const float *const out = (const float *)call->array[ARRAY_out].at + b * call->array[ARRAY_out].strides.batch + (g *
        members + m) * call->array[ARRAY_out].strides.head;
    const int64_t out_row = call->array[ARRAY_out].strides.row;
    const float *const dout = (const float *)call->array[ARRAY_dout].at + b * call->array[ARRAY_dout].strides.batch + (g
        * members + m) * call->array[ARRAY_dout].strides.head;
    const int64_t dout_row = call->array[ARRAY_dout].strides.row;
    const float *const saved_0 = (const float *)call->array[ARRAY_saved_0].at + (b * call->p.heads + (g * members + m))
        * call->p.n_q;
    float *const query_sum = (float *)(void *)(work + 0); /* [i: 16] */
    float *const row_0 = (float *)call->array[ARRAY_row_0].at + (b * call->p.heads + (g * members + m)) * call->p.n_q;
    float *const out_tile = (float *)(void *)(work + 64); /* [e: 16, i: 16] */
    float *const dout_tile = (float *)(void *)(work + 1088); /* [e: 16, i: 16] */
    float *const saved_0_tile = (float *)(void *)(work + 2112); /* [i: 16] */
    /* out_tile = out, with zeros beyond the last row */
    T(transpose_padded)(out + i0 * out_row, out_row, i1 - i0, 16, out_tile, 16, LANES);
    /* dout_tile = dout, with zeros beyond the last row */
    T(transpose_padded)(dout + i0 * dout_row, dout_row, i1 - i0, 16, dout_tile, 16, LANES);
    /* saved_0_tile = saved_0, with zeros beyond the last row */
    for (int64_t i = 0; i < round_up(i1 - i0, LANES); i++)
        saved_0_tile[i] = i < i1 - i0 ? saved_0[(i0 + i)] : 0;
    /* query_sum = 0.0f */
    for (int64_t i = 0; i < i1 - i0; i += LANES) {
        T(store)(query_sum + i, T(splat)(0.0f));
    }
    /* query_sum += dout_tile * neg(out_tile) */
#if OF(1, 0, 0)
    for (int64_t i = 0; i < i1 - i0; i += 16) {
        T(vec) query_sum_in = (T(vec)){0};
#else
    for (int64_t i_first = 0; i_first < i1 - i0; i_first += (2 * LANES)) {
        T(vec) query_sum_in[2];
        UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += LANES) {
            query_sum_in[vector] = (T(vec)){0};
        }
#endif
        for (int64_t e = 0; e < 16; e++) {
#if OF(1, 0, 0)
            query_sum_in += T(load)(dout_tile + e * 16 + i) * (-T(load)(out_tile + e * 16 + i));
#else
            UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += LANES) {
                query_sum_in[vector] += T(load)(dout_tile + e * 16 + i) * (-T(load)(out_tile + e * 16 + i));
            }
#endif
        }
#if OF(1, 0, 0)
        T(store)(query_sum + i, T(load)(query_sum + i) + query_sum_in);
#else
        UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += LANES) {
            T(store)(query_sum + i, T(load)(query_sum + i) + query_sum_in[vector]);
        }
#endif
    }
    /* query_sum = query_sum * saved_0_tile */
    for (int64_t i = 0; i < i1 - i0; i += LANES) {
        T(store)(query_sum + i, T(load)(query_sum + i) * T(load)(saved_0_tile + i));
    }
    /* row_0 = query_sum */
    for (int64_t i = 0; i < i1 - i0; i++)
        row_0[(i0 + i)] = query_sum[i];
}

/* Initialises the states: they contain no keys yet. */
TARGET APART void T(linear_elu_gradients_linear_dq_begin)(const struct call *call, int64_t task,
    const struct share *share, int64_t iteration)
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
TARGET APART void T(linear_elu_gradients_linear_dq_keys)(const struct call *call, int64_t task,
    const struct share *share, int64_t iteration)
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
TARGET APART void T(linear_elu_gradients_linear_dq_fold)(const struct call *call, int64_t task,
    const struct share *share, int64_t iteration)
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
TARGET APART void T(linear_elu_gradients_linear_dq_queries)(const struct call *call, int64_t task,
    const struct share *share, int64_t iteration)
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
    const float *const dout = (const float *)call->array[ARRAY_dout].at + b * call->array[ARRAY_dout].strides.batch + g
        * members * call->array[ARRAY_dout].strides.head;
    const int64_t dout_row = call->array[ARRAY_dout].strides.row;
    const int64_t dout_head = call->array[ARRAY_dout].strides.head;
    const float *const saved_0 = (const float *)call->array[ARRAY_saved_0].at + (b * call->p.heads + g * members) *
        call->p.n_q;
    const int64_t saved_0_head = call->p.n_q;
    const float *const row_0 = (const float *)call->array[ARRAY_row_0].at + (b * call->p.heads + g * members) *
        call->p.n_q;
    const int64_t row_0_head = call->p.n_q;
    float *const state_sum = (float *)(void *)(share->slots + 0); /* [chunk, f: 16] */
    float *const state = (float *)(void *)(share->slots + 64); /* [chunk, f: 16, e: 16] */
    float *const score = (float *)(void *)(share->work + 0); /* [j: 16, i: 16] */
    float *const sum_from_state = (float *)(void *)(share->work + 1024); /* [f: 16, i: 16] */
    float *const query = (float *)(void *)(share->work + 2048); /* [f: 16, i: 16] */
    float *const sum = (float *)(void *)(share->work + 3072); /* [d: 16, i: 16] */
    float *const sum_compensation = (float *)(void *)(share->work + 4096); /* [d: 16, i: 16] */
    float *const dq = call->array[ARRAY_dq].at ? (float *)call->array[ARRAY_dq].at + b *
        call->array[ARRAY_dq].strides.batch + g * members * call->array[ARRAY_dq].strides.head : NULL;
    const int64_t dq_row = call->array[ARRAY_dq].strides.row;
    const int64_t dq_head = call->array[ARRAY_dq].strides.head;
    float *const dout_tile = (float *)(void *)(share->work + 5120); /* [e: 16, i: 16] */
    float *const saved_0_tile = (float *)(void *)(share->work + 0); /* [i: 16] */
    float *const row_0_tile = (float *)(void *)(share->work + 6144); /* [i: 16] */
    float *const k_tile_2 = (float *)(void *)(share->work + 6208); /* [d: 16, j: 16] */
    float *const q_tile = (float *)(void *)(share->work + 7232); /* [d: 16, i: 16] */
    for (int64_t m = 0; m < members; m++) {
        for (int64_t i0 = (chunk == 0) ? 0 : max(0, (chunk * 16) - query_start), i_end = min(n_q,
            ((chunk + 1) * 16) - query_start); i0 < i_end; i0 += 16) {
            const int64_t i1 = min(i0 + 16, i_end);
            /* dout_tile = dout, with zeros beyond the last row */
            T(transpose_padded)(dout + m * dout_head + i0 * dout_row, dout_row, i1 - i0, 16, dout_tile, 16, 64);
            /* saved_0_tile = saved_0, with zeros beyond the last row */
            for (int64_t i = 0; i < round_up(i1 - i0, LANES); i++)
                saved_0_tile[i] = i < i1 - i0 ? saved_0[m * saved_0_head + (i0 + i)] : 0;
            /* row_0_tile = row_0, with zeros beyond the last row */
            for (int64_t i = 0; i < round_up(i1 - i0, LANES); i++)
                row_0_tile[i] = i < i1 - i0 ? row_0[m * row_0_head + (i0 + i)] : 0;
            /* q_tile = q, with zeros beyond the last row */
            T(transpose_padded)(q + m * q_head + i0 * q_row, q_row, i1 - i0, 16, q_tile, 16, 64);
            /* dout_tile = dout_tile * saved_0_tile */
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                const T(vec) saved_0_tile_3 = T(load)(saved_0_tile + i);
                for (int64_t e = 0; e < 16; e++) {
                    T(store)(dout_tile + e * 16 + i, T(load)(dout_tile + e * 16 + i) * saved_0_tile_3);
                }
            }
            /* sum_from_state[f][i] = sum over e of state * dout_tile */
#if OF(1, 0, 0)
            T(dot6)(state + (chunk - chunk0) * 272, dout_tile, sum_from_state);
#else
            T(dot6)(round_up(i1 - i0, LANES), state + (chunk - chunk0) * 272, dout_tile, sum_from_state);
#endif
            /* query = row_0_tile * state_sum */
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                const T(vec) row_0_tile_4 = T(load)(row_0_tile + i);
                for (int64_t f = 0; f < 16; f++) {
                    T(store)(query + f * 16 + i, row_0_tile_4 * (state_sum[(chunk - chunk0) * 272 + f]));
                }
            }
            /* sum = 0.0f; sum_compensation = 0.0f */
            for (int64_t d = 0; d < 16; d++) {
                for (int64_t i = 0; i < i1 - i0; i += LANES) {
                    T(store)(sum + d * 16 + i, T(splat)(0.0f));
                    T(store)(sum_compensation + d * 16 + i, T(splat)(0.0f));
                }
            }
            for (int64_t j0 = max(0, chunk * 16), j_end = min(n_k, i1 + query_start); j0 < j_end; j0 += 16) {
                const int64_t j1 = min(j0 + 16, j_end);
                /* k_tile_2 = k, with zeros beyond the last row */
                T(transpose_padded)(k + j0 * k_row, k_row, j1 - j0, 16, k_tile_2, 16, 64);
                /* k_tile_2 = select(0.0f < k_tile_2, k_tile_2 + 1.0f, exp(min(k_tile_2, 0.0f))) */
                for (int64_t d = 0; d < 16; d++) {
                    for (int64_t j = 0; j < j1 - j0; j += LANES) {
                        const T(vec) k_tile_2_5 = T(load)(k_tile_2 + d * 16 + j);
                        T(store)(k_tile_2 + d * 16 + j, T(pick)(0.0f < k_tile_2_5, k_tile_2_5 + 1.0f,
                            T(exp)(T(min)(k_tile_2_5, T(splat)(0.0f)))));
                    }
                }
                /* score[j][i] = sum over e of v * dout_tile */
#if OF(1, 0, 0)
                T(dot7)(j1 - j0, v + j0 * v_row, v_row, dout_tile, score);
#else
                T(dot7)(round_up(i1 - i0, LANES), j1 - j0, v + j0 * v_row, v_row, dout_tile, score);
#endif
                /* score = score + row_0_tile */
                for (int64_t i = 0; i < i1 - i0; i += LANES) {
                    const T(vec) row_0_tile_6 = T(load)(row_0_tile + i);
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        T(store)(score + j * 16 + i, T(load)(score + j * 16 + i) + row_0_tile_6);
                    }
                }
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
                /* sum[d][i] += sum over j of k_tile_2 * score */
                if (__builtin_expect(((j0 < (chunk * 16)) || ((i0 + query_start + 1) < j1)) && !T(finite)(k_tile_2, 16,
                    16, j1 - j0), 0)) { /* infinity and NaN affect only queries that see them */
#if OF(1, 0, 0)
                    T(dot8)(j1 - j0, k_tile_2, score, sum, sum_compensation);
#else
                    T(dot8)(round_up(i1 - i0, LANES), j1 - j0, k_tile_2, score, sum, sum_compensation);
#endif
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        T(mask) in_region[OF(1, 2, 4)] = {0};
                        if (T(finite)(k_tile_2 + j * 1, 16, 16, 1)) continue;
                        const int t_8 = (chunk * 16) <= (j0 + j);
                        for (int64_t i = 0; i < i1 - i0; i += LANES) {
                            in_region[i / LANES] = __builtin_convertvector(((j0 + j) <= ((i0 + i + T(lane)) +
                                query_start)) & (-(int64_t)t_8), T(mask));
                        }
                        T(add_seen)(16, sum, 16, k_tile_2 + j * 1, 16, score + j * 16, in_region, i1 - i0);
                    }
                } else
#if OF(1, 0, 0)
                    T(dot9)(j1 - j0, k_tile_2, score, sum, sum_compensation);
#else
                    T(dot9)(round_up(i1 - i0, LANES), j1 - j0, k_tile_2, score, sum, sum_compensation);
#endif
            }
            /* q_tile = ((sum_from_state + query) + sum) * select(0.0f < q_tile, 1.0f, select(0.0f < q_tile,
               q_tile + 1.0f, exp(min(q_tile, 0.0 ... */
            for (int64_t d = 0; d < 16; d++) {
                for (int64_t i = 0; i < i1 - i0; i += LANES) {
                    const T(vec) q_tile_9 = T(load)(q_tile + d * 16 + i);
                    const T(mask) t_10 = 0.0f < q_tile_9;
                    T(store)(q_tile + d * 16 + i, ((T(load)(sum_from_state + d * 16 + i) + T(load)(query + d * 16 + i))
                        + T(load)(sum + d * 16 + i)) * T(pick)(t_10, T(splat)(1.0f), T(pick)(t_10, q_tile_9 + 1.0f,
                        T(exp)(T(min)(q_tile_9, T(splat)(0.0f))))));
                }
            }
            if (dq) {
                /* dq = q_tile, transposed back */
                T(transpose_out)(q_tile, 16, 16, i1 - i0, dq + m * dq_head + i0 * dq_row, dq_row, 64);
            }
        }
    }
}

/* For a thread that works on the head alone: adds a chunk to the carried state. */
TARGET APART void T(linear_elu_gradients_linear_dq_keys_alone)(const struct call *call, int64_t task,
    const struct share *share, int64_t iteration)
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
                const T(vec) k_tile_11 = T(load)(k_tile + d * 16 + j);
                T(store)(k_tile + d * 16 + j, T(pick)(0.0f < k_tile_11, k_tile_11 + 1.0f, T(exp)(T(min)(k_tile_11,
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
TARGET APART void T(linear_elu_gradients_linear_dq_fold_alone)(const struct call *call, int64_t task,
    const struct share *share, int64_t iteration)
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
TARGET static void T(linear_elu_gradients_linear_dq)(const struct call *call, int64_t task, struct share *share)
{
    const int64_t n_k = call->p.n_k;
    const int64_t chunks = n_k > 0 ? (n_k - 1) / 16 + 1 : 1;
    for (int64_t iteration = share->number; iteration < ((16 + 31) / 32); iteration += share->threads)
        T(linear_elu_gradients_linear_dq_begin)(call, task, share, iteration);
    synchronise(share);
    const int64_t first = 0;
    if (share->threads == 1) { /* queries read the carried state before their chunk is added */
        unsigned char *const slots = share->slots;
        for (share->chunk0 = first; share->chunk0 < chunks; share->chunk0++) {
            share->chunk1 = share->chunk0 + 1;
            share->slots = share->shared;
            T(linear_elu_gradients_linear_dq_queries)(call, task, share, share->chunk0);
            share->slots = slots;
            T(linear_elu_gradients_linear_dq_keys_alone)(call, task, share, share->chunk0);
            for (int64_t iteration = 0; iteration < ((16 + 31) / 32); iteration++)
                T(linear_elu_gradients_linear_dq_fold_alone)(call, task, share, iteration);
        }
    } else {
        const int64_t length = segment_length(share, chunks - first);
        for (int64_t segment = share->number; first + segment * length < chunks; segment += share->threads) {
            share->chunk0 = first + segment * length;
            share->chunk1 = min(share->chunk0 + length, chunks);
            for (int64_t iteration = share->chunk0; iteration < share->chunk1; iteration++)
                T(linear_elu_gradients_linear_dq_keys)(call, task, share, iteration);
            for (int64_t group = 0; group < 16; group++) {
                await_segment(share, group, segment);
                const int64_t end = (group + 1) * ((16 + 31) / 32) / 16;
                for (int64_t iteration = group * ((16 + 31) / 32) / 16; iteration < end; iteration++)
                    T(linear_elu_gradients_linear_dq_fold)(call, task, share, iteration);
                pass_segment(share, group, segment);
            }
            for (int64_t iteration = share->chunk0; iteration < share->chunk1; iteration++)
                T(linear_elu_gradients_linear_dq_queries)(call, task, share, iteration);
        }
        share->segments += (max(chunks - first, 0) + length - 1) / length;
    }
    synchronise(share);
}

/* Initialises the states: they contain no queries yet. */
TARGET APART void T(linear_elu_gradients_linear_dk_dv_begin)(const struct call *call, int64_t task,
    const struct share *share, int64_t iteration)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t f0 = iteration * 32, f1 = min(f0 + 32, 16);
    const int64_t g = task % kv_heads;
    const int64_t b = task / kv_heads;
    float *const carried = (float *)(void *)(share->shared + 0); /* [f: 16, e: 16] */
    float *const carried_compensation = (float *)(void *)(share->shared + 1088); /* [f: 16, e: 16] */
    float *const carried_2 = (float *)(void *)(share->shared + 1024); /* [f: 16] */
    float *const carried_2_compensation = (float *)(void *)(share->shared + 2112); /* [f: 16] */
    float *const dk = call->array[ARRAY_dk].at ? (float *)call->array[ARRAY_dk].at + b *
        call->array[ARRAY_dk].strides.batch + g * call->array[ARRAY_dk].strides.head : NULL;
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
    if (dk) {
        /* carried_2 = 0.0f; carried_2_compensation = 0.0f */
        for (int64_t f = f0; f < f1; f += LANES) {
            T(store)(carried_2 + f, T(splat)(0.0f));
            T(store)(carried_2_compensation + f, T(splat)(0.0f));
        }
    }
}

/* Sums the queries of a chunk, from zero, into its slot. */
TARGET APART void T(linear_elu_gradients_linear_dk_dv_queries)(const struct call *call, int64_t task,
    const struct share *share, int64_t iteration)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_q = call->p.n_q;
    const int64_t n_k = call->p.n_k;
    const int64_t chunks = n_k > 0 ? (n_k - 1) / 16 + 1 : 1;
    const int64_t chunk = iteration;
    const int64_t chunk0 = share->chunk0;
    const int64_t g = task % kv_heads;
    const int64_t b = task / kv_heads;
    const int64_t query_start = call->p.query_start ? call->p.query_start[b] : n_k - n_q;
    const float *const q = (const float *)call->array[ARRAY_q].at + b * call->array[ARRAY_q].strides.batch + g /
        call->sharing * members * call->array[ARRAY_q].strides.head;
    const int64_t q_row = call->array[ARRAY_q].strides.row;
    const int64_t q_head = call->array[ARRAY_q].strides.head;
    const float *const dout = (const float *)call->array[ARRAY_dout].at + b * call->array[ARRAY_dout].strides.batch + g
        * members * call->array[ARRAY_dout].strides.head;
    const int64_t dout_row = call->array[ARRAY_dout].strides.row;
    const int64_t dout_head = call->array[ARRAY_dout].strides.head;
    const float *const saved_0 = (const float *)call->array[ARRAY_saved_0].at + (b * call->p.heads + g * members) *
        call->p.n_q;
    const int64_t saved_0_head = call->p.n_q;
    const float *const row_0 = (const float *)call->array[ARRAY_row_0].at + (b * call->p.heads + g * members) *
        call->p.n_q;
    const int64_t row_0_head = call->p.n_q;
    float *const key_features_2 = (float *)(void *)(share->work + 0); /* [i: 16, e: 16] */
    float *const state = (float *)(void *)(share->slots + 0); /* [chunk, f: 16, e: 16] */
    float *const state_2 = (float *)(void *)(share->slots + 1024); /* [chunk, f: 16] */
    float *const dk = call->array[ARRAY_dk].at ? (float *)call->array[ARRAY_dk].at + b *
        call->array[ARRAY_dk].strides.batch + g * call->array[ARRAY_dk].strides.head : NULL;
    float *const q_tile = (float *)(void *)(share->work + 1024); /* [d: 16, i: 16] */
    float *const row_0_tile = (float *)(void *)(share->work + 2048); /* [i: 16] */
    /* state = 0.0f */
    for (int64_t f = 0; f < 16; f++) {
#if OF(1, 0, 0)
        for (int64_t e = 0; e < 16; e += 16) {
            T(store)(state + (chunk - chunk0) * 272 + f * 16 + e, T(splat)(0.0f));
#else
        for (int64_t e_first = 0; e_first < 16; e_first += (2 * LANES)) {
            UNROLL for (int64_t vector = 0, e = e_first; vector < 2; vector++, e += LANES) {
                T(store)(state + (chunk - chunk0) * 272 + f * 16 + e, T(splat)(0.0f));
            }
#endif
        }
    }
    if (dk) {
        /* state_2 = 0.0f */
        for (int64_t f = 0; f < 16; f += LANES) {
            T(store)(state_2 + (chunk - chunk0) * 272 + f, T(splat)(0.0f));
        }
    }
    for (int64_t m = 0; m < members; m++) {
        for (int64_t i0 = ((chunks - chunk - 1) == 0) ? 0 : max(0, ((chunks - chunk - 1) * 16) - query_start),
            i_end = min(n_q, ((chunks - chunk) * 16) - query_start); i0 < i_end; i0 += 16) {
            const int64_t i1 = min(i0 + 16, i_end);
            /* q_tile = q, with zeros beyond the last row */
            T(transpose_padded)(q + m * q_head + i0 * q_row, q_row, i1 - i0, 16, q_tile, 16, 64);
            if (dk) {
                /* row_0_tile = row_0, with zeros beyond the last row */
                for (int64_t i = 0; i < round_up(i1 - i0, LANES); i++)
                    row_0_tile[i] = i < i1 - i0 ? row_0[m * row_0_head + (i0 + i)] : 0;
            }
            /* q_tile = select(0.0f < q_tile, q_tile + 1.0f, exp(min(q_tile, 0.0f))) */
            for (int64_t d = 0; d < 16; d++) {
                for (int64_t i = 0; i < i1 - i0; i += LANES) {
                    const T(vec) q_tile_0 = T(load)(q_tile + d * 16 + i);
                    T(store)(q_tile + d * 16 + i, T(pick)(0.0f < q_tile_0, q_tile_0 + 1.0f, T(exp)(T(min)(q_tile_0,
                        T(splat)(0.0f)))));
                }
            }
            /* key_features_2 = dout * saved_0 */
            for (int64_t i = 0; i < i1 - i0; i++) {
#if OF(1, 0, 0)
                for (int64_t e = 0; e < 16; e += 16) {
                    T(store)(key_features_2 + i * 16 + e, T(load)(dout + m * dout_head + (i0 + i) * dout_row + e) *
                        (saved_0[m * saved_0_head + (i0 + i)]));
#else
                for (int64_t e_first = 0; e_first < 16; e_first += (2 * LANES)) {
                    UNROLL for (int64_t vector = 0, e = e_first; vector < 2; vector++, e += LANES) {
                        T(store)(key_features_2 + i * 16 + e, T(load)(dout + m * dout_head + (i0 + i) * dout_row + e) *
                            (saved_0[m * saved_0_head + (i0 + i)]));
                    }
#endif
                }
            }
            /* state[f][e] += sum over i of q_tile * key_features_2 */
            T(dot10)(i1 - i0, q_tile, key_features_2, state + (chunk - chunk0) * 272);
            if (dk) {
                /* state_2 += q_tile * row_0_tile */
                for (int64_t f = 0; f < 16; f++) {
                    T(vec) lane_sums = T(splat)(0);
                    for (int64_t i = 0; i < i1 - i0; i += LANES) {
                        const T(vec) row_0_tile_1 = T(load)(row_0_tile + i);
                        const T(vec) term = T(load)(q_tile + f * 16 + i) * row_0_tile_1;
                        lane_sums += i + LANES <= i1 - i0 ? term : T(pick)(__builtin_convertvector(i + T(lane) < i1 -
                            i0, T(mask)), term, T(splat)(0));
                    }
                    const float total = T(lane_sum)(lane_sums);
                    state_2[(chunk - chunk0) * 272 + f] += total;
                }
            }
        }
    }
}

/* Folds the slots of the current chunks, in order, for some elements of the states. */
TARGET APART void T(linear_elu_gradients_linear_dk_dv_fold)(const struct call *call, int64_t task,
    const struct share *share, int64_t iteration)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t f0 = iteration * 32, f1 = min(f0 + 32, 16);
    const int64_t chunk0 = share->chunk0;
    const int64_t chunk1 = share->chunk1;
    const int64_t g = task % kv_heads;
    const int64_t b = task / kv_heads;
    float *const state = (float *)(void *)(share->slots + 0); /* [chunk, f: 16, e: 16] */
    float *const state_2 = (float *)(void *)(share->slots + 1024); /* [chunk, f: 16] */
    float *const carried = (float *)(void *)(share->shared + 0); /* [f: 16, e: 16] */
    float *const carried_compensation = (float *)(void *)(share->shared + 1088); /* [f: 16, e: 16] */
    float *const carried_2 = (float *)(void *)(share->shared + 1024); /* [f: 16] */
    float *const carried_2_compensation = (float *)(void *)(share->shared + 2112); /* [f: 16] */
    float *const dk = call->array[ARRAY_dk].at ? (float *)call->array[ARRAY_dk].at + b *
        call->array[ARRAY_dk].strides.batch + g * call->array[ARRAY_dk].strides.head : NULL;
    for (int64_t chunk = chunk0; chunk < chunk1; chunk++) {
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
        if (dk) {
            /* before_2 = carried_2; carried_2 += state_2; state_2 = before_2 */
            for (int64_t f = f0; f < f1; f += LANES) {
                const T(vec) before_2_new3 = T(load)(carried_2 + f);
                T(add)(carried_2 + f, carried_2_compensation + f, T(load)(state_2 + (chunk - chunk0) * 272 + f),
                    T(splat)(1));
                T(store)(state_2 + (chunk - chunk0) * 272 + f, before_2_new3);
            }
        }
    }
}

/* Processes the keys of a chunk: reads the state after the chunk, and the queries in the chunk. */
TARGET APART void T(linear_elu_gradients_linear_dk_dv_keys)(const struct call *call, int64_t task,
    const struct share *share, int64_t iteration)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_q = call->p.n_q;
    const int64_t n_k = call->p.n_k;
    const int64_t chunks = n_k > 0 ? (n_k - 1) / 16 + 1 : 1;
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
    const float *const dout = (const float *)call->array[ARRAY_dout].at + b * call->array[ARRAY_dout].strides.batch + g
        * members * call->array[ARRAY_dout].strides.head;
    const int64_t dout_row = call->array[ARRAY_dout].strides.row;
    const int64_t dout_head = call->array[ARRAY_dout].strides.head;
    const float *const saved_0 = (const float *)call->array[ARRAY_saved_0].at + (b * call->p.heads + g * members) *
        call->p.n_q;
    const int64_t saved_0_head = call->p.n_q;
    const float *const row_0 = (const float *)call->array[ARRAY_row_0].at + (b * call->p.heads + g * members) *
        call->p.n_q;
    const int64_t row_0_head = call->p.n_q;
    float *const state = (float *)(void *)(share->slots + 0); /* [chunk, f: 16, e: 16] */
    float *const state_2 = (float *)(void *)(share->slots + 1024); /* [chunk, f: 16] */
    float *const query_features = (float *)(void *)(share->work + 0); /* [d: 16, j: 16] */
    float *const score = (float *)(void *)(share->work + 1024); /* [i: 16, j: 16] */
    float *const score_2 = (float *)(void *)(share->work + 2048); /* [i: 16, j: 16] */
    float *const sum = (float *)(void *)(share->work + 3072); /* [e: 16, j: 16] */
    float *const sum_compensation = (float *)(void *)(share->work + 4096); /* [e: 16, j: 16] */
    float *const sum_from_state = (float *)(void *)(share->work + 5120); /* [f: 16, j: 16] */
    float *const sum_from_state_2 = (float *)(void *)(share->work + 6144); /* [e: 16, j: 16] */
    float *const query = (float *)(void *)(share->work + 7168); /* [f: 16, j: 16] */
    float *const sum_2 = (float *)(void *)(share->work + 8192); /* [d: 16, j: 16] */
    float *const sum_2_compensation = (float *)(void *)(share->work + 9216); /* [d: 16, j: 16] */
    float *const dk = call->array[ARRAY_dk].at ? (float *)call->array[ARRAY_dk].at + b *
        call->array[ARRAY_dk].strides.batch + g * call->array[ARRAY_dk].strides.head : NULL;
    const int64_t dk_row = call->array[ARRAY_dk].strides.row;
    float *const dv = call->array[ARRAY_dv].at ? (float *)call->array[ARRAY_dv].at + b *
        call->array[ARRAY_dv].strides.batch + g * call->array[ARRAY_dv].strides.head : NULL;
    const int64_t dv_row = call->array[ARRAY_dv].strides.row;
    float *const k_tile = (float *)(void *)(share->work + 10240); /* [d: 16, j: 16] */
    float *const v_tile = (float *)(void *)(share->work + 11264); /* [e: 16, j: 16] */
    float *const q_tile_2 = (float *)(void *)(share->work + 12288); /* [d: 16, i: 16] */
    float *const dout_tile = (float *)(void *)(share->work + 13312); /* [e: 16, i: 16] */
    float *const saved_0_tile = (float *)(void *)(share->work + 2048); /* [i: 16] */
    for (int64_t j0 = ((chunks - chunk - 1) == 0) ? 0 : max(0, (chunks - chunk - 1) * 16), j_end = min(n_k,
        (chunks - chunk) * 16); j0 < j_end; j0 += 16) {
        const int64_t j1 = min(j0 + 16, j_end);
        /* k_tile = k, with zeros beyond the last row */
        T(transpose_padded)(k + j0 * k_row, k_row, j1 - j0, 16, k_tile, 16, 64);
        if (dk) {
            /* v_tile = v, with zeros beyond the last row */
            T(transpose_padded)(v + j0 * v_row, v_row, j1 - j0, 16, v_tile, 16, 64);
        }
        /* query_features = select(0.0f < k_tile, k_tile + 1.0f, exp(min(k_tile, 0.0f))) */
        for (int64_t d = 0; d < 16; d++) {
            for (int64_t j = 0; j < j1 - j0; j += LANES) {
                const T(vec) k_tile_4 = T(load)(k_tile + d * 16 + j);
                T(store)(query_features + d * 16 + j, T(pick)(0.0f < k_tile_4, k_tile_4 + 1.0f, T(exp)(T(min)(k_tile_4,
                    T(splat)(0.0f)))));
            }
        }
        if (dv) {
            /* sum = 0.0f; sum_compensation = 0.0f */
            for (int64_t e = 0; e < 16; e++) {
                for (int64_t j = 0; j < j1 - j0; j += LANES) {
                    T(store)(sum + e * 16 + j, T(splat)(0.0f));
                    T(store)(sum_compensation + e * 16 + j, T(splat)(0.0f));
                }
            }
        }
        if (dk) {
            /* sum_from_state[f][j] = sum over e of state * v_tile */
#if OF(1, 0, 0)
            T(dot6)(state + (chunk - chunk0) * 272, v_tile, sum_from_state);
#else
            T(dot6)(round_up(j1 - j0, LANES), state + (chunk - chunk0) * 272, v_tile, sum_from_state);
#endif
        }
        if (dv) {
            /* sum_from_state_2[e][j] = sum over f of state * query_features */
#if OF(1, 0, 0)
            T(dot1)(state + (chunk - chunk0) * 272, query_features, sum_from_state_2);
#else
            T(dot1)(round_up(j1 - j0, LANES), state + (chunk - chunk0) * 272, query_features, sum_from_state_2);
#endif
        }
        if (dk) {
            /* query = state_2 */
#if OF(1, 0, 0)
            for (int64_t j = 0; j < j1 - j0; j += 16) {
#else
            for (int64_t j_first = 0; j_first < j1 - j0; j_first += (2 * LANES)) {
#endif
                for (int64_t f = 0; f < 16; f++) {
#if OF(1, 0, 0)
                    T(store)(query + f * 16 + j, T(splat)(state_2[(chunk - chunk0) * 272 + f]));
#else
                    UNROLL for (int64_t vector = 0, j = j_first; vector < 2; vector++, j += LANES) {
                        T(store)(query + f * 16 + j, T(splat)(state_2[(chunk - chunk0) * 272 + f]));
                    }
#endif
                }
            }
            /* sum_2 = 0.0f; sum_2_compensation = 0.0f */
            for (int64_t d = 0; d < 16; d++) {
                for (int64_t j = 0; j < j1 - j0; j += LANES) {
                    T(store)(sum_2 + d * 16 + j, T(splat)(0.0f));
                    T(store)(sum_2_compensation + d * 16 + j, T(splat)(0.0f));
                }
            }
        }
        for (int64_t m = 0; m < members; m++) {
            /* the ranges of i that some query of the tile may see */
            struct attn_range i_range[] = {
                {max(j0 - query_start, -query_start), (((j1 - floor_mod(j1 - 1,
                    16) - 1) / 16) * 16) - query_start + 16},
                {j0 - query_start, (0 <= (j1 - 1)) ? (-query_start) : 0},
            };
            const int64_t i_ranges = attn_union(i_range, 2, 0, n_q);
            /* the ranges that every query of the tile sees */
            struct attn_range i_inside[] = {
                {max(j1 - query_start - 1, -query_start), (((j0 - floor_mod(j0, 16)) / 16) * 16) - query_start + 16},
                {j1 - query_start - 1, (0 <= j0) ? (-query_start) : 0},
            };
            const int64_t i_insides = attn_union(i_inside, 2, 0, n_q);
            for (int64_t piece = 0; piece < i_ranges; piece++) {
                for (int64_t i0 = i_range[piece].from, i_end = i_range[piece].to; i0 < i_end; i0 += 16) {
                    const int64_t i1 = min(i0 + 16, i_end);
                    /* q_tile_2 = q, with zeros beyond the last row */
                    T(transpose_padded)(q + m * q_head + i0 * q_row, q_row, i1 - i0, 16, q_tile_2, 16, 64);
                    /* dout_tile = dout, with zeros beyond the last row */
                    T(transpose_padded)(dout + m * dout_head + i0 * dout_row, dout_row, i1 - i0, 16, dout_tile, 16, 64);
                    /* saved_0_tile = saved_0, with zeros beyond the last row */
                    for (int64_t i = 0; i < round_up(i1 - i0, LANES); i++)
                        saved_0_tile[i] = i < i1 - i0 ? saved_0[m * saved_0_head + (i0 + i)] : 0;
                    /* q_tile_2 = select(0.0f < q_tile_2, q_tile_2 + 1.0f, exp(min(q_tile_2, 0.0f))) */
                    for (int64_t d = 0; d < 16; d++) {
                        for (int64_t i = 0; i < i1 - i0; i += LANES) {
                            const T(vec) q_tile_2_5 = T(load)(q_tile_2 + d * 16 + i);
                            T(store)(q_tile_2 + d * 16 + i, T(pick)(0.0f < q_tile_2_5, q_tile_2_5 + 1.0f,
                                T(exp)(T(min)(q_tile_2_5, T(splat)(0.0f)))));
                        }
                    }
                    if (dv) {
                        /* score[i][j] = sum over d of q_tile_2 * query_features */
#if OF(1, 0, 0)
                        T(dot2)(i1 - i0, q_tile_2, query_features, score);
#else
                        T(dot2)(round_up(j1 - j0, LANES), i1 - i0, q_tile_2, query_features, score);
#endif
                    }
                    /* dout_tile = dout_tile * saved_0_tile */
                    for (int64_t i = 0; i < i1 - i0; i += LANES) {
                        const T(vec) saved_0_tile_6 = T(load)(saved_0_tile + i);
                        for (int64_t e = 0; e < 16; e++) {
                            T(store)(dout_tile + e * 16 + i, T(load)(dout_tile + e * 16 + i) * saved_0_tile_6);
                        }
                    }
                    if (dk) {
                        /* score_2[i][j] = sum over e of dout_tile * v_tile */
#if OF(1, 0, 0)
                        T(dot2)(i1 - i0, dout_tile, v_tile, score_2);
#else
                        T(dot2)(round_up(j1 - j0, LANES), i1 - i0, dout_tile, v_tile, score_2);
#endif
                    }
                    if (!attn_covers(i_inside, i_insides, i0, i1)) { /* the tile is partly outside the mask */
                        if (dv) {
                            /* score = select((j <= (i + query_start)) && (((max(i + query_start, 0) / 16) * 16) <= j),
                               score, 0.0f) */
                            for (int64_t j = 0; j < j1 - j0; j += LANES) {
                                const T(ints) t_7 = j0 + j + T(lane);
                                for (int64_t i = 0; i < i1 - i0; i++) {
                                    const int64_t t_8 = (i0 + i) + query_start;
                                    T(store)(score + i * 16 + j, T(pick)(__builtin_convertvector((t_7 <= t_8) &
                                        (((max((i0 + i) + query_start, 0) / 16) * 16) <= t_7), T(mask)),
                                        T(load)(score + i * 16 + j), T(splat)(0.0f)));
                                }
                            }
                        }
                    }
                    if (dv) {
                        /* sum[e][j] += sum over i of dout_tile * score */
                        if (__builtin_expect((!attn_covers(i_inside, i_insides, i0, i1)) && !T(finite)(dout_tile, 16,
                            16, i1 - i0), 0)) { /* infinity and NaN affect only queries that see them */
#if OF(1, 0, 0)
                            T(dot8)(i1 - i0, dout_tile, score, sum, sum_compensation);
#else
                            T(dot8)(round_up(j1 - j0, LANES), i1 - i0, dout_tile, score, sum, sum_compensation);
#endif
                            for (int64_t i = 0; i < i1 - i0; i++) {
                                T(mask) in_region[OF(1, 2, 4)] = {0};
                                if (T(finite)(dout_tile + i * 1, 16, 16, 1)) continue;
                                const int64_t t_10 = (i0 + i) + query_start;
                                const int64_t t_11 = (max((i0 + i) + query_start, 0) / 16) * 16;
                                for (int64_t j = 0; j < j1 - j0; j += LANES) {
                                    const T(ints) t_9 = j0 + j + T(lane);
                                    in_region[j / LANES] = __builtin_convertvector((t_9 <= t_10) & (t_11 <= t_9),
                                        T(mask));
                                }
                                T(add_seen)(16, sum, 16, dout_tile + i * 1, 16, score + i * 16, in_region, j1 - j0);
                            }
                        } else
#if OF(1, 0, 0)
                            T(dot9)(i1 - i0, dout_tile, score, sum, sum_compensation);
#else
                            T(dot9)(round_up(j1 - j0, LANES), i1 - i0, dout_tile, score, sum, sum_compensation);
#endif
                    }
                    if (dk) {
                        /* score_2 = score_2 + row_0 */
#if OF(1, 0, 0)
                        for (int64_t j = 0; j < j1 - j0; j += 16) {
#else
                        for (int64_t j_first = 0; j_first < j1 - j0; j_first += (2 * LANES)) {
#endif
                            for (int64_t i = 0; i < i1 - i0; i++) {
#if OF(1, 0, 0)
                                T(store)(score_2 + i * 16 + j, T(load)(score_2 + i * 16 + j) + (row_0[m * row_0_head +
                                    (i0 + i)]));
#else
                                UNROLL for (int64_t vector = 0, j = j_first; vector < 2; vector++, j += LANES) {
                                    T(store)(score_2 + i * 16 + j, T(load)(score_2 + i * 16 + j) + (row_0[m * row_0_head
                                        + (i0 + i)]));
                                }
#endif
                            }
                        }
                    }
                    if (!attn_covers(i_inside, i_insides, i0, i1)) { /* the tile is partly outside the mask */
                        if (dk) {
                            /* score_2 = select((j <= (i + query_start)) && (((max(i + query_start,
                               0) / 16) * 16) <= j), score_2, 0.0f) */
                            for (int64_t j = 0; j < j1 - j0; j += LANES) {
                                const T(ints) t_12 = j0 + j + T(lane);
                                for (int64_t i = 0; i < i1 - i0; i++) {
                                    const int64_t t_13 = (i0 + i) + query_start;
                                    T(store)(score_2 + i * 16 + j, T(pick)(__builtin_convertvector((t_12 <= t_13) &
                                        (((max((i0 + i) + query_start, 0) / 16) * 16) <= t_12), T(mask)),
                                        T(load)(score_2 + i * 16 + j), T(splat)(0.0f)));
                                }
                            }
                        }
                    }
                    if (dk) {
                        /* sum_2[d][j] += sum over i of q_tile_2 * score_2 */
                        if (__builtin_expect((!attn_covers(i_inside, i_insides, i0, i1)) && !T(finite)(q_tile_2, 16, 16,
                            i1 - i0), 0)) { /* infinity and NaN affect only queries that see them */
#if OF(1, 0, 0)
                            T(dot8)(i1 - i0, q_tile_2, score_2, sum_2, sum_2_compensation);
#else
                            T(dot8)(round_up(j1 - j0, LANES), i1 - i0, q_tile_2, score_2, sum_2, sum_2_compensation);
#endif
                            for (int64_t i = 0; i < i1 - i0; i++) {
                                T(mask) in_region[OF(1, 2, 4)] = {0};
                                if (T(finite)(q_tile_2 + i * 1, 16, 16, 1)) continue;
                                const int64_t t_15 = (i0 + i) + query_start;
                                const int64_t t_16 = (max((i0 + i) + query_start, 0) / 16) * 16;
                                for (int64_t j = 0; j < j1 - j0; j += LANES) {
                                    const T(ints) t_14 = j0 + j + T(lane);
                                    in_region[j / LANES] = __builtin_convertvector((t_14 <= t_15) & (t_16 <= t_14),
                                        T(mask));
                                }
                                T(add_seen)(16, sum_2, 16, q_tile_2 + i * 1, 16, score_2 + i * 16, in_region, j1 - j0);
                            }
                        } else
#if OF(1, 0, 0)
                            T(dot9)(i1 - i0, q_tile_2, score_2, sum_2, sum_2_compensation);
#else
                            T(dot9)(round_up(j1 - j0, LANES), i1 - i0, q_tile_2, score_2, sum_2, sum_2_compensation);
#endif
                    }
                }
            }
        }
        if (dk) {
            /* sum_2 = ((sum_from_state + query) + sum_2) * select(0.0f < k_tile, 1.0f, query_features) */
            for (int64_t d = 0; d < 16; d++) {
                for (int64_t j = 0; j < j1 - j0; j += LANES) {
                    T(store)(sum_2 + d * 16 + j, ((T(load)(sum_from_state + d * 16 + j) + T(load)(query + d * 16 + j)) +
                        T(load)(sum_2 + d * 16 + j)) * T(pick)(0.0f < T(load)(k_tile + d * 16 + j), T(splat)(1.0f),
                        T(load)(query_features + d * 16 + j)));
                }
            }
        }
        if (dv) {
            /* sum = sum + sum_from_state_2 */
            for (int64_t e = 0; e < 16; e++) {
                for (int64_t j = 0; j < j1 - j0; j += LANES) {
                    T(store)(sum + e * 16 + j, T(load)(sum + e * 16 + j) + T(load)(sum_from_state_2 + e * 16 + j));
                }
            }
        }
        if (dk) {
            /* dk = sum_2, transposed back */
            T(transpose_out)(sum_2, 16, 16, j1 - j0, dk + j0 * dk_row, dk_row, 64);
        }
        if (dv) {
            /* dv = sum, transposed back */
            T(transpose_out)(sum, 16, 16, j1 - j0, dv + j0 * dv_row, dv_row, 64);
        }
    }
}

/* Computes head number `task`. Each thread on the head calls this with `share`. */
TARGET static void T(linear_elu_gradients_linear_dk_dv)(const struct call *call, int64_t task, struct share *share)
{
    const int64_t n_k = call->p.n_k;
    const int64_t chunks = n_k > 0 ? (n_k - 1) / 16 + 1 : 1;
    for (int64_t iteration = share->number; iteration < ((16 + 31) / 32); iteration += share->threads)
        T(linear_elu_gradients_linear_dk_dv_begin)(call, task, share, iteration);
    synchronise(share);
    const int64_t first = 0;
    const int64_t length = segment_length(share, chunks - first);
    for (int64_t segment = share->number; first + segment * length < chunks; segment += share->threads) {
        share->chunk0 = first + segment * length;
        share->chunk1 = min(share->chunk0 + length, chunks);
        for (int64_t iteration = share->chunk0; iteration < share->chunk1; iteration++)
            T(linear_elu_gradients_linear_dk_dv_queries)(call, task, share, iteration);
        for (int64_t group = 0; group < 16; group++) {
            await_segment(share, group, segment);
            const int64_t end = (group + 1) * ((16 + 31) / 32) / 16;
            for (int64_t iteration = group * ((16 + 31) / 32) / 16; iteration < end; iteration++)
                T(linear_elu_gradients_linear_dk_dv_fold)(call, task, share, iteration);
            pass_segment(share, group, segment);
        }
        for (int64_t iteration = share->chunk0; iteration < share->chunk1; iteration++)
            T(linear_elu_gradients_linear_dk_dv_keys)(call, task, share, iteration);
    }
    share->segments += (max(chunks - first, 0) + length - 1) / length;
    synchronise(share);
}
#include <attnrt/kernel/end.h>
#else
#ifdef __cplusplus
#error "linear_elu_gradients.c is C, not C++: compile it with a C compiler"
#elif !defined __STDC_VERSION__ || __STDC_VERSION__ < 199901L
#error "linear_elu_gradients.c is C11, not C89: compile it without -std=, or with -std=gnu11"
extern int linear_elu_gradients_is_c11;
#elif !defined __GNUC__
#error "linear_elu_gradients.c uses GNU C vector extensions: compile it with gcc or clang"
extern int linear_elu_gradients_is_gnu_c;
#else
#include "linear_elu_gradients.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include <attnrt/kernel/optimize.h>
#include <attnrt/kernel/call.h>

/* the numbers of the arrays of a call */
enum {
    ARRAY_q, ARRAY_k, ARRAY_v, ARRAY_out, ARRAY_dout, ARRAY_dq, ARRAY_dk, ARRAY_dv, ARRAY_saved_0, ARRAY_row_0
};

#ifdef __FILE_NAME__
#define LOOPS __FILE_NAME__ /* this file, whose first part has the loops */
#else
#define LOOPS "linear_elu_gradients.c"
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
    {.name = "row_0", .origin = FROM_ROW_SUMS},
};

#if defined(__x86_64__)
static int runs_v4(void)
{
    return attn_x86_64_level() >= 4;
}
static const struct program programs_v4[] = {
    {.role = RUN_FORWARD,
     .head = linear_elu_gradients_linear_v4, .tile = 0, .own = 6336, .of_token = 272, .in_keys = 1, .saves = 1,
         .shared = 2176, .slot = 1088, .slots = 4, .together = 1},
    {.role = RUN_BACKWARD, .part = 3,
     .head = linear_elu_gradients_linear_dk_dv_v4, .tile = 0, .own = 14336, .of_token = 272, .in_keys = 1,
         .wanted = (const uint16_t[]){ARRAY_dk, ARRAY_dv, NO_ARRAY}, .shared = 2176, .slot = 1088, .slots = 4,
         .together = 1},
    {.role = RUN_BACKWARD, .part = 2,
     .head = linear_elu_gradients_linear_dq_v4, .tile = 0, .own = 8256, .of_token = 272, .in_keys = 1,
         .wanted = (const uint16_t[]){ARRAY_dq, NO_ARRAY}, .shared = 2176, .slot = 1088, .slots = 4, .together = 1},
    {.role = RUN_BACKWARD, .part = 1,
     .rows = linear_elu_gradients_linear_row_sums_v4, .tile = 16, .own = 2176, .of_token = 272},
    {.role = RUN_BACKWARD, .saved_again = 1,
     .head = linear_elu_gradients_linear_saved_v4, .tile = 0, .own = 3264, .of_token = 272, .in_keys = 1, .shared = 128,
         .slot = 64, .slots = 4, .together = 1},
};
#endif
#if defined(__x86_64__)
static int runs_v3(void)
{
    return attn_x86_64_level() >= 3;
}
static const struct program programs_v3[] = {
    {.role = RUN_FORWARD,
     .head = linear_elu_gradients_linear_v3, .tile = 0, .own = 6336, .of_token = 272, .in_keys = 1, .saves = 1,
         .shared = 2176, .slot = 1088, .slots = 4, .together = 1},
    {.role = RUN_BACKWARD, .part = 3,
     .head = linear_elu_gradients_linear_dk_dv_v3, .tile = 0, .own = 14336, .of_token = 272, .in_keys = 1,
         .wanted = (const uint16_t[]){ARRAY_dk, ARRAY_dv, NO_ARRAY}, .shared = 2176, .slot = 1088, .slots = 4,
         .together = 1},
    {.role = RUN_BACKWARD, .part = 2,
     .head = linear_elu_gradients_linear_dq_v3, .tile = 0, .own = 8256, .of_token = 272, .in_keys = 1,
         .wanted = (const uint16_t[]){ARRAY_dq, NO_ARRAY}, .shared = 2176, .slot = 1088, .slots = 4, .together = 1},
    {.role = RUN_BACKWARD, .part = 1,
     .rows = linear_elu_gradients_linear_row_sums_v3, .tile = 16, .own = 2176, .of_token = 272},
    {.role = RUN_BACKWARD, .saved_again = 1,
     .head = linear_elu_gradients_linear_saved_v3, .tile = 0, .own = 3264, .of_token = 272, .in_keys = 1, .shared = 128,
         .slot = 64, .slots = 4, .together = 1},
};
#endif
static const struct program programs_any[] = {
    {.role = RUN_FORWARD,
     .head = linear_elu_gradients_linear_any, .tile = 0, .own = 6336, .of_token = 272, .in_keys = 1, .saves = 1,
         .shared = 2176, .slot = 1088, .slots = 4, .together = 1},
    {.role = RUN_BACKWARD, .part = 3,
     .head = linear_elu_gradients_linear_dk_dv_any, .tile = 0, .own = 14336, .of_token = 272, .in_keys = 1,
         .wanted = (const uint16_t[]){ARRAY_dk, ARRAY_dv, NO_ARRAY}, .shared = 2176, .slot = 1088, .slots = 4,
         .together = 1},
    {.role = RUN_BACKWARD, .part = 2,
     .head = linear_elu_gradients_linear_dq_any, .tile = 0, .own = 8256, .of_token = 272, .in_keys = 1,
         .wanted = (const uint16_t[]){ARRAY_dq, NO_ARRAY}, .shared = 2176, .slot = 1088, .slots = 4, .together = 1},
    {.role = RUN_BACKWARD, .part = 1,
     .rows = linear_elu_gradients_linear_row_sums_any, .tile = 16, .own = 2176, .of_token = 272},
    {.role = RUN_BACKWARD, .saved_again = 1,
     .head = linear_elu_gradients_linear_saved_any, .tile = 0, .own = 3264, .of_token = 272, .in_keys = 1,
         .shared = 128, .slot = 64, .slots = 4, .together = 1},
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
    .layout = KERNEL_LAYOUT, .name = "linear_elu_gradients", .openmp = OPENMP,
    .target = target, .targets = sizeof target / sizeof *target - 1,
    .array = array, .arrays = sizeof array / sizeof *array,
    .params_bytes = sizeof(struct linear_elu_gradients_params),
    .dtype = ATTN_F32, .key_dtype = ATTN_F32, .value_dtype = ATTN_F32, .real = sizeof(float), .element = sizeof(float),
    .head_dim = 16, .value_dim = 16, .key_row = 16, .value_row = 16,
    .shares = 1,
    .positions = 1,
    .ids = -1,
    .corrected = -1,
    .solution = -1,
    .gradients_bytes = sizeof(struct linear_elu_gradients_gradients),
    .parts = 4,
    .saved = 1,
    .row_sums = 1,
    .shared_gradient = {ARRAY_dq, ARRAY_dk},
};

/* ==== the interface ==== */
size_t linear_elu_gradients_params_size(void) { return attn_call_params_size(&kernel); }
int linear_elu_gradients_params_init(struct linear_elu_gradients_params *params, uint64_t seed, void *storage)
{
    return attn_call_params_init(&kernel, params, seed, storage);
}
size_t linear_elu_gradients_workspace(const struct attn_problem *problem)
{
    return attn_call_workspace(&kernel, problem);
}
size_t linear_elu_gradients_saved(const struct attn_problem *problem) { return attn_call_saved(&kernel, problem); }
size_t linear_elu_gradients_backward_workspace(const struct attn_problem *problem)
{
    return attn_call_backward_workspace(&kernel, problem);
}
int linear_elu_gradients_forward(const struct attn_problem *problem, const struct linear_elu_gradients_params *params,
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
int linear_elu_gradients_backward(const struct attn_problem *problem, const struct linear_elu_gradients_params *params,
    const float *q, const float *k, const float *v, const float *out, const float *dout,
    float *dq, float *dk, float *dv, struct linear_elu_gradients_gradients *gradients, void *workspace)
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
const struct attn_kernel linear_elu_gradients_kernel = {
    .name = "linear_elu_gradients", .version = "0.2.0", .dtype = ATTN_F32, .head_dim = 16, .value_dim = 16,
    .params = 0, .param = NULL, .params_bytes = sizeof(struct linear_elu_gradients_params),
    .params_size = linear_elu_gradients_params_size, .params_init = params_init_any, .forward = forward_any,
    .workspace = linear_elu_gradients_workspace,
    .saved = linear_elu_gradients_saved,
    .backward_workspace = linear_elu_gradients_backward_workspace,
    .backward = backward_any,
    .key_dtype = ATTN_F32, .value_dtype = ATTN_F32,
    .before = INT64_MAX, .after = 0, .period = 1, .names_heads = 0, .names_sequences = 0, .in_parts = 0,
    .saved_power = 0, .has_sink = 0, .open_keys = 0, .end_of_keys = INT64_MAX,
};
#endif /* a compiler of this language */
#endif /* SECTION */
