/* linear_taylor.c, made by attnc 0.1.0: attnc linear_taylor.yaml
   C11 with GNU extensions, for a C compiler; C++ includes linear_taylor.h.
   linear attention by the first-order Taylor expansion of the exponential, on unit vectors
   Li et al., Linear Attention Mechanism (arXiv 2020), section 3.2

   Computes, in f32, over the axes b (batch), g (key/value head), m (query head of g), i (query), j (key), d (64),
   e (64):
     q [b g m i d]
     k [b g j d]
     v [b g j e]
     x3 [b g m i d] = q * q
     x4 [b g m i] = sum over d of x3
     x5 [b g m i] = x4 == 0 ? 0 : 1 / sqrt(x4)
     x6 [b g m i d] = q * x5
     x7 [b g j d] = k * k
     x8 [b g j] = sum over d of x7
     x9 [b g j] = x8 == 0 ? 0 : 1 / sqrt(x8)
     x10 [b g j d] = k * x9
     x11 [b g m i j] = sum over d of x6 * x10
     x12 [b g m i j] = x11 + 1
     x13 [b g m i] = sum over j of x12
     x14 [b g m i e] = sum over j of x12 * v
     x15 [b g m i e] = x13 == 0 ? 0 : x14 / x13
     out = x15

   How: each vector lane holds one query. Keys are processed in tiles,
   so row sums and maxima need no reduction across lanes.
   The sums of a tile start from zero and are added to the sums so far. Tiles that no query sees are skipped.
   For few queries each lane holds one key. The queries of all heads that share keys are the rows of one tile,
   so each key is read once.
   The chunks of keys are divided among the threads. Their sums are added in the order of the chunks.
   Linear from 70 keys on: the weight is an inner product of 65 features. The state is a sum over keys of 65 x 65
   numbers.
     x86-64-v4  quadratic tiles of 32 queries and 96 keys, in blocks of 256 queries;
     235648 bytes of workspace per thread
     x86-64-v4  linear    tiles of 256 queries and 144 keys; 243136 bytes of workspace per thread
     x86-64-v4  few       tiles of 64 queries and 128 keys; 190208 bytes of workspace per thread
     x86-64-v3  quadratic tiles of 16 queries and 96 keys, in blocks of 256 queries;
     229440 bytes of workspace per thread
     x86-64-v3  linear    tiles of 256 queries and 144 keys; 243136 bytes of workspace per thread
     x86-64-v3  few       tiles of 64 queries and 128 keys; 190208 bytes of workspace per thread
     generic    quadratic tiles of 16 queries and 96 keys, in blocks of 128 queries;
     130112 bytes of workspace per thread
     generic    linear    tiles of 128 queries and 144 keys; 176576 bytes of workspace per thread
     generic    few       tiles of 64 queries and 128 keys; 190208 bytes of workspace per thread

   Contents; each section begins with ====. "generic" has the simplest code, so read it first.
     (top)      struct call, and what all targets share
     x86-64-v4  linear_taylor_rows_v4, linear_taylor_linear_v4, linear_taylor_few_v4
     x86-64-v3  linear_taylor_rows_v3, linear_taylor_linear_v3, linear_taylor_few_v3
     generic    linear_taylor_rows_any, linear_taylor_linear_any, linear_taylor_few_any
     choice     the version that this machine runs
     interface  linear_taylor_workspace, linear_taylor_forward, linear_taylor_kernel

   Compile with: cc -O2 -fopenmp linear_taylor.c … -lattnrt -lm */
#ifdef __cplusplus
#error "linear_taylor.c is C, not C++: compile it with a C compiler"
#elif !defined __STDC_VERSION__ || __STDC_VERSION__ < 199901L
#error "linear_taylor.c is C11, not C89: compile it without -std=, or with -std=gnu11"
extern int linear_taylor_is_c11;
#elif !defined __GNUC__
#error "linear_taylor.c uses GNU C vector extensions: compile it with gcc or clang"
extern int linear_taylor_is_gnu_c;
#else
#include "linear_taylor.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#ifdef _OPENMP
#include <omp.h>
#endif
#ifdef __unix__
#include <sched.h>
#endif

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
    const struct linear_taylor_params *params;
    const float *q;
    const float *k;
    const float *v;
    float *out;
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

/* Waits until another thread has raised `*number` to `to`. */
INLINE void await_number(const int64_t *number, int64_t to)
{
    for (int tries = 0; __atomic_load_n(number, __ATOMIC_ACQUIRE) < to; tries++) {
#if defined(__x86_64__)
        __builtin_ia32_pause();
#endif
#if defined(__unix__)
        if (tries >= 1000) sched_yield(); /* the other thread may need this processor */
#endif
    }
}

/* - A slot is memory for the sums of one chunk. A segment is chunks that one thread processes.
   - Threads fold the slots of their segments into the carried state, one segment after the other.
   - The state's elements are in groups. Two threads can fold different groups at the same time.
   - Each group counts its segments in its own cache line of NUMBERS_OF_LINE numbers. */
enum { NUMBERS_OF_LINE = 8 };

struct part { /* a thread's share of a head */
    int64_t number, threads; /* number: the thread's number; threads: the number of threads on the head */
    /* chunk0, chunk1: the thread's segment is chunks chunk0 to chunk1 - 1; window: slots of a thread */
    int64_t chunk0, chunk1, window;
    /* folded: for each group, the segments added to it; segments: the segments of earlier heads */
    int64_t *folded, segments;
    /* work: the thread's memory; shared: memory of all threads; slots: the thread's slots */
    unsigned char *work, *shared, *slots;
    const struct attn_team *team; /* the caller's threads, or NULL for OpenMP's */
};

/* Returns the number of chunks in a segment, at most `window`. All threads get equally many chunks, in as few
   segments as possible. */
INLINE int64_t segment_length(const struct part *part, int64_t chunks)
{
    const int64_t each = (max(chunks, 1) + part->threads - 1) / part->threads,
        rounds = (each + part->window - 1) / part->window;
    return (each + rounds - 1) / rounds;
}

/* Segments are added to a group in order. await_segment waits until all earlier segments are added. pass_segment
   announces that `segment` is added. */
INLINE void await_segment(const struct part *part, int64_t group, int64_t segment)
{
    if (part->threads > 1) await_number(part->folded + group * NUMBERS_OF_LINE, part->segments + segment);
}
INLINE void pass_segment(const struct part *part, int64_t group, int64_t segment)
{
    if (part->threads > 1)
        __atomic_store_n(part->folded + group * NUMBERS_OF_LINE, part->segments + segment + 1, __ATOMIC_RELEASE);
}

/* Waits for all threads on the head. */
INLINE void synchronise(const struct part *part)
{
    if (part->threads == 1) return;
    if (part->team) {
        part->team->barrier();
        return;
    }
#ifdef _OPENMP
#pragma omp barrier
#endif
}

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

/* Returns the sum over the lanes of x. */
TARGET_v4 INLINE float lane_sum_v4(vec_v4 x)
{
    x += __builtin_shufflevector(x, x, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7);
    x += __builtin_shufflevector(x, x, 4, 5, 6, 7, 0, 1, 2, 3, 12, 13, 14, 15, 8, 9, 10, 11);
    x += __builtin_shufflevector(x, x, 2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13);
    x += __builtin_shufflevector(x, x, 1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14);
    return x[0];
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
/* *sum = *sum * factor + x per lane, with compensated summation (Kahan). *compensation is the rounding error, which
   the next call adds. */
TARGET_v4 INLINE void add_v4(float *sum, float *compensation, vec_v4 x, vec_v4 factor)
{
    const vec_v4 old = load_v4(sum) * factor, more = load_v4(compensation) * factor + x, new = old + more;
    store_v4(compensation, more - (new - old));
    store_v4(sum, new);
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
    const float *factor, float *compensation, const int64_t early)
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
        UNROLL for (int v = 0; v < vectors; v++)
            if (early && v * 16 * (int64_t)sizeof *b % 64 == 0)
                __builtin_prefetch(b + early * b_step + v * 16, 0, 3);
        UNROLL for (int r = 0; r < rows; r++) {
            const float y = a[r * a_row];
            UNROLL for (int v = 0; v < vectors; v++) sum[r][v] += y * x[v];
        }
    }
    UNROLL for (int v = 0; v < vectors; v++) {
        const vec_v4 times = update >= 2 && factor ? load_v4(factor + v * 16) : splat_v4(1);
        UNROLL for (int r = 0; r < rows; r++) {
            float *const to = c + r * c_row + v * 16;
            if (update == 3) {
                add_v4(to, compensation + r * c_row + v * 16, sum[r][v], times);
                continue;
            }
            store_v4(to, update == 0 ? sum[r][v]
                : update == 1 ? load_v4(to) + sum[r][v] : load_v4(to) * times + sum[r][v]);
        }
    }
}

/* Like block_v4, but if `update` is 0 and the sum is long, it adds `span` terms at a time. Each span is summed
   separately, which reduces rounding errors. */
TARGET_v4 INLINE void parts_v4(const int rows, const int vectors, int64_t steps, const int64_t span, const float *a,
    int64_t a_row, int64_t a_step, const float *b, int64_t b_step, float *c, int64_t c_row, const int update,
    const float *factor, float *compensation, const int64_t early)
{
    const int64_t first = update == 0 && steps > 2 * span ? span : steps;
    block_v4(rows, vectors, first, a, a_row, a_step, b, b_step, c, c_row, update,
        factor, compensation, early);
    if (update == 0)
        for (int64_t t = first; t < steps; t += span)
            block_v4(rows, vectors, min(span, steps - t), a + t * a_step, a_row, a_step, b + t * b_step, b_step, c,
                c_row, 1, NULL, NULL, early);
}

/* Like parts_v4, for any number of rows. `lanes` is a multiple of 16 * vectors. `tail` is rows % 6 if this is a
   constant, otherwise -1. */
TARGET_v4 INLINE void blocks_v4(const int vectors, const int64_t lanes, int64_t rows, const int tail, int64_t steps,
    const int64_t span, const float *a, int64_t a_row, int64_t a_step, const float *b, int64_t b_step, float *c,
        int64_t c_row,
    const int update, const float *factor, float *compensation, const int64_t early)
{
    for (int64_t x = 0; x < lanes; x += vectors * 16) {
        const float *const f = factor ? factor + x : NULL;
        float *const left = compensation ? compensation + x : NULL;
        int64_t r = 0;
        for (; r + 6 <= rows; r += 6)
            parts_v4(6, vectors, steps, span, a + r * a_row, a_row, a_step, b + x, b_step,
                c + r * c_row + x, c_row, update, f, left ? left + r * c_row : NULL, early);
        switch (tail >= 0 ? tail : rows - r) {
        case 5: parts_v4(5, vectors, steps, span, a + r * a_row, a_row, a_step, b + x, b_step, c + r * c_row + x, c_row,
            update, f, left ? left + r * c_row : NULL, early); break;
        case 4: parts_v4(4, vectors, steps, span, a + r * a_row, a_row, a_step, b + x, b_step, c + r * c_row + x, c_row,
            update, f, left ? left + r * c_row : NULL, early); break;
        case 3: parts_v4(3, vectors, steps, span, a + r * a_row, a_row, a_step, b + x, b_step, c + r * c_row + x, c_row,
            update, f, left ? left + r * c_row : NULL, early); break;
        case 2: parts_v4(2, vectors, steps, span, a + r * a_row, a_row, a_step, b + x, b_step, c + r * c_row + x, c_row,
            update, f, left ? left + r * c_row : NULL, early); break;
        case 1: parts_v4(1, vectors, steps, span, a + r * a_row, a_row, a_step, b + x, b_step, c + r * c_row + x, c_row,
            update, f, left ? left + r * c_row : NULL, early); break;
        }
    }
}

