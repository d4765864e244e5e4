/* infini.c, made by attnc 0.2.0: attnc infini.yaml
   C11 with GNU extensions, for a C compiler; C++ includes infini.h.
   softmax inside a segment, and a linear memory of all earlier segments, mixed by a learned gate
   Munkhdalai, Faruqui and Gopal, Leave No Context Behind: Efficient Infinite Context Transformers with Infini-attention
   (arXiv 2024), section 2.1

   Computes, in f32, over the axes b (batch), g (key/value head), m (query head of g), i (query), j (key), d (64),
   e (64):
     q [b g m i d]
     k [b g j d]
     v [b g j e]
     x3 [b g m i j] = sum over d of q * k
     x4 [b g m i j] = exp(x3 * 0.125)
     x5 [b g m i] = sum over j of x4 if j <= i + query_start && floor((i + query_start) / 512) <= floor(j / 512) &&
     floor(j / 512) <= floor((i + query_start) / 512)
     x6 [b g m i e] = sum over j of x4 * v if j <= i + query_start && floor((i + query_start) / 512) <= floor(j / 512)
     && floor(j / 512) <= floor((i + query_start) / 512)
     x7 [b g m i e] = x5 == 0 ? 0 : x6 / x5
     x8 [b g m i d] = 0 < q ? q + 1 : exp(min(q, 0))
     x9 [b g j d] = 0 < k ? k + 1 : exp(min(k, 0))
     x10 [b g m i j] = sum over d of x8 * x9
     x11 [b g m i j] = x10
     x12 [b g m i] = sum over j of x11 if j / 512 < (i + query_start) / 512
     x13 [b g m i e] = sum over j of x11 * v if j / 512 < (i + query_start) / 512
     x14 [b g m i e] = x12 == 0 ? 0 : x13 / x12
     beta [g m], learned parameter
     x16 [b g m i e] = sigmoid(beta) * x14 + (1 - sigmoid(beta)) * x7
     out = x16
   query_start is the position of the first query: problem.query_start[b], or n_k - n_q if that is NULL.

   How: each vector lane holds one query. Keys are processed in tiles,
   so row sums and maxima need no reduction across lanes.
   The sums of a tile start from zero and are added to the sums so far. Tiles that no query sees are skipped.
   Linear from 575 keys on: the weight is an inner product of 64 features. The state is a sum over keys of 64 x 65
   numbers.
     x86-64-v4  quadratic tiles of 32 queries and 96 keys, in blocks of 256 queries;
     410752 bytes of workspace per thread
     x86-64-v4  linear    tiles of 64 queries and 64 keys; 265856 bytes of workspace per thread
     x86-64-v3  quadratic tiles of 16 queries and 96 keys, in blocks of 256 queries;
     404544 bytes of workspace per thread
     x86-64-v3  linear    tiles of 64 queries and 64 keys; 265856 bytes of workspace per thread
     generic    quadratic tiles of 16 queries and 96 keys, in blocks of 128 queries;
     205376 bytes of workspace per thread
     generic    linear    tiles of 64 queries and 64 keys; 265856 bytes of workspace per thread

   Contents:
     loops      infini_rows, infini_linear
     targets    x86-64-v4, x86-64-v3, generic
     tables     arrays and programs, for the functions of attnrt that call the loops
     interface  infini_workspace, infini_forward, infini_kernel
   The file includes itself, so that the loops are compiled once for each target. T(name) is a name with the target's
   suffix, LANES the elements of its vectors, and OF(…) a number for each target.

   Compile with: cc -O2 -fopenmp infini.c … -lattnrt -lm */
#ifdef SECTION
#include <attnrt/kernel/vector.h>
#include <attnrt/kernel/elementary.h>
#include <attnrt/kernel/product.h>

/* The functions for the products below. Each calls dot or a similar function with constants. */
TARGET APART void T(dot0)(int64_t lanes, int64_t rows, const float *a, int64_t a_row, const float *b, float *c,
    const float *next, int64_t next_row)
{
    T(dot_ahead)(/*vectors=*/2, lanes, rows, /*tail=*/-1, /*steps=*/64, /*span=*/32, a, a_row, /*a_step=*/1, b,
        /*b_step=*/OF(32, 16, 16), c, /*c_row=*/OF(32, 16, 16), /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL,
        next, next_row, /*width=*/64, /*result=*/NULL, /*result_row=*/0, /*result_width=*/0, /*results=*/0);
}
TARGET APART void T(dot1)(int64_t lanes, int64_t steps, const float *a, int64_t a_step, const float *b, float *c,
    const float *factor, float *compensation)
{
    T(dot_finite)(/*vectors=*/2, lanes, /*rows=*/64, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/1, a_step, b,
        /*b_step=*/OF(32, 16, 16), c, /*c_row=*/OF(32, 16, 16), /*update=*/3, factor, compensation);
}
TARGET APART void T(dot2)(int64_t lanes, int64_t steps, const float *a, int64_t a_step, const float *b, float *c,
    const float *factor, float *compensation)
{
    T(dot)(/*vectors=*/2, lanes, /*rows=*/64, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/1, a_step, b,
        /*b_step=*/OF(32, 16, 16), c, /*c_row=*/OF(32, 16, 16), /*update=*/3, factor, compensation);
}
TARGET APART void T(dot3)(int64_t lanes, int64_t rows, const float *a, const float *b, float *c)
{
    T(dot)(/*vectors=*/2, lanes, rows, /*tail=*/-1, /*steps=*/64, /*span=*/32, a, /*a_row=*/1, /*a_step=*/96, b,
        /*b_step=*/OF(32, 16, 16), c, /*c_row=*/OF(32, 16, 16), /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL);
}
TARGET APART void T(dot4)(int64_t lanes, int64_t steps, const float *a, int64_t a_step, const float *b, float *c,
    float *compensation)
{
    T(dot_finite)(/*vectors=*/2, lanes, /*rows=*/64, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/1, a_step, b,
        /*b_step=*/OF(32, 16, 16), c, /*c_row=*/OF(32, 16, 16), /*update=*/3, /*factor=*/NULL, compensation);
}
TARGET APART void T(dot5)(int64_t lanes, int64_t steps, const float *a, int64_t a_step, const float *b, float *c,
    float *compensation)
{
    T(dot)(/*vectors=*/2, lanes, /*rows=*/64, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/1, a_step, b,
        /*b_step=*/OF(32, 16, 16), c, /*c_row=*/OF(32, 16, 16), /*update=*/3, /*factor=*/NULL, compensation);
}
TARGET APART void T(dot6)(int64_t steps, const float *a, const float *b, int64_t b_step, float *c)
{
    T(dot)(/*vectors=*/OF(4, 2, 2), /*lanes=*/64, /*rows=*/64, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/80,
        /*a_step=*/1, b, b_step, c, /*c_row=*/64, /*update=*/1, /*factor=*/NULL, /*compensation=*/NULL);
}
TARGET APART void T(dot7)(int64_t lanes, const float *a, const float *b, float *c, const struct coming *next)
{
    T(dot_meanwhile)(/*vectors=*/OF(4, 2, 2), lanes, /*rows=*/64, /*tail=*/4, /*steps=*/64, /*span=*/32, a, /*a_row=*/1,
        /*a_step=*/64, b, /*b_step=*/80, c, /*c_row=*/80, /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL, next,
        /*arrays=*/4, /*nexts=*/64);
}
TARGET APART void T(dot8)(int64_t lanes, int64_t rows, const float *a, int64_t a_row, const float *b, float *c)
{
    T(dot)(/*vectors=*/OF(4, 2, 2), lanes, rows, /*tail=*/-1, /*steps=*/64, /*span=*/32, a, a_row, /*a_step=*/1, b,
        /*b_step=*/80, c, /*c_row=*/80, /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL);
}
TARGET APART void T(dot9)(int64_t lanes, int64_t steps, const float *a, int64_t a_step, const float *b, float *c,
    const float *factor, float *compensation)
{
    T(dot_finite)(/*vectors=*/OF(4, 2, 2), lanes, /*rows=*/64, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/1, a_step,
        b, /*b_step=*/80, c, /*c_row=*/80, /*update=*/3, factor, compensation);
}
TARGET APART void T(dot10)(int64_t lanes, int64_t steps, const float *a, int64_t a_step, const float *b, float *c,
    const float *factor, float *compensation)
{
    T(dot)(/*vectors=*/OF(4, 2, 2), lanes, /*rows=*/64, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/1, a_step, b,
        /*b_step=*/80, c, /*c_row=*/80, /*update=*/3, factor, compensation);
}
TARGET APART void T(dot11)(int64_t lanes, int64_t rows, const float *a, const float *b, float *c)
{
    T(dot)(/*vectors=*/OF(4, 2, 2), lanes, rows, /*tail=*/-1, /*steps=*/64, /*span=*/32, a, /*a_row=*/1, /*a_step=*/80,
        b, /*b_step=*/80, c, /*c_row=*/80, /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL);
}
TARGET APART void T(dot12)(int64_t lanes, int64_t steps, const float *a, int64_t a_step, const float *b, float *c,
    float *compensation)
{
    T(dot_finite)(/*vectors=*/OF(4, 2, 2), lanes, /*rows=*/64, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/1, a_step,
        b, /*b_step=*/80, c, /*c_row=*/80, /*update=*/3, /*factor=*/NULL, compensation);
}
TARGET APART void T(dot13)(int64_t lanes, int64_t steps, const float *a, int64_t a_step, const float *b, float *c,
    float *compensation)
{
    T(dot)(/*vectors=*/OF(4, 2, 2), lanes, /*rows=*/64, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/1, a_step, b,
        /*b_step=*/80, c, /*c_row=*/80, /*update=*/3, /*factor=*/NULL, compensation);
}

