/* local_blocks_polysketch.c, made by attnc 0.2.0: attnc local_blocks_polysketch.yaml
   C11 with GNU extensions, for a C compiler; C++ includes local_blocks_polysketch.h.
   sketched polynomial attention to the tokens before it in its own block and in the 31 blocks before that
   Kacham, Mirrokni and Zhong, PolySketchFormer (ICML 2024), section 3,
   under a sliding window of blocks: the states of the blocks are summed again for
   every block, none is subtracted

   Computes, in f32, over the axes b (batch), g (key/value head), m (query head of g), i (query), j (key), d (64),
   e (64), r (16):
     q [b g m i d]
     k [b g j d]
     v [b g j e]
     sketch.g1 [d r], normal parameter
     x4 [b g m i r] = sum over d of q * sketch.g1
     sketch.g2 [d r], normal parameter
     x6 [b g m i r] = sum over d of q * sketch.g2
     x7 [b g m i r] = x4 * x6 * 0.25
     x8 [b g j r] = sum over d of k * sketch.g1
     x9 [b g j r] = sum over d of k * sketch.g2
     x10 [b g j r] = x8 * x9 * 0.25
     x11 [b g m i j] = sum over r of x7 * x10
     x12 [b g m i j] = x11 * x11
     x13 [b g m i] = sum over j of x12 if j <= i + query_start && floor((i + query_start) / 64) + -31 <= floor(j / 64)
     && floor(j / 64) <= floor((i + query_start) / 64)
     x14 [b g m i e] = sum over j of x12 * v if j <= i + query_start && floor((i + query_start) / 64) + -31 <= floor(j /
     64) && floor(j / 64) <= floor((i + query_start) / 64)
     x15 [b g m i e] = x13 + 1 == 0 ? 0 : x14 / (x13 + 1)
     out = x15
   query_start is the position of the first query: problem.query_start[b], or n_k - n_q if that is NULL.

   How: each vector lane holds one query. Keys are processed in tiles,
   so row sums and maxima need no reduction across lanes.
   The sums of a tile start from zero and are added to the sums so far. Tiles that no query sees are skipped.
   For few queries each lane holds one key. The queries of all heads that share keys are the rows of one tile,
   so each key is read once.
   The chunks of keys are divided among the threads. Their sums are added in the order of the chunks.
   Linear from 622 keys on: the weight is an inner product of 136 features. The state is a sum over keys of 136 x 65
   numbers.
     x86-64-v4  quadratic tiles of 32 queries and 96 keys, in blocks of 256 queries;
     196608 bytes of workspace per thread
     x86-64-v4  linear    tiles of 64 queries and 64 keys; 1243392 bytes of workspace per thread
     x86-64-v4  few       tiles of 64 queries and 128 keys; 168000 bytes of workspace per thread
     x86-64-v3  quadratic tiles of 16 queries and 96 keys, in blocks of 256 queries;
     188416 bytes of workspace per thread
     x86-64-v3  linear    tiles of 64 queries and 64 keys; 1242432 bytes of workspace per thread
     x86-64-v3  few       tiles of 64 queries and 128 keys; 168000 bytes of workspace per thread
     generic    quadratic tiles of 16 queries and 96 keys, in blocks of 128 queries;
     113664 bytes of workspace per thread
     generic    linear    tiles of 64 queries and 64 keys; 1242432 bytes of workspace per thread
     generic    few       tiles of 64 queries and 128 keys; 168000 bytes of workspace per thread

   Contents:
     loops      local_blocks_polysketch_rows, local_blocks_polysketch_linear, local_blocks_polysketch_few
     targets    x86-64-v4, x86-64-v3, generic
     tables     arrays and programs, for the functions of attnrt that call the loops
     interface  local_blocks_polysketch_workspace, local_blocks_polysketch_forward, local_blocks_polysketch_kernel
   The file includes itself, so that the loops are compiled once for each target. T(name) is a name with the target's
   suffix, LANES the elements of its vectors, and OF(…) a number for each target.

   Compile with: cc -O2 -fopenmp local_blocks_polysketch.c … -lattnrt -lm */
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
TARGET APART void T(dot0)(int64_t lanes, const float *a, const float *b, float *c)
{
    T(dot)(/*vectors=*/2, lanes, /*rows=*/16, /*tail=*/4, /*steps=*/64, /*span=*/32, a, /*a_row=*/1, /*a_step=*/16, b,
        /*b_step=*/OF(32, 16, 16), c, /*c_row=*/OF(32, 16, 16), /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL);
}
TARGET APART void T(dot1)(int64_t lanes, const float *a, const float *b, float *c)
{
    T(dot)(/*vectors=*/OF(3, 2, 2), lanes, /*rows=*/16, /*tail=*/4, /*steps=*/64, /*span=*/32, a, /*a_row=*/1,
        /*a_step=*/16, b, /*b_step=*/96, c, /*c_row=*/96, /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL);
}
TARGET APART void T(dot2)(int64_t lanes, int64_t rows, const float *a, const float *b, float *c)
{
    T(dot)(/*vectors=*/2, lanes, rows, /*tail=*/-1, /*steps=*/16, /*span=*/32, a, /*a_row=*/1, /*a_step=*/96, b,
        /*b_step=*/OF(32, 16, 16), c, /*c_row=*/OF(32, 16, 16), /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL);
}
TARGET APART void T(dot3)(int64_t lanes, int64_t steps, const float *a, int64_t a_step, const float *b, float *c,
    float *compensation)
{
    T(dot_finite)(/*vectors=*/2, lanes, /*rows=*/64, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/1, a_step, b,
        /*b_step=*/OF(32, 16, 16), c, /*c_row=*/OF(32, 16, 16), /*update=*/3, /*factor=*/NULL, compensation);
}
TARGET APART void T(dot4)(int64_t lanes, int64_t steps, const float *a, int64_t a_step, const float *b, float *c,
    float *compensation)
{
    T(dot)(/*vectors=*/2, lanes, /*rows=*/64, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/1, a_step, b,
        /*b_step=*/OF(32, 16, 16), c, /*c_row=*/OF(32, 16, 16), /*update=*/3, /*factor=*/NULL, compensation);
}
TARGET APART void T(dot5)(int64_t lanes, const float *a, const float *b, float *c)
{
    T(dot)(/*vectors=*/OF(4, 2, 2), lanes, /*rows=*/16, /*tail=*/4, /*steps=*/64, /*span=*/32, a, /*a_row=*/1,
        /*a_step=*/16, b, /*b_step=*/80, c, /*c_row=*/80, /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL);
}
TARGET APART void T(dot6)(int64_t steps, const float *a, const float *b, int64_t b_step, float *c)
{
    T(dot)(/*vectors=*/OF(4, 2, 2), /*lanes=*/64, /*rows=*/136, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/80,
        /*a_step=*/1, b, b_step, c, /*c_row=*/64, /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL);
}
TARGET APART void T(dot7)(int64_t lanes, const float *a, const float *b, float *c, const struct coming *next)
{
    T(dot_meanwhile)(/*vectors=*/OF(4, 2, 2), lanes, /*rows=*/64, /*tail=*/4, /*steps=*/136, /*span=*/32, a,
        /*a_row=*/1, /*a_step=*/64, b, /*b_step=*/80, c, /*c_row=*/80, /*update=*/0, /*factor=*/NULL,
        /*compensation=*/NULL, next, /*arrays=*/4, /*nexts=*/64);
}
TARGET APART void T(dot8)(int64_t lanes, int64_t rows, const float *a, const float *b, float *c)
{
    T(dot)(/*vectors=*/OF(4, 2, 2), lanes, rows, /*tail=*/-1, /*steps=*/16, /*span=*/32, a, /*a_row=*/1, /*a_step=*/80,
        b, /*b_step=*/80, c, /*c_row=*/80, /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL);
}
TARGET APART void T(dot9)(int64_t lanes, int64_t steps, const float *a, int64_t a_step, const float *b, float *c,
    float *compensation)
{
    T(dot_finite)(/*vectors=*/OF(4, 2, 2), lanes, /*rows=*/64, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/1, a_step,
        b, /*b_step=*/80, c, /*c_row=*/80, /*update=*/3, /*factor=*/NULL, compensation);
}
TARGET APART void T(dot10)(int64_t lanes, int64_t steps, const float *a, int64_t a_step, const float *b, float *c,
    float *compensation)
{
    T(dot)(/*vectors=*/OF(4, 2, 2), lanes, /*rows=*/64, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/1, a_step, b,
        /*b_step=*/80, c, /*c_row=*/80, /*update=*/3, /*factor=*/NULL, compensation);
}
TARGET APART void T(dot11)(int64_t lanes, const float *a, const float *b, float *c)
{
    T(dot)(/*vectors=*/OF(4, 2, 2), lanes, /*rows=*/16, /*tail=*/4, /*steps=*/64, /*span=*/32, a, /*a_row=*/1,
        /*a_step=*/16, b, /*b_step=*/80, c, /*c_row=*/64, /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL);
}
TARGET APART void T(dot12)(int64_t lanes, const float *a, const float *b, float *c)
{
    T(dot)(/*vectors=*/OF(4, 2, 2), lanes, /*rows=*/16, /*tail=*/4, /*steps=*/64, /*span=*/32, a, /*a_row=*/1,
        /*a_step=*/16, b, /*b_step=*/144, c, /*c_row=*/144, /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL);
}
TARGET APART void T(dot13)(int64_t lanes, int64_t rows, const float *a, const float *b, float *c)
{
    T(dot)(/*vectors=*/OF(4, 2, 2), lanes, rows, /*tail=*/-1, /*steps=*/16, /*span=*/32, a, /*a_row=*/1, /*a_step=*/64,
        b, /*b_step=*/144, c, /*c_row=*/144, /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL);
}
TARGET APART void T(dot14)(int64_t rows, int64_t steps, const float *a, const float *b, int64_t b_step, float *c)
{
    T(dot_finite_lanes)(/*fetched=*/1, /*vectors=*/OF(4, 2, 2), /*lanes=*/64, rows, /*tail=*/-1, steps, /*span=*/192, a,
        /*a_row=*/144, /*a_step=*/1, b, b_step, c, /*c_row=*/64, /*update=*/1, /*factor=*/NULL, /*compensation=*/NULL);
}
#if OF(1, 0, 0)
TARGET APART void T(dot15)(int64_t rows, int64_t steps, const float *a, const float *b, int64_t b_step, float *c,
    int64_t early)
