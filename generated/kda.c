/* kda.c, made by attnc 0.1.0: attnc kda.yaml
   C11 with GNU extensions, for a C compiler; C++ includes kda.h.
   Kimi Delta Attention: the delta rule with a decay for each element of the key and position
   Kimi Team, Kimi Linear: An Expressive, Efficient Attention Architecture (arXiv 2025), section 3

   Computes, in f32, over the axes b (batch), g (key/value head), m (query head of g), i (query), j (key), d (64),
   e (64), position (key), t_key (key):
     q [b g m i d]
     k [b g j d]
     v [b g j e]
     x3 [b g j d] = k * k
     x4 [b g j] = sum over d of x3
     x5 [b g j] = x4 == 0 ? 0 : 1 / sqrt(x4)
     x6 [b g j d] = k * x5
     x7 [b g m i d] = q * q
     x8 [b g m i] = sum over d of x7
     x9 [b g m i] = x8 == 0 ? 0 : 1 / sqrt(x8)
     x10 [b g m i d] = q * x9
     x11 [b g m i d] = x10 * 0.125
     gate [b g m j d], learned parameter
     x13 [b g m position d] = max(gate[b, g, m, position, d], -10000)
     x14 [b g m i d] = sum over position of x13 if position <= i + query_start
     x15 [b g m j d] = sum over position of x13 if position <= j
     x16 [b g t_key d] = k[b, g, t_key, d]
     x17 [b g t_key d] = x16 * x16
     x18 [b g t_key] = sum over d of x17
     x19 [b g t_key] = x18 == 0 ? 0 : 1 / sqrt(x18)
     x20 [b g t_key d] = x16 * x19
     x21 [b g t_key j d] = x20 * x6 * pow(2.718281828459045, x15[b, g, 0, t_key, d] - x15[b, g, 0, j, d])
     x22 [b g t_key j] = sum over d of x21
     x23 [b g t_key j] = x22
     beta [b g m j], learned parameter
     x25 [b g j] = beta[b, g, 0, j]
     x26 [b g j e] = u with u[t_key] = x25 * (v - sum over j < t_key of x23 * u[j] if j <= t_key)
     x27 [b g m i j d] = x11 * x6 * pow(2.718281828459045, x14 - x15[b, g, 0, j, d])
     x28 [b g m i j] = sum over d of x27
     x29 [b g m i j] = x28
     x30 [b g m i e] = sum over j of x29 * x26 if j <= i + query_start
     x31 [b g m i e] = x30
     out = x31
   query_start is the position of the first query: problem.query_start[b], or n_k - n_q if that is NULL.

   How: each vector lane holds one query. Keys are processed in tiles,
   so row sums and maxima need no reduction across lanes.
   The sums of a tile start from zero and are added to the sums so far. Tiles that no query sees are skipped.
   Linear: the weight is an inner product of 64 features. The state is a sum over keys of 64 x 65 numbers.
     x86-64-v4  linear    tiles of 32 queries and 32 keys; 86272 bytes of workspace per thread
     x86-64-v3  linear    tiles of 32 queries and 32 keys; 86272 bytes of workspace per thread
     generic    linear    tiles of 32 queries and 32 keys; 86272 bytes of workspace per thread

   Contents; each section begins with ====. "generic" has the simplest code, so read it first.
     (top)      struct call, and what all targets share
     x86-64-v4  kda_linear_v4, kda_terms_v4
     x86-64-v3  kda_linear_v3, kda_terms_v3
     generic    kda_linear_any, kda_terms_any
     choice     the version that this machine runs
     interface  kda_workspace, kda_forward, kda_kernel

   Compile with: cc -O2 -fopenmp kda.c … -lattnrt -lm */
#ifdef __cplusplus
#error "kda.c is C, not C++: compile it with a C compiler"
#elif !defined __STDC_VERSION__ || __STDC_VERSION__ < 199901L
#error "kda.c is C11, not C89: compile it without -std=, or with -std=gnu11"
extern int kda_is_c11;
#elif !defined __GNUC__
#error "kda.c uses GNU C vector extensions: compile it with gcc or clang"
extern int kda_is_gnu_c;
#else
#include "kda.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#ifdef _OPENMP
#include <omp.h>
#endif
#include <string.h>

#if defined(__OPTIMIZE__)
#define INLINE static inline __attribute__((always_inline, unused))
#else /* without optimisation, inlining only doubles the compile time */
#define INLINE static inline __attribute__((unused))
#endif
#define APART static __attribute__((noinline))
#define UNROLL _Pragma("GCC unroll 16")
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("fp-contract=fast") /* a * b + c is one instruction (FMA), even with -std=c11 */
#pragma GCC optimize("no-schedule-insns") /* scheduling before register allocation would spill registers */
#endif

struct call { /* the arguments of a call; all threads read the same struct */
    struct attn_problem p;
    const struct kda_params *params;
    const float *q;
    const float *k;
    const float *v;
    float *out;
    const float *gate_array;
    struct attn_strides gate_array_at;
    const float *beta_array;
    struct attn_strides beta_array_at;
    float *log_decay_q; /* [B,H,n_q,64] */
    struct attn_strides log_decay_q_at;
    float *log_decay_q_low; /* [B,H,n_q,64] */
    struct attn_strides log_decay_q_low_at;
    float *log_decay_k; /* [B,H,n_k,64] */
    struct attn_strides log_decay_k_at;
    float *log_decay_k_low; /* [B,H,n_k,64] */
    struct attn_strides log_decay_k_low_at;
    float *log_decay_chunk; /* [B,H,n_k,64] */
    struct attn_strides log_decay_chunk_at;
    float *log_decay_chunk_low; /* [B,H,n_k,64] */
    struct attn_strides log_decay_chunk_low_at;
    struct kda_strides at; /* of all arrays, with contiguous ones filled in */
    int64_t sharing; /* the number of heads of v and out that share a head of q and of k */
};

INLINE int64_t min(int64_t a, int64_t b) { return a < b ? a : b; }
INLINE int64_t max(int64_t a, int64_t b) { return a > b ? a : b; }
INLINE int64_t round_up(int64_t n, int64_t to) { return (n + to - 1) / to * to; }
INLINE int64_t floor_mod(int64_t a, int64_t b) { return (a % b + b) % b; }
INLINE int64_t shifted_left(int64_t x, int64_t by) { return by < 0 || by > 63 ? 0 : (int64_t)((uint64_t)x << by); }
INLINE int64_t shifted_right(int64_t x, int64_t by) { return x >> (by < 0 || by > 63 ? 63 : by); }
INLINE double sigmoid(double x) { return 1 / (1 + exp(-x)); }
INLINE float sigmoidf(float x) { return 1 / (1 + expf(-x)); }

/* Sizes in bytes. bytes_times and bytes_plus return SIZE_MAX on overflow or for a negative size. */
INLINE size_t bytes_times(size_t bytes, int64_t n)
{
    size_t product;
    return __builtin_mul_overflow(bytes, n, &product) ? SIZE_MAX : product;
}
INLINE size_t bytes_plus(size_t a, size_t b)
{
    size_t sum;
    return __builtin_add_overflow(a, b, &sum) ? SIZE_MAX : sum;
}
INLINE size_t whole_lines(size_t bytes) { return bytes_plus(bytes, 63) / 64 * 64; }
INLINE int bytes_fit(size_t bytes) { return bytes <= SIZE_MAX / 2; }

/* ==== x86-64-v4 ==== */
#if defined(__x86_64__)
#define TARGET_v4 __attribute__((target("avx512f,avx512bw,avx512cd,avx512dq,avx512vl,avx2,bmi,bmi2,fma,f16c")))

/* Each of these types has 16 elements:
   - vec_v4: numbers
   - mask_v4: results of comparisons
   - ints_v4: positions
   - wide_v4: doubles */
typedef float vec_v4 __attribute__((vector_size(64)));
typedef float stored_v4 __attribute__((vector_size(64), aligned(sizeof(float)), may_alias)); /* in memory, unaligned */
typedef int32_t mask_v4 __attribute__((vector_size(64)));
typedef int64_t ints_v4 __attribute__((vector_size(128)));
TARGET_v4 INLINE vec_v4 load_v4(const float *p) { return *(const stored_v4 *)(const void *)p; }
TARGET_v4 INLINE void store_v4(float *p, vec_v4 x) { *(stored_v4 *)(void *)p = x; }
TARGET_v4 INLINE vec_v4 splat_v4(float x) { return x - (vec_v4){0}; }

/* Returns a in the lanes of the mask, and b in the other lanes. */
TARGET_v4 INLINE vec_v4 pick_v4(mask_v4 m, vec_v4 a, vec_v4 b) { return (vec_v4)((m & (mask_v4)a) | (~m & (mask_v4)b));
    }

static const ints_v4 lane_v4 = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};

TARGET_v4 INLINE vec_v4 max_v4(vec_v4 a, vec_v4 b) { return pick_v4((mask_v4)(a < b), b, a); }

/* Returns 2^x with a relative error below 1e-8. It is 0 for x < -126.0f, because subnormal numbers are slow.
   NaN stays NaN. */
TARGET_v4 INLINE vec_v4 exp2_v4(vec_v4 x)
{
    vec_v4 f, y;
    uint16_t normal;
    /* `normal` gets the lanes in which x is not less than -126.0f. */
    __asm__("vcmpps $0x15, %2, %1, %0" : "=Yk"(normal) : "v"(x), "v"(splat_v4(-126.0f)));
    __asm__("vreduceps $0, %1, %0" : "=v"(f) : "v"(x)); /* x minus the nearest integer, 0 for infinity */
    vec_v4 p = f * 0.00015453163f + 0.0013390863f;
    p = p * f + 0.0096180826f;
    p = p * f + 0.055503571f;
    p = p * f + 0.24022651f;
    p = p * f + 0.69314719f;
    p = p * f + 1.0f;
    __asm__("vscalefps %2, %1, %0%{%3%}%{z%}" : "=v"(y) : "v"(p), "v"(x - f), "Yk"(normal)); /* p * 2^(x - f) */
    return y;
}

/* Returns (e^x - 1) / 2 within 4 ulp, for -40 <= x <= 89.0f. With x = n * ln(2) + r, the result is 2^(n - 1) *
   (e^r - 1) + (2^(n - 1) - 1/2). This does not cancel near 0. */
TARGET_v4 INLINE vec_v4 half_expm1_v4(vec_v4 x)
{
    const vec_v4 t = x * 1.44269504f + 12582912.0f, n = t - 12582912.0f;
    const vec_v4 r = (x - n * 0.693145751953125f) - n * 1.4286068203094172e-06f;
    vec_v4 p = r * 0.0013926184f + 0.0083631791f;
    p = p * r + 0.041666555f;
    p = p * r + 0.16666577f;
    p = p * r + 0.5f;
    const vec_v4 half = (vec_v4)(((mask_v4)t + 126) << 23);
    p = p * (r * r) + r;
    return half * p + (half - (float)0.5);
}

/* Returns e^x - 1 within 4 ulp. NaN stays NaN. */
TARGET_v4 INLINE vec_v4 expm1_v4(vec_v4 x)
{
    x = pick_v4((mask_v4)(x < (float)-40), splat_v4((float)-40), x);
    x = pick_v4((mask_v4)(x > 89.0f), splat_v4(89.0f), x);
    return half_expm1_v4(x) * (float)2;
}

TARGET_v4 INLINE vec_v4 sqrt_v4(vec_v4 x)
{
    vec_v4 y;
    __asm__("vsqrtps %1, %0" : "=v"(y) : "v"(x));
    return y;
}

/* Returns the sum over the lanes of x. */
TARGET_v4 INLINE float lane_sum_v4(vec_v4 x)
{
    x += __builtin_shufflevector(x, x, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7);
    x += __builtin_shufflevector(x, x, 4, 5, 6, 7, 0, 1, 2, 3, 12, 13, 14, 15, 8, 9, 10, 11);
    x += __builtin_shufflevector(x, x, 2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13);
    x += __builtin_shufflevector(x, x, 1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14);
    return x[0];
}

/* Returns a vector whose lane r is the sum over the lanes of t[r]. Overwrites t. */
TARGET_v4 INLINE vec_v4 lane_sums_v4(vec_v4 *t)
{
    UNROLL for (int r = 0; r < 16; r += 2)
        t[r] = __builtin_shufflevector(t[r], t[r + 1], 0, 2, 16, 18, 4, 6, 20, 22, 8, 10, 24, 26, 12, 14, 28,
            30) + __builtin_shufflevector(t[r], t[r + 1], 1, 3, 17, 19, 5, 7, 21, 23, 9, 11, 25, 27, 13, 15, 29, 31);
    UNROLL for (int r = 0; r < 16; r += 4)
        t[r] = __builtin_shufflevector(t[r], t[r + 2], 0, 2, 16, 18, 4, 6, 20, 22, 8, 10, 24, 26, 12, 14, 28,
            30) + __builtin_shufflevector(t[r], t[r + 2], 1, 3, 17, 19, 5, 7, 21, 23, 9, 11, 25, 27, 13, 15, 29, 31);
    UNROLL for (int r = 0; r < 16; r += 8)
        t[r] = __builtin_shufflevector(t[r], t[r + 4], 0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26,
            27) + __builtin_shufflevector(t[r], t[r + 4], 4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31);
    t[0] = __builtin_shufflevector(t[0], t[8], 0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26,
        27) + __builtin_shufflevector(t[0], t[8], 4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31);
    return t[0];
}

typedef uint32_t bits_v4 __attribute__((vector_size(64), aligned(sizeof(float)), may_alias));
typedef uint32_t bit_v4 __attribute__((may_alias));

/* Returns whether all p[r * row + c] are finite, for r < rows and c < columns. Infinity and NaN have all exponent
   bits set. So adding the lowest exponent bit, 0x00800000, carries into the sign. */
TARGET_v4 APART int finite_v4(const float *p, int64_t row, int64_t rows, int64_t columns)
{
    bits_v4 found = {0};
    uint32_t one = 0;
    for (int64_t r = 0; r < rows; r++, p += row) {
        int64_t c = 0;
        for (; c + 16 <= columns; c += 16)
            found |= (*(const bits_v4 *)(const void *)(p + c) & 0x7fffffff) + 0x00800000;
        for (; c < columns; c++) one |= (*(const bit_v4 *)(const void *)(p + c) & 0x7fffffff) + 0x00800000;
    }
    for (int k = 0; k < 16; k++) one |= found[k];
    return one <= 0x7fffffff;
}

/* sum[x] += weights[t] * values[t][x], but only for values that are infinite or NaN, and for steps t in `seen`. */
TARGET_v4 APART void add_seen_lanes_v4(int64_t lanes, float *sum, const float *weights, const float *values,
    int64_t value_row,
    int64_t steps, const mask_v4 *seen)
{
    for (int64_t t = 0; t < steps; t++, values += value_row)
        for (int64_t x = 0; x < lanes && seen[t / 16][t % 16]; x++)
            if (!finite_v4(values + x, 0, 1, 1)) sum[x] += weights[t] * values[x];
}

/* sum[r][x] = sum over t of a[r][t] * b[t][x], for up to 6 rows r and `vectors` vectors of lanes x. The sums stay
   in registers. `update` says how c changes:
   - 0: c = sum
   - 1: c = c + sum
   - 2: c = c * factor[x] + sum
   - 3: like 2, with compensated summation. If `factor` is NULL, it is 1.
   If `early` is not 0, step t prefetches row t + early of b. A step prefetches only one row, because a core can have
   few cache misses in flight. */
TARGET_v4 INLINE void block_v4(const int rows, const int vectors, int64_t steps, const float *a, int64_t a_row,
    int64_t a_step,
    const float *b, int64_t b_step, float *c, int64_t c_row, const int update,
    const float *factor)
{
    vec_v4 sum[16][4];
    UNROLL for (int r = 0; r < rows; r++)
        UNROLL for (int v = 0; v < vectors; v++) sum[r][v] = (vec_v4){0};
    int64_t t = 0;
    for (; rows > 6 && t + 2 <= steps; t += 2, a += 2 * a_step, b += 2 * b_step) {
        const float *row[16];
        UNROLL for (int r = 0; r < rows; r += 4) {
            row[r] = a + r * a_row;
            /* Without this, compilers compute the address of each row from that of the row before. */
            if (a_row != 1) __asm__("" : "+r"(row[r]));
        }
        UNROLL for (int k = 0; k < 2; k++) {
            const vec_v4 x = load_v4(b + k * b_step);
            UNROLL for (int r = 0; r < rows; r++) sum[r][0] += row[r & -4][(r & 3) * a_row + k * a_step] * x;
        }
    }
    for (; t < steps; t++, a += a_step, b += b_step) {
        vec_v4 x[4];
        UNROLL for (int v = 0; v < vectors; v++) x[v] = load_v4(b + v * 16);
        UNROLL for (int r = 0; r < rows; r++) {
            const float y = a[r * a_row];
            UNROLL for (int v = 0; v < vectors; v++) sum[r][v] += y * x[v];
        }
    }
    UNROLL for (int v = 0; v < vectors; v++) {
        const vec_v4 times = update >= 2 && factor ? load_v4(factor + v * 16) : splat_v4(1);
        UNROLL for (int r = 0; r < rows; r++) {
            float *const to = c + r * c_row + v * 16;
            store_v4(to, update == 0 ? sum[r][v]
                : update == 1 ? load_v4(to) + sum[r][v] : load_v4(to) * times + sum[r][v]);
        }
    }
}

/* Like block_v4, but if `update` is 0 and the sum is long, it adds `span` terms at a time. Each span is summed
   separately, which reduces rounding errors. */
TARGET_v4 INLINE void parts_v4(const int rows, const int vectors, int64_t steps, const int64_t span, const float *a,
    int64_t a_row, int64_t a_step, const float *b, int64_t b_step, float *c, int64_t c_row, const int update,
    const float *factor)
{
    const int64_t first = update == 0 && steps > 2 * span ? span : steps;
    block_v4(rows, vectors, first, a, a_row, a_step, b, b_step, c, c_row, update,
        factor);
    if (update == 0)
        for (int64_t t = first; t < steps; t += span)
            block_v4(rows, vectors, min(span, steps - t), a + t * a_step, a_row, a_step, b + t * b_step, b_step, c,
                c_row, 1, NULL);
}

/* Like parts_v4, for any number of rows. `lanes` is a multiple of 16 * vectors. `tail` is rows % 6 if this is a
   constant, otherwise -1. */
TARGET_v4 INLINE void blocks_v4(const int vectors, const int64_t lanes, int64_t rows, const int tail, int64_t steps,
    const int64_t span, const float *a, int64_t a_row, int64_t a_step, const float *b, int64_t b_step, float *c,
        int64_t c_row,
    const int update, const float *factor)
{
    for (int64_t x = 0; x < lanes; x += vectors * 16) {
        const float *const f = factor ? factor + x : NULL;
        int64_t r = 0;
        for (; r + 6 <= rows; r += 6)
            parts_v4(6, vectors, steps, span, a + r * a_row, a_row, a_step, b + x, b_step,
                c + r * c_row + x, c_row, update, f);
        switch (tail >= 0 ? tail : rows - r) {
        case 5: parts_v4(5, vectors, steps, span, a + r * a_row, a_row, a_step, b + x, b_step, c + r * c_row + x, c_row,
            update, f); break;
        case 4: parts_v4(4, vectors, steps, span, a + r * a_row, a_row, a_step, b + x, b_step, c + r * c_row + x, c_row,
            update, f); break;
        case 3: parts_v4(3, vectors, steps, span, a + r * a_row, a_row, a_step, b + x, b_step, c + r * c_row + x, c_row,
            update, f); break;
        case 2: parts_v4(2, vectors, steps, span, a + r * a_row, a_row, a_step, b + x, b_step, c + r * c_row + x, c_row,
            update, f); break;
        case 1: parts_v4(1, vectors, steps, span, a + r * a_row, a_row, a_step, b + x, b_step, c + r * c_row + x, c_row,
            update, f); break;
        }
    }
}

/* Like block_v4, for any number of rows and vectors. It computes one vector at a time. */
TARGET_v4 APART void narrow_v4(int64_t lanes, int64_t rows, int64_t steps, int64_t span, const float *a, int64_t a_row,
    int64_t a_step, const float *b, int64_t b_step, float *c, int64_t c_row, int update,
    const float *factor)
{
    const int64_t most = update == 0 && steps > 2 * span ? span : steps;
    for (int64_t t = 0; t < steps; t += most) {
        const int64_t some = min(most, steps - t);
        const float *const from = a + t * a_step;
        const int now = t > 0 ? 1 : update;
        for (int64_t x = 0; x < lanes; x += 16) {
            const float *const f = factor ? factor + x : NULL;
            int64_t r = 0;
            /* 6 sums of one vector are too few to hide the latency of an addition. */
            for (; r + 16 <= rows && (a_row == 1 || a_step == 1); r += 16)
                if (a_row == 1)
                    block_v4(16, 1, some, from + r, 1, a_step, b + t * b_step + x, b_step, c + r * c_row + x, c_row,
                        now, f);
                else
                    block_v4(16, 1, some, from + r * a_row, a_row, 1, b + t * b_step + x, b_step,
                        c + r * c_row + x, c_row, now, f);
            for (; r < rows; r += 6)
                switch (min(rows - r, 6)) {
        default: block_v4(6, 1, some, from + r * a_row, a_row, a_step, b + t * b_step + x, b_step,
            c + r * c_row + x, c_row, now, f); break;
        case 5: block_v4(5, 1, some, from + r * a_row, a_row, a_step, b + t * b_step + x, b_step, c + r * c_row + x,
            c_row, now, f); break;
        case 4: block_v4(4, 1, some, from + r * a_row, a_row, a_step, b + t * b_step + x, b_step, c + r * c_row + x,
            c_row, now, f); break;
        case 3: block_v4(3, 1, some, from + r * a_row, a_row, a_step, b + t * b_step + x, b_step, c + r * c_row + x,
            c_row, now, f); break;
        case 2: block_v4(2, 1, some, from + r * a_row, a_row, a_step, b + t * b_step + x, b_step, c + r * c_row + x,
            c_row, now, f); break;
        case 1: block_v4(1, 1, some, from + r * a_row, a_row, a_step, b + t * b_step + x, b_step, c + r * c_row + x,
            c_row, now, f); break;
                }
        }
    }
}

/* Returns the number of lanes that are computed in blocks of `vectors` vectors. If more than half of the last block
   is needed, the whole block is computed. */
TARGET_v4 INLINE int64_t lanes_in_blocks_v4(const int vectors, const int64_t lanes)
{
    const int64_t block = vectors * 16;
    return (lanes + (block - 1) / 2) / block * block;
}

/* Computes any number of rows. `lanes` is a multiple of 16. Other parameters are as in blocks_v4. */
TARGET_v4 INLINE void dot_v4(const int vectors, const int64_t lanes, int64_t rows, const int tail, int64_t steps,
    const int64_t span, const float *a, int64_t a_row, int64_t a_step, const float *b, int64_t b_step, float *c,
        int64_t c_row,
    const int update, const float *factor)
{
    const int64_t x = lanes_in_blocks_v4(vectors, lanes);
    blocks_v4(vectors, x, rows, tail, steps, span, a, a_row, a_step, b, b_step, c, c_row, update,
        factor);
    if (x < lanes)
        narrow_v4(lanes - x, rows, steps, span, a, a_row, a_step, b + x, b_step, c + x, c_row,
            update, factor ? factor + x : NULL);
}

/* Solves equations t to t + rows - 1 of solve_v4, for up to 4 vectors of lanes. */
TARGET_v4 INLINE void solve_some_v4(const int rows, const int vectors, int64_t t, const float *w, int64_t w_row,
    int64_t w_step, const float *rate, int64_t rate_step, const float *x, int64_t x_row, float *u, int64_t u_row)
{
    vec_v4 sum[4][4];
    UNROLL for (int r = 0; r < rows; r++)
        UNROLL for (int v = 0; v < vectors; v++) sum[r][v] = load_v4(x + (t + r) * x_row + v * 16);
    for (int64_t j = 0; j < t; j++)
        UNROLL for (int v = 0; v < vectors; v++) {
            const vec_v4 y = load_v4(u + j * u_row + v * 16);
            UNROLL for (int r = 0; r < rows; r++) sum[r][v] -= w[(t + r) * w_row + j * w_step] * y;
        }
    UNROLL for (int r = 0; r < rows; r++)
        UNROLL for (int v = 0; v < vectors; v++) {
            UNROLL for (int k = 0; k < r; k++) sum[r][v] -= w[(t + r) * w_row + (t + k) * w_step] * sum[k][v];
            sum[r][v] *= rate[(t + r) * rate_step];
            store_v4(u + (t + r) * u_row + v * 16, sum[r][v]);
        }
}

/* Like solve_v4, for up to 4 vectors of lanes. */
TARGET_v4 INLINE void solve_lanes_v4(const int vectors, int64_t t, int64_t rows, const float *w, int64_t w_row,
    int64_t w_step,
    const float *rate, int64_t rate_step, const float *x, int64_t x_row, float *u, int64_t u_row)
{
    for (; t + 4 <= rows; t += 4) solve_some_v4(4, vectors, t, w, w_row, w_step, rate, rate_step, x, x_row, u, u_row);
    for (; t < rows; t++) solve_some_v4(1, vectors, t, w, w_row, w_step, rate, rate_step, x, x_row, u, u_row);
}

/* Solves a triangular system in each lane, for first <= t < rows: u[t] = rate[t] * (x[t] - sum over j < t of w[t][j] *
   u[j]). u has the solution for t < first. */
TARGET_v4 INLINE void solve_v4(const int64_t lanes, int64_t first, int64_t rows, const float *w, int64_t w_row,
    int64_t w_step,
    const float *rate, int64_t rate_step, const float *x, int64_t x_row, float *u, int64_t u_row)
{
    int64_t l = 0;
    for (; l + 4 * 16 <= lanes; l += 4 * 16)
        solve_lanes_v4(4, first, rows, w, w_row, w_step, rate, rate_step, x + l, x_row, u + l, u_row);
    for (; l < lanes; l += 16)
        solve_lanes_v4(1, first, rows, w, w_row, w_step, rate, rate_step, x + l, x_row, u + l, u_row);
}

