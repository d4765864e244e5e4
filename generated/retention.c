/* retention.c, made by attnc 0.2.0: attnc retention.yaml
   C11 with GNU extensions, for a C compiler; C++ includes retention.h.
   retention: the weights of head h fall by 1 - 2^(-5 - h) from key to key
   Sun et al., Retentive Network (arXiv 2023), section 2; without the norm of the result

   Computes, in f32, over the axes b (batch), g (key/value head), m (query head of g), i (query), j (key), d (64),
   e (64), t (32):
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
     x10 [b g m i d] = x9 * 0.125
     x11 [b g m i j] = sum over d of x10 * x6
     x12 [b g m i j] = x11 * pow(1 - pow(2, (-5 - (g * members + m)) * 1), (i + query_start - j) * 1)
     x13 [b g m i e] = sum over j of x12 * v if j <= i + query_start
     x14 [b g m i e] = x13
     out = x14
   query_start is the position of the first query: problem.query_start[b], or n_k - n_q if that is NULL.

   How: each vector lane holds one query. Keys are processed in tiles,
   so row sums and maxima need no reduction across lanes.
   The sums of a tile start from zero and are added to the sums so far. Tiles that no query sees are skipped.
   For few queries each lane holds one key. The queries of all heads that share keys are the rows of one tile,
   so each key is read once.
   The chunks of keys are divided among the threads. Their sums are added in the order of the chunks.
   Linear from 204 keys on: the weight is an inner product of 64 features. The state is a sum over keys of 64 x 65
   numbers.
     x86-64-v4  quadratic tiles of 32 queries and 96 keys, in blocks of 256 queries;
     533120 bytes of workspace per thread
     x86-64-v4  linear    tiles of 32 queries and 32 keys; 156032 bytes of workspace per thread
     x86-64-v4  few       tiles of 64 queries and 128 keys; 242496 bytes of workspace per thread
     x86-64-v3  quadratic tiles of 16 queries and 96 keys, in blocks of 256 queries;
     533056 bytes of workspace per thread
     x86-64-v3  linear    tiles of 32 queries and 32 keys; 156032 bytes of workspace per thread
     x86-64-v3  few       tiles of 64 queries and 128 keys; 242496 bytes of workspace per thread
     generic    quadratic tiles of 16 queries and 96 keys, in blocks of 128 queries;
     434752 bytes of workspace per thread
     generic    linear    tiles of 32 queries and 32 keys; 156032 bytes of workspace per thread
     generic    few       tiles of 64 queries and 128 keys; 242496 bytes of workspace per thread

   Contents:
     loops      retention_rows, retention_linear, retention_few
     targets    x86-64-v4, x86-64-v3, generic
     tables     arrays and programs, for the functions of attnrt that call the loops
     interface  retention_workspace, retention_forward, retention_kernel
   The file includes itself, so that the loops are compiled once for each target. T(name) is a name with the target's
   suffix, LANES the elements of its vectors, and OF(…) a number for each target.

   Compile with: cc -O2 -fopenmp retention.c … -lattnrt -lm */
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
    float *compensation)
{
    T(dot_finite)(/*vectors=*/2, lanes, /*rows=*/64, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/1, a_step, b,
        /*b_step=*/OF(32, 16, 16), c, /*c_row=*/OF(32, 16, 16), /*update=*/3, /*factor=*/NULL, compensation);
}
TARGET APART void T(dot2)(int64_t lanes, int64_t steps, const float *a, int64_t a_step, const float *b, float *c,
    float *compensation)
{
    T(dot)(/*vectors=*/2, lanes, /*rows=*/64, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/1, a_step, b,
        /*b_step=*/OF(32, 16, 16), c, /*c_row=*/OF(32, 16, 16), /*update=*/3, /*factor=*/NULL, compensation);
}
TARGET APART void T(dot3)(int64_t steps, const float *a, const float *b, int64_t b_step, float *c)
{
    T(dot)(/*vectors=*/OF(4, 2, 2), /*lanes=*/64, /*rows=*/64, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/32,
        /*a_step=*/1, b, b_step, c, /*c_row=*/64, /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL);
}
TARGET APART void T(dot4)(int64_t lanes, const float *a, const float *b, float *c, const struct coming *next)
{
    T(dot_meanwhile)(/*vectors=*/2, lanes, /*rows=*/64, /*tail=*/4, /*steps=*/64, /*span=*/32, a, /*a_row=*/1,
        /*a_step=*/64, b, /*b_step=*/32, c, /*c_row=*/32, /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL, next,
        /*arrays=*/4, /*nexts=*/32);
}
TARGET APART void T(dot5)(int64_t lanes, int64_t rows, const float *a, const float *b, float *c)
{
    T(dot)(/*vectors=*/2, lanes, rows, /*tail=*/-1, /*steps=*/64, /*span=*/32, a, /*a_row=*/1, /*a_step=*/32, b,
        /*b_step=*/32, c, /*c_row=*/32, /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL);
}
#if OF(1, 0, 0)
TARGET APART void T(dot6)(int64_t lanes, int64_t rows, const float *a, const float *b, float *c)
#else
TARGET APART void T(dot6)(int64_t lanes, int64_t steps, const float *a, int64_t a_step, const float *b, float *c,
    float *compensation)
#endif
{
#if OF(0, 1, 1)
    T(dot_finite)(/*vectors=*/2, lanes, /*rows=*/64, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/1, a_step, b,
        /*b_step=*/32, c, /*c_row=*/32, /*update=*/3, /*factor=*/NULL, compensation);
}
TARGET APART void T(dot7)(int64_t lanes, int64_t steps, const float *a, int64_t a_step, const float *b, float *c,
    float *compensation)
{
    T(dot)(/*vectors=*/2, lanes, /*rows=*/64, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/1, a_step, b, /*b_step=*/32,
        c, /*c_row=*/32, /*update=*/3, /*factor=*/NULL, compensation);
}
TARGET APART void T(dot8)(int64_t lanes, int64_t rows, const float *a, const float *b, float *c)
{
#endif
    T(dot)(/*vectors=*/OF(4, 2, 2), lanes, rows, /*tail=*/-1, /*steps=*/64, /*span=*/32, a, /*a_row=*/1, /*a_step=*/64,
        b, /*b_step=*/144, c, /*c_row=*/144, /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL);
}
#if OF(1, 0, 0)
TARGET APART void T(dot7)(int64_t rows, int64_t steps, const float *a, const float *b, int64_t b_step, float *c)
#else
TARGET APART void T(dot9)(int64_t rows, int64_t steps, const float *a, const float *b, int64_t b_step, float *c)
#endif
{
    T(dot_finite_lanes)(/*fetched=*/1, /*vectors=*/OF(4, 2, 2), /*lanes=*/64, rows, /*tail=*/-1, steps, /*span=*/192, a,
        /*a_row=*/144, /*a_step=*/1, b, b_step, c, /*c_row=*/64, /*update=*/1, /*factor=*/NULL, /*compensation=*/NULL);
}
#if OF(1, 0, 0)
TARGET APART void T(dot8)(int64_t rows, int64_t steps, const float *a, const float *b, int64_t b_step, float *c,
    int64_t early)