#else
TARGET APART void T(dot15)(int64_t rows, int64_t steps, const float *a, const float *b, int64_t b_step, float *c)
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
TARGET static void T(local_blocks_polysketch_rows)(const struct call *call, int64_t task, unsigned char *work)
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
    const float *const sketch_g1 = (const float *)call->array[ARRAY_sketch_g1].at;
    const float *const sketch_g2 = (const float *)call->array[ARRAY_sketch_g2].at;
    float *const query_g1 = (float *)(void *)(work + 0); /* [r: 16, i: OF(32, 16, 16)] */
    float *const query_g2 = (float *)(void *)(work + OF(2048, 1024, 1024)); /* [r: 16, i: OF(32, 16, 16)] */
    float *const all_query = (float *)(void *)(work + OF(4096, 2048, 2048)); /* [r: 16, i: OF(32, 16, 16), OF(8, 16,
        8) times] */
    float *const key_g1 = (float *)(void *)(work + OF(20480, 18432, 10240)); /* [r: 16, j: 96] */
    float *const key_g2 = (float *)(void *)(work + OF(26624, 24576, 16384)); /* [r: 16, j: 96] */
    float *const score = (float *)(void *)(work + OF(26624, 24576, 16384)); /* [j: 96, i: OF(32, 16, 16)] */
    float *const all_row_sum = (float *)(void *)(work + OF(38912, 30720, 22528)); /* [i: OF(32, 16, 16), OF(8, 16,
        8) times] */
    float *const all_row_sum_compensation = (float *)(void *)(work + OF(39936, 31744, 23040)); /* [i: OF(32, 16, 16),
        OF(8, 16, 8) times] */
    float *const all_sum = (float *)(void *)(work + OF(40960, 32768, 23552)); /* [e: 64, i: OF(32, 16, 16), OF(8, 16,
        8) times] */
    float *const all_sum_compensation = (float *)(void *)(work + OF(106496, 98304, 56320)); /* [e: 64, i: OF(32, 16,
        16), OF(8, 16, 8) times] */
    float *const result = (float *)(void *)(work + 0); /* [e: 64, i: OF(32, 16, 16)] */
    float *const out = (float *)call->array[ARRAY_out].at + b * call->array[ARRAY_out].strides.batch + (g * members + m)
        * call->array[ARRAY_out].strides.head;
    const int64_t out_row = call->array[ARRAY_out].strides.row;
    float *const q_tile = (float *)(void *)(work + OF(20480, 18432, 10240)); /* [d: 64, i: OF(32, 16, 16)] */
    float *const k_tile = (float *)(void *)(work + OF(172032, 163840, 89088)); /* [d: 64, j: 96] */
    for (int64_t i_next = i0, i_block = i0, i_end = i1; i_next < i_end; i_next += OF(32, 16, 16)) {
        const int64_t i0 = i_next, i1 = min(i0 + OF(32, 16, 16), i_end);
        float *const query = all_query + (i0 - i_block) / OF(32, 16, 16) * OF(512, 256, 256);
        float *const row_sum = all_row_sum + (i0 - i_block) / OF(32, 16, 16) * OF(32, 16, 16);
        float *const row_sum_compensation = all_row_sum_compensation + (i0 - i_block) / OF(32, 16, 16) * OF(32, 16, 16);
        float *const sum = all_sum + (i0 - i_block) / OF(32, 16, 16) * OF(2048, 1024, 1024);
        float *const sum_compensation = all_sum_compensation + (i0 - i_block) / OF(32, 16, 16) * OF(2048, 1024, 1024);
        /* q_tile = q, with zeros beyond the last row */
        T(transpose_padded)(q + i0 * q_row, q_row, i1 - i0, 64, q_tile, OF(32, 16, 16), LANES);
        /* query_g1[r][i] = sum over d of sketch_g1 * q_tile */
        T(dot0)(round_up(i1 - i0, LANES), sketch_g1, q_tile, query_g1);
        /* query_g2[r][i] = sum over d of sketch_g2 * q_tile */
        T(dot0)(round_up(i1 - i0, LANES), sketch_g2, q_tile, query_g2);
        /* query = (query_g1 * query_g2) * 0.25f */
        for (int64_t r = 0; r < 16; r++) {
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                T(store)(query + r * OF(32, 16, 16) + i, (T(load)(query_g1 + r * OF(32, 16,
                    16) + i) * T(load)(query_g2 + r * OF(32, 16, 16) + i)) * 0.25f);
            }
        }
        /* row_sum = 0.0f; row_sum_compensation = 0.0f */
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
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
    for (int64_t j0 = max(0, i0 + query_start - floor_mod(i0 + query_start, 64) - 1984), j_end = min(n_k,
        min(i1 + query_start, i1 + query_start - floor_mod(i1 + query_start - 1, 64) + 63)); j0 < j_end; j0 += 96) {
        const int64_t j1 = min(j0 + 96, j_end);
        /* k_tile = k, with zeros beyond the last row */
        T(transpose_padded)(k + j0 * k_row, k_row, j1 - j0, 64, k_tile, 96, 64);
        /* key_g1[r][j] = sum over d of sketch_g1 * k_tile */
        T(dot1)(round_up(j1 - j0, LANES), sketch_g1, k_tile, key_g1);
        /* key_g2[r][j] = sum over d of sketch_g2 * k_tile */
        T(dot1)(round_up(j1 - j0, LANES), sketch_g2, k_tile, key_g2);
        /* key_g1 = (key_g1 * key_g2) * 0.25f */
        for (int64_t r = 0; r < 16; r++) {
            for (int64_t j = 0; j < j1 - j0; j += LANES) {
                T(store)(key_g1 + r * 96 + j, (T(load)(key_g1 + r * 96 + j) * T(load)(key_g2 + r * 96 + j)) * 0.25f);
            }
        }
        for (int64_t i_next = i0, i_block = i0, i_end = i1; i_next < i_end; i_next += OF(32, 16, 16)) {
            const int64_t i0 = i_next, i1 = min(i0 + OF(32, 16, 16), i_end);
            float *const query = all_query + (i0 - i_block) / OF(32, 16, 16) * OF(512, 256, 256);
            float *const row_sum = all_row_sum + (i0 - i_block) / OF(32, 16, 16) * OF(32, 16, 16);
            float *const row_sum_compensation = all_row_sum_compensation + (i0 - i_block) / OF(32, 16, 16) * OF(32, 16,
                16);
            float *const sum = all_sum + (i0 - i_block) / OF(32, 16, 16) * OF(2048, 1024, 1024);
            float *const sum_compensation = all_sum_compensation + (i0 - i_block) / OF(32, 16, 16) * OF(2048, 1024,
                1024);
            if (!(((i0 + query_start - floor_mod(i0 + query_start, 64) - 1984) < j1) && (j0 < min(i1 + query_start,
                i1 + query_start - floor_mod(i1 + query_start - 1, 64) + 63)))) continue;
                /* no query sees a key of the tile */
            /* score[j][i] = sum over r of key_g1 * query */
            T(dot2)(round_up(i1 - i0, LANES), j1 - j0, key_g1, query, score);
            if ((j0 < (i1 + query_start - floor_mod(i1 + query_start - 1, 64) - 1985)) || (min(i0 + query_start + 1,
                i0 + query_start - floor_mod(i0 + query_start, 64) + 64) < j1)) { /* the tile is partly outside the mask
                */
                /* score = select((j <= (i + query_start)) && ((((((i + query_start) - floormod(i + query_start,
                   64)) / 64) + -31) <= ((j - floormo ... */
                for (int64_t i = 0; i < i1 - i0; i += LANES) {
                    const T(ints) t_0 = (i0 + i + T(lane)) + query_start;
                    const T(ints) r1 = t_0 % 64;
                    const T(ints) t_2 = (t_0 - (r1 + (((r1 != 0) & ((r1 < 0) != (64 < 0))) & 64))) / 64;
                    const T(ints) t_3 = t_2 + (-31);
                    T(vec) row_sum_in = (T(vec)){0};
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        const int64_t t_4 = ((j0 + j) - floor_mod(j0 + j, 64)) / 64;
                        const T(vec) score_5 = T(load)(score + j * OF(32, 16, 16) + i);
                        const T(vec) score_new6 = T(pick)(__builtin_convertvector(((j0 + j) <= t_0) & ((t_3 <= t_4) &
                            (t_4 <= t_2)), T(mask)), score_5 * score_5, T(splat)(0.0f));
                        T(store)(score + j * OF(32, 16, 16) + i, score_new6);
                        row_sum_in += score_new6;
                    }
                    T(add)(row_sum + i, row_sum_compensation + i, row_sum_in, T(splat)(1));
                }
            }
            if (!((j0 < (i1 + query_start - floor_mod(i1 + query_start - 1, 64) - 1985)) || (min(i0 + query_start + 1,
                i0 + query_start - floor_mod(i0 + query_start, 64) + 64) < j1))) { /* the tile is wholly inside the mask
                */
                /* score = score * score; row_sum += score */
                for (int64_t i_first = 0; i_first < i1 - i0; i_first += (2 * LANES)) {
                    T(vec) row_sum_in[2];
                    UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += LANES) {
                        row_sum_in[vector] = (T(vec)){0};
                    }
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += LANES) {
                            const T(vec) score_7 = T(load)(score + j * OF(32, 16, 16) + i);
                            const T(vec) score_new8 = score_7 * score_7;
                            T(store)(score + j * OF(32, 16, 16) + i, score_new8);
                            row_sum_in[vector] += score_new8;
                        }
                    }
                    UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += LANES) {
                        T(add)(row_sum + i, row_sum_compensation + i, row_sum_in[vector], T(splat)(1));
                    }
                }
            }
            /* sum[e][i] += sum over j of v * score */
            if (__builtin_expect(((j0 < (i1 + query_start - floor_mod(i1 + query_start - 1,
                64) - 1985)) || (min(i0 + query_start + 1, i0 + query_start - floor_mod(i0 + query_start,
                64) + 64) < j1)) && !T(finite)(v + j0 * v_row, v_row, j1 - j0, 64),
                0)) { /* infinity and NaN affect only queries that see them */
                T(dot3)(round_up(i1 - i0, LANES), j1 - j0, v + j0 * v_row, v_row, score, sum, sum_compensation);
                for (int64_t j = 0; j < j1 - j0; j++) {
                    T(mask) in_region[OF(2, 2, 4)] = {0};
                    if (T(finite)(v + j0 * v_row + j * v_row, 1, 64, 1)) continue;
                    const int64_t t_12 = ((j0 + j) - floor_mod(j0 + j, 64)) / 64;
                    for (int64_t i = 0; i < i1 - i0; i += LANES) {
                        const T(ints) t_9 = (i0 + i + T(lane)) + query_start;
                        const T(ints) r10 = t_9 % 64;
                        const T(ints) t_11 = (t_9 - (r10 + (((r10 != 0) & ((r10 < 0) != (64 < 0))) & 64))) / 64;
                        in_region[i / LANES] = __builtin_convertvector(((j0 + j) <= t_9) & (((t_11 + (-31)) <= t_12) &
                            (t_12 <= t_11)), T(mask));
                    }
                    T(add_seen)(64, sum, OF(32, 16, 16), v + j0 * v_row + j * v_row, 1, score + j * OF(32, 16, 16),
                        in_region, i1 - i0);
                }
            } else
                T(dot4)(round_up(i1 - i0, LANES), j1 - j0, v + j0 * v_row, v_row, score, sum, sum_compensation);
        }
    }
    {
        for (int64_t i_next = i0, i_block = i0, i_end = i1; i_next < i_end; i_next += OF(32, 16, 16)) {
            const int64_t i0 = i_next, i1 = min(i0 + OF(32, 16, 16), i_end);
            float *const row_sum = all_row_sum + (i0 - i_block) / OF(32, 16, 16) * OF(32, 16, 16);
            float *const sum = all_sum + (i0 - i_block) / OF(32, 16, 16) * OF(2048, 1024, 1024);
            /* result = select((row_sum + 1.0f) == 0.0f, 0.0f, sum / (row_sum + 1.0f)) */
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                const T(vec) t_13 = T(load)(row_sum + i) + 1.0f;
                const T(mask) t_14 = t_13 == 0.0f;
                for (int64_t e = 0; e < 64; e++) {
                    T(store)(result + e * OF(32, 16, 16) + i, T(pick)(t_14, T(splat)(0.0f), T(load)(sum + e * OF(32, 16,
                        16) + i) / t_13));
                }
            }
            /* out = result, transposed back */
            T(transpose_out)(result, OF(32, 16, 16), 64, i1 - i0, out + i0 * out_row, out_row, LANES);
        }
    }
}

