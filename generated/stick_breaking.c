/* stick_breaking.c, made by attnc 0.2.0: attnc stick_breaking.yaml
   C11 with GNU extensions, for a C compiler; C++ includes stick_breaking.h.
   stick-breaking attention: each key, from the newest to the oldest, takes a share of what later keys have left
   Tan et al., Stick-breaking Attention (ICLR 2025), section 3; sigmoid(x) is exp(x - log(1 + exp(x))),
   so the weight is an exponential

   Computes, in f32, over the axes b (batch), g (key/value head), m (query head of g), i (query), j (key), d (64),
   e (64):
     q [b g m i d]
     k [b g j d]
     v [b g j e]
     x3 [b g m i j] = sum over d of q * k
     x4 [b g m i j] = max(x3 * 0.125, 0) + log1p(exp(-abs(x3 * 0.125)))
     x5 [b g m i j] = sum over later j of x4 if j <= i + query_start
     x6 [b g m i j] = x5 + x4
     x7 [b g m i j] = sum over d of q * k
     x8 [b g m i j] = exp(min(x7 * 0.125 - x6, 1))
     x9 [b g m i e] = sum over j of x8 * v if j <= i + query_start
     x10 [b g m i e] = x9
     out = x10
   query_start is the position of the first query: problem.query_start[b], or n_k - n_q if that is NULL.

   How: each vector lane holds one query. Keys are processed in tiles,
   so row sums and maxima need no reduction across lanes.
   The sums of a tile start from zero and are added to the sums so far. Tiles that no query sees are skipped.
     x86-64-v4  quadratic tiles of 64 queries and 288 keys; 338176 bytes of workspace per thread
     x86-64-v3  quadratic tiles of 64 queries and 288 keys; 338176 bytes of workspace per thread
     generic    quadratic tiles of 64 queries and 288 keys; 338176 bytes of workspace per thread

   Contents:
     loops      stick_breaking_rows
     targets    x86-64-v4, x86-64-v3, generic
     tables     arrays and programs, for the functions of attnrt that call the loops
     interface  stick_breaking_workspace, stick_breaking_forward, stick_breaking_kernel
   The file includes itself, so that the loops are compiled once for each target. T(name) is a name with the target's
   suffix, LANES the elements of its vectors, and OF(…) a number for each target.

   Compile with: cc -O2 -fopenmp stick_breaking.c … -lattnrt -lm */
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

