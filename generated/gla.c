/* gla.c, made by attnc 0.2.0: attnc gla.yaml
   C11 with GNU extensions, for a C compiler; C++ includes gla.h.
   gated linear attention: each element of the state has its own decay at each position
   Yang et al., Gated Linear Attention Transformers with Hardware-Efficient Training (ICML 2024), section 4.2;
   gate is the logarithm of alpha

   Computes, in f32, over the axes b (batch), g (key/value head), m (query head of g), i (query), j (key), d (64),
   e (64), position (key):
     q [b g m i d]
     k [b g j d]
     v [b g j e]
     x3 [b g m i d] = q * 0.125
     gate [b g m j d], learned parameter
     x5 [b g m position d] = max(gate[b, g, m, position, d], -10000)
     x6 [b g m i d] = sum over position of x5 if position <= i + query_start
     x7 [b g m j d] = sum over position of x5 if position <= j
     x8 [b g m i j d] = x3 * k * pow(2.718281828459045, x6 - x7)
     x9 [b g m i j] = sum over d of x8
     x10 [b g m i j] = x9
     x11 [b g m i e] = sum over j of x10 * v if j <= i + query_start
     x12 [b g m i e] = x11
     out = x12
   query_start is the position of the first query: problem.query_start[b], or n_k - n_q if that is NULL.

   How: each vector lane holds one query. Keys are processed in tiles,
   so row sums and maxima need no reduction across lanes.
   The sums of a tile start from zero and are added to the sums so far. Tiles that no query sees are skipped.
   Linear from 48 keys on: the weight is an inner product of 64 features. The state is a sum over keys of 64 x 65
   numbers.
     x86-64-v4  quadratic tiles of 64 queries and 288 keys; 415744 bytes of workspace per thread
     x86-64-v4  linear    tiles of 32 queries and 32 keys; 149888 bytes of workspace per thread
     x86-64-v3  quadratic tiles of 64 queries and 288 keys; 415744 bytes of workspace per thread
     x86-64-v3  linear    tiles of 32 queries and 32 keys; 149888 bytes of workspace per thread
     generic    quadratic tiles of 64 queries and 288 keys; 415744 bytes of workspace per thread
     generic    linear    tiles of 32 queries and 32 keys; 149888 bytes of workspace per thread

   Contents:
     loops      gla_rows, gla_linear, gla_dq_dlog_decay_q, gla_dk_dv, gla_dlog_decay_k, gla_terms_dgate,
     gla_linear_dq_dlog_decay_q, gla_linear_linear_heads_0_linear_heads_1_dlog_decay_k, gla_linear_totals1,
     gla_linear_terms_dgate, gla_terms
     targets    x86-64-v4, x86-64-v3, generic
     tables     arrays and programs, for the functions of attnrt that call the loops
     interface  gla_workspace, gla_forward, gla_backward, gla_kernel
   The file includes itself, so that the loops are compiled once for each target. T(name) is a name with the target's
   suffix, LANES the elements of its vectors, and OF(…) a number for each target.

   Compile with: cc -O2 -fopenmp gla.c … -lattnrt -lm */
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
    T(decayed)(lanes, rows, /*steps=*/64, first, /*times=*/0.125f, /*scale=*/1.442695f, x, a, a_low, /*x_step=*/80, y,
        b, b_low, /*y_step=*/288, w, /*w_row=*/80);
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
        /*compensation=*/NULL, next, /*arrays=*/5, /*nexts=*/32);
}
TARGET APART void T(dot5)(int64_t lanes, int64_t rows, int64_t first, const float *x, int64_t x_row, const float *y,
    int64_t y_row, const float *b, const float *b_low, float *w)
{
    T(decayed_rows)(lanes, rows, /*steps=*/64, first, /*times=*/0.125f, /*scale=*/1.442695f, x, x_row, /*a=*/NULL,
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
TARGET APART void T(dot9)(int64_t lanes, int64_t rows, const float *a, int64_t a_row, const float *b, float *c,
    const float *result, int64_t result_row, int64_t results)
{
    T(dot_ahead)(/*vectors=*/OF(4, 2, 2), lanes, rows, /*tail=*/-1, /*steps=*/64, /*span=*/32, a, a_row, /*a_step=*/1,
        b, /*b_step=*/80, c, /*c_row=*/80, /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL, /*next=*/NULL,
        /*next_row=*/0, /*width=*/0, result, result_row, /*result_width=*/64, results);
}
TARGET APART void T(dot10)(int64_t steps, const float *a, const float *b, int64_t b_step, float *c)
{
    T(dot)(/*vectors=*/OF(4, 2, 2), /*lanes=*/64, /*rows=*/64, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/32,
        /*a_step=*/1, b, b_step, c, /*c_row=*/64, /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL);
}
TARGET APART void T(dot11)(int64_t lanes, const float *a, const float *b, float *c, const struct coming *next)
{
    T(dot_meanwhile)(/*vectors=*/2, lanes, /*rows=*/64, /*tail=*/4, /*steps=*/64, /*span=*/32, a, /*a_row=*/64,
        /*a_step=*/1, b, /*b_step=*/32, c, /*c_row=*/32, /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL, next,
        /*arrays=*/4, /*nexts=*/32);
}
TARGET APART void T(dot12)(int64_t lanes, int64_t rows, const float *a, int64_t a_row, const float *b, float *c)
{
    T(dot)(/*vectors=*/2, lanes, rows, /*tail=*/-1, /*steps=*/64, /*span=*/32, a, a_row, /*a_step=*/1, b, /*b_step=*/32,
        c, /*c_row=*/32, /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL);
}
TARGET APART void T(dot13)(int64_t lanes, int64_t rows, int64_t first, const float *p, const float *y, int64_t y_row,
    const float *a, int64_t a_row, const float *a_low, int64_t a_low_row, const float *b, int64_t b_row,
    const float *b_low, int64_t b_low_row, float *to)
{
    T(decayed_keys)(lanes, rows, /*steps=*/64, first, /*times=*/1.0f, /*scale=*/1.442695f, p, /*p_query=*/1,
        /*p_key=*/32, y, y_row, a, a_row, a_low, a_low_row, b, b_row, b_low, b_low_row, to, /*to_row=*/64);
}
TARGET APART void T(dot14)(int64_t steps, const float *a, const float *b, int64_t b_step, float *c, float *compensation,
    const float *kept, const float *lost)
{
    T(dot_kept)(/*vectors=*/OF(4, 2, 2), /*lanes=*/64, /*rows=*/64, steps, a, /*a_row=*/32, /*a_step=*/1, b, b_step, c,
        /*c_row=*/64, compensation, kept, lost);
}
TARGET APART void T(dot15)(int64_t steps, const float *a, const float *b, int64_t b_step, float *c)
{
    T(dot)(/*vectors=*/OF(4, 2, 2), /*lanes=*/64, /*rows=*/64, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/32,
        /*a_step=*/1, b, b_step, c, /*c_row=*/64, /*update=*/1, /*factor=*/NULL, /*compensation=*/NULL);
}
TARGET APART void T(dot16)(int64_t lanes, const float *a, const float *b, float *c)
{
    T(dot)(/*vectors=*/2, lanes, /*rows=*/64, /*tail=*/4, /*steps=*/64, /*span=*/32, a, /*a_row=*/64, /*a_step=*/1, b,
        /*b_step=*/32, c, /*c_row=*/32, /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL);
}
TARGET APART void T(dot17)(int64_t lanes, const float *a, const float *b, float *c, const struct coming *next)
{
    T(dot_meanwhile)(/*vectors=*/2, lanes, /*rows=*/64, /*tail=*/4, /*steps=*/64, /*span=*/32, a, /*a_row=*/1,
        /*a_step=*/64, b, /*b_step=*/32, c, /*c_row=*/32, /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL, next,
        /*arrays=*/4, /*nexts=*/32);
}
TARGET APART void T(dot18)(int64_t lanes, int64_t rows, int64_t first, const float *x, int64_t x_row, const float *a,
    int64_t a_row, const float *a_low, int64_t a_low_row, const float *y, int64_t y_row, const float *b, int64_t b_row,
    const float *b_low, int64_t b_low_row, float *w)
{
    T(decayed_rows)(lanes, rows, /*steps=*/64, first, /*times=*/0.125f, /*scale=*/1.442695f, x, x_row, a, a_row, a_low,
        a_low_row, y, y_row, b, b_row, b_low, b_low_row, /*after=*/0, w, /*w_query=*/32, /*w_key=*/1);
}
TARGET APART void T(dot19)(int64_t lanes, int64_t rows, int64_t first, const float *p, const float *y, int64_t y_row,
    const float *a, int64_t a_row, const float *a_low, int64_t a_low_row, const float *b, int64_t b_row,
    const float *b_low, int64_t b_low_row, float *to)
{
    T(decayed_queries)(lanes, rows, /*steps=*/64, first, /*times=*/1.0f, /*scale=*/1.442695f, p, /*p_query=*/32,
        /*p_key=*/1, y, y_row, a, a_row, a_low, a_low_row, b, b_row, b_low, b_low_row, to, /*to_row=*/64);
}
TARGET APART void T(dot20)(int64_t lanes, int64_t steps, const float *a, int64_t a_step, const float *b, float *c,
    float *compensation)
{
    T(dot_finite)(/*vectors=*/2, lanes, /*rows=*/64, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/1, a_step, b,
        /*b_step=*/32, c, /*c_row=*/32, /*update=*/3, /*factor=*/NULL, compensation);
}
TARGET APART void T(dot21)(int64_t lanes, int64_t steps, const float *a, int64_t a_step, const float *b, float *c,
    float *compensation)
{
    T(dot)(/*vectors=*/2, lanes, /*rows=*/64, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/1, a_step, b, /*b_step=*/32,
        c, /*c_row=*/32, /*update=*/3, /*factor=*/NULL, compensation);
}

/* Computes task number `task`: one tile of queries of one head. `work` is this thread's workspace. */
TARGET static void T(gla_rows)(const struct call *call, int64_t task, unsigned char *work)
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
TARGET APART void T(gla_begin)(const struct call *call, int64_t task, const struct share *share, int64_t iteration)
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
TARGET APART void T(gla_keys)(const struct call *call, int64_t task, const struct share *share, int64_t iteration)
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
    float *const log_decay_sum = (float *)(void *)(share->work + 8192); /* [j: 32, d: 64] */
    float *const log_decay_sum_low = (float *)(void *)(share->work + 16384); /* [j: 32, d: 64] */
    const float *const gate_array = (const float *)call->array[ARRAY_gate_array].at + b *
        call->array[ARRAY_gate_array].strides.batch + (g * members + m) * call->array[ARRAY_gate_array].strides.head;
    const int64_t gate_array_row = call->array[ARRAY_gate_array].strides.row;
    const int64_t gate_array_stride_3 = call->array[ARRAY_gate_array].stride[3];
    float *const log_decay_total = (float *)(void *)(share->work + 0); /* [d: 64] */
    float *const log_decay_rest = (float *)(void *)(share->work + 256); /* [d: 64] */
    float *const state_decay = (float *)(void *)(share->slots + 16448); /* [chunk, d: 64] */
    float *const state_decay_low = (float *)(void *)(share->slots + 16704); /* [chunk, d: 64] */
    float *const gate_tile = (float *)(void *)(share->work + 24576); /* [j: 32, d: 64] */
    for (int64_t j0 = chunk * 32, j_end = min(n_k, (chunk + 1) * 32); j0 < j_end; j0 += 32) {
        const int64_t j1 = min(j0 + 32, j_end);
        if (gate_array_stride_3 == 1) {
            /* gate_tile = gate_array, with zeros beyond the last row */
            for (int64_t j = 0; j < j1 - j0; j++) {
                for (int64_t d = 0; d < 64; d += LANES)
                    __builtin_prefetch(gate_array + (j0 + j) * gate_array_row + d + (j1 - j0) * gate_array_row, 0, 2);
                for (int64_t d = 0; d < 64; d++)
                    gate_tile[j * 64 + d] = gate_array[(j0 + j) * gate_array_row + d];
            }
        } else {
            /* gate_tile = gate_array, with zeros beyond the last row */
            for (int64_t j = 0; j < j1 - j0; j++)
                for (int64_t d = 0; d < 64; d++)
                    gate_tile[j * 64 + d] = gate_array[(j0 + j) * gate_array_row + d * gate_array_stride_3];
        }
        /* gate_tile = max(gate_tile, -1e+04f) */
        for (int64_t j = 0; j < j1 - j0; j++) {
            for (int64_t d_first = 0; d_first < 64; d_first += OF(64, 16, 8)) {
                UNROLL for (int64_t vector = 0, d = d_first; vector < OF(4, 2, 2); vector++, d += LANES) {
                    T(store)(gate_tile + j * 64 + d, T(max)(T(load)(gate_tile + j * 64 + d), T(splat)(-1e+04f)));
                }
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
            /* log_decay_next = log_decay_total + gate_tile; log_decay_rest = log_decay_rest + ((log_decay_total -
               (log_decay_next - (log_decay ... */
            for (int64_t d = 0; d < 64; d += LANES) {
                const T(vec) log_decay_total_0 = T(load)(log_decay_total + d);
                const T(vec) gate_tile_1 = T(load)(gate_tile + (position0 - j0) * 64 + d);
                const T(vec) log_decay_next_new2 = log_decay_total_0 + gate_tile_1;
                const T(vec) log_decay_rest_3 = T(load)(log_decay_rest + d);
                const T(vec) t_4 = log_decay_next_new2 - log_decay_total_0;
                const T(vec) log_decay_rest_new5 = log_decay_rest_3 + ((log_decay_total_0 - (log_decay_next_new2 - t_4))
                    + (gate_tile_1 - t_4));
                T(store)(log_decay_rest + d, log_decay_rest_new5);
                T(store)(log_decay_total + d, log_decay_next_new2);
                T(store)(log_decay_sum + (position0 - j0) * 64 + d, log_decay_next_new2);
                T(store)(log_decay_sum_low + (position0 - j0) * 64 + d, log_decay_rest_new5);
            }
        }
        /* key_features = k * exp2(((log_decay_sum - log_decay_sum) + (log_decay_sum_low - log_decay_sum_low)) *
           1.442695f) */
        for (int64_t f = 0; f < 64; f += LANES) {
            const T(vec) log_decay_sum_6 = T(load)(log_decay_sum + ((j1 - 1) - j0) * 64 + f);
            const T(vec) log_decay_sum_low_7 = T(load)(log_decay_sum_low + ((j1 - 1) - j0) * 64 + f);
            for (int64_t j = 0; j < j1 - j0; j++) {
                T(store)(key_features + j * 64 + f, T(load)(k + (j0 + j) * k_row + f) * T(exp2)(((log_decay_sum_6 -
                    T(load)(log_decay_sum + j * 64 + f)) + (log_decay_sum_low_7 - T(load)(log_decay_sum_low + j * 64 +
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
TARGET APART void T(gla_fold)(const struct call *call, int64_t task, const struct share *share, int64_t iteration)
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
            const T(vec) t_8 = T(load)(state_decay + (chunk - chunk0) * 4240 + f) + T(load)(state_decay_low + (chunk -
                chunk0) * 4240 + f);
            const T(vec) t_9 = T(exp2)(t_8 * 1.442695f);
            const T(mask) t_10 = t_9 < 0.5f;
            T(store)(kept_share + f, T(pick)(t_10, t_9, T(splat)(1.0f)));
            T(store)(lost_share + f, T(pick)(t_10, T(splat)(0.0f), -T(expm1)(t_8)));
        }
        /* before = carried; carried = carried * kept_share; carried_compensation = carried_compensation * kept_share;
           carried += state - ( ... */
        for (int64_t f = f0; f < f1; f++) {
            for (int64_t e_first = 0; e_first < 64; e_first += OF(64, 16, 8)) {
                UNROLL for (int64_t vector = 0, e = e_first; vector < OF(4, 2, 2); vector++, e += LANES) {
                    const T(vec) carried_11 = T(load)(carried + f * 64 + e);
                    const T(vec) before_new12 = carried_11;
                    const float kept_share_13 = kept_share[f];
                    const T(vec) carried_new14 = carried_11 * kept_share_13;
                    T(store)(carried + f * 64 + e, carried_new14);
                    T(store)(carried_compensation + f * 64 + e, T(load)(carried_compensation + f * 64 + e) *
                        kept_share_13);
                    T(add)(carried + f * 64 + e, carried_compensation + f * 64 + e,
                        T(load)(state + (chunk - chunk0) * 4240 + f * 64 + e) - (carried_new14 * lost_share[f]),
                        T(splat)(1));
                    T(store)(state + (chunk - chunk0) * 4240 + f * 64 + e, before_new12);
                }
            }
        }
    }
}

/* Processes the queries of a chunk: reads the state before the chunk, and the keys in the chunk. */
TARGET APART void T(gla_queries)(const struct call *call, int64_t task, const struct share *share, int64_t iteration)
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
    const float *const gate_array = (const float *)call->array[ARRAY_gate_array].at + b *
        call->array[ARRAY_gate_array].strides.batch + (g * members + m) * call->array[ARRAY_gate_array].strides.head;
    const int64_t gate_array_row = call->array[ARRAY_gate_array].strides.row;
    const int64_t gate_array_stride_3 = call->array[ARRAY_gate_array].stride[3];
    float *const weight = (float *)(void *)(share->work + 0); /* [i: 32, j: 32] */
    float *const query = (float *)(void *)(share->work + 0); /* [i: 32, f: 64] */
    float *const sum_from_state = (float *)(void *)(share->work + 8192); /* [i: 32, e: 64] */
    float *const sum = (float *)(void *)(share->work + 16384); /* [i: 32, e: 64] */
    float *const result = (float *)(void *)(share->work + 24576); /* [i: 32, e: 64] */
    float *const out = (float *)call->array[ARRAY_out].at + b * call->array[ARRAY_out].strides.batch + (g * members + m)
        * call->array[ARRAY_out].strides.head;
    const int64_t out_row = call->array[ARRAY_out].strides.row;
    float *const log_decay_sum_2 = (float *)(void *)(share->work + 32768); /* [j: 32, d: 64] */
    float *const log_decay_sum_low_2 = (float *)(void *)(share->work + 40960); /* [j: 32, d: 64] */
    float *const log_decay_total_2 = (float *)(void *)(share->work + 0); /* [d: 64] */
    float *const log_decay_rest_2 = (float *)(void *)(share->work + 256); /* [d: 64] */
    float *const gate_tile_2 = (float *)(void *)(share->work + 512); /* [j: 32, d: 64] */
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
        if (gate_array_stride_3 == 1) {
            /* gate_tile_2 = gate_array, with zeros beyond the last row */
            for (int64_t j = 0; j < j1 - j0; j++)
                for (int64_t d = 0; d < 64; d++)
                    gate_tile_2[j * 64 + d] = gate_array[(j0 + j) * gate_array_row + d];
        } else {
            /* gate_tile_2 = gate_array, with zeros beyond the last row */
            for (int64_t j = 0; j < j1 - j0; j++)
                for (int64_t d = 0; d < 64; d++)
                    gate_tile_2[j * 64 + d] = gate_array[(j0 + j) * gate_array_row + d * gate_array_stride_3];
        }
        /* gate_tile_2 = max(gate_tile_2, -1e+04f) */
        for (int64_t j = 0; j < j1 - j0; j++) {
            for (int64_t d_first = 0; d_first < 64; d_first += OF(64, 16, 8)) {
                UNROLL for (int64_t vector = 0, d = d_first; vector < OF(4, 2, 2); vector++, d += LANES) {
                    T(store)(gate_tile_2 + j * 64 + d, T(max)(T(load)(gate_tile_2 + j * 64 + d), T(splat)(-1e+04f)));
                }
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
            /* log_decay_next_2 = log_decay_total_2 + gate_tile_2; log_decay_rest_2 = log_decay_rest_2 +
               ((log_decay_total_2 - (log_decay_next_ ... */
            for (int64_t d = 0; d < 64; d += LANES) {
                const T(vec) log_decay_total_2_15 = T(load)(log_decay_total_2 + d);
                const T(vec) gate_tile_2_16 = T(load)(gate_tile_2 + (position0 - j0) * 64 + d);
                const T(vec) log_decay_next_2_new17 = log_decay_total_2_15 + gate_tile_2_16;
                const T(vec) log_decay_rest_2_18 = T(load)(log_decay_rest_2 + d);
                const T(vec) t_19 = log_decay_next_2_new17 - log_decay_total_2_15;
                const T(vec) log_decay_rest_2_new20 = log_decay_rest_2_18 + ((log_decay_total_2_15 -
                    (log_decay_next_2_new17 - t_19)) + (gate_tile_2_16 - t_19));
                T(store)(log_decay_rest_2 + d, log_decay_rest_2_new20);
                T(store)(log_decay_total_2 + d, log_decay_next_2_new17);
                T(store)(log_decay_sum_2 + (position0 - j0) * 64 + d, log_decay_next_2_new17);
                T(store)(log_decay_sum_low_2 + (position0 - j0) * 64 + d, log_decay_rest_2_new20);
            }
        }
        for (int64_t i0 = (chunk == 0) ? 0 : max(0, (chunk * 32) - query_start), i_end = min(n_q,
            ((chunk + 1) * 32) - query_start); i0 < i_end; i0 += 32) {
            const int64_t i1 = min(i0 + 32, i_end);
            /* query = (q * 0.125f) * select(chunk == 0, 1.0f, exp2((log_decay_sum_2 + log_decay_sum_low_2) *
               1.442695f)) */
            const int t_21 = chunk == 0;
            for (int64_t i = 0; i < i1 - i0; i++) {
                for (int64_t f = 0; f < 64; f += LANES) {
                    T(store)(query + i * 64 + f, (T(load)(q + (i0 + i) * q_row + f) * 0.125f) * (t_21 ? T(splat)(1.0f) :
                        T(exp2)((T(load)(log_decay_sum_2 + (max(j0, min((i0 + i) + query_start,
                        j1 - 1)) - j0) * 64 + f) + T(load)(log_decay_sum_low_2 + (max(j0, min((i0 + i) + query_start,
                        j1 - 1)) - j0) * 64 + f)) * 1.442695f)));
                }
            }
            /* sum_from_state[i][e] = sum over f of query * state */
            T(dot4)(i1 - i0, query, state + (chunk - chunk0) * 4240, sum_from_state,
                (const struct coming[]){{k + j0 * k_row, 4 * k_row, 256}, {v + j0 * v_row, 4 * v_row, 256},
                {out + i0 * out_row, 4 * out_row, 256}, {gate_array + (j0 + 32) * gate_array_row, 4 * gate_array_row,
                256}, {q + (i0 + 32) * q_row, 4 * q_row, 256}});
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
            const int64_t t_23 = chunk * 32;
            for (int64_t j = 0; j < j1 - j0; j += LANES) {
                const T(ints) t_22 = j0 + j + T(lane);
                const T(ints) t_24 = t_23 <= t_22;
                for (int64_t i = 0; i < i1 - i0; i++) {
                    T(store)(weight + i * 32 + j, T(pick)(__builtin_convertvector((t_22 <= ((i0 + i) + query_start)) &
                        t_24, T(mask)), T(load)(weight + i * 32 + j), T(splat)(0.0f)));
                }
            }
            /* sum[i][e] = sum over j of weight * v */
            if (__builtin_expect(!T(finite)(v + j0 * v_row, v_row, j1 - j0, 64),
                0)) { /* infinity and NaN affect only queries that see them */
                T(dot6)(i1 - i0, j1 - j0, weight, v + j0 * v_row, v_row, sum);
                for (int64_t i = 0; i < i1 - i0; i++) {
                    T(mask) in_region[OF(2, 4, 8)] = {0};
                    const int64_t t_26 = (i0 + i) + query_start;
                    const int64_t t_27 = chunk * 32;
                    for (int64_t j = 0; j < j1 - j0; j += LANES) {
                        const T(ints) t_25 = j0 + j + T(lane);
                        in_region[j / LANES] = __builtin_convertvector((t_25 <= t_26) & (t_27 <= t_25), T(mask));
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
TARGET APART void T(gla_keys_alone)(const struct call *call, int64_t task, const struct share *share, int64_t iteration)
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
    float *const log_decay_sum = (float *)(void *)(share->work + 8192); /* [j: 32, d: 64] */
    float *const log_decay_sum_low = (float *)(void *)(share->work + 16384); /* [j: 32, d: 64] */
    const float *const gate_array = (const float *)call->array[ARRAY_gate_array].at + b *
        call->array[ARRAY_gate_array].strides.batch + (g * members + m) * call->array[ARRAY_gate_array].strides.head;
    const int64_t gate_array_row = call->array[ARRAY_gate_array].strides.row;
    const int64_t gate_array_stride_3 = call->array[ARRAY_gate_array].stride[3];
    float *const log_decay_total = (float *)(void *)(share->work + 0); /* [d: 64] */
    float *const log_decay_rest = (float *)(void *)(share->work + 256); /* [d: 64] */
    float *const state_decay = (float *)(void *)(share->slots + 16448); /* [chunk, d: 64] */
    float *const state_decay_low = (float *)(void *)(share->slots + 16704); /* [chunk, d: 64] */
    float *const gate_tile = (float *)(void *)(share->work + 24576); /* [j: 32, d: 64] */
    float *const kept_share_2 = (float *)(void *)(share->slots + 0); /* [chunk, f: 64] */
    float *const lost_share_2 = (float *)(void *)(share->slots + 256); /* [chunk, f: 64] */
    for (int64_t j0 = chunk * 32, j_end = min(n_k, (chunk + 1) * 32); j0 < j_end; j0 += 32) {
        const int64_t j1 = min(j0 + 32, j_end);
        if (gate_array_stride_3 == 1) {
            /* gate_tile = gate_array, with zeros beyond the last row */
            for (int64_t j = 0; j < j1 - j0; j++) {
                for (int64_t d = 0; d < 64; d += LANES)
                    __builtin_prefetch(gate_array + (j0 + j) * gate_array_row + d + (j1 - j0) * gate_array_row, 0, 2);
                for (int64_t d = 0; d < 64; d++)
                    gate_tile[j * 64 + d] = gate_array[(j0 + j) * gate_array_row + d];
            }
        } else {
            /* gate_tile = gate_array, with zeros beyond the last row */
            for (int64_t j = 0; j < j1 - j0; j++)
                for (int64_t d = 0; d < 64; d++)
                    gate_tile[j * 64 + d] = gate_array[(j0 + j) * gate_array_row + d * gate_array_stride_3];
        }
        /* gate_tile = max(gate_tile, -1e+04f) */
        for (int64_t j = 0; j < j1 - j0; j++) {
            for (int64_t d_first = 0; d_first < 64; d_first += OF(64, 16, 8)) {
                UNROLL for (int64_t vector = 0, d = d_first; vector < OF(4, 2, 2); vector++, d += LANES) {
                    T(store)(gate_tile + j * 64 + d, T(max)(T(load)(gate_tile + j * 64 + d), T(splat)(-1e+04f)));
                }
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
            /* log_decay_next = log_decay_total + gate_tile; log_decay_rest = log_decay_rest + ((log_decay_total -
               (log_decay_next - (log_decay ... */
            for (int64_t d = 0; d < 64; d += LANES) {
                const T(vec) log_decay_total_28 = T(load)(log_decay_total + d);
                const T(vec) gate_tile_29 = T(load)(gate_tile + (position0 - j0) * 64 + d);
                const T(vec) log_decay_next_new30 = log_decay_total_28 + gate_tile_29;
                const T(vec) log_decay_rest_31 = T(load)(log_decay_rest + d);
                const T(vec) t_32 = log_decay_next_new30 - log_decay_total_28;
                const T(vec) log_decay_rest_new33 = log_decay_rest_31 + ((log_decay_total_28 - (log_decay_next_new30 -
                    t_32)) + (gate_tile_29 - t_32));
                T(store)(log_decay_rest + d, log_decay_rest_new33);
                T(store)(log_decay_total + d, log_decay_next_new30);
                T(store)(log_decay_sum + (position0 - j0) * 64 + d, log_decay_next_new30);
                T(store)(log_decay_sum_low + (position0 - j0) * 64 + d, log_decay_rest_new33);
            }
        }
        /* key_features = k * exp2(((log_decay_sum - log_decay_sum) + (log_decay_sum_low - log_decay_sum_low)) *
           1.442695f) */
        for (int64_t f = 0; f < 64; f += LANES) {
            const T(vec) log_decay_sum_34 = T(load)(log_decay_sum + ((j1 - 1) - j0) * 64 + f);
            const T(vec) log_decay_sum_low_35 = T(load)(log_decay_sum_low + ((j1 - 1) - j0) * 64 + f);
            for (int64_t j = 0; j < j1 - j0; j++) {
                T(store)(key_features + j * 64 + f, T(load)(k + (j0 + j) * k_row + f) * T(exp2)(((log_decay_sum_34 -
                    T(load)(log_decay_sum + j * 64 + f)) + (log_decay_sum_low_35 - T(load)(log_decay_sum_low + j * 64 +
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
            const T(vec) t_36 = T(load)(state_decay + (chunk - chunk0) * 4240 + f) + T(load)(state_decay_low + (chunk -
                chunk0) * 4240 + f);
            const T(vec) t_37 = T(exp2)(t_36 * 1.442695f);
            const T(mask) t_38 = t_37 < 0.5f;
            T(store)(kept_share_2 + (chunk - chunk0) * 4240 + f, T(pick)(t_38, t_37, T(splat)(1.0f)));
            T(store)(lost_share_2 + (chunk - chunk0) * 4240 + f, T(pick)(t_38, T(splat)(0.0f), -T(expm1)(t_36)));
        }
        /* carried[f][e] = carried * kept_share_2 - carried * lost_share_2 + sum over j of key_features * v */
        T(dot8)(j1 - j0, key_features, v + j0 * v_row, v_row, carried, carried_compensation,
            kept_share_2 + (chunk - chunk0) * 4240, lost_share_2 + (chunk - chunk0) * 4240);
    }
}

/* Computes head number `task`. Each thread on the head calls this with `share`. */
TARGET static void T(gla_linear)(const struct call *call, int64_t task, struct share *share)
{
    const int64_t n_k = call->p.n_k;
    const int64_t chunks = n_k > 0 ? (n_k - 1) / 32 + 1 : 1;
    for (int64_t iteration = share->number; iteration < ((64 + 31) / 32); iteration += share->threads)
        T(gla_begin)(call, task, share, iteration);
    synchronise(share);
    const int64_t first = 0;
    if (share->threads == 1) { /* queries read the carried state before their chunk is added */
        unsigned char *const slots = share->slots;
        for (share->chunk0 = first; share->chunk0 < chunks; share->chunk0++) {
            share->chunk1 = share->chunk0 + 1;
            share->slots = share->shared;
            T(gla_queries)(call, task, share, share->chunk0);
            share->slots = slots;
            T(gla_keys_alone)(call, task, share, share->chunk0);

        }
    } else {
        const int64_t length = segment_length(share, chunks - first);
        for (int64_t segment = share->number; first + segment * length < chunks; segment += share->threads) {
            share->chunk0 = first + segment * length;
            share->chunk1 = min(share->chunk0 + length, chunks);
            for (int64_t iteration = share->chunk0; iteration < share->chunk1; iteration++)
                T(gla_keys)(call, task, share, iteration);
            for (int64_t group = 0; group < 16; group++) {
                await_segment(share, group, segment);
                const int64_t end = (group + 1) * ((64 + 31) / 32) / 16;
                for (int64_t iteration = group * ((64 + 31) / 32) / 16; iteration < end; iteration++)
                    T(gla_fold)(call, task, share, iteration);
                pass_segment(share, group, segment);
            }
            for (int64_t iteration = share->chunk0; iteration < share->chunk1; iteration++)
                T(gla_queries)(call, task, share, iteration);
        }
        share->segments += (max(chunks - first, 0) + length - 1) / length;
    }
    synchronise(share);
}

/* Computes task number `task`: one tile of queries of one head. `work` is this thread's workspace. */
TARGET static void T(gla_dq_dlog_decay_q)(const struct call *call, int64_t task, unsigned char *work)
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
    const float *const dout = (const float *)call->array[ARRAY_dout].at + b * call->array[ARRAY_dout].strides.batch + (g
        * members + m) * call->array[ARRAY_dout].strides.head;
    const int64_t dout_row = call->array[ARRAY_dout].strides.row;
    float *const score = (float *)(void *)(work + 0); /* [j: 288, i: 64 of 80] */
    float *const weight = (float *)(void *)(work + 92160); /* [d: 64, j: 288, i: 64 of 80] */
    float *const row_sum = (float *)(void *)(work + 5990400); /* [d: 64, i: 64 of 80] */
    float *const row_sum_compensation = (float *)(void *)(work + 6010880); /* [d: 64, i: 64 of 80] */
    float *const result = (float *)(void *)(work + 0); /* [d: 64, i: 64 of 80] */
    float *const dq = call->array[ARRAY_dq].at ? (float *)call->array[ARRAY_dq].at + b *
        call->array[ARRAY_dq].strides.batch + (g * members + m) * call->array[ARRAY_dq].strides.head : NULL;
    const int64_t dq_row = call->array[ARRAY_dq].strides.row;
    float *const dlog_decay_q = call->array[ARRAY_dlog_decay_q].at ? (float *)call->array[ARRAY_dlog_decay_q].at + b *
        call->array[ARRAY_dlog_decay_q].strides.batch + (g * members + m) * call->array[ARRAY_dlog_decay_q].strides.head
        : NULL;
    const int64_t dlog_decay_q_row = call->array[ARRAY_dlog_decay_q].strides.row;
    float *const dout_tile = (float *)(void *)(work + 6031360); /* [e: 64, i: 64 of 80] */
    float *const log_decay_q_tile = (float *)(void *)(work + 6051840); /* [d: 64, i: 64 of 80] */
    float *const log_decay_q_low_tile = (float *)(void *)(work + 6072320); /* [d: 64, i: 64 of 80] */
    float *const q_tile = (float *)(void *)(work + 6092800); /* [d: 64, i: 64 of 80] */
    int64_t results = i1 - i0; /* rows of dq to prefetch during the first product */
    /* dout_tile = dout, with zeros beyond the last row */
    T(transpose_padded)(dout + i0 * dout_row, dout_row, i1 - i0, 64, dout_tile, 80, LANES);
    /* log_decay_q_tile = log_decay_q, with zeros beyond the last row */
    T(transpose_padded)(log_decay_q + i0 * log_decay_q_row, log_decay_q_row, i1 - i0, 64, log_decay_q_tile, 80, LANES);
    /* log_decay_q_low_tile = log_decay_q_low, with zeros beyond the last row */
    T(transpose_padded)(log_decay_q_low + i0 * log_decay_q_low_row, log_decay_q_low_row, i1 - i0, 64,
        log_decay_q_low_tile, 80, LANES);
    if (dlog_decay_q) {
        /* q_tile = q, with zeros beyond the last row */
        T(transpose_padded)(q + i0 * q_row, q_row, i1 - i0, 64, q_tile, 80, LANES);
    }
    /* row_sum = 0.0f; row_sum_compensation = 0.0f */
    for (int64_t d = 0; d < 64; d++) {
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            T(store)(row_sum + d * 80 + i, T(splat)(0.0f));
            T(store)(row_sum_compensation + d * 80 + i, T(splat)(0.0f));
        }
    }
    for (int64_t j0 = 0, j_end = min(n_k, i1 + query_start); j0 < j_end; j0 += 288) {
        const int64_t j1 = min(j0 + 288, j_end);
        /* score[j][i] = sum over e of v * dout_tile */
        T(dot9)(round_up(i1 - i0, LANES), j1 - j0, v + j0 * v_row, v_row, dout_tile, score, dq + i0 * dq_row, dq_row,
            results);
        results = 0;
        if ((i0 + query_start + 1) < j1) { /* the tile is partly outside the mask */
            /* weight = select(j <= (i + query_start), (score * k) * exp2(((log_decay_q_tile - log_decay_k) +
               (log_decay_q_low_tile - log_decay ... */
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                const T(ints) t_0 = (i0 + i + T(lane)) + query_start;
                for (int64_t d = 0; d < 64; d++) {
                    T(vec) row_sum_in = (T(vec)){0};
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        const T(vec) weight_new1 = T(pick)(__builtin_convertvector((j0 + j) <= t_0, T(mask)),
                            (T(load)(score + j * 80 + i) * (k[(j0 + j) * k_row + d])) *
                            T(exp2)(((T(load)(log_decay_q_tile + d * 80 + i) - (log_decay_k[(j0 + j) * log_decay_k_row +
                            d])) + (T(load)(log_decay_q_low_tile + d * 80 + i) - (log_decay_k_low[(j0 + j) *
                            log_decay_k_low_row + d]))) * 1.442695f), T(splat)(0.0f));
                        T(store)(weight + d * 23040 + j * 80 + i, weight_new1);
                        row_sum_in += weight_new1;
                    }
                    T(add)(row_sum + d * 80 + i, row_sum_compensation + d * 80 + i, row_sum_in, T(splat)(1));
                }
            }
        }
        if (!((i0 + query_start + 1) < j1)) { /* the tile is wholly inside the mask */
            /* weight = (score * k) * exp2(((log_decay_q_tile - log_decay_k) + (log_decay_q_low_tile - log_decay_k_low))
               * 1.442695f); row_sum  ... */
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                for (int64_t d = 0; d < 64; d++) {
                    T(vec) row_sum_in = (T(vec)){0};
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        const T(vec) weight_new2 = (T(load)(score + j * 80 + i) * (k[(j0 + j) * k_row + d])) *
                            T(exp2)(((T(load)(log_decay_q_tile + d * 80 + i) - (log_decay_k[(j0 + j) * log_decay_k_row +
                            d])) + (T(load)(log_decay_q_low_tile + d * 80 + i) - (log_decay_k_low[(j0 + j) *
                            log_decay_k_low_row + d]))) * 1.442695f);
                        T(store)(weight + d * 23040 + j * 80 + i, weight_new2);
                        row_sum_in += weight_new2;
                    }
                    T(add)(row_sum + d * 80 + i, row_sum_compensation + d * 80 + i, row_sum_in, T(splat)(1));
                }
            }
        }
    }
    /* result = row_sum * 0.125f; q_tile = row_sum * (q_tile * 0.125f) */
    for (int64_t d = 0; d < 64; d++) {
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            const T(vec) row_sum_3 = T(load)(row_sum + d * 80 + i);
            T(store)(result + d * 80 + i, row_sum_3 * 0.125f);
            T(store)(q_tile + d * 80 + i, row_sum_3 * (T(load)(q_tile + d * 80 + i) * 0.125f));
        }
    }
    if (dq) {
        /* dq = result, transposed back */
        T(transpose_out)(result, 80, 64, i1 - i0, dq + i0 * dq_row, dq_row, LANES);
    }
    if (dlog_decay_q) {
        /* dlog_decay_q = q_tile, transposed back */
        T(transpose_out)(q_tile, 80, 64, i1 - i0, dlog_decay_q + i0 * dlog_decay_q_row, dlog_decay_q_row, LANES);
    }
}

/* Computes task number `task`: one tile of keys of one head. `work` is this thread's workspace. */
TARGET static void T(gla_dk_dv)(const struct call *call, int64_t task, unsigned char *work)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_q = call->p.n_q;
    const int64_t n_k = call->p.n_k;
    const int64_t tiles = (n_k + 64 - 1) / 64, j0 = (tiles - 1 - task % tiles) * 64,
        j1 = min(j0 + 64, n_k);
    const int64_t g = task / tiles % kv_heads;
    const int64_t b = task / tiles / kv_heads;
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
    const float *const log_decay_q_low = (const float *)call->array[ARRAY_log_decay_q_low].at + b *
        call->array[ARRAY_log_decay_q_low].strides.batch + g * members *
        call->array[ARRAY_log_decay_q_low].strides.head;
    const int64_t log_decay_q_low_row = call->array[ARRAY_log_decay_q_low].strides.row;
    const int64_t log_decay_q_low_head = call->array[ARRAY_log_decay_q_low].strides.head;
    const float *const log_decay_q = (const float *)call->array[ARRAY_log_decay_q].at + b *
        call->array[ARRAY_log_decay_q].strides.batch + g * members * call->array[ARRAY_log_decay_q].strides.head;
    const int64_t log_decay_q_row = call->array[ARRAY_log_decay_q].strides.row;
    const int64_t log_decay_q_head = call->array[ARRAY_log_decay_q].strides.head;
    const float *const log_decay_k_low = (const float *)call->array[ARRAY_log_decay_k_low].at + b *
        call->array[ARRAY_log_decay_k_low].strides.batch + g * members *
        call->array[ARRAY_log_decay_k_low].strides.head;
    const int64_t log_decay_k_low_row = call->array[ARRAY_log_decay_k_low].strides.row;
    const int64_t log_decay_k_low_head = call->array[ARRAY_log_decay_k_low].strides.head;
    const float *const log_decay_k = (const float *)call->array[ARRAY_log_decay_k].at + b *
        call->array[ARRAY_log_decay_k].strides.batch + g * members * call->array[ARRAY_log_decay_k].strides.head;
    const int64_t log_decay_k_row = call->array[ARRAY_log_decay_k].strides.row;
    const int64_t log_decay_k_head = call->array[ARRAY_log_decay_k].strides.head;
    const float *const dout = (const float *)call->array[ARRAY_dout].at + b * call->array[ARRAY_dout].strides.batch + g
        * members * call->array[ARRAY_dout].strides.head;
    const int64_t dout_row = call->array[ARRAY_dout].strides.row;
    const int64_t dout_head = call->array[ARRAY_dout].strides.head;
    float *const weight = (float *)(void *)(work + 0); /* [i: 288, j: 64 of 80] */
    float *const score = (float *)(void *)(work + 92160); /* [i: 288, j: 64 of 80] */
    float *const sum = (float *)(void *)(work + 184320); /* [e: 64, j: 64 of 80] */
    float *const sum_compensation = (float *)(void *)(work + 204800); /* [e: 64, j: 64 of 80] */
    float *const weight_2 = (float *)(void *)(work + 225280); /* [d: 64, i: 288, j: 64 of 80] */
    float *const row_sum = (float *)(void *)(work + 6123520); /* [d: 64, j: 64 of 80] */
    float *const row_sum_compensation = (float *)(void *)(work + 6144000); /* [d: 64, j: 64 of 80] */
    float *const dk = call->array[ARRAY_dk].at ? (float *)call->array[ARRAY_dk].at + b *
        call->array[ARRAY_dk].strides.batch + g * call->array[ARRAY_dk].strides.head : NULL;
    const int64_t dk_row = call->array[ARRAY_dk].strides.row;
    float *const dv = call->array[ARRAY_dv].at ? (float *)call->array[ARRAY_dv].at + b *
        call->array[ARRAY_dv].strides.batch + g * call->array[ARRAY_dv].strides.head : NULL;
    const int64_t dv_row = call->array[ARRAY_dv].strides.row;
    float *const q_tile = (float *)(void *)(work + 92160); /* [d: 64, i: 288] */
    float *const k_tile = (float *)(void *)(work + 6164480); /* [d: 64, j: 64 of 80] */
    float *const log_decay_q_tile = (float *)(void *)(work + 225280); /* [d: 64, i: 288] */
    float *const log_decay_k_tile = (float *)(void *)(work + 6184960); /* [d: 64, j: 64 of 80] */
    float *const log_decay_q_low_tile = (float *)(void *)(work + 299008); /* [d: 64, i: 288] */
    float *const log_decay_k_low_tile = (float *)(void *)(work + 6205440); /* [d: 64, j: 64 of 80] */
    float *const v_tile = (float *)(void *)(work + 6225920); /* [e: 64, j: 64 of 80] */
    int64_t results = j1 - j0; /* rows of dk to prefetch during the first product */
    if (dv) {
        /* k_tile = k, with zeros beyond the last row */
        T(transpose_padded)(k + j0 * k_row, k_row, j1 - j0, 64, k_tile, 80, LANES);
    }
    if (dk) {
        /* v_tile = v, with zeros beyond the last row */
        T(transpose_padded)(v + j0 * v_row, v_row, j1 - j0, 64, v_tile, 80, LANES);
    }
    if (dv) {
        /* sum = 0.0f; sum_compensation = 0.0f */
        for (int64_t e = 0; e < 64; e++) {
            for (int64_t j = 0; j < j1 - j0; j += LANES) {
                T(store)(sum + e * 80 + j, T(splat)(0.0f));
                T(store)(sum_compensation + e * 80 + j, T(splat)(0.0f));
            }
        }
    }
    if (dk) {
        /* row_sum = 0.0f; row_sum_compensation = 0.0f */
        for (int64_t d = 0; d < 64; d++) {
            for (int64_t j = 0; j < j1 - j0; j += LANES) {
                T(store)(row_sum + d * 80 + j, T(splat)(0.0f));
                T(store)(row_sum_compensation + d * 80 + j, T(splat)(0.0f));
            }
        }
    }
    for (int64_t m = 0; m < members; m++) {
        /* log_decay_k_tile = log_decay_k, with zeros beyond the last row */
        T(transpose_padded)(log_decay_k + m * log_decay_k_head + j0 * log_decay_k_row, log_decay_k_row, j1 - j0, 64,
            log_decay_k_tile, 80, LANES);
        /* log_decay_k_low_tile = log_decay_k_low, with zeros beyond the last row */
        T(transpose_padded)(log_decay_k_low + m * log_decay_k_low_head + j0 * log_decay_k_low_row, log_decay_k_low_row,
            j1 - j0, 64, log_decay_k_low_tile, 80, LANES);
        for (int64_t i0 = max(0, j0 - query_start), i_end = n_q; i0 < i_end; i0 += 288) {
            const int64_t i1 = min(i0 + 288, i_end);
            if (dv) {
                /* q_tile = q, with zeros beyond the last row */
                T(transpose_padded)(q + m * q_head + i0 * q_row, q_row, i1 - i0, 64, q_tile, 288, 64);
                /* log_decay_q_tile = log_decay_q, with zeros beyond the last row */
                T(transpose_padded)(log_decay_q + m * log_decay_q_head + i0 * log_decay_q_row, log_decay_q_row, i1 - i0,
                    64, log_decay_q_tile, 288, 64);
                /* log_decay_q_low_tile = log_decay_q_low, with zeros beyond the last row */
                T(transpose_padded)(log_decay_q_low + m * log_decay_q_low_head + i0 * log_decay_q_low_row,
                    log_decay_q_low_row, i1 - i0, 64, log_decay_q_low_tile, 288, 64);
                /* weight = 0.0f */
                for (int64_t i = 0; i < i1 - i0; i++) {
                    for (int64_t j = 0; j < j1 - j0; j += LANES) {
                        T(store)(weight + i * 80 + j, T(splat)(0.0f));
                    }
                }
                /* weight += ((q_tile * 0.125f) * k_tile) * exp2(((log_decay_q_tile - log_decay_k_tile) +
                   (log_decay_q_low_tile - log_decay_k_low_t ... */
                for (int64_t j = 0; j < j1 - j0; j += LANES) {
                    for (int64_t i = 0; i < i1 - i0; i++) {
                        T(vec) weight_in = (T(vec)){0};
                        for (int64_t d = 0; d < 64; d++) {
                            weight_in += (((q_tile[d * 288 + i]) * 0.125f) * T(load)(k_tile + d * 80 + j)) *
                                T(exp2)((((log_decay_q_tile[d * 288 + i]) - T(load)(log_decay_k_tile + d * 80 + j)) +
                                ((log_decay_q_low_tile[d * 288 + i]) - T(load)(log_decay_k_low_tile + d * 80 + j))) *
                                1.442695f);
                        }
                        T(store)(weight + i * 80 + j, T(load)(weight + i * 80 + j) + weight_in);
                    }
                }
            }
            if (dk) {
                /* score[i][j] = sum over e of dout * v_tile */
                T(dot9)(round_up(j1 - j0, LANES), i1 - i0, dout + m * dout_head + i0 * dout_row, dout_row, v_tile,
                    score, dk + j0 * dk_row, dk_row, results);
                results = 0;
            }
            if (i0 < (j1 - query_start - 1)) { /* the tile is partly outside the mask */
                if (dv) {
                    /* weight = select(j <= (i + query_start), weight, 0.0f) */
                    for (int64_t j = 0; j < j1 - j0; j += LANES) {
                        const T(ints) t_0 = j0 + j + T(lane);
                        for (int64_t i = 0; i < i1 - i0; i++) {
                            T(store)(weight + i * 80 + j, T(pick)(__builtin_convertvector(t_0 <= ((i0 + i) +
                                query_start), T(mask)), T(load)(weight + i * 80 + j), T(splat)(0.0f)));
                        }
                    }
                }
            }
            if (dv) {
                /* sum[e][j] += sum over i of dout * weight */
                if (__builtin_expect((i0 < (j1 - query_start - 1)) && !T(finite)(dout + m * dout_head + i0 * dout_row,
                    dout_row, i1 - i0, 64), 0)) { /* infinity and NaN affect only queries that see them */
                    T(dot1)(round_up(j1 - j0, LANES), i1 - i0, dout + m * dout_head + i0 * dout_row, dout_row, weight,
                        sum, sum_compensation);
                    for (int64_t i = 0; i < i1 - i0; i++) {
                        T(mask) in_region[OF(4, 8, 16)] = {0};
                        if (T(finite)(dout + m * dout_head + i0 * dout_row + i * dout_row, 1, 64, 1)) continue;
                        const int64_t t_1 = (i0 + i) + query_start;
                        for (int64_t j = 0; j < j1 - j0; j += LANES) {
                            in_region[j / LANES] = __builtin_convertvector((j0 + j + T(lane)) <= t_1, T(mask));
                        }
                        T(add_seen)(64, sum, 80, dout + m * dout_head + i0 * dout_row + i * dout_row, 1,
                            weight + i * 80, in_region, j1 - j0);
                    }
                } else
                    T(dot2)(round_up(j1 - j0, LANES), i1 - i0, dout + m * dout_head + i0 * dout_row, dout_row, weight,
                        sum, sum_compensation);
            }
            if (i0 < (j1 - query_start - 1)) { /* the tile is partly outside the mask */
                if (dk) {
                    /* weight_2 = select(j <= (i + query_start), (score * q) * exp2(((log_decay_q - log_decay_k_tile) +
                       (log_decay_q_low - log_decay_k_ ... */
                    for (int64_t j = 0; j < j1 - j0; j += LANES) {
                        const T(ints) t_2 = j0 + j + T(lane);
                        for (int64_t d = 0; d < 64; d++) {
                            T(vec) row_sum_in = (T(vec)){0};
                            for (int64_t i = 0; i < i1 - i0; i++) {
                                const T(vec) weight_2_new3 = T(pick)(__builtin_convertvector(t_2 <= ((i0 + i) +
                                    query_start), T(mask)), (T(load)(score + i * 80 + j) * (q[m * q_head + (i0 + i) *
                                    q_row + d])) * T(exp2)((((log_decay_q[m * log_decay_q_head + (i0 + i) *
                                    log_decay_q_row + d]) - T(load)(log_decay_k_tile + d * 80 + j)) +
                                    ((log_decay_q_low[m * log_decay_q_low_head + (i0 + i) * log_decay_q_low_row + d]) -
                                    T(load)(log_decay_k_low_tile + d * 80 + j))) * 1.442695f), T(splat)(0.0f));
                                T(store)(weight_2 + d * 23040 + i * 80 + j, weight_2_new3);
                                row_sum_in += weight_2_new3;
                            }
                            T(add)(row_sum + d * 80 + j, row_sum_compensation + d * 80 + j, row_sum_in, T(splat)(1));
                        }
                    }
                }
            }
            if (!(i0 < (j1 - query_start - 1))) { /* the tile is wholly inside the mask */
                if (dk) {
                    /* weight_2 = (score * q) * exp2(((log_decay_q - log_decay_k_tile) + (log_decay_q_low -
                       log_decay_k_low_tile)) * 1.442695f); row_su ... */
                    for (int64_t j = 0; j < j1 - j0; j += LANES) {
                        for (int64_t d = 0; d < 64; d++) {
                            T(vec) row_sum_in = (T(vec)){0};
                            for (int64_t i = 0; i < i1 - i0; i++) {
                                const T(vec) weight_2_new4 = (T(load)(score + i * 80 + j) * (q[m * q_head + (i0 + i) *
                                    q_row + d])) * T(exp2)((((log_decay_q[m * log_decay_q_head + (i0 + i) *
                                    log_decay_q_row + d]) - T(load)(log_decay_k_tile + d * 80 + j)) +
                                    ((log_decay_q_low[m * log_decay_q_low_head + (i0 + i) * log_decay_q_low_row + d]) -
                                    T(load)(log_decay_k_low_tile + d * 80 + j))) * 1.442695f);
                                T(store)(weight_2 + d * 23040 + i * 80 + j, weight_2_new4);
                                row_sum_in += weight_2_new4;
                            }
                            T(add)(row_sum + d * 80 + j, row_sum_compensation + d * 80 + j, row_sum_in, T(splat)(1));
                        }
                    }
                }
            }
        }
    }
    if (dk) {
        /* row_sum = row_sum * 0.125f */
        for (int64_t d = 0; d < 64; d++) {
            for (int64_t j = 0; j < j1 - j0; j += LANES) {
                T(store)(row_sum + d * 80 + j, T(load)(row_sum + d * 80 + j) * 0.125f);
            }
        }
    }
    if (dv) {
        /* sum = sum */
        for (int64_t e = 0; e < 64; e++) {
            for (int64_t j = 0; j < j1 - j0; j += LANES) {
                T(store)(sum + e * 80 + j, T(load)(sum + e * 80 + j));
            }
        }
    }
    if (dk) {
        /* dk = row_sum, transposed back */
        T(transpose_out)(row_sum, 80, 64, j1 - j0, dk + j0 * dk_row, dk_row, LANES);
    }
    if (dv) {
        /* dv = sum, transposed back */
        T(transpose_out)(sum, 80, 64, j1 - j0, dv + j0 * dv_row, dv_row, LANES);
    }
}

/* Computes task number `task`: one tile of keys of one head. `work` is this thread's workspace. */
TARGET static void T(gla_dlog_decay_k)(const struct call *call, int64_t task, unsigned char *work)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_q = call->p.n_q;
    const int64_t n_k = call->p.n_k;
    const int64_t tiles = (n_k + 64 - 1) / 64, j0 = (tiles - 1 - task % tiles) * 64,
        j1 = min(j0 + 64, n_k);
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
    const float *const dout = (const float *)call->array[ARRAY_dout].at + b * call->array[ARRAY_dout].strides.batch + (g
        * members + m) * call->array[ARRAY_dout].strides.head;
    const int64_t dout_row = call->array[ARRAY_dout].strides.row;
    float *const score = (float *)(void *)(work + 0); /* [i: 288, j: 64 of 80] */
    float *const weight = (float *)(void *)(work + 92160); /* [d: 64, i: 288, j: 64 of 80] */
    float *const row_sum = (float *)(void *)(work + 5990400); /* [d: 64, j: 64 of 80] */
    float *const row_sum_compensation = (float *)(void *)(work + 6010880); /* [d: 64, j: 64 of 80] */
    float *const dlog_decay_k = call->array[ARRAY_dlog_decay_k].at ? (float *)call->array[ARRAY_dlog_decay_k].at + b *
        call->array[ARRAY_dlog_decay_k].strides.batch + (g * members + m) * call->array[ARRAY_dlog_decay_k].strides.head
        : NULL;
    const int64_t dlog_decay_k_row = call->array[ARRAY_dlog_decay_k].strides.row;
    float *const v_tile = (float *)(void *)(work + 6031360); /* [e: 64, j: 64 of 80] */
    float *const log_decay_k_tile = (float *)(void *)(work + 6051840); /* [d: 64, j: 64 of 80] */
    float *const log_decay_k_low_tile = (float *)(void *)(work + 6072320); /* [d: 64, j: 64 of 80] */
    float *const k_tile = (float *)(void *)(work + 6092800); /* [d: 64, j: 64 of 80] */
    int64_t results = j1 - j0; /* rows of dlog_decay_k to prefetch during the first product */
    /* v_tile = v, with zeros beyond the last row */
    T(transpose_padded)(v + j0 * v_row, v_row, j1 - j0, 64, v_tile, 80, LANES);
    /* log_decay_k_tile = log_decay_k, with zeros beyond the last row */
    T(transpose_padded)(log_decay_k + j0 * log_decay_k_row, log_decay_k_row, j1 - j0, 64, log_decay_k_tile, 80, LANES);
    /* log_decay_k_low_tile = log_decay_k_low, with zeros beyond the last row */
    T(transpose_padded)(log_decay_k_low + j0 * log_decay_k_low_row, log_decay_k_low_row, j1 - j0, 64,
        log_decay_k_low_tile, 80, LANES);
    /* k_tile = k, with zeros beyond the last row */
    T(transpose_padded)(k + j0 * k_row, k_row, j1 - j0, 64, k_tile, 80, LANES);
    /* row_sum = 0.0f; row_sum_compensation = 0.0f */
    for (int64_t d = 0; d < 64; d++) {
        for (int64_t j = 0; j < j1 - j0; j += LANES) {
            T(store)(row_sum + d * 80 + j, T(splat)(0.0f));
            T(store)(row_sum_compensation + d * 80 + j, T(splat)(0.0f));
        }
    }
    for (int64_t i0 = max(0, j0 - query_start), i_end = n_q; i0 < i_end; i0 += 288) {
        const int64_t i1 = min(i0 + 288, i_end);
        /* score[i][j] = sum over e of dout * v_tile */
        T(dot9)(round_up(j1 - j0, LANES), i1 - i0, dout + i0 * dout_row, dout_row, v_tile, score,
            dlog_decay_k + j0 * dlog_decay_k_row, dlog_decay_k_row, results);
        results = 0;
        if (i0 < (j1 - query_start - 1)) { /* the tile is partly outside the mask */
            /* weight = select(j <= (i + query_start), (score * q) * exp2(((log_decay_q - log_decay_k_tile) +
               (log_decay_q_low - log_decay_k_lo ... */
            for (int64_t j = 0; j < j1 - j0; j += LANES) {
                const T(ints) t_0 = j0 + j + T(lane);
                for (int64_t d = 0; d < 64; d++) {
                    T(vec) row_sum_in = (T(vec)){0};
                    for (int64_t i = 0; i < i1 - i0; i++) {
                        const T(vec) weight_new1 = T(pick)(__builtin_convertvector(t_0 <= ((i0 + i) + query_start),
                            T(mask)), (T(load)(score + i * 80 + j) * (q[(i0 + i) * q_row + d])) *
                            T(exp2)((((log_decay_q[(i0 + i) * log_decay_q_row + d]) - T(load)(log_decay_k_tile + d * 80
                            + j)) + ((log_decay_q_low[(i0 + i) * log_decay_q_low_row + d]) -
                            T(load)(log_decay_k_low_tile + d * 80 + j))) * 1.442695f), T(splat)(0.0f));
                        T(store)(weight + d * 23040 + i * 80 + j, weight_new1);
                        row_sum_in += weight_new1;
                    }
                    T(add)(row_sum + d * 80 + j, row_sum_compensation + d * 80 + j, row_sum_in, T(splat)(1));
                }
            }
        }
        if (!(i0 < (j1 - query_start - 1))) { /* the tile is wholly inside the mask */
            /* weight = (score * q) * exp2(((log_decay_q - log_decay_k_tile) + (log_decay_q_low - log_decay_k_low_tile))
               * 1.442695f); row_sum  ... */
            for (int64_t j = 0; j < j1 - j0; j += LANES) {
                for (int64_t d = 0; d < 64; d++) {
                    T(vec) row_sum_in = (T(vec)){0};
                    for (int64_t i = 0; i < i1 - i0; i++) {
                        const T(vec) weight_new2 = (T(load)(score + i * 80 + j) * (q[(i0 + i) * q_row + d])) *
                            T(exp2)((((log_decay_q[(i0 + i) * log_decay_q_row + d]) - T(load)(log_decay_k_tile + d * 80
                            + j)) + ((log_decay_q_low[(i0 + i) * log_decay_q_low_row + d]) -
                            T(load)(log_decay_k_low_tile + d * 80 + j))) * 1.442695f);
                        T(store)(weight + d * 23040 + i * 80 + j, weight_new2);
                        row_sum_in += weight_new2;
                    }
                    T(add)(row_sum + d * 80 + j, row_sum_compensation + d * 80 + j, row_sum_in, T(splat)(1));
                }
            }
        }
    }
    /* k_tile = row_sum * (k_tile * -0.125f) */
    for (int64_t d = 0; d < 64; d++) {
        for (int64_t j = 0; j < j1 - j0; j += LANES) {
            T(store)(k_tile + d * 80 + j, T(load)(row_sum + d * 80 + j) * (T(load)(k_tile + d * 80 + j) * (-0.125f)));
        }
    }
    if (dlog_decay_k) {
        /* dlog_decay_k = k_tile, transposed back */
        T(transpose_out)(k_tile, 80, 64, j1 - j0, dlog_decay_k + j0 * dlog_decay_k_row, dlog_decay_k_row, LANES);
    }
}

/* Computes task number `task`: one tile of keys of one head. `work` is this thread's workspace. */
TARGET static void T(gla_terms_dgate)(const struct call *call, int64_t task, unsigned char *work)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_k = call->p.n_k;
    const int64_t tiles = (n_k + 64 - 1) / 64, j0 = (tiles - 1 - task % tiles) * 64,
        j1 = min(j0 + 64, n_k);
    const int64_t m = task / tiles % members;
    const int64_t g = task / tiles / members % kv_heads;
    const int64_t b = task / tiles / members / kv_heads;
    const float *const gate_array = (const float *)call->array[ARRAY_gate_array].at + b *
        call->array[ARRAY_gate_array].strides.batch + (g * members + m) * call->array[ARRAY_gate_array].strides.head;
    const int64_t gate_array_row = call->array[ARRAY_gate_array].strides.row;
    const int64_t gate_array_stride_3 = call->array[ARRAY_gate_array].stride[3];
    const float *const dlog_decay = (const float *)call->array[ARRAY_dlog_decay].at + b *
        call->array[ARRAY_dlog_decay].strides.batch + (g * members + m) * call->array[ARRAY_dlog_decay].strides.head;
    const int64_t dlog_decay_row = call->array[ARRAY_dlog_decay].strides.row;
    float *const dgate_array = call->array[ARRAY_dgate_array].at ? (float *)call->array[ARRAY_dgate_array].at + ((b *
        kv_heads + g) * members + m) * n_k * 64 : NULL;
    float *const gate_tile = (float *)(void *)(work + 0); /* [d: 64, j: 64 of 80] */
    float *const dlog_decay_tile = (float *)(void *)(work + 20480); /* [d: 64, j: 64 of 80] */
    if (gate_array_stride_3 == 1) {
        /* gate_tile = gate_array, with zeros beyond the last row */
        T(transpose_padded)(gate_array + j0 * gate_array_row, gate_array_row, j1 - j0, 64, gate_tile, 80, LANES);
    } else {
        /* gate_tile = gate_array, with zeros beyond the last row */
        for (int64_t j = 0; j < round_up(j1 - j0, LANES); j++)
            for (int64_t d = 0; d < 64; d++)
                gate_tile[d * 80 + j] = j < j1 - j0 ? gate_array[(j0 + j) * gate_array_row + d * gate_array_stride_3] :
                    0;
    }
    /* dlog_decay_tile = dlog_decay, with zeros beyond the last row */
    T(transpose_padded)(dlog_decay + j0 * dlog_decay_row, dlog_decay_row, j1 - j0, 64, dlog_decay_tile, 80, LANES);
    /* gate_tile = dlog_decay_tile * select(gate_tile < -1e+04f, 0.0f, 1.0f) */
    for (int64_t d = 0; d < 64; d++) {
        for (int64_t j = 0; j < j1 - j0; j += LANES) {
            T(store)(gate_tile + d * 80 + j, T(load)(dlog_decay_tile + d * 80 + j) * T(pick)(T(load)(gate_tile + d * 80
                + j) < (-1e+04f), T(splat)(0.0f), T(splat)(1.0f)));
        }
    }
    if (dgate_array) {
        /* dgate_array = gate_tile, transposed back */
        T(transpose_out)(gate_tile, 80, 64, j1 - j0, dgate_array + j0 * 64, 64, LANES);
    }
}

/* Initialises the states: they contain no keys yet. */
TARGET APART void T(gla_linear_dq_dlog_decay_q_begin)(const struct call *call, int64_t task, const struct share *share,
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
TARGET APART void T(gla_linear_dq_dlog_decay_q_keys)(const struct call *call, int64_t task, const struct share *share,
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
    const float *const log_decay_k_low = (const float *)call->array[ARRAY_log_decay_k_low].at + b *
        call->array[ARRAY_log_decay_k_low].strides.batch + (g * members + m) *
        call->array[ARRAY_log_decay_k_low].strides.head;
    const int64_t log_decay_k_low_row = call->array[ARRAY_log_decay_k_low].strides.row;
    const float *const log_decay_k = (const float *)call->array[ARRAY_log_decay_k].at + b *
        call->array[ARRAY_log_decay_k].strides.batch + (g * members + m) * call->array[ARRAY_log_decay_k].strides.head;
    const int64_t log_decay_k_row = call->array[ARRAY_log_decay_k].strides.row;
    const float *const log_decay_chunk_low = (const float *)call->array[ARRAY_log_decay_chunk_low].at + b *
        call->array[ARRAY_log_decay_chunk_low].strides.batch + (g * members + m) *
        call->array[ARRAY_log_decay_chunk_low].strides.head;
    const int64_t log_decay_chunk_low_row = call->array[ARRAY_log_decay_chunk_low].strides.row;
    const float *const log_decay_chunk = (const float *)call->array[ARRAY_log_decay_chunk].at + b *
        call->array[ARRAY_log_decay_chunk].strides.batch + (g * members + m) *
        call->array[ARRAY_log_decay_chunk].strides.head;
    const int64_t log_decay_chunk_row = call->array[ARRAY_log_decay_chunk].strides.row;
    float *const key_features = (float *)(void *)(share->work + 0); /* [f: 64, j: 32] */
    float *const state = (float *)(void *)(share->slots + 0); /* [chunk, f: 64, e: 64] */
    float *const k_tile = (float *)(void *)(share->work + 8192); /* [d: 64, j: 32] */
    float *const log_decay_k_tile = (float *)(void *)(share->work + 16384); /* [d: 64, j: 32] */
    float *const log_decay_k_low_tile = (float *)(void *)(share->work + 24576); /* [d: 64, j: 32] */
    for (int64_t j0 = chunk * 32, j_end = min(n_k, (chunk + 1) * 32); j0 < j_end; j0 += 32) {
        const int64_t j1 = min(j0 + 32, j_end);
        /* k_tile = k, with zeros beyond the last row */
        T(transpose_padded)(k + j0 * k_row, k_row, j1 - j0, 64, k_tile, 32, 64);
        /* log_decay_k_tile = log_decay_k, with zeros beyond the last row */
        T(transpose_padded)(log_decay_k + j0 * log_decay_k_row, log_decay_k_row, j1 - j0, 64, log_decay_k_tile, 32, 64);
        /* log_decay_k_low_tile = log_decay_k_low, with zeros beyond the last row */
        T(transpose_padded)(log_decay_k_low + j0 * log_decay_k_low_row, log_decay_k_low_row, j1 - j0, 64,
            log_decay_k_low_tile, 32, 64);
        /* key_features = k_tile * exp2(((log_decay_chunk - log_decay_k_tile) + (log_decay_chunk_low -
           log_decay_k_low_tile)) * 1.442695f) */
        for (int64_t j = 0; j < j1 - j0; j += LANES) {
            for (int64_t f = 0; f < 64; f++) {
                T(store)(key_features + f * 32 + j, T(load)(k_tile + f * 32 + j) *
                    T(exp2)((((log_decay_chunk[max(min(((chunk + 1) * 32) - 1, n_k - 1),
                    0) * log_decay_chunk_row + f]) - T(load)(log_decay_k_tile + f * 32 + j)) +
                    ((log_decay_chunk_low[max(min(((chunk + 1) * 32) - 1, n_k - 1),
                    0) * log_decay_chunk_low_row + f]) - T(load)(log_decay_k_low_tile + f * 32 + j))) * 1.442695f));
            }
        }
        /* state[f][e] = sum over j of key_features * v */
        T(dot10)(j1 - j0, key_features, v + j0 * v_row, v_row, state + (chunk - chunk0) * 4112);
    }
}

/* Folds the slots of the current chunks, in order, for some elements of the states. */
TARGET APART void T(gla_linear_dq_dlog_decay_q_fold)(const struct call *call, int64_t task, const struct share *share,
    int64_t iteration)
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
    const int64_t log_decay_chunk_low_row = call->array[ARRAY_log_decay_chunk_low].strides.row;
    const float *const log_decay_chunk = (const float *)call->array[ARRAY_log_decay_chunk].at + b *
        call->array[ARRAY_log_decay_chunk].strides.batch + (g * members + m) *
        call->array[ARRAY_log_decay_chunk].strides.head;
    const int64_t log_decay_chunk_row = call->array[ARRAY_log_decay_chunk].strides.row;
    float *const state = (float *)(void *)(share->slots + 0); /* [chunk, f: 64, e: 64] */
    float *const carried = (float *)(void *)(share->shared + 0); /* [f: 64, e: 64] */
    float *const carried_compensation = (float *)(void *)(share->shared + 16448); /* [f: 64, e: 64] */
    float *const kept_share = (float *)(void *)(share->work + 0); /* [f: 64] */
    float *const lost_share = (float *)(void *)(share->work + 256); /* [f: 64] */
    for (int64_t chunk = chunk0; chunk < chunk1; chunk++) {
        /* kept_share = select(exp2(((log_decay_chunk - log_decay_chunk) + (log_decay_chunk_low - log_decay_chunk_low))
           * 1.442695f) < 0.5f ... */
        for (int64_t f = f0; f < f1; f += LANES) {
            const T(vec) t_0 = (T(load)(log_decay_chunk + max(min(((chunk + 1) * 32) - 1, n_k - 1),
                0) * log_decay_chunk_row + f) - T(load)(log_decay_chunk + max(min((chunk * 32) - 1, n_k - 1),
                0) * log_decay_chunk_row + f)) + (T(load)(log_decay_chunk_low + max(min(((chunk + 1) * 32) - 1,
                n_k - 1), 0) * log_decay_chunk_low_row + f) - T(load)(log_decay_chunk_low + max(min((chunk * 32) - 1,
                n_k - 1), 0) * log_decay_chunk_low_row + f));
            const T(vec) t_1 = T(exp2)(t_0 * 1.442695f);
            const T(mask) t_2 = t_1 < 0.5f;
            T(store)(kept_share + f, T(pick)(t_2, t_1, T(splat)(1.0f)));
            T(store)(lost_share + f, T(pick)(t_2, T(splat)(0.0f), -T(expm1)(t_0)));
        }
        /* before = carried; carried = carried * kept_share; carried_compensation = carried_compensation * kept_share;
           carried += state - ( ... */
        for (int64_t f = f0; f < f1; f++) {
            for (int64_t e_first = 0; e_first < 64; e_first += OF(64, 16, 8)) {
                UNROLL for (int64_t vector = 0, e = e_first; vector < OF(4, 2, 2); vector++, e += LANES) {
                    const T(vec) carried_3 = T(load)(carried + f * 64 + e);
                    const T(vec) before_new4 = carried_3;
                    const float kept_share_5 = kept_share[f];
                    const T(vec) carried_new6 = carried_3 * kept_share_5;
                    T(store)(carried + f * 64 + e, carried_new6);
                    T(store)(carried_compensation + f * 64 + e, T(load)(carried_compensation + f * 64 + e) *
                        kept_share_5);
                    T(add)(carried + f * 64 + e, carried_compensation + f * 64 + e,
                        T(load)(state + (chunk - chunk0) * 4112 + f * 64 + e) - (carried_new6 * lost_share[f]),
                        T(splat)(1));
                    T(store)(state + (chunk - chunk0) * 4112 + f * 64 + e, before_new4);
                }
            }
        }
    }
}

/* Processes the queries of a chunk: reads the state before the chunk, and the keys in the chunk. */
TARGET APART void T(gla_linear_dq_dlog_decay_q_queries)(const struct call *call, int64_t task,
    const struct share *share, int64_t iteration)
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
    const float *const log_decay_chunk_low = (const float *)call->array[ARRAY_log_decay_chunk_low].at + b *
        call->array[ARRAY_log_decay_chunk_low].strides.batch + (g * members + m) *
        call->array[ARRAY_log_decay_chunk_low].strides.head;
    const int64_t log_decay_chunk_low_row = call->array[ARRAY_log_decay_chunk_low].strides.row;
    const float *const log_decay_chunk = (const float *)call->array[ARRAY_log_decay_chunk].at + b *
        call->array[ARRAY_log_decay_chunk].strides.batch + (g * members + m) *
        call->array[ARRAY_log_decay_chunk].strides.head;
    const int64_t log_decay_chunk_row = call->array[ARRAY_log_decay_chunk].strides.row;
    const float *const dout = (const float *)call->array[ARRAY_dout].at + b * call->array[ARRAY_dout].strides.batch + (g
        * members + m) * call->array[ARRAY_dout].strides.head;
    const int64_t dout_row = call->array[ARRAY_dout].strides.row;
    float *const state = (float *)(void *)(share->slots + 0); /* [chunk, f: 64, e: 64] */
    float *const score = (float *)(void *)(share->work + 0); /* [j: 32, i: 32] */
    float *const sum_from_state = (float *)(void *)(share->work + 4096); /* [f: 64, i: 32] */
    float *const query = (float *)(void *)(share->work + 12288); /* [f: 64, i: 32] */
    float *const row_sum = (float *)(void *)(share->work + 20480); /* [i: 32, d: 64] */
    float *const dq = call->array[ARRAY_dq].at ? (float *)call->array[ARRAY_dq].at + b *
        call->array[ARRAY_dq].strides.batch + (g * members + m) * call->array[ARRAY_dq].strides.head : NULL;
    const int64_t dq_row = call->array[ARRAY_dq].strides.row;
    float *const dlog_decay_q = call->array[ARRAY_dlog_decay_q].at ? (float *)call->array[ARRAY_dlog_decay_q].at + b *
        call->array[ARRAY_dlog_decay_q].strides.batch + (g * members + m) * call->array[ARRAY_dlog_decay_q].strides.head
        : NULL;
    const int64_t dlog_decay_q_row = call->array[ARRAY_dlog_decay_q].strides.row;
    float *const dout_tile = (float *)(void *)(share->work + 28672); /* [e: 64, i: 32] */
    float *const log_decay_q_tile = (float *)(void *)(share->work + 20480); /* [d: 64, i: 32] */
    float *const log_decay_q_low_tile = (float *)(void *)(share->work + 36864); /* [d: 64, i: 32] */
    float *const q_tile = (float *)(void *)(share->work + 45056); /* [d: 64, i: 32] */
    float *const row_sum_turned = (float *)(void *)(share->work + 28672); /* [d: 64, i: 32] */
    float *const row_sum_turned_2 = (float *)(void *)(share->work + 36864); /* [d: 64, i: 32] */
    for (int64_t i0 = (chunk == 0) ? 0 : max(0, (chunk * 32) - query_start), i_end = min(n_q,
        ((chunk + 1) * 32) - query_start); i0 < i_end; i0 += 32) {
        const int64_t i1 = min(i0 + 32, i_end);
        /* dout_tile = dout, with zeros beyond the last row */
        T(transpose_padded)(dout + i0 * dout_row, dout_row, i1 - i0, 64, dout_tile, 32, 64);
        /* log_decay_q_tile = log_decay_q, with zeros beyond the last row */
        T(transpose_padded)(log_decay_q + i0 * log_decay_q_row, log_decay_q_row, i1 - i0, 64, log_decay_q_tile, 32, 64);
        /* log_decay_q_low_tile = log_decay_q_low, with zeros beyond the last row */
        T(transpose_padded)(log_decay_q_low + i0 * log_decay_q_low_row, log_decay_q_low_row, i1 - i0, 64,
            log_decay_q_low_tile, 32, 64);
        if (dlog_decay_q) {
            /* q_tile = q, with zeros beyond the last row */
            T(transpose_padded)(q + i0 * q_row, q_row, i1 - i0, 64, q_tile, 32, 64);
        }
        /* sum_from_state[f][i] = sum over e of state * dout_tile */
        T(dot11)(round_up(i1 - i0, LANES), state + (chunk - chunk0) * 4112, dout_tile, sum_from_state,
            (const struct coming[]){{v + max(0, chunk * 32) * v_row, 4 * v_row, 256}, {k + max(0, chunk * 32) * k_row,
            4 * k_row, 256}, {log_decay_k + max(0, chunk * 32) * log_decay_k_row, 4 * log_decay_k_row, 256},
            {log_decay_k_low + max(0, chunk * 32) * log_decay_k_low_row, 4 * log_decay_k_low_row, 256}});
        /* query = sum_from_state * (select(chunk == 0, 1.0f, exp2(((log_decay_q_tile - log_decay_chunk) +
           (log_decay_q_low_tile - log_deca ... */
        const int t_8 = chunk == 0;
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            for (int64_t f = 0; f < 64; f++) {
                const T(vec) sum_from_state_7 = T(load)(sum_from_state + f * 32 + i);
                const T(vec) t_9 = T(exp2)(((T(load)(log_decay_q_tile + f * 32 + i) - (log_decay_chunk[max(min((chunk *
                    32) - 1, n_k - 1), 0) * log_decay_chunk_row + f])) + (T(load)(log_decay_q_low_tile + f * 32 + i) -
                    (log_decay_chunk_low[max(min((chunk * 32) - 1, n_k - 1),
                    0) * log_decay_chunk_low_row + f]))) * 1.442695f);
                T(store)(query + f * 32 + i, sum_from_state_7 * ((t_8 ? T(splat)(1.0f) : t_9) * 0.125f));
                T(store)(sum_from_state + f * 32 + i, sum_from_state_7 * ((T(load)(q_tile + f * 32 + i) * (t_8 ?
                    T(splat)(0.0f) : t_9)) * 0.125f));
            }
        }
        /* row_sum = 0.0f */
        for (int64_t i = 0; i < i1 - i0; i++) {
            for (int64_t d_first = 0; d_first < 64; d_first += OF(64, 16, 8)) {
                UNROLL for (int64_t vector = 0, d = d_first; vector < OF(4, 2, 2); vector++, d += LANES) {
                    T(store)(row_sum + i * 64 + d, T(splat)(0.0f));
                }
            }
        }
        for (int64_t j0 = max(0, chunk * 32), j_end = min(n_k, i1 + query_start); j0 < j_end; j0 += 32) {
            const int64_t j1 = min(j0 + 32, j_end);
            /* score[j][i] = sum over e of v * dout_tile */
            T(dot12)(round_up(i1 - i0, LANES), j1 - j0, v + j0 * v_row, v_row, dout_tile, score);
            if ((j0 < (chunk * 32)) || ((i0 + query_start + 1) < j1)) { /* the tile is partly outside the mask */
                /* score = select((j <= (i + query_start)) && ((chunk * 32) <= j), score, 0.0f) */
                for (int64_t i = 0; i < i1 - i0; i += LANES) {
                    const T(ints) t_10 = (i0 + i + T(lane)) + query_start;
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        T(store)(score + j * 32 + i, T(pick)(__builtin_convertvector(((j0 + j) <= t_10) &
                            (-(int64_t)((chunk * 32) <= (j0 + j))), T(mask)), T(load)(score + j * 32 + i),
                            T(splat)(0.0f)));
                    }
                }
            }
            /* row_sum[i][d] += sum over j of score * k * a decay */
            T(dot13)(i1 - i0, j1 - j0, i0 + query_start - j0, score, k + j0 * k_row, k_row,
                log_decay_q + i0 * log_decay_q_row, log_decay_q_row, log_decay_q_low + i0 * log_decay_q_low_row,
                log_decay_q_low_row, log_decay_k + j0 * log_decay_k_row, log_decay_k_row,
                log_decay_k_low + j0 * log_decay_k_low_row, log_decay_k_low_row, row_sum);
        }
        if (dq) {
            /* row_sum_turned = row_sum, with zeros beyond the last row */
            T(transpose_padded)(row_sum, 64, i1 - i0, 64, row_sum_turned, 32, 64);
        }
        if (dlog_decay_q) {
            /* row_sum_turned_2 = row_sum, with zeros beyond the last row */
            T(transpose_padded)(row_sum, 64, i1 - i0, 64, row_sum_turned_2, 32, 64);
        }
        /* row_sum_turned = query + (row_sum_turned * 0.125f); q_tile = sum_from_state + (row_sum_turned_2 * (q_tile *
           0.125f)) */
        for (int64_t d = 0; d < 64; d++) {
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                T(store)(row_sum_turned + d * 32 + i, T(load)(query + d * 32 + i) + (T(load)(row_sum_turned + d * 32 +
                    i) * 0.125f));
                T(store)(q_tile + d * 32 + i, T(load)(sum_from_state + d * 32 + i) + (T(load)(row_sum_turned_2 + d * 32
                    + i) * (T(load)(q_tile + d * 32 + i) * 0.125f)));
            }
        }
        if (dq) {
            /* dq = row_sum_turned, transposed back */
            T(transpose_out)(row_sum_turned, 32, 64, i1 - i0, dq + i0 * dq_row, dq_row, 0);
        }
        if (dlog_decay_q) {
            /* dlog_decay_q = q_tile, transposed back */
            T(transpose_out)(q_tile, 32, 64, i1 - i0, dlog_decay_q + i0 * dlog_decay_q_row, dlog_decay_q_row, 0);
        }
    }
}

/* For a thread that works on the head alone: adds a chunk to the carried state. */
TARGET APART void T(gla_linear_dq_dlog_decay_q_keys_alone)(const struct call *call, int64_t task,
    const struct share *share, int64_t iteration)
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
    const int64_t log_decay_k_low_row = call->array[ARRAY_log_decay_k_low].strides.row;
    const float *const log_decay_k = (const float *)call->array[ARRAY_log_decay_k].at + b *
        call->array[ARRAY_log_decay_k].strides.batch + (g * members + m) * call->array[ARRAY_log_decay_k].strides.head;
    const int64_t log_decay_k_row = call->array[ARRAY_log_decay_k].strides.row;
    const float *const log_decay_chunk_low = (const float *)call->array[ARRAY_log_decay_chunk_low].at + b *
        call->array[ARRAY_log_decay_chunk_low].strides.batch + (g * members + m) *
        call->array[ARRAY_log_decay_chunk_low].strides.head;
    const int64_t log_decay_chunk_low_row = call->array[ARRAY_log_decay_chunk_low].strides.row;
    const float *const log_decay_chunk = (const float *)call->array[ARRAY_log_decay_chunk].at + b *
        call->array[ARRAY_log_decay_chunk].strides.batch + (g * members + m) *
        call->array[ARRAY_log_decay_chunk].strides.head;
    const int64_t log_decay_chunk_row = call->array[ARRAY_log_decay_chunk].strides.row;
    float *const key_features = (float *)(void *)(share->work + 0); /* [f: 64, j: 32] */
    float *const carried = (float *)(void *)(share->shared + 0); /* [f: 64, e: 64] */
    float *const carried_compensation = (float *)(void *)(share->shared + 16448); /* [f: 64, e: 64] */
    float *const k_tile = (float *)(void *)(share->work + 8192); /* [d: 64, j: 32] */
    float *const log_decay_k_tile = (float *)(void *)(share->work + 16384); /* [d: 64, j: 32] */
    float *const log_decay_k_low_tile = (float *)(void *)(share->work + 24576); /* [d: 64, j: 32] */
    float *const kept_share_2 = (float *)(void *)(share->slots + 0); /* [chunk, f: 64] */
    float *const lost_share_2 = (float *)(void *)(share->slots + 256); /* [chunk, f: 64] */
    for (int64_t j0 = chunk * 32, j_end = min(n_k, (chunk + 1) * 32); j0 < j_end; j0 += 32) {
        const int64_t j1 = min(j0 + 32, j_end);
        /* k_tile = k, with zeros beyond the last row */
        T(transpose_padded)(k + j0 * k_row, k_row, j1 - j0, 64, k_tile, 32, 64);
        /* log_decay_k_tile = log_decay_k, with zeros beyond the last row */
        T(transpose_padded)(log_decay_k + j0 * log_decay_k_row, log_decay_k_row, j1 - j0, 64, log_decay_k_tile, 32, 64);
        /* log_decay_k_low_tile = log_decay_k_low, with zeros beyond the last row */
        T(transpose_padded)(log_decay_k_low + j0 * log_decay_k_low_row, log_decay_k_low_row, j1 - j0, 64,
            log_decay_k_low_tile, 32, 64);
        /* key_features = k_tile * exp2(((log_decay_chunk - log_decay_k_tile) + (log_decay_chunk_low -
           log_decay_k_low_tile)) * 1.442695f) */
        for (int64_t j = 0; j < j1 - j0; j += LANES) {
            for (int64_t f = 0; f < 64; f++) {
                T(store)(key_features + f * 32 + j, T(load)(k_tile + f * 32 + j) *
                    T(exp2)((((log_decay_chunk[max(min(((chunk + 1) * 32) - 1, n_k - 1),
                    0) * log_decay_chunk_row + f]) - T(load)(log_decay_k_tile + f * 32 + j)) +
                    ((log_decay_chunk_low[max(min(((chunk + 1) * 32) - 1, n_k - 1),
                    0) * log_decay_chunk_low_row + f]) - T(load)(log_decay_k_low_tile + f * 32 + j))) * 1.442695f));
            }
        }
        /* kept_share_2 = select(exp2(((log_decay_chunk - log_decay_chunk) + (log_decay_chunk_low -
           log_decay_chunk_low)) * 1.442695f) < 0. ... */
        for (int64_t f = 0; f < 64; f += LANES) {
            const T(vec) t_11 = (T(load)(log_decay_chunk + max(min(((chunk + 1) * 32) - 1, n_k - 1),
                0) * log_decay_chunk_row + f) - T(load)(log_decay_chunk + max(min((chunk * 32) - 1, n_k - 1),
                0) * log_decay_chunk_row + f)) + (T(load)(log_decay_chunk_low + max(min(((chunk + 1) * 32) - 1,
                n_k - 1), 0) * log_decay_chunk_low_row + f) - T(load)(log_decay_chunk_low + max(min((chunk * 32) - 1,
                n_k - 1), 0) * log_decay_chunk_low_row + f));
            const T(vec) t_12 = T(exp2)(t_11 * 1.442695f);
            const T(mask) t_13 = t_12 < 0.5f;
            T(store)(kept_share_2 + (chunk - chunk0) * 4112 + f, T(pick)(t_13, t_12, T(splat)(1.0f)));
            T(store)(lost_share_2 + (chunk - chunk0) * 4112 + f, T(pick)(t_13, T(splat)(0.0f), -T(expm1)(t_11)));
        }
        /* carried[f][e] = carried * kept_share_2 - carried * lost_share_2 + sum over j of key_features * v */
        T(dot14)(j1 - j0, key_features, v + j0 * v_row, v_row, carried, carried_compensation,
            kept_share_2 + (chunk - chunk0) * 4112, lost_share_2 + (chunk - chunk0) * 4112);
    }
}

/* Computes head number `task`. Each thread on the head calls this with `share`. */
TARGET static void T(gla_linear_dq_dlog_decay_q)(const struct call *call, int64_t task, struct share *share)
{
    const int64_t n_k = call->p.n_k;
    const int64_t chunks = n_k > 0 ? (n_k - 1) / 32 + 1 : 1;
    for (int64_t iteration = share->number; iteration < ((64 + 31) / 32); iteration += share->threads)
        T(gla_linear_dq_dlog_decay_q_begin)(call, task, share, iteration);
    synchronise(share);
    const int64_t first = 0;
    if (share->threads == 1) { /* queries read the carried state before their chunk is added */
        unsigned char *const slots = share->slots;
        for (share->chunk0 = first; share->chunk0 < chunks; share->chunk0++) {
            share->chunk1 = share->chunk0 + 1;
            share->slots = share->shared;
            T(gla_linear_dq_dlog_decay_q_queries)(call, task, share, share->chunk0);
            share->slots = slots;
            T(gla_linear_dq_dlog_decay_q_keys_alone)(call, task, share, share->chunk0);

        }
    } else {
        const int64_t length = segment_length(share, chunks - first);
        for (int64_t segment = share->number; first + segment * length < chunks; segment += share->threads) {
            share->chunk0 = first + segment * length;
            share->chunk1 = min(share->chunk0 + length, chunks);
            for (int64_t iteration = share->chunk0; iteration < share->chunk1; iteration++)
                T(gla_linear_dq_dlog_decay_q_keys)(call, task, share, iteration);
            for (int64_t group = 0; group < 16; group++) {
                await_segment(share, group, segment);
                const int64_t end = (group + 1) * ((64 + 31) / 32) / 16;
                for (int64_t iteration = group * ((64 + 31) / 32) / 16; iteration < end; iteration++)
                    T(gla_linear_dq_dlog_decay_q_fold)(call, task, share, iteration);
                pass_segment(share, group, segment);
            }
            for (int64_t iteration = share->chunk0; iteration < share->chunk1; iteration++)
                T(gla_linear_dq_dlog_decay_q_queries)(call, task, share, iteration);
        }
        share->segments += (max(chunks - first, 0) + length - 1) / length;
    }
    synchronise(share);
}

/* Initialises the states: they contain no queries yet. */
TARGET APART void T(gla_linear_linear_heads_0_linear_heads_1_dlog_decay_k_begin)(const struct call *call, int64_t task,
    const struct share *share, int64_t iteration)
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

/* Sums the queries of a chunk, from zero, into its slot. */
TARGET APART void T(gla_linear_linear_heads_0_linear_heads_1_dlog_decay_k_queries)(const struct call *call,
    int64_t task, const struct share *share, int64_t iteration)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_q = call->p.n_q;
    const int64_t n_k = call->p.n_k;
    const int64_t chunks = n_k > 0 ? (n_k - 1) / 32 + 1 : 1;
    const int64_t chunk = iteration;
    const int64_t chunk0 = share->chunk0;
    const int64_t m = task % members;
    const int64_t g = task / members % kv_heads;
    const int64_t b = task / members / kv_heads;
    const int64_t query_start = call->p.query_start ? call->p.query_start[b] : n_k - n_q;
    const float *const q = (const float *)call->array[ARRAY_q].at + b * call->array[ARRAY_q].strides.batch + (g /
        call->sharing * members + m) * call->array[ARRAY_q].strides.head;
    const int64_t q_row = call->array[ARRAY_q].strides.row;
    const float *const log_decay_q_low = (const float *)call->array[ARRAY_log_decay_q_low].at + b *
        call->array[ARRAY_log_decay_q_low].strides.batch + (g * members + m) *
        call->array[ARRAY_log_decay_q_low].strides.head;
    const int64_t log_decay_q_low_row = call->array[ARRAY_log_decay_q_low].strides.row;
    const float *const log_decay_q = (const float *)call->array[ARRAY_log_decay_q].at + b *
        call->array[ARRAY_log_decay_q].strides.batch + (g * members + m) * call->array[ARRAY_log_decay_q].strides.head;
    const int64_t log_decay_q_row = call->array[ARRAY_log_decay_q].strides.row;
    const float *const log_decay_chunk_low = (const float *)call->array[ARRAY_log_decay_chunk_low].at + b *
        call->array[ARRAY_log_decay_chunk_low].strides.batch + (g * members + m) *
        call->array[ARRAY_log_decay_chunk_low].strides.head;
    const int64_t log_decay_chunk_low_row = call->array[ARRAY_log_decay_chunk_low].strides.row;
    const float *const log_decay_chunk = (const float *)call->array[ARRAY_log_decay_chunk].at + b *
        call->array[ARRAY_log_decay_chunk].strides.batch + (g * members + m) *
        call->array[ARRAY_log_decay_chunk].strides.head;
    const int64_t log_decay_chunk_row = call->array[ARRAY_log_decay_chunk].strides.row;
    const float *const dout = (const float *)call->array[ARRAY_dout].at + b * call->array[ARRAY_dout].strides.batch + (g
        * members + m) * call->array[ARRAY_dout].strides.head;
    const int64_t dout_row = call->array[ARRAY_dout].strides.row;
    float *const key_features = (float *)(void *)(share->work + 0); /* [f: 64, i: 32] */
    float *const state = (float *)(void *)(share->slots + 0); /* [chunk, f: 64, e: 64] */
    float *const q_tile = (float *)(void *)(share->work + 8192); /* [d: 64, i: 32] */
    float *const log_decay_q_tile = (float *)(void *)(share->work + 16384); /* [d: 64, i: 32] */
    float *const log_decay_q_low_tile = (float *)(void *)(share->work + 24576); /* [d: 64, i: 32] */
    float *const log_decay_chunk_at = (float *)(void *)(share->work + 32768); /* [f: 64, i: 32] */
    float *const log_decay_chunk_low_at = (float *)(void *)(share->work + 40960); /* [f: 64, i: 32] */
    /* state = 0.0f */
    for (int64_t f = 0; f < 64; f++) {
        for (int64_t e_first = 0; e_first < 64; e_first += OF(64, 16, 8)) {
            UNROLL for (int64_t vector = 0, e = e_first; vector < OF(4, 2, 2); vector++, e += LANES) {
                T(store)(state + (chunk - chunk0) * 4112 + f * 64 + e, T(splat)(0.0f));
            }
        }
    }
    for (int64_t i0 = ((chunks - chunk - 1) == 0) ? 0 : max(0, ((chunks - chunk - 1) * 32) - query_start),
        i_end = min(n_q, ((chunks - chunk) * 32) - query_start); i0 < i_end; i0 += 32) {
        const int64_t i1 = min(i0 + 32, i_end);
        /* q_tile = q, with zeros beyond the last row */
        T(transpose_padded)(q + i0 * q_row, q_row, i1 - i0, 64, q_tile, 32, 64);
        /* log_decay_q_tile = log_decay_q, with zeros beyond the last row */
        T(transpose_padded)(log_decay_q + i0 * log_decay_q_row, log_decay_q_row, i1 - i0, 64, log_decay_q_tile, 32, 64);
        /* log_decay_q_low_tile = log_decay_q_low, with zeros beyond the last row */
        T(transpose_padded)(log_decay_q_low + i0 * log_decay_q_low_row, log_decay_q_low_row, i1 - i0, 64,
            log_decay_q_low_tile, 32, 64);
        /* log_decay_chunk_at = log_decay_chunk, at computed subscripts */
        int64_t part_0[32];
        for (int64_t i = 0; i < i1 - i0; i++) part_0[i] = max(min(((max((i0 + i) + query_start, 0) / 32) * 32) - 1,
            n_k - 1), 0);
        for (int64_t f = 0; f < 64; f++) {
            int64_t at_1[32];
            for (int64_t i = 0; i < i1 - i0; i++) at_1[i] = part_0[i] * log_decay_chunk_row + f;
            for (int64_t i = 0; i < i1 - i0; i++) log_decay_chunk_at[f * 32 + i] = log_decay_chunk[at_1[i]];
            for (int64_t i = i1 - i0; i < round_up(i1 - i0, LANES); i++) log_decay_chunk_at[f * 32 + i] = 0;
        }
        /* log_decay_chunk_low_at = log_decay_chunk_low, at computed subscripts */
        int64_t part_2[32];
        for (int64_t i = 0; i < i1 - i0; i++) part_2[i] = max(min(((max((i0 + i) + query_start, 0) / 32) * 32) - 1,
            n_k - 1), 0);
        for (int64_t f = 0; f < 64; f++) {
            int64_t at_3[32];
            for (int64_t i = 0; i < i1 - i0; i++) at_3[i] = part_2[i] * log_decay_chunk_low_row + f;
            for (int64_t i = 0; i < i1 - i0; i++) log_decay_chunk_low_at[f * 32 + i] = log_decay_chunk_low[at_3[i]];
            for (int64_t i = i1 - i0; i < round_up(i1 - i0, LANES); i++) log_decay_chunk_low_at[f * 32 + i] = 0;
        }
        /* key_features = ((q_tile * 0.125f) * select((max(i + query_start, 0) / 32) == 0, 1.0f,
           exp2(((log_decay_q_tile - log_decay_chunk_ ... */
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            const T(ints) t_4 = ((((((i0 + i + T(lane)) + query_start) > 0) & ((i0 + i + T(lane)) + query_start)) |
                (~(((i0 + i + T(lane)) + query_start) > 0) & (0 - (T(ints)){0}))) / 32) == 0;
            for (int64_t f = 0; f < 64; f++) {
                const T(vec) log_decay_chunk_at_5 = T(load)(log_decay_chunk_at + f * 32 + i);
                const T(vec) log_decay_chunk_low_at_6 = T(load)(log_decay_chunk_low_at + f * 32 + i);
                T(store)(key_features + f * 32 + i, ((T(load)(q_tile + f * 32 + i) * 0.125f) *
                    T(pick)(__builtin_convertvector(t_4, T(mask)), T(splat)(1.0f),
                    T(exp2)(((T(load)(log_decay_q_tile + f * 32 + i) - log_decay_chunk_at_5) +
                    (T(load)(log_decay_q_low_tile + f * 32 + i) - log_decay_chunk_low_at_6)) * 1.442695f))) *
                    T(exp2)(((log_decay_chunk_at_5 - (log_decay_chunk[max(min(((chunks - chunk - 1) * 32) - 1, n_k - 1),
                    0) * log_decay_chunk_row + f])) + (log_decay_chunk_low_at_6 - (log_decay_chunk_low[max(min(((chunks
                    - chunk - 1) * 32) - 1, n_k - 1), 0) * log_decay_chunk_low_row + f]))) * 1.442695f));
            }
        }
        /* state[f][e] += sum over i of key_features * dout */
        T(dot15)(i1 - i0, key_features, dout + i0 * dout_row, dout_row, state + (chunk - chunk0) * 4112);
    }
}

/* Folds the slots of the current chunks, in order, for some elements of the states. */
TARGET APART void T(gla_linear_linear_heads_0_linear_heads_1_dlog_decay_k_fold)(const struct call *call, int64_t task,
    const struct share *share, int64_t iteration)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_k = call->p.n_k;
    const int64_t chunks = n_k > 0 ? (n_k - 1) / 32 + 1 : 1;
    const int64_t f0 = iteration * 32, f1 = min(f0 + 32, 64);
    const int64_t chunk0 = share->chunk0;
    const int64_t chunk1 = share->chunk1;
    const int64_t m = task % members;
    const int64_t g = task / members % kv_heads;
    const int64_t b = task / members / kv_heads;
    const float *const log_decay_chunk_low = (const float *)call->array[ARRAY_log_decay_chunk_low].at + b *
        call->array[ARRAY_log_decay_chunk_low].strides.batch + (g * members + m) *
        call->array[ARRAY_log_decay_chunk_low].strides.head;
    const int64_t log_decay_chunk_low_row = call->array[ARRAY_log_decay_chunk_low].strides.row;
    const float *const log_decay_chunk = (const float *)call->array[ARRAY_log_decay_chunk].at + b *
        call->array[ARRAY_log_decay_chunk].strides.batch + (g * members + m) *
        call->array[ARRAY_log_decay_chunk].strides.head;
    const int64_t log_decay_chunk_row = call->array[ARRAY_log_decay_chunk].strides.row;
    float *const state = (float *)(void *)(share->slots + 0); /* [chunk, f: 64, e: 64] */
    float *const carried = (float *)(void *)(share->shared + 0); /* [f: 64, e: 64] */
    float *const carried_compensation = (float *)(void *)(share->shared + 16448); /* [f: 64, e: 64] */
    float *const kept_share = (float *)(void *)(share->work + 0); /* [f: 64] */
    float *const lost_share = (float *)(void *)(share->work + 256); /* [f: 64] */
    for (int64_t chunk = chunk0; chunk < chunk1; chunk++) {
        /* kept_share = select(exp2(((log_decay_chunk - log_decay_chunk) + (log_decay_chunk_low - log_decay_chunk_low))
           * 1.442695f) < 0.5f ... */
        for (int64_t f = f0; f < f1; f += LANES) {
            const T(vec) t_7 = (T(load)(log_decay_chunk + max(min(((chunks - chunk) * 32) - 1, n_k - 1),
                0) * log_decay_chunk_row + f) - T(load)(log_decay_chunk + max(min(((chunks - chunk - 1) * 32) - 1,
                n_k - 1), 0) * log_decay_chunk_row + f)) + (T(load)(log_decay_chunk_low + max(min(((chunks - chunk) *
                32) - 1, n_k - 1), 0) * log_decay_chunk_low_row + f) - T(load)(log_decay_chunk_low + max(min(((chunks -
                chunk - 1) * 32) - 1, n_k - 1), 0) * log_decay_chunk_low_row + f));
            const T(vec) t_8 = T(exp2)(t_7 * 1.442695f);
            const T(mask) t_9 = t_8 < 0.5f;
            T(store)(kept_share + f, T(pick)(t_9, t_8, T(splat)(1.0f)));
            T(store)(lost_share + f, T(pick)(t_9, T(splat)(0.0f), -T(expm1)(t_7)));
        }
        /* before = carried; carried = carried * kept_share; carried_compensation = carried_compensation * kept_share;
           carried += state - ( ... */
        for (int64_t f = f0; f < f1; f++) {
            for (int64_t e_first = 0; e_first < 64; e_first += OF(64, 16, 8)) {
                UNROLL for (int64_t vector = 0, e = e_first; vector < OF(4, 2, 2); vector++, e += LANES) {
                    const T(vec) carried_10 = T(load)(carried + f * 64 + e);
                    const T(vec) before_new11 = carried_10;
                    const float kept_share_12 = kept_share[f];
                    const T(vec) carried_new13 = carried_10 * kept_share_12;
                    T(store)(carried + f * 64 + e, carried_new13);
                    T(store)(carried_compensation + f * 64 + e, T(load)(carried_compensation + f * 64 + e) *
                        kept_share_12);
                    T(add)(carried + f * 64 + e, carried_compensation + f * 64 + e,
                        T(load)(state + (chunk - chunk0) * 4112 + f * 64 + e) - (carried_new13 * lost_share[f]),
                        T(splat)(1));
                    T(store)(state + (chunk - chunk0) * 4112 + f * 64 + e, before_new11);
                }
            }
        }
    }
}

/* Processes the keys of a chunk: reads the state after the chunk, and the queries in the chunk. */
TARGET APART void T(gla_linear_linear_heads_0_linear_heads_1_dlog_decay_k_keys)(const struct call *call, int64_t task,
    const struct share *share, int64_t iteration)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_q = call->p.n_q;
    const int64_t n_k = call->p.n_k;
    const int64_t chunks = n_k > 0 ? (n_k - 1) / 32 + 1 : 1;
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
    const float *const log_decay_chunk_low = (const float *)call->array[ARRAY_log_decay_chunk_low].at + b *
        call->array[ARRAY_log_decay_chunk_low].strides.batch + (g * members + m) *
        call->array[ARRAY_log_decay_chunk_low].strides.head;
    const int64_t log_decay_chunk_low_row = call->array[ARRAY_log_decay_chunk_low].strides.row;
    const float *const log_decay_chunk = (const float *)call->array[ARRAY_log_decay_chunk].at + b *
        call->array[ARRAY_log_decay_chunk].strides.batch + (g * members + m) *
        call->array[ARRAY_log_decay_chunk].strides.head;
    const int64_t log_decay_chunk_row = call->array[ARRAY_log_decay_chunk].strides.row;
    const float *const dout = (const float *)call->array[ARRAY_dout].at + b * call->array[ARRAY_dout].strides.batch + (g
        * members + m) * call->array[ARRAY_dout].strides.head;
    const int64_t dout_row = call->array[ARRAY_dout].strides.row;
    float *const state = (float *)(void *)(share->slots + 0); /* [chunk, f: 64, e: 64] */
    float *const weight = (float *)(void *)(share->work + 0); /* [i: 32, j: 32] */
    float *const score = (float *)(void *)(share->work + 4096); /* [i: 32, j: 32] */
    float *const query = (float *)(void *)(share->work + 0); /* [f: 64, j: 32] */
    float *const sum_from_state = (float *)(void *)(share->work + 8192); /* [f: 64, j: 32] */
    float *const query_2 = (float *)(void *)(share->work + 16384); /* [f: 64, j: 32] */
    float *const row_sum = (float *)(void *)(share->work + 24576); /* [j: 32, d: 64] */
    float *const query_sum = (float *)(void *)(share->work + 32768); /* [f: 64, j: 32] */
    float *const sum = (float *)(void *)(share->work + 8192); /* [e: 64, j: 32] */
    float *const sum_compensation = (float *)(void *)(share->work + 40960); /* [e: 64, j: 32] */
    float *const sum_from_state_2 = (float *)(void *)(share->work + 49152); /* [e: 64, j: 32] */
    float *const linear_heads_0 = call->array[ARRAY_linear_heads_0].at ? (float *)call->array[ARRAY_linear_heads_0].at +
        b * call->array[ARRAY_linear_heads_0].strides.batch + (g * members + m) *
        call->array[ARRAY_linear_heads_0].strides.head : NULL;
    const int64_t linear_heads_0_row = call->array[ARRAY_linear_heads_0].strides.row;
    float *const linear_heads_1 = call->array[ARRAY_linear_heads_1].at ? (float *)call->array[ARRAY_linear_heads_1].at +
        b * call->array[ARRAY_linear_heads_1].strides.batch + (g * members + m) *
        call->array[ARRAY_linear_heads_1].strides.head : NULL;
    const int64_t linear_heads_1_row = call->array[ARRAY_linear_heads_1].strides.row;
    float *const dlog_decay_k = call->array[ARRAY_dlog_decay_k].at ? (float *)call->array[ARRAY_dlog_decay_k].at + b *
        call->array[ARRAY_dlog_decay_k].strides.batch + (g * members + m) * call->array[ARRAY_dlog_decay_k].strides.head
        : NULL;
    const int64_t dlog_decay_k_row = call->array[ARRAY_dlog_decay_k].strides.row;
    float *const k_tile = (float *)(void *)(share->work + 57344); /* [d: 64, j: 32] */
    float *const log_decay_k_tile = (float *)(void *)(share->work + 40960); /* [d: 64, j: 32] */
    float *const log_decay_k_low_tile = (float *)(void *)(share->work + 49152); /* [d: 64, j: 32] */
    float *const v_tile = (float *)(void *)(share->work + 65536); /* [e: 64, j: 32] */
    float *const row_sum_turned = (float *)(void *)(share->work + 0); /* [d: 64, j: 32] */
    float *const row_sum_turned_2 = (float *)(void *)(share->work + 40960); /* [d: 64, j: 32] */
    for (int64_t j0 = ((chunks - chunk - 1) == 0) ? 0 : max(0, (chunks - chunk - 1) * 32), j_end = min(n_k,
        (chunks - chunk) * 32); j0 < j_end; j0 += 32) {
        const int64_t j1 = min(j0 + 32, j_end);
        if (linear_heads_1 || dlog_decay_k) {
            /* k_tile = k, with zeros beyond the last row */
            T(transpose_padded)(k + j0 * k_row, k_row, j1 - j0, 64, k_tile, 32, 64);
        }
        /* log_decay_k_tile = log_decay_k, with zeros beyond the last row */
        T(transpose_padded)(log_decay_k + j0 * log_decay_k_row, log_decay_k_row, j1 - j0, 64, log_decay_k_tile, 32, 64);
        /* log_decay_k_low_tile = log_decay_k_low, with zeros beyond the last row */
        T(transpose_padded)(log_decay_k_low + j0 * log_decay_k_low_row, log_decay_k_low_row, j1 - j0, 64,
            log_decay_k_low_tile, 32, 64);
        if (linear_heads_0 || dlog_decay_k) {
            /* v_tile = v, with zeros beyond the last row */
            T(transpose_padded)(v + j0 * v_row, v_row, j1 - j0, 64, v_tile, 32, 64);
            /* sum_from_state[f][j] = sum over e of state * v_tile */
            T(dot16)(round_up(j1 - j0, LANES), state + (chunk - chunk0) * 4112, v_tile, sum_from_state);
            /* row_sum = 0.0f */
            for (int64_t j = 0; j < j1 - j0; j++) {
                for (int64_t d_first = 0; d_first < 64; d_first += OF(64, 16, 8)) {
                    UNROLL for (int64_t vector = 0, d = d_first; vector < OF(4, 2, 2); vector++, d += LANES) {
                        T(store)(row_sum + j * 64 + d, T(splat)(0.0f));
                    }
                }
            }
        }
        /* query = k_tile * exp2(((log_decay_chunk - log_decay_k_tile) + (log_decay_chunk_low - log_decay_k_low_tile)) *
           1.442695f); query_ ... */
        for (int64_t j = 0; j < j1 - j0; j += LANES) {
            for (int64_t f = 0; f < 64; f++) {
                const T(vec) query_new14 = T(load)(k_tile + f * 32 + j) * T(exp2)((((log_decay_chunk[max(min(((chunks -
                    chunk) * 32) - 1, n_k - 1), 0) * log_decay_chunk_row + f]) - T(load)(log_decay_k_tile + f * 32 + j))
                    + ((log_decay_chunk_low[max(min(((chunks - chunk) * 32) - 1, n_k - 1),
                    0) * log_decay_chunk_low_row + f]) - T(load)(log_decay_k_low_tile + f * 32 + j))) * 1.442695f);
                T(store)(query + f * 32 + j, query_new14);
                T(store)(query_2 + f * 32 + j, T(load)(sum_from_state + f * 32 + j) * (-query_new14));
                T(store)(query_sum + f * 32 + j, T(splat)(0.0f));
            }
        }
        if (linear_heads_0) {
            /* query_sum += sum_from_state * exp2(((log_decay_chunk - log_decay_k_tile) + (log_decay_chunk_low -
               log_decay_k_low_tile)) * 1.442 ... */
            for (int64_t j = 0; j < j1 - j0; j += LANES) {
                for (int64_t f = 0; f < 64; f++) {
                    T(store)(query_sum + f * 32 + j, T(load)(query_sum + f * 32 + j) + (T(load)(sum_from_state + f * 32
                        + j) * T(exp2)((((log_decay_chunk[max(min(((chunks - chunk) * 32) - 1, n_k - 1),
                        0) * log_decay_chunk_row + f]) - T(load)(log_decay_k_tile + f * 32 + j)) +
                        ((log_decay_chunk_low[max(min(((chunks - chunk) * 32) - 1, n_k - 1),
                        0) * log_decay_chunk_low_row + f]) - T(load)(log_decay_k_low_tile + f * 32 + j))) *
                        1.442695f)));
                }
            }
        }
        if (linear_heads_1) {
            /* sum = 0.0f; sum_compensation = 0.0f */
            for (int64_t e = 0; e < 64; e++) {
                for (int64_t j = 0; j < j1 - j0; j += LANES) {
                    T(store)(sum + e * 32 + j, T(splat)(0.0f));
                    T(store)(sum_compensation + e * 32 + j, T(splat)(0.0f));
                }
            }
            /* sum_from_state_2[e][j] = sum over f of state * query */
            T(dot17)(round_up(j1 - j0, LANES), state + (chunk - chunk0) * 4112, query, sum_from_state_2,
                (const struct coming[]){{q, 4 * q_row, 256}, {log_decay_q, 4 * log_decay_q_row, 256}, {log_decay_q_low,
                4 * log_decay_q_low_row, 256}, {dout, 4 * dout_row, 256}});
        }
        /* the ranges of i that some query of the tile may see */
        struct attn_range i_range[] = {
            {max(j0 - query_start, -query_start), (((j1 - floor_mod(j1 - 1, 32) - 1) / 32) * 32) - query_start + 32},
            {j0 - query_start, (0 <= (j1 - 1)) ? (-query_start) : 0},
        };
        const int64_t i_ranges = attn_union(i_range, 2, 0, n_q);
        /* the ranges that every query of the tile sees */
        struct attn_range i_inside[] = {
            {max(j1 - query_start - 1, -query_start), (((j0 - floor_mod(j0, 32)) / 32) * 32) - query_start + 32},
            {j1 - query_start - 1, (0 <= j0) ? (-query_start) : 0},
        };
        const int64_t i_insides = attn_union(i_inside, 2, 0, n_q);
        for (int64_t piece = 0; piece < i_ranges; piece++) {
            for (int64_t i0 = i_range[piece].from, i_end = i_range[piece].to; i0 < i_end; i0 += 32) {
                const int64_t i1 = min(i0 + 32, i_end);
                if (linear_heads_1) {
                    /* weight = 0.0f */
                    for (int64_t i = 0; i < i1 - i0; i++) {
                        for (int64_t j = 0; j < j1 - j0; j += LANES) {
                            T(store)(weight + i * 32 + j, T(splat)(0.0f));
                        }
                    }
                    /* weight[i][j] += sum over d of k * q * a decay, for j up to the query's last key */
                    T(dot18)(i1 - i0, j1 - j0, i0 + query_start - j0, q + i0 * q_row, q_row,
                        log_decay_q + i0 * log_decay_q_row, log_decay_q_row, log_decay_q_low + i0 * log_decay_q_low_row,
                        log_decay_q_low_row, k + j0 * k_row, k_row, log_decay_k + j0 * log_decay_k_row, log_decay_k_row,
                        log_decay_k_low + j0 * log_decay_k_low_row, log_decay_k_low_row, weight);
                }
                if (linear_heads_0 || dlog_decay_k) {
                    /* score[i][j] = sum over e of dout * v_tile */
                    T(dot12)(round_up(j1 - j0, LANES), i1 - i0, dout + i0 * dout_row, dout_row, v_tile, score);
                }
                if (!attn_covers(i_inside, i_insides, i0, i1)) { /* the tile is partly outside the mask */
                    if (linear_heads_0 || dlog_decay_k) {
                        /* score = select((j <= (i + query_start)) && (((max(i + query_start, 0) / 32) * 32) <= j),
                           score, 0.0f) */
                        for (int64_t j = 0; j < j1 - j0; j += LANES) {
                            const T(ints) t_15 = j0 + j + T(lane);
                            for (int64_t i = 0; i < i1 - i0; i++) {
                                const int64_t t_16 = (i0 + i) + query_start;
                                T(store)(score + i * 32 + j, T(pick)(__builtin_convertvector((t_15 <= t_16) & (((max((i0
                                    + i) + query_start, 0) / 32) * 32) <= t_15), T(mask)), T(load)(score + i * 32 + j),
                                    T(splat)(0.0f)));
                            }
                        }
                    }
                }
                if (linear_heads_0 || dlog_decay_k) {
                    /* row_sum[j][d] += sum over i of score * q * a decay */
                    T(dot19)(i1 - i0, j1 - j0, i0 + query_start - j0, score, q + i0 * q_row, q_row,
                        log_decay_q + i0 * log_decay_q_row, log_decay_q_row, log_decay_q_low + i0 * log_decay_q_low_row,
                        log_decay_q_low_row, log_decay_k + j0 * log_decay_k_row, log_decay_k_row,
                        log_decay_k_low + j0 * log_decay_k_low_row, log_decay_k_low_row, row_sum);
                }
                if (!attn_covers(i_inside, i_insides, i0, i1)) { /* the tile is partly outside the mask */
                    if (linear_heads_1) {
                        /* weight = select((j <= (i + query_start)) && (((max(i + query_start, 0) / 32) * 32) <= j),
                           weight, 0.0f) */
                        for (int64_t j = 0; j < j1 - j0; j += LANES) {
                            const T(ints) t_17 = j0 + j + T(lane);
                            for (int64_t i = 0; i < i1 - i0; i++) {
                                const int64_t t_18 = (i0 + i) + query_start;
                                T(store)(weight + i * 32 + j, T(pick)(__builtin_convertvector((t_17 <= t_18) &
                                    (((max((i0 + i) + query_start, 0) / 32) * 32) <= t_17), T(mask)),
                                    T(load)(weight + i * 32 + j), T(splat)(0.0f)));
                            }
                        }
                    }
                }
                if (linear_heads_1) {
                    /* sum[e][j] += sum over i of dout * weight */
                    if (__builtin_expect((!attn_covers(i_inside, i_insides, i0, i1)) && !T(finite)(dout + i0 * dout_row,
                        dout_row, i1 - i0, 64), 0)) { /* infinity and NaN affect only queries that see them */
                        T(dot20)(round_up(j1 - j0, LANES), i1 - i0, dout + i0 * dout_row, dout_row, weight, sum,
                            sum_compensation);
                        for (int64_t i = 0; i < i1 - i0; i++) {
                            T(mask) in_region[OF(2, 4, 8)] = {0};
                            if (T(finite)(dout + i0 * dout_row + i * dout_row, 1, 64, 1)) continue;
                            const int64_t t_20 = (i0 + i) + query_start;
                            const int64_t t_21 = (max((i0 + i) + query_start, 0) / 32) * 32;
                            for (int64_t j = 0; j < j1 - j0; j += LANES) {
                                const T(ints) t_19 = j0 + j + T(lane);
                                in_region[j / LANES] = __builtin_convertvector((t_19 <= t_20) & (t_21 <= t_19),
                                    T(mask));
                            }
                            T(add_seen)(64, sum, 32, dout + i0 * dout_row + i * dout_row, 1, weight + i * 32, in_region,
                                j1 - j0);
                        }
                    } else
                        T(dot21)(round_up(j1 - j0, LANES), i1 - i0, dout + i0 * dout_row, dout_row, weight, sum,
                            sum_compensation);
                }
            }
        }
        if (dlog_decay_k) {
            /* row_sum_turned = row_sum, with zeros beyond the last row */
            T(transpose_padded)(row_sum, 64, j1 - j0, 64, row_sum_turned, 32, 64);
        }
        if (linear_heads_0) {
            /* row_sum_turned_2 = row_sum, with zeros beyond the last row */
            T(transpose_padded)(row_sum, 64, j1 - j0, 64, row_sum_turned_2, 32, 64);
        }
        if (linear_heads_0 || dlog_decay_k) {
            /* k_tile = query_2 + (row_sum_turned * (k_tile * -0.125f));
               row_sum_turned_2 = query_sum + (row_sum_turned_2 * 0.125f) */
            for (int64_t d = 0; d < 64; d++) {
                for (int64_t j = 0; j < j1 - j0; j += LANES) {
                    T(store)(k_tile + d * 32 + j, T(load)(query_2 + d * 32 + j) + (T(load)(row_sum_turned + d * 32 + j)
                        * (T(load)(k_tile + d * 32 + j) * (-0.125f))));
                    T(store)(row_sum_turned_2 + d * 32 + j, T(load)(query_sum + d * 32 + j) + (T(load)(row_sum_turned_2
                        + d * 32 + j) * 0.125f));
                }
            }
        }
        if (linear_heads_1) {
            /* sum = sum + sum_from_state_2 */
            for (int64_t e = 0; e < 64; e++) {
                for (int64_t j = 0; j < j1 - j0; j += LANES) {
                    T(store)(sum + e * 32 + j, T(load)(sum + e * 32 + j) + T(load)(sum_from_state_2 + e * 32 + j));
                }
            }
        }
        if (linear_heads_0) {
            /* linear_heads_0 = row_sum_turned_2, transposed back */
            T(transpose_out)(row_sum_turned_2, 32, 64, j1 - j0, linear_heads_0 + j0 * linear_heads_0_row,
                linear_heads_0_row, 0);
        }
        if (linear_heads_1) {
            /* linear_heads_1 = sum, transposed back */
            T(transpose_out)(sum, 32, 64, j1 - j0, linear_heads_1 + j0 * linear_heads_1_row, linear_heads_1_row, 0);
        }
        if (dlog_decay_k) {
            /* dlog_decay_k = k_tile, transposed back */
            T(transpose_out)(k_tile, 32, 64, j1 - j0, dlog_decay_k + j0 * dlog_decay_k_row, dlog_decay_k_row, 64);
        }
    }
}