/* Like block_v4, for any number of rows and vectors. It computes one vector at a time. */
TARGET_v4 APART void narrow_v4(int64_t lanes, int64_t rows, int64_t steps, int64_t span, const float *a, int64_t a_row,
    int64_t a_step, const float *b, int64_t b_step, float *c, int64_t c_row, int update,
    const float *factor, float *compensation)
{
    const int64_t most = update == 0 && steps > 2 * span ? span : steps;
    for (int64_t t = 0; t < steps; t += most) {
        const int64_t some = min(most, steps - t);
        const float *const from = a + t * a_step;
        const int now = t > 0 ? 1 : update;
        for (int64_t x = 0; x < lanes; x += 16) {
            const float *const f = factor ? factor + x : NULL;
            float *const left = compensation ? compensation + x : NULL;
            int64_t r = 0;
            /* 6 sums of one vector are too few to hide the latency of an addition. */
            for (; r + 16 <= rows && (a_row == 1 || a_step == 1); r += 16)
                if (a_row == 1)
                    block_v4(16, 1, some, from + r, 1, a_step, b + t * b_step + x, b_step, c + r * c_row + x, c_row,
                        now, f, left ? left + r * c_row : NULL, 0);
                else
                    block_v4(16, 1, some, from + r * a_row, a_row, 1, b + t * b_step + x, b_step,
                        c + r * c_row + x, c_row, now, f, left ? left + r * c_row : NULL, 0);
            for (; r < rows; r += 6)
                switch (min(rows - r, 6)) {
        default: block_v4(6, 1, some, from + r * a_row, a_row, a_step, b + t * b_step + x, b_step,
            c + r * c_row + x, c_row, now, f, left ? left + r * c_row : NULL, 0); break;
        case 5: block_v4(5, 1, some, from + r * a_row, a_row, a_step, b + t * b_step + x, b_step, c + r * c_row + x,
            c_row, now, f, left ? left + r * c_row : NULL, 0); break;
        case 4: block_v4(4, 1, some, from + r * a_row, a_row, a_step, b + t * b_step + x, b_step, c + r * c_row + x,
            c_row, now, f, left ? left + r * c_row : NULL, 0); break;
        case 3: block_v4(3, 1, some, from + r * a_row, a_row, a_step, b + t * b_step + x, b_step, c + r * c_row + x,
            c_row, now, f, left ? left + r * c_row : NULL, 0); break;
        case 2: block_v4(2, 1, some, from + r * a_row, a_row, a_step, b + t * b_step + x, b_step, c + r * c_row + x,
            c_row, now, f, left ? left + r * c_row : NULL, 0); break;
        case 1: block_v4(1, 1, some, from + r * a_row, a_row, a_step, b + t * b_step + x, b_step, c + r * c_row + x,
            c_row, now, f, left ? left + r * c_row : NULL, 0); break;
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
TARGET_v4 INLINE void dot_early_v4(const int vectors, const int64_t lanes, int64_t rows, const int tail, int64_t steps,
    const int64_t span, const float *a, int64_t a_row, int64_t a_step, const float *b, int64_t b_step, float *c,
        int64_t c_row,
    const int update, const float *factor, float *compensation, const int64_t early)
{
    const int64_t x = lanes_in_blocks_v4(vectors, lanes);
    blocks_v4(vectors, x, rows, tail, steps, span, a, a_row, a_step, b, b_step, c, c_row, update,
        factor, compensation, early);
    if (x < lanes)
        narrow_v4(lanes - x, rows, steps, span, a, a_row, a_step, b + x, b_step, c + x, c_row,
            update, factor ? factor + x : NULL, compensation ? compensation + x : NULL);
}

/* Computes the product without prefetching, because b is in a cache. */
TARGET_v4 INLINE void dot_v4(const int vectors, const int64_t lanes, int64_t rows, const int tail, int64_t steps,
    const int64_t span, const float *a, int64_t a_row, int64_t a_step, const float *b, int64_t b_step, float *c,
    int64_t c_row, const int update, const float *factor, float *compensation)
{
    dot_early_v4(vectors, lanes, rows, tail, steps, span, a, a_row, a_step, b, b_step, c, c_row, update,
        factor, compensation, 0);
}

/* Returns the elements x … x + 16 - 1 of a row before they are multiplied by a scale. x is a multiple of 16. */
TARGET_v4 INLINE vec_v4 unscaled_v4(const float *row, int64_t x)
{
    return load_v4(row + x);
}

/* Returns the elements x … x + 16 - 1 of a row. */
TARGET_v4 INLINE vec_v4 widened_v4(const float *row, int64_t x)
{
    return unscaled_v4(row, x);
}

/* Returns the size of a row of `elements` elements, in units of float. */
INLINE int64_t units_v4(int64_t elements)
{
    return elements;
}

/* Returns the row that comes `distance` rows after the first of the `rest` rows at b. The rows at `next` come after
   these. NULL: the rows that follow in memory. */
INLINE const float *ahead_v4(const float *b, int64_t b_row, int64_t distance, int64_t rest, const float *next)
{
    return next && distance >= rest ? next + (distance - rest) * b_row : b + distance * b_row;
}

/* Prefetches `rows` rows of b, `width` elements of each. */
TARGET_v4 INLINE void fetch_v4(int64_t rows, const int64_t width, const float *b, int64_t b_row)
{
    for (int64_t r = 0; r < rows; r++)
        UNROLL for (int64_t x = 0; x < units_v4(width); x += 64 / (int64_t)sizeof *b)
            __builtin_prefetch(b + r * b_row + x, 0, 3);
}

/* c[x] += sum over t of a[t] * b[t][x] for up to 8 vectors of lanes, from x = first on. Terms are rounded and
   added as for several rows. For b with scales, one for `block` elements:
   - a has been multiplied by them: a[t][x / block] * unscaled b[t][x]
   - the scales of the rows 16 later are copied to `next`, for `later` rows */
TARGET_v4 INLINE void row_v4(const int vectors, int64_t first, int64_t steps, const float *a, int64_t a_step,
    const float *b, int64_t b_step, const int64_t lanes, const int64_t block, float *c
, const float *ahead)
{
    vec_v4 sum[8];
    (void)lanes;
    UNROLL for (int v = 0; v < vectors; v++) sum[v] = (vec_v4){0};
    (void)block;
    for (int64_t t = 0; t < steps; t++, b += b_step) {
        if (ahead && first == 0) fetch_v4(1, lanes, ahead + t * b_step, b_step);
        UNROLL for (int v = 0; v < vectors; v++) sum[v] += a[t * a_step] * widened_v4(b, first + v * 16);
    }
    UNROLL for (int v = 0; v < vectors; v++) store_v4(c + first + v * 16, load_v4(c + first + v * 16) + sum[v]);
}

/* Like dot_v4, but b is in memory and is prefetched as in dot_along_v4. It is read 16 rows at a time. Narrow
   elements are widened once for all rows. If a has one row, b is read 128 lanes at a time. */
TARGET_v4 INLINE void dot_fetched_v4(const int vectors, const int64_t lanes, int64_t rows, const int tail,
    int64_t steps,
    const int64_t span, const float *a, int64_t a_row, int64_t a_step, const float *b, int64_t b_step, float *c,
    int64_t c_row, const int update, const float *factor, float *compensation, const int64_t early)
{
    /* Many rows of c do not fit in the first cache, so a few lanes of them are computed at a time. */
    if (rows >= 16 && lanes % (vectors * 16) == 0) {
        for (int64_t x = 0; x < lanes; x += vectors * 16)
            for (int64_t t = 0; t < steps; t += 16)
                dot_early_v4(vectors, vectors * 16, rows, tail, min(steps - t, 16), span, a + t * a_step, a_row,
                    a_step, b + t * b_step + x, b_step, c + x, c_row, update,
                    factor ? factor + x : NULL, compensation ? compensation + x : NULL, 32);
        return;
    }
    for (int64_t t = 0; t < steps; t += 16, a += 16 * a_step, b += 16 * b_step) {
        const int64_t some = min(steps - t, 16);
        const float *const ahead = ahead_v4(b, b_step, rows == 1 ? early : 32, steps - t, NULL);
        (void)ahead;
        const int64_t block = lanes;
        if (rows == 1 && update == 1) {
            const float *const factor_of_row = a;
            const int64_t step = a_step;
            int64_t x = 0;
            for (; x + 128 <= lanes; x += 128)
                row_v4(8, x, some, factor_of_row, step, b, b_step, lanes, block,
                    c, early ? ahead : NULL);
            if (lanes % 128)
                row_v4((int)(lanes % 128 / 16), x, some, factor_of_row, step, b, b_step, lanes, block,
                    c, early ? ahead : NULL);
            continue;
        }
        const float *const from = b;
        const int64_t from_step = b_step;
        dot_early_v4(vectors, lanes, rows, tail, some, span, a, a_row, a_step, from, from_step, c, c_row, update,
            factor, compensation, rows < (early ? 2 : 9) ? 0 : (early ? early : 32));
    }
}

/* The functions for the products below. Each calls dot_v4 or a similar function with constants. */
TARGET_v4 APART void dot0_v4(int64_t lanes, int64_t rows, const float *a, const float *b, float *c)
{
    dot_v4(/*vectors=*/2, lanes, rows, /*tail=*/-1, /*steps=*/64, /*span=*/32, a, /*a_row=*/1, /*a_step=*/96, b,
        /*b_step=*/32, c, /*c_row=*/32, /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL);
}
TARGET_v4 APART void dot1_v4(int64_t lanes, int64_t steps, const float *a, int64_t a_step, const float *b, float *c,
    float *compensation)
{
    dot_v4(/*vectors=*/2, lanes, /*rows=*/64, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/1, a_step, b, /*b_step=*/32,
        c, /*c_row=*/32, /*update=*/3, /*factor=*/NULL, compensation);
}
TARGET_v4 APART void dot2_v4(int64_t steps, const float *a, const float *b, int64_t b_step, float *c)
{
    dot_v4(/*vectors=*/4, /*lanes=*/64, /*rows=*/65, /*tail=*/5, steps, /*span=*/192, a, /*a_row=*/144, /*a_step=*/1, b,
        b_step, c, /*c_row=*/64, /*update=*/1, /*factor=*/NULL, /*compensation=*/NULL);
}
TARGET_v4 APART void dot3_v4(int64_t lanes, const float *a, const float *b, float *c)
{
    dot_v4(/*vectors=*/4, lanes, /*rows=*/64, /*tail=*/4, /*steps=*/65, /*span=*/32, a, /*a_row=*/1, /*a_step=*/64, b,
        /*b_step=*/272, c, /*c_row=*/272, /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL);
}
TARGET_v4 APART void dot4_v4(int64_t lanes, int64_t rows, const float *a, const float *b, float *c)
{
    dot_v4(/*vectors=*/4, lanes, rows, /*tail=*/-1, /*steps=*/64, /*span=*/32, a, /*a_row=*/1, /*a_step=*/64, b,
        /*b_step=*/144, c, /*c_row=*/144, /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL);
}
TARGET_v4 APART void dot5_v4(int64_t rows, int64_t steps, const float *a, const float *b, int64_t b_step, float *c,
    int64_t early)
{
    dot_fetched_v4(/*vectors=*/4, /*lanes=*/64, rows, /*tail=*/-1, steps, /*span=*/192, a, /*a_row=*/144, /*a_step=*/1,
        b, b_step, c, /*c_row=*/64, /*update=*/1, /*factor=*/NULL, /*compensation=*/NULL, early);
}

/* Computes task number `task`: one tile of queries of one head. `work` is this thread's workspace. */
TARGET_v4 static void linear_taylor_rows_v4(const struct call *call, int64_t task, unsigned char *work)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_q = call->p.n_q;
    const int64_t n_k = call->p.n_k;
    const int64_t tiles = (n_q + 256 - 1) / 256, i0 = (tiles - 1 - task % tiles) * 256,
        i1 = min(i0 + 256, n_q);
    const int64_t m = task / tiles % members;
    const int64_t g = task / tiles / members % kv_heads;
    const int64_t b = task / tiles / members / kv_heads;
    const float *const q = call->q + b * call->p.q.batch + (g / call->sharing * members + m) * call->p.q.head;
    const int64_t q_row = call->p.q.row;
    const float *const k = call->k + b * call->p.k.batch + g / call->sharing * call->p.k.head;
    const int64_t k_row = call->p.k.row;
    const float *const v = call->v + b * call->p.v.batch + g * call->p.v.head;
    const int64_t v_row = call->p.v.row;
    float *const query_sum = (float *)(void *)(work + 0); /* [i: 32] */
    float *const all_query = (float *)(void *)(work + 128); /* [d: 64, i: 32, 8 times] */
    float *const key_sum = (float *)(void *)(work + 65664); /* [j: 96] */
    float *const score = (float *)(void *)(work + 65664); /* [j: 96, i: 32] */
    float *const all_row_sum = (float *)(void *)(work + 77952); /* [i: 32, 8 times] */
    float *const all_row_sum_compensation = (float *)(void *)(work + 78976); /* [i: 32, 8 times] */
    float *const all_sum = (float *)(void *)(work + 80000); /* [e: 64, i: 32, 8 times] */
    float *const all_sum_compensation = (float *)(void *)(work + 145536); /* [e: 64, i: 32, 8 times] */
    float *const result = (float *)(void *)(work + 0); /* [e: 64, i: 32] */
    float *const out = call->out + b * call->p.out.batch + (g * members + m) * call->p.out.head;
    const int64_t out_row = call->p.out.row;
    float *const q_tile = (float *)(void *)(work + 65664); /* [d: 64, i: 32] */
    float *const k_tile = (float *)(void *)(work + 211072); /* [d: 64, j: 96] */
    for (int64_t i_next = i0, i_block = i0, i_end = i1; i_next < i_end; i_next += 32) {
        const int64_t i0 = i_next, i1 = min(i0 + 32, i_end);
        float *const query = all_query + (i0 - i_block) / 32 * 2048;
        float *const row_sum = all_row_sum + (i0 - i_block) / 32 * 32;
        float *const row_sum_compensation = all_row_sum_compensation + (i0 - i_block) / 32 * 32;
        float *const sum = all_sum + (i0 - i_block) / 32 * 2048;
        float *const sum_compensation = all_sum_compensation + (i0 - i_block) / 32 * 2048;
        /* q_tile = q, with zeros beyond the last row */
        transpose_padded_v4(q + i0 * q_row, q_row, i1 - i0, 64, q_tile, 32, 16);
        /* query_sum = 0.0f */
        for (int64_t i = 0; i < i1 - i0; i += 16) {
            store_v4(query_sum + i, splat_v4(0.0f));
        }
        /* query_sum += q_tile * q_tile */
        for (int64_t i_first = 0; i_first < i1 - i0; i_first += 32) {
            vec_v4 query_sum_in[2];
            UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += 16) {
                query_sum_in[vector] = (vec_v4){0};
            }
            for (int64_t d = 0; d < 64; d++) {
                UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += 16) {
                    const vec_v4 q_tile_0 = load_v4(q_tile + d * 32 + i);
                    query_sum_in[vector] += q_tile_0 * q_tile_0;
                }
            }
            UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += 16) {
                store_v4(query_sum + i, load_v4(query_sum + i) + query_sum_in[vector]);
            }
        }
        /* query = q_tile * select(query_sum == 0.0f, 0.0f, 1.0f / sqrt(query_sum)) */
        for (int64_t i = 0; i < i1 - i0; i += 16) {
            const vec_v4 query_sum_1 = load_v4(query_sum + i);
            const vec_v4 t_2 = pick_v4(query_sum_1 == 0.0f, splat_v4(0.0f), 1.0f / sqrt_v4(query_sum_1));
            for (int64_t d = 0; d < 64; d++) {
                store_v4(query + d * 32 + i, load_v4(q_tile + d * 32 + i) * t_2);
            }
        }
        /* row_sum = 0.0f; row_sum_compensation = 0.0f */
        for (int64_t i = 0; i < i1 - i0; i += 16) {
            store_v4(row_sum + i, splat_v4(0.0f));
            store_v4(row_sum_compensation + i, splat_v4(0.0f));
        }
        /* sum = 0.0f; sum_compensation = 0.0f */
        for (int64_t e = 0; e < 64; e++) {
            for (int64_t i = 0; i < i1 - i0; i += 16) {
                store_v4(sum + e * 32 + i, splat_v4(0.0f));
                store_v4(sum_compensation + e * 32 + i, splat_v4(0.0f));
            }
        }
    }
    for (int64_t j0 = 0, j_end = n_k; j0 < j_end; j0 += 96) {
        const int64_t j1 = min(j0 + 96, j_end);
        /* k_tile = k, with zeros beyond the last row */
        transpose_padded_v4(k + j0 * k_row, k_row, j1 - j0, 64, k_tile, 96, 64);
        /* key_sum = 0.0f */
        for (int64_t j = 0; j < j1 - j0; j += 16) {
            store_v4(key_sum + j, splat_v4(0.0f));
        }
        /* key_sum += k_tile * k_tile */
        for (int64_t j_first = 0; j_first < j1 - j0; j_first += 48) {
            vec_v4 key_sum_in[3];
            UNROLL for (int64_t vector = 0, j = j_first; vector < 3; vector++, j += 16) {
                key_sum_in[vector] = (vec_v4){0};
            }
            for (int64_t d = 0; d < 64; d++) {
                UNROLL for (int64_t vector = 0, j = j_first; vector < 3; vector++, j += 16) {
                    const vec_v4 k_tile_3 = load_v4(k_tile + d * 96 + j);
                    key_sum_in[vector] += k_tile_3 * k_tile_3;
                }
            }
            UNROLL for (int64_t vector = 0, j = j_first; vector < 3; vector++, j += 16) {
                store_v4(key_sum + j, load_v4(key_sum + j) + key_sum_in[vector]);
            }
        }
        /* k_tile = k_tile * select(key_sum == 0.0f, 0.0f, 1.0f / sqrt(key_sum)) */
        for (int64_t j = 0; j < j1 - j0; j += 16) {
            const vec_v4 key_sum_4 = load_v4(key_sum + j);
            const vec_v4 t_5 = pick_v4(key_sum_4 == 0.0f, splat_v4(0.0f), 1.0f / sqrt_v4(key_sum_4));
            for (int64_t d = 0; d < 64; d++) {
                store_v4(k_tile + d * 96 + j, load_v4(k_tile + d * 96 + j) * t_5);
            }
        }
        for (int64_t i_next = i0, i_block = i0, i_end = i1; i_next < i_end; i_next += 32) {
            const int64_t i0 = i_next, i1 = min(i0 + 32, i_end);
            float *const query = all_query + (i0 - i_block) / 32 * 2048;
            float *const row_sum = all_row_sum + (i0 - i_block) / 32 * 32;
            float *const row_sum_compensation = all_row_sum_compensation + (i0 - i_block) / 32 * 32;
            float *const sum = all_sum + (i0 - i_block) / 32 * 2048;
            float *const sum_compensation = all_sum_compensation + (i0 - i_block) / 32 * 2048;
            /* score[j][i] = sum over d of k_tile * query */
            dot0_v4(round_up(i1 - i0, 16), j1 - j0, k_tile, query, score);
            /* score = score + 1.0f; row_sum += score */
            for (int64_t i_first = 0; i_first < i1 - i0; i_first += 32) {
                vec_v4 row_sum_in[2];
                UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += 16) {
                    row_sum_in[vector] = (vec_v4){0};
                }
                for (int64_t j = 0; j < j1 - j0; j++) {
                    UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += 16) {
                        const vec_v4 score_6 = load_v4(score + j * 32 + i);
                        const vec_v4 score_new7 = score_6 + 1.0f;
                        store_v4(score + j * 32 + i, score_new7);
                        row_sum_in[vector] += score_new7;
                    }
                }
                UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += 16) {
                    add_v4(row_sum + i, row_sum_compensation + i, row_sum_in[vector], splat_v4(1));
                }
            }
            /* sum[e][i] += sum over j of v * score */
            dot1_v4(round_up(i1 - i0, 16), j1 - j0, v + j0 * v_row, v_row, score, sum, sum_compensation);
        }
    }
    {
        for (int64_t i_next = i0, i_block = i0, i_end = i1; i_next < i_end; i_next += 32) {
            const int64_t i0 = i_next, i1 = min(i0 + 32, i_end);
            float *const row_sum = all_row_sum + (i0 - i_block) / 32 * 32;
            float *const sum = all_sum + (i0 - i_block) / 32 * 2048;
            /* result = select(row_sum == 0.0f, 0.0f, sum / row_sum) */
            for (int64_t i = 0; i < i1 - i0; i += 16) {
                const vec_v4 row_sum_8 = load_v4(row_sum + i);
                const mask_v4 t_9 = row_sum_8 == 0.0f;
                for (int64_t e = 0; e < 64; e++) {
                    store_v4(result + e * 32 + i, pick_v4(t_9, splat_v4(0.0f), load_v4(sum + e * 32 + i) / row_sum_8));
                }
            }
            /* out = result, transposed back */
            transpose_out_v4(result, 32, 64, i1 - i0, out + i0 * out_row, out_row, 16);
        }
    }
}

/* Initialises the states: they contain no keys yet. */
TARGET_v4 APART void linear_taylor_begin_v4(const struct call *call, int64_t task, const struct part *part,
    int64_t iteration)
{
    (void)call;
    (void)task;
    const int64_t f0 = iteration * 32, f1 = min(f0 + 32, 65);
    float *const carried_sum = (float *)(void *)(part->shared + 0); /* [f: 80] */
    float *const carried_sum_compensation = (float *)(void *)(part->shared + 16960); /* [f: 80] */
    float *const carried = (float *)(void *)(part->shared + 320); /* [f: 65, e: 64] */
    float *const carried_compensation = (float *)(void *)(part->shared + 17280); /* [f: 65, e: 64] */
    /* carried_sum = 0.0f; carried_sum_compensation = 0.0f */
    for (int64_t f = f0; f < f1; f += 16) {
        store_v4(carried_sum + f, splat_v4(0.0f));
        store_v4(carried_sum_compensation + f, splat_v4(0.0f));
    }
    /* carried = 0.0f; carried_compensation = 0.0f */
    for (int64_t f = f0; f < f1; f++) {
        for (int64_t e_first = 0; e_first < 64; e_first += 64) {
            UNROLL for (int64_t vector = 0, e = e_first; vector < 4; vector++, e += 16) {
                store_v4(carried + f * 64 + e, splat_v4(0.0f));
                store_v4(carried_compensation + f * 64 + e, splat_v4(0.0f));
            }
        }
    }
}

/* Sums the keys of a chunk, from zero, into its slot. */
TARGET_v4 APART void linear_taylor_keys_v4(const struct call *call, int64_t task, const struct part *part,
    int64_t iteration)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t n_k = call->p.n_k;
    const int64_t chunk = iteration;
    const int64_t chunk0 = part->chunk0;
    const int64_t g = task % kv_heads;
    const int64_t b = task / kv_heads;
    const float *const k = call->k + b * call->p.k.batch + g / call->sharing * call->p.k.head;
    const int64_t k_row = call->p.k.row;
    const float *const v = call->v + b * call->p.v.batch + g * call->p.v.head;
    const int64_t v_row = call->p.v.row;
    float *const key_sum = (float *)(void *)(part->work + 0); /* [j: 144] */
    float *const key_features = (float *)(void *)(part->work + 0); /* [f: 65, j: 144] */
    float *const state_sum = (float *)(void *)(part->slots + 0); /* [chunk, f: 80] */
    float *const state = (float *)(void *)(part->slots + 320); /* [chunk, f: 65, e: 64] */
    float *const k_tile = (float *)(void *)(part->work + 37440); /* [d: 64, j: 144] */
    /* state_sum = 0.0f */
    for (int64_t f = 0; f < 65; f += 16) {
        store_v4(state_sum + (chunk - chunk0) * 4240 + f, splat_v4(0.0f));
    }
    /* state = 0.0f */
    for (int64_t f = 0; f < 65; f++) {
        for (int64_t e_first = 0; e_first < 64; e_first += 64) {
            UNROLL for (int64_t vector = 0, e = e_first; vector < 4; vector++, e += 16) {
                store_v4(state + (chunk - chunk0) * 4240 + f * 64 + e, splat_v4(0.0f));
            }
        }
    }
    for (int64_t j0 = chunk * 576, j_end = min(n_k, (chunk + 1) * 576); j0 < j_end; j0 += 144) {
        const int64_t j1 = min(j0 + 144, j_end);
        /* k_tile = k, with zeros beyond the last row */
        transpose_padded_v4(k + j0 * k_row, k_row, j1 - j0, 64, k_tile, 144, 64);
        /* key_sum = 0.0f */
        for (int64_t j = 0; j < j1 - j0; j += 16) {
            store_v4(key_sum + j, splat_v4(0.0f));
        }
        /* key_sum += k_tile * k_tile */
        for (int64_t j_first = 0; j_first < j1 - j0; j_first += 48) {
            vec_v4 key_sum_in[3];
            UNROLL for (int64_t vector = 0, j = j_first; vector < 3; vector++, j += 16) {
                key_sum_in[vector] = (vec_v4){0};
            }
            for (int64_t d = 0; d < 64; d++) {
                UNROLL for (int64_t vector = 0, j = j_first; vector < 3; vector++, j += 16) {
                    const vec_v4 k_tile_0 = load_v4(k_tile + d * 144 + j);
                    key_sum_in[vector] += k_tile_0 * k_tile_0;
                }
            }
            UNROLL for (int64_t vector = 0, j = j_first; vector < 3; vector++, j += 16) {
                store_v4(key_sum + j, load_v4(key_sum + j) + key_sum_in[vector]);
            }
        }
        /* k_tile = k_tile * select(key_sum == 0.0f, 0.0f, 1.0f / sqrt(key_sum)) */
        for (int64_t j = 0; j < j1 - j0; j += 16) {
            const vec_v4 key_sum_1 = load_v4(key_sum + j);
            const vec_v4 t_2 = pick_v4(key_sum_1 == 0.0f, splat_v4(0.0f), 1.0f / sqrt_v4(key_sum_1));
            for (int64_t d = 0; d < 64; d++) {
                store_v4(k_tile + d * 144 + j, load_v4(k_tile + d * 144 + j) * t_2);
            }
        }
        /* key_features = select(f < 64, k_tile, 1.0f) */
        for (int64_t f = 0; f < 65; f++) {
            for (int64_t j = 0; j < j1 - j0; j += 16) {
                store_v4(key_features + f * 144 + j, (f < 64) ? load_v4(k_tile + min(f,
                    63) * 144 + j) : splat_v4(1.0f));
            }
        }
        /* state_sum += key_features */
        for (int64_t f = 0; f < 65; f++) {
            vec_v4 lane_sums = splat_v4(0);
            for (int64_t j = 0; j < j1 - j0; j += 16) {
                const vec_v4 term = load_v4(key_features + f * 144 + j);
                lane_sums += j + 16 <= j1 - j0 ? term : pick_v4(__builtin_convertvector(j + lane_v4 < j1 - j0, mask_v4),
                    term, splat_v4(0));
            }
            const float total = lane_sum_v4(lane_sums);
            state_sum[(chunk - chunk0) * 4240 + f] += total;
        }
        /* state[f][e] += sum over j of key_features * v */
        dot2_v4(j1 - j0, key_features, v + j0 * v_row, v_row, state + (chunk - chunk0) * 4240);
    }
}

/* Folds the slots of the current chunks, in order, for some elements of the states. */
TARGET_v4 APART void linear_taylor_fold_v4(const struct call *call, int64_t task, const struct part *part,
    int64_t iteration)
{
    (void)call;
    (void)task;
    const int64_t f0 = iteration * 32, f1 = min(f0 + 32, 65);
    const int64_t chunk0 = part->chunk0;
    const int64_t chunk1 = part->chunk1;
    float *const state_sum = (float *)(void *)(part->slots + 0); /* [chunk, f: 80] */
    float *const state = (float *)(void *)(part->slots + 320); /* [chunk, f: 65, e: 64] */
    float *const carried_sum = (float *)(void *)(part->shared + 0); /* [f: 80] */
    float *const carried_sum_compensation = (float *)(void *)(part->shared + 16960); /* [f: 80] */
    float *const carried = (float *)(void *)(part->shared + 320); /* [f: 65, e: 64] */
    float *const carried_compensation = (float *)(void *)(part->shared + 17280); /* [f: 65, e: 64] */
    for (int64_t chunk = chunk0; chunk < chunk1; chunk++) {
        /* before_sum = carried_sum; carried_sum += state_sum */
        for (int64_t f = f0; f < f1; f += 16) {
            add_v4(carried_sum + f, carried_sum_compensation + f, load_v4(state_sum + (chunk - chunk0) * 4240 + f),
                splat_v4(1));
        }
        /* before = carried; carried += state */
        for (int64_t f = f0; f < f1; f++) {
            for (int64_t e_first = 0; e_first < 64; e_first += 64) {
                UNROLL for (int64_t vector = 0, e = e_first; vector < 4; vector++, e += 16) {
                    add_v4(carried + f * 64 + e, carried_compensation + f * 64 + e,
                        load_v4(state + (chunk - chunk0) * 4240 + f * 64 + e), splat_v4(1));
                }
            }
        }
    }
}

/* Processes a tile of queries: reads the states. */
TARGET_v4 APART void linear_taylor_queries_v4(const struct call *call, int64_t task, const struct part *part,
    int64_t iteration)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_q = call->p.n_q;
    const int64_t tiles = (n_q + 256 - 1) / 256, i0 = (tiles - 1 - iteration % tiles) * 256,
        i1 = min(i0 + 256, n_q);
    const int64_t m = iteration / tiles;
    const int64_t g = task % kv_heads;
    const int64_t b = task / kv_heads;
    const float *const q = call->q + b * call->p.q.batch + (g / call->sharing * members + m) * call->p.q.head;
    const int64_t q_row = call->p.q.row;
    float *const carried_sum = (float *)(void *)(part->shared + 0); /* [f: 80] */
    float *const carried = (float *)(void *)(part->shared + 320); /* [f: 65, e: 64] */
    float *const query_sum = (float *)(void *)(part->work + 0); /* [i: 256] */
    float *const query_2 = (float *)(void *)(part->work + 0); /* [f: 65, i: 256 of 272] */
    float *const row_sum_from_state = (float *)(void *)(part->work + 70720); /* [i: 256] */
    float *const sum_from_state = (float *)(void *)(part->work + 71744); /* [e: 64, i: 256 of 272] */
    float *const out = call->out + b * call->p.out.batch + (g * members + m) * call->p.out.head;
    const int64_t out_row = call->p.out.row;
    float *const q_tile = (float *)(void *)(part->work + 71744); /* [d: 64, i: 256 of 272] */
    /* q_tile = q, with zeros beyond the last row */
    transpose_padded_v4(q + i0 * q_row, q_row, i1 - i0, 64, q_tile, 272, 16);
    /* query_sum = 0.0f */
    for (int64_t i = 0; i < i1 - i0; i += 16) {
        store_v4(query_sum + i, splat_v4(0.0f));
    }
    /* query_sum += q_tile * q_tile */
    for (int64_t i_first = 0; i_first < i1 - i0; i_first += 64) {
        vec_v4 query_sum_in[4];
        UNROLL for (int64_t vector = 0, i = i_first; vector < 4; vector++, i += 16) {
            query_sum_in[vector] = (vec_v4){0};
        }
        for (int64_t d = 0; d < 64; d++) {
            UNROLL for (int64_t vector = 0, i = i_first; vector < 4; vector++, i += 16) {
                const vec_v4 q_tile_3 = load_v4(q_tile + d * 272 + i);
                query_sum_in[vector] += q_tile_3 * q_tile_3;
            }
        }
        UNROLL for (int64_t vector = 0, i = i_first; vector < 4; vector++, i += 16) {
            store_v4(query_sum + i, load_v4(query_sum + i) + query_sum_in[vector]);
        }
    }
    /* q_tile = q_tile * select(query_sum == 0.0f, 0.0f, 1.0f / sqrt(query_sum)) */
    for (int64_t i = 0; i < i1 - i0; i += 16) {
        const vec_v4 query_sum_4 = load_v4(query_sum + i);
        const vec_v4 t_5 = pick_v4(query_sum_4 == 0.0f, splat_v4(0.0f), 1.0f / sqrt_v4(query_sum_4));
        for (int64_t d = 0; d < 64; d++) {
            store_v4(q_tile + d * 272 + i, load_v4(q_tile + d * 272 + i) * t_5);
        }
    }
    /* row_sum_from_state = 0.0f */
    for (int64_t i = 0; i < i1 - i0; i += 16) {
        store_v4(row_sum_from_state + i, splat_v4(0.0f));
    }
    /* query_2 = select(f < 64, q_tile, 1.0f); row_sum_from_state += query_2 * carried_sum */
    for (int64_t i_first = 0; i_first < i1 - i0; i_first += 64) {
        vec_v4 row_sum_from_state_in[4], row_sum_from_state_in_whole[4];
        UNROLL for (int64_t vector = 0, i = i_first; vector < 4; vector++, i += 16) {
            row_sum_from_state_in[vector] = (vec_v4){0};
            row_sum_from_state_in_whole[vector] = (vec_v4){0};
        }
        for (int64_t f = 0; f < 65; f++) {
            UNROLL for (int64_t vector = 0, i = i_first; vector < 4; vector++, i += 16) {
                const vec_v4 query_2_new6 = (f < 64) ? load_v4(q_tile + min(f, 63) * 272 + i) : splat_v4(1.0f);
                store_v4(query_2 + f * 272 + i, query_2_new6);
                row_sum_from_state_in[vector] += query_2_new6 * carried_sum[f];
                if (f % 32 == 31) {
                    row_sum_from_state_in_whole[vector] += row_sum_from_state_in[vector];
                    row_sum_from_state_in[vector] = (vec_v4){0};
                }
            }
        }
        UNROLL for (int64_t vector = 0, i = i_first; vector < 4; vector++, i += 16) {
            row_sum_from_state_in[vector] += row_sum_from_state_in_whole[vector];
            store_v4(row_sum_from_state + i, load_v4(row_sum_from_state + i) + row_sum_from_state_in[vector]);
        }
    }
    /* sum_from_state[e][i] = sum over f of carried * query_2 */
    dot3_v4(round_up(i1 - i0, 16), carried, query_2, sum_from_state);
    /* sum_from_state = select(row_sum_from_state == 0.0f, 0.0f, sum_from_state / row_sum_from_state) */
    for (int64_t i = 0; i < i1 - i0; i += 16) {
        const vec_v4 row_sum_from_state_7 = load_v4(row_sum_from_state + i);
        const mask_v4 t_8 = row_sum_from_state_7 == 0.0f;
        for (int64_t e = 0; e < 64; e++) {
            store_v4(sum_from_state + e * 272 + i, pick_v4(t_8, splat_v4(0.0f),
                load_v4(sum_from_state + e * 272 + i) / row_sum_from_state_7));
        }
    }
    /* out = sum_from_state, transposed back */
    transpose_out_v4(sum_from_state, 272, 64, i1 - i0, out + i0 * out_row, out_row, 16);
}