/* Computes task number `task`: one tile of queries of one head. `work` is this thread's workspace. */
TARGET static void T(infini_rows)(const struct call *call, int64_t task, unsigned char *work)
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
    const float *const beta_array = (const float *)call->array[ARRAY_beta_array].at + g * members *
        call->array[ARRAY_beta_array].stride[0] + m * call->array[ARRAY_beta_array].stride[0];
    float *const all_query = (float *)(void *)(work + 0); /* [d: 64, i: OF(32, 16, 16), OF(8, 16, 8) times] */
    float *const score = (float *)(void *)(work + OF(65536, 65536, 32768)); /* [j: 96, i: OF(32, 16, 16)] */
    float *const all_row_max = (float *)(void *)(work + OF(77824, 71680, 38912)); /* [i: OF(32, 16, 16), OF(8, 16,
        8) times] */
    float *const old_max = (float *)(void *)(work + OF(78848, 72704, 39424)); /* [i: OF(32, 16, 16)] */
    float *const all_row_sum = (float *)(void *)(work + OF(78976, 72768, 39488)); /* [i: OF(32, 16, 16), OF(8, 16,
        8) times] */
    float *const all_row_sum_compensation = (float *)(void *)(work + OF(80000, 73792, 40000)); /* [i: OF(32, 16, 16),
        OF(8, 16, 8) times] */
    float *const all_sum = (float *)(void *)(work + OF(81024, 74816, 40512)); /* [e: 64, i: OF(32, 16, 16), OF(8, 16,
        8) times] */
    float *const all_sum_compensation = (float *)(void *)(work + OF(146560, 140352, 73280)); /* [e: 64, i: OF(32, 16,
        16), OF(8, 16, 8) times] */
    float *const all_query_2 = (float *)(void *)(work + OF(212096, 205888, 106048)); /* [d: 64, i: OF(32, 16, 16), OF(8,
        16, 8) times] */
    float *const score_2 = (float *)(void *)(work + 0); /* [j: 96, i: OF(32, 16, 16)] */
    float *const all_row_sum_2 = (float *)(void *)(work + OF(277632, 271424, 138816)); /* [i: OF(32, 16, 16), OF(8, 16,
        8) times] */
    float *const all_row_sum_2_compensation = (float *)(void *)(work + OF(278656, 272448, 139328)); /* [i: OF(32, 16,
        16), OF(8, 16, 8) times] */
    float *const all_sum_2 = (float *)(void *)(work + OF(279680, 273472, 139840)); /* [e: 64, i: OF(32, 16, 16), OF(8,
        16, 8) times] */
    float *const all_sum_2_compensation = (float *)(void *)(work + OF(345216, 339008, 172608)); /* [e: 64, i: OF(32, 16,
        16), OF(8, 16, 8) times] */
    float *const result = (float *)(void *)(work + 0); /* [e: 64, i: OF(32, 16, 16)] */
    float *const out = (float *)call->array[ARRAY_out].at + b * call->array[ARRAY_out].strides.batch + (g * members + m)
        * call->array[ARRAY_out].strides.head;
    const int64_t out_row = call->array[ARRAY_out].strides.row;
    float *const q_tile = (float *)(void *)(work + OF(65536, 65536, 32768)); /* [d: 64, i: OF(32, 16, 16)] */
    float *const k_tile = (float *)(void *)(work + OF(12288, 6144, 6144)); /* [d: 64, j: 96] */
    for (int64_t i_next = i0, i_block = i0, i_end = i1; i_next < i_end; i_next += OF(32, 16, 16)) {
        const int64_t i0 = i_next, i1 = min(i0 + OF(32, 16, 16), i_end);
        float *const query = all_query + (i0 - i_block) / OF(32, 16, 16) * OF(2048, 1024, 1024);
        float *const row_max = all_row_max + (i0 - i_block) / OF(32, 16, 16) * OF(32, 16, 16);
        float *const row_sum = all_row_sum + (i0 - i_block) / OF(32, 16, 16) * OF(32, 16, 16);
        float *const row_sum_compensation = all_row_sum_compensation + (i0 - i_block) / OF(32, 16, 16) * OF(32, 16, 16);
        float *const sum = all_sum + (i0 - i_block) / OF(32, 16, 16) * OF(2048, 1024, 1024);
        float *const sum_compensation = all_sum_compensation + (i0 - i_block) / OF(32, 16, 16) * OF(2048, 1024, 1024);
        float *const query_2 = all_query_2 + (i0 - i_block) / OF(32, 16, 16) * OF(2048, 1024, 1024);
        float *const row_sum_2 = all_row_sum_2 + (i0 - i_block) / OF(32, 16, 16) * OF(32, 16, 16);
        float *const row_sum_2_compensation = all_row_sum_2_compensation + (i0 - i_block) / OF(32, 16, 16) * OF(32, 16,
            16);
        float *const sum_2 = all_sum_2 + (i0 - i_block) / OF(32, 16, 16) * OF(2048, 1024, 1024);
        float *const sum_2_compensation = all_sum_2_compensation + (i0 - i_block) / OF(32, 16, 16) * OF(2048, 1024,
            1024);
        /* q_tile = q, with zeros beyond the last row */
        T(transpose_padded)(q + i0 * q_row, q_row, i1 - i0, 64, q_tile, OF(32, 16, 16), LANES);
        /* query = q_tile * 0.18033688f; query_2 = select(0.0f < q_tile, q_tile + 1.0f, exp(min(q_tile, 0.0f))) */
        for (int64_t d = 0; d < 64; d++) {
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                const T(vec) q_tile_0 = T(load)(q_tile + d * OF(32, 16, 16) + i);
                T(store)(query + d * OF(32, 16, 16) + i, q_tile_0 * 0.18033688f);
                T(store)(query_2 + d * OF(32, 16, 16) + i, T(pick)(0.0f < q_tile_0, q_tile_0 + 1.0f,
                    T(exp)(T(min)(q_tile_0, T(splat)(0.0f)))));
            }
        }
        /* row_max = -FLT_MAX; row_sum = 0.0f; row_sum_compensation = 0.0f; row_sum_2 = 0.0f;
           row_sum_2_compensation = 0.0f */
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            T(store)(row_max + i, T(splat)(-FLT_MAX));
            T(store)(row_sum + i, T(splat)(0.0f));
            T(store)(row_sum_compensation + i, T(splat)(0.0f));
            T(store)(row_sum_2 + i, T(splat)(0.0f));
            T(store)(row_sum_2_compensation + i, T(splat)(0.0f));
        }
        /* sum = 0.0f; sum_compensation = 0.0f; sum_2 = 0.0f; sum_2_compensation = 0.0f */
        for (int64_t e = 0; e < 64; e++) {
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                T(store)(sum + e * OF(32, 16, 16) + i, T(splat)(0.0f));
                T(store)(sum_compensation + e * OF(32, 16, 16) + i, T(splat)(0.0f));
                T(store)(sum_2 + e * OF(32, 16, 16) + i, T(splat)(0.0f));
                T(store)(sum_2_compensation + e * OF(32, 16, 16) + i, T(splat)(0.0f));
            }
        }
    }
    for (int64_t j0 = max(0, i0 + query_start - floor_mod(i0 + query_start, 512)), j_end = min(n_k,
        min(i1 + query_start, i1 + query_start - floor_mod(i1 + query_start - 1, 512) + 511)); j0 < j_end; j0 += 96) {
        const int64_t j1 = min(j0 + 96, j_end);
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
            if (!(((i0 + query_start - floor_mod(i0 + query_start, 512)) < j1) && (j0 < min(i1 + query_start,
                i1 + query_start - floor_mod(i1 + query_start - 1, 512) + 511)))) continue;
                /* no query sees a key of the tile */
            /* score[j][i] = sum over d of k * query */
            T(dot0)(round_up(i1 - i0, LANES), j1 - j0, k + j0 * k_row, k_row, query, score, v + j0 * v_row, v_row);
            /* old_max = row_max */
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                T(store)(old_max + i, T(load)(row_max + i));
            }
            if ((j0 < (i1 + query_start - floor_mod(i1 + query_start - 1, 512) - 1)) || (min(i0 + query_start + 1,
                i0 + query_start - floor_mod(i0 + query_start, 512) + 512) < j1)) { /* the tile is partly outside the
                mask */
                /* score = select((j <= (i + query_start)) && (((((i + query_start) - floormod(i + query_start,
                   512)) / 512) <= ((j - floormod(j, 5 ... */
                for (int64_t i = 0; i < i1 - i0; i += LANES) {
                    const T(ints) t_1 = (i0 + i + T(lane)) + query_start;
                    const T(ints) r2 = t_1 % 512;
                    const T(ints) t_3 = (t_1 - (r2 + (((r2 != 0) & ((r2 < 0) != (512 < 0))) & 512))) / 512;
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        const int64_t t_4 = ((j0 + j) - floor_mod(j0 + j, 512)) / 512;
                        T(store)(score + j * OF(32, 16, 16) + i, T(pick)(__builtin_convertvector(((j0 + j) <= t_1) &
                            ((t_3 <= t_4) & (t_4 <= t_3)), T(mask)), T(load)(score + j * OF(32, 16, 16) + i),
                            T(splat)(-INFINITY)));
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
            /* old_max = exp2(old_max - row_max); row_sum = row_sum * old_max */
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                const T(vec) old_max_5 = T(load)(old_max + i);
                const T(vec) old_max_new6 = T(exp2)(old_max_5 - T(load)(row_max + i));
                T(store)(old_max + i, old_max_new6);
                T(store)(row_sum + i, T(load)(row_sum + i) * old_max_new6);
            }
            /* score = exp2(score - row_max); row_sum += score */
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                const T(vec) row_max_8 = T(load)(row_max + i);
                T(vec) row_sum_in = (T(vec)){0};
                for (int64_t j = 0; j < j1 - j0; j++) {
                    const T(vec) score_7 = T(load)(score + j * OF(32, 16, 16) + i);
                    const T(vec) score_new9 = T(exp2)(score_7 - row_max_8);
                    T(store)(score + j * OF(32, 16, 16) + i, score_new9);
                    row_sum_in += score_new9;
                }
                T(add)(row_sum + i, row_sum_compensation + i, row_sum_in, T(splat)(1));
            }
            /* sum[e][i] = sum * old_max + sum over j of v * score */
            if (__builtin_expect(((j0 < (i1 + query_start - floor_mod(i1 + query_start - 1,
                512) - 1)) || (min(i0 + query_start + 1, i0 + query_start - floor_mod(i0 + query_start,
                512) + 512) < j1)) && !T(finite)(v + j0 * v_row, v_row, j1 - j0, 64),
                0)) { /* infinity and NaN affect only queries that see them */
                T(dot1)(round_up(i1 - i0, LANES), j1 - j0, v + j0 * v_row, v_row, score, sum, old_max,
                    sum_compensation);
                for (int64_t j = 0; j < j1 - j0; j++) {
                    T(mask) in_region[OF(2, 2, 4)] = {0};
                    if (T(finite)(v + j0 * v_row + j * v_row, 1, 64, 1)) continue;
                    const int64_t t_13 = ((j0 + j) - floor_mod(j0 + j, 512)) / 512;
                    for (int64_t i = 0; i < i1 - i0; i += LANES) {
                        const T(ints) t_10 = (i0 + i + T(lane)) + query_start;
                        const T(ints) r11 = t_10 % 512;
                        const T(ints) t_12 = (t_10 - (r11 + (((r11 != 0) & ((r11 < 0) != (512 < 0))) & 512))) / 512;
                        in_region[i / LANES] = __builtin_convertvector(((j0 + j) <= t_10) & ((t_12 <= t_13) & (t_13 <=
                            t_12)), T(mask));
                    }
                    T(add_seen)(64, sum, OF(32, 16, 16), v + j0 * v_row + j * v_row, 1, score + j * OF(32, 16, 16),
                        in_region, i1 - i0);
                }
            } else
                T(dot2)(round_up(i1 - i0, LANES), j1 - j0, v + j0 * v_row, v_row, score, sum, old_max,
                    sum_compensation);
        }
    }
    {
        for (int64_t j0 = 0, j_end = min(n_k, ((i1 + query_start - 1) / 512) * 512); j0 < j_end; j0 += 96) {
            const int64_t j1 = min(j0 + 96, j_end);
            /* k_tile = k, with zeros beyond the last row */
            T(transpose_padded)(k + j0 * k_row, k_row, j1 - j0, 64, k_tile, 96, 64);
            /* k_tile = select(0.0f < k_tile, k_tile + 1.0f, exp(min(k_tile, 0.0f))) */
            for (int64_t d = 0; d < 64; d++) {
                for (int64_t j = 0; j < j1 - j0; j += LANES) {
                    const T(vec) k_tile_14 = T(load)(k_tile + d * 96 + j);
                    T(store)(k_tile + d * 96 + j, T(pick)(0.0f < k_tile_14, k_tile_14 + 1.0f, T(exp)(T(min)(k_tile_14,
                        T(splat)(0.0f)))));
                }
            }
            for (int64_t i_next = i0, i_block = i0, i_end = i1; i_next < i_end; i_next += OF(32, 16, 16)) {
                const int64_t i0 = i_next, i1 = min(i0 + OF(32, 16, 16), i_end);
                float *const query_2 = all_query_2 + (i0 - i_block) / OF(32, 16, 16) * OF(2048, 1024, 1024);
                float *const row_sum_2 = all_row_sum_2 + (i0 - i_block) / OF(32, 16, 16) * OF(32, 16, 16);
                float *const row_sum_2_compensation = all_row_sum_2_compensation + (i0 - i_block) / OF(32, 16,
                    16) * OF(32, 16, 16);
                float *const sum_2 = all_sum_2 + (i0 - i_block) / OF(32, 16, 16) * OF(2048, 1024, 1024);
                float *const sum_2_compensation = all_sum_2_compensation + (i0 - i_block) / OF(32, 16, 16) * OF(2048,
                    1024, 1024);
                if (!(j0 < (((i1 + query_start - 1) / 512) * 512))) continue; /* no query sees a key of the tile */
                /* score_2[j][i] = sum over d of k_tile * query_2 */
                T(dot3)(round_up(i1 - i0, LANES), j1 - j0, k_tile, query_2, score_2);
                if ((((i0 + query_start) / 512) * 512) < j1) { /* the tile is partly outside the mask */
                    /* score_2 = select((j / 512) < ((i + query_start) / 512), score_2, 0.0f) */
                    for (int64_t i = 0; i < i1 - i0; i += LANES) {
                        const T(ints) t_15 = ((i0 + i + T(lane)) + query_start) / 512;
                        for (int64_t j = 0; j < j1 - j0; j++) {
                            T(store)(score_2 + j * OF(32, 16, 16) + i, T(pick)(__builtin_convertvector(((j0 + j) / 512)
                                < t_15, T(mask)), T(load)(score_2 + j * OF(32, 16, 16) + i), T(splat)(0.0f)));
                        }
                    }
                }
                /* row_sum_2 += score_2 */
                for (int64_t i_first = 0; i_first < i1 - i0; i_first += (2 * LANES)) {
                    T(vec) row_sum_2_in[2];
                    UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += LANES) {
                        row_sum_2_in[vector] = (T(vec)){0};
                    }
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += LANES) {
                            row_sum_2_in[vector] += T(load)(score_2 + j * OF(32, 16, 16) + i);
                        }
                    }
                    UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += LANES) {
                        T(add)(row_sum_2 + i, row_sum_2_compensation + i, row_sum_2_in[vector], T(splat)(1));
                    }
                }
                /* sum_2[e][i] += sum over j of v * score_2 */
                if (__builtin_expect(((((i0 + query_start) / 512) * 512) < j1) && !T(finite)(v + j0 * v_row, v_row,
                    j1 - j0, 64), 0)) { /* infinity and NaN affect only queries that see them */
                    T(dot4)(round_up(i1 - i0, LANES), j1 - j0, v + j0 * v_row, v_row, score_2, sum_2,
                        sum_2_compensation);
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        T(mask) in_region[OF(2, 2, 4)] = {0};
                        if (T(finite)(v + j0 * v_row + j * v_row, 1, 64, 1)) continue;
                        const int64_t t_16 = (j0 + j) / 512;
                        for (int64_t i = 0; i < i1 - i0; i += LANES) {
                            in_region[i / LANES] = __builtin_convertvector(t_16 < (((i0 + i + T(lane)) + query_start) /
                                512), T(mask));
                        }
                        T(add_seen)(64, sum_2, OF(32, 16, 16), v + j0 * v_row + j * v_row, 1, score_2 + j * OF(32, 16,
                            16), in_region, i1 - i0);
                    }
                } else
                    T(dot5)(round_up(i1 - i0, LANES), j1 - j0, v + j0 * v_row, v_row, score_2, sum_2,
                        sum_2_compensation);
            }
        }
    }
    {
        for (int64_t i_next = i0, i_block = i0, i_end = i1; i_next < i_end; i_next += OF(32, 16, 16)) {
            const int64_t i0 = i_next, i1 = min(i0 + OF(32, 16, 16), i_end);
            float *const row_sum = all_row_sum + (i0 - i_block) / OF(32, 16, 16) * OF(32, 16, 16);
            float *const sum = all_sum + (i0 - i_block) / OF(32, 16, 16) * OF(2048, 1024, 1024);
            float *const row_sum_2 = all_row_sum_2 + (i0 - i_block) / OF(32, 16, 16) * OF(32, 16, 16);
            float *const sum_2 = all_sum_2 + (i0 - i_block) / OF(32, 16, 16) * OF(2048, 1024, 1024);
            /* result = (sigmoid(beta) * select(row_sum_2 == 0.0f, 0.0f,
               sum_2 / row_sum_2)) + ((1 - sigmoid(beta)) * select(row_sum == 0.0f, 0 ... */
            const float t_17 = sigmoidf(beta_array[0]);
            const float t_20 = (float)1 - t_17;
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                const T(vec) row_sum_2_18 = T(load)(row_sum_2 + i);
                const T(mask) t_19 = row_sum_2_18 == 0.0f;
                const T(vec) row_sum_21 = T(load)(row_sum + i);
                const T(mask) t_22 = row_sum_21 == 0.0f;
                const T(vec) t_23 = 1.0f / row_sum_21;
                for (int64_t e = 0; e < 64; e++) {
                    T(store)(result + e * OF(32, 16, 16) + i, (t_17 * T(pick)(t_19, T(splat)(0.0f),
                        T(load)(sum_2 + e * OF(32, 16, 16) + i) / row_sum_2_18)) + (t_20 * T(pick)(t_22, T(splat)(0.0f),
                        T(load)(sum + e * OF(32, 16, 16) + i) * t_23)));
                }
            }
            /* out = result, transposed back */
            T(transpose_out)(result, OF(32, 16, 16), 64, i1 - i0, out + i0 * out_row, out_row, LANES);
        }
    }
}