/* Initialises the states: they contain no keys yet. */
TARGET APART void T(local_blocks_polysketch_begin)(const struct call *call, int64_t task, const struct share *share,
    int64_t iteration)
{
    (void)call;
    (void)task;
    const int64_t f0 = iteration * 32, f1 = min(f0 + 32, 136);
    float *const recent_sum = (float *)(void *)(share->shared + 0); /* [back: 31, f: OF(144, 136, 136)] */
    float *const recent = (float *)(void *)(share->shared + OF(17856, 16896, 16896)); /* [back: 31, f: 136, e: 64] */
    /* recent_sum = 0.0f */
    for (int64_t back = 0; back < 31; back++) {
        for (int64_t f = f0; f < f1; f += LANES) {
            T(store)(recent_sum + back * OF(144, 136, 136) + f, T(splat)(0.0f));
        }
    }
    /* recent = 0.0f */
    for (int64_t back = 0; back < 31; back++) {
        for (int64_t f = f0; f < f1; f++) {
            for (int64_t e = 0; e < 64; e += LANES) {
                T(store)(recent + back * 8704 + f * 64 + e, T(splat)(0.0f));
            }
        }
    }
}

/* Sums the keys of a chunk, from zero, into its slot. */
TARGET APART void T(local_blocks_polysketch_keys)(const struct call *call, int64_t task, const struct share *share,
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
    const float *const sketch_g1 = (const float *)call->array[ARRAY_sketch_g1].at;
    const float *const sketch_g2 = (const float *)call->array[ARRAY_sketch_g2].at;
    float *const key_g1 = (float *)(void *)(share->work + 0); /* [r: 16, j: 64 of 80] */
    float *const key_g2 = (float *)(void *)(share->work + 5120); /* [r: 16, j: 64 of 80] */
    float *const key_features_2 = (float *)(void *)(share->work + 5120); /* [f: 136, j: 64 of 80] */
    float *const state_sum = (float *)(void *)(share->slots + 0); /* [chunk, f: OF(144, 136, 136)] */
    float *const state = (float *)(void *)(share->slots + 576); /* [chunk, f: 136, e: 64] */
    float *const k_tile = (float *)(void *)(share->work + 10240); /* [d: 64, j: 64 of 80] */
    /* state_sum = 0.0f */
    for (int64_t f = 0; f < 136; f += LANES) {
        T(store)(state_sum + (chunk - chunk0) * 8848 + f, T(splat)(0.0f));
    }
    for (int64_t j0 = chunk * 64, j_end = min(n_k, (chunk + 1) * 64); j0 < j_end; j0 += 64) {
        const int64_t j1 = min(j0 + 64, j_end);
        /* k_tile = k, with zeros beyond the last row */
        T(transpose_padded)(k + j0 * k_row, k_row, j1 - j0, 64, k_tile, 80, 64);
        /* key_g1[r][j] = sum over d of sketch_g1 * k_tile */
        T(dot5)(round_up(j1 - j0, LANES), sketch_g1, k_tile, key_g1);
        /* key_g2[r][j] = sum over d of sketch_g2 * k_tile */
        T(dot5)(round_up(j1 - j0, LANES), sketch_g2, k_tile, key_g2);
        /* key_g1 = (key_g1 * key_g2) * 0.25f */
        for (int64_t r = 0; r < 16; r++) {
            for (int64_t j = 0; j < j1 - j0; j += LANES) {
                T(store)(key_g1 + r * 80 + j, (T(load)(key_g1 + r * 80 + j) * T(load)(key_g2 + r * 80 + j)) * 0.25f);
            }
        }
        /* key_features_2 = key_g1 * key_g1 */
        for (int64_t f = 0; f < 136; f++) {
            for (int64_t j = 0; j < j1 - j0; j += LANES) {
                T(store)(key_features_2 + f * 80 + j, T(load)(key_g1 + (f % 16) * 80 + j) * T(load)(key_g1 + (((f % 16)
                    + (f / 16)) % 16) * 80 + j));
            }
        }
        /* state_sum += key_features_2 */
        for (int64_t f = 0; f < 136; f++) {
            T(vec) lane_sums = T(splat)(0);
            for (int64_t j = 0; j < j1 - j0; j += LANES) {
                const T(vec) term = T(load)(key_features_2 + f * 80 + j);
                lane_sums += j + LANES <= j1 - j0 ? term : T(pick)(__builtin_convertvector(j + T(lane) < j1 - j0,
                    T(mask)), term, T(splat)(0));
            }
            const float total = T(lane_sum)(lane_sums);
            state_sum[(chunk - chunk0) * 8848 + f] += total;
        }
        /* state[f][e] = sum over j of key_features_2 * v */
        T(dot6)(j1 - j0, key_features_2, v + j0 * v_row, v_row, state + (chunk - chunk0) * 8848);
    }
}

