/* dsa.c, made by attnc 0.2.0: attnc dsa.yaml
   C11 with GNU extensions, for a C compiler; C++ includes dsa.h.
   sparse attention of DeepSeek: an indexer of 64 small heads chooses 2048 keys for a query, the same for all heads
   DeepSeek-AI, DeepSeek-V3.2 (arXiv 2025), section 2.1, equations 1 and 2

   Computes, in f32, over the axes b (batch), g (key/value head), m (query head of g), i (query), j (key), d (576),
   e (512), qi_axis_2 (64), qi_axis_4 (128), ki_axis_2 (1), ki_axis_4 (128), w_axis_3 (64), listed (2048):
     q [b g m i d]
     k [b g j d]
     v [b g j e]
     qi [b qi_axis_2 i qi_axis_4], learned parameter
     ki [b ki_axis_2 j ki_axis_4], learned parameter
     x5 [b qi_axis_2 i j] = sum over qi_axis_4 of qi * ki[b, 0, j, qi_axis_4]
     w [b i w_axis_3], learned parameter
     x7 [b i j qi_axis_2] = w[b, i, qi_axis_2] * max(x5, 0)
     x8 [b i j] = sum over qi_axis_2 of x7
     x9 [b g m i j] = sum over d of q * k
     x10 [b g m i j] = exp(x9 * 0.07216878364870322)
     x11 [b i j] = x8
     taken [b i listed] = 
     x13 [b g m i] = sum over j of x10 if j <= i + query_start && drawn(i, j, b * n_q, in taken)
     x14 [b g m i e] = sum over j of x10 * v if j <= i + query_start && drawn(i, j, b * n_q, in taken)
     x15 [b g m i e] = x13 == 0 ? 0 : x14 / x13
     out = x15
   query_start is the position of the first query: problem.query_start[b], or n_k - n_q if that is NULL.

   How: each vector lane holds one query. Keys are processed in tiles,
   so row sums and maxima need no reduction across lanes.
   The sums of a tile start from zero and are added to the sums so far. Tiles that no query sees are skipped.
   For few queries each lane holds one key. The queries of all heads that share keys are the rows of one tile,
   so each key is read once.
   The chunks of keys are divided among the threads. Their sums are added in the order of the chunks.
   For few queries of 32 or more heads that share keys, each lane holds one head of a query.
     x86-64-v4  quadratic tiles of 64 queries and 288 keys; 610048 bytes of workspace per thread
     x86-64-v4  few       tiles of 64 queries and 128 keys; 964608 bytes of workspace per thread
     x86-64-v4  heads     tiles of 32 queries and 128 keys; 820864 bytes of workspace per thread
     x86-64-v3  quadratic tiles of 64 queries and 288 keys; 610048 bytes of workspace per thread
     x86-64-v3  few       tiles of 64 queries and 128 keys; 964608 bytes of workspace per thread
     x86-64-v3  heads     tiles of 32 queries and 128 keys; 820864 bytes of workspace per thread
     generic    quadratic tiles of 64 queries and 288 keys; 610048 bytes of workspace per thread
     generic    few       tiles of 64 queries and 128 keys; 964608 bytes of workspace per thread
     generic    heads     tiles of 32 queries and 128 keys; 820864 bytes of workspace per thread

   Contents:
     loops      dsa_rows, dsa_few, dsa_heads, dsa_select
     targets    x86-64-v4, x86-64-v3, generic
     tables     arrays and programs, for the functions of attnrt that call the loops
     interface  dsa_workspace, dsa_forward, dsa_kernel
   The file includes itself, so that the loops are compiled once for each target. T(name) is a name with the target's
   suffix, LANES the elements of its vectors, and OF(…) a number for each target.

   Compile with: cc -O2 -fopenmp dsa.c … -lattnrt -lm */
#ifdef SECTION
#include <attnrt/kernel/vector.h>
#include <attnrt/kernel/elementary.h>
#include <attnrt/kernel/draw.h>
#include <attnrt/kernel/listed.h>
#include <attnrt/kernel/select.h>
#include <attnrt/kernel/product.h>
#include <attnrt/kernel/gather_product.h>

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
    T(dot_ahead)(/*vectors=*/OF(4, 2, 2), lanes, rows, /*tail=*/-1, /*steps=*/576, /*span=*/32, a, a_row, /*a_step=*/1,
        b, /*b_step=*/80, c, /*c_row=*/80, /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL, next, next_row,
        /*width=*/512, result, result_row, /*result_width=*/512, results);
}
TARGET APART void T(dot1)(int64_t lanes, int64_t steps, const float *a, int64_t a_step, const float *b, float *c,
    const float *factor, float *compensation)
{
    T(dot_finite)(/*vectors=*/OF(4, 2, 2), lanes, /*rows=*/512, /*tail=*/2, steps, /*span=*/192, a, /*a_row=*/1, a_step,
        b, /*b_step=*/80, c, /*c_row=*/80, /*update=*/3, factor, compensation);
}
TARGET APART void T(dot2)(int64_t lanes, int64_t steps, const float *a, int64_t a_step, const float *b, float *c,
    const float *factor, float *compensation)
{
    T(dot)(/*vectors=*/OF(4, 2, 2), lanes, /*rows=*/512, /*tail=*/2, steps, /*span=*/192, a, /*a_row=*/1, a_step, b,
        /*b_step=*/80, c, /*c_row=*/80, /*update=*/3, factor, compensation);
}
#if OF(1, 0, 0)
TARGET APART void T(dot3)(int64_t rows, int64_t columns, const float *a, const float *b, int64_t b_row, float *c,
    int64_t early)
