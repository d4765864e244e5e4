/* linear_elu_decode.c, made by attnc 0.1.0: attnc linear_elu_decode.yaml
   C11 with GNU extensions, for a C compiler; C++ includes linear_elu_decode.h.
   linear attention with the feature map ELU + 1 that decodes tokens from a state of constant size
   Katharopoulos et al., Transformers are RNNs (ICML 2020), section 3.4

   Computes, in f32, over the axes b (batch), g (key/value head), m (query head of g), i (query), j (key), d (16),
   e (16):
     q [b g m i d]
     k [b g j d]
     v [b g j e]
     x3 [b g m i d] = 0 < q ? q + 1 : exp(min(q, 0))
     x4 [b g j d] = 0 < k ? k + 1 : exp(min(k, 0))
     x5 [b g m i j] = sum over d of x3 * x4
     x6 [b g m i j] = x5
     x7 [b g m i] = sum over j of x6 if j <= i + query_start
     x8 [b g m i e] = sum over j of x6 * v if j <= i + query_start
     x9 [b g m i e] = x7 == 0 ? 0 : x8 / x7
     out = x9
   query_start is the position of the first query: problem.query_start[b], or n_k - n_q if that is NULL.

   How: each vector lane holds one query. Keys are processed in tiles,
   so row sums and maxima need no reduction across lanes.
   The sums of a tile start from zero and are added to the sums so far. Tiles that no query sees are skipped.
   Linear: the weight is an inner product of 16 features. The state is a sum over keys of 16 x 17 numbers.
     x86-64-v4  linear    tiles of 16 queries and 16 keys; 12864 bytes of workspace per thread
     x86-64-v3  linear    tiles of 16 queries and 16 keys; 12864 bytes of workspace per thread
     generic    linear    tiles of 16 queries and 16 keys; 12864 bytes of workspace per thread

   Contents; each section begins with ====. "generic" has the simplest code, so read it first.
     (top)      struct call, and what all targets share
     x86-64-v4  linear_elu_decode_linear_v4, linear_elu_decode_extend_v4, linear_elu_decode_join_v4
     x86-64-v3  linear_elu_decode_linear_v3, linear_elu_decode_extend_v3, linear_elu_decode_join_v3
     generic    linear_elu_decode_linear_any, linear_elu_decode_extend_any, linear_elu_decode_join_any
     choice     the version that this machine runs
     interface  linear_elu_decode_workspace, linear_elu_decode_forward, linear_elu_decode_extend,
     linear_elu_decode_kernel

   Compile with: cc -O2 -fopenmp linear_elu_decode.c … -lattnrt -lm */
#ifdef __cplusplus
#error "linear_elu_decode.c is C, not C++: compile it with a C compiler"
#elif !defined __STDC_VERSION__ || __STDC_VERSION__ < 199901L
#error "linear_elu_decode.c is C11, not C89: compile it without -std=, or with -std=gnu11"
extern int linear_elu_decode_is_c11;
#elif !defined __GNUC__
#error "linear_elu_decode.c uses GNU C vector extensions: compile it with gcc or clang"
extern int linear_elu_decode_is_gnu_c;
#else
#include "linear_elu_decode.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#ifdef _OPENMP
#include <omp.h>
#endif
#ifdef __unix__
#include <sched.h>
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
    const struct linear_elu_decode_params *params;
    const float *q;
    const float *k;
    const float *v;
    float *out;
    int64_t sharing; /* the number of heads of v and out that share a head of q and of k */
    unsigned char *kept; /* the sums of all heads in the caller's state, or NULL */
    /* start: the position of the sequence's first token; summed: the sums contain the keys before this position;
       length: the position of the first new token */
    int64_t start, summed, length;
    /* chunk_sums: the caller's sums of chunks, from chunk number first_chunk on, or NULL; head_chunks: the chunks of a
       head in it */
    unsigned char *chunk_sums;
    int64_t first_chunk, head_chunks;
    const unsigned char *folded; /* the sums of a second state over p.n_k keys, which are added to `kept` */
};

/* Returns where the caller stores the sums of a chunk, or NULL if the chunk is not complete. */
INLINE unsigned char *stored_sums(const struct call *call, int64_t task, int64_t number, int64_t chunk, int64_t bytes)
{
    const int stores = call->chunk_sums && (number + 1) * chunk <= call->p.n_k;
    return stores ? call->chunk_sums + (task * call->head_chunks + number - call->first_chunk) * bytes : NULL;
}
/* Copies bytes that are not read soon, so caches should keep other data. Both addresses are multiples of 64. */
INLINE void write_through(unsigned char *to, const unsigned char *from, size_t bytes)
{
#if defined(__clang__)
    typedef float four __attribute__((vector_size(16), may_alias));
    for (size_t at = 0; at < bytes; at += sizeof(four))
        __builtin_nontemporal_store(*(const four *)(const void *)(from + at), (four *)(void *)(to + at));
    __atomic_thread_fence(__ATOMIC_SEQ_CST); /* such stores are not ordered */
#else
    memcpy(to, from, bytes);
#endif
}

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
TARGET_v4 INLINE vec_v4 min_v4(vec_v4 a, vec_v4 b) { return pick_v4((mask_v4)(b < a), b, a); }

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

/* Returns e^x = 2^n * 2^(r * log2(e)), with r = x - n * ln(2). ln(2) is the sum of two constants, so r is accurate.
   NaN stays NaN. */
TARGET_v4 INLINE vec_v4 exp_v4(vec_v4 x)
{
    x = pick_v4((mask_v4)(x < -89.0f), splat_v4(-89.0f), x);
    x = pick_v4((mask_v4)(x > 89.0f), splat_v4(89.0f), x);
    const vec_v4 t = x * 1.44269504f + 12582912.0f, n = t - 12582912.0f;
    const vec_v4 r = (x - n * 0.693145751953125f) - n * 1.4286068203094172e-06f;
    return exp2_v4(r * 1.44269504f) * exp2_v4(n);
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

/* Computes sum[x] = sum over t of a[t][x] * b[t * b_step], for the lanes x of up to 8 vectors. The terms are added in
   the
   order of dot_v4 with `update` 0. The result is a row of c if lane < 0. Otherwise it is this lane of rows of c, whose
   other lanes get 0. */
TARGET_v4 INLINE void some_rows_v4(const int vectors, int64_t steps, const int64_t span, const float *a, int64_t a_step,
    const float *b, int64_t b_step, float *c, int64_t c_row, const int64_t lane)
{
    const int64_t part = steps > 2 * span ? span : steps;
    vec_v4 sum[8], whole[8];
    UNROLL for (int v = 0; v < 8; v++) whole[v] = (vec_v4){0}; /* gcc 12 warns if only `vectors` of them are set */
    for (int64_t first = 0; first < steps; first += part) {
        const int64_t end = min(first + part, steps);
        UNROLL for (int v = 0; v < 8; v++) sum[v] = (vec_v4){0};
        for (int64_t t = first; t < end; t++) {
            const float y = b[t * b_step];
            UNROLL for (int v = 0; v < vectors; v++) sum[v] += y * load_v4(a + t * a_step + v * 16);
        }
        UNROLL for (int v = 0; v < vectors; v++) whole[v] = first ? whole[v] + sum[v] : sum[v];
    }
    UNROLL for (int v = 0; v < vectors; v++)
        if (lane < 0)
            store_v4(c + v * 16, whole[v]);
        else
            for (int l = 0; l < 16; l++, c += c_row) {
                store_v4(c, (vec_v4){lane == 0 ? whole[v][l] : 0});
                if (lane > 0) c[lane] = whole[v][l];
            }
}

/* Like dot_v4 with `update` 0, for one lane only: c[r][lane] = sum over t of a[t][r] * b[t][lane]. The rows r of a step
   are adjacent, so they are in the lanes of vectors. The number of rows is a multiple of 16. */
TARGET_v4 INLINE void dot_lane_v4(const int64_t rows, const int64_t lane, int64_t steps, const int64_t span,
    const float *a,
    int64_t a_step, const float *b, int64_t b_step, float *c, int64_t c_row)
{
    int64_t r = 0;
    for (; r + 8 * 16 <= rows; r += 8 * 16)
        some_rows_v4(8, steps, span, a + r, a_step, b + lane, b_step, c + r * c_row, c_row, lane);
    if (rows % (8 * 16))
        some_rows_v4((int)(rows % (8 * 16) / 16), steps, span, a + r, a_step, b + lane, b_step, c + r * c_row, c_row,
            lane);
}

/* Like dot_v4, but uses 0 for infinity and NaN in a. It copies one row of a at a time. */
TARGET_v4 INLINE void dot_finite_v4(const int vectors, const int64_t lanes, int64_t rows, const int tail, int64_t steps,
    const int64_t span, const float *a, int64_t a_row, int64_t a_step, const float *b, int64_t b_step, float *c,
        int64_t c_row,
    const int update, const float *factor, float *compensation)
{
    float row[16];
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
TARGET_v4 APART void dot0_v4(int64_t steps, const float *a, const float *b, int64_t b_step, float *c)
{
    dot_v4(/*vectors=*/1, /*lanes=*/16, /*rows=*/16, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/16, /*a_step=*/1, b,
        b_step, c, /*c_row=*/16, /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL);
}
TARGET_v4 APART void dot1_v4(const float *a, const float *b, float *c)
{
    dot_v4(/*vectors=*/1, /*lanes=*/16, /*rows=*/16, /*tail=*/4, /*steps=*/16, /*span=*/32, a, /*a_row=*/1,
        /*a_step=*/16, b, /*b_step=*/16, c, /*c_row=*/16, /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL);
}
TARGET_v4 APART void dot2_v4(int64_t rows, const float *a, const float *b, float *c)
{
    dot_v4(/*vectors=*/1, /*lanes=*/16, rows, /*tail=*/-1, /*steps=*/16, /*span=*/32, a, /*a_row=*/1, /*a_step=*/16, b,
        /*b_step=*/16, c, /*c_row=*/16, /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL);
}
TARGET_v4 APART void dot3_v4(int64_t steps, const float *a, int64_t a_step, const float *b, float *c,
    float *compensation)
{
    dot_finite_v4(/*vectors=*/1, /*lanes=*/16, /*rows=*/16, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/1, a_step, b,
        /*b_step=*/16, c, /*c_row=*/16, /*update=*/3, /*factor=*/NULL, compensation);
}
TARGET_v4 APART void dot4_v4(int64_t steps, const float *a, int64_t a_step, const float *b, float *c,
    float *compensation)
{
    dot_v4(/*vectors=*/1, /*lanes=*/16, /*rows=*/16, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/1, a_step, b,
        /*b_step=*/16, c, /*c_row=*/16, /*update=*/3, /*factor=*/NULL, compensation);
}
TARGET_v4 APART void dot5_v4(int64_t steps, const float *a, const float *b, int64_t b_step, float *c,
    float *compensation)
{
    dot_v4(/*vectors=*/1, /*lanes=*/16, /*rows=*/16, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/16, /*a_step=*/1, b,
        b_step, c, /*c_row=*/16, /*update=*/3, /*factor=*/NULL, compensation);
}
TARGET_v4 APART void dot6_v4(const float *a, const float *b, float *c)
{
    dot_lane_v4(/*rows=*/16, /*lane=*/0, /*steps=*/16, /*span=*/32, a, /*a_step=*/16, b, /*b_step=*/16, c,
        /*c_row=*/16);
}

/* Initialises the states: they contain no keys yet. */
TARGET_v4 APART void linear_elu_decode_begin_v4(const struct call *call, int64_t task, const struct part *part,
    int64_t iteration)
{
    (void)call;
    (void)task;
    const int64_t f0 = iteration * 32, f1 = min(f0 + 32, 16);
    float *const carried_sum = (float *)(void *)(part->shared + 0); /* [f: 16] */
    float *const carried_sum_compensation = (float *)(void *)(part->shared + 1088); /* [f: 16] */
    float *const carried = (float *)(void *)(part->shared + 64); /* [f: 16, e: 16] */
    float *const carried_compensation = (float *)(void *)(part->shared + 1152); /* [f: 16, e: 16] */
    /* carried_sum = 0.0f; carried_sum_compensation = 0.0f */
    for (int64_t f = f0; f < f1; f += 16) {
        store_v4(carried_sum + f, splat_v4(0.0f));
        store_v4(carried_sum_compensation + f, splat_v4(0.0f));
    }
    /* carried = 0.0f; carried_compensation = 0.0f */
    for (int64_t f = f0; f < f1; f++) {
        for (int64_t e = 0; e < 16; e += 16) {
            store_v4(carried + f * 16 + e, splat_v4(0.0f));
            store_v4(carried_compensation + f * 16 + e, splat_v4(0.0f));
        }
    }
}

/* Sums the keys of a chunk, from zero, into its slot. */
TARGET_v4 APART void linear_elu_decode_keys_v4(const struct call *call, int64_t task, const struct part *part,
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
    float *const state_sum = (float *)(void *)(part->slots + 0); /* [chunk, f: 16] */
    float *const state = (float *)(void *)(part->slots + 64); /* [chunk, f: 16, e: 16] */
    float *const k_tile = (float *)(void *)(part->work + 0); /* [d: 16, j: 16] */
    /* state_sum = 0.0f */
    for (int64_t f = 0; f < 16; f += 16) {
        store_v4(state_sum + (chunk - chunk0) * 272 + f, splat_v4(0.0f));
    }
    for (int64_t j0 = chunk * 16, j_end = min(n_k, (chunk + 1) * 16); j0 < j_end; j0 += 16) {
        const int64_t j1 = min(j0 + 16, j_end);
        /* k_tile = k, with zeros beyond the last row */
        transpose_padded_v4(k + j0 * k_row, k_row, j1 - j0, 16, k_tile, 16, 64);
        /* k_tile = select(0.0f < k_tile, k_tile + 1.0f, exp(min(k_tile, 0.0f))) */
        for (int64_t d = 0; d < 16; d++) {
            for (int64_t j = 0; j < j1 - j0; j += 16) {
                const vec_v4 k_tile_0 = load_v4(k_tile + d * 16 + j);
                store_v4(k_tile + d * 16 + j, pick_v4(0.0f < k_tile_0, k_tile_0 + 1.0f, exp_v4(min_v4(k_tile_0,
                    splat_v4(0.0f)))));
            }
        }
        /* state_sum += k_tile */
        for (int64_t f = 0; f < 16; f++) {
            vec_v4 lane_sums = splat_v4(0);
            for (int64_t j = 0; j < j1 - j0; j += 16) {
                const vec_v4 term = load_v4(k_tile + f * 16 + j);
                lane_sums += j + 16 <= j1 - j0 ? term : pick_v4(__builtin_convertvector(j + lane_v4 < j1 - j0, mask_v4),
                    term, splat_v4(0));
            }
            const float total = lane_sum_v4(lane_sums);
            state_sum[(chunk - chunk0) * 272 + f] += total;
        }
        /* state[f][e] = sum over j of k_tile * v */
        dot0_v4(j1 - j0, k_tile, v + j0 * v_row, v_row, state + (chunk - chunk0) * 272);
    }
}

/* Folds the slots of the current chunks, in order, for some elements of the states. */
TARGET_v4 APART void linear_elu_decode_fold_v4(const struct call *call, int64_t task, const struct part *part,
    int64_t iteration)
{
    (void)call;
    (void)task;
    const int64_t f0 = iteration * 32, f1 = min(f0 + 32, 16);
    const int64_t chunk0 = part->chunk0;
    const int64_t chunk1 = part->chunk1;
    float *const state_sum = (float *)(void *)(part->slots + 0); /* [chunk, f: 16] */
    float *const state = (float *)(void *)(part->slots + 64); /* [chunk, f: 16, e: 16] */
    float *const carried_sum = (float *)(void *)(part->shared + 0); /* [f: 16] */
    float *const carried_sum_compensation = (float *)(void *)(part->shared + 1088); /* [f: 16] */
    float *const carried = (float *)(void *)(part->shared + 64); /* [f: 16, e: 16] */
    float *const carried_compensation = (float *)(void *)(part->shared + 1152); /* [f: 16, e: 16] */
    for (int64_t chunk = chunk0; chunk < chunk1; chunk++) {
        /* before_sum = carried_sum; carried_sum += state_sum; state_sum = before_sum */
        for (int64_t f = f0; f < f1; f += 16) {
            const vec_v4 before_sum_new1 = load_v4(carried_sum + f);
            add_v4(carried_sum + f, carried_sum_compensation + f, load_v4(state_sum + (chunk - chunk0) * 272 + f),
                splat_v4(1));
            store_v4(state_sum + (chunk - chunk0) * 272 + f, before_sum_new1);
        }
        /* before = carried; carried += state; state = before */
        for (int64_t f = f0; f < f1; f++) {
            for (int64_t e = 0; e < 16; e += 16) {
                const vec_v4 before_new2 = load_v4(carried + f * 16 + e);
                add_v4(carried + f * 16 + e, carried_compensation + f * 16 + e,
                    load_v4(state + (chunk - chunk0) * 272 + f * 16 + e), splat_v4(1));
                store_v4(state + (chunk - chunk0) * 272 + f * 16 + e, before_new2);
            }
        }
    }
}

/* Processes the queries of a chunk: reads the state before the chunk, and the keys in the chunk. */
TARGET_v4 APART void linear_elu_decode_queries_v4(const struct call *call, int64_t task, const struct part *part,
    int64_t iteration)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_q = call->p.n_q;
    const int64_t n_k = call->p.n_k;
    const int64_t chunk = iteration;
    const int64_t chunk0 = part->chunk0;
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
    float *const state_sum = (float *)(void *)(part->slots + 0); /* [chunk, f: 16] */
    float *const state = (float *)(void *)(part->slots + 64); /* [chunk, f: 16, e: 16] */
    float *const score = (float *)(void *)(part->work + 0); /* [j: 16, i: 16] */
    float *const row_sum_from_state = (float *)(void *)(part->work + 1024); /* [i: 16] */
    float *const row_sum = (float *)(void *)(part->work + 1088); /* [i: 16] */
    float *const row_sum_compensation = (float *)(void *)(part->work + 1152); /* [i: 16] */
    float *const sum_from_state = (float *)(void *)(part->work + 1216); /* [e: 16, i: 16] */
    float *const sum = (float *)(void *)(part->work + 2240); /* [e: 16, i: 16] */
    float *const sum_compensation = (float *)(void *)(part->work + 3264); /* [e: 16, i: 16] */
    float *const out = call->out + b * call->p.out.batch + g * members * call->p.out.head;
    const int64_t out_row = call->p.out.row;
    const int64_t out_head = call->p.out.head;
    float *const q_tile = (float *)(void *)(part->work + 4288); /* [d: 16, i: 16] */
    float *const k_tile_2 = (float *)(void *)(part->work + 5312); /* [d: 16, j: 16] */
    for (int64_t m = 0; m < members; m++) {
        for (int64_t i0 = (chunk == 0) ? 0 : max(0, (chunk * 16) - query_start), i_end = min(n_q,
            ((chunk + 1) * 16) - query_start); i0 < i_end; i0 += 16) {
            const int64_t i1 = min(i0 + 16, i_end);
            /* q_tile = q, with zeros beyond the last row */
            transpose_padded_v4(q + m * q_head + i0 * q_row, q_row, i1 - i0, 16, q_tile, 16, 64);
            /* q_tile = select(0.0f < q_tile, q_tile + 1.0f, exp(min(q_tile, 0.0f))) */
            for (int64_t d = 0; d < 16; d++) {
                for (int64_t i = 0; i < i1 - i0; i += 16) {
                    const vec_v4 q_tile_3 = load_v4(q_tile + d * 16 + i);
                    store_v4(q_tile + d * 16 + i, pick_v4(0.0f < q_tile_3, q_tile_3 + 1.0f, exp_v4(min_v4(q_tile_3,
                        splat_v4(0.0f)))));
                }
            }
            /* row_sum_from_state = 0.0f */
            for (int64_t i = 0; i < i1 - i0; i += 16) {
                store_v4(row_sum_from_state + i, splat_v4(0.0f));
            }
            /* row_sum_from_state += q_tile * state_sum */
            for (int64_t i = 0; i < i1 - i0; i += 16) {
                vec_v4 row_sum_from_state_in = (vec_v4){0};
                for (int64_t f = 0; f < 16; f++) {
                    row_sum_from_state_in += load_v4(q_tile + f * 16 + i) * (state_sum[(chunk - chunk0) * 272 + f]);
                }
                store_v4(row_sum_from_state + i, load_v4(row_sum_from_state + i) + row_sum_from_state_in);
            }
            /* row_sum = 0.0f; row_sum_compensation = 0.0f */
            for (int64_t i = 0; i < i1 - i0; i += 16) {
                store_v4(row_sum + i, splat_v4(0.0f));
                store_v4(row_sum_compensation + i, splat_v4(0.0f));
            }
            /* sum_from_state[e][i] = sum over f of state * q_tile */
            dot1_v4(state + (chunk - chunk0) * 272, q_tile, sum_from_state);
            /* sum = 0.0f; sum_compensation = 0.0f */
            for (int64_t e = 0; e < 16; e++) {
                for (int64_t i = 0; i < i1 - i0; i += 16) {
                    store_v4(sum + e * 16 + i, splat_v4(0.0f));
                    store_v4(sum_compensation + e * 16 + i, splat_v4(0.0f));
                }
            }
            for (int64_t j0 = max(0, chunk * 16), j_end = min(n_k, i1 + query_start); j0 < j_end; j0 += 16) {
                const int64_t j1 = min(j0 + 16, j_end);
                /* k_tile_2 = k, with zeros beyond the last row */
                transpose_padded_v4(k + j0 * k_row, k_row, j1 - j0, 16, k_tile_2, 16, 64);
                /* k_tile_2 = select(0.0f < k_tile_2, k_tile_2 + 1.0f, exp(min(k_tile_2, 0.0f))) */
                for (int64_t d = 0; d < 16; d++) {
                    for (int64_t j = 0; j < j1 - j0; j += 16) {
                        const vec_v4 k_tile_2_4 = load_v4(k_tile_2 + d * 16 + j);
                        store_v4(k_tile_2 + d * 16 + j, pick_v4(0.0f < k_tile_2_4, k_tile_2_4 + 1.0f,
                            exp_v4(min_v4(k_tile_2_4, splat_v4(0.0f)))));
                    }
                }
                /* score[j][i] = sum over d of k_tile_2 * q_tile */
                dot2_v4(j1 - j0, k_tile_2, q_tile, score);
                if ((j0 < (chunk * 16)) || ((i0 + query_start + 1) < j1)) { /* the tile is partly outside the mask */
                    /* score = select((j <= (i + query_start)) && ((chunk * 16) <= j), score, 0.0f) */
                    for (int64_t i = 0; i < i1 - i0; i += 16) {
                        const ints_v4 t_5 = (i0 + i + lane_v4) + query_start;
                        for (int64_t j = 0; j < j1 - j0; j++) {
                            store_v4(score + j * 16 + i, pick_v4(__builtin_convertvector(((j0 + j) <= t_5) &
                                (-(int64_t)((chunk * 16) <= (j0 + j))), mask_v4), load_v4(score + j * 16 + i),
                                splat_v4(0.0f)));
                        }
                    }
                }
                /* row_sum += score */
                for (int64_t i = 0; i < i1 - i0; i += 16) {
                    vec_v4 row_sum_in = (vec_v4){0};
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        row_sum_in += load_v4(score + j * 16 + i);
                    }
                    add_v4(row_sum + i, row_sum_compensation + i, row_sum_in, splat_v4(1));
                }
                /* sum[e][i] += sum over j of v * score */
                if (__builtin_expect(((j0 < (chunk * 16)) || ((i0 + query_start + 1) < j1)) && !finite_v4(v + j0 *
                    v_row, v_row, j1 - j0, 16), 0)) { /* infinity and NaN affect only queries that see them */
                    dot3_v4(j1 - j0, v + j0 * v_row, v_row, score, sum, sum_compensation);
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        mask_v4 in_region[1] = {0};
                        if (finite_v4(v + j0 * v_row + j * v_row, 1, 16, 1)) continue;
                        const int t_6 = (chunk * 16) <= (j0 + j);
                        for (int64_t i = 0; i < i1 - i0; i += 16) {
                            in_region[i / 16] = __builtin_convertvector(((j0 + j) <= ((i0 + i + lane_v4) + query_start))
                                & (-(int64_t)t_6), mask_v4);
                        }
                        add_seen_v4(16, sum, 16, v + j0 * v_row + j * v_row, 1, score + j * 16, in_region, i1 - i0);
                    }
                } else
                    dot4_v4(j1 - j0, v + j0 * v_row, v_row, score, sum, sum_compensation);
            }
            /* sum = select((row_sum + row_sum_from_state) == 0.0f, 0.0f,
               (sum + sum_from_state) / (row_sum + row_sum_from_state)) */
            for (int64_t i = 0; i < i1 - i0; i += 16) {
                const vec_v4 t_7 = load_v4(row_sum + i) + load_v4(row_sum_from_state + i);
                const mask_v4 t_8 = t_7 == 0.0f;
                for (int64_t e = 0; e < 16; e++) {
                    store_v4(sum + e * 16 + i, pick_v4(t_8, splat_v4(0.0f),
                        (load_v4(sum + e * 16 + i) + load_v4(sum_from_state + e * 16 + i)) / t_7));
                }
            }
            /* out = sum, transposed back */
            transpose_out_v4(sum, 16, 16, i1 - i0, out + m * out_head + i0 * out_row, out_row, 64);
        }
    }
}