#else
TARGET APART void T(dot10)(int64_t rows, int64_t steps, const float *a, const float *b, int64_t b_step, float *c)
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
TARGET static void T(retention_rows)(const struct call *call, int64_t task, unsigned char *work)
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
    float *const all_sum = (float *)(void *)(work + OF(114688, 114688, 81920)); /* [e: 64, i: OF(32, 16, 16), OF(8, 16,
        8) times] */
    float *const all_sum_compensation = (float *)(void *)(work + OF(180224, 180224, 114688)); /* [e: 64, i: OF(32, 16,
        16), OF(8, 16, 8) times] */
    float *const result = (float *)(void *)(work + 0); /* [e: 64, i: OF(32, 16, 16)] */
    float *const out = (float *)call->array[ARRAY_out].at + b * call->array[ARRAY_out].strides.batch + (g * members + m)
        * call->array[ARRAY_out].strides.head;
    const int64_t out_row = call->array[ARRAY_out].strides.row;
    float *const q_tile = (float *)(void *)(work + OF(8192, 4096, 4096)); /* [d: 64, i: OF(32, 16, 16)] */
    float *const k_tile = (float *)(void *)(work + OF(245760, 245760, 147456)); /* [d: 64, j: 96] */
    struct remembered *const of_difference_known = (struct remembered *)(void *)(work + OF(270336, 270336, 172032));
    float *const of_difference_kept = (float *)(void *)(work + OF(270400, 270400, 172096)); /* [OF(65680, 65656,
        65652) differences] */
    for (int64_t i_next = i0, i_block = i0, i_end = i1; i_next < i_end; i_next += OF(32, 16, 16)) {
        const int64_t i0 = i_next, i1 = min(i0 + OF(32, 16, 16), i_end);
        float *const query = all_query + (i0 - i_block) / OF(32, 16, 16) * OF(2048, 1024, 1024);
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
        /* query = ((q_tile * query_cos) + ((q_tile * query_sin) * select((d % 2) == 0, -1.0f, 1.0f))) * 0.125f */
        for (int64_t d = 0; d < 64; d++) {
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                T(store)(query + d * OF(32, 16, 16) + i, ((T(load)(q_tile + d * OF(32, 16,
                    16) + i) * T(load)(query_cos + (d / 2) * OF(32, 16,
                    16) + i)) + ((T(load)(q_tile + (((d % 2) == 0) ? (d + 1) : (d - 1)) * OF(32, 16,
                    16) + i) * T(load)(query_sin + (d / 2) * OF(32, 16,
                    16) + i)) * (float)(((d % 2) == 0) ? (-1.0) : 1.0))) * 0.125f);
            }
        }
        /* sum = 0.0f; sum_compensation = 0.0f */
        for (int64_t e = 0; e < 64; e++) {
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                T(store)(sum + e * OF(32, 16, 16) + i, T(splat)(0.0f));
                T(store)(sum_compensation + e * OF(32, 16, 16) + i, T(splat)(0.0f));
            }
        }
    }
    for (int64_t j0 = 0, j_end = min(n_k, i1 + query_start); j0 < j_end; j0 += 96) {
        const int64_t j1 = min(j0 + 96, j_end);
        /* k_tile = k, with zeros beyond the last row */
        T(transpose_padded)(k + j0 * k_row, k_row, j1 - j0, 64, k_tile, 96, 64);
        /* key_cos = cos(j * rope_theta); key_sin = sin(j * rope_theta) */
        for (int64_t j = 0; j < j1 - j0; j += LANES) {
            const T(ints) t_3 = j0 + j + T(lane);
            for (int64_t t = 0; t < 32; t++) {
                const T(wide) angle4 = __builtin_convertvector(t_3, T(wide)) * rope_theta[t];
                T(store)(key_cos + t * 96 + j, T(cos)(&angle4));
                const T(wide) angle5 = __builtin_convertvector(t_3, T(wide)) * rope_theta[t];
                T(store)(key_sin + t * 96 + j, T(sin)(&angle5));
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
            float *const sum = all_sum + (i0 - i_block) / OF(32, 16, 16) * OF(2048, 1024, 1024);
            float *const sum_compensation = all_sum_compensation + (i0 - i_block) / OF(32, 16, 16) * OF(2048, 1024,
                1024);
            if (!(j0 < (i1 + query_start))) continue; /* no query sees a key of the tile */
            /* score[j][i] = sum over d of key * query */
            T(dot0)(round_up(i1 - i0, LANES), j1 - j0, key, query, score);
            /* the elements of of_difference that this thread has for the head */
            const int64_t of_difference_first = i0 - j1 + 1;
            recall(of_difference_known, ((call->p.query_start ? b : 0) * kv_heads + g) * members + m,
                of_difference_first, of_difference_first + OF(144, 120, 116), 1 - n_k, n_q + n_k + OF(144, 120, 116),
                65536);
            float *const of_difference = of_difference_kept + (of_difference_first - of_difference_known->base);
            for (int above = 0; above < 2; above++) { /* the differences below the known ones, and those above */
#if OF(1, 0, 0)
                const int64_t difference_1440 = above ? of_difference_known->to - of_difference_first : 0;
                const int64_t difference_1441 = above ? 144 : of_difference_known->from - of_difference_first;
                if (difference_1440 >= difference_1441) continue;
                /* of_difference = exp2(((((difference_144 + (lo() - hi())) + query_start) + 1) * 1.0f) * (log(1 -
                   exp2((-5 - ((g * members) + m))  ... */
#endif
#if OF(0, 1, 0)
                const int64_t difference_1200 = above ? of_difference_known->to - of_difference_first : 0;
                const int64_t difference_1201 = above ? 120 : of_difference_known->from - of_difference_first;
                if (difference_1200 >= difference_1201) continue;
                /* of_difference = exp2(((((difference_120 + (lo() - hi())) + query_start) + 1) * 1.0f) * (log(1 -
                   exp2((-5 - ((g * members) + m))  ... */
#endif
#if OF(0, 0, 1)
                const int64_t difference_1160 = above ? of_difference_known->to - of_difference_first : 0;
                const int64_t difference_1161 = above ? 116 : of_difference_known->from - of_difference_first;
                if (difference_1160 >= difference_1161) continue;
                /* of_difference = exp2(((((difference_116 + (lo() - hi())) + query_start) + 1) * 1.0f) * (log(1 -
                   exp2((-5 - ((g * members) + m))  ... */
#endif
                const int64_t t_6 = i0 - j1;
                const double t_7 = log((double)1 - exp2((double)((-5) - ((g * members) + m)) * 1.0)) *
                    1.4426950408889634;
#if OF(1, 0, 0)
                for (int64_t difference_144 = difference_1440; difference_144 < difference_1441; difference_144 += 16) {
                    T(store)(of_difference + difference_144, T(exp2)((__builtin_convertvector((((difference_144 +
                        T(lane)) + t_6) + query_start) + 1, T(vec)) * 1.0f) * (float)t_7));
#endif
#if OF(0, 1, 0)
                for (int64_t difference_120 = difference_1200; difference_120 < difference_1201; difference_120 += 8) {
                    T(store)(of_difference + difference_120, T(exp2)((__builtin_convertvector((((difference_120 +
                        T(lane)) + t_6) + query_start) + 1, T(vec)) * 1.0f) * (float)t_7));
#endif
#if OF(0, 0, 1)
                for (int64_t difference_116 = difference_1160; difference_116 < difference_1161; difference_116 += 4) {
                    T(store)(of_difference + difference_116, T(exp2)((__builtin_convertvector((((difference_116 +
                        T(lane)) + t_6) + query_start) + 1, T(vec)) * 1.0f) * (float)t_7));
#endif
                }
            }
            extend_known(of_difference_known, of_difference_first, of_difference_first + OF(144, 120, 116));
            /* score = score * of_difference */
            for (int64_t j = 0; j < j1 - j0; j++) {
                for (int64_t i = 0; i < i1 - i0; i += LANES) {
                    T(store)(score + j * OF(32, 16, 16) + i, T(load)(score + j * OF(32, 16,
                        16) + i) * T(load)(of_difference + ((i0 + i) - (j0 + j) - (i0 - j1) - 1)));
                }
            }
            if ((i0 + query_start + 1) < j1) { /* the tile is partly outside the mask */
                /* score = select(j <= (i + query_start), score, 0.0f) */
                for (int64_t i = 0; i < i1 - i0; i += LANES) {
                    const T(ints) t_8 = (i0 + i + T(lane)) + query_start;
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        T(store)(score + j * OF(32, 16, 16) + i, T(pick)(__builtin_convertvector((j0 + j) <= t_8,
                            T(mask)), T(load)(score + j * OF(32, 16, 16) + i), T(splat)(0.0f)));
                    }
                }
            }
            /* sum[e][i] += sum over j of v * score */
            if (__builtin_expect(((i0 + query_start + 1) < j1) && !T(finite)(v + j0 * v_row, v_row, j1 - j0, 64),
                0)) { /* infinity and NaN affect only queries that see them */
                T(dot1)(round_up(i1 - i0, LANES), j1 - j0, v + j0 * v_row, v_row, score, sum, sum_compensation);
                for (int64_t j = 0; j < j1 - j0; j++) {
                    T(mask) in_region[OF(2, 2, 4)] = {0};
                    if (T(finite)(v + j0 * v_row + j * v_row, 1, 64, 1)) continue;
                    for (int64_t i = 0; i < i1 - i0; i += LANES) {
                        in_region[i / LANES] = __builtin_convertvector((j0 + j) <= ((i0 + i + T(lane)) + query_start),
                            T(mask));
                    }
                    T(add_seen)(64, sum, OF(32, 16, 16), v + j0 * v_row + j * v_row, 1, score + j * OF(32, 16, 16),
                        in_region, i1 - i0);
                }
            } else
                T(dot2)(round_up(i1 - i0, LANES), j1 - j0, v + j0 * v_row, v_row, score, sum, sum_compensation);
        }
    }
    {
        for (int64_t i_next = i0, i_block = i0, i_end = i1; i_next < i_end; i_next += OF(32, 16, 16)) {
            const int64_t i0 = i_next, i1 = min(i0 + OF(32, 16, 16), i_end);
            float *const sum = all_sum + (i0 - i_block) / OF(32, 16, 16) * OF(2048, 1024, 1024);
            /* result = sum */
            for (int64_t e = 0; e < 64; e++) {
                for (int64_t i = 0; i < i1 - i0; i += LANES) {
                    T(store)(result + e * OF(32, 16, 16) + i, T(load)(sum + e * OF(32, 16, 16) + i));
                }
            }
            /* out = result, transposed back */
            T(transpose_out)(result, OF(32, 16, 16), 64, i1 - i0, out + i0 * out_row, out_row, LANES);
        }
    }
}

/* Initialises the states: they contain no keys yet. */
TARGET APART void T(retention_begin)(const struct call *call, int64_t task, const struct share *share,
    int64_t iteration)
{
    (void)call;
    (void)task;
    const int64_t f0 = iteration * 32, f1 = min(f0 + 32, 64);
    float *const carried = (float *)(void *)(share->shared + 0); /* [f: 64, e: 64] */
    float *const carried_compensation = (float *)(void *)(share->shared + 16448); /* [f: 64, e: 64] */
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
TARGET APART void T(retention_keys)(const struct call *call, int64_t task, const struct share *share, int64_t iteration)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_k = call->p.n_k;
    const int64_t chunk = iteration;
    const int64_t chunk0 = share->chunk0;
    const int64_t m = task % members;
    const int64_t g = task / members % kv_heads;
    const int64_t b = task / members / kv_heads;
    const float *const k = (const float *)call->array[ARRAY_k].at + b * call->array[ARRAY_k].strides.batch + g /
        call->sharing * call->array[ARRAY_k].strides.head;
    const int64_t k_row = call->array[ARRAY_k].strides.row;
    const float *const v = (const float *)call->array[ARRAY_v].at + b * call->array[ARRAY_v].strides.batch + g *
        call->array[ARRAY_v].strides.head;
    const int64_t v_row = call->array[ARRAY_v].strides.row;
    float *const key_cos = (float *)(void *)(share->work + 0); /* [t: 32, j: 32] */
    float *const key_sin = (float *)(void *)(share->work + 4096); /* [t: 32, j: 32] */
    float *const key_features = (float *)(void *)(share->work + 8192); /* [d: 64, j: 32] */
    float *const key_features_2 = (float *)(void *)(share->work + 0); /* [f: 64, j: 32] */
    float *const state = (float *)(void *)(share->slots + 0); /* [chunk, f: 64, e: 64] */
    float *const k_tile = (float *)(void *)(share->work + 16384); /* [d: 64, j: 32] */
    for (int64_t j0 = chunk * 32, j_end = min(n_k, (chunk + 1) * 32); j0 < j_end; j0 += 32) {
        const int64_t j1 = min(j0 + 32, j_end);
        /* k_tile = k, with zeros beyond the last row */
        T(transpose_padded)(k + j0 * k_row, k_row, j1 - j0, 64, k_tile, 32, 64);
        /* key_cos = cos(j * rope_theta); key_sin = sin(j * rope_theta) */
        for (int64_t j = 0; j < j1 - j0; j += LANES) {
            const T(ints) t_0 = j0 + j + T(lane);
            for (int64_t t = 0; t < 32; t++) {
                const T(wide) angle1 = __builtin_convertvector(t_0, T(wide)) * rope_theta[t];
                T(store)(key_cos + t * 32 + j, T(cos)(&angle1));
                const T(wide) angle2 = __builtin_convertvector(t_0, T(wide)) * rope_theta[t];
                T(store)(key_sin + t * 32 + j, T(sin)(&angle2));
            }
        }
        /* key_features = (k_tile * key_cos) + ((k_tile * key_sin) * select((d % 2) == 0, -1.0f, 1.0f)) */
        for (int64_t d = 0; d < 64; d++) {
            for (int64_t j = 0; j < j1 - j0; j += LANES) {
                T(store)(key_features + d * 32 + j, (T(load)(k_tile + d * 32 + j) * T(load)(key_cos + (d / 2) * 32 + j))
                    + ((T(load)(k_tile + (((d % 2) == 0) ? (d + 1) : (d - 1)) * 32 + j) * T(load)(key_sin + (d / 2) * 32
                    + j)) * (float)(((d % 2) == 0) ? (-1.0) : 1.0)));
            }
        }
        /* key_features_2 = key_features * exp2(((((chunk + 1) * 32) - j) + -1) * (log(1 - exp2((-5 - ((g * members) +
           m)) * 1.0f)) * 1.442 ... */
        const int64_t t_3 = (chunk + 1) * 32;
        const double t_4 = log((double)1 - exp2((double)((-5) - ((g * members) + m)) * 1.0)) * 1.4426950408889634;
        for (int64_t j = 0; j < j1 - j0; j += LANES) {
            const T(vec) t_5 = T(exp2)(__builtin_convertvector((t_3 - (j0 + j + T(lane))) + (-1), T(vec)) * (float)t_4);
            for (int64_t f = 0; f < 64; f++) {
                T(store)(key_features_2 + f * 32 + j, T(load)(key_features + f * 32 + j) * t_5);
            }
        }
        /* state[f][e] = sum over j of key_features_2 * v */
        T(dot3)(j1 - j0, key_features_2, v + j0 * v_row, v_row, state + (chunk - chunk0) * 4112);
    }
}

/* Folds the slots of the current chunks, in order, for some elements of the states. */
TARGET APART void T(retention_fold)(const struct call *call, int64_t task, const struct share *share, int64_t iteration)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t f0 = iteration * 32, f1 = min(f0 + 32, 64);
    const int64_t chunk0 = share->chunk0;
    const int64_t chunk1 = share->chunk1;
    const int64_t m = task % members;
    const int64_t g = task / members % kv_heads;
    float *const state = (float *)(void *)(share->slots + 0); /* [chunk, f: 64, e: 64] */
    float *const carried = (float *)(void *)(share->shared + 0); /* [f: 64, e: 64] */
    float *const carried_compensation = (float *)(void *)(share->shared + 16448); /* [f: 64, e: 64] */
    for (int64_t chunk = chunk0; chunk < chunk1; chunk++) {
        /* before = carried; carried = carried * select(pow(1 - pow(2.0f, (-5 - ((g * members) + m)) * 1.0f),
           32) < 0.5f, pow(1 - pow(2.0f, ... */
        const double t_8 = pow((double)1 - pow(2.0, (double)((-5) - ((g * members) + m)) * 1.0), (double)32);
        const int t_9 = t_8 < 0.5;
        const double t_10 = t_9 ? t_8 : 1.0;
        const double t_12 = t_9 ? 0.0 : (1.0 - t_8);
        for (int64_t f = f0; f < f1; f++) {
            for (int64_t e = 0; e < 64; e += LANES) {
                const T(vec) carried_6 = T(load)(carried + f * 64 + e);
                const T(vec) before_new7 = carried_6;
                const T(vec) carried_new11 = carried_6 * (float)t_10;
                T(store)(carried + f * 64 + e, carried_new11);
                T(store)(carried_compensation + f * 64 + e, T(load)(carried_compensation + f * 64 + e) * (float)t_10);
                T(add)(carried + f * 64 + e, carried_compensation + f * 64 + e,
                    T(load)(state + (chunk - chunk0) * 4112 + f * 64 + e) - (carried_new11 * (float)t_12), T(splat)(1));
                T(store)(state + (chunk - chunk0) * 4112 + f * 64 + e, before_new7);
            }
        }
    }
}

