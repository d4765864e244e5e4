/* power_gated.c, made by attnc 0.1.0: attnc power_gated.yaml
   C11 with GNU extensions, for a C compiler; C++ includes power_gated.h.
   power attention with gates: weights are squares of s, and decay at each position
   Buckman, Gelada and Zhang, Scaling Context Requires Rethinking Attention (arXiv 2025), section 3;
   gate is the logarithm of the decay

   Computes, in f32, over the axes b (batch), g (key/value head), m (query head of g), i (query), j (key), d (64),
   e (64), position (key):
     q [b g m i d]
     k [b g j d]
     v [b g j e]
     gate [b g m j], learned parameter
     x4 [b g m position] = max(gate[b, g, m, position], -10000)
     x5 [b g m i] = sum over position of x4 if position <= i + query_start
     x6 [b g m j] = sum over position of x4 if position <= j
     x7 [b g m i j] = sum over d of q * k
     x8 [b g m i j] = x7 * 0.125 * (x7 * 0.125) * pow(2.718281828459045, x5 - x6)
     x9 [b g m i] = sum over j of x8 if j <= i + query_start
     x10 [b g m i e] = sum over j of x8 * v if j <= i + query_start
     x11 [b g m i e] = x9 + 1 == 0 ? 0 : x10 / (x9 + 1)
     out = x11
   query_start is the position of the first query: problem.query_start[b], or n_k - n_q if that is NULL.

   How: each vector lane holds one query. Keys are processed in tiles,
   so row sums and maxima need no reduction across lanes.
   The sums of a tile start from zero and are added to the sums so far. Tiles that no query sees are skipped.
   Linear from 5118 keys on: the weight is an inner product of 2080 features. The state is a sum over keys of 2080 x 65
   numbers.
     x86-64-v4  quadratic tiles of 64 queries and 288 keys; 154624 bytes of workspace per thread
     x86-64-v4  linear    tiles of 32 queries and 64 keys; 1704832 bytes of workspace per thread
     x86-64-v3  quadratic tiles of 64 queries and 288 keys; 154624 bytes of workspace per thread
     x86-64-v3  linear    tiles of 32 queries and 64 keys; 1704832 bytes of workspace per thread
     generic    quadratic tiles of 64 queries and 288 keys; 154624 bytes of workspace per thread
     generic    linear    tiles of 32 queries and 64 keys; 1704832 bytes of workspace per thread

   Contents; each section begins with ====. "generic" has the simplest code, so read it first.
     (top)      struct call, and what all targets share
     x86-64-v4  power_gated_rows_v4, power_gated_linear_v4, power_gated_saved_v4, power_gated_row_sums_v4,
     power_gated_dq_dlog_decay_q_v4, power_gated_dk_dv_v4, power_gated_dlog_decay_k_v4, power_gated_terms_dgate_v4,
     power_gated_linear_saved_v4, power_gated_linear_row_sums_v4, power_gated_linear_dq_dlog_decay_q_v4,
     power_gated_linear_linear_heads_0_linear_heads_1_dlog_decay_k_v4, power_gated_linear_totals1_v4,
     power_gated_linear_terms_dgate_v4, power_gated_terms_v4
     x86-64-v3  power_gated_rows_v3, power_gated_linear_v3, power_gated_saved_v3, power_gated_row_sums_v3,
     power_gated_dq_dlog_decay_q_v3, power_gated_dk_dv_v3, power_gated_dlog_decay_k_v3, power_gated_terms_dgate_v3,
     power_gated_linear_saved_v3, power_gated_linear_row_sums_v3, power_gated_linear_dq_dlog_decay_q_v3,
     power_gated_linear_linear_heads_0_linear_heads_1_dlog_decay_k_v3, power_gated_linear_totals1_v3,
     power_gated_linear_terms_dgate_v3, power_gated_terms_v3
     generic    power_gated_rows_any, power_gated_linear_any, power_gated_saved_any, power_gated_row_sums_any,
     power_gated_dq_dlog_decay_q_any, power_gated_dk_dv_any, power_gated_dlog_decay_k_any, power_gated_terms_dgate_any,
     power_gated_linear_saved_any, power_gated_linear_row_sums_any, power_gated_linear_dq_dlog_decay_q_any,
     power_gated_linear_linear_heads_0_linear_heads_1_dlog_decay_k_any, power_gated_linear_totals1_any,
     power_gated_linear_terms_dgate_any, power_gated_terms_any
     choice     the version that this machine runs
     interface  power_gated_workspace, power_gated_forward, power_gated_backward, power_gated_kernel

   Compile with: cc -O2 -fopenmp power_gated.c … -lattnrt -lm */
#ifdef __cplusplus
#error "power_gated.c is C, not C++: compile it with a C compiler"
#elif !defined __STDC_VERSION__ || __STDC_VERSION__ < 199901L
#error "power_gated.c is C11, not C89: compile it without -std=, or with -std=gnu11"
extern int power_gated_is_c11;
#elif !defined __GNUC__
#error "power_gated.c uses GNU C vector extensions: compile it with gcc or clang"
extern int power_gated_is_gnu_c;
#else
#include "power_gated.h"

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
    const struct power_gated_params *params;
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
    struct power_gated_strides at; /* of all arrays, with contiguous ones filled in */
    int64_t sharing; /* the number of heads of v and out that share a head of q and of k */
    float *sum_dq, *sum_dk; /* the caller's arrays, if dq and dk have a gradient for each sharing head */
    struct attn_strides sum_dq_at, sum_dk_at;
    float *saved_0; /* [B,H,n_q], or NULL */
    float *row_0; /* [B,H,n_q] */
    float *dgate_array;
    float *linear_heads_0;
    struct attn_strides linear_heads_0_at;
    float *linear_heads_1;
    struct attn_strides linear_heads_1_at;
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
    const float *factor, float *compensation)
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
    const float *factor, float *compensation)
{
    const int64_t first = update == 0 && steps > 2 * span ? span : steps;
    block_v4(rows, vectors, first, a, a_row, a_step, b, b_step, c, c_row, update,
        factor, compensation);
    if (update == 0)
        for (int64_t t = first; t < steps; t += span)
            block_v4(rows, vectors, min(span, steps - t), a + t * a_step, a_row, a_step, b + t * b_step, b_step, c,
                c_row, 1, NULL, NULL);
}

/* Like parts_v4, for any number of rows. `lanes` is a multiple of 16 * vectors. `tail` is rows % 6 if this is a
   constant, otherwise -1. */
TARGET_v4 INLINE void blocks_v4(const int vectors, const int64_t lanes, int64_t rows, const int tail, int64_t steps,
    const int64_t span, const float *a, int64_t a_row, int64_t a_step, const float *b, int64_t b_step, float *c,
        int64_t c_row,
    const int update, const float *factor, float *compensation)
{
    for (int64_t x = 0; x < lanes; x += vectors * 16) {
        const float *const f = factor ? factor + x : NULL;
        float *const left = compensation ? compensation + x : NULL;
        int64_t r = 0;
        for (; r + 6 <= rows; r += 6)
            parts_v4(6, vectors, steps, span, a + r * a_row, a_row, a_step, b + x, b_step,
                c + r * c_row + x, c_row, update, f, left ? left + r * c_row : NULL);
        switch (tail >= 0 ? tail : rows - r) {
        case 5: parts_v4(5, vectors, steps, span, a + r * a_row, a_row, a_step, b + x, b_step, c + r * c_row + x, c_row,
            update, f, left ? left + r * c_row : NULL); break;
        case 4: parts_v4(4, vectors, steps, span, a + r * a_row, a_row, a_step, b + x, b_step, c + r * c_row + x, c_row,
            update, f, left ? left + r * c_row : NULL); break;
        case 3: parts_v4(3, vectors, steps, span, a + r * a_row, a_row, a_step, b + x, b_step, c + r * c_row + x, c_row,
            update, f, left ? left + r * c_row : NULL); break;
        case 2: parts_v4(2, vectors, steps, span, a + r * a_row, a_row, a_step, b + x, b_step, c + r * c_row + x, c_row,
            update, f, left ? left + r * c_row : NULL); break;
        case 1: parts_v4(1, vectors, steps, span, a + r * a_row, a_row, a_step, b + x, b_step, c + r * c_row + x, c_row,
            update, f, left ? left + r * c_row : NULL); break;
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
                        now, f, left ? left + r * c_row : NULL);
                else
                    block_v4(16, 1, some, from + r * a_row, a_row, 1, b + t * b_step + x, b_step,
                        c + r * c_row + x, c_row, now, f, left ? left + r * c_row : NULL);
            for (; r < rows; r += 6)
                switch (min(rows - r, 6)) {
        default: block_v4(6, 1, some, from + r * a_row, a_row, a_step, b + t * b_step + x, b_step,
            c + r * c_row + x, c_row, now, f, left ? left + r * c_row : NULL); break;
        case 5: block_v4(5, 1, some, from + r * a_row, a_row, a_step, b + t * b_step + x, b_step, c + r * c_row + x,
            c_row, now, f, left ? left + r * c_row : NULL); break;
        case 4: block_v4(4, 1, some, from + r * a_row, a_row, a_step, b + t * b_step + x, b_step, c + r * c_row + x,
            c_row, now, f, left ? left + r * c_row : NULL); break;
        case 3: block_v4(3, 1, some, from + r * a_row, a_row, a_step, b + t * b_step + x, b_step, c + r * c_row + x,
            c_row, now, f, left ? left + r * c_row : NULL); break;
        case 2: block_v4(2, 1, some, from + r * a_row, a_row, a_step, b + t * b_step + x, b_step, c + r * c_row + x,
            c_row, now, f, left ? left + r * c_row : NULL); break;
        case 1: block_v4(1, 1, some, from + r * a_row, a_row, a_step, b + t * b_step + x, b_step, c + r * c_row + x,
            c_row, now, f, left ? left + r * c_row : NULL); break;
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
    const int update, const float *factor, float *compensation)
{
    const int64_t x = lanes_in_blocks_v4(vectors, lanes);
    blocks_v4(vectors, x, rows, tail, steps, span, a, a_row, a_step, b, b_step, c, c_row, update,
        factor, compensation);
    if (x < lanes)
        narrow_v4(lanes - x, rows, steps, span, a, a_row, a_step, b + x, b_step, c + x, c_row,
            update, factor ? factor + x : NULL, compensation ? compensation + x : NULL);
}

/* Like dot_v4, but a is in memory, so its rows are prefetched 64 rows early. For each row of a, `width` elements
   of a row of `next` are prefetched too, which a later product reads, and `result_width` elements of a row of `result`,
   which the task writes at its end. `result` has `results` rows. */
TARGET_v4 INLINE void dot_ahead_v4(const int vectors, const int64_t lanes, int64_t rows, const int tail, int64_t steps,
    const int64_t span, const float *a, int64_t a_row, int64_t a_step, const float *b, int64_t b_step, float *c,
    int64_t c_row, const int update, const float *factor, float *compensation, const float *next, int64_t next_row,
    const int64_t width, const float *result, int64_t result_row, const int64_t result_width, int64_t results)
{
    const int64_t whole = rows - rows % 6, line = 64 / (int64_t)sizeof *a,
        in_blocks = lanes_in_blocks_v4(vectors, lanes);
    int64_t x = 0;
    for (; x < in_blocks; x += vectors * 16) {
        const float *const f = factor ? factor + x : NULL;
        float *const left = compensation ? compensation + x : NULL;
        for (int64_t r = 0; r < whole; r += 6) {
            for (int64_t k = r; k < r + 6 && x == 0; k++) {
                for (int64_t t = 0; t < steps; t += line) __builtin_prefetch(a + (k + 64) * a_row + t, 0, 2);
                for (int64_t t = 0; t < width; t += line) __builtin_prefetch(next + k * next_row + t, 0, 2);
                for (int64_t t = 0; t < result_width && k < results; t += line)
                    __builtin_prefetch(result + k * result_row + t, 1, 2);
            }
            parts_v4(6, vectors, steps, span, a + r * a_row, a_row, a_step, b + x, b_step, c + r * c_row + x, c_row,
                update, f, left ? left + r * c_row : NULL);
        }
        dot_v4(vectors, vectors * 16, rows % 6, tail, steps, span, a + whole * a_row, a_row, a_step, b + x, b_step,
            c + whole * c_row + x, c_row, update, f, left ? left + whole * c_row : NULL);
    }
    if (x < lanes)
        narrow_v4(lanes - x, rows, steps, span, a, a_row, a_step, b + x, b_step, c + x, c_row, update,
            factor ? factor + x : NULL, compensation ? compensation + x : NULL);
}

/* Like dot_v4, but uses 0 for infinity and NaN in a. It copies one row of a at a time. */
TARGET_v4 INLINE void dot_finite_v4(const int vectors, const int64_t lanes, int64_t rows, const int tail, int64_t steps,
    const int64_t span, const float *a, int64_t a_row, int64_t a_step, const float *b, int64_t b_step, float *c,
        int64_t c_row,
    const int update, const float *factor, float *compensation)
{
    float row[288];
    (void)tail;
    for (int64_t r = 0; r < rows; r++, a += a_row) {
        for (int64_t t = 0; t < steps; t++) {
            row[t] = finite_v4(a + t * a_step, 0, 1, 1) ? a[t * a_step] : 0;
        }
        dot_v4(vectors, lanes, 1, 1, steps, span, row, 0, 1, b, b_step, c + r * c_row, c_row,
            update, factor, compensation ? compensation + r * c_row : NULL);
    }
}

/* The functions for the products below. Each calls dot_v4 or a similar function with constants. */
TARGET_v4 APART void dot0_v4(int64_t lanes, int64_t rows, const float *a, int64_t a_row, const float *b, float *c,
    const float *next, int64_t next_row, const float *result, int64_t result_row, int64_t results)
{
    dot_ahead_v4(/*vectors=*/4, lanes, rows, /*tail=*/-1, /*steps=*/64, /*span=*/32, a, a_row, /*a_step=*/1, b,
        /*b_step=*/80, c, /*c_row=*/80, /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL, next, next_row,
        /*width=*/64, result, result_row, /*result_width=*/64, results);
}
TARGET_v4 APART void dot1_v4(int64_t lanes, int64_t steps, const float *a, int64_t a_step, const float *b, float *c,
    float *compensation)
{
    dot_finite_v4(/*vectors=*/4, lanes, /*rows=*/64, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/1, a_step, b,
        /*b_step=*/80, c, /*c_row=*/80, /*update=*/3, /*factor=*/NULL, compensation);
}
TARGET_v4 APART void dot2_v4(int64_t lanes, int64_t steps, const float *a, int64_t a_step, const float *b, float *c,
    float *compensation)
{
    dot_v4(/*vectors=*/4, lanes, /*rows=*/64, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/1, a_step, b, /*b_step=*/80,
        c, /*c_row=*/80, /*update=*/3, /*factor=*/NULL, compensation);
}
TARGET_v4 APART void dot3_v4(int64_t rows, int64_t steps, const float *a, const float *b, int64_t b_step, float *c)
{
    dot_v4(/*vectors=*/4, /*lanes=*/64, rows, /*tail=*/-1, steps, /*span=*/192, a, /*a_row=*/80, /*a_step=*/1, b,
        b_step, c, /*c_row=*/64, /*update=*/1, /*factor=*/NULL, /*compensation=*/NULL);
}
TARGET_v4 APART void dot4_v4(int64_t lanes, int64_t steps, const float *a, const float *b, float *c)
{
    dot_v4(/*vectors=*/2, lanes, /*rows=*/64, /*tail=*/4, steps, /*span=*/32, a, /*a_row=*/1, /*a_step=*/64, b,
        /*b_step=*/32, c, /*c_row=*/32, /*update=*/1, /*factor=*/NULL, /*compensation=*/NULL);
}
TARGET_v4 APART void dot5_v4(int64_t lanes, int64_t rows, const float *a, int64_t a_row, const float *b, float *c,
    const float *next, int64_t next_row)
{
    dot_ahead_v4(/*vectors=*/2, lanes, rows, /*tail=*/-1, /*steps=*/64, /*span=*/32, a, a_row, /*a_step=*/1, b,
        /*b_step=*/32, c, /*c_row=*/32, /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL, next, next_row,
        /*width=*/64, /*result=*/NULL, /*result_row=*/0, /*result_width=*/0, /*results=*/0);
}
TARGET_v4 APART void dot6_v4(int64_t lanes, int64_t steps, const float *a, int64_t a_step, const float *b, float *c,
    float *compensation)
{
    dot_finite_v4(/*vectors=*/2, lanes, /*rows=*/64, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/1, a_step, b,
        /*b_step=*/32, c, /*c_row=*/32, /*update=*/3, /*factor=*/NULL, compensation);
}
TARGET_v4 APART void dot7_v4(int64_t lanes, int64_t steps, const float *a, int64_t a_step, const float *b, float *c,
    float *compensation)
{
    dot_v4(/*vectors=*/2, lanes, /*rows=*/64, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/1, a_step, b, /*b_step=*/32,
        c, /*c_row=*/32, /*update=*/3, /*factor=*/NULL, compensation);
}
TARGET_v4 APART void dot8_v4(int64_t lanes, int64_t rows, const float *a, int64_t a_row, const float *b, float *c)
{
    dot_ahead_v4(/*vectors=*/4, lanes, rows, /*tail=*/-1, /*steps=*/64, /*span=*/32, a, a_row, /*a_step=*/1, b,
        /*b_step=*/80, c, /*c_row=*/80, /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL, /*next=*/NULL,
        /*next_row=*/0, /*width=*/0, /*result=*/NULL, /*result_row=*/0, /*result_width=*/0, /*results=*/0);
}
TARGET_v4 APART void dot9_v4(int64_t lanes, int64_t rows, const float *a, int64_t a_row, const float *b, float *c,
    const float *result, int64_t result_row, int64_t results)
{
    dot_ahead_v4(/*vectors=*/4, lanes, rows, /*tail=*/-1, /*steps=*/64, /*span=*/32, a, a_row, /*a_step=*/1, b,
        /*b_step=*/80, c, /*c_row=*/80, /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL, /*next=*/NULL,
        /*next_row=*/0, /*width=*/0, result, result_row, /*result_width=*/64, results);
}
TARGET_v4 APART void dot10_v4(int64_t lanes, int64_t rows, const float *a, int64_t a_row, const float *b, float *c)
{
    dot_ahead_v4(/*vectors=*/2, lanes, rows, /*tail=*/-1, /*steps=*/64, /*span=*/32, a, a_row, /*a_step=*/1, b,
        /*b_step=*/32, c, /*c_row=*/32, /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL, /*next=*/NULL,
        /*next_row=*/0, /*width=*/0, /*result=*/NULL, /*result_row=*/0, /*result_width=*/0, /*results=*/0);
}
TARGET_v4 APART void dot11_v4(int64_t lanes, const float *a, const float *b, float *c)
{
    dot_v4(/*vectors=*/2, lanes, /*rows=*/2080, /*tail=*/4, /*steps=*/64, /*span=*/32, a, /*a_row=*/64, /*a_step=*/1, b,
        /*b_step=*/32, c, /*c_row=*/32, /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL);
}
TARGET_v4 APART void dot12_v4(int64_t rows, int64_t steps, const float *a, const float *b, float *c)
{
    dot_v4(/*vectors=*/4, /*lanes=*/64, rows, /*tail=*/-1, steps, /*span=*/192, a, /*a_row=*/80, /*a_step=*/1, b,
        /*b_step=*/64, c, /*c_row=*/64, /*update=*/1, /*factor=*/NULL, /*compensation=*/NULL);
}
TARGET_v4 APART void dot13_v4(int64_t lanes, const float *a, const float *b, float *c)
{
    dot_v4(/*vectors=*/4, lanes, /*rows=*/2080, /*tail=*/4, /*steps=*/64, /*span=*/32, a, /*a_row=*/64, /*a_step=*/1, b,
        /*b_step=*/80, c, /*c_row=*/80, /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL);
}
TARGET_v4 APART void dot14_v4(int64_t lanes, int64_t steps, const float *a, const float *b, float *c)
{
    dot_v4(/*vectors=*/4, lanes, /*rows=*/64, /*tail=*/4, steps, /*span=*/32, a, /*a_row=*/1, /*a_step=*/64, b,
        /*b_step=*/80, c, /*c_row=*/80, /*update=*/1, /*factor=*/NULL, /*compensation=*/NULL);
}
TARGET_v4 APART void dot15_v4(int64_t lanes, int64_t rows, const float *a, const float *b, float *c)
{
    dot_v4(/*vectors=*/4, lanes, rows, /*tail=*/-1, /*steps=*/64, /*span=*/32, a, /*a_row=*/1, /*a_step=*/80, b,
        /*b_step=*/80, c, /*c_row=*/80, /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL);
}
TARGET_v4 APART void dot16_v4(int64_t lanes, int64_t steps, const float *a, const float *b, float *c,
    float *compensation)
{
    dot_finite_v4(/*vectors=*/4, lanes, /*rows=*/64, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/80, /*a_step=*/1, b,
        /*b_step=*/80, c, /*c_row=*/80, /*update=*/3, /*factor=*/NULL, compensation);
}
TARGET_v4 APART void dot17_v4(int64_t lanes, int64_t steps, const float *a, const float *b, float *c,
    float *compensation)
{
    dot_v4(/*vectors=*/4, lanes, /*rows=*/64, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/80, /*a_step=*/1, b,
        /*b_step=*/80, c, /*c_row=*/80, /*update=*/3, /*factor=*/NULL, compensation);
}

/* Computes task number `task`: one tile of queries of one head. `work` is this thread's workspace. */
TARGET_v4 static void power_gated_rows_v4(const struct call *call, int64_t task, unsigned char *work)
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
    const float *const q = call->q + b * call->p.q.batch + (g / call->sharing * members + m) * call->p.q.head;
    const int64_t q_row = call->p.q.row;
    const float *const k = call->k + b * call->p.k.batch + g / call->sharing * call->p.k.head;
    const int64_t k_row = call->p.k.row;
    const float *const v = call->v + b * call->p.v.batch + g * call->p.v.head;
    const int64_t v_row = call->p.v.row;
    const float *const log_decay_q_low = call->log_decay_q_low + b * call->log_decay_q_low_at.batch + (g * members + m)
        * call->log_decay_q_low_at.head;
    const float *const log_decay_q = call->log_decay_q + b * call->log_decay_q_at.batch + (g * members + m) *
        call->log_decay_q_at.head;
    const float *const log_decay_k_low = call->log_decay_k_low + b * call->log_decay_k_low_at.batch + (g * members + m)
        * call->log_decay_k_low_at.head;
    const float *const log_decay_k = call->log_decay_k + b * call->log_decay_k_at.batch + (g * members + m) *
        call->log_decay_k_at.head;
    float *const score = (float *)(void *)(work + 0); /* [j: 288, i: 64 of 80] */
    float *const row_sum = (float *)(void *)(work + 92160); /* [i: 64] */
    float *const row_sum_compensation = (float *)(void *)(work + 92416); /* [i: 64] */
    float *const sum = (float *)(void *)(work + 92672); /* [e: 64, i: 64 of 80] */
    float *const sum_compensation = (float *)(void *)(work + 113152); /* [e: 64, i: 64 of 80] */
    float *const out = call->out + b * call->p.out.batch + (g * members + m) * call->p.out.head;
    const int64_t out_row = call->p.out.row;
    float *const saved_0 = call->saved_0 ? call->saved_0 + (b * call->p.heads + (g * members + m)) * call->p.n_q : NULL;
    float *const q_tile = (float *)(void *)(work + 133632); /* [d: 64, i: 64 of 80] */
    float *const log_decay_q_tile = (float *)(void *)(work + 154112); /* [i: 64] */
    float *const log_decay_q_low_tile = (float *)(void *)(work + 154368); /* [i: 64] */
    int64_t results = i1 - i0; /* rows of out to prefetch during the first product */
    /* q_tile = q, with zeros beyond the last row */
    transpose_padded_v4(q + i0 * q_row, q_row, i1 - i0, 64, q_tile, 80, 16);
    /* log_decay_q_tile = log_decay_q, with zeros beyond the last row */
    for (int64_t i = 0; i < round_up(i1 - i0, 16); i++)
        log_decay_q_tile[i] = i < i1 - i0 ? log_decay_q[(i0 + i)] : 0;
    /* log_decay_q_low_tile = log_decay_q_low, with zeros beyond the last row */
    for (int64_t i = 0; i < round_up(i1 - i0, 16); i++)
        log_decay_q_low_tile[i] = i < i1 - i0 ? log_decay_q_low[(i0 + i)] : 0;
    /* q_tile = q_tile * 0.125f */
    for (int64_t d = 0; d < 64; d++) {
        for (int64_t i = 0; i < i1 - i0; i += 16) {
            store_v4(q_tile + d * 80 + i, load_v4(q_tile + d * 80 + i) * 0.125f);
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
            store_v4(sum + e * 80 + i, splat_v4(0.0f));
            store_v4(sum_compensation + e * 80 + i, splat_v4(0.0f));
        }
    }
    for (int64_t j0 = 0, j_end = min(n_k, i1 + query_start); j0 < j_end; j0 += 288) {
        const int64_t j1 = min(j0 + 288, j_end);
        /* score[j][i] = sum over d of k * q_tile */
        dot0_v4(round_up(i1 - i0, 16), j1 - j0, k + j0 * k_row, k_row, q_tile, score, v + j0 * v_row, v_row,
            out + i0 * out_row, out_row, results);
        results = 0;
        if ((i0 + query_start + 1) < j1) { /* the tile is partly outside the mask */
            /* score = select(j <= (i + query_start), (score * score) * exp2(((log_decay_q_tile - log_decay_k) +
               (log_decay_q_low_tile - log_de ... */
            for (int64_t i = 0; i < i1 - i0; i += 16) {
                const ints_v4 t_0 = (i0 + i + lane_v4) + query_start;
                const vec_v4 log_decay_q_tile_2 = load_v4(log_decay_q_tile + i);
                const vec_v4 log_decay_q_low_tile_3 = load_v4(log_decay_q_low_tile + i);
                vec_v4 row_sum_in = (vec_v4){0};
                for (int64_t j = 0; j < j1 - j0; j++) {
                    const vec_v4 score_1 = load_v4(score + j * 80 + i);
                    const vec_v4 score_new4 = pick_v4(__builtin_convertvector((j0 + j) <= t_0, mask_v4),
                        (score_1 * score_1) * exp2_v4(((log_decay_q_tile_2 - log_decay_k[(j0 + j)]) +
                        (log_decay_q_low_tile_3 - log_decay_k_low[(j0 + j)])) * 1.442695f), splat_v4(0.0f));
                    store_v4(score + j * 80 + i, score_new4);
                    row_sum_in += score_new4;
                }
                add_v4(row_sum + i, row_sum_compensation + i, row_sum_in, splat_v4(1));
            }
        }
        if (!((i0 + query_start + 1) < j1)) { /* the tile is wholly inside the mask */
            /* score = (score * score) * exp2(((log_decay_q_tile - log_decay_k) + (log_decay_q_low_tile -
               log_decay_k_low)) * 1.442695f); row_s ... */
            for (int64_t i = 0; i < i1 - i0; i += 16) {
                const vec_v4 log_decay_q_tile_6 = load_v4(log_decay_q_tile + i);
                const vec_v4 log_decay_q_low_tile_7 = load_v4(log_decay_q_low_tile + i);
                vec_v4 row_sum_in = (vec_v4){0};
                for (int64_t j = 0; j < j1 - j0; j++) {
                    const vec_v4 score_5 = load_v4(score + j * 80 + i);
                    const vec_v4 score_new8 = (score_5 * score_5) * exp2_v4(((log_decay_q_tile_6 - log_decay_k[(j0 +
                        j)]) + (log_decay_q_low_tile_7 - log_decay_k_low[(j0 + j)])) * 1.442695f);
                    store_v4(score + j * 80 + i, score_new8);
                    row_sum_in += score_new8;
                }
                add_v4(row_sum + i, row_sum_compensation + i, row_sum_in, splat_v4(1));
            }
        }
        /* sum[e][i] += sum over j of v * score */
        if (__builtin_expect(((i0 + query_start + 1) < j1) && !finite_v4(v + j0 * v_row, v_row, j1 - j0, 64),
            0)) { /* infinity and NaN affect only queries that see them */
            dot1_v4(round_up(i1 - i0, 16), j1 - j0, v + j0 * v_row, v_row, score, sum, sum_compensation);
            for (int64_t j = 0; j < j1 - j0; j++) {
                mask_v4 in_region[4] = {0};
                if (finite_v4(v + j0 * v_row + j * v_row, 1, 64, 1)) continue;
                for (int64_t i = 0; i < i1 - i0; i += 16) {
                    in_region[i / 16] = __builtin_convertvector((j0 + j) <= ((i0 + i + lane_v4) + query_start),
                        mask_v4);
                }
                add_seen_v4(64, sum, 80, v + j0 * v_row + j * v_row, 1, score + j * 80, in_region, i1 - i0);
            }
        } else
            dot2_v4(round_up(i1 - i0, 16), j1 - j0, v + j0 * v_row, v_row, score, sum, sum_compensation);
    }
    /* sum = select((row_sum + 1.0f) == 0.0f, 0.0f, sum / (row_sum + 1.0f)) */
    for (int64_t i = 0; i < i1 - i0; i += 16) {
        const vec_v4 t_9 = load_v4(row_sum + i) + 1.0f;
        const mask_v4 t_10 = t_9 == 0.0f;
        for (int64_t e = 0; e < 64; e++) {
            store_v4(sum + e * 80 + i, pick_v4(t_10, splat_v4(0.0f), load_v4(sum + e * 80 + i) / t_9));
        }
    }
    if (saved_0) {
        /* row_sum = select((row_sum + 1.0f) == 0.0f, 0.0f, 1.0f / (row_sum + 1.0f)) */
        for (int64_t i = 0; i < i1 - i0; i += 16) {
            const vec_v4 t_11 = load_v4(row_sum + i) + 1.0f;
            store_v4(row_sum + i, pick_v4(t_11 == 0.0f, splat_v4(0.0f), 1.0f / t_11));
        }
    }
    /* out = sum, transposed back */
    transpose_out_v4(sum, 80, 64, i1 - i0, out + i0 * out_row, out_row, 16);
    if (saved_0) {
        /* saved_0 = row_sum */
        for (int64_t i = 0; i < i1 - i0; i++)
            saved_0[(i0 + i)] = row_sum[i];
    }
}

/* Initialises the states: they contain no keys yet. */
TARGET_v4 APART void power_gated_begin_v4(const struct call *call, int64_t task, const struct part *part,
    int64_t iteration)
{
    (void)call;
    (void)task;
    const int64_t f0 = iteration * 32, f1 = min(f0 + 32, 2080);
    float *const carried_sum = (float *)(void *)(part->shared + 0); /* [f: 2080] */
    float *const carried_sum_compensation = (float *)(void *)(part->shared + 540800); /* [f: 2080] */
    float *const carried = (float *)(void *)(part->shared + 8320); /* [f: 2080, e: 64] */
    float *const carried_compensation = (float *)(void *)(part->shared + 549120); /* [f: 2080, e: 64] */
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
TARGET_v4 APART void power_gated_keys_v4(const struct call *call, int64_t task, const struct part *part,
    int64_t iteration)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_k = call->p.n_k;
    const int64_t chunk = iteration;
    const int64_t chunk0 = part->chunk0;
    const int64_t m = task % members;
    const int64_t g = task / members % kv_heads;
    const int64_t b = task / members / kv_heads;
    const float *const k = call->k + b * call->p.k.batch + g / call->sharing * call->p.k.head;
    const int64_t k_row = call->p.k.row;
    const float *const v = call->v + b * call->p.v.batch + g * call->p.v.head;
    const int64_t v_row = call->p.v.row;
    const float *const log_decay_k_low = call->log_decay_k_low + b * call->log_decay_k_low_at.batch + (g * members + m)
        * call->log_decay_k_low_at.head;
    const float *const log_decay_k = call->log_decay_k + b * call->log_decay_k_at.batch + (g * members + m) *
        call->log_decay_k_at.head;
    const float *const log_decay_chunk_low = call->log_decay_chunk_low + b * call->log_decay_chunk_low_at.batch + (g *
        members + m) * call->log_decay_chunk_low_at.head;
    const float *const log_decay_chunk = call->log_decay_chunk + b * call->log_decay_chunk_at.batch + (g * members + m)
        * call->log_decay_chunk_at.head;
    float *const key_features = (float *)(void *)(part->work + 0); /* [f: 192, j: 64 of 80] */
    float *const state_sum = (float *)(void *)(part->slots + 0); /* [chunk, f: 2080] */
    float *const state = (float *)(void *)(part->slots + 8320); /* [chunk, f: 2080, e: 64] */
    float *const k_tile = (float *)(void *)(part->work + 61440); /* [d: 64, j: 64 of 80] */
    float *const log_decay_k_tile = (float *)(void *)(part->work + 81920); /* [j: 64] */
    float *const log_decay_k_low_tile = (float *)(void *)(part->work + 82176); /* [j: 64] */
    /* state_sum = 0.0f */
    for (int64_t f = 0; f < 2080; f += 16) {
        store_v4(state_sum + (chunk - chunk0) * 135200 + f, splat_v4(0.0f));
    }
    /* state = 0.0f */
    for (int64_t f = 0; f < 2080; f++) {
        for (int64_t e_first = 0; e_first < 64; e_first += 64) {
            UNROLL for (int64_t vector = 0, e = e_first; vector < 4; vector++, e += 16) {
                store_v4(state + (chunk - chunk0) * 135200 + f * 64 + e, splat_v4(0.0f));
            }
        }
    }
    for (int64_t j0 = chunk * 128, j_end = min(n_k, (chunk + 1) * 128); j0 < j_end; j0 += 64) {
        const int64_t j1 = min(j0 + 64, j_end);
        /* k_tile = k, with zeros beyond the last row */
        transpose_padded_v4(k + j0 * k_row, k_row, j1 - j0, 64, k_tile, 80, 64);
        /* log_decay_k_tile = log_decay_k, with zeros beyond the last row */
        for (int64_t j = 0; j < round_up(j1 - j0, 16); j++)
            log_decay_k_tile[j] = j < j1 - j0 ? log_decay_k[(j0 + j)] : 0;
        /* log_decay_k_low_tile = log_decay_k_low, with zeros beyond the last row */
        for (int64_t j = 0; j < round_up(j1 - j0, 16); j++)
            log_decay_k_low_tile[j] = j < j1 - j0 ? log_decay_k_low[(j0 + j)] : 0;
        for (int64_t f0 = 0, f_end = 2080; f0 < f_end; f0 += 192) {
            const int64_t f1 = min(f0 + 192, f_end);
            /* key_features = (k_tile * k_tile) * exp2(((log_decay_chunk - log_decay_k_tile) + (log_decay_chunk_low -
               log_decay_k_low_tile)) *  ... */
            const float log_decay_chunk_0 = log_decay_chunk[max(min(((chunk + 1) * 128) - 1, n_k - 1), 0)];
            const float log_decay_chunk_low_1 = log_decay_chunk_low[max(min(((chunk + 1) * 128) - 1, n_k - 1), 0)];
            for (int64_t j = 0; j < j1 - j0; j += 16) {
                const vec_v4 t_2 = exp2_v4(((log_decay_chunk_0 - load_v4(log_decay_k_tile + j)) + (log_decay_chunk_low_1
                    - load_v4(log_decay_k_low_tile + j))) * 1.442695f);
                for (int64_t f = f0; f < f1; f++) {
                    store_v4(key_features + (f - f0) * 80 + j, (load_v4(k_tile + (f % 64) * 80 + j) * load_v4(k_tile +
                        (((f % 64) + (f / 64)) % 64) * 80 + j)) * t_2);
                }
            }
            /* state_sum += key_features */
            for (int64_t f = f0; f < f1; f++) {
                vec_v4 lane_sums = splat_v4(0);
                for (int64_t j = 0; j < j1 - j0; j += 16) {
                    const vec_v4 term = load_v4(key_features + (f - f0) * 80 + j);
                    lane_sums += j + 16 <= j1 - j0 ? term : pick_v4(__builtin_convertvector(j + lane_v4 < j1 - j0,
                        mask_v4), term, splat_v4(0));
                }
                const float total = lane_sum_v4(lane_sums);
                state_sum[(chunk - chunk0) * 135200 + f] += total;
            }
            /* state[f][e] += sum over j of key_features * v */
            dot3_v4(f1 - f0, j1 - j0, key_features, v + j0 * v_row, v_row, state + (chunk - chunk0) * 135200 + f0 * 64);
        }
    }
}

/* Folds the slots of the current chunks, in order, for some elements of the states. */
TARGET_v4 APART void power_gated_fold_v4(const struct call *call, int64_t task, const struct part *part,
    int64_t iteration)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_k = call->p.n_k;
    const int64_t f0 = iteration * 32, f1 = min(f0 + 32, 2080);
    const int64_t chunk0 = part->chunk0;
    const int64_t chunk1 = part->chunk1;
    const int64_t m = task % members;
    const int64_t g = task / members % kv_heads;
    const int64_t b = task / members / kv_heads;
    const float *const log_decay_chunk_low = call->log_decay_chunk_low + b * call->log_decay_chunk_low_at.batch + (g *
        members + m) * call->log_decay_chunk_low_at.head;
    const float *const log_decay_chunk = call->log_decay_chunk + b * call->log_decay_chunk_at.batch + (g * members + m)
        * call->log_decay_chunk_at.head;
    float *const state_sum = (float *)(void *)(part->slots + 0); /* [chunk, f: 2080] */
    float *const state = (float *)(void *)(part->slots + 8320); /* [chunk, f: 2080, e: 64] */
    float *const carried_sum = (float *)(void *)(part->shared + 0); /* [f: 2080] */
    float *const carried_sum_compensation = (float *)(void *)(part->shared + 540800); /* [f: 2080] */
    float *const carried = (float *)(void *)(part->shared + 8320); /* [f: 2080, e: 64] */
    float *const carried_compensation = (float *)(void *)(part->shared + 549120); /* [f: 2080, e: 64] */
    float *const kept_share_2 = (float *)(void *)(part->work + 0); /* [f: 2080] */
    float *const lost_share_2 = (float *)(void *)(part->work + 8320); /* [f: 2080] */
    for (int64_t chunk = chunk0; chunk < chunk1; chunk++) {
        /* kept_share = select(exp2(((log_decay_chunk - log_decay_chunk) + (log_decay_chunk_low - log_decay_chunk_low))
           * 1.442695f) < 0.5f ... */
        const float t_3 = (log_decay_chunk[max(min(((chunk + 1) * 128) - 1, n_k - 1),
            0)] - log_decay_chunk[max(min((chunk * 128) - 1, n_k - 1),
            0)]) + (log_decay_chunk_low[max(min(((chunk + 1) * 128) - 1, n_k - 1),
            0)] - log_decay_chunk_low[max(min((chunk * 128) - 1, n_k - 1), 0)]);
        const float t_4 = exp2f(t_3 * 1.442695f);
        const int t_5 = t_4 < 0.5f;
        const float t_6 = t_5 ? t_4 : 1.0f;
        const float t_8 = t_5 ? 0.0f : (-expm1f(t_3));
        for (int64_t f = f0; f < f1; f += 16) {
            const vec_v4 kept_share_new7 = splat_v4(t_6);
            const vec_v4 lost_share_new9 = splat_v4(t_8);
            const vec_v4 carried_sum_10 = load_v4(carried_sum + f);
            const vec_v4 before_sum_new11 = carried_sum_10;
            const vec_v4 carried_sum_new12 = carried_sum_10 * kept_share_new7;
            store_v4(carried_sum + f, carried_sum_new12);
            store_v4(carried_sum_compensation + f, load_v4(carried_sum_compensation + f) * kept_share_new7);
            add_v4(carried_sum + f, carried_sum_compensation + f, load_v4(state_sum + (chunk - chunk0) * 135200 + f) -
                (carried_sum_new12 * lost_share_new9), splat_v4(1));
            store_v4(state_sum + (chunk - chunk0) * 135200 + f, before_sum_new11);
        }
        /* kept_share_2 = select(exp2(((log_decay_chunk - log_decay_chunk) + (log_decay_chunk_low -
           log_decay_chunk_low)) * 1.442695f) < 0. ... */
        const float t_13 = (log_decay_chunk[max(min(((chunk + 1) * 128) - 1, n_k - 1),
            0)] - log_decay_chunk[max(min((chunk * 128) - 1, n_k - 1),
            0)]) + (log_decay_chunk_low[max(min(((chunk + 1) * 128) - 1, n_k - 1),
            0)] - log_decay_chunk_low[max(min((chunk * 128) - 1, n_k - 1), 0)]);
        const float t_14 = exp2f(t_13 * 1.442695f);
        const int t_15 = t_14 < 0.5f;
        const float t_16 = t_15 ? t_14 : 1.0f;
        const float t_17 = t_15 ? 0.0f : (-expm1f(t_13));
        for (int64_t f = f0; f < f1; f += 16) {
            store_v4(kept_share_2 + f, splat_v4(t_16));
            store_v4(lost_share_2 + f, splat_v4(t_17));
        }
        /* before = carried; carried = carried * kept_share_2; carried_compensation = carried_compensation *
           kept_share_2; carried += state ... */
        for (int64_t f = f0; f < f1; f++) {
            for (int64_t e_first = 0; e_first < 64; e_first += 64) {
                UNROLL for (int64_t vector = 0, e = e_first; vector < 4; vector++, e += 16) {
                    const vec_v4 carried_18 = load_v4(carried + f * 64 + e);
                    const vec_v4 before_new19 = carried_18;
                    const float kept_share_2_20 = kept_share_2[f];
                    const vec_v4 carried_new21 = carried_18 * kept_share_2_20;
                    store_v4(carried + f * 64 + e, carried_new21);
                    store_v4(carried_compensation + f * 64 + e, load_v4(carried_compensation + f * 64 + e) *
                        kept_share_2_20);
                    add_v4(carried + f * 64 + e, carried_compensation + f * 64 + e,
                        load_v4(state + (chunk - chunk0) * 135200 + f * 64 + e) - (carried_new21 * lost_share_2[f]),
                        splat_v4(1));
                    store_v4(state + (chunk - chunk0) * 135200 + f * 64 + e, before_new19);
                }
            }
        }
    }
}

/* Processes the queries of a chunk: reads the state before the chunk, and the keys in the chunk. */
TARGET_v4 APART void power_gated_queries_v4(const struct call *call, int64_t task, const struct part *part,
    int64_t iteration)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_q = call->p.n_q;
    const int64_t n_k = call->p.n_k;
    const int64_t chunk = iteration;
    const int64_t chunk0 = part->chunk0;
    const int64_t m = task % members;
    const int64_t g = task / members % kv_heads;
    const int64_t b = task / members / kv_heads;
    const int64_t query_start = call->p.query_start ? call->p.query_start[b] : n_k - n_q;
    const float *const q = call->q + b * call->p.q.batch + (g / call->sharing * members + m) * call->p.q.head;
    const int64_t q_row = call->p.q.row;
    const float *const k = call->k + b * call->p.k.batch + g / call->sharing * call->p.k.head;
    const int64_t k_row = call->p.k.row;
    const float *const v = call->v + b * call->p.v.batch + g * call->p.v.head;
    const int64_t v_row = call->p.v.row;
    const float *const log_decay_q_low = call->log_decay_q_low + b * call->log_decay_q_low_at.batch + (g * members + m)
        * call->log_decay_q_low_at.head;
    const float *const log_decay_q = call->log_decay_q + b * call->log_decay_q_at.batch + (g * members + m) *
        call->log_decay_q_at.head;
    const float *const log_decay_k_low = call->log_decay_k_low + b * call->log_decay_k_low_at.batch + (g * members + m)
        * call->log_decay_k_low_at.head;
    const float *const log_decay_k = call->log_decay_k + b * call->log_decay_k_at.batch + (g * members + m) *
        call->log_decay_k_at.head;
    const float *const log_decay_chunk_low = call->log_decay_chunk_low + b * call->log_decay_chunk_low_at.batch + (g *
        members + m) * call->log_decay_chunk_low_at.head;
    const float *const log_decay_chunk = call->log_decay_chunk + b * call->log_decay_chunk_at.batch + (g * members + m)
        * call->log_decay_chunk_at.head;
    float *const state_sum = (float *)(void *)(part->slots + 0); /* [chunk, f: 2080] */
    float *const state = (float *)(void *)(part->slots + 8320); /* [chunk, f: 2080, e: 64] */
    float *const query_features = (float *)(void *)(part->work + 0); /* [d: 64, i: 32] */
    float *const score = (float *)(void *)(part->work + 8192); /* [j: 64, i: 32] */
    float *const query = (float *)(void *)(part->work + 8192); /* [f: 192, i: 32] */
    float *const row_sum_from_state = (float *)(void *)(part->work + 32768); /* [i: 32] */
    float *const row_sum = (float *)(void *)(part->work + 32896); /* [i: 32] */
    float *const row_sum_compensation = (float *)(void *)(part->work + 33024); /* [i: 32] */
    float *const sum_from_state = (float *)(void *)(part->work + 33152); /* [e: 64, i: 32] */
    float *const sum = (float *)(void *)(part->work + 16384); /* [e: 64, i: 32] */
    float *const sum_compensation = (float *)(void *)(part->work + 24576); /* [e: 64, i: 32] */
    float *const out = call->out + b * call->p.out.batch + (g * members + m) * call->p.out.head;
    const int64_t out_row = call->p.out.row;
    float *const saved_0 = call->saved_0 ? call->saved_0 + (b * call->p.heads + (g * members + m)) * call->p.n_q : NULL;
    float *const q_tile = (float *)(void *)(part->work + 41344); /* [d: 64, i: 32] */
    float *const log_decay_q_tile = (float *)(void *)(part->work + 49536); /* [i: 32] */
    float *const log_decay_q_low_tile = (float *)(void *)(part->work + 49664); /* [i: 32] */
    for (int64_t i0 = (chunk == 0) ? 0 : max(0, (chunk * 128) - query_start), i_end = min(n_q,
        ((chunk + 1) * 128) - query_start); i0 < i_end; i0 += 32) {
        const int64_t i1 = min(i0 + 32, i_end);
        /* q_tile = q, with zeros beyond the last row */
        transpose_padded_v4(q + i0 * q_row, q_row, i1 - i0, 64, q_tile, 32, 64);
        /* log_decay_q_tile = log_decay_q, with zeros beyond the last row */
        for (int64_t i = 0; i < round_up(i1 - i0, 16); i++)
            log_decay_q_tile[i] = i < i1 - i0 ? log_decay_q[(i0 + i)] : 0;
        /* log_decay_q_low_tile = log_decay_q_low, with zeros beyond the last row */
        for (int64_t i = 0; i < round_up(i1 - i0, 16); i++)
            log_decay_q_low_tile[i] = i < i1 - i0 ? log_decay_q_low[(i0 + i)] : 0;
        /* query_features = q_tile * 0.125f */
        for (int64_t d = 0; d < 64; d++) {
            for (int64_t i = 0; i < i1 - i0; i += 16) {
                store_v4(query_features + d * 32 + i, load_v4(q_tile + d * 32 + i) * 0.125f);
            }
        }
        /* row_sum_from_state = 0.0f; row_sum = 0.0f; row_sum_compensation = 0.0f */
        for (int64_t i = 0; i < i1 - i0; i += 16) {
            store_v4(row_sum_from_state + i, splat_v4(0.0f));
            store_v4(row_sum + i, splat_v4(0.0f));
            store_v4(row_sum_compensation + i, splat_v4(0.0f));
        }
        /* sum_from_state = 0.0f */
        for (int64_t e = 0; e < 64; e++) {
            for (int64_t i = 0; i < i1 - i0; i += 16) {
                store_v4(sum_from_state + e * 32 + i, splat_v4(0.0f));
            }
        }
        for (int64_t f0 = 0, f_end = 2080; f0 < f_end; f0 += 192) {
            const int64_t f1 = min(f0 + 192, f_end);
            /* query = (((q_tile * 0.125f) * (q_tile * 0.125f)) * select((f / 64) == 0, 1.0f,
               2.0f)) * select(chunk == 0, 1.0f, exp2(((log_deca ... */
            const int t_22 = chunk == 0;
            const float log_decay_chunk_23 = log_decay_chunk[max(min((chunk * 128) - 1, n_k - 1), 0)];
            const float log_decay_chunk_low_24 = log_decay_chunk_low[max(min((chunk * 128) - 1, n_k - 1), 0)];
            for (int64_t i = 0; i < i1 - i0; i += 16) {
                const vec_v4 t_25 = t_22 ? splat_v4(1.0f) : exp2_v4(((load_v4(log_decay_q_tile + i) -
                    log_decay_chunk_23) + (load_v4(log_decay_q_low_tile + i) - log_decay_chunk_low_24)) * 1.442695f);
                vec_v4 row_sum_from_state_in = (vec_v4){0};
                vec_v4 row_sum_from_state_in_whole = (vec_v4){0};
                for (int64_t f = f0; f < f1; f++) {
                    const vec_v4 query_new26 = (((load_v4(q_tile + (f % 64) * 32 + i) * 0.125f) * (load_v4(q_tile + (((f
                        % 64) + (f / 64)) % 64) * 32 + i) * 0.125f)) * (float)(((f / 64) == 0) ? 1.0 : 2.0)) * t_25;
                    store_v4(query + (f - f0) * 32 + i, query_new26);
                    row_sum_from_state_in += query_new26 * (state_sum[(chunk - chunk0) * 135200 + f]);
                    if (f % 192 == 191) {
                        row_sum_from_state_in_whole += row_sum_from_state_in;
                        row_sum_from_state_in = (vec_v4){0};
                    }
                }
                row_sum_from_state_in += row_sum_from_state_in_whole;
                store_v4(row_sum_from_state + i, load_v4(row_sum_from_state + i) + row_sum_from_state_in);
            }
            /* sum_from_state[e][i] += sum over f of state * query */
            dot4_v4(round_up(i1 - i0, 16), f1 - f0, state + (chunk - chunk0) * 135200 + f0 * 64, query, sum_from_state);
        }
        /* sum = 0.0f; sum_compensation = 0.0f */
        for (int64_t e = 0; e < 64; e++) {
            for (int64_t i = 0; i < i1 - i0; i += 16) {
                store_v4(sum + e * 32 + i, splat_v4(0.0f));
                store_v4(sum_compensation + e * 32 + i, splat_v4(0.0f));
            }
        }
        for (int64_t j0 = max(0, chunk * 128), j_end = min(n_k, i1 + query_start); j0 < j_end; j0 += 64) {
            const int64_t j1 = min(j0 + 64, j_end);
            /* score[j][i] = sum over d of k * query_features */
            dot5_v4(round_up(i1 - i0, 16), j1 - j0, k + j0 * k_row, k_row, query_features, score, v + j0 * v_row,
                v_row);
            if ((j0 < (chunk * 128)) || ((i0 + query_start + 1) < j1)) { /* the tile is partly outside the mask */
                /* score = select((j <= (i + query_start)) && ((chunk * 128) <= j),
                   (score * score) * exp2(((log_decay_q_tile - log_decay_k) + (log ... */
                for (int64_t i = 0; i < i1 - i0; i += 16) {
                    const ints_v4 t_27 = (i0 + i + lane_v4) + query_start;
                    const vec_v4 log_decay_q_tile_29 = load_v4(log_decay_q_tile + i);
                    const vec_v4 log_decay_q_low_tile_30 = load_v4(log_decay_q_low_tile + i);
                    vec_v4 row_sum_in = (vec_v4){0};
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        const vec_v4 score_28 = load_v4(score + j * 32 + i);
                        const vec_v4 score_new31 = pick_v4(__builtin_convertvector(((j0 + j) <= t_27) &
                            (-(int64_t)((chunk * 128) <= (j0 + j))), mask_v4),
                            (score_28 * score_28) * exp2_v4(((log_decay_q_tile_29 - log_decay_k[(j0 + j)]) +
                            (log_decay_q_low_tile_30 - log_decay_k_low[(j0 + j)])) * 1.442695f), splat_v4(0.0f));
                        store_v4(score + j * 32 + i, score_new31);
                        row_sum_in += score_new31;
                    }
                    add_v4(row_sum + i, row_sum_compensation + i, row_sum_in, splat_v4(1));
                }
            }
            if (!((j0 < (chunk * 128)) || ((i0 + query_start + 1) < j1))) { /* the tile is wholly inside the mask */
                /* score = (score * score) * exp2(((log_decay_q_tile - log_decay_k) + (log_decay_q_low_tile -
                   log_decay_k_low)) * 1.442695f); row_s ... */
                for (int64_t i = 0; i < i1 - i0; i += 16) {
                    const vec_v4 log_decay_q_tile_33 = load_v4(log_decay_q_tile + i);
                    const vec_v4 log_decay_q_low_tile_34 = load_v4(log_decay_q_low_tile + i);
                    vec_v4 row_sum_in = (vec_v4){0};
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        const vec_v4 score_32 = load_v4(score + j * 32 + i);
                        const vec_v4 score_new35 = (score_32 * score_32) * exp2_v4(((log_decay_q_tile_33 -
                            log_decay_k[(j0 + j)]) + (log_decay_q_low_tile_34 - log_decay_k_low[(j0 + j)])) *
                            1.442695f);
                        store_v4(score + j * 32 + i, score_new35);
                        row_sum_in += score_new35;
                    }
                    add_v4(row_sum + i, row_sum_compensation + i, row_sum_in, splat_v4(1));
                }
            }
            /* sum[e][i] += sum over j of v * score */
            if (__builtin_expect(((j0 < (chunk * 128)) || ((i0 + query_start + 1) < j1)) && !finite_v4(v + j0 * v_row,
                v_row, j1 - j0, 64), 0)) { /* infinity and NaN affect only queries that see them */
                dot6_v4(round_up(i1 - i0, 16), j1 - j0, v + j0 * v_row, v_row, score, sum, sum_compensation);
                for (int64_t j = 0; j < j1 - j0; j++) {
                    mask_v4 in_region[2] = {0};
                    if (finite_v4(v + j0 * v_row + j * v_row, 1, 64, 1)) continue;
                    const int t_36 = (chunk * 128) <= (j0 + j);
                    for (int64_t i = 0; i < i1 - i0; i += 16) {
                        in_region[i / 16] = __builtin_convertvector(((j0 + j) <= ((i0 + i + lane_v4) + query_start)) &
                            (-(int64_t)t_36), mask_v4);
                    }
                    add_seen_v4(64, sum, 32, v + j0 * v_row + j * v_row, 1, score + j * 32, in_region, i1 - i0);
                }
            } else
                dot7_v4(round_up(i1 - i0, 16), j1 - j0, v + j0 * v_row, v_row, score, sum, sum_compensation);
        }
        /* sum = select(((row_sum + row_sum_from_state) + 1.0f) == 0.0f, 0.0f,
           (sum + sum_from_state) / ((row_sum + row_sum_from_state) + 1 ... */
        for (int64_t i = 0; i < i1 - i0; i += 16) {
            const vec_v4 t_37 = (load_v4(row_sum + i) + load_v4(row_sum_from_state + i)) + 1.0f;
            const mask_v4 t_38 = t_37 == 0.0f;
            for (int64_t e = 0; e < 64; e++) {
                store_v4(sum + e * 32 + i, pick_v4(t_38, splat_v4(0.0f),
                    (load_v4(sum + e * 32 + i) + load_v4(sum_from_state + e * 32 + i)) / t_37));
            }
        }
        if (saved_0) {
            /* row_sum = select(((row_sum + row_sum_from_state) + 1.0f) == 0.0f, 0.0f,
               1.0f / ((row_sum + row_sum_from_state) + 1.0f)) */
            for (int64_t i = 0; i < i1 - i0; i += 16) {
                const vec_v4 t_39 = (load_v4(row_sum + i) + load_v4(row_sum_from_state + i)) + 1.0f;
                store_v4(row_sum + i, pick_v4(t_39 == 0.0f, splat_v4(0.0f), 1.0f / t_39));
            }
        }
        /* out = sum, transposed back */
        transpose_out_v4(sum, 32, 64, i1 - i0, out + i0 * out_row, out_row, 64);
        if (saved_0) {
            /* saved_0 = row_sum */
            for (int64_t i = 0; i < i1 - i0; i++)
                saved_0[(i0 + i)] = row_sum[i];
        }
    }
}

/* Computes head number `task`. Each thread on the head calls this with its share, `part`. */
TARGET_v4 static void power_gated_linear_v4(const struct call *call, int64_t task, struct part *part)
{
    const int64_t n_k = call->p.n_k;
    const int64_t chunks = n_k > 0 ? (n_k - 1) / 128 + 1 : 1;
    for (int64_t iteration = part->number; iteration < ((2080 + 31) / 32); iteration += part->threads)
        power_gated_begin_v4(call, task, part, iteration);
    synchronise(part);
    const int64_t first = 0;
    const int64_t length = segment_length(part, chunks - first);
    for (int64_t segment = part->number; first + segment * length < chunks; segment += part->threads) {
        part->chunk0 = first + segment * length;
        part->chunk1 = min(part->chunk0 + length, chunks);
        for (int64_t iteration = part->chunk0; iteration < part->chunk1; iteration++)
            power_gated_keys_v4(call, task, part, iteration);
        for (int64_t group = 0; group < 16; group++) {
            await_segment(part, group, segment);
            const int64_t end = (group + 1) * ((2080 + 31) / 32) / 16;
            for (int64_t iteration = group * ((2080 + 31) / 32) / 16; iteration < end; iteration++)
                power_gated_fold_v4(call, task, part, iteration);
            pass_segment(part, group, segment);
        }
        for (int64_t iteration = part->chunk0; iteration < part->chunk1; iteration++)
            power_gated_queries_v4(call, task, part, iteration);
    }
    part->segments += (max(chunks - first, 0) + length - 1) / length;
    synchronise(part);
}

/* Computes task number `task`: one tile of queries of one head. `work` is this thread's workspace. */
TARGET_v4 static void power_gated_saved_v4(const struct call *call, int64_t task, unsigned char *work)
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
    const float *const q = call->q + b * call->p.q.batch + (g / call->sharing * members + m) * call->p.q.head;
    const int64_t q_row = call->p.q.row;
    const float *const k = call->k + b * call->p.k.batch + g / call->sharing * call->p.k.head;
    const int64_t k_row = call->p.k.row;
    const float *const log_decay_q_low = call->log_decay_q_low + b * call->log_decay_q_low_at.batch + (g * members + m)
        * call->log_decay_q_low_at.head;
    const float *const log_decay_q = call->log_decay_q + b * call->log_decay_q_at.batch + (g * members + m) *
        call->log_decay_q_at.head;
    const float *const log_decay_k_low = call->log_decay_k_low + b * call->log_decay_k_low_at.batch + (g * members + m)
        * call->log_decay_k_low_at.head;
    const float *const log_decay_k = call->log_decay_k + b * call->log_decay_k_at.batch + (g * members + m) *
        call->log_decay_k_at.head;
    float *const score = (float *)(void *)(work + 0); /* [j: 288, i: 64 of 80] */
    float *const row_sum = (float *)(void *)(work + 92160); /* [i: 64] */
    float *const row_sum_compensation = (float *)(void *)(work + 92416); /* [i: 64] */
    float *const saved_0 = call->saved_0 + (b * call->p.heads + (g * members + m)) * call->p.n_q;
    float *const q_tile = (float *)(void *)(work + 92672); /* [d: 64, i: 64 of 80] */
    float *const log_decay_q_tile = (float *)(void *)(work + 113152); /* [i: 64] */
    float *const log_decay_q_low_tile = (float *)(void *)(work + 113408); /* [i: 64] */
    /* q_tile = q, with zeros beyond the last row */
    transpose_padded_v4(q + i0 * q_row, q_row, i1 - i0, 64, q_tile, 80, 16);
    /* log_decay_q_tile = log_decay_q, with zeros beyond the last row */
    for (int64_t i = 0; i < round_up(i1 - i0, 16); i++)
        log_decay_q_tile[i] = i < i1 - i0 ? log_decay_q[(i0 + i)] : 0;
    /* log_decay_q_low_tile = log_decay_q_low, with zeros beyond the last row */
    for (int64_t i = 0; i < round_up(i1 - i0, 16); i++)
        log_decay_q_low_tile[i] = i < i1 - i0 ? log_decay_q_low[(i0 + i)] : 0;
    /* q_tile = q_tile * 0.125f */
    for (int64_t d = 0; d < 64; d++) {
        for (int64_t i = 0; i < i1 - i0; i += 16) {
            store_v4(q_tile + d * 80 + i, load_v4(q_tile + d * 80 + i) * 0.125f);
        }
    }
    /* row_sum = 0.0f; row_sum_compensation = 0.0f */
    for (int64_t i = 0; i < i1 - i0; i += 16) {
        store_v4(row_sum + i, splat_v4(0.0f));
        store_v4(row_sum_compensation + i, splat_v4(0.0f));
    }
    for (int64_t j0 = 0, j_end = min(n_k, i1 + query_start); j0 < j_end; j0 += 288) {
        const int64_t j1 = min(j0 + 288, j_end);
        /* score[j][i] = sum over d of k * q_tile */
        dot8_v4(round_up(i1 - i0, 16), j1 - j0, k + j0 * k_row, k_row, q_tile, score);
        if ((i0 + query_start + 1) < j1) { /* the tile is partly outside the mask */
            /* score = select(j <= (i + query_start), (score * score) * exp2(((log_decay_q_tile - log_decay_k) +
               (log_decay_q_low_tile - log_de ... */
            for (int64_t i = 0; i < i1 - i0; i += 16) {
                const ints_v4 t_0 = (i0 + i + lane_v4) + query_start;
                const vec_v4 log_decay_q_tile_2 = load_v4(log_decay_q_tile + i);
                const vec_v4 log_decay_q_low_tile_3 = load_v4(log_decay_q_low_tile + i);
                vec_v4 row_sum_in = (vec_v4){0};
                for (int64_t j = 0; j < j1 - j0; j++) {
                    const vec_v4 score_1 = load_v4(score + j * 80 + i);
                    const vec_v4 score_new4 = pick_v4(__builtin_convertvector((j0 + j) <= t_0, mask_v4),
                        (score_1 * score_1) * exp2_v4(((log_decay_q_tile_2 - log_decay_k[(j0 + j)]) +
                        (log_decay_q_low_tile_3 - log_decay_k_low[(j0 + j)])) * 1.442695f), splat_v4(0.0f));
                    store_v4(score + j * 80 + i, score_new4);
                    row_sum_in += score_new4;
                }
                add_v4(row_sum + i, row_sum_compensation + i, row_sum_in, splat_v4(1));
            }
        }
        if (!((i0 + query_start + 1) < j1)) { /* the tile is wholly inside the mask */
            /* score = (score * score) * exp2(((log_decay_q_tile - log_decay_k) + (log_decay_q_low_tile -
               log_decay_k_low)) * 1.442695f); row_s ... */
            for (int64_t i = 0; i < i1 - i0; i += 16) {
                const vec_v4 log_decay_q_tile_6 = load_v4(log_decay_q_tile + i);
                const vec_v4 log_decay_q_low_tile_7 = load_v4(log_decay_q_low_tile + i);
                vec_v4 row_sum_in = (vec_v4){0};
                for (int64_t j = 0; j < j1 - j0; j++) {
                    const vec_v4 score_5 = load_v4(score + j * 80 + i);
                    const vec_v4 score_new8 = (score_5 * score_5) * exp2_v4(((log_decay_q_tile_6 - log_decay_k[(j0 +
                        j)]) + (log_decay_q_low_tile_7 - log_decay_k_low[(j0 + j)])) * 1.442695f);
                    store_v4(score + j * 80 + i, score_new8);
                    row_sum_in += score_new8;
                }
                add_v4(row_sum + i, row_sum_compensation + i, row_sum_in, splat_v4(1));
            }
        }
    }
    /* row_sum = select((row_sum + 1.0f) == 0.0f, 0.0f, 1.0f / (row_sum + 1.0f)) */
    for (int64_t i = 0; i < i1 - i0; i += 16) {
        const vec_v4 t_9 = load_v4(row_sum + i) + 1.0f;
        store_v4(row_sum + i, pick_v4(t_9 == 0.0f, splat_v4(0.0f), 1.0f / t_9));
    }
    /* saved_0 = row_sum */
    for (int64_t i = 0; i < i1 - i0; i++)
        saved_0[(i0 + i)] = row_sum[i];
}

/* Computes task number `task`: one tile of queries of one head. `work` is this thread's workspace. */
TARGET_v4 static void power_gated_row_sums_v4(const struct call *call, int64_t task, unsigned char *work)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_q = call->p.n_q;
    const int64_t tiles = (n_q + 64 - 1) / 64, i0 = (tiles - 1 - task % tiles) * 64,
        i1 = min(i0 + 64, n_q);
    const int64_t m = task / tiles % members;
    const int64_t g = task / tiles / members % kv_heads;
    const int64_t b = task / tiles / members / kv_heads;
    const float *const out = call->out + b * call->p.out.batch + (g * members + m) * call->p.out.head;
    const int64_t out_row = call->p.out.row;
    const float *const dout = call->dout + b * call->p.dout.batch + (g * members + m) * call->p.dout.head;
    const int64_t dout_row = call->p.dout.row;
    const float *const saved_0 = call->saved_0 + (b * call->p.heads + (g * members + m)) * call->p.n_q;
    float *const query_sum = (float *)(void *)(work + 0); /* [i: 64] */
    float *const row_0 = call->row_0 + (b * call->p.heads + (g * members + m)) * call->p.n_q;
    float *const out_tile = (float *)(void *)(work + 256); /* [e: 64, i: 64 of 80] */
    float *const dout_tile = (float *)(void *)(work + 20736); /* [e: 64, i: 64 of 80] */
    float *const saved_0_tile = (float *)(void *)(work + 41216); /* [i: 64] */
    /* out_tile = out, with zeros beyond the last row */
    transpose_padded_v4(out + i0 * out_row, out_row, i1 - i0, 64, out_tile, 80, 16);
    /* dout_tile = dout, with zeros beyond the last row */
    transpose_padded_v4(dout + i0 * dout_row, dout_row, i1 - i0, 64, dout_tile, 80, 16);
    /* saved_0_tile = saved_0, with zeros beyond the last row */
    for (int64_t i = 0; i < round_up(i1 - i0, 16); i++)
        saved_0_tile[i] = i < i1 - i0 ? saved_0[(i0 + i)] : 0;
    /* query_sum = 0.0f */
    for (int64_t i = 0; i < i1 - i0; i += 16) {
        store_v4(query_sum + i, splat_v4(0.0f));
    }
    /* query_sum += dout_tile * neg(out_tile) */
    for (int64_t i_first = 0; i_first < i1 - i0; i_first += 64) {
        vec_v4 query_sum_in[4];
        UNROLL for (int64_t vector = 0, i = i_first; vector < 4; vector++, i += 16) {
            query_sum_in[vector] = (vec_v4){0};
        }
        for (int64_t e = 0; e < 64; e++) {
            UNROLL for (int64_t vector = 0, i = i_first; vector < 4; vector++, i += 16) {
                query_sum_in[vector] += load_v4(dout_tile + e * 80 + i) * (-load_v4(out_tile + e * 80 + i));
            }
        }
        UNROLL for (int64_t vector = 0, i = i_first; vector < 4; vector++, i += 16) {
            store_v4(query_sum + i, load_v4(query_sum + i) + query_sum_in[vector]);
        }
    }
    /* query_sum = query_sum * saved_0_tile */
    for (int64_t i = 0; i < i1 - i0; i += 16) {
        store_v4(query_sum + i, load_v4(query_sum + i) * load_v4(saved_0_tile + i));
    }
    /* row_0 = query_sum */
    for (int64_t i = 0; i < i1 - i0; i++)
        row_0[(i0 + i)] = query_sum[i];
}

/* Computes task number `task`: one tile of queries of one head. `work` is this thread's workspace. */
TARGET_v4 static void power_gated_dq_dlog_decay_q_v4(const struct call *call, int64_t task, unsigned char *work)
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
    const float *const q = call->q + b * call->p.q.batch + (g / call->sharing * members + m) * call->p.q.head;
    const int64_t q_row = call->p.q.row;
    const float *const k = call->k + b * call->p.k.batch + g / call->sharing * call->p.k.head;
    const int64_t k_row = call->p.k.row;
    const float *const v = call->v + b * call->p.v.batch + g * call->p.v.head;
    const int64_t v_row = call->p.v.row;
    const float *const log_decay_q_low = call->log_decay_q_low + b * call->log_decay_q_low_at.batch + (g * members + m)
        * call->log_decay_q_low_at.head;
    const float *const log_decay_q = call->log_decay_q + b * call->log_decay_q_at.batch + (g * members + m) *
        call->log_decay_q_at.head;
    const float *const log_decay_k_low = call->log_decay_k_low + b * call->log_decay_k_low_at.batch + (g * members + m)
        * call->log_decay_k_low_at.head;
    const float *const log_decay_k = call->log_decay_k + b * call->log_decay_k_at.batch + (g * members + m) *
        call->log_decay_k_at.head;
    const float *const dout = call->dout + b * call->p.dout.batch + (g * members + m) * call->p.dout.head;
    const int64_t dout_row = call->p.dout.row;
    const float *const saved_0 = call->saved_0 + (b * call->p.heads + (g * members + m)) * call->p.n_q;
    const float *const row_0 = call->row_0 + (b * call->p.heads + (g * members + m)) * call->p.n_q;
    float *const score = (float *)(void *)(work + 0); /* [j: 288, i: 64 of 80] */
    float *const score_2 = (float *)(void *)(work + 92160); /* [j: 288, i: 64 of 80] */
    float *const weight_2 = (float *)(void *)(work + 184320); /* [j: 288, i: 64 of 80] */
    float *const row_sum = (float *)(void *)(work + 276480); /* [i: 64] */
    float *const row_sum_compensation = (float *)(void *)(work + 276736); /* [i: 64] */
    float *const sum = (float *)(void *)(work + 276992); /* [d: 64, i: 64 of 80] */
    float *const sum_compensation = (float *)(void *)(work + 297472); /* [d: 64, i: 64 of 80] */
    float *const dq = call->dq ? call->dq + b * call->p.dq.batch + (g * members + m) * call->p.dq.head : NULL;
    const int64_t dq_row = call->p.dq.row;
    float *const dlog_decay_q = call->dlog_decay_q ? call->dlog_decay_q + b * call->dlog_decay_q_at.batch + (g * members
        + m) * call->dlog_decay_q_at.head : NULL;
    const int64_t dlog_decay_q_row = call->dlog_decay_q_at.row;
    float *const dout_tile = (float *)(void *)(work + 317952); /* [e: 64, i: 64 of 80] */
    float *const saved_0_tile = (float *)(void *)(work + 0); /* [i: 64] */
    float *const q_tile = (float *)(void *)(work + 338432); /* [d: 64, i: 64 of 80] */
    float *const row_0_tile = (float *)(void *)(work + 358912); /* [i: 64] */
    float *const log_decay_q_tile = (float *)(void *)(work + 359168); /* [i: 64] */
    float *const log_decay_q_low_tile = (float *)(void *)(work + 359424); /* [i: 64] */
    int64_t results = i1 - i0; /* rows of dq to prefetch during the first product */
    /* dout_tile = dout, with zeros beyond the last row */
    transpose_padded_v4(dout + i0 * dout_row, dout_row, i1 - i0, 64, dout_tile, 80, 16);
    /* saved_0_tile = saved_0, with zeros beyond the last row */
    for (int64_t i = 0; i < round_up(i1 - i0, 16); i++)
        saved_0_tile[i] = i < i1 - i0 ? saved_0[(i0 + i)] : 0;
    /* q_tile = q, with zeros beyond the last row */
    transpose_padded_v4(q + i0 * q_row, q_row, i1 - i0, 64, q_tile, 80, 16);
    /* row_0_tile = row_0, with zeros beyond the last row */
    for (int64_t i = 0; i < round_up(i1 - i0, 16); i++)
        row_0_tile[i] = i < i1 - i0 ? row_0[(i0 + i)] : 0;
    /* log_decay_q_tile = log_decay_q, with zeros beyond the last row */
    for (int64_t i = 0; i < round_up(i1 - i0, 16); i++)
        log_decay_q_tile[i] = i < i1 - i0 ? log_decay_q[(i0 + i)] : 0;
    /* log_decay_q_low_tile = log_decay_q_low, with zeros beyond the last row */
    for (int64_t i = 0; i < round_up(i1 - i0, 16); i++)
        log_decay_q_low_tile[i] = i < i1 - i0 ? log_decay_q_low[(i0 + i)] : 0;
    /* dout_tile = dout_tile * saved_0_tile */
    for (int64_t i = 0; i < i1 - i0; i += 16) {
        const vec_v4 saved_0_tile_0 = load_v4(saved_0_tile + i);
        for (int64_t e = 0; e < 64; e++) {
            store_v4(dout_tile + e * 80 + i, load_v4(dout_tile + e * 80 + i) * saved_0_tile_0);
        }
    }
    if (dlog_decay_q) {
        /* row_sum = 0.0f; row_sum_compensation = 0.0f */
        for (int64_t i = 0; i < i1 - i0; i += 16) {
            store_v4(row_sum + i, splat_v4(0.0f));
            store_v4(row_sum_compensation + i, splat_v4(0.0f));
        }
    }
    if (dq) {
        /* sum = 0.0f; sum_compensation = 0.0f */
        for (int64_t d = 0; d < 64; d++) {
            for (int64_t i = 0; i < i1 - i0; i += 16) {
                store_v4(sum + d * 80 + i, splat_v4(0.0f));
                store_v4(sum_compensation + d * 80 + i, splat_v4(0.0f));
            }
        }
    }
    for (int64_t j0 = 0, j_end = min(n_k, i1 + query_start); j0 < j_end; j0 += 288) {
        const int64_t j1 = min(j0 + 288, j_end);
        /* score[j][i] = sum over d of k * q_tile */
        dot9_v4(round_up(i1 - i0, 16), j1 - j0, k + j0 * k_row, k_row, q_tile, score, dq + i0 * dq_row, dq_row,
            results);
        results = 0;
        /* score_2[j][i] = sum over e of v * dout_tile */
        dot0_v4(round_up(i1 - i0, 16), j1 - j0, v + j0 * v_row, v_row, dout_tile, score_2, k + j0 * k_row, k_row,
            dq + i0 * dq_row, dq_row, results);
        results = 0;
        /* score_2 = score_2 + row_0_tile; weight_2 = score_2 * ((score * exp2(((log_decay_q_tile - log_decay_k) +
           (log_decay_q_low_tile -  ... */
        for (int64_t i = 0; i < i1 - i0; i += 16) {
            const vec_v4 row_0_tile_2 = load_v4(row_0_tile + i);
            const vec_v4 log_decay_q_tile_5 = load_v4(log_decay_q_tile + i);
            const vec_v4 log_decay_q_low_tile_6 = load_v4(log_decay_q_low_tile + i);
            for (int64_t j = 0; j < j1 - j0; j++) {
                const vec_v4 score_2_1 = load_v4(score_2 + j * 80 + i);
                const vec_v4 score_2_new3 = score_2_1 + row_0_tile_2;
                store_v4(score_2 + j * 80 + i, score_2_new3);
                const vec_v4 score_4 = load_v4(score + j * 80 + i);
                const vec_v4 t_7 = exp2_v4(((log_decay_q_tile_5 - log_decay_k[(j0 + j)]) + (log_decay_q_low_tile_6 -
                    log_decay_k_low[(j0 + j)])) * 1.442695f);
                store_v4(weight_2 + j * 80 + i, score_2_new3 * ((score_4 * t_7) * 0.03125f));
                const vec_v4 t_8 = score_4 * 0.125f;
                store_v4(score + j * 80 + i, score_2_new3 * ((t_8 * t_8) * t_7));
            }
        }
        if ((i0 + query_start + 1) < j1) { /* the tile is partly outside the mask */
            if (dlog_decay_q) {
                /* score = select(j <= (i + query_start), score, 0.0f) */
                for (int64_t i = 0; i < i1 - i0; i += 16) {
                    const ints_v4 t_9 = (i0 + i + lane_v4) + query_start;
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        store_v4(score + j * 80 + i, pick_v4(__builtin_convertvector((j0 + j) <= t_9, mask_v4),
                            load_v4(score + j * 80 + i), splat_v4(0.0f)));
                    }
                }
            }
        }
        if (dlog_decay_q) {
            /* row_sum += score */
            for (int64_t i_first = 0; i_first < i1 - i0; i_first += 64) {
                vec_v4 row_sum_in[4];
                UNROLL for (int64_t vector = 0, i = i_first; vector < 4; vector++, i += 16) {
                    row_sum_in[vector] = (vec_v4){0};
                }
                for (int64_t j = 0; j < j1 - j0; j++) {
                    UNROLL for (int64_t vector = 0, i = i_first; vector < 4; vector++, i += 16) {
                        row_sum_in[vector] += load_v4(score + j * 80 + i);
                    }
                }
                UNROLL for (int64_t vector = 0, i = i_first; vector < 4; vector++, i += 16) {
                    add_v4(row_sum + i, row_sum_compensation + i, row_sum_in[vector], splat_v4(1));
                }
            }
        }
        if ((i0 + query_start + 1) < j1) { /* the tile is partly outside the mask */
            if (dq) {
                /* weight_2 = select(j <= (i + query_start), weight_2, 0.0f) */
                for (int64_t i = 0; i < i1 - i0; i += 16) {
                    const ints_v4 t_10 = (i0 + i + lane_v4) + query_start;
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        store_v4(weight_2 + j * 80 + i, pick_v4(__builtin_convertvector((j0 + j) <= t_10, mask_v4),
                            load_v4(weight_2 + j * 80 + i), splat_v4(0.0f)));
                    }
                }
            }
        }
        if (dq) {
            /* sum[d][i] += sum over j of k * weight_2 */
            if (__builtin_expect(((i0 + query_start + 1) < j1) && !finite_v4(k + j0 * k_row, k_row, j1 - j0, 64),
                0)) { /* infinity and NaN affect only queries that see them */
                dot1_v4(round_up(i1 - i0, 16), j1 - j0, k + j0 * k_row, k_row, weight_2, sum, sum_compensation);
                for (int64_t j = 0; j < j1 - j0; j++) {
                    mask_v4 in_region[4] = {0};
                    if (finite_v4(k + j0 * k_row + j * k_row, 1, 64, 1)) continue;
                    for (int64_t i = 0; i < i1 - i0; i += 16) {
                        in_region[i / 16] = __builtin_convertvector((j0 + j) <= ((i0 + i + lane_v4) + query_start),
                            mask_v4);
                    }
                    add_seen_v4(64, sum, 80, k + j0 * k_row + j * k_row, 1, weight_2 + j * 80, in_region, i1 - i0);
                }
            } else
                dot2_v4(round_up(i1 - i0, 16), j1 - j0, k + j0 * k_row, k_row, weight_2, sum, sum_compensation);
        }
    }
    if (dq) {
        /* sum = sum */
        for (int64_t d = 0; d < 64; d++) {
            for (int64_t i = 0; i < i1 - i0; i += 16) {
                store_v4(sum + d * 80 + i, load_v4(sum + d * 80 + i));
            }
        }
    }
    if (dlog_decay_q) {
        /* row_sum = row_sum */
        for (int64_t i = 0; i < i1 - i0; i += 16) {
            store_v4(row_sum + i, load_v4(row_sum + i));
        }
    }
    if (dq) {
        /* dq = sum, transposed back */
        transpose_out_v4(sum, 80, 64, i1 - i0, dq + i0 * dq_row, dq_row, 16);
    }
    if (dlog_decay_q) {
        /* dlog_decay_q = row_sum */
        for (int64_t i = 0; i < i1 - i0; i++)
            dlog_decay_q[(i0 + i) * dlog_decay_q_row] = row_sum[i];
    }
}

/* Computes task number `task`: one tile of keys of one head. `work` is this thread's workspace. */
TARGET_v4 static void power_gated_dk_dv_v4(const struct call *call, int64_t task, unsigned char *work)
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
    const int64_t log_decay_k_low_head = call->log_decay_k_low_at.head;
    const float *const log_decay_k = call->log_decay_k + b * call->log_decay_k_at.batch + g * members *
        call->log_decay_k_at.head;
    const int64_t log_decay_k_head = call->log_decay_k_at.head;
    const float *const dout = call->dout + b * call->p.dout.batch + g * members * call->p.dout.head;
    const int64_t dout_row = call->p.dout.row;
    const int64_t dout_head = call->p.dout.head;
    const float *const saved_0 = call->saved_0 + (b * call->p.heads + g * members) * call->p.n_q;
    const int64_t saved_0_head = call->p.n_q;
    const float *const row_0 = call->row_0 + (b * call->p.heads + g * members) * call->p.n_q;
    const int64_t row_0_head = call->p.n_q;
    float *const score = (float *)(void *)(work + 0); /* [i: 288, j: 64 of 80] */
    float *const score_2 = (float *)(void *)(work + 92160); /* [i: 288, j: 64 of 80] */
    float *const weight = (float *)(void *)(work + 184320); /* [i: 288, j: 64 of 80] */
    float *const sum = (float *)(void *)(work + 276480); /* [e: 64, j: 64 of 80] */
    float *const sum_compensation = (float *)(void *)(work + 296960); /* [e: 64, j: 64 of 80] */
    float *const sum_2 = (float *)(void *)(work + 317440); /* [d: 64, j: 64 of 80] */
    float *const sum_2_compensation = (float *)(void *)(work + 337920); /* [d: 64, j: 64 of 80] */
    float *const dk = call->dk ? call->dk + b * call->p.dk.batch + g * call->p.dk.head : NULL;
    const int64_t dk_row = call->p.dk.row;
    float *const dv = call->dv ? call->dv + b * call->p.dv.batch + g * call->p.dv.head : NULL;
    const int64_t dv_row = call->p.dv.row;
    float *const k_tile = (float *)(void *)(work + 358400); /* [d: 64, j: 64 of 80] */
    float *const v_tile = (float *)(void *)(work + 378880); /* [e: 64, j: 64 of 80] */
    float *const log_decay_k_tile = (float *)(void *)(work + 399360); /* [j: 64] */
    float *const log_decay_k_low_tile = (float *)(void *)(work + 399616); /* [j: 64] */
    int64_t results = j1 - j0; /* rows of dk to prefetch during the first product */
    /* k_tile = k, with zeros beyond the last row */
    transpose_padded_v4(k + j0 * k_row, k_row, j1 - j0, 64, k_tile, 80, 16);
    if (dk) {
        /* v_tile = v, with zeros beyond the last row */
        transpose_padded_v4(v + j0 * v_row, v_row, j1 - j0, 64, v_tile, 80, 16);
    }
    if (dv) {
        /* sum = 0.0f; sum_compensation = 0.0f */
        for (int64_t e = 0; e < 64; e++) {
            for (int64_t j = 0; j < j1 - j0; j += 16) {
                store_v4(sum + e * 80 + j, splat_v4(0.0f));
                store_v4(sum_compensation + e * 80 + j, splat_v4(0.0f));
            }
        }
    }
    if (dk) {
        /* sum_2 = 0.0f; sum_2_compensation = 0.0f */
        for (int64_t d = 0; d < 64; d++) {
            for (int64_t j = 0; j < j1 - j0; j += 16) {
                store_v4(sum_2 + d * 80 + j, splat_v4(0.0f));
                store_v4(sum_2_compensation + d * 80 + j, splat_v4(0.0f));
            }
        }
    }
    for (int64_t m = 0; m < members; m++) {
        /* log_decay_k_tile = log_decay_k, with zeros beyond the last row */
        for (int64_t j = 0; j < round_up(j1 - j0, 16); j++)
            log_decay_k_tile[j] = j < j1 - j0 ? log_decay_k[m * log_decay_k_head + (j0 + j)] : 0;
        /* log_decay_k_low_tile = log_decay_k_low, with zeros beyond the last row */
        for (int64_t j = 0; j < round_up(j1 - j0, 16); j++)
            log_decay_k_low_tile[j] = j < j1 - j0 ? log_decay_k_low[m * log_decay_k_low_head + (j0 + j)] : 0;
        for (int64_t i0 = max(0, j0 - query_start), i_end = n_q; i0 < i_end; i0 += 288) {
            const int64_t i1 = min(i0 + 288, i_end);
            /* score[i][j] = sum over d of q * k_tile */
            dot0_v4(round_up(j1 - j0, 16), i1 - i0, q + m * q_head + i0 * q_row, q_row, k_tile, score,
                dout + m * dout_head + i0 * dout_row, dout_row, dk + j0 * dk_row, dk_row, results);
            results = 0;
            if (dk) {
                /* score_2[i][j] = sum over e of dout * v_tile */
                dot0_v4(round_up(j1 - j0, 16), i1 - i0, dout + m * dout_head + i0 * dout_row, dout_row, v_tile, score_2,
                    q + m * q_head + i0 * q_row, q_row, dk + j0 * dk_row, dk_row, results);
                results = 0;
            }
            if (dv) {
                /* weight = (((score * 0.125f) * (score * 0.125f)) * exp2(((log_decay_q - log_decay_k_tile) +
                   (log_decay_q_low - log_decay_k_low_ti ... */
                for (int64_t j = 0; j < j1 - j0; j += 16) {
                    const vec_v4 log_decay_k_tile_1 = load_v4(log_decay_k_tile + j);
                    const vec_v4 log_decay_k_low_tile_2 = load_v4(log_decay_k_low_tile + j);
                    for (int64_t i = 0; i < i1 - i0; i++) {
                        const vec_v4 t_0 = load_v4(score + i * 80 + j) * 0.125f;
                        store_v4(weight + i * 80 + j, ((t_0 * t_0) * exp2_v4((((log_decay_q[m * log_decay_q_head + (i0 +
                            i)]) - log_decay_k_tile_1) + ((log_decay_q_low[m * log_decay_q_low_head + (i0 + i)]) -
                            log_decay_k_low_tile_2)) * 1.442695f)) * (saved_0[m * saved_0_head + (i0 + i)]));
                    }
                }
            }
            if (i0 < (j1 - query_start - 1)) { /* the tile is partly outside the mask */
                if (dv) {
                    /* weight = select(j <= (i + query_start), weight, 0.0f) */
                    for (int64_t j = 0; j < j1 - j0; j += 16) {
                        const ints_v4 t_3 = j0 + j + lane_v4;
                        for (int64_t i = 0; i < i1 - i0; i++) {
                            store_v4(weight + i * 80 + j, pick_v4(__builtin_convertvector(t_3 <= ((i0 + i) +
                                query_start), mask_v4), load_v4(weight + i * 80 + j), splat_v4(0.0f)));
                        }
                    }
                }
            }
            if (dv) {
                /* sum[e][j] += sum over i of dout * weight */
                if (__builtin_expect((i0 < (j1 - query_start - 1)) && !finite_v4(dout + m * dout_head + i0 * dout_row,
                    dout_row, i1 - i0, 64), 0)) { /* infinity and NaN affect only queries that see them */
                    dot1_v4(round_up(j1 - j0, 16), i1 - i0, dout + m * dout_head + i0 * dout_row, dout_row, weight, sum,
                        sum_compensation);
                    for (int64_t i = 0; i < i1 - i0; i++) {
                        mask_v4 in_region[4] = {0};
                        if (finite_v4(dout + m * dout_head + i0 * dout_row + i * dout_row, 1, 64, 1)) continue;
                        const int64_t t_4 = (i0 + i) + query_start;
                        for (int64_t j = 0; j < j1 - j0; j += 16) {
                            in_region[j / 16] = __builtin_convertvector((j0 + j + lane_v4) <= t_4, mask_v4);
                        }
                        add_seen_v4(64, sum, 80, dout + m * dout_head + i0 * dout_row + i * dout_row, 1,
                            weight + i * 80, in_region, j1 - j0);
                    }
                } else
                    dot2_v4(round_up(j1 - j0, 16), i1 - i0, dout + m * dout_head + i0 * dout_row, dout_row, weight, sum,
                        sum_compensation);
            }
            if (dk) {
                /* score_2 = ((score_2 * saved_0) + row_0) * ((score * exp2(((log_decay_q - log_decay_k_tile) +
                   (log_decay_q_low - log_decay_k_low_ ... */
                for (int64_t j = 0; j < j1 - j0; j += 16) {
                    const vec_v4 log_decay_k_tile_5 = load_v4(log_decay_k_tile + j);
                    const vec_v4 log_decay_k_low_tile_6 = load_v4(log_decay_k_low_tile + j);
                    for (int64_t i = 0; i < i1 - i0; i++) {
                        store_v4(score_2 + i * 80 + j, ((load_v4(score_2 + i * 80 + j) * (saved_0[m * saved_0_head + (i0
                            + i)])) + (row_0[m * row_0_head + (i0 + i)])) * ((load_v4(score + i * 80 + j) *
                            exp2_v4((((log_decay_q[m * log_decay_q_head + (i0 + i)]) - log_decay_k_tile_5) +
                            ((log_decay_q_low[m * log_decay_q_low_head + (i0 + i)]) - log_decay_k_low_tile_6)) *
                            1.442695f)) * 0.03125f));
                    }
                }
            }
            if (i0 < (j1 - query_start - 1)) { /* the tile is partly outside the mask */
                if (dk) {
                    /* score_2 = select(j <= (i + query_start), score_2, 0.0f) */
                    for (int64_t j = 0; j < j1 - j0; j += 16) {
                        const ints_v4 t_7 = j0 + j + lane_v4;
                        for (int64_t i = 0; i < i1 - i0; i++) {
                            store_v4(score_2 + i * 80 + j, pick_v4(__builtin_convertvector(t_7 <= ((i0 + i) +
                                query_start), mask_v4), load_v4(score_2 + i * 80 + j), splat_v4(0.0f)));
                        }
                    }
                }
            }
            if (dk) {
                /* sum_2[d][j] += sum over i of q * score_2 */
                if (__builtin_expect((i0 < (j1 - query_start - 1)) && !finite_v4(q + m * q_head + i0 * q_row, q_row,
                    i1 - i0, 64), 0)) { /* infinity and NaN affect only queries that see them */
                    dot1_v4(round_up(j1 - j0, 16), i1 - i0, q + m * q_head + i0 * q_row, q_row, score_2, sum_2,
                        sum_2_compensation);
                    for (int64_t i = 0; i < i1 - i0; i++) {
                        mask_v4 in_region[4] = {0};
                        if (finite_v4(q + m * q_head + i0 * q_row + i * q_row, 1, 64, 1)) continue;
                        const int64_t t_8 = (i0 + i) + query_start;
                        for (int64_t j = 0; j < j1 - j0; j += 16) {
                            in_region[j / 16] = __builtin_convertvector((j0 + j + lane_v4) <= t_8, mask_v4);
                        }
                        add_seen_v4(64, sum_2, 80, q + m * q_head + i0 * q_row + i * q_row, 1, score_2 + i * 80,
                            in_region, j1 - j0);
                    }
                } else
                    dot2_v4(round_up(j1 - j0, 16), i1 - i0, q + m * q_head + i0 * q_row, q_row, score_2, sum_2,
                        sum_2_compensation);
            }
        }
    }
    if (dk) {
        /* sum_2 = sum_2 */
        for (int64_t d = 0; d < 64; d++) {
            for (int64_t j = 0; j < j1 - j0; j += 16) {
                store_v4(sum_2 + d * 80 + j, load_v4(sum_2 + d * 80 + j));
            }
        }
    }
    if (dv) {
        /* sum = sum */
        for (int64_t e = 0; e < 64; e++) {
            for (int64_t j = 0; j < j1 - j0; j += 16) {
                store_v4(sum + e * 80 + j, load_v4(sum + e * 80 + j));
            }
        }
    }
    if (dk) {
        /* dk = sum_2, transposed back */
        transpose_out_v4(sum_2, 80, 64, j1 - j0, dk + j0 * dk_row, dk_row, 16);
    }
    if (dv) {
        /* dv = sum, transposed back */
        transpose_out_v4(sum, 80, 64, j1 - j0, dv + j0 * dv_row, dv_row, 16);
    }
}

/* Computes task number `task`: one tile of keys of one head. `work` is this thread's workspace. */
TARGET_v4 static void power_gated_dlog_decay_k_v4(const struct call *call, int64_t task, unsigned char *work)
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
    const float *const q = call->q + b * call->p.q.batch + (g / call->sharing * members + m) * call->p.q.head;
    const int64_t q_row = call->p.q.row;
    const float *const k = call->k + b * call->p.k.batch + g / call->sharing * call->p.k.head;
    const int64_t k_row = call->p.k.row;
    const float *const v = call->v + b * call->p.v.batch + g * call->p.v.head;
    const int64_t v_row = call->p.v.row;
    const float *const log_decay_q_low = call->log_decay_q_low + b * call->log_decay_q_low_at.batch + (g * members + m)
        * call->log_decay_q_low_at.head;
    const float *const log_decay_q = call->log_decay_q + b * call->log_decay_q_at.batch + (g * members + m) *
        call->log_decay_q_at.head;
    const float *const log_decay_k_low = call->log_decay_k_low + b * call->log_decay_k_low_at.batch + (g * members + m)
        * call->log_decay_k_low_at.head;
    const float *const log_decay_k = call->log_decay_k + b * call->log_decay_k_at.batch + (g * members + m) *
        call->log_decay_k_at.head;
    const float *const dout = call->dout + b * call->p.dout.batch + (g * members + m) * call->p.dout.head;
    const int64_t dout_row = call->p.dout.row;
    const float *const saved_0 = call->saved_0 + (b * call->p.heads + (g * members + m)) * call->p.n_q;
    const float *const row_0 = call->row_0 + (b * call->p.heads + (g * members + m)) * call->p.n_q;
    float *const score = (float *)(void *)(work + 0); /* [i: 288, j: 64 of 80] */
    float *const score_2 = (float *)(void *)(work + 92160); /* [i: 288, j: 64 of 80] */
    float *const row_sum = (float *)(void *)(work + 184320); /* [j: 64] */
    float *const row_sum_compensation = (float *)(void *)(work + 184576); /* [j: 64] */
    float *const dlog_decay_k = call->dlog_decay_k ? call->dlog_decay_k + b * call->dlog_decay_k_at.batch + (g * members
        + m) * call->dlog_decay_k_at.head : NULL;
    float *const k_tile = (float *)(void *)(work + 184832); /* [d: 64, j: 64 of 80] */
    float *const v_tile = (float *)(void *)(work + 205312); /* [e: 64, j: 64 of 80] */
    float *const log_decay_k_tile = (float *)(void *)(work + 225792); /* [j: 64] */
    float *const log_decay_k_low_tile = (float *)(void *)(work + 226048); /* [j: 64] */
    /* k_tile = k, with zeros beyond the last row */
    transpose_padded_v4(k + j0 * k_row, k_row, j1 - j0, 64, k_tile, 80, 16);
    /* v_tile = v, with zeros beyond the last row */
    transpose_padded_v4(v + j0 * v_row, v_row, j1 - j0, 64, v_tile, 80, 16);
    /* log_decay_k_tile = log_decay_k, with zeros beyond the last row */
    for (int64_t j = 0; j < round_up(j1 - j0, 16); j++)
        log_decay_k_tile[j] = j < j1 - j0 ? log_decay_k[(j0 + j)] : 0;
    /* log_decay_k_low_tile = log_decay_k_low, with zeros beyond the last row */
    for (int64_t j = 0; j < round_up(j1 - j0, 16); j++)
        log_decay_k_low_tile[j] = j < j1 - j0 ? log_decay_k_low[(j0 + j)] : 0;
    /* k_tile = k_tile * 0.125f */
    for (int64_t d = 0; d < 64; d++) {
        for (int64_t j = 0; j < j1 - j0; j += 16) {
            store_v4(k_tile + d * 80 + j, load_v4(k_tile + d * 80 + j) * 0.125f);
        }
    }
    /* row_sum = 0.0f; row_sum_compensation = 0.0f */
    for (int64_t j = 0; j < j1 - j0; j += 16) {
        store_v4(row_sum + j, splat_v4(0.0f));
        store_v4(row_sum_compensation + j, splat_v4(0.0f));
    }
    for (int64_t i0 = max(0, j0 - query_start), i_end = n_q; i0 < i_end; i0 += 288) {
        const int64_t i1 = min(i0 + 288, i_end);
        /* score[i][j] = sum over d of q * k_tile */
        dot8_v4(round_up(j1 - j0, 16), i1 - i0, q + i0 * q_row, q_row, k_tile, score);
        /* score_2[i][j] = sum over e of dout * v_tile */
        dot8_v4(round_up(j1 - j0, 16), i1 - i0, dout + i0 * dout_row, dout_row, v_tile, score_2);
        if (i0 < (j1 - query_start - 1)) { /* the tile is partly outside the mask */
            /* score_2 = select(j <= (i + query_start), ((score_2 * saved_0) + row_0) * neg((score * score) *
               exp2(((log_decay_q - log_decay_k_ ... */
            for (int64_t j = 0; j < j1 - j0; j += 16) {
                const ints_v4 t_0 = j0 + j + lane_v4;
                const vec_v4 log_decay_k_tile_4 = load_v4(log_decay_k_tile + j);
                const vec_v4 log_decay_k_low_tile_5 = load_v4(log_decay_k_low_tile + j);
                vec_v4 row_sum_in = (vec_v4){0};
                for (int64_t i = 0; i < i1 - i0; i++) {
                    const vec_v4 score_2_1 = load_v4(score_2 + i * 80 + j);
                    const vec_v4 score_3 = load_v4(score + i * 80 + j);
                    const vec_v4 score_2_new6 = pick_v4(__builtin_convertvector(t_0 <= ((i0 + i) + query_start),
                        mask_v4), ((score_2_1 * saved_0[(i0 + i)]) + row_0[(i0 + i)]) * (-((score_3 * score_3) *
                        exp2_v4(((log_decay_q[(i0 + i)] - log_decay_k_tile_4) + (log_decay_q_low[(i0 + i)] -
                        log_decay_k_low_tile_5)) * 1.442695f))), splat_v4(0.0f));
                    store_v4(score_2 + i * 80 + j, score_2_new6);
                    row_sum_in += score_2_new6;
                }
                add_v4(row_sum + j, row_sum_compensation + j, row_sum_in, splat_v4(1));
            }
        }
        if (!(i0 < (j1 - query_start - 1))) { /* the tile is wholly inside the mask */
            /* score_2 = ((score_2 * saved_0) + row_0) * neg((score * score) * exp2(((log_decay_q - log_decay_k_tile) +
               (log_decay_q_low - log_ ... */
            for (int64_t j = 0; j < j1 - j0; j += 16) {
                const vec_v4 log_decay_k_tile_9 = load_v4(log_decay_k_tile + j);
                const vec_v4 log_decay_k_low_tile_10 = load_v4(log_decay_k_low_tile + j);
                vec_v4 row_sum_in = (vec_v4){0};
                for (int64_t i = 0; i < i1 - i0; i++) {
                    const vec_v4 score_2_7 = load_v4(score_2 + i * 80 + j);
                    const vec_v4 score_8 = load_v4(score + i * 80 + j);
                    const vec_v4 score_2_new11 = ((score_2_7 * saved_0[(i0 + i)]) + row_0[(i0 + i)]) * (-((score_8 *
                        score_8) * exp2_v4(((log_decay_q[(i0 + i)] - log_decay_k_tile_9) + (log_decay_q_low[(i0 + i)] -
                        log_decay_k_low_tile_10)) * 1.442695f)));
                    store_v4(score_2 + i * 80 + j, score_2_new11);
                    row_sum_in += score_2_new11;
                }
                add_v4(row_sum + j, row_sum_compensation + j, row_sum_in, splat_v4(1));
            }
        }
    }
    /* row_sum = row_sum */
    for (int64_t j = 0; j < j1 - j0; j += 16) {
        store_v4(row_sum + j, load_v4(row_sum + j));
    }
    if (dlog_decay_k) {
        /* dlog_decay_k = row_sum */
        for (int64_t j = 0; j < j1 - j0; j++)
            dlog_decay_k[(j0 + j)] = row_sum[j];
    }
}

/* Computes task number `task`: one tile of keys of one head. `work` is this thread's workspace. */
TARGET_v4 static void power_gated_terms_dgate_v4(const struct call *call, int64_t task, unsigned char *work)
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

/* Initialises the states: they contain no keys yet. */
TARGET_v4 APART void power_gated_linear_saved_begin_v4(const struct call *call, int64_t task, const struct part *part,
    int64_t iteration)
{
    (void)call;
    (void)task;
    const int64_t f0 = iteration * 32, f1 = min(f0 + 32, 2080);
    float *const carried_sum = (float *)(void *)(part->shared + 0); /* [f: 2080] */
    float *const carried_sum_compensation = (float *)(void *)(part->shared + 8320); /* [f: 2080] */
    /* carried_sum = 0.0f; carried_sum_compensation = 0.0f */
    for (int64_t f = f0; f < f1; f += 16) {
        store_v4(carried_sum + f, splat_v4(0.0f));
        store_v4(carried_sum_compensation + f, splat_v4(0.0f));
    }
}

/* Sums the keys of a chunk, from zero, into its slot. */
TARGET_v4 APART void power_gated_linear_saved_keys_v4(const struct call *call, int64_t task, const struct part *part,
    int64_t iteration)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_k = call->p.n_k;
    const int64_t chunk = iteration;
    const int64_t chunk0 = part->chunk0;
    const int64_t m = task % members;
    const int64_t g = task / members % kv_heads;
    const int64_t b = task / members / kv_heads;
    const float *const k = call->k + b * call->p.k.batch + g / call->sharing * call->p.k.head;
    const int64_t k_row = call->p.k.row;
    const float *const log_decay_k_low = call->log_decay_k_low + b * call->log_decay_k_low_at.batch + (g * members + m)
        * call->log_decay_k_low_at.head;
    const float *const log_decay_k = call->log_decay_k + b * call->log_decay_k_at.batch + (g * members + m) *
        call->log_decay_k_at.head;
    const float *const log_decay_chunk_low = call->log_decay_chunk_low + b * call->log_decay_chunk_low_at.batch + (g *
        members + m) * call->log_decay_chunk_low_at.head;
    const float *const log_decay_chunk = call->log_decay_chunk + b * call->log_decay_chunk_at.batch + (g * members + m)
        * call->log_decay_chunk_at.head;
    float *const key_features = (float *)(void *)(part->work + 0); /* [f: 192, j: 64 of 80] */
    float *const state_sum = (float *)(void *)(part->slots + 0); /* [chunk, f: 2080] */
    float *const k_tile = (float *)(void *)(part->work + 61440); /* [d: 64, j: 64 of 80] */
    float *const log_decay_k_tile = (float *)(void *)(part->work + 81920); /* [j: 64] */
    float *const log_decay_k_low_tile = (float *)(void *)(part->work + 82176); /* [j: 64] */
    /* state_sum = 0.0f */
    for (int64_t f = 0; f < 2080; f += 16) {
        store_v4(state_sum + (chunk - chunk0) * 2080 + f, splat_v4(0.0f));
    }
    for (int64_t j0 = chunk * 128, j_end = min(n_k, (chunk + 1) * 128); j0 < j_end; j0 += 64) {
        const int64_t j1 = min(j0 + 64, j_end);
        /* k_tile = k, with zeros beyond the last row */
        transpose_padded_v4(k + j0 * k_row, k_row, j1 - j0, 64, k_tile, 80, 64);
        /* log_decay_k_tile = log_decay_k, with zeros beyond the last row */
        for (int64_t j = 0; j < round_up(j1 - j0, 16); j++)
            log_decay_k_tile[j] = j < j1 - j0 ? log_decay_k[(j0 + j)] : 0;
        /* log_decay_k_low_tile = log_decay_k_low, with zeros beyond the last row */
        for (int64_t j = 0; j < round_up(j1 - j0, 16); j++)
            log_decay_k_low_tile[j] = j < j1 - j0 ? log_decay_k_low[(j0 + j)] : 0;
        for (int64_t f0 = 0, f_end = 2080; f0 < f_end; f0 += 192) {
            const int64_t f1 = min(f0 + 192, f_end);
            /* key_features = (k_tile * k_tile) * exp2(((log_decay_chunk - log_decay_k_tile) + (log_decay_chunk_low -
               log_decay_k_low_tile)) *  ... */
            const float log_decay_chunk_0 = log_decay_chunk[max(min(((chunk + 1) * 128) - 1, n_k - 1), 0)];
            const float log_decay_chunk_low_1 = log_decay_chunk_low[max(min(((chunk + 1) * 128) - 1, n_k - 1), 0)];
            for (int64_t j = 0; j < j1 - j0; j += 16) {
                const vec_v4 t_2 = exp2_v4(((log_decay_chunk_0 - load_v4(log_decay_k_tile + j)) + (log_decay_chunk_low_1
                    - load_v4(log_decay_k_low_tile + j))) * 1.442695f);
                for (int64_t f = f0; f < f1; f++) {
                    store_v4(key_features + (f - f0) * 80 + j, (load_v4(k_tile + (f % 64) * 80 + j) * load_v4(k_tile +
                        (((f % 64) + (f / 64)) % 64) * 80 + j)) * t_2);
                }
            }
            /* state_sum += key_features */
            for (int64_t f = f0; f < f1; f++) {
                vec_v4 lane_sums = splat_v4(0);
                for (int64_t j = 0; j < j1 - j0; j += 16) {
                    const vec_v4 term = load_v4(key_features + (f - f0) * 80 + j);
                    lane_sums += j + 16 <= j1 - j0 ? term : pick_v4(__builtin_convertvector(j + lane_v4 < j1 - j0,
                        mask_v4), term, splat_v4(0));
                }
                const float total = lane_sum_v4(lane_sums);
                state_sum[(chunk - chunk0) * 2080 + f] += total;
            }
        }
    }
}

/* Folds the slots of the current chunks, in order, for some elements of the states. */
TARGET_v4 APART void power_gated_linear_saved_fold_v4(const struct call *call, int64_t task, const struct part *part,
    int64_t iteration)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_k = call->p.n_k;
    const int64_t f0 = iteration * 32, f1 = min(f0 + 32, 2080);
    const int64_t chunk0 = part->chunk0;
    const int64_t chunk1 = part->chunk1;
    const int64_t m = task % members;
    const int64_t g = task / members % kv_heads;
    const int64_t b = task / members / kv_heads;
    const float *const log_decay_chunk_low = call->log_decay_chunk_low + b * call->log_decay_chunk_low_at.batch + (g *
        members + m) * call->log_decay_chunk_low_at.head;
    const float *const log_decay_chunk = call->log_decay_chunk + b * call->log_decay_chunk_at.batch + (g * members + m)
        * call->log_decay_chunk_at.head;
    float *const state_sum = (float *)(void *)(part->slots + 0); /* [chunk, f: 2080] */
    float *const carried_sum = (float *)(void *)(part->shared + 0); /* [f: 2080] */
    float *const carried_sum_compensation = (float *)(void *)(part->shared + 8320); /* [f: 2080] */
    for (int64_t chunk = chunk0; chunk < chunk1; chunk++) {
        /* kept_share = select(exp2(((log_decay_chunk - log_decay_chunk) + (log_decay_chunk_low - log_decay_chunk_low))
           * 1.442695f) < 0.5f ... */
        const float t_3 = (log_decay_chunk[max(min(((chunk + 1) * 128) - 1, n_k - 1),
            0)] - log_decay_chunk[max(min((chunk * 128) - 1, n_k - 1),
            0)]) + (log_decay_chunk_low[max(min(((chunk + 1) * 128) - 1, n_k - 1),
            0)] - log_decay_chunk_low[max(min((chunk * 128) - 1, n_k - 1), 0)]);
        const float t_4 = exp2f(t_3 * 1.442695f);
        const int t_5 = t_4 < 0.5f;
        const float t_6 = t_5 ? t_4 : 1.0f;
        const float t_8 = t_5 ? 0.0f : (-expm1f(t_3));
        for (int64_t f = f0; f < f1; f += 16) {
            const vec_v4 kept_share_new7 = splat_v4(t_6);
            const vec_v4 lost_share_new9 = splat_v4(t_8);
            const vec_v4 carried_sum_10 = load_v4(carried_sum + f);
            const vec_v4 before_sum_new11 = carried_sum_10;
            const vec_v4 carried_sum_new12 = carried_sum_10 * kept_share_new7;
            store_v4(carried_sum + f, carried_sum_new12);
            store_v4(carried_sum_compensation + f, load_v4(carried_sum_compensation + f) * kept_share_new7);
            add_v4(carried_sum + f, carried_sum_compensation + f, load_v4(state_sum + (chunk - chunk0) * 2080 + f) -
                (carried_sum_new12 * lost_share_new9), splat_v4(1));
            store_v4(state_sum + (chunk - chunk0) * 2080 + f, before_sum_new11);
        }
    }
}

/* Processes the queries of a chunk: reads the state before the chunk, and the keys in the chunk. */
TARGET_v4 APART void power_gated_linear_saved_queries_v4(const struct call *call, int64_t task, const struct part *part,
    int64_t iteration)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_q = call->p.n_q;
    const int64_t n_k = call->p.n_k;
    const int64_t chunk = iteration;
    const int64_t chunk0 = part->chunk0;
    const int64_t m = task % members;
    const int64_t g = task / members % kv_heads;
    const int64_t b = task / members / kv_heads;
    const int64_t query_start = call->p.query_start ? call->p.query_start[b] : n_k - n_q;
    const float *const q = call->q + b * call->p.q.batch + (g / call->sharing * members + m) * call->p.q.head;
    const int64_t q_row = call->p.q.row;
    const float *const k = call->k + b * call->p.k.batch + g / call->sharing * call->p.k.head;
    const int64_t k_row = call->p.k.row;
    const float *const log_decay_q_low = call->log_decay_q_low + b * call->log_decay_q_low_at.batch + (g * members + m)
        * call->log_decay_q_low_at.head;
    const float *const log_decay_q = call->log_decay_q + b * call->log_decay_q_at.batch + (g * members + m) *
        call->log_decay_q_at.head;
    const float *const log_decay_k_low = call->log_decay_k_low + b * call->log_decay_k_low_at.batch + (g * members + m)
        * call->log_decay_k_low_at.head;
    const float *const log_decay_k = call->log_decay_k + b * call->log_decay_k_at.batch + (g * members + m) *
        call->log_decay_k_at.head;
    const float *const log_decay_chunk_low = call->log_decay_chunk_low + b * call->log_decay_chunk_low_at.batch + (g *
        members + m) * call->log_decay_chunk_low_at.head;
    const float *const log_decay_chunk = call->log_decay_chunk + b * call->log_decay_chunk_at.batch + (g * members + m)
        * call->log_decay_chunk_at.head;
    float *const state_sum = (float *)(void *)(part->slots + 0); /* [chunk, f: 2080] */
    float *const query_features = (float *)(void *)(part->work + 0); /* [d: 64, i: 32] */
    float *const score = (float *)(void *)(part->work + 8192); /* [j: 64, i: 32] */
    float *const row_sum_from_state = (float *)(void *)(part->work + 16384); /* [i: 32] */
    float *const row_sum = (float *)(void *)(part->work + 16512); /* [i: 32] */
    float *const row_sum_compensation = (float *)(void *)(part->work + 16640); /* [i: 32] */
    float *const saved_0 = call->saved_0 + (b * call->p.heads + (g * members + m)) * call->p.n_q;
    float *const q_tile = (float *)(void *)(part->work + 8192); /* [d: 64, i: 32] */
    float *const log_decay_q_tile = (float *)(void *)(part->work + 16768); /* [i: 32] */
    float *const log_decay_q_low_tile = (float *)(void *)(part->work + 16896); /* [i: 32] */
    for (int64_t i0 = (chunk == 0) ? 0 : max(0, (chunk * 128) - query_start), i_end = min(n_q,
        ((chunk + 1) * 128) - query_start); i0 < i_end; i0 += 32) {
        const int64_t i1 = min(i0 + 32, i_end);
        /* q_tile = q, with zeros beyond the last row */
        transpose_padded_v4(q + i0 * q_row, q_row, i1 - i0, 64, q_tile, 32, 64);
        /* log_decay_q_tile = log_decay_q, with zeros beyond the last row */
        for (int64_t i = 0; i < round_up(i1 - i0, 16); i++)
            log_decay_q_tile[i] = i < i1 - i0 ? log_decay_q[(i0 + i)] : 0;
        /* log_decay_q_low_tile = log_decay_q_low, with zeros beyond the last row */
        for (int64_t i = 0; i < round_up(i1 - i0, 16); i++)
            log_decay_q_low_tile[i] = i < i1 - i0 ? log_decay_q_low[(i0 + i)] : 0;
        /* query_features = q_tile * 0.125f */
        for (int64_t d = 0; d < 64; d++) {
            for (int64_t i = 0; i < i1 - i0; i += 16) {
                store_v4(query_features + d * 32 + i, load_v4(q_tile + d * 32 + i) * 0.125f);
            }
        }
        /* row_sum_from_state = 0.0f */
        for (int64_t i = 0; i < i1 - i0; i += 16) {
            store_v4(row_sum_from_state + i, splat_v4(0.0f));
        }
        for (int64_t f0 = 0, f_end = 2080; f0 < f_end; f0 += 192) {
            const int64_t f1 = min(f0 + 192, f_end);
            /* query = (((q_tile * 0.125f) * (q_tile * 0.125f)) * select((f / 64) == 0, 1.0f,
               2.0f)) * select(chunk == 0, 1.0f, exp2(((log_deca ... */
            const int t_13 = chunk == 0;
            const float log_decay_chunk_14 = log_decay_chunk[max(min((chunk * 128) - 1, n_k - 1), 0)];
            const float log_decay_chunk_low_15 = log_decay_chunk_low[max(min((chunk * 128) - 1, n_k - 1), 0)];
            for (int64_t i = 0; i < i1 - i0; i += 16) {
                const vec_v4 t_16 = t_13 ? splat_v4(1.0f) : exp2_v4(((load_v4(log_decay_q_tile + i) -
                    log_decay_chunk_14) + (load_v4(log_decay_q_low_tile + i) - log_decay_chunk_low_15)) * 1.442695f);
                vec_v4 row_sum_from_state_in = (vec_v4){0};
                vec_v4 row_sum_from_state_in_whole = (vec_v4){0};
                for (int64_t f = f0; f < f1; f++) {
                    const vec_v4 query_new17 = (((load_v4(q_tile + (f % 64) * 32 + i) * 0.125f) * (load_v4(q_tile + (((f
                        % 64) + (f / 64)) % 64) * 32 + i) * 0.125f)) * (float)(((f / 64) == 0) ? 1.0 : 2.0)) * t_16;
                    row_sum_from_state_in += query_new17 * (state_sum[(chunk - chunk0) * 2080 + f]);
                    if (f % 192 == 191) {
                        row_sum_from_state_in_whole += row_sum_from_state_in;
                        row_sum_from_state_in = (vec_v4){0};
                    }
                }
                row_sum_from_state_in += row_sum_from_state_in_whole;
                store_v4(row_sum_from_state + i, load_v4(row_sum_from_state + i) + row_sum_from_state_in);
            }
        }
        /* row_sum = 0.0f; row_sum_compensation = 0.0f */
        for (int64_t i = 0; i < i1 - i0; i += 16) {
            store_v4(row_sum + i, splat_v4(0.0f));
            store_v4(row_sum_compensation + i, splat_v4(0.0f));
        }
        for (int64_t j0 = max(0, chunk * 128), j_end = min(n_k, i1 + query_start); j0 < j_end; j0 += 64) {
            const int64_t j1 = min(j0 + 64, j_end);
            /* score[j][i] = sum over d of k * query_features */
            dot10_v4(round_up(i1 - i0, 16), j1 - j0, k + j0 * k_row, k_row, query_features, score);
            if ((j0 < (chunk * 128)) || ((i0 + query_start + 1) < j1)) { /* the tile is partly outside the mask */
                /* score = select((j <= (i + query_start)) && ((chunk * 128) <= j),
                   (score * score) * exp2(((log_decay_q_tile - log_decay_k) + (log ... */
                for (int64_t i = 0; i < i1 - i0; i += 16) {
                    const ints_v4 t_18 = (i0 + i + lane_v4) + query_start;
                    const vec_v4 log_decay_q_tile_20 = load_v4(log_decay_q_tile + i);
                    const vec_v4 log_decay_q_low_tile_21 = load_v4(log_decay_q_low_tile + i);
                    vec_v4 row_sum_in = (vec_v4){0};
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        const vec_v4 score_19 = load_v4(score + j * 32 + i);
                        const vec_v4 score_new22 = pick_v4(__builtin_convertvector(((j0 + j) <= t_18) &
                            (-(int64_t)((chunk * 128) <= (j0 + j))), mask_v4),
                            (score_19 * score_19) * exp2_v4(((log_decay_q_tile_20 - log_decay_k[(j0 + j)]) +
                            (log_decay_q_low_tile_21 - log_decay_k_low[(j0 + j)])) * 1.442695f), splat_v4(0.0f));
                        store_v4(score + j * 32 + i, score_new22);
                        row_sum_in += score_new22;
                    }
                    add_v4(row_sum + i, row_sum_compensation + i, row_sum_in, splat_v4(1));
                }
            }
            if (!((j0 < (chunk * 128)) || ((i0 + query_start + 1) < j1))) { /* the tile is wholly inside the mask */
                /* score = (score * score) * exp2(((log_decay_q_tile - log_decay_k) + (log_decay_q_low_tile -
                   log_decay_k_low)) * 1.442695f); row_s ... */
                for (int64_t i = 0; i < i1 - i0; i += 16) {
                    const vec_v4 log_decay_q_tile_24 = load_v4(log_decay_q_tile + i);
                    const vec_v4 log_decay_q_low_tile_25 = load_v4(log_decay_q_low_tile + i);
                    vec_v4 row_sum_in = (vec_v4){0};
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        const vec_v4 score_23 = load_v4(score + j * 32 + i);
                        const vec_v4 score_new26 = (score_23 * score_23) * exp2_v4(((log_decay_q_tile_24 -
                            log_decay_k[(j0 + j)]) + (log_decay_q_low_tile_25 - log_decay_k_low[(j0 + j)])) *
                            1.442695f);
                        store_v4(score + j * 32 + i, score_new26);
                        row_sum_in += score_new26;
                    }
                    add_v4(row_sum + i, row_sum_compensation + i, row_sum_in, splat_v4(1));
                }
            }
        }
        /* row_sum = select(((row_sum + row_sum_from_state) + 1.0f) == 0.0f, 0.0f,
           1.0f / ((row_sum + row_sum_from_state) + 1.0f)) */
        for (int64_t i = 0; i < i1 - i0; i += 16) {
            const vec_v4 t_27 = (load_v4(row_sum + i) + load_v4(row_sum_from_state + i)) + 1.0f;
            store_v4(row_sum + i, pick_v4(t_27 == 0.0f, splat_v4(0.0f), 1.0f / t_27));
        }
        /* saved_0 = row_sum */
        for (int64_t i = 0; i < i1 - i0; i++)
            saved_0[(i0 + i)] = row_sum[i];
    }
}

/* Computes head number `task`. Each thread on the head calls this with its share, `part`. */
TARGET_v4 static void power_gated_linear_saved_v4(const struct call *call, int64_t task, struct part *part)
{
    const int64_t n_k = call->p.n_k;
    const int64_t chunks = n_k > 0 ? (n_k - 1) / 128 + 1 : 1;
    for (int64_t iteration = part->number; iteration < ((2080 + 31) / 32); iteration += part->threads)
        power_gated_linear_saved_begin_v4(call, task, part, iteration);
    synchronise(part);
    const int64_t first = 0;
    const int64_t length = segment_length(part, chunks - first);
    for (int64_t segment = part->number; first + segment * length < chunks; segment += part->threads) {
        part->chunk0 = first + segment * length;
        part->chunk1 = min(part->chunk0 + length, chunks);
        for (int64_t iteration = part->chunk0; iteration < part->chunk1; iteration++)
            power_gated_linear_saved_keys_v4(call, task, part, iteration);
        for (int64_t group = 0; group < 16; group++) {
            await_segment(part, group, segment);
            const int64_t end = (group + 1) * ((2080 + 31) / 32) / 16;
            for (int64_t iteration = group * ((2080 + 31) / 32) / 16; iteration < end; iteration++)
                power_gated_linear_saved_fold_v4(call, task, part, iteration);
            pass_segment(part, group, segment);
        }
        for (int64_t iteration = part->chunk0; iteration < part->chunk1; iteration++)
            power_gated_linear_saved_queries_v4(call, task, part, iteration);
    }
    part->segments += (max(chunks - first, 0) + length - 1) / length;
    synchronise(part);
}

/* Computes task number `task`: one tile of queries of one head. `work` is this thread's workspace. */
TARGET_v4 static void power_gated_linear_row_sums_v4(const struct call *call, int64_t task, unsigned char *work)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_q = call->p.n_q;
    const int64_t tiles = (n_q + 32 - 1) / 32, i0 = (tiles - 1 - task % tiles) * 32,
        i1 = min(i0 + 32, n_q);
    const int64_t m = task / tiles % members;
    const int64_t g = task / tiles / members % kv_heads;
    const int64_t b = task / tiles / members / kv_heads;
    const float *const out = call->out + b * call->p.out.batch + (g * members + m) * call->p.out.head;
    const int64_t out_row = call->p.out.row;
    const float *const dout = call->dout + b * call->p.dout.batch + (g * members + m) * call->p.dout.head;
    const int64_t dout_row = call->p.dout.row;
    const float *const saved_0 = call->saved_0 + (b * call->p.heads + (g * members + m)) * call->p.n_q;
    float *const query_sum = (float *)(void *)(work + 0); /* [i: 32] */
    float *const row_0 = call->row_0 + (b * call->p.heads + (g * members + m)) * call->p.n_q;
    float *const out_tile = (float *)(void *)(work + 128); /* [e: 64, i: 32] */
    float *const dout_tile = (float *)(void *)(work + 8320); /* [e: 64, i: 32] */
    float *const saved_0_tile = (float *)(void *)(work + 16512); /* [i: 32] */
    /* out_tile = out, with zeros beyond the last row */
    transpose_padded_v4(out + i0 * out_row, out_row, i1 - i0, 64, out_tile, 32, 16);
    /* dout_tile = dout, with zeros beyond the last row */
    transpose_padded_v4(dout + i0 * dout_row, dout_row, i1 - i0, 64, dout_tile, 32, 16);
    /* saved_0_tile = saved_0, with zeros beyond the last row */
    for (int64_t i = 0; i < round_up(i1 - i0, 16); i++)
        saved_0_tile[i] = i < i1 - i0 ? saved_0[(i0 + i)] : 0;
    /* query_sum = 0.0f */
    for (int64_t i = 0; i < i1 - i0; i += 16) {
        store_v4(query_sum + i, splat_v4(0.0f));
    }
    /* query_sum += dout_tile * neg(out_tile) */
    for (int64_t i_first = 0; i_first < i1 - i0; i_first += 32) {
        vec_v4 query_sum_in[2];
        UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += 16) {
            query_sum_in[vector] = (vec_v4){0};
        }
        for (int64_t e = 0; e < 64; e++) {
            UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += 16) {
                query_sum_in[vector] += load_v4(dout_tile + e * 32 + i) * (-load_v4(out_tile + e * 32 + i));
            }
        }
        UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += 16) {
            store_v4(query_sum + i, load_v4(query_sum + i) + query_sum_in[vector]);
        }
    }
    /* query_sum = query_sum * saved_0_tile */
    for (int64_t i = 0; i < i1 - i0; i += 16) {
        store_v4(query_sum + i, load_v4(query_sum + i) * load_v4(saved_0_tile + i));
    }
    /* row_0 = query_sum */
    for (int64_t i = 0; i < i1 - i0; i++)
        row_0[(i0 + i)] = query_sum[i];
}

/* Initialises the states: they contain no keys yet. */
TARGET_v4 APART void power_gated_linear_dq_dlog_decay_q_begin_v4(const struct call *call, int64_t task,
    const struct part *part, int64_t iteration)
{
    (void)call;
    (void)task;
    const int64_t f0 = iteration * 32, f1 = min(f0 + 32, 2080);
    float *const carried_sum = (float *)(void *)(part->shared + 0); /* [f: 2080] */
    float *const carried_sum_compensation = (float *)(void *)(part->shared + 540800); /* [f: 2080] */
    float *const carried = (float *)(void *)(part->shared + 8320); /* [f: 2080, e: 64] */
    float *const carried_compensation = (float *)(void *)(part->shared + 549120); /* [f: 2080, e: 64] */
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
TARGET_v4 APART void power_gated_linear_dq_dlog_decay_q_keys_v4(const struct call *call, int64_t task,
    const struct part *part, int64_t iteration)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_k = call->p.n_k;
    const int64_t chunk = iteration;
    const int64_t chunk0 = part->chunk0;
    const int64_t m = task % members;
    const int64_t g = task / members % kv_heads;
    const int64_t b = task / members / kv_heads;
    const float *const k = call->k + b * call->p.k.batch + g / call->sharing * call->p.k.head;
    const int64_t k_row = call->p.k.row;
    const float *const v = call->v + b * call->p.v.batch + g * call->p.v.head;
    const int64_t v_row = call->p.v.row;
    const float *const log_decay_k_low = call->log_decay_k_low + b * call->log_decay_k_low_at.batch + (g * members + m)
        * call->log_decay_k_low_at.head;
    const float *const log_decay_k = call->log_decay_k + b * call->log_decay_k_at.batch + (g * members + m) *
        call->log_decay_k_at.head;
    const float *const log_decay_chunk_low = call->log_decay_chunk_low + b * call->log_decay_chunk_low_at.batch + (g *
        members + m) * call->log_decay_chunk_low_at.head;
    const float *const log_decay_chunk = call->log_decay_chunk + b * call->log_decay_chunk_at.batch + (g * members + m)
        * call->log_decay_chunk_at.head;
    float *const key_features = (float *)(void *)(part->work + 0); /* [f: 192, j: 64 of 80] */
    float *const state_sum = (float *)(void *)(part->slots + 0); /* [chunk, f: 2080] */
    float *const state = (float *)(void *)(part->slots + 8320); /* [chunk, f: 2080, e: 64] */
    float *const k_tile = (float *)(void *)(part->work + 61440); /* [d: 64, j: 64 of 80] */
    float *const log_decay_k_tile = (float *)(void *)(part->work + 81920); /* [j: 64] */
    float *const log_decay_k_low_tile = (float *)(void *)(part->work + 82176); /* [j: 64] */
    /* state_sum = 0.0f */
    for (int64_t f = 0; f < 2080; f += 16) {
        store_v4(state_sum + (chunk - chunk0) * 135200 + f, splat_v4(0.0f));
    }
    /* state = 0.0f */
    for (int64_t f = 0; f < 2080; f++) {
        for (int64_t e_first = 0; e_first < 64; e_first += 64) {
            UNROLL for (int64_t vector = 0, e = e_first; vector < 4; vector++, e += 16) {
                store_v4(state + (chunk - chunk0) * 135200 + f * 64 + e, splat_v4(0.0f));
            }
        }
    }
    for (int64_t j0 = chunk * 128, j_end = min(n_k, (chunk + 1) * 128); j0 < j_end; j0 += 64) {
        const int64_t j1 = min(j0 + 64, j_end);
        /* k_tile = k, with zeros beyond the last row */
        transpose_padded_v4(k + j0 * k_row, k_row, j1 - j0, 64, k_tile, 80, 64);
        /* log_decay_k_tile = log_decay_k, with zeros beyond the last row */
        for (int64_t j = 0; j < round_up(j1 - j0, 16); j++)
            log_decay_k_tile[j] = j < j1 - j0 ? log_decay_k[(j0 + j)] : 0;
        /* log_decay_k_low_tile = log_decay_k_low, with zeros beyond the last row */
        for (int64_t j = 0; j < round_up(j1 - j0, 16); j++)
            log_decay_k_low_tile[j] = j < j1 - j0 ? log_decay_k_low[(j0 + j)] : 0;
        for (int64_t f0 = 0, f_end = 2080; f0 < f_end; f0 += 192) {
            const int64_t f1 = min(f0 + 192, f_end);
            /* key_features = (k_tile * k_tile) * exp2(((log_decay_chunk - log_decay_k_tile) + (log_decay_chunk_low -
               log_decay_k_low_tile)) *  ... */
            const float log_decay_chunk_0 = log_decay_chunk[max(min(((chunk + 1) * 128) - 1, n_k - 1), 0)];
            const float log_decay_chunk_low_1 = log_decay_chunk_low[max(min(((chunk + 1) * 128) - 1, n_k - 1), 0)];
            for (int64_t j = 0; j < j1 - j0; j += 16) {
                const vec_v4 t_2 = exp2_v4(((log_decay_chunk_0 - load_v4(log_decay_k_tile + j)) + (log_decay_chunk_low_1
                    - load_v4(log_decay_k_low_tile + j))) * 1.442695f);
                for (int64_t f = f0; f < f1; f++) {
                    store_v4(key_features + (f - f0) * 80 + j, (load_v4(k_tile + (f % 64) * 80 + j) * load_v4(k_tile +
                        (((f % 64) + (f / 64)) % 64) * 80 + j)) * t_2);
                }
            }
            /* state_sum += key_features */
            for (int64_t f = f0; f < f1; f++) {
                vec_v4 lane_sums = splat_v4(0);
                for (int64_t j = 0; j < j1 - j0; j += 16) {
                    const vec_v4 term = load_v4(key_features + (f - f0) * 80 + j);
                    lane_sums += j + 16 <= j1 - j0 ? term : pick_v4(__builtin_convertvector(j + lane_v4 < j1 - j0,
                        mask_v4), term, splat_v4(0));
                }
                const float total = lane_sum_v4(lane_sums);
                state_sum[(chunk - chunk0) * 135200 + f] += total;
            }
            /* state[f][e] += sum over j of key_features * v */
            dot3_v4(f1 - f0, j1 - j0, key_features, v + j0 * v_row, v_row, state + (chunk - chunk0) * 135200 + f0 * 64);
        }
    }
}

/* Folds the slots of the current chunks, in order, for some elements of the states. */
TARGET_v4 APART void power_gated_linear_dq_dlog_decay_q_fold_v4(const struct call *call, int64_t task,
    const struct part *part, int64_t iteration)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_k = call->p.n_k;
    const int64_t f0 = iteration * 32, f1 = min(f0 + 32, 2080);
    const int64_t chunk0 = part->chunk0;
    const int64_t chunk1 = part->chunk1;
    const int64_t m = task % members;
    const int64_t g = task / members % kv_heads;
    const int64_t b = task / members / kv_heads;
    const float *const log_decay_chunk_low = call->log_decay_chunk_low + b * call->log_decay_chunk_low_at.batch + (g *
        members + m) * call->log_decay_chunk_low_at.head;
    const float *const log_decay_chunk = call->log_decay_chunk + b * call->log_decay_chunk_at.batch + (g * members + m)
        * call->log_decay_chunk_at.head;
    float *const state_sum = (float *)(void *)(part->slots + 0); /* [chunk, f: 2080] */
    float *const state = (float *)(void *)(part->slots + 8320); /* [chunk, f: 2080, e: 64] */
    float *const carried_sum = (float *)(void *)(part->shared + 0); /* [f: 2080] */
    float *const carried_sum_compensation = (float *)(void *)(part->shared + 540800); /* [f: 2080] */
    float *const carried = (float *)(void *)(part->shared + 8320); /* [f: 2080, e: 64] */
    float *const carried_compensation = (float *)(void *)(part->shared + 549120); /* [f: 2080, e: 64] */
    float *const kept_share_2 = (float *)(void *)(part->work + 0); /* [f: 2080] */
    float *const lost_share_2 = (float *)(void *)(part->work + 8320); /* [f: 2080] */
    for (int64_t chunk = chunk0; chunk < chunk1; chunk++) {
        /* kept_share = select(exp2(((log_decay_chunk - log_decay_chunk) + (log_decay_chunk_low - log_decay_chunk_low))
           * 1.442695f) < 0.5f ... */
        const float t_3 = (log_decay_chunk[max(min(((chunk + 1) * 128) - 1, n_k - 1),
            0)] - log_decay_chunk[max(min((chunk * 128) - 1, n_k - 1),
            0)]) + (log_decay_chunk_low[max(min(((chunk + 1) * 128) - 1, n_k - 1),
            0)] - log_decay_chunk_low[max(min((chunk * 128) - 1, n_k - 1), 0)]);
        const float t_4 = exp2f(t_3 * 1.442695f);
        const int t_5 = t_4 < 0.5f;
        const float t_6 = t_5 ? t_4 : 1.0f;
        const float t_8 = t_5 ? 0.0f : (-expm1f(t_3));
        for (int64_t f = f0; f < f1; f += 16) {
            const vec_v4 kept_share_new7 = splat_v4(t_6);
            const vec_v4 lost_share_new9 = splat_v4(t_8);
            const vec_v4 carried_sum_10 = load_v4(carried_sum + f);
            const vec_v4 before_sum_new11 = carried_sum_10;
            const vec_v4 carried_sum_new12 = carried_sum_10 * kept_share_new7;
            store_v4(carried_sum + f, carried_sum_new12);
            store_v4(carried_sum_compensation + f, load_v4(carried_sum_compensation + f) * kept_share_new7);
            add_v4(carried_sum + f, carried_sum_compensation + f, load_v4(state_sum + (chunk - chunk0) * 135200 + f) -
                (carried_sum_new12 * lost_share_new9), splat_v4(1));
            store_v4(state_sum + (chunk - chunk0) * 135200 + f, before_sum_new11);
        }
        /* kept_share_2 = select(exp2(((log_decay_chunk - log_decay_chunk) + (log_decay_chunk_low -
           log_decay_chunk_low)) * 1.442695f) < 0. ... */
        const float t_13 = (log_decay_chunk[max(min(((chunk + 1) * 128) - 1, n_k - 1),
            0)] - log_decay_chunk[max(min((chunk * 128) - 1, n_k - 1),
            0)]) + (log_decay_chunk_low[max(min(((chunk + 1) * 128) - 1, n_k - 1),
            0)] - log_decay_chunk_low[max(min((chunk * 128) - 1, n_k - 1), 0)]);
        const float t_14 = exp2f(t_13 * 1.442695f);
        const int t_15 = t_14 < 0.5f;
        const float t_16 = t_15 ? t_14 : 1.0f;
        const float t_17 = t_15 ? 0.0f : (-expm1f(t_13));
        for (int64_t f = f0; f < f1; f += 16) {
            store_v4(kept_share_2 + f, splat_v4(t_16));
            store_v4(lost_share_2 + f, splat_v4(t_17));
        }
        /* before = carried; carried = carried * kept_share_2; carried_compensation = carried_compensation *
           kept_share_2; carried += state ... */
        for (int64_t f = f0; f < f1; f++) {
            for (int64_t e_first = 0; e_first < 64; e_first += 64) {
                UNROLL for (int64_t vector = 0, e = e_first; vector < 4; vector++, e += 16) {
                    const vec_v4 carried_18 = load_v4(carried + f * 64 + e);
                    const vec_v4 before_new19 = carried_18;
                    const float kept_share_2_20 = kept_share_2[f];
                    const vec_v4 carried_new21 = carried_18 * kept_share_2_20;
                    store_v4(carried + f * 64 + e, carried_new21);
                    store_v4(carried_compensation + f * 64 + e, load_v4(carried_compensation + f * 64 + e) *
                        kept_share_2_20);
                    add_v4(carried + f * 64 + e, carried_compensation + f * 64 + e,
                        load_v4(state + (chunk - chunk0) * 135200 + f * 64 + e) - (carried_new21 * lost_share_2[f]),
                        splat_v4(1));
                    store_v4(state + (chunk - chunk0) * 135200 + f * 64 + e, before_new19);
                }
            }
        }
    }
}

/* Processes the queries of a chunk: reads the state before the chunk, and the keys in the chunk. */
TARGET_v4 APART void power_gated_linear_dq_dlog_decay_q_queries_v4(const struct call *call, int64_t task,
    const struct part *part, int64_t iteration)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_q = call->p.n_q;
    const int64_t n_k = call->p.n_k;
    const int64_t chunk = iteration;
    const int64_t chunk0 = part->chunk0;
    const int64_t m = task % members;
    const int64_t g = task / members % kv_heads;
    const int64_t b = task / members / kv_heads;
    const int64_t query_start = call->p.query_start ? call->p.query_start[b] : n_k - n_q;
    const float *const q = call->q + b * call->p.q.batch + (g / call->sharing * members + m) * call->p.q.head;
    const int64_t q_row = call->p.q.row;
    const float *const k = call->k + b * call->p.k.batch + g / call->sharing * call->p.k.head;
    const int64_t k_row = call->p.k.row;
    const float *const v = call->v + b * call->p.v.batch + g * call->p.v.head;
    const int64_t v_row = call->p.v.row;
    const float *const log_decay_q_low = call->log_decay_q_low + b * call->log_decay_q_low_at.batch + (g * members + m)
        * call->log_decay_q_low_at.head;
    const float *const log_decay_q = call->log_decay_q + b * call->log_decay_q_at.batch + (g * members + m) *
        call->log_decay_q_at.head;
    const float *const log_decay_k_low = call->log_decay_k_low + b * call->log_decay_k_low_at.batch + (g * members + m)
        * call->log_decay_k_low_at.head;
    const float *const log_decay_k = call->log_decay_k + b * call->log_decay_k_at.batch + (g * members + m) *
        call->log_decay_k_at.head;
    const float *const log_decay_chunk_low = call->log_decay_chunk_low + b * call->log_decay_chunk_low_at.batch + (g *
        members + m) * call->log_decay_chunk_low_at.head;
    const float *const log_decay_chunk = call->log_decay_chunk + b * call->log_decay_chunk_at.batch + (g * members + m)
        * call->log_decay_chunk_at.head;
    const float *const dout = call->dout + b * call->p.dout.batch + (g * members + m) * call->p.dout.head;
    const int64_t dout_row = call->p.dout.row;
    const float *const saved_0 = call->saved_0 + (b * call->p.heads + (g * members + m)) * call->p.n_q;
    const float *const row_0 = call->row_0 + (b * call->p.heads + (g * members + m)) * call->p.n_q;
    float *const state_sum = (float *)(void *)(part->slots + 0); /* [chunk, f: 2080] */
    float *const state = (float *)(void *)(part->slots + 8320); /* [chunk, f: 2080, e: 64] */
    float *const score = (float *)(void *)(part->work + 0); /* [j: 64, i: 32] */
    float *const score_2 = (float *)(void *)(part->work + 8192); /* [j: 64, i: 32] */
    float *const sum_from_state = (float *)(void *)(part->work + 0); /* [f: 2080, i: 32] */
    float *const weight_2 = (float *)(void *)(part->work + 16384); /* [j: 64, i: 32] */
    float *const row_sum = (float *)(void *)(part->work + 266240); /* [i: 32] */
    float *const row_sum_compensation = (float *)(void *)(part->work + 266368); /* [i: 32] */
    float *const query_sum = (float *)(void *)(part->work + 266496); /* [d: 64, i: 32] */
    float *const query_sum_2 = (float *)(void *)(part->work + 274688); /* [d: 64, i: 32] */
    float *const query_sum_3 = (float *)(void *)(part->work + 282880); /* [i: 32] */
    float *const sum = (float *)(void *)(part->work + 24576); /* [d: 64, i: 32] */
    float *const sum_compensation = (float *)(void *)(part->work + 32768); /* [d: 64, i: 32] */
    float *const dq = call->dq ? call->dq + b * call->p.dq.batch + (g * members + m) * call->p.dq.head : NULL;
    const int64_t dq_row = call->p.dq.row;
    float *const dlog_decay_q = call->dlog_decay_q ? call->dlog_decay_q + b * call->dlog_decay_q_at.batch + (g * members
        + m) * call->dlog_decay_q_at.head : NULL;
    const int64_t dlog_decay_q_row = call->dlog_decay_q_at.row;
    float *const dout_tile = (float *)(void *)(part->work + 283008); /* [e: 64, i: 32] */
    float *const saved_0_tile = (float *)(void *)(part->work + 0); /* [i: 32] */
    float *const row_0_tile = (float *)(void *)(part->work + 291200); /* [i: 32] */
    float *const q_tile = (float *)(void *)(part->work + 291328); /* [d: 64, i: 32] */
    float *const log_decay_q_tile = (float *)(void *)(part->work + 299520); /* [i: 32] */
    float *const log_decay_q_low_tile = (float *)(void *)(part->work + 299648); /* [i: 32] */
    for (int64_t i0 = (chunk == 0) ? 0 : max(0, (chunk * 128) - query_start), i_end = min(n_q,
        ((chunk + 1) * 128) - query_start); i0 < i_end; i0 += 32) {
        const int64_t i1 = min(i0 + 32, i_end);
        /* dout_tile = dout, with zeros beyond the last row */
        transpose_padded_v4(dout + i0 * dout_row, dout_row, i1 - i0, 64, dout_tile, 32, 64);
        /* saved_0_tile = saved_0, with zeros beyond the last row */
        for (int64_t i = 0; i < round_up(i1 - i0, 16); i++)
            saved_0_tile[i] = i < i1 - i0 ? saved_0[(i0 + i)] : 0;
        /* row_0_tile = row_0, with zeros beyond the last row */
        for (int64_t i = 0; i < round_up(i1 - i0, 16); i++)
            row_0_tile[i] = i < i1 - i0 ? row_0[(i0 + i)] : 0;
        /* q_tile = q, with zeros beyond the last row */
        transpose_padded_v4(q + i0 * q_row, q_row, i1 - i0, 64, q_tile, 32, 64);
        /* log_decay_q_tile = log_decay_q, with zeros beyond the last row */
        for (int64_t i = 0; i < round_up(i1 - i0, 16); i++)
            log_decay_q_tile[i] = i < i1 - i0 ? log_decay_q[(i0 + i)] : 0;
        /* log_decay_q_low_tile = log_decay_q_low, with zeros beyond the last row */
        for (int64_t i = 0; i < round_up(i1 - i0, 16); i++)
            log_decay_q_low_tile[i] = i < i1 - i0 ? log_decay_q_low[(i0 + i)] : 0;
        /* dout_tile = dout_tile * saved_0_tile */
        for (int64_t i = 0; i < i1 - i0; i += 16) {
            const vec_v4 saved_0_tile_22 = load_v4(saved_0_tile + i);
            for (int64_t e = 0; e < 64; e++) {
                store_v4(dout_tile + e * 32 + i, load_v4(dout_tile + e * 32 + i) * saved_0_tile_22);
            }
        }
        /* sum_from_state[f][i] = sum over e of state * dout_tile */
        dot11_v4(round_up(i1 - i0, 16), state + (chunk - chunk0) * 135200, dout_tile, sum_from_state);
        /* sum_from_state = sum_from_state + (row_0_tile * state_sum) */
        for (int64_t i = 0; i < i1 - i0; i += 16) {
            const vec_v4 row_0_tile_23 = load_v4(row_0_tile + i);
            for (int64_t f = 0; f < 2080; f++) {
                store_v4(sum_from_state + f * 32 + i, load_v4(sum_from_state + f * 32 + i) + (row_0_tile_23 *
                    (state_sum[(chunk - chunk0) * 135200 + f])));
            }
        }
        if (dq) {
            /* query_sum = 0.0f */
            for (int64_t d = 0; d < 64; d++) {
                for (int64_t i = 0; i < i1 - i0; i += 16) {
                    store_v4(query_sum + d * 32 + i, splat_v4(0.0f));
                }
            }
            /* query_sum_2 = 0.0f */
            for (int64_t d = 0; d < 64; d++) {
                for (int64_t i = 0; i < i1 - i0; i += 16) {
                    store_v4(query_sum_2 + d * 32 + i, splat_v4(0.0f));
                }
            }
            /* query_sum += select(((t33 * 64) + d) < 2080, sum_from_state * (((q_tile * select(t33 == 0, 1.0f,
               2.0f)) * select(chunk == 0, 1.0 ... */
            const int t_25 = chunk == 0;
            const float log_decay_chunk_26 = log_decay_chunk[max(min((chunk * 128) - 1, n_k - 1), 0)];
            const float log_decay_chunk_low_27 = log_decay_chunk_low[max(min((chunk * 128) - 1, n_k - 1), 0)];
            for (int64_t i = 0; i < i1 - i0; i += 16) {
                const vec_v4 t_28 = t_25 ? splat_v4(1.0f) : exp2_v4(((load_v4(log_decay_q_tile + i) -
                    log_decay_chunk_26) + (load_v4(log_decay_q_low_tile + i) - log_decay_chunk_low_27)) * 1.442695f);
                for (int64_t d = 0; d < 64; d++) {
                    vec_v4 query_sum_in = (vec_v4){0};
                    vec_v4 query_sum_2_in = (vec_v4){0};
                    for (int64_t t33 = 0; t33 < 33; t33++) {
                        const double t_24 = (t33 == 0) ? 1.0 : 2.0;
                        query_sum_in += (((t33 * 64) + d) < 2080) ? load_v4(sum_from_state + min((t33 * 64) + d,
                            2079) * 32 + i) * (((load_v4(q_tile + ((d + t33) % 64) * 32 + i) * (float)t_24) * t_28) *
                            0.015625f) : splat_v4(0.0f);
                        query_sum_2_in += (((t33 * 64) + floor_mod(d - t33,
                            64)) < 2080) ? load_v4(sum_from_state + min((t33 * 64) + floor_mod(d - t33, 64),
                            2079) * 32 + i) * (((load_v4(q_tile + floor_mod(d - t33,
                            64) * 32 + i) * (float)t_24) * t_28) * 0.015625f) : splat_v4(0.0f);
                    }
                    store_v4(query_sum + d * 32 + i, load_v4(query_sum + d * 32 + i) + query_sum_in);
                    store_v4(query_sum_2 + d * 32 + i, load_v4(query_sum_2 + d * 32 + i) + query_sum_2_in);
                }
            }
        }
        if (dlog_decay_q) {
            /* row_sum = 0.0f; row_sum_compensation = 0.0f; query_sum_3 = 0.0f */
            for (int64_t i = 0; i < i1 - i0; i += 16) {
                store_v4(row_sum + i, splat_v4(0.0f));
                store_v4(row_sum_compensation + i, splat_v4(0.0f));
                store_v4(query_sum_3 + i, splat_v4(0.0f));
            }
            /* query_sum_3 += sum_from_state * ((((q_tile * 0.125f) * (q_tile * 0.125f)) * select((f / 64) == 0, 1.0f,
               2.0f)) * select(chunk == ... */
            const int t_29 = chunk == 0;
            const float log_decay_chunk_30 = log_decay_chunk[max(min((chunk * 128) - 1, n_k - 1), 0)];
            const float log_decay_chunk_low_31 = log_decay_chunk_low[max(min((chunk * 128) - 1, n_k - 1), 0)];
            for (int64_t i = 0; i < i1 - i0; i += 16) {
                const vec_v4 t_32 = t_29 ? splat_v4(0.0f) : exp2_v4(((load_v4(log_decay_q_tile + i) -
                    log_decay_chunk_30) + (load_v4(log_decay_q_low_tile + i) - log_decay_chunk_low_31)) * 1.442695f);
                vec_v4 query_sum_3_in = (vec_v4){0};
                vec_v4 query_sum_3_in_whole = (vec_v4){0};
                for (int64_t f = 0; f < 2080; f++) {
                    query_sum_3_in += load_v4(sum_from_state + f * 32 + i) * ((((load_v4(q_tile + (f % 64) * 32 + i) *
                        0.125f) * (load_v4(q_tile + (((f % 64) + (f / 64)) % 64) * 32 + i) * 0.125f)) * (float)(((f /
                        64) == 0) ? 1.0 : 2.0)) * t_32);
                    if (f % 192 == 191) {
                        query_sum_3_in_whole += query_sum_3_in;
                        query_sum_3_in = (vec_v4){0};
                    }
                }
                query_sum_3_in += query_sum_3_in_whole;
                store_v4(query_sum_3 + i, load_v4(query_sum_3 + i) + query_sum_3_in);
            }
        }
        if (dq) {
            /* sum = 0.0f; sum_compensation = 0.0f */
            for (int64_t d = 0; d < 64; d++) {
                for (int64_t i = 0; i < i1 - i0; i += 16) {
                    store_v4(sum + d * 32 + i, splat_v4(0.0f));
                    store_v4(sum_compensation + d * 32 + i, splat_v4(0.0f));
                }
            }
        }
        for (int64_t j0 = max(0, chunk * 128), j_end = min(n_k, i1 + query_start); j0 < j_end; j0 += 64) {
            const int64_t j1 = min(j0 + 64, j_end);
            /* score[j][i] = sum over d of k * q_tile */
            dot10_v4(round_up(i1 - i0, 16), j1 - j0, k + j0 * k_row, k_row, q_tile, score);
            /* score_2[j][i] = sum over e of v * dout_tile */
            dot5_v4(round_up(i1 - i0, 16), j1 - j0, v + j0 * v_row, v_row, dout_tile, score_2, k + j0 * k_row, k_row);
            /* score_2 = score_2 + row_0_tile; weight_2 = score_2 * ((score * exp2(((log_decay_q_tile - log_decay_k) +
               (log_decay_q_low_tile -  ... */
            for (int64_t i = 0; i < i1 - i0; i += 16) {
                const vec_v4 row_0_tile_34 = load_v4(row_0_tile + i);
                const vec_v4 log_decay_q_tile_37 = load_v4(log_decay_q_tile + i);
                const vec_v4 log_decay_q_low_tile_38 = load_v4(log_decay_q_low_tile + i);
                for (int64_t j = 0; j < j1 - j0; j++) {
                    const vec_v4 score_2_33 = load_v4(score_2 + j * 32 + i);
                    const vec_v4 score_2_new35 = score_2_33 + row_0_tile_34;
                    store_v4(score_2 + j * 32 + i, score_2_new35);
                    const vec_v4 score_36 = load_v4(score + j * 32 + i);
                    const vec_v4 t_39 = exp2_v4(((log_decay_q_tile_37 - log_decay_k[(j0 + j)]) +
                        (log_decay_q_low_tile_38 - log_decay_k_low[(j0 + j)])) * 1.442695f);
                    store_v4(weight_2 + j * 32 + i, score_2_new35 * ((score_36 * t_39) * 0.03125f));
                    const vec_v4 t_40 = score_36 * 0.125f;
                    store_v4(score + j * 32 + i, score_2_new35 * ((t_40 * t_40) * t_39));
                }
            }
            if ((j0 < (chunk * 128)) || ((i0 + query_start + 1) < j1)) { /* the tile is partly outside the mask */
                if (dlog_decay_q) {
                    /* score = select((j <= (i + query_start)) && ((chunk * 128) <= j), score, 0.0f) */
                    for (int64_t i = 0; i < i1 - i0; i += 16) {
                        const ints_v4 t_41 = (i0 + i + lane_v4) + query_start;
                        for (int64_t j = 0; j < j1 - j0; j++) {
                            store_v4(score + j * 32 + i, pick_v4(__builtin_convertvector(((j0 + j) <= t_41) &
                                (-(int64_t)((chunk * 128) <= (j0 + j))), mask_v4), load_v4(score + j * 32 + i),
                                splat_v4(0.0f)));
                        }
                    }
                }
            }
            if (dlog_decay_q) {
                /* row_sum += score */
                for (int64_t i_first = 0; i_first < i1 - i0; i_first += 32) {
                    vec_v4 row_sum_in[2];
                    UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += 16) {
                        row_sum_in[vector] = (vec_v4){0};
                    }
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += 16) {
                            row_sum_in[vector] += load_v4(score + j * 32 + i);
                        }
                    }
                    UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += 16) {
                        add_v4(row_sum + i, row_sum_compensation + i, row_sum_in[vector], splat_v4(1));
                    }
                }
            }
            if ((j0 < (chunk * 128)) || ((i0 + query_start + 1) < j1)) { /* the tile is partly outside the mask */
                if (dq) {
                    /* weight_2 = select((j <= (i + query_start)) && ((chunk * 128) <= j), weight_2, 0.0f) */
                    for (int64_t i = 0; i < i1 - i0; i += 16) {
                        const ints_v4 t_42 = (i0 + i + lane_v4) + query_start;
                        for (int64_t j = 0; j < j1 - j0; j++) {
                            store_v4(weight_2 + j * 32 + i, pick_v4(__builtin_convertvector(((j0 + j) <= t_42) &
                                (-(int64_t)((chunk * 128) <= (j0 + j))), mask_v4), load_v4(weight_2 + j * 32 + i),
                                splat_v4(0.0f)));
                        }
                    }
                }
            }
            if (dq) {
                /* sum[d][i] += sum over j of k * weight_2 */
                if (__builtin_expect(((j0 < (chunk * 128)) || ((i0 + query_start + 1) < j1)) && !finite_v4(k + j0 *
                    k_row, k_row, j1 - j0, 64), 0)) { /* infinity and NaN affect only queries that see them */
                    dot6_v4(round_up(i1 - i0, 16), j1 - j0, k + j0 * k_row, k_row, weight_2, sum, sum_compensation);
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        mask_v4 in_region[2] = {0};
                        if (finite_v4(k + j0 * k_row + j * k_row, 1, 64, 1)) continue;
                        const int t_43 = (chunk * 128) <= (j0 + j);
                        for (int64_t i = 0; i < i1 - i0; i += 16) {
                            in_region[i / 16] = __builtin_convertvector(((j0 + j) <= ((i0 + i + lane_v4) + query_start))
                                & (-(int64_t)t_43), mask_v4);
                        }
                        add_seen_v4(64, sum, 32, k + j0 * k_row + j * k_row, 1, weight_2 + j * 32, in_region, i1 - i0);
                    }
                } else
                    dot7_v4(round_up(i1 - i0, 16), j1 - j0, k + j0 * k_row, k_row, weight_2, sum, sum_compensation);
            }
        }
        if (dq) {
            /* query_sum = (query_sum + query_sum_2) + sum */
            for (int64_t d = 0; d < 64; d++) {
                for (int64_t i = 0; i < i1 - i0; i += 16) {
                    store_v4(query_sum + d * 32 + i, (load_v4(query_sum + d * 32 + i) + load_v4(query_sum_2 + d * 32 +
                        i)) + load_v4(sum + d * 32 + i));
                }
            }
        }
        if (dlog_decay_q) {
            /* row_sum = row_sum + query_sum_3 */
            for (int64_t i = 0; i < i1 - i0; i += 16) {
                store_v4(row_sum + i, load_v4(row_sum + i) + load_v4(query_sum_3 + i));
            }
        }
        if (dq) {
            /* dq = query_sum, transposed back */
            transpose_out_v4(query_sum, 32, 64, i1 - i0, dq + i0 * dq_row, dq_row, 64);
        }
        if (dlog_decay_q) {
            /* dlog_decay_q = row_sum */
            for (int64_t i = 0; i < i1 - i0; i++)
                dlog_decay_q[(i0 + i) * dlog_decay_q_row] = row_sum[i];
        }
    }
}

/* Computes head number `task`. Each thread on the head calls this with its share, `part`. */
TARGET_v4 static void power_gated_linear_dq_dlog_decay_q_v4(const struct call *call, int64_t task, struct part *part)
{
    const int64_t n_k = call->p.n_k;
    const int64_t chunks = n_k > 0 ? (n_k - 1) / 128 + 1 : 1;
    for (int64_t iteration = part->number; iteration < ((2080 + 31) / 32); iteration += part->threads)
        power_gated_linear_dq_dlog_decay_q_begin_v4(call, task, part, iteration);
    synchronise(part);
    const int64_t first = 0;
    const int64_t length = segment_length(part, chunks - first);
    for (int64_t segment = part->number; first + segment * length < chunks; segment += part->threads) {
        part->chunk0 = first + segment * length;
        part->chunk1 = min(part->chunk0 + length, chunks);
        for (int64_t iteration = part->chunk0; iteration < part->chunk1; iteration++)
            power_gated_linear_dq_dlog_decay_q_keys_v4(call, task, part, iteration);
        for (int64_t group = 0; group < 16; group++) {
            await_segment(part, group, segment);
            const int64_t end = (group + 1) * ((2080 + 31) / 32) / 16;
            for (int64_t iteration = group * ((2080 + 31) / 32) / 16; iteration < end; iteration++)
                power_gated_linear_dq_dlog_decay_q_fold_v4(call, task, part, iteration);
            pass_segment(part, group, segment);
        }
        for (int64_t iteration = part->chunk0; iteration < part->chunk1; iteration++)
            power_gated_linear_dq_dlog_decay_q_queries_v4(call, task, part, iteration);
    }
    part->segments += (max(chunks - first, 0) + length - 1) / length;
    synchronise(part);
}

/* Initialises the states: they contain no queries yet. */
TARGET_v4 APART void power_gated_linear_linear_heads_0_linear_heads_1_dlog_decay_k_begin_v4(const struct call *call,
    int64_t task, const struct part *part, int64_t iteration)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t f0 = iteration * 32, f1 = min(f0 + 32, 2080);
    const int64_t m = task % members;
    const int64_t g = task / members % kv_heads;
    const int64_t b = task / members / kv_heads;
    float *const carried = (float *)(void *)(part->shared + 0); /* [f: 2080, e: 64] */
    float *const carried_compensation = (float *)(void *)(part->shared + 540800); /* [f: 2080, e: 64] */
    float *const carried_2 = (float *)(void *)(part->shared + 532480); /* [f: 2080] */
    float *const carried_2_compensation = (float *)(void *)(part->shared + 1073280); /* [f: 2080] */
    float *const linear_heads_0 = call->linear_heads_0 ? call->linear_heads_0 + b * call->linear_heads_0_at.batch + (g *
        members + m) * call->linear_heads_0_at.head : NULL;
    float *const dlog_decay_k = call->dlog_decay_k ? call->dlog_decay_k + b * call->dlog_decay_k_at.batch + (g * members
        + m) * call->dlog_decay_k_at.head : NULL;
    /* carried = 0.0f; carried_compensation = 0.0f */
    for (int64_t f = f0; f < f1; f++) {
        for (int64_t e_first = 0; e_first < 64; e_first += 64) {
            UNROLL for (int64_t vector = 0, e = e_first; vector < 4; vector++, e += 16) {
                store_v4(carried + f * 64 + e, splat_v4(0.0f));
                store_v4(carried_compensation + f * 64 + e, splat_v4(0.0f));
            }
        }
    }
    if (linear_heads_0 || dlog_decay_k) {
        /* carried_2 = 0.0f; carried_2_compensation = 0.0f */
        for (int64_t f = f0; f < f1; f += 16) {
            store_v4(carried_2 + f, splat_v4(0.0f));
            store_v4(carried_2_compensation + f, splat_v4(0.0f));
        }
    }
}

/* Sums the queries of a chunk, from zero, into its slot. */
TARGET_v4 APART void power_gated_linear_linear_heads_0_linear_heads_1_dlog_decay_k_queries_v4(const struct call *call,
    int64_t task, const struct part *part, int64_t iteration)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_q = call->p.n_q;
    const int64_t n_k = call->p.n_k;
    const int64_t chunks = n_k > 0 ? (n_k - 1) / 128 + 1 : 1;
    const int64_t chunk = iteration;
    const int64_t chunk0 = part->chunk0;
    const int64_t m = task % members;
    const int64_t g = task / members % kv_heads;
    const int64_t b = task / members / kv_heads;
    const int64_t query_start = call->p.query_start ? call->p.query_start[b] : n_k - n_q;
    const float *const q = call->q + b * call->p.q.batch + (g / call->sharing * members + m) * call->p.q.head;
    const int64_t q_row = call->p.q.row;
    const float *const log_decay_q_low = call->log_decay_q_low + b * call->log_decay_q_low_at.batch + (g * members + m)
        * call->log_decay_q_low_at.head;
    const float *const log_decay_q = call->log_decay_q + b * call->log_decay_q_at.batch + (g * members + m) *
        call->log_decay_q_at.head;
    const float *const log_decay_chunk_low = call->log_decay_chunk_low + b * call->log_decay_chunk_low_at.batch + (g *
        members + m) * call->log_decay_chunk_low_at.head;
    const float *const log_decay_chunk = call->log_decay_chunk + b * call->log_decay_chunk_at.batch + (g * members + m)
        * call->log_decay_chunk_at.head;
    const float *const dout = call->dout + b * call->p.dout.batch + (g * members + m) * call->p.dout.head;
    const int64_t dout_row = call->p.dout.row;
    const float *const saved_0 = call->saved_0 + (b * call->p.heads + (g * members + m)) * call->p.n_q;
    const float *const row_0 = call->row_0 + (b * call->p.heads + (g * members + m)) * call->p.n_q;
    float *const key_features = (float *)(void *)(part->work + 0); /* [i: 64, e: 64] */
    float *const key_features_2 = (float *)(void *)(part->work + 16384); /* [f: 192, i: 64 of 80] */
    float *const state = (float *)(void *)(part->slots + 0); /* [chunk, f: 2080, e: 64] */
    float *const state_2 = (float *)(void *)(part->slots + 532480); /* [chunk, f: 2080] */
    float *const linear_heads_0 = call->linear_heads_0 ? call->linear_heads_0 + b * call->linear_heads_0_at.batch + (g *
        members + m) * call->linear_heads_0_at.head : NULL;
    float *const dlog_decay_k = call->dlog_decay_k ? call->dlog_decay_k + b * call->dlog_decay_k_at.batch + (g * members
        + m) * call->dlog_decay_k_at.head : NULL;
    float *const q_tile = (float *)(void *)(part->work + 77824); /* [d: 64, i: 64 of 80] */
    float *const log_decay_q_tile = (float *)(void *)(part->work + 98304); /* [i: 64] */
    float *const log_decay_q_low_tile = (float *)(void *)(part->work + 98560); /* [i: 64] */
    float *const row_0_tile = (float *)(void *)(part->work + 98816); /* [i: 64] */
    float *const log_decay_chunk_at = (float *)(void *)(part->work + 99072); /* [i: 64] */
    float *const log_decay_chunk_low_at = (float *)(void *)(part->work + 99328); /* [i: 64] */
    /* state = 0.0f */
    for (int64_t f = 0; f < 2080; f++) {
        for (int64_t e_first = 0; e_first < 64; e_first += 64) {
            UNROLL for (int64_t vector = 0, e = e_first; vector < 4; vector++, e += 16) {
                store_v4(state + (chunk - chunk0) * 135200 + f * 64 + e, splat_v4(0.0f));
            }
        }
    }
    if (linear_heads_0 || dlog_decay_k) {
        /* state_2 = 0.0f */
        for (int64_t f = 0; f < 2080; f += 16) {
            store_v4(state_2 + (chunk - chunk0) * 135200 + f, splat_v4(0.0f));
        }
    }
    for (int64_t i0 = ((chunks - chunk - 1) == 0) ? 0 : max(0, ((chunks - chunk - 1) * 128) - query_start),
        i_end = min(n_q, ((chunks - chunk) * 128) - query_start); i0 < i_end; i0 += 64) {
        const int64_t i1 = min(i0 + 64, i_end);
        /* q_tile = q, with zeros beyond the last row */
        transpose_padded_v4(q + i0 * q_row, q_row, i1 - i0, 64, q_tile, 80, 64);
        /* log_decay_q_tile = log_decay_q, with zeros beyond the last row */
        for (int64_t i = 0; i < round_up(i1 - i0, 16); i++)
            log_decay_q_tile[i] = i < i1 - i0 ? log_decay_q[(i0 + i)] : 0;
        /* log_decay_q_low_tile = log_decay_q_low, with zeros beyond the last row */
        for (int64_t i = 0; i < round_up(i1 - i0, 16); i++)
            log_decay_q_low_tile[i] = i < i1 - i0 ? log_decay_q_low[(i0 + i)] : 0;
        if (linear_heads_0 || dlog_decay_k) {
            /* row_0_tile = row_0, with zeros beyond the last row */
            for (int64_t i = 0; i < round_up(i1 - i0, 16); i++)
                row_0_tile[i] = i < i1 - i0 ? row_0[(i0 + i)] : 0;
        }
        /* key_features = dout * saved_0 */
        for (int64_t i = 0; i < i1 - i0; i++) {
            for (int64_t e_first = 0; e_first < 64; e_first += 64) {
                UNROLL for (int64_t vector = 0, e = e_first; vector < 4; vector++, e += 16) {
                    store_v4(key_features + i * 64 + e, load_v4(dout + (i0 + i) * dout_row + e) * saved_0[(i0 + i)]);
                }
            }
        }
        for (int64_t f0 = 0, f_end = 2080; f0 < f_end; f0 += 192) {
            const int64_t f1 = min(f0 + 192, f_end);
            /* log_decay_chunk_at = log_decay_chunk, at computed subscripts */
            for (int64_t i = 0; i < i1 - i0; i++) log_decay_chunk_at[i] = log_decay_chunk[max(min(((max((i0 + i) +
                query_start, 0) / 128) * 128) - 1, n_k - 1), 0)];
            for (int64_t i = i1 - i0; i < round_up(i1 - i0, 16); i++) log_decay_chunk_at[i] = 0;
            /* log_decay_chunk_low_at = log_decay_chunk_low, at computed subscripts */
            for (int64_t i = 0; i < i1 - i0; i++) log_decay_chunk_low_at[i] = log_decay_chunk_low[max(min(((max((i0 + i)
                + query_start, 0) / 128) * 128) - 1, n_k - 1), 0)];
            for (int64_t i = i1 - i0; i < round_up(i1 - i0, 16); i++) log_decay_chunk_low_at[i] = 0;
            /* key_features_2 = ((((q_tile * 0.125f) * (q_tile * 0.125f)) * select((f / 64) == 0, 1.0f,
               2.0f)) * select((max(i + query_start, 0 ... */
            const float log_decay_chunk_3 = log_decay_chunk[max(min(((chunks - chunk - 1) * 128) - 1, n_k - 1), 0)];
            const float log_decay_chunk_low_4 = log_decay_chunk_low[max(min(((chunks - chunk - 1) * 128) - 1, n_k - 1),
                0)];
            for (int64_t i = 0; i < i1 - i0; i += 16) {
                const vec_v4 log_decay_chunk_at_0 = load_v4(log_decay_chunk_at + i);
                const vec_v4 log_decay_chunk_low_at_1 = load_v4(log_decay_chunk_low_at + i);
                const vec_v4 t_2 = pick_v4(__builtin_convertvector(((((((i0 + i + lane_v4) + query_start) > 0) & ((i0 +
                    i + lane_v4) + query_start)) | (~(((i0 + i + lane_v4) + query_start) > 0) & (0 - (ints_v4){0}))) /
                    128) == 0, mask_v4), splat_v4(1.0f), exp2_v4(((load_v4(log_decay_q_tile + i) - log_decay_chunk_at_0)
                    + (load_v4(log_decay_q_low_tile + i) - log_decay_chunk_low_at_1)) * 1.442695f));
                const vec_v4 t_5 = exp2_v4(((log_decay_chunk_at_0 - log_decay_chunk_3) + (log_decay_chunk_low_at_1 -
                    log_decay_chunk_low_4)) * 1.442695f);
                for (int64_t f = f0; f < f1; f++) {
                    store_v4(key_features_2 + (f - f0) * 80 + i, ((((load_v4(q_tile + (f % 64) * 80 + i) * 0.125f) *
                        (load_v4(q_tile + (((f % 64) + (f / 64)) % 64) * 80 + i) * 0.125f)) * (float)(((f / 64) == 0) ?
                        1.0 : 2.0)) * t_2) * t_5);
                }
            }
            /* state[f][e] += sum over i of key_features_2 * key_features */
            dot12_v4(f1 - f0, i1 - i0, key_features_2, key_features, state + (chunk - chunk0) * 135200 + f0 * 64);
            if (linear_heads_0 || dlog_decay_k) {
                /* state_2 += key_features_2 * row_0_tile */
                for (int64_t f = f0; f < f1; f++) {
                    vec_v4 lane_sums = splat_v4(0);
                    for (int64_t i = 0; i < i1 - i0; i += 16) {
                        const vec_v4 row_0_tile_6 = load_v4(row_0_tile + i);
                        const vec_v4 term = load_v4(key_features_2 + (f - f0) * 80 + i) * row_0_tile_6;
                        lane_sums += i + 16 <= i1 - i0 ? term : pick_v4(__builtin_convertvector(i + lane_v4 < i1 - i0,
                            mask_v4), term, splat_v4(0));
                    }
                    const float total = lane_sum_v4(lane_sums);
                    state_2[(chunk - chunk0) * 135200 + f] += total;
                }
            }
        }
    }
}

/* Folds the slots of the current chunks, in order, for some elements of the states. */
TARGET_v4 APART void power_gated_linear_linear_heads_0_linear_heads_1_dlog_decay_k_fold_v4(const struct call *call,
    int64_t task, const struct part *part, int64_t iteration)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_k = call->p.n_k;
    const int64_t chunks = n_k > 0 ? (n_k - 1) / 128 + 1 : 1;
    const int64_t f0 = iteration * 32, f1 = min(f0 + 32, 2080);
    const int64_t chunk0 = part->chunk0;
    const int64_t chunk1 = part->chunk1;
    const int64_t m = task % members;
    const int64_t g = task / members % kv_heads;
    const int64_t b = task / members / kv_heads;
    const float *const log_decay_chunk_low = call->log_decay_chunk_low + b * call->log_decay_chunk_low_at.batch + (g *
        members + m) * call->log_decay_chunk_low_at.head;
    const float *const log_decay_chunk = call->log_decay_chunk + b * call->log_decay_chunk_at.batch + (g * members + m)
        * call->log_decay_chunk_at.head;
    float *const state = (float *)(void *)(part->slots + 0); /* [chunk, f: 2080, e: 64] */
    float *const state_2 = (float *)(void *)(part->slots + 532480); /* [chunk, f: 2080] */
    float *const carried = (float *)(void *)(part->shared + 0); /* [f: 2080, e: 64] */
    float *const carried_compensation = (float *)(void *)(part->shared + 540800); /* [f: 2080, e: 64] */
    float *const kept_share = (float *)(void *)(part->work + 0); /* [f: 2080] */
    float *const lost_share = (float *)(void *)(part->work + 8320); /* [f: 2080] */
    float *const carried_2 = (float *)(void *)(part->shared + 532480); /* [f: 2080] */
    float *const carried_2_compensation = (float *)(void *)(part->shared + 1073280); /* [f: 2080] */
    float *const linear_heads_0 = call->linear_heads_0 ? call->linear_heads_0 + b * call->linear_heads_0_at.batch + (g *
        members + m) * call->linear_heads_0_at.head : NULL;
    float *const dlog_decay_k = call->dlog_decay_k ? call->dlog_decay_k + b * call->dlog_decay_k_at.batch + (g * members
        + m) * call->dlog_decay_k_at.head : NULL;
    for (int64_t chunk = chunk0; chunk < chunk1; chunk++) {
        /* kept_share = select(exp2(((log_decay_chunk - log_decay_chunk) + (log_decay_chunk_low - log_decay_chunk_low))
           * 1.442695f) < 0.5f ... */
        const float t_7 = (log_decay_chunk[max(min(((chunks - chunk) * 128) - 1, n_k - 1),
            0)] - log_decay_chunk[max(min(((chunks - chunk - 1) * 128) - 1, n_k - 1),
            0)]) + (log_decay_chunk_low[max(min(((chunks - chunk) * 128) - 1, n_k - 1),
            0)] - log_decay_chunk_low[max(min(((chunks - chunk - 1) * 128) - 1, n_k - 1), 0)]);
        const float t_8 = exp2f(t_7 * 1.442695f);
        const int t_9 = t_8 < 0.5f;
        const float t_10 = t_9 ? t_8 : 1.0f;
        const float t_11 = t_9 ? 0.0f : (-expm1f(t_7));
        for (int64_t f = f0; f < f1; f += 16) {
            store_v4(kept_share + f, splat_v4(t_10));
            store_v4(lost_share + f, splat_v4(t_11));
        }
        /* before = carried; carried = carried * kept_share; carried_compensation = carried_compensation * kept_share;
           carried += state - ( ... */
        for (int64_t f = f0; f < f1; f++) {
            for (int64_t e_first = 0; e_first < 64; e_first += 64) {
                UNROLL for (int64_t vector = 0, e = e_first; vector < 4; vector++, e += 16) {
                    const vec_v4 carried_12 = load_v4(carried + f * 64 + e);
                    const vec_v4 before_new13 = carried_12;
                    const float kept_share_14 = kept_share[f];
                    const vec_v4 carried_new15 = carried_12 * kept_share_14;
                    store_v4(carried + f * 64 + e, carried_new15);
                    store_v4(carried_compensation + f * 64 + e, load_v4(carried_compensation + f * 64 + e) *
                        kept_share_14);
                    add_v4(carried + f * 64 + e, carried_compensation + f * 64 + e,
                        load_v4(state + (chunk - chunk0) * 135200 + f * 64 + e) - (carried_new15 * lost_share[f]),
                        splat_v4(1));
                    store_v4(state + (chunk - chunk0) * 135200 + f * 64 + e, before_new13);
                }
            }
        }
        if (linear_heads_0 || dlog_decay_k) {
            /* kept_share_2 = select(exp2(((log_decay_chunk - log_decay_chunk) + (log_decay_chunk_low -
               log_decay_chunk_low)) * 1.442695f) < 0. ... */
            const float t_16 = (log_decay_chunk[max(min(((chunks - chunk) * 128) - 1, n_k - 1),
                0)] - log_decay_chunk[max(min(((chunks - chunk - 1) * 128) - 1, n_k - 1),
                0)]) + (log_decay_chunk_low[max(min(((chunks - chunk) * 128) - 1, n_k - 1),
                0)] - log_decay_chunk_low[max(min(((chunks - chunk - 1) * 128) - 1, n_k - 1), 0)]);
            const float t_17 = exp2f(t_16 * 1.442695f);
            const int t_18 = t_17 < 0.5f;
            const float t_19 = t_18 ? t_17 : 1.0f;
            const float t_21 = t_18 ? 0.0f : (-expm1f(t_16));
            for (int64_t f = f0; f < f1; f += 16) {
                const vec_v4 kept_share_2_new20 = splat_v4(t_19);
                const vec_v4 lost_share_2_new22 = splat_v4(t_21);
                const vec_v4 carried_2_23 = load_v4(carried_2 + f);
                const vec_v4 before_2_new24 = carried_2_23;
                const vec_v4 carried_2_new25 = carried_2_23 * kept_share_2_new20;
                store_v4(carried_2 + f, carried_2_new25);
                store_v4(carried_2_compensation + f, load_v4(carried_2_compensation + f) * kept_share_2_new20);
                add_v4(carried_2 + f, carried_2_compensation + f, load_v4(state_2 + (chunk - chunk0) * 135200 + f) -
                    (carried_2_new25 * lost_share_2_new22), splat_v4(1));
                store_v4(state_2 + (chunk - chunk0) * 135200 + f, before_2_new24);
            }
        }
    }
}

/* Processes the keys of a chunk: reads the state after the chunk, and the queries in the chunk. */
TARGET_v4 APART void power_gated_linear_linear_heads_0_linear_heads_1_dlog_decay_k_keys_v4(const struct call *call,
    int64_t task, const struct part *part, int64_t iteration)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_q = call->p.n_q;
    const int64_t n_k = call->p.n_k;
    const int64_t chunks = n_k > 0 ? (n_k - 1) / 128 + 1 : 1;
    const int64_t chunk = iteration;
    const int64_t chunk0 = part->chunk0;
    const int64_t m = task % members;
    const int64_t g = task / members % kv_heads;
    const int64_t b = task / members / kv_heads;
    const int64_t query_start = call->p.query_start ? call->p.query_start[b] : n_k - n_q;
    const float *const q = call->q + b * call->p.q.batch + (g / call->sharing * members + m) * call->p.q.head;
    const int64_t q_row = call->p.q.row;
    const float *const k = call->k + b * call->p.k.batch + g / call->sharing * call->p.k.head;
    const int64_t k_row = call->p.k.row;
    const float *const v = call->v + b * call->p.v.batch + g * call->p.v.head;
    const int64_t v_row = call->p.v.row;
    const float *const log_decay_q_low = call->log_decay_q_low + b * call->log_decay_q_low_at.batch + (g * members + m)
        * call->log_decay_q_low_at.head;
    const float *const log_decay_q = call->log_decay_q + b * call->log_decay_q_at.batch + (g * members + m) *
        call->log_decay_q_at.head;
    const float *const log_decay_k_low = call->log_decay_k_low + b * call->log_decay_k_low_at.batch + (g * members + m)
        * call->log_decay_k_low_at.head;
    const float *const log_decay_k = call->log_decay_k + b * call->log_decay_k_at.batch + (g * members + m) *
        call->log_decay_k_at.head;
    const float *const log_decay_chunk_low = call->log_decay_chunk_low + b * call->log_decay_chunk_low_at.batch + (g *
        members + m) * call->log_decay_chunk_low_at.head;
    const float *const log_decay_chunk = call->log_decay_chunk + b * call->log_decay_chunk_at.batch + (g * members + m)
        * call->log_decay_chunk_at.head;
    const float *const dout = call->dout + b * call->p.dout.batch + (g * members + m) * call->p.dout.head;
    const int64_t dout_row = call->p.dout.row;
    const float *const saved_0 = call->saved_0 + (b * call->p.heads + (g * members + m)) * call->p.n_q;
    const float *const row_0 = call->row_0 + (b * call->p.heads + (g * members + m)) * call->p.n_q;
    float *const state = (float *)(void *)(part->slots + 0); /* [chunk, f: 2080, e: 64] */
    float *const state_2 = (float *)(void *)(part->slots + 532480); /* [chunk, f: 2080] */
    float *const score = (float *)(void *)(part->work + 0); /* [i: 64, j: 64 of 80] */
    float *const weight = (float *)(void *)(part->work + 20480); /* [i: 64, j: 64 of 80] */
    float *const score_2 = (float *)(void *)(part->work + 40960); /* [i: 64, j: 64 of 80] */
    float *const row_sum = (float *)(void *)(part->work + 61440); /* [j: 64] */
    float *const row_sum_compensation = (float *)(void *)(part->work + 61696); /* [j: 64] */
    float *const query = (float *)(void *)(part->work + 0); /* [f: 192, j: 64 of 80] */
    float *const sum_from_state = (float *)(void *)(part->work + 61952); /* [f: 2080, j: 64 of 80] */
    float *const query_sum = (float *)(void *)(part->work + 727552); /* [j: 64] */
    float *const query_2 = (float *)(void *)(part->work + 727808); /* [f: 2080, j: 64 of 80] */
    float *const query_sum_2 = (float *)(void *)(part->work + 1393408); /* [j: 64] */
    float *const query_sum_3 = (float *)(void *)(part->work + 1393664); /* [d: 64, j: 64 of 80] */
    float *const query_sum_4 = (float *)(void *)(part->work + 1414144); /* [d: 64, j: 64 of 80] */
    float *const query_sum_5 = (float *)(void *)(part->work + 1434624); /* [d: 64, j: 64 of 80] */
    float *const query_sum_6 = (float *)(void *)(part->work + 1455104); /* [d: 64, j: 64 of 80] */
    float *const sum = (float *)(void *)(part->work + 1475584); /* [d: 64, j: 64 of 80] */
    float *const sum_compensation = (float *)(void *)(part->work + 1496064); /* [d: 64, j: 64 of 80] */
    float *const sum_2 = (float *)(void *)(part->work + 1516544); /* [e: 64, j: 64 of 80] */
    float *const sum_2_compensation = (float *)(void *)(part->work + 1537024); /* [e: 64, j: 64 of 80] */
    float *const sum_from_state_2 = (float *)(void *)(part->work + 1557504); /* [e: 64, j: 64 of 80] */
    float *const linear_heads_0 = call->linear_heads_0 ? call->linear_heads_0 + b * call->linear_heads_0_at.batch + (g *
        members + m) * call->linear_heads_0_at.head : NULL;
    const int64_t linear_heads_0_row = call->linear_heads_0_at.row;
    float *const linear_heads_1 = call->linear_heads_1 ? call->linear_heads_1 + b * call->linear_heads_1_at.batch + (g *
        members + m) * call->linear_heads_1_at.head : NULL;
    const int64_t linear_heads_1_row = call->linear_heads_1_at.row;
    float *const dlog_decay_k = call->dlog_decay_k ? call->dlog_decay_k + b * call->dlog_decay_k_at.batch + (g * members
        + m) * call->dlog_decay_k_at.head : NULL;
    float *const k_tile = (float *)(void *)(part->work + 1577984); /* [d: 64, j: 64 of 80] */
    float *const log_decay_k_tile = (float *)(void *)(part->work + 1598464); /* [j: 64] */
    float *const log_decay_k_low_tile = (float *)(void *)(part->work + 1598720); /* [j: 64] */
    float *const v_tile = (float *)(void *)(part->work + 1598976); /* [e: 64, j: 64 of 80] */
    float *const dout_tile = (float *)(void *)(part->work + 61952); /* [e: 64, i: 64 of 80] */
    float *const saved_0_tile = (float *)(void *)(part->work + 20480); /* [i: 64] */
    for (int64_t j0 = ((chunks - chunk - 1) == 0) ? 0 : max(0, (chunks - chunk - 1) * 128), j_end = min(n_k,
        (chunks - chunk) * 128); j0 < j_end; j0 += 64) {
        const int64_t j1 = min(j0 + 64, j_end);
        /* k_tile = k, with zeros beyond the last row */
        transpose_padded_v4(k + j0 * k_row, k_row, j1 - j0, 64, k_tile, 80, 64);
        /* log_decay_k_tile = log_decay_k, with zeros beyond the last row */
        for (int64_t j = 0; j < round_up(j1 - j0, 16); j++)
            log_decay_k_tile[j] = j < j1 - j0 ? log_decay_k[(j0 + j)] : 0;
        /* log_decay_k_low_tile = log_decay_k_low, with zeros beyond the last row */
        for (int64_t j = 0; j < round_up(j1 - j0, 16); j++)
            log_decay_k_low_tile[j] = j < j1 - j0 ? log_decay_k_low[(j0 + j)] : 0;
        if (linear_heads_0 || dlog_decay_k) {
            /* v_tile = v, with zeros beyond the last row */
            transpose_padded_v4(v + j0 * v_row, v_row, j1 - j0, 64, v_tile, 80, 64);
            /* sum_from_state[f][j] = sum over e of state * v_tile */
            dot13_v4(round_up(j1 - j0, 16), state + (chunk - chunk0) * 135200, v_tile, sum_from_state);
            /* query_2 = state_2 */
            for (int64_t j_first = 0; j_first < j1 - j0; j_first += 64) {
                for (int64_t f = 0; f < 2080; f++) {
                    UNROLL for (int64_t vector = 0, j = j_first; vector < 4; vector++, j += 16) {
                        store_v4(query_2 + f * 80 + j, splat_v4(state_2[(chunk - chunk0) * 135200 + f]));
                    }
                }
            }
        }
        if (dlog_decay_k) {
            /* row_sum = 0.0f; row_sum_compensation = 0.0f; query_sum = 0.0f; query_sum_2 = 0.0f */
            for (int64_t j = 0; j < j1 - j0; j += 16) {
                store_v4(row_sum + j, splat_v4(0.0f));
                store_v4(row_sum_compensation + j, splat_v4(0.0f));
                store_v4(query_sum + j, splat_v4(0.0f));
                store_v4(query_sum_2 + j, splat_v4(0.0f));
            }
        }
        if (linear_heads_0) {
            /* query_sum_3 = 0.0f */
            for (int64_t d = 0; d < 64; d++) {
                for (int64_t j = 0; j < j1 - j0; j += 16) {
                    store_v4(query_sum_3 + d * 80 + j, splat_v4(0.0f));
                }
            }
            /* query_sum_4 = 0.0f */
            for (int64_t d = 0; d < 64; d++) {
                for (int64_t j = 0; j < j1 - j0; j += 16) {
                    store_v4(query_sum_4 + d * 80 + j, splat_v4(0.0f));
                }
            }
            /* query_sum_5 = 0.0f */
            for (int64_t d = 0; d < 64; d++) {
                for (int64_t j = 0; j < j1 - j0; j += 16) {
                    store_v4(query_sum_5 + d * 80 + j, splat_v4(0.0f));
                }
            }
            /* query_sum_6 = 0.0f */
            for (int64_t d = 0; d < 64; d++) {
                for (int64_t j = 0; j < j1 - j0; j += 16) {
                    store_v4(query_sum_6 + d * 80 + j, splat_v4(0.0f));
                }
            }
            /* query_sum_3 += select(((t33 * 64) + d) < 2080, sum_from_state * (k_tile * exp2(((log_decay_chunk -
               log_decay_k_tile) + (log_deca ... */
            const float log_decay_chunk_27 = log_decay_chunk[max(min(((chunks - chunk) * 128) - 1, n_k - 1), 0)];
            const float log_decay_chunk_low_28 = log_decay_chunk_low[max(min(((chunks - chunk) * 128) - 1, n_k - 1),
                0)];
            for (int64_t j = 0; j < j1 - j0; j += 16) {
                const vec_v4 t_29 = exp2_v4(((log_decay_chunk_27 - load_v4(log_decay_k_tile + j)) +
                    (log_decay_chunk_low_28 - load_v4(log_decay_k_low_tile + j))) * 1.442695f);
                for (int64_t d = 0; d < 64; d++) {
                    vec_v4 query_sum_3_in = (vec_v4){0};
                    vec_v4 query_sum_4_in = (vec_v4){0};
                    vec_v4 query_sum_5_in = (vec_v4){0};
                    vec_v4 query_sum_6_in = (vec_v4){0};
                    for (int64_t t33 = 0; t33 < 33; t33++) {
                        const int t_26 = ((t33 * 64) + d) < 2080;
                        const vec_v4 t_30 = load_v4(k_tile + ((d + t33) % 64) * 80 + j) * t_29;
                        query_sum_3_in += t_26 ? load_v4(sum_from_state + min((t33 * 64) + d,
                            2079) * 80 + j) * t_30 : splat_v4(0.0f);
                        const int t_31 = ((t33 * 64) + floor_mod(d - t33, 64)) < 2080;
                        const vec_v4 t_32 = load_v4(k_tile + floor_mod(d - t33, 64) * 80 + j) * t_29;
                        query_sum_4_in += t_31 ? load_v4(sum_from_state + min((t33 * 64) + floor_mod(d - t33, 64),
                            2079) * 80 + j) * t_32 : splat_v4(0.0f);
                        query_sum_5_in += t_26 ? load_v4(query_2 + min((t33 * 64) + d,
                            2079) * 80 + j) * t_30 : splat_v4(0.0f);
                        query_sum_6_in += t_31 ? load_v4(query_2 + min((t33 * 64) + floor_mod(d - t33, 64),
                            2079) * 80 + j) * t_32 : splat_v4(0.0f);
                    }
                    store_v4(query_sum_3 + d * 80 + j, load_v4(query_sum_3 + d * 80 + j) + query_sum_3_in);
                    store_v4(query_sum_4 + d * 80 + j, load_v4(query_sum_4 + d * 80 + j) + query_sum_4_in);
                    store_v4(query_sum_5 + d * 80 + j, load_v4(query_sum_5 + d * 80 + j) + query_sum_5_in);
                    store_v4(query_sum_6 + d * 80 + j, load_v4(query_sum_6 + d * 80 + j) + query_sum_6_in);
                }
            }
            /* sum = 0.0f; sum_compensation = 0.0f */
            for (int64_t d = 0; d < 64; d++) {
                for (int64_t j = 0; j < j1 - j0; j += 16) {
                    store_v4(sum + d * 80 + j, splat_v4(0.0f));
                    store_v4(sum_compensation + d * 80 + j, splat_v4(0.0f));
                }
            }
        }
        if (linear_heads_1) {
            /* sum_2 = 0.0f; sum_2_compensation = 0.0f; sum_from_state_2 = 0.0f */
            for (int64_t e = 0; e < 64; e++) {
                for (int64_t j = 0; j < j1 - j0; j += 16) {
                    store_v4(sum_2 + e * 80 + j, splat_v4(0.0f));
                    store_v4(sum_2_compensation + e * 80 + j, splat_v4(0.0f));
                    store_v4(sum_from_state_2 + e * 80 + j, splat_v4(0.0f));
                }
            }
        }
        for (int64_t f0 = 0, f_end = 2080; f0 < f_end; f0 += 192) {
            const int64_t f1 = min(f0 + 192, f_end);
            if (linear_heads_1 || dlog_decay_k) {
                /* query = (k_tile * k_tile) * exp2(((log_decay_chunk - log_decay_k_tile) + (log_decay_chunk_low -
                   log_decay_k_low_tile)) * 1.44269 ... */
                const float log_decay_chunk_33 = log_decay_chunk[max(min(((chunks - chunk) * 128) - 1, n_k - 1), 0)];
                const float log_decay_chunk_low_34 = log_decay_chunk_low[max(min(((chunks - chunk) * 128) - 1, n_k - 1),
                    0)];
                for (int64_t j = 0; j < j1 - j0; j += 16) {
                    const vec_v4 t_35 = exp2_v4(((log_decay_chunk_33 - load_v4(log_decay_k_tile + j)) +
                        (log_decay_chunk_low_34 - load_v4(log_decay_k_low_tile + j))) * 1.442695f);
                    vec_v4 query_sum_in = (vec_v4){0};
                    vec_v4 query_sum_in_whole = (vec_v4){0};
                    vec_v4 query_sum_2_in = (vec_v4){0};
                    vec_v4 query_sum_2_in_whole = (vec_v4){0};
                    for (int64_t f = f0; f < f1; f++) {
                        const vec_v4 query_new36 = (load_v4(k_tile + (f % 64) * 80 + j) * load_v4(k_tile + (((f % 64) +
                            (f / 64)) % 64) * 80 + j)) * t_35;
                        store_v4(query + (f - f0) * 80 + j, query_new36);
                        const vec_v4 t_37 = -query_new36;
                        query_sum_in += load_v4(sum_from_state + f * 80 + j) * t_37;
                        if (f % 192 == 191) {
                            query_sum_in_whole += query_sum_in;
                            query_sum_in = (vec_v4){0};
                        }
                        query_sum_2_in += load_v4(query_2 + f * 80 + j) * t_37;
                        if (f % 192 == 191) {
                            query_sum_2_in_whole += query_sum_2_in;
                            query_sum_2_in = (vec_v4){0};
                        }
                    }
                    query_sum_in += query_sum_in_whole;
                    store_v4(query_sum + j, load_v4(query_sum + j) + query_sum_in);
                    query_sum_2_in += query_sum_2_in_whole;
                    store_v4(query_sum_2 + j, load_v4(query_sum_2 + j) + query_sum_2_in);
                }
            }
            if (linear_heads_1) {
                /* sum_from_state_2[e][j] += sum over f of state * query */
                dot14_v4(round_up(j1 - j0, 16), f1 - f0, state + (chunk - chunk0) * 135200 + f0 * 64, query,
                    sum_from_state_2);
            }
        }
        /* the ranges of i that some query of the tile may see */
        struct attn_range i_range[] = {
            {max(j0 - query_start, -query_start), (((j1 - floor_mod(j1 - 1,
                128) - 1) / 128) * 128) - query_start + 128},
            {j0 - query_start, (0 <= (j1 - 1)) ? (-query_start) : 0},
        };
        const int64_t i_ranges = attn_union(i_range, 2, 0, n_q);
        /* the ranges that every query of the tile sees */
        struct attn_range i_inside[] = {
            {max(j1 - query_start - 1, -query_start), (((j0 - floor_mod(j0, 128)) / 128) * 128) - query_start + 128},
            {j1 - query_start - 1, (0 <= j0) ? (-query_start) : 0},
        };
        const int64_t i_insides = attn_union(i_inside, 2, 0, n_q);
        for (int64_t piece = 0; piece < i_ranges; piece++) {
            for (int64_t i0 = i_range[piece].from, i_end = i_range[piece].to; i0 < i_end; i0 += 64) {
                const int64_t i1 = min(i0 + 64, i_end);
                /* dout_tile = dout, with zeros beyond the last row */
                transpose_padded_v4(dout + i0 * dout_row, dout_row, i1 - i0, 64, dout_tile, 80, 64);
                /* saved_0_tile = saved_0, with zeros beyond the last row */
                for (int64_t i = 0; i < round_up(i1 - i0, 16); i++)
                    saved_0_tile[i] = i < i1 - i0 ? saved_0[(i0 + i)] : 0;
                /* score[i][j] = sum over d of q * k_tile */
                dot8_v4(round_up(j1 - j0, 16), i1 - i0, q + i0 * q_row, q_row, k_tile, score);
                /* dout_tile = dout_tile * saved_0_tile */
                for (int64_t i = 0; i < i1 - i0; i += 16) {
                    const vec_v4 saved_0_tile_38 = load_v4(saved_0_tile + i);
                    for (int64_t e = 0; e < 64; e++) {
                        store_v4(dout_tile + e * 80 + i, load_v4(dout_tile + e * 80 + i) * saved_0_tile_38);
                    }
                }
                if (linear_heads_0 || dlog_decay_k) {
                    /* score_2[i][j] = sum over e of dout_tile * v_tile */
                    dot15_v4(round_up(j1 - j0, 16), i1 - i0, dout_tile, v_tile, score_2);
                }
                /* weight = ((score * 0.125f) * (score * 0.125f)) * exp2(((log_decay_q - log_decay_k_tile) +
                   (log_decay_q_low - log_decay_k_low_til ... */
                for (int64_t j = 0; j < j1 - j0; j += 16) {
                    const vec_v4 log_decay_k_tile_41 = load_v4(log_decay_k_tile + j);
                    const vec_v4 log_decay_k_low_tile_42 = load_v4(log_decay_k_low_tile + j);
                    for (int64_t i = 0; i < i1 - i0; i++) {
                        const vec_v4 score_39 = load_v4(score + i * 80 + j);
                        const vec_v4 t_40 = score_39 * 0.125f;
                        const vec_v4 t_43 = exp2_v4(((log_decay_q[(i0 + i)] - log_decay_k_tile_41) +
                            (log_decay_q_low[(i0 + i)] - log_decay_k_low_tile_42)) * 1.442695f);
                        store_v4(weight + i * 80 + j, (t_40 * t_40) * t_43);
                        const vec_v4 score_2_44 = load_v4(score_2 + i * 80 + j);
                        const vec_v4 score_2_new45 = score_2_44 + row_0[(i0 + i)];
                        store_v4(score_2 + i * 80 + j, score_2_new45);
                        store_v4(score + i * 80 + j, score_2_new45 * ((score_39 * t_43) * 0.03125f));
                    }
                }
                if (dlog_decay_k) {
                    /* score_2 = score_2 * neg(weight) */
                    for (int64_t i = 0; i < i1 - i0; i++) {
                        for (int64_t j = 0; j < j1 - j0; j += 16) {
                            store_v4(score_2 + i * 80 + j, load_v4(score_2 + i * 80 + j) * (-load_v4(weight + i * 80 +
                                j)));
                        }
                    }
                }
                if (!attn_covers(i_inside, i_insides, i0, i1)) { /* the tile is partly outside the mask */
                    if (dlog_decay_k) {
                        /* score_2 = select((j <= (i + query_start)) && (((max(i + query_start, 0) / 128) * 128) <= j),
                           score_2, 0.0f) */
                        for (int64_t j = 0; j < j1 - j0; j += 16) {
                            const ints_v4 t_46 = j0 + j + lane_v4;
                            for (int64_t i = 0; i < i1 - i0; i++) {
                                const int64_t t_47 = (i0 + i) + query_start;
                                store_v4(score_2 + i * 80 + j, pick_v4(__builtin_convertvector((t_46 <= t_47) &
                                    (((max((i0 + i) + query_start, 0) / 128) * 128) <= t_46), mask_v4),
                                    load_v4(score_2 + i * 80 + j), splat_v4(0.0f)));
                            }
                        }
                    }
                }
                if (dlog_decay_k) {
                    /* row_sum += score_2 */
                    for (int64_t j_first = 0; j_first < j1 - j0; j_first += 64) {
                        vec_v4 row_sum_in[4];
                        UNROLL for (int64_t vector = 0, j = j_first; vector < 4; vector++, j += 16) {
                            row_sum_in[vector] = (vec_v4){0};
                        }
                        for (int64_t i = 0; i < i1 - i0; i++) {
                            UNROLL for (int64_t vector = 0, j = j_first; vector < 4; vector++, j += 16) {
                                row_sum_in[vector] += load_v4(score_2 + i * 80 + j);
                            }
                        }
                        UNROLL for (int64_t vector = 0, j = j_first; vector < 4; vector++, j += 16) {
                            add_v4(row_sum + j, row_sum_compensation + j, row_sum_in[vector], splat_v4(1));
                        }
                    }
                }
                if (!attn_covers(i_inside, i_insides, i0, i1)) { /* the tile is partly outside the mask */
                    if (linear_heads_0) {
                        /* score = select((j <= (i + query_start)) && (((max(i + query_start, 0) / 128) * 128) <= j),
                           score, 0.0f) */
                        for (int64_t j = 0; j < j1 - j0; j += 16) {
                            const ints_v4 t_48 = j0 + j + lane_v4;
                            for (int64_t i = 0; i < i1 - i0; i++) {
                                const int64_t t_49 = (i0 + i) + query_start;
                                store_v4(score + i * 80 + j, pick_v4(__builtin_convertvector((t_48 <= t_49) & (((max((i0
                                    + i) + query_start, 0) / 128) * 128) <= t_48), mask_v4),
                                    load_v4(score + i * 80 + j), splat_v4(0.0f)));
                            }
                        }
                    }
                }
                if (linear_heads_0) {
                    /* sum[d][j] += sum over i of q * score */
                    if (__builtin_expect((!attn_covers(i_inside, i_insides, i0, i1)) && !finite_v4(q + i0 * q_row,
                        q_row, i1 - i0, 64), 0)) { /* infinity and NaN affect only queries that see them */
                        dot1_v4(round_up(j1 - j0, 16), i1 - i0, q + i0 * q_row, q_row, score, sum, sum_compensation);
                        for (int64_t i = 0; i < i1 - i0; i++) {
                            mask_v4 in_region[4] = {0};
                            if (finite_v4(q + i0 * q_row + i * q_row, 1, 64, 1)) continue;
                            const int64_t t_51 = (i0 + i) + query_start;
                            const int64_t t_52 = (max((i0 + i) + query_start, 0) / 128) * 128;
                            for (int64_t j = 0; j < j1 - j0; j += 16) {
                                const ints_v4 t_50 = j0 + j + lane_v4;
                                in_region[j / 16] = __builtin_convertvector((t_50 <= t_51) & (t_52 <= t_50), mask_v4);
                            }
                            add_seen_v4(64, sum, 80, q + i0 * q_row + i * q_row, 1, score + i * 80, in_region, j1 - j0);
                        }
                    } else
                        dot2_v4(round_up(j1 - j0, 16), i1 - i0, q + i0 * q_row, q_row, score, sum, sum_compensation);
                }
                if (!attn_covers(i_inside, i_insides, i0, i1)) { /* the tile is partly outside the mask */
                    if (linear_heads_1) {
                        /* weight = select((j <= (i + query_start)) && (((max(i + query_start, 0) / 128) * 128) <= j),
                           weight, 0.0f) */
                        for (int64_t j = 0; j < j1 - j0; j += 16) {
                            const ints_v4 t_53 = j0 + j + lane_v4;
                            for (int64_t i = 0; i < i1 - i0; i++) {
                                const int64_t t_54 = (i0 + i) + query_start;
                                store_v4(weight + i * 80 + j, pick_v4(__builtin_convertvector((t_53 <= t_54) &
                                    (((max((i0 + i) + query_start, 0) / 128) * 128) <= t_53), mask_v4),
                                    load_v4(weight + i * 80 + j), splat_v4(0.0f)));
                            }
                        }
                    }
                }
                if (linear_heads_1) {
                    /* sum_2[e][j] += sum over i of dout_tile * weight */
                    if (__builtin_expect((!attn_covers(i_inside, i_insides, i0, i1)) && !finite_v4(dout_tile, 80, 64,
                        i1 - i0), 0)) { /* infinity and NaN affect only queries that see them */
                        dot16_v4(round_up(j1 - j0, 16), i1 - i0, dout_tile, weight, sum_2, sum_2_compensation);
                        for (int64_t i = 0; i < i1 - i0; i++) {
                            mask_v4 in_region[4] = {0};
                            if (finite_v4(dout_tile + i * 1, 80, 64, 1)) continue;
                            const int64_t t_56 = (i0 + i) + query_start;
                            const int64_t t_57 = (max((i0 + i) + query_start, 0) / 128) * 128;
                            for (int64_t j = 0; j < j1 - j0; j += 16) {
                                const ints_v4 t_55 = j0 + j + lane_v4;
                                in_region[j / 16] = __builtin_convertvector((t_55 <= t_56) & (t_57 <= t_55), mask_v4);
                            }
                            add_seen_v4(64, sum_2, 80, dout_tile + i * 1, 80, weight + i * 80, in_region, j1 - j0);
                        }
                    } else
                        dot17_v4(round_up(j1 - j0, 16), i1 - i0, dout_tile, weight, sum_2, sum_2_compensation);
                }
            }
        }
        if (dlog_decay_k) {
            /* row_sum = (row_sum + query_sum) + query_sum_2 */
            for (int64_t j = 0; j < j1 - j0; j += 16) {
                store_v4(row_sum + j, (load_v4(row_sum + j) + load_v4(query_sum + j)) + load_v4(query_sum_2 + j));
            }
        }
        if (linear_heads_0) {
            /* query_sum_3 = (((query_sum_3 + query_sum_4) + query_sum_5) + query_sum_6) + sum */
            for (int64_t d = 0; d < 64; d++) {
                for (int64_t j = 0; j < j1 - j0; j += 16) {
                    store_v4(query_sum_3 + d * 80 + j, (((load_v4(query_sum_3 + d * 80 + j) + load_v4(query_sum_4 + d *
                        80 + j)) + load_v4(query_sum_5 + d * 80 + j)) + load_v4(query_sum_6 + d * 80 + j)) + load_v4(sum
                        + d * 80 + j));
                }
            }
        }
        if (linear_heads_1) {
            /* sum_2 = sum_2 + sum_from_state_2 */
            for (int64_t e = 0; e < 64; e++) {
                for (int64_t j = 0; j < j1 - j0; j += 16) {
                    store_v4(sum_2 + e * 80 + j, load_v4(sum_2 + e * 80 + j) + load_v4(sum_from_state_2 + e * 80 + j));
                }
            }
        }
        if (linear_heads_0) {
            /* linear_heads_0 = query_sum_3, transposed back */
            transpose_out_v4(query_sum_3, 80, 64, j1 - j0, linear_heads_0 + j0 * linear_heads_0_row, linear_heads_0_row,
                64);
        }
        if (linear_heads_1) {
            /* linear_heads_1 = sum_2, transposed back */
            transpose_out_v4(sum_2, 80, 64, j1 - j0, linear_heads_1 + j0 * linear_heads_1_row, linear_heads_1_row, 64);
        }
        if (dlog_decay_k) {
            /* dlog_decay_k = row_sum */
            for (int64_t j = 0; j < j1 - j0; j++)
                dlog_decay_k[(j0 + j)] = row_sum[j];
        }
    }
}

/* Computes head number `task`. Each thread on the head calls this with its share, `part`. */
TARGET_v4 static void power_gated_linear_linear_heads_0_linear_heads_1_dlog_decay_k_v4(const struct call *call,
    int64_t task, struct part *part)
{
    const int64_t n_k = call->p.n_k;
    const int64_t chunks = n_k > 0 ? (n_k - 1) / 128 + 1 : 1;
    for (int64_t iteration = part->number; iteration < ((2080 + 31) / 32); iteration += part->threads)
        power_gated_linear_linear_heads_0_linear_heads_1_dlog_decay_k_begin_v4(call, task, part, iteration);
    synchronise(part);
    const int64_t first = 0;
    const int64_t length = segment_length(part, chunks - first);
    for (int64_t segment = part->number; first + segment * length < chunks; segment += part->threads) {
        part->chunk0 = first + segment * length;
        part->chunk1 = min(part->chunk0 + length, chunks);
        for (int64_t iteration = part->chunk0; iteration < part->chunk1; iteration++)
            power_gated_linear_linear_heads_0_linear_heads_1_dlog_decay_k_queries_v4(call, task, part, iteration);
        for (int64_t group = 0; group < 16; group++) {
            await_segment(part, group, segment);
            const int64_t end = (group + 1) * ((2080 + 31) / 32) / 16;
            for (int64_t iteration = group * ((2080 + 31) / 32) / 16; iteration < end; iteration++)
                power_gated_linear_linear_heads_0_linear_heads_1_dlog_decay_k_fold_v4(call, task, part, iteration);
            pass_segment(part, group, segment);
        }
        for (int64_t iteration = part->chunk0; iteration < part->chunk1; iteration++)
            power_gated_linear_linear_heads_0_linear_heads_1_dlog_decay_k_keys_v4(call, task, part, iteration);
    }
    part->segments += (max(chunks - first, 0) + length - 1) / length;
    synchronise(part);
}

/* Computes task number `task`: the totals of the partial sums that the slices of rows have stored. `work` is this
   thread's workspace. */
TARGET_v4 static void power_gated_linear_totals1_v4(const struct call *call, int64_t task, unsigned char *work)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_k = call->p.n_k;
    const int64_t tiles = (n_k + 32 - 1) / 32, j0 = (tiles - 1 - task % tiles) * 32,
        j1 = min(j0 + 32, n_k);
    const int64_t g = task / tiles % kv_heads;
    const int64_t b = task / tiles / kv_heads;
    const float *const linear_heads_0 = call->linear_heads_0 ? call->linear_heads_0 + b * call->linear_heads_0_at.batch
        + g * members * call->linear_heads_0_at.head : NULL;
    const int64_t linear_heads_0_row = call->linear_heads_0_at.row;
    const int64_t linear_heads_0_head = call->linear_heads_0_at.head;
    const float *const linear_heads_1 = call->linear_heads_1 ? call->linear_heads_1 + b * call->linear_heads_1_at.batch
        + g * members * call->linear_heads_1_at.head : NULL;
    const int64_t linear_heads_1_row = call->linear_heads_1_at.row;
    const int64_t linear_heads_1_head = call->linear_heads_1_at.head;
    float *const row_sum = (float *)(void *)(work + 0); /* [d: 64, j: 32] */
    float *const row_sum_2 = (float *)(void *)(work + 8192); /* [e: 64, j: 32] */
    float *const dk = call->dk ? call->dk + b * call->p.dk.batch + g * call->p.dk.head : NULL;
    const int64_t dk_row = call->p.dk.row;
    float *const dv = call->dv ? call->dv + b * call->p.dv.batch + g * call->p.dv.head : NULL;
    const int64_t dv_row = call->p.dv.row;
    float *const linear_heads_0_tile = (float *)(void *)(work + 16384); /* [d: 64, j: 32] */
    float *const linear_heads_1_tile = (float *)(void *)(work + 24576); /* [e: 64, j: 32] */
    if (dk) {
        /* row_sum = 0.0f */
        for (int64_t d = 0; d < 64; d++) {
            for (int64_t j = 0; j < j1 - j0; j += 16) {
                store_v4(row_sum + d * 32 + j, splat_v4(0.0f));
            }
        }
    }
    if (dv) {
        /* row_sum_2 = 0.0f */
        for (int64_t e = 0; e < 64; e++) {
            for (int64_t j = 0; j < j1 - j0; j += 16) {
                store_v4(row_sum_2 + e * 32 + j, splat_v4(0.0f));
            }
        }
    }
    for (int64_t m = 0; m < members; m++) {
        if (dk) {
            /* linear_heads_0_tile = linear_heads_0, with zeros beyond the last row */
            transpose_padded_v4(linear_heads_0 + m * linear_heads_0_head + j0 * linear_heads_0_row, linear_heads_0_row,
                j1 - j0, 64, linear_heads_0_tile, 32, 16);
        }
        if (dv) {
            /* linear_heads_1_tile = linear_heads_1, with zeros beyond the last row */
            transpose_padded_v4(linear_heads_1 + m * linear_heads_1_head + j0 * linear_heads_1_row, linear_heads_1_row,
                j1 - j0, 64, linear_heads_1_tile, 32, 16);
        }
        if (dk) {
            /* row_sum += linear_heads_0_tile */
            for (int64_t j_first = 0; j_first < j1 - j0; j_first += 32) {
                for (int64_t d = 0; d < 64; d++) {
                    UNROLL for (int64_t vector = 0, j = j_first; vector < 2; vector++, j += 16) {
                        store_v4(row_sum + d * 32 + j, load_v4(row_sum + d * 32 + j) + load_v4(linear_heads_0_tile + d *
                            32 + j));
                    }
                }
            }
        }
        if (dv) {
            /* row_sum_2 += linear_heads_1_tile */
            for (int64_t j_first = 0; j_first < j1 - j0; j_first += 32) {
                for (int64_t e = 0; e < 64; e++) {
                    UNROLL for (int64_t vector = 0, j = j_first; vector < 2; vector++, j += 16) {
                        store_v4(row_sum_2 + e * 32 + j, load_v4(row_sum_2 + e * 32 + j) + load_v4(linear_heads_1_tile +
                            e * 32 + j));
                    }
                }
            }
        }
    }
    if (dk) {
        /* dk = row_sum, transposed back */
        transpose_out_v4(row_sum, 32, 64, j1 - j0, dk + j0 * dk_row, dk_row, 16);
    }
    if (dv) {
        /* dv = row_sum_2, transposed back */
        transpose_out_v4(row_sum_2, 32, 64, j1 - j0, dv + j0 * dv_row, dv_row, 16);
    }
}

/* Computes task number `task`: one tile of keys of one head. `work` is this thread's workspace. */
TARGET_v4 static void power_gated_linear_terms_dgate_v4(const struct call *call, int64_t task, unsigned char *work)
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
TARGET_v4 static void power_gated_terms_v4(const struct call *call, int64_t task, unsigned char *work)
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

/* Like dot_v3, but a is in memory, so its rows are prefetched 64 rows early. For each row of a, `width` elements
   of a row of `next` are prefetched too, which a later product reads, and `result_width` elements of a row of `result`,
   which the task writes at its end. `result` has `results` rows. */
TARGET_v3 INLINE void dot_ahead_v3(const int vectors, const int64_t lanes, int64_t rows, const int tail, int64_t steps,
    const int64_t span, const float *a, int64_t a_row, int64_t a_step, const float *b, int64_t b_step, float *c,
    int64_t c_row, const int update, const float *factor, float *compensation, const float *next, int64_t next_row,
    const int64_t width, const float *result, int64_t result_row, const int64_t result_width, int64_t results)
{
    const int64_t whole = rows - rows % 6, line = 64 / (int64_t)sizeof *a,
        in_blocks = lanes_in_blocks_v3(vectors, lanes);
    int64_t x = 0;
    for (; x < in_blocks; x += vectors * 8) {
        const float *const f = factor ? factor + x : NULL;
        float *const left = compensation ? compensation + x : NULL;
        for (int64_t r = 0; r < whole; r += 6) {
            for (int64_t k = r; k < r + 6 && x == 0; k++) {
                for (int64_t t = 0; t < steps; t += line) __builtin_prefetch(a + (k + 64) * a_row + t, 0, 2);
                for (int64_t t = 0; t < width; t += line) __builtin_prefetch(next + k * next_row + t, 0, 2);
                for (int64_t t = 0; t < result_width && k < results; t += line)
                    __builtin_prefetch(result + k * result_row + t, 1, 2);
            }
            parts_v3(6, vectors, steps, span, a + r * a_row, a_row, a_step, b + x, b_step, c + r * c_row + x, c_row,
                update, f, left ? left + r * c_row : NULL);
        }
        dot_v3(vectors, vectors * 8, rows % 6, tail, steps, span, a + whole * a_row, a_row, a_step, b + x, b_step,
            c + whole * c_row + x, c_row, update, f, left ? left + whole * c_row : NULL);
    }
    if (x < lanes)
        narrow_v3(lanes - x, rows, steps, span, a, a_row, a_step, b + x, b_step, c + x, c_row, update,
            factor ? factor + x : NULL, compensation ? compensation + x : NULL);
}

/* Like dot_v3, but uses 0 for infinity and NaN in a. It copies one row of a at a time. */
TARGET_v3 INLINE void dot_finite_v3(const int vectors, const int64_t lanes, int64_t rows, const int tail, int64_t steps,
    const int64_t span, const float *a, int64_t a_row, int64_t a_step, const float *b, int64_t b_step, float *c,
        int64_t c_row,
    const int update, const float *factor, float *compensation)
{
    float row[288];
    (void)tail;
    for (int64_t r = 0; r < rows; r++, a += a_row) {
        for (int64_t t = 0; t < steps; t++) {
            row[t] = finite_v3(a + t * a_step, 0, 1, 1) ? a[t * a_step] : 0;
        }
        dot_v3(vectors, lanes, 1, 1, steps, span, row, 0, 1, b, b_step, c + r * c_row, c_row,
            update, factor, compensation ? compensation + r * c_row : NULL);
    }
}

/* The functions for the products below. Each calls dot_v3 or a similar function with constants. */
TARGET_v3 APART void dot0_v3(int64_t lanes, int64_t rows, const float *a, int64_t a_row, const float *b, float *c,
    const float *next, int64_t next_row, const float *result, int64_t result_row, int64_t results)
{
    dot_ahead_v3(/*vectors=*/2, lanes, rows, /*tail=*/-1, /*steps=*/64, /*span=*/32, a, a_row, /*a_step=*/1, b,
        /*b_step=*/80, c, /*c_row=*/80, /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL, next, next_row,
        /*width=*/64, result, result_row, /*result_width=*/64, results);
}
TARGET_v3 APART void dot1_v3(int64_t lanes, int64_t steps, const float *a, int64_t a_step, const float *b, float *c,
    float *compensation)
{
    dot_finite_v3(/*vectors=*/2, lanes, /*rows=*/64, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/1, a_step, b,
        /*b_step=*/80, c, /*c_row=*/80, /*update=*/3, /*factor=*/NULL, compensation);
}
TARGET_v3 APART void dot2_v3(int64_t lanes, int64_t steps, const float *a, int64_t a_step, const float *b, float *c,
    float *compensation)
{
    dot_v3(/*vectors=*/2, lanes, /*rows=*/64, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/1, a_step, b, /*b_step=*/80,
        c, /*c_row=*/80, /*update=*/3, /*factor=*/NULL, compensation);
}
TARGET_v3 APART void dot3_v3(int64_t rows, int64_t steps, const float *a, const float *b, int64_t b_step, float *c)
{
    dot_v3(/*vectors=*/2, /*lanes=*/64, rows, /*tail=*/-1, steps, /*span=*/192, a, /*a_row=*/80, /*a_step=*/1, b,
        b_step, c, /*c_row=*/64, /*update=*/1, /*factor=*/NULL, /*compensation=*/NULL);
}
TARGET_v3 APART void dot4_v3(int64_t lanes, int64_t steps, const float *a, const float *b, float *c)
{
    dot_v3(/*vectors=*/2, lanes, /*rows=*/64, /*tail=*/4, steps, /*span=*/32, a, /*a_row=*/1, /*a_step=*/64, b,
        /*b_step=*/32, c, /*c_row=*/32, /*update=*/1, /*factor=*/NULL, /*compensation=*/NULL);
}
TARGET_v3 APART void dot5_v3(int64_t lanes, int64_t rows, const float *a, int64_t a_row, const float *b, float *c,
    const float *next, int64_t next_row)
{
    dot_ahead_v3(/*vectors=*/2, lanes, rows, /*tail=*/-1, /*steps=*/64, /*span=*/32, a, a_row, /*a_step=*/1, b,
        /*b_step=*/32, c, /*c_row=*/32, /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL, next, next_row,
        /*width=*/64, /*result=*/NULL, /*result_row=*/0, /*result_width=*/0, /*results=*/0);
}
TARGET_v3 APART void dot6_v3(int64_t lanes, int64_t steps, const float *a, int64_t a_step, const float *b, float *c,
    float *compensation)
{
    dot_finite_v3(/*vectors=*/2, lanes, /*rows=*/64, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/1, a_step, b,
        /*b_step=*/32, c, /*c_row=*/32, /*update=*/3, /*factor=*/NULL, compensation);
}
TARGET_v3 APART void dot7_v3(int64_t lanes, int64_t steps, const float *a, int64_t a_step, const float *b, float *c,
    float *compensation)
{
    dot_v3(/*vectors=*/2, lanes, /*rows=*/64, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/1, a_step, b, /*b_step=*/32,
        c, /*c_row=*/32, /*update=*/3, /*factor=*/NULL, compensation);
}
TARGET_v3 APART void dot8_v3(int64_t lanes, int64_t rows, const float *a, int64_t a_row, const float *b, float *c)
{
    dot_ahead_v3(/*vectors=*/2, lanes, rows, /*tail=*/-1, /*steps=*/64, /*span=*/32, a, a_row, /*a_step=*/1, b,
        /*b_step=*/80, c, /*c_row=*/80, /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL, /*next=*/NULL,
        /*next_row=*/0, /*width=*/0, /*result=*/NULL, /*result_row=*/0, /*result_width=*/0, /*results=*/0);
}
TARGET_v3 APART void dot9_v3(int64_t lanes, int64_t rows, const float *a, int64_t a_row, const float *b, float *c,
    const float *result, int64_t result_row, int64_t results)
{
    dot_ahead_v3(/*vectors=*/2, lanes, rows, /*tail=*/-1, /*steps=*/64, /*span=*/32, a, a_row, /*a_step=*/1, b,
        /*b_step=*/80, c, /*c_row=*/80, /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL, /*next=*/NULL,
        /*next_row=*/0, /*width=*/0, result, result_row, /*result_width=*/64, results);
}
TARGET_v3 APART void dot10_v3(int64_t lanes, int64_t rows, const float *a, int64_t a_row, const float *b, float *c)
{
    dot_ahead_v3(/*vectors=*/2, lanes, rows, /*tail=*/-1, /*steps=*/64, /*span=*/32, a, a_row, /*a_step=*/1, b,
        /*b_step=*/32, c, /*c_row=*/32, /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL, /*next=*/NULL,
        /*next_row=*/0, /*width=*/0, /*result=*/NULL, /*result_row=*/0, /*result_width=*/0, /*results=*/0);
}
TARGET_v3 APART void dot11_v3(int64_t lanes, const float *a, const float *b, float *c)
{
    dot_v3(/*vectors=*/2, lanes, /*rows=*/2080, /*tail=*/4, /*steps=*/64, /*span=*/32, a, /*a_row=*/64, /*a_step=*/1, b,
        /*b_step=*/32, c, /*c_row=*/32, /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL);
}
TARGET_v3 APART void dot12_v3(int64_t rows, int64_t steps, const float *a, const float *b, float *c)
{
    dot_v3(/*vectors=*/2, /*lanes=*/64, rows, /*tail=*/-1, steps, /*span=*/192, a, /*a_row=*/80, /*a_step=*/1, b,
        /*b_step=*/64, c, /*c_row=*/64, /*update=*/1, /*factor=*/NULL, /*compensation=*/NULL);
}
TARGET_v3 APART void dot13_v3(int64_t lanes, const float *a, const float *b, float *c)
{
    dot_v3(/*vectors=*/2, lanes, /*rows=*/2080, /*tail=*/4, /*steps=*/64, /*span=*/32, a, /*a_row=*/64, /*a_step=*/1, b,
        /*b_step=*/80, c, /*c_row=*/80, /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL);
}
TARGET_v3 APART void dot14_v3(int64_t lanes, int64_t steps, const float *a, const float *b, float *c)
{
    dot_v3(/*vectors=*/2, lanes, /*rows=*/64, /*tail=*/4, steps, /*span=*/32, a, /*a_row=*/1, /*a_step=*/64, b,
        /*b_step=*/80, c, /*c_row=*/80, /*update=*/1, /*factor=*/NULL, /*compensation=*/NULL);
}
TARGET_v3 APART void dot15_v3(int64_t lanes, int64_t rows, const float *a, const float *b, float *c)
{
    dot_v3(/*vectors=*/2, lanes, rows, /*tail=*/-1, /*steps=*/64, /*span=*/32, a, /*a_row=*/1, /*a_step=*/80, b,
        /*b_step=*/80, c, /*c_row=*/80, /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL);
}
TARGET_v3 APART void dot16_v3(int64_t lanes, int64_t steps, const float *a, const float *b, float *c,
    float *compensation)
{
    dot_finite_v3(/*vectors=*/2, lanes, /*rows=*/64, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/80, /*a_step=*/1, b,
        /*b_step=*/80, c, /*c_row=*/80, /*update=*/3, /*factor=*/NULL, compensation);
}
TARGET_v3 APART void dot17_v3(int64_t lanes, int64_t steps, const float *a, const float *b, float *c,
    float *compensation)
{
    dot_v3(/*vectors=*/2, lanes, /*rows=*/64, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/80, /*a_step=*/1, b,
        /*b_step=*/80, c, /*c_row=*/80, /*update=*/3, /*factor=*/NULL, compensation);
}

/* Computes task number `task`: one tile of queries of one head. `work` is this thread's workspace. */
TARGET_v3 static void power_gated_rows_v3(const struct call *call, int64_t task, unsigned char *work)
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
    const float *const q = call->q + b * call->p.q.batch + (g / call->sharing * members + m) * call->p.q.head;
    const int64_t q_row = call->p.q.row;
    const float *const k = call->k + b * call->p.k.batch + g / call->sharing * call->p.k.head;
    const int64_t k_row = call->p.k.row;
    const float *const v = call->v + b * call->p.v.batch + g * call->p.v.head;
    const int64_t v_row = call->p.v.row;
    const float *const log_decay_q_low = call->log_decay_q_low + b * call->log_decay_q_low_at.batch + (g * members + m)
        * call->log_decay_q_low_at.head;
    const float *const log_decay_q = call->log_decay_q + b * call->log_decay_q_at.batch + (g * members + m) *
        call->log_decay_q_at.head;
    const float *const log_decay_k_low = call->log_decay_k_low + b * call->log_decay_k_low_at.batch + (g * members + m)
        * call->log_decay_k_low_at.head;
    const float *const log_decay_k = call->log_decay_k + b * call->log_decay_k_at.batch + (g * members + m) *
        call->log_decay_k_at.head;
    float *const score = (float *)(void *)(work + 0); /* [j: 288, i: 64 of 80] */
    float *const row_sum = (float *)(void *)(work + 92160); /* [i: 64] */
    float *const row_sum_compensation = (float *)(void *)(work + 92416); /* [i: 64] */
    float *const sum = (float *)(void *)(work + 92672); /* [e: 64, i: 64 of 80] */
    float *const sum_compensation = (float *)(void *)(work + 113152); /* [e: 64, i: 64 of 80] */
    float *const out = call->out + b * call->p.out.batch + (g * members + m) * call->p.out.head;
    const int64_t out_row = call->p.out.row;
    float *const saved_0 = call->saved_0 ? call->saved_0 + (b * call->p.heads + (g * members + m)) * call->p.n_q : NULL;
    float *const q_tile = (float *)(void *)(work + 133632); /* [d: 64, i: 64 of 80] */
    float *const log_decay_q_tile = (float *)(void *)(work + 154112); /* [i: 64] */
    float *const log_decay_q_low_tile = (float *)(void *)(work + 154368); /* [i: 64] */
    int64_t results = i1 - i0; /* rows of out to prefetch during the first product */
    /* q_tile = q, with zeros beyond the last row */
    transpose_padded_v3(q + i0 * q_row, q_row, i1 - i0, 64, q_tile, 80, 8);
    /* log_decay_q_tile = log_decay_q, with zeros beyond the last row */
    for (int64_t i = 0; i < round_up(i1 - i0, 8); i++)
        log_decay_q_tile[i] = i < i1 - i0 ? log_decay_q[(i0 + i)] : 0;
    /* log_decay_q_low_tile = log_decay_q_low, with zeros beyond the last row */
    for (int64_t i = 0; i < round_up(i1 - i0, 8); i++)
        log_decay_q_low_tile[i] = i < i1 - i0 ? log_decay_q_low[(i0 + i)] : 0;
    /* q_tile = q_tile * 0.125f */
    for (int64_t d = 0; d < 64; d++) {
        for (int64_t i = 0; i < i1 - i0; i += 8) {
            store_v3(q_tile + d * 80 + i, load_v3(q_tile + d * 80 + i) * 0.125f);
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
            store_v3(sum + e * 80 + i, splat_v3(0.0f));
            store_v3(sum_compensation + e * 80 + i, splat_v3(0.0f));
        }
    }
    for (int64_t j0 = 0, j_end = min(n_k, i1 + query_start); j0 < j_end; j0 += 288) {
        const int64_t j1 = min(j0 + 288, j_end);
        /* score[j][i] = sum over d of k * q_tile */
        dot0_v3(round_up(i1 - i0, 8), j1 - j0, k + j0 * k_row, k_row, q_tile, score, v + j0 * v_row, v_row,
            out + i0 * out_row, out_row, results);
        results = 0;
        if ((i0 + query_start + 1) < j1) { /* the tile is partly outside the mask */
            /* score = select(j <= (i + query_start), (score * score) * exp2(((log_decay_q_tile - log_decay_k) +
               (log_decay_q_low_tile - log_de ... */
            for (int64_t i = 0; i < i1 - i0; i += 8) {
                const ints_v3 t_0 = (i0 + i + lane_v3) + query_start;
                const vec_v3 log_decay_q_tile_2 = load_v3(log_decay_q_tile + i);
                const vec_v3 log_decay_q_low_tile_3 = load_v3(log_decay_q_low_tile + i);
                vec_v3 row_sum_in = (vec_v3){0};
                for (int64_t j = 0; j < j1 - j0; j++) {
                    const vec_v3 score_1 = load_v3(score + j * 80 + i);
                    const vec_v3 score_new4 = pick_v3(__builtin_convertvector((j0 + j) <= t_0, mask_v3),
                        (score_1 * score_1) * exp2_v3(((log_decay_q_tile_2 - log_decay_k[(j0 + j)]) +
                        (log_decay_q_low_tile_3 - log_decay_k_low[(j0 + j)])) * 1.442695f), splat_v3(0.0f));
                    store_v3(score + j * 80 + i, score_new4);
                    row_sum_in += score_new4;
                }
                add_v3(row_sum + i, row_sum_compensation + i, row_sum_in, splat_v3(1));
            }
        }
        if (!((i0 + query_start + 1) < j1)) { /* the tile is wholly inside the mask */
            /* score = (score * score) * exp2(((log_decay_q_tile - log_decay_k) + (log_decay_q_low_tile -
               log_decay_k_low)) * 1.442695f); row_s ... */
            for (int64_t i = 0; i < i1 - i0; i += 8) {
                const vec_v3 log_decay_q_tile_6 = load_v3(log_decay_q_tile + i);
                const vec_v3 log_decay_q_low_tile_7 = load_v3(log_decay_q_low_tile + i);
                vec_v3 row_sum_in = (vec_v3){0};
                for (int64_t j = 0; j < j1 - j0; j++) {
                    const vec_v3 score_5 = load_v3(score + j * 80 + i);
                    const vec_v3 score_new8 = (score_5 * score_5) * exp2_v3(((log_decay_q_tile_6 - log_decay_k[(j0 +
                        j)]) + (log_decay_q_low_tile_7 - log_decay_k_low[(j0 + j)])) * 1.442695f);
                    store_v3(score + j * 80 + i, score_new8);
                    row_sum_in += score_new8;
                }
                add_v3(row_sum + i, row_sum_compensation + i, row_sum_in, splat_v3(1));
            }
        }
        /* sum[e][i] += sum over j of v * score */
        if (__builtin_expect(((i0 + query_start + 1) < j1) && !finite_v3(v + j0 * v_row, v_row, j1 - j0, 64),
            0)) { /* infinity and NaN affect only queries that see them */
            dot1_v3(round_up(i1 - i0, 8), j1 - j0, v + j0 * v_row, v_row, score, sum, sum_compensation);
            for (int64_t j = 0; j < j1 - j0; j++) {
                mask_v3 in_region[8] = {0};
                if (finite_v3(v + j0 * v_row + j * v_row, 1, 64, 1)) continue;
                for (int64_t i = 0; i < i1 - i0; i += 8) {
                    in_region[i / 8] = __builtin_convertvector((j0 + j) <= ((i0 + i + lane_v3) + query_start), mask_v3);
                }
                add_seen_v3(64, sum, 80, v + j0 * v_row + j * v_row, 1, score + j * 80, in_region, i1 - i0);
            }
        } else
            dot2_v3(round_up(i1 - i0, 8), j1 - j0, v + j0 * v_row, v_row, score, sum, sum_compensation);
    }
    /* sum = select((row_sum + 1.0f) == 0.0f, 0.0f, sum / (row_sum + 1.0f)) */
    for (int64_t i = 0; i < i1 - i0; i += 8) {
        const vec_v3 t_9 = load_v3(row_sum + i) + 1.0f;
        const mask_v3 t_10 = t_9 == 0.0f;
        for (int64_t e = 0; e < 64; e++) {
            store_v3(sum + e * 80 + i, pick_v3(t_10, splat_v3(0.0f), load_v3(sum + e * 80 + i) / t_9));
        }
    }
    if (saved_0) {
        /* row_sum = select((row_sum + 1.0f) == 0.0f, 0.0f, 1.0f / (row_sum + 1.0f)) */
        for (int64_t i = 0; i < i1 - i0; i += 8) {
            const vec_v3 t_11 = load_v3(row_sum + i) + 1.0f;
            store_v3(row_sum + i, pick_v3(t_11 == 0.0f, splat_v3(0.0f), 1.0f / t_11));
        }
    }
    /* out = sum, transposed back */
    transpose_out_v3(sum, 80, 64, i1 - i0, out + i0 * out_row, out_row, 8);
    if (saved_0) {
        /* saved_0 = row_sum */
        for (int64_t i = 0; i < i1 - i0; i++)
            saved_0[(i0 + i)] = row_sum[i];
    }
}

/* Initialises the states: they contain no keys yet. */
TARGET_v3 APART void power_gated_begin_v3(const struct call *call, int64_t task, const struct part *part,
    int64_t iteration)
{
    (void)call;
    (void)task;
    const int64_t f0 = iteration * 32, f1 = min(f0 + 32, 2080);
    float *const carried_sum = (float *)(void *)(part->shared + 0); /* [f: 2080] */
    float *const carried_sum_compensation = (float *)(void *)(part->shared + 540800); /* [f: 2080] */
    float *const carried = (float *)(void *)(part->shared + 8320); /* [f: 2080, e: 64] */
    float *const carried_compensation = (float *)(void *)(part->shared + 549120); /* [f: 2080, e: 64] */
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
TARGET_v3 APART void power_gated_keys_v3(const struct call *call, int64_t task, const struct part *part,
    int64_t iteration)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_k = call->p.n_k;
    const int64_t chunk = iteration;
    const int64_t chunk0 = part->chunk0;
    const int64_t m = task % members;
    const int64_t g = task / members % kv_heads;
    const int64_t b = task / members / kv_heads;
    const float *const k = call->k + b * call->p.k.batch + g / call->sharing * call->p.k.head;
    const int64_t k_row = call->p.k.row;
    const float *const v = call->v + b * call->p.v.batch + g * call->p.v.head;
    const int64_t v_row = call->p.v.row;
    const float *const log_decay_k_low = call->log_decay_k_low + b * call->log_decay_k_low_at.batch + (g * members + m)
        * call->log_decay_k_low_at.head;
    const float *const log_decay_k = call->log_decay_k + b * call->log_decay_k_at.batch + (g * members + m) *
        call->log_decay_k_at.head;
    const float *const log_decay_chunk_low = call->log_decay_chunk_low + b * call->log_decay_chunk_low_at.batch + (g *
        members + m) * call->log_decay_chunk_low_at.head;
    const float *const log_decay_chunk = call->log_decay_chunk + b * call->log_decay_chunk_at.batch + (g * members + m)
        * call->log_decay_chunk_at.head;
    float *const key_features = (float *)(void *)(part->work + 0); /* [f: 192, j: 64 of 80] */
    float *const state_sum = (float *)(void *)(part->slots + 0); /* [chunk, f: 2080] */
    float *const state = (float *)(void *)(part->slots + 8320); /* [chunk, f: 2080, e: 64] */
    float *const k_tile = (float *)(void *)(part->work + 61440); /* [d: 64, j: 64 of 80] */
    float *const log_decay_k_tile = (float *)(void *)(part->work + 81920); /* [j: 64] */
    float *const log_decay_k_low_tile = (float *)(void *)(part->work + 82176); /* [j: 64] */
    /* state_sum = 0.0f */
    for (int64_t f = 0; f < 2080; f += 8) {
        store_v3(state_sum + (chunk - chunk0) * 135200 + f, splat_v3(0.0f));
    }
    /* state = 0.0f */
    for (int64_t f = 0; f < 2080; f++) {
        for (int64_t e_first = 0; e_first < 64; e_first += 16) {
            UNROLL for (int64_t vector = 0, e = e_first; vector < 2; vector++, e += 8) {
                store_v3(state + (chunk - chunk0) * 135200 + f * 64 + e, splat_v3(0.0f));
            }
        }
    }
    for (int64_t j0 = chunk * 128, j_end = min(n_k, (chunk + 1) * 128); j0 < j_end; j0 += 64) {
        const int64_t j1 = min(j0 + 64, j_end);
        /* k_tile = k, with zeros beyond the last row */
        transpose_padded_v3(k + j0 * k_row, k_row, j1 - j0, 64, k_tile, 80, 64);
        /* log_decay_k_tile = log_decay_k, with zeros beyond the last row */
        for (int64_t j = 0; j < round_up(j1 - j0, 8); j++)
            log_decay_k_tile[j] = j < j1 - j0 ? log_decay_k[(j0 + j)] : 0;
        /* log_decay_k_low_tile = log_decay_k_low, with zeros beyond the last row */
        for (int64_t j = 0; j < round_up(j1 - j0, 8); j++)
            log_decay_k_low_tile[j] = j < j1 - j0 ? log_decay_k_low[(j0 + j)] : 0;
        for (int64_t f0 = 0, f_end = 2080; f0 < f_end; f0 += 192) {
            const int64_t f1 = min(f0 + 192, f_end);
            /* key_features = (k_tile * k_tile) * exp2(((log_decay_chunk - log_decay_k_tile) + (log_decay_chunk_low -
               log_decay_k_low_tile)) *  ... */
            const float log_decay_chunk_0 = log_decay_chunk[max(min(((chunk + 1) * 128) - 1, n_k - 1), 0)];
            const float log_decay_chunk_low_1 = log_decay_chunk_low[max(min(((chunk + 1) * 128) - 1, n_k - 1), 0)];
            for (int64_t j = 0; j < j1 - j0; j += 8) {
                const vec_v3 t_2 = exp2_v3(((log_decay_chunk_0 - load_v3(log_decay_k_tile + j)) + (log_decay_chunk_low_1
                    - load_v3(log_decay_k_low_tile + j))) * 1.442695f);
                for (int64_t f = f0; f < f1; f++) {
                    store_v3(key_features + (f - f0) * 80 + j, (load_v3(k_tile + (f % 64) * 80 + j) * load_v3(k_tile +
                        (((f % 64) + (f / 64)) % 64) * 80 + j)) * t_2);
                }
            }
            /* state_sum += key_features */
            for (int64_t f = f0; f < f1; f++) {
                vec_v3 lane_sums = splat_v3(0);
                for (int64_t j = 0; j < j1 - j0; j += 8) {
                    const vec_v3 term = load_v3(key_features + (f - f0) * 80 + j);
                    lane_sums += j + 8 <= j1 - j0 ? term : pick_v3(__builtin_convertvector(j + lane_v3 < j1 - j0,
                        mask_v3), term, splat_v3(0));
                }
                const float total = lane_sum_v3(lane_sums);
                state_sum[(chunk - chunk0) * 135200 + f] += total;
            }
            /* state[f][e] += sum over j of key_features * v */
            dot3_v3(f1 - f0, j1 - j0, key_features, v + j0 * v_row, v_row, state + (chunk - chunk0) * 135200 + f0 * 64);
        }
    }
}

/* Folds the slots of the current chunks, in order, for some elements of the states. */
TARGET_v3 APART void power_gated_fold_v3(const struct call *call, int64_t task, const struct part *part,
    int64_t iteration)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_k = call->p.n_k;
    const int64_t f0 = iteration * 32, f1 = min(f0 + 32, 2080);
    const int64_t chunk0 = part->chunk0;
    const int64_t chunk1 = part->chunk1;
    const int64_t m = task % members;
    const int64_t g = task / members % kv_heads;
    const int64_t b = task / members / kv_heads;
    const float *const log_decay_chunk_low = call->log_decay_chunk_low + b * call->log_decay_chunk_low_at.batch + (g *
        members + m) * call->log_decay_chunk_low_at.head;
    const float *const log_decay_chunk = call->log_decay_chunk + b * call->log_decay_chunk_at.batch + (g * members + m)
        * call->log_decay_chunk_at.head;
    float *const state_sum = (float *)(void *)(part->slots + 0); /* [chunk, f: 2080] */
    float *const state = (float *)(void *)(part->slots + 8320); /* [chunk, f: 2080, e: 64] */
    float *const carried_sum = (float *)(void *)(part->shared + 0); /* [f: 2080] */
    float *const carried_sum_compensation = (float *)(void *)(part->shared + 540800); /* [f: 2080] */
    float *const carried = (float *)(void *)(part->shared + 8320); /* [f: 2080, e: 64] */
    float *const carried_compensation = (float *)(void *)(part->shared + 549120); /* [f: 2080, e: 64] */
    float *const kept_share_2 = (float *)(void *)(part->work + 0); /* [f: 2080] */
    float *const lost_share_2 = (float *)(void *)(part->work + 8320); /* [f: 2080] */
    for (int64_t chunk = chunk0; chunk < chunk1; chunk++) {
        /* kept_share = select(exp2(((log_decay_chunk - log_decay_chunk) + (log_decay_chunk_low - log_decay_chunk_low))
           * 1.442695f) < 0.5f ... */
        const float t_3 = (log_decay_chunk[max(min(((chunk + 1) * 128) - 1, n_k - 1),
            0)] - log_decay_chunk[max(min((chunk * 128) - 1, n_k - 1),
            0)]) + (log_decay_chunk_low[max(min(((chunk + 1) * 128) - 1, n_k - 1),
            0)] - log_decay_chunk_low[max(min((chunk * 128) - 1, n_k - 1), 0)]);
        const float t_4 = exp2f(t_3 * 1.442695f);
        const int t_5 = t_4 < 0.5f;
        const float t_6 = t_5 ? t_4 : 1.0f;
        const float t_8 = t_5 ? 0.0f : (-expm1f(t_3));
        for (int64_t f = f0; f < f1; f += 8) {
            const vec_v3 kept_share_new7 = splat_v3(t_6);
            const vec_v3 lost_share_new9 = splat_v3(t_8);
            const vec_v3 carried_sum_10 = load_v3(carried_sum + f);
            const vec_v3 before_sum_new11 = carried_sum_10;
            const vec_v3 carried_sum_new12 = carried_sum_10 * kept_share_new7;
            store_v3(carried_sum + f, carried_sum_new12);
            store_v3(carried_sum_compensation + f, load_v3(carried_sum_compensation + f) * kept_share_new7);
            add_v3(carried_sum + f, carried_sum_compensation + f, load_v3(state_sum + (chunk - chunk0) * 135200 + f) -
                (carried_sum_new12 * lost_share_new9), splat_v3(1));
            store_v3(state_sum + (chunk - chunk0) * 135200 + f, before_sum_new11);
        }
        /* kept_share_2 = select(exp2(((log_decay_chunk - log_decay_chunk) + (log_decay_chunk_low -
           log_decay_chunk_low)) * 1.442695f) < 0. ... */
        const float t_13 = (log_decay_chunk[max(min(((chunk + 1) * 128) - 1, n_k - 1),
            0)] - log_decay_chunk[max(min((chunk * 128) - 1, n_k - 1),
            0)]) + (log_decay_chunk_low[max(min(((chunk + 1) * 128) - 1, n_k - 1),
            0)] - log_decay_chunk_low[max(min((chunk * 128) - 1, n_k - 1), 0)]);
        const float t_14 = exp2f(t_13 * 1.442695f);
        const int t_15 = t_14 < 0.5f;
        const float t_16 = t_15 ? t_14 : 1.0f;
        const float t_17 = t_15 ? 0.0f : (-expm1f(t_13));
        for (int64_t f = f0; f < f1; f += 8) {
            store_v3(kept_share_2 + f, splat_v3(t_16));
            store_v3(lost_share_2 + f, splat_v3(t_17));
        }
        /* before = carried; carried = carried * kept_share_2; carried_compensation = carried_compensation *
           kept_share_2; carried += state ... */
        for (int64_t f = f0; f < f1; f++) {
            for (int64_t e_first = 0; e_first < 64; e_first += 16) {
                UNROLL for (int64_t vector = 0, e = e_first; vector < 2; vector++, e += 8) {
                    const vec_v3 carried_18 = load_v3(carried + f * 64 + e);
                    const vec_v3 before_new19 = carried_18;
                    const float kept_share_2_20 = kept_share_2[f];
                    const vec_v3 carried_new21 = carried_18 * kept_share_2_20;
                    store_v3(carried + f * 64 + e, carried_new21);
                    store_v3(carried_compensation + f * 64 + e, load_v3(carried_compensation + f * 64 + e) *
                        kept_share_2_20);
                    add_v3(carried + f * 64 + e, carried_compensation + f * 64 + e,
                        load_v3(state + (chunk - chunk0) * 135200 + f * 64 + e) - (carried_new21 * lost_share_2[f]),
                        splat_v3(1));
                    store_v3(state + (chunk - chunk0) * 135200 + f * 64 + e, before_new19);
                }
            }
        }
    }
}

/* Processes the queries of a chunk: reads the state before the chunk, and the keys in the chunk. */
TARGET_v3 APART void power_gated_queries_v3(const struct call *call, int64_t task, const struct part *part,
    int64_t iteration)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_q = call->p.n_q;
    const int64_t n_k = call->p.n_k;
    const int64_t chunk = iteration;
    const int64_t chunk0 = part->chunk0;
    const int64_t m = task % members;
    const int64_t g = task / members % kv_heads;
    const int64_t b = task / members / kv_heads;
    const int64_t query_start = call->p.query_start ? call->p.query_start[b] : n_k - n_q;
    const float *const q = call->q + b * call->p.q.batch + (g / call->sharing * members + m) * call->p.q.head;
    const int64_t q_row = call->p.q.row;
    const float *const k = call->k + b * call->p.k.batch + g / call->sharing * call->p.k.head;
    const int64_t k_row = call->p.k.row;
    const float *const v = call->v + b * call->p.v.batch + g * call->p.v.head;
    const int64_t v_row = call->p.v.row;
    const float *const log_decay_q_low = call->log_decay_q_low + b * call->log_decay_q_low_at.batch + (g * members + m)
        * call->log_decay_q_low_at.head;
    const float *const log_decay_q = call->log_decay_q + b * call->log_decay_q_at.batch + (g * members + m) *
        call->log_decay_q_at.head;
    const float *const log_decay_k_low = call->log_decay_k_low + b * call->log_decay_k_low_at.batch + (g * members + m)
        * call->log_decay_k_low_at.head;
    const float *const log_decay_k = call->log_decay_k + b * call->log_decay_k_at.batch + (g * members + m) *
        call->log_decay_k_at.head;
    const float *const log_decay_chunk_low = call->log_decay_chunk_low + b * call->log_decay_chunk_low_at.batch + (g *
        members + m) * call->log_decay_chunk_low_at.head;
    const float *const log_decay_chunk = call->log_decay_chunk + b * call->log_decay_chunk_at.batch + (g * members + m)
        * call->log_decay_chunk_at.head;
    float *const state_sum = (float *)(void *)(part->slots + 0); /* [chunk, f: 2080] */
    float *const state = (float *)(void *)(part->slots + 8320); /* [chunk, f: 2080, e: 64] */
    float *const query_features = (float *)(void *)(part->work + 0); /* [d: 64, i: 32] */
    float *const score = (float *)(void *)(part->work + 8192); /* [j: 64, i: 32] */
    float *const query = (float *)(void *)(part->work + 8192); /* [f: 192, i: 32] */
    float *const row_sum_from_state = (float *)(void *)(part->work + 32768); /* [i: 32] */
    float *const row_sum = (float *)(void *)(part->work + 32896); /* [i: 32] */
    float *const row_sum_compensation = (float *)(void *)(part->work + 33024); /* [i: 32] */
    float *const sum_from_state = (float *)(void *)(part->work + 33152); /* [e: 64, i: 32] */
    float *const sum = (float *)(void *)(part->work + 16384); /* [e: 64, i: 32] */
    float *const sum_compensation = (float *)(void *)(part->work + 24576); /* [e: 64, i: 32] */
    float *const out = call->out + b * call->p.out.batch + (g * members + m) * call->p.out.head;
    const int64_t out_row = call->p.out.row;
    float *const saved_0 = call->saved_0 ? call->saved_0 + (b * call->p.heads + (g * members + m)) * call->p.n_q : NULL;
    float *const q_tile = (float *)(void *)(part->work + 41344); /* [d: 64, i: 32] */
    float *const log_decay_q_tile = (float *)(void *)(part->work + 49536); /* [i: 32] */
    float *const log_decay_q_low_tile = (float *)(void *)(part->work + 49664); /* [i: 32] */
    for (int64_t i0 = (chunk == 0) ? 0 : max(0, (chunk * 128) - query_start), i_end = min(n_q,
        ((chunk + 1) * 128) - query_start); i0 < i_end; i0 += 32) {
        const int64_t i1 = min(i0 + 32, i_end);
        /* q_tile = q, with zeros beyond the last row */
        transpose_padded_v3(q + i0 * q_row, q_row, i1 - i0, 64, q_tile, 32, 64);
        /* log_decay_q_tile = log_decay_q, with zeros beyond the last row */
        for (int64_t i = 0; i < round_up(i1 - i0, 8); i++)
            log_decay_q_tile[i] = i < i1 - i0 ? log_decay_q[(i0 + i)] : 0;
        /* log_decay_q_low_tile = log_decay_q_low, with zeros beyond the last row */
        for (int64_t i = 0; i < round_up(i1 - i0, 8); i++)
            log_decay_q_low_tile[i] = i < i1 - i0 ? log_decay_q_low[(i0 + i)] : 0;
        /* query_features = q_tile * 0.125f */
        for (int64_t d = 0; d < 64; d++) {
            for (int64_t i = 0; i < i1 - i0; i += 8) {
                store_v3(query_features + d * 32 + i, load_v3(q_tile + d * 32 + i) * 0.125f);
            }
        }
        /* row_sum_from_state = 0.0f; row_sum = 0.0f; row_sum_compensation = 0.0f */
        for (int64_t i = 0; i < i1 - i0; i += 8) {
            store_v3(row_sum_from_state + i, splat_v3(0.0f));
            store_v3(row_sum + i, splat_v3(0.0f));
            store_v3(row_sum_compensation + i, splat_v3(0.0f));
        }
        /* sum_from_state = 0.0f */
        for (int64_t e = 0; e < 64; e++) {
            for (int64_t i = 0; i < i1 - i0; i += 8) {
                store_v3(sum_from_state + e * 32 + i, splat_v3(0.0f));
            }
        }
        for (int64_t f0 = 0, f_end = 2080; f0 < f_end; f0 += 192) {
            const int64_t f1 = min(f0 + 192, f_end);
            /* query = (((q_tile * 0.125f) * (q_tile * 0.125f)) * select((f / 64) == 0, 1.0f,
               2.0f)) * select(chunk == 0, 1.0f, exp2(((log_deca ... */
            const int t_22 = chunk == 0;
            const float log_decay_chunk_23 = log_decay_chunk[max(min((chunk * 128) - 1, n_k - 1), 0)];
            const float log_decay_chunk_low_24 = log_decay_chunk_low[max(min((chunk * 128) - 1, n_k - 1), 0)];
            for (int64_t i = 0; i < i1 - i0; i += 8) {
                const vec_v3 t_25 = t_22 ? splat_v3(1.0f) : exp2_v3(((load_v3(log_decay_q_tile + i) -
                    log_decay_chunk_23) + (load_v3(log_decay_q_low_tile + i) - log_decay_chunk_low_24)) * 1.442695f);
                vec_v3 row_sum_from_state_in = (vec_v3){0};
                vec_v3 row_sum_from_state_in_whole = (vec_v3){0};
                for (int64_t f = f0; f < f1; f++) {
                    const vec_v3 query_new26 = (((load_v3(q_tile + (f % 64) * 32 + i) * 0.125f) * (load_v3(q_tile + (((f
                        % 64) + (f / 64)) % 64) * 32 + i) * 0.125f)) * (float)(((f / 64) == 0) ? 1.0 : 2.0)) * t_25;
                    store_v3(query + (f - f0) * 32 + i, query_new26);
                    row_sum_from_state_in += query_new26 * (state_sum[(chunk - chunk0) * 135200 + f]);
                    if (f % 192 == 191) {
                        row_sum_from_state_in_whole += row_sum_from_state_in;
                        row_sum_from_state_in = (vec_v3){0};
                    }
                }
                row_sum_from_state_in += row_sum_from_state_in_whole;
                store_v3(row_sum_from_state + i, load_v3(row_sum_from_state + i) + row_sum_from_state_in);
            }
            /* sum_from_state[e][i] += sum over f of state * query */
            dot4_v3(round_up(i1 - i0, 8), f1 - f0, state + (chunk - chunk0) * 135200 + f0 * 64, query, sum_from_state);
        }
        /* sum = 0.0f; sum_compensation = 0.0f */
        for (int64_t e = 0; e < 64; e++) {
            for (int64_t i = 0; i < i1 - i0; i += 8) {
                store_v3(sum + e * 32 + i, splat_v3(0.0f));
                store_v3(sum_compensation + e * 32 + i, splat_v3(0.0f));
            }
        }
        for (int64_t j0 = max(0, chunk * 128), j_end = min(n_k, i1 + query_start); j0 < j_end; j0 += 64) {
            const int64_t j1 = min(j0 + 64, j_end);
            /* score[j][i] = sum over d of k * query_features */
            dot5_v3(round_up(i1 - i0, 8), j1 - j0, k + j0 * k_row, k_row, query_features, score, v + j0 * v_row, v_row);
            if ((j0 < (chunk * 128)) || ((i0 + query_start + 1) < j1)) { /* the tile is partly outside the mask */
                /* score = select((j <= (i + query_start)) && ((chunk * 128) <= j),
                   (score * score) * exp2(((log_decay_q_tile - log_decay_k) + (log ... */
                for (int64_t i = 0; i < i1 - i0; i += 8) {
                    const ints_v3 t_27 = (i0 + i + lane_v3) + query_start;
                    const vec_v3 log_decay_q_tile_29 = load_v3(log_decay_q_tile + i);
                    const vec_v3 log_decay_q_low_tile_30 = load_v3(log_decay_q_low_tile + i);
                    vec_v3 row_sum_in = (vec_v3){0};
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        const vec_v3 score_28 = load_v3(score + j * 32 + i);
                        const vec_v3 score_new31 = pick_v3(__builtin_convertvector(((j0 + j) <= t_27) &
                            (-(int64_t)((chunk * 128) <= (j0 + j))), mask_v3),
                            (score_28 * score_28) * exp2_v3(((log_decay_q_tile_29 - log_decay_k[(j0 + j)]) +
                            (log_decay_q_low_tile_30 - log_decay_k_low[(j0 + j)])) * 1.442695f), splat_v3(0.0f));
                        store_v3(score + j * 32 + i, score_new31);
                        row_sum_in += score_new31;
                    }
                    add_v3(row_sum + i, row_sum_compensation + i, row_sum_in, splat_v3(1));
                }
            }
            if (!((j0 < (chunk * 128)) || ((i0 + query_start + 1) < j1))) { /* the tile is wholly inside the mask */
                /* score = (score * score) * exp2(((log_decay_q_tile - log_decay_k) + (log_decay_q_low_tile -
                   log_decay_k_low)) * 1.442695f); row_s ... */
                for (int64_t i = 0; i < i1 - i0; i += 8) {
                    const vec_v3 log_decay_q_tile_33 = load_v3(log_decay_q_tile + i);
                    const vec_v3 log_decay_q_low_tile_34 = load_v3(log_decay_q_low_tile + i);
                    vec_v3 row_sum_in = (vec_v3){0};
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        const vec_v3 score_32 = load_v3(score + j * 32 + i);
                        const vec_v3 score_new35 = (score_32 * score_32) * exp2_v3(((log_decay_q_tile_33 -
                            log_decay_k[(j0 + j)]) + (log_decay_q_low_tile_34 - log_decay_k_low[(j0 + j)])) *
                            1.442695f);
                        store_v3(score + j * 32 + i, score_new35);
                        row_sum_in += score_new35;
                    }
                    add_v3(row_sum + i, row_sum_compensation + i, row_sum_in, splat_v3(1));
                }
            }
            /* sum[e][i] += sum over j of v * score */
            if (__builtin_expect(((j0 < (chunk * 128)) || ((i0 + query_start + 1) < j1)) && !finite_v3(v + j0 * v_row,
                v_row, j1 - j0, 64), 0)) { /* infinity and NaN affect only queries that see them */
                dot6_v3(round_up(i1 - i0, 8), j1 - j0, v + j0 * v_row, v_row, score, sum, sum_compensation);
                for (int64_t j = 0; j < j1 - j0; j++) {
                    mask_v3 in_region[4] = {0};
                    if (finite_v3(v + j0 * v_row + j * v_row, 1, 64, 1)) continue;
                    const int t_36 = (chunk * 128) <= (j0 + j);
                    for (int64_t i = 0; i < i1 - i0; i += 8) {
                        in_region[i / 8] = __builtin_convertvector(((j0 + j) <= ((i0 + i + lane_v3) + query_start)) &
                            (-(int64_t)t_36), mask_v3);
                    }
                    add_seen_v3(64, sum, 32, v + j0 * v_row + j * v_row, 1, score + j * 32, in_region, i1 - i0);
                }
            } else
                dot7_v3(round_up(i1 - i0, 8), j1 - j0, v + j0 * v_row, v_row, score, sum, sum_compensation);
        }
        /* sum = select(((row_sum + row_sum_from_state) + 1.0f) == 0.0f, 0.0f,
           (sum + sum_from_state) / ((row_sum + row_sum_from_state) + 1 ... */
        for (int64_t i = 0; i < i1 - i0; i += 8) {
            const vec_v3 t_37 = (load_v3(row_sum + i) + load_v3(row_sum_from_state + i)) + 1.0f;
            const mask_v3 t_38 = t_37 == 0.0f;
            for (int64_t e = 0; e < 64; e++) {
                store_v3(sum + e * 32 + i, pick_v3(t_38, splat_v3(0.0f),
                    (load_v3(sum + e * 32 + i) + load_v3(sum_from_state + e * 32 + i)) / t_37));
            }
        }
        if (saved_0) {
            /* row_sum = select(((row_sum + row_sum_from_state) + 1.0f) == 0.0f, 0.0f,
               1.0f / ((row_sum + row_sum_from_state) + 1.0f)) */
            for (int64_t i = 0; i < i1 - i0; i += 8) {
                const vec_v3 t_39 = (load_v3(row_sum + i) + load_v3(row_sum_from_state + i)) + 1.0f;
                store_v3(row_sum + i, pick_v3(t_39 == 0.0f, splat_v3(0.0f), 1.0f / t_39));
            }
        }
        /* out = sum, transposed back */
        transpose_out_v3(sum, 32, 64, i1 - i0, out + i0 * out_row, out_row, 64);
        if (saved_0) {
            /* saved_0 = row_sum */
            for (int64_t i = 0; i < i1 - i0; i++)
                saved_0[(i0 + i)] = row_sum[i];
        }
    }
}

/* Computes head number `task`. Each thread on the head calls this with its share, `part`. */
TARGET_v3 static void power_gated_linear_v3(const struct call *call, int64_t task, struct part *part)
{
    const int64_t n_k = call->p.n_k;
    const int64_t chunks = n_k > 0 ? (n_k - 1) / 128 + 1 : 1;
    for (int64_t iteration = part->number; iteration < ((2080 + 31) / 32); iteration += part->threads)
        power_gated_begin_v3(call, task, part, iteration);
    synchronise(part);
    const int64_t first = 0;
    const int64_t length = segment_length(part, chunks - first);
    for (int64_t segment = part->number; first + segment * length < chunks; segment += part->threads) {
        part->chunk0 = first + segment * length;
        part->chunk1 = min(part->chunk0 + length, chunks);
        for (int64_t iteration = part->chunk0; iteration < part->chunk1; iteration++)
            power_gated_keys_v3(call, task, part, iteration);
        for (int64_t group = 0; group < 16; group++) {
            await_segment(part, group, segment);
            const int64_t end = (group + 1) * ((2080 + 31) / 32) / 16;
            for (int64_t iteration = group * ((2080 + 31) / 32) / 16; iteration < end; iteration++)
                power_gated_fold_v3(call, task, part, iteration);
            pass_segment(part, group, segment);
        }
        for (int64_t iteration = part->chunk0; iteration < part->chunk1; iteration++)
            power_gated_queries_v3(call, task, part, iteration);
    }
    part->segments += (max(chunks - first, 0) + length - 1) / length;
    synchronise(part);
}

/* Computes task number `task`: one tile of queries of one head. `work` is this thread's workspace. */
TARGET_v3 static void power_gated_saved_v3(const struct call *call, int64_t task, unsigned char *work)
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
    const float *const q = call->q + b * call->p.q.batch + (g / call->sharing * members + m) * call->p.q.head;
    const int64_t q_row = call->p.q.row;
    const float *const k = call->k + b * call->p.k.batch + g / call->sharing * call->p.k.head;
    const int64_t k_row = call->p.k.row;
    const float *const log_decay_q_low = call->log_decay_q_low + b * call->log_decay_q_low_at.batch + (g * members + m)
        * call->log_decay_q_low_at.head;
    const float *const log_decay_q = call->log_decay_q + b * call->log_decay_q_at.batch + (g * members + m) *
        call->log_decay_q_at.head;
    const float *const log_decay_k_low = call->log_decay_k_low + b * call->log_decay_k_low_at.batch + (g * members + m)
        * call->log_decay_k_low_at.head;
    const float *const log_decay_k = call->log_decay_k + b * call->log_decay_k_at.batch + (g * members + m) *
        call->log_decay_k_at.head;
    float *const score = (float *)(void *)(work + 0); /* [j: 288, i: 64 of 80] */
    float *const row_sum = (float *)(void *)(work + 92160); /* [i: 64] */
    float *const row_sum_compensation = (float *)(void *)(work + 92416); /* [i: 64] */
    float *const saved_0 = call->saved_0 + (b * call->p.heads + (g * members + m)) * call->p.n_q;
    float *const q_tile = (float *)(void *)(work + 92672); /* [d: 64, i: 64 of 80] */
    float *const log_decay_q_tile = (float *)(void *)(work + 113152); /* [i: 64] */
    float *const log_decay_q_low_tile = (float *)(void *)(work + 113408); /* [i: 64] */
    /* q_tile = q, with zeros beyond the last row */
    transpose_padded_v3(q + i0 * q_row, q_row, i1 - i0, 64, q_tile, 80, 8);
    /* log_decay_q_tile = log_decay_q, with zeros beyond the last row */
    for (int64_t i = 0; i < round_up(i1 - i0, 8); i++)
        log_decay_q_tile[i] = i < i1 - i0 ? log_decay_q[(i0 + i)] : 0;
    /* log_decay_q_low_tile = log_decay_q_low, with zeros beyond the last row */
    for (int64_t i = 0; i < round_up(i1 - i0, 8); i++)
        log_decay_q_low_tile[i] = i < i1 - i0 ? log_decay_q_low[(i0 + i)] : 0;
    /* q_tile = q_tile * 0.125f */
    for (int64_t d = 0; d < 64; d++) {
        for (int64_t i = 0; i < i1 - i0; i += 8) {
            store_v3(q_tile + d * 80 + i, load_v3(q_tile + d * 80 + i) * 0.125f);
        }
    }
    /* row_sum = 0.0f; row_sum_compensation = 0.0f */
    for (int64_t i = 0; i < i1 - i0; i += 8) {
        store_v3(row_sum + i, splat_v3(0.0f));
        store_v3(row_sum_compensation + i, splat_v3(0.0f));
    }
    for (int64_t j0 = 0, j_end = min(n_k, i1 + query_start); j0 < j_end; j0 += 288) {
        const int64_t j1 = min(j0 + 288, j_end);
        /* score[j][i] = sum over d of k * q_tile */
        dot8_v3(round_up(i1 - i0, 8), j1 - j0, k + j0 * k_row, k_row, q_tile, score);
        if ((i0 + query_start + 1) < j1) { /* the tile is partly outside the mask */
            /* score = select(j <= (i + query_start), (score * score) * exp2(((log_decay_q_tile - log_decay_k) +
               (log_decay_q_low_tile - log_de ... */
            for (int64_t i = 0; i < i1 - i0; i += 8) {
                const ints_v3 t_0 = (i0 + i + lane_v3) + query_start;
                const vec_v3 log_decay_q_tile_2 = load_v3(log_decay_q_tile + i);
                const vec_v3 log_decay_q_low_tile_3 = load_v3(log_decay_q_low_tile + i);
                vec_v3 row_sum_in = (vec_v3){0};
                for (int64_t j = 0; j < j1 - j0; j++) {
                    const vec_v3 score_1 = load_v3(score + j * 80 + i);
                    const vec_v3 score_new4 = pick_v3(__builtin_convertvector((j0 + j) <= t_0, mask_v3),
                        (score_1 * score_1) * exp2_v3(((log_decay_q_tile_2 - log_decay_k[(j0 + j)]) +
                        (log_decay_q_low_tile_3 - log_decay_k_low[(j0 + j)])) * 1.442695f), splat_v3(0.0f));
                    store_v3(score + j * 80 + i, score_new4);
                    row_sum_in += score_new4;
                }
                add_v3(row_sum + i, row_sum_compensation + i, row_sum_in, splat_v3(1));
            }
        }
        if (!((i0 + query_start + 1) < j1)) { /* the tile is wholly inside the mask */
            /* score = (score * score) * exp2(((log_decay_q_tile - log_decay_k) + (log_decay_q_low_tile -
               log_decay_k_low)) * 1.442695f); row_s ... */
            for (int64_t i = 0; i < i1 - i0; i += 8) {
                const vec_v3 log_decay_q_tile_6 = load_v3(log_decay_q_tile + i);
                const vec_v3 log_decay_q_low_tile_7 = load_v3(log_decay_q_low_tile + i);
                vec_v3 row_sum_in = (vec_v3){0};
                for (int64_t j = 0; j < j1 - j0; j++) {
                    const vec_v3 score_5 = load_v3(score + j * 80 + i);
                    const vec_v3 score_new8 = (score_5 * score_5) * exp2_v3(((log_decay_q_tile_6 - log_decay_k[(j0 +
                        j)]) + (log_decay_q_low_tile_7 - log_decay_k_low[(j0 + j)])) * 1.442695f);
                    store_v3(score + j * 80 + i, score_new8);
                    row_sum_in += score_new8;
                }
                add_v3(row_sum + i, row_sum_compensation + i, row_sum_in, splat_v3(1));
            }
        }
    }
    /* row_sum = select((row_sum + 1.0f) == 0.0f, 0.0f, 1.0f / (row_sum + 1.0f)) */
    for (int64_t i = 0; i < i1 - i0; i += 8) {
        const vec_v3 t_9 = load_v3(row_sum + i) + 1.0f;
        store_v3(row_sum + i, pick_v3(t_9 == 0.0f, splat_v3(0.0f), 1.0f / t_9));
    }
    /* saved_0 = row_sum */
    for (int64_t i = 0; i < i1 - i0; i++)
        saved_0[(i0 + i)] = row_sum[i];
}

/* Computes task number `task`: one tile of queries of one head. `work` is this thread's workspace. */
TARGET_v3 static void power_gated_row_sums_v3(const struct call *call, int64_t task, unsigned char *work)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_q = call->p.n_q;
    const int64_t tiles = (n_q + 64 - 1) / 64, i0 = (tiles - 1 - task % tiles) * 64,
        i1 = min(i0 + 64, n_q);
    const int64_t m = task / tiles % members;
    const int64_t g = task / tiles / members % kv_heads;
    const int64_t b = task / tiles / members / kv_heads;
    const float *const out = call->out + b * call->p.out.batch + (g * members + m) * call->p.out.head;
    const int64_t out_row = call->p.out.row;
    const float *const dout = call->dout + b * call->p.dout.batch + (g * members + m) * call->p.dout.head;
    const int64_t dout_row = call->p.dout.row;
    const float *const saved_0 = call->saved_0 + (b * call->p.heads + (g * members + m)) * call->p.n_q;
    float *const query_sum = (float *)(void *)(work + 0); /* [i: 64] */
    float *const row_0 = call->row_0 + (b * call->p.heads + (g * members + m)) * call->p.n_q;
    float *const out_tile = (float *)(void *)(work + 256); /* [e: 64, i: 64 of 80] */
    float *const dout_tile = (float *)(void *)(work + 20736); /* [e: 64, i: 64 of 80] */
    float *const saved_0_tile = (float *)(void *)(work + 41216); /* [i: 64] */
    /* out_tile = out, with zeros beyond the last row */
    transpose_padded_v3(out + i0 * out_row, out_row, i1 - i0, 64, out_tile, 80, 8);
    /* dout_tile = dout, with zeros beyond the last row */
    transpose_padded_v3(dout + i0 * dout_row, dout_row, i1 - i0, 64, dout_tile, 80, 8);
    /* saved_0_tile = saved_0, with zeros beyond the last row */
    for (int64_t i = 0; i < round_up(i1 - i0, 8); i++)
        saved_0_tile[i] = i < i1 - i0 ? saved_0[(i0 + i)] : 0;
    /* query_sum = 0.0f */
    for (int64_t i = 0; i < i1 - i0; i += 8) {
        store_v3(query_sum + i, splat_v3(0.0f));
    }
    /* query_sum += dout_tile * neg(out_tile) */
    for (int64_t i_first = 0; i_first < i1 - i0; i_first += 16) {
        vec_v3 query_sum_in[2];
        UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += 8) {
            query_sum_in[vector] = (vec_v3){0};
        }
        for (int64_t e = 0; e < 64; e++) {
            UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += 8) {
                query_sum_in[vector] += load_v3(dout_tile + e * 80 + i) * (-load_v3(out_tile + e * 80 + i));
            }
        }
        UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += 8) {
            store_v3(query_sum + i, load_v3(query_sum + i) + query_sum_in[vector]);
        }
    }
    /* query_sum = query_sum * saved_0_tile */
    for (int64_t i = 0; i < i1 - i0; i += 8) {
        store_v3(query_sum + i, load_v3(query_sum + i) * load_v3(saved_0_tile + i));
    }
    /* row_0 = query_sum */
    for (int64_t i = 0; i < i1 - i0; i++)
        row_0[(i0 + i)] = query_sum[i];
}

/* Computes task number `task`: one tile of queries of one head. `work` is this thread's workspace. */
TARGET_v3 static void power_gated_dq_dlog_decay_q_v3(const struct call *call, int64_t task, unsigned char *work)
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
    const float *const q = call->q + b * call->p.q.batch + (g / call->sharing * members + m) * call->p.q.head;
    const int64_t q_row = call->p.q.row;
    const float *const k = call->k + b * call->p.k.batch + g / call->sharing * call->p.k.head;
    const int64_t k_row = call->p.k.row;
    const float *const v = call->v + b * call->p.v.batch + g * call->p.v.head;
    const int64_t v_row = call->p.v.row;
    const float *const log_decay_q_low = call->log_decay_q_low + b * call->log_decay_q_low_at.batch + (g * members + m)
        * call->log_decay_q_low_at.head;
    const float *const log_decay_q = call->log_decay_q + b * call->log_decay_q_at.batch + (g * members + m) *
        call->log_decay_q_at.head;
    const float *const log_decay_k_low = call->log_decay_k_low + b * call->log_decay_k_low_at.batch + (g * members + m)
        * call->log_decay_k_low_at.head;
    const float *const log_decay_k = call->log_decay_k + b * call->log_decay_k_at.batch + (g * members + m) *
        call->log_decay_k_at.head;
    const float *const dout = call->dout + b * call->p.dout.batch + (g * members + m) * call->p.dout.head;
    const int64_t dout_row = call->p.dout.row;
    const float *const saved_0 = call->saved_0 + (b * call->p.heads + (g * members + m)) * call->p.n_q;
    const float *const row_0 = call->row_0 + (b * call->p.heads + (g * members + m)) * call->p.n_q;
    float *const score = (float *)(void *)(work + 0); /* [j: 288, i: 64 of 80] */
    float *const score_2 = (float *)(void *)(work + 92160); /* [j: 288, i: 64 of 80] */
    float *const weight_2 = (float *)(void *)(work + 184320); /* [j: 288, i: 64 of 80] */
    float *const row_sum = (float *)(void *)(work + 276480); /* [i: 64] */
    float *const row_sum_compensation = (float *)(void *)(work + 276736); /* [i: 64] */
    float *const sum = (float *)(void *)(work + 276992); /* [d: 64, i: 64 of 80] */
    float *const sum_compensation = (float *)(void *)(work + 297472); /* [d: 64, i: 64 of 80] */
    float *const dq = call->dq ? call->dq + b * call->p.dq.batch + (g * members + m) * call->p.dq.head : NULL;
    const int64_t dq_row = call->p.dq.row;
    float *const dlog_decay_q = call->dlog_decay_q ? call->dlog_decay_q + b * call->dlog_decay_q_at.batch + (g * members
        + m) * call->dlog_decay_q_at.head : NULL;
    const int64_t dlog_decay_q_row = call->dlog_decay_q_at.row;
    float *const dout_tile = (float *)(void *)(work + 317952); /* [e: 64, i: 64 of 80] */
    float *const saved_0_tile = (float *)(void *)(work + 0); /* [i: 64] */
    float *const q_tile = (float *)(void *)(work + 338432); /* [d: 64, i: 64 of 80] */
    float *const row_0_tile = (float *)(void *)(work + 358912); /* [i: 64] */
    float *const log_decay_q_tile = (float *)(void *)(work + 359168); /* [i: 64] */
    float *const log_decay_q_low_tile = (float *)(void *)(work + 359424); /* [i: 64] */
    int64_t results = i1 - i0; /* rows of dq to prefetch during the first product */
    /* dout_tile = dout, with zeros beyond the last row */
    transpose_padded_v3(dout + i0 * dout_row, dout_row, i1 - i0, 64, dout_tile, 80, 8);
    /* saved_0_tile = saved_0, with zeros beyond the last row */
    for (int64_t i = 0; i < round_up(i1 - i0, 8); i++)
        saved_0_tile[i] = i < i1 - i0 ? saved_0[(i0 + i)] : 0;
    /* q_tile = q, with zeros beyond the last row */
    transpose_padded_v3(q + i0 * q_row, q_row, i1 - i0, 64, q_tile, 80, 8);
    /* row_0_tile = row_0, with zeros beyond the last row */
    for (int64_t i = 0; i < round_up(i1 - i0, 8); i++)
        row_0_tile[i] = i < i1 - i0 ? row_0[(i0 + i)] : 0;
    /* log_decay_q_tile = log_decay_q, with zeros beyond the last row */
    for (int64_t i = 0; i < round_up(i1 - i0, 8); i++)
        log_decay_q_tile[i] = i < i1 - i0 ? log_decay_q[(i0 + i)] : 0;
    /* log_decay_q_low_tile = log_decay_q_low, with zeros beyond the last row */
    for (int64_t i = 0; i < round_up(i1 - i0, 8); i++)
        log_decay_q_low_tile[i] = i < i1 - i0 ? log_decay_q_low[(i0 + i)] : 0;
    /* dout_tile = dout_tile * saved_0_tile */
    for (int64_t i = 0; i < i1 - i0; i += 8) {
        const vec_v3 saved_0_tile_0 = load_v3(saved_0_tile + i);
        for (int64_t e = 0; e < 64; e++) {
            store_v3(dout_tile + e * 80 + i, load_v3(dout_tile + e * 80 + i) * saved_0_tile_0);
        }
    }
    if (dlog_decay_q) {
        /* row_sum = 0.0f; row_sum_compensation = 0.0f */
        for (int64_t i = 0; i < i1 - i0; i += 8) {
            store_v3(row_sum + i, splat_v3(0.0f));
            store_v3(row_sum_compensation + i, splat_v3(0.0f));
        }
    }
    if (dq) {
        /* sum = 0.0f; sum_compensation = 0.0f */
        for (int64_t d = 0; d < 64; d++) {
            for (int64_t i = 0; i < i1 - i0; i += 8) {
                store_v3(sum + d * 80 + i, splat_v3(0.0f));
                store_v3(sum_compensation + d * 80 + i, splat_v3(0.0f));
            }
        }
    }
    for (int64_t j0 = 0, j_end = min(n_k, i1 + query_start); j0 < j_end; j0 += 288) {
        const int64_t j1 = min(j0 + 288, j_end);
        /* score[j][i] = sum over d of k * q_tile */
        dot9_v3(round_up(i1 - i0, 8), j1 - j0, k + j0 * k_row, k_row, q_tile, score, dq + i0 * dq_row, dq_row, results);
        results = 0;
        /* score_2[j][i] = sum over e of v * dout_tile */
        dot0_v3(round_up(i1 - i0, 8), j1 - j0, v + j0 * v_row, v_row, dout_tile, score_2, k + j0 * k_row, k_row,
            dq + i0 * dq_row, dq_row, results);
        results = 0;
        /* score_2 = score_2 + row_0_tile; weight_2 = score_2 * ((score * exp2(((log_decay_q_tile - log_decay_k) +
           (log_decay_q_low_tile -  ... */
        for (int64_t i = 0; i < i1 - i0; i += 8) {
            const vec_v3 row_0_tile_2 = load_v3(row_0_tile + i);
            const vec_v3 log_decay_q_tile_5 = load_v3(log_decay_q_tile + i);
            const vec_v3 log_decay_q_low_tile_6 = load_v3(log_decay_q_low_tile + i);
            for (int64_t j = 0; j < j1 - j0; j++) {
                const vec_v3 score_2_1 = load_v3(score_2 + j * 80 + i);
                const vec_v3 score_2_new3 = score_2_1 + row_0_tile_2;
                store_v3(score_2 + j * 80 + i, score_2_new3);
                const vec_v3 score_4 = load_v3(score + j * 80 + i);
                const vec_v3 t_7 = exp2_v3(((log_decay_q_tile_5 - log_decay_k[(j0 + j)]) + (log_decay_q_low_tile_6 -
                    log_decay_k_low[(j0 + j)])) * 1.442695f);
                store_v3(weight_2 + j * 80 + i, score_2_new3 * ((score_4 * t_7) * 0.03125f));
                const vec_v3 t_8 = score_4 * 0.125f;
                store_v3(score + j * 80 + i, score_2_new3 * ((t_8 * t_8) * t_7));
            }
        }
        if ((i0 + query_start + 1) < j1) { /* the tile is partly outside the mask */
            if (dlog_decay_q) {
                /* score = select(j <= (i + query_start), score, 0.0f) */
                for (int64_t i = 0; i < i1 - i0; i += 8) {
                    const ints_v3 t_9 = (i0 + i + lane_v3) + query_start;
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        store_v3(score + j * 80 + i, pick_v3(__builtin_convertvector((j0 + j) <= t_9, mask_v3),
                            load_v3(score + j * 80 + i), splat_v3(0.0f)));
                    }
                }
            }
        }
        if (dlog_decay_q) {
            /* row_sum += score */
            for (int64_t i_first = 0; i_first < i1 - i0; i_first += 16) {
                vec_v3 row_sum_in[2];
                UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += 8) {
                    row_sum_in[vector] = (vec_v3){0};
                }
                for (int64_t j = 0; j < j1 - j0; j++) {
                    UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += 8) {
                        row_sum_in[vector] += load_v3(score + j * 80 + i);
                    }
                }
                UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += 8) {
                    add_v3(row_sum + i, row_sum_compensation + i, row_sum_in[vector], splat_v3(1));
                }
            }
        }
        if ((i0 + query_start + 1) < j1) { /* the tile is partly outside the mask */
            if (dq) {
                /* weight_2 = select(j <= (i + query_start), weight_2, 0.0f) */
                for (int64_t i = 0; i < i1 - i0; i += 8) {
                    const ints_v3 t_10 = (i0 + i + lane_v3) + query_start;
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        store_v3(weight_2 + j * 80 + i, pick_v3(__builtin_convertvector((j0 + j) <= t_10, mask_v3),
                            load_v3(weight_2 + j * 80 + i), splat_v3(0.0f)));
                    }
                }
            }
        }
        if (dq) {
            /* sum[d][i] += sum over j of k * weight_2 */
            if (__builtin_expect(((i0 + query_start + 1) < j1) && !finite_v3(k + j0 * k_row, k_row, j1 - j0, 64),
                0)) { /* infinity and NaN affect only queries that see them */
                dot1_v3(round_up(i1 - i0, 8), j1 - j0, k + j0 * k_row, k_row, weight_2, sum, sum_compensation);
                for (int64_t j = 0; j < j1 - j0; j++) {
                    mask_v3 in_region[8] = {0};
                    if (finite_v3(k + j0 * k_row + j * k_row, 1, 64, 1)) continue;
                    for (int64_t i = 0; i < i1 - i0; i += 8) {
                        in_region[i / 8] = __builtin_convertvector((j0 + j) <= ((i0 + i + lane_v3) + query_start),
                            mask_v3);
                    }
                    add_seen_v3(64, sum, 80, k + j0 * k_row + j * k_row, 1, weight_2 + j * 80, in_region, i1 - i0);
                }
            } else
                dot2_v3(round_up(i1 - i0, 8), j1 - j0, k + j0 * k_row, k_row, weight_2, sum, sum_compensation);
        }
    }
    if (dq) {
        /* sum = sum */
        for (int64_t d = 0; d < 64; d++) {
            for (int64_t i = 0; i < i1 - i0; i += 8) {
                store_v3(sum + d * 80 + i, load_v3(sum + d * 80 + i));
            }
        }
    }
    if (dlog_decay_q) {
        /* row_sum = row_sum */
        for (int64_t i = 0; i < i1 - i0; i += 8) {
            store_v3(row_sum + i, load_v3(row_sum + i));
        }
    }
    if (dq) {
        /* dq = sum, transposed back */
        transpose_out_v3(sum, 80, 64, i1 - i0, dq + i0 * dq_row, dq_row, 8);
    }
    if (dlog_decay_q) {
        /* dlog_decay_q = row_sum */
        for (int64_t i = 0; i < i1 - i0; i++)
            dlog_decay_q[(i0 + i) * dlog_decay_q_row] = row_sum[i];
    }
}

/* Computes task number `task`: one tile of keys of one head. `work` is this thread's workspace. */
TARGET_v3 static void power_gated_dk_dv_v3(const struct call *call, int64_t task, unsigned char *work)
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
    const int64_t log_decay_k_low_head = call->log_decay_k_low_at.head;
    const float *const log_decay_k = call->log_decay_k + b * call->log_decay_k_at.batch + g * members *
        call->log_decay_k_at.head;
    const int64_t log_decay_k_head = call->log_decay_k_at.head;
    const float *const dout = call->dout + b * call->p.dout.batch + g * members * call->p.dout.head;
    const int64_t dout_row = call->p.dout.row;
    const int64_t dout_head = call->p.dout.head;
    const float *const saved_0 = call->saved_0 + (b * call->p.heads + g * members) * call->p.n_q;
    const int64_t saved_0_head = call->p.n_q;
    const float *const row_0 = call->row_0 + (b * call->p.heads + g * members) * call->p.n_q;
    const int64_t row_0_head = call->p.n_q;
    float *const score = (float *)(void *)(work + 0); /* [i: 288, j: 64 of 80] */
    float *const score_2 = (float *)(void *)(work + 92160); /* [i: 288, j: 64 of 80] */
    float *const weight = (float *)(void *)(work + 184320); /* [i: 288, j: 64 of 80] */
    float *const sum = (float *)(void *)(work + 276480); /* [e: 64, j: 64 of 80] */
    float *const sum_compensation = (float *)(void *)(work + 296960); /* [e: 64, j: 64 of 80] */
    float *const sum_2 = (float *)(void *)(work + 317440); /* [d: 64, j: 64 of 80] */
    float *const sum_2_compensation = (float *)(void *)(work + 337920); /* [d: 64, j: 64 of 80] */
    float *const dk = call->dk ? call->dk + b * call->p.dk.batch + g * call->p.dk.head : NULL;
    const int64_t dk_row = call->p.dk.row;
    float *const dv = call->dv ? call->dv + b * call->p.dv.batch + g * call->p.dv.head : NULL;
    const int64_t dv_row = call->p.dv.row;
    float *const k_tile = (float *)(void *)(work + 358400); /* [d: 64, j: 64 of 80] */
    float *const v_tile = (float *)(void *)(work + 378880); /* [e: 64, j: 64 of 80] */
    float *const log_decay_k_tile = (float *)(void *)(work + 399360); /* [j: 64] */
    float *const log_decay_k_low_tile = (float *)(void *)(work + 399616); /* [j: 64] */
    int64_t results = j1 - j0; /* rows of dk to prefetch during the first product */
    /* k_tile = k, with zeros beyond the last row */
    transpose_padded_v3(k + j0 * k_row, k_row, j1 - j0, 64, k_tile, 80, 8);
    if (dk) {
        /* v_tile = v, with zeros beyond the last row */
        transpose_padded_v3(v + j0 * v_row, v_row, j1 - j0, 64, v_tile, 80, 8);
    }
    if (dv) {
        /* sum = 0.0f; sum_compensation = 0.0f */
        for (int64_t e = 0; e < 64; e++) {
            for (int64_t j = 0; j < j1 - j0; j += 8) {
                store_v3(sum + e * 80 + j, splat_v3(0.0f));
                store_v3(sum_compensation + e * 80 + j, splat_v3(0.0f));
            }
        }
    }
    if (dk) {
        /* sum_2 = 0.0f; sum_2_compensation = 0.0f */
        for (int64_t d = 0; d < 64; d++) {
            for (int64_t j = 0; j < j1 - j0; j += 8) {
                store_v3(sum_2 + d * 80 + j, splat_v3(0.0f));
                store_v3(sum_2_compensation + d * 80 + j, splat_v3(0.0f));
            }
        }
    }
    for (int64_t m = 0; m < members; m++) {
        /* log_decay_k_tile = log_decay_k, with zeros beyond the last row */
        for (int64_t j = 0; j < round_up(j1 - j0, 8); j++)
            log_decay_k_tile[j] = j < j1 - j0 ? log_decay_k[m * log_decay_k_head + (j0 + j)] : 0;
        /* log_decay_k_low_tile = log_decay_k_low, with zeros beyond the last row */
        for (int64_t j = 0; j < round_up(j1 - j0, 8); j++)
            log_decay_k_low_tile[j] = j < j1 - j0 ? log_decay_k_low[m * log_decay_k_low_head + (j0 + j)] : 0;
        for (int64_t i0 = max(0, j0 - query_start), i_end = n_q; i0 < i_end; i0 += 288) {
            const int64_t i1 = min(i0 + 288, i_end);
            /* score[i][j] = sum over d of q * k_tile */
            dot0_v3(round_up(j1 - j0, 8), i1 - i0, q + m * q_head + i0 * q_row, q_row, k_tile, score,
                dout + m * dout_head + i0 * dout_row, dout_row, dk + j0 * dk_row, dk_row, results);
            results = 0;
            if (dk) {
                /* score_2[i][j] = sum over e of dout * v_tile */
                dot0_v3(round_up(j1 - j0, 8), i1 - i0, dout + m * dout_head + i0 * dout_row, dout_row, v_tile, score_2,
                    q + m * q_head + i0 * q_row, q_row, dk + j0 * dk_row, dk_row, results);
                results = 0;
            }
            if (dv) {
                /* weight = (((score * 0.125f) * (score * 0.125f)) * exp2(((log_decay_q - log_decay_k_tile) +
                   (log_decay_q_low - log_decay_k_low_ti ... */
                for (int64_t j = 0; j < j1 - j0; j += 8) {
                    const vec_v3 log_decay_k_tile_1 = load_v3(log_decay_k_tile + j);
                    const vec_v3 log_decay_k_low_tile_2 = load_v3(log_decay_k_low_tile + j);
                    for (int64_t i = 0; i < i1 - i0; i++) {
                        const vec_v3 t_0 = load_v3(score + i * 80 + j) * 0.125f;
                        store_v3(weight + i * 80 + j, ((t_0 * t_0) * exp2_v3((((log_decay_q[m * log_decay_q_head + (i0 +
                            i)]) - log_decay_k_tile_1) + ((log_decay_q_low[m * log_decay_q_low_head + (i0 + i)]) -
                            log_decay_k_low_tile_2)) * 1.442695f)) * (saved_0[m * saved_0_head + (i0 + i)]));
                    }
                }
            }
            if (i0 < (j1 - query_start - 1)) { /* the tile is partly outside the mask */
                if (dv) {
                    /* weight = select(j <= (i + query_start), weight, 0.0f) */
                    for (int64_t j = 0; j < j1 - j0; j += 8) {
                        const ints_v3 t_3 = j0 + j + lane_v3;
                        for (int64_t i = 0; i < i1 - i0; i++) {
                            store_v3(weight + i * 80 + j, pick_v3(__builtin_convertvector(t_3 <= ((i0 + i) +
                                query_start), mask_v3), load_v3(weight + i * 80 + j), splat_v3(0.0f)));
                        }
                    }
                }
            }
            if (dv) {
                /* sum[e][j] += sum over i of dout * weight */
                if (__builtin_expect((i0 < (j1 - query_start - 1)) && !finite_v3(dout + m * dout_head + i0 * dout_row,
                    dout_row, i1 - i0, 64), 0)) { /* infinity and NaN affect only queries that see them */
                    dot1_v3(round_up(j1 - j0, 8), i1 - i0, dout + m * dout_head + i0 * dout_row, dout_row, weight, sum,
                        sum_compensation);
                    for (int64_t i = 0; i < i1 - i0; i++) {
                        mask_v3 in_region[8] = {0};
                        if (finite_v3(dout + m * dout_head + i0 * dout_row + i * dout_row, 1, 64, 1)) continue;
                        const int64_t t_4 = (i0 + i) + query_start;
                        for (int64_t j = 0; j < j1 - j0; j += 8) {
                            in_region[j / 8] = __builtin_convertvector((j0 + j + lane_v3) <= t_4, mask_v3);
                        }
                        add_seen_v3(64, sum, 80, dout + m * dout_head + i0 * dout_row + i * dout_row, 1,
                            weight + i * 80, in_region, j1 - j0);
                    }
                } else
                    dot2_v3(round_up(j1 - j0, 8), i1 - i0, dout + m * dout_head + i0 * dout_row, dout_row, weight, sum,
                        sum_compensation);
            }
            if (dk) {
                /* score_2 = ((score_2 * saved_0) + row_0) * ((score * exp2(((log_decay_q - log_decay_k_tile) +
                   (log_decay_q_low - log_decay_k_low_ ... */
                for (int64_t j = 0; j < j1 - j0; j += 8) {
                    const vec_v3 log_decay_k_tile_5 = load_v3(log_decay_k_tile + j);
                    const vec_v3 log_decay_k_low_tile_6 = load_v3(log_decay_k_low_tile + j);
                    for (int64_t i = 0; i < i1 - i0; i++) {
                        store_v3(score_2 + i * 80 + j, ((load_v3(score_2 + i * 80 + j) * (saved_0[m * saved_0_head + (i0
                            + i)])) + (row_0[m * row_0_head + (i0 + i)])) * ((load_v3(score + i * 80 + j) *
                            exp2_v3((((log_decay_q[m * log_decay_q_head + (i0 + i)]) - log_decay_k_tile_5) +
                            ((log_decay_q_low[m * log_decay_q_low_head + (i0 + i)]) - log_decay_k_low_tile_6)) *
                            1.442695f)) * 0.03125f));
                    }
                }
            }
            if (i0 < (j1 - query_start - 1)) { /* the tile is partly outside the mask */
                if (dk) {
                    /* score_2 = select(j <= (i + query_start), score_2, 0.0f) */
                    for (int64_t j = 0; j < j1 - j0; j += 8) {
                        const ints_v3 t_7 = j0 + j + lane_v3;
                        for (int64_t i = 0; i < i1 - i0; i++) {
                            store_v3(score_2 + i * 80 + j, pick_v3(__builtin_convertvector(t_7 <= ((i0 + i) +
                                query_start), mask_v3), load_v3(score_2 + i * 80 + j), splat_v3(0.0f)));
                        }
                    }
                }
            }
            if (dk) {
                /* sum_2[d][j] += sum over i of q * score_2 */
                if (__builtin_expect((i0 < (j1 - query_start - 1)) && !finite_v3(q + m * q_head + i0 * q_row, q_row,
                    i1 - i0, 64), 0)) { /* infinity and NaN affect only queries that see them */
                    dot1_v3(round_up(j1 - j0, 8), i1 - i0, q + m * q_head + i0 * q_row, q_row, score_2, sum_2,
                        sum_2_compensation);
                    for (int64_t i = 0; i < i1 - i0; i++) {
                        mask_v3 in_region[8] = {0};
                        if (finite_v3(q + m * q_head + i0 * q_row + i * q_row, 1, 64, 1)) continue;
                        const int64_t t_8 = (i0 + i) + query_start;
                        for (int64_t j = 0; j < j1 - j0; j += 8) {
                            in_region[j / 8] = __builtin_convertvector((j0 + j + lane_v3) <= t_8, mask_v3);
                        }
                        add_seen_v3(64, sum_2, 80, q + m * q_head + i0 * q_row + i * q_row, 1, score_2 + i * 80,
                            in_region, j1 - j0);
                    }
                } else
                    dot2_v3(round_up(j1 - j0, 8), i1 - i0, q + m * q_head + i0 * q_row, q_row, score_2, sum_2,
                        sum_2_compensation);
            }
        }
    }
    if (dk) {
        /* sum_2 = sum_2 */
        for (int64_t d = 0; d < 64; d++) {
            for (int64_t j = 0; j < j1 - j0; j += 8) {
                store_v3(sum_2 + d * 80 + j, load_v3(sum_2 + d * 80 + j));
            }
        }
    }
    if (dv) {
        /* sum = sum */
        for (int64_t e = 0; e < 64; e++) {
            for (int64_t j = 0; j < j1 - j0; j += 8) {
                store_v3(sum + e * 80 + j, load_v3(sum + e * 80 + j));
            }
        }
    }
    if (dk) {
        /* dk = sum_2, transposed back */
        transpose_out_v3(sum_2, 80, 64, j1 - j0, dk + j0 * dk_row, dk_row, 8);
    }
    if (dv) {
        /* dv = sum, transposed back */
        transpose_out_v3(sum, 80, 64, j1 - j0, dv + j0 * dv_row, dv_row, 8);
    }
}

/* Computes task number `task`: one tile of keys of one head. `work` is this thread's workspace. */
TARGET_v3 static void power_gated_dlog_decay_k_v3(const struct call *call, int64_t task, unsigned char *work)
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
    const float *const q = call->q + b * call->p.q.batch + (g / call->sharing * members + m) * call->p.q.head;
    const int64_t q_row = call->p.q.row;
    const float *const k = call->k + b * call->p.k.batch + g / call->sharing * call->p.k.head;
    const int64_t k_row = call->p.k.row;
    const float *const v = call->v + b * call->p.v.batch + g * call->p.v.head;
    const int64_t v_row = call->p.v.row;
    const float *const log_decay_q_low = call->log_decay_q_low + b * call->log_decay_q_low_at.batch + (g * members + m)
        * call->log_decay_q_low_at.head;
    const float *const log_decay_q = call->log_decay_q + b * call->log_decay_q_at.batch + (g * members + m) *
        call->log_decay_q_at.head;
    const float *const log_decay_k_low = call->log_decay_k_low + b * call->log_decay_k_low_at.batch + (g * members + m)
        * call->log_decay_k_low_at.head;
    const float *const log_decay_k = call->log_decay_k + b * call->log_decay_k_at.batch + (g * members + m) *
        call->log_decay_k_at.head;
    const float *const dout = call->dout + b * call->p.dout.batch + (g * members + m) * call->p.dout.head;
    const int64_t dout_row = call->p.dout.row;
    const float *const saved_0 = call->saved_0 + (b * call->p.heads + (g * members + m)) * call->p.n_q;
    const float *const row_0 = call->row_0 + (b * call->p.heads + (g * members + m)) * call->p.n_q;
    float *const score = (float *)(void *)(work + 0); /* [i: 288, j: 64 of 80] */
    float *const score_2 = (float *)(void *)(work + 92160); /* [i: 288, j: 64 of 80] */
    float *const row_sum = (float *)(void *)(work + 184320); /* [j: 64] */
    float *const row_sum_compensation = (float *)(void *)(work + 184576); /* [j: 64] */
    float *const dlog_decay_k = call->dlog_decay_k ? call->dlog_decay_k + b * call->dlog_decay_k_at.batch + (g * members
        + m) * call->dlog_decay_k_at.head : NULL;
    float *const k_tile = (float *)(void *)(work + 184832); /* [d: 64, j: 64 of 80] */
    float *const v_tile = (float *)(void *)(work + 205312); /* [e: 64, j: 64 of 80] */
    float *const log_decay_k_tile = (float *)(void *)(work + 225792); /* [j: 64] */
    float *const log_decay_k_low_tile = (float *)(void *)(work + 226048); /* [j: 64] */
    /* k_tile = k, with zeros beyond the last row */
    transpose_padded_v3(k + j0 * k_row, k_row, j1 - j0, 64, k_tile, 80, 8);
    /* v_tile = v, with zeros beyond the last row */
    transpose_padded_v3(v + j0 * v_row, v_row, j1 - j0, 64, v_tile, 80, 8);
    /* log_decay_k_tile = log_decay_k, with zeros beyond the last row */
    for (int64_t j = 0; j < round_up(j1 - j0, 8); j++)
        log_decay_k_tile[j] = j < j1 - j0 ? log_decay_k[(j0 + j)] : 0;
    /* log_decay_k_low_tile = log_decay_k_low, with zeros beyond the last row */
    for (int64_t j = 0; j < round_up(j1 - j0, 8); j++)
        log_decay_k_low_tile[j] = j < j1 - j0 ? log_decay_k_low[(j0 + j)] : 0;
    /* k_tile = k_tile * 0.125f */
    for (int64_t d = 0; d < 64; d++) {
        for (int64_t j = 0; j < j1 - j0; j += 8) {
            store_v3(k_tile + d * 80 + j, load_v3(k_tile + d * 80 + j) * 0.125f);
        }
    }
    /* row_sum = 0.0f; row_sum_compensation = 0.0f */
    for (int64_t j = 0; j < j1 - j0; j += 8) {
        store_v3(row_sum + j, splat_v3(0.0f));
        store_v3(row_sum_compensation + j, splat_v3(0.0f));
    }
    for (int64_t i0 = max(0, j0 - query_start), i_end = n_q; i0 < i_end; i0 += 288) {
        const int64_t i1 = min(i0 + 288, i_end);
        /* score[i][j] = sum over d of q * k_tile */
        dot8_v3(round_up(j1 - j0, 8), i1 - i0, q + i0 * q_row, q_row, k_tile, score);
        /* score_2[i][j] = sum over e of dout * v_tile */
        dot8_v3(round_up(j1 - j0, 8), i1 - i0, dout + i0 * dout_row, dout_row, v_tile, score_2);
        if (i0 < (j1 - query_start - 1)) { /* the tile is partly outside the mask */
            /* score_2 = select(j <= (i + query_start), ((score_2 * saved_0) + row_0) * neg((score * score) *
               exp2(((log_decay_q - log_decay_k_ ... */
            for (int64_t j = 0; j < j1 - j0; j += 8) {
                const ints_v3 t_0 = j0 + j + lane_v3;
                const vec_v3 log_decay_k_tile_4 = load_v3(log_decay_k_tile + j);
                const vec_v3 log_decay_k_low_tile_5 = load_v3(log_decay_k_low_tile + j);
                vec_v3 row_sum_in = (vec_v3){0};
                for (int64_t i = 0; i < i1 - i0; i++) {
                    const vec_v3 score_2_1 = load_v3(score_2 + i * 80 + j);
                    const vec_v3 score_3 = load_v3(score + i * 80 + j);
                    const vec_v3 score_2_new6 = pick_v3(__builtin_convertvector(t_0 <= ((i0 + i) + query_start),
                        mask_v3), ((score_2_1 * saved_0[(i0 + i)]) + row_0[(i0 + i)]) * (-((score_3 * score_3) *
                        exp2_v3(((log_decay_q[(i0 + i)] - log_decay_k_tile_4) + (log_decay_q_low[(i0 + i)] -
                        log_decay_k_low_tile_5)) * 1.442695f))), splat_v3(0.0f));
                    store_v3(score_2 + i * 80 + j, score_2_new6);
                    row_sum_in += score_2_new6;
                }
                add_v3(row_sum + j, row_sum_compensation + j, row_sum_in, splat_v3(1));
            }
        }
        if (!(i0 < (j1 - query_start - 1))) { /* the tile is wholly inside the mask */
            /* score_2 = ((score_2 * saved_0) + row_0) * neg((score * score) * exp2(((log_decay_q - log_decay_k_tile) +
               (log_decay_q_low - log_ ... */
            for (int64_t j = 0; j < j1 - j0; j += 8) {
                const vec_v3 log_decay_k_tile_9 = load_v3(log_decay_k_tile + j);
                const vec_v3 log_decay_k_low_tile_10 = load_v3(log_decay_k_low_tile + j);
                vec_v3 row_sum_in = (vec_v3){0};
                for (int64_t i = 0; i < i1 - i0; i++) {
                    const vec_v3 score_2_7 = load_v3(score_2 + i * 80 + j);
                    const vec_v3 score_8 = load_v3(score + i * 80 + j);
                    const vec_v3 score_2_new11 = ((score_2_7 * saved_0[(i0 + i)]) + row_0[(i0 + i)]) * (-((score_8 *
                        score_8) * exp2_v3(((log_decay_q[(i0 + i)] - log_decay_k_tile_9) + (log_decay_q_low[(i0 + i)] -
                        log_decay_k_low_tile_10)) * 1.442695f)));
                    store_v3(score_2 + i * 80 + j, score_2_new11);
                    row_sum_in += score_2_new11;
                }
                add_v3(row_sum + j, row_sum_compensation + j, row_sum_in, splat_v3(1));
            }
        }
    }
    /* row_sum = row_sum */
    for (int64_t j = 0; j < j1 - j0; j += 8) {
        store_v3(row_sum + j, load_v3(row_sum + j));
    }
    if (dlog_decay_k) {
        /* dlog_decay_k = row_sum */
        for (int64_t j = 0; j < j1 - j0; j++)
            dlog_decay_k[(j0 + j)] = row_sum[j];
    }
}

/* Computes task number `task`: one tile of keys of one head. `work` is this thread's workspace. */
TARGET_v3 static void power_gated_terms_dgate_v3(const struct call *call, int64_t task, unsigned char *work)
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

/* Initialises the states: they contain no keys yet. */
TARGET_v3 APART void power_gated_linear_saved_begin_v3(const struct call *call, int64_t task, const struct part *part,
    int64_t iteration)
{
    (void)call;
    (void)task;
    const int64_t f0 = iteration * 32, f1 = min(f0 + 32, 2080);
    float *const carried_sum = (float *)(void *)(part->shared + 0); /* [f: 2080] */
    float *const carried_sum_compensation = (float *)(void *)(part->shared + 8320); /* [f: 2080] */
    /* carried_sum = 0.0f; carried_sum_compensation = 0.0f */
    for (int64_t f = f0; f < f1; f += 8) {
        store_v3(carried_sum + f, splat_v3(0.0f));
        store_v3(carried_sum_compensation + f, splat_v3(0.0f));
    }
}

/* Sums the keys of a chunk, from zero, into its slot. */
TARGET_v3 APART void power_gated_linear_saved_keys_v3(const struct call *call, int64_t task, const struct part *part,
    int64_t iteration)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_k = call->p.n_k;
    const int64_t chunk = iteration;
    const int64_t chunk0 = part->chunk0;
    const int64_t m = task % members;
    const int64_t g = task / members % kv_heads;
    const int64_t b = task / members / kv_heads;
    const float *const k = call->k + b * call->p.k.batch + g / call->sharing * call->p.k.head;
    const int64_t k_row = call->p.k.row;
    const float *const log_decay_k_low = call->log_decay_k_low + b * call->log_decay_k_low_at.batch + (g * members + m)
        * call->log_decay_k_low_at.head;
    const float *const log_decay_k = call->log_decay_k + b * call->log_decay_k_at.batch + (g * members + m) *
        call->log_decay_k_at.head;
    const float *const log_decay_chunk_low = call->log_decay_chunk_low + b * call->log_decay_chunk_low_at.batch + (g *
        members + m) * call->log_decay_chunk_low_at.head;
    const float *const log_decay_chunk = call->log_decay_chunk + b * call->log_decay_chunk_at.batch + (g * members + m)
        * call->log_decay_chunk_at.head;
    float *const key_features = (float *)(void *)(part->work + 0); /* [f: 192, j: 64 of 80] */
    float *const state_sum = (float *)(void *)(part->slots + 0); /* [chunk, f: 2080] */
    float *const k_tile = (float *)(void *)(part->work + 61440); /* [d: 64, j: 64 of 80] */
    float *const log_decay_k_tile = (float *)(void *)(part->work + 81920); /* [j: 64] */
    float *const log_decay_k_low_tile = (float *)(void *)(part->work + 82176); /* [j: 64] */
    /* state_sum = 0.0f */
    for (int64_t f = 0; f < 2080; f += 8) {
        store_v3(state_sum + (chunk - chunk0) * 2080 + f, splat_v3(0.0f));
    }
    for (int64_t j0 = chunk * 128, j_end = min(n_k, (chunk + 1) * 128); j0 < j_end; j0 += 64) {
        const int64_t j1 = min(j0 + 64, j_end);
        /* k_tile = k, with zeros beyond the last row */
        transpose_padded_v3(k + j0 * k_row, k_row, j1 - j0, 64, k_tile, 80, 64);
        /* log_decay_k_tile = log_decay_k, with zeros beyond the last row */
        for (int64_t j = 0; j < round_up(j1 - j0, 8); j++)
            log_decay_k_tile[j] = j < j1 - j0 ? log_decay_k[(j0 + j)] : 0;
        /* log_decay_k_low_tile = log_decay_k_low, with zeros beyond the last row */
        for (int64_t j = 0; j < round_up(j1 - j0, 8); j++)
            log_decay_k_low_tile[j] = j < j1 - j0 ? log_decay_k_low[(j0 + j)] : 0;
        for (int64_t f0 = 0, f_end = 2080; f0 < f_end; f0 += 192) {
            const int64_t f1 = min(f0 + 192, f_end);
            /* key_features = (k_tile * k_tile) * exp2(((log_decay_chunk - log_decay_k_tile) + (log_decay_chunk_low -
               log_decay_k_low_tile)) *  ... */
            const float log_decay_chunk_0 = log_decay_chunk[max(min(((chunk + 1) * 128) - 1, n_k - 1), 0)];
            const float log_decay_chunk_low_1 = log_decay_chunk_low[max(min(((chunk + 1) * 128) - 1, n_k - 1), 0)];
            for (int64_t j = 0; j < j1 - j0; j += 8) {
                const vec_v3 t_2 = exp2_v3(((log_decay_chunk_0 - load_v3(log_decay_k_tile + j)) + (log_decay_chunk_low_1
                    - load_v3(log_decay_k_low_tile + j))) * 1.442695f);
                for (int64_t f = f0; f < f1; f++) {
                    store_v3(key_features + (f - f0) * 80 + j, (load_v3(k_tile + (f % 64) * 80 + j) * load_v3(k_tile +
                        (((f % 64) + (f / 64)) % 64) * 80 + j)) * t_2);
                }
            }
            /* state_sum += key_features */
            for (int64_t f = f0; f < f1; f++) {
                vec_v3 lane_sums = splat_v3(0);
                for (int64_t j = 0; j < j1 - j0; j += 8) {
                    const vec_v3 term = load_v3(key_features + (f - f0) * 80 + j);
                    lane_sums += j + 8 <= j1 - j0 ? term : pick_v3(__builtin_convertvector(j + lane_v3 < j1 - j0,
                        mask_v3), term, splat_v3(0));
                }
                const float total = lane_sum_v3(lane_sums);
                state_sum[(chunk - chunk0) * 2080 + f] += total;
            }
        }
    }
}

/* Folds the slots of the current chunks, in order, for some elements of the states. */
TARGET_v3 APART void power_gated_linear_saved_fold_v3(const struct call *call, int64_t task, const struct part *part,
    int64_t iteration)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_k = call->p.n_k;
    const int64_t f0 = iteration * 32, f1 = min(f0 + 32, 2080);
    const int64_t chunk0 = part->chunk0;
    const int64_t chunk1 = part->chunk1;
    const int64_t m = task % members;
    const int64_t g = task / members % kv_heads;
    const int64_t b = task / members / kv_heads;
    const float *const log_decay_chunk_low = call->log_decay_chunk_low + b * call->log_decay_chunk_low_at.batch + (g *
        members + m) * call->log_decay_chunk_low_at.head;
    const float *const log_decay_chunk = call->log_decay_chunk + b * call->log_decay_chunk_at.batch + (g * members + m)
        * call->log_decay_chunk_at.head;
    float *const state_sum = (float *)(void *)(part->slots + 0); /* [chunk, f: 2080] */
    float *const carried_sum = (float *)(void *)(part->shared + 0); /* [f: 2080] */
    float *const carried_sum_compensation = (float *)(void *)(part->shared + 8320); /* [f: 2080] */
    for (int64_t chunk = chunk0; chunk < chunk1; chunk++) {
        /* kept_share = select(exp2(((log_decay_chunk - log_decay_chunk) + (log_decay_chunk_low - log_decay_chunk_low))
           * 1.442695f) < 0.5f ... */
        const float t_3 = (log_decay_chunk[max(min(((chunk + 1) * 128) - 1, n_k - 1),
            0)] - log_decay_chunk[max(min((chunk * 128) - 1, n_k - 1),
            0)]) + (log_decay_chunk_low[max(min(((chunk + 1) * 128) - 1, n_k - 1),
            0)] - log_decay_chunk_low[max(min((chunk * 128) - 1, n_k - 1), 0)]);
        const float t_4 = exp2f(t_3 * 1.442695f);
        const int t_5 = t_4 < 0.5f;
        const float t_6 = t_5 ? t_4 : 1.0f;
        const float t_8 = t_5 ? 0.0f : (-expm1f(t_3));
        for (int64_t f = f0; f < f1; f += 8) {
            const vec_v3 kept_share_new7 = splat_v3(t_6);
            const vec_v3 lost_share_new9 = splat_v3(t_8);
            const vec_v3 carried_sum_10 = load_v3(carried_sum + f);
            const vec_v3 before_sum_new11 = carried_sum_10;
            const vec_v3 carried_sum_new12 = carried_sum_10 * kept_share_new7;
            store_v3(carried_sum + f, carried_sum_new12);
            store_v3(carried_sum_compensation + f, load_v3(carried_sum_compensation + f) * kept_share_new7);
            add_v3(carried_sum + f, carried_sum_compensation + f, load_v3(state_sum + (chunk - chunk0) * 2080 + f) -
                (carried_sum_new12 * lost_share_new9), splat_v3(1));
            store_v3(state_sum + (chunk - chunk0) * 2080 + f, before_sum_new11);
        }
    }
}

/* Processes the queries of a chunk: reads the state before the chunk, and the keys in the chunk. */
TARGET_v3 APART void power_gated_linear_saved_queries_v3(const struct call *call, int64_t task, const struct part *part,
    int64_t iteration)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_q = call->p.n_q;
    const int64_t n_k = call->p.n_k;
    const int64_t chunk = iteration;
    const int64_t chunk0 = part->chunk0;
    const int64_t m = task % members;
    const int64_t g = task / members % kv_heads;
    const int64_t b = task / members / kv_heads;
    const int64_t query_start = call->p.query_start ? call->p.query_start[b] : n_k - n_q;
    const float *const q = call->q + b * call->p.q.batch + (g / call->sharing * members + m) * call->p.q.head;
    const int64_t q_row = call->p.q.row;
    const float *const k = call->k + b * call->p.k.batch + g / call->sharing * call->p.k.head;
    const int64_t k_row = call->p.k.row;
    const float *const log_decay_q_low = call->log_decay_q_low + b * call->log_decay_q_low_at.batch + (g * members + m)
        * call->log_decay_q_low_at.head;
    const float *const log_decay_q = call->log_decay_q + b * call->log_decay_q_at.batch + (g * members + m) *
        call->log_decay_q_at.head;
    const float *const log_decay_k_low = call->log_decay_k_low + b * call->log_decay_k_low_at.batch + (g * members + m)
        * call->log_decay_k_low_at.head;
    const float *const log_decay_k = call->log_decay_k + b * call->log_decay_k_at.batch + (g * members + m) *
        call->log_decay_k_at.head;
    const float *const log_decay_chunk_low = call->log_decay_chunk_low + b * call->log_decay_chunk_low_at.batch + (g *
        members + m) * call->log_decay_chunk_low_at.head;
    const float *const log_decay_chunk = call->log_decay_chunk + b * call->log_decay_chunk_at.batch + (g * members + m)
        * call->log_decay_chunk_at.head;
    float *const state_sum = (float *)(void *)(part->slots + 0); /* [chunk, f: 2080] */
    float *const query_features = (float *)(void *)(part->work + 0); /* [d: 64, i: 32] */
    float *const score = (float *)(void *)(part->work + 8192); /* [j: 64, i: 32] */
    float *const row_sum_from_state = (float *)(void *)(part->work + 16384); /* [i: 32] */
    float *const row_sum = (float *)(void *)(part->work + 16512); /* [i: 32] */
    float *const row_sum_compensation = (float *)(void *)(part->work + 16640); /* [i: 32] */
    float *const saved_0 = call->saved_0 + (b * call->p.heads + (g * members + m)) * call->p.n_q;
    float *const q_tile = (float *)(void *)(part->work + 8192); /* [d: 64, i: 32] */
    float *const log_decay_q_tile = (float *)(void *)(part->work + 16768); /* [i: 32] */
    float *const log_decay_q_low_tile = (float *)(void *)(part->work + 16896); /* [i: 32] */
    for (int64_t i0 = (chunk == 0) ? 0 : max(0, (chunk * 128) - query_start), i_end = min(n_q,
        ((chunk + 1) * 128) - query_start); i0 < i_end; i0 += 32) {
        const int64_t i1 = min(i0 + 32, i_end);
        /* q_tile = q, with zeros beyond the last row */
        transpose_padded_v3(q + i0 * q_row, q_row, i1 - i0, 64, q_tile, 32, 64);
        /* log_decay_q_tile = log_decay_q, with zeros beyond the last row */
        for (int64_t i = 0; i < round_up(i1 - i0, 8); i++)
            log_decay_q_tile[i] = i < i1 - i0 ? log_decay_q[(i0 + i)] : 0;
        /* log_decay_q_low_tile = log_decay_q_low, with zeros beyond the last row */
        for (int64_t i = 0; i < round_up(i1 - i0, 8); i++)
            log_decay_q_low_tile[i] = i < i1 - i0 ? log_decay_q_low[(i0 + i)] : 0;
        /* query_features = q_tile * 0.125f */
        for (int64_t d = 0; d < 64; d++) {
            for (int64_t i = 0; i < i1 - i0; i += 8) {
                store_v3(query_features + d * 32 + i, load_v3(q_tile + d * 32 + i) * 0.125f);
            }
        }
        /* row_sum_from_state = 0.0f */
        for (int64_t i = 0; i < i1 - i0; i += 8) {
            store_v3(row_sum_from_state + i, splat_v3(0.0f));
        }
        for (int64_t f0 = 0, f_end = 2080; f0 < f_end; f0 += 192) {
            const int64_t f1 = min(f0 + 192, f_end);
            /* query = (((q_tile * 0.125f) * (q_tile * 0.125f)) * select((f / 64) == 0, 1.0f,
               2.0f)) * select(chunk == 0, 1.0f, exp2(((log_deca ... */
            const int t_13 = chunk == 0;
            const float log_decay_chunk_14 = log_decay_chunk[max(min((chunk * 128) - 1, n_k - 1), 0)];
            const float log_decay_chunk_low_15 = log_decay_chunk_low[max(min((chunk * 128) - 1, n_k - 1), 0)];
            for (int64_t i = 0; i < i1 - i0; i += 8) {
                const vec_v3 t_16 = t_13 ? splat_v3(1.0f) : exp2_v3(((load_v3(log_decay_q_tile + i) -
                    log_decay_chunk_14) + (load_v3(log_decay_q_low_tile + i) - log_decay_chunk_low_15)) * 1.442695f);
                vec_v3 row_sum_from_state_in = (vec_v3){0};
                vec_v3 row_sum_from_state_in_whole = (vec_v3){0};
                for (int64_t f = f0; f < f1; f++) {
                    const vec_v3 query_new17 = (((load_v3(q_tile + (f % 64) * 32 + i) * 0.125f) * (load_v3(q_tile + (((f
                        % 64) + (f / 64)) % 64) * 32 + i) * 0.125f)) * (float)(((f / 64) == 0) ? 1.0 : 2.0)) * t_16;
                    row_sum_from_state_in += query_new17 * (state_sum[(chunk - chunk0) * 2080 + f]);
                    if (f % 192 == 191) {
                        row_sum_from_state_in_whole += row_sum_from_state_in;
                        row_sum_from_state_in = (vec_v3){0};
                    }
                }
                row_sum_from_state_in += row_sum_from_state_in_whole;
                store_v3(row_sum_from_state + i, load_v3(row_sum_from_state + i) + row_sum_from_state_in);
            }
        }
        /* row_sum = 0.0f; row_sum_compensation = 0.0f */
        for (int64_t i = 0; i < i1 - i0; i += 8) {
            store_v3(row_sum + i, splat_v3(0.0f));
            store_v3(row_sum_compensation + i, splat_v3(0.0f));
        }
        for (int64_t j0 = max(0, chunk * 128), j_end = min(n_k, i1 + query_start); j0 < j_end; j0 += 64) {
            const int64_t j1 = min(j0 + 64, j_end);
            /* score[j][i] = sum over d of k * query_features */
            dot10_v3(round_up(i1 - i0, 8), j1 - j0, k + j0 * k_row, k_row, query_features, score);
            if ((j0 < (chunk * 128)) || ((i0 + query_start + 1) < j1)) { /* the tile is partly outside the mask */
                /* score = select((j <= (i + query_start)) && ((chunk * 128) <= j),
                   (score * score) * exp2(((log_decay_q_tile - log_decay_k) + (log ... */
                for (int64_t i = 0; i < i1 - i0; i += 8) {
                    const ints_v3 t_18 = (i0 + i + lane_v3) + query_start;
                    const vec_v3 log_decay_q_tile_20 = load_v3(log_decay_q_tile + i);
                    const vec_v3 log_decay_q_low_tile_21 = load_v3(log_decay_q_low_tile + i);
                    vec_v3 row_sum_in = (vec_v3){0};
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        const vec_v3 score_19 = load_v3(score + j * 32 + i);
                        const vec_v3 score_new22 = pick_v3(__builtin_convertvector(((j0 + j) <= t_18) &
                            (-(int64_t)((chunk * 128) <= (j0 + j))), mask_v3),
                            (score_19 * score_19) * exp2_v3(((log_decay_q_tile_20 - log_decay_k[(j0 + j)]) +
                            (log_decay_q_low_tile_21 - log_decay_k_low[(j0 + j)])) * 1.442695f), splat_v3(0.0f));
                        store_v3(score + j * 32 + i, score_new22);
                        row_sum_in += score_new22;
                    }
                    add_v3(row_sum + i, row_sum_compensation + i, row_sum_in, splat_v3(1));
                }
            }
            if (!((j0 < (chunk * 128)) || ((i0 + query_start + 1) < j1))) { /* the tile is wholly inside the mask */
                /* score = (score * score) * exp2(((log_decay_q_tile - log_decay_k) + (log_decay_q_low_tile -
                   log_decay_k_low)) * 1.442695f); row_s ... */
                for (int64_t i = 0; i < i1 - i0; i += 8) {
                    const vec_v3 log_decay_q_tile_24 = load_v3(log_decay_q_tile + i);
                    const vec_v3 log_decay_q_low_tile_25 = load_v3(log_decay_q_low_tile + i);
                    vec_v3 row_sum_in = (vec_v3){0};
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        const vec_v3 score_23 = load_v3(score + j * 32 + i);
                        const vec_v3 score_new26 = (score_23 * score_23) * exp2_v3(((log_decay_q_tile_24 -
                            log_decay_k[(j0 + j)]) + (log_decay_q_low_tile_25 - log_decay_k_low[(j0 + j)])) *
                            1.442695f);
                        store_v3(score + j * 32 + i, score_new26);
                        row_sum_in += score_new26;
                    }
                    add_v3(row_sum + i, row_sum_compensation + i, row_sum_in, splat_v3(1));
                }
            }
        }
        /* row_sum = select(((row_sum + row_sum_from_state) + 1.0f) == 0.0f, 0.0f,
           1.0f / ((row_sum + row_sum_from_state) + 1.0f)) */
        for (int64_t i = 0; i < i1 - i0; i += 8) {
            const vec_v3 t_27 = (load_v3(row_sum + i) + load_v3(row_sum_from_state + i)) + 1.0f;
            store_v3(row_sum + i, pick_v3(t_27 == 0.0f, splat_v3(0.0f), 1.0f / t_27));
        }
        /* saved_0 = row_sum */
        for (int64_t i = 0; i < i1 - i0; i++)
            saved_0[(i0 + i)] = row_sum[i];
    }
}

/* Computes head number `task`. Each thread on the head calls this with its share, `part`. */
TARGET_v3 static void power_gated_linear_saved_v3(const struct call *call, int64_t task, struct part *part)
{
    const int64_t n_k = call->p.n_k;
    const int64_t chunks = n_k > 0 ? (n_k - 1) / 128 + 1 : 1;
    for (int64_t iteration = part->number; iteration < ((2080 + 31) / 32); iteration += part->threads)
        power_gated_linear_saved_begin_v3(call, task, part, iteration);
    synchronise(part);
    const int64_t first = 0;
    const int64_t length = segment_length(part, chunks - first);
    for (int64_t segment = part->number; first + segment * length < chunks; segment += part->threads) {
        part->chunk0 = first + segment * length;
        part->chunk1 = min(part->chunk0 + length, chunks);
        for (int64_t iteration = part->chunk0; iteration < part->chunk1; iteration++)
            power_gated_linear_saved_keys_v3(call, task, part, iteration);
        for (int64_t group = 0; group < 16; group++) {
            await_segment(part, group, segment);
            const int64_t end = (group + 1) * ((2080 + 31) / 32) / 16;
            for (int64_t iteration = group * ((2080 + 31) / 32) / 16; iteration < end; iteration++)
                power_gated_linear_saved_fold_v3(call, task, part, iteration);
            pass_segment(part, group, segment);
        }
        for (int64_t iteration = part->chunk0; iteration < part->chunk1; iteration++)
            power_gated_linear_saved_queries_v3(call, task, part, iteration);
    }
    part->segments += (max(chunks - first, 0) + length - 1) / length;
    synchronise(part);
}

/* Computes task number `task`: one tile of queries of one head. `work` is this thread's workspace. */
TARGET_v3 static void power_gated_linear_row_sums_v3(const struct call *call, int64_t task, unsigned char *work)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_q = call->p.n_q;
    const int64_t tiles = (n_q + 32 - 1) / 32, i0 = (tiles - 1 - task % tiles) * 32,
        i1 = min(i0 + 32, n_q);
    const int64_t m = task / tiles % members;
    const int64_t g = task / tiles / members % kv_heads;
    const int64_t b = task / tiles / members / kv_heads;
    const float *const out = call->out + b * call->p.out.batch + (g * members + m) * call->p.out.head;
    const int64_t out_row = call->p.out.row;
    const float *const dout = call->dout + b * call->p.dout.batch + (g * members + m) * call->p.dout.head;
    const int64_t dout_row = call->p.dout.row;
    const float *const saved_0 = call->saved_0 + (b * call->p.heads + (g * members + m)) * call->p.n_q;
    float *const query_sum = (float *)(void *)(work + 0); /* [i: 32] */
    float *const row_0 = call->row_0 + (b * call->p.heads + (g * members + m)) * call->p.n_q;
    float *const out_tile = (float *)(void *)(work + 128); /* [e: 64, i: 32] */
    float *const dout_tile = (float *)(void *)(work + 8320); /* [e: 64, i: 32] */
    float *const saved_0_tile = (float *)(void *)(work + 16512); /* [i: 32] */
    /* out_tile = out, with zeros beyond the last row */
    transpose_padded_v3(out + i0 * out_row, out_row, i1 - i0, 64, out_tile, 32, 8);
    /* dout_tile = dout, with zeros beyond the last row */
    transpose_padded_v3(dout + i0 * dout_row, dout_row, i1 - i0, 64, dout_tile, 32, 8);
    /* saved_0_tile = saved_0, with zeros beyond the last row */
    for (int64_t i = 0; i < round_up(i1 - i0, 8); i++)
        saved_0_tile[i] = i < i1 - i0 ? saved_0[(i0 + i)] : 0;
    /* query_sum = 0.0f */
    for (int64_t i = 0; i < i1 - i0; i += 8) {
        store_v3(query_sum + i, splat_v3(0.0f));
    }
    /* query_sum += dout_tile * neg(out_tile) */
    for (int64_t i_first = 0; i_first < i1 - i0; i_first += 16) {
        vec_v3 query_sum_in[2];
        UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += 8) {
            query_sum_in[vector] = (vec_v3){0};
        }
        for (int64_t e = 0; e < 64; e++) {
            UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += 8) {
                query_sum_in[vector] += load_v3(dout_tile + e * 32 + i) * (-load_v3(out_tile + e * 32 + i));
            }
        }
        UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += 8) {
            store_v3(query_sum + i, load_v3(query_sum + i) + query_sum_in[vector]);
        }
    }
    /* query_sum = query_sum * saved_0_tile */
    for (int64_t i = 0; i < i1 - i0; i += 8) {
        store_v3(query_sum + i, load_v3(query_sum + i) * load_v3(saved_0_tile + i));
    }
    /* row_0 = query_sum */
    for (int64_t i = 0; i < i1 - i0; i++)
        row_0[(i0 + i)] = query_sum[i];
}

/* Initialises the states: they contain no keys yet. */
TARGET_v3 APART void power_gated_linear_dq_dlog_decay_q_begin_v3(const struct call *call, int64_t task,
    const struct part *part, int64_t iteration)
{
    (void)call;
    (void)task;
    const int64_t f0 = iteration * 32, f1 = min(f0 + 32, 2080);
    float *const carried_sum = (float *)(void *)(part->shared + 0); /* [f: 2080] */
    float *const carried_sum_compensation = (float *)(void *)(part->shared + 540800); /* [f: 2080] */
    float *const carried = (float *)(void *)(part->shared + 8320); /* [f: 2080, e: 64] */
    float *const carried_compensation = (float *)(void *)(part->shared + 549120); /* [f: 2080, e: 64] */
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
TARGET_v3 APART void power_gated_linear_dq_dlog_decay_q_keys_v3(const struct call *call, int64_t task,
    const struct part *part, int64_t iteration)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_k = call->p.n_k;
    const int64_t chunk = iteration;
    const int64_t chunk0 = part->chunk0;
    const int64_t m = task % members;
    const int64_t g = task / members % kv_heads;
    const int64_t b = task / members / kv_heads;
    const float *const k = call->k + b * call->p.k.batch + g / call->sharing * call->p.k.head;
    const int64_t k_row = call->p.k.row;
    const float *const v = call->v + b * call->p.v.batch + g * call->p.v.head;
    const int64_t v_row = call->p.v.row;
    const float *const log_decay_k_low = call->log_decay_k_low + b * call->log_decay_k_low_at.batch + (g * members + m)
        * call->log_decay_k_low_at.head;
    const float *const log_decay_k = call->log_decay_k + b * call->log_decay_k_at.batch + (g * members + m) *
        call->log_decay_k_at.head;
    const float *const log_decay_chunk_low = call->log_decay_chunk_low + b * call->log_decay_chunk_low_at.batch + (g *
        members + m) * call->log_decay_chunk_low_at.head;
    const float *const log_decay_chunk = call->log_decay_chunk + b * call->log_decay_chunk_at.batch + (g * members + m)
        * call->log_decay_chunk_at.head;
    float *const key_features = (float *)(void *)(part->work + 0); /* [f: 192, j: 64 of 80] */
    float *const state_sum = (float *)(void *)(part->slots + 0); /* [chunk, f: 2080] */
    float *const state = (float *)(void *)(part->slots + 8320); /* [chunk, f: 2080, e: 64] */
    float *const k_tile = (float *)(void *)(part->work + 61440); /* [d: 64, j: 64 of 80] */
    float *const log_decay_k_tile = (float *)(void *)(part->work + 81920); /* [j: 64] */
    float *const log_decay_k_low_tile = (float *)(void *)(part->work + 82176); /* [j: 64] */
    /* state_sum = 0.0f */
    for (int64_t f = 0; f < 2080; f += 8) {
        store_v3(state_sum + (chunk - chunk0) * 135200 + f, splat_v3(0.0f));
    }
    /* state = 0.0f */
    for (int64_t f = 0; f < 2080; f++) {
        for (int64_t e_first = 0; e_first < 64; e_first += 16) {
            UNROLL for (int64_t vector = 0, e = e_first; vector < 2; vector++, e += 8) {
                store_v3(state + (chunk - chunk0) * 135200 + f * 64 + e, splat_v3(0.0f));
            }
        }
    }
    for (int64_t j0 = chunk * 128, j_end = min(n_k, (chunk + 1) * 128); j0 < j_end; j0 += 64) {
        const int64_t j1 = min(j0 + 64, j_end);
        /* k_tile = k, with zeros beyond the last row */
        transpose_padded_v3(k + j0 * k_row, k_row, j1 - j0, 64, k_tile, 80, 64);
        /* log_decay_k_tile = log_decay_k, with zeros beyond the last row */
        for (int64_t j = 0; j < round_up(j1 - j0, 8); j++)
            log_decay_k_tile[j] = j < j1 - j0 ? log_decay_k[(j0 + j)] : 0;
        /* log_decay_k_low_tile = log_decay_k_low, with zeros beyond the last row */
        for (int64_t j = 0; j < round_up(j1 - j0, 8); j++)
            log_decay_k_low_tile[j] = j < j1 - j0 ? log_decay_k_low[(j0 + j)] : 0;
        for (int64_t f0 = 0, f_end = 2080; f0 < f_end; f0 += 192) {
            const int64_t f1 = min(f0 + 192, f_end);
            /* key_features = (k_tile * k_tile) * exp2(((log_decay_chunk - log_decay_k_tile) + (log_decay_chunk_low -
               log_decay_k_low_tile)) *  ... */
            const float log_decay_chunk_0 = log_decay_chunk[max(min(((chunk + 1) * 128) - 1, n_k - 1), 0)];
            const float log_decay_chunk_low_1 = log_decay_chunk_low[max(min(((chunk + 1) * 128) - 1, n_k - 1), 0)];
            for (int64_t j = 0; j < j1 - j0; j += 8) {
                const vec_v3 t_2 = exp2_v3(((log_decay_chunk_0 - load_v3(log_decay_k_tile + j)) + (log_decay_chunk_low_1
                    - load_v3(log_decay_k_low_tile + j))) * 1.442695f);
                for (int64_t f = f0; f < f1; f++) {
                    store_v3(key_features + (f - f0) * 80 + j, (load_v3(k_tile + (f % 64) * 80 + j) * load_v3(k_tile +
                        (((f % 64) + (f / 64)) % 64) * 80 + j)) * t_2);
                }
            }
            /* state_sum += key_features */
            for (int64_t f = f0; f < f1; f++) {
                vec_v3 lane_sums = splat_v3(0);
                for (int64_t j = 0; j < j1 - j0; j += 8) {
                    const vec_v3 term = load_v3(key_features + (f - f0) * 80 + j);
                    lane_sums += j + 8 <= j1 - j0 ? term : pick_v3(__builtin_convertvector(j + lane_v3 < j1 - j0,
                        mask_v3), term, splat_v3(0));
                }
                const float total = lane_sum_v3(lane_sums);
                state_sum[(chunk - chunk0) * 135200 + f] += total;
            }
            /* state[f][e] += sum over j of key_features * v */
            dot3_v3(f1 - f0, j1 - j0, key_features, v + j0 * v_row, v_row, state + (chunk - chunk0) * 135200 + f0 * 64);
        }
    }
}

/* Folds the slots of the current chunks, in order, for some elements of the states. */
TARGET_v3 APART void power_gated_linear_dq_dlog_decay_q_fold_v3(const struct call *call, int64_t task,
    const struct part *part, int64_t iteration)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_k = call->p.n_k;
    const int64_t f0 = iteration * 32, f1 = min(f0 + 32, 2080);
    const int64_t chunk0 = part->chunk0;
    const int64_t chunk1 = part->chunk1;
    const int64_t m = task % members;
    const int64_t g = task / members % kv_heads;
    const int64_t b = task / members / kv_heads;
    const float *const log_decay_chunk_low = call->log_decay_chunk_low + b * call->log_decay_chunk_low_at.batch + (g *
        members + m) * call->log_decay_chunk_low_at.head;
    const float *const log_decay_chunk = call->log_decay_chunk + b * call->log_decay_chunk_at.batch + (g * members + m)
        * call->log_decay_chunk_at.head;
    float *const state_sum = (float *)(void *)(part->slots + 0); /* [chunk, f: 2080] */
    float *const state = (float *)(void *)(part->slots + 8320); /* [chunk, f: 2080, e: 64] */
    float *const carried_sum = (float *)(void *)(part->shared + 0); /* [f: 2080] */
    float *const carried_sum_compensation = (float *)(void *)(part->shared + 540800); /* [f: 2080] */
    float *const carried = (float *)(void *)(part->shared + 8320); /* [f: 2080, e: 64] */
    float *const carried_compensation = (float *)(void *)(part->shared + 549120); /* [f: 2080, e: 64] */
    float *const kept_share_2 = (float *)(void *)(part->work + 0); /* [f: 2080] */
    float *const lost_share_2 = (float *)(void *)(part->work + 8320); /* [f: 2080] */
    for (int64_t chunk = chunk0; chunk < chunk1; chunk++) {
        /* kept_share = select(exp2(((log_decay_chunk - log_decay_chunk) + (log_decay_chunk_low - log_decay_chunk_low))
           * 1.442695f) < 0.5f ... */
        const float t_3 = (log_decay_chunk[max(min(((chunk + 1) * 128) - 1, n_k - 1),
            0)] - log_decay_chunk[max(min((chunk * 128) - 1, n_k - 1),
            0)]) + (log_decay_chunk_low[max(min(((chunk + 1) * 128) - 1, n_k - 1),
            0)] - log_decay_chunk_low[max(min((chunk * 128) - 1, n_k - 1), 0)]);
        const float t_4 = exp2f(t_3 * 1.442695f);
        const int t_5 = t_4 < 0.5f;
        const float t_6 = t_5 ? t_4 : 1.0f;
        const float t_8 = t_5 ? 0.0f : (-expm1f(t_3));
        for (int64_t f = f0; f < f1; f += 8) {
            const vec_v3 kept_share_new7 = splat_v3(t_6);
            const vec_v3 lost_share_new9 = splat_v3(t_8);
            const vec_v3 carried_sum_10 = load_v3(carried_sum + f);
            const vec_v3 before_sum_new11 = carried_sum_10;
            const vec_v3 carried_sum_new12 = carried_sum_10 * kept_share_new7;
            store_v3(carried_sum + f, carried_sum_new12);
            store_v3(carried_sum_compensation + f, load_v3(carried_sum_compensation + f) * kept_share_new7);
            add_v3(carried_sum + f, carried_sum_compensation + f, load_v3(state_sum + (chunk - chunk0) * 135200 + f) -
                (carried_sum_new12 * lost_share_new9), splat_v3(1));
            store_v3(state_sum + (chunk - chunk0) * 135200 + f, before_sum_new11);
        }
        /* kept_share_2 = select(exp2(((log_decay_chunk - log_decay_chunk) + (log_decay_chunk_low -
           log_decay_chunk_low)) * 1.442695f) < 0. ... */
        const float t_13 = (log_decay_chunk[max(min(((chunk + 1) * 128) - 1, n_k - 1),
            0)] - log_decay_chunk[max(min((chunk * 128) - 1, n_k - 1),
            0)]) + (log_decay_chunk_low[max(min(((chunk + 1) * 128) - 1, n_k - 1),
            0)] - log_decay_chunk_low[max(min((chunk * 128) - 1, n_k - 1), 0)]);
        const float t_14 = exp2f(t_13 * 1.442695f);
        const int t_15 = t_14 < 0.5f;
        const float t_16 = t_15 ? t_14 : 1.0f;
        const float t_17 = t_15 ? 0.0f : (-expm1f(t_13));
        for (int64_t f = f0; f < f1; f += 8) {
            store_v3(kept_share_2 + f, splat_v3(t_16));
            store_v3(lost_share_2 + f, splat_v3(t_17));
        }
        /* before = carried; carried = carried * kept_share_2; carried_compensation = carried_compensation *
           kept_share_2; carried += state ... */
        for (int64_t f = f0; f < f1; f++) {
            for (int64_t e_first = 0; e_first < 64; e_first += 16) {
                UNROLL for (int64_t vector = 0, e = e_first; vector < 2; vector++, e += 8) {
                    const vec_v3 carried_18 = load_v3(carried + f * 64 + e);
                    const vec_v3 before_new19 = carried_18;
                    const float kept_share_2_20 = kept_share_2[f];
                    const vec_v3 carried_new21 = carried_18 * kept_share_2_20;
                    store_v3(carried + f * 64 + e, carried_new21);
                    store_v3(carried_compensation + f * 64 + e, load_v3(carried_compensation + f * 64 + e) *
                        kept_share_2_20);
                    add_v3(carried + f * 64 + e, carried_compensation + f * 64 + e,
                        load_v3(state + (chunk - chunk0) * 135200 + f * 64 + e) - (carried_new21 * lost_share_2[f]),
                        splat_v3(1));
                    store_v3(state + (chunk - chunk0) * 135200 + f * 64 + e, before_new19);
                }
            }
        }
    }
}

/* Processes the queries of a chunk: reads the state before the chunk, and the keys in the chunk. */
TARGET_v3 APART void power_gated_linear_dq_dlog_decay_q_queries_v3(const struct call *call, int64_t task,
    const struct part *part, int64_t iteration)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_q = call->p.n_q;
    const int64_t n_k = call->p.n_k;
    const int64_t chunk = iteration;
    const int64_t chunk0 = part->chunk0;
    const int64_t m = task % members;
    const int64_t g = task / members % kv_heads;
    const int64_t b = task / members / kv_heads;
    const int64_t query_start = call->p.query_start ? call->p.query_start[b] : n_k - n_q;
    const float *const q = call->q + b * call->p.q.batch + (g / call->sharing * members + m) * call->p.q.head;
    const int64_t q_row = call->p.q.row;
    const float *const k = call->k + b * call->p.k.batch + g / call->sharing * call->p.k.head;
    const int64_t k_row = call->p.k.row;
    const float *const v = call->v + b * call->p.v.batch + g * call->p.v.head;
    const int64_t v_row = call->p.v.row;
    const float *const log_decay_q_low = call->log_decay_q_low + b * call->log_decay_q_low_at.batch + (g * members + m)
        * call->log_decay_q_low_at.head;
    const float *const log_decay_q = call->log_decay_q + b * call->log_decay_q_at.batch + (g * members + m) *
        call->log_decay_q_at.head;
    const float *const log_decay_k_low = call->log_decay_k_low + b * call->log_decay_k_low_at.batch + (g * members + m)
        * call->log_decay_k_low_at.head;
    const float *const log_decay_k = call->log_decay_k + b * call->log_decay_k_at.batch + (g * members + m) *
        call->log_decay_k_at.head;
    const float *const log_decay_chunk_low = call->log_decay_chunk_low + b * call->log_decay_chunk_low_at.batch + (g *
        members + m) * call->log_decay_chunk_low_at.head;
    const float *const log_decay_chunk = call->log_decay_chunk + b * call->log_decay_chunk_at.batch + (g * members + m)
        * call->log_decay_chunk_at.head;
    const float *const dout = call->dout + b * call->p.dout.batch + (g * members + m) * call->p.dout.head;
    const int64_t dout_row = call->p.dout.row;
    const float *const saved_0 = call->saved_0 + (b * call->p.heads + (g * members + m)) * call->p.n_q;
    const float *const row_0 = call->row_0 + (b * call->p.heads + (g * members + m)) * call->p.n_q;
    float *const state_sum = (float *)(void *)(part->slots + 0); /* [chunk, f: 2080] */
    float *const state = (float *)(void *)(part->slots + 8320); /* [chunk, f: 2080, e: 64] */
    float *const score = (float *)(void *)(part->work + 0); /* [j: 64, i: 32] */
    float *const score_2 = (float *)(void *)(part->work + 8192); /* [j: 64, i: 32] */
    float *const sum_from_state = (float *)(void *)(part->work + 0); /* [f: 2080, i: 32] */
    float *const weight_2 = (float *)(void *)(part->work + 16384); /* [j: 64, i: 32] */
    float *const row_sum = (float *)(void *)(part->work + 266240); /* [i: 32] */
    float *const row_sum_compensation = (float *)(void *)(part->work + 266368); /* [i: 32] */
    float *const query_sum = (float *)(void *)(part->work + 266496); /* [d: 64, i: 32] */
    float *const query_sum_2 = (float *)(void *)(part->work + 274688); /* [d: 64, i: 32] */
    float *const query_sum_3 = (float *)(void *)(part->work + 282880); /* [i: 32] */
    float *const sum = (float *)(void *)(part->work + 24576); /* [d: 64, i: 32] */
    float *const sum_compensation = (float *)(void *)(part->work + 32768); /* [d: 64, i: 32] */
    float *const dq = call->dq ? call->dq + b * call->p.dq.batch + (g * members + m) * call->p.dq.head : NULL;
    const int64_t dq_row = call->p.dq.row;
    float *const dlog_decay_q = call->dlog_decay_q ? call->dlog_decay_q + b * call->dlog_decay_q_at.batch + (g * members
        + m) * call->dlog_decay_q_at.head : NULL;
    const int64_t dlog_decay_q_row = call->dlog_decay_q_at.row;
    float *const dout_tile = (float *)(void *)(part->work + 283008); /* [e: 64, i: 32] */
    float *const saved_0_tile = (float *)(void *)(part->work + 0); /* [i: 32] */
    float *const row_0_tile = (float *)(void *)(part->work + 291200); /* [i: 32] */
    float *const q_tile = (float *)(void *)(part->work + 291328); /* [d: 64, i: 32] */
    float *const log_decay_q_tile = (float *)(void *)(part->work + 299520); /* [i: 32] */
    float *const log_decay_q_low_tile = (float *)(void *)(part->work + 299648); /* [i: 32] */
    for (int64_t i0 = (chunk == 0) ? 0 : max(0, (chunk * 128) - query_start), i_end = min(n_q,
        ((chunk + 1) * 128) - query_start); i0 < i_end; i0 += 32) {
        const int64_t i1 = min(i0 + 32, i_end);
        /* dout_tile = dout, with zeros beyond the last row */
        transpose_padded_v3(dout + i0 * dout_row, dout_row, i1 - i0, 64, dout_tile, 32, 64);
        /* saved_0_tile = saved_0, with zeros beyond the last row */
        for (int64_t i = 0; i < round_up(i1 - i0, 8); i++)
            saved_0_tile[i] = i < i1 - i0 ? saved_0[(i0 + i)] : 0;
        /* row_0_tile = row_0, with zeros beyond the last row */
        for (int64_t i = 0; i < round_up(i1 - i0, 8); i++)
            row_0_tile[i] = i < i1 - i0 ? row_0[(i0 + i)] : 0;
        /* q_tile = q, with zeros beyond the last row */
        transpose_padded_v3(q + i0 * q_row, q_row, i1 - i0, 64, q_tile, 32, 64);
        /* log_decay_q_tile = log_decay_q, with zeros beyond the last row */
        for (int64_t i = 0; i < round_up(i1 - i0, 8); i++)
            log_decay_q_tile[i] = i < i1 - i0 ? log_decay_q[(i0 + i)] : 0;
        /* log_decay_q_low_tile = log_decay_q_low, with zeros beyond the last row */
        for (int64_t i = 0; i < round_up(i1 - i0, 8); i++)
            log_decay_q_low_tile[i] = i < i1 - i0 ? log_decay_q_low[(i0 + i)] : 0;
        /* dout_tile = dout_tile * saved_0_tile */
        for (int64_t i = 0; i < i1 - i0; i += 8) {
            const vec_v3 saved_0_tile_22 = load_v3(saved_0_tile + i);
            for (int64_t e = 0; e < 64; e++) {
                store_v3(dout_tile + e * 32 + i, load_v3(dout_tile + e * 32 + i) * saved_0_tile_22);
            }
        }
        /* sum_from_state[f][i] = sum over e of state * dout_tile */
        dot11_v3(round_up(i1 - i0, 8), state + (chunk - chunk0) * 135200, dout_tile, sum_from_state);
        /* sum_from_state = sum_from_state + (row_0_tile * state_sum) */
        for (int64_t i = 0; i < i1 - i0; i += 8) {
            const vec_v3 row_0_tile_23 = load_v3(row_0_tile + i);
            for (int64_t f = 0; f < 2080; f++) {
                store_v3(sum_from_state + f * 32 + i, load_v3(sum_from_state + f * 32 + i) + (row_0_tile_23 *
                    (state_sum[(chunk - chunk0) * 135200 + f])));
            }
        }
        if (dq) {
            /* query_sum = 0.0f */
            for (int64_t d = 0; d < 64; d++) {
                for (int64_t i = 0; i < i1 - i0; i += 8) {
                    store_v3(query_sum + d * 32 + i, splat_v3(0.0f));
                }
            }
            /* query_sum_2 = 0.0f */
            for (int64_t d = 0; d < 64; d++) {
                for (int64_t i = 0; i < i1 - i0; i += 8) {
                    store_v3(query_sum_2 + d * 32 + i, splat_v3(0.0f));
                }
            }
            /* query_sum += select(((t33 * 64) + d) < 2080, sum_from_state * (((q_tile * select(t33 == 0, 1.0f,
               2.0f)) * select(chunk == 0, 1.0 ... */
            const int t_25 = chunk == 0;
            const float log_decay_chunk_26 = log_decay_chunk[max(min((chunk * 128) - 1, n_k - 1), 0)];
            const float log_decay_chunk_low_27 = log_decay_chunk_low[max(min((chunk * 128) - 1, n_k - 1), 0)];
            for (int64_t i = 0; i < i1 - i0; i += 8) {
                const vec_v3 t_28 = t_25 ? splat_v3(1.0f) : exp2_v3(((load_v3(log_decay_q_tile + i) -
                    log_decay_chunk_26) + (load_v3(log_decay_q_low_tile + i) - log_decay_chunk_low_27)) * 1.442695f);
                for (int64_t d = 0; d < 64; d++) {
                    vec_v3 query_sum_in = (vec_v3){0};
                    vec_v3 query_sum_2_in = (vec_v3){0};
                    for (int64_t t33 = 0; t33 < 33; t33++) {
                        const double t_24 = (t33 == 0) ? 1.0 : 2.0;
                        query_sum_in += (((t33 * 64) + d) < 2080) ? load_v3(sum_from_state + min((t33 * 64) + d,
                            2079) * 32 + i) * (((load_v3(q_tile + ((d + t33) % 64) * 32 + i) * (float)t_24) * t_28) *
                            0.015625f) : splat_v3(0.0f);
                        query_sum_2_in += (((t33 * 64) + floor_mod(d - t33,
                            64)) < 2080) ? load_v3(sum_from_state + min((t33 * 64) + floor_mod(d - t33, 64),
                            2079) * 32 + i) * (((load_v3(q_tile + floor_mod(d - t33,
                            64) * 32 + i) * (float)t_24) * t_28) * 0.015625f) : splat_v3(0.0f);
                    }
                    store_v3(query_sum + d * 32 + i, load_v3(query_sum + d * 32 + i) + query_sum_in);
                    store_v3(query_sum_2 + d * 32 + i, load_v3(query_sum_2 + d * 32 + i) + query_sum_2_in);
                }
            }
        }
        if (dlog_decay_q) {
            /* row_sum = 0.0f; row_sum_compensation = 0.0f; query_sum_3 = 0.0f */
            for (int64_t i = 0; i < i1 - i0; i += 8) {
                store_v3(row_sum + i, splat_v3(0.0f));
                store_v3(row_sum_compensation + i, splat_v3(0.0f));
                store_v3(query_sum_3 + i, splat_v3(0.0f));
            }
            /* query_sum_3 += sum_from_state * ((((q_tile * 0.125f) * (q_tile * 0.125f)) * select((f / 64) == 0, 1.0f,
               2.0f)) * select(chunk == ... */
            const int t_29 = chunk == 0;
            const float log_decay_chunk_30 = log_decay_chunk[max(min((chunk * 128) - 1, n_k - 1), 0)];
            const float log_decay_chunk_low_31 = log_decay_chunk_low[max(min((chunk * 128) - 1, n_k - 1), 0)];
            for (int64_t i = 0; i < i1 - i0; i += 8) {
                const vec_v3 t_32 = t_29 ? splat_v3(0.0f) : exp2_v3(((load_v3(log_decay_q_tile + i) -
                    log_decay_chunk_30) + (load_v3(log_decay_q_low_tile + i) - log_decay_chunk_low_31)) * 1.442695f);
                vec_v3 query_sum_3_in = (vec_v3){0};
                vec_v3 query_sum_3_in_whole = (vec_v3){0};
                for (int64_t f = 0; f < 2080; f++) {
                    query_sum_3_in += load_v3(sum_from_state + f * 32 + i) * ((((load_v3(q_tile + (f % 64) * 32 + i) *
                        0.125f) * (load_v3(q_tile + (((f % 64) + (f / 64)) % 64) * 32 + i) * 0.125f)) * (float)(((f /
                        64) == 0) ? 1.0 : 2.0)) * t_32);
                    if (f % 192 == 191) {
                        query_sum_3_in_whole += query_sum_3_in;
                        query_sum_3_in = (vec_v3){0};
                    }
                }
                query_sum_3_in += query_sum_3_in_whole;
                store_v3(query_sum_3 + i, load_v3(query_sum_3 + i) + query_sum_3_in);
            }
        }
        if (dq) {
            /* sum = 0.0f; sum_compensation = 0.0f */
            for (int64_t d = 0; d < 64; d++) {
                for (int64_t i = 0; i < i1 - i0; i += 8) {
                    store_v3(sum + d * 32 + i, splat_v3(0.0f));
                    store_v3(sum_compensation + d * 32 + i, splat_v3(0.0f));
                }
            }
        }
        for (int64_t j0 = max(0, chunk * 128), j_end = min(n_k, i1 + query_start); j0 < j_end; j0 += 64) {
            const int64_t j1 = min(j0 + 64, j_end);
            /* score[j][i] = sum over d of k * q_tile */
            dot10_v3(round_up(i1 - i0, 8), j1 - j0, k + j0 * k_row, k_row, q_tile, score);
            /* score_2[j][i] = sum over e of v * dout_tile */
            dot5_v3(round_up(i1 - i0, 8), j1 - j0, v + j0 * v_row, v_row, dout_tile, score_2, k + j0 * k_row, k_row);
            /* score_2 = score_2 + row_0_tile; weight_2 = score_2 * ((score * exp2(((log_decay_q_tile - log_decay_k) +
               (log_decay_q_low_tile -  ... */
            for (int64_t i = 0; i < i1 - i0; i += 8) {
                const vec_v3 row_0_tile_34 = load_v3(row_0_tile + i);
                const vec_v3 log_decay_q_tile_37 = load_v3(log_decay_q_tile + i);
                const vec_v3 log_decay_q_low_tile_38 = load_v3(log_decay_q_low_tile + i);
                for (int64_t j = 0; j < j1 - j0; j++) {
                    const vec_v3 score_2_33 = load_v3(score_2 + j * 32 + i);
                    const vec_v3 score_2_new35 = score_2_33 + row_0_tile_34;
                    store_v3(score_2 + j * 32 + i, score_2_new35);
                    const vec_v3 score_36 = load_v3(score + j * 32 + i);
                    const vec_v3 t_39 = exp2_v3(((log_decay_q_tile_37 - log_decay_k[(j0 + j)]) +
                        (log_decay_q_low_tile_38 - log_decay_k_low[(j0 + j)])) * 1.442695f);
                    store_v3(weight_2 + j * 32 + i, score_2_new35 * ((score_36 * t_39) * 0.03125f));
                    const vec_v3 t_40 = score_36 * 0.125f;
                    store_v3(score + j * 32 + i, score_2_new35 * ((t_40 * t_40) * t_39));
                }
            }
            if ((j0 < (chunk * 128)) || ((i0 + query_start + 1) < j1)) { /* the tile is partly outside the mask */
                if (dlog_decay_q) {
                    /* score = select((j <= (i + query_start)) && ((chunk * 128) <= j), score, 0.0f) */
                    for (int64_t i = 0; i < i1 - i0; i += 8) {
                        const ints_v3 t_41 = (i0 + i + lane_v3) + query_start;
                        for (int64_t j = 0; j < j1 - j0; j++) {
                            store_v3(score + j * 32 + i, pick_v3(__builtin_convertvector(((j0 + j) <= t_41) &
                                (-(int64_t)((chunk * 128) <= (j0 + j))), mask_v3), load_v3(score + j * 32 + i),
                                splat_v3(0.0f)));
                        }
                    }
                }
            }
            if (dlog_decay_q) {
                /* row_sum += score */
                for (int64_t i_first = 0; i_first < i1 - i0; i_first += 16) {
                    vec_v3 row_sum_in[2];
                    UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += 8) {
                        row_sum_in[vector] = (vec_v3){0};
                    }
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += 8) {
                            row_sum_in[vector] += load_v3(score + j * 32 + i);
                        }
                    }
                    UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += 8) {
                        add_v3(row_sum + i, row_sum_compensation + i, row_sum_in[vector], splat_v3(1));
                    }
                }
            }
            if ((j0 < (chunk * 128)) || ((i0 + query_start + 1) < j1)) { /* the tile is partly outside the mask */
                if (dq) {
                    /* weight_2 = select((j <= (i + query_start)) && ((chunk * 128) <= j), weight_2, 0.0f) */
                    for (int64_t i = 0; i < i1 - i0; i += 8) {
                        const ints_v3 t_42 = (i0 + i + lane_v3) + query_start;
                        for (int64_t j = 0; j < j1 - j0; j++) {
                            store_v3(weight_2 + j * 32 + i, pick_v3(__builtin_convertvector(((j0 + j) <= t_42) &
                                (-(int64_t)((chunk * 128) <= (j0 + j))), mask_v3), load_v3(weight_2 + j * 32 + i),
                                splat_v3(0.0f)));
                        }
                    }
                }
            }
            if (dq) {
                /* sum[d][i] += sum over j of k * weight_2 */
                if (__builtin_expect(((j0 < (chunk * 128)) || ((i0 + query_start + 1) < j1)) && !finite_v3(k + j0 *
                    k_row, k_row, j1 - j0, 64), 0)) { /* infinity and NaN affect only queries that see them */
                    dot6_v3(round_up(i1 - i0, 8), j1 - j0, k + j0 * k_row, k_row, weight_2, sum, sum_compensation);
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        mask_v3 in_region[4] = {0};
                        if (finite_v3(k + j0 * k_row + j * k_row, 1, 64, 1)) continue;
                        const int t_43 = (chunk * 128) <= (j0 + j);
                        for (int64_t i = 0; i < i1 - i0; i += 8) {
                            in_region[i / 8] = __builtin_convertvector(((j0 + j) <= ((i0 + i + lane_v3) + query_start))
                                & (-(int64_t)t_43), mask_v3);
                        }
                        add_seen_v3(64, sum, 32, k + j0 * k_row + j * k_row, 1, weight_2 + j * 32, in_region, i1 - i0);
                    }
                } else
                    dot7_v3(round_up(i1 - i0, 8), j1 - j0, k + j0 * k_row, k_row, weight_2, sum, sum_compensation);
            }
        }
        if (dq) {
            /* query_sum = (query_sum + query_sum_2) + sum */
            for (int64_t d = 0; d < 64; d++) {
                for (int64_t i = 0; i < i1 - i0; i += 8) {
                    store_v3(query_sum + d * 32 + i, (load_v3(query_sum + d * 32 + i) + load_v3(query_sum_2 + d * 32 +
                        i)) + load_v3(sum + d * 32 + i));
                }
            }
        }
        if (dlog_decay_q) {
            /* row_sum = row_sum + query_sum_3 */
            for (int64_t i = 0; i < i1 - i0; i += 8) {
                store_v3(row_sum + i, load_v3(row_sum + i) + load_v3(query_sum_3 + i));
            }
        }
        if (dq) {
            /* dq = query_sum, transposed back */
            transpose_out_v3(query_sum, 32, 64, i1 - i0, dq + i0 * dq_row, dq_row, 64);
        }
        if (dlog_decay_q) {
            /* dlog_decay_q = row_sum */
            for (int64_t i = 0; i < i1 - i0; i++)
                dlog_decay_q[(i0 + i) * dlog_decay_q_row] = row_sum[i];
        }
    }
}

/* Computes head number `task`. Each thread on the head calls this with its share, `part`. */
TARGET_v3 static void power_gated_linear_dq_dlog_decay_q_v3(const struct call *call, int64_t task, struct part *part)
{
    const int64_t n_k = call->p.n_k;
    const int64_t chunks = n_k > 0 ? (n_k - 1) / 128 + 1 : 1;
    for (int64_t iteration = part->number; iteration < ((2080 + 31) / 32); iteration += part->threads)
        power_gated_linear_dq_dlog_decay_q_begin_v3(call, task, part, iteration);
    synchronise(part);
    const int64_t first = 0;
    const int64_t length = segment_length(part, chunks - first);
    for (int64_t segment = part->number; first + segment * length < chunks; segment += part->threads) {
        part->chunk0 = first + segment * length;
        part->chunk1 = min(part->chunk0 + length, chunks);
        for (int64_t iteration = part->chunk0; iteration < part->chunk1; iteration++)
            power_gated_linear_dq_dlog_decay_q_keys_v3(call, task, part, iteration);
        for (int64_t group = 0; group < 16; group++) {
            await_segment(part, group, segment);
            const int64_t end = (group + 1) * ((2080 + 31) / 32) / 16;
            for (int64_t iteration = group * ((2080 + 31) / 32) / 16; iteration < end; iteration++)
                power_gated_linear_dq_dlog_decay_q_fold_v3(call, task, part, iteration);
            pass_segment(part, group, segment);
        }
        for (int64_t iteration = part->chunk0; iteration < part->chunk1; iteration++)
            power_gated_linear_dq_dlog_decay_q_queries_v3(call, task, part, iteration);
    }
    part->segments += (max(chunks - first, 0) + length - 1) / length;
    synchronise(part);
}

/* Initialises the states: they contain no queries yet. */
TARGET_v3 APART void power_gated_linear_linear_heads_0_linear_heads_1_dlog_decay_k_begin_v3(const struct call *call,
    int64_t task, const struct part *part, int64_t iteration)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t f0 = iteration * 32, f1 = min(f0 + 32, 2080);
    const int64_t m = task % members;
    const int64_t g = task / members % kv_heads;
    const int64_t b = task / members / kv_heads;
    float *const carried = (float *)(void *)(part->shared + 0); /* [f: 2080, e: 64] */
    float *const carried_compensation = (float *)(void *)(part->shared + 540800); /* [f: 2080, e: 64] */
    float *const carried_2 = (float *)(void *)(part->shared + 532480); /* [f: 2080] */
    float *const carried_2_compensation = (float *)(void *)(part->shared + 1073280); /* [f: 2080] */
    float *const linear_heads_0 = call->linear_heads_0 ? call->linear_heads_0 + b * call->linear_heads_0_at.batch + (g *
        members + m) * call->linear_heads_0_at.head : NULL;
    float *const dlog_decay_k = call->dlog_decay_k ? call->dlog_decay_k + b * call->dlog_decay_k_at.batch + (g * members
        + m) * call->dlog_decay_k_at.head : NULL;
    /* carried = 0.0f; carried_compensation = 0.0f */
    for (int64_t f = f0; f < f1; f++) {
        for (int64_t e_first = 0; e_first < 64; e_first += 16) {
            UNROLL for (int64_t vector = 0, e = e_first; vector < 2; vector++, e += 8) {
                store_v3(carried + f * 64 + e, splat_v3(0.0f));
                store_v3(carried_compensation + f * 64 + e, splat_v3(0.0f));
            }
        }
    }
    if (linear_heads_0 || dlog_decay_k) {
        /* carried_2 = 0.0f; carried_2_compensation = 0.0f */
        for (int64_t f = f0; f < f1; f += 8) {
            store_v3(carried_2 + f, splat_v3(0.0f));
            store_v3(carried_2_compensation + f, splat_v3(0.0f));
        }
    }
}

/* Sums the queries of a chunk, from zero, into its slot. */
TARGET_v3 APART void power_gated_linear_linear_heads_0_linear_heads_1_dlog_decay_k_queries_v3(const struct call *call,
    int64_t task, const struct part *part, int64_t iteration)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_q = call->p.n_q;
    const int64_t n_k = call->p.n_k;
    const int64_t chunks = n_k > 0 ? (n_k - 1) / 128 + 1 : 1;
    const int64_t chunk = iteration;
    const int64_t chunk0 = part->chunk0;
    const int64_t m = task % members;
    const int64_t g = task / members % kv_heads;
    const int64_t b = task / members / kv_heads;
    const int64_t query_start = call->p.query_start ? call->p.query_start[b] : n_k - n_q;
    const float *const q = call->q + b * call->p.q.batch + (g / call->sharing * members + m) * call->p.q.head;
    const int64_t q_row = call->p.q.row;
    const float *const log_decay_q_low = call->log_decay_q_low + b * call->log_decay_q_low_at.batch + (g * members + m)
        * call->log_decay_q_low_at.head;
    const float *const log_decay_q = call->log_decay_q + b * call->log_decay_q_at.batch + (g * members + m) *
        call->log_decay_q_at.head;
    const float *const log_decay_chunk_low = call->log_decay_chunk_low + b * call->log_decay_chunk_low_at.batch + (g *
        members + m) * call->log_decay_chunk_low_at.head;
    const float *const log_decay_chunk = call->log_decay_chunk + b * call->log_decay_chunk_at.batch + (g * members + m)
        * call->log_decay_chunk_at.head;
    const float *const dout = call->dout + b * call->p.dout.batch + (g * members + m) * call->p.dout.head;
    const int64_t dout_row = call->p.dout.row;
    const float *const saved_0 = call->saved_0 + (b * call->p.heads + (g * members + m)) * call->p.n_q;
    const float *const row_0 = call->row_0 + (b * call->p.heads + (g * members + m)) * call->p.n_q;
    float *const key_features = (float *)(void *)(part->work + 0); /* [i: 64, e: 64] */
    float *const key_features_2 = (float *)(void *)(part->work + 16384); /* [f: 192, i: 64 of 80] */
    float *const state = (float *)(void *)(part->slots + 0); /* [chunk, f: 2080, e: 64] */
    float *const state_2 = (float *)(void *)(part->slots + 532480); /* [chunk, f: 2080] */
    float *const linear_heads_0 = call->linear_heads_0 ? call->linear_heads_0 + b * call->linear_heads_0_at.batch + (g *
        members + m) * call->linear_heads_0_at.head : NULL;
    float *const dlog_decay_k = call->dlog_decay_k ? call->dlog_decay_k + b * call->dlog_decay_k_at.batch + (g * members
        + m) * call->dlog_decay_k_at.head : NULL;
    float *const q_tile = (float *)(void *)(part->work + 77824); /* [d: 64, i: 64 of 80] */
    float *const log_decay_q_tile = (float *)(void *)(part->work + 98304); /* [i: 64] */
    float *const log_decay_q_low_tile = (float *)(void *)(part->work + 98560); /* [i: 64] */
    float *const row_0_tile = (float *)(void *)(part->work + 98816); /* [i: 64] */
    float *const log_decay_chunk_at = (float *)(void *)(part->work + 99072); /* [i: 64] */
    float *const log_decay_chunk_low_at = (float *)(void *)(part->work + 99328); /* [i: 64] */
    /* state = 0.0f */
    for (int64_t f = 0; f < 2080; f++) {
        for (int64_t e_first = 0; e_first < 64; e_first += 16) {
            UNROLL for (int64_t vector = 0, e = e_first; vector < 2; vector++, e += 8) {
                store_v3(state + (chunk - chunk0) * 135200 + f * 64 + e, splat_v3(0.0f));
            }
        }
    }
    if (linear_heads_0 || dlog_decay_k) {
        /* state_2 = 0.0f */
        for (int64_t f = 0; f < 2080; f += 8) {
            store_v3(state_2 + (chunk - chunk0) * 135200 + f, splat_v3(0.0f));
        }
    }
    for (int64_t i0 = ((chunks - chunk - 1) == 0) ? 0 : max(0, ((chunks - chunk - 1) * 128) - query_start),
        i_end = min(n_q, ((chunks - chunk) * 128) - query_start); i0 < i_end; i0 += 64) {
        const int64_t i1 = min(i0 + 64, i_end);
        /* q_tile = q, with zeros beyond the last row */
        transpose_padded_v3(q + i0 * q_row, q_row, i1 - i0, 64, q_tile, 80, 64);
        /* log_decay_q_tile = log_decay_q, with zeros beyond the last row */
        for (int64_t i = 0; i < round_up(i1 - i0, 8); i++)
            log_decay_q_tile[i] = i < i1 - i0 ? log_decay_q[(i0 + i)] : 0;
        /* log_decay_q_low_tile = log_decay_q_low, with zeros beyond the last row */
        for (int64_t i = 0; i < round_up(i1 - i0, 8); i++)
            log_decay_q_low_tile[i] = i < i1 - i0 ? log_decay_q_low[(i0 + i)] : 0;
        if (linear_heads_0 || dlog_decay_k) {
            /* row_0_tile = row_0, with zeros beyond the last row */
            for (int64_t i = 0; i < round_up(i1 - i0, 8); i++)
                row_0_tile[i] = i < i1 - i0 ? row_0[(i0 + i)] : 0;
        }
        /* key_features = dout * saved_0 */
        for (int64_t i = 0; i < i1 - i0; i++) {
            for (int64_t e_first = 0; e_first < 64; e_first += 16) {
                UNROLL for (int64_t vector = 0, e = e_first; vector < 2; vector++, e += 8) {
                    store_v3(key_features + i * 64 + e, load_v3(dout + (i0 + i) * dout_row + e) * saved_0[(i0 + i)]);
                }
            }
        }
        for (int64_t f0 = 0, f_end = 2080; f0 < f_end; f0 += 192) {
            const int64_t f1 = min(f0 + 192, f_end);
            /* log_decay_chunk_at = log_decay_chunk, at computed subscripts */
            for (int64_t i = 0; i < i1 - i0; i++) log_decay_chunk_at[i] = log_decay_chunk[max(min(((max((i0 + i) +
                query_start, 0) / 128) * 128) - 1, n_k - 1), 0)];
            for (int64_t i = i1 - i0; i < round_up(i1 - i0, 8); i++) log_decay_chunk_at[i] = 0;
            /* log_decay_chunk_low_at = log_decay_chunk_low, at computed subscripts */
            for (int64_t i = 0; i < i1 - i0; i++) log_decay_chunk_low_at[i] = log_decay_chunk_low[max(min(((max((i0 + i)
                + query_start, 0) / 128) * 128) - 1, n_k - 1), 0)];
            for (int64_t i = i1 - i0; i < round_up(i1 - i0, 8); i++) log_decay_chunk_low_at[i] = 0;
            /* key_features_2 = ((((q_tile * 0.125f) * (q_tile * 0.125f)) * select((f / 64) == 0, 1.0f,
               2.0f)) * select((max(i + query_start, 0 ... */
            const float log_decay_chunk_3 = log_decay_chunk[max(min(((chunks - chunk - 1) * 128) - 1, n_k - 1), 0)];
            const float log_decay_chunk_low_4 = log_decay_chunk_low[max(min(((chunks - chunk - 1) * 128) - 1, n_k - 1),
                0)];
            for (int64_t i = 0; i < i1 - i0; i += 8) {
                const vec_v3 log_decay_chunk_at_0 = load_v3(log_decay_chunk_at + i);
                const vec_v3 log_decay_chunk_low_at_1 = load_v3(log_decay_chunk_low_at + i);
                const vec_v3 t_2 = pick_v3(__builtin_convertvector(((((((i0 + i + lane_v3) + query_start) > 0) & ((i0 +
                    i + lane_v3) + query_start)) | (~(((i0 + i + lane_v3) + query_start) > 0) & (0 - (ints_v3){0}))) /
                    128) == 0, mask_v3), splat_v3(1.0f), exp2_v3(((load_v3(log_decay_q_tile + i) - log_decay_chunk_at_0)
                    + (load_v3(log_decay_q_low_tile + i) - log_decay_chunk_low_at_1)) * 1.442695f));
                const vec_v3 t_5 = exp2_v3(((log_decay_chunk_at_0 - log_decay_chunk_3) + (log_decay_chunk_low_at_1 -
                    log_decay_chunk_low_4)) * 1.442695f);
                for (int64_t f = f0; f < f1; f++) {
                    store_v3(key_features_2 + (f - f0) * 80 + i, ((((load_v3(q_tile + (f % 64) * 80 + i) * 0.125f) *
                        (load_v3(q_tile + (((f % 64) + (f / 64)) % 64) * 80 + i) * 0.125f)) * (float)(((f / 64) == 0) ?
                        1.0 : 2.0)) * t_2) * t_5);
                }
            }
            /* state[f][e] += sum over i of key_features_2 * key_features */
            dot12_v3(f1 - f0, i1 - i0, key_features_2, key_features, state + (chunk - chunk0) * 135200 + f0 * 64);
            if (linear_heads_0 || dlog_decay_k) {
                /* state_2 += key_features_2 * row_0_tile */
                for (int64_t f = f0; f < f1; f++) {
                    vec_v3 lane_sums = splat_v3(0);
                    for (int64_t i = 0; i < i1 - i0; i += 8) {
                        const vec_v3 row_0_tile_6 = load_v3(row_0_tile + i);
                        const vec_v3 term = load_v3(key_features_2 + (f - f0) * 80 + i) * row_0_tile_6;
                        lane_sums += i + 8 <= i1 - i0 ? term : pick_v3(__builtin_convertvector(i + lane_v3 < i1 - i0,
                            mask_v3), term, splat_v3(0));
                    }
                    const float total = lane_sum_v3(lane_sums);
                    state_2[(chunk - chunk0) * 135200 + f] += total;
                }
            }
        }
    }
}

/* Folds the slots of the current chunks, in order, for some elements of the states. */
TARGET_v3 APART void power_gated_linear_linear_heads_0_linear_heads_1_dlog_decay_k_fold_v3(const struct call *call,
    int64_t task, const struct part *part, int64_t iteration)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_k = call->p.n_k;
    const int64_t chunks = n_k > 0 ? (n_k - 1) / 128 + 1 : 1;
    const int64_t f0 = iteration * 32, f1 = min(f0 + 32, 2080);
    const int64_t chunk0 = part->chunk0;
    const int64_t chunk1 = part->chunk1;
    const int64_t m = task % members;
    const int64_t g = task / members % kv_heads;
    const int64_t b = task / members / kv_heads;
    const float *const log_decay_chunk_low = call->log_decay_chunk_low + b * call->log_decay_chunk_low_at.batch + (g *
        members + m) * call->log_decay_chunk_low_at.head;
    const float *const log_decay_chunk = call->log_decay_chunk + b * call->log_decay_chunk_at.batch + (g * members + m)
        * call->log_decay_chunk_at.head;
    float *const state = (float *)(void *)(part->slots + 0); /* [chunk, f: 2080, e: 64] */
    float *const state_2 = (float *)(void *)(part->slots + 532480); /* [chunk, f: 2080] */
    float *const carried = (float *)(void *)(part->shared + 0); /* [f: 2080, e: 64] */
    float *const carried_compensation = (float *)(void *)(part->shared + 540800); /* [f: 2080, e: 64] */
    float *const kept_share = (float *)(void *)(part->work + 0); /* [f: 2080] */
    float *const lost_share = (float *)(void *)(part->work + 8320); /* [f: 2080] */
    float *const carried_2 = (float *)(void *)(part->shared + 532480); /* [f: 2080] */
    float *const carried_2_compensation = (float *)(void *)(part->shared + 1073280); /* [f: 2080] */
    float *const linear_heads_0 = call->linear_heads_0 ? call->linear_heads_0 + b * call->linear_heads_0_at.batch + (g *
        members + m) * call->linear_heads_0_at.head : NULL;
    float *const dlog_decay_k = call->dlog_decay_k ? call->dlog_decay_k + b * call->dlog_decay_k_at.batch + (g * members
        + m) * call->dlog_decay_k_at.head : NULL;
    for (int64_t chunk = chunk0; chunk < chunk1; chunk++) {
        /* kept_share = select(exp2(((log_decay_chunk - log_decay_chunk) + (log_decay_chunk_low - log_decay_chunk_low))
           * 1.442695f) < 0.5f ... */
        const float t_7 = (log_decay_chunk[max(min(((chunks - chunk) * 128) - 1, n_k - 1),
            0)] - log_decay_chunk[max(min(((chunks - chunk - 1) * 128) - 1, n_k - 1),
            0)]) + (log_decay_chunk_low[max(min(((chunks - chunk) * 128) - 1, n_k - 1),
            0)] - log_decay_chunk_low[max(min(((chunks - chunk - 1) * 128) - 1, n_k - 1), 0)]);
        const float t_8 = exp2f(t_7 * 1.442695f);
        const int t_9 = t_8 < 0.5f;
        const float t_10 = t_9 ? t_8 : 1.0f;
        const float t_11 = t_9 ? 0.0f : (-expm1f(t_7));
        for (int64_t f = f0; f < f1; f += 8) {
            store_v3(kept_share + f, splat_v3(t_10));
            store_v3(lost_share + f, splat_v3(t_11));
        }
        /* before = carried; carried = carried * kept_share; carried_compensation = carried_compensation * kept_share;
           carried += state - ( ... */
        for (int64_t f = f0; f < f1; f++) {
            for (int64_t e_first = 0; e_first < 64; e_first += 16) {
                UNROLL for (int64_t vector = 0, e = e_first; vector < 2; vector++, e += 8) {
                    const vec_v3 carried_12 = load_v3(carried + f * 64 + e);
                    const vec_v3 before_new13 = carried_12;
                    const float kept_share_14 = kept_share[f];
                    const vec_v3 carried_new15 = carried_12 * kept_share_14;
                    store_v3(carried + f * 64 + e, carried_new15);
                    store_v3(carried_compensation + f * 64 + e, load_v3(carried_compensation + f * 64 + e) *
                        kept_share_14);
                    add_v3(carried + f * 64 + e, carried_compensation + f * 64 + e,
                        load_v3(state + (chunk - chunk0) * 135200 + f * 64 + e) - (carried_new15 * lost_share[f]),
                        splat_v3(1));
                    store_v3(state + (chunk - chunk0) * 135200 + f * 64 + e, before_new13);
                }
            }
        }
        if (linear_heads_0 || dlog_decay_k) {
            /* kept_share_2 = select(exp2(((log_decay_chunk - log_decay_chunk) + (log_decay_chunk_low -
               log_decay_chunk_low)) * 1.442695f) < 0. ... */
            const float t_16 = (log_decay_chunk[max(min(((chunks - chunk) * 128) - 1, n_k - 1),
                0)] - log_decay_chunk[max(min(((chunks - chunk - 1) * 128) - 1, n_k - 1),
                0)]) + (log_decay_chunk_low[max(min(((chunks - chunk) * 128) - 1, n_k - 1),
                0)] - log_decay_chunk_low[max(min(((chunks - chunk - 1) * 128) - 1, n_k - 1), 0)]);
            const float t_17 = exp2f(t_16 * 1.442695f);
            const int t_18 = t_17 < 0.5f;
            const float t_19 = t_18 ? t_17 : 1.0f;
            const float t_21 = t_18 ? 0.0f : (-expm1f(t_16));
            for (int64_t f = f0; f < f1; f += 8) {
                const vec_v3 kept_share_2_new20 = splat_v3(t_19);
                const vec_v3 lost_share_2_new22 = splat_v3(t_21);
                const vec_v3 carried_2_23 = load_v3(carried_2 + f);
                const vec_v3 before_2_new24 = carried_2_23;
                const vec_v3 carried_2_new25 = carried_2_23 * kept_share_2_new20;
                store_v3(carried_2 + f, carried_2_new25);
                store_v3(carried_2_compensation + f, load_v3(carried_2_compensation + f) * kept_share_2_new20);
                add_v3(carried_2 + f, carried_2_compensation + f, load_v3(state_2 + (chunk - chunk0) * 135200 + f) -
                    (carried_2_new25 * lost_share_2_new22), splat_v3(1));
                store_v3(state_2 + (chunk - chunk0) * 135200 + f, before_2_new24);
            }
        }
    }
}

/* Processes the keys of a chunk: reads the state after the chunk, and the queries in the chunk. */
TARGET_v3 APART void power_gated_linear_linear_heads_0_linear_heads_1_dlog_decay_k_keys_v3(const struct call *call,
    int64_t task, const struct part *part, int64_t iteration)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_q = call->p.n_q;
    const int64_t n_k = call->p.n_k;
    const int64_t chunks = n_k > 0 ? (n_k - 1) / 128 + 1 : 1;
    const int64_t chunk = iteration;
    const int64_t chunk0 = part->chunk0;
    const int64_t m = task % members;
    const int64_t g = task / members % kv_heads;
    const int64_t b = task / members / kv_heads;
    const int64_t query_start = call->p.query_start ? call->p.query_start[b] : n_k - n_q;
    const float *const q = call->q + b * call->p.q.batch + (g / call->sharing * members + m) * call->p.q.head;
    const int64_t q_row = call->p.q.row;
    const float *const k = call->k + b * call->p.k.batch + g / call->sharing * call->p.k.head;
    const int64_t k_row = call->p.k.row;
    const float *const v = call->v + b * call->p.v.batch + g * call->p.v.head;
    const int64_t v_row = call->p.v.row;
    const float *const log_decay_q_low = call->log_decay_q_low + b * call->log_decay_q_low_at.batch + (g * members + m)
        * call->log_decay_q_low_at.head;
    const float *const log_decay_q = call->log_decay_q + b * call->log_decay_q_at.batch + (g * members + m) *
        call->log_decay_q_at.head;
    const float *const log_decay_k_low = call->log_decay_k_low + b * call->log_decay_k_low_at.batch + (g * members + m)
        * call->log_decay_k_low_at.head;
    const float *const log_decay_k = call->log_decay_k + b * call->log_decay_k_at.batch + (g * members + m) *
        call->log_decay_k_at.head;
    const float *const log_decay_chunk_low = call->log_decay_chunk_low + b * call->log_decay_chunk_low_at.batch + (g *
        members + m) * call->log_decay_chunk_low_at.head;
    const float *const log_decay_chunk = call->log_decay_chunk + b * call->log_decay_chunk_at.batch + (g * members + m)
        * call->log_decay_chunk_at.head;
    const float *const dout = call->dout + b * call->p.dout.batch + (g * members + m) * call->p.dout.head;
    const int64_t dout_row = call->p.dout.row;
    const float *const saved_0 = call->saved_0 + (b * call->p.heads + (g * members + m)) * call->p.n_q;
    const float *const row_0 = call->row_0 + (b * call->p.heads + (g * members + m)) * call->p.n_q;
    float *const state = (float *)(void *)(part->slots + 0); /* [chunk, f: 2080, e: 64] */
    float *const state_2 = (float *)(void *)(part->slots + 532480); /* [chunk, f: 2080] */
    float *const score = (float *)(void *)(part->work + 0); /* [i: 64, j: 64 of 80] */
    float *const weight = (float *)(void *)(part->work + 20480); /* [i: 64, j: 64 of 80] */
    float *const score_2 = (float *)(void *)(part->work + 40960); /* [i: 64, j: 64 of 80] */
    float *const row_sum = (float *)(void *)(part->work + 61440); /* [j: 64] */
    float *const row_sum_compensation = (float *)(void *)(part->work + 61696); /* [j: 64] */
    float *const query = (float *)(void *)(part->work + 0); /* [f: 192, j: 64 of 80] */
    float *const sum_from_state = (float *)(void *)(part->work + 61952); /* [f: 2080, j: 64 of 80] */
    float *const query_sum = (float *)(void *)(part->work + 727552); /* [j: 64] */
    float *const query_2 = (float *)(void *)(part->work + 727808); /* [f: 2080, j: 64 of 80] */
    float *const query_sum_2 = (float *)(void *)(part->work + 1393408); /* [j: 64] */
    float *const query_sum_3 = (float *)(void *)(part->work + 1393664); /* [d: 64, j: 64 of 80] */
    float *const query_sum_4 = (float *)(void *)(part->work + 1414144); /* [d: 64, j: 64 of 80] */
    float *const query_sum_5 = (float *)(void *)(part->work + 1434624); /* [d: 64, j: 64 of 80] */
    float *const query_sum_6 = (float *)(void *)(part->work + 1455104); /* [d: 64, j: 64 of 80] */
    float *const sum = (float *)(void *)(part->work + 1475584); /* [d: 64, j: 64 of 80] */
    float *const sum_compensation = (float *)(void *)(part->work + 1496064); /* [d: 64, j: 64 of 80] */
    float *const sum_2 = (float *)(void *)(part->work + 1516544); /* [e: 64, j: 64 of 80] */
    float *const sum_2_compensation = (float *)(void *)(part->work + 1537024); /* [e: 64, j: 64 of 80] */
    float *const sum_from_state_2 = (float *)(void *)(part->work + 1557504); /* [e: 64, j: 64 of 80] */
    float *const linear_heads_0 = call->linear_heads_0 ? call->linear_heads_0 + b * call->linear_heads_0_at.batch + (g *
        members + m) * call->linear_heads_0_at.head : NULL;
    const int64_t linear_heads_0_row = call->linear_heads_0_at.row;
    float *const linear_heads_1 = call->linear_heads_1 ? call->linear_heads_1 + b * call->linear_heads_1_at.batch + (g *
        members + m) * call->linear_heads_1_at.head : NULL;
    const int64_t linear_heads_1_row = call->linear_heads_1_at.row;
    float *const dlog_decay_k = call->dlog_decay_k ? call->dlog_decay_k + b * call->dlog_decay_k_at.batch + (g * members
        + m) * call->dlog_decay_k_at.head : NULL;
    float *const k_tile = (float *)(void *)(part->work + 1577984); /* [d: 64, j: 64 of 80] */
    float *const log_decay_k_tile = (float *)(void *)(part->work + 1598464); /* [j: 64] */
    float *const log_decay_k_low_tile = (float *)(void *)(part->work + 1598720); /* [j: 64] */
    float *const v_tile = (float *)(void *)(part->work + 1598976); /* [e: 64, j: 64 of 80] */
    float *const dout_tile = (float *)(void *)(part->work + 61952); /* [e: 64, i: 64 of 80] */
    float *const saved_0_tile = (float *)(void *)(part->work + 20480); /* [i: 64] */
    for (int64_t j0 = ((chunks - chunk - 1) == 0) ? 0 : max(0, (chunks - chunk - 1) * 128), j_end = min(n_k,
        (chunks - chunk) * 128); j0 < j_end; j0 += 64) {
        const int64_t j1 = min(j0 + 64, j_end);
        /* k_tile = k, with zeros beyond the last row */
        transpose_padded_v3(k + j0 * k_row, k_row, j1 - j0, 64, k_tile, 80, 64);
        /* log_decay_k_tile = log_decay_k, with zeros beyond the last row */
        for (int64_t j = 0; j < round_up(j1 - j0, 8); j++)
            log_decay_k_tile[j] = j < j1 - j0 ? log_decay_k[(j0 + j)] : 0;
        /* log_decay_k_low_tile = log_decay_k_low, with zeros beyond the last row */
        for (int64_t j = 0; j < round_up(j1 - j0, 8); j++)
            log_decay_k_low_tile[j] = j < j1 - j0 ? log_decay_k_low[(j0 + j)] : 0;
        if (linear_heads_0 || dlog_decay_k) {
            /* v_tile = v, with zeros beyond the last row */
            transpose_padded_v3(v + j0 * v_row, v_row, j1 - j0, 64, v_tile, 80, 64);
            /* sum_from_state[f][j] = sum over e of state * v_tile */
            dot13_v3(round_up(j1 - j0, 8), state + (chunk - chunk0) * 135200, v_tile, sum_from_state);
            /* query_2 = state_2 */
            for (int64_t j_first = 0; j_first < j1 - j0; j_first += 16) {
                for (int64_t f = 0; f < 2080; f++) {
                    UNROLL for (int64_t vector = 0, j = j_first; vector < 2; vector++, j += 8) {
                        store_v3(query_2 + f * 80 + j, splat_v3(state_2[(chunk - chunk0) * 135200 + f]));
                    }
                }
            }
        }
        if (dlog_decay_k) {
            /* row_sum = 0.0f; row_sum_compensation = 0.0f; query_sum = 0.0f; query_sum_2 = 0.0f */
            for (int64_t j = 0; j < j1 - j0; j += 8) {
                store_v3(row_sum + j, splat_v3(0.0f));
                store_v3(row_sum_compensation + j, splat_v3(0.0f));
                store_v3(query_sum + j, splat_v3(0.0f));
                store_v3(query_sum_2 + j, splat_v3(0.0f));
            }
        }
        if (linear_heads_0) {
            /* query_sum_3 = 0.0f */
            for (int64_t d = 0; d < 64; d++) {
                for (int64_t j = 0; j < j1 - j0; j += 8) {
                    store_v3(query_sum_3 + d * 80 + j, splat_v3(0.0f));
                }
            }
            /* query_sum_4 = 0.0f */
            for (int64_t d = 0; d < 64; d++) {
                for (int64_t j = 0; j < j1 - j0; j += 8) {
                    store_v3(query_sum_4 + d * 80 + j, splat_v3(0.0f));
                }
            }
            /* query_sum_5 = 0.0f */
            for (int64_t d = 0; d < 64; d++) {
                for (int64_t j = 0; j < j1 - j0; j += 8) {
                    store_v3(query_sum_5 + d * 80 + j, splat_v3(0.0f));
                }
            }
            /* query_sum_6 = 0.0f */
            for (int64_t d = 0; d < 64; d++) {
                for (int64_t j = 0; j < j1 - j0; j += 8) {
                    store_v3(query_sum_6 + d * 80 + j, splat_v3(0.0f));
                }
            }
            /* query_sum_3 += select(((t33 * 64) + d) < 2080, sum_from_state * (k_tile * exp2(((log_decay_chunk -
               log_decay_k_tile) + (log_deca ... */
            const float log_decay_chunk_27 = log_decay_chunk[max(min(((chunks - chunk) * 128) - 1, n_k - 1), 0)];
            const float log_decay_chunk_low_28 = log_decay_chunk_low[max(min(((chunks - chunk) * 128) - 1, n_k - 1),
                0)];
            for (int64_t j = 0; j < j1 - j0; j += 8) {
                const vec_v3 t_29 = exp2_v3(((log_decay_chunk_27 - load_v3(log_decay_k_tile + j)) +
                    (log_decay_chunk_low_28 - load_v3(log_decay_k_low_tile + j))) * 1.442695f);
                for (int64_t d = 0; d < 64; d++) {
                    vec_v3 query_sum_3_in = (vec_v3){0};
                    vec_v3 query_sum_4_in = (vec_v3){0};
                    vec_v3 query_sum_5_in = (vec_v3){0};
                    vec_v3 query_sum_6_in = (vec_v3){0};
                    for (int64_t t33 = 0; t33 < 33; t33++) {
                        const int t_26 = ((t33 * 64) + d) < 2080;
                        const vec_v3 t_30 = load_v3(k_tile + ((d + t33) % 64) * 80 + j) * t_29;
                        query_sum_3_in += t_26 ? load_v3(sum_from_state + min((t33 * 64) + d,
                            2079) * 80 + j) * t_30 : splat_v3(0.0f);
                        const int t_31 = ((t33 * 64) + floor_mod(d - t33, 64)) < 2080;
                        const vec_v3 t_32 = load_v3(k_tile + floor_mod(d - t33, 64) * 80 + j) * t_29;
                        query_sum_4_in += t_31 ? load_v3(sum_from_state + min((t33 * 64) + floor_mod(d - t33, 64),
                            2079) * 80 + j) * t_32 : splat_v3(0.0f);
                        query_sum_5_in += t_26 ? load_v3(query_2 + min((t33 * 64) + d,
                            2079) * 80 + j) * t_30 : splat_v3(0.0f);
                        query_sum_6_in += t_31 ? load_v3(query_2 + min((t33 * 64) + floor_mod(d - t33, 64),
                            2079) * 80 + j) * t_32 : splat_v3(0.0f);
                    }
                    store_v3(query_sum_3 + d * 80 + j, load_v3(query_sum_3 + d * 80 + j) + query_sum_3_in);
                    store_v3(query_sum_4 + d * 80 + j, load_v3(query_sum_4 + d * 80 + j) + query_sum_4_in);
                    store_v3(query_sum_5 + d * 80 + j, load_v3(query_sum_5 + d * 80 + j) + query_sum_5_in);
                    store_v3(query_sum_6 + d * 80 + j, load_v3(query_sum_6 + d * 80 + j) + query_sum_6_in);
                }
            }
            /* sum = 0.0f; sum_compensation = 0.0f */
            for (int64_t d = 0; d < 64; d++) {
                for (int64_t j = 0; j < j1 - j0; j += 8) {
                    store_v3(sum + d * 80 + j, splat_v3(0.0f));
                    store_v3(sum_compensation + d * 80 + j, splat_v3(0.0f));
                }
            }
        }
        if (linear_heads_1) {
            /* sum_2 = 0.0f; sum_2_compensation = 0.0f; sum_from_state_2 = 0.0f */
            for (int64_t e = 0; e < 64; e++) {
                for (int64_t j = 0; j < j1 - j0; j += 8) {
                    store_v3(sum_2 + e * 80 + j, splat_v3(0.0f));
                    store_v3(sum_2_compensation + e * 80 + j, splat_v3(0.0f));
                    store_v3(sum_from_state_2 + e * 80 + j, splat_v3(0.0f));
                }
            }
        }
        for (int64_t f0 = 0, f_end = 2080; f0 < f_end; f0 += 192) {
            const int64_t f1 = min(f0 + 192, f_end);
            if (linear_heads_1 || dlog_decay_k) {
                /* query = (k_tile * k_tile) * exp2(((log_decay_chunk - log_decay_k_tile) + (log_decay_chunk_low -
                   log_decay_k_low_tile)) * 1.44269 ... */
                const float log_decay_chunk_33 = log_decay_chunk[max(min(((chunks - chunk) * 128) - 1, n_k - 1), 0)];
                const float log_decay_chunk_low_34 = log_decay_chunk_low[max(min(((chunks - chunk) * 128) - 1, n_k - 1),
                    0)];
                for (int64_t j = 0; j < j1 - j0; j += 8) {
                    const vec_v3 t_35 = exp2_v3(((log_decay_chunk_33 - load_v3(log_decay_k_tile + j)) +
                        (log_decay_chunk_low_34 - load_v3(log_decay_k_low_tile + j))) * 1.442695f);
                    vec_v3 query_sum_in = (vec_v3){0};
                    vec_v3 query_sum_in_whole = (vec_v3){0};
                    vec_v3 query_sum_2_in = (vec_v3){0};
                    vec_v3 query_sum_2_in_whole = (vec_v3){0};
                    for (int64_t f = f0; f < f1; f++) {
                        const vec_v3 query_new36 = (load_v3(k_tile + (f % 64) * 80 + j) * load_v3(k_tile + (((f % 64) +
                            (f / 64)) % 64) * 80 + j)) * t_35;
                        store_v3(query + (f - f0) * 80 + j, query_new36);
                        const vec_v3 t_37 = -query_new36;
                        query_sum_in += load_v3(sum_from_state + f * 80 + j) * t_37;
                        if (f % 192 == 191) {
                            query_sum_in_whole += query_sum_in;
                            query_sum_in = (vec_v3){0};
                        }
                        query_sum_2_in += load_v3(query_2 + f * 80 + j) * t_37;
                        if (f % 192 == 191) {
                            query_sum_2_in_whole += query_sum_2_in;
                            query_sum_2_in = (vec_v3){0};
                        }
                    }
                    query_sum_in += query_sum_in_whole;
                    store_v3(query_sum + j, load_v3(query_sum + j) + query_sum_in);
                    query_sum_2_in += query_sum_2_in_whole;
                    store_v3(query_sum_2 + j, load_v3(query_sum_2 + j) + query_sum_2_in);
                }
            }
            if (linear_heads_1) {
                /* sum_from_state_2[e][j] += sum over f of state * query */
                dot14_v3(round_up(j1 - j0, 8), f1 - f0, state + (chunk - chunk0) * 135200 + f0 * 64, query,
                    sum_from_state_2);
            }
        }
        /* the ranges of i that some query of the tile may see */
        struct attn_range i_range[] = {
            {max(j0 - query_start, -query_start), (((j1 - floor_mod(j1 - 1,
                128) - 1) / 128) * 128) - query_start + 128},
            {j0 - query_start, (0 <= (j1 - 1)) ? (-query_start) : 0},
        };
        const int64_t i_ranges = attn_union(i_range, 2, 0, n_q);
        /* the ranges that every query of the tile sees */
        struct attn_range i_inside[] = {
            {max(j1 - query_start - 1, -query_start), (((j0 - floor_mod(j0, 128)) / 128) * 128) - query_start + 128},
            {j1 - query_start - 1, (0 <= j0) ? (-query_start) : 0},
        };
        const int64_t i_insides = attn_union(i_inside, 2, 0, n_q);
        for (int64_t piece = 0; piece < i_ranges; piece++) {
            for (int64_t i0 = i_range[piece].from, i_end = i_range[piece].to; i0 < i_end; i0 += 64) {
                const int64_t i1 = min(i0 + 64, i_end);
                /* dout_tile = dout, with zeros beyond the last row */
                transpose_padded_v3(dout + i0 * dout_row, dout_row, i1 - i0, 64, dout_tile, 80, 64);
                /* saved_0_tile = saved_0, with zeros beyond the last row */
                for (int64_t i = 0; i < round_up(i1 - i0, 8); i++)
                    saved_0_tile[i] = i < i1 - i0 ? saved_0[(i0 + i)] : 0;
                /* score[i][j] = sum over d of q * k_tile */
                dot8_v3(round_up(j1 - j0, 8), i1 - i0, q + i0 * q_row, q_row, k_tile, score);
                /* dout_tile = dout_tile * saved_0_tile */
                for (int64_t i = 0; i < i1 - i0; i += 8) {
                    const vec_v3 saved_0_tile_38 = load_v3(saved_0_tile + i);
                    for (int64_t e = 0; e < 64; e++) {
                        store_v3(dout_tile + e * 80 + i, load_v3(dout_tile + e * 80 + i) * saved_0_tile_38);
                    }
                }
                if (linear_heads_0 || dlog_decay_k) {
                    /* score_2[i][j] = sum over e of dout_tile * v_tile */
                    dot15_v3(round_up(j1 - j0, 8), i1 - i0, dout_tile, v_tile, score_2);
                }
                /* weight = ((score * 0.125f) * (score * 0.125f)) * exp2(((log_decay_q - log_decay_k_tile) +
                   (log_decay_q_low - log_decay_k_low_til ... */
                for (int64_t j = 0; j < j1 - j0; j += 8) {
                    const vec_v3 log_decay_k_tile_41 = load_v3(log_decay_k_tile + j);
                    const vec_v3 log_decay_k_low_tile_42 = load_v3(log_decay_k_low_tile + j);
                    for (int64_t i = 0; i < i1 - i0; i++) {
                        const vec_v3 score_39 = load_v3(score + i * 80 + j);
                        const vec_v3 t_40 = score_39 * 0.125f;
                        const vec_v3 t_43 = exp2_v3(((log_decay_q[(i0 + i)] - log_decay_k_tile_41) +
                            (log_decay_q_low[(i0 + i)] - log_decay_k_low_tile_42)) * 1.442695f);
                        store_v3(weight + i * 80 + j, (t_40 * t_40) * t_43);
                        const vec_v3 score_2_44 = load_v3(score_2 + i * 80 + j);
                        const vec_v3 score_2_new45 = score_2_44 + row_0[(i0 + i)];
                        store_v3(score_2 + i * 80 + j, score_2_new45);
                        store_v3(score + i * 80 + j, score_2_new45 * ((score_39 * t_43) * 0.03125f));
                    }
                }
                if (dlog_decay_k) {
                    /* score_2 = score_2 * neg(weight) */
                    for (int64_t i = 0; i < i1 - i0; i++) {
                        for (int64_t j = 0; j < j1 - j0; j += 8) {
                            store_v3(score_2 + i * 80 + j, load_v3(score_2 + i * 80 + j) * (-load_v3(weight + i * 80 +
                                j)));
                        }
                    }
                }
                if (!attn_covers(i_inside, i_insides, i0, i1)) { /* the tile is partly outside the mask */
                    if (dlog_decay_k) {
                        /* score_2 = select((j <= (i + query_start)) && (((max(i + query_start, 0) / 128) * 128) <= j),
                           score_2, 0.0f) */
                        for (int64_t j = 0; j < j1 - j0; j += 8) {
                            const ints_v3 t_46 = j0 + j + lane_v3;
                            for (int64_t i = 0; i < i1 - i0; i++) {
                                const int64_t t_47 = (i0 + i) + query_start;
                                store_v3(score_2 + i * 80 + j, pick_v3(__builtin_convertvector((t_46 <= t_47) &
                                    (((max((i0 + i) + query_start, 0) / 128) * 128) <= t_46), mask_v3),
                                    load_v3(score_2 + i * 80 + j), splat_v3(0.0f)));
                            }
                        }
                    }
                }
                if (dlog_decay_k) {
                    /* row_sum += score_2 */
                    for (int64_t j_first = 0; j_first < j1 - j0; j_first += 16) {
                        vec_v3 row_sum_in[2];
                        UNROLL for (int64_t vector = 0, j = j_first; vector < 2; vector++, j += 8) {
                            row_sum_in[vector] = (vec_v3){0};
                        }
                        for (int64_t i = 0; i < i1 - i0; i++) {
                            UNROLL for (int64_t vector = 0, j = j_first; vector < 2; vector++, j += 8) {
                                row_sum_in[vector] += load_v3(score_2 + i * 80 + j);
                            }
                        }
                        UNROLL for (int64_t vector = 0, j = j_first; vector < 2; vector++, j += 8) {
                            add_v3(row_sum + j, row_sum_compensation + j, row_sum_in[vector], splat_v3(1));
                        }
                    }
                }
                if (!attn_covers(i_inside, i_insides, i0, i1)) { /* the tile is partly outside the mask */
                    if (linear_heads_0) {
                        /* score = select((j <= (i + query_start)) && (((max(i + query_start, 0) / 128) * 128) <= j),
                           score, 0.0f) */
                        for (int64_t j = 0; j < j1 - j0; j += 8) {
                            const ints_v3 t_48 = j0 + j + lane_v3;
                            for (int64_t i = 0; i < i1 - i0; i++) {
                                const int64_t t_49 = (i0 + i) + query_start;
                                store_v3(score + i * 80 + j, pick_v3(__builtin_convertvector((t_48 <= t_49) & (((max((i0
                                    + i) + query_start, 0) / 128) * 128) <= t_48), mask_v3),
                                    load_v3(score + i * 80 + j), splat_v3(0.0f)));
                            }
                        }
                    }
                }
                if (linear_heads_0) {
                    /* sum[d][j] += sum over i of q * score */
                    if (__builtin_expect((!attn_covers(i_inside, i_insides, i0, i1)) && !finite_v3(q + i0 * q_row,
                        q_row, i1 - i0, 64), 0)) { /* infinity and NaN affect only queries that see them */
                        dot1_v3(round_up(j1 - j0, 8), i1 - i0, q + i0 * q_row, q_row, score, sum, sum_compensation);
                        for (int64_t i = 0; i < i1 - i0; i++) {
                            mask_v3 in_region[8] = {0};
                            if (finite_v3(q + i0 * q_row + i * q_row, 1, 64, 1)) continue;
                            const int64_t t_51 = (i0 + i) + query_start;
                            const int64_t t_52 = (max((i0 + i) + query_start, 0) / 128) * 128;
                            for (int64_t j = 0; j < j1 - j0; j += 8) {
                                const ints_v3 t_50 = j0 + j + lane_v3;
                                in_region[j / 8] = __builtin_convertvector((t_50 <= t_51) & (t_52 <= t_50), mask_v3);
                            }
                            add_seen_v3(64, sum, 80, q + i0 * q_row + i * q_row, 1, score + i * 80, in_region, j1 - j0);
                        }
                    } else
                        dot2_v3(round_up(j1 - j0, 8), i1 - i0, q + i0 * q_row, q_row, score, sum, sum_compensation);
                }
                if (!attn_covers(i_inside, i_insides, i0, i1)) { /* the tile is partly outside the mask */
                    if (linear_heads_1) {
                        /* weight = select((j <= (i + query_start)) && (((max(i + query_start, 0) / 128) * 128) <= j),
                           weight, 0.0f) */
                        for (int64_t j = 0; j < j1 - j0; j += 8) {
                            const ints_v3 t_53 = j0 + j + lane_v3;
                            for (int64_t i = 0; i < i1 - i0; i++) {
                                const int64_t t_54 = (i0 + i) + query_start;
                                store_v3(weight + i * 80 + j, pick_v3(__builtin_convertvector((t_53 <= t_54) &
                                    (((max((i0 + i) + query_start, 0) / 128) * 128) <= t_53), mask_v3),
                                    load_v3(weight + i * 80 + j), splat_v3(0.0f)));
                            }
                        }
                    }
                }
                if (linear_heads_1) {
                    /* sum_2[e][j] += sum over i of dout_tile * weight */
                    if (__builtin_expect((!attn_covers(i_inside, i_insides, i0, i1)) && !finite_v3(dout_tile, 80, 64,
                        i1 - i0), 0)) { /* infinity and NaN affect only queries that see them */
                        dot16_v3(round_up(j1 - j0, 8), i1 - i0, dout_tile, weight, sum_2, sum_2_compensation);
                        for (int64_t i = 0; i < i1 - i0; i++) {
                            mask_v3 in_region[8] = {0};
                            if (finite_v3(dout_tile + i * 1, 80, 64, 1)) continue;
                            const int64_t t_56 = (i0 + i) + query_start;
                            const int64_t t_57 = (max((i0 + i) + query_start, 0) / 128) * 128;
                            for (int64_t j = 0; j < j1 - j0; j += 8) {
                                const ints_v3 t_55 = j0 + j + lane_v3;
                                in_region[j / 8] = __builtin_convertvector((t_55 <= t_56) & (t_57 <= t_55), mask_v3);
                            }
                            add_seen_v3(64, sum_2, 80, dout_tile + i * 1, 80, weight + i * 80, in_region, j1 - j0);
                        }
                    } else
                        dot17_v3(round_up(j1 - j0, 8), i1 - i0, dout_tile, weight, sum_2, sum_2_compensation);
                }
            }
        }
        if (dlog_decay_k) {
            /* row_sum = (row_sum + query_sum) + query_sum_2 */
            for (int64_t j = 0; j < j1 - j0; j += 8) {
                store_v3(row_sum + j, (load_v3(row_sum + j) + load_v3(query_sum + j)) + load_v3(query_sum_2 + j));
            }
        }
        if (linear_heads_0) {
            /* query_sum_3 = (((query_sum_3 + query_sum_4) + query_sum_5) + query_sum_6) + sum */
            for (int64_t d = 0; d < 64; d++) {
                for (int64_t j = 0; j < j1 - j0; j += 8) {
                    store_v3(query_sum_3 + d * 80 + j, (((load_v3(query_sum_3 + d * 80 + j) + load_v3(query_sum_4 + d *
                        80 + j)) + load_v3(query_sum_5 + d * 80 + j)) + load_v3(query_sum_6 + d * 80 + j)) + load_v3(sum
                        + d * 80 + j));
                }
            }
        }
        if (linear_heads_1) {
            /* sum_2 = sum_2 + sum_from_state_2 */
            for (int64_t e = 0; e < 64; e++) {
                for (int64_t j = 0; j < j1 - j0; j += 8) {
                    store_v3(sum_2 + e * 80 + j, load_v3(sum_2 + e * 80 + j) + load_v3(sum_from_state_2 + e * 80 + j));
                }
            }
        }
        if (linear_heads_0) {
            /* linear_heads_0 = query_sum_3, transposed back */
            transpose_out_v3(query_sum_3, 80, 64, j1 - j0, linear_heads_0 + j0 * linear_heads_0_row, linear_heads_0_row,
                64);
        }
        if (linear_heads_1) {
            /* linear_heads_1 = sum_2, transposed back */
            transpose_out_v3(sum_2, 80, 64, j1 - j0, linear_heads_1 + j0 * linear_heads_1_row, linear_heads_1_row, 64);
        }
        if (dlog_decay_k) {
            /* dlog_decay_k = row_sum */
            for (int64_t j = 0; j < j1 - j0; j++)
                dlog_decay_k[(j0 + j)] = row_sum[j];
        }
    }
}

/* Computes head number `task`. Each thread on the head calls this with its share, `part`. */
TARGET_v3 static void power_gated_linear_linear_heads_0_linear_heads_1_dlog_decay_k_v3(const struct call *call,
    int64_t task, struct part *part)
{
    const int64_t n_k = call->p.n_k;
    const int64_t chunks = n_k > 0 ? (n_k - 1) / 128 + 1 : 1;
    for (int64_t iteration = part->number; iteration < ((2080 + 31) / 32); iteration += part->threads)
        power_gated_linear_linear_heads_0_linear_heads_1_dlog_decay_k_begin_v3(call, task, part, iteration);
    synchronise(part);
    const int64_t first = 0;
    const int64_t length = segment_length(part, chunks - first);
    for (int64_t segment = part->number; first + segment * length < chunks; segment += part->threads) {
        part->chunk0 = first + segment * length;
        part->chunk1 = min(part->chunk0 + length, chunks);
        for (int64_t iteration = part->chunk0; iteration < part->chunk1; iteration++)
            power_gated_linear_linear_heads_0_linear_heads_1_dlog_decay_k_queries_v3(call, task, part, iteration);
        for (int64_t group = 0; group < 16; group++) {
            await_segment(part, group, segment);
            const int64_t end = (group + 1) * ((2080 + 31) / 32) / 16;
            for (int64_t iteration = group * ((2080 + 31) / 32) / 16; iteration < end; iteration++)
                power_gated_linear_linear_heads_0_linear_heads_1_dlog_decay_k_fold_v3(call, task, part, iteration);
            pass_segment(part, group, segment);
        }
        for (int64_t iteration = part->chunk0; iteration < part->chunk1; iteration++)
            power_gated_linear_linear_heads_0_linear_heads_1_dlog_decay_k_keys_v3(call, task, part, iteration);
    }
    part->segments += (max(chunks - first, 0) + length - 1) / length;
    synchronise(part);
}

/* Computes task number `task`: the totals of the partial sums that the slices of rows have stored. `work` is this
   thread's workspace. */
TARGET_v3 static void power_gated_linear_totals1_v3(const struct call *call, int64_t task, unsigned char *work)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_k = call->p.n_k;
    const int64_t tiles = (n_k + 32 - 1) / 32, j0 = (tiles - 1 - task % tiles) * 32,
        j1 = min(j0 + 32, n_k);
    const int64_t g = task / tiles % kv_heads;
    const int64_t b = task / tiles / kv_heads;
    const float *const linear_heads_0 = call->linear_heads_0 ? call->linear_heads_0 + b * call->linear_heads_0_at.batch
        + g * members * call->linear_heads_0_at.head : NULL;
    const int64_t linear_heads_0_row = call->linear_heads_0_at.row;
    const int64_t linear_heads_0_head = call->linear_heads_0_at.head;
    const float *const linear_heads_1 = call->linear_heads_1 ? call->linear_heads_1 + b * call->linear_heads_1_at.batch
        + g * members * call->linear_heads_1_at.head : NULL;
    const int64_t linear_heads_1_row = call->linear_heads_1_at.row;
    const int64_t linear_heads_1_head = call->linear_heads_1_at.head;
    float *const row_sum = (float *)(void *)(work + 0); /* [d: 64, j: 32] */
    float *const row_sum_2 = (float *)(void *)(work + 8192); /* [e: 64, j: 32] */
    float *const dk = call->dk ? call->dk + b * call->p.dk.batch + g * call->p.dk.head : NULL;
    const int64_t dk_row = call->p.dk.row;
    float *const dv = call->dv ? call->dv + b * call->p.dv.batch + g * call->p.dv.head : NULL;
    const int64_t dv_row = call->p.dv.row;
    float *const linear_heads_0_tile = (float *)(void *)(work + 16384); /* [d: 64, j: 32] */
    float *const linear_heads_1_tile = (float *)(void *)(work + 24576); /* [e: 64, j: 32] */
    if (dk) {
        /* row_sum = 0.0f */
        for (int64_t d = 0; d < 64; d++) {
            for (int64_t j = 0; j < j1 - j0; j += 8) {
                store_v3(row_sum + d * 32 + j, splat_v3(0.0f));
            }
        }
    }
    if (dv) {
        /* row_sum_2 = 0.0f */
        for (int64_t e = 0; e < 64; e++) {
            for (int64_t j = 0; j < j1 - j0; j += 8) {
                store_v3(row_sum_2 + e * 32 + j, splat_v3(0.0f));
            }
        }
    }
    for (int64_t m = 0; m < members; m++) {
        if (dk) {
            /* linear_heads_0_tile = linear_heads_0, with zeros beyond the last row */
            transpose_padded_v3(linear_heads_0 + m * linear_heads_0_head + j0 * linear_heads_0_row, linear_heads_0_row,
                j1 - j0, 64, linear_heads_0_tile, 32, 8);
        }
        if (dv) {
            /* linear_heads_1_tile = linear_heads_1, with zeros beyond the last row */
            transpose_padded_v3(linear_heads_1 + m * linear_heads_1_head + j0 * linear_heads_1_row, linear_heads_1_row,
                j1 - j0, 64, linear_heads_1_tile, 32, 8);
        }
        if (dk) {
            /* row_sum += linear_heads_0_tile */
            for (int64_t j_first = 0; j_first < j1 - j0; j_first += 16) {
                for (int64_t d = 0; d < 64; d++) {
                    UNROLL for (int64_t vector = 0, j = j_first; vector < 2; vector++, j += 8) {
                        store_v3(row_sum + d * 32 + j, load_v3(row_sum + d * 32 + j) + load_v3(linear_heads_0_tile + d *
                            32 + j));
                    }
                }
            }
        }
        if (dv) {
            /* row_sum_2 += linear_heads_1_tile */
            for (int64_t j_first = 0; j_first < j1 - j0; j_first += 16) {
                for (int64_t e = 0; e < 64; e++) {
                    UNROLL for (int64_t vector = 0, j = j_first; vector < 2; vector++, j += 8) {
                        store_v3(row_sum_2 + e * 32 + j, load_v3(row_sum_2 + e * 32 + j) + load_v3(linear_heads_1_tile +
                            e * 32 + j));
                    }
                }
            }
        }
    }
    if (dk) {
        /* dk = row_sum, transposed back */
        transpose_out_v3(row_sum, 32, 64, j1 - j0, dk + j0 * dk_row, dk_row, 8);
    }
    if (dv) {
        /* dv = row_sum_2, transposed back */
        transpose_out_v3(row_sum_2, 32, 64, j1 - j0, dv + j0 * dv_row, dv_row, 8);
    }
}

/* Computes task number `task`: one tile of keys of one head. `work` is this thread's workspace. */
TARGET_v3 static void power_gated_linear_terms_dgate_v3(const struct call *call, int64_t task, unsigned char *work)
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
TARGET_v3 static void power_gated_terms_v3(const struct call *call, int64_t task, unsigned char *work)
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

/* Like dot_any, but a is in memory, so its rows are prefetched 64 rows early. For each row of a, `width` elements
   of a row of `next` are prefetched too, which a later product reads, and `result_width` elements of a row of `result`,
   which the task writes at its end. `result` has `results` rows. */
INLINE void dot_ahead_any(const int vectors, const int64_t lanes, int64_t rows, const int tail, int64_t steps,
    const int64_t span, const float *a, int64_t a_row, int64_t a_step, const float *b, int64_t b_step, float *c,
    int64_t c_row, const int update, const float *factor, float *compensation, const float *next, int64_t next_row,
    const int64_t width, const float *result, int64_t result_row, const int64_t result_width, int64_t results)
{
    const int64_t whole = rows - rows % 6, line = 64 / (int64_t)sizeof *a,
        in_blocks = lanes_in_blocks_any(vectors, lanes);
    int64_t x = 0;
    for (; x < in_blocks; x += vectors * 4) {
        const float *const f = factor ? factor + x : NULL;
        float *const left = compensation ? compensation + x : NULL;
        for (int64_t r = 0; r < whole; r += 6) {
            for (int64_t k = r; k < r + 6 && x == 0; k++) {
                for (int64_t t = 0; t < steps; t += line) __builtin_prefetch(a + (k + 64) * a_row + t, 0, 2);
                for (int64_t t = 0; t < width; t += line) __builtin_prefetch(next + k * next_row + t, 0, 2);
                for (int64_t t = 0; t < result_width && k < results; t += line)
                    __builtin_prefetch(result + k * result_row + t, 1, 2);
            }
            parts_any(6, vectors, steps, span, a + r * a_row, a_row, a_step, b + x, b_step, c + r * c_row + x, c_row,
                update, f, left ? left + r * c_row : NULL);
        }
        dot_any(vectors, vectors * 4, rows % 6, tail, steps, span, a + whole * a_row, a_row, a_step, b + x, b_step,
            c + whole * c_row + x, c_row, update, f, left ? left + whole * c_row : NULL);
    }
    if (x < lanes)
        narrow_any(lanes - x, rows, steps, span, a, a_row, a_step, b + x, b_step, c + x, c_row, update,
            factor ? factor + x : NULL, compensation ? compensation + x : NULL);
}

/* Like dot_any, but uses 0 for infinity and NaN in a. It copies one row of a at a time. */
INLINE void dot_finite_any(const int vectors, const int64_t lanes, int64_t rows, const int tail, int64_t steps,
    const int64_t span, const float *a, int64_t a_row, int64_t a_step, const float *b, int64_t b_step, float *c,
        int64_t c_row,
    const int update, const float *factor, float *compensation)
{
    float row[288];
    (void)tail;
    for (int64_t r = 0; r < rows; r++, a += a_row) {
        for (int64_t t = 0; t < steps; t++) {
            row[t] = finite_any(a + t * a_step, 0, 1, 1) ? a[t * a_step] : 0;
        }
        dot_any(vectors, lanes, 1, 1, steps, span, row, 0, 1, b, b_step, c + r * c_row, c_row,
            update, factor, compensation ? compensation + r * c_row : NULL);
    }
}

/* The functions for the products below. Each calls dot_any or a similar function with constants. */
APART void dot0_any(int64_t lanes, int64_t rows, const float *a, int64_t a_row, const float *b, float *c,
    const float *next, int64_t next_row, const float *result, int64_t result_row, int64_t results)
{
    dot_ahead_any(/*vectors=*/2, lanes, rows, /*tail=*/-1, /*steps=*/64, /*span=*/32, a, a_row, /*a_step=*/1, b,
        /*b_step=*/80, c, /*c_row=*/80, /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL, next, next_row,
        /*width=*/64, result, result_row, /*result_width=*/64, results);
}
APART void dot1_any(int64_t lanes, int64_t steps, const float *a, int64_t a_step, const float *b, float *c,
    float *compensation)
{
    dot_finite_any(/*vectors=*/2, lanes, /*rows=*/64, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/1, a_step, b,
        /*b_step=*/80, c, /*c_row=*/80, /*update=*/3, /*factor=*/NULL, compensation);
}
APART void dot2_any(int64_t lanes, int64_t steps, const float *a, int64_t a_step, const float *b, float *c,
    float *compensation)
{
    dot_any(/*vectors=*/2, lanes, /*rows=*/64, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/1, a_step, b,
        /*b_step=*/80, c, /*c_row=*/80, /*update=*/3, /*factor=*/NULL, compensation);
}
APART void dot3_any(int64_t rows, int64_t steps, const float *a, const float *b, int64_t b_step, float *c)
{
    dot_any(/*vectors=*/2, /*lanes=*/64, rows, /*tail=*/-1, steps, /*span=*/192, a, /*a_row=*/80, /*a_step=*/1, b,
        b_step, c, /*c_row=*/64, /*update=*/1, /*factor=*/NULL, /*compensation=*/NULL);
}
APART void dot4_any(int64_t lanes, int64_t steps, const float *a, const float *b, float *c)
{
    dot_any(/*vectors=*/2, lanes, /*rows=*/64, /*tail=*/4, steps, /*span=*/32, a, /*a_row=*/1, /*a_step=*/64, b,
        /*b_step=*/32, c, /*c_row=*/32, /*update=*/1, /*factor=*/NULL, /*compensation=*/NULL);
}
APART void dot5_any(int64_t lanes, int64_t rows, const float *a, int64_t a_row, const float *b, float *c,
    const float *next, int64_t next_row)
{
    dot_ahead_any(/*vectors=*/2, lanes, rows, /*tail=*/-1, /*steps=*/64, /*span=*/32, a, a_row, /*a_step=*/1, b,
        /*b_step=*/32, c, /*c_row=*/32, /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL, next, next_row,
        /*width=*/64, /*result=*/NULL, /*result_row=*/0, /*result_width=*/0, /*results=*/0);
}
APART void dot6_any(int64_t lanes, int64_t steps, const float *a, int64_t a_step, const float *b, float *c,
    float *compensation)
{
    dot_finite_any(/*vectors=*/2, lanes, /*rows=*/64, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/1, a_step, b,
        /*b_step=*/32, c, /*c_row=*/32, /*update=*/3, /*factor=*/NULL, compensation);
}
APART void dot7_any(int64_t lanes, int64_t steps, const float *a, int64_t a_step, const float *b, float *c,
    float *compensation)
{
    dot_any(/*vectors=*/2, lanes, /*rows=*/64, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/1, a_step, b,
        /*b_step=*/32, c, /*c_row=*/32, /*update=*/3, /*factor=*/NULL, compensation);
}
APART void dot8_any(int64_t lanes, int64_t rows, const float *a, int64_t a_row, const float *b, float *c)
{
    dot_ahead_any(/*vectors=*/2, lanes, rows, /*tail=*/-1, /*steps=*/64, /*span=*/32, a, a_row, /*a_step=*/1, b,
        /*b_step=*/80, c, /*c_row=*/80, /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL, /*next=*/NULL,
        /*next_row=*/0, /*width=*/0, /*result=*/NULL, /*result_row=*/0, /*result_width=*/0, /*results=*/0);
}
APART void dot9_any(int64_t lanes, int64_t rows, const float *a, int64_t a_row, const float *b, float *c,
    const float *result, int64_t result_row, int64_t results)
{
    dot_ahead_any(/*vectors=*/2, lanes, rows, /*tail=*/-1, /*steps=*/64, /*span=*/32, a, a_row, /*a_step=*/1, b,
        /*b_step=*/80, c, /*c_row=*/80, /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL, /*next=*/NULL,
        /*next_row=*/0, /*width=*/0, result, result_row, /*result_width=*/64, results);
}
APART void dot10_any(int64_t lanes, int64_t rows, const float *a, int64_t a_row, const float *b, float *c)
{
    dot_ahead_any(/*vectors=*/2, lanes, rows, /*tail=*/-1, /*steps=*/64, /*span=*/32, a, a_row, /*a_step=*/1, b,
        /*b_step=*/32, c, /*c_row=*/32, /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL, /*next=*/NULL,
        /*next_row=*/0, /*width=*/0, /*result=*/NULL, /*result_row=*/0, /*result_width=*/0, /*results=*/0);
}
APART void dot11_any(int64_t lanes, const float *a, const float *b, float *c)
{
    dot_any(/*vectors=*/2, lanes, /*rows=*/2080, /*tail=*/4, /*steps=*/64, /*span=*/32, a, /*a_row=*/64, /*a_step=*/1,
        b, /*b_step=*/32, c, /*c_row=*/32, /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL);
}
APART void dot12_any(int64_t rows, int64_t steps, const float *a, const float *b, float *c)
{
    dot_any(/*vectors=*/2, /*lanes=*/64, rows, /*tail=*/-1, steps, /*span=*/192, a, /*a_row=*/80, /*a_step=*/1, b,
        /*b_step=*/64, c, /*c_row=*/64, /*update=*/1, /*factor=*/NULL, /*compensation=*/NULL);
}
APART void dot13_any(int64_t lanes, const float *a, const float *b, float *c)
{
    dot_any(/*vectors=*/2, lanes, /*rows=*/2080, /*tail=*/4, /*steps=*/64, /*span=*/32, a, /*a_row=*/64, /*a_step=*/1,
        b, /*b_step=*/80, c, /*c_row=*/80, /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL);
}
APART void dot14_any(int64_t lanes, int64_t steps, const float *a, const float *b, float *c)
{
    dot_any(/*vectors=*/2, lanes, /*rows=*/64, /*tail=*/4, steps, /*span=*/32, a, /*a_row=*/1, /*a_step=*/64, b,
        /*b_step=*/80, c, /*c_row=*/80, /*update=*/1, /*factor=*/NULL, /*compensation=*/NULL);
}
APART void dot15_any(int64_t lanes, int64_t rows, const float *a, const float *b, float *c)
{
    dot_any(/*vectors=*/2, lanes, rows, /*tail=*/-1, /*steps=*/64, /*span=*/32, a, /*a_row=*/1, /*a_step=*/80, b,
        /*b_step=*/80, c, /*c_row=*/80, /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL);
}
APART void dot16_any(int64_t lanes, int64_t steps, const float *a, const float *b, float *c, float *compensation)
{
    dot_finite_any(/*vectors=*/2, lanes, /*rows=*/64, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/80, /*a_step=*/1, b,
        /*b_step=*/80, c, /*c_row=*/80, /*update=*/3, /*factor=*/NULL, compensation);
}
APART void dot17_any(int64_t lanes, int64_t steps, const float *a, const float *b, float *c, float *compensation)
{
    dot_any(/*vectors=*/2, lanes, /*rows=*/64, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/80, /*a_step=*/1, b,
        /*b_step=*/80, c, /*c_row=*/80, /*update=*/3, /*factor=*/NULL, compensation);
}

/* Computes task number `task`: one tile of queries of one head. `work` is this thread's workspace. */
static void power_gated_rows_any(const struct call *call, int64_t task, unsigned char *work)
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
    const float *const q = call->q + b * call->p.q.batch + (g / call->sharing * members + m) * call->p.q.head;
    const int64_t q_row = call->p.q.row;
    const float *const k = call->k + b * call->p.k.batch + g / call->sharing * call->p.k.head;
    const int64_t k_row = call->p.k.row;
    const float *const v = call->v + b * call->p.v.batch + g * call->p.v.head;
    const int64_t v_row = call->p.v.row;
    const float *const log_decay_q_low = call->log_decay_q_low + b * call->log_decay_q_low_at.batch + (g * members + m)
        * call->log_decay_q_low_at.head;
    const float *const log_decay_q = call->log_decay_q + b * call->log_decay_q_at.batch + (g * members + m) *
        call->log_decay_q_at.head;
    const float *const log_decay_k_low = call->log_decay_k_low + b * call->log_decay_k_low_at.batch + (g * members + m)
        * call->log_decay_k_low_at.head;
    const float *const log_decay_k = call->log_decay_k + b * call->log_decay_k_at.batch + (g * members + m) *
        call->log_decay_k_at.head;
    float *const score = (float *)(void *)(work + 0); /* [j: 288, i: 64 of 80] */
    float *const row_sum = (float *)(void *)(work + 92160); /* [i: 64] */
    float *const row_sum_compensation = (float *)(void *)(work + 92416); /* [i: 64] */
    float *const sum = (float *)(void *)(work + 92672); /* [e: 64, i: 64 of 80] */
    float *const sum_compensation = (float *)(void *)(work + 113152); /* [e: 64, i: 64 of 80] */
    float *const out = call->out + b * call->p.out.batch + (g * members + m) * call->p.out.head;
    const int64_t out_row = call->p.out.row;
    float *const saved_0 = call->saved_0 ? call->saved_0 + (b * call->p.heads + (g * members + m)) * call->p.n_q : NULL;
    float *const q_tile = (float *)(void *)(work + 133632); /* [d: 64, i: 64 of 80] */
    float *const log_decay_q_tile = (float *)(void *)(work + 154112); /* [i: 64] */
    float *const log_decay_q_low_tile = (float *)(void *)(work + 154368); /* [i: 64] */
    int64_t results = i1 - i0; /* rows of out to prefetch during the first product */
    /* q_tile = q, with zeros beyond the last row */
    transpose_padded_any(q + i0 * q_row, q_row, i1 - i0, 64, q_tile, 80, 4);
    /* log_decay_q_tile = log_decay_q, with zeros beyond the last row */
    for (int64_t i = 0; i < round_up(i1 - i0, 4); i++)
        log_decay_q_tile[i] = i < i1 - i0 ? log_decay_q[(i0 + i)] : 0;
    /* log_decay_q_low_tile = log_decay_q_low, with zeros beyond the last row */
    for (int64_t i = 0; i < round_up(i1 - i0, 4); i++)
        log_decay_q_low_tile[i] = i < i1 - i0 ? log_decay_q_low[(i0 + i)] : 0;
    /* q_tile = q_tile * 0.125f */
    for (int64_t d = 0; d < 64; d++) {
        for (int64_t i = 0; i < i1 - i0; i += 4) {
            store_any(q_tile + d * 80 + i, load_any(q_tile + d * 80 + i) * 0.125f);
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
            store_any(sum + e * 80 + i, splat_any(0.0f));
            store_any(sum_compensation + e * 80 + i, splat_any(0.0f));
        }
    }
    for (int64_t j0 = 0, j_end = min(n_k, i1 + query_start); j0 < j_end; j0 += 288) {
        const int64_t j1 = min(j0 + 288, j_end);
        /* score[j][i] = sum over d of k * q_tile */
        dot0_any(round_up(i1 - i0, 4), j1 - j0, k + j0 * k_row, k_row, q_tile, score, v + j0 * v_row, v_row,
            out + i0 * out_row, out_row, results);
        results = 0;
        if ((i0 + query_start + 1) < j1) { /* the tile is partly outside the mask */
            /* score = select(j <= (i + query_start), (score * score) * exp2(((log_decay_q_tile - log_decay_k) +
               (log_decay_q_low_tile - log_de ... */
            for (int64_t i = 0; i < i1 - i0; i += 4) {
                const ints_any t_0 = (i0 + i + lane_any) + query_start;
                const vec_any log_decay_q_tile_2 = load_any(log_decay_q_tile + i);
                const vec_any log_decay_q_low_tile_3 = load_any(log_decay_q_low_tile + i);
                vec_any row_sum_in = (vec_any){0};
                for (int64_t j = 0; j < j1 - j0; j++) {
                    const vec_any score_1 = load_any(score + j * 80 + i);
                    const vec_any score_new4 = pick_any(__builtin_convertvector((j0 + j) <= t_0, mask_any),
                        (score_1 * score_1) * exp2_any(((log_decay_q_tile_2 - log_decay_k[(j0 + j)]) +
                        (log_decay_q_low_tile_3 - log_decay_k_low[(j0 + j)])) * 1.442695f), splat_any(0.0f));
                    store_any(score + j * 80 + i, score_new4);
                    row_sum_in += score_new4;
                }
                add_any(row_sum + i, row_sum_compensation + i, row_sum_in, splat_any(1));
            }
        }
        if (!((i0 + query_start + 1) < j1)) { /* the tile is wholly inside the mask */
            /* score = (score * score) * exp2(((log_decay_q_tile - log_decay_k) + (log_decay_q_low_tile -
               log_decay_k_low)) * 1.442695f); row_s ... */
            for (int64_t i = 0; i < i1 - i0; i += 4) {
                const vec_any log_decay_q_tile_6 = load_any(log_decay_q_tile + i);
                const vec_any log_decay_q_low_tile_7 = load_any(log_decay_q_low_tile + i);
                vec_any row_sum_in = (vec_any){0};
                for (int64_t j = 0; j < j1 - j0; j++) {
                    const vec_any score_5 = load_any(score + j * 80 + i);
                    const vec_any score_new8 = (score_5 * score_5) * exp2_any(((log_decay_q_tile_6 - log_decay_k[(j0 +
                        j)]) + (log_decay_q_low_tile_7 - log_decay_k_low[(j0 + j)])) * 1.442695f);
                    store_any(score + j * 80 + i, score_new8);
                    row_sum_in += score_new8;
                }
                add_any(row_sum + i, row_sum_compensation + i, row_sum_in, splat_any(1));
            }
        }
        /* sum[e][i] += sum over j of v * score */
        if (__builtin_expect(((i0 + query_start + 1) < j1) && !finite_any(v + j0 * v_row, v_row, j1 - j0, 64),
            0)) { /* infinity and NaN affect only queries that see them */
            dot1_any(round_up(i1 - i0, 4), j1 - j0, v + j0 * v_row, v_row, score, sum, sum_compensation);
            for (int64_t j = 0; j < j1 - j0; j++) {
                mask_any in_region[16] = {0};
                if (finite_any(v + j0 * v_row + j * v_row, 1, 64, 1)) continue;
                for (int64_t i = 0; i < i1 - i0; i += 4) {
                    in_region[i / 4] = __builtin_convertvector((j0 + j) <= ((i0 + i + lane_any) + query_start),
                        mask_any);
                }
                add_seen_any(64, sum, 80, v + j0 * v_row + j * v_row, 1, score + j * 80, in_region, i1 - i0);
            }
        } else
            dot2_any(round_up(i1 - i0, 4), j1 - j0, v + j0 * v_row, v_row, score, sum, sum_compensation);
    }
    /* sum = select((row_sum + 1.0f) == 0.0f, 0.0f, sum / (row_sum + 1.0f)) */
    for (int64_t i = 0; i < i1 - i0; i += 4) {
        const vec_any t_9 = load_any(row_sum + i) + 1.0f;
        const mask_any t_10 = t_9 == 0.0f;
        for (int64_t e = 0; e < 64; e++) {
            store_any(sum + e * 80 + i, pick_any(t_10, splat_any(0.0f), load_any(sum + e * 80 + i) / t_9));
        }
    }
    if (saved_0) {
        /* row_sum = select((row_sum + 1.0f) == 0.0f, 0.0f, 1.0f / (row_sum + 1.0f)) */
        for (int64_t i = 0; i < i1 - i0; i += 4) {
            const vec_any t_11 = load_any(row_sum + i) + 1.0f;
            store_any(row_sum + i, pick_any(t_11 == 0.0f, splat_any(0.0f), 1.0f / t_11));
        }
    }
    /* out = sum, transposed back */
    transpose_out_any(sum, 80, 64, i1 - i0, out + i0 * out_row, out_row, 4);
    if (saved_0) {
        /* saved_0 = row_sum */
        for (int64_t i = 0; i < i1 - i0; i++)
            saved_0[(i0 + i)] = row_sum[i];
    }
}

/* Initialises the states: they contain no keys yet. */
APART void power_gated_begin_any(const struct call *call, int64_t task, const struct part *part, int64_t iteration)
{
    (void)call;
    (void)task;
    const int64_t f0 = iteration * 32, f1 = min(f0 + 32, 2080);
    float *const carried_sum = (float *)(void *)(part->shared + 0); /* [f: 2080] */
    float *const carried_sum_compensation = (float *)(void *)(part->shared + 540800); /* [f: 2080] */
    float *const carried = (float *)(void *)(part->shared + 8320); /* [f: 2080, e: 64] */
    float *const carried_compensation = (float *)(void *)(part->shared + 549120); /* [f: 2080, e: 64] */
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
APART void power_gated_keys_any(const struct call *call, int64_t task, const struct part *part, int64_t iteration)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_k = call->p.n_k;
    const int64_t chunk = iteration;
    const int64_t chunk0 = part->chunk0;
    const int64_t m = task % members;
    const int64_t g = task / members % kv_heads;
    const int64_t b = task / members / kv_heads;
    const float *const k = call->k + b * call->p.k.batch + g / call->sharing * call->p.k.head;
    const int64_t k_row = call->p.k.row;
    const float *const v = call->v + b * call->p.v.batch + g * call->p.v.head;
    const int64_t v_row = call->p.v.row;
    const float *const log_decay_k_low = call->log_decay_k_low + b * call->log_decay_k_low_at.batch + (g * members + m)
        * call->log_decay_k_low_at.head;
    const float *const log_decay_k = call->log_decay_k + b * call->log_decay_k_at.batch + (g * members + m) *
        call->log_decay_k_at.head;
    const float *const log_decay_chunk_low = call->log_decay_chunk_low + b * call->log_decay_chunk_low_at.batch + (g *
        members + m) * call->log_decay_chunk_low_at.head;
    const float *const log_decay_chunk = call->log_decay_chunk + b * call->log_decay_chunk_at.batch + (g * members + m)
        * call->log_decay_chunk_at.head;
    float *const key_features = (float *)(void *)(part->work + 0); /* [f: 192, j: 64 of 80] */
    float *const state_sum = (float *)(void *)(part->slots + 0); /* [chunk, f: 2080] */
    float *const state = (float *)(void *)(part->slots + 8320); /* [chunk, f: 2080, e: 64] */
    float *const k_tile = (float *)(void *)(part->work + 61440); /* [d: 64, j: 64 of 80] */
    float *const log_decay_k_tile = (float *)(void *)(part->work + 81920); /* [j: 64] */
    float *const log_decay_k_low_tile = (float *)(void *)(part->work + 82176); /* [j: 64] */
    /* state_sum = 0.0f */
    for (int64_t f = 0; f < 2080; f += 4) {
        store_any(state_sum + (chunk - chunk0) * 135200 + f, splat_any(0.0f));
    }
    /* state = 0.0f */
    for (int64_t f = 0; f < 2080; f++) {
        for (int64_t e_first = 0; e_first < 64; e_first += 8) {
            UNROLL for (int64_t vector = 0, e = e_first; vector < 2; vector++, e += 4) {
                store_any(state + (chunk - chunk0) * 135200 + f * 64 + e, splat_any(0.0f));
            }
        }
    }
    for (int64_t j0 = chunk * 128, j_end = min(n_k, (chunk + 1) * 128); j0 < j_end; j0 += 64) {
        const int64_t j1 = min(j0 + 64, j_end);
        /* k_tile = k, with zeros beyond the last row */
        transpose_padded_any(k + j0 * k_row, k_row, j1 - j0, 64, k_tile, 80, 64);
        /* log_decay_k_tile = log_decay_k, with zeros beyond the last row */
        for (int64_t j = 0; j < round_up(j1 - j0, 4); j++)
            log_decay_k_tile[j] = j < j1 - j0 ? log_decay_k[(j0 + j)] : 0;
        /* log_decay_k_low_tile = log_decay_k_low, with zeros beyond the last row */
        for (int64_t j = 0; j < round_up(j1 - j0, 4); j++)
            log_decay_k_low_tile[j] = j < j1 - j0 ? log_decay_k_low[(j0 + j)] : 0;
        for (int64_t f0 = 0, f_end = 2080; f0 < f_end; f0 += 192) {
            const int64_t f1 = min(f0 + 192, f_end);
            /* key_features = (k_tile * k_tile) * exp2(((log_decay_chunk - log_decay_k_tile) + (log_decay_chunk_low -
               log_decay_k_low_tile)) *  ... */
            const float log_decay_chunk_0 = log_decay_chunk[max(min(((chunk + 1) * 128) - 1, n_k - 1), 0)];
            const float log_decay_chunk_low_1 = log_decay_chunk_low[max(min(((chunk + 1) * 128) - 1, n_k - 1), 0)];
            for (int64_t j = 0; j < j1 - j0; j += 4) {
                const vec_any t_2 = exp2_any(((log_decay_chunk_0 - load_any(log_decay_k_tile + j)) +
                    (log_decay_chunk_low_1 - load_any(log_decay_k_low_tile + j))) * 1.442695f);
                for (int64_t f = f0; f < f1; f++) {
                    store_any(key_features + (f - f0) * 80 + j, (load_any(k_tile + (f % 64) * 80 + j) * load_any(k_tile
                        + (((f % 64) + (f / 64)) % 64) * 80 + j)) * t_2);
                }
            }
            /* state_sum += key_features */
            for (int64_t f = f0; f < f1; f++) {
                vec_any lane_sums = splat_any(0);
                for (int64_t j = 0; j < j1 - j0; j += 4) {
                    const vec_any term = load_any(key_features + (f - f0) * 80 + j);
                    lane_sums += j + 4 <= j1 - j0 ? term : pick_any(__builtin_convertvector(j + lane_any < j1 - j0,
                        mask_any), term, splat_any(0));
                }
                const float total = lane_sum_any(lane_sums);
                state_sum[(chunk - chunk0) * 135200 + f] += total;
            }
            /* state[f][e] += sum over j of key_features * v */
            dot3_any(f1 - f0, j1 - j0, key_features, v + j0 * v_row, v_row,
                state + (chunk - chunk0) * 135200 + f0 * 64);
        }
    }
}

/* Folds the slots of the current chunks, in order, for some elements of the states. */
APART void power_gated_fold_any(const struct call *call, int64_t task, const struct part *part, int64_t iteration)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_k = call->p.n_k;
    const int64_t f0 = iteration * 32, f1 = min(f0 + 32, 2080);
    const int64_t chunk0 = part->chunk0;
    const int64_t chunk1 = part->chunk1;
    const int64_t m = task % members;
    const int64_t g = task / members % kv_heads;
    const int64_t b = task / members / kv_heads;
    const float *const log_decay_chunk_low = call->log_decay_chunk_low + b * call->log_decay_chunk_low_at.batch + (g *
        members + m) * call->log_decay_chunk_low_at.head;
    const float *const log_decay_chunk = call->log_decay_chunk + b * call->log_decay_chunk_at.batch + (g * members + m)
        * call->log_decay_chunk_at.head;
    float *const state_sum = (float *)(void *)(part->slots + 0); /* [chunk, f: 2080] */
    float *const state = (float *)(void *)(part->slots + 8320); /* [chunk, f: 2080, e: 64] */
    float *const carried_sum = (float *)(void *)(part->shared + 0); /* [f: 2080] */
    float *const carried_sum_compensation = (float *)(void *)(part->shared + 540800); /* [f: 2080] */
    float *const carried = (float *)(void *)(part->shared + 8320); /* [f: 2080, e: 64] */
    float *const carried_compensation = (float *)(void *)(part->shared + 549120); /* [f: 2080, e: 64] */
    float *const kept_share_2 = (float *)(void *)(part->work + 0); /* [f: 2080] */
    float *const lost_share_2 = (float *)(void *)(part->work + 8320); /* [f: 2080] */
    for (int64_t chunk = chunk0; chunk < chunk1; chunk++) {
        /* kept_share = select(exp2(((log_decay_chunk - log_decay_chunk) + (log_decay_chunk_low - log_decay_chunk_low))
           * 1.442695f) < 0.5f ... */
        const float t_3 = (log_decay_chunk[max(min(((chunk + 1) * 128) - 1, n_k - 1),
            0)] - log_decay_chunk[max(min((chunk * 128) - 1, n_k - 1),
            0)]) + (log_decay_chunk_low[max(min(((chunk + 1) * 128) - 1, n_k - 1),
            0)] - log_decay_chunk_low[max(min((chunk * 128) - 1, n_k - 1), 0)]);
        const float t_4 = exp2f(t_3 * 1.442695f);
        const int t_5 = t_4 < 0.5f;
        const float t_6 = t_5 ? t_4 : 1.0f;
        const float t_8 = t_5 ? 0.0f : (-expm1f(t_3));
        for (int64_t f = f0; f < f1; f += 4) {
            const vec_any kept_share_new7 = splat_any(t_6);
            const vec_any lost_share_new9 = splat_any(t_8);
            const vec_any carried_sum_10 = load_any(carried_sum + f);
            const vec_any before_sum_new11 = carried_sum_10;
            const vec_any carried_sum_new12 = carried_sum_10 * kept_share_new7;
            store_any(carried_sum + f, carried_sum_new12);
            store_any(carried_sum_compensation + f, load_any(carried_sum_compensation + f) * kept_share_new7);
            add_any(carried_sum + f, carried_sum_compensation + f, load_any(state_sum + (chunk - chunk0) * 135200 + f) -
                (carried_sum_new12 * lost_share_new9), splat_any(1));
            store_any(state_sum + (chunk - chunk0) * 135200 + f, before_sum_new11);
        }
        /* kept_share_2 = select(exp2(((log_decay_chunk - log_decay_chunk) + (log_decay_chunk_low -
           log_decay_chunk_low)) * 1.442695f) < 0. ... */
        const float t_13 = (log_decay_chunk[max(min(((chunk + 1) * 128) - 1, n_k - 1),
            0)] - log_decay_chunk[max(min((chunk * 128) - 1, n_k - 1),
            0)]) + (log_decay_chunk_low[max(min(((chunk + 1) * 128) - 1, n_k - 1),
            0)] - log_decay_chunk_low[max(min((chunk * 128) - 1, n_k - 1), 0)]);
        const float t_14 = exp2f(t_13 * 1.442695f);
        const int t_15 = t_14 < 0.5f;
        const float t_16 = t_15 ? t_14 : 1.0f;
        const float t_17 = t_15 ? 0.0f : (-expm1f(t_13));
        for (int64_t f = f0; f < f1; f += 4) {
            store_any(kept_share_2 + f, splat_any(t_16));
            store_any(lost_share_2 + f, splat_any(t_17));
        }
        /* before = carried; carried = carried * kept_share_2; carried_compensation = carried_compensation *
           kept_share_2; carried += state ... */
        for (int64_t f = f0; f < f1; f++) {
            for (int64_t e_first = 0; e_first < 64; e_first += 8) {
                UNROLL for (int64_t vector = 0, e = e_first; vector < 2; vector++, e += 4) {
                    const vec_any carried_18 = load_any(carried + f * 64 + e);
                    const vec_any before_new19 = carried_18;
                    const float kept_share_2_20 = kept_share_2[f];
                    const vec_any carried_new21 = carried_18 * kept_share_2_20;
                    store_any(carried + f * 64 + e, carried_new21);
                    store_any(carried_compensation + f * 64 + e, load_any(carried_compensation + f * 64 + e) *
                        kept_share_2_20);
                    add_any(carried + f * 64 + e, carried_compensation + f * 64 + e,
                        load_any(state + (chunk - chunk0) * 135200 + f * 64 + e) - (carried_new21 * lost_share_2[f]),
                        splat_any(1));
                    store_any(state + (chunk - chunk0) * 135200 + f * 64 + e, before_new19);
                }
            }
        }
    }
}

/* Processes the queries of a chunk: reads the state before the chunk, and the keys in the chunk. */
APART void power_gated_queries_any(const struct call *call, int64_t task, const struct part *part, int64_t iteration)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_q = call->p.n_q;
    const int64_t n_k = call->p.n_k;
    const int64_t chunk = iteration;
    const int64_t chunk0 = part->chunk0;
    const int64_t m = task % members;
    const int64_t g = task / members % kv_heads;
    const int64_t b = task / members / kv_heads;
    const int64_t query_start = call->p.query_start ? call->p.query_start[b] : n_k - n_q;
    const float *const q = call->q + b * call->p.q.batch + (g / call->sharing * members + m) * call->p.q.head;
    const int64_t q_row = call->p.q.row;
    const float *const k = call->k + b * call->p.k.batch + g / call->sharing * call->p.k.head;
    const int64_t k_row = call->p.k.row;
    const float *const v = call->v + b * call->p.v.batch + g * call->p.v.head;
    const int64_t v_row = call->p.v.row;
    const float *const log_decay_q_low = call->log_decay_q_low + b * call->log_decay_q_low_at.batch + (g * members + m)
        * call->log_decay_q_low_at.head;
    const float *const log_decay_q = call->log_decay_q + b * call->log_decay_q_at.batch + (g * members + m) *
        call->log_decay_q_at.head;
    const float *const log_decay_k_low = call->log_decay_k_low + b * call->log_decay_k_low_at.batch + (g * members + m)
        * call->log_decay_k_low_at.head;
    const float *const log_decay_k = call->log_decay_k + b * call->log_decay_k_at.batch + (g * members + m) *
        call->log_decay_k_at.head;
    const float *const log_decay_chunk_low = call->log_decay_chunk_low + b * call->log_decay_chunk_low_at.batch + (g *
        members + m) * call->log_decay_chunk_low_at.head;
    const float *const log_decay_chunk = call->log_decay_chunk + b * call->log_decay_chunk_at.batch + (g * members + m)
        * call->log_decay_chunk_at.head;
    float *const state_sum = (float *)(void *)(part->slots + 0); /* [chunk, f: 2080] */
    float *const state = (float *)(void *)(part->slots + 8320); /* [chunk, f: 2080, e: 64] */
    float *const query_features = (float *)(void *)(part->work + 0); /* [d: 64, i: 32] */
    float *const score = (float *)(void *)(part->work + 8192); /* [j: 64, i: 32] */
    float *const query = (float *)(void *)(part->work + 8192); /* [f: 192, i: 32] */
    float *const row_sum_from_state = (float *)(void *)(part->work + 32768); /* [i: 32] */
    float *const row_sum = (float *)(void *)(part->work + 32896); /* [i: 32] */
    float *const row_sum_compensation = (float *)(void *)(part->work + 33024); /* [i: 32] */
    float *const sum_from_state = (float *)(void *)(part->work + 33152); /* [e: 64, i: 32] */
    float *const sum = (float *)(void *)(part->work + 16384); /* [e: 64, i: 32] */
    float *const sum_compensation = (float *)(void *)(part->work + 24576); /* [e: 64, i: 32] */
    float *const out = call->out + b * call->p.out.batch + (g * members + m) * call->p.out.head;
    const int64_t out_row = call->p.out.row;
    float *const saved_0 = call->saved_0 ? call->saved_0 + (b * call->p.heads + (g * members + m)) * call->p.n_q : NULL;
    float *const q_tile = (float *)(void *)(part->work + 41344); /* [d: 64, i: 32] */
    float *const log_decay_q_tile = (float *)(void *)(part->work + 49536); /* [i: 32] */
    float *const log_decay_q_low_tile = (float *)(void *)(part->work + 49664); /* [i: 32] */
    for (int64_t i0 = (chunk == 0) ? 0 : max(0, (chunk * 128) - query_start), i_end = min(n_q,
        ((chunk + 1) * 128) - query_start); i0 < i_end; i0 += 32) {
        const int64_t i1 = min(i0 + 32, i_end);
        /* q_tile = q, with zeros beyond the last row */
        transpose_padded_any(q + i0 * q_row, q_row, i1 - i0, 64, q_tile, 32, 64);
        /* log_decay_q_tile = log_decay_q, with zeros beyond the last row */
        for (int64_t i = 0; i < round_up(i1 - i0, 4); i++)
            log_decay_q_tile[i] = i < i1 - i0 ? log_decay_q[(i0 + i)] : 0;
        /* log_decay_q_low_tile = log_decay_q_low, with zeros beyond the last row */
        for (int64_t i = 0; i < round_up(i1 - i0, 4); i++)
            log_decay_q_low_tile[i] = i < i1 - i0 ? log_decay_q_low[(i0 + i)] : 0;
        /* query_features = q_tile * 0.125f */
        for (int64_t d = 0; d < 64; d++) {
            for (int64_t i = 0; i < i1 - i0; i += 4) {
                store_any(query_features + d * 32 + i, load_any(q_tile + d * 32 + i) * 0.125f);
            }
        }
        /* row_sum_from_state = 0.0f; row_sum = 0.0f; row_sum_compensation = 0.0f */
        for (int64_t i = 0; i < i1 - i0; i += 4) {
            store_any(row_sum_from_state + i, splat_any(0.0f));
            store_any(row_sum + i, splat_any(0.0f));
            store_any(row_sum_compensation + i, splat_any(0.0f));
        }
        /* sum_from_state = 0.0f */
        for (int64_t e = 0; e < 64; e++) {
            for (int64_t i = 0; i < i1 - i0; i += 4) {
                store_any(sum_from_state + e * 32 + i, splat_any(0.0f));
            }
        }
        for (int64_t f0 = 0, f_end = 2080; f0 < f_end; f0 += 192) {
            const int64_t f1 = min(f0 + 192, f_end);
            /* query = (((q_tile * 0.125f) * (q_tile * 0.125f)) * select((f / 64) == 0, 1.0f,
               2.0f)) * select(chunk == 0, 1.0f, exp2(((log_deca ... */
            const int t_22 = chunk == 0;
            const float log_decay_chunk_23 = log_decay_chunk[max(min((chunk * 128) - 1, n_k - 1), 0)];
            const float log_decay_chunk_low_24 = log_decay_chunk_low[max(min((chunk * 128) - 1, n_k - 1), 0)];
            for (int64_t i = 0; i < i1 - i0; i += 4) {
                const vec_any t_25 = t_22 ? splat_any(1.0f) : exp2_any(((load_any(log_decay_q_tile + i) -
                    log_decay_chunk_23) + (load_any(log_decay_q_low_tile + i) - log_decay_chunk_low_24)) * 1.442695f);
                vec_any row_sum_from_state_in = (vec_any){0};
                vec_any row_sum_from_state_in_whole = (vec_any){0};
                for (int64_t f = f0; f < f1; f++) {
                    const vec_any query_new26 = (((load_any(q_tile + (f % 64) * 32 + i) * 0.125f) * (load_any(q_tile +
                        (((f % 64) + (f / 64)) % 64) * 32 + i) * 0.125f)) * (float)(((f / 64) == 0) ? 1.0 : 2.0)) *
                        t_25;
                    store_any(query + (f - f0) * 32 + i, query_new26);
                    row_sum_from_state_in += query_new26 * (state_sum[(chunk - chunk0) * 135200 + f]);
                    if (f % 192 == 191) {
                        row_sum_from_state_in_whole += row_sum_from_state_in;
                        row_sum_from_state_in = (vec_any){0};
                    }
                }
                row_sum_from_state_in += row_sum_from_state_in_whole;
                store_any(row_sum_from_state + i, load_any(row_sum_from_state + i) + row_sum_from_state_in);
            }
            /* sum_from_state[e][i] += sum over f of state * query */
            dot4_any(round_up(i1 - i0, 4), f1 - f0, state + (chunk - chunk0) * 135200 + f0 * 64, query, sum_from_state);
        }
        /* sum = 0.0f; sum_compensation = 0.0f */
        for (int64_t e = 0; e < 64; e++) {
            for (int64_t i = 0; i < i1 - i0; i += 4) {
                store_any(sum + e * 32 + i, splat_any(0.0f));
                store_any(sum_compensation + e * 32 + i, splat_any(0.0f));
            }
        }
        for (int64_t j0 = max(0, chunk * 128), j_end = min(n_k, i1 + query_start); j0 < j_end; j0 += 64) {
            const int64_t j1 = min(j0 + 64, j_end);
            /* score[j][i] = sum over d of k * query_features */
            dot5_any(round_up(i1 - i0, 4), j1 - j0, k + j0 * k_row, k_row, query_features, score, v + j0 * v_row,
                v_row);
            if ((j0 < (chunk * 128)) || ((i0 + query_start + 1) < j1)) { /* the tile is partly outside the mask */
                /* score = select((j <= (i + query_start)) && ((chunk * 128) <= j),
                   (score * score) * exp2(((log_decay_q_tile - log_decay_k) + (log ... */
                for (int64_t i = 0; i < i1 - i0; i += 4) {
                    const ints_any t_27 = (i0 + i + lane_any) + query_start;
                    const vec_any log_decay_q_tile_29 = load_any(log_decay_q_tile + i);
                    const vec_any log_decay_q_low_tile_30 = load_any(log_decay_q_low_tile + i);
                    vec_any row_sum_in = (vec_any){0};
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        const vec_any score_28 = load_any(score + j * 32 + i);
                        const vec_any score_new31 = pick_any(__builtin_convertvector(((j0 + j) <= t_27) &
                            (-(int64_t)((chunk * 128) <= (j0 + j))), mask_any),
                            (score_28 * score_28) * exp2_any(((log_decay_q_tile_29 - log_decay_k[(j0 + j)]) +
                            (log_decay_q_low_tile_30 - log_decay_k_low[(j0 + j)])) * 1.442695f), splat_any(0.0f));
                        store_any(score + j * 32 + i, score_new31);
                        row_sum_in += score_new31;
                    }
                    add_any(row_sum + i, row_sum_compensation + i, row_sum_in, splat_any(1));
                }
            }
            if (!((j0 < (chunk * 128)) || ((i0 + query_start + 1) < j1))) { /* the tile is wholly inside the mask */
                /* score = (score * score) * exp2(((log_decay_q_tile - log_decay_k) + (log_decay_q_low_tile -
                   log_decay_k_low)) * 1.442695f); row_s ... */
                for (int64_t i = 0; i < i1 - i0; i += 4) {
                    const vec_any log_decay_q_tile_33 = load_any(log_decay_q_tile + i);
                    const vec_any log_decay_q_low_tile_34 = load_any(log_decay_q_low_tile + i);
                    vec_any row_sum_in = (vec_any){0};
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        const vec_any score_32 = load_any(score + j * 32 + i);
                        const vec_any score_new35 = (score_32 * score_32) * exp2_any(((log_decay_q_tile_33 -
                            log_decay_k[(j0 + j)]) + (log_decay_q_low_tile_34 - log_decay_k_low[(j0 + j)])) *
                            1.442695f);
                        store_any(score + j * 32 + i, score_new35);
                        row_sum_in += score_new35;
                    }
                    add_any(row_sum + i, row_sum_compensation + i, row_sum_in, splat_any(1));
                }
            }
            /* sum[e][i] += sum over j of v * score */
            if (__builtin_expect(((j0 < (chunk * 128)) || ((i0 + query_start + 1) < j1)) && !finite_any(v + j0 * v_row,
                v_row, j1 - j0, 64), 0)) { /* infinity and NaN affect only queries that see them */
                dot6_any(round_up(i1 - i0, 4), j1 - j0, v + j0 * v_row, v_row, score, sum, sum_compensation);
                for (int64_t j = 0; j < j1 - j0; j++) {
                    mask_any in_region[8] = {0};
                    if (finite_any(v + j0 * v_row + j * v_row, 1, 64, 1)) continue;
                    const int t_36 = (chunk * 128) <= (j0 + j);
                    for (int64_t i = 0; i < i1 - i0; i += 4) {
                        in_region[i / 4] = __builtin_convertvector(((j0 + j) <= ((i0 + i + lane_any) + query_start)) &
                            (-(int64_t)t_36), mask_any);
                    }
                    add_seen_any(64, sum, 32, v + j0 * v_row + j * v_row, 1, score + j * 32, in_region, i1 - i0);
                }
            } else
                dot7_any(round_up(i1 - i0, 4), j1 - j0, v + j0 * v_row, v_row, score, sum, sum_compensation);
        }
        /* sum = select(((row_sum + row_sum_from_state) + 1.0f) == 0.0f, 0.0f,
           (sum + sum_from_state) / ((row_sum + row_sum_from_state) + 1 ... */
        for (int64_t i = 0; i < i1 - i0; i += 4) {
            const vec_any t_37 = (load_any(row_sum + i) + load_any(row_sum_from_state + i)) + 1.0f;
            const mask_any t_38 = t_37 == 0.0f;
            for (int64_t e = 0; e < 64; e++) {
                store_any(sum + e * 32 + i, pick_any(t_38, splat_any(0.0f),
                    (load_any(sum + e * 32 + i) + load_any(sum_from_state + e * 32 + i)) / t_37));
            }
        }
        if (saved_0) {
            /* row_sum = select(((row_sum + row_sum_from_state) + 1.0f) == 0.0f, 0.0f,
               1.0f / ((row_sum + row_sum_from_state) + 1.0f)) */
            for (int64_t i = 0; i < i1 - i0; i += 4) {
                const vec_any t_39 = (load_any(row_sum + i) + load_any(row_sum_from_state + i)) + 1.0f;
                store_any(row_sum + i, pick_any(t_39 == 0.0f, splat_any(0.0f), 1.0f / t_39));
            }
        }
        /* out = sum, transposed back */
        transpose_out_any(sum, 32, 64, i1 - i0, out + i0 * out_row, out_row, 64);
        if (saved_0) {
            /* saved_0 = row_sum */
            for (int64_t i = 0; i < i1 - i0; i++)
                saved_0[(i0 + i)] = row_sum[i];
        }
    }
}

/* Computes head number `task`. Each thread on the head calls this with its share, `part`. */
static void power_gated_linear_any(const struct call *call, int64_t task, struct part *part)
{
    const int64_t n_k = call->p.n_k;
    const int64_t chunks = n_k > 0 ? (n_k - 1) / 128 + 1 : 1;
    for (int64_t iteration = part->number; iteration < ((2080 + 31) / 32); iteration += part->threads)
        power_gated_begin_any(call, task, part, iteration);
    synchronise(part);
    const int64_t first = 0;
    const int64_t length = segment_length(part, chunks - first);
    for (int64_t segment = part->number; first + segment * length < chunks; segment += part->threads) {
        part->chunk0 = first + segment * length;
        part->chunk1 = min(part->chunk0 + length, chunks);
        for (int64_t iteration = part->chunk0; iteration < part->chunk1; iteration++)
            power_gated_keys_any(call, task, part, iteration);
        for (int64_t group = 0; group < 16; group++) {
            await_segment(part, group, segment);
            const int64_t end = (group + 1) * ((2080 + 31) / 32) / 16;
            for (int64_t iteration = group * ((2080 + 31) / 32) / 16; iteration < end; iteration++)
                power_gated_fold_any(call, task, part, iteration);
            pass_segment(part, group, segment);
        }
        for (int64_t iteration = part->chunk0; iteration < part->chunk1; iteration++)
            power_gated_queries_any(call, task, part, iteration);
    }
    part->segments += (max(chunks - first, 0) + length - 1) / length;
    synchronise(part);
}

/* Computes task number `task`: one tile of queries of one head. `work` is this thread's workspace. */
static void power_gated_saved_any(const struct call *call, int64_t task, unsigned char *work)
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
    const float *const q = call->q + b * call->p.q.batch + (g / call->sharing * members + m) * call->p.q.head;
    const int64_t q_row = call->p.q.row;
    const float *const k = call->k + b * call->p.k.batch + g / call->sharing * call->p.k.head;
    const int64_t k_row = call->p.k.row;
    const float *const log_decay_q_low = call->log_decay_q_low + b * call->log_decay_q_low_at.batch + (g * members + m)
        * call->log_decay_q_low_at.head;
    const float *const log_decay_q = call->log_decay_q + b * call->log_decay_q_at.batch + (g * members + m) *
        call->log_decay_q_at.head;
    const float *const log_decay_k_low = call->log_decay_k_low + b * call->log_decay_k_low_at.batch + (g * members + m)
        * call->log_decay_k_low_at.head;
    const float *const log_decay_k = call->log_decay_k + b * call->log_decay_k_at.batch + (g * members + m) *
        call->log_decay_k_at.head;
    float *const score = (float *)(void *)(work + 0); /* [j: 288, i: 64 of 80] */
    float *const row_sum = (float *)(void *)(work + 92160); /* [i: 64] */
    float *const row_sum_compensation = (float *)(void *)(work + 92416); /* [i: 64] */
    float *const saved_0 = call->saved_0 + (b * call->p.heads + (g * members + m)) * call->p.n_q;
    float *const q_tile = (float *)(void *)(work + 92672); /* [d: 64, i: 64 of 80] */
    float *const log_decay_q_tile = (float *)(void *)(work + 113152); /* [i: 64] */
    float *const log_decay_q_low_tile = (float *)(void *)(work + 113408); /* [i: 64] */
    /* q_tile = q, with zeros beyond the last row */
    transpose_padded_any(q + i0 * q_row, q_row, i1 - i0, 64, q_tile, 80, 4);
    /* log_decay_q_tile = log_decay_q, with zeros beyond the last row */
    for (int64_t i = 0; i < round_up(i1 - i0, 4); i++)
        log_decay_q_tile[i] = i < i1 - i0 ? log_decay_q[(i0 + i)] : 0;
    /* log_decay_q_low_tile = log_decay_q_low, with zeros beyond the last row */
    for (int64_t i = 0; i < round_up(i1 - i0, 4); i++)
        log_decay_q_low_tile[i] = i < i1 - i0 ? log_decay_q_low[(i0 + i)] : 0;
    /* q_tile = q_tile * 0.125f */
    for (int64_t d = 0; d < 64; d++) {
        for (int64_t i = 0; i < i1 - i0; i += 4) {
            store_any(q_tile + d * 80 + i, load_any(q_tile + d * 80 + i) * 0.125f);
        }
    }
    /* row_sum = 0.0f; row_sum_compensation = 0.0f */
    for (int64_t i = 0; i < i1 - i0; i += 4) {
        store_any(row_sum + i, splat_any(0.0f));
        store_any(row_sum_compensation + i, splat_any(0.0f));
    }
    for (int64_t j0 = 0, j_end = min(n_k, i1 + query_start); j0 < j_end; j0 += 288) {
        const int64_t j1 = min(j0 + 288, j_end);
        /* score[j][i] = sum over d of k * q_tile */
        dot8_any(round_up(i1 - i0, 4), j1 - j0, k + j0 * k_row, k_row, q_tile, score);
        if ((i0 + query_start + 1) < j1) { /* the tile is partly outside the mask */
            /* score = select(j <= (i + query_start), (score * score) * exp2(((log_decay_q_tile - log_decay_k) +
               (log_decay_q_low_tile - log_de ... */
            for (int64_t i = 0; i < i1 - i0; i += 4) {
                const ints_any t_0 = (i0 + i + lane_any) + query_start;
                const vec_any log_decay_q_tile_2 = load_any(log_decay_q_tile + i);
                const vec_any log_decay_q_low_tile_3 = load_any(log_decay_q_low_tile + i);
                vec_any row_sum_in = (vec_any){0};
                for (int64_t j = 0; j < j1 - j0; j++) {
                    const vec_any score_1 = load_any(score + j * 80 + i);
                    const vec_any score_new4 = pick_any(__builtin_convertvector((j0 + j) <= t_0, mask_any),
                        (score_1 * score_1) * exp2_any(((log_decay_q_tile_2 - log_decay_k[(j0 + j)]) +
                        (log_decay_q_low_tile_3 - log_decay_k_low[(j0 + j)])) * 1.442695f), splat_any(0.0f));
                    store_any(score + j * 80 + i, score_new4);
                    row_sum_in += score_new4;
                }
                add_any(row_sum + i, row_sum_compensation + i, row_sum_in, splat_any(1));
            }
        }
        if (!((i0 + query_start + 1) < j1)) { /* the tile is wholly inside the mask */
            /* score = (score * score) * exp2(((log_decay_q_tile - log_decay_k) + (log_decay_q_low_tile -
               log_decay_k_low)) * 1.442695f); row_s ... */
            for (int64_t i = 0; i < i1 - i0; i += 4) {
                const vec_any log_decay_q_tile_6 = load_any(log_decay_q_tile + i);
                const vec_any log_decay_q_low_tile_7 = load_any(log_decay_q_low_tile + i);
                vec_any row_sum_in = (vec_any){0};
                for (int64_t j = 0; j < j1 - j0; j++) {
                    const vec_any score_5 = load_any(score + j * 80 + i);
                    const vec_any score_new8 = (score_5 * score_5) * exp2_any(((log_decay_q_tile_6 - log_decay_k[(j0 +
                        j)]) + (log_decay_q_low_tile_7 - log_decay_k_low[(j0 + j)])) * 1.442695f);
                    store_any(score + j * 80 + i, score_new8);
                    row_sum_in += score_new8;
                }
                add_any(row_sum + i, row_sum_compensation + i, row_sum_in, splat_any(1));
            }
        }
    }
    /* row_sum = select((row_sum + 1.0f) == 0.0f, 0.0f, 1.0f / (row_sum + 1.0f)) */
    for (int64_t i = 0; i < i1 - i0; i += 4) {
        const vec_any t_9 = load_any(row_sum + i) + 1.0f;
        store_any(row_sum + i, pick_any(t_9 == 0.0f, splat_any(0.0f), 1.0f / t_9));
    }
    /* saved_0 = row_sum */
    for (int64_t i = 0; i < i1 - i0; i++)
        saved_0[(i0 + i)] = row_sum[i];
}

/* Computes task number `task`: one tile of queries of one head. `work` is this thread's workspace. */
static void power_gated_row_sums_any(const struct call *call, int64_t task, unsigned char *work)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_q = call->p.n_q;
    const int64_t tiles = (n_q + 64 - 1) / 64, i0 = (tiles - 1 - task % tiles) * 64,
        i1 = min(i0 + 64, n_q);
    const int64_t m = task / tiles % members;
    const int64_t g = task / tiles / members % kv_heads;
    const int64_t b = task / tiles / members / kv_heads;
    const float *const out = call->out + b * call->p.out.batch + (g * members + m) * call->p.out.head;
    const int64_t out_row = call->p.out.row;
    const float *const dout = call->dout + b * call->p.dout.batch + (g * members + m) * call->p.dout.head;
    const int64_t dout_row = call->p.dout.row;
    const float *const saved_0 = call->saved_0 + (b * call->p.heads + (g * members + m)) * call->p.n_q;
    float *const query_sum = (float *)(void *)(work + 0); /* [i: 64] */
    float *const row_0 = call->row_0 + (b * call->p.heads + (g * members + m)) * call->p.n_q;
    float *const out_tile = (float *)(void *)(work + 256); /* [e: 64, i: 64 of 80] */
    float *const dout_tile = (float *)(void *)(work + 20736); /* [e: 64, i: 64 of 80] */
    float *const saved_0_tile = (float *)(void *)(work + 41216); /* [i: 64] */
    /* out_tile = out, with zeros beyond the last row */
    transpose_padded_any(out + i0 * out_row, out_row, i1 - i0, 64, out_tile, 80, 4);
    /* dout_tile = dout, with zeros beyond the last row */
    transpose_padded_any(dout + i0 * dout_row, dout_row, i1 - i0, 64, dout_tile, 80, 4);
    /* saved_0_tile = saved_0, with zeros beyond the last row */
    for (int64_t i = 0; i < round_up(i1 - i0, 4); i++)
        saved_0_tile[i] = i < i1 - i0 ? saved_0[(i0 + i)] : 0;
    /* query_sum = 0.0f */
    for (int64_t i = 0; i < i1 - i0; i += 4) {
        store_any(query_sum + i, splat_any(0.0f));
    }
    /* query_sum += dout_tile * neg(out_tile) */
    for (int64_t i_first = 0; i_first < i1 - i0; i_first += 8) {
        vec_any query_sum_in[2];
        UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += 4) {
            query_sum_in[vector] = (vec_any){0};
        }
        for (int64_t e = 0; e < 64; e++) {
            UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += 4) {
                query_sum_in[vector] += load_any(dout_tile + e * 80 + i) * (-load_any(out_tile + e * 80 + i));
            }
        }
        UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += 4) {
            store_any(query_sum + i, load_any(query_sum + i) + query_sum_in[vector]);
        }
    }
    /* query_sum = query_sum * saved_0_tile */
    for (int64_t i = 0; i < i1 - i0; i += 4) {
        store_any(query_sum + i, load_any(query_sum + i) * load_any(saved_0_tile + i));
    }
    /* row_0 = query_sum */
    for (int64_t i = 0; i < i1 - i0; i++)
        row_0[(i0 + i)] = query_sum[i];
}

/* Computes task number `task`: one tile of queries of one head. `work` is this thread's workspace. */
static void power_gated_dq_dlog_decay_q_any(const struct call *call, int64_t task, unsigned char *work)
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
    const float *const q = call->q + b * call->p.q.batch + (g / call->sharing * members + m) * call->p.q.head;
    const int64_t q_row = call->p.q.row;
    const float *const k = call->k + b * call->p.k.batch + g / call->sharing * call->p.k.head;
    const int64_t k_row = call->p.k.row;
    const float *const v = call->v + b * call->p.v.batch + g * call->p.v.head;
    const int64_t v_row = call->p.v.row;
    const float *const log_decay_q_low = call->log_decay_q_low + b * call->log_decay_q_low_at.batch + (g * members + m)
        * call->log_decay_q_low_at.head;
    const float *const log_decay_q = call->log_decay_q + b * call->log_decay_q_at.batch + (g * members + m) *
        call->log_decay_q_at.head;
    const float *const log_decay_k_low = call->log_decay_k_low + b * call->log_decay_k_low_at.batch + (g * members + m)
        * call->log_decay_k_low_at.head;
    const float *const log_decay_k = call->log_decay_k + b * call->log_decay_k_at.batch + (g * members + m) *
        call->log_decay_k_at.head;
    const float *const dout = call->dout + b * call->p.dout.batch + (g * members + m) * call->p.dout.head;
    const int64_t dout_row = call->p.dout.row;
    const float *const saved_0 = call->saved_0 + (b * call->p.heads + (g * members + m)) * call->p.n_q;
    const float *const row_0 = call->row_0 + (b * call->p.heads + (g * members + m)) * call->p.n_q;
    float *const score = (float *)(void *)(work + 0); /* [j: 288, i: 64 of 80] */
    float *const score_2 = (float *)(void *)(work + 92160); /* [j: 288, i: 64 of 80] */
    float *const weight_2 = (float *)(void *)(work + 184320); /* [j: 288, i: 64 of 80] */
    float *const row_sum = (float *)(void *)(work + 276480); /* [i: 64] */
    float *const row_sum_compensation = (float *)(void *)(work + 276736); /* [i: 64] */
    float *const sum = (float *)(void *)(work + 276992); /* [d: 64, i: 64 of 80] */
    float *const sum_compensation = (float *)(void *)(work + 297472); /* [d: 64, i: 64 of 80] */
    float *const dq = call->dq ? call->dq + b * call->p.dq.batch + (g * members + m) * call->p.dq.head : NULL;
    const int64_t dq_row = call->p.dq.row;
    float *const dlog_decay_q = call->dlog_decay_q ? call->dlog_decay_q + b * call->dlog_decay_q_at.batch + (g * members
        + m) * call->dlog_decay_q_at.head : NULL;
    const int64_t dlog_decay_q_row = call->dlog_decay_q_at.row;
    float *const dout_tile = (float *)(void *)(work + 317952); /* [e: 64, i: 64 of 80] */
    float *const saved_0_tile = (float *)(void *)(work + 0); /* [i: 64] */
    float *const q_tile = (float *)(void *)(work + 338432); /* [d: 64, i: 64 of 80] */
    float *const row_0_tile = (float *)(void *)(work + 358912); /* [i: 64] */
    float *const log_decay_q_tile = (float *)(void *)(work + 359168); /* [i: 64] */
    float *const log_decay_q_low_tile = (float *)(void *)(work + 359424); /* [i: 64] */
    int64_t results = i1 - i0; /* rows of dq to prefetch during the first product */
    /* dout_tile = dout, with zeros beyond the last row */
    transpose_padded_any(dout + i0 * dout_row, dout_row, i1 - i0, 64, dout_tile, 80, 4);
    /* saved_0_tile = saved_0, with zeros beyond the last row */
    for (int64_t i = 0; i < round_up(i1 - i0, 4); i++)
        saved_0_tile[i] = i < i1 - i0 ? saved_0[(i0 + i)] : 0;
    /* q_tile = q, with zeros beyond the last row */
    transpose_padded_any(q + i0 * q_row, q_row, i1 - i0, 64, q_tile, 80, 4);
    /* row_0_tile = row_0, with zeros beyond the last row */
    for (int64_t i = 0; i < round_up(i1 - i0, 4); i++)
        row_0_tile[i] = i < i1 - i0 ? row_0[(i0 + i)] : 0;
    /* log_decay_q_tile = log_decay_q, with zeros beyond the last row */
    for (int64_t i = 0; i < round_up(i1 - i0, 4); i++)
        log_decay_q_tile[i] = i < i1 - i0 ? log_decay_q[(i0 + i)] : 0;
    /* log_decay_q_low_tile = log_decay_q_low, with zeros beyond the last row */
    for (int64_t i = 0; i < round_up(i1 - i0, 4); i++)
        log_decay_q_low_tile[i] = i < i1 - i0 ? log_decay_q_low[(i0 + i)] : 0;
    /* dout_tile = dout_tile * saved_0_tile */
    for (int64_t i = 0; i < i1 - i0; i += 4) {
        const vec_any saved_0_tile_0 = load_any(saved_0_tile + i);
        for (int64_t e = 0; e < 64; e++) {
            store_any(dout_tile + e * 80 + i, load_any(dout_tile + e * 80 + i) * saved_0_tile_0);
        }
    }
    if (dlog_decay_q) {
        /* row_sum = 0.0f; row_sum_compensation = 0.0f */
        for (int64_t i = 0; i < i1 - i0; i += 4) {
            store_any(row_sum + i, splat_any(0.0f));
            store_any(row_sum_compensation + i, splat_any(0.0f));
        }
    }
    if (dq) {
        /* sum = 0.0f; sum_compensation = 0.0f */
        for (int64_t d = 0; d < 64; d++) {
            for (int64_t i = 0; i < i1 - i0; i += 4) {
                store_any(sum + d * 80 + i, splat_any(0.0f));
                store_any(sum_compensation + d * 80 + i, splat_any(0.0f));
            }
        }
    }
    for (int64_t j0 = 0, j_end = min(n_k, i1 + query_start); j0 < j_end; j0 += 288) {
        const int64_t j1 = min(j0 + 288, j_end);
        /* score[j][i] = sum over d of k * q_tile */
        dot9_any(round_up(i1 - i0, 4), j1 - j0, k + j0 * k_row, k_row, q_tile, score, dq + i0 * dq_row, dq_row,
            results);
        results = 0;
        /* score_2[j][i] = sum over e of v * dout_tile */
        dot0_any(round_up(i1 - i0, 4), j1 - j0, v + j0 * v_row, v_row, dout_tile, score_2, k + j0 * k_row, k_row,
            dq + i0 * dq_row, dq_row, results);
        results = 0;
        /* score_2 = score_2 + row_0_tile; weight_2 = score_2 * ((score * exp2(((log_decay_q_tile - log_decay_k) +
           (log_decay_q_low_tile -  ... */
        for (int64_t i = 0; i < i1 - i0; i += 4) {
            const vec_any row_0_tile_2 = load_any(row_0_tile + i);
            const vec_any log_decay_q_tile_5 = load_any(log_decay_q_tile + i);
            const vec_any log_decay_q_low_tile_6 = load_any(log_decay_q_low_tile + i);
            for (int64_t j = 0; j < j1 - j0; j++) {
                const vec_any score_2_1 = load_any(score_2 + j * 80 + i);
                const vec_any score_2_new3 = score_2_1 + row_0_tile_2;
                store_any(score_2 + j * 80 + i, score_2_new3);
                const vec_any score_4 = load_any(score + j * 80 + i);
                const vec_any t_7 = exp2_any(((log_decay_q_tile_5 - log_decay_k[(j0 + j)]) + (log_decay_q_low_tile_6 -
                    log_decay_k_low[(j0 + j)])) * 1.442695f);
                store_any(weight_2 + j * 80 + i, score_2_new3 * ((score_4 * t_7) * 0.03125f));
                const vec_any t_8 = score_4 * 0.125f;
                store_any(score + j * 80 + i, score_2_new3 * ((t_8 * t_8) * t_7));
            }
        }
        if ((i0 + query_start + 1) < j1) { /* the tile is partly outside the mask */
            if (dlog_decay_q) {
                /* score = select(j <= (i + query_start), score, 0.0f) */
                for (int64_t i = 0; i < i1 - i0; i += 4) {
                    const ints_any t_9 = (i0 + i + lane_any) + query_start;
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        store_any(score + j * 80 + i, pick_any(__builtin_convertvector((j0 + j) <= t_9, mask_any),
                            load_any(score + j * 80 + i), splat_any(0.0f)));
                    }
                }
            }
        }
        if (dlog_decay_q) {
            /* row_sum += score */
            for (int64_t i_first = 0; i_first < i1 - i0; i_first += 8) {
                vec_any row_sum_in[2];
                UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += 4) {
                    row_sum_in[vector] = (vec_any){0};
                }
                for (int64_t j = 0; j < j1 - j0; j++) {
                    UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += 4) {
                        row_sum_in[vector] += load_any(score + j * 80 + i);
                    }
                }
                UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += 4) {
                    add_any(row_sum + i, row_sum_compensation + i, row_sum_in[vector], splat_any(1));
                }
            }
        }
        if ((i0 + query_start + 1) < j1) { /* the tile is partly outside the mask */
            if (dq) {
                /* weight_2 = select(j <= (i + query_start), weight_2, 0.0f) */
                for (int64_t i = 0; i < i1 - i0; i += 4) {
                    const ints_any t_10 = (i0 + i + lane_any) + query_start;
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        store_any(weight_2 + j * 80 + i, pick_any(__builtin_convertvector((j0 + j) <= t_10, mask_any),
                            load_any(weight_2 + j * 80 + i), splat_any(0.0f)));
                    }
                }
            }
        }
        if (dq) {
            /* sum[d][i] += sum over j of k * weight_2 */
            if (__builtin_expect(((i0 + query_start + 1) < j1) && !finite_any(k + j0 * k_row, k_row, j1 - j0, 64),
                0)) { /* infinity and NaN affect only queries that see them */
                dot1_any(round_up(i1 - i0, 4), j1 - j0, k + j0 * k_row, k_row, weight_2, sum, sum_compensation);
                for (int64_t j = 0; j < j1 - j0; j++) {
                    mask_any in_region[16] = {0};
                    if (finite_any(k + j0 * k_row + j * k_row, 1, 64, 1)) continue;
                    for (int64_t i = 0; i < i1 - i0; i += 4) {
                        in_region[i / 4] = __builtin_convertvector((j0 + j) <= ((i0 + i + lane_any) + query_start),
                            mask_any);
                    }
                    add_seen_any(64, sum, 80, k + j0 * k_row + j * k_row, 1, weight_2 + j * 80, in_region, i1 - i0);
                }
            } else
                dot2_any(round_up(i1 - i0, 4), j1 - j0, k + j0 * k_row, k_row, weight_2, sum, sum_compensation);
        }
    }
    if (dq) {
        /* sum = sum */
        for (int64_t d = 0; d < 64; d++) {
            for (int64_t i = 0; i < i1 - i0; i += 4) {
                store_any(sum + d * 80 + i, load_any(sum + d * 80 + i));
            }
        }
    }
    if (dlog_decay_q) {
        /* row_sum = row_sum */
        for (int64_t i = 0; i < i1 - i0; i += 4) {
            store_any(row_sum + i, load_any(row_sum + i));
        }
    }
    if (dq) {
        /* dq = sum, transposed back */
        transpose_out_any(sum, 80, 64, i1 - i0, dq + i0 * dq_row, dq_row, 4);
    }
    if (dlog_decay_q) {
        /* dlog_decay_q = row_sum */
        for (int64_t i = 0; i < i1 - i0; i++)
            dlog_decay_q[(i0 + i) * dlog_decay_q_row] = row_sum[i];
    }
}

/* Computes task number `task`: one tile of keys of one head. `work` is this thread's workspace. */
static void power_gated_dk_dv_any(const struct call *call, int64_t task, unsigned char *work)
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
    const int64_t log_decay_k_low_head = call->log_decay_k_low_at.head;
    const float *const log_decay_k = call->log_decay_k + b * call->log_decay_k_at.batch + g * members *
        call->log_decay_k_at.head;
    const int64_t log_decay_k_head = call->log_decay_k_at.head;
    const float *const dout = call->dout + b * call->p.dout.batch + g * members * call->p.dout.head;
    const int64_t dout_row = call->p.dout.row;
    const int64_t dout_head = call->p.dout.head;
    const float *const saved_0 = call->saved_0 + (b * call->p.heads + g * members) * call->p.n_q;
    const int64_t saved_0_head = call->p.n_q;
    const float *const row_0 = call->row_0 + (b * call->p.heads + g * members) * call->p.n_q;
    const int64_t row_0_head = call->p.n_q;
    float *const score = (float *)(void *)(work + 0); /* [i: 288, j: 64 of 80] */
    float *const score_2 = (float *)(void *)(work + 92160); /* [i: 288, j: 64 of 80] */
    float *const weight = (float *)(void *)(work + 184320); /* [i: 288, j: 64 of 80] */
    float *const sum = (float *)(void *)(work + 276480); /* [e: 64, j: 64 of 80] */
    float *const sum_compensation = (float *)(void *)(work + 296960); /* [e: 64, j: 64 of 80] */
    float *const sum_2 = (float *)(void *)(work + 317440); /* [d: 64, j: 64 of 80] */
    float *const sum_2_compensation = (float *)(void *)(work + 337920); /* [d: 64, j: 64 of 80] */
    float *const dk = call->dk ? call->dk + b * call->p.dk.batch + g * call->p.dk.head : NULL;
    const int64_t dk_row = call->p.dk.row;
    float *const dv = call->dv ? call->dv + b * call->p.dv.batch + g * call->p.dv.head : NULL;
    const int64_t dv_row = call->p.dv.row;
    float *const k_tile = (float *)(void *)(work + 358400); /* [d: 64, j: 64 of 80] */
    float *const v_tile = (float *)(void *)(work + 378880); /* [e: 64, j: 64 of 80] */
    float *const log_decay_k_tile = (float *)(void *)(work + 399360); /* [j: 64] */
    float *const log_decay_k_low_tile = (float *)(void *)(work + 399616); /* [j: 64] */
    int64_t results = j1 - j0; /* rows of dk to prefetch during the first product */
    /* k_tile = k, with zeros beyond the last row */
    transpose_padded_any(k + j0 * k_row, k_row, j1 - j0, 64, k_tile, 80, 4);
    if (dk) {
        /* v_tile = v, with zeros beyond the last row */
        transpose_padded_any(v + j0 * v_row, v_row, j1 - j0, 64, v_tile, 80, 4);
    }
    if (dv) {
        /* sum = 0.0f; sum_compensation = 0.0f */
        for (int64_t e = 0; e < 64; e++) {
            for (int64_t j = 0; j < j1 - j0; j += 4) {
                store_any(sum + e * 80 + j, splat_any(0.0f));
                store_any(sum_compensation + e * 80 + j, splat_any(0.0f));
            }
        }
    }
    if (dk) {
        /* sum_2 = 0.0f; sum_2_compensation = 0.0f */
        for (int64_t d = 0; d < 64; d++) {
            for (int64_t j = 0; j < j1 - j0; j += 4) {
                store_any(sum_2 + d * 80 + j, splat_any(0.0f));
                store_any(sum_2_compensation + d * 80 + j, splat_any(0.0f));
            }
        }
    }
    for (int64_t m = 0; m < members; m++) {
        /* log_decay_k_tile = log_decay_k, with zeros beyond the last row */
        for (int64_t j = 0; j < round_up(j1 - j0, 4); j++)
            log_decay_k_tile[j] = j < j1 - j0 ? log_decay_k[m * log_decay_k_head + (j0 + j)] : 0;
        /* log_decay_k_low_tile = log_decay_k_low, with zeros beyond the last row */
        for (int64_t j = 0; j < round_up(j1 - j0, 4); j++)
            log_decay_k_low_tile[j] = j < j1 - j0 ? log_decay_k_low[m * log_decay_k_low_head + (j0 + j)] : 0;
        for (int64_t i0 = max(0, j0 - query_start), i_end = n_q; i0 < i_end; i0 += 288) {
            const int64_t i1 = min(i0 + 288, i_end);
            /* score[i][j] = sum over d of q * k_tile */
            dot0_any(round_up(j1 - j0, 4), i1 - i0, q + m * q_head + i0 * q_row, q_row, k_tile, score,
                dout + m * dout_head + i0 * dout_row, dout_row, dk + j0 * dk_row, dk_row, results);
            results = 0;
            if (dk) {
                /* score_2[i][j] = sum over e of dout * v_tile */
                dot0_any(round_up(j1 - j0, 4), i1 - i0, dout + m * dout_head + i0 * dout_row, dout_row, v_tile, score_2,
                    q + m * q_head + i0 * q_row, q_row, dk + j0 * dk_row, dk_row, results);
                results = 0;
            }
            if (dv) {
                /* weight = (((score * 0.125f) * (score * 0.125f)) * exp2(((log_decay_q - log_decay_k_tile) +
                   (log_decay_q_low - log_decay_k_low_ti ... */
                for (int64_t j = 0; j < j1 - j0; j += 4) {
                    const vec_any log_decay_k_tile_1 = load_any(log_decay_k_tile + j);
                    const vec_any log_decay_k_low_tile_2 = load_any(log_decay_k_low_tile + j);
                    for (int64_t i = 0; i < i1 - i0; i++) {
                        const vec_any t_0 = load_any(score + i * 80 + j) * 0.125f;
                        store_any(weight + i * 80 + j, ((t_0 * t_0) * exp2_any((((log_decay_q[m * log_decay_q_head + (i0
                            + i)]) - log_decay_k_tile_1) + ((log_decay_q_low[m * log_decay_q_low_head + (i0 + i)]) -
                            log_decay_k_low_tile_2)) * 1.442695f)) * (saved_0[m * saved_0_head + (i0 + i)]));
                    }
                }
            }
            if (i0 < (j1 - query_start - 1)) { /* the tile is partly outside the mask */
                if (dv) {
                    /* weight = select(j <= (i + query_start), weight, 0.0f) */
                    for (int64_t j = 0; j < j1 - j0; j += 4) {
                        const ints_any t_3 = j0 + j + lane_any;
                        for (int64_t i = 0; i < i1 - i0; i++) {
                            store_any(weight + i * 80 + j, pick_any(__builtin_convertvector(t_3 <= ((i0 + i) +
                                query_start), mask_any), load_any(weight + i * 80 + j), splat_any(0.0f)));
                        }
                    }
                }
            }
            if (dv) {
                /* sum[e][j] += sum over i of dout * weight */
                if (__builtin_expect((i0 < (j1 - query_start - 1)) && !finite_any(dout + m * dout_head + i0 * dout_row,
                    dout_row, i1 - i0, 64), 0)) { /* infinity and NaN affect only queries that see them */
                    dot1_any(round_up(j1 - j0, 4), i1 - i0, dout + m * dout_head + i0 * dout_row, dout_row, weight, sum,
                        sum_compensation);
                    for (int64_t i = 0; i < i1 - i0; i++) {
                        mask_any in_region[16] = {0};
                        if (finite_any(dout + m * dout_head + i0 * dout_row + i * dout_row, 1, 64, 1)) continue;
                        const int64_t t_4 = (i0 + i) + query_start;
                        for (int64_t j = 0; j < j1 - j0; j += 4) {
                            in_region[j / 4] = __builtin_convertvector((j0 + j + lane_any) <= t_4, mask_any);
                        }
                        add_seen_any(64, sum, 80, dout + m * dout_head + i0 * dout_row + i * dout_row, 1,
                            weight + i * 80, in_region, j1 - j0);
                    }
                } else
                    dot2_any(round_up(j1 - j0, 4), i1 - i0, dout + m * dout_head + i0 * dout_row, dout_row, weight, sum,
                        sum_compensation);
            }
            if (dk) {
                /* score_2 = ((score_2 * saved_0) + row_0) * ((score * exp2(((log_decay_q - log_decay_k_tile) +
                   (log_decay_q_low - log_decay_k_low_ ... */
                for (int64_t j = 0; j < j1 - j0; j += 4) {
                    const vec_any log_decay_k_tile_5 = load_any(log_decay_k_tile + j);
                    const vec_any log_decay_k_low_tile_6 = load_any(log_decay_k_low_tile + j);
                    for (int64_t i = 0; i < i1 - i0; i++) {
                        store_any(score_2 + i * 80 + j, ((load_any(score_2 + i * 80 + j) * (saved_0[m * saved_0_head +
                            (i0 + i)])) + (row_0[m * row_0_head + (i0 + i)])) * ((load_any(score + i * 80 + j) *
                            exp2_any((((log_decay_q[m * log_decay_q_head + (i0 + i)]) - log_decay_k_tile_5) +
                            ((log_decay_q_low[m * log_decay_q_low_head + (i0 + i)]) - log_decay_k_low_tile_6)) *
                            1.442695f)) * 0.03125f));
                    }
                }
            }
            if (i0 < (j1 - query_start - 1)) { /* the tile is partly outside the mask */
                if (dk) {
                    /* score_2 = select(j <= (i + query_start), score_2, 0.0f) */
                    for (int64_t j = 0; j < j1 - j0; j += 4) {
                        const ints_any t_7 = j0 + j + lane_any;
                        for (int64_t i = 0; i < i1 - i0; i++) {
                            store_any(score_2 + i * 80 + j, pick_any(__builtin_convertvector(t_7 <= ((i0 + i) +
                                query_start), mask_any), load_any(score_2 + i * 80 + j), splat_any(0.0f)));
                        }
                    }
                }
            }
            if (dk) {
                /* sum_2[d][j] += sum over i of q * score_2 */
                if (__builtin_expect((i0 < (j1 - query_start - 1)) && !finite_any(q + m * q_head + i0 * q_row, q_row,
                    i1 - i0, 64), 0)) { /* infinity and NaN affect only queries that see them */
                    dot1_any(round_up(j1 - j0, 4), i1 - i0, q + m * q_head + i0 * q_row, q_row, score_2, sum_2,
                        sum_2_compensation);
                    for (int64_t i = 0; i < i1 - i0; i++) {
                        mask_any in_region[16] = {0};
                        if (finite_any(q + m * q_head + i0 * q_row + i * q_row, 1, 64, 1)) continue;
                        const int64_t t_8 = (i0 + i) + query_start;
                        for (int64_t j = 0; j < j1 - j0; j += 4) {
                            in_region[j / 4] = __builtin_convertvector((j0 + j + lane_any) <= t_8, mask_any);
                        }
                        add_seen_any(64, sum_2, 80, q + m * q_head + i0 * q_row + i * q_row, 1, score_2 + i * 80,
                            in_region, j1 - j0);
                    }
                } else
                    dot2_any(round_up(j1 - j0, 4), i1 - i0, q + m * q_head + i0 * q_row, q_row, score_2, sum_2,
                        sum_2_compensation);
            }
        }
    }
    if (dk) {
        /* sum_2 = sum_2 */
        for (int64_t d = 0; d < 64; d++) {
            for (int64_t j = 0; j < j1 - j0; j += 4) {
                store_any(sum_2 + d * 80 + j, load_any(sum_2 + d * 80 + j));
            }
        }
    }
    if (dv) {
        /* sum = sum */
        for (int64_t e = 0; e < 64; e++) {
            for (int64_t j = 0; j < j1 - j0; j += 4) {
                store_any(sum + e * 80 + j, load_any(sum + e * 80 + j));
            }
        }
    }
    if (dk) {
        /* dk = sum_2, transposed back */
        transpose_out_any(sum_2, 80, 64, j1 - j0, dk + j0 * dk_row, dk_row, 4);
    }
    if (dv) {
        /* dv = sum, transposed back */
        transpose_out_any(sum, 80, 64, j1 - j0, dv + j0 * dv_row, dv_row, 4);
    }
}

/* Computes task number `task`: one tile of keys of one head. `work` is this thread's workspace. */
static void power_gated_dlog_decay_k_any(const struct call *call, int64_t task, unsigned char *work)
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
    const float *const q = call->q + b * call->p.q.batch + (g / call->sharing * members + m) * call->p.q.head;
    const int64_t q_row = call->p.q.row;
    const float *const k = call->k + b * call->p.k.batch + g / call->sharing * call->p.k.head;
    const int64_t k_row = call->p.k.row;
    const float *const v = call->v + b * call->p.v.batch + g * call->p.v.head;
    const int64_t v_row = call->p.v.row;
    const float *const log_decay_q_low = call->log_decay_q_low + b * call->log_decay_q_low_at.batch + (g * members + m)
        * call->log_decay_q_low_at.head;
    const float *const log_decay_q = call->log_decay_q + b * call->log_decay_q_at.batch + (g * members + m) *
        call->log_decay_q_at.head;
    const float *const log_decay_k_low = call->log_decay_k_low + b * call->log_decay_k_low_at.batch + (g * members + m)
        * call->log_decay_k_low_at.head;
    const float *const log_decay_k = call->log_decay_k + b * call->log_decay_k_at.batch + (g * members + m) *
        call->log_decay_k_at.head;
    const float *const dout = call->dout + b * call->p.dout.batch + (g * members + m) * call->p.dout.head;
    const int64_t dout_row = call->p.dout.row;
    const float *const saved_0 = call->saved_0 + (b * call->p.heads + (g * members + m)) * call->p.n_q;
    const float *const row_0 = call->row_0 + (b * call->p.heads + (g * members + m)) * call->p.n_q;
    float *const score = (float *)(void *)(work + 0); /* [i: 288, j: 64 of 80] */
    float *const score_2 = (float *)(void *)(work + 92160); /* [i: 288, j: 64 of 80] */
    float *const row_sum = (float *)(void *)(work + 184320); /* [j: 64] */
    float *const row_sum_compensation = (float *)(void *)(work + 184576); /* [j: 64] */
    float *const dlog_decay_k = call->dlog_decay_k ? call->dlog_decay_k + b * call->dlog_decay_k_at.batch + (g * members
        + m) * call->dlog_decay_k_at.head : NULL;
    float *const k_tile = (float *)(void *)(work + 184832); /* [d: 64, j: 64 of 80] */
    float *const v_tile = (float *)(void *)(work + 205312); /* [e: 64, j: 64 of 80] */
    float *const log_decay_k_tile = (float *)(void *)(work + 225792); /* [j: 64] */
    float *const log_decay_k_low_tile = (float *)(void *)(work + 226048); /* [j: 64] */
    /* k_tile = k, with zeros beyond the last row */
    transpose_padded_any(k + j0 * k_row, k_row, j1 - j0, 64, k_tile, 80, 4);
    /* v_tile = v, with zeros beyond the last row */
    transpose_padded_any(v + j0 * v_row, v_row, j1 - j0, 64, v_tile, 80, 4);
    /* log_decay_k_tile = log_decay_k, with zeros beyond the last row */
    for (int64_t j = 0; j < round_up(j1 - j0, 4); j++)
        log_decay_k_tile[j] = j < j1 - j0 ? log_decay_k[(j0 + j)] : 0;
    /* log_decay_k_low_tile = log_decay_k_low, with zeros beyond the last row */
    for (int64_t j = 0; j < round_up(j1 - j0, 4); j++)
        log_decay_k_low_tile[j] = j < j1 - j0 ? log_decay_k_low[(j0 + j)] : 0;
    /* k_tile = k_tile * 0.125f */
    for (int64_t d = 0; d < 64; d++) {
        for (int64_t j = 0; j < j1 - j0; j += 4) {
            store_any(k_tile + d * 80 + j, load_any(k_tile + d * 80 + j) * 0.125f);
        }
    }
    /* row_sum = 0.0f; row_sum_compensation = 0.0f */
    for (int64_t j = 0; j < j1 - j0; j += 4) {
        store_any(row_sum + j, splat_any(0.0f));
        store_any(row_sum_compensation + j, splat_any(0.0f));
    }
    for (int64_t i0 = max(0, j0 - query_start), i_end = n_q; i0 < i_end; i0 += 288) {
        const int64_t i1 = min(i0 + 288, i_end);
        /* score[i][j] = sum over d of q * k_tile */
        dot8_any(round_up(j1 - j0, 4), i1 - i0, q + i0 * q_row, q_row, k_tile, score);
        /* score_2[i][j] = sum over e of dout * v_tile */
        dot8_any(round_up(j1 - j0, 4), i1 - i0, dout + i0 * dout_row, dout_row, v_tile, score_2);
        if (i0 < (j1 - query_start - 1)) { /* the tile is partly outside the mask */
            /* score_2 = select(j <= (i + query_start), ((score_2 * saved_0) + row_0) * neg((score * score) *
               exp2(((log_decay_q - log_decay_k_ ... */
            for (int64_t j = 0; j < j1 - j0; j += 4) {
                const ints_any t_0 = j0 + j + lane_any;
                const vec_any log_decay_k_tile_4 = load_any(log_decay_k_tile + j);
                const vec_any log_decay_k_low_tile_5 = load_any(log_decay_k_low_tile + j);
                vec_any row_sum_in = (vec_any){0};
                for (int64_t i = 0; i < i1 - i0; i++) {
                    const vec_any score_2_1 = load_any(score_2 + i * 80 + j);
                    const vec_any score_3 = load_any(score + i * 80 + j);
                    const vec_any score_2_new6 = pick_any(__builtin_convertvector(t_0 <= ((i0 + i) + query_start),
                        mask_any), ((score_2_1 * saved_0[(i0 + i)]) + row_0[(i0 + i)]) * (-((score_3 * score_3) *
                        exp2_any(((log_decay_q[(i0 + i)] - log_decay_k_tile_4) + (log_decay_q_low[(i0 + i)] -
                        log_decay_k_low_tile_5)) * 1.442695f))), splat_any(0.0f));
                    store_any(score_2 + i * 80 + j, score_2_new6);
                    row_sum_in += score_2_new6;
                }
                add_any(row_sum + j, row_sum_compensation + j, row_sum_in, splat_any(1));
            }
        }
        if (!(i0 < (j1 - query_start - 1))) { /* the tile is wholly inside the mask */
            /* score_2 = ((score_2 * saved_0) + row_0) * neg((score * score) * exp2(((log_decay_q - log_decay_k_tile) +
               (log_decay_q_low - log_ ... */
            for (int64_t j = 0; j < j1 - j0; j += 4) {
                const vec_any log_decay_k_tile_9 = load_any(log_decay_k_tile + j);
                const vec_any log_decay_k_low_tile_10 = load_any(log_decay_k_low_tile + j);
                vec_any row_sum_in = (vec_any){0};
                for (int64_t i = 0; i < i1 - i0; i++) {
                    const vec_any score_2_7 = load_any(score_2 + i * 80 + j);
                    const vec_any score_8 = load_any(score + i * 80 + j);
                    const vec_any score_2_new11 = ((score_2_7 * saved_0[(i0 + i)]) + row_0[(i0 + i)]) * (-((score_8 *
                        score_8) * exp2_any(((log_decay_q[(i0 + i)] - log_decay_k_tile_9) + (log_decay_q_low[(i0 + i)] -
                        log_decay_k_low_tile_10)) * 1.442695f)));
                    store_any(score_2 + i * 80 + j, score_2_new11);
                    row_sum_in += score_2_new11;
                }
                add_any(row_sum + j, row_sum_compensation + j, row_sum_in, splat_any(1));
            }
        }
    }
    /* row_sum = row_sum */
    for (int64_t j = 0; j < j1 - j0; j += 4) {
        store_any(row_sum + j, load_any(row_sum + j));
    }
    if (dlog_decay_k) {
        /* dlog_decay_k = row_sum */
        for (int64_t j = 0; j < j1 - j0; j++)
            dlog_decay_k[(j0 + j)] = row_sum[j];
    }
}

/* Computes task number `task`: one tile of keys of one head. `work` is this thread's workspace. */
static void power_gated_terms_dgate_any(const struct call *call, int64_t task, unsigned char *work)
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

/* Initialises the states: they contain no keys yet. */
APART void power_gated_linear_saved_begin_any(const struct call *call, int64_t task, const struct part *part,
    int64_t iteration)
{
    (void)call;
    (void)task;
    const int64_t f0 = iteration * 32, f1 = min(f0 + 32, 2080);
    float *const carried_sum = (float *)(void *)(part->shared + 0); /* [f: 2080] */
    float *const carried_sum_compensation = (float *)(void *)(part->shared + 8320); /* [f: 2080] */
    /* carried_sum = 0.0f; carried_sum_compensation = 0.0f */
    for (int64_t f = f0; f < f1; f += 4) {
        store_any(carried_sum + f, splat_any(0.0f));
        store_any(carried_sum_compensation + f, splat_any(0.0f));
    }
}

/* Sums the keys of a chunk, from zero, into its slot. */
APART void power_gated_linear_saved_keys_any(const struct call *call, int64_t task, const struct part *part,
    int64_t iteration)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_k = call->p.n_k;
    const int64_t chunk = iteration;
    const int64_t chunk0 = part->chunk0;
    const int64_t m = task % members;
    const int64_t g = task / members % kv_heads;
    const int64_t b = task / members / kv_heads;
    const float *const k = call->k + b * call->p.k.batch + g / call->sharing * call->p.k.head;
    const int64_t k_row = call->p.k.row;
    const float *const log_decay_k_low = call->log_decay_k_low + b * call->log_decay_k_low_at.batch + (g * members + m)
        * call->log_decay_k_low_at.head;
    const float *const log_decay_k = call->log_decay_k + b * call->log_decay_k_at.batch + (g * members + m) *
        call->log_decay_k_at.head;
    const float *const log_decay_chunk_low = call->log_decay_chunk_low + b * call->log_decay_chunk_low_at.batch + (g *
        members + m) * call->log_decay_chunk_low_at.head;
    const float *const log_decay_chunk = call->log_decay_chunk + b * call->log_decay_chunk_at.batch + (g * members + m)
        * call->log_decay_chunk_at.head;
    float *const key_features = (float *)(void *)(part->work + 0); /* [f: 192, j: 64 of 80] */
    float *const state_sum = (float *)(void *)(part->slots + 0); /* [chunk, f: 2080] */
    float *const k_tile = (float *)(void *)(part->work + 61440); /* [d: 64, j: 64 of 80] */
    float *const log_decay_k_tile = (float *)(void *)(part->work + 81920); /* [j: 64] */
    float *const log_decay_k_low_tile = (float *)(void *)(part->work + 82176); /* [j: 64] */
    /* state_sum = 0.0f */
    for (int64_t f = 0; f < 2080; f += 4) {
        store_any(state_sum + (chunk - chunk0) * 2080 + f, splat_any(0.0f));
    }
    for (int64_t j0 = chunk * 128, j_end = min(n_k, (chunk + 1) * 128); j0 < j_end; j0 += 64) {
        const int64_t j1 = min(j0 + 64, j_end);
        /* k_tile = k, with zeros beyond the last row */
        transpose_padded_any(k + j0 * k_row, k_row, j1 - j0, 64, k_tile, 80, 64);
        /* log_decay_k_tile = log_decay_k, with zeros beyond the last row */
        for (int64_t j = 0; j < round_up(j1 - j0, 4); j++)
            log_decay_k_tile[j] = j < j1 - j0 ? log_decay_k[(j0 + j)] : 0;
        /* log_decay_k_low_tile = log_decay_k_low, with zeros beyond the last row */
        for (int64_t j = 0; j < round_up(j1 - j0, 4); j++)
            log_decay_k_low_tile[j] = j < j1 - j0 ? log_decay_k_low[(j0 + j)] : 0;
        for (int64_t f0 = 0, f_end = 2080; f0 < f_end; f0 += 192) {
            const int64_t f1 = min(f0 + 192, f_end);
            /* key_features = (k_tile * k_tile) * exp2(((log_decay_chunk - log_decay_k_tile) + (log_decay_chunk_low -
               log_decay_k_low_tile)) *  ... */
            const float log_decay_chunk_0 = log_decay_chunk[max(min(((chunk + 1) * 128) - 1, n_k - 1), 0)];
            const float log_decay_chunk_low_1 = log_decay_chunk_low[max(min(((chunk + 1) * 128) - 1, n_k - 1), 0)];
            for (int64_t j = 0; j < j1 - j0; j += 4) {
                const vec_any t_2 = exp2_any(((log_decay_chunk_0 - load_any(log_decay_k_tile + j)) +
                    (log_decay_chunk_low_1 - load_any(log_decay_k_low_tile + j))) * 1.442695f);
                for (int64_t f = f0; f < f1; f++) {
                    store_any(key_features + (f - f0) * 80 + j, (load_any(k_tile + (f % 64) * 80 + j) * load_any(k_tile
                        + (((f % 64) + (f / 64)) % 64) * 80 + j)) * t_2);
                }
            }
            /* state_sum += key_features */
            for (int64_t f = f0; f < f1; f++) {
                vec_any lane_sums = splat_any(0);
                for (int64_t j = 0; j < j1 - j0; j += 4) {
                    const vec_any term = load_any(key_features + (f - f0) * 80 + j);
                    lane_sums += j + 4 <= j1 - j0 ? term : pick_any(__builtin_convertvector(j + lane_any < j1 - j0,
                        mask_any), term, splat_any(0));
                }
                const float total = lane_sum_any(lane_sums);
                state_sum[(chunk - chunk0) * 2080 + f] += total;
            }
        }
    }
}

/* Folds the slots of the current chunks, in order, for some elements of the states. */
APART void power_gated_linear_saved_fold_any(const struct call *call, int64_t task, const struct part *part,
    int64_t iteration)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_k = call->p.n_k;
    const int64_t f0 = iteration * 32, f1 = min(f0 + 32, 2080);
    const int64_t chunk0 = part->chunk0;
    const int64_t chunk1 = part->chunk1;
    const int64_t m = task % members;
    const int64_t g = task / members % kv_heads;
    const int64_t b = task / members / kv_heads;
    const float *const log_decay_chunk_low = call->log_decay_chunk_low + b * call->log_decay_chunk_low_at.batch + (g *
        members + m) * call->log_decay_chunk_low_at.head;
    const float *const log_decay_chunk = call->log_decay_chunk + b * call->log_decay_chunk_at.batch + (g * members + m)
        * call->log_decay_chunk_at.head;
    float *const state_sum = (float *)(void *)(part->slots + 0); /* [chunk, f: 2080] */
    float *const carried_sum = (float *)(void *)(part->shared + 0); /* [f: 2080] */
    float *const carried_sum_compensation = (float *)(void *)(part->shared + 8320); /* [f: 2080] */
    for (int64_t chunk = chunk0; chunk < chunk1; chunk++) {
        /* kept_share = select(exp2(((log_decay_chunk - log_decay_chunk) + (log_decay_chunk_low - log_decay_chunk_low))
           * 1.442695f) < 0.5f ... */
        const float t_3 = (log_decay_chunk[max(min(((chunk + 1) * 128) - 1, n_k - 1),
            0)] - log_decay_chunk[max(min((chunk * 128) - 1, n_k - 1),
            0)]) + (log_decay_chunk_low[max(min(((chunk + 1) * 128) - 1, n_k - 1),
            0)] - log_decay_chunk_low[max(min((chunk * 128) - 1, n_k - 1), 0)]);
        const float t_4 = exp2f(t_3 * 1.442695f);
        const int t_5 = t_4 < 0.5f;
        const float t_6 = t_5 ? t_4 : 1.0f;
        const float t_8 = t_5 ? 0.0f : (-expm1f(t_3));
        for (int64_t f = f0; f < f1; f += 4) {
            const vec_any kept_share_new7 = splat_any(t_6);
            const vec_any lost_share_new9 = splat_any(t_8);
            const vec_any carried_sum_10 = load_any(carried_sum + f);
            const vec_any before_sum_new11 = carried_sum_10;
            const vec_any carried_sum_new12 = carried_sum_10 * kept_share_new7;
            store_any(carried_sum + f, carried_sum_new12);
            store_any(carried_sum_compensation + f, load_any(carried_sum_compensation + f) * kept_share_new7);
            add_any(carried_sum + f, carried_sum_compensation + f, load_any(state_sum + (chunk - chunk0) * 2080 + f) -
                (carried_sum_new12 * lost_share_new9), splat_any(1));
            store_any(state_sum + (chunk - chunk0) * 2080 + f, before_sum_new11);
        }
    }
}

/* Processes the queries of a chunk: reads the state before the chunk, and the keys in the chunk. */
APART void power_gated_linear_saved_queries_any(const struct call *call, int64_t task, const struct part *part,
    int64_t iteration)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_q = call->p.n_q;
    const int64_t n_k = call->p.n_k;
    const int64_t chunk = iteration;
    const int64_t chunk0 = part->chunk0;
    const int64_t m = task % members;
    const int64_t g = task / members % kv_heads;
    const int64_t b = task / members / kv_heads;
    const int64_t query_start = call->p.query_start ? call->p.query_start[b] : n_k - n_q;
    const float *const q = call->q + b * call->p.q.batch + (g / call->sharing * members + m) * call->p.q.head;
    const int64_t q_row = call->p.q.row;
    const float *const k = call->k + b * call->p.k.batch + g / call->sharing * call->p.k.head;
    const int64_t k_row = call->p.k.row;
    const float *const log_decay_q_low = call->log_decay_q_low + b * call->log_decay_q_low_at.batch + (g * members + m)
        * call->log_decay_q_low_at.head;
    const float *const log_decay_q = call->log_decay_q + b * call->log_decay_q_at.batch + (g * members + m) *
        call->log_decay_q_at.head;
    const float *const log_decay_k_low = call->log_decay_k_low + b * call->log_decay_k_low_at.batch + (g * members + m)
        * call->log_decay_k_low_at.head;
    const float *const log_decay_k = call->log_decay_k + b * call->log_decay_k_at.batch + (g * members + m) *
        call->log_decay_k_at.head;
    const float *const log_decay_chunk_low = call->log_decay_chunk_low + b * call->log_decay_chunk_low_at.batch + (g *
        members + m) * call->log_decay_chunk_low_at.head;
    const float *const log_decay_chunk = call->log_decay_chunk + b * call->log_decay_chunk_at.batch + (g * members + m)
        * call->log_decay_chunk_at.head;
    float *const state_sum = (float *)(void *)(part->slots + 0); /* [chunk, f: 2080] */
    float *const query_features = (float *)(void *)(part->work + 0); /* [d: 64, i: 32] */
    float *const score = (float *)(void *)(part->work + 8192); /* [j: 64, i: 32] */
    float *const row_sum_from_state = (float *)(void *)(part->work + 16384); /* [i: 32] */
    float *const row_sum = (float *)(void *)(part->work + 16512); /* [i: 32] */
    float *const row_sum_compensation = (float *)(void *)(part->work + 16640); /* [i: 32] */
    float *const saved_0 = call->saved_0 + (b * call->p.heads + (g * members + m)) * call->p.n_q;
    float *const q_tile = (float *)(void *)(part->work + 8192); /* [d: 64, i: 32] */
    float *const log_decay_q_tile = (float *)(void *)(part->work + 16768); /* [i: 32] */
    float *const log_decay_q_low_tile = (float *)(void *)(part->work + 16896); /* [i: 32] */
    for (int64_t i0 = (chunk == 0) ? 0 : max(0, (chunk * 128) - query_start), i_end = min(n_q,
        ((chunk + 1) * 128) - query_start); i0 < i_end; i0 += 32) {
        const int64_t i1 = min(i0 + 32, i_end);
        /* q_tile = q, with zeros beyond the last row */
        transpose_padded_any(q + i0 * q_row, q_row, i1 - i0, 64, q_tile, 32, 64);
        /* log_decay_q_tile = log_decay_q, with zeros beyond the last row */
        for (int64_t i = 0; i < round_up(i1 - i0, 4); i++)
            log_decay_q_tile[i] = i < i1 - i0 ? log_decay_q[(i0 + i)] : 0;
        /* log_decay_q_low_tile = log_decay_q_low, with zeros beyond the last row */
        for (int64_t i = 0; i < round_up(i1 - i0, 4); i++)
            log_decay_q_low_tile[i] = i < i1 - i0 ? log_decay_q_low[(i0 + i)] : 0;
        /* query_features = q_tile * 0.125f */
        for (int64_t d = 0; d < 64; d++) {
            for (int64_t i = 0; i < i1 - i0; i += 4) {
                store_any(query_features + d * 32 + i, load_any(q_tile + d * 32 + i) * 0.125f);
            }
        }
        /* row_sum_from_state = 0.0f */
        for (int64_t i = 0; i < i1 - i0; i += 4) {
            store_any(row_sum_from_state + i, splat_any(0.0f));
        }
        for (int64_t f0 = 0, f_end = 2080; f0 < f_end; f0 += 192) {
            const int64_t f1 = min(f0 + 192, f_end);
            /* query = (((q_tile * 0.125f) * (q_tile * 0.125f)) * select((f / 64) == 0, 1.0f,
               2.0f)) * select(chunk == 0, 1.0f, exp2(((log_deca ... */
            const int t_13 = chunk == 0;
            const float log_decay_chunk_14 = log_decay_chunk[max(min((chunk * 128) - 1, n_k - 1), 0)];
            const float log_decay_chunk_low_15 = log_decay_chunk_low[max(min((chunk * 128) - 1, n_k - 1), 0)];
            for (int64_t i = 0; i < i1 - i0; i += 4) {
                const vec_any t_16 = t_13 ? splat_any(1.0f) : exp2_any(((load_any(log_decay_q_tile + i) -
                    log_decay_chunk_14) + (load_any(log_decay_q_low_tile + i) - log_decay_chunk_low_15)) * 1.442695f);
                vec_any row_sum_from_state_in = (vec_any){0};
                vec_any row_sum_from_state_in_whole = (vec_any){0};
                for (int64_t f = f0; f < f1; f++) {
                    const vec_any query_new17 = (((load_any(q_tile + (f % 64) * 32 + i) * 0.125f) * (load_any(q_tile +
                        (((f % 64) + (f / 64)) % 64) * 32 + i) * 0.125f)) * (float)(((f / 64) == 0) ? 1.0 : 2.0)) *
                        t_16;
                    row_sum_from_state_in += query_new17 * (state_sum[(chunk - chunk0) * 2080 + f]);
                    if (f % 192 == 191) {
                        row_sum_from_state_in_whole += row_sum_from_state_in;
                        row_sum_from_state_in = (vec_any){0};
                    }
                }
                row_sum_from_state_in += row_sum_from_state_in_whole;
                store_any(row_sum_from_state + i, load_any(row_sum_from_state + i) + row_sum_from_state_in);
            }
        }
        /* row_sum = 0.0f; row_sum_compensation = 0.0f */
        for (int64_t i = 0; i < i1 - i0; i += 4) {
            store_any(row_sum + i, splat_any(0.0f));
            store_any(row_sum_compensation + i, splat_any(0.0f));
        }
        for (int64_t j0 = max(0, chunk * 128), j_end = min(n_k, i1 + query_start); j0 < j_end; j0 += 64) {
            const int64_t j1 = min(j0 + 64, j_end);
            /* score[j][i] = sum over d of k * query_features */
            dot10_any(round_up(i1 - i0, 4), j1 - j0, k + j0 * k_row, k_row, query_features, score);
            if ((j0 < (chunk * 128)) || ((i0 + query_start + 1) < j1)) { /* the tile is partly outside the mask */
                /* score = select((j <= (i + query_start)) && ((chunk * 128) <= j),
                   (score * score) * exp2(((log_decay_q_tile - log_decay_k) + (log ... */
                for (int64_t i = 0; i < i1 - i0; i += 4) {
                    const ints_any t_18 = (i0 + i + lane_any) + query_start;
                    const vec_any log_decay_q_tile_20 = load_any(log_decay_q_tile + i);
                    const vec_any log_decay_q_low_tile_21 = load_any(log_decay_q_low_tile + i);
                    vec_any row_sum_in = (vec_any){0};
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        const vec_any score_19 = load_any(score + j * 32 + i);
                        const vec_any score_new22 = pick_any(__builtin_convertvector(((j0 + j) <= t_18) &
                            (-(int64_t)((chunk * 128) <= (j0 + j))), mask_any),
                            (score_19 * score_19) * exp2_any(((log_decay_q_tile_20 - log_decay_k[(j0 + j)]) +
                            (log_decay_q_low_tile_21 - log_decay_k_low[(j0 + j)])) * 1.442695f), splat_any(0.0f));
                        store_any(score + j * 32 + i, score_new22);
                        row_sum_in += score_new22;
                    }
                    add_any(row_sum + i, row_sum_compensation + i, row_sum_in, splat_any(1));
                }
            }
            if (!((j0 < (chunk * 128)) || ((i0 + query_start + 1) < j1))) { /* the tile is wholly inside the mask */
                /* score = (score * score) * exp2(((log_decay_q_tile - log_decay_k) + (log_decay_q_low_tile -
                   log_decay_k_low)) * 1.442695f); row_s ... */
                for (int64_t i = 0; i < i1 - i0; i += 4) {
                    const vec_any log_decay_q_tile_24 = load_any(log_decay_q_tile + i);
                    const vec_any log_decay_q_low_tile_25 = load_any(log_decay_q_low_tile + i);
                    vec_any row_sum_in = (vec_any){0};
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        const vec_any score_23 = load_any(score + j * 32 + i);
                        const vec_any score_new26 = (score_23 * score_23) * exp2_any(((log_decay_q_tile_24 -
                            log_decay_k[(j0 + j)]) + (log_decay_q_low_tile_25 - log_decay_k_low[(j0 + j)])) *
                            1.442695f);
                        store_any(score + j * 32 + i, score_new26);
                        row_sum_in += score_new26;
                    }
                    add_any(row_sum + i, row_sum_compensation + i, row_sum_in, splat_any(1));
                }
            }
        }
        /* row_sum = select(((row_sum + row_sum_from_state) + 1.0f) == 0.0f, 0.0f,
           1.0f / ((row_sum + row_sum_from_state) + 1.0f)) */
        for (int64_t i = 0; i < i1 - i0; i += 4) {
            const vec_any t_27 = (load_any(row_sum + i) + load_any(row_sum_from_state + i)) + 1.0f;
            store_any(row_sum + i, pick_any(t_27 == 0.0f, splat_any(0.0f), 1.0f / t_27));
        }
        /* saved_0 = row_sum */
        for (int64_t i = 0; i < i1 - i0; i++)
            saved_0[(i0 + i)] = row_sum[i];
    }
}

/* Computes head number `task`. Each thread on the head calls this with its share, `part`. */
static void power_gated_linear_saved_any(const struct call *call, int64_t task, struct part *part)
{
    const int64_t n_k = call->p.n_k;
    const int64_t chunks = n_k > 0 ? (n_k - 1) / 128 + 1 : 1;
    for (int64_t iteration = part->number; iteration < ((2080 + 31) / 32); iteration += part->threads)
        power_gated_linear_saved_begin_any(call, task, part, iteration);
    synchronise(part);
    const int64_t first = 0;
    const int64_t length = segment_length(part, chunks - first);
    for (int64_t segment = part->number; first + segment * length < chunks; segment += part->threads) {
        part->chunk0 = first + segment * length;
        part->chunk1 = min(part->chunk0 + length, chunks);
        for (int64_t iteration = part->chunk0; iteration < part->chunk1; iteration++)
            power_gated_linear_saved_keys_any(call, task, part, iteration);
        for (int64_t group = 0; group < 16; group++) {
            await_segment(part, group, segment);
            const int64_t end = (group + 1) * ((2080 + 31) / 32) / 16;
            for (int64_t iteration = group * ((2080 + 31) / 32) / 16; iteration < end; iteration++)
                power_gated_linear_saved_fold_any(call, task, part, iteration);
            pass_segment(part, group, segment);
        }
        for (int64_t iteration = part->chunk0; iteration < part->chunk1; iteration++)
            power_gated_linear_saved_queries_any(call, task, part, iteration);
    }
    part->segments += (max(chunks - first, 0) + length - 1) / length;
    synchronise(part);
}

/* Computes task number `task`: one tile of queries of one head. `work` is this thread's workspace. */
static void power_gated_linear_row_sums_any(const struct call *call, int64_t task, unsigned char *work)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_q = call->p.n_q;
    const int64_t tiles = (n_q + 32 - 1) / 32, i0 = (tiles - 1 - task % tiles) * 32,
        i1 = min(i0 + 32, n_q);
    const int64_t m = task / tiles % members;
    const int64_t g = task / tiles / members % kv_heads;
    const int64_t b = task / tiles / members / kv_heads;
    const float *const out = call->out + b * call->p.out.batch + (g * members + m) * call->p.out.head;
    const int64_t out_row = call->p.out.row;
    const float *const dout = call->dout + b * call->p.dout.batch + (g * members + m) * call->p.dout.head;
    const int64_t dout_row = call->p.dout.row;
    const float *const saved_0 = call->saved_0 + (b * call->p.heads + (g * members + m)) * call->p.n_q;
    float *const query_sum = (float *)(void *)(work + 0); /* [i: 32] */
    float *const row_0 = call->row_0 + (b * call->p.heads + (g * members + m)) * call->p.n_q;
    float *const out_tile = (float *)(void *)(work + 128); /* [e: 64, i: 32] */
    float *const dout_tile = (float *)(void *)(work + 8320); /* [e: 64, i: 32] */
    float *const saved_0_tile = (float *)(void *)(work + 16512); /* [i: 32] */
    /* out_tile = out, with zeros beyond the last row */
    transpose_padded_any(out + i0 * out_row, out_row, i1 - i0, 64, out_tile, 32, 4);
    /* dout_tile = dout, with zeros beyond the last row */
    transpose_padded_any(dout + i0 * dout_row, dout_row, i1 - i0, 64, dout_tile, 32, 4);
    /* saved_0_tile = saved_0, with zeros beyond the last row */
    for (int64_t i = 0; i < round_up(i1 - i0, 4); i++)
        saved_0_tile[i] = i < i1 - i0 ? saved_0[(i0 + i)] : 0;
    /* query_sum = 0.0f */
    for (int64_t i = 0; i < i1 - i0; i += 4) {
        store_any(query_sum + i, splat_any(0.0f));
    }
    /* query_sum += dout_tile * neg(out_tile) */
    for (int64_t i_first = 0; i_first < i1 - i0; i_first += 8) {
        vec_any query_sum_in[2];
        UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += 4) {
            query_sum_in[vector] = (vec_any){0};
        }
        for (int64_t e = 0; e < 64; e++) {
            UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += 4) {
                query_sum_in[vector] += load_any(dout_tile + e * 32 + i) * (-load_any(out_tile + e * 32 + i));
            }
        }
        UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += 4) {
            store_any(query_sum + i, load_any(query_sum + i) + query_sum_in[vector]);
        }
    }
    /* query_sum = query_sum * saved_0_tile */
    for (int64_t i = 0; i < i1 - i0; i += 4) {
        store_any(query_sum + i, load_any(query_sum + i) * load_any(saved_0_tile + i));
    }
    /* row_0 = query_sum */
    for (int64_t i = 0; i < i1 - i0; i++)
        row_0[(i0 + i)] = query_sum[i];
}

/* Initialises the states: they contain no keys yet. */
APART void power_gated_linear_dq_dlog_decay_q_begin_any(const struct call *call, int64_t task, const struct part *part,
    int64_t iteration)
{
    (void)call;
    (void)task;
    const int64_t f0 = iteration * 32, f1 = min(f0 + 32, 2080);
    float *const carried_sum = (float *)(void *)(part->shared + 0); /* [f: 2080] */
    float *const carried_sum_compensation = (float *)(void *)(part->shared + 540800); /* [f: 2080] */
    float *const carried = (float *)(void *)(part->shared + 8320); /* [f: 2080, e: 64] */
    float *const carried_compensation = (float *)(void *)(part->shared + 549120); /* [f: 2080, e: 64] */
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
APART void power_gated_linear_dq_dlog_decay_q_keys_any(const struct call *call, int64_t task, const struct part *part,
    int64_t iteration)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_k = call->p.n_k;
    const int64_t chunk = iteration;
    const int64_t chunk0 = part->chunk0;
    const int64_t m = task % members;
    const int64_t g = task / members % kv_heads;
    const int64_t b = task / members / kv_heads;
    const float *const k = call->k + b * call->p.k.batch + g / call->sharing * call->p.k.head;
    const int64_t k_row = call->p.k.row;
    const float *const v = call->v + b * call->p.v.batch + g * call->p.v.head;
    const int64_t v_row = call->p.v.row;
    const float *const log_decay_k_low = call->log_decay_k_low + b * call->log_decay_k_low_at.batch + (g * members + m)
        * call->log_decay_k_low_at.head;
    const float *const log_decay_k = call->log_decay_k + b * call->log_decay_k_at.batch + (g * members + m) *
        call->log_decay_k_at.head;
    const float *const log_decay_chunk_low = call->log_decay_chunk_low + b * call->log_decay_chunk_low_at.batch + (g *
        members + m) * call->log_decay_chunk_low_at.head;
    const float *const log_decay_chunk = call->log_decay_chunk + b * call->log_decay_chunk_at.batch + (g * members + m)
        * call->log_decay_chunk_at.head;
    float *const key_features = (float *)(void *)(part->work + 0); /* [f: 192, j: 64 of 80] */
    float *const state_sum = (float *)(void *)(part->slots + 0); /* [chunk, f: 2080] */
    float *const state = (float *)(void *)(part->slots + 8320); /* [chunk, f: 2080, e: 64] */
    float *const k_tile = (float *)(void *)(part->work + 61440); /* [d: 64, j: 64 of 80] */
    float *const log_decay_k_tile = (float *)(void *)(part->work + 81920); /* [j: 64] */
    float *const log_decay_k_low_tile = (float *)(void *)(part->work + 82176); /* [j: 64] */
    /* state_sum = 0.0f */
    for (int64_t f = 0; f < 2080; f += 4) {
        store_any(state_sum + (chunk - chunk0) * 135200 + f, splat_any(0.0f));
    }
    /* state = 0.0f */
    for (int64_t f = 0; f < 2080; f++) {
        for (int64_t e_first = 0; e_first < 64; e_first += 8) {
            UNROLL for (int64_t vector = 0, e = e_first; vector < 2; vector++, e += 4) {
                store_any(state + (chunk - chunk0) * 135200 + f * 64 + e, splat_any(0.0f));
            }
        }
    }
    for (int64_t j0 = chunk * 128, j_end = min(n_k, (chunk + 1) * 128); j0 < j_end; j0 += 64) {
        const int64_t j1 = min(j0 + 64, j_end);
        /* k_tile = k, with zeros beyond the last row */
        transpose_padded_any(k + j0 * k_row, k_row, j1 - j0, 64, k_tile, 80, 64);
        /* log_decay_k_tile = log_decay_k, with zeros beyond the last row */
        for (int64_t j = 0; j < round_up(j1 - j0, 4); j++)
            log_decay_k_tile[j] = j < j1 - j0 ? log_decay_k[(j0 + j)] : 0;
        /* log_decay_k_low_tile = log_decay_k_low, with zeros beyond the last row */
        for (int64_t j = 0; j < round_up(j1 - j0, 4); j++)
            log_decay_k_low_tile[j] = j < j1 - j0 ? log_decay_k_low[(j0 + j)] : 0;
        for (int64_t f0 = 0, f_end = 2080; f0 < f_end; f0 += 192) {
            const int64_t f1 = min(f0 + 192, f_end);
            /* key_features = (k_tile * k_tile) * exp2(((log_decay_chunk - log_decay_k_tile) + (log_decay_chunk_low -
               log_decay_k_low_tile)) *  ... */
            const float log_decay_chunk_0 = log_decay_chunk[max(min(((chunk + 1) * 128) - 1, n_k - 1), 0)];
            const float log_decay_chunk_low_1 = log_decay_chunk_low[max(min(((chunk + 1) * 128) - 1, n_k - 1), 0)];
            for (int64_t j = 0; j < j1 - j0; j += 4) {
                const vec_any t_2 = exp2_any(((log_decay_chunk_0 - load_any(log_decay_k_tile + j)) +
                    (log_decay_chunk_low_1 - load_any(log_decay_k_low_tile + j))) * 1.442695f);
                for (int64_t f = f0; f < f1; f++) {
                    store_any(key_features + (f - f0) * 80 + j, (load_any(k_tile + (f % 64) * 80 + j) * load_any(k_tile
                        + (((f % 64) + (f / 64)) % 64) * 80 + j)) * t_2);
                }
            }
            /* state_sum += key_features */
            for (int64_t f = f0; f < f1; f++) {
                vec_any lane_sums = splat_any(0);
                for (int64_t j = 0; j < j1 - j0; j += 4) {
                    const vec_any term = load_any(key_features + (f - f0) * 80 + j);
                    lane_sums += j + 4 <= j1 - j0 ? term : pick_any(__builtin_convertvector(j + lane_any < j1 - j0,
                        mask_any), term, splat_any(0));
                }
                const float total = lane_sum_any(lane_sums);
                state_sum[(chunk - chunk0) * 135200 + f] += total;
            }
            /* state[f][e] += sum over j of key_features * v */
            dot3_any(f1 - f0, j1 - j0, key_features, v + j0 * v_row, v_row,
                state + (chunk - chunk0) * 135200 + f0 * 64);
        }
    }
}

/* Folds the slots of the current chunks, in order, for some elements of the states. */
APART void power_gated_linear_dq_dlog_decay_q_fold_any(const struct call *call, int64_t task, const struct part *part,
    int64_t iteration)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_k = call->p.n_k;
    const int64_t f0 = iteration * 32, f1 = min(f0 + 32, 2080);
    const int64_t chunk0 = part->chunk0;
    const int64_t chunk1 = part->chunk1;
    const int64_t m = task % members;
    const int64_t g = task / members % kv_heads;
    const int64_t b = task / members / kv_heads;
    const float *const log_decay_chunk_low = call->log_decay_chunk_low + b * call->log_decay_chunk_low_at.batch + (g *
        members + m) * call->log_decay_chunk_low_at.head;
    const float *const log_decay_chunk = call->log_decay_chunk + b * call->log_decay_chunk_at.batch + (g * members + m)
        * call->log_decay_chunk_at.head;
    float *const state_sum = (float *)(void *)(part->slots + 0); /* [chunk, f: 2080] */
    float *const state = (float *)(void *)(part->slots + 8320); /* [chunk, f: 2080, e: 64] */
    float *const carried_sum = (float *)(void *)(part->shared + 0); /* [f: 2080] */
    float *const carried_sum_compensation = (float *)(void *)(part->shared + 540800); /* [f: 2080] */
    float *const carried = (float *)(void *)(part->shared + 8320); /* [f: 2080, e: 64] */
    float *const carried_compensation = (float *)(void *)(part->shared + 549120); /* [f: 2080, e: 64] */
    float *const kept_share_2 = (float *)(void *)(part->work + 0); /* [f: 2080] */
    float *const lost_share_2 = (float *)(void *)(part->work + 8320); /* [f: 2080] */
    for (int64_t chunk = chunk0; chunk < chunk1; chunk++) {
        /* kept_share = select(exp2(((log_decay_chunk - log_decay_chunk) + (log_decay_chunk_low - log_decay_chunk_low))
           * 1.442695f) < 0.5f ... */
        const float t_3 = (log_decay_chunk[max(min(((chunk + 1) * 128) - 1, n_k - 1),
            0)] - log_decay_chunk[max(min((chunk * 128) - 1, n_k - 1),
            0)]) + (log_decay_chunk_low[max(min(((chunk + 1) * 128) - 1, n_k - 1),
            0)] - log_decay_chunk_low[max(min((chunk * 128) - 1, n_k - 1), 0)]);
        const float t_4 = exp2f(t_3 * 1.442695f);
        const int t_5 = t_4 < 0.5f;
        const float t_6 = t_5 ? t_4 : 1.0f;
        const float t_8 = t_5 ? 0.0f : (-expm1f(t_3));
        for (int64_t f = f0; f < f1; f += 4) {
            const vec_any kept_share_new7 = splat_any(t_6);
            const vec_any lost_share_new9 = splat_any(t_8);
            const vec_any carried_sum_10 = load_any(carried_sum + f);
            const vec_any before_sum_new11 = carried_sum_10;
            const vec_any carried_sum_new12 = carried_sum_10 * kept_share_new7;
            store_any(carried_sum + f, carried_sum_new12);
            store_any(carried_sum_compensation + f, load_any(carried_sum_compensation + f) * kept_share_new7);
            add_any(carried_sum + f, carried_sum_compensation + f, load_any(state_sum + (chunk - chunk0) * 135200 + f) -
                (carried_sum_new12 * lost_share_new9), splat_any(1));
            store_any(state_sum + (chunk - chunk0) * 135200 + f, before_sum_new11);
        }
        /* kept_share_2 = select(exp2(((log_decay_chunk - log_decay_chunk) + (log_decay_chunk_low -
           log_decay_chunk_low)) * 1.442695f) < 0. ... */
        const float t_13 = (log_decay_chunk[max(min(((chunk + 1) * 128) - 1, n_k - 1),
            0)] - log_decay_chunk[max(min((chunk * 128) - 1, n_k - 1),
            0)]) + (log_decay_chunk_low[max(min(((chunk + 1) * 128) - 1, n_k - 1),
            0)] - log_decay_chunk_low[max(min((chunk * 128) - 1, n_k - 1), 0)]);
        const float t_14 = exp2f(t_13 * 1.442695f);
        const int t_15 = t_14 < 0.5f;
        const float t_16 = t_15 ? t_14 : 1.0f;
        const float t_17 = t_15 ? 0.0f : (-expm1f(t_13));
        for (int64_t f = f0; f < f1; f += 4) {
            store_any(kept_share_2 + f, splat_any(t_16));
            store_any(lost_share_2 + f, splat_any(t_17));
        }
        /* before = carried; carried = carried * kept_share_2; carried_compensation = carried_compensation *
           kept_share_2; carried += state ... */
        for (int64_t f = f0; f < f1; f++) {
            for (int64_t e_first = 0; e_first < 64; e_first += 8) {
                UNROLL for (int64_t vector = 0, e = e_first; vector < 2; vector++, e += 4) {
                    const vec_any carried_18 = load_any(carried + f * 64 + e);
                    const vec_any before_new19 = carried_18;
                    const float kept_share_2_20 = kept_share_2[f];
                    const vec_any carried_new21 = carried_18 * kept_share_2_20;
                    store_any(carried + f * 64 + e, carried_new21);
                    store_any(carried_compensation + f * 64 + e, load_any(carried_compensation + f * 64 + e) *
                        kept_share_2_20);
                    add_any(carried + f * 64 + e, carried_compensation + f * 64 + e,
                        load_any(state + (chunk - chunk0) * 135200 + f * 64 + e) - (carried_new21 * lost_share_2[f]),
                        splat_any(1));
                    store_any(state + (chunk - chunk0) * 135200 + f * 64 + e, before_new19);
                }
            }
        }
    }
}

/* Processes the queries of a chunk: reads the state before the chunk, and the keys in the chunk. */
APART void power_gated_linear_dq_dlog_decay_q_queries_any(const struct call *call, int64_t task,
    const struct part *part, int64_t iteration)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_q = call->p.n_q;
    const int64_t n_k = call->p.n_k;
    const int64_t chunk = iteration;
    const int64_t chunk0 = part->chunk0;
    const int64_t m = task % members;
    const int64_t g = task / members % kv_heads;
    const int64_t b = task / members / kv_heads;
    const int64_t query_start = call->p.query_start ? call->p.query_start[b] : n_k - n_q;
    const float *const q = call->q + b * call->p.q.batch + (g / call->sharing * members + m) * call->p.q.head;
    const int64_t q_row = call->p.q.row;
    const float *const k = call->k + b * call->p.k.batch + g / call->sharing * call->p.k.head;
    const int64_t k_row = call->p.k.row;
    const float *const v = call->v + b * call->p.v.batch + g * call->p.v.head;
    const int64_t v_row = call->p.v.row;
    const float *const log_decay_q_low = call->log_decay_q_low + b * call->log_decay_q_low_at.batch + (g * members + m)
        * call->log_decay_q_low_at.head;
    const float *const log_decay_q = call->log_decay_q + b * call->log_decay_q_at.batch + (g * members + m) *
        call->log_decay_q_at.head;
    const float *const log_decay_k_low = call->log_decay_k_low + b * call->log_decay_k_low_at.batch + (g * members + m)
        * call->log_decay_k_low_at.head;
    const float *const log_decay_k = call->log_decay_k + b * call->log_decay_k_at.batch + (g * members + m) *
        call->log_decay_k_at.head;
    const float *const log_decay_chunk_low = call->log_decay_chunk_low + b * call->log_decay_chunk_low_at.batch + (g *
        members + m) * call->log_decay_chunk_low_at.head;
    const float *const log_decay_chunk = call->log_decay_chunk + b * call->log_decay_chunk_at.batch + (g * members + m)
        * call->log_decay_chunk_at.head;
    const float *const dout = call->dout + b * call->p.dout.batch + (g * members + m) * call->p.dout.head;
    const int64_t dout_row = call->p.dout.row;
    const float *const saved_0 = call->saved_0 + (b * call->p.heads + (g * members + m)) * call->p.n_q;
    const float *const row_0 = call->row_0 + (b * call->p.heads + (g * members + m)) * call->p.n_q;
    float *const state_sum = (float *)(void *)(part->slots + 0); /* [chunk, f: 2080] */
    float *const state = (float *)(void *)(part->slots + 8320); /* [chunk, f: 2080, e: 64] */
    float *const score = (float *)(void *)(part->work + 0); /* [j: 64, i: 32] */
    float *const score_2 = (float *)(void *)(part->work + 8192); /* [j: 64, i: 32] */
    float *const sum_from_state = (float *)(void *)(part->work + 0); /* [f: 2080, i: 32] */
    float *const weight_2 = (float *)(void *)(part->work + 16384); /* [j: 64, i: 32] */
    float *const row_sum = (float *)(void *)(part->work + 266240); /* [i: 32] */
    float *const row_sum_compensation = (float *)(void *)(part->work + 266368); /* [i: 32] */
    float *const query_sum = (float *)(void *)(part->work + 266496); /* [d: 64, i: 32] */
    float *const query_sum_2 = (float *)(void *)(part->work + 274688); /* [d: 64, i: 32] */
    float *const query_sum_3 = (float *)(void *)(part->work + 282880); /* [i: 32] */
    float *const sum = (float *)(void *)(part->work + 24576); /* [d: 64, i: 32] */
    float *const sum_compensation = (float *)(void *)(part->work + 32768); /* [d: 64, i: 32] */
    float *const dq = call->dq ? call->dq + b * call->p.dq.batch + (g * members + m) * call->p.dq.head : NULL;
    const int64_t dq_row = call->p.dq.row;
    float *const dlog_decay_q = call->dlog_decay_q ? call->dlog_decay_q + b * call->dlog_decay_q_at.batch + (g * members
        + m) * call->dlog_decay_q_at.head : NULL;
    const int64_t dlog_decay_q_row = call->dlog_decay_q_at.row;
    float *const dout_tile = (float *)(void *)(part->work + 283008); /* [e: 64, i: 32] */
    float *const saved_0_tile = (float *)(void *)(part->work + 0); /* [i: 32] */
    float *const row_0_tile = (float *)(void *)(part->work + 291200); /* [i: 32] */
    float *const q_tile = (float *)(void *)(part->work + 291328); /* [d: 64, i: 32] */
    float *const log_decay_q_tile = (float *)(void *)(part->work + 299520); /* [i: 32] */
    float *const log_decay_q_low_tile = (float *)(void *)(part->work + 299648); /* [i: 32] */
    for (int64_t i0 = (chunk == 0) ? 0 : max(0, (chunk * 128) - query_start), i_end = min(n_q,
        ((chunk + 1) * 128) - query_start); i0 < i_end; i0 += 32) {
        const int64_t i1 = min(i0 + 32, i_end);
        /* dout_tile = dout, with zeros beyond the last row */
        transpose_padded_any(dout + i0 * dout_row, dout_row, i1 - i0, 64, dout_tile, 32, 64);
        /* saved_0_tile = saved_0, with zeros beyond the last row */
        for (int64_t i = 0; i < round_up(i1 - i0, 4); i++)
            saved_0_tile[i] = i < i1 - i0 ? saved_0[(i0 + i)] : 0;
        /* row_0_tile = row_0, with zeros beyond the last row */
        for (int64_t i = 0; i < round_up(i1 - i0, 4); i++)
            row_0_tile[i] = i < i1 - i0 ? row_0[(i0 + i)] : 0;
        /* q_tile = q, with zeros beyond the last row */
        transpose_padded_any(q + i0 * q_row, q_row, i1 - i0, 64, q_tile, 32, 64);
        /* log_decay_q_tile = log_decay_q, with zeros beyond the last row */
        for (int64_t i = 0; i < round_up(i1 - i0, 4); i++)
            log_decay_q_tile[i] = i < i1 - i0 ? log_decay_q[(i0 + i)] : 0;
        /* log_decay_q_low_tile = log_decay_q_low, with zeros beyond the last row */
        for (int64_t i = 0; i < round_up(i1 - i0, 4); i++)
            log_decay_q_low_tile[i] = i < i1 - i0 ? log_decay_q_low[(i0 + i)] : 0;
        /* dout_tile = dout_tile * saved_0_tile */
        for (int64_t i = 0; i < i1 - i0; i += 4) {
            const vec_any saved_0_tile_22 = load_any(saved_0_tile + i);
            for (int64_t e = 0; e < 64; e++) {
                store_any(dout_tile + e * 32 + i, load_any(dout_tile + e * 32 + i) * saved_0_tile_22);
            }
        }
        /* sum_from_state[f][i] = sum over e of state * dout_tile */
        dot11_any(round_up(i1 - i0, 4), state + (chunk - chunk0) * 135200, dout_tile, sum_from_state);
        /* sum_from_state = sum_from_state + (row_0_tile * state_sum) */
        for (int64_t i = 0; i < i1 - i0; i += 4) {
            const vec_any row_0_tile_23 = load_any(row_0_tile + i);
            for (int64_t f = 0; f < 2080; f++) {
                store_any(sum_from_state + f * 32 + i, load_any(sum_from_state + f * 32 + i) + (row_0_tile_23 *
                    (state_sum[(chunk - chunk0) * 135200 + f])));
            }
        }
        if (dq) {
            /* query_sum = 0.0f */
            for (int64_t d = 0; d < 64; d++) {
                for (int64_t i = 0; i < i1 - i0; i += 4) {
                    store_any(query_sum + d * 32 + i, splat_any(0.0f));
                }
            }
            /* query_sum_2 = 0.0f */
            for (int64_t d = 0; d < 64; d++) {
                for (int64_t i = 0; i < i1 - i0; i += 4) {
                    store_any(query_sum_2 + d * 32 + i, splat_any(0.0f));
                }
            }
            /* query_sum += select(((t33 * 64) + d) < 2080, sum_from_state * (((q_tile * select(t33 == 0, 1.0f,
               2.0f)) * select(chunk == 0, 1.0 ... */
            const int t_25 = chunk == 0;
            const float log_decay_chunk_26 = log_decay_chunk[max(min((chunk * 128) - 1, n_k - 1), 0)];
            const float log_decay_chunk_low_27 = log_decay_chunk_low[max(min((chunk * 128) - 1, n_k - 1), 0)];
            for (int64_t i = 0; i < i1 - i0; i += 4) {
                const vec_any t_28 = t_25 ? splat_any(1.0f) : exp2_any(((load_any(log_decay_q_tile + i) -
                    log_decay_chunk_26) + (load_any(log_decay_q_low_tile + i) - log_decay_chunk_low_27)) * 1.442695f);
                for (int64_t d = 0; d < 64; d++) {
                    vec_any query_sum_in = (vec_any){0};
                    vec_any query_sum_2_in = (vec_any){0};
                    for (int64_t t33 = 0; t33 < 33; t33++) {
                        const double t_24 = (t33 == 0) ? 1.0 : 2.0;
                        query_sum_in += (((t33 * 64) + d) < 2080) ? load_any(sum_from_state + min((t33 * 64) + d,
                            2079) * 32 + i) * (((load_any(q_tile + ((d + t33) % 64) * 32 + i) * (float)t_24) * t_28) *
                            0.015625f) : splat_any(0.0f);
                        query_sum_2_in += (((t33 * 64) + floor_mod(d - t33,
                            64)) < 2080) ? load_any(sum_from_state + min((t33 * 64) + floor_mod(d - t33, 64),
                            2079) * 32 + i) * (((load_any(q_tile + floor_mod(d - t33,
                            64) * 32 + i) * (float)t_24) * t_28) * 0.015625f) : splat_any(0.0f);
                    }
                    store_any(query_sum + d * 32 + i, load_any(query_sum + d * 32 + i) + query_sum_in);
                    store_any(query_sum_2 + d * 32 + i, load_any(query_sum_2 + d * 32 + i) + query_sum_2_in);
                }
            }
        }
        if (dlog_decay_q) {
            /* row_sum = 0.0f; row_sum_compensation = 0.0f; query_sum_3 = 0.0f */
            for (int64_t i = 0; i < i1 - i0; i += 4) {
                store_any(row_sum + i, splat_any(0.0f));
                store_any(row_sum_compensation + i, splat_any(0.0f));
                store_any(query_sum_3 + i, splat_any(0.0f));
            }
            /* query_sum_3 += sum_from_state * ((((q_tile * 0.125f) * (q_tile * 0.125f)) * select((f / 64) == 0, 1.0f,
               2.0f)) * select(chunk == ... */
            const int t_29 = chunk == 0;
            const float log_decay_chunk_30 = log_decay_chunk[max(min((chunk * 128) - 1, n_k - 1), 0)];
            const float log_decay_chunk_low_31 = log_decay_chunk_low[max(min((chunk * 128) - 1, n_k - 1), 0)];
            for (int64_t i = 0; i < i1 - i0; i += 4) {
                const vec_any t_32 = t_29 ? splat_any(0.0f) : exp2_any(((load_any(log_decay_q_tile + i) -
                    log_decay_chunk_30) + (load_any(log_decay_q_low_tile + i) - log_decay_chunk_low_31)) * 1.442695f);
                vec_any query_sum_3_in = (vec_any){0};
                vec_any query_sum_3_in_whole = (vec_any){0};
                for (int64_t f = 0; f < 2080; f++) {
                    query_sum_3_in += load_any(sum_from_state + f * 32 + i) * ((((load_any(q_tile + (f % 64) * 32 + i) *
                        0.125f) * (load_any(q_tile + (((f % 64) + (f / 64)) % 64) * 32 + i) * 0.125f)) * (float)(((f /
                        64) == 0) ? 1.0 : 2.0)) * t_32);
                    if (f % 192 == 191) {
                        query_sum_3_in_whole += query_sum_3_in;
                        query_sum_3_in = (vec_any){0};
                    }
                }
                query_sum_3_in += query_sum_3_in_whole;
                store_any(query_sum_3 + i, load_any(query_sum_3 + i) + query_sum_3_in);
            }
        }
        if (dq) {
            /* sum = 0.0f; sum_compensation = 0.0f */
            for (int64_t d = 0; d < 64; d++) {
                for (int64_t i = 0; i < i1 - i0; i += 4) {
                    store_any(sum + d * 32 + i, splat_any(0.0f));
                    store_any(sum_compensation + d * 32 + i, splat_any(0.0f));
                }
            }
        }
        for (int64_t j0 = max(0, chunk * 128), j_end = min(n_k, i1 + query_start); j0 < j_end; j0 += 64) {
            const int64_t j1 = min(j0 + 64, j_end);
            /* score[j][i] = sum over d of k * q_tile */
            dot10_any(round_up(i1 - i0, 4), j1 - j0, k + j0 * k_row, k_row, q_tile, score);
            /* score_2[j][i] = sum over e of v * dout_tile */
            dot5_any(round_up(i1 - i0, 4), j1 - j0, v + j0 * v_row, v_row, dout_tile, score_2, k + j0 * k_row, k_row);
            /* score_2 = score_2 + row_0_tile; weight_2 = score_2 * ((score * exp2(((log_decay_q_tile - log_decay_k) +
               (log_decay_q_low_tile -  ... */
            for (int64_t i = 0; i < i1 - i0; i += 4) {
                const vec_any row_0_tile_34 = load_any(row_0_tile + i);
                const vec_any log_decay_q_tile_37 = load_any(log_decay_q_tile + i);
                const vec_any log_decay_q_low_tile_38 = load_any(log_decay_q_low_tile + i);
                for (int64_t j = 0; j < j1 - j0; j++) {
                    const vec_any score_2_33 = load_any(score_2 + j * 32 + i);
                    const vec_any score_2_new35 = score_2_33 + row_0_tile_34;
                    store_any(score_2 + j * 32 + i, score_2_new35);
                    const vec_any score_36 = load_any(score + j * 32 + i);
                    const vec_any t_39 = exp2_any(((log_decay_q_tile_37 - log_decay_k[(j0 + j)]) +
                        (log_decay_q_low_tile_38 - log_decay_k_low[(j0 + j)])) * 1.442695f);
                    store_any(weight_2 + j * 32 + i, score_2_new35 * ((score_36 * t_39) * 0.03125f));
                    const vec_any t_40 = score_36 * 0.125f;
                    store_any(score + j * 32 + i, score_2_new35 * ((t_40 * t_40) * t_39));
                }
            }
            if ((j0 < (chunk * 128)) || ((i0 + query_start + 1) < j1)) { /* the tile is partly outside the mask */
                if (dlog_decay_q) {
                    /* score = select((j <= (i + query_start)) && ((chunk * 128) <= j), score, 0.0f) */
                    for (int64_t i = 0; i < i1 - i0; i += 4) {
                        const ints_any t_41 = (i0 + i + lane_any) + query_start;
                        for (int64_t j = 0; j < j1 - j0; j++) {
                            store_any(score + j * 32 + i, pick_any(__builtin_convertvector(((j0 + j) <= t_41) &
                                (-(int64_t)((chunk * 128) <= (j0 + j))), mask_any), load_any(score + j * 32 + i),
                                splat_any(0.0f)));
                        }
                    }
                }
            }
            if (dlog_decay_q) {
                /* row_sum += score */
                for (int64_t i_first = 0; i_first < i1 - i0; i_first += 8) {
                    vec_any row_sum_in[2];
                    UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += 4) {
                        row_sum_in[vector] = (vec_any){0};
                    }
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += 4) {
                            row_sum_in[vector] += load_any(score + j * 32 + i);
                        }
                    }
                    UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += 4) {
                        add_any(row_sum + i, row_sum_compensation + i, row_sum_in[vector], splat_any(1));
                    }
                }
            }
            if ((j0 < (chunk * 128)) || ((i0 + query_start + 1) < j1)) { /* the tile is partly outside the mask */
                if (dq) {
                    /* weight_2 = select((j <= (i + query_start)) && ((chunk * 128) <= j), weight_2, 0.0f) */
                    for (int64_t i = 0; i < i1 - i0; i += 4) {
                        const ints_any t_42 = (i0 + i + lane_any) + query_start;
                        for (int64_t j = 0; j < j1 - j0; j++) {
                            store_any(weight_2 + j * 32 + i, pick_any(__builtin_convertvector(((j0 + j) <= t_42) &
                                (-(int64_t)((chunk * 128) <= (j0 + j))), mask_any), load_any(weight_2 + j * 32 + i),
                                splat_any(0.0f)));
                        }
                    }
                }
            }
            if (dq) {
                /* sum[d][i] += sum over j of k * weight_2 */
                if (__builtin_expect(((j0 < (chunk * 128)) || ((i0 + query_start + 1) < j1)) && !finite_any(k + j0 *
                    k_row, k_row, j1 - j0, 64), 0)) { /* infinity and NaN affect only queries that see them */
                    dot6_any(round_up(i1 - i0, 4), j1 - j0, k + j0 * k_row, k_row, weight_2, sum, sum_compensation);
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        mask_any in_region[8] = {0};
                        if (finite_any(k + j0 * k_row + j * k_row, 1, 64, 1)) continue;
                        const int t_43 = (chunk * 128) <= (j0 + j);
                        for (int64_t i = 0; i < i1 - i0; i += 4) {
                            in_region[i / 4] = __builtin_convertvector(((j0 + j) <= ((i0 + i + lane_any) + query_start))
                                & (-(int64_t)t_43), mask_any);
                        }
                        add_seen_any(64, sum, 32, k + j0 * k_row + j * k_row, 1, weight_2 + j * 32, in_region, i1 - i0);
                    }
                } else
                    dot7_any(round_up(i1 - i0, 4), j1 - j0, k + j0 * k_row, k_row, weight_2, sum, sum_compensation);
            }
        }
        if (dq) {
            /* query_sum = (query_sum + query_sum_2) + sum */
            for (int64_t d = 0; d < 64; d++) {
                for (int64_t i = 0; i < i1 - i0; i += 4) {
                    store_any(query_sum + d * 32 + i, (load_any(query_sum + d * 32 + i) + load_any(query_sum_2 + d * 32
                        + i)) + load_any(sum + d * 32 + i));
                }
            }
        }
        if (dlog_decay_q) {
            /* row_sum = row_sum + query_sum_3 */
            for (int64_t i = 0; i < i1 - i0; i += 4) {
                store_any(row_sum + i, load_any(row_sum + i) + load_any(query_sum_3 + i));
            }
        }
        if (dq) {
            /* dq = query_sum, transposed back */
            transpose_out_any(query_sum, 32, 64, i1 - i0, dq + i0 * dq_row, dq_row, 64);
        }
        if (dlog_decay_q) {
            /* dlog_decay_q = row_sum */
            for (int64_t i = 0; i < i1 - i0; i++)
                dlog_decay_q[(i0 + i) * dlog_decay_q_row] = row_sum[i];
        }
    }
}

/* Computes head number `task`. Each thread on the head calls this with its share, `part`. */
static void power_gated_linear_dq_dlog_decay_q_any(const struct call *call, int64_t task, struct part *part)
{
    const int64_t n_k = call->p.n_k;
    const int64_t chunks = n_k > 0 ? (n_k - 1) / 128 + 1 : 1;
    for (int64_t iteration = part->number; iteration < ((2080 + 31) / 32); iteration += part->threads)
        power_gated_linear_dq_dlog_decay_q_begin_any(call, task, part, iteration);
    synchronise(part);
    const int64_t first = 0;
    const int64_t length = segment_length(part, chunks - first);
    for (int64_t segment = part->number; first + segment * length < chunks; segment += part->threads) {
        part->chunk0 = first + segment * length;
        part->chunk1 = min(part->chunk0 + length, chunks);
        for (int64_t iteration = part->chunk0; iteration < part->chunk1; iteration++)
            power_gated_linear_dq_dlog_decay_q_keys_any(call, task, part, iteration);
        for (int64_t group = 0; group < 16; group++) {
            await_segment(part, group, segment);
            const int64_t end = (group + 1) * ((2080 + 31) / 32) / 16;
            for (int64_t iteration = group * ((2080 + 31) / 32) / 16; iteration < end; iteration++)
                power_gated_linear_dq_dlog_decay_q_fold_any(call, task, part, iteration);
            pass_segment(part, group, segment);
        }
        for (int64_t iteration = part->chunk0; iteration < part->chunk1; iteration++)
            power_gated_linear_dq_dlog_decay_q_queries_any(call, task, part, iteration);
    }
    part->segments += (max(chunks - first, 0) + length - 1) / length;
    synchronise(part);
}

/* Initialises the states: they contain no queries yet. */
APART void power_gated_linear_linear_heads_0_linear_heads_1_dlog_decay_k_begin_any(const struct call *call,
    int64_t task, const struct part *part, int64_t iteration)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t f0 = iteration * 32, f1 = min(f0 + 32, 2080);
    const int64_t m = task % members;
    const int64_t g = task / members % kv_heads;
    const int64_t b = task / members / kv_heads;
    float *const carried = (float *)(void *)(part->shared + 0); /* [f: 2080, e: 64] */
    float *const carried_compensation = (float *)(void *)(part->shared + 540800); /* [f: 2080, e: 64] */
    float *const carried_2 = (float *)(void *)(part->shared + 532480); /* [f: 2080] */
    float *const carried_2_compensation = (float *)(void *)(part->shared + 1073280); /* [f: 2080] */
    float *const linear_heads_0 = call->linear_heads_0 ? call->linear_heads_0 + b * call->linear_heads_0_at.batch + (g *
        members + m) * call->linear_heads_0_at.head : NULL;
    float *const dlog_decay_k = call->dlog_decay_k ? call->dlog_decay_k + b * call->dlog_decay_k_at.batch + (g * members
        + m) * call->dlog_decay_k_at.head : NULL;
    /* carried = 0.0f; carried_compensation = 0.0f */
    for (int64_t f = f0; f < f1; f++) {
        for (int64_t e_first = 0; e_first < 64; e_first += 8) {
            UNROLL for (int64_t vector = 0, e = e_first; vector < 2; vector++, e += 4) {
                store_any(carried + f * 64 + e, splat_any(0.0f));
                store_any(carried_compensation + f * 64 + e, splat_any(0.0f));
            }
        }
    }
    if (linear_heads_0 || dlog_decay_k) {
        /* carried_2 = 0.0f; carried_2_compensation = 0.0f */
        for (int64_t f = f0; f < f1; f += 4) {
            store_any(carried_2 + f, splat_any(0.0f));
            store_any(carried_2_compensation + f, splat_any(0.0f));
        }
    }
}

/* Sums the queries of a chunk, from zero, into its slot. */
APART void power_gated_linear_linear_heads_0_linear_heads_1_dlog_decay_k_queries_any(const struct call *call,
    int64_t task, const struct part *part, int64_t iteration)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_q = call->p.n_q;
    const int64_t n_k = call->p.n_k;
    const int64_t chunks = n_k > 0 ? (n_k - 1) / 128 + 1 : 1;
    const int64_t chunk = iteration;
    const int64_t chunk0 = part->chunk0;
    const int64_t m = task % members;
    const int64_t g = task / members % kv_heads;
    const int64_t b = task / members / kv_heads;
    const int64_t query_start = call->p.query_start ? call->p.query_start[b] : n_k - n_q;
    const float *const q = call->q + b * call->p.q.batch + (g / call->sharing * members + m) * call->p.q.head;
    const int64_t q_row = call->p.q.row;
    const float *const log_decay_q_low = call->log_decay_q_low + b * call->log_decay_q_low_at.batch + (g * members + m)
        * call->log_decay_q_low_at.head;
    const float *const log_decay_q = call->log_decay_q + b * call->log_decay_q_at.batch + (g * members + m) *
        call->log_decay_q_at.head;
    const float *const log_decay_chunk_low = call->log_decay_chunk_low + b * call->log_decay_chunk_low_at.batch + (g *
        members + m) * call->log_decay_chunk_low_at.head;
    const float *const log_decay_chunk = call->log_decay_chunk + b * call->log_decay_chunk_at.batch + (g * members + m)
        * call->log_decay_chunk_at.head;
    const float *const dout = call->dout + b * call->p.dout.batch + (g * members + m) * call->p.dout.head;
    const int64_t dout_row = call->p.dout.row;
    const float *const saved_0 = call->saved_0 + (b * call->p.heads + (g * members + m)) * call->p.n_q;
    const float *const row_0 = call->row_0 + (b * call->p.heads + (g * members + m)) * call->p.n_q;
    float *const key_features = (float *)(void *)(part->work + 0); /* [i: 64, e: 64] */
    float *const key_features_2 = (float *)(void *)(part->work + 16384); /* [f: 192, i: 64 of 80] */
    float *const state = (float *)(void *)(part->slots + 0); /* [chunk, f: 2080, e: 64] */
    float *const state_2 = (float *)(void *)(part->slots + 532480); /* [chunk, f: 2080] */
    float *const linear_heads_0 = call->linear_heads_0 ? call->linear_heads_0 + b * call->linear_heads_0_at.batch + (g *
        members + m) * call->linear_heads_0_at.head : NULL;
    float *const dlog_decay_k = call->dlog_decay_k ? call->dlog_decay_k + b * call->dlog_decay_k_at.batch + (g * members
        + m) * call->dlog_decay_k_at.head : NULL;
    float *const q_tile = (float *)(void *)(part->work + 77824); /* [d: 64, i: 64 of 80] */
    float *const log_decay_q_tile = (float *)(void *)(part->work + 98304); /* [i: 64] */
    float *const log_decay_q_low_tile = (float *)(void *)(part->work + 98560); /* [i: 64] */
    float *const row_0_tile = (float *)(void *)(part->work + 98816); /* [i: 64] */
    float *const log_decay_chunk_at = (float *)(void *)(part->work + 99072); /* [i: 64] */
    float *const log_decay_chunk_low_at = (float *)(void *)(part->work + 99328); /* [i: 64] */
    /* state = 0.0f */
    for (int64_t f = 0; f < 2080; f++) {
        for (int64_t e_first = 0; e_first < 64; e_first += 8) {
            UNROLL for (int64_t vector = 0, e = e_first; vector < 2; vector++, e += 4) {
                store_any(state + (chunk - chunk0) * 135200 + f * 64 + e, splat_any(0.0f));
            }
        }
    }
    if (linear_heads_0 || dlog_decay_k) {
        /* state_2 = 0.0f */
        for (int64_t f = 0; f < 2080; f += 4) {
            store_any(state_2 + (chunk - chunk0) * 135200 + f, splat_any(0.0f));
        }
    }
    for (int64_t i0 = ((chunks - chunk - 1) == 0) ? 0 : max(0, ((chunks - chunk - 1) * 128) - query_start),
        i_end = min(n_q, ((chunks - chunk) * 128) - query_start); i0 < i_end; i0 += 64) {
        const int64_t i1 = min(i0 + 64, i_end);
        /* q_tile = q, with zeros beyond the last row */
        transpose_padded_any(q + i0 * q_row, q_row, i1 - i0, 64, q_tile, 80, 64);
        /* log_decay_q_tile = log_decay_q, with zeros beyond the last row */
        for (int64_t i = 0; i < round_up(i1 - i0, 4); i++)
            log_decay_q_tile[i] = i < i1 - i0 ? log_decay_q[(i0 + i)] : 0;
        /* log_decay_q_low_tile = log_decay_q_low, with zeros beyond the last row */
        for (int64_t i = 0; i < round_up(i1 - i0, 4); i++)
            log_decay_q_low_tile[i] = i < i1 - i0 ? log_decay_q_low[(i0 + i)] : 0;
        if (linear_heads_0 || dlog_decay_k) {
            /* row_0_tile = row_0, with zeros beyond the last row */
            for (int64_t i = 0; i < round_up(i1 - i0, 4); i++)
                row_0_tile[i] = i < i1 - i0 ? row_0[(i0 + i)] : 0;
        }
        /* key_features = dout * saved_0 */
        for (int64_t i = 0; i < i1 - i0; i++) {
            for (int64_t e_first = 0; e_first < 64; e_first += 8) {
                UNROLL for (int64_t vector = 0, e = e_first; vector < 2; vector++, e += 4) {
                    store_any(key_features + i * 64 + e, load_any(dout + (i0 + i) * dout_row + e) * saved_0[(i0 + i)]);
                }
            }
        }
        for (int64_t f0 = 0, f_end = 2080; f0 < f_end; f0 += 192) {
            const int64_t f1 = min(f0 + 192, f_end);
            /* log_decay_chunk_at = log_decay_chunk, at computed subscripts */
            for (int64_t i = 0; i < i1 - i0; i++) log_decay_chunk_at[i] = log_decay_chunk[max(min(((max((i0 + i) +
                query_start, 0) / 128) * 128) - 1, n_k - 1), 0)];
            for (int64_t i = i1 - i0; i < round_up(i1 - i0, 4); i++) log_decay_chunk_at[i] = 0;
            /* log_decay_chunk_low_at = log_decay_chunk_low, at computed subscripts */
            for (int64_t i = 0; i < i1 - i0; i++) log_decay_chunk_low_at[i] = log_decay_chunk_low[max(min(((max((i0 + i)
                + query_start, 0) / 128) * 128) - 1, n_k - 1), 0)];
            for (int64_t i = i1 - i0; i < round_up(i1 - i0, 4); i++) log_decay_chunk_low_at[i] = 0;
            /* key_features_2 = ((((q_tile * 0.125f) * (q_tile * 0.125f)) * select((f / 64) == 0, 1.0f,
               2.0f)) * select((max(i + query_start, 0 ... */
            const float log_decay_chunk_3 = log_decay_chunk[max(min(((chunks - chunk - 1) * 128) - 1, n_k - 1), 0)];
            const float log_decay_chunk_low_4 = log_decay_chunk_low[max(min(((chunks - chunk - 1) * 128) - 1, n_k - 1),
                0)];
            for (int64_t i = 0; i < i1 - i0; i += 4) {
                const vec_any log_decay_chunk_at_0 = load_any(log_decay_chunk_at + i);
                const vec_any log_decay_chunk_low_at_1 = load_any(log_decay_chunk_low_at + i);
                const vec_any t_2 = pick_any(__builtin_convertvector(((((((i0 + i + lane_any) + query_start) > 0) & ((i0
                    + i + lane_any) + query_start)) | (~(((i0 + i + lane_any) + query_start) > 0) & (0 -
                    (ints_any){0}))) / 128) == 0, mask_any), splat_any(1.0f),
                    exp2_any(((load_any(log_decay_q_tile + i) - log_decay_chunk_at_0) + (load_any(log_decay_q_low_tile +
                    i) - log_decay_chunk_low_at_1)) * 1.442695f));
                const vec_any t_5 = exp2_any(((log_decay_chunk_at_0 - log_decay_chunk_3) + (log_decay_chunk_low_at_1 -
                    log_decay_chunk_low_4)) * 1.442695f);
                for (int64_t f = f0; f < f1; f++) {
                    store_any(key_features_2 + (f - f0) * 80 + i, ((((load_any(q_tile + (f % 64) * 80 + i) * 0.125f) *
                        (load_any(q_tile + (((f % 64) + (f / 64)) % 64) * 80 + i) * 0.125f)) * (float)(((f / 64) == 0) ?
                        1.0 : 2.0)) * t_2) * t_5);
                }
            }
            /* state[f][e] += sum over i of key_features_2 * key_features */
            dot12_any(f1 - f0, i1 - i0, key_features_2, key_features, state + (chunk - chunk0) * 135200 + f0 * 64);
            if (linear_heads_0 || dlog_decay_k) {
                /* state_2 += key_features_2 * row_0_tile */
                for (int64_t f = f0; f < f1; f++) {
                    vec_any lane_sums = splat_any(0);
                    for (int64_t i = 0; i < i1 - i0; i += 4) {
                        const vec_any row_0_tile_6 = load_any(row_0_tile + i);
                        const vec_any term = load_any(key_features_2 + (f - f0) * 80 + i) * row_0_tile_6;
                        lane_sums += i + 4 <= i1 - i0 ? term : pick_any(__builtin_convertvector(i + lane_any < i1 - i0,
                            mask_any), term, splat_any(0));
                    }
                    const float total = lane_sum_any(lane_sums);
                    state_2[(chunk - chunk0) * 135200 + f] += total;
                }
            }
        }
    }
}

/* Folds the slots of the current chunks, in order, for some elements of the states. */
APART void power_gated_linear_linear_heads_0_linear_heads_1_dlog_decay_k_fold_any(const struct call *call, int64_t task,
    const struct part *part, int64_t iteration)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_k = call->p.n_k;
    const int64_t chunks = n_k > 0 ? (n_k - 1) / 128 + 1 : 1;
    const int64_t f0 = iteration * 32, f1 = min(f0 + 32, 2080);
    const int64_t chunk0 = part->chunk0;
    const int64_t chunk1 = part->chunk1;
    const int64_t m = task % members;
    const int64_t g = task / members % kv_heads;
    const int64_t b = task / members / kv_heads;
    const float *const log_decay_chunk_low = call->log_decay_chunk_low + b * call->log_decay_chunk_low_at.batch + (g *
        members + m) * call->log_decay_chunk_low_at.head;
    const float *const log_decay_chunk = call->log_decay_chunk + b * call->log_decay_chunk_at.batch + (g * members + m)
        * call->log_decay_chunk_at.head;
    float *const state = (float *)(void *)(part->slots + 0); /* [chunk, f: 2080, e: 64] */
    float *const state_2 = (float *)(void *)(part->slots + 532480); /* [chunk, f: 2080] */
    float *const carried = (float *)(void *)(part->shared + 0); /* [f: 2080, e: 64] */
    float *const carried_compensation = (float *)(void *)(part->shared + 540800); /* [f: 2080, e: 64] */
    float *const kept_share = (float *)(void *)(part->work + 0); /* [f: 2080] */
    float *const lost_share = (float *)(void *)(part->work + 8320); /* [f: 2080] */
    float *const carried_2 = (float *)(void *)(part->shared + 532480); /* [f: 2080] */
    float *const carried_2_compensation = (float *)(void *)(part->shared + 1073280); /* [f: 2080] */
    float *const linear_heads_0 = call->linear_heads_0 ? call->linear_heads_0 + b * call->linear_heads_0_at.batch + (g *
        members + m) * call->linear_heads_0_at.head : NULL;
    float *const dlog_decay_k = call->dlog_decay_k ? call->dlog_decay_k + b * call->dlog_decay_k_at.batch + (g * members
        + m) * call->dlog_decay_k_at.head : NULL;
    for (int64_t chunk = chunk0; chunk < chunk1; chunk++) {
        /* kept_share = select(exp2(((log_decay_chunk - log_decay_chunk) + (log_decay_chunk_low - log_decay_chunk_low))
           * 1.442695f) < 0.5f ... */
        const float t_7 = (log_decay_chunk[max(min(((chunks - chunk) * 128) - 1, n_k - 1),
            0)] - log_decay_chunk[max(min(((chunks - chunk - 1) * 128) - 1, n_k - 1),
            0)]) + (log_decay_chunk_low[max(min(((chunks - chunk) * 128) - 1, n_k - 1),
            0)] - log_decay_chunk_low[max(min(((chunks - chunk - 1) * 128) - 1, n_k - 1), 0)]);
        const float t_8 = exp2f(t_7 * 1.442695f);
        const int t_9 = t_8 < 0.5f;
        const float t_10 = t_9 ? t_8 : 1.0f;
        const float t_11 = t_9 ? 0.0f : (-expm1f(t_7));
        for (int64_t f = f0; f < f1; f += 4) {
            store_any(kept_share + f, splat_any(t_10));
            store_any(lost_share + f, splat_any(t_11));
        }
        /* before = carried; carried = carried * kept_share; carried_compensation = carried_compensation * kept_share;
           carried += state - ( ... */
        for (int64_t f = f0; f < f1; f++) {
            for (int64_t e_first = 0; e_first < 64; e_first += 8) {
                UNROLL for (int64_t vector = 0, e = e_first; vector < 2; vector++, e += 4) {
                    const vec_any carried_12 = load_any(carried + f * 64 + e);
                    const vec_any before_new13 = carried_12;
                    const float kept_share_14 = kept_share[f];
                    const vec_any carried_new15 = carried_12 * kept_share_14;
                    store_any(carried + f * 64 + e, carried_new15);
                    store_any(carried_compensation + f * 64 + e, load_any(carried_compensation + f * 64 + e) *
                        kept_share_14);
                    add_any(carried + f * 64 + e, carried_compensation + f * 64 + e,
                        load_any(state + (chunk - chunk0) * 135200 + f * 64 + e) - (carried_new15 * lost_share[f]),
                        splat_any(1));
                    store_any(state + (chunk - chunk0) * 135200 + f * 64 + e, before_new13);
                }
            }
        }
        if (linear_heads_0 || dlog_decay_k) {
            /* kept_share_2 = select(exp2(((log_decay_chunk - log_decay_chunk) + (log_decay_chunk_low -
               log_decay_chunk_low)) * 1.442695f) < 0. ... */
            const float t_16 = (log_decay_chunk[max(min(((chunks - chunk) * 128) - 1, n_k - 1),
                0)] - log_decay_chunk[max(min(((chunks - chunk - 1) * 128) - 1, n_k - 1),
                0)]) + (log_decay_chunk_low[max(min(((chunks - chunk) * 128) - 1, n_k - 1),
                0)] - log_decay_chunk_low[max(min(((chunks - chunk - 1) * 128) - 1, n_k - 1), 0)]);
            const float t_17 = exp2f(t_16 * 1.442695f);
            const int t_18 = t_17 < 0.5f;
            const float t_19 = t_18 ? t_17 : 1.0f;
            const float t_21 = t_18 ? 0.0f : (-expm1f(t_16));
            for (int64_t f = f0; f < f1; f += 4) {
                const vec_any kept_share_2_new20 = splat_any(t_19);
                const vec_any lost_share_2_new22 = splat_any(t_21);
                const vec_any carried_2_23 = load_any(carried_2 + f);
                const vec_any before_2_new24 = carried_2_23;
                const vec_any carried_2_new25 = carried_2_23 * kept_share_2_new20;
                store_any(carried_2 + f, carried_2_new25);
                store_any(carried_2_compensation + f, load_any(carried_2_compensation + f) * kept_share_2_new20);
                add_any(carried_2 + f, carried_2_compensation + f, load_any(state_2 + (chunk - chunk0) * 135200 + f) -
                    (carried_2_new25 * lost_share_2_new22), splat_any(1));
                store_any(state_2 + (chunk - chunk0) * 135200 + f, before_2_new24);
            }
        }
    }
}

/* Processes the keys of a chunk: reads the state after the chunk, and the queries in the chunk. */
APART void power_gated_linear_linear_heads_0_linear_heads_1_dlog_decay_k_keys_any(const struct call *call, int64_t task,
    const struct part *part, int64_t iteration)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_q = call->p.n_q;
    const int64_t n_k = call->p.n_k;
    const int64_t chunks = n_k > 0 ? (n_k - 1) / 128 + 1 : 1;
    const int64_t chunk = iteration;
    const int64_t chunk0 = part->chunk0;
    const int64_t m = task % members;
    const int64_t g = task / members % kv_heads;
    const int64_t b = task / members / kv_heads;
    const int64_t query_start = call->p.query_start ? call->p.query_start[b] : n_k - n_q;
    const float *const q = call->q + b * call->p.q.batch + (g / call->sharing * members + m) * call->p.q.head;
    const int64_t q_row = call->p.q.row;
    const float *const k = call->k + b * call->p.k.batch + g / call->sharing * call->p.k.head;
    const int64_t k_row = call->p.k.row;
    const float *const v = call->v + b * call->p.v.batch + g * call->p.v.head;
    const int64_t v_row = call->p.v.row;
    const float *const log_decay_q_low = call->log_decay_q_low + b * call->log_decay_q_low_at.batch + (g * members + m)
        * call->log_decay_q_low_at.head;
    const float *const log_decay_q = call->log_decay_q + b * call->log_decay_q_at.batch + (g * members + m) *
        call->log_decay_q_at.head;
    const float *const log_decay_k_low = call->log_decay_k_low + b * call->log_decay_k_low_at.batch + (g * members + m)
        * call->log_decay_k_low_at.head;
    const float *const log_decay_k = call->log_decay_k + b * call->log_decay_k_at.batch + (g * members + m) *
        call->log_decay_k_at.head;
    const float *const log_decay_chunk_low = call->log_decay_chunk_low + b * call->log_decay_chunk_low_at.batch + (g *
        members + m) * call->log_decay_chunk_low_at.head;
    const float *const log_decay_chunk = call->log_decay_chunk + b * call->log_decay_chunk_at.batch + (g * members + m)
        * call->log_decay_chunk_at.head;
    const float *const dout = call->dout + b * call->p.dout.batch + (g * members + m) * call->p.dout.head;
    const int64_t dout_row = call->p.dout.row;
    const float *const saved_0 = call->saved_0 + (b * call->p.heads + (g * members + m)) * call->p.n_q;
    const float *const row_0 = call->row_0 + (b * call->p.heads + (g * members + m)) * call->p.n_q;
    float *const state = (float *)(void *)(part->slots + 0); /* [chunk, f: 2080, e: 64] */
    float *const state_2 = (float *)(void *)(part->slots + 532480); /* [chunk, f: 2080] */
    float *const score = (float *)(void *)(part->work + 0); /* [i: 64, j: 64 of 80] */
    float *const weight = (float *)(void *)(part->work + 20480); /* [i: 64, j: 64 of 80] */
    float *const score_2 = (float *)(void *)(part->work + 40960); /* [i: 64, j: 64 of 80] */
    float *const row_sum = (float *)(void *)(part->work + 61440); /* [j: 64] */
    float *const row_sum_compensation = (float *)(void *)(part->work + 61696); /* [j: 64] */
    float *const query = (float *)(void *)(part->work + 0); /* [f: 192, j: 64 of 80] */
    float *const sum_from_state = (float *)(void *)(part->work + 61952); /* [f: 2080, j: 64 of 80] */
    float *const query_sum = (float *)(void *)(part->work + 727552); /* [j: 64] */
    float *const query_2 = (float *)(void *)(part->work + 727808); /* [f: 2080, j: 64 of 80] */
    float *const query_sum_2 = (float *)(void *)(part->work + 1393408); /* [j: 64] */
    float *const query_sum_3 = (float *)(void *)(part->work + 1393664); /* [d: 64, j: 64 of 80] */
    float *const query_sum_4 = (float *)(void *)(part->work + 1414144); /* [d: 64, j: 64 of 80] */
    float *const query_sum_5 = (float *)(void *)(part->work + 1434624); /* [d: 64, j: 64 of 80] */
    float *const query_sum_6 = (float *)(void *)(part->work + 1455104); /* [d: 64, j: 64 of 80] */
    float *const sum = (float *)(void *)(part->work + 1475584); /* [d: 64, j: 64 of 80] */
    float *const sum_compensation = (float *)(void *)(part->work + 1496064); /* [d: 64, j: 64 of 80] */
    float *const sum_2 = (float *)(void *)(part->work + 1516544); /* [e: 64, j: 64 of 80] */
    float *const sum_2_compensation = (float *)(void *)(part->work + 1537024); /* [e: 64, j: 64 of 80] */
    float *const sum_from_state_2 = (float *)(void *)(part->work + 1557504); /* [e: 64, j: 64 of 80] */
    float *const linear_heads_0 = call->linear_heads_0 ? call->linear_heads_0 + b * call->linear_heads_0_at.batch + (g *
        members + m) * call->linear_heads_0_at.head : NULL;
    const int64_t linear_heads_0_row = call->linear_heads_0_at.row;
    float *const linear_heads_1 = call->linear_heads_1 ? call->linear_heads_1 + b * call->linear_heads_1_at.batch + (g *
        members + m) * call->linear_heads_1_at.head : NULL;
    const int64_t linear_heads_1_row = call->linear_heads_1_at.row;
    float *const dlog_decay_k = call->dlog_decay_k ? call->dlog_decay_k + b * call->dlog_decay_k_at.batch + (g * members
        + m) * call->dlog_decay_k_at.head : NULL;
    float *const k_tile = (float *)(void *)(part->work + 1577984); /* [d: 64, j: 64 of 80] */
    float *const log_decay_k_tile = (float *)(void *)(part->work + 1598464); /* [j: 64] */
    float *const log_decay_k_low_tile = (float *)(void *)(part->work + 1598720); /* [j: 64] */
    float *const v_tile = (float *)(void *)(part->work + 1598976); /* [e: 64, j: 64 of 80] */
    float *const dout_tile = (float *)(void *)(part->work + 61952); /* [e: 64, i: 64 of 80] */
    float *const saved_0_tile = (float *)(void *)(part->work + 20480); /* [i: 64] */
    for (int64_t j0 = ((chunks - chunk - 1) == 0) ? 0 : max(0, (chunks - chunk - 1) * 128), j_end = min(n_k,
        (chunks - chunk) * 128); j0 < j_end; j0 += 64) {
        const int64_t j1 = min(j0 + 64, j_end);
        /* k_tile = k, with zeros beyond the last row */
        transpose_padded_any(k + j0 * k_row, k_row, j1 - j0, 64, k_tile, 80, 64);
        /* log_decay_k_tile = log_decay_k, with zeros beyond the last row */
        for (int64_t j = 0; j < round_up(j1 - j0, 4); j++)
            log_decay_k_tile[j] = j < j1 - j0 ? log_decay_k[(j0 + j)] : 0;
        /* log_decay_k_low_tile = log_decay_k_low, with zeros beyond the last row */
        for (int64_t j = 0; j < round_up(j1 - j0, 4); j++)
            log_decay_k_low_tile[j] = j < j1 - j0 ? log_decay_k_low[(j0 + j)] : 0;
        if (linear_heads_0 || dlog_decay_k) {
            /* v_tile = v, with zeros beyond the last row */
            transpose_padded_any(v + j0 * v_row, v_row, j1 - j0, 64, v_tile, 80, 64);
            /* sum_from_state[f][j] = sum over e of state * v_tile */
            dot13_any(round_up(j1 - j0, 4), state + (chunk - chunk0) * 135200, v_tile, sum_from_state);
            /* query_2 = state_2 */
            for (int64_t j_first = 0; j_first < j1 - j0; j_first += 8) {
                for (int64_t f = 0; f < 2080; f++) {
                    UNROLL for (int64_t vector = 0, j = j_first; vector < 2; vector++, j += 4) {
                        store_any(query_2 + f * 80 + j, splat_any(state_2[(chunk - chunk0) * 135200 + f]));
                    }
                }
            }
        }
        if (dlog_decay_k) {
            /* row_sum = 0.0f; row_sum_compensation = 0.0f; query_sum = 0.0f; query_sum_2 = 0.0f */
            for (int64_t j = 0; j < j1 - j0; j += 4) {
                store_any(row_sum + j, splat_any(0.0f));
                store_any(row_sum_compensation + j, splat_any(0.0f));
                store_any(query_sum + j, splat_any(0.0f));
                store_any(query_sum_2 + j, splat_any(0.0f));
            }
        }
        if (linear_heads_0) {
            /* query_sum_3 = 0.0f */
            for (int64_t d = 0; d < 64; d++) {
                for (int64_t j = 0; j < j1 - j0; j += 4) {
                    store_any(query_sum_3 + d * 80 + j, splat_any(0.0f));
                }
            }
            /* query_sum_4 = 0.0f */
            for (int64_t d = 0; d < 64; d++) {
                for (int64_t j = 0; j < j1 - j0; j += 4) {
                    store_any(query_sum_4 + d * 80 + j, splat_any(0.0f));
                }
            }
            /* query_sum_5 = 0.0f */
            for (int64_t d = 0; d < 64; d++) {
                for (int64_t j = 0; j < j1 - j0; j += 4) {
                    store_any(query_sum_5 + d * 80 + j, splat_any(0.0f));
                }
            }
            /* query_sum_6 = 0.0f */
            for (int64_t d = 0; d < 64; d++) {
                for (int64_t j = 0; j < j1 - j0; j += 4) {
                    store_any(query_sum_6 + d * 80 + j, splat_any(0.0f));
                }
            }
            /* query_sum_3 += select(((t33 * 64) + d) < 2080, sum_from_state * (k_tile * exp2(((log_decay_chunk -
               log_decay_k_tile) + (log_deca ... */
            const float log_decay_chunk_27 = log_decay_chunk[max(min(((chunks - chunk) * 128) - 1, n_k - 1), 0)];
            const float log_decay_chunk_low_28 = log_decay_chunk_low[max(min(((chunks - chunk) * 128) - 1, n_k - 1),
                0)];
            for (int64_t j = 0; j < j1 - j0; j += 4) {
                const vec_any t_29 = exp2_any(((log_decay_chunk_27 - load_any(log_decay_k_tile + j)) +
                    (log_decay_chunk_low_28 - load_any(log_decay_k_low_tile + j))) * 1.442695f);
                for (int64_t d = 0; d < 64; d++) {
                    vec_any query_sum_3_in = (vec_any){0};
                    vec_any query_sum_4_in = (vec_any){0};
                    vec_any query_sum_5_in = (vec_any){0};
                    vec_any query_sum_6_in = (vec_any){0};
                    for (int64_t t33 = 0; t33 < 33; t33++) {
                        const int t_26 = ((t33 * 64) + d) < 2080;
                        const vec_any t_30 = load_any(k_tile + ((d + t33) % 64) * 80 + j) * t_29;
                        query_sum_3_in += t_26 ? load_any(sum_from_state + min((t33 * 64) + d,
                            2079) * 80 + j) * t_30 : splat_any(0.0f);
                        const int t_31 = ((t33 * 64) + floor_mod(d - t33, 64)) < 2080;
                        const vec_any t_32 = load_any(k_tile + floor_mod(d - t33, 64) * 80 + j) * t_29;
                        query_sum_4_in += t_31 ? load_any(sum_from_state + min((t33 * 64) + floor_mod(d - t33, 64),
                            2079) * 80 + j) * t_32 : splat_any(0.0f);
                        query_sum_5_in += t_26 ? load_any(query_2 + min((t33 * 64) + d,
                            2079) * 80 + j) * t_30 : splat_any(0.0f);
                        query_sum_6_in += t_31 ? load_any(query_2 + min((t33 * 64) + floor_mod(d - t33, 64),
                            2079) * 80 + j) * t_32 : splat_any(0.0f);
                    }
                    store_any(query_sum_3 + d * 80 + j, load_any(query_sum_3 + d * 80 + j) + query_sum_3_in);
                    store_any(query_sum_4 + d * 80 + j, load_any(query_sum_4 + d * 80 + j) + query_sum_4_in);
                    store_any(query_sum_5 + d * 80 + j, load_any(query_sum_5 + d * 80 + j) + query_sum_5_in);
                    store_any(query_sum_6 + d * 80 + j, load_any(query_sum_6 + d * 80 + j) + query_sum_6_in);
                }
            }
            /* sum = 0.0f; sum_compensation = 0.0f */
            for (int64_t d = 0; d < 64; d++) {
                for (int64_t j = 0; j < j1 - j0; j += 4) {
                    store_any(sum + d * 80 + j, splat_any(0.0f));
                    store_any(sum_compensation + d * 80 + j, splat_any(0.0f));
                }
            }
        }
        if (linear_heads_1) {
            /* sum_2 = 0.0f; sum_2_compensation = 0.0f; sum_from_state_2 = 0.0f */
            for (int64_t e = 0; e < 64; e++) {
                for (int64_t j = 0; j < j1 - j0; j += 4) {
                    store_any(sum_2 + e * 80 + j, splat_any(0.0f));
                    store_any(sum_2_compensation + e * 80 + j, splat_any(0.0f));
                    store_any(sum_from_state_2 + e * 80 + j, splat_any(0.0f));
                }
            }
        }
        for (int64_t f0 = 0, f_end = 2080; f0 < f_end; f0 += 192) {
            const int64_t f1 = min(f0 + 192, f_end);
            if (linear_heads_1 || dlog_decay_k) {
                /* query = (k_tile * k_tile) * exp2(((log_decay_chunk - log_decay_k_tile) + (log_decay_chunk_low -
                   log_decay_k_low_tile)) * 1.44269 ... */
                const float log_decay_chunk_33 = log_decay_chunk[max(min(((chunks - chunk) * 128) - 1, n_k - 1), 0)];
                const float log_decay_chunk_low_34 = log_decay_chunk_low[max(min(((chunks - chunk) * 128) - 1, n_k - 1),
                    0)];
                for (int64_t j = 0; j < j1 - j0; j += 4) {
                    const vec_any t_35 = exp2_any(((log_decay_chunk_33 - load_any(log_decay_k_tile + j)) +
                        (log_decay_chunk_low_34 - load_any(log_decay_k_low_tile + j))) * 1.442695f);
                    vec_any query_sum_in = (vec_any){0};
                    vec_any query_sum_in_whole = (vec_any){0};
                    vec_any query_sum_2_in = (vec_any){0};
                    vec_any query_sum_2_in_whole = (vec_any){0};
                    for (int64_t f = f0; f < f1; f++) {
                        const vec_any query_new36 = (load_any(k_tile + (f % 64) * 80 + j) * load_any(k_tile + (((f % 64)
                            + (f / 64)) % 64) * 80 + j)) * t_35;
                        store_any(query + (f - f0) * 80 + j, query_new36);
                        const vec_any t_37 = -query_new36;
                        query_sum_in += load_any(sum_from_state + f * 80 + j) * t_37;
                        if (f % 192 == 191) {
                            query_sum_in_whole += query_sum_in;
                            query_sum_in = (vec_any){0};
                        }
                        query_sum_2_in += load_any(query_2 + f * 80 + j) * t_37;
                        if (f % 192 == 191) {
                            query_sum_2_in_whole += query_sum_2_in;
                            query_sum_2_in = (vec_any){0};
                        }
                    }
                    query_sum_in += query_sum_in_whole;
                    store_any(query_sum + j, load_any(query_sum + j) + query_sum_in);
                    query_sum_2_in += query_sum_2_in_whole;
                    store_any(query_sum_2 + j, load_any(query_sum_2 + j) + query_sum_2_in);
                }
            }
            if (linear_heads_1) {
                /* sum_from_state_2[e][j] += sum over f of state * query */
                dot14_any(round_up(j1 - j0, 4), f1 - f0, state + (chunk - chunk0) * 135200 + f0 * 64, query,
                    sum_from_state_2);
            }
        }
        /* the ranges of i that some query of the tile may see */
        struct attn_range i_range[] = {
            {max(j0 - query_start, -query_start), (((j1 - floor_mod(j1 - 1,
                128) - 1) / 128) * 128) - query_start + 128},
            {j0 - query_start, (0 <= (j1 - 1)) ? (-query_start) : 0},
        };
        const int64_t i_ranges = attn_union(i_range, 2, 0, n_q);
        /* the ranges that every query of the tile sees */
        struct attn_range i_inside[] = {
            {max(j1 - query_start - 1, -query_start), (((j0 - floor_mod(j0, 128)) / 128) * 128) - query_start + 128},
            {j1 - query_start - 1, (0 <= j0) ? (-query_start) : 0},
        };
        const int64_t i_insides = attn_union(i_inside, 2, 0, n_q);
        for (int64_t piece = 0; piece < i_ranges; piece++) {
            for (int64_t i0 = i_range[piece].from, i_end = i_range[piece].to; i0 < i_end; i0 += 64) {
                const int64_t i1 = min(i0 + 64, i_end);
                /* dout_tile = dout, with zeros beyond the last row */
                transpose_padded_any(dout + i0 * dout_row, dout_row, i1 - i0, 64, dout_tile, 80, 64);
                /* saved_0_tile = saved_0, with zeros beyond the last row */
                for (int64_t i = 0; i < round_up(i1 - i0, 4); i++)
                    saved_0_tile[i] = i < i1 - i0 ? saved_0[(i0 + i)] : 0;
                /* score[i][j] = sum over d of q * k_tile */
                dot8_any(round_up(j1 - j0, 4), i1 - i0, q + i0 * q_row, q_row, k_tile, score);
                /* dout_tile = dout_tile * saved_0_tile */
                for (int64_t i = 0; i < i1 - i0; i += 4) {
                    const vec_any saved_0_tile_38 = load_any(saved_0_tile + i);
                    for (int64_t e = 0; e < 64; e++) {
                        store_any(dout_tile + e * 80 + i, load_any(dout_tile + e * 80 + i) * saved_0_tile_38);
                    }
                }
                if (linear_heads_0 || dlog_decay_k) {
                    /* score_2[i][j] = sum over e of dout_tile * v_tile */
                    dot15_any(round_up(j1 - j0, 4), i1 - i0, dout_tile, v_tile, score_2);
                }
                /* weight = ((score * 0.125f) * (score * 0.125f)) * exp2(((log_decay_q - log_decay_k_tile) +
                   (log_decay_q_low - log_decay_k_low_til ... */
                for (int64_t j = 0; j < j1 - j0; j += 4) {
                    const vec_any log_decay_k_tile_41 = load_any(log_decay_k_tile + j);
                    const vec_any log_decay_k_low_tile_42 = load_any(log_decay_k_low_tile + j);
                    for (int64_t i = 0; i < i1 - i0; i++) {
                        const vec_any score_39 = load_any(score + i * 80 + j);
                        const vec_any t_40 = score_39 * 0.125f;
                        const vec_any t_43 = exp2_any(((log_decay_q[(i0 + i)] - log_decay_k_tile_41) +
                            (log_decay_q_low[(i0 + i)] - log_decay_k_low_tile_42)) * 1.442695f);
                        store_any(weight + i * 80 + j, (t_40 * t_40) * t_43);
                        const vec_any score_2_44 = load_any(score_2 + i * 80 + j);
                        const vec_any score_2_new45 = score_2_44 + row_0[(i0 + i)];
                        store_any(score_2 + i * 80 + j, score_2_new45);
                        store_any(score + i * 80 + j, score_2_new45 * ((score_39 * t_43) * 0.03125f));
                    }
                }
                if (dlog_decay_k) {
                    /* score_2 = score_2 * neg(weight) */
                    for (int64_t i = 0; i < i1 - i0; i++) {
                        for (int64_t j = 0; j < j1 - j0; j += 4) {
                            store_any(score_2 + i * 80 + j, load_any(score_2 + i * 80 + j) * (-load_any(weight + i * 80
                                + j)));
                        }
                    }
                }
                if (!attn_covers(i_inside, i_insides, i0, i1)) { /* the tile is partly outside the mask */
                    if (dlog_decay_k) {
                        /* score_2 = select((j <= (i + query_start)) && (((max(i + query_start, 0) / 128) * 128) <= j),
                           score_2, 0.0f) */
                        for (int64_t j = 0; j < j1 - j0; j += 4) {
                            const ints_any t_46 = j0 + j + lane_any;
                            for (int64_t i = 0; i < i1 - i0; i++) {
                                const int64_t t_47 = (i0 + i) + query_start;
                                store_any(score_2 + i * 80 + j, pick_any(__builtin_convertvector((t_46 <= t_47) &
                                    (((max((i0 + i) + query_start, 0) / 128) * 128) <= t_46), mask_any),
                                    load_any(score_2 + i * 80 + j), splat_any(0.0f)));
                            }
                        }
                    }
                }
                if (dlog_decay_k) {
                    /* row_sum += score_2 */
                    for (int64_t j_first = 0; j_first < j1 - j0; j_first += 8) {
                        vec_any row_sum_in[2];
                        UNROLL for (int64_t vector = 0, j = j_first; vector < 2; vector++, j += 4) {
                            row_sum_in[vector] = (vec_any){0};
                        }
                        for (int64_t i = 0; i < i1 - i0; i++) {
                            UNROLL for (int64_t vector = 0, j = j_first; vector < 2; vector++, j += 4) {
                                row_sum_in[vector] += load_any(score_2 + i * 80 + j);
                            }
                        }
                        UNROLL for (int64_t vector = 0, j = j_first; vector < 2; vector++, j += 4) {
                            add_any(row_sum + j, row_sum_compensation + j, row_sum_in[vector], splat_any(1));
                        }
                    }
                }
                if (!attn_covers(i_inside, i_insides, i0, i1)) { /* the tile is partly outside the mask */
                    if (linear_heads_0) {
                        /* score = select((j <= (i + query_start)) && (((max(i + query_start, 0) / 128) * 128) <= j),
                           score, 0.0f) */
                        for (int64_t j = 0; j < j1 - j0; j += 4) {
                            const ints_any t_48 = j0 + j + lane_any;
                            for (int64_t i = 0; i < i1 - i0; i++) {
                                const int64_t t_49 = (i0 + i) + query_start;
                                store_any(score + i * 80 + j, pick_any(__builtin_convertvector((t_48 <= t_49) &
                                    (((max((i0 + i) + query_start, 0) / 128) * 128) <= t_48), mask_any),
                                    load_any(score + i * 80 + j), splat_any(0.0f)));
                            }
                        }
                    }
                }
                if (linear_heads_0) {
                    /* sum[d][j] += sum over i of q * score */
                    if (__builtin_expect((!attn_covers(i_inside, i_insides, i0, i1)) && !finite_any(q + i0 * q_row,
                        q_row, i1 - i0, 64), 0)) { /* infinity and NaN affect only queries that see them */
                        dot1_any(round_up(j1 - j0, 4), i1 - i0, q + i0 * q_row, q_row, score, sum, sum_compensation);
                        for (int64_t i = 0; i < i1 - i0; i++) {
                            mask_any in_region[16] = {0};
                            if (finite_any(q + i0 * q_row + i * q_row, 1, 64, 1)) continue;
                            const int64_t t_51 = (i0 + i) + query_start;
                            const int64_t t_52 = (max((i0 + i) + query_start, 0) / 128) * 128;
                            for (int64_t j = 0; j < j1 - j0; j += 4) {
                                const ints_any t_50 = j0 + j + lane_any;
                                in_region[j / 4] = __builtin_convertvector((t_50 <= t_51) & (t_52 <= t_50), mask_any);
                            }
                            add_seen_any(64, sum, 80, q + i0 * q_row + i * q_row, 1, score + i * 80, in_region,
                                j1 - j0);
                        }
                    } else
                        dot2_any(round_up(j1 - j0, 4), i1 - i0, q + i0 * q_row, q_row, score, sum, sum_compensation);
                }
                if (!attn_covers(i_inside, i_insides, i0, i1)) { /* the tile is partly outside the mask */
                    if (linear_heads_1) {
                        /* weight = select((j <= (i + query_start)) && (((max(i + query_start, 0) / 128) * 128) <= j),
                           weight, 0.0f) */
                        for (int64_t j = 0; j < j1 - j0; j += 4) {
                            const ints_any t_53 = j0 + j + lane_any;
                            for (int64_t i = 0; i < i1 - i0; i++) {
                                const int64_t t_54 = (i0 + i) + query_start;
                                store_any(weight + i * 80 + j, pick_any(__builtin_convertvector((t_53 <= t_54) &
                                    (((max((i0 + i) + query_start, 0) / 128) * 128) <= t_53), mask_any),
                                    load_any(weight + i * 80 + j), splat_any(0.0f)));
                            }
                        }
                    }
                }
                if (linear_heads_1) {
                    /* sum_2[e][j] += sum over i of dout_tile * weight */
                    if (__builtin_expect((!attn_covers(i_inside, i_insides, i0, i1)) && !finite_any(dout_tile, 80, 64,
                        i1 - i0), 0)) { /* infinity and NaN affect only queries that see them */
                        dot16_any(round_up(j1 - j0, 4), i1 - i0, dout_tile, weight, sum_2, sum_2_compensation);
                        for (int64_t i = 0; i < i1 - i0; i++) {
                            mask_any in_region[16] = {0};
                            if (finite_any(dout_tile + i * 1, 80, 64, 1)) continue;
                            const int64_t t_56 = (i0 + i) + query_start;
                            const int64_t t_57 = (max((i0 + i) + query_start, 0) / 128) * 128;
                            for (int64_t j = 0; j < j1 - j0; j += 4) {
                                const ints_any t_55 = j0 + j + lane_any;
                                in_region[j / 4] = __builtin_convertvector((t_55 <= t_56) & (t_57 <= t_55), mask_any);
                            }
                            add_seen_any(64, sum_2, 80, dout_tile + i * 1, 80, weight + i * 80, in_region, j1 - j0);
                        }
                    } else
                        dot17_any(round_up(j1 - j0, 4), i1 - i0, dout_tile, weight, sum_2, sum_2_compensation);
                }
            }
        }
        if (dlog_decay_k) {
            /* row_sum = (row_sum + query_sum) + query_sum_2 */
            for (int64_t j = 0; j < j1 - j0; j += 4) {
                store_any(row_sum + j, (load_any(row_sum + j) + load_any(query_sum + j)) + load_any(query_sum_2 + j));
            }
        }
        if (linear_heads_0) {
            /* query_sum_3 = (((query_sum_3 + query_sum_4) + query_sum_5) + query_sum_6) + sum */
            for (int64_t d = 0; d < 64; d++) {
                for (int64_t j = 0; j < j1 - j0; j += 4) {
                    store_any(query_sum_3 + d * 80 + j, (((load_any(query_sum_3 + d * 80 + j) + load_any(query_sum_4 + d
                        * 80 + j)) + load_any(query_sum_5 + d * 80 + j)) + load_any(query_sum_6 + d * 80 + j)) +
                        load_any(sum + d * 80 + j));
                }
            }
        }
        if (linear_heads_1) {
            /* sum_2 = sum_2 + sum_from_state_2 */
            for (int64_t e = 0; e < 64; e++) {
                for (int64_t j = 0; j < j1 - j0; j += 4) {
                    store_any(sum_2 + e * 80 + j, load_any(sum_2 + e * 80 + j) + load_any(sum_from_state_2 + e * 80 +
                        j));
                }
            }
        }
        if (linear_heads_0) {
            /* linear_heads_0 = query_sum_3, transposed back */
            transpose_out_any(query_sum_3, 80, 64, j1 - j0, linear_heads_0 + j0 * linear_heads_0_row,
                linear_heads_0_row, 64);
        }
        if (linear_heads_1) {
            /* linear_heads_1 = sum_2, transposed back */
            transpose_out_any(sum_2, 80, 64, j1 - j0, linear_heads_1 + j0 * linear_heads_1_row, linear_heads_1_row, 64);
        }
        if (dlog_decay_k) {
            /* dlog_decay_k = row_sum */
            for (int64_t j = 0; j < j1 - j0; j++)
                dlog_decay_k[(j0 + j)] = row_sum[j];
        }
    }
}

/* Computes head number `task`. Each thread on the head calls this with its share, `part`. */
static void power_gated_linear_linear_heads_0_linear_heads_1_dlog_decay_k_any(const struct call *call, int64_t task,
    struct part *part)
{
    const int64_t n_k = call->p.n_k;
    const int64_t chunks = n_k > 0 ? (n_k - 1) / 128 + 1 : 1;
    for (int64_t iteration = part->number; iteration < ((2080 + 31) / 32); iteration += part->threads)
        power_gated_linear_linear_heads_0_linear_heads_1_dlog_decay_k_begin_any(call, task, part, iteration);
    synchronise(part);
    const int64_t first = 0;
    const int64_t length = segment_length(part, chunks - first);
    for (int64_t segment = part->number; first + segment * length < chunks; segment += part->threads) {
        part->chunk0 = first + segment * length;
        part->chunk1 = min(part->chunk0 + length, chunks);
        for (int64_t iteration = part->chunk0; iteration < part->chunk1; iteration++)
            power_gated_linear_linear_heads_0_linear_heads_1_dlog_decay_k_queries_any(call, task, part, iteration);
        for (int64_t group = 0; group < 16; group++) {
            await_segment(part, group, segment);
            const int64_t end = (group + 1) * ((2080 + 31) / 32) / 16;
            for (int64_t iteration = group * ((2080 + 31) / 32) / 16; iteration < end; iteration++)
                power_gated_linear_linear_heads_0_linear_heads_1_dlog_decay_k_fold_any(call, task, part, iteration);
            pass_segment(part, group, segment);
        }
        for (int64_t iteration = part->chunk0; iteration < part->chunk1; iteration++)
            power_gated_linear_linear_heads_0_linear_heads_1_dlog_decay_k_keys_any(call, task, part, iteration);
    }
    part->segments += (max(chunks - first, 0) + length - 1) / length;
    synchronise(part);
}

/* Computes task number `task`: the totals of the partial sums that the slices of rows have stored. `work` is this
   thread's workspace. */
static void power_gated_linear_totals1_any(const struct call *call, int64_t task, unsigned char *work)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_k = call->p.n_k;
    const int64_t tiles = (n_k + 32 - 1) / 32, j0 = (tiles - 1 - task % tiles) * 32,
        j1 = min(j0 + 32, n_k);
    const int64_t g = task / tiles % kv_heads;
    const int64_t b = task / tiles / kv_heads;
    const float *const linear_heads_0 = call->linear_heads_0 ? call->linear_heads_0 + b * call->linear_heads_0_at.batch
        + g * members * call->linear_heads_0_at.head : NULL;
    const int64_t linear_heads_0_row = call->linear_heads_0_at.row;
    const int64_t linear_heads_0_head = call->linear_heads_0_at.head;
    const float *const linear_heads_1 = call->linear_heads_1 ? call->linear_heads_1 + b * call->linear_heads_1_at.batch
        + g * members * call->linear_heads_1_at.head : NULL;
    const int64_t linear_heads_1_row = call->linear_heads_1_at.row;
    const int64_t linear_heads_1_head = call->linear_heads_1_at.head;
    float *const row_sum = (float *)(void *)(work + 0); /* [d: 64, j: 32] */
    float *const row_sum_2 = (float *)(void *)(work + 8192); /* [e: 64, j: 32] */
    float *const dk = call->dk ? call->dk + b * call->p.dk.batch + g * call->p.dk.head : NULL;
    const int64_t dk_row = call->p.dk.row;
    float *const dv = call->dv ? call->dv + b * call->p.dv.batch + g * call->p.dv.head : NULL;
    const int64_t dv_row = call->p.dv.row;
    float *const linear_heads_0_tile = (float *)(void *)(work + 16384); /* [d: 64, j: 32] */
    float *const linear_heads_1_tile = (float *)(void *)(work + 24576); /* [e: 64, j: 32] */
    if (dk) {
        /* row_sum = 0.0f */
        for (int64_t d = 0; d < 64; d++) {
            for (int64_t j = 0; j < j1 - j0; j += 4) {
                store_any(row_sum + d * 32 + j, splat_any(0.0f));
            }
        }
    }
    if (dv) {
        /* row_sum_2 = 0.0f */
        for (int64_t e = 0; e < 64; e++) {
            for (int64_t j = 0; j < j1 - j0; j += 4) {
                store_any(row_sum_2 + e * 32 + j, splat_any(0.0f));
            }
        }
    }
    for (int64_t m = 0; m < members; m++) {
        if (dk) {
            /* linear_heads_0_tile = linear_heads_0, with zeros beyond the last row */
            transpose_padded_any(linear_heads_0 + m * linear_heads_0_head + j0 * linear_heads_0_row, linear_heads_0_row,
                j1 - j0, 64, linear_heads_0_tile, 32, 4);
        }
        if (dv) {
            /* linear_heads_1_tile = linear_heads_1, with zeros beyond the last row */
            transpose_padded_any(linear_heads_1 + m * linear_heads_1_head + j0 * linear_heads_1_row, linear_heads_1_row,
                j1 - j0, 64, linear_heads_1_tile, 32, 4);
        }
        if (dk) {
            /* row_sum += linear_heads_0_tile */
            for (int64_t j_first = 0; j_first < j1 - j0; j_first += 8) {
                for (int64_t d = 0; d < 64; d++) {
                    UNROLL for (int64_t vector = 0, j = j_first; vector < 2; vector++, j += 4) {
                        store_any(row_sum + d * 32 + j, load_any(row_sum + d * 32 + j) + load_any(linear_heads_0_tile +
                            d * 32 + j));
                    }
                }
            }
        }
        if (dv) {
            /* row_sum_2 += linear_heads_1_tile */
            for (int64_t j_first = 0; j_first < j1 - j0; j_first += 8) {
                for (int64_t e = 0; e < 64; e++) {
                    UNROLL for (int64_t vector = 0, j = j_first; vector < 2; vector++, j += 4) {
                        store_any(row_sum_2 + e * 32 + j, load_any(row_sum_2 + e * 32 + j) +
                            load_any(linear_heads_1_tile + e * 32 + j));
                    }
                }
            }
        }
    }
    if (dk) {
        /* dk = row_sum, transposed back */
        transpose_out_any(row_sum, 32, 64, j1 - j0, dk + j0 * dk_row, dk_row, 4);
    }
    if (dv) {
        /* dv = row_sum_2, transposed back */
        transpose_out_any(row_sum_2, 32, 64, j1 - j0, dv + j0 * dv_row, dv_row, 4);
    }
}

/* Computes task number `task`: one tile of keys of one head. `work` is this thread's workspace. */
static void power_gated_linear_terms_dgate_any(const struct call *call, int64_t task, unsigned char *work)
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
static void power_gated_terms_any(const struct call *call, int64_t task, unsigned char *work)
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
    void (*head)(const struct call *, int64_t, struct part *); /* computes a head on one or more threads; may be NULL */
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
    size_t shared, slot, slots; /* shared: bytes for all threads of a head; slot: bytes of a slot; slots: per thread */
    int together; /* heads that all threads compute together: 0: none, 1: the last (heads % threads), 2: all */
};

/* For many keys, version() chooses the linear form, because it takes less work. */
static struct version version(int64_t n_k)
{
#if defined(__x86_64__)
    if (attn_x86_64_level() >= 4) {
        if (n_k >= 5118) return (struct version){.head = power_gated_linear_v4, .tile = -1, .own = 82432,
            .of_token = 135200, .in_keys = 1, .saves = 1, .shared = 1081600, .slot = 540800, .slots = 1, .together = 1};
        return (struct version){.rows = power_gated_rows_v4, .tile = 64, .own = 154624, .of_pair = 128, .saves = 1};
    }
#endif
#if defined(__x86_64__)
    if (attn_x86_64_level() >= 3) {
        if (n_k >= 5118) return (struct version){.head = power_gated_linear_v3, .tile = -1, .own = 82432,
            .of_token = 135200, .in_keys = 1, .saves = 1, .shared = 1081600, .slot = 540800, .slots = 1, .together = 1};
        return (struct version){.rows = power_gated_rows_v3, .tile = 64, .own = 154624, .of_pair = 128, .saves = 1};
    }
#endif
    if (n_k >= 5118) return (struct version){.head = power_gated_linear_any, .tile = -1, .own = 82432,
        .of_token = 135200, .in_keys = 1, .saves = 1, .shared = 1081600, .slot = 540800, .slots = 1, .together = 1};
    return (struct version){.rows = power_gated_rows_any, .tile = 64, .own = 154624, .of_pair = 128, .saves = 1};
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

size_t power_gated_params_size(void)
{
    return 0;
}

int power_gated_params_init(struct power_gated_params *params, uint64_t seed, void *storage)
{
    (void)seed;
    (void)storage;
    if (!params) return ATTN_EPOINTER;
    *params = (struct power_gated_params){0};
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
    const struct power_gated_params *const params = call->params;
    const struct power_gated_strides *const given = params->strides;
    int error = 0;
    (void)p;
    if (!error)
        error = fill_strides(call->at.gate, given ? given->gate : NULL, (const int64_t[]){p->batch, p->heads, p->n_k},
            3,
            params->gate, sizeof *params->gate);
    call->gate_array = call->params->gate;
    call->gate_array_at = (struct attn_strides){call->at.gate[0], call->at.gate[1], call->at.gate[2]};
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
    if (!positions_fit(&call->p)) return ATTN_EPROBLEM;
    call->sharing = sharing_of(&call->p);
    return 0;
}

/* Checks that the caller has given all parameters, and sets their strides. Returns 0 or an error. */
static int take_params(struct call *call)
{
    const struct power_gated_params *const params = call->params;
    if (!params || !params->gate) return ATTN_EPARAM;
    return set_strides(call);
}

/* Returns the largest workspace of a thread in bytes, over all versions for up to n_k keys. */
static size_t max_bytes_a_thread(int64_t n_k)
{
    static const int64_t from[] = {0, 5118};
    size_t bytes = 0;
    for (size_t k = 0; k < sizeof from / sizeof *from; k++) {
        const struct version v = version(from[k]);
        if ((k == 0 || from[k] <= n_k) && bytes_a_thread(&v) > bytes) bytes = bytes_a_thread(&v);
    }
    return bytes;
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
        return (struct version){.rows = power_gated_terms_v4, .tile = 64, .own = 512, .of_pair = 128};
#endif
#if defined(__x86_64__)
    if (attn_x86_64_level() >= 3)
        return (struct version){.rows = power_gated_terms_v3, .tile = 64, .own = 512, .of_pair = 128};
#endif
    return (struct version){.rows = power_gated_terms_any, .tile = 64, .own = 512, .of_pair = 128};
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
    static const int64_t from[] = {0, 5118, INT64_MAX};
    for (size_t k = 0; k + 1 < sizeof from / sizeof *from; k++) {
        int64_t last = problem->n_k; /* the last number of keys with the versions for from[k] */
        for (size_t next = 0; next < sizeof from / sizeof *from; next++)
            if (from[next] > from[k]) last = min(last, from[next] - 1);
        if (from[k] <= problem->n_k && !own_sums(from[k])) sums.n_k = max(sums.n_k, last);
    }
    sums.n_q = min(sums.n_q, sums.n_k);
    return call_bytes(problem, sums.n_k < 0 ? NULL : &sums);
}

size_t power_gated_workspace(const struct attn_problem *problem)
{
    if (!problem) return 0;
    size_t shared = forward_bytes(problem), bytes = first_bytes_a_thread();
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
    const int64_t heads = this->tile == 0 || this->of_keys == OF_KEY_HEAD ? p->kv_heads : p->heads;
    const int64_t positions = this->of_keys ? p->n_k : p->n_q;
    int64_t tasks = p->batch * heads;
    tasks *= this->tile > 0 ? (positions + this->tile - 1) / this->tile : 1;
    if (this->units)
        tasks = this->units * (this->unit_heads == 0 ? 1 : this->unit_heads == 1 ? p->kv_heads : p->heads) *
            (this->tile > 0 ? (positions + this->tile - 1) / this->tile : 1);
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

static size_t saved_bytes(const struct attn_problem *p)
{
    return bytes_times(row_bytes(p), 1);
}

size_t power_gated_saved(const struct attn_problem *problem)
{
    const size_t bytes = problem ? saved_bytes(problem) : 0;
    return bytes_fit(bytes) ? bytes : 0;
}

static void set_saved(struct call *call, unsigned char *saved)
{
    call->saved_0 = (float *)(void *)(saved + 0 * row_bytes(&call->p));
}

int power_gated_forward(const struct attn_problem *problem, const struct power_gated_params *params, const float *q,
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
    const struct attn_problem *const sums = this.own_sums ? NULL : &call.p;
    const size_t shared = call_bytes(&call.p, sums);
    const size_t bytes = bytes_a_thread(&this);
    size_t max_bytes = first_bytes_a_thread();
    if (max_bytes_a_thread(problem->n_k) > max_bytes) max_bytes = max_bytes_a_thread(problem->n_k);
    int threads = 1;
    const int no_room = take_workspace(problem, workspace, shared, max_bytes, &threads);
    if (no_room) return no_room;
    unsigned char *const work = (unsigned char *)workspace + shared;
    const size_t saved = saved_bytes(problem);
    if (problem->saved && !bytes_fit(saved)) return ATTN_ESIZE;
    if (problem->saved && problem->saved_bytes && problem->saved_bytes < saved) return ATTN_EWORKSPACE;
    if ((uintptr_t)problem->saved % 64) return ATTN_EALIGN;
    if (problem->saved && this.saves) set_saved(&call, (unsigned char *)problem->saved);
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
INLINE int wanted_0(const struct call *call) { return call->dq || call->dlog_decay_q; }
INLINE int wanted_1(const struct call *call) { return call->linear_heads_0 || call->linear_heads_1 ||
    call->dlog_decay_k; }
INLINE int wanted_2(const struct call *call) { return call->dk || call->dv; }
INLINE int wanted_3(const struct call *call) { return call->dlog_decay_k != NULL; }
INLINE int wanted_4(const struct call *call) { return call->dgate_array != NULL; }

static struct version part_version(int part, int64_t n_k)
{
    (void)n_k; /* n_k is unused if every target has one version of each part */
    switch (part) {
    case 0:
#if defined(__x86_64__)
    if (attn_x86_64_level() >= 4) {
        if (n_k >= 5118) return (struct version){.head = power_gated_linear_saved_v4, .tile = -1, .own = 82432,
            .of_token = 135200, .in_keys = 1, .shared = 16640, .slot = 8320, .slots = 4, .together = 1};
        return (struct version){.rows = power_gated_saved_v4, .tile = 64, .own = 113664, .of_pair = 128};
    }
#endif
#if defined(__x86_64__)
    if (attn_x86_64_level() >= 3) {
        if (n_k >= 5118) return (struct version){.head = power_gated_linear_saved_v3, .tile = -1, .own = 82432,
            .of_token = 135200, .in_keys = 1, .shared = 16640, .slot = 8320, .slots = 4, .together = 1};
        return (struct version){.rows = power_gated_saved_v3, .tile = 64, .own = 113664, .of_pair = 128};
    }
#endif
    if (n_k >= 5118) return (struct version){.head = power_gated_linear_saved_any, .tile = -1, .own = 82432,
        .of_token = 135200, .in_keys = 1, .shared = 16640, .slot = 8320, .slots = 4, .together = 1};
    return (struct version){.rows = power_gated_saved_any, .tile = 64, .own = 113664, .of_pair = 128};
    case 1:
#if defined(__x86_64__)
    if (attn_x86_64_level() >= 4) {
        if (n_k >= 5118) return (struct version){.rows = power_gated_linear_row_sums_v4, .tile = 32, .own = 16640,
            .of_token = 135200};
        return (struct version){.rows = power_gated_row_sums_v4, .tile = 64, .own = 41472, .of_pair = 128};
    }
#endif
#if defined(__x86_64__)
    if (attn_x86_64_level() >= 3) {
        if (n_k >= 5118) return (struct version){.rows = power_gated_linear_row_sums_v3, .tile = 32, .own = 16640,
            .of_token = 135200};
        return (struct version){.rows = power_gated_row_sums_v3, .tile = 64, .own = 41472, .of_pair = 128};
    }
#endif
    if (n_k >= 5118) return (struct version){.rows = power_gated_linear_row_sums_any, .tile = 32, .own = 16640,
        .of_token = 135200};
    return (struct version){.rows = power_gated_row_sums_any, .tile = 64, .own = 41472, .of_pair = 128};
    case 2:
#if defined(__x86_64__)
    if (attn_x86_64_level() >= 4) {
        if (n_k >= 5118) return (struct version){.head = power_gated_linear_dq_dlog_decay_q_v4, .tile = -1,
            .own = 299776, .of_token = 135200, .in_keys = 1, .wanted = wanted_0, .shared = 1081600, .slot = 540800,
            .slots = 1, .together = 1};
        return (struct version){.rows = power_gated_dq_dlog_decay_q_v4, .tile = 64, .own = 359680, .of_pair = 128,
            .wanted = wanted_0};
    }
#endif
#if defined(__x86_64__)
    if (attn_x86_64_level() >= 3) {
        if (n_k >= 5118) return (struct version){.head = power_gated_linear_dq_dlog_decay_q_v3, .tile = -1,
            .own = 299776, .of_token = 135200, .in_keys = 1, .wanted = wanted_0, .shared = 1081600, .slot = 540800,
            .slots = 1, .together = 1};
        return (struct version){.rows = power_gated_dq_dlog_decay_q_v3, .tile = 64, .own = 359680, .of_pair = 128,
            .wanted = wanted_0};
    }
#endif
    if (n_k >= 5118) return (struct version){.head = power_gated_linear_dq_dlog_decay_q_any, .tile = -1, .own = 299776,
        .of_token = 135200, .in_keys = 1, .wanted = wanted_0, .shared = 1081600, .slot = 540800, .slots = 1,
        .together = 1};
    return (struct version){.rows = power_gated_dq_dlog_decay_q_any, .tile = 64, .own = 359680, .of_pair = 128,
        .wanted = wanted_0};
    case 3:
#if defined(__x86_64__)
    if (attn_x86_64_level() >= 4) {
        if (n_k >= 5118) return (struct version){.head =
            power_gated_linear_linear_heads_0_linear_heads_1_dlog_decay_k_v4, .tile = -1, .own = 1619456,
            .of_token = 135200, .in_keys = 1, .wanted = wanted_1, .shared = 1081600, .slot = 540800, .slots = 1,
            .together = 1};
        return (struct version){.rows = power_gated_dk_dv_v4, .tile = 64, .own = 399872, .of_pair = 128,
            .wanted = wanted_2, .of_keys = OF_KEY_HEAD};
    }
#endif
#if defined(__x86_64__)
    if (attn_x86_64_level() >= 3) {
        if (n_k >= 5118) return (struct version){.head =
            power_gated_linear_linear_heads_0_linear_heads_1_dlog_decay_k_v3, .tile = -1, .own = 1619456,
            .of_token = 135200, .in_keys = 1, .wanted = wanted_1, .shared = 1081600, .slot = 540800, .slots = 1,
            .together = 1};
        return (struct version){.rows = power_gated_dk_dv_v3, .tile = 64, .own = 399872, .of_pair = 128,
            .wanted = wanted_2, .of_keys = OF_KEY_HEAD};
    }
#endif
    if (n_k >= 5118) return (struct version){.head = power_gated_linear_linear_heads_0_linear_heads_1_dlog_decay_k_any,
        .tile = -1, .own = 1619456, .of_token = 135200, .in_keys = 1, .wanted = wanted_1, .shared = 1081600,
        .slot = 540800, .slots = 1, .together = 1};
    return (struct version){.rows = power_gated_dk_dv_any, .tile = 64, .own = 399872, .of_pair = 128,
        .wanted = wanted_2, .of_keys = OF_KEY_HEAD};
    case 4:
#if defined(__x86_64__)
    if (attn_x86_64_level() >= 4) {
        if (n_k >= 5118) return (struct version){.rows = power_gated_linear_totals1_v4, .tile = 32, .own = 32768,
            .of_token = 135200, .wanted = wanted_2, .of_keys = OF_KEY_HEAD};
        return (struct version){.rows = power_gated_dlog_decay_k_v4, .tile = 64, .own = 226304, .of_pair = 128,
            .wanted = wanted_3, .of_keys = OF_QUERY_HEAD};
    }
#endif
#if defined(__x86_64__)
    if (attn_x86_64_level() >= 3) {
        if (n_k >= 5118) return (struct version){.rows = power_gated_linear_totals1_v3, .tile = 32, .own = 32768,
            .of_token = 135200, .wanted = wanted_2, .of_keys = OF_KEY_HEAD};
        return (struct version){.rows = power_gated_dlog_decay_k_v3, .tile = 64, .own = 226304, .of_pair = 128,
            .wanted = wanted_3, .of_keys = OF_QUERY_HEAD};
    }
#endif
    if (n_k >= 5118) return (struct version){.rows = power_gated_linear_totals1_any, .tile = 32, .own = 32768,
        .of_token = 135200, .wanted = wanted_2, .of_keys = OF_KEY_HEAD};
    return (struct version){.rows = power_gated_dlog_decay_k_any, .tile = 64, .own = 226304, .of_pair = 128,
        .wanted = wanted_3, .of_keys = OF_QUERY_HEAD};
    default:
#if defined(__x86_64__)
    if (attn_x86_64_level() >= 4) {
        if (n_k >= 5118) return (struct version){.rows = power_gated_linear_terms_dgate_v4, .tile = 64, .own = 512,
            .of_pair = 128, .wanted = wanted_4, .of_keys = OF_QUERY_HEAD};
        return (struct version){.rows = power_gated_terms_dgate_v4, .tile = 64, .own = 512, .of_pair = 128,
            .wanted = wanted_4, .of_keys = OF_QUERY_HEAD};
    }
#endif
#if defined(__x86_64__)
    if (attn_x86_64_level() >= 3) {
        if (n_k >= 5118) return (struct version){.rows = power_gated_linear_terms_dgate_v3, .tile = 64, .own = 512,
            .of_pair = 128, .wanted = wanted_4, .of_keys = OF_QUERY_HEAD};
        return (struct version){.rows = power_gated_terms_dgate_v3, .tile = 64, .own = 512, .of_pair = 128,
            .wanted = wanted_4, .of_keys = OF_QUERY_HEAD};
    }
#endif
    if (n_k >= 5118) return (struct version){.rows = power_gated_linear_terms_dgate_any, .tile = 64, .own = 512,
        .of_pair = 128, .wanted = wanted_4, .of_keys = OF_QUERY_HEAD};
    return (struct version){.rows = power_gated_terms_dgate_any, .tile = 64, .own = 512, .of_pair = 128,
        .wanted = wanted_4, .of_keys = OF_QUERY_HEAD};
    }
}

/* From each of these numbers of keys on, a part of backward may have another version. */
static const int64_t part_from[] = {
    0, 5118
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
        for (int part = 0; part < 6 && (k == 0 || part_from[k] <= n_k); part++) {
            const struct version v = part_version(part, part_from[k]);
            if (bytes_a_thread(&v) > bytes) bytes = bytes_a_thread(&v);
        }
    return bytes;
}

/* Sets pointers to the wanted gradients in `to`, and to arrays in the memory at `left`. One part of backward fills
   these arrays, and later parts read them. Returns the bytes that all the arrays need. */
static size_t set_totals(struct call *call, const struct power_gated_gradients *to, unsigned char *const left)
{
    const struct attn_problem *const p = &call->p;
    size_t at = 0, most = 0;
    if (to) {
        call->dgate_array = to->gate;
    }
    if (at > most) most = at;
    at = 0;
    if (p->heads == p->kv_heads) { /* each key/value head has one query head */
        call->linear_heads_0 = call->dk;
        call->linear_heads_0_at = p->dk;
    } else {
        if (call->dk) call->linear_heads_0 = (float *)(void *)(left + at);
        at = bytes_plus(at, whole_lines(bytes_times(bytes_times(bytes_times(64 * sizeof(float), p->batch), p->heads),
            p->n_k)));
        const size_t head = bytes_times(64, p->n_k);
        call->linear_heads_0_at = (struct attn_strides){(int64_t)bytes_times(head, p->heads), (int64_t)head, 64};
    }
    if (p->heads == p->kv_heads) { /* each key/value head has one query head */
        call->linear_heads_1 = call->dv;
        call->linear_heads_1_at = p->dv;
    } else {
        if (call->dv) call->linear_heads_1 = (float *)(void *)(left + at);
        at = bytes_plus(at, whole_lines(bytes_times(bytes_times(bytes_times(64 * sizeof(float), p->batch), p->heads),
            p->n_k)));
        const size_t head = bytes_times(64, p->n_k);
        call->linear_heads_1_at = (struct attn_strides){(int64_t)bytes_times(head, p->heads), (int64_t)head, 64};
    }
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
    size_t bytes = bytes_times(row_bytes(problem), 1 + 1);
    bytes = bytes_plus(bytes, bytes_plus(bytes_of_heads(problem, problem->n_q), bytes_of_heads(problem, problem->n_k)));
    struct call none = {.p = *problem};
    bytes = bytes_plus(bytes, set_totals(&none, NULL, NULL));
    bytes = bytes_plus(bytes, prefix_gradients_bytes(problem));
    bytes = bytes_plus(bytes, call_bytes(problem, problem));
    return bytes;
}

size_t power_gated_backward_workspace(const struct attn_problem *problem)
{
    if (!problem) return 0;
    const size_t of_threads = bytes_times(part_bytes_a_thread(problem->n_k), threads_served(problem)),
        bytes = bytes_plus(shared_bytes(problem), of_threads);
    return bytes_fit(bytes) ? bytes : 0;
}

static void set_row_sums(struct call *call, unsigned char *rows)
{
    call->row_0 = (float *)(void *)(rows + 0 * row_bytes(&call->p));
}

static int run_part(int part, struct call *call, int threads, unsigned char *workspace)
{
    const struct version this = part_version(part, keys_of_version(&call->p));
    if (this.wanted && !this.wanted(call)) return 0;
    return run(call, &this, threads, workspace, bytes_a_thread(&this));
}

int power_gated_backward(const struct attn_problem *problem, const struct power_gated_params *params, const float *q,
    const float *k, const float *v, const float *out, const float *dout,
    float *dq, float *dk, float *dv,
    struct power_gated_gradients *gradients, void *workspace)
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
    for (int part = 0; part < 6; part++) {
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
    unsigned char *const rows = first + saved, *const work = (unsigned char *)workspace + shared;
    const int kept = problem->saved && version(keys_of_version(&call.p)).saves;
    set_saved(&call, kept ? (unsigned char *)problem->saved : first);
    set_row_sums(&call, rows);
    unsigned char *next = rows + 1 * row_bytes(problem);
    next += set_totals(&call, gradients, next);
    (void)next;
    unsigned char *const prefix = work - call_bytes(problem, problem);
    const struct version terms = terms_version();
    if (!runs(&terms)) return ATTN_EMACHINE;
    set_prefix_sums(&call, prefix);
    if (call.dgate_array)
        set_prefix_gradients(&call, prefix - prefix_gradients_bytes(problem));
    error = make_prefix_sums(&call, threads, work, bytes_a_thread(&terms));
    if (!error && !kept) error = run_part(0, &call, threads, work);
    if (!error) error = run_part(1, &call, threads, work);
    if (!error) error = run_part(2, &call, threads, work);
    if (!error) error = run_part(3, &call, threads, work);
    if (!error) {
        struct call left = call;
        if (left.dk == left.linear_heads_0) left.dk = NULL;
        if (left.dv == left.linear_heads_1) left.dv = NULL;
        error = run_part(4, &left, threads, work);
    }
    if (!error) error = make_prefix_gradients(&call, threads, work, bytes);
    if (!error) error = run_part(5, &call, threads, work);
    if (!error && call.sharing > 1 && (call.dq || call.dk)) {
        const struct version adds = {.rows = add_heads, .tile = -1, .of_token = 2 * 64};
        call.p.heads = call.p.kv_heads = call.p.key_heads;
        error = run(&call, &adds, threads, work, bytes);
    }
    return error;
}

static const struct attn_param param[] = {
    {"gate", ATTN_F32, 3, {ATTN_BATCH, ATTN_HEADS, ATTN_N_K}, offsetof(struct power_gated_params, gate), 0,
        offsetof(struct power_gated_strides, gate), 0, 1, ATTN_NO_LIMITS},
};

static int params_init_any(void *params, uint64_t seed, void *storage)
{
    return power_gated_params_init((struct power_gated_params *)params, seed, storage);
}

static int forward_any(const struct attn_problem *problem, const void *params, const void *q, const void *k,
    const void *v, void *out, void *workspace)
{
    return power_gated_forward(problem, (const struct power_gated_params *)params, (const float *)q, (const float *)k,
        (const float *)v, (float *)out, workspace);
}

static int backward_any(const struct attn_problem *problem, const void *params, const void *q, const void *k,
    const void *v, const void *out, const void *dout, void *dq, void *dk, void *dv, void *gradients,
    void *workspace)
{
    return power_gated_backward(problem, (const struct power_gated_params *)params, (const float *)q, (const float *)k,
        (const float *)v, (const float *)out, (const float *)dout, (float *)dq, (float *)dk, (float *)dv,
        (struct power_gated_gradients *)gradients, workspace);
}

const struct attn_kernel power_gated_kernel = {
    .name = "power_gated", .version = "0.1.0", .dtype = ATTN_F32, .head_dim = 64, .value_dim = 64,
    .params = 1, .param = param, .params_bytes = sizeof(struct power_gated_params),
    .params_size = power_gated_params_size, .params_init = params_init_any, .workspace = power_gated_workspace,
    .forward = forward_any,
    .saved = power_gated_saved, .backward_workspace = power_gated_backward_workspace, .backward = backward_any,
    .key_dtype = ATTN_F32, .value_dtype = ATTN_F32,
    .strides = offsetof(struct power_gated_params, strides), .strides_bytes = sizeof(struct power_gated_strides),
    .before = INT64_MAX, .after = 0, .period = 0, .names_heads = 0,
    .names_sequences = 0, .in_parts = 0,
    .saved_power = 0, .has_sink = 0, .open_keys = 0, .end_of_keys = INT64_MAX,
};
#endif /* a compiler of this language */
