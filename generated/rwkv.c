/* rwkv.c, made by attnc 0.2.0: attnc rwkv.yaml
   C11 with GNU extensions, for a C compiler; C++ includes rwkv.h.
   linear attention with a learned decay for each channel, without a separate weight of the current token
   after Peng et al., Eagle and Finch: RWKV with Matrix-Valued States and Dynamic Recurrence (arXiv 2024), section 4

   Computes, in f32, over the axes b (batch), g (key/value head), m (query head of g), i (query), j (key), d (64),
   e (64), position (key):
     q [b g m i d]
     k [b g j d]
     v [b g j e]
     rate [g m d], learned parameter
     x4 [b g m position d] = max(exp(rate) * -1, -10000)
     x5 [b g m i d] = sum over position of x4 if position <= i + query_start
     x6 [b g m j d] = sum over position of x4 if position <= j
     x7 [b g m i j d] = q * k * pow(2.718281828459045, x5 - x6)
     x8 [b g m i j] = sum over d of x7
     x9 [b g m i j] = x8
     x10 [b g m i e] = sum over j of x9 * v if j <= i + query_start
     x11 [b g m i e] = x10
     out = x11
   query_start is the position of the first query: problem.query_start[b], or n_k - n_q if that is NULL.

   How: each vector lane holds one query. Keys are processed in tiles,
   so row sums and maxima need no reduction across lanes.
   The sums of a tile start from zero and are added to the sums so far. Tiles that no query sees are skipped.
   Linear from 49 keys on: the weight is an inner product of 64 features. The state is a sum over keys of 64 x 65
   numbers.
     x86-64-v4  quadratic tiles of 64 queries and 288 keys; 415744 bytes of workspace per thread
     x86-64-v4  linear    tiles of 32 queries and 32 keys; 150144 bytes of workspace per thread
     x86-64-v3  quadratic tiles of 64 queries and 288 keys; 415744 bytes of workspace per thread
     x86-64-v3  linear    tiles of 32 queries and 32 keys; 150144 bytes of workspace per thread
     generic    quadratic tiles of 64 queries and 288 keys; 415744 bytes of workspace per thread
     generic    linear    tiles of 32 queries and 32 keys; 150144 bytes of workspace per thread

   Contents:
     loops      rwkv_rows, rwkv_linear, rwkv_terms
     targets    x86-64-v4, x86-64-v3, generic
     tables     arrays and programs, for the functions of attnrt that call the loops
     interface  rwkv_workspace, rwkv_forward, rwkv_kernel
   The file includes itself, so that the loops are compiled once for each target. T(name) is a name with the target's
   suffix, LANES the elements of its vectors, and OF(…) a number for each target.

   Compile with: cc -O2 -fopenmp rwkv.c … -lattnrt -lm */
#ifdef SECTION
#include <attnrt/kernel/vector.h>
#include <attnrt/kernel/elementary.h>
#include <attnrt/kernel/decayed_lanes.h>
#include <attnrt/kernel/decayed_rows.h>
#include <attnrt/kernel/product.h>

/* The functions for the products below. Each calls dot or a similar function with constants. */
TARGET APART void T(dot0)(int64_t lanes, int64_t rows, int64_t first, const float *x, const float *a,
    const float *a_low, const float *y, const float *b, const float *b_low, float *w)
{
    T(decayed)(lanes, rows, /*steps=*/64, first, /*times=*/1.0f, /*scale=*/1.442695f, x, a, a_low, /*x_step=*/80, y, b,
        b_low, /*y_step=*/288, w, /*w_row=*/80);
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
    T(dot)(/*vectors=*/OF(4, 2, 2), /*lanes=*/64, /*rows=*/64, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/1,
        /*a_step=*/64, b, b_step, c, /*c_row=*/64, /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL);
}
TARGET APART void T(dot4)(int64_t rows, const float *a, const float *b, float *c, const struct coming *next)
{
    T(dot_meanwhile)(/*vectors=*/OF(4, 2, 2), /*lanes=*/64, rows, /*tail=*/-1, /*steps=*/64, /*span=*/32, a,
        /*a_row=*/64, /*a_step=*/1, b, /*b_step=*/64, c, /*c_row=*/64, /*update=*/0, /*factor=*/NULL,
        /*compensation=*/NULL, next, /*arrays=*/4, /*nexts=*/32);
}
TARGET APART void T(dot5)(int64_t lanes, int64_t rows, int64_t first, const float *x, int64_t x_row, const float *y,
    int64_t y_row, const float *b, const float *b_low, float *w)
{
    T(decayed_rows)(lanes, rows, /*steps=*/64, first, /*times=*/1.0f, /*scale=*/1.442695f, x, x_row, /*a=*/NULL,
        /*a_row=*/0, /*a_low=*/NULL, /*a_low_row=*/0, y, y_row, b, /*b_row=*/64, b_low, /*b_low_row=*/64, /*after=*/0,
        w, /*w_query=*/32, /*w_key=*/1);
}
TARGET APART void T(dot6)(int64_t rows, int64_t steps, const float *a, const float *b, int64_t b_step, float *c)
{
    T(dot_finite_lanes)(/*fetched=*/0, /*vectors=*/OF(4, 2, 2), /*lanes=*/64, rows, /*tail=*/-1, steps, /*span=*/192, a,
        /*a_row=*/32, /*a_step=*/1, b, b_step, c, /*c_row=*/64, /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL);
}
TARGET APART void T(dot7)(int64_t rows, int64_t steps, const float *a, const float *b, int64_t b_step, float *c)
{
    T(dot)(/*vectors=*/OF(4, 2, 2), /*lanes=*/64, rows, /*tail=*/-1, steps, /*span=*/192, a, /*a_row=*/32, /*a_step=*/1,
        b, b_step, c, /*c_row=*/64, /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL);
}
TARGET APART void T(dot8)(int64_t steps, const float *a, const float *b, int64_t b_step, float *c, float *compensation,
    const float *kept, const float *lost)
{
    T(dot_kept)(/*vectors=*/OF(4, 2, 2), /*lanes=*/64, /*rows=*/64, steps, a, /*a_row=*/1, /*a_step=*/64, b, b_step, c,
        /*c_row=*/64, compensation, kept, lost);
}

