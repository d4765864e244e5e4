/* linformer.c, made by attnc 0.2.0: attnc linformer.yaml
   C11 with GNU extensions, for a C compiler; C++ includes linformer.h.
   Linformer attention: keys and values projected along the sequence to 256 rows
   Wang et al., Linformer: Self-Attention with Linear Complexity (arXiv 2020), section 4

   Computes, in f32, over the axes b (batch), g (key/value head), m (query head of g), i (query), j (key), d (64),
   e (64), s (256):
     q [b g m i d]
     k [b g j d]
     v [b g j e]
     project.e [s j], learned parameter
     x4 [b g s d] = sum over j of project.e * k
     project.f [s j], learned parameter
     x6 [b g s e] = sum over j of project.f * v
     x7 [b g m i s] = sum over d of q * x4
     x8 [b g m i s] = exp(x7 * 0.125)
     x9 [b g m i] = sum over s of x8
     x10 [b g m i e] = sum over s of x8 * x6
     x11 [b g m i e] = x9 == 0 ? 0 : x10 / x9
     out = x11

   How: each vector lane holds one query. Keys are processed in tiles,
   so row sums and maxima need no reduction across lanes.
   The sums of a tile start from zero and are added to the sums so far. Tiles that no query sees are skipped.
   For few queries each lane holds one key. The queries of all heads that share keys are the rows of one tile,
   so each key is read once.
   The chunks of keys are divided among the threads. Their sums are added in the order of the chunks.
     x86-64-v4  quadratic tiles of 64 queries and 288 keys; 890112 bytes of workspace per thread
     x86-64-v4  few       tiles of 64 queries and 128 keys; 955136 bytes of workspace per thread
     x86-64-v3  quadratic tiles of 64 queries and 288 keys; 890112 bytes of workspace per thread
     x86-64-v3  few       tiles of 64 queries and 128 keys; 955136 bytes of workspace per thread
     generic    quadratic tiles of 64 queries and 288 keys; 890112 bytes of workspace per thread
     generic    few       tiles of 64 queries and 128 keys; 955136 bytes of workspace per thread

   Contents:
     loops      linformer_rows, linformer_few
     targets    x86-64-v4, x86-64-v3, generic
     tables     arrays and programs, for the functions of attnrt that call the loops
     interface  linformer_workspace, linformer_forward, linformer_kernel
   The file includes itself, so that the loops are compiled once for each target. T(name) is a name with the target's
   suffix, LANES the elements of its vectors, and OF(…) a number for each target.

   Compile with: cc -O2 -fopenmp linformer.c … -lattnrt -lm */
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
TARGET APART void T(dot0)(int64_t steps, const float *a, int64_t a_row, const float *b, int64_t b_step, float *c)
{
    T(dot)(/*vectors=*/OF(4, 2, 2), /*lanes=*/64, /*rows=*/256, /*tail=*/4, steps, /*span=*/192, a, a_row, /*a_step=*/1,
        b, b_step, c, /*c_row=*/64, /*update=*/1, /*factor=*/NULL, /*compensation=*/NULL);
}
TARGET APART void T(dot1)(int64_t lanes, const float *a, const float *b, float *c)
{
    T(dot)(/*vectors=*/OF(4, 2, 2), lanes, /*rows=*/256, /*tail=*/4, /*steps=*/64, /*span=*/32, a, /*a_row=*/64,
        /*a_step=*/1, b, /*b_step=*/80, c, /*c_row=*/80, /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL);
}
TARGET APART void T(dot2)(int64_t lanes, const float *a, const float *b, float *c)
{
    T(dot)(/*vectors=*/OF(4, 2, 2), lanes, /*rows=*/64, /*tail=*/4, /*steps=*/256, /*span=*/32, a, /*a_row=*/1,
        /*a_step=*/64, b, /*b_step=*/80, c, /*c_row=*/80, /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL);
}
#if OF(1, 0, 0)
TARGET APART void T(dot3)(int64_t steps, const float *a, int64_t a_row, const float *b, int64_t b_step, float *c,
    int64_t early)
#else
TARGET APART void T(dot3)(int64_t steps, const float *a, int64_t a_row, const float *b, int64_t b_step, float *c)
#endif
{
#if OF(1, 0, 0)
    T(dot_fetched)(/*vectors=*/4, /*lanes=*/64, /*rows=*/256, /*tail=*/4, steps, /*span=*/192, a, a_row, /*a_step=*/1,
        b, b_step, c, /*c_row=*/64, /*update=*/1, /*factor=*/NULL, /*compensation=*/NULL, early);
#endif
#if OF(0, 1, 0)
    T(dot_fetched)(/*vectors=*/2, /*lanes=*/64, /*rows=*/256, /*tail=*/4, steps, /*span=*/192, a, a_row, /*a_step=*/1,
        b, b_step, c, /*c_row=*/64, /*update=*/1, /*factor=*/NULL, /*compensation=*/NULL);
#endif
#if OF(0, 0, 1)
    T(dot_fetched)(/*vectors=*/2, /*lanes=*/64, /*rows=*/256, /*tail=*/4, steps, /*span=*/192, a, a_row, /*a_step=*/1,
        b, b_step, c, /*c_row=*/64, /*update=*/1, /*factor=*/NULL, /*compensation=*/NULL, /*early=*/64);
#endif
}
TARGET APART void T(dot4)(int64_t rows, const float *a, const float *b, float *c)
{
    T(dot)(/*vectors=*/OF(4, 2, 2), /*lanes=*/256, rows, /*tail=*/-1, /*steps=*/64, /*span=*/32, a, /*a_row=*/64,
        /*a_step=*/1, b, /*b_step=*/272, c, /*c_row=*/272, /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL);
}
TARGET APART void T(dot5)(int64_t rows, const float *a, const float *b, float *c)
{
    T(dot)(/*vectors=*/OF(4, 2, 2), /*lanes=*/64, rows, /*tail=*/-1, /*steps=*/256, /*span=*/32, a, /*a_row=*/272,
        /*a_step=*/1, b, /*b_step=*/64, c, /*c_row=*/64, /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL);
}

