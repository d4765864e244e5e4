/* aft.c, made by attnc 0.2.0: attnc aft.yaml
   C11 with GNU extensions, for a C compiler; C++ includes aft.h.
   AFT-simple: running means of the values, weighted by an exponential of a number of each key and head,
   times a gate of the query
   Zhai et al., An Attention Free Transformer (arXiv 2021), section 3.2;
   a head of one channel has the weights of the paper

   Computes, in f32, over the axes b (batch), g (key/value head), m (query head of g), i (query), j (key), d (64),
   e (64):
     q [b g m i d]
     k [b g j d]
     v [b g j e]
     key [b g m j], learned parameter
     x4 [b g m i j] = exp(key)
     x5 [b g m i] = sum over j of x4 if j <= i + query_start
     x6 [b g m i e] = sum over j of x4 * v if j <= i + query_start
     x7 [b g m i e] = x5 == 0 ? 0 : x6 / x5
     gate [b g m i e], learned parameter
     x9 [b g m i e] = sigmoid(gate) * x7
     out = x9
   query_start is the position of the first query: problem.query_start[b], or n_k - n_q if that is NULL.

   How: each vector lane holds one query. Keys are processed in tiles,
   so row sums and maxima need no reduction across lanes.
   The sums of a tile start from zero and are added to the sums so far. Tiles that no query sees are skipped.
   Linear from 116 keys on: the weight is an inner product of 1 feature. The state is a sum over keys of 1 x 65 numbers.
     x86-64-v4  quadratic tiles of 64 queries and 288 keys; 154624 bytes of workspace per thread
     x86-64-v4  linear    tiles of 16 queries and 16 keys; 20032 bytes of workspace per thread
     x86-64-v3  quadratic tiles of 64 queries and 288 keys; 154624 bytes of workspace per thread
     x86-64-v3  linear    tiles of 16 queries and 16 keys; 20032 bytes of workspace per thread
     generic    quadratic tiles of 64 queries and 288 keys; 154624 bytes of workspace per thread
     generic    linear    tiles of 16 queries and 16 keys; 20032 bytes of workspace per thread

   Contents:
     loops      aft_rows, aft_linear
     targets    x86-64-v4, x86-64-v3, generic
     tables     arrays and programs, for the functions of attnrt that call the loops
     interface  aft_workspace, aft_forward, aft_kernel
   The file includes itself, so that the loops are compiled once for each target. T(name) is a name with the target's
   suffix, LANES the elements of its vectors, and OF(…) a number for each target.

   Compile with: cc -O2 -fopenmp aft.c … -lattnrt -lm */
#ifdef SECTION
#include <attnrt/kernel/vector.h>
#include <attnrt/kernel/elementary.h>
#include <attnrt/kernel/product.h>

/* The functions for the products below. Each calls dot or a similar function with constants. */
TARGET APART void T(dot0)(int64_t lanes, int64_t steps, const float *a, int64_t a_step, const float *b, float *c,
    const float *factor, float *compensation)
{
    T(dot_finite)(/*vectors=*/OF(4, 2, 2), lanes, /*rows=*/64, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/1, a_step,
        b, /*b_step=*/80, c, /*c_row=*/80, /*update=*/3, factor, compensation);
}
TARGET APART void T(dot1)(int64_t lanes, int64_t steps, const float *a, int64_t a_step, const float *b, float *c,
    const float *factor, float *compensation)
{
    T(dot)(/*vectors=*/OF(4, 2, 2), lanes, /*rows=*/64, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/1, a_step, b,
        /*b_step=*/80, c, /*c_row=*/80, /*update=*/3, factor, compensation);
}
TARGET APART void T(dot2)(int64_t steps, const float *a, const float *b, int64_t b_step, float *c)
{
    T(dot)(/*vectors=*/OF(4, 2, 2), /*lanes=*/64, /*rows=*/1, /*tail=*/1, steps, /*span=*/192, a, /*a_row=*/16,
        /*a_step=*/1, b, b_step, c, /*c_row=*/64, /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL);
}
#if OF(1, 0, 0)
TARGET APART void T(dot3)(const float *a, const float *b, float *c)
#else
TARGET APART void T(dot3)(int64_t lanes, const float *a, const float *b, float *c)
#endif
{
#if OF(1, 0, 0)
    T(dot)(/*vectors=*/1, /*lanes=*/16, /*rows=*/64, /*tail=*/4, /*steps=*/1, /*span=*/32, a, /*a_row=*/1,
        /*a_step=*/64, b, /*b_step=*/16, c, /*c_row=*/16, /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL);
#else
    T(dot)(/*vectors=*/2, lanes, /*rows=*/64, /*tail=*/4, /*steps=*/1, /*span=*/32, a, /*a_row=*/1, /*a_step=*/64, b,
        /*b_step=*/16, c, /*c_row=*/16, /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL);
#endif
}
#if OF(1, 0, 0)
TARGET APART void T(dot4)(int64_t steps, const float *a, int64_t a_step, const float *b, float *c, const float *factor,
    float *compensation)
#else
TARGET APART void T(dot4)(int64_t lanes, int64_t steps, const float *a, int64_t a_step, const float *b, float *c,
    const float *factor, float *compensation)
#endif
{
#if OF(1, 0, 0)
    T(dot_finite)(/*vectors=*/1, /*lanes=*/16, /*rows=*/64, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/1, a_step, b,
        /*b_step=*/16, c, /*c_row=*/16, /*update=*/3, factor, compensation);
#else
    T(dot_finite)(/*vectors=*/2, lanes, /*rows=*/64, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/1, a_step, b,
        /*b_step=*/16, c, /*c_row=*/16, /*update=*/3, factor, compensation);
#endif
}
#if OF(1, 0, 0)
TARGET APART void T(dot5)(int64_t steps, const float *a, int64_t a_step, const float *b, float *c, const float *factor,
    float *compensation)