/* Processes the queries of a chunk: reads the state before the chunk, and the keys in the chunk. */
TARGET APART void T(retention_queries)(const struct call *call, int64_t task, const struct share *share,
    int64_t iteration)
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
    const float *const q = (const float *)call->array[ARRAY_q].at + b * call->array[ARRAY_q].strides.batch + (g /
        call->sharing * members + m) * call->array[ARRAY_q].strides.head;
    const int64_t q_row = call->array[ARRAY_q].strides.row;
    const float *const k = (const float *)call->array[ARRAY_k].at + b * call->array[ARRAY_k].strides.batch + g /
        call->sharing * call->array[ARRAY_k].strides.head;
    const int64_t k_row = call->array[ARRAY_k].strides.row;
    const float *const v = (const float *)call->array[ARRAY_v].at + b * call->array[ARRAY_v].strides.batch + g *
        call->array[ARRAY_v].strides.head;
    const int64_t v_row = call->array[ARRAY_v].strides.row;
    float *const state = (float *)(void *)(share->slots + 0); /* [chunk, f: 64, e: 64] */
    float *const key_cos_2 = (float *)(void *)(share->work + 0); /* [t: 32, j: 32] */
    float *const key_sin_2 = (float *)(void *)(share->work + 4096); /* [t: 32, j: 32] */
    float *const key_features_3 = (float *)(void *)(share->work + 8192); /* [d: 64, j: 32] */
    float *const query_cos = (float *)(void *)(share->work + 0); /* [t: 32, i: 32] */
    float *const query_sin = (float *)(void *)(share->work + 4096); /* [t: 32, i: 32] */
    float *const query_features = (float *)(void *)(share->work + 16384); /* [d: 64, i: 32] */
    float *const score = (float *)(void *)(share->work + 0); /* [j: 32, i: 32] */
    float *const query = (float *)(void *)(share->work + 0); /* [f: 64, i: 32] */
    float *const sum_from_state = (float *)(void *)(share->work + 24576); /* [e: 64, i: 32] */
    float *const sum = (float *)(void *)(share->work + 32768); /* [e: 64, i: 32] */
    float *const sum_compensation = (float *)(void *)(share->work + 40960); /* [e: 64, i: 32] */
    float *const out = (float *)call->array[ARRAY_out].at + b * call->array[ARRAY_out].strides.batch + (g * members + m)
        * call->array[ARRAY_out].strides.head;
    const int64_t out_row = call->array[ARRAY_out].strides.row;
    float *const q_tile = (float *)(void *)(share->work + 8192); /* [d: 64, i: 32] */
    float *const k_tile_2 = (float *)(void *)(share->work + 49152); /* [d: 64, j: 32] */