/* Computes task number `task`: one tile of queries of one head. `work` is this thread's workspace. */
TARGET static void T(rwkv_rows)(const struct call *call, int64_t task, unsigned char *work)
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
    const int64_t log_decay_q_low_row = call->array[ARRAY_log_decay_q_low].strides.row;
    const float *const log_decay_q = (const float *)call->array[ARRAY_log_decay_q].at + b *
        call->array[ARRAY_log_decay_q].strides.batch + (g * members + m) * call->array[ARRAY_log_decay_q].strides.head;
    const int64_t log_decay_q_row = call->array[ARRAY_log_decay_q].strides.row;
    const float *const log_decay_k_low = (const float *)call->array[ARRAY_log_decay_k_low].at + b *
        call->array[ARRAY_log_decay_k_low].strides.batch + (g * members + m) *
        call->array[ARRAY_log_decay_k_low].strides.head;
    const int64_t log_decay_k_low_row = call->array[ARRAY_log_decay_k_low].strides.row;
    const float *const log_decay_k = (const float *)call->array[ARRAY_log_decay_k].at + b *
        call->array[ARRAY_log_decay_k].strides.batch + (g * members + m) * call->array[ARRAY_log_decay_k].strides.head;
    const int64_t log_decay_k_row = call->array[ARRAY_log_decay_k].strides.row;
    float *const weight = (float *)(void *)(work + 0); /* [j: 288, i: 64 of 80] */
    float *const sum = (float *)(void *)(work + 92160); /* [e: 64, i: 64 of 80] */
    float *const sum_compensation = (float *)(void *)(work + 112640); /* [e: 64, i: 64 of 80] */
    float *const out = (float *)call->array[ARRAY_out].at + b * call->array[ARRAY_out].strides.batch + (g * members + m)
        * call->array[ARRAY_out].strides.head;
    const int64_t out_row = call->array[ARRAY_out].strides.row;
    float *const q_tile = (float *)(void *)(work + 133120); /* [d: 64, i: 64 of 80] */
    float *const k_tile = (float *)(void *)(work + 153600); /* [d: 64, j: 288] */
    float *const log_decay_q_tile = (float *)(void *)(work + 227328); /* [d: 64, i: 64 of 80] */
    float *const log_decay_k_tile = (float *)(void *)(work + 247808); /* [d: 64, j: 288] */
    float *const log_decay_q_low_tile = (float *)(void *)(work + 321536); /* [d: 64, i: 64 of 80] */
    float *const log_decay_k_low_tile = (float *)(void *)(work + 342016); /* [d: 64, j: 288] */
    /* q_tile = q, with zeros beyond the last row */
    T(transpose_padded)(q + i0 * q_row, q_row, i1 - i0, 64, q_tile, 80, LANES);
    /* log_decay_q_tile = log_decay_q, with zeros beyond the last row */
    T(transpose_padded)(log_decay_q + i0 * log_decay_q_row, log_decay_q_row, i1 - i0, 64, log_decay_q_tile, 80, LANES);
    /* log_decay_q_low_tile = log_decay_q_low, with zeros beyond the last row */
    T(transpose_padded)(log_decay_q_low + i0 * log_decay_q_low_row, log_decay_q_low_row, i1 - i0, 64,
        log_decay_q_low_tile, 80, LANES);
    /* sum = 0.0f; sum_compensation = 0.0f */
    for (int64_t e = 0; e < 64; e++) {
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            T(store)(sum + e * 80 + i, T(splat)(0.0f));
            T(store)(sum_compensation + e * 80 + i, T(splat)(0.0f));
        }
    }
    for (int64_t j0 = 0, j_end = min(n_k, i1 + query_start); j0 < j_end; j0 += 288) {
        const int64_t j1 = min(j0 + 288, j_end);
        /* k_tile = k, with zeros beyond the last row */
        T(transpose_padded)(k + j0 * k_row, k_row, j1 - j0, 64, k_tile, 288, 64);
        /* log_decay_k_tile = log_decay_k, with zeros beyond the last row */
        T(transpose_padded)(log_decay_k + j0 * log_decay_k_row, log_decay_k_row, j1 - j0, 64, log_decay_k_tile, 288,
            64);
        /* log_decay_k_low_tile = log_decay_k_low, with zeros beyond the last row */
        T(transpose_padded)(log_decay_k_low + j0 * log_decay_k_low_row, log_decay_k_low_row, j1 - j0, 64,
            log_decay_k_low_tile, 288, 64);
        /* weight = 0.0f */
        for (int64_t j = 0; j < j1 - j0; j++) {
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                T(store)(weight + j * 80 + i, T(splat)(0.0f));
            }
        }
        /* weight[j][i] += sum over d of k_tile * q_tile * a decay, for j up to the query's last key */
        T(dot0)(i1 - i0, j1 - j0, i0 + query_start - j0, q_tile, log_decay_q_tile, log_decay_q_low_tile, k_tile,
            log_decay_k_tile, log_decay_k_low_tile, weight);
        if ((i0 + query_start + 1) < j1) { /* the tile is partly outside the mask */
            /* weight = select(j <= (i + query_start), weight, 0.0f) */
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                const T(ints) t_0 = (i0 + i + T(lane)) + query_start;
                for (int64_t j = 0; j < j1 - j0; j++) {
                    T(store)(weight + j * 80 + i, T(pick)(__builtin_convertvector((j0 + j) <= t_0, T(mask)),
                        T(load)(weight + j * 80 + i), T(splat)(0.0f)));
                }
            }
        }
        /* sum[e][i] += sum over j of v * weight */
        if (__builtin_expect(((i0 + query_start + 1) < j1) && !T(finite)(v + j0 * v_row, v_row, j1 - j0, 64),
            0)) { /* infinity and NaN affect only queries that see them */
            T(dot1)(round_up(i1 - i0, LANES), j1 - j0, v + j0 * v_row, v_row, weight, sum, sum_compensation);
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
            T(dot2)(round_up(i1 - i0, LANES), j1 - j0, v + j0 * v_row, v_row, weight, sum, sum_compensation);
    }
    /* sum = sum */
    for (int64_t e = 0; e < 64; e++) {
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            T(store)(sum + e * 80 + i, T(load)(sum + e * 80 + i));
        }
    }
    /* out = sum, transposed back */
    T(transpose_out)(sum, 80, 64, i1 - i0, out + i0 * out_row, out_row, LANES);
}