#else
TARGET APART void T(dot5)(int64_t lanes, int64_t steps, const float *a, int64_t a_step, const float *b, float *c,
    const float *factor, float *compensation)
#endif
{
#if OF(1, 0, 0)
    T(dot)(/*vectors=*/1, /*lanes=*/16, /*rows=*/64, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/1, a_step, b,
        /*b_step=*/16, c, /*c_row=*/16, /*update=*/3, factor, compensation);
#else
    T(dot)(/*vectors=*/2, lanes, /*rows=*/64, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/1, a_step, b, /*b_step=*/16,
        c, /*c_row=*/16, /*update=*/3, factor, compensation);
#endif
}

/* Computes task number `task`: one tile of queries of one head. `work` is this thread's workspace. */
TARGET static void T(aft_rows)(const struct call *call, int64_t task, unsigned char *work)
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
    const float *const v = (const float *)call->array[ARRAY_v].at + b * call->array[ARRAY_v].strides.batch + g *
        call->array[ARRAY_v].strides.head;
    const int64_t v_row = call->array[ARRAY_v].strides.row;
    const float *const key_array = (const float *)call->array[ARRAY_key_array].at + b *
        call->array[ARRAY_key_array].strides.batch + (g * members + m) * call->array[ARRAY_key_array].strides.head;
    const int64_t key_array_row = call->array[ARRAY_key_array].strides.row;
    const float *const gate_array = (const float *)call->array[ARRAY_gate_array].at + b *
        call->array[ARRAY_gate_array].strides.batch + (g * members + m) * call->array[ARRAY_gate_array].strides.head;
    const int64_t gate_array_row = call->array[ARRAY_gate_array].strides.row;
    const int64_t gate_array_stride_3 = call->array[ARRAY_gate_array].stride[3];
    float *const weight = (float *)(void *)(work + 0); /* [j: 288, i: 64 of 80] */
    float *const row_max = (float *)(void *)(work + 92160); /* [i: 64] */
    float *const old_max = (float *)(void *)(work + 92416); /* [i: 64] */
    float *const row_sum = (float *)(void *)(work + 92672); /* [i: 64] */
    float *const row_sum_compensation = (float *)(void *)(work + 92928); /* [i: 64] */
    float *const sum = (float *)(void *)(work + 93184); /* [e: 64, i: 64 of 80] */
    float *const sum_compensation = (float *)(void *)(work + 113664); /* [e: 64, i: 64 of 80] */
    float *const out = (float *)call->array[ARRAY_out].at + b * call->array[ARRAY_out].strides.batch + (g * members + m)
        * call->array[ARRAY_out].strides.head;
    const int64_t out_row = call->array[ARRAY_out].strides.row;
    float *const gate_tile = (float *)(void *)(work + 134144); /* [e: 64, i: 64 of 80] */
    if (gate_array_stride_3 == 1) {
        /* gate_tile = gate_array, with zeros beyond the last row */
        T(transpose_padded)(gate_array + i0 * gate_array_row, gate_array_row, i1 - i0, 64, gate_tile, 80, LANES);
    } else {
        /* gate_tile = gate_array, with zeros beyond the last row */
        for (int64_t i = 0; i < round_up(i1 - i0, LANES); i++)
            for (int64_t e = 0; e < 64; e++)
                gate_tile[e * 80 + i] = i < i1 - i0 ? gate_array[(i0 + i) * gate_array_row + e * gate_array_stride_3] :
                    0;
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
            T(store)(sum + e * 80 + i, T(splat)(0.0f));
            T(store)(sum_compensation + e * 80 + i, T(splat)(0.0f));
        }
    }
    for (int64_t j0 = 0, j_end = min(n_k, i1 + query_start); j0 < j_end; j0 += 288) {
        const int64_t j1 = min(j0 + 288, j_end);
        /* old_max = row_max */
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            T(store)(old_max + i, T(load)(row_max + i));
        }
        if ((i0 + query_start + 1) < j1) { /* the tile is partly outside the mask */
            /* weight = select(j <= (i + query_start), key * 1.442695f, -INFINITY); row_max max= weight */
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                const T(ints) t_0 = (i0 + i + T(lane)) + query_start;
                T(vec) row_max_in = T(load)(row_max + i);
                for (int64_t j = 0; j < j1 - j0; j++) {
                    const T(vec) weight_new1 = T(pick)(__builtin_convertvector((j0 + j) <= t_0, T(mask)),
                        T(splat)((key_array[(j0 + j) * key_array_row]) * 1.442695f), T(splat)(-INFINITY));
                    T(store)(weight + j * 80 + i, weight_new1);
                    row_max_in = T(max)(row_max_in, weight_new1);
                }
                T(store)(row_max + i, row_max_in);
            }
        }
        if (!((i0 + query_start + 1) < j1)) { /* the tile is wholly inside the mask */
            /* weight = key * 1.442695f; row_max max= weight */
            for (int64_t i_first = 0; i_first < i1 - i0; i_first += OF(64, 16, 8)) {
                T(vec) row_max_in[OF(4, 2, 2)];
                UNROLL for (int64_t vector = 0, i = i_first; vector < OF(4, 2, 2); vector++, i += LANES) {
                    row_max_in[vector] = T(load)(row_max + i);
                }
                for (int64_t j = 0; j < j1 - j0; j++) {
                    UNROLL for (int64_t vector = 0, i = i_first; vector < OF(4, 2, 2); vector++, i += LANES) {
                        const T(vec) weight_new2 = T(splat)((key_array[(j0 + j) * key_array_row]) * 1.442695f);
                        T(store)(weight + j * 80 + i, weight_new2);
                        row_max_in[vector] = T(max)(row_max_in[vector], weight_new2);
                    }
                }
                UNROLL for (int64_t vector = 0, i = i_first; vector < OF(4, 2, 2); vector++, i += LANES) {
                    T(store)(row_max + i, row_max_in[vector]);
                }
            }
        }
        /* old_max = exp2(old_max - row_max); row_sum = row_sum * old_max;
           row_sum_compensation = row_sum_compensation * old_max */
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            const T(vec) old_max_3 = T(load)(old_max + i);
            const T(vec) old_max_new4 = T(exp2)(old_max_3 - T(load)(row_max + i));
            T(store)(old_max + i, old_max_new4);
            T(store)(row_sum + i, T(load)(row_sum + i) * old_max_new4);
            T(store)(row_sum_compensation + i, T(load)(row_sum_compensation + i) * old_max_new4);
        }
        /* weight = exp2(weight - row_max); row_sum += weight */
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            const T(vec) row_max_6 = T(load)(row_max + i);
            T(vec) row_sum_in = (T(vec)){0};
            for (int64_t j = 0; j < j1 - j0; j++) {
                const T(vec) weight_5 = T(load)(weight + j * 80 + i);
                const T(vec) weight_new7 = T(exp2)(weight_5 - row_max_6);
                T(store)(weight + j * 80 + i, weight_new7);
                row_sum_in += weight_new7;
            }
            T(add)(row_sum + i, row_sum_compensation + i, row_sum_in, T(splat)(1));
        }
        /* sum[e][i] = sum * old_max + sum over j of v * weight */
        if (__builtin_expect(((i0 + query_start + 1) < j1) && !T(finite)(v + j0 * v_row, v_row, j1 - j0, 64),
            0)) { /* infinity and NaN affect only queries that see them */
            T(dot0)(round_up(i1 - i0, LANES), j1 - j0, v + j0 * v_row, v_row, weight, sum, old_max, sum_compensation);
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
            T(dot1)(round_up(i1 - i0, LANES), j1 - j0, v + j0 * v_row, v_row, weight, sum, old_max, sum_compensation);
    }
    /* sum = sigmoid(gate_tile) * select(row_sum == 0.0f, 0.0f, sum * (1.0f / row_sum)) */
    for (int64_t i = 0; i < i1 - i0; i += LANES) {
        const T(vec) row_sum_8 = T(load)(row_sum + i);
        const T(mask) t_9 = row_sum_8 == 0.0f;
        const T(vec) t_10 = 1.0f / row_sum_8;
        for (int64_t e = 0; e < 64; e++) {
            T(store)(sum + e * 80 + i, T(sigmoid)(T(load)(gate_tile + e * 80 + i)) * T(pick)(t_9, T(splat)(0.0f),
                T(load)(sum + e * 80 + i) * t_10));
        }
    }
    /* out = sum, transposed back */
    T(transpose_out)(sum, 80, 64, i1 - i0, out + i0 * out_row, out_row, LANES);
}