/* Computes task number `task`: one tile of queries of one head. `work` is this thread's workspace. */
TARGET static void T(stick_breaking_rows)(const struct call *call, int64_t task, unsigned char *work)
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
    float *const score = (float *)(void *)(work + 0); /* [j: 288, i: 64 of 80] */
    float *const weight = (float *)(void *)(work + 92160); /* [j: 288, i: 64 of 80] */
    float *const weight_2 = (float *)(void *)(work + 184320); /* [j: 288, i: 64 of 80] */
    float *const carried = (float *)(void *)(work + 276480); /* [i: 64] */
    float *const sum = (float *)(void *)(work + 276736); /* [e: 64, i: 64 of 80] */
    float *const sum_compensation = (float *)(void *)(work + 297216); /* [e: 64, i: 64 of 80] */
    float *const out = (float *)call->array[ARRAY_out].at + b * call->array[ARRAY_out].strides.batch + (g * members + m)
        * call->array[ARRAY_out].strides.head;
    const int64_t out_row = call->array[ARRAY_out].strides.row;
    float *const q_tile = (float *)(void *)(work + 317696); /* [d: 64, i: 64 of 80] */
    int64_t results = i1 - i0; /* rows of out to prefetch during the first product */
    /* q_tile = q, with zeros beyond the last row */
    T(transpose_padded)(q + i0 * q_row, q_row, i1 - i0, 64, q_tile, 80, LANES);
    /* q_tile = q_tile * 0.125f */
    for (int64_t d = 0; d < 64; d++) {
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            T(store)(q_tile + d * 80 + i, T(load)(q_tile + d * 80 + i) * 0.125f);
        }
    }
    /* carried = 0.0f */
    for (int64_t i = 0; i < i1 - i0; i += LANES) {
        T(store)(carried + i, T(splat)(0.0f));
    }
    /* sum = 0.0f; sum_compensation = 0.0f */
    for (int64_t e = 0; e < 64; e++) {
        for (int64_t i = 0; i < i1 - i0; i += LANES) {
            T(store)(sum + e * 80 + i, T(splat)(0.0f));
            T(store)(sum_compensation + e * 80 + i, T(splat)(0.0f));
        }
    }
    {
        const int64_t j_from = 0, j_end = min(n_k, i1 + query_start);
        for (int64_t j0 = j_from + (j_end - j_from + 287) / 288 * 288 - 288; j0 >= j_from;
            j0 -= 288) { /* from the last key to the first */
            const int64_t j1 = min(j0 + 288, j_end);
            /* score[j][i] = sum over d of k * q_tile */
            T(dot0)(round_up(i1 - i0, LANES), j1 - j0, k + j0 * k_row, k_row, q_tile, score, v + j0 * v_row, v_row,
                out + i0 * out_row, out_row, results);
            results = 0;
            /* weight = max(score, 0) + log1p(exp2(neg(abs(score) * 1.442695f))); weight_2 = weight */
            for (int64_t j = 0; j < j1 - j0; j++) {
                for (int64_t i = 0; i < i1 - i0; i += LANES) {
                    const T(vec) score_0 = T(load)(score + j * 80 + i);
                    const T(vec) weight_new1 = T(max_nan)(score_0, T(splat)((float)0)) +
                        T(log1p)(T(exp2)(-(T(abs)(score_0) * 1.442695f)));
                    T(store)(weight + j * 80 + i, weight_new1);
                    T(store)(weight_2 + j * 80 + i, weight_new1);
                }
            }
            if ((i0 + query_start + 1) < j1) { /* the tile is partly outside the mask */
                /* weight_2 = select(j <= (i + query_start), weight_2, 0.0f) */
                for (int64_t i = 0; i < i1 - i0; i += LANES) {
                    const T(ints) t_2 = (i0 + i + T(lane)) + query_start;
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        T(store)(weight_2 + j * 80 + i, T(pick)(__builtin_convertvector((j0 + j) <= t_2, T(mask)),
                            T(load)(weight_2 + j * 80 + i), T(splat)(0.0f)));
                    }
                }
            }
            /* weight_2[j] = the sum of weight_2 over later j */
            for (int64_t i = 0; i < i1 - i0; i += LANES) {
                T(vec) sum = T(load)(carried + i);
                for (int64_t j = j1 - j0 - 1; j >= 0; j--) {
                    const T(vec) term = T(load)(weight_2 + j * 80 + i);
                    T(store)(weight_2 + j * 80 + i, sum);
                    sum += term;
                }
                T(store)(carried + i, sum);
            }
            /* weight_2 = exp2((min(score - (weight_2 + weight), 1) * 1.442695f) - 26.0f) * 67108864.0f */
            for (int64_t j = 0; j < j1 - j0; j++) {
                for (int64_t i = 0; i < i1 - i0; i += LANES) {
                    T(store)(weight_2 + j * 80 + i, T(exp2)((T(min_nan)(T(load)(score + j * 80 + i) - (T(load)(weight_2
                        + j * 80 + i) + T(load)(weight + j * 80 + i)), T(splat)((float)1)) * 1.442695f) - 26.0f) *
                        67108864.0f);
                }
            }
            if ((i0 + query_start + 1) < j1) { /* the tile is partly outside the mask */
                /* weight_2 = select(j <= (i + query_start), weight_2, 0.0f) */
                for (int64_t i = 0; i < i1 - i0; i += LANES) {
                    const T(ints) t_3 = (i0 + i + T(lane)) + query_start;
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        T(store)(weight_2 + j * 80 + i, T(pick)(__builtin_convertvector((j0 + j) <= t_3, T(mask)),
                            T(load)(weight_2 + j * 80 + i), T(splat)(0.0f)));
                    }
                }
            }
            /* sum[e][i] += sum over j of v * weight_2 */
            if (__builtin_expect(((i0 + query_start + 1) < j1) && !T(finite)(v + j0 * v_row, v_row, j1 - j0, 64),
                0)) { /* infinity and NaN affect only queries that see them */
                T(dot1)(round_up(i1 - i0, LANES), j1 - j0, v + j0 * v_row, v_row, weight_2, sum, sum_compensation);
                for (int64_t j = 0; j < j1 - j0; j++) {
                    T(mask) in_region[OF(4, 8, 16)] = {0};
                    if (T(finite)(v + j0 * v_row + j * v_row, 1, 64, 1)) continue;
                    for (int64_t i = 0; i < i1 - i0; i += LANES) {
                        in_region[i / LANES] = __builtin_convertvector((j0 + j) <= ((i0 + i + T(lane)) + query_start),
                            T(mask));
                    }
                    T(add_seen)(64, sum, 80, v + j0 * v_row + j * v_row, 1, weight_2 + j * 80, in_region, i1 - i0);
                }
            } else
                T(dot2)(round_up(i1 - i0, LANES), j1 - j0, v + j0 * v_row, v_row, weight_2, sum, sum_compensation);
        }
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
#include <attnrt/kernel/end.h>
#else
#ifdef __cplusplus
#error "stick_breaking.c is C, not C++: compile it with a C compiler"
#elif !defined __STDC_VERSION__ || __STDC_VERSION__ < 199901L
#error "stick_breaking.c is C11, not C89: compile it without -std=, or with -std=gnu11"
extern int stick_breaking_is_c11;
#elif !defined __GNUC__
#error "stick_breaking.c uses GNU C vector extensions: compile it with gcc or clang"
extern int stick_breaking_is_gnu_c;
#else
#include "stick_breaking.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include <attnrt/kernel/optimize.h>
#include <attnrt/kernel/call.h>