/* For a thread that works on the head alone: adds a chunk to the carried state. */
TARGET_v4 APART void linear_elu_decode_keys_alone_v4(const struct call *call, int64_t task, const struct part *part,
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
    float *const state_sum = (float *)(void *)(part->slots + 0); /* [chunk, f: 16] */
    float *const carried = (float *)(void *)(part->shared + 64); /* [f: 16, e: 16] */
    float *const carried_compensation = (float *)(void *)(part->shared + 1152); /* [f: 16, e: 16] */
    float *const k_tile = (float *)(void *)(part->work + 0); /* [d: 16, j: 16] */
    /* state_sum = 0.0f */
    for (int64_t f = 0; f < 16; f += 16) {
        store_v4(state_sum + (chunk - chunk0) * 272 + f, splat_v4(0.0f));
    }
    for (int64_t j0 = chunk * 16, j_end = min(n_k, (chunk + 1) * 16); j0 < j_end; j0 += 16) {
        const int64_t j1 = min(j0 + 16, j_end);
        /* k_tile = k, with zeros beyond the last row */
        transpose_padded_v4(k + j0 * k_row, k_row, j1 - j0, 16, k_tile, 16, 64);
        /* k_tile = select(0.0f < k_tile, k_tile + 1.0f, exp(min(k_tile, 0.0f))) */
        for (int64_t d = 0; d < 16; d++) {
            for (int64_t j = 0; j < j1 - j0; j += 16) {
                const vec_v4 k_tile_9 = load_v4(k_tile + d * 16 + j);
                store_v4(k_tile + d * 16 + j, pick_v4(0.0f < k_tile_9, k_tile_9 + 1.0f, exp_v4(min_v4(k_tile_9,
                    splat_v4(0.0f)))));
            }
        }
        /* state_sum += k_tile */
        for (int64_t f = 0; f < 16; f++) {
            vec_v4 lane_sums = splat_v4(0);
            for (int64_t j = 0; j < j1 - j0; j += 16) {
                const vec_v4 term = load_v4(k_tile + f * 16 + j);
                lane_sums += j + 16 <= j1 - j0 ? term : pick_v4(__builtin_convertvector(j + lane_v4 < j1 - j0, mask_v4),
                    term, splat_v4(0));
            }
            const float total = lane_sum_v4(lane_sums);
            state_sum[(chunk - chunk0) * 272 + f] += total;
        }
        /* carried[f][e] += sum over j of k_tile * v */
        dot5_v4(j1 - j0, k_tile, v + j0 * v_row, v_row, carried, carried_compensation);
    }
}

/* Adds to the carried state the sums that no product computes. */
TARGET_v4 APART void linear_elu_decode_fold_alone_v4(const struct call *call, int64_t task, const struct part *part,
    int64_t iteration)
{
    (void)call;
    (void)task;
    const int64_t f0 = iteration * 32, f1 = min(f0 + 32, 16);
    const int64_t chunk0 = part->chunk0;
    const int64_t chunk1 = part->chunk1;
    float *const state_sum = (float *)(void *)(part->slots + 0); /* [chunk, f: 16] */
    float *const carried_sum = (float *)(void *)(part->shared + 0); /* [f: 16] */
    float *const carried_sum_compensation = (float *)(void *)(part->shared + 1088); /* [f: 16] */
    for (int64_t chunk = chunk0; chunk < chunk1; chunk++) {
        /* carried_sum += state_sum */
        for (int64_t f = f0; f < f1; f += 16) {
            add_v4(carried_sum + f, carried_sum_compensation + f, load_v4(state_sum + (chunk - chunk0) * 272 + f),
                splat_v4(1));
        }
    }
}

/* Computes head number `task`. Each thread on the head calls this with its share, `part`. */
TARGET_v4 static void linear_elu_decode_linear_v4(const struct call *call, int64_t task, struct part *part)
{
    const int64_t n_k = call->p.n_k;
    const int64_t chunks = n_k > 0 ? (n_k - 1) / 16 + 1 : 1;
    for (int64_t iteration = part->number; iteration < ((16 + 31) / 32); iteration += part->threads)
        linear_elu_decode_begin_v4(call, task, part, iteration);
    synchronise(part);
    const int64_t first = 0;
    if (part->threads == 1) { /* queries read the carried state before their chunk is added */
        unsigned char *const slots = part->slots;
        for (part->chunk0 = first; part->chunk0 < chunks; part->chunk0++) {
            part->chunk1 = part->chunk0 + 1;
            part->slots = part->shared;
            linear_elu_decode_queries_v4(call, task, part, part->chunk0);
            part->slots = slots;
            linear_elu_decode_keys_alone_v4(call, task, part, part->chunk0);
            for (int64_t iteration = 0; iteration < ((16 + 31) / 32); iteration++)
                linear_elu_decode_fold_alone_v4(call, task, part, iteration);
        }
    } else {
        const int64_t length = segment_length(part, chunks - first);
        for (int64_t segment = part->number; first + segment * length < chunks; segment += part->threads) {
            part->chunk0 = first + segment * length;
            part->chunk1 = min(part->chunk0 + length, chunks);
            for (int64_t iteration = part->chunk0; iteration < part->chunk1; iteration++)
                linear_elu_decode_keys_v4(call, task, part, iteration);
            for (int64_t group = 0; group < 16; group++) {
                await_segment(part, group, segment);
                const int64_t end = (group + 1) * ((16 + 31) / 32) / 16;
                for (int64_t iteration = group * ((16 + 31) / 32) / 16; iteration < end; iteration++)
                    linear_elu_decode_fold_v4(call, task, part, iteration);
                pass_segment(part, group, segment);
            }
            for (int64_t iteration = part->chunk0; iteration < part->chunk1; iteration++)
                linear_elu_decode_queries_v4(call, task, part, iteration);
        }
        part->segments += (max(chunks - first, 0) + length - 1) / length;
    }
    synchronise(part);
}

/* Initialises the states: they contain no keys yet. */
TARGET_v4 APART void linear_elu_decode_extend_begin_v4(const struct call *call, int64_t task, const struct part *part,
    int64_t iteration)
{
    (void)part;
    const int64_t f0 = iteration * 32, f1 = min(f0 + 32, 16);
    float *const carried_sum = (float *)(void *)(call->kept + task * 2176 + 0); /* [f: 16] */
    float *const carried_sum_compensation = (float *)(void *)(call->kept + task * 2176 + 1088); /* [f: 16] */
    float *const carried = (float *)(void *)(call->kept + task * 2176 + 64); /* [f: 16, e: 16] */
    float *const carried_compensation = (float *)(void *)(call->kept + task * 2176 + 1152); /* [f: 16, e: 16] */
    /* carried_sum = 0.0f; carried_sum_compensation = 0.0f */
    for (int64_t f = f0; f < f1; f += 16) {
        store_v4(carried_sum + f, splat_v4(0.0f));
        store_v4(carried_sum_compensation + f, splat_v4(0.0f));
    }
    /* carried = 0.0f; carried_compensation = 0.0f */
    for (int64_t f = f0; f < f1; f++) {
        for (int64_t e = 0; e < 16; e += 16) {
            store_v4(carried + f * 16 + e, splat_v4(0.0f));
            store_v4(carried_compensation + f * 16 + e, splat_v4(0.0f));
        }
    }
}

/* Sums the keys of a chunk, from zero, into its slot. */
TARGET_v4 APART void linear_elu_decode_extend_keys_v4(const struct call *call, int64_t task, const struct part *part,
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
    float *const state_sum = (float *)(void *)(part->slots + 0); /* [chunk, f: 16] */
    float *const state = (float *)(void *)(part->slots + 64); /* [chunk, f: 16, e: 16] */
    float *const k_tile = (float *)(void *)(part->work + 0); /* [d: 16, j: 16] */
    /* state_sum = 0.0f */
    for (int64_t f = 0; f < 16; f += 16) {
        store_v4(state_sum + (chunk - chunk0) * 272 + f, splat_v4(0.0f));
    }
    for (int64_t j0 = chunk * 16, j_end = (min(n_k, (chunk + 1) * 16) / 16) * 16; j0 < j_end; j0 += 16) {
        const int64_t j1 = min(j0 + 16, j_end);
        /* k_tile = k, with zeros beyond the last row */
        transpose_padded_v4(k + j0 * k_row, k_row, j1 - j0, 16, k_tile, 16, 64);
        /* k_tile = select(0.0f < k_tile, k_tile + 1.0f, exp(min(k_tile, 0.0f))) */
        for (int64_t d = 0; d < 16; d++) {
            for (int64_t j = 0; j < j1 - j0; j += 16) {
                const vec_v4 k_tile_0 = load_v4(k_tile + d * 16 + j);
                store_v4(k_tile + d * 16 + j, pick_v4(0.0f < k_tile_0, k_tile_0 + 1.0f, exp_v4(min_v4(k_tile_0,
                    splat_v4(0.0f)))));
            }
        }
        /* state_sum += k_tile */
        for (int64_t f = 0; f < 16; f++) {
            vec_v4 lane_sums = splat_v4(0);
            for (int64_t j = 0; j < j1 - j0; j += 16) {
                const vec_v4 term = load_v4(k_tile + f * 16 + j);
                lane_sums += j + 16 <= j1 - j0 ? term : pick_v4(__builtin_convertvector(j + lane_v4 < j1 - j0, mask_v4),
                    term, splat_v4(0));
            }
            const float total = lane_sum_v4(lane_sums);
            state_sum[(chunk - chunk0) * 272 + f] += total;
        }
        /* state[f][e] = sum over j of k_tile * v */
        dot0_v4(j1 - j0, k_tile, v + j0 * v_row, v_row, state + (chunk - chunk0) * 272);
    }
}

/* Folds the slots of the current chunks, in order, for some elements of the states. */
TARGET_v4 APART void linear_elu_decode_extend_fold_v4(const struct call *call, int64_t task, const struct part *part,
    int64_t iteration)
{
    const int64_t n_k = call->p.n_k;
    const int64_t f0 = iteration * 32, f1 = min(f0 + 32, 16);
    const int64_t chunk0 = part->chunk0;
    const int64_t chunk1 = part->chunk1;
    float *const state_sum = (float *)(void *)(part->slots + 0); /* [chunk, f: 16] */
    float *const state = (float *)(void *)(part->slots + 64); /* [chunk, f: 16, e: 16] */
    float *const carried_sum = (float *)(void *)(call->kept + task * 2176 + 0); /* [f: 16] */
    float *const carried_sum_compensation = (float *)(void *)(call->kept + task * 2176 + 1088); /* [f: 16] */
    float *const before_sum = (float *)(void *)(part->work + 0); /* [f: 16] */
    float *const carried = (float *)(void *)(call->kept + task * 2176 + 64); /* [f: 16, e: 16] */
    float *const carried_compensation = (float *)(void *)(call->kept + task * 2176 + 1152); /* [f: 16, e: 16] */
    float *const before = (float *)(void *)(part->work + 64); /* [f: 16, e: 16] */
    for (int64_t chunk = chunk0; chunk < min(chunk1, n_k / 16); chunk++) {
        /* before_sum = carried_sum; carried_sum += state_sum; state_sum = before_sum */
        for (int64_t f = f0; f < f1; f += 16) {
            const vec_v4 before_sum_new1 = load_v4(carried_sum + f);
            store_v4(before_sum + f, before_sum_new1);
            add_v4(carried_sum + f, carried_sum_compensation + f, load_v4(state_sum + (chunk - chunk0) * 272 + f),
                splat_v4(1));
            store_v4(state_sum + (chunk - chunk0) * 272 + f, before_sum_new1);
        }
        /* before = carried; carried += state; state = before */
        for (int64_t f = f0; f < f1; f++) {
            for (int64_t e = 0; e < 16; e += 16) {
                const vec_v4 before_new2 = load_v4(carried + f * 16 + e);
                store_v4(before + f * 16 + e, before_new2);
                add_v4(carried + f * 16 + e, carried_compensation + f * 16 + e,
                    load_v4(state + (chunk - chunk0) * 272 + f * 16 + e), splat_v4(1));
                store_v4(state + (chunk - chunk0) * 272 + f * 16 + e, before_new2);
            }
        }
    }
    {
        for (int64_t chunk = max(chunk0, n_k / 16); chunk < chunk1; chunk++) {
            /* before_sum = carried_sum; state_sum = before_sum */
            for (int64_t f = f0; f < f1; f += 16) {
                const vec_v4 before_sum_new3 = load_v4(carried_sum + f);
                store_v4(before_sum + f, before_sum_new3);
                store_v4(state_sum + (chunk - chunk0) * 272 + f, before_sum_new3);
            }
            /* before = carried; state = before */
            for (int64_t f = f0; f < f1; f++) {
                for (int64_t e = 0; e < 16; e += 16) {
                    const vec_v4 before_new4 = load_v4(carried + f * 16 + e);
                    store_v4(before + f * 16 + e, before_new4);
                    store_v4(state + (chunk - chunk0) * 272 + f * 16 + e, before_new4);
                }
            }
        }
    }
}

/* Processes the queries of a chunk: reads the state before the chunk, and the keys in the chunk. */
TARGET_v4 APART void linear_elu_decode_extend_queries_v4(const struct call *call, int64_t task, const struct part *part,
    int64_t iteration)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_q = call->p.n_q;
    const int64_t n_k = call->p.n_k;
    const int64_t chunk = iteration;
    const int64_t chunk0 = part->chunk0;
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
    float *const state_sum = (float *)(void *)(part->slots + 0); /* [chunk, f: 16] */
    float *const state = (float *)(void *)(part->slots + 64); /* [chunk, f: 16, e: 16] */
    float *const score = (float *)(void *)(part->work + 0); /* [j: 16, i: 16] */
    float *const row_sum_from_state = (float *)(void *)(part->work + 1024); /* [i: 16] */
    float *const row_sum = (float *)(void *)(part->work + 1088); /* [i: 16] */
    float *const row_sum_compensation = (float *)(void *)(part->work + 1152); /* [i: 16] */
    float *const sum_from_state = (float *)(void *)(part->work + 1216); /* [e: 16, i: 16] */
    float *const sum = (float *)(void *)(part->work + 2240); /* [e: 16, i: 16] */
    float *const sum_compensation = (float *)(void *)(part->work + 3264); /* [e: 16, i: 16] */
    float *const out = call->out + b * call->p.out.batch + g * members * call->p.out.head;
    const int64_t out_row = call->p.out.row;
    const int64_t out_head = call->p.out.head;
    float *const q_tile = (float *)(void *)(part->work + 4288); /* [d: 16, i: 16] */
    float *const k_tile_2 = (float *)(void *)(part->work + 5312); /* [d: 16, j: 16] */
    for (int64_t m = 0; m < members; m++) {
        for (int64_t i0 = (chunk == 0) ? 0 : max(0, (chunk * 16) - query_start), i_end = min(n_q,
            ((chunk + 1) * 16) - query_start); i0 < i_end; i0 += 16) {
            const int64_t i1 = min(i0 + 16, i_end);
            /* q_tile = q, with zeros beyond the last row */
            transpose_padded_v4(q + m * q_head + i0 * q_row, q_row, i1 - i0, 16, q_tile, 16, 64);
            /* q_tile = select(0.0f < q_tile, q_tile + 1.0f, exp(min(q_tile, 0.0f))) */
            for (int64_t d = 0; d < 16; d++) {
                for (int64_t i = 0; i < i1 - i0; i += 16) {
                    const vec_v4 q_tile_5 = load_v4(q_tile + d * 16 + i);
                    store_v4(q_tile + d * 16 + i, pick_v4(0.0f < q_tile_5, q_tile_5 + 1.0f, exp_v4(min_v4(q_tile_5,
                        splat_v4(0.0f)))));
                }
            }
            /* row_sum_from_state = 0.0f */
            for (int64_t i = 0; i < i1 - i0; i += 16) {
                store_v4(row_sum_from_state + i, splat_v4(0.0f));
            }
            /* row_sum_from_state += q_tile * state_sum */
            for (int64_t i = 0; i < i1 - i0; i += 16) {
                vec_v4 row_sum_from_state_in = (vec_v4){0};
                for (int64_t f = 0; f < 16; f++) {
                    row_sum_from_state_in += load_v4(q_tile + f * 16 + i) * (state_sum[(chunk - chunk0) * 272 + f]);
                }
                store_v4(row_sum_from_state + i, load_v4(row_sum_from_state + i) + row_sum_from_state_in);
            }
            /* row_sum = 0.0f; row_sum_compensation = 0.0f */
            for (int64_t i = 0; i < i1 - i0; i += 16) {
                store_v4(row_sum + i, splat_v4(0.0f));
                store_v4(row_sum_compensation + i, splat_v4(0.0f));
            }
            /* sum_from_state[e][i] = sum over f of state * q_tile */
            if (i1 - i0 == 1)
                dot6_v4(state + (chunk - chunk0) * 272, q_tile, sum_from_state);
            else
            dot1_v4(state + (chunk - chunk0) * 272, q_tile, sum_from_state);
            /* sum = 0.0f; sum_compensation = 0.0f */
            for (int64_t e = 0; e < 16; e++) {
                for (int64_t i = 0; i < i1 - i0; i += 16) {
                    store_v4(sum + e * 16 + i, splat_v4(0.0f));
                    store_v4(sum_compensation + e * 16 + i, splat_v4(0.0f));
                }
            }
            for (int64_t j0 = max(0, chunk * 16), j_end = min(n_k, i1 + query_start); j0 < j_end; j0 += 16) {
                const int64_t j1 = min(j0 + 16, j_end);
                /* k_tile_2 = k, with zeros beyond the last row */
                transpose_padded_v4(k + j0 * k_row, k_row, j1 - j0, 16, k_tile_2, 16, 64);
                /* k_tile_2 = select(0.0f < k_tile_2, k_tile_2 + 1.0f, exp(min(k_tile_2, 0.0f))) */
                for (int64_t d = 0; d < 16; d++) {
                    for (int64_t j = 0; j < j1 - j0; j += 16) {
                        const vec_v4 k_tile_2_6 = load_v4(k_tile_2 + d * 16 + j);
                        store_v4(k_tile_2 + d * 16 + j, pick_v4(0.0f < k_tile_2_6, k_tile_2_6 + 1.0f,
                            exp_v4(min_v4(k_tile_2_6, splat_v4(0.0f)))));
                    }
                }
                /* score[j][i] = sum over d of k_tile_2 * q_tile */
                if (i1 - i0 == 1)
                    dot6_v4(k_tile_2, q_tile, score);
                else
                dot2_v4(j1 - j0, k_tile_2, q_tile, score);
                if ((j0 < (chunk * 16)) || ((i0 + query_start + 1) < j1)) { /* the tile is partly outside the mask */
                    /* score = select((j <= (i + query_start)) && ((chunk * 16) <= j), score, 0.0f) */
                    for (int64_t i = 0; i < i1 - i0; i += 16) {
                        const ints_v4 t_7 = (i0 + i + lane_v4) + query_start;
                        for (int64_t j = 0; j < j1 - j0; j++) {
                            store_v4(score + j * 16 + i, pick_v4(__builtin_convertvector(((j0 + j) <= t_7) &
                                (-(int64_t)((chunk * 16) <= (j0 + j))), mask_v4), load_v4(score + j * 16 + i),
                                splat_v4(0.0f)));
                        }
                    }
                }
                /* row_sum += score */
                for (int64_t i = 0; i < i1 - i0; i += 16) {
                    vec_v4 row_sum_in = (vec_v4){0};
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        row_sum_in += load_v4(score + j * 16 + i);
                    }
                    add_v4(row_sum + i, row_sum_compensation + i, row_sum_in, splat_v4(1));
                }
                /* sum[e][i] += sum over j of v * score */
                if (__builtin_expect(((j0 < (chunk * 16)) || ((i0 + query_start + 1) < j1)) && !finite_v4(v + j0 *
                    v_row, v_row, j1 - j0, 16), 0)) { /* infinity and NaN affect only queries that see them */
                    dot3_v4(j1 - j0, v + j0 * v_row, v_row, score, sum, sum_compensation);
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        mask_v4 in_region[1] = {0};
                        if (finite_v4(v + j0 * v_row + j * v_row, 1, 16, 1)) continue;
                        const int t_8 = (chunk * 16) <= (j0 + j);
                        for (int64_t i = 0; i < i1 - i0; i += 16) {
                            in_region[i / 16] = __builtin_convertvector(((j0 + j) <= ((i0 + i + lane_v4) + query_start))
                                & (-(int64_t)t_8), mask_v4);
                        }
                        add_seen_v4(16, sum, 16, v + j0 * v_row + j * v_row, 1, score + j * 16, in_region, i1 - i0);
                    }
                } else
                    dot4_v4(j1 - j0, v + j0 * v_row, v_row, score, sum, sum_compensation);
            }
            /* sum = select((row_sum + row_sum_from_state) == 0.0f, 0.0f,
               (sum + sum_from_state) / (row_sum + row_sum_from_state)) */
            for (int64_t i = 0; i < i1 - i0; i += 16) {
                const vec_v4 t_9 = load_v4(row_sum + i) + load_v4(row_sum_from_state + i);
                const mask_v4 t_10 = t_9 == 0.0f;
                for (int64_t e = 0; e < 16; e++) {
                    store_v4(sum + e * 16 + i, pick_v4(t_10, splat_v4(0.0f),
                        (load_v4(sum + e * 16 + i) + load_v4(sum_from_state + e * 16 + i)) / t_9));
                }
            }
            /* out = sum, transposed back */
            transpose_out_v4(sum, 16, 16, i1 - i0, out + m * out_head + i0 * out_row, out_row, 64);
        }
    }
}