#else
TARGET APART void T(dot3)(int64_t rows, int64_t columns, const float *a, const float *b, int64_t b_row, float *c)
#endif
{
#if OF(1, 0, 0)
    T(dot_along)(rows, columns, /*steps=*/576, a, /*a_row=*/576, b, b_row, c, /*c_row=*/144, early);
#endif
#if OF(0, 1, 0)
    T(dot_along)(rows, columns, /*steps=*/576, a, /*a_row=*/576, b, b_row, c, /*c_row=*/144);
#endif
#if OF(0, 0, 1)
    T(dot_along)(rows, columns, /*steps=*/576, a, /*a_row=*/576, b, b_row, c, /*c_row=*/144, /*early=*/64);
#endif
}
TARGET APART void T(dot4)(int64_t rows, int64_t steps, const float *a, const float *b, int64_t b_step, float *c)
{
    T(dot_finite_lanes)(/*fetched=*/1, /*vectors=*/OF(4, 2, 2), /*lanes=*/512, rows, /*tail=*/-1, steps, /*span=*/192,
        a, /*a_row=*/144, /*a_step=*/1, b, b_step, c, /*c_row=*/528, /*update=*/1, /*factor=*/NULL,
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
    T(dot_fetched)(/*vectors=*/4, /*lanes=*/512, rows, /*tail=*/-1, steps, /*span=*/192, a, /*a_row=*/144, /*a_step=*/1,
        b, b_step, c, /*c_row=*/528, /*update=*/1, /*factor=*/NULL, /*compensation=*/NULL, early);
#endif
#if OF(0, 1, 0)
    T(dot_fetched)(/*vectors=*/2, /*lanes=*/512, rows, /*tail=*/-1, steps, /*span=*/192, a, /*a_row=*/144, /*a_step=*/1,
        b, b_step, c, /*c_row=*/528, /*update=*/1, /*factor=*/NULL, /*compensation=*/NULL);
#endif
#if OF(0, 0, 1)
    T(dot_fetched)(/*vectors=*/2, /*lanes=*/512, rows, /*tail=*/-1, steps, /*span=*/192, a, /*a_row=*/144, /*a_step=*/1,
        b, b_step, c, /*c_row=*/528, /*update=*/1, /*factor=*/NULL, /*compensation=*/NULL, /*early=*/64);
#endif
}
TARGET APART void T(dot6)(int64_t lanes, int64_t rows, const float *a, int64_t a_row, const int32_t *index,
    const float *b, float *c, const float *next, int64_t next_row)
{
    T(dot_gathered)(lanes, rows, /*steps=*/576, /*span=*/64, a, a_row, index, b, /*b_step=*/32, c, /*c_row=*/32, next,
        next_row, /*width=*/512);
}
TARGET APART void T(dot7)(int64_t lanes, int64_t steps, const float *a, int64_t a_step, const int32_t *index,
    const float *b, float *c, const float *factor, float *compensation, const float *next, int64_t next_row,
    int64_t nexts)
{
    T(dot_over_gathered)(lanes, /*rows=*/512, steps, a, a_step, index, b, /*b_step=*/32, c, /*c_row=*/32, /*update=*/3,
        factor, compensation, next, next_row, /*width=*/576, nexts);
}
#if OF(1, 1, 0)
TARGET APART void T(dot8)(int64_t rows, const float *a, int64_t a_row, const float *b, float *c)
{
    T(select_product)(rows, /*steps=*/128, a, a_row, b, /*b_step=*/80, c, /*c_row=*/80);
}
TARGET APART void T(dot9)(int64_t lanes, int64_t rows, const float *a, int64_t a_row, int64_t a_step, const float *b,
    float *c)
#else
TARGET APART void T(dot8)(int64_t lanes, int64_t rows, const float *a, int64_t a_row, int64_t a_step, const float *b,
    float *c)
#endif
{
    T(dot)(/*vectors=*/OF(4, 2, 2), lanes, rows, /*tail=*/-1, /*steps=*/128, /*span=*/32, a, a_row, a_step, b,
        /*b_step=*/80, c, /*c_row=*/80, /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL);
}
#if OF(1, 1, 0)
TARGET APART void T(dot10)(int64_t lanes, float *best, float *known, const float *value, struct attn_range keys)
#else
TARGET APART void T(dot9)(int64_t lanes, float *best, float *known, const float *value, struct attn_range keys)
#endif
{
    T(select)(lanes, /*count=*/2048, /*block=*/1, best, /*best_row=*/8208, known, /*known_row=*/80, value,
        /*value_row=*/80, keys);
}
#if OF(1, 1, 0)
TARGET APART void T(dot11)(int64_t lanes, float *best, float *known, int32_t *list, const struct share *share)
#else
TARGET APART void T(dot10)(int64_t lanes, float *best, float *known, int32_t *list, const struct share *share)
#endif
{
    T(select_list)(lanes, /*count=*/2048, /*block=*/1, best, /*best_row=*/8208, known, /*known_row=*/80, list, share,
        /*own=*/2348288);
}

/* Computes task number `task`: one tile of queries of one head. `work` is this thread's workspace. */
TARGET static void T(dsa_rows)(const struct call *call, int64_t task, unsigned char *work)
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
    const float *const q = (const float *)call->array[ARRAY_q].at + b * call->array[ARRAY_q].strides.batch + (g *
        members + m) * call->array[ARRAY_q].strides.head;
    const int64_t q_row = call->array[ARRAY_q].strides.row;
    const float *const k = (const float *)call->array[ARRAY_k].at + b * call->array[ARRAY_k].strides.batch + g *
        call->array[ARRAY_k].strides.head;
    const int64_t k_row = call->array[ARRAY_k].strides.row;
    const float *const v = (const float *)call->array[ARRAY_v].at + b * call->array[ARRAY_v].strides.batch + g *
        call->array[ARRAY_v].strides.head;
    const int64_t v_row = call->array[ARRAY_v].strides.row;
    const int32_t *const taken = (const int32_t *)call->array[ARRAY_taken].at;
    float *const score = (float *)(void *)(work + 0); /* [j: 288, i: 64 of 80] */
    float *const row_max = (float *)(void *)(work + 92160); /* [i: 64] */
    float *const old_max = (float *)(void *)(work + 92416); /* [i: 64] */
    float *const row_sum = (float *)(void *)(work + 92672); /* [i: 64] */
    float *const row_sum_compensation = (float *)(void *)(work + 92928); /* [i: 64] */
    float *const sum = (float *)(void *)(work + 93184); /* [e: 512, i: 64 of 80] */
    float *const sum_compensation = (float *)(void *)(work + 257024); /* [e: 512, i: 64 of 80] */
    float *const out = (float *)call->array[ARRAY_out].at + b * call->array[ARRAY_out].strides.batch + (g * members + m)
        * call->array[ARRAY_out].strides.head;
    const int64_t out_row = call->array[ARRAY_out].strides.row;
    float *const q_tile = (float *)(void *)(work + 420864); /* [d: 576, i: 64 of 80] */
    int64_t results = i1 - i0; /* rows of out to prefetch during the first product */
    /* q_tile = q, with zeros beyond the last row */
    T(transpose_padded)(q + i0 * q_row, q_row, i1 - i0, 576, q_tile, 80, LANES);
    /* q_tile = q_tile * 0.10411755f */
    for (int64_t d = 0; d < 576; d++) {
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            T(store)(q_tile + d * 80 + i, T(load)(q_tile + d * 80 + i) * 0.10411755f);
        }
    }
    /* row_max = -FLT_MAX; row_sum = 0.0f; row_sum_compensation = 0.0f */
    for (int64_t i = 0; i < i1 - i0; i += LANES) {
        T(store)(row_max + i, T(splat)(-FLT_MAX));
        T(store)(row_sum + i, T(splat)(0.0f));
        T(store)(row_sum_compensation + i, T(splat)(0.0f));
    }
    /* sum = 0.0f; sum_compensation = 0.0f */
    for (int64_t e = 0; e < 512; e++) {
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            T(store)(sum + e * 80 + i, T(splat)(0.0f));
            T(store)(sum_compensation + e * 80 + i, T(splat)(0.0f));
        }
    }
    for (int64_t j0 = 0, j_end = min(n_k, i1 + query_start); j0 < j_end; j0 += 288) {
        const int64_t j1 = min(j0 + 288, j_end);
        if (!(any_sorted(taken, 2048, (b * n_q) + i0, (b * n_q) + i1, j0, j1))) continue;
            /* no query sees a key of the tile */
        /* drawn_0: which keys of this tile are in the lists of its rows */
        const struct listed drawn_0 = {i0, j0, 2, (uint64_t *)(void *)(work + 605184)};
        find_listed(&drawn_0, taken + (b * n_q + drawn_0.first) * 2048, 2048, i1 - 1, j1 - 1);
        /* score[j][i] = sum over d of k * q_tile */
        T(dot0)(round_up(i1 - i0, LANES), j1 - j0, k + j0 * k_row, k_row, q_tile, score, v + j0 * v_row, v_row,
            out + i0 * out_row, out_row, results);
        results = 0;
        /* old_max = row_max */
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            T(store)(old_max + i, T(load)(row_max + i));
        }
        /* score = select((j <= (i + query_start)) && drawn(i, j, b * n_q), score, -INFINITY); row_max max= score */
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            const T(ints) t_0 = i0 + i + T(lane);
            const T(ints) t_1 = t_0 + query_start;
            T(vec) row_max_in = T(load)(row_max + i);
            for (int64_t j = 0; j < j1 - j0; j++) {
                const T(vec) score_2 = T(load)(score + j * 80 + i);
                const T(vec) score_new3 = T(pick)(__builtin_convertvector((j0 + j) <= t_1,
                    T(mask)) & T(listed)(&drawn_0, &t_0, j0 + j), score_2, T(splat)(-INFINITY));
                T(store)(score + j * 80 + i, score_new3);
                row_max_in = T(max)(row_max_in, score_new3);
            }
            T(store)(row_max + i, row_max_in);
        }
        /* old_max = exp2(old_max - row_max); row_sum = row_sum * old_max;
           row_sum_compensation = row_sum_compensation * old_max */
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            const T(vec) old_max_4 = T(load)(old_max + i);
            const T(vec) old_max_new5 = T(exp2)(old_max_4 - T(load)(row_max + i));
            T(store)(old_max + i, old_max_new5);
            T(store)(row_sum + i, T(load)(row_sum + i) * old_max_new5);
            T(store)(row_sum_compensation + i, T(load)(row_sum_compensation + i) * old_max_new5);
        }
        /* score = exp2(score - row_max); row_sum += score */
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            const T(vec) row_max_7 = T(load)(row_max + i);
            T(vec) row_sum_in = (T(vec)){0};
            for (int64_t j = 0; j < j1 - j0; j++) {
                const T(vec) score_6 = T(load)(score + j * 80 + i);
                const T(vec) score_new8 = T(exp2)(score_6 - row_max_7);
                T(store)(score + j * 80 + i, score_new8);
                row_sum_in += score_new8;
            }
            T(add)(row_sum + i, row_sum_compensation + i, row_sum_in, T(splat)(1));
        }
        /* sum[e][i] = sum * old_max + sum over j of v * score */
        if (__builtin_expect(!T(finite)(v + j0 * v_row, v_row, j1 - j0, 512),
            0)) { /* infinity and NaN affect only queries that see them */
            T(dot1)(round_up(i1 - i0, LANES), j1 - j0, v + j0 * v_row, v_row, score, sum, old_max, sum_compensation);
            for (int64_t j = 0; j < j1 - j0; j++) {
                T(mask) in_region[OF(4, 8, 16)] = {0};
                if (T(finite)(v + j0 * v_row + j * v_row, 1, 512, 1)) continue;
                for (int64_t i = 0; i < i1 - i0; i += LANES) {
                    const T(ints) t_9 = i0 + i + T(lane);
                    in_region[i / LANES] = __builtin_convertvector((j0 + j) <= (t_9 + query_start),
                        T(mask)) & T(listed)(&drawn_0, &t_9, j0 + j);
                }
                T(add_seen)(512, sum, 80, v + j0 * v_row + j * v_row, 1, score + j * 80, in_region, i1 - i0);
            }
        } else
            T(dot2)(round_up(i1 - i0, LANES), j1 - j0, v + j0 * v_row, v_row, score, sum, old_max, sum_compensation);
    }
    /* sum = select(row_sum == 0.0f, 0.0f, sum * (1.0f / row_sum)) */
    for (int64_t i = 0; i < i1 - i0; i += LANES) {
        const T(vec) row_sum_10 = T(load)(row_sum + i);
        const T(mask) t_11 = row_sum_10 == 0.0f;
        const T(vec) t_12 = 1.0f / row_sum_10;
        for (int64_t e = 0; e < 512; e++) {
            T(store)(sum + e * 80 + i, T(pick)(t_11, T(splat)(0.0f), T(load)(sum + e * 80 + i) * t_12));
        }
    }
    /* out = sum, transposed back */
    T(transpose_out)(sum, 80, 512, i1 - i0, out + i0 * out_row, out_row, LANES);
}