/* Initialises the states: they contain no keys yet. */
TARGET APART void T(linformer_begin)(const struct call *call, int64_t task, const struct share *share,
    int64_t iteration)
{
    (void)call;
    (void)task;
    const int64_t s0 = iteration * 32, s1 = min(s0 + 32, 256);
    float *const carried = (float *)(void *)(share->shared + 0); /* [s: 256, d: 64] */
    float *const carried_compensation = (float *)(void *)(share->shared + 131200); /* [s: 256, d: 64] */
    float *const carried_2 = (float *)(void *)(share->shared + 65600); /* [s: 256, e: 64] */
    float *const carried_2_compensation = (float *)(void *)(share->shared + 196800); /* [s: 256, e: 64] */
    /* carried = 0.0f; carried_compensation = 0.0f */
    for (int64_t s = s0; s < s1; s++) {
        for (int64_t d_first = 0; d_first < 64; d_first += OF(64, 16, 8)) {
            UNROLL for (int64_t vector = 0, d = d_first; vector < OF(4, 2, 2); vector++, d += LANES) {
                T(store)(carried + s * 64 + d, T(splat)(0.0f));
                T(store)(carried_compensation + s * 64 + d, T(splat)(0.0f));
            }
        }
    }
    /* carried_2 = 0.0f; carried_2_compensation = 0.0f */
    for (int64_t s = s0; s < s1; s++) {
        for (int64_t e_first = 0; e_first < 64; e_first += OF(64, 16, 8)) {
            UNROLL for (int64_t vector = 0, e = e_first; vector < OF(4, 2, 2); vector++, e += LANES) {
                T(store)(carried_2 + s * 64 + e, T(splat)(0.0f));
                T(store)(carried_2_compensation + s * 64 + e, T(splat)(0.0f));
            }
        }
    }
}

/* Sums the keys of a chunk, from zero, into its slot. */
TARGET APART void T(linformer_keys)(const struct call *call, int64_t task, const struct share *share, int64_t iteration)
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
    const float *const project_e = (const float *)call->array[ARRAY_project_e].at;
    const float *const project_f = (const float *)call->array[ARRAY_project_f].at;
    float *const state = (float *)(void *)(share->slots + 0); /* [chunk, s: 256, d: 64] */
    float *const state_2 = (float *)(void *)(share->slots + 65600); /* [chunk, s: 256, e: 64] */
    /* state = 0.0f */
    for (int64_t s = 0; s < 256; s++) {
        for (int64_t d_first = 0; d_first < 64; d_first += OF(64, 16, 8)) {
            UNROLL for (int64_t vector = 0, d = d_first; vector < OF(4, 2, 2); vector++, d += LANES) {
                T(store)(state + (chunk - chunk0) * 32800 + s * 64 + d, T(splat)(0.0f));
            }
        }
    }
    /* state_2 = 0.0f */
    for (int64_t s = 0; s < 256; s++) {
        for (int64_t e_first = 0; e_first < 64; e_first += OF(64, 16, 8)) {
            UNROLL for (int64_t vector = 0, e = e_first; vector < OF(4, 2, 2); vector++, e += LANES) {
                T(store)(state_2 + (chunk - chunk0) * 32800 + s * 64 + e, T(splat)(0.0f));
            }
        }
    }
    for (int64_t j0 = chunk * 1152, j_end = min(n_k, (chunk + 1) * 1152); j0 < j_end; j0 += 288) {
        const int64_t j1 = min(j0 + 288, j_end);
        /* state[s][d] += sum over j of project_e * k */
        T(dot0)(j1 - j0, project_e + j0, n_k, k + j0 * k_row, k_row, state + (chunk - chunk0) * 32800);
        /* state_2[s][e] += sum over j of project_f * v */
        T(dot0)(j1 - j0, project_f + j0, n_k, v + j0 * v_row, v_row, state_2 + (chunk - chunk0) * 32800);
    }
}