/* Folds the slots of the current chunks, in order, for some elements of the states. */
TARGET APART void T(local_blocks_polysketch_fold)(const struct call *call, int64_t task, const struct share *share,
    int64_t iteration)
{
    (void)call;
    (void)task;
    const int64_t f0 = iteration * 32, f1 = min(f0 + 32, 136);
    const int64_t chunk0 = share->chunk0;
    const int64_t chunk1 = share->chunk1;
    float *const state_sum = (float *)(void *)(share->slots + 0); /* [chunk, f: OF(144, 136, 136)] */
    float *const state = (float *)(void *)(share->slots + 576); /* [chunk, f: 136, e: 64] */
    float *const recent_sum = (float *)(void *)(share->shared + 0); /* [back: 31, f: OF(144, 136, 136)] */
    float *const before_sum = (float *)(void *)(share->work + 0); /* [f: OF(144, 136, 136)] */
    float *const recent = (float *)(void *)(share->shared + OF(17856, 16896, 16896)); /* [back: 31, f: 136, e: 64] */
    float *const before = (float *)(void *)(share->work + 0); /* [f: 136, e: 64] */
    for (int64_t chunk = chunk0; chunk < chunk1; chunk++) {
        /* before_sum = 0.0f */
        for (int64_t f = f0; f < f1; f += LANES) {
            T(store)(before_sum + f, T(splat)(0.0f));
        }
        /* before_sum += recent_sum */
        for (int64_t f = f0; f < f1; f += LANES) {
            T(vec) before_sum_in = (T(vec)){0};
            for (int64_t back = 0; back < 31; back++) {
                before_sum_in += T(load)(recent_sum + back * OF(144, 136, 136) + f);
            }
            T(store)(before_sum + f, T(load)(before_sum + f) + before_sum_in);
        }
        /* recent_sum = state_sum; state_sum = before_sum */
        for (int64_t f = f0; f < f1; f += LANES) {
            T(store)(recent_sum + (chunk % 31) * OF(144, 136, 136) + f,
                T(load)(state_sum + (chunk - chunk0) * 8848 + f));
            T(store)(state_sum + (chunk - chunk0) * 8848 + f, T(load)(before_sum + f));
        }
        /* before = 0.0f */
        for (int64_t f = f0; f < f1; f++) {
            for (int64_t e_first = 0; e_first < 64; e_first += OF(64, 16, 8)) {
                UNROLL for (int64_t vector = 0, e = e_first; vector < OF(4, 2, 2); vector++, e += LANES) {
                    T(store)(before + f * 64 + e, T(splat)(0.0f));
                }
            }
        }
        /* before += recent */
        for (int64_t back = 0; back < 31; back++) {
            for (int64_t f = f0; f < f1; f++) {
                for (int64_t e = 0; e < 64; e += LANES) {
                    T(store)(before + f * 64 + e, T(load)(before + f * 64 + e) + T(load)(recent + back * 8704 + f * 64 +
                        e));
                }
            }
        }
        /* recent = state; state = before */
        for (int64_t f = f0; f < f1; f++) {
            for (int64_t e_first = 0; e_first < 64; e_first += OF(64, 16, 8)) {
                UNROLL for (int64_t vector = 0, e = e_first; vector < OF(4, 2, 2); vector++, e += LANES) {
                    T(store)(recent + (chunk % 31) * 8704 + f * 64 + e,
                        T(load)(state + (chunk - chunk0) * 8848 + f * 64 + e));
                    T(store)(state + (chunk - chunk0) * 8848 + f * 64 + e, T(load)(before + f * 64 + e));
                }
            }
        }
    }
}