/* Computes head number `task`. Each thread on the head calls this with its share, `part`. */
TARGET_v4 static void linear_elu_decode_extend_v4(const struct call *call, int64_t task, struct part *part)
{
    const int64_t n_k = call->p.n_k;
    const int64_t chunks = n_k > 0 ? (n_k - 1) / 16 + 1 : 1;
    if (call->length == call->start) { /* the state has no keys yet */
        for (int64_t iteration = part->number; iteration < ((16 + 31) / 32); iteration += part->threads)
            linear_elu_decode_extend_begin_v4(call, task, part, iteration);
        synchronise(part);
    }
    if (call->p.n_k - call->summed < 16) { /* no chunk is complete, so the sums do not change */
        unsigned char *const slots = part->slots;
        part->slots = call->kept + task * 2176;
        part->chunk0 = call->summed / 16;
        if (part->number == 0) linear_elu_decode_extend_queries_v4(call, task, part, part->chunk0);
        synchronise(part);
        part->slots = slots;
        return;
    }
    const int64_t first = call->summed / 16;
    const int64_t length = segment_length(part, chunks - first);
    for (int64_t segment = part->number; first + segment * length < chunks; segment += part->threads) {
        part->chunk0 = first + segment * length;
        part->chunk1 = min(part->chunk0 + length, chunks);
        for (int64_t iteration = part->chunk0; iteration < part->chunk1; iteration++) {
            unsigned char *const stored = stored_sums(call, task, iteration, 16, 1088);
            unsigned char *const slot = part->slots + (iteration - part->chunk0) * 1088;
            if (stored && call->q)
                memcpy(slot, stored, 1088);
            else
                linear_elu_decode_extend_keys_v4(call, task, part, iteration);
            if (stored && !call->q) write_through(stored, slot, 1088);
        }
        for (int64_t group = 0; group < 16; group++) {
            await_segment(part, group, segment);
            const int64_t end = (group + 1) * ((16 + 31) / 32) / 16;
            for (int64_t iteration = group * ((16 + 31) / 32) / 16; iteration < end; iteration++)
                linear_elu_decode_extend_fold_v4(call, task, part, iteration);
            pass_segment(part, group, segment);
        }
        for (int64_t iteration = part->chunk0; iteration < part->chunk1; iteration++)
            linear_elu_decode_extend_queries_v4(call, task, part, iteration);
    }
    part->segments += (max(chunks - first, 0) + length - 1) / length;
    synchronise(part);
}

/* Computes task number `task`: adds the sums of one head to those of another state. `work` is this thread's workspace.
   */
TARGET_v4 static void linear_elu_decode_join_v4(const struct call *call, int64_t task, unsigned char *work)
{
    (void)work;
    float *const state_sum = (float *)(void *)(call->folded + task * 2176 + 0); /* [f: 16] */
    float *const state = (float *)(void *)(call->folded + task * 2176 + 64); /* [f: 16, e: 16] */
    float *const carried_sum = (float *)(void *)(call->kept + task * 2176 + 0); /* [f: 16] */
    float *const carried_sum_compensation = (float *)(void *)(call->kept + task * 2176 + 1088); /* [f: 16] */
    float *const carried = (float *)(void *)(call->kept + task * 2176 + 64); /* [f: 16, e: 16] */
    float *const carried_compensation = (float *)(void *)(call->kept + task * 2176 + 1152); /* [f: 16, e: 16] */
    /* carried_sum += state_sum */
    for (int64_t f = 0; f < 16; f += 16) {
        add_v4(carried_sum + f, carried_sum_compensation + f, load_v4(state_sum + f), splat_v4(1));
    }
    /* carried += state */
    for (int64_t f = 0; f < 16; f++) {
        for (int64_t e = 0; e < 16; e += 16) {
            add_v4(carried + f * 16 + e, carried_compensation + f * 16 + e, load_v4(state + f * 16 + e), splat_v4(1));
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
TARGET_v3 INLINE vec_v3 min_v3(vec_v3 a, vec_v3 b) { return pick_v3((mask_v3)(b < a), b, a); }

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

/* Returns e^x = 2^n * 2^(r * log2(e)), with r = x - n * ln(2). ln(2) is the sum of two constants, so r is accurate.
   NaN stays NaN. */
TARGET_v3 INLINE vec_v3 exp_v3(vec_v3 x)
{
    x = pick_v3((mask_v3)(x < -89.0f), splat_v3(-89.0f), x);
    x = pick_v3((mask_v3)(x > 89.0f), splat_v3(89.0f), x);
    const vec_v3 t = x * 1.44269504f + 12582912.0f, n = t - 12582912.0f;
    const vec_v3 r = (x - n * 0.693145751953125f) - n * 1.4286068203094172e-06f;
    return exp2_v3(r * 1.44269504f) * exp2_v3(n);
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

/* Like dot_v3, but uses 0 for infinity and NaN in a. It copies one row of a at a time. */
TARGET_v3 INLINE void dot_finite_v3(const int vectors, const int64_t lanes, int64_t rows, const int tail, int64_t steps,
    const int64_t span, const float *a, int64_t a_row, int64_t a_step, const float *b, int64_t b_step, float *c,
        int64_t c_row,
    const int update, const float *factor, float *compensation)
{
    float row[16];
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
TARGET_v3 APART void dot0_v3(int64_t steps, const float *a, const float *b, int64_t b_step, float *c)
{
    dot_v3(/*vectors=*/2, /*lanes=*/16, /*rows=*/16, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/16, /*a_step=*/1, b,
        b_step, c, /*c_row=*/16, /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL);
}
TARGET_v3 APART void dot1_v3(int64_t lanes, const float *a, const float *b, float *c)
{
    dot_v3(/*vectors=*/2, lanes, /*rows=*/16, /*tail=*/4, /*steps=*/16, /*span=*/32, a, /*a_row=*/1, /*a_step=*/16, b,
        /*b_step=*/16, c, /*c_row=*/16, /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL);
}
TARGET_v3 APART void dot2_v3(int64_t lanes, int64_t rows, const float *a, const float *b, float *c)
{
    dot_v3(/*vectors=*/2, lanes, rows, /*tail=*/-1, /*steps=*/16, /*span=*/32, a, /*a_row=*/1, /*a_step=*/16, b,
        /*b_step=*/16, c, /*c_row=*/16, /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL);
}
TARGET_v3 APART void dot3_v3(int64_t lanes, int64_t steps, const float *a, int64_t a_step, const float *b, float *c,
    float *compensation)
{
    dot_finite_v3(/*vectors=*/2, lanes, /*rows=*/16, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/1, a_step, b,
        /*b_step=*/16, c, /*c_row=*/16, /*update=*/3, /*factor=*/NULL, compensation);
}
TARGET_v3 APART void dot4_v3(int64_t lanes, int64_t steps, const float *a, int64_t a_step, const float *b, float *c,
    float *compensation)
{
    dot_v3(/*vectors=*/2, lanes, /*rows=*/16, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/1, a_step, b, /*b_step=*/16,
        c, /*c_row=*/16, /*update=*/3, /*factor=*/NULL, compensation);
}
TARGET_v3 APART void dot5_v3(int64_t steps, const float *a, const float *b, int64_t b_step, float *c,
    float *compensation)
{
    dot_v3(/*vectors=*/2, /*lanes=*/16, /*rows=*/16, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/16, /*a_step=*/1, b,
        b_step, c, /*c_row=*/16, /*update=*/3, /*factor=*/NULL, compensation);
}

/* Initialises the states: they contain no keys yet. */
TARGET_v3 APART void linear_elu_decode_begin_v3(const struct call *call, int64_t task, const struct part *part,
    int64_t iteration)
{
    (void)call;
    (void)task;
    const int64_t f0 = iteration * 32, f1 = min(f0 + 32, 16);
    float *const carried_sum = (float *)(void *)(part->shared + 0); /* [f: 16] */
    float *const carried_sum_compensation = (float *)(void *)(part->shared + 1088); /* [f: 16] */
    float *const carried = (float *)(void *)(part->shared + 64); /* [f: 16, e: 16] */
    float *const carried_compensation = (float *)(void *)(part->shared + 1152); /* [f: 16, e: 16] */
    /* carried_sum = 0.0f; carried_sum_compensation = 0.0f */
    for (int64_t f = f0; f < f1; f += 8) {
        store_v3(carried_sum + f, splat_v3(0.0f));
        store_v3(carried_sum_compensation + f, splat_v3(0.0f));
    }
    /* carried = 0.0f; carried_compensation = 0.0f */
    for (int64_t f = f0; f < f1; f++) {
        for (int64_t e_first = 0; e_first < 16; e_first += 16) {
            UNROLL for (int64_t vector = 0, e = e_first; vector < 2; vector++, e += 8) {
                store_v3(carried + f * 16 + e, splat_v3(0.0f));
                store_v3(carried_compensation + f * 16 + e, splat_v3(0.0f));
            }
        }
    }
}

/* Sums the keys of a chunk, from zero, into its slot. */
TARGET_v3 APART void linear_elu_decode_keys_v3(const struct call *call, int64_t task, const struct part *part,
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
    float *const state_sum = (float *)(void *)(part->slots + 0); /* [chunk, f: 16] */
    float *const state = (float *)(void *)(part->slots + 64); /* [chunk, f: 16, e: 16] */
    float *const k_tile = (float *)(void *)(part->work + 0); /* [d: 16, j: 16] */
    /* state_sum = 0.0f */
    for (int64_t f = 0; f < 16; f += 8) {
        store_v3(state_sum + (chunk - chunk0) * 272 + f, splat_v3(0.0f));
    }
    for (int64_t j0 = chunk * 16, j_end = min(n_k, (chunk + 1) * 16); j0 < j_end; j0 += 16) {
        const int64_t j1 = min(j0 + 16, j_end);
        /* k_tile = k, with zeros beyond the last row */
        transpose_padded_v3(k + j0 * k_row, k_row, j1 - j0, 16, k_tile, 16, 64);
        /* k_tile = select(0.0f < k_tile, k_tile + 1.0f, exp(min(k_tile, 0.0f))) */
        for (int64_t d = 0; d < 16; d++) {
            for (int64_t j = 0; j < j1 - j0; j += 8) {
                const vec_v3 k_tile_0 = load_v3(k_tile + d * 16 + j);
                store_v3(k_tile + d * 16 + j, pick_v3(0.0f < k_tile_0, k_tile_0 + 1.0f, exp_v3(min_v3(k_tile_0,
                    splat_v3(0.0f)))));
            }
        }
        /* state_sum += k_tile */
        for (int64_t f = 0; f < 16; f++) {
            vec_v3 lane_sums = splat_v3(0);
            for (int64_t j = 0; j < j1 - j0; j += 8) {
                const vec_v3 term = load_v3(k_tile + f * 16 + j);
                lane_sums += j + 8 <= j1 - j0 ? term : pick_v3(__builtin_convertvector(j + lane_v3 < j1 - j0, mask_v3),
                    term, splat_v3(0));
            }
            const float total = lane_sum_v3(lane_sums);
            state_sum[(chunk - chunk0) * 272 + f] += total;
        }
        /* state[f][e] = sum over j of k_tile * v */
        dot0_v3(j1 - j0, k_tile, v + j0 * v_row, v_row, state + (chunk - chunk0) * 272);
    }
}

/* Folds the slots of the current chunks, in order, for some elements of the states. */
TARGET_v3 APART void linear_elu_decode_fold_v3(const struct call *call, int64_t task, const struct part *part,
    int64_t iteration)
{
    (void)call;
    (void)task;
    const int64_t f0 = iteration * 32, f1 = min(f0 + 32, 16);
    const int64_t chunk0 = part->chunk0;
    const int64_t chunk1 = part->chunk1;
    float *const state_sum = (float *)(void *)(part->slots + 0); /* [chunk, f: 16] */
    float *const state = (float *)(void *)(part->slots + 64); /* [chunk, f: 16, e: 16] */
    float *const carried_sum = (float *)(void *)(part->shared + 0); /* [f: 16] */
    float *const carried_sum_compensation = (float *)(void *)(part->shared + 1088); /* [f: 16] */
    float *const carried = (float *)(void *)(part->shared + 64); /* [f: 16, e: 16] */
    float *const carried_compensation = (float *)(void *)(part->shared + 1152); /* [f: 16, e: 16] */
    for (int64_t chunk = chunk0; chunk < chunk1; chunk++) {
        /* before_sum = carried_sum; carried_sum += state_sum; state_sum = before_sum */
        for (int64_t f = f0; f < f1; f += 8) {
            const vec_v3 before_sum_new1 = load_v3(carried_sum + f);
            add_v3(carried_sum + f, carried_sum_compensation + f, load_v3(state_sum + (chunk - chunk0) * 272 + f),
                splat_v3(1));
            store_v3(state_sum + (chunk - chunk0) * 272 + f, before_sum_new1);
        }
        /* before = carried; carried += state; state = before */
        for (int64_t f = f0; f < f1; f++) {
            for (int64_t e_first = 0; e_first < 16; e_first += 16) {
                UNROLL for (int64_t vector = 0, e = e_first; vector < 2; vector++, e += 8) {
                    const vec_v3 before_new2 = load_v3(carried + f * 16 + e);
                    add_v3(carried + f * 16 + e, carried_compensation + f * 16 + e,
                        load_v3(state + (chunk - chunk0) * 272 + f * 16 + e), splat_v3(1));
                    store_v3(state + (chunk - chunk0) * 272 + f * 16 + e, before_new2);
                }
            }
        }
    }
}

/* Processes the queries of a chunk: reads the state before the chunk, and the keys in the chunk. */
TARGET_v3 APART void linear_elu_decode_queries_v3(const struct call *call, int64_t task, const struct part *part,
    int64_t iteration)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_q = call->p.n_q;
    const int64_t n_k = call->p.n_k;
    const int64_t chunk = iteration;
    const int64_t chunk0 = part->chunk0;
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
    float *const state_sum = (float *)(void *)(part->slots + 0); /* [chunk, f: 16] */
    float *const state = (float *)(void *)(part->slots + 64); /* [chunk, f: 16, e: 16] */
    float *const score = (float *)(void *)(part->work + 0); /* [j: 16, i: 16] */
    float *const row_sum_from_state = (float *)(void *)(part->work + 1024); /* [i: 16] */
    float *const row_sum = (float *)(void *)(part->work + 1088); /* [i: 16] */
    float *const row_sum_compensation = (float *)(void *)(part->work + 1152); /* [i: 16] */
    float *const sum_from_state = (float *)(void *)(part->work + 1216); /* [e: 16, i: 16] */
    float *const sum = (float *)(void *)(part->work + 2240); /* [e: 16, i: 16] */
    float *const sum_compensation = (float *)(void *)(part->work + 3264); /* [e: 16, i: 16] */
    float *const out = call->out + b * call->p.out.batch + g * members * call->p.out.head;
    const int64_t out_row = call->p.out.row;
    const int64_t out_head = call->p.out.head;
    float *const q_tile = (float *)(void *)(part->work + 4288); /* [d: 16, i: 16] */
    float *const k_tile_2 = (float *)(void *)(part->work + 5312); /* [d: 16, j: 16] */
    for (int64_t m = 0; m < members; m++) {
        for (int64_t i0 = (chunk == 0) ? 0 : max(0, (chunk * 16) - query_start), i_end = min(n_q,
            ((chunk + 1) * 16) - query_start); i0 < i_end; i0 += 16) {
            const int64_t i1 = min(i0 + 16, i_end);
            /* q_tile = q, with zeros beyond the last row */
            transpose_padded_v3(q + m * q_head + i0 * q_row, q_row, i1 - i0, 16, q_tile, 16, 64);
            /* q_tile = select(0.0f < q_tile, q_tile + 1.0f, exp(min(q_tile, 0.0f))) */
            for (int64_t d = 0; d < 16; d++) {
                for (int64_t i = 0; i < i1 - i0; i += 8) {
                    const vec_v3 q_tile_3 = load_v3(q_tile + d * 16 + i);
                    store_v3(q_tile + d * 16 + i, pick_v3(0.0f < q_tile_3, q_tile_3 + 1.0f, exp_v3(min_v3(q_tile_3,
                        splat_v3(0.0f)))));
                }
            }
            /* row_sum_from_state = 0.0f */
            for (int64_t i = 0; i < i1 - i0; i += 8) {
                store_v3(row_sum_from_state + i, splat_v3(0.0f));
            }
            /* row_sum_from_state += q_tile * state_sum */
            for (int64_t i_first = 0; i_first < i1 - i0; i_first += 16) {
                vec_v3 row_sum_from_state_in[2];
                UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += 8) {
                    row_sum_from_state_in[vector] = (vec_v3){0};
                }
                for (int64_t f = 0; f < 16; f++) {
                    UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += 8) {
                        row_sum_from_state_in[vector] += load_v3(q_tile + f * 16 + i) * (state_sum[(chunk - chunk0) *
                            272 + f]);
                    }
                }
                UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += 8) {
                    store_v3(row_sum_from_state + i, load_v3(row_sum_from_state + i) + row_sum_from_state_in[vector]);
                }
            }
            /* row_sum = 0.0f; row_sum_compensation = 0.0f */
            for (int64_t i = 0; i < i1 - i0; i += 8) {
                store_v3(row_sum + i, splat_v3(0.0f));
                store_v3(row_sum_compensation + i, splat_v3(0.0f));
            }
            /* sum_from_state[e][i] = sum over f of state * q_tile */
            dot1_v3(round_up(i1 - i0, 8), state + (chunk - chunk0) * 272, q_tile, sum_from_state);
            /* sum = 0.0f; sum_compensation = 0.0f */
            for (int64_t e = 0; e < 16; e++) {
                for (int64_t i = 0; i < i1 - i0; i += 8) {
                    store_v3(sum + e * 16 + i, splat_v3(0.0f));
                    store_v3(sum_compensation + e * 16 + i, splat_v3(0.0f));
                }
            }
            for (int64_t j0 = max(0, chunk * 16), j_end = min(n_k, i1 + query_start); j0 < j_end; j0 += 16) {
                const int64_t j1 = min(j0 + 16, j_end);
                /* k_tile_2 = k, with zeros beyond the last row */
                transpose_padded_v3(k + j0 * k_row, k_row, j1 - j0, 16, k_tile_2, 16, 64);
                /* k_tile_2 = select(0.0f < k_tile_2, k_tile_2 + 1.0f, exp(min(k_tile_2, 0.0f))) */
                for (int64_t d = 0; d < 16; d++) {
                    for (int64_t j = 0; j < j1 - j0; j += 8) {
                        const vec_v3 k_tile_2_4 = load_v3(k_tile_2 + d * 16 + j);
                        store_v3(k_tile_2 + d * 16 + j, pick_v3(0.0f < k_tile_2_4, k_tile_2_4 + 1.0f,
                            exp_v3(min_v3(k_tile_2_4, splat_v3(0.0f)))));
                    }
                }
                /* score[j][i] = sum over d of k_tile_2 * q_tile */
                dot2_v3(round_up(i1 - i0, 8), j1 - j0, k_tile_2, q_tile, score);
                if ((j0 < (chunk * 16)) || ((i0 + query_start + 1) < j1)) { /* the tile is partly outside the mask */
                    /* score = select((j <= (i + query_start)) && ((chunk * 16) <= j), score, 0.0f) */
                    for (int64_t i = 0; i < i1 - i0; i += 8) {
                        const ints_v3 t_5 = (i0 + i + lane_v3) + query_start;
                        for (int64_t j = 0; j < j1 - j0; j++) {
                            store_v3(score + j * 16 + i, pick_v3(__builtin_convertvector(((j0 + j) <= t_5) &
                                (-(int64_t)((chunk * 16) <= (j0 + j))), mask_v3), load_v3(score + j * 16 + i),
                                splat_v3(0.0f)));
                        }
                    }
                }
                /* row_sum += score */
                for (int64_t i_first = 0; i_first < i1 - i0; i_first += 16) {
                    vec_v3 row_sum_in[2];
                    UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += 8) {
                        row_sum_in[vector] = (vec_v3){0};
                    }
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += 8) {
                            row_sum_in[vector] += load_v3(score + j * 16 + i);
                        }
                    }
                    UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += 8) {
                        add_v3(row_sum + i, row_sum_compensation + i, row_sum_in[vector], splat_v3(1));
                    }
                }
                /* sum[e][i] += sum over j of v * score */
                if (__builtin_expect(((j0 < (chunk * 16)) || ((i0 + query_start + 1) < j1)) && !finite_v3(v + j0 *
                    v_row, v_row, j1 - j0, 16), 0)) { /* infinity and NaN affect only queries that see them */
                    dot3_v3(round_up(i1 - i0, 8), j1 - j0, v + j0 * v_row, v_row, score, sum, sum_compensation);
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        mask_v3 in_region[2] = {0};
                        if (finite_v3(v + j0 * v_row + j * v_row, 1, 16, 1)) continue;
                        const int t_6 = (chunk * 16) <= (j0 + j);
                        for (int64_t i = 0; i < i1 - i0; i += 8) {
                            in_region[i / 8] = __builtin_convertvector(((j0 + j) <= ((i0 + i + lane_v3) + query_start))
                                & (-(int64_t)t_6), mask_v3);
                        }
                        add_seen_v3(16, sum, 16, v + j0 * v_row + j * v_row, 1, score + j * 16, in_region, i1 - i0);
                    }
                } else
                    dot4_v3(round_up(i1 - i0, 8), j1 - j0, v + j0 * v_row, v_row, score, sum, sum_compensation);
            }
            /* sum = select((row_sum + row_sum_from_state) == 0.0f, 0.0f,
               (sum + sum_from_state) / (row_sum + row_sum_from_state)) */
            for (int64_t i = 0; i < i1 - i0; i += 8) {
                const vec_v3 t_7 = load_v3(row_sum + i) + load_v3(row_sum_from_state + i);
                const mask_v3 t_8 = t_7 == 0.0f;
                for (int64_t e = 0; e < 16; e++) {
                    store_v3(sum + e * 16 + i, pick_v3(t_8, splat_v3(0.0f),
                        (load_v3(sum + e * 16 + i) + load_v3(sum_from_state + e * 16 + i)) / t_7));
                }
            }
            /* out = sum, transposed back */
            transpose_out_v3(sum, 16, 16, i1 - i0, out + m * out_head + i0 * out_row, out_row, 64);
        }
    }
}