#if OF(1, 0, 0)
    float *const of_difference = (float *)(void *)(share->work + 4096); /* [difference_80: 80] */
#endif
#if OF(0, 1, 0)
    float *const of_difference = (float *)(void *)(share->work + 4096); /* [difference_72: 72] */
#endif
#if OF(0, 0, 1)
    float *const of_difference = (float *)(void *)(share->work + 4096); /* [difference_68: 68] */
#endif
    for (int64_t i0 = (chunk == 0) ? 0 : max(0, (chunk * 32) - query_start), i_end = min(n_q,
        ((chunk + 1) * 32) - query_start); i0 < i_end; i0 += 32) {
        const int64_t i1 = min(i0 + 32, i_end);
        /* q_tile = q, with zeros beyond the last row */
        T(transpose_padded)(q + i0 * q_row, q_row, i1 - i0, 64, q_tile, 32, 0);
        /* query_cos = cos((i + query_start) * rope_theta); query_sin = sin((i + query_start) * rope_theta) */
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            const T(ints) t_13 = (i0 + i + T(lane)) + query_start;
            for (int64_t t = 0; t < 32; t++) {
                const T(wide) angle14 = __builtin_convertvector(t_13, T(wide)) * rope_theta[t];
                T(store)(query_cos + t * 32 + i, T(cos)(&angle14));
                const T(wide) angle15 = __builtin_convertvector(t_13, T(wide)) * rope_theta[t];
                T(store)(query_sin + t * 32 + i, T(sin)(&angle15));
            }
        }
        /* query_features = ((q_tile * query_cos) + ((q_tile * query_sin) * select((d % 2) == 0, -1.0f,
           1.0f))) * 0.125f */
        for (int64_t d = 0; d < 64; d++) {
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                T(store)(query_features + d * 32 + i, ((T(load)(q_tile + d * 32 + i) * T(load)(query_cos + (d / 2) * 32
                    + i)) + ((T(load)(q_tile + (((d % 2) == 0) ? (d + 1) : (d - 1)) * 32 + i) * T(load)(query_sin + (d /
                    2) * 32 + i)) * (float)(((d % 2) == 0) ? (-1.0) : 1.0))) * 0.125f);
            }
        }
        /* query = query_features * exp2(select(chunk == 0, 0, ((i + query_start) - (chunk * 32)) + 1) * (log(1 -
           exp2((-5 - ((g * members) ... */
        const int t_16 = chunk == 0;
        const int64_t t_17 = chunk * 32;
        const double t_18 = log((double)1 - exp2((double)((-5) - ((g * members) + m)) * 1.0)) * 1.4426950408889634;
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            const T(vec) t_19 = T(exp2)(__builtin_convertvector(t_16 ? (0 - (T(ints)){0}) : ((((i0 + i + T(lane)) +
                query_start) - t_17) + 1), T(vec)) * (float)t_18);
            for (int64_t f = 0; f < 64; f++) {
                T(store)(query + f * 32 + i, T(load)(query_features + f * 32 + i) * t_19);
            }
        }
        /* sum_from_state[e][i] = sum over f of state * query */
        T(dot4)(round_up(i1 - i0, LANES), state + (chunk - chunk0) * 4112, query, sum_from_state,
            (const struct coming[]){{k + max(0, chunk * 32) * k_row, 4 * k_row, 256}, {v + max(0, chunk * 32) * v_row,
            4 * v_row, 256}, {out + i0 * out_row, 4 * out_row, 256}, {q + (i0 + 32) * q_row, 4 * q_row, 256}});
        /* sum = 0.0f; sum_compensation = 0.0f */
        for (int64_t e = 0; e < 64; e++) {
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                T(store)(sum + e * 32 + i, T(splat)(0.0f));
                T(store)(sum_compensation + e * 32 + i, T(splat)(0.0f));
            }
        }
        for (int64_t j0 = max(0, chunk * 32), j_end = min(n_k, i1 + query_start); j0 < j_end; j0 += 32) {
            const int64_t j1 = min(j0 + 32, j_end);
            /* k_tile_2 = k, with zeros beyond the last row */
            T(transpose_padded)(k + j0 * k_row, k_row, j1 - j0, 64, k_tile_2, 32, 0);
            /* key_cos_2 = cos(j * rope_theta); key_sin_2 = sin(j * rope_theta) */
            for (int64_t j = 0; j < j1 - j0; j += LANES) {
                const T(ints) t_20 = j0 + j + T(lane);
                for (int64_t t = 0; t < 32; t++) {
                    const T(wide) angle21 = __builtin_convertvector(t_20, T(wide)) * rope_theta[t];
                    T(store)(key_cos_2 + t * 32 + j, T(cos)(&angle21));
                    const T(wide) angle22 = __builtin_convertvector(t_20, T(wide)) * rope_theta[t];
                    T(store)(key_sin_2 + t * 32 + j, T(sin)(&angle22));
                }
            }
            /* key_features_3 = (k_tile_2 * key_cos_2) + ((k_tile_2 * key_sin_2) * select((d % 2) == 0, -1.0f, 1.0f)) */
            for (int64_t d = 0; d < 64; d++) {
                for (int64_t j = 0; j < j1 - j0; j += LANES) {
                    T(store)(key_features_3 + d * 32 + j, (T(load)(k_tile_2 + d * 32 + j) * T(load)(key_cos_2 + (d / 2)
                        * 32 + j)) + ((T(load)(k_tile_2 + (((d % 2) == 0) ? (d + 1) : (d - 1)) * 32 + j) *
                        T(load)(key_sin_2 + (d / 2) * 32 + j)) * (float)(((d % 2) == 0) ? (-1.0) : 1.0)));
                }
            }
            /* score[j][i] = sum over d of key_features_3 * query_features */
            T(dot5)(round_up(i1 - i0, LANES), j1 - j0, key_features_3, query_features, score);
#if OF(1, 0, 0)
            /* of_difference = exp2((((difference_80 + (lo() - hi())) + query_start) + 1) * (log(1 - exp2((-5 - ((g *
               members) + m)) * 1.0f)) * ... */
#endif
#if OF(0, 1, 0)
            /* of_difference = exp2((((difference_72 + (lo() - hi())) + query_start) + 1) * (log(1 - exp2((-5 - ((g *
               members) + m)) * 1.0f)) * ... */
#endif
#if OF(0, 0, 1)
            /* of_difference = exp2((((difference_68 + (lo() - hi())) + query_start) + 1) * (log(1 - exp2((-5 - ((g *
               members) + m)) * 1.0f)) * ... */
#endif
            const int64_t t_23 = i0 - j1;
            const double t_24 = log((double)1 - exp2((double)((-5) - ((g * members) + m)) * 1.0)) * 1.4426950408889634;
#if OF(1, 0, 0)
            for (int64_t difference_80 = 0; difference_80 < 80; difference_80 += 16) {
                T(store)(of_difference + difference_80, T(exp2)(__builtin_convertvector((((difference_80 + T(lane)) +
                    t_23) + query_start) + 1, T(vec)) * (float)t_24));
#endif
#if OF(0, 1, 0)
            for (int64_t difference_72 = 0; difference_72 < 72; difference_72 += 8) {
                T(store)(of_difference + difference_72, T(exp2)(__builtin_convertvector((((difference_72 + T(lane)) +
                    t_23) + query_start) + 1, T(vec)) * (float)t_24));
#endif
#if OF(0, 0, 1)
            for (int64_t difference_68 = 0; difference_68 < 68; difference_68 += 4) {
                T(store)(of_difference + difference_68, T(exp2)(__builtin_convertvector((((difference_68 + T(lane)) +
                    t_23) + query_start) + 1, T(vec)) * (float)t_24));
#endif
            }
            /* score = score * of_difference */
            for (int64_t j = 0; j < j1 - j0; j++) {
                for (int64_t i = 0; i < i1 - i0; i += LANES) {
                    T(store)(score + j * 32 + i, T(load)(score + j * 32 + i) * T(load)(of_difference + ((i0 + i) - (j0 +
                        j) - (i0 - j1) - 1)));
                }
            }
            if ((j0 < (chunk * 32)) || ((i0 + query_start + 1) < j1)) { /* the tile is partly outside the mask */
                /* score = select((j <= (i + query_start)) && ((chunk * 32) <= j), score, 0.0f) */
                for (int64_t i = 0; i < i1 - i0; i += LANES) {
                    const T(ints) t_25 = (i0 + i + T(lane)) + query_start;
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        T(store)(score + j * 32 + i, T(pick)(__builtin_convertvector(((j0 + j) <= t_25) &
                            (-(int64_t)((chunk * 32) <= (j0 + j))), T(mask)), T(load)(score + j * 32 + i),
                            T(splat)(0.0f)));
                    }
                }
            }
            /* sum[e][i] += sum over j of v * score */
            if (__builtin_expect(((j0 < (chunk * 32)) || ((i0 + query_start + 1) < j1)) && !T(finite)(v + j0 * v_row,
                v_row, j1 - j0, 64), 0)) { /* infinity and NaN affect only queries that see them */
#if OF(1, 0, 0)
                T(dot1)(round_up(i1 - i0, 16), j1 - j0, v + j0 * v_row, v_row, score, sum, sum_compensation);
#else
                T(dot6)(round_up(i1 - i0, LANES), j1 - j0, v + j0 * v_row, v_row, score, sum, sum_compensation);
#endif
                for (int64_t j = 0; j < j1 - j0; j++) {
                    T(mask) in_region[OF(2, 4, 8)] = {0};
                    if (T(finite)(v + j0 * v_row + j * v_row, 1, 64, 1)) continue;
                    const int t_26 = (chunk * 32) <= (j0 + j);
                    for (int64_t i = 0; i < i1 - i0; i += LANES) {
                        in_region[i / LANES] = __builtin_convertvector(((j0 + j) <= ((i0 + i + T(lane)) + query_start))
                            & (-(int64_t)t_26), T(mask));
                    }
                    T(add_seen)(64, sum, 32, v + j0 * v_row + j * v_row, 1, score + j * 32, in_region, i1 - i0);
                }
            } else
#if OF(1, 0, 0)
                T(dot2)(round_up(i1 - i0, 16), j1 - j0, v + j0 * v_row, v_row, score, sum, sum_compensation);
#else
                T(dot7)(round_up(i1 - i0, LANES), j1 - j0, v + j0 * v_row, v_row, score, sum, sum_compensation);
#endif
        }
        /* sum = sum + sum_from_state */
        for (int64_t e = 0; e < 64; e++) {
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                T(store)(sum + e * 32 + i, T(load)(sum + e * 32 + i) + T(load)(sum_from_state + e * 32 + i));
            }
        }
        /* out = sum, transposed back */
        T(transpose_out)(sum, 32, 64, i1 - i0, out + i0 * out_row, out_row, 0);
    }
}

