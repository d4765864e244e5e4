/* mlstm.c, made by attnc 0.2.0: attnc mlstm.yaml
   C11 with GNU extensions, for a C compiler; C++ includes mlstm.h.
   the matrix memory of xLSTM: gated linear attention divided by a number that is at least 1
   Beck et al., xLSTM: Extended Long Short-Term Memory (NeurIPS 2024), section 2.3; f is the forget gate before sigmoid,
   w the exponential of the input gate, and both memories are without their common stabiliser

   Computes, in f32, over the axes b (batch), g (key/value head), m (query head of g), i (query), j (key), d (64),
   e (64), position (key):
     q [b g m i d]
     k [b g j d]
     v [b g j e]
     x3 [b g m i d] = q * 0.125
     f [b g m j], learned parameter
     x5 [b g m position] = max(log(sigmoid(f[b, g, m, position])), -10000)
     x6 [b g m i] = sum over position of x5 if position <= i + query_start
     x7 [b g m j] = sum over position of x5 if position <= j
     x8 [b g m i j] = sum over d of x3 * k
     x9 [b g m i j] = x8
     w [b g m j], learned parameter
     x11 [b g m i j] = x9 * w * pow(2.718281828459045, x6 - x7)
     x12 [b g m i e] = sum over j of x11 * v if j <= i + query_start
     x13 [b g m i e] = x12
     x14 [b g m i j] = sum over d of x3 * k
     x15 [b g m i j] = x14
     x16 [b g m i j] = x15 * w * pow(2.718281828459045, x6 - x7)
     x17 [b g m i] = sum over j of x16 if j <= i + query_start
     x18 [b g m i] = x17
     x19 [b g m i e] = x13 / max(abs(x18), 1)
     out = x19
   query_start is the position of the first query: problem.query_start[b], or n_k - n_q if that is NULL.

   How: each vector lane holds one query. Keys are processed in tiles,
   so row sums and maxima need no reduction across lanes.
   The sums of a tile start from zero and are added to the sums so far. Tiles that no query sees are skipped.
   Linear from 187 keys on: the weight is an inner product of 64 features. The state is a sum over keys of 64 x 65
   numbers.
     x86-64-v4  quadratic tiles of 64 queries and 288 keys; 154624 bytes of workspace per thread
     x86-64-v4  linear    tiles of 32 queries and 32 keys; 141568 bytes of workspace per thread
     x86-64-v3  quadratic tiles of 64 queries and 288 keys; 154624 bytes of workspace per thread
     x86-64-v3  linear    tiles of 32 queries and 32 keys; 141568 bytes of workspace per thread
     generic    quadratic tiles of 64 queries and 288 keys; 154624 bytes of workspace per thread
     generic    linear    tiles of 32 queries and 32 keys; 141568 bytes of workspace per thread

   Contents:
     loops      mlstm_rows, mlstm_linear, mlstm_terms
     targets    x86-64-v4, x86-64-v3, generic
     tables     arrays and programs, for the functions of attnrt that call the loops
     interface  mlstm_workspace, mlstm_forward, mlstm_kernel
   The file includes itself, so that the loops are compiled once for each target. T(name) is a name with the target's
   suffix, LANES the elements of its vectors, and OF(…) a number for each target.

   Compile with: cc -O2 -fopenmp mlstm.c … -lattnrt -lm */
#ifdef SECTION
#include <attnrt/kernel/vector.h>
#include <attnrt/kernel/elementary.h>
#include <attnrt/kernel/product.h>