/* Computes head number `task`. Each thread on the head calls this with its share, `part`. */
TARGET_v4 static void linear_taylor_linear_v4(const struct call *call, int64_t task, struct part *part)
{
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_q = call->p.n_q;
    const int64_t n_k = call->p.n_k;
    const int64_t chunks = n_k > 0 ? (n_k - 1) / 576 + 1 : 1;
    for (int64_t iteration = part->number; iteration < ((65 + 31) / 32); iteration += part->threads)
        linear_taylor_begin_v4(call, task, part, iteration);
    synchronise(part);
    const int64_t first = 0;
    const int64_t length = segment_length(part, chunks - first);
    for (int64_t segment = part->number; first + segment * length < chunks; segment += part->threads) {
        part->chunk0 = first + segment * length;
        part->chunk1 = min(part->chunk0 + length, chunks);
        for (int64_t iteration = part->chunk0; iteration < part->chunk1; iteration++)
            linear_taylor_keys_v4(call, task, part, iteration);
        for (int64_t group = 0; group < 16; group++) {
            await_segment(part, group, segment);
            const int64_t end = (group + 1) * ((65 + 31) / 32) / 16;
            for (int64_t iteration = group * ((65 + 31) / 32) / 16; iteration < end; iteration++)
                linear_taylor_fold_v4(call, task, part, iteration);
            pass_segment(part, group, segment);
        }
    }
    part->segments += (max(chunks - first, 0) + length - 1) / length;
    synchronise(part);
    for (int64_t iteration = part->number; iteration < members * ((n_q + 255) / 256); iteration += part->threads)
        linear_taylor_queries_v4(call, task, part, iteration);
    synchronise(part);
}

/* Initialises the states: they contain no keys yet. */
TARGET_v4 APART void linear_taylor_few_begin_v4(const struct call *call, int64_t task, const struct part *part,
    int64_t iteration)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_q = call->p.n_q;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t r0 = iteration * 64, r1 = min(r0 + 64, rows);
    const int64_t g = task % kv_heads;
    const int64_t b = task / kv_heads;
    const float *const q = call->q + b * call->p.q.batch + g / call->sharing * members * call->p.q.head;
    const int64_t q_row = call->p.q.row;
    const int64_t q_head = call->p.q.head;
    float *const query_sum = (float *)(void *)(part->shared + 0); /* [r: 64] */
    float *const query = (float *)(void *)(part->shared + 256); /* [d: 64, r: 64] */
    float *const q_tile = (float *)(void *)(part->work + 0); /* [d: 64, r: 64 of 80] */
    /* q_tile = q, with zeros beyond the last row */
    for (int64_t r = r0; r < r0 + round_up(r1 - r0, 16); r++)
        for (int64_t d = 0; d < 64; d++)
            q_tile[d * 80 + r] = r < r1 ? q[r / n_q * q_head + r % n_q * q_row + d] : 0;
    /* query_sum = 0.0f */
    for (int64_t r = r0; r < r1; r += 16) {
        store_v4(query_sum + r, splat_v4(0.0f));
    }
    /* query_sum += q_tile * q_tile */
    for (int64_t r = r0; r < r1; r += 16) {
        vec_v4 query_sum_in = (vec_v4){0};
        for (int64_t d = 0; d < 64; d++) {
            const vec_v4 q_tile_0 = load_v4(q_tile + d * 80 + r);
            query_sum_in += q_tile_0 * q_tile_0;
        }
        store_v4(query_sum + r, load_v4(query_sum + r) + query_sum_in);
    }
    /* query = q_tile * select(query_sum == 0.0f, 0.0f, 1.0f / sqrt(query_sum)) */
    for (int64_t r = r0; r < r1; r += 16) {
        const vec_v4 query_sum_1 = load_v4(query_sum + r);
        const vec_v4 t_2 = pick_v4(query_sum_1 == 0.0f, splat_v4(0.0f), 1.0f / sqrt_v4(query_sum_1));
        for (int64_t d = 0; d < 64; d++) {
            store_v4(query + d * 64 + r, load_v4(q_tile + d * 80 + r) * t_2);
        }
    }
}

/* Initialises the states: they contain no keys yet. */
TARGET_v4 APART void linear_taylor_few_begin_2_v4(const struct call *call, int64_t task, const struct part *part,
    int64_t iteration)
{
    (void)task;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t r0 = iteration * 16, r1 = min(r0 + 16, rows);
    float *const carried_sum = (float *)(void *)(part->shared + 16640); /* [r: 64] */
    float *const carried_sum_compensation = (float *)(void *)(part->shared + 33280); /* [r: 64] */
    float *const carried = (float *)(void *)(part->shared + 16896); /* [r: 64, e: 64] */
    float *const carried_compensation = (float *)(void *)(part->shared + 33536); /* [r: 64, e: 64] */
    /* carried_sum = 0.0f; carried_sum_compensation = 0.0f */
    for (int64_t r = r0; r < r1; r += 16) {
        store_v4(carried_sum + r, splat_v4(0.0f));
        store_v4(carried_sum_compensation + r, splat_v4(0.0f));
    }
    /* carried = 0.0f; carried_compensation = 0.0f */
    for (int64_t r = r0; r < r1; r++) {
        for (int64_t e_first = 0; e_first < 64; e_first += 64) {
            UNROLL for (int64_t vector = 0, e = e_first; vector < 4; vector++, e += 16) {
                store_v4(carried + r * 64 + e, splat_v4(0.0f));
                store_v4(carried_compensation + r * 64 + e, splat_v4(0.0f));
            }
        }
    }
}

/* Sums the keys of a chunk, from zero, into its slot. */
TARGET_v4 APART void linear_taylor_few_keys_v4(const struct call *call, int64_t task, const struct part *part,
    int64_t iteration)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t n_k = call->p.n_k;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t chunk = iteration;
    const int64_t chunk0 = part->chunk0;
    const int64_t g = task % kv_heads;
    const int64_t b = task / kv_heads;
    const float *const k = call->k + b * call->p.k.batch + g / call->sharing * call->p.k.head;
    const int64_t k_row = call->p.k.row;
    const float *const v = call->v + b * call->p.v.batch + g * call->p.v.head;
    const int64_t v_row = call->p.v.row;
    float *const query = (float *)(void *)(part->shared + 256); /* [d: 64, r: 64] */
    float *const key_sum = (float *)(void *)(part->work + 0); /* [j: 128] */
    float *const score = (float *)(void *)(part->work + 0); /* [r: 64, j: 128 of 144] */
    float *const state_sum = (float *)(void *)(part->slots + 0); /* [chunk, r: 64] */
    float *const state = (float *)(void *)(part->slots + 256); /* [chunk, r: 64, e: 64] */
    float *const k_tile = (float *)(void *)(part->work + 36864); /* [d: 64, j: 128 of 144] */
    /* state_sum = 0.0f */
    for (int64_t r = 0; r < rows; r += 16) {
        store_v4(state_sum + (chunk - chunk0) * 4160 + r, splat_v4(0.0f));
    }
    /* state = 0.0f */
    for (int64_t r = 0; r < rows; r++) {
        for (int64_t e_first = 0; e_first < 64; e_first += 64) {
            UNROLL for (int64_t vector = 0, e = e_first; vector < 4; vector++, e += 16) {
                store_v4(state + (chunk - chunk0) * 4160 + r * 64 + e, splat_v4(0.0f));
            }
        }
    }
    for (int64_t j0 = chunk * 1024, j_end = min(n_k, (chunk + 1) * 1024); j0 < j_end; j0 += 128) {
        const int64_t j1 = min(j0 + 128, j_end);
        /* k_tile = k, with zeros beyond the last row */
        transpose_padded_v4(k + j0 * k_row, k_row, j1 - j0, 64, k_tile, 144, 64);
        /* key_sum = 0.0f */
        for (int64_t j = 0; j < j1 - j0; j += 16) {
            store_v4(key_sum + j, splat_v4(0.0f));
        }
        /* key_sum += k_tile * k_tile */
        for (int64_t j_first = 0; j_first < j1 - j0; j_first += 64) {
            vec_v4 key_sum_in[4];
            UNROLL for (int64_t vector = 0, j = j_first; vector < 4; vector++, j += 16) {
                key_sum_in[vector] = (vec_v4){0};
            }
            for (int64_t d = 0; d < 64; d++) {
                UNROLL for (int64_t vector = 0, j = j_first; vector < 4; vector++, j += 16) {
                    const vec_v4 k_tile_3 = load_v4(k_tile + d * 144 + j);
                    key_sum_in[vector] += k_tile_3 * k_tile_3;
                }
            }
            UNROLL for (int64_t vector = 0, j = j_first; vector < 4; vector++, j += 16) {
                store_v4(key_sum + j, load_v4(key_sum + j) + key_sum_in[vector]);
            }
        }
        /* k_tile = k_tile * select(key_sum == 0.0f, 0.0f, 1.0f / sqrt(key_sum)) */
        for (int64_t j = 0; j < j1 - j0; j += 16) {
            const vec_v4 key_sum_4 = load_v4(key_sum + j);
            const vec_v4 t_5 = pick_v4(key_sum_4 == 0.0f, splat_v4(0.0f), 1.0f / sqrt_v4(key_sum_4));
            for (int64_t d = 0; d < 64; d++) {
                store_v4(k_tile + d * 144 + j, load_v4(k_tile + d * 144 + j) * t_5);
            }
        }
        /* score[r][j] = sum over d of query * k_tile */
        dot4_v4(round_up(j1 - j0, 16), rows, query, k_tile, score);
        /* score = score + 1.0f */
        for (int64_t r = 0; r < rows; r++) {
            for (int64_t j = 0; j < j1 - j0; j += 16) {
                store_v4(score + r * 144 + j, load_v4(score + r * 144 + j) + 1.0f);
            }
        }
        /* state_sum += score */
        for (int64_t r = 0; r < rows; r++) {
            vec_v4 lane_sums = splat_v4(0);
            for (int64_t j = 0; j < j1 - j0; j += 16) {
                const vec_v4 term = load_v4(score + r * 144 + j);
                lane_sums += j + 16 <= j1 - j0 ? term : pick_v4(__builtin_convertvector(j + lane_v4 < j1 - j0, mask_v4),
                    term, splat_v4(0));
            }
            const float total = lane_sum_v4(lane_sums);
            state_sum[(chunk - chunk0) * 4160 + r] += total;
        }
        /* state[r][e] += sum over j of score * v */
        dot5_v4(rows, j1 - j0, score, v + j0 * v_row, v_row, state + (chunk - chunk0) * 4160, attn_is_intel() ? 16 : 0);
    }
}

/* Folds the slots of the current chunks, in order, for some elements of the states. */
TARGET_v4 APART void linear_taylor_few_fold_v4(const struct call *call, int64_t task, const struct part *part,
    int64_t iteration)
{
    (void)task;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t r0 = iteration * 16, r1 = min(r0 + 16, rows);
    const int64_t chunk0 = part->chunk0;
    const int64_t chunk1 = part->chunk1;
    float *const state_sum = (float *)(void *)(part->slots + 0); /* [chunk, r: 64] */
    float *const state = (float *)(void *)(part->slots + 256); /* [chunk, r: 64, e: 64] */
    float *const carried_sum = (float *)(void *)(part->shared + 16640); /* [r: 64] */
    float *const carried_sum_compensation = (float *)(void *)(part->shared + 33280); /* [r: 64] */
    float *const carried = (float *)(void *)(part->shared + 16896); /* [r: 64, e: 64] */
    float *const carried_compensation = (float *)(void *)(part->shared + 33536); /* [r: 64, e: 64] */
    for (int64_t chunk = chunk0; chunk < chunk1; chunk++) {
        /* before_sum = carried_sum; carried_sum += state_sum */
        for (int64_t r = r0; r < r1; r += 16) {
            add_v4(carried_sum + r, carried_sum_compensation + r, load_v4(state_sum + (chunk - chunk0) * 4160 + r),
                splat_v4(1));
        }
        /* before = carried; carried += state */
        for (int64_t r = r0; r < r1; r++) {
            for (int64_t e_first = 0; e_first < 64; e_first += 64) {
                UNROLL for (int64_t vector = 0, e = e_first; vector < 4; vector++, e += 16) {
                    add_v4(carried + r * 64 + e, carried_compensation + r * 64 + e,
                        load_v4(state + (chunk - chunk0) * 4160 + r * 64 + e), splat_v4(1));
                }
            }
        }
    }
}

/* Processes a tile of queries: reads the states. */
TARGET_v4 APART void linear_taylor_few_queries_v4(const struct call *call, int64_t task, const struct part *part,
    int64_t iteration)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_q = call->p.n_q;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t r0 = iteration * 16, r1 = min(r0 + 16, rows);
    const int64_t g = task % kv_heads;
    const int64_t b = task / kv_heads;
    float *const carried_sum = (float *)(void *)(part->shared + 16640); /* [r: 64] */
    float *const carried = (float *)(void *)(part->shared + 16896); /* [r: 64, e: 64] */
    float *const result = (float *)(void *)(part->work + 0); /* [r: 64, e: 64] */
    float *const out = call->out + b * call->p.out.batch + g * members * call->p.out.head;
    const int64_t out_row = call->p.out.row;
    const int64_t out_head = call->p.out.head;
    /* result = select(carried_sum == 0.0f, 0.0f, carried / carried_sum) */
    for (int64_t r = r0; r < r1; r++) {
        for (int64_t e_first = 0; e_first < 64; e_first += 64) {
            UNROLL for (int64_t vector = 0, e = e_first; vector < 4; vector++, e += 16) {
                const float carried_sum_6 = carried_sum[r];
                store_v4(result + r * 64 + e, (carried_sum_6 == 0.0f) ? splat_v4(0.0f) : load_v4(carried + r * 64 + e) /
                    carried_sum_6);
            }
        }
    }
    /* out = result */
    for (int64_t r = r0; r < r1; r++)
        for (int64_t e = 0; e < 64; e++)
            out[r / n_q * out_head + r % n_q * out_row + e] = result[r * 64 + e];
}

/* Computes head number `task`. Each thread on the head calls this with its share, `part`. */
TARGET_v4 static void linear_taylor_few_v4(const struct call *call, int64_t task, struct part *part)
{
    const int64_t n_k = call->p.n_k;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t chunks = n_k > 0 ? (n_k - 1) / 1024 + 1 : 1;
    for (int64_t iteration = part->number; iteration < ((rows + 63) / 64); iteration += part->threads)
        linear_taylor_few_begin_v4(call, task, part, iteration);
    for (int64_t iteration = part->number; iteration < ((rows + 15) / 16); iteration += part->threads)
        linear_taylor_few_begin_2_v4(call, task, part, iteration);
    synchronise(part);
    const int64_t first = 0;
    const int64_t length = segment_length(part, chunks - first);
    for (int64_t segment = part->number; first + segment * length < chunks; segment += part->threads) {
        part->chunk0 = first + segment * length;
        part->chunk1 = min(part->chunk0 + length, chunks);
        for (int64_t iteration = part->chunk0; iteration < part->chunk1; iteration++)
            linear_taylor_few_keys_v4(call, task, part, iteration);
        for (int64_t group = 0; group < 16; group++) {
            await_segment(part, group, segment);
            const int64_t end = (group + 1) * ((rows + 15) / 16) / 16;
            for (int64_t iteration = group * ((rows + 15) / 16) / 16; iteration < end; iteration++)
                linear_taylor_few_fold_v4(call, task, part, iteration);
            pass_segment(part, group, segment);
        }
    }
    part->segments += (max(chunks - first, 0) + length - 1) / length;
    synchronise(part);
    for (int64_t iteration = part->number; iteration < ((rows + 15) / 16); iteration += part->threads)
        linear_taylor_few_queries_v4(call, task, part, iteration);
    synchronise(part);
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

/* Returns the sum over the lanes of x. */
TARGET_v3 INLINE float lane_sum_v3(vec_v3 x)
{
    x += __builtin_shufflevector(x, x, 4, 5, 6, 7, 0, 1, 2, 3);
    x += __builtin_shufflevector(x, x, 2, 3, 0, 1, 6, 7, 4, 5);
    x += __builtin_shufflevector(x, x, 1, 0, 3, 2, 5, 4, 7, 6);
    return x[0];
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
/* *sum = *sum * factor + x per lane, with compensated summation (Kahan). *compensation is the rounding error, which
   the next call adds. */
TARGET_v3 INLINE void add_v3(float *sum, float *compensation, vec_v3 x, vec_v3 factor)
{
    const vec_v3 old = load_v3(sum) * factor, more = load_v3(compensation) * factor + x, new = old + more;
    store_v3(compensation, more - (new - old));
    store_v3(sum, new);
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
    const float *factor, float *compensation)
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
            if (update == 3) {
                add_v3(to, compensation + r * c_row + v * 8, sum[r][v], times);
                continue;
            }
            store_v3(to, update == 0 ? sum[r][v]
                : update == 1 ? load_v3(to) + sum[r][v] : load_v3(to) * times + sum[r][v]);
        }
    }
}

/* Like block_v3, but if `update` is 0 and the sum is long, it adds `span` terms at a time. Each span is summed
   separately, which reduces rounding errors. */
TARGET_v3 INLINE void parts_v3(const int rows, const int vectors, int64_t steps, const int64_t span, const float *a,
    int64_t a_row, int64_t a_step, const float *b, int64_t b_step, float *c, int64_t c_row, const int update,
    const float *factor, float *compensation)
{
    const int64_t first = update == 0 && steps > 2 * span ? span : steps;
    block_v3(rows, vectors, first, a, a_row, a_step, b, b_step, c, c_row, update,
        factor, compensation);
    if (update == 0)
        for (int64_t t = first; t < steps; t += span)
            block_v3(rows, vectors, min(span, steps - t), a + t * a_step, a_row, a_step, b + t * b_step, b_step, c,
                c_row, 1, NULL, NULL);
}

/* Like parts_v3, for any number of rows. `lanes` is a multiple of 8 * vectors. `tail` is rows % 6 if this is a
   constant, otherwise -1. */
TARGET_v3 INLINE void blocks_v3(const int vectors, const int64_t lanes, int64_t rows, const int tail, int64_t steps,
    const int64_t span, const float *a, int64_t a_row, int64_t a_step, const float *b, int64_t b_step, float *c,
        int64_t c_row,
    const int update, const float *factor, float *compensation)
{
    for (int64_t x = 0; x < lanes; x += vectors * 8) {
        const float *const f = factor ? factor + x : NULL;
        float *const left = compensation ? compensation + x : NULL;
        int64_t r = 0;
        for (; r + 6 <= rows; r += 6)
            parts_v3(6, vectors, steps, span, a + r * a_row, a_row, a_step, b + x, b_step,
                c + r * c_row + x, c_row, update, f, left ? left + r * c_row : NULL);
        switch (tail >= 0 ? tail : rows - r) {
        case 5: parts_v3(5, vectors, steps, span, a + r * a_row, a_row, a_step, b + x, b_step, c + r * c_row + x, c_row,
            update, f, left ? left + r * c_row : NULL); break;
        case 4: parts_v3(4, vectors, steps, span, a + r * a_row, a_row, a_step, b + x, b_step, c + r * c_row + x, c_row,
            update, f, left ? left + r * c_row : NULL); break;
        case 3: parts_v3(3, vectors, steps, span, a + r * a_row, a_row, a_step, b + x, b_step, c + r * c_row + x, c_row,
            update, f, left ? left + r * c_row : NULL); break;
        case 2: parts_v3(2, vectors, steps, span, a + r * a_row, a_row, a_step, b + x, b_step, c + r * c_row + x, c_row,
            update, f, left ? left + r * c_row : NULL); break;
        case 1: parts_v3(1, vectors, steps, span, a + r * a_row, a_row, a_step, b + x, b_step, c + r * c_row + x, c_row,
            update, f, left ? left + r * c_row : NULL); break;
        }
    }
}