/* Computes head number `task`. Each thread on the head calls this with `share`. */
TARGET static void T(gla_linear_linear_heads_0_linear_heads_1_dlog_decay_k)(const struct call *call, int64_t task,
    struct share *share)
{
    const int64_t n_k = call->p.n_k;
    const int64_t chunks = n_k > 0 ? (n_k - 1) / 32 + 1 : 1;
    for (int64_t iteration = share->number; iteration < ((64 + 31) / 32); iteration += share->threads)
        T(gla_linear_linear_heads_0_linear_heads_1_dlog_decay_k_begin)(call, task, share, iteration);
    synchronise(share);
    const int64_t first = 0;
    const int64_t length = segment_length(share, chunks - first);
    for (int64_t segment = share->number; first + segment * length < chunks; segment += share->threads) {
        share->chunk0 = first + segment * length;
        share->chunk1 = min(share->chunk0 + length, chunks);
        for (int64_t iteration = share->chunk0; iteration < share->chunk1; iteration++)
            T(gla_linear_linear_heads_0_linear_heads_1_dlog_decay_k_queries)(call, task, share, iteration);
        for (int64_t group = 0; group < 16; group++) {
            await_segment(share, group, segment);
            const int64_t end = (group + 1) * ((64 + 31) / 32) / 16;
            for (int64_t iteration = group * ((64 + 31) / 32) / 16; iteration < end; iteration++)
                T(gla_linear_linear_heads_0_linear_heads_1_dlog_decay_k_fold)(call, task, share, iteration);
            pass_segment(share, group, segment);
        }
        for (int64_t iteration = share->chunk0; iteration < share->chunk1; iteration++)
            T(gla_linear_linear_heads_0_linear_heads_1_dlog_decay_k_keys)(call, task, share, iteration);
    }
    share->segments += (max(chunks - first, 0) + length - 1) / length;
    synchronise(share);
}