/* The functions for the products below. Each calls dot or a similar function with constants. */
TARGET APART void T(dot0)(int64_t lanes, int64_t rows, const float *a, int64_t a_row, const float *b, float *c,
    const float *next, int64_t next_row, const float *result, int64_t result_row, int64_t results)
{
    T(dot_ahead)(/*vectors=*/OF(4, 2, 2), lanes, rows, /*tail=*/-1, /*steps=*/64, /*span=*/32, a, a_row, /*a_step=*/1,
        b, /*b_step=*/80, c, /*c_row=*/80, /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL, next, next_row,
        /*width=*/64, result, result_row, /*result_width=*/64, results);
}
TARGET APART void T(dot1)(int64_t lanes, int64_t steps, const float *a, int64_t a_step, const float *b, float *c,
    float *compensation)
{
    T(dot_finite)(/*vectors=*/OF(4, 2, 2), lanes, /*rows=*/64, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/1, a_step,
        b, /*b_step=*/80, c, /*c_row=*/80, /*update=*/3, /*factor=*/NULL, compensation);
}
TARGET APART void T(dot2)(int64_t lanes, int64_t steps, const float *a, int64_t a_step, const float *b, float *c,
    float *compensation)
{
    T(dot)(/*vectors=*/OF(4, 2, 2), lanes, /*rows=*/64, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/1, a_step, b,
        /*b_step=*/80, c, /*c_row=*/80, /*update=*/3, /*factor=*/NULL, compensation);
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
TARGET APART void T(dot5)(int64_t lanes, int64_t rows, const float *a, int64_t a_row, const float *b, float *c)
{
    T(dot)(/*vectors=*/2, lanes, rows, /*tail=*/-1, /*steps=*/64, /*span=*/32, a, a_row, /*a_step=*/1, b, /*b_step=*/32,
        c, /*c_row=*/32, /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL);
}
TARGET APART void T(dot6)(int64_t lanes, int64_t steps, const float *a, int64_t a_step, const float *b, float *c,
    float *compensation)
{
    T(dot_finite)(/*vectors=*/2, lanes, /*rows=*/64, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/1, a_step, b,
        /*b_step=*/32, c, /*c_row=*/32, /*update=*/3, /*factor=*/NULL, compensation);
}
TARGET APART void T(dot7)(int64_t lanes, int64_t steps, const float *a, int64_t a_step, const float *b, float *c,
    float *compensation)
{
    T(dot)(/*vectors=*/2, lanes, /*rows=*/64, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/1, a_step, b, /*b_step=*/32,
        c, /*c_row=*/32, /*update=*/3, /*factor=*/NULL, compensation);
}

/* Computes task number `task`: one tile of queries of one head. `work` is this thread's workspace. */
TARGET static void T(mlstm_rows)(const struct call *call, int64_t task, unsigned char *work)
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
    const float *const q = (const float *)call->array[ARRAY_q].at + b * call->array[ARRAY_q].strides.batch + (g /
        call->sharing * members + m) * call->array[ARRAY_q].strides.head;
    const int64_t q_row = call->array[ARRAY_q].strides.row;
    const float *const k = (const float *)call->array[ARRAY_k].at + b * call->array[ARRAY_k].strides.batch + g /
        call->sharing * call->array[ARRAY_k].strides.head;
    const int64_t k_row = call->array[ARRAY_k].strides.row;
    const float *const v = (const float *)call->array[ARRAY_v].at + b * call->array[ARRAY_v].strides.batch + g *
        call->array[ARRAY_v].strides.head;
    const int64_t v_row = call->array[ARRAY_v].strides.row;
    const float *const log_decay_q_low = (const float *)call->array[ARRAY_log_decay_q_low].at + b *
        call->array[ARRAY_log_decay_q_low].strides.batch + (g * members + m) *
        call->array[ARRAY_log_decay_q_low].strides.head;
    const float *const log_decay_q = (const float *)call->array[ARRAY_log_decay_q].at + b *
        call->array[ARRAY_log_decay_q].strides.batch + (g * members + m) * call->array[ARRAY_log_decay_q].strides.head;
    const float *const log_decay_k_low = (const float *)call->array[ARRAY_log_decay_k_low].at + b *
        call->array[ARRAY_log_decay_k_low].strides.batch + (g * members + m) *
        call->array[ARRAY_log_decay_k_low].strides.head;
    const float *const log_decay_k = (const float *)call->array[ARRAY_log_decay_k].at + b *
        call->array[ARRAY_log_decay_k].strides.batch + (g * members + m) * call->array[ARRAY_log_decay_k].strides.head;
    const float *const w_array = (const float *)call->array[ARRAY_w_array].at + b *
        call->array[ARRAY_w_array].strides.batch + (g * members + m) * call->array[ARRAY_w_array].strides.head;
    const int64_t w_array_row = call->array[ARRAY_w_array].strides.row;
    float *const score = (float *)(void *)(work + 0); /* [j: 288, i: 64 of 80] */
    float *const sum = (float *)(void *)(work + 92160); /* [e: 64, i: 64 of 80] */
    float *const sum_compensation = (float *)(void *)(work + 112640); /* [e: 64, i: 64 of 80] */
    float *const row_sum = (float *)(void *)(work + 133120); /* [i: 64] */
    float *const row_sum_compensation = (float *)(void *)(work + 133376); /* [i: 64] */
    float *const out = (float *)call->array[ARRAY_out].at + b * call->array[ARRAY_out].strides.batch + (g * members + m)
        * call->array[ARRAY_out].strides.head;
    const int64_t out_row = call->array[ARRAY_out].strides.row;
    float *const q_tile = (float *)(void *)(work + 133632); /* [d: 64, i: 64 of 80] */
    float *const log_decay_q_tile = (float *)(void *)(work + 154112); /* [i: 64] */
    float *const log_decay_q_low_tile = (float *)(void *)(work + 154368); /* [i: 64] */
    int64_t results = i1 - i0; /* rows of out to prefetch during the first product */
    /* q_tile = q, with zeros beyond the last row */
    T(transpose_padded)(q + i0 * q_row, q_row, i1 - i0, 64, q_tile, 80, LANES);
    /* log_decay_q_tile = log_decay_q, with zeros beyond the last row */
    for (int64_t i = 0; i < round_up(i1 - i0, LANES); i++)
        log_decay_q_tile[i] = i < i1 - i0 ? log_decay_q[(i0 + i)] : 0;
    /* log_decay_q_low_tile = log_decay_q_low, with zeros beyond the last row */
    for (int64_t i = 0; i < round_up(i1 - i0, LANES); i++)
        log_decay_q_low_tile[i] = i < i1 - i0 ? log_decay_q_low[(i0 + i)] : 0;
    /* q_tile = q_tile * 0.125f */
    for (int64_t d = 0; d < 64; d++) {
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            T(store)(q_tile + d * 80 + i, T(load)(q_tile + d * 80 + i) * 0.125f);
        }
    }
    /* sum = 0.0f; sum_compensation = 0.0f */
    for (int64_t e = 0; e < 64; e++) {
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            T(store)(sum + e * 80 + i, T(splat)(0.0f));
            T(store)(sum_compensation + e * 80 + i, T(splat)(0.0f));
        }
    }
    /* row_sum = 0.0f; row_sum_compensation = 0.0f */
    for (int64_t i = 0; i < i1 - i0; i += LANES) {
        T(store)(row_sum + i, T(splat)(0.0f));
        T(store)(row_sum_compensation + i, T(splat)(0.0f));
    }
    for (int64_t j0 = 0, j_end = min(n_k, i1 + query_start); j0 < j_end; j0 += 288) {
        const int64_t j1 = min(j0 + 288, j_end);
        /* score[j][i] = sum over d of k * q_tile */
        T(dot0)(round_up(i1 - i0, LANES), j1 - j0, k + j0 * k_row, k_row, q_tile, score, v + j0 * v_row, v_row,
            out + i0 * out_row, out_row, results);
        results = 0;
        /* score = (score * w) * exp2(((log_decay_q_tile - log_decay_k) + (log_decay_q_low_tile - log_decay_k_low)) *
           1.442695f) */
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            const T(vec) log_decay_q_tile_0 = T(load)(log_decay_q_tile + i);
            const T(vec) log_decay_q_low_tile_1 = T(load)(log_decay_q_low_tile + i);
            for (int64_t j = 0; j < j1 - j0; j++) {
                T(store)(score + j * 80 + i, (T(load)(score + j * 80 + i) * (w_array[(j0 + j) * w_array_row])) *
                    T(exp2)(((log_decay_q_tile_0 - log_decay_k[(j0 + j)]) + (log_decay_q_low_tile_1 -
                    log_decay_k_low[(j0 + j)])) * 1.442695f));
            }
        }
        if ((i0 + query_start + 1) < j1) { /* the tile is partly outside the mask */
            /* score = select(j <= (i + query_start), score, 0.0f) */
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                const T(ints) t_2 = (i0 + i + T(lane)) + query_start;
                for (int64_t j = 0; j < j1 - j0; j++) {
                    T(store)(score + j * 80 + i, T(pick)(__builtin_convertvector((j0 + j) <= t_2, T(mask)),
                        T(load)(score + j * 80 + i), T(splat)(0.0f)));
                }
            }
        }
        /* sum[e][i] += sum over j of v * score */
        if (__builtin_expect(((i0 + query_start + 1) < j1) && !T(finite)(v + j0 * v_row, v_row, j1 - j0, 64),
            0)) { /* infinity and NaN affect only queries that see them */
            T(dot1)(round_up(i1 - i0, LANES), j1 - j0, v + j0 * v_row, v_row, score, sum, sum_compensation);
            for (int64_t j = 0; j < j1 - j0; j++) {
                T(mask) in_region[OF(4, 8, 16)] = {0};
                if (T(finite)(v + j0 * v_row + j * v_row, 1, 64, 1)) continue;
                for (int64_t i = 0; i < i1 - i0; i += LANES) {
                    in_region[i / LANES] = __builtin_convertvector((j0 + j) <= ((i0 + i + T(lane)) + query_start),
                        T(mask));
                }
                T(add_seen)(64, sum, 80, v + j0 * v_row + j * v_row, 1, score + j * 80, in_region, i1 - i0);
            }
        } else
            T(dot2)(round_up(i1 - i0, LANES), j1 - j0, v + j0 * v_row, v_row, score, sum, sum_compensation);
        /* row_sum += score */
        for (int64_t i_first = 0; i_first < i1 - i0; i_first += OF(64, 16, 8)) {
            T(vec) row_sum_in[OF(4, 2, 2)];
            UNROLL for (int64_t vector = 0, i = i_first; vector < OF(4, 2, 2); vector++, i += LANES) {
                row_sum_in[vector] = (T(vec)){0};
            }
            for (int64_t j = 0; j < j1 - j0; j++) {
                UNROLL for (int64_t vector = 0, i = i_first; vector < OF(4, 2, 2); vector++, i += LANES) {
                    row_sum_in[vector] += T(load)(score + j * 80 + i);
                }
            }
            UNROLL for (int64_t vector = 0, i = i_first; vector < OF(4, 2, 2); vector++, i += LANES) {
                T(add)(row_sum + i, row_sum_compensation + i, row_sum_in[vector], T(splat)(1));
            }
        }
    }
    /* sum = sum / max(abs(row_sum), 1) */
    for (int64_t i = 0; i < i1 - i0; i += LANES) {
        const T(vec) t_3 = T(max_nan)(T(abs)(T(load)(row_sum + i)), T(splat)((float)1));
        for (int64_t e = 0; e < 64; e++) {
            T(store)(sum + e * 80 + i, T(load)(sum + e * 80 + i) / t_3);
        }
    }
    /* out = sum, transposed back */
    T(transpose_out)(sum, 80, 64, i1 - i0, out + i0 * out_row, out_row, LANES);
}