/* Like block_v3, for any number of rows and vectors. It computes one vector at a time. */
TARGET_v3 APART void narrow_v3(int64_t lanes, int64_t rows, int64_t steps, int64_t span, const float *a, int64_t a_row,
    int64_t a_step, const float *b, int64_t b_step, float *c, int64_t c_row, int update,
    const float *factor, float *compensation)
{
    const int64_t most = update == 0 && steps > 2 * span ? span : steps;
    for (int64_t t = 0; t < steps; t += most) {
        const int64_t some = min(most, steps - t);
        const float *const from = a + t * a_step;
        const int now = t > 0 ? 1 : update;
        for (int64_t x = 0; x < lanes; x += 8) {
            const float *const f = factor ? factor + x : NULL;
            float *const left = compensation ? compensation + x : NULL;
            int64_t r = 0;
            for (; r < rows; r += 6)
                switch (min(rows - r, 6)) {
        default: block_v3(6, 1, some, from + r * a_row, a_row, a_step, b + t * b_step + x, b_step,
            c + r * c_row + x, c_row, now, f, left ? left + r * c_row : NULL); break;
        case 5: block_v3(5, 1, some, from + r * a_row, a_row, a_step, b + t * b_step + x, b_step, c + r * c_row + x,
            c_row, now, f, left ? left + r * c_row : NULL); break;
        case 4: block_v3(4, 1, some, from + r * a_row, a_row, a_step, b + t * b_step + x, b_step, c + r * c_row + x,
            c_row, now, f, left ? left + r * c_row : NULL); break;
        case 3: block_v3(3, 1, some, from + r * a_row, a_row, a_step, b + t * b_step + x, b_step, c + r * c_row + x,
            c_row, now, f, left ? left + r * c_row : NULL); break;
        case 2: block_v3(2, 1, some, from + r * a_row, a_row, a_step, b + t * b_step + x, b_step, c + r * c_row + x,
            c_row, now, f, left ? left + r * c_row : NULL); break;
        case 1: block_v3(1, 1, some, from + r * a_row, a_row, a_step, b + t * b_step + x, b_step, c + r * c_row + x,
            c_row, now, f, left ? left + r * c_row : NULL); break;
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
    const int update, const float *factor, float *compensation)
{
    const int64_t x = lanes_in_blocks_v3(vectors, lanes);
    blocks_v3(vectors, x, rows, tail, steps, span, a, a_row, a_step, b, b_step, c, c_row, update,
        factor, compensation);
    if (x < lanes)
        narrow_v3(lanes - x, rows, steps, span, a, a_row, a_step, b + x, b_step, c + x, c_row,
            update, factor ? factor + x : NULL, compensation ? compensation + x : NULL);
}

/* Returns the elements x … x + 8 - 1 of a row before they are multiplied by a scale. x is a multiple of 8. */
TARGET_v3 INLINE vec_v3 unscaled_v3(const float *row, int64_t x)
{
    return load_v3(row + x);
}

/* Returns the elements x … x + 8 - 1 of a row. */
TARGET_v3 INLINE vec_v3 widened_v3(const float *row, int64_t x)
{
    return unscaled_v3(row, x);
}

/* Returns the size of a row of `elements` elements, in units of float. */
INLINE int64_t units_v3(int64_t elements)
{
    return elements;
}

/* Returns the row that comes `distance` rows after the first of the `rest` rows at b. The rows at `next` come after
   these. NULL: the rows that follow in memory. */
INLINE const float *ahead_v3(const float *b, int64_t b_row, int64_t distance, int64_t rest, const float *next)
{
    return next && distance >= rest ? next + (distance - rest) * b_row : b + distance * b_row;
}

/* Prefetches `rows` rows of b, `width` elements of each. */
TARGET_v3 INLINE void fetch_v3(int64_t rows, const int64_t width, const float *b, int64_t b_row)
{
    for (int64_t r = 0; r < rows; r++)
        UNROLL for (int64_t x = 0; x < units_v3(width); x += 64 / (int64_t)sizeof *b)
            __builtin_prefetch(b + r * b_row + x, 0, 3);
}

/* c[x] += sum over t of a[t] * b[t][x] for up to 16 vectors of lanes, from x = first on. Terms are rounded and
   added as for several rows. For b with scales, one for `block` elements:
   - a has been multiplied by them: a[t][x / block] * unscaled b[t][x]
   - the scales of the rows 16 later are copied to `next`, for `later` rows */
TARGET_v3 INLINE void row_v3(const int vectors, int64_t first, int64_t steps, const float *a, int64_t a_step,
    const float *b, int64_t b_step, const int64_t lanes, const int64_t block, float *c
)
{
    vec_v3 sum[16];
    (void)lanes;
    UNROLL for (int v = 0; v < vectors; v++) sum[v] = (vec_v3){0};
    (void)block;
    for (int64_t t = 0; t < steps; t++, b += b_step) {
        UNROLL for (int v = 0; v < vectors; v++) sum[v] += a[t * a_step] * widened_v3(b, first + v * 8);
    }
    UNROLL for (int v = 0; v < vectors; v++) store_v3(c + first + v * 8, load_v3(c + first + v * 8) + sum[v]);
}

/* Like dot_v3, but b is in memory and is prefetched as in dot_along_v3. It is read 16 rows at a time. Narrow
   elements are widened once for all rows. If a has one row, b is read 128 lanes at a time. */
TARGET_v3 INLINE void dot_fetched_v3(const int vectors, const int64_t lanes, int64_t rows, const int tail,
    int64_t steps,
    const int64_t span, const float *a, int64_t a_row, int64_t a_step, const float *b, int64_t b_step, float *c,
    int64_t c_row, const int update, const float *factor, float *compensation)
{
    for (int64_t t = 0; t < steps; t += 16, a += 16 * a_step, b += 16 * b_step) {
        const int64_t some = min(steps - t, 16);
        const float *const ahead = ahead_v3(b, b_step, rows == 1 ? 0 : 32, steps - t, NULL);
        (void)ahead;
        const int64_t block = lanes;
        if (rows == 1 && update == 1) {
            const float *const factor_of_row = a;
            const int64_t step = a_step;
            int64_t x = 0;
            for (; x + 128 <= lanes; x += 128)
                row_v3(16, x, some, factor_of_row, step, b, b_step, lanes, block,
                    c);
            if (lanes % 128)
                row_v3((int)(lanes % 128 / 8), x, some, factor_of_row, step, b, b_step, lanes, block,
                    c);
            continue;
        }
        const float *const from = b;
        const int64_t from_step = b_step;
        for (int64_t x = 0, asked = 0; x < lanes; x += vectors * 8) {
            /* A core can have few cache misses in flight, so few rows are prefetched at a time. */
            const int64_t ask = 16 * (x + vectors * 8) / lanes;
            fetch_v3(ask - asked, lanes, ahead + asked * b_step, b_step);
            asked = ask;
            dot_v3(vectors, vectors * 8, rows, tail, some, span, a, a_row, a_step, from + x, from_step, c + x,
                c_row, update, factor ? factor + x : NULL, compensation ? compensation + x : NULL);
        }
    }
}

/* The functions for the products below. Each calls dot_v3 or a similar function with constants. */
TARGET_v3 APART void dot0_v3(int64_t lanes, int64_t rows, const float *a, const float *b, float *c)
{
    dot_v3(/*vectors=*/2, lanes, rows, /*tail=*/-1, /*steps=*/64, /*span=*/32, a, /*a_row=*/1, /*a_step=*/96, b,
        /*b_step=*/16, c, /*c_row=*/16, /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL);
}
TARGET_v3 APART void dot1_v3(int64_t lanes, int64_t steps, const float *a, int64_t a_step, const float *b, float *c,
    float *compensation)
{
    dot_v3(/*vectors=*/2, lanes, /*rows=*/64, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/1, a_step, b, /*b_step=*/16,
        c, /*c_row=*/16, /*update=*/3, /*factor=*/NULL, compensation);
}
TARGET_v3 APART void dot2_v3(int64_t steps, const float *a, const float *b, int64_t b_step, float *c)
{
    dot_v3(/*vectors=*/2, /*lanes=*/64, /*rows=*/65, /*tail=*/5, steps, /*span=*/192, a, /*a_row=*/144, /*a_step=*/1, b,
        b_step, c, /*c_row=*/64, /*update=*/1, /*factor=*/NULL, /*compensation=*/NULL);
}
TARGET_v3 APART void dot3_v3(int64_t lanes, const float *a, const float *b, float *c)
{
    dot_v3(/*vectors=*/2, lanes, /*rows=*/64, /*tail=*/4, /*steps=*/65, /*span=*/32, a, /*a_row=*/1, /*a_step=*/64, b,
        /*b_step=*/272, c, /*c_row=*/272, /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL);
}
TARGET_v3 APART void dot4_v3(int64_t lanes, int64_t rows, const float *a, const float *b, float *c)
{
    dot_v3(/*vectors=*/2, lanes, rows, /*tail=*/-1, /*steps=*/64, /*span=*/32, a, /*a_row=*/1, /*a_step=*/64, b,
        /*b_step=*/144, c, /*c_row=*/144, /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL);
}
TARGET_v3 APART void dot5_v3(int64_t rows, int64_t steps, const float *a, const float *b, int64_t b_step, float *c)
{
    dot_fetched_v3(/*vectors=*/2, /*lanes=*/64, rows, /*tail=*/-1, steps, /*span=*/192, a, /*a_row=*/144, /*a_step=*/1,
        b, b_step, c, /*c_row=*/64, /*update=*/1, /*factor=*/NULL, /*compensation=*/NULL);
}

/* Computes task number `task`: one tile of queries of one head. `work` is this thread's workspace. */
TARGET_v3 static void linear_taylor_rows_v3(const struct call *call, int64_t task, unsigned char *work)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_q = call->p.n_q;
    const int64_t n_k = call->p.n_k;
    const int64_t tiles = (n_q + 256 - 1) / 256, i0 = (tiles - 1 - task % tiles) * 256,
        i1 = min(i0 + 256, n_q);
    const int64_t m = task / tiles % members;
    const int64_t g = task / tiles / members % kv_heads;
    const int64_t b = task / tiles / members / kv_heads;
    const float *const q = call->q + b * call->p.q.batch + (g / call->sharing * members + m) * call->p.q.head;
    const int64_t q_row = call->p.q.row;
    const float *const k = call->k + b * call->p.k.batch + g / call->sharing * call->p.k.head;
    const int64_t k_row = call->p.k.row;
    const float *const v = call->v + b * call->p.v.batch + g * call->p.v.head;
    const int64_t v_row = call->p.v.row;
    float *const query_sum = (float *)(void *)(work + 0); /* [i: 16] */
    float *const all_query = (float *)(void *)(work + 64); /* [d: 64, i: 16, 16 times] */
    float *const key_sum = (float *)(void *)(work + 65600); /* [j: 96] */
    float *const score = (float *)(void *)(work + 65600); /* [j: 96, i: 16] */
    float *const all_row_sum = (float *)(void *)(work + 71744); /* [i: 16, 16 times] */
    float *const all_row_sum_compensation = (float *)(void *)(work + 72768); /* [i: 16, 16 times] */
    float *const all_sum = (float *)(void *)(work + 73792); /* [e: 64, i: 16, 16 times] */
    float *const all_sum_compensation = (float *)(void *)(work + 139328); /* [e: 64, i: 16, 16 times] */
    float *const result = (float *)(void *)(work + 0); /* [e: 64, i: 16] */
    float *const out = call->out + b * call->p.out.batch + (g * members + m) * call->p.out.head;
    const int64_t out_row = call->p.out.row;
    float *const q_tile = (float *)(void *)(work + 65600); /* [d: 64, i: 16] */
    float *const k_tile = (float *)(void *)(work + 204864); /* [d: 64, j: 96] */
    for (int64_t i_next = i0, i_block = i0, i_end = i1; i_next < i_end; i_next += 16) {
        const int64_t i0 = i_next, i1 = min(i0 + 16, i_end);
        float *const query = all_query + (i0 - i_block) / 16 * 1024;
        float *const row_sum = all_row_sum + (i0 - i_block) / 16 * 16;
        float *const row_sum_compensation = all_row_sum_compensation + (i0 - i_block) / 16 * 16;
        float *const sum = all_sum + (i0 - i_block) / 16 * 1024;
        float *const sum_compensation = all_sum_compensation + (i0 - i_block) / 16 * 1024;
        /* q_tile = q, with zeros beyond the last row */
        transpose_padded_v3(q + i0 * q_row, q_row, i1 - i0, 64, q_tile, 16, 8);
        /* query_sum = 0.0f */
        for (int64_t i = 0; i < i1 - i0; i += 8) {
            store_v3(query_sum + i, splat_v3(0.0f));
        }
        /* query_sum += q_tile * q_tile */
        for (int64_t i_first = 0; i_first < i1 - i0; i_first += 16) {
            vec_v3 query_sum_in[2];
            UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += 8) {
                query_sum_in[vector] = (vec_v3){0};
            }
            for (int64_t d = 0; d < 64; d++) {
                UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += 8) {
                    const vec_v3 q_tile_0 = load_v3(q_tile + d * 16 + i);
                    query_sum_in[vector] += q_tile_0 * q_tile_0;
                }
            }
            UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += 8) {
                store_v3(query_sum + i, load_v3(query_sum + i) + query_sum_in[vector]);
            }
        }
        /* query = q_tile * select(query_sum == 0.0f, 0.0f, 1.0f / sqrt(query_sum)) */
        for (int64_t i = 0; i < i1 - i0; i += 8) {
            const vec_v3 query_sum_1 = load_v3(query_sum + i);
            const vec_v3 t_2 = pick_v3(query_sum_1 == 0.0f, splat_v3(0.0f), 1.0f / sqrt_v3(query_sum_1));
            for (int64_t d = 0; d < 64; d++) {
                store_v3(query + d * 16 + i, load_v3(q_tile + d * 16 + i) * t_2);
            }
        }
        /* row_sum = 0.0f; row_sum_compensation = 0.0f */
        for (int64_t i = 0; i < i1 - i0; i += 8) {
            store_v3(row_sum + i, splat_v3(0.0f));
            store_v3(row_sum_compensation + i, splat_v3(0.0f));
        }
        /* sum = 0.0f; sum_compensation = 0.0f */
        for (int64_t e = 0; e < 64; e++) {
            for (int64_t i = 0; i < i1 - i0; i += 8) {
                store_v3(sum + e * 16 + i, splat_v3(0.0f));
                store_v3(sum_compensation + e * 16 + i, splat_v3(0.0f));
            }
        }
    }
    for (int64_t j0 = 0, j_end = n_k; j0 < j_end; j0 += 96) {
        const int64_t j1 = min(j0 + 96, j_end);
        /* k_tile = k, with zeros beyond the last row */
        transpose_padded_v3(k + j0 * k_row, k_row, j1 - j0, 64, k_tile, 96, 64);
        /* key_sum = 0.0f */
        for (int64_t j = 0; j < j1 - j0; j += 8) {
            store_v3(key_sum + j, splat_v3(0.0f));
        }
        /* key_sum += k_tile * k_tile */
        for (int64_t j_first = 0; j_first < j1 - j0; j_first += 16) {
            vec_v3 key_sum_in[2];
            UNROLL for (int64_t vector = 0, j = j_first; vector < 2; vector++, j += 8) {
                key_sum_in[vector] = (vec_v3){0};
            }
            for (int64_t d = 0; d < 64; d++) {
                UNROLL for (int64_t vector = 0, j = j_first; vector < 2; vector++, j += 8) {
                    const vec_v3 k_tile_3 = load_v3(k_tile + d * 96 + j);
                    key_sum_in[vector] += k_tile_3 * k_tile_3;
                }
            }
            UNROLL for (int64_t vector = 0, j = j_first; vector < 2; vector++, j += 8) {
                store_v3(key_sum + j, load_v3(key_sum + j) + key_sum_in[vector]);
            }
        }
        /* k_tile = k_tile * select(key_sum == 0.0f, 0.0f, 1.0f / sqrt(key_sum)) */
        for (int64_t j = 0; j < j1 - j0; j += 8) {
            const vec_v3 key_sum_4 = load_v3(key_sum + j);
            const vec_v3 t_5 = pick_v3(key_sum_4 == 0.0f, splat_v3(0.0f), 1.0f / sqrt_v3(key_sum_4));
            for (int64_t d = 0; d < 64; d++) {
                store_v3(k_tile + d * 96 + j, load_v3(k_tile + d * 96 + j) * t_5);
            }
        }
        for (int64_t i_next = i0, i_block = i0, i_end = i1; i_next < i_end; i_next += 16) {
            const int64_t i0 = i_next, i1 = min(i0 + 16, i_end);
            float *const query = all_query + (i0 - i_block) / 16 * 1024;
            float *const row_sum = all_row_sum + (i0 - i_block) / 16 * 16;
            float *const row_sum_compensation = all_row_sum_compensation + (i0 - i_block) / 16 * 16;
            float *const sum = all_sum + (i0 - i_block) / 16 * 1024;
            float *const sum_compensation = all_sum_compensation + (i0 - i_block) / 16 * 1024;
            /* score[j][i] = sum over d of k_tile * query */
            dot0_v3(round_up(i1 - i0, 8), j1 - j0, k_tile, query, score);
            /* score = score + 1.0f; row_sum += score */
            for (int64_t i_first = 0; i_first < i1 - i0; i_first += 16) {
                vec_v3 row_sum_in[2];
                UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += 8) {
                    row_sum_in[vector] = (vec_v3){0};
                }
                for (int64_t j = 0; j < j1 - j0; j++) {
                    UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += 8) {
                        const vec_v3 score_6 = load_v3(score + j * 16 + i);
                        const vec_v3 score_new7 = score_6 + 1.0f;
                        store_v3(score + j * 16 + i, score_new7);
                        row_sum_in[vector] += score_new7;
                    }
                }
                UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += 8) {
                    add_v3(row_sum + i, row_sum_compensation + i, row_sum_in[vector], splat_v3(1));
                }
            }
            /* sum[e][i] += sum over j of v * score */
            dot1_v3(round_up(i1 - i0, 8), j1 - j0, v + j0 * v_row, v_row, score, sum, sum_compensation);
        }
    }
    {
        for (int64_t i_next = i0, i_block = i0, i_end = i1; i_next < i_end; i_next += 16) {
            const int64_t i0 = i_next, i1 = min(i0 + 16, i_end);
            float *const row_sum = all_row_sum + (i0 - i_block) / 16 * 16;
            float *const sum = all_sum + (i0 - i_block) / 16 * 1024;
            /* result = select(row_sum == 0.0f, 0.0f, sum / row_sum) */
            for (int64_t i = 0; i < i1 - i0; i += 8) {
                const vec_v3 row_sum_8 = load_v3(row_sum + i);
                const mask_v3 t_9 = row_sum_8 == 0.0f;
                for (int64_t e = 0; e < 64; e++) {
                    store_v3(result + e * 16 + i, pick_v3(t_9, splat_v3(0.0f), load_v3(sum + e * 16 + i) / row_sum_8));
                }
            }
            /* out = result, transposed back */
            transpose_out_v3(result, 16, 64, i1 - i0, out + i0 * out_row, out_row, 8);
        }
    }
}

/* Initialises the states: they contain no keys yet. */
TARGET_v3 APART void linear_taylor_begin_v3(const struct call *call, int64_t task, const struct part *part,
    int64_t iteration)
{
    (void)call;
    (void)task;
    const int64_t f0 = iteration * 32, f1 = min(f0 + 32, 65);
    float *const carried_sum = (float *)(void *)(part->shared + 0); /* [f: 72] */
    float *const carried_sum_compensation = (float *)(void *)(part->shared + 16960); /* [f: 72] */
    float *const carried = (float *)(void *)(part->shared + 320); /* [f: 65, e: 64] */
    float *const carried_compensation = (float *)(void *)(part->shared + 17280); /* [f: 65, e: 64] */
    /* carried_sum = 0.0f; carried_sum_compensation = 0.0f */
    for (int64_t f = f0; f < f1; f += 8) {
        store_v3(carried_sum + f, splat_v3(0.0f));
        store_v3(carried_sum_compensation + f, splat_v3(0.0f));
    }
    /* carried = 0.0f; carried_compensation = 0.0f */
    for (int64_t f = f0; f < f1; f++) {
        for (int64_t e_first = 0; e_first < 64; e_first += 16) {
            UNROLL for (int64_t vector = 0, e = e_first; vector < 2; vector++, e += 8) {
                store_v3(carried + f * 64 + e, splat_v3(0.0f));
                store_v3(carried_compensation + f * 64 + e, splat_v3(0.0f));
            }
        }
    }
}