/* Like dot_v4, but for row r, a is 0 from step `visible` + r on. These steps are left out for whole blocks of rows. */
TARGET_v4 INLINE void dot_until_v4(const int vectors, const int64_t lanes, int64_t rows, const int tail, int64_t steps,
    const int64_t span, const float *a, int64_t a_row, int64_t a_step, const float *b, int64_t b_step, float *c,
    int64_t c_row, int64_t visible)
{
    for (int64_t r = 0; r < rows; r += 6) {
        const int64_t some = min(rows - r, 6), end = min(steps, visible + r + some - 1), last = end > 1 ? end : 1;
        if (some == 6)
            dot_v4(vectors, lanes, 6, 0, last, span, a + r * a_row, a_row, a_step, b, b_step, c + r * c_row, c_row,
                0, NULL);
        else
            dot_v4(vectors, lanes, some, tail, last, span, a + r * a_row, a_row, a_step, b, b_step, c + r * c_row,
                c_row, 0, NULL);
    }
}

/* c[r][x] = c[r][x] * kept[r] - c[r][x] * lost[r] + the sum over t of a[r][t] * b[t][x], for up to 6 rows r and
   `vectors` vectors of lanes x */
TARGET_v4 INLINE void block_kept_v4(const int rows, const int vectors, int64_t steps, const float *a, int64_t a_row,
    int64_t a_step, const float *b, int64_t b_step, float *c, int64_t c_row, const float *kept, const float *lost)
{
    vec_v4 sum[6][4];
    UNROLL for (int r = 0; r < rows; r++)
        UNROLL for (int v = 0; v < vectors; v++) sum[r][v] = (vec_v4){0};
    for (int64_t t = 0; t < steps; t++, a += a_step, b += b_step) {
        vec_v4 x[4];
        UNROLL for (int v = 0; v < vectors; v++) x[v] = load_v4(b + v * 16);
        UNROLL for (int r = 0; r < rows; r++) {
            const float y = a[r * a_row];
            UNROLL for (int v = 0; v < vectors; v++) sum[r][v] += y * x[v];
        }
    }
    UNROLL for (int r = 0; r < rows; r++)
        UNROLL for (int v = 0; v < vectors; v++) {
            float *const to = c + r * c_row + v * 16;
            const vec_v4 old = load_v4(to);
            store_v4(to, old * kept[r] - old * lost[r] + sum[r][v]);
        }
}

/* Like block_kept_v4, for any number of rows. */
TARGET_v4 INLINE void rows_kept_v4(const int vectors, int64_t rows, int64_t steps, const float *a, int64_t a_row,
    int64_t a_step, const float *b, int64_t b_step, float *c, int64_t c_row, const float *kept, const float *lost)
{
    const int some = 6 > 2 ? 2 : 1;
    int64_t r = 0;
    for (; r + 6 <= rows; r += 6)
        block_kept_v4(6, vectors, steps, a + r * a_row, a_row, a_step, b, b_step, c + r * c_row, c_row, kept + r,
            lost + r);
    for (; r + some <= rows; r += some)
        block_kept_v4(some, vectors, steps, a + r * a_row, a_row, a_step, b, b_step, c + r * c_row, c_row,
            kept + r, lost + r);
    for (; r < rows; r++)
        block_kept_v4(1, vectors, steps, a + r * a_row, a_row, a_step, b, b_step, c + r * c_row, c_row, kept + r,
            lost + r);
}

/* Like block_kept_v4, for any number of rows and lanes. `lanes` is a multiple of 16. */
TARGET_v4 INLINE void dot_kept_v4(const int vectors, const int64_t lanes, int64_t rows, int64_t steps, const float *a,
    int64_t a_row, int64_t a_step, const float *b, int64_t b_step, float *c, int64_t c_row, const float *kept,
    const float *lost)
{
    int64_t x = 0;
    for (; x + vectors * 16 <= lanes; x += vectors * 16)
        rows_kept_v4(vectors, rows, steps, a, a_row, a_step, b + x, b_step, c + x, c_row, kept, lost);
    for (; x < lanes; x += 16)
        rows_kept_v4(1, rows, steps, a, a_row, a_step, b + x, b_step, c + x, c_row, kept, lost);
}

/* Like dot_v4, but uses 0 for infinity and NaN in b. It copies one vector of columns of b at a time. If `fetched`, it
   adds in the order of dot_fetched_v4, so that results round equally. */
TARGET_v4 INLINE void dot_finite_lanes_v4(const int fetched, const int vectors, const int64_t lanes, int64_t rows,
    const int tail, int64_t steps, const int64_t span, const float *a, int64_t a_row, int64_t a_step, const float *b,
    int64_t b_step, float *c, int64_t c_row, const int update, const float *factor)
{
    float column[32 * 16];
    (void)vectors;
    for (int64_t x = 0; x < lanes; x += 16) {
        for (int64_t t = 0; t < steps; t++)
            for (int64_t k = 0; k < 16; k++) {
                const float *const p = b + t * b_step + x + k;
                column[t * 16 + k] = finite_v4(p, 0, 1, 1) ? *p : 0;
            }
        const int64_t some = fetched ? 16 : steps;
        for (int64_t t = 0; t < steps; t += some)
            dot_v4(1, 16, rows, tail, min(steps - t, some), span, a + t * a_step, a_row, a_step,
                column + t * 16, 16, c + x, c_row, update,
                factor ? factor + x : NULL);
    }
}

/* The keys of a block. */
#define BLOCK_v4 8

/* The keys of half a block. */
#define HALF_v4 4

/* The sums add this number of elements at a time. */
#define ELEMENTS_v4 128

/* Numbers of that many elements:
   - key: keys, decayed up to the last key of their block
   - over: the decay over a block
   The others belong to the current block:
   - step: the decay from the key before to each key
   - x: rows of queries, if queries have other logarithms than their keys: with the decay between the two
   - row: these rows with the decay from the last key before the block
   - late: the second half of the rows, with the decay from the first half's last key
   - early: the first half of the keys, decayed up to the last of them */
struct decayed_rows_v4 {
    float key[32][ELEMENTS_v4], over[32 / BLOCK_v4][ELEMENTS_v4], step[BLOCK_v4][ELEMENTS_v4],
        x[BLOCK_v4][ELEMENTS_v4], row[BLOCK_v4][ELEMENTS_v4], late[HALF_v4][ELEMENTS_v4], early[HALF_v4][ELEMENTS_v4];
};

/* Rows of float. `low` is what `high` loses by rounding, or NULL. */
struct decay_logs_v4 {
    const float *high, *low;
    int64_t high_row, low_row;
};

/* Elements of one row of struct decay_logs_v4. */
struct decay_log_v4 {
    vec_v4 high, low;
};

TARGET_v4 INLINE struct decay_log_v4 load_decay_log_v4(const struct decay_logs_v4 *logs, int64_t row, int64_t t)
{
    return (struct decay_log_v4){load_v4(logs->high + row * logs->high_row + t),
        logs->low ? load_v4(logs->low + row * logs->low_row + t) : (vec_v4){0}};
}

TARGET_v4 INLINE vec_v4 decay_between_v4(const float scale, struct decay_log_v4 a, struct decay_log_v4 b)
{
    return exp2_v4(((a.high - b.high) + (a.low - b.low)) * scale);
}

TARGET_v4 INLINE int64_t nearest_v4(int64_t k, int64_t count) { return k < 0 ? 0 : k < count ? k : count - 1; }

/* Sets the numbers of the block at key j, for elements t to t + terms - 1. Keys and queries outside the ranges get
   the nearest one's numbers. `same`: the logarithms of queries are those of their keys. */
TARGET_v4 INLINE void decay_block_v4(struct decayed_rows_v4 *part, int64_t j, int64_t t, int64_t terms, int64_t lanes,
    int64_t rows, int64_t first, const float scale, const float *x, int64_t x_row, const struct decay_logs_v4 *a,
    const float *y, int64_t y_row, const struct decay_logs_v4 *b, const int64_t after, const int same)
{
    for (int64_t i = 0; i < terms; i += 16) {
        vec_v4 step[BLOCK_v4], row[BLOCK_v4], decay;
        struct decay_log_v4 before = load_decay_log_v4(b, nearest_v4(j - 1, rows), t + i);
        UNROLL for (int k = 0; k < BLOCK_v4; k++) {
            const struct decay_log_v4 log = load_decay_log_v4(b, nearest_v4(j + k, rows), t + i);
            const int64_t l = nearest_v4(j + k - first, lanes);
            step[k] = decay_between_v4(scale, log, before);
            row[k] = load_v4(x + l * x_row + t + i);
            if (!same) {
                const struct decay_log_v4 own = a->high ? load_decay_log_v4(a, l, t + i)
                                                       : load_decay_log_v4(b, nearest_v4(j + k + after, rows), t + i);
                row[k] *= decay_between_v4(scale, own, log);
            }
            store_v4(part->step[k] + i, step[k]);
            if (!same) store_v4(part->x[k] + i, row[k]);
            before = log;
        }
        decay = step[0];
        UNROLL for (int k = 0; k < HALF_v4; k++) {
            store_v4(part->row[k] + i, row[k] * decay);
            if (k + 1 < HALF_v4) decay *= step[k + 1];
        }
        vec_v4 late = step[HALF_v4];
        UNROLL for (int k = HALF_v4; k < BLOCK_v4; k++) {
            const vec_v4 faded = row[k] * late;
            store_v4(part->late[k - HALF_v4] + i, faded);
            store_v4(part->row[k] + i, faded * decay);
            if (k + 1 < BLOCK_v4) late *= step[k + 1];
        }
        store_v4(part->over[j / BLOCK_v4] + i, decay * late);
        decay = splat_v4(1);
        UNROLL for (int k = HALF_v4 - 1; k >= 0; k--) {
            const vec_v4 faded = load_v4(y + nearest_v4(j + k, rows) * y_row + t + i) * decay;
            store_v4(part->early[k] + i, faded);
            store_v4(part->key[j + k] + i, faded * late);
            decay *= step[k];
        }
        decay = splat_v4(1);
        UNROLL for (int k = BLOCK_v4 - 1; k >= HALF_v4; k--) {
            store_v4(part->key[j + k] + i, load_v4(y + nearest_v4(j + k, rows) * y_row + t + i) * decay);
            decay *= step[k];
        }
    }
}

/* Where sums of pairs are stored, and which. */
struct decayed_pairs_v4 {
    float *w;
    int64_t w_query, w_key, lanes, rows, first;
    float times;
};

/* Adds the sums of HALF_v4 queries, from l on, with HALF_v4 keys, from j on, where there are such pairs. */
TARGET_v4 INLINE void add_decayed_v4(const struct decayed_pairs_v4 *to, int64_t l, int64_t j, const float *sum)
{
    float *const w = to->w + l * to->w_query + j * to->w_key;
    if (l >= 0 && l + HALF_v4 <= to->lanes && j + HALF_v4 <= to->rows && j + HALF_v4 - 1 <= to->first + l)
        UNROLL for (int r = 0; r < HALF_v4; r++)
            UNROLL for (int k = 0; k < HALF_v4; k++)
                w[r * to->w_query + k * to->w_key] += to->times * sum[r * HALF_v4 + k];
    else
        for (int r = 0; r < HALF_v4; r++)
            for (int k = 0; k < HALF_v4; k++)
                if (l + r >= 0 && l + r < to->lanes && j + k < to->rows && j + k <= to->first + l + r)
                    w[r * to->w_query + k * to->w_key] += to->times * sum[r * HALF_v4 + k];
}

/* sum[r][k] = the sum over elements of x[r] * y[k], for HALF_v4 rows of each */
TARGET_v4 INLINE void decayed_products_v4(int64_t terms, float (*x)[ELEMENTS_v4], float (*y)[ELEMENTS_v4], float *sum)
{
    const int some = 32 > 16 ? HALF_v4 : HALF_v4 / 2;
    for (int first = 0; first < HALF_v4; first += some) {
        vec_v4 s[HALF_v4 * HALF_v4];
        UNROLL for (int k = 0; k < some * HALF_v4; k++) s[k] = (vec_v4){0};
        for (int64_t i = 0; i < terms; i += 16) {
            vec_v4 key[HALF_v4];
            UNROLL for (int k = 0; k < HALF_v4; k++) key[k] = load_v4(y[k] + i);
            UNROLL for (int r = 0; r < some; r++) {
                const vec_v4 row = load_v4(x[first + r] + i);
                UNROLL for (int k = 0; k < HALF_v4; k++) s[r * HALF_v4 + k] += row * key[k];
            }
        }
        UNROLL for (int k = 0; k < some * HALF_v4; k += 16)
            store_v4(sum + first * HALF_v4 + k, lane_sums_v4(s + k));
    }
}

/* Rows of float. Row r is row nearest_v4(first + r, count) of `row`. */
struct near_rows_v4 {
    const float *row;
    int64_t step, first, count;
};

TARGET_v4 INLINE vec_v4 load_near_v4(const struct near_rows_v4 *x, int r, int64_t i)
{
    return load_v4(x->row + nearest_v4(x->first + r, x->count) * x->step + i);
}

/* Like decayed_products_v4, for queries at the same keys: only for k <= r, with the decays from each key to the next
   one. */
TARGET_v4 INLINE void decayed_own_v4(int64_t terms, struct near_rows_v4 x, struct near_rows_v4 y,
    float (*step)[ELEMENTS_v4],
    float *sum)
{
    vec_v4 s[HALF_v4 * HALF_v4];
    UNROLL for (int k = 0; k < HALF_v4 * HALF_v4; k++) s[k] = (vec_v4){0};
    for (int64_t i = 0; i < terms; i += 16) {
        vec_v4 key[HALF_v4], fade[HALF_v4];
        UNROLL for (int k = 0; k < HALF_v4; k++) {
            key[k] = load_near_v4(&y, k, i);
            fade[k] = load_v4(step[k] + i);
        }
        UNROLL for (int r = 0; r < HALF_v4; r++) {
            vec_v4 row = load_near_v4(&x, r, i);
            UNROLL for (int k = r; k >= 0; k--) {
                s[r * HALF_v4 + k] += row * key[k];
                row *= fade[k];
            }
        }
    }
    UNROLL for (int k = 0; k < HALF_v4 * HALF_v4; k += 16) store_v4(sum + k, lane_sums_v4(s + k));
}

/* Adds the pairs of the queries of the block at key j, for elements t to t + terms - 1. */
TARGET_v4 INLINE void add_block_v4(struct decayed_rows_v4 *part, const struct decayed_pairs_v4 *to, int64_t j,
    int64_t t,
    int64_t terms, const float *x, int64_t x_row, const float *y, int64_t y_row, const int same)
{
    float sum[HALF_v4 * HALF_v4];
    const int64_t l = j - to->first;
    for (int h = 0; h < BLOCK_v4 && j + h < to->rows; h += HALF_v4) {
        const struct near_rows_v4 keys = {y + t, y_row, j + h, to->rows}, made = {part->x[h], ELEMENTS_v4, 0, HALF_v4},
                                 given = {x + t, x_row, l + h, to->lanes};
        decayed_own_v4(terms, same ? given : made, keys, part->step + h, sum);
        add_decayed_v4(to, l + h, j + h, sum);
    }
    if (j + HALF_v4 < to->rows) {
        decayed_products_v4(terms, part->late, part->early, sum);
        add_decayed_v4(to, l + HALF_v4, j, sum);
    }
    for (int64_t from = j - BLOCK_v4; from >= 0; from -= BLOCK_v4) {
        for (int h = 0; h < BLOCK_v4 && j + h < to->rows; h += HALF_v4)
            for (int k = 0; k < BLOCK_v4; k += HALF_v4) {
                decayed_products_v4(terms, part->row + h, part->key + from + k, sum);
                add_decayed_v4(to, l + h, from + k, sum);
            }
        for (int r = 0; r < BLOCK_v4 && from > 0; r++)
            for (int64_t i = 0; i < terms; i += 16)
                store_v4(part->row[r] + i, load_v4(part->row[r] + i) * load_v4(part->over[from / BLOCK_v4] + i));
    }
}

/* Computes w[l][j] += times * (sum over t of x[l][t] * y[j][t] * exp2(scale * (a[l][t] - b[j][t]))) for the keys
   j <= first + l, j < rows. `steps` is a multiple of 16. If a is NULL, a[l] is the row of b that is nearest to
   first + l + after. */
TARGET_v4 INLINE void decayed_rows_v4(int64_t lanes, int64_t rows, const int64_t steps, int64_t first,
    const float times,
    const float scale, const float *x, int64_t x_row, const float *a, int64_t a_row, const float *a_low,
    int64_t a_low_row, const float *y, int64_t y_row, const float *b, int64_t b_row, const float *b_low,
    int64_t b_low_row, const int64_t after, float *w, const int64_t w_query, const int64_t w_key)
{
    struct decayed_rows_v4 part;
    const struct decay_logs_v4 of_rows = {a, a_low, a_row, a_low_row}, of_keys = {b, b_low, b_row, b_low_row};
    const struct decayed_pairs_v4 to = {w, w_query, w_key, lanes, rows, first, times};
    const int same = a ? first >= 0 && a_row == b_row && a == b + first * b_row : after == 0;
    for (int64_t t = 0; t < steps; t += ELEMENTS_v4) {
        const int64_t terms = min(steps - t, ELEMENTS_v4);
        for (int64_t j = 0; j < rows && j < first + lanes; j += BLOCK_v4) {
            if (same)
                decay_block_v4(&part, j, t, terms, lanes, rows, first, scale, x, x_row, &of_rows, y, y_row, &of_keys,
                    after, 1);
            else
                decay_block_v4(&part, j, t, terms, lanes, rows, first, scale, x, x_row, &of_rows, y, y_row, &of_keys,
                    after, 0);
            if (j + BLOCK_v4 > first) add_block_v4(&part, &to, j, t, terms, x, x_row, y, y_row, same);
        }
    }
    for (int64_t l = first < rows ? rows - first : 0; l < lanes; l++) /* queries after the last key */
        for (int64_t j = 0; j < rows; j++) {
            vec_v4 sum = {0};
            for (int64_t t = 0; t < steps; t += 16) {
                const struct decay_log_v4 own = a ? load_decay_log_v4(&of_rows, l, t)
                                                 : load_decay_log_v4(&of_keys, rows - 1, t);
                sum += load_v4(x + l * x_row + t) * load_v4(y + j * y_row + t) *
                    decay_between_v4(scale, own, load_decay_log_v4(&of_keys, j, t));
            }
            w[l * w_query + j * w_key] += times * lane_sum_v4(sum);
        }
}

/* The functions for the products below. Each calls dot_v4 or a similar function with constants. */
TARGET_v4 APART void dot0_v4(int64_t lanes, int64_t rows, int64_t first, const float *x, const float *y, const float *b,
    const float *b_low, float *w)
{
    decayed_rows_v4(lanes, rows, /*steps=*/64, first, /*times=*/1.0f, /*scale=*/1.442695f, x, /*x_row=*/64, /*a=*/NULL,
        /*a_row=*/0, /*a_low=*/NULL, /*a_low_row=*/0, y, /*y_row=*/64, b, /*b_row=*/64, b_low, /*b_low_row=*/64,
        /*after=*/0, w, /*w_query=*/32, /*w_key=*/1);
}
TARGET_v4 APART void dot1_v4(int64_t rows, const float *a, const float *b, float *c)
{
    dot_v4(/*vectors=*/4, /*lanes=*/64, rows, /*tail=*/-1, /*steps=*/64, /*span=*/32, a, /*a_row=*/64, /*a_step=*/1, b,
        /*b_step=*/64, c, /*c_row=*/64, /*update=*/0, /*factor=*/NULL);
}
TARGET_v4 APART void dot2_v4(int64_t rows, const float *w, const float *rate, const float *x, float *u)
{
    solve_v4(/*lanes=*/64, /*first=*/0, rows, w, /*w_row=*/32, /*w_step=*/1, rate, /*rate_step=*/1, x, /*x_row=*/64, u,
        /*u_row=*/64);
}
TARGET_v4 APART void dot3_v4(int64_t rows, int64_t steps, const float *a, const float *b, float *c)
{
    dot_finite_lanes_v4(/*fetched=*/0, /*vectors=*/4, /*lanes=*/64, rows, /*tail=*/-1, steps, /*span=*/192, a,
        /*a_row=*/32, /*a_step=*/1, b, /*b_step=*/64, c, /*c_row=*/64, /*update=*/0, /*factor=*/NULL);
}
TARGET_v4 APART void dot4_v4(int64_t rows, int64_t steps, const float *a, const float *b, float *c, int64_t visible)
{
    dot_until_v4(/*vectors=*/4, /*lanes=*/64, rows, /*tail=*/-1, steps, /*span=*/192, a, /*a_row=*/32, /*a_step=*/1, b,
        /*b_step=*/64, c, /*c_row=*/64, visible);
}
TARGET_v4 APART void dot5_v4(int64_t steps, const float *a, const float *b, float *c, const float *kept,
    const float *lost)
{
    dot_kept_v4(/*vectors=*/4, /*lanes=*/64, /*rows=*/64, steps, a, /*a_row=*/1, /*a_step=*/64, b, /*b_step=*/64, c,
        /*c_row=*/64, kept, lost);
}