/* Initialises the states: they contain no keys yet. */
TARGET APART void T(mlstm_begin)(const struct call *call, int64_t task, const struct share *share, int64_t iteration)
{
    (void)call;
    (void)task;
    const int64_t f0 = iteration * 32, f1 = min(f0 + 32, 64);
    float *const carried = (float *)(void *)(share->shared + 0); /* [f: 64, e: 64] */
    float *const carried_compensation = (float *)(void *)(share->shared + 16704); /* [f: 64, e: 64] */
    float *const carried_sum = (float *)(void *)(share->shared + 16448); /* [f: 64] */
    float *const carried_sum_compensation = (float *)(void *)(share->shared + 33152); /* [f: 64] */
    /* carried = 0.0f; carried_compensation = 0.0f */
    for (int64_t f = f0; f < f1; f++) {
        for (int64_t e_first = 0; e_first < 64; e_first += OF(64, 16, 8)) {
            UNROLL for (int64_t vector = 0, e = e_first; vector < OF(4, 2, 2); vector++, e += LANES) {
                T(store)(carried + f * 64 + e, T(splat)(0.0f));
                T(store)(carried_compensation + f * 64 + e, T(splat)(0.0f));
            }
        }
    }
    /* carried_sum = 0.0f; carried_sum_compensation = 0.0f */
    for (int64_t f = f0; f < f1; f += LANES) {
        T(store)(carried_sum + f, T(splat)(0.0f));
        T(store)(carried_sum_compensation + f, T(splat)(0.0f));
    }
}