/* Computes head number `task`. Each thread on the head calls this with `share`. */
TARGET static void T(retention_linear)(const struct call *call, int64_t task, struct share *share)
{
    const int64_t n_k = call->p.n_k;
    const int64_t chunks = n_k > 0 ? (n_k - 1) / 32 + 1 : 1;
    for (int64_t iteration = share->number; iteration < ((64 + 31) / 32); iteration += share->threads)
        T(retention_begin)(call, task, share, iteration);
    synchronise(share);
    const int64_t first = 0;
    const int64_t length = segment_length(share, chunks - first);
    for (int64_t segment = share->number; first + segment * length < chunks; segment += share->threads) {
        share->chunk0 = first + segment * length;
        share->chunk1 = min(share->chunk0 + length, chunks);
        for (int64_t iteration = share->chunk0; iteration < share->chunk1; iteration++)
            T(retention_keys)(call, task, share, iteration);
        for (int64_t group = 0; group < 16; group++) {
            await_segment(share, group, segment);
            const int64_t end = (group + 1) * ((64 + 31) / 32) / 16;
            for (int64_t iteration = group * ((64 + 31) / 32) / 16; iteration < end; iteration++)
                T(retention_fold)(call, task, share, iteration);
            pass_segment(share, group, segment);
        }
        for (int64_t iteration = share->chunk0; iteration < share->chunk1; iteration++)
            T(retention_queries)(call, task, share, iteration);
    }
    share->segments += (max(chunks - first, 0) + length - 1) / length;
    synchronise(share);
}