/* Initialises the states: they contain no keys yet. */
TARGET APART void T(infini_begin)(const struct call *call, int64_t task, const struct share *share, int64_t iteration)
{
    (void)call;
    (void)task;
    const int64_t f0 = iteration * 32, f1 = min(f0 + 32, 64);
    float *const carried_sum = (float *)(void *)(share->shared + 0); /* [f: 64] */
    float *const carried_sum_compensation = (float *)(void *)(share->shared + 16704); /* [f: 64] */
    float *const carried = (float *)(void *)(share->shared + 256); /* [f: 64, e: 64] */
    float *const carried_compensation = (float *)(void *)(share->shared + 16960); /* [f: 64, e: 64] */
    /* carried_sum = 0.0f; carried_sum_compensation = 0.0f */
    for (int64_t f = f0; f < f1; f += LANES) {
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
TARGET APART void T(infini_keys)(const struct call *call, int64_t task, const struct share *share, int64_t iteration)
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
    float *const state_sum = (float *)(void *)(share->slots + 0); /* [chunk, f: 64] */
    float *const state = (float *)(void *)(share->slots + 256); /* [chunk, f: 64, e: 64] */
    float *const k_tile = (float *)(void *)(share->work + 0); /* [d: 64, j: 64 of 80] */
    /* state_sum = 0.0f */
    for (int64_t f = 0; f < 64; f += LANES) {
        T(store)(state_sum + (chunk - chunk0) * 4176 + f, T(splat)(0.0f));
    }
    /* state = 0.0f */
    for (int64_t f = 0; f < 64; f++) {
        for (int64_t e_first = 0; e_first < 64; e_first += OF(64, 16, 8)) {
            UNROLL for (int64_t vector = 0, e = e_first; vector < OF(4, 2, 2); vector++, e += LANES) {
                T(store)(state + (chunk - chunk0) * 4176 + f * 64 + e, T(splat)(0.0f));
            }
        }
    }
    for (int64_t j0 = chunk * 512, j_end = min(n_k, (chunk + 1) * 512); j0 < j_end; j0 += 64) {
        const int64_t j1 = min(j0 + 64, j_end);
        /* k_tile = k, with zeros beyond the last row */
        T(transpose_padded)(k + j0 * k_row, k_row, j1 - j0, 64, k_tile, 80, 64);
        /* k_tile = select(0.0f < k_tile, k_tile + 1.0f, exp(min(k_tile, 0.0f))) */
        for (int64_t d = 0; d < 64; d++) {
            for (int64_t j = 0; j < j1 - j0; j += LANES) {
                const T(vec) k_tile_0 = T(load)(k_tile + d * 80 + j);
                T(store)(k_tile + d * 80 + j, T(pick)(0.0f < k_tile_0, k_tile_0 + 1.0f, T(exp)(T(min)(k_tile_0,
                    T(splat)(0.0f)))));
            }
        }
        /* state_sum += k_tile */
        for (int64_t f = 0; f < 64; f++) {
            T(vec) lane_sums = T(splat)(0);
            for (int64_t j = 0; j < j1 - j0; j += LANES) {
                const T(vec) term = T(load)(k_tile + f * 80 + j);
                lane_sums += j + LANES <= j1 - j0 ? term : T(pick)(__builtin_convertvector(j + T(lane) < j1 - j0,
                    T(mask)), term, T(splat)(0));
            }
            const float total = T(lane_sum)(lane_sums);
            state_sum[(chunk - chunk0) * 4176 + f] += total;
        }
        /* state[f][e] += sum over j of k_tile * v */
        T(dot6)(j1 - j0, k_tile, v + j0 * v_row, v_row, state + (chunk - chunk0) * 4176);
    }
}

/* Folds the slots of the current chunks, in order, for some elements of the states. */
TARGET APART void T(infini_fold)(const struct call *call, int64_t task, const struct share *share, int64_t iteration)
{
    (void)call;
    (void)task;
    const int64_t f0 = iteration * 32, f1 = min(f0 + 32, 64);
    const int64_t chunk0 = share->chunk0;
    const int64_t chunk1 = share->chunk1;
    float *const state_sum = (float *)(void *)(share->slots + 0); /* [chunk, f: 64] */
    float *const state = (float *)(void *)(share->slots + 256); /* [chunk, f: 64, e: 64] */
    float *const carried_sum = (float *)(void *)(share->shared + 0); /* [f: 64] */
    float *const carried_sum_compensation = (float *)(void *)(share->shared + 16704); /* [f: 64] */
    float *const carried = (float *)(void *)(share->shared + 256); /* [f: 64, e: 64] */
    float *const carried_compensation = (float *)(void *)(share->shared + 16960); /* [f: 64, e: 64] */
    for (int64_t chunk = chunk0; chunk < chunk1; chunk++) {
        /* before_sum = carried_sum; carried_sum += state_sum; state_sum = before_sum */
        for (int64_t f = f0; f < f1; f += LANES) {
            const T(vec) before_sum_new1 = T(load)(carried_sum + f);
            T(add)(carried_sum + f, carried_sum_compensation + f, T(load)(state_sum + (chunk - chunk0) * 4176 + f),
                T(splat)(1));
            T(store)(state_sum + (chunk - chunk0) * 4176 + f, before_sum_new1);
        }
        /* before = carried; carried += state; state = before */
        for (int64_t f = f0; f < f1; f++) {
            for (int64_t e_first = 0; e_first < 64; e_first += OF(64, 16, 8)) {
                UNROLL for (int64_t vector = 0, e = e_first; vector < OF(4, 2, 2); vector++, e += LANES) {
                    const T(vec) before_new2 = T(load)(carried + f * 64 + e);
                    T(add)(carried + f * 64 + e, carried_compensation + f * 64 + e,
                        T(load)(state + (chunk - chunk0) * 4176 + f * 64 + e), T(splat)(1));
                    T(store)(state + (chunk - chunk0) * 4176 + f * 64 + e, before_new2);
                }
            }
        }
    }
}

/* Processes the queries of a chunk: reads the state before the chunk, and the keys in the chunk. */
TARGET APART void T(infini_queries)(const struct call *call, int64_t task, const struct share *share, int64_t iteration)
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
    const float *const beta_array = (const float *)call->array[ARRAY_beta_array].at + g * members *
        call->array[ARRAY_beta_array].stride[0];
    const int64_t beta_array_stride_0 = call->array[ARRAY_beta_array].stride[0];
    float *const state_sum = (float *)(void *)(share->slots + 0); /* [chunk, f: 64] */
    float *const state = (float *)(void *)(share->slots + 256); /* [chunk, f: 64, e: 64] */
    float *const query_features = (float *)(void *)(share->work + 0); /* [d: 64, i: 64 of 80] */
    float *const score = (float *)(void *)(share->work + 20480); /* [j: 64, i: 64 of 80] */
    float *const row_max = (float *)(void *)(share->work + 40960); /* [i: 64] */
    float *const old_max = (float *)(void *)(share->work + 41216); /* [i: 64] */
    float *const row_sum = (float *)(void *)(share->work + 41472); /* [i: 64] */
    float *const row_sum_compensation = (float *)(void *)(share->work + 41728); /* [i: 64] */
    float *const sum = (float *)(void *)(share->work + 41984); /* [e: 64, i: 64 of 80] */
    float *const sum_compensation = (float *)(void *)(share->work + 62464); /* [e: 64, i: 64 of 80] */
    float *const score_2 = (float *)(void *)(share->work + 0); /* [j: 64, i: 64 of 80] */
    float *const row_sum_from_state = (float *)(void *)(share->work + 82944); /* [i: 64] */
    float *const row_sum_2 = (float *)(void *)(share->work + 83200); /* [i: 64] */
    float *const row_sum_2_compensation = (float *)(void *)(share->work + 83456); /* [i: 64] */
    float *const sum_from_state = (float *)(void *)(share->work + 83712); /* [e: 64, i: 64 of 80] */
    float *const sum_2 = (float *)(void *)(share->work + 104192); /* [e: 64, i: 64 of 80] */
    float *const sum_2_compensation = (float *)(void *)(share->work + 124672); /* [e: 64, i: 64 of 80] */
    float *const out = (float *)call->array[ARRAY_out].at + b * call->array[ARRAY_out].strides.batch + g * members *
        call->array[ARRAY_out].strides.head;
    const int64_t out_row = call->array[ARRAY_out].strides.row;
    const int64_t out_head = call->array[ARRAY_out].strides.head;
    float *const q_tile = (float *)(void *)(share->work + 145152); /* [d: 64, i: 64 of 80] */
    float *const k_tile_2 = (float *)(void *)(share->work + 20480); /* [d: 64, j: 64 of 80] */
    for (int64_t m = 0; m < members; m++) {
        for (int64_t i0 = (chunk == 0) ? 0 : max(0, max(((((chunk * 512) - floor_mod((chunk * 512) + 511,
            512) + 511) / 512) * 512) - ((0 < (((chunk * 512) - floor_mod((chunk * 512) + 511,
            512) + 511) / 512)) ? 0 : 511) - query_start, ((chunk * 512) <= (n_k - 1)) ? 0 : n_q)), i_end = min(n_q,
            max((((((chunk + 1) * 512) - floor_mod(((chunk + 1) * 512) + 511,
            512) + 511) / 512) * 512) - ((0 < ((((chunk + 1) * 512) - floor_mod(((chunk + 1) * 512) + 511,
            512) + 511) / 512)) ? 0 : 511) - query_start, (((chunk + 1) * 512) <= (n_k - 1)) ? 0 : n_q)); i0 < i_end;
            i0 += 64) {
            const int64_t i1 = min(i0 + 64, i_end);
            /* q_tile = q, with zeros beyond the last row */
            T(transpose_padded)(q + m * q_head + i0 * q_row, q_row, i1 - i0, 64, q_tile, 80, 0);
            /* query_features = q_tile * 0.18033688f; q_tile = select(0.0f < q_tile, q_tile + 1.0f, exp(min(q_tile,
               0.0f))) */
            for (int64_t d = 0; d < 64; d++) {
                for (int64_t i = 0; i < i1 - i0; i += LANES) {
                    const T(vec) q_tile_3 = T(load)(q_tile + d * 80 + i);
                    T(store)(query_features + d * 80 + i, q_tile_3 * 0.18033688f);
                    T(store)(q_tile + d * 80 + i, T(pick)(0.0f < q_tile_3, q_tile_3 + 1.0f, T(exp)(T(min)(q_tile_3,
                        T(splat)(0.0f)))));
                }
            }
            /* row_max = -FLT_MAX; row_sum = 0.0f; row_sum_compensation = 0.0f; row_sum_from_state = 0.0f */
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                T(store)(row_max + i, T(splat)(-FLT_MAX));
                T(store)(row_sum + i, T(splat)(0.0f));
                T(store)(row_sum_compensation + i, T(splat)(0.0f));
                T(store)(row_sum_from_state + i, T(splat)(0.0f));
            }
            /* row_sum_from_state += q_tile * state_sum */
            for (int64_t i_first = 0; i_first < i1 - i0; i_first += OF(64, 16, 8)) {
                T(vec) row_sum_from_state_in[OF(4, 2, 2)];
                UNROLL for (int64_t vector = 0, i = i_first; vector < OF(4, 2, 2); vector++, i += LANES) {
                    row_sum_from_state_in[vector] = (T(vec)){0};
                }
                for (int64_t f = 0; f < 64; f++) {
                    UNROLL for (int64_t vector = 0, i = i_first; vector < OF(4, 2, 2); vector++, i += LANES) {
                        row_sum_from_state_in[vector] += T(load)(q_tile + f * 80 + i) * (state_sum[(chunk - chunk0) *
                            4176 + f]);
                    }
                }
                UNROLL for (int64_t vector = 0, i = i_first; vector < OF(4, 2, 2); vector++, i += LANES) {
                    T(store)(row_sum_from_state + i, T(load)(row_sum_from_state + i) + row_sum_from_state_in[vector]);
                }
            }
            /* row_sum_2 = 0.0f; row_sum_2_compensation = 0.0f */
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                T(store)(row_sum_2 + i, T(splat)(0.0f));
                T(store)(row_sum_2_compensation + i, T(splat)(0.0f));
            }
            /* sum_from_state[e][i] = sum over f of state * q_tile */
            T(dot7)(round_up(i1 - i0, LANES), state + (chunk - chunk0) * 4176, q_tile, sum_from_state,
                (const struct coming[]){{k + max(0, i0 + query_start - floor_mod(i0 + query_start, 512)) * k_row,
                4 * k_row, 256}, {v + max(0, i0 + query_start - floor_mod(i0 + query_start, 512)) * v_row, 4 * v_row,
                256}, {out + m * out_head + i0 * out_row, 4 * out_row, 256}, {q + m * q_head + (i0 + 64) * q_row,
                4 * q_row, 256}});
            /* sum = 0.0f; sum_compensation = 0.0f; sum_2 = 0.0f; sum_2_compensation = 0.0f */
            for (int64_t e = 0; e < 64; e++) {
                for (int64_t i = 0; i < i1 - i0; i += LANES) {
                    T(store)(sum + e * 80 + i, T(splat)(0.0f));
                    T(store)(sum_compensation + e * 80 + i, T(splat)(0.0f));
                    T(store)(sum_2 + e * 80 + i, T(splat)(0.0f));
                    T(store)(sum_2_compensation + e * 80 + i, T(splat)(0.0f));
                }
            }
            for (int64_t j0 = max(0, i0 + query_start - floor_mod(i0 + query_start, 512)), j_end = min(n_k,
                min(i1 + query_start, i1 + query_start - floor_mod(i1 + query_start - 1, 512) + 511)); j0 < j_end;
                j0 += 64) {
                const int64_t j1 = min(j0 + 64, j_end);
                /* score[j][i] = sum over d of k * query_features */
                T(dot8)(round_up(i1 - i0, LANES), j1 - j0, k + j0 * k_row, k_row, query_features, score);
                /* old_max = row_max */
                for (int64_t i = 0; i < i1 - i0; i += LANES) {
                    T(store)(old_max + i, T(load)(row_max + i));
                }
                if ((j0 < (i1 + query_start - floor_mod(i1 + query_start - 1, 512) - 1)) || (min(i0 + query_start + 1,
                    i0 + query_start - floor_mod(i0 + query_start, 512) + 512) < j1)) { /* the tile is partly outside
                    the mask */
                    /* score = select((j <= (i + query_start)) && (((((i + query_start) - floormod(i + query_start,
                       512)) / 512) <= ((j - floormod(j, 5 ... */
                    for (int64_t i = 0; i < i1 - i0; i += LANES) {
                        const T(ints) t_4 = (i0 + i + T(lane)) + query_start;
                        const T(ints) r5 = t_4 % 512;
                        const T(ints) t_6 = (t_4 - (r5 + (((r5 != 0) & ((r5 < 0) != (512 < 0))) & 512))) / 512;
                        for (int64_t j = 0; j < j1 - j0; j++) {
                            const int64_t t_7 = ((j0 + j) - floor_mod(j0 + j, 512)) / 512;
                            T(store)(score + j * 80 + i, T(pick)(__builtin_convertvector(((j0 + j) <= t_4) & ((t_6 <=
                                t_7) & (t_7 <= t_6)), T(mask)), T(load)(score + j * 80 + i), T(splat)(-INFINITY)));
                        }
                    }
                }
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
                            row_max_in[vector] = T(max)(row_max_in[vector], T(load)(score + j * 80 + i));
#else
                    for (int64_t j_first = 0; j_first < j1 - j0; j_first += 2) {
                        UNROLL for (int j_chain = 0; j_chain < 2; j_chain++) {
                            const int64_t j = min(j_first + j_chain, j1 - j0 - 1);
                            UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += LANES) {
                                row_max_in[vector][j_chain] = T(max)(row_max_in[vector][j_chain],
                                    T(load)(score + j * 80 + i));
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
                /* old_max = exp2(old_max - row_max); row_sum = row_sum * old_max */
                for (int64_t i = 0; i < i1 - i0; i += LANES) {
                    const T(vec) old_max_8 = T(load)(old_max + i);
                    const T(vec) old_max_new9 = T(exp2)(old_max_8 - T(load)(row_max + i));
                    T(store)(old_max + i, old_max_new9);
                    T(store)(row_sum + i, T(load)(row_sum + i) * old_max_new9);
                }
                /* score = exp2(score - row_max); row_sum += score */
                for (int64_t i = 0; i < i1 - i0; i += LANES) {
                    const T(vec) row_max_11 = T(load)(row_max + i);
                    T(vec) row_sum_in = (T(vec)){0};
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        const T(vec) score_10 = T(load)(score + j * 80 + i);
                        const T(vec) score_new12 = T(exp2)(score_10 - row_max_11);
                        T(store)(score + j * 80 + i, score_new12);
                        row_sum_in += score_new12;
                    }
                    T(add)(row_sum + i, row_sum_compensation + i, row_sum_in, T(splat)(1));
                }
                /* sum[e][i] = sum * old_max + sum over j of v * score */
                if (__builtin_expect(((j0 < (i1 + query_start - floor_mod(i1 + query_start - 1,
                    512) - 1)) || (min(i0 + query_start + 1, i0 + query_start - floor_mod(i0 + query_start,
                    512) + 512) < j1)) && !T(finite)(v + j0 * v_row, v_row, j1 - j0, 64),
                    0)) { /* infinity and NaN affect only queries that see them */
                    T(dot9)(round_up(i1 - i0, LANES), j1 - j0, v + j0 * v_row, v_row, score, sum, old_max,
                        sum_compensation);
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        T(mask) in_region[OF(4, 8, 16)] = {0};
                        if (T(finite)(v + j0 * v_row + j * v_row, 1, 64, 1)) continue;
                        const int64_t t_16 = ((j0 + j) - floor_mod(j0 + j, 512)) / 512;
                        for (int64_t i = 0; i < i1 - i0; i += LANES) {
                            const T(ints) t_13 = (i0 + i + T(lane)) + query_start;
                            const T(ints) r14 = t_13 % 512;
                            const T(ints) t_15 = (t_13 - (r14 + (((r14 != 0) & ((r14 < 0) != (512 < 0))) & 512))) / 512;
                            in_region[i / LANES] = __builtin_convertvector(((j0 + j) <= t_13) & ((t_15 <= t_16) & (t_16
                                <= t_15)), T(mask));
                        }
                        T(add_seen)(64, sum, 80, v + j0 * v_row + j * v_row, 1, score + j * 80, in_region, i1 - i0);
                    }
                } else
                    T(dot10)(round_up(i1 - i0, LANES), j1 - j0, v + j0 * v_row, v_row, score, sum, old_max,
                        sum_compensation);
            }
            {
                for (int64_t j0 = max(0, chunk * 512), j_end = min(n_k, ((i1 + query_start - 1) / 512) * 512);
                    j0 < j_end; j0 += 64) {
                    const int64_t j1 = min(j0 + 64, j_end);
                    /* k_tile_2 = k, with zeros beyond the last row */
                    T(transpose_padded)(k + j0 * k_row, k_row, j1 - j0, 64, k_tile_2, 80, 0);
                    /* k_tile_2 = select(0.0f < k_tile_2, k_tile_2 + 1.0f, exp(min(k_tile_2, 0.0f))) */
                    for (int64_t d = 0; d < 64; d++) {
                        for (int64_t j = 0; j < j1 - j0; j += LANES) {
                            const T(vec) k_tile_2_17 = T(load)(k_tile_2 + d * 80 + j);
                            T(store)(k_tile_2 + d * 80 + j, T(pick)(0.0f < k_tile_2_17, k_tile_2_17 + 1.0f,
                                T(exp)(T(min)(k_tile_2_17, T(splat)(0.0f)))));
                        }
                    }
                    /* score_2[j][i] = sum over d of k_tile_2 * q_tile */
                    T(dot11)(round_up(i1 - i0, LANES), j1 - j0, k_tile_2, q_tile, score_2);
                    if ((j0 < (chunk * 512)) || ((((i0 + query_start) / 512) * 512) < j1)) { /* the tile is partly
                        outside the mask */
                        /* score_2 = select((j <= ((((i + query_start) / 512) * 512) + -1)) && ((chunk * 512) <= j),
                           score_2, 0.0f) */
                        for (int64_t i = 0; i < i1 - i0; i += LANES) {
                            const T(ints) t_18 = ((((i0 + i + T(lane)) + query_start) / 512) * 512) + (-1);
                            for (int64_t j = 0; j < j1 - j0; j++) {
                                T(store)(score_2 + j * 80 + i, T(pick)(__builtin_convertvector(((j0 + j) <= t_18) &
                                    (-(int64_t)((chunk * 512) <= (j0 + j))), T(mask)), T(load)(score_2 + j * 80 + i),
                                    T(splat)(0.0f)));
                            }
                        }
                    }
                    /* row_sum_2 += score_2 */
                    for (int64_t i_first = 0; i_first < i1 - i0; i_first += OF(64, 16, 8)) {
                        T(vec) row_sum_2_in[OF(4, 2, 2)];
                        UNROLL for (int64_t vector = 0, i = i_first; vector < OF(4, 2, 2); vector++, i += LANES) {
                            row_sum_2_in[vector] = (T(vec)){0};
                        }
                        for (int64_t j = 0; j < j1 - j0; j++) {
                            UNROLL for (int64_t vector = 0, i = i_first; vector < OF(4, 2, 2); vector++, i += LANES) {
                                row_sum_2_in[vector] += T(load)(score_2 + j * 80 + i);
                            }
                        }
                        UNROLL for (int64_t vector = 0, i = i_first; vector < OF(4, 2, 2); vector++, i += LANES) {
                            T(add)(row_sum_2 + i, row_sum_2_compensation + i, row_sum_2_in[vector], T(splat)(1));
                        }
                    }
                    /* sum_2[e][i] += sum over j of v * score_2 */
                    if (__builtin_expect(((j0 < (chunk * 512)) || ((((i0 + query_start) / 512) * 512) < j1)) &&
                        !T(finite)(v + j0 * v_row, v_row, j1 - j0, 64), 0)) { /* infinity and NaN affect only queries
                        that see them */
                        T(dot12)(round_up(i1 - i0, LANES), j1 - j0, v + j0 * v_row, v_row, score_2, sum_2,
                            sum_2_compensation);
                        for (int64_t j = 0; j < j1 - j0; j++) {
                            T(mask) in_region[OF(4, 8, 16)] = {0};
                            if (T(finite)(v + j0 * v_row + j * v_row, 1, 64, 1)) continue;
                            const int t_19 = (chunk * 512) <= (j0 + j);
                            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                                in_region[i / LANES] = __builtin_convertvector(((j0 + j) <= (((((i0 + i + T(lane)) +
                                    query_start) / 512) * 512) + (-1))) & (-(int64_t)t_19), T(mask));
                            }
                            T(add_seen)(64, sum_2, 80, v + j0 * v_row + j * v_row, 1, score_2 + j * 80, in_region,
                                i1 - i0);
                        }
                    } else
                        T(dot13)(round_up(i1 - i0, LANES), j1 - j0, v + j0 * v_row, v_row, score_2, sum_2,
                            sum_2_compensation);
                }
            }
            /* sum_2 = (sigmoid(beta) * select((row_sum_2 + row_sum_from_state) == 0.0f, 0.0f,
               (sum_2 + sum_from_state) / (row_sum_2 + row_sum_ ... */
            const float t_20 = sigmoidf(beta_array[m * beta_array_stride_0]);
            const float t_23 = (float)1 - t_20;
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                const T(vec) t_21 = T(load)(row_sum_2 + i) + T(load)(row_sum_from_state + i);
                const T(mask) t_22 = t_21 == 0.0f;
                const T(vec) row_sum_24 = T(load)(row_sum + i);
                const T(mask) t_25 = row_sum_24 == 0.0f;
                const T(vec) t_26 = 1.0f / row_sum_24;
                for (int64_t e = 0; e < 64; e++) {
                    T(store)(sum_2 + e * 80 + i, (t_20 * T(pick)(t_22, T(splat)(0.0f),
                        (T(load)(sum_2 + e * 80 + i) + T(load)(sum_from_state + e * 80 + i)) / t_21)) + (t_23 *
                        T(pick)(t_25, T(splat)(0.0f), T(load)(sum + e * 80 + i) * t_26)));
                }
            }
            /* out = sum_2, transposed back */
            T(transpose_out)(sum_2, 80, 64, i1 - i0, out + m * out_head + i0 * out_row, out_row, 0);
        }
    }
}