/* Initialises the states: they contain no keys yet. */
TARGET APART void T(rwkv_begin)(const struct call *call, int64_t task, const struct share *share, int64_t iteration)
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
TARGET APART void T(rwkv_keys)(const struct call *call, int64_t task, const struct share *share, int64_t iteration)
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
    float *const key_features = (float *)(void *)(share->work + 0); /* [j: 32, f: 64] */
    float *const state = (float *)(void *)(share->slots + 0); /* [chunk, f: 64, e: 64] */
    float *const log_decay = (float *)(void *)(share->work + 0); /* [j: 32, d: 64] */
    float *const log_decay_sum = (float *)(void *)(share->work + 8192); /* [j: 32, d: 64] */
    float *const log_decay_sum_low = (float *)(void *)(share->work + 16384); /* [j: 32, d: 64] */
    const float *const rate_array = (const float *)call->array[ARRAY_rate_array].at + g * members *
        call->array[ARRAY_rate_array].stride[0] + m * call->array[ARRAY_rate_array].stride[0];
    const int64_t rate_array_stride_1 = call->array[ARRAY_rate_array].stride[1];
    float *const log_decay_total = (float *)(void *)(share->work + 24576); /* [d: 64] */
    float *const log_decay_rest = (float *)(void *)(share->work + 24832); /* [d: 64] */
    float *const state_decay = (float *)(void *)(share->slots + 16448); /* [chunk, d: 64] */
    float *const state_decay_low = (float *)(void *)(share->slots + 16704); /* [chunk, d: 64] */
    float *const rate_tile = (float *)(void *)(share->work + 25088); /* [d: 64] */
    if (rate_array_stride_1 == 1) {
        /* rate_tile = rate_array, with zeros beyond the last row */
        for (int64_t d = 0; d < 64; d++)
            rate_tile[d] = rate_array[d];
    } else {
        /* rate_tile = rate_array, with zeros beyond the last row */
        for (int64_t d = 0; d < 64; d++)
            rate_tile[d] = rate_array[d * rate_array_stride_1];
    }
    for (int64_t j0 = chunk * 32, j_end = min(n_k, (chunk + 1) * 32); j0 < j_end; j0 += 32) {
        const int64_t j1 = min(j0 + 32, j_end);
        /* log_decay = max(exp(rate_tile) * -1.0f, -1e+04f) */
        for (int64_t d = 0; d < 64; d += LANES) {
            const T(vec) t_0 = T(max)(T(exp)(T(load)(rate_tile + d)) * (-1.0f), T(splat)(-1e+04f));
            for (int64_t j = 0; j < j1 - j0; j++) {
                T(store)(log_decay + j * 64 + d, t_0);
            }
        }
        /* log_decay_total = 0.0f; log_decay_rest = 0.0f */
        for (int64_t d = 0; d < 64; d += LANES) {
            T(store)(log_decay_total + d, T(splat)(0.0f));
            T(store)(log_decay_rest + d, T(splat)(0.0f));
        }
        for (int64_t position0 = j0, position_end = j1; position0 < position_end; position0 += 1) {
            const int64_t position1 = min(position0 + 1, position_end);
            (void)position1;
            /* log_decay_next = log_decay_total + log_decay; log_decay_rest = log_decay_rest + ((log_decay_total -
               (log_decay_next - (log_decay ... */
            for (int64_t d = 0; d < 64; d += LANES) {
                const T(vec) log_decay_total_1 = T(load)(log_decay_total + d);
                const T(vec) log_decay_3 = T(load)(log_decay + (position0 - j0) * 64 + d);
                const T(vec) log_decay_next_new4 = log_decay_total_1 + log_decay_3;
                const T(vec) log_decay_rest_5 = T(load)(log_decay_rest + d);
                const T(vec) t_6 = log_decay_next_new4 - log_decay_total_1;
                const T(vec) log_decay_rest_new7 = log_decay_rest_5 + ((log_decay_total_1 - (log_decay_next_new4 - t_6))
                    + (log_decay_3 - t_6));
                T(store)(log_decay_rest + d, log_decay_rest_new7);
                T(store)(log_decay_total + d, log_decay_next_new4);
                T(store)(log_decay_sum + (position0 - j0) * 64 + d, log_decay_next_new4);
                T(store)(log_decay_sum_low + (position0 - j0) * 64 + d, log_decay_rest_new7);
            }
        }
        /* key_features = k * exp2(((log_decay_sum - log_decay_sum) + (log_decay_sum_low - log_decay_sum_low)) *
           1.442695f) */
        for (int64_t f = 0; f < 64; f += LANES) {
            const T(vec) log_decay_sum_8 = T(load)(log_decay_sum + ((j1 - 1) - j0) * 64 + f);
            const T(vec) log_decay_sum_low_9 = T(load)(log_decay_sum_low + ((j1 - 1) - j0) * 64 + f);
            for (int64_t j = 0; j < j1 - j0; j++) {
                T(store)(key_features + j * 64 + f, T(load)(k + (j0 + j) * k_row + f) * T(exp2)(((log_decay_sum_8 -
                    T(load)(log_decay_sum + j * 64 + f)) + (log_decay_sum_low_9 - T(load)(log_decay_sum_low + j * 64 +
                    f))) * 1.442695f));
            }
        }
        /* state[f][e] = sum over j of key_features * v */
        T(dot3)(j1 - j0, key_features, v + j0 * v_row, v_row, state + (chunk - chunk0) * 4240);
        /* state_decay = log_decay_sum; state_decay_low = log_decay_sum_low */
        for (int64_t d = 0; d < 64; d += LANES) {
            T(store)(state_decay + (chunk - chunk0) * 4240 + d, T(load)(log_decay_sum + ((j1 - 1) - j0) * 64 + d));
            T(store)(state_decay_low + (chunk - chunk0) * 4240 + d,
                T(load)(log_decay_sum_low + ((j1 - 1) - j0) * 64 + d));
        }
    }
}