/* Initialises the states: they contain no keys yet. */
TARGET APART void T(aft_begin)(const struct call *call, int64_t task, const struct share *share, int64_t iteration)
{
    (void)call;
    (void)task;
    const int64_t f0 = iteration * 32, f1 = min(f0 + 32, 1);
    float *const carried_max = (float *)(void *)(share->shared + 0); /* [f: LANES] */
    float *const carried_sum = (float *)(void *)(share->shared + 64); /* [f: LANES] */
    float *const carried_sum_compensation = (float *)(void *)(share->shared + 384); /* [f: LANES] */
    float *const carried = (float *)(void *)(share->shared + 128); /* [f: 1, e: 64] */
    float *const carried_compensation = (float *)(void *)(share->shared + 448); /* [f: 1, e: 64] */
    /* carried_max = -FLT_MAX; carried_sum = 0.0f; carried_sum_compensation = 0.0f */
    for (int64_t f = f0; f < f1; f += LANES) {
        T(store)(carried_max + f, T(splat)(-FLT_MAX));
        T(store)(carried_sum + f, T(splat)(0.0f));
        T(store)(carried_sum_compensation + f, T(splat)(0.0f));
    }
    /* carried = 0.0f; carried_compensation = 0.0f */
    for (int64_t f = f0; f < f1; f++) {
        for (int64_t e_first = 0; e_first < 64; e_first += OF(64, 16, 8)) {
            UNROLL for (int64_t vector = 0, e = e_first; vector < OF(4, 2, 2); vector++, e += LANES) {
                T(store)(carried + f * 64 + e, T(splat)(0.0f));
                T(store)(carried_compensation + f * 64 + e, T(splat)(0.0f));
            }
        }
    }
}