/* Initialises the states: they contain no keys yet. */
TARGET APART void T(dsa_few_begin)(const struct call *call, int64_t task, const struct share *share, int64_t iteration)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_q = call->p.n_q;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t r0 = iteration * 64, r1 = min(r0 + 64, rows);
    const int64_t g = task % kv_heads;
    const int64_t b = task / kv_heads;
    const float *const q = (const float *)call->array[ARRAY_q].at + b * call->array[ARRAY_q].strides.batch + g * members
        * call->array[ARRAY_q].strides.head;
    const int64_t q_row = call->array[ARRAY_q].strides.row;
    const int64_t q_head = call->array[ARRAY_q].strides.head;
    float *const query_turned = (float *)(void *)(share->shared + 0); /* [r: 64, d: 576] */
    /* query_turned = q * 0.10411755f */
    for (int64_t r = r0; r < r1; r++) {
        for (int64_t d_first = 0; d_first < 576; d_first += OF(64, 16, 8)) {
            UNROLL for (int64_t vector = 0, d = d_first; vector < OF(4, 2, 2); vector++, d += LANES) {
                T(store)(query_turned + r * 576 + d, T(load)(q + r / n_q * q_head + r % n_q * q_row + d) * 0.10411755f);
            }
        }
    }
}

/* Initialises the states: they contain no keys yet. */
TARGET APART void T(dsa_few_begin_2)(const struct call *call, int64_t task, const struct share *share,
    int64_t iteration)
{
    (void)task;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t r0 = iteration * 16, r1 = min(r0 + 16, rows);
    float *const carried_max = (float *)(void *)(share->shared + 147520); /* [r: 64] */
    float *const carried_sum = (float *)(void *)(share->shared + 147776); /* [r: 64] */
    float *const carried_sum_compensation = (float *)(void *)(share->shared + 283264); /* [r: 64] */
    float *const carried = (float *)(void *)(share->shared + 148032); /* [r: 64, e: 512 of 528] */
    float *const carried_compensation = (float *)(void *)(share->shared + 283520); /* [r: 64, e: 512 of 528] */
    /* carried_max = -FLT_MAX; carried_sum = 0.0f; carried_sum_compensation = 0.0f */
    for (int64_t r = r0; r < r1; r += LANES) {
        T(store)(carried_max + r, T(splat)(-FLT_MAX));
        T(store)(carried_sum + r, T(splat)(0.0f));
        T(store)(carried_sum_compensation + r, T(splat)(0.0f));
    }
    /* carried = 0.0f; carried_compensation = 0.0f */
    for (int64_t r = r0; r < r1; r++) {
        for (int64_t e_first = 0; e_first < 512; e_first += OF(64, 16, 8)) {
            UNROLL for (int64_t vector = 0, e = e_first; vector < OF(4, 2, 2); vector++, e += LANES) {
                T(store)(carried + r * 528 + e, T(splat)(0.0f));
                T(store)(carried_compensation + r * 528 + e, T(splat)(0.0f));
            }
        }
    }
}