/* Sums the keys of a chunk, from zero, into its slot. */
TARGET APART void T(mlstm_keys)(const struct call *call, int64_t task, const struct share *share, int64_t iteration)
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
    const float *const log_decay_k_low = (const float *)call->array[ARRAY_log_decay_k_low].at + b *
        call->array[ARRAY_log_decay_k_low].strides.batch + (g * members + m) *
        call->array[ARRAY_log_decay_k_low].strides.head;
    const float *const log_decay_k = (const float *)call->array[ARRAY_log_decay_k].at + b *
        call->array[ARRAY_log_decay_k].strides.batch + (g * members + m) * call->array[ARRAY_log_decay_k].strides.head;
    const float *const log_decay_chunk_low = (const float *)call->array[ARRAY_log_decay_chunk_low].at + b *
        call->array[ARRAY_log_decay_chunk_low].strides.batch + (g * members + m) *
        call->array[ARRAY_log_decay_chunk_low].strides.head;
    const float *const log_decay_chunk = (const float *)call->array[ARRAY_log_decay_chunk].at + b *
        call->array[ARRAY_log_decay_chunk].strides.batch + (g * members + m) *
        call->array[ARRAY_log_decay_chunk].strides.head;
    const float *const w_array = (const float *)call->array[ARRAY_w_array].at + b *
        call->array[ARRAY_w_array].strides.batch + (g * members + m) * call->array[ARRAY_w_array].strides.head;
    const int64_t w_array_row = call->array[ARRAY_w_array].strides.row;
    float *const key_features = (float *)(void *)(share->work + 0); /* [f: 64, j: 32] */
    float *const state = (float *)(void *)(share->slots + 0); /* [chunk, f: 64, e: 64] */
    float *const state_sum = (float *)(void *)(share->slots + 16448); /* [chunk, f: 64] */
    float *const k_tile = (float *)(void *)(share->work + 8192); /* [d: 64, j: 32] */
    float *const w_tile = (float *)(void *)(share->work + 16384); /* [j: 32] */
    float *const log_decay_k_tile = (float *)(void *)(share->work + 16512); /* [j: 32] */
    float *const log_decay_k_low_tile = (float *)(void *)(share->work + 16640); /* [j: 32] */
    /* state_sum = 0.0f */
    for (int64_t f = 0; f < 64; f += LANES) {
        T(store)(state_sum + (chunk - chunk0) * 4176 + f, T(splat)(0.0f));
    }
    for (int64_t j0 = chunk * 32, j_end = min(n_k, (chunk + 1) * 32); j0 < j_end; j0 += 32) {
        const int64_t j1 = min(j0 + 32, j_end);
        /* k_tile = k, with zeros beyond the last row */
        T(transpose_padded)(k + j0 * k_row, k_row, j1 - j0, 64, k_tile, 32, 64);
        if (w_array_row == 1) {
            /* w_tile = w_array, with zeros beyond the last row */
            for (int64_t j = 0; j < round_up(j1 - j0, LANES); j++)
                w_tile[j] = j < j1 - j0 ? w_array[(j0 + j)] : 0;
        } else {
            /* w_tile = w_array, with zeros beyond the last row */
            for (int64_t j = 0; j < round_up(j1 - j0, LANES); j++)
                w_tile[j] = j < j1 - j0 ? w_array[(j0 + j) * w_array_row] : 0;
        }
        /* log_decay_k_tile = log_decay_k, with zeros beyond the last row */
        for (int64_t j = 0; j < round_up(j1 - j0, LANES); j++)
            log_decay_k_tile[j] = j < j1 - j0 ? log_decay_k[(j0 + j)] : 0;
        /* log_decay_k_low_tile = log_decay_k_low, with zeros beyond the last row */
        for (int64_t j = 0; j < round_up(j1 - j0, LANES); j++)
            log_decay_k_low_tile[j] = j < j1 - j0 ? log_decay_k_low[(j0 + j)] : 0;
        /* key_features = (k_tile * w_tile) * exp2(((log_decay_chunk - log_decay_k_tile) + (log_decay_chunk_low -
           log_decay_k_low_tile)) *  ... */
        const float log_decay_chunk_1 = log_decay_chunk[max(min(((chunk + 1) * 32) - 1, n_k - 1), 0)];
        const float log_decay_chunk_low_2 = log_decay_chunk_low[max(min(((chunk + 1) * 32) - 1, n_k - 1), 0)];
        for (int64_t j = 0; j < j1 - j0; j += LANES) {
            const T(vec) w_tile_0 = T(load)(w_tile + j);
            const T(vec) t_3 = T(exp2)(((log_decay_chunk_1 - T(load)(log_decay_k_tile + j)) + (log_decay_chunk_low_2 -
                T(load)(log_decay_k_low_tile + j))) * 1.442695f);
            for (int64_t f = 0; f < 64; f++) {
                T(store)(key_features + f * 32 + j, (T(load)(k_tile + f * 32 + j) * w_tile_0) * t_3);
            }
        }
        /* state[f][e] = sum over j of key_features * v */
        T(dot3)(j1 - j0, key_features, v + j0 * v_row, v_row, state + (chunk - chunk0) * 4176);
        /* state_sum += key_features */
        for (int64_t f = 0; f < 64; f++) {
            T(vec) lane_sums = T(splat)(0);
            for (int64_t j = 0; j < j1 - j0; j += LANES) {
                const T(vec) term = T(load)(key_features + f * 32 + j);
                lane_sums += j + LANES <= j1 - j0 ? term : T(pick)(__builtin_convertvector(j + T(lane) < j1 - j0,
                    T(mask)), term, T(splat)(0));
            }
            const float total = T(lane_sum)(lane_sums);
            state_sum[(chunk - chunk0) * 4176 + f] += total;
        }
    }
}

/* Folds the slots of the current chunks, in order, for some elements of the states. */
TARGET APART void T(mlstm_fold)(const struct call *call, int64_t task, const struct share *share, int64_t iteration)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_k = call->p.n_k;
    const int64_t f0 = iteration * 32, f1 = min(f0 + 32, 64);
    const int64_t chunk0 = share->chunk0;
    const int64_t chunk1 = share->chunk1;
    const int64_t m = task % members;
    const int64_t g = task / members % kv_heads;
    const int64_t b = task / members / kv_heads;
    const float *const log_decay_chunk_low = (const float *)call->array[ARRAY_log_decay_chunk_low].at + b *
        call->array[ARRAY_log_decay_chunk_low].strides.batch + (g * members + m) *
        call->array[ARRAY_log_decay_chunk_low].strides.head;
    const float *const log_decay_chunk = (const float *)call->array[ARRAY_log_decay_chunk].at + b *
        call->array[ARRAY_log_decay_chunk].strides.batch + (g * members + m) *
        call->array[ARRAY_log_decay_chunk].strides.head;
    float *const state = (float *)(void *)(share->slots + 0); /* [chunk, f: 64, e: 64] */
    float *const state_sum = (float *)(void *)(share->slots + 16448); /* [chunk, f: 64] */
    float *const carried = (float *)(void *)(share->shared + 0); /* [f: 64, e: 64] */
    float *const carried_compensation = (float *)(void *)(share->shared + 16704); /* [f: 64, e: 64] */
    float *const kept_share = (float *)(void *)(share->work + 0); /* [f: 64] */
    float *const lost_share = (float *)(void *)(share->work + 256); /* [f: 64] */
    float *const carried_sum = (float *)(void *)(share->shared + 16448); /* [f: 64] */
    float *const carried_sum_compensation = (float *)(void *)(share->shared + 33152); /* [f: 64] */
    for (int64_t chunk = chunk0; chunk < chunk1; chunk++) {
        /* kept_share = select(exp2(((log_decay_chunk - log_decay_chunk) + (log_decay_chunk_low - log_decay_chunk_low))
           * 1.442695f) < 0.5f ... */
        const float t_4 = (log_decay_chunk[max(min(((chunk + 1) * 32) - 1, n_k - 1),
            0)] - log_decay_chunk[max(min((chunk * 32) - 1, n_k - 1),
            0)]) + (log_decay_chunk_low[max(min(((chunk + 1) * 32) - 1, n_k - 1),
            0)] - log_decay_chunk_low[max(min((chunk * 32) - 1, n_k - 1), 0)]);
        const float t_5 = exp2f(t_4 * 1.442695f);
        const int t_6 = t_5 < 0.5f;
        const float t_7 = t_6 ? t_5 : 1.0f;
        const float t_8 = t_6 ? 0.0f : (-expm1f(t_4));
        for (int64_t f = f0; f < f1; f += LANES) {
            T(store)(kept_share + f, T(splat)(t_7));
            T(store)(lost_share + f, T(splat)(t_8));
        }
        /* before = carried; carried = carried * kept_share; carried_compensation = carried_compensation * kept_share;
           carried += state - ( ... */
        for (int64_t f = f0; f < f1; f++) {
            for (int64_t e_first = 0; e_first < 64; e_first += OF(64, 16, 8)) {
                UNROLL for (int64_t vector = 0, e = e_first; vector < OF(4, 2, 2); vector++, e += LANES) {
                    const T(vec) carried_9 = T(load)(carried + f * 64 + e);
                    const T(vec) before_new10 = carried_9;
                    const float kept_share_11 = kept_share[f];
                    const T(vec) carried_new12 = carried_9 * kept_share_11;
                    T(store)(carried + f * 64 + e, carried_new12);
                    T(store)(carried_compensation + f * 64 + e, T(load)(carried_compensation + f * 64 + e) *
                        kept_share_11);
                    T(add)(carried + f * 64 + e, carried_compensation + f * 64 + e,
                        T(load)(state + (chunk - chunk0) * 4176 + f * 64 + e) - (carried_new12 * lost_share[f]),
                        T(splat)(1));
                    T(store)(state + (chunk - chunk0) * 4176 + f * 64 + e, before_new10);
                }
            }
        }
        /* kept_share_2 = select(exp2(((log_decay_chunk - log_decay_chunk) + (log_decay_chunk_low -
           log_decay_chunk_low)) * 1.442695f) < 0. ... */
        const float t_13 = (log_decay_chunk[max(min(((chunk + 1) * 32) - 1, n_k - 1),
            0)] - log_decay_chunk[max(min((chunk * 32) - 1, n_k - 1),
            0)]) + (log_decay_chunk_low[max(min(((chunk + 1) * 32) - 1, n_k - 1),
            0)] - log_decay_chunk_low[max(min((chunk * 32) - 1, n_k - 1), 0)]);
        const float t_14 = exp2f(t_13 * 1.442695f);
        const int t_15 = t_14 < 0.5f;
        const float t_16 = t_15 ? t_14 : 1.0f;
        const float t_18 = t_15 ? 0.0f : (-expm1f(t_13));
        for (int64_t f = f0; f < f1; f += LANES) {
            const T(vec) kept_share_2_new17 = T(splat)(t_16);
            const T(vec) lost_share_2_new19 = T(splat)(t_18);
            const T(vec) carried_sum_20 = T(load)(carried_sum + f);
            const T(vec) before_sum_new21 = carried_sum_20;
            const T(vec) carried_sum_new22 = carried_sum_20 * kept_share_2_new17;
            T(store)(carried_sum + f, carried_sum_new22);
            T(store)(carried_sum_compensation + f, T(load)(carried_sum_compensation + f) * kept_share_2_new17);
            T(add)(carried_sum + f, carried_sum_compensation + f, T(load)(state_sum + (chunk - chunk0) * 4176 + f) -
                (carried_sum_new22 * lost_share_2_new19), T(splat)(1));
            T(store)(state_sum + (chunk - chunk0) * 4176 + f, before_sum_new21);
        }
    }
}