/* Sums the keys of a chunk, from zero, into its slot. */
TARGET APART void T(aft_keys)(const struct call *call, int64_t task, const struct share *share, int64_t iteration)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_k = call->p.n_k;
    const int64_t chunk = iteration;
    const int64_t chunk0 = share->chunk0;
    const int64_t m = task % members;
    const int64_t g = task / members % kv_heads;
    const int64_t b = task / members / kv_heads;
    const float *const v = (const float *)call->array[ARRAY_v].at + b * call->array[ARRAY_v].strides.batch + g *
        call->array[ARRAY_v].strides.head;
    const int64_t v_row = call->array[ARRAY_v].strides.row;
    const float *const key_array = (const float *)call->array[ARRAY_key_array].at + b *
        call->array[ARRAY_key_array].strides.batch + (g * members + m) * call->array[ARRAY_key_array].strides.head;
    const int64_t key_array_row = call->array[ARRAY_key_array].strides.row;
    float *const key_features = (float *)(void *)(share->work + 0); /* [f: 1, j: 16] */
    float *const state_max = (float *)(void *)(share->slots + 0); /* [chunk, f: LANES] */
    float *const state_sum = (float *)(void *)(share->slots + 64); /* [chunk, f: LANES] */
    float *const state = (float *)(void *)(share->slots + 128); /* [chunk, f: 1, e: 64] */
    float *const key_tile = (float *)(void *)(share->work + 64); /* [j: 16] */
    /* state_max = -FLT_MAX; state_sum = 0.0f */
    for (int64_t f = 0; f < 1; f += LANES) {
        T(store)(state_max + (chunk - chunk0) * 96 + f, T(splat)(-FLT_MAX));
        T(store)(state_sum + (chunk - chunk0) * 96 + f, T(splat)(0.0f));
    }
    for (int64_t j0 = chunk * 16, j_end = min(n_k, (chunk + 1) * 16); j0 < j_end; j0 += 16) {
        const int64_t j1 = min(j0 + 16, j_end);
        if (key_array_row == 1) {
            /* key_tile = key_array, with zeros beyond the last row */
            for (int64_t j = 0; j < round_up(j1 - j0, LANES); j++)
                key_tile[j] = j < j1 - j0 ? key_array[(j0 + j)] : 0;
        } else {
            /* key_tile = key_array, with zeros beyond the last row */
            for (int64_t j = 0; j < round_up(j1 - j0, LANES); j++)
                key_tile[j] = j < j1 - j0 ? key_array[(j0 + j) * key_array_row] : 0;
        }
        /* key_features = key_tile * 1.442695f */
        for (int64_t j = 0; j < j1 - j0; j += LANES) {
            const T(vec) t_0 = T(load)(key_tile + j) * 1.442695f;
            for (int64_t f = 0; f < 1; f++) {
                T(store)(key_features + f * 16 + j, t_0);
            }
        }
        /* state_max max= key_features */
        for (int64_t f = 0; f < 1; f++) {
            T(vec) lanes_max = T(splat)(-INFINITY);
            for (int64_t j = 0; j < j1 - j0; j += LANES) {
                const T(vec) term = T(load)(key_features + f * 16 + j);
                lanes_max = T(max)(lanes_max, j + LANES <= j1 - j0 ? term : T(pick)(__builtin_convertvector(j + T(lane)
                    < j1 - j0, T(mask)), term, T(splat)(-INFINITY)));
            }
            const float largest = T(lane_max)(lanes_max);
            if (largest > state_max[(chunk - chunk0) * 96 + f]) state_max[(chunk - chunk0) * 96 + f] = largest;
        }
        /* key_features = exp2(key_features - state_max) */
        for (int64_t j = 0; j < j1 - j0; j += LANES) {
            for (int64_t f = 0; f < 1; f++) {
                T(store)(key_features + f * 16 + j, T(exp2)(T(load)(key_features + f * 16 + j) - (state_max[(chunk -
                    chunk0) * 96 + f])));
            }
        }
        /* state_sum += key_features */
        for (int64_t f = 0; f < 1; f++) {
            T(vec) lane_sums = T(splat)(0);
            for (int64_t j = 0; j < j1 - j0; j += LANES) {
                const T(vec) term = T(load)(key_features + f * 16 + j);
                lane_sums += j + LANES <= j1 - j0 ? term : T(pick)(__builtin_convertvector(j + T(lane) < j1 - j0,
                    T(mask)), term, T(splat)(0));
            }
            const float total = T(lane_sum)(lane_sums);
            state_sum[(chunk - chunk0) * 96 + f] += total;
        }
        /* state[f][e] = sum over j of key_features * v */
        T(dot2)(j1 - j0, key_features, v + j0 * v_row, v_row, state + (chunk - chunk0) * 96);
    }
}

/* Folds the slots of the current chunks, in order, for some elements of the states. */
TARGET APART void T(aft_fold)(const struct call *call, int64_t task, const struct share *share, int64_t iteration)
{
    (void)call;
    (void)task;
    const int64_t f0 = iteration * 32, f1 = min(f0 + 32, 1);
    const int64_t chunk0 = share->chunk0;
    const int64_t chunk1 = share->chunk1;
    float *const state_max = (float *)(void *)(share->slots + 0); /* [chunk, f: LANES] */
    float *const state_sum = (float *)(void *)(share->slots + 64); /* [chunk, f: LANES] */
    float *const state = (float *)(void *)(share->slots + 128); /* [chunk, f: 1, e: 64] */
    float *const carried_max = (float *)(void *)(share->shared + 0); /* [f: LANES] */
    float *const carried_factor = (float *)(void *)(share->work + 0); /* [f: LANES] */
    float *const slot_factor = (float *)(void *)(share->work + 64); /* [f: LANES] */
    float *const carried_sum = (float *)(void *)(share->shared + 64); /* [f: LANES] */
    float *const carried_sum_compensation = (float *)(void *)(share->shared + 384); /* [f: LANES] */
    float *const carried = (float *)(void *)(share->shared + 128); /* [f: 1, e: 64] */
    float *const carried_compensation = (float *)(void *)(share->shared + 448); /* [f: 1, e: 64] */
    for (int64_t chunk = chunk0; chunk < chunk1; chunk++) {
        /* before_max = carried_max; carried_max max= state_max; carried_factor = exp2(before_max - carried_max);
           slot_factor = exp2(state_ ... */
        for (int64_t f = f0; f < f1; f += LANES) {
            const T(vec) carried_max_1 = T(load)(carried_max + f);
            const T(vec) before_max_new2 = carried_max_1;
            const T(vec) state_max_3 = T(load)(state_max + (chunk - chunk0) * 96 + f);
            const T(vec) carried_max_new4 = T(max)(T(load)(carried_max + f), state_max_3);
            T(store)(carried_max + f, carried_max_new4);
            T(store)(carried_factor + f, T(exp2)(before_max_new2 - carried_max_new4));
            T(store)(slot_factor + f, T(exp2)(state_max_3 - carried_max_new4));
            T(store)(state_max + (chunk - chunk0) * 96 + f, before_max_new2);
        }
        /* before_sum = carried_sum; carried_sum = carried_sum * carried_factor;
           carried_sum_compensation = carried_sum_compensation * carr ... */
        for (int64_t f = f0; f < f1; f += LANES) {
            const T(vec) carried_sum_5 = T(load)(carried_sum + f);
            const T(vec) before_sum_new6 = carried_sum_5;
            const T(vec) carried_factor_7 = T(load)(carried_factor + f);
            T(store)(carried_sum + f, carried_sum_5 * carried_factor_7);
            T(store)(carried_sum_compensation + f, T(load)(carried_sum_compensation + f) * carried_factor_7);
            T(add)(carried_sum + f, carried_sum_compensation + f, T(load)(state_sum + (chunk - chunk0) * 96 + f) *
                T(load)(slot_factor + f), T(splat)(1));
            T(store)(state_sum + (chunk - chunk0) * 96 + f, before_sum_new6);
        }
        /* before = carried; carried = carried * carried_factor; carried_compensation = carried_compensation *
           carried_factor; carried += s ... */
        for (int64_t f = f0; f < f1; f++) {
            for (int64_t e_first = 0; e_first < 64; e_first += OF(64, 16, 8)) {
                UNROLL for (int64_t vector = 0, e = e_first; vector < OF(4, 2, 2); vector++, e += LANES) {
                    const T(vec) carried_8 = T(load)(carried + f * 64 + e);
                    const T(vec) before_new9 = carried_8;
                    const float carried_factor_10 = carried_factor[f];
                    T(store)(carried + f * 64 + e, carried_8 * carried_factor_10);
                    T(store)(carried_compensation + f * 64 + e, T(load)(carried_compensation + f * 64 + e) *
                        carried_factor_10);
                    T(add)(carried + f * 64 + e, carried_compensation + f * 64 + e,
                        T(load)(state + (chunk - chunk0) * 96 + f * 64 + e) * slot_factor[f], T(splat)(1));
                    T(store)(state + (chunk - chunk0) * 96 + f * 64 + e, before_new9);
                }
            }
        }
    }
}

