/* gated_deltanet.c, made by attnc 0.1.0: attnc gated_deltanet.yaml
   C11 with GNU extensions, for a C compiler; C++ includes gated_deltanet.h.
   gated DeltaNet: the delta rule with a decay for each head and position
   Yang, Kautz and Hatamizadeh, Gated Delta Networks: Improving Mamba2 with Delta Rule (ICLR 2025), section 3.1

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
     gate [b g m j], learned parameter
     x13 [b g m position] = max(gate[b, g, m, position], -10000)
     x14 [b g m i] = sum over position of x13 if position <= i + query_start
     x15 [b g m j] = sum over position of x13 if position <= j
     x16 [b g t_key d] = k[b, g, t_key, d]
     x17 [b g t_key d] = x16 * x16
     x18 [b g t_key] = sum over d of x17
     x19 [b g t_key] = x18 == 0 ? 0 : 1 / sqrt(x18)
     x20 [b g t_key d] = x16 * x19
     x21 [b g t_key j] = sum over d of x20 * x6
     x22 [b g t_key j] = x21 * pow(2.718281828459045, x15[b, g, 0, t_key] - x15[b, g, 0, j])
     beta [b g m j], learned parameter
     x24 [b g j] = beta[b, g, 0, j]
     x25 [b g j e] = u with u[t_key] = x24 * (v - sum over j < t_key of x22 * u[j] if j <= t_key)
     x26 [b g m i j] = sum over d of x11 * x6
     x27 [b g m i j] = x26 * pow(2.718281828459045, x14 - x15[b, g, 0, j])
     x28 [b g m i e] = sum over j of x27 * x25 if j <= i + query_start
     x29 [b g m i e] = x28
     out = x29
   query_start is the position of the first query: problem.query_start[b], or n_k - n_q if that is NULL.

   How: each vector lane holds one query. Keys are processed in tiles,
   so row sums and maxima need no reduction across lanes.
   The sums of a tile start from zero and are added to the sums so far. Tiles that no query sees are skipped.
   Linear: the weight is an inner product of 64 features. The state is a sum over keys of 64 x 65 numbers.
     x86-64-v4  linear    tiles of 32 queries and 32 keys; 70400 bytes of workspace per thread
     x86-64-v3  linear    tiles of 32 queries and 32 keys; 70400 bytes of workspace per thread
     generic    linear    tiles of 32 queries and 32 keys; 70400 bytes of workspace per thread

   Contents; each section begins with ====. "generic" has the simplest code, so read it first.
     (top)      struct call, and what all targets share
     x86-64-v4  gated_deltanet_linear_v4, gated_deltanet_linear_saved_solution_v4,
     gated_deltanet_linear_dv_linear_part_1_dbeta_linear_part_2_linear_part_3_linear_part_4_linear_part_5_v4,
     gated_deltanet_linear_dq_dlog_decay_q_dk_dlog_decay_k_v4, gated_deltanet_linear_terms_dgate_v4,
     gated_deltanet_terms_v4
     x86-64-v3  gated_deltanet_linear_v3, gated_deltanet_linear_saved_solution_v3,
     gated_deltanet_linear_dv_linear_part_1_dbeta_linear_part_2_linear_part_3_linear_part_4_linear_part_5_v3,
     gated_deltanet_linear_dq_dlog_decay_q_dk_dlog_decay_k_v3, gated_deltanet_linear_terms_dgate_v3,
     gated_deltanet_terms_v3
     generic    gated_deltanet_linear_any, gated_deltanet_linear_saved_solution_any,
     gated_deltanet_linear_dv_linear_part_1_dbeta_linear_part_2_linear_part_3_linear_part_4_linear_part_5_any,
     gated_deltanet_linear_dq_dlog_decay_q_dk_dlog_decay_k_any, gated_deltanet_linear_terms_dgate_any,
     gated_deltanet_terms_any
     choice     the version that this machine runs
     interface  gated_deltanet_workspace, gated_deltanet_forward, gated_deltanet_backward, gated_deltanet_kernel

   Compile with: cc -O2 -fopenmp gated_deltanet.c … -lattnrt -lm */
#ifdef __cplusplus
#error "gated_deltanet.c is C, not C++: compile it with a C compiler"
#elif !defined __STDC_VERSION__ || __STDC_VERSION__ < 199901L
#error "gated_deltanet.c is C11, not C89: compile it without -std=, or with -std=gnu11"
extern int gated_deltanet_is_c11;
#elif !defined __GNUC__
#error "gated_deltanet.c uses GNU C vector extensions: compile it with gcc or clang"
extern int gated_deltanet_is_gnu_c;
#else
#include "gated_deltanet.h"

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
    const struct gated_deltanet_params *params;
    const float *q;
    const float *k;
    const float *v;
    float *out;
    const float *dout;
    float *dq;
    float *dk;
    float *dv;
    const float *gate_array;
    struct attn_strides gate_array_at;
    const float *beta_array;
    struct attn_strides beta_array_at;
    float *log_decay_q; /* [B,H,n_q] */
    struct attn_strides log_decay_q_at;
    float *log_decay_q_low; /* [B,H,n_q] */
    struct attn_strides log_decay_q_low_at;
    float *log_decay_k; /* [B,H,n_k] */
    struct attn_strides log_decay_k_at;
    float *log_decay_k_low; /* [B,H,n_k] */
    struct attn_strides log_decay_k_low_at;
    float *log_decay_chunk; /* [B,H,n_k] */
    struct attn_strides log_decay_chunk_at;
    float *log_decay_chunk_low; /* [B,H,n_k] */
    struct attn_strides log_decay_chunk_low_at;
    float *dlog_decay_q; /* [B,H,n_q] */
    struct attn_strides dlog_decay_q_at;
    float *dlog_decay_k; /* [B,H,n_k] */
    struct attn_strides dlog_decay_k_at;
    float *dlog_decay; /* [B,H,n_k] */
    struct attn_strides dlog_decay_at;
    struct gated_deltanet_strides at; /* of all arrays, with contiguous ones filled in */
    int64_t sharing; /* the number of heads of v and out that share a head of q and of k */
    float *sum_dq, *sum_dk; /* the caller's arrays, if dq and dk have a gradient for each sharing head */
    struct attn_strides sum_dq_at, sum_dk_at;
    
    float *dgate_array;
    float *dbeta_array;
    float *saved_solution;
    struct attn_strides saved_solution_at;
    float *linear_part_1;
    struct attn_strides linear_part_1_at;
    float *linear_part_2;
    struct attn_strides linear_part_2_at;
    float *linear_part_3;
    struct attn_strides linear_part_3_at;
    float *linear_part_4;
    float *linear_part_5;
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

TARGET_v4 INLINE vec_v4 sqrt_v4(vec_v4 x)
{
    vec_v4 y;
    __asm__("vsqrtps %1, %0" : "=v"(y) : "v"(x));
    return y;
}

/* Transposes 16 vectors in place. Each step swaps one bit of the row and column numbers. */
TARGET_v4 INLINE void exchange_v4(vec_v4 *t)
{
    UNROLL for (int r = 0; r < 16; r++)
        if (!(r & 1)) {
            const vec_v4 a = t[r], b = t[r + 1];
            t[r] = __builtin_shufflevector(a, b, 0, 16, 2, 18, 4, 20, 6, 22, 8, 24, 10, 26, 12, 28, 14, 30);
            t[r + 1] = __builtin_shufflevector(a, b, 1, 17, 3, 19, 5, 21, 7, 23, 9, 25, 11, 27, 13, 29, 15, 31);
        }
    UNROLL for (int r = 0; r < 16; r++)
        if (!(r & 2)) {
            const vec_v4 a = t[r], b = t[r + 2];
            t[r] = __builtin_shufflevector(a, b, 0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29);
            t[r + 2] = __builtin_shufflevector(a, b, 2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, 31);
        }
    UNROLL for (int r = 0; r < 16; r++)
        if (!(r & 4)) {
            const vec_v4 a = t[r], b = t[r + 4];
            t[r] = __builtin_shufflevector(a, b, 0, 1, 2, 3, 16, 17, 18, 19, 8, 9, 10, 11, 24, 25, 26, 27);
            t[r + 4] = __builtin_shufflevector(a, b, 4, 5, 6, 7, 20, 21, 22, 23, 12, 13, 14, 15, 28, 29, 30, 31);
        }
    UNROLL for (int r = 0; r < 16; r++)
        if (!(r & 8)) {
            const vec_v4 a = t[r], b = t[r + 8];
            t[r] = __builtin_shufflevector(a, b, 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23);
            t[r + 8] = __builtin_shufflevector(a, b, 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31);
        }
}

/* Transposes: to[y][x] = from[x][y]. It works in squares of 16 rows and columns, so that cache lines are written at
   once. Rows are prefetched `ahead` rows early: rows of `to` if `out`, otherwise rows of `from`. */
TARGET_v4 INLINE void transpose_some_v4(const float *from, int64_t from_row, int64_t rows, int64_t columns, float *to,
    int64_t to_row, int64_t ahead, const int out)
{
    const int64_t whole = rows - rows % 16, deep = columns - columns % 16;
    for (int64_t k = 0; k < whole / 16 * (deep / 16); k++) {
        const int64_t row = k / (deep / 16) * 16, column = k % (deep / 16) * 16;
        vec_v4 t[16];
        if (out)
            UNROLL for (int r = 0; r < 16; r++) __builtin_prefetch(to + (column + r + ahead) * to_row + row, 1, 2);
        else
            UNROLL for (int r = 0; r < 16; r++)
                __builtin_prefetch(from + (row + r + ahead) * from_row + column, 0, 2);
        UNROLL for (int r = 0; r < 16; r++) t[r] = load_v4(from + (row + r) * from_row + column);
        exchange_v4(t);
        UNROLL for (int r = 0; r < 16; r++) store_v4(to + (column + r) * to_row + row, t[r]);
    }
    for (int64_t column = deep; column < columns; column++)
        for (int64_t row = 0; row < whole; row++) to[column * to_row + row] = from[row * from_row + column];
    for (int64_t row = whole; row < rows; row++)
        for (int64_t column = 0; column < columns; column++)
            to[column * to_row + row] = from[row * from_row + column];
}

/* Like transpose_v4, but to[y][x] is 0 from x = rows on, up to a whole vector. Few rows then need no strided stores. */
TARGET_v4 APART void transpose_padded_v4(const float *from, int64_t from_row, int64_t rows, int64_t columns, float *to,
    int64_t to_row, int64_t ahead)
{
    const int64_t whole = rows - rows % 16, deep = columns - columns % 16, left = rows - whole;
    transpose_some_v4(from, from_row, whole, columns, to, to_row, ahead, 0);
    from += whole * from_row;
    to += whole;
    for (int64_t column = 0; column < deep && left > 1; column += 16) {
        vec_v4 t[16];
        UNROLL for (int r = 0; r < 16; r++) t[r] = r < left ? load_v4(from + r * from_row + column) : (vec_v4){0};
        exchange_v4(t);
        UNROLL for (int r = 0; r < 16; r++) store_v4(to + (column + r) * to_row, t[r]);
    }
    for (int64_t column = left > 1 ? deep : 0; column < columns && left > 0; column++) {
        store_v4(to + column * to_row, (vec_v4){from[column]});
        for (int64_t row = 1; row < left; row++) to[column * to_row + row] = from[row * from_row + column];
    }
}

TARGET_v4 APART void transpose_out_v4(const float *from, int64_t from_row, int64_t rows, int64_t columns, float *to,
    int64_t to_row, int64_t ahead)
{
    transpose_some_v4(from, from_row, rows, columns, to, to_row, ahead, 1);
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

/* sum[r][x] += values[r * step] * weights[x], but only for values that are infinite or NaN, and for lanes x in
   `seen`. */
TARGET_v4 APART void add_seen_v4(int64_t rows, float *sum, int64_t sum_row, const float *values, int64_t step,
    const float *weights, const mask_v4 *seen, int64_t lanes)
{
    for (int64_t r = 0; r < rows; r++, sum += sum_row, values += step)
        for (int64_t x = 0; x < lanes && !finite_v4(values, 0, 1, 1); x += 16)
            store_v4(sum + x, pick_v4(seen[x / 16], load_v4(sum + x) + *values * load_v4(weights + x),
                load_v4(sum + x)));
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

/* Like dot_v4, but a is in memory, so its rows are prefetched 64 rows early. For each row of a, `width` elements
   of a row of `next` are prefetched too, which a later product reads, and `result_width` elements of a row of `result`,
   which the task writes at its end. `result` has `results` rows. */
TARGET_v4 INLINE void dot_ahead_v4(const int vectors, const int64_t lanes, int64_t rows, const int tail, int64_t steps,
    const int64_t span, const float *a, int64_t a_row, int64_t a_step, const float *b, int64_t b_step, float *c,
    int64_t c_row, const int update, const float *factor, const float *next, int64_t next_row,
    const int64_t width, const float *result, int64_t result_row, const int64_t result_width, int64_t results)
{
    const int64_t whole = rows - rows % 6, line = 64 / (int64_t)sizeof *a,
        in_blocks = lanes_in_blocks_v4(vectors, lanes);
    int64_t x = 0;
    for (; x < in_blocks; x += vectors * 16) {
        const float *const f = factor ? factor + x : NULL;
        for (int64_t r = 0; r < whole; r += 6) {
            for (int64_t k = r; k < r + 6 && x == 0; k++) {
                for (int64_t t = 0; t < steps; t += line) __builtin_prefetch(a + (k + 64) * a_row + t, 0, 2);
                for (int64_t t = 0; t < width; t += line) __builtin_prefetch(next + k * next_row + t, 0, 2);
                for (int64_t t = 0; t < result_width && k < results; t += line)
                    __builtin_prefetch(result + k * result_row + t, 1, 2);
            }
            parts_v4(6, vectors, steps, span, a + r * a_row, a_row, a_step, b + x, b_step, c + r * c_row + x, c_row,
                update, f);
        }
        dot_v4(vectors, vectors * 16, rows % 6, tail, steps, span, a + whole * a_row, a_row, a_step, b + x, b_step,
            c + whole * c_row + x, c_row, update, f);
    }
    if (x < lanes)
        narrow_v4(lanes - x, rows, steps, span, a, a_row, a_step, b + x, b_step, c + x, c_row, update,
            factor ? factor + x : NULL);
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

/* Like dot_v4, but uses 0 for infinity and NaN in a. It copies one row of a at a time. */
TARGET_v4 INLINE void dot_finite_v4(const int vectors, const int64_t lanes, int64_t rows, const int tail, int64_t steps,
    const int64_t span, const float *a, int64_t a_row, int64_t a_step, const float *b, int64_t b_step, float *c,
        int64_t c_row,
    const int update, const float *factor)
{
    float row[32];
    (void)tail;
    for (int64_t r = 0; r < rows; r++, a += a_row) {
        for (int64_t t = 0; t < steps; t++) {
            row[t] = finite_v4(a + t * a_step, 0, 1, 1) ? a[t * a_step] : 0;
        }
        dot_v4(vectors, lanes, 1, 1, steps, span, row, 0, 1, b, b_step, c + r * c_row, c_row,
            update, factor);
    }
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

/* The functions for the products below. Each calls dot_v4 or a similar function with constants. */
TARGET_v4 APART void dot0_v4(int64_t lanes, int64_t rows, const float *a, const float *b, float *c)
{
    dot_v4(/*vectors=*/2, lanes, rows, /*tail=*/-1, /*steps=*/64, /*span=*/32, a, /*a_row=*/1, /*a_step=*/32, b,
        /*b_step=*/32, c, /*c_row=*/32, /*update=*/0, /*factor=*/NULL);
}
TARGET_v4 APART void dot1_v4(int64_t rows, const float *a, const float *b, float *c)
{
    dot_v4(/*vectors=*/4, /*lanes=*/64, rows, /*tail=*/-1, /*steps=*/64, /*span=*/32, a, /*a_row=*/1, /*a_step=*/32, b,
        /*b_step=*/64, c, /*c_row=*/64, /*update=*/0, /*factor=*/NULL);
}
TARGET_v4 APART void dot2_v4(int64_t rows, const float *w, const float *rate, const float *x, float *u)
{
    solve_v4(/*lanes=*/64, /*first=*/0, rows, w, /*w_row=*/1, /*w_step=*/32, rate, /*rate_step=*/1, x, /*x_row=*/64, u,
        /*u_row=*/64);
}
TARGET_v4 APART void dot3_v4(int64_t rows, int64_t steps, const float *a, const float *b, float *c)
{
    dot_finite_lanes_v4(/*fetched=*/0, /*vectors=*/4, /*lanes=*/64, rows, /*tail=*/-1, steps, /*span=*/192, a,
        /*a_row=*/1, /*a_step=*/32, b, /*b_step=*/64, c, /*c_row=*/64, /*update=*/0, /*factor=*/NULL);
}
TARGET_v4 APART void dot4_v4(int64_t rows, int64_t steps, const float *a, const float *b, float *c, int64_t visible)
{
    dot_until_v4(/*vectors=*/4, /*lanes=*/64, rows, /*tail=*/-1, steps, /*span=*/192, a, /*a_row=*/1, /*a_step=*/32, b,
        /*b_step=*/64, c, /*c_row=*/64, visible);
}
TARGET_v4 APART void dot5_v4(int64_t steps, const float *a, const float *b, float *c, const float *kept,
    const float *lost)
{
    dot_kept_v4(/*vectors=*/4, /*lanes=*/64, /*rows=*/64, steps, a, /*a_row=*/32, /*a_step=*/1, b, /*b_step=*/64, c,
        /*c_row=*/64, kept, lost);
}
TARGET_v4 APART void dot6_v4(int64_t lanes, const float *a, const float *b, float *c)
{
    dot_v4(/*vectors=*/2, lanes, /*rows=*/64, /*tail=*/4, /*steps=*/64, /*span=*/32, a, /*a_row=*/64, /*a_step=*/1, b,
        /*b_step=*/32, c, /*c_row=*/32, /*update=*/0, /*factor=*/NULL);
}
TARGET_v4 APART void dot7_v4(int64_t lanes, int64_t rows, const float *a, int64_t a_row, const float *b, float *c)
{
    dot_ahead_v4(/*vectors=*/2, lanes, rows, /*tail=*/-1, /*steps=*/64, /*span=*/32, a, a_row, /*a_step=*/1, b,
        /*b_step=*/32, c, /*c_row=*/32, /*update=*/0, /*factor=*/NULL, /*next=*/NULL, /*next_row=*/0, /*width=*/0,
        /*result=*/NULL, /*result_row=*/0, /*result_width=*/0, /*results=*/0);
}
TARGET_v4 APART void dot8_v4(int64_t rows, int64_t steps, const float *a, const float *b, int64_t b_step, float *c)
{
    dot_finite_lanes_v4(/*fetched=*/0, /*vectors=*/4, /*lanes=*/64, rows, /*tail=*/-1, steps, /*span=*/192, a,
        /*a_row=*/32, /*a_step=*/1, b, b_step, c, /*c_row=*/64, /*update=*/1, /*factor=*/NULL);
}
TARGET_v4 APART void dot9_v4(int64_t rows, int64_t steps, const float *a, const float *b, int64_t b_step, float *c)
{
    dot_v4(/*vectors=*/4, /*lanes=*/64, rows, /*tail=*/-1, steps, /*span=*/192, a, /*a_row=*/32, /*a_step=*/1, b,
        b_step, c, /*c_row=*/64, /*update=*/1, /*factor=*/NULL);
}
TARGET_v4 APART void dot10_v4(int64_t steps, const float *a, const float *b, int64_t b_step, float *c)
{
    dot_v4(/*vectors=*/4, /*lanes=*/64, /*rows=*/64, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/32, /*a_step=*/1, b,
        b_step, c, /*c_row=*/64, /*update=*/1, /*factor=*/NULL);
}
TARGET_v4 APART void dot11_v4(int64_t lanes, int64_t steps, const float *a, const float *b, float *c)
{
    dot_finite_v4(/*vectors=*/2, lanes, /*rows=*/64, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/32, /*a_step=*/1, b,
        /*b_step=*/32, c, /*c_row=*/32, /*update=*/1, /*factor=*/NULL);
}
TARGET_v4 APART void dot12_v4(int64_t lanes, int64_t steps, const float *a, const float *b, float *c)
{
    dot_v4(/*vectors=*/2, lanes, /*rows=*/64, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/32, /*a_step=*/1, b,
        /*b_step=*/32, c, /*c_row=*/32, /*update=*/1, /*factor=*/NULL);
}
TARGET_v4 APART void dot13_v4(int64_t rows, const float *w, int64_t w_row, int64_t w_step, const float *rate,
    int64_t rate_step, const float *x, int64_t x_row, float *u, int64_t u_row)
{
    solve_v4(/*lanes=*/64, /*first=*/0, rows, w, w_row, w_step, rate, rate_step, x, x_row, u, u_row);
}
TARGET_v4 APART void dot14_v4(int64_t lanes, int64_t rows, const float *a, const float *b, float *c)
{
    dot_v4(/*vectors=*/2, lanes, rows, /*tail=*/-1, /*steps=*/64, /*span=*/32, a, /*a_row=*/64, /*a_step=*/1, b,
        /*b_step=*/32, c, /*c_row=*/32, /*update=*/0, /*factor=*/NULL);
}
TARGET_v4 APART void dot15_v4(int64_t lanes, int64_t steps, const float *a, const float *b, float *c)
{
    dot_finite_v4(/*vectors=*/2, lanes, /*rows=*/64, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/32, /*a_step=*/1, b,
        /*b_step=*/32, c, /*c_row=*/32, /*update=*/0, /*factor=*/NULL);
}
TARGET_v4 APART void dot16_v4(int64_t lanes, int64_t steps, const float *a, const float *b, float *c)
{
    dot_v4(/*vectors=*/2, lanes, /*rows=*/64, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/32, /*a_step=*/1, b,
        /*b_step=*/32, c, /*c_row=*/32, /*update=*/0, /*factor=*/NULL);
}
TARGET_v4 APART void dot17_v4(int64_t steps, const float *a, const float *b, float *c)
{
    dot_v4(/*vectors=*/4, /*lanes=*/64, /*rows=*/64, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/32, /*a_step=*/1, b,
        /*b_step=*/64, c, /*c_row=*/64, /*update=*/1, /*factor=*/NULL);
}

/* Computes task number `task`: one tile of queries of one head. `work` is this thread's workspace. */
TARGET_v4 static void gated_deltanet_linear_v4(const struct call *call, int64_t task, unsigned char *work)
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
    const float *const log_decay_q_low = call->log_decay_q_low + b * call->log_decay_q_low_at.batch + g * members *
        call->log_decay_q_low_at.head;
    const int64_t log_decay_q_low_head = call->log_decay_q_low_at.head;
    const float *const log_decay_q = call->log_decay_q + b * call->log_decay_q_at.batch + g * members *
        call->log_decay_q_at.head;
    const int64_t log_decay_q_head = call->log_decay_q_at.head;
    const float *const log_decay_k_low = call->log_decay_k_low + b * call->log_decay_k_low_at.batch + g * members *
        call->log_decay_k_low_at.head;
    const float *const log_decay_k = call->log_decay_k + b * call->log_decay_k_at.batch + g * members *
        call->log_decay_k_at.head;
    const float *const log_decay_chunk_low = call->log_decay_chunk_low + b * call->log_decay_chunk_low_at.batch + g *
        members * call->log_decay_chunk_low_at.head;
    const float *const log_decay_chunk = call->log_decay_chunk + b * call->log_decay_chunk_at.batch + g * members *
        call->log_decay_chunk_at.head;
    const float *const beta_array = call->beta_array + b * call->beta_array_at.batch + g * members *
        call->beta_array_at.head;
    const int64_t beta_array_row = call->beta_array_at.row;
    float *const state = (float *)(void *)(work + 0); /* [f: 64, e: 64] */
    float *const query_sum = (float *)(void *)(work + 16384); /* [j: 32] */
    float *const query_features = (float *)(void *)(work + 16512); /* [d: 64, j: 32] */
    float *const score = (float *)(void *)(work + 24704); /* [j: 32, t_key: 32] */
    float *const query = (float *)(void *)(work + 28800); /* [f: 64, t_key: 32] */
    float *const query_scale = (float *)(void *)(work + 16384); /* [j: 32] */
    float *const query_scale_2 = (float *)(void *)(work + 36992); /* [j: 32] */
    float *const from_state = (float *)(void *)(work + 37120); /* [t_key: 32, e: 64] */
    float *const corrected = (float *)(void *)(work + 28800); /* [j: 32, e: 64] */
    float *const saved_solution = call->saved_solution ? call->saved_solution + b * call->saved_solution_at.batch + g *
        call->saved_solution_at.head : NULL;
    const int64_t saved_solution_row = call->saved_solution_at.row;
    float *const query_features_3 = (float *)(void *)(work + 36992); /* [f: 64, j: 32] */
    float *const query_sum_3 = (float *)(void *)(work + 24704); /* [i: 32] */
    float *const score_2 = (float *)(void *)(work + 24704); /* [j: 32, i: 32] */
    float *const query_2 = (float *)(void *)(work + 45184); /* [f: 64, i: 32] */
    float *const sum_from_state = (float *)(void *)(work + 53376); /* [i: 32, e: 64] */
    float *const sum = (float *)(void *)(work + 45184); /* [i: 32, e: 64] */
    float *const out = call->out + b * call->p.out.batch + g * members * call->p.out.head;
    const int64_t out_row = call->p.out.row;
    const int64_t out_head = call->p.out.head;
    float *const kept_share = (float *)(void *)(work + 16384); /* [f: 64] */
    float *const lost_share = (float *)(void *)(work + 16640); /* [f: 64] */
    float *const k_tile = (float *)(void *)(work + 61568); /* [d: 64, j: 32] */
    float *const beta_tile = (float *)(void *)(work + 69760); /* [j: 32] */
    float *const log_decay_k_tile_2 = (float *)(void *)(work + 69888); /* [j: 32] */
    float *const log_decay_k_low_tile_2 = (float *)(void *)(work + 70016); /* [j: 32] */
    float *const q_tile = (float *)(void *)(work + 53376); /* [d: 64, i: 32] */
    float *const log_decay_q_tile = (float *)(void *)(work + 70144); /* [i: 32] */
    float *const log_decay_q_low_tile = (float *)(void *)(work + 70272); /* [i: 32] */
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
                /* k_tile = k, with zeros beyond the last row */
                transpose_padded_v4(k + j0 * k_row, k_row, j1 - j0, 64, k_tile, 32, 64);
                if (beta_array_row == 1) {
                    /* beta_tile = beta_array, with zeros beyond the last row */
                    for (int64_t j = 0; j < round_up(j1 - j0, 16); j++)
                        beta_tile[j] = j < j1 - j0 ? beta_array[(j0 + j)] : 0;
                } else {
                    /* beta_tile = beta_array, with zeros beyond the last row */
                    for (int64_t j = 0; j < round_up(j1 - j0, 16); j++)
                        beta_tile[j] = j < j1 - j0 ? beta_array[(j0 + j) * beta_array_row] : 0;
                }
                /* log_decay_k_tile_2 = log_decay_k, with zeros beyond the last row */
                for (int64_t j = 0; j < round_up(j1 - j0, 16); j++)
                    log_decay_k_tile_2[j] = j < j1 - j0 ? log_decay_k[(j0 + j)] : 0;
                /* log_decay_k_low_tile_2 = log_decay_k_low, with zeros beyond the last row */
                for (int64_t j = 0; j < round_up(j1 - j0, 16); j++)
                    log_decay_k_low_tile_2[j] = j < j1 - j0 ? log_decay_k_low[(j0 + j)] : 0;
                for (int64_t t_key0 = j0, t_key_end = j1; t_key0 < t_key_end; t_key0 += 32) {
                    const int64_t t_key1 = min(t_key0 + 32, t_key_end);
                    /* query_sum = 0.0f */
                    for (int64_t j = 0; j < j1 - j0; j += 16) {
                        store_v4(query_sum + j, splat_v4(0.0f));
                    }
                    /* query_sum += k_tile * k_tile */
                    for (int64_t j_first = 0; j_first < j1 - j0; j_first += 32) {
                        vec_v4 query_sum_in[2];
                        UNROLL for (int64_t vector = 0, j = j_first; vector < 2; vector++, j += 16) {
                            query_sum_in[vector] = (vec_v4){0};
                        }
                        for (int64_t d = 0; d < 64; d++) {
                            UNROLL for (int64_t vector = 0, j = j_first; vector < 2; vector++, j += 16) {
                                const vec_v4 k_tile_0 = load_v4(k_tile + d * 32 + j);
                                query_sum_in[vector] += k_tile_0 * k_tile_0;
                            }
                        }
                        UNROLL for (int64_t vector = 0, j = j_first; vector < 2; vector++, j += 16) {
                            store_v4(query_sum + j, load_v4(query_sum + j) + query_sum_in[vector]);
                        }
                    }
                    /* query_features = k_tile * select(query_sum == 0.0f, 0.0f, 1.0f / sqrt(query_sum)) */
                    for (int64_t j = 0; j < j1 - j0; j += 16) {
                        const vec_v4 query_sum_1 = load_v4(query_sum + j);
                        const vec_v4 t_2 = pick_v4(query_sum_1 == 0.0f, splat_v4(0.0f), 1.0f / sqrt_v4(query_sum_1));
                        for (int64_t d = 0; d < 64; d++) {
                            store_v4(query_features + d * 32 + j, load_v4(k_tile + d * 32 + j) * t_2);
                        }
                    }
                    /* score[j][t_key] = sum over d of query_features * query_features */
                    dot0_v4(round_up(t_key1 - t_key0, 16), j1 - j0, query_features, query_features, score);
                    /* query = query_features * select((lo() / 32) == 0, 1.0f,
                       exp2(((log_decay_k_tile_2 - log_decay_chunk) + (log_decay_k_low_tile_2 - ... */
                    const int t_3 = (j0 / 32) == 0;
                    const float log_decay_chunk_4 = log_decay_chunk[max(min(j0 - 1, n_k - 1), 0)];
                    const float log_decay_chunk_low_5 = log_decay_chunk_low[max(min(j0 - 1, n_k - 1), 0)];
                    for (int64_t t_key = 0; t_key < t_key1 - t_key0; t_key += 16) {
                        const vec_v4 t_6 = t_3 ? splat_v4(1.0f) : exp2_v4(((load_v4(log_decay_k_tile_2 + ((t_key0 +
                            t_key) - j0)) - log_decay_chunk_4) + (load_v4(log_decay_k_low_tile_2 + ((t_key0 + t_key) -
                            j0)) - log_decay_chunk_low_5)) * 1.442695f);
                        for (int64_t f = 0; f < 64; f++) {
                            store_v4(query + f * 32 + t_key, load_v4(query_features + f * 32 + ((t_key0 + t_key) - j0))
                                * t_6);
                        }
                    }
                    /* query_scale = beta_tile */
                    for (int64_t j = 0; j < j1 - j0; j += 16) {
                        store_v4(query_scale + j, load_v4(beta_tile + j));
                    }
                    /* score = (score * exp2(((log_decay_k_tile_2 - log_decay_k) + (log_decay_k_low_tile_2 -
                       log_decay_k_low)) * 1.442695f)) * query_scale */
                    for (int64_t t_key = 0; t_key < t_key1 - t_key0; t_key += 16) {
                        const vec_v4 log_decay_k_tile_2_7 = load_v4(log_decay_k_tile_2 + ((t_key0 + t_key) - j0));
                        const vec_v4 log_decay_k_low_tile_2_8 = load_v4(log_decay_k_low_tile_2 + ((t_key0 + t_key) -
                            j0));
                        for (int64_t j = 0; j < j1 - j0; j++) {
                            store_v4(score + j * 32 + t_key, (load_v4(score + j * 32 + t_key) *
                                exp2_v4(((log_decay_k_tile_2_7 - log_decay_k[(j0 + j)]) + (log_decay_k_low_tile_2_8 -
                                log_decay_k_low[(j0 + j)])) * 1.442695f)) * query_scale[j]);
                        }
                    }
                    /* query_scale_2 = 1.0f */
                    for (int64_t j = 0; j < j1 - j0; j += 16) {
                        store_v4(query_scale_2 + j, splat_v4(1.0f));
                    }
                    /* from_state[t_key][e] = sum over f of query * state */
                    dot1_v4(t_key1 - t_key0, query, state, from_state);
                    /* from_state = v - from_state */
                    for (int64_t t_key = 0; t_key < t_key1 - t_key0; t_key++) {
                        for (int64_t e_first = 0; e_first < 64; e_first += 64) {
                            UNROLL for (int64_t vector = 0, e = e_first; vector < 4; vector++, e += 16) {
                                store_v4(from_state + t_key * 64 + e, load_v4(v + (t_key0 + t_key) * v_row + e) -
                                    load_v4(from_state + t_key * 64 + e));
                            }
                        }
                    }
                    /* corrected[t_key][e] = query_scale_2[t_key] * (from_state[t_key][e] - sum over j < t_key of score
                       * corrected[j][e]) */
                    dot2_v4(t_key1 - t_key0, score, query_scale_2, from_state, corrected);
                    if (saved_solution) {
                        /* saved_solution = corrected */
                        for (int64_t j = 0; j < j1 - j0; j++)
                            for (int64_t e = 0; e < 64; e++)
                                saved_solution[(j0 + j) * saved_solution_row + e] = corrected[j * 64 + e];
                    }
                    /* query_features_3 = (query_features * exp2(((log_decay_chunk - log_decay_k_tile_2) +
                       (log_decay_chunk_low - log_decay_k_low_tile_ ... */
                    const float log_decay_chunk_9 = log_decay_chunk[max(min((((j0 / 32) + 1) * 32) - 1, n_k - 1), 0)];
                    const float log_decay_chunk_low_10 = log_decay_chunk_low[max(min((((j0 / 32) + 1) * 32) - 1,
                        n_k - 1), 0)];
                    for (int64_t j = 0; j < j1 - j0; j += 16) {
                        const vec_v4 t_11 = exp2_v4(((log_decay_chunk_9 - load_v4(log_decay_k_tile_2 + j)) +
                            (log_decay_chunk_low_10 - load_v4(log_decay_k_low_tile_2 + j))) * 1.442695f);
                        const vec_v4 query_scale_12 = load_v4(query_scale + j);
                        for (int64_t f = 0; f < 64; f++) {
                            store_v4(query_features_3 + f * 32 + j, (load_v4(query_features + f * 32 + j) * t_11) *
                                query_scale_12);
                        }
                    }
                    for (int64_t i0 = ((j0 / 32) == 0) ? 0 : max(0, j0 - query_start), i_end = min(n_q,
                        (((j0 / 32) + 1) * 32) - query_start); i0 < i_end; i0 += 32) {
                        const int64_t i1 = min(i0 + 32, i_end);
                        /* q_tile = q, with zeros beyond the last row */
                        transpose_padded_v4(q + m * q_head + i0 * q_row, q_row, i1 - i0, 64, q_tile, 32, 64);
                        /* log_decay_q_tile = log_decay_q, with zeros beyond the last row */
                        for (int64_t i = 0; i < round_up(i1 - i0, 16); i++)
                            log_decay_q_tile[i] = i < i1 - i0 ? log_decay_q[m * log_decay_q_head + (i0 + i)] : 0;
                        /* log_decay_q_low_tile = log_decay_q_low, with zeros beyond the last row */
                        for (int64_t i = 0; i < round_up(i1 - i0, 16); i++)
                            log_decay_q_low_tile[i] = i < i1 - i0 ? log_decay_q_low[m * log_decay_q_low_head + (i0 + i)]
                                : 0;
                        /* query_sum_3 = 0.0f */
                        for (int64_t i = 0; i < i1 - i0; i += 16) {
                            store_v4(query_sum_3 + i, splat_v4(0.0f));
                        }
                        /* query_sum_3 += q_tile * q_tile */
                        for (int64_t i_first = 0; i_first < i1 - i0; i_first += 32) {
                            vec_v4 query_sum_3_in[2];
                            UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += 16) {
                                query_sum_3_in[vector] = (vec_v4){0};
                            }
                            for (int64_t d = 0; d < 64; d++) {
                                UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += 16) {
                                    const vec_v4 q_tile_13 = load_v4(q_tile + d * 32 + i);
                                    query_sum_3_in[vector] += q_tile_13 * q_tile_13;
                                }
                            }
                            UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += 16) {
                                store_v4(query_sum_3 + i, load_v4(query_sum_3 + i) + query_sum_3_in[vector]);
                            }
                        }
                        /* q_tile = (q_tile * select(query_sum_3 == 0.0f, 0.0f, 1.0f / sqrt(query_sum_3))) * 0.125f */
                        for (int64_t i = 0; i < i1 - i0; i += 16) {
                            const vec_v4 query_sum_3_14 = load_v4(query_sum_3 + i);
                            const vec_v4 t_15 = pick_v4(query_sum_3_14 == 0.0f, splat_v4(0.0f),
                                1.0f / sqrt_v4(query_sum_3_14));
                            for (int64_t d = 0; d < 64; d++) {
                                store_v4(q_tile + d * 32 + i, (load_v4(q_tile + d * 32 + i) * t_15) * 0.125f);
                            }
                        }
                        /* score_2[j][i] = sum over d of query_features * q_tile */
                        dot0_v4(round_up(i1 - i0, 16), j1 - j0, query_features, q_tile, score_2);
                        /* query_2 = q_tile * select((lo() / 32) == 0, 1.0f,
                           exp2(((log_decay_q_tile - log_decay_chunk) + (log_decay_q_low_tile - log_decay ... */
                        const int t_16 = (j0 / 32) == 0;
                        const float log_decay_chunk_17 = log_decay_chunk[max(min(j0 - 1, n_k - 1), 0)];
                        const float log_decay_chunk_low_18 = log_decay_chunk_low[max(min(j0 - 1, n_k - 1), 0)];
                        for (int64_t i = 0; i < i1 - i0; i += 16) {
                            const vec_v4 t_19 = t_16 ? splat_v4(1.0f) : exp2_v4(((load_v4(log_decay_q_tile + i) -
                                log_decay_chunk_17) + (load_v4(log_decay_q_low_tile + i) - log_decay_chunk_low_18)) *
                                1.442695f);
                            for (int64_t f = 0; f < 64; f++) {
                                store_v4(query_2 + f * 32 + i, load_v4(q_tile + f * 32 + i) * t_19);
                            }
                        }
                        /* sum_from_state[i][e] = sum over f of query_2 * state */
                        dot1_v4(i1 - i0, query_2, state, sum_from_state);
                        /* score_2 = (score_2 * exp2(((log_decay_q_tile - log_decay_k) + (log_decay_q_low_tile -
                           log_decay_k_low)) * 1.442695f)) * query_scale */
                        for (int64_t i = 0; i < i1 - i0; i += 16) {
                            const vec_v4 log_decay_q_tile_20 = load_v4(log_decay_q_tile + i);
                            const vec_v4 log_decay_q_low_tile_21 = load_v4(log_decay_q_low_tile + i);
                            for (int64_t j = 0; j < j1 - j0; j++) {
                                store_v4(score_2 + j * 32 + i, (load_v4(score_2 + j * 32 + i) *
                                    exp2_v4(((log_decay_q_tile_20 - log_decay_k[(j0 + j)]) + (log_decay_q_low_tile_21 -
                                    log_decay_k_low[(j0 + j)])) * 1.442695f)) * query_scale[j]);
                            }
                        }
                        /* score_2 = select(j <= (i + query_start), score_2, 0.0f) */
                        for (int64_t i = 0; i < i1 - i0; i += 16) {
                            const ints_v4 t_22 = (i0 + i + lane_v4) + query_start;
                            for (int64_t j = 0; j < j1 - j0; j++) {
                                store_v4(score_2 + j * 32 + i, pick_v4(__builtin_convertvector((j0 + j) <= t_22,
                                    mask_v4), load_v4(score_2 + j * 32 + i), splat_v4(0.0f)));
                            }
                        }
                        /* sum[i][e] = sum over j of score_2 * corrected */
                        if (__builtin_expect(!finite_v4(corrected, 64, j1 - j0, 64),
                            0)) { /* infinity and NaN affect only queries that see them */
                            dot3_v4(i1 - i0, j1 - j0, score_2, corrected, sum);
                            for (int64_t i = 0; i < i1 - i0; i++) {
                                mask_v4 in_region[2] = {0};
                                const int64_t t_23 = (i0 + i) + query_start;
                                for (int64_t j = 0; j < j1 - j0; j += 16) {
                                    in_region[j / 16] = __builtin_convertvector((j0 + j + lane_v4) <= t_23, mask_v4);
                                }
                                add_seen_lanes_v4(64, sum + i * 64, score_2 + i * 1, corrected, 64, j1 - j0, in_region);
                            }
                        } else
                            dot4_v4(i1 - i0, j1 - j0, score_2, corrected, sum, i0 + query_start - j0 + 1);
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
                        for (int64_t i = 0; i < i1 - i0; i++)
                            for (int64_t e = 0; e < 64; e++)
                                out[m * out_head + (i0 + i) * out_row + e] = sum[i * 64 + e];
                    }
                    /* kept_share = select(exp2(((log_decay_chunk - log_decay_chunk) + (log_decay_chunk_low -
                       log_decay_chunk_low)) * 1.442695f) < 0.5f ... */
                    const float t_24 = (log_decay_chunk[max(min((((j0 / 32) + 1) * 32) - 1, n_k - 1),
                        0)] - log_decay_chunk[max(min(j0 - 1, n_k - 1), 0)]) + (log_decay_chunk_low[max(min((((j0 / 32)
                        + 1) * 32) - 1, n_k - 1), 0)] - log_decay_chunk_low[max(min(j0 - 1, n_k - 1), 0)]);
                    const float t_25 = exp2f(t_24 * 1.442695f);
                    const int t_26 = t_25 < 0.5f;
                    const float t_27 = t_26 ? t_25 : 1.0f;
                    const float t_28 = t_26 ? 0.0f : (-expm1f(t_24));
                    for (int64_t f = 0; f < 64; f += 16) {
                        store_v4(kept_share + f, splat_v4(t_27));
                        store_v4(lost_share + f, splat_v4(t_28));
                    }
                    /* state[f][e] = state * kept_share - state * lost_share + sum over j of query_features_3 *
                       corrected */
                    dot5_v4(j1 - j0, query_features_3, corrected, state, kept_share, lost_share);
                }
            }
        }
    }
}

/* Computes task number `task`: one tile of queries of one head. `work` is this thread's workspace. */
TARGET_v4 static void gated_deltanet_linear_saved_solution_v4(const struct call *call, int64_t task,
    unsigned char *work)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_k = call->p.n_k;
    const int64_t chunks = n_k > 0 ? (n_k - 1) / 32 + 1 : 1;
    const int64_t g = task % kv_heads;
    const int64_t b = task / kv_heads;
    const float *const k = call->k + b * call->p.k.batch + g / call->sharing * call->p.k.head;
    const int64_t k_row = call->p.k.row;
    const float *const v = call->v + b * call->p.v.batch + g * call->p.v.head;
    const int64_t v_row = call->p.v.row;
    const float *const log_decay_k_low = call->log_decay_k_low + b * call->log_decay_k_low_at.batch + g * members *
        call->log_decay_k_low_at.head;
    const float *const log_decay_k = call->log_decay_k + b * call->log_decay_k_at.batch + g * members *
        call->log_decay_k_at.head;
    const float *const log_decay_chunk_low = call->log_decay_chunk_low + b * call->log_decay_chunk_low_at.batch + g *
        members * call->log_decay_chunk_low_at.head;
    const float *const log_decay_chunk = call->log_decay_chunk + b * call->log_decay_chunk_at.batch + g * members *
        call->log_decay_chunk_at.head;
    const float *const beta_array = call->beta_array + b * call->beta_array_at.batch + g * members *
        call->beta_array_at.head;
    const int64_t beta_array_row = call->beta_array_at.row;
    float *const state = (float *)(void *)(work + 0); /* [f: 64, e: 64] */
    float *const key_sum = (float *)(void *)(work + 16384); /* [j: 32] */
    float *const key_features = (float *)(void *)(work + 16512); /* [d: 64, j: 32] */
    float *const key_scale = (float *)(void *)(work + 16384); /* [j: 32] */
    float *const score = (float *)(void *)(work + 24704); /* [j: 32, t_key: 32] */
    float *const query = (float *)(void *)(work + 28800); /* [f: 64, t_key: 32] */
    float *const key_scale_2 = (float *)(void *)(work + 36992); /* [j: 32] */
    float *const key = (float *)(void *)(work + 37120); /* [f: 64, j: 32] */
    float *const from_state = (float *)(void *)(work + 16384); /* [t_key: 32, e: 64] */
    float *const corrected = (float *)(void *)(work + 45312); /* [j: 32, e: 64] */
    float *const kept_share = (float *)(void *)(work + 16384); /* [f: 64] */
    float *const lost_share = (float *)(void *)(work + 16640); /* [f: 64] */
    float *const saved_solution = call->saved_solution ? call->saved_solution + b * call->saved_solution_at.batch + g *
        call->saved_solution_at.head : NULL;
    const int64_t saved_solution_row = call->saved_solution_at.row;
    float *const k_tile_2 = (float *)(void *)(work + 53504); /* [d: 64, j: 32] */
    float *const beta_tile = (float *)(void *)(work + 61696); /* [j: 32] */
    float *const log_decay_k_tile_2 = (float *)(void *)(work + 61824); /* [j: 32] */
    float *const log_decay_k_low_tile_2 = (float *)(void *)(work + 61952); /* [j: 32] */
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
            /* k_tile_2 = k, with zeros beyond the last row */
            transpose_padded_v4(k + j0 * k_row, k_row, j1 - j0, 64, k_tile_2, 32, 64);
            if (beta_array_row == 1) {
                /* beta_tile = beta_array, with zeros beyond the last row */
                for (int64_t j = 0; j < round_up(j1 - j0, 16); j++)
                    beta_tile[j] = j < j1 - j0 ? beta_array[(j0 + j)] : 0;
            } else {
                /* beta_tile = beta_array, with zeros beyond the last row */
                for (int64_t j = 0; j < round_up(j1 - j0, 16); j++)
                    beta_tile[j] = j < j1 - j0 ? beta_array[(j0 + j) * beta_array_row] : 0;
            }
            /* log_decay_k_tile_2 = log_decay_k, with zeros beyond the last row */
            for (int64_t j = 0; j < round_up(j1 - j0, 16); j++)
                log_decay_k_tile_2[j] = j < j1 - j0 ? log_decay_k[(j0 + j)] : 0;
            /* log_decay_k_low_tile_2 = log_decay_k_low, with zeros beyond the last row */
            for (int64_t j = 0; j < round_up(j1 - j0, 16); j++)
                log_decay_k_low_tile_2[j] = j < j1 - j0 ? log_decay_k_low[(j0 + j)] : 0;
            for (int64_t t_key0 = j0, t_key_end = j1; t_key0 < t_key_end; t_key0 += 32) {
                const int64_t t_key1 = min(t_key0 + 32, t_key_end);
                /* key_sum = 0.0f */
                for (int64_t j = 0; j < j1 - j0; j += 16) {
                    store_v4(key_sum + j, splat_v4(0.0f));
                }
                /* key_sum += k_tile_2 * k_tile_2 */
                for (int64_t j_first = 0; j_first < j1 - j0; j_first += 32) {
                    vec_v4 key_sum_in[2];
                    UNROLL for (int64_t vector = 0, j = j_first; vector < 2; vector++, j += 16) {
                        key_sum_in[vector] = (vec_v4){0};
                    }
                    for (int64_t d = 0; d < 64; d++) {
                        UNROLL for (int64_t vector = 0, j = j_first; vector < 2; vector++, j += 16) {
                            const vec_v4 k_tile_2_0 = load_v4(k_tile_2 + d * 32 + j);
                            key_sum_in[vector] += k_tile_2_0 * k_tile_2_0;
                        }
                    }
                    UNROLL for (int64_t vector = 0, j = j_first; vector < 2; vector++, j += 16) {
                        store_v4(key_sum + j, load_v4(key_sum + j) + key_sum_in[vector]);
                    }
                }
                /* key_features = k_tile_2 * select(key_sum == 0.0f, 0.0f, 1.0f / sqrt(key_sum)) */
                for (int64_t j = 0; j < j1 - j0; j += 16) {
                    const vec_v4 key_sum_1 = load_v4(key_sum + j);
                    const vec_v4 t_2 = pick_v4(key_sum_1 == 0.0f, splat_v4(0.0f), 1.0f / sqrt_v4(key_sum_1));
                    for (int64_t d = 0; d < 64; d++) {
                        store_v4(key_features + d * 32 + j, load_v4(k_tile_2 + d * 32 + j) * t_2);
                    }
                }
                /* query = key_features * select((lo() / 32) == 0, 1.0f,
                   exp2(((log_decay_k_tile_2 - log_decay_chunk) + (log_decay_k_low_tile_2 - l ... */
                const int t_3 = (j0 / 32) == 0;
                const float log_decay_chunk_4 = log_decay_chunk[max(min(j0 - 1, n_k - 1), 0)];
                const float log_decay_chunk_low_5 = log_decay_chunk_low[max(min(j0 - 1, n_k - 1), 0)];
                for (int64_t t_key = 0; t_key < t_key1 - t_key0; t_key += 16) {
                    const vec_v4 t_6 = t_3 ? splat_v4(1.0f) : exp2_v4(((load_v4(log_decay_k_tile_2 + ((t_key0 + t_key) -
                        j0)) - log_decay_chunk_4) + (load_v4(log_decay_k_low_tile_2 + ((t_key0 + t_key) - j0)) -
                        log_decay_chunk_low_5)) * 1.442695f);
                    for (int64_t f = 0; f < 64; f++) {
                        store_v4(query + f * 32 + t_key, load_v4(key_features + f * 32 + ((t_key0 + t_key) - j0)) *
                            t_6);
                    }
                }
                /* key_scale = beta_tile */
                for (int64_t j = 0; j < j1 - j0; j += 16) {
                    store_v4(key_scale + j, load_v4(beta_tile + j));
                }
                /* score[j][t_key] = sum over d of key_features * key_features */
                dot0_v4(round_up(t_key1 - t_key0, 16), j1 - j0, key_features, key_features, score);
                /* score = (score * exp2(((log_decay_k_tile_2 - log_decay_k) + (log_decay_k_low_tile_2 -
                   log_decay_k_low)) * 1.442695f)) * key_scale */
                for (int64_t t_key = 0; t_key < t_key1 - t_key0; t_key += 16) {
                    const vec_v4 log_decay_k_tile_2_7 = load_v4(log_decay_k_tile_2 + ((t_key0 + t_key) - j0));
                    const vec_v4 log_decay_k_low_tile_2_8 = load_v4(log_decay_k_low_tile_2 + ((t_key0 + t_key) - j0));
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        store_v4(score + j * 32 + t_key, (load_v4(score + j * 32 + t_key) *
                            exp2_v4(((log_decay_k_tile_2_7 - log_decay_k[(j0 + j)]) + (log_decay_k_low_tile_2_8 -
                            log_decay_k_low[(j0 + j)])) * 1.442695f)) * key_scale[j]);
                    }
                }
                /* key_scale_2 = 1.0f */
                for (int64_t j = 0; j < j1 - j0; j += 16) {
                    store_v4(key_scale_2 + j, splat_v4(1.0f));
                }
                /* key = (key_features * exp2(((log_decay_chunk - log_decay_k_tile_2) + (log_decay_chunk_low -
                   log_decay_k_low_tile_2)) * 1.442695f ... */
                const float log_decay_chunk_9 = log_decay_chunk[max(min((((j0 / 32) + 1) * 32) - 1, n_k - 1), 0)];
                const float log_decay_chunk_low_10 = log_decay_chunk_low[max(min((((j0 / 32) + 1) * 32) - 1, n_k - 1),
                    0)];
                for (int64_t j = 0; j < j1 - j0; j += 16) {
                    const vec_v4 t_11 = exp2_v4(((log_decay_chunk_9 - load_v4(log_decay_k_tile_2 + j)) +
                        (log_decay_chunk_low_10 - load_v4(log_decay_k_low_tile_2 + j))) * 1.442695f);
                    const vec_v4 key_scale_12 = load_v4(key_scale + j);
                    for (int64_t f = 0; f < 64; f++) {
                        store_v4(key + f * 32 + j, (load_v4(key_features + f * 32 + j) * t_11) * key_scale_12);
                    }
                }
                /* from_state[t_key][e] = sum over f of query * state */
                dot1_v4(t_key1 - t_key0, query, state, from_state);
                /* from_state = v - from_state */
                for (int64_t t_key = 0; t_key < t_key1 - t_key0; t_key++) {
                    for (int64_t e_first = 0; e_first < 64; e_first += 64) {
                        UNROLL for (int64_t vector = 0, e = e_first; vector < 4; vector++, e += 16) {
                            store_v4(from_state + t_key * 64 + e, load_v4(v + (t_key0 + t_key) * v_row + e) -
                                load_v4(from_state + t_key * 64 + e));
                        }
                    }
                }
                /* corrected[t_key][e] = key_scale_2[t_key] * (from_state[t_key][e] - sum over j < t_key of score *
                   corrected[j][e]) */
                dot2_v4(t_key1 - t_key0, score, key_scale_2, from_state, corrected);
            }
            /* kept_share = select(exp2(((log_decay_chunk - log_decay_chunk) + (log_decay_chunk_low -
               log_decay_chunk_low)) * 1.442695f) < 0.5f ... */
            const float t_13 = (log_decay_chunk[max(min((((j0 / 32) + 1) * 32) - 1, n_k - 1),
                0)] - log_decay_chunk[max(min(j0 - 1, n_k - 1), 0)]) + (log_decay_chunk_low[max(min((((j0 / 32) + 1) *
                32) - 1, n_k - 1), 0)] - log_decay_chunk_low[max(min(j0 - 1, n_k - 1), 0)]);
            const float t_14 = exp2f(t_13 * 1.442695f);
            const int t_15 = t_14 < 0.5f;
            const float t_16 = t_15 ? t_14 : 1.0f;
            const float t_17 = t_15 ? 0.0f : (-expm1f(t_13));
            for (int64_t f = 0; f < 64; f += 16) {
                store_v4(kept_share + f, splat_v4(t_16));
                store_v4(lost_share + f, splat_v4(t_17));
            }
            /* state[f][e] = state * kept_share - state * lost_share + sum over j of key * corrected */
            dot5_v4(j1 - j0, key, corrected, state, kept_share, lost_share);
            if (saved_solution) {
                /* saved_solution = corrected, transposed back */
                for (int64_t j = 0; j < j1 - j0; j++)
                    for (int64_t e = 0; e < 64; e++)
                        saved_solution[(j0 + j) * saved_solution_row + e] = corrected[j * 64 + e];
            }
        }
    }
}

/* Computes task number `task`: one tile of queries of one head. `work` is this thread's workspace. */
TARGET_v4 static void
    gated_deltanet_linear_dv_linear_part_1_dbeta_linear_part_2_linear_part_3_linear_part_4_linear_part_5_v4(const struct
    call *call, int64_t task, unsigned char *work)
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
    const float *const log_decay_q_low = call->log_decay_q_low + b * call->log_decay_q_low_at.batch + g * members *
        call->log_decay_q_low_at.head;
    const int64_t log_decay_q_low_head = call->log_decay_q_low_at.head;
    const float *const log_decay_q = call->log_decay_q + b * call->log_decay_q_at.batch + g * members *
        call->log_decay_q_at.head;
    const int64_t log_decay_q_head = call->log_decay_q_at.head;
    const float *const log_decay_k_low = call->log_decay_k_low + b * call->log_decay_k_low_at.batch + g * members *
        call->log_decay_k_low_at.head;
    const float *const log_decay_k = call->log_decay_k + b * call->log_decay_k_at.batch + g * members *
        call->log_decay_k_at.head;
    const float *const log_decay_chunk_low = call->log_decay_chunk_low + b * call->log_decay_chunk_low_at.batch + g *
        members * call->log_decay_chunk_low_at.head;
    const float *const log_decay_chunk = call->log_decay_chunk + b * call->log_decay_chunk_at.batch + g * members *
        call->log_decay_chunk_at.head;
    const float *const beta_array = call->beta_array + b * call->beta_array_at.batch + g * members *
        call->beta_array_at.head;
    const int64_t beta_array_row = call->beta_array_at.row;
    const float *const dout = call->dout + b * call->p.dout.batch + g * members * call->p.dout.head;
    const int64_t dout_row = call->p.dout.row;
    const int64_t dout_head = call->p.dout.head;
    const float *const saved_solution = call->saved_solution ? call->saved_solution + b * call->saved_solution_at.batch
        + g * call->saved_solution_at.head : NULL;
    const int64_t saved_solution_row = call->saved_solution_at.row;
    float *const state = (float *)(void *)(work + 0); /* [f: 64, e: 64] */
    float *const query_sum = (float *)(void *)(work + 16384); /* [j: 32] */
    float *const query_features = (float *)(void *)(work + 16512); /* [d: 64, j: 32] */
    float *const query_scale = (float *)(void *)(work + 24704); /* [j: 32] */
    float *const query_features_2 = (float *)(void *)(work + 24832); /* [e: 64, j: 32] */
    float *const score = (float *)(void *)(work + 33024); /* [j: 32, t_key: 32] */
    float *const weight_2 = (float *)(void *)(work + 37120); /* [j: 32, t_key: 32] */
    float *const query = (float *)(void *)(work + 41216); /* [f: 64, j: 32] */
    float *const sum_from_state = (float *)(void *)(work + 49408); /* [j: 32, e: 64] */
    float *const query_scale_2 = (float *)(void *)(work + 57600); /* [t_key: 32] */
    float *const query_features_4 = (float *)(void *)(work + 57728); /* [f: 64, t_key: 32] */
    float *const query_2 = (float *)(void *)(work + 65920); /* [f: 64, j: 32] */
    float *const query_3 = (float *)(void *)(work + 74112); /* [f: 64, j: 32] */
    float *const query_sum_3 = (float *)(void *)(work + 82304); /* [j: 32] */
    float *const kept_share = (float *)(void *)(work + 41216); /* [f: 64] */
    float *const lost_share = (float *)(void *)(work + 41472); /* [f: 64] */
    float *const query_sum_4 = (float *)(void *)(work + 41216); /* [i: 32] */
    float *const score_2 = (float *)(void *)(work + 41344); /* [i: 32, j: 32] */
    float *const weight_3 = (float *)(void *)(work + 65920); /* [i: 32, j: 32] */
    float *const score_3 = (float *)(void *)(work + 70016); /* [j: 32, i: 32] */
    float *const sum = (float *)(void *)(work + 82432); /* [j: 32, e: 64] */
    float *const query_features_6 = (float *)(void *)(work + 90624); /* [f: 64, i: 32] */
    float *const sum_2 = (float *)(void *)(work + 98816); /* [d: 64, j: 32] */
    float *const row_sum = (float *)(void *)(work + 45440); /* [j: 32] */
    float *const corrected = (float *)(void *)(work + 45568); /* [t_key: 32, e: 64] */
    float *const linear_part_1 = call->linear_part_1 ? call->linear_part_1 + b * call->linear_part_1_at.batch + g *
        call->linear_part_1_at.head : NULL;
    const int64_t linear_part_1_row = call->linear_part_1_at.row;
    float *const key_2 = (float *)(void *)(work + 37120); /* [t_key: 32, e: 64] */
    float *const key_3 = (float *)(void *)(work + 65920); /* [j: 32, e: 64] */
    float *const dv = call->dv ? call->dv + b * call->p.dv.batch + g * call->p.dv.head : NULL;
    const int64_t dv_row = call->p.dv.row;
    float *const query_4 = (float *)(void *)(work + 24704); /* [t_key: 32] */
    float *const query_scale_3 = (float *)(void *)(work + 45312); /* [j: 32] */
    float *const dbeta_array = call->dbeta_array ? call->dbeta_array + (b * kv_heads + g) * members * n_k : NULL;
    float *const score_4 = (float *)(void *)(work + 45568); /* [t_key: 32, j: 32] */
    float *const weight_6 = (float *)(void *)(work + 24704); /* [t_key: 32, j: 32] */
    float *const sum_3 = (float *)(void *)(work + 65920); /* [d: 64, t_key: 32] */
    float *const weight_6_turned = (float *)(void *)(work + 28800); /* [j: 32, t_key: 32] */
    float *const linear_part_2 = call->linear_part_2 ? call->linear_part_2 + b * call->linear_part_2_at.batch + g *
        call->linear_part_2_at.head : NULL;
    const int64_t linear_part_2_row = call->linear_part_2_at.row;
    float *const sum_4 = (float *)(void *)(work + 65920); /* [d: 64, j: 32] */
    float *const query_sum_5 = (float *)(void *)(work + 16512); /* [j: 32] */
    float *const linear_part_3 = call->linear_part_3 ? call->linear_part_3 + b * call->linear_part_3_at.batch + g *
        call->linear_part_3_at.head : NULL;
    const int64_t linear_part_3_row = call->linear_part_3_at.row;
    float *const row_sum_2 = (float *)(void *)(work + 16384); /* [t_key: 32] */
    float *const linear_part_4 = call->linear_part_4 ? call->linear_part_4 + (b * kv_heads + g) * n_k : NULL;
    float *const row_sum_3 = (float *)(void *)(work + 16384); /* [j: 32] */
    float *const linear_part_5 = call->linear_part_5 ? call->linear_part_5 + (b * kv_heads + g) * n_k : NULL;
    float *const k_tile = (float *)(void *)(work + 107008); /* [d: 64, j: 32] */
    float *const beta_tile = (float *)(void *)(work + 115200); /* [j: 32] */
    float *const saved_solution_tile = (float *)(void *)(work + 115328); /* [e: 64, j: 32] */
    float *const log_decay_k_tile_2 = (float *)(void *)(work + 123520); /* [j: 32] */
    float *const log_decay_k_low_tile_2 = (float *)(void *)(work + 123648); /* [j: 32] */
    float *const q_tile = (float *)(void *)(work + 123776); /* [d: 64, i: 32] */
    float *const log_decay_q_tile = (float *)(void *)(work + 45568); /* [i: 32] */
    float *const log_decay_q_low_tile = (float *)(void *)(work + 45696); /* [i: 32] */
    float *const weight_4_turned = (float *)(void *)(work + 65920); /* [i: 32, j: 32] */
    float *const corrected_turned = (float *)(void *)(work + 65920); /* [e: 64, t_key: 32] */
    float *const score_4_turned = (float *)(void *)(work + 16512); /* [j: 32, t_key: 32] */
    float *const weight_turned = (float *)(void *)(work + 16512); /* [t_key: 32, j: 32] */
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
            for (int64_t j0 = (chunks - chunk - 1) * 32, j_end = min(((chunks - chunk - 1) * 32) + 32, n_k); j0 < j_end;
                j0 += 32) {
                const int64_t j1 = min(j0 + 32, j_end);
                /* k_tile = k, with zeros beyond the last row */
                transpose_padded_v4(k + j0 * k_row, k_row, j1 - j0, 64, k_tile, 32, -32);
                if (beta_array_row == 1) {
                    /* beta_tile = beta_array, with zeros beyond the last row */
                    for (int64_t j = 0; j < round_up(j1 - j0, 16); j++)
                        beta_tile[j] = j < j1 - j0 ? beta_array[(j0 + j)] : 0;
                } else {
                    /* beta_tile = beta_array, with zeros beyond the last row */
                    for (int64_t j = 0; j < round_up(j1 - j0, 16); j++)
                        beta_tile[j] = j < j1 - j0 ? beta_array[(j0 + j) * beta_array_row] : 0;
                }
                if (dbeta_array || linear_part_2 || linear_part_3 || linear_part_4 || linear_part_5) {
                    /* saved_solution_tile = saved_solution, with zeros beyond the last row */
                    transpose_padded_v4(saved_solution + j0 * saved_solution_row, saved_solution_row, j1 - j0, 64,
                        saved_solution_tile, 32, -32);
                }
                /* log_decay_k_tile_2 = log_decay_k, with zeros beyond the last row */
                for (int64_t j = 0; j < round_up(j1 - j0, 16); j++)
                    log_decay_k_tile_2[j] = j < j1 - j0 ? log_decay_k[(j0 + j)] : 0;
                /* log_decay_k_low_tile_2 = log_decay_k_low, with zeros beyond the last row */
                for (int64_t j = 0; j < round_up(j1 - j0, 16); j++)
                    log_decay_k_low_tile_2[j] = j < j1 - j0 ? log_decay_k_low[(j0 + j)] : 0;
                for (int64_t t_key0 = j0, t_key_end = j1; t_key0 < t_key_end; t_key0 += 32) {
                    const int64_t t_key1 = min(t_key0 + 32, t_key_end);
                    /* query_sum = 0.0f */
                    for (int64_t j = 0; j < j1 - j0; j += 16) {
                        store_v4(query_sum + j, splat_v4(0.0f));
                    }
                    /* query_sum += k_tile * k_tile */
                    for (int64_t j_first = 0; j_first < j1 - j0; j_first += 32) {
                        vec_v4 query_sum_in[2];
                        UNROLL for (int64_t vector = 0, j = j_first; vector < 2; vector++, j += 16) {
                            query_sum_in[vector] = (vec_v4){0};
                        }
                        for (int64_t d = 0; d < 64; d++) {
                            UNROLL for (int64_t vector = 0, j = j_first; vector < 2; vector++, j += 16) {
                                const vec_v4 k_tile_0 = load_v4(k_tile + d * 32 + j);
                                query_sum_in[vector] += k_tile_0 * k_tile_0;
                            }
                        }
                        UNROLL for (int64_t vector = 0, j = j_first; vector < 2; vector++, j += 16) {
                            store_v4(query_sum + j, load_v4(query_sum + j) + query_sum_in[vector]);
                        }
                    }
                    /* query_features = k_tile * select(query_sum == 0.0f, 0.0f, 1.0f / sqrt(query_sum)) */
                    for (int64_t j = 0; j < j1 - j0; j += 16) {
                        const vec_v4 query_sum_1 = load_v4(query_sum + j);
                        const vec_v4 t_2 = pick_v4(query_sum_1 == 0.0f, splat_v4(0.0f), 1.0f / sqrt_v4(query_sum_1));
                        for (int64_t d = 0; d < 64; d++) {
                            store_v4(query_features + d * 32 + j, load_v4(k_tile + d * 32 + j) * t_2);
                        }
                    }
                    /* query_scale = beta_tile */
                    for (int64_t j = 0; j < j1 - j0; j += 16) {
                        store_v4(query_scale + j, load_v4(beta_tile + j));
                    }
                    if (linear_part_2 || linear_part_3 || linear_part_4 || linear_part_5) {
                        /* query_features_2 = saved_solution_tile * query_scale */
                        for (int64_t j = 0; j < j1 - j0; j += 16) {
                            const vec_v4 query_scale_4 = load_v4(query_scale + j);
                            for (int64_t e = 0; e < 64; e++) {
                                store_v4(query_features_2 + e * 32 + j, load_v4(saved_solution_tile + e * 32 + j) *
                                    query_scale_4);
                            }
                        }
                    }
                    /* score[j][t_key] = sum over d of query_features * query_features */
                    dot0_v4(round_up(t_key1 - t_key0, 16), j1 - j0, query_features, query_features, score);
                    /* score = score * exp2(((log_decay_k_tile_2 - log_decay_k) + (log_decay_k_low_tile_2 -
                       log_decay_k_low)) * 1.442695f); weight_2 =  ... */
                    for (int64_t t_key = 0; t_key < t_key1 - t_key0; t_key += 16) {
                        const vec_v4 log_decay_k_tile_2_6 = load_v4(log_decay_k_tile_2 + ((t_key0 + t_key) - j0));
                        const vec_v4 log_decay_k_low_tile_2_7 = load_v4(log_decay_k_low_tile_2 + ((t_key0 + t_key) -
                            j0));
                        const vec_v4 query_scale_9 = load_v4(query_scale + ((t_key0 + t_key) - j0));
                        for (int64_t j = 0; j < j1 - j0; j++) {
                            const vec_v4 score_5 = load_v4(score + j * 32 + t_key);
                            const vec_v4 score_new8 = score_5 * exp2_v4(((log_decay_k_tile_2_6 - log_decay_k[(j0 + j)])
                                + (log_decay_k_low_tile_2_7 - log_decay_k_low[(j0 + j)])) * 1.442695f);
                            store_v4(score + j * 32 + t_key, score_new8);
                            store_v4(weight_2 + j * 32 + t_key, score_new8 * query_scale_9);
                        }
                    }
                    /* query = query_features * exp2(((log_decay_chunk - log_decay_k_tile_2) + (log_decay_chunk_low -
                       log_decay_k_low_tile_2)) * 1.442695f) */
                    const float log_decay_chunk_10 = log_decay_chunk[max(min((((j0 / 32) + 1) * 32) - 1, n_k - 1), 0)];
                    const float log_decay_chunk_low_11 = log_decay_chunk_low[max(min((((j0 / 32) + 1) * 32) - 1,
                        n_k - 1), 0)];
                    for (int64_t j = 0; j < j1 - j0; j += 16) {
                        const vec_v4 t_12 = exp2_v4(((log_decay_chunk_10 - load_v4(log_decay_k_tile_2 + j)) +
                            (log_decay_chunk_low_11 - load_v4(log_decay_k_low_tile_2 + j))) * 1.442695f);
                        for (int64_t f = 0; f < 64; f++) {
                            store_v4(query + f * 32 + j, load_v4(query_features + f * 32 + j) * t_12);
                        }
                    }
                    /* sum_from_state[j][e] = sum over f of query * state */
                    dot1_v4(j1 - j0, query, state, sum_from_state);
                    /* query_scale_2 = 1.0f */
                    for (int64_t t_key = 0; t_key < t_key1 - t_key0; t_key += 16) {
                        store_v4(query_scale_2 + t_key, splat_v4(1.0f));
                    }
                    /* query_features_4 = (query_features * select((lo() / 32) == 0, 1.0f,
                       exp2(((log_decay_k_tile_2 - log_decay_chunk) + (log_decay_k_ ... */
                    const int t_13 = (j0 / 32) == 0;
                    const float log_decay_chunk_14 = log_decay_chunk[max(min(j0 - 1, n_k - 1), 0)];
                    const float log_decay_chunk_low_15 = log_decay_chunk_low[max(min(j0 - 1, n_k - 1), 0)];
                    const float t_17 = exp2f(((log_decay_chunk_14 - log_decay_chunk[max(min(j0 - 1, n_k - 1),
                        0)]) + (log_decay_chunk_low_15 - log_decay_chunk_low[max(min(j0 - 1, n_k - 1),
                        0)])) * 1.442695f);
                    for (int64_t t_key = 0; t_key < t_key1 - t_key0; t_key += 16) {
                        const vec_v4 t_16 = t_13 ? splat_v4(1.0f) : exp2_v4(((load_v4(log_decay_k_tile_2 + ((t_key0 +
                            t_key) - j0)) - log_decay_chunk_14) + (load_v4(log_decay_k_low_tile_2 + ((t_key0 + t_key) -
                            j0)) - log_decay_chunk_low_15)) * 1.442695f);
                        for (int64_t f = 0; f < 64; f++) {
                            store_v4(query_features_4 + f * 32 + t_key, (load_v4(query_features + f * 32 + ((t_key0 +
                                t_key) - j0)) * t_16) * t_17);
                        }
                    }
                    if (linear_part_3 || linear_part_5) {
                        /* query_2[f][j] = sum over e of state * query_features_2 */
                        dot6_v4(round_up(j1 - j0, 16), state, query_features_2, query_2);
                    }
                    if (linear_part_5) {
                        /* query_sum_3 = 0.0f */
                        for (int64_t j = 0; j < j1 - j0; j += 16) {
                            store_v4(query_sum_3 + j, splat_v4(0.0f));
                        }
                    }
                    if (linear_part_3 || linear_part_5) {
                        /* query_3 = query_2 * exp2(((log_decay_chunk - log_decay_k_tile_2) + (log_decay_chunk_low -
                           log_decay_k_low_tile_2)) * 1.442695f); ... */
                        const float log_decay_chunk_19 = log_decay_chunk[max(min((((j0 / 32) + 1) * 32) - 1, n_k - 1),
                            0)];
                        const float log_decay_chunk_low_20 = log_decay_chunk_low[max(min((((j0 / 32) + 1) * 32) - 1,
                            n_k - 1), 0)];
                        for (int64_t j = 0; j < j1 - j0; j += 16) {
                            const vec_v4 t_21 = exp2_v4(((log_decay_chunk_19 - load_v4(log_decay_k_tile_2 + j)) +
                                (log_decay_chunk_low_20 - load_v4(log_decay_k_low_tile_2 + j))) * 1.442695f);
                            vec_v4 query_sum_3_in = (vec_v4){0};
                            for (int64_t f = 0; f < 64; f++) {
                                const vec_v4 query_2_18 = load_v4(query_2 + f * 32 + j);
                                store_v4(query_3 + f * 32 + j, query_2_18 * t_21);
                                query_sum_3_in += query_2_18 * (-load_v4(query + f * 32 + j));
                            }
                            store_v4(query_sum_3 + j, load_v4(query_sum_3 + j) + query_sum_3_in);
                        }
                    }
                    /* kept_share = select(exp2(((log_decay_chunk - log_decay_chunk) + (log_decay_chunk_low -
                       log_decay_chunk_low)) * 1.442695f) < 0.5f ... */
                    const float t_22 = (log_decay_chunk[max(min((((j0 / 32) + 1) * 32) - 1, n_k - 1),
                        0)] - log_decay_chunk[max(min(j0 - 1, n_k - 1), 0)]) + (log_decay_chunk_low[max(min((((j0 / 32)
                        + 1) * 32) - 1, n_k - 1), 0)] - log_decay_chunk_low[max(min(j0 - 1, n_k - 1), 0)]);
                    const float t_23 = exp2f(t_22 * 1.442695f);
                    const int t_24 = t_23 < 0.5f;
                    const float t_25 = t_24 ? t_23 : 1.0f;
                    const float t_26 = t_24 ? 0.0f : (-expm1f(t_22));
                    for (int64_t f = 0; f < 64; f += 16) {
                        store_v4(kept_share + f, splat_v4(t_25));
                        store_v4(lost_share + f, splat_v4(t_26));
                    }
                    /* state = (state * kept_share) - (state * lost_share) */
                    for (int64_t f = 0; f < 64; f++) {
                        for (int64_t e_first = 0; e_first < 64; e_first += 64) {
                            UNROLL for (int64_t vector = 0, e = e_first; vector < 4; vector++, e += 16) {
                                const vec_v4 state_27 = load_v4(state + f * 64 + e);
                                store_v4(state + f * 64 + e, (state_27 * kept_share[f]) - (state_27 * lost_share[f]));
                            }
                        }
                    }
                    /* sum = 0.0f */
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        for (int64_t e_first = 0; e_first < 64; e_first += 64) {
                            UNROLL for (int64_t vector = 0, e = e_first; vector < 4; vector++, e += 16) {
                                store_v4(sum + j * 64 + e, splat_v4(0.0f));
                            }
                        }
                    }
                    if (linear_part_3) {
                        /* sum_2 = 0.0f */
                        for (int64_t d = 0; d < 64; d++) {
                            for (int64_t j = 0; j < j1 - j0; j += 16) {
                                store_v4(sum_2 + d * 32 + j, splat_v4(0.0f));
                            }
                        }
                    }
                    if (linear_part_5) {
                        /* row_sum = 0.0f */
                        for (int64_t j = 0; j < j1 - j0; j += 16) {
                            store_v4(row_sum + j, splat_v4(0.0f));
                        }
                    }
                    for (int64_t i0 = ((j0 / 32) == 0) ? 0 : max(0, j0 - query_start), i_end = min(n_q,
                        (((j0 / 32) + 1) * 32) - query_start); i0 < i_end; i0 += 32) {
                        const int64_t i1 = min(i0 + 32, i_end);
                        /* q_tile = q, with zeros beyond the last row */
                        transpose_padded_v4(q + m * q_head + i0 * q_row, q_row, i1 - i0, 64, q_tile, 32, -32);
                        /* log_decay_q_tile = log_decay_q, with zeros beyond the last row */
                        for (int64_t i = 0; i < round_up(i1 - i0, 16); i++)
                            log_decay_q_tile[i] = i < i1 - i0 ? log_decay_q[m * log_decay_q_head + (i0 + i)] : 0;
                        /* log_decay_q_low_tile = log_decay_q_low, with zeros beyond the last row */
                        for (int64_t i = 0; i < round_up(i1 - i0, 16); i++)
                            log_decay_q_low_tile[i] = i < i1 - i0 ? log_decay_q_low[m * log_decay_q_low_head + (i0 + i)]
                                : 0;
                        /* query_sum_4 = 0.0f */
                        for (int64_t i = 0; i < i1 - i0; i += 16) {
                            store_v4(query_sum_4 + i, splat_v4(0.0f));
                        }
                        /* query_sum_4 += q_tile * q_tile */
                        for (int64_t i_first = 0; i_first < i1 - i0; i_first += 32) {
                            vec_v4 query_sum_4_in[2];
                            UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += 16) {
                                query_sum_4_in[vector] = (vec_v4){0};
                            }
                            for (int64_t d = 0; d < 64; d++) {
                                UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += 16) {
                                    const vec_v4 q_tile_28 = load_v4(q_tile + d * 32 + i);
                                    query_sum_4_in[vector] += q_tile_28 * q_tile_28;
                                }
                            }
                            UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += 16) {
                                store_v4(query_sum_4 + i, load_v4(query_sum_4 + i) + query_sum_4_in[vector]);
                            }
                        }
                        if (linear_part_3 || linear_part_5) {
                            /* score_2[i][j] = sum over e of dout * query_features_2 */
                            dot7_v4(round_up(j1 - j0, 16), i1 - i0, dout + m * dout_head + i0 * dout_row, dout_row,
                                query_features_2, score_2);
                        }
                        if (linear_part_3) {
                            /* weight_3 = score_2 * exp2(((log_decay_q - log_decay_k_tile_2) + (log_decay_q_low -
                               log_decay_k_low_tile_2)) * 1.442695f) */
                            for (int64_t j = 0; j < j1 - j0; j += 16) {
                                const vec_v4 log_decay_k_tile_2_29 = load_v4(log_decay_k_tile_2 + j);
                                const vec_v4 log_decay_k_low_tile_2_30 = load_v4(log_decay_k_low_tile_2 + j);
                                for (int64_t i = 0; i < i1 - i0; i++) {
                                    store_v4(weight_3 + i * 32 + j, load_v4(score_2 + i * 32 + j) *
                                        exp2_v4((((log_decay_q[m * log_decay_q_head + (i0 + i)]) -
                                        log_decay_k_tile_2_29) + ((log_decay_q_low[m * log_decay_q_low_head + (i0 + i)])
                                        - log_decay_k_low_tile_2_30)) * 1.442695f));
                                }
                            }
                        }
                        /* q_tile = (q_tile * select(query_sum_4 == 0.0f, 0.0f, 1.0f / sqrt(query_sum_4))) * 0.125f */
                        for (int64_t i = 0; i < i1 - i0; i += 16) {
                            const vec_v4 query_sum_4_31 = load_v4(query_sum_4 + i);
                            const vec_v4 t_32 = pick_v4(query_sum_4_31 == 0.0f, splat_v4(0.0f),
                                1.0f / sqrt_v4(query_sum_4_31));
                            for (int64_t d = 0; d < 64; d++) {
                                store_v4(q_tile + d * 32 + i, (load_v4(q_tile + d * 32 + i) * t_32) * 0.125f);
                            }
                        }
                        /* score_3[j][i] = sum over d of query_features * q_tile */
                        dot0_v4(round_up(i1 - i0, 16), j1 - j0, query_features, q_tile, score_3);
                        /* score_3 = score_3 * exp2(((log_decay_q_tile - log_decay_k) + (log_decay_q_low_tile -
                           log_decay_k_low)) * 1.442695f) */
                        for (int64_t i = 0; i < i1 - i0; i += 16) {
                            const vec_v4 log_decay_q_tile_33 = load_v4(log_decay_q_tile + i);
                            const vec_v4 log_decay_q_low_tile_34 = load_v4(log_decay_q_low_tile + i);
                            for (int64_t j = 0; j < j1 - j0; j++) {
                                store_v4(score_3 + j * 32 + i, load_v4(score_3 + j * 32 + i) *
                                    exp2_v4(((log_decay_q_tile_33 - log_decay_k[(j0 + j)]) + (log_decay_q_low_tile_34 -
                                    log_decay_k_low[(j0 + j)])) * 1.442695f));
                            }
                        }
                        /* score_3 = select(j <= (i + query_start), score_3, 0.0f) */
                        for (int64_t i = 0; i < i1 - i0; i += 16) {
                            const ints_v4 t_35 = (i0 + i + lane_v4) + query_start;
                            for (int64_t j = 0; j < j1 - j0; j++) {
                                store_v4(score_3 + j * 32 + i, pick_v4(__builtin_convertvector((j0 + j) <= t_35,
                                    mask_v4), load_v4(score_3 + j * 32 + i), splat_v4(0.0f)));
                            }
                        }
                        /* sum[j][e] += sum over i of score_3 * dout */
                        if (__builtin_expect(!finite_v4(dout + m * dout_head + i0 * dout_row, dout_row, i1 - i0, 64),
                            0)) { /* infinity and NaN affect only queries that see them */
                            dot8_v4(j1 - j0, i1 - i0, score_3, dout + m * dout_head + i0 * dout_row, dout_row, sum);
                            for (int64_t j = 0; j < j1 - j0; j++) {
                                mask_v4 in_region[2] = {0};
                                for (int64_t i = 0; i < i1 - i0; i += 16) {
                                    in_region[i / 16] = __builtin_convertvector((j0 + j) <= ((i0 + i + lane_v4) +
                                        query_start), mask_v4);
                                }
                                add_seen_lanes_v4(64, sum + j * 64, score_3 + j * 32,
                                    dout + m * dout_head + i0 * dout_row, dout_row, i1 - i0, in_region);
                            }
                        } else
                            dot9_v4(j1 - j0, i1 - i0, score_3, dout + m * dout_head + i0 * dout_row, dout_row, sum);
                        /* query_features_6 = (q_tile * select((lo() / 32) == 0, 1.0f,
                           exp2(((log_decay_q_tile - log_decay_chunk) + (log_decay_q_low_tile - ... */
                        const int t_36 = (j0 / 32) == 0;
                        const float log_decay_chunk_37 = log_decay_chunk[max(min(j0 - 1, n_k - 1), 0)];
                        const float log_decay_chunk_low_38 = log_decay_chunk_low[max(min(j0 - 1, n_k - 1), 0)];
                        const float t_40 = exp2f(((log_decay_chunk_37 - log_decay_chunk[max(min(j0 - 1, n_k - 1),
                            0)]) + (log_decay_chunk_low_38 - log_decay_chunk_low[max(min(j0 - 1, n_k - 1),
                            0)])) * 1.442695f);
                        for (int64_t i = 0; i < i1 - i0; i += 16) {
                            const vec_v4 t_39 = t_36 ? splat_v4(1.0f) : exp2_v4(((load_v4(log_decay_q_tile + i) -
                                log_decay_chunk_37) + (load_v4(log_decay_q_low_tile + i) - log_decay_chunk_low_38)) *
                                1.442695f);
                            for (int64_t f = 0; f < 64; f++) {
                                store_v4(query_features_6 + f * 32 + i, (load_v4(q_tile + f * 32 + i) * t_39) * t_40);
                            }
                        }
                        /* state[f][e] += sum over i of query_features_6 * dout */
                        dot10_v4(i1 - i0, query_features_6, dout + m * dout_head + i0 * dout_row, dout_row, state);
                        if (linear_part_3) {
                            /* weight_3 = select(j <= (i + query_start), weight_3, 0.0f) */
                            for (int64_t j = 0; j < j1 - j0; j += 16) {
                                const ints_v4 t_41 = j0 + j + lane_v4;
                                for (int64_t i = 0; i < i1 - i0; i++) {
                                    store_v4(weight_3 + i * 32 + j, pick_v4(__builtin_convertvector(t_41 <= ((i0 + i) +
                                        query_start), mask_v4), load_v4(weight_3 + i * 32 + j), splat_v4(0.0f)));
                                }
                            }
                            /* sum_2[d][j] += sum over i of q_tile * weight_3 */
                            if (__builtin_expect(!finite_v4(q_tile, 32, 64, i1 - i0),
                                0)) { /* infinity and NaN affect only queries that see them */
                                dot11_v4(round_up(j1 - j0, 16), i1 - i0, q_tile, weight_3, sum_2);
                                for (int64_t i = 0; i < i1 - i0; i++) {
                                    mask_v4 in_region[2] = {0};
                                    if (finite_v4(q_tile + i * 1, 32, 64, 1)) continue;
                                    const int64_t t_42 = (i0 + i) + query_start;
                                    for (int64_t j = 0; j < j1 - j0; j += 16) {
                                        in_region[j / 16] = __builtin_convertvector((j0 + j + lane_v4) <= t_42,
                                            mask_v4);
                                    }
                                    add_seen_v4(64, sum_2, 32, q_tile + i * 1, 32, weight_3 + i * 32, in_region,
                                        j1 - j0);
                                }
                            } else
                                dot12_v4(round_up(j1 - j0, 16), i1 - i0, q_tile, weight_3, sum_2);
                        }
                        if (linear_part_5) {
                            /* weight_4_turned = score_3, with zeros beyond the last row */
                            transpose_padded_v4(score_3, 32, j1 - j0, i1 - i0, weight_4_turned, 32, -32);
                            /* weight_4_turned = score_2 * neg(weight_4_turned) */
                            for (int64_t i = 0; i < i1 - i0; i++) {
                                for (int64_t j = 0; j < j1 - j0; j += 16) {
                                    store_v4(weight_4_turned + i * 32 + j, load_v4(score_2 + i * 32 + j) *
                                        (-load_v4(weight_4_turned + i * 32 + j)));
                                }
                            }
                            /* weight_4_turned = select(j <= (i + query_start), weight_4_turned, 0.0f);
                               row_sum += weight_4_turned */
                            for (int64_t j = 0; j < j1 - j0; j += 16) {
                                const ints_v4 t_43 = j0 + j + lane_v4;
                                vec_v4 row_sum_in = (vec_v4){0};
                                for (int64_t i = 0; i < i1 - i0; i++) {
                                    const vec_v4 weight_4_turned_44 = load_v4(weight_4_turned + i * 32 + j);
                                    const vec_v4 weight_4_turned_new45 = pick_v4(__builtin_convertvector(t_43 <= ((i0 +
                                        i) + query_start), mask_v4), weight_4_turned_44, splat_v4(0.0f));
                                    store_v4(weight_4_turned + i * 32 + j, weight_4_turned_new45);
                                    row_sum_in += weight_4_turned_new45;
                                }
                                store_v4(row_sum + j, load_v4(row_sum + j) + row_sum_in);
                            }
                        }
                    }
                    /* sum = sum + sum_from_state */
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        for (int64_t e_first = 0; e_first < 64; e_first += 64) {
                            UNROLL for (int64_t vector = 0, e = e_first; vector < 4; vector++, e += 16) {
                                store_v4(sum + j * 64 + e, load_v4(sum + j * 64 + e) + load_v4(sum_from_state + j * 64 +
                                    e));
                            }
                        }
                    }
                    /* corrected[j][e] = query_scale_2[j] * (sum[j][e] - sum over t_key > j of weight_2 *
                       corrected[t_key][e]) */
                    dot13_v4(j1 - j0, weight_2 + (j1 - j0 - 1) * (32 + 1), -(32), -(1),
                        query_scale_2 + (j1 - j0 - 1) * (1), -(1), sum + (j1 - j0 - 1) * (64), -(64),
                        corrected + (j1 - j0 - 1) * (64), -(64));
                    if (linear_part_1) {
                        /* linear_part_1 = corrected */
                        for (int64_t t_key = 0; t_key < t_key1 - t_key0; t_key++)
                            for (int64_t e = 0; e < 64; e++)
                                linear_part_1[(t_key0 + t_key) * linear_part_1_row + e] = corrected[t_key * 64 + e];
                    }
                    /* key_2 = corrected * query_scale */
                    for (int64_t t_key = 0; t_key < t_key1 - t_key0; t_key++) {
                        for (int64_t e_first = 0; e_first < 64; e_first += 64) {
                            UNROLL for (int64_t vector = 0, e = e_first; vector < 4; vector++, e += 16) {
                                store_v4(key_2 + t_key * 64 + e, load_v4(corrected + t_key * 64 + e) *
                                    query_scale[((t_key0 + t_key) - j0)]);
                            }
                        }
                    }
                    if (dv) {
                        /* key_3 = key_2 */
                        for (int64_t j = 0; j < j1 - j0; j++) {
                            for (int64_t e_first = 0; e_first < 64; e_first += 64) {
                                UNROLL for (int64_t vector = 0, e = e_first; vector < 4; vector++, e += 16) {
                                    store_v4(key_3 + j * 64 + e, load_v4(key_2 + ((j0 + j) - t_key0) * 64 + e));
                                }
                            }
                        }
                        /* dv = key_3 */
                        for (int64_t j = 0; j < j1 - j0; j++)
                            for (int64_t e = 0; e < 64; e++)
                                dv[(j0 + j) * dv_row + e] = key_3[j * 64 + e];
                    }
                    if (dbeta_array) {
                        /* query_4 = 0.0f */
                        for (int64_t t_key = 0; t_key < t_key1 - t_key0; t_key += 16) {
                            store_v4(query_4 + t_key, splat_v4(0.0f));
                        }
                        /* corrected_turned = corrected, with zeros beyond the last row */
                        transpose_padded_v4(corrected, 64, t_key1 - t_key0, 64, corrected_turned, 32, -32);
                        /* query_4 += corrected_turned * saved_solution_tile */
                        for (int64_t t_key_first = 0; t_key_first < t_key1 - t_key0; t_key_first += 32) {
                            vec_v4 query_4_in[2];
                            UNROLL for (int64_t vector = 0, t_key = t_key_first; vector < 2; vector++, t_key += 16) {
                                query_4_in[vector] = (vec_v4){0};
                            }
                            for (int64_t e = 0; e < 64; e++) {
                                UNROLL for (int64_t vector = 0, t_key = t_key_first; vector < 2; vector++,
                                    t_key += 16) {
                                    query_4_in[vector] += load_v4(corrected_turned + e * 32 + t_key) *
                                        load_v4(saved_solution_tile + e * 32 + ((t_key0 + t_key) - j0));
                                }
                            }
                            UNROLL for (int64_t vector = 0, t_key = t_key_first; vector < 2; vector++, t_key += 16) {
                                store_v4(query_4 + t_key, load_v4(query_4 + t_key) + query_4_in[vector]);
                            }
                        }
                        /* query_scale_3 = select(m == 0, query_4, 0.0f) */
                        const int t_46 = m == 0;
                        for (int64_t j = 0; j < j1 - j0; j += 16) {
                            store_v4(query_scale_3 + j, t_46 ? load_v4(query_4 + ((j0 + j) - t_key0)) : splat_v4(0.0f));
                        }
                        /* dbeta_array = query_scale_3 */
                        for (int64_t j = 0; j < j1 - j0; j++)
                            dbeta_array[m * n_k + (j0 + j)] = query_scale_3[j];
                    }
                    /* key_2 = 0.0f - key_2 */
                    for (int64_t t_key = 0; t_key < t_key1 - t_key0; t_key++) {
                        for (int64_t e_first = 0; e_first < 64; e_first += 64) {
                            UNROLL for (int64_t vector = 0, e = e_first; vector < 4; vector++, e += 16) {
                                store_v4(key_2 + t_key * 64 + e, 0.0f - load_v4(key_2 + t_key * 64 + e));
                            }
                        }
                    }
                    if (linear_part_2 || linear_part_3 || linear_part_4 || linear_part_5) {
                        /* score_4[t_key][j] = sum over e of key_2 * query_features_2 */
                        dot14_v4(round_up(j1 - j0, 16), t_key1 - t_key0, key_2, query_features_2, score_4);
                    }
                    if (linear_part_2 || linear_part_3) {
                        /* weight_6 = score_4 * exp2(((log_decay_k - log_decay_k_tile_2) + (log_decay_k_low -
                           log_decay_k_low_tile_2)) * 1.442695f) */
                        for (int64_t j = 0; j < j1 - j0; j += 16) {
                            const vec_v4 log_decay_k_tile_2_47 = load_v4(log_decay_k_tile_2 + j);
                            const vec_v4 log_decay_k_low_tile_2_48 = load_v4(log_decay_k_low_tile_2 + j);
                            for (int64_t t_key = 0; t_key < t_key1 - t_key0; t_key++) {
                                store_v4(weight_6 + t_key * 32 + j, load_v4(score_4 + t_key * 32 + j) *
                                    exp2_v4(((log_decay_k[(t_key0 + t_key)] - log_decay_k_tile_2_47) +
                                    (log_decay_k_low[(t_key0 + t_key)] - log_decay_k_low_tile_2_48)) * 1.442695f));
                            }
                        }
                        /* weight_6 = select(j < t_key, weight_6, 0.0f) */
                        for (int64_t j = 0; j < j1 - j0; j += 16) {
                            const ints_v4 t_49 = j0 + j + lane_v4;
                            for (int64_t t_key = 0; t_key < t_key1 - t_key0; t_key++) {
                                store_v4(weight_6 + t_key * 32 + j, pick_v4(__builtin_convertvector(t_49 < (t_key0 +
                                    t_key), mask_v4), load_v4(weight_6 + t_key * 32 + j), splat_v4(0.0f)));
                            }
                        }
                    }
                    if (linear_part_2) {
                        /* weight_6_turned = weight_6, with zeros beyond the last row */
                        transpose_padded_v4(weight_6, 32, t_key1 - t_key0, j1 - j0, weight_6_turned, 32, -32);
                        /* sum_3[d][t_key] = sum over j of query_features * weight_6_turned */
                        if (__builtin_expect(!finite_v4(query_features, 32, 64, j1 - j0),
                            0)) { /* infinity and NaN affect only queries that see them */
                            dot15_v4(round_up(t_key1 - t_key0, 16), j1 - j0, query_features, weight_6_turned, sum_3);
                            for (int64_t j = 0; j < j1 - j0; j++) {
                                mask_v4 in_region[2] = {0};
                                if (finite_v4(query_features + j * 1, 32, 64, 1)) continue;
                                for (int64_t t_key = 0; t_key < t_key1 - t_key0; t_key += 16) {
                                    in_region[t_key / 16] = __builtin_convertvector((j0 + j) < (t_key0 + t_key +
                                        lane_v4), mask_v4);
                                }
                                add_seen_v4(64, sum_3, 32, query_features + j * 1, 32, weight_6_turned + j * 32,
                                    in_region, t_key1 - t_key0);
                            }
                        } else
                            dot16_v4(round_up(t_key1 - t_key0, 16), j1 - j0, query_features, weight_6_turned, sum_3);
                        /* sum_3 = sum_3 */
                        for (int64_t d = 0; d < 64; d++) {
                            for (int64_t t_key = 0; t_key < t_key1 - t_key0; t_key += 16) {
                                store_v4(sum_3 + d * 32 + t_key, load_v4(sum_3 + d * 32 + t_key));
                            }
                        }
                        /* linear_part_2 = sum_3, transposed back */
                        transpose_out_v4(sum_3, 32, 64, t_key1 - t_key0, linear_part_2 + t_key0 * linear_part_2_row,
                            linear_part_2_row, -32);
                    }
                    if (linear_part_3) {
                        /* sum_4[d][j] = sum over t_key of query_features * weight_6 */
                        if (__builtin_expect(!finite_v4(query_features, 32, 64, t_key1 - t_key0),
                            0)) { /* infinity and NaN affect only queries that see them */
                            dot15_v4(round_up(j1 - j0, 16), t_key1 - t_key0, query_features, weight_6, sum_4);
                            for (int64_t t_key = 0; t_key < t_key1 - t_key0; t_key++) {
                                mask_v4 in_region[2] = {0};
                                if (finite_v4(query_features + t_key * 1, 32, 64, 1)) continue;
                                for (int64_t j = 0; j < j1 - j0; j += 16) {
                                    in_region[j / 16] = __builtin_convertvector((j0 + j + lane_v4) < (t_key0 + t_key),
                                        mask_v4);
                                }
                                add_seen_v4(64, sum_4, 32, query_features + t_key * 1, 32, weight_6 + t_key * 32,
                                    in_region, j1 - j0);
                            }
                        } else
                            dot16_v4(round_up(j1 - j0, 16), t_key1 - t_key0, query_features, weight_6, sum_4);
                        /* query_sum_5 = 0.0f */
                        for (int64_t j = 0; j < j1 - j0; j += 16) {
                            store_v4(query_sum_5 + j, splat_v4(0.0f));
                        }
                        /* sum_2 = (query_3 + sum_2) + sum_4; query_sum_5 += sum_2 * (k_tile * select(query_sum == 0.0f,
                           0.0f, neg((1.0f / sqrt(query_sum)) ... */
                        for (int64_t j = 0; j < j1 - j0; j += 16) {
                            const vec_v4 query_sum_52 = load_v4(query_sum + j);
                            const vec_v4 t_53 = sqrt_v4(query_sum_52);
                            const vec_v4 t_54 = pick_v4(query_sum_52 == 0.0f, splat_v4(0.0f),
                                (-((1.0f / t_53) * (0.5f / t_53))) / t_53);
                            vec_v4 query_sum_5_in = (vec_v4){0};
                            for (int64_t d = 0; d < 64; d++) {
                                const vec_v4 sum_2_50 = load_v4(sum_2 + d * 32 + j);
                                const vec_v4 sum_2_new51 = (load_v4(query_3 + d * 32 + j) + sum_2_50) + load_v4(sum_4 +
                                    d * 32 + j);
                                store_v4(sum_2 + d * 32 + j, sum_2_new51);
                                query_sum_5_in += sum_2_new51 * (load_v4(k_tile + d * 32 + j) * t_54);
                            }
                            store_v4(query_sum_5 + j, load_v4(query_sum_5 + j) + query_sum_5_in);
                        }
                        /* sum_2 = (sum_2 * select(query_sum == 0.0f, 0.0f,
                           1.0f / sqrt(query_sum))) + (query_sum_5 * (k_tile * 2.0f)) */
                        for (int64_t j = 0; j < j1 - j0; j += 16) {
                            const vec_v4 query_sum_55 = load_v4(query_sum + j);
                            const vec_v4 t_56 = pick_v4(query_sum_55 == 0.0f, splat_v4(0.0f),
                                1.0f / sqrt_v4(query_sum_55));
                            const vec_v4 query_sum_5_57 = load_v4(query_sum_5 + j);
                            for (int64_t d = 0; d < 64; d++) {
                                store_v4(sum_2 + d * 32 + j, (load_v4(sum_2 + d * 32 + j) * t_56) + (query_sum_5_57 *
                                    (load_v4(k_tile + d * 32 + j) * 2.0f)));
                            }
                        }
                        /* linear_part_3 = sum_2, transposed back */
                        transpose_out_v4(sum_2, 32, 64, j1 - j0, linear_part_3 + j0 * linear_part_3_row,
                            linear_part_3_row, -32);
                    }
                    if (linear_part_4) {
                        /* score_4_turned = score_4, with zeros beyond the last row */
                        transpose_padded_v4(score_4, 32, t_key1 - t_key0, j1 - j0, score_4_turned, 32, -32);
                        /* score_4_turned = score_4_turned * score */
                        for (int64_t j = 0; j < j1 - j0; j++) {
                            for (int64_t t_key = 0; t_key < t_key1 - t_key0; t_key += 16) {
                                store_v4(score_4_turned + j * 32 + t_key, load_v4(score_4_turned + j * 32 + t_key) *
                                    load_v4(score + j * 32 + t_key));
                            }
                        }
                        /* row_sum_2 = 0.0f */
                        for (int64_t t_key = 0; t_key < t_key1 - t_key0; t_key += 16) {
                            store_v4(row_sum_2 + t_key, splat_v4(0.0f));
                        }
                        /* score_4_turned = select(j < t_key, score_4_turned, 0.0f); row_sum_2 += score_4_turned */
                        for (int64_t t_key = 0; t_key < t_key1 - t_key0; t_key += 16) {
                            const ints_v4 t_58 = t_key0 + t_key + lane_v4;
                            vec_v4 row_sum_2_in = (vec_v4){0};
                            for (int64_t j = 0; j < j1 - j0; j++) {
                                const vec_v4 score_4_turned_59 = load_v4(score_4_turned + j * 32 + t_key);
                                const vec_v4 score_4_turned_new60 = pick_v4(__builtin_convertvector((j0 + j) < t_58,
                                    mask_v4), score_4_turned_59, splat_v4(0.0f));
                                store_v4(score_4_turned + j * 32 + t_key, score_4_turned_new60);
                                row_sum_2_in += score_4_turned_new60;
                            }
                            store_v4(row_sum_2 + t_key, load_v4(row_sum_2 + t_key) + row_sum_2_in);
                        }
                        /* row_sum_2 = row_sum_2 */
                        for (int64_t t_key = 0; t_key < t_key1 - t_key0; t_key += 16) {
                            store_v4(row_sum_2 + t_key, load_v4(row_sum_2 + t_key));
                        }
                        /* linear_part_4 = row_sum_2 */
                        for (int64_t t_key = 0; t_key < t_key1 - t_key0; t_key++)
                            linear_part_4[(t_key0 + t_key)] = row_sum_2[t_key];
                    }
                    if (linear_part_5) {
                        /* weight_turned = score, with zeros beyond the last row */
                        transpose_padded_v4(score, 32, j1 - j0, t_key1 - t_key0, weight_turned, 32, -32);
                        /* weight_turned = score_4 * neg(weight_turned) */
                        for (int64_t t_key = 0; t_key < t_key1 - t_key0; t_key++) {
                            for (int64_t j = 0; j < j1 - j0; j += 16) {
                                store_v4(weight_turned + t_key * 32 + j, load_v4(score_4 + t_key * 32 + j) *
                                    (-load_v4(weight_turned + t_key * 32 + j)));
                            }
                        }
                        /* row_sum_3 = 0.0f */
                        for (int64_t j = 0; j < j1 - j0; j += 16) {
                            store_v4(row_sum_3 + j, splat_v4(0.0f));
                        }
                        /* weight_turned = select(j < t_key, weight_turned, 0.0f); row_sum_3 += weight_turned */
                        for (int64_t j = 0; j < j1 - j0; j += 16) {
                            const ints_v4 t_61 = j0 + j + lane_v4;
                            vec_v4 row_sum_3_in = (vec_v4){0};
                            for (int64_t t_key = 0; t_key < t_key1 - t_key0; t_key++) {
                                const vec_v4 weight_turned_62 = load_v4(weight_turned + t_key * 32 + j);
                                const vec_v4 weight_turned_new63 = pick_v4(__builtin_convertvector(t_61 < (t_key0 +
                                    t_key), mask_v4), weight_turned_62, splat_v4(0.0f));
                                store_v4(weight_turned + t_key * 32 + j, weight_turned_new63);
                                row_sum_3_in += weight_turned_new63;
                            }
                            store_v4(row_sum_3 + j, load_v4(row_sum_3 + j) + row_sum_3_in);
                        }
                        /* row_sum = (row_sum + query_sum_3) + row_sum_3 */
                        for (int64_t j = 0; j < j1 - j0; j += 16) {
                            store_v4(row_sum + j, (load_v4(row_sum + j) + load_v4(query_sum_3 + j)) + load_v4(row_sum_3
                                + j));
                        }
                        /* linear_part_5 = row_sum */
                        for (int64_t j = 0; j < j1 - j0; j++)
                            linear_part_5[(j0 + j)] = row_sum[j];
                    }
                    /* state[f][e] += sum over t_key of query_features_4 * key_2 */
                    dot17_v4(t_key1 - t_key0, query_features_4, key_2, state);
                }
            }
        }
    }
}

/* Computes task number `task`: one tile of queries of one head. `work` is this thread's workspace. */
TARGET_v4 static void gated_deltanet_linear_dq_dlog_decay_q_dk_dlog_decay_k_v4(const struct call *call, int64_t task,
    unsigned char *work)
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
    const float *const log_decay_q_low = call->log_decay_q_low + b * call->log_decay_q_low_at.batch + g * members *
        call->log_decay_q_low_at.head;
    const int64_t log_decay_q_low_head = call->log_decay_q_low_at.head;
    const float *const log_decay_q = call->log_decay_q + b * call->log_decay_q_at.batch + g * members *
        call->log_decay_q_at.head;
    const int64_t log_decay_q_head = call->log_decay_q_at.head;
    const float *const log_decay_k_low = call->log_decay_k_low + b * call->log_decay_k_low_at.batch + g * members *
        call->log_decay_k_low_at.head;
    const float *const log_decay_k = call->log_decay_k + b * call->log_decay_k_at.batch + g * members *
        call->log_decay_k_at.head;
    const float *const log_decay_chunk_low = call->log_decay_chunk_low + b * call->log_decay_chunk_low_at.batch + g *
        members * call->log_decay_chunk_low_at.head;
    const float *const log_decay_chunk = call->log_decay_chunk + b * call->log_decay_chunk_at.batch + g * members *
        call->log_decay_chunk_at.head;
    const float *const beta_array = call->beta_array + b * call->beta_array_at.batch + g * members *
        call->beta_array_at.head;
    const int64_t beta_array_row = call->beta_array_at.row;
    const float *const dout = call->dout + b * call->p.dout.batch + g * members * call->p.dout.head;
    const int64_t dout_row = call->p.dout.row;
    const int64_t dout_head = call->p.dout.head;
    const float *const saved_solution = call->saved_solution ? call->saved_solution + b * call->saved_solution_at.batch
        + g * call->saved_solution_at.head : NULL;
    const int64_t saved_solution_row = call->saved_solution_at.row;
    const float *const linear_part_1 = call->linear_part_1 ? call->linear_part_1 + b * call->linear_part_1_at.batch + g
        * call->linear_part_1_at.head : NULL;
    const int64_t linear_part_1_row = call->linear_part_1_at.row;
    const float *const linear_part_2 = call->linear_part_2 ? call->linear_part_2 + b * call->linear_part_2_at.batch + g
        * call->linear_part_2_at.head : NULL;
    const int64_t linear_part_2_row = call->linear_part_2_at.row;
    const float *const linear_part_3 = call->linear_part_3 ? call->linear_part_3 + b * call->linear_part_3_at.batch + g
        * call->linear_part_3_at.head : NULL;
    const int64_t linear_part_3_row = call->linear_part_3_at.row;
    const float *const linear_part_4 = call->linear_part_4 ? call->linear_part_4 + (b * kv_heads + g) * n_k : NULL;
    const float *const linear_part_5 = call->linear_part_5 ? call->linear_part_5 + (b * kv_heads + g) * n_k : NULL;
    float *const state = (float *)(void *)(work + 0); /* [f: 64, e: 64] */
    float *const query_sum = (float *)(void *)(work + 16384); /* [j: 32] */
    float *const query_features = (float *)(void *)(work + 16512); /* [d: 64, j: 32] */
    float *const query_features_2 = (float *)(void *)(work + 24704); /* [f: 64, j: 32] */
    float *const query_scale = (float *)(void *)(work + 32896); /* [j: 32] */
    float *const key_features = (float *)(void *)(work + 33024); /* [j: 32, e: 64] */
    float *const sum_from_state = (float *)(void *)(work + 41216); /* [f: 64, t_key: 32] */
    float *const query_2 = (float *)(void *)(work + 49408); /* [f: 64, t_key: 32] */
    float *const query_4 = (float *)(void *)(work + 57600); /* [d: 64, t_key: 32] */
    float *const query_sum_3 = (float *)(void *)(work + 32896); /* [t_key: 32] */
    float *const query_5 = (float *)(void *)(work + 49408); /* [d: 64, t_key: 32] */
    float *const query_6 = (float *)(void *)(work + 65792); /* [d: 64, j: 32] */
    float *const dk = call->dk ? call->dk + b * call->p.dk.batch + g * call->p.dk.head : NULL;
    const int64_t dk_row = call->p.dk.row;
    float *const query_sum_4 = (float *)(void *)(work + 16384); /* [t_key: 32] */
    float *const query_scale_3 = (float *)(void *)(work + 32896); /* [j: 32] */
    float *const dlog_decay_k = call->dlog_decay_k ? call->dlog_decay_k + b * call->dlog_decay_k_at.batch + g * members
        * call->dlog_decay_k_at.head : NULL;
    const int64_t dlog_decay_k_head = call->dlog_decay_k_at.head;
    float *const query_sum_5 = (float *)(void *)(work + 16384); /* [i: 32] */
    float *const sum_from_state_2 = (float *)(void *)(work + 41216); /* [f: 64, i: 32] */
    float *const query_8 = (float *)(void *)(work + 49408); /* [f: 64, i: 32] */
    float *const score = (float *)(void *)(work + 57600); /* [j: 32, i: 32] */
    float *const weight = (float *)(void *)(work + 61696); /* [j: 32, i: 32] */
    float *const sum = (float *)(void *)(work + 65792); /* [d: 64, i: 32] */
    float *const query_sum_6 = (float *)(void *)(work + 32896); /* [i: 32] */
    float *const dq = call->dq ? call->dq + b * call->p.dq.batch + g * members * call->p.dq.head : NULL;
    const int64_t dq_row = call->p.dq.row;
    const int64_t dq_head = call->p.dq.head;
    float *const score_2 = (float *)(void *)(work + 49408); /* [j: 32, i: 32] */
    float *const row_sum = (float *)(void *)(work + 16384); /* [i: 32] */
    float *const query_sum_7 = (float *)(void *)(work + 32896); /* [i: 32] */
    float *const dlog_decay_q = call->dlog_decay_q ? call->dlog_decay_q + b * call->dlog_decay_q_at.batch + g * members
        * call->dlog_decay_q_at.head : NULL;
    const int64_t dlog_decay_q_row = call->dlog_decay_q_at.row;
    const int64_t dlog_decay_q_head = call->dlog_decay_q_at.head;
    float *const kept_share = (float *)(void *)(work + 16384); /* [f: 64] */
    float *const lost_share = (float *)(void *)(work + 16640); /* [f: 64] */
    float *const k_tile = (float *)(void *)(work + 73984); /* [d: 64, j: 32] */
    float *const log_decay_k_tile = (float *)(void *)(work + 82176); /* [j: 32] */
    float *const log_decay_k_low_tile = (float *)(void *)(work + 82304); /* [j: 32] */
    float *const beta_tile = (float *)(void *)(work + 82432); /* [j: 32] */
    float *const linear_part_1_tile = (float *)(void *)(work + 49408); /* [e: 64, t_key: 32] */
    float *const linear_part_2_tile = (float *)(void *)(work + 65792); /* [d: 64, t_key: 32] */
    float *const linear_part_3_tile = (float *)(void *)(work + 82560); /* [d: 64, j: 32] */
    float *const linear_part_4_tile = (float *)(void *)(work + 90752); /* [t_key: 32] */
    float *const linear_part_5_tile = (float *)(void *)(work + 90880); /* [j: 32] */
    float *const q_tile = (float *)(void *)(work + 91008); /* [d: 64, i: 32] */
    float *const dout_tile = (float *)(void *)(work + 61696); /* [e: 64, i: 32] */
    float *const log_decay_q_tile = (float *)(void *)(work + 90752); /* [i: 32] */
    float *const log_decay_q_low_tile = (float *)(void *)(work + 99200); /* [i: 32] */
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
                /* k_tile = k, with zeros beyond the last row */
                transpose_padded_v4(k + j0 * k_row, k_row, j1 - j0, 64, k_tile, 32, 64);
                /* log_decay_k_tile = log_decay_k, with zeros beyond the last row */
                for (int64_t j = 0; j < round_up(j1 - j0, 16); j++)
                    log_decay_k_tile[j] = j < j1 - j0 ? log_decay_k[(j0 + j)] : 0;
                /* log_decay_k_low_tile = log_decay_k_low, with zeros beyond the last row */
                for (int64_t j = 0; j < round_up(j1 - j0, 16); j++)
                    log_decay_k_low_tile[j] = j < j1 - j0 ? log_decay_k_low[(j0 + j)] : 0;
                if (beta_array_row == 1) {
                    /* beta_tile = beta_array, with zeros beyond the last row */
                    for (int64_t j = 0; j < round_up(j1 - j0, 16); j++)
                        beta_tile[j] = j < j1 - j0 ? beta_array[(j0 + j)] : 0;
                } else {
                    /* beta_tile = beta_array, with zeros beyond the last row */
                    for (int64_t j = 0; j < round_up(j1 - j0, 16); j++)
                        beta_tile[j] = j < j1 - j0 ? beta_array[(j0 + j) * beta_array_row] : 0;
                }
                if (dk) {
                    /* linear_part_3_tile = linear_part_3, with zeros beyond the last row */
                    transpose_padded_v4(linear_part_3 + j0 * linear_part_3_row, linear_part_3_row, j1 - j0, 64,
                        linear_part_3_tile, 32, 64);
                }
                if (dlog_decay_k) {
                    /* linear_part_5_tile = linear_part_5, with zeros beyond the last row */
                    for (int64_t j = 0; j < round_up(j1 - j0, 16); j++)
                        linear_part_5_tile[j] = j < j1 - j0 ? linear_part_5[(j0 + j)] : 0;
                }
                for (int64_t t_key0 = j0, t_key_end = j1; t_key0 < t_key_end; t_key0 += 32) {
                    const int64_t t_key1 = min(t_key0 + 32, t_key_end);
                    if (dk || dlog_decay_k) {
                        /* linear_part_1_tile = linear_part_1, with zeros beyond the last row */
                        transpose_padded_v4(linear_part_1 + t_key0 * linear_part_1_row, linear_part_1_row,
                            t_key1 - t_key0, 64, linear_part_1_tile, 32, 64);
                    }
                    if (dk) {
                        /* linear_part_2_tile = linear_part_2, with zeros beyond the last row */
                        transpose_padded_v4(linear_part_2 + t_key0 * linear_part_2_row, linear_part_2_row,
                            t_key1 - t_key0, 64, linear_part_2_tile, 32, 64);
                    }
                    if (dlog_decay_k) {
                        /* linear_part_4_tile = linear_part_4, with zeros beyond the last row */
                        for (int64_t t_key = 0; t_key < round_up(t_key1 - t_key0, 16); t_key++)
                            linear_part_4_tile[t_key] = t_key < t_key1 - t_key0 ? linear_part_4[(t_key0 + t_key)] : 0;
                    }
                    /* query_sum = 0.0f */
                    for (int64_t j = 0; j < j1 - j0; j += 16) {
                        store_v4(query_sum + j, splat_v4(0.0f));
                    }
                    /* query_sum += k_tile * k_tile */
                    for (int64_t j_first = 0; j_first < j1 - j0; j_first += 32) {
                        vec_v4 query_sum_in[2];
                        UNROLL for (int64_t vector = 0, j = j_first; vector < 2; vector++, j += 16) {
                            query_sum_in[vector] = (vec_v4){0};
                        }
                        for (int64_t d = 0; d < 64; d++) {
                            UNROLL for (int64_t vector = 0, j = j_first; vector < 2; vector++, j += 16) {
                                const vec_v4 k_tile_0 = load_v4(k_tile + d * 32 + j);
                                query_sum_in[vector] += k_tile_0 * k_tile_0;
                            }
                        }
                        UNROLL for (int64_t vector = 0, j = j_first; vector < 2; vector++, j += 16) {
                            store_v4(query_sum + j, load_v4(query_sum + j) + query_sum_in[vector]);
                        }
                    }
                    /* query_features = k_tile * select(query_sum == 0.0f, 0.0f, 1.0f / sqrt(query_sum)) */
                    for (int64_t j = 0; j < j1 - j0; j += 16) {
                        const vec_v4 query_sum_1 = load_v4(query_sum + j);
                        const vec_v4 t_2 = pick_v4(query_sum_1 == 0.0f, splat_v4(0.0f), 1.0f / sqrt_v4(query_sum_1));
                        for (int64_t d = 0; d < 64; d++) {
                            store_v4(query_features + d * 32 + j, load_v4(k_tile + d * 32 + j) * t_2);
                        }
                    }
                    /* query_features_2 = query_features * exp2(((log_decay_chunk - log_decay_k_tile) +
                       (log_decay_chunk_low - log_decay_k_low_tile)) * ... */
                    const float log_decay_chunk_3 = log_decay_chunk[max(min((((j0 / 32) + 1) * 32) - 1, n_k - 1), 0)];
                    const float log_decay_chunk_low_4 = log_decay_chunk_low[max(min((((j0 / 32) + 1) * 32) - 1,
                        n_k - 1), 0)];
                    for (int64_t j = 0; j < j1 - j0; j += 16) {
                        const vec_v4 t_5 = exp2_v4(((log_decay_chunk_3 - load_v4(log_decay_k_tile + j)) +
                            (log_decay_chunk_low_4 - load_v4(log_decay_k_low_tile + j))) * 1.442695f);
                        for (int64_t f = 0; f < 64; f++) {
                            store_v4(query_features_2 + f * 32 + j, load_v4(query_features + f * 32 + j) * t_5);
                        }
                    }
                    /* query_scale = beta_tile */
                    for (int64_t j = 0; j < j1 - j0; j += 16) {
                        store_v4(query_scale + j, load_v4(beta_tile + j));
                    }
                    /* key_features = saved_solution * query_scale */
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        for (int64_t e_first = 0; e_first < 64; e_first += 64) {
                            UNROLL for (int64_t vector = 0, e = e_first; vector < 4; vector++, e += 16) {
                                store_v4(key_features + j * 64 + e, load_v4(saved_solution + (j0 + j) *
                                    saved_solution_row + e) * query_scale[j]);
                            }
                        }
                    }
                    if (dk || dlog_decay_k) {
                        /* linear_part_1_tile = 0.0f - (linear_part_1_tile * query_scale) */
                        for (int64_t t_key = 0; t_key < t_key1 - t_key0; t_key += 16) {
                            const vec_v4 query_scale_6 = load_v4(query_scale + ((t_key0 + t_key) - j0));
                            for (int64_t e = 0; e < 64; e++) {
                                store_v4(linear_part_1_tile + e * 32 + t_key,
                                    0.0f - (load_v4(linear_part_1_tile + e * 32 + t_key) * query_scale_6));
                            }
                        }
                        /* sum_from_state[f][t_key] = sum over e of state * linear_part_1_tile */
                        dot6_v4(round_up(t_key1 - t_key0, 16), state, linear_part_1_tile, sum_from_state);
                    }
                    if (dk) {
                        /* query_2 = sum_from_state * select((lo() / 32) == 0, 1.0f,
                           exp2(((log_decay_k_tile - log_decay_chunk) + (log_decay_k_low_tile - l ... */
                        const int t_7 = (j0 / 32) == 0;
                        const float log_decay_chunk_8 = log_decay_chunk[max(min(j0 - 1, n_k - 1), 0)];
                        const float log_decay_chunk_low_9 = log_decay_chunk_low[max(min(j0 - 1, n_k - 1), 0)];
                        for (int64_t t_key = 0; t_key < t_key1 - t_key0; t_key += 16) {
                            const vec_v4 t_10 = t_7 ? splat_v4(1.0f) : exp2_v4(((load_v4(log_decay_k_tile + ((t_key0 +
                                t_key) - j0)) - log_decay_chunk_8) + (load_v4(log_decay_k_low_tile + ((t_key0 + t_key) -
                                j0)) - log_decay_chunk_low_9)) * 1.442695f);
                            for (int64_t f = 0; f < 64; f++) {
                                store_v4(query_2 + f * 32 + t_key, load_v4(sum_from_state + f * 32 + t_key) * t_10);
                            }
                        }
                        /* query_sum_3 = 0.0f */
                        for (int64_t t_key = 0; t_key < t_key1 - t_key0; t_key += 16) {
                            store_v4(query_sum_3 + t_key, splat_v4(0.0f));
                        }
                        /* linear_part_2_tile = query_2 + linear_part_2_tile;
                           query_4 = linear_part_2_tile * select(query_sum == 0.0f, 0.0f, 1.0f / sqrt(qu ... */
                        for (int64_t t_key = 0; t_key < t_key1 - t_key0; t_key += 16) {
                            const vec_v4 query_sum_13 = load_v4(query_sum + ((t_key0 + t_key) - j0));
                            const mask_v4 t_14 = query_sum_13 == 0.0f;
                            const vec_v4 t_15 = sqrt_v4(query_sum_13);
                            const vec_v4 t_16 = 1.0f / t_15;
                            const vec_v4 t_17 = pick_v4(t_14, splat_v4(0.0f), t_16);
                            const vec_v4 t_18 = pick_v4(t_14, splat_v4(0.0f), (-(t_16 * (0.5f / t_15))) / t_15);
                            vec_v4 query_sum_3_in = (vec_v4){0};
                            for (int64_t d = 0; d < 64; d++) {
                                const vec_v4 linear_part_2_tile_11 = load_v4(linear_part_2_tile + d * 32 + t_key);
                                const vec_v4 linear_part_2_tile_new12 = load_v4(query_2 + d * 32 + t_key) +
                                    linear_part_2_tile_11;
                                store_v4(linear_part_2_tile + d * 32 + t_key, linear_part_2_tile_new12);
                                store_v4(query_4 + d * 32 + t_key, linear_part_2_tile_new12 * t_17);
                                query_sum_3_in += linear_part_2_tile_new12 * (load_v4(k_tile + d * 32 + ((t_key0 +
                                    t_key) - j0)) * t_18);
                            }
                            store_v4(query_sum_3 + t_key, load_v4(query_sum_3 + t_key) + query_sum_3_in);
                        }
                        /* query_5 = query_sum_3 * (k_tile * 2.0f) */
                        for (int64_t t_key = 0; t_key < t_key1 - t_key0; t_key += 16) {
                            const vec_v4 query_sum_3_19 = load_v4(query_sum_3 + t_key);
                            for (int64_t d = 0; d < 64; d++) {
                                store_v4(query_5 + d * 32 + t_key, query_sum_3_19 * (load_v4(k_tile + d * 32 + ((t_key0
                                    + t_key) - j0)) * 2.0f));
                            }
                        }
                        /* query_6 = (query_4 + query_5) + linear_part_3_tile */
                        for (int64_t d = 0; d < 64; d++) {
                            for (int64_t j = 0; j < j1 - j0; j += 16) {
                                store_v4(query_6 + d * 32 + j, (load_v4(query_4 + d * 32 + ((j0 + j) - t_key0)) +
                                    load_v4(query_5 + d * 32 + ((j0 + j) - t_key0))) + load_v4(linear_part_3_tile + d *
                                    32 + j));
                            }
                        }
                        /* dk = query_6, transposed back */
                        transpose_out_v4(query_6, 32, 64, j1 - j0, dk + j0 * dk_row, dk_row, 64);
                    }
                    if (dlog_decay_k) {
                        /* query_sum_4 = 0.0f */
                        for (int64_t t_key = 0; t_key < t_key1 - t_key0; t_key += 16) {
                            store_v4(query_sum_4 + t_key, splat_v4(0.0f));
                        }
                        /* query_sum_4 += sum_from_state * (query_features * select((lo() / 32) == 0, 0.0f,
                           exp2(((log_decay_k_tile - log_decay_chunk) + (l ... */
                        const int t_20 = (j0 / 32) == 0;
                        const float log_decay_chunk_21 = log_decay_chunk[max(min(j0 - 1, n_k - 1), 0)];
                        const float log_decay_chunk_low_22 = log_decay_chunk_low[max(min(j0 - 1, n_k - 1), 0)];
                        for (int64_t t_key = 0; t_key < t_key1 - t_key0; t_key += 16) {
                            const vec_v4 t_23 = t_20 ? splat_v4(0.0f) : exp2_v4(((load_v4(log_decay_k_tile + ((t_key0 +
                                t_key) - j0)) - log_decay_chunk_21) + (load_v4(log_decay_k_low_tile + ((t_key0 + t_key)
                                - j0)) - log_decay_chunk_low_22)) * 1.442695f);
                            vec_v4 query_sum_4_in = (vec_v4){0};
                            for (int64_t f = 0; f < 64; f++) {
                                query_sum_4_in += load_v4(sum_from_state + f * 32 + t_key) * (load_v4(query_features + f
                                    * 32 + ((t_key0 + t_key) - j0)) * t_23);
                            }
                            store_v4(query_sum_4 + t_key, load_v4(query_sum_4 + t_key) + query_sum_4_in);
                        }
                        /* query_sum_4 = query_sum_4 + linear_part_4_tile */
                        for (int64_t t_key = 0; t_key < t_key1 - t_key0; t_key += 16) {
                            store_v4(query_sum_4 + t_key, load_v4(query_sum_4 + t_key) + load_v4(linear_part_4_tile +
                                t_key));
                        }
                        /* query_scale_3 = select(m == 0, query_sum_4 + linear_part_5_tile, 0.0f) */
                        const int t_24 = m == 0;
                        for (int64_t j = 0; j < j1 - j0; j += 16) {
                            store_v4(query_scale_3 + j, t_24 ? load_v4(query_sum_4 + ((j0 + j) - t_key0)) +
                                load_v4(linear_part_5_tile + j) : splat_v4(0.0f));
                        }
                        /* dlog_decay_k = query_scale_3 */
                        for (int64_t j = 0; j < j1 - j0; j++)
                            dlog_decay_k[m * dlog_decay_k_head + (j0 + j)] = query_scale_3[j];
                    }
                    for (int64_t i0 = ((j0 / 32) == 0) ? 0 : max(0, j0 - query_start), i_end = min(n_q,
                        (((j0 / 32) + 1) * 32) - query_start); i0 < i_end; i0 += 32) {
                        const int64_t i1 = min(i0 + 32, i_end);
                        if (dq || dlog_decay_q) {
                            /* q_tile = q, with zeros beyond the last row */
                            transpose_padded_v4(q + m * q_head + i0 * q_row, q_row, i1 - i0, 64, q_tile, 32, 64);
                            /* dout_tile = dout, with zeros beyond the last row */
                            transpose_padded_v4(dout + m * dout_head + i0 * dout_row, dout_row, i1 - i0, 64, dout_tile,
                                32, 64);
                            /* log_decay_q_tile = log_decay_q, with zeros beyond the last row */
                            for (int64_t i = 0; i < round_up(i1 - i0, 16); i++)
                                log_decay_q_tile[i] = i < i1 - i0 ? log_decay_q[m * log_decay_q_head + (i0 + i)] : 0;
                            /* log_decay_q_low_tile = log_decay_q_low, with zeros beyond the last row */
                            for (int64_t i = 0; i < round_up(i1 - i0, 16); i++)
                                log_decay_q_low_tile[i] = i < i1 - i0 ? log_decay_q_low[m * log_decay_q_low_head + (i0 +
                                    i)] : 0;
                            /* query_sum_5 = 0.0f */
                            for (int64_t i = 0; i < i1 - i0; i += 16) {
                                store_v4(query_sum_5 + i, splat_v4(0.0f));
                            }
                            /* sum_from_state_2[f][i] = sum over e of state * dout_tile */
                            dot6_v4(round_up(i1 - i0, 16), state, dout_tile, sum_from_state_2);
                        }
                        if (dq) {
                            /* query_8 = sum_from_state_2 * select((lo() / 32) == 0, 1.0f,
                               exp2(((log_decay_q_tile - log_decay_chunk) + (log_decay_q_low_tile - ... */
                            const int t_25 = (j0 / 32) == 0;
                            const float log_decay_chunk_26 = log_decay_chunk[max(min(j0 - 1, n_k - 1), 0)];
                            const float log_decay_chunk_low_27 = log_decay_chunk_low[max(min(j0 - 1, n_k - 1), 0)];
                            for (int64_t i = 0; i < i1 - i0; i += 16) {
                                const vec_v4 t_28 = t_25 ? splat_v4(1.0f) : exp2_v4(((load_v4(log_decay_q_tile + i) -
                                    log_decay_chunk_26) + (load_v4(log_decay_q_low_tile + i) - log_decay_chunk_low_27))
                                    * 1.442695f);
                                for (int64_t f = 0; f < 64; f++) {
                                    store_v4(query_8 + f * 32 + i, load_v4(sum_from_state_2 + f * 32 + i) * t_28);
                                }
                            }
                        }
                        if (dq || dlog_decay_q) {
                            /* score[j][i] = sum over e of key_features * dout_tile */
                            dot14_v4(round_up(i1 - i0, 16), j1 - j0, key_features, dout_tile, score);
                        }
                        if (dq) {
                            /* weight = score * exp2(((log_decay_q_tile - log_decay_k) + (log_decay_q_low_tile -
                               log_decay_k_low)) * 1.442695f) */
                            for (int64_t i = 0; i < i1 - i0; i += 16) {
                                const vec_v4 log_decay_q_tile_29 = load_v4(log_decay_q_tile + i);
                                const vec_v4 log_decay_q_low_tile_30 = load_v4(log_decay_q_low_tile + i);
                                for (int64_t j = 0; j < j1 - j0; j++) {
                                    store_v4(weight + j * 32 + i, load_v4(score + j * 32 + i) *
                                        exp2_v4(((log_decay_q_tile_29 - log_decay_k[(j0 + j)]) +
                                        (log_decay_q_low_tile_30 - log_decay_k_low[(j0 + j)])) * 1.442695f));
                                }
                            }
                            /* weight = select(j <= (i + query_start), weight, 0.0f) */
                            for (int64_t i = 0; i < i1 - i0; i += 16) {
                                const ints_v4 t_31 = (i0 + i + lane_v4) + query_start;
                                for (int64_t j = 0; j < j1 - j0; j++) {
                                    store_v4(weight + j * 32 + i, pick_v4(__builtin_convertvector((j0 + j) <= t_31,
                                        mask_v4), load_v4(weight + j * 32 + i), splat_v4(0.0f)));
                                }
                            }
                            /* sum[d][i] = sum over j of query_features * weight */
                            if (__builtin_expect(!finite_v4(query_features, 32, 64, j1 - j0),
                                0)) { /* infinity and NaN affect only queries that see them */
                                dot15_v4(round_up(i1 - i0, 16), j1 - j0, query_features, weight, sum);
                                for (int64_t j = 0; j < j1 - j0; j++) {
                                    mask_v4 in_region[2] = {0};
                                    if (finite_v4(query_features + j * 1, 32, 64, 1)) continue;
                                    for (int64_t i = 0; i < i1 - i0; i += 16) {
                                        in_region[i / 16] = __builtin_convertvector((j0 + j) <= ((i0 + i + lane_v4) +
                                            query_start), mask_v4);
                                    }
                                    add_seen_v4(64, sum, 32, query_features + j * 1, 32, weight + j * 32, in_region,
                                        i1 - i0);
                                }
                            } else
                                dot16_v4(round_up(i1 - i0, 16), j1 - j0, query_features, weight, sum);
                        }
                        if (dq || dlog_decay_q) {
                            /* query_sum_5 += q_tile * q_tile; sum = query_8 + sum */
                            for (int64_t i_first = 0; i_first < i1 - i0; i_first += 32) {
                                vec_v4 query_sum_5_in[2];
                                UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += 16) {
                                    query_sum_5_in[vector] = (vec_v4){0};
                                }
                                for (int64_t d = 0; d < 64; d++) {
                                    UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += 16) {
                                        const vec_v4 q_tile_32 = load_v4(q_tile + d * 32 + i);
                                        query_sum_5_in[vector] += q_tile_32 * q_tile_32;
                                        store_v4(sum + d * 32 + i, load_v4(query_8 + d * 32 + i) + load_v4(sum + d * 32
                                            + i));
                                    }
                                }
                                UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += 16) {
                                    store_v4(query_sum_5 + i, load_v4(query_sum_5 + i) + query_sum_5_in[vector]);
                                }
                            }
                        }
                        if (dq) {
                            /* query_sum_6 = 0.0f */
                            for (int64_t i = 0; i < i1 - i0; i += 16) {
                                store_v4(query_sum_6 + i, splat_v4(0.0f));
                            }
                            /* query_sum_6 += sum * ((q_tile * select(query_sum_5 == 0.0f, 0.0f,
                               neg((1.0f / sqrt(query_sum_5)) * (0.5f / sqrt(query_sum_5))) / ... */
                            for (int64_t i = 0; i < i1 - i0; i += 16) {
                                const vec_v4 query_sum_5_33 = load_v4(query_sum_5 + i);
                                const vec_v4 t_34 = sqrt_v4(query_sum_5_33);
                                const vec_v4 t_35 = pick_v4(query_sum_5_33 == 0.0f, splat_v4(0.0f),
                                    (-((1.0f / t_34) * (0.5f / t_34))) / t_34);
                                vec_v4 query_sum_6_in = (vec_v4){0};
                                for (int64_t d = 0; d < 64; d++) {
                                    query_sum_6_in += load_v4(sum + d * 32 + i) * ((load_v4(q_tile + d * 32 + i) * t_35)
                                        * 0.125f);
                                }
                                store_v4(query_sum_6 + i, load_v4(query_sum_6 + i) + query_sum_6_in);
                            }
                            /* sum = (sum * (select(query_sum_5 == 0.0f, 0.0f,
                               1.0f / sqrt(query_sum_5)) * 0.125f)) + (query_sum_6 * (q_tile * 2.0f)) */
                            for (int64_t i = 0; i < i1 - i0; i += 16) {
                                const vec_v4 query_sum_5_36 = load_v4(query_sum_5 + i);
                                const vec_v4 t_37 = pick_v4(query_sum_5_36 == 0.0f, splat_v4(0.0f),
                                    1.0f / sqrt_v4(query_sum_5_36)) * 0.125f;
                                const vec_v4 query_sum_6_38 = load_v4(query_sum_6 + i);
                                for (int64_t d = 0; d < 64; d++) {
                                    store_v4(sum + d * 32 + i, (load_v4(sum + d * 32 + i) * t_37) + (query_sum_6_38 *
                                        (load_v4(q_tile + d * 32 + i) * 2.0f)));
                                }
                            }
                            /* dq = sum, transposed back */
                            transpose_out_v4(sum, 32, 64, i1 - i0, dq + m * dq_head + i0 * dq_row, dq_row, 64);
                        }
                        if (dlog_decay_q) {
                            /* q_tile = (q_tile * select(query_sum_5 == 0.0f, 0.0f,
                               1.0f / sqrt(query_sum_5))) * 0.125f */
                            for (int64_t i = 0; i < i1 - i0; i += 16) {
                                const vec_v4 query_sum_5_39 = load_v4(query_sum_5 + i);
                                const vec_v4 t_40 = pick_v4(query_sum_5_39 == 0.0f, splat_v4(0.0f),
                                    1.0f / sqrt_v4(query_sum_5_39));
                                for (int64_t d = 0; d < 64; d++) {
                                    store_v4(q_tile + d * 32 + i, (load_v4(q_tile + d * 32 + i) * t_40) * 0.125f);
                                }
                            }
                            /* score_2[j][i] = sum over d of query_features * q_tile */
                            dot0_v4(round_up(i1 - i0, 16), j1 - j0, query_features, q_tile, score_2);
                            /* score_2 = score * (score_2 * exp2(((log_decay_q_tile - log_decay_k) +
                               (log_decay_q_low_tile - log_decay_k_low)) * 1.442695f)) */
                            for (int64_t i = 0; i < i1 - i0; i += 16) {
                                const vec_v4 log_decay_q_tile_41 = load_v4(log_decay_q_tile + i);
                                const vec_v4 log_decay_q_low_tile_42 = load_v4(log_decay_q_low_tile + i);
                                for (int64_t j = 0; j < j1 - j0; j++) {
                                    store_v4(score_2 + j * 32 + i, load_v4(score + j * 32 + i) * (load_v4(score_2 + j *
                                        32 + i) * exp2_v4(((log_decay_q_tile_41 - log_decay_k[(j0 + j)]) +
                                        (log_decay_q_low_tile_42 - log_decay_k_low[(j0 + j)])) * 1.442695f)));
                                }
                            }
                            /* row_sum = 0.0f */
                            for (int64_t i = 0; i < i1 - i0; i += 16) {
                                store_v4(row_sum + i, splat_v4(0.0f));
                            }
                            /* score_2 = select(j <= (i + query_start), score_2, 0.0f); row_sum += score_2 */
                            for (int64_t i = 0; i < i1 - i0; i += 16) {
                                const ints_v4 t_43 = (i0 + i + lane_v4) + query_start;
                                vec_v4 row_sum_in = (vec_v4){0};
                                for (int64_t j = 0; j < j1 - j0; j++) {
                                    const vec_v4 score_2_44 = load_v4(score_2 + j * 32 + i);
                                    const vec_v4 score_2_new45 = pick_v4(__builtin_convertvector((j0 + j) <= t_43,
                                        mask_v4), score_2_44, splat_v4(0.0f));
                                    store_v4(score_2 + j * 32 + i, score_2_new45);
                                    row_sum_in += score_2_new45;
                                }
                                store_v4(row_sum + i, load_v4(row_sum + i) + row_sum_in);
                            }
                            /* query_sum_7 = 0.0f */
                            for (int64_t i = 0; i < i1 - i0; i += 16) {
                                store_v4(query_sum_7 + i, splat_v4(0.0f));
                            }
                            /* query_sum_7 += sum_from_state_2 * (q_tile * select((lo() / 32) == 0, 0.0f,
                               exp2(((log_decay_q_tile - log_decay_chunk) + (log_dec ... */
                            const int t_46 = (j0 / 32) == 0;
                            const float log_decay_chunk_47 = log_decay_chunk[max(min(j0 - 1, n_k - 1), 0)];
                            const float log_decay_chunk_low_48 = log_decay_chunk_low[max(min(j0 - 1, n_k - 1), 0)];
                            for (int64_t i = 0; i < i1 - i0; i += 16) {
                                const vec_v4 t_49 = t_46 ? splat_v4(0.0f) : exp2_v4(((load_v4(log_decay_q_tile + i) -
                                    log_decay_chunk_47) + (load_v4(log_decay_q_low_tile + i) - log_decay_chunk_low_48))
                                    * 1.442695f);
                                vec_v4 query_sum_7_in = (vec_v4){0};
                                for (int64_t f = 0; f < 64; f++) {
                                    query_sum_7_in += load_v4(sum_from_state_2 + f * 32 + i) * (load_v4(q_tile + f * 32
                                        + i) * t_49);
                                }
                                store_v4(query_sum_7 + i, load_v4(query_sum_7 + i) + query_sum_7_in);
                            }
                            /* row_sum = row_sum + query_sum_7 */
                            for (int64_t i = 0; i < i1 - i0; i += 16) {
                                store_v4(row_sum + i, load_v4(row_sum + i) + load_v4(query_sum_7 + i));
                            }
                            /* dlog_decay_q = row_sum */
                            for (int64_t i = 0; i < i1 - i0; i++)
                                dlog_decay_q[m * dlog_decay_q_head + (i0 + i) * dlog_decay_q_row] = row_sum[i];
                        }
                    }
                    /* kept_share = select(exp2(((log_decay_chunk - log_decay_chunk) + (log_decay_chunk_low -
                       log_decay_chunk_low)) * 1.442695f) < 0.5f ... */
                    const float t_50 = (log_decay_chunk[max(min((((j0 / 32) + 1) * 32) - 1, n_k - 1),
                        0)] - log_decay_chunk[max(min(j0 - 1, n_k - 1), 0)]) + (log_decay_chunk_low[max(min((((j0 / 32)
                        + 1) * 32) - 1, n_k - 1), 0)] - log_decay_chunk_low[max(min(j0 - 1, n_k - 1), 0)]);
                    const float t_51 = exp2f(t_50 * 1.442695f);
                    const int t_52 = t_51 < 0.5f;
                    const float t_53 = t_52 ? t_51 : 1.0f;
                    const float t_54 = t_52 ? 0.0f : (-expm1f(t_50));
                    for (int64_t f = 0; f < 64; f += 16) {
                        store_v4(kept_share + f, splat_v4(t_53));
                        store_v4(lost_share + f, splat_v4(t_54));
                    }
                    /* state[f][e] = state * kept_share - state * lost_share + sum over j of query_features_2 *
                       key_features */
                    dot5_v4(j1 - j0, query_features_2, key_features, state, kept_share, lost_share);
                }
            }
        }
    }
}

/* Computes task number `task`: one tile of keys of one head. `work` is this thread's workspace. */
TARGET_v4 static void gated_deltanet_linear_terms_dgate_v4(const struct call *call, int64_t task, unsigned char *work)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_k = call->p.n_k;
    const int64_t tiles = (n_k + 64 - 1) / 64, j0 = (tiles - 1 - task % tiles) * 64,
        j1 = min(j0 + 64, n_k);
    const int64_t m = task / tiles % members;
    const int64_t g = task / tiles / members % kv_heads;
    const int64_t b = task / tiles / members / kv_heads;
    const float *const gate_array = call->gate_array + b * call->gate_array_at.batch + (g * members + m) *
        call->gate_array_at.head;
    const int64_t gate_array_row = call->gate_array_at.row;
    const float *const dlog_decay = call->dlog_decay + b * call->dlog_decay_at.batch + (g * members + m) *
        call->dlog_decay_at.head;
    float *const dgate_array = call->dgate_array ? call->dgate_array + ((b * kv_heads + g) * members + m) * n_k : NULL;
    float *const gate_tile = (float *)(void *)(work + 0); /* [j: 64] */
    float *const dlog_decay_tile = (float *)(void *)(work + 256); /* [j: 64] */
    if (gate_array_row == 1) {
        /* gate_tile = gate_array, with zeros beyond the last row */
        for (int64_t j = 0; j < round_up(j1 - j0, 16); j++)
            gate_tile[j] = j < j1 - j0 ? gate_array[(j0 + j)] : 0;
    } else {
        /* gate_tile = gate_array, with zeros beyond the last row */
        for (int64_t j = 0; j < round_up(j1 - j0, 16); j++)
            gate_tile[j] = j < j1 - j0 ? gate_array[(j0 + j) * gate_array_row] : 0;
    }
    /* dlog_decay_tile = dlog_decay, with zeros beyond the last row */
    for (int64_t j = 0; j < round_up(j1 - j0, 16); j++)
        dlog_decay_tile[j] = j < j1 - j0 ? dlog_decay[(j0 + j)] : 0;
    /* gate_tile = dlog_decay_tile * select(gate_tile < -1e+04f, 0.0f, 1.0f) */
    for (int64_t j = 0; j < j1 - j0; j += 16) {
        store_v4(gate_tile + j, load_v4(dlog_decay_tile + j) * pick_v4(load_v4(gate_tile + j) < (-1e+04f),
            splat_v4(0.0f), splat_v4(1.0f)));
    }
    if (dgate_array) {
        /* dgate_array = gate_tile */
        for (int64_t j = 0; j < j1 - j0; j++)
            dgate_array[(j0 + j)] = gate_tile[j];
    }
}

/* Computes task number `task`: one tile of queries of one head. `work` is this thread's workspace. */
TARGET_v4 static void gated_deltanet_terms_v4(const struct call *call, int64_t task, unsigned char *work)
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
    float *const result = (float *)(void *)(work + 0); /* [i: 64] */
    float *const log_decay_k = call->log_decay_k ? call->log_decay_k + b * call->log_decay_k_at.batch + (g * members +
        m) * call->log_decay_k_at.head : NULL;
    const int64_t log_decay_k_row = call->log_decay_k_at.row;
    float *const gate_at = (float *)(void *)(work + 256); /* [i: 64] */
    /* gate_at = gate_array, at computed subscripts */
    for (int64_t i = 0; i < i1 - i0; i++) gate_at[i] = gate_array[((i0 + i) + n_k - n_q) * gate_array_row];
    for (int64_t i = i1 - i0; i < round_up(i1 - i0, 16); i++) gate_at[i] = 0;
    /* result = max(gate_at, -1e+04f) */
    for (int64_t i = 0; i < i1 - i0; i += 16) {
        store_v4(result + i, max_v4(load_v4(gate_at + i), splat_v4(-1e+04f)));
    }
    if (log_decay_k) {
        /* log_decay_k = result */
        for (int64_t i = 0; i < i1 - i0; i++)
            log_decay_k[(i0 + i) * log_decay_k_row] = result[i];
    }
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

TARGET_v3 INLINE vec_v3 sqrt_v3(vec_v3 x)
{
    vec_v3 y;
    __asm__("vsqrtps %1, %0" : "=v"(y) : "v"(x));
    return y;
}

/* Transposes 8 vectors in place. Each step swaps one bit of the row and column numbers. */
TARGET_v3 INLINE void exchange_v3(vec_v3 *t)
{
    UNROLL for (int r = 0; r < 8; r++)
        if (!(r & 1)) {
            const vec_v3 a = t[r], b = t[r + 1];
            t[r] = __builtin_shufflevector(a, b, 0, 8, 2, 10, 4, 12, 6, 14);
            t[r + 1] = __builtin_shufflevector(a, b, 1, 9, 3, 11, 5, 13, 7, 15);
        }
    UNROLL for (int r = 0; r < 8; r++)
        if (!(r & 2)) {
            const vec_v3 a = t[r], b = t[r + 2];
            t[r] = __builtin_shufflevector(a, b, 0, 1, 8, 9, 4, 5, 12, 13);
            t[r + 2] = __builtin_shufflevector(a, b, 2, 3, 10, 11, 6, 7, 14, 15);
        }
    UNROLL for (int r = 0; r < 8; r++)
        if (!(r & 4)) {
            const vec_v3 a = t[r], b = t[r + 4];
            t[r] = __builtin_shufflevector(a, b, 0, 1, 2, 3, 8, 9, 10, 11);
            t[r + 4] = __builtin_shufflevector(a, b, 4, 5, 6, 7, 12, 13, 14, 15);
        }
}

/* Transposes: to[y][x] = from[x][y]. It works in squares of 8 rows and columns, so that cache lines are written at
   once. Rows are prefetched `ahead` rows early: rows of `to` if `out`, otherwise rows of `from`. */
TARGET_v3 INLINE void transpose_some_v3(const float *from, int64_t from_row, int64_t rows, int64_t columns, float *to,
    int64_t to_row, int64_t ahead, const int out)
{
    const int64_t whole = rows - rows % 8, deep = columns - columns % 8;
    for (int64_t k = 0; k < whole / 8 * (deep / 8); k++) {
        const int64_t row = k / (deep / 8) * 8, column = k % (deep / 8) * 8;
        vec_v3 t[8];
        if (out)
            UNROLL for (int r = 0; r < 8; r++) __builtin_prefetch(to + (column + r + ahead) * to_row + row, 1, 2);
        else
            UNROLL for (int r = 0; r < 8; r++)
                __builtin_prefetch(from + (row + r + ahead) * from_row + column, 0, 2);
        UNROLL for (int r = 0; r < 8; r++) t[r] = load_v3(from + (row + r) * from_row + column);
        exchange_v3(t);
        UNROLL for (int r = 0; r < 8; r++) store_v3(to + (column + r) * to_row + row, t[r]);
    }
    for (int64_t column = deep; column < columns; column++)
        for (int64_t row = 0; row < whole; row++) to[column * to_row + row] = from[row * from_row + column];
    for (int64_t row = whole; row < rows; row++)
        for (int64_t column = 0; column < columns; column++)
            to[column * to_row + row] = from[row * from_row + column];
}

/* Like transpose_v3, but to[y][x] is 0 from x = rows on, up to a whole vector. Few rows then need no strided stores. */
TARGET_v3 APART void transpose_padded_v3(const float *from, int64_t from_row, int64_t rows, int64_t columns, float *to,
    int64_t to_row, int64_t ahead)
{
    const int64_t whole = rows - rows % 8, deep = columns - columns % 8, left = rows - whole;
    transpose_some_v3(from, from_row, whole, columns, to, to_row, ahead, 0);
    from += whole * from_row;
    to += whole;
    for (int64_t column = 0; column < deep && left > 1; column += 8) {
        vec_v3 t[8];
        UNROLL for (int r = 0; r < 8; r++) t[r] = r < left ? load_v3(from + r * from_row + column) : (vec_v3){0};
        exchange_v3(t);
        UNROLL for (int r = 0; r < 8; r++) store_v3(to + (column + r) * to_row, t[r]);
    }
    for (int64_t column = left > 1 ? deep : 0; column < columns && left > 0; column++) {
        store_v3(to + column * to_row, (vec_v3){from[column]});
        for (int64_t row = 1; row < left; row++) to[column * to_row + row] = from[row * from_row + column];
    }
}

TARGET_v3 APART void transpose_out_v3(const float *from, int64_t from_row, int64_t rows, int64_t columns, float *to,
    int64_t to_row, int64_t ahead)
{
    transpose_some_v3(from, from_row, rows, columns, to, to_row, ahead, 1);
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

/* sum[r][x] += values[r * step] * weights[x], but only for values that are infinite or NaN, and for lanes x in
   `seen`. */
TARGET_v3 APART void add_seen_v3(int64_t rows, float *sum, int64_t sum_row, const float *values, int64_t step,
    const float *weights, const mask_v3 *seen, int64_t lanes)
{
    for (int64_t r = 0; r < rows; r++, sum += sum_row, values += step)
        for (int64_t x = 0; x < lanes && !finite_v3(values, 0, 1, 1); x += 8)
            store_v3(sum + x, pick_v3(seen[x / 8], load_v3(sum + x) + *values * load_v3(weights + x),
                load_v3(sum + x)));
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

/* Like dot_v3, but a is in memory, so its rows are prefetched 64 rows early. For each row of a, `width` elements
   of a row of `next` are prefetched too, which a later product reads, and `result_width` elements of a row of `result`,
   which the task writes at its end. `result` has `results` rows. */
TARGET_v3 INLINE void dot_ahead_v3(const int vectors, const int64_t lanes, int64_t rows, const int tail, int64_t steps,
    const int64_t span, const float *a, int64_t a_row, int64_t a_step, const float *b, int64_t b_step, float *c,
    int64_t c_row, const int update, const float *factor, const float *next, int64_t next_row,
    const int64_t width, const float *result, int64_t result_row, const int64_t result_width, int64_t results)
{
    const int64_t whole = rows - rows % 6, line = 64 / (int64_t)sizeof *a,
        in_blocks = lanes_in_blocks_v3(vectors, lanes);
    int64_t x = 0;
    for (; x < in_blocks; x += vectors * 8) {
        const float *const f = factor ? factor + x : NULL;
        for (int64_t r = 0; r < whole; r += 6) {
            for (int64_t k = r; k < r + 6 && x == 0; k++) {
                for (int64_t t = 0; t < steps; t += line) __builtin_prefetch(a + (k + 64) * a_row + t, 0, 2);
                for (int64_t t = 0; t < width; t += line) __builtin_prefetch(next + k * next_row + t, 0, 2);
                for (int64_t t = 0; t < result_width && k < results; t += line)
                    __builtin_prefetch(result + k * result_row + t, 1, 2);
            }
            parts_v3(6, vectors, steps, span, a + r * a_row, a_row, a_step, b + x, b_step, c + r * c_row + x, c_row,
                update, f);
        }
        dot_v3(vectors, vectors * 8, rows % 6, tail, steps, span, a + whole * a_row, a_row, a_step, b + x, b_step,
            c + whole * c_row + x, c_row, update, f);
    }
    if (x < lanes)
        narrow_v3(lanes - x, rows, steps, span, a, a_row, a_step, b + x, b_step, c + x, c_row, update,
            factor ? factor + x : NULL);
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

/* Like dot_v3, but uses 0 for infinity and NaN in a. It copies one row of a at a time. */
TARGET_v3 INLINE void dot_finite_v3(const int vectors, const int64_t lanes, int64_t rows, const int tail, int64_t steps,
    const int64_t span, const float *a, int64_t a_row, int64_t a_step, const float *b, int64_t b_step, float *c,
        int64_t c_row,
    const int update, const float *factor)
{
    float row[32];
    (void)tail;
    for (int64_t r = 0; r < rows; r++, a += a_row) {
        for (int64_t t = 0; t < steps; t++) {
            row[t] = finite_v3(a + t * a_step, 0, 1, 1) ? a[t * a_step] : 0;
        }
        dot_v3(vectors, lanes, 1, 1, steps, span, row, 0, 1, b, b_step, c + r * c_row, c_row,
            update, factor);
    }
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

/* The functions for the products below. Each calls dot_v3 or a similar function with constants. */
TARGET_v3 APART void dot0_v3(int64_t lanes, int64_t rows, const float *a, const float *b, float *c)
{
    dot_v3(/*vectors=*/2, lanes, rows, /*tail=*/-1, /*steps=*/64, /*span=*/32, a, /*a_row=*/1, /*a_step=*/32, b,
        /*b_step=*/32, c, /*c_row=*/32, /*update=*/0, /*factor=*/NULL);
}
TARGET_v3 APART void dot1_v3(int64_t rows, const float *a, const float *b, float *c)
{
    dot_v3(/*vectors=*/2, /*lanes=*/64, rows, /*tail=*/-1, /*steps=*/64, /*span=*/32, a, /*a_row=*/1, /*a_step=*/32, b,
        /*b_step=*/64, c, /*c_row=*/64, /*update=*/0, /*factor=*/NULL);
}
TARGET_v3 APART void dot2_v3(int64_t rows, const float *w, const float *rate, const float *x, float *u)
{
    solve_v3(/*lanes=*/64, /*first=*/0, rows, w, /*w_row=*/1, /*w_step=*/32, rate, /*rate_step=*/1, x, /*x_row=*/64, u,
        /*u_row=*/64);
}
TARGET_v3 APART void dot3_v3(int64_t rows, int64_t steps, const float *a, const float *b, float *c)
{
    dot_finite_lanes_v3(/*fetched=*/0, /*vectors=*/2, /*lanes=*/64, rows, /*tail=*/-1, steps, /*span=*/192, a,
        /*a_row=*/1, /*a_step=*/32, b, /*b_step=*/64, c, /*c_row=*/64, /*update=*/0, /*factor=*/NULL);
}
TARGET_v3 APART void dot4_v3(int64_t rows, int64_t steps, const float *a, const float *b, float *c, int64_t visible)
{
    dot_until_v3(/*vectors=*/2, /*lanes=*/64, rows, /*tail=*/-1, steps, /*span=*/192, a, /*a_row=*/1, /*a_step=*/32, b,
        /*b_step=*/64, c, /*c_row=*/64, visible);
}
TARGET_v3 APART void dot5_v3(int64_t steps, const float *a, const float *b, float *c, const float *kept,
    const float *lost)
{
    dot_kept_v3(/*vectors=*/2, /*lanes=*/64, /*rows=*/64, steps, a, /*a_row=*/32, /*a_step=*/1, b, /*b_step=*/64, c,
        /*c_row=*/64, kept, lost);
}
TARGET_v3 APART void dot6_v3(int64_t lanes, const float *a, const float *b, float *c)
{
    dot_v3(/*vectors=*/2, lanes, /*rows=*/64, /*tail=*/4, /*steps=*/64, /*span=*/32, a, /*a_row=*/64, /*a_step=*/1, b,
        /*b_step=*/32, c, /*c_row=*/32, /*update=*/0, /*factor=*/NULL);
}
TARGET_v3 APART void dot7_v3(int64_t lanes, int64_t rows, const float *a, int64_t a_row, const float *b, float *c)
{
    dot_ahead_v3(/*vectors=*/2, lanes, rows, /*tail=*/-1, /*steps=*/64, /*span=*/32, a, a_row, /*a_step=*/1, b,
        /*b_step=*/32, c, /*c_row=*/32, /*update=*/0, /*factor=*/NULL, /*next=*/NULL, /*next_row=*/0, /*width=*/0,
        /*result=*/NULL, /*result_row=*/0, /*result_width=*/0, /*results=*/0);
}
TARGET_v3 APART void dot8_v3(int64_t rows, int64_t steps, const float *a, const float *b, int64_t b_step, float *c)
{
    dot_finite_lanes_v3(/*fetched=*/0, /*vectors=*/2, /*lanes=*/64, rows, /*tail=*/-1, steps, /*span=*/192, a,
        /*a_row=*/32, /*a_step=*/1, b, b_step, c, /*c_row=*/64, /*update=*/1, /*factor=*/NULL);
}
TARGET_v3 APART void dot9_v3(int64_t rows, int64_t steps, const float *a, const float *b, int64_t b_step, float *c)
{
    dot_v3(/*vectors=*/2, /*lanes=*/64, rows, /*tail=*/-1, steps, /*span=*/192, a, /*a_row=*/32, /*a_step=*/1, b,
        b_step, c, /*c_row=*/64, /*update=*/1, /*factor=*/NULL);
}
TARGET_v3 APART void dot10_v3(int64_t steps, const float *a, const float *b, int64_t b_step, float *c)
{
    dot_v3(/*vectors=*/2, /*lanes=*/64, /*rows=*/64, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/32, /*a_step=*/1, b,
        b_step, c, /*c_row=*/64, /*update=*/1, /*factor=*/NULL);
}
TARGET_v3 APART void dot11_v3(int64_t lanes, int64_t steps, const float *a, const float *b, float *c)
{
    dot_finite_v3(/*vectors=*/2, lanes, /*rows=*/64, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/32, /*a_step=*/1, b,
        /*b_step=*/32, c, /*c_row=*/32, /*update=*/1, /*factor=*/NULL);
}
TARGET_v3 APART void dot12_v3(int64_t lanes, int64_t steps, const float *a, const float *b, float *c)
{
    dot_v3(/*vectors=*/2, lanes, /*rows=*/64, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/32, /*a_step=*/1, b,
        /*b_step=*/32, c, /*c_row=*/32, /*update=*/1, /*factor=*/NULL);
}
TARGET_v3 APART void dot13_v3(int64_t rows, const float *w, int64_t w_row, int64_t w_step, const float *rate,
    int64_t rate_step, const float *x, int64_t x_row, float *u, int64_t u_row)
{
    solve_v3(/*lanes=*/64, /*first=*/0, rows, w, w_row, w_step, rate, rate_step, x, x_row, u, u_row);
}
TARGET_v3 APART void dot14_v3(int64_t lanes, int64_t rows, const float *a, const float *b, float *c)
{
    dot_v3(/*vectors=*/2, lanes, rows, /*tail=*/-1, /*steps=*/64, /*span=*/32, a, /*a_row=*/64, /*a_step=*/1, b,
        /*b_step=*/32, c, /*c_row=*/32, /*update=*/0, /*factor=*/NULL);
}
TARGET_v3 APART void dot15_v3(int64_t lanes, int64_t steps, const float *a, const float *b, float *c)
{
    dot_finite_v3(/*vectors=*/2, lanes, /*rows=*/64, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/32, /*a_step=*/1, b,
        /*b_step=*/32, c, /*c_row=*/32, /*update=*/0, /*factor=*/NULL);
}
TARGET_v3 APART void dot16_v3(int64_t lanes, int64_t steps, const float *a, const float *b, float *c)
{
    dot_v3(/*vectors=*/2, lanes, /*rows=*/64, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/32, /*a_step=*/1, b,
        /*b_step=*/32, c, /*c_row=*/32, /*update=*/0, /*factor=*/NULL);
}
TARGET_v3 APART void dot17_v3(int64_t steps, const float *a, const float *b, float *c)
{
    dot_v3(/*vectors=*/2, /*lanes=*/64, /*rows=*/64, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/32, /*a_step=*/1, b,
        /*b_step=*/64, c, /*c_row=*/64, /*update=*/1, /*factor=*/NULL);
}

/* Computes task number `task`: one tile of queries of one head. `work` is this thread's workspace. */
TARGET_v3 static void gated_deltanet_linear_v3(const struct call *call, int64_t task, unsigned char *work)
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
    const float *const log_decay_q_low = call->log_decay_q_low + b * call->log_decay_q_low_at.batch + g * members *
        call->log_decay_q_low_at.head;
    const int64_t log_decay_q_low_head = call->log_decay_q_low_at.head;
    const float *const log_decay_q = call->log_decay_q + b * call->log_decay_q_at.batch + g * members *
        call->log_decay_q_at.head;
    const int64_t log_decay_q_head = call->log_decay_q_at.head;
    const float *const log_decay_k_low = call->log_decay_k_low + b * call->log_decay_k_low_at.batch + g * members *
        call->log_decay_k_low_at.head;
    const float *const log_decay_k = call->log_decay_k + b * call->log_decay_k_at.batch + g * members *
        call->log_decay_k_at.head;
    const float *const log_decay_chunk_low = call->log_decay_chunk_low + b * call->log_decay_chunk_low_at.batch + g *
        members * call->log_decay_chunk_low_at.head;
    const float *const log_decay_chunk = call->log_decay_chunk + b * call->log_decay_chunk_at.batch + g * members *
        call->log_decay_chunk_at.head;
    const float *const beta_array = call->beta_array + b * call->beta_array_at.batch + g * members *
        call->beta_array_at.head;
    const int64_t beta_array_row = call->beta_array_at.row;
    float *const state = (float *)(void *)(work + 0); /* [f: 64, e: 64] */
    float *const query_sum = (float *)(void *)(work + 16384); /* [j: 32] */
    float *const query_features = (float *)(void *)(work + 16512); /* [d: 64, j: 32] */
    float *const score = (float *)(void *)(work + 24704); /* [j: 32, t_key: 32] */
    float *const query = (float *)(void *)(work + 28800); /* [f: 64, t_key: 32] */
    float *const query_scale = (float *)(void *)(work + 16384); /* [j: 32] */
    float *const query_scale_2 = (float *)(void *)(work + 36992); /* [j: 32] */
    float *const from_state = (float *)(void *)(work + 37120); /* [t_key: 32, e: 64] */
    float *const corrected = (float *)(void *)(work + 28800); /* [j: 32, e: 64] */
    float *const saved_solution = call->saved_solution ? call->saved_solution + b * call->saved_solution_at.batch + g *
        call->saved_solution_at.head : NULL;
    const int64_t saved_solution_row = call->saved_solution_at.row;
    float *const query_features_3 = (float *)(void *)(work + 36992); /* [f: 64, j: 32] */
    float *const query_sum_3 = (float *)(void *)(work + 24704); /* [i: 32] */
    float *const score_2 = (float *)(void *)(work + 24704); /* [j: 32, i: 32] */
    float *const query_2 = (float *)(void *)(work + 45184); /* [f: 64, i: 32] */
    float *const sum_from_state = (float *)(void *)(work + 53376); /* [i: 32, e: 64] */
    float *const sum = (float *)(void *)(work + 45184); /* [i: 32, e: 64] */
    float *const out = call->out + b * call->p.out.batch + g * members * call->p.out.head;
    const int64_t out_row = call->p.out.row;
    const int64_t out_head = call->p.out.head;
    float *const kept_share = (float *)(void *)(work + 16384); /* [f: 64] */
    float *const lost_share = (float *)(void *)(work + 16640); /* [f: 64] */
    float *const k_tile = (float *)(void *)(work + 61568); /* [d: 64, j: 32] */
    float *const beta_tile = (float *)(void *)(work + 69760); /* [j: 32] */
    float *const log_decay_k_tile_2 = (float *)(void *)(work + 69888); /* [j: 32] */
    float *const log_decay_k_low_tile_2 = (float *)(void *)(work + 70016); /* [j: 32] */
    float *const q_tile = (float *)(void *)(work + 53376); /* [d: 64, i: 32] */
    float *const log_decay_q_tile = (float *)(void *)(work + 70144); /* [i: 32] */
    float *const log_decay_q_low_tile = (float *)(void *)(work + 70272); /* [i: 32] */
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
                /* k_tile = k, with zeros beyond the last row */
                transpose_padded_v3(k + j0 * k_row, k_row, j1 - j0, 64, k_tile, 32, 64);
                if (beta_array_row == 1) {
                    /* beta_tile = beta_array, with zeros beyond the last row */
                    for (int64_t j = 0; j < round_up(j1 - j0, 8); j++)
                        beta_tile[j] = j < j1 - j0 ? beta_array[(j0 + j)] : 0;
                } else {
                    /* beta_tile = beta_array, with zeros beyond the last row */
                    for (int64_t j = 0; j < round_up(j1 - j0, 8); j++)
                        beta_tile[j] = j < j1 - j0 ? beta_array[(j0 + j) * beta_array_row] : 0;
                }
                /* log_decay_k_tile_2 = log_decay_k, with zeros beyond the last row */
                for (int64_t j = 0; j < round_up(j1 - j0, 8); j++)
                    log_decay_k_tile_2[j] = j < j1 - j0 ? log_decay_k[(j0 + j)] : 0;
                /* log_decay_k_low_tile_2 = log_decay_k_low, with zeros beyond the last row */
                for (int64_t j = 0; j < round_up(j1 - j0, 8); j++)
                    log_decay_k_low_tile_2[j] = j < j1 - j0 ? log_decay_k_low[(j0 + j)] : 0;
                for (int64_t t_key0 = j0, t_key_end = j1; t_key0 < t_key_end; t_key0 += 32) {
                    const int64_t t_key1 = min(t_key0 + 32, t_key_end);
                    /* query_sum = 0.0f */
                    for (int64_t j = 0; j < j1 - j0; j += 8) {
                        store_v3(query_sum + j, splat_v3(0.0f));
                    }
                    /* query_sum += k_tile * k_tile */
                    for (int64_t j_first = 0; j_first < j1 - j0; j_first += 16) {
                        vec_v3 query_sum_in[2];
                        UNROLL for (int64_t vector = 0, j = j_first; vector < 2; vector++, j += 8) {
                            query_sum_in[vector] = (vec_v3){0};
                        }
                        for (int64_t d = 0; d < 64; d++) {
                            UNROLL for (int64_t vector = 0, j = j_first; vector < 2; vector++, j += 8) {
                                const vec_v3 k_tile_0 = load_v3(k_tile + d * 32 + j);
                                query_sum_in[vector] += k_tile_0 * k_tile_0;
                            }
                        }
                        UNROLL for (int64_t vector = 0, j = j_first; vector < 2; vector++, j += 8) {
                            store_v3(query_sum + j, load_v3(query_sum + j) + query_sum_in[vector]);
                        }
                    }
                    /* query_features = k_tile * select(query_sum == 0.0f, 0.0f, 1.0f / sqrt(query_sum)) */
                    for (int64_t j = 0; j < j1 - j0; j += 8) {
                        const vec_v3 query_sum_1 = load_v3(query_sum + j);
                        const vec_v3 t_2 = pick_v3(query_sum_1 == 0.0f, splat_v3(0.0f), 1.0f / sqrt_v3(query_sum_1));
                        for (int64_t d = 0; d < 64; d++) {
                            store_v3(query_features + d * 32 + j, load_v3(k_tile + d * 32 + j) * t_2);
                        }
                    }
                    /* score[j][t_key] = sum over d of query_features * query_features */
                    dot0_v3(round_up(t_key1 - t_key0, 8), j1 - j0, query_features, query_features, score);
                    /* query = query_features * select((lo() / 32) == 0, 1.0f,
                       exp2(((log_decay_k_tile_2 - log_decay_chunk) + (log_decay_k_low_tile_2 - ... */
                    const int t_3 = (j0 / 32) == 0;
                    const float log_decay_chunk_4 = log_decay_chunk[max(min(j0 - 1, n_k - 1), 0)];
                    const float log_decay_chunk_low_5 = log_decay_chunk_low[max(min(j0 - 1, n_k - 1), 0)];
                    for (int64_t t_key = 0; t_key < t_key1 - t_key0; t_key += 8) {
                        const vec_v3 t_6 = t_3 ? splat_v3(1.0f) : exp2_v3(((load_v3(log_decay_k_tile_2 + ((t_key0 +
                            t_key) - j0)) - log_decay_chunk_4) + (load_v3(log_decay_k_low_tile_2 + ((t_key0 + t_key) -
                            j0)) - log_decay_chunk_low_5)) * 1.442695f);
                        for (int64_t f = 0; f < 64; f++) {
                            store_v3(query + f * 32 + t_key, load_v3(query_features + f * 32 + ((t_key0 + t_key) - j0))
                                * t_6);
                        }
                    }
                    /* query_scale = beta_tile */
                    for (int64_t j = 0; j < j1 - j0; j += 8) {
                        store_v3(query_scale + j, load_v3(beta_tile + j));
                    }
                    /* score = (score * exp2(((log_decay_k_tile_2 - log_decay_k) + (log_decay_k_low_tile_2 -
                       log_decay_k_low)) * 1.442695f)) * query_scale */
                    for (int64_t t_key = 0; t_key < t_key1 - t_key0; t_key += 8) {
                        const vec_v3 log_decay_k_tile_2_7 = load_v3(log_decay_k_tile_2 + ((t_key0 + t_key) - j0));
                        const vec_v3 log_decay_k_low_tile_2_8 = load_v3(log_decay_k_low_tile_2 + ((t_key0 + t_key) -
                            j0));
                        for (int64_t j = 0; j < j1 - j0; j++) {
                            store_v3(score + j * 32 + t_key, (load_v3(score + j * 32 + t_key) *
                                exp2_v3(((log_decay_k_tile_2_7 - log_decay_k[(j0 + j)]) + (log_decay_k_low_tile_2_8 -
                                log_decay_k_low[(j0 + j)])) * 1.442695f)) * query_scale[j]);
                        }
                    }
                    /* query_scale_2 = 1.0f */
                    for (int64_t j = 0; j < j1 - j0; j += 8) {
                        store_v3(query_scale_2 + j, splat_v3(1.0f));
                    }
                    /* from_state[t_key][e] = sum over f of query * state */
                    dot1_v3(t_key1 - t_key0, query, state, from_state);
                    /* from_state = v - from_state */
                    for (int64_t t_key = 0; t_key < t_key1 - t_key0; t_key++) {
                        for (int64_t e_first = 0; e_first < 64; e_first += 16) {
                            UNROLL for (int64_t vector = 0, e = e_first; vector < 2; vector++, e += 8) {
                                store_v3(from_state + t_key * 64 + e, load_v3(v + (t_key0 + t_key) * v_row + e) -
                                    load_v3(from_state + t_key * 64 + e));
                            }
                        }
                    }
                    /* corrected[t_key][e] = query_scale_2[t_key] * (from_state[t_key][e] - sum over j < t_key of score
                       * corrected[j][e]) */
                    dot2_v3(t_key1 - t_key0, score, query_scale_2, from_state, corrected);
                    if (saved_solution) {
                        /* saved_solution = corrected */
                        for (int64_t j = 0; j < j1 - j0; j++)
                            for (int64_t e = 0; e < 64; e++)
                                saved_solution[(j0 + j) * saved_solution_row + e] = corrected[j * 64 + e];
                    }
                    /* query_features_3 = (query_features * exp2(((log_decay_chunk - log_decay_k_tile_2) +
                       (log_decay_chunk_low - log_decay_k_low_tile_ ... */
                    const float log_decay_chunk_9 = log_decay_chunk[max(min((((j0 / 32) + 1) * 32) - 1, n_k - 1), 0)];
                    const float log_decay_chunk_low_10 = log_decay_chunk_low[max(min((((j0 / 32) + 1) * 32) - 1,
                        n_k - 1), 0)];
                    for (int64_t j = 0; j < j1 - j0; j += 8) {
                        const vec_v3 t_11 = exp2_v3(((log_decay_chunk_9 - load_v3(log_decay_k_tile_2 + j)) +
                            (log_decay_chunk_low_10 - load_v3(log_decay_k_low_tile_2 + j))) * 1.442695f);
                        const vec_v3 query_scale_12 = load_v3(query_scale + j);
                        for (int64_t f = 0; f < 64; f++) {
                            store_v3(query_features_3 + f * 32 + j, (load_v3(query_features + f * 32 + j) * t_11) *
                                query_scale_12);
                        }
                    }
                    for (int64_t i0 = ((j0 / 32) == 0) ? 0 : max(0, j0 - query_start), i_end = min(n_q,
                        (((j0 / 32) + 1) * 32) - query_start); i0 < i_end; i0 += 32) {
                        const int64_t i1 = min(i0 + 32, i_end);
                        /* q_tile = q, with zeros beyond the last row */
                        transpose_padded_v3(q + m * q_head + i0 * q_row, q_row, i1 - i0, 64, q_tile, 32, 64);
                        /* log_decay_q_tile = log_decay_q, with zeros beyond the last row */
                        for (int64_t i = 0; i < round_up(i1 - i0, 8); i++)
                            log_decay_q_tile[i] = i < i1 - i0 ? log_decay_q[m * log_decay_q_head + (i0 + i)] : 0;
                        /* log_decay_q_low_tile = log_decay_q_low, with zeros beyond the last row */
                        for (int64_t i = 0; i < round_up(i1 - i0, 8); i++)
                            log_decay_q_low_tile[i] = i < i1 - i0 ? log_decay_q_low[m * log_decay_q_low_head + (i0 + i)]
                                : 0;
                        /* query_sum_3 = 0.0f */
                        for (int64_t i = 0; i < i1 - i0; i += 8) {
                            store_v3(query_sum_3 + i, splat_v3(0.0f));
                        }
                        /* query_sum_3 += q_tile * q_tile */
                        for (int64_t i_first = 0; i_first < i1 - i0; i_first += 16) {
                            vec_v3 query_sum_3_in[2];
                            UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += 8) {
                                query_sum_3_in[vector] = (vec_v3){0};
                            }
                            for (int64_t d = 0; d < 64; d++) {
                                UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += 8) {
                                    const vec_v3 q_tile_13 = load_v3(q_tile + d * 32 + i);
                                    query_sum_3_in[vector] += q_tile_13 * q_tile_13;
                                }
                            }
                            UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += 8) {
                                store_v3(query_sum_3 + i, load_v3(query_sum_3 + i) + query_sum_3_in[vector]);
                            }
                        }
                        /* q_tile = (q_tile * select(query_sum_3 == 0.0f, 0.0f, 1.0f / sqrt(query_sum_3))) * 0.125f */
                        for (int64_t i = 0; i < i1 - i0; i += 8) {
                            const vec_v3 query_sum_3_14 = load_v3(query_sum_3 + i);
                            const vec_v3 t_15 = pick_v3(query_sum_3_14 == 0.0f, splat_v3(0.0f),
                                1.0f / sqrt_v3(query_sum_3_14));
                            for (int64_t d = 0; d < 64; d++) {
                                store_v3(q_tile + d * 32 + i, (load_v3(q_tile + d * 32 + i) * t_15) * 0.125f);
                            }
                        }
                        /* score_2[j][i] = sum over d of query_features * q_tile */
                        dot0_v3(round_up(i1 - i0, 8), j1 - j0, query_features, q_tile, score_2);
                        /* query_2 = q_tile * select((lo() / 32) == 0, 1.0f,
                           exp2(((log_decay_q_tile - log_decay_chunk) + (log_decay_q_low_tile - log_decay ... */
                        const int t_16 = (j0 / 32) == 0;
                        const float log_decay_chunk_17 = log_decay_chunk[max(min(j0 - 1, n_k - 1), 0)];
                        const float log_decay_chunk_low_18 = log_decay_chunk_low[max(min(j0 - 1, n_k - 1), 0)];
                        for (int64_t i = 0; i < i1 - i0; i += 8) {
                            const vec_v3 t_19 = t_16 ? splat_v3(1.0f) : exp2_v3(((load_v3(log_decay_q_tile + i) -
                                log_decay_chunk_17) + (load_v3(log_decay_q_low_tile + i) - log_decay_chunk_low_18)) *
                                1.442695f);
                            for (int64_t f = 0; f < 64; f++) {
                                store_v3(query_2 + f * 32 + i, load_v3(q_tile + f * 32 + i) * t_19);
                            }
                        }
                        /* sum_from_state[i][e] = sum over f of query_2 * state */
                        dot1_v3(i1 - i0, query_2, state, sum_from_state);
                        /* score_2 = (score_2 * exp2(((log_decay_q_tile - log_decay_k) + (log_decay_q_low_tile -
                           log_decay_k_low)) * 1.442695f)) * query_scale */
                        for (int64_t i = 0; i < i1 - i0; i += 8) {
                            const vec_v3 log_decay_q_tile_20 = load_v3(log_decay_q_tile + i);
                            const vec_v3 log_decay_q_low_tile_21 = load_v3(log_decay_q_low_tile + i);
                            for (int64_t j = 0; j < j1 - j0; j++) {
                                store_v3(score_2 + j * 32 + i, (load_v3(score_2 + j * 32 + i) *
                                    exp2_v3(((log_decay_q_tile_20 - log_decay_k[(j0 + j)]) + (log_decay_q_low_tile_21 -
                                    log_decay_k_low[(j0 + j)])) * 1.442695f)) * query_scale[j]);
                            }
                        }
                        /* score_2 = select(j <= (i + query_start), score_2, 0.0f) */
                        for (int64_t i = 0; i < i1 - i0; i += 8) {
                            const ints_v3 t_22 = (i0 + i + lane_v3) + query_start;
                            for (int64_t j = 0; j < j1 - j0; j++) {
                                store_v3(score_2 + j * 32 + i, pick_v3(__builtin_convertvector((j0 + j) <= t_22,
                                    mask_v3), load_v3(score_2 + j * 32 + i), splat_v3(0.0f)));
                            }
                        }
                        /* sum[i][e] = sum over j of score_2 * corrected */
                        if (__builtin_expect(!finite_v3(corrected, 64, j1 - j0, 64),
                            0)) { /* infinity and NaN affect only queries that see them */
                            dot3_v3(i1 - i0, j1 - j0, score_2, corrected, sum);
                            for (int64_t i = 0; i < i1 - i0; i++) {
                                mask_v3 in_region[4] = {0};
                                const int64_t t_23 = (i0 + i) + query_start;
                                for (int64_t j = 0; j < j1 - j0; j += 8) {
                                    in_region[j / 8] = __builtin_convertvector((j0 + j + lane_v3) <= t_23, mask_v3);
                                }
                                add_seen_lanes_v3(64, sum + i * 64, score_2 + i * 1, corrected, 64, j1 - j0, in_region);
                            }
                        } else
                            dot4_v3(i1 - i0, j1 - j0, score_2, corrected, sum, i0 + query_start - j0 + 1);
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
                        for (int64_t i = 0; i < i1 - i0; i++)
                            for (int64_t e = 0; e < 64; e++)
                                out[m * out_head + (i0 + i) * out_row + e] = sum[i * 64 + e];
                    }
                    /* kept_share = select(exp2(((log_decay_chunk - log_decay_chunk) + (log_decay_chunk_low -
                       log_decay_chunk_low)) * 1.442695f) < 0.5f ... */
                    const float t_24 = (log_decay_chunk[max(min((((j0 / 32) + 1) * 32) - 1, n_k - 1),
                        0)] - log_decay_chunk[max(min(j0 - 1, n_k - 1), 0)]) + (log_decay_chunk_low[max(min((((j0 / 32)
                        + 1) * 32) - 1, n_k - 1), 0)] - log_decay_chunk_low[max(min(j0 - 1, n_k - 1), 0)]);
                    const float t_25 = exp2f(t_24 * 1.442695f);
                    const int t_26 = t_25 < 0.5f;
                    const float t_27 = t_26 ? t_25 : 1.0f;
                    const float t_28 = t_26 ? 0.0f : (-expm1f(t_24));
                    for (int64_t f = 0; f < 64; f += 8) {
                        store_v3(kept_share + f, splat_v3(t_27));
                        store_v3(lost_share + f, splat_v3(t_28));
                    }
                    /* state[f][e] = state * kept_share - state * lost_share + sum over j of query_features_3 *
                       corrected */
                    dot5_v3(j1 - j0, query_features_3, corrected, state, kept_share, lost_share);
                }
            }
        }
    }
}

/* Computes task number `task`: one tile of queries of one head. `work` is this thread's workspace. */
TARGET_v3 static void gated_deltanet_linear_saved_solution_v3(const struct call *call, int64_t task,
    unsigned char *work)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_k = call->p.n_k;
    const int64_t chunks = n_k > 0 ? (n_k - 1) / 32 + 1 : 1;
    const int64_t g = task % kv_heads;
    const int64_t b = task / kv_heads;
    const float *const k = call->k + b * call->p.k.batch + g / call->sharing * call->p.k.head;
    const int64_t k_row = call->p.k.row;
    const float *const v = call->v + b * call->p.v.batch + g * call->p.v.head;
    const int64_t v_row = call->p.v.row;
    const float *const log_decay_k_low = call->log_decay_k_low + b * call->log_decay_k_low_at.batch + g * members *
        call->log_decay_k_low_at.head;
    const float *const log_decay_k = call->log_decay_k + b * call->log_decay_k_at.batch + g * members *
        call->log_decay_k_at.head;
    const float *const log_decay_chunk_low = call->log_decay_chunk_low + b * call->log_decay_chunk_low_at.batch + g *
        members * call->log_decay_chunk_low_at.head;
    const float *const log_decay_chunk = call->log_decay_chunk + b * call->log_decay_chunk_at.batch + g * members *
        call->log_decay_chunk_at.head;
    const float *const beta_array = call->beta_array + b * call->beta_array_at.batch + g * members *
        call->beta_array_at.head;
    const int64_t beta_array_row = call->beta_array_at.row;
    float *const state = (float *)(void *)(work + 0); /* [f: 64, e: 64] */
    float *const key_sum = (float *)(void *)(work + 16384); /* [j: 32] */
    float *const key_features = (float *)(void *)(work + 16512); /* [d: 64, j: 32] */
    float *const key_scale = (float *)(void *)(work + 16384); /* [j: 32] */
    float *const score = (float *)(void *)(work + 24704); /* [j: 32, t_key: 32] */
    float *const query = (float *)(void *)(work + 28800); /* [f: 64, t_key: 32] */
    float *const key_scale_2 = (float *)(void *)(work + 36992); /* [j: 32] */
    float *const key = (float *)(void *)(work + 37120); /* [f: 64, j: 32] */
    float *const from_state = (float *)(void *)(work + 16384); /* [t_key: 32, e: 64] */
    float *const corrected = (float *)(void *)(work + 45312); /* [j: 32, e: 64] */
    float *const kept_share = (float *)(void *)(work + 16384); /* [f: 64] */
    float *const lost_share = (float *)(void *)(work + 16640); /* [f: 64] */
    float *const saved_solution = call->saved_solution ? call->saved_solution + b * call->saved_solution_at.batch + g *
        call->saved_solution_at.head : NULL;
    const int64_t saved_solution_row = call->saved_solution_at.row;
    float *const k_tile_2 = (float *)(void *)(work + 53504); /* [d: 64, j: 32] */
    float *const beta_tile = (float *)(void *)(work + 61696); /* [j: 32] */
    float *const log_decay_k_tile_2 = (float *)(void *)(work + 61824); /* [j: 32] */
    float *const log_decay_k_low_tile_2 = (float *)(void *)(work + 61952); /* [j: 32] */
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
            /* k_tile_2 = k, with zeros beyond the last row */
            transpose_padded_v3(k + j0 * k_row, k_row, j1 - j0, 64, k_tile_2, 32, 64);
            if (beta_array_row == 1) {
                /* beta_tile = beta_array, with zeros beyond the last row */
                for (int64_t j = 0; j < round_up(j1 - j0, 8); j++)
                    beta_tile[j] = j < j1 - j0 ? beta_array[(j0 + j)] : 0;
            } else {
                /* beta_tile = beta_array, with zeros beyond the last row */
                for (int64_t j = 0; j < round_up(j1 - j0, 8); j++)
                    beta_tile[j] = j < j1 - j0 ? beta_array[(j0 + j) * beta_array_row] : 0;
            }
            /* log_decay_k_tile_2 = log_decay_k, with zeros beyond the last row */
            for (int64_t j = 0; j < round_up(j1 - j0, 8); j++)
                log_decay_k_tile_2[j] = j < j1 - j0 ? log_decay_k[(j0 + j)] : 0;
            /* log_decay_k_low_tile_2 = log_decay_k_low, with zeros beyond the last row */
            for (int64_t j = 0; j < round_up(j1 - j0, 8); j++)
                log_decay_k_low_tile_2[j] = j < j1 - j0 ? log_decay_k_low[(j0 + j)] : 0;
            for (int64_t t_key0 = j0, t_key_end = j1; t_key0 < t_key_end; t_key0 += 32) {
                const int64_t t_key1 = min(t_key0 + 32, t_key_end);
                /* key_sum = 0.0f */
                for (int64_t j = 0; j < j1 - j0; j += 8) {
                    store_v3(key_sum + j, splat_v3(0.0f));
                }
                /* key_sum += k_tile_2 * k_tile_2 */
                for (int64_t j_first = 0; j_first < j1 - j0; j_first += 16) {
                    vec_v3 key_sum_in[2];
                    UNROLL for (int64_t vector = 0, j = j_first; vector < 2; vector++, j += 8) {
                        key_sum_in[vector] = (vec_v3){0};
                    }
                    for (int64_t d = 0; d < 64; d++) {
                        UNROLL for (int64_t vector = 0, j = j_first; vector < 2; vector++, j += 8) {
                            const vec_v3 k_tile_2_0 = load_v3(k_tile_2 + d * 32 + j);
                            key_sum_in[vector] += k_tile_2_0 * k_tile_2_0;
                        }
                    }
                    UNROLL for (int64_t vector = 0, j = j_first; vector < 2; vector++, j += 8) {
                        store_v3(key_sum + j, load_v3(key_sum + j) + key_sum_in[vector]);
                    }
                }
                /* key_features = k_tile_2 * select(key_sum == 0.0f, 0.0f, 1.0f / sqrt(key_sum)) */
                for (int64_t j = 0; j < j1 - j0; j += 8) {
                    const vec_v3 key_sum_1 = load_v3(key_sum + j);
                    const vec_v3 t_2 = pick_v3(key_sum_1 == 0.0f, splat_v3(0.0f), 1.0f / sqrt_v3(key_sum_1));
                    for (int64_t d = 0; d < 64; d++) {
                        store_v3(key_features + d * 32 + j, load_v3(k_tile_2 + d * 32 + j) * t_2);
                    }
                }
                /* query = key_features * select((lo() / 32) == 0, 1.0f,
                   exp2(((log_decay_k_tile_2 - log_decay_chunk) + (log_decay_k_low_tile_2 - l ... */
                const int t_3 = (j0 / 32) == 0;
                const float log_decay_chunk_4 = log_decay_chunk[max(min(j0 - 1, n_k - 1), 0)];
                const float log_decay_chunk_low_5 = log_decay_chunk_low[max(min(j0 - 1, n_k - 1), 0)];
                for (int64_t t_key = 0; t_key < t_key1 - t_key0; t_key += 8) {
                    const vec_v3 t_6 = t_3 ? splat_v3(1.0f) : exp2_v3(((load_v3(log_decay_k_tile_2 + ((t_key0 + t_key) -
                        j0)) - log_decay_chunk_4) + (load_v3(log_decay_k_low_tile_2 + ((t_key0 + t_key) - j0)) -
                        log_decay_chunk_low_5)) * 1.442695f);
                    for (int64_t f = 0; f < 64; f++) {
                        store_v3(query + f * 32 + t_key, load_v3(key_features + f * 32 + ((t_key0 + t_key) - j0)) *
                            t_6);
                    }
                }
                /* key_scale = beta_tile */
                for (int64_t j = 0; j < j1 - j0; j += 8) {
                    store_v3(key_scale + j, load_v3(beta_tile + j));
                }
                /* score[j][t_key] = sum over d of key_features * key_features */
                dot0_v3(round_up(t_key1 - t_key0, 8), j1 - j0, key_features, key_features, score);
                /* score = (score * exp2(((log_decay_k_tile_2 - log_decay_k) + (log_decay_k_low_tile_2 -
                   log_decay_k_low)) * 1.442695f)) * key_scale */
                for (int64_t t_key = 0; t_key < t_key1 - t_key0; t_key += 8) {
                    const vec_v3 log_decay_k_tile_2_7 = load_v3(log_decay_k_tile_2 + ((t_key0 + t_key) - j0));
                    const vec_v3 log_decay_k_low_tile_2_8 = load_v3(log_decay_k_low_tile_2 + ((t_key0 + t_key) - j0));
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        store_v3(score + j * 32 + t_key, (load_v3(score + j * 32 + t_key) *
                            exp2_v3(((log_decay_k_tile_2_7 - log_decay_k[(j0 + j)]) + (log_decay_k_low_tile_2_8 -
                            log_decay_k_low[(j0 + j)])) * 1.442695f)) * key_scale[j]);
                    }
                }
                /* key_scale_2 = 1.0f */
                for (int64_t j = 0; j < j1 - j0; j += 8) {
                    store_v3(key_scale_2 + j, splat_v3(1.0f));
                }
                /* key = (key_features * exp2(((log_decay_chunk - log_decay_k_tile_2) + (log_decay_chunk_low -
                   log_decay_k_low_tile_2)) * 1.442695f ... */
                const float log_decay_chunk_9 = log_decay_chunk[max(min((((j0 / 32) + 1) * 32) - 1, n_k - 1), 0)];
                const float log_decay_chunk_low_10 = log_decay_chunk_low[max(min((((j0 / 32) + 1) * 32) - 1, n_k - 1),
                    0)];
                for (int64_t j = 0; j < j1 - j0; j += 8) {
                    const vec_v3 t_11 = exp2_v3(((log_decay_chunk_9 - load_v3(log_decay_k_tile_2 + j)) +
                        (log_decay_chunk_low_10 - load_v3(log_decay_k_low_tile_2 + j))) * 1.442695f);
                    const vec_v3 key_scale_12 = load_v3(key_scale + j);
                    for (int64_t f = 0; f < 64; f++) {
                        store_v3(key + f * 32 + j, (load_v3(key_features + f * 32 + j) * t_11) * key_scale_12);
                    }
                }
                /* from_state[t_key][e] = sum over f of query * state */
                dot1_v3(t_key1 - t_key0, query, state, from_state);
                /* from_state = v - from_state */
                for (int64_t t_key = 0; t_key < t_key1 - t_key0; t_key++) {
                    for (int64_t e_first = 0; e_first < 64; e_first += 16) {
                        UNROLL for (int64_t vector = 0, e = e_first; vector < 2; vector++, e += 8) {
                            store_v3(from_state + t_key * 64 + e, load_v3(v + (t_key0 + t_key) * v_row + e) -
                                load_v3(from_state + t_key * 64 + e));
                        }
                    }
                }
                /* corrected[t_key][e] = key_scale_2[t_key] * (from_state[t_key][e] - sum over j < t_key of score *
                   corrected[j][e]) */
                dot2_v3(t_key1 - t_key0, score, key_scale_2, from_state, corrected);
            }
            /* kept_share = select(exp2(((log_decay_chunk - log_decay_chunk) + (log_decay_chunk_low -
               log_decay_chunk_low)) * 1.442695f) < 0.5f ... */
            const float t_13 = (log_decay_chunk[max(min((((j0 / 32) + 1) * 32) - 1, n_k - 1),
                0)] - log_decay_chunk[max(min(j0 - 1, n_k - 1), 0)]) + (log_decay_chunk_low[max(min((((j0 / 32) + 1) *
                32) - 1, n_k - 1), 0)] - log_decay_chunk_low[max(min(j0 - 1, n_k - 1), 0)]);
            const float t_14 = exp2f(t_13 * 1.442695f);
            const int t_15 = t_14 < 0.5f;
            const float t_16 = t_15 ? t_14 : 1.0f;
            const float t_17 = t_15 ? 0.0f : (-expm1f(t_13));
            for (int64_t f = 0; f < 64; f += 8) {
                store_v3(kept_share + f, splat_v3(t_16));
                store_v3(lost_share + f, splat_v3(t_17));
            }
            /* state[f][e] = state * kept_share - state * lost_share + sum over j of key * corrected */
            dot5_v3(j1 - j0, key, corrected, state, kept_share, lost_share);
            if (saved_solution) {
                /* saved_solution = corrected, transposed back */
                for (int64_t j = 0; j < j1 - j0; j++)
                    for (int64_t e = 0; e < 64; e++)
                        saved_solution[(j0 + j) * saved_solution_row + e] = corrected[j * 64 + e];
            }
        }
    }
}

/* Computes task number `task`: one tile of queries of one head. `work` is this thread's workspace. */
TARGET_v3 static void
    gated_deltanet_linear_dv_linear_part_1_dbeta_linear_part_2_linear_part_3_linear_part_4_linear_part_5_v3(const struct
    call *call, int64_t task, unsigned char *work)
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
    const float *const log_decay_q_low = call->log_decay_q_low + b * call->log_decay_q_low_at.batch + g * members *
        call->log_decay_q_low_at.head;
    const int64_t log_decay_q_low_head = call->log_decay_q_low_at.head;
    const float *const log_decay_q = call->log_decay_q + b * call->log_decay_q_at.batch + g * members *
        call->log_decay_q_at.head;
    const int64_t log_decay_q_head = call->log_decay_q_at.head;
    const float *const log_decay_k_low = call->log_decay_k_low + b * call->log_decay_k_low_at.batch + g * members *
        call->log_decay_k_low_at.head;
    const float *const log_decay_k = call->log_decay_k + b * call->log_decay_k_at.batch + g * members *
        call->log_decay_k_at.head;
    const float *const log_decay_chunk_low = call->log_decay_chunk_low + b * call->log_decay_chunk_low_at.batch + g *
        members * call->log_decay_chunk_low_at.head;
    const float *const log_decay_chunk = call->log_decay_chunk + b * call->log_decay_chunk_at.batch + g * members *
        call->log_decay_chunk_at.head;
    const float *const beta_array = call->beta_array + b * call->beta_array_at.batch + g * members *
        call->beta_array_at.head;
    const int64_t beta_array_row = call->beta_array_at.row;
    const float *const dout = call->dout + b * call->p.dout.batch + g * members * call->p.dout.head;
    const int64_t dout_row = call->p.dout.row;
    const int64_t dout_head = call->p.dout.head;
    const float *const saved_solution = call->saved_solution ? call->saved_solution + b * call->saved_solution_at.batch
        + g * call->saved_solution_at.head : NULL;
    const int64_t saved_solution_row = call->saved_solution_at.row;
    float *const state = (float *)(void *)(work + 0); /* [f: 64, e: 64] */
    float *const query_sum = (float *)(void *)(work + 16384); /* [j: 32] */
    float *const query_features = (float *)(void *)(work + 16512); /* [d: 64, j: 32] */
    float *const query_scale = (float *)(void *)(work + 24704); /* [j: 32] */
    float *const query_features_2 = (float *)(void *)(work + 24832); /* [e: 64, j: 32] */
    float *const score = (float *)(void *)(work + 33024); /* [j: 32, t_key: 32] */
    float *const weight_2 = (float *)(void *)(work + 37120); /* [j: 32, t_key: 32] */
    float *const query = (float *)(void *)(work + 41216); /* [f: 64, j: 32] */
    float *const sum_from_state = (float *)(void *)(work + 49408); /* [j: 32, e: 64] */
    float *const query_scale_2 = (float *)(void *)(work + 57600); /* [t_key: 32] */
    float *const query_features_4 = (float *)(void *)(work + 57728); /* [f: 64, t_key: 32] */
    float *const query_2 = (float *)(void *)(work + 65920); /* [f: 64, j: 32] */
    float *const query_3 = (float *)(void *)(work + 74112); /* [f: 64, j: 32] */
    float *const query_sum_3 = (float *)(void *)(work + 82304); /* [j: 32] */
    float *const kept_share = (float *)(void *)(work + 41216); /* [f: 64] */
    float *const lost_share = (float *)(void *)(work + 41472); /* [f: 64] */
    float *const query_sum_4 = (float *)(void *)(work + 41216); /* [i: 32] */
    float *const score_2 = (float *)(void *)(work + 41344); /* [i: 32, j: 32] */
    float *const weight_3 = (float *)(void *)(work + 65920); /* [i: 32, j: 32] */
    float *const score_3 = (float *)(void *)(work + 70016); /* [j: 32, i: 32] */
    float *const sum = (float *)(void *)(work + 82432); /* [j: 32, e: 64] */
    float *const query_features_6 = (float *)(void *)(work + 90624); /* [f: 64, i: 32] */
    float *const sum_2 = (float *)(void *)(work + 98816); /* [d: 64, j: 32] */
    float *const row_sum = (float *)(void *)(work + 45440); /* [j: 32] */
    float *const corrected = (float *)(void *)(work + 45568); /* [t_key: 32, e: 64] */
    float *const linear_part_1 = call->linear_part_1 ? call->linear_part_1 + b * call->linear_part_1_at.batch + g *
        call->linear_part_1_at.head : NULL;
    const int64_t linear_part_1_row = call->linear_part_1_at.row;
    float *const key_2 = (float *)(void *)(work + 37120); /* [t_key: 32, e: 64] */
    float *const key_3 = (float *)(void *)(work + 65920); /* [j: 32, e: 64] */
    float *const dv = call->dv ? call->dv + b * call->p.dv.batch + g * call->p.dv.head : NULL;
    const int64_t dv_row = call->p.dv.row;
    float *const query_4 = (float *)(void *)(work + 24704); /* [t_key: 32] */
    float *const query_scale_3 = (float *)(void *)(work + 45312); /* [j: 32] */
    float *const dbeta_array = call->dbeta_array ? call->dbeta_array + (b * kv_heads + g) * members * n_k : NULL;
    float *const score_4 = (float *)(void *)(work + 45568); /* [t_key: 32, j: 32] */
    float *const weight_6 = (float *)(void *)(work + 24704); /* [t_key: 32, j: 32] */
    float *const sum_3 = (float *)(void *)(work + 65920); /* [d: 64, t_key: 32] */
    float *const weight_6_turned = (float *)(void *)(work + 28800); /* [j: 32, t_key: 32] */
    float *const linear_part_2 = call->linear_part_2 ? call->linear_part_2 + b * call->linear_part_2_at.batch + g *
        call->linear_part_2_at.head : NULL;
    const int64_t linear_part_2_row = call->linear_part_2_at.row;
    float *const sum_4 = (float *)(void *)(work + 65920); /* [d: 64, j: 32] */
    float *const query_sum_5 = (float *)(void *)(work + 16512); /* [j: 32] */
    float *const linear_part_3 = call->linear_part_3 ? call->linear_part_3 + b * call->linear_part_3_at.batch + g *
        call->linear_part_3_at.head : NULL;
    const int64_t linear_part_3_row = call->linear_part_3_at.row;
    float *const row_sum_2 = (float *)(void *)(work + 16384); /* [t_key: 32] */
    float *const linear_part_4 = call->linear_part_4 ? call->linear_part_4 + (b * kv_heads + g) * n_k : NULL;
    float *const row_sum_3 = (float *)(void *)(work + 16384); /* [j: 32] */
    float *const linear_part_5 = call->linear_part_5 ? call->linear_part_5 + (b * kv_heads + g) * n_k : NULL;
    float *const k_tile = (float *)(void *)(work + 107008); /* [d: 64, j: 32] */
    float *const beta_tile = (float *)(void *)(work + 115200); /* [j: 32] */
    float *const saved_solution_tile = (float *)(void *)(work + 115328); /* [e: 64, j: 32] */
    float *const log_decay_k_tile_2 = (float *)(void *)(work + 123520); /* [j: 32] */
    float *const log_decay_k_low_tile_2 = (float *)(void *)(work + 123648); /* [j: 32] */
    float *const q_tile = (float *)(void *)(work + 123776); /* [d: 64, i: 32] */
    float *const log_decay_q_tile = (float *)(void *)(work + 45568); /* [i: 32] */
    float *const log_decay_q_low_tile = (float *)(void *)(work + 45696); /* [i: 32] */
    float *const weight_4_turned = (float *)(void *)(work + 65920); /* [i: 32, j: 32] */
    float *const corrected_turned = (float *)(void *)(work + 65920); /* [e: 64, t_key: 32] */
    float *const score_4_turned = (float *)(void *)(work + 16512); /* [j: 32, t_key: 32] */
    float *const weight_turned = (float *)(void *)(work + 16512); /* [t_key: 32, j: 32] */
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
            for (int64_t j0 = (chunks - chunk - 1) * 32, j_end = min(((chunks - chunk - 1) * 32) + 32, n_k); j0 < j_end;
                j0 += 32) {
                const int64_t j1 = min(j0 + 32, j_end);
                /* k_tile = k, with zeros beyond the last row */
                transpose_padded_v3(k + j0 * k_row, k_row, j1 - j0, 64, k_tile, 32, -32);
                if (beta_array_row == 1) {
                    /* beta_tile = beta_array, with zeros beyond the last row */
                    for (int64_t j = 0; j < round_up(j1 - j0, 8); j++)
                        beta_tile[j] = j < j1 - j0 ? beta_array[(j0 + j)] : 0;
                } else {
                    /* beta_tile = beta_array, with zeros beyond the last row */
                    for (int64_t j = 0; j < round_up(j1 - j0, 8); j++)
                        beta_tile[j] = j < j1 - j0 ? beta_array[(j0 + j) * beta_array_row] : 0;
                }
                if (dbeta_array || linear_part_2 || linear_part_3 || linear_part_4 || linear_part_5) {
                    /* saved_solution_tile = saved_solution, with zeros beyond the last row */
                    transpose_padded_v3(saved_solution + j0 * saved_solution_row, saved_solution_row, j1 - j0, 64,
                        saved_solution_tile, 32, -32);
                }
                /* log_decay_k_tile_2 = log_decay_k, with zeros beyond the last row */
                for (int64_t j = 0; j < round_up(j1 - j0, 8); j++)
                    log_decay_k_tile_2[j] = j < j1 - j0 ? log_decay_k[(j0 + j)] : 0;
                /* log_decay_k_low_tile_2 = log_decay_k_low, with zeros beyond the last row */
                for (int64_t j = 0; j < round_up(j1 - j0, 8); j++)
                    log_decay_k_low_tile_2[j] = j < j1 - j0 ? log_decay_k_low[(j0 + j)] : 0;
                for (int64_t t_key0 = j0, t_key_end = j1; t_key0 < t_key_end; t_key0 += 32) {
                    const int64_t t_key1 = min(t_key0 + 32, t_key_end);
                    /* query_sum = 0.0f */
                    for (int64_t j = 0; j < j1 - j0; j += 8) {
                        store_v3(query_sum + j, splat_v3(0.0f));
                    }
                    /* query_sum += k_tile * k_tile */
                    for (int64_t j_first = 0; j_first < j1 - j0; j_first += 16) {
                        vec_v3 query_sum_in[2];
                        UNROLL for (int64_t vector = 0, j = j_first; vector < 2; vector++, j += 8) {
                            query_sum_in[vector] = (vec_v3){0};
                        }
                        for (int64_t d = 0; d < 64; d++) {
                            UNROLL for (int64_t vector = 0, j = j_first; vector < 2; vector++, j += 8) {
                                const vec_v3 k_tile_0 = load_v3(k_tile + d * 32 + j);
                                query_sum_in[vector] += k_tile_0 * k_tile_0;
                            }
                        }
                        UNROLL for (int64_t vector = 0, j = j_first; vector < 2; vector++, j += 8) {
                            store_v3(query_sum + j, load_v3(query_sum + j) + query_sum_in[vector]);
                        }
                    }
                    /* query_features = k_tile * select(query_sum == 0.0f, 0.0f, 1.0f / sqrt(query_sum)) */
                    for (int64_t j = 0; j < j1 - j0; j += 8) {
                        const vec_v3 query_sum_1 = load_v3(query_sum + j);
                        const vec_v3 t_2 = pick_v3(query_sum_1 == 0.0f, splat_v3(0.0f), 1.0f / sqrt_v3(query_sum_1));
                        for (int64_t d = 0; d < 64; d++) {
                            store_v3(query_features + d * 32 + j, load_v3(k_tile + d * 32 + j) * t_2);
                        }
                    }
                    /* query_scale = beta_tile */
                    for (int64_t j = 0; j < j1 - j0; j += 8) {
                        store_v3(query_scale + j, load_v3(beta_tile + j));
                    }
                    if (linear_part_2 || linear_part_3 || linear_part_4 || linear_part_5) {
                        /* query_features_2 = saved_solution_tile * query_scale */
                        for (int64_t j = 0; j < j1 - j0; j += 8) {
                            const vec_v3 query_scale_4 = load_v3(query_scale + j);
                            for (int64_t e = 0; e < 64; e++) {
                                store_v3(query_features_2 + e * 32 + j, load_v3(saved_solution_tile + e * 32 + j) *
                                    query_scale_4);
                            }
                        }
                    }
                    /* score[j][t_key] = sum over d of query_features * query_features */
                    dot0_v3(round_up(t_key1 - t_key0, 8), j1 - j0, query_features, query_features, score);
                    /* score = score * exp2(((log_decay_k_tile_2 - log_decay_k) + (log_decay_k_low_tile_2 -
                       log_decay_k_low)) * 1.442695f); weight_2 =  ... */
                    for (int64_t t_key = 0; t_key < t_key1 - t_key0; t_key += 8) {
                        const vec_v3 log_decay_k_tile_2_6 = load_v3(log_decay_k_tile_2 + ((t_key0 + t_key) - j0));
                        const vec_v3 log_decay_k_low_tile_2_7 = load_v3(log_decay_k_low_tile_2 + ((t_key0 + t_key) -
                            j0));
                        const vec_v3 query_scale_9 = load_v3(query_scale + ((t_key0 + t_key) - j0));
                        for (int64_t j = 0; j < j1 - j0; j++) {
                            const vec_v3 score_5 = load_v3(score + j * 32 + t_key);
                            const vec_v3 score_new8 = score_5 * exp2_v3(((log_decay_k_tile_2_6 - log_decay_k[(j0 + j)])
                                + (log_decay_k_low_tile_2_7 - log_decay_k_low[(j0 + j)])) * 1.442695f);
                            store_v3(score + j * 32 + t_key, score_new8);
                            store_v3(weight_2 + j * 32 + t_key, score_new8 * query_scale_9);
                        }
                    }
                    /* query = query_features * exp2(((log_decay_chunk - log_decay_k_tile_2) + (log_decay_chunk_low -
                       log_decay_k_low_tile_2)) * 1.442695f) */
                    const float log_decay_chunk_10 = log_decay_chunk[max(min((((j0 / 32) + 1) * 32) - 1, n_k - 1), 0)];
                    const float log_decay_chunk_low_11 = log_decay_chunk_low[max(min((((j0 / 32) + 1) * 32) - 1,
                        n_k - 1), 0)];
                    for (int64_t j = 0; j < j1 - j0; j += 8) {
                        const vec_v3 t_12 = exp2_v3(((log_decay_chunk_10 - load_v3(log_decay_k_tile_2 + j)) +
                            (log_decay_chunk_low_11 - load_v3(log_decay_k_low_tile_2 + j))) * 1.442695f);
                        for (int64_t f = 0; f < 64; f++) {
                            store_v3(query + f * 32 + j, load_v3(query_features + f * 32 + j) * t_12);
                        }
                    }
                    /* sum_from_state[j][e] = sum over f of query * state */
                    dot1_v3(j1 - j0, query, state, sum_from_state);
                    /* query_scale_2 = 1.0f */
                    for (int64_t t_key = 0; t_key < t_key1 - t_key0; t_key += 8) {
                        store_v3(query_scale_2 + t_key, splat_v3(1.0f));
                    }
                    /* query_features_4 = (query_features * select((lo() / 32) == 0, 1.0f,
                       exp2(((log_decay_k_tile_2 - log_decay_chunk) + (log_decay_k_ ... */
                    const int t_13 = (j0 / 32) == 0;
                    const float log_decay_chunk_14 = log_decay_chunk[max(min(j0 - 1, n_k - 1), 0)];
                    const float log_decay_chunk_low_15 = log_decay_chunk_low[max(min(j0 - 1, n_k - 1), 0)];
                    const float t_17 = exp2f(((log_decay_chunk_14 - log_decay_chunk[max(min(j0 - 1, n_k - 1),
                        0)]) + (log_decay_chunk_low_15 - log_decay_chunk_low[max(min(j0 - 1, n_k - 1),
                        0)])) * 1.442695f);
                    for (int64_t t_key = 0; t_key < t_key1 - t_key0; t_key += 8) {
                        const vec_v3 t_16 = t_13 ? splat_v3(1.0f) : exp2_v3(((load_v3(log_decay_k_tile_2 + ((t_key0 +
                            t_key) - j0)) - log_decay_chunk_14) + (load_v3(log_decay_k_low_tile_2 + ((t_key0 + t_key) -
                            j0)) - log_decay_chunk_low_15)) * 1.442695f);
                        for (int64_t f = 0; f < 64; f++) {
                            store_v3(query_features_4 + f * 32 + t_key, (load_v3(query_features + f * 32 + ((t_key0 +
                                t_key) - j0)) * t_16) * t_17);
                        }
                    }
                    if (linear_part_3 || linear_part_5) {
                        /* query_2[f][j] = sum over e of state * query_features_2 */
                        dot6_v3(round_up(j1 - j0, 8), state, query_features_2, query_2);
                    }
                    if (linear_part_5) {
                        /* query_sum_3 = 0.0f */
                        for (int64_t j = 0; j < j1 - j0; j += 8) {
                            store_v3(query_sum_3 + j, splat_v3(0.0f));
                        }
                    }
                    if (linear_part_3 || linear_part_5) {
                        /* query_3 = query_2 * exp2(((log_decay_chunk - log_decay_k_tile_2) + (log_decay_chunk_low -
                           log_decay_k_low_tile_2)) * 1.442695f); ... */
                        const float log_decay_chunk_19 = log_decay_chunk[max(min((((j0 / 32) + 1) * 32) - 1, n_k - 1),
                            0)];
                        const float log_decay_chunk_low_20 = log_decay_chunk_low[max(min((((j0 / 32) + 1) * 32) - 1,
                            n_k - 1), 0)];
                        for (int64_t j = 0; j < j1 - j0; j += 8) {
                            const vec_v3 t_21 = exp2_v3(((log_decay_chunk_19 - load_v3(log_decay_k_tile_2 + j)) +
                                (log_decay_chunk_low_20 - load_v3(log_decay_k_low_tile_2 + j))) * 1.442695f);
                            vec_v3 query_sum_3_in = (vec_v3){0};
                            for (int64_t f = 0; f < 64; f++) {
                                const vec_v3 query_2_18 = load_v3(query_2 + f * 32 + j);
                                store_v3(query_3 + f * 32 + j, query_2_18 * t_21);
                                query_sum_3_in += query_2_18 * (-load_v3(query + f * 32 + j));
                            }
                            store_v3(query_sum_3 + j, load_v3(query_sum_3 + j) + query_sum_3_in);
                        }
                    }
                    /* kept_share = select(exp2(((log_decay_chunk - log_decay_chunk) + (log_decay_chunk_low -
                       log_decay_chunk_low)) * 1.442695f) < 0.5f ... */
                    const float t_22 = (log_decay_chunk[max(min((((j0 / 32) + 1) * 32) - 1, n_k - 1),
                        0)] - log_decay_chunk[max(min(j0 - 1, n_k - 1), 0)]) + (log_decay_chunk_low[max(min((((j0 / 32)
                        + 1) * 32) - 1, n_k - 1), 0)] - log_decay_chunk_low[max(min(j0 - 1, n_k - 1), 0)]);
                    const float t_23 = exp2f(t_22 * 1.442695f);
                    const int t_24 = t_23 < 0.5f;
                    const float t_25 = t_24 ? t_23 : 1.0f;
                    const float t_26 = t_24 ? 0.0f : (-expm1f(t_22));
                    for (int64_t f = 0; f < 64; f += 8) {
                        store_v3(kept_share + f, splat_v3(t_25));
                        store_v3(lost_share + f, splat_v3(t_26));
                    }
                    /* state = (state * kept_share) - (state * lost_share) */
                    for (int64_t f = 0; f < 64; f++) {
                        for (int64_t e_first = 0; e_first < 64; e_first += 16) {
                            UNROLL for (int64_t vector = 0, e = e_first; vector < 2; vector++, e += 8) {
                                const vec_v3 state_27 = load_v3(state + f * 64 + e);
                                store_v3(state + f * 64 + e, (state_27 * kept_share[f]) - (state_27 * lost_share[f]));
                            }
                        }
                    }
                    /* sum = 0.0f */
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        for (int64_t e_first = 0; e_first < 64; e_first += 16) {
                            UNROLL for (int64_t vector = 0, e = e_first; vector < 2; vector++, e += 8) {
                                store_v3(sum + j * 64 + e, splat_v3(0.0f));
                            }
                        }
                    }
                    if (linear_part_3) {
                        /* sum_2 = 0.0f */
                        for (int64_t d = 0; d < 64; d++) {
                            for (int64_t j = 0; j < j1 - j0; j += 8) {
                                store_v3(sum_2 + d * 32 + j, splat_v3(0.0f));
                            }
                        }
                    }
                    if (linear_part_5) {
                        /* row_sum = 0.0f */
                        for (int64_t j = 0; j < j1 - j0; j += 8) {
                            store_v3(row_sum + j, splat_v3(0.0f));
                        }
                    }
                    for (int64_t i0 = ((j0 / 32) == 0) ? 0 : max(0, j0 - query_start), i_end = min(n_q,
                        (((j0 / 32) + 1) * 32) - query_start); i0 < i_end; i0 += 32) {
                        const int64_t i1 = min(i0 + 32, i_end);
                        /* q_tile = q, with zeros beyond the last row */
                        transpose_padded_v3(q + m * q_head + i0 * q_row, q_row, i1 - i0, 64, q_tile, 32, -32);
                        /* log_decay_q_tile = log_decay_q, with zeros beyond the last row */
                        for (int64_t i = 0; i < round_up(i1 - i0, 8); i++)
                            log_decay_q_tile[i] = i < i1 - i0 ? log_decay_q[m * log_decay_q_head + (i0 + i)] : 0;
                        /* log_decay_q_low_tile = log_decay_q_low, with zeros beyond the last row */
                        for (int64_t i = 0; i < round_up(i1 - i0, 8); i++)
                            log_decay_q_low_tile[i] = i < i1 - i0 ? log_decay_q_low[m * log_decay_q_low_head + (i0 + i)]
                                : 0;
                        /* query_sum_4 = 0.0f */
                        for (int64_t i = 0; i < i1 - i0; i += 8) {
                            store_v3(query_sum_4 + i, splat_v3(0.0f));
                        }
                        /* query_sum_4 += q_tile * q_tile */
                        for (int64_t i_first = 0; i_first < i1 - i0; i_first += 16) {
                            vec_v3 query_sum_4_in[2];
                            UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += 8) {
                                query_sum_4_in[vector] = (vec_v3){0};
                            }
                            for (int64_t d = 0; d < 64; d++) {
                                UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += 8) {
                                    const vec_v3 q_tile_28 = load_v3(q_tile + d * 32 + i);
                                    query_sum_4_in[vector] += q_tile_28 * q_tile_28;
                                }
                            }
                            UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += 8) {
                                store_v3(query_sum_4 + i, load_v3(query_sum_4 + i) + query_sum_4_in[vector]);
                            }
                        }
                        if (linear_part_3 || linear_part_5) {
                            /* score_2[i][j] = sum over e of dout * query_features_2 */
                            dot7_v3(round_up(j1 - j0, 8), i1 - i0, dout + m * dout_head + i0 * dout_row, dout_row,
                                query_features_2, score_2);
                        }
                        if (linear_part_3) {
                            /* weight_3 = score_2 * exp2(((log_decay_q - log_decay_k_tile_2) + (log_decay_q_low -
                               log_decay_k_low_tile_2)) * 1.442695f) */
                            for (int64_t j = 0; j < j1 - j0; j += 8) {
                                const vec_v3 log_decay_k_tile_2_29 = load_v3(log_decay_k_tile_2 + j);
                                const vec_v3 log_decay_k_low_tile_2_30 = load_v3(log_decay_k_low_tile_2 + j);
                                for (int64_t i = 0; i < i1 - i0; i++) {
                                    store_v3(weight_3 + i * 32 + j, load_v3(score_2 + i * 32 + j) *
                                        exp2_v3((((log_decay_q[m * log_decay_q_head + (i0 + i)]) -
                                        log_decay_k_tile_2_29) + ((log_decay_q_low[m * log_decay_q_low_head + (i0 + i)])
                                        - log_decay_k_low_tile_2_30)) * 1.442695f));
                                }
                            }
                        }
                        /* q_tile = (q_tile * select(query_sum_4 == 0.0f, 0.0f, 1.0f / sqrt(query_sum_4))) * 0.125f */
                        for (int64_t i = 0; i < i1 - i0; i += 8) {
                            const vec_v3 query_sum_4_31 = load_v3(query_sum_4 + i);
                            const vec_v3 t_32 = pick_v3(query_sum_4_31 == 0.0f, splat_v3(0.0f),
                                1.0f / sqrt_v3(query_sum_4_31));
                            for (int64_t d = 0; d < 64; d++) {
                                store_v3(q_tile + d * 32 + i, (load_v3(q_tile + d * 32 + i) * t_32) * 0.125f);
                            }
                        }
                        /* score_3[j][i] = sum over d of query_features * q_tile */
                        dot0_v3(round_up(i1 - i0, 8), j1 - j0, query_features, q_tile, score_3);
                        /* score_3 = score_3 * exp2(((log_decay_q_tile - log_decay_k) + (log_decay_q_low_tile -
                           log_decay_k_low)) * 1.442695f) */
                        for (int64_t i = 0; i < i1 - i0; i += 8) {
                            const vec_v3 log_decay_q_tile_33 = load_v3(log_decay_q_tile + i);
                            const vec_v3 log_decay_q_low_tile_34 = load_v3(log_decay_q_low_tile + i);
                            for (int64_t j = 0; j < j1 - j0; j++) {
                                store_v3(score_3 + j * 32 + i, load_v3(score_3 + j * 32 + i) *
                                    exp2_v3(((log_decay_q_tile_33 - log_decay_k[(j0 + j)]) + (log_decay_q_low_tile_34 -
                                    log_decay_k_low[(j0 + j)])) * 1.442695f));
                            }
                        }
                        /* score_3 = select(j <= (i + query_start), score_3, 0.0f) */
                        for (int64_t i = 0; i < i1 - i0; i += 8) {
                            const ints_v3 t_35 = (i0 + i + lane_v3) + query_start;
                            for (int64_t j = 0; j < j1 - j0; j++) {
                                store_v3(score_3 + j * 32 + i, pick_v3(__builtin_convertvector((j0 + j) <= t_35,
                                    mask_v3), load_v3(score_3 + j * 32 + i), splat_v3(0.0f)));
                            }
                        }
                        /* sum[j][e] += sum over i of score_3 * dout */
                        if (__builtin_expect(!finite_v3(dout + m * dout_head + i0 * dout_row, dout_row, i1 - i0, 64),
                            0)) { /* infinity and NaN affect only queries that see them */
                            dot8_v3(j1 - j0, i1 - i0, score_3, dout + m * dout_head + i0 * dout_row, dout_row, sum);
                            for (int64_t j = 0; j < j1 - j0; j++) {
                                mask_v3 in_region[4] = {0};
                                for (int64_t i = 0; i < i1 - i0; i += 8) {
                                    in_region[i / 8] = __builtin_convertvector((j0 + j) <= ((i0 + i + lane_v3) +
                                        query_start), mask_v3);
                                }
                                add_seen_lanes_v3(64, sum + j * 64, score_3 + j * 32,
                                    dout + m * dout_head + i0 * dout_row, dout_row, i1 - i0, in_region);
                            }
                        } else
                            dot9_v3(j1 - j0, i1 - i0, score_3, dout + m * dout_head + i0 * dout_row, dout_row, sum);
                        /* query_features_6 = (q_tile * select((lo() / 32) == 0, 1.0f,
                           exp2(((log_decay_q_tile - log_decay_chunk) + (log_decay_q_low_tile - ... */
                        const int t_36 = (j0 / 32) == 0;
                        const float log_decay_chunk_37 = log_decay_chunk[max(min(j0 - 1, n_k - 1), 0)];
                        const float log_decay_chunk_low_38 = log_decay_chunk_low[max(min(j0 - 1, n_k - 1), 0)];
                        const float t_40 = exp2f(((log_decay_chunk_37 - log_decay_chunk[max(min(j0 - 1, n_k - 1),
                            0)]) + (log_decay_chunk_low_38 - log_decay_chunk_low[max(min(j0 - 1, n_k - 1),
                            0)])) * 1.442695f);
                        for (int64_t i = 0; i < i1 - i0; i += 8) {
                            const vec_v3 t_39 = t_36 ? splat_v3(1.0f) : exp2_v3(((load_v3(log_decay_q_tile + i) -
                                log_decay_chunk_37) + (load_v3(log_decay_q_low_tile + i) - log_decay_chunk_low_38)) *
                                1.442695f);
                            for (int64_t f = 0; f < 64; f++) {
                                store_v3(query_features_6 + f * 32 + i, (load_v3(q_tile + f * 32 + i) * t_39) * t_40);
                            }
                        }
                        /* state[f][e] += sum over i of query_features_6 * dout */
                        dot10_v3(i1 - i0, query_features_6, dout + m * dout_head + i0 * dout_row, dout_row, state);
                        if (linear_part_3) {
                            /* weight_3 = select(j <= (i + query_start), weight_3, 0.0f) */
                            for (int64_t j = 0; j < j1 - j0; j += 8) {
                                const ints_v3 t_41 = j0 + j + lane_v3;
                                for (int64_t i = 0; i < i1 - i0; i++) {
                                    store_v3(weight_3 + i * 32 + j, pick_v3(__builtin_convertvector(t_41 <= ((i0 + i) +
                                        query_start), mask_v3), load_v3(weight_3 + i * 32 + j), splat_v3(0.0f)));
                                }
                            }
                            /* sum_2[d][j] += sum over i of q_tile * weight_3 */
                            if (__builtin_expect(!finite_v3(q_tile, 32, 64, i1 - i0),
                                0)) { /* infinity and NaN affect only queries that see them */
                                dot11_v3(round_up(j1 - j0, 8), i1 - i0, q_tile, weight_3, sum_2);
                                for (int64_t i = 0; i < i1 - i0; i++) {
                                    mask_v3 in_region[4] = {0};
                                    if (finite_v3(q_tile + i * 1, 32, 64, 1)) continue;
                                    const int64_t t_42 = (i0 + i) + query_start;
                                    for (int64_t j = 0; j < j1 - j0; j += 8) {
                                        in_region[j / 8] = __builtin_convertvector((j0 + j + lane_v3) <= t_42, mask_v3);
                                    }
                                    add_seen_v3(64, sum_2, 32, q_tile + i * 1, 32, weight_3 + i * 32, in_region,
                                        j1 - j0);
                                }
                            } else
                                dot12_v3(round_up(j1 - j0, 8), i1 - i0, q_tile, weight_3, sum_2);
                        }
                        if (linear_part_5) {
                            /* weight_4_turned = score_3, with zeros beyond the last row */
                            transpose_padded_v3(score_3, 32, j1 - j0, i1 - i0, weight_4_turned, 32, -32);
                            /* weight_4_turned = score_2 * neg(weight_4_turned) */
                            for (int64_t i = 0; i < i1 - i0; i++) {
                                for (int64_t j = 0; j < j1 - j0; j += 8) {
                                    store_v3(weight_4_turned + i * 32 + j, load_v3(score_2 + i * 32 + j) *
                                        (-load_v3(weight_4_turned + i * 32 + j)));
                                }
                            }
                            /* weight_4_turned = select(j <= (i + query_start), weight_4_turned, 0.0f);
                               row_sum += weight_4_turned */
                            for (int64_t j = 0; j < j1 - j0; j += 8) {
                                const ints_v3 t_43 = j0 + j + lane_v3;
                                vec_v3 row_sum_in = (vec_v3){0};
                                for (int64_t i = 0; i < i1 - i0; i++) {
                                    const vec_v3 weight_4_turned_44 = load_v3(weight_4_turned + i * 32 + j);
                                    const vec_v3 weight_4_turned_new45 = pick_v3(__builtin_convertvector(t_43 <= ((i0 +
                                        i) + query_start), mask_v3), weight_4_turned_44, splat_v3(0.0f));
                                    store_v3(weight_4_turned + i * 32 + j, weight_4_turned_new45);
                                    row_sum_in += weight_4_turned_new45;
                                }
                                store_v3(row_sum + j, load_v3(row_sum + j) + row_sum_in);
                            }
                        }
                    }
                    /* sum = sum + sum_from_state */
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        for (int64_t e_first = 0; e_first < 64; e_first += 16) {
                            UNROLL for (int64_t vector = 0, e = e_first; vector < 2; vector++, e += 8) {
                                store_v3(sum + j * 64 + e, load_v3(sum + j * 64 + e) + load_v3(sum_from_state + j * 64 +
                                    e));
                            }
                        }
                    }
                    /* corrected[j][e] = query_scale_2[j] * (sum[j][e] - sum over t_key > j of weight_2 *
                       corrected[t_key][e]) */
                    dot13_v3(j1 - j0, weight_2 + (j1 - j0 - 1) * (32 + 1), -(32), -(1),
                        query_scale_2 + (j1 - j0 - 1) * (1), -(1), sum + (j1 - j0 - 1) * (64), -(64),
                        corrected + (j1 - j0 - 1) * (64), -(64));
                    if (linear_part_1) {
                        /* linear_part_1 = corrected */
                        for (int64_t t_key = 0; t_key < t_key1 - t_key0; t_key++)
                            for (int64_t e = 0; e < 64; e++)
                                linear_part_1[(t_key0 + t_key) * linear_part_1_row + e] = corrected[t_key * 64 + e];
                    }
                    /* key_2 = corrected * query_scale */
                    for (int64_t t_key = 0; t_key < t_key1 - t_key0; t_key++) {
                        for (int64_t e_first = 0; e_first < 64; e_first += 16) {
                            UNROLL for (int64_t vector = 0, e = e_first; vector < 2; vector++, e += 8) {
                                store_v3(key_2 + t_key * 64 + e, load_v3(corrected + t_key * 64 + e) *
                                    query_scale[((t_key0 + t_key) - j0)]);
                            }
                        }
                    }
                    if (dv) {
                        /* key_3 = key_2 */
                        for (int64_t j = 0; j < j1 - j0; j++) {
                            for (int64_t e_first = 0; e_first < 64; e_first += 16) {
                                UNROLL for (int64_t vector = 0, e = e_first; vector < 2; vector++, e += 8) {
                                    store_v3(key_3 + j * 64 + e, load_v3(key_2 + ((j0 + j) - t_key0) * 64 + e));
                                }
                            }
                        }
                        /* dv = key_3 */
                        for (int64_t j = 0; j < j1 - j0; j++)
                            for (int64_t e = 0; e < 64; e++)
                                dv[(j0 + j) * dv_row + e] = key_3[j * 64 + e];
                    }
                    if (dbeta_array) {
                        /* query_4 = 0.0f */
                        for (int64_t t_key = 0; t_key < t_key1 - t_key0; t_key += 8) {
                            store_v3(query_4 + t_key, splat_v3(0.0f));
                        }
                        /* corrected_turned = corrected, with zeros beyond the last row */
                        transpose_padded_v3(corrected, 64, t_key1 - t_key0, 64, corrected_turned, 32, -32);
                        /* query_4 += corrected_turned * saved_solution_tile */
                        for (int64_t t_key_first = 0; t_key_first < t_key1 - t_key0; t_key_first += 16) {
                            vec_v3 query_4_in[2];
                            UNROLL for (int64_t vector = 0, t_key = t_key_first; vector < 2; vector++, t_key += 8) {
                                query_4_in[vector] = (vec_v3){0};
                            }
                            for (int64_t e = 0; e < 64; e++) {
                                UNROLL for (int64_t vector = 0, t_key = t_key_first; vector < 2; vector++, t_key += 8) {
                                    query_4_in[vector] += load_v3(corrected_turned + e * 32 + t_key) *
                                        load_v3(saved_solution_tile + e * 32 + ((t_key0 + t_key) - j0));
                                }
                            }
                            UNROLL for (int64_t vector = 0, t_key = t_key_first; vector < 2; vector++, t_key += 8) {
                                store_v3(query_4 + t_key, load_v3(query_4 + t_key) + query_4_in[vector]);
                            }
                        }
                        /* query_scale_3 = select(m == 0, query_4, 0.0f) */
                        const int t_46 = m == 0;
                        for (int64_t j = 0; j < j1 - j0; j += 8) {
                            store_v3(query_scale_3 + j, t_46 ? load_v3(query_4 + ((j0 + j) - t_key0)) : splat_v3(0.0f));
                        }
                        /* dbeta_array = query_scale_3 */
                        for (int64_t j = 0; j < j1 - j0; j++)
                            dbeta_array[m * n_k + (j0 + j)] = query_scale_3[j];
                    }
                    /* key_2 = 0.0f - key_2 */
                    for (int64_t t_key = 0; t_key < t_key1 - t_key0; t_key++) {
                        for (int64_t e_first = 0; e_first < 64; e_first += 16) {
                            UNROLL for (int64_t vector = 0, e = e_first; vector < 2; vector++, e += 8) {
                                store_v3(key_2 + t_key * 64 + e, 0.0f - load_v3(key_2 + t_key * 64 + e));
                            }
                        }
                    }
                    if (linear_part_2 || linear_part_3 || linear_part_4 || linear_part_5) {
                        /* score_4[t_key][j] = sum over e of key_2 * query_features_2 */
                        dot14_v3(round_up(j1 - j0, 8), t_key1 - t_key0, key_2, query_features_2, score_4);
                    }
                    if (linear_part_2 || linear_part_3) {
                        /* weight_6 = score_4 * exp2(((log_decay_k - log_decay_k_tile_2) + (log_decay_k_low -
                           log_decay_k_low_tile_2)) * 1.442695f) */
                        for (int64_t j = 0; j < j1 - j0; j += 8) {
                            const vec_v3 log_decay_k_tile_2_47 = load_v3(log_decay_k_tile_2 + j);
                            const vec_v3 log_decay_k_low_tile_2_48 = load_v3(log_decay_k_low_tile_2 + j);
                            for (int64_t t_key = 0; t_key < t_key1 - t_key0; t_key++) {
                                store_v3(weight_6 + t_key * 32 + j, load_v3(score_4 + t_key * 32 + j) *
                                    exp2_v3(((log_decay_k[(t_key0 + t_key)] - log_decay_k_tile_2_47) +
                                    (log_decay_k_low[(t_key0 + t_key)] - log_decay_k_low_tile_2_48)) * 1.442695f));
                            }
                        }
                        /* weight_6 = select(j < t_key, weight_6, 0.0f) */
                        for (int64_t j = 0; j < j1 - j0; j += 8) {
                            const ints_v3 t_49 = j0 + j + lane_v3;
                            for (int64_t t_key = 0; t_key < t_key1 - t_key0; t_key++) {
                                store_v3(weight_6 + t_key * 32 + j, pick_v3(__builtin_convertvector(t_49 < (t_key0 +
                                    t_key), mask_v3), load_v3(weight_6 + t_key * 32 + j), splat_v3(0.0f)));
                            }
                        }
                    }
                    if (linear_part_2) {
                        /* weight_6_turned = weight_6, with zeros beyond the last row */
                        transpose_padded_v3(weight_6, 32, t_key1 - t_key0, j1 - j0, weight_6_turned, 32, -32);
                        /* sum_3[d][t_key] = sum over j of query_features * weight_6_turned */
                        if (__builtin_expect(!finite_v3(query_features, 32, 64, j1 - j0),
                            0)) { /* infinity and NaN affect only queries that see them */
                            dot15_v3(round_up(t_key1 - t_key0, 8), j1 - j0, query_features, weight_6_turned, sum_3);
                            for (int64_t j = 0; j < j1 - j0; j++) {
                                mask_v3 in_region[4] = {0};
                                if (finite_v3(query_features + j * 1, 32, 64, 1)) continue;
                                for (int64_t t_key = 0; t_key < t_key1 - t_key0; t_key += 8) {
                                    in_region[t_key / 8] = __builtin_convertvector((j0 + j) < (t_key0 + t_key +
                                        lane_v3), mask_v3);
                                }
                                add_seen_v3(64, sum_3, 32, query_features + j * 1, 32, weight_6_turned + j * 32,
                                    in_region, t_key1 - t_key0);
                            }
                        } else
                            dot16_v3(round_up(t_key1 - t_key0, 8), j1 - j0, query_features, weight_6_turned, sum_3);
                        /* sum_3 = sum_3 */
                        for (int64_t d = 0; d < 64; d++) {
                            for (int64_t t_key = 0; t_key < t_key1 - t_key0; t_key += 8) {
                                store_v3(sum_3 + d * 32 + t_key, load_v3(sum_3 + d * 32 + t_key));
                            }
                        }
                        /* linear_part_2 = sum_3, transposed back */
                        transpose_out_v3(sum_3, 32, 64, t_key1 - t_key0, linear_part_2 + t_key0 * linear_part_2_row,
                            linear_part_2_row, -32);
                    }
                    if (linear_part_3) {
                        /* sum_4[d][j] = sum over t_key of query_features * weight_6 */
                        if (__builtin_expect(!finite_v3(query_features, 32, 64, t_key1 - t_key0),
                            0)) { /* infinity and NaN affect only queries that see them */
                            dot15_v3(round_up(j1 - j0, 8), t_key1 - t_key0, query_features, weight_6, sum_4);
                            for (int64_t t_key = 0; t_key < t_key1 - t_key0; t_key++) {
                                mask_v3 in_region[4] = {0};
                                if (finite_v3(query_features + t_key * 1, 32, 64, 1)) continue;
                                for (int64_t j = 0; j < j1 - j0; j += 8) {
                                    in_region[j / 8] = __builtin_convertvector((j0 + j + lane_v3) < (t_key0 + t_key),
                                        mask_v3);
                                }
                                add_seen_v3(64, sum_4, 32, query_features + t_key * 1, 32, weight_6 + t_key * 32,
                                    in_region, j1 - j0);
                            }
                        } else
                            dot16_v3(round_up(j1 - j0, 8), t_key1 - t_key0, query_features, weight_6, sum_4);
                        /* query_sum_5 = 0.0f */
                        for (int64_t j = 0; j < j1 - j0; j += 8) {
                            store_v3(query_sum_5 + j, splat_v3(0.0f));
                        }
                        /* sum_2 = (query_3 + sum_2) + sum_4; query_sum_5 += sum_2 * (k_tile * select(query_sum == 0.0f,
                           0.0f, neg((1.0f / sqrt(query_sum)) ... */
                        for (int64_t j = 0; j < j1 - j0; j += 8) {
                            const vec_v3 query_sum_52 = load_v3(query_sum + j);
                            const vec_v3 t_53 = sqrt_v3(query_sum_52);
                            const vec_v3 t_54 = pick_v3(query_sum_52 == 0.0f, splat_v3(0.0f),
                                (-((1.0f / t_53) * (0.5f / t_53))) / t_53);
                            vec_v3 query_sum_5_in = (vec_v3){0};
                            for (int64_t d = 0; d < 64; d++) {
                                const vec_v3 sum_2_50 = load_v3(sum_2 + d * 32 + j);
                                const vec_v3 sum_2_new51 = (load_v3(query_3 + d * 32 + j) + sum_2_50) + load_v3(sum_4 +
                                    d * 32 + j);
                                store_v3(sum_2 + d * 32 + j, sum_2_new51);
                                query_sum_5_in += sum_2_new51 * (load_v3(k_tile + d * 32 + j) * t_54);
                            }
                            store_v3(query_sum_5 + j, load_v3(query_sum_5 + j) + query_sum_5_in);
                        }
                        /* sum_2 = (sum_2 * select(query_sum == 0.0f, 0.0f,
                           1.0f / sqrt(query_sum))) + (query_sum_5 * (k_tile * 2.0f)) */
                        for (int64_t j = 0; j < j1 - j0; j += 8) {
                            const vec_v3 query_sum_55 = load_v3(query_sum + j);
                            const vec_v3 t_56 = pick_v3(query_sum_55 == 0.0f, splat_v3(0.0f),
                                1.0f / sqrt_v3(query_sum_55));
                            const vec_v3 query_sum_5_57 = load_v3(query_sum_5 + j);
                            for (int64_t d = 0; d < 64; d++) {
                                store_v3(sum_2 + d * 32 + j, (load_v3(sum_2 + d * 32 + j) * t_56) + (query_sum_5_57 *
                                    (load_v3(k_tile + d * 32 + j) * 2.0f)));
                            }
                        }
                        /* linear_part_3 = sum_2, transposed back */
                        transpose_out_v3(sum_2, 32, 64, j1 - j0, linear_part_3 + j0 * linear_part_3_row,
                            linear_part_3_row, -32);
                    }
                    if (linear_part_4) {
                        /* score_4_turned = score_4, with zeros beyond the last row */
                        transpose_padded_v3(score_4, 32, t_key1 - t_key0, j1 - j0, score_4_turned, 32, -32);
                        /* score_4_turned = score_4_turned * score */
                        for (int64_t j = 0; j < j1 - j0; j++) {
                            for (int64_t t_key = 0; t_key < t_key1 - t_key0; t_key += 8) {
                                store_v3(score_4_turned + j * 32 + t_key, load_v3(score_4_turned + j * 32 + t_key) *
                                    load_v3(score + j * 32 + t_key));
                            }
                        }
                        /* row_sum_2 = 0.0f */
                        for (int64_t t_key = 0; t_key < t_key1 - t_key0; t_key += 8) {
                            store_v3(row_sum_2 + t_key, splat_v3(0.0f));
                        }
                        /* score_4_turned = select(j < t_key, score_4_turned, 0.0f); row_sum_2 += score_4_turned */
                        for (int64_t t_key = 0; t_key < t_key1 - t_key0; t_key += 8) {
                            const ints_v3 t_58 = t_key0 + t_key + lane_v3;
                            vec_v3 row_sum_2_in = (vec_v3){0};
                            for (int64_t j = 0; j < j1 - j0; j++) {
                                const vec_v3 score_4_turned_59 = load_v3(score_4_turned + j * 32 + t_key);
                                const vec_v3 score_4_turned_new60 = pick_v3(__builtin_convertvector((j0 + j) < t_58,
                                    mask_v3), score_4_turned_59, splat_v3(0.0f));
                                store_v3(score_4_turned + j * 32 + t_key, score_4_turned_new60);
                                row_sum_2_in += score_4_turned_new60;
                            }
                            store_v3(row_sum_2 + t_key, load_v3(row_sum_2 + t_key) + row_sum_2_in);
                        }
                        /* row_sum_2 = row_sum_2 */
                        for (int64_t t_key = 0; t_key < t_key1 - t_key0; t_key += 8) {
                            store_v3(row_sum_2 + t_key, load_v3(row_sum_2 + t_key));
                        }
                        /* linear_part_4 = row_sum_2 */
                        for (int64_t t_key = 0; t_key < t_key1 - t_key0; t_key++)
                            linear_part_4[(t_key0 + t_key)] = row_sum_2[t_key];
                    }
                    if (linear_part_5) {
                        /* weight_turned = score, with zeros beyond the last row */
                        transpose_padded_v3(score, 32, j1 - j0, t_key1 - t_key0, weight_turned, 32, -32);
                        /* weight_turned = score_4 * neg(weight_turned) */
                        for (int64_t t_key = 0; t_key < t_key1 - t_key0; t_key++) {
                            for (int64_t j = 0; j < j1 - j0; j += 8) {
                                store_v3(weight_turned + t_key * 32 + j, load_v3(score_4 + t_key * 32 + j) *
                                    (-load_v3(weight_turned + t_key * 32 + j)));
                            }
                        }
                        /* row_sum_3 = 0.0f */
                        for (int64_t j = 0; j < j1 - j0; j += 8) {
                            store_v3(row_sum_3 + j, splat_v3(0.0f));
                        }
                        /* weight_turned = select(j < t_key, weight_turned, 0.0f); row_sum_3 += weight_turned */
                        for (int64_t j = 0; j < j1 - j0; j += 8) {
                            const ints_v3 t_61 = j0 + j + lane_v3;
                            vec_v3 row_sum_3_in = (vec_v3){0};
                            for (int64_t t_key = 0; t_key < t_key1 - t_key0; t_key++) {
                                const vec_v3 weight_turned_62 = load_v3(weight_turned + t_key * 32 + j);
                                const vec_v3 weight_turned_new63 = pick_v3(__builtin_convertvector(t_61 < (t_key0 +
                                    t_key), mask_v3), weight_turned_62, splat_v3(0.0f));
                                store_v3(weight_turned + t_key * 32 + j, weight_turned_new63);
                                row_sum_3_in += weight_turned_new63;
                            }
                            store_v3(row_sum_3 + j, load_v3(row_sum_3 + j) + row_sum_3_in);
                        }
                        /* row_sum = (row_sum + query_sum_3) + row_sum_3 */
                        for (int64_t j = 0; j < j1 - j0; j += 8) {
                            store_v3(row_sum + j, (load_v3(row_sum + j) + load_v3(query_sum_3 + j)) + load_v3(row_sum_3
                                + j));
                        }
                        /* linear_part_5 = row_sum */
                        for (int64_t j = 0; j < j1 - j0; j++)
                            linear_part_5[(j0 + j)] = row_sum[j];
                    }
                    /* state[f][e] += sum over t_key of query_features_4 * key_2 */
                    dot17_v3(t_key1 - t_key0, query_features_4, key_2, state);
                }
            }
        }
    }
}

/* Computes task number `task`: one tile of queries of one head. `work` is this thread's workspace. */
TARGET_v3 static void gated_deltanet_linear_dq_dlog_decay_q_dk_dlog_decay_k_v3(const struct call *call, int64_t task,
    unsigned char *work)
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
    const float *const log_decay_q_low = call->log_decay_q_low + b * call->log_decay_q_low_at.batch + g * members *
        call->log_decay_q_low_at.head;
    const int64_t log_decay_q_low_head = call->log_decay_q_low_at.head;
    const float *const log_decay_q = call->log_decay_q + b * call->log_decay_q_at.batch + g * members *
        call->log_decay_q_at.head;
    const int64_t log_decay_q_head = call->log_decay_q_at.head;
    const float *const log_decay_k_low = call->log_decay_k_low + b * call->log_decay_k_low_at.batch + g * members *
        call->log_decay_k_low_at.head;
    const float *const log_decay_k = call->log_decay_k + b * call->log_decay_k_at.batch + g * members *
        call->log_decay_k_at.head;
    const float *const log_decay_chunk_low = call->log_decay_chunk_low + b * call->log_decay_chunk_low_at.batch + g *
        members * call->log_decay_chunk_low_at.head;
    const float *const log_decay_chunk = call->log_decay_chunk + b * call->log_decay_chunk_at.batch + g * members *
        call->log_decay_chunk_at.head;
    const float *const beta_array = call->beta_array + b * call->beta_array_at.batch + g * members *
        call->beta_array_at.head;
    const int64_t beta_array_row = call->beta_array_at.row;
    const float *const dout = call->dout + b * call->p.dout.batch + g * members * call->p.dout.head;
    const int64_t dout_row = call->p.dout.row;
    const int64_t dout_head = call->p.dout.head;
    const float *const saved_solution = call->saved_solution ? call->saved_solution + b * call->saved_solution_at.batch
        + g * call->saved_solution_at.head : NULL;
    const int64_t saved_solution_row = call->saved_solution_at.row;
    const float *const linear_part_1 = call->linear_part_1 ? call->linear_part_1 + b * call->linear_part_1_at.batch + g
        * call->linear_part_1_at.head : NULL;
    const int64_t linear_part_1_row = call->linear_part_1_at.row;
    const float *const linear_part_2 = call->linear_part_2 ? call->linear_part_2 + b * call->linear_part_2_at.batch + g
        * call->linear_part_2_at.head : NULL;
    const int64_t linear_part_2_row = call->linear_part_2_at.row;
    const float *const linear_part_3 = call->linear_part_3 ? call->linear_part_3 + b * call->linear_part_3_at.batch + g
        * call->linear_part_3_at.head : NULL;
    const int64_t linear_part_3_row = call->linear_part_3_at.row;
    const float *const linear_part_4 = call->linear_part_4 ? call->linear_part_4 + (b * kv_heads + g) * n_k : NULL;
    const float *const linear_part_5 = call->linear_part_5 ? call->linear_part_5 + (b * kv_heads + g) * n_k : NULL;
    float *const state = (float *)(void *)(work + 0); /* [f: 64, e: 64] */
    float *const query_sum = (float *)(void *)(work + 16384); /* [j: 32] */
    float *const query_features = (float *)(void *)(work + 16512); /* [d: 64, j: 32] */
    float *const query_features_2 = (float *)(void *)(work + 24704); /* [f: 64, j: 32] */
    float *const query_scale = (float *)(void *)(work + 32896); /* [j: 32] */
    float *const key_features = (float *)(void *)(work + 33024); /* [j: 32, e: 64] */
    float *const sum_from_state = (float *)(void *)(work + 41216); /* [f: 64, t_key: 32] */
    float *const query_2 = (float *)(void *)(work + 49408); /* [f: 64, t_key: 32] */
    float *const query_4 = (float *)(void *)(work + 57600); /* [d: 64, t_key: 32] */
    float *const query_sum_3 = (float *)(void *)(work + 32896); /* [t_key: 32] */
    float *const query_5 = (float *)(void *)(work + 49408); /* [d: 64, t_key: 32] */
    float *const query_6 = (float *)(void *)(work + 65792); /* [d: 64, j: 32] */
    float *const dk = call->dk ? call->dk + b * call->p.dk.batch + g * call->p.dk.head : NULL;
    const int64_t dk_row = call->p.dk.row;
    float *const query_sum_4 = (float *)(void *)(work + 16384); /* [t_key: 32] */
    float *const query_scale_3 = (float *)(void *)(work + 32896); /* [j: 32] */
    float *const dlog_decay_k = call->dlog_decay_k ? call->dlog_decay_k + b * call->dlog_decay_k_at.batch + g * members
        * call->dlog_decay_k_at.head : NULL;
    const int64_t dlog_decay_k_head = call->dlog_decay_k_at.head;
    float *const query_sum_5 = (float *)(void *)(work + 16384); /* [i: 32] */
    float *const sum_from_state_2 = (float *)(void *)(work + 41216); /* [f: 64, i: 32] */
    float *const query_8 = (float *)(void *)(work + 49408); /* [f: 64, i: 32] */
    float *const score = (float *)(void *)(work + 57600); /* [j: 32, i: 32] */
    float *const weight = (float *)(void *)(work + 61696); /* [j: 32, i: 32] */
    float *const sum = (float *)(void *)(work + 65792); /* [d: 64, i: 32] */
    float *const query_sum_6 = (float *)(void *)(work + 32896); /* [i: 32] */
    float *const dq = call->dq ? call->dq + b * call->p.dq.batch + g * members * call->p.dq.head : NULL;
    const int64_t dq_row = call->p.dq.row;
    const int64_t dq_head = call->p.dq.head;
    float *const score_2 = (float *)(void *)(work + 49408); /* [j: 32, i: 32] */
    float *const row_sum = (float *)(void *)(work + 16384); /* [i: 32] */
    float *const query_sum_7 = (float *)(void *)(work + 32896); /* [i: 32] */
    float *const dlog_decay_q = call->dlog_decay_q ? call->dlog_decay_q + b * call->dlog_decay_q_at.batch + g * members
        * call->dlog_decay_q_at.head : NULL;
    const int64_t dlog_decay_q_row = call->dlog_decay_q_at.row;
    const int64_t dlog_decay_q_head = call->dlog_decay_q_at.head;
    float *const kept_share = (float *)(void *)(work + 16384); /* [f: 64] */
    float *const lost_share = (float *)(void *)(work + 16640); /* [f: 64] */
    float *const k_tile = (float *)(void *)(work + 73984); /* [d: 64, j: 32] */
    float *const log_decay_k_tile = (float *)(void *)(work + 82176); /* [j: 32] */
    float *const log_decay_k_low_tile = (float *)(void *)(work + 82304); /* [j: 32] */
    float *const beta_tile = (float *)(void *)(work + 82432); /* [j: 32] */
    float *const linear_part_1_tile = (float *)(void *)(work + 49408); /* [e: 64, t_key: 32] */
    float *const linear_part_2_tile = (float *)(void *)(work + 65792); /* [d: 64, t_key: 32] */
    float *const linear_part_3_tile = (float *)(void *)(work + 82560); /* [d: 64, j: 32] */
    float *const linear_part_4_tile = (float *)(void *)(work + 90752); /* [t_key: 32] */
    float *const linear_part_5_tile = (float *)(void *)(work + 90880); /* [j: 32] */
    float *const q_tile = (float *)(void *)(work + 91008); /* [d: 64, i: 32] */
    float *const dout_tile = (float *)(void *)(work + 61696); /* [e: 64, i: 32] */
    float *const log_decay_q_tile = (float *)(void *)(work + 90752); /* [i: 32] */
    float *const log_decay_q_low_tile = (float *)(void *)(work + 99200); /* [i: 32] */
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
                /* k_tile = k, with zeros beyond the last row */
                transpose_padded_v3(k + j0 * k_row, k_row, j1 - j0, 64, k_tile, 32, 64);
                /* log_decay_k_tile = log_decay_k, with zeros beyond the last row */
                for (int64_t j = 0; j < round_up(j1 - j0, 8); j++)
                    log_decay_k_tile[j] = j < j1 - j0 ? log_decay_k[(j0 + j)] : 0;
                /* log_decay_k_low_tile = log_decay_k_low, with zeros beyond the last row */
                for (int64_t j = 0; j < round_up(j1 - j0, 8); j++)
                    log_decay_k_low_tile[j] = j < j1 - j0 ? log_decay_k_low[(j0 + j)] : 0;
                if (beta_array_row == 1) {
                    /* beta_tile = beta_array, with zeros beyond the last row */
                    for (int64_t j = 0; j < round_up(j1 - j0, 8); j++)
                        beta_tile[j] = j < j1 - j0 ? beta_array[(j0 + j)] : 0;
                } else {
                    /* beta_tile = beta_array, with zeros beyond the last row */
                    for (int64_t j = 0; j < round_up(j1 - j0, 8); j++)
                        beta_tile[j] = j < j1 - j0 ? beta_array[(j0 + j) * beta_array_row] : 0;
                }
                if (dk) {
                    /* linear_part_3_tile = linear_part_3, with zeros beyond the last row */
                    transpose_padded_v3(linear_part_3 + j0 * linear_part_3_row, linear_part_3_row, j1 - j0, 64,
                        linear_part_3_tile, 32, 64);
                }
                if (dlog_decay_k) {
                    /* linear_part_5_tile = linear_part_5, with zeros beyond the last row */
                    for (int64_t j = 0; j < round_up(j1 - j0, 8); j++)
                        linear_part_5_tile[j] = j < j1 - j0 ? linear_part_5[(j0 + j)] : 0;
                }
                for (int64_t t_key0 = j0, t_key_end = j1; t_key0 < t_key_end; t_key0 += 32) {
                    const int64_t t_key1 = min(t_key0 + 32, t_key_end);
                    if (dk || dlog_decay_k) {
                        /* linear_part_1_tile = linear_part_1, with zeros beyond the last row */
                        transpose_padded_v3(linear_part_1 + t_key0 * linear_part_1_row, linear_part_1_row,
                            t_key1 - t_key0, 64, linear_part_1_tile, 32, 64);
                    }
                    if (dk) {
                        /* linear_part_2_tile = linear_part_2, with zeros beyond the last row */
                        transpose_padded_v3(linear_part_2 + t_key0 * linear_part_2_row, linear_part_2_row,
                            t_key1 - t_key0, 64, linear_part_2_tile, 32, 64);
                    }
                    if (dlog_decay_k) {
                        /* linear_part_4_tile = linear_part_4, with zeros beyond the last row */
                        for (int64_t t_key = 0; t_key < round_up(t_key1 - t_key0, 8); t_key++)
                            linear_part_4_tile[t_key] = t_key < t_key1 - t_key0 ? linear_part_4[(t_key0 + t_key)] : 0;
                    }
                    /* query_sum = 0.0f */
                    for (int64_t j = 0; j < j1 - j0; j += 8) {
                        store_v3(query_sum + j, splat_v3(0.0f));
                    }
                    /* query_sum += k_tile * k_tile */
                    for (int64_t j_first = 0; j_first < j1 - j0; j_first += 16) {
                        vec_v3 query_sum_in[2];
                        UNROLL for (int64_t vector = 0, j = j_first; vector < 2; vector++, j += 8) {
                            query_sum_in[vector] = (vec_v3){0};
                        }
                        for (int64_t d = 0; d < 64; d++) {
                            UNROLL for (int64_t vector = 0, j = j_first; vector < 2; vector++, j += 8) {
                                const vec_v3 k_tile_0 = load_v3(k_tile + d * 32 + j);
                                query_sum_in[vector] += k_tile_0 * k_tile_0;
                            }
                        }
                        UNROLL for (int64_t vector = 0, j = j_first; vector < 2; vector++, j += 8) {
                            store_v3(query_sum + j, load_v3(query_sum + j) + query_sum_in[vector]);
                        }
                    }
                    /* query_features = k_tile * select(query_sum == 0.0f, 0.0f, 1.0f / sqrt(query_sum)) */
                    for (int64_t j = 0; j < j1 - j0; j += 8) {
                        const vec_v3 query_sum_1 = load_v3(query_sum + j);
                        const vec_v3 t_2 = pick_v3(query_sum_1 == 0.0f, splat_v3(0.0f), 1.0f / sqrt_v3(query_sum_1));
                        for (int64_t d = 0; d < 64; d++) {
                            store_v3(query_features + d * 32 + j, load_v3(k_tile + d * 32 + j) * t_2);
                        }
                    }
                    /* query_features_2 = query_features * exp2(((log_decay_chunk - log_decay_k_tile) +
                       (log_decay_chunk_low - log_decay_k_low_tile)) * ... */
                    const float log_decay_chunk_3 = log_decay_chunk[max(min((((j0 / 32) + 1) * 32) - 1, n_k - 1), 0)];
                    const float log_decay_chunk_low_4 = log_decay_chunk_low[max(min((((j0 / 32) + 1) * 32) - 1,
                        n_k - 1), 0)];
                    for (int64_t j = 0; j < j1 - j0; j += 8) {
                        const vec_v3 t_5 = exp2_v3(((log_decay_chunk_3 - load_v3(log_decay_k_tile + j)) +
                            (log_decay_chunk_low_4 - load_v3(log_decay_k_low_tile + j))) * 1.442695f);
                        for (int64_t f = 0; f < 64; f++) {
                            store_v3(query_features_2 + f * 32 + j, load_v3(query_features + f * 32 + j) * t_5);
                        }
                    }
                    /* query_scale = beta_tile */
                    for (int64_t j = 0; j < j1 - j0; j += 8) {
                        store_v3(query_scale + j, load_v3(beta_tile + j));
                    }
                    /* key_features = saved_solution * query_scale */
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        for (int64_t e_first = 0; e_first < 64; e_first += 16) {
                            UNROLL for (int64_t vector = 0, e = e_first; vector < 2; vector++, e += 8) {
                                store_v3(key_features + j * 64 + e, load_v3(saved_solution + (j0 + j) *
                                    saved_solution_row + e) * query_scale[j]);
                            }
                        }
                    }
                    if (dk || dlog_decay_k) {
                        /* linear_part_1_tile = 0.0f - (linear_part_1_tile * query_scale) */
                        for (int64_t t_key = 0; t_key < t_key1 - t_key0; t_key += 8) {
                            const vec_v3 query_scale_6 = load_v3(query_scale + ((t_key0 + t_key) - j0));
                            for (int64_t e = 0; e < 64; e++) {
                                store_v3(linear_part_1_tile + e * 32 + t_key,
                                    0.0f - (load_v3(linear_part_1_tile + e * 32 + t_key) * query_scale_6));
                            }
                        }
                        /* sum_from_state[f][t_key] = sum over e of state * linear_part_1_tile */
                        dot6_v3(round_up(t_key1 - t_key0, 8), state, linear_part_1_tile, sum_from_state);
                    }
                    if (dk) {
                        /* query_2 = sum_from_state * select((lo() / 32) == 0, 1.0f,
                           exp2(((log_decay_k_tile - log_decay_chunk) + (log_decay_k_low_tile - l ... */
                        const int t_7 = (j0 / 32) == 0;
                        const float log_decay_chunk_8 = log_decay_chunk[max(min(j0 - 1, n_k - 1), 0)];
                        const float log_decay_chunk_low_9 = log_decay_chunk_low[max(min(j0 - 1, n_k - 1), 0)];
                        for (int64_t t_key = 0; t_key < t_key1 - t_key0; t_key += 8) {
                            const vec_v3 t_10 = t_7 ? splat_v3(1.0f) : exp2_v3(((load_v3(log_decay_k_tile + ((t_key0 +
                                t_key) - j0)) - log_decay_chunk_8) + (load_v3(log_decay_k_low_tile + ((t_key0 + t_key) -
                                j0)) - log_decay_chunk_low_9)) * 1.442695f);
                            for (int64_t f = 0; f < 64; f++) {
                                store_v3(query_2 + f * 32 + t_key, load_v3(sum_from_state + f * 32 + t_key) * t_10);
                            }
                        }
                        /* query_sum_3 = 0.0f */
                        for (int64_t t_key = 0; t_key < t_key1 - t_key0; t_key += 8) {
                            store_v3(query_sum_3 + t_key, splat_v3(0.0f));
                        }
                        /* linear_part_2_tile = query_2 + linear_part_2_tile;
                           query_4 = linear_part_2_tile * select(query_sum == 0.0f, 0.0f, 1.0f / sqrt(qu ... */
                        for (int64_t t_key = 0; t_key < t_key1 - t_key0; t_key += 8) {
                            const vec_v3 query_sum_13 = load_v3(query_sum + ((t_key0 + t_key) - j0));
                            const mask_v3 t_14 = query_sum_13 == 0.0f;
                            const vec_v3 t_15 = sqrt_v3(query_sum_13);
                            const vec_v3 t_16 = 1.0f / t_15;
                            const vec_v3 t_17 = pick_v3(t_14, splat_v3(0.0f), t_16);
                            const vec_v3 t_18 = pick_v3(t_14, splat_v3(0.0f), (-(t_16 * (0.5f / t_15))) / t_15);
                            vec_v3 query_sum_3_in = (vec_v3){0};
                            for (int64_t d = 0; d < 64; d++) {
                                const vec_v3 linear_part_2_tile_11 = load_v3(linear_part_2_tile + d * 32 + t_key);
                                const vec_v3 linear_part_2_tile_new12 = load_v3(query_2 + d * 32 + t_key) +
                                    linear_part_2_tile_11;
                                store_v3(linear_part_2_tile + d * 32 + t_key, linear_part_2_tile_new12);
                                store_v3(query_4 + d * 32 + t_key, linear_part_2_tile_new12 * t_17);
                                query_sum_3_in += linear_part_2_tile_new12 * (load_v3(k_tile + d * 32 + ((t_key0 +
                                    t_key) - j0)) * t_18);
                            }
                            store_v3(query_sum_3 + t_key, load_v3(query_sum_3 + t_key) + query_sum_3_in);
                        }
                        /* query_5 = query_sum_3 * (k_tile * 2.0f) */
                        for (int64_t t_key = 0; t_key < t_key1 - t_key0; t_key += 8) {
                            const vec_v3 query_sum_3_19 = load_v3(query_sum_3 + t_key);
                            for (int64_t d = 0; d < 64; d++) {
                                store_v3(query_5 + d * 32 + t_key, query_sum_3_19 * (load_v3(k_tile + d * 32 + ((t_key0
                                    + t_key) - j0)) * 2.0f));
                            }
                        }
                        /* query_6 = (query_4 + query_5) + linear_part_3_tile */
                        for (int64_t d = 0; d < 64; d++) {
                            for (int64_t j = 0; j < j1 - j0; j += 8) {
                                store_v3(query_6 + d * 32 + j, (load_v3(query_4 + d * 32 + ((j0 + j) - t_key0)) +
                                    load_v3(query_5 + d * 32 + ((j0 + j) - t_key0))) + load_v3(linear_part_3_tile + d *
                                    32 + j));
                            }
                        }
                        /* dk = query_6, transposed back */
                        transpose_out_v3(query_6, 32, 64, j1 - j0, dk + j0 * dk_row, dk_row, 64);
                    }
                    if (dlog_decay_k) {
                        /* query_sum_4 = 0.0f */
                        for (int64_t t_key = 0; t_key < t_key1 - t_key0; t_key += 8) {
                            store_v3(query_sum_4 + t_key, splat_v3(0.0f));
                        }
                        /* query_sum_4 += sum_from_state * (query_features * select((lo() / 32) == 0, 0.0f,
                           exp2(((log_decay_k_tile - log_decay_chunk) + (l ... */
                        const int t_20 = (j0 / 32) == 0;
                        const float log_decay_chunk_21 = log_decay_chunk[max(min(j0 - 1, n_k - 1), 0)];
                        const float log_decay_chunk_low_22 = log_decay_chunk_low[max(min(j0 - 1, n_k - 1), 0)];
                        for (int64_t t_key = 0; t_key < t_key1 - t_key0; t_key += 8) {
                            const vec_v3 t_23 = t_20 ? splat_v3(0.0f) : exp2_v3(((load_v3(log_decay_k_tile + ((t_key0 +
                                t_key) - j0)) - log_decay_chunk_21) + (load_v3(log_decay_k_low_tile + ((t_key0 + t_key)
                                - j0)) - log_decay_chunk_low_22)) * 1.442695f);
                            vec_v3 query_sum_4_in = (vec_v3){0};
                            for (int64_t f = 0; f < 64; f++) {
                                query_sum_4_in += load_v3(sum_from_state + f * 32 + t_key) * (load_v3(query_features + f
                                    * 32 + ((t_key0 + t_key) - j0)) * t_23);
                            }
                            store_v3(query_sum_4 + t_key, load_v3(query_sum_4 + t_key) + query_sum_4_in);
                        }
                        /* query_sum_4 = query_sum_4 + linear_part_4_tile */
                        for (int64_t t_key = 0; t_key < t_key1 - t_key0; t_key += 8) {
                            store_v3(query_sum_4 + t_key, load_v3(query_sum_4 + t_key) + load_v3(linear_part_4_tile +
                                t_key));
                        }
                        /* query_scale_3 = select(m == 0, query_sum_4 + linear_part_5_tile, 0.0f) */
                        const int t_24 = m == 0;
                        for (int64_t j = 0; j < j1 - j0; j += 8) {
                            store_v3(query_scale_3 + j, t_24 ? load_v3(query_sum_4 + ((j0 + j) - t_key0)) +
                                load_v3(linear_part_5_tile + j) : splat_v3(0.0f));
                        }
                        /* dlog_decay_k = query_scale_3 */
                        for (int64_t j = 0; j < j1 - j0; j++)
                            dlog_decay_k[m * dlog_decay_k_head + (j0 + j)] = query_scale_3[j];
                    }
                    for (int64_t i0 = ((j0 / 32) == 0) ? 0 : max(0, j0 - query_start), i_end = min(n_q,
                        (((j0 / 32) + 1) * 32) - query_start); i0 < i_end; i0 += 32) {
                        const int64_t i1 = min(i0 + 32, i_end);
                        if (dq || dlog_decay_q) {
                            /* q_tile = q, with zeros beyond the last row */
                            transpose_padded_v3(q + m * q_head + i0 * q_row, q_row, i1 - i0, 64, q_tile, 32, 64);
                            /* dout_tile = dout, with zeros beyond the last row */
                            transpose_padded_v3(dout + m * dout_head + i0 * dout_row, dout_row, i1 - i0, 64, dout_tile,
                                32, 64);
                            /* log_decay_q_tile = log_decay_q, with zeros beyond the last row */
                            for (int64_t i = 0; i < round_up(i1 - i0, 8); i++)
                                log_decay_q_tile[i] = i < i1 - i0 ? log_decay_q[m * log_decay_q_head + (i0 + i)] : 0;
                            /* log_decay_q_low_tile = log_decay_q_low, with zeros beyond the last row */
                            for (int64_t i = 0; i < round_up(i1 - i0, 8); i++)
                                log_decay_q_low_tile[i] = i < i1 - i0 ? log_decay_q_low[m * log_decay_q_low_head + (i0 +
                                    i)] : 0;
                            /* query_sum_5 = 0.0f */
                            for (int64_t i = 0; i < i1 - i0; i += 8) {
                                store_v3(query_sum_5 + i, splat_v3(0.0f));
                            }
                            /* sum_from_state_2[f][i] = sum over e of state * dout_tile */
                            dot6_v3(round_up(i1 - i0, 8), state, dout_tile, sum_from_state_2);
                        }
                        if (dq) {
                            /* query_8 = sum_from_state_2 * select((lo() / 32) == 0, 1.0f,
                               exp2(((log_decay_q_tile - log_decay_chunk) + (log_decay_q_low_tile - ... */
                            const int t_25 = (j0 / 32) == 0;
                            const float log_decay_chunk_26 = log_decay_chunk[max(min(j0 - 1, n_k - 1), 0)];
                            const float log_decay_chunk_low_27 = log_decay_chunk_low[max(min(j0 - 1, n_k - 1), 0)];
                            for (int64_t i = 0; i < i1 - i0; i += 8) {
                                const vec_v3 t_28 = t_25 ? splat_v3(1.0f) : exp2_v3(((load_v3(log_decay_q_tile + i) -
                                    log_decay_chunk_26) + (load_v3(log_decay_q_low_tile + i) - log_decay_chunk_low_27))
                                    * 1.442695f);
                                for (int64_t f = 0; f < 64; f++) {
                                    store_v3(query_8 + f * 32 + i, load_v3(sum_from_state_2 + f * 32 + i) * t_28);
                                }
                            }
                        }
                        if (dq || dlog_decay_q) {
                            /* score[j][i] = sum over e of key_features * dout_tile */
                            dot14_v3(round_up(i1 - i0, 8), j1 - j0, key_features, dout_tile, score);
                        }
                        if (dq) {
                            /* weight = score * exp2(((log_decay_q_tile - log_decay_k) + (log_decay_q_low_tile -
                               log_decay_k_low)) * 1.442695f) */
                            for (int64_t i = 0; i < i1 - i0; i += 8) {
                                const vec_v3 log_decay_q_tile_29 = load_v3(log_decay_q_tile + i);
                                const vec_v3 log_decay_q_low_tile_30 = load_v3(log_decay_q_low_tile + i);
                                for (int64_t j = 0; j < j1 - j0; j++) {
                                    store_v3(weight + j * 32 + i, load_v3(score + j * 32 + i) *
                                        exp2_v3(((log_decay_q_tile_29 - log_decay_k[(j0 + j)]) +
                                        (log_decay_q_low_tile_30 - log_decay_k_low[(j0 + j)])) * 1.442695f));
                                }
                            }
                            /* weight = select(j <= (i + query_start), weight, 0.0f) */
                            for (int64_t i = 0; i < i1 - i0; i += 8) {
                                const ints_v3 t_31 = (i0 + i + lane_v3) + query_start;
                                for (int64_t j = 0; j < j1 - j0; j++) {
                                    store_v3(weight + j * 32 + i, pick_v3(__builtin_convertvector((j0 + j) <= t_31,
                                        mask_v3), load_v3(weight + j * 32 + i), splat_v3(0.0f)));
                                }
                            }
                            /* sum[d][i] = sum over j of query_features * weight */
                            if (__builtin_expect(!finite_v3(query_features, 32, 64, j1 - j0),
                                0)) { /* infinity and NaN affect only queries that see them */
                                dot15_v3(round_up(i1 - i0, 8), j1 - j0, query_features, weight, sum);
                                for (int64_t j = 0; j < j1 - j0; j++) {
                                    mask_v3 in_region[4] = {0};
                                    if (finite_v3(query_features + j * 1, 32, 64, 1)) continue;
                                    for (int64_t i = 0; i < i1 - i0; i += 8) {
                                        in_region[i / 8] = __builtin_convertvector((j0 + j) <= ((i0 + i + lane_v3) +
                                            query_start), mask_v3);
                                    }
                                    add_seen_v3(64, sum, 32, query_features + j * 1, 32, weight + j * 32, in_region,
                                        i1 - i0);
                                }
                            } else
                                dot16_v3(round_up(i1 - i0, 8), j1 - j0, query_features, weight, sum);
                        }
                        if (dq || dlog_decay_q) {
                            /* query_sum_5 += q_tile * q_tile; sum = query_8 + sum */
                            for (int64_t i_first = 0; i_first < i1 - i0; i_first += 16) {
                                vec_v3 query_sum_5_in[2];
                                UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += 8) {
                                    query_sum_5_in[vector] = (vec_v3){0};
                                }
                                for (int64_t d = 0; d < 64; d++) {
                                    UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += 8) {
                                        const vec_v3 q_tile_32 = load_v3(q_tile + d * 32 + i);
                                        query_sum_5_in[vector] += q_tile_32 * q_tile_32;
                                        store_v3(sum + d * 32 + i, load_v3(query_8 + d * 32 + i) + load_v3(sum + d * 32
                                            + i));
                                    }
                                }
                                UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += 8) {
                                    store_v3(query_sum_5 + i, load_v3(query_sum_5 + i) + query_sum_5_in[vector]);
                                }
                            }
                        }
                        if (dq) {
                            /* query_sum_6 = 0.0f */
                            for (int64_t i = 0; i < i1 - i0; i += 8) {
                                store_v3(query_sum_6 + i, splat_v3(0.0f));
                            }
                            /* query_sum_6 += sum * ((q_tile * select(query_sum_5 == 0.0f, 0.0f,
                               neg((1.0f / sqrt(query_sum_5)) * (0.5f / sqrt(query_sum_5))) / ... */
                            for (int64_t i = 0; i < i1 - i0; i += 8) {
                                const vec_v3 query_sum_5_33 = load_v3(query_sum_5 + i);
                                const vec_v3 t_34 = sqrt_v3(query_sum_5_33);
                                const vec_v3 t_35 = pick_v3(query_sum_5_33 == 0.0f, splat_v3(0.0f),
                                    (-((1.0f / t_34) * (0.5f / t_34))) / t_34);
                                vec_v3 query_sum_6_in = (vec_v3){0};
                                for (int64_t d = 0; d < 64; d++) {
                                    query_sum_6_in += load_v3(sum + d * 32 + i) * ((load_v3(q_tile + d * 32 + i) * t_35)
                                        * 0.125f);
                                }
                                store_v3(query_sum_6 + i, load_v3(query_sum_6 + i) + query_sum_6_in);
                            }
                            /* sum = (sum * (select(query_sum_5 == 0.0f, 0.0f,
                               1.0f / sqrt(query_sum_5)) * 0.125f)) + (query_sum_6 * (q_tile * 2.0f)) */
                            for (int64_t i = 0; i < i1 - i0; i += 8) {
                                const vec_v3 query_sum_5_36 = load_v3(query_sum_5 + i);
                                const vec_v3 t_37 = pick_v3(query_sum_5_36 == 0.0f, splat_v3(0.0f),
                                    1.0f / sqrt_v3(query_sum_5_36)) * 0.125f;
                                const vec_v3 query_sum_6_38 = load_v3(query_sum_6 + i);
                                for (int64_t d = 0; d < 64; d++) {
                                    store_v3(sum + d * 32 + i, (load_v3(sum + d * 32 + i) * t_37) + (query_sum_6_38 *
                                        (load_v3(q_tile + d * 32 + i) * 2.0f)));
                                }
                            }
                            /* dq = sum, transposed back */
                            transpose_out_v3(sum, 32, 64, i1 - i0, dq + m * dq_head + i0 * dq_row, dq_row, 64);
                        }
                        if (dlog_decay_q) {
                            /* q_tile = (q_tile * select(query_sum_5 == 0.0f, 0.0f,
                               1.0f / sqrt(query_sum_5))) * 0.125f */
                            for (int64_t i = 0; i < i1 - i0; i += 8) {
                                const vec_v3 query_sum_5_39 = load_v3(query_sum_5 + i);
                                const vec_v3 t_40 = pick_v3(query_sum_5_39 == 0.0f, splat_v3(0.0f),
                                    1.0f / sqrt_v3(query_sum_5_39));
                                for (int64_t d = 0; d < 64; d++) {
                                    store_v3(q_tile + d * 32 + i, (load_v3(q_tile + d * 32 + i) * t_40) * 0.125f);
                                }
                            }
                            /* score_2[j][i] = sum over d of query_features * q_tile */
                            dot0_v3(round_up(i1 - i0, 8), j1 - j0, query_features, q_tile, score_2);
                            /* score_2 = score * (score_2 * exp2(((log_decay_q_tile - log_decay_k) +
                               (log_decay_q_low_tile - log_decay_k_low)) * 1.442695f)) */
                            for (int64_t i = 0; i < i1 - i0; i += 8) {
                                const vec_v3 log_decay_q_tile_41 = load_v3(log_decay_q_tile + i);
                                const vec_v3 log_decay_q_low_tile_42 = load_v3(log_decay_q_low_tile + i);
                                for (int64_t j = 0; j < j1 - j0; j++) {
                                    store_v3(score_2 + j * 32 + i, load_v3(score + j * 32 + i) * (load_v3(score_2 + j *
                                        32 + i) * exp2_v3(((log_decay_q_tile_41 - log_decay_k[(j0 + j)]) +
                                        (log_decay_q_low_tile_42 - log_decay_k_low[(j0 + j)])) * 1.442695f)));
                                }
                            }
                            /* row_sum = 0.0f */
                            for (int64_t i = 0; i < i1 - i0; i += 8) {
                                store_v3(row_sum + i, splat_v3(0.0f));
                            }
                            /* score_2 = select(j <= (i + query_start), score_2, 0.0f); row_sum += score_2 */
                            for (int64_t i = 0; i < i1 - i0; i += 8) {
                                const ints_v3 t_43 = (i0 + i + lane_v3) + query_start;
                                vec_v3 row_sum_in = (vec_v3){0};
                                for (int64_t j = 0; j < j1 - j0; j++) {
                                    const vec_v3 score_2_44 = load_v3(score_2 + j * 32 + i);
                                    const vec_v3 score_2_new45 = pick_v3(__builtin_convertvector((j0 + j) <= t_43,
                                        mask_v3), score_2_44, splat_v3(0.0f));
                                    store_v3(score_2 + j * 32 + i, score_2_new45);
                                    row_sum_in += score_2_new45;
                                }
                                store_v3(row_sum + i, load_v3(row_sum + i) + row_sum_in);
                            }
                            /* query_sum_7 = 0.0f */
                            for (int64_t i = 0; i < i1 - i0; i += 8) {
                                store_v3(query_sum_7 + i, splat_v3(0.0f));
                            }
                            /* query_sum_7 += sum_from_state_2 * (q_tile * select((lo() / 32) == 0, 0.0f,
                               exp2(((log_decay_q_tile - log_decay_chunk) + (log_dec ... */
                            const int t_46 = (j0 / 32) == 0;
                            const float log_decay_chunk_47 = log_decay_chunk[max(min(j0 - 1, n_k - 1), 0)];
                            const float log_decay_chunk_low_48 = log_decay_chunk_low[max(min(j0 - 1, n_k - 1), 0)];
                            for (int64_t i = 0; i < i1 - i0; i += 8) {
                                const vec_v3 t_49 = t_46 ? splat_v3(0.0f) : exp2_v3(((load_v3(log_decay_q_tile + i) -
                                    log_decay_chunk_47) + (load_v3(log_decay_q_low_tile + i) - log_decay_chunk_low_48))
                                    * 1.442695f);
                                vec_v3 query_sum_7_in = (vec_v3){0};
                                for (int64_t f = 0; f < 64; f++) {
                                    query_sum_7_in += load_v3(sum_from_state_2 + f * 32 + i) * (load_v3(q_tile + f * 32
                                        + i) * t_49);
                                }
                                store_v3(query_sum_7 + i, load_v3(query_sum_7 + i) + query_sum_7_in);
                            }
                            /* row_sum = row_sum + query_sum_7 */
                            for (int64_t i = 0; i < i1 - i0; i += 8) {
                                store_v3(row_sum + i, load_v3(row_sum + i) + load_v3(query_sum_7 + i));
                            }
                            /* dlog_decay_q = row_sum */
                            for (int64_t i = 0; i < i1 - i0; i++)
                                dlog_decay_q[m * dlog_decay_q_head + (i0 + i) * dlog_decay_q_row] = row_sum[i];
                        }
                    }
                    /* kept_share = select(exp2(((log_decay_chunk - log_decay_chunk) + (log_decay_chunk_low -
                       log_decay_chunk_low)) * 1.442695f) < 0.5f ... */
                    const float t_50 = (log_decay_chunk[max(min((((j0 / 32) + 1) * 32) - 1, n_k - 1),
                        0)] - log_decay_chunk[max(min(j0 - 1, n_k - 1), 0)]) + (log_decay_chunk_low[max(min((((j0 / 32)
                        + 1) * 32) - 1, n_k - 1), 0)] - log_decay_chunk_low[max(min(j0 - 1, n_k - 1), 0)]);
                    const float t_51 = exp2f(t_50 * 1.442695f);
                    const int t_52 = t_51 < 0.5f;
                    const float t_53 = t_52 ? t_51 : 1.0f;
                    const float t_54 = t_52 ? 0.0f : (-expm1f(t_50));
                    for (int64_t f = 0; f < 64; f += 8) {
                        store_v3(kept_share + f, splat_v3(t_53));
                        store_v3(lost_share + f, splat_v3(t_54));
                    }
                    /* state[f][e] = state * kept_share - state * lost_share + sum over j of query_features_2 *
                       key_features */
                    dot5_v3(j1 - j0, query_features_2, key_features, state, kept_share, lost_share);
                }
            }
        }
    }
}

/* Computes task number `task`: one tile of keys of one head. `work` is this thread's workspace. */
TARGET_v3 static void gated_deltanet_linear_terms_dgate_v3(const struct call *call, int64_t task, unsigned char *work)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_k = call->p.n_k;
    const int64_t tiles = (n_k + 64 - 1) / 64, j0 = (tiles - 1 - task % tiles) * 64,
        j1 = min(j0 + 64, n_k);
    const int64_t m = task / tiles % members;
    const int64_t g = task / tiles / members % kv_heads;
    const int64_t b = task / tiles / members / kv_heads;
    const float *const gate_array = call->gate_array + b * call->gate_array_at.batch + (g * members + m) *
        call->gate_array_at.head;
    const int64_t gate_array_row = call->gate_array_at.row;
    const float *const dlog_decay = call->dlog_decay + b * call->dlog_decay_at.batch + (g * members + m) *
        call->dlog_decay_at.head;
    float *const dgate_array = call->dgate_array ? call->dgate_array + ((b * kv_heads + g) * members + m) * n_k : NULL;
    float *const gate_tile = (float *)(void *)(work + 0); /* [j: 64] */
    float *const dlog_decay_tile = (float *)(void *)(work + 256); /* [j: 64] */
    if (gate_array_row == 1) {
        /* gate_tile = gate_array, with zeros beyond the last row */
        for (int64_t j = 0; j < round_up(j1 - j0, 8); j++)
            gate_tile[j] = j < j1 - j0 ? gate_array[(j0 + j)] : 0;
    } else {
        /* gate_tile = gate_array, with zeros beyond the last row */
        for (int64_t j = 0; j < round_up(j1 - j0, 8); j++)
            gate_tile[j] = j < j1 - j0 ? gate_array[(j0 + j) * gate_array_row] : 0;
    }
    /* dlog_decay_tile = dlog_decay, with zeros beyond the last row */
    for (int64_t j = 0; j < round_up(j1 - j0, 8); j++)
        dlog_decay_tile[j] = j < j1 - j0 ? dlog_decay[(j0 + j)] : 0;
    /* gate_tile = dlog_decay_tile * select(gate_tile < -1e+04f, 0.0f, 1.0f) */
    for (int64_t j = 0; j < j1 - j0; j += 8) {
        store_v3(gate_tile + j, load_v3(dlog_decay_tile + j) * pick_v3(load_v3(gate_tile + j) < (-1e+04f),
            splat_v3(0.0f), splat_v3(1.0f)));
    }
    if (dgate_array) {
        /* dgate_array = gate_tile */
        for (int64_t j = 0; j < j1 - j0; j++)
            dgate_array[(j0 + j)] = gate_tile[j];
    }
}

/* Computes task number `task`: one tile of queries of one head. `work` is this thread's workspace. */
TARGET_v3 static void gated_deltanet_terms_v3(const struct call *call, int64_t task, unsigned char *work)
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
    float *const result = (float *)(void *)(work + 0); /* [i: 64] */
    float *const log_decay_k = call->log_decay_k ? call->log_decay_k + b * call->log_decay_k_at.batch + (g * members +
        m) * call->log_decay_k_at.head : NULL;
    const int64_t log_decay_k_row = call->log_decay_k_at.row;
    float *const gate_at = (float *)(void *)(work + 256); /* [i: 64] */
    /* gate_at = gate_array, at computed subscripts */
    for (int64_t i = 0; i < i1 - i0; i++) gate_at[i] = gate_array[((i0 + i) + n_k - n_q) * gate_array_row];
    for (int64_t i = i1 - i0; i < round_up(i1 - i0, 8); i++) gate_at[i] = 0;
    /* result = max(gate_at, -1e+04f) */
    for (int64_t i = 0; i < i1 - i0; i += 8) {
        store_v3(result + i, max_v3(load_v3(gate_at + i), splat_v3(-1e+04f)));
    }
    if (log_decay_k) {
        /* log_decay_k = result */
        for (int64_t i = 0; i < i1 - i0; i++)
            log_decay_k[(i0 + i) * log_decay_k_row] = result[i];
    }
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

INLINE vec_any sqrt_any(vec_any x)
{
    vec_any y = x;
    for (int k = 0; k < 4; k++) y[k] = sqrtf(x[k]);
    return y;
}

/* Transposes 4 vectors in place. Each step swaps one bit of the row and column numbers. */
INLINE void exchange_any(vec_any *t)
{
    UNROLL for (int r = 0; r < 4; r++)
        if (!(r & 1)) {
            const vec_any a = t[r], b = t[r + 1];
            t[r] = __builtin_shufflevector(a, b, 0, 4, 2, 6);
            t[r + 1] = __builtin_shufflevector(a, b, 1, 5, 3, 7);
        }
    UNROLL for (int r = 0; r < 4; r++)
        if (!(r & 2)) {
            const vec_any a = t[r], b = t[r + 2];
            t[r] = __builtin_shufflevector(a, b, 0, 1, 4, 5);
            t[r + 2] = __builtin_shufflevector(a, b, 2, 3, 6, 7);
        }
}

/* Transposes: to[y][x] = from[x][y]. It works in squares of 4 rows and columns, so that cache lines are written at
   once. Rows are prefetched `ahead` rows early: rows of `to` if `out`, otherwise rows of `from`. */
INLINE void transpose_some_any(const float *from, int64_t from_row, int64_t rows, int64_t columns, float *to,
    int64_t to_row, int64_t ahead, const int out)
{
    const int64_t whole = rows - rows % 4, deep = columns - columns % 4;
    for (int64_t k = 0; k < whole / 4 * (deep / 4); k++) {
        const int64_t row = k / (deep / 4) * 4, column = k % (deep / 4) * 4;
        vec_any t[4];
        if (out)
            UNROLL for (int r = 0; r < 4; r++) __builtin_prefetch(to + (column + r + ahead) * to_row + row, 1, 2);
        else
            UNROLL for (int r = 0; r < 4; r++)
                __builtin_prefetch(from + (row + r + ahead) * from_row + column, 0, 2);
        UNROLL for (int r = 0; r < 4; r++) t[r] = load_any(from + (row + r) * from_row + column);
        exchange_any(t);
        UNROLL for (int r = 0; r < 4; r++) store_any(to + (column + r) * to_row + row, t[r]);
    }
    for (int64_t column = deep; column < columns; column++)
        for (int64_t row = 0; row < whole; row++) to[column * to_row + row] = from[row * from_row + column];
    for (int64_t row = whole; row < rows; row++)
        for (int64_t column = 0; column < columns; column++)
            to[column * to_row + row] = from[row * from_row + column];
}

/* Like transpose_any, but to[y][x] is 0 from x = rows on, up to a whole vector. Few rows then need no strided stores.
   */
APART void transpose_padded_any(const float *from, int64_t from_row, int64_t rows, int64_t columns, float *to,
    int64_t to_row, int64_t ahead)
{
    const int64_t whole = rows - rows % 4, deep = columns - columns % 4, left = rows - whole;
    transpose_some_any(from, from_row, whole, columns, to, to_row, ahead, 0);
    from += whole * from_row;
    to += whole;
    for (int64_t column = 0; column < deep && left > 1; column += 4) {
        vec_any t[4];
        UNROLL for (int r = 0; r < 4; r++) t[r] = r < left ? load_any(from + r * from_row + column) : (vec_any){0};
        exchange_any(t);
        UNROLL for (int r = 0; r < 4; r++) store_any(to + (column + r) * to_row, t[r]);
    }
    for (int64_t column = left > 1 ? deep : 0; column < columns && left > 0; column++) {
        store_any(to + column * to_row, (vec_any){from[column]});
        for (int64_t row = 1; row < left; row++) to[column * to_row + row] = from[row * from_row + column];
    }
}

APART void transpose_out_any(const float *from, int64_t from_row, int64_t rows, int64_t columns, float *to,
    int64_t to_row, int64_t ahead)
{
    transpose_some_any(from, from_row, rows, columns, to, to_row, ahead, 1);
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

/* sum[r][x] += values[r * step] * weights[x], but only for values that are infinite or NaN, and for lanes x in
   `seen`. */
APART void add_seen_any(int64_t rows, float *sum, int64_t sum_row, const float *values, int64_t step,
    const float *weights, const mask_any *seen, int64_t lanes)
{
    for (int64_t r = 0; r < rows; r++, sum += sum_row, values += step)
        for (int64_t x = 0; x < lanes && !finite_any(values, 0, 1, 1); x += 4)
            store_any(sum + x, pick_any(seen[x / 4], load_any(sum + x) + *values * load_any(weights + x),
                load_any(sum + x)));
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

/* Like dot_any, but a is in memory, so its rows are prefetched 64 rows early. For each row of a, `width` elements
   of a row of `next` are prefetched too, which a later product reads, and `result_width` elements of a row of `result`,
   which the task writes at its end. `result` has `results` rows. */
INLINE void dot_ahead_any(const int vectors, const int64_t lanes, int64_t rows, const int tail, int64_t steps,
    const int64_t span, const float *a, int64_t a_row, int64_t a_step, const float *b, int64_t b_step, float *c,
    int64_t c_row, const int update, const float *factor, const float *next, int64_t next_row,
    const int64_t width, const float *result, int64_t result_row, const int64_t result_width, int64_t results)
{
    const int64_t whole = rows - rows % 6, line = 64 / (int64_t)sizeof *a,
        in_blocks = lanes_in_blocks_any(vectors, lanes);
    int64_t x = 0;
    for (; x < in_blocks; x += vectors * 4) {
        const float *const f = factor ? factor + x : NULL;
        for (int64_t r = 0; r < whole; r += 6) {
            for (int64_t k = r; k < r + 6 && x == 0; k++) {
                for (int64_t t = 0; t < steps; t += line) __builtin_prefetch(a + (k + 64) * a_row + t, 0, 2);
                for (int64_t t = 0; t < width; t += line) __builtin_prefetch(next + k * next_row + t, 0, 2);
                for (int64_t t = 0; t < result_width && k < results; t += line)
                    __builtin_prefetch(result + k * result_row + t, 1, 2);
            }
            parts_any(6, vectors, steps, span, a + r * a_row, a_row, a_step, b + x, b_step, c + r * c_row + x, c_row,
                update, f);
        }
        dot_any(vectors, vectors * 4, rows % 6, tail, steps, span, a + whole * a_row, a_row, a_step, b + x, b_step,
            c + whole * c_row + x, c_row, update, f);
    }
    if (x < lanes)
        narrow_any(lanes - x, rows, steps, span, a, a_row, a_step, b + x, b_step, c + x, c_row, update,
            factor ? factor + x : NULL);
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

/* Like dot_any, but uses 0 for infinity and NaN in a. It copies one row of a at a time. */
INLINE void dot_finite_any(const int vectors, const int64_t lanes, int64_t rows, const int tail, int64_t steps,
    const int64_t span, const float *a, int64_t a_row, int64_t a_step, const float *b, int64_t b_step, float *c,
        int64_t c_row,
    const int update, const float *factor)
{
    float row[32];
    (void)tail;
    for (int64_t r = 0; r < rows; r++, a += a_row) {
        for (int64_t t = 0; t < steps; t++) {
            row[t] = finite_any(a + t * a_step, 0, 1, 1) ? a[t * a_step] : 0;
        }
        dot_any(vectors, lanes, 1, 1, steps, span, row, 0, 1, b, b_step, c + r * c_row, c_row,
            update, factor);
    }
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

/* The functions for the products below. Each calls dot_any or a similar function with constants. */
APART void dot0_any(int64_t lanes, int64_t rows, const float *a, const float *b, float *c)
{
    dot_any(/*vectors=*/2, lanes, rows, /*tail=*/-1, /*steps=*/64, /*span=*/32, a, /*a_row=*/1, /*a_step=*/32, b,
        /*b_step=*/32, c, /*c_row=*/32, /*update=*/0, /*factor=*/NULL);
}
APART void dot1_any(int64_t rows, const float *a, const float *b, float *c)
{
    dot_any(/*vectors=*/2, /*lanes=*/64, rows, /*tail=*/-1, /*steps=*/64, /*span=*/32, a, /*a_row=*/1, /*a_step=*/32, b,
        /*b_step=*/64, c, /*c_row=*/64, /*update=*/0, /*factor=*/NULL);
}
APART void dot2_any(int64_t rows, const float *w, const float *rate, const float *x, float *u)
{
    solve_any(/*lanes=*/64, /*first=*/0, rows, w, /*w_row=*/1, /*w_step=*/32, rate, /*rate_step=*/1, x, /*x_row=*/64, u,
        /*u_row=*/64);
}
APART void dot3_any(int64_t rows, int64_t steps, const float *a, const float *b, float *c)
{
    dot_finite_lanes_any(/*fetched=*/0, /*vectors=*/2, /*lanes=*/64, rows, /*tail=*/-1, steps, /*span=*/192, a,
        /*a_row=*/1, /*a_step=*/32, b, /*b_step=*/64, c, /*c_row=*/64, /*update=*/0, /*factor=*/NULL);
}
APART void dot4_any(int64_t rows, int64_t steps, const float *a, const float *b, float *c, int64_t visible)
{
    dot_until_any(/*vectors=*/2, /*lanes=*/64, rows, /*tail=*/-1, steps, /*span=*/192, a, /*a_row=*/1, /*a_step=*/32, b,
        /*b_step=*/64, c, /*c_row=*/64, visible);
}
APART void dot5_any(int64_t steps, const float *a, const float *b, float *c, const float *kept, const float *lost)
{
    dot_kept_any(/*vectors=*/2, /*lanes=*/64, /*rows=*/64, steps, a, /*a_row=*/32, /*a_step=*/1, b, /*b_step=*/64, c,
        /*c_row=*/64, kept, lost);
}
APART void dot6_any(int64_t lanes, const float *a, const float *b, float *c)
{
    dot_any(/*vectors=*/2, lanes, /*rows=*/64, /*tail=*/4, /*steps=*/64, /*span=*/32, a, /*a_row=*/64, /*a_step=*/1, b,
        /*b_step=*/32, c, /*c_row=*/32, /*update=*/0, /*factor=*/NULL);
}
APART void dot7_any(int64_t lanes, int64_t rows, const float *a, int64_t a_row, const float *b, float *c)
{
    dot_ahead_any(/*vectors=*/2, lanes, rows, /*tail=*/-1, /*steps=*/64, /*span=*/32, a, a_row, /*a_step=*/1, b,
        /*b_step=*/32, c, /*c_row=*/32, /*update=*/0, /*factor=*/NULL, /*next=*/NULL, /*next_row=*/0, /*width=*/0,
        /*result=*/NULL, /*result_row=*/0, /*result_width=*/0, /*results=*/0);
}
APART void dot8_any(int64_t rows, int64_t steps, const float *a, const float *b, int64_t b_step, float *c)
{
    dot_finite_lanes_any(/*fetched=*/0, /*vectors=*/2, /*lanes=*/64, rows, /*tail=*/-1, steps, /*span=*/192, a,
        /*a_row=*/32, /*a_step=*/1, b, b_step, c, /*c_row=*/64, /*update=*/1, /*factor=*/NULL);
}
APART void dot9_any(int64_t rows, int64_t steps, const float *a, const float *b, int64_t b_step, float *c)
{
    dot_any(/*vectors=*/2, /*lanes=*/64, rows, /*tail=*/-1, steps, /*span=*/192, a, /*a_row=*/32, /*a_step=*/1, b,
        b_step, c, /*c_row=*/64, /*update=*/1, /*factor=*/NULL);
}
APART void dot10_any(int64_t steps, const float *a, const float *b, int64_t b_step, float *c)
{
    dot_any(/*vectors=*/2, /*lanes=*/64, /*rows=*/64, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/32, /*a_step=*/1, b,
        b_step, c, /*c_row=*/64, /*update=*/1, /*factor=*/NULL);
}
APART void dot11_any(int64_t lanes, int64_t steps, const float *a, const float *b, float *c)
{
    dot_finite_any(/*vectors=*/2, lanes, /*rows=*/64, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/32, /*a_step=*/1, b,
        /*b_step=*/32, c, /*c_row=*/32, /*update=*/1, /*factor=*/NULL);
}
APART void dot12_any(int64_t lanes, int64_t steps, const float *a, const float *b, float *c)
{
    dot_any(/*vectors=*/2, lanes, /*rows=*/64, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/32, /*a_step=*/1, b,
        /*b_step=*/32, c, /*c_row=*/32, /*update=*/1, /*factor=*/NULL);
}
APART void dot13_any(int64_t rows, const float *w, int64_t w_row, int64_t w_step, const float *rate, int64_t rate_step,
    const float *x, int64_t x_row, float *u, int64_t u_row)
{
    solve_any(/*lanes=*/64, /*first=*/0, rows, w, w_row, w_step, rate, rate_step, x, x_row, u, u_row);
}
APART void dot14_any(int64_t lanes, int64_t rows, const float *a, const float *b, float *c)
{
    dot_any(/*vectors=*/2, lanes, rows, /*tail=*/-1, /*steps=*/64, /*span=*/32, a, /*a_row=*/64, /*a_step=*/1, b,
        /*b_step=*/32, c, /*c_row=*/32, /*update=*/0, /*factor=*/NULL);
}
APART void dot15_any(int64_t lanes, int64_t steps, const float *a, const float *b, float *c)
{
    dot_finite_any(/*vectors=*/2, lanes, /*rows=*/64, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/32, /*a_step=*/1, b,
        /*b_step=*/32, c, /*c_row=*/32, /*update=*/0, /*factor=*/NULL);
}
APART void dot16_any(int64_t lanes, int64_t steps, const float *a, const float *b, float *c)
{
    dot_any(/*vectors=*/2, lanes, /*rows=*/64, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/32, /*a_step=*/1, b,
        /*b_step=*/32, c, /*c_row=*/32, /*update=*/0, /*factor=*/NULL);
}
APART void dot17_any(int64_t steps, const float *a, const float *b, float *c)
{
    dot_any(/*vectors=*/2, /*lanes=*/64, /*rows=*/64, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/32, /*a_step=*/1, b,
        /*b_step=*/64, c, /*c_row=*/64, /*update=*/1, /*factor=*/NULL);
}

/* Computes task number `task`: one tile of queries of one head. `work` is this thread's workspace. */
static void gated_deltanet_linear_any(const struct call *call, int64_t task, unsigned char *work)
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
    const float *const log_decay_q_low = call->log_decay_q_low + b * call->log_decay_q_low_at.batch + g * members *
        call->log_decay_q_low_at.head;
    const int64_t log_decay_q_low_head = call->log_decay_q_low_at.head;
    const float *const log_decay_q = call->log_decay_q + b * call->log_decay_q_at.batch + g * members *
        call->log_decay_q_at.head;
    const int64_t log_decay_q_head = call->log_decay_q_at.head;
    const float *const log_decay_k_low = call->log_decay_k_low + b * call->log_decay_k_low_at.batch + g * members *
        call->log_decay_k_low_at.head;
    const float *const log_decay_k = call->log_decay_k + b * call->log_decay_k_at.batch + g * members *
        call->log_decay_k_at.head;
    const float *const log_decay_chunk_low = call->log_decay_chunk_low + b * call->log_decay_chunk_low_at.batch + g *
        members * call->log_decay_chunk_low_at.head;
    const float *const log_decay_chunk = call->log_decay_chunk + b * call->log_decay_chunk_at.batch + g * members *
        call->log_decay_chunk_at.head;
    const float *const beta_array = call->beta_array + b * call->beta_array_at.batch + g * members *
        call->beta_array_at.head;
    const int64_t beta_array_row = call->beta_array_at.row;
    float *const state = (float *)(void *)(work + 0); /* [f: 64, e: 64] */
    float *const query_sum = (float *)(void *)(work + 16384); /* [j: 32] */
    float *const query_features = (float *)(void *)(work + 16512); /* [d: 64, j: 32] */
    float *const score = (float *)(void *)(work + 24704); /* [j: 32, t_key: 32] */
    float *const query = (float *)(void *)(work + 28800); /* [f: 64, t_key: 32] */
    float *const query_scale = (float *)(void *)(work + 16384); /* [j: 32] */
    float *const query_scale_2 = (float *)(void *)(work + 36992); /* [j: 32] */
    float *const from_state = (float *)(void *)(work + 37120); /* [t_key: 32, e: 64] */
    float *const corrected = (float *)(void *)(work + 28800); /* [j: 32, e: 64] */
    float *const saved_solution = call->saved_solution ? call->saved_solution + b * call->saved_solution_at.batch + g *
        call->saved_solution_at.head : NULL;
    const int64_t saved_solution_row = call->saved_solution_at.row;
    float *const query_features_3 = (float *)(void *)(work + 36992); /* [f: 64, j: 32] */
    float *const query_sum_3 = (float *)(void *)(work + 24704); /* [i: 32] */
    float *const score_2 = (float *)(void *)(work + 24704); /* [j: 32, i: 32] */
    float *const query_2 = (float *)(void *)(work + 45184); /* [f: 64, i: 32] */
    float *const sum_from_state = (float *)(void *)(work + 53376); /* [i: 32, e: 64] */
    float *const sum = (float *)(void *)(work + 45184); /* [i: 32, e: 64] */
    float *const out = call->out + b * call->p.out.batch + g * members * call->p.out.head;
    const int64_t out_row = call->p.out.row;
    const int64_t out_head = call->p.out.head;
    float *const kept_share = (float *)(void *)(work + 16384); /* [f: 64] */
    float *const lost_share = (float *)(void *)(work + 16640); /* [f: 64] */
    float *const k_tile = (float *)(void *)(work + 61568); /* [d: 64, j: 32] */
    float *const beta_tile = (float *)(void *)(work + 69760); /* [j: 32] */
    float *const log_decay_k_tile_2 = (float *)(void *)(work + 69888); /* [j: 32] */
    float *const log_decay_k_low_tile_2 = (float *)(void *)(work + 70016); /* [j: 32] */
    float *const q_tile = (float *)(void *)(work + 53376); /* [d: 64, i: 32] */
    float *const log_decay_q_tile = (float *)(void *)(work + 70144); /* [i: 32] */
    float *const log_decay_q_low_tile = (float *)(void *)(work + 70272); /* [i: 32] */
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
                /* k_tile = k, with zeros beyond the last row */
                transpose_padded_any(k + j0 * k_row, k_row, j1 - j0, 64, k_tile, 32, 64);
                if (beta_array_row == 1) {
                    /* beta_tile = beta_array, with zeros beyond the last row */
                    for (int64_t j = 0; j < round_up(j1 - j0, 4); j++)
                        beta_tile[j] = j < j1 - j0 ? beta_array[(j0 + j)] : 0;
                } else {
                    /* beta_tile = beta_array, with zeros beyond the last row */
                    for (int64_t j = 0; j < round_up(j1 - j0, 4); j++)
                        beta_tile[j] = j < j1 - j0 ? beta_array[(j0 + j) * beta_array_row] : 0;
                }
                /* log_decay_k_tile_2 = log_decay_k, with zeros beyond the last row */
                for (int64_t j = 0; j < round_up(j1 - j0, 4); j++)
                    log_decay_k_tile_2[j] = j < j1 - j0 ? log_decay_k[(j0 + j)] : 0;
                /* log_decay_k_low_tile_2 = log_decay_k_low, with zeros beyond the last row */
                for (int64_t j = 0; j < round_up(j1 - j0, 4); j++)
                    log_decay_k_low_tile_2[j] = j < j1 - j0 ? log_decay_k_low[(j0 + j)] : 0;
                for (int64_t t_key0 = j0, t_key_end = j1; t_key0 < t_key_end; t_key0 += 32) {
                    const int64_t t_key1 = min(t_key0 + 32, t_key_end);
                    /* query_sum = 0.0f */
                    for (int64_t j = 0; j < j1 - j0; j += 4) {
                        store_any(query_sum + j, splat_any(0.0f));
                    }
                    /* query_sum += k_tile * k_tile */
                    for (int64_t j_first = 0; j_first < j1 - j0; j_first += 8) {
                        vec_any query_sum_in[2];
                        UNROLL for (int64_t vector = 0, j = j_first; vector < 2; vector++, j += 4) {
                            query_sum_in[vector] = (vec_any){0};
                        }
                        for (int64_t d = 0; d < 64; d++) {
                            UNROLL for (int64_t vector = 0, j = j_first; vector < 2; vector++, j += 4) {
                                const vec_any k_tile_0 = load_any(k_tile + d * 32 + j);
                                query_sum_in[vector] += k_tile_0 * k_tile_0;
                            }
                        }
                        UNROLL for (int64_t vector = 0, j = j_first; vector < 2; vector++, j += 4) {
                            store_any(query_sum + j, load_any(query_sum + j) + query_sum_in[vector]);
                        }
                    }
                    /* query_features = k_tile * select(query_sum == 0.0f, 0.0f, 1.0f / sqrt(query_sum)) */
                    for (int64_t j = 0; j < j1 - j0; j += 4) {
                        const vec_any query_sum_1 = load_any(query_sum + j);
                        const vec_any t_2 = pick_any(query_sum_1 == 0.0f, splat_any(0.0f),
                            1.0f / sqrt_any(query_sum_1));
                        for (int64_t d = 0; d < 64; d++) {
                            store_any(query_features + d * 32 + j, load_any(k_tile + d * 32 + j) * t_2);
                        }
                    }
                    /* score[j][t_key] = sum over d of query_features * query_features */
                    dot0_any(round_up(t_key1 - t_key0, 4), j1 - j0, query_features, query_features, score);
                    /* query = query_features * select((lo() / 32) == 0, 1.0f,
                       exp2(((log_decay_k_tile_2 - log_decay_chunk) + (log_decay_k_low_tile_2 - ... */
                    const int t_3 = (j0 / 32) == 0;
                    const float log_decay_chunk_4 = log_decay_chunk[max(min(j0 - 1, n_k - 1), 0)];
                    const float log_decay_chunk_low_5 = log_decay_chunk_low[max(min(j0 - 1, n_k - 1), 0)];
                    for (int64_t t_key = 0; t_key < t_key1 - t_key0; t_key += 4) {
                        const vec_any t_6 = t_3 ? splat_any(1.0f) : exp2_any(((load_any(log_decay_k_tile_2 + ((t_key0 +
                            t_key) - j0)) - log_decay_chunk_4) + (load_any(log_decay_k_low_tile_2 + ((t_key0 + t_key) -
                            j0)) - log_decay_chunk_low_5)) * 1.442695f);
                        for (int64_t f = 0; f < 64; f++) {
                            store_any(query + f * 32 + t_key, load_any(query_features + f * 32 + ((t_key0 + t_key) -
                                j0)) * t_6);
                        }
                    }
                    /* query_scale = beta_tile */
                    for (int64_t j = 0; j < j1 - j0; j += 4) {
                        store_any(query_scale + j, load_any(beta_tile + j));
                    }
                    /* score = (score * exp2(((log_decay_k_tile_2 - log_decay_k) + (log_decay_k_low_tile_2 -
                       log_decay_k_low)) * 1.442695f)) * query_scale */
                    for (int64_t t_key = 0; t_key < t_key1 - t_key0; t_key += 4) {
                        const vec_any log_decay_k_tile_2_7 = load_any(log_decay_k_tile_2 + ((t_key0 + t_key) - j0));
                        const vec_any log_decay_k_low_tile_2_8 = load_any(log_decay_k_low_tile_2 + ((t_key0 + t_key) -
                            j0));
                        for (int64_t j = 0; j < j1 - j0; j++) {
                            store_any(score + j * 32 + t_key, (load_any(score + j * 32 + t_key) *
                                exp2_any(((log_decay_k_tile_2_7 - log_decay_k[(j0 + j)]) + (log_decay_k_low_tile_2_8 -
                                log_decay_k_low[(j0 + j)])) * 1.442695f)) * query_scale[j]);
                        }
                    }
                    /* query_scale_2 = 1.0f */
                    for (int64_t j = 0; j < j1 - j0; j += 4) {
                        store_any(query_scale_2 + j, splat_any(1.0f));
                    }
                    /* from_state[t_key][e] = sum over f of query * state */
                    dot1_any(t_key1 - t_key0, query, state, from_state);
                    /* from_state = v - from_state */
                    for (int64_t t_key = 0; t_key < t_key1 - t_key0; t_key++) {
                        for (int64_t e_first = 0; e_first < 64; e_first += 8) {
                            UNROLL for (int64_t vector = 0, e = e_first; vector < 2; vector++, e += 4) {
                                store_any(from_state + t_key * 64 + e, load_any(v + (t_key0 + t_key) * v_row + e) -
                                    load_any(from_state + t_key * 64 + e));
                            }
                        }
                    }
                    /* corrected[t_key][e] = query_scale_2[t_key] * (from_state[t_key][e] - sum over j < t_key of score
                       * corrected[j][e]) */
                    dot2_any(t_key1 - t_key0, score, query_scale_2, from_state, corrected);
                    if (saved_solution) {
                        /* saved_solution = corrected */
                        for (int64_t j = 0; j < j1 - j0; j++)
                            for (int64_t e = 0; e < 64; e++)
                                saved_solution[(j0 + j) * saved_solution_row + e] = corrected[j * 64 + e];
                    }
                    /* query_features_3 = (query_features * exp2(((log_decay_chunk - log_decay_k_tile_2) +
                       (log_decay_chunk_low - log_decay_k_low_tile_ ... */
                    const float log_decay_chunk_9 = log_decay_chunk[max(min((((j0 / 32) + 1) * 32) - 1, n_k - 1), 0)];
                    const float log_decay_chunk_low_10 = log_decay_chunk_low[max(min((((j0 / 32) + 1) * 32) - 1,
                        n_k - 1), 0)];
                    for (int64_t j = 0; j < j1 - j0; j += 4) {
                        const vec_any t_11 = exp2_any(((log_decay_chunk_9 - load_any(log_decay_k_tile_2 + j)) +
                            (log_decay_chunk_low_10 - load_any(log_decay_k_low_tile_2 + j))) * 1.442695f);
                        const vec_any query_scale_12 = load_any(query_scale + j);
                        for (int64_t f = 0; f < 64; f++) {
                            store_any(query_features_3 + f * 32 + j, (load_any(query_features + f * 32 + j) * t_11) *
                                query_scale_12);
                        }
                    }
                    for (int64_t i0 = ((j0 / 32) == 0) ? 0 : max(0, j0 - query_start), i_end = min(n_q,
                        (((j0 / 32) + 1) * 32) - query_start); i0 < i_end; i0 += 32) {
                        const int64_t i1 = min(i0 + 32, i_end);
                        /* q_tile = q, with zeros beyond the last row */
                        transpose_padded_any(q + m * q_head + i0 * q_row, q_row, i1 - i0, 64, q_tile, 32, 64);
                        /* log_decay_q_tile = log_decay_q, with zeros beyond the last row */
                        for (int64_t i = 0; i < round_up(i1 - i0, 4); i++)
                            log_decay_q_tile[i] = i < i1 - i0 ? log_decay_q[m * log_decay_q_head + (i0 + i)] : 0;
                        /* log_decay_q_low_tile = log_decay_q_low, with zeros beyond the last row */
                        for (int64_t i = 0; i < round_up(i1 - i0, 4); i++)
                            log_decay_q_low_tile[i] = i < i1 - i0 ? log_decay_q_low[m * log_decay_q_low_head + (i0 + i)]
                                : 0;
                        /* query_sum_3 = 0.0f */
                        for (int64_t i = 0; i < i1 - i0; i += 4) {
                            store_any(query_sum_3 + i, splat_any(0.0f));
                        }
                        /* query_sum_3 += q_tile * q_tile */
                        for (int64_t i_first = 0; i_first < i1 - i0; i_first += 8) {
                            vec_any query_sum_3_in[2];
                            UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += 4) {
                                query_sum_3_in[vector] = (vec_any){0};
                            }
                            for (int64_t d = 0; d < 64; d++) {
                                UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += 4) {
                                    const vec_any q_tile_13 = load_any(q_tile + d * 32 + i);
                                    query_sum_3_in[vector] += q_tile_13 * q_tile_13;
                                }
                            }
                            UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += 4) {
                                store_any(query_sum_3 + i, load_any(query_sum_3 + i) + query_sum_3_in[vector]);
                            }
                        }
                        /* q_tile = (q_tile * select(query_sum_3 == 0.0f, 0.0f, 1.0f / sqrt(query_sum_3))) * 0.125f */
                        for (int64_t i = 0; i < i1 - i0; i += 4) {
                            const vec_any query_sum_3_14 = load_any(query_sum_3 + i);
                            const vec_any t_15 = pick_any(query_sum_3_14 == 0.0f, splat_any(0.0f),
                                1.0f / sqrt_any(query_sum_3_14));
                            for (int64_t d = 0; d < 64; d++) {
                                store_any(q_tile + d * 32 + i, (load_any(q_tile + d * 32 + i) * t_15) * 0.125f);
                            }
                        }
                        /* score_2[j][i] = sum over d of query_features * q_tile */
                        dot0_any(round_up(i1 - i0, 4), j1 - j0, query_features, q_tile, score_2);
                        /* query_2 = q_tile * select((lo() / 32) == 0, 1.0f,
                           exp2(((log_decay_q_tile - log_decay_chunk) + (log_decay_q_low_tile - log_decay ... */
                        const int t_16 = (j0 / 32) == 0;
                        const float log_decay_chunk_17 = log_decay_chunk[max(min(j0 - 1, n_k - 1), 0)];
                        const float log_decay_chunk_low_18 = log_decay_chunk_low[max(min(j0 - 1, n_k - 1), 0)];
                        for (int64_t i = 0; i < i1 - i0; i += 4) {
                            const vec_any t_19 = t_16 ? splat_any(1.0f) : exp2_any(((load_any(log_decay_q_tile + i) -
                                log_decay_chunk_17) + (load_any(log_decay_q_low_tile + i) - log_decay_chunk_low_18)) *
                                1.442695f);
                            for (int64_t f = 0; f < 64; f++) {
                                store_any(query_2 + f * 32 + i, load_any(q_tile + f * 32 + i) * t_19);
                            }
                        }
                        /* sum_from_state[i][e] = sum over f of query_2 * state */
                        dot1_any(i1 - i0, query_2, state, sum_from_state);
                        /* score_2 = (score_2 * exp2(((log_decay_q_tile - log_decay_k) + (log_decay_q_low_tile -
                           log_decay_k_low)) * 1.442695f)) * query_scale */
                        for (int64_t i = 0; i < i1 - i0; i += 4) {
                            const vec_any log_decay_q_tile_20 = load_any(log_decay_q_tile + i);
                            const vec_any log_decay_q_low_tile_21 = load_any(log_decay_q_low_tile + i);
                            for (int64_t j = 0; j < j1 - j0; j++) {
                                store_any(score_2 + j * 32 + i, (load_any(score_2 + j * 32 + i) *
                                    exp2_any(((log_decay_q_tile_20 - log_decay_k[(j0 + j)]) + (log_decay_q_low_tile_21 -
                                    log_decay_k_low[(j0 + j)])) * 1.442695f)) * query_scale[j]);
                            }
                        }
                        /* score_2 = select(j <= (i + query_start), score_2, 0.0f) */
                        for (int64_t i = 0; i < i1 - i0; i += 4) {
                            const ints_any t_22 = (i0 + i + lane_any) + query_start;
                            for (int64_t j = 0; j < j1 - j0; j++) {
                                store_any(score_2 + j * 32 + i, pick_any(__builtin_convertvector((j0 + j) <= t_22,
                                    mask_any), load_any(score_2 + j * 32 + i), splat_any(0.0f)));
                            }
                        }
                        /* sum[i][e] = sum over j of score_2 * corrected */
                        if (__builtin_expect(!finite_any(corrected, 64, j1 - j0, 64),
                            0)) { /* infinity and NaN affect only queries that see them */
                            dot3_any(i1 - i0, j1 - j0, score_2, corrected, sum);
                            for (int64_t i = 0; i < i1 - i0; i++) {
                                mask_any in_region[8] = {0};
                                const int64_t t_23 = (i0 + i) + query_start;
                                for (int64_t j = 0; j < j1 - j0; j += 4) {
                                    in_region[j / 4] = __builtin_convertvector((j0 + j + lane_any) <= t_23, mask_any);
                                }
                                add_seen_lanes_any(64, sum + i * 64, score_2 + i * 1, corrected, 64, j1 - j0,
                                    in_region);
                            }
                        } else
                            dot4_any(i1 - i0, j1 - j0, score_2, corrected, sum, i0 + query_start - j0 + 1);
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
                        for (int64_t i = 0; i < i1 - i0; i++)
                            for (int64_t e = 0; e < 64; e++)
                                out[m * out_head + (i0 + i) * out_row + e] = sum[i * 64 + e];
                    }
                    /* kept_share = select(exp2(((log_decay_chunk - log_decay_chunk) + (log_decay_chunk_low -
                       log_decay_chunk_low)) * 1.442695f) < 0.5f ... */
                    const float t_24 = (log_decay_chunk[max(min((((j0 / 32) + 1) * 32) - 1, n_k - 1),
                        0)] - log_decay_chunk[max(min(j0 - 1, n_k - 1), 0)]) + (log_decay_chunk_low[max(min((((j0 / 32)
                        + 1) * 32) - 1, n_k - 1), 0)] - log_decay_chunk_low[max(min(j0 - 1, n_k - 1), 0)]);
                    const float t_25 = exp2f(t_24 * 1.442695f);
                    const int t_26 = t_25 < 0.5f;
                    const float t_27 = t_26 ? t_25 : 1.0f;
                    const float t_28 = t_26 ? 0.0f : (-expm1f(t_24));
                    for (int64_t f = 0; f < 64; f += 4) {
                        store_any(kept_share + f, splat_any(t_27));
                        store_any(lost_share + f, splat_any(t_28));
                    }
                    /* state[f][e] = state * kept_share - state * lost_share + sum over j of query_features_3 *
                       corrected */
                    dot5_any(j1 - j0, query_features_3, corrected, state, kept_share, lost_share);
                }
            }
        }
    }
}

/* Computes task number `task`: one tile of queries of one head. `work` is this thread's workspace. */
static void gated_deltanet_linear_saved_solution_any(const struct call *call, int64_t task, unsigned char *work)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_k = call->p.n_k;
    const int64_t chunks = n_k > 0 ? (n_k - 1) / 32 + 1 : 1;
    const int64_t g = task % kv_heads;
    const int64_t b = task / kv_heads;
    const float *const k = call->k + b * call->p.k.batch + g / call->sharing * call->p.k.head;
    const int64_t k_row = call->p.k.row;
    const float *const v = call->v + b * call->p.v.batch + g * call->p.v.head;
    const int64_t v_row = call->p.v.row;
    const float *const log_decay_k_low = call->log_decay_k_low + b * call->log_decay_k_low_at.batch + g * members *
        call->log_decay_k_low_at.head;
    const float *const log_decay_k = call->log_decay_k + b * call->log_decay_k_at.batch + g * members *
        call->log_decay_k_at.head;
    const float *const log_decay_chunk_low = call->log_decay_chunk_low + b * call->log_decay_chunk_low_at.batch + g *
        members * call->log_decay_chunk_low_at.head;
    const float *const log_decay_chunk = call->log_decay_chunk + b * call->log_decay_chunk_at.batch + g * members *
        call->log_decay_chunk_at.head;
    const float *const beta_array = call->beta_array + b * call->beta_array_at.batch + g * members *
        call->beta_array_at.head;
    const int64_t beta_array_row = call->beta_array_at.row;
    float *const state = (float *)(void *)(work + 0); /* [f: 64, e: 64] */
    float *const key_sum = (float *)(void *)(work + 16384); /* [j: 32] */
    float *const key_features = (float *)(void *)(work + 16512); /* [d: 64, j: 32] */
    float *const key_scale = (float *)(void *)(work + 16384); /* [j: 32] */
    float *const score = (float *)(void *)(work + 24704); /* [j: 32, t_key: 32] */
    float *const query = (float *)(void *)(work + 28800); /* [f: 64, t_key: 32] */
    float *const key_scale_2 = (float *)(void *)(work + 36992); /* [j: 32] */
    float *const key = (float *)(void *)(work + 37120); /* [f: 64, j: 32] */
    float *const from_state = (float *)(void *)(work + 16384); /* [t_key: 32, e: 64] */
    float *const corrected = (float *)(void *)(work + 45312); /* [j: 32, e: 64] */
    float *const kept_share = (float *)(void *)(work + 16384); /* [f: 64] */
    float *const lost_share = (float *)(void *)(work + 16640); /* [f: 64] */
    float *const saved_solution = call->saved_solution ? call->saved_solution + b * call->saved_solution_at.batch + g *
        call->saved_solution_at.head : NULL;
    const int64_t saved_solution_row = call->saved_solution_at.row;
    float *const k_tile_2 = (float *)(void *)(work + 53504); /* [d: 64, j: 32] */
    float *const beta_tile = (float *)(void *)(work + 61696); /* [j: 32] */
    float *const log_decay_k_tile_2 = (float *)(void *)(work + 61824); /* [j: 32] */
    float *const log_decay_k_low_tile_2 = (float *)(void *)(work + 61952); /* [j: 32] */
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
            /* k_tile_2 = k, with zeros beyond the last row */
            transpose_padded_any(k + j0 * k_row, k_row, j1 - j0, 64, k_tile_2, 32, 64);
            if (beta_array_row == 1) {
                /* beta_tile = beta_array, with zeros beyond the last row */
                for (int64_t j = 0; j < round_up(j1 - j0, 4); j++)
                    beta_tile[j] = j < j1 - j0 ? beta_array[(j0 + j)] : 0;
            } else {
                /* beta_tile = beta_array, with zeros beyond the last row */
                for (int64_t j = 0; j < round_up(j1 - j0, 4); j++)
                    beta_tile[j] = j < j1 - j0 ? beta_array[(j0 + j) * beta_array_row] : 0;
            }
            /* log_decay_k_tile_2 = log_decay_k, with zeros beyond the last row */
            for (int64_t j = 0; j < round_up(j1 - j0, 4); j++)
                log_decay_k_tile_2[j] = j < j1 - j0 ? log_decay_k[(j0 + j)] : 0;
            /* log_decay_k_low_tile_2 = log_decay_k_low, with zeros beyond the last row */
            for (int64_t j = 0; j < round_up(j1 - j0, 4); j++)
                log_decay_k_low_tile_2[j] = j < j1 - j0 ? log_decay_k_low[(j0 + j)] : 0;
            for (int64_t t_key0 = j0, t_key_end = j1; t_key0 < t_key_end; t_key0 += 32) {
                const int64_t t_key1 = min(t_key0 + 32, t_key_end);
                /* key_sum = 0.0f */
                for (int64_t j = 0; j < j1 - j0; j += 4) {
                    store_any(key_sum + j, splat_any(0.0f));
                }
                /* key_sum += k_tile_2 * k_tile_2 */
                for (int64_t j_first = 0; j_first < j1 - j0; j_first += 8) {
                    vec_any key_sum_in[2];
                    UNROLL for (int64_t vector = 0, j = j_first; vector < 2; vector++, j += 4) {
                        key_sum_in[vector] = (vec_any){0};
                    }
                    for (int64_t d = 0; d < 64; d++) {
                        UNROLL for (int64_t vector = 0, j = j_first; vector < 2; vector++, j += 4) {
                            const vec_any k_tile_2_0 = load_any(k_tile_2 + d * 32 + j);
                            key_sum_in[vector] += k_tile_2_0 * k_tile_2_0;
                        }
                    }
                    UNROLL for (int64_t vector = 0, j = j_first; vector < 2; vector++, j += 4) {
                        store_any(key_sum + j, load_any(key_sum + j) + key_sum_in[vector]);
                    }
                }
                /* key_features = k_tile_2 * select(key_sum == 0.0f, 0.0f, 1.0f / sqrt(key_sum)) */
                for (int64_t j = 0; j < j1 - j0; j += 4) {
                    const vec_any key_sum_1 = load_any(key_sum + j);
                    const vec_any t_2 = pick_any(key_sum_1 == 0.0f, splat_any(0.0f), 1.0f / sqrt_any(key_sum_1));
                    for (int64_t d = 0; d < 64; d++) {
                        store_any(key_features + d * 32 + j, load_any(k_tile_2 + d * 32 + j) * t_2);
                    }
                }
                /* query = key_features * select((lo() / 32) == 0, 1.0f,
                   exp2(((log_decay_k_tile_2 - log_decay_chunk) + (log_decay_k_low_tile_2 - l ... */
                const int t_3 = (j0 / 32) == 0;
                const float log_decay_chunk_4 = log_decay_chunk[max(min(j0 - 1, n_k - 1), 0)];
                const float log_decay_chunk_low_5 = log_decay_chunk_low[max(min(j0 - 1, n_k - 1), 0)];
                for (int64_t t_key = 0; t_key < t_key1 - t_key0; t_key += 4) {
                    const vec_any t_6 = t_3 ? splat_any(1.0f) : exp2_any(((load_any(log_decay_k_tile_2 + ((t_key0 +
                        t_key) - j0)) - log_decay_chunk_4) + (load_any(log_decay_k_low_tile_2 + ((t_key0 + t_key) - j0))
                        - log_decay_chunk_low_5)) * 1.442695f);
                    for (int64_t f = 0; f < 64; f++) {
                        store_any(query + f * 32 + t_key, load_any(key_features + f * 32 + ((t_key0 + t_key) - j0)) *
                            t_6);
                    }
                }
                /* key_scale = beta_tile */
                for (int64_t j = 0; j < j1 - j0; j += 4) {
                    store_any(key_scale + j, load_any(beta_tile + j));
                }
                /* score[j][t_key] = sum over d of key_features * key_features */
                dot0_any(round_up(t_key1 - t_key0, 4), j1 - j0, key_features, key_features, score);
                /* score = (score * exp2(((log_decay_k_tile_2 - log_decay_k) + (log_decay_k_low_tile_2 -
                   log_decay_k_low)) * 1.442695f)) * key_scale */
                for (int64_t t_key = 0; t_key < t_key1 - t_key0; t_key += 4) {
                    const vec_any log_decay_k_tile_2_7 = load_any(log_decay_k_tile_2 + ((t_key0 + t_key) - j0));
                    const vec_any log_decay_k_low_tile_2_8 = load_any(log_decay_k_low_tile_2 + ((t_key0 + t_key) - j0));
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        store_any(score + j * 32 + t_key, (load_any(score + j * 32 + t_key) *
                            exp2_any(((log_decay_k_tile_2_7 - log_decay_k[(j0 + j)]) + (log_decay_k_low_tile_2_8 -
                            log_decay_k_low[(j0 + j)])) * 1.442695f)) * key_scale[j]);
                    }
                }
                /* key_scale_2 = 1.0f */
                for (int64_t j = 0; j < j1 - j0; j += 4) {
                    store_any(key_scale_2 + j, splat_any(1.0f));
                }
                /* key = (key_features * exp2(((log_decay_chunk - log_decay_k_tile_2) + (log_decay_chunk_low -
                   log_decay_k_low_tile_2)) * 1.442695f ... */
                const float log_decay_chunk_9 = log_decay_chunk[max(min((((j0 / 32) + 1) * 32) - 1, n_k - 1), 0)];
                const float log_decay_chunk_low_10 = log_decay_chunk_low[max(min((((j0 / 32) + 1) * 32) - 1, n_k - 1),
                    0)];
                for (int64_t j = 0; j < j1 - j0; j += 4) {
                    const vec_any t_11 = exp2_any(((log_decay_chunk_9 - load_any(log_decay_k_tile_2 + j)) +
                        (log_decay_chunk_low_10 - load_any(log_decay_k_low_tile_2 + j))) * 1.442695f);
                    const vec_any key_scale_12 = load_any(key_scale + j);
                    for (int64_t f = 0; f < 64; f++) {
                        store_any(key + f * 32 + j, (load_any(key_features + f * 32 + j) * t_11) * key_scale_12);
                    }
                }
                /* from_state[t_key][e] = sum over f of query * state */
                dot1_any(t_key1 - t_key0, query, state, from_state);
                /* from_state = v - from_state */
                for (int64_t t_key = 0; t_key < t_key1 - t_key0; t_key++) {
                    for (int64_t e_first = 0; e_first < 64; e_first += 8) {
                        UNROLL for (int64_t vector = 0, e = e_first; vector < 2; vector++, e += 4) {
                            store_any(from_state + t_key * 64 + e, load_any(v + (t_key0 + t_key) * v_row + e) -
                                load_any(from_state + t_key * 64 + e));
                        }
                    }
                }
                /* corrected[t_key][e] = key_scale_2[t_key] * (from_state[t_key][e] - sum over j < t_key of score *
                   corrected[j][e]) */
                dot2_any(t_key1 - t_key0, score, key_scale_2, from_state, corrected);
            }
            /* kept_share = select(exp2(((log_decay_chunk - log_decay_chunk) + (log_decay_chunk_low -
               log_decay_chunk_low)) * 1.442695f) < 0.5f ... */
            const float t_13 = (log_decay_chunk[max(min((((j0 / 32) + 1) * 32) - 1, n_k - 1),
                0)] - log_decay_chunk[max(min(j0 - 1, n_k - 1), 0)]) + (log_decay_chunk_low[max(min((((j0 / 32) + 1) *
                32) - 1, n_k - 1), 0)] - log_decay_chunk_low[max(min(j0 - 1, n_k - 1), 0)]);
            const float t_14 = exp2f(t_13 * 1.442695f);
            const int t_15 = t_14 < 0.5f;
            const float t_16 = t_15 ? t_14 : 1.0f;
            const float t_17 = t_15 ? 0.0f : (-expm1f(t_13));
            for (int64_t f = 0; f < 64; f += 4) {
                store_any(kept_share + f, splat_any(t_16));
                store_any(lost_share + f, splat_any(t_17));
            }
            /* state[f][e] = state * kept_share - state * lost_share + sum over j of key * corrected */
            dot5_any(j1 - j0, key, corrected, state, kept_share, lost_share);
            if (saved_solution) {
                /* saved_solution = corrected, transposed back */
                for (int64_t j = 0; j < j1 - j0; j++)
                    for (int64_t e = 0; e < 64; e++)
                        saved_solution[(j0 + j) * saved_solution_row + e] = corrected[j * 64 + e];
            }
        }
    }
}

/* Computes task number `task`: one tile of queries of one head. `work` is this thread's workspace. */
static void
    gated_deltanet_linear_dv_linear_part_1_dbeta_linear_part_2_linear_part_3_linear_part_4_linear_part_5_any(const
    struct call *call, int64_t task, unsigned char *work)
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
    const float *const log_decay_q_low = call->log_decay_q_low + b * call->log_decay_q_low_at.batch + g * members *
        call->log_decay_q_low_at.head;
    const int64_t log_decay_q_low_head = call->log_decay_q_low_at.head;
    const float *const log_decay_q = call->log_decay_q + b * call->log_decay_q_at.batch + g * members *
        call->log_decay_q_at.head;
    const int64_t log_decay_q_head = call->log_decay_q_at.head;
    const float *const log_decay_k_low = call->log_decay_k_low + b * call->log_decay_k_low_at.batch + g * members *
        call->log_decay_k_low_at.head;
    const float *const log_decay_k = call->log_decay_k + b * call->log_decay_k_at.batch + g * members *
        call->log_decay_k_at.head;
    const float *const log_decay_chunk_low = call->log_decay_chunk_low + b * call->log_decay_chunk_low_at.batch + g *
        members * call->log_decay_chunk_low_at.head;
    const float *const log_decay_chunk = call->log_decay_chunk + b * call->log_decay_chunk_at.batch + g * members *
        call->log_decay_chunk_at.head;
    const float *const beta_array = call->beta_array + b * call->beta_array_at.batch + g * members *
        call->beta_array_at.head;
    const int64_t beta_array_row = call->beta_array_at.row;
    const float *const dout = call->dout + b * call->p.dout.batch + g * members * call->p.dout.head;
    const int64_t dout_row = call->p.dout.row;
    const int64_t dout_head = call->p.dout.head;
    const float *const saved_solution = call->saved_solution ? call->saved_solution + b * call->saved_solution_at.batch
        + g * call->saved_solution_at.head : NULL;
    const int64_t saved_solution_row = call->saved_solution_at.row;
    float *const state = (float *)(void *)(work + 0); /* [f: 64, e: 64] */
    float *const query_sum = (float *)(void *)(work + 16384); /* [j: 32] */
    float *const query_features = (float *)(void *)(work + 16512); /* [d: 64, j: 32] */
    float *const query_scale = (float *)(void *)(work + 24704); /* [j: 32] */
    float *const query_features_2 = (float *)(void *)(work + 24832); /* [e: 64, j: 32] */
    float *const score = (float *)(void *)(work + 33024); /* [j: 32, t_key: 32] */
    float *const weight_2 = (float *)(void *)(work + 37120); /* [j: 32, t_key: 32] */
    float *const query = (float *)(void *)(work + 41216); /* [f: 64, j: 32] */
    float *const sum_from_state = (float *)(void *)(work + 49408); /* [j: 32, e: 64] */
    float *const query_scale_2 = (float *)(void *)(work + 57600); /* [t_key: 32] */
    float *const query_features_4 = (float *)(void *)(work + 57728); /* [f: 64, t_key: 32] */
    float *const query_2 = (float *)(void *)(work + 65920); /* [f: 64, j: 32] */
    float *const query_3 = (float *)(void *)(work + 74112); /* [f: 64, j: 32] */
    float *const query_sum_3 = (float *)(void *)(work + 82304); /* [j: 32] */
    float *const kept_share = (float *)(void *)(work + 41216); /* [f: 64] */
    float *const lost_share = (float *)(void *)(work + 41472); /* [f: 64] */
    float *const query_sum_4 = (float *)(void *)(work + 41216); /* [i: 32] */
    float *const score_2 = (float *)(void *)(work + 41344); /* [i: 32, j: 32] */
    float *const weight_3 = (float *)(void *)(work + 65920); /* [i: 32, j: 32] */
    float *const score_3 = (float *)(void *)(work + 70016); /* [j: 32, i: 32] */
    float *const sum = (float *)(void *)(work + 82432); /* [j: 32, e: 64] */
    float *const query_features_6 = (float *)(void *)(work + 90624); /* [f: 64, i: 32] */
    float *const sum_2 = (float *)(void *)(work + 98816); /* [d: 64, j: 32] */
    float *const row_sum = (float *)(void *)(work + 45440); /* [j: 32] */
    float *const corrected = (float *)(void *)(work + 45568); /* [t_key: 32, e: 64] */
    float *const linear_part_1 = call->linear_part_1 ? call->linear_part_1 + b * call->linear_part_1_at.batch + g *
        call->linear_part_1_at.head : NULL;
    const int64_t linear_part_1_row = call->linear_part_1_at.row;
    float *const key_2 = (float *)(void *)(work + 37120); /* [t_key: 32, e: 64] */
    float *const key_3 = (float *)(void *)(work + 65920); /* [j: 32, e: 64] */
    float *const dv = call->dv ? call->dv + b * call->p.dv.batch + g * call->p.dv.head : NULL;
    const int64_t dv_row = call->p.dv.row;
    float *const query_4 = (float *)(void *)(work + 24704); /* [t_key: 32] */
    float *const query_scale_3 = (float *)(void *)(work + 45312); /* [j: 32] */
    float *const dbeta_array = call->dbeta_array ? call->dbeta_array + (b * kv_heads + g) * members * n_k : NULL;
    float *const score_4 = (float *)(void *)(work + 45568); /* [t_key: 32, j: 32] */
    float *const weight_6 = (float *)(void *)(work + 24704); /* [t_key: 32, j: 32] */
    float *const sum_3 = (float *)(void *)(work + 65920); /* [d: 64, t_key: 32] */
    float *const weight_6_turned = (float *)(void *)(work + 28800); /* [j: 32, t_key: 32] */
    float *const linear_part_2 = call->linear_part_2 ? call->linear_part_2 + b * call->linear_part_2_at.batch + g *
        call->linear_part_2_at.head : NULL;
    const int64_t linear_part_2_row = call->linear_part_2_at.row;
    float *const sum_4 = (float *)(void *)(work + 65920); /* [d: 64, j: 32] */
    float *const query_sum_5 = (float *)(void *)(work + 16512); /* [j: 32] */
    float *const linear_part_3 = call->linear_part_3 ? call->linear_part_3 + b * call->linear_part_3_at.batch + g *
        call->linear_part_3_at.head : NULL;
    const int64_t linear_part_3_row = call->linear_part_3_at.row;
    float *const row_sum_2 = (float *)(void *)(work + 16384); /* [t_key: 32] */
    float *const linear_part_4 = call->linear_part_4 ? call->linear_part_4 + (b * kv_heads + g) * n_k : NULL;
    float *const row_sum_3 = (float *)(void *)(work + 16384); /* [j: 32] */
    float *const linear_part_5 = call->linear_part_5 ? call->linear_part_5 + (b * kv_heads + g) * n_k : NULL;
    float *const k_tile = (float *)(void *)(work + 107008); /* [d: 64, j: 32] */
    float *const beta_tile = (float *)(void *)(work + 115200); /* [j: 32] */
    float *const saved_solution_tile = (float *)(void *)(work + 115328); /* [e: 64, j: 32] */
    float *const log_decay_k_tile_2 = (float *)(void *)(work + 123520); /* [j: 32] */
    float *const log_decay_k_low_tile_2 = (float *)(void *)(work + 123648); /* [j: 32] */
    float *const q_tile = (float *)(void *)(work + 123776); /* [d: 64, i: 32] */
    float *const log_decay_q_tile = (float *)(void *)(work + 45568); /* [i: 32] */
    float *const log_decay_q_low_tile = (float *)(void *)(work + 45696); /* [i: 32] */
    float *const weight_4_turned = (float *)(void *)(work + 65920); /* [i: 32, j: 32] */
    float *const corrected_turned = (float *)(void *)(work + 65920); /* [e: 64, t_key: 32] */
    float *const score_4_turned = (float *)(void *)(work + 16512); /* [j: 32, t_key: 32] */
    float *const weight_turned = (float *)(void *)(work + 16512); /* [t_key: 32, j: 32] */
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
            for (int64_t j0 = (chunks - chunk - 1) * 32, j_end = min(((chunks - chunk - 1) * 32) + 32, n_k); j0 < j_end;
                j0 += 32) {
                const int64_t j1 = min(j0 + 32, j_end);
                /* k_tile = k, with zeros beyond the last row */
                transpose_padded_any(k + j0 * k_row, k_row, j1 - j0, 64, k_tile, 32, -32);
                if (beta_array_row == 1) {
                    /* beta_tile = beta_array, with zeros beyond the last row */
                    for (int64_t j = 0; j < round_up(j1 - j0, 4); j++)
                        beta_tile[j] = j < j1 - j0 ? beta_array[(j0 + j)] : 0;
                } else {
                    /* beta_tile = beta_array, with zeros beyond the last row */
                    for (int64_t j = 0; j < round_up(j1 - j0, 4); j++)
                        beta_tile[j] = j < j1 - j0 ? beta_array[(j0 + j) * beta_array_row] : 0;
                }
                if (dbeta_array || linear_part_2 || linear_part_3 || linear_part_4 || linear_part_5) {
                    /* saved_solution_tile = saved_solution, with zeros beyond the last row */
                    transpose_padded_any(saved_solution + j0 * saved_solution_row, saved_solution_row, j1 - j0, 64,
                        saved_solution_tile, 32, -32);
                }
                /* log_decay_k_tile_2 = log_decay_k, with zeros beyond the last row */
                for (int64_t j = 0; j < round_up(j1 - j0, 4); j++)
                    log_decay_k_tile_2[j] = j < j1 - j0 ? log_decay_k[(j0 + j)] : 0;
                /* log_decay_k_low_tile_2 = log_decay_k_low, with zeros beyond the last row */
                for (int64_t j = 0; j < round_up(j1 - j0, 4); j++)
                    log_decay_k_low_tile_2[j] = j < j1 - j0 ? log_decay_k_low[(j0 + j)] : 0;
                for (int64_t t_key0 = j0, t_key_end = j1; t_key0 < t_key_end; t_key0 += 32) {
                    const int64_t t_key1 = min(t_key0 + 32, t_key_end);
                    /* query_sum = 0.0f */
                    for (int64_t j = 0; j < j1 - j0; j += 4) {
                        store_any(query_sum + j, splat_any(0.0f));
                    }
                    /* query_sum += k_tile * k_tile */
                    for (int64_t j_first = 0; j_first < j1 - j0; j_first += 8) {
                        vec_any query_sum_in[2];
                        UNROLL for (int64_t vector = 0, j = j_first; vector < 2; vector++, j += 4) {
                            query_sum_in[vector] = (vec_any){0};
                        }
                        for (int64_t d = 0; d < 64; d++) {
                            UNROLL for (int64_t vector = 0, j = j_first; vector < 2; vector++, j += 4) {
                                const vec_any k_tile_0 = load_any(k_tile + d * 32 + j);
                                query_sum_in[vector] += k_tile_0 * k_tile_0;
                            }
                        }
                        UNROLL for (int64_t vector = 0, j = j_first; vector < 2; vector++, j += 4) {
                            store_any(query_sum + j, load_any(query_sum + j) + query_sum_in[vector]);
                        }
                    }
                    /* query_features = k_tile * select(query_sum == 0.0f, 0.0f, 1.0f / sqrt(query_sum)) */
                    for (int64_t j = 0; j < j1 - j0; j += 4) {
                        const vec_any query_sum_1 = load_any(query_sum + j);
                        const vec_any t_2 = pick_any(query_sum_1 == 0.0f, splat_any(0.0f),
                            1.0f / sqrt_any(query_sum_1));
                        for (int64_t d = 0; d < 64; d++) {
                            store_any(query_features + d * 32 + j, load_any(k_tile + d * 32 + j) * t_2);
                        }
                    }
                    /* query_scale = beta_tile */
                    for (int64_t j = 0; j < j1 - j0; j += 4) {
                        store_any(query_scale + j, load_any(beta_tile + j));
                    }
                    if (linear_part_2 || linear_part_3 || linear_part_4 || linear_part_5) {
                        /* query_features_2 = saved_solution_tile * query_scale */
                        for (int64_t j = 0; j < j1 - j0; j += 4) {
                            const vec_any query_scale_4 = load_any(query_scale + j);
                            for (int64_t e = 0; e < 64; e++) {
                                store_any(query_features_2 + e * 32 + j, load_any(saved_solution_tile + e * 32 + j) *
                                    query_scale_4);
                            }
                        }
                    }
                    /* score[j][t_key] = sum over d of query_features * query_features */
                    dot0_any(round_up(t_key1 - t_key0, 4), j1 - j0, query_features, query_features, score);
                    /* score = score * exp2(((log_decay_k_tile_2 - log_decay_k) + (log_decay_k_low_tile_2 -
                       log_decay_k_low)) * 1.442695f); weight_2 =  ... */
                    for (int64_t t_key = 0; t_key < t_key1 - t_key0; t_key += 4) {
                        const vec_any log_decay_k_tile_2_6 = load_any(log_decay_k_tile_2 + ((t_key0 + t_key) - j0));
                        const vec_any log_decay_k_low_tile_2_7 = load_any(log_decay_k_low_tile_2 + ((t_key0 + t_key) -
                            j0));
                        const vec_any query_scale_9 = load_any(query_scale + ((t_key0 + t_key) - j0));
                        for (int64_t j = 0; j < j1 - j0; j++) {
                            const vec_any score_5 = load_any(score + j * 32 + t_key);
                            const vec_any score_new8 = score_5 * exp2_any(((log_decay_k_tile_2_6 - log_decay_k[(j0 +
                                j)]) + (log_decay_k_low_tile_2_7 - log_decay_k_low[(j0 + j)])) * 1.442695f);
                            store_any(score + j * 32 + t_key, score_new8);
                            store_any(weight_2 + j * 32 + t_key, score_new8 * query_scale_9);
                        }
                    }
                    /* query = query_features * exp2(((log_decay_chunk - log_decay_k_tile_2) + (log_decay_chunk_low -
                       log_decay_k_low_tile_2)) * 1.442695f) */
                    const float log_decay_chunk_10 = log_decay_chunk[max(min((((j0 / 32) + 1) * 32) - 1, n_k - 1), 0)];
                    const float log_decay_chunk_low_11 = log_decay_chunk_low[max(min((((j0 / 32) + 1) * 32) - 1,
                        n_k - 1), 0)];
                    for (int64_t j = 0; j < j1 - j0; j += 4) {
                        const vec_any t_12 = exp2_any(((log_decay_chunk_10 - load_any(log_decay_k_tile_2 + j)) +
                            (log_decay_chunk_low_11 - load_any(log_decay_k_low_tile_2 + j))) * 1.442695f);
                        for (int64_t f = 0; f < 64; f++) {
                            store_any(query + f * 32 + j, load_any(query_features + f * 32 + j) * t_12);
                        }
                    }
                    /* sum_from_state[j][e] = sum over f of query * state */
                    dot1_any(j1 - j0, query, state, sum_from_state);
                    /* query_scale_2 = 1.0f */
                    for (int64_t t_key = 0; t_key < t_key1 - t_key0; t_key += 4) {
                        store_any(query_scale_2 + t_key, splat_any(1.0f));
                    }
                    /* query_features_4 = (query_features * select((lo() / 32) == 0, 1.0f,
                       exp2(((log_decay_k_tile_2 - log_decay_chunk) + (log_decay_k_ ... */
                    const int t_13 = (j0 / 32) == 0;
                    const float log_decay_chunk_14 = log_decay_chunk[max(min(j0 - 1, n_k - 1), 0)];
                    const float log_decay_chunk_low_15 = log_decay_chunk_low[max(min(j0 - 1, n_k - 1), 0)];
                    const float t_17 = exp2f(((log_decay_chunk_14 - log_decay_chunk[max(min(j0 - 1, n_k - 1),
                        0)]) + (log_decay_chunk_low_15 - log_decay_chunk_low[max(min(j0 - 1, n_k - 1),
                        0)])) * 1.442695f);
                    for (int64_t t_key = 0; t_key < t_key1 - t_key0; t_key += 4) {
                        const vec_any t_16 = t_13 ? splat_any(1.0f) : exp2_any(((load_any(log_decay_k_tile_2 + ((t_key0
                            + t_key) - j0)) - log_decay_chunk_14) + (load_any(log_decay_k_low_tile_2 + ((t_key0 + t_key)
                            - j0)) - log_decay_chunk_low_15)) * 1.442695f);
                        for (int64_t f = 0; f < 64; f++) {
                            store_any(query_features_4 + f * 32 + t_key, (load_any(query_features + f * 32 + ((t_key0 +
                                t_key) - j0)) * t_16) * t_17);
                        }
                    }
                    if (linear_part_3 || linear_part_5) {
                        /* query_2[f][j] = sum over e of state * query_features_2 */
                        dot6_any(round_up(j1 - j0, 4), state, query_features_2, query_2);
                    }
                    if (linear_part_5) {
                        /* query_sum_3 = 0.0f */
                        for (int64_t j = 0; j < j1 - j0; j += 4) {
                            store_any(query_sum_3 + j, splat_any(0.0f));
                        }
                    }
                    if (linear_part_3 || linear_part_5) {
                        /* query_3 = query_2 * exp2(((log_decay_chunk - log_decay_k_tile_2) + (log_decay_chunk_low -
                           log_decay_k_low_tile_2)) * 1.442695f); ... */
                        const float log_decay_chunk_19 = log_decay_chunk[max(min((((j0 / 32) + 1) * 32) - 1, n_k - 1),
                            0)];
                        const float log_decay_chunk_low_20 = log_decay_chunk_low[max(min((((j0 / 32) + 1) * 32) - 1,
                            n_k - 1), 0)];
                        for (int64_t j = 0; j < j1 - j0; j += 4) {
                            const vec_any t_21 = exp2_any(((log_decay_chunk_19 - load_any(log_decay_k_tile_2 + j)) +
                                (log_decay_chunk_low_20 - load_any(log_decay_k_low_tile_2 + j))) * 1.442695f);
                            vec_any query_sum_3_in = (vec_any){0};
                            for (int64_t f = 0; f < 64; f++) {
                                const vec_any query_2_18 = load_any(query_2 + f * 32 + j);
                                store_any(query_3 + f * 32 + j, query_2_18 * t_21);
                                query_sum_3_in += query_2_18 * (-load_any(query + f * 32 + j));
                            }
                            store_any(query_sum_3 + j, load_any(query_sum_3 + j) + query_sum_3_in);
                        }
                    }
                    /* kept_share = select(exp2(((log_decay_chunk - log_decay_chunk) + (log_decay_chunk_low -
                       log_decay_chunk_low)) * 1.442695f) < 0.5f ... */
                    const float t_22 = (log_decay_chunk[max(min((((j0 / 32) + 1) * 32) - 1, n_k - 1),
                        0)] - log_decay_chunk[max(min(j0 - 1, n_k - 1), 0)]) + (log_decay_chunk_low[max(min((((j0 / 32)
                        + 1) * 32) - 1, n_k - 1), 0)] - log_decay_chunk_low[max(min(j0 - 1, n_k - 1), 0)]);
                    const float t_23 = exp2f(t_22 * 1.442695f);
                    const int t_24 = t_23 < 0.5f;
                    const float t_25 = t_24 ? t_23 : 1.0f;
                    const float t_26 = t_24 ? 0.0f : (-expm1f(t_22));
                    for (int64_t f = 0; f < 64; f += 4) {
                        store_any(kept_share + f, splat_any(t_25));
                        store_any(lost_share + f, splat_any(t_26));
                    }
                    /* state = (state * kept_share) - (state * lost_share) */
                    for (int64_t f = 0; f < 64; f++) {
                        for (int64_t e_first = 0; e_first < 64; e_first += 8) {
                            UNROLL for (int64_t vector = 0, e = e_first; vector < 2; vector++, e += 4) {
                                const vec_any state_27 = load_any(state + f * 64 + e);
                                store_any(state + f * 64 + e, (state_27 * kept_share[f]) - (state_27 * lost_share[f]));
                            }
                        }
                    }
                    /* sum = 0.0f */
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        for (int64_t e_first = 0; e_first < 64; e_first += 8) {
                            UNROLL for (int64_t vector = 0, e = e_first; vector < 2; vector++, e += 4) {
                                store_any(sum + j * 64 + e, splat_any(0.0f));
                            }
                        }
                    }
                    if (linear_part_3) {
                        /* sum_2 = 0.0f */
                        for (int64_t d = 0; d < 64; d++) {
                            for (int64_t j = 0; j < j1 - j0; j += 4) {
                                store_any(sum_2 + d * 32 + j, splat_any(0.0f));
                            }
                        }
                    }
                    if (linear_part_5) {
                        /* row_sum = 0.0f */
                        for (int64_t j = 0; j < j1 - j0; j += 4) {
                            store_any(row_sum + j, splat_any(0.0f));
                        }
                    }
                    for (int64_t i0 = ((j0 / 32) == 0) ? 0 : max(0, j0 - query_start), i_end = min(n_q,
                        (((j0 / 32) + 1) * 32) - query_start); i0 < i_end; i0 += 32) {
                        const int64_t i1 = min(i0 + 32, i_end);
                        /* q_tile = q, with zeros beyond the last row */
                        transpose_padded_any(q + m * q_head + i0 * q_row, q_row, i1 - i0, 64, q_tile, 32, -32);
                        /* log_decay_q_tile = log_decay_q, with zeros beyond the last row */
                        for (int64_t i = 0; i < round_up(i1 - i0, 4); i++)
                            log_decay_q_tile[i] = i < i1 - i0 ? log_decay_q[m * log_decay_q_head + (i0 + i)] : 0;
                        /* log_decay_q_low_tile = log_decay_q_low, with zeros beyond the last row */
                        for (int64_t i = 0; i < round_up(i1 - i0, 4); i++)
                            log_decay_q_low_tile[i] = i < i1 - i0 ? log_decay_q_low[m * log_decay_q_low_head + (i0 + i)]
                                : 0;
                        /* query_sum_4 = 0.0f */
                        for (int64_t i = 0; i < i1 - i0; i += 4) {
                            store_any(query_sum_4 + i, splat_any(0.0f));
                        }
                        /* query_sum_4 += q_tile * q_tile */
                        for (int64_t i_first = 0; i_first < i1 - i0; i_first += 8) {
                            vec_any query_sum_4_in[2];
                            UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += 4) {
                                query_sum_4_in[vector] = (vec_any){0};
                            }
                            for (int64_t d = 0; d < 64; d++) {
                                UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += 4) {
                                    const vec_any q_tile_28 = load_any(q_tile + d * 32 + i);
                                    query_sum_4_in[vector] += q_tile_28 * q_tile_28;
                                }
                            }
                            UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += 4) {
                                store_any(query_sum_4 + i, load_any(query_sum_4 + i) + query_sum_4_in[vector]);
                            }
                        }
                        if (linear_part_3 || linear_part_5) {
                            /* score_2[i][j] = sum over e of dout * query_features_2 */
                            dot7_any(round_up(j1 - j0, 4), i1 - i0, dout + m * dout_head + i0 * dout_row, dout_row,
                                query_features_2, score_2);
                        }
                        if (linear_part_3) {
                            /* weight_3 = score_2 * exp2(((log_decay_q - log_decay_k_tile_2) + (log_decay_q_low -
                               log_decay_k_low_tile_2)) * 1.442695f) */
                            for (int64_t j = 0; j < j1 - j0; j += 4) {
                                const vec_any log_decay_k_tile_2_29 = load_any(log_decay_k_tile_2 + j);
                                const vec_any log_decay_k_low_tile_2_30 = load_any(log_decay_k_low_tile_2 + j);
                                for (int64_t i = 0; i < i1 - i0; i++) {
                                    store_any(weight_3 + i * 32 + j, load_any(score_2 + i * 32 + j) *
                                        exp2_any((((log_decay_q[m * log_decay_q_head + (i0 + i)]) -
                                        log_decay_k_tile_2_29) + ((log_decay_q_low[m * log_decay_q_low_head + (i0 + i)])
                                        - log_decay_k_low_tile_2_30)) * 1.442695f));
                                }
                            }
                        }
                        /* q_tile = (q_tile * select(query_sum_4 == 0.0f, 0.0f, 1.0f / sqrt(query_sum_4))) * 0.125f */
                        for (int64_t i = 0; i < i1 - i0; i += 4) {
                            const vec_any query_sum_4_31 = load_any(query_sum_4 + i);
                            const vec_any t_32 = pick_any(query_sum_4_31 == 0.0f, splat_any(0.0f),
                                1.0f / sqrt_any(query_sum_4_31));
                            for (int64_t d = 0; d < 64; d++) {
                                store_any(q_tile + d * 32 + i, (load_any(q_tile + d * 32 + i) * t_32) * 0.125f);
                            }
                        }
                        /* score_3[j][i] = sum over d of query_features * q_tile */
                        dot0_any(round_up(i1 - i0, 4), j1 - j0, query_features, q_tile, score_3);
                        /* score_3 = score_3 * exp2(((log_decay_q_tile - log_decay_k) + (log_decay_q_low_tile -
                           log_decay_k_low)) * 1.442695f) */
                        for (int64_t i = 0; i < i1 - i0; i += 4) {
                            const vec_any log_decay_q_tile_33 = load_any(log_decay_q_tile + i);
                            const vec_any log_decay_q_low_tile_34 = load_any(log_decay_q_low_tile + i);
                            for (int64_t j = 0; j < j1 - j0; j++) {
                                store_any(score_3 + j * 32 + i, load_any(score_3 + j * 32 + i) *
                                    exp2_any(((log_decay_q_tile_33 - log_decay_k[(j0 + j)]) + (log_decay_q_low_tile_34 -
                                    log_decay_k_low[(j0 + j)])) * 1.442695f));
                            }
                        }
                        /* score_3 = select(j <= (i + query_start), score_3, 0.0f) */
                        for (int64_t i = 0; i < i1 - i0; i += 4) {
                            const ints_any t_35 = (i0 + i + lane_any) + query_start;
                            for (int64_t j = 0; j < j1 - j0; j++) {
                                store_any(score_3 + j * 32 + i, pick_any(__builtin_convertvector((j0 + j) <= t_35,
                                    mask_any), load_any(score_3 + j * 32 + i), splat_any(0.0f)));
                            }
                        }
                        /* sum[j][e] += sum over i of score_3 * dout */
                        if (__builtin_expect(!finite_any(dout + m * dout_head + i0 * dout_row, dout_row, i1 - i0, 64),
                            0)) { /* infinity and NaN affect only queries that see them */
                            dot8_any(j1 - j0, i1 - i0, score_3, dout + m * dout_head + i0 * dout_row, dout_row, sum);
                            for (int64_t j = 0; j < j1 - j0; j++) {
                                mask_any in_region[8] = {0};
                                for (int64_t i = 0; i < i1 - i0; i += 4) {
                                    in_region[i / 4] = __builtin_convertvector((j0 + j) <= ((i0 + i + lane_any) +
                                        query_start), mask_any);
                                }
                                add_seen_lanes_any(64, sum + j * 64, score_3 + j * 32,
                                    dout + m * dout_head + i0 * dout_row, dout_row, i1 - i0, in_region);
                            }
                        } else
                            dot9_any(j1 - j0, i1 - i0, score_3, dout + m * dout_head + i0 * dout_row, dout_row, sum);
                        /* query_features_6 = (q_tile * select((lo() / 32) == 0, 1.0f,
                           exp2(((log_decay_q_tile - log_decay_chunk) + (log_decay_q_low_tile - ... */
                        const int t_36 = (j0 / 32) == 0;
                        const float log_decay_chunk_37 = log_decay_chunk[max(min(j0 - 1, n_k - 1), 0)];
                        const float log_decay_chunk_low_38 = log_decay_chunk_low[max(min(j0 - 1, n_k - 1), 0)];
                        const float t_40 = exp2f(((log_decay_chunk_37 - log_decay_chunk[max(min(j0 - 1, n_k - 1),
                            0)]) + (log_decay_chunk_low_38 - log_decay_chunk_low[max(min(j0 - 1, n_k - 1),
                            0)])) * 1.442695f);
                        for (int64_t i = 0; i < i1 - i0; i += 4) {
                            const vec_any t_39 = t_36 ? splat_any(1.0f) : exp2_any(((load_any(log_decay_q_tile + i) -
                                log_decay_chunk_37) + (load_any(log_decay_q_low_tile + i) - log_decay_chunk_low_38)) *
                                1.442695f);
                            for (int64_t f = 0; f < 64; f++) {
                                store_any(query_features_6 + f * 32 + i, (load_any(q_tile + f * 32 + i) * t_39) * t_40);
                            }
                        }
                        /* state[f][e] += sum over i of query_features_6 * dout */
                        dot10_any(i1 - i0, query_features_6, dout + m * dout_head + i0 * dout_row, dout_row, state);
                        if (linear_part_3) {
                            /* weight_3 = select(j <= (i + query_start), weight_3, 0.0f) */
                            for (int64_t j = 0; j < j1 - j0; j += 4) {
                                const ints_any t_41 = j0 + j + lane_any;
                                for (int64_t i = 0; i < i1 - i0; i++) {
                                    store_any(weight_3 + i * 32 + j, pick_any(__builtin_convertvector(t_41 <= ((i0 + i)
                                        + query_start), mask_any), load_any(weight_3 + i * 32 + j), splat_any(0.0f)));
                                }
                            }
                            /* sum_2[d][j] += sum over i of q_tile * weight_3 */
                            if (__builtin_expect(!finite_any(q_tile, 32, 64, i1 - i0),
                                0)) { /* infinity and NaN affect only queries that see them */
                                dot11_any(round_up(j1 - j0, 4), i1 - i0, q_tile, weight_3, sum_2);
                                for (int64_t i = 0; i < i1 - i0; i++) {
                                    mask_any in_region[8] = {0};
                                    if (finite_any(q_tile + i * 1, 32, 64, 1)) continue;
                                    const int64_t t_42 = (i0 + i) + query_start;
                                    for (int64_t j = 0; j < j1 - j0; j += 4) {
                                        in_region[j / 4] = __builtin_convertvector((j0 + j + lane_any) <= t_42,
                                            mask_any);
                                    }
                                    add_seen_any(64, sum_2, 32, q_tile + i * 1, 32, weight_3 + i * 32, in_region,
                                        j1 - j0);
                                }
                            } else
                                dot12_any(round_up(j1 - j0, 4), i1 - i0, q_tile, weight_3, sum_2);
                        }
                        if (linear_part_5) {
                            /* weight_4_turned = score_3, with zeros beyond the last row */
                            transpose_padded_any(score_3, 32, j1 - j0, i1 - i0, weight_4_turned, 32, -32);
                            /* weight_4_turned = score_2 * neg(weight_4_turned) */
                            for (int64_t i = 0; i < i1 - i0; i++) {
                                for (int64_t j = 0; j < j1 - j0; j += 4) {
                                    store_any(weight_4_turned + i * 32 + j, load_any(score_2 + i * 32 + j) *
                                        (-load_any(weight_4_turned + i * 32 + j)));
                                }
                            }
                            /* weight_4_turned = select(j <= (i + query_start), weight_4_turned, 0.0f);
                               row_sum += weight_4_turned */
                            for (int64_t j = 0; j < j1 - j0; j += 4) {
                                const ints_any t_43 = j0 + j + lane_any;
                                vec_any row_sum_in = (vec_any){0};
                                for (int64_t i = 0; i < i1 - i0; i++) {
                                    const vec_any weight_4_turned_44 = load_any(weight_4_turned + i * 32 + j);
                                    const vec_any weight_4_turned_new45 = pick_any(__builtin_convertvector(t_43 <= ((i0
                                        + i) + query_start), mask_any), weight_4_turned_44, splat_any(0.0f));
                                    store_any(weight_4_turned + i * 32 + j, weight_4_turned_new45);
                                    row_sum_in += weight_4_turned_new45;
                                }
                                store_any(row_sum + j, load_any(row_sum + j) + row_sum_in);
                            }
                        }
                    }
                    /* sum = sum + sum_from_state */
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        for (int64_t e_first = 0; e_first < 64; e_first += 8) {
                            UNROLL for (int64_t vector = 0, e = e_first; vector < 2; vector++, e += 4) {
                                store_any(sum + j * 64 + e, load_any(sum + j * 64 + e) + load_any(sum_from_state + j *
                                    64 + e));
                            }
                        }
                    }
                    /* corrected[j][e] = query_scale_2[j] * (sum[j][e] - sum over t_key > j of weight_2 *
                       corrected[t_key][e]) */
                    dot13_any(j1 - j0, weight_2 + (j1 - j0 - 1) * (32 + 1), -(32), -(1),
                        query_scale_2 + (j1 - j0 - 1) * (1), -(1), sum + (j1 - j0 - 1) * (64), -(64),
                        corrected + (j1 - j0 - 1) * (64), -(64));
                    if (linear_part_1) {
                        /* linear_part_1 = corrected */
                        for (int64_t t_key = 0; t_key < t_key1 - t_key0; t_key++)
                            for (int64_t e = 0; e < 64; e++)
                                linear_part_1[(t_key0 + t_key) * linear_part_1_row + e] = corrected[t_key * 64 + e];
                    }
                    /* key_2 = corrected * query_scale */
                    for (int64_t t_key = 0; t_key < t_key1 - t_key0; t_key++) {
                        for (int64_t e_first = 0; e_first < 64; e_first += 8) {
                            UNROLL for (int64_t vector = 0, e = e_first; vector < 2; vector++, e += 4) {
                                store_any(key_2 + t_key * 64 + e, load_any(corrected + t_key * 64 + e) *
                                    query_scale[((t_key0 + t_key) - j0)]);
                            }
                        }
                    }
                    if (dv) {
                        /* key_3 = key_2 */
                        for (int64_t j = 0; j < j1 - j0; j++) {
                            for (int64_t e_first = 0; e_first < 64; e_first += 8) {
                                UNROLL for (int64_t vector = 0, e = e_first; vector < 2; vector++, e += 4) {
                                    store_any(key_3 + j * 64 + e, load_any(key_2 + ((j0 + j) - t_key0) * 64 + e));
                                }
                            }
                        }
                        /* dv = key_3 */
                        for (int64_t j = 0; j < j1 - j0; j++)
                            for (int64_t e = 0; e < 64; e++)
                                dv[(j0 + j) * dv_row + e] = key_3[j * 64 + e];
                    }
                    if (dbeta_array) {
                        /* query_4 = 0.0f */
                        for (int64_t t_key = 0; t_key < t_key1 - t_key0; t_key += 4) {
                            store_any(query_4 + t_key, splat_any(0.0f));
                        }
                        /* corrected_turned = corrected, with zeros beyond the last row */
                        transpose_padded_any(corrected, 64, t_key1 - t_key0, 64, corrected_turned, 32, -32);
                        /* query_4 += corrected_turned * saved_solution_tile */
                        for (int64_t t_key_first = 0; t_key_first < t_key1 - t_key0; t_key_first += 8) {
                            vec_any query_4_in[2];
                            UNROLL for (int64_t vector = 0, t_key = t_key_first; vector < 2; vector++, t_key += 4) {
                                query_4_in[vector] = (vec_any){0};
                            }
                            for (int64_t e = 0; e < 64; e++) {
                                UNROLL for (int64_t vector = 0, t_key = t_key_first; vector < 2; vector++, t_key += 4) {
                                    query_4_in[vector] += load_any(corrected_turned + e * 32 + t_key) *
                                        load_any(saved_solution_tile + e * 32 + ((t_key0 + t_key) - j0));
                                }
                            }
                            UNROLL for (int64_t vector = 0, t_key = t_key_first; vector < 2; vector++, t_key += 4) {
                                store_any(query_4 + t_key, load_any(query_4 + t_key) + query_4_in[vector]);
                            }
                        }
                        /* query_scale_3 = select(m == 0, query_4, 0.0f) */
                        const int t_46 = m == 0;
                        for (int64_t j = 0; j < j1 - j0; j += 4) {
                            store_any(query_scale_3 + j, t_46 ? load_any(query_4 + ((j0 + j) - t_key0)) :
                                splat_any(0.0f));
                        }
                        /* dbeta_array = query_scale_3 */
                        for (int64_t j = 0; j < j1 - j0; j++)
                            dbeta_array[m * n_k + (j0 + j)] = query_scale_3[j];
                    }
                    /* key_2 = 0.0f - key_2 */
                    for (int64_t t_key = 0; t_key < t_key1 - t_key0; t_key++) {
                        for (int64_t e_first = 0; e_first < 64; e_first += 8) {
                            UNROLL for (int64_t vector = 0, e = e_first; vector < 2; vector++, e += 4) {
                                store_any(key_2 + t_key * 64 + e, 0.0f - load_any(key_2 + t_key * 64 + e));
                            }
                        }
                    }
                    if (linear_part_2 || linear_part_3 || linear_part_4 || linear_part_5) {
                        /* score_4[t_key][j] = sum over e of key_2 * query_features_2 */
                        dot14_any(round_up(j1 - j0, 4), t_key1 - t_key0, key_2, query_features_2, score_4);
                    }
                    if (linear_part_2 || linear_part_3) {
                        /* weight_6 = score_4 * exp2(((log_decay_k - log_decay_k_tile_2) + (log_decay_k_low -
                           log_decay_k_low_tile_2)) * 1.442695f) */
                        for (int64_t j = 0; j < j1 - j0; j += 4) {
                            const vec_any log_decay_k_tile_2_47 = load_any(log_decay_k_tile_2 + j);
                            const vec_any log_decay_k_low_tile_2_48 = load_any(log_decay_k_low_tile_2 + j);
                            for (int64_t t_key = 0; t_key < t_key1 - t_key0; t_key++) {
                                store_any(weight_6 + t_key * 32 + j, load_any(score_4 + t_key * 32 + j) *
                                    exp2_any(((log_decay_k[(t_key0 + t_key)] - log_decay_k_tile_2_47) +
                                    (log_decay_k_low[(t_key0 + t_key)] - log_decay_k_low_tile_2_48)) * 1.442695f));
                            }
                        }
                        /* weight_6 = select(j < t_key, weight_6, 0.0f) */
                        for (int64_t j = 0; j < j1 - j0; j += 4) {
                            const ints_any t_49 = j0 + j + lane_any;
                            for (int64_t t_key = 0; t_key < t_key1 - t_key0; t_key++) {
                                store_any(weight_6 + t_key * 32 + j, pick_any(__builtin_convertvector(t_49 < (t_key0 +
                                    t_key), mask_any), load_any(weight_6 + t_key * 32 + j), splat_any(0.0f)));
                            }
                        }
                    }
                    if (linear_part_2) {
                        /* weight_6_turned = weight_6, with zeros beyond the last row */
                        transpose_padded_any(weight_6, 32, t_key1 - t_key0, j1 - j0, weight_6_turned, 32, -32);
                        /* sum_3[d][t_key] = sum over j of query_features * weight_6_turned */
                        if (__builtin_expect(!finite_any(query_features, 32, 64, j1 - j0),
                            0)) { /* infinity and NaN affect only queries that see them */
                            dot15_any(round_up(t_key1 - t_key0, 4), j1 - j0, query_features, weight_6_turned, sum_3);
                            for (int64_t j = 0; j < j1 - j0; j++) {
                                mask_any in_region[8] = {0};
                                if (finite_any(query_features + j * 1, 32, 64, 1)) continue;
                                for (int64_t t_key = 0; t_key < t_key1 - t_key0; t_key += 4) {
                                    in_region[t_key / 4] = __builtin_convertvector((j0 + j) < (t_key0 + t_key +
                                        lane_any), mask_any);
                                }
                                add_seen_any(64, sum_3, 32, query_features + j * 1, 32, weight_6_turned + j * 32,
                                    in_region, t_key1 - t_key0);
                            }
                        } else
                            dot16_any(round_up(t_key1 - t_key0, 4), j1 - j0, query_features, weight_6_turned, sum_3);
                        /* sum_3 = sum_3 */
                        for (int64_t d = 0; d < 64; d++) {
                            for (int64_t t_key = 0; t_key < t_key1 - t_key0; t_key += 4) {
                                store_any(sum_3 + d * 32 + t_key, load_any(sum_3 + d * 32 + t_key));
                            }
                        }
                        /* linear_part_2 = sum_3, transposed back */
                        transpose_out_any(sum_3, 32, 64, t_key1 - t_key0, linear_part_2 + t_key0 * linear_part_2_row,
                            linear_part_2_row, -32);
                    }
                    if (linear_part_3) {
                        /* sum_4[d][j] = sum over t_key of query_features * weight_6 */
                        if (__builtin_expect(!finite_any(query_features, 32, 64, t_key1 - t_key0),
                            0)) { /* infinity and NaN affect only queries that see them */
                            dot15_any(round_up(j1 - j0, 4), t_key1 - t_key0, query_features, weight_6, sum_4);
                            for (int64_t t_key = 0; t_key < t_key1 - t_key0; t_key++) {
                                mask_any in_region[8] = {0};
                                if (finite_any(query_features + t_key * 1, 32, 64, 1)) continue;
                                for (int64_t j = 0; j < j1 - j0; j += 4) {
                                    in_region[j / 4] = __builtin_convertvector((j0 + j + lane_any) < (t_key0 + t_key),
                                        mask_any);
                                }
                                add_seen_any(64, sum_4, 32, query_features + t_key * 1, 32, weight_6 + t_key * 32,
                                    in_region, j1 - j0);
                            }
                        } else
                            dot16_any(round_up(j1 - j0, 4), t_key1 - t_key0, query_features, weight_6, sum_4);
                        /* query_sum_5 = 0.0f */
                        for (int64_t j = 0; j < j1 - j0; j += 4) {
                            store_any(query_sum_5 + j, splat_any(0.0f));
                        }
                        /* sum_2 = (query_3 + sum_2) + sum_4; query_sum_5 += sum_2 * (k_tile * select(query_sum == 0.0f,
                           0.0f, neg((1.0f / sqrt(query_sum)) ... */
                        for (int64_t j = 0; j < j1 - j0; j += 4) {
                            const vec_any query_sum_52 = load_any(query_sum + j);
                            const vec_any t_53 = sqrt_any(query_sum_52);
                            const vec_any t_54 = pick_any(query_sum_52 == 0.0f, splat_any(0.0f),
                                (-((1.0f / t_53) * (0.5f / t_53))) / t_53);
                            vec_any query_sum_5_in = (vec_any){0};
                            for (int64_t d = 0; d < 64; d++) {
                                const vec_any sum_2_50 = load_any(sum_2 + d * 32 + j);
                                const vec_any sum_2_new51 = (load_any(query_3 + d * 32 + j) + sum_2_50) + load_any(sum_4
                                    + d * 32 + j);
                                store_any(sum_2 + d * 32 + j, sum_2_new51);
                                query_sum_5_in += sum_2_new51 * (load_any(k_tile + d * 32 + j) * t_54);
                            }
                            store_any(query_sum_5 + j, load_any(query_sum_5 + j) + query_sum_5_in);
                        }
                        /* sum_2 = (sum_2 * select(query_sum == 0.0f, 0.0f,
                           1.0f / sqrt(query_sum))) + (query_sum_5 * (k_tile * 2.0f)) */
                        for (int64_t j = 0; j < j1 - j0; j += 4) {
                            const vec_any query_sum_55 = load_any(query_sum + j);
                            const vec_any t_56 = pick_any(query_sum_55 == 0.0f, splat_any(0.0f),
                                1.0f / sqrt_any(query_sum_55));
                            const vec_any query_sum_5_57 = load_any(query_sum_5 + j);
                            for (int64_t d = 0; d < 64; d++) {
                                store_any(sum_2 + d * 32 + j, (load_any(sum_2 + d * 32 + j) * t_56) + (query_sum_5_57 *
                                    (load_any(k_tile + d * 32 + j) * 2.0f)));
                            }
                        }
                        /* linear_part_3 = sum_2, transposed back */
                        transpose_out_any(sum_2, 32, 64, j1 - j0, linear_part_3 + j0 * linear_part_3_row,
                            linear_part_3_row, -32);
                    }
                    if (linear_part_4) {
                        /* score_4_turned = score_4, with zeros beyond the last row */
                        transpose_padded_any(score_4, 32, t_key1 - t_key0, j1 - j0, score_4_turned, 32, -32);
                        /* score_4_turned = score_4_turned * score */
                        for (int64_t j = 0; j < j1 - j0; j++) {
                            for (int64_t t_key = 0; t_key < t_key1 - t_key0; t_key += 4) {
                                store_any(score_4_turned + j * 32 + t_key, load_any(score_4_turned + j * 32 + t_key) *
                                    load_any(score + j * 32 + t_key));
                            }
                        }
                        /* row_sum_2 = 0.0f */
                        for (int64_t t_key = 0; t_key < t_key1 - t_key0; t_key += 4) {
                            store_any(row_sum_2 + t_key, splat_any(0.0f));
                        }
                        /* score_4_turned = select(j < t_key, score_4_turned, 0.0f); row_sum_2 += score_4_turned */
                        for (int64_t t_key = 0; t_key < t_key1 - t_key0; t_key += 4) {
                            const ints_any t_58 = t_key0 + t_key + lane_any;
                            vec_any row_sum_2_in = (vec_any){0};
                            for (int64_t j = 0; j < j1 - j0; j++) {
                                const vec_any score_4_turned_59 = load_any(score_4_turned + j * 32 + t_key);
                                const vec_any score_4_turned_new60 = pick_any(__builtin_convertvector((j0 + j) < t_58,
                                    mask_any), score_4_turned_59, splat_any(0.0f));
                                store_any(score_4_turned + j * 32 + t_key, score_4_turned_new60);
                                row_sum_2_in += score_4_turned_new60;
                            }
                            store_any(row_sum_2 + t_key, load_any(row_sum_2 + t_key) + row_sum_2_in);
                        }
                        /* row_sum_2 = row_sum_2 */
                        for (int64_t t_key = 0; t_key < t_key1 - t_key0; t_key += 4) {
                            store_any(row_sum_2 + t_key, load_any(row_sum_2 + t_key));
                        }
                        /* linear_part_4 = row_sum_2 */
                        for (int64_t t_key = 0; t_key < t_key1 - t_key0; t_key++)
                            linear_part_4[(t_key0 + t_key)] = row_sum_2[t_key];
                    }
                    if (linear_part_5) {
                        /* weight_turned = score, with zeros beyond the last row */
                        transpose_padded_any(score, 32, j1 - j0, t_key1 - t_key0, weight_turned, 32, -32);
                        /* weight_turned = score_4 * neg(weight_turned) */
                        for (int64_t t_key = 0; t_key < t_key1 - t_key0; t_key++) {
                            for (int64_t j = 0; j < j1 - j0; j += 4) {
                                store_any(weight_turned + t_key * 32 + j, load_any(score_4 + t_key * 32 + j) *
                                    (-load_any(weight_turned + t_key * 32 + j)));
                            }
                        }
                        /* row_sum_3 = 0.0f */
                        for (int64_t j = 0; j < j1 - j0; j += 4) {
                            store_any(row_sum_3 + j, splat_any(0.0f));
                        }
                        /* weight_turned = select(j < t_key, weight_turned, 0.0f); row_sum_3 += weight_turned */
                        for (int64_t j = 0; j < j1 - j0; j += 4) {
                            const ints_any t_61 = j0 + j + lane_any;
                            vec_any row_sum_3_in = (vec_any){0};
                            for (int64_t t_key = 0; t_key < t_key1 - t_key0; t_key++) {
                                const vec_any weight_turned_62 = load_any(weight_turned + t_key * 32 + j);
                                const vec_any weight_turned_new63 = pick_any(__builtin_convertvector(t_61 < (t_key0 +
                                    t_key), mask_any), weight_turned_62, splat_any(0.0f));
                                store_any(weight_turned + t_key * 32 + j, weight_turned_new63);
                                row_sum_3_in += weight_turned_new63;
                            }
                            store_any(row_sum_3 + j, load_any(row_sum_3 + j) + row_sum_3_in);
                        }
                        /* row_sum = (row_sum + query_sum_3) + row_sum_3 */
                        for (int64_t j = 0; j < j1 - j0; j += 4) {
                            store_any(row_sum + j, (load_any(row_sum + j) + load_any(query_sum_3 + j)) +
                                load_any(row_sum_3 + j));
                        }
                        /* linear_part_5 = row_sum */
                        for (int64_t j = 0; j < j1 - j0; j++)
                            linear_part_5[(j0 + j)] = row_sum[j];
                    }
                    /* state[f][e] += sum over t_key of query_features_4 * key_2 */
                    dot17_any(t_key1 - t_key0, query_features_4, key_2, state);
                }
            }
        }
    }
}

/* Computes task number `task`: one tile of queries of one head. `work` is this thread's workspace. */
static void gated_deltanet_linear_dq_dlog_decay_q_dk_dlog_decay_k_any(const struct call *call, int64_t task,
    unsigned char *work)
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
    const float *const log_decay_q_low = call->log_decay_q_low + b * call->log_decay_q_low_at.batch + g * members *
        call->log_decay_q_low_at.head;
    const int64_t log_decay_q_low_head = call->log_decay_q_low_at.head;
    const float *const log_decay_q = call->log_decay_q + b * call->log_decay_q_at.batch + g * members *
        call->log_decay_q_at.head;
    const int64_t log_decay_q_head = call->log_decay_q_at.head;
    const float *const log_decay_k_low = call->log_decay_k_low + b * call->log_decay_k_low_at.batch + g * members *
        call->log_decay_k_low_at.head;
    const float *const log_decay_k = call->log_decay_k + b * call->log_decay_k_at.batch + g * members *
        call->log_decay_k_at.head;
    const float *const log_decay_chunk_low = call->log_decay_chunk_low + b * call->log_decay_chunk_low_at.batch + g *
        members * call->log_decay_chunk_low_at.head;
    const float *const log_decay_chunk = call->log_decay_chunk + b * call->log_decay_chunk_at.batch + g * members *
        call->log_decay_chunk_at.head;
    const float *const beta_array = call->beta_array + b * call->beta_array_at.batch + g * members *
        call->beta_array_at.head;
    const int64_t beta_array_row = call->beta_array_at.row;
    const float *const dout = call->dout + b * call->p.dout.batch + g * members * call->p.dout.head;
    const int64_t dout_row = call->p.dout.row;
    const int64_t dout_head = call->p.dout.head;
    const float *const saved_solution = call->saved_solution ? call->saved_solution + b * call->saved_solution_at.batch
        + g * call->saved_solution_at.head : NULL;
    const int64_t saved_solution_row = call->saved_solution_at.row;
    const float *const linear_part_1 = call->linear_part_1 ? call->linear_part_1 + b * call->linear_part_1_at.batch + g
        * call->linear_part_1_at.head : NULL;
    const int64_t linear_part_1_row = call->linear_part_1_at.row;
    const float *const linear_part_2 = call->linear_part_2 ? call->linear_part_2 + b * call->linear_part_2_at.batch + g
        * call->linear_part_2_at.head : NULL;
    const int64_t linear_part_2_row = call->linear_part_2_at.row;
    const float *const linear_part_3 = call->linear_part_3 ? call->linear_part_3 + b * call->linear_part_3_at.batch + g
        * call->linear_part_3_at.head : NULL;
    const int64_t linear_part_3_row = call->linear_part_3_at.row;
    const float *const linear_part_4 = call->linear_part_4 ? call->linear_part_4 + (b * kv_heads + g) * n_k : NULL;
    const float *const linear_part_5 = call->linear_part_5 ? call->linear_part_5 + (b * kv_heads + g) * n_k : NULL;
    float *const state = (float *)(void *)(work + 0); /* [f: 64, e: 64] */
    float *const query_sum = (float *)(void *)(work + 16384); /* [j: 32] */
    float *const query_features = (float *)(void *)(work + 16512); /* [d: 64, j: 32] */
    float *const query_features_2 = (float *)(void *)(work + 24704); /* [f: 64, j: 32] */
    float *const query_scale = (float *)(void *)(work + 32896); /* [j: 32] */
    float *const key_features = (float *)(void *)(work + 33024); /* [j: 32, e: 64] */
    float *const sum_from_state = (float *)(void *)(work + 41216); /* [f: 64, t_key: 32] */
    float *const query_2 = (float *)(void *)(work + 49408); /* [f: 64, t_key: 32] */
    float *const query_4 = (float *)(void *)(work + 57600); /* [d: 64, t_key: 32] */
    float *const query_sum_3 = (float *)(void *)(work + 32896); /* [t_key: 32] */
    float *const query_5 = (float *)(void *)(work + 49408); /* [d: 64, t_key: 32] */
    float *const query_6 = (float *)(void *)(work + 65792); /* [d: 64, j: 32] */
    float *const dk = call->dk ? call->dk + b * call->p.dk.batch + g * call->p.dk.head : NULL;
    const int64_t dk_row = call->p.dk.row;
    float *const query_sum_4 = (float *)(void *)(work + 16384); /* [t_key: 32] */
    float *const query_scale_3 = (float *)(void *)(work + 32896); /* [j: 32] */
    float *const dlog_decay_k = call->dlog_decay_k ? call->dlog_decay_k + b * call->dlog_decay_k_at.batch + g * members
        * call->dlog_decay_k_at.head : NULL;
    const int64_t dlog_decay_k_head = call->dlog_decay_k_at.head;
    float *const query_sum_5 = (float *)(void *)(work + 16384); /* [i: 32] */
    float *const sum_from_state_2 = (float *)(void *)(work + 41216); /* [f: 64, i: 32] */
    float *const query_8 = (float *)(void *)(work + 49408); /* [f: 64, i: 32] */
    float *const score = (float *)(void *)(work + 57600); /* [j: 32, i: 32] */
    float *const weight = (float *)(void *)(work + 61696); /* [j: 32, i: 32] */
    float *const sum = (float *)(void *)(work + 65792); /* [d: 64, i: 32] */
    float *const query_sum_6 = (float *)(void *)(work + 32896); /* [i: 32] */
    float *const dq = call->dq ? call->dq + b * call->p.dq.batch + g * members * call->p.dq.head : NULL;
    const int64_t dq_row = call->p.dq.row;
    const int64_t dq_head = call->p.dq.head;
    float *const score_2 = (float *)(void *)(work + 49408); /* [j: 32, i: 32] */
    float *const row_sum = (float *)(void *)(work + 16384); /* [i: 32] */
    float *const query_sum_7 = (float *)(void *)(work + 32896); /* [i: 32] */
    float *const dlog_decay_q = call->dlog_decay_q ? call->dlog_decay_q + b * call->dlog_decay_q_at.batch + g * members
        * call->dlog_decay_q_at.head : NULL;
    const int64_t dlog_decay_q_row = call->dlog_decay_q_at.row;
    const int64_t dlog_decay_q_head = call->dlog_decay_q_at.head;
    float *const kept_share = (float *)(void *)(work + 16384); /* [f: 64] */
    float *const lost_share = (float *)(void *)(work + 16640); /* [f: 64] */
    float *const k_tile = (float *)(void *)(work + 73984); /* [d: 64, j: 32] */
    float *const log_decay_k_tile = (float *)(void *)(work + 82176); /* [j: 32] */
    float *const log_decay_k_low_tile = (float *)(void *)(work + 82304); /* [j: 32] */
    float *const beta_tile = (float *)(void *)(work + 82432); /* [j: 32] */
    float *const linear_part_1_tile = (float *)(void *)(work + 49408); /* [e: 64, t_key: 32] */
    float *const linear_part_2_tile = (float *)(void *)(work + 65792); /* [d: 64, t_key: 32] */
    float *const linear_part_3_tile = (float *)(void *)(work + 82560); /* [d: 64, j: 32] */
    float *const linear_part_4_tile = (float *)(void *)(work + 90752); /* [t_key: 32] */
    float *const linear_part_5_tile = (float *)(void *)(work + 90880); /* [j: 32] */
    float *const q_tile = (float *)(void *)(work + 91008); /* [d: 64, i: 32] */
    float *const dout_tile = (float *)(void *)(work + 61696); /* [e: 64, i: 32] */
    float *const log_decay_q_tile = (float *)(void *)(work + 90752); /* [i: 32] */
    float *const log_decay_q_low_tile = (float *)(void *)(work + 99200); /* [i: 32] */
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
                /* k_tile = k, with zeros beyond the last row */
                transpose_padded_any(k + j0 * k_row, k_row, j1 - j0, 64, k_tile, 32, 64);
                /* log_decay_k_tile = log_decay_k, with zeros beyond the last row */
                for (int64_t j = 0; j < round_up(j1 - j0, 4); j++)
                    log_decay_k_tile[j] = j < j1 - j0 ? log_decay_k[(j0 + j)] : 0;
                /* log_decay_k_low_tile = log_decay_k_low, with zeros beyond the last row */
                for (int64_t j = 0; j < round_up(j1 - j0, 4); j++)
                    log_decay_k_low_tile[j] = j < j1 - j0 ? log_decay_k_low[(j0 + j)] : 0;
                if (beta_array_row == 1) {
                    /* beta_tile = beta_array, with zeros beyond the last row */
                    for (int64_t j = 0; j < round_up(j1 - j0, 4); j++)
                        beta_tile[j] = j < j1 - j0 ? beta_array[(j0 + j)] : 0;
                } else {
                    /* beta_tile = beta_array, with zeros beyond the last row */
                    for (int64_t j = 0; j < round_up(j1 - j0, 4); j++)
                        beta_tile[j] = j < j1 - j0 ? beta_array[(j0 + j) * beta_array_row] : 0;
                }
                if (dk) {
                    /* linear_part_3_tile = linear_part_3, with zeros beyond the last row */
                    transpose_padded_any(linear_part_3 + j0 * linear_part_3_row, linear_part_3_row, j1 - j0, 64,
                        linear_part_3_tile, 32, 64);
                }
                if (dlog_decay_k) {
                    /* linear_part_5_tile = linear_part_5, with zeros beyond the last row */
                    for (int64_t j = 0; j < round_up(j1 - j0, 4); j++)
                        linear_part_5_tile[j] = j < j1 - j0 ? linear_part_5[(j0 + j)] : 0;
                }
                for (int64_t t_key0 = j0, t_key_end = j1; t_key0 < t_key_end; t_key0 += 32) {
                    const int64_t t_key1 = min(t_key0 + 32, t_key_end);
                    if (dk || dlog_decay_k) {
                        /* linear_part_1_tile = linear_part_1, with zeros beyond the last row */
                        transpose_padded_any(linear_part_1 + t_key0 * linear_part_1_row, linear_part_1_row,
                            t_key1 - t_key0, 64, linear_part_1_tile, 32, 64);
                    }
                    if (dk) {
                        /* linear_part_2_tile = linear_part_2, with zeros beyond the last row */
                        transpose_padded_any(linear_part_2 + t_key0 * linear_part_2_row, linear_part_2_row,
                            t_key1 - t_key0, 64, linear_part_2_tile, 32, 64);
                    }
                    if (dlog_decay_k) {
                        /* linear_part_4_tile = linear_part_4, with zeros beyond the last row */
                        for (int64_t t_key = 0; t_key < round_up(t_key1 - t_key0, 4); t_key++)
                            linear_part_4_tile[t_key] = t_key < t_key1 - t_key0 ? linear_part_4[(t_key0 + t_key)] : 0;
                    }
                    /* query_sum = 0.0f */
                    for (int64_t j = 0; j < j1 - j0; j += 4) {
                        store_any(query_sum + j, splat_any(0.0f));
                    }
                    /* query_sum += k_tile * k_tile */
                    for (int64_t j_first = 0; j_first < j1 - j0; j_first += 8) {
                        vec_any query_sum_in[2];
                        UNROLL for (int64_t vector = 0, j = j_first; vector < 2; vector++, j += 4) {
                            query_sum_in[vector] = (vec_any){0};
                        }
                        for (int64_t d = 0; d < 64; d++) {
                            UNROLL for (int64_t vector = 0, j = j_first; vector < 2; vector++, j += 4) {
                                const vec_any k_tile_0 = load_any(k_tile + d * 32 + j);
                                query_sum_in[vector] += k_tile_0 * k_tile_0;
                            }
                        }
                        UNROLL for (int64_t vector = 0, j = j_first; vector < 2; vector++, j += 4) {
                            store_any(query_sum + j, load_any(query_sum + j) + query_sum_in[vector]);
                        }
                    }
                    /* query_features = k_tile * select(query_sum == 0.0f, 0.0f, 1.0f / sqrt(query_sum)) */
                    for (int64_t j = 0; j < j1 - j0; j += 4) {
                        const vec_any query_sum_1 = load_any(query_sum + j);
                        const vec_any t_2 = pick_any(query_sum_1 == 0.0f, splat_any(0.0f),
                            1.0f / sqrt_any(query_sum_1));
                        for (int64_t d = 0; d < 64; d++) {
                            store_any(query_features + d * 32 + j, load_any(k_tile + d * 32 + j) * t_2);
                        }
                    }
                    /* query_features_2 = query_features * exp2(((log_decay_chunk - log_decay_k_tile) +
                       (log_decay_chunk_low - log_decay_k_low_tile)) * ... */
                    const float log_decay_chunk_3 = log_decay_chunk[max(min((((j0 / 32) + 1) * 32) - 1, n_k - 1), 0)];
                    const float log_decay_chunk_low_4 = log_decay_chunk_low[max(min((((j0 / 32) + 1) * 32) - 1,
                        n_k - 1), 0)];
                    for (int64_t j = 0; j < j1 - j0; j += 4) {
                        const vec_any t_5 = exp2_any(((log_decay_chunk_3 - load_any(log_decay_k_tile + j)) +
                            (log_decay_chunk_low_4 - load_any(log_decay_k_low_tile + j))) * 1.442695f);
                        for (int64_t f = 0; f < 64; f++) {
                            store_any(query_features_2 + f * 32 + j, load_any(query_features + f * 32 + j) * t_5);
                        }
                    }
                    /* query_scale = beta_tile */
                    for (int64_t j = 0; j < j1 - j0; j += 4) {
                        store_any(query_scale + j, load_any(beta_tile + j));
                    }
                    /* key_features = saved_solution * query_scale */
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        for (int64_t e_first = 0; e_first < 64; e_first += 8) {
                            UNROLL for (int64_t vector = 0, e = e_first; vector < 2; vector++, e += 4) {
                                store_any(key_features + j * 64 + e, load_any(saved_solution + (j0 + j) *
                                    saved_solution_row + e) * query_scale[j]);
                            }
                        }
                    }
                    if (dk || dlog_decay_k) {
                        /* linear_part_1_tile = 0.0f - (linear_part_1_tile * query_scale) */
                        for (int64_t t_key = 0; t_key < t_key1 - t_key0; t_key += 4) {
                            const vec_any query_scale_6 = load_any(query_scale + ((t_key0 + t_key) - j0));
                            for (int64_t e = 0; e < 64; e++) {
                                store_any(linear_part_1_tile + e * 32 + t_key,
                                    0.0f - (load_any(linear_part_1_tile + e * 32 + t_key) * query_scale_6));
                            }
                        }
                        /* sum_from_state[f][t_key] = sum over e of state * linear_part_1_tile */
                        dot6_any(round_up(t_key1 - t_key0, 4), state, linear_part_1_tile, sum_from_state);
                    }
                    if (dk) {
                        /* query_2 = sum_from_state * select((lo() / 32) == 0, 1.0f,
                           exp2(((log_decay_k_tile - log_decay_chunk) + (log_decay_k_low_tile - l ... */
                        const int t_7 = (j0 / 32) == 0;
                        const float log_decay_chunk_8 = log_decay_chunk[max(min(j0 - 1, n_k - 1), 0)];
                        const float log_decay_chunk_low_9 = log_decay_chunk_low[max(min(j0 - 1, n_k - 1), 0)];
                        for (int64_t t_key = 0; t_key < t_key1 - t_key0; t_key += 4) {
                            const vec_any t_10 = t_7 ? splat_any(1.0f) : exp2_any(((load_any(log_decay_k_tile + ((t_key0
                                + t_key) - j0)) - log_decay_chunk_8) + (load_any(log_decay_k_low_tile + ((t_key0 +
                                t_key) - j0)) - log_decay_chunk_low_9)) * 1.442695f);
                            for (int64_t f = 0; f < 64; f++) {
                                store_any(query_2 + f * 32 + t_key, load_any(sum_from_state + f * 32 + t_key) * t_10);
                            }
                        }
                        /* query_sum_3 = 0.0f */
                        for (int64_t t_key = 0; t_key < t_key1 - t_key0; t_key += 4) {
                            store_any(query_sum_3 + t_key, splat_any(0.0f));
                        }
                        /* linear_part_2_tile = query_2 + linear_part_2_tile;
                           query_4 = linear_part_2_tile * select(query_sum == 0.0f, 0.0f, 1.0f / sqrt(qu ... */
                        for (int64_t t_key = 0; t_key < t_key1 - t_key0; t_key += 4) {
                            const vec_any query_sum_13 = load_any(query_sum + ((t_key0 + t_key) - j0));
                            const mask_any t_14 = query_sum_13 == 0.0f;
                            const vec_any t_15 = sqrt_any(query_sum_13);
                            const vec_any t_16 = 1.0f / t_15;
                            const vec_any t_17 = pick_any(t_14, splat_any(0.0f), t_16);
                            const vec_any t_18 = pick_any(t_14, splat_any(0.0f), (-(t_16 * (0.5f / t_15))) / t_15);
                            vec_any query_sum_3_in = (vec_any){0};
                            for (int64_t d = 0; d < 64; d++) {
                                const vec_any linear_part_2_tile_11 = load_any(linear_part_2_tile + d * 32 + t_key);
                                const vec_any linear_part_2_tile_new12 = load_any(query_2 + d * 32 + t_key) +
                                    linear_part_2_tile_11;
                                store_any(linear_part_2_tile + d * 32 + t_key, linear_part_2_tile_new12);
                                store_any(query_4 + d * 32 + t_key, linear_part_2_tile_new12 * t_17);
                                query_sum_3_in += linear_part_2_tile_new12 * (load_any(k_tile + d * 32 + ((t_key0 +
                                    t_key) - j0)) * t_18);
                            }
                            store_any(query_sum_3 + t_key, load_any(query_sum_3 + t_key) + query_sum_3_in);
                        }
                        /* query_5 = query_sum_3 * (k_tile * 2.0f) */
                        for (int64_t t_key = 0; t_key < t_key1 - t_key0; t_key += 4) {
                            const vec_any query_sum_3_19 = load_any(query_sum_3 + t_key);
                            for (int64_t d = 0; d < 64; d++) {
                                store_any(query_5 + d * 32 + t_key, query_sum_3_19 * (load_any(k_tile + d * 32 +
                                    ((t_key0 + t_key) - j0)) * 2.0f));
                            }
                        }
                        /* query_6 = (query_4 + query_5) + linear_part_3_tile */
                        for (int64_t d = 0; d < 64; d++) {
                            for (int64_t j = 0; j < j1 - j0; j += 4) {
                                store_any(query_6 + d * 32 + j, (load_any(query_4 + d * 32 + ((j0 + j) - t_key0)) +
                                    load_any(query_5 + d * 32 + ((j0 + j) - t_key0))) + load_any(linear_part_3_tile + d
                                    * 32 + j));
                            }
                        }
                        /* dk = query_6, transposed back */
                        transpose_out_any(query_6, 32, 64, j1 - j0, dk + j0 * dk_row, dk_row, 64);
                    }
                    if (dlog_decay_k) {
                        /* query_sum_4 = 0.0f */
                        for (int64_t t_key = 0; t_key < t_key1 - t_key0; t_key += 4) {
                            store_any(query_sum_4 + t_key, splat_any(0.0f));
                        }
                        /* query_sum_4 += sum_from_state * (query_features * select((lo() / 32) == 0, 0.0f,
                           exp2(((log_decay_k_tile - log_decay_chunk) + (l ... */
                        const int t_20 = (j0 / 32) == 0;
                        const float log_decay_chunk_21 = log_decay_chunk[max(min(j0 - 1, n_k - 1), 0)];
                        const float log_decay_chunk_low_22 = log_decay_chunk_low[max(min(j0 - 1, n_k - 1), 0)];
                        for (int64_t t_key = 0; t_key < t_key1 - t_key0; t_key += 4) {
                            const vec_any t_23 = t_20 ? splat_any(0.0f) : exp2_any(((load_any(log_decay_k_tile +
                                ((t_key0 + t_key) - j0)) - log_decay_chunk_21) + (load_any(log_decay_k_low_tile +
                                ((t_key0 + t_key) - j0)) - log_decay_chunk_low_22)) * 1.442695f);
                            vec_any query_sum_4_in = (vec_any){0};
                            for (int64_t f = 0; f < 64; f++) {
                                query_sum_4_in += load_any(sum_from_state + f * 32 + t_key) * (load_any(query_features +
                                    f * 32 + ((t_key0 + t_key) - j0)) * t_23);
                            }
                            store_any(query_sum_4 + t_key, load_any(query_sum_4 + t_key) + query_sum_4_in);
                        }
                        /* query_sum_4 = query_sum_4 + linear_part_4_tile */
                        for (int64_t t_key = 0; t_key < t_key1 - t_key0; t_key += 4) {
                            store_any(query_sum_4 + t_key, load_any(query_sum_4 + t_key) + load_any(linear_part_4_tile +
                                t_key));
                        }
                        /* query_scale_3 = select(m == 0, query_sum_4 + linear_part_5_tile, 0.0f) */
                        const int t_24 = m == 0;
                        for (int64_t j = 0; j < j1 - j0; j += 4) {
                            store_any(query_scale_3 + j, t_24 ? load_any(query_sum_4 + ((j0 + j) - t_key0)) +
                                load_any(linear_part_5_tile + j) : splat_any(0.0f));
                        }
                        /* dlog_decay_k = query_scale_3 */
                        for (int64_t j = 0; j < j1 - j0; j++)
                            dlog_decay_k[m * dlog_decay_k_head + (j0 + j)] = query_scale_3[j];
                    }
                    for (int64_t i0 = ((j0 / 32) == 0) ? 0 : max(0, j0 - query_start), i_end = min(n_q,
                        (((j0 / 32) + 1) * 32) - query_start); i0 < i_end; i0 += 32) {
                        const int64_t i1 = min(i0 + 32, i_end);
                        if (dq || dlog_decay_q) {
                            /* q_tile = q, with zeros beyond the last row */
                            transpose_padded_any(q + m * q_head + i0 * q_row, q_row, i1 - i0, 64, q_tile, 32, 64);
                            /* dout_tile = dout, with zeros beyond the last row */
                            transpose_padded_any(dout + m * dout_head + i0 * dout_row, dout_row, i1 - i0, 64, dout_tile,
                                32, 64);
                            /* log_decay_q_tile = log_decay_q, with zeros beyond the last row */
                            for (int64_t i = 0; i < round_up(i1 - i0, 4); i++)
                                log_decay_q_tile[i] = i < i1 - i0 ? log_decay_q[m * log_decay_q_head + (i0 + i)] : 0;
                            /* log_decay_q_low_tile = log_decay_q_low, with zeros beyond the last row */
                            for (int64_t i = 0; i < round_up(i1 - i0, 4); i++)
                                log_decay_q_low_tile[i] = i < i1 - i0 ? log_decay_q_low[m * log_decay_q_low_head + (i0 +
                                    i)] : 0;
                            /* query_sum_5 = 0.0f */
                            for (int64_t i = 0; i < i1 - i0; i += 4) {
                                store_any(query_sum_5 + i, splat_any(0.0f));
                            }
                            /* sum_from_state_2[f][i] = sum over e of state * dout_tile */
                            dot6_any(round_up(i1 - i0, 4), state, dout_tile, sum_from_state_2);
                        }
                        if (dq) {
                            /* query_8 = sum_from_state_2 * select((lo() / 32) == 0, 1.0f,
                               exp2(((log_decay_q_tile - log_decay_chunk) + (log_decay_q_low_tile - ... */
                            const int t_25 = (j0 / 32) == 0;
                            const float log_decay_chunk_26 = log_decay_chunk[max(min(j0 - 1, n_k - 1), 0)];
                            const float log_decay_chunk_low_27 = log_decay_chunk_low[max(min(j0 - 1, n_k - 1), 0)];
                            for (int64_t i = 0; i < i1 - i0; i += 4) {
                                const vec_any t_28 = t_25 ? splat_any(1.0f) : exp2_any(((load_any(log_decay_q_tile + i)
                                    - log_decay_chunk_26) + (load_any(log_decay_q_low_tile + i) -
                                    log_decay_chunk_low_27)) * 1.442695f);
                                for (int64_t f = 0; f < 64; f++) {
                                    store_any(query_8 + f * 32 + i, load_any(sum_from_state_2 + f * 32 + i) * t_28);
                                }
                            }
                        }
                        if (dq || dlog_decay_q) {
                            /* score[j][i] = sum over e of key_features * dout_tile */
                            dot14_any(round_up(i1 - i0, 4), j1 - j0, key_features, dout_tile, score);
                        }
                        if (dq) {
                            /* weight = score * exp2(((log_decay_q_tile - log_decay_k) + (log_decay_q_low_tile -
                               log_decay_k_low)) * 1.442695f) */
                            for (int64_t i = 0; i < i1 - i0; i += 4) {
                                const vec_any log_decay_q_tile_29 = load_any(log_decay_q_tile + i);
                                const vec_any log_decay_q_low_tile_30 = load_any(log_decay_q_low_tile + i);
                                for (int64_t j = 0; j < j1 - j0; j++) {
                                    store_any(weight + j * 32 + i, load_any(score + j * 32 + i) *
                                        exp2_any(((log_decay_q_tile_29 - log_decay_k[(j0 + j)]) +
                                        (log_decay_q_low_tile_30 - log_decay_k_low[(j0 + j)])) * 1.442695f));
                                }
                            }
                            /* weight = select(j <= (i + query_start), weight, 0.0f) */
                            for (int64_t i = 0; i < i1 - i0; i += 4) {
                                const ints_any t_31 = (i0 + i + lane_any) + query_start;
                                for (int64_t j = 0; j < j1 - j0; j++) {
                                    store_any(weight + j * 32 + i, pick_any(__builtin_convertvector((j0 + j) <= t_31,
                                        mask_any), load_any(weight + j * 32 + i), splat_any(0.0f)));
                                }
                            }
                            /* sum[d][i] = sum over j of query_features * weight */
                            if (__builtin_expect(!finite_any(query_features, 32, 64, j1 - j0),
                                0)) { /* infinity and NaN affect only queries that see them */
                                dot15_any(round_up(i1 - i0, 4), j1 - j0, query_features, weight, sum);
                                for (int64_t j = 0; j < j1 - j0; j++) {
                                    mask_any in_region[8] = {0};
                                    if (finite_any(query_features + j * 1, 32, 64, 1)) continue;
                                    for (int64_t i = 0; i < i1 - i0; i += 4) {
                                        in_region[i / 4] = __builtin_convertvector((j0 + j) <= ((i0 + i + lane_any) +
                                            query_start), mask_any);
                                    }
                                    add_seen_any(64, sum, 32, query_features + j * 1, 32, weight + j * 32, in_region,
                                        i1 - i0);
                                }
                            } else
                                dot16_any(round_up(i1 - i0, 4), j1 - j0, query_features, weight, sum);
                        }
                        if (dq || dlog_decay_q) {
                            /* query_sum_5 += q_tile * q_tile; sum = query_8 + sum */
                            for (int64_t i_first = 0; i_first < i1 - i0; i_first += 8) {
                                vec_any query_sum_5_in[2];
                                UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += 4) {
                                    query_sum_5_in[vector] = (vec_any){0};
                                }
                                for (int64_t d = 0; d < 64; d++) {
                                    UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += 4) {
                                        const vec_any q_tile_32 = load_any(q_tile + d * 32 + i);
                                        query_sum_5_in[vector] += q_tile_32 * q_tile_32;
                                        store_any(sum + d * 32 + i, load_any(query_8 + d * 32 + i) + load_any(sum + d *
                                            32 + i));
                                    }
                                }
                                UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += 4) {
                                    store_any(query_sum_5 + i, load_any(query_sum_5 + i) + query_sum_5_in[vector]);
                                }
                            }
                        }
                        if (dq) {
                            /* query_sum_6 = 0.0f */
                            for (int64_t i = 0; i < i1 - i0; i += 4) {
                                store_any(query_sum_6 + i, splat_any(0.0f));
                            }
                            /* query_sum_6 += sum * ((q_tile * select(query_sum_5 == 0.0f, 0.0f,
                               neg((1.0f / sqrt(query_sum_5)) * (0.5f / sqrt(query_sum_5))) / ... */
                            for (int64_t i = 0; i < i1 - i0; i += 4) {
                                const vec_any query_sum_5_33 = load_any(query_sum_5 + i);
                                const vec_any t_34 = sqrt_any(query_sum_5_33);
                                const vec_any t_35 = pick_any(query_sum_5_33 == 0.0f, splat_any(0.0f),
                                    (-((1.0f / t_34) * (0.5f / t_34))) / t_34);
                                vec_any query_sum_6_in = (vec_any){0};
                                for (int64_t d = 0; d < 64; d++) {
                                    query_sum_6_in += load_any(sum + d * 32 + i) * ((load_any(q_tile + d * 32 + i) *
                                        t_35) * 0.125f);
                                }
                                store_any(query_sum_6 + i, load_any(query_sum_6 + i) + query_sum_6_in);
                            }
                            /* sum = (sum * (select(query_sum_5 == 0.0f, 0.0f,
                               1.0f / sqrt(query_sum_5)) * 0.125f)) + (query_sum_6 * (q_tile * 2.0f)) */
                            for (int64_t i = 0; i < i1 - i0; i += 4) {
                                const vec_any query_sum_5_36 = load_any(query_sum_5 + i);
                                const vec_any t_37 = pick_any(query_sum_5_36 == 0.0f, splat_any(0.0f),
                                    1.0f / sqrt_any(query_sum_5_36)) * 0.125f;
                                const vec_any query_sum_6_38 = load_any(query_sum_6 + i);
                                for (int64_t d = 0; d < 64; d++) {
                                    store_any(sum + d * 32 + i, (load_any(sum + d * 32 + i) * t_37) + (query_sum_6_38 *
                                        (load_any(q_tile + d * 32 + i) * 2.0f)));
                                }
                            }
                            /* dq = sum, transposed back */
                            transpose_out_any(sum, 32, 64, i1 - i0, dq + m * dq_head + i0 * dq_row, dq_row, 64);
                        }
                        if (dlog_decay_q) {
                            /* q_tile = (q_tile * select(query_sum_5 == 0.0f, 0.0f,
                               1.0f / sqrt(query_sum_5))) * 0.125f */
                            for (int64_t i = 0; i < i1 - i0; i += 4) {
                                const vec_any query_sum_5_39 = load_any(query_sum_5 + i);
                                const vec_any t_40 = pick_any(query_sum_5_39 == 0.0f, splat_any(0.0f),
                                    1.0f / sqrt_any(query_sum_5_39));
                                for (int64_t d = 0; d < 64; d++) {
                                    store_any(q_tile + d * 32 + i, (load_any(q_tile + d * 32 + i) * t_40) * 0.125f);
                                }
                            }
                            /* score_2[j][i] = sum over d of query_features * q_tile */
                            dot0_any(round_up(i1 - i0, 4), j1 - j0, query_features, q_tile, score_2);
                            /* score_2 = score * (score_2 * exp2(((log_decay_q_tile - log_decay_k) +
                               (log_decay_q_low_tile - log_decay_k_low)) * 1.442695f)) */
                            for (int64_t i = 0; i < i1 - i0; i += 4) {
                                const vec_any log_decay_q_tile_41 = load_any(log_decay_q_tile + i);
                                const vec_any log_decay_q_low_tile_42 = load_any(log_decay_q_low_tile + i);
                                for (int64_t j = 0; j < j1 - j0; j++) {
                                    store_any(score_2 + j * 32 + i, load_any(score + j * 32 + i) * (load_any(score_2 + j
                                        * 32 + i) * exp2_any(((log_decay_q_tile_41 - log_decay_k[(j0 + j)]) +
                                        (log_decay_q_low_tile_42 - log_decay_k_low[(j0 + j)])) * 1.442695f)));
                                }
                            }
                            /* row_sum = 0.0f */
                            for (int64_t i = 0; i < i1 - i0; i += 4) {
                                store_any(row_sum + i, splat_any(0.0f));
                            }
                            /* score_2 = select(j <= (i + query_start), score_2, 0.0f); row_sum += score_2 */
                            for (int64_t i = 0; i < i1 - i0; i += 4) {
                                const ints_any t_43 = (i0 + i + lane_any) + query_start;
                                vec_any row_sum_in = (vec_any){0};
                                for (int64_t j = 0; j < j1 - j0; j++) {
                                    const vec_any score_2_44 = load_any(score_2 + j * 32 + i);
                                    const vec_any score_2_new45 = pick_any(__builtin_convertvector((j0 + j) <= t_43,
                                        mask_any), score_2_44, splat_any(0.0f));
                                    store_any(score_2 + j * 32 + i, score_2_new45);
                                    row_sum_in += score_2_new45;
                                }
                                store_any(row_sum + i, load_any(row_sum + i) + row_sum_in);
                            }
                            /* query_sum_7 = 0.0f */
                            for (int64_t i = 0; i < i1 - i0; i += 4) {
                                store_any(query_sum_7 + i, splat_any(0.0f));
                            }
                            /* query_sum_7 += sum_from_state_2 * (q_tile * select((lo() / 32) == 0, 0.0f,
                               exp2(((log_decay_q_tile - log_decay_chunk) + (log_dec ... */
                            const int t_46 = (j0 / 32) == 0;
                            const float log_decay_chunk_47 = log_decay_chunk[max(min(j0 - 1, n_k - 1), 0)];
                            const float log_decay_chunk_low_48 = log_decay_chunk_low[max(min(j0 - 1, n_k - 1), 0)];
                            for (int64_t i = 0; i < i1 - i0; i += 4) {
                                const vec_any t_49 = t_46 ? splat_any(0.0f) : exp2_any(((load_any(log_decay_q_tile + i)
                                    - log_decay_chunk_47) + (load_any(log_decay_q_low_tile + i) -
                                    log_decay_chunk_low_48)) * 1.442695f);
                                vec_any query_sum_7_in = (vec_any){0};
                                for (int64_t f = 0; f < 64; f++) {
                                    query_sum_7_in += load_any(sum_from_state_2 + f * 32 + i) * (load_any(q_tile + f *
                                        32 + i) * t_49);
                                }
                                store_any(query_sum_7 + i, load_any(query_sum_7 + i) + query_sum_7_in);
                            }
                            /* row_sum = row_sum + query_sum_7 */
                            for (int64_t i = 0; i < i1 - i0; i += 4) {
                                store_any(row_sum + i, load_any(row_sum + i) + load_any(query_sum_7 + i));
                            }
                            /* dlog_decay_q = row_sum */
                            for (int64_t i = 0; i < i1 - i0; i++)
                                dlog_decay_q[m * dlog_decay_q_head + (i0 + i) * dlog_decay_q_row] = row_sum[i];
                        }
                    }
                    /* kept_share = select(exp2(((log_decay_chunk - log_decay_chunk) + (log_decay_chunk_low -
                       log_decay_chunk_low)) * 1.442695f) < 0.5f ... */
                    const float t_50 = (log_decay_chunk[max(min((((j0 / 32) + 1) * 32) - 1, n_k - 1),
                        0)] - log_decay_chunk[max(min(j0 - 1, n_k - 1), 0)]) + (log_decay_chunk_low[max(min((((j0 / 32)
                        + 1) * 32) - 1, n_k - 1), 0)] - log_decay_chunk_low[max(min(j0 - 1, n_k - 1), 0)]);
                    const float t_51 = exp2f(t_50 * 1.442695f);
                    const int t_52 = t_51 < 0.5f;
                    const float t_53 = t_52 ? t_51 : 1.0f;
                    const float t_54 = t_52 ? 0.0f : (-expm1f(t_50));
                    for (int64_t f = 0; f < 64; f += 4) {
                        store_any(kept_share + f, splat_any(t_53));
                        store_any(lost_share + f, splat_any(t_54));
                    }
                    /* state[f][e] = state * kept_share - state * lost_share + sum over j of query_features_2 *
                       key_features */
                    dot5_any(j1 - j0, query_features_2, key_features, state, kept_share, lost_share);
                }
            }
        }
    }
}

/* Computes task number `task`: one tile of keys of one head. `work` is this thread's workspace. */
static void gated_deltanet_linear_terms_dgate_any(const struct call *call, int64_t task, unsigned char *work)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_k = call->p.n_k;
    const int64_t tiles = (n_k + 64 - 1) / 64, j0 = (tiles - 1 - task % tiles) * 64,
        j1 = min(j0 + 64, n_k);
    const int64_t m = task / tiles % members;
    const int64_t g = task / tiles / members % kv_heads;
    const int64_t b = task / tiles / members / kv_heads;
    const float *const gate_array = call->gate_array + b * call->gate_array_at.batch + (g * members + m) *
        call->gate_array_at.head;
    const int64_t gate_array_row = call->gate_array_at.row;
    const float *const dlog_decay = call->dlog_decay + b * call->dlog_decay_at.batch + (g * members + m) *
        call->dlog_decay_at.head;
    float *const dgate_array = call->dgate_array ? call->dgate_array + ((b * kv_heads + g) * members + m) * n_k : NULL;
    float *const gate_tile = (float *)(void *)(work + 0); /* [j: 64] */
    float *const dlog_decay_tile = (float *)(void *)(work + 256); /* [j: 64] */
    if (gate_array_row == 1) {
        /* gate_tile = gate_array, with zeros beyond the last row */
        for (int64_t j = 0; j < round_up(j1 - j0, 4); j++)
            gate_tile[j] = j < j1 - j0 ? gate_array[(j0 + j)] : 0;
    } else {
        /* gate_tile = gate_array, with zeros beyond the last row */
        for (int64_t j = 0; j < round_up(j1 - j0, 4); j++)
            gate_tile[j] = j < j1 - j0 ? gate_array[(j0 + j) * gate_array_row] : 0;
    }
    /* dlog_decay_tile = dlog_decay, with zeros beyond the last row */
    for (int64_t j = 0; j < round_up(j1 - j0, 4); j++)
        dlog_decay_tile[j] = j < j1 - j0 ? dlog_decay[(j0 + j)] : 0;
    /* gate_tile = dlog_decay_tile * select(gate_tile < -1e+04f, 0.0f, 1.0f) */
    for (int64_t j = 0; j < j1 - j0; j += 4) {
        store_any(gate_tile + j, load_any(dlog_decay_tile + j) * pick_any(load_any(gate_tile + j) < (-1e+04f),
            splat_any(0.0f), splat_any(1.0f)));
    }
    if (dgate_array) {
        /* dgate_array = gate_tile */
        for (int64_t j = 0; j < j1 - j0; j++)
            dgate_array[(j0 + j)] = gate_tile[j];
    }
}

/* Computes task number `task`: one tile of queries of one head. `work` is this thread's workspace. */
static void gated_deltanet_terms_any(const struct call *call, int64_t task, unsigned char *work)
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
    float *const result = (float *)(void *)(work + 0); /* [i: 64] */
    float *const log_decay_k = call->log_decay_k ? call->log_decay_k + b * call->log_decay_k_at.batch + (g * members +
        m) * call->log_decay_k_at.head : NULL;
    const int64_t log_decay_k_row = call->log_decay_k_at.row;
    float *const gate_at = (float *)(void *)(work + 256); /* [i: 64] */
    /* gate_at = gate_array, at computed subscripts */
    for (int64_t i = 0; i < i1 - i0; i++) gate_at[i] = gate_array[((i0 + i) + n_k - n_q) * gate_array_row];
    for (int64_t i = i1 - i0; i < round_up(i1 - i0, 4); i++) gate_at[i] = 0;
    /* result = max(gate_at, -1e+04f) */
    for (int64_t i = 0; i < i1 - i0; i += 4) {
        store_any(result + i, max_any(load_any(gate_at + i), splat_any(-1e+04f)));
    }
    if (log_decay_k) {
        /* log_decay_k = result */
        for (int64_t i = 0; i < i1 - i0; i++)
            log_decay_k[(i0 + i) * log_decay_k_row] = result[i];
    }
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
    int saves;   /* forward stores values for backward */
    int (*wanted)(const struct call *); /* tells whether a call wants a gradient of this part; may be NULL */
    int units;      /* the number of slices of the rows, or 0 */
    int unit_heads; /* heads in a slice: 0: all, 1: one key/value head, 2: one query head */
};

static struct version version(int64_t n_k)
{
    (void)n_k;
#if defined(__x86_64__)
    if (attn_x86_64_level() >= 4)
        return (struct version){.rows = gated_deltanet_linear_v4, .tile = 0, .own = 70400, .of_token = 4160,
            .in_keys = 1};
#endif
#if defined(__x86_64__)
    if (attn_x86_64_level() >= 3)
        return (struct version){.rows = gated_deltanet_linear_v3, .tile = 0, .own = 70400, .of_token = 4160,
            .in_keys = 1};
#endif
    return (struct version){.rows = gated_deltanet_linear_any, .tile = 0, .own = 70400, .of_token = 4160, .in_keys = 1};
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

size_t gated_deltanet_params_size(void)
{
    return 0;
}

int gated_deltanet_params_init(struct gated_deltanet_params *params, uint64_t seed, void *storage)
{
    (void)seed;
    (void)storage;
    if (!params) return ATTN_EPOINTER;
    *params = (struct gated_deltanet_params){0};
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
    const struct gated_deltanet_params *const params = call->params;
    const struct gated_deltanet_strides *const given = params->strides;
    int error = 0;
    (void)p;
    if (!error)
        error = fill_strides(call->at.gate, given ? given->gate : NULL, (const int64_t[]){p->batch, p->heads, p->n_k},
            3,
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
    const struct gated_deltanet_params *const params = call->params;
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
        return (struct version){.rows = gated_deltanet_terms_v4, .tile = 64, .own = 512, .of_pair = 128};
#endif
#if defined(__x86_64__)
    if (attn_x86_64_level() >= 3)
        return (struct version){.rows = gated_deltanet_terms_v3, .tile = 64, .own = 512, .of_pair = 128};
#endif
    return (struct version){.rows = gated_deltanet_terms_any, .tile = 64, .own = 512, .of_pair = 128};
}

/* Returns the bytes of an array with a row per position and head. */
static size_t prefix_rows(const struct attn_problem *p, int64_t n)
{
    const size_t of_heads = bytes_times(bytes_times(1 * sizeof(float), p->batch), p->heads);
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
    const struct attn_strides queries = {p->heads * p->n_q * 1, p->n_q * 1, 1},
        keys = {p->heads * rows * 1, rows * 1, 1};
    call->log_decay_q = (float *)(void *)at;
    call->log_decay_q_low = (float *)(void *)(at + of_queries);
    call->log_decay_k = call->log_decay_chunk = (float *)(void *)(at + 2 * of_queries);
    call->log_decay_k_low = call->log_decay_chunk_low = (float *)(void *)(at + 2 * of_queries + of_keys);
    call->log_decay_q_at = call->log_decay_q_low_at = queries;
    call->log_decay_k_at = call->log_decay_k_low_at = call->log_decay_chunk_at = call->log_decay_chunk_low_at = keys;
    if (!queries_at_keys(p)) return;
    call->log_decay_q = call->log_decay_k + (p->n_k - p->n_q) * 1;
    call->log_decay_q_low = call->log_decay_k_low + (p->n_k - p->n_q) * 1;
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
    float *restrict const sum = call->log_decay_k + task * rows * 1,
        *restrict const sum_low = call->log_decay_k_low + task * rows * 1,
        *restrict const of_query = call->log_decay_q + task * n_q * 1,
        *restrict const of_query_low = call->log_decay_q_low + task * n_q * 1;
    (void)work;
    double high[1] = {0}; /* has more digits than the two numbers that are stored */
    for (int64_t t = 0; t < n_k; t++)
        for (int64_t x = 0, at = t * 1; x < 1; x++, at++) {
            high[x] += (double)sum[at];
            sum[at] = (float)high[x];
            sum_low[at] = (float)(high[x] - (double)sum[at]);
        }
    if (queries_at_keys(&call->p)) return;
    const int64_t first = call->p.query_start ? call->p.query_start[task / call->p.heads] : n_k - n_q;
    for (int64_t i = 0; i < n_q; i++) {
        const int64_t at = i * 1, from = min(first + i, n_k - 1) * 1;
        for (int64_t x = 0; x < 1 && from < 0; x++) of_query[at + x] = of_query_low[at + x] = 0;
        for (int64_t x = 0; x < 1 && from >= 0; x++) {
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

size_t gated_deltanet_workspace(const struct attn_problem *problem)
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
    if (this->units)
        tasks = this->units * (this->unit_heads == 0 ? 1 : this->unit_heads == 1 ? p->kv_heads : p->heads) *
            (this->tile > 0 ? (positions + this->tile - 1) / this->tile : 1);
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

/* Returns the bytes of an array with an element per query and head. */
static size_t row_bytes(const struct attn_problem *p)
{
    return whole_lines(bytes_times(bytes_times(bytes_times(sizeof(float), p->batch), p->heads), p->n_q));
}

/* Returns the bytes of call->saved_solution. */
static size_t solution_bytes(const struct attn_problem *p)
{
    return whole_lines(bytes_times(bytes_times(bytes_times(64 * sizeof(float), p->batch), p->kv_heads), p->n_k));
}

static void set_solution(struct call *call, unsigned char *at)
{
    const int64_t head = call->p.n_k * 64;
    call->saved_solution = (float *)(void *)at;
    call->saved_solution_at = (struct attn_strides){call->p.kv_heads * head, head, 64};
}

static size_t saved_bytes(const struct attn_problem *p)
{
    return bytes_plus(bytes_times(row_bytes(p), 0), solution_bytes(p));
}

size_t gated_deltanet_saved(const struct attn_problem *problem)
{
    const size_t bytes = problem ? saved_bytes(problem) : 0;
    return bytes_fit(bytes) ? bytes : 0;
}

static void set_saved(struct call *call, unsigned char *saved)
{
    (void)call;
    (void)saved;
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

int gated_deltanet_forward(const struct attn_problem *problem, const struct gated_deltanet_params *params,
    const float *q, const float *k, const float *v,
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
    const size_t saved = saved_bytes(problem);
    if (problem->saved && !bytes_fit(saved)) return ATTN_ESIZE;
    if (problem->saved && problem->saved_bytes && problem->saved_bytes < saved) return ATTN_EWORKSPACE;
    if ((uintptr_t)problem->saved % 64) return ATTN_EALIGN;
    if (problem->saved && this.saves) set_saved(&call, (unsigned char *)problem->saved);
    if (problem->saved) set_solution(&call, (unsigned char *)problem->saved + 0 * row_bytes(problem));
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

/* ==== the gradients ==== */
/* Backward runs in parts. The first part computes the saved values if forward has not saved them. Each later part
   computes some of the gradients. */
INLINE int wanted_0(const struct call *call) { return call->saved_solution != NULL; }
INLINE int wanted_1(const struct call *call) { return call->dv || call->linear_part_1 || call->dbeta_array ||
    call->linear_part_2 || call->linear_part_3 || call->linear_part_4 || call->linear_part_5; }
INLINE int wanted_2(const struct call *call) { return call->dq || call->dlog_decay_q || call->dk || call->dlog_decay_k;
    }
INLINE int wanted_3(const struct call *call) { return call->dgate_array != NULL; }

static struct version part_version(int part, int64_t n_k)
{
    (void)n_k; /* n_k is unused if every target has one version of each part */
    switch (part) {
    case 0:
#if defined(__x86_64__)
    if (attn_x86_64_level() >= 4)
        return (struct version){.rows = gated_deltanet_linear_saved_solution_v4, .tile = 0, .own = 62080,
            .of_token = 4160, .wanted = wanted_0};
#endif
#if defined(__x86_64__)
    if (attn_x86_64_level() >= 3)
        return (struct version){.rows = gated_deltanet_linear_saved_solution_v3, .tile = 0, .own = 62080,
            .of_token = 4160, .wanted = wanted_0};
#endif
    return (struct version){.rows = gated_deltanet_linear_saved_solution_any, .tile = 0, .own = 62080, .of_token = 4160,
        .wanted = wanted_0};
    case 1:
#if defined(__x86_64__)
    if (attn_x86_64_level() >= 4)
        return (struct version){.rows =
            gated_deltanet_linear_dv_linear_part_1_dbeta_linear_part_2_linear_part_3_linear_part_4_linear_part_5_v4,
            .tile = 0, .own = 131968, .of_token = 4160, .in_keys = 1, .wanted = wanted_1};
#endif
#if defined(__x86_64__)
    if (attn_x86_64_level() >= 3)
        return (struct version){.rows =
            gated_deltanet_linear_dv_linear_part_1_dbeta_linear_part_2_linear_part_3_linear_part_4_linear_part_5_v3,
            .tile = 0, .own = 131968, .of_token = 4160, .in_keys = 1, .wanted = wanted_1};
#endif
    return (struct version){.rows =
        gated_deltanet_linear_dv_linear_part_1_dbeta_linear_part_2_linear_part_3_linear_part_4_linear_part_5_any,
        .tile = 0, .own = 131968, .of_token = 4160, .in_keys = 1, .wanted = wanted_1};
    case 2:
#if defined(__x86_64__)
    if (attn_x86_64_level() >= 4)
        return (struct version){.rows = gated_deltanet_linear_dq_dlog_decay_q_dk_dlog_decay_k_v4, .tile = 0,
            .own = 99328, .of_token = 4160, .in_keys = 1, .wanted = wanted_2};
#endif
#if defined(__x86_64__)
    if (attn_x86_64_level() >= 3)
        return (struct version){.rows = gated_deltanet_linear_dq_dlog_decay_q_dk_dlog_decay_k_v3, .tile = 0,
            .own = 99328, .of_token = 4160, .in_keys = 1, .wanted = wanted_2};
#endif
    return (struct version){.rows = gated_deltanet_linear_dq_dlog_decay_q_dk_dlog_decay_k_any, .tile = 0, .own = 99328,
        .of_token = 4160, .in_keys = 1, .wanted = wanted_2};
    default:
#if defined(__x86_64__)
    if (attn_x86_64_level() >= 4)
        return (struct version){.rows = gated_deltanet_linear_terms_dgate_v4, .tile = 64, .own = 512, .of_pair = 128,
            .wanted = wanted_3, .of_keys = OF_QUERY_HEAD};
#endif
#if defined(__x86_64__)
    if (attn_x86_64_level() >= 3)
        return (struct version){.rows = gated_deltanet_linear_terms_dgate_v3, .tile = 64, .own = 512, .of_pair = 128,
            .wanted = wanted_3, .of_keys = OF_QUERY_HEAD};
#endif
    return (struct version){.rows = gated_deltanet_linear_terms_dgate_any, .tile = 64, .own = 512, .of_pair = 128,
        .wanted = wanted_3, .of_keys = OF_QUERY_HEAD};
    }
}

/* From each of these numbers of keys on, a part of backward may have another version. */
static const int64_t part_from[] = {
    0
};

/* Replaces the gradients of a head's prefix sums by the gradients of the terms. The gradient of a term is the sum of
   the gradients from its position to the last. */
static void add_gradients(const struct call *call, int64_t task, unsigned char *work)
{
    const int64_t n_q = call->p.n_q, n_k = call->p.n_k;
    float *const sum = call->dlog_decay + task * rows_of_sums(&call->p) * 1;
    const float *const of_query = call->dlog_decay_q + task * n_q * 1;
    double high[1] = {0}, low[1] = {0};
    (void)work;
    const int64_t first = call->p.query_start ? call->p.query_start[task / call->p.heads] : n_k - n_q;
    int64_t i = n_q - 1; /* the last query whose gradient is not added yet */
    for (int64_t t = n_k - 1; t >= 0; t--) {
        for (; i >= 0 && first + i >= t; i--)
            for (int64_t x = 0; x < 1; x++) add_to_sum(&high[x], &low[x], (double)of_query[i * 1 + x]);
        for (int64_t x = 0, at = t * 1; x < 1; x++, at++) {
            add_to_sum(&high[x], &low[x], (double)sum[at]);
            sum[at] = (float)(high[x] + low[x]);
        }
    }
}

static size_t prefix_gradients_bytes(const struct attn_problem *problem)
{
    return bytes_plus(prefix_rows(problem, problem->n_q), prefix_rows(problem, rows_of_sums(problem)));
}

/* Sets pointers and strides of the gradients of the prefix sums, which begin at `at`. */
static void set_prefix_gradients(struct call *call, unsigned char *at)
{
    call->dlog_decay_q = (float *)(void *)at;
    call->dlog_decay_k = call->dlog_decay = (float *)(void *)(at + prefix_rows(&call->p, call->p.n_q));
    call->dlog_decay_q_at = (struct attn_strides){call->p.heads * call->p.n_q * 1, call->p.n_q * 1,
        1};
    call->dlog_decay_k_at = call->dlog_decay_at = call->log_decay_k_at;
}

/* Computes the gradients of the terms of prefix sums, if the call wants a gradient that needs them. */
static int make_prefix_gradients(const struct call *call, int threads, unsigned char *work, size_t bytes)
{
    const struct version sums = {.rows = add_gradients, .tile = -1, .of_token = 8};
    return call->dlog_decay ? run(call, &sums, threads, work, bytes) : 0;
}

/* Returns the largest workspace of a thread in bytes, over all versions of the parts of backward for up to n_k keys. */
static size_t part_bytes_a_thread(int64_t n_k)
{
    const struct version terms = terms_version();
    size_t bytes = bytes_a_thread(&terms);
    for (size_t k = 0; k < sizeof part_from / sizeof *part_from; k++)
        for (int part = 0; part < 4 && (k == 0 || part_from[k] <= n_k); part++) {
            const struct version v = part_version(part, part_from[k]);
            if (bytes_a_thread(&v) > bytes) bytes = bytes_a_thread(&v);
        }
    return bytes;
}

/* Sets pointers to the wanted gradients in `to`, and to arrays in the memory at `left`. One part of backward fills
   these arrays, and later parts read them. Returns the bytes that all the arrays need. */
static size_t set_totals(struct call *call, const struct gated_deltanet_gradients *to, unsigned char *const left)
{
    const struct attn_problem *const p = &call->p;
    size_t at = 0, most = 0;
    if (to) {
        call->dgate_array = to->gate;
        call->dbeta_array = to->beta;
    }
    if (at > most) most = at;
    at = 0;
    if (call->dbeta_array || call->dk || call->dgate_array || call->dq) call->saved_solution = (float *)(void *)(left +
        at);
    at = bytes_plus(at, whole_lines(bytes_times(bytes_times(bytes_times(64 * sizeof(float), p->batch), p->kv_heads),
        p->n_k)));
    call->saved_solution_at = (struct attn_strides){(int64_t)bytes_times(bytes_times(64, p->n_k), p->kv_heads),
        (int64_t)bytes_times(64, p->n_k), 64};
    if (call->dk || call->dgate_array) call->linear_part_1 = (float *)(void *)(left + at);
    at = bytes_plus(at, whole_lines(bytes_times(bytes_times(bytes_times(64 * sizeof(float), p->batch), p->kv_heads),
        p->n_k)));
    call->linear_part_1_at = (struct attn_strides){(int64_t)bytes_times(bytes_times(64, p->n_k), p->kv_heads),
        (int64_t)bytes_times(64, p->n_k), 64};
    if (call->dk) call->linear_part_2 = (float *)(void *)(left + at);
    at = bytes_plus(at, whole_lines(bytes_times(bytes_times(bytes_times(64 * sizeof(float), p->batch), p->kv_heads),
        p->n_k)));
    call->linear_part_2_at = (struct attn_strides){(int64_t)bytes_times(bytes_times(64, p->n_k), p->kv_heads),
        (int64_t)bytes_times(64, p->n_k), 64};
    if (call->dk) call->linear_part_3 = (float *)(void *)(left + at);
    at = bytes_plus(at, whole_lines(bytes_times(bytes_times(bytes_times(64 * sizeof(float), p->batch), p->kv_heads),
        p->n_k)));
    call->linear_part_3_at = (struct attn_strides){(int64_t)bytes_times(bytes_times(64, p->n_k), p->kv_heads),
        (int64_t)bytes_times(64, p->n_k), 64};
    if (call->dgate_array) call->linear_part_4 = (float *)(void *)(left + at);
    at = bytes_plus(at, whole_lines(bytes_times(bytes_times(bytes_times(1 * sizeof(float), p->batch), p->kv_heads),
        p->n_k)));
    if (call->dgate_array) call->linear_part_5 = (float *)(void *)(left + at);
    at = bytes_plus(at, whole_lines(bytes_times(bytes_times(bytes_times(1 * sizeof(float), p->batch), p->kv_heads),
        p->n_k)));
    if (at > most) most = at;

    (void)p;
    (void)left;
    return most;
}

/* Returns the bytes of a gradient of q or k with a row for each head of out and position. It is 0 if no heads share. */
static size_t bytes_of_heads(const struct attn_problem *p, int64_t n)
{
    if (sharing_of(p) == 1) return 0;
    return whole_lines(bytes_times(bytes_times(bytes_times(64 * sizeof(float), p->batch), p->heads), n));
}

/* Makes dq and dk arrays at `at`, which have a gradient for each of the heads that share a head of q and of k. */
static void set_gradients_of_heads(struct call *call, unsigned char *at)
{
    const struct attn_problem p = call->p;
    call->sum_dq = call->dq;
    call->sum_dk = call->dk;
    call->sum_dq_at = p.dq;
    call->sum_dk_at = p.dk;
    if (call->dq) call->dq = (float *)(void *)at;
    if (call->dk) call->dk = (float *)(void *)(at + bytes_of_heads(&p, p.n_q));
    call->p.dq = (struct attn_strides){p.heads * p.n_q * 64, p.n_q * 64, 64};
    call->p.dk = (struct attn_strides){p.heads * p.n_k * 64, p.n_k * 64, 64};
}

/* Writes the sums over the sharing heads of n rows. `from` has the rows of the first of these heads. */
static void add_rows_of_heads(float *to, int64_t row, const float *from, int64_t n, int64_t sharing)
{
    for (int64_t at = 0; at < n * 64; at += 64, to += row) {
        float sum[64] = {0};
        for (int64_t h = 0; h < sharing; h++)
            for (int64_t d = 0; d < 64; d++) sum[d] +=(from[h * n * 64 + at + d]);
        for (int64_t d = 0; d < 64; d++) to[d] =(sum[d]);
    }
}

/* Adds the gradients of the heads that share head number `task` of q and of k. */
static void add_heads(const struct call *call, int64_t task, unsigned char *work)
{
    const struct attn_problem *const p = &call->p;
    const int64_t b = task / p->heads, h = task % p->heads, first = task * call->sharing * 64;
    (void)work;
    if (call->dq)
        add_rows_of_heads(call->sum_dq + b * call->sum_dq_at.batch + h * call->sum_dq_at.head, call->sum_dq_at.row,
            call->dq + first * p->n_q, p->n_q, call->sharing);
    if (call->dk)
        add_rows_of_heads(call->sum_dk + b * call->sum_dk_at.batch + h * call->sum_dk_at.head, call->sum_dk_at.row,
            call->dk + first * p->n_k, p->n_k, call->sharing);
}

/* Returns the bytes of backward's shared workspace. It has arrays that one part fills for later parts. It also has
   room for the saved values, because forward may not have saved them. */
static size_t shared_bytes(const struct attn_problem *problem)
{
    size_t bytes = bytes_times(row_bytes(problem), 0 + 0);
    bytes = bytes_plus(bytes, bytes_plus(bytes_of_heads(problem, problem->n_q), bytes_of_heads(problem, problem->n_k)));
    struct call none = {.p = *problem};
    bytes = bytes_plus(bytes, set_totals(&none, NULL, NULL));
    bytes = bytes_plus(bytes, prefix_gradients_bytes(problem));
    bytes = bytes_plus(bytes, call_bytes(problem, problem));
    return bytes;
}

size_t gated_deltanet_backward_workspace(const struct attn_problem *problem)
{
    if (!problem) return 0;
    const size_t of_threads = bytes_times(part_bytes_a_thread(problem->n_k), threads_served(problem)),
        bytes = bytes_plus(shared_bytes(problem), of_threads);
    return bytes_fit(bytes) ? bytes : 0;
}

static void set_row_sums(struct call *call, unsigned char *rows)
{
    (void)call;
    (void)rows;
}

static int run_part(int part, struct call *call, int threads, unsigned char *workspace)
{
    const struct version this = part_version(part, keys_of_version(&call->p));
    if (this.wanted && !this.wanted(call)) return 0;
    return run(call, &this, threads, workspace, bytes_a_thread(&this));
}

int gated_deltanet_backward(const struct attn_problem *problem, const struct gated_deltanet_params *params,
    const float *q, const float *k, const float *v, const float *out, const float *dout,
    float *dq, float *dk, float *dv,
    struct gated_deltanet_gradients *gradients, void *workspace)
{
    struct call call = {.params = params, .q = q, .k = k, .v = v, .out = (float *)out, .dout = dout, .dq = dq, .dk = dk,
        .dv = dv};
    int error = take_problem(&call, problem, attn_problem_check);
    if (error) return error;
    if ((call.p.batch > 0 && call.p.heads > 0 && call.p.n_q > 0 && (!q || !out || !dout)) ||
        (call.p.batch > 0 && call.p.kv_heads > 0 && call.p.n_k > 0 && (!k || !v)))
        return ATTN_EPOINTER;
    if ((dq && (const void *)dq == q) ||
        (dq && (const void *)dq == k) ||
        (dq && (const void *)dq == v) ||
        (dq && (const void *)dq == out) ||
        (dq && (const void *)dq == dout) ||
        (dk && (const void *)dk == q) ||
        (dk && (const void *)dk == k) ||
        (dk && (const void *)dk == v) ||
        (dk && (const void *)dk == out) ||
        (dk && (const void *)dk == dout) ||
        (dk && (const void *)dk == dq) ||
        (dv && (const void *)dv == q) ||
        (dv && (const void *)dv == k) ||
        (dv && (const void *)dv == v) ||
        (dv && (const void *)dv == out) ||
        (dv && (const void *)dv == dout) ||
        (dv && (const void *)dv == dq) ||
        (dv && (const void *)dv == dk)) return ATTN_EPOINTER;
    const int wrong = take_params(&call);
    if (wrong) return wrong;
    if ((uintptr_t)problem->saved % 64) return ATTN_EALIGN;
    for (int part = 0; part < 4; part++) {
        const struct version this = part_version(part, keys_of_version(&call.p));
        if (!runs(&this)) return ATTN_EMACHINE;
        if (this.in_keys && after_keys(&call.p)) return ATTN_ELENGTH;
    }
    const size_t bytes = part_bytes_a_thread(problem->n_k), saved = saved_bytes(problem),
        shared = shared_bytes(problem);
    int threads = 1;
    error = take_workspace(problem, workspace, shared, bytes, &threads);
    if (error) return error;
    if (problem->saved && problem->saved_bytes && problem->saved_bytes < saved) return ATTN_EWORKSPACE;
    unsigned char *first = (unsigned char *)workspace;
    if (call.sharing > 1) {
        set_gradients_of_heads(&call, first);
        first += bytes_of_heads(problem, problem->n_q) + bytes_of_heads(problem, problem->n_k);
    }
    if (call.p.n_k == 0 && call.dq) clear_rows(&call.p, call.dq, &call.p.dq, 64);
    unsigned char *const rows = first + 0 * row_bytes(problem), *const work = (unsigned char *)workspace +
                                                                                        shared;
    set_row_sums(&call, rows);
    unsigned char *next = rows + 0 * row_bytes(problem);
    next += set_totals(&call, gradients, next);
    const int solved = problem->saved && problem->n_q > 0; /* forward of no queries saves nothing */
    if (solved) set_solution(&call, (unsigned char *)problem->saved + 0 * row_bytes(problem));
    (void)next;
    unsigned char *const prefix = work - call_bytes(problem, problem);
    const struct version terms = terms_version();
    if (!runs(&terms)) return ATTN_EMACHINE;
    set_prefix_sums(&call, prefix);
    if (call.dgate_array)
        set_prefix_gradients(&call, prefix - prefix_gradients_bytes(problem));
    error = make_prefix_sums(&call, threads, work, bytes_a_thread(&terms));
    if (!error && !solved) error = run_part(0, &call, threads, work);
    if (!error) error = run_part(1, &call, threads, work);
    if (!error) error = run_part(2, &call, threads, work);
    if (!error) error = make_prefix_gradients(&call, threads, work, bytes);
    if (!error) error = run_part(3, &call, threads, work);
    if (!error && call.sharing > 1 && (call.dq || call.dk)) {
        const struct version adds = {.rows = add_heads, .tile = -1, .of_token = 2 * 64};
        call.p.heads = call.p.kv_heads = call.p.key_heads;
        error = run(&call, &adds, threads, work, bytes);
    }
    return error;
}

static const struct attn_param param[] = {
    {"gate", ATTN_F32, 3, {ATTN_BATCH, ATTN_HEADS, ATTN_N_K}, offsetof(struct gated_deltanet_params, gate), 0,
        offsetof(struct gated_deltanet_strides, gate), 0, 1, ATTN_NO_LIMITS},
    {"beta", ATTN_F32, 3, {ATTN_BATCH, ATTN_HEADS, ATTN_N_K}, offsetof(struct gated_deltanet_params, beta), 0,
        offsetof(struct gated_deltanet_strides, beta), 0, 1, ATTN_NO_LIMITS},
};

static int params_init_any(void *params, uint64_t seed, void *storage)
{
    return gated_deltanet_params_init((struct gated_deltanet_params *)params, seed, storage);
}

static int forward_any(const struct attn_problem *problem, const void *params, const void *q, const void *k,
    const void *v, void *out, void *workspace)
{
    return gated_deltanet_forward(problem, (const struct gated_deltanet_params *)params, (const float *)q,
        (const float *)k, (const float *)v, (float *)out, workspace);
}

static int backward_any(const struct attn_problem *problem, const void *params, const void *q, const void *k,
    const void *v, const void *out, const void *dout, void *dq, void *dk, void *dv, void *gradients,
    void *workspace)
{
    return gated_deltanet_backward(problem, (const struct gated_deltanet_params *)params, (const float *)q,
        (const float *)k, (const float *)v, (const float *)out, (const float *)dout, (float *)dq, (float *)dk,
        (float *)dv,
        (struct gated_deltanet_gradients *)gradients, workspace);
}

const struct attn_kernel gated_deltanet_kernel = {
    .name = "gated_deltanet", .version = "0.1.0", .dtype = ATTN_F32, .head_dim = 64, .value_dim = 64,
    .params = 2, .param = param, .params_bytes = sizeof(struct gated_deltanet_params),
    .params_size = gated_deltanet_params_size, .params_init = params_init_any, .workspace = gated_deltanet_workspace,
    .forward = forward_any,
    .saved = gated_deltanet_saved, .backward_workspace = gated_deltanet_backward_workspace, .backward = backward_any,
    .key_dtype = ATTN_F32, .value_dtype = ATTN_F32,
    .strides = offsetof(struct gated_deltanet_params, strides), .strides_bytes = sizeof(struct gated_deltanet_strides),
    .before = INT64_MAX, .after = 0, .period = 0, .names_heads = 0,
    .names_sequences = 0, .in_parts = 0,
    .saved_power = 0, .has_sink = 0, .open_keys = 0, .end_of_keys = INT64_MAX,
};
#endif /* a compiler of this language */