/* Sums the keys of a chunk, from zero, into its slot. */
TARGET APART void T(dsa_few_keys)(const struct call *call, int64_t task, const struct share *share, int64_t iteration)
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
    const float *const k = (const float *)call->array[ARRAY_k].at + b * call->array[ARRAY_k].strides.batch + g *
        call->array[ARRAY_k].strides.head;
    const int64_t k_row = call->array[ARRAY_k].strides.row;
    const float *const v = (const float *)call->array[ARRAY_v].at + b * call->array[ARRAY_v].strides.batch + g *
        call->array[ARRAY_v].strides.head;
    const int64_t v_row = call->array[ARRAY_v].strides.row;
    const int32_t *const taken = (const int32_t *)call->array[ARRAY_taken].at;
    float *const score = (float *)(void *)(share->work + 0); /* [r: 64, j: 128 of 144] */
    float *const query_turned = (float *)(void *)(share->shared + 0); /* [r: 64, d: 576] */
    float *const state_max = (float *)(void *)(share->slots + 0); /* [chunk, r: 64] */
    float *const old_max = (float *)(void *)(share->work + 36864); /* [r: 64] */
    float *const state_sum = (float *)(void *)(share->slots + 256); /* [chunk, r: 64] */
    float *const state = (float *)(void *)(share->slots + 512); /* [chunk, r: 64, e: 512 of 528] */
    /* state_max = -FLT_MAX; state_sum = 0.0f */
    for (int64_t r = 0; r < rows; r += LANES) {
        T(store)(state_max + (chunk - chunk0) * 33936 + r, T(splat)(-FLT_MAX));
        T(store)(state_sum + (chunk - chunk0) * 33936 + r, T(splat)(0.0f));
    }
    /* state = 0.0f */
    for (int64_t r = 0; r < rows; r++) {
        for (int64_t e_first = 0; e_first < 512; e_first += OF(64, 16, 8)) {
            UNROLL for (int64_t vector = 0, e = e_first; vector < OF(4, 2, 2); vector++, e += LANES) {
                T(store)(state + (chunk - chunk0) * 33936 + r * 528 + e, T(splat)(0.0f));
            }
        }
    }
    for (int64_t j0 = chunk * 1024, j_end = min(min(n_k, (chunk + 1) * 1024), n_q + query_start); j0 < j_end;
        j0 += 128) {
        const int64_t j1 = min(j0 + 128, j_end);
        if (!(any_sorted(taken, 2048, b * n_q, n_q + (b * n_q), j0, j1))) continue;
            /* no query sees a key of the tile */
        /* drawn_0: which keys of this tile are in the lists of its rows */
        const struct listed drawn_0 = {0, j0, 3, (uint64_t *)(void *)(share->work + 135168)};
        find_listed(&drawn_0, taken + (b * n_q + drawn_0.first) * 2048, 2048, n_q - 1, j1 - 1);
        /* score[r][j] = sum over d of query_turned * k */
#if OF(1, 0, 0)
        T(dot3)(rows, j1 - j0, query_turned, k + j0 * k_row, k_row, score, attn_is_intel() ? 16 : 0);
#else
        T(dot3)(rows, j1 - j0, query_turned, k + j0 * k_row, k_row, score);
#endif
        /* old_max = state_max */
        for (int64_t r = 0; r < rows; r += LANES) {
            T(store)(old_max + r, T(load)(state_max + (chunk - chunk0) * 33936 + r));
        }
        /* score = select((j <= ((r % n_q) + query_start)) && drawn(r % n_q, j, b * n_q), score, -INFINITY) */
        for (int64_t j = 0; j < j1 - j0; j += LANES) {
            const T(ints) t_0 = j0 + j + T(lane);
            for (int64_t r = 0; r < rows; r++) {
                const int64_t t_1 = r % n_q;
                T(store)(score + r * 144 + j, T(pick)(__builtin_convertvector(t_0 <= ((r % n_q) + query_start),
                    T(mask)) & T(listed_for)(&drawn_0, t_1, &t_0), T(load)(score + r * 144 + j), T(splat)(-INFINITY)));
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
            if (largest > state_max[(chunk - chunk0) * 33936 + r]) state_max[(chunk - chunk0) * 33936 + r] = largest;
        }
        /* old_max = exp2(old_max - state_max); state_sum = state_sum * old_max */
        for (int64_t r = 0; r < rows; r += LANES) {
            const T(vec) old_max_2 = T(load)(old_max + r);
            const T(vec) old_max_new3 = T(exp2)(old_max_2 - T(load)(state_max + (chunk - chunk0) * 33936 + r));
            T(store)(old_max + r, old_max_new3);
            T(store)(state_sum + (chunk - chunk0) * 33936 + r, T(load)(state_sum + (chunk - chunk0) * 33936 + r) *
                old_max_new3);
        }
        /* score = exp2(score - state_max) */
        for (int64_t j = 0; j < j1 - j0; j += LANES) {
            for (int64_t r = 0; r < rows; r++) {
                T(store)(score + r * 144 + j, T(exp2)(T(load)(score + r * 144 + j) - (state_max[(chunk - chunk0) * 33936
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
            state_sum[(chunk - chunk0) * 33936 + r] += total;
        }
        /* state = state * old_max */
        for (int64_t r = 0; r < rows; r++) {
            for (int64_t e_first = 0; e_first < 512; e_first += OF(64, 16, 8)) {
                UNROLL for (int64_t vector = 0, e = e_first; vector < OF(4, 2, 2); vector++, e += LANES) {
                    T(store)(state + (chunk - chunk0) * 33936 + r * 528 + e,
                        T(load)(state + (chunk - chunk0) * 33936 + r * 528 + e) * old_max[r]);
                }
            }
        }
        /* state[r][e] += sum over j of score * v */
        if (__builtin_expect(!T(finite)(v + j0 * v_row, v_row, j1 - j0, 512),
            0)) { /* infinity and NaN affect only queries that see them */
            T(dot4)(rows, j1 - j0, score, v + j0 * v_row, v_row, state + (chunk - chunk0) * 33936);
            for (int64_t r = 0; r < rows; r++) {
                T(mask) in_region[OF(8, 16, 32)] = {0};
                const int64_t t_5 = (r % n_q) + query_start;
                const int64_t t_6 = r % n_q;
                for (int64_t j = 0; j < j1 - j0; j += LANES) {
                    const T(ints) t_4 = j0 + j + T(lane);
                    in_region[j / LANES] = __builtin_convertvector(t_4 <= t_5, T(mask)) & T(listed_for)(&drawn_0, t_6,
                        &t_4);
                }
                T(add_seen_lanes)(512, state + (chunk - chunk0) * 33936 + r * 528, score + r * 144, v + j0 * v_row,
                    v_row, j1 - j0, in_region);
            }
        } else
#if OF(1, 0, 0)
            T(dot5)(rows, j1 - j0, score, v + j0 * v_row, v_row, state + (chunk - chunk0) * 33936,
                attn_is_intel() ? 16 : 0);
#else
            T(dot5)(rows, j1 - j0, score, v + j0 * v_row, v_row, state + (chunk - chunk0) * 33936);
#endif
    }
}

/* Folds the slots of the current chunks, in order, for some elements of the states. */
TARGET APART void T(dsa_few_fold)(const struct call *call, int64_t task, const struct share *share, int64_t iteration)
{
    (void)task;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t r0 = iteration * 16, r1 = min(r0 + 16, rows);
    const int64_t chunk0 = share->chunk0;
    const int64_t chunk1 = share->chunk1;
    float *const state_max = (float *)(void *)(share->slots + 0); /* [chunk, r: 64] */
    float *const state_sum = (float *)(void *)(share->slots + 256); /* [chunk, r: 64] */
    float *const state = (float *)(void *)(share->slots + 512); /* [chunk, r: 64, e: 512 of 528] */
    float *const carried_max = (float *)(void *)(share->shared + 147520); /* [r: 64] */
    float *const carried_factor = (float *)(void *)(share->work + 0); /* [r: 64] */
    float *const slot_factor = (float *)(void *)(share->work + 256); /* [r: 64] */
    float *const carried_sum = (float *)(void *)(share->shared + 147776); /* [r: 64] */
    float *const carried_sum_compensation = (float *)(void *)(share->shared + 283264); /* [r: 64] */
    float *const carried = (float *)(void *)(share->shared + 148032); /* [r: 64, e: 512 of 528] */
    float *const carried_compensation = (float *)(void *)(share->shared + 283520); /* [r: 64, e: 512 of 528] */
    for (int64_t chunk = chunk0; chunk < chunk1; chunk++) {
        /* before_max = carried_max; carried_max max= state_max; carried_factor = exp2(before_max - carried_max);
           slot_factor = exp2(state_ ... */
        for (int64_t r = r0; r < r1; r += LANES) {
            const T(vec) carried_max_7 = T(load)(carried_max + r);
            const T(vec) before_max_new8 = carried_max_7;
            const T(vec) state_max_9 = T(load)(state_max + (chunk - chunk0) * 33936 + r);
            const T(vec) carried_max_new10 = T(max)(T(load)(carried_max + r), state_max_9);
            T(store)(carried_max + r, carried_max_new10);
            const T(vec) carried_factor_new11 = T(exp2)(before_max_new8 - carried_max_new10);
            T(store)(carried_factor + r, carried_factor_new11);
            const T(vec) slot_factor_new12 = T(exp2)(state_max_9 - carried_max_new10);
            T(store)(slot_factor + r, slot_factor_new12);
            const T(vec) carried_sum_13 = T(load)(carried_sum + r);
            T(store)(carried_sum + r, carried_sum_13 * carried_factor_new11);
            T(store)(carried_sum_compensation + r, T(load)(carried_sum_compensation + r) * carried_factor_new11);
            T(add)(carried_sum + r, carried_sum_compensation + r, T(load)(state_sum + (chunk - chunk0) * 33936 + r) *
                slot_factor_new12, T(splat)(1));
        }
        /* before = carried; carried = carried * carried_factor; carried_compensation = carried_compensation *
           carried_factor; carried += s ... */
        for (int64_t r = r0; r < r1; r++) {
            for (int64_t e_first = 0; e_first < 512; e_first += OF(64, 16, 8)) {
                UNROLL for (int64_t vector = 0, e = e_first; vector < OF(4, 2, 2); vector++, e += LANES) {
                    const T(vec) carried_14 = T(load)(carried + r * 528 + e);
                    const float carried_factor_15 = carried_factor[r];
                    T(store)(carried + r * 528 + e, carried_14 * carried_factor_15);
                    T(store)(carried_compensation + r * 528 + e, T(load)(carried_compensation + r * 528 + e) *
                        carried_factor_15);
                    T(add)(carried + r * 528 + e, carried_compensation + r * 528 + e,
                        T(load)(state + (chunk - chunk0) * 33936 + r * 528 + e) * slot_factor[r], T(splat)(1));
                }
            }
        }
    }
}

/* Processes a tile of queries: reads the states. */
TARGET APART void T(dsa_few_queries)(const struct call *call, int64_t task, const struct share *share,
    int64_t iteration)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_q = call->p.n_q;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t r0 = iteration * 16, r1 = min(r0 + 16, rows);
    const int64_t g = task % kv_heads;
    const int64_t b = task / kv_heads;
    float *const carried_sum = (float *)(void *)(share->shared + 147776); /* [r: 64] */
    float *const carried = (float *)(void *)(share->shared + 148032); /* [r: 64, e: 512 of 528] */
    float *const result = (float *)(void *)(share->work + 0); /* [r: 64, e: 512 of 528] */
    float *const out = (float *)call->array[ARRAY_out].at + b * call->array[ARRAY_out].strides.batch + g * members *
        call->array[ARRAY_out].strides.head;
    const int64_t out_row = call->array[ARRAY_out].strides.row;
    const int64_t out_head = call->array[ARRAY_out].strides.head;
    /* result = select(carried_sum == 0.0f, 0.0f, carried * (1.0f / carried_sum)) */
    for (int64_t r = r0; r < r1; r++) {
        for (int64_t e_first = 0; e_first < 512; e_first += OF(64, 16, 8)) {
            UNROLL for (int64_t vector = 0, e = e_first; vector < OF(4, 2, 2); vector++, e += LANES) {
                const float carried_sum_16 = carried_sum[r];
                T(store)(result + r * 528 + e, (carried_sum_16 == 0.0f) ? T(splat)(0.0f) : T(load)(carried + r * 528 +
                    e) * (1.0f / carried_sum_16));
            }
        }
    }
    /* out = result */
    for (int64_t r = r0; r < r1; r++)
        for (int64_t e = 0; e < 512; e++)
            out[r / n_q * out_head + r % n_q * out_row + e] = result[r * 528 + e];
}

/* Computes head number `task`. Each thread on the head calls this with `share`. */
TARGET static void T(dsa_few)(const struct call *call, int64_t task, struct share *share)
{
    const int64_t n_k = call->p.n_k;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t chunks = n_k > 0 ? (n_k - 1) / 1024 + 1 : 1;
    for (int64_t iteration = share->number; iteration < ((rows + 63) / 64); iteration += share->threads)
        T(dsa_few_begin)(call, task, share, iteration);
    for (int64_t iteration = share->number; iteration < ((rows + 15) / 16); iteration += share->threads)
        T(dsa_few_begin_2)(call, task, share, iteration);
    synchronise(share);
    const int64_t first = 0;
    const int64_t length = segment_length(share, chunks - first);
    for (int64_t segment = share->number; first + segment * length < chunks; segment += share->threads) {
        share->chunk0 = first + segment * length;
        share->chunk1 = min(share->chunk0 + length, chunks);
        for (int64_t iteration = share->chunk0; iteration < share->chunk1; iteration++)
            T(dsa_few_keys)(call, task, share, iteration);
        for (int64_t group = 0; group < 16; group++) {
            await_segment(share, group, segment);
            const int64_t end = (group + 1) * ((rows + 15) / 16) / 16;
            for (int64_t iteration = group * ((rows + 15) / 16) / 16; iteration < end; iteration++)
                T(dsa_few_fold)(call, task, share, iteration);
            pass_segment(share, group, segment);
        }
    }
    share->segments += (max(chunks - first, 0) + length - 1) / length;
    synchronise(share);
    for (int64_t iteration = share->number; iteration < ((rows + 15) / 16); iteration += share->threads)
        T(dsa_few_queries)(call, task, share, iteration);
    synchronise(share);
}

/* Computes task number `task`: one tile of queries of one head. `work` is this thread's workspace. */
TARGET static void T(dsa_heads)(const struct call *call, int64_t task, unsigned char *work)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_q = call->p.n_q;
    const int64_t n_k = call->p.n_k;
    const int64_t tiles = (n_q + 32 - 1) / 32, i0 = (tiles - 1 - task % tiles) * 32,
        i1 = min(i0 + 32, n_q);
    const int64_t m = task / tiles % members;
    const int64_t g = task / tiles / members % kv_heads;
    const int64_t b = task / tiles / members / kv_heads;
    const int64_t query_start = call->p.query_start ? call->p.query_start[b] : n_k - members;
    const float *const q = (const float *)call->array[ARRAY_q].at + b * call->array[ARRAY_q].strides.batch + g *
        call->array[ARRAY_q].group + m * call->array[ARRAY_q].strides.head;
    const int64_t q_row = call->array[ARRAY_q].strides.row;
    const float *const k = (const float *)call->array[ARRAY_k].at + b * call->array[ARRAY_k].strides.batch + g *
        call->array[ARRAY_k].strides.head;
    const int64_t k_row = call->array[ARRAY_k].strides.row;
    const float *const v = (const float *)call->array[ARRAY_v].at + b * call->array[ARRAY_v].strides.batch + g *
        call->array[ARRAY_v].strides.head;
    const int64_t v_row = call->array[ARRAY_v].strides.row;
    const int32_t *const taken = (const int32_t *)call->array[ARRAY_taken].at;
    float *const score = (float *)(void *)(work + 0); /* [j: 128, i: 32] */
    float *const row_max = (float *)(void *)(work + 16384); /* [i: 32] */
    float *const old_max = (float *)(void *)(work + 16512); /* [i: 32] */
    float *const row_sum = (float *)(void *)(work + 16640); /* [i: 32] */
    float *const row_sum_compensation = (float *)(void *)(work + 16768); /* [i: 32] */
    float *const sum = (float *)(void *)(work + 16896); /* [e: 512, i: 32] */
    float *const sum_compensation = (float *)(void *)(work + 82432); /* [e: 512, i: 32] */
    float *const out = (float *)call->array[ARRAY_out].at + b * call->array[ARRAY_out].strides.batch + g *
        call->array[ARRAY_out].group + m * call->array[ARRAY_out].strides.head;
    const int64_t out_row = call->array[ARRAY_out].strides.row;
    float *const q_tile = (float *)(void *)(work + 147968); /* [d: 576, i: 32] */
    /* q_tile = q, with zeros beyond the last row */
    T(transpose_padded)(q + i0 * q_row, q_row, i1 - i0, 576, q_tile, 32, LANES);
    /* q_tile = q_tile * 0.10411755f */
    for (int64_t d = 0; d < 576; d++) {
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            T(store)(q_tile + d * 32 + i, T(load)(q_tile + d * 32 + i) * 0.10411755f);
        }
    }
    /* row_max = -FLT_MAX; row_sum = 0.0f; row_sum_compensation = 0.0f */
    for (int64_t i = 0; i < i1 - i0; i += LANES) {
        T(store)(row_max + i, T(splat)(-FLT_MAX));
        T(store)(row_sum + i, T(splat)(0.0f));
        T(store)(row_sum_compensation + i, T(splat)(0.0f));
    }
    /* sum = 0.0f; sum_compensation = 0.0f */
    for (int64_t e = 0; e < 512; e++) {
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            T(store)(sum + e * 32 + i, T(splat)(0.0f));
            T(store)(sum_compensation + e * 32 + i, T(splat)(0.0f));
        }
    }
    /* every j in the list of the queries */
    int32_t *const j_list = (int32_t *)(void *)(work + 221696);
    const int64_t j_end = indices_in_list(taken + (b * members + m) * 2048, 2048, 1, 0, min(n_k, m + query_start + 1),
        j_list);
    for (int64_t j0 = 0; j0 < j_end; j0 += 128) {
        const int64_t j1 = min(j0 + 128, j_end);
        /* score[j][i] = sum over d of k * q_tile */
        T(dot6)(round_up(i1 - i0, LANES), j1 - j0, k, k_row, j_list + j0, q_tile, score, v, v_row);
        /* old_max = row_max */
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            T(store)(old_max + i, T(load)(row_max + i));
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
                        row_max_in[vector][j_chain] = T(max)(row_max_in[vector][j_chain], T(load)(score + j * 32 + i));
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
            const T(vec) old_max_0 = T(load)(old_max + i);
            const T(vec) old_max_new1 = T(exp2)(old_max_0 - T(load)(row_max + i));
            T(store)(old_max + i, old_max_new1);
            T(store)(row_sum + i, T(load)(row_sum + i) * old_max_new1);
            T(store)(row_sum_compensation + i, T(load)(row_sum_compensation + i) * old_max_new1);
        }
        /* score = exp2(score - row_max); row_sum += score */
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            const T(vec) row_max_3 = T(load)(row_max + i);
            T(vec) row_sum_in = (T(vec)){0};
            for (int64_t j = 0; j < j1 - j0; j++) {
                const T(vec) score_2 = T(load)(score + j * 32 + i);
                const T(vec) score_new4 = T(exp2)(score_2 - row_max_3);
                T(store)(score + j * 32 + i, score_new4);
                row_sum_in += score_new4;
            }
            T(add)(row_sum + i, row_sum_compensation + i, row_sum_in, T(splat)(1));
        }
        /* sum[e][i] = sum * old_max + sum over j of v * score */
        T(dot7)(round_up(i1 - i0, LANES), j1 - j0, v, v_row, j_list + j0, score, sum, old_max, sum_compensation, k,
            k_row, min(j_end - j1, 128));
    }
    /* sum = select(row_sum == 0.0f, 0.0f, sum * (1.0f / row_sum)) */
    for (int64_t i = 0; i < i1 - i0; i += LANES) {
        const T(vec) row_sum_5 = T(load)(row_sum + i);
        const T(mask) t_6 = row_sum_5 == 0.0f;
        const T(vec) t_7 = 1.0f / row_sum_5;
        for (int64_t e = 0; e < 512; e++) {
            T(store)(sum + e * 32 + i, T(pick)(t_6, T(splat)(0.0f), T(load)(sum + e * 32 + i) * t_7));
        }
    }
    /* out = sum, transposed back */
    T(transpose_out)(sum, 32, 512, i1 - i0, out + i0 * out_row, out_row, LANES);
}