/* Computes task number `task`: one tile of queries of one head. `work` is this thread's workspace. */
TARGET_v4 static void kda_linear_v4(const struct call *call, int64_t task, unsigned char *work)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_q = call->p.n_q;
    const int64_t n_k = call->p.n_k;
    const int64_t chunks = n_k > 0 ? (n_k - 1) / 32 + 1 : 1;
    const int64_t g = task % kv_heads;
    const int64_t b = task / kv_heads;
    const int64_t query_start = call->p.query_start ? call->p.query_start[b] : n_k - n_q;
    const float *const q = call->q + b * call->p.q.batch + g / call->sharing * members * call->p.q.head;
    const int64_t q_row = call->p.q.row;
    const int64_t q_head = call->p.q.head;
    const float *const k = call->k + b * call->p.k.batch + g / call->sharing * call->p.k.head;
    const int64_t k_row = call->p.k.row;
    const float *const v = call->v + b * call->p.v.batch + g * call->p.v.head;
    const int64_t v_row = call->p.v.row;
    const float *const beta_array = call->beta_array + b * call->beta_array_at.batch + g * members *
        call->beta_array_at.head;
    const int64_t beta_array_row = call->beta_array_at.row;
    float *const state = (float *)(void *)(work + 0); /* [f: 64, e: 64] */
    float *const query_sum = (float *)(void *)(work + 16384); /* [j: 32] */
    float *const key = (float *)(void *)(work + 16512); /* [j: 32, d: 64] */
    float *const row_factor = (float *)(void *)(work + 24704); /* [j: 32] */
    float *const weight = (float *)(void *)(work + 24704); /* [t_key: 32, j: 32] */
    float *const key_3 = (float *)(void *)(work + 28800); /* [t_key: 32, f: 64] */
    float *const query_scale = (float *)(void *)(work + 16384); /* [j: 32] */
    float *const from_state = (float *)(void *)(work + 36992); /* [t_key: 32, e: 64] */
    float *const corrected = (float *)(void *)(work + 28800); /* [j: 32, e: 64] */
    float *const key_features = (float *)(void *)(work + 36992); /* [j: 32, f: 64] */
    float *const query_sum_3 = (float *)(void *)(work + 16384); /* [i: 32] */
    float *const key_4 = (float *)(void *)(work + 45184); /* [i: 32, d: 64] */
    float *const row_factor_3 = (float *)(void *)(work + 24704); /* [i: 32] */
    float *const weight_2 = (float *)(void *)(work + 24704); /* [i: 32, j: 32] */
    float *const key_5 = (float *)(void *)(work + 53376); /* [i: 32, f: 64] */
    float *const sum_from_state = (float *)(void *)(work + 45184); /* [i: 32, e: 64] */
    float *const sum = (float *)(void *)(work + 53376); /* [i: 32, e: 64] */
    float *const out = call->out + b * call->p.out.batch + g * members * call->p.out.head;
    const int64_t out_row = call->p.out.row;
    const int64_t out_head = call->p.out.head;
    float *const kept_share = (float *)(void *)(work + 16384); /* [f: 64] */
    float *const lost_share = (float *)(void *)(work + 16640); /* [f: 64] */
    float *const log_decay = (float *)(void *)(work + 16384); /* [j: 32, d: 64] */
    float *const log_decay_sum = (float *)(void *)(work + 61568); /* [j: 32, d: 64] */
    float *const log_decay_sum_low = (float *)(void *)(work + 69760); /* [j: 32, d: 64] */
    const float *const gate_array = call->gate_array + b * call->gate_array_at.batch + g * members *
        call->gate_array_at.head;
    const int64_t gate_array_row = call->gate_array_at.row;
    const int64_t gate_array_stride_3 = call->at.gate[3];
    float *const log_decay_total = (float *)(void *)(work + 24576); /* [d: 64] */
    float *const log_decay_rest = (float *)(void *)(work + 24832); /* [d: 64] */
    float *const gate_tile = (float *)(void *)(work + 77952); /* [j: 32, d: 64] */
    float *const beta_tile = (float *)(void *)(work + 86144); /* [j: 32] */
    for (int64_t m = 0; m < members; m++) {
        /* state = 0.0f */
        for (int64_t f = 0; f < 64; f++) {
            for (int64_t e_first = 0; e_first < 64; e_first += 64) {
                UNROLL for (int64_t vector = 0, e = e_first; vector < 4; vector++, e += 16) {
                    store_v4(state + f * 64 + e, splat_v4(0.0f));
                }
            }
        }
        for (int64_t chunk = 0; chunk < chunks; chunk++) {
            for (int64_t j0 = chunk * 32, j_end = min((chunk * 32) + 32, n_k); j0 < j_end; j0 += 32) {
                const int64_t j1 = min(j0 + 32, j_end);
                if (gate_array_stride_3 == 1) {
                    /* gate_tile = gate_array, with zeros beyond the last row */
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        for (int64_t d = 0; d < 64; d += 16)
                            __builtin_prefetch(gate_array + (j0 + j) * gate_array_row + d + (j1 - j0) * gate_array_row,
                                0, 2);
                        for (int64_t d = 0; d < 64; d++)
                            gate_tile[j * 64 + d] = gate_array[(j0 + j) * gate_array_row + d];
                    }
                } else {
                    /* gate_tile = gate_array, with zeros beyond the last row */
                    for (int64_t j = 0; j < j1 - j0; j++)
                        for (int64_t d = 0; d < 64; d++)
                            gate_tile[j * 64 + d] = gate_array[(j0 + j) * gate_array_row + d * gate_array_stride_3];
                }
                if (beta_array_row == 1) {
                    /* beta_tile = beta_array, with zeros beyond the last row */
                    for (int64_t j = 0; j < round_up(j1 - j0, 16); j++)
                        beta_tile[j] = j < j1 - j0 ? beta_array[(j0 + j)] : 0;
                } else {
                    /* beta_tile = beta_array, with zeros beyond the last row */
                    for (int64_t j = 0; j < round_up(j1 - j0, 16); j++)
                        beta_tile[j] = j < j1 - j0 ? beta_array[(j0 + j) * beta_array_row] : 0;
                }
                for (int64_t t_key0 = j0, t_key_end = j1; t_key0 < t_key_end; t_key0 += 32) {
                    const int64_t t_key1 = min(t_key0 + 32, t_key_end);
                    /* log_decay = max(gate_tile, -1e+04f) */
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        for (int64_t d_first = 0; d_first < 64; d_first += 64) {
                            UNROLL for (int64_t vector = 0, d = d_first; vector < 4; vector++, d += 16) {
                                store_v4(log_decay + j * 64 + d, max_v4(load_v4(gate_tile + j * 64 + d),
                                    splat_v4(-1e+04f)));
                            }
                        }
                    }
                    /* log_decay_total = 0.0f; log_decay_rest = 0.0f */
                    for (int64_t d = 0; d < 64; d += 16) {
                        store_v4(log_decay_total + d, splat_v4(0.0f));
                        store_v4(log_decay_rest + d, splat_v4(0.0f));
                    }
                    for (int64_t position0 = j0, position_end = j1; position0 < position_end; position0 += 1) {
                        const int64_t position1 = min(position0 + 1, position_end);
                        (void)position1;
                        /* log_decay_next = log_decay_total + log_decay; log_decay_rest = log_decay_rest +
                           ((log_decay_total - (log_decay_next - (log_decay ... */
                        for (int64_t d = 0; d < 64; d += 16) {
                            const vec_v4 log_decay_total_0 = load_v4(log_decay_total + d);
                            const vec_v4 log_decay_1 = load_v4(log_decay + (position0 - j0) * 64 + d);
                            const vec_v4 log_decay_next_new2 = log_decay_total_0 + log_decay_1;
                            const vec_v4 log_decay_rest_3 = load_v4(log_decay_rest + d);
                            const vec_v4 t_4 = log_decay_next_new2 - log_decay_total_0;
                            const vec_v4 log_decay_rest_new5 = log_decay_rest_3 + ((log_decay_total_0 -
                                (log_decay_next_new2 - t_4)) + (log_decay_1 - t_4));
                            store_v4(log_decay_rest + d, log_decay_rest_new5);
                            store_v4(log_decay_total + d, log_decay_next_new2);
                            store_v4(log_decay_sum + (position0 - j0) * 64 + d, log_decay_next_new2);
                            store_v4(log_decay_sum_low + (position0 - j0) * 64 + d, log_decay_rest_new5);
                        }
                    }
                    /* query_sum = 0.0f */
                    for (int64_t j = 0; j < j1 - j0; j += 16) {
                        store_v4(query_sum + j, splat_v4(0.0f));
                    }
                    /* query_sum += k * k */
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        vec_v4 lane_sums = splat_v4(0);
                        for (int64_t d = 0; d < 64; d += 16) {
                            const vec_v4 k_6 = load_v4(k + (j0 + j) * k_row + d);
                            __builtin_prefetch(k + (j0 + j) * k_row + d + (j1 - j0) * k_row, 0, 2);
                            const vec_v4 term = k_6 * k_6;
                            lane_sums += d + 16 <= 64 ? term : pick_v4(__builtin_convertvector(d + lane_v4 < 64,
                                mask_v4), term, splat_v4(0));
                        }
                        const float total = lane_sum_v4(lane_sums);
                        query_sum[j] += total;
                    }
                    /* row_factor = select(query_sum == 0.0f, 0.0f, 1.0f / sqrt(query_sum)) */
                    for (int64_t j = 0; j < j1 - j0; j += 16) {
                        const vec_v4 query_sum_7 = load_v4(query_sum + j);
                        store_v4(row_factor + j, pick_v4(query_sum_7 == 0.0f, splat_v4(0.0f),
                            1.0f / sqrt_v4(query_sum_7)));
                    }
                    /* key = k * row_factor */
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        for (int64_t d_first = 0; d_first < 64; d_first += 64) {
                            UNROLL for (int64_t vector = 0, d = d_first; vector < 4; vector++, d += 16) {
                                store_v4(key + j * 64 + d, load_v4(k + (j0 + j) * k_row + d) * row_factor[j]);
                            }
                        }
                    }
                    /* weight = 0.0f */
                    for (int64_t t_key = 0; t_key < t_key1 - t_key0; t_key++) {
                        for (int64_t j = 0; j < j1 - j0; j += 16) {
                            store_v4(weight + t_key * 32 + j, splat_v4(0.0f));
                        }
                    }
                    /* weight[t_key][j] += sum over d of key * key * a decay, for j up to the query's last key */
                    dot0_v4(t_key1 - t_key0, j1 - j0, t_key0 - j0, key, key, log_decay_sum, log_decay_sum_low, weight);
                    /* key_3 = key * select((lo() / 32) == 0, 1.0f, exp2((log_decay_sum + log_decay_sum_low) *
                       1.442695f)) */
                    const int t_8 = (j0 / 32) == 0;
                    for (int64_t t_key = 0; t_key < t_key1 - t_key0; t_key++) {
                        for (int64_t f = 0; f < 64; f += 16) {
                            store_v4(key_3 + t_key * 64 + f, load_v4(key + ((t_key0 + t_key) - j0) * 64 + f) * (t_8 ?
                                splat_v4(1.0f) : exp2_v4((load_v4(log_decay_sum + ((t_key0 + t_key) - j0) * 64 + f) +
                                load_v4(log_decay_sum_low + ((t_key0 + t_key) - j0) * 64 + f)) * 1.442695f)));
                        }
                    }
                    /* query_scale = beta_tile */
                    for (int64_t j = 0; j < j1 - j0; j += 16) {
                        store_v4(query_scale + j, load_v4(beta_tile + j));
                    }
                    /* from_state[t_key][e] = sum over f of key_3 * state */
                    dot1_v4(t_key1 - t_key0, key_3, state, from_state);
                    /* from_state = v - from_state */
                    for (int64_t t_key = 0; t_key < t_key1 - t_key0; t_key++) {
                        for (int64_t e_first = 0; e_first < 64; e_first += 64) {
                            UNROLL for (int64_t vector = 0, e = e_first; vector < 4; vector++, e += 16) {
                                store_v4(from_state + t_key * 64 + e, load_v4(v + (t_key0 + t_key) * v_row + e) -
                                    load_v4(from_state + t_key * 64 + e));
                                __builtin_prefetch(v + (t_key0 + t_key) * v_row + e + (t_key1 - t_key0) * v_row, 0, 2);
                            }
                        }
                    }
                    /* corrected[t_key][e] = query_scale[t_key] * (from_state[t_key][e] - sum over j < t_key of weight *
                       corrected[j][e]) */
                    dot2_v4(t_key1 - t_key0, weight, query_scale, from_state, corrected);
                    /* key_features = key * exp2(((log_decay_sum - log_decay_sum) + (log_decay_sum_low -
                       log_decay_sum_low)) * 1.442695f) */
                    for (int64_t f = 0; f < 64; f += 16) {
                        const vec_v4 log_decay_sum_9 = load_v4(log_decay_sum + ((j1 - 1) - j0) * 64 + f);
                        const vec_v4 log_decay_sum_low_10 = load_v4(log_decay_sum_low + ((j1 - 1) - j0) * 64 + f);
                        for (int64_t j = 0; j < j1 - j0; j++) {
                            store_v4(key_features + j * 64 + f, load_v4(key + j * 64 + f) * exp2_v4(((log_decay_sum_9 -
                                load_v4(log_decay_sum + j * 64 + f)) + (log_decay_sum_low_10 - load_v4(log_decay_sum_low
                                + j * 64 + f))) * 1.442695f));
                        }
                    }
                    for (int64_t i0 = ((j0 / 32) == 0) ? 0 : max(0, j0 - query_start), i_end = min(n_q,
                        (((j0 / 32) + 1) * 32) - query_start); i0 < i_end; i0 += 32) {
                        const int64_t i1 = min(i0 + 32, i_end);
                        /* query_sum_3 = 0.0f */
                        for (int64_t i = 0; i < i1 - i0; i += 16) {
                            store_v4(query_sum_3 + i, splat_v4(0.0f));
                        }
                        /* query_sum_3 += q * q */
                        for (int64_t i = 0; i < i1 - i0; i++) {
                            vec_v4 lane_sums = splat_v4(0);
                            for (int64_t d = 0; d < 64; d += 16) {
                                const vec_v4 q_11 = load_v4(q + m * q_head + (i0 + i) * q_row + d);
                                __builtin_prefetch(q + m * q_head + (i0 + i) * q_row + d + (i1 - i0) * q_row, 0, 2);
                                const vec_v4 term = q_11 * q_11;
                                lane_sums += d + 16 <= 64 ? term : pick_v4(__builtin_convertvector(d + lane_v4 < 64,
                                    mask_v4), term, splat_v4(0));
                            }
                            const float total = lane_sum_v4(lane_sums);
                            query_sum_3[i] += total;
                        }
                        /* row_factor_3 = select(query_sum_3 == 0.0f, 0.0f, 1.0f / sqrt(query_sum_3)) */
                        for (int64_t i = 0; i < i1 - i0; i += 16) {
                            const vec_v4 query_sum_3_12 = load_v4(query_sum_3 + i);
                            store_v4(row_factor_3 + i, pick_v4(query_sum_3_12 == 0.0f, splat_v4(0.0f),
                                1.0f / sqrt_v4(query_sum_3_12)));
                        }
                        /* key_4 = (q * row_factor_3) * 0.125f */
                        for (int64_t i = 0; i < i1 - i0; i++) {
                            for (int64_t d_first = 0; d_first < 64; d_first += 64) {
                                UNROLL for (int64_t vector = 0, d = d_first; vector < 4; vector++, d += 16) {
                                    store_v4(key_4 + i * 64 + d, (load_v4(q + m * q_head + (i0 + i) * q_row + d) *
                                        row_factor_3[i]) * 0.125f);
                                }
                            }
                        }
                        /* weight_2 = 0.0f */
                        for (int64_t i = 0; i < i1 - i0; i++) {
                            for (int64_t j = 0; j < j1 - j0; j += 16) {
                                store_v4(weight_2 + i * 32 + j, splat_v4(0.0f));
                            }
                        }
                        /* weight_2[i][j] += sum over d of key * key_4 * a decay, for j up to the query's last key */
                        dot0_v4(i1 - i0, j1 - j0, i0 + query_start - j0, key_4, key, log_decay_sum, log_decay_sum_low,
                            weight_2);
                        /* key_5 = key_4 * select((lo() / 32) == 0, 1.0f,
                           exp2((log_decay_sum + log_decay_sum_low) * 1.442695f)) */
                        const int t_13 = (j0 / 32) == 0;
                        for (int64_t i = 0; i < i1 - i0; i++) {
                            for (int64_t f = 0; f < 64; f += 16) {
                                store_v4(key_5 + i * 64 + f, load_v4(key_4 + i * 64 + f) * (t_13 ? splat_v4(1.0f) :
                                    exp2_v4((load_v4(log_decay_sum + (max(j0, min((i0 + i) + query_start,
                                    j1 - 1)) - j0) * 64 + f) + load_v4(log_decay_sum_low + (max(j0,
                                    min((i0 + i) + query_start, j1 - 1)) - j0) * 64 + f)) * 1.442695f)));
                            }
                        }
                        /* sum_from_state[i][e] = sum over f of key_5 * state */
                        dot1_v4(i1 - i0, key_5, state, sum_from_state);
                        /* weight_2 = select(j <= (i + query_start), weight_2, 0.0f) */
                        for (int64_t j = 0; j < j1 - j0; j += 16) {
                            const ints_v4 t_14 = j0 + j + lane_v4;
                            for (int64_t i = 0; i < i1 - i0; i++) {
                                store_v4(weight_2 + i * 32 + j, pick_v4(__builtin_convertvector(t_14 <= ((i0 + i) +
                                    query_start), mask_v4), load_v4(weight_2 + i * 32 + j), splat_v4(0.0f)));
                            }
                        }
                        /* sum[i][e] = sum over j of weight_2 * corrected */
                        if (__builtin_expect(!finite_v4(corrected, 64, j1 - j0, 64),
                            0)) { /* infinity and NaN affect only queries that see them */
                            dot3_v4(i1 - i0, j1 - j0, weight_2, corrected, sum);
                            for (int64_t i = 0; i < i1 - i0; i++) {
                                mask_v4 in_region[2] = {0};
                                const int64_t t_15 = (i0 + i) + query_start;
                                for (int64_t j = 0; j < j1 - j0; j += 16) {
                                    in_region[j / 16] = __builtin_convertvector((j0 + j + lane_v4) <= t_15, mask_v4);
                                }
                                add_seen_lanes_v4(64, sum + i * 64, weight_2 + i * 32, corrected, 64, j1 - j0,
                                    in_region);
                            }
                        } else
                            dot4_v4(i1 - i0, j1 - j0, weight_2, corrected, sum, i0 + query_start - j0 + 1);
                        /* sum = sum + sum_from_state */
                        for (int64_t i = 0; i < i1 - i0; i++) {
                            for (int64_t e_first = 0; e_first < 64; e_first += 64) {
                                UNROLL for (int64_t vector = 0, e = e_first; vector < 4; vector++, e += 16) {
                                    store_v4(sum + i * 64 + e, load_v4(sum + i * 64 + e) + load_v4(sum_from_state + i *
                                        64 + e));
                                }
                            }
                        }
                        /* out = sum */
                        for (int64_t i = 0; i < i1 - i0; i++) {
                            for (int64_t e = 0; e < 64; e += 16)
                                __builtin_prefetch(out + m * out_head + (i0 + i) * out_row + e + (i1 - i0) * out_row, 1,
                                    2);
                            for (int64_t e = 0; e < 64; e++)
                                out[m * out_head + (i0 + i) * out_row + e] = sum[i * 64 + e];
                        }
                    }
                    /* kept_share = select(exp2((log_decay_sum + log_decay_sum_low) * 1.442695f) < 0.5f,
                       exp2((log_decay_sum + log_decay_sum_low) * 1.4 ... */
                    for (int64_t f = 0; f < 64; f += 16) {
                        const vec_v4 t_16 = load_v4(log_decay_sum + ((j1 - 1) - j0) * 64 + f) +
                            load_v4(log_decay_sum_low + ((j1 - 1) - j0) * 64 + f);
                        const vec_v4 t_17 = exp2_v4(t_16 * 1.442695f);
                        const mask_v4 t_18 = t_17 < 0.5f;
                        store_v4(kept_share + f, pick_v4(t_18, t_17, splat_v4(1.0f)));
                        store_v4(lost_share + f, pick_v4(t_18, splat_v4(0.0f), -expm1_v4(t_16)));
                    }
                    /* state[f][e] = state * kept_share - state * lost_share + sum over j of key_features * corrected */
                    dot5_v4(j1 - j0, key_features, corrected, state, kept_share, lost_share);
                }
            }
        }
    }
}

/* Computes task number `task`: one tile of queries of one head. `work` is this thread's workspace. */
TARGET_v4 static void kda_terms_v4(const struct call *call, int64_t task, unsigned char *work)
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
    const float *const gate_array = call->gate_array + b * call->gate_array_at.batch + (g * members + m) *
        call->gate_array_at.head;
    const int64_t gate_array_row = call->gate_array_at.row;
    const int64_t gate_array_stride_3 = call->at.gate[3];
    float *const result = (float *)(void *)(work + 0); /* [i: 64, d: 64] */
    float *const log_decay_k = call->log_decay_k + b * call->log_decay_k_at.batch + (g * members + m) *
        call->log_decay_k_at.head;
    const int64_t log_decay_k_row = call->log_decay_k_at.row;
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
        for (int64_t d_first = 0; d_first < 64; d_first += 64) {
            UNROLL for (int64_t vector = 0, d = d_first; vector < 4; vector++, d += 16) {
                store_v4(result + i * 64 + d, max_v4(load_v4(gate_at + i * 64 + d), splat_v4(-1e+04f)));
            }
        }
    }
    /* log_decay_k = result */
    for (int64_t i = 0; i < i1 - i0; i++)
        for (int64_t d = 0; d < 64; d++)
            log_decay_k[(i0 + i) * log_decay_k_row + d] = result[i * 64 + d];
}
#endif

/* ==== x86-64-v3 ==== */
#if defined(__x86_64__)
#define TARGET_v3 __attribute__((target("avx2,bmi,bmi2,fma,f16c")))

/* Each of these types has 8 elements:
   - vec_v3: numbers
   - mask_v3: results of comparisons
   - ints_v3: positions
   - wide_v3: doubles */
typedef float vec_v3 __attribute__((vector_size(32)));
typedef float stored_v3 __attribute__((vector_size(32), aligned(sizeof(float)), may_alias)); /* in memory, unaligned */
typedef int32_t mask_v3 __attribute__((vector_size(32)));
typedef int64_t ints_v3 __attribute__((vector_size(64)));
TARGET_v3 INLINE vec_v3 load_v3(const float *p) { return *(const stored_v3 *)(const void *)p; }
TARGET_v3 INLINE void store_v3(float *p, vec_v3 x) { *(stored_v3 *)(void *)p = x; }
TARGET_v3 INLINE vec_v3 splat_v3(float x) { return x - (vec_v3){0}; }

/* Returns a in the lanes of the mask, and b in the other lanes. */
TARGET_v3 INLINE vec_v3 pick_v3(mask_v3 m, vec_v3 a, vec_v3 b) { return (vec_v3)((m & (mask_v3)a) | (~m & (mask_v3)b));
    }

static const ints_v3 lane_v3 = {0, 1, 2, 3, 4, 5, 6, 7};

TARGET_v3 INLINE vec_v3 max_v3(vec_v3 a, vec_v3 b) { return pick_v3((mask_v3)(a < b), b, a); }

/* Returns 2^x with a relative error below 1e-8. It is 0 for x < -127.0f. NaN stays NaN. */
TARGET_v3 INLINE vec_v3 exp2_v3(vec_v3 x)
{
    x = pick_v3((mask_v3)(x < -127.0f), splat_v3(-127.0f), x);
    x = pick_v3((mask_v3)(x > 128.0f), splat_v3(128.0f), x);
    const vec_v3 t = x + 12582912.0f; /* the nearest integer is in the low bits of t */
    const vec_v3 f = x - (t - 12582912.0f);
    vec_v3 p = f * 0.00015453163f + 0.0013390863f;
    p = p * f + 0.0096180826f;
    p = p * f + 0.055503571f;
    p = p * f + 0.24022651f;
    p = p * f + 0.69314719f;
    p = p * f + 1.0f;
    return p * (vec_v3)(((mask_v3)t + 127) << 23);
}

/* Returns (e^x - 1) / 2 within 4 ulp, for -40 <= x <= 89.0f. With x = n * ln(2) + r, the result is 2^(n - 1) *
   (e^r - 1) + (2^(n - 1) - 1/2). This does not cancel near 0. */
TARGET_v3 INLINE vec_v3 half_expm1_v3(vec_v3 x)
{
    const vec_v3 t = x * 1.44269504f + 12582912.0f, n = t - 12582912.0f;
    const vec_v3 r = (x - n * 0.693145751953125f) - n * 1.4286068203094172e-06f;
    vec_v3 p = r * 0.0013926184f + 0.0083631791f;
    p = p * r + 0.041666555f;
    p = p * r + 0.16666577f;
    p = p * r + 0.5f;
    const vec_v3 half = (vec_v3)(((mask_v3)t + 126) << 23);
    p = p * (r * r) + r;
    return half * p + (half - (float)0.5);
}

/* Returns e^x - 1 within 4 ulp. NaN stays NaN. */
TARGET_v3 INLINE vec_v3 expm1_v3(vec_v3 x)
{
    x = pick_v3((mask_v3)(x < (float)-40), splat_v3((float)-40), x);
    x = pick_v3((mask_v3)(x > 89.0f), splat_v3(89.0f), x);
    return half_expm1_v3(x) * (float)2;
}

TARGET_v3 INLINE vec_v3 sqrt_v3(vec_v3 x)
{
    vec_v3 y;
    __asm__("vsqrtps %1, %0" : "=v"(y) : "v"(x));
    return y;
}

/* Returns the sum over the lanes of x. */
TARGET_v3 INLINE float lane_sum_v3(vec_v3 x)
{
    x += __builtin_shufflevector(x, x, 4, 5, 6, 7, 0, 1, 2, 3);
    x += __builtin_shufflevector(x, x, 2, 3, 0, 1, 6, 7, 4, 5);
    x += __builtin_shufflevector(x, x, 1, 0, 3, 2, 5, 4, 7, 6);
    return x[0];
}

/* Returns a vector whose lane r is the sum over the lanes of t[r]. Overwrites t. */
TARGET_v3 INLINE vec_v3 lane_sums_v3(vec_v3 *t)
{
    UNROLL for (int r = 0; r < 8; r += 2)
        t[r] = __builtin_shufflevector(t[r], t[r + 1], 0, 2, 8, 10, 4, 6, 12, 14) + __builtin_shufflevector(t[r],
            t[r + 1], 1, 3, 9, 11, 5, 7, 13, 15);
    UNROLL for (int r = 0; r < 8; r += 4)
        t[r] = __builtin_shufflevector(t[r], t[r + 2], 0, 2, 8, 10, 4, 6, 12, 14) + __builtin_shufflevector(t[r],
            t[r + 2], 1, 3, 9, 11, 5, 7, 13, 15);
    UNROLL for (int r = 0; r < 8; r += 8)
        t[r] = __builtin_shufflevector(t[r], t[r + 4], 0, 1, 2, 3, 8, 9, 10, 11) + __builtin_shufflevector(t[r],
            t[r + 4], 4, 5, 6, 7, 12, 13, 14, 15);
    return t[0];
}

typedef uint32_t bits_v3 __attribute__((vector_size(32), aligned(sizeof(float)), may_alias));
typedef uint32_t bit_v3 __attribute__((may_alias));

/* Returns whether all p[r * row + c] are finite, for r < rows and c < columns. Infinity and NaN have all exponent
   bits set. So adding the lowest exponent bit, 0x00800000, carries into the sign. */
TARGET_v3 APART int finite_v3(const float *p, int64_t row, int64_t rows, int64_t columns)
{
    bits_v3 found = {0};
    uint32_t one = 0;
    for (int64_t r = 0; r < rows; r++, p += row) {
        int64_t c = 0;
        for (; c + 8 <= columns; c += 8)
            found |= (*(const bits_v3 *)(const void *)(p + c) & 0x7fffffff) + 0x00800000;
        for (; c < columns; c++) one |= (*(const bit_v3 *)(const void *)(p + c) & 0x7fffffff) + 0x00800000;
    }
    for (int k = 0; k < 8; k++) one |= found[k];
    return one <= 0x7fffffff;
}

/* sum[x] += weights[t] * values[t][x], but only for values that are infinite or NaN, and for steps t in `seen`. */
TARGET_v3 APART void add_seen_lanes_v3(int64_t lanes, float *sum, const float *weights, const float *values,
    int64_t value_row,
    int64_t steps, const mask_v3 *seen)
{
    for (int64_t t = 0; t < steps; t++, values += value_row)
        for (int64_t x = 0; x < lanes && seen[t / 8][t % 8]; x++)
            if (!finite_v3(values + x, 0, 1, 1)) sum[x] += weights[t] * values[x];
}

/* sum[r][x] = sum over t of a[r][t] * b[t][x], for up to 6 rows r and `vectors` vectors of lanes x. The sums stay
   in registers. `update` says how c changes:
   - 0: c = sum
   - 1: c = c + sum
   - 2: c = c * factor[x] + sum
   - 3: like 2, with compensated summation. If `factor` is NULL, it is 1.
   If `early` is not 0, step t prefetches row t + early of b. A step prefetches only one row, because a core can have
   few cache misses in flight. */
TARGET_v3 INLINE void block_v3(const int rows, const int vectors, int64_t steps, const float *a, int64_t a_row,
    int64_t a_step,
    const float *b, int64_t b_step, float *c, int64_t c_row, const int update,
    const float *factor)
{
    vec_v3 sum[6][2];
    UNROLL for (int r = 0; r < rows; r++)
        UNROLL for (int v = 0; v < vectors; v++) sum[r][v] = (vec_v3){0};
    int64_t t = 0;
    for (; t < steps; t++, a += a_step, b += b_step) {
        vec_v3 x[2];
        UNROLL for (int v = 0; v < vectors; v++) x[v] = load_v3(b + v * 8);
        UNROLL for (int r = 0; r < rows; r++) {
            const float y = a[r * a_row];
            UNROLL for (int v = 0; v < vectors; v++) sum[r][v] += y * x[v];
        }
    }
    UNROLL for (int v = 0; v < vectors; v++) {
        const vec_v3 times = update >= 2 && factor ? load_v3(factor + v * 8) : splat_v3(1);
        UNROLL for (int r = 0; r < rows; r++) {
            float *const to = c + r * c_row + v * 8;
            store_v3(to, update == 0 ? sum[r][v]
                : update == 1 ? load_v3(to) + sum[r][v] : load_v3(to) * times + sum[r][v]);
        }
    }
}

/* Like block_v3, but if `update` is 0 and the sum is long, it adds `span` terms at a time. Each span is summed
   separately, which reduces rounding errors. */
TARGET_v3 INLINE void parts_v3(const int rows, const int vectors, int64_t steps, const int64_t span, const float *a,
    int64_t a_row, int64_t a_step, const float *b, int64_t b_step, float *c, int64_t c_row, const int update,
    const float *factor)
{
    const int64_t first = update == 0 && steps > 2 * span ? span : steps;
    block_v3(rows, vectors, first, a, a_row, a_step, b, b_step, c, c_row, update,
        factor);
    if (update == 0)
        for (int64_t t = first; t < steps; t += span)
            block_v3(rows, vectors, min(span, steps - t), a + t * a_step, a_row, a_step, b + t * b_step, b_step, c,
                c_row, 1, NULL);
}

/* Like parts_v3, for any number of rows. `lanes` is a multiple of 8 * vectors. `tail` is rows % 6 if this is a
   constant, otherwise -1. */