/* Folds the slots of the current chunks, in order, for some elements of the states. */
TARGET APART void T(linformer_fold)(const struct call *call, int64_t task, const struct share *share, int64_t iteration)
{
    (void)call;
    (void)task;
    const int64_t s0 = iteration * 32, s1 = min(s0 + 32, 256);
    const int64_t chunk0 = share->chunk0;
    const int64_t chunk1 = share->chunk1;
    float *const state = (float *)(void *)(share->slots + 0); /* [chunk, s: 256, d: 64] */
    float *const state_2 = (float *)(void *)(share->slots + 65600); /* [chunk, s: 256, e: 64] */
    float *const carried = (float *)(void *)(share->shared + 0); /* [s: 256, d: 64] */
    float *const carried_compensation = (float *)(void *)(share->shared + 131200); /* [s: 256, d: 64] */
    float *const carried_2 = (float *)(void *)(share->shared + 65600); /* [s: 256, e: 64] */
    float *const carried_2_compensation = (float *)(void *)(share->shared + 196800); /* [s: 256, e: 64] */
    for (int64_t chunk = chunk0; chunk < chunk1; chunk++) {
        /* before = carried; carried += state */
        for (int64_t s = s0; s < s1; s++) {
            for (int64_t d_first = 0; d_first < 64; d_first += OF(64, 16, 8)) {
                UNROLL for (int64_t vector = 0, d = d_first; vector < OF(4, 2, 2); vector++, d += LANES) {
                    T(add)(carried + s * 64 + d, carried_compensation + s * 64 + d,
                        T(load)(state + (chunk - chunk0) * 32800 + s * 64 + d), T(splat)(1));
                }
            }
        }
        /* before_2 = carried_2; carried_2 += state_2 */
        for (int64_t s = s0; s < s1; s++) {
            for (int64_t e_first = 0; e_first < 64; e_first += OF(64, 16, 8)) {
                UNROLL for (int64_t vector = 0, e = e_first; vector < OF(4, 2, 2); vector++, e += LANES) {
                    T(add)(carried_2 + s * 64 + e, carried_2_compensation + s * 64 + e,
                        T(load)(state_2 + (chunk - chunk0) * 32800 + s * 64 + e), T(splat)(1));
                }
            }
        }
    }
}