/* For a thread that works on the head alone: adds a chunk to the carried state. */
TARGET_v3 APART void linear_elu_decode_keys_alone_v3(const struct call *call, int64_t task, const struct part *part,
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
    float *const state_sum = (float *)(void *)(part->slots + 0); /* [chunk, f: 16] */
    float *const carried = (float *)(void *)(part->shared + 64); /* [f: 16, e: 16] */
    float *const carried_compensation = (float *)(void *)(part->shared + 1152); /* [f: 16, e: 16] */
    float *const k_tile = (float *)(void *)(part->work + 0); /* [d: 16, j: 16] */
    /* state_sum = 0.0f */
    for (int64_t f = 0; f < 16; f += 8) {
        store_v3(state_sum + (chunk - chunk0) * 272 + f, splat_v3(0.0f));
    }
    for (int64_t j0 = chunk * 16, j_end = min(n_k, (chunk + 1) * 16); j0 < j_end; j0 += 16) {
        const int64_t j1 = min(j0 + 16, j_end);
        /* k_tile = k, with zeros beyond the last row */
        transpose_padded_v3(k + j0 * k_row, k_row, j1 - j0, 16, k_tile, 16, 64);
        /* k_tile = select(0.0f < k_tile, k_tile + 1.0f, exp(min(k_tile, 0.0f))) */
        for (int64_t d = 0; d < 16; d++) {
            for (int64_t j = 0; j < j1 - j0; j += 8) {
                const vec_v3 k_tile_9 = load_v3(k_tile + d * 16 + j);
                store_v3(k_tile + d * 16 + j, pick_v3(0.0f < k_tile_9, k_tile_9 + 1.0f, exp_v3(min_v3(k_tile_9,
                    splat_v3(0.0f)))));
            }
        }
        /* state_sum += k_tile */
        for (int64_t f = 0; f < 16; f++) {
            vec_v3 lane_sums = splat_v3(0);
            for (int64_t j = 0; j < j1 - j0; j += 8) {
                const vec_v3 term = load_v3(k_tile + f * 16 + j);
                lane_sums += j + 8 <= j1 - j0 ? term : pick_v3(__builtin_convertvector(j + lane_v3 < j1 - j0, mask_v3),
                    term, splat_v3(0));
            }
            const float total = lane_sum_v3(lane_sums);
            state_sum[(chunk - chunk0) * 272 + f] += total;
        }
        /* carried[f][e] += sum over j of k_tile * v */
        dot5_v3(j1 - j0, k_tile, v + j0 * v_row, v_row, carried, carried_compensation);
    }
}

/* Adds to the carried state the sums that no product computes. */
TARGET_v3 APART void linear_elu_decode_fold_alone_v3(const struct call *call, int64_t task, const struct part *part,
    int64_t iteration)
{
    (void)call;
    (void)task;
    const int64_t f0 = iteration * 32, f1 = min(f0 + 32, 16);
    const int64_t chunk0 = part->chunk0;
    const int64_t chunk1 = part->chunk1;
    float *const state_sum = (float *)(void *)(part->slots + 0); /* [chunk, f: 16] */
    float *const carried_sum = (float *)(void *)(part->shared + 0); /* [f: 16] */
    float *const carried_sum_compensation = (float *)(void *)(part->shared + 1088); /* [f: 16] */
    for (int64_t chunk = chunk0; chunk < chunk1; chunk++) {
        /* carried_sum += state_sum */
        for (int64_t f = f0; f < f1; f += 8) {
            add_v3(carried_sum + f, carried_sum_compensation + f, load_v3(state_sum + (chunk - chunk0) * 272 + f),
                splat_v3(1));
        }
    }
}

/* Computes head number `task`. Each thread on the head calls this with its share, `part`. */
TARGET_v3 static void linear_elu_decode_linear_v3(const struct call *call, int64_t task, struct part *part)
{
    const int64_t n_k = call->p.n_k;
    const int64_t chunks = n_k > 0 ? (n_k - 1) / 16 + 1 : 1;
    for (int64_t iteration = part->number; iteration < ((16 + 31) / 32); iteration += part->threads)
        linear_elu_decode_begin_v3(call, task, part, iteration);
    synchronise(part);
    const int64_t first = 0;
    if (part->threads == 1) { /* queries read the carried state before their chunk is added */
        unsigned char *const slots = part->slots;
        for (part->chunk0 = first; part->chunk0 < chunks; part->chunk0++) {
            part->chunk1 = part->chunk0 + 1;
            part->slots = part->shared;
            linear_elu_decode_queries_v3(call, task, part, part->chunk0);
            part->slots = slots;
            linear_elu_decode_keys_alone_v3(call, task, part, part->chunk0);
            for (int64_t iteration = 0; iteration < ((16 + 31) / 32); iteration++)
                linear_elu_decode_fold_alone_v3(call, task, part, iteration);
        }
    } else {
        const int64_t length = segment_length(part, chunks - first);
        for (int64_t segment = part->number; first + segment * length < chunks; segment += part->threads) {
            part->chunk0 = first + segment * length;
            part->chunk1 = min(part->chunk0 + length, chunks);
            for (int64_t iteration = part->chunk0; iteration < part->chunk1; iteration++)
                linear_elu_decode_keys_v3(call, task, part, iteration);
            for (int64_t group = 0; group < 16; group++) {
                await_segment(part, group, segment);
                const int64_t end = (group + 1) * ((16 + 31) / 32) / 16;
                for (int64_t iteration = group * ((16 + 31) / 32) / 16; iteration < end; iteration++)
                    linear_elu_decode_fold_v3(call, task, part, iteration);
                pass_segment(part, group, segment);
            }
            for (int64_t iteration = part->chunk0; iteration < part->chunk1; iteration++)
                linear_elu_decode_queries_v3(call, task, part, iteration);
        }
        part->segments += (max(chunks - first, 0) + length - 1) / length;
    }
    synchronise(part);
}

/* Initialises the states: they contain no keys yet. */
TARGET_v3 APART void linear_elu_decode_extend_begin_v3(const struct call *call, int64_t task, const struct part *part,
    int64_t iteration)
{
    (void)part;
    const int64_t f0 = iteration * 32, f1 = min(f0 + 32, 16);
    float *const carried_sum = (float *)(void *)(call->kept + task * 2176 + 0); /* [f: 16] */
    float *const carried_sum_compensation = (float *)(void *)(call->kept + task * 2176 + 1088); /* [f: 16] */
    float *const carried = (float *)(void *)(call->kept + task * 2176 + 64); /* [f: 16, e: 16] */
    float *const carried_compensation = (float *)(void *)(call->kept + task * 2176 + 1152); /* [f: 16, e: 16] */
    /* carried_sum = 0.0f; carried_sum_compensation = 0.0f */
    for (int64_t f = f0; f < f1; f += 8) {
        store_v3(carried_sum + f, splat_v3(0.0f));
        store_v3(carried_sum_compensation + f, splat_v3(0.0f));
    }
    /* carried = 0.0f; carried_compensation = 0.0f */
    for (int64_t f = f0; f < f1; f++) {
        for (int64_t e_first = 0; e_first < 16; e_first += 16) {
            UNROLL for (int64_t vector = 0, e = e_first; vector < 2; vector++, e += 8) {
                store_v3(carried + f * 16 + e, splat_v3(0.0f));
                store_v3(carried_compensation + f * 16 + e, splat_v3(0.0f));
            }
        }
    }
}

/* Sums the keys of a chunk, from zero, into its slot. */
TARGET_v3 APART void linear_elu_decode_extend_keys_v3(const struct call *call, int64_t task, const struct part *part,
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
    float *const state_sum = (float *)(void *)(part->slots + 0); /* [chunk, f: 16] */
    float *const state = (float *)(void *)(part->slots + 64); /* [chunk, f: 16, e: 16] */
    float *const k_tile = (float *)(void *)(part->work + 0); /* [d: 16, j: 16] */
    /* state_sum = 0.0f */
    for (int64_t f = 0; f < 16; f += 8) {
        store_v3(state_sum + (chunk - chunk0) * 272 + f, splat_v3(0.0f));
    }
    for (int64_t j0 = chunk * 16, j_end = (min(n_k, (chunk + 1) * 16) / 16) * 16; j0 < j_end; j0 += 16) {
        const int64_t j1 = min(j0 + 16, j_end);
        /* k_tile = k, with zeros beyond the last row */
        transpose_padded_v3(k + j0 * k_row, k_row, j1 - j0, 16, k_tile, 16, 64);
        /* k_tile = select(0.0f < k_tile, k_tile + 1.0f, exp(min(k_tile, 0.0f))) */
        for (int64_t d = 0; d < 16; d++) {
            for (int64_t j = 0; j < j1 - j0; j += 8) {
                const vec_v3 k_tile_0 = load_v3(k_tile + d * 16 + j);
                store_v3(k_tile + d * 16 + j, pick_v3(0.0f < k_tile_0, k_tile_0 + 1.0f, exp_v3(min_v3(k_tile_0,
                    splat_v3(0.0f)))));
            }
        }
        /* state_sum += k_tile */
        for (int64_t f = 0; f < 16; f++) {
            vec_v3 lane_sums = splat_v3(0);
            for (int64_t j = 0; j < j1 - j0; j += 8) {
                const vec_v3 term = load_v3(k_tile + f * 16 + j);
                lane_sums += j + 8 <= j1 - j0 ? term : pick_v3(__builtin_convertvector(j + lane_v3 < j1 - j0, mask_v3),
                    term, splat_v3(0));
            }
            const float total = lane_sum_v3(lane_sums);
            state_sum[(chunk - chunk0) * 272 + f] += total;
        }
        /* state[f][e] = sum over j of k_tile * v */
        dot0_v3(j1 - j0, k_tile, v + j0 * v_row, v_row, state + (chunk - chunk0) * 272);
    }
}

/* Folds the slots of the current chunks, in order, for some elements of the states. */
TARGET_v3 APART void linear_elu_decode_extend_fold_v3(const struct call *call, int64_t task, const struct part *part,
    int64_t iteration)
{
    const int64_t n_k = call->p.n_k;
    const int64_t f0 = iteration * 32, f1 = min(f0 + 32, 16);
    const int64_t chunk0 = part->chunk0;
    const int64_t chunk1 = part->chunk1;
    float *const state_sum = (float *)(void *)(part->slots + 0); /* [chunk, f: 16] */
    float *const state = (float *)(void *)(part->slots + 64); /* [chunk, f: 16, e: 16] */
    float *const carried_sum = (float *)(void *)(call->kept + task * 2176 + 0); /* [f: 16] */
    float *const carried_sum_compensation = (float *)(void *)(call->kept + task * 2176 + 1088); /* [f: 16] */
    float *const before_sum = (float *)(void *)(part->work + 0); /* [f: 16] */
    float *const carried = (float *)(void *)(call->kept + task * 2176 + 64); /* [f: 16, e: 16] */
    float *const carried_compensation = (float *)(void *)(call->kept + task * 2176 + 1152); /* [f: 16, e: 16] */
    float *const before = (float *)(void *)(part->work + 64); /* [f: 16, e: 16] */
    for (int64_t chunk = chunk0; chunk < min(chunk1, n_k / 16); chunk++) {
        /* before_sum = carried_sum; carried_sum += state_sum; state_sum = before_sum */
        for (int64_t f = f0; f < f1; f += 8) {
            const vec_v3 before_sum_new1 = load_v3(carried_sum + f);
            store_v3(before_sum + f, before_sum_new1);
            add_v3(carried_sum + f, carried_sum_compensation + f, load_v3(state_sum + (chunk - chunk0) * 272 + f),
                splat_v3(1));
            store_v3(state_sum + (chunk - chunk0) * 272 + f, before_sum_new1);
        }
        /* before = carried; carried += state; state = before */
        for (int64_t f = f0; f < f1; f++) {
            for (int64_t e_first = 0; e_first < 16; e_first += 16) {
                UNROLL for (int64_t vector = 0, e = e_first; vector < 2; vector++, e += 8) {
                    const vec_v3 before_new2 = load_v3(carried + f * 16 + e);
                    store_v3(before + f * 16 + e, before_new2);
                    add_v3(carried + f * 16 + e, carried_compensation + f * 16 + e,
                        load_v3(state + (chunk - chunk0) * 272 + f * 16 + e), splat_v3(1));
                    store_v3(state + (chunk - chunk0) * 272 + f * 16 + e, before_new2);
                }
            }
        }
    }
    {
        for (int64_t chunk = max(chunk0, n_k / 16); chunk < chunk1; chunk++) {
            /* before_sum = carried_sum; state_sum = before_sum */
            for (int64_t f = f0; f < f1; f += 8) {
                const vec_v3 before_sum_new3 = load_v3(carried_sum + f);
                store_v3(before_sum + f, before_sum_new3);
                store_v3(state_sum + (chunk - chunk0) * 272 + f, before_sum_new3);
            }
            /* before = carried; state = before */
            for (int64_t f = f0; f < f1; f++) {
                for (int64_t e_first = 0; e_first < 16; e_first += 16) {
                    UNROLL for (int64_t vector = 0, e = e_first; vector < 2; vector++, e += 8) {
                        const vec_v3 before_new4 = load_v3(carried + f * 16 + e);
                        store_v3(before + f * 16 + e, before_new4);
                        store_v3(state + (chunk - chunk0) * 272 + f * 16 + e, before_new4);
                    }
                }
            }
        }
    }
}

/* Processes the queries of a chunk: reads the state before the chunk, and the keys in the chunk. */
TARGET_v3 APART void linear_elu_decode_extend_queries_v3(const struct call *call, int64_t task, const struct part *part,
    int64_t iteration)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_q = call->p.n_q;
    const int64_t n_k = call->p.n_k;
    const int64_t chunk = iteration;
    const int64_t chunk0 = part->chunk0;
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
    float *const state_sum = (float *)(void *)(part->slots + 0); /* [chunk, f: 16] */
    float *const state = (float *)(void *)(part->slots + 64); /* [chunk, f: 16, e: 16] */
    float *const score = (float *)(void *)(part->work + 0); /* [j: 16, i: 16] */
    float *const row_sum_from_state = (float *)(void *)(part->work + 1024); /* [i: 16] */
    float *const row_sum = (float *)(void *)(part->work + 1088); /* [i: 16] */
    float *const row_sum_compensation = (float *)(void *)(part->work + 1152); /* [i: 16] */
    float *const sum_from_state = (float *)(void *)(part->work + 1216); /* [e: 16, i: 16] */
    float *const sum = (float *)(void *)(part->work + 2240); /* [e: 16, i: 16] */
    float *const sum_compensation = (float *)(void *)(part->work + 3264); /* [e: 16, i: 16] */
    float *const out = call->out + b * call->p.out.batch + g * members * call->p.out.head;
    const int64_t out_row = call->p.out.row;
    const int64_t out_head = call->p.out.head;
    float *const q_tile = (float *)(void *)(part->work + 4288); /* [d: 16, i: 16] */
    float *const k_tile_2 = (float *)(void *)(part->work + 5312); /* [d: 16, j: 16] */
    for (int64_t m = 0; m < members; m++) {
        for (int64_t i0 = (chunk == 0) ? 0 : max(0, (chunk * 16) - query_start), i_end = min(n_q,
            ((chunk + 1) * 16) - query_start); i0 < i_end; i0 += 16) {
            const int64_t i1 = min(i0 + 16, i_end);
            /* q_tile = q, with zeros beyond the last row */
            transpose_padded_v3(q + m * q_head + i0 * q_row, q_row, i1 - i0, 16, q_tile, 16, 64);
            /* q_tile = select(0.0f < q_tile, q_tile + 1.0f, exp(min(q_tile, 0.0f))) */
            for (int64_t d = 0; d < 16; d++) {
                for (int64_t i = 0; i < i1 - i0; i += 8) {
                    const vec_v3 q_tile_5 = load_v3(q_tile + d * 16 + i);
                    store_v3(q_tile + d * 16 + i, pick_v3(0.0f < q_tile_5, q_tile_5 + 1.0f, exp_v3(min_v3(q_tile_5,
                        splat_v3(0.0f)))));
                }
            }
            /* row_sum_from_state = 0.0f */
            for (int64_t i = 0; i < i1 - i0; i += 8) {
                store_v3(row_sum_from_state + i, splat_v3(0.0f));
            }
            /* row_sum_from_state += q_tile * state_sum */
            for (int64_t i_first = 0; i_first < i1 - i0; i_first += 16) {
                vec_v3 row_sum_from_state_in[2];
                UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += 8) {
                    row_sum_from_state_in[vector] = (vec_v3){0};
                }
                for (int64_t f = 0; f < 16; f++) {
                    UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += 8) {
                        row_sum_from_state_in[vector] += load_v3(q_tile + f * 16 + i) * (state_sum[(chunk - chunk0) *
                            272 + f]);
                    }
                }
                UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += 8) {
                    store_v3(row_sum_from_state + i, load_v3(row_sum_from_state + i) + row_sum_from_state_in[vector]);
                }
            }
            /* row_sum = 0.0f; row_sum_compensation = 0.0f */
            for (int64_t i = 0; i < i1 - i0; i += 8) {
                store_v3(row_sum + i, splat_v3(0.0f));
                store_v3(row_sum_compensation + i, splat_v3(0.0f));
            }
            /* sum_from_state[e][i] = sum over f of state * q_tile */
            dot1_v3(round_up(i1 - i0, 8), state + (chunk - chunk0) * 272, q_tile, sum_from_state);
            /* sum = 0.0f; sum_compensation = 0.0f */
            for (int64_t e = 0; e < 16; e++) {
                for (int64_t i = 0; i < i1 - i0; i += 8) {
                    store_v3(sum + e * 16 + i, splat_v3(0.0f));
                    store_v3(sum_compensation + e * 16 + i, splat_v3(0.0f));
                }
            }
            for (int64_t j0 = max(0, chunk * 16), j_end = min(n_k, i1 + query_start); j0 < j_end; j0 += 16) {
                const int64_t j1 = min(j0 + 16, j_end);
                /* k_tile_2 = k, with zeros beyond the last row */
                transpose_padded_v3(k + j0 * k_row, k_row, j1 - j0, 16, k_tile_2, 16, 64);
                /* k_tile_2 = select(0.0f < k_tile_2, k_tile_2 + 1.0f, exp(min(k_tile_2, 0.0f))) */
                for (int64_t d = 0; d < 16; d++) {
                    for (int64_t j = 0; j < j1 - j0; j += 8) {
                        const vec_v3 k_tile_2_6 = load_v3(k_tile_2 + d * 16 + j);
                        store_v3(k_tile_2 + d * 16 + j, pick_v3(0.0f < k_tile_2_6, k_tile_2_6 + 1.0f,
                            exp_v3(min_v3(k_tile_2_6, splat_v3(0.0f)))));
                    }
                }
                /* score[j][i] = sum over d of k_tile_2 * q_tile */
                dot2_v3(round_up(i1 - i0, 8), j1 - j0, k_tile_2, q_tile, score);
                if ((j0 < (chunk * 16)) || ((i0 + query_start + 1) < j1)) { /* the tile is partly outside the mask */
                    /* score = select((j <= (i + query_start)) && ((chunk * 16) <= j), score, 0.0f) */
                    for (int64_t i = 0; i < i1 - i0; i += 8) {
                        const ints_v3 t_7 = (i0 + i + lane_v3) + query_start;
                        for (int64_t j = 0; j < j1 - j0; j++) {
                            store_v3(score + j * 16 + i, pick_v3(__builtin_convertvector(((j0 + j) <= t_7) &
                                (-(int64_t)((chunk * 16) <= (j0 + j))), mask_v3), load_v3(score + j * 16 + i),
                                splat_v3(0.0f)));
                        }
                    }
                }
                /* row_sum += score */
                for (int64_t i_first = 0; i_first < i1 - i0; i_first += 16) {
                    vec_v3 row_sum_in[2];
                    UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += 8) {
                        row_sum_in[vector] = (vec_v3){0};
                    }
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += 8) {
                            row_sum_in[vector] += load_v3(score + j * 16 + i);
                        }
                    }
                    UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += 8) {
                        add_v3(row_sum + i, row_sum_compensation + i, row_sum_in[vector], splat_v3(1));
                    }
                }
                /* sum[e][i] += sum over j of v * score */
                if (__builtin_expect(((j0 < (chunk * 16)) || ((i0 + query_start + 1) < j1)) && !finite_v3(v + j0 *
                    v_row, v_row, j1 - j0, 16), 0)) { /* infinity and NaN affect only queries that see them */
                    dot3_v3(round_up(i1 - i0, 8), j1 - j0, v + j0 * v_row, v_row, score, sum, sum_compensation);
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        mask_v3 in_region[2] = {0};
                        if (finite_v3(v + j0 * v_row + j * v_row, 1, 16, 1)) continue;
                        const int t_8 = (chunk * 16) <= (j0 + j);
                        for (int64_t i = 0; i < i1 - i0; i += 8) {
                            in_region[i / 8] = __builtin_convertvector(((j0 + j) <= ((i0 + i + lane_v3) + query_start))
                                & (-(int64_t)t_8), mask_v3);
                        }
                        add_seen_v3(16, sum, 16, v + j0 * v_row + j * v_row, 1, score + j * 16, in_region, i1 - i0);
                    }
                } else
                    dot4_v3(round_up(i1 - i0, 8), j1 - j0, v + j0 * v_row, v_row, score, sum, sum_compensation);
            }
            /* sum = select((row_sum + row_sum_from_state) == 0.0f, 0.0f,
               (sum + sum_from_state) / (row_sum + row_sum_from_state)) */
            for (int64_t i = 0; i < i1 - i0; i += 8) {
                const vec_v3 t_9 = load_v3(row_sum + i) + load_v3(row_sum_from_state + i);
                const mask_v3 t_10 = t_9 == 0.0f;
                for (int64_t e = 0; e < 16; e++) {
                    store_v3(sum + e * 16 + i, pick_v3(t_10, splat_v3(0.0f),
                        (load_v3(sum + e * 16 + i) + load_v3(sum_from_state + e * 16 + i)) / t_9));
                }
            }
            /* out = sum, transposed back */
            transpose_out_v3(sum, 16, 16, i1 - i0, out + m * out_head + i0 * out_row, out_row, 64);
        }
    }
}

/* Computes head number `task`. Each thread on the head calls this with its share, `part`. */
TARGET_v3 static void linear_elu_decode_extend_v3(const struct call *call, int64_t task, struct part *part)
{
    const int64_t n_k = call->p.n_k;
    const int64_t chunks = n_k > 0 ? (n_k - 1) / 16 + 1 : 1;
    if (call->length == call->start) { /* the state has no keys yet */
        for (int64_t iteration = part->number; iteration < ((16 + 31) / 32); iteration += part->threads)
            linear_elu_decode_extend_begin_v3(call, task, part, iteration);
        synchronise(part);
    }
    if (call->p.n_k - call->summed < 16) { /* no chunk is complete, so the sums do not change */
        unsigned char *const slots = part->slots;
        part->slots = call->kept + task * 2176;
        part->chunk0 = call->summed / 16;
        if (part->number == 0) linear_elu_decode_extend_queries_v3(call, task, part, part->chunk0);
        synchronise(part);
        part->slots = slots;
        return;
    }
    const int64_t first = call->summed / 16;
    const int64_t length = segment_length(part, chunks - first);
    for (int64_t segment = part->number; first + segment * length < chunks; segment += part->threads) {
        part->chunk0 = first + segment * length;
        part->chunk1 = min(part->chunk0 + length, chunks);
        for (int64_t iteration = part->chunk0; iteration < part->chunk1; iteration++) {
            unsigned char *const stored = stored_sums(call, task, iteration, 16, 1088);
            unsigned char *const slot = part->slots + (iteration - part->chunk0) * 1088;
            if (stored && call->q)
                memcpy(slot, stored, 1088);
            else
                linear_elu_decode_extend_keys_v3(call, task, part, iteration);
            if (stored && !call->q) write_through(stored, slot, 1088);
        }
        for (int64_t group = 0; group < 16; group++) {
            await_segment(part, group, segment);
            const int64_t end = (group + 1) * ((16 + 31) / 32) / 16;
            for (int64_t iteration = group * ((16 + 31) / 32) / 16; iteration < end; iteration++)
                linear_elu_decode_extend_fold_v3(call, task, part, iteration);
            pass_segment(part, group, segment);
        }
        for (int64_t iteration = part->chunk0; iteration < part->chunk1; iteration++)
            linear_elu_decode_extend_queries_v3(call, task, part, iteration);
    }
    part->segments += (max(chunks - first, 0) + length - 1) / length;
    synchronise(part);
}