/* Sums the keys of a chunk, from zero, into its slot. */
TARGET_v3 APART void linear_taylor_keys_v3(const struct call *call, int64_t task, const struct part *part,
    int64_t iteration)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t n_k = call->p.n_k;
    const int64_t chunk = iteration;
    const int64_t chunk0 = part->chunk0;
    const int64_t g = task % kv_heads;
    const int64_t b = task / kv_heads;
    const float *const k = call->k + b * call->p.k.batch + g / call->sharing * call->p.k.head;
    const int64_t k_row = call->p.k.row;
    const float *const v = call->v + b * call->p.v.batch + g * call->p.v.head;
    const int64_t v_row = call->p.v.row;
    float *const key_sum = (float *)(void *)(part->work + 0); /* [j: 144] */
    float *const key_features = (float *)(void *)(part->work + 0); /* [f: 65, j: 144] */
    float *const state_sum = (float *)(void *)(part->slots + 0); /* [chunk, f: 72] */
    float *const state = (float *)(void *)(part->slots + 320); /* [chunk, f: 65, e: 64] */
    float *const k_tile = (float *)(void *)(part->work + 37440); /* [d: 64, j: 144] */
    /* state_sum = 0.0f */
    for (int64_t f = 0; f < 65; f += 8) {
        store_v3(state_sum + (chunk - chunk0) * 4240 + f, splat_v3(0.0f));
    }
    /* state = 0.0f */
    for (int64_t f = 0; f < 65; f++) {
        for (int64_t e_first = 0; e_first < 64; e_first += 16) {
            UNROLL for (int64_t vector = 0, e = e_first; vector < 2; vector++, e += 8) {
                store_v3(state + (chunk - chunk0) * 4240 + f * 64 + e, splat_v3(0.0f));
            }
        }
    }
    for (int64_t j0 = chunk * 576, j_end = min(n_k, (chunk + 1) * 576); j0 < j_end; j0 += 144) {
        const int64_t j1 = min(j0 + 144, j_end);
        /* k_tile = k, with zeros beyond the last row */
        transpose_padded_v3(k + j0 * k_row, k_row, j1 - j0, 64, k_tile, 144, 64);
        /* key_sum = 0.0f */
        for (int64_t j = 0; j < j1 - j0; j += 8) {
            store_v3(key_sum + j, splat_v3(0.0f));
        }
        /* key_sum += k_tile * k_tile */
        for (int64_t j_first = 0; j_first < j1 - j0; j_first += 16) {
            vec_v3 key_sum_in[2];
            UNROLL for (int64_t vector = 0, j = j_first; vector < 2; vector++, j += 8) {
                key_sum_in[vector] = (vec_v3){0};
            }
            for (int64_t d = 0; d < 64; d++) {
                UNROLL for (int64_t vector = 0, j = j_first; vector < 2; vector++, j += 8) {
                    const vec_v3 k_tile_0 = load_v3(k_tile + d * 144 + j);
                    key_sum_in[vector] += k_tile_0 * k_tile_0;
                }
            }
            UNROLL for (int64_t vector = 0, j = j_first; vector < 2; vector++, j += 8) {
                store_v3(key_sum + j, load_v3(key_sum + j) + key_sum_in[vector]);
            }
        }
        /* k_tile = k_tile * select(key_sum == 0.0f, 0.0f, 1.0f / sqrt(key_sum)) */
        for (int64_t j = 0; j < j1 - j0; j += 8) {
            const vec_v3 key_sum_1 = load_v3(key_sum + j);
            const vec_v3 t_2 = pick_v3(key_sum_1 == 0.0f, splat_v3(0.0f), 1.0f / sqrt_v3(key_sum_1));
            for (int64_t d = 0; d < 64; d++) {
                store_v3(k_tile + d * 144 + j, load_v3(k_tile + d * 144 + j) * t_2);
            }
        }
        /* key_features = select(f < 64, k_tile, 1.0f) */
        for (int64_t f = 0; f < 65; f++) {
            for (int64_t j = 0; j < j1 - j0; j += 8) {
                store_v3(key_features + f * 144 + j, (f < 64) ? load_v3(k_tile + min(f,
                    63) * 144 + j) : splat_v3(1.0f));
            }
        }
        /* state_sum += key_features */
        for (int64_t f = 0; f < 65; f++) {
            vec_v3 lane_sums = splat_v3(0);
            for (int64_t j = 0; j < j1 - j0; j += 8) {
                const vec_v3 term = load_v3(key_features + f * 144 + j);
                lane_sums += j + 8 <= j1 - j0 ? term : pick_v3(__builtin_convertvector(j + lane_v3 < j1 - j0, mask_v3),
                    term, splat_v3(0));
            }
            const float total = lane_sum_v3(lane_sums);
            state_sum[(chunk - chunk0) * 4240 + f] += total;
        }
        /* state[f][e] += sum over j of key_features * v */
        dot2_v3(j1 - j0, key_features, v + j0 * v_row, v_row, state + (chunk - chunk0) * 4240);
    }
}

/* Folds the slots of the current chunks, in order, for some elements of the states. */
TARGET_v3 APART void linear_taylor_fold_v3(const struct call *call, int64_t task, const struct part *part,
    int64_t iteration)
{
    (void)call;
    (void)task;
    const int64_t f0 = iteration * 32, f1 = min(f0 + 32, 65);
    const int64_t chunk0 = part->chunk0;
    const int64_t chunk1 = part->chunk1;
    float *const state_sum = (float *)(void *)(part->slots + 0); /* [chunk, f: 72] */
    float *const state = (float *)(void *)(part->slots + 320); /* [chunk, f: 65, e: 64] */
    float *const carried_sum = (float *)(void *)(part->shared + 0); /* [f: 72] */
    float *const carried_sum_compensation = (float *)(void *)(part->shared + 16960); /* [f: 72] */
    float *const carried = (float *)(void *)(part->shared + 320); /* [f: 65, e: 64] */
    float *const carried_compensation = (float *)(void *)(part->shared + 17280); /* [f: 65, e: 64] */
    for (int64_t chunk = chunk0; chunk < chunk1; chunk++) {
        /* before_sum = carried_sum; carried_sum += state_sum */
        for (int64_t f = f0; f < f1; f += 8) {
            add_v3(carried_sum + f, carried_sum_compensation + f, load_v3(state_sum + (chunk - chunk0) * 4240 + f),
                splat_v3(1));
        }
        /* before = carried; carried += state */
        for (int64_t f = f0; f < f1; f++) {
            for (int64_t e_first = 0; e_first < 64; e_first += 16) {
                UNROLL for (int64_t vector = 0, e = e_first; vector < 2; vector++, e += 8) {
                    add_v3(carried + f * 64 + e, carried_compensation + f * 64 + e,
                        load_v3(state + (chunk - chunk0) * 4240 + f * 64 + e), splat_v3(1));
                }
            }
        }
    }
}

/* Processes a tile of queries: reads the states. */
TARGET_v3 APART void linear_taylor_queries_v3(const struct call *call, int64_t task, const struct part *part,
    int64_t iteration)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_q = call->p.n_q;
    const int64_t tiles = (n_q + 256 - 1) / 256, i0 = (tiles - 1 - iteration % tiles) * 256,
        i1 = min(i0 + 256, n_q);
    const int64_t m = iteration / tiles;
    const int64_t g = task % kv_heads;
    const int64_t b = task / kv_heads;
    const float *const q = call->q + b * call->p.q.batch + (g / call->sharing * members + m) * call->p.q.head;
    const int64_t q_row = call->p.q.row;
    float *const carried_sum = (float *)(void *)(part->shared + 0); /* [f: 72] */
    float *const carried = (float *)(void *)(part->shared + 320); /* [f: 65, e: 64] */
    float *const query_sum = (float *)(void *)(part->work + 0); /* [i: 256] */
    float *const query_2 = (float *)(void *)(part->work + 0); /* [f: 65, i: 256 of 272] */
    float *const row_sum_from_state = (float *)(void *)(part->work + 70720); /* [i: 256] */
    float *const sum_from_state = (float *)(void *)(part->work + 71744); /* [e: 64, i: 256 of 272] */
    float *const out = call->out + b * call->p.out.batch + (g * members + m) * call->p.out.head;
    const int64_t out_row = call->p.out.row;
    float *const q_tile = (float *)(void *)(part->work + 71744); /* [d: 64, i: 256 of 272] */
    /* q_tile = q, with zeros beyond the last row */
    transpose_padded_v3(q + i0 * q_row, q_row, i1 - i0, 64, q_tile, 272, 8);
    /* query_sum = 0.0f */
    for (int64_t i = 0; i < i1 - i0; i += 8) {
        store_v3(query_sum + i, splat_v3(0.0f));
    }
    /* query_sum += q_tile * q_tile */
    for (int64_t i_first = 0; i_first < i1 - i0; i_first += 16) {
        vec_v3 query_sum_in[2];
        UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += 8) {
            query_sum_in[vector] = (vec_v3){0};
        }
        for (int64_t d = 0; d < 64; d++) {
            UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += 8) {
                const vec_v3 q_tile_3 = load_v3(q_tile + d * 272 + i);
                query_sum_in[vector] += q_tile_3 * q_tile_3;
            }
        }
        UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += 8) {
            store_v3(query_sum + i, load_v3(query_sum + i) + query_sum_in[vector]);
        }
    }
    /* q_tile = q_tile * select(query_sum == 0.0f, 0.0f, 1.0f / sqrt(query_sum)) */
    for (int64_t i = 0; i < i1 - i0; i += 8) {
        const vec_v3 query_sum_4 = load_v3(query_sum + i);
        const vec_v3 t_5 = pick_v3(query_sum_4 == 0.0f, splat_v3(0.0f), 1.0f / sqrt_v3(query_sum_4));
        for (int64_t d = 0; d < 64; d++) {
            store_v3(q_tile + d * 272 + i, load_v3(q_tile + d * 272 + i) * t_5);
        }
    }
    /* row_sum_from_state = 0.0f */
    for (int64_t i = 0; i < i1 - i0; i += 8) {
        store_v3(row_sum_from_state + i, splat_v3(0.0f));
    }
    /* query_2 = select(f < 64, q_tile, 1.0f); row_sum_from_state += query_2 * carried_sum */
    for (int64_t i_first = 0; i_first < i1 - i0; i_first += 16) {
        vec_v3 row_sum_from_state_in[2], row_sum_from_state_in_whole[2];
        UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += 8) {
            row_sum_from_state_in[vector] = (vec_v3){0};
            row_sum_from_state_in_whole[vector] = (vec_v3){0};
        }
        for (int64_t f = 0; f < 65; f++) {
            UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += 8) {
                const vec_v3 query_2_new6 = (f < 64) ? load_v3(q_tile + min(f, 63) * 272 + i) : splat_v3(1.0f);
                store_v3(query_2 + f * 272 + i, query_2_new6);
                row_sum_from_state_in[vector] += query_2_new6 * carried_sum[f];
                if (f % 32 == 31) {
                    row_sum_from_state_in_whole[vector] += row_sum_from_state_in[vector];
                    row_sum_from_state_in[vector] = (vec_v3){0};
                }
            }
        }
        UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += 8) {
            row_sum_from_state_in[vector] += row_sum_from_state_in_whole[vector];
            store_v3(row_sum_from_state + i, load_v3(row_sum_from_state + i) + row_sum_from_state_in[vector]);
        }
    }
    /* sum_from_state[e][i] = sum over f of carried * query_2 */
    dot3_v3(round_up(i1 - i0, 8), carried, query_2, sum_from_state);
    /* sum_from_state = select(row_sum_from_state == 0.0f, 0.0f, sum_from_state / row_sum_from_state) */
    for (int64_t i = 0; i < i1 - i0; i += 8) {
        const vec_v3 row_sum_from_state_7 = load_v3(row_sum_from_state + i);
        const mask_v3 t_8 = row_sum_from_state_7 == 0.0f;
        for (int64_t e = 0; e < 64; e++) {
            store_v3(sum_from_state + e * 272 + i, pick_v3(t_8, splat_v3(0.0f),
                load_v3(sum_from_state + e * 272 + i) / row_sum_from_state_7));
        }
    }
    /* out = sum_from_state, transposed back */
    transpose_out_v3(sum_from_state, 272, 64, i1 - i0, out + i0 * out_row, out_row, 8);
}

/* Computes head number `task`. Each thread on the head calls this with its share, `part`. */
TARGET_v3 static void linear_taylor_linear_v3(const struct call *call, int64_t task, struct part *part)
{
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_q = call->p.n_q;
    const int64_t n_k = call->p.n_k;
    const int64_t chunks = n_k > 0 ? (n_k - 1) / 576 + 1 : 1;
    for (int64_t iteration = part->number; iteration < ((65 + 31) / 32); iteration += part->threads)
        linear_taylor_begin_v3(call, task, part, iteration);
    synchronise(part);
    const int64_t first = 0;
    const int64_t length = segment_length(part, chunks - first);
    for (int64_t segment = part->number; first + segment * length < chunks; segment += part->threads) {
        part->chunk0 = first + segment * length;
        part->chunk1 = min(part->chunk0 + length, chunks);
        for (int64_t iteration = part->chunk0; iteration < part->chunk1; iteration++)
            linear_taylor_keys_v3(call, task, part, iteration);
        for (int64_t group = 0; group < 16; group++) {
            await_segment(part, group, segment);
            const int64_t end = (group + 1) * ((65 + 31) / 32) / 16;
            for (int64_t iteration = group * ((65 + 31) / 32) / 16; iteration < end; iteration++)
                linear_taylor_fold_v3(call, task, part, iteration);
            pass_segment(part, group, segment);
        }
    }
    part->segments += (max(chunks - first, 0) + length - 1) / length;
    synchronise(part);
    for (int64_t iteration = part->number; iteration < members * ((n_q + 255) / 256); iteration += part->threads)
        linear_taylor_queries_v3(call, task, part, iteration);
    synchronise(part);
}

/* Initialises the states: they contain no keys yet. */
TARGET_v3 APART void linear_taylor_few_begin_v3(const struct call *call, int64_t task, const struct part *part,
    int64_t iteration)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_q = call->p.n_q;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t r0 = iteration * 64, r1 = min(r0 + 64, rows);
    const int64_t g = task % kv_heads;
    const int64_t b = task / kv_heads;
    const float *const q = call->q + b * call->p.q.batch + g / call->sharing * members * call->p.q.head;
    const int64_t q_row = call->p.q.row;
    const int64_t q_head = call->p.q.head;
    float *const query_sum = (float *)(void *)(part->shared + 0); /* [r: 64] */
    float *const query = (float *)(void *)(part->shared + 256); /* [d: 64, r: 64] */
    float *const q_tile = (float *)(void *)(part->work + 0); /* [d: 64, r: 64 of 80] */
    /* q_tile = q, with zeros beyond the last row */
    for (int64_t r = r0; r < r0 + round_up(r1 - r0, 8); r++)
        for (int64_t d = 0; d < 64; d++)
            q_tile[d * 80 + r] = r < r1 ? q[r / n_q * q_head + r % n_q * q_row + d] : 0;
    /* query_sum = 0.0f */
    for (int64_t r = r0; r < r1; r += 8) {
        store_v3(query_sum + r, splat_v3(0.0f));
    }
    /* query_sum += q_tile * q_tile */
    for (int64_t r = r0; r < r1; r += 8) {
        vec_v3 query_sum_in = (vec_v3){0};
        for (int64_t d = 0; d < 64; d++) {
            const vec_v3 q_tile_0 = load_v3(q_tile + d * 80 + r);
            query_sum_in += q_tile_0 * q_tile_0;
        }
        store_v3(query_sum + r, load_v3(query_sum + r) + query_sum_in);
    }
    /* query = q_tile * select(query_sum == 0.0f, 0.0f, 1.0f / sqrt(query_sum)) */
    for (int64_t r = r0; r < r1; r += 8) {
        const vec_v3 query_sum_1 = load_v3(query_sum + r);
        const vec_v3 t_2 = pick_v3(query_sum_1 == 0.0f, splat_v3(0.0f), 1.0f / sqrt_v3(query_sum_1));
        for (int64_t d = 0; d < 64; d++) {
            store_v3(query + d * 64 + r, load_v3(q_tile + d * 80 + r) * t_2);
        }
    }
}

/* Initialises the states: they contain no keys yet. */
TARGET_v3 APART void linear_taylor_few_begin_2_v3(const struct call *call, int64_t task, const struct part *part,
    int64_t iteration)
{
    (void)task;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t r0 = iteration * 16, r1 = min(r0 + 16, rows);
    float *const carried_sum = (float *)(void *)(part->shared + 16640); /* [r: 64] */
    float *const carried_sum_compensation = (float *)(void *)(part->shared + 33280); /* [r: 64] */
    float *const carried = (float *)(void *)(part->shared + 16896); /* [r: 64, e: 64] */
    float *const carried_compensation = (float *)(void *)(part->shared + 33536); /* [r: 64, e: 64] */
    /* carried_sum = 0.0f; carried_sum_compensation = 0.0f */
    for (int64_t r = r0; r < r1; r += 8) {
        store_v3(carried_sum + r, splat_v3(0.0f));
        store_v3(carried_sum_compensation + r, splat_v3(0.0f));
    }
    /* carried = 0.0f; carried_compensation = 0.0f */
    for (int64_t r = r0; r < r1; r++) {
        for (int64_t e_first = 0; e_first < 64; e_first += 16) {
            UNROLL for (int64_t vector = 0, e = e_first; vector < 2; vector++, e += 8) {
                store_v3(carried + r * 64 + e, splat_v3(0.0f));
                store_v3(carried_compensation + r * 64 + e, splat_v3(0.0f));
            }
        }
    }
}

/* Sums the keys of a chunk, from zero, into its slot. */
TARGET_v3 APART void linear_taylor_few_keys_v3(const struct call *call, int64_t task, const struct part *part,
    int64_t iteration)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t n_k = call->p.n_k;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t chunk = iteration;
    const int64_t chunk0 = part->chunk0;
    const int64_t g = task % kv_heads;
    const int64_t b = task / kv_heads;
    const float *const k = call->k + b * call->p.k.batch + g / call->sharing * call->p.k.head;
    const int64_t k_row = call->p.k.row;
    const float *const v = call->v + b * call->p.v.batch + g * call->p.v.head;
    const int64_t v_row = call->p.v.row;
    float *const query = (float *)(void *)(part->shared + 256); /* [d: 64, r: 64] */
    float *const key_sum = (float *)(void *)(part->work + 0); /* [j: 128] */
    float *const score = (float *)(void *)(part->work + 0); /* [r: 64, j: 128 of 144] */
    float *const state_sum = (float *)(void *)(part->slots + 0); /* [chunk, r: 64] */
    float *const state = (float *)(void *)(part->slots + 256); /* [chunk, r: 64, e: 64] */
    float *const k_tile = (float *)(void *)(part->work + 36864); /* [d: 64, j: 128 of 144] */
    /* state_sum = 0.0f */
    for (int64_t r = 0; r < rows; r += 8) {
        store_v3(state_sum + (chunk - chunk0) * 4160 + r, splat_v3(0.0f));
    }
    /* state = 0.0f */
    for (int64_t r = 0; r < rows; r++) {
        for (int64_t e_first = 0; e_first < 64; e_first += 16) {
            UNROLL for (int64_t vector = 0, e = e_first; vector < 2; vector++, e += 8) {
                store_v3(state + (chunk - chunk0) * 4160 + r * 64 + e, splat_v3(0.0f));
            }
        }
    }
    for (int64_t j0 = chunk * 1024, j_end = min(n_k, (chunk + 1) * 1024); j0 < j_end; j0 += 128) {
        const int64_t j1 = min(j0 + 128, j_end);
        /* k_tile = k, with zeros beyond the last row */
        transpose_padded_v3(k + j0 * k_row, k_row, j1 - j0, 64, k_tile, 144, 64);
        /* key_sum = 0.0f */
        for (int64_t j = 0; j < j1 - j0; j += 8) {
            store_v3(key_sum + j, splat_v3(0.0f));
        }
        /* key_sum += k_tile * k_tile */
        for (int64_t j_first = 0; j_first < j1 - j0; j_first += 16) {
            vec_v3 key_sum_in[2];
            UNROLL for (int64_t vector = 0, j = j_first; vector < 2; vector++, j += 8) {
                key_sum_in[vector] = (vec_v3){0};
            }
            for (int64_t d = 0; d < 64; d++) {
                UNROLL for (int64_t vector = 0, j = j_first; vector < 2; vector++, j += 8) {
                    const vec_v3 k_tile_3 = load_v3(k_tile + d * 144 + j);
                    key_sum_in[vector] += k_tile_3 * k_tile_3;
                }
            }
            UNROLL for (int64_t vector = 0, j = j_first; vector < 2; vector++, j += 8) {
                store_v3(key_sum + j, load_v3(key_sum + j) + key_sum_in[vector]);
            }
        }
        /* k_tile = k_tile * select(key_sum == 0.0f, 0.0f, 1.0f / sqrt(key_sum)) */
        for (int64_t j = 0; j < j1 - j0; j += 8) {
            const vec_v3 key_sum_4 = load_v3(key_sum + j);
            const vec_v3 t_5 = pick_v3(key_sum_4 == 0.0f, splat_v3(0.0f), 1.0f / sqrt_v3(key_sum_4));
            for (int64_t d = 0; d < 64; d++) {
                store_v3(k_tile + d * 144 + j, load_v3(k_tile + d * 144 + j) * t_5);
            }
        }
        /* score[r][j] = sum over d of query * k_tile */
        dot4_v3(round_up(j1 - j0, 8), rows, query, k_tile, score);
        /* score = score + 1.0f */
        for (int64_t r = 0; r < rows; r++) {
            for (int64_t j = 0; j < j1 - j0; j += 8) {
                store_v3(score + r * 144 + j, load_v3(score + r * 144 + j) + 1.0f);
            }
        }
        /* state_sum += score */
        for (int64_t r = 0; r < rows; r++) {
            vec_v3 lane_sums = splat_v3(0);
            for (int64_t j = 0; j < j1 - j0; j += 8) {
                const vec_v3 term = load_v3(score + r * 144 + j);
                lane_sums += j + 8 <= j1 - j0 ? term : pick_v3(__builtin_convertvector(j + lane_v3 < j1 - j0, mask_v3),
                    term, splat_v3(0));
            }
            const float total = lane_sum_v3(lane_sums);
            state_sum[(chunk - chunk0) * 4160 + r] += total;
        }
        /* state[r][e] += sum over j of score * v */
        dot5_v3(rows, j1 - j0, score, v + j0 * v_row, v_row, state + (chunk - chunk0) * 4160);
    }
}

