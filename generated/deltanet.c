/* deltanet.c, made by attnc 0.1.0: attnc deltanet.yaml
   C11 with GNU extensions, for a C compiler; C++ includes deltanet.h.
   DeltaNet: linear attention whose state forgets by the delta rule
   Yang et al., Parallelizing Linear Transformers with the Delta Rule over Sequence Length (NeurIPS 2024), section 2.2

   Computes, in f32, over the axes b (batch), g (key/value head), m (query head of g), i (query), j (key), d (64),
   e (64), t_key (key):
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
     x12 [b g t_key d] = k[b, g, t_key, d]
     x13 [b g t_key d] = x12 * x12
     x14 [b g t_key] = sum over d of x13
     x15 [b g t_key] = x14 == 0 ? 0 : 1 / sqrt(x14)
     x16 [b g t_key d] = x12 * x15
     x17 [b g t_key j] = sum over d of x16 * x6
     x18 [b g t_key j] = x17
     beta [b g m j], learned parameter
     x20 [b g j] = beta[b, g, 0, j]
     x21 [b g j e] = u with u[t_key] = x20 * (v - sum over j < t_key of x18 * u[j] if j <= t_key)
     x22 [b g m i j] = sum over d of x11 * x6
     x23 [b g m i j] = x22
     x24 [b g m i e] = sum over j of x23 * x21 if j <= i + query_start
     x25 [b g m i e] = x24
     out = x25
   query_start is the position of the first query: problem.query_start[b], or n_k - n_q if that is NULL.

   How: each vector lane holds one query. Keys are processed in tiles,
   so row sums and maxima need no reduction across lanes.
   The sums of a tile start from zero and are added to the sums so far. Tiles that no query sees are skipped.
   Linear: the weight is an inner product of 64 features. The state is a sum over keys of 64 x 65 numbers.
     x86-64-v4  linear    tiles of 32 queries and 32 keys; 61696 bytes of workspace per thread
     x86-64-v3  linear    tiles of 32 queries and 32 keys; 61696 bytes of workspace per thread
     generic    linear    tiles of 32 queries and 32 keys; 61696 bytes of workspace per thread

   Contents; each section begins with ====. "generic" has the simplest code, so read it first.
     (top)      struct call, and what all targets share
     x86-64-v4  deltanet_linear_v4
     x86-64-v3  deltanet_linear_v3
     generic    deltanet_linear_any
     choice     the version that this machine runs
     interface  deltanet_workspace, deltanet_forward, deltanet_kernel

   Compile with: cc -O2 -fopenmp deltanet.c … -lattnrt -lm */
#ifdef __cplusplus
#error "deltanet.c is C, not C++: compile it with a C compiler"
#elif !defined __STDC_VERSION__ || __STDC_VERSION__ < 199901L
#error "deltanet.c is C11, not C89: compile it without -std=, or with -std=gnu11"
extern int deltanet_is_c11;
#elif !defined __GNUC__
#error "deltanet.c uses GNU C vector extensions: compile it with gcc or clang"
extern int deltanet_is_gnu_c;
#else
#include "deltanet.h"

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
    const struct deltanet_params *params;
    const float *q;
    const float *k;
    const float *v;
    float *out;
    const float *beta_array;
    struct attn_strides beta_array_at;
    struct deltanet_strides at; /* of all arrays, with contiguous ones filled in */
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
TARGET_v4 APART void dot5_v4(int64_t steps, const float *a, const float *b, float *c)
{
    dot_v4(/*vectors=*/4, /*lanes=*/64, /*rows=*/64, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/32, /*a_step=*/1, b,
        /*b_step=*/64, c, /*c_row=*/64, /*update=*/1, /*factor=*/NULL);
}