TARGET_v3 INLINE void blocks_v3(const int vectors, const int64_t lanes, int64_t rows, const int tail, int64_t steps,
    const int64_t span, const float *a, int64_t a_row, int64_t a_step, const float *b, int64_t b_step, float *c,
        int64_t c_row,
    const int update, const float *factor)
{
    for (int64_t x = 0; x < lanes; x += vectors * 8) {
        const float *const f = factor ? factor + x : NULL;
        int64_t r = 0;
        for (; r + 6 <= rows; r += 6)
            parts_v3(6, vectors, steps, span, a + r * a_row, a_row, a_step, b + x, b_step,
                c + r * c_row + x, c_row, update, f);
        switch (tail >= 0 ? tail : rows - r) {
        case 5: parts_v3(5, vectors, steps, span, a + r * a_row, a_row, a_step, b + x, b_step, c + r * c_row + x, c_row,
            update, f); break;
        case 4: parts_v3(4, vectors, steps, span, a + r * a_row, a_row, a_step, b + x, b_step, c + r * c_row + x, c_row,
            update, f); break;
        case 3: parts_v3(3, vectors, steps, span, a + r * a_row, a_row, a_step, b + x, b_step, c + r * c_row + x, c_row,
            update, f); break;
        case 2: parts_v3(2, vectors, steps, span, a + r * a_row, a_row, a_step, b + x, b_step, c + r * c_row + x, c_row,
            update, f); break;
        case 1: parts_v3(1, vectors, steps, span, a + r * a_row, a_row, a_step, b + x, b_step, c + r * c_row + x, c_row,
            update, f); break;
        }
    }
}

/* Like block_v3, for any number of rows and vectors. It computes one vector at a time. */
TARGET_v3 APART void narrow_v3(int64_t lanes, int64_t rows, int64_t steps, int64_t span, const float *a, int64_t a_row,
    int64_t a_step, const float *b, int64_t b_step, float *c, int64_t c_row, int update,
    const float *factor)
{
    const int64_t most = update == 0 && steps > 2 * span ? span : steps;
    for (int64_t t = 0; t < steps; t += most) {
        const int64_t some = min(most, steps - t);
        const float *const from = a + t * a_step;
        const int now = t > 0 ? 1 : update;
        for (int64_t x = 0; x < lanes; x += 8) {
            const float *const f = factor ? factor + x : NULL;
            int64_t r = 0;
            for (; r < rows; r += 6)
                switch (min(rows - r, 6)) {
        default: block_v3(6, 1, some, from + r * a_row, a_row, a_step, b + t * b_step + x, b_step,
            c + r * c_row + x, c_row, now, f); break;
        case 5: block_v3(5, 1, some, from + r * a_row, a_row, a_step, b + t * b_step + x, b_step, c + r * c_row + x,
            c_row, now, f); break;
        case 4: block_v3(4, 1, some, from + r * a_row, a_row, a_step, b + t * b_step + x, b_step, c + r * c_row + x,
            c_row, now, f); break;
        case 3: block_v3(3, 1, some, from + r * a_row, a_row, a_step, b + t * b_step + x, b_step, c + r * c_row + x,
            c_row, now, f); break;
        case 2: block_v3(2, 1, some, from + r * a_row, a_row, a_step, b + t * b_step + x, b_step, c + r * c_row + x,
            c_row, now, f); break;
        case 1: block_v3(1, 1, some, from + r * a_row, a_row, a_step, b + t * b_step + x, b_step, c + r * c_row + x,
            c_row, now, f); break;
                }
        }
    }
}

/* Returns the number of lanes that are computed in blocks of `vectors` vectors. If more than half of the last block
   is needed, the whole block is computed. */
TARGET_v3 INLINE int64_t lanes_in_blocks_v3(const int vectors, const int64_t lanes)
{
    const int64_t block = vectors * 8;
    return (lanes + (block - 1) / 2) / block * block;
}

/* Computes any number of rows. `lanes` is a multiple of 8. Other parameters are as in blocks_v3. */
TARGET_v3 INLINE void dot_v3(const int vectors, const int64_t lanes, int64_t rows, const int tail, int64_t steps,
    const int64_t span, const float *a, int64_t a_row, int64_t a_step, const float *b, int64_t b_step, float *c,
        int64_t c_row,
    const int update, const float *factor)
{
    const int64_t x = lanes_in_blocks_v3(vectors, lanes);
    blocks_v3(vectors, x, rows, tail, steps, span, a, a_row, a_step, b, b_step, c, c_row, update,
        factor);
    if (x < lanes)
        narrow_v3(lanes - x, rows, steps, span, a, a_row, a_step, b + x, b_step, c + x, c_row,
            update, factor ? factor + x : NULL);
}

/* Solves equations t to t + rows - 1 of solve_v3, for up to 4 vectors of lanes. */
TARGET_v3 INLINE void solve_some_v3(const int rows, const int vectors, int64_t t, const float *w, int64_t w_row,
    int64_t w_step, const float *rate, int64_t rate_step, const float *x, int64_t x_row, float *u, int64_t u_row)
{
    vec_v3 sum[4][4];
    UNROLL for (int r = 0; r < rows; r++)
        UNROLL for (int v = 0; v < vectors; v++) sum[r][v] = load_v3(x + (t + r) * x_row + v * 8);
    for (int64_t j = 0; j < t; j++)
        UNROLL for (int v = 0; v < vectors; v++) {
            const vec_v3 y = load_v3(u + j * u_row + v * 8);
            UNROLL for (int r = 0; r < rows; r++) sum[r][v] -= w[(t + r) * w_row + j * w_step] * y;
        }
    UNROLL for (int r = 0; r < rows; r++)
        UNROLL for (int v = 0; v < vectors; v++) {
            UNROLL for (int k = 0; k < r; k++) sum[r][v] -= w[(t + r) * w_row + (t + k) * w_step] * sum[k][v];
            sum[r][v] *= rate[(t + r) * rate_step];
            store_v3(u + (t + r) * u_row + v * 8, sum[r][v]);
        }
}

/* Like solve_v3, for up to 4 vectors of lanes. */
TARGET_v3 INLINE void solve_lanes_v3(const int vectors, int64_t t, int64_t rows, const float *w, int64_t w_row,
    int64_t w_step,
    const float *rate, int64_t rate_step, const float *x, int64_t x_row, float *u, int64_t u_row)
{
    for (; t + 4 <= rows; t += 4) solve_some_v3(4, vectors, t, w, w_row, w_step, rate, rate_step, x, x_row, u, u_row);
    for (; t < rows; t++) solve_some_v3(1, vectors, t, w, w_row, w_step, rate, rate_step, x, x_row, u, u_row);
}

/* Solves a triangular system in each lane, for first <= t < rows: u[t] = rate[t] * (x[t] - sum over j < t of w[t][j] *
   u[j]). u has the solution for t < first. */
TARGET_v3 INLINE void solve_v3(const int64_t lanes, int64_t first, int64_t rows, const float *w, int64_t w_row,
    int64_t w_step,
    const float *rate, int64_t rate_step, const float *x, int64_t x_row, float *u, int64_t u_row)
{
    int64_t l = 0;
    for (; l + 4 * 8 <= lanes; l += 4 * 8)
        solve_lanes_v3(4, first, rows, w, w_row, w_step, rate, rate_step, x + l, x_row, u + l, u_row);
    for (; l < lanes; l += 8)
        solve_lanes_v3(1, first, rows, w, w_row, w_step, rate, rate_step, x + l, x_row, u + l, u_row);
}

/* Like dot_v3, but for row r, a is 0 from step `visible` + r on. These steps are left out for whole blocks of rows. */
TARGET_v3 INLINE void dot_until_v3(const int vectors, const int64_t lanes, int64_t rows, const int tail, int64_t steps,
    const int64_t span, const float *a, int64_t a_row, int64_t a_step, const float *b, int64_t b_step, float *c,
    int64_t c_row, int64_t visible)
{
    for (int64_t r = 0; r < rows; r += 6) {
        const int64_t some = min(rows - r, 6), end = min(steps, visible + r + some - 1), last = end > 1 ? end : 1;
        if (some == 6)
            dot_v3(vectors, lanes, 6, 0, last, span, a + r * a_row, a_row, a_step, b, b_step, c + r * c_row, c_row,
                0, NULL);
        else
            dot_v3(vectors, lanes, some, tail, last, span, a + r * a_row, a_row, a_step, b, b_step, c + r * c_row,
                c_row, 0, NULL);
    }
}

/* c[r][x] = c[r][x] * kept[r] - c[r][x] * lost[r] + the sum over t of a[r][t] * b[t][x], for up to 6 rows r and
   `vectors` vectors of lanes x */
TARGET_v3 INLINE void block_kept_v3(const int rows, const int vectors, int64_t steps, const float *a, int64_t a_row,
    int64_t a_step, const float *b, int64_t b_step, float *c, int64_t c_row, const float *kept, const float *lost)
{
    vec_v3 sum[6][2];
    UNROLL for (int r = 0; r < rows; r++)
        UNROLL for (int v = 0; v < vectors; v++) sum[r][v] = (vec_v3){0};
    for (int64_t t = 0; t < steps; t++, a += a_step, b += b_step) {
        vec_v3 x[2];
        UNROLL for (int v = 0; v < vectors; v++) x[v] = load_v3(b + v * 8);
        UNROLL for (int r = 0; r < rows; r++) {
            const float y = a[r * a_row];
            UNROLL for (int v = 0; v < vectors; v++) sum[r][v] += y * x[v];
        }
    }
    UNROLL for (int r = 0; r < rows; r++)
        UNROLL for (int v = 0; v < vectors; v++) {
            float *const to = c + r * c_row + v * 8;
            const vec_v3 old = load_v3(to);
            store_v3(to, old * kept[r] - old * lost[r] + sum[r][v]);
        }
}

/* Like block_kept_v3, for any number of rows. */
TARGET_v3 INLINE void rows_kept_v3(const int vectors, int64_t rows, int64_t steps, const float *a, int64_t a_row,
    int64_t a_step, const float *b, int64_t b_step, float *c, int64_t c_row, const float *kept, const float *lost)
{
    const int some = 6 > 2 ? 2 : 1;
    int64_t r = 0;
    for (; r + 6 <= rows; r += 6)
        block_kept_v3(6, vectors, steps, a + r * a_row, a_row, a_step, b, b_step, c + r * c_row, c_row, kept + r,
            lost + r);
    for (; r + some <= rows; r += some)
        block_kept_v3(some, vectors, steps, a + r * a_row, a_row, a_step, b, b_step, c + r * c_row, c_row,
            kept + r, lost + r);
    for (; r < rows; r++)
        block_kept_v3(1, vectors, steps, a + r * a_row, a_row, a_step, b, b_step, c + r * c_row, c_row, kept + r,
            lost + r);
}

/* Like block_kept_v3, for any number of rows and lanes. `lanes` is a multiple of 8. */
TARGET_v3 INLINE void dot_kept_v3(const int vectors, const int64_t lanes, int64_t rows, int64_t steps, const float *a,
    int64_t a_row, int64_t a_step, const float *b, int64_t b_step, float *c, int64_t c_row, const float *kept,
    const float *lost)
{
    int64_t x = 0;
    for (; x + vectors * 8 <= lanes; x += vectors * 8)
        rows_kept_v3(vectors, rows, steps, a, a_row, a_step, b + x, b_step, c + x, c_row, kept, lost);
    for (; x < lanes; x += 8)
        rows_kept_v3(1, rows, steps, a, a_row, a_step, b + x, b_step, c + x, c_row, kept, lost);
}

/* Like dot_v3, but uses 0 for infinity and NaN in b. It copies one vector of columns of b at a time. If `fetched`, it
   adds in the order of dot_fetched_v3, so that results round equally. */
TARGET_v3 INLINE void dot_finite_lanes_v3(const int fetched, const int vectors, const int64_t lanes, int64_t rows,
    const int tail, int64_t steps, const int64_t span, const float *a, int64_t a_row, int64_t a_step, const float *b,
    int64_t b_step, float *c, int64_t c_row, const int update, const float *factor)
{
    float column[32 * 8];
    (void)vectors;
    for (int64_t x = 0; x < lanes; x += 8) {
        for (int64_t t = 0; t < steps; t++)
            for (int64_t k = 0; k < 8; k++) {
                const float *const p = b + t * b_step + x + k;
                column[t * 8 + k] = finite_v3(p, 0, 1, 1) ? *p : 0;
            }
        const int64_t some = fetched ? 16 : steps;
        for (int64_t t = 0; t < steps; t += some)
            dot_v3(1, 8, rows, tail, min(steps - t, some), span, a + t * a_step, a_row, a_step,
                column + t * 8, 8, c + x, c_row, update,
                factor ? factor + x : NULL);
    }
}

/* The keys of a block. */
#define BLOCK_v3 8

/* The keys of half a block. */
#define HALF_v3 4

/* The sums add this number of elements at a time. */
#define ELEMENTS_v3 128

/* Numbers of that many elements:
   - key: keys, decayed up to the last key of their block
   - over: the decay over a block
   The others belong to the current block:
   - step: the decay from the key before to each key
   - x: rows of queries, if queries have other logarithms than their keys: with the decay between the two
   - row: these rows with the decay from the last key before the block
   - late: the second half of the rows, with the decay from the first half's last key
   - early: the first half of the keys, decayed up to the last of them */
struct decayed_rows_v3 {
    float key[32][ELEMENTS_v3], over[32 / BLOCK_v3][ELEMENTS_v3], step[BLOCK_v3][ELEMENTS_v3],
        x[BLOCK_v3][ELEMENTS_v3], row[BLOCK_v3][ELEMENTS_v3], late[HALF_v3][ELEMENTS_v3], early[HALF_v3][ELEMENTS_v3];
};

/* Rows of float. `low` is what `high` loses by rounding, or NULL. */
struct decay_logs_v3 {
    const float *high, *low;
    int64_t high_row, low_row;
};

/* Elements of one row of struct decay_logs_v3. */
struct decay_log_v3 {
    vec_v3 high, low;
};

TARGET_v3 INLINE struct decay_log_v3 load_decay_log_v3(const struct decay_logs_v3 *logs, int64_t row, int64_t t)
{
    return (struct decay_log_v3){load_v3(logs->high + row * logs->high_row + t),
        logs->low ? load_v3(logs->low + row * logs->low_row + t) : (vec_v3){0}};
}

TARGET_v3 INLINE vec_v3 decay_between_v3(const float scale, struct decay_log_v3 a, struct decay_log_v3 b)
{
    return exp2_v3(((a.high - b.high) + (a.low - b.low)) * scale);
}

TARGET_v3 INLINE int64_t nearest_v3(int64_t k, int64_t count) { return k < 0 ? 0 : k < count ? k : count - 1; }

/* Sets the numbers of the block at key j, for elements t to t + terms - 1. Keys and queries outside the ranges get
   the nearest one's numbers. `same`: the logarithms of queries are those of their keys. */
TARGET_v3 INLINE void decay_block_v3(struct decayed_rows_v3 *part, int64_t j, int64_t t, int64_t terms, int64_t lanes,
    int64_t rows, int64_t first, const float scale, const float *x, int64_t x_row, const struct decay_logs_v3 *a,
    const float *y, int64_t y_row, const struct decay_logs_v3 *b, const int64_t after, const int same)
{
    for (int64_t i = 0; i < terms; i += 8) {
        vec_v3 step[BLOCK_v3], row[BLOCK_v3], decay;
        struct decay_log_v3 before = load_decay_log_v3(b, nearest_v3(j - 1, rows), t + i);
        UNROLL for (int k = 0; k < BLOCK_v3; k++) {
            const struct decay_log_v3 log = load_decay_log_v3(b, nearest_v3(j + k, rows), t + i);
            const int64_t l = nearest_v3(j + k - first, lanes);
            step[k] = decay_between_v3(scale, log, before);
            row[k] = load_v3(x + l * x_row + t + i);
            if (!same) {
                const struct decay_log_v3 own = a->high ? load_decay_log_v3(a, l, t + i)
                                                       : load_decay_log_v3(b, nearest_v3(j + k + after, rows), t + i);
                row[k] *= decay_between_v3(scale, own, log);
            }
            store_v3(part->step[k] + i, step[k]);
            if (!same) store_v3(part->x[k] + i, row[k]);
            before = log;
        }
        decay = step[0];
        UNROLL for (int k = 0; k < HALF_v3; k++) {
            store_v3(part->row[k] + i, row[k] * decay);
            if (k + 1 < HALF_v3) decay *= step[k + 1];
        }
        vec_v3 late = step[HALF_v3];
        UNROLL for (int k = HALF_v3; k < BLOCK_v3; k++) {
            const vec_v3 faded = row[k] * late;
            store_v3(part->late[k - HALF_v3] + i, faded);
            store_v3(part->row[k] + i, faded * decay);
            if (k + 1 < BLOCK_v3) late *= step[k + 1];
        }
        store_v3(part->over[j / BLOCK_v3] + i, decay * late);
        decay = splat_v3(1);
        UNROLL for (int k = HALF_v3 - 1; k >= 0; k--) {
            const vec_v3 faded = load_v3(y + nearest_v3(j + k, rows) * y_row + t + i) * decay;
            store_v3(part->early[k] + i, faded);
            store_v3(part->key[j + k] + i, faded * late);
            decay *= step[k];
        }
        decay = splat_v3(1);
        UNROLL for (int k = BLOCK_v3 - 1; k >= HALF_v3; k--) {
            store_v3(part->key[j + k] + i, load_v3(y + nearest_v3(j + k, rows) * y_row + t + i) * decay);
            decay *= step[k];
        }
    }
}

/* Where sums of pairs are stored, and which. */
struct decayed_pairs_v3 {
    float *w;
    int64_t w_query, w_key, lanes, rows, first;
    float times;
};

/* Adds the sums of HALF_v3 queries, from l on, with HALF_v3 keys, from j on, where there are such pairs. */
TARGET_v3 INLINE void add_decayed_v3(const struct decayed_pairs_v3 *to, int64_t l, int64_t j, const float *sum)
{
    float *const w = to->w + l * to->w_query + j * to->w_key;
    if (l >= 0 && l + HALF_v3 <= to->lanes && j + HALF_v3 <= to->rows && j + HALF_v3 - 1 <= to->first + l)
        UNROLL for (int r = 0; r < HALF_v3; r++)
            UNROLL for (int k = 0; k < HALF_v3; k++)
                w[r * to->w_query + k * to->w_key] += to->times * sum[r * HALF_v3 + k];
    else
        for (int r = 0; r < HALF_v3; r++)
            for (int k = 0; k < HALF_v3; k++)
                if (l + r >= 0 && l + r < to->lanes && j + k < to->rows && j + k <= to->first + l + r)
                    w[r * to->w_query + k * to->w_key] += to->times * sum[r * HALF_v3 + k];
}

/* sum[r][k] = the sum over elements of x[r] * y[k], for HALF_v3 rows of each */
TARGET_v3 INLINE void decayed_products_v3(int64_t terms, float (*x)[ELEMENTS_v3], float (*y)[ELEMENTS_v3], float *sum)
{
    const int some = 16 > 16 ? HALF_v3 : HALF_v3 / 2;
    for (int first = 0; first < HALF_v3; first += some) {
        vec_v3 s[HALF_v3 * HALF_v3];
        UNROLL for (int k = 0; k < some * HALF_v3; k++) s[k] = (vec_v3){0};
        for (int64_t i = 0; i < terms; i += 8) {
            vec_v3 key[HALF_v3];
            UNROLL for (int k = 0; k < HALF_v3; k++) key[k] = load_v3(y[k] + i);
            UNROLL for (int r = 0; r < some; r++) {
                const vec_v3 row = load_v3(x[first + r] + i);
                UNROLL for (int k = 0; k < HALF_v3; k++) s[r * HALF_v3 + k] += row * key[k];
            }
        }
        UNROLL for (int k = 0; k < some * HALF_v3; k += 8)
            store_v3(sum + first * HALF_v3 + k, lane_sums_v3(s + k));
    }
}

/* Rows of float. Row r is row nearest_v3(first + r, count) of `row`. */
struct near_rows_v3 {
    const float *row;
    int64_t step, first, count;
};

TARGET_v3 INLINE vec_v3 load_near_v3(const struct near_rows_v3 *x, int r, int64_t i)
{
    return load_v3(x->row + nearest_v3(x->first + r, x->count) * x->step + i);
}

/* Like decayed_products_v3, for queries at the same keys: only for k <= r, with the decays from each key to the next
   one. */
TARGET_v3 INLINE void decayed_own_v3(int64_t terms, struct near_rows_v3 x, struct near_rows_v3 y,
    float (*step)[ELEMENTS_v3],
    float *sum)
{
    vec_v3 s[HALF_v3 * HALF_v3];
    UNROLL for (int k = 0; k < HALF_v3 * HALF_v3; k++) s[k] = (vec_v3){0};
    for (int64_t i = 0; i < terms; i += 8) {
        vec_v3 key[HALF_v3], fade[HALF_v3];
        UNROLL for (int k = 0; k < HALF_v3; k++) {
            key[k] = load_near_v3(&y, k, i);
            fade[k] = load_v3(step[k] + i);
        }
        UNROLL for (int r = 0; r < HALF_v3; r++) {
            vec_v3 row = load_near_v3(&x, r, i);
            UNROLL for (int k = r; k >= 0; k--) {
                s[r * HALF_v3 + k] += row * key[k];
                row *= fade[k];
            }
        }
    }
    UNROLL for (int k = 0; k < HALF_v3 * HALF_v3; k += 8) store_v3(sum + k, lane_sums_v3(s + k));
}

/* Adds the pairs of the queries of the block at key j, for elements t to t + terms - 1. */
TARGET_v3 INLINE void add_block_v3(struct decayed_rows_v3 *part, const struct decayed_pairs_v3 *to, int64_t j,
    int64_t t,
    int64_t terms, const float *x, int64_t x_row, const float *y, int64_t y_row, const int same)
{
    float sum[HALF_v3 * HALF_v3];
    const int64_t l = j - to->first;
    for (int h = 0; h < BLOCK_v3 && j + h < to->rows; h += HALF_v3) {
        const struct near_rows_v3 keys = {y + t, y_row, j + h, to->rows}, made = {part->x[h], ELEMENTS_v3, 0, HALF_v3},
                                 given = {x + t, x_row, l + h, to->lanes};
        decayed_own_v3(terms, same ? given : made, keys, part->step + h, sum);
        add_decayed_v3(to, l + h, j + h, sum);
    }
    if (j + HALF_v3 < to->rows) {
        decayed_products_v3(terms, part->late, part->early, sum);
        add_decayed_v3(to, l + HALF_v3, j, sum);
    }
    for (int64_t from = j - BLOCK_v3; from >= 0; from -= BLOCK_v3) {
        for (int h = 0; h < BLOCK_v3 && j + h < to->rows; h += HALF_v3)
            for (int k = 0; k < BLOCK_v3; k += HALF_v3) {
                decayed_products_v3(terms, part->row + h, part->key + from + k, sum);
                add_decayed_v3(to, l + h, from + k, sum);
            }
        for (int r = 0; r < BLOCK_v3 && from > 0; r++)
            for (int64_t i = 0; i < terms; i += 8)
                store_v3(part->row[r] + i, load_v3(part->row[r] + i) * load_v3(part->over[from / BLOCK_v3] + i));
    }
}

/* Computes w[l][j] += times * (sum over t of x[l][t] * y[j][t] * exp2(scale * (a[l][t] - b[j][t]))) for the keys
   j <= first + l, j < rows. `steps` is a multiple of 8. If a is NULL, a[l] is the row of b that is nearest to
   first + l + after. */
TARGET_v3 INLINE void decayed_rows_v3(int64_t lanes, int64_t rows, const int64_t steps, int64_t first,
    const float times,
    const float scale, const float *x, int64_t x_row, const float *a, int64_t a_row, const float *a_low,
    int64_t a_low_row, const float *y, int64_t y_row, const float *b, int64_t b_row, const float *b_low,
    int64_t b_low_row, const int64_t after, float *w, const int64_t w_query, const int64_t w_key)
{
    struct decayed_rows_v3 part;
    const struct decay_logs_v3 of_rows = {a, a_low, a_row, a_low_row}, of_keys = {b, b_low, b_row, b_low_row};
    const struct decayed_pairs_v3 to = {w, w_query, w_key, lanes, rows, first, times};
    const int same = a ? first >= 0 && a_row == b_row && a == b + first * b_row : after == 0;
    for (int64_t t = 0; t < steps; t += ELEMENTS_v3) {
        const int64_t terms = min(steps - t, ELEMENTS_v3);
        for (int64_t j = 0; j < rows && j < first + lanes; j += BLOCK_v3) {
            if (same)
                decay_block_v3(&part, j, t, terms, lanes, rows, first, scale, x, x_row, &of_rows, y, y_row, &of_keys,
                    after, 1);
            else
                decay_block_v3(&part, j, t, terms, lanes, rows, first, scale, x, x_row, &of_rows, y, y_row, &of_keys,
                    after, 0);
            if (j + BLOCK_v3 > first) add_block_v3(&part, &to, j, t, terms, x, x_row, y, y_row, same);
        }
    }
    for (int64_t l = first < rows ? rows - first : 0; l < lanes; l++) /* queries after the last key */
        for (int64_t j = 0; j < rows; j++) {
            vec_v3 sum = {0};
            for (int64_t t = 0; t < steps; t += 8) {
                const struct decay_log_v3 own = a ? load_decay_log_v3(&of_rows, l, t)
                                                 : load_decay_log_v3(&of_keys, rows - 1, t);
                sum += load_v3(x + l * x_row + t) * load_v3(y + j * y_row + t) *
                    decay_between_v3(scale, own, load_decay_log_v3(&of_keys, j, t));
            }
            w[l * w_query + j * w_key] += times * lane_sum_v3(sum);
        }
}