/* Computes task number `task`: the totals of the partial sums that the slices of rows have stored. `work` is this
   thread's workspace. */
TARGET static void T(gla_linear_totals1)(const struct call *call, int64_t task, unsigned char *work)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_k = call->p.n_k;
    const int64_t tiles = (n_k + 32 - 1) / 32, j0 = (tiles - 1 - task % tiles) * 32,
        j1 = min(j0 + 32, n_k);
    const int64_t g = task / tiles % kv_heads;
    const int64_t b = task / tiles / kv_heads;
    const float *const linear_heads_0 = call->array[ARRAY_linear_heads_0].at ? (const float
        *)call->array[ARRAY_linear_heads_0].at + b * call->array[ARRAY_linear_heads_0].strides.batch + g * members *
        call->array[ARRAY_linear_heads_0].strides.head : NULL;
    const int64_t linear_heads_0_row = call->array[ARRAY_linear_heads_0].strides.row;
    const int64_t linear_heads_0_head = call->array[ARRAY_linear_heads_0].strides.head;
    const float *const linear_heads_1 = call->array[ARRAY_linear_heads_1].at ? (const float
        *)call->array[ARRAY_linear_heads_1].at + b * call->array[ARRAY_linear_heads_1].strides.batch + g * members *
        call->array[ARRAY_linear_heads_1].strides.head : NULL;
    const int64_t linear_heads_1_row = call->array[ARRAY_linear_heads_1].strides.row;
    const int64_t linear_heads_1_head = call->array[ARRAY_linear_heads_1].strides.head;
    float *const row_sum = (float *)(void *)(work + 0); /* [d: 64, j: 32] */
    float *const row_sum_2 = (float *)(void *)(work + 8192); /* [e: 64, j: 32] */
    float *const dk = call->array[ARRAY_dk].at ? (float *)call->array[ARRAY_dk].at + b *
        call->array[ARRAY_dk].strides.batch + g * call->array[ARRAY_dk].strides.head : NULL;
    const int64_t dk_row = call->array[ARRAY_dk].strides.row;
    float *const dv = call->array[ARRAY_dv].at ? (float *)call->array[ARRAY_dv].at + b *
        call->array[ARRAY_dv].strides.batch + g * call->array[ARRAY_dv].strides.head : NULL;
    const int64_t dv_row = call->array[ARRAY_dv].strides.row;
    float *const linear_heads_0_tile = (float *)(void *)(work + 16384); /* [d: 64, j: 32] */
    float *const linear_heads_1_tile = (float *)(void *)(work + 24576); /* [e: 64, j: 32] */
    if (dk) {
        /* row_sum = 0.0f */
        for (int64_t d = 0; d < 64; d++) {
            for (int64_t j = 0; j < j1 - j0; j += LANES) {
                T(store)(row_sum + d * 32 + j, T(splat)(0.0f));
            }
        }
    }
    if (dv) {
        /* row_sum_2 = 0.0f */
        for (int64_t e = 0; e < 64; e++) {
            for (int64_t j = 0; j < j1 - j0; j += LANES) {
                T(store)(row_sum_2 + e * 32 + j, T(splat)(0.0f));
            }
        }
    }
    for (int64_t m = 0; m < members; m++) {
        if (dk) {
            /* linear_heads_0_tile = linear_heads_0, with zeros beyond the last row */
            T(transpose_padded)(linear_heads_0 + m * linear_heads_0_head + j0 * linear_heads_0_row, linear_heads_0_row,
                j1 - j0, 64, linear_heads_0_tile, 32, LANES);
        }
        if (dv) {
            /* linear_heads_1_tile = linear_heads_1, with zeros beyond the last row */
            T(transpose_padded)(linear_heads_1 + m * linear_heads_1_head + j0 * linear_heads_1_row, linear_heads_1_row,
                j1 - j0, 64, linear_heads_1_tile, 32, LANES);
        }
        if (dk) {
            /* row_sum += linear_heads_0_tile */
            for (int64_t j_first = 0; j_first < j1 - j0; j_first += (2 * LANES)) {
                for (int64_t d = 0; d < 64; d++) {
                    UNROLL for (int64_t vector = 0, j = j_first; vector < 2; vector++, j += LANES) {
                        T(store)(row_sum + d * 32 + j, T(load)(row_sum + d * 32 + j) + T(load)(linear_heads_0_tile + d *
                            32 + j));
                    }
                }
            }
        }
        if (dv) {
            /* row_sum_2 += linear_heads_1_tile */
            for (int64_t j_first = 0; j_first < j1 - j0; j_first += (2 * LANES)) {
                for (int64_t e = 0; e < 64; e++) {
                    UNROLL for (int64_t vector = 0, j = j_first; vector < 2; vector++, j += LANES) {
                        T(store)(row_sum_2 + e * 32 + j, T(load)(row_sum_2 + e * 32 + j) + T(load)(linear_heads_1_tile +
                            e * 32 + j));
                    }
                }
            }
        }
    }
    if (dk) {
        /* dk = row_sum, transposed back */
        T(transpose_out)(row_sum, 32, 64, j1 - j0, dk + j0 * dk_row, dk_row, LANES);
    }
    if (dv) {
        /* dv = row_sum_2, transposed back */
        T(transpose_out)(row_sum_2, 32, 64, j1 - j0, dv + j0 * dv_row, dv_row, LANES);
    }
}