/* Computes task number `task`: one tile of queries of one head. `work` is this thread's workspace. */
TARGET_v4 static void deltanet_linear_v4(const struct call *call, int64_t task, unsigned char *work)
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
    float *const query_features = (float *)(void *)(work + 16512); /* [d: 64, j: 32] */
    float *const score = (float *)(void *)(work + 24704); /* [j: 32, t_key: 32] */
    float *const query_scale = (float *)(void *)(work + 16384); /* [j: 32] */
    float *const from_state = (float *)(void *)(work + 28800); /* [t_key: 32, e: 64] */
    float *const corrected = (float *)(void *)(work + 36992); /* [j: 32, e: 64] */
    float *const query_sum_3 = (float *)(void *)(work + 16384); /* [i: 32] */
    float *const score_2 = (float *)(void *)(work + 24704); /* [j: 32, i: 32] */
    float *const sum_from_state = (float *)(void *)(work + 28800); /* [i: 32, e: 64] */
    float *const sum = (float *)(void *)(work + 45184); /* [i: 32, e: 64] */
    float *const out = call->out + b * call->p.out.batch + g * members * call->p.out.head;
    const int64_t out_row = call->p.out.row;
    const int64_t out_head = call->p.out.head;
    float *const k_tile = (float *)(void *)(work + 53376); /* [d: 64, j: 32] */
    float *const beta_tile = (float *)(void *)(work + 61568); /* [j: 32] */
    float *const q_tile = (float *)(void *)(work + 45184); /* [d: 64, i: 32] */
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
                    /* query_scale = beta_tile */
                    for (int64_t j = 0; j < j1 - j0; j += 16) {
                        store_v4(query_scale + j, load_v4(beta_tile + j));
                    }
                    /* from_state[t_key][e] = sum over f of query_features * state */
                    dot1_v4(t_key1 - t_key0, query_features, state, from_state);
                    /* from_state = v - from_state */
                    for (int64_t t_key = 0; t_key < t_key1 - t_key0; t_key++) {
                        for (int64_t e_first = 0; e_first < 64; e_first += 64) {
                            UNROLL for (int64_t vector = 0, e = e_first; vector < 4; vector++, e += 16) {
                                store_v4(from_state + t_key * 64 + e, load_v4(v + (t_key0 + t_key) * v_row + e) -
                                    load_v4(from_state + t_key * 64 + e));
                            }
                        }
                    }
                    /* corrected[t_key][e] = query_scale[t_key] * (from_state[t_key][e] - sum over j < t_key of score *
                       corrected[j][e]) */
                    dot2_v4(t_key1 - t_key0, score, query_scale, from_state, corrected);
                    for (int64_t i0 = ((j0 / 32) == 0) ? 0 : max(0, j0 - query_start), i_end = min(n_q,
                        (((j0 / 32) + 1) * 32) - query_start); i0 < i_end; i0 += 32) {
                        const int64_t i1 = min(i0 + 32, i_end);
                        /* q_tile = q, with zeros beyond the last row */
                        transpose_padded_v4(q + m * q_head + i0 * q_row, q_row, i1 - i0, 64, q_tile, 32, 64);
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
                                    const vec_v4 q_tile_3 = load_v4(q_tile + d * 32 + i);
                                    query_sum_3_in[vector] += q_tile_3 * q_tile_3;
                                }
                            }
                            UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += 16) {
                                store_v4(query_sum_3 + i, load_v4(query_sum_3 + i) + query_sum_3_in[vector]);
                            }
                        }
                        /* q_tile = (q_tile * select(query_sum_3 == 0.0f, 0.0f, 1.0f / sqrt(query_sum_3))) * 0.125f */
                        for (int64_t i = 0; i < i1 - i0; i += 16) {
                            const vec_v4 query_sum_3_4 = load_v4(query_sum_3 + i);
                            const vec_v4 t_5 = pick_v4(query_sum_3_4 == 0.0f, splat_v4(0.0f),
                                1.0f / sqrt_v4(query_sum_3_4));
                            for (int64_t d = 0; d < 64; d++) {
                                store_v4(q_tile + d * 32 + i, (load_v4(q_tile + d * 32 + i) * t_5) * 0.125f);
                            }
                        }
                        /* score_2[j][i] = sum over d of query_features * q_tile */
                        dot0_v4(round_up(i1 - i0, 16), j1 - j0, query_features, q_tile, score_2);
                        /* sum_from_state[i][e] = sum over f of q_tile * state */
                        dot1_v4(i1 - i0, q_tile, state, sum_from_state);
                        /* score_2 = select(j <= (i + query_start), score_2, 0.0f) */
                        for (int64_t i = 0; i < i1 - i0; i += 16) {
                            const ints_v4 t_6 = (i0 + i + lane_v4) + query_start;
                            for (int64_t j = 0; j < j1 - j0; j++) {
                                store_v4(score_2 + j * 32 + i, pick_v4(__builtin_convertvector((j0 + j) <= t_6,
                                    mask_v4), load_v4(score_2 + j * 32 + i), splat_v4(0.0f)));
                            }
                        }
                        /* sum[i][e] = sum over j of score_2 * corrected */
                        if (__builtin_expect(!finite_v4(corrected, 64, j1 - j0, 64),
                            0)) { /* infinity and NaN affect only queries that see them */
                            dot3_v4(i1 - i0, j1 - j0, score_2, corrected, sum);
                            for (int64_t i = 0; i < i1 - i0; i++) {
                                mask_v4 in_region[2] = {0};
                                const int64_t t_7 = (i0 + i) + query_start;
                                for (int64_t j = 0; j < j1 - j0; j += 16) {
                                    in_region[j / 16] = __builtin_convertvector((j0 + j + lane_v4) <= t_7, mask_v4);
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
                    /* state[f][e] += sum over j of query_features * corrected */
                    dot5_v4(j1 - j0, query_features, corrected, state);
                }
            }
        }
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
TARGET_v3 APART void dot5_v3(int64_t steps, const float *a, const float *b, float *c)
{
    dot_v3(/*vectors=*/2, /*lanes=*/64, /*rows=*/64, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/32, /*a_step=*/1, b,
        /*b_step=*/64, c, /*c_row=*/64, /*update=*/1, /*factor=*/NULL);
}