/* Processes the queries of a chunk: reads the state before the chunk, and the keys in the chunk. */
TARGET APART void T(local_blocks_polysketch_queries)(const struct call *call, int64_t task, const struct share *share,
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
    const float *const sketch_g1 = (const float *)call->array[ARRAY_sketch_g1].at;
    const float *const sketch_g2 = (const float *)call->array[ARRAY_sketch_g2].at;
    float *const state_sum = (float *)(void *)(share->slots + 0); /* [chunk, f: OF(144, 136, 136)] */
    float *const state = (float *)(void *)(share->slots + 576); /* [chunk, f: 136, e: 64] */
    float *const query_g1 = (float *)(void *)(share->work + 0); /* [r: 16, i: 64 of 80] */
    float *const query_g2 = (float *)(void *)(share->work + 5120); /* [r: 16, i: 64 of 80] */
    float *const key_g1_2 = (float *)(void *)(share->work + 5120); /* [r: 16, j: 64 of 80] */
    float *const key_g2_2 = (float *)(void *)(share->work + 10240); /* [r: 16, j: 64 of 80] */
    float *const score = (float *)(void *)(share->work + 10240); /* [j: 64, i: 64 of 80] */
    float *const query = (float *)(void *)(share->work + 5120); /* [f: 136, i: 64 of 80] */
    float *const row_sum_from_state = (float *)(void *)(share->work + 48640); /* [i: 64] */
    float *const row_sum = (float *)(void *)(share->work + 48896); /* [i: 64] */
    float *const row_sum_compensation = (float *)(void *)(share->work + 49152); /* [i: 64] */
    float *const sum_from_state = (float *)(void *)(share->work + 49408); /* [e: 64, i: 64 of 80] */
    float *const sum = (float *)(void *)(share->work + 69888); /* [e: 64, i: 64 of 80] */
    float *const sum_compensation = (float *)(void *)(share->work + 90368); /* [e: 64, i: 64 of 80] */
    float *const out = (float *)call->array[ARRAY_out].at + b * call->array[ARRAY_out].strides.batch + g * members *
        call->array[ARRAY_out].strides.head;
    const int64_t out_row = call->array[ARRAY_out].strides.row;
    const int64_t out_head = call->array[ARRAY_out].strides.head;
    float *const q_tile = (float *)(void *)(share->work + 10240); /* [d: 64, i: 64 of 80] */
    float *const k_tile_2 = (float *)(void *)(share->work + 15360); /* [d: 64, j: 64 of 80] */
    for (int64_t m = 0; m < members; m++) {
        for (int64_t i0 = (chunk == 0) ? 0 : max(0, (chunk * 64) - query_start), i_end = min(n_q,
            ((chunk + 1) * 64) - query_start); i0 < i_end; i0 += 64) {
            const int64_t i1 = min(i0 + 64, i_end);
            /* q_tile = q, with zeros beyond the last row */
            T(transpose_padded)(q + m * q_head + i0 * q_row, q_row, i1 - i0, 64, q_tile, 80, 0);
            /* query_g1[r][i] = sum over d of sketch_g1 * q_tile */
            T(dot5)(round_up(i1 - i0, LANES), sketch_g1, q_tile, query_g1);
            /* query_g2[r][i] = sum over d of sketch_g2 * q_tile */
            T(dot5)(round_up(i1 - i0, LANES), sketch_g2, q_tile, query_g2);
            /* query_g1 = (query_g1 * query_g2) * 0.25f */
            for (int64_t r = 0; r < 16; r++) {
                for (int64_t i = 0; i < i1 - i0; i += LANES) {
                    T(store)(query_g1 + r * 80 + i, (T(load)(query_g1 + r * 80 + i) * T(load)(query_g2 + r * 80 + i)) *
                        0.25f);
                }
            }
            /* row_sum_from_state = 0.0f */
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                T(store)(row_sum_from_state + i, T(splat)(0.0f));
            }
            /* query = (query_g1 * query_g1) * select((f / 16) == 0, 1.0f, 2.0f);
               row_sum_from_state += query * state_sum */
            for (int64_t i_first = 0; i_first < i1 - i0; i_first += OF(64, 16, 8)) {
                T(vec) row_sum_from_state_in[OF(4, 2, 2)], row_sum_from_state_in_whole[OF(4, 2, 2)];
                UNROLL for (int64_t vector = 0, i = i_first; vector < OF(4, 2, 2); vector++, i += LANES) {
                    row_sum_from_state_in[vector] = (T(vec)){0};
                    row_sum_from_state_in_whole[vector] = (T(vec)){0};
                }
                for (int64_t f = 0; f < 136; f++) {
                    UNROLL for (int64_t vector = 0, i = i_first; vector < OF(4, 2, 2); vector++, i += LANES) {
                        const T(vec) query_new0 = (T(load)(query_g1 + (f % 16) * 80 + i) * T(load)(query_g1 + (((f % 16)
                            + (f / 16)) % 16) * 80 + i)) * (float)(((f / 16) == 0) ? 1.0 : 2.0);
                        T(store)(query + f * 80 + i, query_new0);
                        row_sum_from_state_in[vector] += query_new0 * (state_sum[(chunk - chunk0) * 8848 + f]);
                        if (f % 32 == 31) {
                            row_sum_from_state_in_whole[vector] += row_sum_from_state_in[vector];
                            row_sum_from_state_in[vector] = (T(vec)){0};
                        }
                    }
                }
                UNROLL for (int64_t vector = 0, i = i_first; vector < OF(4, 2, 2); vector++, i += LANES) {
                    row_sum_from_state_in[vector] += row_sum_from_state_in_whole[vector];
                    T(store)(row_sum_from_state + i, T(load)(row_sum_from_state + i) + row_sum_from_state_in[vector]);
                }
            }
            /* row_sum = 0.0f; row_sum_compensation = 0.0f */
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                T(store)(row_sum + i, T(splat)(0.0f));
                T(store)(row_sum_compensation + i, T(splat)(0.0f));
            }
            /* sum_from_state[e][i] = sum over f of state * query */
            T(dot7)(round_up(i1 - i0, LANES), state + (chunk - chunk0) * 8848, query, sum_from_state,
                (const struct coming[]){{k + max(0, chunk * 64) * k_row, 4 * k_row, 256}, {v + max(0,
                chunk * 64) * v_row, 4 * v_row, 256}, {out + m * out_head + i0 * out_row, 4 * out_row, 256},
                {q + m * q_head + (i0 + 64) * q_row, 4 * q_row, 256}});
            /* sum = 0.0f; sum_compensation = 0.0f */
            for (int64_t e = 0; e < 64; e++) {
                for (int64_t i = 0; i < i1 - i0; i += LANES) {
                    T(store)(sum + e * 80 + i, T(splat)(0.0f));
                    T(store)(sum_compensation + e * 80 + i, T(splat)(0.0f));
                }
            }
            for (int64_t j0 = max(0, chunk * 64), j_end = min(n_k, i1 + query_start); j0 < j_end; j0 += 64) {
                const int64_t j1 = min(j0 + 64, j_end);
                /* k_tile_2 = k, with zeros beyond the last row */
                T(transpose_padded)(k + j0 * k_row, k_row, j1 - j0, 64, k_tile_2, 80, 0);
                /* key_g1_2[r][j] = sum over d of sketch_g1 * k_tile_2 */
                T(dot5)(round_up(j1 - j0, LANES), sketch_g1, k_tile_2, key_g1_2);
                /* key_g2_2[r][j] = sum over d of sketch_g2 * k_tile_2 */
                T(dot5)(round_up(j1 - j0, LANES), sketch_g2, k_tile_2, key_g2_2);
                /* key_g1_2 = (key_g1_2 * key_g2_2) * 0.25f */
                for (int64_t r = 0; r < 16; r++) {
                    for (int64_t j = 0; j < j1 - j0; j += LANES) {
                        T(store)(key_g1_2 + r * 80 + j, (T(load)(key_g1_2 + r * 80 + j) * T(load)(key_g2_2 + r * 80 +
                            j)) * 0.25f);
                    }
                }
                /* score[j][i] = sum over r of key_g1_2 * query_g1 */
                T(dot8)(round_up(i1 - i0, LANES), j1 - j0, key_g1_2, query_g1, score);
                if ((j0 < (chunk * 64)) || ((i0 + query_start + 1) < j1)) { /* the tile is partly outside the mask */
                    /* score = select((j <= (i + query_start)) && ((chunk * 64) <= j), score * score, 0.0f);
                       row_sum += score */
                    for (int64_t i = 0; i < i1 - i0; i += LANES) {
                        const T(ints) t_1 = (i0 + i + T(lane)) + query_start;
                        T(vec) row_sum_in = (T(vec)){0};
                        for (int64_t j = 0; j < j1 - j0; j++) {
                            const T(vec) score_2 = T(load)(score + j * 80 + i);
                            const T(vec) score_new3 = T(pick)(__builtin_convertvector(((j0 + j) <= t_1) &
                                (-(int64_t)((chunk * 64) <= (j0 + j))), T(mask)), score_2 * score_2, T(splat)(0.0f));
                            T(store)(score + j * 80 + i, score_new3);
                            row_sum_in += score_new3;
                        }
                        T(add)(row_sum + i, row_sum_compensation + i, row_sum_in, T(splat)(1));
                    }
                }
                if (!((j0 < (chunk * 64)) || ((i0 + query_start + 1) < j1))) { /* the tile is wholly inside the mask */
                    /* score = score * score; row_sum += score */
                    for (int64_t i_first = 0; i_first < i1 - i0; i_first += OF(64, 16, 8)) {
                        T(vec) row_sum_in[OF(4, 2, 2)];
                        UNROLL for (int64_t vector = 0, i = i_first; vector < OF(4, 2, 2); vector++, i += LANES) {
                            row_sum_in[vector] = (T(vec)){0};
                        }
                        for (int64_t j = 0; j < j1 - j0; j++) {
                            UNROLL for (int64_t vector = 0, i = i_first; vector < OF(4, 2, 2); vector++, i += LANES) {
                                const T(vec) score_4 = T(load)(score + j * 80 + i);
                                const T(vec) score_new5 = score_4 * score_4;
                                T(store)(score + j * 80 + i, score_new5);
                                row_sum_in[vector] += score_new5;
                            }
                        }
                        UNROLL for (int64_t vector = 0, i = i_first; vector < OF(4, 2, 2); vector++, i += LANES) {
                            T(add)(row_sum + i, row_sum_compensation + i, row_sum_in[vector], T(splat)(1));
                        }
                    }
                }
                /* sum[e][i] += sum over j of v * score */
                if (__builtin_expect(((j0 < (chunk * 64)) || ((i0 + query_start + 1) < j1)) && !T(finite)(v + j0 *
                    v_row, v_row, j1 - j0, 64), 0)) { /* infinity and NaN affect only queries that see them */
                    T(dot9)(round_up(i1 - i0, LANES), j1 - j0, v + j0 * v_row, v_row, score, sum, sum_compensation);
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        T(mask) in_region[OF(4, 8, 16)] = {0};
                        if (T(finite)(v + j0 * v_row + j * v_row, 1, 64, 1)) continue;
                        const int t_6 = (chunk * 64) <= (j0 + j);
                        for (int64_t i = 0; i < i1 - i0; i += LANES) {
                            in_region[i / LANES] = __builtin_convertvector(((j0 + j) <= ((i0 + i + T(lane)) +
                                query_start)) & (-(int64_t)t_6), T(mask));
                        }
                        T(add_seen)(64, sum, 80, v + j0 * v_row + j * v_row, 1, score + j * 80, in_region, i1 - i0);
                    }
                } else
                    T(dot10)(round_up(i1 - i0, LANES), j1 - j0, v + j0 * v_row, v_row, score, sum, sum_compensation);
            }
            /* sum = select(((row_sum + row_sum_from_state) + 1.0f) == 0.0f, 0.0f,
               (sum + sum_from_state) / ((row_sum + row_sum_from_state) + 1 ... */
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                const T(vec) t_7 = (T(load)(row_sum + i) + T(load)(row_sum_from_state + i)) + 1.0f;
                const T(mask) t_8 = t_7 == 0.0f;
                for (int64_t e = 0; e < 64; e++) {
                    T(store)(sum + e * 80 + i, T(pick)(t_8, T(splat)(0.0f),
                        (T(load)(sum + e * 80 + i) + T(load)(sum_from_state + e * 80 + i)) / t_7));
                }
            }
            /* out = sum, transposed back */
            T(transpose_out)(sum, 80, 64, i1 - i0, out + m * out_head + i0 * out_row, out_row, 0);
        }
    }
}