/* Computes task number `task`: adds the sums of one head to those of another state. `work` is this thread's workspace.
   */
TARGET_v3 static void linear_elu_decode_join_v3(const struct call *call, int64_t task, unsigned char *work)
{
    (void)work;
    float *const state_sum = (float *)(void *)(call->folded + task * 2176 + 0); /* [f: 16] */
    float *const state = (float *)(void *)(call->folded + task * 2176 + 64); /* [f: 16, e: 16] */
    float *const carried_sum = (float *)(void *)(call->kept + task * 2176 + 0); /* [f: 16] */
    float *const carried_sum_compensation = (float *)(void *)(call->kept + task * 2176 + 1088); /* [f: 16] */
    float *const carried = (float *)(void *)(call->kept + task * 2176 + 64); /* [f: 16, e: 16] */
    float *const carried_compensation = (float *)(void *)(call->kept + task * 2176 + 1152); /* [f: 16, e: 16] */
    /* carried_sum += state_sum */
    for (int64_t f = 0; f < 16; f += 8) {
        add_v3(carried_sum + f, carried_sum_compensation + f, load_v3(state_sum + f), splat_v3(1));
    }
    /* carried += state */
    for (int64_t f = 0; f < 16; f++) {
        for (int64_t e_first = 0; e_first < 16; e_first += 16) {
            UNROLL for (int64_t vector = 0, e = e_first; vector < 2; vector++, e += 8) {
                add_v3(carried + f * 16 + e, carried_compensation + f * 16 + e, load_v3(state + f * 16 + e),
                    splat_v3(1));
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
INLINE vec_any min_any(vec_any a, vec_any b) { return pick_any((mask_any)(b < a), b, a); }

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

/* Returns e^x = 2^n * 2^(r * log2(e)), with r = x - n * ln(2). ln(2) is the sum of two constants, so r is accurate.
   NaN stays NaN. */
INLINE vec_any exp_any(vec_any x)
{
    x = pick_any((mask_any)(x < -89.0f), splat_any(-89.0f), x);
    x = pick_any((mask_any)(x > 89.0f), splat_any(89.0f), x);
    const vec_any t = x * 1.44269504f + 12582912.0f, n = t - 12582912.0f;
    const vec_any r = (x - n * 0.693145751953125f) - n * 1.4286068203094172e-06f;
    return exp2_any(r * 1.44269504f) * exp2_any(n);
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

/* Like dot_any, but uses 0 for infinity and NaN in a. It copies one row of a at a time. */
INLINE void dot_finite_any(const int vectors, const int64_t lanes, int64_t rows, const int tail, int64_t steps,
    const int64_t span, const float *a, int64_t a_row, int64_t a_step, const float *b, int64_t b_step, float *c,
        int64_t c_row,
    const int update, const float *factor, float *compensation)
{
    float row[16];
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
APART void dot0_any(int64_t steps, const float *a, const float *b, int64_t b_step, float *c)
{
    dot_any(/*vectors=*/2, /*lanes=*/16, /*rows=*/16, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/16, /*a_step=*/1, b,
        b_step, c, /*c_row=*/16, /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL);
}
APART void dot1_any(int64_t lanes, const float *a, const float *b, float *c)
{
    dot_any(/*vectors=*/2, lanes, /*rows=*/16, /*tail=*/4, /*steps=*/16, /*span=*/32, a, /*a_row=*/1, /*a_step=*/16, b,
        /*b_step=*/16, c, /*c_row=*/16, /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL);
}
APART void dot2_any(int64_t lanes, int64_t rows, const float *a, const float *b, float *c)
{
    dot_any(/*vectors=*/2, lanes, rows, /*tail=*/-1, /*steps=*/16, /*span=*/32, a, /*a_row=*/1, /*a_step=*/16, b,
        /*b_step=*/16, c, /*c_row=*/16, /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL);
}
APART void dot3_any(int64_t lanes, int64_t steps, const float *a, int64_t a_step, const float *b, float *c,
    float *compensation)
{
    dot_finite_any(/*vectors=*/2, lanes, /*rows=*/16, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/1, a_step, b,
        /*b_step=*/16, c, /*c_row=*/16, /*update=*/3, /*factor=*/NULL, compensation);
}
APART void dot4_any(int64_t lanes, int64_t steps, const float *a, int64_t a_step, const float *b, float *c,
    float *compensation)
{
    dot_any(/*vectors=*/2, lanes, /*rows=*/16, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/1, a_step, b,
        /*b_step=*/16, c, /*c_row=*/16, /*update=*/3, /*factor=*/NULL, compensation);
}
APART void dot5_any(int64_t steps, const float *a, const float *b, int64_t b_step, float *c, float *compensation)
{
    dot_any(/*vectors=*/2, /*lanes=*/16, /*rows=*/16, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/16, /*a_step=*/1, b,
        b_step, c, /*c_row=*/16, /*update=*/3, /*factor=*/NULL, compensation);
}

/* Initialises the states: they contain no keys yet. */
APART void linear_elu_decode_begin_any(const struct call *call, int64_t task, const struct part *part,
    int64_t iteration)
{
    (void)call;
    (void)task;
    const int64_t f0 = iteration * 32, f1 = min(f0 + 32, 16);
    float *const carried_sum = (float *)(void *)(part->shared + 0); /* [f: 16] */
    float *const carried_sum_compensation = (float *)(void *)(part->shared + 1088); /* [f: 16] */
    float *const carried = (float *)(void *)(part->shared + 64); /* [f: 16, e: 16] */
    float *const carried_compensation = (float *)(void *)(part->shared + 1152); /* [f: 16, e: 16] */
    /* carried_sum = 0.0f; carried_sum_compensation = 0.0f */
    for (int64_t f = f0; f < f1; f += 4) {
        store_any(carried_sum + f, splat_any(0.0f));
        store_any(carried_sum_compensation + f, splat_any(0.0f));
    }
    /* carried = 0.0f; carried_compensation = 0.0f */
    for (int64_t f = f0; f < f1; f++) {
        for (int64_t e_first = 0; e_first < 16; e_first += 8) {
            UNROLL for (int64_t vector = 0, e = e_first; vector < 2; vector++, e += 4) {
                store_any(carried + f * 16 + e, splat_any(0.0f));
                store_any(carried_compensation + f * 16 + e, splat_any(0.0f));
            }
        }
    }
}

/* Sums the keys of a chunk, from zero, into its slot. */
APART void linear_elu_decode_keys_any(const struct call *call, int64_t task, const struct part *part, int64_t iteration)
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
    float *const state_sum = (float *)(void *)(part->slots + 0); /* [chunk, f: 16] */
    float *const state = (float *)(void *)(part->slots + 64); /* [chunk, f: 16, e: 16] */
    float *const k_tile = (float *)(void *)(part->work + 0); /* [d: 16, j: 16] */
    /* state_sum = 0.0f */
    for (int64_t f = 0; f < 16; f += 4) {
        store_any(state_sum + (chunk - chunk0) * 272 + f, splat_any(0.0f));
    }
    for (int64_t j0 = chunk * 16, j_end = min(n_k, (chunk + 1) * 16); j0 < j_end; j0 += 16) {
        const int64_t j1 = min(j0 + 16, j_end);
        /* k_tile = k, with zeros beyond the last row */
        transpose_padded_any(k + j0 * k_row, k_row, j1 - j0, 16, k_tile, 16, 64);
        /* k_tile = select(0.0f < k_tile, k_tile + 1.0f, exp(min(k_tile, 0.0f))) */
        for (int64_t d = 0; d < 16; d++) {
            for (int64_t j = 0; j < j1 - j0; j += 4) {
                const vec_any k_tile_0 = load_any(k_tile + d * 16 + j);
                store_any(k_tile + d * 16 + j, pick_any(0.0f < k_tile_0, k_tile_0 + 1.0f, exp_any(min_any(k_tile_0,
                    splat_any(0.0f)))));
            }
        }
        /* state_sum += k_tile */
        for (int64_t f = 0; f < 16; f++) {
            vec_any lane_sums = splat_any(0);
            for (int64_t j = 0; j < j1 - j0; j += 4) {
                const vec_any term = load_any(k_tile + f * 16 + j);
                lane_sums += j + 4 <= j1 - j0 ? term : pick_any(__builtin_convertvector(j + lane_any < j1 - j0,
                    mask_any), term, splat_any(0));
            }
            const float total = lane_sum_any(lane_sums);
            state_sum[(chunk - chunk0) * 272 + f] += total;
        }
        /* state[f][e] = sum over j of k_tile * v */
        dot0_any(j1 - j0, k_tile, v + j0 * v_row, v_row, state + (chunk - chunk0) * 272);
    }
}

/* Folds the slots of the current chunks, in order, for some elements of the states. */
APART void linear_elu_decode_fold_any(const struct call *call, int64_t task, const struct part *part, int64_t iteration)
{
    (void)call;
    (void)task;
    const int64_t f0 = iteration * 32, f1 = min(f0 + 32, 16);
    const int64_t chunk0 = part->chunk0;
    const int64_t chunk1 = part->chunk1;
    float *const state_sum = (float *)(void *)(part->slots + 0); /* [chunk, f: 16] */
    float *const state = (float *)(void *)(part->slots + 64); /* [chunk, f: 16, e: 16] */
    float *const carried_sum = (float *)(void *)(part->shared + 0); /* [f: 16] */
    float *const carried_sum_compensation = (float *)(void *)(part->shared + 1088); /* [f: 16] */
    float *const carried = (float *)(void *)(part->shared + 64); /* [f: 16, e: 16] */
    float *const carried_compensation = (float *)(void *)(part->shared + 1152); /* [f: 16, e: 16] */
    for (int64_t chunk = chunk0; chunk < chunk1; chunk++) {
        /* before_sum = carried_sum; carried_sum += state_sum; state_sum = before_sum */
        for (int64_t f = f0; f < f1; f += 4) {
            const vec_any before_sum_new1 = load_any(carried_sum + f);
            add_any(carried_sum + f, carried_sum_compensation + f, load_any(state_sum + (chunk - chunk0) * 272 + f),
                splat_any(1));
            store_any(state_sum + (chunk - chunk0) * 272 + f, before_sum_new1);
        }
        /* before = carried; carried += state; state = before */
        for (int64_t f = f0; f < f1; f++) {
            for (int64_t e_first = 0; e_first < 16; e_first += 8) {
                UNROLL for (int64_t vector = 0, e = e_first; vector < 2; vector++, e += 4) {
                    const vec_any before_new2 = load_any(carried + f * 16 + e);
                    add_any(carried + f * 16 + e, carried_compensation + f * 16 + e,
                        load_any(state + (chunk - chunk0) * 272 + f * 16 + e), splat_any(1));
                    store_any(state + (chunk - chunk0) * 272 + f * 16 + e, before_new2);
                }
            }
        }
    }
}

/* Processes the queries of a chunk: reads the state before the chunk, and the keys in the chunk. */
APART void linear_elu_decode_queries_any(const struct call *call, int64_t task, const struct part *part,
    int64_t iteration)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_q = call->p.n_q;
    const int64_t n_k = call->p.n_k;
    const int64_t chunk = iteration;
    const int64_t chunk0 = part->chunk0;
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
    float *const state_sum = (float *)(void *)(part->slots + 0); /* [chunk, f: 16] */
    float *const state = (float *)(void *)(part->slots + 64); /* [chunk, f: 16, e: 16] */
    float *const score = (float *)(void *)(part->work + 0); /* [j: 16, i: 16] */
    float *const row_sum_from_state = (float *)(void *)(part->work + 1024); /* [i: 16] */
    float *const row_sum = (float *)(void *)(part->work + 1088); /* [i: 16] */
    float *const row_sum_compensation = (float *)(void *)(part->work + 1152); /* [i: 16] */
    float *const sum_from_state = (float *)(void *)(part->work + 1216); /* [e: 16, i: 16] */
    float *const sum = (float *)(void *)(part->work + 2240); /* [e: 16, i: 16] */
    float *const sum_compensation = (float *)(void *)(part->work + 3264); /* [e: 16, i: 16] */
    float *const out = call->out + b * call->p.out.batch + g * members * call->p.out.head;
    const int64_t out_row = call->p.out.row;
    const int64_t out_head = call->p.out.head;
    float *const q_tile = (float *)(void *)(part->work + 4288); /* [d: 16, i: 16] */
    float *const k_tile_2 = (float *)(void *)(part->work + 5312); /* [d: 16, j: 16] */
    for (int64_t m = 0; m < members; m++) {
        for (int64_t i0 = (chunk == 0) ? 0 : max(0, (chunk * 16) - query_start), i_end = min(n_q,
            ((chunk + 1) * 16) - query_start); i0 < i_end; i0 += 16) {
            const int64_t i1 = min(i0 + 16, i_end);
            /* q_tile = q, with zeros beyond the last row */
            transpose_padded_any(q + m * q_head + i0 * q_row, q_row, i1 - i0, 16, q_tile, 16, 64);
            /* q_tile = select(0.0f < q_tile, q_tile + 1.0f, exp(min(q_tile, 0.0f))) */
            for (int64_t d = 0; d < 16; d++) {
                for (int64_t i = 0; i < i1 - i0; i += 4) {
                    const vec_any q_tile_3 = load_any(q_tile + d * 16 + i);
                    store_any(q_tile + d * 16 + i, pick_any(0.0f < q_tile_3, q_tile_3 + 1.0f, exp_any(min_any(q_tile_3,
                        splat_any(0.0f)))));
                }
            }
            /* row_sum_from_state = 0.0f */
            for (int64_t i = 0; i < i1 - i0; i += 4) {
                store_any(row_sum_from_state + i, splat_any(0.0f));
            }
            /* row_sum_from_state += q_tile * state_sum */
            for (int64_t i_first = 0; i_first < i1 - i0; i_first += 8) {
                vec_any row_sum_from_state_in[2];
                UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += 4) {
                    row_sum_from_state_in[vector] = (vec_any){0};
                }
                for (int64_t f = 0; f < 16; f++) {
                    UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += 4) {
                        row_sum_from_state_in[vector] += load_any(q_tile + f * 16 + i) * (state_sum[(chunk - chunk0) *
                            272 + f]);
                    }
                }
                UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += 4) {
                    store_any(row_sum_from_state + i, load_any(row_sum_from_state + i) + row_sum_from_state_in[vector]);
                }
            }
            /* row_sum = 0.0f; row_sum_compensation = 0.0f */
            for (int64_t i = 0; i < i1 - i0; i += 4) {
                store_any(row_sum + i, splat_any(0.0f));
                store_any(row_sum_compensation + i, splat_any(0.0f));
            }
            /* sum_from_state[e][i] = sum over f of state * q_tile */
            dot1_any(round_up(i1 - i0, 4), state + (chunk - chunk0) * 272, q_tile, sum_from_state);
            /* sum = 0.0f; sum_compensation = 0.0f */
            for (int64_t e = 0; e < 16; e++) {
                for (int64_t i = 0; i < i1 - i0; i += 4) {
                    store_any(sum + e * 16 + i, splat_any(0.0f));
                    store_any(sum_compensation + e * 16 + i, splat_any(0.0f));
                }
            }
            for (int64_t j0 = max(0, chunk * 16), j_end = min(n_k, i1 + query_start); j0 < j_end; j0 += 16) {
                const int64_t j1 = min(j0 + 16, j_end);
                /* k_tile_2 = k, with zeros beyond the last row */
                transpose_padded_any(k + j0 * k_row, k_row, j1 - j0, 16, k_tile_2, 16, 64);
                /* k_tile_2 = select(0.0f < k_tile_2, k_tile_2 + 1.0f, exp(min(k_tile_2, 0.0f))) */
                for (int64_t d = 0; d < 16; d++) {
                    for (int64_t j = 0; j < j1 - j0; j += 4) {
                        const vec_any k_tile_2_4 = load_any(k_tile_2 + d * 16 + j);
                        store_any(k_tile_2 + d * 16 + j, pick_any(0.0f < k_tile_2_4, k_tile_2_4 + 1.0f,
                            exp_any(min_any(k_tile_2_4, splat_any(0.0f)))));
                    }
                }
                /* score[j][i] = sum over d of k_tile_2 * q_tile */
                dot2_any(round_up(i1 - i0, 4), j1 - j0, k_tile_2, q_tile, score);
                if ((j0 < (chunk * 16)) || ((i0 + query_start + 1) < j1)) { /* the tile is partly outside the mask */
                    /* score = select((j <= (i + query_start)) && ((chunk * 16) <= j), score, 0.0f) */
                    for (int64_t i = 0; i < i1 - i0; i += 4) {
                        const ints_any t_5 = (i0 + i + lane_any) + query_start;
                        for (int64_t j = 0; j < j1 - j0; j++) {
                            store_any(score + j * 16 + i, pick_any(__builtin_convertvector(((j0 + j) <= t_5) &
                                (-(int64_t)((chunk * 16) <= (j0 + j))), mask_any), load_any(score + j * 16 + i),
                                splat_any(0.0f)));
                        }
                    }
                }
                /* row_sum += score */
                for (int64_t i_first = 0; i_first < i1 - i0; i_first += 8) {
                    vec_any row_sum_in[2];
                    UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += 4) {
                        row_sum_in[vector] = (vec_any){0};
                    }
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += 4) {
                            row_sum_in[vector] += load_any(score + j * 16 + i);
                        }
                    }
                    UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += 4) {
                        add_any(row_sum + i, row_sum_compensation + i, row_sum_in[vector], splat_any(1));
                    }
                }
                /* sum[e][i] += sum over j of v * score */
                if (__builtin_expect(((j0 < (chunk * 16)) || ((i0 + query_start + 1) < j1)) && !finite_any(v + j0 *
                    v_row, v_row, j1 - j0, 16), 0)) { /* infinity and NaN affect only queries that see them */
                    dot3_any(round_up(i1 - i0, 4), j1 - j0, v + j0 * v_row, v_row, score, sum, sum_compensation);
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        mask_any in_region[4] = {0};
                        if (finite_any(v + j0 * v_row + j * v_row, 1, 16, 1)) continue;
                        const int t_6 = (chunk * 16) <= (j0 + j);
                        for (int64_t i = 0; i < i1 - i0; i += 4) {
                            in_region[i / 4] = __builtin_convertvector(((j0 + j) <= ((i0 + i + lane_any) + query_start))
                                & (-(int64_t)t_6), mask_any);
                        }
                        add_seen_any(16, sum, 16, v + j0 * v_row + j * v_row, 1, score + j * 16, in_region, i1 - i0);
                    }
                } else
                    dot4_any(round_up(i1 - i0, 4), j1 - j0, v + j0 * v_row, v_row, score, sum, sum_compensation);
            }
            /* sum = select((row_sum + row_sum_from_state) == 0.0f, 0.0f,
               (sum + sum_from_state) / (row_sum + row_sum_from_state)) */
            for (int64_t i = 0; i < i1 - i0; i += 4) {
                const vec_any t_7 = load_any(row_sum + i) + load_any(row_sum_from_state + i);
                const mask_any t_8 = t_7 == 0.0f;
                for (int64_t e = 0; e < 16; e++) {
                    store_any(sum + e * 16 + i, pick_any(t_8, splat_any(0.0f),
                        (load_any(sum + e * 16 + i) + load_any(sum_from_state + e * 16 + i)) / t_7));
                }
            }
            /* out = sum, transposed back */
            transpose_out_any(sum, 16, 16, i1 - i0, out + m * out_head + i0 * out_row, out_row, 64);
        }
    }
}

/* For a thread that works on the head alone: adds a chunk to the carried state. */
APART void linear_elu_decode_keys_alone_any(const struct call *call, int64_t task, const struct part *part,
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
    float *const state_sum = (float *)(void *)(part->slots + 0); /* [chunk, f: 16] */
    float *const carried = (float *)(void *)(part->shared + 64); /* [f: 16, e: 16] */
    float *const carried_compensation = (float *)(void *)(part->shared + 1152); /* [f: 16, e: 16] */
    float *const k_tile = (float *)(void *)(part->work + 0); /* [d: 16, j: 16] */
    /* state_sum = 0.0f */
    for (int64_t f = 0; f < 16; f += 4) {
        store_any(state_sum + (chunk - chunk0) * 272 + f, splat_any(0.0f));
    }
    for (int64_t j0 = chunk * 16, j_end = min(n_k, (chunk + 1) * 16); j0 < j_end; j0 += 16) {
        const int64_t j1 = min(j0 + 16, j_end);
        /* k_tile = k, with zeros beyond the last row */
        transpose_padded_any(k + j0 * k_row, k_row, j1 - j0, 16, k_tile, 16, 64);
        /* k_tile = select(0.0f < k_tile, k_tile + 1.0f, exp(min(k_tile, 0.0f))) */
        for (int64_t d = 0; d < 16; d++) {
            for (int64_t j = 0; j < j1 - j0; j += 4) {
                const vec_any k_tile_9 = load_any(k_tile + d * 16 + j);
                store_any(k_tile + d * 16 + j, pick_any(0.0f < k_tile_9, k_tile_9 + 1.0f, exp_any(min_any(k_tile_9,
                    splat_any(0.0f)))));
            }
        }
        /* state_sum += k_tile */
        for (int64_t f = 0; f < 16; f++) {
            vec_any lane_sums = splat_any(0);
            for (int64_t j = 0; j < j1 - j0; j += 4) {
                const vec_any term = load_any(k_tile + f * 16 + j);
                lane_sums += j + 4 <= j1 - j0 ? term : pick_any(__builtin_convertvector(j + lane_any < j1 - j0,
                    mask_any), term, splat_any(0));
            }
            const float total = lane_sum_any(lane_sums);
            state_sum[(chunk - chunk0) * 272 + f] += total;
        }
        /* carried[f][e] += sum over j of k_tile * v */
        dot5_any(j1 - j0, k_tile, v + j0 * v_row, v_row, carried, carried_compensation);
    }
}

/* Adds to the carried state the sums that no product computes. */
APART void linear_elu_decode_fold_alone_any(const struct call *call, int64_t task, const struct part *part,
    int64_t iteration)
{
    (void)call;
    (void)task;
    const int64_t f0 = iteration * 32, f1 = min(f0 + 32, 16);
    const int64_t chunk0 = part->chunk0;
    const int64_t chunk1 = part->chunk1;
    float *const state_sum = (float *)(void *)(part->slots + 0); /* [chunk, f: 16] */
    float *const carried_sum = (float *)(void *)(part->shared + 0); /* [f: 16] */
    float *const carried_sum_compensation = (float *)(void *)(part->shared + 1088); /* [f: 16] */
    for (int64_t chunk = chunk0; chunk < chunk1; chunk++) {
        /* carried_sum += state_sum */
        for (int64_t f = f0; f < f1; f += 4) {
            add_any(carried_sum + f, carried_sum_compensation + f, load_any(state_sum + (chunk - chunk0) * 272 + f),
                splat_any(1));
        }
    }
}