/* Initialises the states: they contain no keys yet. */
TARGET APART void T(retention_few_begin)(const struct call *call, int64_t task, const struct share *share,
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
    float *const of_row = (float *)(void *)(share->shared + 49408); /* [r: 64] */
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
    /* query = ((q_tile * query_cos) + ((q_tile * query_sin) * select((d % 2) == 0, -1.0f, 1.0f))) * 0.125f */
    for (int64_t r = r0; r < r1; r += LANES) {
        for (int64_t d = 0; d < 64; d++) {
            T(store)(query + d * 64 + r, ((T(load)(q_tile + d * 80 + r) * T(load)(query_cos + (d / 2) * 64 + r)) +
                ((T(load)(q_tile + (((d % 2) == 0) ? (d + 1) : (d - 1)) * 80 + r) * T(load)(query_sin + (d / 2) * 64 +
                r)) * (float)(((d % 2) == 0) ? (-1.0) : 1.0))) * 0.125f);
        }
    }
    /* of_row = log(1 - exp2((-5 - ((g * members) + (r / n_q))) * 1.0f)) * 1.442695f */
    for (int64_t r = r0; r < r1; r++) {
        of_row[r] = (float)(log((double)1 - exp2((double)((-5) - ((g * members) + (r / n_q))) * 1.0)) *
            1.4426950408889634);
    }
}