/* Processes the queries of a chunk: reads the state before the chunk, and the keys in the chunk. */
TARGET APART void T(mlstm_queries)(const struct call *call, int64_t task, const struct share *share, int64_t iteration)
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
    const float *const log_decay_q_low = (const float *)call->array[ARRAY_log_decay_q_low].at + b *
        call->array[ARRAY_log_decay_q_low].strides.batch + (g * members + m) *
        call->array[ARRAY_log_decay_q_low].strides.head;
    const float *const log_decay_q = (const float *)call->array[ARRAY_log_decay_q].at + b *
        call->array[ARRAY_log_decay_q].strides.batch + (g * members + m) * call->array[ARRAY_log_decay_q].strides.head;
    const float *const log_decay_k_low = (const float *)call->array[ARRAY_log_decay_k_low].at + b *
        call->array[ARRAY_log_decay_k_low].strides.batch + (g * members + m) *
        call->array[ARRAY_log_decay_k_low].strides.head;
    const float *const log_decay_k = (const float *)call->array[ARRAY_log_decay_k].at + b *
        call->array[ARRAY_log_decay_k].strides.batch + (g * members + m) * call->array[ARRAY_log_decay_k].strides.head;
    const float *const log_decay_chunk_low = (const float *)call->array[ARRAY_log_decay_chunk_low].at + b *
        call->array[ARRAY_log_decay_chunk_low].strides.batch + (g * members + m) *
        call->array[ARRAY_log_decay_chunk_low].strides.head;
    const float *const log_decay_chunk = (const float *)call->array[ARRAY_log_decay_chunk].at + b *
        call->array[ARRAY_log_decay_chunk].strides.batch + (g * members + m) *
        call->array[ARRAY_log_decay_chunk].strides.head;
    const float *const w_array = (const float *)call->array[ARRAY_w_array].at + b *
        call->array[ARRAY_w_array].strides.batch + (g * members + m) * call->array[ARRAY_w_array].strides.head;
    const int64_t w_array_row = call->array[ARRAY_w_array].strides.row;
    float *const state = (float *)(void *)(share->slots + 0); /* [chunk, f: 64, e: 64] */
    float *const state_sum = (float *)(void *)(share->slots + 16448); /* [chunk, f: 64] */
    float *const score = (float *)(void *)(share->work + 0); /* [j: 32, i: 32] */
    float *const query = (float *)(void *)(share->work + 0); /* [f: 64, i: 32] */
    float *const sum_from_state = (float *)(void *)(share->work + 8192); /* [e: 64, i: 32] */
    float *const sum = (float *)(void *)(share->work + 16384); /* [e: 64, i: 32] */
    float *const sum_compensation = (float *)(void *)(share->work + 24576); /* [e: 64, i: 32] */
    float *const row_sum_from_state = (float *)(void *)(share->work + 32768); /* [i: 32] */
    float *const row_sum = (float *)(void *)(share->work + 4096); /* [i: 32] */
    float *const row_sum_compensation = (float *)(void *)(share->work + 4224); /* [i: 32] */
    float *const out = (float *)call->array[ARRAY_out].at + b * call->array[ARRAY_out].strides.batch + (g * members + m)
        * call->array[ARRAY_out].strides.head;
    const int64_t out_row = call->array[ARRAY_out].strides.row;
    float *const q_tile = (float *)(void *)(share->work + 32896); /* [d: 64, i: 32] */
    float *const log_decay_q_tile = (float *)(void *)(share->work + 41088); /* [i: 32] */
    float *const log_decay_q_low_tile = (float *)(void *)(share->work + 41216); /* [i: 32] */
    for (int64_t i0 = (chunk == 0) ? 0 : max(0, (chunk * 32) - query_start), i_end = min(n_q,
        ((chunk + 1) * 32) - query_start); i0 < i_end; i0 += 32) {
        const int64_t i1 = min(i0 + 32, i_end);
        /* q_tile = q, with zeros beyond the last row */
        T(transpose_padded)(q + i0 * q_row, q_row, i1 - i0, 64, q_tile, 32, 0);
        /* log_decay_q_tile = log_decay_q, with zeros beyond the last row */
        for (int64_t i = 0; i < round_up(i1 - i0, LANES); i++)
            log_decay_q_tile[i] = i < i1 - i0 ? log_decay_q[(i0 + i)] : 0;
        /* log_decay_q_low_tile = log_decay_q_low, with zeros beyond the last row */
        for (int64_t i = 0; i < round_up(i1 - i0, LANES); i++)
            log_decay_q_low_tile[i] = i < i1 - i0 ? log_decay_q_low[(i0 + i)] : 0;
        /* q_tile = q_tile * 0.125f */
        for (int64_t d = 0; d < 64; d++) {
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                T(store)(q_tile + d * 32 + i, T(load)(q_tile + d * 32 + i) * 0.125f);
            }
        }
        /* query = q_tile * select(chunk == 0, 1.0f, exp2(((log_decay_q_tile - log_decay_chunk) + (log_decay_q_low_tile
           - log_decay_chunk_l ... */
        const int t_23 = chunk == 0;
        const float log_decay_chunk_24 = log_decay_chunk[max(min((chunk * 32) - 1, n_k - 1), 0)];
        const float log_decay_chunk_low_25 = log_decay_chunk_low[max(min((chunk * 32) - 1, n_k - 1), 0)];
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            const T(vec) t_26 = t_23 ? T(splat)(1.0f) : T(exp2)(((T(load)(log_decay_q_tile + i) - log_decay_chunk_24) +
                (T(load)(log_decay_q_low_tile + i) - log_decay_chunk_low_25)) * 1.442695f);
            for (int64_t f = 0; f < 64; f++) {
                T(store)(query + f * 32 + i, T(load)(q_tile + f * 32 + i) * t_26);
            }
        }
        /* sum_from_state[e][i] = sum over f of state * query */
        T(dot4)(round_up(i1 - i0, LANES), state + (chunk - chunk0) * 4176, query, sum_from_state,
            (const struct coming[]){{k + max(0, chunk * 32) * k_row, 4 * k_row, 256}, {v + max(0, chunk * 32) * v_row,
            4 * v_row, 256}, {out + i0 * out_row, 4 * out_row, 256}, {q + (i0 + 32) * q_row, 4 * q_row, 256}});
        /* sum = 0.0f; sum_compensation = 0.0f */
        for (int64_t e = 0; e < 64; e++) {
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                T(store)(sum + e * 32 + i, T(splat)(0.0f));
                T(store)(sum_compensation + e * 32 + i, T(splat)(0.0f));
            }
        }
        /* row_sum_from_state = 0.0f */
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            T(store)(row_sum_from_state + i, T(splat)(0.0f));
        }
        /* row_sum_from_state += query * state_sum */
        for (int64_t i_first = 0; i_first < i1 - i0; i_first += (2 * LANES)) {
            T(vec) row_sum_from_state_in[2];
            UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += LANES) {
                row_sum_from_state_in[vector] = (T(vec)){0};
            }
            for (int64_t f = 0; f < 64; f++) {
                UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += LANES) {
                    row_sum_from_state_in[vector] += T(load)(query + f * 32 + i) * (state_sum[(chunk - chunk0) * 4176 +
                        f]);
                }
            }
            UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += LANES) {
                T(store)(row_sum_from_state + i, T(load)(row_sum_from_state + i) + row_sum_from_state_in[vector]);
            }
        }
        /* row_sum = 0.0f; row_sum_compensation = 0.0f */
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            T(store)(row_sum + i, T(splat)(0.0f));
            T(store)(row_sum_compensation + i, T(splat)(0.0f));
        }
        for (int64_t j0 = max(0, chunk * 32), j_end = min(n_k, i1 + query_start); j0 < j_end; j0 += 32) {
            const int64_t j1 = min(j0 + 32, j_end);
            /* score[j][i] = sum over d of k * q_tile */
            T(dot5)(round_up(i1 - i0, LANES), j1 - j0, k + j0 * k_row, k_row, q_tile, score);
            /* score = (score * w) * exp2(((log_decay_q_tile - log_decay_k) + (log_decay_q_low_tile - log_decay_k_low))
               * 1.442695f) */
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                const T(vec) log_decay_q_tile_27 = T(load)(log_decay_q_tile + i);
                const T(vec) log_decay_q_low_tile_28 = T(load)(log_decay_q_low_tile + i);
                for (int64_t j = 0; j < j1 - j0; j++) {
                    T(store)(score + j * 32 + i, (T(load)(score + j * 32 + i) * (w_array[(j0 + j) * w_array_row])) *
                        T(exp2)(((log_decay_q_tile_27 - log_decay_k[(j0 + j)]) + (log_decay_q_low_tile_28 -
                        log_decay_k_low[(j0 + j)])) * 1.442695f));
                }
            }
            if ((j0 < (chunk * 32)) || ((i0 + query_start + 1) < j1)) { /* the tile is partly outside the mask */
                /* score = select((j <= (i + query_start)) && ((chunk * 32) <= j), score, 0.0f) */
                for (int64_t i = 0; i < i1 - i0; i += LANES) {
                    const T(ints) t_29 = (i0 + i + T(lane)) + query_start;
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        T(store)(score + j * 32 + i, T(pick)(__builtin_convertvector(((j0 + j) <= t_29) &
                            (-(int64_t)((chunk * 32) <= (j0 + j))), T(mask)), T(load)(score + j * 32 + i),
                            T(splat)(0.0f)));
                    }
                }
            }
            /* sum[e][i] += sum over j of v * score */
            if (__builtin_expect(((j0 < (chunk * 32)) || ((i0 + query_start + 1) < j1)) && !T(finite)(v + j0 * v_row,
                v_row, j1 - j0, 64), 0)) { /* infinity and NaN affect only queries that see them */
                T(dot6)(round_up(i1 - i0, LANES), j1 - j0, v + j0 * v_row, v_row, score, sum, sum_compensation);
                for (int64_t j = 0; j < j1 - j0; j++) {
                    T(mask) in_region[OF(2, 4, 8)] = {0};
                    if (T(finite)(v + j0 * v_row + j * v_row, 1, 64, 1)) continue;
                    const int t_30 = (chunk * 32) <= (j0 + j);
                    for (int64_t i = 0; i < i1 - i0; i += LANES) {
                        in_region[i / LANES] = __builtin_convertvector(((j0 + j) <= ((i0 + i + T(lane)) + query_start))
                            & (-(int64_t)t_30), T(mask));
                    }
                    T(add_seen)(64, sum, 32, v + j0 * v_row + j * v_row, 1, score + j * 32, in_region, i1 - i0);
                }
            } else
                T(dot7)(round_up(i1 - i0, LANES), j1 - j0, v + j0 * v_row, v_row, score, sum, sum_compensation);
            /* row_sum += score */
            for (int64_t i_first = 0; i_first < i1 - i0; i_first += (2 * LANES)) {
                T(vec) row_sum_in[2];
                UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += LANES) {
                    row_sum_in[vector] = (T(vec)){0};
                }
                for (int64_t j = 0; j < j1 - j0; j++) {
                    UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += LANES) {
                        row_sum_in[vector] += T(load)(score + j * 32 + i);
                    }
                }
                UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += LANES) {
                    T(add)(row_sum + i, row_sum_compensation + i, row_sum_in[vector], T(splat)(1));
                }
            }
        }
        /* sum = (sum + sum_from_state) / max(abs(row_sum + row_sum_from_state), 1) */
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            const T(vec) t_31 = T(max_nan)(T(abs)(T(load)(row_sum + i) + T(load)(row_sum_from_state + i)),
                T(splat)((float)1));
            for (int64_t e = 0; e < 64; e++) {
                T(store)(sum + e * 32 + i, (T(load)(sum + e * 32 + i) + T(load)(sum_from_state + e * 32 + i)) / t_31);
            }
        }
        /* out = sum, transposed back */
        T(transpose_out)(sum, 32, 64, i1 - i0, out + i0 * out_row, out_row, 0);
    }
}