/* Computes head number `task`. Each thread on the head calls this with its share, `part`. */
static void linear_elu_decode_linear_any(const struct call *call, int64_t task, struct part *part)
{
    const int64_t n_k = call->p.n_k;
    const int64_t chunks = n_k > 0 ? (n_k - 1) / 16 + 1 : 1;
    for (int64_t iteration = part->number; iteration < ((16 + 31) / 32); iteration += part->threads)
        linear_elu_decode_begin_any(call, task, part, iteration);
    synchronise(part);
    const int64_t first = 0;
    if (part->threads == 1) { /* queries read the carried state before their chunk is added */
        unsigned char *const slots = part->slots;
        for (part->chunk0 = first; part->chunk0 < chunks; part->chunk0++) {
            part->chunk1 = part->chunk0 + 1;
            part->slots = part->shared;
            linear_elu_decode_queries_any(call, task, part, part->chunk0);
            part->slots = slots;
            linear_elu_decode_keys_alone_any(call, task, part, part->chunk0);
            for (int64_t iteration = 0; iteration < ((16 + 31) / 32); iteration++)
                linear_elu_decode_fold_alone_any(call, task, part, iteration);
        }
    } else {
        const int64_t length = segment_length(part, chunks - first);
        for (int64_t segment = part->number; first + segment * length < chunks; segment += part->threads) {
            part->chunk0 = first + segment * length;
            part->chunk1 = min(part->chunk0 + length, chunks);
            for (int64_t iteration = part->chunk0; iteration < part->chunk1; iteration++)
                linear_elu_decode_keys_any(call, task, part, iteration);
            for (int64_t group = 0; group < 16; group++) {
                await_segment(part, group, segment);
                const int64_t end = (group + 1) * ((16 + 31) / 32) / 16;
                for (int64_t iteration = group * ((16 + 31) / 32) / 16; iteration < end; iteration++)
                    linear_elu_decode_fold_any(call, task, part, iteration);
                pass_segment(part, group, segment);
            }
            for (int64_t iteration = part->chunk0; iteration < part->chunk1; iteration++)
                linear_elu_decode_queries_any(call, task, part, iteration);
        }
        part->segments += (max(chunks - first, 0) + length - 1) / length;
    }
    synchronise(part);
}

/* Initialises the states: they contain no keys yet. */
APART void linear_elu_decode_extend_begin_any(const struct call *call, int64_t task, const struct part *part,
    int64_t iteration)
{
    (void)part;
    const int64_t f0 = iteration * 32, f1 = min(f0 + 32, 16);
    float *const carried_sum = (float *)(void *)(call->kept + task * 2176 + 0); /* [f: 16] */
    float *const carried_sum_compensation = (float *)(void *)(call->kept + task * 2176 + 1088); /* [f: 16] */
    float *const carried = (float *)(void *)(call->kept + task * 2176 + 64); /* [f: 16, e: 16] */
    float *const carried_compensation = (float *)(void *)(call->kept + task * 2176 + 1152); /* [f: 16, e: 16] */
    /* carried_sum = 0.0f; carried_sum_compensation = 0.0f */
    for (int64_t f = f0; f < f1; f += 4) {
        store_any(carried_sum + f, splat_any(0.0f));
        store_any(carried_sum_compensation + f, splat_any(0.0f));
    }
    /* carried = 0.0f; carried_compensation = 0.0f */
    for (int64_t f = f0; f < f1; f++) {
        for (int64_t e_first = 0; e_first < 16; e_first += 8) {
            UNROLL for (int64_t vector = 0, e = e_first; vector < 2; vector++, e += 4) {
                store_any(carried + f * 16 + e, splat_any(0.0f));
                store_any(carried_compensation + f * 16 + e, splat_any(0.0f));
            }
        }
    }
}

/* Sums the keys of a chunk, from zero, into its slot. */
APART void linear_elu_decode_extend_keys_any(const struct call *call, int64_t task, const struct part *part,
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
    float *const state_sum = (float *)(void *)(part->slots + 0); /* [chunk, f: 16] */
    float *const state = (float *)(void *)(part->slots + 64); /* [chunk, f: 16, e: 16] */
    float *const k_tile = (float *)(void *)(part->work + 0); /* [d: 16, j: 16] */
    /* state_sum = 0.0f */
    for (int64_t f = 0; f < 16; f += 4) {
        store_any(state_sum + (chunk - chunk0) * 272 + f, splat_any(0.0f));
    }
    for (int64_t j0 = chunk * 16, j_end = (min(n_k, (chunk + 1) * 16) / 16) * 16; j0 < j_end; j0 += 16) {
        const int64_t j1 = min(j0 + 16, j_end);
        /* k_tile = k, with zeros beyond the last row */
        transpose_padded_any(k + j0 * k_row, k_row, j1 - j0, 16, k_tile, 16, 64);
        /* k_tile = select(0.0f < k_tile, k_tile + 1.0f, exp(min(k_tile, 0.0f))) */
        for (int64_t d = 0; d < 16; d++) {
            for (int64_t j = 0; j < j1 - j0; j += 4) {
                const vec_any k_tile_0 = load_any(k_tile + d * 16 + j);
                store_any(k_tile + d * 16 + j, pick_any(0.0f < k_tile_0, k_tile_0 + 1.0f, exp_any(min_any(k_tile_0,
                    splat_any(0.0f)))));
            }
        }
        /* state_sum += k_tile */
        for (int64_t f = 0; f < 16; f++) {
            vec_any lane_sums = splat_any(0);
            for (int64_t j = 0; j < j1 - j0; j += 4) {
                const vec_any term = load_any(k_tile + f * 16 + j);
                lane_sums += j + 4 <= j1 - j0 ? term : pick_any(__builtin_convertvector(j + lane_any < j1 - j0,
                    mask_any), term, splat_any(0));
            }
            const float total = lane_sum_any(lane_sums);
            state_sum[(chunk - chunk0) * 272 + f] += total;
        }
        /* state[f][e] = sum over j of k_tile * v */
        dot0_any(j1 - j0, k_tile, v + j0 * v_row, v_row, state + (chunk - chunk0) * 272);
    }
}

/* Folds the slots of the current chunks, in order, for some elements of the states. */
APART void linear_elu_decode_extend_fold_any(const struct call *call, int64_t task, const struct part *part,
    int64_t iteration)
{
    const int64_t n_k = call->p.n_k;
    const int64_t f0 = iteration * 32, f1 = min(f0 + 32, 16);
    const int64_t chunk0 = part->chunk0;
    const int64_t chunk1 = part->chunk1;
    float *const state_sum = (float *)(void *)(part->slots + 0); /* [chunk, f: 16] */
    float *const state = (float *)(void *)(part->slots + 64); /* [chunk, f: 16, e: 16] */
    float *const carried_sum = (float *)(void *)(call->kept + task * 2176 + 0); /* [f: 16] */
    float *const carried_sum_compensation = (float *)(void *)(call->kept + task * 2176 + 1088); /* [f: 16] */
    float *const before_sum = (float *)(void *)(part->work + 0); /* [f: 16] */
    float *const carried = (float *)(void *)(call->kept + task * 2176 + 64); /* [f: 16, e: 16] */
    float *const carried_compensation = (float *)(void *)(call->kept + task * 2176 + 1152); /* [f: 16, e: 16] */
    float *const before = (float *)(void *)(part->work + 64); /* [f: 16, e: 16] */
    for (int64_t chunk = chunk0; chunk < min(chunk1, n_k / 16); chunk++) {
        /* before_sum = carried_sum; carried_sum += state_sum; state_sum = before_sum */
        for (int64_t f = f0; f < f1; f += 4) {
            const vec_any before_sum_new1 = load_any(carried_sum + f);
            store_any(before_sum + f, before_sum_new1);
            add_any(carried_sum + f, carried_sum_compensation + f, load_any(state_sum + (chunk - chunk0) * 272 + f),
                splat_any(1));
            store_any(state_sum + (chunk - chunk0) * 272 + f, before_sum_new1);
        }
        /* before = carried; carried += state; state = before */
        for (int64_t f = f0; f < f1; f++) {
            for (int64_t e_first = 0; e_first < 16; e_first += 8) {
                UNROLL for (int64_t vector = 0, e = e_first; vector < 2; vector++, e += 4) {
                    const vec_any before_new2 = load_any(carried + f * 16 + e);
                    store_any(before + f * 16 + e, before_new2);
                    add_any(carried + f * 16 + e, carried_compensation + f * 16 + e,
                        load_any(state + (chunk - chunk0) * 272 + f * 16 + e), splat_any(1));
                    store_any(state + (chunk - chunk0) * 272 + f * 16 + e, before_new2);
                }
            }
        }
    }
    {
        for (int64_t chunk = max(chunk0, n_k / 16); chunk < chunk1; chunk++) {
            /* before_sum = carried_sum; state_sum = before_sum */
            for (int64_t f = f0; f < f1; f += 4) {
                const vec_any before_sum_new3 = load_any(carried_sum + f);
                store_any(before_sum + f, before_sum_new3);
                store_any(state_sum + (chunk - chunk0) * 272 + f, before_sum_new3);
            }
            /* before = carried; state = before */
            for (int64_t f = f0; f < f1; f++) {
                for (int64_t e_first = 0; e_first < 16; e_first += 8) {
                    UNROLL for (int64_t vector = 0, e = e_first; vector < 2; vector++, e += 4) {
                        const vec_any before_new4 = load_any(carried + f * 16 + e);
                        store_any(before + f * 16 + e, before_new4);
                        store_any(state + (chunk - chunk0) * 272 + f * 16 + e, before_new4);
                    }
                }
            }
        }
    }
}

/* Processes the queries of a chunk: reads the state before the chunk, and the keys in the chunk. */
APART void linear_elu_decode_extend_queries_any(const struct call *call, int64_t task, const struct part *part,
    int64_t iteration)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_q = call->p.n_q;
    const int64_t n_k = call->p.n_k;
    const int64_t chunk = iteration;
    const int64_t chunk0 = part->chunk0;
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
    float *const state_sum = (float *)(void *)(part->slots + 0); /* [chunk, f: 16] */
    float *const state = (float *)(void *)(part->slots + 64); /* [chunk, f: 16, e: 16] */
    float *const score = (float *)(void *)(part->work + 0); /* [j: 16, i: 16] */
    float *const row_sum_from_state = (float *)(void *)(part->work + 1024); /* [i: 16] */
    float *const row_sum = (float *)(void *)(part->work + 1088); /* [i: 16] */
    float *const row_sum_compensation = (float *)(void *)(part->work + 1152); /* [i: 16] */
    float *const sum_from_state = (float *)(void *)(part->work + 1216); /* [e: 16, i: 16] */
    float *const sum = (float *)(void *)(part->work + 2240); /* [e: 16, i: 16] */
    float *const sum_compensation = (float *)(void *)(part->work + 3264); /* [e: 16, i: 16] */
    float *const out = call->out + b * call->p.out.batch + g * members * call->p.out.head;
    const int64_t out_row = call->p.out.row;
    const int64_t out_head = call->p.out.head;
    float *const q_tile = (float *)(void *)(part->work + 4288); /* [d: 16, i: 16] */
    float *const k_tile_2 = (float *)(void *)(part->work + 5312); /* [d: 16, j: 16] */
    for (int64_t m = 0; m < members; m++) {
        for (int64_t i0 = (chunk == 0) ? 0 : max(0, (chunk * 16) - query_start), i_end = min(n_q,
            ((chunk + 1) * 16) - query_start); i0 < i_end; i0 += 16) {
            const int64_t i1 = min(i0 + 16, i_end);
            /* q_tile = q, with zeros beyond the last row */
            transpose_padded_any(q + m * q_head + i0 * q_row, q_row, i1 - i0, 16, q_tile, 16, 64);
            /* q_tile = select(0.0f < q_tile, q_tile + 1.0f, exp(min(q_tile, 0.0f))) */
            for (int64_t d = 0; d < 16; d++) {
                for (int64_t i = 0; i < i1 - i0; i += 4) {
                    const vec_any q_tile_5 = load_any(q_tile + d * 16 + i);
                    store_any(q_tile + d * 16 + i, pick_any(0.0f < q_tile_5, q_tile_5 + 1.0f, exp_any(min_any(q_tile_5,
                        splat_any(0.0f)))));
                }
            }
            /* row_sum_from_state = 0.0f */
            for (int64_t i = 0; i < i1 - i0; i += 4) {
                store_any(row_sum_from_state + i, splat_any(0.0f));
            }
            /* row_sum_from_state += q_tile * state_sum */
            for (int64_t i_first = 0; i_first < i1 - i0; i_first += 8) {
                vec_any row_sum_from_state_in[2];
                UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += 4) {
                    row_sum_from_state_in[vector] = (vec_any){0};
                }
                for (int64_t f = 0; f < 16; f++) {
                    UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += 4) {
                        row_sum_from_state_in[vector] += load_any(q_tile + f * 16 + i) * (state_sum[(chunk - chunk0) *
                            272 + f]);
                    }
                }
                UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += 4) {
                    store_any(row_sum_from_state + i, load_any(row_sum_from_state + i) + row_sum_from_state_in[vector]);
                }
            }
            /* row_sum = 0.0f; row_sum_compensation = 0.0f */
            for (int64_t i = 0; i < i1 - i0; i += 4) {
                store_any(row_sum + i, splat_any(0.0f));
                store_any(row_sum_compensation + i, splat_any(0.0f));
            }
            /* sum_from_state[e][i] = sum over f of state * q_tile */
            dot1_any(round_up(i1 - i0, 4), state + (chunk - chunk0) * 272, q_tile, sum_from_state);
            /* sum = 0.0f; sum_compensation = 0.0f */
            for (int64_t e = 0; e < 16; e++) {
                for (int64_t i = 0; i < i1 - i0; i += 4) {
                    store_any(sum + e * 16 + i, splat_any(0.0f));
                    store_any(sum_compensation + e * 16 + i, splat_any(0.0f));
                }
            }
            for (int64_t j0 = max(0, chunk * 16), j_end = min(n_k, i1 + query_start); j0 < j_end; j0 += 16) {
                const int64_t j1 = min(j0 + 16, j_end);
                /* k_tile_2 = k, with zeros beyond the last row */
                transpose_padded_any(k + j0 * k_row, k_row, j1 - j0, 16, k_tile_2, 16, 64);
                /* k_tile_2 = select(0.0f < k_tile_2, k_tile_2 + 1.0f, exp(min(k_tile_2, 0.0f))) */
                for (int64_t d = 0; d < 16; d++) {
                    for (int64_t j = 0; j < j1 - j0; j += 4) {
                        const vec_any k_tile_2_6 = load_any(k_tile_2 + d * 16 + j);
                        store_any(k_tile_2 + d * 16 + j, pick_any(0.0f < k_tile_2_6, k_tile_2_6 + 1.0f,
                            exp_any(min_any(k_tile_2_6, splat_any(0.0f)))));
                    }
                }
                /* score[j][i] = sum over d of k_tile_2 * q_tile */
                dot2_any(round_up(i1 - i0, 4), j1 - j0, k_tile_2, q_tile, score);
                if ((j0 < (chunk * 16)) || ((i0 + query_start + 1) < j1)) { /* the tile is partly outside the mask */
                    /* score = select((j <= (i + query_start)) && ((chunk * 16) <= j), score, 0.0f) */
                    for (int64_t i = 0; i < i1 - i0; i += 4) {
                        const ints_any t_7 = (i0 + i + lane_any) + query_start;
                        for (int64_t j = 0; j < j1 - j0; j++) {
                            store_any(score + j * 16 + i, pick_any(__builtin_convertvector(((j0 + j) <= t_7) &
                                (-(int64_t)((chunk * 16) <= (j0 + j))), mask_any), load_any(score + j * 16 + i),
                                splat_any(0.0f)));
                        }
                    }
                }
                /* row_sum += score */
                for (int64_t i_first = 0; i_first < i1 - i0; i_first += 8) {
                    vec_any row_sum_in[2];
                    UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += 4) {
                        row_sum_in[vector] = (vec_any){0};
                    }
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += 4) {
                            row_sum_in[vector] += load_any(score + j * 16 + i);
                        }
                    }
                    UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += 4) {
                        add_any(row_sum + i, row_sum_compensation + i, row_sum_in[vector], splat_any(1));
                    }
                }
                /* sum[e][i] += sum over j of v * score */
                if (__builtin_expect(((j0 < (chunk * 16)) || ((i0 + query_start + 1) < j1)) && !finite_any(v + j0 *
                    v_row, v_row, j1 - j0, 16), 0)) { /* infinity and NaN affect only queries that see them */
                    dot3_any(round_up(i1 - i0, 4), j1 - j0, v + j0 * v_row, v_row, score, sum, sum_compensation);
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        mask_any in_region[4] = {0};
                        if (finite_any(v + j0 * v_row + j * v_row, 1, 16, 1)) continue;
                        const int t_8 = (chunk * 16) <= (j0 + j);
                        for (int64_t i = 0; i < i1 - i0; i += 4) {
                            in_region[i / 4] = __builtin_convertvector(((j0 + j) <= ((i0 + i + lane_any) + query_start))
                                & (-(int64_t)t_8), mask_any);
                        }
                        add_seen_any(16, sum, 16, v + j0 * v_row + j * v_row, 1, score + j * 16, in_region, i1 - i0);
                    }
                } else
                    dot4_any(round_up(i1 - i0, 4), j1 - j0, v + j0 * v_row, v_row, score, sum, sum_compensation);
            }
            /* sum = select((row_sum + row_sum_from_state) == 0.0f, 0.0f,
               (sum + sum_from_state) / (row_sum + row_sum_from_state)) */
            for (int64_t i = 0; i < i1 - i0; i += 4) {
                const vec_any t_9 = load_any(row_sum + i) + load_any(row_sum_from_state + i);
                const mask_any t_10 = t_9 == 0.0f;
                for (int64_t e = 0; e < 16; e++) {
                    store_any(sum + e * 16 + i, pick_any(t_10, splat_any(0.0f),
                        (load_any(sum + e * 16 + i) + load_any(sum_from_state + e * 16 + i)) / t_9));
                }
            }
            /* out = sum, transposed back */
            transpose_out_any(sum, 16, 16, i1 - i0, out + m * out_head + i0 * out_row, out_row, 64);
        }
    }
}

/* Computes head number `task`. Each thread on the head calls this with its share, `part`. */
static void linear_elu_decode_extend_any(const struct call *call, int64_t task, struct part *part)
{
    const int64_t n_k = call->p.n_k;
    const int64_t chunks = n_k > 0 ? (n_k - 1) / 16 + 1 : 1;
    if (call->length == call->start) { /* the state has no keys yet */
        for (int64_t iteration = part->number; iteration < ((16 + 31) / 32); iteration += part->threads)
            linear_elu_decode_extend_begin_any(call, task, part, iteration);
        synchronise(part);
    }
    if (call->p.n_k - call->summed < 16) { /* no chunk is complete, so the sums do not change */
        unsigned char *const slots = part->slots;
        part->slots = call->kept + task * 2176;
        part->chunk0 = call->summed / 16;
        if (part->number == 0) linear_elu_decode_extend_queries_any(call, task, part, part->chunk0);
        synchronise(part);
        part->slots = slots;
        return;
    }
    const int64_t first = call->summed / 16;
    const int64_t length = segment_length(part, chunks - first);
    for (int64_t segment = part->number; first + segment * length < chunks; segment += part->threads) {
        part->chunk0 = first + segment * length;
        part->chunk1 = min(part->chunk0 + length, chunks);
        for (int64_t iteration = part->chunk0; iteration < part->chunk1; iteration++) {
            unsigned char *const stored = stored_sums(call, task, iteration, 16, 1088);
            unsigned char *const slot = part->slots + (iteration - part->chunk0) * 1088;
            if (stored && call->q)
                memcpy(slot, stored, 1088);
            else
                linear_elu_decode_extend_keys_any(call, task, part, iteration);
            if (stored && !call->q) write_through(stored, slot, 1088);
        }
        for (int64_t group = 0; group < 16; group++) {
            await_segment(part, group, segment);
            const int64_t end = (group + 1) * ((16 + 31) / 32) / 16;
            for (int64_t iteration = group * ((16 + 31) / 32) / 16; iteration < end; iteration++)
                linear_elu_decode_extend_fold_any(call, task, part, iteration);
            pass_segment(part, group, segment);
        }
        for (int64_t iteration = part->chunk0; iteration < part->chunk1; iteration++)
            linear_elu_decode_extend_queries_any(call, task, part, iteration);
    }
    part->segments += (max(chunks - first, 0) + length - 1) / length;
    synchronise(part);
}

/* Computes task number `task`: adds the sums of one head to those of another state. `work` is this thread's workspace.
   */