/* Computes task number `task`: one slice of the rows of all batches and heads. The threads of `share` share its keys.
   */
TARGET static void T(dsa_select)(const struct call *call, int64_t task, struct share *share)
{
    const int64_t n_q = call->p.n_q;
    const int64_t n_k = call->p.n_k;
    const int64_t tiles = (n_q + 64 - 1) / 64, i0 = (tiles - 1 - task % tiles) * 64,
        i1 = min(i0 + 64, n_q);
    const int64_t b = task / tiles;
    unsigned char *const work = share->work;
    const int64_t query_start = call->p.query_start ? call->p.query_start[b] : n_k - n_q;
    const float *const qi_array = (const float *)call->array[ARRAY_qi_array].at + b *
        call->array[ARRAY_qi_array].strides.batch;
    const int64_t qi_array_row = call->array[ARRAY_qi_array].strides.row;
    const int64_t qi_array_stride_3 = call->array[ARRAY_qi_array].stride[3];
    const int64_t qi_array_head = call->array[ARRAY_qi_array].strides.head;
    const float *const ki_array = (const float *)call->array[ARRAY_ki_array].at + b *
        call->array[ARRAY_ki_array].strides.batch;
    const int64_t ki_array_row = call->array[ARRAY_ki_array].strides.row;
    const int64_t ki_array_stride_3 = call->array[ARRAY_ki_array].stride[3];
    const float *const w_array = (const float *)call->array[ARRAY_w_array].at + b *
        call->array[ARRAY_w_array].strides.batch;
    const int64_t w_array_row = call->array[ARRAY_w_array].strides.row;
    const int64_t w_array_stride_2 = call->array[ARRAY_w_array].stride[2];
    float *const score = (float *)(void *)(work + 0); /* [j: 288, i: 64 of 80] */
    float *const weight = (float *)(void *)(work + 92160); /* [j: 288, i: 64 of 80] */
    float *const best = (float *)(void *)(work + 184320); /* [i: 64, room: 8192 of 8208] */
    float *const best_known = (float *)(void *)(work + 2285568); /* [known: 4, i: 64 of 80] */
    float *const qi_tile = (float *)(void *)(work + 2286848); /* [qi_axis_4: 128, i: 64 of 80] */
    float *const w_tile = (float *)(void *)(work + 2327808); /* [w_axis_3: 64, i: 64 of 80] */
    if (w_array_stride_2 == 1) {
        /* w_tile = w_array, with zeros beyond the last row */
        T(transpose_padded)(w_array + i0 * w_array_row, w_array_row, i1 - i0, 64, w_tile, 80, LANES);
    } else {
        /* w_tile = w_array, with zeros beyond the last row */
        for (int64_t i = 0; i < round_up(i1 - i0, LANES); i++)
            for (int64_t w_axis_3 = 0; w_axis_3 < 64; w_axis_3++)
                w_tile[w_axis_3 * 80 + i] = i < i1 - i0 ? w_array[(i0 + i) * w_array_row + w_axis_3 * w_array_stride_2]
                    : 0;
    }
    /* best_known = -INFINITY */
    for (int64_t known = 0; known < 4; known++) {
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            T(store)(best_known + known * 80 + i, T(splat)(-INFINITY));
        }
    }
    const struct attn_range j_own = range_of_share(share, 0, min(n_k, i1 + query_start), 64);
    for (int64_t j0 = j_own.from, j_end = j_own.to; j0 < j_end; j0 += 288) {
        const int64_t j1 = min(j0 + 288, j_end);
        /* weight = 0.0f */
        for (int64_t j = 0; j < j1 - j0; j++) {
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                T(store)(weight + j * 80 + i, T(splat)(0.0f));
            }
        }
        for (int64_t qi_axis_2 = 0; qi_axis_2 < 64; qi_axis_2++) {
            if (qi_array_stride_3 == 1) {
                /* qi_tile = qi_array, with zeros beyond the last row */
                T(transpose_padded)(qi_array + qi_axis_2 * qi_array_head + i0 * qi_array_row, qi_array_row, i1 - i0,
                    128, qi_tile, 80, LANES);
            } else {
                /* qi_tile = qi_array, with zeros beyond the last row */
                for (int64_t i = 0; i < round_up(i1 - i0, LANES); i++)
                    for (int64_t qi_axis_4 = 0; qi_axis_4 < 128; qi_axis_4++)
                        qi_tile[qi_axis_4 * 80 + i] = i < i1 - i0 ? qi_array[qi_axis_2 * qi_array_head + (i0 + i) *
                            qi_array_row + qi_axis_4 * qi_array_stride_3] : 0;
            }
            /* score[j][i] = sum over qi_axis_4 of ki_array * qi_tile */
#if OF(1, 1, 0)
            if (i1 - i0 == 1 && ki_array_stride_3 == 1)
                T(dot8)(j1 - j0, ki_array + j0 * ki_array_row, ki_array_row, qi_tile, score);
            else
            T(dot9)(round_up(i1 - i0, LANES), j1 - j0, ki_array + j0 * ki_array_row, ki_array_row, ki_array_stride_3,
                qi_tile, score);
#else
            T(dot8)(round_up(i1 - i0, 4), j1 - j0, ki_array + j0 * ki_array_row, ki_array_row, ki_array_stride_3,
                qi_tile, score);
#endif
            /* weight += w_tile * max(score, 0) */
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                const T(vec) w_tile_0 = T(load)(w_tile + qi_axis_2 * 80 + i);
                for (int64_t j = 0; j < j1 - j0; j++) {
                    T(store)(weight + j * 80 + i, T(load)(weight + j * 80 + i) + (w_tile_0 * T(max_nan)(T(load)(score +
                        j * 80 + i), T(splat)((float)0))));
                }
            }
        }
        if ((i0 + query_start + 1) < j1) { /* the tile is partly outside the mask */
            /* weight = select(j <= (i + query_start), weight, -INFINITY) */
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                const T(ints) t_1 = (i0 + i + T(lane)) + query_start;
                for (int64_t j = 0; j < j1 - j0; j++) {
                    T(store)(weight + j * 80 + i, T(pick)(__builtin_convertvector((j0 + j) <= t_1, T(mask)),
                        T(load)(weight + j * 80 + i), T(splat)(-INFINITY)));
                }
            }
        }
        /* adds the keys of the tile to the candidates of each row */