/* Initialises the states: they contain no keys yet. */
TARGET APART void T(retention_few_begin_2)(const struct call *call, int64_t task, const struct share *share,
    int64_t iteration)
{
    (void)task;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t r0 = iteration * 16, r1 = min(r0 + 16, rows);
    float *const carried = (float *)(void *)(share->shared + 32960); /* [r: 64, e: 64] */
    float *const carried_compensation = (float *)(void *)(share->shared + 49664); /* [r: 64, e: 64] */
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
TARGET APART void T(retention_few_keys)(const struct call *call, int64_t task, const struct share *share,
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
    float *const state = (float *)(void *)(share->slots + 0); /* [chunk, r: 64, e: 64] */
    float *const k_tile = (float *)(void *)(share->work + 73728); /* [d: 64, j: 128 of 144] */
    float *const of_row = (float *)(void *)(share->shared + 49408); /* [r: 64] */
    /* state = 0.0f */
    for (int64_t r = 0; r < rows; r++) {
        for (int64_t e_first = 0; e_first < 64; e_first += OF(64, 16, 8)) {
            UNROLL for (int64_t vector = 0, e = e_first; vector < OF(4, 2, 2); vector++, e += LANES) {
                T(store)(state + (chunk - chunk0) * 4112 + r * 64 + e, T(splat)(0.0f));
            }
        }
    }
    for (int64_t j0 = chunk * 1024, j_end = min(min(n_k, (chunk + 1) * 1024), n_q + query_start); j0 < j_end;
        j0 += 128) {
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
        /* key = (k_tile * key_cos) + ((k_tile * key_sin) * select((d % 2) == 0, -1.0f, 1.0f)) */
        for (int64_t d = 0; d < 64; d++) {
            for (int64_t j = 0; j < j1 - j0; j += LANES) {
                T(store)(key + d * 144 + j, (T(load)(k_tile + d * 144 + j) * T(load)(key_cos + (d / 2) * 144 + j)) +
                    ((T(load)(k_tile + (((d % 2) == 0) ? (d + 1) : (d - 1)) * 144 + j) * T(load)(key_sin + (d / 2) * 144
                    + j)) * (float)(((d % 2) == 0) ? (-1.0) : 1.0)));
            }
        }
        /* score[r][j] = sum over d of query * key */
#if OF(1, 0, 0)
        T(dot6)(round_up(j1 - j0, 16), rows, query, key, score);
#else
        T(dot8)(round_up(j1 - j0, LANES), rows, query, key, score);
#endif
        /* score = score * exp2(((((r % n_q) + query_start) - j) * 1.0f) * of_row) */
        for (int64_t j = 0; j < j1 - j0; j += LANES) {
            const T(ints) t_6 = j0 + j + T(lane);
            for (int64_t r = 0; r < rows; r++) {
                T(store)(score + r * 144 + j, T(load)(score + r * 144 + j) * T(exp2)((__builtin_convertvector(((r % n_q)
                    + query_start) - t_6, T(vec)) * 1.0f) * of_row[r]));
            }
        }
        if ((query_start + 1) < j1) { /* the tile is partly outside the mask */
            /* score = select(j <= ((r % n_q) + query_start), score, 0.0f) */
            for (int64_t j = 0; j < j1 - j0; j += LANES) {
                const T(ints) t_7 = j0 + j + T(lane);
                for (int64_t r = 0; r < rows; r++) {
                    T(store)(score + r * 144 + j, T(pick)(__builtin_convertvector(t_7 <= ((r % n_q) + query_start),
                        T(mask)), T(load)(score + r * 144 + j), T(splat)(0.0f)));
                }
            }
        }
        /* state[r][e] += sum over j of score * v */
        if (__builtin_expect(((query_start + 1) < j1) && !T(finite)(v + j0 * v_row, v_row, j1 - j0, 64),
            0)) { /* infinity and NaN affect only queries that see them */
#if OF(1, 0, 0)
            T(dot7)(rows, j1 - j0, score, v + j0 * v_row, v_row, state + (chunk - chunk0) * 4112);
#else
            T(dot9)(rows, j1 - j0, score, v + j0 * v_row, v_row, state + (chunk - chunk0) * 4112);
#endif
            for (int64_t r = 0; r < rows; r++) {
                T(mask) in_region[OF(8, 16, 32)] = {0};
                const int64_t t_8 = (r % n_q) + query_start;
                for (int64_t j = 0; j < j1 - j0; j += LANES) {
                    in_region[j / LANES] = __builtin_convertvector((j0 + j + T(lane)) <= t_8, T(mask));
                }
                T(add_seen_lanes)(64, state + (chunk - chunk0) * 4112 + r * 64, score + r * 144, v + j0 * v_row, v_row,
                    j1 - j0, in_region);
            }
        } else
#if OF(1, 0, 0)
            T(dot8)(rows, j1 - j0, score, v + j0 * v_row, v_row, state + (chunk - chunk0) * 4112,
                attn_is_intel() ? 16 : 0);
#else
            T(dot10)(rows, j1 - j0, score, v + j0 * v_row, v_row, state + (chunk - chunk0) * 4112);
#endif
    }
}

/* Folds the slots of the current chunks, in order, for some elements of the states. */
TARGET APART void T(retention_few_fold)(const struct call *call, int64_t task, const struct share *share,
    int64_t iteration)
{
    (void)task;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t r0 = iteration * 16, r1 = min(r0 + 16, rows);
    const int64_t chunk0 = share->chunk0;
    const int64_t chunk1 = share->chunk1;
    float *const state = (float *)(void *)(share->slots + 0); /* [chunk, r: 64, e: 64] */
    float *const carried = (float *)(void *)(share->shared + 32960); /* [r: 64, e: 64] */
    float *const carried_compensation = (float *)(void *)(share->shared + 49664); /* [r: 64, e: 64] */
    for (int64_t chunk = chunk0; chunk < chunk1; chunk++) {
        /* before = carried; carried += state */
        for (int64_t r = r0; r < r1; r++) {
            for (int64_t e_first = 0; e_first < 64; e_first += OF(64, 16, 8)) {
                UNROLL for (int64_t vector = 0, e = e_first; vector < OF(4, 2, 2); vector++, e += LANES) {
                    T(add)(carried + r * 64 + e, carried_compensation + r * 64 + e,
                        T(load)(state + (chunk - chunk0) * 4112 + r * 64 + e), T(splat)(1));
                }
            }
        }
    }
}

/* Processes a tile of queries: reads the states. */
TARGET APART void T(retention_few_queries)(const struct call *call, int64_t task, const struct share *share,
    int64_t iteration)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_q = call->p.n_q;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t r0 = iteration * 16, r1 = min(r0 + 16, rows);
    const int64_t g = task % kv_heads;
    const int64_t b = task / kv_heads;
    float *const carried = (float *)(void *)(share->shared + 32960); /* [r: 64, e: 64] */
    float *const result = (float *)(void *)(share->work + 0); /* [r: 64, e: 64] */
    float *const out = (float *)call->array[ARRAY_out].at + b * call->array[ARRAY_out].strides.batch + g * members *
        call->array[ARRAY_out].strides.head;
    const int64_t out_row = call->array[ARRAY_out].strides.row;
    const int64_t out_head = call->array[ARRAY_out].strides.head;
    /* result = carried */
    for (int64_t r = r0; r < r1; r++) {
        for (int64_t e_first = 0; e_first < 64; e_first += OF(64, 16, 8)) {
            UNROLL for (int64_t vector = 0, e = e_first; vector < OF(4, 2, 2); vector++, e += LANES) {
                T(store)(result + r * 64 + e, T(load)(carried + r * 64 + e));
            }
        }
    }
    /* out = result */
    for (int64_t r = r0; r < r1; r++)
        for (int64_t e = 0; e < 64; e++)
            out[r / n_q * out_head + r % n_q * out_row + e] = result[r * 64 + e];
}