/* the numbers of the arrays of a call */
enum {
    ARRAY_q, ARRAY_k, ARRAY_v, ARRAY_out
};

#ifdef __FILE_NAME__
#define LOOPS __FILE_NAME__ /* this file, whose first part has the loops */
#else
#define LOOPS "stick_breaking.c"
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
    {.role = RUN_FORWARD,
     .rows = stick_breaking_rows_v4, .tile = 64, .own = 338176, .of_pair = 128},
};
#endif
#if defined(__x86_64__)
static int runs_v3(void)
{
    return attn_x86_64_level() >= 3;
}
static const struct program programs_v3[] = {
    {.role = RUN_FORWARD,
     .rows = stick_breaking_rows_v3, .tile = 64, .own = 338176, .of_pair = 128},
};
#endif
static const struct program programs_any[] = {
    {.role = RUN_FORWARD,
     .rows = stick_breaking_rows_any, .tile = 64, .own = 338176, .of_pair = 128},
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
    .layout = KERNEL_LAYOUT, .name = "stick_breaking", .openmp = OPENMP,
    .target = target, .targets = sizeof target / sizeof *target - 1,
    .array = array, .arrays = sizeof array / sizeof *array,
    .params_bytes = sizeof(struct stick_breaking_params),
    .dtype = ATTN_F32, .key_dtype = ATTN_F32, .value_dtype = ATTN_F32, .real = sizeof(float), .element = sizeof(float),
    .head_dim = 64, .value_dim = 64, .key_row = 64, .value_row = 64,
    .shares = 1,
    .positions = 1,
    .ids = -1,
    .corrected = -1,
    .solution = -1,
};

/* ==== the interface ==== */
size_t stick_breaking_params_size(void) { return attn_call_params_size(&kernel); }
int stick_breaking_params_init(struct stick_breaking_params *params, uint64_t seed, void *storage)
{
    return attn_call_params_init(&kernel, params, seed, storage);
}
size_t stick_breaking_workspace(const struct attn_problem *problem) { return attn_call_workspace(&kernel, problem); }
int stick_breaking_forward(const struct attn_problem *problem, const struct stick_breaking_params *params,
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
static int params_init_any(void *params, uint64_t seed, void *storage)
{
    return attn_call_params_init(&kernel, params, seed, storage);
}
const struct attn_kernel stick_breaking_kernel = {
    .name = "stick_breaking", .version = "0.2.0", .dtype = ATTN_F32, .head_dim = 64, .value_dim = 64,
    .params = 0, .param = NULL, .params_bytes = sizeof(struct stick_breaking_params),
    .params_size = stick_breaking_params_size, .params_init = params_init_any, .forward = forward_any,
    .workspace = stick_breaking_workspace,
    .key_dtype = ATTN_F32, .value_dtype = ATTN_F32,
    .before = INT64_MAX, .after = 0, .period = 0, .names_heads = 0, .names_sequences = 0, .in_parts = 0,
    .saved_power = 0, .has_sink = 0, .open_keys = 0, .end_of_keys = INT64_MAX,
};
#endif /* a compiler of this language */
#endif /* SECTION */