/* Processes the queries of a chunk: reads the state before the chunk, and the keys in the chunk. */
TARGET APART void T(aft_queries)(const struct call *call, int64_t task, const struct share *share, int64_t iteration)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_q = call->p.n_q;
    const int64_t n_k = call->p.n_k;
    const int64_t chunk = iteration;
    const int64_t chunk0 = share->chunk0;
    const int64_t m = task % members;
    const int64_t g = task / members % kv_heads;
    const int64_t b = task / members / kv_heads;
    const int64_t query_start = call->p.query_start ? call->p.query_start[b] : n_k - n_q;
    const float *const v = (const float *)call->array[ARRAY_v].at + b * call->array[ARRAY_v].strides.batch + g *
        call->array[ARRAY_v].strides.head;
    const int64_t v_row = call->array[ARRAY_v].strides.row;
    const float *const key_array = (const float *)call->array[ARRAY_key_array].at + b *
        call->array[ARRAY_key_array].strides.batch + (g * members + m) * call->array[ARRAY_key_array].strides.head;
    const int64_t key_array_row = call->array[ARRAY_key_array].strides.row;
    const float *const gate_array = (const float *)call->array[ARRAY_gate_array].at + b *
        call->array[ARRAY_gate_array].strides.batch + (g * members + m) * call->array[ARRAY_gate_array].strides.head;
    const int64_t gate_array_row = call->array[ARRAY_gate_array].strides.row;
    const int64_t gate_array_stride_3 = call->array[ARRAY_gate_array].stride[3];
    float *const state_max = (float *)(void *)(share->slots + 0); /* [chunk, f: LANES] */
    float *const state_sum = (float *)(void *)(share->slots + 64); /* [chunk, f: LANES] */
    float *const state = (float *)(void *)(share->slots + 128); /* [chunk, f: 1, e: 64] */
    float *const query = (float *)(void *)(share->work + 0); /* [f: 1, i: 16] */
    float *const query_max = (float *)(void *)(share->work + 64); /* [i: 16] */
    float *const row_sum_from_state = (float *)(void *)(share->work + 128); /* [i: 16] */
    float *const weight = (float *)(void *)(share->work + 192); /* [j: 16, i: 16] */
    float *const row_max = (float *)(void *)(share->work + 1216); /* [i: 16] */
    float *const old_max = (float *)(void *)(share->work + 0); /* [i: 16] */
    float *const row_sum = (float *)(void *)(share->work + 1280); /* [i: 16] */
    float *const row_sum_compensation = (float *)(void *)(share->work + 1344); /* [i: 16] */
    float *const sum_from_state = (float *)(void *)(share->work + 1408); /* [e: 64, i: 16] */
    float *const sum = (float *)(void *)(share->work + 5504); /* [e: 64, i: 16] */
    float *const sum_compensation = (float *)(void *)(share->work + 9600); /* [e: 64, i: 16] */
    float *const out = (float *)call->array[ARRAY_out].at + b * call->array[ARRAY_out].strides.batch + (g * members + m)
        * call->array[ARRAY_out].strides.head;
    const int64_t out_row = call->array[ARRAY_out].strides.row;
    float *const gate_tile = (float *)(void *)(share->work + 13696); /* [e: 64, i: 16] */
    for (int64_t i0 = (chunk == 0) ? 0 : max(0, (chunk * 16) - query_start), i_end = min(n_q,
        ((chunk + 1) * 16) - query_start); i0 < i_end; i0 += 16) {
        const int64_t i1 = min(i0 + 16, i_end);
        if (gate_array_stride_3 == 1) {
            /* gate_tile = gate_array, with zeros beyond the last row */
            T(transpose_padded)(gate_array + i0 * gate_array_row, gate_array_row, i1 - i0, 64, gate_tile, 16, 64);
        } else {
            /* gate_tile = gate_array, with zeros beyond the last row */
            for (int64_t i = 0; i < round_up(i1 - i0, LANES); i++)
                for (int64_t e = 0; e < 64; e++)
                    gate_tile[e * 16 + i] = i < i1 - i0 ? gate_array[(i0 + i) * gate_array_row + e *
                        gate_array_stride_3] : 0;
        }
        /* query_max = -FLT_MAX */
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            T(store)(query_max + i, T(splat)(-FLT_MAX));
        }
        /* query = state_max; query_max max= query */