/* The functions for the products below. Each calls dot_v3 or a similar function with constants. */
TARGET_v3 APART void dot0_v3(int64_t lanes, int64_t rows, int64_t first, const float *x, const float *y, const float *b,
    const float *b_low, float *w)
{
    decayed_rows_v3(lanes, rows, /*steps=*/64, first, /*times=*/1.0f, /*scale=*/1.442695f, x, /*x_row=*/64, /*a=*/NULL,
        /*a_row=*/0, /*a_low=*/NULL, /*a_low_row=*/0, y, /*y_row=*/64, b, /*b_row=*/64, b_low, /*b_low_row=*/64,
        /*after=*/0, w, /*w_query=*/32, /*w_key=*/1);
}
TARGET_v3 APART void dot1_v3(int64_t rows, const float *a, const float *b, float *c)
{
    dot_v3(/*vectors=*/2, /*lanes=*/64, rows, /*tail=*/-1, /*steps=*/64, /*span=*/32, a, /*a_row=*/64, /*a_step=*/1, b,
        /*b_step=*/64, c, /*c_row=*/64, /*update=*/0, /*factor=*/NULL);
}
TARGET_v3 APART void dot2_v3(int64_t rows, const float *w, const float *rate, const float *x, float *u)
{
    solve_v3(/*lanes=*/64, /*first=*/0, rows, w, /*w_row=*/32, /*w_step=*/1, rate, /*rate_step=*/1, x, /*x_row=*/64, u,
        /*u_row=*/64);
}
TARGET_v3 APART void dot3_v3(int64_t rows, int64_t steps, const float *a, const float *b, float *c)
{
    dot_finite_lanes_v3(/*fetched=*/0, /*vectors=*/2, /*lanes=*/64, rows, /*tail=*/-1, steps, /*span=*/192, a,
        /*a_row=*/32, /*a_step=*/1, b, /*b_step=*/64, c, /*c_row=*/64, /*update=*/0, /*factor=*/NULL);
}
TARGET_v3 APART void dot4_v3(int64_t rows, int64_t steps, const float *a, const float *b, float *c, int64_t visible)
{
    dot_until_v3(/*vectors=*/2, /*lanes=*/64, rows, /*tail=*/-1, steps, /*span=*/192, a, /*a_row=*/32, /*a_step=*/1, b,
        /*b_step=*/64, c, /*c_row=*/64, visible);
}
TARGET_v3 APART void dot5_v3(int64_t steps, const float *a, const float *b, float *c, const float *kept,
    const float *lost)
{
    dot_kept_v3(/*vectors=*/2, /*lanes=*/64, /*rows=*/64, steps, a, /*a_row=*/1, /*a_step=*/64, b, /*b_step=*/64, c,
        /*c_row=*/64, kept, lost);
}

/* Computes task number `task`: one tile of queries of one head. `work` is this thread's workspace. */
TARGET_v3 static void kda_linear_v3(const struct call *call, int64_t task, unsigned char *work)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_q = call->p.n_q;
    const int64_t n_k = call->p.n_k;
    const int64_t chunks = n_k > 0 ? (n_k - 1) / 32 + 1 : 1;
    const int64_t g = task % kv_heads;
    const int64_t b = task / kv_heads;
    const int64_t query_start = call->p.query_start ? call->p.query_start[b] : n_k - n_q;
    const float *const q = call->q + b * call->p.q.batch + g / call->sharing * members * call->p.q.head;
    const int64_t q_row = call->p.q.row;
    const int64_t q_head = call->p.q.head;
    const float *const k = call->k + b * call->p.k.batch + g / call->sharing * call->p.k.head;
    const int64_t k_row = call->p.k.row;
    const float *const v = call->v + b * call->p.v.batch + g * call->p.v.head;
    const int64_t v_row = call->p.v.row;
    const float *const beta_array = call->beta_array + b * call->beta_array_at.batch + g * members *
        call->beta_array_at.head;
    const int64_t beta_array_row = call->beta_array_at.row;
    float *const state = (float *)(void *)(work + 0); /* [f: 64, e: 64] */
    float *const query_sum = (float *)(void *)(work + 16384); /* [j: 32] */
    float *const key = (float *)(void *)(work + 16512); /* [j: 32, d: 64] */
    float *const row_factor = (float *)(void *)(work + 24704); /* [j: 32] */
    float *const weight = (float *)(void *)(work + 24704); /* [t_key: 32, j: 32] */
    float *const key_3 = (float *)(void *)(work + 28800); /* [t_key: 32, f: 64] */
    float *const query_scale = (float *)(void *)(work + 16384); /* [j: 32] */
    float *const from_state = (float *)(void *)(work + 36992); /* [t_key: 32, e: 64] */
    float *const corrected = (float *)(void *)(work + 28800); /* [j: 32, e: 64] */
    float *const key_features = (float *)(void *)(work + 36992); /* [j: 32, f: 64] */
    float *const query_sum_3 = (float *)(void *)(work + 16384); /* [i: 32] */
    float *const key_4 = (float *)(void *)(work + 45184); /* [i: 32, d: 64] */
    float *const row_factor_3 = (float *)(void *)(work + 24704); /* [i: 32] */
    float *const weight_2 = (float *)(void *)(work + 24704); /* [i: 32, j: 32] */
    float *const key_5 = (float *)(void *)(work + 53376); /* [i: 32, f: 64] */
    float *const sum_from_state = (float *)(void *)(work + 45184); /* [i: 32, e: 64] */
    float *const sum = (float *)(void *)(work + 53376); /* [i: 32, e: 64] */
    float *const out = call->out + b * call->p.out.batch + g * members * call->p.out.head;
    const int64_t out_row = call->p.out.row;
    const int64_t out_head = call->p.out.head;
    float *const kept_share = (float *)(void *)(work + 16384); /* [f: 64] */
    float *const lost_share = (float *)(void *)(work + 16640); /* [f: 64] */
    float *const log_decay = (float *)(void *)(work + 16384); /* [j: 32, d: 64] */
    float *const log_decay_sum = (float *)(void *)(work + 61568); /* [j: 32, d: 64] */
    float *const log_decay_sum_low = (float *)(void *)(work + 69760); /* [j: 32, d: 64] */
    const float *const gate_array = call->gate_array + b * call->gate_array_at.batch + g * members *
        call->gate_array_at.head;
    const int64_t gate_array_row = call->gate_array_at.row;
    const int64_t gate_array_stride_3 = call->at.gate[3];
    float *const log_decay_total = (float *)(void *)(work + 24576); /* [d: 64] */
    float *const log_decay_rest = (float *)(void *)(work + 24832); /* [d: 64] */
    float *const gate_tile = (float *)(void *)(work + 77952); /* [j: 32, d: 64] */
    float *const beta_tile = (float *)(void *)(work + 86144); /* [j: 32] */
    for (int64_t m = 0; m < members; m++) {
        /* state = 0.0f */
        for (int64_t f = 0; f < 64; f++) {
            for (int64_t e_first = 0; e_first < 64; e_first += 16) {
                UNROLL for (int64_t vector = 0, e = e_first; vector < 2; vector++, e += 8) {
                    store_v3(state + f * 64 + e, splat_v3(0.0f));
                }
            }
        }
        for (int64_t chunk = 0; chunk < chunks; chunk++) {
            for (int64_t j0 = chunk * 32, j_end = min((chunk * 32) + 32, n_k); j0 < j_end; j0 += 32) {
                const int64_t j1 = min(j0 + 32, j_end);
                if (gate_array_stride_3 == 1) {
                    /* gate_tile = gate_array, with zeros beyond the last row */
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        for (int64_t d = 0; d < 64; d += 8)
                            __builtin_prefetch(gate_array + (j0 + j) * gate_array_row + d + (j1 - j0) * gate_array_row,
                                0, 2);
                        for (int64_t d = 0; d < 64; d++)
                            gate_tile[j * 64 + d] = gate_array[(j0 + j) * gate_array_row + d];
                    }
                } else {
                    /* gate_tile = gate_array, with zeros beyond the last row */
                    for (int64_t j = 0; j < j1 - j0; j++)
                        for (int64_t d = 0; d < 64; d++)
                            gate_tile[j * 64 + d] = gate_array[(j0 + j) * gate_array_row + d * gate_array_stride_3];
                }
                if (beta_array_row == 1) {
                    /* beta_tile = beta_array, with zeros beyond the last row */
                    for (int64_t j = 0; j < round_up(j1 - j0, 8); j++)
                        beta_tile[j] = j < j1 - j0 ? beta_array[(j0 + j)] : 0;
                } else {
                    /* beta_tile = beta_array, with zeros beyond the last row */
                    for (int64_t j = 0; j < round_up(j1 - j0, 8); j++)
                        beta_tile[j] = j < j1 - j0 ? beta_array[(j0 + j) * beta_array_row] : 0;
                }
                for (int64_t t_key0 = j0, t_key_end = j1; t_key0 < t_key_end; t_key0 += 32) {
                    const int64_t t_key1 = min(t_key0 + 32, t_key_end);
                    /* log_decay = max(gate_tile, -1e+04f) */
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        for (int64_t d_first = 0; d_first < 64; d_first += 16) {
                            UNROLL for (int64_t vector = 0, d = d_first; vector < 2; vector++, d += 8) {
                                store_v3(log_decay + j * 64 + d, max_v3(load_v3(gate_tile + j * 64 + d),
                                    splat_v3(-1e+04f)));
                            }
                        }
                    }
                    /* log_decay_total = 0.0f; log_decay_rest = 0.0f */
                    for (int64_t d = 0; d < 64; d += 8) {
                        store_v3(log_decay_total + d, splat_v3(0.0f));
                        store_v3(log_decay_rest + d, splat_v3(0.0f));
                    }
                    for (int64_t position0 = j0, position_end = j1; position0 < position_end; position0 += 1) {
                        const int64_t position1 = min(position0 + 1, position_end);
                        (void)position1;
                        /* log_decay_next = log_decay_total + log_decay; log_decay_rest = log_decay_rest +
                           ((log_decay_total - (log_decay_next - (log_decay ... */
                        for (int64_t d = 0; d < 64; d += 8) {
                            const vec_v3 log_decay_total_0 = load_v3(log_decay_total + d);
                            const vec_v3 log_decay_1 = load_v3(log_decay + (position0 - j0) * 64 + d);
                            const vec_v3 log_decay_next_new2 = log_decay_total_0 + log_decay_1;
                            const vec_v3 log_decay_rest_3 = load_v3(log_decay_rest + d);
                            const vec_v3 t_4 = log_decay_next_new2 - log_decay_total_0;
                            const vec_v3 log_decay_rest_new5 = log_decay_rest_3 + ((log_decay_total_0 -
                                (log_decay_next_new2 - t_4)) + (log_decay_1 - t_4));
                            store_v3(log_decay_rest + d, log_decay_rest_new5);
                            store_v3(log_decay_total + d, log_decay_next_new2);
                            store_v3(log_decay_sum + (position0 - j0) * 64 + d, log_decay_next_new2);
                            store_v3(log_decay_sum_low + (position0 - j0) * 64 + d, log_decay_rest_new5);
                        }
                    }
                    /* query_sum = 0.0f */
                    for (int64_t j = 0; j < j1 - j0; j += 8) {
                        store_v3(query_sum + j, splat_v3(0.0f));
                    }
                    /* query_sum += k * k */
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        vec_v3 lane_sums = splat_v3(0);
                        for (int64_t d = 0; d < 64; d += 8) {
                            const vec_v3 k_6 = load_v3(k + (j0 + j) * k_row + d);
                            __builtin_prefetch(k + (j0 + j) * k_row + d + (j1 - j0) * k_row, 0, 2);
                            const vec_v3 term = k_6 * k_6;
                            lane_sums += d + 8 <= 64 ? term : pick_v3(__builtin_convertvector(d + lane_v3 < 64,
                                mask_v3), term, splat_v3(0));
                        }
                        const float total = lane_sum_v3(lane_sums);
                        query_sum[j] += total;
                    }
                    /* row_factor = select(query_sum == 0.0f, 0.0f, 1.0f / sqrt(query_sum)) */
                    for (int64_t j = 0; j < j1 - j0; j += 8) {
                        const vec_v3 query_sum_7 = load_v3(query_sum + j);
                        store_v3(row_factor + j, pick_v3(query_sum_7 == 0.0f, splat_v3(0.0f),
                            1.0f / sqrt_v3(query_sum_7)));
                    }
                    /* key = k * row_factor */
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        for (int64_t d_first = 0; d_first < 64; d_first += 16) {
                            UNROLL for (int64_t vector = 0, d = d_first; vector < 2; vector++, d += 8) {
                                store_v3(key + j * 64 + d, load_v3(k + (j0 + j) * k_row + d) * row_factor[j]);
                            }
                        }
                    }
                    /* weight = 0.0f */
                    for (int64_t t_key = 0; t_key < t_key1 - t_key0; t_key++) {
                        for (int64_t j = 0; j < j1 - j0; j += 8) {
                            store_v3(weight + t_key * 32 + j, splat_v3(0.0f));
                        }
                    }
                    /* weight[t_key][j] += sum over d of key * key * a decay, for j up to the query's last key */
                    dot0_v3(t_key1 - t_key0, j1 - j0, t_key0 - j0, key, key, log_decay_sum, log_decay_sum_low, weight);
                    /* key_3 = key * select((lo() / 32) == 0, 1.0f, exp2((log_decay_sum + log_decay_sum_low) *
                       1.442695f)) */
                    const int t_8 = (j0 / 32) == 0;
                    for (int64_t t_key = 0; t_key < t_key1 - t_key0; t_key++) {
                        for (int64_t f = 0; f < 64; f += 8) {
                            store_v3(key_3 + t_key * 64 + f, load_v3(key + ((t_key0 + t_key) - j0) * 64 + f) * (t_8 ?
                                splat_v3(1.0f) : exp2_v3((load_v3(log_decay_sum + ((t_key0 + t_key) - j0) * 64 + f) +
                                load_v3(log_decay_sum_low + ((t_key0 + t_key) - j0) * 64 + f)) * 1.442695f)));
                        }
                    }
                    /* query_scale = beta_tile */
                    for (int64_t j = 0; j < j1 - j0; j += 8) {
                        store_v3(query_scale + j, load_v3(beta_tile + j));
                    }
                    /* from_state[t_key][e] = sum over f of key_3 * state */
                    dot1_v3(t_key1 - t_key0, key_3, state, from_state);
                    /* from_state = v - from_state */
                    for (int64_t t_key = 0; t_key < t_key1 - t_key0; t_key++) {
                        for (int64_t e_first = 0; e_first < 64; e_first += 16) {
                            UNROLL for (int64_t vector = 0, e = e_first; vector < 2; vector++, e += 8) {
                                store_v3(from_state + t_key * 64 + e, load_v3(v + (t_key0 + t_key) * v_row + e) -
                                    load_v3(from_state + t_key * 64 + e));
                                __builtin_prefetch(v + (t_key0 + t_key) * v_row + e + (t_key1 - t_key0) * v_row, 0, 2);
                            }
                        }
                    }
                    /* corrected[t_key][e] = query_scale[t_key] * (from_state[t_key][e] - sum over j < t_key of weight *
                       corrected[j][e]) */
                    dot2_v3(t_key1 - t_key0, weight, query_scale, from_state, corrected);
                    /* key_features = key * exp2(((log_decay_sum - log_decay_sum) + (log_decay_sum_low -
                       log_decay_sum_low)) * 1.442695f) */
                    for (int64_t f = 0; f < 64; f += 8) {
                        const vec_v3 log_decay_sum_9 = load_v3(log_decay_sum + ((j1 - 1) - j0) * 64 + f);
                        const vec_v3 log_decay_sum_low_10 = load_v3(log_decay_sum_low + ((j1 - 1) - j0) * 64 + f);
                        for (int64_t j = 0; j < j1 - j0; j++) {
                            store_v3(key_features + j * 64 + f, load_v3(key + j * 64 + f) * exp2_v3(((log_decay_sum_9 -
                                load_v3(log_decay_sum + j * 64 + f)) + (log_decay_sum_low_10 - load_v3(log_decay_sum_low
                                + j * 64 + f))) * 1.442695f));
                        }
                    }
                    for (int64_t i0 = ((j0 / 32) == 0) ? 0 : max(0, j0 - query_start), i_end = min(n_q,
                        (((j0 / 32) + 1) * 32) - query_start); i0 < i_end; i0 += 32) {
                        const int64_t i1 = min(i0 + 32, i_end);
                        /* query_sum_3 = 0.0f */
                        for (int64_t i = 0; i < i1 - i0; i += 8) {
                            store_v3(query_sum_3 + i, splat_v3(0.0f));
                        }
                        /* query_sum_3 += q * q */
                        for (int64_t i = 0; i < i1 - i0; i++) {
                            vec_v3 lane_sums = splat_v3(0);
                            for (int64_t d = 0; d < 64; d += 8) {
                                const vec_v3 q_11 = load_v3(q + m * q_head + (i0 + i) * q_row + d);
                                __builtin_prefetch(q + m * q_head + (i0 + i) * q_row + d + (i1 - i0) * q_row, 0, 2);
                                const vec_v3 term = q_11 * q_11;
                                lane_sums += d + 8 <= 64 ? term : pick_v3(__builtin_convertvector(d + lane_v3 < 64,
                                    mask_v3), term, splat_v3(0));
                            }
                            const float total = lane_sum_v3(lane_sums);
                            query_sum_3[i] += total;
                        }
                        /* row_factor_3 = select(query_sum_3 == 0.0f, 0.0f, 1.0f / sqrt(query_sum_3)) */
                        for (int64_t i = 0; i < i1 - i0; i += 8) {
                            const vec_v3 query_sum_3_12 = load_v3(query_sum_3 + i);
                            store_v3(row_factor_3 + i, pick_v3(query_sum_3_12 == 0.0f, splat_v3(0.0f),
                                1.0f / sqrt_v3(query_sum_3_12)));
                        }
                        /* key_4 = (q * row_factor_3) * 0.125f */
                        for (int64_t i = 0; i < i1 - i0; i++) {
                            for (int64_t d_first = 0; d_first < 64; d_first += 16) {
                                UNROLL for (int64_t vector = 0, d = d_first; vector < 2; vector++, d += 8) {
                                    store_v3(key_4 + i * 64 + d, (load_v3(q + m * q_head + (i0 + i) * q_row + d) *
                                        row_factor_3[i]) * 0.125f);
                                }
                            }
                        }
                        /* weight_2 = 0.0f */
                        for (int64_t i = 0; i < i1 - i0; i++) {
                            for (int64_t j = 0; j < j1 - j0; j += 8) {
                                store_v3(weight_2 + i * 32 + j, splat_v3(0.0f));
                            }
                        }
                        /* weight_2[i][j] += sum over d of key * key_4 * a decay, for j up to the query's last key */
                        dot0_v3(i1 - i0, j1 - j0, i0 + query_start - j0, key_4, key, log_decay_sum, log_decay_sum_low,
                            weight_2);
                        /* key_5 = key_4 * select((lo() / 32) == 0, 1.0f,
                           exp2((log_decay_sum + log_decay_sum_low) * 1.442695f)) */
                        const int t_13 = (j0 / 32) == 0;
                        for (int64_t i = 0; i < i1 - i0; i++) {
                            for (int64_t f = 0; f < 64; f += 8) {
                                store_v3(key_5 + i * 64 + f, load_v3(key_4 + i * 64 + f) * (t_13 ? splat_v3(1.0f) :
                                    exp2_v3((load_v3(log_decay_sum + (max(j0, min((i0 + i) + query_start,
                                    j1 - 1)) - j0) * 64 + f) + load_v3(log_decay_sum_low + (max(j0,
                                    min((i0 + i) + query_start, j1 - 1)) - j0) * 64 + f)) * 1.442695f)));
                            }
                        }
                        /* sum_from_state[i][e] = sum over f of key_5 * state */
                        dot1_v3(i1 - i0, key_5, state, sum_from_state);
                        /* weight_2 = select(j <= (i + query_start), weight_2, 0.0f) */
                        for (int64_t j = 0; j < j1 - j0; j += 8) {
                            const ints_v3 t_14 = j0 + j + lane_v3;
                            for (int64_t i = 0; i < i1 - i0; i++) {
                                store_v3(weight_2 + i * 32 + j, pick_v3(__builtin_convertvector(t_14 <= ((i0 + i) +
                                    query_start), mask_v3), load_v3(weight_2 + i * 32 + j), splat_v3(0.0f)));
                            }
                        }
                        /* sum[i][e] = sum over j of weight_2 * corrected */
                        if (__builtin_expect(!finite_v3(corrected, 64, j1 - j0, 64),
                            0)) { /* infinity and NaN affect only queries that see them */
                            dot3_v3(i1 - i0, j1 - j0, weight_2, corrected, sum);
                            for (int64_t i = 0; i < i1 - i0; i++) {
                                mask_v3 in_region[4] = {0};
                                const int64_t t_15 = (i0 + i) + query_start;
                                for (int64_t j = 0; j < j1 - j0; j += 8) {
                                    in_region[j / 8] = __builtin_convertvector((j0 + j + lane_v3) <= t_15, mask_v3);
                                }
                                add_seen_lanes_v3(64, sum + i * 64, weight_2 + i * 32, corrected, 64, j1 - j0,
                                    in_region);
                            }
                        } else
                            dot4_v3(i1 - i0, j1 - j0, weight_2, corrected, sum, i0 + query_start - j0 + 1);
                        /* sum = sum + sum_from_state */
                        for (int64_t i = 0; i < i1 - i0; i++) {
                            for (int64_t e_first = 0; e_first < 64; e_first += 16) {
                                UNROLL for (int64_t vector = 0, e = e_first; vector < 2; vector++, e += 8) {
                                    store_v3(sum + i * 64 + e, load_v3(sum + i * 64 + e) + load_v3(sum_from_state + i *
                                        64 + e));
                                }
                            }
                        }
                        /* out = sum */
                        for (int64_t i = 0; i < i1 - i0; i++) {
                            for (int64_t e = 0; e < 64; e += 8)
                                __builtin_prefetch(out + m * out_head + (i0 + i) * out_row + e + (i1 - i0) * out_row, 1,
                                    2);
                            for (int64_t e = 0; e < 64; e++)
                                out[m * out_head + (i0 + i) * out_row + e] = sum[i * 64 + e];
                        }
                    }
                    /* kept_share = select(exp2((log_decay_sum + log_decay_sum_low) * 1.442695f) < 0.5f,
                       exp2((log_decay_sum + log_decay_sum_low) * 1.4 ... */
                    for (int64_t f = 0; f < 64; f += 8) {
                        const vec_v3 t_16 = load_v3(log_decay_sum + ((j1 - 1) - j0) * 64 + f) +
                            load_v3(log_decay_sum_low + ((j1 - 1) - j0) * 64 + f);
                        const vec_v3 t_17 = exp2_v3(t_16 * 1.442695f);
                        const mask_v3 t_18 = t_17 < 0.5f;
                        store_v3(kept_share + f, pick_v3(t_18, t_17, splat_v3(1.0f)));
                        store_v3(lost_share + f, pick_v3(t_18, splat_v3(0.0f), -expm1_v3(t_16)));
                    }
                    /* state[f][e] = state * kept_share - state * lost_share + sum over j of key_features * corrected */
                    dot5_v3(j1 - j0, key_features, corrected, state, kept_share, lost_share);
                }
            }
        }
    }
}

/* Computes task number `task`: one tile of queries of one head. `work` is this thread's workspace. */
TARGET_v3 static void kda_terms_v3(const struct call *call, int64_t task, unsigned char *work)
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
    const float *const gate_array = call->gate_array + b * call->gate_array_at.batch + (g * members + m) *
        call->gate_array_at.head;
    const int64_t gate_array_row = call->gate_array_at.row;
    const int64_t gate_array_stride_3 = call->at.gate[3];
    float *const result = (float *)(void *)(work + 0); /* [i: 64, d: 64] */
    float *const log_decay_k = call->log_decay_k + b * call->log_decay_k_at.batch + (g * members + m) *
        call->log_decay_k_at.head;
    const int64_t log_decay_k_row = call->log_decay_k_at.row;
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
        for (int64_t d_first = 0; d_first < 64; d_first += 16) {
            UNROLL for (int64_t vector = 0, d = d_first; vector < 2; vector++, d += 8) {
                store_v3(result + i * 64 + d, max_v3(load_v3(gate_at + i * 64 + d), splat_v3(-1e+04f)));
            }
        }
    }
    /* log_decay_k = result */
    for (int64_t i = 0; i < i1 - i0; i++)
        for (int64_t d = 0; d < 64; d++)
            log_decay_k[(i0 + i) * log_decay_k_row + d] = result[i * 64 + d];
}
#endif

/* ==== generic ==== */

/* Each of these types has 4 elements:
   - vec_any: numbers
   - mask_any: results of comparisons
   - ints_any: positions
   - wide_any: doubles */
typedef float vec_any __attribute__((vector_size(16)));
typedef float stored_any __attribute__((vector_size(16), aligned(sizeof(float)), may_alias)); /* in memory, unaligned */
typedef int32_t mask_any __attribute__((vector_size(16)));
typedef int64_t ints_any __attribute__((vector_size(32)));
INLINE vec_any load_any(const float *p) { return *(const stored_any *)(const void *)p; }
INLINE void store_any(float *p, vec_any x) { *(stored_any *)(void *)p = x; }
INLINE vec_any splat_any(float x) { return x - (vec_any){0}; }

/* Returns a in the lanes of the mask, and b in the other lanes. */
INLINE vec_any pick_any(mask_any m, vec_any a, vec_any b) { return (vec_any)((m & (mask_any)a) | (~m & (mask_any)b)); }

static const ints_any lane_any = {0, 1, 2, 3};

INLINE vec_any max_any(vec_any a, vec_any b) { return pick_any((mask_any)(a < b), b, a); }

/* Returns 2^x with a relative error below 1e-8. It is 0 for x < -127.0f. NaN stays NaN. */
INLINE vec_any exp2_any(vec_any x)
{
    x = pick_any((mask_any)(x < -127.0f), splat_any(-127.0f), x);
    x = pick_any((mask_any)(x > 128.0f), splat_any(128.0f), x);
    const vec_any t = x + 12582912.0f; /* the nearest integer is in the low bits of t */
    const vec_any f = x - (t - 12582912.0f);
    vec_any p = f * 0.00015453163f + 0.0013390863f;
    p = p * f + 0.0096180826f;
    p = p * f + 0.055503571f;
    p = p * f + 0.24022651f;
    p = p * f + 0.69314719f;
    p = p * f + 1.0f;
    return p * (vec_any)(((mask_any)t + 127) << 23);
}

/* Returns (e^x - 1) / 2 within 4 ulp, for -40 <= x <= 89.0f. With x = n * ln(2) + r, the result is 2^(n - 1) *
   (e^r - 1) + (2^(n - 1) - 1/2). This does not cancel near 0. */
INLINE vec_any half_expm1_any(vec_any x)
{
    const vec_any t = x * 1.44269504f + 12582912.0f, n = t - 12582912.0f;
    const vec_any r = (x - n * 0.693145751953125f) - n * 1.4286068203094172e-06f;
    vec_any p = r * 0.0013926184f + 0.0083631791f;
    p = p * r + 0.041666555f;
    p = p * r + 0.16666577f;
    p = p * r + 0.5f;
    const vec_any half = (vec_any)(((mask_any)t + 126) << 23);
    p = p * (r * r) + r;
    return half * p + (half - (float)0.5);
}

/* Returns e^x - 1 within 4 ulp. NaN stays NaN. */
INLINE vec_any expm1_any(vec_any x)
{
    x = pick_any((mask_any)(x < (float)-40), splat_any((float)-40), x);
    x = pick_any((mask_any)(x > 89.0f), splat_any(89.0f), x);
    return half_expm1_any(x) * (float)2;
}