/* Computes head number `task`. Each thread on the head calls this with `share`. */
TARGET static void T(mlstm_linear)(const struct call *call, int64_t task, struct share *share)
{
    const int64_t n_k = call->p.n_k;
    const int64_t chunks = n_k > 0 ? (n_k - 1) / 32 + 1 : 1;
    for (int64_t iteration = share->number; iteration < ((64 + 31) / 32); iteration += share->threads)
        T(mlstm_begin)(call, task, share, iteration);
    synchronise(share);
    const int64_t first = 0;
    const int64_t length = segment_length(share, chunks - first);
    for (int64_t segment = share->number; first + segment * length < chunks; segment += share->threads) {
        share->chunk0 = first + segment * length;
        share->chunk1 = min(share->chunk0 + length, chunks);
        for (int64_t iteration = share->chunk0; iteration < share->chunk1; iteration++)
            T(mlstm_keys)(call, task, share, iteration);
        for (int64_t group = 0; group < 16; group++) {
            await_segment(share, group, segment);
            const int64_t end = (group + 1) * ((64 + 31) / 32) / 16;
            for (int64_t iteration = group * ((64 + 31) / 32) / 16; iteration < end; iteration++)
                T(mlstm_fold)(call, task, share, iteration);
            pass_segment(share, group, segment);
        }
        for (int64_t iteration = share->chunk0; iteration < share->chunk1; iteration++)
            T(mlstm_queries)(call, task, share, iteration);
    }
    share->segments += (max(chunks - first, 0) + length - 1) / length;
    synchronise(share);
}