#if OF(1, 0, 0)
        for (int64_t i = 0; i < i1 - i0; i += 16) {
            T(vec) query_max_in = T(load)(query_max + i);
#else
        for (int64_t i_first = 0; i_first < i1 - i0; i_first += (2 * LANES)) {
            T(vec) query_max_in[2];
            UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += LANES) {
                query_max_in[vector] = T(load)(query_max + i);
            }
#endif
            for (int64_t f = 0; f < 1; f++) {
#if OF(1, 0, 0)
                const T(vec) query_new11 = T(splat)(state_max[(chunk - chunk0) * 96 + f]);
                T(store)(query + f * 16 + i, query_new11);
                query_max_in = T(max)(query_max_in, query_new11);
#else
                UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += LANES) {
                    const T(vec) query_new11 = T(splat)(state_max[(chunk - chunk0) * 96 + f]);
                    T(store)(query + f * 16 + i, query_new11);
                    query_max_in[vector] = T(max)(query_max_in[vector], query_new11);
                }
#endif
            }
#if OF(1, 0, 0)
            T(store)(query_max + i, query_max_in);
#else
            UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += LANES) {
                T(store)(query_max + i, query_max_in[vector]);
            }
#endif
        }
        /* row_sum_from_state = 0.0f */
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            T(store)(row_sum_from_state + i, T(splat)(0.0f));
        }
        /* query = exp2(query - query_max); row_sum_from_state += query * state_sum */
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            const T(vec) query_max_13 = T(load)(query_max + i);
            T(vec) row_sum_from_state_in = (T(vec)){0};
            for (int64_t f = 0; f < 1; f++) {
                const T(vec) query_12 = T(load)(query + f * 16 + i);
                const T(vec) query_new14 = T(exp2)(query_12 - query_max_13);
                T(store)(query + f * 16 + i, query_new14);
                row_sum_from_state_in += query_new14 * (state_sum[(chunk - chunk0) * 96 + f]);
            }
            T(store)(row_sum_from_state + i, T(load)(row_sum_from_state + i) + row_sum_from_state_in);
        }
        /* row_max = -FLT_MAX; row_sum = 0.0f; row_sum_compensation = 0.0f */
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            T(store)(row_max + i, T(splat)(-FLT_MAX));
            T(store)(row_sum + i, T(splat)(0.0f));
            T(store)(row_sum_compensation + i, T(splat)(0.0f));
        }
        /* sum_from_state[e][i] = sum over f of state * query */
#if OF(1, 0, 0)
        T(dot3)(state + (chunk - chunk0) * 96, query, sum_from_state);
#else
        T(dot3)(round_up(i1 - i0, LANES), state + (chunk - chunk0) * 96, query, sum_from_state);
#endif
        /* sum = 0.0f; sum_compensation = 0.0f */
        for (int64_t e = 0; e < 64; e++) {
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                T(store)(sum + e * 16 + i, T(splat)(0.0f));
                T(store)(sum_compensation + e * 16 + i, T(splat)(0.0f));
            }
        }
        for (int64_t j0 = max(0, chunk * 16), j_end = min(n_k, i1 + query_start); j0 < j_end; j0 += 16) {
            const int64_t j1 = min(j0 + 16, j_end);
            /* old_max = row_max */
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                T(store)(old_max + i, T(load)(row_max + i));
            }
            if ((j0 < (chunk * 16)) || ((i0 + query_start + 1) < j1)) { /* the tile is partly outside the mask */
                /* weight = select((j <= (i + query_start)) && ((chunk * 16) <= j), key * 1.442695f, -INFINITY);
                   row_max max= weight */
                for (int64_t i = 0; i < i1 - i0; i += LANES) {
                    const T(ints) t_15 = (i0 + i + T(lane)) + query_start;
                    T(vec) row_max_in = T(load)(row_max + i);
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        const T(vec) weight_new16 = T(pick)(__builtin_convertvector(((j0 + j) <= t_15) &
                            (-(int64_t)((chunk * 16) <= (j0 + j))), T(mask)),
                            T(splat)((key_array[(j0 + j) * key_array_row]) * 1.442695f), T(splat)(-INFINITY));
                        T(store)(weight + j * 16 + i, weight_new16);
                        row_max_in = T(max)(row_max_in, weight_new16);
                    }
                    T(store)(row_max + i, row_max_in);
                }
            }
            if (!((j0 < (chunk * 16)) || ((i0 + query_start + 1) < j1))) { /* the tile is wholly inside the mask */
                /* weight = key * 1.442695f; row_max max= weight */
#if OF(1, 0, 0)
                for (int64_t i = 0; i < i1 - i0; i += 16) {
                    T(vec) row_max_in = T(load)(row_max + i);
#else
                for (int64_t i_first = 0; i_first < i1 - i0; i_first += (2 * LANES)) {
                    T(vec) row_max_in[2];
                    UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += LANES) {
                        row_max_in[vector] = T(load)(row_max + i);
                    }
#endif
                    for (int64_t j = 0; j < j1 - j0; j++) {
#if OF(1, 0, 0)
                        const T(vec) weight_new17 = T(splat)((key_array[(j0 + j) * key_array_row]) * 1.442695f);
                        T(store)(weight + j * 16 + i, weight_new17);
                        row_max_in = T(max)(row_max_in, weight_new17);
#else
                        UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += LANES) {
                            const T(vec) weight_new17 = T(splat)((key_array[(j0 + j) * key_array_row]) * 1.442695f);
                            T(store)(weight + j * 16 + i, weight_new17);
                            row_max_in[vector] = T(max)(row_max_in[vector], weight_new17);
                        }
#endif
                    }
#if OF(1, 0, 0)
                    T(store)(row_max + i, row_max_in);
#else
                    UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += LANES) {
                        T(store)(row_max + i, row_max_in[vector]);
                    }