/* Folds the slots of the current chunks, in order, for some elements of the states. */
TARGET_v3 APART void linear_taylor_few_fold_v3(const struct call *call, int64_t task, const struct part *part,
    int64_t iteration)
{
    (void)task;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t r0 = iteration * 16, r1 = min(r0 + 16, rows);
    const int64_t chunk0 = part->chunk0;
    const int64_t chunk1 = part->chunk1;
    float *const state_sum = (float *)(void *)(part->slots + 0); /* [chunk, r: 64] */
    float *const state = (float *)(void *)(part->slots + 256); /* [chunk, r: 64, e: 64] */
    float *const carried_sum = (float *)(void *)(part->shared + 16640); /* [r: 64] */
    float *const carried_sum_compensation = (float *)(void *)(part->shared + 33280); /* [r: 64] */
    float *const carried = (float *)(void *)(part->shared + 16896); /* [r: 64, e: 64] */
    float *const carried_compensation = (float *)(void *)(part->shared + 33536); /* [r: 64, e: 64] */
    for (int64_t chunk = chunk0; chunk < chunk1; chunk++) {
        /* before_sum = carried_sum; carried_sum += state_sum */
        for (int64_t r = r0; r < r1; r += 8) {
            add_v3(carried_sum + r, carried_sum_compensation + r, load_v3(state_sum + (chunk - chunk0) * 4160 + r),
                splat_v3(1));
        }
        /* before = carried; carried += state */
        for (int64_t r = r0; r < r1; r++) {
            for (int64_t e_first = 0; e_first < 64; e_first += 16) {
                UNROLL for (int64_t vector = 0, e = e_first; vector < 2; vector++, e += 8) {
                    add_v3(carried + r * 64 + e, carried_compensation + r * 64 + e,
                        load_v3(state + (chunk - chunk0) * 4160 + r * 64 + e), splat_v3(1));
                }
            }
        }
    }
}

/* Processes a tile of queries: reads the states. */
TARGET_v3 APART void linear_taylor_few_queries_v3(const struct call *call, int64_t task, const struct part *part,
    int64_t iteration)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_q = call->p.n_q;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t r0 = iteration * 16, r1 = min(r0 + 16, rows);
    const int64_t g = task % kv_heads;
    const int64_t b = task / kv_heads;
    float *const carried_sum = (float *)(void *)(part->shared + 16640); /* [r: 64] */
    float *const carried = (float *)(void *)(part->shared + 16896); /* [r: 64, e: 64] */
    float *const result = (float *)(void *)(part->work + 0); /* [r: 64, e: 64] */
    float *const out = call->out + b * call->p.out.batch + g * members * call->p.out.head;
    const int64_t out_row = call->p.out.row;
    const int64_t out_head = call->p.out.head;
    /* result = select(carried_sum == 0.0f, 0.0f, carried / carried_sum) */
    for (int64_t r = r0; r < r1; r++) {
        for (int64_t e_first = 0; e_first < 64; e_first += 16) {
            UNROLL for (int64_t vector = 0, e = e_first; vector < 2; vector++, e += 8) {
                const float carried_sum_6 = carried_sum[r];
                store_v3(result + r * 64 + e, (carried_sum_6 == 0.0f) ? splat_v3(0.0f) : load_v3(carried + r * 64 + e) /
                    carried_sum_6);
            }
        }
    }
    /* out = result */
    for (int64_t r = r0; r < r1; r++)
        for (int64_t e = 0; e < 64; e++)
            out[r / n_q * out_head + r % n_q * out_row + e] = result[r * 64 + e];
}

/* Computes head number `task`. Each thread on the head calls this with its share, `part`. */
TARGET_v3 static void linear_taylor_few_v3(const struct call *call, int64_t task, struct part *part)
{
    const int64_t n_k = call->p.n_k;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t chunks = n_k > 0 ? (n_k - 1) / 1024 + 1 : 1;
    for (int64_t iteration = part->number; iteration < ((rows + 63) / 64); iteration += part->threads)
        linear_taylor_few_begin_v3(call, task, part, iteration);
    for (int64_t iteration = part->number; iteration < ((rows + 15) / 16); iteration += part->threads)
        linear_taylor_few_begin_2_v3(call, task, part, iteration);
    synchronise(part);
    const int64_t first = 0;
    const int64_t length = segment_length(part, chunks - first);
    for (int64_t segment = part->number; first + segment * length < chunks; segment += part->threads) {
        part->chunk0 = first + segment * length;
        part->chunk1 = min(part->chunk0 + length, chunks);
        for (int64_t iteration = part->chunk0; iteration < part->chunk1; iteration++)
            linear_taylor_few_keys_v3(call, task, part, iteration);
        for (int64_t group = 0; group < 16; group++) {
            await_segment(part, group, segment);
            const int64_t end = (group + 1) * ((rows + 15) / 16) / 16;
            for (int64_t iteration = group * ((rows + 15) / 16) / 16; iteration < end; iteration++)
                linear_taylor_few_fold_v3(call, task, part, iteration);
            pass_segment(part, group, segment);
        }
    }
    part->segments += (max(chunks - first, 0) + length - 1) / length;
    synchronise(part);
    for (int64_t iteration = part->number; iteration < ((rows + 15) / 16); iteration += part->threads)
        linear_taylor_few_queries_v3(call, task, part, iteration);
    synchronise(part);
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

/* Returns the sum over the lanes of x. */
INLINE float lane_sum_any(vec_any x)
{
    x += __builtin_shufflevector(x, x, 2, 3, 0, 1);
    x += __builtin_shufflevector(x, x, 1, 0, 3, 2);
    return x[0];
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
/* *sum = *sum * factor + x per lane, with compensated summation (Kahan). *compensation is the rounding error, which
   the next call adds. */
INLINE void add_any(float *sum, float *compensation, vec_any x, vec_any factor)
{
    const vec_any old = load_any(sum) * factor, more = load_any(compensation) * factor + x, new = old + more;
    store_any(compensation, more - (new - old));
    store_any(sum, new);
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
    const float *factor, float *compensation)
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
            if (update == 3) {
                add_any(to, compensation + r * c_row + v * 4, sum[r][v], times);
                continue;
            }
            store_any(to, update == 0 ? sum[r][v]
                : update == 1 ? load_any(to) + sum[r][v] : load_any(to) * times + sum[r][v]);
        }
    }
}

/* Like block_any, but if `update` is 0 and the sum is long, it adds `span` terms at a time. Each span is summed
   separately, which reduces rounding errors. */
INLINE void parts_any(const int rows, const int vectors, int64_t steps, const int64_t span, const float *a,
    int64_t a_row, int64_t a_step, const float *b, int64_t b_step, float *c, int64_t c_row, const int update,
    const float *factor, float *compensation)
{
    const int64_t first = update == 0 && steps > 2 * span ? span : steps;
    block_any(rows, vectors, first, a, a_row, a_step, b, b_step, c, c_row, update,
        factor, compensation);
    if (update == 0)
        for (int64_t t = first; t < steps; t += span)
            block_any(rows, vectors, min(span, steps - t), a + t * a_step, a_row, a_step, b + t * b_step, b_step, c,
                c_row, 1, NULL, NULL);
}

/* Like parts_any, for any number of rows. `lanes` is a multiple of 4 * vectors. `tail` is rows % 6 if this is a
   constant, otherwise -1. */
INLINE void blocks_any(const int vectors, const int64_t lanes, int64_t rows, const int tail, int64_t steps,
    const int64_t span, const float *a, int64_t a_row, int64_t a_step, const float *b, int64_t b_step, float *c,
        int64_t c_row,
    const int update, const float *factor, float *compensation)
{
    for (int64_t x = 0; x < lanes; x += vectors * 4) {
        const float *const f = factor ? factor + x : NULL;
        float *const left = compensation ? compensation + x : NULL;
        int64_t r = 0;
        for (; r + 6 <= rows; r += 6)
            parts_any(6, vectors, steps, span, a + r * a_row, a_row, a_step, b + x, b_step,
                c + r * c_row + x, c_row, update, f, left ? left + r * c_row : NULL);
        switch (tail >= 0 ? tail : rows - r) {
        case 5: parts_any(5, vectors, steps, span, a + r * a_row, a_row, a_step, b + x, b_step, c + r * c_row + x,
            c_row, update, f, left ? left + r * c_row : NULL); break;
        case 4: parts_any(4, vectors, steps, span, a + r * a_row, a_row, a_step, b + x, b_step, c + r * c_row + x,
            c_row, update, f, left ? left + r * c_row : NULL); break;
        case 3: parts_any(3, vectors, steps, span, a + r * a_row, a_row, a_step, b + x, b_step, c + r * c_row + x,
            c_row, update, f, left ? left + r * c_row : NULL); break;
        case 2: parts_any(2, vectors, steps, span, a + r * a_row, a_row, a_step, b + x, b_step, c + r * c_row + x,
            c_row, update, f, left ? left + r * c_row : NULL); break;
        case 1: parts_any(1, vectors, steps, span, a + r * a_row, a_row, a_step, b + x, b_step, c + r * c_row + x,
            c_row, update, f, left ? left + r * c_row : NULL); break;
        }
    }
}

/* Like block_any, for any number of rows and vectors. It computes one vector at a time. */
APART void narrow_any(int64_t lanes, int64_t rows, int64_t steps, int64_t span, const float *a, int64_t a_row,
    int64_t a_step, const float *b, int64_t b_step, float *c, int64_t c_row, int update,
    const float *factor, float *compensation)
{
    const int64_t most = update == 0 && steps > 2 * span ? span : steps;
    for (int64_t t = 0; t < steps; t += most) {
        const int64_t some = min(most, steps - t);
        const float *const from = a + t * a_step;
        const int now = t > 0 ? 1 : update;
        for (int64_t x = 0; x < lanes; x += 4) {
            const float *const f = factor ? factor + x : NULL;
            float *const left = compensation ? compensation + x : NULL;
            int64_t r = 0;
            for (; r < rows; r += 6)
                switch (min(rows - r, 6)) {
        default: block_any(6, 1, some, from + r * a_row, a_row, a_step, b + t * b_step + x, b_step,
            c + r * c_row + x, c_row, now, f, left ? left + r * c_row : NULL); break;
        case 5: block_any(5, 1, some, from + r * a_row, a_row, a_step, b + t * b_step + x, b_step, c + r * c_row + x,
            c_row, now, f, left ? left + r * c_row : NULL); break;
        case 4: block_any(4, 1, some, from + r * a_row, a_row, a_step, b + t * b_step + x, b_step, c + r * c_row + x,
            c_row, now, f, left ? left + r * c_row : NULL); break;
        case 3: block_any(3, 1, some, from + r * a_row, a_row, a_step, b + t * b_step + x, b_step, c + r * c_row + x,
            c_row, now, f, left ? left + r * c_row : NULL); break;
        case 2: block_any(2, 1, some, from + r * a_row, a_row, a_step, b + t * b_step + x, b_step, c + r * c_row + x,
            c_row, now, f, left ? left + r * c_row : NULL); break;
        case 1: block_any(1, 1, some, from + r * a_row, a_row, a_step, b + t * b_step + x, b_step, c + r * c_row + x,
            c_row, now, f, left ? left + r * c_row : NULL); break;
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
    const int update, const float *factor, float *compensation)
{
    const int64_t x = lanes_in_blocks_any(vectors, lanes);
    blocks_any(vectors, x, rows, tail, steps, span, a, a_row, a_step, b, b_step, c, c_row, update,
        factor, compensation);
    if (x < lanes)
        narrow_any(lanes - x, rows, steps, span, a, a_row, a_step, b + x, b_step, c + x, c_row,
            update, factor ? factor + x : NULL, compensation ? compensation + x : NULL);
}

/* Returns the elements x … x + 4 - 1 of a row before they are multiplied by a scale. x is a multiple of 4. */
INLINE vec_any unscaled_any(const float *row, int64_t x)
{
    return load_any(row + x);
}

/* Returns the elements x … x + 4 - 1 of a row. */
INLINE vec_any widened_any(const float *row, int64_t x)
{
    return unscaled_any(row, x);
}

/* Returns the size of a row of `elements` elements, in units of float. */
INLINE int64_t units_any(int64_t elements)
{
    return elements;
}

/* Returns the row that comes `distance` rows after the first of the `rest` rows at b. The rows at `next` come after
   these. NULL: the rows that follow in memory. */
INLINE const float *ahead_any(const float *b, int64_t b_row, int64_t distance, int64_t rest, const float *next)
{
    return next && distance >= rest ? next + (distance - rest) * b_row : b + distance * b_row;
}

/* Prefetches `rows` rows of b, `width` elements of each. */
INLINE void fetch_any(int64_t rows, const int64_t width, const float *b, int64_t b_row)
{
    for (int64_t r = 0; r < rows; r++)
        UNROLL for (int64_t x = 0; x < units_any(width); x += 64 / (int64_t)sizeof *b)
            __builtin_prefetch(b + r * b_row + x, 0, 2);
}

/* c[x] += sum over t of a[t] * b[t][x] for up to 16 vectors of lanes, from x = first on. Terms are rounded and
   added as for several rows. For b with scales, one for `block` elements:
   - a has been multiplied by them: a[t][x / block] * unscaled b[t][x]
   - the scales of the rows 16 later are copied to `next`, for `later` rows */
INLINE void row_any(const int vectors, int64_t first, int64_t steps, const float *a, int64_t a_step,
    const float *b, int64_t b_step, const int64_t lanes, const int64_t block, float *c
, const float *ahead)
{
    vec_any sum[16];
    (void)lanes;
    UNROLL for (int v = 0; v < vectors; v++) sum[v] = (vec_any){0};
    (void)block;
    for (int64_t t = 0; t < steps; t++, b += b_step) {
        if (ahead && first == 0) fetch_any(1, lanes, ahead + t * b_step, b_step);
        UNROLL for (int v = 0; v < vectors; v++) sum[v] += a[t * a_step] * widened_any(b, first + v * 4);
    }
    UNROLL for (int v = 0; v < vectors; v++) store_any(c + first + v * 4, load_any(c + first + v * 4) + sum[v]);
}

/* Like dot_any, but b is in memory and is prefetched as in dot_along_any. It is read 16 rows at a time. Narrow
   elements are widened once for all rows. If a has one row, b is read 64 lanes at a time. */
INLINE void dot_fetched_any(const int vectors, const int64_t lanes, int64_t rows, const int tail, int64_t steps,
    const int64_t span, const float *a, int64_t a_row, int64_t a_step, const float *b, int64_t b_step, float *c,
    int64_t c_row, const int update, const float *factor, float *compensation, const int64_t early)
{
    for (int64_t t = 0; t < steps; t += 16, a += 16 * a_step, b += 16 * b_step) {
        const int64_t some = min(steps - t, 16);
        const float *const ahead = ahead_any(b, b_step, rows == 1 ? early : 64, steps - t, NULL);
        (void)ahead;
        const int64_t block = lanes;
        if (rows == 1 && update == 1) {
            const float *const factor_of_row = a;
            const int64_t step = a_step;
            int64_t x = 0;
            for (; x + 64 <= lanes; x += 64)
                row_any(16, x, some, factor_of_row, step, b, b_step, lanes, block,
                    c, early ? ahead : NULL);
            if (lanes % 64)
                row_any((int)(lanes % 64 / 4), x, some, factor_of_row, step, b, b_step, lanes, block,
                    c, early ? ahead : NULL);
            continue;
        }
        const float *const from = b;
        const int64_t from_step = b_step;
        for (int64_t x = 0, asked = 0; x < lanes; x += vectors * 4) {
            /* A core can have few cache misses in flight, so few rows are prefetched at a time. */
            const int64_t ask = 16 * (x + vectors * 4) / lanes;
            fetch_any(ask - asked, lanes, ahead + asked * b_step, b_step);
            asked = ask;
            dot_any(vectors, vectors * 4, rows, tail, some, span, a, a_row, a_step, from + x, from_step, c + x,
                c_row, update, factor ? factor + x : NULL, compensation ? compensation + x : NULL);
        }
    }
}

/* The functions for the products below. Each calls dot_any or a similar function with constants. */
APART void dot0_any(int64_t lanes, int64_t rows, const float *a, const float *b, float *c)
{
    dot_any(/*vectors=*/2, lanes, rows, /*tail=*/-1, /*steps=*/64, /*span=*/32, a, /*a_row=*/1, /*a_step=*/96, b,
        /*b_step=*/16, c, /*c_row=*/16, /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL);
}
APART void dot1_any(int64_t lanes, int64_t steps, const float *a, int64_t a_step, const float *b, float *c,
    float *compensation)
{
    dot_any(/*vectors=*/2, lanes, /*rows=*/64, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/1, a_step, b,
        /*b_step=*/16, c, /*c_row=*/16, /*update=*/3, /*factor=*/NULL, compensation);
}
APART void dot2_any(int64_t steps, const float *a, const float *b, int64_t b_step, float *c)
{
    dot_any(/*vectors=*/2, /*lanes=*/64, /*rows=*/65, /*tail=*/5, steps, /*span=*/192, a, /*a_row=*/144, /*a_step=*/1,
        b, b_step, c, /*c_row=*/64, /*update=*/1, /*factor=*/NULL, /*compensation=*/NULL);
}
APART void dot3_any(int64_t lanes, const float *a, const float *b, float *c)
{
    dot_any(/*vectors=*/2, lanes, /*rows=*/64, /*tail=*/4, /*steps=*/65, /*span=*/32, a, /*a_row=*/1, /*a_step=*/64, b,
        /*b_step=*/144, c, /*c_row=*/144, /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL);
}
APART void dot4_any(int64_t lanes, int64_t rows, const float *a, const float *b, float *c)
{
    dot_any(/*vectors=*/2, lanes, rows, /*tail=*/-1, /*steps=*/64, /*span=*/32, a, /*a_row=*/1, /*a_step=*/64, b,
        /*b_step=*/144, c, /*c_row=*/144, /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL);
}
APART void dot5_any(int64_t rows, int64_t steps, const float *a, const float *b, int64_t b_step, float *c)
{
    dot_fetched_any(/*vectors=*/2, /*lanes=*/64, rows, /*tail=*/-1, steps, /*span=*/192, a, /*a_row=*/144, /*a_step=*/1,
        b, b_step, c, /*c_row=*/64, /*update=*/1, /*factor=*/NULL, /*compensation=*/NULL, /*early=*/64);
}

/* Computes task number `task`: one tile of queries of one head. `work` is this thread's workspace. */
static void linear_taylor_rows_any(const struct call *call, int64_t task, unsigned char *work)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_q = call->p.n_q;
    const int64_t n_k = call->p.n_k;
    const int64_t tiles = (n_q + 128 - 1) / 128, i0 = (tiles - 1 - task % tiles) * 128,
        i1 = min(i0 + 128, n_q);
    const int64_t m = task / tiles % members;
    const int64_t g = task / tiles / members % kv_heads;
    const int64_t b = task / tiles / members / kv_heads;
    const float *const q = call->q + b * call->p.q.batch + (g / call->sharing * members + m) * call->p.q.head;
    const int64_t q_row = call->p.q.row;
    const float *const k = call->k + b * call->p.k.batch + g / call->sharing * call->p.k.head;
    const int64_t k_row = call->p.k.row;
    const float *const v = call->v + b * call->p.v.batch + g * call->p.v.head;
    const int64_t v_row = call->p.v.row;
    float *const query_sum = (float *)(void *)(work + 0); /* [i: 16] */
    float *const all_query = (float *)(void *)(work + 64); /* [d: 64, i: 16, 8 times] */
    float *const key_sum = (float *)(void *)(work + 32832); /* [j: 96] */
    float *const score = (float *)(void *)(work + 32832); /* [j: 96, i: 16] */
    float *const all_row_sum = (float *)(void *)(work + 38976); /* [i: 16, 8 times] */
    float *const all_row_sum_compensation = (float *)(void *)(work + 39488); /* [i: 16, 8 times] */
    float *const all_sum = (float *)(void *)(work + 40000); /* [e: 64, i: 16, 8 times] */
    float *const all_sum_compensation = (float *)(void *)(work + 72768); /* [e: 64, i: 16, 8 times] */
    float *const result = (float *)(void *)(work + 0); /* [e: 64, i: 16] */
    float *const out = call->out + b * call->p.out.batch + (g * members + m) * call->p.out.head;
    const int64_t out_row = call->p.out.row;
    float *const q_tile = (float *)(void *)(work + 32832); /* [d: 64, i: 16] */
    float *const k_tile = (float *)(void *)(work + 105536); /* [d: 64, j: 96] */
    for (int64_t i_next = i0, i_block = i0, i_end = i1; i_next < i_end; i_next += 16) {
        const int64_t i0 = i_next, i1 = min(i0 + 16, i_end);
        float *const query = all_query + (i0 - i_block) / 16 * 1024;
        float *const row_sum = all_row_sum + (i0 - i_block) / 16 * 16;
        float *const row_sum_compensation = all_row_sum_compensation + (i0 - i_block) / 16 * 16;
        float *const sum = all_sum + (i0 - i_block) / 16 * 1024;
        float *const sum_compensation = all_sum_compensation + (i0 - i_block) / 16 * 1024;
        /* q_tile = q, with zeros beyond the last row */
        transpose_padded_any(q + i0 * q_row, q_row, i1 - i0, 64, q_tile, 16, 4);
        /* query_sum = 0.0f */
        for (int64_t i = 0; i < i1 - i0; i += 4) {
            store_any(query_sum + i, splat_any(0.0f));
        }
        /* query_sum += q_tile * q_tile */
        for (int64_t i_first = 0; i_first < i1 - i0; i_first += 8) {
            vec_any query_sum_in[2];
            UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += 4) {
                query_sum_in[vector] = (vec_any){0};
            }
            for (int64_t d = 0; d < 64; d++) {
                UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += 4) {
                    const vec_any q_tile_0 = load_any(q_tile + d * 16 + i);
                    query_sum_in[vector] += q_tile_0 * q_tile_0;
                }
            }
            UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += 4) {
                store_any(query_sum + i, load_any(query_sum + i) + query_sum_in[vector]);
            }
        }
        /* query = q_tile * select(query_sum == 0.0f, 0.0f, 1.0f / sqrt(query_sum)) */
        for (int64_t i = 0; i < i1 - i0; i += 4) {
            const vec_any query_sum_1 = load_any(query_sum + i);
            const vec_any t_2 = pick_any(query_sum_1 == 0.0f, splat_any(0.0f), 1.0f / sqrt_any(query_sum_1));
            for (int64_t d = 0; d < 64; d++) {
                store_any(query + d * 16 + i, load_any(q_tile + d * 16 + i) * t_2);
            }
        }
        /* row_sum = 0.0f; row_sum_compensation = 0.0f */
        for (int64_t i = 0; i < i1 - i0; i += 4) {
            store_any(row_sum + i, splat_any(0.0f));
            store_any(row_sum_compensation + i, splat_any(0.0f));
        }
        /* sum = 0.0f; sum_compensation = 0.0f */
        for (int64_t e = 0; e < 64; e++) {
            for (int64_t i = 0; i < i1 - i0; i += 4) {
                store_any(sum + e * 16 + i, splat_any(0.0f));
                store_any(sum_compensation + e * 16 + i, splat_any(0.0f));
            }
        }
    }
    for (int64_t j0 = 0, j_end = n_k; j0 < j_end; j0 += 96) {
        const int64_t j1 = min(j0 + 96, j_end);
        /* k_tile = k, with zeros beyond the last row */
        transpose_padded_any(k + j0 * k_row, k_row, j1 - j0, 64, k_tile, 96, 64);
        /* key_sum = 0.0f */
        for (int64_t j = 0; j < j1 - j0; j += 4) {
            store_any(key_sum + j, splat_any(0.0f));
        }
        /* key_sum += k_tile * k_tile */
        for (int64_t j_first = 0; j_first < j1 - j0; j_first += 8) {
            vec_any key_sum_in[2];
            UNROLL for (int64_t vector = 0, j = j_first; vector < 2; vector++, j += 4) {
                key_sum_in[vector] = (vec_any){0};
            }
            for (int64_t d = 0; d < 64; d++) {
                UNROLL for (int64_t vector = 0, j = j_first; vector < 2; vector++, j += 4) {
                    const vec_any k_tile_3 = load_any(k_tile + d * 96 + j);
                    key_sum_in[vector] += k_tile_3 * k_tile_3;
                }
            }
            UNROLL for (int64_t vector = 0, j = j_first; vector < 2; vector++, j += 4) {
                store_any(key_sum + j, load_any(key_sum + j) + key_sum_in[vector]);
            }
        }
        /* k_tile = k_tile * select(key_sum == 0.0f, 0.0f, 1.0f / sqrt(key_sum)) */
        for (int64_t j = 0; j < j1 - j0; j += 4) {
            const vec_any key_sum_4 = load_any(key_sum + j);
            const vec_any t_5 = pick_any(key_sum_4 == 0.0f, splat_any(0.0f), 1.0f / sqrt_any(key_sum_4));
            for (int64_t d = 0; d < 64; d++) {
                store_any(k_tile + d * 96 + j, load_any(k_tile + d * 96 + j) * t_5);
            }
        }
        for (int64_t i_next = i0, i_block = i0, i_end = i1; i_next < i_end; i_next += 16) {
            const int64_t i0 = i_next, i1 = min(i0 + 16, i_end);
            float *const query = all_query + (i0 - i_block) / 16 * 1024;
            float *const row_sum = all_row_sum + (i0 - i_block) / 16 * 16;
            float *const row_sum_compensation = all_row_sum_compensation + (i0 - i_block) / 16 * 16;
            float *const sum = all_sum + (i0 - i_block) / 16 * 1024;
            float *const sum_compensation = all_sum_compensation + (i0 - i_block) / 16 * 1024;
            /* score[j][i] = sum over d of k_tile * query */
            dot0_any(round_up(i1 - i0, 4), j1 - j0, k_tile, query, score);
            /* score = score + 1.0f; row_sum += score */
            for (int64_t i_first = 0; i_first < i1 - i0; i_first += 8) {
                vec_any row_sum_in[2];
                UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += 4) {
                    row_sum_in[vector] = (vec_any){0};
                }
                for (int64_t j = 0; j < j1 - j0; j++) {
                    UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += 4) {
                        const vec_any score_6 = load_any(score + j * 16 + i);
                        const vec_any score_new7 = score_6 + 1.0f;
                        store_any(score + j * 16 + i, score_new7);
                        row_sum_in[vector] += score_new7;
                    }
                }
                UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += 4) {
                    add_any(row_sum + i, row_sum_compensation + i, row_sum_in[vector], splat_any(1));
                }
            }
            /* sum[e][i] += sum over j of v * score */
            dot1_any(round_up(i1 - i0, 4), j1 - j0, v + j0 * v_row, v_row, score, sum, sum_compensation);
        }
    }
    {
        for (int64_t i_next = i0, i_block = i0, i_end = i1; i_next < i_end; i_next += 16) {
            const int64_t i0 = i_next, i1 = min(i0 + 16, i_end);
            float *const row_sum = all_row_sum + (i0 - i_block) / 16 * 16;
            float *const sum = all_sum + (i0 - i_block) / 16 * 1024;
            /* result = select(row_sum == 0.0f, 0.0f, sum / row_sum) */
            for (int64_t i = 0; i < i1 - i0; i += 4) {
                const vec_any row_sum_8 = load_any(row_sum + i);
                const mask_any t_9 = row_sum_8 == 0.0f;
                for (int64_t e = 0; e < 64; e++) {
                    store_any(result + e * 16 + i, pick_any(t_9, splat_any(0.0f),
                        load_any(sum + e * 16 + i) / row_sum_8));
                }
            }
            /* out = result, transposed back */
            transpose_out_any(result, 16, 64, i1 - i0, out + i0 * out_row, out_row, 4);
        }
    }
}