/* Computes head number `task`. Each thread on the head calls this with `share`. */
TARGET static void T(local_blocks_polysketch_linear)(const struct call *call, int64_t task, struct share *share)
{
    const int64_t n_k = call->p.n_k;
    const int64_t chunks = n_k > 0 ? (n_k - 1) / 64 + 1 : 1;
    for (int64_t iteration = share->number; iteration < ((136 + 31) / 32); iteration += share->threads)
        T(local_blocks_polysketch_begin)(call, task, share, iteration);
    synchronise(share);
    const int64_t first = 0;
    const int64_t length = segment_length(share, chunks - first);
    for (int64_t segment = share->number; first + segment * length < chunks; segment += share->threads) {
        share->chunk0 = first + segment * length;
        share->chunk1 = min(share->chunk0 + length, chunks);
        for (int64_t iteration = share->chunk0; iteration < share->chunk1; iteration++)
            T(local_blocks_polysketch_keys)(call, task, share, iteration);
        for (int64_t group = 0; group < 16; group++) {
            await_segment(share, group, segment);
            const int64_t end = (group + 1) * ((136 + 31) / 32) / 16;
            for (int64_t iteration = group * ((136 + 31) / 32) / 16; iteration < end; iteration++)
                T(local_blocks_polysketch_fold)(call, task, share, iteration);
            pass_segment(share, group, segment);
        }
        for (int64_t iteration = share->chunk0; iteration < share->chunk1; iteration++)
            T(local_blocks_polysketch_queries)(call, task, share, iteration);
    }
    share->segments += (max(chunks - first, 0) + length - 1) / length;
    synchronise(share);
}

/* Initialises the states: they contain no keys yet. */
TARGET APART void T(local_blocks_polysketch_few_begin)(const struct call *call, int64_t task, const struct share *share,
    int64_t iteration)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_q = call->p.n_q;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t r_q0 = iteration * 64, r_q1 = min(r_q0 + 64, rows);
    const int64_t g = task % kv_heads;
    const int64_t b = task / kv_heads;
    const float *const q = (const float *)call->array[ARRAY_q].at + b * call->array[ARRAY_q].strides.batch + g /
        call->sharing * members * call->array[ARRAY_q].strides.head;
    const int64_t q_row = call->array[ARRAY_q].strides.row;
    const int64_t q_head = call->array[ARRAY_q].strides.head;
    const float *const sketch_g1 = (const float *)call->array[ARRAY_sketch_g1].at;
    const float *const sketch_g2 = (const float *)call->array[ARRAY_sketch_g2].at;
    float *const query_g1 = (float *)(void *)(share->shared + 0); /* [r: 16, r_q: 64] */
    float *const query_g2 = (float *)(void *)(share->shared + 4160); /* [r: 16, r_q: 64] */
    float *const query = (float *)(void *)(share->shared + 8320); /* [r: 16, r_q: 64] */
    float *const q_tile = (float *)(void *)(share->work + 0); /* [d: 64, r_q: 64 of 80] */
    /* q_tile = q, with zeros beyond the last row */
    for (int64_t r_q = r_q0; r_q < r_q0 + round_up(r_q1 - r_q0, LANES); r_q++)
        for (int64_t d = 0; d < 64; d++)
            q_tile[d * 80 + r_q] = r_q < r_q1 ? q[r_q / n_q * q_head + r_q % n_q * q_row + d] : 0;
    /* query_g1[r][r_q] = sum over d of sketch_g1 * q_tile */
    T(dot11)(round_up(r_q1 - r_q0, LANES), sketch_g1, q_tile + r_q0, query_g1 + r_q0);
    /* query_g2[r][r_q] = sum over d of sketch_g2 * q_tile */
    T(dot11)(round_up(r_q1 - r_q0, LANES), sketch_g2, q_tile + r_q0, query_g2 + r_q0);
    /* query = (query_g1 * query_g2) * 0.25f */
    for (int64_t r_q = r_q0; r_q < r_q1; r_q += LANES) {
        for (int64_t r = 0; r < 16; r++) {
            T(store)(query + r * 64 + r_q, (T(load)(query_g1 + r * 64 + r_q) * T(load)(query_g2 + r * 64 + r_q)) *
                0.25f);
        }
    }
}

/* Initialises the states: they contain no keys yet. */
TARGET APART void T(local_blocks_polysketch_few_begin_2)(const struct call *call, int64_t task,
    const struct share *share, int64_t iteration)
{
    (void)task;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t r_q0 = iteration * 16, r_q1 = min(r_q0 + 16, rows);
    float *const carried_sum = (float *)(void *)(share->shared + 12480); /* [r_q: 64] */
    float *const carried_sum_compensation = (float *)(void *)(share->shared + 29184); /* [r_q: 64] */
    float *const carried = (float *)(void *)(share->shared + 12736); /* [r_q: 64, e: 64] */
    float *const carried_compensation = (float *)(void *)(share->shared + 29440); /* [r_q: 64, e: 64] */
    /* carried_sum = 0.0f; carried_sum_compensation = 0.0f */
    for (int64_t r_q = r_q0; r_q < r_q1; r_q += LANES) {
        T(store)(carried_sum + r_q, T(splat)(0.0f));
        T(store)(carried_sum_compensation + r_q, T(splat)(0.0f));
    }
    /* carried = 0.0f; carried_compensation = 0.0f */
    for (int64_t r_q = r_q0; r_q < r_q1; r_q++) {
        for (int64_t e_first = 0; e_first < 64; e_first += OF(64, 16, 8)) {
            UNROLL for (int64_t vector = 0, e = e_first; vector < OF(4, 2, 2); vector++, e += LANES) {
                T(store)(carried + r_q * 64 + e, T(splat)(0.0f));
                T(store)(carried_compensation + r_q * 64 + e, T(splat)(0.0f));
            }
        }
    }
}