INLINE vec_any sqrt_any(vec_any x)
{
    vec_any y = x;
    for (int k = 0; k < 4; k++) y[k] = sqrtf(x[k]);
    return y;
}

/* Returns the sum over the lanes of x. */
INLINE float lane_sum_any(vec_any x)
{
    x += __builtin_shufflevector(x, x, 2, 3, 0, 1);
    x += __builtin_shufflevector(x, x, 1, 0, 3, 2);
    return x[0];
}

/* Returns a vector whose lane r is the sum over the lanes of t[r]. Overwrites t. */
INLINE vec_any lane_sums_any(vec_any *t)
{
    UNROLL for (int r = 0; r < 4; r += 2)
        t[r] = __builtin_shufflevector(t[r], t[r + 1], 0, 2, 4, 6) + __builtin_shufflevector(t[r], t[r + 1], 1, 3, 5,
            7);
    UNROLL for (int r = 0; r < 4; r += 4)
        t[r] = __builtin_shufflevector(t[r], t[r + 2], 0, 2, 4, 6) + __builtin_shufflevector(t[r], t[r + 2], 1, 3, 5,
            7);
    return t[0];
}

typedef uint32_t bits_any __attribute__((vector_size(16), aligned(sizeof(float)), may_alias));
typedef uint32_t bit_any __attribute__((may_alias));

/* Returns whether all p[r * row + c] are finite, for r < rows and c < columns. Infinity and NaN have all exponent
   bits set. So adding the lowest exponent bit, 0x00800000, carries into the sign. */
APART int finite_any(const float *p, int64_t row, int64_t rows, int64_t columns)
{
    bits_any found = {0};
    uint32_t one = 0;
    for (int64_t r = 0; r < rows; r++, p += row) {
        int64_t c = 0;
        for (; c + 4 <= columns; c += 4)
            found |= (*(const bits_any *)(const void *)(p + c) & 0x7fffffff) + 0x00800000;
        for (; c < columns; c++) one |= (*(const bit_any *)(const void *)(p + c) & 0x7fffffff) + 0x00800000;
    }
    for (int k = 0; k < 4; k++) one |= found[k];
    return one <= 0x7fffffff;
}

/* sum[x] += weights[t] * values[t][x], but only for values that are infinite or NaN, and for steps t in `seen`. */
APART void add_seen_lanes_any(int64_t lanes, float *sum, const float *weights, const float *values, int64_t value_row,
    int64_t steps, const mask_any *seen)
{
    for (int64_t t = 0; t < steps; t++, values += value_row)
        for (int64_t x = 0; x < lanes && seen[t / 4][t % 4]; x++)
            if (!finite_any(values + x, 0, 1, 1)) sum[x] += weights[t] * values[x];
}

/* sum[r][x] = sum over t of a[r][t] * b[t][x], for up to 6 rows r and `vectors` vectors of lanes x. The sums stay
   in registers. `update` says how c changes:
   - 0: c = sum
   - 1: c = c + sum
   - 2: c = c * factor[x] + sum
   - 3: like 2, with compensated summation. If `factor` is NULL, it is 1.
   If `early` is not 0, step t prefetches row t + early of b. A step prefetches only one row, because a core can have
   few cache misses in flight. */
INLINE void block_any(const int rows, const int vectors, int64_t steps, const float *a, int64_t a_row, int64_t a_step,
    const float *b, int64_t b_step, float *c, int64_t c_row, const int update,
    const float *factor)
{
    vec_any sum[6][2];
    UNROLL for (int r = 0; r < rows; r++)
        UNROLL for (int v = 0; v < vectors; v++) sum[r][v] = (vec_any){0};
    int64_t t = 0;
    for (; t < steps; t++, a += a_step, b += b_step) {
        vec_any x[2];
        UNROLL for (int v = 0; v < vectors; v++) x[v] = load_any(b + v * 4);
        UNROLL for (int r = 0; r < rows; r++) {
            const float y = a[r * a_row];
            UNROLL for (int v = 0; v < vectors; v++) sum[r][v] += y * x[v];
        }
    }
    UNROLL for (int v = 0; v < vectors; v++) {
        const vec_any times = update >= 2 && factor ? load_any(factor + v * 4) : splat_any(1);
        UNROLL for (int r = 0; r < rows; r++) {
            float *const to = c + r * c_row + v * 4;
            store_any(to, update == 0 ? sum[r][v]
                : update == 1 ? load_any(to) + sum[r][v] : load_any(to) * times + sum[r][v]);
        }
    }
}

/* Like block_any, but if `update` is 0 and the sum is long, it adds `span` terms at a time. Each span is summed
   separately, which reduces rounding errors. */
INLINE void parts_any(const int rows, const int vectors, int64_t steps, const int64_t span, const float *a,
    int64_t a_row, int64_t a_step, const float *b, int64_t b_step, float *c, int64_t c_row, const int update,
    const float *factor)
{
    const int64_t first = update == 0 && steps > 2 * span ? span : steps;
    block_any(rows, vectors, first, a, a_row, a_step, b, b_step, c, c_row, update,
        factor);
    if (update == 0)
        for (int64_t t = first; t < steps; t += span)
            block_any(rows, vectors, min(span, steps - t), a + t * a_step, a_row, a_step, b + t * b_step, b_step, c,
                c_row, 1, NULL);
}

/* Like parts_any, for any number of rows. `lanes` is a multiple of 4 * vectors. `tail` is rows % 6 if this is a
   constant, otherwise -1. */
INLINE void blocks_any(const int vectors, const int64_t lanes, int64_t rows, const int tail, int64_t steps,
    const int64_t span, const float *a, int64_t a_row, int64_t a_step, const float *b, int64_t b_step, float *c,
        int64_t c_row,
    const int update, const float *factor)
{
    for (int64_t x = 0; x < lanes; x += vectors * 4) {
        const float *const f = factor ? factor + x : NULL;
        int64_t r = 0;
        for (; r + 6 <= rows; r += 6)
            parts_any(6, vectors, steps, span, a + r * a_row, a_row, a_step, b + x, b_step,
                c + r * c_row + x, c_row, update, f);
        switch (tail >= 0 ? tail : rows - r) {
        case 5: parts_any(5, vectors, steps, span, a + r * a_row, a_row, a_step, b + x, b_step, c + r * c_row + x,
            c_row, update, f); break;
        case 4: parts_any(4, vectors, steps, span, a + r * a_row, a_row, a_step, b + x, b_step, c + r * c_row + x,
            c_row, update, f); break;
        case 3: parts_any(3, vectors, steps, span, a + r * a_row, a_row, a_step, b + x, b_step, c + r * c_row + x,
            c_row, update, f); break;
        case 2: parts_any(2, vectors, steps, span, a + r * a_row, a_row, a_step, b + x, b_step, c + r * c_row + x,
            c_row, update, f); break;
        case 1: parts_any(1, vectors, steps, span, a + r * a_row, a_row, a_step, b + x, b_step, c + r * c_row + x,
            c_row, update, f); break;
        }
    }
}

/* Like block_any, for any number of rows and vectors. It computes one vector at a time. */
APART void narrow_any(int64_t lanes, int64_t rows, int64_t steps, int64_t span, const float *a, int64_t a_row,
    int64_t a_step, const float *b, int64_t b_step, float *c, int64_t c_row, int update,
    const float *factor)
{
    const int64_t most = update == 0 && steps > 2 * span ? span : steps;
    for (int64_t t = 0; t < steps; t += most) {
        const int64_t some = min(most, steps - t);
        const float *const from = a + t * a_step;
        const int now = t > 0 ? 1 : update;
        for (int64_t x = 0; x < lanes; x += 4) {
            const float *const f = factor ? factor + x : NULL;
            int64_t r = 0;
            for (; r < rows; r += 6)
                switch (min(rows - r, 6)) {
        default: block_any(6, 1, some, from + r * a_row, a_row, a_step, b + t * b_step + x, b_step,
            c + r * c_row + x, c_row, now, f); break;
        case 5: block_any(5, 1, some, from + r * a_row, a_row, a_step, b + t * b_step + x, b_step, c + r * c_row + x,
            c_row, now, f); break;
        case 4: block_any(4, 1, some, from + r * a_row, a_row, a_step, b + t * b_step + x, b_step, c + r * c_row + x,
            c_row, now, f); break;
        case 3: block_any(3, 1, some, from + r * a_row, a_row, a_step, b + t * b_step + x, b_step, c + r * c_row + x,
            c_row, now, f); break;
        case 2: block_any(2, 1, some, from + r * a_row, a_row, a_step, b + t * b_step + x, b_step, c + r * c_row + x,
            c_row, now, f); break;
        case 1: block_any(1, 1, some, from + r * a_row, a_row, a_step, b + t * b_step + x, b_step, c + r * c_row + x,
            c_row, now, f); break;
                }
        }
    }
}

/* Returns the number of lanes that are computed in blocks of `vectors` vectors. If more than half of the last block
   is needed, the whole block is computed. */
INLINE int64_t lanes_in_blocks_any(const int vectors, const int64_t lanes)
{
    const int64_t block = vectors * 4;
    return (lanes + (block - 1) / 2) / block * block;
}

/* Computes any number of rows. `lanes` is a multiple of 4. Other parameters are as in blocks_any. */
INLINE void dot_any(const int vectors, const int64_t lanes, int64_t rows, const int tail, int64_t steps,
    const int64_t span, const float *a, int64_t a_row, int64_t a_step, const float *b, int64_t b_step, float *c,
        int64_t c_row,
    const int update, const float *factor)
{
    const int64_t x = lanes_in_blocks_any(vectors, lanes);
    blocks_any(vectors, x, rows, tail, steps, span, a, a_row, a_step, b, b_step, c, c_row, update,
        factor);
    if (x < lanes)
        narrow_any(lanes - x, rows, steps, span, a, a_row, a_step, b + x, b_step, c + x, c_row,
            update, factor ? factor + x : NULL);
}

/* Solves equations t to t + rows - 1 of solve_any, for up to 4 vectors of lanes. */
INLINE void solve_some_any(const int rows, const int vectors, int64_t t, const float *w, int64_t w_row,
    int64_t w_step, const float *rate, int64_t rate_step, const float *x, int64_t x_row, float *u, int64_t u_row)
{
    vec_any sum[4][4];
    UNROLL for (int r = 0; r < rows; r++)
        UNROLL for (int v = 0; v < vectors; v++) sum[r][v] = load_any(x + (t + r) * x_row + v * 4);
    for (int64_t j = 0; j < t; j++)
        UNROLL for (int v = 0; v < vectors; v++) {
            const vec_any y = load_any(u + j * u_row + v * 4);
            UNROLL for (int r = 0; r < rows; r++) sum[r][v] -= w[(t + r) * w_row + j * w_step] * y;
        }
    UNROLL for (int r = 0; r < rows; r++)
        UNROLL for (int v = 0; v < vectors; v++) {
            UNROLL for (int k = 0; k < r; k++) sum[r][v] -= w[(t + r) * w_row + (t + k) * w_step] * sum[k][v];
            sum[r][v] *= rate[(t + r) * rate_step];
            store_any(u + (t + r) * u_row + v * 4, sum[r][v]);
        }
}

/* Like solve_any, for up to 4 vectors of lanes. */
INLINE void solve_lanes_any(const int vectors, int64_t t, int64_t rows, const float *w, int64_t w_row, int64_t w_step,
    const float *rate, int64_t rate_step, const float *x, int64_t x_row, float *u, int64_t u_row)
{
    for (; t + 4 <= rows; t += 4) solve_some_any(4, vectors, t, w, w_row, w_step, rate, rate_step, x, x_row, u, u_row);
    for (; t < rows; t++) solve_some_any(1, vectors, t, w, w_row, w_step, rate, rate_step, x, x_row, u, u_row);
}

/* Solves a triangular system in each lane, for first <= t < rows: u[t] = rate[t] * (x[t] - sum over j < t of w[t][j] *
   u[j]). u has the solution for t < first. */
INLINE void solve_any(const int64_t lanes, int64_t first, int64_t rows, const float *w, int64_t w_row, int64_t w_step,
    const float *rate, int64_t rate_step, const float *x, int64_t x_row, float *u, int64_t u_row)
{
    int64_t l = 0;
    for (; l + 4 * 4 <= lanes; l += 4 * 4)
        solve_lanes_any(4, first, rows, w, w_row, w_step, rate, rate_step, x + l, x_row, u + l, u_row);
    for (; l < lanes; l += 4)
        solve_lanes_any(1, first, rows, w, w_row, w_step, rate, rate_step, x + l, x_row, u + l, u_row);
}

/* Like dot_any, but for row r, a is 0 from step `visible` + r on. These steps are left out for whole blocks of rows. */
INLINE void dot_until_any(const int vectors, const int64_t lanes, int64_t rows, const int tail, int64_t steps,
    const int64_t span, const float *a, int64_t a_row, int64_t a_step, const float *b, int64_t b_step, float *c,
    int64_t c_row, int64_t visible)
{
    for (int64_t r = 0; r < rows; r += 6) {
        const int64_t some = min(rows - r, 6), end = min(steps, visible + r + some - 1), last = end > 1 ? end : 1;
        if (some == 6)
            dot_any(vectors, lanes, 6, 0, last, span, a + r * a_row, a_row, a_step, b, b_step, c + r * c_row, c_row,
                0, NULL);
        else
            dot_any(vectors, lanes, some, tail, last, span, a + r * a_row, a_row, a_step, b, b_step, c + r * c_row,
                c_row, 0, NULL);
    }
}

/* c[r][x] = c[r][x] * kept[r] - c[r][x] * lost[r] + the sum over t of a[r][t] * b[t][x], for up to 6 rows r and
   `vectors` vectors of lanes x */
INLINE void block_kept_any(const int rows, const int vectors, int64_t steps, const float *a, int64_t a_row,
    int64_t a_step, const float *b, int64_t b_step, float *c, int64_t c_row, const float *kept, const float *lost)
{
    vec_any sum[6][2];
    UNROLL for (int r = 0; r < rows; r++)
        UNROLL for (int v = 0; v < vectors; v++) sum[r][v] = (vec_any){0};
    for (int64_t t = 0; t < steps; t++, a += a_step, b += b_step) {
        vec_any x[2];
        UNROLL for (int v = 0; v < vectors; v++) x[v] = load_any(b + v * 4);
        UNROLL for (int r = 0; r < rows; r++) {
            const float y = a[r * a_row];
            UNROLL for (int v = 0; v < vectors; v++) sum[r][v] += y * x[v];
        }
    }
    UNROLL for (int r = 0; r < rows; r++)
        UNROLL for (int v = 0; v < vectors; v++) {
            float *const to = c + r * c_row + v * 4;
            const vec_any old = load_any(to);
            store_any(to, old * kept[r] - old * lost[r] + sum[r][v]);
        }
}

/* Like block_kept_any, for any number of rows. */
INLINE void rows_kept_any(const int vectors, int64_t rows, int64_t steps, const float *a, int64_t a_row,
    int64_t a_step, const float *b, int64_t b_step, float *c, int64_t c_row, const float *kept, const float *lost)
{
    const int some = 6 > 2 ? 2 : 1;
    int64_t r = 0;
    for (; r + 6 <= rows; r += 6)
        block_kept_any(6, vectors, steps, a + r * a_row, a_row, a_step, b, b_step, c + r * c_row, c_row, kept + r,
            lost + r);
    for (; r + some <= rows; r += some)
        block_kept_any(some, vectors, steps, a + r * a_row, a_row, a_step, b, b_step, c + r * c_row, c_row,
            kept + r, lost + r);
    for (; r < rows; r++)
        block_kept_any(1, vectors, steps, a + r * a_row, a_row, a_step, b, b_step, c + r * c_row, c_row, kept + r,
            lost + r);
}

/* Like block_kept_any, for any number of rows and lanes. `lanes` is a multiple of 4. */
INLINE void dot_kept_any(const int vectors, const int64_t lanes, int64_t rows, int64_t steps, const float *a,
    int64_t a_row, int64_t a_step, const float *b, int64_t b_step, float *c, int64_t c_row, const float *kept,
    const float *lost)
{
    int64_t x = 0;
    for (; x + vectors * 4 <= lanes; x += vectors * 4)
        rows_kept_any(vectors, rows, steps, a, a_row, a_step, b + x, b_step, c + x, c_row, kept, lost);
    for (; x < lanes; x += 4)
        rows_kept_any(1, rows, steps, a, a_row, a_step, b + x, b_step, c + x, c_row, kept, lost);
}

/* Like dot_any, but uses 0 for infinity and NaN in b. It copies one vector of columns of b at a time. If `fetched`, it
   adds in the order of dot_fetched_any, so that results round equally. */
INLINE void dot_finite_lanes_any(const int fetched, const int vectors, const int64_t lanes, int64_t rows,
    const int tail, int64_t steps, const int64_t span, const float *a, int64_t a_row, int64_t a_step, const float *b,
    int64_t b_step, float *c, int64_t c_row, const int update, const float *factor)
{
    float column[32 * 4];
    (void)vectors;
    for (int64_t x = 0; x < lanes; x += 4) {
        for (int64_t t = 0; t < steps; t++)
            for (int64_t k = 0; k < 4; k++) {
                const float *const p = b + t * b_step + x + k;
                column[t * 4 + k] = finite_any(p, 0, 1, 1) ? *p : 0;
            }
        const int64_t some = fetched ? 16 : steps;
        for (int64_t t = 0; t < steps; t += some)
            dot_any(1, 4, rows, tail, min(steps - t, some), span, a + t * a_step, a_row, a_step,
                column + t * 4, 4, c + x, c_row, update,
                factor ? factor + x : NULL);
    }
}

/* The keys of a block. */
#define BLOCK_any 8

/* The keys of half a block. */
#define HALF_any 4

/* The sums add this number of elements at a time. */
#define ELEMENTS_any 128

/* Numbers of that many elements:
   - key: keys, decayed up to the last key of their block
   - over: the decay over a block
   The others belong to the current block:
   - step: the decay from the key before to each key
   - x: rows of queries, if queries have other logarithms than their keys: with the decay between the two
   - row: these rows with the decay from the last key before the block
   - late: the second half of the rows, with the decay from the first half's last key
   - early: the first half of the keys, decayed up to the last of them */
struct decayed_rows_any {
    float key[32][ELEMENTS_any], over[32 / BLOCK_any][ELEMENTS_any], step[BLOCK_any][ELEMENTS_any],
        x[BLOCK_any][ELEMENTS_any], row[BLOCK_any][ELEMENTS_any], late[HALF_any][ELEMENTS_any],
            early[HALF_any][ELEMENTS_any];
};

/* Rows of float. `low` is what `high` loses by rounding, or NULL. */
struct decay_logs_any {
    const float *high, *low;
    int64_t high_row, low_row;
};

/* Elements of one row of struct decay_logs_any. */
struct decay_log_any {
    vec_any high, low;
};

INLINE struct decay_log_any load_decay_log_any(const struct decay_logs_any *logs, int64_t row, int64_t t)
{
    return (struct decay_log_any){load_any(logs->high + row * logs->high_row + t),
        logs->low ? load_any(logs->low + row * logs->low_row + t) : (vec_any){0}};
}

INLINE vec_any decay_between_any(const float scale, struct decay_log_any a, struct decay_log_any b)
{
    return exp2_any(((a.high - b.high) + (a.low - b.low)) * scale);
}

INLINE int64_t nearest_any(int64_t k, int64_t count) { return k < 0 ? 0 : k < count ? k : count - 1; }

/* Sets the numbers of the block at key j, for elements t to t + terms - 1. Keys and queries outside the ranges get
   the nearest one's numbers. `same`: the logarithms of queries are those of their keys. */
INLINE void decay_block_any(struct decayed_rows_any *part, int64_t j, int64_t t, int64_t terms, int64_t lanes,
    int64_t rows, int64_t first, const float scale, const float *x, int64_t x_row, const struct decay_logs_any *a,
    const float *y, int64_t y_row, const struct decay_logs_any *b, const int64_t after, const int same)
{
    for (int64_t i = 0; i < terms; i += 4) {
        vec_any step[BLOCK_any], row[BLOCK_any], decay;
        struct decay_log_any before = load_decay_log_any(b, nearest_any(j - 1, rows), t + i);
        UNROLL for (int k = 0; k < BLOCK_any; k++) {
            const struct decay_log_any log = load_decay_log_any(b, nearest_any(j + k, rows), t + i);
            const int64_t l = nearest_any(j + k - first, lanes);
            step[k] = decay_between_any(scale, log, before);
            row[k] = load_any(x + l * x_row + t + i);
            if (!same) {
                const struct decay_log_any own = a->high ? load_decay_log_any(a, l, t + i)
                                                       : load_decay_log_any(b, nearest_any(j + k + after, rows), t + i);
                row[k] *= decay_between_any(scale, own, log);
            }
            store_any(part->step[k] + i, step[k]);
            if (!same) store_any(part->x[k] + i, row[k]);
            before = log;
        }
        decay = step[0];
        UNROLL for (int k = 0; k < HALF_any; k++) {
            store_any(part->row[k] + i, row[k] * decay);
            if (k + 1 < HALF_any) decay *= step[k + 1];
        }
        vec_any late = step[HALF_any];
        UNROLL for (int k = HALF_any; k < BLOCK_any; k++) {
            const vec_any faded = row[k] * late;
            store_any(part->late[k - HALF_any] + i, faded);
            store_any(part->row[k] + i, faded * decay);
            if (k + 1 < BLOCK_any) late *= step[k + 1];
        }
        store_any(part->over[j / BLOCK_any] + i, decay * late);
        decay = splat_any(1);
        UNROLL for (int k = HALF_any - 1; k >= 0; k--) {
            const vec_any faded = load_any(y + nearest_any(j + k, rows) * y_row + t + i) * decay;
            store_any(part->early[k] + i, faded);
            store_any(part->key[j + k] + i, faded * late);
            decay *= step[k];
        }
        decay = splat_any(1);
        UNROLL for (int k = BLOCK_any - 1; k >= HALF_any; k--) {
            store_any(part->key[j + k] + i, load_any(y + nearest_any(j + k, rows) * y_row + t + i) * decay);
            decay *= step[k];
        }
    }
}

/* Where sums of pairs are stored, and which. */
struct decayed_pairs_any {
    float *w;
    int64_t w_query, w_key, lanes, rows, first;
    float times;
};

/* Adds the sums of HALF_any queries, from l on, with HALF_any keys, from j on, where there are such pairs. */
INLINE void add_decayed_any(const struct decayed_pairs_any *to, int64_t l, int64_t j, const float *sum)
{
    float *const w = to->w + l * to->w_query + j * to->w_key;
    if (l >= 0 && l + HALF_any <= to->lanes && j + HALF_any <= to->rows && j + HALF_any - 1 <= to->first + l)
        UNROLL for (int r = 0; r < HALF_any; r++)
            UNROLL for (int k = 0; k < HALF_any; k++)
                w[r * to->w_query + k * to->w_key] += to->times * sum[r * HALF_any + k];
    else
        for (int r = 0; r < HALF_any; r++)
            for (int k = 0; k < HALF_any; k++)
                if (l + r >= 0 && l + r < to->lanes && j + k < to->rows && j + k <= to->first + l + r)
                    w[r * to->w_query + k * to->w_key] += to->times * sum[r * HALF_any + k];
}

/* sum[r][k] = the sum over elements of x[r] * y[k], for HALF_any rows of each */
INLINE void decayed_products_any(int64_t terms, float (*x)[ELEMENTS_any], float (*y)[ELEMENTS_any], float *sum)
{
    const int some = 16 > 16 ? HALF_any : HALF_any / 2;
    for (int first = 0; first < HALF_any; first += some) {
        vec_any s[HALF_any * HALF_any];
        UNROLL for (int k = 0; k < some * HALF_any; k++) s[k] = (vec_any){0};
        for (int64_t i = 0; i < terms; i += 4) {
            vec_any key[HALF_any];
            UNROLL for (int k = 0; k < HALF_any; k++) key[k] = load_any(y[k] + i);
            UNROLL for (int r = 0; r < some; r++) {
                const vec_any row = load_any(x[first + r] + i);
                UNROLL for (int k = 0; k < HALF_any; k++) s[r * HALF_any + k] += row * key[k];
            }
        }
        UNROLL for (int k = 0; k < some * HALF_any; k += 4)
            store_any(sum + first * HALF_any + k, lane_sums_any(s + k));
    }
}

/* Rows of float. Row r is row nearest_any(first + r, count) of `row`. */
struct near_rows_any {
    const float *row;
    int64_t step, first, count;
};

INLINE vec_any load_near_any(const struct near_rows_any *x, int r, int64_t i)
{
    return load_any(x->row + nearest_any(x->first + r, x->count) * x->step + i);
}

/* Like decayed_products_any, for queries at the same keys: only for k <= r, with the decays from each key to the next
   one. */
INLINE void decayed_own_any(int64_t terms, struct near_rows_any x, struct near_rows_any y, float (*step)[ELEMENTS_any],
    float *sum)
{
    vec_any s[HALF_any * HALF_any];
    UNROLL for (int k = 0; k < HALF_any * HALF_any; k++) s[k] = (vec_any){0};
    for (int64_t i = 0; i < terms; i += 4) {
        vec_any key[HALF_any], fade[HALF_any];
        UNROLL for (int k = 0; k < HALF_any; k++) {
            key[k] = load_near_any(&y, k, i);
            fade[k] = load_any(step[k] + i);
        }
        UNROLL for (int r = 0; r < HALF_any; r++) {
            vec_any row = load_near_any(&x, r, i);
            UNROLL for (int k = r; k >= 0; k--) {
                s[r * HALF_any + k] += row * key[k];
                row *= fade[k];
            }
        }
    }
    UNROLL for (int k = 0; k < HALF_any * HALF_any; k += 4) store_any(sum + k, lane_sums_any(s + k));
}