/* Initialises the states: they contain no keys yet. */
APART void linear_taylor_begin_any(const struct call *call, int64_t task, const struct part *part, int64_t iteration)
{
    (void)call;
    (void)task;
    const int64_t f0 = iteration * 32, f1 = min(f0 + 32, 65);
    float *const carried_sum = (float *)(void *)(part->shared + 0); /* [f: 68] */
    float *const carried_sum_compensation = (float *)(void *)(part->shared + 16960); /* [f: 68] */
    float *const carried = (float *)(void *)(part->shared + 320); /* [f: 65, e: 64] */
    float *const carried_compensation = (float *)(void *)(part->shared + 17280); /* [f: 65, e: 64] */
    /* carried_sum = 0.0f; carried_sum_compensation = 0.0f */
    for (int64_t f = f0; f < f1; f += 4) {
        store_any(carried_sum + f, splat_any(0.0f));
        store_any(carried_sum_compensation + f, splat_any(0.0f));
    }
    /* carried = 0.0f; carried_compensation = 0.0f */
    for (int64_t f = f0; f < f1; f++) {
        for (int64_t e_first = 0; e_first < 64; e_first += 8) {
            UNROLL for (int64_t vector = 0, e = e_first; vector < 2; vector++, e += 4) {
                store_any(carried + f * 64 + e, splat_any(0.0f));
                store_any(carried_compensation + f * 64 + e, splat_any(0.0f));
            }
        }
    }
}

/* Sums the keys of a chunk, from zero, into its slot. */
APART void linear_taylor_keys_any(const struct call *call, int64_t task, const struct part *part, int64_t iteration)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t n_k = call->p.n_k;
    const int64_t chunk = iteration;
    const int64_t chunk0 = part->chunk0;
    const int64_t g = task % kv_heads;
    const int64_t b = task / kv_heads;
    const float *const k = call->k + b * call->p.k.batch + g / call->sharing * call->p.k.head;
    const int64_t k_row = call->p.k.row;
    const float *const v = call->v + b * call->p.v.batch + g * call->p.v.head;
    const int64_t v_row = call->p.v.row;
    float *const key_sum = (float *)(void *)(part->work + 0); /* [j: 144] */
    float *const key_features = (float *)(void *)(part->work + 0); /* [f: 65, j: 144] */
    float *const state_sum = (float *)(void *)(part->slots + 0); /* [chunk, f: 68] */
    float *const state = (float *)(void *)(part->slots + 320); /* [chunk, f: 65, e: 64] */
    float *const k_tile = (float *)(void *)(part->work + 37440); /* [d: 64, j: 144] */
    /* state_sum = 0.0f */
    for (int64_t f = 0; f < 65; f += 4) {
        store_any(state_sum + (chunk - chunk0) * 4240 + f, splat_any(0.0f));
    }
    /* state = 0.0f */
    for (int64_t f = 0; f < 65; f++) {
        for (int64_t e_first = 0; e_first < 64; e_first += 8) {
            UNROLL for (int64_t vector = 0, e = e_first; vector < 2; vector++, e += 4) {
                store_any(state + (chunk - chunk0) * 4240 + f * 64 + e, splat_any(0.0f));
            }
        }
    }
    for (int64_t j0 = chunk * 576, j_end = min(n_k, (chunk + 1) * 576); j0 < j_end; j0 += 144) {
        const int64_t j1 = min(j0 + 144, j_end);
        /* k_tile = k, with zeros beyond the last row */
        transpose_padded_any(k + j0 * k_row, k_row, j1 - j0, 64, k_tile, 144, 64);
        /* key_sum = 0.0f */
        for (int64_t j = 0; j < j1 - j0; j += 4) {
            store_any(key_sum + j, splat_any(0.0f));
        }
        /* key_sum += k_tile * k_tile */
        for (int64_t j_first = 0; j_first < j1 - j0; j_first += 8) {
            vec_any key_sum_in[2];
            UNROLL for (int64_t vector = 0, j = j_first; vector < 2; vector++, j += 4) {
                key_sum_in[vector] = (vec_any){0};
            }
            for (int64_t d = 0; d < 64; d++) {
                UNROLL for (int64_t vector = 0, j = j_first; vector < 2; vector++, j += 4) {
                    const vec_any k_tile_0 = load_any(k_tile + d * 144 + j);
                    key_sum_in[vector] += k_tile_0 * k_tile_0;
                }
            }
            UNROLL for (int64_t vector = 0, j = j_first; vector < 2; vector++, j += 4) {
                store_any(key_sum + j, load_any(key_sum + j) + key_sum_in[vector]);
            }
        }
        /* k_tile = k_tile * select(key_sum == 0.0f, 0.0f, 1.0f / sqrt(key_sum)) */
        for (int64_t j = 0; j < j1 - j0; j += 4) {
            const vec_any key_sum_1 = load_any(key_sum + j);
            const vec_any t_2 = pick_any(key_sum_1 == 0.0f, splat_any(0.0f), 1.0f / sqrt_any(key_sum_1));
            for (int64_t d = 0; d < 64; d++) {
                store_any(k_tile + d * 144 + j, load_any(k_tile + d * 144 + j) * t_2);
            }
        }
        /* key_features = select(f < 64, k_tile, 1.0f) */
        for (int64_t f = 0; f < 65; f++) {
            for (int64_t j = 0; j < j1 - j0; j += 4) {
                store_any(key_features + f * 144 + j, (f < 64) ? load_any(k_tile + min(f,
                    63) * 144 + j) : splat_any(1.0f));
            }
        }
        /* state_sum += key_features */
        for (int64_t f = 0; f < 65; f++) {
            vec_any lane_sums = splat_any(0);
            for (int64_t j = 0; j < j1 - j0; j += 4) {
                const vec_any term = load_any(key_features + f * 144 + j);
                lane_sums += j + 4 <= j1 - j0 ? term : pick_any(__builtin_convertvector(j + lane_any < j1 - j0,
                    mask_any), term, splat_any(0));
            }
            const float total = lane_sum_any(lane_sums);
            state_sum[(chunk - chunk0) * 4240 + f] += total;
        }
        /* state[f][e] += sum over j of key_features * v */
        dot2_any(j1 - j0, key_features, v + j0 * v_row, v_row, state + (chunk - chunk0) * 4240);
    }
}

/* Folds the slots of the current chunks, in order, for some elements of the states. */
APART void linear_taylor_fold_any(const struct call *call, int64_t task, const struct part *part, int64_t iteration)
{
    (void)call;
    (void)task;
    const int64_t f0 = iteration * 32, f1 = min(f0 + 32, 65);
    const int64_t chunk0 = part->chunk0;
    const int64_t chunk1 = part->chunk1;
    float *const state_sum = (float *)(void *)(part->slots + 0); /* [chunk, f: 68] */
    float *const state = (float *)(void *)(part->slots + 320); /* [chunk, f: 65, e: 64] */
    float *const carried_sum = (float *)(void *)(part->shared + 0); /* [f: 68] */
    float *const carried_sum_compensation = (float *)(void *)(part->shared + 16960); /* [f: 68] */
    float *const carried = (float *)(void *)(part->shared + 320); /* [f: 65, e: 64] */
    float *const carried_compensation = (float *)(void *)(part->shared + 17280); /* [f: 65, e: 64] */
    for (int64_t chunk = chunk0; chunk < chunk1; chunk++) {
        /* before_sum = carried_sum; carried_sum += state_sum */
        for (int64_t f = f0; f < f1; f += 4) {
            add_any(carried_sum + f, carried_sum_compensation + f, load_any(state_sum + (chunk - chunk0) * 4240 + f),
                splat_any(1));
        }
        /* before = carried; carried += state */
        for (int64_t f = f0; f < f1; f++) {
            for (int64_t e_first = 0; e_first < 64; e_first += 8) {
                UNROLL for (int64_t vector = 0, e = e_first; vector < 2; vector++, e += 4) {
                    add_any(carried + f * 64 + e, carried_compensation + f * 64 + e,
                        load_any(state + (chunk - chunk0) * 4240 + f * 64 + e), splat_any(1));
                }
            }
        }
    }
}

/* Processes a tile of queries: reads the states. */
APART void linear_taylor_queries_any(const struct call *call, int64_t task, const struct part *part, int64_t iteration)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_q = call->p.n_q;
    const int64_t tiles = (n_q + 128 - 1) / 128, i0 = (tiles - 1 - iteration % tiles) * 128,
        i1 = min(i0 + 128, n_q);
    const int64_t m = iteration / tiles;
    const int64_t g = task % kv_heads;
    const int64_t b = task / kv_heads;
    const float *const q = call->q + b * call->p.q.batch + (g / call->sharing * members + m) * call->p.q.head;
    const int64_t q_row = call->p.q.row;
    float *const carried_sum = (float *)(void *)(part->shared + 0); /* [f: 68] */
    float *const carried = (float *)(void *)(part->shared + 320); /* [f: 65, e: 64] */
    float *const query_sum = (float *)(void *)(part->work + 0); /* [i: 128] */
    float *const query_2 = (float *)(void *)(part->work + 0); /* [f: 65, i: 128 of 144] */
    float *const row_sum_from_state = (float *)(void *)(part->work + 37440); /* [i: 128] */
    float *const sum_from_state = (float *)(void *)(part->work + 37952); /* [e: 64, i: 128 of 144] */
    float *const out = call->out + b * call->p.out.batch + (g * members + m) * call->p.out.head;
    const int64_t out_row = call->p.out.row;
    float *const q_tile = (float *)(void *)(part->work + 37952); /* [d: 64, i: 128 of 144] */
    /* q_tile = q, with zeros beyond the last row */
    transpose_padded_any(q + i0 * q_row, q_row, i1 - i0, 64, q_tile, 144, 4);
    /* query_sum = 0.0f */
    for (int64_t i = 0; i < i1 - i0; i += 4) {
        store_any(query_sum + i, splat_any(0.0f));
    }
    /* query_sum += q_tile * q_tile */
    for (int64_t i_first = 0; i_first < i1 - i0; i_first += 8) {
        vec_any query_sum_in[2];
        UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += 4) {
            query_sum_in[vector] = (vec_any){0};
        }
        for (int64_t d = 0; d < 64; d++) {
            UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += 4) {
                const vec_any q_tile_3 = load_any(q_tile + d * 144 + i);
                query_sum_in[vector] += q_tile_3 * q_tile_3;
            }
        }
        UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += 4) {
            store_any(query_sum + i, load_any(query_sum + i) + query_sum_in[vector]);
        }
    }
    /* q_tile = q_tile * select(query_sum == 0.0f, 0.0f, 1.0f / sqrt(query_sum)) */
    for (int64_t i = 0; i < i1 - i0; i += 4) {
        const vec_any query_sum_4 = load_any(query_sum + i);
        const vec_any t_5 = pick_any(query_sum_4 == 0.0f, splat_any(0.0f), 1.0f / sqrt_any(query_sum_4));
        for (int64_t d = 0; d < 64; d++) {
            store_any(q_tile + d * 144 + i, load_any(q_tile + d * 144 + i) * t_5);
        }
    }
    /* row_sum_from_state = 0.0f */
    for (int64_t i = 0; i < i1 - i0; i += 4) {
        store_any(row_sum_from_state + i, splat_any(0.0f));
    }
    /* query_2 = select(f < 64, q_tile, 1.0f); row_sum_from_state += query_2 * carried_sum */
    for (int64_t i_first = 0; i_first < i1 - i0; i_first += 8) {
        vec_any row_sum_from_state_in[2], row_sum_from_state_in_whole[2];
        UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += 4) {
            row_sum_from_state_in[vector] = (vec_any){0};
            row_sum_from_state_in_whole[vector] = (vec_any){0};
        }
        for (int64_t f = 0; f < 65; f++) {
            UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += 4) {
                const vec_any query_2_new6 = (f < 64) ? load_any(q_tile + min(f, 63) * 144 + i) : splat_any(1.0f);
                store_any(query_2 + f * 144 + i, query_2_new6);
                row_sum_from_state_in[vector] += query_2_new6 * carried_sum[f];
                if (f % 32 == 31) {
                    row_sum_from_state_in_whole[vector] += row_sum_from_state_in[vector];
                    row_sum_from_state_in[vector] = (vec_any){0};
                }
            }
        }
        UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += 4) {
            row_sum_from_state_in[vector] += row_sum_from_state_in_whole[vector];
            store_any(row_sum_from_state + i, load_any(row_sum_from_state + i) + row_sum_from_state_in[vector]);
        }
    }
    /* sum_from_state[e][i] = sum over f of carried * query_2 */
    dot3_any(round_up(i1 - i0, 4), carried, query_2, sum_from_state);
    /* sum_from_state = select(row_sum_from_state == 0.0f, 0.0f, sum_from_state / row_sum_from_state) */
    for (int64_t i = 0; i < i1 - i0; i += 4) {
        const vec_any row_sum_from_state_7 = load_any(row_sum_from_state + i);
        const mask_any t_8 = row_sum_from_state_7 == 0.0f;
        for (int64_t e = 0; e < 64; e++) {
            store_any(sum_from_state + e * 144 + i, pick_any(t_8, splat_any(0.0f),
                load_any(sum_from_state + e * 144 + i) / row_sum_from_state_7));
        }
    }
    /* out = sum_from_state, transposed back */
    transpose_out_any(sum_from_state, 144, 64, i1 - i0, out + i0 * out_row, out_row, 4);
}

/* Computes head number `task`. Each thread on the head calls this with its share, `part`. */
static void linear_taylor_linear_any(const struct call *call, int64_t task, struct part *part)
{
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_q = call->p.n_q;
    const int64_t n_k = call->p.n_k;
    const int64_t chunks = n_k > 0 ? (n_k - 1) / 576 + 1 : 1;
    for (int64_t iteration = part->number; iteration < ((65 + 31) / 32); iteration += part->threads)
        linear_taylor_begin_any(call, task, part, iteration);
    synchronise(part);
    const int64_t first = 0;
    const int64_t length = segment_length(part, chunks - first);
    for (int64_t segment = part->number; first + segment * length < chunks; segment += part->threads) {
        part->chunk0 = first + segment * length;
        part->chunk1 = min(part->chunk0 + length, chunks);
        for (int64_t iteration = part->chunk0; iteration < part->chunk1; iteration++)
            linear_taylor_keys_any(call, task, part, iteration);
        for (int64_t group = 0; group < 16; group++) {
            await_segment(part, group, segment);
            const int64_t end = (group + 1) * ((65 + 31) / 32) / 16;
            for (int64_t iteration = group * ((65 + 31) / 32) / 16; iteration < end; iteration++)
                linear_taylor_fold_any(call, task, part, iteration);
            pass_segment(part, group, segment);
        }
    }
    part->segments += (max(chunks - first, 0) + length - 1) / length;
    synchronise(part);
    for (int64_t iteration = part->number; iteration < members * ((n_q + 127) / 128); iteration += part->threads)
        linear_taylor_queries_any(call, task, part, iteration);
    synchronise(part);
}

/* Initialises the states: they contain no keys yet. */
APART void linear_taylor_few_begin_any(const struct call *call, int64_t task, const struct part *part,
    int64_t iteration)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_q = call->p.n_q;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t r0 = iteration * 64, r1 = min(r0 + 64, rows);
    const int64_t g = task % kv_heads;
    const int64_t b = task / kv_heads;
    const float *const q = call->q + b * call->p.q.batch + g / call->sharing * members * call->p.q.head;
    const int64_t q_row = call->p.q.row;
    const int64_t q_head = call->p.q.head;
    float *const query_sum = (float *)(void *)(part->shared + 0); /* [r: 64] */
    float *const query = (float *)(void *)(part->shared + 256); /* [d: 64, r: 64] */
    float *const q_tile = (float *)(void *)(part->work + 0); /* [d: 64, r: 64 of 80] */
    /* q_tile = q, with zeros beyond the last row */
    for (int64_t r = r0; r < r0 + round_up(r1 - r0, 4); r++)
        for (int64_t d = 0; d < 64; d++)
            q_tile[d * 80 + r] = r < r1 ? q[r / n_q * q_head + r % n_q * q_row + d] : 0;
    /* query_sum = 0.0f */
    for (int64_t r = r0; r < r1; r += 4) {
        store_any(query_sum + r, splat_any(0.0f));
    }
    /* query_sum += q_tile * q_tile */
    for (int64_t r = r0; r < r1; r += 4) {
        vec_any query_sum_in = (vec_any){0};
        for (int64_t d = 0; d < 64; d++) {
            const vec_any q_tile_0 = load_any(q_tile + d * 80 + r);
            query_sum_in += q_tile_0 * q_tile_0;
        }
        store_any(query_sum + r, load_any(query_sum + r) + query_sum_in);
    }
    /* query = q_tile * select(query_sum == 0.0f, 0.0f, 1.0f / sqrt(query_sum)) */
    for (int64_t r = r0; r < r1; r += 4) {
        const vec_any query_sum_1 = load_any(query_sum + r);
        const vec_any t_2 = pick_any(query_sum_1 == 0.0f, splat_any(0.0f), 1.0f / sqrt_any(query_sum_1));
        for (int64_t d = 0; d < 64; d++) {
            store_any(query + d * 64 + r, load_any(q_tile + d * 80 + r) * t_2);
        }
    }
}