/* Folds the slots of the current chunks, in order, for some elements of the states. */
TARGET APART void T(rwkv_fold)(const struct call *call, int64_t task, const struct share *share, int64_t iteration)
{
    (void)call;
    (void)task;
    const int64_t f0 = iteration * 32, f1 = min(f0 + 32, 64);
    const int64_t chunk0 = share->chunk0;
    const int64_t chunk1 = share->chunk1;
    float *const state = (float *)(void *)(share->slots + 0); /* [chunk, f: 64, e: 64] */
    float *const carried = (float *)(void *)(share->shared + 0); /* [f: 64, e: 64] */
    float *const carried_compensation = (float *)(void *)(share->shared + 16448); /* [f: 64, e: 64] */
    float *const kept_share = (float *)(void *)(share->work + 0); /* [f: 64] */
    float *const lost_share = (float *)(void *)(share->work + 256); /* [f: 64] */
    float *const state_decay = (float *)(void *)(share->slots + 16448); /* [chunk, d: 64] */
    float *const state_decay_low = (float *)(void *)(share->slots + 16704); /* [chunk, d: 64] */
    for (int64_t chunk = chunk0; chunk < chunk1; chunk++) {
        /* kept_share = select(exp2((state_decay + state_decay_low) * 1.442695f) < 0.5f,
           exp2((state_decay + state_decay_low) * 1.442695f), ... */
        for (int64_t f = f0; f < f1; f += LANES) {
            const T(vec) t_10 = T(load)(state_decay + (chunk - chunk0) * 4240 + f) + T(load)(state_decay_low + (chunk -
                chunk0) * 4240 + f);
            const T(vec) t_11 = T(exp2)(t_10 * 1.442695f);
            const T(mask) t_12 = t_11 < 0.5f;
            T(store)(kept_share + f, T(pick)(t_12, t_11, T(splat)(1.0f)));
            T(store)(lost_share + f, T(pick)(t_12, T(splat)(0.0f), -T(expm1)(t_10)));
        }
        /* before = carried; carried = carried * kept_share; carried_compensation = carried_compensation * kept_share;
           carried += state - ( ... */
        for (int64_t f = f0; f < f1; f++) {
            for (int64_t e_first = 0; e_first < 64; e_first += OF(64, 16, 8)) {
                UNROLL for (int64_t vector = 0, e = e_first; vector < OF(4, 2, 2); vector++, e += LANES) {
                    const T(vec) carried_13 = T(load)(carried + f * 64 + e);
                    const T(vec) before_new14 = carried_13;
                    const float kept_share_15 = kept_share[f];
                    const T(vec) carried_new16 = carried_13 * kept_share_15;
                    T(store)(carried + f * 64 + e, carried_new16);
                    T(store)(carried_compensation + f * 64 + e, T(load)(carried_compensation + f * 64 + e) *
                        kept_share_15);
                    T(add)(carried + f * 64 + e, carried_compensation + f * 64 + e,
                        T(load)(state + (chunk - chunk0) * 4240 + f * 64 + e) - (carried_new16 * lost_share[f]),
                        T(splat)(1));
                    T(store)(state + (chunk - chunk0) * 4240 + f * 64 + e, before_new14);
                }
            }
        }
    }
}