#if OF(1, 1, 0)
        T(dot10)(i1 - i0, best, best_known, weight, (struct attn_range){j0, j1});
#else
        T(dot9)(i1 - i0, best, best_known, weight, (struct attn_range){j0, j1});
#endif
    }
    /* the numbers of the best candidates of each row, of all threads */
#if OF(1, 1, 0)
    T(dot11)(i1 - i0, best, best_known, (int32_t *)call->array[ARRAY_taken].at + ((b * n_q) + i0) * 2048, share);
#else
    T(dot10)(i1 - i0, best, best_known, (int32_t *)call->array[ARRAY_taken].at + ((b * n_q) + i0) * 2048, share);
#endif
}
#include <attnrt/kernel/end.h>
#else
#ifdef __cplusplus
#error "dsa.c is C, not C++: compile it with a C compiler"
#elif !defined __STDC_VERSION__ || __STDC_VERSION__ < 199901L
#error "dsa.c is C11, not C89: compile it without -std=, or with -std=gnu11"
extern int dsa_is_c11;
#elif !defined __GNUC__
#error "dsa.c uses GNU C vector extensions: compile it with gcc or clang"
extern int dsa_is_gnu_c;
#else
#include "dsa.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include <attnrt/kernel/optimize.h>
#include <attnrt/kernel/call.h>
#include <attnrt/kernel/masks.h>
#include <attnrt/kernel/gather.h>