/* Computes task number `task`: one tile of keys of one head. `work` is this thread's workspace. */
TARGET static void T(gla_linear_terms_dgate)(const struct call *call, int64_t task, unsigned char *work)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_k = call->p.n_k;
    const int64_t tiles = (n_k + 64 - 1) / 64, j0 = (tiles - 1 - task % tiles) * 64,
        j1 = min(j0 + 64, n_k);
    const int64_t m = task / tiles % members;
    const int64_t g = task / tiles / members % kv_heads;
    const int64_t b = task / tiles / members / kv_heads;
    const float *const gate_array = (const float *)call->array[ARRAY_gate_array].at + b *
        call->array[ARRAY_gate_array].strides.batch + (g * members + m) * call->array[ARRAY_gate_array].strides.head;
    const int64_t gate_array_row = call->array[ARRAY_gate_array].strides.row;
    const int64_t gate_array_stride_3 = call->array[ARRAY_gate_array].stride[3];
    const float *const dlog_decay = (const float *)call->array[ARRAY_dlog_decay].at + b *
        call->array[ARRAY_dlog_decay].strides.batch + (g * members + m) * call->array[ARRAY_dlog_decay].strides.head;
    const int64_t dlog_decay_row = call->array[ARRAY_dlog_decay].strides.row;
    float *const dgate_array = call->array[ARRAY_dgate_array].at ? (float *)call->array[ARRAY_dgate_array].at + ((b *
        kv_heads + g) * members + m) * n_k * 64 : NULL;
    float *const gate_tile = (float *)(void *)(work + 0); /* [d: 64, j: 64 of 80] */
    float *const dlog_decay_tile = (float *)(void *)(work + 20480); /* [d: 64, j: 64 of 80] */
    if (gate_array_stride_3 == 1) {
        /* gate_tile = gate_array, with zeros beyond the last row */
        T(transpose_padded)(gate_array + j0 * gate_array_row, gate_array_row, j1 - j0, 64, gate_tile, 80, LANES);
    } else {
        /* gate_tile = gate_array, with zeros beyond the last row */
        for (int64_t j = 0; j < round_up(j1 - j0, LANES); j++)
            for (int64_t d = 0; d < 64; d++)
                gate_tile[d * 80 + j] = j < j1 - j0 ? gate_array[(j0 + j) * gate_array_row + d * gate_array_stride_3] :
                    0;
    }
    /* dlog_decay_tile = dlog_decay, with zeros beyond the last row */
    T(transpose_padded)(dlog_decay + j0 * dlog_decay_row, dlog_decay_row, j1 - j0, 64, dlog_decay_tile, 80, LANES);
    /* gate_tile = dlog_decay_tile * select(gate_tile < -1e+04f, 0.0f, 1.0f) */
    for (int64_t d = 0; d < 64; d++) {
        for (int64_t j = 0; j < j1 - j0; j += LANES) {
            T(store)(gate_tile + d * 80 + j, T(load)(dlog_decay_tile + d * 80 + j) * T(pick)(T(load)(gate_tile + d * 80
                + j) < (-1e+04f), T(splat)(0.0f), T(splat)(1.0f)));
        }
    }
    if (dgate_array) {
        /* dgate_array = gate_tile, transposed back */
        T(transpose_out)(gate_tile, 80, 64, j1 - j0, dgate_array + j0 * 64, 64, LANES);
    }
}