/* Processes a tile of queries: reads the states. */
TARGET APART void T(linformer_queries)(const struct call *call, int64_t task, const struct share *share,
    int64_t iteration)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_q = call->p.n_q;
    const int64_t tiles = (n_q + 64 - 1) / 64, i0 = (tiles - 1 - iteration % tiles) * 64,
        i1 = min(i0 + 64, n_q);
    const int64_t m = iteration / tiles;
    const int64_t g = task % kv_heads;
    const int64_t b = task / kv_heads;
    const float *const q = (const float *)call->array[ARRAY_q].at + b * call->array[ARRAY_q].strides.batch + (g /
        call->sharing * members + m) * call->array[ARRAY_q].strides.head;
    const int64_t q_row = call->array[ARRAY_q].strides.row;
    float *const carried = (float *)(void *)(share->shared + 0); /* [s: 256, d: 64] */
    float *const carried_2 = (float *)(void *)(share->shared + 65600); /* [s: 256, e: 64] */
    float *const sum_from_state = (float *)(void *)(share->work + 0); /* [s: 256, i: 64 of 80] */
    float *const query_max = (float *)(void *)(share->work + 81920); /* [i: 64] */
    float *const query_sum = (float *)(void *)(share->work + 82176); /* [i: 64] */
    float *const sum_from_state_2 = (float *)(void *)(share->work + 82432); /* [e: 64, i: 64 of 80] */
    float *const out = (float *)call->array[ARRAY_out].at + b * call->array[ARRAY_out].strides.batch + (g * members + m)
        * call->array[ARRAY_out].strides.head;
    const int64_t out_row = call->array[ARRAY_out].strides.row;
    float *const q_tile = (float *)(void *)(share->work + 81920); /* [d: 64, i: 64 of 80] */
    /* q_tile = q, with zeros beyond the last row */
    T(transpose_padded)(q + i0 * q_row, q_row, i1 - i0, 64, q_tile, 80, LANES);
    /* q_tile = q_tile * 0.18033688f */
    for (int64_t d = 0; d < 64; d++) {
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            T(store)(q_tile + d * 80 + i, T(load)(q_tile + d * 80 + i) * 0.18033688f);
        }
    }
    /* sum_from_state[s][i] = sum over d of carried * q_tile */
    T(dot1)(round_up(i1 - i0, LANES), carried, q_tile, sum_from_state);
    /* query_max = -FLT_MAX */
    for (int64_t i = 0; i < i1 - i0; i += LANES) {
        T(store)(query_max + i, T(splat)(-FLT_MAX));
    }
    /* query_max max= sum_from_state */
    for (int64_t i_first = 0; i_first < i1 - i0; i_first += OF(64, 16, 8)) {
#if OF(1, 0, 0)
        T(vec) query_max_in[4];
#else
        T(vec) query_max_in[2][2];
#endif
        UNROLL for (int64_t vector = 0, i = i_first; vector < OF(4, 2, 2); vector++, i += LANES) {
#if OF(1, 0, 0)
            query_max_in[vector] = T(load)(query_max + i);
#else
            UNROLL for (int s_chain = 0; s_chain < 2; s_chain++) query_max_in[vector][s_chain] = T(splat)(-INFINITY);
#endif
        }
#if OF(1, 0, 0)
        for (int64_t s = 0; s < 256; s++) {
            UNROLL for (int64_t vector = 0, i = i_first; vector < 4; vector++, i += 16) {
                query_max_in[vector] = T(max)(query_max_in[vector], T(load)(sum_from_state + s * 80 + i));
#else
        for (int64_t s_first = 0; s_first < 256; s_first += 2) {
            UNROLL for (int s_chain = 0; s_chain < 2; s_chain++) {
                const int64_t s = min(s_first + s_chain, 256 - 1);
                UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += LANES) {
                    query_max_in[vector][s_chain] = T(max)(query_max_in[vector][s_chain],
                        T(load)(sum_from_state + s * 80 + i));
                }
#endif
            }
        }
        UNROLL for (int64_t vector = 0, i = i_first; vector < OF(4, 2, 2); vector++, i += LANES) {
#if OF(1, 0, 0)
            T(store)(query_max + i, query_max_in[vector]);
#else
            T(store)(query_max + i, T(max)(T(load)(query_max + i), T(max)(query_max_in[vector][0],
                query_max_in[vector][1])));
#endif
        }
    }
    /* query_sum = 0.0f */
    for (int64_t i = 0; i < i1 - i0; i += LANES) {
        T(store)(query_sum + i, T(splat)(0.0f));
    }
    /* sum_from_state = exp2(sum_from_state - query_max); query_sum += sum_from_state */
    for (int64_t i = 0; i < i1 - i0; i += LANES) {
        const T(vec) query_max_1 = T(load)(query_max + i);
        T(vec) query_sum_in = (T(vec)){0};
        T(vec) query_sum_in_whole = (T(vec)){0};
        for (int64_t s = 0; s < 256; s++) {
            const T(vec) sum_from_state_0 = T(load)(sum_from_state + s * 80 + i);
            const T(vec) sum_from_state_new2 = T(exp2)(sum_from_state_0 - query_max_1);
            T(store)(sum_from_state + s * 80 + i, sum_from_state_new2);
            query_sum_in += sum_from_state_new2;
            if (s % 32 == 31) {
                query_sum_in_whole += query_sum_in;
                query_sum_in = (T(vec)){0};
            }
        }
        query_sum_in += query_sum_in_whole;
        T(store)(query_sum + i, T(load)(query_sum + i) + query_sum_in);
    }
    /* sum_from_state_2[e][i] = sum over s of carried_2 * sum_from_state */
    T(dot2)(round_up(i1 - i0, LANES), carried_2, sum_from_state, sum_from_state_2);
    /* sum_from_state_2 = select(query_sum == 0.0f, 0.0f, sum_from_state_2 / query_sum) */
    for (int64_t i = 0; i < i1 - i0; i += LANES) {
        const T(vec) query_sum_3 = T(load)(query_sum + i);
        const T(mask) t_4 = query_sum_3 == 0.0f;
        for (int64_t e = 0; e < 64; e++) {
            T(store)(sum_from_state_2 + e * 80 + i, T(pick)(t_4, T(splat)(0.0f),
                T(load)(sum_from_state_2 + e * 80 + i) / query_sum_3));
        }
    }
    /* out = sum_from_state_2, transposed back */
    T(transpose_out)(sum_from_state_2, 80, 64, i1 - i0, out + i0 * out_row, out_row, LANES);
}

/* Computes head number `task`. Each thread on the head calls this with `share`. */
TARGET static void T(linformer_rows)(const struct call *call, int64_t task, struct share *share)
{
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_q = call->p.n_q;
    const int64_t n_k = call->p.n_k;
    const int64_t chunks = n_k > 0 ? (n_k - 1) / 1152 + 1 : 1;
    for (int64_t iteration = share->number; iteration < ((256 + 31) / 32); iteration += share->threads)
        T(linformer_begin)(call, task, share, iteration);
    synchronise(share);
    const int64_t first = 0;
    const int64_t length = segment_length(share, chunks - first);
    for (int64_t segment = share->number; first + segment * length < chunks; segment += share->threads) {
        share->chunk0 = first + segment * length;
        share->chunk1 = min(share->chunk0 + length, chunks);
        for (int64_t iteration = share->chunk0; iteration < share->chunk1; iteration++)
            T(linformer_keys)(call, task, share, iteration);
        for (int64_t group = 0; group < 16; group++) {
            await_segment(share, group, segment);
            const int64_t end = (group + 1) * ((256 + 31) / 32) / 16;
            for (int64_t iteration = group * ((256 + 31) / 32) / 16; iteration < end; iteration++)
                T(linformer_fold)(call, task, share, iteration);
            pass_segment(share, group, segment);
        }
    }
    share->segments += (max(chunks - first, 0) + length - 1) / length;
    synchronise(share);
    for (int64_t iteration = share->number; iteration < members * ((n_q + 63) / 64); iteration += share->threads)
        T(linformer_queries)(call, task, share, iteration);
    synchronise(share);
}