#endif
                }
            }
            /* old_max = exp2(old_max - row_max); row_sum = row_sum * old_max;
               row_sum_compensation = row_sum_compensation * old_max */
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                const T(vec) old_max_18 = T(load)(old_max + i);
                const T(vec) old_max_new19 = T(exp2)(old_max_18 - T(load)(row_max + i));
                T(store)(old_max + i, old_max_new19);
                T(store)(row_sum + i, T(load)(row_sum + i) * old_max_new19);
                T(store)(row_sum_compensation + i, T(load)(row_sum_compensation + i) * old_max_new19);
            }
            /* weight = exp2(weight - row_max); row_sum += weight */
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                const T(vec) row_max_21 = T(load)(row_max + i);
                T(vec) row_sum_in = (T(vec)){0};
                for (int64_t j = 0; j < j1 - j0; j++) {
                    const T(vec) weight_20 = T(load)(weight + j * 16 + i);
                    const T(vec) weight_new22 = T(exp2)(weight_20 - row_max_21);
                    T(store)(weight + j * 16 + i, weight_new22);
                    row_sum_in += weight_new22;
                }
                T(add)(row_sum + i, row_sum_compensation + i, row_sum_in, T(splat)(1));
            }
            /* sum[e][i] = sum * old_max + sum over j of v * weight */
            if (__builtin_expect(((j0 < (chunk * 16)) || ((i0 + query_start + 1) < j1)) && !T(finite)(v + j0 * v_row,
                v_row, j1 - j0, 64), 0)) { /* infinity and NaN affect only queries that see them */
#if OF(1, 0, 0)
                T(dot4)(j1 - j0, v + j0 * v_row, v_row, weight, sum, old_max, sum_compensation);
#else
                T(dot4)(round_up(i1 - i0, LANES), j1 - j0, v + j0 * v_row, v_row, weight, sum, old_max,
                    sum_compensation);
#endif
                for (int64_t j = 0; j < j1 - j0; j++) {
                    T(mask) in_region[OF(1, 2, 4)] = {0};
                    if (T(finite)(v + j0 * v_row + j * v_row, 1, 64, 1)) continue;
                    const int t_23 = (chunk * 16) <= (j0 + j);
                    for (int64_t i = 0; i < i1 - i0; i += LANES) {
                        in_region[i / LANES] = __builtin_convertvector(((j0 + j) <= ((i0 + i + T(lane)) + query_start))
                            & (-(int64_t)t_23), T(mask));
                    }
                    T(add_seen)(64, sum, 16, v + j0 * v_row + j * v_row, 1, weight + j * 16, in_region, i1 - i0);
                }
            } else
#if OF(1, 0, 0)
                T(dot5)(j1 - j0, v + j0 * v_row, v_row, weight, sum, old_max, sum_compensation);
#else
                T(dot5)(round_up(i1 - i0, LANES), j1 - j0, v + j0 * v_row, v_row, weight, sum, old_max,
                    sum_compensation);
#endif
        }
        /* sum = sigmoid(gate_tile) * select(((row_sum * exp2(row_max - max(row_max,
           query_max))) + (row_sum_from_state * exp2(query_max -  ... */
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            const T(vec) row_max_24 = T(load)(row_max + i);
            const T(vec) query_max_25 = T(load)(query_max + i);
            const T(vec) t_26 = T(max_nan)(row_max_24, query_max_25);
            const T(vec) t_27 = T(exp2)(row_max_24 - t_26);
            const T(vec) t_28 = T(exp2)(query_max_25 - t_26);
            const T(vec) t_29 = (T(load)(row_sum + i) * t_27) + (T(load)(row_sum_from_state + i) * t_28);
            const T(mask) t_30 = t_29 == 0.0f;
            for (int64_t e = 0; e < 64; e++) {
                T(store)(sum + e * 16 + i, T(sigmoid)(T(load)(gate_tile + e * 16 + i)) * T(pick)(t_30, T(splat)(0.0f),
                    ((T(load)(sum + e * 16 + i) * t_27) + (T(load)(sum_from_state + e * 16 + i) * t_28)) / t_29));
            }
        }
        /* out = sum, transposed back */
        T(transpose_out)(sum, 16, 64, i1 - i0, out + i0 * out_row, out_row, 64);
    }
}

/* Computes head number `task`. Each thread on the head calls this with `share`. */
TARGET static void T(aft_linear)(const struct call *call, int64_t task, struct share *share)
{
    const int64_t n_k = call->p.n_k;
    const int64_t chunks = n_k > 0 ? (n_k - 1) / 16 + 1 : 1;
    for (int64_t iteration = share->number; iteration < ((1 + 31) / 32); iteration += share->threads)
        T(aft_begin)(call, task, share, iteration);
    synchronise(share);
    const int64_t first = 0;
    const int64_t length = segment_length(share, chunks - first);
    for (int64_t segment = share->number; first + segment * length < chunks; segment += share->threads) {
        share->chunk0 = first + segment * length;
        share->chunk1 = min(share->chunk0 + length, chunks);
        for (int64_t iteration = share->chunk0; iteration < share->chunk1; iteration++)
            T(aft_keys)(call, task, share, iteration);
        for (int64_t group = 0; group < 16; group++) {
            await_segment(share, group, segment);
            const int64_t end = (group + 1) * ((1 + 31) / 32) / 16;
            for (int64_t iteration = group * ((1 + 31) / 32) / 16; iteration < end; iteration++)
                T(aft_fold)(call, task, share, iteration);
            pass_segment(share, group, segment);
        }
        for (int64_t iteration = share->chunk0; iteration < share->chunk1; iteration++)
            T(aft_queries)(call, task, share, iteration);
    }
    share->segments += (max(chunks - first, 0) + length - 1) / length;
    synchronise(share);
}
#include <attnrt/kernel/end.h>
#else
#ifdef __cplusplus
#error "aft.c is C, not C++: compile it with a C compiler"
#elif !defined __STDC_VERSION__ || __STDC_VERSION__ < 199901L
#error "aft.c is C11, not C89: compile it without -std=, or with -std=gnu11"
extern int aft_is_c11;
#elif !defined __GNUC__
#error "aft.c uses GNU C vector extensions: compile it with gcc or clang"
extern int aft_is_gnu_c;
#else
#include "aft.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include <attnrt/kernel/optimize.h>
#include <attnrt/kernel/call.h>