static void linear_elu_decode_join_any(const struct call *call, int64_t task, unsigned char *work)
{
    (void)work;
    float *const state_sum = (float *)(void *)(call->folded + task * 2176 + 0); /* [f: 16] */
    float *const state = (float *)(void *)(call->folded + task * 2176 + 64); /* [f: 16, e: 16] */
    float *const carried_sum = (float *)(void *)(call->kept + task * 2176 + 0); /* [f: 16] */
    float *const carried_sum_compensation = (float *)(void *)(call->kept + task * 2176 + 1088); /* [f: 16] */
    float *const carried = (float *)(void *)(call->kept + task * 2176 + 64); /* [f: 16, e: 16] */
    float *const carried_compensation = (float *)(void *)(call->kept + task * 2176 + 1152); /* [f: 16, e: 16] */
    /* carried_sum += state_sum */
    for (int64_t f = 0; f < 16; f += 4) {
        add_any(carried_sum + f, carried_sum_compensation + f, load_any(state_sum + f), splat_any(1));
    }
    /* carried += state */
    for (int64_t f = 0; f < 16; f++) {
        for (int64_t e_first = 0; e_first < 16; e_first += 8) {
            UNROLL for (int64_t vector = 0, e = e_first; vector < 2; vector++, e += 4) {
                add_any(carried + f * 16 + e, carried_compensation + f * 16 + e, load_any(state + f * 16 + e),
                    splat_any(1));
            }
        }
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
    int64_t of_pair, of_token; /* multiply-adds per query-key pair, and per token; one of them is 0 */
    size_t shared, slot, slots; /* shared: bytes for all threads of a head; slot: bytes of a slot; slots: per thread */
    int together; /* heads that all threads compute together: 0: none, 1: the last (heads % threads), 2: all */
    int64_t chunk; /* keys that are added to a state at a time */
    size_t kept; /* bytes of the sums of one head */
    void (*join)(const struct call *, int64_t, unsigned char *); /* adds the sums of a second state, for one task */
    size_t join_work;                                            /* bytes of workspace for `join` */
};

static struct version version(int64_t n_k)
{
    (void)n_k;
#if defined(__x86_64__)
    if (attn_x86_64_level() >= 4)
        return (struct version){.head = linear_elu_decode_linear_v4, .tile = 0, .own = 6336, .of_token = 272,
            .in_keys = 1, .shared = 2176, .slot = 1088, .slots = 4, .together = 1};
#endif
#if defined(__x86_64__)
    if (attn_x86_64_level() >= 3)
        return (struct version){.head = linear_elu_decode_linear_v3, .tile = 0, .own = 6336, .of_token = 272,
            .in_keys = 1, .shared = 2176, .slot = 1088, .slots = 4, .together = 1};
#endif
    return (struct version){.head = linear_elu_decode_linear_any, .tile = 0, .own = 6336, .of_token = 272, .in_keys = 1,
        .shared = 2176, .slot = 1088, .slots = 4, .together = 1};
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

size_t linear_elu_decode_params_size(void)
{
    return 0;
}

int linear_elu_decode_params_init(struct linear_elu_decode_params *params, uint64_t seed, void *storage)
{
    (void)seed;
    (void)storage;
    if (!params) return ATTN_EPOINTER;
    *params = (struct linear_elu_decode_params){0};
    return 0;
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
    const int error = checks(problem, 16, 16, &call->p);
    if (error) return error;
    if (!positions_fit(&call->p)) return ATTN_EPROBLEM;
    call->sharing = sharing_of(&call->p);
    return 0;
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

size_t linear_elu_decode_workspace(const struct attn_problem *problem)
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
    return v->rows || v->head;
}

/* A call of a version. */
struct job {
    const struct call *call;
    const struct version *this;
    int64_t tasks, alone; /* one thread runs each of the first `alone` tasks; all threads share each later one */
    double effort; /* the multiply-adds of a task */
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

int linear_elu_decode_forward(const struct attn_problem *problem, const struct linear_elu_decode_params *params,
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
    const struct version this = version(keys_of_version(&call.p));
    if (!runs(&this)) return ATTN_EMACHINE;
    if (this.in_keys && after_keys(&call.p)) return ATTN_ELENGTH;
    const size_t shared = 0, bytes = bytes_a_thread(&this);
    const size_t max_bytes = bytes;
    int threads = 1;
    const int no_room = take_workspace(problem, workspace, shared, max_bytes, &threads);
    if (no_room) return no_room;
    unsigned char *const work = (unsigned char *)workspace + shared;
    return run(&call, &this, threads, work, bytes);
}

/* ==== the state of sequences that grow ==== */
/* A state is one block of memory with
   - this header
   - a struct sequence for each sequence
   - the sums over the first keys of each sequence
   - earlier sums, to which a sequence can go back
   - rows of the keys and values that are not in the sums, or that the kernel reads one by one */
struct state_header {
    char magic[8];
    uint32_t format, byte_order;
    char name[64]; /* the name of the kernel */
    uint64_t fingerprint; /* identifies the spec and the layout of the state */
    int64_t dtype, head_dim, value_dim, batch, heads, kv_heads, capacity;
    int64_t rows, read_back, chunk, kept; /* rows: rows per sequence; chunk, kept: as in struct version */
    int64_t rewind, earlier; /* rewind: tokens that a sequence can go back; earlier: stored earlier sums per sequence */
    int64_t key_heads; /* heads of k */
    int64_t foldable;  /* 1 if the sums of each head are followed by their transition */
    int64_t page;      /* the tokens of a page, or 0 if the state has the rows */
    uint64_t bytes; /* size of the state */
    uint64_t check; /* a hash of the members above and of the sequences */
};
struct sequence { /* The members of this struct are positions. */
    int64_t length, first; /* length: the position after the last token; first: start + the number of dropped rows */
    int64_t summed;        /* the sums contain the keys before this position */
    int64_t start;         /* the position of the first token */
    int64_t min_length;    /* truncate refuses a smaller length, except `start` */
    int64_t oldest;        /* the oldest stored sums contain the keys before this position */
    int64_t draft;         /* the position of the first token of the last call */
};
/* The number of arrays whose rows a state stores: keys, values, and parameters that have a row for each key. */
enum { ROW_ARRAYS = 2, GIVEN = ROW_ARRAYS, SUMS = ROW_ARRAYS };
enum { COPIED = SUMS - 0 }; /* The rows of these arrays are rows of the caller. Corrected values follow them. */
/* Addresses inside a state. */
struct places {
    struct state_header *header;
    struct sequence *sequence;
    unsigned char *kept, *work; /* kept: the sums of all heads; work: the workspace of linear_elu_decode_state_fold */
    unsigned char *earlier; /* for each sequence, a ring of earlier sums of all heads */
    unsigned char *rows[ROW_ARRAYS]; /* the rows of each array: [batch, heads, rows, …] */
};

/* The bytes of one row of each array. */
static const int64_t row_bytes_of[GIVEN] = {16 * (int64_t)sizeof(float), 16 * (int64_t)sizeof(float)};

/* Returns the number of heads of k. */
static int64_t heads_of_keys(const struct attn_problem *p) { return p->key_heads ? p->key_heads : p->kv_heads; }

/* Returns the number of heads with their own rows in an array, or 1 if all heads share the rows. */
static int64_t heads_with_rows(int array, int64_t heads, int64_t kv_heads, int64_t key_heads)
{
    const int64_t of_array[GIVEN] = {key_heads, kv_heads};
    (void)heads;
    (void)kv_heads;
    (void)key_heads;
    return of_array[array];
}

/* Returns the number of rows before row 0 of an array. Only prefix sums have some.
   - Row -1 has the sums before row 0. The sums of row 0 continue from it.
   - Row -2 has the total up to the last restart of the sums. Only states that can be joined have it. */
INLINE int64_t rows_before(int array) { return array < SUMS ? 0 : 1 + 1; }
/* Returns whether row -1 of an array moves with its other rows. */
INLINE int64_t row_before(int array) { return array >= SUMS; }

/* The bytes of an element of each array whose rows of the caller may have a stride. */

/* The addresses of row 0 of each array, and the strides of the arrays in bytes. */
struct rows {
    unsigned char *at[GIVEN];
    struct attn_strides strides[GIVEN];
};

static struct attn_strides in_bytes(struct attn_strides s, size_t element)
{
    const int64_t n = (int64_t)element;
    return (struct attn_strides){s.batch * n, s.head * n, s.row * n};
}

static struct attn_strides in_elements(struct attn_strides s, size_t element)
{
    const int64_t n = (int64_t)element;
    return (struct attn_strides){s.batch / n, s.head / n, s.row / n};
}

/* Makes the call read keys, values and parameters from `rows`. */
static void set_rows(struct call *call, const struct rows *rows)
{
    call->k = (const float *)(const void *)rows->at[0];
    call->p.k = in_elements(rows->strides[0], sizeof *call->k);
    call->v = (const float *)(const void *)rows->at[1];
    call->p.v = in_elements(rows->strides[1], sizeof *call->v);
}

/* Returns the addresses and strides of a state's rows, from sequence b on. */
static struct rows rows_in(const struct places *at, int64_t b)
{
    const struct state_header *const h = at->header;
    struct rows made = {.at = {NULL}};
    for (int a = 0; a < ROW_ARRAYS; a++) {
        const int64_t row = row_bytes_of[a], head = (rows_before(a) + h->rows) * row,
            sequence = heads_with_rows(a, h->heads, h->kv_heads, h->key_heads) * head;
        made.at[a] = at->rows[a] + b * sequence + rows_before(a) * row;
        made.strides[a] = (struct attn_strides){sequence, head, row};
    }
    return made;
}

static struct version extend_version(const struct attn_problem *problem)
{
    (void)problem;
#if defined(__x86_64__)
    if (attn_x86_64_level() >= 4)
        return (struct version){.head = linear_elu_decode_extend_v4, .tile = 0, .own = 6336, .of_token = 272,
            .in_keys = 1, .shared = 0, .slot = 1088, .slots = 4, .together = 1, .chunk = 16, .kept = 2176,
            .join = linear_elu_decode_join_v4, .join_work = 0};
#endif
#if defined(__x86_64__)
    if (attn_x86_64_level() >= 3)
        return (struct version){.head = linear_elu_decode_extend_v3, .tile = 0, .own = 6336, .of_token = 272,
            .in_keys = 1, .shared = 0, .slot = 1088, .slots = 4, .together = 1, .chunk = 16, .kept = 2176,
            .join = linear_elu_decode_join_v3, .join_work = 0};
#endif
    return (struct version){.head = linear_elu_decode_extend_any, .tile = 0, .own = 6336, .of_token = 272, .in_keys = 1,
        .shared = 0, .slot = 1088, .slots = 4, .together = 1, .chunk = 16, .kept = 2176,
        .join = linear_elu_decode_join_any, .join_work = 0};
}

/* Returns the largest s->first that later tokens allow. Later tokens read
   - the rows of keys that are not in the sums,
   - 0 rows before them,
   - the first rows, if the state always keeps them.
   A sequence that may go back also needs the rows of keys that are not in the oldest sums, or `rewind` more rows. */
static int64_t first_needed(const struct sequence *s, int64_t rewind)
{
    (void)rewind;
    return max(s->start, s->oldest - 0 - 0);
}

/* Sets s->summed after the sequence was extended to s->length. Only whole chunks are summed. */
static void count_summed(const struct version *this, struct sequence *s)
{
    if (s->length - s->summed >= this->chunk) s->summed = s->length - s->length % this->chunk;
}

/* Fills the header of a new state, except `check`. Returns 0 or an error. */
static int describe(const struct attn_problem *problem, const struct version *this, struct state_header *header)
{
    static const char magic[] = "attnkeep", name[] = "linear_elu_decode";
    const struct attn_problem *const p = problem;
    if (!runs(this)) return ATTN_EMACHINE;
    memset(header, 0, sizeof *header);
    memcpy(header->magic, magic, sizeof header->magic);
    memcpy(header->name, name, sizeof name < sizeof header->name ? sizeof name : sizeof header->name - 1);
    header->format = 6;
    header->byte_order = 0x01020304;
    header->fingerprint = UINT64_C(0x7dfbfe7b36f461eb);
    header->dtype = ATTN_F32;
    header->head_dim = 16;
    header->value_dim = 16;
    header->batch = p->batch;
    header->heads = p->heads;
    header->kv_heads = p->kv_heads;
    header->key_heads = heads_of_keys(p);
    if (p->pages) return ATTN_EPAGES;
    if (p->rewind < 0) return ATTN_EPROBLEM;
    if (p->rewind > INT64_MAX / 4) return ATTN_ESIZE;
    header->rewind = p->rewind;
    header->earlier = (p->rewind + this->chunk - 1) / this->chunk;
    header->rewind = header->earlier * this->chunk;
    header->rows = header->page ? 0 : 32 + header->rewind;
    header->read_back = 0;
    header->chunk = this->chunk;
    header->kept = (int64_t)this->kept;
    struct attn_problem cache = {.batch = p->batch, .heads = p->heads, .kv_heads = p->kv_heads, .n_k = header->rows,
        .key_heads = p->key_heads};
    const int error = attn_problem_check(&cache, 16, 16, NULL);
    if (error) return error;
    /* 64 bytes for the alignment of each array */
    size_t bytes = (size_t)round_up(sizeof *header, 64) + 64 + 64 * ROW_ARRAYS;
    bytes = bytes_plus(bytes, bytes_times(sizeof(struct sequence), p->batch));
    const size_t sums = bytes_times(bytes_times(this->kept, p->batch), this->tile == 0 ? p->kv_heads : p->heads);
    bytes = bytes_plus(bytes, bytes_times(sums, 1 + header->earlier));
    bytes = bytes_plus(bytes, this->join_work);
    for (int a = 0; a < ROW_ARRAYS; a++) {
        const int64_t heads = heads_with_rows(a, p->heads, p->kv_heads, header->key_heads);
        const size_t row = bytes_times((size_t)row_bytes_of[a], heads);
        bytes = bytes_plus(bytes, bytes_times(bytes_times(row, p->batch), rows_before(a) + header->rows));
    }
    if (!bytes_fit(bytes)) return ATTN_ESIZE;
    header->bytes = bytes / 64 * 64;
    return 0;
}

static struct places places_in(void *state, const struct state_header *header, const struct version *this)
{
    const struct state_header *const h = header;
    unsigned char *const memory = (unsigned char *)state;
    int64_t at = round_up(sizeof *h, 64);
    struct places places = {.header = (struct state_header *)state};
    places.sequence = (struct sequence *)(void *)(memory + at);
    at = round_up(at + h->batch * (int64_t)sizeof(struct sequence), 64);
    places.kept = memory + at;
    const int64_t sums = h->batch * (this->tile == 0 ? h->kv_heads : h->heads) * h->kept;
    places.earlier = memory + at + sums;
    at += sums * (1 + h->earlier);
    places.work = memory + at;
    at += (int64_t)this->join_work;
    for (int a = 0; a < ROW_ARRAYS; a++) {
        places.rows[a] = memory + at;
        const int64_t rows = rows_before(a) + h->rows;
        at = round_up(at + h->batch * heads_with_rows(a, h->heads, h->kv_heads, h->key_heads) * rows * row_bytes_of[a],
            64);
    }
    return places;
}

/* Continues a hash with n bytes (FNV-1a, 64 bits). */
static uint64_t hash_of(uint64_t hash, const void *bytes, size_t n)
{
    const unsigned char *const byte = (const unsigned char *)bytes;
    for (size_t k = 0; k < n; k++) hash = (hash ^ byte[k]) * UINT64_C(0x100000001b3);
    return hash;
}

static uint64_t check_of(const struct places *at)
{
    const uint64_t hash = hash_of(UINT64_C(0xcbf29ce484222325), at->header, offsetof(struct state_header, check));
    return hash_of(hash, at->sequence, (size_t)at->header->batch * sizeof *at->sequence);
}

/* Sets `places`. Returns ATTN_ESTATE if the state is damaged, or of another kernel or problem. */
static int open_state(const struct attn_problem *problem, const struct version *this, const void *state,
    struct places *places)
{
    struct state_header expected;
    if (!problem || !state) return ATTN_EPOINTER;
    if ((uintptr_t)state % 64) return ATTN_EALIGN;
    const int error = describe(problem, this, &expected);
    if (error) return error;
    if (problem->state_bytes && problem->state_bytes < expected.bytes) return ATTN_ESTATE;
    if (memcmp(state, &expected, offsetof(struct state_header, check)) != 0) return ATTN_ESTATE;
    *places = places_in((void *)(uintptr_t)state, &expected, this);
    if (places->header->check != check_of(places)) return ATTN_ESTATE;
    for (int64_t b = 0; b < expected.batch; b++) {
        const struct sequence s = places->sequence[b];
        if (s.start < 0 || s.first < s.start || s.summed < s.start || s.oldest < s.start || s.oldest > s.summed ||
            s.first > first_needed(&s, 0) || s.length < s.summed || s.draft < s.start || s.draft > s.length ||
            s.min_length < s.start || s.min_length > s.length || (!expected.page && s.length - s.first > expected.rows))
            return ATTN_ESTATE;
    }
    return 0;
}

size_t linear_elu_decode_state(const struct attn_problem *problem)
{
    struct state_header header;
    const struct version this = extend_version(problem);
    return problem && describe(problem, &this, &header) == 0 ? (size_t)header.bytes : 0;
}

static int64_t state_chunk(const struct attn_problem *problem)
{
    return extend_version(problem).chunk;
}

/* Returns the most chunks of a head that a call completes. The first chunk may contain earlier tokens. */
static int64_t chunks_of_call(const struct attn_problem *p, const struct version *this)
{
    return p->n_q / this->chunk + 1;
}

static size_t chunk_sums(const struct attn_problem *problem)
{
    const struct version this = extend_version(problem);
    if (!problem || problem->n_q < 0 || problem->batch < 0 || problem->heads < 0 || problem->kv_heads < 0) return 0;
    const size_t head = bytes_times(this.slot, chunks_of_call(problem, &this)),
        bytes = bytes_times(bytes_times(head, this.tile == 0 ? problem->kv_heads : problem->heads), problem->batch);
    return bytes_fit(bytes) ? bytes : 0;
}

int linear_elu_decode_state_init(const struct attn_problem *problem, void *state)
{
    struct state_header header;
    const struct version this = extend_version(problem);
    if (!problem || !state) return ATTN_EPOINTER;
    if ((uintptr_t)state % 64) return ATTN_EALIGN;
    const int error = describe(problem, &this, &header);
    if (error) return error;
    if (problem->state_bytes && problem->state_bytes < header.bytes) return ATTN_ESTATE;
    const int64_t start = problem->start;
    if (start < 0) return ATTN_EPROBLEM;
    if (start % this.chunk) return ATTN_ELENGTH;
    struct places at = places_in(state, &header, &this);
    memset(state, 0, (size_t)(at.rows[0] - (unsigned char *)state));
    *at.header = header;
    for (int64_t b = 0; b < problem->batch; b++)
        at.sequence[b] = (struct sequence){start, start, start, start, start, start, start};
    at.header->check = check_of(&at);
    return 0;
}

/* Like open_state, for a function that takes the number of a sequence. */
static int open_sequence(const struct attn_problem *problem, const struct version *this, const void *state,
    int64_t sequence, struct places *places)
{
    const int error = open_state(problem, this, state, places);
    return error ? error : sequence < 0 || sequence >= places->header->batch ? ATTN_EPROBLEM : 0;
}

int64_t linear_elu_decode_state_length(const struct attn_problem *problem, const void *state, int64_t sequence)
{
    struct places at;
    const struct version this = extend_version(problem);
    const int error = open_sequence(problem, &this, state, sequence, &at);
    return error ? error : at.sequence[sequence].length;
}

int64_t linear_elu_decode_state_min_length(const struct attn_problem *problem, const void *state, int64_t sequence)
{
    struct places at;
    const struct version this = extend_version(problem);
    const int error = open_sequence(problem, &this, state, sequence, &at);
    if (error) return error;
    const struct sequence s = at.sequence[sequence];
    return max(s.oldest, s.min_length);
}

/* Returns the bytes of the sums of a sequence. */
static size_t bytes_of_sequence(const struct attn_problem *problem, const struct version *this)
{
    return (size_t)(this->tile == 0 ? problem->kv_heads : problem->heads) * this->kept;
}

/* Returns the address of the earlier sums of sequence b that contain the keys before `position`. */
static unsigned char *earlier_sums(const struct places *at, int64_t b, int64_t position, size_t bytes)
{
    const struct state_header *const h = at->header;
    return at->earlier + (size_t)(b * h->earlier + position / h->chunk % h->earlier) * bytes;
}

/* Stores the sums of `count` sequences, beginning with sequence b, as earlier sums. */
static void store_sums(const struct attn_problem *problem, const struct version *this, const struct places *at,
    int64_t b, int64_t count)
{
    const size_t bytes = bytes_of_sequence(problem, this);
    for (int64_t x = b; x < b + count; x++)
        memcpy(earlier_sums(at, x, at->sequence[x].summed, bytes), at->kept + (size_t)x * bytes, bytes);
}

int linear_elu_decode_state_truncate(const struct attn_problem *problem, void *state, int64_t sequence, int64_t length)
{
    struct places at;
    const struct version this = extend_version(problem);
    const int error = open_sequence(problem, &this, state, sequence, &at);
    if (error) return error;
    struct sequence *const s = &at.sequence[sequence];
    if (length < s->start || length > s->length) return ATTN_ELENGTH;
    if (length > s->start && length < linear_elu_decode_state_min_length(problem, state, sequence)) return ATTN_ELENGTH;
    s->length = length;
    s->draft = min(s->draft, length);
    if (length > s->start && length < s->summed) {
        const size_t bytes = bytes_of_sequence(problem, &this);
        s->summed = length - length % this.chunk;
        memcpy(at.kept + (size_t)sequence * bytes, earlier_sums(&at, sequence, s->summed, bytes), bytes);
    }
    if (length == s->start) s->first = s->summed = s->min_length = s->oldest = length;
    at.header->check = check_of(&at);
    return 0;
}

int linear_elu_decode_state_keep(const struct attn_problem *problem, void *state, int64_t sequence, const int64_t *path,
    int64_t count)
{
    struct places at;
    const struct version this = extend_version(problem);
    const int error = open_sequence(problem, &this, state, sequence, &at);
    if (error) return error;
    if (count < 0) return ATTN_EPROBLEM;
    if (count > 0 && !path) return ATTN_EPOINTER;
    const struct sequence s = at.sequence[sequence];
    const int64_t tokens = s.length - s.draft;
    int moves = 0;
    if (count > tokens) return ATTN_ELENGTH;
    for (int64_t k = 0; k < count; k++) {
        if (path[k] < (k ? path[k - 1] + 1 : 0) || path[k] >= tokens) return ATTN_ELENGTH;
        moves |= path[k] != k;
    }
    const int64_t length = s.draft + count;
    if (length > s.start && length < linear_elu_decode_state_min_length(problem, state, sequence)) return ATTN_ELENGTH;
    if (moves) return ATTN_ELENGTH; /* sums have all tokens, or keys are prepared for their positions */
    return linear_elu_decode_state_truncate(problem, state, sequence, length);
}

static void copy_sequence(const struct attn_problem *problem, const struct version *this, const struct places *target,
    int64_t to, const struct places *source, int64_t from)
{
    const struct sequence s = source->sequence[from];
    target->sequence[to] = s;
    const size_t kept = bytes_of_sequence(problem, this), earlier = (size_t)target->header->earlier * kept;
    memcpy(target->kept + (size_t)to * kept, source->kept + (size_t)from * kept, kept);
    if (earlier) memcpy(target->earlier + (size_t)to * earlier, source->earlier + (size_t)from * earlier, earlier);
    const struct rows t = rows_in(target, to), f = rows_in(source, from);
    for (int a = 0; a < ROW_ARRAYS && !source->header->page; a++)
        for (int64_t g = 0; g < heads_with_rows(a, problem->heads, problem->kv_heads, heads_of_keys(problem)); g++) {
            const int64_t before = rows_before(a) * row_bytes_of[a];
            memcpy(t.at[a] + g * t.strides[a].head - before, f.at[a] + g * f.strides[a].head - before,
                (size_t)((s.length - s.first) * row_bytes_of[a] + before));
        }
}

int linear_elu_decode_state_copy(const struct attn_problem *problem, void *to, int64_t to_sequence, const void *from,
    int64_t from_sequence)
{
    struct places target, source;
    const struct version this = extend_version(problem);
    int error = open_sequence(problem, &this, to, to_sequence, &target);
    if (!error) error = open_sequence(problem, &this, from, from_sequence, &source);
    if (error) return error;
    if (to == from && to_sequence == from_sequence) return 0;
    copy_sequence(problem, &this, &target, to_sequence, &source, from_sequence);
    target.header->check = check_of(&target);
    return 0;
}

static void copy_part(unsigned char *whole, unsigned char *part, int64_t bytes, int back)
{
    memcpy(back ? whole : part, back ? part : whole, (size_t)bytes);
}

/* Copies some heads of a sequence from `state` to `part`, or back. */
static int state_part(const struct attn_problem *problem, void *state, int64_t sequence, int64_t first_kv_head,
    const struct attn_problem *part_problem, void *part, int back)
{
    struct places whole, some;
    const struct version this = extend_version(problem);
    int error = open_sequence(problem, &this, state, sequence, &whole);
    if (!error) error = open_sequence(part_problem, &this, part, 0, &some);
    if (error) return error;
    if (problem->pages || part_problem->pages) return ATTN_EPAGES;
    const struct state_header *const w = whole.header, *const p = some.header;
    if (first_kv_head < 0 || first_kv_head > w->kv_heads || p->kv_heads > w->kv_heads - first_kv_head || p->batch != 1)
        return ATTN_EPROBLEM;
    if (w->rows != p->rows || w->earlier != p->earlier || w->foldable != p->foldable) return ATTN_ESTATE;
    if (w->kv_heads == 0 || p->kv_heads == 0) return 0;
    const struct sequence s = back ? some.sequence[0] : whole.sequence[sequence];
    const int64_t members = w->heads / w->kv_heads, sharing = w->kv_heads / w->key_heads;
    if (p->heads / p->kv_heads != members || p->kv_heads / p->key_heads != sharing || first_kv_head % sharing)
        return ATTN_EPROBLEM; /* heads that share a head of q, k or v are in one part */
    /* Sums are followed by the earlier sums of each sequence. */
    const int64_t head = (this.tile == 0 ? 1 : members) * (int64_t)this.kept, bytes = p->kv_heads * head;
    for (int64_t slot = -1; slot < w->earlier; slot++) {
        unsigned char *const from = slot < 0 ? whole.kept : whole.earlier,
            *const to = slot < 0 ? some.kept : some.earlier;
        const int64_t number = slot < 0 ? sequence : sequence * w->earlier + slot;
        copy_part(from + (number * w->kv_heads + first_kv_head) * head, to + max(slot, 0) * bytes, bytes, back);
    }
    const struct rows of_whole = rows_in(&whole, sequence), of_part = rows_in(&some, 0);
    for (int a = 0; a < ROW_ARRAYS; a++) {
        const int64_t all = heads_with_rows(a, w->heads, w->kv_heads, w->key_heads),
            heads = heads_with_rows(a, p->heads, p->kv_heads, p->key_heads), row = row_bytes_of[a],
            first = heads == all ? 0 : heads_with_rows(a, first_kv_head * members, first_kv_head,
                first_kv_head / sharing),
            before = rows_before(a) * row;
        for (int64_t h = 0; h < heads; h++)
            copy_part(of_whole.at[a] + (first + h) * of_whole.strides[a].head - before,
                of_part.at[a] + h * of_part.strides[a].head - before, (s.length - s.first) * row + before, back);
    }
    *(back ? &whole.sequence[sequence] : &some.sequence[0]) = s;
    const struct places *const changed = back ? &whole : &some;
    changed->header->check = check_of(changed);
    return 0;
}

/* Copies n rows of an array to a state, for each head of `sequences` sequences. Row from_row of `from` becomes row
   to_row of `to`. */
static void remember(const struct rows *to, int64_t to_row, const struct rows *from, int64_t from_row, int64_t n,
    int array, int64_t sequences)
{
    const struct attn_strides *const t = &to->strides[array], *const f = &from->strides[array];
    const int64_t row = row_bytes_of[array];
    for (int64_t x = 0; x < sequences; x++) {
        unsigned char *into = to->at[array] + x * t->batch + to_row * row;
        const unsigned char *with = from->at[array] + x * f->batch + from_row * f->row;
        for (int64_t g = 0; g < t->batch; g += t->head, into += t->head, with += f->head) {
            if (f->row == row) {
                memcpy(into, with, (size_t)(n * row));
                continue;
            }
            for (int64_t k = 0; k < n; k++) memcpy(into + k * row, with + k * f->row, (size_t)row);
        }
    }
}

/* Drops `from` rows of each head, and moves the later rows forward, so that n rows remain. The first 0 rows
   do not move. */
static void slide(const struct rows *rows, int64_t sequences, int64_t from, int64_t n)
{
    for (int a = 0; a < ROW_ARRAYS; a++) {
        const struct attn_strides *const s = &rows->strides[a];
        for (int64_t x = 0; x < sequences; x++)
            for (int64_t g = 0; g < s->batch; g += s->head) {
                const int64_t begin = 0 ? 0 : -row_before(a);
                unsigned char *const first = rows->at[a] + x * s->batch + g + begin * s->row;
                memmove(first, first + from * s->row, (size_t)((n - begin) * s->row));
            }
    }
}

/* Returns 0 if sequence `right` can be appended to `left`, otherwise an error. A sequence has room for `rows` rows. */
static int fold_error(const struct sequence *left, const struct sequence *right, int64_t rows)
{
    const int sums = right->summed > right->start;
    if (right->length == right->start) return 0;
    if (right->length > INT64_MAX / 2 - left->length) return ATTN_ESIZE;
    if (right->start && right->start != left->length) return ATTN_ELENGTH;
    (void)sums;
    return left->length - left->summed + right->length - right->summed >= rows ? ATTN_ECAPACITY : 0;
}

/* Appends sequence b of `from` to sequence b of `to`. It adds the sums, and copies the rows of keys that are not in
   the sums. */
static void fold_sequence(const struct attn_problem *problem, const struct version *this, const struct places *to,
    const struct places *from, int64_t b)
{
    struct sequence *const l = &to->sequence[b];
    const struct sequence left = *l, right = from->sequence[b];
    const int64_t open = left.length - left.summed, summed = right.summed - right.start,
        more = right.length - right.summed, skip = right.summed - right.first;
    if (right.length == right.start) return;
    const struct rows target = rows_in(to, b), source = rows_in(from, b);
    if (left.length > left.start) slide(&target, 1, left.summed - left.first, open);
    if (left.length == left.start)
        copy_sequence(problem, this, to, b, from, b);
    else if (summed > 0) {
        const int64_t tasks = this->tile == 0 ? problem->kv_heads : problem->heads;
        const size_t kept = bytes_of_sequence(problem, this);
        struct call call = {.p = *problem, .kept = to->kept + (size_t)b * kept,
            .folded = from->kept + (size_t)b * kept};
        call.sharing = sharing_of(problem);
        call.p.n_k = summed;
        for (int64_t task = 0; task < tasks; task++) this->join(&call, task, to->work);
    }
    for (int a = 0; a < ROW_ARRAYS; a++) remember(&target, open, &source, skip, more, a, 1);
    l->start = left.start;
    l->length = left.length + summed + more;
    l->first = l->summed = l->oldest = left.summed + summed;
    l->draft = l->length;
    l->min_length = open > 0 && summed > 0 ? l->length
        : right.min_length > right.start   ? left.length + right.min_length - right.start
                                           : left.min_length;
}

int linear_elu_decode_state_fold(const struct attn_problem *problem, void *left, const void *right)
{
    struct places to, from;
    const struct version this = extend_version(problem);
    int error = open_state(problem, &this, left, &to);
    if (!error) error = open_state(problem, &this, right, &from);
    if (error) return error;
    if (left == right) return ATTN_EPOINTER;
    for (int64_t b = 0; b < problem->batch && !error; b++)
        error = fold_error(&to.sequence[b], &from.sequence[b], to.header->rows);
    if (error) return error; /* no sequence has been changed */
    const struct arithmetic before = begin_arithmetic();
    for (int64_t b = 0; b < problem->batch; b++) fold_sequence(problem, &this, &to, &from, b);
    end_arithmetic(&before);
    to.header->check = check_of(&to);
    return 0;
}

/* ==== appending tokens ==== */

/* Returns the workspace of a thread, in bytes, for a call that extends a state. */
static size_t bytes_of_extending(const struct attn_problem *problem)
{
    (void)problem;
    const struct version this = extend_version(problem);
    size_t bytes = bytes_a_thread(&this);
    return bytes;
}


/* Returns `rows` with row `first` as row 0. A negative `first` is allowed, because earlier rows are not read. */
static struct rows from_row(struct rows rows, int64_t first)
{
    for (int a = 0; a < GIVEN; a++)
        rows.at[a] = (unsigned char *)((uintptr_t)rows.at[a] + (uintptr_t)first * (uintptr_t)rows.strides[a].row);
    return rows;
}


/* Neighbouring sequences that a call extends together, piece by piece. They have equal lengths, equally many tokens in
   their sums, and get equally many tokens. */
struct growth {
    struct call call; /* the call for the next piece */
    struct version this;
    struct rows given;    /* the rows of the next tokens */
    struct sequence s;    /* describes each of the sequences */
    int64_t b, count;     /* the number of the first sequence, and the number of sequences */
    int64_t left, m;      /* left: tokens that are not appended yet; m: the tokens of the current piece */
    int64_t given_tokens; /* the tokens of the call that are appended */
    int in_place, stores; /* in_place: the piece reads keys and values of the caller; stores: it stores earlier sums */
};

/* The arguments of a call that all its sequences share. */
struct appending {
    const struct version *extends;
    const struct places *at;
    int asked, threads; /* asked: the caller wants the rows of out */
    unsigned char *work; /* the workspace of the threads */
};

/* Returns the bytes of the workspace for the lists of growths and jobs, and for the sequences that have a page. */
static size_t bytes_of_growths(const struct attn_problem *p)
{
    const size_t lists = whole_lines(bytes_times(sizeof(struct growth) + sizeof(struct job), p->batch));
    return lists;
}

/* Returns the bytes of a page, or 0 for an error. */
size_t linear_elu_decode_page(const struct attn_problem *problem)
{
    (void)problem;
    return 0;
}

/* Returns the number of new tokens of sequence b. */
static int64_t new_tokens_of(const struct attn_problem *p, int64_t b)
{
    return p->cu_seqlens ? p->cu_seqlens[b + 1] - p->cu_seqlens[b] : p->lengths ? p->lengths[b] : p->n_q;
}

/* Returns the distance from the first row of an array to the first new row of sequence b. */
static int64_t before_sequence(const struct attn_problem *p, const struct attn_strides *s, int64_t b)
{
    return p->cu_seqlens ? p->cu_seqlens[b] * s->row : b * s->batch;
}

/* Begins to append n tokens to each of `count` sequences, beginning with sequence b. `whole` is the call of all
   sequences. */
static void begin_growth(struct growth *g, const struct call *whole, const struct appending *x, int64_t b,
    int64_t count, int64_t n)
{
    struct call *const call = &g->call;
    *call = *whole;
    g->given = (struct rows){{(unsigned char *)(uintptr_t)call->k, (unsigned char *)(uintptr_t)call->v},
        {in_bytes(call->p.k, sizeof *call->k), in_bytes(call->p.v, sizeof *call->v)}};
    g->s = x->at->sequence[b];
    g->s.draft = g->s.length;
    g->b = b;
    g->count = count;
    g->left = n;
    g->given_tokens = 0;
    for (int a = 0; a < GIVEN; a++)
        if (g->given.at[a]) g->given.at[a] += before_sequence(&call->p, &g->given.strides[a], b);
    call->p.batch = count;
    if (x->asked) {
        call->q += before_sequence(&call->p, &call->p.q, b);
        call->out += before_sequence(&call->p, &call->p.out, b);
    }
    call->kept = x->at->kept +
        (size_t)b * (size_t)(x->extends->tile == 0 ? call->p.kv_heads : call->p.heads) * x->extends->kept;
    if (call->p.chunk_sums) {
        const int64_t heads = x->extends->tile == 0 ? call->p.kv_heads : call->p.heads;
        call->head_chunks = chunks_of_call(&call->p, x->extends);
        call->first_chunk = g->s.summed / x->extends->chunk;
        call->chunk_sums = (unsigned char *)call->p.chunk_sums +
            (size_t)(b * heads * call->head_chunks) * x->extends->slot;
    }
}

/* Stores the rows of n tokens after the first `length` tokens in `to`,
   from row to_row on. Keys are prepared and rows are
   rounded first, if the state stores them so. Returns 0 or an error. */
static int store_rows(const struct rows *to, int64_t to_row, const struct rows *from, const struct call *call,
    int64_t length, int64_t n, const struct appending *x)
{
    (void)length;
    (void)x;
    for (int a = 0; a < COPIED; a++) remember(to, to_row, from, 0, n, a, call->p.batch);
    return 0;
}

/* Sets the sizes of the call for a piece of m tokens, and chooses its version. Returns 0 or an error. */
static int choose_version(struct growth *g, const struct appending *x, int64_t m)
{
    struct call *const call = &g->call;
    const struct sequence *const s = &g->s;
    (void)x;
    g->m = m;
    call->p.n_q = x->asked ? m : 0;
    call->p.n_k = s->length + m;
    call->start = s->start;
    call->length = s->length;
    call->summed = s->summed;
    g->this = *x->extends;
    return 0;
}

/* Prepares the call for the next tokens of a growth: as many as its state can take before other rows leave it.
   Returns 0 or an error. */
static int begin_piece(struct growth *g, const struct appending *x)
{
    const int64_t rows = x->at->header->rows, rewind = x->at->header->rewind;
    const struct rows kept = rows_in(x->at, g->b);
    struct call *const call = &g->call;
    struct sequence *const s = &g->s;
    int64_t m = g->left;
    /* The state stores the sums before each of the last `earlier` chunks. So the call adds these chunks one by
       one. */
    const int64_t chunk = x->extends->chunk, last = (s->length + g->left) / chunk - x->at->header->earlier,
        next = s->summed / chunk + 1;
    g->stores = x->at->header->earlier > 0 && s->length + g->left >= next * chunk && next > last;
    if (g->stores) {
        m = next * chunk - s->length;
        store_sums(&call->p, x->extends, x->at, g->b, g->count);
    } else if (x->at->header->earlier > 0 && next <= last) {
        m = last * chunk - s->length;
        s->oldest = s->summed;
    }
    g->in_place = 0;
    /* The call's arrays may contain all rows that are needed. */
    g->in_place = first_needed(s, rewind) >= s->length - g->given_tokens;
    g->in_place &= m >= chunk;
    if (g->in_place) {
        const struct rows numbered = from_row(g->given, -s->length);
        set_rows(call, &numbered);
    } else {
        const int64_t needed = first_needed(s, rewind);
        if (s->length - s->first + m > rows && needed > s->first) {
            slide(&kept, g->count, needed - s->first, s->length - needed);
            s->first = needed;
        }
        m = min(m, rows - (s->length - s->first));
        const int error = store_rows(&kept, s->length - s->first, &g->given, call, s->length, m, x);
        if (error) return error;
        const struct rows numbered = from_row(kept, -s->first);
        set_rows(call, &numbered);
    }
    return choose_version(g, x, m);
}

/* Counts the tokens of the piece that the call has computed, and makes the next tokens the new ones. */
static void end_piece(struct growth *g, const struct appending *x)
{
    struct call *const call = &g->call;
    struct sequence *const s = &g->s;
    const int64_t m = g->m;
    s->length += m;
    g->left -= m;
    const int64_t summed = s->summed;
    count_summed(x->extends, s);
    if (s->summed > summed)
        s->oldest = !g->stores ? s->summed : max(s->oldest, s->summed - x->at->header->earlier * x->extends->chunk);
    if (g->in_place) { /* copies the rows that later tokens need into the state */
        const struct rows kept = rows_in(x->at, g->b);
        s->first = first_needed(s, x->at->header->rewind);
        const int64_t rows = s->length - s->first;
        for (int a = 0; a < ROW_ARRAYS; a++)
            remember(&kept, -row_before(a), &g->given, m - rows - row_before(a), rows + row_before(a), a, g->count);
    }
    for (int64_t k = 0; k < g->count; k++) x->at->sequence[g->b + k] = *s;
    g->given = from_row(g->given, m);
    g->given_tokens += m;
    if (!x->asked) return;
    call->q += m * call->p.q.row;
    call->out += m * call->p.out.row;
}

/* Sorts jobs by the work of a task, the most work first, so that threads end at about the same time. */
static void sort_jobs(struct job *job, int64_t jobs)
{
    for (int64_t gap = jobs / 2; gap > 0; gap = gap > 2 ? gap * 5 / 11 : gap / 2)
        for (int64_t k = gap; k < jobs; k++) {
            const struct job moved = job[k];
            int64_t to = k;
            for (; to >= gap && job[to - gap].effort < moved.effort; to -= gap) job[to] = job[to - gap];
            job[to] = moved;
        }
}

/* Runs the calls of a list, so that all threads have about the same work. Each thread has `bytes` of workspace. */
static int run_jobs(struct job *job, int64_t jobs, int threads, unsigned char *workspace, size_t bytes)
{
    double all = 0;
    for (int64_t k = 0; k < jobs; k++) all += job[k].effort = effort(&job[k].call->p, job[k].this);
    const struct attn_problem *const p = &job->call->p;
    if (p->threads == 0 || p->team) threads = useful_threads(all, threads);
    for (int64_t k = 0; k < jobs; k++) {
        const int error = count_tasks(&job[k], threads);
        if (error) return error;
        job[k].effort /= (double)max(job[k].tasks, 1);
    }
    /* Threads share a task only if it takes long, because they have to wait for each other. */
    for (int64_t k = 0; k < jobs && jobs > 1; k++)
        if (job[k].this->together == 1 && job[k].effort * 16 * threads < all) job[k].alone = job[k].tasks;
    sort_jobs(job, jobs);
    struct work work = {.job = job, .jobs = jobs, .threads = threads, .workspace = workspace, .bytes = bytes};
    in_threads(&work, work_on);
    return 0;
}
size_t linear_elu_decode_extend_workspace(const struct attn_problem *problem)
{
    if (!problem) return 0;
    const size_t bytes = bytes_times(bytes_of_extending(problem), threads_served(problem));
    size_t all = bytes_plus(bytes, bytes_of_growths(problem));
    return bytes_fit(all) ? all : 0;
}

/* Appends the tokens of all growths. In each round, threads share the work of a piece of each growth. */
static int grow(struct growth *growth, int64_t growths, struct job *job, const struct appending *x,
    const struct attn_problem *p, size_t bytes)
{
    (void)p;
    for (;;) {
        int64_t jobs = 0, pieces = 0;
        int error = 0;
        for (int64_t k = 0; k < growths && !error; k++) {
            if (growth[k].left == 0) continue;
            error = begin_piece(&growth[k], x);
            pieces++;
        }
        for (int64_t k = 0; k < growths && !error; k++) {
            if (growth[k].left == 0) continue;
            job[jobs++] = (struct job){.call = &growth[k].call, .this = &growth[k].this};
        }
        if (!error && jobs) error = run_jobs(job, jobs, x->threads, x->work, bytes);
        if (error || !pieces) return error;
        for (int64_t k = 0; k < growths; k++)
            if (growth[k].left > 0) end_piece(&growth[k], x);
    }
}

/* Returns whether the tokens of each sequence follow those of the previous one, and all are among the n_q rows. */
static int in_one_row(const struct attn_problem *p)
{
    int ordered = p->cu_seqlens[0] >= 0;
    for (int64_t b = 0; b < p->batch; b++) ordered &= p->cu_seqlens[b] <= p->cu_seqlens[b + 1];
    return ordered && p->cu_seqlens[max(p->batch, 0)] <= p->n_q;
}

int linear_elu_decode_extend(const struct attn_problem *problem, const struct linear_elu_decode_params *params,
    const float *q, const float *k, const float *v,
    float *out, void *state,
    void *workspace)
{
    if (!problem) return ATTN_EPOINTER;
    if (problem->query_start) return ATTN_EPROBLEM; /* the state knows the positions */
    struct attn_problem new_tokens = *problem;
    new_tokens.n_k = problem->n_q;
    if (problem->cu_seqlens && problem->batch > 1) new_tokens.batch = 1; /* all tokens are in one row of memory */
    struct call call = {.params = params, .q = q, .k = k, .v = v, .out = out};
    struct places at;
    const struct version this = extend_version(problem);
    int error = take_problem(&call, &new_tokens, attn_problem_check);
    if (!error) error = open_state(problem, &this, state, &at);
    if (error) return error;
    if (problem->cu_seqlens && (problem->lengths || !in_one_row(problem))) return ATTN_EPROBLEM;
    call.p.batch = problem->batch;
    struct appending x = {.extends = &this, .at = &at};
    int64_t tokens = 0;
    /* This limits the length of a sequence, so that the offset of each row of an array fits in int64_t. */
    const int64_t row_strides[GIVEN] = {call.p.k.row, call.p.v.row};
    int64_t widest = max(16, 16);
    for (int a = 0; a < GIVEN; a++) widest = max(widest, row_strides[a]);
    const int64_t most = INT64_MAX / 8 / widest;
    for (int64_t b = 0; b < call.p.batch; b++) {
        const int64_t n = new_tokens_of(problem, b), length = at.sequence[b].length;
        if (n < 0 || n > call.p.n_q) return ATTN_EPROBLEM;
        if (n > most - length) return ATTN_ESIZE;
        tokens += n > 0;
    }
    if (tokens == 0 || call.p.heads == 0) return 0;
    const int asked = call.q || call.out; /* without queries, the call only changes the state */
    if ((asked && (!q || !out)) || !k || !v) return ATTN_EPOINTER;
    if ((out && (const void *)out == q) ||
        (out && (const void *)out == k) ||
        (out && (const void *)out == v)) return ATTN_EPOINTER;
    if ((uintptr_t)problem->chunk_sums % 64) return ATTN_EALIGN;
    if (problem->chunk_sums && problem->chunk_sums_bytes && problem->chunk_sums_bytes < chunk_sums(problem))
        return ATTN_EWORKSPACE;
    const size_t bytes = bytes_of_extending(problem);
    size_t first = bytes_of_growths(problem);
    x.asked = asked;
    error = take_workspace(problem, workspace, first, bytes, &x.threads);
    if (error) return error;
    x.work = (unsigned char *)workspace + first;
    struct growth *const growth = (struct growth *)workspace;
    struct job *const job = (struct job *)(void *)(growth + call.p.batch);
    int64_t growths = 0;
    for (int64_t b = 0, end; b < call.p.batch; b = end) {
        const int64_t n = new_tokens_of(problem, b);
        end = b + 1;
        while (end < call.p.batch && !problem->cu_seqlens && !problem->pages && new_tokens_of(problem, end) == n &&
            memcmp(&at.sequence[end], &at.sequence[b], sizeof *at.sequence) == 0)
            end++;
        if (n > 0) begin_growth(&growth[growths++], &call, &x, b, end - b, n);
    }
    error = grow(growth, growths, job, &x, &call.p, bytes);
    at.header->check = check_of(&at);
    return error;
}


static int params_init_any(void *params, uint64_t seed, void *storage)
{
    return linear_elu_decode_params_init((struct linear_elu_decode_params *)params, seed, storage);
}

static int forward_any(const struct attn_problem *problem, const void *params, const void *q, const void *k,
    const void *v, void *out, void *workspace)
{
    return linear_elu_decode_forward(problem, (const struct linear_elu_decode_params *)params, (const float *)q,
        (const float *)k, (const float *)v, (float *)out, workspace);
}

static int extend_any(const struct attn_problem *problem, const void *params, const void *q, const void *k,
    const void *v, void *out, void *state,
    void *workspace)
{
    return linear_elu_decode_extend(problem, (const struct linear_elu_decode_params *)params, (const float *)q,
        (const float *)k, (const float *)v, (float *)out, state, workspace);
}

const struct attn_kernel linear_elu_decode_kernel = {
    .name = "linear_elu_decode", .version = "0.1.0", .dtype = ATTN_F32, .head_dim = 16, .value_dim = 16,
    .params = 0, .param = NULL, .params_bytes = sizeof(struct linear_elu_decode_params),
    .params_size = linear_elu_decode_params_size, .params_init = params_init_any,
        .workspace = linear_elu_decode_workspace,
    .forward = forward_any,
    .state = linear_elu_decode_state, .state_init = linear_elu_decode_state_init,
        .extend_workspace = linear_elu_decode_extend_workspace,
    .extend = extend_any, .state_length = linear_elu_decode_state_length,
        .state_min_length = linear_elu_decode_state_min_length,
    .state_truncate = linear_elu_decode_state_truncate, .state_copy = linear_elu_decode_state_copy,
    .state_fold = linear_elu_decode_state_fold, .page = linear_elu_decode_page,
    .state_keep = linear_elu_decode_state_keep,
    .key_dtype = ATTN_F32, .value_dtype = ATTN_F32,
    .before = INT64_MAX, .after = 0, .period = 1, .names_heads = 0,
    .names_sequences = 0, .in_parts = 0,
    .saved_power = 0, .has_sink = 0, .open_keys = 0, .end_of_keys = INT64_MAX,
    .state_chunk = state_chunk, .state_part = state_part,
    .chunk_sums = chunk_sums,
};
#endif /* a compiler of this language */