/* Initialises the states: they contain no keys yet. */
TARGET APART void T(linformer_few_begin)(const struct call *call, int64_t task, const struct share *share,
    int64_t iteration)
{
    (void)call;
    (void)task;
    const int64_t s0 = iteration * 32, s1 = min(s0 + 32, 256);
    float *const carried = (float *)(void *)(share->shared + 0); /* [s: 256, d: 64] */
    float *const carried_compensation = (float *)(void *)(share->shared + 131200); /* [s: 256, d: 64] */
    float *const carried_2 = (float *)(void *)(share->shared + 65600); /* [s: 256, e: 64] */
    float *const carried_2_compensation = (float *)(void *)(share->shared + 196800); /* [s: 256, e: 64] */
    /* carried = 0.0f; carried_compensation = 0.0f */
    for (int64_t s = s0; s < s1; s++) {
        for (int64_t d_first = 0; d_first < 64; d_first += OF(64, 16, 8)) {
            UNROLL for (int64_t vector = 0, d = d_first; vector < OF(4, 2, 2); vector++, d += LANES) {
                T(store)(carried + s * 64 + d, T(splat)(0.0f));
                T(store)(carried_compensation + s * 64 + d, T(splat)(0.0f));
            }
        }
    }
    /* carried_2 = 0.0f; carried_2_compensation = 0.0f */
    for (int64_t s = s0; s < s1; s++) {
        for (int64_t e_first = 0; e_first < 64; e_first += OF(64, 16, 8)) {
            UNROLL for (int64_t vector = 0, e = e_first; vector < OF(4, 2, 2); vector++, e += LANES) {
                T(store)(carried_2 + s * 64 + e, T(splat)(0.0f));
                T(store)(carried_2_compensation + s * 64 + e, T(splat)(0.0f));
            }
        }
    }
}

/* Sums the keys of a chunk, from zero, into its slot. */
TARGET APART void T(linformer_few_keys)(const struct call *call, int64_t task, const struct share *share,
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
    const float *const project_e = (const float *)call->array[ARRAY_project_e].at;
    const float *const project_f = (const float *)call->array[ARRAY_project_f].at;
    float *const state = (float *)(void *)(share->slots + 0); /* [chunk, s: 256, d: 64] */
    float *const state_2 = (float *)(void *)(share->slots + 65600); /* [chunk, s: 256, e: 64] */
    /* state = 0.0f */
    for (int64_t s = 0; s < 256; s++) {
        for (int64_t d_first = 0; d_first < 64; d_first += OF(64, 16, 8)) {
            UNROLL for (int64_t vector = 0, d = d_first; vector < OF(4, 2, 2); vector++, d += LANES) {
                T(store)(state + (chunk - chunk0) * 32800 + s * 64 + d, T(splat)(0.0f));
            }
        }
    }
    /* state_2 = 0.0f */
    for (int64_t s = 0; s < 256; s++) {
        for (int64_t e_first = 0; e_first < 64; e_first += OF(64, 16, 8)) {
            UNROLL for (int64_t vector = 0, e = e_first; vector < OF(4, 2, 2); vector++, e += LANES) {
                T(store)(state_2 + (chunk - chunk0) * 32800 + s * 64 + e, T(splat)(0.0f));
            }
        }
    }
    for (int64_t j0 = chunk * 1024, j_end = min(n_k, (chunk + 1) * 1024); j0 < j_end; j0 += 128) {
        const int64_t j1 = min(j0 + 128, j_end);
        /* state[s][d] += sum over j of project_e * k */
#if OF(1, 0, 0)
        T(dot3)(j1 - j0, project_e + j0, n_k, k + j0 * k_row, k_row, state + (chunk - chunk0) * 32800,
            attn_is_intel() ? 16 : 0);
#else
        T(dot3)(j1 - j0, project_e + j0, n_k, k + j0 * k_row, k_row, state + (chunk - chunk0) * 32800);
#endif
        /* state_2[s][e] += sum over j of project_f * v */
#if OF(1, 0, 0)
        T(dot3)(j1 - j0, project_f + j0, n_k, v + j0 * v_row, v_row, state_2 + (chunk - chunk0) * 32800,
            attn_is_intel() ? 16 : 0);
#else
        T(dot3)(j1 - j0, project_f + j0, n_k, v + j0 * v_row, v_row, state_2 + (chunk - chunk0) * 32800);
#endif
    }
}