/* Adds the pairs of the queries of the block at key j, for elements t to t + terms - 1. */
INLINE void add_block_any(struct decayed_rows_any *part, const struct decayed_pairs_any *to, int64_t j, int64_t t,
    int64_t terms, const float *x, int64_t x_row, const float *y, int64_t y_row, const int same)
{
    float sum[HALF_any * HALF_any];
    const int64_t l = j - to->first;
    for (int h = 0; h < BLOCK_any && j + h < to->rows; h += HALF_any) {
        const struct near_rows_any keys = {y + t, y_row, j + h, to->rows}, made = {part->x[h], ELEMENTS_any, 0,
            HALF_any},
                                 given = {x + t, x_row, l + h, to->lanes};
        decayed_own_any(terms, same ? given : made, keys, part->step + h, sum);
        add_decayed_any(to, l + h, j + h, sum);
    }
    if (j + HALF_any < to->rows) {
        decayed_products_any(terms, part->late, part->early, sum);
        add_decayed_any(to, l + HALF_any, j, sum);
    }
    for (int64_t from = j - BLOCK_any; from >= 0; from -= BLOCK_any) {
        for (int h = 0; h < BLOCK_any && j + h < to->rows; h += HALF_any)
            for (int k = 0; k < BLOCK_any; k += HALF_any) {
                decayed_products_any(terms, part->row + h, part->key + from + k, sum);
                add_decayed_any(to, l + h, from + k, sum);
            }
        for (int r = 0; r < BLOCK_any && from > 0; r++)
            for (int64_t i = 0; i < terms; i += 4)
                store_any(part->row[r] + i, load_any(part->row[r] + i) * load_any(part->over[from / BLOCK_any] + i));
    }
}

/* Computes w[l][j] += times * (sum over t of x[l][t] * y[j][t] * exp2(scale * (a[l][t] - b[j][t]))) for the keys
   j <= first + l, j < rows. `steps` is a multiple of 4. If a is NULL, a[l] is the row of b that is nearest to
   first + l + after. */
INLINE void decayed_rows_any(int64_t lanes, int64_t rows, const int64_t steps, int64_t first, const float times,
    const float scale, const float *x, int64_t x_row, const float *a, int64_t a_row, const float *a_low,
    int64_t a_low_row, const float *y, int64_t y_row, const float *b, int64_t b_row, const float *b_low,
    int64_t b_low_row, const int64_t after, float *w, const int64_t w_query, const int64_t w_key)
{
    struct decayed_rows_any part;
    const struct decay_logs_any of_rows = {a, a_low, a_row, a_low_row}, of_keys = {b, b_low, b_row, b_low_row};
    const struct decayed_pairs_any to = {w, w_query, w_key, lanes, rows, first, times};
    const int same = a ? first >= 0 && a_row == b_row && a == b + first * b_row : after == 0;
    for (int64_t t = 0; t < steps; t += ELEMENTS_any) {
        const int64_t terms = min(steps - t, ELEMENTS_any);
        for (int64_t j = 0; j < rows && j < first + lanes; j += BLOCK_any) {
            if (same)
                decay_block_any(&part, j, t, terms, lanes, rows, first, scale, x, x_row, &of_rows, y, y_row, &of_keys,
                    after, 1);
            else
                decay_block_any(&part, j, t, terms, lanes, rows, first, scale, x, x_row, &of_rows, y, y_row, &of_keys,
                    after, 0);
            if (j + BLOCK_any > first) add_block_any(&part, &to, j, t, terms, x, x_row, y, y_row, same);
        }
    }
    for (int64_t l = first < rows ? rows - first : 0; l < lanes; l++) /* queries after the last key */
        for (int64_t j = 0; j < rows; j++) {
            vec_any sum = {0};
            for (int64_t t = 0; t < steps; t += 4) {
                const struct decay_log_any own = a ? load_decay_log_any(&of_rows, l, t)
                                                 : load_decay_log_any(&of_keys, rows - 1, t);
                sum += load_any(x + l * x_row + t) * load_any(y + j * y_row + t) *
                    decay_between_any(scale, own, load_decay_log_any(&of_keys, j, t));
            }
            w[l * w_query + j * w_key] += times * lane_sum_any(sum);
        }
}

/* The functions for the products below. Each calls dot_any or a similar function with constants. */
APART void dot0_any(int64_t lanes, int64_t rows, int64_t first, const float *x, const float *y, const float *b,
    const float *b_low, float *w)
{
    decayed_rows_any(lanes, rows, /*steps=*/64, first, /*times=*/1.0f, /*scale=*/1.442695f, x, /*x_row=*/64, /*a=*/NULL,
        /*a_row=*/0, /*a_low=*/NULL, /*a_low_row=*/0, y, /*y_row=*/64, b, /*b_row=*/64, b_low, /*b_low_row=*/64,
        /*after=*/0, w, /*w_query=*/32, /*w_key=*/1);
}
APART void dot1_any(int64_t rows, const float *a, const float *b, float *c)
{
    dot_any(/*vectors=*/2, /*lanes=*/64, rows, /*tail=*/-1, /*steps=*/64, /*span=*/32, a, /*a_row=*/64, /*a_step=*/1, b,
        /*b_step=*/64, c, /*c_row=*/64, /*update=*/0, /*factor=*/NULL);
}
APART void dot2_any(int64_t rows, const float *w, const float *rate, const float *x, float *u)
{
    solve_any(/*lanes=*/64, /*first=*/0, rows, w, /*w_row=*/32, /*w_step=*/1, rate, /*rate_step=*/1, x, /*x_row=*/64, u,
        /*u_row=*/64);
}
APART void dot3_any(int64_t rows, int64_t steps, const float *a, const float *b, float *c)
{
    dot_finite_lanes_any(/*fetched=*/0, /*vectors=*/2, /*lanes=*/64, rows, /*tail=*/-1, steps, /*span=*/192, a,
        /*a_row=*/32, /*a_step=*/1, b, /*b_step=*/64, c, /*c_row=*/64, /*update=*/0, /*factor=*/NULL);
}
APART void dot4_any(int64_t rows, int64_t steps, const float *a, const float *b, float *c, int64_t visible)
{
    dot_until_any(/*vectors=*/2, /*lanes=*/64, rows, /*tail=*/-1, steps, /*span=*/192, a, /*a_row=*/32, /*a_step=*/1, b,
        /*b_step=*/64, c, /*c_row=*/64, visible);
}
APART void dot5_any(int64_t steps, const float *a, const float *b, float *c, const float *kept, const float *lost)
{
    dot_kept_any(/*vectors=*/2, /*lanes=*/64, /*rows=*/64, steps, a, /*a_row=*/1, /*a_step=*/64, b, /*b_step=*/64, c,
        /*c_row=*/64, kept, lost);
}

/* Computes task number `task`: one tile of queries of one head. `work` is this thread's workspace. */
static void kda_linear_any(const struct call *call, int64_t task, unsigned char *work)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_q = call->p.n_q;
    const int64_t n_k = call->p.n_k;
    const int64_t chunks = n_k > 0 ? (n_k - 1) / 32 + 1 : 1;
    const int64_t g = task % kv_heads;
    const int64_t b = task / kv_heads;
    const int64_t query_start = call->p.query_start ? call->p.query_start[b] : n_k - n_q;
    const float *const q = call->q + b * call->p.q.batch + g / call->sharing * members * call->p.q.head;
    const int64_t q_row = call->p.q.row;
    const int64_t q_head = call->p.q.head;
    const float *const k = call->k + b * call->p.k.batch + g / call->sharing * call->p.k.head;
    const int64_t k_row = call->p.k.row;
    const float *const v = call->v + b * call->p.v.batch + g * call->p.v.head;
    const int64_t v_row = call->p.v.row;
    const float *const beta_array = call->beta_array + b * call->beta_array_at.batch + g * members *
        call->beta_array_at.head;
    const int64_t beta_array_row = call->beta_array_at.row;
    float *const state = (float *)(void *)(work + 0); /* [f: 64, e: 64] */
    float *const query_sum = (float *)(void *)(work + 16384); /* [j: 32] */
    float *const key = (float *)(void *)(work + 16512); /* [j: 32, d: 64] */
    float *const row_factor = (float *)(void *)(work + 24704); /* [j: 32] */
    float *const weight = (float *)(void *)(work + 24704); /* [t_key: 32, j: 32] */
    float *const key_3 = (float *)(void *)(work + 28800); /* [t_key: 32, f: 64] */
    float *const query_scale = (float *)(void *)(work + 16384); /* [j: 32] */
    float *const from_state = (float *)(void *)(work + 36992); /* [t_key: 32, e: 64] */
    float *const corrected = (float *)(void *)(work + 28800); /* [j: 32, e: 64] */
    float *const key_features = (float *)(void *)(work + 36992); /* [j: 32, f: 64] */
    float *const query_sum_3 = (float *)(void *)(work + 16384); /* [i: 32] */
    float *const key_4 = (float *)(void *)(work + 45184); /* [i: 32, d: 64] */
    float *const row_factor_3 = (float *)(void *)(work + 24704); /* [i: 32] */
    float *const weight_2 = (float *)(void *)(work + 24704); /* [i: 32, j: 32] */
    float *const key_5 = (float *)(void *)(work + 53376); /* [i: 32, f: 64] */
    float *const sum_from_state = (float *)(void *)(work + 45184); /* [i: 32, e: 64] */
    float *const sum = (float *)(void *)(work + 53376); /* [i: 32, e: 64] */
    float *const out = call->out + b * call->p.out.batch + g * members * call->p.out.head;
    const int64_t out_row = call->p.out.row;
    const int64_t out_head = call->p.out.head;
    float *const kept_share = (float *)(void *)(work + 16384); /* [f: 64] */
    float *const lost_share = (float *)(void *)(work + 16640); /* [f: 64] */
    float *const log_decay = (float *)(void *)(work + 16384); /* [j: 32, d: 64] */
    float *const log_decay_sum = (float *)(void *)(work + 61568); /* [j: 32, d: 64] */
    float *const log_decay_sum_low = (float *)(void *)(work + 69760); /* [j: 32, d: 64] */
    const float *const gate_array = call->gate_array + b * call->gate_array_at.batch + g * members *
        call->gate_array_at.head;
    const int64_t gate_array_row = call->gate_array_at.row;
    const int64_t gate_array_stride_3 = call->at.gate[3];
    float *const log_decay_total = (float *)(void *)(work + 24576); /* [d: 64] */
    float *const log_decay_rest = (float *)(void *)(work + 24832); /* [d: 64] */
    float *const gate_tile = (float *)(void *)(work + 77952); /* [j: 32, d: 64] */
    float *const beta_tile = (float *)(void *)(work + 86144); /* [j: 32] */
    for (int64_t m = 0; m < members; m++) {
        /* state = 0.0f */
        for (int64_t f = 0; f < 64; f++) {
            for (int64_t e_first = 0; e_first < 64; e_first += 8) {
                UNROLL for (int64_t vector = 0, e = e_first; vector < 2; vector++, e += 4) {
                    store_any(state + f * 64 + e, splat_any(0.0f));
                }
            }
        }
        for (int64_t chunk = 0; chunk < chunks; chunk++) {
            for (int64_t j0 = chunk * 32, j_end = min((chunk * 32) + 32, n_k); j0 < j_end; j0 += 32) {
                const int64_t j1 = min(j0 + 32, j_end);
                if (gate_array_stride_3 == 1) {
                    /* gate_tile = gate_array, with zeros beyond the last row */
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        for (int64_t d = 0; d < 64; d += 4)
                            __builtin_prefetch(gate_array + (j0 + j) * gate_array_row + d + (j1 - j0) * gate_array_row,
                                0, 2);
                        for (int64_t d = 0; d < 64; d++)
                            gate_tile[j * 64 + d] = gate_array[(j0 + j) * gate_array_row + d];
                    }
                } else {
                    /* gate_tile = gate_array, with zeros beyond the last row */
                    for (int64_t j = 0; j < j1 - j0; j++)
                        for (int64_t d = 0; d < 64; d++)
                            gate_tile[j * 64 + d] = gate_array[(j0 + j) * gate_array_row + d * gate_array_stride_3];
                }
                if (beta_array_row == 1) {
                    /* beta_tile = beta_array, with zeros beyond the last row */
                    for (int64_t j = 0; j < round_up(j1 - j0, 4); j++)
                        beta_tile[j] = j < j1 - j0 ? beta_array[(j0 + j)] : 0;
                } else {
                    /* beta_tile = beta_array, with zeros beyond the last row */
                    for (int64_t j = 0; j < round_up(j1 - j0, 4); j++)
                        beta_tile[j] = j < j1 - j0 ? beta_array[(j0 + j) * beta_array_row] : 0;
                }
                for (int64_t t_key0 = j0, t_key_end = j1; t_key0 < t_key_end; t_key0 += 32) {
                    const int64_t t_key1 = min(t_key0 + 32, t_key_end);
                    /* log_decay = max(gate_tile, -1e+04f) */
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        for (int64_t d_first = 0; d_first < 64; d_first += 8) {
                            UNROLL for (int64_t vector = 0, d = d_first; vector < 2; vector++, d += 4) {
                                store_any(log_decay + j * 64 + d, max_any(load_any(gate_tile + j * 64 + d),
                                    splat_any(-1e+04f)));
                            }
                        }
                    }
                    /* log_decay_total = 0.0f; log_decay_rest = 0.0f */
                    for (int64_t d = 0; d < 64; d += 4) {
                        store_any(log_decay_total + d, splat_any(0.0f));
                        store_any(log_decay_rest + d, splat_any(0.0f));
                    }
                    for (int64_t position0 = j0, position_end = j1; position0 < position_end; position0 += 1) {
                        const int64_t position1 = min(position0 + 1, position_end);
                        (void)position1;
                        /* log_decay_next = log_decay_total + log_decay; log_decay_rest = log_decay_rest +
                           ((log_decay_total - (log_decay_next - (log_decay ... */
                        for (int64_t d = 0; d < 64; d += 4) {
                            const vec_any log_decay_total_0 = load_any(log_decay_total + d);
                            const vec_any log_decay_1 = load_any(log_decay + (position0 - j0) * 64 + d);
                            const vec_any log_decay_next_new2 = log_decay_total_0 + log_decay_1;
                            const vec_any log_decay_rest_3 = load_any(log_decay_rest + d);
                            const vec_any t_4 = log_decay_next_new2 - log_decay_total_0;
                            const vec_any log_decay_rest_new5 = log_decay_rest_3 + ((log_decay_total_0 -
                                (log_decay_next_new2 - t_4)) + (log_decay_1 - t_4));
                            store_any(log_decay_rest + d, log_decay_rest_new5);
                            store_any(log_decay_total + d, log_decay_next_new2);
                            store_any(log_decay_sum + (position0 - j0) * 64 + d, log_decay_next_new2);
                            store_any(log_decay_sum_low + (position0 - j0) * 64 + d, log_decay_rest_new5);
                        }
                    }
                    /* query_sum = 0.0f */
                    for (int64_t j = 0; j < j1 - j0; j += 4) {
                        store_any(query_sum + j, splat_any(0.0f));
                    }
                    /* query_sum += k * k */
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        vec_any lane_sums = splat_any(0);
                        for (int64_t d = 0; d < 64; d += 4) {
                            const vec_any k_6 = load_any(k + (j0 + j) * k_row + d);
                            __builtin_prefetch(k + (j0 + j) * k_row + d + (j1 - j0) * k_row, 0, 2);
                            const vec_any term = k_6 * k_6;
                            lane_sums += d + 4 <= 64 ? term : pick_any(__builtin_convertvector(d + lane_any < 64,
                                mask_any), term, splat_any(0));
                        }
                        const float total = lane_sum_any(lane_sums);
                        query_sum[j] += total;
                    }
                    /* row_factor = select(query_sum == 0.0f, 0.0f, 1.0f / sqrt(query_sum)) */
                    for (int64_t j = 0; j < j1 - j0; j += 4) {
                        const vec_any query_sum_7 = load_any(query_sum + j);
                        store_any(row_factor + j, pick_any(query_sum_7 == 0.0f, splat_any(0.0f),
                            1.0f / sqrt_any(query_sum_7)));
                    }
                    /* key = k * row_factor */
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        for (int64_t d_first = 0; d_first < 64; d_first += 8) {
                            UNROLL for (int64_t vector = 0, d = d_first; vector < 2; vector++, d += 4) {
                                store_any(key + j * 64 + d, load_any(k + (j0 + j) * k_row + d) * row_factor[j]);
                            }
                        }
                    }
                    /* weight = 0.0f */
                    for (int64_t t_key = 0; t_key < t_key1 - t_key0; t_key++) {
                        for (int64_t j = 0; j < j1 - j0; j += 4) {
                            store_any(weight + t_key * 32 + j, splat_any(0.0f));
                        }
                    }
                    /* weight[t_key][j] += sum over d of key * key * a decay, for j up to the query's last key */
                    dot0_any(t_key1 - t_key0, j1 - j0, t_key0 - j0, key, key, log_decay_sum, log_decay_sum_low, weight);
                    /* key_3 = key * select((lo() / 32) == 0, 1.0f, exp2((log_decay_sum + log_decay_sum_low) *
                       1.442695f)) */
                    const int t_8 = (j0 / 32) == 0;
                    for (int64_t t_key = 0; t_key < t_key1 - t_key0; t_key++) {
                        for (int64_t f = 0; f < 64; f += 4) {
                            store_any(key_3 + t_key * 64 + f, load_any(key + ((t_key0 + t_key) - j0) * 64 + f) * (t_8 ?
                                splat_any(1.0f) : exp2_any((load_any(log_decay_sum + ((t_key0 + t_key) - j0) * 64 + f) +
                                load_any(log_decay_sum_low + ((t_key0 + t_key) - j0) * 64 + f)) * 1.442695f)));
                        }
                    }
                    /* query_scale = beta_tile */
                    for (int64_t j = 0; j < j1 - j0; j += 4) {
                        store_any(query_scale + j, load_any(beta_tile + j));
                    }
                    /* from_state[t_key][e] = sum over f of key_3 * state */
                    dot1_any(t_key1 - t_key0, key_3, state, from_state);
                    /* from_state = v - from_state */
                    for (int64_t t_key = 0; t_key < t_key1 - t_key0; t_key++) {
                        for (int64_t e_first = 0; e_first < 64; e_first += 8) {
                            UNROLL for (int64_t vector = 0, e = e_first; vector < 2; vector++, e += 4) {
                                store_any(from_state + t_key * 64 + e, load_any(v + (t_key0 + t_key) * v_row + e) -
                                    load_any(from_state + t_key * 64 + e));
                                __builtin_prefetch(v + (t_key0 + t_key) * v_row + e + (t_key1 - t_key0) * v_row, 0, 2);
                            }
                        }
                    }
                    /* corrected[t_key][e] = query_scale[t_key] * (from_state[t_key][e] - sum over j < t_key of weight *
                       corrected[j][e]) */
                    dot2_any(t_key1 - t_key0, weight, query_scale, from_state, corrected);
                    /* key_features = key * exp2(((log_decay_sum - log_decay_sum) + (log_decay_sum_low -
                       log_decay_sum_low)) * 1.442695f) */
                    for (int64_t f = 0; f < 64; f += 4) {
                        const vec_any log_decay_sum_9 = load_any(log_decay_sum + ((j1 - 1) - j0) * 64 + f);
                        const vec_any log_decay_sum_low_10 = load_any(log_decay_sum_low + ((j1 - 1) - j0) * 64 + f);
                        for (int64_t j = 0; j < j1 - j0; j++) {
                            store_any(key_features + j * 64 + f, load_any(key + j * 64 + f) * exp2_any(((log_decay_sum_9
                                - load_any(log_decay_sum + j * 64 + f)) + (log_decay_sum_low_10 -
                                load_any(log_decay_sum_low + j * 64 + f))) * 1.442695f));
                        }
                    }
                    for (int64_t i0 = ((j0 / 32) == 0) ? 0 : max(0, j0 - query_start), i_end = min(n_q,
                        (((j0 / 32) + 1) * 32) - query_start); i0 < i_end; i0 += 32) {
                        const int64_t i1 = min(i0 + 32, i_end);
                        /* query_sum_3 = 0.0f */
                        for (int64_t i = 0; i < i1 - i0; i += 4) {
                            store_any(query_sum_3 + i, splat_any(0.0f));
                        }
                        /* query_sum_3 += q * q */
                        for (int64_t i = 0; i < i1 - i0; i++) {
                            vec_any lane_sums = splat_any(0);
                            for (int64_t d = 0; d < 64; d += 4) {
                                const vec_any q_11 = load_any(q + m * q_head + (i0 + i) * q_row + d);
                                __builtin_prefetch(q + m * q_head + (i0 + i) * q_row + d + (i1 - i0) * q_row, 0, 2);
                                const vec_any term = q_11 * q_11;
                                lane_sums += d + 4 <= 64 ? term : pick_any(__builtin_convertvector(d + lane_any < 64,
                                    mask_any), term, splat_any(0));
                            }
                            const float total = lane_sum_any(lane_sums);
                            query_sum_3[i] += total;
                        }
                        /* row_factor_3 = select(query_sum_3 == 0.0f, 0.0f, 1.0f / sqrt(query_sum_3)) */
                        for (int64_t i = 0; i < i1 - i0; i += 4) {
                            const vec_any query_sum_3_12 = load_any(query_sum_3 + i);
                            store_any(row_factor_3 + i, pick_any(query_sum_3_12 == 0.0f, splat_any(0.0f),
                                1.0f / sqrt_any(query_sum_3_12)));
                        }
                        /* key_4 = (q * row_factor_3) * 0.125f */
                        for (int64_t i = 0; i < i1 - i0; i++) {
                            for (int64_t d_first = 0; d_first < 64; d_first += 8) {
                                UNROLL for (int64_t vector = 0, d = d_first; vector < 2; vector++, d += 4) {
                                    store_any(key_4 + i * 64 + d, (load_any(q + m * q_head + (i0 + i) * q_row + d) *
                                        row_factor_3[i]) * 0.125f);
                                }
                            }
                        }
                        /* weight_2 = 0.0f */
                        for (int64_t i = 0; i < i1 - i0; i++) {
                            for (int64_t j = 0; j < j1 - j0; j += 4) {
                                store_any(weight_2 + i * 32 + j, splat_any(0.0f));
                            }
                        }
                        /* weight_2[i][j] += sum over d of key * key_4 * a decay, for j up to the query's last key */
                        dot0_any(i1 - i0, j1 - j0, i0 + query_start - j0, key_4, key, log_decay_sum, log_decay_sum_low,
                            weight_2);
                        /* key_5 = key_4 * select((lo() / 32) == 0, 1.0f,
                           exp2((log_decay_sum + log_decay_sum_low) * 1.442695f)) */
                        const int t_13 = (j0 / 32) == 0;
                        for (int64_t i = 0; i < i1 - i0; i++) {
                            for (int64_t f = 0; f < 64; f += 4) {
                                store_any(key_5 + i * 64 + f, load_any(key_4 + i * 64 + f) * (t_13 ? splat_any(1.0f) :
                                    exp2_any((load_any(log_decay_sum + (max(j0, min((i0 + i) + query_start,
                                    j1 - 1)) - j0) * 64 + f) + load_any(log_decay_sum_low + (max(j0,
                                    min((i0 + i) + query_start, j1 - 1)) - j0) * 64 + f)) * 1.442695f)));
                            }
                        }
                        /* sum_from_state[i][e] = sum over f of key_5 * state */
                        dot1_any(i1 - i0, key_5, state, sum_from_state);
                        /* weight_2 = select(j <= (i + query_start), weight_2, 0.0f) */
                        for (int64_t j = 0; j < j1 - j0; j += 4) {
                            const ints_any t_14 = j0 + j + lane_any;
                            for (int64_t i = 0; i < i1 - i0; i++) {
                                store_any(weight_2 + i * 32 + j, pick_any(__builtin_convertvector(t_14 <= ((i0 + i) +
                                    query_start), mask_any), load_any(weight_2 + i * 32 + j), splat_any(0.0f)));
                            }
                        }
                        /* sum[i][e] = sum over j of weight_2 * corrected */
                        if (__builtin_expect(!finite_any(corrected, 64, j1 - j0, 64),
                            0)) { /* infinity and NaN affect only queries that see them */
                            dot3_any(i1 - i0, j1 - j0, weight_2, corrected, sum);
                            for (int64_t i = 0; i < i1 - i0; i++) {
                                mask_any in_region[8] = {0};
                                const int64_t t_15 = (i0 + i) + query_start;
                                for (int64_t j = 0; j < j1 - j0; j += 4) {
                                    in_region[j / 4] = __builtin_convertvector((j0 + j + lane_any) <= t_15, mask_any);
                                }
                                add_seen_lanes_any(64, sum + i * 64, weight_2 + i * 32, corrected, 64, j1 - j0,
                                    in_region);
                            }
                        } else
                            dot4_any(i1 - i0, j1 - j0, weight_2, corrected, sum, i0 + query_start - j0 + 1);
                        /* sum = sum + sum_from_state */
                        for (int64_t i = 0; i < i1 - i0; i++) {
                            for (int64_t e_first = 0; e_first < 64; e_first += 8) {
                                UNROLL for (int64_t vector = 0, e = e_first; vector < 2; vector++, e += 4) {
                                    store_any(sum + i * 64 + e, load_any(sum + i * 64 + e) + load_any(sum_from_state + i
                                        * 64 + e));
                                }
                            }
                        }
                        /* out = sum */
                        for (int64_t i = 0; i < i1 - i0; i++) {
                            for (int64_t e = 0; e < 64; e += 4)
                                __builtin_prefetch(out + m * out_head + (i0 + i) * out_row + e + (i1 - i0) * out_row, 1,
                                    2);
                            for (int64_t e = 0; e < 64; e++)
                                out[m * out_head + (i0 + i) * out_row + e] = sum[i * 64 + e];
                        }
                    }
                    /* kept_share = select(exp2((log_decay_sum + log_decay_sum_low) * 1.442695f) < 0.5f,
                       exp2((log_decay_sum + log_decay_sum_low) * 1.4 ... */
                    for (int64_t f = 0; f < 64; f += 4) {
                        const vec_any t_16 = load_any(log_decay_sum + ((j1 - 1) - j0) * 64 + f) +
                            load_any(log_decay_sum_low + ((j1 - 1) - j0) * 64 + f);
                        const vec_any t_17 = exp2_any(t_16 * 1.442695f);
                        const mask_any t_18 = t_17 < 0.5f;
                        store_any(kept_share + f, pick_any(t_18, t_17, splat_any(1.0f)));
                        store_any(lost_share + f, pick_any(t_18, splat_any(0.0f), -expm1_any(t_16)));
                    }
                    /* state[f][e] = state * kept_share - state * lost_share + sum over j of key_features * corrected */
                    dot5_any(j1 - j0, key_features, corrected, state, kept_share, lost_share);
                }
            }
        }
    }
}