/* Computes head number `task`. Each thread on the head calls this with `share`. */
TARGET static void T(infini_linear)(const struct call *call, int64_t task, struct share *share)
{
    const int64_t n_k = call->p.n_k;
    const int64_t chunks = n_k > 0 ? (n_k - 1) / 512 + 1 : 1;
    for (int64_t iteration = share->number; iteration < ((64 + 31) / 32); iteration += share->threads)
        T(infini_begin)(call, task, share, iteration);
    synchronise(share);
    const int64_t first = 0;
    const int64_t length = segment_length(share, chunks - first);
    for (int64_t segment = share->number; first + segment * length < chunks; segment += share->threads) {
        share->chunk0 = first + segment * length;
        share->chunk1 = min(share->chunk0 + length, chunks);
        for (int64_t iteration = share->chunk0; iteration < share->chunk1; iteration++)
            T(infini_keys)(call, task, share, iteration);
        for (int64_t group = 0; group < 16; group++) {
            await_segment(share, group, segment);
            const int64_t end = (group + 1) * ((64 + 31) / 32) / 16;
            for (int64_t iteration = group * ((64 + 31) / 32) / 16; iteration < end; iteration++)
                T(infini_fold)(call, task, share, iteration);
            pass_segment(share, group, segment);
        }
        for (int64_t iteration = share->chunk0; iteration < share->chunk1; iteration++)
            T(infini_queries)(call, task, share, iteration);
    }
    share->segments += (max(chunks - first, 0) + length - 1) / length;
    synchronise(share);
}
#include <attnrt/kernel/end.h>
#else
#ifdef __cplusplus
#error "infini.c is C, not C++: compile it with a C compiler"
#elif !defined __STDC_VERSION__ || __STDC_VERSION__ < 199901L
#error "infini.c is C11, not C89: compile it without -std=, or with -std=gnu11"
extern int infini_is_c11;
#elif !defined __GNUC__
#error "infini.c uses GNU C vector extensions: compile it with gcc or clang"
extern int infini_is_gnu_c;
#else
#include "infini.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include <attnrt/kernel/optimize.h>
#include <attnrt/kernel/call.h>