/* Folds the slots of the current chunks, in order, for some elements of the states. */
TARGET APART void T(linformer_few_fold)(const struct call *call, int64_t task, const struct share *share,
    int64_t iteration)
{
    (void)call;
    (void)task;
    const int64_t s0 = iteration * 32, s1 = min(s0 + 32, 256);
    const int64_t chunk0 = share->chunk0;
    const int64_t chunk1 = share->chunk1;
    float *const state = (float *)(void *)(share->slots + 0); /* [chunk, s: 256, d: 64] */
    float *const state_2 = (float *)(void *)(share->slots + 65600); /* [chunk, s: 256, e: 64] */
    float *const carried = (float *)(void *)(share->shared + 0); /* [s: 256, d: 64] */
    float *const carried_compensation = (float *)(void *)(share->shared + 131200); /* [s: 256, d: 64] */
    float *const carried_2 = (float *)(void *)(share->shared + 65600); /* [s: 256, e: 64] */
    float *const carried_2_compensation = (float *)(void *)(share->shared + 196800); /* [s: 256, e: 64] */
    for (int64_t chunk = chunk0; chunk < chunk1; chunk++) {
        /* before = carried; carried += state */
        for (int64_t s = s0; s < s1; s++) {
            for (int64_t d_first = 0; d_first < 64; d_first += OF(64, 16, 8)) {
                UNROLL for (int64_t vector = 0, d = d_first; vector < OF(4, 2, 2); vector++, d += LANES) {
                    T(add)(carried + s * 64 + d, carried_compensation + s * 64 + d,
                        T(load)(state + (chunk - chunk0) * 32800 + s * 64 + d), T(splat)(1));
                }
            }
        }
        /* before_2 = carried_2; carried_2 += state_2 */
        for (int64_t s = s0; s < s1; s++) {
            for (int64_t e_first = 0; e_first < 64; e_first += OF(64, 16, 8)) {
                UNROLL for (int64_t vector = 0, e = e_first; vector < OF(4, 2, 2); vector++, e += LANES) {
                    T(add)(carried_2 + s * 64 + e, carried_2_compensation + s * 64 + e,
                        T(load)(state_2 + (chunk - chunk0) * 32800 + s * 64 + e), T(splat)(1));
                }
            }
        }
    }
}

/* Processes a tile of queries: reads the states. */
TARGET APART void T(linformer_few_queries)(const struct call *call, int64_t task, const struct share *share,
    int64_t iteration)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_q = call->p.n_q;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t r0 = iteration * 16, r1 = min(r0 + 16, rows);
    const int64_t g = task % kv_heads;
    const int64_t b = task / kv_heads;
    const float *const q = (const float *)call->array[ARRAY_q].at + b * call->array[ARRAY_q].strides.batch + g /
        call->sharing * members * call->array[ARRAY_q].strides.head;
    const int64_t q_row = call->array[ARRAY_q].strides.row;
    const int64_t q_head = call->array[ARRAY_q].strides.head;
    float *const carried = (float *)(void *)(share->shared + 0); /* [s: 256, d: 64] */
    float *const carried_2 = (float *)(void *)(share->shared + 65600); /* [s: 256, e: 64] */
    float *const query = (float *)(void *)(share->work + 0); /* [r: 64, d: 64] */
    float *const sum_from_state = (float *)(void *)(share->work + 16384); /* [r: 64, s: 256 of 272] */
    float *const carried_turned = (float *)(void *)(share->work + 86016); /* [d: 64, s: 256 of 272] */
    float *const query_max = (float *)(void *)(share->work + 0); /* [r: 64] */
    float *const query_sum = (float *)(void *)(share->work + 0); /* [r: 64] */
    float *const sum_from_state_2 = (float *)(void *)(share->work + 86016); /* [r: 64, e: 64] */
    float *const out = (float *)call->array[ARRAY_out].at + b * call->array[ARRAY_out].strides.batch + g * members *
        call->array[ARRAY_out].strides.head;
    const int64_t out_row = call->array[ARRAY_out].strides.row;
    const int64_t out_head = call->array[ARRAY_out].strides.head;
    float *const sum_from_state_turned = (float *)(void *)(share->work + 86016); /* [s: 256, r: 64 of 80] */
    float *const query_2_turned = (float *)(void *)(share->work + 86016); /* [s: 256, r: 64 of 80] */
    /* query = q * 0.18033688f */
    for (int64_t r = r0; r < r1; r++) {
        for (int64_t d_first = 0; d_first < 64; d_first += OF(64, 16, 8)) {
            UNROLL for (int64_t vector = 0, d = d_first; vector < OF(4, 2, 2); vector++, d += LANES) {
                T(store)(query + r * 64 + d, T(load)(q + r / n_q * q_head + r % n_q * q_row + d) * 0.18033688f);
            }
        }
    }
    /* carried_turned = carried, with zeros beyond the last row */
    T(transpose)(carried, 64, 256, 64, carried_turned, 272, 64);
    /* sum_from_state[r][s] = sum over d of query * carried_turned */
    T(dot4)(r1 - r0, query + r0 * 64, carried_turned, sum_from_state + r0 * 272);
    /* query_max = -FLT_MAX */
    for (int64_t r = r0; r < r1; r += LANES) {
        T(store)(query_max + r, T(splat)(-FLT_MAX));
    }
    /* sum_from_state_turned = sum_from_state, with zeros beyond the last row */
    T(transpose_padded)(sum_from_state + r0 * 272, 272, r1 - r0, 256, sum_from_state_turned + r0, 80, 64);
    /* query_max max= sum_from_state_turned */
    for (int64_t r = r0; r < r1; r += LANES) {
        T(vec) query_max_in[4];
        UNROLL for (int s_chain = 0; s_chain < 4; s_chain++) query_max_in[s_chain] = T(splat)(-INFINITY);
        for (int64_t s_first = 0; s_first < 256; s_first += 4) {
            UNROLL for (int s_chain = 0; s_chain < 4; s_chain++) {
                const int64_t s = min(s_first + s_chain, 256 - 1);
                query_max_in[s_chain] = T(max)(query_max_in[s_chain], T(load)(sum_from_state_turned + s * 80 + r));
            }
        }
        T(store)(query_max + r, T(max)(T(load)(query_max + r), T(max)(T(max)(T(max)(query_max_in[0], query_max_in[1]),
            query_max_in[2]), query_max_in[3])));
    }
    /* sum_from_state = exp2(sum_from_state - query_max) */
    for (int64_t r = r0; r < r1; r++) {
        for (int64_t s = 0; s < 256; s += LANES) {
            T(store)(sum_from_state + r * 272 + s, T(exp2)(T(load)(sum_from_state + r * 272 + s) - query_max[r]));
        }
    }
    /* query_sum = 0.0f */
    for (int64_t r = r0; r < r1; r += LANES) {
        T(store)(query_sum + r, T(splat)(0.0f));
    }
    /* query_2_turned = sum_from_state, with zeros beyond the last row */
    T(transpose_padded)(sum_from_state + r0 * 272, 272, r1 - r0, 256, query_2_turned + r0, 80, 64);
    /* query_sum += query_2_turned */
    for (int64_t r = r0; r < r1; r += LANES) {
        T(vec) query_sum_in = (T(vec)){0};
        T(vec) query_sum_in_whole = (T(vec)){0};
        for (int64_t s = 0; s < 256; s++) {
            query_sum_in += T(load)(query_2_turned + s * 80 + r);
            if (s % 32 == 31) {
                query_sum_in_whole += query_sum_in;
                query_sum_in = (T(vec)){0};
            }
        }
        query_sum_in += query_sum_in_whole;
        T(store)(query_sum + r, T(load)(query_sum + r) + query_sum_in);
    }
    /* sum_from_state_2[r][e] = sum over s of sum_from_state * carried_2 */
    T(dot5)(r1 - r0, sum_from_state + r0 * 272, carried_2, sum_from_state_2 + r0 * 64);
    /* sum_from_state_2 = select(query_sum == 0.0f, 0.0f, sum_from_state_2 / query_sum) */
    for (int64_t r = r0; r < r1; r++) {
        for (int64_t e_first = 0; e_first < 64; e_first += OF(64, 16, 8)) {
            UNROLL for (int64_t vector = 0, e = e_first; vector < OF(4, 2, 2); vector++, e += LANES) {
                const float query_sum_0 = query_sum[r];
                T(store)(sum_from_state_2 + r * 64 + e, (query_sum_0 == 0.0f) ? T(splat)(0.0f) :
                    T(load)(sum_from_state_2 + r * 64 + e) / query_sum_0);
            }
        }
    }
    /* out = sum_from_state_2 */
    for (int64_t r = r0; r < r1; r++)
        for (int64_t e = 0; e < 64; e++)
            out[r / n_q * out_head + r % n_q * out_row + e] = sum_from_state_2[r * 64 + e];
}