/* Computes task number `task`: one tile of queries of one head. `work` is this thread's workspace. */
static void kda_terms_any(const struct call *call, int64_t task, unsigned char *work)
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
    const float *const gate_array = call->gate_array + b * call->gate_array_at.batch + (g * members + m) *
        call->gate_array_at.head;
    const int64_t gate_array_row = call->gate_array_at.row;
    const int64_t gate_array_stride_3 = call->at.gate[3];
    float *const result = (float *)(void *)(work + 0); /* [i: 64, d: 64] */
    float *const log_decay_k = call->log_decay_k + b * call->log_decay_k_at.batch + (g * members + m) *
        call->log_decay_k_at.head;
    const int64_t log_decay_k_row = call->log_decay_k_at.row;
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
        for (int64_t d_first = 0; d_first < 64; d_first += 8) {
            UNROLL for (int64_t vector = 0, d = d_first; vector < 2; vector++, d += 4) {
                store_any(result + i * 64 + d, max_any(load_any(gate_at + i * 64 + d), splat_any(-1e+04f)));
            }
        }
    }
    /* log_decay_k = result */
    for (int64_t i = 0; i < i1 - i0; i++)
        for (int64_t d = 0; d < 64; d++)
            log_decay_k[(i0 + i) * log_decay_k_row + d] = result[i * 64 + d];
}

/* ==== which version this machine runs ==== */
struct version {
    /* computes a task on one thread */
    void (*rows)(const struct call *, int64_t, unsigned char *);
    int64_t tile; /* queries of a task; 0: all queries of a key/value head; -1: all queries of a query head */
    size_t own;   /* bytes of workspace for each thread */
    int in_keys; /* no query may be after the last key */
    int own_sums; /* computes the prefix sums that it reads */
    int64_t of_pair, of_token; /* multiply-adds per query-key pair, and per token; one of them is 0 */
    /* a task is a tile of queries, or a tile of the keys of a key/value head or of a query head */
    enum { OF_QUERIES, OF_KEY_HEAD, OF_QUERY_HEAD } of_keys;
};

static struct version version(int64_t n_k)
{
    (void)n_k;
#if defined(__x86_64__)
    if (attn_x86_64_level() >= 4)
        return (struct version){.rows = kda_linear_v4, .tile = 0, .own = 86272, .of_token = 4160, .in_keys = 1,
            .own_sums = 1};
#endif
#if defined(__x86_64__)
    if (attn_x86_64_level() >= 3)
        return (struct version){.rows = kda_linear_v3, .tile = 0, .own = 86272, .of_token = 4160, .in_keys = 1,
            .own_sums = 1};
#endif
    return (struct version){.rows = kda_linear_any, .tile = 0, .own = 86272, .of_token = 4160, .in_keys = 1,
        .own_sums = 1};
}


static size_t bytes_a_thread(const struct version *v)
{
    return v->own;
}

/* ==== the interface ==== */
/* Returns the number of threads for which a workspace has room. If the caller chooses no number, there is room for a
   thread per processor, because OpenMP's default may change later. */
static int64_t threads_served(const struct attn_problem *p)
{
    if (p->threads > 0) return p->threads;
#ifdef _OPENMP
    return max(omp_get_max_threads(), omp_get_num_procs());
#else
    return 1;
#endif
}

/* Checks the workspace of a call, and sets *threads to the number of threads: the caller's or OpenMP's default, but not
   more than there are processors, unless the workspace has room or the caller has the threads. The first `shared` bytes
   of the workspace are for all threads. Returns 0 or an error. */
static int take_workspace(const struct attn_problem *p, const void *workspace, size_t shared, size_t bytes_a_thread,
    int *threads)
{
    const size_t all = p->workspace_bytes, left = all > shared ? all - shared : 0,
        room = bytes_a_thread ? left / bytes_a_thread : left;
#ifdef _OPENMP
    const int64_t by_default = omp_get_max_threads(), processors = omp_get_num_procs();
#else
    const int64_t by_default = 1, processors = 1;
#endif
    const int64_t most = max(processors, (int64_t)(room < INT32_MAX ? room : INT32_MAX)),
        wanted = p->threads > 0 ? p->threads : min(by_default, most);
    if (!workspace) return ATTN_EPOINTER;
    if ((uintptr_t)workspace % 64) return ATTN_EALIGN;
    if (!bytes_fit(shared)) return ATTN_ESIZE;
    if (all && all < bytes_plus(shared, bytes_times(bytes_a_thread, wanted))) return ATTN_EWORKSPACE;
    *threads = (int)(p->team ? wanted : min(wanted, most));
    return 0;
}

size_t kda_params_size(void)
{
    return 0;
}

int kda_params_init(struct kda_params *params, uint64_t seed, void *storage)
{
    (void)seed;
    (void)storage;
    if (!params) return ATTN_EPOINTER;
    *params = (struct kda_params){0};
    return 0;
}

/* Fills in the strides `to` of an array of these sizes. `given` are the caller's strides. If they are all 0 or
   `given` is NULL, the array is contiguous. Returns an error if
   - a stride is negative,
   - the offset of an element overflows, or
   - the array is not aligned to its elements. */
static int fill_strides(int64_t *to, const int64_t *given, const int64_t *size, int axes, const void *array,
    size_t element)
{
    const int64_t most = INT64_MAX / 8;
    int64_t contiguous = 1, last = 0;
    int any = 0;
    if ((uintptr_t)array % element) return ATTN_EALIGN;
    for (int k = 0; given && k < axes; k++) any |= given[k] != 0;
    for (int k = axes - 1; k >= 0; k--) {
        int64_t stride = contiguous;
        if (any && size[k] > 1) stride = given[k] == ATTN_BROADCAST ? 0 : given[k];
        if (stride < 0) return ATTN_EPROBLEM;
        if (size[k] > 1 && stride > (most - last) / (size[k] - 1)) return ATTN_ESIZE;
        if (size[k] > 1) last += stride * (size[k] - 1);
        if (size[k] > 1 && contiguous > most / size[k]) return ATTN_ESIZE;
        if (size[k] > 1) contiguous *= size[k];
        to[k] = stride;
    }
    return 0;
}

/* Sets the strides of all arrays of the caller. Returns 0 or an error. */
static int set_strides(struct call *call)
{
    const struct attn_problem *const p = &call->p;
    const struct kda_params *const params = call->params;
    const struct kda_strides *const given = params->strides;
    int error = 0;
    (void)p;
    if (!error)
        error = fill_strides(call->at.gate, given ? given->gate : NULL, (const int64_t[]){p->batch, p->heads, p->n_k,
            64}, 4,
            params->gate, sizeof *params->gate);
    if (!error)
        error = fill_strides(call->at.beta, given ? given->beta : NULL, (const int64_t[]){p->batch, p->heads, p->n_k},
            3,
            params->beta, sizeof *params->beta);
    call->gate_array = call->params->gate;
    call->gate_array_at = (struct attn_strides){call->at.gate[0], call->at.gate[1], call->at.gate[2]};
    call->beta_array = call->params->beta;
    call->beta_array_at = (struct attn_strides){call->at.beta[0], call->at.beta[1], call->at.beta[2]};
    return error;
}

static int positions_fit(const struct attn_problem *p)
{
    const int64_t most = INT64_C(1) << 31;
    int fit = 1;
    for (int64_t b = 0; p->query_start && b < p->batch; b++) fit &= p->query_start[b] >= -most && p->query_start[b] <=
        most;
    return fit;
}

/* Returns the number of heads of v that share a head of q and of k. */
static int64_t sharing_of(const struct attn_problem *p) { return p->key_heads ? max(p->heads / p->key_heads, 1) : 1; }

/* A function like attn_problem_check. */
typedef int checks_problem(const struct attn_problem *problem, int64_t head_dim, int64_t value_dim,
    struct attn_problem *filled);

/* Checks the sizes, strides and positions of a call to any entry point,
   and fills in `call->p`. Returns 0 or an error. */
static int take_problem(struct call *call, const struct attn_problem *problem, checks_problem *checks)
{
    if (!problem) return ATTN_EPOINTER;
    const int error = checks(problem, 64, 64, &call->p);
    if (error) return error;
    if (call->p.heads != call->p.kv_heads) return ATTN_EPROBLEM;
    if (!positions_fit(&call->p)) return ATTN_EPROBLEM;
    call->sharing = sharing_of(&call->p);
    return 0;
}

/* Checks that the caller has given all parameters, and sets their strides. Returns 0 or an error. */
static int take_params(struct call *call)
{
    const struct kda_params *const params = call->params;
    if (!params || !params->gate || !params->beta) return ATTN_EPARAM;
    return set_strides(call);
}

/* Returns whether a query of the call is after the last key. */
static int after_keys(const struct attn_problem *p)
{
    int after = 0;
    for (int64_t b = 0; p->query_start && b < p->batch; b++) after |= p->query_start[b] + p->n_q > p->n_k;
    return after;
}

/* Returns the number of keys that the choice of a version depends on. It is 0 if a query is after the last key,
   because only the quadratic form can compute such a query. */
static int64_t keys_of_version(const struct attn_problem *p)
{
    return after_keys(p) ? 0 : p->n_k;
}

/* ==== prefix sums: sums of terms up to the position of a query or key ==== */
static struct version terms_version(void)
{
#if defined(__x86_64__)
    if (attn_x86_64_level() >= 4)
        return (struct version){.rows = kda_terms_v4, .tile = 64, .own = 32768, .of_pair = 128};
#endif
#if defined(__x86_64__)
    if (attn_x86_64_level() >= 3)
        return (struct version){.rows = kda_terms_v3, .tile = 64, .own = 32768, .of_pair = 128};
#endif
    return (struct version){.rows = kda_terms_any, .tile = 64, .own = 32768, .of_pair = 128};
}

/* Returns the bytes of an array with a row per position and head. */
static size_t prefix_rows(const struct attn_problem *p, int64_t n)
{
    const size_t of_heads = bytes_times(bytes_times(64 * sizeof(float), p->batch), p->heads);
    return whole_lines(bytes_times(of_heads, n));
}

/* Returns the number of rows of a head's sums. */
static int64_t rows_of_sums(const struct attn_problem *p) { return p->n_k; }

/* Returns the bytes of the prefix sums and of their low parts, which have the rounding errors. */
static size_t prefix_bytes(const struct attn_problem *p)
{
    return bytes_times(bytes_plus(prefix_rows(p, p->n_q), prefix_rows(p, rows_of_sums(p))), 2);
}

/* Returns whether each query is at the position of a key, so that queries need no arrays. */
static int queries_at_keys(const struct attn_problem *p) { return !p->query_start && p->n_q <= p->n_k; }

/* Sets pointers and strides of the prefix sums, which begin at `at`. */
static void set_prefix_sums(struct call *call, unsigned char *at)
{
    const struct attn_problem *const p = &call->p;
    const int64_t rows = rows_of_sums(p);
    const size_t of_queries = prefix_rows(p, p->n_q), of_keys = prefix_rows(p, rows);
    const struct attn_strides queries = {p->heads * p->n_q * 64, p->n_q * 64, 64},
        keys = {p->heads * rows * 64, rows * 64, 64};
    call->log_decay_q = (float *)(void *)at;
    call->log_decay_q_low = (float *)(void *)(at + of_queries);
    call->log_decay_k = call->log_decay_chunk = (float *)(void *)(at + 2 * of_queries);
    call->log_decay_k_low = call->log_decay_chunk_low = (float *)(void *)(at + 2 * of_queries + of_keys);
    call->log_decay_q_at = call->log_decay_q_low_at = queries;
    call->log_decay_k_at = call->log_decay_k_low_at = call->log_decay_chunk_at = call->log_decay_chunk_low_at = keys;
    if (!queries_at_keys(p)) return;
    call->log_decay_q = call->log_decay_k + (p->n_k - p->n_q) * 64;
    call->log_decay_q_low = call->log_decay_k_low + (p->n_k - p->n_q) * 64;
    call->log_decay_q_at = call->log_decay_q_low_at = keys;
}

/* Adds x to high + low. `low` is the rounding error of `high`. */
INLINE void add_to_sum(double *high, double *low, double x)
{
    const double sum = *high + x, added = sum - *high;
    *low += (*high - (sum - added)) + (x - added);
    *high = sum;
}

/* Replaces a head's terms by prefix sums. Copies the sums at the positions of queries into the arrays for queries, if
   there are such arrays. */
static void add_terms(const struct call *call, int64_t task, unsigned char *work)
{
    const int64_t n_q = call->p.n_q, n_k = call->p.n_k;
    const int64_t rows = rows_of_sums(&call->p);
    float *restrict const sum = call->log_decay_k + task * rows * 64,
        *restrict const sum_low = call->log_decay_k_low + task * rows * 64,
        *restrict const of_query = call->log_decay_q + task * n_q * 64,
        *restrict const of_query_low = call->log_decay_q_low + task * n_q * 64;
    (void)work;
    double high[64] = {0}; /* has more digits than the two numbers that are stored */
    for (int64_t t = 0; t < n_k; t++)
        for (int64_t x = 0, at = t * 64; x < 64; x++, at++) {
            high[x] += (double)sum[at];
            sum[at] = (float)high[x];
            sum_low[at] = (float)(high[x] - (double)sum[at]);
        }
    if (queries_at_keys(&call->p)) return;
    const int64_t first = call->p.query_start ? call->p.query_start[task / call->p.heads] : n_k - n_q;
    for (int64_t i = 0; i < n_q; i++) {
        const int64_t at = i * 64, from = min(first + i, n_k - 1) * 64;
        for (int64_t x = 0; x < 64 && from < 0; x++) of_query[at + x] = of_query_low[at + x] = 0;
        for (int64_t x = 0; x < 64 && from >= 0; x++) {
            of_query[at + x] = sum[from + x];
            of_query_low[at + x] = sum_low[from + x];
        }
    }
}

/* Returns the workspace of a thread, in bytes, for computing prefix sums and corrected values. */
static size_t first_bytes_a_thread(void)
{
    size_t bytes = 0;
    const struct version terms = terms_version();
    bytes = bytes_a_thread(&terms);
    return bytes;
}

/* Returns the bytes of the workspace that all threads of a call share. `sums` has the sizes of the prefix sums. It is
   NULL if the call reads none. */
static size_t call_bytes(const struct attn_problem *p, const struct attn_problem *sums)
{
    size_t bytes = 0;
    (void)p;
    (void)sums;
    if (sums) bytes = bytes_plus(bytes, prefix_bytes(sums));
    return bytes;
}

/* Returns whether all versions for n_k keys compute the prefix sums that they read, so that the workspace has none. */
static int own_sums(int64_t n_k)
{
    return version(n_k).own_sums;
}

/* Returns what call_bytes returns for forward. There is room for the prefix sums of each call with fewer keys, and at
   most as many queries as keys. */
static size_t forward_bytes(const struct attn_problem *problem)
{
    struct attn_problem sums = *problem;
    const int64_t keys = after_keys(problem) ? 0 : problem->n_k;
    if (!own_sums(keys)) return call_bytes(problem, problem);
    sums.n_k = -1;
    sums.n_q = min(sums.n_q, sums.n_k);
    return call_bytes(problem, sums.n_k < 0 ? NULL : &sums);
}

size_t kda_workspace(const struct attn_problem *problem)
{
    if (!problem) return 0;
    size_t shared = forward_bytes(problem), bytes = first_bytes_a_thread();
    const struct version this = version(problem->n_k);
    if (bytes_a_thread(&this) > bytes) bytes = bytes_a_thread(&this);
    shared = bytes_plus(shared, bytes_times(bytes, threads_served(problem)));
    return bytes_fit(shared) ? shared : 0;
}
/* Returns whether this machine can run the version. */
static int runs(const struct version *v)
{
    return v->rows != NULL;
}

/* A call of a version. */
struct job {
    const struct call *call;
    const struct version *this;
    int64_t tasks, alone; /* one thread runs each of the first `alone` tasks; all threads share each later one */
};

/* Running jobs, shared by the threads. */
struct work {
    const struct job *job;
    int64_t jobs;
    int threads;  /* requested threads; OpenMP may start fewer */
    int there;    /* the number of threads that have started */
    int64_t next; /* the first task that no thread has taken. Tasks that one thread runs are numbered over all jobs. */
    unsigned char *workspace;
    size_t bytes; /* bytes of workspace per thread */
    void (*on)(void *work); /* what every thread calls */
};

/* Returns a number for the calling thread. It does not use omp_get_thread_num, which may belong to another OpenMP
   library. */
INLINE int take_number(struct work *w) { return __atomic_fetch_add(&w->there, 1, __ATOMIC_RELAXED); }
INLINE int64_t take_task(struct work *w) { return __atomic_fetch_add(&w->next, 1, __ATOMIC_RELAXED); }

#if !defined __SSE__ && !defined __aarch64__
#include <fenv.h>
#endif

/* How a thread computes with floating-point numbers. */
struct arithmetic {
#if defined __SSE__
    unsigned all; /* the register MXCSR */
#elif defined __aarch64__
    uint64_t control, flags; /* the registers FPCR and FPSR */
#else
    fenv_t all;
#endif
};

/* Begins arithmetic without traps, because lanes after the last row may divide by 0. */
/* Subnormal numbers are taken for 0: products of decays are often subnormal, and x86 processors compute with such
   numbers up to 100 times slower. */
enum { SUBNORMALS_ARE_ZERO = 1 };
INLINE struct arithmetic begin_arithmetic(void)
{
    struct arithmetic before;
#if defined __SSE__
    enum { MASKS = 0x1f80, SUBNORMALS = SUBNORMALS_ARE_ZERO ? 1 << 15 | 1 << 6 : 0 }; /* of results and of operands */
    before.all = __builtin_ia32_stmxcsr();
    __builtin_ia32_ldmxcsr(before.all | MASKS | SUBNORMALS);
#elif defined __aarch64__
    enum { TRAPS = 0x9f00, SUBNORMALS = SUBNORMALS_ARE_ZERO << 24 };
    __asm__ volatile("mrs %0, fpcr" : "=r"(before.control));
    __asm__ volatile("mrs %0, fpsr" : "=r"(before.flags));
    __asm__ volatile("msr fpcr, %0" : : "r"((before.control & ~(uint64_t)TRAPS) | SUBNORMALS) : "memory");
#else
    feholdexcept(&before.all);
#endif
    return before;
}

/* Ends it, and leaves the flags of exceptions as they were before. */
INLINE void end_arithmetic(const struct arithmetic *before)
{
#if defined __SSE__
    __builtin_ia32_ldmxcsr(before->all);
#elif defined __aarch64__
    __asm__ volatile("msr fpcr, %0" : : "r"(before->control) : "memory");
    __asm__ volatile("msr fpsr, %0" : : "r"(before->flags) : "memory");
#else
    fesetenv(&before->all);
#endif
}

static void without_traps(void *work)
{
    struct work *const w = (struct work *)work;
    const struct arithmetic before = begin_arithmetic();
    w->on(w);
    end_arithmetic(&before);
}

/* Calls on(w) in all threads of the jobs. */
static void in_threads(struct work *w, void (*on)(void *work))
{
    const struct attn_team *const team = w->job->call->p.team;
    w->on = on;
    if (w->threads == 1)
        without_traps(w);
    else if (team)
        team->run(without_traps, w, (unsigned)w->threads, 0);
    else {
#ifdef _OPENMP
#pragma omp parallel num_threads(w->threads)
#endif
        without_traps(w);
    }
}

static void work_on(void *work)
{
    struct work *const w = (struct work *)work;
    const int number = take_number(w);
    unsigned char *const own = w->workspace + (size_t)number * w->bytes;
    int64_t task = take_task(w), first = 0; /* first: the number of the job's first task */
    for (const struct job *job = w->job; job < w->job + w->jobs; first += job->alone, job++) {
        const struct version *const this = job->this;
        for (; task - first < job->alone; task = take_task(w)) this->rows(job->call, task - first, own);
    }
}

/* Returns the multiply-adds of a job. A head takes the time of about 2^15 more. */
static double effort(const struct attn_problem *p, const struct version *v)
{
    const double of_head = (double)p->n_q * (double)p->n_k * (double)v->of_pair +
            ((double)p->n_q + (double)p->n_k) * (double)v->of_token + (1 << 15);
    return (double)p->batch * (double)p->heads * of_head;
}

/* Returns `threads` if there is enough work for them, else 1. Waking threads takes about the time of 2^18
   multiply-adds, and of 2^15 more for each. A call does not wake a part of the threads: GNU's OpenMP ends those that a
   call leaves out, and the next parallel loop of the caller's program has to start them. */
static int useful_threads(double multiply_adds, int threads)
{
    return multiply_adds < 2.0 * (1 << 18) + (double)threads * (1 << 15) ? 1 : threads;
}

/* Sets the number of the tasks of a job. Returns 0 or an error. */
static int count_tasks(struct job *job, int threads)
{
    const struct call *const call = job->call;
    const struct version *const this = job->this;
    const struct attn_problem *const p = &call->p;
    const int64_t heads = this->tile == 0 || this->of_keys == OF_KEY_HEAD ? p->kv_heads : p->heads;
    const int64_t positions = this->of_keys ? p->n_k : p->n_q;
    int64_t tasks = p->batch * heads;
    tasks *= this->tile > 0 ? (positions + this->tile - 1) / this->tile : 1;
    job->tasks = job->alone = tasks;
    (void)threads;
    return 0;
}

/* Runs all tasks of a call. Each thread has `bytes` of workspace. */
static int run(const struct call *call, const struct version *this, int threads, unsigned char *workspace, size_t bytes)
{
    struct job job = {.call = call, .this = this};
    if (call->p.threads == 0 || call->p.team) threads = useful_threads(effort(&call->p, this), threads);
    struct work work = {.job = &job, .jobs = 1, .threads = threads, .workspace = workspace, .bytes = bytes};
    const int error = count_tasks(&job, threads);
    if (!error && job.tasks > 0) in_threads(&work, work_on);
    return error;
}

/* Computes the prefix sums of a call. Each thread has `bytes` bytes of the workspace `work`. */
static int make_prefix_sums(const struct call *call, int threads, unsigned char *work, size_t bytes)
{
    const struct version terms = terms_version(), sums = {.rows = add_terms, .tile = -1, .of_token = 8};
    struct call of_keys = *call;
    of_keys.p.n_q = call->p.n_k; /* one term for each key */
    const int error = run(&of_keys, &terms, threads, work, bytes);
    return error ? error : run(call, &sums, threads, work, bytes);
}

/* Sets an array of rows to 0. */
static void clear_rows(const struct attn_problem *p, float *rows, const struct attn_strides *s, int64_t elements)
{
    for (int64_t b = 0; b < p->batch; b++)
        for (int64_t h = 0; h < p->heads; h++)
            for (int64_t i = 0; i < p->n_q; i++)
                memset(rows + b * s->batch + h * s->head + i * s->row, 0, (size_t)elements * sizeof *rows);
}

/* Computes the rows of a call without keys, which loops over chunks of keys do not reach. */
static void compute_without_keys(const struct call *call)
{
    const struct attn_problem *const p = &call->p;
    clear_rows(p, call->out, &p->out, 64);
}

int kda_forward(const struct attn_problem *problem, const struct kda_params *params, const float *q, const float *k,
    const float *v,
    float *out, void *workspace)
{
    if (!problem) return ATTN_EPOINTER; /* outputs may be members of the problem */
    struct call call = {.params = params, .q = q, .k = k, .v = v, .out = out};
    const int error = take_problem(&call, problem, attn_problem_check);
    if (error) return error;
    if (call.p.batch == 0 || call.p.heads == 0 || call.p.n_q == 0) return 0;
    if (!q || !out || (call.p.n_k > 0 && (!k || !v))) return ATTN_EPOINTER;
    if ((out && (const void *)out == q) ||
        (out && (const void *)out == k) ||
        (out && (const void *)out == v)) return ATTN_EPOINTER;
    const int wrong = take_params(&call);
    if (wrong) return wrong;
    const struct version this = version(keys_of_version(&call.p));
    if (!runs(&this)) return ATTN_EMACHINE;
    if (this.in_keys && after_keys(&call.p)) return ATTN_ELENGTH;
    const struct attn_problem *const sums = this.own_sums ? NULL : &call.p;
    const size_t shared = call_bytes(&call.p, sums);
    const size_t bytes = bytes_a_thread(&this);
    size_t max_bytes = first_bytes_a_thread();
    if (bytes > max_bytes) max_bytes = bytes;
    int threads = 1;
    const int no_room = take_workspace(problem, workspace, shared, max_bytes, &threads);
    if (no_room) return no_room;
    unsigned char *const work = (unsigned char *)workspace + shared;
    if (call.p.n_k == 0) compute_without_keys(&call);
    int failed = 0;
    unsigned char *first = (unsigned char *)workspace;
    const struct version terms = terms_version();
    if (!runs(&terms)) return ATTN_EMACHINE;
    if (sums) {
        set_prefix_sums(&call, first);
        failed = make_prefix_sums(&call, threads, work, bytes_a_thread(&terms));
        first += prefix_bytes(&call.p);
    }
    (void)first;
    return failed ? failed : run(&call, &this, threads, work, bytes);
}

static const struct attn_param param[] = {
    {"gate", ATTN_F32, 4, {ATTN_BATCH, ATTN_HEADS, ATTN_N_K, 64}, offsetof(struct kda_params, gate), 0,
        offsetof(struct kda_strides, gate), 0, 1, ATTN_NO_LIMITS},
    {"beta", ATTN_F32, 3, {ATTN_BATCH, ATTN_HEADS, ATTN_N_K}, offsetof(struct kda_params, beta), 0,
        offsetof(struct kda_strides, beta), 0, 1, ATTN_NO_LIMITS},
};

static int params_init_any(void *params, uint64_t seed, void *storage)
{
    return kda_params_init((struct kda_params *)params, seed, storage);
}

static int forward_any(const struct attn_problem *problem, const void *params, const void *q, const void *k,
    const void *v, void *out, void *workspace)
{
    return kda_forward(problem, (const struct kda_params *)params, (const float *)q, (const float *)k, (const float *)v,
        (float *)out, workspace);
}


const struct attn_kernel kda_kernel = {
    .name = "kda", .version = "0.1.0", .dtype = ATTN_F32, .head_dim = 64, .value_dim = 64,
    .params = 2, .param = param, .params_bytes = sizeof(struct kda_params),
    .params_size = kda_params_size, .params_init = params_init_any, .workspace = kda_workspace,
    .forward = forward_any,
    .key_dtype = ATTN_F32, .value_dtype = ATTN_F32,
    .strides = offsetof(struct kda_params, strides), .strides_bytes = sizeof(struct kda_strides),
    .before = INT64_MAX, .after = 0, .period = 0, .names_heads = 0,
    .names_sequences = 0, .in_parts = 0,
    .saved_power = 0, .has_sink = 0, .open_keys = 0, .end_of_keys = INT64_MAX,
};
#endif /* a compiler of this language */