/* Computes task number `task`: one tile of queries of one head. `work` is this thread's workspace. */
TARGET_v3 static void deltanet_linear_v3(const struct call *call, int64_t task, unsigned char *work)
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
    float *const query_features = (float *)(void *)(work + 16512); /* [d: 64, j: 32] */
    float *const score = (float *)(void *)(work + 24704); /* [j: 32, t_key: 32] */
    float *const query_scale = (float *)(void *)(work + 16384); /* [j: 32] */
    float *const from_state = (float *)(void *)(work + 28800); /* [t_key: 32, e: 64] */
    float *const corrected = (float *)(void *)(work + 36992); /* [j: 32, e: 64] */
    float *const query_sum_3 = (float *)(void *)(work + 16384); /* [i: 32] */
    float *const score_2 = (float *)(void *)(work + 24704); /* [j: 32, i: 32] */
    float *const sum_from_state = (float *)(void *)(work + 28800); /* [i: 32, e: 64] */
    float *const sum = (float *)(void *)(work + 45184); /* [i: 32, e: 64] */
    float *const out = call->out + b * call->p.out.batch + g * members * call->p.out.head;
    const int64_t out_row = call->p.out.row;
    const int64_t out_head = call->p.out.head;
    float *const k_tile = (float *)(void *)(work + 53376); /* [d: 64, j: 32] */
    float *const beta_tile = (float *)(void *)(work + 61568); /* [j: 32] */
    float *const q_tile = (float *)(void *)(work + 45184); /* [d: 64, i: 32] */
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
                    /* query_scale = beta_tile */
                    for (int64_t j = 0; j < j1 - j0; j += 8) {
                        store_v3(query_scale + j, load_v3(beta_tile + j));
                    }
                    /* from_state[t_key][e] = sum over f of query_features * state */
                    dot1_v3(t_key1 - t_key0, query_features, state, from_state);
                    /* from_state = v - from_state */
                    for (int64_t t_key = 0; t_key < t_key1 - t_key0; t_key++) {
                        for (int64_t e_first = 0; e_first < 64; e_first += 16) {
                            UNROLL for (int64_t vector = 0, e = e_first; vector < 2; vector++, e += 8) {
                                store_v3(from_state + t_key * 64 + e, load_v3(v + (t_key0 + t_key) * v_row + e) -
                                    load_v3(from_state + t_key * 64 + e));
                            }
                        }
                    }
                    /* corrected[t_key][e] = query_scale[t_key] * (from_state[t_key][e] - sum over j < t_key of score *
                       corrected[j][e]) */
                    dot2_v3(t_key1 - t_key0, score, query_scale, from_state, corrected);
                    for (int64_t i0 = ((j0 / 32) == 0) ? 0 : max(0, j0 - query_start), i_end = min(n_q,
                        (((j0 / 32) + 1) * 32) - query_start); i0 < i_end; i0 += 32) {
                        const int64_t i1 = min(i0 + 32, i_end);
                        /* q_tile = q, with zeros beyond the last row */
                        transpose_padded_v3(q + m * q_head + i0 * q_row, q_row, i1 - i0, 64, q_tile, 32, 64);
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
                                    const vec_v3 q_tile_3 = load_v3(q_tile + d * 32 + i);
                                    query_sum_3_in[vector] += q_tile_3 * q_tile_3;
                                }
                            }
                            UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += 8) {
                                store_v3(query_sum_3 + i, load_v3(query_sum_3 + i) + query_sum_3_in[vector]);
                            }
                        }
                        /* q_tile = (q_tile * select(query_sum_3 == 0.0f, 0.0f, 1.0f / sqrt(query_sum_3))) * 0.125f */
                        for (int64_t i = 0; i < i1 - i0; i += 8) {
                            const vec_v3 query_sum_3_4 = load_v3(query_sum_3 + i);
                            const vec_v3 t_5 = pick_v3(query_sum_3_4 == 0.0f, splat_v3(0.0f),
                                1.0f / sqrt_v3(query_sum_3_4));
                            for (int64_t d = 0; d < 64; d++) {
                                store_v3(q_tile + d * 32 + i, (load_v3(q_tile + d * 32 + i) * t_5) * 0.125f);
                            }
                        }
                        /* score_2[j][i] = sum over d of query_features * q_tile */
                        dot0_v3(round_up(i1 - i0, 8), j1 - j0, query_features, q_tile, score_2);
                        /* sum_from_state[i][e] = sum over f of q_tile * state */
                        dot1_v3(i1 - i0, q_tile, state, sum_from_state);
                        /* score_2 = select(j <= (i + query_start), score_2, 0.0f) */
                        for (int64_t i = 0; i < i1 - i0; i += 8) {
                            const ints_v3 t_6 = (i0 + i + lane_v3) + query_start;
                            for (int64_t j = 0; j < j1 - j0; j++) {
                                store_v3(score_2 + j * 32 + i, pick_v3(__builtin_convertvector((j0 + j) <= t_6,
                                    mask_v3), load_v3(score_2 + j * 32 + i), splat_v3(0.0f)));
                            }
                        }
                        /* sum[i][e] = sum over j of score_2 * corrected */
                        if (__builtin_expect(!finite_v3(corrected, 64, j1 - j0, 64),
                            0)) { /* infinity and NaN affect only queries that see them */
                            dot3_v3(i1 - i0, j1 - j0, score_2, corrected, sum);
                            for (int64_t i = 0; i < i1 - i0; i++) {
                                mask_v3 in_region[4] = {0};
                                const int64_t t_7 = (i0 + i) + query_start;
                                for (int64_t j = 0; j < j1 - j0; j += 8) {
                                    in_region[j / 8] = __builtin_convertvector((j0 + j + lane_v3) <= t_7, mask_v3);
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
                    /* state[f][e] += sum over j of query_features * corrected */
                    dot5_v3(j1 - j0, query_features, corrected, state);
                }
            }
        }
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
APART void dot5_any(int64_t steps, const float *a, const float *b, float *c)
{
    dot_any(/*vectors=*/2, /*lanes=*/64, /*rows=*/64, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/32, /*a_step=*/1, b,
        /*b_step=*/64, c, /*c_row=*/64, /*update=*/1, /*factor=*/NULL);
}