/* the numbers of the arrays of a call */
enum {
    ARRAY_q, ARRAY_k, ARRAY_v, ARRAY_out, ARRAY_beta_array
};

#ifdef __FILE_NAME__
#define LOOPS __FILE_NAME__ /* this file, whose first part has the loops */
#else
#define LOOPS "infini.c"
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
#define MAX_STEPS 96
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
#define MAX_STEPS 96
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
#define MAX_STEPS 96
#define OF(v4, v3, any) any /* a number of each target */
#define SECTION
#include LOOPS
#undef SECTION

/* ==== tables for the library that calls these functions (attnrt/kernel/call.h) ==== */
static const struct attn_param param[] = {
    {"beta", ATTN_F32, 1, {ATTN_HEADS}, offsetof(struct infini_params, beta), 0, offsetof(struct infini_strides, beta),
        0, 0, ATTN_NO_LIMITS},
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
    {.name = "beta", .access = {ACCESS_READ, ACCESS_NONE}, .dtype = ATTN_F32, .origin = FROM_PARAMS, .param = 0,
        .axis = {-1, 0, -1}},
};

#if defined(__x86_64__)
static int runs_v4(void)
{
    return attn_x86_64_level() >= 4;
}
static const struct program programs_v4[] = {
    {.role = RUN_FORWARD, .from = 575,
     .head = infini_linear_v4, .tile = 0, .own = 165632, .of_token = 4160, .in_keys = 1, .shared = 33408, .slot = 16704,
         .slots = 4, .together = 1},
    {.role = RUN_FORWARD,
     .rows = infini_rows_v4, .tile = 256, .own = 410752, .of_pair = 128},
};
#endif
#if defined(__x86_64__)
static int runs_v3(void)
{
    return attn_x86_64_level() >= 3;
}
static const struct program programs_v3[] = {
    {.role = RUN_FORWARD, .from = 575,
     .head = infini_linear_v3, .tile = 0, .own = 165632, .of_token = 4160, .in_keys = 1, .shared = 33408, .slot = 16704,
         .slots = 4, .together = 1},
    {.role = RUN_FORWARD,
     .rows = infini_rows_v3, .tile = 256, .own = 404544, .of_pair = 128},
};
#endif
static const struct program programs_any[] = {
    {.role = RUN_FORWARD, .from = 575,
     .head = infini_linear_any, .tile = 0, .own = 165632, .of_token = 4160, .in_keys = 1, .shared = 33408,
         .slot = 16704, .slots = 4, .together = 1},
    {.role = RUN_FORWARD,
     .rows = infini_rows_any, .tile = 128, .own = 205376, .of_pair = 128},
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
    .layout = KERNEL_LAYOUT, .name = "infini", .openmp = OPENMP,
    .target = target, .targets = sizeof target / sizeof *target - 1,
    .array = array, .arrays = sizeof array / sizeof *array,
    .param = param, .params = 1, .params_bytes = sizeof(struct infini_params),
    .dtype = ATTN_F32, .key_dtype = ATTN_F32, .value_dtype = ATTN_F32, .real = sizeof(float), .element = sizeof(float),
    .head_dim = 64, .value_dim = 64, .key_row = 64, .value_row = 64,
    .strided = 1, .strides = offsetof(struct infini_params, strides),
    .shares = 1,
    .positions = 1,
    .ids = -1,
    .corrected = -1,
    .solution = -1,
};