/* the numbers of the arrays of a call */
enum {
    ARRAY_q, ARRAY_k, ARRAY_v, ARRAY_out, ARRAY_key_array, ARRAY_gate_array
};

#ifdef __FILE_NAME__
#define LOOPS __FILE_NAME__ /* this file, whose first part has the loops */
#else
#define LOOPS "aft.c"
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
#define OF(v4, v3, any) any /* a number of each target */
#define SECTION
#include LOOPS
#undef SECTION

/* ==== tables for the library that calls these functions (attnrt/kernel/call.h) ==== */
static const struct attn_param param[] = {
    {"key", ATTN_F32, 3, {ATTN_BATCH, ATTN_HEADS, ATTN_N_K}, offsetof(struct aft_params, key), 0,
        offsetof(struct aft_strides, key), 0, 1, ATTN_NO_LIMITS},
    {"gate", ATTN_F32, 4, {ATTN_BATCH, ATTN_HEADS, ATTN_N_Q, 64}, offsetof(struct aft_params, gate), 0,
        offsetof(struct aft_strides, gate), 0, 1, ATTN_NO_LIMITS},
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
    {.name = "key", .access = {ACCESS_READ, ACCESS_NONE}, .dtype = ATTN_F32, .rows = ROWS_OF_KEYS,
        .origin = FROM_PARAMS, .param = 0, .axis = {0, 1, 2}, .has_rows = 1},
    {.name = "gate", .access = {ACCESS_READ, ACCESS_NONE}, .dtype = ATTN_F32, .rows = ROWS_OF_QUERIES,
        .origin = FROM_PARAMS, .param = 1, .axis = {0, 1, 2}, .has_rows = 1},
};

#if defined(__x86_64__)
static int runs_v4(void)
{
    return attn_x86_64_level() >= 4;
}
static const struct program programs_v4[] = {
    {.role = RUN_FORWARD, .from = 116,
     .head = aft_linear_v4, .tile = -1, .own = 17792, .of_token = 65, .in_keys = 1, .shared = 704, .slot = 384,
         .slots = 4, .together = 1},
    {.role = RUN_FORWARD,
     .rows = aft_rows_v4, .tile = 64, .own = 154624, .of_pair = 128},
};
#endif
#if defined(__x86_64__)
static int runs_v3(void)
{
    return attn_x86_64_level() >= 3;
}
static const struct program programs_v3[] = {
    {.role = RUN_FORWARD, .from = 116,
     .head = aft_linear_v3, .tile = -1, .own = 17792, .of_token = 65, .in_keys = 1, .shared = 704, .slot = 384,
         .slots = 4, .together = 1},
    {.role = RUN_FORWARD,
     .rows = aft_rows_v3, .tile = 64, .own = 154624, .of_pair = 128},
};
#endif
static const struct program programs_any[] = {
    {.role = RUN_FORWARD, .from = 116,
     .head = aft_linear_any, .tile = -1, .own = 17792, .of_token = 65, .in_keys = 1, .shared = 704, .slot = 384,
         .slots = 4, .together = 1},
    {.role = RUN_FORWARD,
     .rows = aft_rows_any, .tile = 64, .own = 154624, .of_pair = 128},
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
    .layout = KERNEL_LAYOUT, .name = "aft", .openmp = OPENMP,
    .target = target, .targets = sizeof target / sizeof *target - 1,
    .array = array, .arrays = sizeof array / sizeof *array,
    .param = param, .params = 2, .params_bytes = sizeof(struct aft_params),
    .dtype = ATTN_F32, .key_dtype = ATTN_F32, .value_dtype = ATTN_F32, .real = sizeof(float), .element = sizeof(float),
    .head_dim = 64, .value_dim = 64, .key_row = 64, .value_row = 64,
    .strided = 1, .strides = offsetof(struct aft_params, strides),
    .shares = 1,
    .positions = 1,
    .ids = -1,
    .corrected = -1,
    .solution = -1,
};

/* ==== the interface ==== */
size_t aft_params_size(void) { return attn_call_params_size(&kernel); }
int aft_params_init(struct aft_params *params, uint64_t seed, void *storage)
{
    return attn_call_params_init(&kernel, params, seed, storage);
}
size_t aft_workspace(const struct attn_problem *problem) { return attn_call_workspace(&kernel, problem); }
int aft_forward(const struct attn_problem *problem, const struct aft_params *params, const float *q, const float *k,
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
const struct attn_kernel aft_kernel = {
    .name = "aft", .version = "0.2.0", .dtype = ATTN_F32, .head_dim = 64, .value_dim = 64,
    .params = 2, .param = param, .params_bytes = sizeof(struct aft_params),
    .params_size = aft_params_size, .params_init = params_init_any, .forward = forward_any,
    .workspace = aft_workspace,
    .key_dtype = ATTN_F32, .value_dtype = ATTN_F32,
    .strides = offsetof(struct aft_params, strides), .strides_bytes = sizeof(struct aft_strides),
    .before = INT64_MAX, .after = 0, .period = 1, .names_heads = 0, .names_sequences = 0, .in_parts = 0,
    .saved_power = 0, .has_sink = 0, .open_keys = 0, .end_of_keys = INT64_MAX,
};
#endif /* a compiler of this language */
#endif /* SECTION */