/* Computes task number `task`: one tile of queries of one head. `work` is this thread's workspace. */
TARGET static void T(gla_terms)(const struct call *call, int64_t task, unsigned char *work)
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
    const float *const gate_array = (const float *)call->array[ARRAY_gate_array].at + b *
        call->array[ARRAY_gate_array].strides.batch + (g * members + m) * call->array[ARRAY_gate_array].strides.head;
    const int64_t gate_array_row = call->array[ARRAY_gate_array].strides.row;
    const int64_t gate_array_stride_3 = call->array[ARRAY_gate_array].stride[3];
    float *const result = (float *)(void *)(work + 0); /* [i: 64, d: 64] */
    float *const log_decay_k = (float *)call->array[ARRAY_log_decay_k].at + b *
        call->array[ARRAY_log_decay_k].strides.batch + (g * members + m) * call->array[ARRAY_log_decay_k].strides.head;
    const int64_t log_decay_k_row = call->array[ARRAY_log_decay_k].strides.row;
    float *const gate_at = (float *)(void *)(work + 16384); /* [i: 64, d: 64] */
    if (gate_array_stride_3 == 1) {
        /* gate_at = gate_array, with zeros beyond the last row */
        for (int64_t i = 0; i < i1 - i0; i++)
            for (int64_t d = 0; d < 64; d++)
                gate_at[i * 64 + d] = gate_array[((i0 + i) + n_k - n_q) * gate_array_row + d];
    } else {
        /* gate_at = gate_array, with zeros beyond the last row */
        for (int64_t i = 0; i < i1 - i0; i++)
            for (int64_t d = 0; d < 64; d++)
                gate_at[i * 64 + d] = gate_array[((i0 + i) + n_k - n_q) * gate_array_row + d * gate_array_stride_3];
    }
    /* result = max(gate_at, -1e+04f) */
    for (int64_t i = 0; i < i1 - i0; i++) {
        for (int64_t d_first = 0; d_first < 64; d_first += OF(64, 16, 8)) {
            UNROLL for (int64_t vector = 0, d = d_first; vector < OF(4, 2, 2); vector++, d += LANES) {
                T(store)(result + i * 64 + d, T(max)(T(load)(gate_at + i * 64 + d), T(splat)(-1e+04f)));
            }
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
#error "gla.c is C, not C++: compile it with a C compiler"
#elif !defined __STDC_VERSION__ || __STDC_VERSION__ < 199901L
#error "gla.c is C11, not C89: compile it without -std=, or with -std=gnu11"
extern int gla_is_c11;
#elif !defined __GNUC__
#error "gla.c uses GNU C vector extensions: compile it with gcc or clang"
extern int gla_is_gnu_c;
#else
#include "gla.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include <attnrt/kernel/optimize.h>
#include <attnrt/kernel/call.h>

/* the numbers of the arrays of a call */
enum {
    ARRAY_q, ARRAY_k, ARRAY_v, ARRAY_out, ARRAY_dout, ARRAY_dq, ARRAY_dk, ARRAY_dv, ARRAY_gate_array, ARRAY_log_decay_q,
    ARRAY_log_decay_q_low, ARRAY_log_decay_k, ARRAY_log_decay_k_low, ARRAY_log_decay_chunk, ARRAY_log_decay_chunk_low,
    ARRAY_dlog_decay_q, ARRAY_dlog_decay_k, ARRAY_dlog_decay, ARRAY_dgate_array, ARRAY_linear_heads_0,
    ARRAY_linear_heads_1
};

#ifdef __FILE_NAME__
#define LOOPS __FILE_NAME__ /* this file, whose first part has the loops */
#else
#define LOOPS "gla.c"
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
    {"gate", ATTN_F32, 4, {ATTN_BATCH, ATTN_HEADS, ATTN_N_K, 64}, offsetof(struct gla_params, gate), 0,
        offsetof(struct gla_strides, gate), 0, 1, ATTN_NO_LIMITS},
};

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
    {.name = "gate", .access = {ACCESS_READ, ACCESS_READ}, .dtype = ATTN_F32, .rows = ROWS_OF_KEYS,
        .origin = FROM_PARAMS, .param = 0, .axis = {0, 1, 2}, .has_rows = 1},
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
    {.name = "dlog_decay_q", .access = {ACCESS_NONE, ACCESS_NONE}, .dtype = ATTN_F32, .rows = ROWS_OF_QUERIES,
        .origin = FROM_LIBRARY},
    {.name = "dlog_decay_k", .access = {ACCESS_NONE, ACCESS_NONE}, .dtype = ATTN_F32, .rows = ROWS_OF_KEYS,
        .origin = FROM_LIBRARY},
    {.name = "dlog_decay", .access = {ACCESS_NONE, ACCESS_NONE}, .dtype = ATTN_F32, .rows = ROWS_OF_KEYS,
        .origin = FROM_LIBRARY},
    {.name = "dgate", .access = {ACCESS_NONE, ACCESS_WANTED}, .dtype = ATTN_F32, .rows = ROWS_OF_KEYS,
        .origin = FROM_GRADIENTS, .member = offsetof(struct gla_gradients, gate)},
    {.name = "linear_heads_0", .origin = FROM_LEFT, .elements = 64,
        .sizes = 1 << -ATTN_BATCH | 1 << -ATTN_HEADS | 1 << -ATTN_N_K, .wanted = (const uint16_t[]){ARRAY_dk, NO_ARRAY},
        .linear = 1, .sums = 1, .whole = ARRAY_dk},
    {.name = "linear_heads_1", .origin = FROM_LEFT, .elements = 64,
        .sizes = 1 << -ATTN_BATCH | 1 << -ATTN_HEADS | 1 << -ATTN_N_K, .wanted = (const uint16_t[]){ARRAY_dv, NO_ARRAY},
        .linear = 1, .sums = 1, .whole = ARRAY_dv},
};