/* Computes task number `task`: one tile of queries of one head. `work` is this thread's workspace. */
static void deltanet_linear_any(const struct call *call, int64_t task, unsigned char *work)
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
    float *const query_features = (float *)(void *)(work + 16512); /* [d: 64, j: 32] */
    float *const score = (float *)(void *)(work + 24704); /* [j: 32, t_key: 32] */
    float *const query_scale = (float *)(void *)(work + 16384); /* [j: 32] */
    float *const from_state = (float *)(void *)(work + 28800); /* [t_key: 32, e: 64] */
    float *const corrected = (float *)(void *)(work + 36992); /* [j: 32, e: 64] */
    float *const query_sum_3 = (float *)(void *)(work + 16384); /* [i: 32] */
    float *const score_2 = (float *)(void *)(work + 24704); /* [j: 32, i: 32] */
    float *const sum_from_state = (float *)(void *)(work + 28800); /* [i: 32, e: 64] */
    float *const sum = (float *)(void *)(work + 45184); /* [i: 32, e: 64] */
    float *const out = call->out + b * call->p.out.batch + g * members * call->p.out.head;
    const int64_t out_row = call->p.out.row;
    const int64_t out_head = call->p.out.head;
    float *const k_tile = (float *)(void *)(work + 53376); /* [d: 64, j: 32] */
    float *const beta_tile = (float *)(void *)(work + 61568); /* [j: 32] */
    float *const q_tile = (float *)(void *)(work + 45184); /* [d: 64, i: 32] */
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
                    /* query_scale = beta_tile */
                    for (int64_t j = 0; j < j1 - j0; j += 4) {
                        store_any(query_scale + j, load_any(beta_tile + j));
                    }
                    /* from_state[t_key][e] = sum over f of query_features * state */
                    dot1_any(t_key1 - t_key0, query_features, state, from_state);
                    /* from_state = v - from_state */
                    for (int64_t t_key = 0; t_key < t_key1 - t_key0; t_key++) {
                        for (int64_t e_first = 0; e_first < 64; e_first += 8) {
                            UNROLL for (int64_t vector = 0, e = e_first; vector < 2; vector++, e += 4) {
                                store_any(from_state + t_key * 64 + e, load_any(v + (t_key0 + t_key) * v_row + e) -
                                    load_any(from_state + t_key * 64 + e));
                            }
                        }
                    }
                    /* corrected[t_key][e] = query_scale[t_key] * (from_state[t_key][e] - sum over j < t_key of score *
                       corrected[j][e]) */
                    dot2_any(t_key1 - t_key0, score, query_scale, from_state, corrected);
                    for (int64_t i0 = ((j0 / 32) == 0) ? 0 : max(0, j0 - query_start), i_end = min(n_q,
                        (((j0 / 32) + 1) * 32) - query_start); i0 < i_end; i0 += 32) {
                        const int64_t i1 = min(i0 + 32, i_end);
                        /* q_tile = q, with zeros beyond the last row */
                        transpose_padded_any(q + m * q_head + i0 * q_row, q_row, i1 - i0, 64, q_tile, 32, 64);
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
                                    const vec_any q_tile_3 = load_any(q_tile + d * 32 + i);
                                    query_sum_3_in[vector] += q_tile_3 * q_tile_3;
                                }
                            }
                            UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += 4) {
                                store_any(query_sum_3 + i, load_any(query_sum_3 + i) + query_sum_3_in[vector]);
                            }
                        }
                        /* q_tile = (q_tile * select(query_sum_3 == 0.0f, 0.0f, 1.0f / sqrt(query_sum_3))) * 0.125f */
                        for (int64_t i = 0; i < i1 - i0; i += 4) {
                            const vec_any query_sum_3_4 = load_any(query_sum_3 + i);
                            const vec_any t_5 = pick_any(query_sum_3_4 == 0.0f, splat_any(0.0f),
                                1.0f / sqrt_any(query_sum_3_4));
                            for (int64_t d = 0; d < 64; d++) {
                                store_any(q_tile + d * 32 + i, (load_any(q_tile + d * 32 + i) * t_5) * 0.125f);
                            }
                        }
                        /* score_2[j][i] = sum over d of query_features * q_tile */
                        dot0_any(round_up(i1 - i0, 4), j1 - j0, query_features, q_tile, score_2);
                        /* sum_from_state[i][e] = sum over f of q_tile * state */
                        dot1_any(i1 - i0, q_tile, state, sum_from_state);
                        /* score_2 = select(j <= (i + query_start), score_2, 0.0f) */
                        for (int64_t i = 0; i < i1 - i0; i += 4) {
                            const ints_any t_6 = (i0 + i + lane_any) + query_start;
                            for (int64_t j = 0; j < j1 - j0; j++) {
                                store_any(score_2 + j * 32 + i, pick_any(__builtin_convertvector((j0 + j) <= t_6,
                                    mask_any), load_any(score_2 + j * 32 + i), splat_any(0.0f)));
                            }
                        }
                        /* sum[i][e] = sum over j of score_2 * corrected */
                        if (__builtin_expect(!finite_any(corrected, 64, j1 - j0, 64),
                            0)) { /* infinity and NaN affect only queries that see them */
                            dot3_any(i1 - i0, j1 - j0, score_2, corrected, sum);
                            for (int64_t i = 0; i < i1 - i0; i++) {
                                mask_any in_region[8] = {0};
                                const int64_t t_7 = (i0 + i) + query_start;
                                for (int64_t j = 0; j < j1 - j0; j += 4) {
                                    in_region[j / 4] = __builtin_convertvector((j0 + j + lane_any) <= t_7, mask_any);
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
                    /* state[f][e] += sum over j of query_features * corrected */
                    dot5_any(j1 - j0, query_features, corrected, state);
                }
            }
        }
    }
}