/* the numbers of the arrays of a call */
enum {
    ARRAY_q, ARRAY_k, ARRAY_v, ARRAY_out, ARRAY_qi_array, ARRAY_ki_array, ARRAY_w_array, ARRAY_taken
};

#ifdef __FILE_NAME__
#define LOOPS __FILE_NAME__ /* this file, whose first part has the loops */
#else
#define LOOPS "dsa.c"
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
#define MAX_TERMS 576
#define MAX_LANES 512
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
#define MAX_TERMS 576
#define MAX_LANES 512
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
#define MAX_TERMS 576
#define MAX_LANES 512
#define OF(v4, v3, any) any /* a number of each target */
#define SECTION
#include LOOPS
#undef SECTION

/* ==== tables for the library that calls these functions (attnrt/kernel/call.h) ==== */
static const struct attn_param param[] = {
    {"qi", ATTN_F32, 4, {ATTN_BATCH, 64, ATTN_N_Q, 128}, offsetof(struct dsa_params, qi), 0,
        offsetof(struct dsa_strides, qi), 0, 1, ATTN_NO_LIMITS},
    {"ki", ATTN_F32, 4, {ATTN_BATCH, 1, ATTN_N_K, 128}, offsetof(struct dsa_params, ki), 0, offsetof(struct dsa_strides,
        ki), 0, 1, ATTN_NO_LIMITS},
    {"w", ATTN_F32, 3, {ATTN_BATCH, ATTN_N_Q, 64}, offsetof(struct dsa_params, w), 0, offsetof(struct dsa_strides, w),
        0, 1, ATTN_NO_LIMITS},
};