/* Computes head number `task`. Each thread on the head calls this with `share`. */
TARGET static void T(linformer_few)(const struct call *call, int64_t task, struct share *share)
{
    const int64_t n_k = call->p.n_k;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t chunks = n_k > 0 ? (n_k - 1) / 1024 + 1 : 1;
    for (int64_t iteration = share->number; iteration < ((256 + 31) / 32); iteration += share->threads)
        T(linformer_few_begin)(call, task, share, iteration);
    synchronise(share);
    const int64_t first = 0;
    const int64_t length = segment_length(share, chunks - first);
    for (int64_t segment = share->number; first + segment * length < chunks; segment += share->threads) {
        share->chunk0 = first + segment * length;
        share->chunk1 = min(share->chunk0 + length, chunks);
        for (int64_t iteration = share->chunk0; iteration < share->chunk1; iteration++)
            T(linformer_few_keys)(call, task, share, iteration);
        for (int64_t group = 0; group < 16; group++) {
            await_segment(share, group, segment);
            const int64_t end = (group + 1) * ((256 + 31) / 32) / 16;
            for (int64_t iteration = group * ((256 + 31) / 32) / 16; iteration < end; iteration++)
                T(linformer_few_fold)(call, task, share, iteration);
            pass_segment(share, group, segment);
        }
    }
    share->segments += (max(chunks - first, 0) + length - 1) / length;
    synchronise(share);
    for (int64_t iteration = share->number; iteration < ((rows + 15) / 16); iteration += share->threads)
        T(linformer_few_queries)(call, task, share, iteration);
    synchronise(share);
}
#include <attnrt/kernel/end.h>
#else
#ifdef __cplusplus
#error "linformer.c is C, not C++: compile it with a C compiler"
#elif !defined __STDC_VERSION__ || __STDC_VERSION__ < 199901L
#error "linformer.c is C11, not C89: compile it without -std=, or with -std=gnu11"
extern int linformer_is_c11;
#elif !defined __GNUC__
#error "linformer.c uses GNU C vector extensions: compile it with gcc or clang"
extern int linformer_is_gnu_c;
#else
#include "linformer.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include <attnrt/kernel/optimize.h>
#include <attnrt/kernel/call.h>