/* ==== which version this machine runs ==== */
struct version {
    /* computes a task on one thread */
    void (*rows)(const struct call *, int64_t, unsigned char *);
    int64_t tile; /* queries of a task; 0: all queries of a key/value head; -1: all queries of a query head */
    size_t own;   /* bytes of workspace for each thread */
    int in_keys; /* no query may be after the last key */
    int64_t of_pair, of_token; /* multiply-adds per query-key pair, and per token; one of them is 0 */
};

static struct version version(int64_t n_k)
{
    (void)n_k;
#if defined(__x86_64__)
    if (attn_x86_64_level() >= 4)
        return (struct version){.rows = deltanet_linear_v4, .tile = 0, .own = 61696, .of_token = 4160, .in_keys = 1};
#endif
#if defined(__x86_64__)
    if (attn_x86_64_level() >= 3)
        return (struct version){.rows = deltanet_linear_v3, .tile = 0, .own = 61696, .of_token = 4160, .in_keys = 1};
#endif
    return (struct version){.rows = deltanet_linear_any, .tile = 0, .own = 61696, .of_token = 4160, .in_keys = 1};
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

size_t deltanet_params_size(void)
{
    return 0;
}

int deltanet_params_init(struct deltanet_params *params, uint64_t seed, void *storage)
{
    (void)seed;
    (void)storage;
    if (!params) return ATTN_EPOINTER;
    *params = (struct deltanet_params){0};
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
    const struct deltanet_params *const params = call->params;
    const struct deltanet_strides *const given = params->strides;
    int error = 0;
    (void)p;
    if (!error)
        error = fill_strides(call->at.beta, given ? given->beta : NULL, (const int64_t[]){p->batch, p->heads, p->n_k},
            3,
            params->beta, sizeof *params->beta);
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
    const struct deltanet_params *const params = call->params;
    if (!params || !params->beta) return ATTN_EPARAM;
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

size_t deltanet_workspace(const struct attn_problem *problem)
{
    if (!problem) return 0;
    size_t shared = 0, bytes = 0;
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
enum { SUBNORMALS_ARE_ZERO = 0 };
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
    const int64_t heads = this->tile == 0 ? p->kv_heads : p->heads, positions = p->n_q;
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

int deltanet_forward(const struct attn_problem *problem, const struct deltanet_params *params, const float *q,
    const float *k, const float *v,
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
    const size_t shared = 0, bytes = bytes_a_thread(&this);
    const size_t max_bytes = bytes;
    int threads = 1;
    const int no_room = take_workspace(problem, workspace, shared, max_bytes, &threads);
    if (no_room) return no_room;
    unsigned char *const work = (unsigned char *)workspace + shared;
    if (call.p.n_k == 0) compute_without_keys(&call);
    return run(&call, &this, threads, work, bytes);
}

static const struct attn_param param[] = {
    {"beta", ATTN_F32, 3, {ATTN_BATCH, ATTN_HEADS, ATTN_N_K}, offsetof(struct deltanet_params, beta), 0,
        offsetof(struct deltanet_strides, beta), 0, 1, ATTN_NO_LIMITS},
};

static int params_init_any(void *params, uint64_t seed, void *storage)
{
    return deltanet_params_init((struct deltanet_params *)params, seed, storage);
}

static int forward_any(const struct attn_problem *problem, const void *params, const void *q, const void *k,
    const void *v, void *out, void *workspace)
{
    return deltanet_forward(problem, (const struct deltanet_params *)params, (const float *)q, (const float *)k,
        (const float *)v, (float *)out, workspace);
}


const struct attn_kernel deltanet_kernel = {
    .name = "deltanet", .version = "0.1.0", .dtype = ATTN_F32, .head_dim = 64, .value_dim = 64,
    .params = 1, .param = param, .params_bytes = sizeof(struct deltanet_params),
    .params_size = deltanet_params_size, .params_init = params_init_any, .workspace = deltanet_workspace,
    .forward = forward_any,
    .key_dtype = ATTN_F32, .value_dtype = ATTN_F32,
    .strides = offsetof(struct deltanet_params, strides), .strides_bytes = sizeof(struct deltanet_strides),
    .before = INT64_MAX, .after = 0, .period = 0, .names_heads = 0,
    .names_sequences = 0, .in_parts = 0,
    .saved_power = 0, .has_sink = 0, .open_keys = 0, .end_of_keys = INT64_MAX,
};
#endif /* a compiler of this language */