/* Computes task number `task`: one tile of queries of one head. `work` is this thread's workspace. */
TARGET static void T(mlstm_terms)(const struct call *call, int64_t task, unsigned char *work)
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
    const float *const f_array = (const float *)call->array[ARRAY_f_array].at + b *
        call->array[ARRAY_f_array].strides.batch + (g * members + m) * call->array[ARRAY_f_array].strides.head;
    const int64_t f_array_row = call->array[ARRAY_f_array].strides.row;
    float *const result = (float *)(void *)(work + 0); /* [i: 64] */
    float *const log_decay_k = call->array[ARRAY_log_decay_k].at ? (float *)call->array[ARRAY_log_decay_k].at + b *
        call->array[ARRAY_log_decay_k].strides.batch + (g * members + m) * call->array[ARRAY_log_decay_k].strides.head :
        NULL;
    const int64_t log_decay_k_row = call->array[ARRAY_log_decay_k].strides.row;
    float *const f_at = (float *)(void *)(work + 256); /* [i: 64] */
    /* f_at = f_array, at computed subscripts */
    for (int64_t i = 0; i < i1 - i0; i++) f_at[i] = f_array[((i0 + i) + n_k - n_q) * f_array_row];
    for (int64_t i = i1 - i0; i < round_up(i1 - i0, LANES); i++) f_at[i] = 0;
    /* result = max(log(sigmoid(f_at)), -1e+04f) */
    for (int64_t i = 0; i < i1 - i0; i += LANES) {
        T(store)(result + i, T(max)(T(log)(T(sigmoid)(T(load)(f_at + i))), T(splat)(-1e+04f)));
    }
    if (log_decay_k) {
        /* log_decay_k = result */
        for (int64_t i = 0; i < i1 - i0; i++)
            log_decay_k[(i0 + i) * log_decay_k_row] = result[i];
    }
}
#include <attnrt/kernel/end.h>
#else
#ifdef __cplusplus
#error "mlstm.c is C, not C++: compile it with a C compiler"
#elif !defined __STDC_VERSION__ || __STDC_VERSION__ < 199901L
#error "mlstm.c is C11, not C89: compile it without -std=, or with -std=gnu11"
extern int mlstm_is_c11;
#elif !defined __GNUC__
#error "mlstm.c uses GNU C vector extensions: compile it with gcc or clang"
extern int mlstm_is_gnu_c;
#else
#include "mlstm.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include <attnrt/kernel/optimize.h>
#include <attnrt/kernel/call.h>

/* the numbers of the arrays of a call */
enum {
    ARRAY_q, ARRAY_k, ARRAY_v, ARRAY_out, ARRAY_f_array, ARRAY_w_array, ARRAY_log_decay_q, ARRAY_log_decay_q_low,
    ARRAY_log_decay_k, ARRAY_log_decay_k_low, ARRAY_log_decay_chunk, ARRAY_log_decay_chunk_low
};