#if defined(__x86_64__)
static int runs_v4(void)
{
    return attn_x86_64_level() >= 4;
}
static const struct program programs_v4[] = {
    {.role = RUN_FORWARD, .from = 48,
     .head = gla_linear_v4, .tile = -1, .own = 49152, .of_token = 4160, .in_keys = 1, .own_sums = 1, .saves = 1,
         .shared = 32896, .slot = 16960, .slots = 4, .together = 1},
    {.role = RUN_FORWARD,
     .rows = gla_rows_v4, .tile = 64, .own = 415744, .of_pair = 128, .saves = 1},
    {.role = RUN_BACKWARD, .part = 3, .from = 48, .of_terms = 1,
     .rows = gla_linear_terms_dgate_v4, .tile = 64, .own = 40960, .of_pair = 128,
         .wanted = (const uint16_t[]){ARRAY_dgate_array, NO_ARRAY}, .of_keys = OF_QUERY_HEAD},
    {.role = RUN_BACKWARD, .part = 2, .from = 48, .sums_slices = 1,
     .rows = gla_linear_totals1_v4, .tile = 32, .own = 32768, .of_token = 4160, .wanted = (const uint16_t[]){ARRAY_dk,
         ARRAY_dv, NO_ARRAY}, .of_keys = OF_KEY_HEAD},
    {.role = RUN_BACKWARD, .part = 1, .from = 48,
     .head = gla_linear_linear_heads_0_linear_heads_1_dlog_decay_k_v4, .tile = -1, .own = 73728, .of_token = 4160,
         .in_keys = 1, .wanted = (const uint16_t[]){ARRAY_dlog_decay_k, ARRAY_linear_heads_0, ARRAY_linear_heads_1,
         NO_ARRAY}, .shared = 32896, .slot = 16448, .slots = 4, .together = 1},
    {.role = RUN_BACKWARD, .from = 48,
     .head = gla_linear_dq_dlog_decay_q_v4, .tile = -1, .own = 53248, .of_token = 4160, .in_keys = 1,
         .wanted = (const uint16_t[]){ARRAY_dq, ARRAY_dlog_decay_q, NO_ARRAY}, .shared = 32896, .slot = 16448,
         .slots = 4, .together = 1},
    {.role = RUN_BACKWARD, .part = 3, .of_terms = 1,
     .rows = gla_terms_dgate_v4, .tile = 64, .own = 40960, .of_pair = 128,
         .wanted = (const uint16_t[]){ARRAY_dgate_array, NO_ARRAY}, .of_keys = OF_QUERY_HEAD},
    {.role = RUN_BACKWARD, .part = 2, .sums_slices = 1,
     .rows = gla_dlog_decay_k_v4, .tile = 64, .own = 6113280, .of_pair = 128,
         .wanted = (const uint16_t[]){ARRAY_dlog_decay_k, NO_ARRAY}, .of_keys = OF_QUERY_HEAD},
    {.role = RUN_BACKWARD, .part = 1,
     .rows = gla_dk_dv_v4, .tile = 64, .own = 6246400, .of_pair = 128, .wanted = (const uint16_t[]){ARRAY_dk, ARRAY_dv,
         NO_ARRAY}, .of_keys = OF_KEY_HEAD},
    {.role = RUN_BACKWARD,
     .rows = gla_dq_dlog_decay_q_v4, .tile = 64, .own = 6113280, .of_pair = 128, .wanted = (const uint16_t[]){ARRAY_dq,
         ARRAY_dlog_decay_q, NO_ARRAY}},
    {.role = RUN_TERMS,
     .rows = gla_terms_v4, .tile = 64, .own = 32768, .of_pair = 128},
};
#endif
#if defined(__x86_64__)
static int runs_v3(void)
{
    return attn_x86_64_level() >= 3;
}
static const struct program programs_v3[] = {
    {.role = RUN_FORWARD, .from = 48,
     .head = gla_linear_v3, .tile = -1, .own = 49152, .of_token = 4160, .in_keys = 1, .own_sums = 1, .saves = 1,
         .shared = 32896, .slot = 16960, .slots = 4, .together = 1},
    {.role = RUN_FORWARD,
     .rows = gla_rows_v3, .tile = 64, .own = 415744, .of_pair = 128, .saves = 1},
    {.role = RUN_BACKWARD, .part = 3, .from = 48, .of_terms = 1,
     .rows = gla_linear_terms_dgate_v3, .tile = 64, .own = 40960, .of_pair = 128,
         .wanted = (const uint16_t[]){ARRAY_dgate_array, NO_ARRAY}, .of_keys = OF_QUERY_HEAD},
    {.role = RUN_BACKWARD, .part = 2, .from = 48, .sums_slices = 1,
     .rows = gla_linear_totals1_v3, .tile = 32, .own = 32768, .of_token = 4160, .wanted = (const uint16_t[]){ARRAY_dk,
         ARRAY_dv, NO_ARRAY}, .of_keys = OF_KEY_HEAD},
    {.role = RUN_BACKWARD, .part = 1, .from = 48,
     .head = gla_linear_linear_heads_0_linear_heads_1_dlog_decay_k_v3, .tile = -1, .own = 73728, .of_token = 4160,
         .in_keys = 1, .wanted = (const uint16_t[]){ARRAY_dlog_decay_k, ARRAY_linear_heads_0, ARRAY_linear_heads_1,
         NO_ARRAY}, .shared = 32896, .slot = 16448, .slots = 4, .together = 1},
    {.role = RUN_BACKWARD, .from = 48,
     .head = gla_linear_dq_dlog_decay_q_v3, .tile = -1, .own = 53248, .of_token = 4160, .in_keys = 1,
         .wanted = (const uint16_t[]){ARRAY_dq, ARRAY_dlog_decay_q, NO_ARRAY}, .shared = 32896, .slot = 16448,
         .slots = 4, .together = 1},
    {.role = RUN_BACKWARD, .part = 3, .of_terms = 1,
     .rows = gla_terms_dgate_v3, .tile = 64, .own = 40960, .of_pair = 128,
         .wanted = (const uint16_t[]){ARRAY_dgate_array, NO_ARRAY}, .of_keys = OF_QUERY_HEAD},
    {.role = RUN_BACKWARD, .part = 2, .sums_slices = 1,
     .rows = gla_dlog_decay_k_v3, .tile = 64, .own = 6113280, .of_pair = 128,
         .wanted = (const uint16_t[]){ARRAY_dlog_decay_k, NO_ARRAY}, .of_keys = OF_QUERY_HEAD},
    {.role = RUN_BACKWARD, .part = 1,
     .rows = gla_dk_dv_v3, .tile = 64, .own = 6246400, .of_pair = 128, .wanted = (const uint16_t[]){ARRAY_dk, ARRAY_dv,
         NO_ARRAY}, .of_keys = OF_KEY_HEAD},
    {.role = RUN_BACKWARD,
     .rows = gla_dq_dlog_decay_q_v3, .tile = 64, .own = 6113280, .of_pair = 128, .wanted = (const uint16_t[]){ARRAY_dq,
         ARRAY_dlog_decay_q, NO_ARRAY}},
    {.role = RUN_TERMS,
     .rows = gla_terms_v3, .tile = 64, .own = 32768, .of_pair = 128},
};
#endif
static const struct program programs_any[] = {
    {.role = RUN_FORWARD, .from = 48,
     .head = gla_linear_any, .tile = -1, .own = 49152, .of_token = 4160, .in_keys = 1, .own_sums = 1, .saves = 1,
         .shared = 32896, .slot = 16960, .slots = 4, .together = 1},
    {.role = RUN_FORWARD,
     .rows = gla_rows_any, .tile = 64, .own = 415744, .of_pair = 128, .saves = 1},
    {.role = RUN_BACKWARD, .part = 3, .from = 48, .of_terms = 1,
     .rows = gla_linear_terms_dgate_any, .tile = 64, .own = 40960, .of_pair = 128,
         .wanted = (const uint16_t[]){ARRAY_dgate_array, NO_ARRAY}, .of_keys = OF_QUERY_HEAD},
    {.role = RUN_BACKWARD, .part = 2, .from = 48, .sums_slices = 1,
     .rows = gla_linear_totals1_any, .tile = 32, .own = 32768, .of_token = 4160, .wanted = (const uint16_t[]){ARRAY_dk,
         ARRAY_dv, NO_ARRAY}, .of_keys = OF_KEY_HEAD},
    {.role = RUN_BACKWARD, .part = 1, .from = 48,
     .head = gla_linear_linear_heads_0_linear_heads_1_dlog_decay_k_any, .tile = -1, .own = 73728, .of_token = 4160,
         .in_keys = 1, .wanted = (const uint16_t[]){ARRAY_dlog_decay_k, ARRAY_linear_heads_0, ARRAY_linear_heads_1,
         NO_ARRAY}, .shared = 32896, .slot = 16448, .slots = 4, .together = 1},
    {.role = RUN_BACKWARD, .from = 48,
     .head = gla_linear_dq_dlog_decay_q_any, .tile = -1, .own = 53248, .of_token = 4160, .in_keys = 1,
         .wanted = (const uint16_t[]){ARRAY_dq, ARRAY_dlog_decay_q, NO_ARRAY}, .shared = 32896, .slot = 16448,
         .slots = 4, .together = 1},
    {.role = RUN_BACKWARD, .part = 3, .of_terms = 1,
     .rows = gla_terms_dgate_any, .tile = 64, .own = 40960, .of_pair = 128,
         .wanted = (const uint16_t[]){ARRAY_dgate_array, NO_ARRAY}, .of_keys = OF_QUERY_HEAD},
    {.role = RUN_BACKWARD, .part = 2, .sums_slices = 1,
     .rows = gla_dlog_decay_k_any, .tile = 64, .own = 6113280, .of_pair = 128,
         .wanted = (const uint16_t[]){ARRAY_dlog_decay_k, NO_ARRAY}, .of_keys = OF_QUERY_HEAD},
    {.role = RUN_BACKWARD, .part = 1,
     .rows = gla_dk_dv_any, .tile = 64, .own = 6246400, .of_pair = 128, .wanted = (const uint16_t[]){ARRAY_dk, ARRAY_dv,
         NO_ARRAY}, .of_keys = OF_KEY_HEAD},
    {.role = RUN_BACKWARD,
     .rows = gla_dq_dlog_decay_q_any, .tile = 64, .own = 6113280, .of_pair = 128, .wanted = (const uint16_t[]){ARRAY_dq,
         ARRAY_dlog_decay_q, NO_ARRAY}},
    {.role = RUN_TERMS,
     .rows = gla_terms_any, .tile = 64, .own = 32768, .of_pair = 128},
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
    .layout = KERNEL_LAYOUT, .name = "gla", .openmp = OPENMP,
    .target = target, .targets = sizeof target / sizeof *target - 1,
    .array = array, .arrays = sizeof array / sizeof *array,
    .param = param, .params = 1, .params_bytes = sizeof(struct gla_params),
    .dtype = ATTN_F32, .key_dtype = ATTN_F32, .value_dtype = ATTN_F32, .real = sizeof(float), .element = sizeof(float),
    .head_dim = 64, .value_dim = 64, .key_row = 64, .value_row = 64,
    .strided = 1, .strides = offsetof(struct gla_params, strides),
    .shares = 1,
    .positions = 1,
    .ids = -1,
    .corrected = -1,
    .prefix_row = 64,
    .sum_tokens = 512,
    .prefix = {ARRAY_log_decay_q, ARRAY_log_decay_q_low, ARRAY_log_decay_k, ARRAY_log_decay_k_low,
        ARRAY_log_decay_chunk, ARRAY_log_decay_chunk_low, ARRAY_dlog_decay_q, ARRAY_dlog_decay_k, ARRAY_dlog_decay},
    .prefix_wanted = (const uint16_t[]){ARRAY_dgate_array, NO_ARRAY},
    .solution = -1,
    .gradients_bytes = sizeof(struct gla_gradients),
    .parts = 4,
    .shared_gradient = {ARRAY_dq, ARRAY_dk},
};