/* Sums the keys of a chunk, from zero, into its slot. */
TARGET APART void T(local_blocks_polysketch_few_keys)(const struct call *call, int64_t task, const struct share *share,
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
    const float *const sketch_g1 = (const float *)call->array[ARRAY_sketch_g1].at;
    const float *const sketch_g2 = (const float *)call->array[ARRAY_sketch_g2].at;
    float *const query = (float *)(void *)(share->shared + 8320); /* [r: 16, r_q: 64] */
    float *const key_g1 = (float *)(void *)(share->work + 0); /* [r: 16, j: 128 of 144] */
    float *const key_g2 = (float *)(void *)(share->work + 9216); /* [r: 16, j: 128 of 144] */
    float *const score = (float *)(void *)(share->work + 9216); /* [r_q: 64, j: 128 of 144] */
    float *const state_sum = (float *)(void *)(share->slots + 0); /* [chunk, r_q: 64] */
    float *const state = (float *)(void *)(share->slots + 256); /* [chunk, r_q: 64, e: 64] */
    float *const k_tile = (float *)(void *)(share->work + 18432); /* [d: 64, j: 128 of 144] */
    /* state_sum = 0.0f */
    for (int64_t r_q = 0; r_q < rows; r_q += LANES) {
        T(store)(state_sum + (chunk - chunk0) * 4176 + r_q, T(splat)(0.0f));
    }
    /* state = 0.0f */
    for (int64_t r_q = 0; r_q < rows; r_q++) {
        for (int64_t e_first = 0; e_first < 64; e_first += OF(64, 16, 8)) {
            UNROLL for (int64_t vector = 0, e = e_first; vector < OF(4, 2, 2); vector++, e += LANES) {
                T(store)(state + (chunk - chunk0) * 4176 + r_q * 64 + e, T(splat)(0.0f));
            }
        }
    }
    for (int64_t j0 = max(chunk * 1024, query_start - floor_mod(query_start, 64) - 1984), j_end = min(min(n_k,
        (chunk + 1) * 1024), min(n_q + query_start, n_q + query_start - floor_mod(n_q + query_start - 1, 64) + 63));
        j0 < j_end; j0 += 128) {
        const int64_t j1 = min(j0 + 128, j_end);
        /* k_tile = k, with zeros beyond the last row */
        T(transpose_padded)(k + j0 * k_row, k_row, j1 - j0, 64, k_tile, 144, 64);
        /* key_g1[r][j] = sum over d of sketch_g1 * k_tile */
        T(dot12)(round_up(j1 - j0, LANES), sketch_g1, k_tile, key_g1);
        /* key_g2[r][j] = sum over d of sketch_g2 * k_tile */
        T(dot12)(round_up(j1 - j0, LANES), sketch_g2, k_tile, key_g2);
        /* key_g1 = (key_g1 * key_g2) * 0.25f */
        for (int64_t r = 0; r < 16; r++) {
            for (int64_t j = 0; j < j1 - j0; j += LANES) {
                T(store)(key_g1 + r * 144 + j, (T(load)(key_g1 + r * 144 + j) * T(load)(key_g2 + r * 144 + j)) * 0.25f);
            }
        }
        /* score[r_q][j] = sum over r of query * key_g1 */
        T(dot13)(round_up(j1 - j0, LANES), rows, query, key_g1, score);
        /* score = score * score */
        for (int64_t r_q = 0; r_q < rows; r_q++) {
            for (int64_t j = 0; j < j1 - j0; j += LANES) {
                const T(vec) score_0 = T(load)(score + r_q * 144 + j);
                T(store)(score + r_q * 144 + j, score_0 * score_0);
            }
        }
        if ((j0 < (n_q + query_start - floor_mod(n_q + query_start - 1, 64) - 1985)) || (min(query_start + 1,
            query_start - floor_mod(query_start, 64) + 64) < j1)) { /* the tile is partly outside the mask */
            /* score = select((j <= ((r_q % n_q) + query_start)) && (((((((r_q % n_q) + query_start) - floormod((r_q %
               n_q) + query_start, 64)) ... */
            for (int64_t j = 0; j < j1 - j0; j += LANES) {
                const T(ints) t_1 = j0 + j + T(lane);
                const T(ints) r3 = t_1 % 64;
                const T(ints) t_4 = (t_1 - (r3 + (((r3 != 0) & ((r3 < 0) != (64 < 0))) & 64))) / 64;
                for (int64_t r_q = 0; r_q < rows; r_q++) {
                    const int64_t t_2 = (r_q % n_q) + query_start;
                    const int64_t t_5 = ((r_q % n_q) + query_start - floor_mod((r_q % n_q) + query_start, 64)) / 64;
                    T(store)(score + r_q * 144 + j, T(pick)(__builtin_convertvector((t_1 <= t_2) & ((((((r_q % n_q) +
                        query_start - floor_mod((r_q % n_q) + query_start, 64)) / 64) - 31) <= t_4) & (t_4 <= t_5)),
                        T(mask)), T(load)(score + r_q * 144 + j), T(splat)(0.0f)));
                }
            }
        }
        /* state_sum += score */
        for (int64_t r_q = 0; r_q < rows; r_q++) {
            T(vec) lane_sums = T(splat)(0);
            for (int64_t j = 0; j < j1 - j0; j += LANES) {
                const T(vec) term = T(load)(score + r_q * 144 + j);
                lane_sums += j + LANES <= j1 - j0 ? term : T(pick)(__builtin_convertvector(j + T(lane) < j1 - j0,
                    T(mask)), term, T(splat)(0));
            }
            const float total = T(lane_sum)(lane_sums);
            state_sum[(chunk - chunk0) * 4176 + r_q] += total;
        }
        /* state[r_q][e] += sum over j of score * v */
        if (__builtin_expect(((j0 < (n_q + query_start - floor_mod(n_q + query_start - 1,
            64) - 1985)) || (min(query_start + 1, query_start - floor_mod(query_start,
            64) + 64) < j1)) && !T(finite)(v + j0 * v_row, v_row, j1 - j0, 64),
            0)) { /* infinity and NaN affect only queries that see them */
            T(dot14)(rows, j1 - j0, score, v + j0 * v_row, v_row, state + (chunk - chunk0) * 4176);
            for (int64_t r_q = 0; r_q < rows; r_q++) {
                T(mask) in_region[OF(8, 16, 32)] = {0};
                const int64_t t_7 = (r_q % n_q) + query_start;
                const int64_t t_8 = (((r_q % n_q) + query_start - floor_mod((r_q % n_q) + query_start, 64)) / 64) - 31;
                const int64_t t_11 = ((r_q % n_q) + query_start - floor_mod((r_q % n_q) + query_start, 64)) / 64;
                for (int64_t j = 0; j < j1 - j0; j += LANES) {
                    const T(ints) t_6 = j0 + j + T(lane);
                    const T(ints) r9 = t_6 % 64;
                    const T(ints) t_10 = (t_6 - (r9 + (((r9 != 0) & ((r9 < 0) != (64 < 0))) & 64))) / 64;
                    in_region[j / LANES] = __builtin_convertvector((t_6 <= t_7) & ((t_8 <= t_10) & (t_10 <= t_11)),
                        T(mask));
                }
                T(add_seen_lanes)(64, state + (chunk - chunk0) * 4176 + r_q * 64, score + r_q * 144, v + j0 * v_row,
                    v_row, j1 - j0, in_region);
            }
        } else
#if OF(1, 0, 0)
            T(dot15)(rows, j1 - j0, score, v + j0 * v_row, v_row, state + (chunk - chunk0) * 4176,
                attn_is_intel() ? 16 : 0);
#else
            T(dot15)(rows, j1 - j0, score, v + j0 * v_row, v_row, state + (chunk - chunk0) * 4176);
#endif
    }
}

/* Folds the slots of the current chunks, in order, for some elements of the states. */
TARGET APART void T(local_blocks_polysketch_few_fold)(const struct call *call, int64_t task, const struct share *share,
    int64_t iteration)
{
    (void)task;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t r_q0 = iteration * 16, r_q1 = min(r_q0 + 16, rows);
    const int64_t chunk0 = share->chunk0;
    const int64_t chunk1 = share->chunk1;
    float *const state_sum = (float *)(void *)(share->slots + 0); /* [chunk, r_q: 64] */
    float *const state = (float *)(void *)(share->slots + 256); /* [chunk, r_q: 64, e: 64] */
    float *const carried_sum = (float *)(void *)(share->shared + 12480); /* [r_q: 64] */
    float *const carried_sum_compensation = (float *)(void *)(share->shared + 29184); /* [r_q: 64] */
    float *const carried = (float *)(void *)(share->shared + 12736); /* [r_q: 64, e: 64] */
    float *const carried_compensation = (float *)(void *)(share->shared + 29440); /* [r_q: 64, e: 64] */
    for (int64_t chunk = chunk0; chunk < chunk1; chunk++) {
        /* before_sum = carried_sum; carried_sum += state_sum */
        for (int64_t r_q = r_q0; r_q < r_q1; r_q += LANES) {
            T(add)(carried_sum + r_q, carried_sum_compensation + r_q,
                T(load)(state_sum + (chunk - chunk0) * 4176 + r_q), T(splat)(1));
        }
        /* before = carried; carried += state */
        for (int64_t r_q = r_q0; r_q < r_q1; r_q++) {
            for (int64_t e_first = 0; e_first < 64; e_first += OF(64, 16, 8)) {
                UNROLL for (int64_t vector = 0, e = e_first; vector < OF(4, 2, 2); vector++, e += LANES) {
                    T(add)(carried + r_q * 64 + e, carried_compensation + r_q * 64 + e,
                        T(load)(state + (chunk - chunk0) * 4176 + r_q * 64 + e), T(splat)(1));
                }
            }
        }
    }
}

/* Processes a tile of queries: reads the states. */
TARGET APART void T(local_blocks_polysketch_few_queries)(const struct call *call, int64_t task,
    const struct share *share, int64_t iteration)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_q = call->p.n_q;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t r_q0 = iteration * 16, r_q1 = min(r_q0 + 16, rows);
    const int64_t g = task % kv_heads;
    const int64_t b = task / kv_heads;
    float *const carried_sum = (float *)(void *)(share->shared + 12480); /* [r_q: 64] */
    float *const carried = (float *)(void *)(share->shared + 12736); /* [r_q: 64, e: 64] */
    float *const result = (float *)(void *)(share->work + 0); /* [r_q: 64, e: 64] */
    float *const out = (float *)call->array[ARRAY_out].at + b * call->array[ARRAY_out].strides.batch + g * members *
        call->array[ARRAY_out].strides.head;
    const int64_t out_row = call->array[ARRAY_out].strides.row;
    const int64_t out_head = call->array[ARRAY_out].strides.head;
    /* result = select((carried_sum + 1.0f) == 0.0f, 0.0f, carried / (carried_sum + 1.0f)) */
    for (int64_t r_q = r_q0; r_q < r_q1; r_q++) {
        for (int64_t e_first = 0; e_first < 64; e_first += OF(64, 16, 8)) {
            UNROLL for (int64_t vector = 0, e = e_first; vector < OF(4, 2, 2); vector++, e += LANES) {
                const float t_12 = carried_sum[r_q] + 1.0f;
                T(store)(result + r_q * 64 + e, (t_12 == 0.0f) ? T(splat)(0.0f) : T(load)(carried + r_q * 64 + e) /
                    t_12);
            }
        }
    }
    /* out = result */
    for (int64_t r_q = r_q0; r_q < r_q1; r_q++)
        for (int64_t e = 0; e < 64; e++)
            out[r_q / n_q * out_head + r_q % n_q * out_row + e] = result[r_q * 64 + e];
}