/* the numbers of the arrays of a call */
enum {
    ARRAY_q, ARRAY_k, ARRAY_v, ARRAY_out, ARRAY_project_e, ARRAY_project_f
};

#ifdef __FILE_NAME__
#define LOOPS __FILE_NAME__ /* this file, whose first part has the loops */
#else
#define LOOPS "linformer.c"
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
static const struct attn_param param[] = {
    {"project.e", ATTN_F32, 2, {256, ATTN_N_K}, offsetof(struct linformer_params, project_e), 0, ATTN_CONTIGUOUS, 0, 0,
        ATTN_NO_LIMITS},
    {"project.f", ATTN_F32, 2, {256, ATTN_N_K}, offsetof(struct linformer_params, project_f), 0, ATTN_CONTIGUOUS, 0, 0,
        ATTN_NO_LIMITS},
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
    {.name = "project.e", .access = {ACCESS_READ, ACCESS_NONE}, .dtype = ATTN_F32, .rows = ROWS_OF_KEYS,
        .origin = FROM_PARAMS, .param = 0, .axis = {-1, -1, 1}},
    {.name = "project.f", .access = {ACCESS_READ, ACCESS_NONE}, .dtype = ATTN_F32, .rows = ROWS_OF_KEYS,
        .origin = FROM_PARAMS, .param = 1, .axis = {-1, -1, 1}},
};

#if defined(__x86_64__)
static int runs_v4(void)
{
    return attn_x86_64_level() >= 4;
}
static const struct program programs_v4[] = {
    {.role = RUN_FORWARD, .form = FORM_FEW,
     .head = linformer_few_v4, .tile = 0, .own = 167936, .few_rows = 64, .lanes = 16, .of_pair = 128, .shared = 262400,
         .slot = 131200, .slots = 4, .together = 1},
    {.role = RUN_FORWARD,
     .head = linformer_rows_v4, .tile = 0, .own = 102912, .of_pair = 128, .shared = 262400, .slot = 131200, .slots = 4,
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
     .head = linformer_few_v3, .tile = 0, .own = 167936, .few_rows = 64, .lanes = 8, .of_pair = 128, .shared = 262400,
         .slot = 131200, .slots = 4, .together = 1},
    {.role = RUN_FORWARD,
     .head = linformer_rows_v3, .tile = 0, .own = 102912, .of_pair = 128, .shared = 262400, .slot = 131200, .slots = 4,
         .together = 1},
};
#endif
static const struct program programs_any[] = {
    {.role = RUN_FORWARD, .form = FORM_FEW,
     .head = linformer_few_any, .tile = 0, .own = 167936, .few_rows = 64, .lanes = 4, .of_pair = 128, .shared = 262400,
         .slot = 131200, .slots = 4, .together = 1},
    {.role = RUN_FORWARD,
     .head = linformer_rows_any, .tile = 0, .own = 102912, .of_pair = 128, .shared = 262400, .slot = 131200, .slots = 4,
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
    .layout = KERNEL_LAYOUT, .name = "linformer", .openmp = OPENMP,
    .target = target, .targets = sizeof target / sizeof *target - 1,
    .array = array, .arrays = sizeof array / sizeof *array,
    .param = param, .params = 2, .params_bytes = sizeof(struct linformer_params),
    .dtype = ATTN_F32, .key_dtype = ATTN_F32, .value_dtype = ATTN_F32, .real = sizeof(float), .element = sizeof(float),
    .head_dim = 64, .value_dim = 64, .key_row = 64, .value_row = 64,
    .shares = 1,
    .ids = -1,
    .corrected = -1,
    .solution = -1,
};

/* ==== the interface ==== */
size_t linformer_params_size(void) { return attn_call_params_size(&kernel); }
int linformer_params_init(struct linformer_params *params, uint64_t seed, void *storage)
{
    return attn_call_params_init(&kernel, params, seed, storage);
}
size_t linformer_workspace(const struct attn_problem *problem) { return attn_call_workspace(&kernel, problem); }
int linformer_forward(const struct attn_problem *problem, const struct linformer_params *params, const float *q,
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
const struct attn_kernel linformer_kernel = {
    .name = "linformer", .version = "0.2.0", .dtype = ATTN_F32, .head_dim = 64, .value_dim = 64,
    .params = 2, .param = param, .params_bytes = sizeof(struct linformer_params),
    .params_size = linformer_params_size, .params_init = params_init_any, .forward = forward_any,
    .workspace = linformer_workspace,
    .key_dtype = ATTN_F32, .value_dtype = ATTN_F32,
    .before = INT64_MAX, .after = INT64_MAX, .period = 1, .names_heads = 0, .names_sequences = 0, .in_parts = 0,
    .saved_power = 0, .has_sink = 0, .open_keys = 0, .end_of_keys = INT64_MAX,
};
#endif /* a compiler of this language */
#endif /* SECTION */