/* ==== the interface ==== */
size_t infini_params_size(void) { return attn_call_params_size(&kernel); }
int infini_params_init(struct infini_params *params, uint64_t seed, void *storage)
{
    return attn_call_params_init(&kernel, params, seed, storage);
}
size_t infini_workspace(const struct attn_problem *problem) { return attn_call_workspace(&kernel, problem); }
int infini_forward(const struct attn_problem *problem, const struct infini_params *params, const float *q,
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
const struct attn_kernel infini_kernel = {
    .name = "infini", .version = "0.2.0", .dtype = ATTN_F32, .head_dim = 64, .value_dim = 64,
    .params = 1, .param = param, .params_bytes = sizeof(struct infini_params),
    .params_size = infini_params_size, .params_init = params_init_any, .forward = forward_any,
    .workspace = infini_workspace,
    .key_dtype = ATTN_F32, .value_dtype = ATTN_F32,
    .strides = offsetof(struct infini_params, strides), .strides_bytes = sizeof(struct infini_strides),
    .before = INT64_MAX, .after = INT64_MAX, .period = 0, .names_heads = 0, .names_sequences = 0, .in_parts = 0,
    .saved_power = 0, .has_sink = 0, .open_keys = 0, .end_of_keys = INT64_MAX,
};
#endif /* a compiler of this language */
#endif /* SECTION */