/* Computes head number `task`. Each thread on the head calls this with `share`. */
TARGET static void T(local_blocks_polysketch_few)(const struct call *call, int64_t task, struct share *share)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t n_q = call->p.n_q;
    const int64_t n_k = call->p.n_k;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t chunks = n_k > 0 ? (n_k - 1) / 1024 + 1 : 1;
    const int64_t b = task / kv_heads;
    const int64_t query_start = call->p.query_start ? call->p.query_start[b] : n_k - n_q;
    for (int64_t iteration = share->number; iteration < ((rows + 63) / 64); iteration += share->threads)
        T(local_blocks_polysketch_few_begin)(call, task, share, iteration);
    for (int64_t iteration = share->number; iteration < ((rows + 15) / 16); iteration += share->threads)
        T(local_blocks_polysketch_few_begin_2)(call, task, share, iteration);
    synchronise(share);
    const int64_t first = max(query_start - floor_mod(query_start, 64) - 1984, 0) / 1024;
    const int64_t length = segment_length(share, chunks - first);
    for (int64_t segment = share->number; first + segment * length < chunks; segment += share->threads) {
        share->chunk0 = first + segment * length;
        share->chunk1 = min(share->chunk0 + length, chunks);
        for (int64_t iteration = share->chunk0; iteration < share->chunk1; iteration++)
            T(local_blocks_polysketch_few_keys)(call, task, share, iteration);
        for (int64_t group = 0; group < 16; group++) {
            await_segment(share, group, segment);
            const int64_t end = (group + 1) * ((rows + 15) / 16) / 16;
            for (int64_t iteration = group * ((rows + 15) / 16) / 16; iteration < end; iteration++)
                T(local_blocks_polysketch_few_fold)(call, task, share, iteration);
            pass_segment(share, group, segment);
        }
    }
    share->segments += (max(chunks - first, 0) + length - 1) / length;
    synchronise(share);
    for (int64_t iteration = share->number; iteration < ((rows + 15) / 16); iteration += share->threads)
        T(local_blocks_polysketch_few_queries)(call, task, share, iteration);
    synchronise(share);
}
#include <attnrt/kernel/end.h>
#else
#ifdef __cplusplus
#error "local_blocks_polysketch.c is C, not C++: compile it with a C compiler"
#elif !defined __STDC_VERSION__ || __STDC_VERSION__ < 199901L
#error "local_blocks_polysketch.c is C11, not C89: compile it without -std=, or with -std=gnu11"
extern int local_blocks_polysketch_is_c11;
#elif !defined __GNUC__
#error "local_blocks_polysketch.c uses GNU C vector extensions: compile it with gcc or clang"
extern int local_blocks_polysketch_is_gnu_c;
#else
#include "local_blocks_polysketch.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include <attnrt/kernel/optimize.h>
#include <attnrt/kernel/call.h>

/* the numbers of the arrays of a call */
enum {
    ARRAY_q, ARRAY_k, ARRAY_v, ARRAY_out, ARRAY_sketch_g1, ARRAY_sketch_g2
};

#ifdef __FILE_NAME__
#define LOOPS __FILE_NAME__ /* this file, whose first part has the loops */
#else
#define LOOPS "local_blocks_polysketch.c"
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
static const struct attn_param param[] = {
    {"sketch.g1", ATTN_F32, 2, {64, 16}, offsetof(struct local_blocks_polysketch_params, sketch_g1), 1, ATTN_CONTIGUOUS,
        0, 0, ATTN_NO_LIMITS},
    {"sketch.g2", ATTN_F32, 2, {64, 16}, offsetof(struct local_blocks_polysketch_params, sketch_g2), 1, ATTN_CONTIGUOUS,
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
    {.name = "sketch.g1", .access = {ACCESS_READ, ACCESS_NONE}, .dtype = ATTN_F32, .origin = FROM_PARAMS, .param = 0,
        .axis = {-1, -1, -1}, .random = RANDOM_NORMAL},
    {.name = "sketch.g2", .access = {ACCESS_READ, ACCESS_NONE}, .dtype = ATTN_F32, .origin = FROM_PARAMS, .param = 1,
        .axis = {-1, -1, -1}, .random = RANDOM_NORMAL},
};

#if defined(__x86_64__)
static int runs_v4(void)
{
    return attn_x86_64_level() >= 4;
}
static const struct program programs_v4[] = {
    {.role = RUN_FORWARD, .form = FORM_FEW, .from = 622,
     .head = local_blocks_polysketch_few_v4, .tile = 0, .own = 55296, .few_rows = 64, .of_pair = 128, .shared = 45888,
         .slot = 16704, .slots = 4, .together = 1},
    {.role = RUN_FORWARD, .from = 622,
     .head = local_blocks_polysketch_linear_v4, .tile = 0, .own = 110848, .of_token = 8840, .in_keys = 1,
         .shared = 1097152, .slot = 35392, .slots = 1, .together = 1},
    {.role = RUN_FORWARD, .form = FORM_FEW,
     .head = local_blocks_polysketch_few_v4, .tile = 0, .own = 55296, .few_rows = 64, .lanes = 16, .of_pair = 128,
         .shared = 45888, .slot = 16704, .slots = 4, .together = 1},
    {.role = RUN_FORWARD,
     .rows = local_blocks_polysketch_rows_v4, .tile = 256, .own = 196608, .of_pair = 128},
};
#endif
#if defined(__x86_64__)
static int runs_v3(void)
{
    return attn_x86_64_level() >= 3;
}
static const struct program programs_v3[] = {
    {.role = RUN_FORWARD, .form = FORM_FEW, .from = 622,
     .head = local_blocks_polysketch_few_v3, .tile = 0, .own = 55296, .few_rows = 64, .of_pair = 128, .shared = 45888,
         .slot = 16704, .slots = 4, .together = 1},
    {.role = RUN_FORWARD, .from = 622,
     .head = local_blocks_polysketch_linear_v3, .tile = 0, .own = 110848, .of_token = 8840, .in_keys = 1,
         .shared = 1096192, .slot = 35392, .slots = 1, .together = 1},
    {.role = RUN_FORWARD, .form = FORM_FEW,
     .head = local_blocks_polysketch_few_v3, .tile = 0, .own = 55296, .few_rows = 64, .lanes = 8, .of_pair = 128,
         .shared = 45888, .slot = 16704, .slots = 4, .together = 1},
    {.role = RUN_FORWARD,
     .rows = local_blocks_polysketch_rows_v3, .tile = 256, .own = 188416, .of_pair = 128},
};
#endif
static const struct program programs_any[] = {
    {.role = RUN_FORWARD, .form = FORM_FEW, .from = 622,
     .head = local_blocks_polysketch_few_any, .tile = 0, .own = 55296, .few_rows = 64, .of_pair = 128, .shared = 45888,
         .slot = 16704, .slots = 4, .together = 1},
    {.role = RUN_FORWARD, .from = 622,
     .head = local_blocks_polysketch_linear_any, .tile = 0, .own = 110848, .of_token = 8840, .in_keys = 1,
         .shared = 1096192, .slot = 35392, .slots = 1, .together = 1},
    {.role = RUN_FORWARD, .form = FORM_FEW,
     .head = local_blocks_polysketch_few_any, .tile = 0, .own = 55296, .few_rows = 64, .lanes = 4, .of_pair = 128,
         .shared = 45888, .slot = 16704, .slots = 4, .together = 1},
    {.role = RUN_FORWARD,
     .rows = local_blocks_polysketch_rows_any, .tile = 128, .own = 113664, .of_pair = 128},
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
    .layout = KERNEL_LAYOUT, .name = "local_blocks_polysketch", .openmp = OPENMP,
    .target = target, .targets = sizeof target / sizeof *target - 1,
    .array = array, .arrays = sizeof array / sizeof *array,
    .param = param, .params = 2, .params_bytes = sizeof(struct local_blocks_polysketch_params),
    .dtype = ATTN_F32, .key_dtype = ATTN_F32, .value_dtype = ATTN_F32, .real = sizeof(float), .element = sizeof(float),
    .head_dim = 64, .value_dim = 64, .key_row = 64, .value_row = 64,
    .shares = 1,
    .positions = 1,
    .ids = -1,
    .corrected = -1,
    .solution = -1,
};

/* ==== the interface ==== */
size_t local_blocks_polysketch_params_size(void) { return attn_call_params_size(&kernel); }
int local_blocks_polysketch_params_init(struct local_blocks_polysketch_params *params, uint64_t seed, void *storage)
{
    return attn_call_params_init(&kernel, params, seed, storage);
}
size_t local_blocks_polysketch_workspace(const struct attn_problem *problem)
{
    return attn_call_workspace(&kernel, problem);
}
int local_blocks_polysketch_forward(const struct attn_problem *problem,
    const struct local_blocks_polysketch_params *params, const float *q, const float *k, const float *v,
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
const struct attn_kernel local_blocks_polysketch_kernel = {
    .name = "local_blocks_polysketch", .version = "0.2.0", .dtype = ATTN_F32, .head_dim = 64, .value_dim = 64,
    .params = 2, .param = param, .params_bytes = sizeof(struct local_blocks_polysketch_params),
    .params_size = local_blocks_polysketch_params_size, .params_init = params_init_any, .forward = forward_any,
    .workspace = local_blocks_polysketch_workspace,
    .key_dtype = ATTN_F32, .value_dtype = ATTN_F32,
    .before = INT64_MAX, .after = 0, .period = 0, .names_heads = 0, .names_sequences = 0, .in_parts = 0,
    .saved_power = 0, .has_sink = 0, .open_keys = 0, .end_of_keys = INT64_MAX,
};
#endif /* a compiler of this language */
#endif /* SECTION */