/* Computes head number `task`. Each thread on the head calls this with `share`. */
TARGET static void T(retention_few)(const struct call *call, int64_t task, struct share *share)
{
    const int64_t n_k = call->p.n_k;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t chunks = n_k > 0 ? (n_k - 1) / 1024 + 1 : 1;
    for (int64_t iteration = share->number; iteration < ((rows + 63) / 64); iteration += share->threads)
        T(retention_few_begin)(call, task, share, iteration);
    for (int64_t iteration = share->number; iteration < ((rows + 15) / 16); iteration += share->threads)
        T(retention_few_begin_2)(call, task, share, iteration);
    synchronise(share);
    const int64_t first = 0;
    const int64_t length = segment_length(share, chunks - first);
    for (int64_t segment = share->number; first + segment * length < chunks; segment += share->threads) {
        share->chunk0 = first + segment * length;
        share->chunk1 = min(share->chunk0 + length, chunks);
        for (int64_t iteration = share->chunk0; iteration < share->chunk1; iteration++)
            T(retention_few_keys)(call, task, share, iteration);
        for (int64_t group = 0; group < 16; group++) {
            await_segment(share, group, segment);
            const int64_t end = (group + 1) * ((rows + 15) / 16) / 16;
            for (int64_t iteration = group * ((rows + 15) / 16) / 16; iteration < end; iteration++)
                T(retention_few_fold)(call, task, share, iteration);
            pass_segment(share, group, segment);
        }
    }
    share->segments += (max(chunks - first, 0) + length - 1) / length;
    synchronise(share);
    for (int64_t iteration = share->number; iteration < ((rows + 15) / 16); iteration += share->threads)
        T(retention_few_queries)(call, task, share, iteration);
    synchronise(share);
}
#include <attnrt/kernel/end.h>
#else
#ifdef __cplusplus
#error "retention.c is C, not C++: compile it with a C compiler"
#elif !defined __STDC_VERSION__ || __STDC_VERSION__ < 199901L
#error "retention.c is C11, not C89: compile it without -std=, or with -std=gnu11"
extern int retention_is_c11;
#elif !defined __GNUC__
#error "retention.c uses GNU C vector extensions: compile it with gcc or clang"
extern int retention_is_gnu_c;
#else
#include "retention.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include <attnrt/kernel/optimize.h>
#include <attnrt/kernel/call.h>
#include <attnrt/kernel/remembered.h>

/* the numbers of the arrays of a call */
enum {
    ARRAY_q, ARRAY_k, ARRAY_v, ARRAY_out
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
#define LOOPS "retention.c"
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
#define MAX_STEPS 128
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
#define MAX_STEPS 128
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
    {.role = RUN_FORWARD, .form = FORM_FEW, .from = 204,
     .head = retention_few_v4, .tile = 0, .own = 110592, .few_rows = 49, .of_pair = 128, .shared = 66112, .slot = 16448,
         .slots = 4, .together = 1},
    {.role = RUN_FORWARD, .from = 204,
     .head = retention_linear_v4, .tile = -1, .own = 57344, .of_token = 4160, .in_keys = 1, .shared = 32896,
         .slot = 16448, .slots = 4, .together = 1},
    {.role = RUN_FORWARD, .form = FORM_FEW,
     .head = retention_few_v4, .tile = 0, .own = 110592, .few_rows = 64, .lanes = 16, .of_pair = 128, .shared = 66112,
         .slot = 16448, .slots = 4, .together = 1},
    {.role = RUN_FORWARD,
     .rows = retention_rows_v4, .tile = 256, .own = 533120, .of_pair = 128, .remembered = 1, .remembers = {270336}},
};
#endif
#if defined(__x86_64__)
static int runs_v3(void)
{
    return attn_x86_64_level() >= 3;
}
static const struct program programs_v3[] = {
    {.role = RUN_FORWARD, .form = FORM_FEW, .from = 204,
     .head = retention_few_v3, .tile = 0, .own = 110592, .few_rows = 49, .of_pair = 128, .shared = 66112, .slot = 16448,
         .slots = 4, .together = 1},
    {.role = RUN_FORWARD, .from = 204,
     .head = retention_linear_v3, .tile = -1, .own = 57344, .of_token = 4160, .in_keys = 1, .shared = 32896,
         .slot = 16448, .slots = 4, .together = 1},
    {.role = RUN_FORWARD, .form = FORM_FEW,
     .head = retention_few_v3, .tile = 0, .own = 110592, .few_rows = 64, .lanes = 8, .of_pair = 128, .shared = 66112,
         .slot = 16448, .slots = 4, .together = 1},
    {.role = RUN_FORWARD,
     .rows = retention_rows_v3, .tile = 256, .own = 533056, .of_pair = 128, .remembered = 1, .remembers = {270336}},
};
#endif
static const struct program programs_any[] = {
    {.role = RUN_FORWARD, .form = FORM_FEW, .from = 204,
     .head = retention_few_any, .tile = 0, .own = 110592, .few_rows = 49, .of_pair = 128, .shared = 66112,
         .slot = 16448, .slots = 4, .together = 1},
    {.role = RUN_FORWARD, .from = 204,
     .head = retention_linear_any, .tile = -1, .own = 57344, .of_token = 4160, .in_keys = 1, .shared = 32896,
         .slot = 16448, .slots = 4, .together = 1},
    {.role = RUN_FORWARD, .form = FORM_FEW,
     .head = retention_few_any, .tile = 0, .own = 110592, .few_rows = 64, .lanes = 4, .of_pair = 128, .shared = 66112,
         .slot = 16448, .slots = 4, .together = 1},
    {.role = RUN_FORWARD,
     .rows = retention_rows_any, .tile = 128, .own = 434752, .of_pair = 128, .remembered = 1, .remembers = {172032}},
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
    .layout = KERNEL_LAYOUT, .name = "retention", .openmp = OPENMP,
    .target = target, .targets = sizeof target / sizeof *target - 1,
    .array = array, .arrays = sizeof array / sizeof *array,
    .params_bytes = sizeof(struct retention_params),
    .dtype = ATTN_F32, .key_dtype = ATTN_F32, .value_dtype = ATTN_F32, .real = sizeof(float), .element = sizeof(float),
    .head_dim = 64, .value_dim = 64, .key_row = 64, .value_row = 64,
    .shares = 1,
    .positions = 1,
    .ids = -1,
    .corrected = -1,
    .solution = -1,
};

/* ==== the interface ==== */
size_t retention_params_size(void) { return attn_call_params_size(&kernel); }
int retention_params_init(struct retention_params *params, uint64_t seed, void *storage)
{
    return attn_call_params_init(&kernel, params, seed, storage);
}
size_t retention_workspace(const struct attn_problem *problem) { return attn_call_workspace(&kernel, problem); }
int retention_forward(const struct attn_problem *problem, const struct retention_params *params, const float *q,
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
const struct attn_kernel retention_kernel = {
    .name = "retention", .version = "0.2.0", .dtype = ATTN_F32, .head_dim = 64, .value_dim = 64,
    .params = 0, .param = NULL, .params_bytes = sizeof(struct retention_params),
    .params_size = retention_params_size, .params_init = params_init_any, .forward = forward_any,
    .workspace = retention_workspace,
    .key_dtype = ATTN_F32, .value_dtype = ATTN_F32,
    .before = INT64_MAX, .after = 0, .period = 1, .names_heads = 1, .names_sequences = 0, .in_parts = 0,
    .saved_power = 0, .has_sink = 0, .open_keys = 0, .end_of_keys = INT64_MAX,
};
#endif /* a compiler of this language */
#endif /* SECTION */