/* Processes the queries of a chunk: reads the state before the chunk, and the keys in the chunk. */
TARGET APART void T(rwkv_queries)(const struct call *call, int64_t task, const struct share *share, int64_t iteration)
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
    const float *const rate_array = (const float *)call->array[ARRAY_rate_array].at + g * members *
        call->array[ARRAY_rate_array].stride[0] + m * call->array[ARRAY_rate_array].stride[0];
    const int64_t rate_array_stride_1 = call->array[ARRAY_rate_array].stride[1];
    float *const weight = (float *)(void *)(share->work + 0); /* [i: 32, j: 32] */
    float *const query = (float *)(void *)(share->work + 0); /* [i: 32, f: 64] */
    float *const sum_from_state = (float *)(void *)(share->work + 8192); /* [i: 32, e: 64] */
    float *const sum = (float *)(void *)(share->work + 16384); /* [i: 32, e: 64] */
    float *const result = (float *)(void *)(share->work + 24576); /* [i: 32, e: 64] */
    float *const out = (float *)call->array[ARRAY_out].at + b * call->array[ARRAY_out].strides.batch + (g * members + m)
        * call->array[ARRAY_out].strides.head;
    const int64_t out_row = call->array[ARRAY_out].strides.row;
    float *const log_decay_2 = (float *)(void *)(share->work + 0); /* [j: 32, d: 64] */
    float *const log_decay_sum_2 = (float *)(void *)(share->work + 32768); /* [j: 32, d: 64] */
    float *const log_decay_sum_low_2 = (float *)(void *)(share->work + 40960); /* [j: 32, d: 64] */
    float *const log_decay_total_2 = (float *)(void *)(share->work + 8192); /* [d: 64] */
    float *const log_decay_rest_2 = (float *)(void *)(share->work + 8448); /* [d: 64] */
    float *const rate_tile_2 = (float *)(void *)(share->work + 49152); /* [d: 64] */
    if (rate_array_stride_1 == 1) {
        /* rate_tile_2 = rate_array, with zeros beyond the last row */
        for (int64_t d = 0; d < 64; d++)
            rate_tile_2[d] = rate_array[d];
    } else {
        /* rate_tile_2 = rate_array, with zeros beyond the last row */
        for (int64_t d = 0; d < 64; d++)
            rate_tile_2[d] = rate_array[d * rate_array_stride_1];
    }
    if (n_k <= (chunk * 32)) {
        for (int64_t i0 = 0, i_end = n_q; i0 < i_end; i0 += 32) {
            const int64_t i1 = min(i0 + 32, i_end);
            /* result = 0.0f */
            for (int64_t i = 0; i < i1 - i0; i++) {
                for (int64_t e_first = 0; e_first < 64; e_first += OF(64, 16, 8)) {
                    UNROLL for (int64_t vector = 0, e = e_first; vector < OF(4, 2, 2); vector++, e += LANES) {
                        T(store)(result + i * 64 + e, T(splat)(0.0f));
                    }
                }
            }
            /* out = result */
            for (int64_t i = 0; i < i1 - i0; i++) {
                for (int64_t e = 0; e < 64; e += LANES)
                    __builtin_prefetch(out + (i0 + i) * out_row + e + (i1 - i0) * out_row, 1, 2);
                for (int64_t e = 0; e < 64; e++)
                    out[(i0 + i) * out_row + e] = result[i * 64 + e];
            }
        }
    }
    for (int64_t j0 = chunk * 32, j_end = min(n_k, (chunk * 32) + 32); j0 < j_end; j0 += 32) {
        const int64_t j1 = min(j0 + 32, j_end);
        /* log_decay_2 = max(exp(rate_tile_2) * -1.0f, -1e+04f) */
        for (int64_t d = 0; d < 64; d += LANES) {
            const T(vec) t_17 = T(max)(T(exp)(T(load)(rate_tile_2 + d)) * (-1.0f), T(splat)(-1e+04f));
            for (int64_t j = 0; j < j1 - j0; j++) {
                T(store)(log_decay_2 + j * 64 + d, t_17);
            }
        }
        /* log_decay_total_2 = 0.0f; log_decay_rest_2 = 0.0f */
        for (int64_t d = 0; d < 64; d += LANES) {
            T(store)(log_decay_total_2 + d, T(splat)(0.0f));
            T(store)(log_decay_rest_2 + d, T(splat)(0.0f));
        }
        for (int64_t position0 = j0, position_end = j1; position0 < position_end; position0 += 1) {
            const int64_t position1 = min(position0 + 1, position_end);
            (void)position1;
            /* log_decay_next_2 = log_decay_total_2 + log_decay_2; log_decay_rest_2 = log_decay_rest_2 +
               ((log_decay_total_2 - (log_decay_next_ ... */
            for (int64_t d = 0; d < 64; d += LANES) {
                const T(vec) log_decay_total_2_18 = T(load)(log_decay_total_2 + d);
                const T(vec) log_decay_2_19 = T(load)(log_decay_2 + (position0 - j0) * 64 + d);
                const T(vec) log_decay_next_2_new20 = log_decay_total_2_18 + log_decay_2_19;
                const T(vec) log_decay_rest_2_21 = T(load)(log_decay_rest_2 + d);
                const T(vec) t_22 = log_decay_next_2_new20 - log_decay_total_2_18;
                const T(vec) log_decay_rest_2_new23 = log_decay_rest_2_21 + ((log_decay_total_2_18 -
                    (log_decay_next_2_new20 - t_22)) + (log_decay_2_19 - t_22));
                T(store)(log_decay_rest_2 + d, log_decay_rest_2_new23);
                T(store)(log_decay_total_2 + d, log_decay_next_2_new20);
                T(store)(log_decay_sum_2 + (position0 - j0) * 64 + d, log_decay_next_2_new20);
                T(store)(log_decay_sum_low_2 + (position0 - j0) * 64 + d, log_decay_rest_2_new23);
            }
        }
        for (int64_t i0 = (chunk == 0) ? 0 : max(0, (chunk * 32) - query_start), i_end = min(n_q,
            ((chunk + 1) * 32) - query_start); i0 < i_end; i0 += 32) {
            const int64_t i1 = min(i0 + 32, i_end);
            /* query = q * select(chunk == 0, 1.0f, exp2((log_decay_sum_2 + log_decay_sum_low_2) * 1.442695f)) */
            const int t_24 = chunk == 0;
            for (int64_t i = 0; i < i1 - i0; i++) {
                for (int64_t f = 0; f < 64; f += LANES) {
                    T(store)(query + i * 64 + f, T(load)(q + (i0 + i) * q_row + f) * (t_24 ? T(splat)(1.0f) :
                        T(exp2)((T(load)(log_decay_sum_2 + (max(j0, min((i0 + i) + query_start,
                        j1 - 1)) - j0) * 64 + f) + T(load)(log_decay_sum_low_2 + (max(j0, min((i0 + i) + query_start,
                        j1 - 1)) - j0) * 64 + f)) * 1.442695f)));
                }
            }
            /* sum_from_state[i][e] = sum over f of query * state */
            T(dot4)(i1 - i0, query, state + (chunk - chunk0) * 4240, sum_from_state,
                (const struct coming[]){{k + j0 * k_row, 4 * k_row, 256}, {v + j0 * v_row, 4 * v_row, 256},
                {out + i0 * out_row, 4 * out_row, 256}, {q + (i0 + 32) * q_row, 4 * q_row, 256}});
            /* weight = 0.0f */
            for (int64_t i = 0; i < i1 - i0; i++) {
                for (int64_t j = 0; j < j1 - j0; j += LANES) {
                    T(store)(weight + i * 32 + j, T(splat)(0.0f));
                }
            }
            /* weight[i][j] += sum over d of k * q * a decay, for j up to the query's last key */
            T(dot5)(i1 - i0, j1 - j0, i0 + query_start - j0, q + i0 * q_row, q_row, k + j0 * k_row, k_row,
                log_decay_sum_2, log_decay_sum_low_2, weight);
            /* weight = select((j <= (i + query_start)) && ((chunk * 32) <= j), weight, 0.0f) */
            const int64_t t_26 = chunk * 32;
            for (int64_t j = 0; j < j1 - j0; j += LANES) {
                const T(ints) t_25 = j0 + j + T(lane);
                const T(ints) t_27 = t_26 <= t_25;
                for (int64_t i = 0; i < i1 - i0; i++) {
                    T(store)(weight + i * 32 + j, T(pick)(__builtin_convertvector((t_25 <= ((i0 + i) + query_start)) &
                        t_27, T(mask)), T(load)(weight + i * 32 + j), T(splat)(0.0f)));
                }
            }
            /* sum[i][e] = sum over j of weight * v */
            if (__builtin_expect(!T(finite)(v + j0 * v_row, v_row, j1 - j0, 64),
                0)) { /* infinity and NaN affect only queries that see them */
                T(dot6)(i1 - i0, j1 - j0, weight, v + j0 * v_row, v_row, sum);
                for (int64_t i = 0; i < i1 - i0; i++) {
                    T(mask) in_region[OF(2, 4, 8)] = {0};
                    const int64_t t_29 = (i0 + i) + query_start;
                    const int64_t t_30 = chunk * 32;
                    for (int64_t j = 0; j < j1 - j0; j += LANES) {
                        const T(ints) t_28 = j0 + j + T(lane);
                        in_region[j / LANES] = __builtin_convertvector((t_28 <= t_29) & (t_30 <= t_28), T(mask));
                    }
                    T(add_seen_lanes)(64, sum + i * 64, weight + i * 32, v + j0 * v_row, v_row, j1 - j0, in_region);
                }
            } else
                T(dot7)(i1 - i0, j1 - j0, weight, v + j0 * v_row, v_row, sum);
            /* result = sum + sum_from_state */
            for (int64_t i = 0; i < i1 - i0; i++) {
                for (int64_t e_first = 0; e_first < 64; e_first += OF(64, 16, 8)) {
                    UNROLL for (int64_t vector = 0, e = e_first; vector < OF(4, 2, 2); vector++, e += LANES) {
                        T(store)(result + i * 64 + e, T(load)(sum + i * 64 + e) + T(load)(sum_from_state + i * 64 + e));
                    }
                }
            }
            /* out = result */
            for (int64_t i = 0; i < i1 - i0; i++)
                for (int64_t e = 0; e < 64; e++)
                    out[(i0 + i) * out_row + e] = result[i * 64 + e];
        }
    }
}