#ifdef __FILE_NAME__
#define LOOPS __FILE_NAME__ /* this file, whose first part has the loops */
#else
#define LOOPS "mlstm.c"
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
    {"f", ATTN_F32, 3, {ATTN_BATCH, ATTN_HEADS, ATTN_N_K}, offsetof(struct mlstm_params, f), 0,
        offsetof(struct mlstm_strides, f), 0, 1, ATTN_NO_LIMITS},
    {"w", ATTN_F32, 3, {ATTN_BATCH, ATTN_HEADS, ATTN_N_K}, offsetof(struct mlstm_params, w), 0,
        offsetof(struct mlstm_strides, w), 0, 1, ATTN_NO_LIMITS},
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
    {.name = "f", .access = {ACCESS_READ, ACCESS_NONE}, .dtype = ATTN_F32, .rows = ROWS_OF_KEYS, .origin = FROM_PARAMS,
        .param = 0, .axis = {0, 1, 2}, .has_rows = 1},
    {.name = "w", .access = {ACCESS_READ, ACCESS_NONE}, .dtype = ATTN_F32, .rows = ROWS_OF_KEYS, .origin = FROM_PARAMS,
        .param = 1, .axis = {0, 1, 2}, .has_rows = 1},
    {.name = "log_decay_q", .access = {ACCESS_NONE, ACCESS_NONE}, .dtype = ATTN_F32, .rows = ROWS_OF_QUERIES,
        .origin = FROM_LIBRARY},
    {.name = "log_decay_q_low", .access = {ACCESS_NONE, ACCESS_NONE}, .dtype = ATTN_F32, .rows = ROWS_OF_QUERIES,
        .origin = FROM_LIBRARY},
    {.name = "log_decay_k", .access = {ACCESS_NONE, ACCESS_NONE}, .dtype = ATTN_F32, .rows = ROWS_OF_KEYS,
        .origin = FROM_LIBRARY},
    {.name = "log_decay_k_low", .access = {ACCESS_NONE, ACCESS_NONE}, .dtype = ATTN_F32, .rows = ROWS_OF_KEYS,
        .origin = FROM_LIBRARY},
    {.name = "log_decay_chunk", .access = {ACCESS_NONE, ACCESS_NONE}, .dtype = ATTN_F32, .rows = ROWS_OF_KEYS,
        .origin = FROM_LIBRARY},
    {.name = "log_decay_chunk_low", .access = {ACCESS_NONE, ACCESS_NONE}, .dtype = ATTN_F32, .rows = ROWS_OF_KEYS,
        .origin = FROM_LIBRARY},
};

#if defined(__x86_64__)
static int runs_v4(void)
{
    return attn_x86_64_level() >= 4;
}
static const struct program programs_v4[] = {
    {.role = RUN_FORWARD, .from = 187,
     .head = mlstm_linear_v4, .tile = -1, .own = 41344, .of_token = 4160, .in_keys = 1, .shared = 33408, .slot = 16704,
         .slots = 4, .together = 1},
    {.role = RUN_FORWARD,
     .rows = mlstm_rows_v4, .tile = 64, .own = 154624, .of_pair = 128},
    {.role = RUN_TERMS,
     .rows = mlstm_terms_v4, .tile = 64, .own = 512, .of_pair = 128},
};
#endif
#if defined(__x86_64__)
static int runs_v3(void)
{
    return attn_x86_64_level() >= 3;
}
static const struct program programs_v3[] = {
    {.role = RUN_FORWARD, .from = 187,
     .head = mlstm_linear_v3, .tile = -1, .own = 41344, .of_token = 4160, .in_keys = 1, .shared = 33408, .slot = 16704,
         .slots = 4, .together = 1},
    {.role = RUN_FORWARD,
     .rows = mlstm_rows_v3, .tile = 64, .own = 154624, .of_pair = 128},
    {.role = RUN_TERMS,
     .rows = mlstm_terms_v3, .tile = 64, .own = 512, .of_pair = 128},
};
#endif
static const struct program programs_any[] = {
    {.role = RUN_FORWARD, .from = 187,
     .head = mlstm_linear_any, .tile = -1, .own = 41344, .of_token = 4160, .in_keys = 1, .shared = 33408, .slot = 16704,
         .slots = 4, .together = 1},
    {.role = RUN_FORWARD,
     .rows = mlstm_rows_any, .tile = 64, .own = 154624, .of_pair = 128},
    {.role = RUN_TERMS,
     .rows = mlstm_terms_any, .tile = 64, .own = 512, .of_pair = 128},
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
    .layout = KERNEL_LAYOUT, .name = "mlstm", .openmp = OPENMP,
    .target = target, .targets = sizeof target / sizeof *target - 1,
    .array = array, .arrays = sizeof array / sizeof *array,
    .param = param, .params = 2, .params_bytes = sizeof(struct mlstm_params),
    .dtype = ATTN_F32, .key_dtype = ATTN_F32, .value_dtype = ATTN_F32, .real = sizeof(float), .element = sizeof(float),
    .head_dim = 64, .value_dim = 64, .key_row = 64, .value_row = 64,
    .strided = 1, .strides = offsetof(struct mlstm_params, strides),
    .shares = 1,
    .positions = 1,
    .ids = -1,
    .corrected = -1,
    .prefix_row = 1,
    .sum_tokens = 4096,
    .prefix = {ARRAY_log_decay_q, ARRAY_log_decay_q_low, ARRAY_log_decay_k, ARRAY_log_decay_k_low,
        ARRAY_log_decay_chunk, ARRAY_log_decay_chunk_low, NO_ARRAY, NO_ARRAY, NO_ARRAY},
    .solution = -1,
};

/* ==== the interface ==== */
size_t mlstm_params_size(void) { return attn_call_params_size(&kernel); }
int mlstm_params_init(struct mlstm_params *params, uint64_t seed, void *storage)
{
    return attn_call_params_init(&kernel, params, seed, storage);
}
size_t mlstm_workspace(const struct attn_problem *problem) { return attn_call_workspace(&kernel, problem); }
int mlstm_forward(const struct attn_problem *problem, const struct mlstm_params *params, const float *q, const float *k,
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
const struct attn_kernel mlstm_kernel = {
    .name = "mlstm", .version = "0.2.0", .dtype = ATTN_F32, .head_dim = 64, .value_dim = 64,
    .params = 2, .param = param, .params_bytes = sizeof(struct mlstm_params),
    .params_size = mlstm_params_size, .params_init = params_init_any, .forward = forward_any,
    .workspace = mlstm_workspace,
    .key_dtype = ATTN_F32, .value_dtype = ATTN_F32,
    .strides = offsetof(struct mlstm_params, strides), .strides_bytes = sizeof(struct mlstm_strides),
    .before = INT64_MAX, .after = 0, .period = 0, .names_heads = 0, .names_sequences = 0, .in_parts = 0,
    .saved_power = 0, .has_sink = 0, .open_keys = 0, .end_of_keys = INT64_MAX,
};
#endif /* a compiler of this language */
#endif /* SECTION */