static const struct array array[] = {
    {.name = "q", .access = {ACCESS_READ, ACCESS_NONE}, .dtype = ATTN_F32, .rows = ROWS_OF_QUERIES, .argument = {0, 0},
        .strides = offsetof(struct attn_problem, q)},
    {.name = "k", .access = {ACCESS_READ, ACCESS_NONE}, .dtype = ATTN_F32, .rows = ROWS_OF_KEYS, .argument = {1, 1},
        .strides = offsetof(struct attn_problem, k)},
    {.name = "v", .access = {ACCESS_READ, ACCESS_NONE}, .dtype = ATTN_F32, .rows = ROWS_OF_KEYS, .origin = FROM_ARRAY,
        .of = ARRAY_k, .strides = offsetof(struct attn_problem, v)},
    {.name = "out", .access = {ACCESS_WRITTEN, ACCESS_NONE}, .dtype = ATTN_F32, .rows = ROWS_OF_QUERIES, .argument = {2,
        2}, .strides = offsetof(struct attn_problem, out)},
    {.name = "qi", .access = {ACCESS_READ, ACCESS_NONE}, .dtype = ATTN_F32, .rows = ROWS_OF_QUERIES,
        .origin = FROM_PARAMS, .param = 0, .axis = {0, 1, 2}, .has_rows = 1},
    {.name = "ki", .access = {ACCESS_READ, ACCESS_NONE}, .dtype = ATTN_F32, .rows = ROWS_OF_KEYS, .origin = FROM_PARAMS,
        .param = 1, .axis = {0, 1, 2}, .has_rows = 1},
    {.name = "w", .access = {ACCESS_READ, ACCESS_NONE}, .dtype = ATTN_F32, .rows = ROWS_OF_QUERIES,
        .origin = FROM_PARAMS, .param = 2, .axis = {0, -1, 1}, .has_rows = 1},
    {.name = "taken", .access = {ACCESS_NONE, ACCESS_NONE}, .dtype = ATTN_I32, .rows = ROWS_OF_QUERIES,
        .origin = FROM_LISTS, .elements = 2048, .sizes = 1 << -ATTN_BATCH | 1 << -ATTN_N_Q},
};

#if defined(__x86_64__)
static int runs_v4(void)
{
    return attn_x86_64_level() >= 4;
}
static const struct program programs_v4[] = {
    {.role = RUN_FORWARD, .form = FORM_HEADS,
     .rows = dsa_heads_v4, .tile = 32, .own = 820864, .of_pair = 1088, .by_heads = 1},
    {.role = RUN_FORWARD, .form = FORM_FEW,
     .head = dsa_few_v4, .tile = 0, .own = 138624, .few_rows = 64, .lanes = 16, .of_pair = 1088, .shared = 418752,
         .slot = 135744, .slots = 3, .together = 1},
    {.role = RUN_FORWARD,
     .rows = dsa_rows_v4, .tile = 64, .own = 610048, .of_pair = 1088},
    {.role = RUN_SELECT,
     .head = dsa_select_v4, .tile = 64, .own = 2348288, .of_pair = 1088, .units = 1, .unit_batch = 1, .together = 1},
};
#endif
#if defined(__x86_64__)
static int runs_v3(void)
{
    return attn_x86_64_level() >= 3;
}
static const struct program programs_v3[] = {
    {.role = RUN_FORWARD, .form = FORM_HEADS,
     .rows = dsa_heads_v3, .tile = 32, .own = 820864, .of_pair = 1088, .by_heads = 1},
    {.role = RUN_FORWARD, .form = FORM_FEW,
     .head = dsa_few_v3, .tile = 0, .own = 138624, .few_rows = 64, .lanes = 8, .of_pair = 1088, .shared = 418752,
         .slot = 135744, .slots = 3, .together = 1},
    {.role = RUN_FORWARD,
     .rows = dsa_rows_v3, .tile = 64, .own = 610048, .of_pair = 1088},
    {.role = RUN_SELECT,
     .head = dsa_select_v3, .tile = 64, .own = 2348288, .of_pair = 1088, .units = 1, .unit_batch = 1, .together = 1},
};
#endif
static const struct program programs_any[] = {
    {.role = RUN_FORWARD, .form = FORM_HEADS,
     .rows = dsa_heads_any, .tile = 32, .own = 820864, .of_pair = 1088, .by_heads = 1},
    {.role = RUN_FORWARD, .form = FORM_FEW,
     .head = dsa_few_any, .tile = 0, .own = 138624, .few_rows = 64, .lanes = 4, .of_pair = 1088, .shared = 418752,
         .slot = 135744, .slots = 3, .together = 1},
    {.role = RUN_FORWARD,
     .rows = dsa_rows_any, .tile = 64, .own = 610048, .of_pair = 1088},
    {.role = RUN_SELECT,
     .head = dsa_select_any, .tile = 64, .own = 2348288, .of_pair = 1088, .units = 1, .unit_batch = 1, .together = 1},
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
    .layout = KERNEL_LAYOUT, .name = "dsa", .openmp = OPENMP,
    .target = target, .targets = sizeof target / sizeof *target - 1,
    .array = array, .arrays = sizeof array / sizeof *array,
    .param = param, .params = 3, .params_bytes = sizeof(struct dsa_params),
    .dtype = ATTN_F32, .key_dtype = ATTN_F32, .value_dtype = ATTN_F32, .real = sizeof(float), .element = sizeof(float),
    .head_dim = 576, .value_dim = 512, .key_row = 576, .value_row = 512,
    .strided = 1, .strides = offsetof(struct dsa_params, strides),
    .values_are_keys = 1,
    .positions = 1,
    .by_heads = 1,
    .gathers = 1,
    .ids = -1,
    .corrected = -1,
    .lists = 1,
    .solution = -1,
};

/* ==== the interface ==== */
size_t dsa_params_size(void) { return attn_call_params_size(&kernel); }
int dsa_params_init(struct dsa_params *params, uint64_t seed, void *storage)
{
    return attn_call_params_init(&kernel, params, seed, storage);
}
size_t dsa_workspace(const struct attn_problem *problem) { return attn_call_workspace(&kernel, problem); }
int dsa_forward(const struct attn_problem *problem, const struct dsa_params *params, const float *q, const float *k,
    float *out, void *workspace)
{
    return attn_call_forward(&kernel, problem, params, (const void *const[]){q, k, out}, workspace);
}
static int forward_any(const struct attn_problem *problem, const void *params, const void *q, const void *k,
    const void *v, void *out, void *workspace)
{
    (void)v;
    return attn_call_forward(&kernel, problem, params, (const void *const[]){q, k, out}, workspace);
}
static int params_init_any(void *params, uint64_t seed, void *storage)
{
    return attn_call_params_init(&kernel, params, seed, storage);
}
const struct attn_kernel dsa_kernel = {
    .name = "dsa", .version = "0.2.0", .dtype = ATTN_F32, .head_dim = 576, .value_dim = 512,
    .params = 3, .param = param, .params_bytes = sizeof(struct dsa_params),
    .params_size = dsa_params_size, .params_init = params_init_any, .forward = forward_any,
    .workspace = dsa_workspace,
    .values_are_keys = 1,
    .key_dtype = ATTN_F32, .value_dtype = ATTN_F32,
    .strides = offsetof(struct dsa_params, strides), .strides_bytes = sizeof(struct dsa_strides),
    .before = INT64_MAX, .after = 0, .period = 0, .names_heads = 0, .names_sequences = 0, .in_parts = 0,
    .saved_power = 0, .has_sink = 0, .open_keys = 0, .end_of_keys = INT64_MAX,
};
#endif /* a compiler of this language */
#endif /* SECTION */