/* For a thread that works on the head alone: adds a chunk to the carried state. */
TARGET APART void T(rwkv_keys_alone)(const struct call *call, int64_t task, const struct share *share,
    int64_t iteration)
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
    float *const key_features = (float *)(void *)(share->work + 0); /* [j: 32, f: 64] */
    float *const carried = (float *)(void *)(share->shared + 0); /* [f: 64, e: 64] */
    float *const carried_compensation = (float *)(void *)(share->shared + 16448); /* [f: 64, e: 64] */
    float *const log_decay = (float *)(void *)(share->work + 0); /* [j: 32, d: 64] */
    float *const log_decay_sum = (float *)(void *)(share->work + 8192); /* [j: 32, d: 64] */
    float *const log_decay_sum_low = (float *)(void *)(share->work + 16384); /* [j: 32, d: 64] */
    const float *const rate_array = (const float *)call->array[ARRAY_rate_array].at + g * members *
        call->array[ARRAY_rate_array].stride[0] + m * call->array[ARRAY_rate_array].stride[0];
    const int64_t rate_array_stride_1 = call->array[ARRAY_rate_array].stride[1];
    float *const log_decay_total = (float *)(void *)(share->work + 24576); /* [d: 64] */
    float *const log_decay_rest = (float *)(void *)(share->work + 24832); /* [d: 64] */
    float *const state_decay = (float *)(void *)(share->slots + 16448); /* [chunk, d: 64] */
    float *const state_decay_low = (float *)(void *)(share->slots + 16704); /* [chunk, d: 64] */
    float *const rate_tile = (float *)(void *)(share->work + 25088); /* [d: 64] */
    float *const kept_share_2 = (float *)(void *)(share->slots + 0); /* [chunk, f: 64] */
    float *const lost_share_2 = (float *)(void *)(share->slots + 256); /* [chunk, f: 64] */
    if (rate_array_stride_1 == 1) {
        /* rate_tile = rate_array, with zeros beyond the last row */
        for (int64_t d = 0; d < 64; d++)
            rate_tile[d] = rate_array[d];
    } else {
        /* rate_tile = rate_array, with zeros beyond the last row */
        for (int64_t d = 0; d < 64; d++)
            rate_tile[d] = rate_array[d * rate_array_stride_1];
    }
    for (int64_t j0 = chunk * 32, j_end = min(n_k, (chunk + 1) * 32); j0 < j_end; j0 += 32) {
        const int64_t j1 = min(j0 + 32, j_end);
        /* log_decay = max(exp(rate_tile) * -1.0f, -1e+04f) */
        for (int64_t d = 0; d < 64; d += LANES) {
            const T(vec) t_31 = T(max)(T(exp)(T(load)(rate_tile + d)) * (-1.0f), T(splat)(-1e+04f));
            for (int64_t j = 0; j < j1 - j0; j++) {
                T(store)(log_decay + j * 64 + d, t_31);
            }
        }
        /* log_decay_total = 0.0f; log_decay_rest = 0.0f */
        for (int64_t d = 0; d < 64; d += LANES) {
            T(store)(log_decay_total + d, T(splat)(0.0f));
            T(store)(log_decay_rest + d, T(splat)(0.0f));
        }
        for (int64_t position0 = j0, position_end = j1; position0 < position_end; position0 += 1) {
            const int64_t position1 = min(position0 + 1, position_end);
            (void)position1;
            /* log_decay_next = log_decay_total + log_decay; log_decay_rest = log_decay_rest + ((log_decay_total -
               (log_decay_next - (log_decay ... */
            for (int64_t d = 0; d < 64; d += LANES) {
                const T(vec) log_decay_total_32 = T(load)(log_decay_total + d);
                const T(vec) log_decay_33 = T(load)(log_decay + (position0 - j0) * 64 + d);
                const T(vec) log_decay_next_new34 = log_decay_total_32 + log_decay_33;
                const T(vec) log_decay_rest_35 = T(load)(log_decay_rest + d);
                const T(vec) t_36 = log_decay_next_new34 - log_decay_total_32;
                const T(vec) log_decay_rest_new37 = log_decay_rest_35 + ((log_decay_total_32 - (log_decay_next_new34 -
                    t_36)) + (log_decay_33 - t_36));
                T(store)(log_decay_rest + d, log_decay_rest_new37);
                T(store)(log_decay_total + d, log_decay_next_new34);
                T(store)(log_decay_sum + (position0 - j0) * 64 + d, log_decay_next_new34);
                T(store)(log_decay_sum_low + (position0 - j0) * 64 + d, log_decay_rest_new37);
            }
        }
        /* key_features = k * exp2(((log_decay_sum - log_decay_sum) + (log_decay_sum_low - log_decay_sum_low)) *
           1.442695f) */
        for (int64_t f = 0; f < 64; f += LANES) {
            const T(vec) log_decay_sum_38 = T(load)(log_decay_sum + ((j1 - 1) - j0) * 64 + f);
            const T(vec) log_decay_sum_low_39 = T(load)(log_decay_sum_low + ((j1 - 1) - j0) * 64 + f);
            for (int64_t j = 0; j < j1 - j0; j++) {
                T(store)(key_features + j * 64 + f, T(load)(k + (j0 + j) * k_row + f) * T(exp2)(((log_decay_sum_38 -
                    T(load)(log_decay_sum + j * 64 + f)) + (log_decay_sum_low_39 - T(load)(log_decay_sum_low + j * 64 +
                    f))) * 1.442695f));
            }
        }
        /* state_decay = log_decay_sum; state_decay_low = log_decay_sum_low */
        for (int64_t d = 0; d < 64; d += LANES) {
            T(store)(state_decay + (chunk - chunk0) * 4240 + d, T(load)(log_decay_sum + ((j1 - 1) - j0) * 64 + d));
            T(store)(state_decay_low + (chunk - chunk0) * 4240 + d,
                T(load)(log_decay_sum_low + ((j1 - 1) - j0) * 64 + d));
        }
        /* kept_share_2 = select(exp2((state_decay + state_decay_low) * 1.442695f) < 0.5f,
           exp2((state_decay + state_decay_low) * 1.442695f ... */
        for (int64_t f = 0; f < 64; f += LANES) {
            const T(vec) t_40 = T(load)(state_decay + (chunk - chunk0) * 4240 + f) + T(load)(state_decay_low + (chunk -
                chunk0) * 4240 + f);
            const T(vec) t_41 = T(exp2)(t_40 * 1.442695f);
            const T(mask) t_42 = t_41 < 0.5f;
            T(store)(kept_share_2 + (chunk - chunk0) * 4240 + f, T(pick)(t_42, t_41, T(splat)(1.0f)));
            T(store)(lost_share_2 + (chunk - chunk0) * 4240 + f, T(pick)(t_42, T(splat)(0.0f), -T(expm1)(t_40)));
        }
        /* carried[f][e] = carried * kept_share_2 - carried * lost_share_2 + sum over j of key_features * v */
        T(dot8)(j1 - j0, key_features, v + j0 * v_row, v_row, carried, carried_compensation,
            kept_share_2 + (chunk - chunk0) * 4240, lost_share_2 + (chunk - chunk0) * 4240);
    }
}