/* ==== the interface ==== */
size_t gla_params_size(void) { return attn_call_params_size(&kernel); }
int gla_params_init(struct gla_params *params, uint64_t seed, void *storage)
{
    return attn_call_params_init(&kernel, params, seed, storage);
}
size_t gla_workspace(const struct attn_problem *problem) { return attn_call_workspace(&kernel, problem); }
size_t gla_saved(const struct attn_problem *problem) { return attn_call_saved(&kernel, problem); }
size_t gla_backward_workspace(const struct attn_problem *problem)
{
    return attn_call_backward_workspace(&kernel, problem);
}
int gla_forward(const struct attn_problem *problem, const struct gla_params *params, const float *q, const float *k,
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
int gla_backward(const struct attn_problem *problem, const struct gla_params *params, const float *q, const float *k,
    const float *v, const float *out, const float *dout,
    float *dq, float *dk, float *dv, struct gla_gradients *gradients, void *workspace)
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
const struct attn_kernel gla_kernel = {
    .name = "gla", .version = "0.2.0", .dtype = ATTN_F32, .head_dim = 64, .value_dim = 64,
    .params = 1, .param = param, .params_bytes = sizeof(struct gla_params),
    .params_size = gla_params_size, .params_init = params_init_any, .forward = forward_any,
    .workspace = gla_workspace,
    .saved = gla_saved,
    .backward_workspace = gla_backward_workspace,
    .backward = backward_any,
    .key_dtype = ATTN_F32, .value_dtype = ATTN_F32,
    .strides = offsetof(struct gla_params, strides), .strides_bytes = sizeof(struct gla_strides),
    .before = INT64_MAX, .after = 0, .period = 0, .names_heads = 0, .names_sequences = 0, .in_parts = 0,
    .saved_power = 0, .has_sink = 0, .open_keys = 0, .end_of_keys = INT64_MAX,
};
#endif /* a compiler of this language */
#endif /* SECTION */
