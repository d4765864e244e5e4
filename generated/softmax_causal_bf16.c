/* softmax_causal_bf16.c, made by attnc 0.1.0: attnc softmax_causal_bf16.yaml
   C11 with GNU extensions, for a C compiler; C++ includes softmax_causal_bf16.h.
   softmax attention of a decoder whose queries, keys, values and results are stored in bf16
   Vaswani et al., Attention Is All You Need (NeurIPS 2017), section 3.2.3

   Computes, in bf16, over the axes b (batch), g (key/value head), m (query head of g), i (query), j (key), d (64),
   e (64):
     q [b g m i d]
     k [b g j d]
     v [b g j e]
     x3 [b g m i j] = sum over d of q * k
     x4 [b g m i j] = exp(x3 * 0.125)
     x5 [b g m i] = sum over j of x4 if j <= i + query_start
     x6 [b g m i e] = sum over j of x4 * v if j <= i + query_start
     x7 [b g m i e] = x5 == 0 ? 0 : x6 / x5
     out = x7
   query_start is the position of the first query: problem.query_start[b], or n_k - n_q if that is NULL.

   How: each vector lane holds one query. Keys are processed in tiles,
   so row sums and maxima need no reduction across lanes.
   The sums of a tile start from zero and are added to the sums so far. Tiles that no query sees are skipped.
   For few queries each lane holds one key. The queries of all heads that share keys are the rows of one tile,
   so each key is read once.
   The chunks of keys are divided among the threads. Their sums are added in the order of the chunks.
     x86-64-v4  quadratic on matrix units, tiles of 16 queries and 64 keys, in blocks of 512 queries;
     217152 bytes of workspace per thread
     x86-64-v4  few       tiles of 64 queries and 128 keys; 154624 bytes of workspace per thread
     x86-64-v4  quadratic with products of bf16, tiles of 64 queries and 288 keys; 216064 bytes of workspace per thread
     x86-64-v4  few       tiles of 64 queries and 128 keys; 154624 bytes of workspace per thread
     x86-64-v4  quadratic tiles of 32 queries and 96 keys, in blocks of 256 queries;
     261248 bytes of workspace per thread
     x86-64-v4  few       tiles of 64 queries and 128 keys; 154624 bytes of workspace per thread
     x86-64-v3  quadratic tiles of 16 queries and 96 keys, in blocks of 256 queries;
     255040 bytes of workspace per thread
     x86-64-v3  few       tiles of 64 queries and 128 keys; 154624 bytes of workspace per thread
     generic    quadratic tiles of 16 queries and 96 keys, in blocks of 128 queries;
     155200 bytes of workspace per thread
     generic    few       tiles of 64 queries and 128 keys; 154624 bytes of workspace per thread

   Contents; each section begins with ====. "generic" has the simplest code, so read it first.
     (top)      struct call, and what all targets share
     x86-64-v4  softmax_causal_bf16_rows_v4bf16amx, softmax_causal_bf16_few_v4bf16amx
     x86-64-v4  softmax_causal_bf16_rows_v4bf16, softmax_causal_bf16_few_v4bf16
     x86-64-v4  softmax_causal_bf16_rows_v4, softmax_causal_bf16_few_v4
     x86-64-v3  softmax_causal_bf16_rows_v3, softmax_causal_bf16_few_v3
     generic    softmax_causal_bf16_rows_any, softmax_causal_bf16_few_any
     choice     the version that this machine runs
     interface  softmax_causal_bf16_workspace, softmax_causal_bf16_forward, softmax_causal_bf16_kernel

   Compile with: cc -O2 -fopenmp softmax_causal_bf16.c … -lattnrt -lm */
#ifdef __cplusplus
#error "softmax_causal_bf16.c is C, not C++: compile it with a C compiler"
#elif !defined __STDC_VERSION__ || __STDC_VERSION__ < 199901L
#error "softmax_causal_bf16.c is C11, not C89: compile it without -std=, or with -std=gnu11"
extern int softmax_causal_bf16_is_c11;
#elif !defined __GNUC__
#error "softmax_causal_bf16.c uses GNU C vector extensions: compile it with gcc or clang"
extern int softmax_causal_bf16_is_gnu_c;
#else
#include "softmax_causal_bf16.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#ifdef _OPENMP
#include <omp.h>
#endif
#ifdef __unix__
#include <sched.h>
#endif
#if defined(__x86_64__) && !defined(ATTN_EMULATE_TILES)
#include <immintrin.h>
#endif

#if defined(__OPTIMIZE__)
#define INLINE static inline __attribute__((always_inline, unused))
#else /* without optimisation, inlining only doubles the compile time */
#define INLINE static inline __attribute__((unused))
#endif
#define APART static __attribute__((noinline))
#define UNROLL _Pragma("GCC unroll 16")
#ifndef ATTN_SLOWER_TOO
#define ATTN_SLOWER_TOO 0 /* tests set 1, to run a version also where it is slow */
#endif
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("fp-contract=fast") /* a * b + c is one instruction (FMA), even with -std=c11 */
#pragma GCC optimize("no-schedule-insns") /* scheduling before register allocation would spill registers */
#endif

struct call { /* the arguments of a call; all threads read the same struct */
    struct attn_problem p;
    const struct softmax_causal_bf16_params *params;
    const uint16_t *q;
    const uint16_t *k;
    const uint16_t *v;
    uint16_t *out;
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

union bits { uint32_t bits; float value; };
INLINE float widened_bf16(uint16_t x) { return (union bits){(uint32_t)x << 16}.value; } /* the upper half of a float */
INLINE uint16_t narrowed(float value) /* rounds to nearest, ties to even; NaN stays NaN */
{
    const uint32_t x = (union bits){.value = value}.bits;
    return (uint16_t)((value != value ? x | 0x400000 : x + 0x7fff + (x >> 16 & 1)) >> 16);
}

/* ==== tile registers: 16 rows of 64 bytes ==== */
#ifdef ATTN_EMULATE_TILES
#include "attnrt_tiles.h" /* plain C for the macros below */
#else
#ifdef ATTN_NO_TILES
#define attn_tiles() 0
#endif
/* A task configures the tile registers first, and releases them at its end. */
#define configure_tiles() \
    __asm__ volatile("ldtilecfg %0" : : "m"(*(const uint8_t(*)[64])tile_shapes) : "memory")
#define release_tiles() __asm__ volatile("tilerelease" : : : "memory")
#define tile_zero(t) __asm__ volatile("tilezero %%tmm" #t : : :)
#define tile_load(t, from, stride) \
    __asm__ volatile("tileloadd (%0,%1,1), %%tmm" #t : : "r"(from), "r"((int64_t)(stride)) : "memory")
#define tile_store(t, to, stride) \
    __asm__ volatile("tilestored %%tmm" #t ", (%0,%1,1)" : : "r"(to), "r"((int64_t)(stride)) : "memory")
#define tile_multiply(c, a, b) __asm__ volatile("tdpbf16ps %%tmm" #b ", %%tmm" #a ", %%tmm" #c : : :)
#define take_not_less(lanes, x, least) __asm__("vcmpps $0x15, %2, %1, %0" : "=Yk"(lanes) : "v"(x), "v"(least))
#define take_remainder(f, x) __asm__("vreduceps $0, %1, %0" : "=v"(f) : "v"(x))
#define take_scaled(y, p, n, lanes) \
    __asm__("vscalefps %2, %1, %0%{%3%}%{z%}" : "=v"(y) : "v"(p), "v"(n), "Yk"(lanes))
#define take_root(y, x) __asm__("vsqrtps %1, %0" : "=v"(y) : "v"(x))
static __attribute__((unused)) const uint8_t tile_shapes[64] = {
    1, [16] = 64, [18] = 64, [20] = 64, [22] = 64, [24] = 64, [26] = 64, [28] = 64, [30] = 64,
    [48] = 16, 16, 16, 16, 16, 16, 16, 16};
#endif

/* ==== x86-64-v4 with products of bf16, matrix units ==== */
#if defined(__x86_64__) || defined(ATTN_EMULATE_TILES)
#ifdef ATTN_EMULATE_TILES
#define TARGET_v4bf16amx
#else
#define TARGET_v4bf16amx __attribute__((target("amx-tile,amx-bf16,avx512bf16,avx512f,avx512bw,avx512cd,avx512dq,avx512vl,avx2,bmi,bmi2,fma,f16c")))
#endif

/* Each of these types has 16 elements:
   - vec_v4bf16amx: numbers
   - mask_v4bf16amx: results of comparisons
   - ints_v4bf16amx: positions
   - wide_v4bf16amx: doubles */
typedef float vec_v4bf16amx __attribute__((vector_size(64)));
typedef float stored_v4bf16amx __attribute__((vector_size(64), aligned(sizeof(float)), may_alias)); /* in memory,
    unaligned */
typedef int32_t mask_v4bf16amx __attribute__((vector_size(64)));
typedef int64_t ints_v4bf16amx __attribute__((vector_size(128)));
typedef uint16_t halves_v4bf16amx __attribute__((vector_size(2 * 16), aligned(2), may_alias));
TARGET_v4bf16amx INLINE vec_v4bf16amx load_v4bf16amx(const float *p) { return *(const stored_v4bf16amx *)(const void
    *)p; }
TARGET_v4bf16amx INLINE void store_v4bf16amx(float *p, vec_v4bf16amx x) { *(stored_v4bf16amx *)(void *)p = x; }
TARGET_v4bf16amx INLINE vec_v4bf16amx splat_v4bf16amx(float x) { return x - (vec_v4bf16amx){0}; }

/* Returns a in the lanes of the mask, and b in the other lanes. */
TARGET_v4bf16amx INLINE vec_v4bf16amx pick_v4bf16amx(mask_v4bf16amx m, vec_v4bf16amx a,
    vec_v4bf16amx b) { return (vec_v4bf16amx)((m & (mask_v4bf16amx)a) | (~m & (mask_v4bf16amx)b)); }

/* Stores each lane as 16 bits, rounded like narrowed(). Bits of a NaN may differ. */
TARGET_v4bf16amx INLINE void store_narrowed_v4bf16amx(uint16_t *p, vec_v4bf16amx x)
{
    const mask_v4bf16amx bits = (mask_v4bf16amx)x, made = (mask_v4bf16amx)pick_v4bf16amx((mask_v4bf16amx)(x != x),
        (vec_v4bf16amx)(bits | 0x400000),
        (vec_v4bf16amx)(bits + 0x7fff + (bits >> 16 & 1)));
    *(halves_v4bf16amx *)(void *)p = __builtin_convertvector(made >> 16, halves_v4bf16amx);
}

static const ints_v4bf16amx lane_v4bf16amx = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};

TARGET_v4bf16amx INLINE vec_v4bf16amx max_v4bf16amx(vec_v4bf16amx a,
    vec_v4bf16amx b) { return pick_v4bf16amx((mask_v4bf16amx)(a < b), b, a); }

/* Returns 2^x with a relative error below 1e-8. It is 0 for x < -126.0f, because subnormal numbers are slow.
   NaN stays NaN. */
TARGET_v4bf16amx INLINE vec_v4bf16amx exp2_v4bf16amx(vec_v4bf16amx x)
{
    vec_v4bf16amx f, y;
    uint16_t normal;
    take_not_less(normal, x, splat_v4bf16amx(-126.0f));
    take_remainder(f, x); /* x minus the nearest integer, 0 for infinity */
    vec_v4bf16amx p = f * 0.00015453163f + 0.0013390863f;
    p = p * f + 0.0096180826f;
    p = p * f + 0.055503571f;
    p = p * f + 0.24022651f;
    p = p * f + 0.69314719f;
    p = p * f + 1.0f;
    take_scaled(y, p, x - f, normal); /* p * 2^(x - f) */
    return y;
}

/* Returns 2^x with a relative error below 1e-4, for results in bf16. */
TARGET_v4bf16amx INLINE vec_v4bf16amx exp2_coarse_v4bf16amx(vec_v4bf16amx x)
{
    vec_v4bf16amx f, y;
    uint16_t normal;
    take_not_less(normal, x, splat_v4bf16amx(-126.0f));
    take_remainder(f, x);
    vec_v4bf16amx p = f * 0.0558282f + 0.2426278f;
    p = p * f + 0.6931214f;
    p = p * f + 0.9999251f;
    take_scaled(y, p, x - f, normal);
    return y;
}

/* Returns the sum over the lanes of x. */
TARGET_v4bf16amx INLINE float lane_sum_v4bf16amx(vec_v4bf16amx x)
{
    x += __builtin_shufflevector(x, x, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7);
    x += __builtin_shufflevector(x, x, 4, 5, 6, 7, 0, 1, 2, 3, 12, 13, 14, 15, 8, 9, 10, 11);
    x += __builtin_shufflevector(x, x, 2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13);
    x += __builtin_shufflevector(x, x, 1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14);
    return x[0];
}

/* Returns the maximum over the lanes of x. If a lane is NaN, the result may be NaN or a number. */
TARGET_v4bf16amx INLINE float lane_max_v4bf16amx(vec_v4bf16amx x)
{
    x = max_v4bf16amx(x, __builtin_shufflevector(x, x, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7));
    x = max_v4bf16amx(x, __builtin_shufflevector(x, x, 4, 5, 6, 7, 0, 1, 2, 3, 12, 13, 14, 15, 8, 9, 10, 11));
    x = max_v4bf16amx(x, __builtin_shufflevector(x, x, 2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13));
    x = max_v4bf16amx(x, __builtin_shufflevector(x, x, 1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14));
    return x[0];
}

/* Returns a vector whose lane r is the sum over the lanes of t[r]. Overwrites t. */
TARGET_v4bf16amx INLINE vec_v4bf16amx lane_sums_v4bf16amx(vec_v4bf16amx *t)
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

/* Transposes 16 vectors in place. Each step swaps one bit of the row and column numbers. */
TARGET_v4bf16amx INLINE void exchange_v4bf16amx(vec_v4bf16amx *t)
{
    UNROLL for (int r = 0; r < 16; r++)
        if (!(r & 1)) {
            const vec_v4bf16amx a = t[r], b = t[r + 1];
            t[r] = __builtin_shufflevector(a, b, 0, 16, 2, 18, 4, 20, 6, 22, 8, 24, 10, 26, 12, 28, 14, 30);
            t[r + 1] = __builtin_shufflevector(a, b, 1, 17, 3, 19, 5, 21, 7, 23, 9, 25, 11, 27, 13, 29, 15, 31);
        }
    UNROLL for (int r = 0; r < 16; r++)
        if (!(r & 2)) {
            const vec_v4bf16amx a = t[r], b = t[r + 2];
            t[r] = __builtin_shufflevector(a, b, 0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29);
            t[r + 2] = __builtin_shufflevector(a, b, 2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, 31);
        }
    UNROLL for (int r = 0; r < 16; r++)
        if (!(r & 4)) {
            const vec_v4bf16amx a = t[r], b = t[r + 4];
            t[r] = __builtin_shufflevector(a, b, 0, 1, 2, 3, 16, 17, 18, 19, 8, 9, 10, 11, 24, 25, 26, 27);
            t[r + 4] = __builtin_shufflevector(a, b, 4, 5, 6, 7, 20, 21, 22, 23, 12, 13, 14, 15, 28, 29, 30, 31);
        }
    UNROLL for (int r = 0; r < 16; r++)
        if (!(r & 8)) {
            const vec_v4bf16amx a = t[r], b = t[r + 8];
            t[r] = __builtin_shufflevector(a, b, 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23);
            t[r + 8] = __builtin_shufflevector(a, b, 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31);
        }
}

/* Like transpose_v4bf16amx, but rounds to 16-bit elements like narrowed(). */
TARGET_v4bf16amx APART void transpose_narrowed_v4bf16amx(const float *from, int64_t from_row, int64_t rows,
    int64_t columns, uint16_t *to,
    int64_t to_row, int64_t ahead)
{
    const int64_t whole = rows - rows % 16, deep = columns - columns % 16;
    for (int64_t k = 0; k < whole / 16 * (deep / 16); k++) {
        const int64_t row = k % (whole / 16) * 16, column = k / (whole / 16) * 16;
        vec_v4bf16amx t[16];
        UNROLL for (int r = 0; r < 16; r++) __builtin_prefetch(to + (column + r + ahead) * to_row + row, 1, 2);
        UNROLL for (int r = 0; r < 16; r++) t[r] = load_v4bf16amx(from + (row + r) * from_row + column);
        exchange_v4bf16amx(t);
        UNROLL for (int r = 0; r < 16; r++) store_narrowed_v4bf16amx(to + (column + r) * to_row + row, t[r]);
    }
    for (int64_t row = 0; row < rows; row++)
        for (int64_t column = row < whole ? deep : 0; column < columns; column++)
            to[column * to_row + row] = narrowed(from[row * from_row + column]);
}
/* *sum = *sum * factor + x per lane, with compensated summation (Kahan). *compensation is the rounding error, which
   the next call adds. */
TARGET_v4bf16amx INLINE void add_v4bf16amx(float *sum, float *compensation, vec_v4bf16amx x, vec_v4bf16amx factor)
{
    const vec_v4bf16amx old = load_v4bf16amx(sum) * factor, more = load_v4bf16amx(compensation) * factor + x,
        new = old + more;
    store_v4bf16amx(compensation, more - (new - old));
    store_v4bf16amx(sum, new);
}
typedef mask_v4bf16amx pairs_v4bf16amx __attribute__((aligned(2), may_alias));
TARGET_v4bf16amx INLINE mask_v4bf16amx load_paired_v4bf16amx(const uint16_t *p) { return *(const pairs_v4bf16amx
    *)(const void *)p; }

/* In lane k, puts element k of the lower half next to element k of the upper half. */
TARGET_v4bf16amx INLINE mask_v4bf16amx interleaved_v4bf16amx(__m512i both)
{
    const mask_v4bf16amx turns = {1048576, 1114113, 1179650, 1245187, 1310724, 1376261, 1441798, 1507335, 1572872,
        1638409, 1703946, 1769483, 1835020, 1900557, 1966094, 2031631};
    return (mask_v4bf16amx)_mm512_permutexvar_epi16((__m512i)turns, both);
}

TARGET_v4bf16amx INLINE mask_v4bf16amx paired_v4bf16amx(vec_v4bf16amx first, vec_v4bf16amx second) /* rounds to nearest,
    ties to even */
{
    return interleaved_v4bf16amx((__m512i)_mm512_cvtne2ps_pbh((__m512)second, (__m512)first));
}

TARGET_v4bf16amx INLINE void store_paired_v4bf16amx(uint16_t *p, vec_v4bf16amx first, vec_v4bf16amx second)
{
    *(pairs_v4bf16amx *)(void *)p = paired_v4bf16amx(first, second);
}

typedef uint32_t bits_v4bf16amx __attribute__((vector_size(64), aligned(sizeof(float)), may_alias));
typedef uint32_t bit_v4bf16amx __attribute__((may_alias));

/* Returns whether all p[r * row + c] are finite, for r < rows and c < columns. Infinity and NaN have all exponent
   bits set. So adding the lowest exponent bit, 0x00800000, carries into the sign. */
TARGET_v4bf16amx APART int finite_v4bf16amx(const float *p, int64_t row, int64_t rows, int64_t columns)
{
    bits_v4bf16amx found = {0};
    uint32_t one = 0;
    for (int64_t r = 0; r < rows; r++, p += row) {
        int64_t c = 0;
        for (; c + 16 <= columns; c += 16)
            found |= (*(const bits_v4bf16amx *)(const void *)(p + c) & 0x7fffffff) + 0x00800000;
        for (; c < columns; c++) one |= (*(const bit_v4bf16amx *)(const void *)(p + c) & 0x7fffffff) + 0x00800000;
    }
    for (int k = 0; k < 16; k++) one |= found[k];
    return one <= 0x7fffffff;
}

/* sum[x] += weights[t] * values[t][x], but only for values that are infinite or NaN, and for steps t in `seen`. */
TARGET_v4bf16amx APART void add_seen_lanes_v4bf16amx(int64_t lanes, float *sum, const float *weights,
    const float *values, int64_t value_row,
    int64_t steps, const mask_v4bf16amx *seen)
{
    for (int64_t t = 0; t < steps; t++, values += value_row)
        for (int64_t x = 0; x < lanes && seen[t / 16][t % 16]; x++)
            if (!finite_v4bf16amx(values + x, 0, 1, 1)) sum[x] += weights[t] * values[x];
}

/* sum[r][x] = sum over t of a[r][t] * b[t][x], for up to 6 rows r and `vectors` vectors of lanes x. The sums stay
   in registers. `update` says how c changes:
   - 0: c = sum
   - 1: c = c + sum
   - 2: c = c * factor[x] + sum
   - 3: like 2, with compensated summation. If `factor` is NULL, it is 1.
   If `early` is not 0, step t prefetches row t + early of b. A step prefetches only one row, because a core can have
   few cache misses in flight. */
TARGET_v4bf16amx INLINE void block_v4bf16amx(const int rows, const int vectors, int64_t steps, const float *a,
    int64_t a_row, int64_t a_step,
    const float *b, int64_t b_step, float *c, int64_t c_row, const int update,
    const float *factor, float *compensation, const int64_t early)
{
    vec_v4bf16amx sum[16][4];
    UNROLL for (int r = 0; r < rows; r++)
        UNROLL for (int v = 0; v < vectors; v++) sum[r][v] = (vec_v4bf16amx){0};
    int64_t t = 0;
    for (; rows > 6 && t + 2 <= steps; t += 2, a += 2 * a_step, b += 2 * b_step) {
        const float *row[16];
        UNROLL for (int r = 0; r < rows; r += 4) {
            row[r] = a + r * a_row;
            /* Without this, compilers compute the address of each row from that of the row before. */
            if (a_row != 1) __asm__("" : "+r"(row[r]));
        }
        UNROLL for (int k = 0; k < 2; k++) {
            const vec_v4bf16amx x = load_v4bf16amx(b + k * b_step);
            UNROLL for (int r = 0; r < rows; r++) sum[r][0] += row[r & -4][(r & 3) * a_row + k * a_step] * x;
        }
    }
    for (; t < steps; t++, a += a_step, b += b_step) {
        vec_v4bf16amx x[4];
        UNROLL for (int v = 0; v < vectors; v++) x[v] = load_v4bf16amx(b + v * 16);
        UNROLL for (int v = 0; v < vectors; v++)
            if (early && v * 16 * (int64_t)sizeof *b % 64 == 0)
                __builtin_prefetch(b + early * b_step + v * 16, 0, 3);
        UNROLL for (int r = 0; r < rows; r++) {
            const float y = a[r * a_row];
            UNROLL for (int v = 0; v < vectors; v++) sum[r][v] += y * x[v];
        }
    }
    UNROLL for (int v = 0; v < vectors; v++) {
        const vec_v4bf16amx times = update >= 2 && factor ? load_v4bf16amx(factor + v * 16) : splat_v4bf16amx(1);
        UNROLL for (int r = 0; r < rows; r++) {
            float *const to = c + r * c_row + v * 16;
            if (update == 3) {
                add_v4bf16amx(to, compensation + r * c_row + v * 16, sum[r][v], times);
                continue;
            }
            store_v4bf16amx(to, update == 0 ? sum[r][v]
                : update == 1 ? load_v4bf16amx(to) + sum[r][v] : load_v4bf16amx(to) * times + sum[r][v]);
        }
    }
}

/* Like block_v4bf16amx, but if `update` is 0 and the sum is long, it adds `span` terms at a time. Each span is summed
   separately, which reduces rounding errors. */
TARGET_v4bf16amx INLINE void parts_v4bf16amx(const int rows, const int vectors, int64_t steps, const int64_t span,
    const float *a,
    int64_t a_row, int64_t a_step, const float *b, int64_t b_step, float *c, int64_t c_row, const int update,
    const float *factor, float *compensation, const int64_t early)
{
    const int64_t first = update == 0 && steps > 2 * span ? span : steps;
    block_v4bf16amx(rows, vectors, first, a, a_row, a_step, b, b_step, c, c_row, update,
        factor, compensation, early);
    if (update == 0)
        for (int64_t t = first; t < steps; t += span)
            block_v4bf16amx(rows, vectors, min(span, steps - t), a + t * a_step, a_row, a_step, b + t * b_step, b_step,
                c,
                c_row, 1, NULL, NULL, early);
}

/* Like parts_v4bf16amx, for any number of rows. `lanes` is a multiple of 16 * vectors. `tail` is rows % 6 if this is a
   constant, otherwise -1. */
TARGET_v4bf16amx INLINE void blocks_v4bf16amx(const int vectors, const int64_t lanes, int64_t rows, const int tail,
    int64_t steps,
    const int64_t span, const float *a, int64_t a_row, int64_t a_step, const float *b, int64_t b_step, float *c,
        int64_t c_row,
    const int update, const float *factor, float *compensation, const int64_t early)
{
    for (int64_t x = 0; x < lanes; x += vectors * 16) {
        const float *const f = factor ? factor + x : NULL;
        float *const left = compensation ? compensation + x : NULL;
        int64_t r = 0;
        for (; r + 6 <= rows; r += 6)
            parts_v4bf16amx(6, vectors, steps, span, a + r * a_row, a_row, a_step, b + x, b_step,
                c + r * c_row + x, c_row, update, f, left ? left + r * c_row : NULL, early);
        switch (tail >= 0 ? tail : rows - r) {
        case 5: parts_v4bf16amx(5, vectors, steps, span, a + r * a_row, a_row, a_step, b + x, b_step, c + r * c_row + x,
            c_row, update, f, left ? left + r * c_row : NULL, early); break;
        case 4: parts_v4bf16amx(4, vectors, steps, span, a + r * a_row, a_row, a_step, b + x, b_step, c + r * c_row + x,
            c_row, update, f, left ? left + r * c_row : NULL, early); break;
        case 3: parts_v4bf16amx(3, vectors, steps, span, a + r * a_row, a_row, a_step, b + x, b_step, c + r * c_row + x,
            c_row, update, f, left ? left + r * c_row : NULL, early); break;
        case 2: parts_v4bf16amx(2, vectors, steps, span, a + r * a_row, a_row, a_step, b + x, b_step, c + r * c_row + x,
            c_row, update, f, left ? left + r * c_row : NULL, early); break;
        case 1: parts_v4bf16amx(1, vectors, steps, span, a + r * a_row, a_row, a_step, b + x, b_step, c + r * c_row + x,
            c_row, update, f, left ? left + r * c_row : NULL, early); break;
        }
    }
}

/* Like block_v4bf16amx, for any number of rows and vectors. It computes one vector at a time. */
TARGET_v4bf16amx APART void narrow_v4bf16amx(int64_t lanes, int64_t rows, int64_t steps, int64_t span, const float *a,
    int64_t a_row,
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
                    block_v4bf16amx(16, 1, some, from + r, 1, a_step, b + t * b_step + x, b_step, c + r * c_row + x,
                        c_row,
                        now, f, left ? left + r * c_row : NULL, 0);
                else
                    block_v4bf16amx(16, 1, some, from + r * a_row, a_row, 1, b + t * b_step + x, b_step,
                        c + r * c_row + x, c_row, now, f, left ? left + r * c_row : NULL, 0);
            for (; r < rows; r += 6)
                switch (min(rows - r, 6)) {
        default: block_v4bf16amx(6, 1, some, from + r * a_row, a_row, a_step, b + t * b_step + x, b_step,
            c + r * c_row + x, c_row, now, f, left ? left + r * c_row : NULL, 0); break;
        case 5: block_v4bf16amx(5, 1, some, from + r * a_row, a_row, a_step, b + t * b_step + x, b_step,
            c + r * c_row + x, c_row, now, f, left ? left + r * c_row : NULL, 0); break;
        case 4: block_v4bf16amx(4, 1, some, from + r * a_row, a_row, a_step, b + t * b_step + x, b_step,
            c + r * c_row + x, c_row, now, f, left ? left + r * c_row : NULL, 0); break;
        case 3: block_v4bf16amx(3, 1, some, from + r * a_row, a_row, a_step, b + t * b_step + x, b_step,
            c + r * c_row + x, c_row, now, f, left ? left + r * c_row : NULL, 0); break;
        case 2: block_v4bf16amx(2, 1, some, from + r * a_row, a_row, a_step, b + t * b_step + x, b_step,
            c + r * c_row + x, c_row, now, f, left ? left + r * c_row : NULL, 0); break;
        case 1: block_v4bf16amx(1, 1, some, from + r * a_row, a_row, a_step, b + t * b_step + x, b_step,
            c + r * c_row + x, c_row, now, f, left ? left + r * c_row : NULL, 0); break;
                }
        }
    }
}

/* Returns the number of lanes that are computed in blocks of `vectors` vectors. If more than half of the last block
   is needed, the whole block is computed. */
TARGET_v4bf16amx INLINE int64_t lanes_in_blocks_v4bf16amx(const int vectors, const int64_t lanes)
{
    const int64_t block = vectors * 16;
    return (lanes + (block - 1) / 2) / block * block;
}

/* Computes any number of rows. `lanes` is a multiple of 16. Other parameters are as in blocks_v4bf16amx. */
TARGET_v4bf16amx INLINE void dot_early_v4bf16amx(const int vectors, const int64_t lanes, int64_t rows, const int tail,
    int64_t steps,
    const int64_t span, const float *a, int64_t a_row, int64_t a_step, const float *b, int64_t b_step, float *c,
        int64_t c_row,
    const int update, const float *factor, float *compensation, const int64_t early)
{
    const int64_t x = lanes_in_blocks_v4bf16amx(vectors, lanes);
    blocks_v4bf16amx(vectors, x, rows, tail, steps, span, a, a_row, a_step, b, b_step, c, c_row, update,
        factor, compensation, early);
    if (x < lanes)
        narrow_v4bf16amx(lanes - x, rows, steps, span, a, a_row, a_step, b + x, b_step, c + x, c_row,
            update, factor ? factor + x : NULL, compensation ? compensation + x : NULL);
}

/* Computes the product without prefetching, because b is in a cache. */
TARGET_v4bf16amx INLINE void dot_v4bf16amx(const int vectors, const int64_t lanes, int64_t rows, const int tail,
    int64_t steps,
    const int64_t span, const float *a, int64_t a_row, int64_t a_step, const float *b, int64_t b_step, float *c,
    int64_t c_row, const int update, const float *factor, float *compensation)
{
    dot_early_v4bf16amx(vectors, lanes, rows, tail, steps, span, a, a_row, a_step, b, b_step, c, c_row, update,
        factor, compensation, 0);
}

/* Like dot_v4bf16amx, but uses 0 for infinity and NaN in b. It copies one vector of columns of b at a time. If
   `fetched`, it
   adds in the order of dot_fetched_v4bf16amx, so that results round equally. */
TARGET_v4bf16amx INLINE void dot_finite_lanes_v4bf16amx(const int fetched, const int vectors, const int64_t lanes,
    int64_t rows,
    const int tail, int64_t steps, const int64_t span, const float *a, int64_t a_row, int64_t a_step, const float *b,
    int64_t b_step, float *c, int64_t c_row, const int update, const float *factor, float *compensation)
{
    float column[128 * 16];
    (void)vectors;
    for (int64_t x = 0; x < lanes; x += 16) {
        for (int64_t t = 0; t < steps; t++)
            for (int64_t k = 0; k < 16; k++) {
                const float *const p = b + t * b_step + x + k;
                column[t * 16 + k] = finite_v4bf16amx(p, 0, 1, 1) ? *p : 0;
            }
        const int64_t some = fetched ? 16 : steps;
        for (int64_t t = 0; t < steps; t += some)
            dot_v4bf16amx(1, 16, rows, tail, min(steps - t, some), span, a + t * a_step, a_row, a_step,
                column + t * 16, 16, c + x, c_row, update,
                factor ? factor + x : NULL, compensation ? compensation + x : NULL);
    }
}

typedef uint16_t bits_paired_v4bf16amx __attribute__((vector_size(64), aligned(sizeof(uint16_t)), may_alias));
typedef uint16_t bit_paired_v4bf16amx __attribute__((may_alias));

/* Returns whether all p[r * row + c] are finite, for r < rows and c < columns. Infinity and NaN have all exponent
   bits set. So adding the lowest exponent bit, 0x0080, carries into the sign. */
TARGET_v4bf16amx APART int finite_paired_v4bf16amx(const uint16_t *p, int64_t row, int64_t rows, int64_t columns)
{
    bits_paired_v4bf16amx found = {0};
    uint16_t one = 0;
    for (int64_t r = 0; r < rows; r++, p += row) {
        int64_t c = 0;
        for (; c + 32 <= columns; c += 32)
            found |= (*(const bits_paired_v4bf16amx *)(const void *)(p + c) & 0x7fff) + 0x0080;
        for (; c < columns; c++) one |= (*(const bit_paired_v4bf16amx *)(const void *)(p + c) & 0x7fff) + 0x0080;
    }
    for (int k = 0; k < 32; k++) one |= found[k];
    return one <= 0x7fff;
}

/* sum[r][x] += values[r * step] * weights[x], but only for values that are infinite or NaN, and for lanes x in
   `seen`. `second` selects the second element of each pair of weights. */
TARGET_v4bf16amx APART void add_seen_paired_v4bf16amx(int64_t rows, float *sum, int64_t sum_row, const uint16_t *values,
    int64_t step,
    const uint16_t *weights, int64_t second, const mask_v4bf16amx *seen, int64_t lanes)
{
    for (int64_t r = 0; r < rows; r++, sum += sum_row, values += step)
        for (int64_t x = 0; x < lanes && !finite_paired_v4bf16amx(values, 0, 1, 1); x += 16) {
            const mask_v4bf16amx pair = load_paired_v4bf16amx(weights + 2 * x);
            const mask_v4bf16amx value = (mask_v4bf16amx){0} + (int32_t)((uint32_t)*values << 16);
            const vec_v4bf16amx weight = (vec_v4bf16amx)(second ? pair & -65536 : pair << 16);
            store_v4bf16amx(sum + x, pick_v4bf16amx(seen[x / 16], load_v4bf16amx(sum + x) + (vec_v4bf16amx)value *
                weight, load_v4bf16amx(sum + x)));
        }
}

/* c[r][x] = sum over t of a[r][t] * b[t][x]. If `add`, the sum is added to c.
   - There are 16 or 32 rows r, 16 or 32 lanes x, and 32 * steps terms t.
   - b is paired.
   - Tile registers 0 to 3 hold c. Tile registers 4 and 5 hold b. Tile registers 6 and 7 hold 16 rows of a each. */
TARGET_v4bf16amx INLINE void unit_block_v4bf16amx(const int rows, const int lanes, const int64_t steps,
    const uint16_t *a,
    const int64_t a_row, const uint16_t *b, const int64_t b_row, float *c, const int64_t c_row, const int add)
{
    if (add) {
        tile_load(0, c, 4 * c_row);
        if (lanes > 16) tile_load(1, c + 16, 4 * c_row);
        if (rows > 16) tile_load(2, c + 16 * c_row, 4 * c_row);
        if (rows > 16 && lanes > 16) tile_load(3, c + 16 * c_row + 16, 4 * c_row);
    } else {
        tile_zero(0);
        if (lanes > 16) tile_zero(1);
        if (rows > 16) tile_zero(2);
        if (rows > 16 && lanes > 16) tile_zero(3);
    }
    for (int64_t t = 0; t < steps; t++, a += 32, b += 16 * b_row) {
        tile_load(4, b, 2 * b_row);
        if (lanes > 16) tile_load(5, b + 32, 2 * b_row);
        tile_load(6, a, 2 * a_row);
        if (rows > 16) tile_load(7, a + 16 * a_row, 2 * a_row);
        tile_multiply(0, 6, 4);
        if (lanes > 16) tile_multiply(1, 6, 5);
        if (rows > 16) tile_multiply(2, 7, 4);
        if (rows > 16 && lanes > 16) tile_multiply(3, 7, 5);
    }
    tile_store(0, c, 4 * c_row);
    if (lanes > 16) tile_store(1, c + 16, 4 * c_row);
    if (rows > 16) tile_store(2, c + 16 * c_row, 4 * c_row);
    if (rows > 16 && lanes > 16) tile_store(3, c + 16 * c_row + 16, 4 * c_row);
}

/* Computes c = a * b as unit_block_v4bf16amx does, for any multiple of 16 rows and for one or two steps. b stays in
   four
   tile registers. */
TARGET_v4bf16amx INLINE void unit_strip_v4bf16amx(int64_t rows, const int lanes, const int64_t steps, const uint16_t *a,
    const int64_t a_row, const uint16_t *b, const int64_t b_row, float *c, const int64_t c_row)
{
    tile_load(4, b, 2 * b_row);
    if (lanes > 16) tile_load(5, b + 32, 2 * b_row);
    if (steps > 1) tile_load(6, b + 16 * b_row, 2 * b_row);
    if (steps > 1 && lanes > 16) tile_load(7, b + 16 * b_row + 32, 2 * b_row);
    for (int64_t r = 0; r < rows; r += 16, a += 16 * a_row, c += 16 * c_row) {
        tile_zero(0);
        if (lanes > 16) tile_zero(1);
        tile_load(2, a, 2 * a_row);
        if (steps > 1) tile_load(3, a + 32, 2 * a_row);
        tile_multiply(0, 2, 4);
        if (lanes > 16) tile_multiply(1, 2, 5);
        if (steps > 1) tile_multiply(0, 3, 6);
        if (steps > 1 && lanes > 16) tile_multiply(1, 3, 7);
        tile_store(0, c, 4 * c_row);
        if (lanes > 16) tile_store(1, c + 16, 4 * c_row);
    }
}

/* Computes a * b as unit_block_v4bf16amx does, for any number of rows and a multiple of 16 lanes.
   - c has room for a multiple of 16 rows.
   - padded: a has memory for a multiple of 16 rows
   - finite: infinity and NaN in a count as 0
   - add: the product is added to c */
TARGET_v4bf16amx INLINE void unit_dot_v4bf16amx(const int64_t lanes, int64_t rows, const int64_t steps,
    const uint16_t *a,
    const int64_t a_row, const int padded, const int finite, const uint16_t *b, const int64_t b_row, float *c,
    const int64_t c_row, const int add)
{
    int64_t r = 0;
    if (!add && !finite && steps <= 2) {
        r = padded ? rows : rows - rows % 16;
        for (int64_t x = 0; x < lanes; x += 32) {
            if (lanes - x > 16)
                unit_strip_v4bf16amx(r, 32, steps, a, a_row, b + 2 * x, b_row, c + x, c_row);
            else
                unit_strip_v4bf16amx(r, 16, steps, a, a_row, b + 2 * x, b_row, c + x, c_row);
        }
    }
    for (; r < rows; r += 32) {
        const int64_t left = rows - r;
        const uint16_t *from = a + r * a_row;
        int64_t row = a_row;
        _Alignas(64) uint16_t copy[32 * 64];
        if (finite || (!padded && left < 32 && left != 16)) {
            for (int64_t k = 0; k < (left > 16 ? 32 : 16); k++)
                for (int64_t t = 0; t < 32 * steps; t++)
                    copy[k * 64 + t] =
                        (padded || k < left) && (!finite || finite_paired_v4bf16amx(from + k * a_row + t, 0, 1, 1))
                        ? from[k * a_row + t] : 0;
            from = copy;
            row = 64;
        }
        for (int64_t x = 0; x < lanes; x += 32) {
            if (left > 16 && lanes - x > 16)
                unit_block_v4bf16amx(32, 32, steps, from, row, b + 2 * x, b_row, c + r * c_row + x, c_row, add);
            else if (left > 16)
                unit_block_v4bf16amx(32, 16, steps, from, row, b + 2 * x, b_row, c + r * c_row + x, c_row, add);
            else if (lanes - x > 16)
                unit_block_v4bf16amx(16, 32, steps, from, row, b + 2 * x, b_row, c + r * c_row + x, c_row, add);
            else
                unit_block_v4bf16amx(16, 16, steps, from, row, b + 2 * x, b_row, c + r * c_row + x, c_row, add);
        }
    }
}

/* c[r][x] *= factor[x]. Skips vectors whose factors are all 1. */
TARGET_v4bf16amx APART void unit_scale_v4bf16amx(int64_t lanes, int64_t rows, float *c, int64_t c_row,
    const float *factor)
{
    for (int64_t x = 0; x < lanes; x += 16) {
        const vec_v4bf16amx by = load_v4bf16amx(factor + x);
        if (!_mm512_cmp_ps_mask((__m512)by, (__m512)splat_v4bf16amx(1), _CMP_NEQ_UQ)) continue;
        for (int64_t r = 0; r < rows; r++) store_v4bf16amx(c + r * c_row + x, load_v4bf16amx(c + r * c_row + x) * by);
    }
}

/* Returns 32 elements of a row. Elements from number `left` on are 0 and not read. */
TARGET_v4bf16amx INLINE __m512i unit_row_v4bf16amx(const uint16_t *p, int64_t left)
{
    return _mm512_maskz_loadu_epi16(left >= 32 ? 0xffffffffu : left > 0 ? (1u << left) - 1 : 0, p);
}

/* Transposes: to[x][r] = from[r][x]. Zeros fill r up to a multiple of 32, and x up to a multiple of 16. Rows r and r
   + 1 are first joined into pairs. */
TARGET_v4bf16amx APART void unit_turned_v4bf16amx(const uint16_t *from, int64_t from_row, int64_t rows, int64_t columns,
    uint16_t *to,
    int64_t to_row)
{
    const mask_v4bf16amx low = {1048576, 1114113, 1179650, 1245187, 1310724, 1376261, 1441798, 1507335, 1572872,
        1638409, 1703946, 1769483, 1835020, 1900557, 1966094, 2031631};
    const __m512i first = (__m512i)low, weave = _mm512_mask_add_epi16(first, 0xaaaaaaaau, first,
        _mm512_set1_epi16(16)), second = _mm512_add_epi16(weave, _mm512_set1_epi16(16));
    for (int64_t r = 0; r < rows; r += 32)
        for (int64_t x = 0; x < columns; x += 32) {
            vec_v4bf16amx left[16], right[16];
            UNROLL for (int k = 0; k < 16; k++) {
                const int64_t row = r + 2 * k;
                const uint16_t *const p = from + row * from_row + x;
                const __m512i a = unit_row_v4bf16amx(p, row < rows ? columns - x : 0);
                const __m512i b = unit_row_v4bf16amx(p + from_row, row + 1 < rows ? columns - x : 0);
                left[k] = (vec_v4bf16amx)_mm512_permutex2var_epi16(a, weave, b);
                right[k] = (vec_v4bf16amx)_mm512_permutex2var_epi16(a, second, b);
            }
            exchange_v4bf16amx(left);
            UNROLL for (int k = 0; k < 16; k++) _mm512_storeu_si512(to + (x + k) * to_row + r, (__m512i)left[k]);
            if (columns - x <= 16) continue;
            exchange_v4bf16amx(right);
            UNROLL for (int k = 0; k < 16; k++)
                _mm512_storeu_si512(to + (x + 16 + k) * to_row + r, (__m512i)right[k]);
        }
}

/* Joins neighbours in a row into pairs: to[x / 2][2 * r + x % 2] = from[r][x]. Zeros fill r up to a multiple of 16,
   and x up to a multiple of 32. */
TARGET_v4bf16amx APART void unit_pairs_v4bf16amx(const uint16_t *from, int64_t from_row, int64_t rows, int64_t columns,
    uint16_t *to,
    int64_t to_row)
{
    for (int64_t r = 0; r < rows; r += 16)
        for (int64_t x = 0; x < columns; x += 32) {
            vec_v4bf16amx t[16];
            UNROLL for (int k = 0; k < 16; k++)
                t[k] = (vec_v4bf16amx)unit_row_v4bf16amx(from + (r + k) * from_row + x, r + k < rows ? columns - x : 0);
            exchange_v4bf16amx(t);
            UNROLL for (int k = 0; k < 16; k++)
                _mm512_storeu_si512(to + (x / 2 + k) * to_row + 2 * r, (__m512i)t[k]);
        }
}

/* Rounds to bf16 and joins two rows into pairs: to[r / 2][2 * x + r % 2] = from[r][x]. Zeros fill the rows up to a
   multiple of 32. */
TARGET_v4bf16amx INLINE void unit_rounded_v4bf16amx(const float *from, const int64_t from_row, int64_t rows,
    int64_t lanes, uint16_t *to,
    const int64_t to_row)
{
    for (int64_t x = 0; x < lanes; x += 16) {
        int64_t r = 0;
        for (; r + 1 < rows; r += 2)
            store_paired_v4bf16amx(to + r / 2 * to_row + 2 * x, load_v4bf16amx(from + r * from_row + x),
                load_v4bf16amx(from + (r + 1) * from_row + x));
        for (; r < round_up(rows, 32); r += 2)
            store_paired_v4bf16amx(to + r / 2 * to_row + 2 * x, r < rows ? load_v4bf16amx(from + r * from_row + x) :
                splat_v4bf16amx(0),
                splat_v4bf16amx(0));
    }
}

/* Returns the elements x … x + 16 - 1 of a row before they are multiplied by a scale. x is a multiple of 16. */
TARGET_v4bf16amx INLINE vec_v4bf16amx unscaled_v4bf16amx(const uint16_t *row, int64_t x)
{
    /* bf16 is the upper half of a float */
    return (vec_v4bf16amx)(__builtin_convertvector(*(const halves_v4bf16amx *)(const void *)(row + x),
        mask_v4bf16amx) << 16);
}

/* Returns the elements x … x + 16 - 1 of a row. */
TARGET_v4bf16amx INLINE vec_v4bf16amx widened_v4bf16amx(const uint16_t *row, int64_t x)
{
    return unscaled_v4bf16amx(row, x);
}

/* Returns the size of a row of `elements` elements, in units of uint16_t. */
INLINE int64_t units_v4bf16amx(int64_t elements)
{
    return elements;
}

/* Like finite_v4bf16amx, but the elements are widened first. `columns` is a multiple of 16. */
TARGET_v4bf16amx APART int finite_stored_v4bf16amx(const uint16_t *p, int64_t row, int64_t rows, int64_t columns)
{
    float wide[16];
    for (int64_t r = 0; r < rows; r++, p += row)
        for (int64_t c = 0; c < columns; c += 16) {
            store_v4bf16amx(wide, widened_v4bf16amx(p, c));
            if (!finite_v4bf16amx(wide, 0, 1, 16)) return 0;
        }
    return 1;
}

/* Widens rows of `elements` elements, which is a multiple of 16. There are at most 16 or 32 rows. */
TARGET_v4bf16amx INLINE void widen_rows_v4bf16amx(int64_t rows, const int64_t elements, const uint16_t *b,
    int64_t b_row,
    float *wide)
{
    for (int64_t r = 0; r < rows; r++)
        UNROLL for (int64_t x = 0; x < elements; x += 16)
            store_v4bf16amx(wide + r * elements + x, unscaled_v4bf16amx(b + r * b_row, x));
}

/* Returns the row that comes `distance` rows after the first of the `rest` rows at b. The rows at `next` come after
   these. NULL: the rows that follow in memory. */
INLINE const uint16_t *ahead_v4bf16amx(const uint16_t *b, int64_t b_row, int64_t distance, int64_t rest,
    const uint16_t *next)
{
    return next && distance >= rest ? next + (distance - rest) * b_row : b + distance * b_row;
}

/* Prefetches `rows` rows of b, `width` elements of each. */
TARGET_v4bf16amx INLINE void fetch_v4bf16amx(int64_t rows, const int64_t width, const uint16_t *b, int64_t b_row)
{
    for (int64_t r = 0; r < rows; r++)
        UNROLL for (int64_t x = 0; x < units_v4bf16amx(width); x += 64 / (int64_t)sizeof *b)
            __builtin_prefetch(b + r * b_row + x, 0, 3);
}

/* c[k] = sum over t of a[t] * b[k][t] for 16 columns k and `steps` terms t. b has all 16 rows if `whole`.
   Otherwise row `last` is the last row of b. The rows of b are read in memory order, which helps the hardware
   prefetch them. */
TARGET_v4bf16amx INLINE void columns_v4bf16amx(const int whole, int64_t last, const int64_t steps, const float *a,
    const uint16_t *b,
    int64_t b_row, float *c, const uint16_t *ahead)
{
    vec_v4bf16amx t[16];
    UNROLL for (int k = 0; k < 16; k++) t[k] = (vec_v4bf16amx){0};
    for (int64_t first = 0; first < steps; first += 128)
        UNROLL for (int k = 0; k < 16; k++) {
            if (whole && ahead) fetch_v4bf16amx(1, min(128, steps - first), ahead + k * b_row + units_v4bf16amx(first),
                b_row);
            for (int64_t s = first; s < min(first + 128, steps); s += 16)
                t[k] += load_v4bf16amx(a + s) * unscaled_v4bf16amx(b + (whole ? k : min(k, last)) * b_row, s);
            __asm__ volatile("" : : : "memory");
        }
    store_v4bf16amx(c, lane_sums_v4bf16amx(t));
}

/* Like columns_v4bf16amx, for up to 4 rows of a, which share the loads of b. It has 16 rows. 4 columns are computed at
   a time.
   - wide: b converted to floats, in rows of `steps` elements. NULL if `direct`: b is converted here
   - ask: of 4 rows from ahead on, those with these numbers are prefetched */
TARGET_v4bf16amx INLINE void some_columns_v4bf16amx(const int rows, const int direct, const int64_t steps,
    const float *a, int64_t a_row,
    const uint16_t *b, int64_t b_row, const float *wide, const uint16_t *ahead, const int64_t *ask, float *c,
    int64_t c_row)
{
    vec_v4bf16amx t[4][16];
    for (int64_t k = 0; k < 16; k += 4) {
        vec_v4bf16amx sum[4][4];
        UNROLL for (int r = 0; r < rows; r++)
            UNROLL for (int n = 0; n < 4; n++) sum[r][n] = (vec_v4bf16amx){0};
        /* Without the limit, gcc 12 warns of an endless loop. */
        fetch_v4bf16amx(min(ask[1] - ask[0], 4), steps, ahead + (k + ask[0]) * b_row, b_row);
        UNROLL for (int64_t s = 0; s < steps; s += 16) {
            vec_v4bf16amx x[4];
            UNROLL for (int n = 0; n < 4; n++)
                x[n] = direct ? unscaled_v4bf16amx(b + (k + n) * b_row, s) : load_v4bf16amx(wide + (k + n) * steps + s);
            UNROLL for (int r = 0; r < rows; r++) {
                const vec_v4bf16amx y = load_v4bf16amx(a + r * a_row + s);
                UNROLL for (int n = 0; n < 4; n++) sum[r][n] += x[n] * y;
            }
        }
        UNROLL for (int r = 0; r < rows; r++)
            UNROLL for (int n = 0; n < 4; n++) t[r][k + n] = sum[r][n];
    }
    UNROLL for (int r = 0; r < rows; r++) store_v4bf16amx(c + r * c_row, lane_sums_v4bf16amx(t[r]));
}

/* Computes groups of up to 4 rows of c. Each group prefetches `share` of every 4 rows from `ahead` on. */
TARGET_v4bf16amx INLINE void columns_of_4_v4bf16amx(const int direct, int64_t rows, const int64_t steps, const float *a,
    int64_t a_row,
    const uint16_t *b, int64_t b_row, const float *wide, const int64_t share, const uint16_t *ahead, float *c,
    int64_t c_row)
{
    int64_t ask[2] = {0, min(share, 4)};
    for (; rows >= 4; rows -= 4, a += 4 * a_row, c += 4 * c_row) {
        some_columns_v4bf16amx(4, direct, steps, a, a_row, b, b_row, wide, ahead, ask, c, c_row);
        UNROLL for (int k = 0; k < 2; k++) ask[k] = min(ask[k] + share, 4);
    }
    switch (rows) {
        case 3: some_columns_v4bf16amx(3, direct, steps, a, a_row, b, b_row, wide, ahead, ask, c, c_row); break;
        case 2: some_columns_v4bf16amx(2, direct, steps, a, a_row, b, b_row, wide, ahead, ask, c, c_row); break;
        case 1: some_columns_v4bf16amx(1, direct, steps, a, a_row, b, b_row, wide, ahead, ask, c, c_row); break;
    }
}

/* Like columns_v4bf16amx, for two or more rows of a. If b has fewer than 16 rows,
   the other columns of c get any numbers.
   `several` rows of a and more prefetch the rows at `ahead`. */
TARGET_v4bf16amx INLINE void all_columns_v4bf16amx(const int whole, int64_t last, int64_t rows, const int64_t steps,
    const float *a,
    int64_t a_row, const uint16_t *b, int64_t b_row, float *c, int64_t c_row, const int64_t several,
    const uint16_t *ahead)
{
    const int64_t share = !whole || rows < several ? 0 : rows > 4 * 4 ? 1 : (4 * 4 + rows - 1) / rows;
    if (whole && (rows <= 4 || !1)) {
        columns_of_4_v4bf16amx(1, rows, steps, a, a_row, b, b_row, NULL, share, ahead, c, c_row);
        return;
    }
    float wide[16 * 64] __attribute__((aligned(64)));
    widen_rows_v4bf16amx(whole ? 16 : last + 1, steps, b, b_row, wide);
    for (int64_t x = (last + 1) * steps; x < 16 * steps; x += 16) store_v4bf16amx(wide + x, splat_v4bf16amx(0));
    columns_of_4_v4bf16amx(0, rows, steps, a, a_row, b, b_row, wide, share, ahead, c, c_row);
}

/* Puts the rows of up to 2 vectors in lanes. Term s * 16 + l of all rows is at number l * steps / 16 + s. */
TARGET_v4bf16amx INLINE void turn_rows_v4bf16amx(const int vectors, const int64_t steps, const float *a, int64_t a_row,
    float *turned)
{
    const int64_t parts = steps / 16;
    for (int v = 0; v < vectors; v++)
        for (int64_t s = 0; s < parts; s++) {
            vec_v4bf16amx t[16];
            UNROLL for (int r = 0; r < 16; r++) t[r] = load_v4bf16amx(a + (v * 16 + r) * a_row + s * 16);
            exchange_v4bf16amx(t);
            UNROLL for (int l = 0; l < 16; l++) store_v4bf16amx(turned + ((l * parts + s) * vectors + v) * 16, t[l]);
        }
}

/* sum[v * keys + k] = the sum over s of the products of one lane: term s of `turned`, and of row k of b,
   for `keys` rows
   of b. Terms of `turned` are `vectors` vectors apart, those of b are 16 elements apart. */
TARGET_v4bf16amx INLINE void turned_lane_v4bf16amx(const int vectors, const int keys, const int64_t parts,
    const float *turned,
    const float *b, int64_t b_row, vec_v4bf16amx *sum)
{
    UNROLL for (int k = 0; k < vectors * keys; k++) sum[k] = (vec_v4bf16amx){0};
    UNROLL for (int64_t s = 0; s < parts; s++) {
        vec_v4bf16amx x[2];
        UNROLL for (int v = 0; v < vectors; v++) x[v] = load_v4bf16amx(turned + (s * vectors + v) * 16);
        UNROLL for (int n = 0; n < keys; n++) {
            const float y = b[n * b_row + s * 16];
            UNROLL for (int v = 0; v < vectors; v++) sum[v * keys + n] += y * x[v];
        }
        __asm__ volatile("" : : : "memory"); /* keeps the terms in order, so that the sums do not wait for each other */
    }
}

/* Adds the sums of earlier lanes to sums of as many later lanes. */
TARGET_v4bf16amx INLINE void add_turned_v4bf16amx(const int sums, const vec_v4bf16amx *earlier, vec_v4bf16amx *sum)
{
    UNROLL for (int k = 0; k < sums; k++) sum[k] = earlier[k] + sum[k];
}

/* t[v * keys + k] = the sum over s of the products of turned rows with row k of b. The terms are added in the order of
   columns_v4bf16amx: first those of each lane of a vector, then the lanes as in lane_sums_v4bf16amx. `asks` tells
   whether `keys` rows at
   `ahead` are prefetched. */
TARGET_v4bf16amx INLINE void turned_columns_v4bf16amx(const int vectors, const int keys, const int64_t steps,
    const float *turned,
    const float *b, int64_t b_row, const int asks, const uint16_t *ahead, int64_t ahead_row, vec_v4bf16amx *t)
{
    enum { GROUP = 16 < 4 ? 2 : 4 };
    const int64_t parts = steps / 16, lane = parts * vectors * 16;
    const int sums = vectors * keys;
    vec_v4bf16amx group[4][8]; /* sums of 1, 2, 4, … groups of lanes that wait for as many later ones */
    vec_v4bf16amx sum[8];
    for (int l = 0; l < 16; l += GROUP, turned += GROUP * lane, b += GROUP) {
        vec_v4bf16amx one[8], two[8];
        for (int k = l; asks && k < l + GROUP; k++)
            if (k % (16 / keys) == 0) fetch_v4bf16amx(1, steps, ahead + k / (16 / keys) * ahead_row, ahead_row);
        turned_lane_v4bf16amx(vectors, keys, parts, turned, b, b_row, one);
        turned_lane_v4bf16amx(vectors, keys, parts, turned + lane, b + 1, b_row, sum);
        add_turned_v4bf16amx(sums, one, sum);
        if (GROUP == 4) {
            UNROLL for (int k = 0; k < sums; k++) two[k] = sum[k];
            turned_lane_v4bf16amx(vectors, keys, parts, turned + 2 * lane, b + 2, b_row, one);
            turned_lane_v4bf16amx(vectors, keys, parts, turned + 3 * lane, b + 3, b_row, sum);
            add_turned_v4bf16amx(sums, one, sum);
            add_turned_v4bf16amx(sums, two, sum);
        }
        int level = 0;
        for (int g = l / GROUP; g & 1; g /= 2) add_turned_v4bf16amx(sums, group[level++], sum);
        if (l + GROUP == 16) break;
        UNROLL for (int k = 0; k < sums; k++) group[level][k] = sum[k];
    }
    UNROLL for (int k = 0; k < sums; k++) t[k] = sum[k];
}

/* Like all_columns_v4bf16amx, for the rows of up to 2 vectors and all columns,
   whose number is a multiple of 16. The rows are
   put in lanes, so that sums over lanes need no shuffles. `asks` tells whether later rows of b are prefetched. */
TARGET_v4bf16amx INLINE void turned_v4bf16amx(const int vectors, int64_t columns, const int64_t steps, const float *a,
    int64_t a_row,
    const uint16_t *b, int64_t b_row, const int asks, float *c, int64_t c_row)
{
    /* Fewer rows are multiplied by more keys at a time, so that as many sums are independent. */
    const int keys = vectors > 1 ? 8 / 2 : 8 < 16 ? 8 : 16;
    float turned[2 * 16 * 64] __attribute__((aligned(64)));
    float wide[16 * 64] __attribute__((aligned(64)));
    turn_rows_v4bf16amx(vectors, steps, a, a_row, turned);
    for (int64_t x = 0; x < columns; x += 16, b += 16 * b_row) {
        vec_v4bf16amx t[2][16];
        widen_rows_v4bf16amx(16, steps, b, b_row, wide);
        const float *const from = wide;
        const int64_t from_row = steps;
        for (int64_t k = 0; k < 16; k += keys) {
            vec_v4bf16amx some[8];
            turned_columns_v4bf16amx(vectors, keys, steps, turned, from + k * from_row, from_row, asks,
                ahead_v4bf16amx(b, b_row, 32 + k, columns - x, NULL), b_row, some);
            UNROLL for (int v = 0; v < vectors; v++)
                UNROLL for (int n = 0; n < keys; n++) t[v][k + n] = some[v * keys + n];
        }
        UNROLL for (int v = 0; v < vectors; v++) {
            exchange_v4bf16amx(t[v]);
            UNROLL for (int r = 0; r < 16; r++) store_v4bf16amx(c + (v * 16 + r) * c_row + x, t[v][r]);
        }
    }
}

/* Like turned_v4bf16amx, for the rows of all whole vectors. Returns their number. */
TARGET_v4bf16amx INLINE int64_t all_turned_v4bf16amx(int64_t rows, int64_t columns, const int64_t steps, const float *a,
    int64_t a_row,
    const uint16_t *b, int64_t b_row, float *c, int64_t c_row)
{
    int64_t r = 0;
    for (; r + 2 * 16 <= rows; r += 2 * 16)
        turned_v4bf16amx(2, columns, steps, a + r * a_row, a_row, b, b_row, r == 0, c + r * c_row, c_row);
    if (r + 16 <= rows) {
        turned_v4bf16amx(1, columns, steps, a + r * a_row, a_row, b, b_row, r == 0, c + r * c_row, c_row);
        r += 16;
    }
    return r;
}

/* c[r][x] = sum over t of a[r][t] * b[x][t].
   - Both operands are contiguous along t. `steps` is a multiple of 16.
   - b is in memory. It is prefetched `early` rows ahead for one row of a, otherwise 32 rows ahead. */
TARGET_v4bf16amx INLINE void dot_along_v4bf16amx(int64_t rows, int64_t columns, const int64_t steps, const float *a,
    int64_t a_row,
    const uint16_t *b, int64_t b_row, float *c, int64_t c_row, const int64_t early)
{
    const int64_t whole = columns - columns % 16,
        turned = rows < 16 ? 0 : all_turned_v4bf16amx(rows, whole, steps, a, a_row, b, b_row, c, c_row),
        first = turned == rows ? whole : 0;
    b += first * b_row;
    for (int64_t x = first; x < columns; x += 16, b += 16 * b_row) {
        const int64_t last = min(16, columns - x) - 1;
        const uint16_t *const ahead = ahead_v4bf16amx(b, b_row, rows == 1 ? early : 32, columns - x, NULL);
        if (rows == 1 && last == 16 - 1)
            columns_v4bf16amx(1, last, steps, a, b, b_row, c + x, early ? ahead : NULL);
        else if (rows == 1)
            columns_v4bf16amx(0, last, steps, a, b, b_row, c + x, NULL);
        else if (last == 16 - 1)
            all_columns_v4bf16amx(1, last, rows - turned, steps, a + turned * a_row, a_row, b, b_row,
                c + turned * c_row + x,
                c_row, 2, ahead);
        else
            all_columns_v4bf16amx(0, last, rows, steps, a, a_row, b, b_row, c + x, c_row, 2, ahead);
    }
}

/* c[x] += sum over t of a[t] * b[t][x] for up to 8 vectors of lanes, from x = first on. Terms are rounded and
   added as for several rows. For b with scales, one for `block` elements:
   - a has been multiplied by them: a[t][x / block] * unscaled b[t][x]
   - the scales of the rows 32 later are copied to `next`, for `later` rows */
TARGET_v4bf16amx INLINE void row_v4bf16amx(const int vectors, int64_t first, int64_t steps, const float *a,
    int64_t a_step,
    const uint16_t *b, int64_t b_step, const int64_t lanes, const int64_t block, float *c
, const uint16_t *ahead)
{
    vec_v4bf16amx sum[8];
    (void)lanes;
    UNROLL for (int v = 0; v < vectors; v++) sum[v] = (vec_v4bf16amx){0};
    (void)block;
    for (int64_t t = 0; t < steps; t++, b += b_step) {
        if (ahead && first == 0) fetch_v4bf16amx(1, lanes, ahead + t * b_step, b_step);
        UNROLL for (int v = 0; v < vectors; v++) sum[v] += a[t * a_step] * widened_v4bf16amx(b, first + v * 16);
    }
    UNROLL for (int v = 0; v < vectors; v++) store_v4bf16amx(c + first + v * 16,
        load_v4bf16amx(c + first + v * 16) + sum[v]);
}

/* c[r][x] += sum over t of a[r][t] * b[t][x] for up to 6 rows r and up to 4 vectors of lanes, from x = first
   on. Rows of b have `lanes` elements. The first `ahead_rows` rows at `ahead` are prefetched.
   - from 0: b is widened for these rows. 1: it is also stored to `wide`. 2: it is read from there
   - weight: if b has scales, the products of a with `count` scales of each row of b, from scaled_weights_v4bf16amx */
TARGET_v4bf16amx INLINE void some_lanes_v4bf16amx(const int rows, const int vectors, const int from, int64_t first,
    const int64_t lanes,
    int64_t steps, const float *a, int64_t a_row, int64_t a_step, const uint16_t *b, int64_t b_step, float *wide,
    const uint16_t *ahead, int64_t ahead_rows, float *c, int64_t c_row)
{
    vec_v4bf16amx sum[6][4];
    UNROLL for (int r = 0; r < rows; r++)
        UNROLL for (int v = 0; v < vectors; v++) sum[r][v] = (vec_v4bf16amx){0};
    for (int64_t t = 0; t < steps; t++) {
        vec_v4bf16amx x[4];
        if (t < ahead_rows) fetch_v4bf16amx(1, lanes, ahead + t * b_step, b_step);
        UNROLL for (int v = 0; v < vectors; v++) {
            float *const kept = wide + t * lanes + first + v * 16;
            x[v] = from == 2 ? load_v4bf16amx(kept) : unscaled_v4bf16amx(b + t * b_step, first + v * 16);
            if (from == 1) store_v4bf16amx(kept, x[v]);
        }
        UNROLL for (int r = 0; r < rows; r++) {
            const float y = a[r * a_row + t * a_step];
            UNROLL for (int v = 0; v < vectors; v++) sum[r][v] += y * x[v];
        }
    }
    UNROLL for (int r = 0; r < rows; r++)
        UNROLL for (int v = 0; v < vectors; v++) {
            float *const to = c + r * c_row + first + v * 16;
            store_v4bf16amx(to, load_v4bf16amx(to) + sum[r][v]);
        }
}

/* Like some_lanes_v4bf16amx, for all lanes. */
TARGET_v4bf16amx INLINE void all_lanes_v4bf16amx(const int rows, const int from, const int64_t lanes, int64_t steps,
    const float *a,
    int64_t a_row, int64_t a_step, const uint16_t *b, int64_t b_step, float *wide, const uint16_t *ahead,
    int64_t ahead_rows, float *c, int64_t c_row)
{
    const int64_t share = 4 * 16 < lanes ? (ahead_rows * 4 * 16 + lanes - 1) / lanes : ahead_rows;
    int64_t x = 0;
    for (; x + 4 * 16 <= lanes; x += 4 * 16) {
        some_lanes_v4bf16amx(rows, 4, from, x, lanes, steps, a, a_row, a_step, b, b_step, wide, ahead,
            min(share, ahead_rows), c, c_row);
        ahead += share * b_step;
        ahead_rows = max(ahead_rows - share, 0);
    }
    for (; x < lanes; x += 16) {
        some_lanes_v4bf16amx(rows, 1, from, x, lanes, steps, a, a_row, a_step, b, b_step, wide, ahead, ahead_rows, c,
            c_row);
        ahead_rows = 0;
    }
}

/* Like some_lanes_v4bf16amx, for 1 to 6 rows and all lanes. `scale` has the scales of b. */
TARGET_v4bf16amx INLINE void group_v4bf16amx(int64_t rows, const int from, const int64_t lanes, int64_t steps,
    const float *a,
    int64_t a_row, int64_t a_step, const uint16_t *b, int64_t b_step, float *wide, const uint16_t *ahead,
    int64_t ahead_rows, float *c, int64_t c_row)
{
    switch (rows) {
        case 6: all_lanes_v4bf16amx(6, from, lanes, steps, a, a_row, a_step, b, b_step, wide, ahead, ahead_rows, c,
            c_row); break;
        case 5: all_lanes_v4bf16amx(5, from, lanes, steps, a, a_row, a_step, b, b_step, wide, ahead, ahead_rows, c,
            c_row); break;
        case 4: all_lanes_v4bf16amx(4, from, lanes, steps, a, a_row, a_step, b, b_step, wide, ahead, ahead_rows, c,
            c_row); break;
        case 3: all_lanes_v4bf16amx(3, from, lanes, steps, a, a_row, a_step, b, b_step, wide, ahead, ahead_rows, c,
            c_row); break;
        case 2: all_lanes_v4bf16amx(2, from, lanes, steps, a, a_row, a_step, b, b_step, wide, ahead, ahead_rows, c,
            c_row); break;
        default: all_lanes_v4bf16amx(1, from, lanes, steps, a, a_row, a_step, b, b_step, wide, ahead, ahead_rows, c,
            c_row); break;
    }
}

/* Like group_v4bf16amx, for any number of rows. Each group of rows prefetches a share of later rows. */
TARGET_v4bf16amx INLINE void groups_v4bf16amx(int64_t rows, const int64_t lanes, int64_t steps, const float *a,
    int64_t a_row,
    int64_t a_step, const uint16_t *b, int64_t b_step, float *wide, const uint16_t *ahead, float *c,
    int64_t c_row)
{
    if (rows <= 6) {
        group_v4bf16amx(rows, 0, lanes, steps, a, a_row, a_step, b, b_step, wide, ahead, steps, c, c_row);
        return;
    }
    int64_t asked = (6 * steps + rows - 1) / rows;
    group_v4bf16amx(6, 1, lanes, steps, a, a_row, a_step, b, b_step, wide, ahead, asked, c, c_row);
    for (int64_t r = 6; r < rows; r += 6) {
        const int64_t ask = min((min(r + 6, rows) * steps + rows - 1) / rows, steps);
        group_v4bf16amx(min(rows - r, 6), 2, lanes, steps, a + r * a_row, a_row, a_step, b, b_step, wide,
            ahead + asked * b_step, ask - asked, c + r * c_row, c_row);
        asked = ask;
    }
}

/* Like groups_v4bf16amx, for all rows of b, but only 4 vectors of lanes,
   from x = first on. Many rows of c do not fit in the
   first cache, but these lanes of them do. */
TARGET_v4bf16amx INLINE void strip_v4bf16amx(int64_t rows, int64_t first, const int64_t lanes, int64_t steps,
    const float *a, int64_t a_row,
    int64_t a_step, const uint16_t *b, int64_t b_step, float *wide, float *c, int64_t c_row)
{
    for (int64_t t = 0; t < steps; t += 32, a += 32 * a_step, b += 32 * b_step) {
        const int64_t some = min(steps - t, 32);
        const uint16_t *const ahead = ahead_v4bf16amx(b, b_step, 32, steps - t, NULL);
        int64_t r = 0, asked = 0;
        for (; r + 6 <= rows; r += 6) { /* each group of rows prefetches a share of the rows that follow later */
            const int64_t ask = first ? 0 : (r + 6) * some / rows;
            if (r == 0)
                some_lanes_v4bf16amx(6, 4, 1, first, lanes, some, a, a_row, a_step, b, b_step, wide, ahead, ask, c,
                    c_row);
            else
                some_lanes_v4bf16amx(6, 4, 2, first, lanes, some, a + r * a_row, a_row, a_step, b, b_step, wide,
                    ahead + asked * b_step, ask - asked, c + r * c_row, c_row);
            asked = ask;
        }
        for (; r + 2 <= rows; r += 2) {
            some_lanes_v4bf16amx(2, 4, 2, first, lanes, some, a + r * a_row, a_row, a_step, b, b_step, wide, ahead, 0,
                c + r * c_row, c_row);
        }
        if (r < rows) {
            some_lanes_v4bf16amx(1, 4, 2, first, lanes, some, a + r * a_row, a_row, a_step, b, b_step, wide, ahead, 0,
                c + r * c_row, c_row);
        }
    }
}

/* Like dot_v4bf16amx, but b is in memory and is prefetched as in dot_along_v4bf16amx. It is read 32 rows at a time.
   Narrow
   elements are widened once for all rows. If a has one row, b is read 128 lanes at a time. */
TARGET_v4bf16amx INLINE void dot_fetched_v4bf16amx(const int vectors, const int64_t lanes, int64_t rows, const int tail,
    int64_t steps,
    const int64_t span, const float *a, int64_t a_row, int64_t a_step, const uint16_t *b, int64_t b_step, float *c,
    int64_t c_row, const int update, const float *factor, float *compensation, const int64_t early)
{
    float wide[32 * 64] __attribute__((aligned(64)));
    if (1 && update == 1 && rows >= 16 && lanes % (4 * 16) == 0) {
        for (int64_t x = 0; x < lanes; x += 4 * 16)
            strip_v4bf16amx(rows, x, lanes, steps, a, a_row, a_step, b, b_step, wide, c, c_row);
        return;
    }
    for (int64_t t = 0; t < steps; t += 32, a += 32 * a_step, b += 32 * b_step) {
        const int64_t some = min(steps - t, 32);
        const uint16_t *const ahead = ahead_v4bf16amx(b, b_step, rows == 1 ? early : 32, steps - t, NULL);
        (void)ahead;
        const int64_t block = lanes;
        if (rows == 1 && update == 1) {
            const float *const factor_of_row = a;
            const int64_t step = a_step;
            int64_t x = 0;
            for (; x + 128 <= lanes; x += 128)
                row_v4bf16amx(8, x, some, factor_of_row, step, b, b_step, lanes, block,
                    c, early ? ahead : NULL);
            if (lanes % 128)
                row_v4bf16amx((int)(lanes % 128 / 16), x, some, factor_of_row, step, b, b_step, lanes, block,
                    c, early ? ahead : NULL);
            continue;
        }
        if (update == 1 && (1 || rows <= 6)) {
            groups_v4bf16amx(rows, lanes, some, a, a_row, a_step, b, b_step, wide, ahead, c, c_row);
            continue;
        }
        widen_rows_v4bf16amx(some, lanes, b, b_step, wide);
        const float *const from = wide;
        const int64_t from_step = lanes;
        for (int64_t r = 0, asked = 0; r < rows; r += 6) { /* each group of rows prefetches a share */
            const int64_t ask = rows - r <= 6 ? some : min(asked + (some * 6 + rows - 1) / rows, some);
            fetch_v4bf16amx(ask - asked, lanes, ahead + asked * b_step, b_step);
            asked = ask;
            dot_early_v4bf16amx(vectors, lanes, min(6, rows - r), -1, some, span, a + r * a_row, a_row, a_step, from,
                from_step, c + r * c_row, c_row, update, factor, compensation ? compensation + r * c_row : NULL, 0);
        }
        (void)tail;
    }
}

/* The functions for the products below. Each calls dot_v4bf16amx or a similar function with constants. */
TARGET_v4bf16amx APART void dot0_v4bf16amx(int64_t rows, const uint16_t *a, int64_t a_row, const uint16_t *b, float *c)
{
    unit_dot_v4bf16amx(/*lanes=*/16, rows, /*steps=*/2, a, a_row, /*padded=*/0, /*finite=*/0, b, /*b_row=*/32, c,
        /*c_row=*/16, /*add=*/0);
}
TARGET_v4bf16amx APART void dot1_v4bf16amx(int64_t steps, const uint16_t *a, const uint16_t *b, float *c)
{
    unit_dot_v4bf16amx(/*lanes=*/16, /*rows=*/64, steps, a, /*a_row=*/64, /*padded=*/1, /*finite=*/1, b, /*b_row=*/32,
        c, /*c_row=*/16, /*add=*/1);
}
TARGET_v4bf16amx APART void dot2_v4bf16amx(int64_t steps, const uint16_t *a, const uint16_t *b, float *c)
{
    unit_dot_v4bf16amx(/*lanes=*/16, /*rows=*/64, steps, a, /*a_row=*/64, /*padded=*/1, /*finite=*/0, b, /*b_row=*/32,
        c, /*c_row=*/16, /*add=*/1);
}
TARGET_v4bf16amx APART void dot3_v4bf16amx(int64_t rows, int64_t columns, const float *a, const uint16_t *b,
    int64_t b_row, float *c, int64_t early)
{
    dot_along_v4bf16amx(rows, columns, /*steps=*/64, a, /*a_row=*/64, b, b_row, c, /*c_row=*/144, early);
}
TARGET_v4bf16amx APART void dot4_v4bf16amx(int64_t rows, int64_t steps, const float *a, const float *b, float *c)
{
    dot_finite_lanes_v4bf16amx(/*fetched=*/1, /*vectors=*/4, /*lanes=*/64, rows, /*tail=*/-1, steps, /*span=*/192, a,
        /*a_row=*/144, /*a_step=*/1, b, /*b_step=*/64, c, /*c_row=*/64, /*update=*/1, /*factor=*/NULL,
        /*compensation=*/NULL);
}
TARGET_v4bf16amx APART void dot5_v4bf16amx(int64_t rows, int64_t steps, const float *a, const uint16_t *b,
    int64_t b_step, float *c, int64_t early)
{
    dot_fetched_v4bf16amx(/*vectors=*/4, /*lanes=*/64, rows, /*tail=*/-1, steps, /*span=*/192, a, /*a_row=*/144,
        /*a_step=*/1, b, b_step, c, /*c_row=*/64, /*update=*/1, /*factor=*/NULL, /*compensation=*/NULL, early);
}

/* Computes task number `task`: one tile of queries of one head. `work` is this thread's workspace. */
TARGET_v4bf16amx static void softmax_causal_bf16_rows_v4bf16amx(const struct call *call, int64_t task,
    unsigned char *work)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_q = call->p.n_q;
    const int64_t n_k = call->p.n_k;
    const int64_t tiles = (n_q + 512 - 1) / 512, i0 = (tiles - 1 - task % tiles) * 512,
        i1 = min(i0 + 512, n_q);
    const int64_t m = task / tiles % members;
    const int64_t g = task / tiles / members % kv_heads;
    const int64_t b = task / tiles / members / kv_heads;
    const int64_t query_start = call->p.query_start ? call->p.query_start[b] : n_k - n_q;
    const uint16_t *const q = call->q + b * call->p.q.batch + (g / call->sharing * members + m) * call->p.q.head;
    const int64_t q_row = call->p.q.row;
    const uint16_t *const k = call->k + b * call->p.k.batch + g / call->sharing * call->p.k.head;
    const int64_t k_row = call->p.k.row;
    const uint16_t *const v = call->v + b * call->p.v.batch + g * call->p.v.head;
    const int64_t v_row = call->p.v.row;
    float *const weight = (float *)(void *)(work + 0); /* [j: 64, i: 16] */
    float *const all_row_max = (float *)(void *)(work + 4096); /* [i: 16, 32 times] */
    float *const old_max = (float *)(void *)(work + 6144); /* [i: 16] */
    float *const all_row_sum = (float *)(void *)(work + 6208); /* [i: 16, 32 times] */
    float *const all_row_sum_compensation = (float *)(void *)(work + 8256); /* [i: 16, 32 times] */
    float *const all_sum = (float *)(void *)(work + 10304); /* [e: 64, i: 16, 32 times] */
    float *const result = (float *)(void *)(work + 0); /* [e: 64, i: 16] */
    uint16_t *const out = call->out + b * call->p.out.batch + (g * members + m) * call->p.out.head;
    const int64_t out_row = call->p.out.row;
    uint16_t *const all_q_tile = (uint16_t *)(void *)(work + 141376); /* [d: 64, i: 16, 32 times] */
    uint16_t *const weight_pairs = (uint16_t *)(void *)(work + 206912); /* [j: 64, i: 16] */
    uint16_t *const v_tile = (uint16_t *)(void *)(work + 208960); /* [e: 64, j: 64] */
    configure_tiles();
    for (int64_t i_next = i0, i_block = i0, i_end = i1; i_next < i_end; i_next += 16) {
        const int64_t i0 = i_next, i1 = min(i0 + 16, i_end);
        float *const row_max = all_row_max + (i0 - i_block) / 16 * 16;
        float *const row_sum = all_row_sum + (i0 - i_block) / 16 * 16;
        float *const row_sum_compensation = all_row_sum_compensation + (i0 - i_block) / 16 * 16;
        float *const sum = all_sum + (i0 - i_block) / 16 * 1024;
        uint16_t *const q_tile = all_q_tile + (i0 - i_block) / 16 * 1024;
        /* q_tile = q, for matrix units */
        unit_pairs_v4bf16amx(q + i0 * q_row, q_row, i1 - i0, 64, q_tile, 32);
        /* row_max = -FLT_MAX; row_sum = 0.0f; row_sum_compensation = 0.0f */
        for (int64_t i = 0; i < i1 - i0; i += 16) {
            store_v4bf16amx(row_max + i, splat_v4bf16amx(-FLT_MAX));
            store_v4bf16amx(row_sum + i, splat_v4bf16amx(0.0f));
            store_v4bf16amx(row_sum_compensation + i, splat_v4bf16amx(0.0f));
        }
        /* sum = 0.0f; sum_compensation = 0.0f */
        for (int64_t e = 0; e < 64; e++) {
            for (int64_t i = 0; i < i1 - i0; i += 16) {
                store_v4bf16amx(sum + e * 16 + i, splat_v4bf16amx(0.0f));
            }
        }
    }
    for (int64_t j0 = 0, j_end = min(n_k, i1 + query_start); j0 < j_end; j0 += 64) {
        const int64_t j1 = min(j0 + 64, j_end);
        /* v_tile = v, for matrix units */
        unit_turned_v4bf16amx(v + j0 * v_row, v_row, j1 - j0, 64, v_tile, 64);
        for (int64_t i_next = i0, i_block = i0, i_end = i1; i_next < i_end; i_next += 16) {
            const int64_t i0 = i_next, i1 = min(i0 + 16, i_end);
            float *const row_max = all_row_max + (i0 - i_block) / 16 * 16;
            float *const row_sum = all_row_sum + (i0 - i_block) / 16 * 16;
            float *const row_sum_compensation = all_row_sum_compensation + (i0 - i_block) / 16 * 16;
            float *const sum = all_sum + (i0 - i_block) / 16 * 1024;
            uint16_t *const q_tile = all_q_tile + (i0 - i_block) / 16 * 1024;
            if (!(j0 < (i1 + query_start))) continue; /* no query sees a key of the tile */
            /* weight[j][i] = sum over d of k * q_tile */
            dot0_v4bf16amx(j1 - j0, k + j0 * k_row, k_row, q_tile, weight);
            /* old_max = row_max */
            for (int64_t i = 0; i < i1 - i0; i += 16) {
                store_v4bf16amx(old_max + i, load_v4bf16amx(row_max + i));
            }
            if ((i0 + query_start + 1) < j1) { /* the tile is partly outside the mask */
                /* weight = select(j <= (i + query_start), weight, -INFINITY) */
                for (int64_t i = 0; i < i1 - i0; i += 16) {
                    const ints_v4bf16amx t_0 = (i0 + i + lane_v4bf16amx) + query_start;
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        store_v4bf16amx(weight + j * 16 + i, pick_v4bf16amx(__builtin_convertvector((j0 + j) <= t_0,
                            mask_v4bf16amx), load_v4bf16amx(weight + j * 16 + i), splat_v4bf16amx(-INFINITY)));
                    }
                }
            }
            /* row_max max= weight * 0.18033688f */
            for (int64_t i = 0; i < i1 - i0; i += 16) {
                vec_v4bf16amx row_max_in[4];
                UNROLL for (int j_chain = 0; j_chain < 4; j_chain++) row_max_in[j_chain] = splat_v4bf16amx(-INFINITY);
                for (int64_t j_first = 0; j_first < j1 - j0; j_first += 4) {
                    UNROLL for (int j_chain = 0; j_chain < 4; j_chain++) {
                        const int64_t j = min(j_first + j_chain, j1 - j0 - 1);
                        row_max_in[j_chain] = max_v4bf16amx(row_max_in[j_chain], load_v4bf16amx(weight + j * 16 + i));
                    }
                }
                store_v4bf16amx(row_max + i, max_v4bf16amx(load_v4bf16amx(row_max + i),
                    max_v4bf16amx(max_v4bf16amx(max_v4bf16amx(row_max_in[0], row_max_in[1]), row_max_in[2]),
                    row_max_in[3]) * 0.18033688f));
            }
            /* old_max = exp2(old_max - row_max); row_sum = row_sum * old_max;
               row_sum_compensation = row_sum_compensation * old_max */
            for (int64_t i = 0; i < i1 - i0; i += 16) {
                const vec_v4bf16amx old_max_1 = load_v4bf16amx(old_max + i);
                const vec_v4bf16amx old_max_new2 = exp2_v4bf16amx(old_max_1 - load_v4bf16amx(row_max + i));
                store_v4bf16amx(old_max + i, old_max_new2);
                store_v4bf16amx(row_sum + i, load_v4bf16amx(row_sum + i) * old_max_new2);
                store_v4bf16amx(row_sum_compensation + i, load_v4bf16amx(row_sum_compensation + i) * old_max_new2);
            }
            /* weight = exp2((weight * 0.18033688f) - row_max); row_sum += weight */
            for (int64_t i = 0; i < i1 - i0; i += 16) {
                const vec_v4bf16amx row_max_4 = load_v4bf16amx(row_max + i);
                vec_v4bf16amx row_sum_in = (vec_v4bf16amx){0};
                for (int64_t j = 0; j < j1 - j0; j++) {
                    const vec_v4bf16amx weight_3 = load_v4bf16amx(weight + j * 16 + i);
                    const vec_v4bf16amx weight_new5 = exp2_coarse_v4bf16amx((weight_3 * 0.18033688f) - row_max_4);
                    store_v4bf16amx(weight + j * 16 + i, weight_new5);
                    row_sum_in += weight_new5;
                }
                add_v4bf16amx(row_sum + i, row_sum_compensation + i, row_sum_in, splat_v4bf16amx(1));
            }
            /* weight_pairs = weight, for matrix units */
            unit_rounded_v4bf16amx(weight, 16, j1 - j0, i1 - i0, weight_pairs, 32);
            /* sum[e][i] = sum * old_max + sum over j of v_tile * weight_pairs */
            unit_scale_v4bf16amx(16, 64, sum, 16, old_max);
            if (__builtin_expect(((i0 + query_start + 1) < j1) && !finite_paired_v4bf16amx(v_tile, 64, 64, j1 - j0),
                0)) { /* infinity and NaN affect only queries that see them */
                dot1_v4bf16amx((j1 - j0 + 31) / 32, v_tile, weight_pairs, sum);
                for (int64_t j = 0; j < j1 - j0; j++) {
                    mask_v4bf16amx in_region[1] = {0};
                    if (finite_paired_v4bf16amx(v_tile + j, 64, 64, 1)) continue;
                    for (int64_t i = 0; i < i1 - i0; i += 16) {
                        in_region[i / 16] = __builtin_convertvector((j0 + j) <= ((i0 + i + lane_v4bf16amx) +
                            query_start), mask_v4bf16amx);
                    }
                    add_seen_paired_v4bf16amx(64, sum, 16, v_tile + j, 64, weight_pairs + j / 2 * 32, j % 2, in_region,
                        i1 - i0);
                }
            } else
                dot2_v4bf16amx((j1 - j0 + 31) / 32, v_tile, weight_pairs, sum);
        }
    }
    {
        for (int64_t i_next = i0, i_block = i0, i_end = i1; i_next < i_end; i_next += 16) {
            const int64_t i0 = i_next, i1 = min(i0 + 16, i_end);
            float *const row_sum = all_row_sum + (i0 - i_block) / 16 * 16;
            float *const sum = all_sum + (i0 - i_block) / 16 * 1024;
            /* result = select(row_sum == 0.0f, 0.0f, sum * (1.0f / row_sum)) */
            for (int64_t i = 0; i < i1 - i0; i += 16) {
                const vec_v4bf16amx row_sum_6 = load_v4bf16amx(row_sum + i);
                const mask_v4bf16amx t_7 = row_sum_6 == 0.0f;
                const vec_v4bf16amx t_8 = 1.0f / row_sum_6;
                for (int64_t e = 0; e < 64; e++) {
                    store_v4bf16amx(result + e * 16 + i, pick_v4bf16amx(t_7, splat_v4bf16amx(0.0f),
                        load_v4bf16amx(sum + e * 16 + i) * t_8));
                }
            }
            /* out = result, transposed back */
            transpose_narrowed_v4bf16amx(result, 16, 64, i1 - i0, out + i0 * out_row, out_row, 16);
        }
    }
    release_tiles();
}

/* Initialises the states: they contain no keys yet. */
TARGET_v4bf16amx APART void softmax_causal_bf16_few_begin_v4bf16amx(const struct call *call, int64_t task,
    const struct part *part, int64_t iteration)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_q = call->p.n_q;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t r0 = iteration * 64, r1 = min(r0 + 64, rows);
    const int64_t g = task % kv_heads;
    const int64_t b = task / kv_heads;
    const uint16_t *const q = call->q + b * call->p.q.batch + g / call->sharing * members * call->p.q.head;
    const int64_t q_row = call->p.q.row;
    const int64_t q_head = call->p.q.head;
    float *const query_turned = (float *)(void *)(part->shared + 0); /* [r: 64, d: 64] */
    float *const q_tile = (float *)(void *)(part->work + 0); /* [r: 64, d: 64] */
    /* q_tile = q, widened */
    for (int64_t r = r0; r < r1; r++)
        for (int64_t d = 0; d < 64; d += 16)
            store_v4bf16amx(q_tile + r * 64 + d, widened_v4bf16amx(q + r / n_q * q_head + r % n_q * q_row, d));
    /* query_turned = q_tile * 0.18033688f */
    for (int64_t r = r0; r < r1; r++) {
        for (int64_t d_first = 0; d_first < 64; d_first += 64) {
            UNROLL for (int64_t vector = 0, d = d_first; vector < 4; vector++, d += 16) {
                store_v4bf16amx(query_turned + r * 64 + d, load_v4bf16amx(q_tile + r * 64 + d) * 0.18033688f);
            }
        }
    }
}

/* Initialises the states: they contain no keys yet. */
TARGET_v4bf16amx APART void softmax_causal_bf16_few_begin_2_v4bf16amx(const struct call *call, int64_t task,
    const struct part *part, int64_t iteration)
{
    (void)task;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t r0 = iteration * 16, r1 = min(r0 + 16, rows);
    float *const carried_max = (float *)(void *)(part->shared + 16384); /* [r: 64] */
    float *const carried_sum = (float *)(void *)(part->shared + 16640); /* [r: 64] */
    float *const carried_sum_compensation = (float *)(void *)(part->shared + 33280); /* [r: 64] */
    float *const carried = (float *)(void *)(part->shared + 16896); /* [r: 64, e: 64] */
    float *const carried_compensation = (float *)(void *)(part->shared + 33536); /* [r: 64, e: 64] */
    /* carried_max = -FLT_MAX; carried_sum = 0.0f; carried_sum_compensation = 0.0f */
    for (int64_t r = r0; r < r1; r += 16) {
        store_v4bf16amx(carried_max + r, splat_v4bf16amx(-FLT_MAX));
        store_v4bf16amx(carried_sum + r, splat_v4bf16amx(0.0f));
        store_v4bf16amx(carried_sum_compensation + r, splat_v4bf16amx(0.0f));
    }
    /* carried = 0.0f; carried_compensation = 0.0f */
    for (int64_t r = r0; r < r1; r++) {
        for (int64_t e_first = 0; e_first < 64; e_first += 64) {
            UNROLL for (int64_t vector = 0, e = e_first; vector < 4; vector++, e += 16) {
                store_v4bf16amx(carried + r * 64 + e, splat_v4bf16amx(0.0f));
                store_v4bf16amx(carried_compensation + r * 64 + e, splat_v4bf16amx(0.0f));
            }
        }
    }
}

/* Sums the keys of a chunk, from zero, into its slot. */
TARGET_v4bf16amx APART void softmax_causal_bf16_few_keys_v4bf16amx(const struct call *call, int64_t task,
    const struct part *part, int64_t iteration)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t n_q = call->p.n_q;
    const int64_t n_k = call->p.n_k;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t chunk = iteration;
    const int64_t chunk0 = part->chunk0;
    const int64_t g = task % kv_heads;
    const int64_t b = task / kv_heads;
    const int64_t query_start = call->p.query_start ? call->p.query_start[b] : n_k - n_q;
    const uint16_t *const k = call->k + b * call->p.k.batch + g / call->sharing * call->p.k.head;
    const int64_t k_row = call->p.k.row;
    const uint16_t *const v = call->v + b * call->p.v.batch + g * call->p.v.head;
    const int64_t v_row = call->p.v.row;
    float *const score = (float *)(void *)(part->work + 0); /* [r: 64, j: 128 of 144] */
    float *const query_turned = (float *)(void *)(part->shared + 0); /* [r: 64, d: 64] */
    float *const state_max = (float *)(void *)(part->slots + 0); /* [chunk, r: 64] */
    float *const old_max = (float *)(void *)(part->work + 36864); /* [r: 64] */
    float *const state_sum = (float *)(void *)(part->slots + 256); /* [chunk, r: 64] */
    float *const state = (float *)(void *)(part->slots + 512); /* [chunk, r: 64, e: 64] */
    /* state_max = -FLT_MAX; state_sum = 0.0f */
    for (int64_t r = 0; r < rows; r += 16) {
        store_v4bf16amx(state_max + (chunk - chunk0) * 4224 + r, splat_v4bf16amx(-FLT_MAX));
        store_v4bf16amx(state_sum + (chunk - chunk0) * 4224 + r, splat_v4bf16amx(0.0f));
    }
    /* state = 0.0f */
    for (int64_t r = 0; r < rows; r++) {
        for (int64_t e_first = 0; e_first < 64; e_first += 64) {
            UNROLL for (int64_t vector = 0, e = e_first; vector < 4; vector++, e += 16) {
                store_v4bf16amx(state + (chunk - chunk0) * 4224 + r * 64 + e, splat_v4bf16amx(0.0f));
            }
        }
    }
    for (int64_t j0 = chunk * 1024, j_end = min(min(n_k, (chunk + 1) * 1024), n_q + query_start); j0 < j_end;
        j0 += 128) {
        const int64_t j1 = min(j0 + 128, j_end);
        /* score[r][j] = sum over d of query_turned * k */
        dot3_v4bf16amx(rows, j1 - j0, query_turned, k + j0 * k_row, k_row, score, attn_is_intel() ? 32 : 0);
        /* old_max = state_max */
        for (int64_t r = 0; r < rows; r += 16) {
            store_v4bf16amx(old_max + r, load_v4bf16amx(state_max + (chunk - chunk0) * 4224 + r));
        }
        if ((query_start + 1) < j1) { /* the tile is partly outside the mask */
            /* score = select(j <= ((r % n_q) + query_start), score, -INFINITY) */
            for (int64_t j = 0; j < j1 - j0; j += 16) {
                const ints_v4bf16amx t_0 = j0 + j + lane_v4bf16amx;
                for (int64_t r = 0; r < rows; r++) {
                    store_v4bf16amx(score + r * 144 + j, pick_v4bf16amx(__builtin_convertvector(t_0 <= ((r % n_q) +
                        query_start), mask_v4bf16amx), load_v4bf16amx(score + r * 144 + j),
                        splat_v4bf16amx(-INFINITY)));
                }
            }
        }
        /* state_max max= score */
        for (int64_t r = 0; r < rows; r++) {
            vec_v4bf16amx lanes_max = splat_v4bf16amx(-INFINITY);
            for (int64_t j = 0; j < j1 - j0; j += 16) {
                const vec_v4bf16amx term = load_v4bf16amx(score + r * 144 + j);
                lanes_max = max_v4bf16amx(lanes_max, j + 16 <= j1 - j0 ? term : pick_v4bf16amx(__builtin_convertvector(j
                    + lane_v4bf16amx < j1 - j0, mask_v4bf16amx), term, splat_v4bf16amx(-INFINITY)));
            }
            const float largest = lane_max_v4bf16amx(lanes_max);
            if (largest > state_max[(chunk - chunk0) * 4224 + r]) state_max[(chunk - chunk0) * 4224 + r] = largest;
        }
        /* old_max = exp2(old_max - state_max); state_sum = state_sum * old_max */
        for (int64_t r = 0; r < rows; r += 16) {
            const vec_v4bf16amx old_max_1 = load_v4bf16amx(old_max + r);
            const vec_v4bf16amx old_max_new2 = exp2_v4bf16amx(old_max_1 - load_v4bf16amx(state_max + (chunk - chunk0) *
                4224 + r));
            store_v4bf16amx(old_max + r, old_max_new2);
            store_v4bf16amx(state_sum + (chunk - chunk0) * 4224 + r,
                load_v4bf16amx(state_sum + (chunk - chunk0) * 4224 + r) * old_max_new2);
        }
        /* score = exp2(score - state_max) */
        for (int64_t j = 0; j < j1 - j0; j += 16) {
            for (int64_t r = 0; r < rows; r++) {
                store_v4bf16amx(score + r * 144 + j, exp2_v4bf16amx(load_v4bf16amx(score + r * 144 + j) -
                    (state_max[(chunk - chunk0) * 4224 + r])));
            }
        }
        /* state_sum += score */
        for (int64_t r = 0; r < rows; r++) {
            vec_v4bf16amx lane_sums = splat_v4bf16amx(0);
            for (int64_t j = 0; j < j1 - j0; j += 16) {
                const vec_v4bf16amx term = load_v4bf16amx(score + r * 144 + j);
                lane_sums += j + 16 <= j1 - j0 ? term : pick_v4bf16amx(__builtin_convertvector(j + lane_v4bf16amx < j1 -
                    j0, mask_v4bf16amx), term, splat_v4bf16amx(0));
            }
            const float total = lane_sum_v4bf16amx(lane_sums);
            state_sum[(chunk - chunk0) * 4224 + r] += total;
        }
        /* state = state * old_max */
        for (int64_t r = 0; r < rows; r++) {
            for (int64_t e_first = 0; e_first < 64; e_first += 64) {
                UNROLL for (int64_t vector = 0, e = e_first; vector < 4; vector++, e += 16) {
                    store_v4bf16amx(state + (chunk - chunk0) * 4224 + r * 64 + e,
                        load_v4bf16amx(state + (chunk - chunk0) * 4224 + r * 64 + e) * old_max[r]);
                }
            }
        }
        /* state[r][e] += sum over j of score * v */
        if (__builtin_expect(((query_start + 1) < j1) && !finite_stored_v4bf16amx(v + j0 * v_row, v_row, j1 - j0, 64),
            0)) { /* infinity and NaN affect only queries that see them */
            float wide[8192];
            for (int64_t t = 0; t < j1 - j0; t++)
                for (int64_t x = 0; x < 64; x += 16)
                    store_v4bf16amx(wide + t * 64 + x, widened_v4bf16amx(v + j0 * v_row + t * v_row, x));
            dot4_v4bf16amx(rows, j1 - j0, score, wide, state + (chunk - chunk0) * 4224);
            for (int64_t r = 0; r < rows; r++) {
                mask_v4bf16amx in_region[8] = {0};
                const int64_t t_3 = (r % n_q) + query_start;
                for (int64_t j = 0; j < j1 - j0; j += 16) {
                    in_region[j / 16] = __builtin_convertvector((j0 + j + lane_v4bf16amx) <= t_3, mask_v4bf16amx);
                }
                add_seen_lanes_v4bf16amx(64, state + (chunk - chunk0) * 4224 + r * 64, score + r * 144, wide, 64,
                    j1 - j0, in_region);
            }
        } else
            dot5_v4bf16amx(rows, j1 - j0, score, v + j0 * v_row, v_row, state + (chunk - chunk0) * 4224,
                attn_is_intel() ? 32 : 0);
    }
}

/* Folds the slots of the current chunks, in order, for some elements of the states. */
TARGET_v4bf16amx APART void softmax_causal_bf16_few_fold_v4bf16amx(const struct call *call, int64_t task,
    const struct part *part, int64_t iteration)
{
    (void)task;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t r0 = iteration * 16, r1 = min(r0 + 16, rows);
    const int64_t chunk0 = part->chunk0;
    const int64_t chunk1 = part->chunk1;
    float *const state_max = (float *)(void *)(part->slots + 0); /* [chunk, r: 64] */
    float *const state_sum = (float *)(void *)(part->slots + 256); /* [chunk, r: 64] */
    float *const state = (float *)(void *)(part->slots + 512); /* [chunk, r: 64, e: 64] */
    float *const carried_max = (float *)(void *)(part->shared + 16384); /* [r: 64] */
    float *const carried_factor = (float *)(void *)(part->work + 0); /* [r: 64] */
    float *const slot_factor = (float *)(void *)(part->work + 256); /* [r: 64] */
    float *const carried_sum = (float *)(void *)(part->shared + 16640); /* [r: 64] */
    float *const carried_sum_compensation = (float *)(void *)(part->shared + 33280); /* [r: 64] */
    float *const carried = (float *)(void *)(part->shared + 16896); /* [r: 64, e: 64] */
    float *const carried_compensation = (float *)(void *)(part->shared + 33536); /* [r: 64, e: 64] */
    for (int64_t chunk = chunk0; chunk < chunk1; chunk++) {
        /* before_max = carried_max; carried_max max= state_max; carried_factor = exp2(before_max - carried_max);
           slot_factor = exp2(state_ ... */
        for (int64_t r = r0; r < r1; r += 16) {
            const vec_v4bf16amx carried_max_4 = load_v4bf16amx(carried_max + r);
            const vec_v4bf16amx before_max_new5 = carried_max_4;
            const vec_v4bf16amx state_max_6 = load_v4bf16amx(state_max + (chunk - chunk0) * 4224 + r);
            const vec_v4bf16amx carried_max_new7 = max_v4bf16amx(load_v4bf16amx(carried_max + r), state_max_6);
            store_v4bf16amx(carried_max + r, carried_max_new7);
            const vec_v4bf16amx carried_factor_new8 = exp2_v4bf16amx(before_max_new5 - carried_max_new7);
            store_v4bf16amx(carried_factor + r, carried_factor_new8);
            const vec_v4bf16amx slot_factor_new9 = exp2_v4bf16amx(state_max_6 - carried_max_new7);
            store_v4bf16amx(slot_factor + r, slot_factor_new9);
            const vec_v4bf16amx carried_sum_10 = load_v4bf16amx(carried_sum + r);
            store_v4bf16amx(carried_sum + r, carried_sum_10 * carried_factor_new8);
            store_v4bf16amx(carried_sum_compensation + r, load_v4bf16amx(carried_sum_compensation + r) *
                carried_factor_new8);
            add_v4bf16amx(carried_sum + r, carried_sum_compensation + r,
                load_v4bf16amx(state_sum + (chunk - chunk0) * 4224 + r) * slot_factor_new9, splat_v4bf16amx(1));
        }
        /* before = carried; carried = carried * carried_factor; carried_compensation = carried_compensation *
           carried_factor; carried += s ... */
        for (int64_t r = r0; r < r1; r++) {
            for (int64_t e_first = 0; e_first < 64; e_first += 64) {
                UNROLL for (int64_t vector = 0, e = e_first; vector < 4; vector++, e += 16) {
                    const vec_v4bf16amx carried_11 = load_v4bf16amx(carried + r * 64 + e);
                    const float carried_factor_12 = carried_factor[r];
                    store_v4bf16amx(carried + r * 64 + e, carried_11 * carried_factor_12);
                    store_v4bf16amx(carried_compensation + r * 64 + e, load_v4bf16amx(carried_compensation + r * 64 + e)
                        * carried_factor_12);
                    add_v4bf16amx(carried + r * 64 + e, carried_compensation + r * 64 + e,
                        load_v4bf16amx(state + (chunk - chunk0) * 4224 + r * 64 + e) * slot_factor[r],
                        splat_v4bf16amx(1));
                }
            }
        }
    }
}

/* Processes a tile of queries: reads the states. */
TARGET_v4bf16amx APART void softmax_causal_bf16_few_queries_v4bf16amx(const struct call *call, int64_t task,
    const struct part *part, int64_t iteration)
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
    uint16_t *const out = call->out + b * call->p.out.batch + g * members * call->p.out.head;
    const int64_t out_row = call->p.out.row;
    const int64_t out_head = call->p.out.head;
    /* result = select(carried_sum == 0.0f, 0.0f, carried * (1.0f / carried_sum)) */
    for (int64_t r = r0; r < r1; r++) {
        for (int64_t e_first = 0; e_first < 64; e_first += 64) {
            UNROLL for (int64_t vector = 0, e = e_first; vector < 4; vector++, e += 16) {
                const float carried_sum_13 = carried_sum[r];
                store_v4bf16amx(result + r * 64 + e, (carried_sum_13 == 0.0f) ? splat_v4bf16amx(0.0f) :
                    load_v4bf16amx(carried + r * 64 + e) * (1.0f / carried_sum_13));
            }
        }
    }
    /* out = result */
    for (int64_t r = r0; r < r1; r++)
        for (int64_t e = 0; e < 64; e++)
            out[r / n_q * out_head + r % n_q * out_row + e] = narrowed(result[r * 64 + e]);
}

/* Computes head number `task`. Each thread on the head calls this with its share, `part`. */
TARGET_v4bf16amx static void softmax_causal_bf16_few_v4bf16amx(const struct call *call, int64_t task, struct part *part)
{
    const int64_t n_k = call->p.n_k;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t chunks = n_k > 0 ? (n_k - 1) / 1024 + 1 : 1;
    for (int64_t iteration = part->number; iteration < ((rows + 63) / 64); iteration += part->threads)
        softmax_causal_bf16_few_begin_v4bf16amx(call, task, part, iteration);
    for (int64_t iteration = part->number; iteration < ((rows + 15) / 16); iteration += part->threads)
        softmax_causal_bf16_few_begin_2_v4bf16amx(call, task, part, iteration);
    synchronise(part);
    const int64_t first = 0;
    const int64_t length = segment_length(part, chunks - first);
    for (int64_t segment = part->number; first + segment * length < chunks; segment += part->threads) {
        part->chunk0 = first + segment * length;
        part->chunk1 = min(part->chunk0 + length, chunks);
        for (int64_t iteration = part->chunk0; iteration < part->chunk1; iteration++)
            softmax_causal_bf16_few_keys_v4bf16amx(call, task, part, iteration);
        for (int64_t group = 0; group < 16; group++) {
            await_segment(part, group, segment);
            const int64_t end = (group + 1) * ((rows + 15) / 16) / 16;
            for (int64_t iteration = group * ((rows + 15) / 16) / 16; iteration < end; iteration++)
                softmax_causal_bf16_few_fold_v4bf16amx(call, task, part, iteration);
            pass_segment(part, group, segment);
        }
    }
    part->segments += (max(chunks - first, 0) + length - 1) / length;
    synchronise(part);
    for (int64_t iteration = part->number; iteration < ((rows + 15) / 16); iteration += part->threads)
        softmax_causal_bf16_few_queries_v4bf16amx(call, task, part, iteration);
    synchronise(part);
}
#endif

/* ==== x86-64-v4 with products of bf16 ==== */
#if defined(__x86_64__) && !defined(ATTN_EMULATE_TILES)
#define TARGET_v4bf16 __attribute__((target("avx512bf16,avx512f,avx512bw,avx512cd,avx512dq,avx512vl,avx2,bmi,bmi2,fma,f16c")))

/* Each of these types has 16 elements:
   - vec_v4bf16: numbers
   - mask_v4bf16: results of comparisons
   - ints_v4bf16: positions
   - wide_v4bf16: doubles */
typedef float vec_v4bf16 __attribute__((vector_size(64)));
typedef float stored_v4bf16 __attribute__((vector_size(64), aligned(sizeof(float)), may_alias)); /* in memory,
    unaligned */
typedef int32_t mask_v4bf16 __attribute__((vector_size(64)));
typedef int64_t ints_v4bf16 __attribute__((vector_size(128)));
typedef uint16_t halves_v4bf16 __attribute__((vector_size(2 * 16), aligned(2), may_alias));
TARGET_v4bf16 INLINE vec_v4bf16 load_v4bf16(const float *p) { return *(const stored_v4bf16 *)(const void *)p; }
TARGET_v4bf16 INLINE void store_v4bf16(float *p, vec_v4bf16 x) { *(stored_v4bf16 *)(void *)p = x; }
TARGET_v4bf16 INLINE vec_v4bf16 splat_v4bf16(float x) { return x - (vec_v4bf16){0}; }

/* Returns a in the lanes of the mask, and b in the other lanes. */
TARGET_v4bf16 INLINE vec_v4bf16 pick_v4bf16(mask_v4bf16 m, vec_v4bf16 a,
    vec_v4bf16 b) { return (vec_v4bf16)((m & (mask_v4bf16)a) | (~m & (mask_v4bf16)b)); }

/* Stores each lane as 16 bits, rounded like narrowed(). Bits of a NaN may differ. */
TARGET_v4bf16 INLINE void store_narrowed_v4bf16(uint16_t *p, vec_v4bf16 x)
{
    const mask_v4bf16 bits = (mask_v4bf16)x, made = (mask_v4bf16)pick_v4bf16((mask_v4bf16)(x != x),
        (vec_v4bf16)(bits | 0x400000),
        (vec_v4bf16)(bits + 0x7fff + (bits >> 16 & 1)));
    *(halves_v4bf16 *)(void *)p = __builtin_convertvector(made >> 16, halves_v4bf16);
}

static const ints_v4bf16 lane_v4bf16 = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};

TARGET_v4bf16 INLINE vec_v4bf16 max_v4bf16(vec_v4bf16 a, vec_v4bf16 b) { return pick_v4bf16((mask_v4bf16)(a < b), b, a);
    }

/* Returns 2^x with a relative error below 1e-8. It is 0 for x < -126.0f, because subnormal numbers are slow.
   NaN stays NaN. */
TARGET_v4bf16 INLINE vec_v4bf16 exp2_v4bf16(vec_v4bf16 x)
{
    vec_v4bf16 f, y;
    uint16_t normal;
    /* `normal` gets the lanes in which x is not less than -126.0f. */
    __asm__("vcmpps $0x15, %2, %1, %0" : "=Yk"(normal) : "v"(x), "v"(splat_v4bf16(-126.0f)));
    __asm__("vreduceps $0, %1, %0" : "=v"(f) : "v"(x)); /* x minus the nearest integer, 0 for infinity */
    vec_v4bf16 p = f * 0.00015453163f + 0.0013390863f;
    p = p * f + 0.0096180826f;
    p = p * f + 0.055503571f;
    p = p * f + 0.24022651f;
    p = p * f + 0.69314719f;
    p = p * f + 1.0f;
    __asm__("vscalefps %2, %1, %0%{%3%}%{z%}" : "=v"(y) : "v"(p), "v"(x - f), "Yk"(normal)); /* p * 2^(x - f) */
    return y;
}

/* Returns 2^x with a relative error below 1e-4, for results in bf16. */
TARGET_v4bf16 INLINE vec_v4bf16 exp2_coarse_v4bf16(vec_v4bf16 x)
{
    vec_v4bf16 f, y;
    uint16_t normal;
    /* `normal` gets the lanes in which x is not less than -126.0f. */
    __asm__("vcmpps $0x15, %2, %1, %0" : "=Yk"(normal) : "v"(x), "v"(splat_v4bf16(-126.0f)));
    __asm__("vreduceps $0, %1, %0" : "=v"(f) : "v"(x));
    vec_v4bf16 p = f * 0.0558282f + 0.2426278f;
    p = p * f + 0.6931214f;
    p = p * f + 0.9999251f;
    __asm__("vscalefps %2, %1, %0%{%3%}%{z%}" : "=v"(y) : "v"(p), "v"(x - f), "Yk"(normal)); /* p * 2^(x - f) */
    return y;
}

/* Returns the sum over the lanes of x. */
TARGET_v4bf16 INLINE float lane_sum_v4bf16(vec_v4bf16 x)
{
    x += __builtin_shufflevector(x, x, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7);
    x += __builtin_shufflevector(x, x, 4, 5, 6, 7, 0, 1, 2, 3, 12, 13, 14, 15, 8, 9, 10, 11);
    x += __builtin_shufflevector(x, x, 2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13);
    x += __builtin_shufflevector(x, x, 1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14);
    return x[0];
}

/* Returns the maximum over the lanes of x. If a lane is NaN, the result may be NaN or a number. */
TARGET_v4bf16 INLINE float lane_max_v4bf16(vec_v4bf16 x)
{
    x = max_v4bf16(x, __builtin_shufflevector(x, x, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7));
    x = max_v4bf16(x, __builtin_shufflevector(x, x, 4, 5, 6, 7, 0, 1, 2, 3, 12, 13, 14, 15, 8, 9, 10, 11));
    x = max_v4bf16(x, __builtin_shufflevector(x, x, 2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13));
    x = max_v4bf16(x, __builtin_shufflevector(x, x, 1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14));
    return x[0];
}

/* Returns a vector whose lane r is the sum over the lanes of t[r]. Overwrites t. */
TARGET_v4bf16 INLINE vec_v4bf16 lane_sums_v4bf16(vec_v4bf16 *t)
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

/* Transposes 16 vectors in place. Each step swaps one bit of the row and column numbers. */
TARGET_v4bf16 INLINE void exchange_v4bf16(vec_v4bf16 *t)
{
    UNROLL for (int r = 0; r < 16; r++)
        if (!(r & 1)) {
            const vec_v4bf16 a = t[r], b = t[r + 1];
            t[r] = __builtin_shufflevector(a, b, 0, 16, 2, 18, 4, 20, 6, 22, 8, 24, 10, 26, 12, 28, 14, 30);
            t[r + 1] = __builtin_shufflevector(a, b, 1, 17, 3, 19, 5, 21, 7, 23, 9, 25, 11, 27, 13, 29, 15, 31);
        }
    UNROLL for (int r = 0; r < 16; r++)
        if (!(r & 2)) {
            const vec_v4bf16 a = t[r], b = t[r + 2];
            t[r] = __builtin_shufflevector(a, b, 0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29);
            t[r + 2] = __builtin_shufflevector(a, b, 2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, 31);
        }
    UNROLL for (int r = 0; r < 16; r++)
        if (!(r & 4)) {
            const vec_v4bf16 a = t[r], b = t[r + 4];
            t[r] = __builtin_shufflevector(a, b, 0, 1, 2, 3, 16, 17, 18, 19, 8, 9, 10, 11, 24, 25, 26, 27);
            t[r + 4] = __builtin_shufflevector(a, b, 4, 5, 6, 7, 20, 21, 22, 23, 12, 13, 14, 15, 28, 29, 30, 31);
        }
    UNROLL for (int r = 0; r < 16; r++)
        if (!(r & 8)) {
            const vec_v4bf16 a = t[r], b = t[r + 8];
            t[r] = __builtin_shufflevector(a, b, 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23);
            t[r + 8] = __builtin_shufflevector(a, b, 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31);
        }
}

/* Like transpose_v4bf16, but rounds to 16-bit elements like narrowed(). */
TARGET_v4bf16 APART void transpose_narrowed_v4bf16(const float *from, int64_t from_row, int64_t rows, int64_t columns,
    uint16_t *to,
    int64_t to_row, int64_t ahead)
{
    const int64_t whole = rows - rows % 16, deep = columns - columns % 16;
    for (int64_t k = 0; k < whole / 16 * (deep / 16); k++) {
        const int64_t row = k % (whole / 16) * 16, column = k / (whole / 16) * 16;
        vec_v4bf16 t[16];
        UNROLL for (int r = 0; r < 16; r++) __builtin_prefetch(to + (column + r + ahead) * to_row + row, 1, 2);
        UNROLL for (int r = 0; r < 16; r++) t[r] = load_v4bf16(from + (row + r) * from_row + column);
        exchange_v4bf16(t);
        UNROLL for (int r = 0; r < 16; r++) store_narrowed_v4bf16(to + (column + r) * to_row + row, t[r]);
    }
    for (int64_t row = 0; row < rows; row++)
        for (int64_t column = row < whole ? deep : 0; column < columns; column++)
            to[column * to_row + row] = narrowed(from[row * from_row + column]);
}
/* *sum = *sum * factor + x per lane, with compensated summation (Kahan). *compensation is the rounding error, which
   the next call adds. */
TARGET_v4bf16 INLINE void add_v4bf16(float *sum, float *compensation, vec_v4bf16 x, vec_v4bf16 factor)
{
    const vec_v4bf16 old = load_v4bf16(sum) * factor, more = load_v4bf16(compensation) * factor + x, new = old + more;
    store_v4bf16(compensation, more - (new - old));
    store_v4bf16(sum, new);
}

/* A pair of bf16 in 32 bits, the first element in the lower half. AVX512-BF16 multiplies pairs, and rounds floats to
   pairs. */
typedef int32_t near_v4bf16 __attribute__((aligned(2), may_alias)); /* a pair in memory, aligned to 2 bytes */
typedef mask_v4bf16 pairs_v4bf16 __attribute__((aligned(2), may_alias));
TARGET_v4bf16 INLINE int32_t pair_v4bf16(const uint16_t *p) { return *(const near_v4bf16 *)(const void *)p; }
TARGET_v4bf16 INLINE void set_pair_v4bf16(uint16_t *p, int32_t pair) { *(near_v4bf16 *)(void *)p = pair; }
TARGET_v4bf16 INLINE mask_v4bf16 load_paired_v4bf16(const uint16_t *p) { return *(const pairs_v4bf16 *)(const void *)p;
    }
/* Returns sum + a.first * b.first + a.second * b.second per lane. a is one pair. */
TARGET_v4bf16 INLINE vec_v4bf16 multiply_v4bf16(vec_v4bf16 sum, int32_t a, mask_v4bf16 b)
{
    return (vec_v4bf16)_mm512_dpbf16_ps((__m512)sum, (__m512bh)_mm512_set1_epi32(a), (__m512bh)b);
}

/* In lane k, puts element k of the lower half next to element k of the upper half. */
TARGET_v4bf16 INLINE mask_v4bf16 interleaved_v4bf16(__m512i both)
{
    const mask_v4bf16 turns = {1048576, 1114113, 1179650, 1245187, 1310724, 1376261, 1441798, 1507335, 1572872, 1638409,
        1703946, 1769483, 1835020, 1900557, 1966094, 2031631};
    return (mask_v4bf16)_mm512_permutexvar_epi16((__m512i)turns, both);
}

/* Stores the pairs (first[k], second[k]) of 16 elements. If `second` is NULL, the second elements are 0. */
TARGET_v4bf16 INLINE void join_v4bf16(uint16_t *p, const uint16_t *first, const uint16_t *second)
{
    const halves_v4bf16 two[2] = {*(const halves_v4bf16 *)(const void *)first,
        second ? *(const halves_v4bf16 *)(const void *)second : (halves_v4bf16){0}};
    __m512i both;
    __builtin_memcpy(&both, two, sizeof both);
    *(pairs_v4bf16 *)(void *)p = interleaved_v4bf16(both);
}

TARGET_v4bf16 INLINE mask_v4bf16 paired_v4bf16(vec_v4bf16 first, vec_v4bf16 second) /* rounds to nearest,
    ties to even */
{
    return interleaved_v4bf16((__m512i)_mm512_cvtne2ps_pbh((__m512)second, (__m512)first));
}

TARGET_v4bf16 INLINE void store_paired_v4bf16(uint16_t *p, vec_v4bf16 first, vec_v4bf16 second)
{
    *(pairs_v4bf16 *)(void *)p = paired_v4bf16(first, second);
}

typedef uint32_t bits_v4bf16 __attribute__((vector_size(64), aligned(sizeof(float)), may_alias));
typedef uint32_t bit_v4bf16 __attribute__((may_alias));

/* Returns whether all p[r * row + c] are finite, for r < rows and c < columns. Infinity and NaN have all exponent
   bits set. So adding the lowest exponent bit, 0x00800000, carries into the sign. */
TARGET_v4bf16 APART int finite_v4bf16(const float *p, int64_t row, int64_t rows, int64_t columns)
{
    bits_v4bf16 found = {0};
    uint32_t one = 0;
    for (int64_t r = 0; r < rows; r++, p += row) {
        int64_t c = 0;
        for (; c + 16 <= columns; c += 16)
            found |= (*(const bits_v4bf16 *)(const void *)(p + c) & 0x7fffffff) + 0x00800000;
        for (; c < columns; c++) one |= (*(const bit_v4bf16 *)(const void *)(p + c) & 0x7fffffff) + 0x00800000;
    }
    for (int k = 0; k < 16; k++) one |= found[k];
    return one <= 0x7fffffff;
}

/* sum[x] += weights[t] * values[t][x], but only for values that are infinite or NaN, and for steps t in `seen`. */
TARGET_v4bf16 APART void add_seen_lanes_v4bf16(int64_t lanes, float *sum, const float *weights, const float *values,
    int64_t value_row,
    int64_t steps, const mask_v4bf16 *seen)
{
    for (int64_t t = 0; t < steps; t++, values += value_row)
        for (int64_t x = 0; x < lanes && seen[t / 16][t % 16]; x++)
            if (!finite_v4bf16(values + x, 0, 1, 1)) sum[x] += weights[t] * values[x];
}

/* sum[r][x] = sum over t of a[r][t] * b[t][x], for up to 6 rows r and `vectors` vectors of lanes x. The sums stay
   in registers. `update` says how c changes:
   - 0: c = sum
   - 1: c = c + sum
   - 2: c = c * factor[x] + sum
   - 3: like 2, with compensated summation. If `factor` is NULL, it is 1.
   If `early` is not 0, step t prefetches row t + early of b. A step prefetches only one row, because a core can have
   few cache misses in flight. */
TARGET_v4bf16 INLINE void block_v4bf16(const int rows, const int vectors, int64_t steps, const float *a, int64_t a_row,
    int64_t a_step,
    const float *b, int64_t b_step, float *c, int64_t c_row, const int update,
    const float *factor, float *compensation, const int64_t early)
{
    vec_v4bf16 sum[16][4];
    UNROLL for (int r = 0; r < rows; r++)
        UNROLL for (int v = 0; v < vectors; v++) sum[r][v] = (vec_v4bf16){0};
    int64_t t = 0;
    for (; rows > 6 && t + 2 <= steps; t += 2, a += 2 * a_step, b += 2 * b_step) {
        const float *row[16];
        UNROLL for (int r = 0; r < rows; r += 4) {
            row[r] = a + r * a_row;
            /* Without this, compilers compute the address of each row from that of the row before. */
            if (a_row != 1) __asm__("" : "+r"(row[r]));
        }
        UNROLL for (int k = 0; k < 2; k++) {
            const vec_v4bf16 x = load_v4bf16(b + k * b_step);
            UNROLL for (int r = 0; r < rows; r++) sum[r][0] += row[r & -4][(r & 3) * a_row + k * a_step] * x;
        }
    }
    for (; t < steps; t++, a += a_step, b += b_step) {
        vec_v4bf16 x[4];
        UNROLL for (int v = 0; v < vectors; v++) x[v] = load_v4bf16(b + v * 16);
        UNROLL for (int v = 0; v < vectors; v++)
            if (early && v * 16 * (int64_t)sizeof *b % 64 == 0)
                __builtin_prefetch(b + early * b_step + v * 16, 0, 3);
        UNROLL for (int r = 0; r < rows; r++) {
            const float y = a[r * a_row];
            UNROLL for (int v = 0; v < vectors; v++) sum[r][v] += y * x[v];
        }
    }
    UNROLL for (int v = 0; v < vectors; v++) {
        const vec_v4bf16 times = update >= 2 && factor ? load_v4bf16(factor + v * 16) : splat_v4bf16(1);
        UNROLL for (int r = 0; r < rows; r++) {
            float *const to = c + r * c_row + v * 16;
            if (update == 3) {
                add_v4bf16(to, compensation + r * c_row + v * 16, sum[r][v], times);
                continue;
            }
            store_v4bf16(to, update == 0 ? sum[r][v]
                : update == 1 ? load_v4bf16(to) + sum[r][v] : load_v4bf16(to) * times + sum[r][v]);
        }
    }
}

/* Like block_v4bf16, but if `update` is 0 and the sum is long, it adds `span` terms at a time. Each span is summed
   separately, which reduces rounding errors. */
TARGET_v4bf16 INLINE void parts_v4bf16(const int rows, const int vectors, int64_t steps, const int64_t span,
    const float *a,
    int64_t a_row, int64_t a_step, const float *b, int64_t b_step, float *c, int64_t c_row, const int update,
    const float *factor, float *compensation, const int64_t early)
{
    const int64_t first = update == 0 && steps > 2 * span ? span : steps;
    block_v4bf16(rows, vectors, first, a, a_row, a_step, b, b_step, c, c_row, update,
        factor, compensation, early);
    if (update == 0)
        for (int64_t t = first; t < steps; t += span)
            block_v4bf16(rows, vectors, min(span, steps - t), a + t * a_step, a_row, a_step, b + t * b_step, b_step, c,
                c_row, 1, NULL, NULL, early);
}

/* Like parts_v4bf16, for any number of rows. `lanes` is a multiple of 16 * vectors. `tail` is rows % 6 if this is a
   constant, otherwise -1. */
TARGET_v4bf16 INLINE void blocks_v4bf16(const int vectors, const int64_t lanes, int64_t rows, const int tail,
    int64_t steps,
    const int64_t span, const float *a, int64_t a_row, int64_t a_step, const float *b, int64_t b_step, float *c,
        int64_t c_row,
    const int update, const float *factor, float *compensation, const int64_t early)
{
    for (int64_t x = 0; x < lanes; x += vectors * 16) {
        const float *const f = factor ? factor + x : NULL;
        float *const left = compensation ? compensation + x : NULL;
        int64_t r = 0;
        for (; r + 6 <= rows; r += 6)
            parts_v4bf16(6, vectors, steps, span, a + r * a_row, a_row, a_step, b + x, b_step,
                c + r * c_row + x, c_row, update, f, left ? left + r * c_row : NULL, early);
        switch (tail >= 0 ? tail : rows - r) {
        case 5: parts_v4bf16(5, vectors, steps, span, a + r * a_row, a_row, a_step, b + x, b_step, c + r * c_row + x,
            c_row, update, f, left ? left + r * c_row : NULL, early); break;
        case 4: parts_v4bf16(4, vectors, steps, span, a + r * a_row, a_row, a_step, b + x, b_step, c + r * c_row + x,
            c_row, update, f, left ? left + r * c_row : NULL, early); break;
        case 3: parts_v4bf16(3, vectors, steps, span, a + r * a_row, a_row, a_step, b + x, b_step, c + r * c_row + x,
            c_row, update, f, left ? left + r * c_row : NULL, early); break;
        case 2: parts_v4bf16(2, vectors, steps, span, a + r * a_row, a_row, a_step, b + x, b_step, c + r * c_row + x,
            c_row, update, f, left ? left + r * c_row : NULL, early); break;
        case 1: parts_v4bf16(1, vectors, steps, span, a + r * a_row, a_row, a_step, b + x, b_step, c + r * c_row + x,
            c_row, update, f, left ? left + r * c_row : NULL, early); break;
        }
    }
}

/* Like block_v4bf16, for any number of rows and vectors. It computes one vector at a time. */
TARGET_v4bf16 APART void narrow_v4bf16(int64_t lanes, int64_t rows, int64_t steps, int64_t span, const float *a,
    int64_t a_row,
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
                    block_v4bf16(16, 1, some, from + r, 1, a_step, b + t * b_step + x, b_step, c + r * c_row + x, c_row,
                        now, f, left ? left + r * c_row : NULL, 0);
                else
                    block_v4bf16(16, 1, some, from + r * a_row, a_row, 1, b + t * b_step + x, b_step,
                        c + r * c_row + x, c_row, now, f, left ? left + r * c_row : NULL, 0);
            for (; r < rows; r += 6)
                switch (min(rows - r, 6)) {
        default: block_v4bf16(6, 1, some, from + r * a_row, a_row, a_step, b + t * b_step + x, b_step,
            c + r * c_row + x, c_row, now, f, left ? left + r * c_row : NULL, 0); break;
        case 5: block_v4bf16(5, 1, some, from + r * a_row, a_row, a_step, b + t * b_step + x, b_step, c + r * c_row + x,
            c_row, now, f, left ? left + r * c_row : NULL, 0); break;
        case 4: block_v4bf16(4, 1, some, from + r * a_row, a_row, a_step, b + t * b_step + x, b_step, c + r * c_row + x,
            c_row, now, f, left ? left + r * c_row : NULL, 0); break;
        case 3: block_v4bf16(3, 1, some, from + r * a_row, a_row, a_step, b + t * b_step + x, b_step, c + r * c_row + x,
            c_row, now, f, left ? left + r * c_row : NULL, 0); break;
        case 2: block_v4bf16(2, 1, some, from + r * a_row, a_row, a_step, b + t * b_step + x, b_step, c + r * c_row + x,
            c_row, now, f, left ? left + r * c_row : NULL, 0); break;
        case 1: block_v4bf16(1, 1, some, from + r * a_row, a_row, a_step, b + t * b_step + x, b_step, c + r * c_row + x,
            c_row, now, f, left ? left + r * c_row : NULL, 0); break;
                }
        }
    }
}

/* Returns the number of lanes that are computed in blocks of `vectors` vectors. If more than half of the last block
   is needed, the whole block is computed. */
TARGET_v4bf16 INLINE int64_t lanes_in_blocks_v4bf16(const int vectors, const int64_t lanes)
{
    const int64_t block = vectors * 16;
    return (lanes + (block - 1) / 2) / block * block;
}

/* Computes any number of rows. `lanes` is a multiple of 16. Other parameters are as in blocks_v4bf16. */
TARGET_v4bf16 INLINE void dot_early_v4bf16(const int vectors, const int64_t lanes, int64_t rows, const int tail,
    int64_t steps,
    const int64_t span, const float *a, int64_t a_row, int64_t a_step, const float *b, int64_t b_step, float *c,
        int64_t c_row,
    const int update, const float *factor, float *compensation, const int64_t early)
{
    const int64_t x = lanes_in_blocks_v4bf16(vectors, lanes);
    blocks_v4bf16(vectors, x, rows, tail, steps, span, a, a_row, a_step, b, b_step, c, c_row, update,
        factor, compensation, early);
    if (x < lanes)
        narrow_v4bf16(lanes - x, rows, steps, span, a, a_row, a_step, b + x, b_step, c + x, c_row,
            update, factor ? factor + x : NULL, compensation ? compensation + x : NULL);
}

/* Computes the product without prefetching, because b is in a cache. */
TARGET_v4bf16 INLINE void dot_v4bf16(const int vectors, const int64_t lanes, int64_t rows, const int tail,
    int64_t steps,
    const int64_t span, const float *a, int64_t a_row, int64_t a_step, const float *b, int64_t b_step, float *c,
    int64_t c_row, const int update, const float *factor, float *compensation)
{
    dot_early_v4bf16(vectors, lanes, rows, tail, steps, span, a, a_row, a_step, b, b_step, c, c_row, update,
        factor, compensation, 0);
}

/* Like dot_v4bf16, but uses 0 for infinity and NaN in b. It copies one vector of columns of b at a time. If `fetched`,
   it
   adds in the order of dot_fetched_v4bf16, so that results round equally. */
TARGET_v4bf16 INLINE void dot_finite_lanes_v4bf16(const int fetched, const int vectors, const int64_t lanes,
    int64_t rows,
    const int tail, int64_t steps, const int64_t span, const float *a, int64_t a_row, int64_t a_step, const float *b,
    int64_t b_step, float *c, int64_t c_row, const int update, const float *factor, float *compensation)
{
    float column[128 * 16];
    (void)vectors;
    for (int64_t x = 0; x < lanes; x += 16) {
        for (int64_t t = 0; t < steps; t++)
            for (int64_t k = 0; k < 16; k++) {
                const float *const p = b + t * b_step + x + k;
                column[t * 16 + k] = finite_v4bf16(p, 0, 1, 1) ? *p : 0;
            }
        const int64_t some = fetched ? 16 : steps;
        for (int64_t t = 0; t < steps; t += some)
            dot_v4bf16(1, 16, rows, tail, min(steps - t, some), span, a + t * a_step, a_row, a_step,
                column + t * 16, 16, c + x, c_row, update,
                factor ? factor + x : NULL, compensation ? compensation + x : NULL);
    }
}

typedef uint16_t bits_paired_v4bf16 __attribute__((vector_size(64), aligned(sizeof(uint16_t)), may_alias));
typedef uint16_t bit_paired_v4bf16 __attribute__((may_alias));

/* Returns whether all p[r * row + c] are finite, for r < rows and c < columns. Infinity and NaN have all exponent
   bits set. So adding the lowest exponent bit, 0x0080, carries into the sign. */
TARGET_v4bf16 APART int finite_paired_v4bf16(const uint16_t *p, int64_t row, int64_t rows, int64_t columns)
{
    bits_paired_v4bf16 found = {0};
    uint16_t one = 0;
    for (int64_t r = 0; r < rows; r++, p += row) {
        int64_t c = 0;
        for (; c + 32 <= columns; c += 32)
            found |= (*(const bits_paired_v4bf16 *)(const void *)(p + c) & 0x7fff) + 0x0080;
        for (; c < columns; c++) one |= (*(const bit_paired_v4bf16 *)(const void *)(p + c) & 0x7fff) + 0x0080;
    }
    for (int k = 0; k < 32; k++) one |= found[k];
    return one <= 0x7fff;
}

/* sum[r][x] += values[r * step] * weights[x], but only for values that are infinite or NaN, and for lanes x in
   `seen`. `second` selects the second element of each pair of weights. */
TARGET_v4bf16 APART void add_seen_paired_v4bf16(int64_t rows, float *sum, int64_t sum_row, const uint16_t *values,
    int64_t step,
    const uint16_t *weights, int64_t second, const mask_v4bf16 *seen, int64_t lanes)
{
    for (int64_t r = 0; r < rows; r++, sum += sum_row, values += step)
        for (int64_t x = 0; x < lanes && !finite_paired_v4bf16(values, 0, 1, 1); x += 16) {
            const mask_v4bf16 pair = load_paired_v4bf16(weights + 2 * x);
            const mask_v4bf16 value = (mask_v4bf16){0} + (int32_t)((uint32_t)*values << 16);
            const vec_v4bf16 weight = (vec_v4bf16)(second ? pair & -65536 : pair << 16);
            store_v4bf16(sum + x, pick_v4bf16(seen[x / 16], load_v4bf16(sum + x) + (vec_v4bf16)value * weight,
                load_v4bf16(sum + x)));
        }
}

/* sum[r][x] = sum over t of a[r][t] * b[t][x], for up to 6 rows r and `vectors` vectors of lanes x. The sums stay
   in registers. a and b are pairs of bf16. `update` says how c changes:
   - 0: c = by * sum
   - 1: c = c + by * sum
   - 2: c = c * factor[x] + sum
   - 3: like 2, with compensated summation. If `factor` is NULL, it is 1. */
TARGET_v4bf16 INLINE void block_paired_v4bf16(const int rows, const int vectors, int64_t steps, const uint16_t *a,
    int64_t a_row, int64_t a_step,
    const uint16_t *b, int64_t b_step, float *c, int64_t c_row, const int update, const float by,
    const float *factor, float *compensation)
{
    vec_v4bf16 sum[16][4];
    UNROLL for (int r = 0; r < rows; r++)
        UNROLL for (int v = 0; v < vectors; v++) sum[r][v] = (vec_v4bf16){0};
    int64_t t = 0;
    for (; t < steps; t++, a += a_step, b += b_step) {
        mask_v4bf16 x[4];
        UNROLL for (int v = 0; v < vectors; v++) x[v] = load_paired_v4bf16(b + v * 2 * 16);
        UNROLL for (int r = 0; r < rows; r++) {
            const int32_t y = pair_v4bf16(a + r * a_row);
            UNROLL for (int v = 0; v < vectors; v++) sum[r][v] = multiply_v4bf16(sum[r][v], y, x[v]);
        }
    }
    UNROLL for (int v = 0; v < vectors; v++) {
        const vec_v4bf16 times = update >= 2 && factor ? load_v4bf16(factor + v * 16) : splat_v4bf16(1);
        UNROLL for (int r = 0; r < rows; r++) {
            float *const to = c + r * c_row + v * 16;
            if (update == 3) {
                add_v4bf16(to, compensation + r * c_row + v * 16, sum[r][v], times);
                continue;
            }
            store_v4bf16(to, update == 0 ? sum[r][v] * by
                : update == 1 ? load_v4bf16(to) + sum[r][v] * by : load_v4bf16(to) * times + sum[r][v]);
        }
    }
}

/* Like block_paired_v4bf16, but if `update` is 0 and the sum is long,
   it adds `span` terms at a time. Each span is summed
   separately, which reduces rounding errors. */
TARGET_v4bf16 INLINE void parts_paired_v4bf16(const int rows, const int vectors, int64_t steps, const int64_t span,
    const uint16_t *a,
    int64_t a_row, int64_t a_step, const uint16_t *b, int64_t b_step, float *c, int64_t c_row, const int update,
        const float by,
    const float *factor, float *compensation)
{
    const int64_t first = update == 0 && steps > 2 * span ? span : steps;
    block_paired_v4bf16(rows, vectors, first, a, a_row, a_step, b, b_step, c, c_row, update, by,
        factor, compensation);
    if (update == 0)
        for (int64_t t = first; t < steps; t += span)
            block_paired_v4bf16(rows, vectors, min(span, steps - t), a + t * a_step, a_row, a_step, b + t * b_step,
                b_step, c,
                c_row, 1, by, NULL, NULL);
}

/* Like parts_paired_v4bf16, for any number of rows. `lanes` is a multiple of 16 * vectors. `tail` is rows % 6 if this
   is a
   constant, otherwise -1. */
TARGET_v4bf16 INLINE void blocks_paired_v4bf16(const int vectors, const int64_t lanes, int64_t rows, const int tail,
    int64_t steps,
    const int64_t span, const uint16_t *a, int64_t a_row, int64_t a_step, const uint16_t *b, int64_t b_step, float *c,
        int64_t c_row,
    const int update, const float by, const float *factor, float *compensation)
{
    for (int64_t x = 0; x < lanes; x += vectors * 16) {
        const float *const f = factor ? factor + x : NULL;
        float *const left = compensation ? compensation + x : NULL;
        int64_t r = 0;
        for (; r + 6 <= rows; r += 6)
            parts_paired_v4bf16(6, vectors, steps, span, a + r * a_row, a_row, a_step, b + 2 * x, b_step,
                c + r * c_row + x, c_row, update, by, f, left ? left + r * c_row : NULL);
        switch (tail >= 0 ? tail : rows - r) {
        case 5: parts_paired_v4bf16(5, vectors, steps, span, a + r * a_row, a_row, a_step, b + 2 * x, b_step,
            c + r * c_row + x, c_row, update, by, f, left ? left + r * c_row : NULL); break;
        case 4: parts_paired_v4bf16(4, vectors, steps, span, a + r * a_row, a_row, a_step, b + 2 * x, b_step,
            c + r * c_row + x, c_row, update, by, f, left ? left + r * c_row : NULL); break;
        case 3: parts_paired_v4bf16(3, vectors, steps, span, a + r * a_row, a_row, a_step, b + 2 * x, b_step,
            c + r * c_row + x, c_row, update, by, f, left ? left + r * c_row : NULL); break;
        case 2: parts_paired_v4bf16(2, vectors, steps, span, a + r * a_row, a_row, a_step, b + 2 * x, b_step,
            c + r * c_row + x, c_row, update, by, f, left ? left + r * c_row : NULL); break;
        case 1: parts_paired_v4bf16(1, vectors, steps, span, a + r * a_row, a_row, a_step, b + 2 * x, b_step,
            c + r * c_row + x, c_row, update, by, f, left ? left + r * c_row : NULL); break;
        }
    }
}

/* Like block_paired_v4bf16, for any number of rows and vectors. It computes one vector at a time. */
TARGET_v4bf16 APART void narrow_paired_v4bf16(int64_t lanes, int64_t rows, int64_t steps, int64_t span,
    const uint16_t *a, int64_t a_row,
    int64_t a_step, const uint16_t *b, int64_t b_step, float *c, int64_t c_row, int update, const float by,
    const float *factor, float *compensation)
{
    const int64_t most = update == 0 && steps > 2 * span ? span : steps;
    for (int64_t t = 0; t < steps; t += most) {
        const int64_t some = min(most, steps - t);
        const uint16_t *const from = a + t * a_step;
        const int now = t > 0 ? 1 : update;
        for (int64_t x = 0; x < lanes; x += 16) {
            const float *const f = factor ? factor + x : NULL;
            float *const left = compensation ? compensation + x : NULL;
            int64_t r = 0;
            for (; r < rows; r += 6)
                switch (min(rows - r, 6)) {
        default: block_paired_v4bf16(6, 1, some, from + r * a_row, a_row, a_step, b + t * b_step + 2 * x, b_step,
            c + r * c_row + x, c_row, now, by, f, left ? left + r * c_row : NULL); break;
        case 5: block_paired_v4bf16(5, 1, some, from + r * a_row, a_row, a_step, b + t * b_step + 2 * x, b_step,
            c + r * c_row + x, c_row, now, by, f, left ? left + r * c_row : NULL); break;
        case 4: block_paired_v4bf16(4, 1, some, from + r * a_row, a_row, a_step, b + t * b_step + 2 * x, b_step,
            c + r * c_row + x, c_row, now, by, f, left ? left + r * c_row : NULL); break;
        case 3: block_paired_v4bf16(3, 1, some, from + r * a_row, a_row, a_step, b + t * b_step + 2 * x, b_step,
            c + r * c_row + x, c_row, now, by, f, left ? left + r * c_row : NULL); break;
        case 2: block_paired_v4bf16(2, 1, some, from + r * a_row, a_row, a_step, b + t * b_step + 2 * x, b_step,
            c + r * c_row + x, c_row, now, by, f, left ? left + r * c_row : NULL); break;
        case 1: block_paired_v4bf16(1, 1, some, from + r * a_row, a_row, a_step, b + t * b_step + 2 * x, b_step,
            c + r * c_row + x, c_row, now, by, f, left ? left + r * c_row : NULL); break;
                }
        }
    }
}

/* Returns the number of lanes that are computed in blocks of `vectors` vectors. If more than half of the last block
   is needed, the whole block is computed. */
TARGET_v4bf16 INLINE int64_t lanes_in_blocks_paired_v4bf16(const int vectors, const int64_t lanes)
{
    const int64_t block = vectors * 16;
    return (lanes + (block - 1) / 2) / block * block;
}

/* Computes any number of rows. `lanes` is a multiple of 16. Other parameters are as in blocks_paired_v4bf16. */
TARGET_v4bf16 INLINE void dot_paired_v4bf16(const int vectors, const int64_t lanes, int64_t rows, const int tail,
    int64_t steps,
    const int64_t span, const uint16_t *a, int64_t a_row, int64_t a_step, const uint16_t *b, int64_t b_step, float *c,
        int64_t c_row,
    const int update, const float by, const float *factor, float *compensation)
{
    const int64_t x = lanes_in_blocks_paired_v4bf16(vectors, lanes);
    blocks_paired_v4bf16(vectors, x, rows, tail, steps, span, a, a_row, a_step, b, b_step, c, c_row, update, by,
        factor, compensation);
    if (x < lanes)
        narrow_paired_v4bf16(lanes - x, rows, steps, span, a, a_row, a_step, b + 2 * x, b_step, c + x, c_row,
            update, by, factor ? factor + x : NULL, compensation ? compensation + x : NULL);
}

/* Like dot_paired_v4bf16, but uses 0 for infinity and NaN in a. It copies one row of a at a time. */
TARGET_v4bf16 INLINE void dot_finite_paired_v4bf16(const int vectors, const int64_t lanes, int64_t rows, const int tail,
    int64_t steps,
    const int64_t span, const uint16_t *a, int64_t a_row, int64_t a_step, const uint16_t *b, int64_t b_step, float *c,
        int64_t c_row,
    const int update, const float by, const float *factor, float *compensation)
{
    uint16_t row[288];
    (void)tail;
    for (int64_t r = 0; r < rows; r++, a += a_row) {
        for (int64_t t = 0; t < steps; t++) {
            row[2 * t] = finite_paired_v4bf16(a + t * a_step, 0, 1, 1) ? a[t * a_step] : 0;
            row[2 * t + 1] = finite_paired_v4bf16(a + t * a_step + 1, 0, 1, 1) ? a[t * a_step + 1] : 0;
        }
        dot_paired_v4bf16(vectors, lanes, 1, 1, steps, span, row, 0, 2, b, b_step, c + r * c_row, c_row,
            update, by, factor, compensation ? compensation + r * c_row : NULL);
    }
}

/* Returns the elements x … x + 16 - 1 of a row before they are multiplied by a scale. x is a multiple of 16. */
TARGET_v4bf16 INLINE vec_v4bf16 unscaled_v4bf16(const uint16_t *row, int64_t x)
{
    /* bf16 is the upper half of a float */
    return (vec_v4bf16)(__builtin_convertvector(*(const halves_v4bf16 *)(const void *)(row + x), mask_v4bf16) << 16);
}

/* Returns the elements x … x + 16 - 1 of a row. */
TARGET_v4bf16 INLINE vec_v4bf16 widened_v4bf16(const uint16_t *row, int64_t x)
{
    return unscaled_v4bf16(row, x);
}

/* Returns the size of a row of `elements` elements, in units of uint16_t. */
INLINE int64_t units_v4bf16(int64_t elements)
{
    return elements;
}

/* Like finite_v4bf16, but the elements are widened first. `columns` is a multiple of 16. */
TARGET_v4bf16 APART int finite_stored_v4bf16(const uint16_t *p, int64_t row, int64_t rows, int64_t columns)
{
    float wide[16];
    for (int64_t r = 0; r < rows; r++, p += row)
        for (int64_t c = 0; c < columns; c += 16) {
            store_v4bf16(wide, widened_v4bf16(p, c));
            if (!finite_v4bf16(wide, 0, 1, 16)) return 0;
        }
    return 1;
}

/* Widens rows of `elements` elements, which is a multiple of 16. There are at most 16 or 32 rows. */
TARGET_v4bf16 INLINE void widen_rows_v4bf16(int64_t rows, const int64_t elements, const uint16_t *b, int64_t b_row,
    float *wide)
{
    for (int64_t r = 0; r < rows; r++)
        UNROLL for (int64_t x = 0; x < elements; x += 16)
            store_v4bf16(wide + r * elements + x, unscaled_v4bf16(b + r * b_row, x));
}

/* Returns the row that comes `distance` rows after the first of the `rest` rows at b. The rows at `next` come after
   these. NULL: the rows that follow in memory. */
INLINE const uint16_t *ahead_v4bf16(const uint16_t *b, int64_t b_row, int64_t distance, int64_t rest,
    const uint16_t *next)
{
    return next && distance >= rest ? next + (distance - rest) * b_row : b + distance * b_row;
}

/* Prefetches `rows` rows of b, `width` elements of each. */
TARGET_v4bf16 INLINE void fetch_v4bf16(int64_t rows, const int64_t width, const uint16_t *b, int64_t b_row)
{
    for (int64_t r = 0; r < rows; r++)
        UNROLL for (int64_t x = 0; x < units_v4bf16(width); x += 64 / (int64_t)sizeof *b)
            __builtin_prefetch(b + r * b_row + x, 0, 3);
}

/* c[k] = sum over t of a[t] * b[k][t] for 16 columns k and `steps` terms t. b has all 16 rows if `whole`.
   Otherwise row `last` is the last row of b. The rows of b are read in memory order, which helps the hardware
   prefetch them. */
TARGET_v4bf16 INLINE void columns_v4bf16(const int whole, int64_t last, const int64_t steps, const float *a,
    const uint16_t *b,
    int64_t b_row, float *c, const uint16_t *ahead)
{
    vec_v4bf16 t[16];
    UNROLL for (int k = 0; k < 16; k++) t[k] = (vec_v4bf16){0};
    for (int64_t first = 0; first < steps; first += 128)
        UNROLL for (int k = 0; k < 16; k++) {
            if (whole && ahead) fetch_v4bf16(1, min(128, steps - first), ahead + k * b_row + units_v4bf16(first),
                b_row);
            for (int64_t s = first; s < min(first + 128, steps); s += 16)
                t[k] += load_v4bf16(a + s) * unscaled_v4bf16(b + (whole ? k : min(k, last)) * b_row, s);
            __asm__ volatile("" : : : "memory");
        }
    store_v4bf16(c, lane_sums_v4bf16(t));
}

/* Like columns_v4bf16, for up to 4 rows of a, which share the loads of b. It has 16 rows. 4 columns are computed at
   a time.
   - wide: b converted to floats, in rows of `steps` elements. NULL if `direct`: b is converted here
   - ask: of 4 rows from ahead on, those with these numbers are prefetched */
TARGET_v4bf16 INLINE void some_columns_v4bf16(const int rows, const int direct, const int64_t steps, const float *a,
    int64_t a_row,
    const uint16_t *b, int64_t b_row, const float *wide, const uint16_t *ahead, const int64_t *ask, float *c,
    int64_t c_row)
{
    vec_v4bf16 t[4][16];
    for (int64_t k = 0; k < 16; k += 4) {
        vec_v4bf16 sum[4][4];
        UNROLL for (int r = 0; r < rows; r++)
            UNROLL for (int n = 0; n < 4; n++) sum[r][n] = (vec_v4bf16){0};
        /* Without the limit, gcc 12 warns of an endless loop. */
        fetch_v4bf16(min(ask[1] - ask[0], 4), steps, ahead + (k + ask[0]) * b_row, b_row);
        UNROLL for (int64_t s = 0; s < steps; s += 16) {
            vec_v4bf16 x[4];
            UNROLL for (int n = 0; n < 4; n++)
                x[n] = direct ? unscaled_v4bf16(b + (k + n) * b_row, s) : load_v4bf16(wide + (k + n) * steps + s);
            UNROLL for (int r = 0; r < rows; r++) {
                const vec_v4bf16 y = load_v4bf16(a + r * a_row + s);
                UNROLL for (int n = 0; n < 4; n++) sum[r][n] += x[n] * y;
            }
        }
        UNROLL for (int r = 0; r < rows; r++)
            UNROLL for (int n = 0; n < 4; n++) t[r][k + n] = sum[r][n];
    }
    UNROLL for (int r = 0; r < rows; r++) store_v4bf16(c + r * c_row, lane_sums_v4bf16(t[r]));
}

/* Computes groups of up to 4 rows of c. Each group prefetches `share` of every 4 rows from `ahead` on. */
TARGET_v4bf16 INLINE void columns_of_4_v4bf16(const int direct, int64_t rows, const int64_t steps, const float *a,
    int64_t a_row,
    const uint16_t *b, int64_t b_row, const float *wide, const int64_t share, const uint16_t *ahead, float *c,
    int64_t c_row)
{
    int64_t ask[2] = {0, min(share, 4)};
    for (; rows >= 4; rows -= 4, a += 4 * a_row, c += 4 * c_row) {
        some_columns_v4bf16(4, direct, steps, a, a_row, b, b_row, wide, ahead, ask, c, c_row);
        UNROLL for (int k = 0; k < 2; k++) ask[k] = min(ask[k] + share, 4);
    }
    switch (rows) {
        case 3: some_columns_v4bf16(3, direct, steps, a, a_row, b, b_row, wide, ahead, ask, c, c_row); break;
        case 2: some_columns_v4bf16(2, direct, steps, a, a_row, b, b_row, wide, ahead, ask, c, c_row); break;
        case 1: some_columns_v4bf16(1, direct, steps, a, a_row, b, b_row, wide, ahead, ask, c, c_row); break;
    }
}

/* Like columns_v4bf16, for two or more rows of a. If b has fewer than 16 rows, the other columns of c get any numbers.
   `several` rows of a and more prefetch the rows at `ahead`. */
TARGET_v4bf16 INLINE void all_columns_v4bf16(const int whole, int64_t last, int64_t rows, const int64_t steps,
    const float *a,
    int64_t a_row, const uint16_t *b, int64_t b_row, float *c, int64_t c_row, const int64_t several,
    const uint16_t *ahead)
{
    const int64_t share = !whole || rows < several ? 0 : rows > 4 * 4 ? 1 : (4 * 4 + rows - 1) / rows;
    if (whole && (rows <= 4 || !1)) {
        columns_of_4_v4bf16(1, rows, steps, a, a_row, b, b_row, NULL, share, ahead, c, c_row);
        return;
    }
    float wide[16 * 64] __attribute__((aligned(64)));
    widen_rows_v4bf16(whole ? 16 : last + 1, steps, b, b_row, wide);
    for (int64_t x = (last + 1) * steps; x < 16 * steps; x += 16) store_v4bf16(wide + x, splat_v4bf16(0));
    columns_of_4_v4bf16(0, rows, steps, a, a_row, b, b_row, wide, share, ahead, c, c_row);
}

/* Puts the rows of up to 2 vectors in lanes. Term s * 16 + l of all rows is at number l * steps / 16 + s. */
TARGET_v4bf16 INLINE void turn_rows_v4bf16(const int vectors, const int64_t steps, const float *a, int64_t a_row,
    float *turned)
{
    const int64_t parts = steps / 16;
    for (int v = 0; v < vectors; v++)
        for (int64_t s = 0; s < parts; s++) {
            vec_v4bf16 t[16];
            UNROLL for (int r = 0; r < 16; r++) t[r] = load_v4bf16(a + (v * 16 + r) * a_row + s * 16);
            exchange_v4bf16(t);
            UNROLL for (int l = 0; l < 16; l++) store_v4bf16(turned + ((l * parts + s) * vectors + v) * 16, t[l]);
        }
}

/* sum[v * keys + k] = the sum over s of the products of one lane: term s of `turned`, and of row k of b,
   for `keys` rows
   of b. Terms of `turned` are `vectors` vectors apart, those of b are 16 elements apart. */
TARGET_v4bf16 INLINE void turned_lane_v4bf16(const int vectors, const int keys, const int64_t parts,
    const float *turned,
    const float *b, int64_t b_row, vec_v4bf16 *sum)
{
    UNROLL for (int k = 0; k < vectors * keys; k++) sum[k] = (vec_v4bf16){0};
    UNROLL for (int64_t s = 0; s < parts; s++) {
        vec_v4bf16 x[2];
        UNROLL for (int v = 0; v < vectors; v++) x[v] = load_v4bf16(turned + (s * vectors + v) * 16);
        UNROLL for (int n = 0; n < keys; n++) {
            const float y = b[n * b_row + s * 16];
            UNROLL for (int v = 0; v < vectors; v++) sum[v * keys + n] += y * x[v];
        }
        __asm__ volatile("" : : : "memory"); /* keeps the terms in order, so that the sums do not wait for each other */
    }
}

/* Adds the sums of earlier lanes to sums of as many later lanes. */
TARGET_v4bf16 INLINE void add_turned_v4bf16(const int sums, const vec_v4bf16 *earlier, vec_v4bf16 *sum)
{
    UNROLL for (int k = 0; k < sums; k++) sum[k] = earlier[k] + sum[k];
}

/* t[v * keys + k] = the sum over s of the products of turned rows with row k of b. The terms are added in the order of
   columns_v4bf16: first those of each lane of a vector, then the lanes as in lane_sums_v4bf16. `asks` tells whether
   `keys` rows at
   `ahead` are prefetched. */
TARGET_v4bf16 INLINE void turned_columns_v4bf16(const int vectors, const int keys, const int64_t steps,
    const float *turned,
    const float *b, int64_t b_row, const int asks, const uint16_t *ahead, int64_t ahead_row, vec_v4bf16 *t)
{
    enum { GROUP = 16 < 4 ? 2 : 4 };
    const int64_t parts = steps / 16, lane = parts * vectors * 16;
    const int sums = vectors * keys;
    vec_v4bf16 group[4][8]; /* sums of 1, 2, 4, … groups of lanes that wait for as many later ones */
    vec_v4bf16 sum[8];
    for (int l = 0; l < 16; l += GROUP, turned += GROUP * lane, b += GROUP) {
        vec_v4bf16 one[8], two[8];
        for (int k = l; asks && k < l + GROUP; k++)
            if (k % (16 / keys) == 0) fetch_v4bf16(1, steps, ahead + k / (16 / keys) * ahead_row, ahead_row);
        turned_lane_v4bf16(vectors, keys, parts, turned, b, b_row, one);
        turned_lane_v4bf16(vectors, keys, parts, turned + lane, b + 1, b_row, sum);
        add_turned_v4bf16(sums, one, sum);
        if (GROUP == 4) {
            UNROLL for (int k = 0; k < sums; k++) two[k] = sum[k];
            turned_lane_v4bf16(vectors, keys, parts, turned + 2 * lane, b + 2, b_row, one);
            turned_lane_v4bf16(vectors, keys, parts, turned + 3 * lane, b + 3, b_row, sum);
            add_turned_v4bf16(sums, one, sum);
            add_turned_v4bf16(sums, two, sum);
        }
        int level = 0;
        for (int g = l / GROUP; g & 1; g /= 2) add_turned_v4bf16(sums, group[level++], sum);
        if (l + GROUP == 16) break;
        UNROLL for (int k = 0; k < sums; k++) group[level][k] = sum[k];
    }
    UNROLL for (int k = 0; k < sums; k++) t[k] = sum[k];
}

/* Like all_columns_v4bf16, for the rows of up to 2 vectors and all columns,
   whose number is a multiple of 16. The rows are
   put in lanes, so that sums over lanes need no shuffles. `asks` tells whether later rows of b are prefetched. */
TARGET_v4bf16 INLINE void turned_v4bf16(const int vectors, int64_t columns, const int64_t steps, const float *a,
    int64_t a_row,
    const uint16_t *b, int64_t b_row, const int asks, float *c, int64_t c_row)
{
    /* Fewer rows are multiplied by more keys at a time, so that as many sums are independent. */
    const int keys = vectors > 1 ? 8 / 2 : 8 < 16 ? 8 : 16;
    float turned[2 * 16 * 64] __attribute__((aligned(64)));
    float wide[16 * 64] __attribute__((aligned(64)));
    turn_rows_v4bf16(vectors, steps, a, a_row, turned);
    for (int64_t x = 0; x < columns; x += 16, b += 16 * b_row) {
        vec_v4bf16 t[2][16];
        widen_rows_v4bf16(16, steps, b, b_row, wide);
        const float *const from = wide;
        const int64_t from_row = steps;
        for (int64_t k = 0; k < 16; k += keys) {
            vec_v4bf16 some[8];
            turned_columns_v4bf16(vectors, keys, steps, turned, from + k * from_row, from_row, asks,
                ahead_v4bf16(b, b_row, 32 + k, columns - x, NULL), b_row, some);
            UNROLL for (int v = 0; v < vectors; v++)
                UNROLL for (int n = 0; n < keys; n++) t[v][k + n] = some[v * keys + n];
        }
        UNROLL for (int v = 0; v < vectors; v++) {
            exchange_v4bf16(t[v]);
            UNROLL for (int r = 0; r < 16; r++) store_v4bf16(c + (v * 16 + r) * c_row + x, t[v][r]);
        }
    }
}

/* Like turned_v4bf16, for the rows of all whole vectors. Returns their number. */
TARGET_v4bf16 INLINE int64_t all_turned_v4bf16(int64_t rows, int64_t columns, const int64_t steps, const float *a,
    int64_t a_row,
    const uint16_t *b, int64_t b_row, float *c, int64_t c_row)
{
    int64_t r = 0;
    for (; r + 2 * 16 <= rows; r += 2 * 16)
        turned_v4bf16(2, columns, steps, a + r * a_row, a_row, b, b_row, r == 0, c + r * c_row, c_row);
    if (r + 16 <= rows) {
        turned_v4bf16(1, columns, steps, a + r * a_row, a_row, b, b_row, r == 0, c + r * c_row, c_row);
        r += 16;
    }
    return r;
}

/* c[r][x] = sum over t of a[r][t] * b[x][t].
   - Both operands are contiguous along t. `steps` is a multiple of 16.
   - b is in memory. It is prefetched `early` rows ahead for one row of a, otherwise 32 rows ahead. */
TARGET_v4bf16 INLINE void dot_along_v4bf16(int64_t rows, int64_t columns, const int64_t steps, const float *a,
    int64_t a_row,
    const uint16_t *b, int64_t b_row, float *c, int64_t c_row, const int64_t early)
{
    const int64_t whole = columns - columns % 16,
        turned = rows < 16 ? 0 : all_turned_v4bf16(rows, whole, steps, a, a_row, b, b_row, c, c_row),
        first = turned == rows ? whole : 0;
    b += first * b_row;
    for (int64_t x = first; x < columns; x += 16, b += 16 * b_row) {
        const int64_t last = min(16, columns - x) - 1;
        const uint16_t *const ahead = ahead_v4bf16(b, b_row, rows == 1 ? early : 32, columns - x, NULL);
        if (rows == 1 && last == 16 - 1)
            columns_v4bf16(1, last, steps, a, b, b_row, c + x, early ? ahead : NULL);
        else if (rows == 1)
            columns_v4bf16(0, last, steps, a, b, b_row, c + x, NULL);
        else if (last == 16 - 1)
            all_columns_v4bf16(1, last, rows - turned, steps, a + turned * a_row, a_row, b, b_row,
                c + turned * c_row + x,
                c_row, 2, ahead);
        else
            all_columns_v4bf16(0, last, rows, steps, a, a_row, b, b_row, c + x, c_row, 2, ahead);
    }
}

/* c[x] += sum over t of a[t] * b[t][x] for up to 8 vectors of lanes, from x = first on. Terms are rounded and
   added as for several rows. For b with scales, one for `block` elements:
   - a has been multiplied by them: a[t][x / block] * unscaled b[t][x]
   - the scales of the rows 32 later are copied to `next`, for `later` rows */
TARGET_v4bf16 INLINE void row_v4bf16(const int vectors, int64_t first, int64_t steps, const float *a, int64_t a_step,
    const uint16_t *b, int64_t b_step, const int64_t lanes, const int64_t block, float *c
, const uint16_t *ahead)
{
    vec_v4bf16 sum[8];
    (void)lanes;
    UNROLL for (int v = 0; v < vectors; v++) sum[v] = (vec_v4bf16){0};
    (void)block;
    for (int64_t t = 0; t < steps; t++, b += b_step) {
        if (ahead && first == 0) fetch_v4bf16(1, lanes, ahead + t * b_step, b_step);
        UNROLL for (int v = 0; v < vectors; v++) sum[v] += a[t * a_step] * widened_v4bf16(b, first + v * 16);
    }
    UNROLL for (int v = 0; v < vectors; v++) store_v4bf16(c + first + v * 16, load_v4bf16(c + first + v * 16) + sum[v]);
}

/* c[r][x] += sum over t of a[r][t] * b[t][x] for up to 6 rows r and up to 4 vectors of lanes, from x = first
   on. Rows of b have `lanes` elements. The first `ahead_rows` rows at `ahead` are prefetched.
   - from 0: b is widened for these rows. 1: it is also stored to `wide`. 2: it is read from there
   - weight: if b has scales, the products of a with `count` scales of each row of b, from scaled_weights_v4bf16 */
TARGET_v4bf16 INLINE void some_lanes_v4bf16(const int rows, const int vectors, const int from, int64_t first,
    const int64_t lanes,
    int64_t steps, const float *a, int64_t a_row, int64_t a_step, const uint16_t *b, int64_t b_step, float *wide,
    const uint16_t *ahead, int64_t ahead_rows, float *c, int64_t c_row)
{
    vec_v4bf16 sum[6][4];
    UNROLL for (int r = 0; r < rows; r++)
        UNROLL for (int v = 0; v < vectors; v++) sum[r][v] = (vec_v4bf16){0};
    for (int64_t t = 0; t < steps; t++) {
        vec_v4bf16 x[4];
        if (t < ahead_rows) fetch_v4bf16(1, lanes, ahead + t * b_step, b_step);
        UNROLL for (int v = 0; v < vectors; v++) {
            float *const kept = wide + t * lanes + first + v * 16;
            x[v] = from == 2 ? load_v4bf16(kept) : unscaled_v4bf16(b + t * b_step, first + v * 16);
            if (from == 1) store_v4bf16(kept, x[v]);
        }
        UNROLL for (int r = 0; r < rows; r++) {
            const float y = a[r * a_row + t * a_step];
            UNROLL for (int v = 0; v < vectors; v++) sum[r][v] += y * x[v];
        }
    }
    UNROLL for (int r = 0; r < rows; r++)
        UNROLL for (int v = 0; v < vectors; v++) {
            float *const to = c + r * c_row + first + v * 16;
            store_v4bf16(to, load_v4bf16(to) + sum[r][v]);
        }
}

/* Like some_lanes_v4bf16, for all lanes. */
TARGET_v4bf16 INLINE void all_lanes_v4bf16(const int rows, const int from, const int64_t lanes, int64_t steps,
    const float *a,
    int64_t a_row, int64_t a_step, const uint16_t *b, int64_t b_step, float *wide, const uint16_t *ahead,
    int64_t ahead_rows, float *c, int64_t c_row)
{
    const int64_t share = 4 * 16 < lanes ? (ahead_rows * 4 * 16 + lanes - 1) / lanes : ahead_rows;
    int64_t x = 0;
    for (; x + 4 * 16 <= lanes; x += 4 * 16) {
        some_lanes_v4bf16(rows, 4, from, x, lanes, steps, a, a_row, a_step, b, b_step, wide, ahead,
            min(share, ahead_rows), c, c_row);
        ahead += share * b_step;
        ahead_rows = max(ahead_rows - share, 0);
    }
    for (; x < lanes; x += 16) {
        some_lanes_v4bf16(rows, 1, from, x, lanes, steps, a, a_row, a_step, b, b_step, wide, ahead, ahead_rows, c,
            c_row);
        ahead_rows = 0;
    }
}

/* Like some_lanes_v4bf16, for 1 to 6 rows and all lanes. `scale` has the scales of b. */
TARGET_v4bf16 INLINE void group_v4bf16(int64_t rows, const int from, const int64_t lanes, int64_t steps, const float *a,
    int64_t a_row, int64_t a_step, const uint16_t *b, int64_t b_step, float *wide, const uint16_t *ahead,
    int64_t ahead_rows, float *c, int64_t c_row)
{
    switch (rows) {
        case 6: all_lanes_v4bf16(6, from, lanes, steps, a, a_row, a_step, b, b_step, wide, ahead, ahead_rows, c,
            c_row); break;
        case 5: all_lanes_v4bf16(5, from, lanes, steps, a, a_row, a_step, b, b_step, wide, ahead, ahead_rows, c,
            c_row); break;
        case 4: all_lanes_v4bf16(4, from, lanes, steps, a, a_row, a_step, b, b_step, wide, ahead, ahead_rows, c,
            c_row); break;
        case 3: all_lanes_v4bf16(3, from, lanes, steps, a, a_row, a_step, b, b_step, wide, ahead, ahead_rows, c,
            c_row); break;
        case 2: all_lanes_v4bf16(2, from, lanes, steps, a, a_row, a_step, b, b_step, wide, ahead, ahead_rows, c,
            c_row); break;
        default: all_lanes_v4bf16(1, from, lanes, steps, a, a_row, a_step, b, b_step, wide, ahead, ahead_rows, c,
            c_row); break;
    }
}

/* Like group_v4bf16, for any number of rows. Each group of rows prefetches a share of later rows. */
TARGET_v4bf16 INLINE void groups_v4bf16(int64_t rows, const int64_t lanes, int64_t steps, const float *a, int64_t a_row,
    int64_t a_step, const uint16_t *b, int64_t b_step, float *wide, const uint16_t *ahead, float *c,
    int64_t c_row)
{
    if (rows <= 6) {
        group_v4bf16(rows, 0, lanes, steps, a, a_row, a_step, b, b_step, wide, ahead, steps, c, c_row);
        return;
    }
    int64_t asked = (6 * steps + rows - 1) / rows;
    group_v4bf16(6, 1, lanes, steps, a, a_row, a_step, b, b_step, wide, ahead, asked, c, c_row);
    for (int64_t r = 6; r < rows; r += 6) {
        const int64_t ask = min((min(r + 6, rows) * steps + rows - 1) / rows, steps);
        group_v4bf16(min(rows - r, 6), 2, lanes, steps, a + r * a_row, a_row, a_step, b, b_step, wide,
            ahead + asked * b_step, ask - asked, c + r * c_row, c_row);
        asked = ask;
    }
}

/* Like groups_v4bf16, for all rows of b, but only 4 vectors of lanes,
   from x = first on. Many rows of c do not fit in the
   first cache, but these lanes of them do. */
TARGET_v4bf16 INLINE void strip_v4bf16(int64_t rows, int64_t first, const int64_t lanes, int64_t steps, const float *a,
    int64_t a_row,
    int64_t a_step, const uint16_t *b, int64_t b_step, float *wide, float *c, int64_t c_row)
{
    for (int64_t t = 0; t < steps; t += 32, a += 32 * a_step, b += 32 * b_step) {
        const int64_t some = min(steps - t, 32);
        const uint16_t *const ahead = ahead_v4bf16(b, b_step, 32, steps - t, NULL);
        int64_t r = 0, asked = 0;
        for (; r + 6 <= rows; r += 6) { /* each group of rows prefetches a share of the rows that follow later */
            const int64_t ask = first ? 0 : (r + 6) * some / rows;
            if (r == 0)
                some_lanes_v4bf16(6, 4, 1, first, lanes, some, a, a_row, a_step, b, b_step, wide, ahead, ask, c,
                    c_row);
            else
                some_lanes_v4bf16(6, 4, 2, first, lanes, some, a + r * a_row, a_row, a_step, b, b_step, wide,
                    ahead + asked * b_step, ask - asked, c + r * c_row, c_row);
            asked = ask;
        }
        for (; r + 2 <= rows; r += 2) {
            some_lanes_v4bf16(2, 4, 2, first, lanes, some, a + r * a_row, a_row, a_step, b, b_step, wide, ahead, 0,
                c + r * c_row, c_row);
        }
        if (r < rows) {
            some_lanes_v4bf16(1, 4, 2, first, lanes, some, a + r * a_row, a_row, a_step, b, b_step, wide, ahead, 0,
                c + r * c_row, c_row);
        }
    }
}

/* Like dot_v4bf16, but b is in memory and is prefetched as in dot_along_v4bf16. It is read 32 rows at a time. Narrow
   elements are widened once for all rows. If a has one row, b is read 128 lanes at a time. */
TARGET_v4bf16 INLINE void dot_fetched_v4bf16(const int vectors, const int64_t lanes, int64_t rows, const int tail,
    int64_t steps,
    const int64_t span, const float *a, int64_t a_row, int64_t a_step, const uint16_t *b, int64_t b_step, float *c,
    int64_t c_row, const int update, const float *factor, float *compensation, const int64_t early)
{
    float wide[32 * 64] __attribute__((aligned(64)));
    if (1 && update == 1 && rows >= 16 && lanes % (4 * 16) == 0) {
        for (int64_t x = 0; x < lanes; x += 4 * 16)
            strip_v4bf16(rows, x, lanes, steps, a, a_row, a_step, b, b_step, wide, c, c_row);
        return;
    }
    for (int64_t t = 0; t < steps; t += 32, a += 32 * a_step, b += 32 * b_step) {
        const int64_t some = min(steps - t, 32);
        const uint16_t *const ahead = ahead_v4bf16(b, b_step, rows == 1 ? early : 32, steps - t, NULL);
        (void)ahead;
        const int64_t block = lanes;
        if (rows == 1 && update == 1) {
            const float *const factor_of_row = a;
            const int64_t step = a_step;
            int64_t x = 0;
            for (; x + 128 <= lanes; x += 128)
                row_v4bf16(8, x, some, factor_of_row, step, b, b_step, lanes, block,
                    c, early ? ahead : NULL);
            if (lanes % 128)
                row_v4bf16((int)(lanes % 128 / 16), x, some, factor_of_row, step, b, b_step, lanes, block,
                    c, early ? ahead : NULL);
            continue;
        }
        if (update == 1 && (1 || rows <= 6)) {
            groups_v4bf16(rows, lanes, some, a, a_row, a_step, b, b_step, wide, ahead, c, c_row);
            continue;
        }
        widen_rows_v4bf16(some, lanes, b, b_step, wide);
        const float *const from = wide;
        const int64_t from_step = lanes;
        for (int64_t r = 0, asked = 0; r < rows; r += 6) { /* each group of rows prefetches a share */
            const int64_t ask = rows - r <= 6 ? some : min(asked + (some * 6 + rows - 1) / rows, some);
            fetch_v4bf16(ask - asked, lanes, ahead + asked * b_step, b_step);
            asked = ask;
            dot_early_v4bf16(vectors, lanes, min(6, rows - r), -1, some, span, a + r * a_row, a_row, a_step, from,
                from_step, c + r * c_row, c_row, update, factor, compensation ? compensation + r * c_row : NULL, 0);
        }
        (void)tail;
    }
}

/* The functions for the products below. Each calls dot_v4bf16 or a similar function with constants. */
TARGET_v4bf16 APART void dot0_v4bf16(int64_t lanes, int64_t rows, const uint16_t *a, int64_t a_row, const uint16_t *b,
    float *c)
{
    dot_paired_v4bf16(/*vectors=*/4, lanes, rows, /*tail=*/-1, /*steps=*/32, /*span=*/32, a, a_row, /*a_step=*/2, b,
        /*b_step=*/128, c, /*c_row=*/80, /*update=*/0, /*by=*/0.18033688f, /*factor=*/NULL, /*compensation=*/NULL);
}
TARGET_v4bf16 APART void dot1_v4bf16(int64_t lanes, int64_t steps, const uint16_t *a, const uint16_t *b, float *c,
    const float *factor, float *compensation)
{
    dot_finite_paired_v4bf16(/*vectors=*/4, lanes, /*rows=*/64, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/2,
        /*a_step=*/128, b, /*b_step=*/128, c, /*c_row=*/80, /*update=*/3, /*by=*/1.0f, factor, compensation);
}
TARGET_v4bf16 APART void dot2_v4bf16(int64_t lanes, int64_t steps, const uint16_t *a, const uint16_t *b, float *c,
    const float *factor, float *compensation)
{
    dot_paired_v4bf16(/*vectors=*/4, lanes, /*rows=*/64, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/2,
        /*a_step=*/128, b, /*b_step=*/128, c, /*c_row=*/80, /*update=*/3, /*by=*/1.0f, factor, compensation);
}
TARGET_v4bf16 APART void dot3_v4bf16(int64_t rows, int64_t columns, const float *a, const uint16_t *b, int64_t b_row,
    float *c, int64_t early)
{
    dot_along_v4bf16(rows, columns, /*steps=*/64, a, /*a_row=*/64, b, b_row, c, /*c_row=*/144, early);
}
TARGET_v4bf16 APART void dot4_v4bf16(int64_t rows, int64_t steps, const float *a, const float *b, float *c)
{
    dot_finite_lanes_v4bf16(/*fetched=*/1, /*vectors=*/4, /*lanes=*/64, rows, /*tail=*/-1, steps, /*span=*/192, a,
        /*a_row=*/144, /*a_step=*/1, b, /*b_step=*/64, c, /*c_row=*/64, /*update=*/1, /*factor=*/NULL,
        /*compensation=*/NULL);
}
TARGET_v4bf16 APART void dot5_v4bf16(int64_t rows, int64_t steps, const float *a, const uint16_t *b, int64_t b_step,
    float *c, int64_t early)
{
    dot_fetched_v4bf16(/*vectors=*/4, /*lanes=*/64, rows, /*tail=*/-1, steps, /*span=*/192, a, /*a_row=*/144,
        /*a_step=*/1, b, b_step, c, /*c_row=*/64, /*update=*/1, /*factor=*/NULL, /*compensation=*/NULL, early);
}

/* Computes task number `task`: one tile of queries of one head. `work` is this thread's workspace. */
TARGET_v4bf16 static void softmax_causal_bf16_rows_v4bf16(const struct call *call, int64_t task, unsigned char *work)
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
    const uint16_t *const q = call->q + b * call->p.q.batch + (g / call->sharing * members + m) * call->p.q.head;
    const int64_t q_row = call->p.q.row;
    const uint16_t *const k = call->k + b * call->p.k.batch + g / call->sharing * call->p.k.head;
    const int64_t k_row = call->p.k.row;
    const uint16_t *const v = call->v + b * call->p.v.batch + g * call->p.v.head;
    const int64_t v_row = call->p.v.row;
    float *const weight = (float *)(void *)(work + 0); /* [j: 288, i: 64 of 80] */
    float *const row_max = (float *)(void *)(work + 92160); /* [i: 64] */
    float *const old_max = (float *)(void *)(work + 92416); /* [i: 64] */
    float *const row_sum = (float *)(void *)(work + 92672); /* [i: 64] */
    float *const row_sum_compensation = (float *)(void *)(work + 92928); /* [i: 64] */
    float *const sum = (float *)(void *)(work + 93184); /* [e: 64, i: 64 of 80] */
    float *const sum_compensation = (float *)(void *)(work + 113664); /* [e: 64, i: 64 of 80] */
    uint16_t *const out = call->out + b * call->p.out.batch + (g * members + m) * call->p.out.head;
    const int64_t out_row = call->p.out.row;
    uint16_t *const q_tile = (uint16_t *)(void *)(work + 134144); /* [d: 64, i: 64] */
    uint16_t *const weight_pairs = (uint16_t *)(void *)(work + 142336); /* [j: 288, i: 64] */
    uint16_t *const v_tile = (uint16_t *)(void *)(work + 179200); /* [j: 288, e: 64] */
    /* q_tile = q, in pairs along d */
    for (int64_t i = 0; i < round_up(i1 - i0, 16); i++)
        for (int64_t d = 0; d < 64; d += 2)
            set_pair_v4bf16(q_tile + d * 64 + 2 * i, i < i1 - i0 ? pair_v4bf16(q + (i0 + i) * q_row + d) : 0);
    /* row_max = -FLT_MAX; row_sum = 0.0f; row_sum_compensation = 0.0f */
    for (int64_t i = 0; i < i1 - i0; i += 16) {
        store_v4bf16(row_max + i, splat_v4bf16(-FLT_MAX));
        store_v4bf16(row_sum + i, splat_v4bf16(0.0f));
        store_v4bf16(row_sum_compensation + i, splat_v4bf16(0.0f));
    }
    /* sum = 0.0f; sum_compensation = 0.0f */
    for (int64_t e = 0; e < 64; e++) {
        for (int64_t i = 0; i < i1 - i0; i += 16) {
            store_v4bf16(sum + e * 80 + i, splat_v4bf16(0.0f));
            store_v4bf16(sum_compensation + e * 80 + i, splat_v4bf16(0.0f));
        }
    }
    for (int64_t j0 = 0, j_end = min(n_k, i1 + query_start); j0 < j_end; j0 += 288) {
        const int64_t j1 = min(j0 + 288, j_end);
        /* v_tile = v, in pairs along j */
        for (int64_t j = 0; j < j1 - j0; j += 2)
            for (int64_t e = 0; e < 64; e += 16)
                join_v4bf16(v_tile + j * 64 + 2 * e, v + (j0 + j) * v_row + e,
                    j + 1 < j1 - j0 ? v + ((j0 + j) + 1) * v_row + e : NULL);
        /* weight[j][i] = sum over d of k * q_tile */
        dot0_v4bf16(round_up(i1 - i0, 16), j1 - j0, k + j0 * k_row, k_row, q_tile, weight);
        /* old_max = row_max */
        for (int64_t i = 0; i < i1 - i0; i += 16) {
            store_v4bf16(old_max + i, load_v4bf16(row_max + i));
        }
        if ((i0 + query_start + 1) < j1) { /* the tile is partly outside the mask */
            /* weight = select(j <= (i + query_start), weight, -INFINITY) */
            for (int64_t i = 0; i < i1 - i0; i += 16) {
                const ints_v4bf16 t_0 = (i0 + i + lane_v4bf16) + query_start;
                for (int64_t j = 0; j < j1 - j0; j++) {
                    store_v4bf16(weight + j * 80 + i, pick_v4bf16(__builtin_convertvector((j0 + j) <= t_0, mask_v4bf16),
                        load_v4bf16(weight + j * 80 + i), splat_v4bf16(-INFINITY)));
                }
            }
        }
        /* row_max max= weight */
        for (int64_t i_first = 0; i_first < i1 - i0; i_first += 64) {
            vec_v4bf16 row_max_in[4];
            UNROLL for (int64_t vector = 0, i = i_first; vector < 4; vector++, i += 16) {
                row_max_in[vector] = load_v4bf16(row_max + i);
            }
            for (int64_t j = 0; j < j1 - j0; j++) {
                UNROLL for (int64_t vector = 0, i = i_first; vector < 4; vector++, i += 16) {
                    row_max_in[vector] = max_v4bf16(row_max_in[vector], load_v4bf16(weight + j * 80 + i));
                }
            }
            UNROLL for (int64_t vector = 0, i = i_first; vector < 4; vector++, i += 16) {
                store_v4bf16(row_max + i, row_max_in[vector]);
            }
        }
        /* old_max = exp2(old_max - row_max); row_sum = row_sum * old_max;
           row_sum_compensation = row_sum_compensation * old_max */
        for (int64_t i = 0; i < i1 - i0; i += 16) {
            const vec_v4bf16 old_max_1 = load_v4bf16(old_max + i);
            const vec_v4bf16 old_max_new2 = exp2_v4bf16(old_max_1 - load_v4bf16(row_max + i));
            store_v4bf16(old_max + i, old_max_new2);
            store_v4bf16(row_sum + i, load_v4bf16(row_sum + i) * old_max_new2);
            store_v4bf16(row_sum_compensation + i, load_v4bf16(row_sum_compensation + i) * old_max_new2);
        }
        /* weight = exp2(weight - row_max); row_sum += weight */
        for (int64_t i = 0; i < i1 - i0; i += 16) {
            const vec_v4bf16 row_max_4 = load_v4bf16(row_max + i);
            vec_v4bf16 row_sum_in = (vec_v4bf16){0};
            for (int64_t j = 0; j < j1 - j0; j++) {
                const vec_v4bf16 weight_3 = load_v4bf16(weight + j * 80 + i);
                const vec_v4bf16 weight_new5 = exp2_coarse_v4bf16(weight_3 - row_max_4);
                store_v4bf16(weight + j * 80 + i, weight_new5);
                row_sum_in += weight_new5;
            }
            add_v4bf16(row_sum + i, row_sum_compensation + i, row_sum_in, splat_v4bf16(1));
        }
        /* weight_pairs = weight, in pairs along j, rounded to bf16 */
        for (int64_t j = 0; j < j1 - j0; j += 2)
            for (int64_t i = 0; i < i1 - i0; i += 16)
                store_paired_v4bf16(weight_pairs + j * 64 + 2 * i, load_v4bf16(weight + j * 80 + i),
                    j + 1 < j1 - j0 ? load_v4bf16(weight + (((j0 + j) + 1) - j0) * 80 + i) : splat_v4bf16(0));
        /* sum[e][i] = sum * old_max + sum over j of v_tile * weight_pairs */
        if (__builtin_expect(((i0 + query_start + 1) < j1) && !finite_paired_v4bf16(v_tile, 128, (j1 - j0 + 1) / 2,
            2 * 64), 0)) { /* infinity and NaN affect only queries that see them */
            dot1_v4bf16(round_up(i1 - i0, 16), (j1 - j0 + 1) / 2, v_tile, weight_pairs, sum, old_max, sum_compensation);
            for (int64_t j = 0; j < j1 - j0; j++) {
                mask_v4bf16 in_region[4] = {0};
                if (finite_paired_v4bf16(v_tile + j / 2 * 128 + j % 2, 2, 64, 1)) continue;
                for (int64_t i = 0; i < i1 - i0; i += 16) {
                    in_region[i / 16] = __builtin_convertvector((j0 + j) <= ((i0 + i + lane_v4bf16) + query_start),
                        mask_v4bf16);
                }
                add_seen_paired_v4bf16(64, sum, 80, v_tile + j / 2 * 128 + j % 2, 2, weight_pairs + j / 2 * 128, j % 2,
                    in_region, i1 - i0);
            }
        } else
            dot2_v4bf16(round_up(i1 - i0, 16), (j1 - j0 + 1) / 2, v_tile, weight_pairs, sum, old_max, sum_compensation);
    }
    /* sum = select(row_sum == 0.0f, 0.0f, sum * (1.0f / row_sum)) */
    for (int64_t i = 0; i < i1 - i0; i += 16) {
        const vec_v4bf16 row_sum_6 = load_v4bf16(row_sum + i);
        const mask_v4bf16 t_7 = row_sum_6 == 0.0f;
        const vec_v4bf16 t_8 = 1.0f / row_sum_6;
        for (int64_t e = 0; e < 64; e++) {
            store_v4bf16(sum + e * 80 + i, pick_v4bf16(t_7, splat_v4bf16(0.0f), load_v4bf16(sum + e * 80 + i) * t_8));
        }
    }
    /* out = sum, transposed back */
    transpose_narrowed_v4bf16(sum, 80, 64, i1 - i0, out + i0 * out_row, out_row, 16);
}

/* Initialises the states: they contain no keys yet. */
TARGET_v4bf16 APART void softmax_causal_bf16_few_begin_v4bf16(const struct call *call, int64_t task,
    const struct part *part, int64_t iteration)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_q = call->p.n_q;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t r0 = iteration * 64, r1 = min(r0 + 64, rows);
    const int64_t g = task % kv_heads;
    const int64_t b = task / kv_heads;
    const uint16_t *const q = call->q + b * call->p.q.batch + g / call->sharing * members * call->p.q.head;
    const int64_t q_row = call->p.q.row;
    const int64_t q_head = call->p.q.head;
    float *const query_turned = (float *)(void *)(part->shared + 0); /* [r: 64, d: 64] */
    float *const q_tile = (float *)(void *)(part->work + 0); /* [r: 64, d: 64] */
    /* q_tile = q, widened */
    for (int64_t r = r0; r < r1; r++)
        for (int64_t d = 0; d < 64; d += 16)
            store_v4bf16(q_tile + r * 64 + d, widened_v4bf16(q + r / n_q * q_head + r % n_q * q_row, d));
    /* query_turned = q_tile * 0.18033688f */
    for (int64_t r = r0; r < r1; r++) {
        for (int64_t d_first = 0; d_first < 64; d_first += 64) {
            UNROLL for (int64_t vector = 0, d = d_first; vector < 4; vector++, d += 16) {
                store_v4bf16(query_turned + r * 64 + d, load_v4bf16(q_tile + r * 64 + d) * 0.18033688f);
            }
        }
    }
}

/* Initialises the states: they contain no keys yet. */
TARGET_v4bf16 APART void softmax_causal_bf16_few_begin_2_v4bf16(const struct call *call, int64_t task,
    const struct part *part, int64_t iteration)
{
    (void)task;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t r0 = iteration * 16, r1 = min(r0 + 16, rows);
    float *const carried_max = (float *)(void *)(part->shared + 16384); /* [r: 64] */
    float *const carried_sum = (float *)(void *)(part->shared + 16640); /* [r: 64] */
    float *const carried_sum_compensation = (float *)(void *)(part->shared + 33280); /* [r: 64] */
    float *const carried = (float *)(void *)(part->shared + 16896); /* [r: 64, e: 64] */
    float *const carried_compensation = (float *)(void *)(part->shared + 33536); /* [r: 64, e: 64] */
    /* carried_max = -FLT_MAX; carried_sum = 0.0f; carried_sum_compensation = 0.0f */
    for (int64_t r = r0; r < r1; r += 16) {
        store_v4bf16(carried_max + r, splat_v4bf16(-FLT_MAX));
        store_v4bf16(carried_sum + r, splat_v4bf16(0.0f));
        store_v4bf16(carried_sum_compensation + r, splat_v4bf16(0.0f));
    }
    /* carried = 0.0f; carried_compensation = 0.0f */
    for (int64_t r = r0; r < r1; r++) {
        for (int64_t e_first = 0; e_first < 64; e_first += 64) {
            UNROLL for (int64_t vector = 0, e = e_first; vector < 4; vector++, e += 16) {
                store_v4bf16(carried + r * 64 + e, splat_v4bf16(0.0f));
                store_v4bf16(carried_compensation + r * 64 + e, splat_v4bf16(0.0f));
            }
        }
    }
}

/* Sums the keys of a chunk, from zero, into its slot. */
TARGET_v4bf16 APART void softmax_causal_bf16_few_keys_v4bf16(const struct call *call, int64_t task,
    const struct part *part, int64_t iteration)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t n_q = call->p.n_q;
    const int64_t n_k = call->p.n_k;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t chunk = iteration;
    const int64_t chunk0 = part->chunk0;
    const int64_t g = task % kv_heads;
    const int64_t b = task / kv_heads;
    const int64_t query_start = call->p.query_start ? call->p.query_start[b] : n_k - n_q;
    const uint16_t *const k = call->k + b * call->p.k.batch + g / call->sharing * call->p.k.head;
    const int64_t k_row = call->p.k.row;
    const uint16_t *const v = call->v + b * call->p.v.batch + g * call->p.v.head;
    const int64_t v_row = call->p.v.row;
    float *const score = (float *)(void *)(part->work + 0); /* [r: 64, j: 128 of 144] */
    float *const query_turned = (float *)(void *)(part->shared + 0); /* [r: 64, d: 64] */
    float *const state_max = (float *)(void *)(part->slots + 0); /* [chunk, r: 64] */
    float *const old_max = (float *)(void *)(part->work + 36864); /* [r: 64] */
    float *const state_sum = (float *)(void *)(part->slots + 256); /* [chunk, r: 64] */
    float *const state = (float *)(void *)(part->slots + 512); /* [chunk, r: 64, e: 64] */
    /* state_max = -FLT_MAX; state_sum = 0.0f */
    for (int64_t r = 0; r < rows; r += 16) {
        store_v4bf16(state_max + (chunk - chunk0) * 4224 + r, splat_v4bf16(-FLT_MAX));
        store_v4bf16(state_sum + (chunk - chunk0) * 4224 + r, splat_v4bf16(0.0f));
    }
    /* state = 0.0f */
    for (int64_t r = 0; r < rows; r++) {
        for (int64_t e_first = 0; e_first < 64; e_first += 64) {
            UNROLL for (int64_t vector = 0, e = e_first; vector < 4; vector++, e += 16) {
                store_v4bf16(state + (chunk - chunk0) * 4224 + r * 64 + e, splat_v4bf16(0.0f));
            }
        }
    }
    for (int64_t j0 = chunk * 1024, j_end = min(min(n_k, (chunk + 1) * 1024), n_q + query_start); j0 < j_end;
        j0 += 128) {
        const int64_t j1 = min(j0 + 128, j_end);
        /* score[r][j] = sum over d of query_turned * k */
        dot3_v4bf16(rows, j1 - j0, query_turned, k + j0 * k_row, k_row, score, attn_is_intel() ? 32 : 0);
        /* old_max = state_max */
        for (int64_t r = 0; r < rows; r += 16) {
            store_v4bf16(old_max + r, load_v4bf16(state_max + (chunk - chunk0) * 4224 + r));
        }
        if ((query_start + 1) < j1) { /* the tile is partly outside the mask */
            /* score = select(j <= ((r % n_q) + query_start), score, -INFINITY) */
            for (int64_t j = 0; j < j1 - j0; j += 16) {
                const ints_v4bf16 t_0 = j0 + j + lane_v4bf16;
                for (int64_t r = 0; r < rows; r++) {
                    store_v4bf16(score + r * 144 + j, pick_v4bf16(__builtin_convertvector(t_0 <= ((r % n_q) +
                        query_start), mask_v4bf16), load_v4bf16(score + r * 144 + j), splat_v4bf16(-INFINITY)));
                }
            }
        }
        /* state_max max= score */
        for (int64_t r = 0; r < rows; r++) {
            vec_v4bf16 lanes_max = splat_v4bf16(-INFINITY);
            for (int64_t j = 0; j < j1 - j0; j += 16) {
                const vec_v4bf16 term = load_v4bf16(score + r * 144 + j);
                lanes_max = max_v4bf16(lanes_max, j + 16 <= j1 - j0 ? term : pick_v4bf16(__builtin_convertvector(j +
                    lane_v4bf16 < j1 - j0, mask_v4bf16), term, splat_v4bf16(-INFINITY)));
            }
            const float largest = lane_max_v4bf16(lanes_max);
            if (largest > state_max[(chunk - chunk0) * 4224 + r]) state_max[(chunk - chunk0) * 4224 + r] = largest;
        }
        /* old_max = exp2(old_max - state_max); state_sum = state_sum * old_max */
        for (int64_t r = 0; r < rows; r += 16) {
            const vec_v4bf16 old_max_1 = load_v4bf16(old_max + r);
            const vec_v4bf16 old_max_new2 = exp2_v4bf16(old_max_1 - load_v4bf16(state_max + (chunk - chunk0) * 4224 +
                r));
            store_v4bf16(old_max + r, old_max_new2);
            store_v4bf16(state_sum + (chunk - chunk0) * 4224 + r, load_v4bf16(state_sum + (chunk - chunk0) * 4224 + r) *
                old_max_new2);
        }
        /* score = exp2(score - state_max) */
        for (int64_t j = 0; j < j1 - j0; j += 16) {
            for (int64_t r = 0; r < rows; r++) {
                store_v4bf16(score + r * 144 + j, exp2_v4bf16(load_v4bf16(score + r * 144 + j) - (state_max[(chunk -
                    chunk0) * 4224 + r])));
            }
        }
        /* state_sum += score */
        for (int64_t r = 0; r < rows; r++) {
            vec_v4bf16 lane_sums = splat_v4bf16(0);
            for (int64_t j = 0; j < j1 - j0; j += 16) {
                const vec_v4bf16 term = load_v4bf16(score + r * 144 + j);
                lane_sums += j + 16 <= j1 - j0 ? term : pick_v4bf16(__builtin_convertvector(j + lane_v4bf16 < j1 - j0,
                    mask_v4bf16), term, splat_v4bf16(0));
            }
            const float total = lane_sum_v4bf16(lane_sums);
            state_sum[(chunk - chunk0) * 4224 + r] += total;
        }
        /* state = state * old_max */
        for (int64_t r = 0; r < rows; r++) {
            for (int64_t e_first = 0; e_first < 64; e_first += 64) {
                UNROLL for (int64_t vector = 0, e = e_first; vector < 4; vector++, e += 16) {
                    store_v4bf16(state + (chunk - chunk0) * 4224 + r * 64 + e,
                        load_v4bf16(state + (chunk - chunk0) * 4224 + r * 64 + e) * old_max[r]);
                }
            }
        }
        /* state[r][e] += sum over j of score * v */
        if (__builtin_expect(((query_start + 1) < j1) && !finite_stored_v4bf16(v + j0 * v_row, v_row, j1 - j0, 64),
            0)) { /* infinity and NaN affect only queries that see them */
            float wide[8192];
            for (int64_t t = 0; t < j1 - j0; t++)
                for (int64_t x = 0; x < 64; x += 16)
                    store_v4bf16(wide + t * 64 + x, widened_v4bf16(v + j0 * v_row + t * v_row, x));
            dot4_v4bf16(rows, j1 - j0, score, wide, state + (chunk - chunk0) * 4224);
            for (int64_t r = 0; r < rows; r++) {
                mask_v4bf16 in_region[8] = {0};
                const int64_t t_3 = (r % n_q) + query_start;
                for (int64_t j = 0; j < j1 - j0; j += 16) {
                    in_region[j / 16] = __builtin_convertvector((j0 + j + lane_v4bf16) <= t_3, mask_v4bf16);
                }
                add_seen_lanes_v4bf16(64, state + (chunk - chunk0) * 4224 + r * 64, score + r * 144, wide, 64, j1 - j0,
                    in_region);
            }
        } else
            dot5_v4bf16(rows, j1 - j0, score, v + j0 * v_row, v_row, state + (chunk - chunk0) * 4224,
                attn_is_intel() ? 32 : 0);
    }
}

/* Folds the slots of the current chunks, in order, for some elements of the states. */
TARGET_v4bf16 APART void softmax_causal_bf16_few_fold_v4bf16(const struct call *call, int64_t task,
    const struct part *part, int64_t iteration)
{
    (void)task;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t r0 = iteration * 16, r1 = min(r0 + 16, rows);
    const int64_t chunk0 = part->chunk0;
    const int64_t chunk1 = part->chunk1;
    float *const state_max = (float *)(void *)(part->slots + 0); /* [chunk, r: 64] */
    float *const state_sum = (float *)(void *)(part->slots + 256); /* [chunk, r: 64] */
    float *const state = (float *)(void *)(part->slots + 512); /* [chunk, r: 64, e: 64] */
    float *const carried_max = (float *)(void *)(part->shared + 16384); /* [r: 64] */
    float *const carried_factor = (float *)(void *)(part->work + 0); /* [r: 64] */
    float *const slot_factor = (float *)(void *)(part->work + 256); /* [r: 64] */
    float *const carried_sum = (float *)(void *)(part->shared + 16640); /* [r: 64] */
    float *const carried_sum_compensation = (float *)(void *)(part->shared + 33280); /* [r: 64] */
    float *const carried = (float *)(void *)(part->shared + 16896); /* [r: 64, e: 64] */
    float *const carried_compensation = (float *)(void *)(part->shared + 33536); /* [r: 64, e: 64] */
    for (int64_t chunk = chunk0; chunk < chunk1; chunk++) {
        /* before_max = carried_max; carried_max max= state_max; carried_factor = exp2(before_max - carried_max);
           slot_factor = exp2(state_ ... */
        for (int64_t r = r0; r < r1; r += 16) {
            const vec_v4bf16 carried_max_4 = load_v4bf16(carried_max + r);
            const vec_v4bf16 before_max_new5 = carried_max_4;
            const vec_v4bf16 state_max_6 = load_v4bf16(state_max + (chunk - chunk0) * 4224 + r);
            const vec_v4bf16 carried_max_new7 = max_v4bf16(load_v4bf16(carried_max + r), state_max_6);
            store_v4bf16(carried_max + r, carried_max_new7);
            const vec_v4bf16 carried_factor_new8 = exp2_v4bf16(before_max_new5 - carried_max_new7);
            store_v4bf16(carried_factor + r, carried_factor_new8);
            const vec_v4bf16 slot_factor_new9 = exp2_v4bf16(state_max_6 - carried_max_new7);
            store_v4bf16(slot_factor + r, slot_factor_new9);
            const vec_v4bf16 carried_sum_10 = load_v4bf16(carried_sum + r);
            store_v4bf16(carried_sum + r, carried_sum_10 * carried_factor_new8);
            store_v4bf16(carried_sum_compensation + r, load_v4bf16(carried_sum_compensation + r) * carried_factor_new8);
            add_v4bf16(carried_sum + r, carried_sum_compensation + r,
                load_v4bf16(state_sum + (chunk - chunk0) * 4224 + r) * slot_factor_new9, splat_v4bf16(1));
        }
        /* before = carried; carried = carried * carried_factor; carried_compensation = carried_compensation *
           carried_factor; carried += s ... */
        for (int64_t r = r0; r < r1; r++) {
            for (int64_t e_first = 0; e_first < 64; e_first += 64) {
                UNROLL for (int64_t vector = 0, e = e_first; vector < 4; vector++, e += 16) {
                    const vec_v4bf16 carried_11 = load_v4bf16(carried + r * 64 + e);
                    const float carried_factor_12 = carried_factor[r];
                    store_v4bf16(carried + r * 64 + e, carried_11 * carried_factor_12);
                    store_v4bf16(carried_compensation + r * 64 + e, load_v4bf16(carried_compensation + r * 64 + e) *
                        carried_factor_12);
                    add_v4bf16(carried + r * 64 + e, carried_compensation + r * 64 + e,
                        load_v4bf16(state + (chunk - chunk0) * 4224 + r * 64 + e) * slot_factor[r], splat_v4bf16(1));
                }
            }
        }
    }
}

/* Processes a tile of queries: reads the states. */
TARGET_v4bf16 APART void softmax_causal_bf16_few_queries_v4bf16(const struct call *call, int64_t task,
    const struct part *part, int64_t iteration)
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
    uint16_t *const out = call->out + b * call->p.out.batch + g * members * call->p.out.head;
    const int64_t out_row = call->p.out.row;
    const int64_t out_head = call->p.out.head;
    /* result = select(carried_sum == 0.0f, 0.0f, carried * (1.0f / carried_sum)) */
    for (int64_t r = r0; r < r1; r++) {
        for (int64_t e_first = 0; e_first < 64; e_first += 64) {
            UNROLL for (int64_t vector = 0, e = e_first; vector < 4; vector++, e += 16) {
                const float carried_sum_13 = carried_sum[r];
                store_v4bf16(result + r * 64 + e, (carried_sum_13 == 0.0f) ? splat_v4bf16(0.0f) : load_v4bf16(carried +
                    r * 64 + e) * (1.0f / carried_sum_13));
            }
        }
    }
    /* out = result */
    for (int64_t r = r0; r < r1; r++)
        for (int64_t e = 0; e < 64; e++)
            out[r / n_q * out_head + r % n_q * out_row + e] = narrowed(result[r * 64 + e]);
}

/* Computes head number `task`. Each thread on the head calls this with its share, `part`. */
TARGET_v4bf16 static void softmax_causal_bf16_few_v4bf16(const struct call *call, int64_t task, struct part *part)
{
    const int64_t n_k = call->p.n_k;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t chunks = n_k > 0 ? (n_k - 1) / 1024 + 1 : 1;
    for (int64_t iteration = part->number; iteration < ((rows + 63) / 64); iteration += part->threads)
        softmax_causal_bf16_few_begin_v4bf16(call, task, part, iteration);
    for (int64_t iteration = part->number; iteration < ((rows + 15) / 16); iteration += part->threads)
        softmax_causal_bf16_few_begin_2_v4bf16(call, task, part, iteration);
    synchronise(part);
    const int64_t first = 0;
    const int64_t length = segment_length(part, chunks - first);
    for (int64_t segment = part->number; first + segment * length < chunks; segment += part->threads) {
        part->chunk0 = first + segment * length;
        part->chunk1 = min(part->chunk0 + length, chunks);
        for (int64_t iteration = part->chunk0; iteration < part->chunk1; iteration++)
            softmax_causal_bf16_few_keys_v4bf16(call, task, part, iteration);
        for (int64_t group = 0; group < 16; group++) {
            await_segment(part, group, segment);
            const int64_t end = (group + 1) * ((rows + 15) / 16) / 16;
            for (int64_t iteration = group * ((rows + 15) / 16) / 16; iteration < end; iteration++)
                softmax_causal_bf16_few_fold_v4bf16(call, task, part, iteration);
            pass_segment(part, group, segment);
        }
    }
    part->segments += (max(chunks - first, 0) + length - 1) / length;
    synchronise(part);
    for (int64_t iteration = part->number; iteration < ((rows + 15) / 16); iteration += part->threads)
        softmax_causal_bf16_few_queries_v4bf16(call, task, part, iteration);
    synchronise(part);
}
#endif

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
typedef uint16_t halves_v4 __attribute__((vector_size(2 * 16), aligned(2), may_alias));
TARGET_v4 INLINE vec_v4 load_v4(const float *p) { return *(const stored_v4 *)(const void *)p; }
TARGET_v4 INLINE void store_v4(float *p, vec_v4 x) { *(stored_v4 *)(void *)p = x; }
TARGET_v4 INLINE vec_v4 splat_v4(float x) { return x - (vec_v4){0}; }

/* Returns a in the lanes of the mask, and b in the other lanes. */
TARGET_v4 INLINE vec_v4 pick_v4(mask_v4 m, vec_v4 a, vec_v4 b) { return (vec_v4)((m & (mask_v4)a) | (~m & (mask_v4)b));
    }

/* Stores each lane as 16 bits, rounded like narrowed(). Bits of a NaN may differ. */
TARGET_v4 INLINE void store_narrowed_v4(uint16_t *p, vec_v4 x)
{
    const mask_v4 bits = (mask_v4)x, made = (mask_v4)pick_v4((mask_v4)(x != x), (vec_v4)(bits | 0x400000),
        (vec_v4)(bits + 0x7fff + (bits >> 16 & 1)));
    *(halves_v4 *)(void *)p = __builtin_convertvector(made >> 16, halves_v4);
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

/* Returns the maximum over the lanes of x. If a lane is NaN, the result may be NaN or a number. */
TARGET_v4 INLINE float lane_max_v4(vec_v4 x)
{
    x = max_v4(x, __builtin_shufflevector(x, x, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7));
    x = max_v4(x, __builtin_shufflevector(x, x, 4, 5, 6, 7, 0, 1, 2, 3, 12, 13, 14, 15, 8, 9, 10, 11));
    x = max_v4(x, __builtin_shufflevector(x, x, 2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13));
    x = max_v4(x, __builtin_shufflevector(x, x, 1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14));
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

/* Like transpose_v4, but rounds to 16-bit elements like narrowed(). */
TARGET_v4 APART void transpose_narrowed_v4(const float *from, int64_t from_row, int64_t rows, int64_t columns,
    uint16_t *to,
    int64_t to_row, int64_t ahead)
{
    const int64_t whole = rows - rows % 16, deep = columns - columns % 16;
    for (int64_t k = 0; k < whole / 16 * (deep / 16); k++) {
        const int64_t row = k % (whole / 16) * 16, column = k / (whole / 16) * 16;
        vec_v4 t[16];
        UNROLL for (int r = 0; r < 16; r++) __builtin_prefetch(to + (column + r + ahead) * to_row + row, 1, 2);
        UNROLL for (int r = 0; r < 16; r++) t[r] = load_v4(from + (row + r) * from_row + column);
        exchange_v4(t);
        UNROLL for (int r = 0; r < 16; r++) store_narrowed_v4(to + (column + r) * to_row + row, t[r]);
    }
    for (int64_t row = 0; row < rows; row++)
        for (int64_t column = row < whole ? deep : 0; column < columns; column++)
            to[column * to_row + row] = narrowed(from[row * from_row + column]);
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

/* Like dot_v4, but uses 0 for infinity and NaN in a. It copies one row of a at a time. */
TARGET_v4 INLINE void dot_finite_v4(const int vectors, const int64_t lanes, int64_t rows, const int tail, int64_t steps,
    const int64_t span, const float *a, int64_t a_row, int64_t a_step, const float *b, int64_t b_step, float *c,
        int64_t c_row,
    const int update, const float *factor, float *compensation)
{
    float row[128];
    (void)tail;
    for (int64_t r = 0; r < rows; r++, a += a_row) {
        for (int64_t t = 0; t < steps; t++) {
            row[t] = finite_v4(a + t * a_step, 0, 1, 1) ? a[t * a_step] : 0;
        }
        dot_v4(vectors, lanes, 1, 1, steps, span, row, 0, 1, b, b_step, c + r * c_row, c_row,
            update, factor, compensation ? compensation + r * c_row : NULL);
    }
}

/* Like dot_v4, but uses 0 for infinity and NaN in b. It copies one vector of columns of b at a time. If `fetched`, it
   adds in the order of dot_fetched_v4, so that results round equally. */
TARGET_v4 INLINE void dot_finite_lanes_v4(const int fetched, const int vectors, const int64_t lanes, int64_t rows,
    const int tail, int64_t steps, const int64_t span, const float *a, int64_t a_row, int64_t a_step, const float *b,
    int64_t b_step, float *c, int64_t c_row, const int update, const float *factor, float *compensation)
{
    float column[128 * 16];
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
                factor ? factor + x : NULL, compensation ? compensation + x : NULL);
    }
}

/* Returns the elements x … x + 16 - 1 of a row before they are multiplied by a scale. x is a multiple of 16. */
TARGET_v4 INLINE vec_v4 unscaled_v4(const uint16_t *row, int64_t x)
{
    /* bf16 is the upper half of a float */
    return (vec_v4)(__builtin_convertvector(*(const halves_v4 *)(const void *)(row + x), mask_v4) << 16);
}

/* Returns the elements x … x + 16 - 1 of a row. */
TARGET_v4 INLINE vec_v4 widened_v4(const uint16_t *row, int64_t x)
{
    return unscaled_v4(row, x);
}

/* Returns element x of a row. */
TARGET_v4 INLINE float element_v4(const uint16_t *row, int64_t x)
{
    return widened_bf16(row[x]);
}

/* Returns the size of a row of `elements` elements, in units of uint16_t. */
INLINE int64_t units_v4(int64_t elements)
{
    return elements;
}

/* Like transpose_v4, but widens the elements. */
TARGET_v4 APART void transpose_widened_v4(const uint16_t *from, int64_t from_row, int64_t rows, int64_t columns,
    float *to,
    int64_t to_row, int64_t ahead)
{
    const int64_t whole = rows - rows % 16, deep = columns - columns % 16;
    for (int64_t k = 0; k < whole / 16 * (deep / 16); k++) {
        const int64_t row = k / (deep / 16) * 16, column = k % (deep / 16) * 16;
        vec_v4 t[16];
        UNROLL for (int r = 0; r < 16; r++) __builtin_prefetch(from + (row + r + ahead) * from_row + column, 0, 2);
        UNROLL for (int r = 0; r < 16; r++) t[r] = widened_v4(from + (row + r) * from_row, column);
        exchange_v4(t);
        UNROLL for (int r = 0; r < 16; r++) store_v4(to + (column + r) * to_row + row, t[r]);
    }
    for (int64_t row = 0; row < rows; row++)
        for (int64_t column = row < whole ? deep : 0; column < columns; column++)
            to[column * to_row + row] = element_v4(from + row * from_row, column);
}

/* Like finite_v4, but the elements are widened first. `columns` is a multiple of 16. */
TARGET_v4 APART int finite_stored_v4(const uint16_t *p, int64_t row, int64_t rows, int64_t columns)
{
    float wide[16];
    for (int64_t r = 0; r < rows; r++, p += row)
        for (int64_t c = 0; c < columns; c += 16) {
            store_v4(wide, widened_v4(p, c));
            if (!finite_v4(wide, 0, 1, 16)) return 0;
        }
    return 1;
}

/* Widens rows of `elements` elements, which is a multiple of 16. There are at most 16 or 32 rows. */
TARGET_v4 INLINE void widen_rows_v4(int64_t rows, const int64_t elements, const uint16_t *b, int64_t b_row,
    float *wide)
{
    for (int64_t r = 0; r < rows; r++)
        UNROLL for (int64_t x = 0; x < elements; x += 16)
            store_v4(wide + r * elements + x, unscaled_v4(b + r * b_row, x));
}

/* Returns the row that comes `distance` rows after the first of the `rest` rows at b. The rows at `next` come after
   these. NULL: the rows that follow in memory. */
INLINE const uint16_t *ahead_v4(const uint16_t *b, int64_t b_row, int64_t distance, int64_t rest, const uint16_t *next)
{
    return next && distance >= rest ? next + (distance - rest) * b_row : b + distance * b_row;
}

/* Prefetches `rows` rows of b, `width` elements of each. */
TARGET_v4 INLINE void fetch_v4(int64_t rows, const int64_t width, const uint16_t *b, int64_t b_row)
{
    for (int64_t r = 0; r < rows; r++)
        UNROLL for (int64_t x = 0; x < units_v4(width); x += 64 / (int64_t)sizeof *b)
            __builtin_prefetch(b + r * b_row + x, 0, 3);
}

/* c[k] = sum over t of a[t] * b[k][t] for 16 columns k and `steps` terms t. b has all 16 rows if `whole`.
   Otherwise row `last` is the last row of b. The rows of b are read in memory order, which helps the hardware
   prefetch them. */
TARGET_v4 INLINE void columns_v4(const int whole, int64_t last, const int64_t steps, const float *a, const uint16_t *b,
    int64_t b_row, float *c, const uint16_t *ahead)
{
    vec_v4 t[16];
    UNROLL for (int k = 0; k < 16; k++) t[k] = (vec_v4){0};
    for (int64_t first = 0; first < steps; first += 128)
        UNROLL for (int k = 0; k < 16; k++) {
            if (whole && ahead) fetch_v4(1, min(128, steps - first), ahead + k * b_row + units_v4(first), b_row);
            for (int64_t s = first; s < min(first + 128, steps); s += 16)
                t[k] += load_v4(a + s) * unscaled_v4(b + (whole ? k : min(k, last)) * b_row, s);
            __asm__ volatile("" : : : "memory");
        }
    store_v4(c, lane_sums_v4(t));
}

/* Like columns_v4, for up to 4 rows of a, which share the loads of b. It has 16 rows. 4 columns are computed at
   a time.
   - wide: b converted to floats, in rows of `steps` elements. NULL if `direct`: b is converted here
   - ask: of 4 rows from ahead on, those with these numbers are prefetched */
TARGET_v4 INLINE void some_columns_v4(const int rows, const int direct, const int64_t steps, const float *a,
    int64_t a_row,
    const uint16_t *b, int64_t b_row, const float *wide, const uint16_t *ahead, const int64_t *ask, float *c,
    int64_t c_row)
{
    vec_v4 t[4][16];
    for (int64_t k = 0; k < 16; k += 4) {
        vec_v4 sum[4][4];
        UNROLL for (int r = 0; r < rows; r++)
            UNROLL for (int n = 0; n < 4; n++) sum[r][n] = (vec_v4){0};
        /* Without the limit, gcc 12 warns of an endless loop. */
        fetch_v4(min(ask[1] - ask[0], 4), steps, ahead + (k + ask[0]) * b_row, b_row);
        UNROLL for (int64_t s = 0; s < steps; s += 16) {
            vec_v4 x[4];
            UNROLL for (int n = 0; n < 4; n++)
                x[n] = direct ? unscaled_v4(b + (k + n) * b_row, s) : load_v4(wide + (k + n) * steps + s);
            UNROLL for (int r = 0; r < rows; r++) {
                const vec_v4 y = load_v4(a + r * a_row + s);
                UNROLL for (int n = 0; n < 4; n++) sum[r][n] += x[n] * y;
            }
        }
        UNROLL for (int r = 0; r < rows; r++)
            UNROLL for (int n = 0; n < 4; n++) t[r][k + n] = sum[r][n];
    }
    UNROLL for (int r = 0; r < rows; r++) store_v4(c + r * c_row, lane_sums_v4(t[r]));
}

/* Computes groups of up to 4 rows of c. Each group prefetches `share` of every 4 rows from `ahead` on. */
TARGET_v4 INLINE void columns_of_4_v4(const int direct, int64_t rows, const int64_t steps, const float *a,
    int64_t a_row,
    const uint16_t *b, int64_t b_row, const float *wide, const int64_t share, const uint16_t *ahead, float *c,
    int64_t c_row)
{
    int64_t ask[2] = {0, min(share, 4)};
    for (; rows >= 4; rows -= 4, a += 4 * a_row, c += 4 * c_row) {
        some_columns_v4(4, direct, steps, a, a_row, b, b_row, wide, ahead, ask, c, c_row);
        UNROLL for (int k = 0; k < 2; k++) ask[k] = min(ask[k] + share, 4);
    }
    switch (rows) {
        case 3: some_columns_v4(3, direct, steps, a, a_row, b, b_row, wide, ahead, ask, c, c_row); break;
        case 2: some_columns_v4(2, direct, steps, a, a_row, b, b_row, wide, ahead, ask, c, c_row); break;
        case 1: some_columns_v4(1, direct, steps, a, a_row, b, b_row, wide, ahead, ask, c, c_row); break;
    }
}

/* Like columns_v4, for two or more rows of a. If b has fewer than 16 rows, the other columns of c get any numbers.
   `several` rows of a and more prefetch the rows at `ahead`. */
TARGET_v4 INLINE void all_columns_v4(const int whole, int64_t last, int64_t rows, const int64_t steps, const float *a,
    int64_t a_row, const uint16_t *b, int64_t b_row, float *c, int64_t c_row, const int64_t several,
    const uint16_t *ahead)
{
    const int64_t share = !whole || rows < several ? 0 : rows > 4 * 4 ? 1 : (4 * 4 + rows - 1) / rows;
    if (whole && (rows <= 4 || !1)) {
        columns_of_4_v4(1, rows, steps, a, a_row, b, b_row, NULL, share, ahead, c, c_row);
        return;
    }
    float wide[16 * 64] __attribute__((aligned(64)));
    widen_rows_v4(whole ? 16 : last + 1, steps, b, b_row, wide);
    for (int64_t x = (last + 1) * steps; x < 16 * steps; x += 16) store_v4(wide + x, splat_v4(0));
    columns_of_4_v4(0, rows, steps, a, a_row, b, b_row, wide, share, ahead, c, c_row);
}

/* Puts the rows of up to 2 vectors in lanes. Term s * 16 + l of all rows is at number l * steps / 16 + s. */
TARGET_v4 INLINE void turn_rows_v4(const int vectors, const int64_t steps, const float *a, int64_t a_row, float *turned)
{
    const int64_t parts = steps / 16;
    for (int v = 0; v < vectors; v++)
        for (int64_t s = 0; s < parts; s++) {
            vec_v4 t[16];
            UNROLL for (int r = 0; r < 16; r++) t[r] = load_v4(a + (v * 16 + r) * a_row + s * 16);
            exchange_v4(t);
            UNROLL for (int l = 0; l < 16; l++) store_v4(turned + ((l * parts + s) * vectors + v) * 16, t[l]);
        }
}

/* sum[v * keys + k] = the sum over s of the products of one lane: term s of `turned`, and of row k of b,
   for `keys` rows
   of b. Terms of `turned` are `vectors` vectors apart, those of b are 16 elements apart. */
TARGET_v4 INLINE void turned_lane_v4(const int vectors, const int keys, const int64_t parts, const float *turned,
    const float *b, int64_t b_row, vec_v4 *sum)
{
    UNROLL for (int k = 0; k < vectors * keys; k++) sum[k] = (vec_v4){0};
    UNROLL for (int64_t s = 0; s < parts; s++) {
        vec_v4 x[2];
        UNROLL for (int v = 0; v < vectors; v++) x[v] = load_v4(turned + (s * vectors + v) * 16);
        UNROLL for (int n = 0; n < keys; n++) {
            const float y = b[n * b_row + s * 16];
            UNROLL for (int v = 0; v < vectors; v++) sum[v * keys + n] += y * x[v];
        }
        __asm__ volatile("" : : : "memory"); /* keeps the terms in order, so that the sums do not wait for each other */
    }
}

/* Adds the sums of earlier lanes to sums of as many later lanes. */
TARGET_v4 INLINE void add_turned_v4(const int sums, const vec_v4 *earlier, vec_v4 *sum)
{
    UNROLL for (int k = 0; k < sums; k++) sum[k] = earlier[k] + sum[k];
}

/* t[v * keys + k] = the sum over s of the products of turned rows with row k of b. The terms are added in the order of
   columns_v4: first those of each lane of a vector, then the lanes as in lane_sums_v4. `asks` tells whether `keys` rows
   at
   `ahead` are prefetched. */
TARGET_v4 INLINE void turned_columns_v4(const int vectors, const int keys, const int64_t steps, const float *turned,
    const float *b, int64_t b_row, const int asks, const uint16_t *ahead, int64_t ahead_row, vec_v4 *t)
{
    enum { GROUP = 16 < 4 ? 2 : 4 };
    const int64_t parts = steps / 16, lane = parts * vectors * 16;
    const int sums = vectors * keys;
    vec_v4 group[4][8]; /* sums of 1, 2, 4, … groups of lanes that wait for as many later ones */
    vec_v4 sum[8];
    for (int l = 0; l < 16; l += GROUP, turned += GROUP * lane, b += GROUP) {
        vec_v4 one[8], two[8];
        for (int k = l; asks && k < l + GROUP; k++)
            if (k % (16 / keys) == 0) fetch_v4(1, steps, ahead + k / (16 / keys) * ahead_row, ahead_row);
        turned_lane_v4(vectors, keys, parts, turned, b, b_row, one);
        turned_lane_v4(vectors, keys, parts, turned + lane, b + 1, b_row, sum);
        add_turned_v4(sums, one, sum);
        if (GROUP == 4) {
            UNROLL for (int k = 0; k < sums; k++) two[k] = sum[k];
            turned_lane_v4(vectors, keys, parts, turned + 2 * lane, b + 2, b_row, one);
            turned_lane_v4(vectors, keys, parts, turned + 3 * lane, b + 3, b_row, sum);
            add_turned_v4(sums, one, sum);
            add_turned_v4(sums, two, sum);
        }
        int level = 0;
        for (int g = l / GROUP; g & 1; g /= 2) add_turned_v4(sums, group[level++], sum);
        if (l + GROUP == 16) break;
        UNROLL for (int k = 0; k < sums; k++) group[level][k] = sum[k];
    }
    UNROLL for (int k = 0; k < sums; k++) t[k] = sum[k];
}

/* Like all_columns_v4, for the rows of up to 2 vectors and all columns, whose number is a multiple of 16. The rows are
   put in lanes, so that sums over lanes need no shuffles. `asks` tells whether later rows of b are prefetched. */
TARGET_v4 INLINE void turned_v4(const int vectors, int64_t columns, const int64_t steps, const float *a, int64_t a_row,
    const uint16_t *b, int64_t b_row, const int asks, float *c, int64_t c_row)
{
    /* Fewer rows are multiplied by more keys at a time, so that as many sums are independent. */
    const int keys = vectors > 1 ? 8 / 2 : 8 < 16 ? 8 : 16;
    float turned[2 * 16 * 64] __attribute__((aligned(64)));
    float wide[16 * 64] __attribute__((aligned(64)));
    turn_rows_v4(vectors, steps, a, a_row, turned);
    for (int64_t x = 0; x < columns; x += 16, b += 16 * b_row) {
        vec_v4 t[2][16];
        widen_rows_v4(16, steps, b, b_row, wide);
        const float *const from = wide;
        const int64_t from_row = steps;
        for (int64_t k = 0; k < 16; k += keys) {
            vec_v4 some[8];
            turned_columns_v4(vectors, keys, steps, turned, from + k * from_row, from_row, asks,
                ahead_v4(b, b_row, 32 + k, columns - x, NULL), b_row, some);
            UNROLL for (int v = 0; v < vectors; v++)
                UNROLL for (int n = 0; n < keys; n++) t[v][k + n] = some[v * keys + n];
        }
        UNROLL for (int v = 0; v < vectors; v++) {
            exchange_v4(t[v]);
            UNROLL for (int r = 0; r < 16; r++) store_v4(c + (v * 16 + r) * c_row + x, t[v][r]);
        }
    }
}

/* Like turned_v4, for the rows of all whole vectors. Returns their number. */
TARGET_v4 INLINE int64_t all_turned_v4(int64_t rows, int64_t columns, const int64_t steps, const float *a,
    int64_t a_row,
    const uint16_t *b, int64_t b_row, float *c, int64_t c_row)
{
    int64_t r = 0;
    for (; r + 2 * 16 <= rows; r += 2 * 16)
        turned_v4(2, columns, steps, a + r * a_row, a_row, b, b_row, r == 0, c + r * c_row, c_row);
    if (r + 16 <= rows) {
        turned_v4(1, columns, steps, a + r * a_row, a_row, b, b_row, r == 0, c + r * c_row, c_row);
        r += 16;
    }
    return r;
}

/* c[r][x] = sum over t of a[r][t] * b[x][t].
   - Both operands are contiguous along t. `steps` is a multiple of 16.
   - b is in memory. It is prefetched `early` rows ahead for one row of a, otherwise 32 rows ahead. */
TARGET_v4 INLINE void dot_along_v4(int64_t rows, int64_t columns, const int64_t steps, const float *a, int64_t a_row,
    const uint16_t *b, int64_t b_row, float *c, int64_t c_row, const int64_t early)
{
    const int64_t whole = columns - columns % 16,
        turned = rows < 16 ? 0 : all_turned_v4(rows, whole, steps, a, a_row, b, b_row, c, c_row),
        first = turned == rows ? whole : 0;
    b += first * b_row;
    for (int64_t x = first; x < columns; x += 16, b += 16 * b_row) {
        const int64_t last = min(16, columns - x) - 1;
        const uint16_t *const ahead = ahead_v4(b, b_row, rows == 1 ? early : 32, columns - x, NULL);
        if (rows == 1 && last == 16 - 1)
            columns_v4(1, last, steps, a, b, b_row, c + x, early ? ahead : NULL);
        else if (rows == 1)
            columns_v4(0, last, steps, a, b, b_row, c + x, NULL);
        else if (last == 16 - 1)
            all_columns_v4(1, last, rows - turned, steps, a + turned * a_row, a_row, b, b_row, c + turned * c_row + x,
                c_row, 2, ahead);
        else
            all_columns_v4(0, last, rows, steps, a, a_row, b, b_row, c + x, c_row, 2, ahead);
    }
}

/* c[x] += sum over t of a[t] * b[t][x] for up to 8 vectors of lanes, from x = first on. Terms are rounded and
   added as for several rows. For b with scales, one for `block` elements:
   - a has been multiplied by them: a[t][x / block] * unscaled b[t][x]
   - the scales of the rows 32 later are copied to `next`, for `later` rows */
TARGET_v4 INLINE void row_v4(const int vectors, int64_t first, int64_t steps, const float *a, int64_t a_step,
    const uint16_t *b, int64_t b_step, const int64_t lanes, const int64_t block, float *c
, const uint16_t *ahead)
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

/* c[r][x] += sum over t of a[r][t] * b[t][x] for up to 6 rows r and up to 4 vectors of lanes, from x = first
   on. Rows of b have `lanes` elements. The first `ahead_rows` rows at `ahead` are prefetched.
   - from 0: b is widened for these rows. 1: it is also stored to `wide`. 2: it is read from there
   - weight: if b has scales, the products of a with `count` scales of each row of b, from scaled_weights_v4 */
TARGET_v4 INLINE void some_lanes_v4(const int rows, const int vectors, const int from, int64_t first,
    const int64_t lanes,
    int64_t steps, const float *a, int64_t a_row, int64_t a_step, const uint16_t *b, int64_t b_step, float *wide,
    const uint16_t *ahead, int64_t ahead_rows, float *c, int64_t c_row)
{
    vec_v4 sum[6][4];
    UNROLL for (int r = 0; r < rows; r++)
        UNROLL for (int v = 0; v < vectors; v++) sum[r][v] = (vec_v4){0};
    for (int64_t t = 0; t < steps; t++) {
        vec_v4 x[4];
        if (t < ahead_rows) fetch_v4(1, lanes, ahead + t * b_step, b_step);
        UNROLL for (int v = 0; v < vectors; v++) {
            float *const kept = wide + t * lanes + first + v * 16;
            x[v] = from == 2 ? load_v4(kept) : unscaled_v4(b + t * b_step, first + v * 16);
            if (from == 1) store_v4(kept, x[v]);
        }
        UNROLL for (int r = 0; r < rows; r++) {
            const float y = a[r * a_row + t * a_step];
            UNROLL for (int v = 0; v < vectors; v++) sum[r][v] += y * x[v];
        }
    }
    UNROLL for (int r = 0; r < rows; r++)
        UNROLL for (int v = 0; v < vectors; v++) {
            float *const to = c + r * c_row + first + v * 16;
            store_v4(to, load_v4(to) + sum[r][v]);
        }
}

/* Like some_lanes_v4, for all lanes. */
TARGET_v4 INLINE void all_lanes_v4(const int rows, const int from, const int64_t lanes, int64_t steps, const float *a,
    int64_t a_row, int64_t a_step, const uint16_t *b, int64_t b_step, float *wide, const uint16_t *ahead,
    int64_t ahead_rows, float *c, int64_t c_row)
{
    const int64_t share = 4 * 16 < lanes ? (ahead_rows * 4 * 16 + lanes - 1) / lanes : ahead_rows;
    int64_t x = 0;
    for (; x + 4 * 16 <= lanes; x += 4 * 16) {
        some_lanes_v4(rows, 4, from, x, lanes, steps, a, a_row, a_step, b, b_step, wide, ahead,
            min(share, ahead_rows), c, c_row);
        ahead += share * b_step;
        ahead_rows = max(ahead_rows - share, 0);
    }
    for (; x < lanes; x += 16) {
        some_lanes_v4(rows, 1, from, x, lanes, steps, a, a_row, a_step, b, b_step, wide, ahead, ahead_rows, c,
            c_row);
        ahead_rows = 0;
    }
}

/* Like some_lanes_v4, for 1 to 6 rows and all lanes. `scale` has the scales of b. */
TARGET_v4 INLINE void group_v4(int64_t rows, const int from, const int64_t lanes, int64_t steps, const float *a,
    int64_t a_row, int64_t a_step, const uint16_t *b, int64_t b_step, float *wide, const uint16_t *ahead,
    int64_t ahead_rows, float *c, int64_t c_row)
{
    switch (rows) {
        case 6: all_lanes_v4(6, from, lanes, steps, a, a_row, a_step, b, b_step, wide, ahead, ahead_rows, c,
            c_row); break;
        case 5: all_lanes_v4(5, from, lanes, steps, a, a_row, a_step, b, b_step, wide, ahead, ahead_rows, c,
            c_row); break;
        case 4: all_lanes_v4(4, from, lanes, steps, a, a_row, a_step, b, b_step, wide, ahead, ahead_rows, c,
            c_row); break;
        case 3: all_lanes_v4(3, from, lanes, steps, a, a_row, a_step, b, b_step, wide, ahead, ahead_rows, c,
            c_row); break;
        case 2: all_lanes_v4(2, from, lanes, steps, a, a_row, a_step, b, b_step, wide, ahead, ahead_rows, c,
            c_row); break;
        default: all_lanes_v4(1, from, lanes, steps, a, a_row, a_step, b, b_step, wide, ahead, ahead_rows, c,
            c_row); break;
    }
}

/* Like group_v4, for any number of rows. Each group of rows prefetches a share of later rows. */
TARGET_v4 INLINE void groups_v4(int64_t rows, const int64_t lanes, int64_t steps, const float *a, int64_t a_row,
    int64_t a_step, const uint16_t *b, int64_t b_step, float *wide, const uint16_t *ahead, float *c,
    int64_t c_row)
{
    if (rows <= 6) {
        group_v4(rows, 0, lanes, steps, a, a_row, a_step, b, b_step, wide, ahead, steps, c, c_row);
        return;
    }
    int64_t asked = (6 * steps + rows - 1) / rows;
    group_v4(6, 1, lanes, steps, a, a_row, a_step, b, b_step, wide, ahead, asked, c, c_row);
    for (int64_t r = 6; r < rows; r += 6) {
        const int64_t ask = min((min(r + 6, rows) * steps + rows - 1) / rows, steps);
        group_v4(min(rows - r, 6), 2, lanes, steps, a + r * a_row, a_row, a_step, b, b_step, wide,
            ahead + asked * b_step, ask - asked, c + r * c_row, c_row);
        asked = ask;
    }
}

/* Like groups_v4, for all rows of b, but only 4 vectors of lanes, from x = first on. Many rows of c do not fit in the
   first cache, but these lanes of them do. */
TARGET_v4 INLINE void strip_v4(int64_t rows, int64_t first, const int64_t lanes, int64_t steps, const float *a,
    int64_t a_row,
    int64_t a_step, const uint16_t *b, int64_t b_step, float *wide, float *c, int64_t c_row)
{
    for (int64_t t = 0; t < steps; t += 32, a += 32 * a_step, b += 32 * b_step) {
        const int64_t some = min(steps - t, 32);
        const uint16_t *const ahead = ahead_v4(b, b_step, 32, steps - t, NULL);
        int64_t r = 0, asked = 0;
        for (; r + 6 <= rows; r += 6) { /* each group of rows prefetches a share of the rows that follow later */
            const int64_t ask = first ? 0 : (r + 6) * some / rows;
            if (r == 0)
                some_lanes_v4(6, 4, 1, first, lanes, some, a, a_row, a_step, b, b_step, wide, ahead, ask, c,
                    c_row);
            else
                some_lanes_v4(6, 4, 2, first, lanes, some, a + r * a_row, a_row, a_step, b, b_step, wide,
                    ahead + asked * b_step, ask - asked, c + r * c_row, c_row);
            asked = ask;
        }
        for (; r + 2 <= rows; r += 2) {
            some_lanes_v4(2, 4, 2, first, lanes, some, a + r * a_row, a_row, a_step, b, b_step, wide, ahead, 0,
                c + r * c_row, c_row);
        }
        if (r < rows) {
            some_lanes_v4(1, 4, 2, first, lanes, some, a + r * a_row, a_row, a_step, b, b_step, wide, ahead, 0,
                c + r * c_row, c_row);
        }
    }
}

/* Like dot_v4, but b is in memory and is prefetched as in dot_along_v4. It is read 32 rows at a time. Narrow
   elements are widened once for all rows. If a has one row, b is read 128 lanes at a time. */
TARGET_v4 INLINE void dot_fetched_v4(const int vectors, const int64_t lanes, int64_t rows, const int tail,
    int64_t steps,
    const int64_t span, const float *a, int64_t a_row, int64_t a_step, const uint16_t *b, int64_t b_step, float *c,
    int64_t c_row, const int update, const float *factor, float *compensation, const int64_t early)
{
    float wide[32 * 64] __attribute__((aligned(64)));
    if (1 && update == 1 && rows >= 16 && lanes % (4 * 16) == 0) {
        for (int64_t x = 0; x < lanes; x += 4 * 16)
            strip_v4(rows, x, lanes, steps, a, a_row, a_step, b, b_step, wide, c, c_row);
        return;
    }
    for (int64_t t = 0; t < steps; t += 32, a += 32 * a_step, b += 32 * b_step) {
        const int64_t some = min(steps - t, 32);
        const uint16_t *const ahead = ahead_v4(b, b_step, rows == 1 ? early : 32, steps - t, NULL);
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
        if (update == 1 && (1 || rows <= 6)) {
            groups_v4(rows, lanes, some, a, a_row, a_step, b, b_step, wide, ahead, c, c_row);
            continue;
        }
        widen_rows_v4(some, lanes, b, b_step, wide);
        const float *const from = wide;
        const int64_t from_step = lanes;
        for (int64_t r = 0, asked = 0; r < rows; r += 6) { /* each group of rows prefetches a share */
            const int64_t ask = rows - r <= 6 ? some : min(asked + (some * 6 + rows - 1) / rows, some);
            fetch_v4(ask - asked, lanes, ahead + asked * b_step, b_step);
            asked = ask;
            dot_early_v4(vectors, lanes, min(6, rows - r), -1, some, span, a + r * a_row, a_row, a_step, from,
                from_step, c + r * c_row, c_row, update, factor, compensation ? compensation + r * c_row : NULL, 0);
        }
        (void)tail;
    }
}

/* The functions for the products below. Each calls dot_v4 or a similar function with constants. */
TARGET_v4 APART void dot0_v4(int64_t lanes, int64_t rows, const float *a, const float *b, float *c)
{
    dot_v4(/*vectors=*/2, lanes, rows, /*tail=*/-1, /*steps=*/64, /*span=*/32, a, /*a_row=*/64, /*a_step=*/1, b,
        /*b_step=*/32, c, /*c_row=*/32, /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL);
}
TARGET_v4 APART void dot1_v4(int64_t lanes, int64_t steps, const float *a, const float *b, float *c,
    const float *factor, float *compensation)
{
    dot_finite_v4(/*vectors=*/2, lanes, /*rows=*/64, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/1, /*a_step=*/64, b,
        /*b_step=*/32, c, /*c_row=*/32, /*update=*/3, factor, compensation);
}
TARGET_v4 APART void dot2_v4(int64_t lanes, int64_t steps, const float *a, const float *b, float *c,
    const float *factor, float *compensation)
{
    dot_v4(/*vectors=*/2, lanes, /*rows=*/64, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/1, /*a_step=*/64, b,
        /*b_step=*/32, c, /*c_row=*/32, /*update=*/3, factor, compensation);
}
TARGET_v4 APART void dot3_v4(int64_t rows, int64_t columns, const float *a, const uint16_t *b, int64_t b_row, float *c,
    int64_t early)
{
    dot_along_v4(rows, columns, /*steps=*/64, a, /*a_row=*/64, b, b_row, c, /*c_row=*/144, early);
}
TARGET_v4 APART void dot4_v4(int64_t rows, int64_t steps, const float *a, const float *b, float *c)
{
    dot_finite_lanes_v4(/*fetched=*/1, /*vectors=*/4, /*lanes=*/64, rows, /*tail=*/-1, steps, /*span=*/192, a,
        /*a_row=*/144, /*a_step=*/1, b, /*b_step=*/64, c, /*c_row=*/64, /*update=*/1, /*factor=*/NULL,
        /*compensation=*/NULL);
}
TARGET_v4 APART void dot5_v4(int64_t rows, int64_t steps, const float *a, const uint16_t *b, int64_t b_step, float *c,
    int64_t early)
{
    dot_fetched_v4(/*vectors=*/4, /*lanes=*/64, rows, /*tail=*/-1, steps, /*span=*/192, a, /*a_row=*/144, /*a_step=*/1,
        b, b_step, c, /*c_row=*/64, /*update=*/1, /*factor=*/NULL, /*compensation=*/NULL, early);
}

/* Computes task number `task`: one tile of queries of one head. `work` is this thread's workspace. */
TARGET_v4 static void softmax_causal_bf16_rows_v4(const struct call *call, int64_t task, unsigned char *work)
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
    const int64_t query_start = call->p.query_start ? call->p.query_start[b] : n_k - n_q;
    const uint16_t *const q = call->q + b * call->p.q.batch + (g / call->sharing * members + m) * call->p.q.head;
    const int64_t q_row = call->p.q.row;
    const uint16_t *const k = call->k + b * call->p.k.batch + g / call->sharing * call->p.k.head;
    const int64_t k_row = call->p.k.row;
    const uint16_t *const v = call->v + b * call->p.v.batch + g * call->p.v.head;
    const int64_t v_row = call->p.v.row;
    float *const all_query = (float *)(void *)(work + 0); /* [d: 64, i: 32, 8 times] */
    float *const score = (float *)(void *)(work + 65536); /* [j: 96, i: 32] */
    float *const all_row_max = (float *)(void *)(work + 77824); /* [i: 32, 8 times] */
    float *const old_max = (float *)(void *)(work + 78848); /* [i: 32] */
    float *const all_row_sum = (float *)(void *)(work + 78976); /* [i: 32, 8 times] */
    float *const all_row_sum_compensation = (float *)(void *)(work + 80000); /* [i: 32, 8 times] */
    float *const all_sum = (float *)(void *)(work + 81024); /* [e: 64, i: 32, 8 times] */
    float *const all_sum_compensation = (float *)(void *)(work + 146560); /* [e: 64, i: 32, 8 times] */
    float *const result = (float *)(void *)(work + 0); /* [e: 64, i: 32] */
    uint16_t *const out = call->out + b * call->p.out.batch + (g * members + m) * call->p.out.head;
    const int64_t out_row = call->p.out.row;
    float *const q_tile = (float *)(void *)(work + 65536); /* [d: 64, i: 32] */
    float *const k_tile = (float *)(void *)(work + 212096); /* [j: 96, d: 64] */
    float *const v_tile = (float *)(void *)(work + 236672); /* [j: 96, e: 64] */
    for (int64_t i_next = i0, i_block = i0, i_end = i1; i_next < i_end; i_next += 32) {
        const int64_t i0 = i_next, i1 = min(i0 + 32, i_end);
        float *const query = all_query + (i0 - i_block) / 32 * 2048;
        float *const row_max = all_row_max + (i0 - i_block) / 32 * 32;
        float *const row_sum = all_row_sum + (i0 - i_block) / 32 * 32;
        float *const row_sum_compensation = all_row_sum_compensation + (i0 - i_block) / 32 * 32;
        float *const sum = all_sum + (i0 - i_block) / 32 * 2048;
        float *const sum_compensation = all_sum_compensation + (i0 - i_block) / 32 * 2048;
        /* q_tile = q, with zeros beyond the last row */
        transpose_widened_v4(q + i0 * q_row, q_row, i1 - i0, 64, q_tile, 32, 16);
        for (int64_t d = 0; d < 64; d++)
            for (int64_t i = i1 - i0; i < round_up(i1 - i0, 16); i++) q_tile[d * 32 + i] = 0;
        /* query = q_tile * 0.18033688f */
        for (int64_t d = 0; d < 64; d++) {
            for (int64_t i = 0; i < i1 - i0; i += 16) {
                store_v4(query + d * 32 + i, load_v4(q_tile + d * 32 + i) * 0.18033688f);
            }
        }
        /* row_max = -FLT_MAX; row_sum = 0.0f; row_sum_compensation = 0.0f */
        for (int64_t i = 0; i < i1 - i0; i += 16) {
            store_v4(row_max + i, splat_v4(-FLT_MAX));
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
    for (int64_t j0 = 0, j_end = min(n_k, i1 + query_start); j0 < j_end; j0 += 96) {
        const int64_t j1 = min(j0 + 96, j_end);
        /* k_tile = k, widened */
        for (int64_t j = 0; j < j1 - j0; j++)
            for (int64_t d = 0; d < 64; d += 16) {
                store_v4(k_tile + j * 64 + d, widened_v4(k + (j0 + j) * k_row, d));
                __builtin_prefetch(k + (j0 + j) * k_row + d + 32 * k_row, 0, 2);
            }
        /* v_tile = v, widened */
        for (int64_t j = 0; j < j1 - j0; j++)
            for (int64_t e = 0; e < 64; e += 16) {
                store_v4(v_tile + j * 64 + e, widened_v4(v + (j0 + j) * v_row, e));
                __builtin_prefetch(v + (j0 + j) * v_row + e + 32 * v_row, 0, 2);
            }
        for (int64_t i_next = i0, i_block = i0, i_end = i1; i_next < i_end; i_next += 32) {
            const int64_t i0 = i_next, i1 = min(i0 + 32, i_end);
            float *const query = all_query + (i0 - i_block) / 32 * 2048;
            float *const row_max = all_row_max + (i0 - i_block) / 32 * 32;
            float *const row_sum = all_row_sum + (i0 - i_block) / 32 * 32;
            float *const row_sum_compensation = all_row_sum_compensation + (i0 - i_block) / 32 * 32;
            float *const sum = all_sum + (i0 - i_block) / 32 * 2048;
            float *const sum_compensation = all_sum_compensation + (i0 - i_block) / 32 * 2048;
            if (!(j0 < (i1 + query_start))) continue; /* no query sees a key of the tile */
            /* score[j][i] = sum over d of k_tile * query */
            dot0_v4(round_up(i1 - i0, 16), j1 - j0, k_tile, query, score);
            /* old_max = row_max */
            for (int64_t i = 0; i < i1 - i0; i += 16) {
                store_v4(old_max + i, load_v4(row_max + i));
            }
            if ((i0 + query_start + 1) < j1) { /* the tile is partly outside the mask */
                /* score = select(j <= (i + query_start), score, -INFINITY) */
                for (int64_t i = 0; i < i1 - i0; i += 16) {
                    const ints_v4 t_0 = (i0 + i + lane_v4) + query_start;
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        store_v4(score + j * 32 + i, pick_v4(__builtin_convertvector((j0 + j) <= t_0, mask_v4),
                            load_v4(score + j * 32 + i), splat_v4(-INFINITY)));
                    }
                }
            }
            /* row_max max= score */
            for (int64_t i_first = 0; i_first < i1 - i0; i_first += 32) {
                vec_v4 row_max_in[2][2];
                UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += 16) {
                    UNROLL for (int j_chain = 0; j_chain < 2; j_chain++) row_max_in[vector][j_chain] =
                        splat_v4(-INFINITY);
                }
                for (int64_t j_first = 0; j_first < j1 - j0; j_first += 2) {
                    UNROLL for (int j_chain = 0; j_chain < 2; j_chain++) {
                        const int64_t j = min(j_first + j_chain, j1 - j0 - 1);
                        UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += 16) {
                            row_max_in[vector][j_chain] = max_v4(row_max_in[vector][j_chain],
                                load_v4(score + j * 32 + i));
                        }
                    }
                }
                UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += 16) {
                    store_v4(row_max + i, max_v4(load_v4(row_max + i), max_v4(row_max_in[vector][0],
                        row_max_in[vector][1])));
                }
            }
            /* old_max = exp2(old_max - row_max); row_sum = row_sum * old_max;
               row_sum_compensation = row_sum_compensation * old_max */
            for (int64_t i = 0; i < i1 - i0; i += 16) {
                const vec_v4 old_max_1 = load_v4(old_max + i);
                const vec_v4 old_max_new2 = exp2_v4(old_max_1 - load_v4(row_max + i));
                store_v4(old_max + i, old_max_new2);
                store_v4(row_sum + i, load_v4(row_sum + i) * old_max_new2);
                store_v4(row_sum_compensation + i, load_v4(row_sum_compensation + i) * old_max_new2);
            }
            /* score = exp2(score - row_max); row_sum += score */
            for (int64_t i = 0; i < i1 - i0; i += 16) {
                const vec_v4 row_max_4 = load_v4(row_max + i);
                vec_v4 row_sum_in = (vec_v4){0};
                for (int64_t j = 0; j < j1 - j0; j++) {
                    const vec_v4 score_3 = load_v4(score + j * 32 + i);
                    const vec_v4 score_new5 = exp2_v4(score_3 - row_max_4);
                    store_v4(score + j * 32 + i, score_new5);
                    row_sum_in += score_new5;
                }
                add_v4(row_sum + i, row_sum_compensation + i, row_sum_in, splat_v4(1));
            }
            /* sum[e][i] = sum * old_max + sum over j of v_tile * score */
            if (__builtin_expect(((i0 + query_start + 1) < j1) && !finite_v4(v_tile, 64, j1 - j0, 64),
                0)) { /* infinity and NaN affect only queries that see them */
                dot1_v4(round_up(i1 - i0, 16), j1 - j0, v_tile, score, sum, old_max, sum_compensation);
                for (int64_t j = 0; j < j1 - j0; j++) {
                    mask_v4 in_region[2] = {0};
                    if (finite_v4(v_tile + j * 64, 1, 64, 1)) continue;
                    for (int64_t i = 0; i < i1 - i0; i += 16) {
                        in_region[i / 16] = __builtin_convertvector((j0 + j) <= ((i0 + i + lane_v4) + query_start),
                            mask_v4);
                    }
                    add_seen_v4(64, sum, 32, v_tile + j * 64, 1, score + j * 32, in_region, i1 - i0);
                }
            } else
                dot2_v4(round_up(i1 - i0, 16), j1 - j0, v_tile, score, sum, old_max, sum_compensation);
        }
    }
    {
        for (int64_t i_next = i0, i_block = i0, i_end = i1; i_next < i_end; i_next += 32) {
            const int64_t i0 = i_next, i1 = min(i0 + 32, i_end);
            float *const row_sum = all_row_sum + (i0 - i_block) / 32 * 32;
            float *const sum = all_sum + (i0 - i_block) / 32 * 2048;
            /* result = select(row_sum == 0.0f, 0.0f, sum * (1.0f / row_sum)) */
            for (int64_t i = 0; i < i1 - i0; i += 16) {
                const vec_v4 row_sum_6 = load_v4(row_sum + i);
                const mask_v4 t_7 = row_sum_6 == 0.0f;
                const vec_v4 t_8 = 1.0f / row_sum_6;
                for (int64_t e = 0; e < 64; e++) {
                    store_v4(result + e * 32 + i, pick_v4(t_7, splat_v4(0.0f), load_v4(sum + e * 32 + i) * t_8));
                }
            }
            /* out = result, transposed back */
            transpose_narrowed_v4(result, 32, 64, i1 - i0, out + i0 * out_row, out_row, 16);
        }
    }
}

/* Initialises the states: they contain no keys yet. */
TARGET_v4 APART void softmax_causal_bf16_few_begin_v4(const struct call *call, int64_t task, const struct part *part,
    int64_t iteration)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_q = call->p.n_q;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t r0 = iteration * 64, r1 = min(r0 + 64, rows);
    const int64_t g = task % kv_heads;
    const int64_t b = task / kv_heads;
    const uint16_t *const q = call->q + b * call->p.q.batch + g / call->sharing * members * call->p.q.head;
    const int64_t q_row = call->p.q.row;
    const int64_t q_head = call->p.q.head;
    float *const query_turned = (float *)(void *)(part->shared + 0); /* [r: 64, d: 64] */
    float *const q_tile = (float *)(void *)(part->work + 0); /* [r: 64, d: 64] */
    /* q_tile = q, widened */
    for (int64_t r = r0; r < r1; r++)
        for (int64_t d = 0; d < 64; d += 16)
            store_v4(q_tile + r * 64 + d, widened_v4(q + r / n_q * q_head + r % n_q * q_row, d));
    /* query_turned = q_tile * 0.18033688f */
    for (int64_t r = r0; r < r1; r++) {
        for (int64_t d_first = 0; d_first < 64; d_first += 64) {
            UNROLL for (int64_t vector = 0, d = d_first; vector < 4; vector++, d += 16) {
                store_v4(query_turned + r * 64 + d, load_v4(q_tile + r * 64 + d) * 0.18033688f);
            }
        }
    }
}

/* Initialises the states: they contain no keys yet. */
TARGET_v4 APART void softmax_causal_bf16_few_begin_2_v4(const struct call *call, int64_t task, const struct part *part,
    int64_t iteration)
{
    (void)task;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t r0 = iteration * 16, r1 = min(r0 + 16, rows);
    float *const carried_max = (float *)(void *)(part->shared + 16384); /* [r: 64] */
    float *const carried_sum = (float *)(void *)(part->shared + 16640); /* [r: 64] */
    float *const carried_sum_compensation = (float *)(void *)(part->shared + 33280); /* [r: 64] */
    float *const carried = (float *)(void *)(part->shared + 16896); /* [r: 64, e: 64] */
    float *const carried_compensation = (float *)(void *)(part->shared + 33536); /* [r: 64, e: 64] */
    /* carried_max = -FLT_MAX; carried_sum = 0.0f; carried_sum_compensation = 0.0f */
    for (int64_t r = r0; r < r1; r += 16) {
        store_v4(carried_max + r, splat_v4(-FLT_MAX));
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
TARGET_v4 APART void softmax_causal_bf16_few_keys_v4(const struct call *call, int64_t task, const struct part *part,
    int64_t iteration)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t n_q = call->p.n_q;
    const int64_t n_k = call->p.n_k;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t chunk = iteration;
    const int64_t chunk0 = part->chunk0;
    const int64_t g = task % kv_heads;
    const int64_t b = task / kv_heads;
    const int64_t query_start = call->p.query_start ? call->p.query_start[b] : n_k - n_q;
    const uint16_t *const k = call->k + b * call->p.k.batch + g / call->sharing * call->p.k.head;
    const int64_t k_row = call->p.k.row;
    const uint16_t *const v = call->v + b * call->p.v.batch + g * call->p.v.head;
    const int64_t v_row = call->p.v.row;
    float *const score = (float *)(void *)(part->work + 0); /* [r: 64, j: 128 of 144] */
    float *const query_turned = (float *)(void *)(part->shared + 0); /* [r: 64, d: 64] */
    float *const state_max = (float *)(void *)(part->slots + 0); /* [chunk, r: 64] */
    float *const old_max = (float *)(void *)(part->work + 36864); /* [r: 64] */
    float *const state_sum = (float *)(void *)(part->slots + 256); /* [chunk, r: 64] */
    float *const state = (float *)(void *)(part->slots + 512); /* [chunk, r: 64, e: 64] */
    /* state_max = -FLT_MAX; state_sum = 0.0f */
    for (int64_t r = 0; r < rows; r += 16) {
        store_v4(state_max + (chunk - chunk0) * 4224 + r, splat_v4(-FLT_MAX));
        store_v4(state_sum + (chunk - chunk0) * 4224 + r, splat_v4(0.0f));
    }
    /* state = 0.0f */
    for (int64_t r = 0; r < rows; r++) {
        for (int64_t e_first = 0; e_first < 64; e_first += 64) {
            UNROLL for (int64_t vector = 0, e = e_first; vector < 4; vector++, e += 16) {
                store_v4(state + (chunk - chunk0) * 4224 + r * 64 + e, splat_v4(0.0f));
            }
        }
    }
    for (int64_t j0 = chunk * 1024, j_end = min(min(n_k, (chunk + 1) * 1024), n_q + query_start); j0 < j_end;
        j0 += 128) {
        const int64_t j1 = min(j0 + 128, j_end);
        /* score[r][j] = sum over d of query_turned * k */
        dot3_v4(rows, j1 - j0, query_turned, k + j0 * k_row, k_row, score, attn_is_intel() ? 32 : 0);
        /* old_max = state_max */
        for (int64_t r = 0; r < rows; r += 16) {
            store_v4(old_max + r, load_v4(state_max + (chunk - chunk0) * 4224 + r));
        }
        if ((query_start + 1) < j1) { /* the tile is partly outside the mask */
            /* score = select(j <= ((r % n_q) + query_start), score, -INFINITY) */
            for (int64_t j = 0; j < j1 - j0; j += 16) {
                const ints_v4 t_0 = j0 + j + lane_v4;
                for (int64_t r = 0; r < rows; r++) {
                    store_v4(score + r * 144 + j, pick_v4(__builtin_convertvector(t_0 <= ((r % n_q) + query_start),
                        mask_v4), load_v4(score + r * 144 + j), splat_v4(-INFINITY)));
                }
            }
        }
        /* state_max max= score */
        for (int64_t r = 0; r < rows; r++) {
            vec_v4 lanes_max = splat_v4(-INFINITY);
            for (int64_t j = 0; j < j1 - j0; j += 16) {
                const vec_v4 term = load_v4(score + r * 144 + j);
                lanes_max = max_v4(lanes_max, j + 16 <= j1 - j0 ? term : pick_v4(__builtin_convertvector(j + lane_v4 <
                    j1 - j0, mask_v4), term, splat_v4(-INFINITY)));
            }
            const float largest = lane_max_v4(lanes_max);
            if (largest > state_max[(chunk - chunk0) * 4224 + r]) state_max[(chunk - chunk0) * 4224 + r] = largest;
        }
        /* old_max = exp2(old_max - state_max); state_sum = state_sum * old_max */
        for (int64_t r = 0; r < rows; r += 16) {
            const vec_v4 old_max_1 = load_v4(old_max + r);
            const vec_v4 old_max_new2 = exp2_v4(old_max_1 - load_v4(state_max + (chunk - chunk0) * 4224 + r));
            store_v4(old_max + r, old_max_new2);
            store_v4(state_sum + (chunk - chunk0) * 4224 + r, load_v4(state_sum + (chunk - chunk0) * 4224 + r) *
                old_max_new2);
        }
        /* score = exp2(score - state_max) */
        for (int64_t j = 0; j < j1 - j0; j += 16) {
            for (int64_t r = 0; r < rows; r++) {
                store_v4(score + r * 144 + j, exp2_v4(load_v4(score + r * 144 + j) - (state_max[(chunk - chunk0) * 4224
                    + r])));
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
            state_sum[(chunk - chunk0) * 4224 + r] += total;
        }
        /* state = state * old_max */
        for (int64_t r = 0; r < rows; r++) {
            for (int64_t e_first = 0; e_first < 64; e_first += 64) {
                UNROLL for (int64_t vector = 0, e = e_first; vector < 4; vector++, e += 16) {
                    store_v4(state + (chunk - chunk0) * 4224 + r * 64 + e,
                        load_v4(state + (chunk - chunk0) * 4224 + r * 64 + e) * old_max[r]);
                }
            }
        }
        /* state[r][e] += sum over j of score * v */
        if (__builtin_expect(((query_start + 1) < j1) && !finite_stored_v4(v + j0 * v_row, v_row, j1 - j0, 64),
            0)) { /* infinity and NaN affect only queries that see them */
            float wide[8192];
            for (int64_t t = 0; t < j1 - j0; t++)
                for (int64_t x = 0; x < 64; x += 16)
                    store_v4(wide + t * 64 + x, widened_v4(v + j0 * v_row + t * v_row, x));
            dot4_v4(rows, j1 - j0, score, wide, state + (chunk - chunk0) * 4224);
            for (int64_t r = 0; r < rows; r++) {
                mask_v4 in_region[8] = {0};
                const int64_t t_3 = (r % n_q) + query_start;
                for (int64_t j = 0; j < j1 - j0; j += 16) {
                    in_region[j / 16] = __builtin_convertvector((j0 + j + lane_v4) <= t_3, mask_v4);
                }
                add_seen_lanes_v4(64, state + (chunk - chunk0) * 4224 + r * 64, score + r * 144, wide, 64, j1 - j0,
                    in_region);
            }
        } else
            dot5_v4(rows, j1 - j0, score, v + j0 * v_row, v_row, state + (chunk - chunk0) * 4224,
                attn_is_intel() ? 32 : 0);
    }
}

/* Folds the slots of the current chunks, in order, for some elements of the states. */
TARGET_v4 APART void softmax_causal_bf16_few_fold_v4(const struct call *call, int64_t task, const struct part *part,
    int64_t iteration)
{
    (void)task;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t r0 = iteration * 16, r1 = min(r0 + 16, rows);
    const int64_t chunk0 = part->chunk0;
    const int64_t chunk1 = part->chunk1;
    float *const state_max = (float *)(void *)(part->slots + 0); /* [chunk, r: 64] */
    float *const state_sum = (float *)(void *)(part->slots + 256); /* [chunk, r: 64] */
    float *const state = (float *)(void *)(part->slots + 512); /* [chunk, r: 64, e: 64] */
    float *const carried_max = (float *)(void *)(part->shared + 16384); /* [r: 64] */
    float *const carried_factor = (float *)(void *)(part->work + 0); /* [r: 64] */
    float *const slot_factor = (float *)(void *)(part->work + 256); /* [r: 64] */
    float *const carried_sum = (float *)(void *)(part->shared + 16640); /* [r: 64] */
    float *const carried_sum_compensation = (float *)(void *)(part->shared + 33280); /* [r: 64] */
    float *const carried = (float *)(void *)(part->shared + 16896); /* [r: 64, e: 64] */
    float *const carried_compensation = (float *)(void *)(part->shared + 33536); /* [r: 64, e: 64] */
    for (int64_t chunk = chunk0; chunk < chunk1; chunk++) {
        /* before_max = carried_max; carried_max max= state_max; carried_factor = exp2(before_max - carried_max);
           slot_factor = exp2(state_ ... */
        for (int64_t r = r0; r < r1; r += 16) {
            const vec_v4 carried_max_4 = load_v4(carried_max + r);
            const vec_v4 before_max_new5 = carried_max_4;
            const vec_v4 state_max_6 = load_v4(state_max + (chunk - chunk0) * 4224 + r);
            const vec_v4 carried_max_new7 = max_v4(load_v4(carried_max + r), state_max_6);
            store_v4(carried_max + r, carried_max_new7);
            const vec_v4 carried_factor_new8 = exp2_v4(before_max_new5 - carried_max_new7);
            store_v4(carried_factor + r, carried_factor_new8);
            const vec_v4 slot_factor_new9 = exp2_v4(state_max_6 - carried_max_new7);
            store_v4(slot_factor + r, slot_factor_new9);
            const vec_v4 carried_sum_10 = load_v4(carried_sum + r);
            store_v4(carried_sum + r, carried_sum_10 * carried_factor_new8);
            store_v4(carried_sum_compensation + r, load_v4(carried_sum_compensation + r) * carried_factor_new8);
            add_v4(carried_sum + r, carried_sum_compensation + r, load_v4(state_sum + (chunk - chunk0) * 4224 + r) *
                slot_factor_new9, splat_v4(1));
        }
        /* before = carried; carried = carried * carried_factor; carried_compensation = carried_compensation *
           carried_factor; carried += s ... */
        for (int64_t r = r0; r < r1; r++) {
            for (int64_t e_first = 0; e_first < 64; e_first += 64) {
                UNROLL for (int64_t vector = 0, e = e_first; vector < 4; vector++, e += 16) {
                    const vec_v4 carried_11 = load_v4(carried + r * 64 + e);
                    const float carried_factor_12 = carried_factor[r];
                    store_v4(carried + r * 64 + e, carried_11 * carried_factor_12);
                    store_v4(carried_compensation + r * 64 + e, load_v4(carried_compensation + r * 64 + e) *
                        carried_factor_12);
                    add_v4(carried + r * 64 + e, carried_compensation + r * 64 + e,
                        load_v4(state + (chunk - chunk0) * 4224 + r * 64 + e) * slot_factor[r], splat_v4(1));
                }
            }
        }
    }
}

/* Processes a tile of queries: reads the states. */
TARGET_v4 APART void softmax_causal_bf16_few_queries_v4(const struct call *call, int64_t task, const struct part *part,
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
    uint16_t *const out = call->out + b * call->p.out.batch + g * members * call->p.out.head;
    const int64_t out_row = call->p.out.row;
    const int64_t out_head = call->p.out.head;
    /* result = select(carried_sum == 0.0f, 0.0f, carried * (1.0f / carried_sum)) */
    for (int64_t r = r0; r < r1; r++) {
        for (int64_t e_first = 0; e_first < 64; e_first += 64) {
            UNROLL for (int64_t vector = 0, e = e_first; vector < 4; vector++, e += 16) {
                const float carried_sum_13 = carried_sum[r];
                store_v4(result + r * 64 + e, (carried_sum_13 == 0.0f) ? splat_v4(0.0f) : load_v4(carried + r * 64 + e)
                    * (1.0f / carried_sum_13));
            }
        }
    }
    /* out = result */
    for (int64_t r = r0; r < r1; r++)
        for (int64_t e = 0; e < 64; e++)
            out[r / n_q * out_head + r % n_q * out_row + e] = narrowed(result[r * 64 + e]);
}

/* Computes head number `task`. Each thread on the head calls this with its share, `part`. */
TARGET_v4 static void softmax_causal_bf16_few_v4(const struct call *call, int64_t task, struct part *part)
{
    const int64_t n_k = call->p.n_k;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t chunks = n_k > 0 ? (n_k - 1) / 1024 + 1 : 1;
    for (int64_t iteration = part->number; iteration < ((rows + 63) / 64); iteration += part->threads)
        softmax_causal_bf16_few_begin_v4(call, task, part, iteration);
    for (int64_t iteration = part->number; iteration < ((rows + 15) / 16); iteration += part->threads)
        softmax_causal_bf16_few_begin_2_v4(call, task, part, iteration);
    synchronise(part);
    const int64_t first = 0;
    const int64_t length = segment_length(part, chunks - first);
    for (int64_t segment = part->number; first + segment * length < chunks; segment += part->threads) {
        part->chunk0 = first + segment * length;
        part->chunk1 = min(part->chunk0 + length, chunks);
        for (int64_t iteration = part->chunk0; iteration < part->chunk1; iteration++)
            softmax_causal_bf16_few_keys_v4(call, task, part, iteration);
        for (int64_t group = 0; group < 16; group++) {
            await_segment(part, group, segment);
            const int64_t end = (group + 1) * ((rows + 15) / 16) / 16;
            for (int64_t iteration = group * ((rows + 15) / 16) / 16; iteration < end; iteration++)
                softmax_causal_bf16_few_fold_v4(call, task, part, iteration);
            pass_segment(part, group, segment);
        }
    }
    part->segments += (max(chunks - first, 0) + length - 1) / length;
    synchronise(part);
    for (int64_t iteration = part->number; iteration < ((rows + 15) / 16); iteration += part->threads)
        softmax_causal_bf16_few_queries_v4(call, task, part, iteration);
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
typedef uint16_t halves_v3 __attribute__((vector_size(2 * 8), aligned(2), may_alias));
TARGET_v3 INLINE vec_v3 load_v3(const float *p) { return *(const stored_v3 *)(const void *)p; }
TARGET_v3 INLINE void store_v3(float *p, vec_v3 x) { *(stored_v3 *)(void *)p = x; }
TARGET_v3 INLINE vec_v3 splat_v3(float x) { return x - (vec_v3){0}; }

/* Returns a in the lanes of the mask, and b in the other lanes. */
TARGET_v3 INLINE vec_v3 pick_v3(mask_v3 m, vec_v3 a, vec_v3 b) { return (vec_v3)((m & (mask_v3)a) | (~m & (mask_v3)b));
    }

/* Stores each lane as 16 bits, rounded like narrowed(). Bits of a NaN may differ. */
TARGET_v3 INLINE void store_narrowed_v3(uint16_t *p, vec_v3 x)
{
    const mask_v3 bits = (mask_v3)x, made = (mask_v3)pick_v3((mask_v3)(x != x), (vec_v3)(bits | 0x400000),
        (vec_v3)(bits + 0x7fff + (bits >> 16 & 1)));
    *(halves_v3 *)(void *)p = __builtin_convertvector(made >> 16, halves_v3);
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

/* Returns the maximum over the lanes of x. If a lane is NaN, the result may be NaN or a number. */
TARGET_v3 INLINE float lane_max_v3(vec_v3 x)
{
    x = max_v3(x, __builtin_shufflevector(x, x, 4, 5, 6, 7, 0, 1, 2, 3));
    x = max_v3(x, __builtin_shufflevector(x, x, 2, 3, 0, 1, 6, 7, 4, 5));
    x = max_v3(x, __builtin_shufflevector(x, x, 1, 0, 3, 2, 5, 4, 7, 6));
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

/* Like transpose_v3, but rounds to 16-bit elements like narrowed(). */
TARGET_v3 APART void transpose_narrowed_v3(const float *from, int64_t from_row, int64_t rows, int64_t columns,
    uint16_t *to,
    int64_t to_row, int64_t ahead)
{
    const int64_t whole = rows - rows % 8, deep = columns - columns % 8;
    for (int64_t k = 0; k < whole / 8 * (deep / 8); k++) {
        const int64_t row = k % (whole / 8) * 8, column = k / (whole / 8) * 8;
        vec_v3 t[8];
        UNROLL for (int r = 0; r < 8; r++) __builtin_prefetch(to + (column + r + ahead) * to_row + row, 1, 2);
        UNROLL for (int r = 0; r < 8; r++) t[r] = load_v3(from + (row + r) * from_row + column);
        exchange_v3(t);
        UNROLL for (int r = 0; r < 8; r++) store_narrowed_v3(to + (column + r) * to_row + row, t[r]);
    }
    for (int64_t row = 0; row < rows; row++)
        for (int64_t column = row < whole ? deep : 0; column < columns; column++)
            to[column * to_row + row] = narrowed(from[row * from_row + column]);
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
    float row[128];
    (void)tail;
    for (int64_t r = 0; r < rows; r++, a += a_row) {
        for (int64_t t = 0; t < steps; t++) {
            row[t] = finite_v3(a + t * a_step, 0, 1, 1) ? a[t * a_step] : 0;
        }
        dot_v3(vectors, lanes, 1, 1, steps, span, row, 0, 1, b, b_step, c + r * c_row, c_row,
            update, factor, compensation ? compensation + r * c_row : NULL);
    }
}

/* Like dot_v3, but uses 0 for infinity and NaN in b. It copies one vector of columns of b at a time. If `fetched`, it
   adds in the order of dot_fetched_v3, so that results round equally. */
TARGET_v3 INLINE void dot_finite_lanes_v3(const int fetched, const int vectors, const int64_t lanes, int64_t rows,
    const int tail, int64_t steps, const int64_t span, const float *a, int64_t a_row, int64_t a_step, const float *b,
    int64_t b_step, float *c, int64_t c_row, const int update, const float *factor, float *compensation)
{
    float column[128 * 8];
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
                factor ? factor + x : NULL, compensation ? compensation + x : NULL);
    }
}

/* Returns the elements x … x + 8 - 1 of a row before they are multiplied by a scale. x is a multiple of 8. */
TARGET_v3 INLINE vec_v3 unscaled_v3(const uint16_t *row, int64_t x)
{
    /* bf16 is the upper half of a float */
    return (vec_v3)(__builtin_convertvector(*(const halves_v3 *)(const void *)(row + x), mask_v3) << 16);
}

/* Returns the elements x … x + 8 - 1 of a row. */
TARGET_v3 INLINE vec_v3 widened_v3(const uint16_t *row, int64_t x)
{
    return unscaled_v3(row, x);
}

/* Returns element x of a row. */
TARGET_v3 INLINE float element_v3(const uint16_t *row, int64_t x)
{
    return widened_bf16(row[x]);
}

/* Returns the size of a row of `elements` elements, in units of uint16_t. */
INLINE int64_t units_v3(int64_t elements)
{
    return elements;
}

/* Like transpose_v3, but widens the elements. */
TARGET_v3 APART void transpose_widened_v3(const uint16_t *from, int64_t from_row, int64_t rows, int64_t columns,
    float *to,
    int64_t to_row, int64_t ahead)
{
    const int64_t whole = rows - rows % 8, deep = columns - columns % 8;
    for (int64_t k = 0; k < whole / 8 * (deep / 8); k++) {
        const int64_t row = k / (deep / 8) * 8, column = k % (deep / 8) * 8;
        vec_v3 t[8];
        UNROLL for (int r = 0; r < 8; r++) __builtin_prefetch(from + (row + r + ahead) * from_row + column, 0, 2);
        UNROLL for (int r = 0; r < 8; r++) t[r] = widened_v3(from + (row + r) * from_row, column);
        exchange_v3(t);
        UNROLL for (int r = 0; r < 8; r++) store_v3(to + (column + r) * to_row + row, t[r]);
    }
    for (int64_t row = 0; row < rows; row++)
        for (int64_t column = row < whole ? deep : 0; column < columns; column++)
            to[column * to_row + row] = element_v3(from + row * from_row, column);
}

/* Like finite_v3, but the elements are widened first. `columns` is a multiple of 8. */
TARGET_v3 APART int finite_stored_v3(const uint16_t *p, int64_t row, int64_t rows, int64_t columns)
{
    float wide[8];
    for (int64_t r = 0; r < rows; r++, p += row)
        for (int64_t c = 0; c < columns; c += 8) {
            store_v3(wide, widened_v3(p, c));
            if (!finite_v3(wide, 0, 1, 8)) return 0;
        }
    return 1;
}

/* Widens rows of `elements` elements, which is a multiple of 8. There are at most 8 or 16 rows. */
TARGET_v3 INLINE void widen_rows_v3(int64_t rows, const int64_t elements, const uint16_t *b, int64_t b_row,
    float *wide)
{
    for (int64_t r = 0; r < rows; r++)
        UNROLL for (int64_t x = 0; x < elements; x += 8)
            store_v3(wide + r * elements + x, unscaled_v3(b + r * b_row, x));
}

/* Returns the row that comes `distance` rows after the first of the `rest` rows at b. The rows at `next` come after
   these. NULL: the rows that follow in memory. */
INLINE const uint16_t *ahead_v3(const uint16_t *b, int64_t b_row, int64_t distance, int64_t rest, const uint16_t *next)
{
    return next && distance >= rest ? next + (distance - rest) * b_row : b + distance * b_row;
}

/* Prefetches `rows` rows of b, `width` elements of each. */
TARGET_v3 INLINE void fetch_v3(int64_t rows, const int64_t width, const uint16_t *b, int64_t b_row)
{
    for (int64_t r = 0; r < rows; r++)
        UNROLL for (int64_t x = 0; x < units_v3(width); x += 64 / (int64_t)sizeof *b)
            __builtin_prefetch(b + r * b_row + x, 0, 3);
}

/* c[k] = sum over t of a[t] * b[k][t] for 8 columns k and `steps` terms t. b has all 8 rows if `whole`.
   Otherwise row `last` is the last row of b. The rows of b are read in memory order, which helps the hardware
   prefetch them. */
TARGET_v3 INLINE void columns_v3(const int whole, int64_t last, const int64_t steps, const float *a, const uint16_t *b,
    int64_t b_row, float *c, const uint16_t *ahead)
{
    vec_v3 t[8];
    UNROLL for (int k = 0; k < 8; k++) t[k] = (vec_v3){0};
    for (int64_t first = 0; first < steps; first += 128)
        UNROLL for (int k = 0; k < 8; k++) {
            if (whole && ahead) fetch_v3(1, min(128, steps - first), ahead + k * b_row + units_v3(first), b_row);
            for (int64_t s = first; s < min(first + 128, steps); s += 8)
                t[k] += load_v3(a + s) * unscaled_v3(b + (whole ? k : min(k, last)) * b_row, s);
            __asm__ volatile("" : : : "memory");
        }
    store_v3(c, lane_sums_v3(t));
}

/* Like columns_v3, for up to 4 rows of a, which share the loads of b. It has 8 rows. 2 columns are computed at
   a time.
   - wide: b converted to floats, in rows of `steps` elements. NULL if `direct`: b is converted here
   - ask: of 2 rows from ahead on, those with these numbers are prefetched */
TARGET_v3 INLINE void some_columns_v3(const int rows, const int direct, const int64_t steps, const float *a,
    int64_t a_row,
    const uint16_t *b, int64_t b_row, const float *wide, const uint16_t *ahead, const int64_t *ask, float *c,
    int64_t c_row)
{
    vec_v3 t[4][8];
    for (int64_t k = 0; k < 8; k += 2) {
        vec_v3 sum[4][2];
        UNROLL for (int r = 0; r < rows; r++)
            UNROLL for (int n = 0; n < 2; n++) sum[r][n] = (vec_v3){0};
        for (int64_t s = 0; s < steps; s += 8) {
            if (ask[1]) /* a few at a time, because a core can have few cache misses in flight */
                UNROLL for (int n = 0; n < 2; n++) __builtin_prefetch(ahead + (k + n) * b_row + s, 0, 3);
            vec_v3 x[2];
            UNROLL for (int n = 0; n < 2; n++)
                x[n] = direct ? unscaled_v3(b + (k + n) * b_row, s) : load_v3(wide + (k + n) * steps + s);
            UNROLL for (int r = 0; r < rows; r++) {
                const vec_v3 y = load_v3(a + r * a_row + s);
                UNROLL for (int n = 0; n < 2; n++) sum[r][n] += x[n] * y;
            }
        }
        UNROLL for (int r = 0; r < rows; r++)
            UNROLL for (int n = 0; n < 2; n++) t[r][k + n] = sum[r][n];
    }
    UNROLL for (int r = 0; r < rows; r++) store_v3(c + r * c_row, lane_sums_v3(t[r]));
}

/* Computes groups of up to 4 rows of c. Each group prefetches `share` of every 2 rows from `ahead` on. */
TARGET_v3 INLINE void columns_of_4_v3(const int direct, int64_t rows, const int64_t steps, const float *a,
    int64_t a_row,
    const uint16_t *b, int64_t b_row, const float *wide, const int64_t share, const uint16_t *ahead, float *c,
    int64_t c_row)
{
    int64_t ask[2] = {0, min(share, 2)};
    for (; rows >= 4; rows -= 4, a += 4 * a_row, c += 4 * c_row) {
        some_columns_v3(4, direct, steps, a, a_row, b, b_row, wide, ahead, ask, c, c_row);
        UNROLL for (int k = 0; k < 2; k++) ask[k] = min(ask[k] + share, 2);
    }
    switch (rows) {
        case 3: some_columns_v3(3, direct, steps, a, a_row, b, b_row, wide, ahead, ask, c, c_row); break;
        case 2: some_columns_v3(2, direct, steps, a, a_row, b, b_row, wide, ahead, ask, c, c_row); break;
        case 1: some_columns_v3(1, direct, steps, a, a_row, b, b_row, wide, ahead, ask, c, c_row); break;
    }
}

/* Like columns_v3, for two or more rows of a. If b has fewer than 8 rows, the other columns of c get any numbers.
   `several` rows of a and more prefetch the rows at `ahead`. */
TARGET_v3 INLINE void all_columns_v3(const int whole, int64_t last, int64_t rows, const int64_t steps, const float *a,
    int64_t a_row, const uint16_t *b, int64_t b_row, float *c, int64_t c_row, const int64_t several,
    const uint16_t *ahead)
{
    const int64_t share = !whole || rows < several ? 0 : rows > 4 * 2 ? 1 : (2 * 4 + rows - 1) / rows;
    if (whole && (rows <= 4 || !1)) {
        columns_of_4_v3(1, rows, steps, a, a_row, b, b_row, NULL, share, ahead, c, c_row);
        return;
    }
    float wide[8 * 64] __attribute__((aligned(32)));
    widen_rows_v3(whole ? 8 : last + 1, steps, b, b_row, wide);
    for (int64_t x = (last + 1) * steps; x < 8 * steps; x += 8) store_v3(wide + x, splat_v3(0));
    columns_of_4_v3(0, rows, steps, a, a_row, b, b_row, wide, share, ahead, c, c_row);
}

/* Puts the rows of up to 2 vectors in lanes. Term s * 8 + l of all rows is at number l * steps / 8 + s. */
TARGET_v3 INLINE void turn_rows_v3(const int vectors, const int64_t steps, const float *a, int64_t a_row, float *turned)
{
    const int64_t parts = steps / 8;
    for (int v = 0; v < vectors; v++)
        for (int64_t s = 0; s < parts; s++) {
            vec_v3 t[8];
            UNROLL for (int r = 0; r < 8; r++) t[r] = load_v3(a + (v * 8 + r) * a_row + s * 8);
            exchange_v3(t);
            UNROLL for (int l = 0; l < 8; l++) store_v3(turned + ((l * parts + s) * vectors + v) * 8, t[l]);
        }
}

/* sum[v * keys + k] = the sum over s of the products of one lane: term s of `turned`, and of row k of b,
   for `keys` rows
   of b. Terms of `turned` are `vectors` vectors apart, those of b are 8 elements apart. */
TARGET_v3 INLINE void turned_lane_v3(const int vectors, const int keys, const int64_t parts, const float *turned,
    const float *b, int64_t b_row, vec_v3 *sum)
{
    UNROLL for (int k = 0; k < vectors * keys; k++) sum[k] = (vec_v3){0};
    UNROLL for (int64_t s = 0; s < parts; s++) {
        vec_v3 x[2];
        UNROLL for (int v = 0; v < vectors; v++) x[v] = load_v3(turned + (s * vectors + v) * 8);
        UNROLL for (int n = 0; n < keys; n++) {
            const float y = b[n * b_row + s * 8];
            UNROLL for (int v = 0; v < vectors; v++) sum[v * keys + n] += y * x[v];
        }
        __asm__ volatile("" : : : "memory"); /* keeps the terms in order, so that the sums do not wait for each other */
    }
}

/* Adds the sums of earlier lanes to sums of as many later lanes. */
TARGET_v3 INLINE void add_turned_v3(const int sums, const vec_v3 *earlier, vec_v3 *sum)
{
    UNROLL for (int k = 0; k < sums; k++) sum[k] = earlier[k] + sum[k];
}

/* t[v * keys + k] = the sum over s of the products of turned rows with row k of b. The terms are added in the order of
   columns_v3: first those of each lane of a vector, then the lanes as in lane_sums_v3. `asks` tells whether `keys` rows
   at
   `ahead` are prefetched. */
TARGET_v3 INLINE void turned_columns_v3(const int vectors, const int keys, const int64_t steps, const float *turned,
    const float *b, int64_t b_row, const int asks, const uint16_t *ahead, int64_t ahead_row, vec_v3 *t)
{
    enum { GROUP = 8 < 4 ? 2 : 4 };
    const int64_t parts = steps / 8, lane = parts * vectors * 8;
    const int sums = vectors * keys;
    vec_v3 group[3][8]; /* sums of 1, 2, 4, … groups of lanes that wait for as many later ones */
    vec_v3 sum[8];
    for (int l = 0; l < 8; l += GROUP, turned += GROUP * lane, b += GROUP) {
        vec_v3 one[8], two[8];
        for (int k = l; asks && k < l + GROUP; k++)
            if (k % (8 / keys) == 0) fetch_v3(1, steps, ahead + k / (8 / keys) * ahead_row, ahead_row);
        turned_lane_v3(vectors, keys, parts, turned, b, b_row, one);
        turned_lane_v3(vectors, keys, parts, turned + lane, b + 1, b_row, sum);
        add_turned_v3(sums, one, sum);
        if (GROUP == 4) {
            UNROLL for (int k = 0; k < sums; k++) two[k] = sum[k];
            turned_lane_v3(vectors, keys, parts, turned + 2 * lane, b + 2, b_row, one);
            turned_lane_v3(vectors, keys, parts, turned + 3 * lane, b + 3, b_row, sum);
            add_turned_v3(sums, one, sum);
            add_turned_v3(sums, two, sum);
        }
        int level = 0;
        for (int g = l / GROUP; g & 1; g /= 2) add_turned_v3(sums, group[level++], sum);
        if (l + GROUP == 8) break;
        UNROLL for (int k = 0; k < sums; k++) group[level][k] = sum[k];
    }
    UNROLL for (int k = 0; k < sums; k++) t[k] = sum[k];
}

/* Like all_columns_v3, for the rows of up to 2 vectors and all columns, whose number is a multiple of 8. The rows are
   put in lanes, so that sums over lanes need no shuffles. `asks` tells whether later rows of b are prefetched. */
TARGET_v3 INLINE void turned_v3(const int vectors, int64_t columns, const int64_t steps, const float *a, int64_t a_row,
    const uint16_t *b, int64_t b_row, const int asks, float *c, int64_t c_row)
{
    /* Fewer rows are multiplied by more keys at a time, so that as many sums are independent. */
    const int keys = vectors > 1 ? 8 / 2 : 8 < 8 ? 8 : 8;
    float turned[2 * 8 * 64] __attribute__((aligned(32)));
    float wide[8 * 64] __attribute__((aligned(32)));
    turn_rows_v3(vectors, steps, a, a_row, turned);
    for (int64_t x = 0; x < columns; x += 8, b += 8 * b_row) {
        vec_v3 t[2][8];
        widen_rows_v3(8, steps, b, b_row, wide);
        const float *const from = wide;
        const int64_t from_row = steps;
        for (int64_t k = 0; k < 8; k += keys) {
            vec_v3 some[8];
            turned_columns_v3(vectors, keys, steps, turned, from + k * from_row, from_row, asks,
                ahead_v3(b, b_row, 32 + k, columns - x, NULL), b_row, some);
            UNROLL for (int v = 0; v < vectors; v++)
                UNROLL for (int n = 0; n < keys; n++) t[v][k + n] = some[v * keys + n];
        }
        UNROLL for (int v = 0; v < vectors; v++) {
            exchange_v3(t[v]);
            UNROLL for (int r = 0; r < 8; r++) store_v3(c + (v * 8 + r) * c_row + x, t[v][r]);
        }
    }
}

/* Like turned_v3, for the rows of all whole vectors. Returns their number. */
TARGET_v3 INLINE int64_t all_turned_v3(int64_t rows, int64_t columns, const int64_t steps, const float *a,
    int64_t a_row,
    const uint16_t *b, int64_t b_row, float *c, int64_t c_row)
{
    int64_t r = 0;
    for (; r + 2 * 8 <= rows; r += 2 * 8)
        turned_v3(2, columns, steps, a + r * a_row, a_row, b, b_row, r == 0, c + r * c_row, c_row);
    if (r + 8 <= rows) {
        turned_v3(1, columns, steps, a + r * a_row, a_row, b, b_row, r == 0, c + r * c_row, c_row);
        r += 8;
    }
    return r;
}

/* c[r][x] = sum over t of a[r][t] * b[x][t].
   - Both operands are contiguous along t. `steps` is a multiple of 8.
   - b is in memory. It is prefetched `early` rows ahead for one row of a, otherwise 32 rows ahead. */
TARGET_v3 INLINE void dot_along_v3(int64_t rows, int64_t columns, const int64_t steps, const float *a, int64_t a_row,
    const uint16_t *b, int64_t b_row, float *c, int64_t c_row, const int64_t early)
{
    const int64_t whole = columns - columns % 8,
        turned = rows < 8 ? 0 : all_turned_v3(rows, whole, steps, a, a_row, b, b_row, c, c_row),
        first = turned == rows ? whole : 0;
    b += first * b_row;
    for (int64_t x = first; x < columns; x += 8, b += 8 * b_row) {
        const int64_t last = min(8, columns - x) - 1;
        const uint16_t *const ahead = ahead_v3(b, b_row, rows == 1 ? early : 32, columns - x, NULL);
        if (rows == 1 && last == 8 - 1)
            columns_v3(1, last, steps, a, b, b_row, c + x, early ? ahead : NULL);
        else if (rows == 1)
            columns_v3(0, last, steps, a, b, b_row, c + x, NULL);
        else if (last == 8 - 1)
            all_columns_v3(1, last, rows - turned, steps, a + turned * a_row, a_row, b, b_row, c + turned * c_row + x,
                c_row, 2, ahead);
        else
            all_columns_v3(0, last, rows, steps, a, a_row, b, b_row, c + x, c_row, 2, ahead);
    }
}

/* c[x] += sum over t of a[t] * b[t][x] for up to 16 vectors of lanes, from x = first on. Terms are rounded and
   added as for several rows. For b with scales, one for `block` elements:
   - a has been multiplied by them: a[t][x / block] * unscaled b[t][x]
   - the scales of the rows 16 later are copied to `next`, for `later` rows */
TARGET_v3 INLINE void row_v3(const int vectors, int64_t first, int64_t steps, const float *a, int64_t a_step,
    const uint16_t *b, int64_t b_step, const int64_t lanes, const int64_t block, float *c
, const uint16_t *ahead)
{
    vec_v3 sum[16];
    (void)lanes;
    UNROLL for (int v = 0; v < vectors; v++) sum[v] = (vec_v3){0};
    (void)block;
    for (int64_t t = 0; t < steps; t++, b += b_step) {
        if (ahead && first == 0) fetch_v3(1, lanes, ahead + t * b_step, b_step);
        UNROLL for (int v = 0; v < vectors; v++) sum[v] += a[t * a_step] * widened_v3(b, first + v * 8);
    }
    UNROLL for (int v = 0; v < vectors; v++) store_v3(c + first + v * 8, load_v3(c + first + v * 8) + sum[v]);
}

/* c[r][x] += sum over t of a[r][t] * b[t][x] for up to 6 rows r and up to 2 vectors of lanes, from x = first
   on. Rows of b have `lanes` elements. The first `ahead_rows` rows at `ahead` are prefetched.
   - from 0: b is widened for these rows. 1: it is also stored to `wide`. 2: it is read from there
   - weight: if b has scales, the products of a with `count` scales of each row of b, from scaled_weights_v3 */
TARGET_v3 INLINE void some_lanes_v3(const int rows, const int vectors, const int from, int64_t first,
    const int64_t lanes,
    int64_t steps, const float *a, int64_t a_row, int64_t a_step, const uint16_t *b, int64_t b_step, float *wide,
    const uint16_t *ahead, int64_t ahead_rows, float *c, int64_t c_row)
{
    vec_v3 sum[6][2];
    UNROLL for (int r = 0; r < rows; r++)
        UNROLL for (int v = 0; v < vectors; v++) sum[r][v] = (vec_v3){0};
    for (int64_t t = 0; t < steps; t++) {
        vec_v3 x[2];
        if (t < ahead_rows) fetch_v3(1, lanes, ahead + t * b_step, b_step);
        UNROLL for (int v = 0; v < vectors; v++) {
            float *const kept = wide + t * lanes + first + v * 8;
            x[v] = from == 2 ? load_v3(kept) : unscaled_v3(b + t * b_step, first + v * 8);
            if (from == 1) store_v3(kept, x[v]);
        }
        UNROLL for (int r = 0; r < rows; r++) {
            const float y = a[r * a_row + t * a_step];
            UNROLL for (int v = 0; v < vectors; v++) sum[r][v] += y * x[v];
        }
    }
    UNROLL for (int r = 0; r < rows; r++)
        UNROLL for (int v = 0; v < vectors; v++) {
            float *const to = c + r * c_row + first + v * 8;
            store_v3(to, load_v3(to) + sum[r][v]);
        }
}

/* Like some_lanes_v3, for all lanes. */
TARGET_v3 INLINE void all_lanes_v3(const int rows, const int from, const int64_t lanes, int64_t steps, const float *a,
    int64_t a_row, int64_t a_step, const uint16_t *b, int64_t b_step, float *wide, const uint16_t *ahead,
    int64_t ahead_rows, float *c, int64_t c_row)
{
    const int64_t share = 2 * 8 < lanes ? (ahead_rows * 2 * 8 + lanes - 1) / lanes : ahead_rows;
    int64_t x = 0;
    for (; x + 2 * 8 <= lanes; x += 2 * 8) {
        some_lanes_v3(rows, 2, from, x, lanes, steps, a, a_row, a_step, b, b_step, wide, ahead,
            min(share, ahead_rows), c, c_row);
        ahead += share * b_step;
        ahead_rows = max(ahead_rows - share, 0);
    }
    for (; x < lanes; x += 8) {
        some_lanes_v3(rows, 1, from, x, lanes, steps, a, a_row, a_step, b, b_step, wide, ahead, ahead_rows, c,
            c_row);
        ahead_rows = 0;
    }
}

/* Like some_lanes_v3, for 1 to 6 rows and all lanes. `scale` has the scales of b. */
TARGET_v3 INLINE void group_v3(int64_t rows, const int from, const int64_t lanes, int64_t steps, const float *a,
    int64_t a_row, int64_t a_step, const uint16_t *b, int64_t b_step, float *wide, const uint16_t *ahead,
    int64_t ahead_rows, float *c, int64_t c_row)
{
    switch (rows) {
        case 6: all_lanes_v3(6, from, lanes, steps, a, a_row, a_step, b, b_step, wide, ahead, ahead_rows, c,
            c_row); break;
        case 5: all_lanes_v3(5, from, lanes, steps, a, a_row, a_step, b, b_step, wide, ahead, ahead_rows, c,
            c_row); break;
        case 4: all_lanes_v3(4, from, lanes, steps, a, a_row, a_step, b, b_step, wide, ahead, ahead_rows, c,
            c_row); break;
        case 3: all_lanes_v3(3, from, lanes, steps, a, a_row, a_step, b, b_step, wide, ahead, ahead_rows, c,
            c_row); break;
        case 2: all_lanes_v3(2, from, lanes, steps, a, a_row, a_step, b, b_step, wide, ahead, ahead_rows, c,
            c_row); break;
        default: all_lanes_v3(1, from, lanes, steps, a, a_row, a_step, b, b_step, wide, ahead, ahead_rows, c,
            c_row); break;
    }
}

/* Like group_v3, for any number of rows. Each group of rows prefetches a share of later rows. */
TARGET_v3 INLINE void groups_v3(int64_t rows, const int64_t lanes, int64_t steps, const float *a, int64_t a_row,
    int64_t a_step, const uint16_t *b, int64_t b_step, float *wide, const uint16_t *ahead, float *c,
    int64_t c_row)
{
    if (rows <= 6) {
        group_v3(rows, 0, lanes, steps, a, a_row, a_step, b, b_step, wide, ahead, steps, c, c_row);
        return;
    }
    int64_t asked = (6 * steps + rows - 1) / rows;
    group_v3(6, 1, lanes, steps, a, a_row, a_step, b, b_step, wide, ahead, asked, c, c_row);
    for (int64_t r = 6; r < rows; r += 6) {
        const int64_t ask = min((min(r + 6, rows) * steps + rows - 1) / rows, steps);
        group_v3(min(rows - r, 6), 2, lanes, steps, a + r * a_row, a_row, a_step, b, b_step, wide,
            ahead + asked * b_step, ask - asked, c + r * c_row, c_row);
        asked = ask;
    }
}

/* Like groups_v3, for all rows of b, but only 2 vectors of lanes, from x = first on. Many rows of c do not fit in the
   first cache, but these lanes of them do. */
TARGET_v3 INLINE void strip_v3(int64_t rows, int64_t first, const int64_t lanes, int64_t steps, const float *a,
    int64_t a_row,
    int64_t a_step, const uint16_t *b, int64_t b_step, float *wide, float *c, int64_t c_row)
{
    for (int64_t t = 0; t < steps; t += 16, a += 16 * a_step, b += 16 * b_step) {
        const int64_t some = min(steps - t, 16);
        const uint16_t *const ahead = ahead_v3(b, b_step, 32, steps - t, NULL);
        int64_t r = 0, asked = 0;
        for (; r + 6 <= rows; r += 6) { /* each group of rows prefetches a share of the rows that follow later */
            const int64_t ask = first ? 0 : (r + 6) * some / rows;
            if (r == 0)
                some_lanes_v3(6, 2, 1, first, lanes, some, a, a_row, a_step, b, b_step, wide, ahead, ask, c,
                    c_row);
            else
                some_lanes_v3(6, 2, 2, first, lanes, some, a + r * a_row, a_row, a_step, b, b_step, wide,
                    ahead + asked * b_step, ask - asked, c + r * c_row, c_row);
            asked = ask;
        }
        for (; r + 2 <= rows; r += 2) {
            some_lanes_v3(2, 2, 2, first, lanes, some, a + r * a_row, a_row, a_step, b, b_step, wide, ahead, 0,
                c + r * c_row, c_row);
        }
        if (r < rows) {
            some_lanes_v3(1, 2, 2, first, lanes, some, a + r * a_row, a_row, a_step, b, b_step, wide, ahead, 0,
                c + r * c_row, c_row);
        }
    }
}

/* Like dot_v3, but b is in memory and is prefetched as in dot_along_v3. It is read 16 rows at a time. Narrow
   elements are widened once for all rows. If a has one row, b is read 128 lanes at a time. */
TARGET_v3 INLINE void dot_fetched_v3(const int vectors, const int64_t lanes, int64_t rows, const int tail,
    int64_t steps,
    const int64_t span, const float *a, int64_t a_row, int64_t a_step, const uint16_t *b, int64_t b_step, float *c,
    int64_t c_row, const int update, const float *factor, float *compensation, const int64_t early)
{
    float wide[16 * 64] __attribute__((aligned(32)));
    if (0 && update == 1 && rows >= 16 && lanes % (2 * 8) == 0) {
        for (int64_t x = 0; x < lanes; x += 2 * 8)
            strip_v3(rows, x, lanes, steps, a, a_row, a_step, b, b_step, wide, c, c_row);
        return;
    }
    for (int64_t t = 0; t < steps; t += 16, a += 16 * a_step, b += 16 * b_step) {
        const int64_t some = min(steps - t, 16);
        const uint16_t *const ahead = ahead_v3(b, b_step, rows == 1 ? early : 32, steps - t, NULL);
        (void)ahead;
        const int64_t block = lanes;
        if (rows == 1 && update == 1) {
            const float *const factor_of_row = a;
            const int64_t step = a_step;
            int64_t x = 0;
            for (; x + 128 <= lanes; x += 128)
                row_v3(16, x, some, factor_of_row, step, b, b_step, lanes, block,
                    c, early ? ahead : NULL);
            if (lanes % 128)
                row_v3((int)(lanes % 128 / 8), x, some, factor_of_row, step, b, b_step, lanes, block,
                    c, early ? ahead : NULL);
            continue;
        }
        if (update == 1 && (0 || rows <= 6)) {
            groups_v3(rows, lanes, some, a, a_row, a_step, b, b_step, wide, ahead, c, c_row);
            continue;
        }
        widen_rows_v3(some, lanes, b, b_step, wide);
        const float *const from = wide;
        const int64_t from_step = lanes;
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
    dot_v3(/*vectors=*/2, lanes, rows, /*tail=*/-1, /*steps=*/64, /*span=*/32, a, /*a_row=*/64, /*a_step=*/1, b,
        /*b_step=*/16, c, /*c_row=*/16, /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL);
}
TARGET_v3 APART void dot1_v3(int64_t lanes, int64_t steps, const float *a, const float *b, float *c,
    const float *factor, float *compensation)
{
    dot_finite_v3(/*vectors=*/2, lanes, /*rows=*/64, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/1, /*a_step=*/64, b,
        /*b_step=*/16, c, /*c_row=*/16, /*update=*/3, factor, compensation);
}
TARGET_v3 APART void dot2_v3(int64_t lanes, int64_t steps, const float *a, const float *b, float *c,
    const float *factor, float *compensation)
{
    dot_v3(/*vectors=*/2, lanes, /*rows=*/64, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/1, /*a_step=*/64, b,
        /*b_step=*/16, c, /*c_row=*/16, /*update=*/3, factor, compensation);
}
TARGET_v3 APART void dot3_v3(int64_t rows, int64_t columns, const float *a, const uint16_t *b, int64_t b_row, float *c)
{
    dot_along_v3(rows, columns, /*steps=*/64, a, /*a_row=*/64, b, b_row, c, /*c_row=*/144, /*early=*/8);
}
TARGET_v3 APART void dot4_v3(int64_t rows, int64_t steps, const float *a, const float *b, float *c)
{
    dot_finite_lanes_v3(/*fetched=*/1, /*vectors=*/2, /*lanes=*/64, rows, /*tail=*/-1, steps, /*span=*/192, a,
        /*a_row=*/144, /*a_step=*/1, b, /*b_step=*/64, c, /*c_row=*/64, /*update=*/1, /*factor=*/NULL,
        /*compensation=*/NULL);
}
TARGET_v3 APART void dot5_v3(int64_t rows, int64_t steps, const float *a, const uint16_t *b, int64_t b_step, float *c)
{
    dot_fetched_v3(/*vectors=*/2, /*lanes=*/64, rows, /*tail=*/-1, steps, /*span=*/192, a, /*a_row=*/144, /*a_step=*/1,
        b, b_step, c, /*c_row=*/64, /*update=*/1, /*factor=*/NULL, /*compensation=*/NULL, /*early=*/8);
}

/* Computes task number `task`: one tile of queries of one head. `work` is this thread's workspace. */
TARGET_v3 static void softmax_causal_bf16_rows_v3(const struct call *call, int64_t task, unsigned char *work)
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
    const int64_t query_start = call->p.query_start ? call->p.query_start[b] : n_k - n_q;
    const uint16_t *const q = call->q + b * call->p.q.batch + (g / call->sharing * members + m) * call->p.q.head;
    const int64_t q_row = call->p.q.row;
    const uint16_t *const k = call->k + b * call->p.k.batch + g / call->sharing * call->p.k.head;
    const int64_t k_row = call->p.k.row;
    const uint16_t *const v = call->v + b * call->p.v.batch + g * call->p.v.head;
    const int64_t v_row = call->p.v.row;
    float *const all_query = (float *)(void *)(work + 0); /* [d: 64, i: 16, 16 times] */
    float *const score = (float *)(void *)(work + 65536); /* [j: 96, i: 16] */
    float *const all_row_max = (float *)(void *)(work + 71680); /* [i: 16, 16 times] */
    float *const old_max = (float *)(void *)(work + 72704); /* [i: 16] */
    float *const all_row_sum = (float *)(void *)(work + 72768); /* [i: 16, 16 times] */
    float *const all_row_sum_compensation = (float *)(void *)(work + 73792); /* [i: 16, 16 times] */
    float *const all_sum = (float *)(void *)(work + 74816); /* [e: 64, i: 16, 16 times] */
    float *const all_sum_compensation = (float *)(void *)(work + 140352); /* [e: 64, i: 16, 16 times] */
    float *const result = (float *)(void *)(work + 0); /* [e: 64, i: 16] */
    uint16_t *const out = call->out + b * call->p.out.batch + (g * members + m) * call->p.out.head;
    const int64_t out_row = call->p.out.row;
    float *const q_tile = (float *)(void *)(work + 65536); /* [d: 64, i: 16] */
    float *const k_tile = (float *)(void *)(work + 205888); /* [j: 96, d: 64] */
    float *const v_tile = (float *)(void *)(work + 230464); /* [j: 96, e: 64] */
    for (int64_t i_next = i0, i_block = i0, i_end = i1; i_next < i_end; i_next += 16) {
        const int64_t i0 = i_next, i1 = min(i0 + 16, i_end);
        float *const query = all_query + (i0 - i_block) / 16 * 1024;
        float *const row_max = all_row_max + (i0 - i_block) / 16 * 16;
        float *const row_sum = all_row_sum + (i0 - i_block) / 16 * 16;
        float *const row_sum_compensation = all_row_sum_compensation + (i0 - i_block) / 16 * 16;
        float *const sum = all_sum + (i0 - i_block) / 16 * 1024;
        float *const sum_compensation = all_sum_compensation + (i0 - i_block) / 16 * 1024;
        /* q_tile = q, with zeros beyond the last row */
        transpose_widened_v3(q + i0 * q_row, q_row, i1 - i0, 64, q_tile, 16, 8);
        for (int64_t d = 0; d < 64; d++)
            for (int64_t i = i1 - i0; i < round_up(i1 - i0, 8); i++) q_tile[d * 16 + i] = 0;
        /* query = q_tile * 0.18033688f */
        for (int64_t d = 0; d < 64; d++) {
            for (int64_t i = 0; i < i1 - i0; i += 8) {
                store_v3(query + d * 16 + i, load_v3(q_tile + d * 16 + i) * 0.18033688f);
            }
        }
        /* row_max = -FLT_MAX; row_sum = 0.0f; row_sum_compensation = 0.0f */
        for (int64_t i = 0; i < i1 - i0; i += 8) {
            store_v3(row_max + i, splat_v3(-FLT_MAX));
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
    for (int64_t j0 = 0, j_end = min(n_k, i1 + query_start); j0 < j_end; j0 += 96) {
        const int64_t j1 = min(j0 + 96, j_end);
        /* k_tile = k, widened */
        for (int64_t j = 0; j < j1 - j0; j++)
            for (int64_t d = 0; d < 64; d += 8) {
                store_v3(k_tile + j * 64 + d, widened_v3(k + (j0 + j) * k_row, d));
                __builtin_prefetch(k + (j0 + j) * k_row + d + 32 * k_row, 0, 2);
            }
        /* v_tile = v, widened */
        for (int64_t j = 0; j < j1 - j0; j++)
            for (int64_t e = 0; e < 64; e += 8) {
                store_v3(v_tile + j * 64 + e, widened_v3(v + (j0 + j) * v_row, e));
                __builtin_prefetch(v + (j0 + j) * v_row + e + 32 * v_row, 0, 2);
            }
        for (int64_t i_next = i0, i_block = i0, i_end = i1; i_next < i_end; i_next += 16) {
            const int64_t i0 = i_next, i1 = min(i0 + 16, i_end);
            float *const query = all_query + (i0 - i_block) / 16 * 1024;
            float *const row_max = all_row_max + (i0 - i_block) / 16 * 16;
            float *const row_sum = all_row_sum + (i0 - i_block) / 16 * 16;
            float *const row_sum_compensation = all_row_sum_compensation + (i0 - i_block) / 16 * 16;
            float *const sum = all_sum + (i0 - i_block) / 16 * 1024;
            float *const sum_compensation = all_sum_compensation + (i0 - i_block) / 16 * 1024;
            if (!(j0 < (i1 + query_start))) continue; /* no query sees a key of the tile */
            /* score[j][i] = sum over d of k_tile * query */
            dot0_v3(round_up(i1 - i0, 8), j1 - j0, k_tile, query, score);
            /* old_max = row_max */
            for (int64_t i = 0; i < i1 - i0; i += 8) {
                store_v3(old_max + i, load_v3(row_max + i));
            }
            if ((i0 + query_start + 1) < j1) { /* the tile is partly outside the mask */
                /* score = select(j <= (i + query_start), score, -INFINITY) */
                for (int64_t i = 0; i < i1 - i0; i += 8) {
                    const ints_v3 t_0 = (i0 + i + lane_v3) + query_start;
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        store_v3(score + j * 16 + i, pick_v3(__builtin_convertvector((j0 + j) <= t_0, mask_v3),
                            load_v3(score + j * 16 + i), splat_v3(-INFINITY)));
                    }
                }
            }
            /* row_max max= score */
            for (int64_t i_first = 0; i_first < i1 - i0; i_first += 16) {
                vec_v3 row_max_in[2][2];
                UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += 8) {
                    UNROLL for (int j_chain = 0; j_chain < 2; j_chain++) row_max_in[vector][j_chain] =
                        splat_v3(-INFINITY);
                }
                for (int64_t j_first = 0; j_first < j1 - j0; j_first += 2) {
                    UNROLL for (int j_chain = 0; j_chain < 2; j_chain++) {
                        const int64_t j = min(j_first + j_chain, j1 - j0 - 1);
                        UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += 8) {
                            row_max_in[vector][j_chain] = max_v3(row_max_in[vector][j_chain],
                                load_v3(score + j * 16 + i));
                        }
                    }
                }
                UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += 8) {
                    store_v3(row_max + i, max_v3(load_v3(row_max + i), max_v3(row_max_in[vector][0],
                        row_max_in[vector][1])));
                }
            }
            /* old_max = exp2(old_max - row_max); row_sum = row_sum * old_max;
               row_sum_compensation = row_sum_compensation * old_max */
            for (int64_t i = 0; i < i1 - i0; i += 8) {
                const vec_v3 old_max_1 = load_v3(old_max + i);
                const vec_v3 old_max_new2 = exp2_v3(old_max_1 - load_v3(row_max + i));
                store_v3(old_max + i, old_max_new2);
                store_v3(row_sum + i, load_v3(row_sum + i) * old_max_new2);
                store_v3(row_sum_compensation + i, load_v3(row_sum_compensation + i) * old_max_new2);
            }
            /* score = exp2(score - row_max); row_sum += score */
            for (int64_t i = 0; i < i1 - i0; i += 8) {
                const vec_v3 row_max_4 = load_v3(row_max + i);
                vec_v3 row_sum_in = (vec_v3){0};
                for (int64_t j = 0; j < j1 - j0; j++) {
                    const vec_v3 score_3 = load_v3(score + j * 16 + i);
                    const vec_v3 score_new5 = exp2_v3(score_3 - row_max_4);
                    store_v3(score + j * 16 + i, score_new5);
                    row_sum_in += score_new5;
                }
                add_v3(row_sum + i, row_sum_compensation + i, row_sum_in, splat_v3(1));
            }
            /* sum[e][i] = sum * old_max + sum over j of v_tile * score */
            if (__builtin_expect(((i0 + query_start + 1) < j1) && !finite_v3(v_tile, 64, j1 - j0, 64),
                0)) { /* infinity and NaN affect only queries that see them */
                dot1_v3(round_up(i1 - i0, 8), j1 - j0, v_tile, score, sum, old_max, sum_compensation);
                for (int64_t j = 0; j < j1 - j0; j++) {
                    mask_v3 in_region[2] = {0};
                    if (finite_v3(v_tile + j * 64, 1, 64, 1)) continue;
                    for (int64_t i = 0; i < i1 - i0; i += 8) {
                        in_region[i / 8] = __builtin_convertvector((j0 + j) <= ((i0 + i + lane_v3) + query_start),
                            mask_v3);
                    }
                    add_seen_v3(64, sum, 16, v_tile + j * 64, 1, score + j * 16, in_region, i1 - i0);
                }
            } else
                dot2_v3(round_up(i1 - i0, 8), j1 - j0, v_tile, score, sum, old_max, sum_compensation);
        }
    }
    {
        for (int64_t i_next = i0, i_block = i0, i_end = i1; i_next < i_end; i_next += 16) {
            const int64_t i0 = i_next, i1 = min(i0 + 16, i_end);
            float *const row_sum = all_row_sum + (i0 - i_block) / 16 * 16;
            float *const sum = all_sum + (i0 - i_block) / 16 * 1024;
            /* result = select(row_sum == 0.0f, 0.0f, sum * (1.0f / row_sum)) */
            for (int64_t i = 0; i < i1 - i0; i += 8) {
                const vec_v3 row_sum_6 = load_v3(row_sum + i);
                const mask_v3 t_7 = row_sum_6 == 0.0f;
                const vec_v3 t_8 = 1.0f / row_sum_6;
                for (int64_t e = 0; e < 64; e++) {
                    store_v3(result + e * 16 + i, pick_v3(t_7, splat_v3(0.0f), load_v3(sum + e * 16 + i) * t_8));
                }
            }
            /* out = result, transposed back */
            transpose_narrowed_v3(result, 16, 64, i1 - i0, out + i0 * out_row, out_row, 8);
        }
    }
}

/* Initialises the states: they contain no keys yet. */
TARGET_v3 APART void softmax_causal_bf16_few_begin_v3(const struct call *call, int64_t task, const struct part *part,
    int64_t iteration)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_q = call->p.n_q;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t r0 = iteration * 64, r1 = min(r0 + 64, rows);
    const int64_t g = task % kv_heads;
    const int64_t b = task / kv_heads;
    const uint16_t *const q = call->q + b * call->p.q.batch + g / call->sharing * members * call->p.q.head;
    const int64_t q_row = call->p.q.row;
    const int64_t q_head = call->p.q.head;
    float *const query_turned = (float *)(void *)(part->shared + 0); /* [r: 64, d: 64] */
    float *const q_tile = (float *)(void *)(part->work + 0); /* [r: 64, d: 64] */
    /* q_tile = q, widened */
    for (int64_t r = r0; r < r1; r++)
        for (int64_t d = 0; d < 64; d += 8)
            store_v3(q_tile + r * 64 + d, widened_v3(q + r / n_q * q_head + r % n_q * q_row, d));
    /* query_turned = q_tile * 0.18033688f */
    for (int64_t r = r0; r < r1; r++) {
        for (int64_t d_first = 0; d_first < 64; d_first += 16) {
            UNROLL for (int64_t vector = 0, d = d_first; vector < 2; vector++, d += 8) {
                store_v3(query_turned + r * 64 + d, load_v3(q_tile + r * 64 + d) * 0.18033688f);
            }
        }
    }
}

/* Initialises the states: they contain no keys yet. */
TARGET_v3 APART void softmax_causal_bf16_few_begin_2_v3(const struct call *call, int64_t task, const struct part *part,
    int64_t iteration)
{
    (void)task;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t r0 = iteration * 16, r1 = min(r0 + 16, rows);
    float *const carried_max = (float *)(void *)(part->shared + 16384); /* [r: 64] */
    float *const carried_sum = (float *)(void *)(part->shared + 16640); /* [r: 64] */
    float *const carried_sum_compensation = (float *)(void *)(part->shared + 33280); /* [r: 64] */
    float *const carried = (float *)(void *)(part->shared + 16896); /* [r: 64, e: 64] */
    float *const carried_compensation = (float *)(void *)(part->shared + 33536); /* [r: 64, e: 64] */
    /* carried_max = -FLT_MAX; carried_sum = 0.0f; carried_sum_compensation = 0.0f */
    for (int64_t r = r0; r < r1; r += 8) {
        store_v3(carried_max + r, splat_v3(-FLT_MAX));
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
TARGET_v3 APART void softmax_causal_bf16_few_keys_v3(const struct call *call, int64_t task, const struct part *part,
    int64_t iteration)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t n_q = call->p.n_q;
    const int64_t n_k = call->p.n_k;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t chunk = iteration;
    const int64_t chunk0 = part->chunk0;
    const int64_t g = task % kv_heads;
    const int64_t b = task / kv_heads;
    const int64_t query_start = call->p.query_start ? call->p.query_start[b] : n_k - n_q;
    const uint16_t *const k = call->k + b * call->p.k.batch + g / call->sharing * call->p.k.head;
    const int64_t k_row = call->p.k.row;
    const uint16_t *const v = call->v + b * call->p.v.batch + g * call->p.v.head;
    const int64_t v_row = call->p.v.row;
    float *const score = (float *)(void *)(part->work + 0); /* [r: 64, j: 128 of 144] */
    float *const query_turned = (float *)(void *)(part->shared + 0); /* [r: 64, d: 64] */
    float *const state_max = (float *)(void *)(part->slots + 0); /* [chunk, r: 64] */
    float *const old_max = (float *)(void *)(part->work + 36864); /* [r: 64] */
    float *const state_sum = (float *)(void *)(part->slots + 256); /* [chunk, r: 64] */
    float *const state = (float *)(void *)(part->slots + 512); /* [chunk, r: 64, e: 64] */
    /* state_max = -FLT_MAX; state_sum = 0.0f */
    for (int64_t r = 0; r < rows; r += 8) {
        store_v3(state_max + (chunk - chunk0) * 4224 + r, splat_v3(-FLT_MAX));
        store_v3(state_sum + (chunk - chunk0) * 4224 + r, splat_v3(0.0f));
    }
    /* state = 0.0f */
    for (int64_t r = 0; r < rows; r++) {
        for (int64_t e_first = 0; e_first < 64; e_first += 16) {
            UNROLL for (int64_t vector = 0, e = e_first; vector < 2; vector++, e += 8) {
                store_v3(state + (chunk - chunk0) * 4224 + r * 64 + e, splat_v3(0.0f));
            }
        }
    }
    for (int64_t j0 = chunk * 1024, j_end = min(min(n_k, (chunk + 1) * 1024), n_q + query_start); j0 < j_end;
        j0 += 128) {
        const int64_t j1 = min(j0 + 128, j_end);
        /* score[r][j] = sum over d of query_turned * k */
        dot3_v3(rows, j1 - j0, query_turned, k + j0 * k_row, k_row, score);
        /* old_max = state_max */
        for (int64_t r = 0; r < rows; r += 8) {
            store_v3(old_max + r, load_v3(state_max + (chunk - chunk0) * 4224 + r));
        }
        if ((query_start + 1) < j1) { /* the tile is partly outside the mask */
            /* score = select(j <= ((r % n_q) + query_start), score, -INFINITY) */
            for (int64_t j = 0; j < j1 - j0; j += 8) {
                const ints_v3 t_0 = j0 + j + lane_v3;
                for (int64_t r = 0; r < rows; r++) {
                    store_v3(score + r * 144 + j, pick_v3(__builtin_convertvector(t_0 <= ((r % n_q) + query_start),
                        mask_v3), load_v3(score + r * 144 + j), splat_v3(-INFINITY)));
                }
            }
        }
        /* state_max max= score */
        for (int64_t r = 0; r < rows; r++) {
            vec_v3 lanes_max = splat_v3(-INFINITY);
            for (int64_t j = 0; j < j1 - j0; j += 8) {
                const vec_v3 term = load_v3(score + r * 144 + j);
                lanes_max = max_v3(lanes_max, j + 8 <= j1 - j0 ? term : pick_v3(__builtin_convertvector(j + lane_v3 < j1
                    - j0, mask_v3), term, splat_v3(-INFINITY)));
            }
            const float largest = lane_max_v3(lanes_max);
            if (largest > state_max[(chunk - chunk0) * 4224 + r]) state_max[(chunk - chunk0) * 4224 + r] = largest;
        }
        /* old_max = exp2(old_max - state_max); state_sum = state_sum * old_max */
        for (int64_t r = 0; r < rows; r += 8) {
            const vec_v3 old_max_1 = load_v3(old_max + r);
            const vec_v3 old_max_new2 = exp2_v3(old_max_1 - load_v3(state_max + (chunk - chunk0) * 4224 + r));
            store_v3(old_max + r, old_max_new2);
            store_v3(state_sum + (chunk - chunk0) * 4224 + r, load_v3(state_sum + (chunk - chunk0) * 4224 + r) *
                old_max_new2);
        }
        /* score = exp2(score - state_max) */
        for (int64_t j = 0; j < j1 - j0; j += 8) {
            for (int64_t r = 0; r < rows; r++) {
                store_v3(score + r * 144 + j, exp2_v3(load_v3(score + r * 144 + j) - (state_max[(chunk - chunk0) * 4224
                    + r])));
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
            state_sum[(chunk - chunk0) * 4224 + r] += total;
        }
        /* state = state * old_max */
        for (int64_t r = 0; r < rows; r++) {
            for (int64_t e_first = 0; e_first < 64; e_first += 16) {
                UNROLL for (int64_t vector = 0, e = e_first; vector < 2; vector++, e += 8) {
                    store_v3(state + (chunk - chunk0) * 4224 + r * 64 + e,
                        load_v3(state + (chunk - chunk0) * 4224 + r * 64 + e) * old_max[r]);
                }
            }
        }
        /* state[r][e] += sum over j of score * v */
        if (__builtin_expect(((query_start + 1) < j1) && !finite_stored_v3(v + j0 * v_row, v_row, j1 - j0, 64),
            0)) { /* infinity and NaN affect only queries that see them */
            float wide[8192];
            for (int64_t t = 0; t < j1 - j0; t++)
                for (int64_t x = 0; x < 64; x += 8)
                    store_v3(wide + t * 64 + x, widened_v3(v + j0 * v_row + t * v_row, x));
            dot4_v3(rows, j1 - j0, score, wide, state + (chunk - chunk0) * 4224);
            for (int64_t r = 0; r < rows; r++) {
                mask_v3 in_region[16] = {0};
                const int64_t t_3 = (r % n_q) + query_start;
                for (int64_t j = 0; j < j1 - j0; j += 8) {
                    in_region[j / 8] = __builtin_convertvector((j0 + j + lane_v3) <= t_3, mask_v3);
                }
                add_seen_lanes_v3(64, state + (chunk - chunk0) * 4224 + r * 64, score + r * 144, wide, 64, j1 - j0,
                    in_region);
            }
        } else
            dot5_v3(rows, j1 - j0, score, v + j0 * v_row, v_row, state + (chunk - chunk0) * 4224);
    }
}

/* Folds the slots of the current chunks, in order, for some elements of the states. */
TARGET_v3 APART void softmax_causal_bf16_few_fold_v3(const struct call *call, int64_t task, const struct part *part,
    int64_t iteration)
{
    (void)task;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t r0 = iteration * 16, r1 = min(r0 + 16, rows);
    const int64_t chunk0 = part->chunk0;
    const int64_t chunk1 = part->chunk1;
    float *const state_max = (float *)(void *)(part->slots + 0); /* [chunk, r: 64] */
    float *const state_sum = (float *)(void *)(part->slots + 256); /* [chunk, r: 64] */
    float *const state = (float *)(void *)(part->slots + 512); /* [chunk, r: 64, e: 64] */
    float *const carried_max = (float *)(void *)(part->shared + 16384); /* [r: 64] */
    float *const carried_factor = (float *)(void *)(part->work + 0); /* [r: 64] */
    float *const slot_factor = (float *)(void *)(part->work + 256); /* [r: 64] */
    float *const carried_sum = (float *)(void *)(part->shared + 16640); /* [r: 64] */
    float *const carried_sum_compensation = (float *)(void *)(part->shared + 33280); /* [r: 64] */
    float *const carried = (float *)(void *)(part->shared + 16896); /* [r: 64, e: 64] */
    float *const carried_compensation = (float *)(void *)(part->shared + 33536); /* [r: 64, e: 64] */
    for (int64_t chunk = chunk0; chunk < chunk1; chunk++) {
        /* before_max = carried_max; carried_max max= state_max; carried_factor = exp2(before_max - carried_max);
           slot_factor = exp2(state_ ... */
        for (int64_t r = r0; r < r1; r += 8) {
            const vec_v3 carried_max_4 = load_v3(carried_max + r);
            const vec_v3 before_max_new5 = carried_max_4;
            const vec_v3 state_max_6 = load_v3(state_max + (chunk - chunk0) * 4224 + r);
            const vec_v3 carried_max_new7 = max_v3(load_v3(carried_max + r), state_max_6);
            store_v3(carried_max + r, carried_max_new7);
            const vec_v3 carried_factor_new8 = exp2_v3(before_max_new5 - carried_max_new7);
            store_v3(carried_factor + r, carried_factor_new8);
            const vec_v3 slot_factor_new9 = exp2_v3(state_max_6 - carried_max_new7);
            store_v3(slot_factor + r, slot_factor_new9);
            const vec_v3 carried_sum_10 = load_v3(carried_sum + r);
            store_v3(carried_sum + r, carried_sum_10 * carried_factor_new8);
            store_v3(carried_sum_compensation + r, load_v3(carried_sum_compensation + r) * carried_factor_new8);
            add_v3(carried_sum + r, carried_sum_compensation + r, load_v3(state_sum + (chunk - chunk0) * 4224 + r) *
                slot_factor_new9, splat_v3(1));
        }
        /* before = carried; carried = carried * carried_factor; carried_compensation = carried_compensation *
           carried_factor; carried += s ... */
        for (int64_t r = r0; r < r1; r++) {
            for (int64_t e_first = 0; e_first < 64; e_first += 16) {
                UNROLL for (int64_t vector = 0, e = e_first; vector < 2; vector++, e += 8) {
                    const vec_v3 carried_11 = load_v3(carried + r * 64 + e);
                    const float carried_factor_12 = carried_factor[r];
                    store_v3(carried + r * 64 + e, carried_11 * carried_factor_12);
                    store_v3(carried_compensation + r * 64 + e, load_v3(carried_compensation + r * 64 + e) *
                        carried_factor_12);
                    add_v3(carried + r * 64 + e, carried_compensation + r * 64 + e,
                        load_v3(state + (chunk - chunk0) * 4224 + r * 64 + e) * slot_factor[r], splat_v3(1));
                }
            }
        }
    }
}

/* Processes a tile of queries: reads the states. */
TARGET_v3 APART void softmax_causal_bf16_few_queries_v3(const struct call *call, int64_t task, const struct part *part,
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
    uint16_t *const out = call->out + b * call->p.out.batch + g * members * call->p.out.head;
    const int64_t out_row = call->p.out.row;
    const int64_t out_head = call->p.out.head;
    /* result = select(carried_sum == 0.0f, 0.0f, carried * (1.0f / carried_sum)) */
    for (int64_t r = r0; r < r1; r++) {
        for (int64_t e_first = 0; e_first < 64; e_first += 16) {
            UNROLL for (int64_t vector = 0, e = e_first; vector < 2; vector++, e += 8) {
                const float carried_sum_13 = carried_sum[r];
                store_v3(result + r * 64 + e, (carried_sum_13 == 0.0f) ? splat_v3(0.0f) : load_v3(carried + r * 64 + e)
                    * (1.0f / carried_sum_13));
            }
        }
    }
    /* out = result */
    for (int64_t r = r0; r < r1; r++)
        for (int64_t e = 0; e < 64; e++)
            out[r / n_q * out_head + r % n_q * out_row + e] = narrowed(result[r * 64 + e]);
}

/* Computes head number `task`. Each thread on the head calls this with its share, `part`. */
TARGET_v3 static void softmax_causal_bf16_few_v3(const struct call *call, int64_t task, struct part *part)
{
    const int64_t n_k = call->p.n_k;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t chunks = n_k > 0 ? (n_k - 1) / 1024 + 1 : 1;
    for (int64_t iteration = part->number; iteration < ((rows + 63) / 64); iteration += part->threads)
        softmax_causal_bf16_few_begin_v3(call, task, part, iteration);
    for (int64_t iteration = part->number; iteration < ((rows + 15) / 16); iteration += part->threads)
        softmax_causal_bf16_few_begin_2_v3(call, task, part, iteration);
    synchronise(part);
    const int64_t first = 0;
    const int64_t length = segment_length(part, chunks - first);
    for (int64_t segment = part->number; first + segment * length < chunks; segment += part->threads) {
        part->chunk0 = first + segment * length;
        part->chunk1 = min(part->chunk0 + length, chunks);
        for (int64_t iteration = part->chunk0; iteration < part->chunk1; iteration++)
            softmax_causal_bf16_few_keys_v3(call, task, part, iteration);
        for (int64_t group = 0; group < 16; group++) {
            await_segment(part, group, segment);
            const int64_t end = (group + 1) * ((rows + 15) / 16) / 16;
            for (int64_t iteration = group * ((rows + 15) / 16) / 16; iteration < end; iteration++)
                softmax_causal_bf16_few_fold_v3(call, task, part, iteration);
            pass_segment(part, group, segment);
        }
    }
    part->segments += (max(chunks - first, 0) + length - 1) / length;
    synchronise(part);
    for (int64_t iteration = part->number; iteration < ((rows + 15) / 16); iteration += part->threads)
        softmax_causal_bf16_few_queries_v3(call, task, part, iteration);
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
typedef uint16_t halves_any __attribute__((vector_size(2 * 4), aligned(2), may_alias));
INLINE vec_any load_any(const float *p) { return *(const stored_any *)(const void *)p; }
INLINE void store_any(float *p, vec_any x) { *(stored_any *)(void *)p = x; }
INLINE vec_any splat_any(float x) { return x - (vec_any){0}; }

/* Returns a in the lanes of the mask, and b in the other lanes. */
INLINE vec_any pick_any(mask_any m, vec_any a, vec_any b) { return (vec_any)((m & (mask_any)a) | (~m & (mask_any)b)); }

/* Stores each lane as 16 bits, rounded like narrowed(). Bits of a NaN may differ. */
INLINE void store_narrowed_any(uint16_t *p, vec_any x)
{
    const mask_any bits = (mask_any)x, made = (mask_any)pick_any((mask_any)(x != x), (vec_any)(bits | 0x400000),
        (vec_any)(bits + 0x7fff + (bits >> 16 & 1)));
    *(halves_any *)(void *)p = __builtin_convertvector(made >> 16, halves_any);
}

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

/* Returns the maximum over the lanes of x. If a lane is NaN, the result may be NaN or a number. */
INLINE float lane_max_any(vec_any x)
{
    x = max_any(x, __builtin_shufflevector(x, x, 2, 3, 0, 1));
    x = max_any(x, __builtin_shufflevector(x, x, 1, 0, 3, 2));
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

/* Like transpose_any, but rounds to 16-bit elements like narrowed(). */
APART void transpose_narrowed_any(const float *from, int64_t from_row, int64_t rows, int64_t columns, uint16_t *to,
    int64_t to_row, int64_t ahead)
{
    const int64_t whole = rows - rows % 4, deep = columns - columns % 4;
    for (int64_t k = 0; k < whole / 4 * (deep / 4); k++) {
        const int64_t row = k % (whole / 4) * 4, column = k / (whole / 4) * 4;
        vec_any t[4];
        UNROLL for (int r = 0; r < 4; r++) __builtin_prefetch(to + (column + r + ahead) * to_row + row, 1, 2);
        UNROLL for (int r = 0; r < 4; r++) t[r] = load_any(from + (row + r) * from_row + column);
        exchange_any(t);
        UNROLL for (int r = 0; r < 4; r++) store_narrowed_any(to + (column + r) * to_row + row, t[r]);
    }
    for (int64_t row = 0; row < rows; row++)
        for (int64_t column = row < whole ? deep : 0; column < columns; column++)
            to[column * to_row + row] = narrowed(from[row * from_row + column]);
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
    float row[128];
    (void)tail;
    for (int64_t r = 0; r < rows; r++, a += a_row) {
        for (int64_t t = 0; t < steps; t++) {
            row[t] = finite_any(a + t * a_step, 0, 1, 1) ? a[t * a_step] : 0;
        }
        dot_any(vectors, lanes, 1, 1, steps, span, row, 0, 1, b, b_step, c + r * c_row, c_row,
            update, factor, compensation ? compensation + r * c_row : NULL);
    }
}

/* Like dot_any, but uses 0 for infinity and NaN in b. It copies one vector of columns of b at a time. If `fetched`, it
   adds in the order of dot_fetched_any, so that results round equally. */
INLINE void dot_finite_lanes_any(const int fetched, const int vectors, const int64_t lanes, int64_t rows,
    const int tail, int64_t steps, const int64_t span, const float *a, int64_t a_row, int64_t a_step, const float *b,
    int64_t b_step, float *c, int64_t c_row, const int update, const float *factor, float *compensation)
{
    float column[128 * 4];
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
                factor ? factor + x : NULL, compensation ? compensation + x : NULL);
    }
}

/* Returns the elements x … x + 4 - 1 of a row before they are multiplied by a scale. x is a multiple of 4. */
INLINE vec_any unscaled_any(const uint16_t *row, int64_t x)
{
    /* bf16 is the upper half of a float */
    return (vec_any)(__builtin_convertvector(*(const halves_any *)(const void *)(row + x), mask_any) << 16);
}

/* Returns the elements x … x + 4 - 1 of a row. */
INLINE vec_any widened_any(const uint16_t *row, int64_t x)
{
    return unscaled_any(row, x);
}

/* Returns element x of a row. */
INLINE float element_any(const uint16_t *row, int64_t x)
{
    return widened_bf16(row[x]);
}

/* Returns the size of a row of `elements` elements, in units of uint16_t. */
INLINE int64_t units_any(int64_t elements)
{
    return elements;
}

/* Like transpose_any, but widens the elements. */
APART void transpose_widened_any(const uint16_t *from, int64_t from_row, int64_t rows, int64_t columns, float *to,
    int64_t to_row, int64_t ahead)
{
    const int64_t whole = rows - rows % 4, deep = columns - columns % 4;
    for (int64_t k = 0; k < whole / 4 * (deep / 4); k++) {
        const int64_t row = k / (deep / 4) * 4, column = k % (deep / 4) * 4;
        vec_any t[4];
        UNROLL for (int r = 0; r < 4; r++) __builtin_prefetch(from + (row + r + ahead) * from_row + column, 0, 2);
        UNROLL for (int r = 0; r < 4; r++) t[r] = widened_any(from + (row + r) * from_row, column);
        exchange_any(t);
        UNROLL for (int r = 0; r < 4; r++) store_any(to + (column + r) * to_row + row, t[r]);
    }
    for (int64_t row = 0; row < rows; row++)
        for (int64_t column = row < whole ? deep : 0; column < columns; column++)
            to[column * to_row + row] = element_any(from + row * from_row, column);
}

/* Like finite_any, but the elements are widened first. `columns` is a multiple of 4. */
APART int finite_stored_any(const uint16_t *p, int64_t row, int64_t rows, int64_t columns)
{
    float wide[4];
    for (int64_t r = 0; r < rows; r++, p += row)
        for (int64_t c = 0; c < columns; c += 4) {
            store_any(wide, widened_any(p, c));
            if (!finite_any(wide, 0, 1, 4)) return 0;
        }
    return 1;
}

/* Widens rows of `elements` elements, which is a multiple of 4. There are at most 4 or 16 rows. */
INLINE void widen_rows_any(int64_t rows, const int64_t elements, const uint16_t *b, int64_t b_row,
    float *wide)
{
    for (int64_t r = 0; r < rows; r++)
        UNROLL for (int64_t x = 0; x < elements; x += 4)
            store_any(wide + r * elements + x, unscaled_any(b + r * b_row, x));
}

/* Returns the row that comes `distance` rows after the first of the `rest` rows at b. The rows at `next` come after
   these. NULL: the rows that follow in memory. */
INLINE const uint16_t *ahead_any(const uint16_t *b, int64_t b_row, int64_t distance, int64_t rest, const uint16_t *next)
{
    return next && distance >= rest ? next + (distance - rest) * b_row : b + distance * b_row;
}

/* Prefetches `rows` rows of b, `width` elements of each. */
INLINE void fetch_any(int64_t rows, const int64_t width, const uint16_t *b, int64_t b_row)
{
    for (int64_t r = 0; r < rows; r++)
        UNROLL for (int64_t x = 0; x < units_any(width); x += 64 / (int64_t)sizeof *b)
            __builtin_prefetch(b + r * b_row + x, 0, 2);
}

/* c[k] = sum over t of a[t] * b[k][t] for 4 columns k and `steps` terms t. b has all 4 rows if `whole`.
   Otherwise row `last` is the last row of b. The rows of b are read in memory order, which helps the hardware
   prefetch them. */
INLINE void columns_any(const int whole, int64_t last, const int64_t steps, const float *a, const uint16_t *b,
    int64_t b_row, float *c, const uint16_t *ahead)
{
    vec_any t[4];
    UNROLL for (int k = 0; k < 4; k++) t[k] = (vec_any){0};
    for (int64_t first = 0; first < steps; first += 64)
        UNROLL for (int k = 0; k < 4; k++) {
            if (whole && ahead) fetch_any(1, min(64, steps - first), ahead + k * b_row + units_any(first), b_row);
            for (int64_t s = first; s < min(first + 64, steps); s += 4)
                t[k] += load_any(a + s) * unscaled_any(b + (whole ? k : min(k, last)) * b_row, s);
            __asm__ volatile("" : : : "memory");
        }
    store_any(c, lane_sums_any(t));
}

/* Like columns_any, for up to 4 rows of a, which share the loads of b. It has 4 rows. 2 columns are computed at
   a time.
   - wide: b converted to floats, in rows of `steps` elements. NULL if `direct`: b is converted here
   - ask: of 2 rows from ahead on, those with these numbers are prefetched */
INLINE void some_columns_any(const int rows, const int direct, const int64_t steps, const float *a, int64_t a_row,
    const uint16_t *b, int64_t b_row, const float *wide, const uint16_t *ahead, const int64_t *ask, float *c,
    int64_t c_row)
{
    vec_any t[4][4];
    for (int64_t k = 0; k < 4; k += 2) {
        vec_any sum[4][2];
        UNROLL for (int r = 0; r < rows; r++)
            UNROLL for (int n = 0; n < 2; n++) sum[r][n] = (vec_any){0};
        for (int64_t s = 0; s < steps; s += 4) {
            if (ask[1]) /* a few at a time, because a core can have few cache misses in flight */
                UNROLL for (int n = 0; n < 2; n++) __builtin_prefetch(ahead + (k + n) * b_row + s, 0, 2);
            vec_any x[2];
            UNROLL for (int n = 0; n < 2; n++)
                x[n] = direct ? unscaled_any(b + (k + n) * b_row, s) : load_any(wide + (k + n) * steps + s);
            UNROLL for (int r = 0; r < rows; r++) {
                const vec_any y = load_any(a + r * a_row + s);
                UNROLL for (int n = 0; n < 2; n++) sum[r][n] += x[n] * y;
            }
        }
        UNROLL for (int r = 0; r < rows; r++)
            UNROLL for (int n = 0; n < 2; n++) t[r][k + n] = sum[r][n];
    }
    UNROLL for (int r = 0; r < rows; r++) store_any(c + r * c_row, lane_sums_any(t[r]));
}

/* Computes groups of up to 4 rows of c. Each group prefetches `share` of every 2 rows from `ahead` on. */
INLINE void columns_of_4_any(const int direct, int64_t rows, const int64_t steps, const float *a, int64_t a_row,
    const uint16_t *b, int64_t b_row, const float *wide, const int64_t share, const uint16_t *ahead, float *c,
    int64_t c_row)
{
    int64_t ask[2] = {0, min(share, 2)};
    for (; rows >= 4; rows -= 4, a += 4 * a_row, c += 4 * c_row) {
        some_columns_any(4, direct, steps, a, a_row, b, b_row, wide, ahead, ask, c, c_row);
        UNROLL for (int k = 0; k < 2; k++) ask[k] = min(ask[k] + share, 2);
    }
    switch (rows) {
        case 3: some_columns_any(3, direct, steps, a, a_row, b, b_row, wide, ahead, ask, c, c_row); break;
        case 2: some_columns_any(2, direct, steps, a, a_row, b, b_row, wide, ahead, ask, c, c_row); break;
        case 1: some_columns_any(1, direct, steps, a, a_row, b, b_row, wide, ahead, ask, c, c_row); break;
    }
}

/* Like columns_any, for two or more rows of a. If b has fewer than 4 rows, the other columns of c get any numbers.
   `several` rows of a and more prefetch the rows at `ahead`. */
INLINE void all_columns_any(const int whole, int64_t last, int64_t rows, const int64_t steps, const float *a,
    int64_t a_row, const uint16_t *b, int64_t b_row, float *c, int64_t c_row, const int64_t several,
    const uint16_t *ahead)
{
    const int64_t share = !whole || rows < several ? 0 : rows > 4 * 2 ? 1 : (2 * 4 + rows - 1) / rows;
    if (whole && (rows <= 4 || !1)) {
        columns_of_4_any(1, rows, steps, a, a_row, b, b_row, NULL, share, ahead, c, c_row);
        return;
    }
    float wide[4 * 64] __attribute__((aligned(16)));
    widen_rows_any(whole ? 4 : last + 1, steps, b, b_row, wide);
    for (int64_t x = (last + 1) * steps; x < 4 * steps; x += 4) store_any(wide + x, splat_any(0));
    columns_of_4_any(0, rows, steps, a, a_row, b, b_row, wide, share, ahead, c, c_row);
}

/* Puts the rows of up to 2 vectors in lanes. Term s * 4 + l of all rows is at number l * steps / 4 + s. */
INLINE void turn_rows_any(const int vectors, const int64_t steps, const float *a, int64_t a_row, float *turned)
{
    const int64_t parts = steps / 4;
    for (int v = 0; v < vectors; v++)
        for (int64_t s = 0; s < parts; s++) {
            vec_any t[4];
            UNROLL for (int r = 0; r < 4; r++) t[r] = load_any(a + (v * 4 + r) * a_row + s * 4);
            exchange_any(t);
            UNROLL for (int l = 0; l < 4; l++) store_any(turned + ((l * parts + s) * vectors + v) * 4, t[l]);
        }
}

/* sum[v * keys + k] = the sum over s of the products of one lane: term s of `turned`, and of row k of b,
   for `keys` rows
   of b. Terms of `turned` are `vectors` vectors apart, those of b are 4 elements apart. */
INLINE void turned_lane_any(const int vectors, const int keys, const int64_t parts, const float *turned,
    const float *b, int64_t b_row, vec_any *sum)
{
    UNROLL for (int k = 0; k < vectors * keys; k++) sum[k] = (vec_any){0};
    UNROLL for (int64_t s = 0; s < parts; s++) {
        vec_any x[2];
        UNROLL for (int v = 0; v < vectors; v++) x[v] = load_any(turned + (s * vectors + v) * 4);
        UNROLL for (int n = 0; n < keys; n++) {
            const float y = b[n * b_row + s * 4];
            UNROLL for (int v = 0; v < vectors; v++) sum[v * keys + n] += y * x[v];
        }
        __asm__ volatile("" : : : "memory"); /* keeps the terms in order, so that the sums do not wait for each other */
    }
}

/* Adds the sums of earlier lanes to sums of as many later lanes. */
INLINE void add_turned_any(const int sums, const vec_any *earlier, vec_any *sum)
{
    UNROLL for (int k = 0; k < sums; k++) sum[k] = earlier[k] + sum[k];
}

/* t[v * keys + k] = the sum over s of the products of turned rows with row k of b. The terms are added in the order of
   columns_any: first those of each lane of a vector, then the lanes as in lane_sums_any. `asks` tells whether `keys`
   rows at
   `ahead` are prefetched. */
INLINE void turned_columns_any(const int vectors, const int keys, const int64_t steps, const float *turned,
    const float *b, int64_t b_row, const int asks, const uint16_t *ahead, int64_t ahead_row, vec_any *t)
{
    enum { GROUP = 4 < 4 ? 2 : 4 };
    const int64_t parts = steps / 4, lane = parts * vectors * 4;
    const int sums = vectors * keys;
    vec_any group[2][8]; /* sums of 1, 2, 4, … groups of lanes that wait for as many later ones */
    vec_any sum[8];
    for (int l = 0; l < 4; l += GROUP, turned += GROUP * lane, b += GROUP) {
        vec_any one[8], two[8];
        for (int k = l; asks && k < l + GROUP; k++)
            if (k % (4 / keys) == 0) fetch_any(1, steps, ahead + k / (4 / keys) * ahead_row, ahead_row);
        turned_lane_any(vectors, keys, parts, turned, b, b_row, one);
        turned_lane_any(vectors, keys, parts, turned + lane, b + 1, b_row, sum);
        add_turned_any(sums, one, sum);
        if (GROUP == 4) {
            UNROLL for (int k = 0; k < sums; k++) two[k] = sum[k];
            turned_lane_any(vectors, keys, parts, turned + 2 * lane, b + 2, b_row, one);
            turned_lane_any(vectors, keys, parts, turned + 3 * lane, b + 3, b_row, sum);
            add_turned_any(sums, one, sum);
            add_turned_any(sums, two, sum);
        }
        int level = 0;
        for (int g = l / GROUP; g & 1; g /= 2) add_turned_any(sums, group[level++], sum);
        if (l + GROUP == 4) break;
        UNROLL for (int k = 0; k < sums; k++) group[level][k] = sum[k];
    }
    UNROLL for (int k = 0; k < sums; k++) t[k] = sum[k];
}

/* Like all_columns_any, for the rows of up to 2 vectors and all columns, whose number is a multiple of 4. The rows are
   put in lanes, so that sums over lanes need no shuffles. `asks` tells whether later rows of b are prefetched. */
INLINE void turned_any(const int vectors, int64_t columns, const int64_t steps, const float *a, int64_t a_row,
    const uint16_t *b, int64_t b_row, const int asks, float *c, int64_t c_row)
{
    /* Fewer rows are multiplied by more keys at a time, so that as many sums are independent. */
    const int keys = vectors > 1 ? 8 / 2 : 8 < 4 ? 8 : 4;
    float turned[2 * 4 * 64] __attribute__((aligned(16)));
    float wide[4 * 64] __attribute__((aligned(16)));
    turn_rows_any(vectors, steps, a, a_row, turned);
    for (int64_t x = 0; x < columns; x += 4, b += 4 * b_row) {
        vec_any t[2][4];
        widen_rows_any(4, steps, b, b_row, wide);
        const float *const from = wide;
        const int64_t from_row = steps;
        for (int64_t k = 0; k < 4; k += keys) {
            vec_any some[8];
            turned_columns_any(vectors, keys, steps, turned, from + k * from_row, from_row, asks,
                ahead_any(b, b_row, 64 + k, columns - x, NULL), b_row, some);
            UNROLL for (int v = 0; v < vectors; v++)
                UNROLL for (int n = 0; n < keys; n++) t[v][k + n] = some[v * keys + n];
        }
        UNROLL for (int v = 0; v < vectors; v++) {
            exchange_any(t[v]);
            UNROLL for (int r = 0; r < 4; r++) store_any(c + (v * 4 + r) * c_row + x, t[v][r]);
        }
    }
}

/* Like turned_any, for the rows of all whole vectors. Returns their number. */
INLINE int64_t all_turned_any(int64_t rows, int64_t columns, const int64_t steps, const float *a, int64_t a_row,
    const uint16_t *b, int64_t b_row, float *c, int64_t c_row)
{
    int64_t r = 0;
    for (; r + 2 * 4 <= rows; r += 2 * 4)
        turned_any(2, columns, steps, a + r * a_row, a_row, b, b_row, r == 0, c + r * c_row, c_row);
    if (r + 4 <= rows) {
        turned_any(1, columns, steps, a + r * a_row, a_row, b, b_row, r == 0, c + r * c_row, c_row);
        r += 4;
    }
    return r;
}

/* c[r][x] = sum over t of a[r][t] * b[x][t].
   - Both operands are contiguous along t. `steps` is a multiple of 4.
   - b is in memory. It is prefetched `early` rows ahead for one row of a, otherwise 64 rows ahead. */
INLINE void dot_along_any(int64_t rows, int64_t columns, const int64_t steps, const float *a, int64_t a_row,
    const uint16_t *b, int64_t b_row, float *c, int64_t c_row, const int64_t early)
{
    const int64_t whole = columns - columns % 4,
        turned = rows < 4 ? 0 : all_turned_any(rows, whole, steps, a, a_row, b, b_row, c, c_row),
        first = turned == rows ? whole : 0;
    b += first * b_row;
    for (int64_t x = first; x < columns; x += 4, b += 4 * b_row) {
        const int64_t last = min(4, columns - x) - 1;
        const uint16_t *const ahead = ahead_any(b, b_row, rows == 1 ? early : 64, columns - x, NULL);
        if (rows == 1 && last == 4 - 1)
            columns_any(1, last, steps, a, b, b_row, c + x, early ? ahead : NULL);
        else if (rows == 1)
            columns_any(0, last, steps, a, b, b_row, c + x, NULL);
        else if (last == 4 - 1)
            all_columns_any(1, last, rows - turned, steps, a + turned * a_row, a_row, b, b_row, c + turned * c_row + x,
                c_row, 2, ahead);
        else
            all_columns_any(0, last, rows, steps, a, a_row, b, b_row, c + x, c_row, 2, ahead);
    }
}

/* c[x] += sum over t of a[t] * b[t][x] for up to 16 vectors of lanes, from x = first on. Terms are rounded and
   added as for several rows. For b with scales, one for `block` elements:
   - a has been multiplied by them: a[t][x / block] * unscaled b[t][x]
   - the scales of the rows 16 later are copied to `next`, for `later` rows */
INLINE void row_any(const int vectors, int64_t first, int64_t steps, const float *a, int64_t a_step,
    const uint16_t *b, int64_t b_step, const int64_t lanes, const int64_t block, float *c
, const uint16_t *ahead)
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

/* c[r][x] += sum over t of a[r][t] * b[t][x] for up to 6 rows r and up to 2 vectors of lanes, from x = first
   on. Rows of b have `lanes` elements. The first `ahead_rows` rows at `ahead` are prefetched.
   - from 0: b is widened for these rows. 1: it is also stored to `wide`. 2: it is read from there
   - weight: if b has scales, the products of a with `count` scales of each row of b, from scaled_weights_any */
INLINE void some_lanes_any(const int rows, const int vectors, const int from, int64_t first, const int64_t lanes,
    int64_t steps, const float *a, int64_t a_row, int64_t a_step, const uint16_t *b, int64_t b_step, float *wide,
    const uint16_t *ahead, int64_t ahead_rows, float *c, int64_t c_row)
{
    vec_any sum[6][2];
    UNROLL for (int r = 0; r < rows; r++)
        UNROLL for (int v = 0; v < vectors; v++) sum[r][v] = (vec_any){0};
    for (int64_t t = 0; t < steps; t++) {
        vec_any x[2];
        if (t < ahead_rows) fetch_any(1, lanes, ahead + t * b_step, b_step);
        UNROLL for (int v = 0; v < vectors; v++) {
            float *const kept = wide + t * lanes + first + v * 4;
            x[v] = from == 2 ? load_any(kept) : unscaled_any(b + t * b_step, first + v * 4);
            if (from == 1) store_any(kept, x[v]);
        }
        UNROLL for (int r = 0; r < rows; r++) {
            const float y = a[r * a_row + t * a_step];
            UNROLL for (int v = 0; v < vectors; v++) sum[r][v] += y * x[v];
        }
    }
    UNROLL for (int r = 0; r < rows; r++)
        UNROLL for (int v = 0; v < vectors; v++) {
            float *const to = c + r * c_row + first + v * 4;
            store_any(to, load_any(to) + sum[r][v]);
        }
}

/* Like some_lanes_any, for all lanes. */
INLINE void all_lanes_any(const int rows, const int from, const int64_t lanes, int64_t steps, const float *a,
    int64_t a_row, int64_t a_step, const uint16_t *b, int64_t b_step, float *wide, const uint16_t *ahead,
    int64_t ahead_rows, float *c, int64_t c_row)
{
    const int64_t share = 2 * 4 < lanes ? (ahead_rows * 2 * 4 + lanes - 1) / lanes : ahead_rows;
    int64_t x = 0;
    for (; x + 2 * 4 <= lanes; x += 2 * 4) {
        some_lanes_any(rows, 2, from, x, lanes, steps, a, a_row, a_step, b, b_step, wide, ahead,
            min(share, ahead_rows), c, c_row);
        ahead += share * b_step;
        ahead_rows = max(ahead_rows - share, 0);
    }
    for (; x < lanes; x += 4) {
        some_lanes_any(rows, 1, from, x, lanes, steps, a, a_row, a_step, b, b_step, wide, ahead, ahead_rows, c,
            c_row);
        ahead_rows = 0;
    }
}

/* Like some_lanes_any, for 1 to 6 rows and all lanes. `scale` has the scales of b. */
INLINE void group_any(int64_t rows, const int from, const int64_t lanes, int64_t steps, const float *a,
    int64_t a_row, int64_t a_step, const uint16_t *b, int64_t b_step, float *wide, const uint16_t *ahead,
    int64_t ahead_rows, float *c, int64_t c_row)
{
    switch (rows) {
        case 6: all_lanes_any(6, from, lanes, steps, a, a_row, a_step, b, b_step, wide, ahead, ahead_rows, c,
            c_row); break;
        case 5: all_lanes_any(5, from, lanes, steps, a, a_row, a_step, b, b_step, wide, ahead, ahead_rows, c,
            c_row); break;
        case 4: all_lanes_any(4, from, lanes, steps, a, a_row, a_step, b, b_step, wide, ahead, ahead_rows, c,
            c_row); break;
        case 3: all_lanes_any(3, from, lanes, steps, a, a_row, a_step, b, b_step, wide, ahead, ahead_rows, c,
            c_row); break;
        case 2: all_lanes_any(2, from, lanes, steps, a, a_row, a_step, b, b_step, wide, ahead, ahead_rows, c,
            c_row); break;
        default: all_lanes_any(1, from, lanes, steps, a, a_row, a_step, b, b_step, wide, ahead, ahead_rows, c,
            c_row); break;
    }
}

/* Like group_any, for any number of rows. Each group of rows prefetches a share of later rows. */
INLINE void groups_any(int64_t rows, const int64_t lanes, int64_t steps, const float *a, int64_t a_row,
    int64_t a_step, const uint16_t *b, int64_t b_step, float *wide, const uint16_t *ahead, float *c,
    int64_t c_row)
{
    if (rows <= 6) {
        group_any(rows, 0, lanes, steps, a, a_row, a_step, b, b_step, wide, ahead, steps, c, c_row);
        return;
    }
    int64_t asked = (6 * steps + rows - 1) / rows;
    group_any(6, 1, lanes, steps, a, a_row, a_step, b, b_step, wide, ahead, asked, c, c_row);
    for (int64_t r = 6; r < rows; r += 6) {
        const int64_t ask = min((min(r + 6, rows) * steps + rows - 1) / rows, steps);
        group_any(min(rows - r, 6), 2, lanes, steps, a + r * a_row, a_row, a_step, b, b_step, wide,
            ahead + asked * b_step, ask - asked, c + r * c_row, c_row);
        asked = ask;
    }
}

/* Like groups_any, for all rows of b, but only 2 vectors of lanes, from x = first on. Many rows of c do not fit in the
   first cache, but these lanes of them do. */
INLINE void strip_any(int64_t rows, int64_t first, const int64_t lanes, int64_t steps, const float *a, int64_t a_row,
    int64_t a_step, const uint16_t *b, int64_t b_step, float *wide, float *c, int64_t c_row)
{
    for (int64_t t = 0; t < steps; t += 16, a += 16 * a_step, b += 16 * b_step) {
        const int64_t some = min(steps - t, 16);
        const uint16_t *const ahead = ahead_any(b, b_step, 64, steps - t, NULL);
        int64_t r = 0, asked = 0;
        for (; r + 6 <= rows; r += 6) { /* each group of rows prefetches a share of the rows that follow later */
            const int64_t ask = first ? 0 : (r + 6) * some / rows;
            if (r == 0)
                some_lanes_any(6, 2, 1, first, lanes, some, a, a_row, a_step, b, b_step, wide, ahead, ask, c,
                    c_row);
            else
                some_lanes_any(6, 2, 2, first, lanes, some, a + r * a_row, a_row, a_step, b, b_step, wide,
                    ahead + asked * b_step, ask - asked, c + r * c_row, c_row);
            asked = ask;
        }
        for (; r + 2 <= rows; r += 2) {
            some_lanes_any(2, 2, 2, first, lanes, some, a + r * a_row, a_row, a_step, b, b_step, wide, ahead, 0,
                c + r * c_row, c_row);
        }
        if (r < rows) {
            some_lanes_any(1, 2, 2, first, lanes, some, a + r * a_row, a_row, a_step, b, b_step, wide, ahead, 0,
                c + r * c_row, c_row);
        }
    }
}

/* Like dot_any, but b is in memory and is prefetched as in dot_along_any. It is read 16 rows at a time. Narrow
   elements are widened once for all rows. If a has one row, b is read 64 lanes at a time. */
INLINE void dot_fetched_any(const int vectors, const int64_t lanes, int64_t rows, const int tail, int64_t steps,
    const int64_t span, const float *a, int64_t a_row, int64_t a_step, const uint16_t *b, int64_t b_step, float *c,
    int64_t c_row, const int update, const float *factor, float *compensation, const int64_t early)
{
    float wide[16 * 64] __attribute__((aligned(16)));
    if (0 && update == 1 && rows >= 16 && lanes % (2 * 4) == 0) {
        for (int64_t x = 0; x < lanes; x += 2 * 4)
            strip_any(rows, x, lanes, steps, a, a_row, a_step, b, b_step, wide, c, c_row);
        return;
    }
    for (int64_t t = 0; t < steps; t += 16, a += 16 * a_step, b += 16 * b_step) {
        const int64_t some = min(steps - t, 16);
        const uint16_t *const ahead = ahead_any(b, b_step, rows == 1 ? early : 64, steps - t, NULL);
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
        if (update == 1 && (0 || rows <= 6)) {
            groups_any(rows, lanes, some, a, a_row, a_step, b, b_step, wide, ahead, c, c_row);
            continue;
        }
        widen_rows_any(some, lanes, b, b_step, wide);
        const float *const from = wide;
        const int64_t from_step = lanes;
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
    dot_any(/*vectors=*/2, lanes, rows, /*tail=*/-1, /*steps=*/64, /*span=*/32, a, /*a_row=*/64, /*a_step=*/1, b,
        /*b_step=*/16, c, /*c_row=*/16, /*update=*/0, /*factor=*/NULL, /*compensation=*/NULL);
}
APART void dot1_any(int64_t lanes, int64_t steps, const float *a, const float *b, float *c, const float *factor,
    float *compensation)
{
    dot_finite_any(/*vectors=*/2, lanes, /*rows=*/64, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/1, /*a_step=*/64, b,
        /*b_step=*/16, c, /*c_row=*/16, /*update=*/3, factor, compensation);
}
APART void dot2_any(int64_t lanes, int64_t steps, const float *a, const float *b, float *c, const float *factor,
    float *compensation)
{
    dot_any(/*vectors=*/2, lanes, /*rows=*/64, /*tail=*/4, steps, /*span=*/192, a, /*a_row=*/1, /*a_step=*/64, b,
        /*b_step=*/16, c, /*c_row=*/16, /*update=*/3, factor, compensation);
}
APART void dot3_any(int64_t rows, int64_t columns, const float *a, const uint16_t *b, int64_t b_row, float *c)
{
    dot_along_any(rows, columns, /*steps=*/64, a, /*a_row=*/64, b, b_row, c, /*c_row=*/144, /*early=*/64);
}
APART void dot4_any(int64_t rows, int64_t steps, const float *a, const float *b, float *c)
{
    dot_finite_lanes_any(/*fetched=*/1, /*vectors=*/2, /*lanes=*/64, rows, /*tail=*/-1, steps, /*span=*/192, a,
        /*a_row=*/144, /*a_step=*/1, b, /*b_step=*/64, c, /*c_row=*/64, /*update=*/1, /*factor=*/NULL,
        /*compensation=*/NULL);
}
APART void dot5_any(int64_t rows, int64_t steps, const float *a, const uint16_t *b, int64_t b_step, float *c)
{
    dot_fetched_any(/*vectors=*/2, /*lanes=*/64, rows, /*tail=*/-1, steps, /*span=*/192, a, /*a_row=*/144, /*a_step=*/1,
        b, b_step, c, /*c_row=*/64, /*update=*/1, /*factor=*/NULL, /*compensation=*/NULL, /*early=*/64);
}

/* Computes task number `task`: one tile of queries of one head. `work` is this thread's workspace. */
static void softmax_causal_bf16_rows_any(const struct call *call, int64_t task, unsigned char *work)
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
    const int64_t query_start = call->p.query_start ? call->p.query_start[b] : n_k - n_q;
    const uint16_t *const q = call->q + b * call->p.q.batch + (g / call->sharing * members + m) * call->p.q.head;
    const int64_t q_row = call->p.q.row;
    const uint16_t *const k = call->k + b * call->p.k.batch + g / call->sharing * call->p.k.head;
    const int64_t k_row = call->p.k.row;
    const uint16_t *const v = call->v + b * call->p.v.batch + g * call->p.v.head;
    const int64_t v_row = call->p.v.row;
    float *const all_query = (float *)(void *)(work + 0); /* [d: 64, i: 16, 8 times] */
    float *const score = (float *)(void *)(work + 32768); /* [j: 96, i: 16] */
    float *const all_row_max = (float *)(void *)(work + 38912); /* [i: 16, 8 times] */
    float *const old_max = (float *)(void *)(work + 39424); /* [i: 16] */
    float *const all_row_sum = (float *)(void *)(work + 39488); /* [i: 16, 8 times] */
    float *const all_row_sum_compensation = (float *)(void *)(work + 40000); /* [i: 16, 8 times] */
    float *const all_sum = (float *)(void *)(work + 40512); /* [e: 64, i: 16, 8 times] */
    float *const all_sum_compensation = (float *)(void *)(work + 73280); /* [e: 64, i: 16, 8 times] */
    float *const result = (float *)(void *)(work + 0); /* [e: 64, i: 16] */
    uint16_t *const out = call->out + b * call->p.out.batch + (g * members + m) * call->p.out.head;
    const int64_t out_row = call->p.out.row;
    float *const q_tile = (float *)(void *)(work + 32768); /* [d: 64, i: 16] */
    float *const k_tile = (float *)(void *)(work + 106048); /* [j: 96, d: 64] */
    float *const v_tile = (float *)(void *)(work + 130624); /* [j: 96, e: 64] */
    for (int64_t i_next = i0, i_block = i0, i_end = i1; i_next < i_end; i_next += 16) {
        const int64_t i0 = i_next, i1 = min(i0 + 16, i_end);
        float *const query = all_query + (i0 - i_block) / 16 * 1024;
        float *const row_max = all_row_max + (i0 - i_block) / 16 * 16;
        float *const row_sum = all_row_sum + (i0 - i_block) / 16 * 16;
        float *const row_sum_compensation = all_row_sum_compensation + (i0 - i_block) / 16 * 16;
        float *const sum = all_sum + (i0 - i_block) / 16 * 1024;
        float *const sum_compensation = all_sum_compensation + (i0 - i_block) / 16 * 1024;
        /* q_tile = q, with zeros beyond the last row */
        transpose_widened_any(q + i0 * q_row, q_row, i1 - i0, 64, q_tile, 16, 4);
        for (int64_t d = 0; d < 64; d++)
            for (int64_t i = i1 - i0; i < round_up(i1 - i0, 4); i++) q_tile[d * 16 + i] = 0;
        /* query = q_tile * 0.18033688f */
        for (int64_t d = 0; d < 64; d++) {
            for (int64_t i = 0; i < i1 - i0; i += 4) {
                store_any(query + d * 16 + i, load_any(q_tile + d * 16 + i) * 0.18033688f);
            }
        }
        /* row_max = -FLT_MAX; row_sum = 0.0f; row_sum_compensation = 0.0f */
        for (int64_t i = 0; i < i1 - i0; i += 4) {
            store_any(row_max + i, splat_any(-FLT_MAX));
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
    for (int64_t j0 = 0, j_end = min(n_k, i1 + query_start); j0 < j_end; j0 += 96) {
        const int64_t j1 = min(j0 + 96, j_end);
        /* k_tile = k, widened */
        for (int64_t j = 0; j < j1 - j0; j++)
            for (int64_t d = 0; d < 64; d += 4) {
                store_any(k_tile + j * 64 + d, widened_any(k + (j0 + j) * k_row, d));
                __builtin_prefetch(k + (j0 + j) * k_row + d + 64 * k_row, 0, 2);
            }
        /* v_tile = v, widened */
        for (int64_t j = 0; j < j1 - j0; j++)
            for (int64_t e = 0; e < 64; e += 4) {
                store_any(v_tile + j * 64 + e, widened_any(v + (j0 + j) * v_row, e));
                __builtin_prefetch(v + (j0 + j) * v_row + e + 64 * v_row, 0, 2);
            }
        for (int64_t i_next = i0, i_block = i0, i_end = i1; i_next < i_end; i_next += 16) {
            const int64_t i0 = i_next, i1 = min(i0 + 16, i_end);
            float *const query = all_query + (i0 - i_block) / 16 * 1024;
            float *const row_max = all_row_max + (i0 - i_block) / 16 * 16;
            float *const row_sum = all_row_sum + (i0 - i_block) / 16 * 16;
            float *const row_sum_compensation = all_row_sum_compensation + (i0 - i_block) / 16 * 16;
            float *const sum = all_sum + (i0 - i_block) / 16 * 1024;
            float *const sum_compensation = all_sum_compensation + (i0 - i_block) / 16 * 1024;
            if (!(j0 < (i1 + query_start))) continue; /* no query sees a key of the tile */
            /* score[j][i] = sum over d of k_tile * query */
            dot0_any(round_up(i1 - i0, 4), j1 - j0, k_tile, query, score);
            /* old_max = row_max */
            for (int64_t i = 0; i < i1 - i0; i += 4) {
                store_any(old_max + i, load_any(row_max + i));
            }
            if ((i0 + query_start + 1) < j1) { /* the tile is partly outside the mask */
                /* score = select(j <= (i + query_start), score, -INFINITY) */
                for (int64_t i = 0; i < i1 - i0; i += 4) {
                    const ints_any t_0 = (i0 + i + lane_any) + query_start;
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        store_any(score + j * 16 + i, pick_any(__builtin_convertvector((j0 + j) <= t_0, mask_any),
                            load_any(score + j * 16 + i), splat_any(-INFINITY)));
                    }
                }
            }
            /* row_max max= score */
            for (int64_t i_first = 0; i_first < i1 - i0; i_first += 8) {
                vec_any row_max_in[2][2];
                UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += 4) {
                    UNROLL for (int j_chain = 0; j_chain < 2; j_chain++) row_max_in[vector][j_chain] =
                        splat_any(-INFINITY);
                }
                for (int64_t j_first = 0; j_first < j1 - j0; j_first += 2) {
                    UNROLL for (int j_chain = 0; j_chain < 2; j_chain++) {
                        const int64_t j = min(j_first + j_chain, j1 - j0 - 1);
                        UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += 4) {
                            row_max_in[vector][j_chain] = max_any(row_max_in[vector][j_chain],
                                load_any(score + j * 16 + i));
                        }
                    }
                }
                UNROLL for (int64_t vector = 0, i = i_first; vector < 2; vector++, i += 4) {
                    store_any(row_max + i, max_any(load_any(row_max + i), max_any(row_max_in[vector][0],
                        row_max_in[vector][1])));
                }
            }
            /* old_max = exp2(old_max - row_max); row_sum = row_sum * old_max;
               row_sum_compensation = row_sum_compensation * old_max */
            for (int64_t i = 0; i < i1 - i0; i += 4) {
                const vec_any old_max_1 = load_any(old_max + i);
                const vec_any old_max_new2 = exp2_any(old_max_1 - load_any(row_max + i));
                store_any(old_max + i, old_max_new2);
                store_any(row_sum + i, load_any(row_sum + i) * old_max_new2);
                store_any(row_sum_compensation + i, load_any(row_sum_compensation + i) * old_max_new2);
            }
            /* score = exp2(score - row_max); row_sum += score */
            for (int64_t i = 0; i < i1 - i0; i += 4) {
                const vec_any row_max_4 = load_any(row_max + i);
                vec_any row_sum_in = (vec_any){0};
                for (int64_t j = 0; j < j1 - j0; j++) {
                    const vec_any score_3 = load_any(score + j * 16 + i);
                    const vec_any score_new5 = exp2_any(score_3 - row_max_4);
                    store_any(score + j * 16 + i, score_new5);
                    row_sum_in += score_new5;
                }
                add_any(row_sum + i, row_sum_compensation + i, row_sum_in, splat_any(1));
            }
            /* sum[e][i] = sum * old_max + sum over j of v_tile * score */
            if (__builtin_expect(((i0 + query_start + 1) < j1) && !finite_any(v_tile, 64, j1 - j0, 64),
                0)) { /* infinity and NaN affect only queries that see them */
                dot1_any(round_up(i1 - i0, 4), j1 - j0, v_tile, score, sum, old_max, sum_compensation);
                for (int64_t j = 0; j < j1 - j0; j++) {
                    mask_any in_region[4] = {0};
                    if (finite_any(v_tile + j * 64, 1, 64, 1)) continue;
                    for (int64_t i = 0; i < i1 - i0; i += 4) {
                        in_region[i / 4] = __builtin_convertvector((j0 + j) <= ((i0 + i + lane_any) + query_start),
                            mask_any);
                    }
                    add_seen_any(64, sum, 16, v_tile + j * 64, 1, score + j * 16, in_region, i1 - i0);
                }
            } else
                dot2_any(round_up(i1 - i0, 4), j1 - j0, v_tile, score, sum, old_max, sum_compensation);
        }
    }
    {
        for (int64_t i_next = i0, i_block = i0, i_end = i1; i_next < i_end; i_next += 16) {
            const int64_t i0 = i_next, i1 = min(i0 + 16, i_end);
            float *const row_sum = all_row_sum + (i0 - i_block) / 16 * 16;
            float *const sum = all_sum + (i0 - i_block) / 16 * 1024;
            /* result = select(row_sum == 0.0f, 0.0f, sum * (1.0f / row_sum)) */
            for (int64_t i = 0; i < i1 - i0; i += 4) {
                const vec_any row_sum_6 = load_any(row_sum + i);
                const mask_any t_7 = row_sum_6 == 0.0f;
                const vec_any t_8 = 1.0f / row_sum_6;
                for (int64_t e = 0; e < 64; e++) {
                    store_any(result + e * 16 + i, pick_any(t_7, splat_any(0.0f), load_any(sum + e * 16 + i) * t_8));
                }
            }
            /* out = result, transposed back */
            transpose_narrowed_any(result, 16, 64, i1 - i0, out + i0 * out_row, out_row, 4);
        }
    }
}

/* Initialises the states: they contain no keys yet. */
APART void softmax_causal_bf16_few_begin_any(const struct call *call, int64_t task, const struct part *part,
    int64_t iteration)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_q = call->p.n_q;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t r0 = iteration * 64, r1 = min(r0 + 64, rows);
    const int64_t g = task % kv_heads;
    const int64_t b = task / kv_heads;
    const uint16_t *const q = call->q + b * call->p.q.batch + g / call->sharing * members * call->p.q.head;
    const int64_t q_row = call->p.q.row;
    const int64_t q_head = call->p.q.head;
    float *const query_turned = (float *)(void *)(part->shared + 0); /* [r: 64, d: 64] */
    float *const q_tile = (float *)(void *)(part->work + 0); /* [r: 64, d: 64] */
    /* q_tile = q, widened */
    for (int64_t r = r0; r < r1; r++)
        for (int64_t d = 0; d < 64; d += 4)
            store_any(q_tile + r * 64 + d, widened_any(q + r / n_q * q_head + r % n_q * q_row, d));
    /* query_turned = q_tile * 0.18033688f */
    for (int64_t r = r0; r < r1; r++) {
        for (int64_t d_first = 0; d_first < 64; d_first += 8) {
            UNROLL for (int64_t vector = 0, d = d_first; vector < 2; vector++, d += 4) {
                store_any(query_turned + r * 64 + d, load_any(q_tile + r * 64 + d) * 0.18033688f);
            }
        }
    }
}

/* Initialises the states: they contain no keys yet. */
APART void softmax_causal_bf16_few_begin_2_any(const struct call *call, int64_t task, const struct part *part,
    int64_t iteration)
{
    (void)task;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t r0 = iteration * 16, r1 = min(r0 + 16, rows);
    float *const carried_max = (float *)(void *)(part->shared + 16384); /* [r: 64] */
    float *const carried_sum = (float *)(void *)(part->shared + 16640); /* [r: 64] */
    float *const carried_sum_compensation = (float *)(void *)(part->shared + 33280); /* [r: 64] */
    float *const carried = (float *)(void *)(part->shared + 16896); /* [r: 64, e: 64] */
    float *const carried_compensation = (float *)(void *)(part->shared + 33536); /* [r: 64, e: 64] */
    /* carried_max = -FLT_MAX; carried_sum = 0.0f; carried_sum_compensation = 0.0f */
    for (int64_t r = r0; r < r1; r += 4) {
        store_any(carried_max + r, splat_any(-FLT_MAX));
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
APART void softmax_causal_bf16_few_keys_any(const struct call *call, int64_t task, const struct part *part,
    int64_t iteration)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t n_q = call->p.n_q;
    const int64_t n_k = call->p.n_k;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t chunk = iteration;
    const int64_t chunk0 = part->chunk0;
    const int64_t g = task % kv_heads;
    const int64_t b = task / kv_heads;
    const int64_t query_start = call->p.query_start ? call->p.query_start[b] : n_k - n_q;
    const uint16_t *const k = call->k + b * call->p.k.batch + g / call->sharing * call->p.k.head;
    const int64_t k_row = call->p.k.row;
    const uint16_t *const v = call->v + b * call->p.v.batch + g * call->p.v.head;
    const int64_t v_row = call->p.v.row;
    float *const score = (float *)(void *)(part->work + 0); /* [r: 64, j: 128 of 144] */
    float *const query_turned = (float *)(void *)(part->shared + 0); /* [r: 64, d: 64] */
    float *const state_max = (float *)(void *)(part->slots + 0); /* [chunk, r: 64] */
    float *const old_max = (float *)(void *)(part->work + 36864); /* [r: 64] */
    float *const state_sum = (float *)(void *)(part->slots + 256); /* [chunk, r: 64] */
    float *const state = (float *)(void *)(part->slots + 512); /* [chunk, r: 64, e: 64] */
    /* state_max = -FLT_MAX; state_sum = 0.0f */
    for (int64_t r = 0; r < rows; r += 4) {
        store_any(state_max + (chunk - chunk0) * 4224 + r, splat_any(-FLT_MAX));
        store_any(state_sum + (chunk - chunk0) * 4224 + r, splat_any(0.0f));
    }
    /* state = 0.0f */
    for (int64_t r = 0; r < rows; r++) {
        for (int64_t e_first = 0; e_first < 64; e_first += 8) {
            UNROLL for (int64_t vector = 0, e = e_first; vector < 2; vector++, e += 4) {
                store_any(state + (chunk - chunk0) * 4224 + r * 64 + e, splat_any(0.0f));
            }
        }
    }
    for (int64_t j0 = chunk * 1024, j_end = min(min(n_k, (chunk + 1) * 1024), n_q + query_start); j0 < j_end;
        j0 += 128) {
        const int64_t j1 = min(j0 + 128, j_end);
        /* score[r][j] = sum over d of query_turned * k */
        dot3_any(rows, j1 - j0, query_turned, k + j0 * k_row, k_row, score);
        /* old_max = state_max */
        for (int64_t r = 0; r < rows; r += 4) {
            store_any(old_max + r, load_any(state_max + (chunk - chunk0) * 4224 + r));
        }
        if ((query_start + 1) < j1) { /* the tile is partly outside the mask */
            /* score = select(j <= ((r % n_q) + query_start), score, -INFINITY) */
            for (int64_t j = 0; j < j1 - j0; j += 4) {
                const ints_any t_0 = j0 + j + lane_any;
                for (int64_t r = 0; r < rows; r++) {
                    store_any(score + r * 144 + j, pick_any(__builtin_convertvector(t_0 <= ((r % n_q) + query_start),
                        mask_any), load_any(score + r * 144 + j), splat_any(-INFINITY)));
                }
            }
        }
        /* state_max max= score */
        for (int64_t r = 0; r < rows; r++) {
            vec_any lanes_max = splat_any(-INFINITY);
            for (int64_t j = 0; j < j1 - j0; j += 4) {
                const vec_any term = load_any(score + r * 144 + j);
                lanes_max = max_any(lanes_max, j + 4 <= j1 - j0 ? term : pick_any(__builtin_convertvector(j + lane_any <
                    j1 - j0, mask_any), term, splat_any(-INFINITY)));
            }
            const float largest = lane_max_any(lanes_max);
            if (largest > state_max[(chunk - chunk0) * 4224 + r]) state_max[(chunk - chunk0) * 4224 + r] = largest;
        }
        /* old_max = exp2(old_max - state_max); state_sum = state_sum * old_max */
        for (int64_t r = 0; r < rows; r += 4) {
            const vec_any old_max_1 = load_any(old_max + r);
            const vec_any old_max_new2 = exp2_any(old_max_1 - load_any(state_max + (chunk - chunk0) * 4224 + r));
            store_any(old_max + r, old_max_new2);
            store_any(state_sum + (chunk - chunk0) * 4224 + r, load_any(state_sum + (chunk - chunk0) * 4224 + r) *
                old_max_new2);
        }
        /* score = exp2(score - state_max) */
        for (int64_t j = 0; j < j1 - j0; j += 4) {
            for (int64_t r = 0; r < rows; r++) {
                store_any(score + r * 144 + j, exp2_any(load_any(score + r * 144 + j) - (state_max[(chunk - chunk0) *
                    4224 + r])));
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
            state_sum[(chunk - chunk0) * 4224 + r] += total;
        }
        /* state = state * old_max */
        for (int64_t r = 0; r < rows; r++) {
            for (int64_t e_first = 0; e_first < 64; e_first += 8) {
                UNROLL for (int64_t vector = 0, e = e_first; vector < 2; vector++, e += 4) {
                    store_any(state + (chunk - chunk0) * 4224 + r * 64 + e,
                        load_any(state + (chunk - chunk0) * 4224 + r * 64 + e) * old_max[r]);
                }
            }
        }
        /* state[r][e] += sum over j of score * v */
        if (__builtin_expect(((query_start + 1) < j1) && !finite_stored_any(v + j0 * v_row, v_row, j1 - j0, 64),
            0)) { /* infinity and NaN affect only queries that see them */
            float wide[8192];
            for (int64_t t = 0; t < j1 - j0; t++)
                for (int64_t x = 0; x < 64; x += 4)
                    store_any(wide + t * 64 + x, widened_any(v + j0 * v_row + t * v_row, x));
            dot4_any(rows, j1 - j0, score, wide, state + (chunk - chunk0) * 4224);
            for (int64_t r = 0; r < rows; r++) {
                mask_any in_region[32] = {0};
                const int64_t t_3 = (r % n_q) + query_start;
                for (int64_t j = 0; j < j1 - j0; j += 4) {
                    in_region[j / 4] = __builtin_convertvector((j0 + j + lane_any) <= t_3, mask_any);
                }
                add_seen_lanes_any(64, state + (chunk - chunk0) * 4224 + r * 64, score + r * 144, wide, 64, j1 - j0,
                    in_region);
            }
        } else
            dot5_any(rows, j1 - j0, score, v + j0 * v_row, v_row, state + (chunk - chunk0) * 4224);
    }
}

/* Folds the slots of the current chunks, in order, for some elements of the states. */
APART void softmax_causal_bf16_few_fold_any(const struct call *call, int64_t task, const struct part *part,
    int64_t iteration)
{
    (void)task;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t r0 = iteration * 16, r1 = min(r0 + 16, rows);
    const int64_t chunk0 = part->chunk0;
    const int64_t chunk1 = part->chunk1;
    float *const state_max = (float *)(void *)(part->slots + 0); /* [chunk, r: 64] */
    float *const state_sum = (float *)(void *)(part->slots + 256); /* [chunk, r: 64] */
    float *const state = (float *)(void *)(part->slots + 512); /* [chunk, r: 64, e: 64] */
    float *const carried_max = (float *)(void *)(part->shared + 16384); /* [r: 64] */
    float *const carried_factor = (float *)(void *)(part->work + 0); /* [r: 64] */
    float *const slot_factor = (float *)(void *)(part->work + 256); /* [r: 64] */
    float *const carried_sum = (float *)(void *)(part->shared + 16640); /* [r: 64] */
    float *const carried_sum_compensation = (float *)(void *)(part->shared + 33280); /* [r: 64] */
    float *const carried = (float *)(void *)(part->shared + 16896); /* [r: 64, e: 64] */
    float *const carried_compensation = (float *)(void *)(part->shared + 33536); /* [r: 64, e: 64] */
    for (int64_t chunk = chunk0; chunk < chunk1; chunk++) {
        /* before_max = carried_max; carried_max max= state_max; carried_factor = exp2(before_max - carried_max);
           slot_factor = exp2(state_ ... */
        for (int64_t r = r0; r < r1; r += 4) {
            const vec_any carried_max_4 = load_any(carried_max + r);
            const vec_any before_max_new5 = carried_max_4;
            const vec_any state_max_6 = load_any(state_max + (chunk - chunk0) * 4224 + r);
            const vec_any carried_max_new7 = max_any(load_any(carried_max + r), state_max_6);
            store_any(carried_max + r, carried_max_new7);
            const vec_any carried_factor_new8 = exp2_any(before_max_new5 - carried_max_new7);
            store_any(carried_factor + r, carried_factor_new8);
            const vec_any slot_factor_new9 = exp2_any(state_max_6 - carried_max_new7);
            store_any(slot_factor + r, slot_factor_new9);
            const vec_any carried_sum_10 = load_any(carried_sum + r);
            store_any(carried_sum + r, carried_sum_10 * carried_factor_new8);
            store_any(carried_sum_compensation + r, load_any(carried_sum_compensation + r) * carried_factor_new8);
            add_any(carried_sum + r, carried_sum_compensation + r, load_any(state_sum + (chunk - chunk0) * 4224 + r) *
                slot_factor_new9, splat_any(1));
        }
        /* before = carried; carried = carried * carried_factor; carried_compensation = carried_compensation *
           carried_factor; carried += s ... */
        for (int64_t r = r0; r < r1; r++) {
            for (int64_t e_first = 0; e_first < 64; e_first += 8) {
                UNROLL for (int64_t vector = 0, e = e_first; vector < 2; vector++, e += 4) {
                    const vec_any carried_11 = load_any(carried + r * 64 + e);
                    const float carried_factor_12 = carried_factor[r];
                    store_any(carried + r * 64 + e, carried_11 * carried_factor_12);
                    store_any(carried_compensation + r * 64 + e, load_any(carried_compensation + r * 64 + e) *
                        carried_factor_12);
                    add_any(carried + r * 64 + e, carried_compensation + r * 64 + e,
                        load_any(state + (chunk - chunk0) * 4224 + r * 64 + e) * slot_factor[r], splat_any(1));
                }
            }
        }
    }
}

/* Processes a tile of queries: reads the states. */
APART void softmax_causal_bf16_few_queries_any(const struct call *call, int64_t task, const struct part *part,
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
    uint16_t *const out = call->out + b * call->p.out.batch + g * members * call->p.out.head;
    const int64_t out_row = call->p.out.row;
    const int64_t out_head = call->p.out.head;
    /* result = select(carried_sum == 0.0f, 0.0f, carried * (1.0f / carried_sum)) */
    for (int64_t r = r0; r < r1; r++) {
        for (int64_t e_first = 0; e_first < 64; e_first += 8) {
            UNROLL for (int64_t vector = 0, e = e_first; vector < 2; vector++, e += 4) {
                const float carried_sum_13 = carried_sum[r];
                store_any(result + r * 64 + e, (carried_sum_13 == 0.0f) ? splat_any(0.0f) : load_any(carried + r * 64 +
                    e) * (1.0f / carried_sum_13));
            }
        }
    }
    /* out = result */
    for (int64_t r = r0; r < r1; r++)
        for (int64_t e = 0; e < 64; e++)
            out[r / n_q * out_head + r % n_q * out_row + e] = narrowed(result[r * 64 + e]);
}

/* Computes head number `task`. Each thread on the head calls this with its share, `part`. */
static void softmax_causal_bf16_few_any(const struct call *call, int64_t task, struct part *part)
{
    const int64_t n_k = call->p.n_k;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t chunks = n_k > 0 ? (n_k - 1) / 1024 + 1 : 1;
    for (int64_t iteration = part->number; iteration < ((rows + 63) / 64); iteration += part->threads)
        softmax_causal_bf16_few_begin_any(call, task, part, iteration);
    for (int64_t iteration = part->number; iteration < ((rows + 15) / 16); iteration += part->threads)
        softmax_causal_bf16_few_begin_2_any(call, task, part, iteration);
    synchronise(part);
    const int64_t first = 0;
    const int64_t length = segment_length(part, chunks - first);
    for (int64_t segment = part->number; first + segment * length < chunks; segment += part->threads) {
        part->chunk0 = first + segment * length;
        part->chunk1 = min(part->chunk0 + length, chunks);
        for (int64_t iteration = part->chunk0; iteration < part->chunk1; iteration++)
            softmax_causal_bf16_few_keys_any(call, task, part, iteration);
        for (int64_t group = 0; group < 16; group++) {
            await_segment(part, group, segment);
            const int64_t end = (group + 1) * ((rows + 15) / 16) / 16;
            for (int64_t iteration = group * ((rows + 15) / 16) / 16; iteration < end; iteration++)
                softmax_causal_bf16_few_fold_any(call, task, part, iteration);
            pass_segment(part, group, segment);
        }
    }
    part->segments += (max(chunks - first, 0) + length - 1) / length;
    synchronise(part);
    for (int64_t iteration = part->number; iteration < ((rows + 15) / 16); iteration += part->threads)
        softmax_causal_bf16_few_queries_any(call, task, part, iteration);
    synchronise(part);
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
};

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
    (void)n_k;
#if defined(__x86_64__) || defined(ATTN_EMULATE_TILES)
    if (attn_tiles() && attn_avx512_bf16() && attn_x86_64_level() >= 4) {
        if (rows <= 64 && few_pay(n_q, n_k, 16)) return (struct version){.head = softmax_causal_bf16_few_v4bf16amx,
            .tile = 0, .own = 37120, .of_pair = 128, .shared = 49920, .slot = 16896, .slots = 4, .together = 1};
        return (struct version){.rows = softmax_causal_bf16_rows_v4bf16amx, .tile = 512, .own = 217152, .of_pair = 128};
    }
#endif
#if defined(__x86_64__) && !defined(ATTN_EMULATE_TILES)
    if (attn_avx512_bf16() && attn_x86_64_level() >= 4 && (ATTN_SLOWER_TOO || !attn_is_intel())) {
        if (rows <= 64 && few_pay(n_q, n_k, 16)) return (struct version){.head = softmax_causal_bf16_few_v4bf16,
            .tile = 0, .own = 37120, .of_pair = 128, .shared = 49920, .slot = 16896, .slots = 4, .together = 1};
        return (struct version){.rows = softmax_causal_bf16_rows_v4bf16, .tile = 64, .own = 216064, .of_pair = 128};
    }
#endif
#if defined(__x86_64__)
    if (attn_x86_64_level() >= 4) {
        if (rows <= 64 && few_pay(n_q, n_k, 16)) return (struct version){.head = softmax_causal_bf16_few_v4, .tile = 0,
            .own = 37120, .of_pair = 128, .shared = 49920, .slot = 16896, .slots = 4, .together = 1};
        return (struct version){.rows = softmax_causal_bf16_rows_v4, .tile = 256, .own = 261248, .of_pair = 128};
    }
#endif
#if defined(__x86_64__)
    if (attn_x86_64_level() >= 3) {
        if (rows <= 64 && few_pay(n_q, n_k, 8)) return (struct version){.head = softmax_causal_bf16_few_v3, .tile = 0,
            .own = 37120, .of_pair = 128, .shared = 49920, .slot = 16896, .slots = 4, .together = 1};
        return (struct version){.rows = softmax_causal_bf16_rows_v3, .tile = 256, .own = 255040, .of_pair = 128};
    }
#endif
    if (rows <= 64 && few_pay(n_q, n_k, 4)) return (struct version){.head = softmax_causal_bf16_few_any, .tile = 0,
        .own = 37120, .of_pair = 128, .shared = 49920, .slot = 16896, .slots = 4, .together = 1};
    return (struct version){.rows = softmax_causal_bf16_rows_any, .tile = 128, .own = 155200, .of_pair = 128};
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

size_t softmax_causal_bf16_params_size(void)
{
    return 0;
}

int softmax_causal_bf16_params_init(struct softmax_causal_bf16_params *params, uint64_t seed, void *storage)
{
    (void)seed;
    (void)storage;
    if (!params) return ATTN_EPOINTER;
    *params = (struct softmax_causal_bf16_params){0};
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
    const int error = checks(problem, 64, 64, &call->p);
    if (error) return error;
    if (!positions_fit(&call->p)) return ATTN_EPROBLEM;
    call->sharing = sharing_of(&call->p);
    return 0;
}

/* Returns the largest workspace of a thread in bytes, over all versions for up to n_k keys. */
static size_t max_bytes_a_thread(int64_t n_k)
{
    static const int64_t from[] = {0};
    size_t bytes = 0;
    for (size_t k = 0; k < sizeof from / sizeof *from; k++) {
        const struct version few = version(from[k], 0, 0), v = version(from[k], MANY_ROWS, 0);
        if ((k == 0 || from[k] <= n_k) && bytes_a_thread(&few) > bytes) bytes = bytes_a_thread(&few);
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

size_t softmax_causal_bf16_workspace(const struct attn_problem *problem)
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

int softmax_causal_bf16_forward(const struct attn_problem *problem, const struct softmax_causal_bf16_params *params,
    const uint16_t *q, const uint16_t *k, const uint16_t *v,
    uint16_t *out, void *workspace)
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
    const struct version this = version(keys_of_version(&call.p), rows_of(&call.p), call.p.n_q);
    if (!runs(&this)) return ATTN_EMACHINE;
    if (this.in_keys && after_keys(&call.p)) return ATTN_ELENGTH;
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
    return softmax_causal_bf16_params_init((struct softmax_causal_bf16_params *)params, seed, storage);
}

static int forward_any(const struct attn_problem *problem, const void *params, const void *q, const void *k,
    const void *v, void *out, void *workspace)
{
    return softmax_causal_bf16_forward(problem, (const struct softmax_causal_bf16_params *)params, (const uint16_t *)q,
        (const uint16_t *)k, (const uint16_t *)v, (uint16_t *)out, workspace);
}


const struct attn_kernel softmax_causal_bf16_kernel = {
    .name = "softmax_causal_bf16", .version = "0.1.0", .dtype = ATTN_BF16, .head_dim = 64, .value_dim = 64,
    .params = 0, .param = NULL, .params_bytes = sizeof(struct softmax_causal_bf16_params),
    .params_size = softmax_causal_bf16_params_size, .params_init = params_init_any,
        .workspace = softmax_causal_bf16_workspace,
    .forward = forward_any,
    .key_dtype = ATTN_BF16, .value_dtype = ATTN_BF16,
    .before = INT64_MAX, .after = 0, .period = 1, .names_heads = 0,
    .names_sequences = 0, .in_parts = 0,
    .saved_power = 0, .has_sink = 0, .open_keys = 0, .end_of_keys = INT64_MAX,
};
#endif /* a compiler of this language */