/* Computes head number `task`. Each thread on the head calls this with `share`. */
TARGET static void T(rwkv_linear)(const struct call *call, int64_t task, struct share *share)
{
    const int64_t n_k = call->p.n_k;
    const int64_t chunks = n_k > 0 ? (n_k - 1) / 32 + 1 : 1;
    for (int64_t iteration = share->number; iteration < ((64 + 31) / 32); iteration += share->threads)
        T(rwkv_begin)(call, task, share, iteration);
    synchronise(share);
    const int64_t first = 0;
    if (share->threads == 1) { /* queries read the carried state before their chunk is added */
        unsigned char *const slots = share->slots;
        for (share->chunk0 = first; share->chunk0 < chunks; share->chunk0++) {
            share->chunk1 = share->chunk0 + 1;
            share->slots = share->shared;
            T(rwkv_queries)(call, task, share, share->chunk0);
            share->slots = slots;
            T(rwkv_keys_alone)(call, task, share, share->chunk0);

        }
    } else {
        const int64_t length = segment_length(share, chunks - first);
        for (int64_t segment = share->number; first + segment * length < chunks; segment += share->threads) {
            share->chunk0 = first + segment * length;
            share->chunk1 = min(share->chunk0 + length, chunks);
            for (int64_t iteration = share->chunk0; iteration < share->chunk1; iteration++)
                T(rwkv_keys)(call, task, share, iteration);
            for (int64_t group = 0; group < 16; group++) {
                await_segment(share, group, segment);
                const int64_t end = (group + 1) * ((64 + 31) / 32) / 16;
                for (int64_t iteration = group * ((64 + 31) / 32) / 16; iteration < end; iteration++)
                    T(rwkv_fold)(call, task, share, iteration);
                pass_segment(share, group, segment);
            }
            for (int64_t iteration = share->chunk0; iteration < share->chunk1; iteration++)
                T(rwkv_queries)(call, task, share, iteration);
        }
        share->segments += (max(chunks - first, 0) + length - 1) / length;
    }
    synchronise(share);
}

/* Computes task number `task`: one tile of queries of one head. `work` is this thread's workspace. */
TARGET static void T(rwkv_terms)(const struct call *call, int64_t task, unsigned char *work)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_q = call->p.n_q;
    const int64_t tiles = (n_q + 64 - 1) / 64, i0 = (tiles - 1 - task % tiles) * 64,
        i1 = min(i0 + 64, n_q);
    const int64_t m = task / tiles % members;
    const int64_t g = task / tiles / members % kv_heads;
    const int64_t b = task / tiles / members / kv_heads;
    const float *const rate_array = (const float *)call->array[ARRAY_rate_array].at + g * members *
        call->array[ARRAY_rate_array].stride[0] + m * call->array[ARRAY_rate_array].stride[0];
    const int64_t rate_array_stride_1 = call->array[ARRAY_rate_array].stride[1];
    float *const result = (float *)(void *)(work + 0); /* [i: 64, d: 64] */
    float *const log_decay_k = (float *)call->array[ARRAY_log_decay_k].at + b *
        call->array[ARRAY_log_decay_k].strides.batch + (g * members + m) * call->array[ARRAY_log_decay_k].strides.head;
    const int64_t log_decay_k_row = call->array[ARRAY_log_decay_k].strides.row;
    float *const rate_tile = (float *)(void *)(work + 16384); /* [d: 64] */
    if (rate_array_stride_1 == 1) {
        /* rate_tile = rate_array, with zeros beyond the last row */
        for (int64_t d = 0; d < 64; d++)
            rate_tile[d] = rate_array[d];
    } else {
        /* rate_tile = rate_array, with zeros beyond the last row */
        for (int64_t d = 0; d < 64; d++)
            rate_tile[d] = rate_array[d * rate_array_stride_1];
    }
    /* result = max(exp(rate_tile) * -1.0f, -1e+04f) */
    for (int64_t d = 0; d < 64; d += LANES) {
        const T(vec) t_0 = T(max)(T(exp)(T(load)(rate_tile + d)) * (-1.0f), T(splat)(-1e+04f));
        for (int64_t i = 0; i < i1 - i0; i++) {
            T(store)(result + i * 64 + d, t_0);
        }
    }
    /* log_decay_k = result */
    for (int64_t i = 0; i < i1 - i0; i++)
        for (int64_t d = 0; d < 64; d++)
            log_decay_k[(i0 + i) * log_decay_k_row + d] = result[i * 64 + d];
}
#include <attnrt/kernel/end.h>
#else
#ifdef __cplusplus
#error "rwkv.c is C, not C++: compile it with a C compiler"
#elif !defined __STDC_VERSION__ || __STDC_VERSION__ < 199901L
#error "rwkv.c is C11, not C89: compile it without -std=, or with -std=gnu11"
extern int rwkv_is_c11;
#elif !defined __GNUC__
#error "rwkv.c uses GNU C vector extensions: compile it with gcc or clang"
extern int rwkv_is_gnu_c;
#else
#include "rwkv.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include <attnrt/kernel/optimize.h>
#include <attnrt/kernel/call.h>