/* Initialises the states: they contain no keys yet. */
APART void linear_taylor_few_begin_2_any(const struct call *call, int64_t task, const struct part *part,
    int64_t iteration)
{
    (void)task;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t r0 = iteration * 16, r1 = min(r0 + 16, rows);
    float *const carried_sum = (float *)(void *)(part->shared + 16640); /* [r: 64] */
    float *const carried_sum_compensation = (float *)(void *)(part->shared + 33280); /* [r: 64] */
    float *const carried = (float *)(void *)(part->shared + 16896); /* [r: 64, e: 64] */
    float *const carried_compensation = (float *)(void *)(part->shared + 33536); /* [r: 64, e: 64] */
    /* carried_sum = 0.0f; carried_sum_compensation = 0.0f */
    for (int64_t r = r0; r < r1; r += 4) {
        store_any(carried_sum + r, splat_any(0.0f));
        store_any(carried_sum_compensation + r, splat_any(0.0f));
    }
    /* carried = 0.0f; carried_compensation = 0.0f */
    for (int64_t r = r0; r < r1; r++) {
        for (int64_t e_first = 0; e_first < 64; e_first += 8) {
            UNROLL for (int64_t vector = 0, e = e_first; vector < 2; vector++, e += 4) {
                store_any(carried + r * 64 + e, splat_any(0.0f));
                store_any(carried_compensation + r * 64 + e, splat_any(0.0f));
            }
        }
    }
}

/* Sums the keys of a chunk, from zero, into its slot. */
APART void linear_taylor_few_keys_any(const struct call *call, int64_t task, const struct part *part, int64_t iteration)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t n_k = call->p.n_k;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t chunk = iteration;
    const int64_t chunk0 = part->chunk0;
    const int64_t g = task % kv_heads;
    const int64_t b = task / kv_heads;
    const float *const k = call->k + b * call->p.k.batch + g / call->sharing * call->p.k.head;
    const int64_t k_row = call->p.k.row;
    const float *const v = call->v + b * call->p.v.batch + g * call->p.v.head;
    const int64_t v_row = call->p.v.row;
    float *const query = (float *)(void *)(part->shared + 256); /* [d: 64, r: 64] */
    float *const key_sum = (float *)(void *)(part->work + 0); /* [j: 128] */
    float *const score = (float *)(void *)(part->work + 0); /* [r: 64, j: 128 of 144] */
    float *const state_sum = (float *)(void *)(part->slots + 0); /* [chunk, r: 64] */
    float *const state = (float *)(void *)(part->slots + 256); /* [chunk, r: 64, e: 64] */
    float *const k_tile = (float *)(void *)(part->work + 36864); /* [d: 64, j: 128 of 144] */
    /* state_sum = 0.0f */
    for (int64_t r = 0; r < rows; r += 4) {
        store_any(state_sum + (chunk - chunk0) * 4160 + r, splat_any(0.0f));
    }
    /* state = 0.0f */
    for (int64_t r = 0; r < rows; r++) {
        for (int64_t e_first = 0; e_first < 64; e_first += 8) {
            UNROLL for (int64_t vector = 0, e = e_first; vector < 2; vector++, e += 4) {
                store_any(state + (chunk - chunk0) * 4160 + r * 64 + e, splat_any(0.0f));
            }
        }
    }
    for (int64_t j0 = chunk * 1024, j_end = min(n_k, (chunk + 1) * 1024); j0 < j_end; j0 += 128) {
        const int64_t j1 = min(j0 + 128, j_end);
        /* k_tile = k, with zeros beyond the last row */
        transpose_padded_any(k + j0 * k_row, k_row, j1 - j0, 64, k_tile, 144, 64);
        /* key_sum = 0.0f */
        for (int64_t j = 0; j < j1 - j0; j += 4) {
            store_any(key_sum + j, splat_any(0.0f));
        }
        /* key_sum += k_tile * k_tile */
        for (int64_t j_first = 0; j_first < j1 - j0; j_first += 8) {
            vec_any key_sum_in[2];
            UNROLL for (int64_t vector = 0, j = j_first; vector < 2; vector++, j += 4) {
                key_sum_in[vector] = (vec_any){0};
            }
            for (int64_t d = 0; d < 64; d++) {
                UNROLL for (int64_t vector = 0, j = j_first; vector < 2; vector++, j += 4) {
                    const vec_any k_tile_3 = load_any(k_tile + d * 144 + j);
                    key_sum_in[vector] += k_tile_3 * k_tile_3;
                }
            }
            UNROLL for (int64_t vector = 0, j = j_first; vector < 2; vector++, j += 4) {
                store_any(key_sum + j, load_any(key_sum + j) + key_sum_in[vector]);
            }
        }
        /* k_tile = k_tile * select(key_sum == 0.0f, 0.0f, 1.0f / sqrt(key_sum)) */
        for (int64_t j = 0; j < j1 - j0; j += 4) {
            const vec_any key_sum_4 = load_any(key_sum + j);
            const vec_any t_5 = pick_any(key_sum_4 == 0.0f, splat_any(0.0f), 1.0f / sqrt_any(key_sum_4));
            for (int64_t d = 0; d < 64; d++) {
                store_any(k_tile + d * 144 + j, load_any(k_tile + d * 144 + j) * t_5);
            }
        }
        /* score[r][j] = sum over d of query * k_tile */
        dot4_any(round_up(j1 - j0, 4), rows, query, k_tile, score);
        /* score = score + 1.0f */
        for (int64_t r = 0; r < rows; r++) {
            for (int64_t j = 0; j < j1 - j0; j += 4) {
                store_any(score + r * 144 + j, load_any(score + r * 144 + j) + 1.0f);
            }
        }
        /* state_sum += score */
        for (int64_t r = 0; r < rows; r++) {
            vec_any lane_sums = splat_any(0);
            for (int64_t j = 0; j < j1 - j0; j += 4) {
                const vec_any term = load_any(score + r * 144 + j);
                lane_sums += j + 4 <= j1 - j0 ? term : pick_any(__builtin_convertvector(j + lane_any < j1 - j0,
                    mask_any), term, splat_any(0));
            }
            const float total = lane_sum_any(lane_sums);
            state_sum[(chunk - chunk0) * 4160 + r] += total;
        }
        /* state[r][e] += sum over j of score * v */
        dot5_any(rows, j1 - j0, score, v + j0 * v_row, v_row, state + (chunk - chunk0) * 4160);
    }
}

/* Folds the slots of the current chunks, in order, for some elements of the states. */
APART void linear_taylor_few_fold_any(const struct call *call, int64_t task, const struct part *part, int64_t iteration)
{
    (void)task;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t r0 = iteration * 16, r1 = min(r0 + 16, rows);
    const int64_t chunk0 = part->chunk0;
    const int64_t chunk1 = part->chunk1;
    float *const state_sum = (float *)(void *)(part->slots + 0); /* [chunk, r: 64] */
    float *const state = (float *)(void *)(part->slots + 256); /* [chunk, r: 64, e: 64] */
    float *const carried_sum = (float *)(void *)(part->shared + 16640); /* [r: 64] */
    float *const carried_sum_compensation = (float *)(void *)(part->shared + 33280); /* [r: 64] */
    float *const carried = (float *)(void *)(part->shared + 16896); /* [r: 64, e: 64] */
    float *const carried_compensation = (float *)(void *)(part->shared + 33536); /* [r: 64, e: 64] */
    for (int64_t chunk = chunk0; chunk < chunk1; chunk++) {
        /* before_sum = carried_sum; carried_sum += state_sum */
        for (int64_t r = r0; r < r1; r += 4) {
            add_any(carried_sum + r, carried_sum_compensation + r, load_any(state_sum + (chunk - chunk0) * 4160 + r),
                splat_any(1));
        }
        /* before = carried; carried += state */
        for (int64_t r = r0; r < r1; r++) {
            for (int64_t e_first = 0; e_first < 64; e_first += 8) {
                UNROLL for (int64_t vector = 0, e = e_first; vector < 2; vector++, e += 4) {
                    add_any(carried + r * 64 + e, carried_compensation + r * 64 + e,
                        load_any(state + (chunk - chunk0) * 4160 + r * 64 + e), splat_any(1));
                }
            }
        }
    }
}

/* Processes a tile of queries: reads the states. */
APART void linear_taylor_few_queries_any(const struct call *call, int64_t task, const struct part *part,
    int64_t iteration)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_q = call->p.n_q;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t r0 = iteration * 16, r1 = min(r0 + 16, rows);
    const int64_t g = task % kv_heads;
    const int64_t b = task / kv_heads;
    float *const carried_sum = (float *)(void *)(part->shared + 16640); /* [r: 64] */
    float *const carried = (float *)(void *)(part->shared + 16896); /* [r: 64, e: 64] */
    float *const result = (float *)(void *)(part->work + 0); /* [r: 64, e: 64] */
    float *const out = call->out + b * call->p.out.batch + g * members * call->p.out.head;
    const int64_t out_row = call->p.out.row;
    const int64_t out_head = call->p.out.head;
    /* result = select(carried_sum == 0.0f, 0.0f, carried / carried_sum) */
    for (int64_t r = r0; r < r1; r++) {
        for (int64_t e_first = 0; e_first < 64; e_first += 8) {
            UNROLL for (int64_t vector = 0, e = e_first; vector < 2; vector++, e += 4) {
                const float carried_sum_6 = carried_sum[r];
                store_any(result + r * 64 + e, (carried_sum_6 == 0.0f) ? splat_any(0.0f) : load_any(carried + r * 64 +
                    e) / carried_sum_6);
            }
        }
    }
    /* out = result */
    for (int64_t r = r0; r < r1; r++)
        for (int64_t e = 0; e < 64; e++)
            out[r / n_q * out_head + r % n_q * out_row + e] = result[r * 64 + e];
}

/* Computes head number `task`. Each thread on the head calls this with its share, `part`. */
static void linear_taylor_few_any(const struct call *call, int64_t task, struct part *part)
{
    const int64_t n_k = call->p.n_k;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t chunks = n_k > 0 ? (n_k - 1) / 1024 + 1 : 1;
    for (int64_t iteration = part->number; iteration < ((rows + 63) / 64); iteration += part->threads)
        linear_taylor_few_begin_any(call, task, part, iteration);
    for (int64_t iteration = part->number; iteration < ((rows + 15) / 16); iteration += part->threads)
        linear_taylor_few_begin_2_any(call, task, part, iteration);
    synchronise(part);
    const int64_t first = 0;
    const int64_t length = segment_length(part, chunks - first);
    for (int64_t segment = part->number; first + segment * length < chunks; segment += part->threads) {
        part->chunk0 = first + segment * length;
        part->chunk1 = min(part->chunk0 + length, chunks);
        for (int64_t iteration = part->chunk0; iteration < part->chunk1; iteration++)
            linear_taylor_few_keys_any(call, task, part, iteration);
        for (int64_t group = 0; group < 16; group++) {
            await_segment(part, group, segment);
            const int64_t end = (group + 1) * ((rows + 15) / 16) / 16;
            for (int64_t iteration = group * ((rows + 15) / 16) / 16; iteration < end; iteration++)
                linear_taylor_few_fold_any(call, task, part, iteration);
            pass_segment(part, group, segment);
        }
    }
    part->segments += (max(chunks - first, 0) + length - 1) / length;
    synchronise(part);
    for (int64_t iteration = part->number; iteration < ((rows + 15) / 16); iteration += part->threads)
        linear_taylor_few_queries_any(call, task, part, iteration);
    synchronise(part);
}

/* ==== which version this machine runs ==== */
struct version {
    /* computes a task on one thread */
    void (*rows)(const struct call *, int64_t, unsigned char *);
    void (*head)(const struct call *, int64_t, struct part *); /* computes a head on one or more threads; may be NULL */
    int64_t tile; /* queries of a task; 0: all queries of a key/value head; -1: all queries of a query head */
    size_t own;   /* bytes of workspace for each thread */
    int64_t of_pair, of_token; /* multiply-adds per query-key pair, and per token; one of them is 0 */
    size_t shared, slot, slots; /* shared: bytes for all threads of a head; slot: bytes of a slot; slots: per thread */
    int together; /* heads that all threads compute together: 0: none, 1: the last (heads % threads), 2: all */
};

/* For many keys, version() chooses the linear form, because it takes less work. */
/* Returns whether a few queries take less time one by one than as one tile. A single query has an overhead of 10
   vectors, and a tile has an overhead of 40 vectors. Both were measured with AVX2 and SSE2. */
INLINE int few_pay(int64_t n_q, int64_t n_k, int64_t lanes)
{
    enum { MANY_KEYS = 1024 };
    return n_k >= MANY_KEYS || n_q * (n_k + 10 * lanes) <= round_up(n_q, lanes) * n_k + 40 * lanes;
}

/* Returns the version for n_k keys and n_q queries. `rows` is the number of queries of all heads that share keys. */
static struct version version(int64_t n_k, int64_t rows, int64_t n_q)
{
#if defined(__x86_64__)
    if (attn_x86_64_level() >= 4) {
        if (n_k >= 70 && rows <= 37) return (struct version){.head = linear_taylor_few_v4, .tile = 0, .own = 73728,
            .of_pair = 128, .shared = 49920, .slot = 16640, .slots = 4, .together = 1};
        if (n_k >= 70) return (struct version){.head = linear_taylor_linear_v4, .tile = 0, .own = 141376,
            .of_token = 4225, .shared = 33920, .slot = 16960, .slots = 4, .together = 1};
        if (rows <= 64 && few_pay(n_q, n_k, 16)) return (struct version){.head = linear_taylor_few_v4, .tile = 0,
            .own = 73728, .of_pair = 128, .shared = 49920, .slot = 16640, .slots = 4, .together = 1};
        return (struct version){.rows = linear_taylor_rows_v4, .tile = 256, .own = 235648, .of_pair = 128};
    }
#endif
#if defined(__x86_64__)
    if (attn_x86_64_level() >= 3) {
        if (n_k >= 70 && rows <= 37) return (struct version){.head = linear_taylor_few_v3, .tile = 0, .own = 73728,
            .of_pair = 128, .shared = 49920, .slot = 16640, .slots = 4, .together = 1};
        if (n_k >= 70) return (struct version){.head = linear_taylor_linear_v3, .tile = 0, .own = 141376,
            .of_token = 4225, .shared = 33920, .slot = 16960, .slots = 4, .together = 1};
        if (rows <= 64 && few_pay(n_q, n_k, 8)) return (struct version){.head = linear_taylor_few_v3, .tile = 0,
            .own = 73728, .of_pair = 128, .shared = 49920, .slot = 16640, .slots = 4, .together = 1};
        return (struct version){.rows = linear_taylor_rows_v3, .tile = 256, .own = 229440, .of_pair = 128};
    }
#endif
    if (n_k >= 70 && rows <= 37) return (struct version){.head = linear_taylor_few_any, .tile = 0, .own = 73728,
        .of_pair = 128, .shared = 49920, .slot = 16640, .slots = 4, .together = 1};
    if (n_k >= 70) return (struct version){.head = linear_taylor_linear_any, .tile = 0, .own = 74816, .of_token = 4225,
        .shared = 33920, .slot = 16960, .slots = 4, .together = 1};
    if (rows <= 64 && few_pay(n_q, n_k, 4)) return (struct version){.head = linear_taylor_few_any, .tile = 0,
        .own = 73728, .of_pair = 128, .shared = 49920, .slot = 16640, .slots = 4, .together = 1};
    return (struct version){.rows = linear_taylor_rows_any, .tile = 128, .own = 130112, .of_pair = 128};
}

enum { MANY_ROWS = 1 << 30 };

/* Returns the number of queries of all heads that share keys. Returns MANY_ROWS if a call saves values or has many
   queries, because its queries are in the lanes. */
static int64_t rows_of(const struct attn_problem *p)
{
    if (p->n_q > 16 || p->saved || p->kv_heads <= 0) return MANY_ROWS;
    return min(p->heads / p->kv_heads * p->n_q, MANY_ROWS);
}


static size_t bytes_a_thread(const struct version *v)
{
    return v->own + v->shared + v->slots * v->slot;
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

/* Sets `part` to the share of thread `number`, where `there` threads compute a head. The workspace has room for
   `threads` threads. OpenMP may have started fewer. */
static void together(const struct version *v, int threads, int number, int there, unsigned char *workspace,
    struct part *part)
{
    const size_t all = (size_t)threads;
    part->number = number;
    part->threads = there;
    part->work = workspace + (size_t)number * v->own;
    part->shared = workspace + all * v->own;
    part->window = (int64_t)(((all - 1) * v->shared + all * v->slots * v->slot) / v->slot) / part->threads;
    part->slots = part->shared + v->shared + (size_t)(number * part->window) * v->slot;
}

size_t linear_taylor_params_size(void)
{
    return 0;
}

int linear_taylor_params_init(struct linear_taylor_params *params, uint64_t seed, void *storage)
{
    (void)seed;
    (void)storage;
    if (!params) return ATTN_EPOINTER;
    *params = (struct linear_taylor_params){0};
    return 0;
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
    call->sharing = sharing_of(&call->p);
    return 0;
}

/* Returns the largest workspace of a thread in bytes, over all versions for up to n_k keys. */
static size_t max_bytes_a_thread(int64_t n_k)
{
    static const int64_t from[] = {0, 70};
    size_t bytes = 0;
    for (size_t k = 0; k < sizeof from / sizeof *from; k++) {
        const struct version few = version(from[k], 0, 0), v = version(from[k], MANY_ROWS, 0);
        if ((k == 0 || from[k] <= n_k) && bytes_a_thread(&few) > bytes) bytes = bytes_a_thread(&few);
        if ((k == 0 || from[k] <= n_k) && bytes_a_thread(&v) > bytes) bytes = bytes_a_thread(&v);
    }
    return bytes;
}

size_t linear_taylor_workspace(const struct attn_problem *problem)
{
    if (!problem) return 0;
    size_t shared = 0, bytes = 0;
    if (max_bytes_a_thread(problem->n_k) > bytes) bytes = max_bytes_a_thread(problem->n_k);
    shared = bytes_plus(shared, bytes_times(bytes, threads_served(problem)));
    return bytes_fit(shared) ? shared : 0;
}
/* Returns whether this machine can run the version. */
static int runs(const struct version *v)
{
    return v->rows || v->head;
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
    _Alignas(64) int64_t folded[16 * NUMBERS_OF_LINE];
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
    struct part part = {.threads = 1, .window = 1, .work = own, .folded = w->folded, .team = w->job->call->p.team};
    for (const struct job *job = w->job; job < w->job + w->jobs; first += job->alone, job++) {
        const struct version *const this = job->this;
        part.shared = own + this->own;
        part.slots = part.shared + this->shared;
        for (; task - first < job->alone; task = take_task(w)) {
            if (this->head)
                this->head(job->call, task - first, &part);
            else
                this->rows(job->call, task - first, own);
        }
    }
    part.segments = 0;
    part.threads = w->threads;
    for (const struct job *job = w->job; job < w->job + w->jobs; job++) {
        if (!job->this->head || job->alone == job->tasks) continue;
        synchronise(&part); /* now w->there is final, and `together` may divide the workspace */
        together(job->this, w->threads, number, w->there, w->workspace, &part);
        for (task = job->alone; task < job->tasks; task++) job->this->head(job->call, task, &part);
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
    if (this->head && this->together) job->alone = this->together > 1 ? 0 : tasks / threads * threads;
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

int linear_taylor_forward(const struct attn_problem *problem, const struct linear_taylor_params *params, const float *q,
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
    const struct version this = version(call.p.n_k, rows_of(&call.p), call.p.n_q);
    if (!runs(&this)) return ATTN_EMACHINE;
    const size_t shared = 0, bytes = bytes_a_thread(&this);
    const size_t max_bytes = max_bytes_a_thread(problem->n_k);
    int threads = 1;
    const int no_room = take_workspace(problem, workspace, shared, max_bytes, &threads);
    if (no_room) return no_room;
    unsigned char *const work = (unsigned char *)workspace + shared;
    return run(&call, &this, threads, work, bytes);
}

static int params_init_any(void *params, uint64_t seed, void *storage)
{
    return linear_taylor_params_init((struct linear_taylor_params *)params, seed, storage);
}

static int forward_any(const struct attn_problem *problem, const void *params, const void *q, const void *k,
    const void *v, void *out, void *workspace)
{
    return linear_taylor_forward(problem, (const struct linear_taylor_params *)params, (const float *)q,
        (const float *)k, (const float *)v, (float *)out, workspace);
}


const struct attn_kernel linear_taylor_kernel = {
    .name = "linear_taylor", .version = "0.1.0", .dtype = ATTN_F32, .head_dim = 64, .value_dim = 64,
    .params = 0, .param = NULL, .params_bytes = sizeof(struct linear_taylor_params),
    .params_size = linear_taylor_params_size, .params_init = params_init_any, .workspace = linear_taylor_workspace,
    .forward = forward_any,
    .key_dtype = ATTN_F32, .value_dtype = ATTN_F32,
    .before = INT64_MAX, .after = INT64_MAX, .period = 1, .names_heads = 0,
    .names_sequences = 0, .in_parts = 0,
    .saved_power = 0, .has_sink = 0, .open_keys = 0, .end_of_keys = INT64_MAX,
};
#endif /* a compiler of this language */