/* the numbers of the arrays of a call */
enum {
    ARRAY_q, ARRAY_k, ARRAY_v, ARRAY_out, ARRAY_rate_array, ARRAY_log_decay_q, ARRAY_log_decay_q_low, ARRAY_log_decay_k,
    ARRAY_log_decay_k_low, ARRAY_log_decay_chunk, ARRAY_log_decay_chunk_low
};

#ifdef __FILE_NAME__
#define LOOPS __FILE_NAME__ /* this file, whose first part has the loops */
#else
#define LOOPS "rwkv.c"
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
#define DECAYED_KEYS 32
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
#define DECAYED_KEYS 32
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
#define DECAYED_KEYS 32
#define OF(v4, v3, any) any /* a number of each target */
#define SECTION
#include LOOPS
#undef SECTION

/* ==== tables for the library that calls these functions (attnrt/kernel/call.h) ==== */
static const struct attn_param param[] = {
    {"rate", ATTN_F32, 2, {ATTN_HEADS, 64}, offsetof(struct rwkv_params, rate), 0, offsetof(struct rwkv_strides, rate),
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
    {.name = "rate", .access = {ACCESS_READ, ACCESS_NONE}, .dtype = ATTN_F32, .origin = FROM_PARAMS, .param = 0,
        .axis = {-1, 0, -1}},
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
    {.role = RUN_FORWARD, .from = 49,
     .head = rwkv_linear_v4, .tile = -1, .own = 49408, .of_token = 4160, .in_keys = 1, .own_sums = 1, .shared = 32896,
         .slot = 16960, .slots = 4, .together = 1},
    {.role = RUN_FORWARD,
     .rows = rwkv_rows_v4, .tile = 64, .own = 415744, .of_pair = 128},
    {.role = RUN_TERMS,
     .rows = rwkv_terms_v4, .tile = 64, .own = 16640, .of_pair = 128},
};
#endif
#if defined(__x86_64__)
static int runs_v3(void)
{
    return attn_x86_64_level() >= 3;
}
static const struct program programs_v3[] = {
    {.role = RUN_FORWARD, .from = 49,
     .head = rwkv_linear_v3, .tile = -1, .own = 49408, .of_token = 4160, .in_keys = 1, .own_sums = 1, .shared = 32896,
         .slot = 16960, .slots = 4, .together = 1},
    {.role = RUN_FORWARD,
     .rows = rwkv_rows_v3, .tile = 64, .own = 415744, .of_pair = 128},
    {.role = RUN_TERMS,
     .rows = rwkv_terms_v3, .tile = 64, .own = 16640, .of_pair = 128},
};
#endif
static const struct program programs_any[] = {
    {.role = RUN_FORWARD, .from = 49,
     .head = rwkv_linear_any, .tile = -1, .own = 49408, .of_token = 4160, .in_keys = 1, .own_sums = 1, .shared = 32896,
         .slot = 16960, .slots = 4, .together = 1},
    {.role = RUN_FORWARD,
     .rows = rwkv_rows_any, .tile = 64, .own = 415744, .of_pair = 128},
    {.role = RUN_TERMS,
     .rows = rwkv_terms_any, .tile = 64, .own = 16640, .of_pair = 128},
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
    .layout = KERNEL_LAYOUT, .name = "rwkv", .openmp = OPENMP,
    .target = target, .targets = sizeof target / sizeof *target - 1,
    .array = array, .arrays = sizeof array / sizeof *array,
    .param = param, .params = 1, .params_bytes = sizeof(struct rwkv_params),
    .dtype = ATTN_F32, .key_dtype = ATTN_F32, .value_dtype = ATTN_F32, .real = sizeof(float), .element = sizeof(float),
    .head_dim = 64, .value_dim = 64, .key_row = 64, .value_row = 64,
    .strided = 1, .strides = offsetof(struct rwkv_params, strides),
    .shares = 1,
    .positions = 1,
    .ids = -1,
    .corrected = -1,
    .prefix_row = 64,
    .sum_tokens = 512,
    .prefix = {ARRAY_log_decay_q, ARRAY_log_decay_q_low, ARRAY_log_decay_k, ARRAY_log_decay_k_low,
        ARRAY_log_decay_chunk, ARRAY_log_decay_chunk_low, NO_ARRAY, NO_ARRAY, NO_ARRAY},
    .solution = -1,
};

/* ==== the interface ==== */
size_t rwkv_params_size(void) { return attn_call_params_size(&kernel); }
int rwkv_params_init(struct rwkv_params *params, uint64_t seed, void *storage)
{
    return attn_call_params_init(&kernel, params, seed, storage);
}
size_t rwkv_workspace(const struct attn_problem *problem) { return attn_call_workspace(&kernel, problem); }
int rwkv_forward(const struct attn_problem *problem, const struct rwkv_params *params, const float *q, const float *k,
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
const struct attn_kernel rwkv_kernel = {
    .name = "rwkv", .version = "0.2.0", .dtype = ATTN_F32, .head_dim = 64, .value_dim = 64,
    .params = 1, .param = param, .params_bytes = sizeof(struct rwkv_params),
    .params_size = rwkv_params_size, .params_init = params_init_any, .forward = forward_any,
    .workspace = rwkv_workspace,
    .key_dtype = ATTN_F32, .value_dtype = ATTN_F32,
    .strides = offsetof(struct rwkv_params, strides), .strides_bytes = sizeof(struct rwkv_strides),
    .before = INT64_MAX, .after = 0, .period = 0, .names_heads = 0, .names_sequences = 0, .in_parts = 0,
    .saved_power = 0, .has_sink = 0, .open_keys = 0, .end_of_keys = INT64_MAX,
};
#endif /* a compiler of this language */
#endif /* SECTION */
