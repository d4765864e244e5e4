/* polysketch_learned_r64_local.c, made by attnc 0.1.0: attnc polysketch_learned_r64_local.yaml
   C11 with GNU extensions, for a C compiler; C++ includes polysketch_learned_r64_local.h.
   polynomial attention of degree 4, a learned sketch of size 64 between blocks and exact inside them
   Kacham, Mirrokni and Zhong, PolySketchFormer (2024), algorithm 2 and section 3.2

   What it computes, over axes b (batch), g (key/value head), m (query head of g), i (query), j (key):
     graph polysketch_learned_r64_local f32
     axis b batch
     axis g kv_heads
     axis m members
     axis i n_q
     axis j n_k
     axis d 64
     axis e 64
     axis r 64
     axis h 512
     %0 = input q [b g m i d]
     %1 = input k [b g j d]
     %2 = input v [b g j e]
     %3 = reduce sum 0 [b g j] %1
     %4 = map [b g j d] sub(%1, mul(%3, 0.015625))
     %5 = map [b g j d] mul(%4, %4)
     %6 = reduce sum 0 [b g j] %5
     %7 = map [b g j] div(1.0, sqrt(add(mul(%6, 0.015625), 1e-05)))
     %8 = map [b g j d] mul(%4, %7)
     %9 = reduce sum 0 [b g m i] %0
     %10 = map [b g m i d] sub(%0, mul(%9, 0.015625))
     %11 = map [b g m i d] mul(%10, %10)
     %12 = reduce sum 0 [b g m i] %11
     %13 = map [b g m i] div(1.0, sqrt(add(mul(%12, 0.015625), 1e-05)))
     %14 = map [b g m i d] mul(%10, %13)
     %15 = reduce sum 0 [b g m i] %14
     %16 = map [b g m i d] sub(%14, mul(%15, 0.015625))
     %17 = map [b g m i d] mul(%16, %16)
     %18 = reduce sum 0 [b g m i] %17
     %19 = map [b g m i] div(1.0, sqrt(add(mul(%18, 0.015625), 1e-05)))
     %20 = param sketch.g1.norm0.weight [d]
     %21 = param sketch.g1.norm0.bias [d]
     %22 = map [b g m i d] add(mul(mul(%16, %19), %20), %21)
     %23 = param sketch.g1.w0 [d h]
     %24 = contract [b g m i h] %22 %23
     %25 = param sketch.g1.w1 [h r]
     %26 = map [b g m i h] mul(mul(%24, 0.5), add(tanh(mul(add(%24, mul(mul(mul(%24, %24), %24), 0.044715)),
     0.7978845608028654)), 1.0))
     %27 = contract [b g m i r] %26 %25
     %28 = reduce sum 0 [b g m i] %27
     %29 = map [b g m i r] sub(%27, mul(%28, 0.015625))
     %30 = map [b g m i r] mul(%29, %29)
     %31 = reduce sum 0 [b g m i] %30
     %32 = map [b g m i] div(1.0, sqrt(add(mul(%31, 0.015625), 1e-05)))
     %33 = param sketch.g1.norm1.weight [r]
     %34 = param sketch.g1.norm1.bias [r]
     %35 = map [b g m i r] add(mul(mul(%29, %32), %33), %34)
     %36 = param sketch.g1.w2 [r h]
     %37 = contract [b g m i h] %35 %36
     %38 = param sketch.g1.w3 [h r]
     %39 = map [b g m i h] mul(mul(%37, 0.5), add(tanh(mul(add(%37, mul(mul(mul(%37, %37), %37), 0.044715)),
     0.7978845608028654)), 1.0))
     %40 = contract [b g m i r] %39 %38
     %41 = reduce sum 0 [b g m i] %14
     %42 = map [b g m i d] sub(%14, mul(%41, 0.015625))
     %43 = map [b g m i d] mul(%42, %42)
     %44 = reduce sum 0 [b g m i] %43
     %45 = map [b g m i] div(1.0, sqrt(add(mul(%44, 0.015625), 1e-05)))
     %46 = param sketch.g2.norm0.weight [d]
     %47 = param sketch.g2.norm0.bias [d]
     %48 = map [b g m i d] add(mul(mul(%42, %45), %46), %47)
     %49 = param sketch.g2.w0 [d h]
     %50 = contract [b g m i h] %48 %49
     %51 = param sketch.g2.w1 [h r]
     %52 = map [b g m i h] mul(mul(%50, 0.5), add(tanh(mul(add(%50, mul(mul(mul(%50, %50), %50), 0.044715)),
     0.7978845608028654)), 1.0))
     %53 = contract [b g m i r] %52 %51
     %54 = reduce sum 0 [b g m i] %53
     %55 = map [b g m i r] sub(%53, mul(%54, 0.015625))
     %56 = map [b g m i r] mul(%55, %55)
     %57 = reduce sum 0 [b g m i] %56
     %58 = map [b g m i] div(1.0, sqrt(add(mul(%57, 0.015625), 1e-05)))
     %59 = param sketch.g2.norm1.weight [r]
     %60 = param sketch.g2.norm1.bias [r]
     %61 = map [b g m i r] add(mul(mul(%55, %58), %59), %60)
     %62 = param sketch.g2.w2 [r h]
     %63 = contract [b g m i h] %61 %62
     %64 = param sketch.g2.w3 [h r]
     %65 = map [b g m i h] mul(mul(%63, 0.5), add(tanh(mul(add(%63, mul(mul(mul(%63, %63), %63), 0.044715)),
     0.7978845608028654)), 1.0))
     %66 = contract [b g m i r] %65 %64
     %67 = map [b g m i r] mul(tanh(mul(mul(%40, %66), 0.125)), 8.0)
     %68 = reduce sum 0 [b g j] %8
     %69 = map [b g j d] sub(%8, mul(%68, 0.015625))
     %70 = map [b g j d] mul(%69, %69)
     %71 = reduce sum 0 [b g j] %70
     %72 = map [b g j] div(1.0, sqrt(add(mul(%71, 0.015625), 1e-05)))
     %73 = map [b g j d] add(mul(mul(%69, %72), %20), %21)
     %74 = contract [b g j h] %73 %23
     %75 = map [b g j h] mul(mul(%74, 0.5), add(tanh(mul(add(%74, mul(mul(mul(%74, %74), %74), 0.044715)),
     0.7978845608028654)), 1.0))
     %76 = contract [b g j r] %75 %25
     %77 = reduce sum 0 [b g j] %76
     %78 = map [b g j r] sub(%76, mul(%77, 0.015625))
     %79 = map [b g j r] mul(%78, %78)
     %80 = reduce sum 0 [b g j] %79
     %81 = map [b g j] div(1.0, sqrt(add(mul(%80, 0.015625), 1e-05)))
     %82 = map [b g j r] add(mul(mul(%78, %81), %33), %34)
     %83 = contract [b g j h] %82 %36
     %84 = map [b g j h] mul(mul(%83, 0.5), add(tanh(mul(add(%83, mul(mul(mul(%83, %83), %83), 0.044715)),
     0.7978845608028654)), 1.0))
     %85 = contract [b g j r] %84 %38
     %86 = reduce sum 0 [b g j] %8
     %87 = map [b g j d] sub(%8, mul(%86, 0.015625))
     %88 = map [b g j d] mul(%87, %87)
     %89 = reduce sum 0 [b g j] %88
     %90 = map [b g j] div(1.0, sqrt(add(mul(%89, 0.015625), 1e-05)))
     %91 = map [b g j d] add(mul(mul(%87, %90), %46), %47)
     %92 = contract [b g j h] %91 %49
     %93 = map [b g j h] mul(mul(%92, 0.5), add(tanh(mul(add(%92, mul(mul(mul(%92, %92), %92), 0.044715)),
     0.7978845608028654)), 1.0))
     %94 = contract [b g j r] %93 %51
     %95 = reduce sum 0 [b g j] %94
     %96 = map [b g j r] sub(%94, mul(%95, 0.015625))
     %97 = map [b g j r] mul(%96, %96)
     %98 = reduce sum 0 [b g j] %97
     %99 = map [b g j] div(1.0, sqrt(add(mul(%98, 0.015625), 1e-05)))
     %100 = map [b g j r] add(mul(mul(%96, %99), %59), %60)
     %101 = contract [b g j h] %100 %62
     %102 = map [b g j h] mul(mul(%101, 0.5), add(tanh(mul(add(%101, mul(mul(mul(%101, %101), %101), 0.044715)),
     0.7978845608028654)), 1.0))
     %103 = contract [b g j r] %102 %64
     %104 = map [b g j r] mul(tanh(mul(mul(%85, %103), 0.125)), 8.0)
     %105 = contract [b g m i j] %67 %104
     %106 = contract [b g m i j] %14 %8
     %107 = map [b g m i j] select(eq(div(sub(add(i, sub(size(j), size(i))), floormod(add(i, sub(size(j), size(i))),
     256)), 256), div(sub(j, floormod(j, 256)), 256)), mul(mul(%106, %106), mul(%106, %106)), mul(%105, %105))
     %108 = reduce sum 0 [b g m i] %107 where le(j, add(i, sub(size(j), size(i))))
     %109 = contract [b g m i e] %107 %2 where le(j, add(i, sub(size(j), size(i))))
     %110 = map [b g m i e] select(eq(add(%108, 1.0), 0.0), 0.0, div(%109, add(%108, 1.0)))
     output %110

   How: a tile of queries, one to a lane, meets the keys tile by tile, so that sums over keys and the running
   maximum need no step across lanes. Sums over a tile of keys start from zero and are added to what came before.
   Keys that no query of the tile sees are skipped.
   Where queries are few, those of all heads that share keys are the rows of one tile, and keys are in the lanes:
   each key is read once, in chunks that threads share out, whose sums are added up in their order.
   Linear from 867 keys on: the weight is an inner product of 2080 features,
   whose sum over keys is a state of 2080 x 65 numbers that queries meet.
     x86-64-v4  quadratic tiles of 32 queries and 96 keys, in blocks of 256 queries; 617216 bytes of workspace a thread
     x86-64-v4  linear    tiles of 64 queries and 64 keys; 1852288 bytes of workspace a thread
     x86-64-v4  few       tiles of 64 queries and 128 keys; 1847296 bytes of workspace a thread
     x86-64-v3  quadratic tiles of 16 queries and 96 keys, in blocks of 256 queries; 613120 bytes of workspace a thread
     x86-64-v3  linear    tiles of 64 queries and 64 keys; 1852288 bytes of workspace a thread
     x86-64-v3  few       tiles of 64 queries and 128 keys; 1847296 bytes of workspace a thread
     generic    quadratic tiles of 16 queries and 96 keys, in blocks of 128 queries; 481024 bytes of workspace a thread
     generic    linear    tiles of 64 queries and 64 keys; 1852288 bytes of workspace a thread
     generic    few       tiles of 64 queries and 128 keys; 1847296 bytes of workspace a thread
   Compile with: cc -O2 -fopenmp polysketch_learned_r64_local.c … -lattnrt -lm */
#ifdef __cplusplus
#error "polysketch_learned_r64_local.c is C, not C++: a C compiler has to compile it"
#endif
#include "polysketch_learned_r64_local.h"

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
#else /* copies for every caller would only double the time that compiling takes */
#define INLINE static inline __attribute__((unused))
#endif
#define APART static __attribute__((noinline))
#define UNROLL _Pragma("GCC unroll 16")
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("fp-contract=fast") /* a * b + c is one operation, also under -std=c11 */
#pragma GCC optimize("no-schedule-insns") /* before registers are given out it would load too far ahead, and spill */
#endif

struct call { /* what every thread needs to know */
    struct attn_problem p;
    const struct polysketch_learned_r64_local_params *params;
    const float *q;
    const float *k;
    const float *v;
    float *out;
};

INLINE int64_t min(int64_t a, int64_t b) { return a < b ? a : b; }
INLINE int64_t max(int64_t a, int64_t b) { return a > b ? a : b; }
INLINE int64_t round_up(int64_t n, int64_t to) { return (n + to - 1) / to * to; }
INLINE int64_t floor_mod(int64_t a, int64_t b) { return (a % b + b) % b; }

/* Waits until another thread has raised the number to that. */
INLINE void await_number(const int64_t *number, int64_t to)
{
    for (int tries = 0; __atomic_load_n(number, __ATOMIC_ACQUIRE) < to; tries++) {
#if defined(__x86_64__)
        __builtin_ia32_pause();
#endif
#if defined(__unix__)
        if (tries >= 1000) sched_yield(); /* it may need this processor */
#endif
    }
}

/* Elements of the states come in groups, so that a thread may fold into the first while the one before it folds into
   the last; how many segments each group has taken in stands on a line of its own. */
enum { NUMBERS_OF_LINE = 8 };

struct part { /* of a thread in the work on a head */
    int64_t number, threads; /* it is thread `number` of these */
    int64_t chunk0, chunk1, window; /* the chunks in its hands, and the most of them */
    int64_t *folded, segments; /* segments of each group of elements, those of heads before this one among them */
    unsigned char *work, *shared, *slots; /* a thread's own memory; that of all of them; that of its chunks */
    const struct attn_team *team; /* what the threads are of; NULL: OpenMP */
};

/* How many chunks a segment has: as many of them for every thread, in no more rounds than the slots ask for. */
INLINE int64_t segment_length(const struct part *part, int64_t chunks)
{
    const int64_t each = (max(chunks, 1) + part->threads - 1) / part->threads,
        rounds = (each + part->window - 1) / part->window;
    return (each + rounds - 1) / rounds;
}

/* Segments are folded into a group of elements in their order. */
INLINE void await_segment(const struct part *part, int64_t group, int64_t segment)
{
    if (part->threads > 1) await_number(part->folded + group * NUMBERS_OF_LINE, part->segments + segment);
}
INLINE void pass_segment(const struct part *part, int64_t group, int64_t segment)
{
    if (part->threads > 1)
        __atomic_store_n(part->folded + group * NUMBERS_OF_LINE, part->segments + segment + 1, __ATOMIC_RELEASE);
}

/* Waits for the others. */
INLINE void meet(const struct part *part)
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

/* 16 elements in a register; mask_v4 compares them, ints_v4 are positions, wide_v4 is for what needs double. */
typedef float vec_v4 __attribute__((vector_size(64)));
typedef float stored_v4 __attribute__((vector_size(64), aligned(sizeof(float)), may_alias)); /* in memory, anywhere */
typedef int32_t mask_v4 __attribute__((vector_size(64)));
typedef int64_t ints_v4 __attribute__((vector_size(128)));
TARGET_v4 INLINE vec_v4 load_v4(const float *p) { return *(const stored_v4 *)(const void *)p; }
TARGET_v4 INLINE void store_v4(float *p, vec_v4 x) { *(stored_v4 *)(void *)p = x; }
TARGET_v4 INLINE vec_v4 splat_v4(float x) { return x - (vec_v4){0}; }

/* a where the mask is set, else b */
TARGET_v4 INLINE vec_v4 pick_v4(mask_v4 m, vec_v4 a, vec_v4 b) { return (vec_v4)((m & (mask_v4)a) | (~m & (mask_v4)b));
    }

static const ints_v4 lane_v4 = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};

/* tanh, within 4 ulp: m / (m + 2) with m = e^(2|x|) - 1 = 2^n (e^r - 1) + (2^n - 1), which does not cancel near 0 */
TARGET_v4 INLINE vec_v4 tanh_v4(vec_v4 x)
{
    const mask_v4 sign = (mask_v4)x & ~0x7fffffff;
    vec_v4 y = (vec_v4)((mask_v4)x & 0x7fffffff) * 2.0f;
    y = pick_v4((mask_v4)(y > 20.0f), splat_v4(20.0f), y);
    const vec_v4 t = y * 1.4426950408889634f + 12582912.0f, n = t - 12582912.0f;
    const vec_v4 r = (y - n * 0.693145751953125f) - n * 1.4286068203094172e-06f;
    vec_v4 p = r * 0.0013926184f + 0.0083631791f;
    p = p * r + 0.041666555f;
    p = p * r + 0.16666577f;
    p = p * r + 0.5f;
    p = p * (r * r) + r;
    const vec_v4 scale = (vec_v4)(((mask_v4)t + 127) << 23);
    const vec_v4 m = scale * p + (scale - 1.0f);
    return (vec_v4)((mask_v4)(m / (m + 2.0f)) | sign);
}

TARGET_v4 INLINE vec_v4 sqrt_v4(vec_v4 x)
{
    vec_v4 y;
    __asm__("vsqrtps %1, %0" : "=v"(y) : "v"(x));
    return y;
}

/* The sum over the lanes. */
TARGET_v4 INLINE float lane_sum_v4(vec_v4 x)
{
    x += __builtin_shufflevector(x, x, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7);
    x += __builtin_shufflevector(x, x, 4, 5, 6, 7, 0, 1, 2, 3, 12, 13, 14, 15, 8, 9, 10, 11);
    x += __builtin_shufflevector(x, x, 2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13);
    x += __builtin_shufflevector(x, x, 1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14);
    return x[0];
}

/* Transposes 16 vectors: the bits of row and column numbers are swapped one by one, as rows exchange the elements
   that are not yet on their side. */
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

/* to[y][x] = from[x][y], in squares, so that every cache line is written whole; rows are fetched 64 rows early. */
TARGET_v4 APART void transpose_v4(const float *from, int64_t from_row, int64_t rows, int64_t columns, float *to,
    int64_t to_row)
{
    const int64_t whole = rows - rows % 16, deep = columns - columns % 16;
    for (int64_t k = 0; k < whole / 16 * (deep / 16); k++) {
        const int64_t row = k / (deep / 16) * 16, column = k % (deep / 16) * 16;
        vec_v4 t[16];
        UNROLL for (int r = 0; r < 16; r++) __builtin_prefetch(from + (row + r + 64) * from_row + column, 0, 2);
        UNROLL for (int r = 0; r < 16; r++) t[r] = load_v4(from + (row + r) * from_row + column);
        exchange_v4(t);
        UNROLL for (int r = 0; r < 16; r++) store_v4(to + (column + r) * to_row + row, t[r]);
    }
    for (int64_t row = 0; row < rows; row++)
        for (int64_t column = row < whole ? deep : 0; column < columns; column++)
            to[column * to_row + row] = from[row * from_row + column];
}
/* *sum becomes *sum * factor + x; *compensation carries what rounding leaves over to the next addition (Kahan). */
TARGET_v4 INLINE void add_v4(float *sum, float *compensation, vec_v4 x, vec_v4 factor)
{
    const vec_v4 old = load_v4(sum) * factor, more = load_v4(compensation) * factor + x, new = old + more;
    store_v4(compensation, more - (new - old));
    store_v4(sum, new);
}

typedef uint32_t bits_v4 __attribute__((vector_size(64), aligned(sizeof(float)), may_alias));
typedef uint32_t bit_v4 __attribute__((may_alias));

/* Whether none of these numbers is infinite or NaN: bits of the exponent that are all set carry into the sign. */
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

/* For each row r < rows: if values[r * step] is infinite or NaN, adds values[r * step] * weights to row r of the sums,
   in the lanes that see it. */
TARGET_v4 APART void add_seen_v4(int64_t rows, float *sum, int64_t sum_row, const float *values, int64_t step,
    const float *weights, const mask_v4 *seen, int64_t lanes)
{
    for (int64_t r = 0; r < rows; r++, sum += sum_row, values += step)
        for (int64_t x = 0; x < lanes && !finite_v4(values, 0, 1, 1); x += 16)
            store_v4(sum + x, pick_v4(seen[x / 16], load_v4(sum + x) + *values * load_v4(weights + x),
                load_v4(sum + x)));
}

/* For each step t that the lanes see: adds weights[t] * values[t][x] to sum[x] where values[t][x] is infinite or NaN.
   */
TARGET_v4 APART void add_seen_lanes_v4(int64_t lanes, float *sum, const float *weights, const float *values,
    int64_t value_row,
    int64_t steps, const mask_v4 *seen)
{
    for (int64_t t = 0; t < steps; t++, values += value_row)
        for (int64_t x = 0; x < lanes && seen[t / 16][t % 16]; x++)
            if (!finite_v4(values + x, 0, 1, 1)) sum[x] += weights[t] * values[x];
}

/* c[r][x] = sum over t of a[r][t] * b[t][x] for up to 6 rows and `vectors` vectors of x, the sums in registers;
   `then` says what becomes of c: 0 the sum, 1 c + sum, 2 c * factor[x] + sum, 3 the same with a compensation.
   `early`, where it is there: how many rows ahead a row of b is asked for at each step, or 0: none is.
   Not all at once, for a core can have only a few lines under way. */
TARGET_v4 INLINE void block_v4(const int rows, const int vectors, int64_t steps, const float *a, int64_t a_row,
    int64_t a_step,
    const float *b, int64_t b_step, float *c, int64_t c_row, const int then,
    const float *factor, float *compensation, const int64_t early)
{
    vec_v4 sum[6][4];
    UNROLL for (int r = 0; r < rows; r++)
        UNROLL for (int v = 0; v < vectors; v++) sum[r][v] = (vec_v4){0};
    for (int64_t t = 0; t < steps; t++, a += a_step, b += b_step) {
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
        const vec_v4 times = then >= 2 && factor ? load_v4(factor + v * 16) : splat_v4(1);
        UNROLL for (int r = 0; r < rows; r++) {
            float *const to = c + r * c_row + v * 16;
            if (then == 3) {
                add_v4(to, compensation + r * c_row + v * 16, sum[r][v], times);
                continue;
            }
            store_v4(to, then == 0 ? sum[r][v] : then == 1 ? load_v4(to) + sum[r][v] : load_v4(to) * times + sum[r][v]);
        }
    }
}

/* Asks for rows of `width` numbers ahead of their use. */
TARGET_v4 INLINE void fetch_v4(int64_t rows, const int64_t width, const float *b, int64_t b_row)
{
    for (int64_t r = 0; r < rows; r++)
        UNROLL for (int64_t x = 0; x < width; x += 64 / (int64_t)sizeof *b)
            __builtin_prefetch(b + r * b_row + x, 0, 3);
}

/* The same; where it sets the sum, more than 2 * `part` terms are summed in parts of `part`: rounding grows with the
   length of one. */
TARGET_v4 INLINE void parts_v4(const int rows, const int vectors, int64_t steps, const int64_t part, const float *a,
    int64_t a_row, int64_t a_step, const float *b, int64_t b_step, float *c, int64_t c_row, const int then,
    const float *factor, float *compensation, const int64_t early)
{
    const int64_t first = then == 0 && steps > 2 * part ? part : steps;
    block_v4(rows, vectors, first, a, a_row, a_step, b, b_step, c, c_row, then,
        factor, compensation, early);
    if (then == 0)
        for (int64_t t = first; t < steps; t += part)
            block_v4(rows, vectors, min(part, steps - t), a + t * a_step, a_row, a_step, b + t * b_step, b_step, c,
                c_row, 1, NULL, NULL, early);
}

/* The same for any number of rows and `lanes` lanes, a multiple of `vectors` vectors; `odd`: rows % 6 if that is
   constant, else -1. */
TARGET_v4 INLINE void dot_early_v4(const int vectors, const int64_t lanes, int64_t rows, const int odd, int64_t steps,
    const int64_t part, const float *a, int64_t a_row, int64_t a_step, const float *b, int64_t b_step, float *c,
        int64_t c_row,
    const int then, const float *factor, float *compensation, const int64_t early)
{
    for (int64_t x = 0; x < lanes; x += vectors * 16) {
        const float *const f = factor ? factor + x : NULL;
        float *const left = compensation ? compensation + x : NULL;
        int64_t r = 0;
        for (; r + 6 <= rows; r += 6)
            parts_v4(6, vectors, steps, part, a + r * a_row, a_row, a_step, b + x, b_step,
                c + r * c_row + x, c_row, then, f, left ? left + r * c_row : NULL, early);
        switch (odd >= 0 ? odd : rows - r) {
        case 5: parts_v4(5, vectors, steps, part, a + r * a_row, a_row, a_step, b + x, b_step, c + r * c_row + x, c_row,
            then, f, left ? left + r * c_row : NULL, early); break;
        case 4: parts_v4(4, vectors, steps, part, a + r * a_row, a_row, a_step, b + x, b_step, c + r * c_row + x, c_row,
            then, f, left ? left + r * c_row : NULL, early); break;
        case 3: parts_v4(3, vectors, steps, part, a + r * a_row, a_row, a_step, b + x, b_step, c + r * c_row + x, c_row,
            then, f, left ? left + r * c_row : NULL, early); break;
        case 2: parts_v4(2, vectors, steps, part, a + r * a_row, a_row, a_step, b + x, b_step, c + r * c_row + x, c_row,
            then, f, left ? left + r * c_row : NULL, early); break;
        case 1: parts_v4(1, vectors, steps, part, a + r * a_row, a_row, a_step, b + x, b_step, c + r * c_row + x, c_row,
            then, f, left ? left + r * c_row : NULL, early); break;
        }
    }
}

/* The same where b is in a cache. */
TARGET_v4 INLINE void dot_v4(const int vectors, const int64_t lanes, int64_t rows, const int odd, int64_t steps,
    const int64_t part, const float *a, int64_t a_row, int64_t a_step, const float *b, int64_t b_step, float *c,
    int64_t c_row, const int then, const float *factor, float *compensation)
{
    dot_early_v4(vectors, lanes, rows, odd, steps, part, a, a_row, a_step, b, b_step, c, c_row, then,
        factor, compensation, 0);
}

/* c[x] += sum over t of a[t] * b[t][x] for up to 8 vectors of x. */
TARGET_v4 INLINE void row_v4(const int vectors, int64_t steps, const float *a, int64_t a_step, const float *b,
    int64_t b_step, float *c)
{
    vec_v4 sum[8];
    UNROLL for (int v = 0; v < vectors; v++) sum[v] = (vec_v4){0};
    for (int64_t t = 0; t < steps; t++, b += b_step)
        UNROLL for (int v = 0; v < vectors; v++) sum[v] += a[t * a_step] * load_v4(b + v * 16);
    UNROLL for (int v = 0; v < vectors; v++) store_v4(c + v * 16, load_v4(c + v * 16) + sum[v]);
}

/* c += the same sum, where b comes from memory: it is asked for early, as in dot_along_v4, and widened, some rows at a
   time. A single row takes 128 lanes at once, and so reads b in the order in which it lies. */
TARGET_v4 INLINE void dot_fetched_v4(const int vectors, const int64_t lanes, int64_t rows, const int odd, int64_t steps,
    const int64_t part, const float *a, int64_t a_row, int64_t a_step, const float *b, int64_t b_step, float *c,
    int64_t c_row, const int then, const float *factor, float *compensation)
{
    for (int64_t t = 0; t < steps; t += 16, a += 16 * a_step, b += 16 * b_step) {
        const int64_t some = min(steps - t, 16);
        if (rows == 1 && then == 1) {
            if (0) fetch_v4(16, lanes, b + 0 * b_step, b_step);
            int64_t x = 0;
            for (; x + 128 <= lanes; x += 128) row_v4(8, some, a, a_step, b + x, b_step, c + x);
            if (lanes % 128) row_v4((int)(lanes % 128 / 16), some, a, a_step, b + x, b_step, c + x);
            continue;
        }
        const float *const from = b;
        const int64_t from_step = b_step;
        dot_early_v4(vectors, lanes, rows, odd, some, part, a, a_row, a_step, from, from_step, c, c_row, then,
            factor, compensation, 0 || rows < 9 ? 0 : 32);
    }
}

/* The same with 0 for what is infinite or NaN in a: row by row, for a copy of few numbers. The last
   of the pairs is whole. */
TARGET_v4 INLINE void dot_finite_v4(const int vectors, const int64_t lanes, int64_t rows, const int odd, int64_t steps,
    const int64_t part, const float *a, int64_t a_row, int64_t a_step, const float *b, int64_t b_step, float *c,
        int64_t c_row,
    const int then, const float *factor, float *compensation)
{
    float row[128];
    (void)odd;
    for (int64_t r = 0; r < rows; r++, a += a_row) {
        for (int64_t t = 0; t < steps; t++)
            for (int k = 0; k < 1; k++)
                row[1 * t + k] = finite_v4(a + t * a_step + k, 0, 1, 1) ? a[t * a_step + k] : 0;
        dot_v4(vectors, lanes, 1, 1, steps, part, row, 0, 1, b, b_step, c + r * c_row, c_row,
            then, factor, compensation ? compensation + r * c_row : NULL);
    }
}

/* The same with 0 for what is infinite or NaN in b: a vector of lanes after the other; `fetched`: by the steps of
   dot_fetched_v4. */
TARGET_v4 INLINE void dot_finite_lanes_v4(const int fetched, const int vectors, const int64_t lanes, int64_t rows,
    const int odd, int64_t steps, const int64_t part, const float *a, int64_t a_row, int64_t a_step, const float *b,
    int64_t b_step, float *c, int64_t c_row, const int then, const float *factor, float *compensation)
{
    float column[128 * 16];
    (void)vectors;
    for (int64_t x = 0; x < lanes; x += 16) {
        for (int64_t t = 0; t < steps; t++)
            for (int64_t k = 0; k < 1 * 16; k++) {
                const float *const p = b + t * b_step + 1 * x + k;
                column[t * 1 * 16 + k] = finite_v4(p, 0, 1, 1) ? *p : 0;
            }
        const int64_t some = fetched ? 16 : steps;
        for (int64_t t = 0; t < steps; t += some)
            dot_v4(1, 16, rows, odd, min(steps - t, some), part, a + t * a_step, a_row, a_step,
                column + t * 1 * 16, 1 * 16, c + x, c_row, then,
                factor ? factor + x : NULL, compensation ? compensation + x : NULL);
    }
}

/* The products of the code below: dot_v4 with what is constant in them. */
TARGET_v4 APART void dot0_v4(const float *a, const float *b, float *c)
{
    dot_v4(2, 32, 512, 2, 64, 32, a, 1, 512, b, 32, c, 32, 0, NULL, NULL);
}
TARGET_v4 APART void dot1_v4(int64_t steps, const float *a, const float *b, float *c)
{
    dot_v4(2, 32, 64, 4, steps, 32, a, 1, 64, b, 32, c, 32, 1, NULL, NULL);
}
TARGET_v4 APART void dot2_v4(int64_t lanes, const float *a, const float *b, float *c)
{
    dot_v4(3, lanes, 512, 2, 64, 32, a, 1, 512, b, 96, c, 96, 0, NULL, NULL);
}
TARGET_v4 APART void dot3_v4(int64_t lanes, int64_t steps, const float *a, const float *b, float *c)
{
    dot_v4(3, lanes, 64, 4, steps, 32, a, 1, 64, b, 96, c, 96, 1, NULL, NULL);
}
TARGET_v4 APART void dot4_v4(int64_t rows, const float *a, const float *b, float *c)
{
    dot_v4(2, 32, rows, -1, 64, 32, a, 1, 96, b, 32, c, 32, 0, NULL, NULL);
}
TARGET_v4 APART void dot5_v4(int64_t steps, const float *a, int64_t a_step, const float *b, float *c,
    float *compensation)
{
    dot_finite_v4(2, 32, 64, 4, steps, 192, a, 1, a_step, b, 32, c, 32, 3, NULL, compensation);
}
TARGET_v4 APART void dot6_v4(int64_t steps, const float *a, int64_t a_step, const float *b, float *c,
    float *compensation)
{
    dot_v4(2, 32, 64, 4, steps, 192, a, 1, a_step, b, 32, c, 32, 3, NULL, compensation);
}
TARGET_v4 APART void dot7_v4(const float *a, const float *b, float *c)
{
    dot_v4(4, 64, 512, 2, 64, 32, a, 1, 512, b, 64, c, 64, 0, NULL, NULL);
}
TARGET_v4 APART void dot8_v4(int64_t steps, const float *a, const float *b, float *c)
{
    dot_v4(4, 64, 64, 4, steps, 32, a, 1, 64, b, 64, c, 64, 1, NULL, NULL);
}
TARGET_v4 APART void dot9_v4(int64_t rows, int64_t steps, const float *a, const float *b, int64_t b_step, float *c)
{
    dot_v4(4, 64, rows, -1, steps, 192, a, 64, 1, b, b_step, c, 64, 1, NULL, NULL);
}
TARGET_v4 APART void dot10_v4(int64_t rows, const float *a, const float *b, float *c)
{
    dot_v4(4, 64, rows, -1, 64, 32, a, 1, 64, b, 64, c, 64, 0, NULL, NULL);
}
TARGET_v4 APART void dot11_v4(int64_t steps, const float *a, int64_t a_step, const float *b, float *c,
    float *compensation)
{
    dot_finite_v4(4, 64, 64, 4, steps, 192, a, 1, a_step, b, 64, c, 64, 3, NULL, compensation);
}
TARGET_v4 APART void dot12_v4(int64_t steps, const float *a, int64_t a_step, const float *b, float *c,
    float *compensation)
{
    dot_v4(4, 64, 64, 4, steps, 192, a, 1, a_step, b, 64, c, 64, 3, NULL, compensation);
}
TARGET_v4 APART void dot13_v4(const float *a, const float *b, float *c)
{
    dot_v4(4, 64, 64, 4, 512, 32, a, 1, 64, b, 64, c, 64, 0, NULL, NULL);
}
TARGET_v4 APART void dot14_v4(int64_t lanes, const float *a, const float *b, float *c)
{
    dot_v4(4, lanes, 512, 2, 64, 32, a, 1, 512, b, 144, c, 144, 0, NULL, NULL);
}
TARGET_v4 APART void dot15_v4(int64_t lanes, int64_t steps, const float *a, const float *b, float *c)
{
    dot_v4(4, lanes, 64, 4, steps, 32, a, 1, 64, b, 144, c, 144, 1, NULL, NULL);
}
TARGET_v4 APART void dot16_v4(int64_t lanes, int64_t rows, const float *a, const float *b, float *c)
{
    dot_v4(4, lanes, rows, -1, 64, 32, a, 1, 64, b, 144, c, 144, 0, NULL, NULL);
}
TARGET_v4 APART void dot17_v4(int64_t rows, int64_t steps, const float *a, const float *b, int64_t b_step, float *c)
{
    dot_finite_lanes_v4(1, 4, 64, rows, -1, steps, 192, a, 144, 1, b, b_step, c, 64, 1, NULL, NULL);
}
TARGET_v4 APART void dot18_v4(int64_t rows, int64_t steps, const float *a, const float *b, int64_t b_step, float *c)
{
    dot_fetched_v4(4, 64, rows, -1, steps, 192, a, 144, 1, b, b_step, c, 64, 1, NULL, NULL);
}

/* Task number `task`: one tile of queries of one head; `work` is the thread's part of the workspace. */
TARGET_v4 static void polysketch_learned_r64_local_rows_v4(const struct call *call, int64_t task, unsigned char *work)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_q = call->p.n_q;
    const int64_t n_k = call->p.n_k;
    const int64_t tiles = (n_q + 255) / 256, i0 = (tiles - 1 - task % tiles) * 256, i1 = min(i0 + 256, n_q);
    const int64_t m = task / tiles % members;
    const int64_t g = task / tiles / members % kv_heads;
    const int64_t b = task / tiles / members / kv_heads;
    const float *const q = call->q + b * call->p.q.batch + (g * members + m) * call->p.q.head;
    const int64_t q_row = call->p.q.row;
    const float *const k = call->k + b * call->p.k.batch + g * call->p.k.head;
    const int64_t k_row = call->p.k.row;
    const float *const v = call->v + b * call->p.v.batch + g * call->p.v.head;
    const int64_t v_row = call->p.v.row;
    const float *const sketch_g1_norm0_weight = call->params->sketch_g1_norm0_weight;
    const float *const sketch_g1_norm0_bias = call->params->sketch_g1_norm0_bias;
    const float *const sketch_g1_w0 = call->params->sketch_g1_w0;
    const float *const sketch_g1_w1 = call->params->sketch_g1_w1;
    const float *const sketch_g1_norm1_weight = call->params->sketch_g1_norm1_weight;
    const float *const sketch_g1_norm1_bias = call->params->sketch_g1_norm1_bias;
    const float *const sketch_g1_w2 = call->params->sketch_g1_w2;
    const float *const sketch_g1_w3 = call->params->sketch_g1_w3;
    const float *const sketch_g2_norm0_weight = call->params->sketch_g2_norm0_weight;
    const float *const sketch_g2_norm0_bias = call->params->sketch_g2_norm0_bias;
    const float *const sketch_g2_w0 = call->params->sketch_g2_w0;
    const float *const sketch_g2_w1 = call->params->sketch_g2_w1;
    const float *const sketch_g2_norm1_weight = call->params->sketch_g2_norm1_weight;
    const float *const sketch_g2_norm1_bias = call->params->sketch_g2_norm1_bias;
    const float *const sketch_g2_w2 = call->params->sketch_g2_w2;
    const float *const sketch_g2_w3 = call->params->sketch_g2_w3;
    float *const key = (float *)(void *)(work + 0); /* [j: 96] */
    float *const key_3 = (float *)(void *)(work + 384); /* [j: 96] */
    float *const query = (float *)(void *)(work + 0); /* [i: 32] */
    float *const query_3 = (float *)(void *)(work + 128); /* [i: 32] */
    float *const all_query_4 = (float *)(void *)(work + 768); /* [d: 64, i: 32, 8 times] */
    float *const query_5 = (float *)(void *)(work + 0); /* [i: 32] */
    float *const query_6 = (float *)(void *)(work + 66304); /* [d: 64, i: 32] */
    float *const query_7 = (float *)(void *)(work + 128); /* [i: 32] */
    float *const query_9 = (float *)(void *)(work + 74496); /* [d: 64, i: 32] */
    float *const query_10 = (float *)(void *)(work + 82688); /* [h: 512, i: 32] */
    float *const query_11 = (float *)(void *)(work + 148224); /* [h: 192, i: 32] */
    float *const query_12 = (float *)(void *)(work + 74496); /* [r: 64, i: 32] */
    float *const query_13 = (float *)(void *)(work + 0); /* [i: 32] */
    float *const query_15 = (float *)(void *)(work + 256); /* [i: 32] */
    float *const query_17 = (float *)(void *)(work + 82688); /* [h: 512, i: 32] */
    float *const query_18 = (float *)(void *)(work + 148224); /* [h: 192, i: 32] */
    float *const query_19 = (float *)(void *)(work + 74496); /* [r: 64, i: 32] */
    float *const query_21 = (float *)(void *)(work + 82688); /* [h: 512, i: 32] */
    float *const query_22 = (float *)(void *)(work + 148224); /* [h: 192, i: 32] */
    float *const query_23 = (float *)(void *)(work + 66304); /* [r: 64, i: 32] */
    float *const query_24 = (float *)(void *)(work + 0); /* [i: 32] */
    float *const query_26 = (float *)(void *)(work + 128); /* [i: 32] */
    float *const query_28 = (float *)(void *)(work + 82688); /* [h: 512, i: 32] */
    float *const query_29 = (float *)(void *)(work + 148224); /* [h: 192, i: 32] */
    float *const query_30 = (float *)(void *)(work + 66304); /* [r: 64, i: 32] */
    float *const all_query_31 = (float *)(void *)(work + 172800); /* [r: 64, i: 32, 8 times] */
    float *const key_5 = (float *)(void *)(work + 0); /* [j: 96] */
    float *const key_6 = (float *)(void *)(work + 66304); /* [d: 64, j: 96] */
    float *const key_7 = (float *)(void *)(work + 384); /* [j: 96] */
    float *const key_9 = (float *)(void *)(work + 90880); /* [d: 64, j: 96] */
    float *const key_10 = (float *)(void *)(work + 238336); /* [h: 512, j: 96] */
    float *const key_11 = (float *)(void *)(work + 90880); /* [h: 192, j: 96] */
    float *const key_12 = (float *)(void *)(work + 434944); /* [r: 64, j: 96] */
    float *const key_13 = (float *)(void *)(work + 0); /* [j: 96] */
    float *const key_15 = (float *)(void *)(work + 90880); /* [j: 96] */
    float *const key_17 = (float *)(void *)(work + 238336); /* [h: 512, j: 96] */
    float *const key_18 = (float *)(void *)(work + 90880); /* [h: 192, j: 96] */
    float *const key_19 = (float *)(void *)(work + 434944); /* [r: 64, j: 96] */
    float *const key_21 = (float *)(void *)(work + 238336); /* [h: 512, j: 96] */
    float *const key_22 = (float *)(void *)(work + 66304); /* [h: 192, j: 96] */
    float *const key_23 = (float *)(void *)(work + 140032); /* [r: 64, j: 96] */
    float *const key_24 = (float *)(void *)(work + 0); /* [j: 96] */
    float *const key_26 = (float *)(void *)(work + 384); /* [j: 96] */
    float *const key_28 = (float *)(void *)(work + 238336); /* [h: 512, j: 96] */
    float *const key_29 = (float *)(void *)(work + 66304); /* [h: 192, j: 96] */
    float *const key_30 = (float *)(void *)(work + 140032); /* [r: 64, j: 96] */
    float *const score = (float *)(void *)(work + 66304); /* [j: 96, i: 32] */
    float *const score_2 = (float *)(void *)(work + 78592); /* [j: 96, i: 32] */
    float *const all_row_sum = (float *)(void *)(work + 459520); /* [i: 32, 8 times] */
    float *const all_row_sum_compensation = (float *)(void *)(work + 460544); /* [i: 32, 8 times] */
    float *const all_sum = (float *)(void *)(work + 461568); /* [e: 64, i: 32, 8 times] */
    float *const all_sum_compensation = (float *)(void *)(work + 527104); /* [e: 64, i: 32, 8 times] */
    float *const result = (float *)(void *)(work + 0); /* [e: 64, i: 32] */
    float *const out = call->out + b * call->p.out.batch + (g * members + m) * call->p.out.head;
    const int64_t out_row = call->p.out.row;
    float *const q_tile = (float *)(void *)(work + 66304); /* [d: 64, i: 32] */
    float *const k_tile = (float *)(void *)(work + 592640); /* [d: 64, j: 96] */
    for (int64_t i_next = i0, i_block = i0, i_end = i1; i_next < i_end; i_next += 32) {
        const int64_t i0 = i_next, i1 = min(i0 + 32, i_end);
        float *const query_4 = all_query_4 + (i0 - i_block) / 32 * 2048;
        float *const query_31 = all_query_31 + (i0 - i_block) / 32 * 2048;
        float *const row_sum = all_row_sum + (i0 - i_block) / 32 * 32;
        float *const row_sum_compensation = all_row_sum_compensation + (i0 - i_block) / 32 * 32;
        float *const sum = all_sum + (i0 - i_block) / 32 * 2048;
        float *const sum_compensation = all_sum_compensation + (i0 - i_block) / 32 * 2048;
        /* q_tile = q, with zeros beyond the last row */
        transpose_v4(q + i0 * q_row, q_row, i1 - i0, 64, q_tile, 32);
        for (int64_t i = i1 - i0; i < round_up(i1 - i0, 16); i++)
            for (int64_t d = 0; d < 64; d++) q_tile[d * 32 + i] = 0;
        /* query = 0.0f */
        for (int64_t i = 0; i < i1 - i0; i += 16) {
            store_v4(query + i, splat_v4(0.0f));
        }
        /* query += q_tile */
        for (int64_t i_first = 0; i_first < i1 - i0; i_first += 32) {
            vec_v4 query_in[2];
            UNROLL for (int64_t u = 0, i = i_first; u < 2; u++, i += 16) {
                query_in[u] = (vec_v4){0};
            }
            for (int64_t d = 0; d < 64; d++) {
                UNROLL for (int64_t u = 0, i = i_first; u < 2; u++, i += 16) {
                    query_in[u] += load_v4(q_tile + d * 32 + i);
                }
            }
            UNROLL for (int64_t u = 0, i = i_first; u < 2; u++, i += 16) {
                store_v4(query + i, load_v4(query + i) + query_in[u]);
            }
        }
        /* query_3 = 0.0f */
        for (int64_t i = 0; i < i1 - i0; i += 16) {
            store_v4(query_3 + i, splat_v4(0.0f));
        }
        /* q_tile = q_tile - (query * 0.015625f); query_3 += q_tile * q_tile */
        for (int64_t i = 0; i < i1 - i0; i += 16) {
            const vec_v4 t_1 = load_v4(query + i) * 0.015625f;
            vec_v4 query_3_in = (vec_v4){0};
            for (int64_t d = 0; d < 64; d++) {
                const vec_v4 q_tile_0 = load_v4(q_tile + d * 32 + i);
                const vec_v4 q_tile_new2 = q_tile_0 - t_1;
                store_v4(q_tile + d * 32 + i, q_tile_new2);
                query_3_in += q_tile_new2 * q_tile_new2;
            }
            store_v4(query_3 + i, load_v4(query_3 + i) + query_3_in);
        }
        /* query_5 = 0.0f */
        for (int64_t i = 0; i < i1 - i0; i += 16) {
            store_v4(query_5 + i, splat_v4(0.0f));
        }
        /* query_4 = q_tile * (1.0f / sqrt((query_3 * 0.015625f) + 1e-05f)); query_5 += query_4 */
        for (int64_t i = 0; i < i1 - i0; i += 16) {
            const vec_v4 t_3 = 1.0f / sqrt_v4((load_v4(query_3 + i) * 0.015625f) + 1e-05f);
            vec_v4 query_5_in = (vec_v4){0};
            for (int64_t d = 0; d < 64; d++) {
                const vec_v4 query_4_new4 = load_v4(q_tile + d * 32 + i) * t_3;
                store_v4(query_4 + d * 32 + i, query_4_new4);
                query_5_in += query_4_new4;
            }
            store_v4(query_5 + i, load_v4(query_5 + i) + query_5_in);
        }
        /* query_7 = 0.0f */
        for (int64_t i = 0; i < i1 - i0; i += 16) {
            store_v4(query_7 + i, splat_v4(0.0f));
        }
        /* query_6 = query_4 - (query_5 * 0.015625f); query_7 += query_6 * query_6 */
        for (int64_t i = 0; i < i1 - i0; i += 16) {
            const vec_v4 t_5 = load_v4(query_5 + i) * 0.015625f;
            vec_v4 query_7_in = (vec_v4){0};
            for (int64_t d = 0; d < 64; d++) {
                const vec_v4 query_6_new6 = load_v4(query_4 + d * 32 + i) - t_5;
                store_v4(query_6 + d * 32 + i, query_6_new6);
                query_7_in += query_6_new6 * query_6_new6;
            }
            store_v4(query_7 + i, load_v4(query_7 + i) + query_7_in);
        }
        /* query_7 = 1.0f / sqrt((query_7 * 0.015625f) + 1e-05f) */
        for (int64_t i = 0; i < i1 - i0; i += 16) {
            store_v4(query_7 + i, 1.0f / sqrt_v4((load_v4(query_7 + i) * 0.015625f) + 1e-05f));
        }
        /* query_9 = ((query_6 * query_7) * sketch.g1.norm0.weight) + sketch.g1.norm0.bias */
        for (int64_t i = 0; i < i1 - i0; i += 16) {
            const vec_v4 query_7_7 = load_v4(query_7 + i);
            for (int64_t d = 0; d < 64; d++) {
                store_v4(query_9 + d * 32 + i, ((load_v4(query_6 + d * 32 + i) * query_7_7) * sketch_g1_norm0_weight[d])
                    + sketch_g1_norm0_bias[d]);
            }
        }
        /* query_10[h][i] = sum over d of sketch_g1_w0 * query_9 */
        dot0_v4(sketch_g1_w0, query_9, query_10);
        /* query_12 = 0.0f */
        for (int64_t i_first = 0; i_first < i1 - i0; i_first += 32) {
            for (int64_t r = 0; r < 64; r++) {
                UNROLL for (int64_t u = 0, i = i_first; u < 2; u++, i += 16) {
                    store_v4(query_12 + r * 32 + i, splat_v4(0.0f));
                }
            }
        }
        for (int64_t h0 = 0, h_end = 512; h0 < h_end; h0 += 192) {
            const int64_t h1 = min(h0 + 192, h_end);
            /* query_11 = (query_10 * 0.5f) * (tanh((query_10 + (((query_10 * query_10) * query_10) * 0.044715f)) *
               0.7978846f) + 1.0f) */
            for (int64_t i = 0; i < i1 - i0; i += 16) {
                for (int64_t h = h0; h < h1; h++) {
                    const vec_v4 query_10_8 = load_v4(query_10 + h * 32 + i);
                    store_v4(query_11 + (h - h0) * 32 + i, (query_10_8 * 0.5f) * (tanh_v4((query_10_8 + (((query_10_8 *
                        query_10_8) * query_10_8) * 0.044715f)) * 0.7978846f) + 1.0f));
                }
            }
            /* query_12[r][i] += sum over h of sketch_g1_w1 * query_11 */
            dot1_v4(h1 - h0, sketch_g1_w1 + h0 * 64, query_11, query_12);
        }
        /* query_13 = 0.0f */
        for (int64_t i = 0; i < i1 - i0; i += 16) {
            store_v4(query_13 + i, splat_v4(0.0f));
        }
        /* query_13 += query_12 */
        for (int64_t i_first = 0; i_first < i1 - i0; i_first += 32) {
            vec_v4 query_13_in[2];
            UNROLL for (int64_t u = 0, i = i_first; u < 2; u++, i += 16) {
                query_13_in[u] = (vec_v4){0};
            }
            for (int64_t r = 0; r < 64; r++) {
                UNROLL for (int64_t u = 0, i = i_first; u < 2; u++, i += 16) {
                    query_13_in[u] += load_v4(query_12 + r * 32 + i);
                }
            }
            UNROLL for (int64_t u = 0, i = i_first; u < 2; u++, i += 16) {
                store_v4(query_13 + i, load_v4(query_13 + i) + query_13_in[u]);
            }
        }
        /* query_15 = 0.0f */
        for (int64_t i = 0; i < i1 - i0; i += 16) {
            store_v4(query_15 + i, splat_v4(0.0f));
        }
        /* query_12 = query_12 - (query_13 * 0.015625f); query_15 += query_12 * query_12 */
        for (int64_t i = 0; i < i1 - i0; i += 16) {
            const vec_v4 t_10 = load_v4(query_13 + i) * 0.015625f;
            vec_v4 query_15_in = (vec_v4){0};
            for (int64_t r = 0; r < 64; r++) {
                const vec_v4 query_12_9 = load_v4(query_12 + r * 32 + i);
                const vec_v4 query_12_new11 = query_12_9 - t_10;
                store_v4(query_12 + r * 32 + i, query_12_new11);
                query_15_in += query_12_new11 * query_12_new11;
            }
            store_v4(query_15 + i, load_v4(query_15 + i) + query_15_in);
        }
        /* query_12 = ((query_12 * (1.0f / sqrt((query_15 * 0.015625f) + 1e-05f))) * sketch.g1.norm1.weight) +
           sketch.g1.norm1.bias */
        for (int64_t i = 0; i < i1 - i0; i += 16) {
            const vec_v4 t_12 = 1.0f / sqrt_v4((load_v4(query_15 + i) * 0.015625f) + 1e-05f);
            for (int64_t r = 0; r < 64; r++) {
                store_v4(query_12 + r * 32 + i, ((load_v4(query_12 + r * 32 + i) * t_12) * sketch_g1_norm1_weight[r]) +
                    sketch_g1_norm1_bias[r]);
            }
        }
        /* query_17[h][i] = sum over r of sketch_g1_w2 * query_12 */
        dot0_v4(sketch_g1_w2, query_12, query_17);
        /* query_19 = 0.0f */
        for (int64_t i_first = 0; i_first < i1 - i0; i_first += 32) {
            for (int64_t r = 0; r < 64; r++) {
                UNROLL for (int64_t u = 0, i = i_first; u < 2; u++, i += 16) {
                    store_v4(query_19 + r * 32 + i, splat_v4(0.0f));
                }
            }
        }
        {
            for (int64_t h0 = 0, h_end = 512; h0 < h_end; h0 += 192) {
                const int64_t h1 = min(h0 + 192, h_end);
                /* query_18 = (query_17 * 0.5f) * (tanh((query_17 + (((query_17 * query_17) * query_17) * 0.044715f)) *
                   0.7978846f) + 1.0f) */
                for (int64_t i = 0; i < i1 - i0; i += 16) {
                    for (int64_t h = h0; h < h1; h++) {
                        const vec_v4 query_17_13 = load_v4(query_17 + h * 32 + i);
                        store_v4(query_18 + (h - h0) * 32 + i, (query_17_13 * 0.5f) * (tanh_v4((query_17_13 +
                            (((query_17_13 * query_17_13) * query_17_13) * 0.044715f)) * 0.7978846f) + 1.0f));
                    }
                }
                /* query_19[r][i] += sum over h of sketch_g1_w3 * query_18 */
                dot1_v4(h1 - h0, sketch_g1_w3 + h0 * 64, query_18, query_19);
            }
        }
        /* query_6 = ((query_6 * query_7) * sketch.g2.norm0.weight) + sketch.g2.norm0.bias */
        for (int64_t i = 0; i < i1 - i0; i += 16) {
            const vec_v4 query_7_14 = load_v4(query_7 + i);
            for (int64_t d = 0; d < 64; d++) {
                store_v4(query_6 + d * 32 + i, ((load_v4(query_6 + d * 32 + i) * query_7_14) *
                    sketch_g2_norm0_weight[d]) + sketch_g2_norm0_bias[d]);
            }
        }
        /* query_21[h][i] = sum over d of sketch_g2_w0 * query_6 */
        dot0_v4(sketch_g2_w0, query_6, query_21);
        /* query_23 = 0.0f */
        for (int64_t i_first = 0; i_first < i1 - i0; i_first += 32) {
            for (int64_t r = 0; r < 64; r++) {
                UNROLL for (int64_t u = 0, i = i_first; u < 2; u++, i += 16) {
                    store_v4(query_23 + r * 32 + i, splat_v4(0.0f));
                }
            }
        }
        {
            for (int64_t h0 = 0, h_end = 512; h0 < h_end; h0 += 192) {
                const int64_t h1 = min(h0 + 192, h_end);
                /* query_22 = (query_21 * 0.5f) * (tanh((query_21 + (((query_21 * query_21) * query_21) * 0.044715f)) *
                   0.7978846f) + 1.0f) */
                for (int64_t i = 0; i < i1 - i0; i += 16) {
                    for (int64_t h = h0; h < h1; h++) {
                        const vec_v4 query_21_15 = load_v4(query_21 + h * 32 + i);
                        store_v4(query_22 + (h - h0) * 32 + i, (query_21_15 * 0.5f) * (tanh_v4((query_21_15 +
                            (((query_21_15 * query_21_15) * query_21_15) * 0.044715f)) * 0.7978846f) + 1.0f));
                    }
                }
                /* query_23[r][i] += sum over h of sketch_g2_w1 * query_22 */
                dot1_v4(h1 - h0, sketch_g2_w1 + h0 * 64, query_22, query_23);
            }
        }
        /* query_24 = 0.0f */
        for (int64_t i = 0; i < i1 - i0; i += 16) {
            store_v4(query_24 + i, splat_v4(0.0f));
        }
        /* query_24 += query_23 */
        for (int64_t i_first = 0; i_first < i1 - i0; i_first += 32) {
            vec_v4 query_24_in[2];
            UNROLL for (int64_t u = 0, i = i_first; u < 2; u++, i += 16) {
                query_24_in[u] = (vec_v4){0};
            }
            for (int64_t r = 0; r < 64; r++) {
                UNROLL for (int64_t u = 0, i = i_first; u < 2; u++, i += 16) {
                    query_24_in[u] += load_v4(query_23 + r * 32 + i);
                }
            }
            UNROLL for (int64_t u = 0, i = i_first; u < 2; u++, i += 16) {
                store_v4(query_24 + i, load_v4(query_24 + i) + query_24_in[u]);
            }
        }
        /* query_26 = 0.0f */
        for (int64_t i = 0; i < i1 - i0; i += 16) {
            store_v4(query_26 + i, splat_v4(0.0f));
        }
        /* query_23 = query_23 - (query_24 * 0.015625f); query_26 += query_23 * query_23 */
        for (int64_t i = 0; i < i1 - i0; i += 16) {
            const vec_v4 t_17 = load_v4(query_24 + i) * 0.015625f;
            vec_v4 query_26_in = (vec_v4){0};
            for (int64_t r = 0; r < 64; r++) {
                const vec_v4 query_23_16 = load_v4(query_23 + r * 32 + i);
                const vec_v4 query_23_new18 = query_23_16 - t_17;
                store_v4(query_23 + r * 32 + i, query_23_new18);
                query_26_in += query_23_new18 * query_23_new18;
            }
            store_v4(query_26 + i, load_v4(query_26 + i) + query_26_in);
        }
        /* query_23 = ((query_23 * (1.0f / sqrt((query_26 * 0.015625f) + 1e-05f))) * sketch.g2.norm1.weight) +
           sketch.g2.norm1.bias */
        for (int64_t i = 0; i < i1 - i0; i += 16) {
            const vec_v4 t_19 = 1.0f / sqrt_v4((load_v4(query_26 + i) * 0.015625f) + 1e-05f);
            for (int64_t r = 0; r < 64; r++) {
                store_v4(query_23 + r * 32 + i, ((load_v4(query_23 + r * 32 + i) * t_19) * sketch_g2_norm1_weight[r]) +
                    sketch_g2_norm1_bias[r]);
            }
        }
        /* query_28[h][i] = sum over r of sketch_g2_w2 * query_23 */
        dot0_v4(sketch_g2_w2, query_23, query_28);
        /* query_30 = 0.0f */
        for (int64_t i_first = 0; i_first < i1 - i0; i_first += 32) {
            for (int64_t r = 0; r < 64; r++) {
                UNROLL for (int64_t u = 0, i = i_first; u < 2; u++, i += 16) {
                    store_v4(query_30 + r * 32 + i, splat_v4(0.0f));
                }
            }
        }
        {
            for (int64_t h0 = 0, h_end = 512; h0 < h_end; h0 += 192) {
                const int64_t h1 = min(h0 + 192, h_end);
                /* query_29 = (query_28 * 0.5f) * (tanh((query_28 + (((query_28 * query_28) * query_28) * 0.044715f)) *
                   0.7978846f) + 1.0f) */
                for (int64_t i = 0; i < i1 - i0; i += 16) {
                    for (int64_t h = h0; h < h1; h++) {
                        const vec_v4 query_28_20 = load_v4(query_28 + h * 32 + i);
                        store_v4(query_29 + (h - h0) * 32 + i, (query_28_20 * 0.5f) * (tanh_v4((query_28_20 +
                            (((query_28_20 * query_28_20) * query_28_20) * 0.044715f)) * 0.7978846f) + 1.0f));
                    }
                }
                /* query_30[r][i] += sum over h of sketch_g2_w3 * query_29 */
                dot1_v4(h1 - h0, sketch_g2_w3 + h0 * 64, query_29, query_30);
            }
        }
        /* query_31 = tanh((query_19 * query_30) * 0.125f) * 8.0f */
        for (int64_t i = 0; i < i1 - i0; i += 16) {
            for (int64_t r = 0; r < 64; r++) {
                store_v4(query_31 + r * 32 + i, tanh_v4((load_v4(query_19 + r * 32 + i) * load_v4(query_30 + r * 32 +
                    i)) * 0.125f) * 8.0f);
            }
        }
        /* row_sum = 0.0f; row_sum_compensation = 0.0f */
        for (int64_t i = 0; i < i1 - i0; i += 16) {
            store_v4(row_sum + i, splat_v4(0.0f));
            store_v4(row_sum_compensation + i, splat_v4(0.0f));
        }
        /* sum = 0.0f; sum_compensation = 0.0f */
        for (int64_t i_first = 0; i_first < i1 - i0; i_first += 32) {
            for (int64_t e = 0; e < 64; e++) {
                UNROLL for (int64_t u = 0, i = i_first; u < 2; u++, i += 16) {
                    store_v4(sum + e * 32 + i, splat_v4(0.0f));
                    store_v4(sum_compensation + e * 32 + i, splat_v4(0.0f));
                }
            }
        }
    }
    for (int64_t j0 = 0, j_end = min(n_k, i1 + n_k - n_q); j0 < j_end; j0 += 96) {
        const int64_t j1 = min(j0 + 96, j_end);
        /* k_tile = k, with zeros beyond the last row */
        transpose_v4(k + j0 * k_row, k_row, j1 - j0, 64, k_tile, 96);
        for (int64_t j = j1 - j0; j < round_up(j1 - j0, 16); j++)
            for (int64_t d = 0; d < 64; d++) k_tile[d * 96 + j] = 0;
        /* key = 0.0f */
        for (int64_t j = 0; j < j1 - j0; j += 16) {
            store_v4(key + j, splat_v4(0.0f));
        }
        /* key += k_tile */
        for (int64_t j_first = 0; j_first < j1 - j0; j_first += 48) {
            vec_v4 key_in[3];
            UNROLL for (int64_t u = 0, j = j_first; u < 3; u++, j += 16) {
                key_in[u] = (vec_v4){0};
            }
            for (int64_t d = 0; d < 64; d++) {
                UNROLL for (int64_t u = 0, j = j_first; u < 3; u++, j += 16) {
                    key_in[u] += load_v4(k_tile + d * 96 + j);
                }
            }
            UNROLL for (int64_t u = 0, j = j_first; u < 3; u++, j += 16) {
                store_v4(key + j, load_v4(key + j) + key_in[u]);
            }
        }
        /* key_3 = 0.0f */
        for (int64_t j = 0; j < j1 - j0; j += 16) {
            store_v4(key_3 + j, splat_v4(0.0f));
        }
        /* k_tile = k_tile - (key * 0.015625f); key_3 += k_tile * k_tile */
        for (int64_t j = 0; j < j1 - j0; j += 16) {
            const vec_v4 t_22 = load_v4(key + j) * 0.015625f;
            vec_v4 key_3_in = (vec_v4){0};
            for (int64_t d = 0; d < 64; d++) {
                const vec_v4 k_tile_21 = load_v4(k_tile + d * 96 + j);
                const vec_v4 k_tile_new23 = k_tile_21 - t_22;
                store_v4(k_tile + d * 96 + j, k_tile_new23);
                key_3_in += k_tile_new23 * k_tile_new23;
            }
            store_v4(key_3 + j, load_v4(key_3 + j) + key_3_in);
        }
        /* key_5 = 0.0f */
        for (int64_t j = 0; j < j1 - j0; j += 16) {
            store_v4(key_5 + j, splat_v4(0.0f));
        }
        /* k_tile = k_tile * (1.0f / sqrt((key_3 * 0.015625f) + 1e-05f)); key_5 += k_tile */
        for (int64_t j = 0; j < j1 - j0; j += 16) {
            const vec_v4 t_25 = 1.0f / sqrt_v4((load_v4(key_3 + j) * 0.015625f) + 1e-05f);
            vec_v4 key_5_in = (vec_v4){0};
            for (int64_t d = 0; d < 64; d++) {
                const vec_v4 k_tile_24 = load_v4(k_tile + d * 96 + j);
                const vec_v4 k_tile_new26 = k_tile_24 * t_25;
                store_v4(k_tile + d * 96 + j, k_tile_new26);
                key_5_in += k_tile_new26;
            }
            store_v4(key_5 + j, load_v4(key_5 + j) + key_5_in);
        }
        /* key_7 = 0.0f */
        for (int64_t j = 0; j < j1 - j0; j += 16) {
            store_v4(key_7 + j, splat_v4(0.0f));
        }
        /* key_6 = k_tile - (key_5 * 0.015625f); key_7 += key_6 * key_6 */
        for (int64_t j = 0; j < j1 - j0; j += 16) {
            const vec_v4 t_27 = load_v4(key_5 + j) * 0.015625f;
            vec_v4 key_7_in = (vec_v4){0};
            for (int64_t d = 0; d < 64; d++) {
                const vec_v4 key_6_new28 = load_v4(k_tile + d * 96 + j) - t_27;
                store_v4(key_6 + d * 96 + j, key_6_new28);
                key_7_in += key_6_new28 * key_6_new28;
            }
            store_v4(key_7 + j, load_v4(key_7 + j) + key_7_in);
        }
        /* key_7 = 1.0f / sqrt((key_7 * 0.015625f) + 1e-05f) */
        for (int64_t j = 0; j < j1 - j0; j += 16) {
            store_v4(key_7 + j, 1.0f / sqrt_v4((load_v4(key_7 + j) * 0.015625f) + 1e-05f));
        }
        /* key_9 = ((key_6 * key_7) * sketch.g1.norm0.weight) + sketch.g1.norm0.bias */
        for (int64_t j = 0; j < j1 - j0; j += 16) {
            const vec_v4 key_7_29 = load_v4(key_7 + j);
            for (int64_t d = 0; d < 64; d++) {
                store_v4(key_9 + d * 96 + j, ((load_v4(key_6 + d * 96 + j) * key_7_29) * sketch_g1_norm0_weight[d]) +
                    sketch_g1_norm0_bias[d]);
            }
        }
        /* key_10[h][j] = sum over d of sketch_g1_w0 * key_9 */
        dot2_v4(round_up(j1 - j0, 48), sketch_g1_w0, key_9, key_10);
        /* key_12 = 0.0f */
        for (int64_t j_first = 0; j_first < j1 - j0; j_first += 48) {
            for (int64_t r = 0; r < 64; r++) {
                UNROLL for (int64_t u = 0, j = j_first; u < 3; u++, j += 16) {
                    store_v4(key_12 + r * 96 + j, splat_v4(0.0f));
                }
            }
        }
        for (int64_t h0 = 0, h_end = 512; h0 < h_end; h0 += 192) {
            const int64_t h1 = min(h0 + 192, h_end);
            /* key_11 = (key_10 * 0.5f) * (tanh((key_10 + (((key_10 * key_10) * key_10) * 0.044715f)) * 0.7978846f) +
               1.0f) */
            for (int64_t j = 0; j < j1 - j0; j += 16) {
                for (int64_t h = h0; h < h1; h++) {
                    const vec_v4 key_10_30 = load_v4(key_10 + h * 96 + j);
                    store_v4(key_11 + (h - h0) * 96 + j, (key_10_30 * 0.5f) * (tanh_v4((key_10_30 + (((key_10_30 *
                        key_10_30) * key_10_30) * 0.044715f)) * 0.7978846f) + 1.0f));
                }
            }
            /* key_12[r][j] += sum over h of sketch_g1_w1 * key_11 */
            dot3_v4(round_up(j1 - j0, 48), h1 - h0, sketch_g1_w1 + h0 * 64, key_11, key_12);
        }
        /* key_13 = 0.0f */
        for (int64_t j = 0; j < j1 - j0; j += 16) {
            store_v4(key_13 + j, splat_v4(0.0f));
        }
        /* key_13 += key_12 */
        for (int64_t j_first = 0; j_first < j1 - j0; j_first += 48) {
            vec_v4 key_13_in[3];
            UNROLL for (int64_t u = 0, j = j_first; u < 3; u++, j += 16) {
                key_13_in[u] = (vec_v4){0};
            }
            for (int64_t r = 0; r < 64; r++) {
                UNROLL for (int64_t u = 0, j = j_first; u < 3; u++, j += 16) {
                    key_13_in[u] += load_v4(key_12 + r * 96 + j);
                }
            }
            UNROLL for (int64_t u = 0, j = j_first; u < 3; u++, j += 16) {
                store_v4(key_13 + j, load_v4(key_13 + j) + key_13_in[u]);
            }
        }
        /* key_15 = 0.0f */
        for (int64_t j = 0; j < j1 - j0; j += 16) {
            store_v4(key_15 + j, splat_v4(0.0f));
        }
        /* key_12 = key_12 - (key_13 * 0.015625f); key_15 += key_12 * key_12 */
        for (int64_t j = 0; j < j1 - j0; j += 16) {
            const vec_v4 t_32 = load_v4(key_13 + j) * 0.015625f;
            vec_v4 key_15_in = (vec_v4){0};
            for (int64_t r = 0; r < 64; r++) {
                const vec_v4 key_12_31 = load_v4(key_12 + r * 96 + j);
                const vec_v4 key_12_new33 = key_12_31 - t_32;
                store_v4(key_12 + r * 96 + j, key_12_new33);
                key_15_in += key_12_new33 * key_12_new33;
            }
            store_v4(key_15 + j, load_v4(key_15 + j) + key_15_in);
        }
        /* key_12 = ((key_12 * (1.0f / sqrt((key_15 * 0.015625f) + 1e-05f))) * sketch.g1.norm1.weight) +
           sketch.g1.norm1.bias */
        for (int64_t j = 0; j < j1 - j0; j += 16) {
            const vec_v4 t_34 = 1.0f / sqrt_v4((load_v4(key_15 + j) * 0.015625f) + 1e-05f);
            for (int64_t r = 0; r < 64; r++) {
                store_v4(key_12 + r * 96 + j, ((load_v4(key_12 + r * 96 + j) * t_34) * sketch_g1_norm1_weight[r]) +
                    sketch_g1_norm1_bias[r]);
            }
        }
        /* key_17[h][j] = sum over r of sketch_g1_w2 * key_12 */
        dot2_v4(round_up(j1 - j0, 48), sketch_g1_w2, key_12, key_17);
        /* key_19 = 0.0f */
        for (int64_t j_first = 0; j_first < j1 - j0; j_first += 48) {
            for (int64_t r = 0; r < 64; r++) {
                UNROLL for (int64_t u = 0, j = j_first; u < 3; u++, j += 16) {
                    store_v4(key_19 + r * 96 + j, splat_v4(0.0f));
                }
            }
        }
        {
            for (int64_t h0 = 0, h_end = 512; h0 < h_end; h0 += 192) {
                const int64_t h1 = min(h0 + 192, h_end);
                /* key_18 = (key_17 * 0.5f) * (tanh((key_17 + (((key_17 * key_17) * key_17) * 0.044715f)) * 0.7978846f)
                   + 1.0f) */
                for (int64_t j = 0; j < j1 - j0; j += 16) {
                    for (int64_t h = h0; h < h1; h++) {
                        const vec_v4 key_17_35 = load_v4(key_17 + h * 96 + j);
                        store_v4(key_18 + (h - h0) * 96 + j, (key_17_35 * 0.5f) * (tanh_v4((key_17_35 + (((key_17_35 *
                            key_17_35) * key_17_35) * 0.044715f)) * 0.7978846f) + 1.0f));
                    }
                }
                /* key_19[r][j] += sum over h of sketch_g1_w3 * key_18 */
                dot3_v4(round_up(j1 - j0, 48), h1 - h0, sketch_g1_w3 + h0 * 64, key_18, key_19);
            }
        }
        /* key_6 = ((key_6 * key_7) * sketch.g2.norm0.weight) + sketch.g2.norm0.bias */
        for (int64_t j = 0; j < j1 - j0; j += 16) {
            const vec_v4 key_7_36 = load_v4(key_7 + j);
            for (int64_t d = 0; d < 64; d++) {
                store_v4(key_6 + d * 96 + j, ((load_v4(key_6 + d * 96 + j) * key_7_36) * sketch_g2_norm0_weight[d]) +
                    sketch_g2_norm0_bias[d]);
            }
        }
        /* key_21[h][j] = sum over d of sketch_g2_w0 * key_6 */
        dot2_v4(round_up(j1 - j0, 48), sketch_g2_w0, key_6, key_21);
        /* key_23 = 0.0f */
        for (int64_t j_first = 0; j_first < j1 - j0; j_first += 48) {
            for (int64_t r = 0; r < 64; r++) {
                UNROLL for (int64_t u = 0, j = j_first; u < 3; u++, j += 16) {
                    store_v4(key_23 + r * 96 + j, splat_v4(0.0f));
                }
            }
        }
        {
            for (int64_t h0 = 0, h_end = 512; h0 < h_end; h0 += 192) {
                const int64_t h1 = min(h0 + 192, h_end);
                /* key_22 = (key_21 * 0.5f) * (tanh((key_21 + (((key_21 * key_21) * key_21) * 0.044715f)) * 0.7978846f)
                   + 1.0f) */
                for (int64_t j = 0; j < j1 - j0; j += 16) {
                    for (int64_t h = h0; h < h1; h++) {
                        const vec_v4 key_21_37 = load_v4(key_21 + h * 96 + j);
                        store_v4(key_22 + (h - h0) * 96 + j, (key_21_37 * 0.5f) * (tanh_v4((key_21_37 + (((key_21_37 *
                            key_21_37) * key_21_37) * 0.044715f)) * 0.7978846f) + 1.0f));
                    }
                }
                /* key_23[r][j] += sum over h of sketch_g2_w1 * key_22 */
                dot3_v4(round_up(j1 - j0, 48), h1 - h0, sketch_g2_w1 + h0 * 64, key_22, key_23);
            }
        }
        /* key_24 = 0.0f */
        for (int64_t j = 0; j < j1 - j0; j += 16) {
            store_v4(key_24 + j, splat_v4(0.0f));
        }
        /* key_24 += key_23 */
        for (int64_t j_first = 0; j_first < j1 - j0; j_first += 48) {
            vec_v4 key_24_in[3];
            UNROLL for (int64_t u = 0, j = j_first; u < 3; u++, j += 16) {
                key_24_in[u] = (vec_v4){0};
            }
            for (int64_t r = 0; r < 64; r++) {
                UNROLL for (int64_t u = 0, j = j_first; u < 3; u++, j += 16) {
                    key_24_in[u] += load_v4(key_23 + r * 96 + j);
                }
            }
            UNROLL for (int64_t u = 0, j = j_first; u < 3; u++, j += 16) {
                store_v4(key_24 + j, load_v4(key_24 + j) + key_24_in[u]);
            }
        }
        /* key_26 = 0.0f */
        for (int64_t j = 0; j < j1 - j0; j += 16) {
            store_v4(key_26 + j, splat_v4(0.0f));
        }
        /* key_23 = key_23 - (key_24 * 0.015625f); key_26 += key_23 * key_23 */
        for (int64_t j = 0; j < j1 - j0; j += 16) {
            const vec_v4 t_39 = load_v4(key_24 + j) * 0.015625f;
            vec_v4 key_26_in = (vec_v4){0};
            for (int64_t r = 0; r < 64; r++) {
                const vec_v4 key_23_38 = load_v4(key_23 + r * 96 + j);
                const vec_v4 key_23_new40 = key_23_38 - t_39;
                store_v4(key_23 + r * 96 + j, key_23_new40);
                key_26_in += key_23_new40 * key_23_new40;
            }
            store_v4(key_26 + j, load_v4(key_26 + j) + key_26_in);
        }
        /* key_23 = ((key_23 * (1.0f / sqrt((key_26 * 0.015625f) + 1e-05f))) * sketch.g2.norm1.weight) +
           sketch.g2.norm1.bias */
        for (int64_t j = 0; j < j1 - j0; j += 16) {
            const vec_v4 t_41 = 1.0f / sqrt_v4((load_v4(key_26 + j) * 0.015625f) + 1e-05f);
            for (int64_t r = 0; r < 64; r++) {
                store_v4(key_23 + r * 96 + j, ((load_v4(key_23 + r * 96 + j) * t_41) * sketch_g2_norm1_weight[r]) +
                    sketch_g2_norm1_bias[r]);
            }
        }
        /* key_28[h][j] = sum over r of sketch_g2_w2 * key_23 */
        dot2_v4(round_up(j1 - j0, 48), sketch_g2_w2, key_23, key_28);
        /* key_30 = 0.0f */
        for (int64_t j_first = 0; j_first < j1 - j0; j_first += 48) {
            for (int64_t r = 0; r < 64; r++) {
                UNROLL for (int64_t u = 0, j = j_first; u < 3; u++, j += 16) {
                    store_v4(key_30 + r * 96 + j, splat_v4(0.0f));
                }
            }
        }
        {
            for (int64_t h0 = 0, h_end = 512; h0 < h_end; h0 += 192) {
                const int64_t h1 = min(h0 + 192, h_end);
                /* key_29 = (key_28 * 0.5f) * (tanh((key_28 + (((key_28 * key_28) * key_28) * 0.044715f)) * 0.7978846f)
                   + 1.0f) */
                for (int64_t j = 0; j < j1 - j0; j += 16) {
                    for (int64_t h = h0; h < h1; h++) {
                        const vec_v4 key_28_42 = load_v4(key_28 + h * 96 + j);
                        store_v4(key_29 + (h - h0) * 96 + j, (key_28_42 * 0.5f) * (tanh_v4((key_28_42 + (((key_28_42 *
                            key_28_42) * key_28_42) * 0.044715f)) * 0.7978846f) + 1.0f));
                    }
                }
                /* key_30[r][j] += sum over h of sketch_g2_w3 * key_29 */
                dot3_v4(round_up(j1 - j0, 48), h1 - h0, sketch_g2_w3 + h0 * 64, key_29, key_30);
            }
        }
        /* key_19 = tanh((key_19 * key_30) * 0.125f) * 8.0f */
        for (int64_t j = 0; j < j1 - j0; j += 16) {
            for (int64_t r = 0; r < 64; r++) {
                store_v4(key_19 + r * 96 + j, tanh_v4((load_v4(key_19 + r * 96 + j) * load_v4(key_30 + r * 96 + j)) *
                    0.125f) * 8.0f);
            }
        }
        for (int64_t i_next = i0, i_block = i0, i_end = i1; i_next < i_end; i_next += 32) {
            const int64_t i0 = i_next, i1 = min(i0 + 32, i_end);
            float *const query_4 = all_query_4 + (i0 - i_block) / 32 * 2048;
            float *const query_31 = all_query_31 + (i0 - i_block) / 32 * 2048;
            float *const row_sum = all_row_sum + (i0 - i_block) / 32 * 32;
            float *const row_sum_compensation = all_row_sum_compensation + (i0 - i_block) / 32 * 32;
            float *const sum = all_sum + (i0 - i_block) / 32 * 2048;
            float *const sum_compensation = all_sum_compensation + (i0 - i_block) / 32 * 2048;
            if (!(j0 < (i1 + n_k - n_q))) continue; /* nothing in the tile can be seen */
            /* score[j][i] = sum over r of key_19 * query_31 */
            dot4_v4(j1 - j0, key_19, query_31, score);
            /* score_2[j][i] = sum over d of k_tile * query_4 */
            dot4_v4(j1 - j0, k_tile, query_4, score_2);
            /* score = select((((i + (n_k - n_q)) - floormod(i + (n_k - n_q), 256)) / 256) == ((j - floormod(j,
               256)) / 256), (score_2 * score_ ... */
            const int64_t t_43 = n_k - n_q;
            for (int64_t i = 0; i < i1 - i0; i += 16) {
                const ints_v4 t_44 = (i0 + i + lane_v4) + t_43;
                const ints_v4 r45 = t_44 % 256;
                const ints_v4 t_46 = (t_44 - (r45 + (((r45 != 0) & ((r45 < 0) != (256 < 0))) & 256))) / 256;
                for (int64_t j = 0; j < j1 - j0; j++) {
                    const vec_v4 score_2_47 = load_v4(score_2 + j * 32 + i);
                    const vec_v4 t_48 = score_2_47 * score_2_47;
                    const vec_v4 score_49 = load_v4(score + j * 32 + i);
                    store_v4(score + j * 32 + i, pick_v4(__builtin_convertvector(t_46 == (((j0 + j) - floor_mod(j0 + j,
                        256)) / 256), mask_v4), t_48 * t_48, score_49 * score_49));
                }
            }
            if ((i0 + n_k - n_q + 1) < j1) { /* the tile is not wholly inside the mask */
                /* score = select(j <= (i + (n_k - n_q)), score, 0.0f) */
                const int64_t t_50 = n_k - n_q;
                for (int64_t i = 0; i < i1 - i0; i += 16) {
                    const ints_v4 t_51 = (i0 + i + lane_v4) + t_50;
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        store_v4(score + j * 32 + i, pick_v4(__builtin_convertvector((j0 + j) <= t_51, mask_v4),
                            load_v4(score + j * 32 + i), splat_v4(0.0f)));
                    }
                }
            }
            /* row_sum += score */
            for (int64_t i_first = 0; i_first < i1 - i0; i_first += 32) {
                vec_v4 row_sum_in[2];
                UNROLL for (int64_t u = 0, i = i_first; u < 2; u++, i += 16) {
                    row_sum_in[u] = (vec_v4){0};
                }
                for (int64_t j = 0; j < j1 - j0; j++) {
                    UNROLL for (int64_t u = 0, i = i_first; u < 2; u++, i += 16) {
                        row_sum_in[u] += load_v4(score + j * 32 + i);
                    }
                }
                UNROLL for (int64_t u = 0, i = i_first; u < 2; u++, i += 16) {
                    add_v4(row_sum + i, row_sum_compensation + i, row_sum_in[u], splat_v4(1));
                }
            }
            /* sum[e][i] += sum over j of v * score */
            if (__builtin_expect(((i0 + n_k - n_q + 1) < j1) && !finite_v4(v + j0 * v_row, v_row, j1 - j0, 64),
                0)) { /* infinity and NaN reach only what sees them */
                dot5_v4(j1 - j0, v + j0 * v_row, v_row, score, sum, sum_compensation);
                for (int64_t j = 0; j < j1 - j0; j++) {
                    mask_v4 seen[2];
                    if (finite_v4(v + j0 * v_row + j * v_row, 1, 64, 1)) continue;
                    const int64_t t_52 = n_k - n_q;
                    for (int64_t i = 0; i < i1 - i0; i += 16) {
                        seen[i / 16] = __builtin_convertvector((j0 + j) <= ((i0 + i + lane_v4) + t_52), mask_v4);
                    }
                    add_seen_v4(64, sum, 32, v + j0 * v_row + j * v_row, 1, score + j * 32, seen, i1 - i0);
                }
            } else
                dot6_v4(j1 - j0, v + j0 * v_row, v_row, score, sum, sum_compensation);
        }
    }
    {
        for (int64_t i_next = i0, i_block = i0, i_end = i1; i_next < i_end; i_next += 32) {
            const int64_t i0 = i_next, i1 = min(i0 + 32, i_end);
            float *const row_sum = all_row_sum + (i0 - i_block) / 32 * 32;
            float *const sum = all_sum + (i0 - i_block) / 32 * 2048;
            /* result = select((row_sum + 1.0f) == 0.0f, 0.0f, sum / (row_sum + 1.0f)) */
            for (int64_t i = 0; i < i1 - i0; i += 16) {
                const vec_v4 t_53 = load_v4(row_sum + i) + 1.0f;
                const mask_v4 t_54 = t_53 == 0.0f;
                for (int64_t e = 0; e < 64; e++) {
                    store_v4(result + e * 32 + i, pick_v4(t_54, splat_v4(0.0f), load_v4(sum + e * 32 + i) / t_53));
                }
            }
            /* out = result, transposed back */
            transpose_v4(result, 32, 64, i1 - i0, out + i0 * out_row, out_row);
        }
    }
}

/* States begin with no key. */
TARGET_v4 APART void polysketch_learned_r64_local_begin_v4(const struct call *call, int64_t task,
    const struct part *part, int64_t turn)
{
    (void)call;
    (void)task;
    const int64_t f0 = turn * 32, f1 = min(f0 + 32, 2080);
    float *const carried = (float *)(void *)(part->shared + 0); /* [f: 2080] */
    float *const carried_compensation = (float *)(void *)(part->shared + 540800); /* [f: 2080] */
    float *const carried_2 = (float *)(void *)(part->shared + 8320); /* [f: 2080, e: 64] */
    float *const carried_2_compensation = (float *)(void *)(part->shared + 549120); /* [f: 2080, e: 64] */
    /* carried = 0.0f; carried_compensation = 0.0f */
    for (int64_t f = f0; f < f1; f += 16) {
        store_v4(carried + f, splat_v4(0.0f));
        store_v4(carried_compensation + f, splat_v4(0.0f));
    }
    /* carried_2 = 0.0f; carried_2_compensation = 0.0f */
    for (int64_t f = f0; f < f1; f++) {
        for (int64_t e_first = 0; e_first < 64; e_first += 64) {
            UNROLL for (int64_t u = 0, e = e_first; u < 4; u++, e += 16) {
                store_v4(carried_2 + f * 64 + e, splat_v4(0.0f));
                store_v4(carried_2_compensation + f * 64 + e, splat_v4(0.0f));
            }
        }
    }
}

/* The keys of a chunk, summed from zero into its slot. */
TARGET_v4 APART void polysketch_learned_r64_local_keys_v4(const struct call *call, int64_t task,
    const struct part *part, int64_t turn)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t n_k = call->p.n_k;
    const int64_t chunk = turn;
    const int64_t chunk0 = part->chunk0;
    const int64_t g = task % kv_heads;
    const int64_t b = task / kv_heads;
    const float *const k = call->k + b * call->p.k.batch + g * call->p.k.head;
    const int64_t k_row = call->p.k.row;
    const float *const v = call->v + b * call->p.v.batch + g * call->p.v.head;
    const int64_t v_row = call->p.v.row;
    const float *const sketch_g1_norm0_weight = call->params->sketch_g1_norm0_weight;
    const float *const sketch_g1_norm0_bias = call->params->sketch_g1_norm0_bias;
    const float *const sketch_g1_w0 = call->params->sketch_g1_w0;
    const float *const sketch_g1_w1 = call->params->sketch_g1_w1;
    const float *const sketch_g1_norm1_weight = call->params->sketch_g1_norm1_weight;
    const float *const sketch_g1_norm1_bias = call->params->sketch_g1_norm1_bias;
    const float *const sketch_g1_w2 = call->params->sketch_g1_w2;
    const float *const sketch_g1_w3 = call->params->sketch_g1_w3;
    const float *const sketch_g2_norm0_weight = call->params->sketch_g2_norm0_weight;
    const float *const sketch_g2_norm0_bias = call->params->sketch_g2_norm0_bias;
    const float *const sketch_g2_w0 = call->params->sketch_g2_w0;
    const float *const sketch_g2_w1 = call->params->sketch_g2_w1;
    const float *const sketch_g2_norm1_weight = call->params->sketch_g2_norm1_weight;
    const float *const sketch_g2_norm1_bias = call->params->sketch_g2_norm1_bias;
    const float *const sketch_g2_w2 = call->params->sketch_g2_w2;
    const float *const sketch_g2_w3 = call->params->sketch_g2_w3;
    float *const key = (float *)(void *)(part->work + 0); /* [j: 64] */
    float *const key_3 = (float *)(void *)(part->work + 256); /* [j: 64] */
    float *const key_5 = (float *)(void *)(part->work + 0); /* [j: 64] */
    float *const key_7 = (float *)(void *)(part->work + 256); /* [j: 64] */
    float *const key_9 = (float *)(void *)(part->work + 512); /* [d: 64, j: 64] */
    float *const key_10 = (float *)(void *)(part->work + 16896); /* [h: 512, j: 64] */
    float *const key_11 = (float *)(void *)(part->work + 147968); /* [h: 192, j: 64] */
    float *const key_12 = (float *)(void *)(part->work + 512); /* [r: 64, j: 64] */
    float *const key_13 = (float *)(void *)(part->work + 0); /* [j: 64] */
    float *const key_15 = (float *)(void *)(part->work + 16896); /* [j: 64] */
    float *const key_17 = (float *)(void *)(part->work + 16896); /* [h: 512, j: 64] */
    float *const key_18 = (float *)(void *)(part->work + 147968); /* [h: 192, j: 64] */
    float *const key_19 = (float *)(void *)(part->work + 512); /* [r: 64, j: 64] */
    float *const key_21 = (float *)(void *)(part->work + 16896); /* [h: 512, j: 64] */
    float *const key_22 = (float *)(void *)(part->work + 147968); /* [h: 192, j: 64] */
    float *const key_23 = (float *)(void *)(part->work + 197120); /* [r: 64, j: 64] */
    float *const key_24 = (float *)(void *)(part->work + 0); /* [j: 64] */
    float *const key_26 = (float *)(void *)(part->work + 256); /* [j: 64] */
    float *const key_28 = (float *)(void *)(part->work + 16896); /* [h: 512, j: 64] */
    float *const key_29 = (float *)(void *)(part->work + 147968); /* [h: 192, j: 64] */
    float *const key_30 = (float *)(void *)(part->work + 197120); /* [r: 64, j: 64] */
    float *const key_32 = (float *)(void *)(part->work + 16896); /* [f: 192, j: 64] */
    float *const state = (float *)(void *)(part->slots + 0); /* [chunk, f: 2080] */
    float *const state_2 = (float *)(void *)(part->slots + 8320); /* [chunk, f: 2080, e: 64] */
    float *const k_tile = (float *)(void *)(part->work + 197120); /* [d: 64, j: 64] */
    /* state = 0.0f */
    for (int64_t f = 0; f < 2080; f += 16) {
        store_v4(state + (chunk - chunk0) * 135200 + f, splat_v4(0.0f));
    }
    /* state_2 = 0.0f */
    for (int64_t f = 0; f < 2080; f++) {
        for (int64_t e_first = 0; e_first < 64; e_first += 64) {
            UNROLL for (int64_t u = 0, e = e_first; u < 4; u++, e += 16) {
                store_v4(state_2 + (chunk - chunk0) * 135200 + f * 64 + e, splat_v4(0.0f));
            }
        }
    }
    for (int64_t j0 = chunk * 256, j_end = min(n_k, (chunk + 1) * 256); j0 < j_end; j0 += 64) {
        const int64_t j1 = min(j0 + 64, j_end);
        /* k_tile = k, with zeros beyond the last row */
        transpose_v4(k + j0 * k_row, k_row, j1 - j0, 64, k_tile, 64);
        for (int64_t j = j1 - j0; j < round_up(j1 - j0, 16); j++)
            for (int64_t d = 0; d < 64; d++) k_tile[d * 64 + j] = 0;
        /* key = 0.0f */
        for (int64_t j = 0; j < j1 - j0; j += 16) {
            store_v4(key + j, splat_v4(0.0f));
        }
        /* key += k_tile */
        for (int64_t j_first = 0; j_first < j1 - j0; j_first += 64) {
            vec_v4 key_in[4];
            UNROLL for (int64_t u = 0, j = j_first; u < 4; u++, j += 16) {
                key_in[u] = (vec_v4){0};
            }
            for (int64_t d = 0; d < 64; d++) {
                UNROLL for (int64_t u = 0, j = j_first; u < 4; u++, j += 16) {
                    key_in[u] += load_v4(k_tile + d * 64 + j);
                }
            }
            UNROLL for (int64_t u = 0, j = j_first; u < 4; u++, j += 16) {
                store_v4(key + j, load_v4(key + j) + key_in[u]);
            }
        }
        /* key_3 = 0.0f */
        for (int64_t j = 0; j < j1 - j0; j += 16) {
            store_v4(key_3 + j, splat_v4(0.0f));
        }
        /* k_tile = k_tile - (key * 0.015625f); key_3 += k_tile * k_tile */
        for (int64_t j = 0; j < j1 - j0; j += 16) {
            const vec_v4 t_1 = load_v4(key + j) * 0.015625f;
            vec_v4 key_3_in = (vec_v4){0};
            for (int64_t d = 0; d < 64; d++) {
                const vec_v4 k_tile_0 = load_v4(k_tile + d * 64 + j);
                const vec_v4 k_tile_new2 = k_tile_0 - t_1;
                store_v4(k_tile + d * 64 + j, k_tile_new2);
                key_3_in += k_tile_new2 * k_tile_new2;
            }
            store_v4(key_3 + j, load_v4(key_3 + j) + key_3_in);
        }
        /* key_5 = 0.0f */
        for (int64_t j = 0; j < j1 - j0; j += 16) {
            store_v4(key_5 + j, splat_v4(0.0f));
        }
        /* k_tile = k_tile * (1.0f / sqrt((key_3 * 0.015625f) + 1e-05f)); key_5 += k_tile */
        for (int64_t j = 0; j < j1 - j0; j += 16) {
            const vec_v4 t_4 = 1.0f / sqrt_v4((load_v4(key_3 + j) * 0.015625f) + 1e-05f);
            vec_v4 key_5_in = (vec_v4){0};
            for (int64_t d = 0; d < 64; d++) {
                const vec_v4 k_tile_3 = load_v4(k_tile + d * 64 + j);
                const vec_v4 k_tile_new5 = k_tile_3 * t_4;
                store_v4(k_tile + d * 64 + j, k_tile_new5);
                key_5_in += k_tile_new5;
            }
            store_v4(key_5 + j, load_v4(key_5 + j) + key_5_in);
        }
        /* key_7 = 0.0f */
        for (int64_t j = 0; j < j1 - j0; j += 16) {
            store_v4(key_7 + j, splat_v4(0.0f));
        }
        /* k_tile = k_tile - (key_5 * 0.015625f); key_7 += k_tile * k_tile */
        for (int64_t j = 0; j < j1 - j0; j += 16) {
            const vec_v4 t_7 = load_v4(key_5 + j) * 0.015625f;
            vec_v4 key_7_in = (vec_v4){0};
            for (int64_t d = 0; d < 64; d++) {
                const vec_v4 k_tile_6 = load_v4(k_tile + d * 64 + j);
                const vec_v4 k_tile_new8 = k_tile_6 - t_7;
                store_v4(k_tile + d * 64 + j, k_tile_new8);
                key_7_in += k_tile_new8 * k_tile_new8;
            }
            store_v4(key_7 + j, load_v4(key_7 + j) + key_7_in);
        }
        /* key_7 = 1.0f / sqrt((key_7 * 0.015625f) + 1e-05f) */
        for (int64_t j = 0; j < j1 - j0; j += 16) {
            store_v4(key_7 + j, 1.0f / sqrt_v4((load_v4(key_7 + j) * 0.015625f) + 1e-05f));
        }
        /* key_9 = ((k_tile * key_7) * sketch.g1.norm0.weight) + sketch.g1.norm0.bias */
        for (int64_t j = 0; j < j1 - j0; j += 16) {
            const vec_v4 key_7_9 = load_v4(key_7 + j);
            for (int64_t d = 0; d < 64; d++) {
                store_v4(key_9 + d * 64 + j, ((load_v4(k_tile + d * 64 + j) * key_7_9) * sketch_g1_norm0_weight[d]) +
                    sketch_g1_norm0_bias[d]);
            }
        }
        /* key_10[h][j] = sum over d of sketch_g1_w0 * key_9 */
        dot7_v4(sketch_g1_w0, key_9, key_10);
        /* key_12 = 0.0f */
        for (int64_t j_first = 0; j_first < j1 - j0; j_first += 64) {
            for (int64_t r = 0; r < 64; r++) {
                UNROLL for (int64_t u = 0, j = j_first; u < 4; u++, j += 16) {
                    store_v4(key_12 + r * 64 + j, splat_v4(0.0f));
                }
            }
        }
        for (int64_t h0 = 0, h_end = 512; h0 < h_end; h0 += 192) {
            const int64_t h1 = min(h0 + 192, h_end);
            /* key_11 = (key_10 * 0.5f) * (tanh((key_10 + (((key_10 * key_10) * key_10) * 0.044715f)) * 0.7978846f) +
               1.0f) */
            for (int64_t j = 0; j < j1 - j0; j += 16) {
                for (int64_t h = h0; h < h1; h++) {
                    const vec_v4 key_10_10 = load_v4(key_10 + h * 64 + j);
                    store_v4(key_11 + (h - h0) * 64 + j, (key_10_10 * 0.5f) * (tanh_v4((key_10_10 + (((key_10_10 *
                        key_10_10) * key_10_10) * 0.044715f)) * 0.7978846f) + 1.0f));
                }
            }
            /* key_12[r][j] += sum over h of sketch_g1_w1 * key_11 */
            dot8_v4(h1 - h0, sketch_g1_w1 + h0 * 64, key_11, key_12);
        }
        /* key_13 = 0.0f */
        for (int64_t j = 0; j < j1 - j0; j += 16) {
            store_v4(key_13 + j, splat_v4(0.0f));
        }
        /* key_13 += key_12 */
        for (int64_t j_first = 0; j_first < j1 - j0; j_first += 64) {
            vec_v4 key_13_in[4];
            UNROLL for (int64_t u = 0, j = j_first; u < 4; u++, j += 16) {
                key_13_in[u] = (vec_v4){0};
            }
            for (int64_t r = 0; r < 64; r++) {
                UNROLL for (int64_t u = 0, j = j_first; u < 4; u++, j += 16) {
                    key_13_in[u] += load_v4(key_12 + r * 64 + j);
                }
            }
            UNROLL for (int64_t u = 0, j = j_first; u < 4; u++, j += 16) {
                store_v4(key_13 + j, load_v4(key_13 + j) + key_13_in[u]);
            }
        }
        /* key_15 = 0.0f */
        for (int64_t j = 0; j < j1 - j0; j += 16) {
            store_v4(key_15 + j, splat_v4(0.0f));
        }
        /* key_12 = key_12 - (key_13 * 0.015625f); key_15 += key_12 * key_12 */
        for (int64_t j = 0; j < j1 - j0; j += 16) {
            const vec_v4 t_12 = load_v4(key_13 + j) * 0.015625f;
            vec_v4 key_15_in = (vec_v4){0};
            for (int64_t r = 0; r < 64; r++) {
                const vec_v4 key_12_11 = load_v4(key_12 + r * 64 + j);
                const vec_v4 key_12_new13 = key_12_11 - t_12;
                store_v4(key_12 + r * 64 + j, key_12_new13);
                key_15_in += key_12_new13 * key_12_new13;
            }
            store_v4(key_15 + j, load_v4(key_15 + j) + key_15_in);
        }
        /* key_12 = ((key_12 * (1.0f / sqrt((key_15 * 0.015625f) + 1e-05f))) * sketch.g1.norm1.weight) +
           sketch.g1.norm1.bias */
        for (int64_t j = 0; j < j1 - j0; j += 16) {
            const vec_v4 t_14 = 1.0f / sqrt_v4((load_v4(key_15 + j) * 0.015625f) + 1e-05f);
            for (int64_t r = 0; r < 64; r++) {
                store_v4(key_12 + r * 64 + j, ((load_v4(key_12 + r * 64 + j) * t_14) * sketch_g1_norm1_weight[r]) +
                    sketch_g1_norm1_bias[r]);
            }
        }
        /* key_17[h][j] = sum over r of sketch_g1_w2 * key_12 */
        dot7_v4(sketch_g1_w2, key_12, key_17);
        /* key_19 = 0.0f */
        for (int64_t j_first = 0; j_first < j1 - j0; j_first += 64) {
            for (int64_t r = 0; r < 64; r++) {
                UNROLL for (int64_t u = 0, j = j_first; u < 4; u++, j += 16) {
                    store_v4(key_19 + r * 64 + j, splat_v4(0.0f));
                }
            }
        }
        {
            for (int64_t h0 = 0, h_end = 512; h0 < h_end; h0 += 192) {
                const int64_t h1 = min(h0 + 192, h_end);
                /* key_18 = (key_17 * 0.5f) * (tanh((key_17 + (((key_17 * key_17) * key_17) * 0.044715f)) * 0.7978846f)
                   + 1.0f) */
                for (int64_t j = 0; j < j1 - j0; j += 16) {
                    for (int64_t h = h0; h < h1; h++) {
                        const vec_v4 key_17_15 = load_v4(key_17 + h * 64 + j);
                        store_v4(key_18 + (h - h0) * 64 + j, (key_17_15 * 0.5f) * (tanh_v4((key_17_15 + (((key_17_15 *
                            key_17_15) * key_17_15) * 0.044715f)) * 0.7978846f) + 1.0f));
                    }
                }
                /* key_19[r][j] += sum over h of sketch_g1_w3 * key_18 */
                dot8_v4(h1 - h0, sketch_g1_w3 + h0 * 64, key_18, key_19);
            }
        }
        /* k_tile = ((k_tile * key_7) * sketch.g2.norm0.weight) + sketch.g2.norm0.bias */
        for (int64_t j = 0; j < j1 - j0; j += 16) {
            const vec_v4 key_7_16 = load_v4(key_7 + j);
            for (int64_t d = 0; d < 64; d++) {
                store_v4(k_tile + d * 64 + j, ((load_v4(k_tile + d * 64 + j) * key_7_16) * sketch_g2_norm0_weight[d]) +
                    sketch_g2_norm0_bias[d]);
            }
        }
        /* key_21[h][j] = sum over d of sketch_g2_w0 * k_tile */
        dot7_v4(sketch_g2_w0, k_tile, key_21);
        /* key_23 = 0.0f */
        for (int64_t j_first = 0; j_first < j1 - j0; j_first += 64) {
            for (int64_t r = 0; r < 64; r++) {
                UNROLL for (int64_t u = 0, j = j_first; u < 4; u++, j += 16) {
                    store_v4(key_23 + r * 64 + j, splat_v4(0.0f));
                }
            }
        }
        {
            for (int64_t h0 = 0, h_end = 512; h0 < h_end; h0 += 192) {
                const int64_t h1 = min(h0 + 192, h_end);
                /* key_22 = (key_21 * 0.5f) * (tanh((key_21 + (((key_21 * key_21) * key_21) * 0.044715f)) * 0.7978846f)
                   + 1.0f) */
                for (int64_t j = 0; j < j1 - j0; j += 16) {
                    for (int64_t h = h0; h < h1; h++) {
                        const vec_v4 key_21_17 = load_v4(key_21 + h * 64 + j);
                        store_v4(key_22 + (h - h0) * 64 + j, (key_21_17 * 0.5f) * (tanh_v4((key_21_17 + (((key_21_17 *
                            key_21_17) * key_21_17) * 0.044715f)) * 0.7978846f) + 1.0f));
                    }
                }
                /* key_23[r][j] += sum over h of sketch_g2_w1 * key_22 */
                dot8_v4(h1 - h0, sketch_g2_w1 + h0 * 64, key_22, key_23);
            }
        }
        /* key_24 = 0.0f */
        for (int64_t j = 0; j < j1 - j0; j += 16) {
            store_v4(key_24 + j, splat_v4(0.0f));
        }
        /* key_24 += key_23 */
        for (int64_t j_first = 0; j_first < j1 - j0; j_first += 64) {
            vec_v4 key_24_in[4];
            UNROLL for (int64_t u = 0, j = j_first; u < 4; u++, j += 16) {
                key_24_in[u] = (vec_v4){0};
            }
            for (int64_t r = 0; r < 64; r++) {
                UNROLL for (int64_t u = 0, j = j_first; u < 4; u++, j += 16) {
                    key_24_in[u] += load_v4(key_23 + r * 64 + j);
                }
            }
            UNROLL for (int64_t u = 0, j = j_first; u < 4; u++, j += 16) {
                store_v4(key_24 + j, load_v4(key_24 + j) + key_24_in[u]);
            }
        }
        /* key_26 = 0.0f */
        for (int64_t j = 0; j < j1 - j0; j += 16) {
            store_v4(key_26 + j, splat_v4(0.0f));
        }
        /* key_23 = key_23 - (key_24 * 0.015625f); key_26 += key_23 * key_23 */
        for (int64_t j = 0; j < j1 - j0; j += 16) {
            const vec_v4 t_19 = load_v4(key_24 + j) * 0.015625f;
            vec_v4 key_26_in = (vec_v4){0};
            for (int64_t r = 0; r < 64; r++) {
                const vec_v4 key_23_18 = load_v4(key_23 + r * 64 + j);
                const vec_v4 key_23_new20 = key_23_18 - t_19;
                store_v4(key_23 + r * 64 + j, key_23_new20);
                key_26_in += key_23_new20 * key_23_new20;
            }
            store_v4(key_26 + j, load_v4(key_26 + j) + key_26_in);
        }
        /* key_23 = ((key_23 * (1.0f / sqrt((key_26 * 0.015625f) + 1e-05f))) * sketch.g2.norm1.weight) +
           sketch.g2.norm1.bias */
        for (int64_t j = 0; j < j1 - j0; j += 16) {
            const vec_v4 t_21 = 1.0f / sqrt_v4((load_v4(key_26 + j) * 0.015625f) + 1e-05f);
            for (int64_t r = 0; r < 64; r++) {
                store_v4(key_23 + r * 64 + j, ((load_v4(key_23 + r * 64 + j) * t_21) * sketch_g2_norm1_weight[r]) +
                    sketch_g2_norm1_bias[r]);
            }
        }
        /* key_28[h][j] = sum over r of sketch_g2_w2 * key_23 */
        dot7_v4(sketch_g2_w2, key_23, key_28);
        /* key_30 = 0.0f */
        for (int64_t j_first = 0; j_first < j1 - j0; j_first += 64) {
            for (int64_t r = 0; r < 64; r++) {
                UNROLL for (int64_t u = 0, j = j_first; u < 4; u++, j += 16) {
                    store_v4(key_30 + r * 64 + j, splat_v4(0.0f));
                }
            }
        }
        {
            for (int64_t h0 = 0, h_end = 512; h0 < h_end; h0 += 192) {
                const int64_t h1 = min(h0 + 192, h_end);
                /* key_29 = (key_28 * 0.5f) * (tanh((key_28 + (((key_28 * key_28) * key_28) * 0.044715f)) * 0.7978846f)
                   + 1.0f) */
                for (int64_t j = 0; j < j1 - j0; j += 16) {
                    for (int64_t h = h0; h < h1; h++) {
                        const vec_v4 key_28_22 = load_v4(key_28 + h * 64 + j);
                        store_v4(key_29 + (h - h0) * 64 + j, (key_28_22 * 0.5f) * (tanh_v4((key_28_22 + (((key_28_22 *
                            key_28_22) * key_28_22) * 0.044715f)) * 0.7978846f) + 1.0f));
                    }
                }
                /* key_30[r][j] += sum over h of sketch_g2_w3 * key_29 */
                dot8_v4(h1 - h0, sketch_g2_w3 + h0 * 64, key_29, key_30);
            }
        }
        /* key_19 = tanh((key_19 * key_30) * 0.125f) * 8.0f */
        for (int64_t j = 0; j < j1 - j0; j += 16) {
            for (int64_t r = 0; r < 64; r++) {
                store_v4(key_19 + r * 64 + j, tanh_v4((load_v4(key_19 + r * 64 + j) * load_v4(key_30 + r * 64 + j)) *
                    0.125f) * 8.0f);
            }
        }
        for (int64_t f0 = 0, f_end = 2080; f0 < f_end; f0 += 192) {
            const int64_t f1 = min(f0 + 192, f_end);
            /* key_32 = key_19 * key_19 */
            for (int64_t j_first = 0; j_first < j1 - j0; j_first += 64) {
                for (int64_t f = f0; f < f1; f++) {
                    UNROLL for (int64_t u = 0, j = j_first; u < 4; u++, j += 16) {
                        store_v4(key_32 + (f - f0) * 64 + j, load_v4(key_19 + (f % 64) * 64 + j) * load_v4(key_19 + (((f
                            % 64) + (f / 64)) % 64) * 64 + j));
                    }
                }
            }
            /* state += key_32 */
            for (int64_t f = f0; f < f1; f++) {
                vec_v4 lane_sums = splat_v4(0);
                for (int64_t j = 0; j < j1 - j0; j += 16) {
                    const vec_v4 term = load_v4(key_32 + (f - f0) * 64 + j);
                    lane_sums += j + 16 <= j1 - j0 ? term : pick_v4(__builtin_convertvector(j + lane_v4 < j1 - j0,
                        mask_v4), term, splat_v4(0));
                }
                const float total = lane_sum_v4(lane_sums);
                state[(chunk - chunk0) * 135200 + f] += total;
            }
            /* state_2[f][e] += sum over j of key_32 * v */
            dot9_v4(f1 - f0, j1 - j0, key_32, v + j0 * v_row, v_row, state_2 + (chunk - chunk0) * 135200 + f0 * 64);
        }
    }
}

/* Some elements of the states take in the chunks at hand, one after the other. */
TARGET_v4 APART void polysketch_learned_r64_local_fold_v4(const struct call *call, int64_t task,
    const struct part *part, int64_t turn)
{
    (void)call;
    (void)task;
    const int64_t f0 = turn * 32, f1 = min(f0 + 32, 2080);
    const int64_t chunk0 = part->chunk0;
    const int64_t chunk1 = part->chunk1;
    float *const state = (float *)(void *)(part->slots + 0); /* [chunk, f: 2080] */
    float *const state_2 = (float *)(void *)(part->slots + 8320); /* [chunk, f: 2080, e: 64] */
    float *const carried = (float *)(void *)(part->shared + 0); /* [f: 2080] */
    float *const carried_compensation = (float *)(void *)(part->shared + 540800); /* [f: 2080] */
    float *const carried_2 = (float *)(void *)(part->shared + 8320); /* [f: 2080, e: 64] */
    float *const carried_2_compensation = (float *)(void *)(part->shared + 549120); /* [f: 2080, e: 64] */
    for (int64_t chunk = chunk0; chunk < chunk1; chunk++) {
        /* before = carried; carried += state; state = before */
        for (int64_t f = f0; f < f1; f += 16) {
            const vec_v4 before_new23 = load_v4(carried + f);
            add_v4(carried + f, carried_compensation + f, load_v4(state + (chunk - chunk0) * 135200 + f), splat_v4(1));
            store_v4(state + (chunk - chunk0) * 135200 + f, before_new23);
        }
        /* before_2 = carried_2; carried_2 += state_2; state_2 = before_2 */
        for (int64_t f = f0; f < f1; f++) {
            for (int64_t e_first = 0; e_first < 64; e_first += 64) {
                UNROLL for (int64_t u = 0, e = e_first; u < 4; u++, e += 16) {
                    const vec_v4 before_2_new24 = load_v4(carried_2 + f * 64 + e);
                    add_v4(carried_2 + f * 64 + e, carried_2_compensation + f * 64 + e,
                        load_v4(state_2 + (chunk - chunk0) * 135200 + f * 64 + e), splat_v4(1));
                    store_v4(state_2 + (chunk - chunk0) * 135200 + f * 64 + e, before_2_new24);
                }
            }
        }
    }
}

/* The queries of a chunk meet the states before it, and its own keys. */
TARGET_v4 APART void polysketch_learned_r64_local_queries_v4(const struct call *call, int64_t task,
    const struct part *part, int64_t turn)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_q = call->p.n_q;
    const int64_t n_k = call->p.n_k;
    const int64_t chunk = turn;
    const int64_t chunk0 = part->chunk0;
    const int64_t g = task % kv_heads;
    const int64_t b = task / kv_heads;
    const float *const q = call->q + b * call->p.q.batch + g * members * call->p.q.head;
    const int64_t q_row = call->p.q.row;
    const int64_t q_head = call->p.q.head;
    const float *const k = call->k + b * call->p.k.batch + g * call->p.k.head;
    const int64_t k_row = call->p.k.row;
    const float *const v = call->v + b * call->p.v.batch + g * call->p.v.head;
    const int64_t v_row = call->p.v.row;
    const float *const sketch_g1_norm0_weight = call->params->sketch_g1_norm0_weight;
    const float *const sketch_g1_norm0_bias = call->params->sketch_g1_norm0_bias;
    const float *const sketch_g1_w0 = call->params->sketch_g1_w0;
    const float *const sketch_g1_w1 = call->params->sketch_g1_w1;
    const float *const sketch_g1_norm1_weight = call->params->sketch_g1_norm1_weight;
    const float *const sketch_g1_norm1_bias = call->params->sketch_g1_norm1_bias;
    const float *const sketch_g1_w2 = call->params->sketch_g1_w2;
    const float *const sketch_g1_w3 = call->params->sketch_g1_w3;
    const float *const sketch_g2_norm0_weight = call->params->sketch_g2_norm0_weight;
    const float *const sketch_g2_norm0_bias = call->params->sketch_g2_norm0_bias;
    const float *const sketch_g2_w0 = call->params->sketch_g2_w0;
    const float *const sketch_g2_w1 = call->params->sketch_g2_w1;
    const float *const sketch_g2_norm1_weight = call->params->sketch_g2_norm1_weight;
    const float *const sketch_g2_norm1_bias = call->params->sketch_g2_norm1_bias;
    const float *const sketch_g2_w2 = call->params->sketch_g2_w2;
    const float *const sketch_g2_w3 = call->params->sketch_g2_w3;
    float *const state = (float *)(void *)(part->slots + 0); /* [chunk, f: 2080] */
    float *const state_2 = (float *)(void *)(part->slots + 8320); /* [chunk, f: 2080, e: 64] */
    float *const key_33 = (float *)(void *)(part->work + 0); /* [j: 64] */
    float *const key_35 = (float *)(void *)(part->work + 256); /* [j: 64] */
    float *const query = (float *)(void *)(part->work + 0); /* [i: 64] */
    float *const query_3 = (float *)(void *)(part->work + 256); /* [i: 64] */
    float *const query_5 = (float *)(void *)(part->work + 0); /* [i: 64] */
    float *const query_6 = (float *)(void *)(part->work + 256); /* [d: 64, i: 64] */
    float *const query_7 = (float *)(void *)(part->work + 16640); /* [i: 64] */
    float *const query_9 = (float *)(void *)(part->work + 16896); /* [d: 64, i: 64] */
    float *const query_10 = (float *)(void *)(part->work + 33280); /* [h: 512, i: 64] */
    float *const query_11 = (float *)(void *)(part->work + 164352); /* [h: 192, i: 64] */
    float *const query_12 = (float *)(void *)(part->work + 16896); /* [r: 64, i: 64] */
    float *const query_13 = (float *)(void *)(part->work + 0); /* [i: 64] */
    float *const query_15 = (float *)(void *)(part->work + 33280); /* [i: 64] */
    float *const query_17 = (float *)(void *)(part->work + 33280); /* [h: 512, i: 64] */
    float *const query_18 = (float *)(void *)(part->work + 164352); /* [h: 192, i: 64] */
    float *const query_19 = (float *)(void *)(part->work + 16896); /* [r: 64, i: 64] */
    float *const query_21 = (float *)(void *)(part->work + 33280); /* [h: 512, i: 64] */
    float *const query_22 = (float *)(void *)(part->work + 164352); /* [h: 192, i: 64] */
    float *const query_23 = (float *)(void *)(part->work + 0); /* [r: 64, i: 64] */
    float *const query_24 = (float *)(void *)(part->work + 16384); /* [i: 64] */
    float *const query_26 = (float *)(void *)(part->work + 16640); /* [i: 64] */
    float *const query_28 = (float *)(void *)(part->work + 33280); /* [h: 512, i: 64] */
    float *const query_29 = (float *)(void *)(part->work + 164352); /* [h: 192, i: 64] */
    float *const query_30 = (float *)(void *)(part->work + 0); /* [r: 64, i: 64] */
    float *const score = (float *)(void *)(part->work + 0); /* [j: 64, i: 64] */
    float *const query_32 = (float *)(void *)(part->work + 33280); /* [f: 192, i: 64] */
    float *const query_33 = (float *)(void *)(part->work + 16384); /* [i: 64] */
    float *const row_sum = (float *)(void *)(part->work + 16640); /* [i: 64] */
    float *const row_sum_compensation = (float *)(void *)(part->work + 82432); /* [i: 64] */
    float *const query_34 = (float *)(void *)(part->work + 82688); /* [e: 64, i: 64] */
    float *const sum = (float *)(void *)(part->work + 16896); /* [e: 64, i: 64] */
    float *const sum_compensation = (float *)(void *)(part->work + 33280); /* [e: 64, i: 64] */
    float *const out = call->out + b * call->p.out.batch + g * members * call->p.out.head;
    const int64_t out_row = call->p.out.row;
    const int64_t out_head = call->p.out.head;
    float *const q_tile = (float *)(void *)(part->work + 213504); /* [d: 64, i: 64] */
    float *const k_tile_2 = (float *)(void *)(part->work + 49664); /* [d: 64, j: 64] */
    for (int64_t m = 0; m < members; m++) {
        for (int64_t i0 = (chunk == 0) ? 0 : max(0, (chunk * 256) - (n_k - n_q)), i_end = min(n_q,
            ((chunk + 1) * 256) - (n_k - n_q)); i0 < i_end; i0 += 64) {
            const int64_t i1 = min(i0 + 64, i_end);
            /* q_tile = q, with zeros beyond the last row */
            transpose_v4(q + m * q_head + i0 * q_row, q_row, i1 - i0, 64, q_tile, 64);
            for (int64_t i = i1 - i0; i < round_up(i1 - i0, 16); i++)
                for (int64_t d = 0; d < 64; d++) q_tile[d * 64 + i] = 0;
            /* query = 0.0f */
            for (int64_t i = 0; i < i1 - i0; i += 16) {
                store_v4(query + i, splat_v4(0.0f));
            }
            /* query += q_tile */
            for (int64_t i_first = 0; i_first < i1 - i0; i_first += 64) {
                vec_v4 query_in[4];
                UNROLL for (int64_t u = 0, i = i_first; u < 4; u++, i += 16) {
                    query_in[u] = (vec_v4){0};
                }
                for (int64_t d = 0; d < 64; d++) {
                    UNROLL for (int64_t u = 0, i = i_first; u < 4; u++, i += 16) {
                        query_in[u] += load_v4(q_tile + d * 64 + i);
                    }
                }
                UNROLL for (int64_t u = 0, i = i_first; u < 4; u++, i += 16) {
                    store_v4(query + i, load_v4(query + i) + query_in[u]);
                }
            }
            /* query_3 = 0.0f */
            for (int64_t i = 0; i < i1 - i0; i += 16) {
                store_v4(query_3 + i, splat_v4(0.0f));
            }
            /* q_tile = q_tile - (query * 0.015625f); query_3 += q_tile * q_tile */
            for (int64_t i = 0; i < i1 - i0; i += 16) {
                const vec_v4 t_26 = load_v4(query + i) * 0.015625f;
                vec_v4 query_3_in = (vec_v4){0};
                for (int64_t d = 0; d < 64; d++) {
                    const vec_v4 q_tile_25 = load_v4(q_tile + d * 64 + i);
                    const vec_v4 q_tile_new27 = q_tile_25 - t_26;
                    store_v4(q_tile + d * 64 + i, q_tile_new27);
                    query_3_in += q_tile_new27 * q_tile_new27;
                }
                store_v4(query_3 + i, load_v4(query_3 + i) + query_3_in);
            }
            /* query_5 = 0.0f */
            for (int64_t i = 0; i < i1 - i0; i += 16) {
                store_v4(query_5 + i, splat_v4(0.0f));
            }
            /* q_tile = q_tile * (1.0f / sqrt((query_3 * 0.015625f) + 1e-05f)); query_5 += q_tile */
            for (int64_t i = 0; i < i1 - i0; i += 16) {
                const vec_v4 t_29 = 1.0f / sqrt_v4((load_v4(query_3 + i) * 0.015625f) + 1e-05f);
                vec_v4 query_5_in = (vec_v4){0};
                for (int64_t d = 0; d < 64; d++) {
                    const vec_v4 q_tile_28 = load_v4(q_tile + d * 64 + i);
                    const vec_v4 q_tile_new30 = q_tile_28 * t_29;
                    store_v4(q_tile + d * 64 + i, q_tile_new30);
                    query_5_in += q_tile_new30;
                }
                store_v4(query_5 + i, load_v4(query_5 + i) + query_5_in);
            }
            /* query_7 = 0.0f */
            for (int64_t i = 0; i < i1 - i0; i += 16) {
                store_v4(query_7 + i, splat_v4(0.0f));
            }
            /* query_6 = q_tile - (query_5 * 0.015625f); query_7 += query_6 * query_6 */
            for (int64_t i = 0; i < i1 - i0; i += 16) {
                const vec_v4 t_31 = load_v4(query_5 + i) * 0.015625f;
                vec_v4 query_7_in = (vec_v4){0};
                for (int64_t d = 0; d < 64; d++) {
                    const vec_v4 query_6_new32 = load_v4(q_tile + d * 64 + i) - t_31;
                    store_v4(query_6 + d * 64 + i, query_6_new32);
                    query_7_in += query_6_new32 * query_6_new32;
                }
                store_v4(query_7 + i, load_v4(query_7 + i) + query_7_in);
            }
            /* query_7 = 1.0f / sqrt((query_7 * 0.015625f) + 1e-05f) */
            for (int64_t i = 0; i < i1 - i0; i += 16) {
                store_v4(query_7 + i, 1.0f / sqrt_v4((load_v4(query_7 + i) * 0.015625f) + 1e-05f));
            }
            /* query_9 = ((query_6 * query_7) * sketch.g1.norm0.weight) + sketch.g1.norm0.bias */
            for (int64_t i = 0; i < i1 - i0; i += 16) {
                const vec_v4 query_7_33 = load_v4(query_7 + i);
                for (int64_t d = 0; d < 64; d++) {
                    store_v4(query_9 + d * 64 + i, ((load_v4(query_6 + d * 64 + i) * query_7_33) *
                        sketch_g1_norm0_weight[d]) + sketch_g1_norm0_bias[d]);
                }
            }
            /* query_10[h][i] = sum over d of sketch_g1_w0 * query_9 */
            dot7_v4(sketch_g1_w0, query_9, query_10);
            /* query_12 = 0.0f */
            for (int64_t i_first = 0; i_first < i1 - i0; i_first += 64) {
                for (int64_t r = 0; r < 64; r++) {
                    UNROLL for (int64_t u = 0, i = i_first; u < 4; u++, i += 16) {
                        store_v4(query_12 + r * 64 + i, splat_v4(0.0f));
                    }
                }
            }
            for (int64_t h0 = 0, h_end = 512; h0 < h_end; h0 += 192) {
                const int64_t h1 = min(h0 + 192, h_end);
                /* query_11 = (query_10 * 0.5f) * (tanh((query_10 + (((query_10 * query_10) * query_10) * 0.044715f)) *
                   0.7978846f) + 1.0f) */
                for (int64_t i = 0; i < i1 - i0; i += 16) {
                    for (int64_t h = h0; h < h1; h++) {
                        const vec_v4 query_10_34 = load_v4(query_10 + h * 64 + i);
                        store_v4(query_11 + (h - h0) * 64 + i, (query_10_34 * 0.5f) * (tanh_v4((query_10_34 +
                            (((query_10_34 * query_10_34) * query_10_34) * 0.044715f)) * 0.7978846f) + 1.0f));
                    }
                }
                /* query_12[r][i] += sum over h of sketch_g1_w1 * query_11 */
                dot8_v4(h1 - h0, sketch_g1_w1 + h0 * 64, query_11, query_12);
            }
            /* query_13 = 0.0f */
            for (int64_t i = 0; i < i1 - i0; i += 16) {
                store_v4(query_13 + i, splat_v4(0.0f));
            }
            /* query_13 += query_12 */
            for (int64_t i_first = 0; i_first < i1 - i0; i_first += 64) {
                vec_v4 query_13_in[4];
                UNROLL for (int64_t u = 0, i = i_first; u < 4; u++, i += 16) {
                    query_13_in[u] = (vec_v4){0};
                }
                for (int64_t r = 0; r < 64; r++) {
                    UNROLL for (int64_t u = 0, i = i_first; u < 4; u++, i += 16) {
                        query_13_in[u] += load_v4(query_12 + r * 64 + i);
                    }
                }
                UNROLL for (int64_t u = 0, i = i_first; u < 4; u++, i += 16) {
                    store_v4(query_13 + i, load_v4(query_13 + i) + query_13_in[u]);
                }
            }
            /* query_15 = 0.0f */
            for (int64_t i = 0; i < i1 - i0; i += 16) {
                store_v4(query_15 + i, splat_v4(0.0f));
            }
            /* query_12 = query_12 - (query_13 * 0.015625f); query_15 += query_12 * query_12 */
            for (int64_t i = 0; i < i1 - i0; i += 16) {
                const vec_v4 t_36 = load_v4(query_13 + i) * 0.015625f;
                vec_v4 query_15_in = (vec_v4){0};
                for (int64_t r = 0; r < 64; r++) {
                    const vec_v4 query_12_35 = load_v4(query_12 + r * 64 + i);
                    const vec_v4 query_12_new37 = query_12_35 - t_36;
                    store_v4(query_12 + r * 64 + i, query_12_new37);
                    query_15_in += query_12_new37 * query_12_new37;
                }
                store_v4(query_15 + i, load_v4(query_15 + i) + query_15_in);
            }
            /* query_12 = ((query_12 * (1.0f / sqrt((query_15 * 0.015625f) + 1e-05f))) * sketch.g1.norm1.weight) +
               sketch.g1.norm1.bias */
            for (int64_t i = 0; i < i1 - i0; i += 16) {
                const vec_v4 t_38 = 1.0f / sqrt_v4((load_v4(query_15 + i) * 0.015625f) + 1e-05f);
                for (int64_t r = 0; r < 64; r++) {
                    store_v4(query_12 + r * 64 + i, ((load_v4(query_12 + r * 64 + i) * t_38) *
                        sketch_g1_norm1_weight[r]) + sketch_g1_norm1_bias[r]);
                }
            }
            /* query_17[h][i] = sum over r of sketch_g1_w2 * query_12 */
            dot7_v4(sketch_g1_w2, query_12, query_17);
            /* query_19 = 0.0f */
            for (int64_t i_first = 0; i_first < i1 - i0; i_first += 64) {
                for (int64_t r = 0; r < 64; r++) {
                    UNROLL for (int64_t u = 0, i = i_first; u < 4; u++, i += 16) {
                        store_v4(query_19 + r * 64 + i, splat_v4(0.0f));
                    }
                }
            }
            {
                for (int64_t h0 = 0, h_end = 512; h0 < h_end; h0 += 192) {
                    const int64_t h1 = min(h0 + 192, h_end);
                    /* query_18 = (query_17 * 0.5f) * (tanh((query_17 + (((query_17 * query_17) * query_17) *
                       0.044715f)) * 0.7978846f) + 1.0f) */
                    for (int64_t i = 0; i < i1 - i0; i += 16) {
                        for (int64_t h = h0; h < h1; h++) {
                            const vec_v4 query_17_39 = load_v4(query_17 + h * 64 + i);
                            store_v4(query_18 + (h - h0) * 64 + i, (query_17_39 * 0.5f) * (tanh_v4((query_17_39 +
                                (((query_17_39 * query_17_39) * query_17_39) * 0.044715f)) * 0.7978846f) + 1.0f));
                        }
                    }
                    /* query_19[r][i] += sum over h of sketch_g1_w3 * query_18 */
                    dot8_v4(h1 - h0, sketch_g1_w3 + h0 * 64, query_18, query_19);
                }
            }
            /* query_6 = ((query_6 * query_7) * sketch.g2.norm0.weight) + sketch.g2.norm0.bias */
            for (int64_t i = 0; i < i1 - i0; i += 16) {
                const vec_v4 query_7_40 = load_v4(query_7 + i);
                for (int64_t d = 0; d < 64; d++) {
                    store_v4(query_6 + d * 64 + i, ((load_v4(query_6 + d * 64 + i) * query_7_40) *
                        sketch_g2_norm0_weight[d]) + sketch_g2_norm0_bias[d]);
                }
            }
            /* query_21[h][i] = sum over d of sketch_g2_w0 * query_6 */
            dot7_v4(sketch_g2_w0, query_6, query_21);
            /* query_23 = 0.0f */
            for (int64_t i_first = 0; i_first < i1 - i0; i_first += 64) {
                for (int64_t r = 0; r < 64; r++) {
                    UNROLL for (int64_t u = 0, i = i_first; u < 4; u++, i += 16) {
                        store_v4(query_23 + r * 64 + i, splat_v4(0.0f));
                    }
                }
            }
            {
                for (int64_t h0 = 0, h_end = 512; h0 < h_end; h0 += 192) {
                    const int64_t h1 = min(h0 + 192, h_end);
                    /* query_22 = (query_21 * 0.5f) * (tanh((query_21 + (((query_21 * query_21) * query_21) *
                       0.044715f)) * 0.7978846f) + 1.0f) */
                    for (int64_t i = 0; i < i1 - i0; i += 16) {
                        for (int64_t h = h0; h < h1; h++) {
                            const vec_v4 query_21_41 = load_v4(query_21 + h * 64 + i);
                            store_v4(query_22 + (h - h0) * 64 + i, (query_21_41 * 0.5f) * (tanh_v4((query_21_41 +
                                (((query_21_41 * query_21_41) * query_21_41) * 0.044715f)) * 0.7978846f) + 1.0f));
                        }
                    }
                    /* query_23[r][i] += sum over h of sketch_g2_w1 * query_22 */
                    dot8_v4(h1 - h0, sketch_g2_w1 + h0 * 64, query_22, query_23);
                }
            }
            /* query_24 = 0.0f */
            for (int64_t i = 0; i < i1 - i0; i += 16) {
                store_v4(query_24 + i, splat_v4(0.0f));
            }
            /* query_24 += query_23 */
            for (int64_t i_first = 0; i_first < i1 - i0; i_first += 64) {
                vec_v4 query_24_in[4];
                UNROLL for (int64_t u = 0, i = i_first; u < 4; u++, i += 16) {
                    query_24_in[u] = (vec_v4){0};
                }
                for (int64_t r = 0; r < 64; r++) {
                    UNROLL for (int64_t u = 0, i = i_first; u < 4; u++, i += 16) {
                        query_24_in[u] += load_v4(query_23 + r * 64 + i);
                    }
                }
                UNROLL for (int64_t u = 0, i = i_first; u < 4; u++, i += 16) {
                    store_v4(query_24 + i, load_v4(query_24 + i) + query_24_in[u]);
                }
            }
            /* query_26 = 0.0f */
            for (int64_t i = 0; i < i1 - i0; i += 16) {
                store_v4(query_26 + i, splat_v4(0.0f));
            }
            /* query_23 = query_23 - (query_24 * 0.015625f); query_26 += query_23 * query_23 */
            for (int64_t i = 0; i < i1 - i0; i += 16) {
                const vec_v4 t_43 = load_v4(query_24 + i) * 0.015625f;
                vec_v4 query_26_in = (vec_v4){0};
                for (int64_t r = 0; r < 64; r++) {
                    const vec_v4 query_23_42 = load_v4(query_23 + r * 64 + i);
                    const vec_v4 query_23_new44 = query_23_42 - t_43;
                    store_v4(query_23 + r * 64 + i, query_23_new44);
                    query_26_in += query_23_new44 * query_23_new44;
                }
                store_v4(query_26 + i, load_v4(query_26 + i) + query_26_in);
            }
            /* query_23 = ((query_23 * (1.0f / sqrt((query_26 * 0.015625f) + 1e-05f))) * sketch.g2.norm1.weight) +
               sketch.g2.norm1.bias */
            for (int64_t i = 0; i < i1 - i0; i += 16) {
                const vec_v4 t_45 = 1.0f / sqrt_v4((load_v4(query_26 + i) * 0.015625f) + 1e-05f);
                for (int64_t r = 0; r < 64; r++) {
                    store_v4(query_23 + r * 64 + i, ((load_v4(query_23 + r * 64 + i) * t_45) *
                        sketch_g2_norm1_weight[r]) + sketch_g2_norm1_bias[r]);
                }
            }
            /* query_28[h][i] = sum over r of sketch_g2_w2 * query_23 */
            dot7_v4(sketch_g2_w2, query_23, query_28);
            /* query_30 = 0.0f */
            for (int64_t i_first = 0; i_first < i1 - i0; i_first += 64) {
                for (int64_t r = 0; r < 64; r++) {
                    UNROLL for (int64_t u = 0, i = i_first; u < 4; u++, i += 16) {
                        store_v4(query_30 + r * 64 + i, splat_v4(0.0f));
                    }
                }
            }
            {
                for (int64_t h0 = 0, h_end = 512; h0 < h_end; h0 += 192) {
                    const int64_t h1 = min(h0 + 192, h_end);
                    /* query_29 = (query_28 * 0.5f) * (tanh((query_28 + (((query_28 * query_28) * query_28) *
                       0.044715f)) * 0.7978846f) + 1.0f) */
                    for (int64_t i = 0; i < i1 - i0; i += 16) {
                        for (int64_t h = h0; h < h1; h++) {
                            const vec_v4 query_28_46 = load_v4(query_28 + h * 64 + i);
                            store_v4(query_29 + (h - h0) * 64 + i, (query_28_46 * 0.5f) * (tanh_v4((query_28_46 +
                                (((query_28_46 * query_28_46) * query_28_46) * 0.044715f)) * 0.7978846f) + 1.0f));
                        }
                    }
                    /* query_30[r][i] += sum over h of sketch_g2_w3 * query_29 */
                    dot8_v4(h1 - h0, sketch_g2_w3 + h0 * 64, query_29, query_30);
                }
            }
            /* query_19 = tanh((query_19 * query_30) * 0.125f) * 8.0f */
            for (int64_t i = 0; i < i1 - i0; i += 16) {
                for (int64_t r = 0; r < 64; r++) {
                    store_v4(query_19 + r * 64 + i, tanh_v4((load_v4(query_19 + r * 64 + i) * load_v4(query_30 + r * 64
                        + i)) * 0.125f) * 8.0f);
                }
            }
            /* query_33 = 0.0f; row_sum = 0.0f; row_sum_compensation = 0.0f */
            for (int64_t i = 0; i < i1 - i0; i += 16) {
                store_v4(query_33 + i, splat_v4(0.0f));
                store_v4(row_sum + i, splat_v4(0.0f));
                store_v4(row_sum_compensation + i, splat_v4(0.0f));
            }
            /* query_34 = 0.0f */
            for (int64_t i_first = 0; i_first < i1 - i0; i_first += 64) {
                for (int64_t e = 0; e < 64; e++) {
                    UNROLL for (int64_t u = 0, i = i_first; u < 4; u++, i += 16) {
                        store_v4(query_34 + e * 64 + i, splat_v4(0.0f));
                    }
                }
            }
            for (int64_t f0 = 0, f_end = 2080; f0 < f_end; f0 += 192) {
                const int64_t f1 = min(f0 + 192, f_end);
                /* query_32 = (query_19 * query_19) * select((f / 64) == 0, 1.0f, 2.0f); query_33 += query_32 * state */
                for (int64_t i_first = 0; i_first < i1 - i0; i_first += 64) {
                    vec_v4 query_33_in[4], query_33_in_whole[4];
                    UNROLL for (int64_t u = 0, i = i_first; u < 4; u++, i += 16) {
                        query_33_in[u] = (vec_v4){0};
                        query_33_in_whole[u] = (vec_v4){0};
                    }
                    for (int64_t f = f0; f < f1; f++) {
                        UNROLL for (int64_t u = 0, i = i_first; u < 4; u++, i += 16) {
                            const vec_v4 query_32_new47 = (load_v4(query_19 + (f % 64) * 64 + i) * load_v4(query_19 +
                                (((f % 64) + (f / 64)) % 64) * 64 + i)) * (float)(((f / 64) == 0) ? 1.0 : 2.0);
                            store_v4(query_32 + (f - f0) * 64 + i, query_32_new47);
                            query_33_in[u] += query_32_new47 * (state[(chunk - chunk0) * 135200 + f]);
                            if (f % 192 == 191) {
                                query_33_in_whole[u] += query_33_in[u];
                                query_33_in[u] = (vec_v4){0};
                            }
                        }
                    }
                    UNROLL for (int64_t u = 0, i = i_first; u < 4; u++, i += 16) {
                        query_33_in[u] += query_33_in_whole[u];
                        store_v4(query_33 + i, load_v4(query_33 + i) + query_33_in[u]);
                    }
                }
                /* query_34[e][i] += sum over f of state_2 * query_32 */
                dot8_v4(f1 - f0, state_2 + (chunk - chunk0) * 135200 + f0 * 64, query_32, query_34);
            }
            /* sum = 0.0f; sum_compensation = 0.0f */
            for (int64_t i_first = 0; i_first < i1 - i0; i_first += 64) {
                for (int64_t e = 0; e < 64; e++) {
                    UNROLL for (int64_t u = 0, i = i_first; u < 4; u++, i += 16) {
                        store_v4(sum + e * 64 + i, splat_v4(0.0f));
                        store_v4(sum_compensation + e * 64 + i, splat_v4(0.0f));
                    }
                }
            }
            for (int64_t j0 = max(0, chunk * 256), j_end = min(n_k, i1 + n_k - n_q); j0 < j_end; j0 += 64) {
                const int64_t j1 = min(j0 + 64, j_end);
                /* k_tile_2 = k, with zeros beyond the last row */
                transpose_v4(k + j0 * k_row, k_row, j1 - j0, 64, k_tile_2, 64);
                for (int64_t j = j1 - j0; j < round_up(j1 - j0, 16); j++)
                    for (int64_t d = 0; d < 64; d++) k_tile_2[d * 64 + j] = 0;
                /* key_33 = 0.0f */
                for (int64_t j = 0; j < j1 - j0; j += 16) {
                    store_v4(key_33 + j, splat_v4(0.0f));
                }
                /* key_33 += k_tile_2 */
                for (int64_t j_first = 0; j_first < j1 - j0; j_first += 64) {
                    vec_v4 key_33_in[4];
                    UNROLL for (int64_t u = 0, j = j_first; u < 4; u++, j += 16) {
                        key_33_in[u] = (vec_v4){0};
                    }
                    for (int64_t d = 0; d < 64; d++) {
                        UNROLL for (int64_t u = 0, j = j_first; u < 4; u++, j += 16) {
                            key_33_in[u] += load_v4(k_tile_2 + d * 64 + j);
                        }
                    }
                    UNROLL for (int64_t u = 0, j = j_first; u < 4; u++, j += 16) {
                        store_v4(key_33 + j, load_v4(key_33 + j) + key_33_in[u]);
                    }
                }
                /* key_35 = 0.0f */
                for (int64_t j = 0; j < j1 - j0; j += 16) {
                    store_v4(key_35 + j, splat_v4(0.0f));
                }
                /* k_tile_2 = k_tile_2 - (key_33 * 0.015625f); key_35 += k_tile_2 * k_tile_2 */
                for (int64_t j = 0; j < j1 - j0; j += 16) {
                    const vec_v4 t_49 = load_v4(key_33 + j) * 0.015625f;
                    vec_v4 key_35_in = (vec_v4){0};
                    for (int64_t d = 0; d < 64; d++) {
                        const vec_v4 k_tile_2_48 = load_v4(k_tile_2 + d * 64 + j);
                        const vec_v4 k_tile_2_new50 = k_tile_2_48 - t_49;
                        store_v4(k_tile_2 + d * 64 + j, k_tile_2_new50);
                        key_35_in += k_tile_2_new50 * k_tile_2_new50;
                    }
                    store_v4(key_35 + j, load_v4(key_35 + j) + key_35_in);
                }
                /* k_tile_2 = k_tile_2 * (1.0f / sqrt((key_35 * 0.015625f) + 1e-05f)) */
                for (int64_t j = 0; j < j1 - j0; j += 16) {
                    const vec_v4 t_51 = 1.0f / sqrt_v4((load_v4(key_35 + j) * 0.015625f) + 1e-05f);
                    for (int64_t d = 0; d < 64; d++) {
                        store_v4(k_tile_2 + d * 64 + j, load_v4(k_tile_2 + d * 64 + j) * t_51);
                    }
                }
                /* score[j][i] = sum over d of k_tile_2 * q_tile */
                dot10_v4(j1 - j0, k_tile_2, q_tile, score);
                /* score = (score * score) * (score * score) */
                for (int64_t i_first = 0; i_first < i1 - i0; i_first += 64) {
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        UNROLL for (int64_t u = 0, i = i_first; u < 4; u++, i += 16) {
                            const vec_v4 score_52 = load_v4(score + j * 64 + i);
                            const vec_v4 t_53 = score_52 * score_52;
                            store_v4(score + j * 64 + i, t_53 * t_53);
                        }
                    }
                }
                if ((j0 < (((chunk + 1) - 1) * 256)) || ((i0 + n_k - n_q + 1) < j1)) { /* the tile is not wholly inside
                    the mask */
                    /* score = select((j <= (i + (n_k - n_q))) && ((chunk * 256) <= j), score, 0.0f) */
                    const int64_t t_54 = n_k - n_q;
                    for (int64_t i = 0; i < i1 - i0; i += 16) {
                        const ints_v4 t_55 = (i0 + i + lane_v4) + t_54;
                        for (int64_t j = 0; j < j1 - j0; j++) {
                            store_v4(score + j * 64 + i, pick_v4(__builtin_convertvector(((j0 + j) <= t_55) &
                                (-(int64_t)((chunk * 256) <= (j0 + j))), mask_v4), load_v4(score + j * 64 + i),
                                splat_v4(0.0f)));
                        }
                    }
                }
                /* row_sum += score */
                for (int64_t i_first = 0; i_first < i1 - i0; i_first += 64) {
                    vec_v4 row_sum_in[4];
                    UNROLL for (int64_t u = 0, i = i_first; u < 4; u++, i += 16) {
                        row_sum_in[u] = (vec_v4){0};
                    }
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        UNROLL for (int64_t u = 0, i = i_first; u < 4; u++, i += 16) {
                            row_sum_in[u] += load_v4(score + j * 64 + i);
                        }
                    }
                    UNROLL for (int64_t u = 0, i = i_first; u < 4; u++, i += 16) {
                        add_v4(row_sum + i, row_sum_compensation + i, row_sum_in[u], splat_v4(1));
                    }
                }
                /* sum[e][i] += sum over j of v * score */
                if (__builtin_expect(((j0 < (((chunk + 1) - 1) * 256)) || ((i0 + n_k - n_q + 1) < j1)) && !finite_v4(v +
                    j0 * v_row, v_row, j1 - j0, 64), 0)) { /* infinity and NaN reach only what sees them */
                    dot11_v4(j1 - j0, v + j0 * v_row, v_row, score, sum, sum_compensation);
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        mask_v4 seen[4];
                        if (finite_v4(v + j0 * v_row + j * v_row, 1, 64, 1)) continue;
                        const int64_t t_56 = n_k - n_q;
                        const int t_57 = (chunk * 256) <= (j0 + j);
                        for (int64_t i = 0; i < i1 - i0; i += 16) {
                            seen[i / 16] = __builtin_convertvector(((j0 + j) <= ((i0 + i + lane_v4) + t_56)) &
                                (-(int64_t)t_57), mask_v4);
                        }
                        add_seen_v4(64, sum, 64, v + j0 * v_row + j * v_row, 1, score + j * 64, seen, i1 - i0);
                    }
                } else
                    dot12_v4(j1 - j0, v + j0 * v_row, v_row, score, sum, sum_compensation);
            }
            /* sum = select(((row_sum + query_33) + 1.0f) == 0.0f, 0.0f,
               (sum + query_34) / ((row_sum + query_33) + 1.0f)) */
            for (int64_t i = 0; i < i1 - i0; i += 16) {
                const vec_v4 t_58 = (load_v4(row_sum + i) + load_v4(query_33 + i)) + 1.0f;
                const mask_v4 t_59 = t_58 == 0.0f;
                for (int64_t e = 0; e < 64; e++) {
                    store_v4(sum + e * 64 + i, pick_v4(t_59, splat_v4(0.0f),
                        (load_v4(sum + e * 64 + i) + load_v4(query_34 + e * 64 + i)) / t_58));
                }
            }
            /* out = sum, transposed back */
            transpose_v4(sum, 64, 64, i1 - i0, out + m * out_head + i0 * out_row, out_row);
        }
    }
}

/* All of a head: every thread whose part this is calls it. */
TARGET_v4 static void polysketch_learned_r64_local_linear_v4(const struct call *call, int64_t task, struct part *part)
{
    const int64_t n_k = call->p.n_k;
    const int64_t chunks = n_k > 0 ? (n_k - 1) / 256 + 1 : 1;
    for (int64_t turn = part->number; turn < ((2080 + 31) / 32);
        turn += part->threads) polysketch_learned_r64_local_begin_v4(call, task, part, turn);
    meet(part);
    const int64_t first = 0;
    const int64_t length = segment_length(part, chunks - first);
    for (int64_t segment = part->number; first + segment * length < chunks; segment += part->threads) {
        part->chunk0 = first + segment * length;
        part->chunk1 = min(part->chunk0 + length, chunks);
        for (int64_t turn = part->chunk0; turn < part->chunk1; turn++) polysketch_learned_r64_local_keys_v4(call, task,
            part, turn);
        for (int64_t group = 0; group < 16; group++) {
            await_segment(part, group, segment);
            for (int64_t turn = group * ((2080 + 31) / 32) / 16; turn < (group + 1) * ((2080 + 31) / 32) / 16; turn++)
                polysketch_learned_r64_local_fold_v4(call, task, part, turn);
            pass_segment(part, group, segment);
        }
        for (int64_t turn = part->chunk0; turn < part->chunk1; turn++) polysketch_learned_r64_local_queries_v4(call,
            task, part, turn);
    }
    part->segments += (max(chunks - first, 0) + length - 1) / length;
    meet(part);
}

/* States begin with no key. */
TARGET_v4 APART void polysketch_learned_r64_local_few_begin_v4(const struct call *call, int64_t task,
    const struct part *part, int64_t turn)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_q = call->p.n_q;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t r_q0 = turn * 64, r_q1 = min(r_q0 + 64, rows);
    const int64_t g = task % kv_heads;
    const int64_t b = task / kv_heads;
    const float *const q = call->q + b * call->p.q.batch + g * members * call->p.q.head;
    const int64_t q_row = call->p.q.row;
    const int64_t q_head = call->p.q.head;
    const float *const sketch_g1_norm0_weight = call->params->sketch_g1_norm0_weight;
    const float *const sketch_g1_norm0_bias = call->params->sketch_g1_norm0_bias;
    const float *const sketch_g1_w0 = call->params->sketch_g1_w0;
    const float *const sketch_g1_w1 = call->params->sketch_g1_w1;
    const float *const sketch_g1_norm1_weight = call->params->sketch_g1_norm1_weight;
    const float *const sketch_g1_norm1_bias = call->params->sketch_g1_norm1_bias;
    const float *const sketch_g1_w2 = call->params->sketch_g1_w2;
    const float *const sketch_g1_w3 = call->params->sketch_g1_w3;
    const float *const sketch_g2_norm0_weight = call->params->sketch_g2_norm0_weight;
    const float *const sketch_g2_norm0_bias = call->params->sketch_g2_norm0_bias;
    const float *const sketch_g2_w0 = call->params->sketch_g2_w0;
    const float *const sketch_g2_w1 = call->params->sketch_g2_w1;
    const float *const sketch_g2_norm1_weight = call->params->sketch_g2_norm1_weight;
    const float *const sketch_g2_norm1_bias = call->params->sketch_g2_norm1_bias;
    const float *const sketch_g2_w2 = call->params->sketch_g2_w2;
    const float *const sketch_g2_w3 = call->params->sketch_g2_w3;
    float *const query = (float *)(void *)(part->shared + 0); /* [r_q: 64] */
    float *const query_2 = (float *)(void *)(part->shared + 256); /* [d: 64, r_q: 64] */
    float *const query_3 = (float *)(void *)(part->shared + 16640); /* [r_q: 64] */
    float *const query_4 = (float *)(void *)(part->shared + 16896); /* [d: 64, r_q: 64] */
    float *const query_5 = (float *)(void *)(part->shared + 33280); /* [r_q: 64] */
    float *const query_6 = (float *)(void *)(part->shared + 33536); /* [d: 64, r_q: 64] */
    float *const query_7 = (float *)(void *)(part->shared + 49920); /* [r_q: 64] */
    float *const query_8 = (float *)(void *)(part->shared + 50176); /* [r_q: 64] */
    float *const query_9 = (float *)(void *)(part->shared + 50432); /* [d: 64, r_q: 64] */
    float *const query_10 = (float *)(void *)(part->shared + 66816); /* [h: 512, r_q: 64] */
    float *const query_11 = (float *)(void *)(part->shared + 197888); /* [h: 512, r_q: 64] */
    float *const query_12 = (float *)(void *)(part->shared + 328960); /* [r: 64, r_q: 64] */
    float *const query_13 = (float *)(void *)(part->shared + 345344); /* [r_q: 64] */
    float *const query_14 = (float *)(void *)(part->shared + 345600); /* [r: 64, r_q: 64] */
    float *const query_15 = (float *)(void *)(part->shared + 361984); /* [r_q: 64] */
    float *const query_16 = (float *)(void *)(part->shared + 362240); /* [r: 64, r_q: 64] */
    float *const query_17 = (float *)(void *)(part->shared + 378624); /* [h: 512, r_q: 64] */
    float *const query_18 = (float *)(void *)(part->shared + 509696); /* [h: 512, r_q: 64] */
    float *const query_19 = (float *)(void *)(part->shared + 640768); /* [r: 64, r_q: 64] */
    float *const query_20 = (float *)(void *)(part->shared + 657152); /* [d: 64, r_q: 64] */
    float *const query_21 = (float *)(void *)(part->shared + 673536); /* [h: 512, r_q: 64] */
    float *const query_22 = (float *)(void *)(part->shared + 804608); /* [h: 512, r_q: 64] */
    float *const query_23 = (float *)(void *)(part->shared + 935680); /* [r: 64, r_q: 64] */
    float *const query_24 = (float *)(void *)(part->shared + 952064); /* [r_q: 64] */
    float *const query_25 = (float *)(void *)(part->shared + 952320); /* [r: 64, r_q: 64] */
    float *const query_26 = (float *)(void *)(part->shared + 968704); /* [r_q: 64] */
    float *const query_27 = (float *)(void *)(part->shared + 968960); /* [r: 64, r_q: 64] */
    float *const query_28 = (float *)(void *)(part->shared + 985344); /* [h: 512, r_q: 64] */
    float *const query_29 = (float *)(void *)(part->shared + 1116416); /* [h: 512, r_q: 64] */
    float *const query_30 = (float *)(void *)(part->shared + 1247488); /* [r: 64, r_q: 64] */
    float *const query_31 = (float *)(void *)(part->shared + 1263872); /* [r: 64, r_q: 64] */
    float *const q_tile = (float *)(void *)(part->work + 0); /* [d: 64, r_q: 64] */
    /* q_tile = q, with zeros beyond the last row */
    for (int64_t r_q = 0; r_q < round_up(r_q1 - r_q0, 16); r_q++)
        for (int64_t d = 0; d < 64; d++)
            q_tile[d * 64 + r_q] = r_q < r_q1 - r_q0 ? q[r_q / n_q * q_head + r_q % n_q * q_row + d] : 0;
    /* query = 0.0f */
    for (int64_t r_q = r_q0; r_q < r_q1; r_q += 16) {
        store_v4(query + r_q, splat_v4(0.0f));
    }
    /* query += q_tile */
    for (int64_t r_q = r_q0; r_q < r_q1; r_q += 16) {
        vec_v4 query_in = (vec_v4){0};
        for (int64_t d = 0; d < 64; d++) {
            query_in += load_v4(q_tile + d * 64 + r_q);
        }
        store_v4(query + r_q, load_v4(query + r_q) + query_in);
    }
    /* query_3 = 0.0f */
    for (int64_t r_q = r_q0; r_q < r_q1; r_q += 16) {
        store_v4(query_3 + r_q, splat_v4(0.0f));
    }
    /* query_2 = q_tile - (query * 0.015625f); query_3 += query_2 * query_2 */
    for (int64_t r_q = r_q0; r_q < r_q1; r_q += 16) {
        const vec_v4 t_0 = load_v4(query + r_q) * 0.015625f;
        vec_v4 query_3_in = (vec_v4){0};
        for (int64_t d = 0; d < 64; d++) {
            const vec_v4 query_2_new1 = load_v4(q_tile + d * 64 + r_q) - t_0;
            store_v4(query_2 + d * 64 + r_q, query_2_new1);
            query_3_in += query_2_new1 * query_2_new1;
        }
        store_v4(query_3 + r_q, load_v4(query_3 + r_q) + query_3_in);
    }
    /* query_5 = 0.0f */
    for (int64_t r_q = r_q0; r_q < r_q1; r_q += 16) {
        store_v4(query_5 + r_q, splat_v4(0.0f));
    }
    /* query_4 = query_2 * (1.0f / sqrt((query_3 * 0.015625f) + 1e-05f)); query_5 += query_4 */
    for (int64_t r_q = r_q0; r_q < r_q1; r_q += 16) {
        const vec_v4 t_2 = 1.0f / sqrt_v4((load_v4(query_3 + r_q) * 0.015625f) + 1e-05f);
        vec_v4 query_5_in = (vec_v4){0};
        for (int64_t d = 0; d < 64; d++) {
            const vec_v4 query_4_new3 = load_v4(query_2 + d * 64 + r_q) * t_2;
            store_v4(query_4 + d * 64 + r_q, query_4_new3);
            query_5_in += query_4_new3;
        }
        store_v4(query_5 + r_q, load_v4(query_5 + r_q) + query_5_in);
    }
    /* query_7 = 0.0f */
    for (int64_t r_q = r_q0; r_q < r_q1; r_q += 16) {
        store_v4(query_7 + r_q, splat_v4(0.0f));
    }
    /* query_6 = query_4 - (query_5 * 0.015625f); query_7 += query_6 * query_6 */
    for (int64_t r_q = r_q0; r_q < r_q1; r_q += 16) {
        const vec_v4 t_4 = load_v4(query_5 + r_q) * 0.015625f;
        vec_v4 query_7_in = (vec_v4){0};
        for (int64_t d = 0; d < 64; d++) {
            const vec_v4 query_6_new5 = load_v4(query_4 + d * 64 + r_q) - t_4;
            store_v4(query_6 + d * 64 + r_q, query_6_new5);
            query_7_in += query_6_new5 * query_6_new5;
        }
        store_v4(query_7 + r_q, load_v4(query_7 + r_q) + query_7_in);
    }
    /* query_8 = 1.0f / sqrt((query_7 * 0.015625f) + 1e-05f) */
    for (int64_t r_q = r_q0; r_q < r_q1; r_q += 16) {
        store_v4(query_8 + r_q, 1.0f / sqrt_v4((load_v4(query_7 + r_q) * 0.015625f) + 1e-05f));
    }
    /* query_9 = ((query_6 * query_8) * sketch.g1.norm0.weight) + sketch.g1.norm0.bias */
    for (int64_t r_q = r_q0; r_q < r_q1; r_q += 16) {
        const vec_v4 query_8_6 = load_v4(query_8 + r_q);
        for (int64_t d = 0; d < 64; d++) {
            store_v4(query_9 + d * 64 + r_q, ((load_v4(query_6 + d * 64 + r_q) * query_8_6) * sketch_g1_norm0_weight[d])
                + sketch_g1_norm0_bias[d]);
        }
    }
    /* query_10[h][r_q] = sum over d of sketch_g1_w0 * query_9 */
    dot7_v4(sketch_g1_w0, query_9 + r_q0, query_10 + r_q0);
    /* query_11 = (query_10 * 0.5f) * (tanh((query_10 + (((query_10 * query_10) * query_10) * 0.044715f)) * 0.7978846f)
       + 1.0f) */
    for (int64_t r_q = r_q0; r_q < r_q1; r_q += 16) {
        for (int64_t h = 0; h < 512; h++) {
            const vec_v4 query_10_7 = load_v4(query_10 + h * 64 + r_q);
            store_v4(query_11 + h * 64 + r_q, (query_10_7 * 0.5f) * (tanh_v4((query_10_7 + (((query_10_7 * query_10_7) *
                query_10_7) * 0.044715f)) * 0.7978846f) + 1.0f));
        }
    }
    /* query_12[r][r_q] = sum over h of sketch_g1_w1 * query_11 */
    dot13_v4(sketch_g1_w1, query_11 + r_q0, query_12 + r_q0);
    /* query_13 = 0.0f */
    for (int64_t r_q = r_q0; r_q < r_q1; r_q += 16) {
        store_v4(query_13 + r_q, splat_v4(0.0f));
    }
    /* query_13 += query_12 */
    for (int64_t r_q = r_q0; r_q < r_q1; r_q += 16) {
        vec_v4 query_13_in = (vec_v4){0};
        for (int64_t r = 0; r < 64; r++) {
            query_13_in += load_v4(query_12 + r * 64 + r_q);
        }
        store_v4(query_13 + r_q, load_v4(query_13 + r_q) + query_13_in);
    }
    /* query_15 = 0.0f */
    for (int64_t r_q = r_q0; r_q < r_q1; r_q += 16) {
        store_v4(query_15 + r_q, splat_v4(0.0f));
    }
    /* query_14 = query_12 - (query_13 * 0.015625f); query_15 += query_14 * query_14 */
    for (int64_t r_q = r_q0; r_q < r_q1; r_q += 16) {
        const vec_v4 t_8 = load_v4(query_13 + r_q) * 0.015625f;
        vec_v4 query_15_in = (vec_v4){0};
        for (int64_t r = 0; r < 64; r++) {
            const vec_v4 query_14_new9 = load_v4(query_12 + r * 64 + r_q) - t_8;
            store_v4(query_14 + r * 64 + r_q, query_14_new9);
            query_15_in += query_14_new9 * query_14_new9;
        }
        store_v4(query_15 + r_q, load_v4(query_15 + r_q) + query_15_in);
    }
    /* query_16 = ((query_14 * (1.0f / sqrt((query_15 * 0.015625f) + 1e-05f))) * sketch.g1.norm1.weight) +
       sketch.g1.norm1.bias */
    for (int64_t r_q = r_q0; r_q < r_q1; r_q += 16) {
        const vec_v4 t_10 = 1.0f / sqrt_v4((load_v4(query_15 + r_q) * 0.015625f) + 1e-05f);
        for (int64_t r = 0; r < 64; r++) {
            store_v4(query_16 + r * 64 + r_q, ((load_v4(query_14 + r * 64 + r_q) * t_10) * sketch_g1_norm1_weight[r]) +
                sketch_g1_norm1_bias[r]);
        }
    }
    /* query_17[h][r_q] = sum over r of sketch_g1_w2 * query_16 */
    dot7_v4(sketch_g1_w2, query_16 + r_q0, query_17 + r_q0);
    /* query_18 = (query_17 * 0.5f) * (tanh((query_17 + (((query_17 * query_17) * query_17) * 0.044715f)) * 0.7978846f)
       + 1.0f) */
    for (int64_t r_q = r_q0; r_q < r_q1; r_q += 16) {
        for (int64_t h = 0; h < 512; h++) {
            const vec_v4 query_17_11 = load_v4(query_17 + h * 64 + r_q);
            store_v4(query_18 + h * 64 + r_q, (query_17_11 * 0.5f) * (tanh_v4((query_17_11 + (((query_17_11 *
                query_17_11) * query_17_11) * 0.044715f)) * 0.7978846f) + 1.0f));
        }
    }
    /* query_19[r][r_q] = sum over h of sketch_g1_w3 * query_18 */
    dot13_v4(sketch_g1_w3, query_18 + r_q0, query_19 + r_q0);
    /* query_20 = ((query_6 * query_8) * sketch.g2.norm0.weight) + sketch.g2.norm0.bias */
    for (int64_t r_q = r_q0; r_q < r_q1; r_q += 16) {
        const vec_v4 query_8_12 = load_v4(query_8 + r_q);
        for (int64_t d = 0; d < 64; d++) {
            store_v4(query_20 + d * 64 + r_q, ((load_v4(query_6 + d * 64 + r_q) * query_8_12) *
                sketch_g2_norm0_weight[d]) + sketch_g2_norm0_bias[d]);
        }
    }
    /* query_21[h][r_q] = sum over d of sketch_g2_w0 * query_20 */
    dot7_v4(sketch_g2_w0, query_20 + r_q0, query_21 + r_q0);
    /* query_22 = (query_21 * 0.5f) * (tanh((query_21 + (((query_21 * query_21) * query_21) * 0.044715f)) * 0.7978846f)
       + 1.0f) */
    for (int64_t r_q = r_q0; r_q < r_q1; r_q += 16) {
        for (int64_t h = 0; h < 512; h++) {
            const vec_v4 query_21_13 = load_v4(query_21 + h * 64 + r_q);
            store_v4(query_22 + h * 64 + r_q, (query_21_13 * 0.5f) * (tanh_v4((query_21_13 + (((query_21_13 *
                query_21_13) * query_21_13) * 0.044715f)) * 0.7978846f) + 1.0f));
        }
    }
    /* query_23[r][r_q] = sum over h of sketch_g2_w1 * query_22 */
    dot13_v4(sketch_g2_w1, query_22 + r_q0, query_23 + r_q0);
    /* query_24 = 0.0f */
    for (int64_t r_q = r_q0; r_q < r_q1; r_q += 16) {
        store_v4(query_24 + r_q, splat_v4(0.0f));
    }
    /* query_24 += query_23 */
    for (int64_t r_q = r_q0; r_q < r_q1; r_q += 16) {
        vec_v4 query_24_in = (vec_v4){0};
        for (int64_t r = 0; r < 64; r++) {
            query_24_in += load_v4(query_23 + r * 64 + r_q);
        }
        store_v4(query_24 + r_q, load_v4(query_24 + r_q) + query_24_in);
    }
    /* query_26 = 0.0f */
    for (int64_t r_q = r_q0; r_q < r_q1; r_q += 16) {
        store_v4(query_26 + r_q, splat_v4(0.0f));
    }
    /* query_25 = query_23 - (query_24 * 0.015625f); query_26 += query_25 * query_25 */
    for (int64_t r_q = r_q0; r_q < r_q1; r_q += 16) {
        const vec_v4 t_14 = load_v4(query_24 + r_q) * 0.015625f;
        vec_v4 query_26_in = (vec_v4){0};
        for (int64_t r = 0; r < 64; r++) {
            const vec_v4 query_25_new15 = load_v4(query_23 + r * 64 + r_q) - t_14;
            store_v4(query_25 + r * 64 + r_q, query_25_new15);
            query_26_in += query_25_new15 * query_25_new15;
        }
        store_v4(query_26 + r_q, load_v4(query_26 + r_q) + query_26_in);
    }
    /* query_27 = ((query_25 * (1.0f / sqrt((query_26 * 0.015625f) + 1e-05f))) * sketch.g2.norm1.weight) +
       sketch.g2.norm1.bias */
    for (int64_t r_q = r_q0; r_q < r_q1; r_q += 16) {
        const vec_v4 t_16 = 1.0f / sqrt_v4((load_v4(query_26 + r_q) * 0.015625f) + 1e-05f);
        for (int64_t r = 0; r < 64; r++) {
            store_v4(query_27 + r * 64 + r_q, ((load_v4(query_25 + r * 64 + r_q) * t_16) * sketch_g2_norm1_weight[r]) +
                sketch_g2_norm1_bias[r]);
        }
    }
    /* query_28[h][r_q] = sum over r of sketch_g2_w2 * query_27 */
    dot7_v4(sketch_g2_w2, query_27 + r_q0, query_28 + r_q0);
    /* query_29 = (query_28 * 0.5f) * (tanh((query_28 + (((query_28 * query_28) * query_28) * 0.044715f)) * 0.7978846f)
       + 1.0f) */
    for (int64_t r_q = r_q0; r_q < r_q1; r_q += 16) {
        for (int64_t h = 0; h < 512; h++) {
            const vec_v4 query_28_17 = load_v4(query_28 + h * 64 + r_q);
            store_v4(query_29 + h * 64 + r_q, (query_28_17 * 0.5f) * (tanh_v4((query_28_17 + (((query_28_17 *
                query_28_17) * query_28_17) * 0.044715f)) * 0.7978846f) + 1.0f));
        }
    }
    /* query_30[r][r_q] = sum over h of sketch_g2_w3 * query_29 */
    dot13_v4(sketch_g2_w3, query_29 + r_q0, query_30 + r_q0);
    /* query_31 = tanh((query_19 * query_30) * 0.125f) * 8.0f */
    for (int64_t r_q = r_q0; r_q < r_q1; r_q += 16) {
        for (int64_t r = 0; r < 64; r++) {
            store_v4(query_31 + r * 64 + r_q, tanh_v4((load_v4(query_19 + r * 64 + r_q) * load_v4(query_30 + r * 64 +
                r_q)) * 0.125f) * 8.0f);
        }
    }
}

/* States begin with no key. */
TARGET_v4 APART void polysketch_learned_r64_local_few_begin_2_v4(const struct call *call, int64_t task,
    const struct part *part, int64_t turn)
{
    (void)task;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t r_q0 = turn * 16, r_q1 = min(r_q0 + 16, rows);
    float *const carried = (float *)(void *)(part->shared + 1280256); /* [r_q: 64] */
    float *const carried_compensation = (float *)(void *)(part->shared + 1296896); /* [r_q: 64] */
    float *const carried_2 = (float *)(void *)(part->shared + 1280512); /* [r_q: 64, e: 64] */
    float *const carried_2_compensation = (float *)(void *)(part->shared + 1297152); /* [r_q: 64, e: 64] */
    /* carried = 0.0f; carried_compensation = 0.0f */
    for (int64_t r_q = r_q0; r_q < r_q1; r_q += 16) {
        store_v4(carried + r_q, splat_v4(0.0f));
        store_v4(carried_compensation + r_q, splat_v4(0.0f));
    }
    /* carried_2 = 0.0f; carried_2_compensation = 0.0f */
    for (int64_t r_q = r_q0; r_q < r_q1; r_q++) {
        for (int64_t e_first = 0; e_first < 64; e_first += 64) {
            UNROLL for (int64_t u = 0, e = e_first; u < 4; u++, e += 16) {
                store_v4(carried_2 + r_q * 64 + e, splat_v4(0.0f));
                store_v4(carried_2_compensation + r_q * 64 + e, splat_v4(0.0f));
            }
        }
    }
}

/* The keys of a chunk, summed from zero into its slot. */
TARGET_v4 APART void polysketch_learned_r64_local_few_keys_v4(const struct call *call, int64_t task,
    const struct part *part, int64_t turn)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t n_q = call->p.n_q;
    const int64_t n_k = call->p.n_k;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t chunk = turn;
    const int64_t chunk0 = part->chunk0;
    const int64_t g = task % kv_heads;
    const int64_t b = task / kv_heads;
    const float *const k = call->k + b * call->p.k.batch + g * call->p.k.head;
    const int64_t k_row = call->p.k.row;
    const float *const v = call->v + b * call->p.v.batch + g * call->p.v.head;
    const int64_t v_row = call->p.v.row;
    const float *const sketch_g1_norm0_weight = call->params->sketch_g1_norm0_weight;
    const float *const sketch_g1_norm0_bias = call->params->sketch_g1_norm0_bias;
    const float *const sketch_g1_w0 = call->params->sketch_g1_w0;
    const float *const sketch_g1_w1 = call->params->sketch_g1_w1;
    const float *const sketch_g1_norm1_weight = call->params->sketch_g1_norm1_weight;
    const float *const sketch_g1_norm1_bias = call->params->sketch_g1_norm1_bias;
    const float *const sketch_g1_w2 = call->params->sketch_g1_w2;
    const float *const sketch_g1_w3 = call->params->sketch_g1_w3;
    const float *const sketch_g2_norm0_weight = call->params->sketch_g2_norm0_weight;
    const float *const sketch_g2_norm0_bias = call->params->sketch_g2_norm0_bias;
    const float *const sketch_g2_w0 = call->params->sketch_g2_w0;
    const float *const sketch_g2_w1 = call->params->sketch_g2_w1;
    const float *const sketch_g2_norm1_weight = call->params->sketch_g2_norm1_weight;
    const float *const sketch_g2_norm1_bias = call->params->sketch_g2_norm1_bias;
    const float *const sketch_g2_w2 = call->params->sketch_g2_w2;
    const float *const sketch_g2_w3 = call->params->sketch_g2_w3;
    float *const key = (float *)(void *)(part->work + 0); /* [j: 128] */
    float *const key_3 = (float *)(void *)(part->work + 512); /* [j: 128] */
    float *const query_4 = (float *)(void *)(part->shared + 16896); /* [d: 64, r_q: 64] */
    float *const query_31 = (float *)(void *)(part->shared + 1263872); /* [r: 64, r_q: 64] */
    float *const key_5 = (float *)(void *)(part->work + 0); /* [j: 128] */
    float *const key_6 = (float *)(void *)(part->work + 512); /* [d: 64, j: 128 of 144] */
    float *const key_7 = (float *)(void *)(part->work + 37376); /* [j: 128] */
    float *const key_9 = (float *)(void *)(part->work + 37888); /* [d: 64, j: 128 of 144] */
    float *const key_10 = (float *)(void *)(part->work + 74752); /* [h: 512, j: 128 of 144] */
    float *const key_11 = (float *)(void *)(part->work + 369664); /* [h: 192, j: 128 of 144] */
    float *const key_12 = (float *)(void *)(part->work + 37888); /* [r: 64, j: 128 of 144] */
    float *const key_13 = (float *)(void *)(part->work + 0); /* [j: 128] */
    float *const key_15 = (float *)(void *)(part->work + 74752); /* [j: 128] */
    float *const key_17 = (float *)(void *)(part->work + 74752); /* [h: 512, j: 128 of 144] */
    float *const key_18 = (float *)(void *)(part->work + 369664); /* [h: 192, j: 128 of 144] */
    float *const key_19 = (float *)(void *)(part->work + 37888); /* [r: 64, j: 128 of 144] */
    float *const key_21 = (float *)(void *)(part->work + 74752); /* [h: 512, j: 128 of 144] */
    float *const key_22 = (float *)(void *)(part->work + 369664); /* [h: 192, j: 128 of 144] */
    float *const key_23 = (float *)(void *)(part->work + 0); /* [r: 64, j: 128 of 144] */
    float *const key_24 = (float *)(void *)(part->work + 36864); /* [j: 128] */
    float *const key_26 = (float *)(void *)(part->work + 37376); /* [j: 128] */
    float *const key_28 = (float *)(void *)(part->work + 74752); /* [h: 512, j: 128 of 144] */
    float *const key_29 = (float *)(void *)(part->work + 369664); /* [h: 192, j: 128 of 144] */
    float *const key_30 = (float *)(void *)(part->work + 0); /* [r: 64, j: 128 of 144] */
    float *const score = (float *)(void *)(part->work + 0); /* [r_q: 64, j: 128 of 144] */
    float *const score_2 = (float *)(void *)(part->work + 36864); /* [r_q: 64, j: 128 of 144] */
    float *const state = (float *)(void *)(part->slots + 0); /* [chunk, r_q: 64] */
    float *const state_2 = (float *)(void *)(part->slots + 256); /* [chunk, r_q: 64, e: 64] */
    float *const k_tile = (float *)(void *)(part->work + 480256); /* [d: 64, j: 128 of 144] */
    /* state = 0.0f */
    for (int64_t r_q = 0; r_q < rows; r_q += 16) {
        store_v4(state + (chunk - chunk0) * 4160 + r_q, splat_v4(0.0f));
    }
    /* state_2 = 0.0f */
    for (int64_t r_q = 0; r_q < rows; r_q++) {
        for (int64_t e_first = 0; e_first < 64; e_first += 64) {
            UNROLL for (int64_t u = 0, e = e_first; u < 4; u++, e += 16) {
                store_v4(state_2 + (chunk - chunk0) * 4160 + r_q * 64 + e, splat_v4(0.0f));
            }
        }
    }
    for (int64_t j0 = chunk * 1024, j_end = min(min(n_k, (chunk + 1) * 1024), n_q + n_k - n_q); j0 < j_end; j0 += 128) {
        const int64_t j1 = min(j0 + 128, j_end);
        /* k_tile = k, with zeros beyond the last row */
        transpose_v4(k + j0 * k_row, k_row, j1 - j0, 64, k_tile, 144);
        for (int64_t j = j1 - j0; j < round_up(j1 - j0, 16); j++)
            for (int64_t d = 0; d < 64; d++) k_tile[d * 144 + j] = 0;
        /* key = 0.0f */
        for (int64_t j = 0; j < j1 - j0; j += 16) {
            store_v4(key + j, splat_v4(0.0f));
        }
        /* key += k_tile */
        for (int64_t j_first = 0; j_first < j1 - j0; j_first += 64) {
            vec_v4 key_in[4];
            UNROLL for (int64_t u = 0, j = j_first; u < 4; u++, j += 16) {
                key_in[u] = (vec_v4){0};
            }
            for (int64_t d = 0; d < 64; d++) {
                UNROLL for (int64_t u = 0, j = j_first; u < 4; u++, j += 16) {
                    key_in[u] += load_v4(k_tile + d * 144 + j);
                }
            }
            UNROLL for (int64_t u = 0, j = j_first; u < 4; u++, j += 16) {
                store_v4(key + j, load_v4(key + j) + key_in[u]);
            }
        }
        /* key_3 = 0.0f */
        for (int64_t j = 0; j < j1 - j0; j += 16) {
            store_v4(key_3 + j, splat_v4(0.0f));
        }
        /* k_tile = k_tile - (key * 0.015625f); key_3 += k_tile * k_tile */
        for (int64_t j = 0; j < j1 - j0; j += 16) {
            const vec_v4 t_19 = load_v4(key + j) * 0.015625f;
            vec_v4 key_3_in = (vec_v4){0};
            for (int64_t d = 0; d < 64; d++) {
                const vec_v4 k_tile_18 = load_v4(k_tile + d * 144 + j);
                const vec_v4 k_tile_new20 = k_tile_18 - t_19;
                store_v4(k_tile + d * 144 + j, k_tile_new20);
                key_3_in += k_tile_new20 * k_tile_new20;
            }
            store_v4(key_3 + j, load_v4(key_3 + j) + key_3_in);
        }
        /* key_5 = 0.0f */
        for (int64_t j = 0; j < j1 - j0; j += 16) {
            store_v4(key_5 + j, splat_v4(0.0f));
        }
        /* k_tile = k_tile * (1.0f / sqrt((key_3 * 0.015625f) + 1e-05f)); key_5 += k_tile */
        for (int64_t j = 0; j < j1 - j0; j += 16) {
            const vec_v4 t_22 = 1.0f / sqrt_v4((load_v4(key_3 + j) * 0.015625f) + 1e-05f);
            vec_v4 key_5_in = (vec_v4){0};
            for (int64_t d = 0; d < 64; d++) {
                const vec_v4 k_tile_21 = load_v4(k_tile + d * 144 + j);
                const vec_v4 k_tile_new23 = k_tile_21 * t_22;
                store_v4(k_tile + d * 144 + j, k_tile_new23);
                key_5_in += k_tile_new23;
            }
            store_v4(key_5 + j, load_v4(key_5 + j) + key_5_in);
        }
        /* key_7 = 0.0f */
        for (int64_t j = 0; j < j1 - j0; j += 16) {
            store_v4(key_7 + j, splat_v4(0.0f));
        }
        /* key_6 = k_tile - (key_5 * 0.015625f); key_7 += key_6 * key_6 */
        for (int64_t j = 0; j < j1 - j0; j += 16) {
            const vec_v4 t_24 = load_v4(key_5 + j) * 0.015625f;
            vec_v4 key_7_in = (vec_v4){0};
            for (int64_t d = 0; d < 64; d++) {
                const vec_v4 key_6_new25 = load_v4(k_tile + d * 144 + j) - t_24;
                store_v4(key_6 + d * 144 + j, key_6_new25);
                key_7_in += key_6_new25 * key_6_new25;
            }
            store_v4(key_7 + j, load_v4(key_7 + j) + key_7_in);
        }
        /* key_7 = 1.0f / sqrt((key_7 * 0.015625f) + 1e-05f) */
        for (int64_t j = 0; j < j1 - j0; j += 16) {
            store_v4(key_7 + j, 1.0f / sqrt_v4((load_v4(key_7 + j) * 0.015625f) + 1e-05f));
        }
        /* key_9 = ((key_6 * key_7) * sketch.g1.norm0.weight) + sketch.g1.norm0.bias */
        for (int64_t j = 0; j < j1 - j0; j += 16) {
            const vec_v4 key_7_26 = load_v4(key_7 + j);
            for (int64_t d = 0; d < 64; d++) {
                store_v4(key_9 + d * 144 + j, ((load_v4(key_6 + d * 144 + j) * key_7_26) * sketch_g1_norm0_weight[d]) +
                    sketch_g1_norm0_bias[d]);
            }
        }
        /* key_10[h][j] = sum over d of sketch_g1_w0 * key_9 */
        dot14_v4(round_up(j1 - j0, 64), sketch_g1_w0, key_9, key_10);
        /* key_12 = 0.0f */
        for (int64_t j_first = 0; j_first < j1 - j0; j_first += 64) {
            for (int64_t r = 0; r < 64; r++) {
                UNROLL for (int64_t u = 0, j = j_first; u < 4; u++, j += 16) {
                    store_v4(key_12 + r * 144 + j, splat_v4(0.0f));
                }
            }
        }
        for (int64_t h0 = 0, h_end = 512; h0 < h_end; h0 += 192) {
            const int64_t h1 = min(h0 + 192, h_end);
            /* key_11 = (key_10 * 0.5f) * (tanh((key_10 + (((key_10 * key_10) * key_10) * 0.044715f)) * 0.7978846f) +
               1.0f) */
            for (int64_t j = 0; j < j1 - j0; j += 16) {
                for (int64_t h = h0; h < h1; h++) {
                    const vec_v4 key_10_27 = load_v4(key_10 + h * 144 + j);
                    store_v4(key_11 + (h - h0) * 144 + j, (key_10_27 * 0.5f) * (tanh_v4((key_10_27 + (((key_10_27 *
                        key_10_27) * key_10_27) * 0.044715f)) * 0.7978846f) + 1.0f));
                }
            }
            /* key_12[r][j] += sum over h of sketch_g1_w1 * key_11 */
            dot15_v4(round_up(j1 - j0, 64), h1 - h0, sketch_g1_w1 + h0 * 64, key_11, key_12);
        }
        /* key_13 = 0.0f */
        for (int64_t j = 0; j < j1 - j0; j += 16) {
            store_v4(key_13 + j, splat_v4(0.0f));
        }
        /* key_13 += key_12 */
        for (int64_t j_first = 0; j_first < j1 - j0; j_first += 64) {
            vec_v4 key_13_in[4];
            UNROLL for (int64_t u = 0, j = j_first; u < 4; u++, j += 16) {
                key_13_in[u] = (vec_v4){0};
            }
            for (int64_t r = 0; r < 64; r++) {
                UNROLL for (int64_t u = 0, j = j_first; u < 4; u++, j += 16) {
                    key_13_in[u] += load_v4(key_12 + r * 144 + j);
                }
            }
            UNROLL for (int64_t u = 0, j = j_first; u < 4; u++, j += 16) {
                store_v4(key_13 + j, load_v4(key_13 + j) + key_13_in[u]);
            }
        }
        /* key_15 = 0.0f */
        for (int64_t j = 0; j < j1 - j0; j += 16) {
            store_v4(key_15 + j, splat_v4(0.0f));
        }
        /* key_12 = key_12 - (key_13 * 0.015625f); key_15 += key_12 * key_12 */
        for (int64_t j = 0; j < j1 - j0; j += 16) {
            const vec_v4 t_29 = load_v4(key_13 + j) * 0.015625f;
            vec_v4 key_15_in = (vec_v4){0};
            for (int64_t r = 0; r < 64; r++) {
                const vec_v4 key_12_28 = load_v4(key_12 + r * 144 + j);
                const vec_v4 key_12_new30 = key_12_28 - t_29;
                store_v4(key_12 + r * 144 + j, key_12_new30);
                key_15_in += key_12_new30 * key_12_new30;
            }
            store_v4(key_15 + j, load_v4(key_15 + j) + key_15_in);
        }
        /* key_12 = ((key_12 * (1.0f / sqrt((key_15 * 0.015625f) + 1e-05f))) * sketch.g1.norm1.weight) +
           sketch.g1.norm1.bias */
        for (int64_t j = 0; j < j1 - j0; j += 16) {
            const vec_v4 t_31 = 1.0f / sqrt_v4((load_v4(key_15 + j) * 0.015625f) + 1e-05f);
            for (int64_t r = 0; r < 64; r++) {
                store_v4(key_12 + r * 144 + j, ((load_v4(key_12 + r * 144 + j) * t_31) * sketch_g1_norm1_weight[r]) +
                    sketch_g1_norm1_bias[r]);
            }
        }
        /* key_17[h][j] = sum over r of sketch_g1_w2 * key_12 */
        dot14_v4(round_up(j1 - j0, 64), sketch_g1_w2, key_12, key_17);
        /* key_19 = 0.0f */
        for (int64_t j_first = 0; j_first < j1 - j0; j_first += 64) {
            for (int64_t r = 0; r < 64; r++) {
                UNROLL for (int64_t u = 0, j = j_first; u < 4; u++, j += 16) {
                    store_v4(key_19 + r * 144 + j, splat_v4(0.0f));
                }
            }
        }
        {
            for (int64_t h0 = 0, h_end = 512; h0 < h_end; h0 += 192) {
                const int64_t h1 = min(h0 + 192, h_end);
                /* key_18 = (key_17 * 0.5f) * (tanh((key_17 + (((key_17 * key_17) * key_17) * 0.044715f)) * 0.7978846f)
                   + 1.0f) */
                for (int64_t j = 0; j < j1 - j0; j += 16) {
                    for (int64_t h = h0; h < h1; h++) {
                        const vec_v4 key_17_32 = load_v4(key_17 + h * 144 + j);
                        store_v4(key_18 + (h - h0) * 144 + j, (key_17_32 * 0.5f) * (tanh_v4((key_17_32 + (((key_17_32 *
                            key_17_32) * key_17_32) * 0.044715f)) * 0.7978846f) + 1.0f));
                    }
                }
                /* key_19[r][j] += sum over h of sketch_g1_w3 * key_18 */
                dot15_v4(round_up(j1 - j0, 64), h1 - h0, sketch_g1_w3 + h0 * 64, key_18, key_19);
            }
        }
        /* key_6 = ((key_6 * key_7) * sketch.g2.norm0.weight) + sketch.g2.norm0.bias */
        for (int64_t j = 0; j < j1 - j0; j += 16) {
            const vec_v4 key_7_33 = load_v4(key_7 + j);
            for (int64_t d = 0; d < 64; d++) {
                store_v4(key_6 + d * 144 + j, ((load_v4(key_6 + d * 144 + j) * key_7_33) * sketch_g2_norm0_weight[d]) +
                    sketch_g2_norm0_bias[d]);
            }
        }
        /* key_21[h][j] = sum over d of sketch_g2_w0 * key_6 */
        dot14_v4(round_up(j1 - j0, 64), sketch_g2_w0, key_6, key_21);
        /* key_23 = 0.0f */
        for (int64_t j_first = 0; j_first < j1 - j0; j_first += 64) {
            for (int64_t r = 0; r < 64; r++) {
                UNROLL for (int64_t u = 0, j = j_first; u < 4; u++, j += 16) {
                    store_v4(key_23 + r * 144 + j, splat_v4(0.0f));
                }
            }
        }
        {
            for (int64_t h0 = 0, h_end = 512; h0 < h_end; h0 += 192) {
                const int64_t h1 = min(h0 + 192, h_end);
                /* key_22 = (key_21 * 0.5f) * (tanh((key_21 + (((key_21 * key_21) * key_21) * 0.044715f)) * 0.7978846f)
                   + 1.0f) */
                for (int64_t j = 0; j < j1 - j0; j += 16) {
                    for (int64_t h = h0; h < h1; h++) {
                        const vec_v4 key_21_34 = load_v4(key_21 + h * 144 + j);
                        store_v4(key_22 + (h - h0) * 144 + j, (key_21_34 * 0.5f) * (tanh_v4((key_21_34 + (((key_21_34 *
                            key_21_34) * key_21_34) * 0.044715f)) * 0.7978846f) + 1.0f));
                    }
                }
                /* key_23[r][j] += sum over h of sketch_g2_w1 * key_22 */
                dot15_v4(round_up(j1 - j0, 64), h1 - h0, sketch_g2_w1 + h0 * 64, key_22, key_23);
            }
        }
        /* key_24 = 0.0f */
        for (int64_t j = 0; j < j1 - j0; j += 16) {
            store_v4(key_24 + j, splat_v4(0.0f));
        }
        /* key_24 += key_23 */
        for (int64_t j_first = 0; j_first < j1 - j0; j_first += 64) {
            vec_v4 key_24_in[4];
            UNROLL for (int64_t u = 0, j = j_first; u < 4; u++, j += 16) {
                key_24_in[u] = (vec_v4){0};
            }
            for (int64_t r = 0; r < 64; r++) {
                UNROLL for (int64_t u = 0, j = j_first; u < 4; u++, j += 16) {
                    key_24_in[u] += load_v4(key_23 + r * 144 + j);
                }
            }
            UNROLL for (int64_t u = 0, j = j_first; u < 4; u++, j += 16) {
                store_v4(key_24 + j, load_v4(key_24 + j) + key_24_in[u]);
            }
        }
        /* key_26 = 0.0f */
        for (int64_t j = 0; j < j1 - j0; j += 16) {
            store_v4(key_26 + j, splat_v4(0.0f));
        }
        /* key_23 = key_23 - (key_24 * 0.015625f); key_26 += key_23 * key_23 */
        for (int64_t j = 0; j < j1 - j0; j += 16) {
            const vec_v4 t_36 = load_v4(key_24 + j) * 0.015625f;
            vec_v4 key_26_in = (vec_v4){0};
            for (int64_t r = 0; r < 64; r++) {
                const vec_v4 key_23_35 = load_v4(key_23 + r * 144 + j);
                const vec_v4 key_23_new37 = key_23_35 - t_36;
                store_v4(key_23 + r * 144 + j, key_23_new37);
                key_26_in += key_23_new37 * key_23_new37;
            }
            store_v4(key_26 + j, load_v4(key_26 + j) + key_26_in);
        }
        /* key_23 = ((key_23 * (1.0f / sqrt((key_26 * 0.015625f) + 1e-05f))) * sketch.g2.norm1.weight) +
           sketch.g2.norm1.bias */
        for (int64_t j = 0; j < j1 - j0; j += 16) {
            const vec_v4 t_38 = 1.0f / sqrt_v4((load_v4(key_26 + j) * 0.015625f) + 1e-05f);
            for (int64_t r = 0; r < 64; r++) {
                store_v4(key_23 + r * 144 + j, ((load_v4(key_23 + r * 144 + j) * t_38) * sketch_g2_norm1_weight[r]) +
                    sketch_g2_norm1_bias[r]);
            }
        }
        /* key_28[h][j] = sum over r of sketch_g2_w2 * key_23 */
        dot14_v4(round_up(j1 - j0, 64), sketch_g2_w2, key_23, key_28);
        /* key_30 = 0.0f */
        for (int64_t j_first = 0; j_first < j1 - j0; j_first += 64) {
            for (int64_t r = 0; r < 64; r++) {
                UNROLL for (int64_t u = 0, j = j_first; u < 4; u++, j += 16) {
                    store_v4(key_30 + r * 144 + j, splat_v4(0.0f));
                }
            }
        }
        {
            for (int64_t h0 = 0, h_end = 512; h0 < h_end; h0 += 192) {
                const int64_t h1 = min(h0 + 192, h_end);
                /* key_29 = (key_28 * 0.5f) * (tanh((key_28 + (((key_28 * key_28) * key_28) * 0.044715f)) * 0.7978846f)
                   + 1.0f) */
                for (int64_t j = 0; j < j1 - j0; j += 16) {
                    for (int64_t h = h0; h < h1; h++) {
                        const vec_v4 key_28_39 = load_v4(key_28 + h * 144 + j);
                        store_v4(key_29 + (h - h0) * 144 + j, (key_28_39 * 0.5f) * (tanh_v4((key_28_39 + (((key_28_39 *
                            key_28_39) * key_28_39) * 0.044715f)) * 0.7978846f) + 1.0f));
                    }
                }
                /* key_30[r][j] += sum over h of sketch_g2_w3 * key_29 */
                dot15_v4(round_up(j1 - j0, 64), h1 - h0, sketch_g2_w3 + h0 * 64, key_29, key_30);
            }
        }
        /* key_19 = tanh((key_19 * key_30) * 0.125f) * 8.0f */
        for (int64_t j = 0; j < j1 - j0; j += 16) {
            for (int64_t r = 0; r < 64; r++) {
                store_v4(key_19 + r * 144 + j, tanh_v4((load_v4(key_19 + r * 144 + j) * load_v4(key_30 + r * 144 + j)) *
                    0.125f) * 8.0f);
            }
        }
        /* score[r_q][j] = sum over r of query_31 * key_19 */
        dot16_v4(round_up(j1 - j0, 64), rows, query_31, key_19, score);
        /* score_2[r_q][j] = sum over d of query_4 * k_tile */
        dot16_v4(round_up(j1 - j0, 64), rows, query_4, k_tile, score_2);
        /* score = select(((((r_q % n_q) + (n_k - n_q)) - floormod((r_q % n_q) + (n_k - n_q),
           256)) / 256) == ((j - floormod(j, 256)) / 256 ... */
        for (int64_t j = 0; j < j1 - j0; j += 16) {
            const ints_v4 t_40 = j0 + j + lane_v4;
            const ints_v4 r41 = t_40 % 256;
            const ints_v4 t_42 = (t_40 - (r41 + (((r41 != 0) & ((r41 < 0) != (256 < 0))) & 256))) / 256;
            for (int64_t r_q = 0; r_q < rows; r_q++) {
                const vec_v4 score_2_43 = load_v4(score_2 + r_q * 144 + j);
                const vec_v4 t_44 = score_2_43 * score_2_43;
                const vec_v4 score_45 = load_v4(score + r_q * 144 + j);
                store_v4(score + r_q * 144 + j, pick_v4(__builtin_convertvector((((r_q % n_q) + n_k - n_q -
                    floor_mod((r_q % n_q) + n_k - n_q, 256)) / 256) == t_42, mask_v4), t_44 * t_44,
                    score_45 * score_45));
            }
        }
        if ((n_k - n_q + 1) < j1) { /* the tile is not wholly inside the mask */
            /* score = select(j <= ((r_q % n_q) + (n_k - n_q)), score, 0.0f) */
            for (int64_t j = 0; j < j1 - j0; j += 16) {
                const ints_v4 t_46 = j0 + j + lane_v4;
                for (int64_t r_q = 0; r_q < rows; r_q++) {
                    store_v4(score + r_q * 144 + j, pick_v4(__builtin_convertvector(t_46 <= ((r_q % n_q) + n_k - n_q),
                        mask_v4), load_v4(score + r_q * 144 + j), splat_v4(0.0f)));
                }
            }
        }
        /* state += score */
        for (int64_t r_q = 0; r_q < rows; r_q++) {
            vec_v4 lane_sums = splat_v4(0);
            for (int64_t j = 0; j < j1 - j0; j += 16) {
                const vec_v4 term = load_v4(score + r_q * 144 + j);
                lane_sums += j + 16 <= j1 - j0 ? term : pick_v4(__builtin_convertvector(j + lane_v4 < j1 - j0, mask_v4),
                    term, splat_v4(0));
            }
            const float total = lane_sum_v4(lane_sums);
            state[(chunk - chunk0) * 4160 + r_q] += total;
        }
        /* state_2[r_q][e] += sum over j of score * v */
        if (__builtin_expect(((n_k - n_q + 1) < j1) && !finite_v4(v + j0 * v_row, v_row, j1 - j0, 64),
            0)) { /* infinity and NaN reach only what sees them */
            dot17_v4(rows, j1 - j0, score, v + j0 * v_row, v_row, state_2 + (chunk - chunk0) * 4160);
            for (int64_t r_q = 0; r_q < rows; r_q++) {
                mask_v4 seen[8];
                const int64_t t_47 = (r_q % n_q) + n_k - n_q;
                for (int64_t j = 0; j < j1 - j0; j += 16) {
                    seen[j / 16] = __builtin_convertvector((j0 + j + lane_v4) <= t_47, mask_v4);
                }
                add_seen_lanes_v4(64, state_2 + (chunk - chunk0) * 4160 + r_q * 64, score + r_q * 144, v + j0 * v_row,
                    v_row, j1 - j0, seen);
            }
        } else
            dot18_v4(rows, j1 - j0, score, v + j0 * v_row, v_row, state_2 + (chunk - chunk0) * 4160);
    }
}

/* Some elements of the states take in the chunks at hand, one after the other. */
TARGET_v4 APART void polysketch_learned_r64_local_few_fold_v4(const struct call *call, int64_t task,
    const struct part *part, int64_t turn)
{
    (void)task;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t r_q0 = turn * 16, r_q1 = min(r_q0 + 16, rows);
    const int64_t chunk0 = part->chunk0;
    const int64_t chunk1 = part->chunk1;
    float *const state = (float *)(void *)(part->slots + 0); /* [chunk, r_q: 64] */
    float *const state_2 = (float *)(void *)(part->slots + 256); /* [chunk, r_q: 64, e: 64] */
    float *const carried = (float *)(void *)(part->shared + 1280256); /* [r_q: 64] */
    float *const carried_compensation = (float *)(void *)(part->shared + 1296896); /* [r_q: 64] */
    float *const carried_2 = (float *)(void *)(part->shared + 1280512); /* [r_q: 64, e: 64] */
    float *const carried_2_compensation = (float *)(void *)(part->shared + 1297152); /* [r_q: 64, e: 64] */
    for (int64_t chunk = chunk0; chunk < chunk1; chunk++) {
        /* before = carried; carried += state */
        for (int64_t r_q = r_q0; r_q < r_q1; r_q += 16) {
            add_v4(carried + r_q, carried_compensation + r_q, load_v4(state + (chunk - chunk0) * 4160 + r_q),
                splat_v4(1));
        }
        /* before_2 = carried_2; carried_2 += state_2 */
        for (int64_t r_q = r_q0; r_q < r_q1; r_q++) {
            for (int64_t e_first = 0; e_first < 64; e_first += 64) {
                UNROLL for (int64_t u = 0, e = e_first; u < 4; u++, e += 16) {
                    add_v4(carried_2 + r_q * 64 + e, carried_2_compensation + r_q * 64 + e,
                        load_v4(state_2 + (chunk - chunk0) * 4160 + r_q * 64 + e), splat_v4(1));
                }
            }
        }
    }
}

/* A tile of queries meets the states. */
TARGET_v4 APART void polysketch_learned_r64_local_few_queries_v4(const struct call *call, int64_t task,
    const struct part *part, int64_t turn)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_q = call->p.n_q;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t r_q0 = turn * 16, r_q1 = min(r_q0 + 16, rows);
    const int64_t g = task % kv_heads;
    const int64_t b = task / kv_heads;
    float *const carried = (float *)(void *)(part->shared + 1280256); /* [r_q: 64] */
    float *const carried_2 = (float *)(void *)(part->shared + 1280512); /* [r_q: 64, e: 64] */
    float *const result = (float *)(void *)(part->work + 0); /* [r_q: 64, e: 64] */
    float *const out = call->out + b * call->p.out.batch + g * members * call->p.out.head;
    const int64_t out_row = call->p.out.row;
    const int64_t out_head = call->p.out.head;
    /* result = select((carried + 1.0f) == 0.0f, 0.0f, carried_2 / (carried + 1.0f)) */
    for (int64_t r_q = r_q0; r_q < r_q1; r_q++) {
        for (int64_t e_first = 0; e_first < 64; e_first += 64) {
            UNROLL for (int64_t u = 0, e = e_first; u < 4; u++, e += 16) {
                const float t_48 = carried[r_q] + 1.0f;
                store_v4(result + r_q * 64 + e, (t_48 == 0.0f) ? splat_v4(0.0f) : load_v4(carried_2 + r_q * 64 + e) /
                    t_48);
            }
        }
    }
    /* out = result */
    for (int64_t e = 0; e < 64; e++)
        for (int64_t r_q = r_q0; r_q < r_q1; r_q++)
            out[r_q / n_q * out_head + r_q % n_q * out_row + e] = result[r_q * 64 + e];
}

/* All of a head: every thread whose part this is calls it. */
TARGET_v4 static void polysketch_learned_r64_local_few_v4(const struct call *call, int64_t task, struct part *part)
{
    const int64_t n_k = call->p.n_k;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t chunks = n_k > 0 ? (n_k - 1) / 1024 + 1 : 1;
    for (int64_t turn = part->number; turn < ((rows + 63) / 64);
        turn += part->threads) polysketch_learned_r64_local_few_begin_v4(call, task, part, turn);
    for (int64_t turn = part->number; turn < ((rows + 15) / 16);
        turn += part->threads) polysketch_learned_r64_local_few_begin_2_v4(call, task, part, turn);
    meet(part);
    const int64_t first = 0;
    const int64_t length = segment_length(part, chunks - first);
    for (int64_t segment = part->number; first + segment * length < chunks; segment += part->threads) {
        part->chunk0 = first + segment * length;
        part->chunk1 = min(part->chunk0 + length, chunks);
        for (int64_t turn = part->chunk0; turn < part->chunk1; turn++) polysketch_learned_r64_local_few_keys_v4(call,
            task, part, turn);
        for (int64_t group = 0; group < 16; group++) {
            await_segment(part, group, segment);
            for (int64_t turn = group * ((rows + 15) / 16) / 16; turn < (group + 1) * ((rows + 15) / 16) / 16; turn++)
                polysketch_learned_r64_local_few_fold_v4(call, task, part, turn);
            pass_segment(part, group, segment);
        }
    }
    part->segments += (max(chunks - first, 0) + length - 1) / length;
    meet(part);
    for (int64_t turn = part->number; turn < ((rows + 15) / 16);
        turn += part->threads) polysketch_learned_r64_local_few_queries_v4(call, task, part, turn);
    meet(part);
}
#endif

/* ==== x86-64-v3 ==== */
#if defined(__x86_64__)
#define TARGET_v3 __attribute__((target("avx2,bmi,bmi2,fma,f16c")))

/* 8 elements in a register; mask_v3 compares them, ints_v3 are positions, wide_v3 is for what needs double. */
typedef float vec_v3 __attribute__((vector_size(32)));
typedef float stored_v3 __attribute__((vector_size(32), aligned(sizeof(float)), may_alias)); /* in memory, anywhere */
typedef int32_t mask_v3 __attribute__((vector_size(32)));
typedef int64_t ints_v3 __attribute__((vector_size(64)));
TARGET_v3 INLINE vec_v3 load_v3(const float *p) { return *(const stored_v3 *)(const void *)p; }
TARGET_v3 INLINE void store_v3(float *p, vec_v3 x) { *(stored_v3 *)(void *)p = x; }
TARGET_v3 INLINE vec_v3 splat_v3(float x) { return x - (vec_v3){0}; }

/* a where the mask is set, else b */
TARGET_v3 INLINE vec_v3 pick_v3(mask_v3 m, vec_v3 a, vec_v3 b) { return (vec_v3)((m & (mask_v3)a) | (~m & (mask_v3)b));
    }

static const ints_v3 lane_v3 = {0, 1, 2, 3, 4, 5, 6, 7};

/* tanh, within 4 ulp: m / (m + 2) with m = e^(2|x|) - 1 = 2^n (e^r - 1) + (2^n - 1), which does not cancel near 0 */
TARGET_v3 INLINE vec_v3 tanh_v3(vec_v3 x)
{
    const mask_v3 sign = (mask_v3)x & ~0x7fffffff;
    vec_v3 y = (vec_v3)((mask_v3)x & 0x7fffffff) * 2.0f;
    y = pick_v3((mask_v3)(y > 20.0f), splat_v3(20.0f), y);
    const vec_v3 t = y * 1.4426950408889634f + 12582912.0f, n = t - 12582912.0f;
    const vec_v3 r = (y - n * 0.693145751953125f) - n * 1.4286068203094172e-06f;
    vec_v3 p = r * 0.0013926184f + 0.0083631791f;
    p = p * r + 0.041666555f;
    p = p * r + 0.16666577f;
    p = p * r + 0.5f;
    p = p * (r * r) + r;
    const vec_v3 scale = (vec_v3)(((mask_v3)t + 127) << 23);
    const vec_v3 m = scale * p + (scale - 1.0f);
    return (vec_v3)((mask_v3)(m / (m + 2.0f)) | sign);
}

TARGET_v3 INLINE vec_v3 sqrt_v3(vec_v3 x)
{
    vec_v3 y;
    __asm__("vsqrtps %1, %0" : "=v"(y) : "v"(x));
    return y;
}

/* The sum over the lanes. */
TARGET_v3 INLINE float lane_sum_v3(vec_v3 x)
{
    x += __builtin_shufflevector(x, x, 4, 5, 6, 7, 0, 1, 2, 3);
    x += __builtin_shufflevector(x, x, 2, 3, 0, 1, 6, 7, 4, 5);
    x += __builtin_shufflevector(x, x, 1, 0, 3, 2, 5, 4, 7, 6);
    return x[0];
}

/* Transposes 8 vectors: the bits of row and column numbers are swapped one by one, as rows exchange the elements
   that are not yet on their side. */
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

/* to[y][x] = from[x][y], in squares, so that every cache line is written whole; rows are fetched 64 rows early. */
TARGET_v3 APART void transpose_v3(const float *from, int64_t from_row, int64_t rows, int64_t columns, float *to,
    int64_t to_row)
{
    const int64_t whole = rows - rows % 8, deep = columns - columns % 8;
    for (int64_t k = 0; k < whole / 8 * (deep / 8); k++) {
        const int64_t row = k / (deep / 8) * 8, column = k % (deep / 8) * 8;
        vec_v3 t[8];
        UNROLL for (int r = 0; r < 8; r++) __builtin_prefetch(from + (row + r + 64) * from_row + column, 0, 2);
        UNROLL for (int r = 0; r < 8; r++) t[r] = load_v3(from + (row + r) * from_row + column);
        exchange_v3(t);
        UNROLL for (int r = 0; r < 8; r++) store_v3(to + (column + r) * to_row + row, t[r]);
    }
    for (int64_t row = 0; row < rows; row++)
        for (int64_t column = row < whole ? deep : 0; column < columns; column++)
            to[column * to_row + row] = from[row * from_row + column];
}
/* *sum becomes *sum * factor + x; *compensation carries what rounding leaves over to the next addition (Kahan). */
TARGET_v3 INLINE void add_v3(float *sum, float *compensation, vec_v3 x, vec_v3 factor)
{
    const vec_v3 old = load_v3(sum) * factor, more = load_v3(compensation) * factor + x, new = old + more;
    store_v3(compensation, more - (new - old));
    store_v3(sum, new);
}

typedef uint32_t bits_v3 __attribute__((vector_size(32), aligned(sizeof(float)), may_alias));
typedef uint32_t bit_v3 __attribute__((may_alias));

/* Whether none of these numbers is infinite or NaN: bits of the exponent that are all set carry into the sign. */
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

/* For each row r < rows: if values[r * step] is infinite or NaN, adds values[r * step] * weights to row r of the sums,
   in the lanes that see it. */
TARGET_v3 APART void add_seen_v3(int64_t rows, float *sum, int64_t sum_row, const float *values, int64_t step,
    const float *weights, const mask_v3 *seen, int64_t lanes)
{
    for (int64_t r = 0; r < rows; r++, sum += sum_row, values += step)
        for (int64_t x = 0; x < lanes && !finite_v3(values, 0, 1, 1); x += 8)
            store_v3(sum + x, pick_v3(seen[x / 8], load_v3(sum + x) + *values * load_v3(weights + x),
                load_v3(sum + x)));
}

/* For each step t that the lanes see: adds weights[t] * values[t][x] to sum[x] where values[t][x] is infinite or NaN.
   */
TARGET_v3 APART void add_seen_lanes_v3(int64_t lanes, float *sum, const float *weights, const float *values,
    int64_t value_row,
    int64_t steps, const mask_v3 *seen)
{
    for (int64_t t = 0; t < steps; t++, values += value_row)
        for (int64_t x = 0; x < lanes && seen[t / 8][t % 8]; x++)
            if (!finite_v3(values + x, 0, 1, 1)) sum[x] += weights[t] * values[x];
}

/* c[r][x] = sum over t of a[r][t] * b[t][x] for up to 6 rows and `vectors` vectors of x, the sums in registers;
   `then` says what becomes of c: 0 the sum, 1 c + sum, 2 c * factor[x] + sum, 3 the same with a compensation.
   `early`, where it is there: how many rows ahead a row of b is asked for at each step, or 0: none is.
   Not all at once, for a core can have only a few lines under way. */
TARGET_v3 INLINE void block_v3(const int rows, const int vectors, int64_t steps, const float *a, int64_t a_row,
    int64_t a_step,
    const float *b, int64_t b_step, float *c, int64_t c_row, const int then,
    const float *factor, float *compensation)
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
    UNROLL for (int v = 0; v < vectors; v++) {
        const vec_v3 times = then >= 2 && factor ? load_v3(factor + v * 8) : splat_v3(1);
        UNROLL for (int r = 0; r < rows; r++) {
            float *const to = c + r * c_row + v * 8;
            if (then == 3) {
                add_v3(to, compensation + r * c_row + v * 8, sum[r][v], times);
                continue;
            }
            store_v3(to, then == 0 ? sum[r][v] : then == 1 ? load_v3(to) + sum[r][v] : load_v3(to) * times + sum[r][v]);
        }
    }
}

/* Asks for rows of `width` numbers ahead of their use. */
TARGET_v3 INLINE void fetch_v3(int64_t rows, const int64_t width, const float *b, int64_t b_row)
{
    for (int64_t r = 0; r < rows; r++)
        UNROLL for (int64_t x = 0; x < width; x += 64 / (int64_t)sizeof *b)
            __builtin_prefetch(b + r * b_row + x, 0, 2);
}

/* The same; where it sets the sum, more than 2 * `part` terms are summed in parts of `part`: rounding grows with the
   length of one. */
TARGET_v3 INLINE void parts_v3(const int rows, const int vectors, int64_t steps, const int64_t part, const float *a,
    int64_t a_row, int64_t a_step, const float *b, int64_t b_step, float *c, int64_t c_row, const int then,
    const float *factor, float *compensation)
{
    const int64_t first = then == 0 && steps > 2 * part ? part : steps;
    block_v3(rows, vectors, first, a, a_row, a_step, b, b_step, c, c_row, then,
        factor, compensation);
    if (then == 0)
        for (int64_t t = first; t < steps; t += part)
            block_v3(rows, vectors, min(part, steps - t), a + t * a_step, a_row, a_step, b + t * b_step, b_step, c,
                c_row, 1, NULL, NULL);
}

/* The same for any number of rows and `lanes` lanes, a multiple of `vectors` vectors; `odd`: rows % 6 if that is
   constant, else -1. */
TARGET_v3 INLINE void dot_v3(const int vectors, const int64_t lanes, int64_t rows, const int odd, int64_t steps,
    const int64_t part, const float *a, int64_t a_row, int64_t a_step, const float *b, int64_t b_step, float *c,
        int64_t c_row,
    const int then, const float *factor, float *compensation)
{
    for (int64_t x = 0; x < lanes; x += vectors * 8) {
        const float *const f = factor ? factor + x : NULL;
        float *const left = compensation ? compensation + x : NULL;
        int64_t r = 0;
        for (; r + 6 <= rows; r += 6)
            parts_v3(6, vectors, steps, part, a + r * a_row, a_row, a_step, b + x, b_step,
                c + r * c_row + x, c_row, then, f, left ? left + r * c_row : NULL);
        switch (odd >= 0 ? odd : rows - r) {
        case 5: parts_v3(5, vectors, steps, part, a + r * a_row, a_row, a_step, b + x, b_step, c + r * c_row + x, c_row,
            then, f, left ? left + r * c_row : NULL); break;
        case 4: parts_v3(4, vectors, steps, part, a + r * a_row, a_row, a_step, b + x, b_step, c + r * c_row + x, c_row,
            then, f, left ? left + r * c_row : NULL); break;
        case 3: parts_v3(3, vectors, steps, part, a + r * a_row, a_row, a_step, b + x, b_step, c + r * c_row + x, c_row,
            then, f, left ? left + r * c_row : NULL); break;
        case 2: parts_v3(2, vectors, steps, part, a + r * a_row, a_row, a_step, b + x, b_step, c + r * c_row + x, c_row,
            then, f, left ? left + r * c_row : NULL); break;
        case 1: parts_v3(1, vectors, steps, part, a + r * a_row, a_row, a_step, b + x, b_step, c + r * c_row + x, c_row,
            then, f, left ? left + r * c_row : NULL); break;
        }
    }
}

/* c[x] += sum over t of a[t] * b[t][x] for up to 8 vectors of x. */
TARGET_v3 INLINE void row_v3(const int vectors, int64_t steps, const float *a, int64_t a_step, const float *b,
    int64_t b_step, float *c)
{
    vec_v3 sum[8];
    UNROLL for (int v = 0; v < vectors; v++) sum[v] = (vec_v3){0};
    for (int64_t t = 0; t < steps; t++, b += b_step)
        UNROLL for (int v = 0; v < vectors; v++) sum[v] += a[t * a_step] * load_v3(b + v * 8);
    UNROLL for (int v = 0; v < vectors; v++) store_v3(c + v * 8, load_v3(c + v * 8) + sum[v]);
}

/* c += the same sum, where b comes from memory: it is asked for early, as in dot_along_v3, and widened, some rows at a
   time. A single row takes 64 lanes at once, and so reads b in the order in which it lies. */
TARGET_v3 INLINE void dot_fetched_v3(const int vectors, const int64_t lanes, int64_t rows, const int odd, int64_t steps,
    const int64_t part, const float *a, int64_t a_row, int64_t a_step, const float *b, int64_t b_step, float *c,
    int64_t c_row, const int then, const float *factor, float *compensation)
{
    for (int64_t t = 0; t < steps; t += 16, a += 16 * a_step, b += 16 * b_step) {
        const int64_t some = min(steps - t, 16);
        if (rows == 1 && then == 1) {
            if (0) fetch_v3(16, lanes, b + 0 * b_step, b_step);
            int64_t x = 0;
            for (; x + 64 <= lanes; x += 64) row_v3(8, some, a, a_step, b + x, b_step, c + x);
            if (lanes % 64) row_v3((int)(lanes % 64 / 8), some, a, a_step, b + x, b_step, c + x);
            continue;
        }
        const float *const from = b;
        const int64_t from_step = b_step;
        for (int64_t x = 0, asked = 0; x < lanes; x += vectors * 8) {
            const int64_t ask = 16 * (x + vectors * 8) / lanes; /* not all at once: so many can be under way */
            fetch_v3(ask - asked, lanes, b + (32 + asked) * b_step, b_step);
            asked = ask;
            dot_v3(vectors, vectors * 8, rows, odd, some, part, a, a_row, a_step, from + x, from_step, c + x, c_row,
                then,
                factor ? factor + x : NULL, compensation ? compensation + x : NULL);
        }
    }
}

/* The same with 0 for what is infinite or NaN in a: row by row, for a copy of few numbers. The last
   of the pairs is whole. */
TARGET_v3 INLINE void dot_finite_v3(const int vectors, const int64_t lanes, int64_t rows, const int odd, int64_t steps,
    const int64_t part, const float *a, int64_t a_row, int64_t a_step, const float *b, int64_t b_step, float *c,
        int64_t c_row,
    const int then, const float *factor, float *compensation)
{
    float row[128];
    (void)odd;
    for (int64_t r = 0; r < rows; r++, a += a_row) {
        for (int64_t t = 0; t < steps; t++)
            for (int k = 0; k < 1; k++)
                row[1 * t + k] = finite_v3(a + t * a_step + k, 0, 1, 1) ? a[t * a_step + k] : 0;
        dot_v3(vectors, lanes, 1, 1, steps, part, row, 0, 1, b, b_step, c + r * c_row, c_row,
            then, factor, compensation ? compensation + r * c_row : NULL);
    }
}

/* The same with 0 for what is infinite or NaN in b: a vector of lanes after the other; `fetched`: by the steps of
   dot_fetched_v3. */
TARGET_v3 INLINE void dot_finite_lanes_v3(const int fetched, const int vectors, const int64_t lanes, int64_t rows,
    const int odd, int64_t steps, const int64_t part, const float *a, int64_t a_row, int64_t a_step, const float *b,
    int64_t b_step, float *c, int64_t c_row, const int then, const float *factor, float *compensation)
{
    float column[128 * 8];
    (void)vectors;
    for (int64_t x = 0; x < lanes; x += 8) {
        for (int64_t t = 0; t < steps; t++)
            for (int64_t k = 0; k < 1 * 8; k++) {
                const float *const p = b + t * b_step + 1 * x + k;
                column[t * 1 * 8 + k] = finite_v3(p, 0, 1, 1) ? *p : 0;
            }
        const int64_t some = fetched ? 16 : steps;
        for (int64_t t = 0; t < steps; t += some)
            dot_v3(1, 8, rows, odd, min(steps - t, some), part, a + t * a_step, a_row, a_step,
                column + t * 1 * 8, 1 * 8, c + x, c_row, then,
                factor ? factor + x : NULL, compensation ? compensation + x : NULL);
    }
}

/* The products of the code below: dot_v3 with what is constant in them. */
TARGET_v3 APART void dot0_v3(const float *a, const float *b, float *c)
{
    dot_v3(2, 16, 512, 2, 64, 32, a, 1, 512, b, 16, c, 16, 0, NULL, NULL);
}
TARGET_v3 APART void dot1_v3(int64_t steps, const float *a, const float *b, float *c)
{
    dot_v3(2, 16, 64, 4, steps, 32, a, 1, 64, b, 16, c, 16, 1, NULL, NULL);
}
TARGET_v3 APART void dot2_v3(int64_t lanes, const float *a, const float *b, float *c)
{
    dot_v3(2, lanes, 512, 2, 64, 32, a, 1, 512, b, 96, c, 96, 0, NULL, NULL);
}
TARGET_v3 APART void dot3_v3(int64_t lanes, int64_t steps, const float *a, const float *b, float *c)
{
    dot_v3(2, lanes, 64, 4, steps, 32, a, 1, 64, b, 96, c, 96, 1, NULL, NULL);
}
TARGET_v3 APART void dot4_v3(int64_t rows, const float *a, const float *b, float *c)
{
    dot_v3(2, 16, rows, -1, 64, 32, a, 1, 96, b, 16, c, 16, 0, NULL, NULL);
}
TARGET_v3 APART void dot5_v3(int64_t steps, const float *a, int64_t a_step, const float *b, float *c,
    float *compensation)
{
    dot_finite_v3(2, 16, 64, 4, steps, 192, a, 1, a_step, b, 16, c, 16, 3, NULL, compensation);
}
TARGET_v3 APART void dot6_v3(int64_t steps, const float *a, int64_t a_step, const float *b, float *c,
    float *compensation)
{
    dot_v3(2, 16, 64, 4, steps, 192, a, 1, a_step, b, 16, c, 16, 3, NULL, compensation);
}
TARGET_v3 APART void dot7_v3(int64_t lanes, const float *a, const float *b, float *c)
{
    dot_v3(2, lanes, 512, 2, 64, 32, a, 1, 512, b, 64, c, 64, 0, NULL, NULL);
}
TARGET_v3 APART void dot8_v3(int64_t lanes, int64_t steps, const float *a, const float *b, float *c)
{
    dot_v3(2, lanes, 64, 4, steps, 32, a, 1, 64, b, 64, c, 64, 1, NULL, NULL);
}
TARGET_v3 APART void dot9_v3(int64_t rows, int64_t steps, const float *a, const float *b, int64_t b_step, float *c)
{
    dot_v3(2, 64, rows, -1, steps, 192, a, 64, 1, b, b_step, c, 64, 1, NULL, NULL);
}
TARGET_v3 APART void dot10_v3(int64_t lanes, int64_t rows, const float *a, const float *b, float *c)
{
    dot_v3(2, lanes, rows, -1, 64, 32, a, 1, 64, b, 64, c, 64, 0, NULL, NULL);
}
TARGET_v3 APART void dot11_v3(int64_t lanes, int64_t steps, const float *a, int64_t a_step, const float *b, float *c,
    float *compensation)
{
    dot_finite_v3(2, lanes, 64, 4, steps, 192, a, 1, a_step, b, 64, c, 64, 3, NULL, compensation);
}
TARGET_v3 APART void dot12_v3(int64_t lanes, int64_t steps, const float *a, int64_t a_step, const float *b, float *c,
    float *compensation)
{
    dot_v3(2, lanes, 64, 4, steps, 192, a, 1, a_step, b, 64, c, 64, 3, NULL, compensation);
}
TARGET_v3 APART void dot13_v3(int64_t lanes, const float *a, const float *b, float *c)
{
    dot_v3(2, lanes, 64, 4, 512, 32, a, 1, 64, b, 64, c, 64, 0, NULL, NULL);
}
TARGET_v3 APART void dot14_v3(int64_t lanes, const float *a, const float *b, float *c)
{
    dot_v3(2, lanes, 512, 2, 64, 32, a, 1, 512, b, 144, c, 144, 0, NULL, NULL);
}
TARGET_v3 APART void dot15_v3(int64_t lanes, int64_t steps, const float *a, const float *b, float *c)
{
    dot_v3(2, lanes, 64, 4, steps, 32, a, 1, 64, b, 144, c, 144, 1, NULL, NULL);
}
TARGET_v3 APART void dot16_v3(int64_t lanes, int64_t rows, const float *a, const float *b, float *c)
{
    dot_v3(2, lanes, rows, -1, 64, 32, a, 1, 64, b, 144, c, 144, 0, NULL, NULL);
}
TARGET_v3 APART void dot17_v3(int64_t rows, int64_t steps, const float *a, const float *b, int64_t b_step, float *c)
{
    dot_finite_lanes_v3(1, 2, 64, rows, -1, steps, 192, a, 144, 1, b, b_step, c, 64, 1, NULL, NULL);
}
TARGET_v3 APART void dot18_v3(int64_t rows, int64_t steps, const float *a, const float *b, int64_t b_step, float *c)
{
    dot_fetched_v3(2, 64, rows, -1, steps, 192, a, 144, 1, b, b_step, c, 64, 1, NULL, NULL);
}

/* Task number `task`: one tile of queries of one head; `work` is the thread's part of the workspace. */
TARGET_v3 static void polysketch_learned_r64_local_rows_v3(const struct call *call, int64_t task, unsigned char *work)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_q = call->p.n_q;
    const int64_t n_k = call->p.n_k;
    const int64_t tiles = (n_q + 255) / 256, i0 = (tiles - 1 - task % tiles) * 256, i1 = min(i0 + 256, n_q);
    const int64_t m = task / tiles % members;
    const int64_t g = task / tiles / members % kv_heads;
    const int64_t b = task / tiles / members / kv_heads;
    const float *const q = call->q + b * call->p.q.batch + (g * members + m) * call->p.q.head;
    const int64_t q_row = call->p.q.row;
    const float *const k = call->k + b * call->p.k.batch + g * call->p.k.head;
    const int64_t k_row = call->p.k.row;
    const float *const v = call->v + b * call->p.v.batch + g * call->p.v.head;
    const int64_t v_row = call->p.v.row;
    const float *const sketch_g1_norm0_weight = call->params->sketch_g1_norm0_weight;
    const float *const sketch_g1_norm0_bias = call->params->sketch_g1_norm0_bias;
    const float *const sketch_g1_w0 = call->params->sketch_g1_w0;
    const float *const sketch_g1_w1 = call->params->sketch_g1_w1;
    const float *const sketch_g1_norm1_weight = call->params->sketch_g1_norm1_weight;
    const float *const sketch_g1_norm1_bias = call->params->sketch_g1_norm1_bias;
    const float *const sketch_g1_w2 = call->params->sketch_g1_w2;
    const float *const sketch_g1_w3 = call->params->sketch_g1_w3;
    const float *const sketch_g2_norm0_weight = call->params->sketch_g2_norm0_weight;
    const float *const sketch_g2_norm0_bias = call->params->sketch_g2_norm0_bias;
    const float *const sketch_g2_w0 = call->params->sketch_g2_w0;
    const float *const sketch_g2_w1 = call->params->sketch_g2_w1;
    const float *const sketch_g2_norm1_weight = call->params->sketch_g2_norm1_weight;
    const float *const sketch_g2_norm1_bias = call->params->sketch_g2_norm1_bias;
    const float *const sketch_g2_w2 = call->params->sketch_g2_w2;
    const float *const sketch_g2_w3 = call->params->sketch_g2_w3;
    float *const key = (float *)(void *)(work + 0); /* [j: 96] */
    float *const key_3 = (float *)(void *)(work + 384); /* [j: 96] */
    float *const query = (float *)(void *)(work + 0); /* [i: 16] */
    float *const query_3 = (float *)(void *)(work + 64); /* [i: 16] */
    float *const all_query_4 = (float *)(void *)(work + 768); /* [d: 64, i: 16, 16 times] */
    float *const query_5 = (float *)(void *)(work + 0); /* [i: 16] */
    float *const query_6 = (float *)(void *)(work + 66304); /* [d: 64, i: 16] */
    float *const query_7 = (float *)(void *)(work + 64); /* [i: 16] */
    float *const query_9 = (float *)(void *)(work + 70400); /* [d: 64, i: 16] */
    float *const query_10 = (float *)(void *)(work + 74496); /* [h: 512, i: 16] */
    float *const query_11 = (float *)(void *)(work + 107264); /* [h: 192, i: 16] */
    float *const query_12 = (float *)(void *)(work + 70400); /* [r: 64, i: 16] */
    float *const query_13 = (float *)(void *)(work + 0); /* [i: 16] */
    float *const query_15 = (float *)(void *)(work + 128); /* [i: 16] */
    float *const query_17 = (float *)(void *)(work + 74496); /* [h: 512, i: 16] */
    float *const query_18 = (float *)(void *)(work + 107264); /* [h: 192, i: 16] */
    float *const query_19 = (float *)(void *)(work + 70400); /* [r: 64, i: 16] */
    float *const query_21 = (float *)(void *)(work + 74496); /* [h: 512, i: 16] */
    float *const query_22 = (float *)(void *)(work + 107264); /* [h: 192, i: 16] */
    float *const query_23 = (float *)(void *)(work + 66304); /* [r: 64, i: 16] */
    float *const query_24 = (float *)(void *)(work + 0); /* [i: 16] */
    float *const query_26 = (float *)(void *)(work + 64); /* [i: 16] */
    float *const query_28 = (float *)(void *)(work + 74496); /* [h: 512, i: 16] */
    float *const query_29 = (float *)(void *)(work + 107264); /* [h: 192, i: 16] */
    float *const query_30 = (float *)(void *)(work + 66304); /* [r: 64, i: 16] */
    float *const all_query_31 = (float *)(void *)(work + 119552); /* [r: 64, i: 16, 16 times] */
    float *const key_5 = (float *)(void *)(work + 0); /* [j: 96] */
    float *const key_6 = (float *)(void *)(work + 66304); /* [d: 64, j: 96] */
    float *const key_7 = (float *)(void *)(work + 384); /* [j: 96] */
    float *const key_9 = (float *)(void *)(work + 90880); /* [d: 64, j: 96] */
    float *const key_10 = (float *)(void *)(work + 185088); /* [h: 512, j: 96] */
    float *const key_11 = (float *)(void *)(work + 381696); /* [h: 192, j: 96] */
    float *const key_12 = (float *)(void *)(work + 90880); /* [r: 64, j: 96] */
    float *const key_13 = (float *)(void *)(work + 0); /* [j: 96] */
    float *const key_15 = (float *)(void *)(work + 115456); /* [j: 96] */
    float *const key_17 = (float *)(void *)(work + 185088); /* [h: 512, j: 96] */
    float *const key_18 = (float *)(void *)(work + 381696); /* [h: 192, j: 96] */
    float *const key_19 = (float *)(void *)(work + 90880); /* [r: 64, j: 96] */
    float *const key_21 = (float *)(void *)(work + 185088); /* [h: 512, j: 96] */
    float *const key_22 = (float *)(void *)(work + 381696); /* [h: 192, j: 96] */
    float *const key_23 = (float *)(void *)(work + 66304); /* [r: 64, j: 96] */
    float *const key_24 = (float *)(void *)(work + 0); /* [j: 96] */
    float *const key_26 = (float *)(void *)(work + 384); /* [j: 96] */
    float *const key_28 = (float *)(void *)(work + 185088); /* [h: 512, j: 96] */
    float *const key_29 = (float *)(void *)(work + 381696); /* [h: 192, j: 96] */
    float *const key_30 = (float *)(void *)(work + 66304); /* [r: 64, j: 96] */
    float *const score = (float *)(void *)(work + 66304); /* [j: 96, i: 16] */
    float *const score_2 = (float *)(void *)(work + 72448); /* [j: 96, i: 16] */
    float *const all_row_sum = (float *)(void *)(work + 455424); /* [i: 16, 16 times] */
    float *const all_row_sum_compensation = (float *)(void *)(work + 456448); /* [i: 16, 16 times] */
    float *const all_sum = (float *)(void *)(work + 457472); /* [e: 64, i: 16, 16 times] */
    float *const all_sum_compensation = (float *)(void *)(work + 523008); /* [e: 64, i: 16, 16 times] */
    float *const result = (float *)(void *)(work + 0); /* [e: 64, i: 16] */
    float *const out = call->out + b * call->p.out.batch + (g * members + m) * call->p.out.head;
    const int64_t out_row = call->p.out.row;
    float *const q_tile = (float *)(void *)(work + 66304); /* [d: 64, i: 16] */
    float *const k_tile = (float *)(void *)(work + 588544); /* [d: 64, j: 96] */
    for (int64_t i_next = i0, i_block = i0, i_end = i1; i_next < i_end; i_next += 16) {
        const int64_t i0 = i_next, i1 = min(i0 + 16, i_end);
        float *const query_4 = all_query_4 + (i0 - i_block) / 16 * 1024;
        float *const query_31 = all_query_31 + (i0 - i_block) / 16 * 1024;
        float *const row_sum = all_row_sum + (i0 - i_block) / 16 * 16;
        float *const row_sum_compensation = all_row_sum_compensation + (i0 - i_block) / 16 * 16;
        float *const sum = all_sum + (i0 - i_block) / 16 * 1024;
        float *const sum_compensation = all_sum_compensation + (i0 - i_block) / 16 * 1024;
        /* q_tile = q, with zeros beyond the last row */
        transpose_v3(q + i0 * q_row, q_row, i1 - i0, 64, q_tile, 16);
        for (int64_t i = i1 - i0; i < round_up(i1 - i0, 8); i++)
            for (int64_t d = 0; d < 64; d++) q_tile[d * 16 + i] = 0;
        /* query = 0.0f */
        for (int64_t i = 0; i < i1 - i0; i += 8) {
            store_v3(query + i, splat_v3(0.0f));
        }
        /* query += q_tile */
        for (int64_t i_first = 0; i_first < i1 - i0; i_first += 16) {
            vec_v3 query_in[2];
            UNROLL for (int64_t u = 0, i = i_first; u < 2; u++, i += 8) {
                query_in[u] = (vec_v3){0};
            }
            for (int64_t d = 0; d < 64; d++) {
                UNROLL for (int64_t u = 0, i = i_first; u < 2; u++, i += 8) {
                    query_in[u] += load_v3(q_tile + d * 16 + i);
                }
            }
            UNROLL for (int64_t u = 0, i = i_first; u < 2; u++, i += 8) {
                store_v3(query + i, load_v3(query + i) + query_in[u]);
            }
        }
        /* query_3 = 0.0f */
        for (int64_t i = 0; i < i1 - i0; i += 8) {
            store_v3(query_3 + i, splat_v3(0.0f));
        }
        /* q_tile = q_tile - (query * 0.015625f); query_3 += q_tile * q_tile */
        for (int64_t i = 0; i < i1 - i0; i += 8) {
            const vec_v3 t_1 = load_v3(query + i) * 0.015625f;
            vec_v3 query_3_in = (vec_v3){0};
            for (int64_t d = 0; d < 64; d++) {
                const vec_v3 q_tile_0 = load_v3(q_tile + d * 16 + i);
                const vec_v3 q_tile_new2 = q_tile_0 - t_1;
                store_v3(q_tile + d * 16 + i, q_tile_new2);
                query_3_in += q_tile_new2 * q_tile_new2;
            }
            store_v3(query_3 + i, load_v3(query_3 + i) + query_3_in);
        }
        /* query_5 = 0.0f */
        for (int64_t i = 0; i < i1 - i0; i += 8) {
            store_v3(query_5 + i, splat_v3(0.0f));
        }
        /* query_4 = q_tile * (1.0f / sqrt((query_3 * 0.015625f) + 1e-05f)); query_5 += query_4 */
        for (int64_t i = 0; i < i1 - i0; i += 8) {
            const vec_v3 t_3 = 1.0f / sqrt_v3((load_v3(query_3 + i) * 0.015625f) + 1e-05f);
            vec_v3 query_5_in = (vec_v3){0};
            for (int64_t d = 0; d < 64; d++) {
                const vec_v3 query_4_new4 = load_v3(q_tile + d * 16 + i) * t_3;
                store_v3(query_4 + d * 16 + i, query_4_new4);
                query_5_in += query_4_new4;
            }
            store_v3(query_5 + i, load_v3(query_5 + i) + query_5_in);
        }
        /* query_7 = 0.0f */
        for (int64_t i = 0; i < i1 - i0; i += 8) {
            store_v3(query_7 + i, splat_v3(0.0f));
        }
        /* query_6 = query_4 - (query_5 * 0.015625f); query_7 += query_6 * query_6 */
        for (int64_t i = 0; i < i1 - i0; i += 8) {
            const vec_v3 t_5 = load_v3(query_5 + i) * 0.015625f;
            vec_v3 query_7_in = (vec_v3){0};
            for (int64_t d = 0; d < 64; d++) {
                const vec_v3 query_6_new6 = load_v3(query_4 + d * 16 + i) - t_5;
                store_v3(query_6 + d * 16 + i, query_6_new6);
                query_7_in += query_6_new6 * query_6_new6;
            }
            store_v3(query_7 + i, load_v3(query_7 + i) + query_7_in);
        }
        /* query_7 = 1.0f / sqrt((query_7 * 0.015625f) + 1e-05f) */
        for (int64_t i = 0; i < i1 - i0; i += 8) {
            store_v3(query_7 + i, 1.0f / sqrt_v3((load_v3(query_7 + i) * 0.015625f) + 1e-05f));
        }
        /* query_9 = ((query_6 * query_7) * sketch.g1.norm0.weight) + sketch.g1.norm0.bias */
        for (int64_t i = 0; i < i1 - i0; i += 8) {
            const vec_v3 query_7_7 = load_v3(query_7 + i);
            for (int64_t d = 0; d < 64; d++) {
                store_v3(query_9 + d * 16 + i, ((load_v3(query_6 + d * 16 + i) * query_7_7) * sketch_g1_norm0_weight[d])
                    + sketch_g1_norm0_bias[d]);
            }
        }
        /* query_10[h][i] = sum over d of sketch_g1_w0 * query_9 */
        dot0_v3(sketch_g1_w0, query_9, query_10);
        /* query_12 = 0.0f */
        for (int64_t i_first = 0; i_first < i1 - i0; i_first += 16) {
            for (int64_t r = 0; r < 64; r++) {
                UNROLL for (int64_t u = 0, i = i_first; u < 2; u++, i += 8) {
                    store_v3(query_12 + r * 16 + i, splat_v3(0.0f));
                }
            }
        }
        for (int64_t h0 = 0, h_end = 512; h0 < h_end; h0 += 192) {
            const int64_t h1 = min(h0 + 192, h_end);
            /* query_11 = (query_10 * 0.5f) * (tanh((query_10 + (((query_10 * query_10) * query_10) * 0.044715f)) *
               0.7978846f) + 1.0f) */
            for (int64_t i = 0; i < i1 - i0; i += 8) {
                for (int64_t h = h0; h < h1; h++) {
                    const vec_v3 query_10_8 = load_v3(query_10 + h * 16 + i);
                    store_v3(query_11 + (h - h0) * 16 + i, (query_10_8 * 0.5f) * (tanh_v3((query_10_8 + (((query_10_8 *
                        query_10_8) * query_10_8) * 0.044715f)) * 0.7978846f) + 1.0f));
                }
            }
            /* query_12[r][i] += sum over h of sketch_g1_w1 * query_11 */
            dot1_v3(h1 - h0, sketch_g1_w1 + h0 * 64, query_11, query_12);
        }
        /* query_13 = 0.0f */
        for (int64_t i = 0; i < i1 - i0; i += 8) {
            store_v3(query_13 + i, splat_v3(0.0f));
        }
        /* query_13 += query_12 */
        for (int64_t i_first = 0; i_first < i1 - i0; i_first += 16) {
            vec_v3 query_13_in[2];
            UNROLL for (int64_t u = 0, i = i_first; u < 2; u++, i += 8) {
                query_13_in[u] = (vec_v3){0};
            }
            for (int64_t r = 0; r < 64; r++) {
                UNROLL for (int64_t u = 0, i = i_first; u < 2; u++, i += 8) {
                    query_13_in[u] += load_v3(query_12 + r * 16 + i);
                }
            }
            UNROLL for (int64_t u = 0, i = i_first; u < 2; u++, i += 8) {
                store_v3(query_13 + i, load_v3(query_13 + i) + query_13_in[u]);
            }
        }
        /* query_15 = 0.0f */
        for (int64_t i = 0; i < i1 - i0; i += 8) {
            store_v3(query_15 + i, splat_v3(0.0f));
        }
        /* query_12 = query_12 - (query_13 * 0.015625f); query_15 += query_12 * query_12 */
        for (int64_t i = 0; i < i1 - i0; i += 8) {
            const vec_v3 t_10 = load_v3(query_13 + i) * 0.015625f;
            vec_v3 query_15_in = (vec_v3){0};
            for (int64_t r = 0; r < 64; r++) {
                const vec_v3 query_12_9 = load_v3(query_12 + r * 16 + i);
                const vec_v3 query_12_new11 = query_12_9 - t_10;
                store_v3(query_12 + r * 16 + i, query_12_new11);
                query_15_in += query_12_new11 * query_12_new11;
            }
            store_v3(query_15 + i, load_v3(query_15 + i) + query_15_in);
        }
        /* query_12 = ((query_12 * (1.0f / sqrt((query_15 * 0.015625f) + 1e-05f))) * sketch.g1.norm1.weight) +
           sketch.g1.norm1.bias */
        for (int64_t i = 0; i < i1 - i0; i += 8) {
            const vec_v3 t_12 = 1.0f / sqrt_v3((load_v3(query_15 + i) * 0.015625f) + 1e-05f);
            for (int64_t r = 0; r < 64; r++) {
                store_v3(query_12 + r * 16 + i, ((load_v3(query_12 + r * 16 + i) * t_12) * sketch_g1_norm1_weight[r]) +
                    sketch_g1_norm1_bias[r]);
            }
        }
        /* query_17[h][i] = sum over r of sketch_g1_w2 * query_12 */
        dot0_v3(sketch_g1_w2, query_12, query_17);
        /* query_19 = 0.0f */
        for (int64_t i_first = 0; i_first < i1 - i0; i_first += 16) {
            for (int64_t r = 0; r < 64; r++) {
                UNROLL for (int64_t u = 0, i = i_first; u < 2; u++, i += 8) {
                    store_v3(query_19 + r * 16 + i, splat_v3(0.0f));
                }
            }
        }
        {
            for (int64_t h0 = 0, h_end = 512; h0 < h_end; h0 += 192) {
                const int64_t h1 = min(h0 + 192, h_end);
                /* query_18 = (query_17 * 0.5f) * (tanh((query_17 + (((query_17 * query_17) * query_17) * 0.044715f)) *
                   0.7978846f) + 1.0f) */
                for (int64_t i = 0; i < i1 - i0; i += 8) {
                    for (int64_t h = h0; h < h1; h++) {
                        const vec_v3 query_17_13 = load_v3(query_17 + h * 16 + i);
                        store_v3(query_18 + (h - h0) * 16 + i, (query_17_13 * 0.5f) * (tanh_v3((query_17_13 +
                            (((query_17_13 * query_17_13) * query_17_13) * 0.044715f)) * 0.7978846f) + 1.0f));
                    }
                }
                /* query_19[r][i] += sum over h of sketch_g1_w3 * query_18 */
                dot1_v3(h1 - h0, sketch_g1_w3 + h0 * 64, query_18, query_19);
            }
        }
        /* query_6 = ((query_6 * query_7) * sketch.g2.norm0.weight) + sketch.g2.norm0.bias */
        for (int64_t i = 0; i < i1 - i0; i += 8) {
            const vec_v3 query_7_14 = load_v3(query_7 + i);
            for (int64_t d = 0; d < 64; d++) {
                store_v3(query_6 + d * 16 + i, ((load_v3(query_6 + d * 16 + i) * query_7_14) *
                    sketch_g2_norm0_weight[d]) + sketch_g2_norm0_bias[d]);
            }
        }
        /* query_21[h][i] = sum over d of sketch_g2_w0 * query_6 */
        dot0_v3(sketch_g2_w0, query_6, query_21);
        /* query_23 = 0.0f */
        for (int64_t i_first = 0; i_first < i1 - i0; i_first += 16) {
            for (int64_t r = 0; r < 64; r++) {
                UNROLL for (int64_t u = 0, i = i_first; u < 2; u++, i += 8) {
                    store_v3(query_23 + r * 16 + i, splat_v3(0.0f));
                }
            }
        }
        {
            for (int64_t h0 = 0, h_end = 512; h0 < h_end; h0 += 192) {
                const int64_t h1 = min(h0 + 192, h_end);
                /* query_22 = (query_21 * 0.5f) * (tanh((query_21 + (((query_21 * query_21) * query_21) * 0.044715f)) *
                   0.7978846f) + 1.0f) */
                for (int64_t i = 0; i < i1 - i0; i += 8) {
                    for (int64_t h = h0; h < h1; h++) {
                        const vec_v3 query_21_15 = load_v3(query_21 + h * 16 + i);
                        store_v3(query_22 + (h - h0) * 16 + i, (query_21_15 * 0.5f) * (tanh_v3((query_21_15 +
                            (((query_21_15 * query_21_15) * query_21_15) * 0.044715f)) * 0.7978846f) + 1.0f));
                    }
                }
                /* query_23[r][i] += sum over h of sketch_g2_w1 * query_22 */
                dot1_v3(h1 - h0, sketch_g2_w1 + h0 * 64, query_22, query_23);
            }
        }
        /* query_24 = 0.0f */
        for (int64_t i = 0; i < i1 - i0; i += 8) {
            store_v3(query_24 + i, splat_v3(0.0f));
        }
        /* query_24 += query_23 */
        for (int64_t i_first = 0; i_first < i1 - i0; i_first += 16) {
            vec_v3 query_24_in[2];
            UNROLL for (int64_t u = 0, i = i_first; u < 2; u++, i += 8) {
                query_24_in[u] = (vec_v3){0};
            }
            for (int64_t r = 0; r < 64; r++) {
                UNROLL for (int64_t u = 0, i = i_first; u < 2; u++, i += 8) {
                    query_24_in[u] += load_v3(query_23 + r * 16 + i);
                }
            }
            UNROLL for (int64_t u = 0, i = i_first; u < 2; u++, i += 8) {
                store_v3(query_24 + i, load_v3(query_24 + i) + query_24_in[u]);
            }
        }
        /* query_26 = 0.0f */
        for (int64_t i = 0; i < i1 - i0; i += 8) {
            store_v3(query_26 + i, splat_v3(0.0f));
        }
        /* query_23 = query_23 - (query_24 * 0.015625f); query_26 += query_23 * query_23 */
        for (int64_t i = 0; i < i1 - i0; i += 8) {
            const vec_v3 t_17 = load_v3(query_24 + i) * 0.015625f;
            vec_v3 query_26_in = (vec_v3){0};
            for (int64_t r = 0; r < 64; r++) {
                const vec_v3 query_23_16 = load_v3(query_23 + r * 16 + i);
                const vec_v3 query_23_new18 = query_23_16 - t_17;
                store_v3(query_23 + r * 16 + i, query_23_new18);
                query_26_in += query_23_new18 * query_23_new18;
            }
            store_v3(query_26 + i, load_v3(query_26 + i) + query_26_in);
        }
        /* query_23 = ((query_23 * (1.0f / sqrt((query_26 * 0.015625f) + 1e-05f))) * sketch.g2.norm1.weight) +
           sketch.g2.norm1.bias */
        for (int64_t i = 0; i < i1 - i0; i += 8) {
            const vec_v3 t_19 = 1.0f / sqrt_v3((load_v3(query_26 + i) * 0.015625f) + 1e-05f);
            for (int64_t r = 0; r < 64; r++) {
                store_v3(query_23 + r * 16 + i, ((load_v3(query_23 + r * 16 + i) * t_19) * sketch_g2_norm1_weight[r]) +
                    sketch_g2_norm1_bias[r]);
            }
        }
        /* query_28[h][i] = sum over r of sketch_g2_w2 * query_23 */
        dot0_v3(sketch_g2_w2, query_23, query_28);
        /* query_30 = 0.0f */
        for (int64_t i_first = 0; i_first < i1 - i0; i_first += 16) {
            for (int64_t r = 0; r < 64; r++) {
                UNROLL for (int64_t u = 0, i = i_first; u < 2; u++, i += 8) {
                    store_v3(query_30 + r * 16 + i, splat_v3(0.0f));
                }
            }
        }
        {
            for (int64_t h0 = 0, h_end = 512; h0 < h_end; h0 += 192) {
                const int64_t h1 = min(h0 + 192, h_end);
                /* query_29 = (query_28 * 0.5f) * (tanh((query_28 + (((query_28 * query_28) * query_28) * 0.044715f)) *
                   0.7978846f) + 1.0f) */
                for (int64_t i = 0; i < i1 - i0; i += 8) {
                    for (int64_t h = h0; h < h1; h++) {
                        const vec_v3 query_28_20 = load_v3(query_28 + h * 16 + i);
                        store_v3(query_29 + (h - h0) * 16 + i, (query_28_20 * 0.5f) * (tanh_v3((query_28_20 +
                            (((query_28_20 * query_28_20) * query_28_20) * 0.044715f)) * 0.7978846f) + 1.0f));
                    }
                }
                /* query_30[r][i] += sum over h of sketch_g2_w3 * query_29 */
                dot1_v3(h1 - h0, sketch_g2_w3 + h0 * 64, query_29, query_30);
            }
        }
        /* query_31 = tanh((query_19 * query_30) * 0.125f) * 8.0f */
        for (int64_t i = 0; i < i1 - i0; i += 8) {
            for (int64_t r = 0; r < 64; r++) {
                store_v3(query_31 + r * 16 + i, tanh_v3((load_v3(query_19 + r * 16 + i) * load_v3(query_30 + r * 16 +
                    i)) * 0.125f) * 8.0f);
            }
        }
        /* row_sum = 0.0f; row_sum_compensation = 0.0f */
        for (int64_t i = 0; i < i1 - i0; i += 8) {
            store_v3(row_sum + i, splat_v3(0.0f));
            store_v3(row_sum_compensation + i, splat_v3(0.0f));
        }
        /* sum = 0.0f; sum_compensation = 0.0f */
        for (int64_t i_first = 0; i_first < i1 - i0; i_first += 16) {
            for (int64_t e = 0; e < 64; e++) {
                UNROLL for (int64_t u = 0, i = i_first; u < 2; u++, i += 8) {
                    store_v3(sum + e * 16 + i, splat_v3(0.0f));
                    store_v3(sum_compensation + e * 16 + i, splat_v3(0.0f));
                }
            }
        }
    }
    for (int64_t j0 = 0, j_end = min(n_k, i1 + n_k - n_q); j0 < j_end; j0 += 96) {
        const int64_t j1 = min(j0 + 96, j_end);
        /* k_tile = k, with zeros beyond the last row */
        transpose_v3(k + j0 * k_row, k_row, j1 - j0, 64, k_tile, 96);
        for (int64_t j = j1 - j0; j < round_up(j1 - j0, 8); j++)
            for (int64_t d = 0; d < 64; d++) k_tile[d * 96 + j] = 0;
        /* key = 0.0f */
        for (int64_t j = 0; j < j1 - j0; j += 8) {
            store_v3(key + j, splat_v3(0.0f));
        }
        /* key += k_tile */
        for (int64_t j_first = 0; j_first < j1 - j0; j_first += 16) {
            vec_v3 key_in[2];
            UNROLL for (int64_t u = 0, j = j_first; u < 2; u++, j += 8) {
                key_in[u] = (vec_v3){0};
            }
            for (int64_t d = 0; d < 64; d++) {
                UNROLL for (int64_t u = 0, j = j_first; u < 2; u++, j += 8) {
                    key_in[u] += load_v3(k_tile + d * 96 + j);
                }
            }
            UNROLL for (int64_t u = 0, j = j_first; u < 2; u++, j += 8) {
                store_v3(key + j, load_v3(key + j) + key_in[u]);
            }
        }
        /* key_3 = 0.0f */
        for (int64_t j = 0; j < j1 - j0; j += 8) {
            store_v3(key_3 + j, splat_v3(0.0f));
        }
        /* k_tile = k_tile - (key * 0.015625f); key_3 += k_tile * k_tile */
        for (int64_t j = 0; j < j1 - j0; j += 8) {
            const vec_v3 t_22 = load_v3(key + j) * 0.015625f;
            vec_v3 key_3_in = (vec_v3){0};
            for (int64_t d = 0; d < 64; d++) {
                const vec_v3 k_tile_21 = load_v3(k_tile + d * 96 + j);
                const vec_v3 k_tile_new23 = k_tile_21 - t_22;
                store_v3(k_tile + d * 96 + j, k_tile_new23);
                key_3_in += k_tile_new23 * k_tile_new23;
            }
            store_v3(key_3 + j, load_v3(key_3 + j) + key_3_in);
        }
        /* key_5 = 0.0f */
        for (int64_t j = 0; j < j1 - j0; j += 8) {
            store_v3(key_5 + j, splat_v3(0.0f));
        }
        /* k_tile = k_tile * (1.0f / sqrt((key_3 * 0.015625f) + 1e-05f)); key_5 += k_tile */
        for (int64_t j = 0; j < j1 - j0; j += 8) {
            const vec_v3 t_25 = 1.0f / sqrt_v3((load_v3(key_3 + j) * 0.015625f) + 1e-05f);
            vec_v3 key_5_in = (vec_v3){0};
            for (int64_t d = 0; d < 64; d++) {
                const vec_v3 k_tile_24 = load_v3(k_tile + d * 96 + j);
                const vec_v3 k_tile_new26 = k_tile_24 * t_25;
                store_v3(k_tile + d * 96 + j, k_tile_new26);
                key_5_in += k_tile_new26;
            }
            store_v3(key_5 + j, load_v3(key_5 + j) + key_5_in);
        }
        /* key_7 = 0.0f */
        for (int64_t j = 0; j < j1 - j0; j += 8) {
            store_v3(key_7 + j, splat_v3(0.0f));
        }
        /* key_6 = k_tile - (key_5 * 0.015625f); key_7 += key_6 * key_6 */
        for (int64_t j = 0; j < j1 - j0; j += 8) {
            const vec_v3 t_27 = load_v3(key_5 + j) * 0.015625f;
            vec_v3 key_7_in = (vec_v3){0};
            for (int64_t d = 0; d < 64; d++) {
                const vec_v3 key_6_new28 = load_v3(k_tile + d * 96 + j) - t_27;
                store_v3(key_6 + d * 96 + j, key_6_new28);
                key_7_in += key_6_new28 * key_6_new28;
            }
            store_v3(key_7 + j, load_v3(key_7 + j) + key_7_in);
        }
        /* key_7 = 1.0f / sqrt((key_7 * 0.015625f) + 1e-05f) */
        for (int64_t j = 0; j < j1 - j0; j += 8) {
            store_v3(key_7 + j, 1.0f / sqrt_v3((load_v3(key_7 + j) * 0.015625f) + 1e-05f));
        }
        /* key_9 = ((key_6 * key_7) * sketch.g1.norm0.weight) + sketch.g1.norm0.bias */
        for (int64_t j = 0; j < j1 - j0; j += 8) {
            const vec_v3 key_7_29 = load_v3(key_7 + j);
            for (int64_t d = 0; d < 64; d++) {
                store_v3(key_9 + d * 96 + j, ((load_v3(key_6 + d * 96 + j) * key_7_29) * sketch_g1_norm0_weight[d]) +
                    sketch_g1_norm0_bias[d]);
            }
        }
        /* key_10[h][j] = sum over d of sketch_g1_w0 * key_9 */
        dot2_v3(round_up(j1 - j0, 16), sketch_g1_w0, key_9, key_10);
        /* key_12 = 0.0f */
        for (int64_t j_first = 0; j_first < j1 - j0; j_first += 16) {
            for (int64_t r = 0; r < 64; r++) {
                UNROLL for (int64_t u = 0, j = j_first; u < 2; u++, j += 8) {
                    store_v3(key_12 + r * 96 + j, splat_v3(0.0f));
                }
            }
        }
        for (int64_t h0 = 0, h_end = 512; h0 < h_end; h0 += 192) {
            const int64_t h1 = min(h0 + 192, h_end);
            /* key_11 = (key_10 * 0.5f) * (tanh((key_10 + (((key_10 * key_10) * key_10) * 0.044715f)) * 0.7978846f) +
               1.0f) */
            for (int64_t j = 0; j < j1 - j0; j += 8) {
                for (int64_t h = h0; h < h1; h++) {
                    const vec_v3 key_10_30 = load_v3(key_10 + h * 96 + j);
                    store_v3(key_11 + (h - h0) * 96 + j, (key_10_30 * 0.5f) * (tanh_v3((key_10_30 + (((key_10_30 *
                        key_10_30) * key_10_30) * 0.044715f)) * 0.7978846f) + 1.0f));
                }
            }
            /* key_12[r][j] += sum over h of sketch_g1_w1 * key_11 */
            dot3_v3(round_up(j1 - j0, 16), h1 - h0, sketch_g1_w1 + h0 * 64, key_11, key_12);
        }
        /* key_13 = 0.0f */
        for (int64_t j = 0; j < j1 - j0; j += 8) {
            store_v3(key_13 + j, splat_v3(0.0f));
        }
        /* key_13 += key_12 */
        for (int64_t j_first = 0; j_first < j1 - j0; j_first += 16) {
            vec_v3 key_13_in[2];
            UNROLL for (int64_t u = 0, j = j_first; u < 2; u++, j += 8) {
                key_13_in[u] = (vec_v3){0};
            }
            for (int64_t r = 0; r < 64; r++) {
                UNROLL for (int64_t u = 0, j = j_first; u < 2; u++, j += 8) {
                    key_13_in[u] += load_v3(key_12 + r * 96 + j);
                }
            }
            UNROLL for (int64_t u = 0, j = j_first; u < 2; u++, j += 8) {
                store_v3(key_13 + j, load_v3(key_13 + j) + key_13_in[u]);
            }
        }
        /* key_15 = 0.0f */
        for (int64_t j = 0; j < j1 - j0; j += 8) {
            store_v3(key_15 + j, splat_v3(0.0f));
        }
        /* key_12 = key_12 - (key_13 * 0.015625f); key_15 += key_12 * key_12 */
        for (int64_t j = 0; j < j1 - j0; j += 8) {
            const vec_v3 t_32 = load_v3(key_13 + j) * 0.015625f;
            vec_v3 key_15_in = (vec_v3){0};
            for (int64_t r = 0; r < 64; r++) {
                const vec_v3 key_12_31 = load_v3(key_12 + r * 96 + j);
                const vec_v3 key_12_new33 = key_12_31 - t_32;
                store_v3(key_12 + r * 96 + j, key_12_new33);
                key_15_in += key_12_new33 * key_12_new33;
            }
            store_v3(key_15 + j, load_v3(key_15 + j) + key_15_in);
        }
        /* key_12 = ((key_12 * (1.0f / sqrt((key_15 * 0.015625f) + 1e-05f))) * sketch.g1.norm1.weight) +
           sketch.g1.norm1.bias */
        for (int64_t j = 0; j < j1 - j0; j += 8) {
            const vec_v3 t_34 = 1.0f / sqrt_v3((load_v3(key_15 + j) * 0.015625f) + 1e-05f);
            for (int64_t r = 0; r < 64; r++) {
                store_v3(key_12 + r * 96 + j, ((load_v3(key_12 + r * 96 + j) * t_34) * sketch_g1_norm1_weight[r]) +
                    sketch_g1_norm1_bias[r]);
            }
        }
        /* key_17[h][j] = sum over r of sketch_g1_w2 * key_12 */
        dot2_v3(round_up(j1 - j0, 16), sketch_g1_w2, key_12, key_17);
        /* key_19 = 0.0f */
        for (int64_t j_first = 0; j_first < j1 - j0; j_first += 16) {
            for (int64_t r = 0; r < 64; r++) {
                UNROLL for (int64_t u = 0, j = j_first; u < 2; u++, j += 8) {
                    store_v3(key_19 + r * 96 + j, splat_v3(0.0f));
                }
            }
        }
        {
            for (int64_t h0 = 0, h_end = 512; h0 < h_end; h0 += 192) {
                const int64_t h1 = min(h0 + 192, h_end);
                /* key_18 = (key_17 * 0.5f) * (tanh((key_17 + (((key_17 * key_17) * key_17) * 0.044715f)) * 0.7978846f)
                   + 1.0f) */
                for (int64_t j = 0; j < j1 - j0; j += 8) {
                    for (int64_t h = h0; h < h1; h++) {
                        const vec_v3 key_17_35 = load_v3(key_17 + h * 96 + j);
                        store_v3(key_18 + (h - h0) * 96 + j, (key_17_35 * 0.5f) * (tanh_v3((key_17_35 + (((key_17_35 *
                            key_17_35) * key_17_35) * 0.044715f)) * 0.7978846f) + 1.0f));
                    }
                }
                /* key_19[r][j] += sum over h of sketch_g1_w3 * key_18 */
                dot3_v3(round_up(j1 - j0, 16), h1 - h0, sketch_g1_w3 + h0 * 64, key_18, key_19);
            }
        }
        /* key_6 = ((key_6 * key_7) * sketch.g2.norm0.weight) + sketch.g2.norm0.bias */
        for (int64_t j = 0; j < j1 - j0; j += 8) {
            const vec_v3 key_7_36 = load_v3(key_7 + j);
            for (int64_t d = 0; d < 64; d++) {
                store_v3(key_6 + d * 96 + j, ((load_v3(key_6 + d * 96 + j) * key_7_36) * sketch_g2_norm0_weight[d]) +
                    sketch_g2_norm0_bias[d]);
            }
        }
        /* key_21[h][j] = sum over d of sketch_g2_w0 * key_6 */
        dot2_v3(round_up(j1 - j0, 16), sketch_g2_w0, key_6, key_21);
        /* key_23 = 0.0f */
        for (int64_t j_first = 0; j_first < j1 - j0; j_first += 16) {
            for (int64_t r = 0; r < 64; r++) {
                UNROLL for (int64_t u = 0, j = j_first; u < 2; u++, j += 8) {
                    store_v3(key_23 + r * 96 + j, splat_v3(0.0f));
                }
            }
        }
        {
            for (int64_t h0 = 0, h_end = 512; h0 < h_end; h0 += 192) {
                const int64_t h1 = min(h0 + 192, h_end);
                /* key_22 = (key_21 * 0.5f) * (tanh((key_21 + (((key_21 * key_21) * key_21) * 0.044715f)) * 0.7978846f)
                   + 1.0f) */
                for (int64_t j = 0; j < j1 - j0; j += 8) {
                    for (int64_t h = h0; h < h1; h++) {
                        const vec_v3 key_21_37 = load_v3(key_21 + h * 96 + j);
                        store_v3(key_22 + (h - h0) * 96 + j, (key_21_37 * 0.5f) * (tanh_v3((key_21_37 + (((key_21_37 *
                            key_21_37) * key_21_37) * 0.044715f)) * 0.7978846f) + 1.0f));
                    }
                }
                /* key_23[r][j] += sum over h of sketch_g2_w1 * key_22 */
                dot3_v3(round_up(j1 - j0, 16), h1 - h0, sketch_g2_w1 + h0 * 64, key_22, key_23);
            }
        }
        /* key_24 = 0.0f */
        for (int64_t j = 0; j < j1 - j0; j += 8) {
            store_v3(key_24 + j, splat_v3(0.0f));
        }
        /* key_24 += key_23 */
        for (int64_t j_first = 0; j_first < j1 - j0; j_first += 16) {
            vec_v3 key_24_in[2];
            UNROLL for (int64_t u = 0, j = j_first; u < 2; u++, j += 8) {
                key_24_in[u] = (vec_v3){0};
            }
            for (int64_t r = 0; r < 64; r++) {
                UNROLL for (int64_t u = 0, j = j_first; u < 2; u++, j += 8) {
                    key_24_in[u] += load_v3(key_23 + r * 96 + j);
                }
            }
            UNROLL for (int64_t u = 0, j = j_first; u < 2; u++, j += 8) {
                store_v3(key_24 + j, load_v3(key_24 + j) + key_24_in[u]);
            }
        }
        /* key_26 = 0.0f */
        for (int64_t j = 0; j < j1 - j0; j += 8) {
            store_v3(key_26 + j, splat_v3(0.0f));
        }
        /* key_23 = key_23 - (key_24 * 0.015625f); key_26 += key_23 * key_23 */
        for (int64_t j = 0; j < j1 - j0; j += 8) {
            const vec_v3 t_39 = load_v3(key_24 + j) * 0.015625f;
            vec_v3 key_26_in = (vec_v3){0};
            for (int64_t r = 0; r < 64; r++) {
                const vec_v3 key_23_38 = load_v3(key_23 + r * 96 + j);
                const vec_v3 key_23_new40 = key_23_38 - t_39;
                store_v3(key_23 + r * 96 + j, key_23_new40);
                key_26_in += key_23_new40 * key_23_new40;
            }
            store_v3(key_26 + j, load_v3(key_26 + j) + key_26_in);
        }
        /* key_23 = ((key_23 * (1.0f / sqrt((key_26 * 0.015625f) + 1e-05f))) * sketch.g2.norm1.weight) +
           sketch.g2.norm1.bias */
        for (int64_t j = 0; j < j1 - j0; j += 8) {
            const vec_v3 t_41 = 1.0f / sqrt_v3((load_v3(key_26 + j) * 0.015625f) + 1e-05f);
            for (int64_t r = 0; r < 64; r++) {
                store_v3(key_23 + r * 96 + j, ((load_v3(key_23 + r * 96 + j) * t_41) * sketch_g2_norm1_weight[r]) +
                    sketch_g2_norm1_bias[r]);
            }
        }
        /* key_28[h][j] = sum over r of sketch_g2_w2 * key_23 */
        dot2_v3(round_up(j1 - j0, 16), sketch_g2_w2, key_23, key_28);
        /* key_30 = 0.0f */
        for (int64_t j_first = 0; j_first < j1 - j0; j_first += 16) {
            for (int64_t r = 0; r < 64; r++) {
                UNROLL for (int64_t u = 0, j = j_first; u < 2; u++, j += 8) {
                    store_v3(key_30 + r * 96 + j, splat_v3(0.0f));
                }
            }
        }
        {
            for (int64_t h0 = 0, h_end = 512; h0 < h_end; h0 += 192) {
                const int64_t h1 = min(h0 + 192, h_end);
                /* key_29 = (key_28 * 0.5f) * (tanh((key_28 + (((key_28 * key_28) * key_28) * 0.044715f)) * 0.7978846f)
                   + 1.0f) */
                for (int64_t j = 0; j < j1 - j0; j += 8) {
                    for (int64_t h = h0; h < h1; h++) {
                        const vec_v3 key_28_42 = load_v3(key_28 + h * 96 + j);
                        store_v3(key_29 + (h - h0) * 96 + j, (key_28_42 * 0.5f) * (tanh_v3((key_28_42 + (((key_28_42 *
                            key_28_42) * key_28_42) * 0.044715f)) * 0.7978846f) + 1.0f));
                    }
                }
                /* key_30[r][j] += sum over h of sketch_g2_w3 * key_29 */
                dot3_v3(round_up(j1 - j0, 16), h1 - h0, sketch_g2_w3 + h0 * 64, key_29, key_30);
            }
        }
        /* key_19 = tanh((key_19 * key_30) * 0.125f) * 8.0f */
        for (int64_t j = 0; j < j1 - j0; j += 8) {
            for (int64_t r = 0; r < 64; r++) {
                store_v3(key_19 + r * 96 + j, tanh_v3((load_v3(key_19 + r * 96 + j) * load_v3(key_30 + r * 96 + j)) *
                    0.125f) * 8.0f);
            }
        }
        for (int64_t i_next = i0, i_block = i0, i_end = i1; i_next < i_end; i_next += 16) {
            const int64_t i0 = i_next, i1 = min(i0 + 16, i_end);
            float *const query_4 = all_query_4 + (i0 - i_block) / 16 * 1024;
            float *const query_31 = all_query_31 + (i0 - i_block) / 16 * 1024;
            float *const row_sum = all_row_sum + (i0 - i_block) / 16 * 16;
            float *const row_sum_compensation = all_row_sum_compensation + (i0 - i_block) / 16 * 16;
            float *const sum = all_sum + (i0 - i_block) / 16 * 1024;
            float *const sum_compensation = all_sum_compensation + (i0 - i_block) / 16 * 1024;
            if (!(j0 < (i1 + n_k - n_q))) continue; /* nothing in the tile can be seen */
            /* score[j][i] = sum over r of key_19 * query_31 */
            dot4_v3(j1 - j0, key_19, query_31, score);
            /* score_2[j][i] = sum over d of k_tile * query_4 */
            dot4_v3(j1 - j0, k_tile, query_4, score_2);
            /* score = select((((i + (n_k - n_q)) - floormod(i + (n_k - n_q), 256)) / 256) == ((j - floormod(j,
               256)) / 256), (score_2 * score_ ... */
            const int64_t t_43 = n_k - n_q;
            for (int64_t i = 0; i < i1 - i0; i += 8) {
                const ints_v3 t_44 = (i0 + i + lane_v3) + t_43;
                const ints_v3 r45 = t_44 % 256;
                const ints_v3 t_46 = (t_44 - (r45 + (((r45 != 0) & ((r45 < 0) != (256 < 0))) & 256))) / 256;
                for (int64_t j = 0; j < j1 - j0; j++) {
                    const vec_v3 score_2_47 = load_v3(score_2 + j * 16 + i);
                    const vec_v3 t_48 = score_2_47 * score_2_47;
                    const vec_v3 score_49 = load_v3(score + j * 16 + i);
                    store_v3(score + j * 16 + i, pick_v3(__builtin_convertvector(t_46 == (((j0 + j) - floor_mod(j0 + j,
                        256)) / 256), mask_v3), t_48 * t_48, score_49 * score_49));
                }
            }
            if ((i0 + n_k - n_q + 1) < j1) { /* the tile is not wholly inside the mask */
                /* score = select(j <= (i + (n_k - n_q)), score, 0.0f) */
                const int64_t t_50 = n_k - n_q;
                for (int64_t i = 0; i < i1 - i0; i += 8) {
                    const ints_v3 t_51 = (i0 + i + lane_v3) + t_50;
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        store_v3(score + j * 16 + i, pick_v3(__builtin_convertvector((j0 + j) <= t_51, mask_v3),
                            load_v3(score + j * 16 + i), splat_v3(0.0f)));
                    }
                }
            }
            /* row_sum += score */
            for (int64_t i_first = 0; i_first < i1 - i0; i_first += 16) {
                vec_v3 row_sum_in[2];
                UNROLL for (int64_t u = 0, i = i_first; u < 2; u++, i += 8) {
                    row_sum_in[u] = (vec_v3){0};
                }
                for (int64_t j = 0; j < j1 - j0; j++) {
                    UNROLL for (int64_t u = 0, i = i_first; u < 2; u++, i += 8) {
                        row_sum_in[u] += load_v3(score + j * 16 + i);
                    }
                }
                UNROLL for (int64_t u = 0, i = i_first; u < 2; u++, i += 8) {
                    add_v3(row_sum + i, row_sum_compensation + i, row_sum_in[u], splat_v3(1));
                }
            }
            /* sum[e][i] += sum over j of v * score */
            if (__builtin_expect(((i0 + n_k - n_q + 1) < j1) && !finite_v3(v + j0 * v_row, v_row, j1 - j0, 64),
                0)) { /* infinity and NaN reach only what sees them */
                dot5_v3(j1 - j0, v + j0 * v_row, v_row, score, sum, sum_compensation);
                for (int64_t j = 0; j < j1 - j0; j++) {
                    mask_v3 seen[2];
                    if (finite_v3(v + j0 * v_row + j * v_row, 1, 64, 1)) continue;
                    const int64_t t_52 = n_k - n_q;
                    for (int64_t i = 0; i < i1 - i0; i += 8) {
                        seen[i / 8] = __builtin_convertvector((j0 + j) <= ((i0 + i + lane_v3) + t_52), mask_v3);
                    }
                    add_seen_v3(64, sum, 16, v + j0 * v_row + j * v_row, 1, score + j * 16, seen, i1 - i0);
                }
            } else
                dot6_v3(j1 - j0, v + j0 * v_row, v_row, score, sum, sum_compensation);
        }
    }
    {
        for (int64_t i_next = i0, i_block = i0, i_end = i1; i_next < i_end; i_next += 16) {
            const int64_t i0 = i_next, i1 = min(i0 + 16, i_end);
            float *const row_sum = all_row_sum + (i0 - i_block) / 16 * 16;
            float *const sum = all_sum + (i0 - i_block) / 16 * 1024;
            /* result = select((row_sum + 1.0f) == 0.0f, 0.0f, sum / (row_sum + 1.0f)) */
            for (int64_t i = 0; i < i1 - i0; i += 8) {
                const vec_v3 t_53 = load_v3(row_sum + i) + 1.0f;
                const mask_v3 t_54 = t_53 == 0.0f;
                for (int64_t e = 0; e < 64; e++) {
                    store_v3(result + e * 16 + i, pick_v3(t_54, splat_v3(0.0f), load_v3(sum + e * 16 + i) / t_53));
                }
            }
            /* out = result, transposed back */
            transpose_v3(result, 16, 64, i1 - i0, out + i0 * out_row, out_row);
        }
    }
}

/* States begin with no key. */
TARGET_v3 APART void polysketch_learned_r64_local_begin_v3(const struct call *call, int64_t task,
    const struct part *part, int64_t turn)
{
    (void)call;
    (void)task;
    const int64_t f0 = turn * 32, f1 = min(f0 + 32, 2080);
    float *const carried = (float *)(void *)(part->shared + 0); /* [f: 2080] */
    float *const carried_compensation = (float *)(void *)(part->shared + 540800); /* [f: 2080] */
    float *const carried_2 = (float *)(void *)(part->shared + 8320); /* [f: 2080, e: 64] */
    float *const carried_2_compensation = (float *)(void *)(part->shared + 549120); /* [f: 2080, e: 64] */
    /* carried = 0.0f; carried_compensation = 0.0f */
    for (int64_t f = f0; f < f1; f += 8) {
        store_v3(carried + f, splat_v3(0.0f));
        store_v3(carried_compensation + f, splat_v3(0.0f));
    }
    /* carried_2 = 0.0f; carried_2_compensation = 0.0f */
    for (int64_t f = f0; f < f1; f++) {
        for (int64_t e_first = 0; e_first < 64; e_first += 16) {
            UNROLL for (int64_t u = 0, e = e_first; u < 2; u++, e += 8) {
                store_v3(carried_2 + f * 64 + e, splat_v3(0.0f));
                store_v3(carried_2_compensation + f * 64 + e, splat_v3(0.0f));
            }
        }
    }
}

/* The keys of a chunk, summed from zero into its slot. */
TARGET_v3 APART void polysketch_learned_r64_local_keys_v3(const struct call *call, int64_t task,
    const struct part *part, int64_t turn)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t n_k = call->p.n_k;
    const int64_t chunk = turn;
    const int64_t chunk0 = part->chunk0;
    const int64_t g = task % kv_heads;
    const int64_t b = task / kv_heads;
    const float *const k = call->k + b * call->p.k.batch + g * call->p.k.head;
    const int64_t k_row = call->p.k.row;
    const float *const v = call->v + b * call->p.v.batch + g * call->p.v.head;
    const int64_t v_row = call->p.v.row;
    const float *const sketch_g1_norm0_weight = call->params->sketch_g1_norm0_weight;
    const float *const sketch_g1_norm0_bias = call->params->sketch_g1_norm0_bias;
    const float *const sketch_g1_w0 = call->params->sketch_g1_w0;
    const float *const sketch_g1_w1 = call->params->sketch_g1_w1;
    const float *const sketch_g1_norm1_weight = call->params->sketch_g1_norm1_weight;
    const float *const sketch_g1_norm1_bias = call->params->sketch_g1_norm1_bias;
    const float *const sketch_g1_w2 = call->params->sketch_g1_w2;
    const float *const sketch_g1_w3 = call->params->sketch_g1_w3;
    const float *const sketch_g2_norm0_weight = call->params->sketch_g2_norm0_weight;
    const float *const sketch_g2_norm0_bias = call->params->sketch_g2_norm0_bias;
    const float *const sketch_g2_w0 = call->params->sketch_g2_w0;
    const float *const sketch_g2_w1 = call->params->sketch_g2_w1;
    const float *const sketch_g2_norm1_weight = call->params->sketch_g2_norm1_weight;
    const float *const sketch_g2_norm1_bias = call->params->sketch_g2_norm1_bias;
    const float *const sketch_g2_w2 = call->params->sketch_g2_w2;
    const float *const sketch_g2_w3 = call->params->sketch_g2_w3;
    float *const key = (float *)(void *)(part->work + 0); /* [j: 64] */
    float *const key_3 = (float *)(void *)(part->work + 256); /* [j: 64] */
    float *const key_5 = (float *)(void *)(part->work + 0); /* [j: 64] */
    float *const key_7 = (float *)(void *)(part->work + 256); /* [j: 64] */
    float *const key_9 = (float *)(void *)(part->work + 512); /* [d: 64, j: 64] */
    float *const key_10 = (float *)(void *)(part->work + 16896); /* [h: 512, j: 64] */
    float *const key_11 = (float *)(void *)(part->work + 147968); /* [h: 192, j: 64] */
    float *const key_12 = (float *)(void *)(part->work + 512); /* [r: 64, j: 64] */
    float *const key_13 = (float *)(void *)(part->work + 0); /* [j: 64] */
    float *const key_15 = (float *)(void *)(part->work + 16896); /* [j: 64] */
    float *const key_17 = (float *)(void *)(part->work + 16896); /* [h: 512, j: 64] */
    float *const key_18 = (float *)(void *)(part->work + 147968); /* [h: 192, j: 64] */
    float *const key_19 = (float *)(void *)(part->work + 512); /* [r: 64, j: 64] */
    float *const key_21 = (float *)(void *)(part->work + 16896); /* [h: 512, j: 64] */
    float *const key_22 = (float *)(void *)(part->work + 147968); /* [h: 192, j: 64] */
    float *const key_23 = (float *)(void *)(part->work + 197120); /* [r: 64, j: 64] */
    float *const key_24 = (float *)(void *)(part->work + 0); /* [j: 64] */
    float *const key_26 = (float *)(void *)(part->work + 256); /* [j: 64] */
    float *const key_28 = (float *)(void *)(part->work + 16896); /* [h: 512, j: 64] */
    float *const key_29 = (float *)(void *)(part->work + 147968); /* [h: 192, j: 64] */
    float *const key_30 = (float *)(void *)(part->work + 197120); /* [r: 64, j: 64] */
    float *const key_32 = (float *)(void *)(part->work + 16896); /* [f: 192, j: 64] */
    float *const state = (float *)(void *)(part->slots + 0); /* [chunk, f: 2080] */
    float *const state_2 = (float *)(void *)(part->slots + 8320); /* [chunk, f: 2080, e: 64] */
    float *const k_tile = (float *)(void *)(part->work + 197120); /* [d: 64, j: 64] */
    /* state = 0.0f */
    for (int64_t f = 0; f < 2080; f += 8) {
        store_v3(state + (chunk - chunk0) * 135200 + f, splat_v3(0.0f));
    }
    /* state_2 = 0.0f */
    for (int64_t f = 0; f < 2080; f++) {
        for (int64_t e_first = 0; e_first < 64; e_first += 16) {
            UNROLL for (int64_t u = 0, e = e_first; u < 2; u++, e += 8) {
                store_v3(state_2 + (chunk - chunk0) * 135200 + f * 64 + e, splat_v3(0.0f));
            }
        }
    }
    for (int64_t j0 = chunk * 256, j_end = min(n_k, (chunk + 1) * 256); j0 < j_end; j0 += 64) {
        const int64_t j1 = min(j0 + 64, j_end);
        /* k_tile = k, with zeros beyond the last row */
        transpose_v3(k + j0 * k_row, k_row, j1 - j0, 64, k_tile, 64);
        for (int64_t j = j1 - j0; j < round_up(j1 - j0, 8); j++)
            for (int64_t d = 0; d < 64; d++) k_tile[d * 64 + j] = 0;
        /* key = 0.0f */
        for (int64_t j = 0; j < j1 - j0; j += 8) {
            store_v3(key + j, splat_v3(0.0f));
        }
        /* key += k_tile */
        for (int64_t j_first = 0; j_first < j1 - j0; j_first += 16) {
            vec_v3 key_in[2];
            UNROLL for (int64_t u = 0, j = j_first; u < 2; u++, j += 8) {
                key_in[u] = (vec_v3){0};
            }
            for (int64_t d = 0; d < 64; d++) {
                UNROLL for (int64_t u = 0, j = j_first; u < 2; u++, j += 8) {
                    key_in[u] += load_v3(k_tile + d * 64 + j);
                }
            }
            UNROLL for (int64_t u = 0, j = j_first; u < 2; u++, j += 8) {
                store_v3(key + j, load_v3(key + j) + key_in[u]);
            }
        }
        /* key_3 = 0.0f */
        for (int64_t j = 0; j < j1 - j0; j += 8) {
            store_v3(key_3 + j, splat_v3(0.0f));
        }
        /* k_tile = k_tile - (key * 0.015625f); key_3 += k_tile * k_tile */
        for (int64_t j = 0; j < j1 - j0; j += 8) {
            const vec_v3 t_1 = load_v3(key + j) * 0.015625f;
            vec_v3 key_3_in = (vec_v3){0};
            for (int64_t d = 0; d < 64; d++) {
                const vec_v3 k_tile_0 = load_v3(k_tile + d * 64 + j);
                const vec_v3 k_tile_new2 = k_tile_0 - t_1;
                store_v3(k_tile + d * 64 + j, k_tile_new2);
                key_3_in += k_tile_new2 * k_tile_new2;
            }
            store_v3(key_3 + j, load_v3(key_3 + j) + key_3_in);
        }
        /* key_5 = 0.0f */
        for (int64_t j = 0; j < j1 - j0; j += 8) {
            store_v3(key_5 + j, splat_v3(0.0f));
        }
        /* k_tile = k_tile * (1.0f / sqrt((key_3 * 0.015625f) + 1e-05f)); key_5 += k_tile */
        for (int64_t j = 0; j < j1 - j0; j += 8) {
            const vec_v3 t_4 = 1.0f / sqrt_v3((load_v3(key_3 + j) * 0.015625f) + 1e-05f);
            vec_v3 key_5_in = (vec_v3){0};
            for (int64_t d = 0; d < 64; d++) {
                const vec_v3 k_tile_3 = load_v3(k_tile + d * 64 + j);
                const vec_v3 k_tile_new5 = k_tile_3 * t_4;
                store_v3(k_tile + d * 64 + j, k_tile_new5);
                key_5_in += k_tile_new5;
            }
            store_v3(key_5 + j, load_v3(key_5 + j) + key_5_in);
        }
        /* key_7 = 0.0f */
        for (int64_t j = 0; j < j1 - j0; j += 8) {
            store_v3(key_7 + j, splat_v3(0.0f));
        }
        /* k_tile = k_tile - (key_5 * 0.015625f); key_7 += k_tile * k_tile */
        for (int64_t j = 0; j < j1 - j0; j += 8) {
            const vec_v3 t_7 = load_v3(key_5 + j) * 0.015625f;
            vec_v3 key_7_in = (vec_v3){0};
            for (int64_t d = 0; d < 64; d++) {
                const vec_v3 k_tile_6 = load_v3(k_tile + d * 64 + j);
                const vec_v3 k_tile_new8 = k_tile_6 - t_7;
                store_v3(k_tile + d * 64 + j, k_tile_new8);
                key_7_in += k_tile_new8 * k_tile_new8;
            }
            store_v3(key_7 + j, load_v3(key_7 + j) + key_7_in);
        }
        /* key_7 = 1.0f / sqrt((key_7 * 0.015625f) + 1e-05f) */
        for (int64_t j = 0; j < j1 - j0; j += 8) {
            store_v3(key_7 + j, 1.0f / sqrt_v3((load_v3(key_7 + j) * 0.015625f) + 1e-05f));
        }
        /* key_9 = ((k_tile * key_7) * sketch.g1.norm0.weight) + sketch.g1.norm0.bias */
        for (int64_t j = 0; j < j1 - j0; j += 8) {
            const vec_v3 key_7_9 = load_v3(key_7 + j);
            for (int64_t d = 0; d < 64; d++) {
                store_v3(key_9 + d * 64 + j, ((load_v3(k_tile + d * 64 + j) * key_7_9) * sketch_g1_norm0_weight[d]) +
                    sketch_g1_norm0_bias[d]);
            }
        }
        /* key_10[h][j] = sum over d of sketch_g1_w0 * key_9 */
        dot7_v3(round_up(j1 - j0, 16), sketch_g1_w0, key_9, key_10);
        /* key_12 = 0.0f */
        for (int64_t j_first = 0; j_first < j1 - j0; j_first += 16) {
            for (int64_t r = 0; r < 64; r++) {
                UNROLL for (int64_t u = 0, j = j_first; u < 2; u++, j += 8) {
                    store_v3(key_12 + r * 64 + j, splat_v3(0.0f));
                }
            }
        }
        for (int64_t h0 = 0, h_end = 512; h0 < h_end; h0 += 192) {
            const int64_t h1 = min(h0 + 192, h_end);
            /* key_11 = (key_10 * 0.5f) * (tanh((key_10 + (((key_10 * key_10) * key_10) * 0.044715f)) * 0.7978846f) +
               1.0f) */
            for (int64_t j = 0; j < j1 - j0; j += 8) {
                for (int64_t h = h0; h < h1; h++) {
                    const vec_v3 key_10_10 = load_v3(key_10 + h * 64 + j);
                    store_v3(key_11 + (h - h0) * 64 + j, (key_10_10 * 0.5f) * (tanh_v3((key_10_10 + (((key_10_10 *
                        key_10_10) * key_10_10) * 0.044715f)) * 0.7978846f) + 1.0f));
                }
            }
            /* key_12[r][j] += sum over h of sketch_g1_w1 * key_11 */
            dot8_v3(round_up(j1 - j0, 16), h1 - h0, sketch_g1_w1 + h0 * 64, key_11, key_12);
        }
        /* key_13 = 0.0f */
        for (int64_t j = 0; j < j1 - j0; j += 8) {
            store_v3(key_13 + j, splat_v3(0.0f));
        }
        /* key_13 += key_12 */
        for (int64_t j_first = 0; j_first < j1 - j0; j_first += 16) {
            vec_v3 key_13_in[2];
            UNROLL for (int64_t u = 0, j = j_first; u < 2; u++, j += 8) {
                key_13_in[u] = (vec_v3){0};
            }
            for (int64_t r = 0; r < 64; r++) {
                UNROLL for (int64_t u = 0, j = j_first; u < 2; u++, j += 8) {
                    key_13_in[u] += load_v3(key_12 + r * 64 + j);
                }
            }
            UNROLL for (int64_t u = 0, j = j_first; u < 2; u++, j += 8) {
                store_v3(key_13 + j, load_v3(key_13 + j) + key_13_in[u]);
            }
        }
        /* key_15 = 0.0f */
        for (int64_t j = 0; j < j1 - j0; j += 8) {
            store_v3(key_15 + j, splat_v3(0.0f));
        }
        /* key_12 = key_12 - (key_13 * 0.015625f); key_15 += key_12 * key_12 */
        for (int64_t j = 0; j < j1 - j0; j += 8) {
            const vec_v3 t_12 = load_v3(key_13 + j) * 0.015625f;
            vec_v3 key_15_in = (vec_v3){0};
            for (int64_t r = 0; r < 64; r++) {
                const vec_v3 key_12_11 = load_v3(key_12 + r * 64 + j);
                const vec_v3 key_12_new13 = key_12_11 - t_12;
                store_v3(key_12 + r * 64 + j, key_12_new13);
                key_15_in += key_12_new13 * key_12_new13;
            }
            store_v3(key_15 + j, load_v3(key_15 + j) + key_15_in);
        }
        /* key_12 = ((key_12 * (1.0f / sqrt((key_15 * 0.015625f) + 1e-05f))) * sketch.g1.norm1.weight) +
           sketch.g1.norm1.bias */
        for (int64_t j = 0; j < j1 - j0; j += 8) {
            const vec_v3 t_14 = 1.0f / sqrt_v3((load_v3(key_15 + j) * 0.015625f) + 1e-05f);
            for (int64_t r = 0; r < 64; r++) {
                store_v3(key_12 + r * 64 + j, ((load_v3(key_12 + r * 64 + j) * t_14) * sketch_g1_norm1_weight[r]) +
                    sketch_g1_norm1_bias[r]);
            }
        }
        /* key_17[h][j] = sum over r of sketch_g1_w2 * key_12 */
        dot7_v3(round_up(j1 - j0, 16), sketch_g1_w2, key_12, key_17);
        /* key_19 = 0.0f */
        for (int64_t j_first = 0; j_first < j1 - j0; j_first += 16) {
            for (int64_t r = 0; r < 64; r++) {
                UNROLL for (int64_t u = 0, j = j_first; u < 2; u++, j += 8) {
                    store_v3(key_19 + r * 64 + j, splat_v3(0.0f));
                }
            }
        }
        {
            for (int64_t h0 = 0, h_end = 512; h0 < h_end; h0 += 192) {
                const int64_t h1 = min(h0 + 192, h_end);
                /* key_18 = (key_17 * 0.5f) * (tanh((key_17 + (((key_17 * key_17) * key_17) * 0.044715f)) * 0.7978846f)
                   + 1.0f) */
                for (int64_t j = 0; j < j1 - j0; j += 8) {
                    for (int64_t h = h0; h < h1; h++) {
                        const vec_v3 key_17_15 = load_v3(key_17 + h * 64 + j);
                        store_v3(key_18 + (h - h0) * 64 + j, (key_17_15 * 0.5f) * (tanh_v3((key_17_15 + (((key_17_15 *
                            key_17_15) * key_17_15) * 0.044715f)) * 0.7978846f) + 1.0f));
                    }
                }
                /* key_19[r][j] += sum over h of sketch_g1_w3 * key_18 */
                dot8_v3(round_up(j1 - j0, 16), h1 - h0, sketch_g1_w3 + h0 * 64, key_18, key_19);
            }
        }
        /* k_tile = ((k_tile * key_7) * sketch.g2.norm0.weight) + sketch.g2.norm0.bias */
        for (int64_t j = 0; j < j1 - j0; j += 8) {
            const vec_v3 key_7_16 = load_v3(key_7 + j);
            for (int64_t d = 0; d < 64; d++) {
                store_v3(k_tile + d * 64 + j, ((load_v3(k_tile + d * 64 + j) * key_7_16) * sketch_g2_norm0_weight[d]) +
                    sketch_g2_norm0_bias[d]);
            }
        }
        /* key_21[h][j] = sum over d of sketch_g2_w0 * k_tile */
        dot7_v3(round_up(j1 - j0, 16), sketch_g2_w0, k_tile, key_21);
        /* key_23 = 0.0f */
        for (int64_t j_first = 0; j_first < j1 - j0; j_first += 16) {
            for (int64_t r = 0; r < 64; r++) {
                UNROLL for (int64_t u = 0, j = j_first; u < 2; u++, j += 8) {
                    store_v3(key_23 + r * 64 + j, splat_v3(0.0f));
                }
            }
        }
        {
            for (int64_t h0 = 0, h_end = 512; h0 < h_end; h0 += 192) {
                const int64_t h1 = min(h0 + 192, h_end);
                /* key_22 = (key_21 * 0.5f) * (tanh((key_21 + (((key_21 * key_21) * key_21) * 0.044715f)) * 0.7978846f)
                   + 1.0f) */
                for (int64_t j = 0; j < j1 - j0; j += 8) {
                    for (int64_t h = h0; h < h1; h++) {
                        const vec_v3 key_21_17 = load_v3(key_21 + h * 64 + j);
                        store_v3(key_22 + (h - h0) * 64 + j, (key_21_17 * 0.5f) * (tanh_v3((key_21_17 + (((key_21_17 *
                            key_21_17) * key_21_17) * 0.044715f)) * 0.7978846f) + 1.0f));
                    }
                }
                /* key_23[r][j] += sum over h of sketch_g2_w1 * key_22 */
                dot8_v3(round_up(j1 - j0, 16), h1 - h0, sketch_g2_w1 + h0 * 64, key_22, key_23);
            }
        }
        /* key_24 = 0.0f */
        for (int64_t j = 0; j < j1 - j0; j += 8) {
            store_v3(key_24 + j, splat_v3(0.0f));
        }
        /* key_24 += key_23 */
        for (int64_t j_first = 0; j_first < j1 - j0; j_first += 16) {
            vec_v3 key_24_in[2];
            UNROLL for (int64_t u = 0, j = j_first; u < 2; u++, j += 8) {
                key_24_in[u] = (vec_v3){0};
            }
            for (int64_t r = 0; r < 64; r++) {
                UNROLL for (int64_t u = 0, j = j_first; u < 2; u++, j += 8) {
                    key_24_in[u] += load_v3(key_23 + r * 64 + j);
                }
            }
            UNROLL for (int64_t u = 0, j = j_first; u < 2; u++, j += 8) {
                store_v3(key_24 + j, load_v3(key_24 + j) + key_24_in[u]);
            }
        }
        /* key_26 = 0.0f */
        for (int64_t j = 0; j < j1 - j0; j += 8) {
            store_v3(key_26 + j, splat_v3(0.0f));
        }
        /* key_23 = key_23 - (key_24 * 0.015625f); key_26 += key_23 * key_23 */
        for (int64_t j = 0; j < j1 - j0; j += 8) {
            const vec_v3 t_19 = load_v3(key_24 + j) * 0.015625f;
            vec_v3 key_26_in = (vec_v3){0};
            for (int64_t r = 0; r < 64; r++) {
                const vec_v3 key_23_18 = load_v3(key_23 + r * 64 + j);
                const vec_v3 key_23_new20 = key_23_18 - t_19;
                store_v3(key_23 + r * 64 + j, key_23_new20);
                key_26_in += key_23_new20 * key_23_new20;
            }
            store_v3(key_26 + j, load_v3(key_26 + j) + key_26_in);
        }
        /* key_23 = ((key_23 * (1.0f / sqrt((key_26 * 0.015625f) + 1e-05f))) * sketch.g2.norm1.weight) +
           sketch.g2.norm1.bias */
        for (int64_t j = 0; j < j1 - j0; j += 8) {
            const vec_v3 t_21 = 1.0f / sqrt_v3((load_v3(key_26 + j) * 0.015625f) + 1e-05f);
            for (int64_t r = 0; r < 64; r++) {
                store_v3(key_23 + r * 64 + j, ((load_v3(key_23 + r * 64 + j) * t_21) * sketch_g2_norm1_weight[r]) +
                    sketch_g2_norm1_bias[r]);
            }
        }
        /* key_28[h][j] = sum over r of sketch_g2_w2 * key_23 */
        dot7_v3(round_up(j1 - j0, 16), sketch_g2_w2, key_23, key_28);
        /* key_30 = 0.0f */
        for (int64_t j_first = 0; j_first < j1 - j0; j_first += 16) {
            for (int64_t r = 0; r < 64; r++) {
                UNROLL for (int64_t u = 0, j = j_first; u < 2; u++, j += 8) {
                    store_v3(key_30 + r * 64 + j, splat_v3(0.0f));
                }
            }
        }
        {
            for (int64_t h0 = 0, h_end = 512; h0 < h_end; h0 += 192) {
                const int64_t h1 = min(h0 + 192, h_end);
                /* key_29 = (key_28 * 0.5f) * (tanh((key_28 + (((key_28 * key_28) * key_28) * 0.044715f)) * 0.7978846f)
                   + 1.0f) */
                for (int64_t j = 0; j < j1 - j0; j += 8) {
                    for (int64_t h = h0; h < h1; h++) {
                        const vec_v3 key_28_22 = load_v3(key_28 + h * 64 + j);
                        store_v3(key_29 + (h - h0) * 64 + j, (key_28_22 * 0.5f) * (tanh_v3((key_28_22 + (((key_28_22 *
                            key_28_22) * key_28_22) * 0.044715f)) * 0.7978846f) + 1.0f));
                    }
                }
                /* key_30[r][j] += sum over h of sketch_g2_w3 * key_29 */
                dot8_v3(round_up(j1 - j0, 16), h1 - h0, sketch_g2_w3 + h0 * 64, key_29, key_30);
            }
        }
        /* key_19 = tanh((key_19 * key_30) * 0.125f) * 8.0f */
        for (int64_t j = 0; j < j1 - j0; j += 8) {
            for (int64_t r = 0; r < 64; r++) {
                store_v3(key_19 + r * 64 + j, tanh_v3((load_v3(key_19 + r * 64 + j) * load_v3(key_30 + r * 64 + j)) *
                    0.125f) * 8.0f);
            }
        }
        for (int64_t f0 = 0, f_end = 2080; f0 < f_end; f0 += 192) {
            const int64_t f1 = min(f0 + 192, f_end);
            /* key_32 = key_19 * key_19 */
            for (int64_t j_first = 0; j_first < j1 - j0; j_first += 16) {
                for (int64_t f = f0; f < f1; f++) {
                    UNROLL for (int64_t u = 0, j = j_first; u < 2; u++, j += 8) {
                        store_v3(key_32 + (f - f0) * 64 + j, load_v3(key_19 + (f % 64) * 64 + j) * load_v3(key_19 + (((f
                            % 64) + (f / 64)) % 64) * 64 + j));
                    }
                }
            }
            /* state += key_32 */
            for (int64_t f = f0; f < f1; f++) {
                vec_v3 lane_sums = splat_v3(0);
                for (int64_t j = 0; j < j1 - j0; j += 8) {
                    const vec_v3 term = load_v3(key_32 + (f - f0) * 64 + j);
                    lane_sums += j + 8 <= j1 - j0 ? term : pick_v3(__builtin_convertvector(j + lane_v3 < j1 - j0,
                        mask_v3), term, splat_v3(0));
                }
                const float total = lane_sum_v3(lane_sums);
                state[(chunk - chunk0) * 135200 + f] += total;
            }
            /* state_2[f][e] += sum over j of key_32 * v */
            dot9_v3(f1 - f0, j1 - j0, key_32, v + j0 * v_row, v_row, state_2 + (chunk - chunk0) * 135200 + f0 * 64);
        }
    }
}

/* Some elements of the states take in the chunks at hand, one after the other. */
TARGET_v3 APART void polysketch_learned_r64_local_fold_v3(const struct call *call, int64_t task,
    const struct part *part, int64_t turn)
{
    (void)call;
    (void)task;
    const int64_t f0 = turn * 32, f1 = min(f0 + 32, 2080);
    const int64_t chunk0 = part->chunk0;
    const int64_t chunk1 = part->chunk1;
    float *const state = (float *)(void *)(part->slots + 0); /* [chunk, f: 2080] */
    float *const state_2 = (float *)(void *)(part->slots + 8320); /* [chunk, f: 2080, e: 64] */
    float *const carried = (float *)(void *)(part->shared + 0); /* [f: 2080] */
    float *const carried_compensation = (float *)(void *)(part->shared + 540800); /* [f: 2080] */
    float *const carried_2 = (float *)(void *)(part->shared + 8320); /* [f: 2080, e: 64] */
    float *const carried_2_compensation = (float *)(void *)(part->shared + 549120); /* [f: 2080, e: 64] */
    for (int64_t chunk = chunk0; chunk < chunk1; chunk++) {
        /* before = carried; carried += state; state = before */
        for (int64_t f = f0; f < f1; f += 8) {
            const vec_v3 before_new23 = load_v3(carried + f);
            add_v3(carried + f, carried_compensation + f, load_v3(state + (chunk - chunk0) * 135200 + f), splat_v3(1));
            store_v3(state + (chunk - chunk0) * 135200 + f, before_new23);
        }
        /* before_2 = carried_2; carried_2 += state_2; state_2 = before_2 */
        for (int64_t f = f0; f < f1; f++) {
            for (int64_t e_first = 0; e_first < 64; e_first += 16) {
                UNROLL for (int64_t u = 0, e = e_first; u < 2; u++, e += 8) {
                    const vec_v3 before_2_new24 = load_v3(carried_2 + f * 64 + e);
                    add_v3(carried_2 + f * 64 + e, carried_2_compensation + f * 64 + e,
                        load_v3(state_2 + (chunk - chunk0) * 135200 + f * 64 + e), splat_v3(1));
                    store_v3(state_2 + (chunk - chunk0) * 135200 + f * 64 + e, before_2_new24);
                }
            }
        }
    }
}

/* The queries of a chunk meet the states before it, and its own keys. */
TARGET_v3 APART void polysketch_learned_r64_local_queries_v3(const struct call *call, int64_t task,
    const struct part *part, int64_t turn)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_q = call->p.n_q;
    const int64_t n_k = call->p.n_k;
    const int64_t chunk = turn;
    const int64_t chunk0 = part->chunk0;
    const int64_t g = task % kv_heads;
    const int64_t b = task / kv_heads;
    const float *const q = call->q + b * call->p.q.batch + g * members * call->p.q.head;
    const int64_t q_row = call->p.q.row;
    const int64_t q_head = call->p.q.head;
    const float *const k = call->k + b * call->p.k.batch + g * call->p.k.head;
    const int64_t k_row = call->p.k.row;
    const float *const v = call->v + b * call->p.v.batch + g * call->p.v.head;
    const int64_t v_row = call->p.v.row;
    const float *const sketch_g1_norm0_weight = call->params->sketch_g1_norm0_weight;
    const float *const sketch_g1_norm0_bias = call->params->sketch_g1_norm0_bias;
    const float *const sketch_g1_w0 = call->params->sketch_g1_w0;
    const float *const sketch_g1_w1 = call->params->sketch_g1_w1;
    const float *const sketch_g1_norm1_weight = call->params->sketch_g1_norm1_weight;
    const float *const sketch_g1_norm1_bias = call->params->sketch_g1_norm1_bias;
    const float *const sketch_g1_w2 = call->params->sketch_g1_w2;
    const float *const sketch_g1_w3 = call->params->sketch_g1_w3;
    const float *const sketch_g2_norm0_weight = call->params->sketch_g2_norm0_weight;
    const float *const sketch_g2_norm0_bias = call->params->sketch_g2_norm0_bias;
    const float *const sketch_g2_w0 = call->params->sketch_g2_w0;
    const float *const sketch_g2_w1 = call->params->sketch_g2_w1;
    const float *const sketch_g2_norm1_weight = call->params->sketch_g2_norm1_weight;
    const float *const sketch_g2_norm1_bias = call->params->sketch_g2_norm1_bias;
    const float *const sketch_g2_w2 = call->params->sketch_g2_w2;
    const float *const sketch_g2_w3 = call->params->sketch_g2_w3;
    float *const state = (float *)(void *)(part->slots + 0); /* [chunk, f: 2080] */
    float *const state_2 = (float *)(void *)(part->slots + 8320); /* [chunk, f: 2080, e: 64] */
    float *const key_33 = (float *)(void *)(part->work + 0); /* [j: 64] */
    float *const key_35 = (float *)(void *)(part->work + 256); /* [j: 64] */
    float *const query = (float *)(void *)(part->work + 0); /* [i: 64] */
    float *const query_3 = (float *)(void *)(part->work + 256); /* [i: 64] */
    float *const query_5 = (float *)(void *)(part->work + 0); /* [i: 64] */
    float *const query_6 = (float *)(void *)(part->work + 256); /* [d: 64, i: 64] */
    float *const query_7 = (float *)(void *)(part->work + 16640); /* [i: 64] */
    float *const query_9 = (float *)(void *)(part->work + 16896); /* [d: 64, i: 64] */
    float *const query_10 = (float *)(void *)(part->work + 33280); /* [h: 512, i: 64] */
    float *const query_11 = (float *)(void *)(part->work + 164352); /* [h: 192, i: 64] */
    float *const query_12 = (float *)(void *)(part->work + 16896); /* [r: 64, i: 64] */
    float *const query_13 = (float *)(void *)(part->work + 0); /* [i: 64] */
    float *const query_15 = (float *)(void *)(part->work + 33280); /* [i: 64] */
    float *const query_17 = (float *)(void *)(part->work + 33280); /* [h: 512, i: 64] */
    float *const query_18 = (float *)(void *)(part->work + 164352); /* [h: 192, i: 64] */
    float *const query_19 = (float *)(void *)(part->work + 16896); /* [r: 64, i: 64] */
    float *const query_21 = (float *)(void *)(part->work + 33280); /* [h: 512, i: 64] */
    float *const query_22 = (float *)(void *)(part->work + 164352); /* [h: 192, i: 64] */
    float *const query_23 = (float *)(void *)(part->work + 0); /* [r: 64, i: 64] */
    float *const query_24 = (float *)(void *)(part->work + 16384); /* [i: 64] */
    float *const query_26 = (float *)(void *)(part->work + 16640); /* [i: 64] */
    float *const query_28 = (float *)(void *)(part->work + 33280); /* [h: 512, i: 64] */
    float *const query_29 = (float *)(void *)(part->work + 164352); /* [h: 192, i: 64] */
    float *const query_30 = (float *)(void *)(part->work + 0); /* [r: 64, i: 64] */
    float *const score = (float *)(void *)(part->work + 0); /* [j: 64, i: 64] */
    float *const query_32 = (float *)(void *)(part->work + 33280); /* [f: 192, i: 64] */
    float *const query_33 = (float *)(void *)(part->work + 16384); /* [i: 64] */
    float *const row_sum = (float *)(void *)(part->work + 16640); /* [i: 64] */
    float *const row_sum_compensation = (float *)(void *)(part->work + 82432); /* [i: 64] */
    float *const query_34 = (float *)(void *)(part->work + 82688); /* [e: 64, i: 64] */
    float *const sum = (float *)(void *)(part->work + 16896); /* [e: 64, i: 64] */
    float *const sum_compensation = (float *)(void *)(part->work + 33280); /* [e: 64, i: 64] */
    float *const out = call->out + b * call->p.out.batch + g * members * call->p.out.head;
    const int64_t out_row = call->p.out.row;
    const int64_t out_head = call->p.out.head;
    float *const q_tile = (float *)(void *)(part->work + 213504); /* [d: 64, i: 64] */
    float *const k_tile_2 = (float *)(void *)(part->work + 49664); /* [d: 64, j: 64] */
    for (int64_t m = 0; m < members; m++) {
        for (int64_t i0 = (chunk == 0) ? 0 : max(0, (chunk * 256) - (n_k - n_q)), i_end = min(n_q,
            ((chunk + 1) * 256) - (n_k - n_q)); i0 < i_end; i0 += 64) {
            const int64_t i1 = min(i0 + 64, i_end);
            /* q_tile = q, with zeros beyond the last row */
            transpose_v3(q + m * q_head + i0 * q_row, q_row, i1 - i0, 64, q_tile, 64);
            for (int64_t i = i1 - i0; i < round_up(i1 - i0, 8); i++)
                for (int64_t d = 0; d < 64; d++) q_tile[d * 64 + i] = 0;
            /* query = 0.0f */
            for (int64_t i = 0; i < i1 - i0; i += 8) {
                store_v3(query + i, splat_v3(0.0f));
            }
            /* query += q_tile */
            for (int64_t i_first = 0; i_first < i1 - i0; i_first += 16) {
                vec_v3 query_in[2];
                UNROLL for (int64_t u = 0, i = i_first; u < 2; u++, i += 8) {
                    query_in[u] = (vec_v3){0};
                }
                for (int64_t d = 0; d < 64; d++) {
                    UNROLL for (int64_t u = 0, i = i_first; u < 2; u++, i += 8) {
                        query_in[u] += load_v3(q_tile + d * 64 + i);
                    }
                }
                UNROLL for (int64_t u = 0, i = i_first; u < 2; u++, i += 8) {
                    store_v3(query + i, load_v3(query + i) + query_in[u]);
                }
            }
            /* query_3 = 0.0f */
            for (int64_t i = 0; i < i1 - i0; i += 8) {
                store_v3(query_3 + i, splat_v3(0.0f));
            }
            /* q_tile = q_tile - (query * 0.015625f); query_3 += q_tile * q_tile */
            for (int64_t i = 0; i < i1 - i0; i += 8) {
                const vec_v3 t_26 = load_v3(query + i) * 0.015625f;
                vec_v3 query_3_in = (vec_v3){0};
                for (int64_t d = 0; d < 64; d++) {
                    const vec_v3 q_tile_25 = load_v3(q_tile + d * 64 + i);
                    const vec_v3 q_tile_new27 = q_tile_25 - t_26;
                    store_v3(q_tile + d * 64 + i, q_tile_new27);
                    query_3_in += q_tile_new27 * q_tile_new27;
                }
                store_v3(query_3 + i, load_v3(query_3 + i) + query_3_in);
            }
            /* query_5 = 0.0f */
            for (int64_t i = 0; i < i1 - i0; i += 8) {
                store_v3(query_5 + i, splat_v3(0.0f));
            }
            /* q_tile = q_tile * (1.0f / sqrt((query_3 * 0.015625f) + 1e-05f)); query_5 += q_tile */
            for (int64_t i = 0; i < i1 - i0; i += 8) {
                const vec_v3 t_29 = 1.0f / sqrt_v3((load_v3(query_3 + i) * 0.015625f) + 1e-05f);
                vec_v3 query_5_in = (vec_v3){0};
                for (int64_t d = 0; d < 64; d++) {
                    const vec_v3 q_tile_28 = load_v3(q_tile + d * 64 + i);
                    const vec_v3 q_tile_new30 = q_tile_28 * t_29;
                    store_v3(q_tile + d * 64 + i, q_tile_new30);
                    query_5_in += q_tile_new30;
                }
                store_v3(query_5 + i, load_v3(query_5 + i) + query_5_in);
            }
            /* query_7 = 0.0f */
            for (int64_t i = 0; i < i1 - i0; i += 8) {
                store_v3(query_7 + i, splat_v3(0.0f));
            }
            /* query_6 = q_tile - (query_5 * 0.015625f); query_7 += query_6 * query_6 */
            for (int64_t i = 0; i < i1 - i0; i += 8) {
                const vec_v3 t_31 = load_v3(query_5 + i) * 0.015625f;
                vec_v3 query_7_in = (vec_v3){0};
                for (int64_t d = 0; d < 64; d++) {
                    const vec_v3 query_6_new32 = load_v3(q_tile + d * 64 + i) - t_31;
                    store_v3(query_6 + d * 64 + i, query_6_new32);
                    query_7_in += query_6_new32 * query_6_new32;
                }
                store_v3(query_7 + i, load_v3(query_7 + i) + query_7_in);
            }
            /* query_7 = 1.0f / sqrt((query_7 * 0.015625f) + 1e-05f) */
            for (int64_t i = 0; i < i1 - i0; i += 8) {
                store_v3(query_7 + i, 1.0f / sqrt_v3((load_v3(query_7 + i) * 0.015625f) + 1e-05f));
            }
            /* query_9 = ((query_6 * query_7) * sketch.g1.norm0.weight) + sketch.g1.norm0.bias */
            for (int64_t i = 0; i < i1 - i0; i += 8) {
                const vec_v3 query_7_33 = load_v3(query_7 + i);
                for (int64_t d = 0; d < 64; d++) {
                    store_v3(query_9 + d * 64 + i, ((load_v3(query_6 + d * 64 + i) * query_7_33) *
                        sketch_g1_norm0_weight[d]) + sketch_g1_norm0_bias[d]);
                }
            }
            /* query_10[h][i] = sum over d of sketch_g1_w0 * query_9 */
            dot7_v3(round_up(i1 - i0, 16), sketch_g1_w0, query_9, query_10);
            /* query_12 = 0.0f */
            for (int64_t i_first = 0; i_first < i1 - i0; i_first += 16) {
                for (int64_t r = 0; r < 64; r++) {
                    UNROLL for (int64_t u = 0, i = i_first; u < 2; u++, i += 8) {
                        store_v3(query_12 + r * 64 + i, splat_v3(0.0f));
                    }
                }
            }
            for (int64_t h0 = 0, h_end = 512; h0 < h_end; h0 += 192) {
                const int64_t h1 = min(h0 + 192, h_end);
                /* query_11 = (query_10 * 0.5f) * (tanh((query_10 + (((query_10 * query_10) * query_10) * 0.044715f)) *
                   0.7978846f) + 1.0f) */
                for (int64_t i = 0; i < i1 - i0; i += 8) {
                    for (int64_t h = h0; h < h1; h++) {
                        const vec_v3 query_10_34 = load_v3(query_10 + h * 64 + i);
                        store_v3(query_11 + (h - h0) * 64 + i, (query_10_34 * 0.5f) * (tanh_v3((query_10_34 +
                            (((query_10_34 * query_10_34) * query_10_34) * 0.044715f)) * 0.7978846f) + 1.0f));
                    }
                }
                /* query_12[r][i] += sum over h of sketch_g1_w1 * query_11 */
                dot8_v3(round_up(i1 - i0, 16), h1 - h0, sketch_g1_w1 + h0 * 64, query_11, query_12);
            }
            /* query_13 = 0.0f */
            for (int64_t i = 0; i < i1 - i0; i += 8) {
                store_v3(query_13 + i, splat_v3(0.0f));
            }
            /* query_13 += query_12 */
            for (int64_t i_first = 0; i_first < i1 - i0; i_first += 16) {
                vec_v3 query_13_in[2];
                UNROLL for (int64_t u = 0, i = i_first; u < 2; u++, i += 8) {
                    query_13_in[u] = (vec_v3){0};
                }
                for (int64_t r = 0; r < 64; r++) {
                    UNROLL for (int64_t u = 0, i = i_first; u < 2; u++, i += 8) {
                        query_13_in[u] += load_v3(query_12 + r * 64 + i);
                    }
                }
                UNROLL for (int64_t u = 0, i = i_first; u < 2; u++, i += 8) {
                    store_v3(query_13 + i, load_v3(query_13 + i) + query_13_in[u]);
                }
            }
            /* query_15 = 0.0f */
            for (int64_t i = 0; i < i1 - i0; i += 8) {
                store_v3(query_15 + i, splat_v3(0.0f));
            }
            /* query_12 = query_12 - (query_13 * 0.015625f); query_15 += query_12 * query_12 */
            for (int64_t i = 0; i < i1 - i0; i += 8) {
                const vec_v3 t_36 = load_v3(query_13 + i) * 0.015625f;
                vec_v3 query_15_in = (vec_v3){0};
                for (int64_t r = 0; r < 64; r++) {
                    const vec_v3 query_12_35 = load_v3(query_12 + r * 64 + i);
                    const vec_v3 query_12_new37 = query_12_35 - t_36;
                    store_v3(query_12 + r * 64 + i, query_12_new37);
                    query_15_in += query_12_new37 * query_12_new37;
                }
                store_v3(query_15 + i, load_v3(query_15 + i) + query_15_in);
            }
            /* query_12 = ((query_12 * (1.0f / sqrt((query_15 * 0.015625f) + 1e-05f))) * sketch.g1.norm1.weight) +
               sketch.g1.norm1.bias */
            for (int64_t i = 0; i < i1 - i0; i += 8) {
                const vec_v3 t_38 = 1.0f / sqrt_v3((load_v3(query_15 + i) * 0.015625f) + 1e-05f);
                for (int64_t r = 0; r < 64; r++) {
                    store_v3(query_12 + r * 64 + i, ((load_v3(query_12 + r * 64 + i) * t_38) *
                        sketch_g1_norm1_weight[r]) + sketch_g1_norm1_bias[r]);
                }
            }
            /* query_17[h][i] = sum over r of sketch_g1_w2 * query_12 */
            dot7_v3(round_up(i1 - i0, 16), sketch_g1_w2, query_12, query_17);
            /* query_19 = 0.0f */
            for (int64_t i_first = 0; i_first < i1 - i0; i_first += 16) {
                for (int64_t r = 0; r < 64; r++) {
                    UNROLL for (int64_t u = 0, i = i_first; u < 2; u++, i += 8) {
                        store_v3(query_19 + r * 64 + i, splat_v3(0.0f));
                    }
                }
            }
            {
                for (int64_t h0 = 0, h_end = 512; h0 < h_end; h0 += 192) {
                    const int64_t h1 = min(h0 + 192, h_end);
                    /* query_18 = (query_17 * 0.5f) * (tanh((query_17 + (((query_17 * query_17) * query_17) *
                       0.044715f)) * 0.7978846f) + 1.0f) */
                    for (int64_t i = 0; i < i1 - i0; i += 8) {
                        for (int64_t h = h0; h < h1; h++) {
                            const vec_v3 query_17_39 = load_v3(query_17 + h * 64 + i);
                            store_v3(query_18 + (h - h0) * 64 + i, (query_17_39 * 0.5f) * (tanh_v3((query_17_39 +
                                (((query_17_39 * query_17_39) * query_17_39) * 0.044715f)) * 0.7978846f) + 1.0f));
                        }
                    }
                    /* query_19[r][i] += sum over h of sketch_g1_w3 * query_18 */
                    dot8_v3(round_up(i1 - i0, 16), h1 - h0, sketch_g1_w3 + h0 * 64, query_18, query_19);
                }
            }
            /* query_6 = ((query_6 * query_7) * sketch.g2.norm0.weight) + sketch.g2.norm0.bias */
            for (int64_t i = 0; i < i1 - i0; i += 8) {
                const vec_v3 query_7_40 = load_v3(query_7 + i);
                for (int64_t d = 0; d < 64; d++) {
                    store_v3(query_6 + d * 64 + i, ((load_v3(query_6 + d * 64 + i) * query_7_40) *
                        sketch_g2_norm0_weight[d]) + sketch_g2_norm0_bias[d]);
                }
            }
            /* query_21[h][i] = sum over d of sketch_g2_w0 * query_6 */
            dot7_v3(round_up(i1 - i0, 16), sketch_g2_w0, query_6, query_21);
            /* query_23 = 0.0f */
            for (int64_t i_first = 0; i_first < i1 - i0; i_first += 16) {
                for (int64_t r = 0; r < 64; r++) {
                    UNROLL for (int64_t u = 0, i = i_first; u < 2; u++, i += 8) {
                        store_v3(query_23 + r * 64 + i, splat_v3(0.0f));
                    }
                }
            }
            {
                for (int64_t h0 = 0, h_end = 512; h0 < h_end; h0 += 192) {
                    const int64_t h1 = min(h0 + 192, h_end);
                    /* query_22 = (query_21 * 0.5f) * (tanh((query_21 + (((query_21 * query_21) * query_21) *
                       0.044715f)) * 0.7978846f) + 1.0f) */
                    for (int64_t i = 0; i < i1 - i0; i += 8) {
                        for (int64_t h = h0; h < h1; h++) {
                            const vec_v3 query_21_41 = load_v3(query_21 + h * 64 + i);
                            store_v3(query_22 + (h - h0) * 64 + i, (query_21_41 * 0.5f) * (tanh_v3((query_21_41 +
                                (((query_21_41 * query_21_41) * query_21_41) * 0.044715f)) * 0.7978846f) + 1.0f));
                        }
                    }
                    /* query_23[r][i] += sum over h of sketch_g2_w1 * query_22 */
                    dot8_v3(round_up(i1 - i0, 16), h1 - h0, sketch_g2_w1 + h0 * 64, query_22, query_23);
                }
            }
            /* query_24 = 0.0f */
            for (int64_t i = 0; i < i1 - i0; i += 8) {
                store_v3(query_24 + i, splat_v3(0.0f));
            }
            /* query_24 += query_23 */
            for (int64_t i_first = 0; i_first < i1 - i0; i_first += 16) {
                vec_v3 query_24_in[2];
                UNROLL for (int64_t u = 0, i = i_first; u < 2; u++, i += 8) {
                    query_24_in[u] = (vec_v3){0};
                }
                for (int64_t r = 0; r < 64; r++) {
                    UNROLL for (int64_t u = 0, i = i_first; u < 2; u++, i += 8) {
                        query_24_in[u] += load_v3(query_23 + r * 64 + i);
                    }
                }
                UNROLL for (int64_t u = 0, i = i_first; u < 2; u++, i += 8) {
                    store_v3(query_24 + i, load_v3(query_24 + i) + query_24_in[u]);
                }
            }
            /* query_26 = 0.0f */
            for (int64_t i = 0; i < i1 - i0; i += 8) {
                store_v3(query_26 + i, splat_v3(0.0f));
            }
            /* query_23 = query_23 - (query_24 * 0.015625f); query_26 += query_23 * query_23 */
            for (int64_t i = 0; i < i1 - i0; i += 8) {
                const vec_v3 t_43 = load_v3(query_24 + i) * 0.015625f;
                vec_v3 query_26_in = (vec_v3){0};
                for (int64_t r = 0; r < 64; r++) {
                    const vec_v3 query_23_42 = load_v3(query_23 + r * 64 + i);
                    const vec_v3 query_23_new44 = query_23_42 - t_43;
                    store_v3(query_23 + r * 64 + i, query_23_new44);
                    query_26_in += query_23_new44 * query_23_new44;
                }
                store_v3(query_26 + i, load_v3(query_26 + i) + query_26_in);
            }
            /* query_23 = ((query_23 * (1.0f / sqrt((query_26 * 0.015625f) + 1e-05f))) * sketch.g2.norm1.weight) +
               sketch.g2.norm1.bias */
            for (int64_t i = 0; i < i1 - i0; i += 8) {
                const vec_v3 t_45 = 1.0f / sqrt_v3((load_v3(query_26 + i) * 0.015625f) + 1e-05f);
                for (int64_t r = 0; r < 64; r++) {
                    store_v3(query_23 + r * 64 + i, ((load_v3(query_23 + r * 64 + i) * t_45) *
                        sketch_g2_norm1_weight[r]) + sketch_g2_norm1_bias[r]);
                }
            }
            /* query_28[h][i] = sum over r of sketch_g2_w2 * query_23 */
            dot7_v3(round_up(i1 - i0, 16), sketch_g2_w2, query_23, query_28);
            /* query_30 = 0.0f */
            for (int64_t i_first = 0; i_first < i1 - i0; i_first += 16) {
                for (int64_t r = 0; r < 64; r++) {
                    UNROLL for (int64_t u = 0, i = i_first; u < 2; u++, i += 8) {
                        store_v3(query_30 + r * 64 + i, splat_v3(0.0f));
                    }
                }
            }
            {
                for (int64_t h0 = 0, h_end = 512; h0 < h_end; h0 += 192) {
                    const int64_t h1 = min(h0 + 192, h_end);
                    /* query_29 = (query_28 * 0.5f) * (tanh((query_28 + (((query_28 * query_28) * query_28) *
                       0.044715f)) * 0.7978846f) + 1.0f) */
                    for (int64_t i = 0; i < i1 - i0; i += 8) {
                        for (int64_t h = h0; h < h1; h++) {
                            const vec_v3 query_28_46 = load_v3(query_28 + h * 64 + i);
                            store_v3(query_29 + (h - h0) * 64 + i, (query_28_46 * 0.5f) * (tanh_v3((query_28_46 +
                                (((query_28_46 * query_28_46) * query_28_46) * 0.044715f)) * 0.7978846f) + 1.0f));
                        }
                    }
                    /* query_30[r][i] += sum over h of sketch_g2_w3 * query_29 */
                    dot8_v3(round_up(i1 - i0, 16), h1 - h0, sketch_g2_w3 + h0 * 64, query_29, query_30);
                }
            }
            /* query_19 = tanh((query_19 * query_30) * 0.125f) * 8.0f */
            for (int64_t i = 0; i < i1 - i0; i += 8) {
                for (int64_t r = 0; r < 64; r++) {
                    store_v3(query_19 + r * 64 + i, tanh_v3((load_v3(query_19 + r * 64 + i) * load_v3(query_30 + r * 64
                        + i)) * 0.125f) * 8.0f);
                }
            }
            /* query_33 = 0.0f; row_sum = 0.0f; row_sum_compensation = 0.0f */
            for (int64_t i = 0; i < i1 - i0; i += 8) {
                store_v3(query_33 + i, splat_v3(0.0f));
                store_v3(row_sum + i, splat_v3(0.0f));
                store_v3(row_sum_compensation + i, splat_v3(0.0f));
            }
            /* query_34 = 0.0f */
            for (int64_t i_first = 0; i_first < i1 - i0; i_first += 16) {
                for (int64_t e = 0; e < 64; e++) {
                    UNROLL for (int64_t u = 0, i = i_first; u < 2; u++, i += 8) {
                        store_v3(query_34 + e * 64 + i, splat_v3(0.0f));
                    }
                }
            }
            for (int64_t f0 = 0, f_end = 2080; f0 < f_end; f0 += 192) {
                const int64_t f1 = min(f0 + 192, f_end);
                /* query_32 = (query_19 * query_19) * select((f / 64) == 0, 1.0f, 2.0f); query_33 += query_32 * state */
                for (int64_t i_first = 0; i_first < i1 - i0; i_first += 16) {
                    vec_v3 query_33_in[2], query_33_in_whole[2];
                    UNROLL for (int64_t u = 0, i = i_first; u < 2; u++, i += 8) {
                        query_33_in[u] = (vec_v3){0};
                        query_33_in_whole[u] = (vec_v3){0};
                    }
                    for (int64_t f = f0; f < f1; f++) {
                        UNROLL for (int64_t u = 0, i = i_first; u < 2; u++, i += 8) {
                            const vec_v3 query_32_new47 = (load_v3(query_19 + (f % 64) * 64 + i) * load_v3(query_19 +
                                (((f % 64) + (f / 64)) % 64) * 64 + i)) * (float)(((f / 64) == 0) ? 1.0 : 2.0);
                            store_v3(query_32 + (f - f0) * 64 + i, query_32_new47);
                            query_33_in[u] += query_32_new47 * (state[(chunk - chunk0) * 135200 + f]);
                            if (f % 192 == 191) {
                                query_33_in_whole[u] += query_33_in[u];
                                query_33_in[u] = (vec_v3){0};
                            }
                        }
                    }
                    UNROLL for (int64_t u = 0, i = i_first; u < 2; u++, i += 8) {
                        query_33_in[u] += query_33_in_whole[u];
                        store_v3(query_33 + i, load_v3(query_33 + i) + query_33_in[u]);
                    }
                }
                /* query_34[e][i] += sum over f of state_2 * query_32 */
                dot8_v3(round_up(i1 - i0, 16), f1 - f0, state_2 + (chunk - chunk0) * 135200 + f0 * 64, query_32,
                    query_34);
            }
            /* sum = 0.0f; sum_compensation = 0.0f */
            for (int64_t i_first = 0; i_first < i1 - i0; i_first += 16) {
                for (int64_t e = 0; e < 64; e++) {
                    UNROLL for (int64_t u = 0, i = i_first; u < 2; u++, i += 8) {
                        store_v3(sum + e * 64 + i, splat_v3(0.0f));
                        store_v3(sum_compensation + e * 64 + i, splat_v3(0.0f));
                    }
                }
            }
            for (int64_t j0 = max(0, chunk * 256), j_end = min(n_k, i1 + n_k - n_q); j0 < j_end; j0 += 64) {
                const int64_t j1 = min(j0 + 64, j_end);
                /* k_tile_2 = k, with zeros beyond the last row */
                transpose_v3(k + j0 * k_row, k_row, j1 - j0, 64, k_tile_2, 64);
                for (int64_t j = j1 - j0; j < round_up(j1 - j0, 8); j++)
                    for (int64_t d = 0; d < 64; d++) k_tile_2[d * 64 + j] = 0;
                /* key_33 = 0.0f */
                for (int64_t j = 0; j < j1 - j0; j += 8) {
                    store_v3(key_33 + j, splat_v3(0.0f));
                }
                /* key_33 += k_tile_2 */
                for (int64_t j_first = 0; j_first < j1 - j0; j_first += 16) {
                    vec_v3 key_33_in[2];
                    UNROLL for (int64_t u = 0, j = j_first; u < 2; u++, j += 8) {
                        key_33_in[u] = (vec_v3){0};
                    }
                    for (int64_t d = 0; d < 64; d++) {
                        UNROLL for (int64_t u = 0, j = j_first; u < 2; u++, j += 8) {
                            key_33_in[u] += load_v3(k_tile_2 + d * 64 + j);
                        }
                    }
                    UNROLL for (int64_t u = 0, j = j_first; u < 2; u++, j += 8) {
                        store_v3(key_33 + j, load_v3(key_33 + j) + key_33_in[u]);
                    }
                }
                /* key_35 = 0.0f */
                for (int64_t j = 0; j < j1 - j0; j += 8) {
                    store_v3(key_35 + j, splat_v3(0.0f));
                }
                /* k_tile_2 = k_tile_2 - (key_33 * 0.015625f); key_35 += k_tile_2 * k_tile_2 */
                for (int64_t j = 0; j < j1 - j0; j += 8) {
                    const vec_v3 t_49 = load_v3(key_33 + j) * 0.015625f;
                    vec_v3 key_35_in = (vec_v3){0};
                    for (int64_t d = 0; d < 64; d++) {
                        const vec_v3 k_tile_2_48 = load_v3(k_tile_2 + d * 64 + j);
                        const vec_v3 k_tile_2_new50 = k_tile_2_48 - t_49;
                        store_v3(k_tile_2 + d * 64 + j, k_tile_2_new50);
                        key_35_in += k_tile_2_new50 * k_tile_2_new50;
                    }
                    store_v3(key_35 + j, load_v3(key_35 + j) + key_35_in);
                }
                /* k_tile_2 = k_tile_2 * (1.0f / sqrt((key_35 * 0.015625f) + 1e-05f)) */
                for (int64_t j = 0; j < j1 - j0; j += 8) {
                    const vec_v3 t_51 = 1.0f / sqrt_v3((load_v3(key_35 + j) * 0.015625f) + 1e-05f);
                    for (int64_t d = 0; d < 64; d++) {
                        store_v3(k_tile_2 + d * 64 + j, load_v3(k_tile_2 + d * 64 + j) * t_51);
                    }
                }
                /* score[j][i] = sum over d of k_tile_2 * q_tile */
                dot10_v3(round_up(i1 - i0, 16), j1 - j0, k_tile_2, q_tile, score);
                /* score = (score * score) * (score * score) */
                for (int64_t i_first = 0; i_first < i1 - i0; i_first += 16) {
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        UNROLL for (int64_t u = 0, i = i_first; u < 2; u++, i += 8) {
                            const vec_v3 score_52 = load_v3(score + j * 64 + i);
                            const vec_v3 t_53 = score_52 * score_52;
                            store_v3(score + j * 64 + i, t_53 * t_53);
                        }
                    }
                }
                if ((j0 < (((chunk + 1) - 1) * 256)) || ((i0 + n_k - n_q + 1) < j1)) { /* the tile is not wholly inside
                    the mask */
                    /* score = select((j <= (i + (n_k - n_q))) && ((chunk * 256) <= j), score, 0.0f) */
                    const int64_t t_54 = n_k - n_q;
                    for (int64_t i = 0; i < i1 - i0; i += 8) {
                        const ints_v3 t_55 = (i0 + i + lane_v3) + t_54;
                        for (int64_t j = 0; j < j1 - j0; j++) {
                            store_v3(score + j * 64 + i, pick_v3(__builtin_convertvector(((j0 + j) <= t_55) &
                                (-(int64_t)((chunk * 256) <= (j0 + j))), mask_v3), load_v3(score + j * 64 + i),
                                splat_v3(0.0f)));
                        }
                    }
                }
                /* row_sum += score */
                for (int64_t i_first = 0; i_first < i1 - i0; i_first += 16) {
                    vec_v3 row_sum_in[2];
                    UNROLL for (int64_t u = 0, i = i_first; u < 2; u++, i += 8) {
                        row_sum_in[u] = (vec_v3){0};
                    }
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        UNROLL for (int64_t u = 0, i = i_first; u < 2; u++, i += 8) {
                            row_sum_in[u] += load_v3(score + j * 64 + i);
                        }
                    }
                    UNROLL for (int64_t u = 0, i = i_first; u < 2; u++, i += 8) {
                        add_v3(row_sum + i, row_sum_compensation + i, row_sum_in[u], splat_v3(1));
                    }
                }
                /* sum[e][i] += sum over j of v * score */
                if (__builtin_expect(((j0 < (((chunk + 1) - 1) * 256)) || ((i0 + n_k - n_q + 1) < j1)) && !finite_v3(v +
                    j0 * v_row, v_row, j1 - j0, 64), 0)) { /* infinity and NaN reach only what sees them */
                    dot11_v3(round_up(i1 - i0, 16), j1 - j0, v + j0 * v_row, v_row, score, sum, sum_compensation);
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        mask_v3 seen[8];
                        if (finite_v3(v + j0 * v_row + j * v_row, 1, 64, 1)) continue;
                        const int64_t t_56 = n_k - n_q;
                        const int t_57 = (chunk * 256) <= (j0 + j);
                        for (int64_t i = 0; i < i1 - i0; i += 8) {
                            seen[i / 8] = __builtin_convertvector(((j0 + j) <= ((i0 + i + lane_v3) + t_56)) &
                                (-(int64_t)t_57), mask_v3);
                        }
                        add_seen_v3(64, sum, 64, v + j0 * v_row + j * v_row, 1, score + j * 64, seen, i1 - i0);
                    }
                } else
                    dot12_v3(round_up(i1 - i0, 16), j1 - j0, v + j0 * v_row, v_row, score, sum, sum_compensation);
            }
            /* sum = select(((row_sum + query_33) + 1.0f) == 0.0f, 0.0f,
               (sum + query_34) / ((row_sum + query_33) + 1.0f)) */
            for (int64_t i = 0; i < i1 - i0; i += 8) {
                const vec_v3 t_58 = (load_v3(row_sum + i) + load_v3(query_33 + i)) + 1.0f;
                const mask_v3 t_59 = t_58 == 0.0f;
                for (int64_t e = 0; e < 64; e++) {
                    store_v3(sum + e * 64 + i, pick_v3(t_59, splat_v3(0.0f),
                        (load_v3(sum + e * 64 + i) + load_v3(query_34 + e * 64 + i)) / t_58));
                }
            }
            /* out = sum, transposed back */
            transpose_v3(sum, 64, 64, i1 - i0, out + m * out_head + i0 * out_row, out_row);
        }
    }
}

/* All of a head: every thread whose part this is calls it. */
TARGET_v3 static void polysketch_learned_r64_local_linear_v3(const struct call *call, int64_t task, struct part *part)
{
    const int64_t n_k = call->p.n_k;
    const int64_t chunks = n_k > 0 ? (n_k - 1) / 256 + 1 : 1;
    for (int64_t turn = part->number; turn < ((2080 + 31) / 32);
        turn += part->threads) polysketch_learned_r64_local_begin_v3(call, task, part, turn);
    meet(part);
    const int64_t first = 0;
    const int64_t length = segment_length(part, chunks - first);
    for (int64_t segment = part->number; first + segment * length < chunks; segment += part->threads) {
        part->chunk0 = first + segment * length;
        part->chunk1 = min(part->chunk0 + length, chunks);
        for (int64_t turn = part->chunk0; turn < part->chunk1; turn++) polysketch_learned_r64_local_keys_v3(call, task,
            part, turn);
        for (int64_t group = 0; group < 16; group++) {
            await_segment(part, group, segment);
            for (int64_t turn = group * ((2080 + 31) / 32) / 16; turn < (group + 1) * ((2080 + 31) / 32) / 16; turn++)
                polysketch_learned_r64_local_fold_v3(call, task, part, turn);
            pass_segment(part, group, segment);
        }
        for (int64_t turn = part->chunk0; turn < part->chunk1; turn++) polysketch_learned_r64_local_queries_v3(call,
            task, part, turn);
    }
    part->segments += (max(chunks - first, 0) + length - 1) / length;
    meet(part);
}

/* States begin with no key. */
TARGET_v3 APART void polysketch_learned_r64_local_few_begin_v3(const struct call *call, int64_t task,
    const struct part *part, int64_t turn)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_q = call->p.n_q;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t r_q0 = turn * 64, r_q1 = min(r_q0 + 64, rows);
    const int64_t g = task % kv_heads;
    const int64_t b = task / kv_heads;
    const float *const q = call->q + b * call->p.q.batch + g * members * call->p.q.head;
    const int64_t q_row = call->p.q.row;
    const int64_t q_head = call->p.q.head;
    const float *const sketch_g1_norm0_weight = call->params->sketch_g1_norm0_weight;
    const float *const sketch_g1_norm0_bias = call->params->sketch_g1_norm0_bias;
    const float *const sketch_g1_w0 = call->params->sketch_g1_w0;
    const float *const sketch_g1_w1 = call->params->sketch_g1_w1;
    const float *const sketch_g1_norm1_weight = call->params->sketch_g1_norm1_weight;
    const float *const sketch_g1_norm1_bias = call->params->sketch_g1_norm1_bias;
    const float *const sketch_g1_w2 = call->params->sketch_g1_w2;
    const float *const sketch_g1_w3 = call->params->sketch_g1_w3;
    const float *const sketch_g2_norm0_weight = call->params->sketch_g2_norm0_weight;
    const float *const sketch_g2_norm0_bias = call->params->sketch_g2_norm0_bias;
    const float *const sketch_g2_w0 = call->params->sketch_g2_w0;
    const float *const sketch_g2_w1 = call->params->sketch_g2_w1;
    const float *const sketch_g2_norm1_weight = call->params->sketch_g2_norm1_weight;
    const float *const sketch_g2_norm1_bias = call->params->sketch_g2_norm1_bias;
    const float *const sketch_g2_w2 = call->params->sketch_g2_w2;
    const float *const sketch_g2_w3 = call->params->sketch_g2_w3;
    float *const query = (float *)(void *)(part->shared + 0); /* [r_q: 64] */
    float *const query_2 = (float *)(void *)(part->shared + 256); /* [d: 64, r_q: 64] */
    float *const query_3 = (float *)(void *)(part->shared + 16640); /* [r_q: 64] */
    float *const query_4 = (float *)(void *)(part->shared + 16896); /* [d: 64, r_q: 64] */
    float *const query_5 = (float *)(void *)(part->shared + 33280); /* [r_q: 64] */
    float *const query_6 = (float *)(void *)(part->shared + 33536); /* [d: 64, r_q: 64] */
    float *const query_7 = (float *)(void *)(part->shared + 49920); /* [r_q: 64] */
    float *const query_8 = (float *)(void *)(part->shared + 50176); /* [r_q: 64] */
    float *const query_9 = (float *)(void *)(part->shared + 50432); /* [d: 64, r_q: 64] */
    float *const query_10 = (float *)(void *)(part->shared + 66816); /* [h: 512, r_q: 64] */
    float *const query_11 = (float *)(void *)(part->shared + 197888); /* [h: 512, r_q: 64] */
    float *const query_12 = (float *)(void *)(part->shared + 328960); /* [r: 64, r_q: 64] */
    float *const query_13 = (float *)(void *)(part->shared + 345344); /* [r_q: 64] */
    float *const query_14 = (float *)(void *)(part->shared + 345600); /* [r: 64, r_q: 64] */
    float *const query_15 = (float *)(void *)(part->shared + 361984); /* [r_q: 64] */
    float *const query_16 = (float *)(void *)(part->shared + 362240); /* [r: 64, r_q: 64] */
    float *const query_17 = (float *)(void *)(part->shared + 378624); /* [h: 512, r_q: 64] */
    float *const query_18 = (float *)(void *)(part->shared + 509696); /* [h: 512, r_q: 64] */
    float *const query_19 = (float *)(void *)(part->shared + 640768); /* [r: 64, r_q: 64] */
    float *const query_20 = (float *)(void *)(part->shared + 657152); /* [d: 64, r_q: 64] */
    float *const query_21 = (float *)(void *)(part->shared + 673536); /* [h: 512, r_q: 64] */
    float *const query_22 = (float *)(void *)(part->shared + 804608); /* [h: 512, r_q: 64] */
    float *const query_23 = (float *)(void *)(part->shared + 935680); /* [r: 64, r_q: 64] */
    float *const query_24 = (float *)(void *)(part->shared + 952064); /* [r_q: 64] */
    float *const query_25 = (float *)(void *)(part->shared + 952320); /* [r: 64, r_q: 64] */
    float *const query_26 = (float *)(void *)(part->shared + 968704); /* [r_q: 64] */
    float *const query_27 = (float *)(void *)(part->shared + 968960); /* [r: 64, r_q: 64] */
    float *const query_28 = (float *)(void *)(part->shared + 985344); /* [h: 512, r_q: 64] */
    float *const query_29 = (float *)(void *)(part->shared + 1116416); /* [h: 512, r_q: 64] */
    float *const query_30 = (float *)(void *)(part->shared + 1247488); /* [r: 64, r_q: 64] */
    float *const query_31 = (float *)(void *)(part->shared + 1263872); /* [r: 64, r_q: 64] */
    float *const q_tile = (float *)(void *)(part->work + 0); /* [d: 64, r_q: 64] */
    /* q_tile = q, with zeros beyond the last row */
    for (int64_t r_q = 0; r_q < round_up(r_q1 - r_q0, 8); r_q++)
        for (int64_t d = 0; d < 64; d++)
            q_tile[d * 64 + r_q] = r_q < r_q1 - r_q0 ? q[r_q / n_q * q_head + r_q % n_q * q_row + d] : 0;
    /* query = 0.0f */
    for (int64_t r_q = r_q0; r_q < r_q1; r_q += 8) {
        store_v3(query + r_q, splat_v3(0.0f));
    }
    /* query += q_tile */
    for (int64_t r_q = r_q0; r_q < r_q1; r_q += 8) {
        vec_v3 query_in = (vec_v3){0};
        for (int64_t d = 0; d < 64; d++) {
            query_in += load_v3(q_tile + d * 64 + r_q);
        }
        store_v3(query + r_q, load_v3(query + r_q) + query_in);
    }
    /* query_3 = 0.0f */
    for (int64_t r_q = r_q0; r_q < r_q1; r_q += 8) {
        store_v3(query_3 + r_q, splat_v3(0.0f));
    }
    /* query_2 = q_tile - (query * 0.015625f); query_3 += query_2 * query_2 */
    for (int64_t r_q = r_q0; r_q < r_q1; r_q += 8) {
        const vec_v3 t_0 = load_v3(query + r_q) * 0.015625f;
        vec_v3 query_3_in = (vec_v3){0};
        for (int64_t d = 0; d < 64; d++) {
            const vec_v3 query_2_new1 = load_v3(q_tile + d * 64 + r_q) - t_0;
            store_v3(query_2 + d * 64 + r_q, query_2_new1);
            query_3_in += query_2_new1 * query_2_new1;
        }
        store_v3(query_3 + r_q, load_v3(query_3 + r_q) + query_3_in);
    }
    /* query_5 = 0.0f */
    for (int64_t r_q = r_q0; r_q < r_q1; r_q += 8) {
        store_v3(query_5 + r_q, splat_v3(0.0f));
    }
    /* query_4 = query_2 * (1.0f / sqrt((query_3 * 0.015625f) + 1e-05f)); query_5 += query_4 */
    for (int64_t r_q = r_q0; r_q < r_q1; r_q += 8) {
        const vec_v3 t_2 = 1.0f / sqrt_v3((load_v3(query_3 + r_q) * 0.015625f) + 1e-05f);
        vec_v3 query_5_in = (vec_v3){0};
        for (int64_t d = 0; d < 64; d++) {
            const vec_v3 query_4_new3 = load_v3(query_2 + d * 64 + r_q) * t_2;
            store_v3(query_4 + d * 64 + r_q, query_4_new3);
            query_5_in += query_4_new3;
        }
        store_v3(query_5 + r_q, load_v3(query_5 + r_q) + query_5_in);
    }
    /* query_7 = 0.0f */
    for (int64_t r_q = r_q0; r_q < r_q1; r_q += 8) {
        store_v3(query_7 + r_q, splat_v3(0.0f));
    }
    /* query_6 = query_4 - (query_5 * 0.015625f); query_7 += query_6 * query_6 */
    for (int64_t r_q = r_q0; r_q < r_q1; r_q += 8) {
        const vec_v3 t_4 = load_v3(query_5 + r_q) * 0.015625f;
        vec_v3 query_7_in = (vec_v3){0};
        for (int64_t d = 0; d < 64; d++) {
            const vec_v3 query_6_new5 = load_v3(query_4 + d * 64 + r_q) - t_4;
            store_v3(query_6 + d * 64 + r_q, query_6_new5);
            query_7_in += query_6_new5 * query_6_new5;
        }
        store_v3(query_7 + r_q, load_v3(query_7 + r_q) + query_7_in);
    }
    /* query_8 = 1.0f / sqrt((query_7 * 0.015625f) + 1e-05f) */
    for (int64_t r_q = r_q0; r_q < r_q1; r_q += 8) {
        store_v3(query_8 + r_q, 1.0f / sqrt_v3((load_v3(query_7 + r_q) * 0.015625f) + 1e-05f));
    }
    /* query_9 = ((query_6 * query_8) * sketch.g1.norm0.weight) + sketch.g1.norm0.bias */
    for (int64_t r_q = r_q0; r_q < r_q1; r_q += 8) {
        const vec_v3 query_8_6 = load_v3(query_8 + r_q);
        for (int64_t d = 0; d < 64; d++) {
            store_v3(query_9 + d * 64 + r_q, ((load_v3(query_6 + d * 64 + r_q) * query_8_6) * sketch_g1_norm0_weight[d])
                + sketch_g1_norm0_bias[d]);
        }
    }
    /* query_10[h][r_q] = sum over d of sketch_g1_w0 * query_9 */
    dot7_v3(round_up(r_q1 - r_q0, 16), sketch_g1_w0, query_9 + r_q0, query_10 + r_q0);
    /* query_11 = (query_10 * 0.5f) * (tanh((query_10 + (((query_10 * query_10) * query_10) * 0.044715f)) * 0.7978846f)
       + 1.0f) */
    for (int64_t r_q = r_q0; r_q < r_q1; r_q += 8) {
        for (int64_t h = 0; h < 512; h++) {
            const vec_v3 query_10_7 = load_v3(query_10 + h * 64 + r_q);
            store_v3(query_11 + h * 64 + r_q, (query_10_7 * 0.5f) * (tanh_v3((query_10_7 + (((query_10_7 * query_10_7) *
                query_10_7) * 0.044715f)) * 0.7978846f) + 1.0f));
        }
    }
    /* query_12[r][r_q] = sum over h of sketch_g1_w1 * query_11 */
    dot13_v3(round_up(r_q1 - r_q0, 16), sketch_g1_w1, query_11 + r_q0, query_12 + r_q0);
    /* query_13 = 0.0f */
    for (int64_t r_q = r_q0; r_q < r_q1; r_q += 8) {
        store_v3(query_13 + r_q, splat_v3(0.0f));
    }
    /* query_13 += query_12 */
    for (int64_t r_q = r_q0; r_q < r_q1; r_q += 8) {
        vec_v3 query_13_in = (vec_v3){0};
        for (int64_t r = 0; r < 64; r++) {
            query_13_in += load_v3(query_12 + r * 64 + r_q);
        }
        store_v3(query_13 + r_q, load_v3(query_13 + r_q) + query_13_in);
    }
    /* query_15 = 0.0f */
    for (int64_t r_q = r_q0; r_q < r_q1; r_q += 8) {
        store_v3(query_15 + r_q, splat_v3(0.0f));
    }
    /* query_14 = query_12 - (query_13 * 0.015625f); query_15 += query_14 * query_14 */
    for (int64_t r_q = r_q0; r_q < r_q1; r_q += 8) {
        const vec_v3 t_8 = load_v3(query_13 + r_q) * 0.015625f;
        vec_v3 query_15_in = (vec_v3){0};
        for (int64_t r = 0; r < 64; r++) {
            const vec_v3 query_14_new9 = load_v3(query_12 + r * 64 + r_q) - t_8;
            store_v3(query_14 + r * 64 + r_q, query_14_new9);
            query_15_in += query_14_new9 * query_14_new9;
        }
        store_v3(query_15 + r_q, load_v3(query_15 + r_q) + query_15_in);
    }
    /* query_16 = ((query_14 * (1.0f / sqrt((query_15 * 0.015625f) + 1e-05f))) * sketch.g1.norm1.weight) +
       sketch.g1.norm1.bias */
    for (int64_t r_q = r_q0; r_q < r_q1; r_q += 8) {
        const vec_v3 t_10 = 1.0f / sqrt_v3((load_v3(query_15 + r_q) * 0.015625f) + 1e-05f);
        for (int64_t r = 0; r < 64; r++) {
            store_v3(query_16 + r * 64 + r_q, ((load_v3(query_14 + r * 64 + r_q) * t_10) * sketch_g1_norm1_weight[r]) +
                sketch_g1_norm1_bias[r]);
        }
    }
    /* query_17[h][r_q] = sum over r of sketch_g1_w2 * query_16 */
    dot7_v3(round_up(r_q1 - r_q0, 16), sketch_g1_w2, query_16 + r_q0, query_17 + r_q0);
    /* query_18 = (query_17 * 0.5f) * (tanh((query_17 + (((query_17 * query_17) * query_17) * 0.044715f)) * 0.7978846f)
       + 1.0f) */
    for (int64_t r_q = r_q0; r_q < r_q1; r_q += 8) {
        for (int64_t h = 0; h < 512; h++) {
            const vec_v3 query_17_11 = load_v3(query_17 + h * 64 + r_q);
            store_v3(query_18 + h * 64 + r_q, (query_17_11 * 0.5f) * (tanh_v3((query_17_11 + (((query_17_11 *
                query_17_11) * query_17_11) * 0.044715f)) * 0.7978846f) + 1.0f));
        }
    }
    /* query_19[r][r_q] = sum over h of sketch_g1_w3 * query_18 */
    dot13_v3(round_up(r_q1 - r_q0, 16), sketch_g1_w3, query_18 + r_q0, query_19 + r_q0);
    /* query_20 = ((query_6 * query_8) * sketch.g2.norm0.weight) + sketch.g2.norm0.bias */
    for (int64_t r_q = r_q0; r_q < r_q1; r_q += 8) {
        const vec_v3 query_8_12 = load_v3(query_8 + r_q);
        for (int64_t d = 0; d < 64; d++) {
            store_v3(query_20 + d * 64 + r_q, ((load_v3(query_6 + d * 64 + r_q) * query_8_12) *
                sketch_g2_norm0_weight[d]) + sketch_g2_norm0_bias[d]);
        }
    }
    /* query_21[h][r_q] = sum over d of sketch_g2_w0 * query_20 */
    dot7_v3(round_up(r_q1 - r_q0, 16), sketch_g2_w0, query_20 + r_q0, query_21 + r_q0);
    /* query_22 = (query_21 * 0.5f) * (tanh((query_21 + (((query_21 * query_21) * query_21) * 0.044715f)) * 0.7978846f)
       + 1.0f) */
    for (int64_t r_q = r_q0; r_q < r_q1; r_q += 8) {
        for (int64_t h = 0; h < 512; h++) {
            const vec_v3 query_21_13 = load_v3(query_21 + h * 64 + r_q);
            store_v3(query_22 + h * 64 + r_q, (query_21_13 * 0.5f) * (tanh_v3((query_21_13 + (((query_21_13 *
                query_21_13) * query_21_13) * 0.044715f)) * 0.7978846f) + 1.0f));
        }
    }
    /* query_23[r][r_q] = sum over h of sketch_g2_w1 * query_22 */
    dot13_v3(round_up(r_q1 - r_q0, 16), sketch_g2_w1, query_22 + r_q0, query_23 + r_q0);
    /* query_24 = 0.0f */
    for (int64_t r_q = r_q0; r_q < r_q1; r_q += 8) {
        store_v3(query_24 + r_q, splat_v3(0.0f));
    }
    /* query_24 += query_23 */
    for (int64_t r_q = r_q0; r_q < r_q1; r_q += 8) {
        vec_v3 query_24_in = (vec_v3){0};
        for (int64_t r = 0; r < 64; r++) {
            query_24_in += load_v3(query_23 + r * 64 + r_q);
        }
        store_v3(query_24 + r_q, load_v3(query_24 + r_q) + query_24_in);
    }
    /* query_26 = 0.0f */
    for (int64_t r_q = r_q0; r_q < r_q1; r_q += 8) {
        store_v3(query_26 + r_q, splat_v3(0.0f));
    }
    /* query_25 = query_23 - (query_24 * 0.015625f); query_26 += query_25 * query_25 */
    for (int64_t r_q = r_q0; r_q < r_q1; r_q += 8) {
        const vec_v3 t_14 = load_v3(query_24 + r_q) * 0.015625f;
        vec_v3 query_26_in = (vec_v3){0};
        for (int64_t r = 0; r < 64; r++) {
            const vec_v3 query_25_new15 = load_v3(query_23 + r * 64 + r_q) - t_14;
            store_v3(query_25 + r * 64 + r_q, query_25_new15);
            query_26_in += query_25_new15 * query_25_new15;
        }
        store_v3(query_26 + r_q, load_v3(query_26 + r_q) + query_26_in);
    }
    /* query_27 = ((query_25 * (1.0f / sqrt((query_26 * 0.015625f) + 1e-05f))) * sketch.g2.norm1.weight) +
       sketch.g2.norm1.bias */
    for (int64_t r_q = r_q0; r_q < r_q1; r_q += 8) {
        const vec_v3 t_16 = 1.0f / sqrt_v3((load_v3(query_26 + r_q) * 0.015625f) + 1e-05f);
        for (int64_t r = 0; r < 64; r++) {
            store_v3(query_27 + r * 64 + r_q, ((load_v3(query_25 + r * 64 + r_q) * t_16) * sketch_g2_norm1_weight[r]) +
                sketch_g2_norm1_bias[r]);
        }
    }
    /* query_28[h][r_q] = sum over r of sketch_g2_w2 * query_27 */
    dot7_v3(round_up(r_q1 - r_q0, 16), sketch_g2_w2, query_27 + r_q0, query_28 + r_q0);
    /* query_29 = (query_28 * 0.5f) * (tanh((query_28 + (((query_28 * query_28) * query_28) * 0.044715f)) * 0.7978846f)
       + 1.0f) */
    for (int64_t r_q = r_q0; r_q < r_q1; r_q += 8) {
        for (int64_t h = 0; h < 512; h++) {
            const vec_v3 query_28_17 = load_v3(query_28 + h * 64 + r_q);
            store_v3(query_29 + h * 64 + r_q, (query_28_17 * 0.5f) * (tanh_v3((query_28_17 + (((query_28_17 *
                query_28_17) * query_28_17) * 0.044715f)) * 0.7978846f) + 1.0f));
        }
    }
    /* query_30[r][r_q] = sum over h of sketch_g2_w3 * query_29 */
    dot13_v3(round_up(r_q1 - r_q0, 16), sketch_g2_w3, query_29 + r_q0, query_30 + r_q0);
    /* query_31 = tanh((query_19 * query_30) * 0.125f) * 8.0f */
    for (int64_t r_q = r_q0; r_q < r_q1; r_q += 8) {
        for (int64_t r = 0; r < 64; r++) {
            store_v3(query_31 + r * 64 + r_q, tanh_v3((load_v3(query_19 + r * 64 + r_q) * load_v3(query_30 + r * 64 +
                r_q)) * 0.125f) * 8.0f);
        }
    }
}

/* States begin with no key. */
TARGET_v3 APART void polysketch_learned_r64_local_few_begin_2_v3(const struct call *call, int64_t task,
    const struct part *part, int64_t turn)
{
    (void)task;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t r_q0 = turn * 16, r_q1 = min(r_q0 + 16, rows);
    float *const carried = (float *)(void *)(part->shared + 1280256); /* [r_q: 64] */
    float *const carried_compensation = (float *)(void *)(part->shared + 1296896); /* [r_q: 64] */
    float *const carried_2 = (float *)(void *)(part->shared + 1280512); /* [r_q: 64, e: 64] */
    float *const carried_2_compensation = (float *)(void *)(part->shared + 1297152); /* [r_q: 64, e: 64] */
    /* carried = 0.0f; carried_compensation = 0.0f */
    for (int64_t r_q = r_q0; r_q < r_q1; r_q += 8) {
        store_v3(carried + r_q, splat_v3(0.0f));
        store_v3(carried_compensation + r_q, splat_v3(0.0f));
    }
    /* carried_2 = 0.0f; carried_2_compensation = 0.0f */
    for (int64_t r_q = r_q0; r_q < r_q1; r_q++) {
        for (int64_t e_first = 0; e_first < 64; e_first += 16) {
            UNROLL for (int64_t u = 0, e = e_first; u < 2; u++, e += 8) {
                store_v3(carried_2 + r_q * 64 + e, splat_v3(0.0f));
                store_v3(carried_2_compensation + r_q * 64 + e, splat_v3(0.0f));
            }
        }
    }
}

/* The keys of a chunk, summed from zero into its slot. */
TARGET_v3 APART void polysketch_learned_r64_local_few_keys_v3(const struct call *call, int64_t task,
    const struct part *part, int64_t turn)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t n_q = call->p.n_q;
    const int64_t n_k = call->p.n_k;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t chunk = turn;
    const int64_t chunk0 = part->chunk0;
    const int64_t g = task % kv_heads;
    const int64_t b = task / kv_heads;
    const float *const k = call->k + b * call->p.k.batch + g * call->p.k.head;
    const int64_t k_row = call->p.k.row;
    const float *const v = call->v + b * call->p.v.batch + g * call->p.v.head;
    const int64_t v_row = call->p.v.row;
    const float *const sketch_g1_norm0_weight = call->params->sketch_g1_norm0_weight;
    const float *const sketch_g1_norm0_bias = call->params->sketch_g1_norm0_bias;
    const float *const sketch_g1_w0 = call->params->sketch_g1_w0;
    const float *const sketch_g1_w1 = call->params->sketch_g1_w1;
    const float *const sketch_g1_norm1_weight = call->params->sketch_g1_norm1_weight;
    const float *const sketch_g1_norm1_bias = call->params->sketch_g1_norm1_bias;
    const float *const sketch_g1_w2 = call->params->sketch_g1_w2;
    const float *const sketch_g1_w3 = call->params->sketch_g1_w3;
    const float *const sketch_g2_norm0_weight = call->params->sketch_g2_norm0_weight;
    const float *const sketch_g2_norm0_bias = call->params->sketch_g2_norm0_bias;
    const float *const sketch_g2_w0 = call->params->sketch_g2_w0;
    const float *const sketch_g2_w1 = call->params->sketch_g2_w1;
    const float *const sketch_g2_norm1_weight = call->params->sketch_g2_norm1_weight;
    const float *const sketch_g2_norm1_bias = call->params->sketch_g2_norm1_bias;
    const float *const sketch_g2_w2 = call->params->sketch_g2_w2;
    const float *const sketch_g2_w3 = call->params->sketch_g2_w3;
    float *const key = (float *)(void *)(part->work + 0); /* [j: 128] */
    float *const key_3 = (float *)(void *)(part->work + 512); /* [j: 128] */
    float *const query_4 = (float *)(void *)(part->shared + 16896); /* [d: 64, r_q: 64] */
    float *const query_31 = (float *)(void *)(part->shared + 1263872); /* [r: 64, r_q: 64] */
    float *const key_5 = (float *)(void *)(part->work + 0); /* [j: 128] */
    float *const key_6 = (float *)(void *)(part->work + 512); /* [d: 64, j: 128 of 144] */
    float *const key_7 = (float *)(void *)(part->work + 37376); /* [j: 128] */
    float *const key_9 = (float *)(void *)(part->work + 37888); /* [d: 64, j: 128 of 144] */
    float *const key_10 = (float *)(void *)(part->work + 74752); /* [h: 512, j: 128 of 144] */
    float *const key_11 = (float *)(void *)(part->work + 369664); /* [h: 192, j: 128 of 144] */
    float *const key_12 = (float *)(void *)(part->work + 37888); /* [r: 64, j: 128 of 144] */
    float *const key_13 = (float *)(void *)(part->work + 0); /* [j: 128] */
    float *const key_15 = (float *)(void *)(part->work + 74752); /* [j: 128] */
    float *const key_17 = (float *)(void *)(part->work + 74752); /* [h: 512, j: 128 of 144] */
    float *const key_18 = (float *)(void *)(part->work + 369664); /* [h: 192, j: 128 of 144] */
    float *const key_19 = (float *)(void *)(part->work + 37888); /* [r: 64, j: 128 of 144] */
    float *const key_21 = (float *)(void *)(part->work + 74752); /* [h: 512, j: 128 of 144] */
    float *const key_22 = (float *)(void *)(part->work + 369664); /* [h: 192, j: 128 of 144] */
    float *const key_23 = (float *)(void *)(part->work + 0); /* [r: 64, j: 128 of 144] */
    float *const key_24 = (float *)(void *)(part->work + 36864); /* [j: 128] */
    float *const key_26 = (float *)(void *)(part->work + 37376); /* [j: 128] */
    float *const key_28 = (float *)(void *)(part->work + 74752); /* [h: 512, j: 128 of 144] */
    float *const key_29 = (float *)(void *)(part->work + 369664); /* [h: 192, j: 128 of 144] */
    float *const key_30 = (float *)(void *)(part->work + 0); /* [r: 64, j: 128 of 144] */
    float *const score = (float *)(void *)(part->work + 0); /* [r_q: 64, j: 128 of 144] */
    float *const score_2 = (float *)(void *)(part->work + 36864); /* [r_q: 64, j: 128 of 144] */
    float *const state = (float *)(void *)(part->slots + 0); /* [chunk, r_q: 64] */
    float *const state_2 = (float *)(void *)(part->slots + 256); /* [chunk, r_q: 64, e: 64] */
    float *const k_tile = (float *)(void *)(part->work + 480256); /* [d: 64, j: 128 of 144] */
    /* state = 0.0f */
    for (int64_t r_q = 0; r_q < rows; r_q += 8) {
        store_v3(state + (chunk - chunk0) * 4160 + r_q, splat_v3(0.0f));
    }
    /* state_2 = 0.0f */
    for (int64_t r_q = 0; r_q < rows; r_q++) {
        for (int64_t e_first = 0; e_first < 64; e_first += 16) {
            UNROLL for (int64_t u = 0, e = e_first; u < 2; u++, e += 8) {
                store_v3(state_2 + (chunk - chunk0) * 4160 + r_q * 64 + e, splat_v3(0.0f));
            }
        }
    }
    for (int64_t j0 = chunk * 1024, j_end = min(min(n_k, (chunk + 1) * 1024), n_q + n_k - n_q); j0 < j_end; j0 += 128) {
        const int64_t j1 = min(j0 + 128, j_end);
        /* k_tile = k, with zeros beyond the last row */
        transpose_v3(k + j0 * k_row, k_row, j1 - j0, 64, k_tile, 144);
        for (int64_t j = j1 - j0; j < round_up(j1 - j0, 8); j++)
            for (int64_t d = 0; d < 64; d++) k_tile[d * 144 + j] = 0;
        /* key = 0.0f */
        for (int64_t j = 0; j < j1 - j0; j += 8) {
            store_v3(key + j, splat_v3(0.0f));
        }
        /* key += k_tile */
        for (int64_t j_first = 0; j_first < j1 - j0; j_first += 16) {
            vec_v3 key_in[2];
            UNROLL for (int64_t u = 0, j = j_first; u < 2; u++, j += 8) {
                key_in[u] = (vec_v3){0};
            }
            for (int64_t d = 0; d < 64; d++) {
                UNROLL for (int64_t u = 0, j = j_first; u < 2; u++, j += 8) {
                    key_in[u] += load_v3(k_tile + d * 144 + j);
                }
            }
            UNROLL for (int64_t u = 0, j = j_first; u < 2; u++, j += 8) {
                store_v3(key + j, load_v3(key + j) + key_in[u]);
            }
        }
        /* key_3 = 0.0f */
        for (int64_t j = 0; j < j1 - j0; j += 8) {
            store_v3(key_3 + j, splat_v3(0.0f));
        }
        /* k_tile = k_tile - (key * 0.015625f); key_3 += k_tile * k_tile */
        for (int64_t j = 0; j < j1 - j0; j += 8) {
            const vec_v3 t_19 = load_v3(key + j) * 0.015625f;
            vec_v3 key_3_in = (vec_v3){0};
            for (int64_t d = 0; d < 64; d++) {
                const vec_v3 k_tile_18 = load_v3(k_tile + d * 144 + j);
                const vec_v3 k_tile_new20 = k_tile_18 - t_19;
                store_v3(k_tile + d * 144 + j, k_tile_new20);
                key_3_in += k_tile_new20 * k_tile_new20;
            }
            store_v3(key_3 + j, load_v3(key_3 + j) + key_3_in);
        }
        /* key_5 = 0.0f */
        for (int64_t j = 0; j < j1 - j0; j += 8) {
            store_v3(key_5 + j, splat_v3(0.0f));
        }
        /* k_tile = k_tile * (1.0f / sqrt((key_3 * 0.015625f) + 1e-05f)); key_5 += k_tile */
        for (int64_t j = 0; j < j1 - j0; j += 8) {
            const vec_v3 t_22 = 1.0f / sqrt_v3((load_v3(key_3 + j) * 0.015625f) + 1e-05f);
            vec_v3 key_5_in = (vec_v3){0};
            for (int64_t d = 0; d < 64; d++) {
                const vec_v3 k_tile_21 = load_v3(k_tile + d * 144 + j);
                const vec_v3 k_tile_new23 = k_tile_21 * t_22;
                store_v3(k_tile + d * 144 + j, k_tile_new23);
                key_5_in += k_tile_new23;
            }
            store_v3(key_5 + j, load_v3(key_5 + j) + key_5_in);
        }
        /* key_7 = 0.0f */
        for (int64_t j = 0; j < j1 - j0; j += 8) {
            store_v3(key_7 + j, splat_v3(0.0f));
        }
        /* key_6 = k_tile - (key_5 * 0.015625f); key_7 += key_6 * key_6 */
        for (int64_t j = 0; j < j1 - j0; j += 8) {
            const vec_v3 t_24 = load_v3(key_5 + j) * 0.015625f;
            vec_v3 key_7_in = (vec_v3){0};
            for (int64_t d = 0; d < 64; d++) {
                const vec_v3 key_6_new25 = load_v3(k_tile + d * 144 + j) - t_24;
                store_v3(key_6 + d * 144 + j, key_6_new25);
                key_7_in += key_6_new25 * key_6_new25;
            }
            store_v3(key_7 + j, load_v3(key_7 + j) + key_7_in);
        }
        /* key_7 = 1.0f / sqrt((key_7 * 0.015625f) + 1e-05f) */
        for (int64_t j = 0; j < j1 - j0; j += 8) {
            store_v3(key_7 + j, 1.0f / sqrt_v3((load_v3(key_7 + j) * 0.015625f) + 1e-05f));
        }
        /* key_9 = ((key_6 * key_7) * sketch.g1.norm0.weight) + sketch.g1.norm0.bias */
        for (int64_t j = 0; j < j1 - j0; j += 8) {
            const vec_v3 key_7_26 = load_v3(key_7 + j);
            for (int64_t d = 0; d < 64; d++) {
                store_v3(key_9 + d * 144 + j, ((load_v3(key_6 + d * 144 + j) * key_7_26) * sketch_g1_norm0_weight[d]) +
                    sketch_g1_norm0_bias[d]);
            }
        }
        /* key_10[h][j] = sum over d of sketch_g1_w0 * key_9 */
        dot14_v3(round_up(j1 - j0, 16), sketch_g1_w0, key_9, key_10);
        /* key_12 = 0.0f */
        for (int64_t j_first = 0; j_first < j1 - j0; j_first += 16) {
            for (int64_t r = 0; r < 64; r++) {
                UNROLL for (int64_t u = 0, j = j_first; u < 2; u++, j += 8) {
                    store_v3(key_12 + r * 144 + j, splat_v3(0.0f));
                }
            }
        }
        for (int64_t h0 = 0, h_end = 512; h0 < h_end; h0 += 192) {
            const int64_t h1 = min(h0 + 192, h_end);
            /* key_11 = (key_10 * 0.5f) * (tanh((key_10 + (((key_10 * key_10) * key_10) * 0.044715f)) * 0.7978846f) +
               1.0f) */
            for (int64_t j = 0; j < j1 - j0; j += 8) {
                for (int64_t h = h0; h < h1; h++) {
                    const vec_v3 key_10_27 = load_v3(key_10 + h * 144 + j);
                    store_v3(key_11 + (h - h0) * 144 + j, (key_10_27 * 0.5f) * (tanh_v3((key_10_27 + (((key_10_27 *
                        key_10_27) * key_10_27) * 0.044715f)) * 0.7978846f) + 1.0f));
                }
            }
            /* key_12[r][j] += sum over h of sketch_g1_w1 * key_11 */
            dot15_v3(round_up(j1 - j0, 16), h1 - h0, sketch_g1_w1 + h0 * 64, key_11, key_12);
        }
        /* key_13 = 0.0f */
        for (int64_t j = 0; j < j1 - j0; j += 8) {
            store_v3(key_13 + j, splat_v3(0.0f));
        }
        /* key_13 += key_12 */
        for (int64_t j_first = 0; j_first < j1 - j0; j_first += 16) {
            vec_v3 key_13_in[2];
            UNROLL for (int64_t u = 0, j = j_first; u < 2; u++, j += 8) {
                key_13_in[u] = (vec_v3){0};
            }
            for (int64_t r = 0; r < 64; r++) {
                UNROLL for (int64_t u = 0, j = j_first; u < 2; u++, j += 8) {
                    key_13_in[u] += load_v3(key_12 + r * 144 + j);
                }
            }
            UNROLL for (int64_t u = 0, j = j_first; u < 2; u++, j += 8) {
                store_v3(key_13 + j, load_v3(key_13 + j) + key_13_in[u]);
            }
        }
        /* key_15 = 0.0f */
        for (int64_t j = 0; j < j1 - j0; j += 8) {
            store_v3(key_15 + j, splat_v3(0.0f));
        }
        /* key_12 = key_12 - (key_13 * 0.015625f); key_15 += key_12 * key_12 */
        for (int64_t j = 0; j < j1 - j0; j += 8) {
            const vec_v3 t_29 = load_v3(key_13 + j) * 0.015625f;
            vec_v3 key_15_in = (vec_v3){0};
            for (int64_t r = 0; r < 64; r++) {
                const vec_v3 key_12_28 = load_v3(key_12 + r * 144 + j);
                const vec_v3 key_12_new30 = key_12_28 - t_29;
                store_v3(key_12 + r * 144 + j, key_12_new30);
                key_15_in += key_12_new30 * key_12_new30;
            }
            store_v3(key_15 + j, load_v3(key_15 + j) + key_15_in);
        }
        /* key_12 = ((key_12 * (1.0f / sqrt((key_15 * 0.015625f) + 1e-05f))) * sketch.g1.norm1.weight) +
           sketch.g1.norm1.bias */
        for (int64_t j = 0; j < j1 - j0; j += 8) {
            const vec_v3 t_31 = 1.0f / sqrt_v3((load_v3(key_15 + j) * 0.015625f) + 1e-05f);
            for (int64_t r = 0; r < 64; r++) {
                store_v3(key_12 + r * 144 + j, ((load_v3(key_12 + r * 144 + j) * t_31) * sketch_g1_norm1_weight[r]) +
                    sketch_g1_norm1_bias[r]);
            }
        }
        /* key_17[h][j] = sum over r of sketch_g1_w2 * key_12 */
        dot14_v3(round_up(j1 - j0, 16), sketch_g1_w2, key_12, key_17);
        /* key_19 = 0.0f */
        for (int64_t j_first = 0; j_first < j1 - j0; j_first += 16) {
            for (int64_t r = 0; r < 64; r++) {
                UNROLL for (int64_t u = 0, j = j_first; u < 2; u++, j += 8) {
                    store_v3(key_19 + r * 144 + j, splat_v3(0.0f));
                }
            }
        }
        {
            for (int64_t h0 = 0, h_end = 512; h0 < h_end; h0 += 192) {
                const int64_t h1 = min(h0 + 192, h_end);
                /* key_18 = (key_17 * 0.5f) * (tanh((key_17 + (((key_17 * key_17) * key_17) * 0.044715f)) * 0.7978846f)
                   + 1.0f) */
                for (int64_t j = 0; j < j1 - j0; j += 8) {
                    for (int64_t h = h0; h < h1; h++) {
                        const vec_v3 key_17_32 = load_v3(key_17 + h * 144 + j);
                        store_v3(key_18 + (h - h0) * 144 + j, (key_17_32 * 0.5f) * (tanh_v3((key_17_32 + (((key_17_32 *
                            key_17_32) * key_17_32) * 0.044715f)) * 0.7978846f) + 1.0f));
                    }
                }
                /* key_19[r][j] += sum over h of sketch_g1_w3 * key_18 */
                dot15_v3(round_up(j1 - j0, 16), h1 - h0, sketch_g1_w3 + h0 * 64, key_18, key_19);
            }
        }
        /* key_6 = ((key_6 * key_7) * sketch.g2.norm0.weight) + sketch.g2.norm0.bias */
        for (int64_t j = 0; j < j1 - j0; j += 8) {
            const vec_v3 key_7_33 = load_v3(key_7 + j);
            for (int64_t d = 0; d < 64; d++) {
                store_v3(key_6 + d * 144 + j, ((load_v3(key_6 + d * 144 + j) * key_7_33) * sketch_g2_norm0_weight[d]) +
                    sketch_g2_norm0_bias[d]);
            }
        }
        /* key_21[h][j] = sum over d of sketch_g2_w0 * key_6 */
        dot14_v3(round_up(j1 - j0, 16), sketch_g2_w0, key_6, key_21);
        /* key_23 = 0.0f */
        for (int64_t j_first = 0; j_first < j1 - j0; j_first += 16) {
            for (int64_t r = 0; r < 64; r++) {
                UNROLL for (int64_t u = 0, j = j_first; u < 2; u++, j += 8) {
                    store_v3(key_23 + r * 144 + j, splat_v3(0.0f));
                }
            }
        }
        {
            for (int64_t h0 = 0, h_end = 512; h0 < h_end; h0 += 192) {
                const int64_t h1 = min(h0 + 192, h_end);
                /* key_22 = (key_21 * 0.5f) * (tanh((key_21 + (((key_21 * key_21) * key_21) * 0.044715f)) * 0.7978846f)
                   + 1.0f) */
                for (int64_t j = 0; j < j1 - j0; j += 8) {
                    for (int64_t h = h0; h < h1; h++) {
                        const vec_v3 key_21_34 = load_v3(key_21 + h * 144 + j);
                        store_v3(key_22 + (h - h0) * 144 + j, (key_21_34 * 0.5f) * (tanh_v3((key_21_34 + (((key_21_34 *
                            key_21_34) * key_21_34) * 0.044715f)) * 0.7978846f) + 1.0f));
                    }
                }
                /* key_23[r][j] += sum over h of sketch_g2_w1 * key_22 */
                dot15_v3(round_up(j1 - j0, 16), h1 - h0, sketch_g2_w1 + h0 * 64, key_22, key_23);
            }
        }
        /* key_24 = 0.0f */
        for (int64_t j = 0; j < j1 - j0; j += 8) {
            store_v3(key_24 + j, splat_v3(0.0f));
        }
        /* key_24 += key_23 */
        for (int64_t j_first = 0; j_first < j1 - j0; j_first += 16) {
            vec_v3 key_24_in[2];
            UNROLL for (int64_t u = 0, j = j_first; u < 2; u++, j += 8) {
                key_24_in[u] = (vec_v3){0};
            }
            for (int64_t r = 0; r < 64; r++) {
                UNROLL for (int64_t u = 0, j = j_first; u < 2; u++, j += 8) {
                    key_24_in[u] += load_v3(key_23 + r * 144 + j);
                }
            }
            UNROLL for (int64_t u = 0, j = j_first; u < 2; u++, j += 8) {
                store_v3(key_24 + j, load_v3(key_24 + j) + key_24_in[u]);
            }
        }
        /* key_26 = 0.0f */
        for (int64_t j = 0; j < j1 - j0; j += 8) {
            store_v3(key_26 + j, splat_v3(0.0f));
        }
        /* key_23 = key_23 - (key_24 * 0.015625f); key_26 += key_23 * key_23 */
        for (int64_t j = 0; j < j1 - j0; j += 8) {
            const vec_v3 t_36 = load_v3(key_24 + j) * 0.015625f;
            vec_v3 key_26_in = (vec_v3){0};
            for (int64_t r = 0; r < 64; r++) {
                const vec_v3 key_23_35 = load_v3(key_23 + r * 144 + j);
                const vec_v3 key_23_new37 = key_23_35 - t_36;
                store_v3(key_23 + r * 144 + j, key_23_new37);
                key_26_in += key_23_new37 * key_23_new37;
            }
            store_v3(key_26 + j, load_v3(key_26 + j) + key_26_in);
        }
        /* key_23 = ((key_23 * (1.0f / sqrt((key_26 * 0.015625f) + 1e-05f))) * sketch.g2.norm1.weight) +
           sketch.g2.norm1.bias */
        for (int64_t j = 0; j < j1 - j0; j += 8) {
            const vec_v3 t_38 = 1.0f / sqrt_v3((load_v3(key_26 + j) * 0.015625f) + 1e-05f);
            for (int64_t r = 0; r < 64; r++) {
                store_v3(key_23 + r * 144 + j, ((load_v3(key_23 + r * 144 + j) * t_38) * sketch_g2_norm1_weight[r]) +
                    sketch_g2_norm1_bias[r]);
            }
        }
        /* key_28[h][j] = sum over r of sketch_g2_w2 * key_23 */
        dot14_v3(round_up(j1 - j0, 16), sketch_g2_w2, key_23, key_28);
        /* key_30 = 0.0f */
        for (int64_t j_first = 0; j_first < j1 - j0; j_first += 16) {
            for (int64_t r = 0; r < 64; r++) {
                UNROLL for (int64_t u = 0, j = j_first; u < 2; u++, j += 8) {
                    store_v3(key_30 + r * 144 + j, splat_v3(0.0f));
                }
            }
        }
        {
            for (int64_t h0 = 0, h_end = 512; h0 < h_end; h0 += 192) {
                const int64_t h1 = min(h0 + 192, h_end);
                /* key_29 = (key_28 * 0.5f) * (tanh((key_28 + (((key_28 * key_28) * key_28) * 0.044715f)) * 0.7978846f)
                   + 1.0f) */
                for (int64_t j = 0; j < j1 - j0; j += 8) {
                    for (int64_t h = h0; h < h1; h++) {
                        const vec_v3 key_28_39 = load_v3(key_28 + h * 144 + j);
                        store_v3(key_29 + (h - h0) * 144 + j, (key_28_39 * 0.5f) * (tanh_v3((key_28_39 + (((key_28_39 *
                            key_28_39) * key_28_39) * 0.044715f)) * 0.7978846f) + 1.0f));
                    }
                }
                /* key_30[r][j] += sum over h of sketch_g2_w3 * key_29 */
                dot15_v3(round_up(j1 - j0, 16), h1 - h0, sketch_g2_w3 + h0 * 64, key_29, key_30);
            }
        }
        /* key_19 = tanh((key_19 * key_30) * 0.125f) * 8.0f */
        for (int64_t j = 0; j < j1 - j0; j += 8) {
            for (int64_t r = 0; r < 64; r++) {
                store_v3(key_19 + r * 144 + j, tanh_v3((load_v3(key_19 + r * 144 + j) * load_v3(key_30 + r * 144 + j)) *
                    0.125f) * 8.0f);
            }
        }
        /* score[r_q][j] = sum over r of query_31 * key_19 */
        dot16_v3(round_up(j1 - j0, 16), rows, query_31, key_19, score);
        /* score_2[r_q][j] = sum over d of query_4 * k_tile */
        dot16_v3(round_up(j1 - j0, 16), rows, query_4, k_tile, score_2);
        /* score = select(((((r_q % n_q) + (n_k - n_q)) - floormod((r_q % n_q) + (n_k - n_q),
           256)) / 256) == ((j - floormod(j, 256)) / 256 ... */
        for (int64_t j = 0; j < j1 - j0; j += 8) {
            const ints_v3 t_40 = j0 + j + lane_v3;
            const ints_v3 r41 = t_40 % 256;
            const ints_v3 t_42 = (t_40 - (r41 + (((r41 != 0) & ((r41 < 0) != (256 < 0))) & 256))) / 256;
            for (int64_t r_q = 0; r_q < rows; r_q++) {
                const vec_v3 score_2_43 = load_v3(score_2 + r_q * 144 + j);
                const vec_v3 t_44 = score_2_43 * score_2_43;
                const vec_v3 score_45 = load_v3(score + r_q * 144 + j);
                store_v3(score + r_q * 144 + j, pick_v3(__builtin_convertvector((((r_q % n_q) + n_k - n_q -
                    floor_mod((r_q % n_q) + n_k - n_q, 256)) / 256) == t_42, mask_v3), t_44 * t_44,
                    score_45 * score_45));
            }
        }
        if ((n_k - n_q + 1) < j1) { /* the tile is not wholly inside the mask */
            /* score = select(j <= ((r_q % n_q) + (n_k - n_q)), score, 0.0f) */
            for (int64_t j = 0; j < j1 - j0; j += 8) {
                const ints_v3 t_46 = j0 + j + lane_v3;
                for (int64_t r_q = 0; r_q < rows; r_q++) {
                    store_v3(score + r_q * 144 + j, pick_v3(__builtin_convertvector(t_46 <= ((r_q % n_q) + n_k - n_q),
                        mask_v3), load_v3(score + r_q * 144 + j), splat_v3(0.0f)));
                }
            }
        }
        /* state += score */
        for (int64_t r_q = 0; r_q < rows; r_q++) {
            vec_v3 lane_sums = splat_v3(0);
            for (int64_t j = 0; j < j1 - j0; j += 8) {
                const vec_v3 term = load_v3(score + r_q * 144 + j);
                lane_sums += j + 8 <= j1 - j0 ? term : pick_v3(__builtin_convertvector(j + lane_v3 < j1 - j0, mask_v3),
                    term, splat_v3(0));
            }
            const float total = lane_sum_v3(lane_sums);
            state[(chunk - chunk0) * 4160 + r_q] += total;
        }
        /* state_2[r_q][e] += sum over j of score * v */
        if (__builtin_expect(((n_k - n_q + 1) < j1) && !finite_v3(v + j0 * v_row, v_row, j1 - j0, 64),
            0)) { /* infinity and NaN reach only what sees them */
            dot17_v3(rows, j1 - j0, score, v + j0 * v_row, v_row, state_2 + (chunk - chunk0) * 4160);
            for (int64_t r_q = 0; r_q < rows; r_q++) {
                mask_v3 seen[16];
                const int64_t t_47 = (r_q % n_q) + n_k - n_q;
                for (int64_t j = 0; j < j1 - j0; j += 8) {
                    seen[j / 8] = __builtin_convertvector((j0 + j + lane_v3) <= t_47, mask_v3);
                }
                add_seen_lanes_v3(64, state_2 + (chunk - chunk0) * 4160 + r_q * 64, score + r_q * 144, v + j0 * v_row,
                    v_row, j1 - j0, seen);
            }
        } else
            dot18_v3(rows, j1 - j0, score, v + j0 * v_row, v_row, state_2 + (chunk - chunk0) * 4160);
    }
}

/* Some elements of the states take in the chunks at hand, one after the other. */
TARGET_v3 APART void polysketch_learned_r64_local_few_fold_v3(const struct call *call, int64_t task,
    const struct part *part, int64_t turn)
{
    (void)task;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t r_q0 = turn * 16, r_q1 = min(r_q0 + 16, rows);
    const int64_t chunk0 = part->chunk0;
    const int64_t chunk1 = part->chunk1;
    float *const state = (float *)(void *)(part->slots + 0); /* [chunk, r_q: 64] */
    float *const state_2 = (float *)(void *)(part->slots + 256); /* [chunk, r_q: 64, e: 64] */
    float *const carried = (float *)(void *)(part->shared + 1280256); /* [r_q: 64] */
    float *const carried_compensation = (float *)(void *)(part->shared + 1296896); /* [r_q: 64] */
    float *const carried_2 = (float *)(void *)(part->shared + 1280512); /* [r_q: 64, e: 64] */
    float *const carried_2_compensation = (float *)(void *)(part->shared + 1297152); /* [r_q: 64, e: 64] */
    for (int64_t chunk = chunk0; chunk < chunk1; chunk++) {
        /* before = carried; carried += state */
        for (int64_t r_q = r_q0; r_q < r_q1; r_q += 8) {
            add_v3(carried + r_q, carried_compensation + r_q, load_v3(state + (chunk - chunk0) * 4160 + r_q),
                splat_v3(1));
        }
        /* before_2 = carried_2; carried_2 += state_2 */
        for (int64_t r_q = r_q0; r_q < r_q1; r_q++) {
            for (int64_t e_first = 0; e_first < 64; e_first += 16) {
                UNROLL for (int64_t u = 0, e = e_first; u < 2; u++, e += 8) {
                    add_v3(carried_2 + r_q * 64 + e, carried_2_compensation + r_q * 64 + e,
                        load_v3(state_2 + (chunk - chunk0) * 4160 + r_q * 64 + e), splat_v3(1));
                }
            }
        }
    }
}

/* A tile of queries meets the states. */
TARGET_v3 APART void polysketch_learned_r64_local_few_queries_v3(const struct call *call, int64_t task,
    const struct part *part, int64_t turn)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_q = call->p.n_q;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t r_q0 = turn * 16, r_q1 = min(r_q0 + 16, rows);
    const int64_t g = task % kv_heads;
    const int64_t b = task / kv_heads;
    float *const carried = (float *)(void *)(part->shared + 1280256); /* [r_q: 64] */
    float *const carried_2 = (float *)(void *)(part->shared + 1280512); /* [r_q: 64, e: 64] */
    float *const result = (float *)(void *)(part->work + 0); /* [r_q: 64, e: 64] */
    float *const out = call->out + b * call->p.out.batch + g * members * call->p.out.head;
    const int64_t out_row = call->p.out.row;
    const int64_t out_head = call->p.out.head;
    /* result = select((carried + 1.0f) == 0.0f, 0.0f, carried_2 / (carried + 1.0f)) */
    for (int64_t r_q = r_q0; r_q < r_q1; r_q++) {
        for (int64_t e_first = 0; e_first < 64; e_first += 16) {
            UNROLL for (int64_t u = 0, e = e_first; u < 2; u++, e += 8) {
                const float t_48 = carried[r_q] + 1.0f;
                store_v3(result + r_q * 64 + e, (t_48 == 0.0f) ? splat_v3(0.0f) : load_v3(carried_2 + r_q * 64 + e) /
                    t_48);
            }
        }
    }
    /* out = result */
    for (int64_t e = 0; e < 64; e++)
        for (int64_t r_q = r_q0; r_q < r_q1; r_q++)
            out[r_q / n_q * out_head + r_q % n_q * out_row + e] = result[r_q * 64 + e];
}

/* All of a head: every thread whose part this is calls it. */
TARGET_v3 static void polysketch_learned_r64_local_few_v3(const struct call *call, int64_t task, struct part *part)
{
    const int64_t n_k = call->p.n_k;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t chunks = n_k > 0 ? (n_k - 1) / 1024 + 1 : 1;
    for (int64_t turn = part->number; turn < ((rows + 63) / 64);
        turn += part->threads) polysketch_learned_r64_local_few_begin_v3(call, task, part, turn);
    for (int64_t turn = part->number; turn < ((rows + 15) / 16);
        turn += part->threads) polysketch_learned_r64_local_few_begin_2_v3(call, task, part, turn);
    meet(part);
    const int64_t first = 0;
    const int64_t length = segment_length(part, chunks - first);
    for (int64_t segment = part->number; first + segment * length < chunks; segment += part->threads) {
        part->chunk0 = first + segment * length;
        part->chunk1 = min(part->chunk0 + length, chunks);
        for (int64_t turn = part->chunk0; turn < part->chunk1; turn++) polysketch_learned_r64_local_few_keys_v3(call,
            task, part, turn);
        for (int64_t group = 0; group < 16; group++) {
            await_segment(part, group, segment);
            for (int64_t turn = group * ((rows + 15) / 16) / 16; turn < (group + 1) * ((rows + 15) / 16) / 16; turn++)
                polysketch_learned_r64_local_few_fold_v3(call, task, part, turn);
            pass_segment(part, group, segment);
        }
    }
    part->segments += (max(chunks - first, 0) + length - 1) / length;
    meet(part);
    for (int64_t turn = part->number; turn < ((rows + 15) / 16);
        turn += part->threads) polysketch_learned_r64_local_few_queries_v3(call, task, part, turn);
    meet(part);
}
#endif

/* ==== generic ==== */

/* 4 elements in a register; mask_any compares them, ints_any are positions, wide_any is for what needs double. */
typedef float vec_any __attribute__((vector_size(16)));
typedef float stored_any __attribute__((vector_size(16), aligned(sizeof(float)), may_alias)); /* in memory, anywhere */
typedef int32_t mask_any __attribute__((vector_size(16)));
typedef int64_t ints_any __attribute__((vector_size(32)));
INLINE vec_any load_any(const float *p) { return *(const stored_any *)(const void *)p; }
INLINE void store_any(float *p, vec_any x) { *(stored_any *)(void *)p = x; }
INLINE vec_any splat_any(float x) { return x - (vec_any){0}; }

/* a where the mask is set, else b */
INLINE vec_any pick_any(mask_any m, vec_any a, vec_any b) { return (vec_any)((m & (mask_any)a) | (~m & (mask_any)b)); }

static const ints_any lane_any = {0, 1, 2, 3};

/* tanh, within 4 ulp: m / (m + 2) with m = e^(2|x|) - 1 = 2^n (e^r - 1) + (2^n - 1), which does not cancel near 0 */
INLINE vec_any tanh_any(vec_any x)
{
    const mask_any sign = (mask_any)x & ~0x7fffffff;
    vec_any y = (vec_any)((mask_any)x & 0x7fffffff) * 2.0f;
    y = pick_any((mask_any)(y > 20.0f), splat_any(20.0f), y);
    const vec_any t = y * 1.4426950408889634f + 12582912.0f, n = t - 12582912.0f;
    const vec_any r = (y - n * 0.693145751953125f) - n * 1.4286068203094172e-06f;
    vec_any p = r * 0.0013926184f + 0.0083631791f;
    p = p * r + 0.041666555f;
    p = p * r + 0.16666577f;
    p = p * r + 0.5f;
    p = p * (r * r) + r;
    const vec_any scale = (vec_any)(((mask_any)t + 127) << 23);
    const vec_any m = scale * p + (scale - 1.0f);
    return (vec_any)((mask_any)(m / (m + 2.0f)) | sign);
}

INLINE vec_any sqrt_any(vec_any x)
{
    vec_any y = x;
    for (int k = 0; k < 4; k++) y[k] = sqrtf(x[k]);
    return y;
}

/* The sum over the lanes. */
INLINE float lane_sum_any(vec_any x)
{
    x += __builtin_shufflevector(x, x, 2, 3, 0, 1);
    x += __builtin_shufflevector(x, x, 1, 0, 3, 2);
    return x[0];
}

/* Transposes 4 vectors: the bits of row and column numbers are swapped one by one, as rows exchange the elements
   that are not yet on their side. */
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

/* to[y][x] = from[x][y], in squares, so that every cache line is written whole; rows are fetched 64 rows early. */
APART void transpose_any(const float *from, int64_t from_row, int64_t rows, int64_t columns, float *to,
    int64_t to_row)
{
    const int64_t whole = rows - rows % 4, deep = columns - columns % 4;
    for (int64_t k = 0; k < whole / 4 * (deep / 4); k++) {
        const int64_t row = k / (deep / 4) * 4, column = k % (deep / 4) * 4;
        vec_any t[4];
        UNROLL for (int r = 0; r < 4; r++) __builtin_prefetch(from + (row + r + 64) * from_row + column, 0, 2);
        UNROLL for (int r = 0; r < 4; r++) t[r] = load_any(from + (row + r) * from_row + column);
        exchange_any(t);
        UNROLL for (int r = 0; r < 4; r++) store_any(to + (column + r) * to_row + row, t[r]);
    }
    for (int64_t row = 0; row < rows; row++)
        for (int64_t column = row < whole ? deep : 0; column < columns; column++)
            to[column * to_row + row] = from[row * from_row + column];
}
/* *sum becomes *sum * factor + x; *compensation carries what rounding leaves over to the next addition (Kahan). */
INLINE void add_any(float *sum, float *compensation, vec_any x, vec_any factor)
{
    const vec_any old = load_any(sum) * factor, more = load_any(compensation) * factor + x, new = old + more;
    store_any(compensation, more - (new - old));
    store_any(sum, new);
}

typedef uint32_t bits_any __attribute__((vector_size(16), aligned(sizeof(float)), may_alias));
typedef uint32_t bit_any __attribute__((may_alias));

/* Whether none of these numbers is infinite or NaN: bits of the exponent that are all set carry into the sign. */
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

/* For each row r < rows: if values[r * step] is infinite or NaN, adds values[r * step] * weights to row r of the sums,
   in the lanes that see it. */
APART void add_seen_any(int64_t rows, float *sum, int64_t sum_row, const float *values, int64_t step,
    const float *weights, const mask_any *seen, int64_t lanes)
{
    for (int64_t r = 0; r < rows; r++, sum += sum_row, values += step)
        for (int64_t x = 0; x < lanes && !finite_any(values, 0, 1, 1); x += 4)
            store_any(sum + x, pick_any(seen[x / 4], load_any(sum + x) + *values * load_any(weights + x),
                load_any(sum + x)));
}

/* For each step t that the lanes see: adds weights[t] * values[t][x] to sum[x] where values[t][x] is infinite or NaN.
   */
APART void add_seen_lanes_any(int64_t lanes, float *sum, const float *weights, const float *values, int64_t value_row,
    int64_t steps, const mask_any *seen)
{
    for (int64_t t = 0; t < steps; t++, values += value_row)
        for (int64_t x = 0; x < lanes && seen[t / 4][t % 4]; x++)
            if (!finite_any(values + x, 0, 1, 1)) sum[x] += weights[t] * values[x];
}

/* c[r][x] = sum over t of a[r][t] * b[t][x] for up to 6 rows and `vectors` vectors of x, the sums in registers;
   `then` says what becomes of c: 0 the sum, 1 c + sum, 2 c * factor[x] + sum, 3 the same with a compensation.
   `early`, where it is there: how many rows ahead a row of b is asked for at each step, or 0: none is.
   Not all at once, for a core can have only a few lines under way. */
INLINE void block_any(const int rows, const int vectors, int64_t steps, const float *a, int64_t a_row, int64_t a_step,
    const float *b, int64_t b_step, float *c, int64_t c_row, const int then,
    const float *factor, float *compensation)
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
    UNROLL for (int v = 0; v < vectors; v++) {
        const vec_any times = then >= 2 && factor ? load_any(factor + v * 4) : splat_any(1);
        UNROLL for (int r = 0; r < rows; r++) {
            float *const to = c + r * c_row + v * 4;
            if (then == 3) {
                add_any(to, compensation + r * c_row + v * 4, sum[r][v], times);
                continue;
            }
            store_any(to, then == 0 ? sum[r][v] : then == 1 ? load_any(to) + sum[r][v] : load_any(to) * times +
                sum[r][v]);
        }
    }
}

/* Asks for rows of `width` numbers ahead of their use. */
INLINE void fetch_any(int64_t rows, const int64_t width, const float *b, int64_t b_row)
{
    for (int64_t r = 0; r < rows; r++)
        UNROLL for (int64_t x = 0; x < width; x += 64 / (int64_t)sizeof *b)
            __builtin_prefetch(b + r * b_row + x, 0, 2);
}

/* The same; where it sets the sum, more than 2 * `part` terms are summed in parts of `part`: rounding grows with the
   length of one. */
INLINE void parts_any(const int rows, const int vectors, int64_t steps, const int64_t part, const float *a,
    int64_t a_row, int64_t a_step, const float *b, int64_t b_step, float *c, int64_t c_row, const int then,
    const float *factor, float *compensation)
{
    const int64_t first = then == 0 && steps > 2 * part ? part : steps;
    block_any(rows, vectors, first, a, a_row, a_step, b, b_step, c, c_row, then,
        factor, compensation);
    if (then == 0)
        for (int64_t t = first; t < steps; t += part)
            block_any(rows, vectors, min(part, steps - t), a + t * a_step, a_row, a_step, b + t * b_step, b_step, c,
                c_row, 1, NULL, NULL);
}

/* The same for any number of rows and `lanes` lanes, a multiple of `vectors` vectors; `odd`: rows % 6 if that is
   constant, else -1. */
INLINE void dot_any(const int vectors, const int64_t lanes, int64_t rows, const int odd, int64_t steps,
    const int64_t part, const float *a, int64_t a_row, int64_t a_step, const float *b, int64_t b_step, float *c,
        int64_t c_row,
    const int then, const float *factor, float *compensation)
{
    for (int64_t x = 0; x < lanes; x += vectors * 4) {
        const float *const f = factor ? factor + x : NULL;
        float *const left = compensation ? compensation + x : NULL;
        int64_t r = 0;
        for (; r + 6 <= rows; r += 6)
            parts_any(6, vectors, steps, part, a + r * a_row, a_row, a_step, b + x, b_step,
                c + r * c_row + x, c_row, then, f, left ? left + r * c_row : NULL);
        switch (odd >= 0 ? odd : rows - r) {
        case 5: parts_any(5, vectors, steps, part, a + r * a_row, a_row, a_step, b + x, b_step, c + r * c_row + x,
            c_row, then, f, left ? left + r * c_row : NULL); break;
        case 4: parts_any(4, vectors, steps, part, a + r * a_row, a_row, a_step, b + x, b_step, c + r * c_row + x,
            c_row, then, f, left ? left + r * c_row : NULL); break;
        case 3: parts_any(3, vectors, steps, part, a + r * a_row, a_row, a_step, b + x, b_step, c + r * c_row + x,
            c_row, then, f, left ? left + r * c_row : NULL); break;
        case 2: parts_any(2, vectors, steps, part, a + r * a_row, a_row, a_step, b + x, b_step, c + r * c_row + x,
            c_row, then, f, left ? left + r * c_row : NULL); break;
        case 1: parts_any(1, vectors, steps, part, a + r * a_row, a_row, a_step, b + x, b_step, c + r * c_row + x,
            c_row, then, f, left ? left + r * c_row : NULL); break;
        }
    }
}

/* c[x] += sum over t of a[t] * b[t][x] for up to 8 vectors of x. */
INLINE void row_any(const int vectors, int64_t steps, const float *a, int64_t a_step, const float *b,
    int64_t b_step, float *c)
{
    vec_any sum[8];
    UNROLL for (int v = 0; v < vectors; v++) sum[v] = (vec_any){0};
    for (int64_t t = 0; t < steps; t++, b += b_step)
        UNROLL for (int v = 0; v < vectors; v++) sum[v] += a[t * a_step] * load_any(b + v * 4);
    UNROLL for (int v = 0; v < vectors; v++) store_any(c + v * 4, load_any(c + v * 4) + sum[v]);
}

/* c += the same sum, where b comes from memory: it is asked for early, as in dot_along_any, and widened, some rows at a
   time. A single row takes 32 lanes at once, and so reads b in the order in which it lies. */
INLINE void dot_fetched_any(const int vectors, const int64_t lanes, int64_t rows, const int odd, int64_t steps,
    const int64_t part, const float *a, int64_t a_row, int64_t a_step, const float *b, int64_t b_step, float *c,
    int64_t c_row, const int then, const float *factor, float *compensation)
{
    for (int64_t t = 0; t < steps; t += 16, a += 16 * a_step, b += 16 * b_step) {
        const int64_t some = min(steps - t, 16);
        if (rows == 1 && then == 1) {
            if (64) fetch_any(16, lanes, b + 64 * b_step, b_step);
            int64_t x = 0;
            for (; x + 32 <= lanes; x += 32) row_any(8, some, a, a_step, b + x, b_step, c + x);
            if (lanes % 32) row_any((int)(lanes % 32 / 4), some, a, a_step, b + x, b_step, c + x);
            continue;
        }
        const float *const from = b;
        const int64_t from_step = b_step;
        for (int64_t x = 0, asked = 0; x < lanes; x += vectors * 4) {
            const int64_t ask = 16 * (x + vectors * 4) / lanes; /* not all at once: so many can be under way */
            fetch_any(ask - asked, lanes, b + (64 + asked) * b_step, b_step);
            asked = ask;
            dot_any(vectors, vectors * 4, rows, odd, some, part, a, a_row, a_step, from + x, from_step, c + x, c_row,
                then,
                factor ? factor + x : NULL, compensation ? compensation + x : NULL);
        }
    }
}

/* The same with 0 for what is infinite or NaN in a: row by row, for a copy of few numbers. The last
   of the pairs is whole. */
INLINE void dot_finite_any(const int vectors, const int64_t lanes, int64_t rows, const int odd, int64_t steps,
    const int64_t part, const float *a, int64_t a_row, int64_t a_step, const float *b, int64_t b_step, float *c,
        int64_t c_row,
    const int then, const float *factor, float *compensation)
{
    float row[128];
    (void)odd;
    for (int64_t r = 0; r < rows; r++, a += a_row) {
        for (int64_t t = 0; t < steps; t++)
            for (int k = 0; k < 1; k++)
                row[1 * t + k] = finite_any(a + t * a_step + k, 0, 1, 1) ? a[t * a_step + k] : 0;
        dot_any(vectors, lanes, 1, 1, steps, part, row, 0, 1, b, b_step, c + r * c_row, c_row,
            then, factor, compensation ? compensation + r * c_row : NULL);
    }
}

/* The same with 0 for what is infinite or NaN in b: a vector of lanes after the other; `fetched`: by the steps of
   dot_fetched_any. */
INLINE void dot_finite_lanes_any(const int fetched, const int vectors, const int64_t lanes, int64_t rows,
    const int odd, int64_t steps, const int64_t part, const float *a, int64_t a_row, int64_t a_step, const float *b,
    int64_t b_step, float *c, int64_t c_row, const int then, const float *factor, float *compensation)
{
    float column[128 * 4];
    (void)vectors;
    for (int64_t x = 0; x < lanes; x += 4) {
        for (int64_t t = 0; t < steps; t++)
            for (int64_t k = 0; k < 1 * 4; k++) {
                const float *const p = b + t * b_step + 1 * x + k;
                column[t * 1 * 4 + k] = finite_any(p, 0, 1, 1) ? *p : 0;
            }
        const int64_t some = fetched ? 16 : steps;
        for (int64_t t = 0; t < steps; t += some)
            dot_any(1, 4, rows, odd, min(steps - t, some), part, a + t * a_step, a_row, a_step,
                column + t * 1 * 4, 1 * 4, c + x, c_row, then,
                factor ? factor + x : NULL, compensation ? compensation + x : NULL);
    }
}

/* The products of the code below: dot_any with what is constant in them. */
APART void dot0_any(int64_t lanes, const float *a, const float *b, float *c)
{
    dot_any(2, lanes, 512, 2, 64, 32, a, 1, 512, b, 16, c, 16, 0, NULL, NULL);
}
APART void dot1_any(int64_t lanes, int64_t steps, const float *a, const float *b, float *c)
{
    dot_any(2, lanes, 64, 4, steps, 32, a, 1, 64, b, 16, c, 16, 1, NULL, NULL);
}
APART void dot2_any(int64_t lanes, const float *a, const float *b, float *c)
{
    dot_any(2, lanes, 512, 2, 64, 32, a, 1, 512, b, 96, c, 96, 0, NULL, NULL);
}
APART void dot3_any(int64_t lanes, int64_t steps, const float *a, const float *b, float *c)
{
    dot_any(2, lanes, 64, 4, steps, 32, a, 1, 64, b, 96, c, 96, 1, NULL, NULL);
}
APART void dot4_any(int64_t lanes, int64_t rows, const float *a, const float *b, float *c)
{
    dot_any(2, lanes, rows, -1, 64, 32, a, 1, 96, b, 16, c, 16, 0, NULL, NULL);
}
APART void dot5_any(int64_t lanes, int64_t steps, const float *a, int64_t a_step, const float *b, float *c,
    float *compensation)
{
    dot_finite_any(2, lanes, 64, 4, steps, 192, a, 1, a_step, b, 16, c, 16, 3, NULL, compensation);
}
APART void dot6_any(int64_t lanes, int64_t steps, const float *a, int64_t a_step, const float *b, float *c,
    float *compensation)
{
    dot_any(2, lanes, 64, 4, steps, 192, a, 1, a_step, b, 16, c, 16, 3, NULL, compensation);
}
APART void dot7_any(int64_t lanes, const float *a, const float *b, float *c)
{
    dot_any(2, lanes, 512, 2, 64, 32, a, 1, 512, b, 64, c, 64, 0, NULL, NULL);
}
APART void dot8_any(int64_t lanes, int64_t steps, const float *a, const float *b, float *c)
{
    dot_any(2, lanes, 64, 4, steps, 32, a, 1, 64, b, 64, c, 64, 1, NULL, NULL);
}
APART void dot9_any(int64_t rows, int64_t steps, const float *a, const float *b, int64_t b_step, float *c)
{
    dot_any(2, 64, rows, -1, steps, 192, a, 64, 1, b, b_step, c, 64, 1, NULL, NULL);
}
APART void dot10_any(int64_t lanes, int64_t rows, const float *a, const float *b, float *c)
{
    dot_any(2, lanes, rows, -1, 64, 32, a, 1, 64, b, 64, c, 64, 0, NULL, NULL);
}
APART void dot11_any(int64_t lanes, int64_t steps, const float *a, int64_t a_step, const float *b, float *c,
    float *compensation)
{
    dot_finite_any(2, lanes, 64, 4, steps, 192, a, 1, a_step, b, 64, c, 64, 3, NULL, compensation);
}
APART void dot12_any(int64_t lanes, int64_t steps, const float *a, int64_t a_step, const float *b, float *c,
    float *compensation)
{
    dot_any(2, lanes, 64, 4, steps, 192, a, 1, a_step, b, 64, c, 64, 3, NULL, compensation);
}
APART void dot13_any(int64_t lanes, const float *a, const float *b, float *c)
{
    dot_any(2, lanes, 64, 4, 512, 32, a, 1, 64, b, 64, c, 64, 0, NULL, NULL);
}
APART void dot14_any(int64_t lanes, const float *a, const float *b, float *c)
{
    dot_any(2, lanes, 512, 2, 64, 32, a, 1, 512, b, 144, c, 144, 0, NULL, NULL);
}
APART void dot15_any(int64_t lanes, int64_t steps, const float *a, const float *b, float *c)
{
    dot_any(2, lanes, 64, 4, steps, 32, a, 1, 64, b, 144, c, 144, 1, NULL, NULL);
}
APART void dot16_any(int64_t lanes, int64_t rows, const float *a, const float *b, float *c)
{
    dot_any(2, lanes, rows, -1, 64, 32, a, 1, 64, b, 144, c, 144, 0, NULL, NULL);
}
APART void dot17_any(int64_t rows, int64_t steps, const float *a, const float *b, int64_t b_step, float *c)
{
    dot_finite_lanes_any(1, 2, 64, rows, -1, steps, 192, a, 144, 1, b, b_step, c, 64, 1, NULL, NULL);
}
APART void dot18_any(int64_t rows, int64_t steps, const float *a, const float *b, int64_t b_step, float *c)
{
    dot_fetched_any(2, 64, rows, -1, steps, 192, a, 144, 1, b, b_step, c, 64, 1, NULL, NULL);
}

/* Task number `task`: one tile of queries of one head; `work` is the thread's part of the workspace. */
static void polysketch_learned_r64_local_rows_any(const struct call *call, int64_t task, unsigned char *work)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_q = call->p.n_q;
    const int64_t n_k = call->p.n_k;
    const int64_t tiles = (n_q + 127) / 128, i0 = (tiles - 1 - task % tiles) * 128, i1 = min(i0 + 128, n_q);
    const int64_t m = task / tiles % members;
    const int64_t g = task / tiles / members % kv_heads;
    const int64_t b = task / tiles / members / kv_heads;
    const float *const q = call->q + b * call->p.q.batch + (g * members + m) * call->p.q.head;
    const int64_t q_row = call->p.q.row;
    const float *const k = call->k + b * call->p.k.batch + g * call->p.k.head;
    const int64_t k_row = call->p.k.row;
    const float *const v = call->v + b * call->p.v.batch + g * call->p.v.head;
    const int64_t v_row = call->p.v.row;
    const float *const sketch_g1_norm0_weight = call->params->sketch_g1_norm0_weight;
    const float *const sketch_g1_norm0_bias = call->params->sketch_g1_norm0_bias;
    const float *const sketch_g1_w0 = call->params->sketch_g1_w0;
    const float *const sketch_g1_w1 = call->params->sketch_g1_w1;
    const float *const sketch_g1_norm1_weight = call->params->sketch_g1_norm1_weight;
    const float *const sketch_g1_norm1_bias = call->params->sketch_g1_norm1_bias;
    const float *const sketch_g1_w2 = call->params->sketch_g1_w2;
    const float *const sketch_g1_w3 = call->params->sketch_g1_w3;
    const float *const sketch_g2_norm0_weight = call->params->sketch_g2_norm0_weight;
    const float *const sketch_g2_norm0_bias = call->params->sketch_g2_norm0_bias;
    const float *const sketch_g2_w0 = call->params->sketch_g2_w0;
    const float *const sketch_g2_w1 = call->params->sketch_g2_w1;
    const float *const sketch_g2_norm1_weight = call->params->sketch_g2_norm1_weight;
    const float *const sketch_g2_norm1_bias = call->params->sketch_g2_norm1_bias;
    const float *const sketch_g2_w2 = call->params->sketch_g2_w2;
    const float *const sketch_g2_w3 = call->params->sketch_g2_w3;
    float *const key = (float *)(void *)(work + 0); /* [j: 96] */
    float *const key_3 = (float *)(void *)(work + 384); /* [j: 96] */
    float *const query = (float *)(void *)(work + 0); /* [i: 16] */
    float *const query_3 = (float *)(void *)(work + 64); /* [i: 16] */
    float *const all_query_4 = (float *)(void *)(work + 768); /* [d: 64, i: 16, 8 times] */
    float *const query_5 = (float *)(void *)(work + 0); /* [i: 16] */
    float *const query_6 = (float *)(void *)(work + 33536); /* [d: 64, i: 16] */
    float *const query_7 = (float *)(void *)(work + 64); /* [i: 16] */
    float *const query_9 = (float *)(void *)(work + 37632); /* [d: 64, i: 16] */
    float *const query_10 = (float *)(void *)(work + 41728); /* [h: 512, i: 16] */
    float *const query_11 = (float *)(void *)(work + 74496); /* [h: 192, i: 16] */
    float *const query_12 = (float *)(void *)(work + 37632); /* [r: 64, i: 16] */
    float *const query_13 = (float *)(void *)(work + 0); /* [i: 16] */
    float *const query_15 = (float *)(void *)(work + 128); /* [i: 16] */
    float *const query_17 = (float *)(void *)(work + 41728); /* [h: 512, i: 16] */
    float *const query_18 = (float *)(void *)(work + 74496); /* [h: 192, i: 16] */
    float *const query_19 = (float *)(void *)(work + 37632); /* [r: 64, i: 16] */
    float *const query_21 = (float *)(void *)(work + 41728); /* [h: 512, i: 16] */
    float *const query_22 = (float *)(void *)(work + 74496); /* [h: 192, i: 16] */
    float *const query_23 = (float *)(void *)(work + 33536); /* [r: 64, i: 16] */
    float *const query_24 = (float *)(void *)(work + 0); /* [i: 16] */
    float *const query_26 = (float *)(void *)(work + 64); /* [i: 16] */
    float *const query_28 = (float *)(void *)(work + 41728); /* [h: 512, i: 16] */
    float *const query_29 = (float *)(void *)(work + 74496); /* [h: 192, i: 16] */
    float *const query_30 = (float *)(void *)(work + 33536); /* [r: 64, i: 16] */
    float *const all_query_31 = (float *)(void *)(work + 86784); /* [r: 64, i: 16, 8 times] */
    float *const key_5 = (float *)(void *)(work + 0); /* [j: 96] */
    float *const key_6 = (float *)(void *)(work + 33536); /* [d: 64, j: 96] */
    float *const key_7 = (float *)(void *)(work + 384); /* [j: 96] */
    float *const key_9 = (float *)(void *)(work + 58112); /* [d: 64, j: 96] */
    float *const key_10 = (float *)(void *)(work + 119552); /* [h: 512, j: 96] */
    float *const key_11 = (float *)(void *)(work + 316160); /* [h: 192, j: 96] */
    float *const key_12 = (float *)(void *)(work + 58112); /* [r: 64, j: 96] */
    float *const key_13 = (float *)(void *)(work + 0); /* [j: 96] */
    float *const key_15 = (float *)(void *)(work + 82688); /* [j: 96] */
    float *const key_17 = (float *)(void *)(work + 119552); /* [h: 512, j: 96] */
    float *const key_18 = (float *)(void *)(work + 316160); /* [h: 192, j: 96] */
    float *const key_19 = (float *)(void *)(work + 58112); /* [r: 64, j: 96] */
    float *const key_21 = (float *)(void *)(work + 119552); /* [h: 512, j: 96] */
    float *const key_22 = (float *)(void *)(work + 316160); /* [h: 192, j: 96] */
    float *const key_23 = (float *)(void *)(work + 33536); /* [r: 64, j: 96] */
    float *const key_24 = (float *)(void *)(work + 0); /* [j: 96] */
    float *const key_26 = (float *)(void *)(work + 384); /* [j: 96] */
    float *const key_28 = (float *)(void *)(work + 119552); /* [h: 512, j: 96] */
    float *const key_29 = (float *)(void *)(work + 316160); /* [h: 192, j: 96] */
    float *const key_30 = (float *)(void *)(work + 33536); /* [r: 64, j: 96] */
    float *const score = (float *)(void *)(work + 33536); /* [j: 96, i: 16] */
    float *const score_2 = (float *)(void *)(work + 39680); /* [j: 96, i: 16] */
    float *const all_row_sum = (float *)(void *)(work + 389888); /* [i: 16, 8 times] */
    float *const all_row_sum_compensation = (float *)(void *)(work + 390400); /* [i: 16, 8 times] */
    float *const all_sum = (float *)(void *)(work + 390912); /* [e: 64, i: 16, 8 times] */
    float *const all_sum_compensation = (float *)(void *)(work + 423680); /* [e: 64, i: 16, 8 times] */
    float *const result = (float *)(void *)(work + 0); /* [e: 64, i: 16] */
    float *const out = call->out + b * call->p.out.batch + (g * members + m) * call->p.out.head;
    const int64_t out_row = call->p.out.row;
    float *const q_tile = (float *)(void *)(work + 33536); /* [d: 64, i: 16] */
    float *const k_tile = (float *)(void *)(work + 456448); /* [d: 64, j: 96] */
    for (int64_t i_next = i0, i_block = i0, i_end = i1; i_next < i_end; i_next += 16) {
        const int64_t i0 = i_next, i1 = min(i0 + 16, i_end);
        float *const query_4 = all_query_4 + (i0 - i_block) / 16 * 1024;
        float *const query_31 = all_query_31 + (i0 - i_block) / 16 * 1024;
        float *const row_sum = all_row_sum + (i0 - i_block) / 16 * 16;
        float *const row_sum_compensation = all_row_sum_compensation + (i0 - i_block) / 16 * 16;
        float *const sum = all_sum + (i0 - i_block) / 16 * 1024;
        float *const sum_compensation = all_sum_compensation + (i0 - i_block) / 16 * 1024;
        /* q_tile = q, with zeros beyond the last row */
        transpose_any(q + i0 * q_row, q_row, i1 - i0, 64, q_tile, 16);
        for (int64_t i = i1 - i0; i < round_up(i1 - i0, 4); i++)
            for (int64_t d = 0; d < 64; d++) q_tile[d * 16 + i] = 0;
        /* query = 0.0f */
        for (int64_t i = 0; i < i1 - i0; i += 4) {
            store_any(query + i, splat_any(0.0f));
        }
        /* query += q_tile */
        for (int64_t i_first = 0; i_first < i1 - i0; i_first += 8) {
            vec_any query_in[2];
            UNROLL for (int64_t u = 0, i = i_first; u < 2; u++, i += 4) {
                query_in[u] = (vec_any){0};
            }
            for (int64_t d = 0; d < 64; d++) {
                UNROLL for (int64_t u = 0, i = i_first; u < 2; u++, i += 4) {
                    query_in[u] += load_any(q_tile + d * 16 + i);
                }
            }
            UNROLL for (int64_t u = 0, i = i_first; u < 2; u++, i += 4) {
                store_any(query + i, load_any(query + i) + query_in[u]);
            }
        }
        /* query_3 = 0.0f */
        for (int64_t i = 0; i < i1 - i0; i += 4) {
            store_any(query_3 + i, splat_any(0.0f));
        }
        /* q_tile = q_tile - (query * 0.015625f); query_3 += q_tile * q_tile */
        for (int64_t i = 0; i < i1 - i0; i += 4) {
            const vec_any t_1 = load_any(query + i) * 0.015625f;
            vec_any query_3_in = (vec_any){0};
            for (int64_t d = 0; d < 64; d++) {
                const vec_any q_tile_0 = load_any(q_tile + d * 16 + i);
                const vec_any q_tile_new2 = q_tile_0 - t_1;
                store_any(q_tile + d * 16 + i, q_tile_new2);
                query_3_in += q_tile_new2 * q_tile_new2;
            }
            store_any(query_3 + i, load_any(query_3 + i) + query_3_in);
        }
        /* query_5 = 0.0f */
        for (int64_t i = 0; i < i1 - i0; i += 4) {
            store_any(query_5 + i, splat_any(0.0f));
        }
        /* query_4 = q_tile * (1.0f / sqrt((query_3 * 0.015625f) + 1e-05f)); query_5 += query_4 */
        for (int64_t i = 0; i < i1 - i0; i += 4) {
            const vec_any t_3 = 1.0f / sqrt_any((load_any(query_3 + i) * 0.015625f) + 1e-05f);
            vec_any query_5_in = (vec_any){0};
            for (int64_t d = 0; d < 64; d++) {
                const vec_any query_4_new4 = load_any(q_tile + d * 16 + i) * t_3;
                store_any(query_4 + d * 16 + i, query_4_new4);
                query_5_in += query_4_new4;
            }
            store_any(query_5 + i, load_any(query_5 + i) + query_5_in);
        }
        /* query_7 = 0.0f */
        for (int64_t i = 0; i < i1 - i0; i += 4) {
            store_any(query_7 + i, splat_any(0.0f));
        }
        /* query_6 = query_4 - (query_5 * 0.015625f); query_7 += query_6 * query_6 */
        for (int64_t i = 0; i < i1 - i0; i += 4) {
            const vec_any t_5 = load_any(query_5 + i) * 0.015625f;
            vec_any query_7_in = (vec_any){0};
            for (int64_t d = 0; d < 64; d++) {
                const vec_any query_6_new6 = load_any(query_4 + d * 16 + i) - t_5;
                store_any(query_6 + d * 16 + i, query_6_new6);
                query_7_in += query_6_new6 * query_6_new6;
            }
            store_any(query_7 + i, load_any(query_7 + i) + query_7_in);
        }
        /* query_7 = 1.0f / sqrt((query_7 * 0.015625f) + 1e-05f) */
        for (int64_t i = 0; i < i1 - i0; i += 4) {
            store_any(query_7 + i, 1.0f / sqrt_any((load_any(query_7 + i) * 0.015625f) + 1e-05f));
        }
        /* query_9 = ((query_6 * query_7) * sketch.g1.norm0.weight) + sketch.g1.norm0.bias */
        for (int64_t i = 0; i < i1 - i0; i += 4) {
            const vec_any query_7_7 = load_any(query_7 + i);
            for (int64_t d = 0; d < 64; d++) {
                store_any(query_9 + d * 16 + i, ((load_any(query_6 + d * 16 + i) * query_7_7) *
                    sketch_g1_norm0_weight[d]) + sketch_g1_norm0_bias[d]);
            }
        }
        /* query_10[h][i] = sum over d of sketch_g1_w0 * query_9 */
        dot0_any(round_up(i1 - i0, 8), sketch_g1_w0, query_9, query_10);
        /* query_12 = 0.0f */
        for (int64_t i_first = 0; i_first < i1 - i0; i_first += 8) {
            for (int64_t r = 0; r < 64; r++) {
                UNROLL for (int64_t u = 0, i = i_first; u < 2; u++, i += 4) {
                    store_any(query_12 + r * 16 + i, splat_any(0.0f));
                }
            }
        }
        for (int64_t h0 = 0, h_end = 512; h0 < h_end; h0 += 192) {
            const int64_t h1 = min(h0 + 192, h_end);
            /* query_11 = (query_10 * 0.5f) * (tanh((query_10 + (((query_10 * query_10) * query_10) * 0.044715f)) *
               0.7978846f) + 1.0f) */
            for (int64_t i = 0; i < i1 - i0; i += 4) {
                for (int64_t h = h0; h < h1; h++) {
                    const vec_any query_10_8 = load_any(query_10 + h * 16 + i);
                    store_any(query_11 + (h - h0) * 16 + i, (query_10_8 * 0.5f) * (tanh_any((query_10_8 + (((query_10_8
                        * query_10_8) * query_10_8) * 0.044715f)) * 0.7978846f) + 1.0f));
                }
            }
            /* query_12[r][i] += sum over h of sketch_g1_w1 * query_11 */
            dot1_any(round_up(i1 - i0, 8), h1 - h0, sketch_g1_w1 + h0 * 64, query_11, query_12);
        }
        /* query_13 = 0.0f */
        for (int64_t i = 0; i < i1 - i0; i += 4) {
            store_any(query_13 + i, splat_any(0.0f));
        }
        /* query_13 += query_12 */
        for (int64_t i_first = 0; i_first < i1 - i0; i_first += 8) {
            vec_any query_13_in[2];
            UNROLL for (int64_t u = 0, i = i_first; u < 2; u++, i += 4) {
                query_13_in[u] = (vec_any){0};
            }
            for (int64_t r = 0; r < 64; r++) {
                UNROLL for (int64_t u = 0, i = i_first; u < 2; u++, i += 4) {
                    query_13_in[u] += load_any(query_12 + r * 16 + i);
                }
            }
            UNROLL for (int64_t u = 0, i = i_first; u < 2; u++, i += 4) {
                store_any(query_13 + i, load_any(query_13 + i) + query_13_in[u]);
            }
        }
        /* query_15 = 0.0f */
        for (int64_t i = 0; i < i1 - i0; i += 4) {
            store_any(query_15 + i, splat_any(0.0f));
        }
        /* query_12 = query_12 - (query_13 * 0.015625f); query_15 += query_12 * query_12 */
        for (int64_t i = 0; i < i1 - i0; i += 4) {
            const vec_any t_10 = load_any(query_13 + i) * 0.015625f;
            vec_any query_15_in = (vec_any){0};
            for (int64_t r = 0; r < 64; r++) {
                const vec_any query_12_9 = load_any(query_12 + r * 16 + i);
                const vec_any query_12_new11 = query_12_9 - t_10;
                store_any(query_12 + r * 16 + i, query_12_new11);
                query_15_in += query_12_new11 * query_12_new11;
            }
            store_any(query_15 + i, load_any(query_15 + i) + query_15_in);
        }
        /* query_12 = ((query_12 * (1.0f / sqrt((query_15 * 0.015625f) + 1e-05f))) * sketch.g1.norm1.weight) +
           sketch.g1.norm1.bias */
        for (int64_t i = 0; i < i1 - i0; i += 4) {
            const vec_any t_12 = 1.0f / sqrt_any((load_any(query_15 + i) * 0.015625f) + 1e-05f);
            for (int64_t r = 0; r < 64; r++) {
                store_any(query_12 + r * 16 + i, ((load_any(query_12 + r * 16 + i) * t_12) * sketch_g1_norm1_weight[r])
                    + sketch_g1_norm1_bias[r]);
            }
        }
        /* query_17[h][i] = sum over r of sketch_g1_w2 * query_12 */
        dot0_any(round_up(i1 - i0, 8), sketch_g1_w2, query_12, query_17);
        /* query_19 = 0.0f */
        for (int64_t i_first = 0; i_first < i1 - i0; i_first += 8) {
            for (int64_t r = 0; r < 64; r++) {
                UNROLL for (int64_t u = 0, i = i_first; u < 2; u++, i += 4) {
                    store_any(query_19 + r * 16 + i, splat_any(0.0f));
                }
            }
        }
        {
            for (int64_t h0 = 0, h_end = 512; h0 < h_end; h0 += 192) {
                const int64_t h1 = min(h0 + 192, h_end);
                /* query_18 = (query_17 * 0.5f) * (tanh((query_17 + (((query_17 * query_17) * query_17) * 0.044715f)) *
                   0.7978846f) + 1.0f) */
                for (int64_t i = 0; i < i1 - i0; i += 4) {
                    for (int64_t h = h0; h < h1; h++) {
                        const vec_any query_17_13 = load_any(query_17 + h * 16 + i);
                        store_any(query_18 + (h - h0) * 16 + i, (query_17_13 * 0.5f) * (tanh_any((query_17_13 +
                            (((query_17_13 * query_17_13) * query_17_13) * 0.044715f)) * 0.7978846f) + 1.0f));
                    }
                }
                /* query_19[r][i] += sum over h of sketch_g1_w3 * query_18 */
                dot1_any(round_up(i1 - i0, 8), h1 - h0, sketch_g1_w3 + h0 * 64, query_18, query_19);
            }
        }
        /* query_6 = ((query_6 * query_7) * sketch.g2.norm0.weight) + sketch.g2.norm0.bias */
        for (int64_t i = 0; i < i1 - i0; i += 4) {
            const vec_any query_7_14 = load_any(query_7 + i);
            for (int64_t d = 0; d < 64; d++) {
                store_any(query_6 + d * 16 + i, ((load_any(query_6 + d * 16 + i) * query_7_14) *
                    sketch_g2_norm0_weight[d]) + sketch_g2_norm0_bias[d]);
            }
        }
        /* query_21[h][i] = sum over d of sketch_g2_w0 * query_6 */
        dot0_any(round_up(i1 - i0, 8), sketch_g2_w0, query_6, query_21);
        /* query_23 = 0.0f */
        for (int64_t i_first = 0; i_first < i1 - i0; i_first += 8) {
            for (int64_t r = 0; r < 64; r++) {
                UNROLL for (int64_t u = 0, i = i_first; u < 2; u++, i += 4) {
                    store_any(query_23 + r * 16 + i, splat_any(0.0f));
                }
            }
        }
        {
            for (int64_t h0 = 0, h_end = 512; h0 < h_end; h0 += 192) {
                const int64_t h1 = min(h0 + 192, h_end);
                /* query_22 = (query_21 * 0.5f) * (tanh((query_21 + (((query_21 * query_21) * query_21) * 0.044715f)) *
                   0.7978846f) + 1.0f) */
                for (int64_t i = 0; i < i1 - i0; i += 4) {
                    for (int64_t h = h0; h < h1; h++) {
                        const vec_any query_21_15 = load_any(query_21 + h * 16 + i);
                        store_any(query_22 + (h - h0) * 16 + i, (query_21_15 * 0.5f) * (tanh_any((query_21_15 +
                            (((query_21_15 * query_21_15) * query_21_15) * 0.044715f)) * 0.7978846f) + 1.0f));
                    }
                }
                /* query_23[r][i] += sum over h of sketch_g2_w1 * query_22 */
                dot1_any(round_up(i1 - i0, 8), h1 - h0, sketch_g2_w1 + h0 * 64, query_22, query_23);
            }
        }
        /* query_24 = 0.0f */
        for (int64_t i = 0; i < i1 - i0; i += 4) {
            store_any(query_24 + i, splat_any(0.0f));
        }
        /* query_24 += query_23 */
        for (int64_t i_first = 0; i_first < i1 - i0; i_first += 8) {
            vec_any query_24_in[2];
            UNROLL for (int64_t u = 0, i = i_first; u < 2; u++, i += 4) {
                query_24_in[u] = (vec_any){0};
            }
            for (int64_t r = 0; r < 64; r++) {
                UNROLL for (int64_t u = 0, i = i_first; u < 2; u++, i += 4) {
                    query_24_in[u] += load_any(query_23 + r * 16 + i);
                }
            }
            UNROLL for (int64_t u = 0, i = i_first; u < 2; u++, i += 4) {
                store_any(query_24 + i, load_any(query_24 + i) + query_24_in[u]);
            }
        }
        /* query_26 = 0.0f */
        for (int64_t i = 0; i < i1 - i0; i += 4) {
            store_any(query_26 + i, splat_any(0.0f));
        }
        /* query_23 = query_23 - (query_24 * 0.015625f); query_26 += query_23 * query_23 */
        for (int64_t i = 0; i < i1 - i0; i += 4) {
            const vec_any t_17 = load_any(query_24 + i) * 0.015625f;
            vec_any query_26_in = (vec_any){0};
            for (int64_t r = 0; r < 64; r++) {
                const vec_any query_23_16 = load_any(query_23 + r * 16 + i);
                const vec_any query_23_new18 = query_23_16 - t_17;
                store_any(query_23 + r * 16 + i, query_23_new18);
                query_26_in += query_23_new18 * query_23_new18;
            }
            store_any(query_26 + i, load_any(query_26 + i) + query_26_in);
        }
        /* query_23 = ((query_23 * (1.0f / sqrt((query_26 * 0.015625f) + 1e-05f))) * sketch.g2.norm1.weight) +
           sketch.g2.norm1.bias */
        for (int64_t i = 0; i < i1 - i0; i += 4) {
            const vec_any t_19 = 1.0f / sqrt_any((load_any(query_26 + i) * 0.015625f) + 1e-05f);
            for (int64_t r = 0; r < 64; r++) {
                store_any(query_23 + r * 16 + i, ((load_any(query_23 + r * 16 + i) * t_19) * sketch_g2_norm1_weight[r])
                    + sketch_g2_norm1_bias[r]);
            }
        }
        /* query_28[h][i] = sum over r of sketch_g2_w2 * query_23 */
        dot0_any(round_up(i1 - i0, 8), sketch_g2_w2, query_23, query_28);
        /* query_30 = 0.0f */
        for (int64_t i_first = 0; i_first < i1 - i0; i_first += 8) {
            for (int64_t r = 0; r < 64; r++) {
                UNROLL for (int64_t u = 0, i = i_first; u < 2; u++, i += 4) {
                    store_any(query_30 + r * 16 + i, splat_any(0.0f));
                }
            }
        }
        {
            for (int64_t h0 = 0, h_end = 512; h0 < h_end; h0 += 192) {
                const int64_t h1 = min(h0 + 192, h_end);
                /* query_29 = (query_28 * 0.5f) * (tanh((query_28 + (((query_28 * query_28) * query_28) * 0.044715f)) *
                   0.7978846f) + 1.0f) */
                for (int64_t i = 0; i < i1 - i0; i += 4) {
                    for (int64_t h = h0; h < h1; h++) {
                        const vec_any query_28_20 = load_any(query_28 + h * 16 + i);
                        store_any(query_29 + (h - h0) * 16 + i, (query_28_20 * 0.5f) * (tanh_any((query_28_20 +
                            (((query_28_20 * query_28_20) * query_28_20) * 0.044715f)) * 0.7978846f) + 1.0f));
                    }
                }
                /* query_30[r][i] += sum over h of sketch_g2_w3 * query_29 */
                dot1_any(round_up(i1 - i0, 8), h1 - h0, sketch_g2_w3 + h0 * 64, query_29, query_30);
            }
        }
        /* query_31 = tanh((query_19 * query_30) * 0.125f) * 8.0f */
        for (int64_t i = 0; i < i1 - i0; i += 4) {
            for (int64_t r = 0; r < 64; r++) {
                store_any(query_31 + r * 16 + i, tanh_any((load_any(query_19 + r * 16 + i) * load_any(query_30 + r * 16
                    + i)) * 0.125f) * 8.0f);
            }
        }
        /* row_sum = 0.0f; row_sum_compensation = 0.0f */
        for (int64_t i = 0; i < i1 - i0; i += 4) {
            store_any(row_sum + i, splat_any(0.0f));
            store_any(row_sum_compensation + i, splat_any(0.0f));
        }
        /* sum = 0.0f; sum_compensation = 0.0f */
        for (int64_t i_first = 0; i_first < i1 - i0; i_first += 8) {
            for (int64_t e = 0; e < 64; e++) {
                UNROLL for (int64_t u = 0, i = i_first; u < 2; u++, i += 4) {
                    store_any(sum + e * 16 + i, splat_any(0.0f));
                    store_any(sum_compensation + e * 16 + i, splat_any(0.0f));
                }
            }
        }
    }
    for (int64_t j0 = 0, j_end = min(n_k, i1 + n_k - n_q); j0 < j_end; j0 += 96) {
        const int64_t j1 = min(j0 + 96, j_end);
        /* k_tile = k, with zeros beyond the last row */
        transpose_any(k + j0 * k_row, k_row, j1 - j0, 64, k_tile, 96);
        for (int64_t j = j1 - j0; j < round_up(j1 - j0, 4); j++)
            for (int64_t d = 0; d < 64; d++) k_tile[d * 96 + j] = 0;
        /* key = 0.0f */
        for (int64_t j = 0; j < j1 - j0; j += 4) {
            store_any(key + j, splat_any(0.0f));
        }
        /* key += k_tile */
        for (int64_t j_first = 0; j_first < j1 - j0; j_first += 8) {
            vec_any key_in[2];
            UNROLL for (int64_t u = 0, j = j_first; u < 2; u++, j += 4) {
                key_in[u] = (vec_any){0};
            }
            for (int64_t d = 0; d < 64; d++) {
                UNROLL for (int64_t u = 0, j = j_first; u < 2; u++, j += 4) {
                    key_in[u] += load_any(k_tile + d * 96 + j);
                }
            }
            UNROLL for (int64_t u = 0, j = j_first; u < 2; u++, j += 4) {
                store_any(key + j, load_any(key + j) + key_in[u]);
            }
        }
        /* key_3 = 0.0f */
        for (int64_t j = 0; j < j1 - j0; j += 4) {
            store_any(key_3 + j, splat_any(0.0f));
        }
        /* k_tile = k_tile - (key * 0.015625f); key_3 += k_tile * k_tile */
        for (int64_t j = 0; j < j1 - j0; j += 4) {
            const vec_any t_22 = load_any(key + j) * 0.015625f;
            vec_any key_3_in = (vec_any){0};
            for (int64_t d = 0; d < 64; d++) {
                const vec_any k_tile_21 = load_any(k_tile + d * 96 + j);
                const vec_any k_tile_new23 = k_tile_21 - t_22;
                store_any(k_tile + d * 96 + j, k_tile_new23);
                key_3_in += k_tile_new23 * k_tile_new23;
            }
            store_any(key_3 + j, load_any(key_3 + j) + key_3_in);
        }
        /* key_5 = 0.0f */
        for (int64_t j = 0; j < j1 - j0; j += 4) {
            store_any(key_5 + j, splat_any(0.0f));
        }
        /* k_tile = k_tile * (1.0f / sqrt((key_3 * 0.015625f) + 1e-05f)); key_5 += k_tile */
        for (int64_t j = 0; j < j1 - j0; j += 4) {
            const vec_any t_25 = 1.0f / sqrt_any((load_any(key_3 + j) * 0.015625f) + 1e-05f);
            vec_any key_5_in = (vec_any){0};
            for (int64_t d = 0; d < 64; d++) {
                const vec_any k_tile_24 = load_any(k_tile + d * 96 + j);
                const vec_any k_tile_new26 = k_tile_24 * t_25;
                store_any(k_tile + d * 96 + j, k_tile_new26);
                key_5_in += k_tile_new26;
            }
            store_any(key_5 + j, load_any(key_5 + j) + key_5_in);
        }
        /* key_7 = 0.0f */
        for (int64_t j = 0; j < j1 - j0; j += 4) {
            store_any(key_7 + j, splat_any(0.0f));
        }
        /* key_6 = k_tile - (key_5 * 0.015625f); key_7 += key_6 * key_6 */
        for (int64_t j = 0; j < j1 - j0; j += 4) {
            const vec_any t_27 = load_any(key_5 + j) * 0.015625f;
            vec_any key_7_in = (vec_any){0};
            for (int64_t d = 0; d < 64; d++) {
                const vec_any key_6_new28 = load_any(k_tile + d * 96 + j) - t_27;
                store_any(key_6 + d * 96 + j, key_6_new28);
                key_7_in += key_6_new28 * key_6_new28;
            }
            store_any(key_7 + j, load_any(key_7 + j) + key_7_in);
        }
        /* key_7 = 1.0f / sqrt((key_7 * 0.015625f) + 1e-05f) */
        for (int64_t j = 0; j < j1 - j0; j += 4) {
            store_any(key_7 + j, 1.0f / sqrt_any((load_any(key_7 + j) * 0.015625f) + 1e-05f));
        }
        /* key_9 = ((key_6 * key_7) * sketch.g1.norm0.weight) + sketch.g1.norm0.bias */
        for (int64_t j = 0; j < j1 - j0; j += 4) {
            const vec_any key_7_29 = load_any(key_7 + j);
            for (int64_t d = 0; d < 64; d++) {
                store_any(key_9 + d * 96 + j, ((load_any(key_6 + d * 96 + j) * key_7_29) * sketch_g1_norm0_weight[d]) +
                    sketch_g1_norm0_bias[d]);
            }
        }
        /* key_10[h][j] = sum over d of sketch_g1_w0 * key_9 */
        dot2_any(round_up(j1 - j0, 8), sketch_g1_w0, key_9, key_10);
        /* key_12 = 0.0f */
        for (int64_t j_first = 0; j_first < j1 - j0; j_first += 8) {
            for (int64_t r = 0; r < 64; r++) {
                UNROLL for (int64_t u = 0, j = j_first; u < 2; u++, j += 4) {
                    store_any(key_12 + r * 96 + j, splat_any(0.0f));
                }
            }
        }
        for (int64_t h0 = 0, h_end = 512; h0 < h_end; h0 += 192) {
            const int64_t h1 = min(h0 + 192, h_end);
            /* key_11 = (key_10 * 0.5f) * (tanh((key_10 + (((key_10 * key_10) * key_10) * 0.044715f)) * 0.7978846f) +
               1.0f) */
            for (int64_t j = 0; j < j1 - j0; j += 4) {
                for (int64_t h = h0; h < h1; h++) {
                    const vec_any key_10_30 = load_any(key_10 + h * 96 + j);
                    store_any(key_11 + (h - h0) * 96 + j, (key_10_30 * 0.5f) * (tanh_any((key_10_30 + (((key_10_30 *
                        key_10_30) * key_10_30) * 0.044715f)) * 0.7978846f) + 1.0f));
                }
            }
            /* key_12[r][j] += sum over h of sketch_g1_w1 * key_11 */
            dot3_any(round_up(j1 - j0, 8), h1 - h0, sketch_g1_w1 + h0 * 64, key_11, key_12);
        }
        /* key_13 = 0.0f */
        for (int64_t j = 0; j < j1 - j0; j += 4) {
            store_any(key_13 + j, splat_any(0.0f));
        }
        /* key_13 += key_12 */
        for (int64_t j_first = 0; j_first < j1 - j0; j_first += 8) {
            vec_any key_13_in[2];
            UNROLL for (int64_t u = 0, j = j_first; u < 2; u++, j += 4) {
                key_13_in[u] = (vec_any){0};
            }
            for (int64_t r = 0; r < 64; r++) {
                UNROLL for (int64_t u = 0, j = j_first; u < 2; u++, j += 4) {
                    key_13_in[u] += load_any(key_12 + r * 96 + j);
                }
            }
            UNROLL for (int64_t u = 0, j = j_first; u < 2; u++, j += 4) {
                store_any(key_13 + j, load_any(key_13 + j) + key_13_in[u]);
            }
        }
        /* key_15 = 0.0f */
        for (int64_t j = 0; j < j1 - j0; j += 4) {
            store_any(key_15 + j, splat_any(0.0f));
        }
        /* key_12 = key_12 - (key_13 * 0.015625f); key_15 += key_12 * key_12 */
        for (int64_t j = 0; j < j1 - j0; j += 4) {
            const vec_any t_32 = load_any(key_13 + j) * 0.015625f;
            vec_any key_15_in = (vec_any){0};
            for (int64_t r = 0; r < 64; r++) {
                const vec_any key_12_31 = load_any(key_12 + r * 96 + j);
                const vec_any key_12_new33 = key_12_31 - t_32;
                store_any(key_12 + r * 96 + j, key_12_new33);
                key_15_in += key_12_new33 * key_12_new33;
            }
            store_any(key_15 + j, load_any(key_15 + j) + key_15_in);
        }
        /* key_12 = ((key_12 * (1.0f / sqrt((key_15 * 0.015625f) + 1e-05f))) * sketch.g1.norm1.weight) +
           sketch.g1.norm1.bias */
        for (int64_t j = 0; j < j1 - j0; j += 4) {
            const vec_any t_34 = 1.0f / sqrt_any((load_any(key_15 + j) * 0.015625f) + 1e-05f);
            for (int64_t r = 0; r < 64; r++) {
                store_any(key_12 + r * 96 + j, ((load_any(key_12 + r * 96 + j) * t_34) * sketch_g1_norm1_weight[r]) +
                    sketch_g1_norm1_bias[r]);
            }
        }
        /* key_17[h][j] = sum over r of sketch_g1_w2 * key_12 */
        dot2_any(round_up(j1 - j0, 8), sketch_g1_w2, key_12, key_17);
        /* key_19 = 0.0f */
        for (int64_t j_first = 0; j_first < j1 - j0; j_first += 8) {
            for (int64_t r = 0; r < 64; r++) {
                UNROLL for (int64_t u = 0, j = j_first; u < 2; u++, j += 4) {
                    store_any(key_19 + r * 96 + j, splat_any(0.0f));
                }
            }
        }
        {
            for (int64_t h0 = 0, h_end = 512; h0 < h_end; h0 += 192) {
                const int64_t h1 = min(h0 + 192, h_end);
                /* key_18 = (key_17 * 0.5f) * (tanh((key_17 + (((key_17 * key_17) * key_17) * 0.044715f)) * 0.7978846f)
                   + 1.0f) */
                for (int64_t j = 0; j < j1 - j0; j += 4) {
                    for (int64_t h = h0; h < h1; h++) {
                        const vec_any key_17_35 = load_any(key_17 + h * 96 + j);
                        store_any(key_18 + (h - h0) * 96 + j, (key_17_35 * 0.5f) * (tanh_any((key_17_35 + (((key_17_35 *
                            key_17_35) * key_17_35) * 0.044715f)) * 0.7978846f) + 1.0f));
                    }
                }
                /* key_19[r][j] += sum over h of sketch_g1_w3 * key_18 */
                dot3_any(round_up(j1 - j0, 8), h1 - h0, sketch_g1_w3 + h0 * 64, key_18, key_19);
            }
        }
        /* key_6 = ((key_6 * key_7) * sketch.g2.norm0.weight) + sketch.g2.norm0.bias */
        for (int64_t j = 0; j < j1 - j0; j += 4) {
            const vec_any key_7_36 = load_any(key_7 + j);
            for (int64_t d = 0; d < 64; d++) {
                store_any(key_6 + d * 96 + j, ((load_any(key_6 + d * 96 + j) * key_7_36) * sketch_g2_norm0_weight[d]) +
                    sketch_g2_norm0_bias[d]);
            }
        }
        /* key_21[h][j] = sum over d of sketch_g2_w0 * key_6 */
        dot2_any(round_up(j1 - j0, 8), sketch_g2_w0, key_6, key_21);
        /* key_23 = 0.0f */
        for (int64_t j_first = 0; j_first < j1 - j0; j_first += 8) {
            for (int64_t r = 0; r < 64; r++) {
                UNROLL for (int64_t u = 0, j = j_first; u < 2; u++, j += 4) {
                    store_any(key_23 + r * 96 + j, splat_any(0.0f));
                }
            }
        }
        {
            for (int64_t h0 = 0, h_end = 512; h0 < h_end; h0 += 192) {
                const int64_t h1 = min(h0 + 192, h_end);
                /* key_22 = (key_21 * 0.5f) * (tanh((key_21 + (((key_21 * key_21) * key_21) * 0.044715f)) * 0.7978846f)
                   + 1.0f) */
                for (int64_t j = 0; j < j1 - j0; j += 4) {
                    for (int64_t h = h0; h < h1; h++) {
                        const vec_any key_21_37 = load_any(key_21 + h * 96 + j);
                        store_any(key_22 + (h - h0) * 96 + j, (key_21_37 * 0.5f) * (tanh_any((key_21_37 + (((key_21_37 *
                            key_21_37) * key_21_37) * 0.044715f)) * 0.7978846f) + 1.0f));
                    }
                }
                /* key_23[r][j] += sum over h of sketch_g2_w1 * key_22 */
                dot3_any(round_up(j1 - j0, 8), h1 - h0, sketch_g2_w1 + h0 * 64, key_22, key_23);
            }
        }
        /* key_24 = 0.0f */
        for (int64_t j = 0; j < j1 - j0; j += 4) {
            store_any(key_24 + j, splat_any(0.0f));
        }
        /* key_24 += key_23 */
        for (int64_t j_first = 0; j_first < j1 - j0; j_first += 8) {
            vec_any key_24_in[2];
            UNROLL for (int64_t u = 0, j = j_first; u < 2; u++, j += 4) {
                key_24_in[u] = (vec_any){0};
            }
            for (int64_t r = 0; r < 64; r++) {
                UNROLL for (int64_t u = 0, j = j_first; u < 2; u++, j += 4) {
                    key_24_in[u] += load_any(key_23 + r * 96 + j);
                }
            }
            UNROLL for (int64_t u = 0, j = j_first; u < 2; u++, j += 4) {
                store_any(key_24 + j, load_any(key_24 + j) + key_24_in[u]);
            }
        }
        /* key_26 = 0.0f */
        for (int64_t j = 0; j < j1 - j0; j += 4) {
            store_any(key_26 + j, splat_any(0.0f));
        }
        /* key_23 = key_23 - (key_24 * 0.015625f); key_26 += key_23 * key_23 */
        for (int64_t j = 0; j < j1 - j0; j += 4) {
            const vec_any t_39 = load_any(key_24 + j) * 0.015625f;
            vec_any key_26_in = (vec_any){0};
            for (int64_t r = 0; r < 64; r++) {
                const vec_any key_23_38 = load_any(key_23 + r * 96 + j);
                const vec_any key_23_new40 = key_23_38 - t_39;
                store_any(key_23 + r * 96 + j, key_23_new40);
                key_26_in += key_23_new40 * key_23_new40;
            }
            store_any(key_26 + j, load_any(key_26 + j) + key_26_in);
        }
        /* key_23 = ((key_23 * (1.0f / sqrt((key_26 * 0.015625f) + 1e-05f))) * sketch.g2.norm1.weight) +
           sketch.g2.norm1.bias */
        for (int64_t j = 0; j < j1 - j0; j += 4) {
            const vec_any t_41 = 1.0f / sqrt_any((load_any(key_26 + j) * 0.015625f) + 1e-05f);
            for (int64_t r = 0; r < 64; r++) {
                store_any(key_23 + r * 96 + j, ((load_any(key_23 + r * 96 + j) * t_41) * sketch_g2_norm1_weight[r]) +
                    sketch_g2_norm1_bias[r]);
            }
        }
        /* key_28[h][j] = sum over r of sketch_g2_w2 * key_23 */
        dot2_any(round_up(j1 - j0, 8), sketch_g2_w2, key_23, key_28);
        /* key_30 = 0.0f */
        for (int64_t j_first = 0; j_first < j1 - j0; j_first += 8) {
            for (int64_t r = 0; r < 64; r++) {
                UNROLL for (int64_t u = 0, j = j_first; u < 2; u++, j += 4) {
                    store_any(key_30 + r * 96 + j, splat_any(0.0f));
                }
            }
        }
        {
            for (int64_t h0 = 0, h_end = 512; h0 < h_end; h0 += 192) {
                const int64_t h1 = min(h0 + 192, h_end);
                /* key_29 = (key_28 * 0.5f) * (tanh((key_28 + (((key_28 * key_28) * key_28) * 0.044715f)) * 0.7978846f)
                   + 1.0f) */
                for (int64_t j = 0; j < j1 - j0; j += 4) {
                    for (int64_t h = h0; h < h1; h++) {
                        const vec_any key_28_42 = load_any(key_28 + h * 96 + j);
                        store_any(key_29 + (h - h0) * 96 + j, (key_28_42 * 0.5f) * (tanh_any((key_28_42 + (((key_28_42 *
                            key_28_42) * key_28_42) * 0.044715f)) * 0.7978846f) + 1.0f));
                    }
                }
                /* key_30[r][j] += sum over h of sketch_g2_w3 * key_29 */
                dot3_any(round_up(j1 - j0, 8), h1 - h0, sketch_g2_w3 + h0 * 64, key_29, key_30);
            }
        }
        /* key_19 = tanh((key_19 * key_30) * 0.125f) * 8.0f */
        for (int64_t j = 0; j < j1 - j0; j += 4) {
            for (int64_t r = 0; r < 64; r++) {
                store_any(key_19 + r * 96 + j, tanh_any((load_any(key_19 + r * 96 + j) * load_any(key_30 + r * 96 + j))
                    * 0.125f) * 8.0f);
            }
        }
        for (int64_t i_next = i0, i_block = i0, i_end = i1; i_next < i_end; i_next += 16) {
            const int64_t i0 = i_next, i1 = min(i0 + 16, i_end);
            float *const query_4 = all_query_4 + (i0 - i_block) / 16 * 1024;
            float *const query_31 = all_query_31 + (i0 - i_block) / 16 * 1024;
            float *const row_sum = all_row_sum + (i0 - i_block) / 16 * 16;
            float *const row_sum_compensation = all_row_sum_compensation + (i0 - i_block) / 16 * 16;
            float *const sum = all_sum + (i0 - i_block) / 16 * 1024;
            float *const sum_compensation = all_sum_compensation + (i0 - i_block) / 16 * 1024;
            if (!(j0 < (i1 + n_k - n_q))) continue; /* nothing in the tile can be seen */
            /* score[j][i] = sum over r of key_19 * query_31 */
            dot4_any(round_up(i1 - i0, 8), j1 - j0, key_19, query_31, score);
            /* score_2[j][i] = sum over d of k_tile * query_4 */
            dot4_any(round_up(i1 - i0, 8), j1 - j0, k_tile, query_4, score_2);
            /* score = select((((i + (n_k - n_q)) - floormod(i + (n_k - n_q), 256)) / 256) == ((j - floormod(j,
               256)) / 256), (score_2 * score_ ... */
            const int64_t t_43 = n_k - n_q;
            for (int64_t i = 0; i < i1 - i0; i += 4) {
                const ints_any t_44 = (i0 + i + lane_any) + t_43;
                const ints_any r45 = t_44 % 256;
                const ints_any t_46 = (t_44 - (r45 + (((r45 != 0) & ((r45 < 0) != (256 < 0))) & 256))) / 256;
                for (int64_t j = 0; j < j1 - j0; j++) {
                    const vec_any score_2_47 = load_any(score_2 + j * 16 + i);
                    const vec_any t_48 = score_2_47 * score_2_47;
                    const vec_any score_49 = load_any(score + j * 16 + i);
                    store_any(score + j * 16 + i, pick_any(__builtin_convertvector(t_46 == (((j0 + j) - floor_mod(j0 +
                        j, 256)) / 256), mask_any), t_48 * t_48, score_49 * score_49));
                }
            }
            if ((i0 + n_k - n_q + 1) < j1) { /* the tile is not wholly inside the mask */
                /* score = select(j <= (i + (n_k - n_q)), score, 0.0f) */
                const int64_t t_50 = n_k - n_q;
                for (int64_t i = 0; i < i1 - i0; i += 4) {
                    const ints_any t_51 = (i0 + i + lane_any) + t_50;
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        store_any(score + j * 16 + i, pick_any(__builtin_convertvector((j0 + j) <= t_51, mask_any),
                            load_any(score + j * 16 + i), splat_any(0.0f)));
                    }
                }
            }
            /* row_sum += score */
            for (int64_t i_first = 0; i_first < i1 - i0; i_first += 8) {
                vec_any row_sum_in[2];
                UNROLL for (int64_t u = 0, i = i_first; u < 2; u++, i += 4) {
                    row_sum_in[u] = (vec_any){0};
                }
                for (int64_t j = 0; j < j1 - j0; j++) {
                    UNROLL for (int64_t u = 0, i = i_first; u < 2; u++, i += 4) {
                        row_sum_in[u] += load_any(score + j * 16 + i);
                    }
                }
                UNROLL for (int64_t u = 0, i = i_first; u < 2; u++, i += 4) {
                    add_any(row_sum + i, row_sum_compensation + i, row_sum_in[u], splat_any(1));
                }
            }
            /* sum[e][i] += sum over j of v * score */
            if (__builtin_expect(((i0 + n_k - n_q + 1) < j1) && !finite_any(v + j0 * v_row, v_row, j1 - j0, 64),
                0)) { /* infinity and NaN reach only what sees them */
                dot5_any(round_up(i1 - i0, 8), j1 - j0, v + j0 * v_row, v_row, score, sum, sum_compensation);
                for (int64_t j = 0; j < j1 - j0; j++) {
                    mask_any seen[4];
                    if (finite_any(v + j0 * v_row + j * v_row, 1, 64, 1)) continue;
                    const int64_t t_52 = n_k - n_q;
                    for (int64_t i = 0; i < i1 - i0; i += 4) {
                        seen[i / 4] = __builtin_convertvector((j0 + j) <= ((i0 + i + lane_any) + t_52), mask_any);
                    }
                    add_seen_any(64, sum, 16, v + j0 * v_row + j * v_row, 1, score + j * 16, seen, i1 - i0);
                }
            } else
                dot6_any(round_up(i1 - i0, 8), j1 - j0, v + j0 * v_row, v_row, score, sum, sum_compensation);
        }
    }
    {
        for (int64_t i_next = i0, i_block = i0, i_end = i1; i_next < i_end; i_next += 16) {
            const int64_t i0 = i_next, i1 = min(i0 + 16, i_end);
            float *const row_sum = all_row_sum + (i0 - i_block) / 16 * 16;
            float *const sum = all_sum + (i0 - i_block) / 16 * 1024;
            /* result = select((row_sum + 1.0f) == 0.0f, 0.0f, sum / (row_sum + 1.0f)) */
            for (int64_t i = 0; i < i1 - i0; i += 4) {
                const vec_any t_53 = load_any(row_sum + i) + 1.0f;
                const mask_any t_54 = t_53 == 0.0f;
                for (int64_t e = 0; e < 64; e++) {
                    store_any(result + e * 16 + i, pick_any(t_54, splat_any(0.0f), load_any(sum + e * 16 + i) / t_53));
                }
            }
            /* out = result, transposed back */
            transpose_any(result, 16, 64, i1 - i0, out + i0 * out_row, out_row);
        }
    }
}

/* States begin with no key. */
APART void polysketch_learned_r64_local_begin_any(const struct call *call, int64_t task, const struct part *part,
    int64_t turn)
{
    (void)call;
    (void)task;
    const int64_t f0 = turn * 32, f1 = min(f0 + 32, 2080);
    float *const carried = (float *)(void *)(part->shared + 0); /* [f: 2080] */
    float *const carried_compensation = (float *)(void *)(part->shared + 540800); /* [f: 2080] */
    float *const carried_2 = (float *)(void *)(part->shared + 8320); /* [f: 2080, e: 64] */
    float *const carried_2_compensation = (float *)(void *)(part->shared + 549120); /* [f: 2080, e: 64] */
    /* carried = 0.0f; carried_compensation = 0.0f */
    for (int64_t f = f0; f < f1; f += 4) {
        store_any(carried + f, splat_any(0.0f));
        store_any(carried_compensation + f, splat_any(0.0f));
    }
    /* carried_2 = 0.0f; carried_2_compensation = 0.0f */
    for (int64_t f = f0; f < f1; f++) {
        for (int64_t e_first = 0; e_first < 64; e_first += 8) {
            UNROLL for (int64_t u = 0, e = e_first; u < 2; u++, e += 4) {
                store_any(carried_2 + f * 64 + e, splat_any(0.0f));
                store_any(carried_2_compensation + f * 64 + e, splat_any(0.0f));
            }
        }
    }
}

/* The keys of a chunk, summed from zero into its slot. */
APART void polysketch_learned_r64_local_keys_any(const struct call *call, int64_t task, const struct part *part,
    int64_t turn)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t n_k = call->p.n_k;
    const int64_t chunk = turn;
    const int64_t chunk0 = part->chunk0;
    const int64_t g = task % kv_heads;
    const int64_t b = task / kv_heads;
    const float *const k = call->k + b * call->p.k.batch + g * call->p.k.head;
    const int64_t k_row = call->p.k.row;
    const float *const v = call->v + b * call->p.v.batch + g * call->p.v.head;
    const int64_t v_row = call->p.v.row;
    const float *const sketch_g1_norm0_weight = call->params->sketch_g1_norm0_weight;
    const float *const sketch_g1_norm0_bias = call->params->sketch_g1_norm0_bias;
    const float *const sketch_g1_w0 = call->params->sketch_g1_w0;
    const float *const sketch_g1_w1 = call->params->sketch_g1_w1;
    const float *const sketch_g1_norm1_weight = call->params->sketch_g1_norm1_weight;
    const float *const sketch_g1_norm1_bias = call->params->sketch_g1_norm1_bias;
    const float *const sketch_g1_w2 = call->params->sketch_g1_w2;
    const float *const sketch_g1_w3 = call->params->sketch_g1_w3;
    const float *const sketch_g2_norm0_weight = call->params->sketch_g2_norm0_weight;
    const float *const sketch_g2_norm0_bias = call->params->sketch_g2_norm0_bias;
    const float *const sketch_g2_w0 = call->params->sketch_g2_w0;
    const float *const sketch_g2_w1 = call->params->sketch_g2_w1;
    const float *const sketch_g2_norm1_weight = call->params->sketch_g2_norm1_weight;
    const float *const sketch_g2_norm1_bias = call->params->sketch_g2_norm1_bias;
    const float *const sketch_g2_w2 = call->params->sketch_g2_w2;
    const float *const sketch_g2_w3 = call->params->sketch_g2_w3;
    float *const key = (float *)(void *)(part->work + 0); /* [j: 64] */
    float *const key_3 = (float *)(void *)(part->work + 256); /* [j: 64] */
    float *const key_5 = (float *)(void *)(part->work + 0); /* [j: 64] */
    float *const key_7 = (float *)(void *)(part->work + 256); /* [j: 64] */
    float *const key_9 = (float *)(void *)(part->work + 512); /* [d: 64, j: 64] */
    float *const key_10 = (float *)(void *)(part->work + 16896); /* [h: 512, j: 64] */
    float *const key_11 = (float *)(void *)(part->work + 147968); /* [h: 192, j: 64] */
    float *const key_12 = (float *)(void *)(part->work + 512); /* [r: 64, j: 64] */
    float *const key_13 = (float *)(void *)(part->work + 0); /* [j: 64] */
    float *const key_15 = (float *)(void *)(part->work + 16896); /* [j: 64] */
    float *const key_17 = (float *)(void *)(part->work + 16896); /* [h: 512, j: 64] */
    float *const key_18 = (float *)(void *)(part->work + 147968); /* [h: 192, j: 64] */
    float *const key_19 = (float *)(void *)(part->work + 512); /* [r: 64, j: 64] */
    float *const key_21 = (float *)(void *)(part->work + 16896); /* [h: 512, j: 64] */
    float *const key_22 = (float *)(void *)(part->work + 147968); /* [h: 192, j: 64] */
    float *const key_23 = (float *)(void *)(part->work + 197120); /* [r: 64, j: 64] */
    float *const key_24 = (float *)(void *)(part->work + 0); /* [j: 64] */
    float *const key_26 = (float *)(void *)(part->work + 256); /* [j: 64] */
    float *const key_28 = (float *)(void *)(part->work + 16896); /* [h: 512, j: 64] */
    float *const key_29 = (float *)(void *)(part->work + 147968); /* [h: 192, j: 64] */
    float *const key_30 = (float *)(void *)(part->work + 197120); /* [r: 64, j: 64] */
    float *const key_32 = (float *)(void *)(part->work + 16896); /* [f: 192, j: 64] */
    float *const state = (float *)(void *)(part->slots + 0); /* [chunk, f: 2080] */
    float *const state_2 = (float *)(void *)(part->slots + 8320); /* [chunk, f: 2080, e: 64] */
    float *const k_tile = (float *)(void *)(part->work + 197120); /* [d: 64, j: 64] */
    /* state = 0.0f */
    for (int64_t f = 0; f < 2080; f += 4) {
        store_any(state + (chunk - chunk0) * 135200 + f, splat_any(0.0f));
    }
    /* state_2 = 0.0f */
    for (int64_t f = 0; f < 2080; f++) {
        for (int64_t e_first = 0; e_first < 64; e_first += 8) {
            UNROLL for (int64_t u = 0, e = e_first; u < 2; u++, e += 4) {
                store_any(state_2 + (chunk - chunk0) * 135200 + f * 64 + e, splat_any(0.0f));
            }
        }
    }
    for (int64_t j0 = chunk * 256, j_end = min(n_k, (chunk + 1) * 256); j0 < j_end; j0 += 64) {
        const int64_t j1 = min(j0 + 64, j_end);
        /* k_tile = k, with zeros beyond the last row */
        transpose_any(k + j0 * k_row, k_row, j1 - j0, 64, k_tile, 64);
        for (int64_t j = j1 - j0; j < round_up(j1 - j0, 4); j++)
            for (int64_t d = 0; d < 64; d++) k_tile[d * 64 + j] = 0;
        /* key = 0.0f */
        for (int64_t j = 0; j < j1 - j0; j += 4) {
            store_any(key + j, splat_any(0.0f));
        }
        /* key += k_tile */
        for (int64_t j_first = 0; j_first < j1 - j0; j_first += 8) {
            vec_any key_in[2];
            UNROLL for (int64_t u = 0, j = j_first; u < 2; u++, j += 4) {
                key_in[u] = (vec_any){0};
            }
            for (int64_t d = 0; d < 64; d++) {
                UNROLL for (int64_t u = 0, j = j_first; u < 2; u++, j += 4) {
                    key_in[u] += load_any(k_tile + d * 64 + j);
                }
            }
            UNROLL for (int64_t u = 0, j = j_first; u < 2; u++, j += 4) {
                store_any(key + j, load_any(key + j) + key_in[u]);
            }
        }
        /* key_3 = 0.0f */
        for (int64_t j = 0; j < j1 - j0; j += 4) {
            store_any(key_3 + j, splat_any(0.0f));
        }
        /* k_tile = k_tile - (key * 0.015625f); key_3 += k_tile * k_tile */
        for (int64_t j = 0; j < j1 - j0; j += 4) {
            const vec_any t_1 = load_any(key + j) * 0.015625f;
            vec_any key_3_in = (vec_any){0};
            for (int64_t d = 0; d < 64; d++) {
                const vec_any k_tile_0 = load_any(k_tile + d * 64 + j);
                const vec_any k_tile_new2 = k_tile_0 - t_1;
                store_any(k_tile + d * 64 + j, k_tile_new2);
                key_3_in += k_tile_new2 * k_tile_new2;
            }
            store_any(key_3 + j, load_any(key_3 + j) + key_3_in);
        }
        /* key_5 = 0.0f */
        for (int64_t j = 0; j < j1 - j0; j += 4) {
            store_any(key_5 + j, splat_any(0.0f));
        }
        /* k_tile = k_tile * (1.0f / sqrt((key_3 * 0.015625f) + 1e-05f)); key_5 += k_tile */
        for (int64_t j = 0; j < j1 - j0; j += 4) {
            const vec_any t_4 = 1.0f / sqrt_any((load_any(key_3 + j) * 0.015625f) + 1e-05f);
            vec_any key_5_in = (vec_any){0};
            for (int64_t d = 0; d < 64; d++) {
                const vec_any k_tile_3 = load_any(k_tile + d * 64 + j);
                const vec_any k_tile_new5 = k_tile_3 * t_4;
                store_any(k_tile + d * 64 + j, k_tile_new5);
                key_5_in += k_tile_new5;
            }
            store_any(key_5 + j, load_any(key_5 + j) + key_5_in);
        }
        /* key_7 = 0.0f */
        for (int64_t j = 0; j < j1 - j0; j += 4) {
            store_any(key_7 + j, splat_any(0.0f));
        }
        /* k_tile = k_tile - (key_5 * 0.015625f); key_7 += k_tile * k_tile */
        for (int64_t j = 0; j < j1 - j0; j += 4) {
            const vec_any t_7 = load_any(key_5 + j) * 0.015625f;
            vec_any key_7_in = (vec_any){0};
            for (int64_t d = 0; d < 64; d++) {
                const vec_any k_tile_6 = load_any(k_tile + d * 64 + j);
                const vec_any k_tile_new8 = k_tile_6 - t_7;
                store_any(k_tile + d * 64 + j, k_tile_new8);
                key_7_in += k_tile_new8 * k_tile_new8;
            }
            store_any(key_7 + j, load_any(key_7 + j) + key_7_in);
        }
        /* key_7 = 1.0f / sqrt((key_7 * 0.015625f) + 1e-05f) */
        for (int64_t j = 0; j < j1 - j0; j += 4) {
            store_any(key_7 + j, 1.0f / sqrt_any((load_any(key_7 + j) * 0.015625f) + 1e-05f));
        }
        /* key_9 = ((k_tile * key_7) * sketch.g1.norm0.weight) + sketch.g1.norm0.bias */
        for (int64_t j = 0; j < j1 - j0; j += 4) {
            const vec_any key_7_9 = load_any(key_7 + j);
            for (int64_t d = 0; d < 64; d++) {
                store_any(key_9 + d * 64 + j, ((load_any(k_tile + d * 64 + j) * key_7_9) * sketch_g1_norm0_weight[d]) +
                    sketch_g1_norm0_bias[d]);
            }
        }
        /* key_10[h][j] = sum over d of sketch_g1_w0 * key_9 */
        dot7_any(round_up(j1 - j0, 8), sketch_g1_w0, key_9, key_10);
        /* key_12 = 0.0f */
        for (int64_t j_first = 0; j_first < j1 - j0; j_first += 8) {
            for (int64_t r = 0; r < 64; r++) {
                UNROLL for (int64_t u = 0, j = j_first; u < 2; u++, j += 4) {
                    store_any(key_12 + r * 64 + j, splat_any(0.0f));
                }
            }
        }
        for (int64_t h0 = 0, h_end = 512; h0 < h_end; h0 += 192) {
            const int64_t h1 = min(h0 + 192, h_end);
            /* key_11 = (key_10 * 0.5f) * (tanh((key_10 + (((key_10 * key_10) * key_10) * 0.044715f)) * 0.7978846f) +
               1.0f) */
            for (int64_t j = 0; j < j1 - j0; j += 4) {
                for (int64_t h = h0; h < h1; h++) {
                    const vec_any key_10_10 = load_any(key_10 + h * 64 + j);
                    store_any(key_11 + (h - h0) * 64 + j, (key_10_10 * 0.5f) * (tanh_any((key_10_10 + (((key_10_10 *
                        key_10_10) * key_10_10) * 0.044715f)) * 0.7978846f) + 1.0f));
                }
            }
            /* key_12[r][j] += sum over h of sketch_g1_w1 * key_11 */
            dot8_any(round_up(j1 - j0, 8), h1 - h0, sketch_g1_w1 + h0 * 64, key_11, key_12);
        }
        /* key_13 = 0.0f */
        for (int64_t j = 0; j < j1 - j0; j += 4) {
            store_any(key_13 + j, splat_any(0.0f));
        }
        /* key_13 += key_12 */
        for (int64_t j_first = 0; j_first < j1 - j0; j_first += 8) {
            vec_any key_13_in[2];
            UNROLL for (int64_t u = 0, j = j_first; u < 2; u++, j += 4) {
                key_13_in[u] = (vec_any){0};
            }
            for (int64_t r = 0; r < 64; r++) {
                UNROLL for (int64_t u = 0, j = j_first; u < 2; u++, j += 4) {
                    key_13_in[u] += load_any(key_12 + r * 64 + j);
                }
            }
            UNROLL for (int64_t u = 0, j = j_first; u < 2; u++, j += 4) {
                store_any(key_13 + j, load_any(key_13 + j) + key_13_in[u]);
            }
        }
        /* key_15 = 0.0f */
        for (int64_t j = 0; j < j1 - j0; j += 4) {
            store_any(key_15 + j, splat_any(0.0f));
        }
        /* key_12 = key_12 - (key_13 * 0.015625f); key_15 += key_12 * key_12 */
        for (int64_t j = 0; j < j1 - j0; j += 4) {
            const vec_any t_12 = load_any(key_13 + j) * 0.015625f;
            vec_any key_15_in = (vec_any){0};
            for (int64_t r = 0; r < 64; r++) {
                const vec_any key_12_11 = load_any(key_12 + r * 64 + j);
                const vec_any key_12_new13 = key_12_11 - t_12;
                store_any(key_12 + r * 64 + j, key_12_new13);
                key_15_in += key_12_new13 * key_12_new13;
            }
            store_any(key_15 + j, load_any(key_15 + j) + key_15_in);
        }
        /* key_12 = ((key_12 * (1.0f / sqrt((key_15 * 0.015625f) + 1e-05f))) * sketch.g1.norm1.weight) +
           sketch.g1.norm1.bias */
        for (int64_t j = 0; j < j1 - j0; j += 4) {
            const vec_any t_14 = 1.0f / sqrt_any((load_any(key_15 + j) * 0.015625f) + 1e-05f);
            for (int64_t r = 0; r < 64; r++) {
                store_any(key_12 + r * 64 + j, ((load_any(key_12 + r * 64 + j) * t_14) * sketch_g1_norm1_weight[r]) +
                    sketch_g1_norm1_bias[r]);
            }
        }
        /* key_17[h][j] = sum over r of sketch_g1_w2 * key_12 */
        dot7_any(round_up(j1 - j0, 8), sketch_g1_w2, key_12, key_17);
        /* key_19 = 0.0f */
        for (int64_t j_first = 0; j_first < j1 - j0; j_first += 8) {
            for (int64_t r = 0; r < 64; r++) {
                UNROLL for (int64_t u = 0, j = j_first; u < 2; u++, j += 4) {
                    store_any(key_19 + r * 64 + j, splat_any(0.0f));
                }
            }
        }
        {
            for (int64_t h0 = 0, h_end = 512; h0 < h_end; h0 += 192) {
                const int64_t h1 = min(h0 + 192, h_end);
                /* key_18 = (key_17 * 0.5f) * (tanh((key_17 + (((key_17 * key_17) * key_17) * 0.044715f)) * 0.7978846f)
                   + 1.0f) */
                for (int64_t j = 0; j < j1 - j0; j += 4) {
                    for (int64_t h = h0; h < h1; h++) {
                        const vec_any key_17_15 = load_any(key_17 + h * 64 + j);
                        store_any(key_18 + (h - h0) * 64 + j, (key_17_15 * 0.5f) * (tanh_any((key_17_15 + (((key_17_15 *
                            key_17_15) * key_17_15) * 0.044715f)) * 0.7978846f) + 1.0f));
                    }
                }
                /* key_19[r][j] += sum over h of sketch_g1_w3 * key_18 */
                dot8_any(round_up(j1 - j0, 8), h1 - h0, sketch_g1_w3 + h0 * 64, key_18, key_19);
            }
        }
        /* k_tile = ((k_tile * key_7) * sketch.g2.norm0.weight) + sketch.g2.norm0.bias */
        for (int64_t j = 0; j < j1 - j0; j += 4) {
            const vec_any key_7_16 = load_any(key_7 + j);
            for (int64_t d = 0; d < 64; d++) {
                store_any(k_tile + d * 64 + j, ((load_any(k_tile + d * 64 + j) * key_7_16) * sketch_g2_norm0_weight[d])
                    + sketch_g2_norm0_bias[d]);
            }
        }
        /* key_21[h][j] = sum over d of sketch_g2_w0 * k_tile */
        dot7_any(round_up(j1 - j0, 8), sketch_g2_w0, k_tile, key_21);
        /* key_23 = 0.0f */
        for (int64_t j_first = 0; j_first < j1 - j0; j_first += 8) {
            for (int64_t r = 0; r < 64; r++) {
                UNROLL for (int64_t u = 0, j = j_first; u < 2; u++, j += 4) {
                    store_any(key_23 + r * 64 + j, splat_any(0.0f));
                }
            }
        }
        {
            for (int64_t h0 = 0, h_end = 512; h0 < h_end; h0 += 192) {
                const int64_t h1 = min(h0 + 192, h_end);
                /* key_22 = (key_21 * 0.5f) * (tanh((key_21 + (((key_21 * key_21) * key_21) * 0.044715f)) * 0.7978846f)
                   + 1.0f) */
                for (int64_t j = 0; j < j1 - j0; j += 4) {
                    for (int64_t h = h0; h < h1; h++) {
                        const vec_any key_21_17 = load_any(key_21 + h * 64 + j);
                        store_any(key_22 + (h - h0) * 64 + j, (key_21_17 * 0.5f) * (tanh_any((key_21_17 + (((key_21_17 *
                            key_21_17) * key_21_17) * 0.044715f)) * 0.7978846f) + 1.0f));
                    }
                }
                /* key_23[r][j] += sum over h of sketch_g2_w1 * key_22 */
                dot8_any(round_up(j1 - j0, 8), h1 - h0, sketch_g2_w1 + h0 * 64, key_22, key_23);
            }
        }
        /* key_24 = 0.0f */
        for (int64_t j = 0; j < j1 - j0; j += 4) {
            store_any(key_24 + j, splat_any(0.0f));
        }
        /* key_24 += key_23 */
        for (int64_t j_first = 0; j_first < j1 - j0; j_first += 8) {
            vec_any key_24_in[2];
            UNROLL for (int64_t u = 0, j = j_first; u < 2; u++, j += 4) {
                key_24_in[u] = (vec_any){0};
            }
            for (int64_t r = 0; r < 64; r++) {
                UNROLL for (int64_t u = 0, j = j_first; u < 2; u++, j += 4) {
                    key_24_in[u] += load_any(key_23 + r * 64 + j);
                }
            }
            UNROLL for (int64_t u = 0, j = j_first; u < 2; u++, j += 4) {
                store_any(key_24 + j, load_any(key_24 + j) + key_24_in[u]);
            }
        }
        /* key_26 = 0.0f */
        for (int64_t j = 0; j < j1 - j0; j += 4) {
            store_any(key_26 + j, splat_any(0.0f));
        }
        /* key_23 = key_23 - (key_24 * 0.015625f); key_26 += key_23 * key_23 */
        for (int64_t j = 0; j < j1 - j0; j += 4) {
            const vec_any t_19 = load_any(key_24 + j) * 0.015625f;
            vec_any key_26_in = (vec_any){0};
            for (int64_t r = 0; r < 64; r++) {
                const vec_any key_23_18 = load_any(key_23 + r * 64 + j);
                const vec_any key_23_new20 = key_23_18 - t_19;
                store_any(key_23 + r * 64 + j, key_23_new20);
                key_26_in += key_23_new20 * key_23_new20;
            }
            store_any(key_26 + j, load_any(key_26 + j) + key_26_in);
        }
        /* key_23 = ((key_23 * (1.0f / sqrt((key_26 * 0.015625f) + 1e-05f))) * sketch.g2.norm1.weight) +
           sketch.g2.norm1.bias */
        for (int64_t j = 0; j < j1 - j0; j += 4) {
            const vec_any t_21 = 1.0f / sqrt_any((load_any(key_26 + j) * 0.015625f) + 1e-05f);
            for (int64_t r = 0; r < 64; r++) {
                store_any(key_23 + r * 64 + j, ((load_any(key_23 + r * 64 + j) * t_21) * sketch_g2_norm1_weight[r]) +
                    sketch_g2_norm1_bias[r]);
            }
        }
        /* key_28[h][j] = sum over r of sketch_g2_w2 * key_23 */
        dot7_any(round_up(j1 - j0, 8), sketch_g2_w2, key_23, key_28);
        /* key_30 = 0.0f */
        for (int64_t j_first = 0; j_first < j1 - j0; j_first += 8) {
            for (int64_t r = 0; r < 64; r++) {
                UNROLL for (int64_t u = 0, j = j_first; u < 2; u++, j += 4) {
                    store_any(key_30 + r * 64 + j, splat_any(0.0f));
                }
            }
        }
        {
            for (int64_t h0 = 0, h_end = 512; h0 < h_end; h0 += 192) {
                const int64_t h1 = min(h0 + 192, h_end);
                /* key_29 = (key_28 * 0.5f) * (tanh((key_28 + (((key_28 * key_28) * key_28) * 0.044715f)) * 0.7978846f)
                   + 1.0f) */
                for (int64_t j = 0; j < j1 - j0; j += 4) {
                    for (int64_t h = h0; h < h1; h++) {
                        const vec_any key_28_22 = load_any(key_28 + h * 64 + j);
                        store_any(key_29 + (h - h0) * 64 + j, (key_28_22 * 0.5f) * (tanh_any((key_28_22 + (((key_28_22 *
                            key_28_22) * key_28_22) * 0.044715f)) * 0.7978846f) + 1.0f));
                    }
                }
                /* key_30[r][j] += sum over h of sketch_g2_w3 * key_29 */
                dot8_any(round_up(j1 - j0, 8), h1 - h0, sketch_g2_w3 + h0 * 64, key_29, key_30);
            }
        }
        /* key_19 = tanh((key_19 * key_30) * 0.125f) * 8.0f */
        for (int64_t j = 0; j < j1 - j0; j += 4) {
            for (int64_t r = 0; r < 64; r++) {
                store_any(key_19 + r * 64 + j, tanh_any((load_any(key_19 + r * 64 + j) * load_any(key_30 + r * 64 + j))
                    * 0.125f) * 8.0f);
            }
        }
        for (int64_t f0 = 0, f_end = 2080; f0 < f_end; f0 += 192) {
            const int64_t f1 = min(f0 + 192, f_end);
            /* key_32 = key_19 * key_19 */
            for (int64_t j_first = 0; j_first < j1 - j0; j_first += 8) {
                for (int64_t f = f0; f < f1; f++) {
                    UNROLL for (int64_t u = 0, j = j_first; u < 2; u++, j += 4) {
                        store_any(key_32 + (f - f0) * 64 + j, load_any(key_19 + (f % 64) * 64 + j) * load_any(key_19 +
                            (((f % 64) + (f / 64)) % 64) * 64 + j));
                    }
                }
            }
            /* state += key_32 */
            for (int64_t f = f0; f < f1; f++) {
                vec_any lane_sums = splat_any(0);
                for (int64_t j = 0; j < j1 - j0; j += 4) {
                    const vec_any term = load_any(key_32 + (f - f0) * 64 + j);
                    lane_sums += j + 4 <= j1 - j0 ? term : pick_any(__builtin_convertvector(j + lane_any < j1 - j0,
                        mask_any), term, splat_any(0));
                }
                const float total = lane_sum_any(lane_sums);
                state[(chunk - chunk0) * 135200 + f] += total;
            }
            /* state_2[f][e] += sum over j of key_32 * v */
            dot9_any(f1 - f0, j1 - j0, key_32, v + j0 * v_row, v_row, state_2 + (chunk - chunk0) * 135200 + f0 * 64);
        }
    }
}

/* Some elements of the states take in the chunks at hand, one after the other. */
APART void polysketch_learned_r64_local_fold_any(const struct call *call, int64_t task, const struct part *part,
    int64_t turn)
{
    (void)call;
    (void)task;
    const int64_t f0 = turn * 32, f1 = min(f0 + 32, 2080);
    const int64_t chunk0 = part->chunk0;
    const int64_t chunk1 = part->chunk1;
    float *const state = (float *)(void *)(part->slots + 0); /* [chunk, f: 2080] */
    float *const state_2 = (float *)(void *)(part->slots + 8320); /* [chunk, f: 2080, e: 64] */
    float *const carried = (float *)(void *)(part->shared + 0); /* [f: 2080] */
    float *const carried_compensation = (float *)(void *)(part->shared + 540800); /* [f: 2080] */
    float *const carried_2 = (float *)(void *)(part->shared + 8320); /* [f: 2080, e: 64] */
    float *const carried_2_compensation = (float *)(void *)(part->shared + 549120); /* [f: 2080, e: 64] */
    for (int64_t chunk = chunk0; chunk < chunk1; chunk++) {
        /* before = carried; carried += state; state = before */
        for (int64_t f = f0; f < f1; f += 4) {
            const vec_any before_new23 = load_any(carried + f);
            add_any(carried + f, carried_compensation + f, load_any(state + (chunk - chunk0) * 135200 + f),
                splat_any(1));
            store_any(state + (chunk - chunk0) * 135200 + f, before_new23);
        }
        /* before_2 = carried_2; carried_2 += state_2; state_2 = before_2 */
        for (int64_t f = f0; f < f1; f++) {
            for (int64_t e_first = 0; e_first < 64; e_first += 8) {
                UNROLL for (int64_t u = 0, e = e_first; u < 2; u++, e += 4) {
                    const vec_any before_2_new24 = load_any(carried_2 + f * 64 + e);
                    add_any(carried_2 + f * 64 + e, carried_2_compensation + f * 64 + e,
                        load_any(state_2 + (chunk - chunk0) * 135200 + f * 64 + e), splat_any(1));
                    store_any(state_2 + (chunk - chunk0) * 135200 + f * 64 + e, before_2_new24);
                }
            }
        }
    }
}

/* The queries of a chunk meet the states before it, and its own keys. */
APART void polysketch_learned_r64_local_queries_any(const struct call *call, int64_t task, const struct part *part,
    int64_t turn)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_q = call->p.n_q;
    const int64_t n_k = call->p.n_k;
    const int64_t chunk = turn;
    const int64_t chunk0 = part->chunk0;
    const int64_t g = task % kv_heads;
    const int64_t b = task / kv_heads;
    const float *const q = call->q + b * call->p.q.batch + g * members * call->p.q.head;
    const int64_t q_row = call->p.q.row;
    const int64_t q_head = call->p.q.head;
    const float *const k = call->k + b * call->p.k.batch + g * call->p.k.head;
    const int64_t k_row = call->p.k.row;
    const float *const v = call->v + b * call->p.v.batch + g * call->p.v.head;
    const int64_t v_row = call->p.v.row;
    const float *const sketch_g1_norm0_weight = call->params->sketch_g1_norm0_weight;
    const float *const sketch_g1_norm0_bias = call->params->sketch_g1_norm0_bias;
    const float *const sketch_g1_w0 = call->params->sketch_g1_w0;
    const float *const sketch_g1_w1 = call->params->sketch_g1_w1;
    const float *const sketch_g1_norm1_weight = call->params->sketch_g1_norm1_weight;
    const float *const sketch_g1_norm1_bias = call->params->sketch_g1_norm1_bias;
    const float *const sketch_g1_w2 = call->params->sketch_g1_w2;
    const float *const sketch_g1_w3 = call->params->sketch_g1_w3;
    const float *const sketch_g2_norm0_weight = call->params->sketch_g2_norm0_weight;
    const float *const sketch_g2_norm0_bias = call->params->sketch_g2_norm0_bias;
    const float *const sketch_g2_w0 = call->params->sketch_g2_w0;
    const float *const sketch_g2_w1 = call->params->sketch_g2_w1;
    const float *const sketch_g2_norm1_weight = call->params->sketch_g2_norm1_weight;
    const float *const sketch_g2_norm1_bias = call->params->sketch_g2_norm1_bias;
    const float *const sketch_g2_w2 = call->params->sketch_g2_w2;
    const float *const sketch_g2_w3 = call->params->sketch_g2_w3;
    float *const state = (float *)(void *)(part->slots + 0); /* [chunk, f: 2080] */
    float *const state_2 = (float *)(void *)(part->slots + 8320); /* [chunk, f: 2080, e: 64] */
    float *const key_33 = (float *)(void *)(part->work + 0); /* [j: 64] */
    float *const key_35 = (float *)(void *)(part->work + 256); /* [j: 64] */
    float *const query = (float *)(void *)(part->work + 0); /* [i: 64] */
    float *const query_3 = (float *)(void *)(part->work + 256); /* [i: 64] */
    float *const query_5 = (float *)(void *)(part->work + 0); /* [i: 64] */
    float *const query_6 = (float *)(void *)(part->work + 256); /* [d: 64, i: 64] */
    float *const query_7 = (float *)(void *)(part->work + 16640); /* [i: 64] */
    float *const query_9 = (float *)(void *)(part->work + 16896); /* [d: 64, i: 64] */
    float *const query_10 = (float *)(void *)(part->work + 33280); /* [h: 512, i: 64] */
    float *const query_11 = (float *)(void *)(part->work + 164352); /* [h: 192, i: 64] */
    float *const query_12 = (float *)(void *)(part->work + 16896); /* [r: 64, i: 64] */
    float *const query_13 = (float *)(void *)(part->work + 0); /* [i: 64] */
    float *const query_15 = (float *)(void *)(part->work + 33280); /* [i: 64] */
    float *const query_17 = (float *)(void *)(part->work + 33280); /* [h: 512, i: 64] */
    float *const query_18 = (float *)(void *)(part->work + 164352); /* [h: 192, i: 64] */
    float *const query_19 = (float *)(void *)(part->work + 16896); /* [r: 64, i: 64] */
    float *const query_21 = (float *)(void *)(part->work + 33280); /* [h: 512, i: 64] */
    float *const query_22 = (float *)(void *)(part->work + 164352); /* [h: 192, i: 64] */
    float *const query_23 = (float *)(void *)(part->work + 0); /* [r: 64, i: 64] */
    float *const query_24 = (float *)(void *)(part->work + 16384); /* [i: 64] */
    float *const query_26 = (float *)(void *)(part->work + 16640); /* [i: 64] */
    float *const query_28 = (float *)(void *)(part->work + 33280); /* [h: 512, i: 64] */
    float *const query_29 = (float *)(void *)(part->work + 164352); /* [h: 192, i: 64] */
    float *const query_30 = (float *)(void *)(part->work + 0); /* [r: 64, i: 64] */
    float *const score = (float *)(void *)(part->work + 0); /* [j: 64, i: 64] */
    float *const query_32 = (float *)(void *)(part->work + 33280); /* [f: 192, i: 64] */
    float *const query_33 = (float *)(void *)(part->work + 16384); /* [i: 64] */
    float *const row_sum = (float *)(void *)(part->work + 16640); /* [i: 64] */
    float *const row_sum_compensation = (float *)(void *)(part->work + 82432); /* [i: 64] */
    float *const query_34 = (float *)(void *)(part->work + 82688); /* [e: 64, i: 64] */
    float *const sum = (float *)(void *)(part->work + 16896); /* [e: 64, i: 64] */
    float *const sum_compensation = (float *)(void *)(part->work + 33280); /* [e: 64, i: 64] */
    float *const out = call->out + b * call->p.out.batch + g * members * call->p.out.head;
    const int64_t out_row = call->p.out.row;
    const int64_t out_head = call->p.out.head;
    float *const q_tile = (float *)(void *)(part->work + 213504); /* [d: 64, i: 64] */
    float *const k_tile_2 = (float *)(void *)(part->work + 49664); /* [d: 64, j: 64] */
    for (int64_t m = 0; m < members; m++) {
        for (int64_t i0 = (chunk == 0) ? 0 : max(0, (chunk * 256) - (n_k - n_q)), i_end = min(n_q,
            ((chunk + 1) * 256) - (n_k - n_q)); i0 < i_end; i0 += 64) {
            const int64_t i1 = min(i0 + 64, i_end);
            /* q_tile = q, with zeros beyond the last row */
            transpose_any(q + m * q_head + i0 * q_row, q_row, i1 - i0, 64, q_tile, 64);
            for (int64_t i = i1 - i0; i < round_up(i1 - i0, 4); i++)
                for (int64_t d = 0; d < 64; d++) q_tile[d * 64 + i] = 0;
            /* query = 0.0f */
            for (int64_t i = 0; i < i1 - i0; i += 4) {
                store_any(query + i, splat_any(0.0f));
            }
            /* query += q_tile */
            for (int64_t i_first = 0; i_first < i1 - i0; i_first += 8) {
                vec_any query_in[2];
                UNROLL for (int64_t u = 0, i = i_first; u < 2; u++, i += 4) {
                    query_in[u] = (vec_any){0};
                }
                for (int64_t d = 0; d < 64; d++) {
                    UNROLL for (int64_t u = 0, i = i_first; u < 2; u++, i += 4) {
                        query_in[u] += load_any(q_tile + d * 64 + i);
                    }
                }
                UNROLL for (int64_t u = 0, i = i_first; u < 2; u++, i += 4) {
                    store_any(query + i, load_any(query + i) + query_in[u]);
                }
            }
            /* query_3 = 0.0f */
            for (int64_t i = 0; i < i1 - i0; i += 4) {
                store_any(query_3 + i, splat_any(0.0f));
            }
            /* q_tile = q_tile - (query * 0.015625f); query_3 += q_tile * q_tile */
            for (int64_t i = 0; i < i1 - i0; i += 4) {
                const vec_any t_26 = load_any(query + i) * 0.015625f;
                vec_any query_3_in = (vec_any){0};
                for (int64_t d = 0; d < 64; d++) {
                    const vec_any q_tile_25 = load_any(q_tile + d * 64 + i);
                    const vec_any q_tile_new27 = q_tile_25 - t_26;
                    store_any(q_tile + d * 64 + i, q_tile_new27);
                    query_3_in += q_tile_new27 * q_tile_new27;
                }
                store_any(query_3 + i, load_any(query_3 + i) + query_3_in);
            }
            /* query_5 = 0.0f */
            for (int64_t i = 0; i < i1 - i0; i += 4) {
                store_any(query_5 + i, splat_any(0.0f));
            }
            /* q_tile = q_tile * (1.0f / sqrt((query_3 * 0.015625f) + 1e-05f)); query_5 += q_tile */
            for (int64_t i = 0; i < i1 - i0; i += 4) {
                const vec_any t_29 = 1.0f / sqrt_any((load_any(query_3 + i) * 0.015625f) + 1e-05f);
                vec_any query_5_in = (vec_any){0};
                for (int64_t d = 0; d < 64; d++) {
                    const vec_any q_tile_28 = load_any(q_tile + d * 64 + i);
                    const vec_any q_tile_new30 = q_tile_28 * t_29;
                    store_any(q_tile + d * 64 + i, q_tile_new30);
                    query_5_in += q_tile_new30;
                }
                store_any(query_5 + i, load_any(query_5 + i) + query_5_in);
            }
            /* query_7 = 0.0f */
            for (int64_t i = 0; i < i1 - i0; i += 4) {
                store_any(query_7 + i, splat_any(0.0f));
            }
            /* query_6 = q_tile - (query_5 * 0.015625f); query_7 += query_6 * query_6 */
            for (int64_t i = 0; i < i1 - i0; i += 4) {
                const vec_any t_31 = load_any(query_5 + i) * 0.015625f;
                vec_any query_7_in = (vec_any){0};
                for (int64_t d = 0; d < 64; d++) {
                    const vec_any query_6_new32 = load_any(q_tile + d * 64 + i) - t_31;
                    store_any(query_6 + d * 64 + i, query_6_new32);
                    query_7_in += query_6_new32 * query_6_new32;
                }
                store_any(query_7 + i, load_any(query_7 + i) + query_7_in);
            }
            /* query_7 = 1.0f / sqrt((query_7 * 0.015625f) + 1e-05f) */
            for (int64_t i = 0; i < i1 - i0; i += 4) {
                store_any(query_7 + i, 1.0f / sqrt_any((load_any(query_7 + i) * 0.015625f) + 1e-05f));
            }
            /* query_9 = ((query_6 * query_7) * sketch.g1.norm0.weight) + sketch.g1.norm0.bias */
            for (int64_t i = 0; i < i1 - i0; i += 4) {
                const vec_any query_7_33 = load_any(query_7 + i);
                for (int64_t d = 0; d < 64; d++) {
                    store_any(query_9 + d * 64 + i, ((load_any(query_6 + d * 64 + i) * query_7_33) *
                        sketch_g1_norm0_weight[d]) + sketch_g1_norm0_bias[d]);
                }
            }
            /* query_10[h][i] = sum over d of sketch_g1_w0 * query_9 */
            dot7_any(round_up(i1 - i0, 8), sketch_g1_w0, query_9, query_10);
            /* query_12 = 0.0f */
            for (int64_t i_first = 0; i_first < i1 - i0; i_first += 8) {
                for (int64_t r = 0; r < 64; r++) {
                    UNROLL for (int64_t u = 0, i = i_first; u < 2; u++, i += 4) {
                        store_any(query_12 + r * 64 + i, splat_any(0.0f));
                    }
                }
            }
            for (int64_t h0 = 0, h_end = 512; h0 < h_end; h0 += 192) {
                const int64_t h1 = min(h0 + 192, h_end);
                /* query_11 = (query_10 * 0.5f) * (tanh((query_10 + (((query_10 * query_10) * query_10) * 0.044715f)) *
                   0.7978846f) + 1.0f) */
                for (int64_t i = 0; i < i1 - i0; i += 4) {
                    for (int64_t h = h0; h < h1; h++) {
                        const vec_any query_10_34 = load_any(query_10 + h * 64 + i);
                        store_any(query_11 + (h - h0) * 64 + i, (query_10_34 * 0.5f) * (tanh_any((query_10_34 +
                            (((query_10_34 * query_10_34) * query_10_34) * 0.044715f)) * 0.7978846f) + 1.0f));
                    }
                }
                /* query_12[r][i] += sum over h of sketch_g1_w1 * query_11 */
                dot8_any(round_up(i1 - i0, 8), h1 - h0, sketch_g1_w1 + h0 * 64, query_11, query_12);
            }
            /* query_13 = 0.0f */
            for (int64_t i = 0; i < i1 - i0; i += 4) {
                store_any(query_13 + i, splat_any(0.0f));
            }
            /* query_13 += query_12 */
            for (int64_t i_first = 0; i_first < i1 - i0; i_first += 8) {
                vec_any query_13_in[2];
                UNROLL for (int64_t u = 0, i = i_first; u < 2; u++, i += 4) {
                    query_13_in[u] = (vec_any){0};
                }
                for (int64_t r = 0; r < 64; r++) {
                    UNROLL for (int64_t u = 0, i = i_first; u < 2; u++, i += 4) {
                        query_13_in[u] += load_any(query_12 + r * 64 + i);
                    }
                }
                UNROLL for (int64_t u = 0, i = i_first; u < 2; u++, i += 4) {
                    store_any(query_13 + i, load_any(query_13 + i) + query_13_in[u]);
                }
            }
            /* query_15 = 0.0f */
            for (int64_t i = 0; i < i1 - i0; i += 4) {
                store_any(query_15 + i, splat_any(0.0f));
            }
            /* query_12 = query_12 - (query_13 * 0.015625f); query_15 += query_12 * query_12 */
            for (int64_t i = 0; i < i1 - i0; i += 4) {
                const vec_any t_36 = load_any(query_13 + i) * 0.015625f;
                vec_any query_15_in = (vec_any){0};
                for (int64_t r = 0; r < 64; r++) {
                    const vec_any query_12_35 = load_any(query_12 + r * 64 + i);
                    const vec_any query_12_new37 = query_12_35 - t_36;
                    store_any(query_12 + r * 64 + i, query_12_new37);
                    query_15_in += query_12_new37 * query_12_new37;
                }
                store_any(query_15 + i, load_any(query_15 + i) + query_15_in);
            }
            /* query_12 = ((query_12 * (1.0f / sqrt((query_15 * 0.015625f) + 1e-05f))) * sketch.g1.norm1.weight) +
               sketch.g1.norm1.bias */
            for (int64_t i = 0; i < i1 - i0; i += 4) {
                const vec_any t_38 = 1.0f / sqrt_any((load_any(query_15 + i) * 0.015625f) + 1e-05f);
                for (int64_t r = 0; r < 64; r++) {
                    store_any(query_12 + r * 64 + i, ((load_any(query_12 + r * 64 + i) * t_38) *
                        sketch_g1_norm1_weight[r]) + sketch_g1_norm1_bias[r]);
                }
            }
            /* query_17[h][i] = sum over r of sketch_g1_w2 * query_12 */
            dot7_any(round_up(i1 - i0, 8), sketch_g1_w2, query_12, query_17);
            /* query_19 = 0.0f */
            for (int64_t i_first = 0; i_first < i1 - i0; i_first += 8) {
                for (int64_t r = 0; r < 64; r++) {
                    UNROLL for (int64_t u = 0, i = i_first; u < 2; u++, i += 4) {
                        store_any(query_19 + r * 64 + i, splat_any(0.0f));
                    }
                }
            }
            {
                for (int64_t h0 = 0, h_end = 512; h0 < h_end; h0 += 192) {
                    const int64_t h1 = min(h0 + 192, h_end);
                    /* query_18 = (query_17 * 0.5f) * (tanh((query_17 + (((query_17 * query_17) * query_17) *
                       0.044715f)) * 0.7978846f) + 1.0f) */
                    for (int64_t i = 0; i < i1 - i0; i += 4) {
                        for (int64_t h = h0; h < h1; h++) {
                            const vec_any query_17_39 = load_any(query_17 + h * 64 + i);
                            store_any(query_18 + (h - h0) * 64 + i, (query_17_39 * 0.5f) * (tanh_any((query_17_39 +
                                (((query_17_39 * query_17_39) * query_17_39) * 0.044715f)) * 0.7978846f) + 1.0f));
                        }
                    }
                    /* query_19[r][i] += sum over h of sketch_g1_w3 * query_18 */
                    dot8_any(round_up(i1 - i0, 8), h1 - h0, sketch_g1_w3 + h0 * 64, query_18, query_19);
                }
            }
            /* query_6 = ((query_6 * query_7) * sketch.g2.norm0.weight) + sketch.g2.norm0.bias */
            for (int64_t i = 0; i < i1 - i0; i += 4) {
                const vec_any query_7_40 = load_any(query_7 + i);
                for (int64_t d = 0; d < 64; d++) {
                    store_any(query_6 + d * 64 + i, ((load_any(query_6 + d * 64 + i) * query_7_40) *
                        sketch_g2_norm0_weight[d]) + sketch_g2_norm0_bias[d]);
                }
            }
            /* query_21[h][i] = sum over d of sketch_g2_w0 * query_6 */
            dot7_any(round_up(i1 - i0, 8), sketch_g2_w0, query_6, query_21);
            /* query_23 = 0.0f */
            for (int64_t i_first = 0; i_first < i1 - i0; i_first += 8) {
                for (int64_t r = 0; r < 64; r++) {
                    UNROLL for (int64_t u = 0, i = i_first; u < 2; u++, i += 4) {
                        store_any(query_23 + r * 64 + i, splat_any(0.0f));
                    }
                }
            }
            {
                for (int64_t h0 = 0, h_end = 512; h0 < h_end; h0 += 192) {
                    const int64_t h1 = min(h0 + 192, h_end);
                    /* query_22 = (query_21 * 0.5f) * (tanh((query_21 + (((query_21 * query_21) * query_21) *
                       0.044715f)) * 0.7978846f) + 1.0f) */
                    for (int64_t i = 0; i < i1 - i0; i += 4) {
                        for (int64_t h = h0; h < h1; h++) {
                            const vec_any query_21_41 = load_any(query_21 + h * 64 + i);
                            store_any(query_22 + (h - h0) * 64 + i, (query_21_41 * 0.5f) * (tanh_any((query_21_41 +
                                (((query_21_41 * query_21_41) * query_21_41) * 0.044715f)) * 0.7978846f) + 1.0f));
                        }
                    }
                    /* query_23[r][i] += sum over h of sketch_g2_w1 * query_22 */
                    dot8_any(round_up(i1 - i0, 8), h1 - h0, sketch_g2_w1 + h0 * 64, query_22, query_23);
                }
            }
            /* query_24 = 0.0f */
            for (int64_t i = 0; i < i1 - i0; i += 4) {
                store_any(query_24 + i, splat_any(0.0f));
            }
            /* query_24 += query_23 */
            for (int64_t i_first = 0; i_first < i1 - i0; i_first += 8) {
                vec_any query_24_in[2];
                UNROLL for (int64_t u = 0, i = i_first; u < 2; u++, i += 4) {
                    query_24_in[u] = (vec_any){0};
                }
                for (int64_t r = 0; r < 64; r++) {
                    UNROLL for (int64_t u = 0, i = i_first; u < 2; u++, i += 4) {
                        query_24_in[u] += load_any(query_23 + r * 64 + i);
                    }
                }
                UNROLL for (int64_t u = 0, i = i_first; u < 2; u++, i += 4) {
                    store_any(query_24 + i, load_any(query_24 + i) + query_24_in[u]);
                }
            }
            /* query_26 = 0.0f */
            for (int64_t i = 0; i < i1 - i0; i += 4) {
                store_any(query_26 + i, splat_any(0.0f));
            }
            /* query_23 = query_23 - (query_24 * 0.015625f); query_26 += query_23 * query_23 */
            for (int64_t i = 0; i < i1 - i0; i += 4) {
                const vec_any t_43 = load_any(query_24 + i) * 0.015625f;
                vec_any query_26_in = (vec_any){0};
                for (int64_t r = 0; r < 64; r++) {
                    const vec_any query_23_42 = load_any(query_23 + r * 64 + i);
                    const vec_any query_23_new44 = query_23_42 - t_43;
                    store_any(query_23 + r * 64 + i, query_23_new44);
                    query_26_in += query_23_new44 * query_23_new44;
                }
                store_any(query_26 + i, load_any(query_26 + i) + query_26_in);
            }
            /* query_23 = ((query_23 * (1.0f / sqrt((query_26 * 0.015625f) + 1e-05f))) * sketch.g2.norm1.weight) +
               sketch.g2.norm1.bias */
            for (int64_t i = 0; i < i1 - i0; i += 4) {
                const vec_any t_45 = 1.0f / sqrt_any((load_any(query_26 + i) * 0.015625f) + 1e-05f);
                for (int64_t r = 0; r < 64; r++) {
                    store_any(query_23 + r * 64 + i, ((load_any(query_23 + r * 64 + i) * t_45) *
                        sketch_g2_norm1_weight[r]) + sketch_g2_norm1_bias[r]);
                }
            }
            /* query_28[h][i] = sum over r of sketch_g2_w2 * query_23 */
            dot7_any(round_up(i1 - i0, 8), sketch_g2_w2, query_23, query_28);
            /* query_30 = 0.0f */
            for (int64_t i_first = 0; i_first < i1 - i0; i_first += 8) {
                for (int64_t r = 0; r < 64; r++) {
                    UNROLL for (int64_t u = 0, i = i_first; u < 2; u++, i += 4) {
                        store_any(query_30 + r * 64 + i, splat_any(0.0f));
                    }
                }
            }
            {
                for (int64_t h0 = 0, h_end = 512; h0 < h_end; h0 += 192) {
                    const int64_t h1 = min(h0 + 192, h_end);
                    /* query_29 = (query_28 * 0.5f) * (tanh((query_28 + (((query_28 * query_28) * query_28) *
                       0.044715f)) * 0.7978846f) + 1.0f) */
                    for (int64_t i = 0; i < i1 - i0; i += 4) {
                        for (int64_t h = h0; h < h1; h++) {
                            const vec_any query_28_46 = load_any(query_28 + h * 64 + i);
                            store_any(query_29 + (h - h0) * 64 + i, (query_28_46 * 0.5f) * (tanh_any((query_28_46 +
                                (((query_28_46 * query_28_46) * query_28_46) * 0.044715f)) * 0.7978846f) + 1.0f));
                        }
                    }
                    /* query_30[r][i] += sum over h of sketch_g2_w3 * query_29 */
                    dot8_any(round_up(i1 - i0, 8), h1 - h0, sketch_g2_w3 + h0 * 64, query_29, query_30);
                }
            }
            /* query_19 = tanh((query_19 * query_30) * 0.125f) * 8.0f */
            for (int64_t i = 0; i < i1 - i0; i += 4) {
                for (int64_t r = 0; r < 64; r++) {
                    store_any(query_19 + r * 64 + i, tanh_any((load_any(query_19 + r * 64 + i) * load_any(query_30 + r *
                        64 + i)) * 0.125f) * 8.0f);
                }
            }
            /* query_33 = 0.0f; row_sum = 0.0f; row_sum_compensation = 0.0f */
            for (int64_t i = 0; i < i1 - i0; i += 4) {
                store_any(query_33 + i, splat_any(0.0f));
                store_any(row_sum + i, splat_any(0.0f));
                store_any(row_sum_compensation + i, splat_any(0.0f));
            }
            /* query_34 = 0.0f */
            for (int64_t i_first = 0; i_first < i1 - i0; i_first += 8) {
                for (int64_t e = 0; e < 64; e++) {
                    UNROLL for (int64_t u = 0, i = i_first; u < 2; u++, i += 4) {
                        store_any(query_34 + e * 64 + i, splat_any(0.0f));
                    }
                }
            }
            for (int64_t f0 = 0, f_end = 2080; f0 < f_end; f0 += 192) {
                const int64_t f1 = min(f0 + 192, f_end);
                /* query_32 = (query_19 * query_19) * select((f / 64) == 0, 1.0f, 2.0f); query_33 += query_32 * state */
                for (int64_t i_first = 0; i_first < i1 - i0; i_first += 8) {
                    vec_any query_33_in[2], query_33_in_whole[2];
                    UNROLL for (int64_t u = 0, i = i_first; u < 2; u++, i += 4) {
                        query_33_in[u] = (vec_any){0};
                        query_33_in_whole[u] = (vec_any){0};
                    }
                    for (int64_t f = f0; f < f1; f++) {
                        UNROLL for (int64_t u = 0, i = i_first; u < 2; u++, i += 4) {
                            const vec_any query_32_new47 = (load_any(query_19 + (f % 64) * 64 + i) * load_any(query_19 +
                                (((f % 64) + (f / 64)) % 64) * 64 + i)) * (float)(((f / 64) == 0) ? 1.0 : 2.0);
                            store_any(query_32 + (f - f0) * 64 + i, query_32_new47);
                            query_33_in[u] += query_32_new47 * (state[(chunk - chunk0) * 135200 + f]);
                            if (f % 192 == 191) {
                                query_33_in_whole[u] += query_33_in[u];
                                query_33_in[u] = (vec_any){0};
                            }
                        }
                    }
                    UNROLL for (int64_t u = 0, i = i_first; u < 2; u++, i += 4) {
                        query_33_in[u] += query_33_in_whole[u];
                        store_any(query_33 + i, load_any(query_33 + i) + query_33_in[u]);
                    }
                }
                /* query_34[e][i] += sum over f of state_2 * query_32 */
                dot8_any(round_up(i1 - i0, 8), f1 - f0, state_2 + (chunk - chunk0) * 135200 + f0 * 64, query_32,
                    query_34);
            }
            /* sum = 0.0f; sum_compensation = 0.0f */
            for (int64_t i_first = 0; i_first < i1 - i0; i_first += 8) {
                for (int64_t e = 0; e < 64; e++) {
                    UNROLL for (int64_t u = 0, i = i_first; u < 2; u++, i += 4) {
                        store_any(sum + e * 64 + i, splat_any(0.0f));
                        store_any(sum_compensation + e * 64 + i, splat_any(0.0f));
                    }
                }
            }
            for (int64_t j0 = max(0, chunk * 256), j_end = min(n_k, i1 + n_k - n_q); j0 < j_end; j0 += 64) {
                const int64_t j1 = min(j0 + 64, j_end);
                /* k_tile_2 = k, with zeros beyond the last row */
                transpose_any(k + j0 * k_row, k_row, j1 - j0, 64, k_tile_2, 64);
                for (int64_t j = j1 - j0; j < round_up(j1 - j0, 4); j++)
                    for (int64_t d = 0; d < 64; d++) k_tile_2[d * 64 + j] = 0;
                /* key_33 = 0.0f */
                for (int64_t j = 0; j < j1 - j0; j += 4) {
                    store_any(key_33 + j, splat_any(0.0f));
                }
                /* key_33 += k_tile_2 */
                for (int64_t j_first = 0; j_first < j1 - j0; j_first += 8) {
                    vec_any key_33_in[2];
                    UNROLL for (int64_t u = 0, j = j_first; u < 2; u++, j += 4) {
                        key_33_in[u] = (vec_any){0};
                    }
                    for (int64_t d = 0; d < 64; d++) {
                        UNROLL for (int64_t u = 0, j = j_first; u < 2; u++, j += 4) {
                            key_33_in[u] += load_any(k_tile_2 + d * 64 + j);
                        }
                    }
                    UNROLL for (int64_t u = 0, j = j_first; u < 2; u++, j += 4) {
                        store_any(key_33 + j, load_any(key_33 + j) + key_33_in[u]);
                    }
                }
                /* key_35 = 0.0f */
                for (int64_t j = 0; j < j1 - j0; j += 4) {
                    store_any(key_35 + j, splat_any(0.0f));
                }
                /* k_tile_2 = k_tile_2 - (key_33 * 0.015625f); key_35 += k_tile_2 * k_tile_2 */
                for (int64_t j = 0; j < j1 - j0; j += 4) {
                    const vec_any t_49 = load_any(key_33 + j) * 0.015625f;
                    vec_any key_35_in = (vec_any){0};
                    for (int64_t d = 0; d < 64; d++) {
                        const vec_any k_tile_2_48 = load_any(k_tile_2 + d * 64 + j);
                        const vec_any k_tile_2_new50 = k_tile_2_48 - t_49;
                        store_any(k_tile_2 + d * 64 + j, k_tile_2_new50);
                        key_35_in += k_tile_2_new50 * k_tile_2_new50;
                    }
                    store_any(key_35 + j, load_any(key_35 + j) + key_35_in);
                }
                /* k_tile_2 = k_tile_2 * (1.0f / sqrt((key_35 * 0.015625f) + 1e-05f)) */
                for (int64_t j = 0; j < j1 - j0; j += 4) {
                    const vec_any t_51 = 1.0f / sqrt_any((load_any(key_35 + j) * 0.015625f) + 1e-05f);
                    for (int64_t d = 0; d < 64; d++) {
                        store_any(k_tile_2 + d * 64 + j, load_any(k_tile_2 + d * 64 + j) * t_51);
                    }
                }
                /* score[j][i] = sum over d of k_tile_2 * q_tile */
                dot10_any(round_up(i1 - i0, 8), j1 - j0, k_tile_2, q_tile, score);
                /* score = (score * score) * (score * score) */
                for (int64_t i_first = 0; i_first < i1 - i0; i_first += 8) {
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        UNROLL for (int64_t u = 0, i = i_first; u < 2; u++, i += 4) {
                            const vec_any score_52 = load_any(score + j * 64 + i);
                            const vec_any t_53 = score_52 * score_52;
                            store_any(score + j * 64 + i, t_53 * t_53);
                        }
                    }
                }
                if ((j0 < (((chunk + 1) - 1) * 256)) || ((i0 + n_k - n_q + 1) < j1)) { /* the tile is not wholly inside
                    the mask */
                    /* score = select((j <= (i + (n_k - n_q))) && ((chunk * 256) <= j), score, 0.0f) */
                    const int64_t t_54 = n_k - n_q;
                    for (int64_t i = 0; i < i1 - i0; i += 4) {
                        const ints_any t_55 = (i0 + i + lane_any) + t_54;
                        for (int64_t j = 0; j < j1 - j0; j++) {
                            store_any(score + j * 64 + i, pick_any(__builtin_convertvector(((j0 + j) <= t_55) &
                                (-(int64_t)((chunk * 256) <= (j0 + j))), mask_any), load_any(score + j * 64 + i),
                                splat_any(0.0f)));
                        }
                    }
                }
                /* row_sum += score */
                for (int64_t i_first = 0; i_first < i1 - i0; i_first += 8) {
                    vec_any row_sum_in[2];
                    UNROLL for (int64_t u = 0, i = i_first; u < 2; u++, i += 4) {
                        row_sum_in[u] = (vec_any){0};
                    }
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        UNROLL for (int64_t u = 0, i = i_first; u < 2; u++, i += 4) {
                            row_sum_in[u] += load_any(score + j * 64 + i);
                        }
                    }
                    UNROLL for (int64_t u = 0, i = i_first; u < 2; u++, i += 4) {
                        add_any(row_sum + i, row_sum_compensation + i, row_sum_in[u], splat_any(1));
                    }
                }
                /* sum[e][i] += sum over j of v * score */
                if (__builtin_expect(((j0 < (((chunk + 1) - 1) * 256)) || ((i0 + n_k - n_q + 1) < j1)) && !finite_any(v
                    + j0 * v_row, v_row, j1 - j0, 64), 0)) { /* infinity and NaN reach only what sees them */
                    dot11_any(round_up(i1 - i0, 8), j1 - j0, v + j0 * v_row, v_row, score, sum, sum_compensation);
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        mask_any seen[16];
                        if (finite_any(v + j0 * v_row + j * v_row, 1, 64, 1)) continue;
                        const int64_t t_56 = n_k - n_q;
                        const int t_57 = (chunk * 256) <= (j0 + j);
                        for (int64_t i = 0; i < i1 - i0; i += 4) {
                            seen[i / 4] = __builtin_convertvector(((j0 + j) <= ((i0 + i + lane_any) + t_56)) &
                                (-(int64_t)t_57), mask_any);
                        }
                        add_seen_any(64, sum, 64, v + j0 * v_row + j * v_row, 1, score + j * 64, seen, i1 - i0);
                    }
                } else
                    dot12_any(round_up(i1 - i0, 8), j1 - j0, v + j0 * v_row, v_row, score, sum, sum_compensation);
            }
            /* sum = select(((row_sum + query_33) + 1.0f) == 0.0f, 0.0f,
               (sum + query_34) / ((row_sum + query_33) + 1.0f)) */
            for (int64_t i = 0; i < i1 - i0; i += 4) {
                const vec_any t_58 = (load_any(row_sum + i) + load_any(query_33 + i)) + 1.0f;
                const mask_any t_59 = t_58 == 0.0f;
                for (int64_t e = 0; e < 64; e++) {
                    store_any(sum + e * 64 + i, pick_any(t_59, splat_any(0.0f),
                        (load_any(sum + e * 64 + i) + load_any(query_34 + e * 64 + i)) / t_58));
                }
            }
            /* out = sum, transposed back */
            transpose_any(sum, 64, 64, i1 - i0, out + m * out_head + i0 * out_row, out_row);
        }
    }
}

/* All of a head: every thread whose part this is calls it. */
static void polysketch_learned_r64_local_linear_any(const struct call *call, int64_t task, struct part *part)
{
    const int64_t n_k = call->p.n_k;
    const int64_t chunks = n_k > 0 ? (n_k - 1) / 256 + 1 : 1;
    for (int64_t turn = part->number; turn < ((2080 + 31) / 32);
        turn += part->threads) polysketch_learned_r64_local_begin_any(call, task, part, turn);
    meet(part);
    const int64_t first = 0;
    const int64_t length = segment_length(part, chunks - first);
    for (int64_t segment = part->number; first + segment * length < chunks; segment += part->threads) {
        part->chunk0 = first + segment * length;
        part->chunk1 = min(part->chunk0 + length, chunks);
        for (int64_t turn = part->chunk0; turn < part->chunk1; turn++) polysketch_learned_r64_local_keys_any(call, task,
            part, turn);
        for (int64_t group = 0; group < 16; group++) {
            await_segment(part, group, segment);
            for (int64_t turn = group * ((2080 + 31) / 32) / 16; turn < (group + 1) * ((2080 + 31) / 32) / 16; turn++)
                polysketch_learned_r64_local_fold_any(call, task, part, turn);
            pass_segment(part, group, segment);
        }
        for (int64_t turn = part->chunk0; turn < part->chunk1; turn++) polysketch_learned_r64_local_queries_any(call,
            task, part, turn);
    }
    part->segments += (max(chunks - first, 0) + length - 1) / length;
    meet(part);
}

/* States begin with no key. */
APART void polysketch_learned_r64_local_few_begin_any(const struct call *call, int64_t task, const struct part *part,
    int64_t turn)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_q = call->p.n_q;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t r_q0 = turn * 64, r_q1 = min(r_q0 + 64, rows);
    const int64_t g = task % kv_heads;
    const int64_t b = task / kv_heads;
    const float *const q = call->q + b * call->p.q.batch + g * members * call->p.q.head;
    const int64_t q_row = call->p.q.row;
    const int64_t q_head = call->p.q.head;
    const float *const sketch_g1_norm0_weight = call->params->sketch_g1_norm0_weight;
    const float *const sketch_g1_norm0_bias = call->params->sketch_g1_norm0_bias;
    const float *const sketch_g1_w0 = call->params->sketch_g1_w0;
    const float *const sketch_g1_w1 = call->params->sketch_g1_w1;
    const float *const sketch_g1_norm1_weight = call->params->sketch_g1_norm1_weight;
    const float *const sketch_g1_norm1_bias = call->params->sketch_g1_norm1_bias;
    const float *const sketch_g1_w2 = call->params->sketch_g1_w2;
    const float *const sketch_g1_w3 = call->params->sketch_g1_w3;
    const float *const sketch_g2_norm0_weight = call->params->sketch_g2_norm0_weight;
    const float *const sketch_g2_norm0_bias = call->params->sketch_g2_norm0_bias;
    const float *const sketch_g2_w0 = call->params->sketch_g2_w0;
    const float *const sketch_g2_w1 = call->params->sketch_g2_w1;
    const float *const sketch_g2_norm1_weight = call->params->sketch_g2_norm1_weight;
    const float *const sketch_g2_norm1_bias = call->params->sketch_g2_norm1_bias;
    const float *const sketch_g2_w2 = call->params->sketch_g2_w2;
    const float *const sketch_g2_w3 = call->params->sketch_g2_w3;
    float *const query = (float *)(void *)(part->shared + 0); /* [r_q: 64] */
    float *const query_2 = (float *)(void *)(part->shared + 256); /* [d: 64, r_q: 64] */
    float *const query_3 = (float *)(void *)(part->shared + 16640); /* [r_q: 64] */
    float *const query_4 = (float *)(void *)(part->shared + 16896); /* [d: 64, r_q: 64] */
    float *const query_5 = (float *)(void *)(part->shared + 33280); /* [r_q: 64] */
    float *const query_6 = (float *)(void *)(part->shared + 33536); /* [d: 64, r_q: 64] */
    float *const query_7 = (float *)(void *)(part->shared + 49920); /* [r_q: 64] */
    float *const query_8 = (float *)(void *)(part->shared + 50176); /* [r_q: 64] */
    float *const query_9 = (float *)(void *)(part->shared + 50432); /* [d: 64, r_q: 64] */
    float *const query_10 = (float *)(void *)(part->shared + 66816); /* [h: 512, r_q: 64] */
    float *const query_11 = (float *)(void *)(part->shared + 197888); /* [h: 512, r_q: 64] */
    float *const query_12 = (float *)(void *)(part->shared + 328960); /* [r: 64, r_q: 64] */
    float *const query_13 = (float *)(void *)(part->shared + 345344); /* [r_q: 64] */
    float *const query_14 = (float *)(void *)(part->shared + 345600); /* [r: 64, r_q: 64] */
    float *const query_15 = (float *)(void *)(part->shared + 361984); /* [r_q: 64] */
    float *const query_16 = (float *)(void *)(part->shared + 362240); /* [r: 64, r_q: 64] */
    float *const query_17 = (float *)(void *)(part->shared + 378624); /* [h: 512, r_q: 64] */
    float *const query_18 = (float *)(void *)(part->shared + 509696); /* [h: 512, r_q: 64] */
    float *const query_19 = (float *)(void *)(part->shared + 640768); /* [r: 64, r_q: 64] */
    float *const query_20 = (float *)(void *)(part->shared + 657152); /* [d: 64, r_q: 64] */
    float *const query_21 = (float *)(void *)(part->shared + 673536); /* [h: 512, r_q: 64] */
    float *const query_22 = (float *)(void *)(part->shared + 804608); /* [h: 512, r_q: 64] */
    float *const query_23 = (float *)(void *)(part->shared + 935680); /* [r: 64, r_q: 64] */
    float *const query_24 = (float *)(void *)(part->shared + 952064); /* [r_q: 64] */
    float *const query_25 = (float *)(void *)(part->shared + 952320); /* [r: 64, r_q: 64] */
    float *const query_26 = (float *)(void *)(part->shared + 968704); /* [r_q: 64] */
    float *const query_27 = (float *)(void *)(part->shared + 968960); /* [r: 64, r_q: 64] */
    float *const query_28 = (float *)(void *)(part->shared + 985344); /* [h: 512, r_q: 64] */
    float *const query_29 = (float *)(void *)(part->shared + 1116416); /* [h: 512, r_q: 64] */
    float *const query_30 = (float *)(void *)(part->shared + 1247488); /* [r: 64, r_q: 64] */
    float *const query_31 = (float *)(void *)(part->shared + 1263872); /* [r: 64, r_q: 64] */
    float *const q_tile = (float *)(void *)(part->work + 0); /* [d: 64, r_q: 64] */
    /* q_tile = q, with zeros beyond the last row */
    for (int64_t r_q = 0; r_q < round_up(r_q1 - r_q0, 4); r_q++)
        for (int64_t d = 0; d < 64; d++)
            q_tile[d * 64 + r_q] = r_q < r_q1 - r_q0 ? q[r_q / n_q * q_head + r_q % n_q * q_row + d] : 0;
    /* query = 0.0f */
    for (int64_t r_q = r_q0; r_q < r_q1; r_q += 4) {
        store_any(query + r_q, splat_any(0.0f));
    }
    /* query += q_tile */
    for (int64_t r_q = r_q0; r_q < r_q1; r_q += 4) {
        vec_any query_in = (vec_any){0};
        for (int64_t d = 0; d < 64; d++) {
            query_in += load_any(q_tile + d * 64 + r_q);
        }
        store_any(query + r_q, load_any(query + r_q) + query_in);
    }
    /* query_3 = 0.0f */
    for (int64_t r_q = r_q0; r_q < r_q1; r_q += 4) {
        store_any(query_3 + r_q, splat_any(0.0f));
    }
    /* query_2 = q_tile - (query * 0.015625f); query_3 += query_2 * query_2 */
    for (int64_t r_q = r_q0; r_q < r_q1; r_q += 4) {
        const vec_any t_0 = load_any(query + r_q) * 0.015625f;
        vec_any query_3_in = (vec_any){0};
        for (int64_t d = 0; d < 64; d++) {
            const vec_any query_2_new1 = load_any(q_tile + d * 64 + r_q) - t_0;
            store_any(query_2 + d * 64 + r_q, query_2_new1);
            query_3_in += query_2_new1 * query_2_new1;
        }
        store_any(query_3 + r_q, load_any(query_3 + r_q) + query_3_in);
    }
    /* query_5 = 0.0f */
    for (int64_t r_q = r_q0; r_q < r_q1; r_q += 4) {
        store_any(query_5 + r_q, splat_any(0.0f));
    }
    /* query_4 = query_2 * (1.0f / sqrt((query_3 * 0.015625f) + 1e-05f)); query_5 += query_4 */
    for (int64_t r_q = r_q0; r_q < r_q1; r_q += 4) {
        const vec_any t_2 = 1.0f / sqrt_any((load_any(query_3 + r_q) * 0.015625f) + 1e-05f);
        vec_any query_5_in = (vec_any){0};
        for (int64_t d = 0; d < 64; d++) {
            const vec_any query_4_new3 = load_any(query_2 + d * 64 + r_q) * t_2;
            store_any(query_4 + d * 64 + r_q, query_4_new3);
            query_5_in += query_4_new3;
        }
        store_any(query_5 + r_q, load_any(query_5 + r_q) + query_5_in);
    }
    /* query_7 = 0.0f */
    for (int64_t r_q = r_q0; r_q < r_q1; r_q += 4) {
        store_any(query_7 + r_q, splat_any(0.0f));
    }
    /* query_6 = query_4 - (query_5 * 0.015625f); query_7 += query_6 * query_6 */
    for (int64_t r_q = r_q0; r_q < r_q1; r_q += 4) {
        const vec_any t_4 = load_any(query_5 + r_q) * 0.015625f;
        vec_any query_7_in = (vec_any){0};
        for (int64_t d = 0; d < 64; d++) {
            const vec_any query_6_new5 = load_any(query_4 + d * 64 + r_q) - t_4;
            store_any(query_6 + d * 64 + r_q, query_6_new5);
            query_7_in += query_6_new5 * query_6_new5;
        }
        store_any(query_7 + r_q, load_any(query_7 + r_q) + query_7_in);
    }
    /* query_8 = 1.0f / sqrt((query_7 * 0.015625f) + 1e-05f) */
    for (int64_t r_q = r_q0; r_q < r_q1; r_q += 4) {
        store_any(query_8 + r_q, 1.0f / sqrt_any((load_any(query_7 + r_q) * 0.015625f) + 1e-05f));
    }
    /* query_9 = ((query_6 * query_8) * sketch.g1.norm0.weight) + sketch.g1.norm0.bias */
    for (int64_t r_q = r_q0; r_q < r_q1; r_q += 4) {
        const vec_any query_8_6 = load_any(query_8 + r_q);
        for (int64_t d = 0; d < 64; d++) {
            store_any(query_9 + d * 64 + r_q, ((load_any(query_6 + d * 64 + r_q) * query_8_6) *
                sketch_g1_norm0_weight[d]) + sketch_g1_norm0_bias[d]);
        }
    }
    /* query_10[h][r_q] = sum over d of sketch_g1_w0 * query_9 */
    dot7_any(round_up(r_q1 - r_q0, 8), sketch_g1_w0, query_9 + r_q0, query_10 + r_q0);
    /* query_11 = (query_10 * 0.5f) * (tanh((query_10 + (((query_10 * query_10) * query_10) * 0.044715f)) * 0.7978846f)
       + 1.0f) */
    for (int64_t r_q = r_q0; r_q < r_q1; r_q += 4) {
        for (int64_t h = 0; h < 512; h++) {
            const vec_any query_10_7 = load_any(query_10 + h * 64 + r_q);
            store_any(query_11 + h * 64 + r_q, (query_10_7 * 0.5f) * (tanh_any((query_10_7 + (((query_10_7 * query_10_7)
                * query_10_7) * 0.044715f)) * 0.7978846f) + 1.0f));
        }
    }
    /* query_12[r][r_q] = sum over h of sketch_g1_w1 * query_11 */
    dot13_any(round_up(r_q1 - r_q0, 8), sketch_g1_w1, query_11 + r_q0, query_12 + r_q0);
    /* query_13 = 0.0f */
    for (int64_t r_q = r_q0; r_q < r_q1; r_q += 4) {
        store_any(query_13 + r_q, splat_any(0.0f));
    }
    /* query_13 += query_12 */
    for (int64_t r_q = r_q0; r_q < r_q1; r_q += 4) {
        vec_any query_13_in = (vec_any){0};
        for (int64_t r = 0; r < 64; r++) {
            query_13_in += load_any(query_12 + r * 64 + r_q);
        }
        store_any(query_13 + r_q, load_any(query_13 + r_q) + query_13_in);
    }
    /* query_15 = 0.0f */
    for (int64_t r_q = r_q0; r_q < r_q1; r_q += 4) {
        store_any(query_15 + r_q, splat_any(0.0f));
    }
    /* query_14 = query_12 - (query_13 * 0.015625f); query_15 += query_14 * query_14 */
    for (int64_t r_q = r_q0; r_q < r_q1; r_q += 4) {
        const vec_any t_8 = load_any(query_13 + r_q) * 0.015625f;
        vec_any query_15_in = (vec_any){0};
        for (int64_t r = 0; r < 64; r++) {
            const vec_any query_14_new9 = load_any(query_12 + r * 64 + r_q) - t_8;
            store_any(query_14 + r * 64 + r_q, query_14_new9);
            query_15_in += query_14_new9 * query_14_new9;
        }
        store_any(query_15 + r_q, load_any(query_15 + r_q) + query_15_in);
    }
    /* query_16 = ((query_14 * (1.0f / sqrt((query_15 * 0.015625f) + 1e-05f))) * sketch.g1.norm1.weight) +
       sketch.g1.norm1.bias */
    for (int64_t r_q = r_q0; r_q < r_q1; r_q += 4) {
        const vec_any t_10 = 1.0f / sqrt_any((load_any(query_15 + r_q) * 0.015625f) + 1e-05f);
        for (int64_t r = 0; r < 64; r++) {
            store_any(query_16 + r * 64 + r_q, ((load_any(query_14 + r * 64 + r_q) * t_10) * sketch_g1_norm1_weight[r])
                + sketch_g1_norm1_bias[r]);
        }
    }
    /* query_17[h][r_q] = sum over r of sketch_g1_w2 * query_16 */
    dot7_any(round_up(r_q1 - r_q0, 8), sketch_g1_w2, query_16 + r_q0, query_17 + r_q0);
    /* query_18 = (query_17 * 0.5f) * (tanh((query_17 + (((query_17 * query_17) * query_17) * 0.044715f)) * 0.7978846f)
       + 1.0f) */
    for (int64_t r_q = r_q0; r_q < r_q1; r_q += 4) {
        for (int64_t h = 0; h < 512; h++) {
            const vec_any query_17_11 = load_any(query_17 + h * 64 + r_q);
            store_any(query_18 + h * 64 + r_q, (query_17_11 * 0.5f) * (tanh_any((query_17_11 + (((query_17_11 *
                query_17_11) * query_17_11) * 0.044715f)) * 0.7978846f) + 1.0f));
        }
    }
    /* query_19[r][r_q] = sum over h of sketch_g1_w3 * query_18 */
    dot13_any(round_up(r_q1 - r_q0, 8), sketch_g1_w3, query_18 + r_q0, query_19 + r_q0);
    /* query_20 = ((query_6 * query_8) * sketch.g2.norm0.weight) + sketch.g2.norm0.bias */
    for (int64_t r_q = r_q0; r_q < r_q1; r_q += 4) {
        const vec_any query_8_12 = load_any(query_8 + r_q);
        for (int64_t d = 0; d < 64; d++) {
            store_any(query_20 + d * 64 + r_q, ((load_any(query_6 + d * 64 + r_q) * query_8_12) *
                sketch_g2_norm0_weight[d]) + sketch_g2_norm0_bias[d]);
        }
    }
    /* query_21[h][r_q] = sum over d of sketch_g2_w0 * query_20 */
    dot7_any(round_up(r_q1 - r_q0, 8), sketch_g2_w0, query_20 + r_q0, query_21 + r_q0);
    /* query_22 = (query_21 * 0.5f) * (tanh((query_21 + (((query_21 * query_21) * query_21) * 0.044715f)) * 0.7978846f)
       + 1.0f) */
    for (int64_t r_q = r_q0; r_q < r_q1; r_q += 4) {
        for (int64_t h = 0; h < 512; h++) {
            const vec_any query_21_13 = load_any(query_21 + h * 64 + r_q);
            store_any(query_22 + h * 64 + r_q, (query_21_13 * 0.5f) * (tanh_any((query_21_13 + (((query_21_13 *
                query_21_13) * query_21_13) * 0.044715f)) * 0.7978846f) + 1.0f));
        }
    }
    /* query_23[r][r_q] = sum over h of sketch_g2_w1 * query_22 */
    dot13_any(round_up(r_q1 - r_q0, 8), sketch_g2_w1, query_22 + r_q0, query_23 + r_q0);
    /* query_24 = 0.0f */
    for (int64_t r_q = r_q0; r_q < r_q1; r_q += 4) {
        store_any(query_24 + r_q, splat_any(0.0f));
    }
    /* query_24 += query_23 */
    for (int64_t r_q = r_q0; r_q < r_q1; r_q += 4) {
        vec_any query_24_in = (vec_any){0};
        for (int64_t r = 0; r < 64; r++) {
            query_24_in += load_any(query_23 + r * 64 + r_q);
        }
        store_any(query_24 + r_q, load_any(query_24 + r_q) + query_24_in);
    }
    /* query_26 = 0.0f */
    for (int64_t r_q = r_q0; r_q < r_q1; r_q += 4) {
        store_any(query_26 + r_q, splat_any(0.0f));
    }
    /* query_25 = query_23 - (query_24 * 0.015625f); query_26 += query_25 * query_25 */
    for (int64_t r_q = r_q0; r_q < r_q1; r_q += 4) {
        const vec_any t_14 = load_any(query_24 + r_q) * 0.015625f;
        vec_any query_26_in = (vec_any){0};
        for (int64_t r = 0; r < 64; r++) {
            const vec_any query_25_new15 = load_any(query_23 + r * 64 + r_q) - t_14;
            store_any(query_25 + r * 64 + r_q, query_25_new15);
            query_26_in += query_25_new15 * query_25_new15;
        }
        store_any(query_26 + r_q, load_any(query_26 + r_q) + query_26_in);
    }
    /* query_27 = ((query_25 * (1.0f / sqrt((query_26 * 0.015625f) + 1e-05f))) * sketch.g2.norm1.weight) +
       sketch.g2.norm1.bias */
    for (int64_t r_q = r_q0; r_q < r_q1; r_q += 4) {
        const vec_any t_16 = 1.0f / sqrt_any((load_any(query_26 + r_q) * 0.015625f) + 1e-05f);
        for (int64_t r = 0; r < 64; r++) {
            store_any(query_27 + r * 64 + r_q, ((load_any(query_25 + r * 64 + r_q) * t_16) * sketch_g2_norm1_weight[r])
                + sketch_g2_norm1_bias[r]);
        }
    }
    /* query_28[h][r_q] = sum over r of sketch_g2_w2 * query_27 */
    dot7_any(round_up(r_q1 - r_q0, 8), sketch_g2_w2, query_27 + r_q0, query_28 + r_q0);
    /* query_29 = (query_28 * 0.5f) * (tanh((query_28 + (((query_28 * query_28) * query_28) * 0.044715f)) * 0.7978846f)
       + 1.0f) */
    for (int64_t r_q = r_q0; r_q < r_q1; r_q += 4) {
        for (int64_t h = 0; h < 512; h++) {
            const vec_any query_28_17 = load_any(query_28 + h * 64 + r_q);
            store_any(query_29 + h * 64 + r_q, (query_28_17 * 0.5f) * (tanh_any((query_28_17 + (((query_28_17 *
                query_28_17) * query_28_17) * 0.044715f)) * 0.7978846f) + 1.0f));
        }
    }
    /* query_30[r][r_q] = sum over h of sketch_g2_w3 * query_29 */
    dot13_any(round_up(r_q1 - r_q0, 8), sketch_g2_w3, query_29 + r_q0, query_30 + r_q0);
    /* query_31 = tanh((query_19 * query_30) * 0.125f) * 8.0f */
    for (int64_t r_q = r_q0; r_q < r_q1; r_q += 4) {
        for (int64_t r = 0; r < 64; r++) {
            store_any(query_31 + r * 64 + r_q, tanh_any((load_any(query_19 + r * 64 + r_q) * load_any(query_30 + r * 64
                + r_q)) * 0.125f) * 8.0f);
        }
    }
}

/* States begin with no key. */
APART void polysketch_learned_r64_local_few_begin_2_any(const struct call *call, int64_t task, const struct part *part,
    int64_t turn)
{
    (void)task;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t r_q0 = turn * 16, r_q1 = min(r_q0 + 16, rows);
    float *const carried = (float *)(void *)(part->shared + 1280256); /* [r_q: 64] */
    float *const carried_compensation = (float *)(void *)(part->shared + 1296896); /* [r_q: 64] */
    float *const carried_2 = (float *)(void *)(part->shared + 1280512); /* [r_q: 64, e: 64] */
    float *const carried_2_compensation = (float *)(void *)(part->shared + 1297152); /* [r_q: 64, e: 64] */
    /* carried = 0.0f; carried_compensation = 0.0f */
    for (int64_t r_q = r_q0; r_q < r_q1; r_q += 4) {
        store_any(carried + r_q, splat_any(0.0f));
        store_any(carried_compensation + r_q, splat_any(0.0f));
    }
    /* carried_2 = 0.0f; carried_2_compensation = 0.0f */
    for (int64_t r_q = r_q0; r_q < r_q1; r_q++) {
        for (int64_t e_first = 0; e_first < 64; e_first += 8) {
            UNROLL for (int64_t u = 0, e = e_first; u < 2; u++, e += 4) {
                store_any(carried_2 + r_q * 64 + e, splat_any(0.0f));
                store_any(carried_2_compensation + r_q * 64 + e, splat_any(0.0f));
            }
        }
    }
}

/* The keys of a chunk, summed from zero into its slot. */
APART void polysketch_learned_r64_local_few_keys_any(const struct call *call, int64_t task, const struct part *part,
    int64_t turn)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t n_q = call->p.n_q;
    const int64_t n_k = call->p.n_k;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t chunk = turn;
    const int64_t chunk0 = part->chunk0;
    const int64_t g = task % kv_heads;
    const int64_t b = task / kv_heads;
    const float *const k = call->k + b * call->p.k.batch + g * call->p.k.head;
    const int64_t k_row = call->p.k.row;
    const float *const v = call->v + b * call->p.v.batch + g * call->p.v.head;
    const int64_t v_row = call->p.v.row;
    const float *const sketch_g1_norm0_weight = call->params->sketch_g1_norm0_weight;
    const float *const sketch_g1_norm0_bias = call->params->sketch_g1_norm0_bias;
    const float *const sketch_g1_w0 = call->params->sketch_g1_w0;
    const float *const sketch_g1_w1 = call->params->sketch_g1_w1;
    const float *const sketch_g1_norm1_weight = call->params->sketch_g1_norm1_weight;
    const float *const sketch_g1_norm1_bias = call->params->sketch_g1_norm1_bias;
    const float *const sketch_g1_w2 = call->params->sketch_g1_w2;
    const float *const sketch_g1_w3 = call->params->sketch_g1_w3;
    const float *const sketch_g2_norm0_weight = call->params->sketch_g2_norm0_weight;
    const float *const sketch_g2_norm0_bias = call->params->sketch_g2_norm0_bias;
    const float *const sketch_g2_w0 = call->params->sketch_g2_w0;
    const float *const sketch_g2_w1 = call->params->sketch_g2_w1;
    const float *const sketch_g2_norm1_weight = call->params->sketch_g2_norm1_weight;
    const float *const sketch_g2_norm1_bias = call->params->sketch_g2_norm1_bias;
    const float *const sketch_g2_w2 = call->params->sketch_g2_w2;
    const float *const sketch_g2_w3 = call->params->sketch_g2_w3;
    float *const key = (float *)(void *)(part->work + 0); /* [j: 128] */
    float *const key_3 = (float *)(void *)(part->work + 512); /* [j: 128] */
    float *const query_4 = (float *)(void *)(part->shared + 16896); /* [d: 64, r_q: 64] */
    float *const query_31 = (float *)(void *)(part->shared + 1263872); /* [r: 64, r_q: 64] */
    float *const key_5 = (float *)(void *)(part->work + 0); /* [j: 128] */
    float *const key_6 = (float *)(void *)(part->work + 512); /* [d: 64, j: 128 of 144] */
    float *const key_7 = (float *)(void *)(part->work + 37376); /* [j: 128] */
    float *const key_9 = (float *)(void *)(part->work + 37888); /* [d: 64, j: 128 of 144] */
    float *const key_10 = (float *)(void *)(part->work + 74752); /* [h: 512, j: 128 of 144] */
    float *const key_11 = (float *)(void *)(part->work + 369664); /* [h: 192, j: 128 of 144] */
    float *const key_12 = (float *)(void *)(part->work + 37888); /* [r: 64, j: 128 of 144] */
    float *const key_13 = (float *)(void *)(part->work + 0); /* [j: 128] */
    float *const key_15 = (float *)(void *)(part->work + 74752); /* [j: 128] */
    float *const key_17 = (float *)(void *)(part->work + 74752); /* [h: 512, j: 128 of 144] */
    float *const key_18 = (float *)(void *)(part->work + 369664); /* [h: 192, j: 128 of 144] */
    float *const key_19 = (float *)(void *)(part->work + 37888); /* [r: 64, j: 128 of 144] */
    float *const key_21 = (float *)(void *)(part->work + 74752); /* [h: 512, j: 128 of 144] */
    float *const key_22 = (float *)(void *)(part->work + 369664); /* [h: 192, j: 128 of 144] */
    float *const key_23 = (float *)(void *)(part->work + 0); /* [r: 64, j: 128 of 144] */
    float *const key_24 = (float *)(void *)(part->work + 36864); /* [j: 128] */
    float *const key_26 = (float *)(void *)(part->work + 37376); /* [j: 128] */
    float *const key_28 = (float *)(void *)(part->work + 74752); /* [h: 512, j: 128 of 144] */
    float *const key_29 = (float *)(void *)(part->work + 369664); /* [h: 192, j: 128 of 144] */
    float *const key_30 = (float *)(void *)(part->work + 0); /* [r: 64, j: 128 of 144] */
    float *const score = (float *)(void *)(part->work + 0); /* [r_q: 64, j: 128 of 144] */
    float *const score_2 = (float *)(void *)(part->work + 36864); /* [r_q: 64, j: 128 of 144] */
    float *const state = (float *)(void *)(part->slots + 0); /* [chunk, r_q: 64] */
    float *const state_2 = (float *)(void *)(part->slots + 256); /* [chunk, r_q: 64, e: 64] */
    float *const k_tile = (float *)(void *)(part->work + 480256); /* [d: 64, j: 128 of 144] */
    /* state = 0.0f */
    for (int64_t r_q = 0; r_q < rows; r_q += 4) {
        store_any(state + (chunk - chunk0) * 4160 + r_q, splat_any(0.0f));
    }
    /* state_2 = 0.0f */
    for (int64_t r_q = 0; r_q < rows; r_q++) {
        for (int64_t e_first = 0; e_first < 64; e_first += 8) {
            UNROLL for (int64_t u = 0, e = e_first; u < 2; u++, e += 4) {
                store_any(state_2 + (chunk - chunk0) * 4160 + r_q * 64 + e, splat_any(0.0f));
            }
        }
    }
    for (int64_t j0 = chunk * 1024, j_end = min(min(n_k, (chunk + 1) * 1024), n_q + n_k - n_q); j0 < j_end; j0 += 128) {
        const int64_t j1 = min(j0 + 128, j_end);
        /* k_tile = k, with zeros beyond the last row */
        transpose_any(k + j0 * k_row, k_row, j1 - j0, 64, k_tile, 144);
        for (int64_t j = j1 - j0; j < round_up(j1 - j0, 4); j++)
            for (int64_t d = 0; d < 64; d++) k_tile[d * 144 + j] = 0;
        /* key = 0.0f */
        for (int64_t j = 0; j < j1 - j0; j += 4) {
            store_any(key + j, splat_any(0.0f));
        }
        /* key += k_tile */
        for (int64_t j_first = 0; j_first < j1 - j0; j_first += 8) {
            vec_any key_in[2];
            UNROLL for (int64_t u = 0, j = j_first; u < 2; u++, j += 4) {
                key_in[u] = (vec_any){0};
            }
            for (int64_t d = 0; d < 64; d++) {
                UNROLL for (int64_t u = 0, j = j_first; u < 2; u++, j += 4) {
                    key_in[u] += load_any(k_tile + d * 144 + j);
                }
            }
            UNROLL for (int64_t u = 0, j = j_first; u < 2; u++, j += 4) {
                store_any(key + j, load_any(key + j) + key_in[u]);
            }
        }
        /* key_3 = 0.0f */
        for (int64_t j = 0; j < j1 - j0; j += 4) {
            store_any(key_3 + j, splat_any(0.0f));
        }
        /* k_tile = k_tile - (key * 0.015625f); key_3 += k_tile * k_tile */
        for (int64_t j = 0; j < j1 - j0; j += 4) {
            const vec_any t_19 = load_any(key + j) * 0.015625f;
            vec_any key_3_in = (vec_any){0};
            for (int64_t d = 0; d < 64; d++) {
                const vec_any k_tile_18 = load_any(k_tile + d * 144 + j);
                const vec_any k_tile_new20 = k_tile_18 - t_19;
                store_any(k_tile + d * 144 + j, k_tile_new20);
                key_3_in += k_tile_new20 * k_tile_new20;
            }
            store_any(key_3 + j, load_any(key_3 + j) + key_3_in);
        }
        /* key_5 = 0.0f */
        for (int64_t j = 0; j < j1 - j0; j += 4) {
            store_any(key_5 + j, splat_any(0.0f));
        }
        /* k_tile = k_tile * (1.0f / sqrt((key_3 * 0.015625f) + 1e-05f)); key_5 += k_tile */
        for (int64_t j = 0; j < j1 - j0; j += 4) {
            const vec_any t_22 = 1.0f / sqrt_any((load_any(key_3 + j) * 0.015625f) + 1e-05f);
            vec_any key_5_in = (vec_any){0};
            for (int64_t d = 0; d < 64; d++) {
                const vec_any k_tile_21 = load_any(k_tile + d * 144 + j);
                const vec_any k_tile_new23 = k_tile_21 * t_22;
                store_any(k_tile + d * 144 + j, k_tile_new23);
                key_5_in += k_tile_new23;
            }
            store_any(key_5 + j, load_any(key_5 + j) + key_5_in);
        }
        /* key_7 = 0.0f */
        for (int64_t j = 0; j < j1 - j0; j += 4) {
            store_any(key_7 + j, splat_any(0.0f));
        }
        /* key_6 = k_tile - (key_5 * 0.015625f); key_7 += key_6 * key_6 */
        for (int64_t j = 0; j < j1 - j0; j += 4) {
            const vec_any t_24 = load_any(key_5 + j) * 0.015625f;
            vec_any key_7_in = (vec_any){0};
            for (int64_t d = 0; d < 64; d++) {
                const vec_any key_6_new25 = load_any(k_tile + d * 144 + j) - t_24;
                store_any(key_6 + d * 144 + j, key_6_new25);
                key_7_in += key_6_new25 * key_6_new25;
            }
            store_any(key_7 + j, load_any(key_7 + j) + key_7_in);
        }
        /* key_7 = 1.0f / sqrt((key_7 * 0.015625f) + 1e-05f) */
        for (int64_t j = 0; j < j1 - j0; j += 4) {
            store_any(key_7 + j, 1.0f / sqrt_any((load_any(key_7 + j) * 0.015625f) + 1e-05f));
        }
        /* key_9 = ((key_6 * key_7) * sketch.g1.norm0.weight) + sketch.g1.norm0.bias */
        for (int64_t j = 0; j < j1 - j0; j += 4) {
            const vec_any key_7_26 = load_any(key_7 + j);
            for (int64_t d = 0; d < 64; d++) {
                store_any(key_9 + d * 144 + j, ((load_any(key_6 + d * 144 + j) * key_7_26) * sketch_g1_norm0_weight[d])
                    + sketch_g1_norm0_bias[d]);
            }
        }
        /* key_10[h][j] = sum over d of sketch_g1_w0 * key_9 */
        dot14_any(round_up(j1 - j0, 8), sketch_g1_w0, key_9, key_10);
        /* key_12 = 0.0f */
        for (int64_t j_first = 0; j_first < j1 - j0; j_first += 8) {
            for (int64_t r = 0; r < 64; r++) {
                UNROLL for (int64_t u = 0, j = j_first; u < 2; u++, j += 4) {
                    store_any(key_12 + r * 144 + j, splat_any(0.0f));
                }
            }
        }
        for (int64_t h0 = 0, h_end = 512; h0 < h_end; h0 += 192) {
            const int64_t h1 = min(h0 + 192, h_end);
            /* key_11 = (key_10 * 0.5f) * (tanh((key_10 + (((key_10 * key_10) * key_10) * 0.044715f)) * 0.7978846f) +
               1.0f) */
            for (int64_t j = 0; j < j1 - j0; j += 4) {
                for (int64_t h = h0; h < h1; h++) {
                    const vec_any key_10_27 = load_any(key_10 + h * 144 + j);
                    store_any(key_11 + (h - h0) * 144 + j, (key_10_27 * 0.5f) * (tanh_any((key_10_27 + (((key_10_27 *
                        key_10_27) * key_10_27) * 0.044715f)) * 0.7978846f) + 1.0f));
                }
            }
            /* key_12[r][j] += sum over h of sketch_g1_w1 * key_11 */
            dot15_any(round_up(j1 - j0, 8), h1 - h0, sketch_g1_w1 + h0 * 64, key_11, key_12);
        }
        /* key_13 = 0.0f */
        for (int64_t j = 0; j < j1 - j0; j += 4) {
            store_any(key_13 + j, splat_any(0.0f));
        }
        /* key_13 += key_12 */
        for (int64_t j_first = 0; j_first < j1 - j0; j_first += 8) {
            vec_any key_13_in[2];
            UNROLL for (int64_t u = 0, j = j_first; u < 2; u++, j += 4) {
                key_13_in[u] = (vec_any){0};
            }
            for (int64_t r = 0; r < 64; r++) {
                UNROLL for (int64_t u = 0, j = j_first; u < 2; u++, j += 4) {
                    key_13_in[u] += load_any(key_12 + r * 144 + j);
                }
            }
            UNROLL for (int64_t u = 0, j = j_first; u < 2; u++, j += 4) {
                store_any(key_13 + j, load_any(key_13 + j) + key_13_in[u]);
            }
        }
        /* key_15 = 0.0f */
        for (int64_t j = 0; j < j1 - j0; j += 4) {
            store_any(key_15 + j, splat_any(0.0f));
        }
        /* key_12 = key_12 - (key_13 * 0.015625f); key_15 += key_12 * key_12 */
        for (int64_t j = 0; j < j1 - j0; j += 4) {
            const vec_any t_29 = load_any(key_13 + j) * 0.015625f;
            vec_any key_15_in = (vec_any){0};
            for (int64_t r = 0; r < 64; r++) {
                const vec_any key_12_28 = load_any(key_12 + r * 144 + j);
                const vec_any key_12_new30 = key_12_28 - t_29;
                store_any(key_12 + r * 144 + j, key_12_new30);
                key_15_in += key_12_new30 * key_12_new30;
            }
            store_any(key_15 + j, load_any(key_15 + j) + key_15_in);
        }
        /* key_12 = ((key_12 * (1.0f / sqrt((key_15 * 0.015625f) + 1e-05f))) * sketch.g1.norm1.weight) +
           sketch.g1.norm1.bias */
        for (int64_t j = 0; j < j1 - j0; j += 4) {
            const vec_any t_31 = 1.0f / sqrt_any((load_any(key_15 + j) * 0.015625f) + 1e-05f);
            for (int64_t r = 0; r < 64; r++) {
                store_any(key_12 + r * 144 + j, ((load_any(key_12 + r * 144 + j) * t_31) * sketch_g1_norm1_weight[r]) +
                    sketch_g1_norm1_bias[r]);
            }
        }
        /* key_17[h][j] = sum over r of sketch_g1_w2 * key_12 */
        dot14_any(round_up(j1 - j0, 8), sketch_g1_w2, key_12, key_17);
        /* key_19 = 0.0f */
        for (int64_t j_first = 0; j_first < j1 - j0; j_first += 8) {
            for (int64_t r = 0; r < 64; r++) {
                UNROLL for (int64_t u = 0, j = j_first; u < 2; u++, j += 4) {
                    store_any(key_19 + r * 144 + j, splat_any(0.0f));
                }
            }
        }
        {
            for (int64_t h0 = 0, h_end = 512; h0 < h_end; h0 += 192) {
                const int64_t h1 = min(h0 + 192, h_end);
                /* key_18 = (key_17 * 0.5f) * (tanh((key_17 + (((key_17 * key_17) * key_17) * 0.044715f)) * 0.7978846f)
                   + 1.0f) */
                for (int64_t j = 0; j < j1 - j0; j += 4) {
                    for (int64_t h = h0; h < h1; h++) {
                        const vec_any key_17_32 = load_any(key_17 + h * 144 + j);
                        store_any(key_18 + (h - h0) * 144 + j, (key_17_32 * 0.5f) * (tanh_any((key_17_32 + (((key_17_32
                            * key_17_32) * key_17_32) * 0.044715f)) * 0.7978846f) + 1.0f));
                    }
                }
                /* key_19[r][j] += sum over h of sketch_g1_w3 * key_18 */
                dot15_any(round_up(j1 - j0, 8), h1 - h0, sketch_g1_w3 + h0 * 64, key_18, key_19);
            }
        }
        /* key_6 = ((key_6 * key_7) * sketch.g2.norm0.weight) + sketch.g2.norm0.bias */
        for (int64_t j = 0; j < j1 - j0; j += 4) {
            const vec_any key_7_33 = load_any(key_7 + j);
            for (int64_t d = 0; d < 64; d++) {
                store_any(key_6 + d * 144 + j, ((load_any(key_6 + d * 144 + j) * key_7_33) * sketch_g2_norm0_weight[d])
                    + sketch_g2_norm0_bias[d]);
            }
        }
        /* key_21[h][j] = sum over d of sketch_g2_w0 * key_6 */
        dot14_any(round_up(j1 - j0, 8), sketch_g2_w0, key_6, key_21);
        /* key_23 = 0.0f */
        for (int64_t j_first = 0; j_first < j1 - j0; j_first += 8) {
            for (int64_t r = 0; r < 64; r++) {
                UNROLL for (int64_t u = 0, j = j_first; u < 2; u++, j += 4) {
                    store_any(key_23 + r * 144 + j, splat_any(0.0f));
                }
            }
        }
        {
            for (int64_t h0 = 0, h_end = 512; h0 < h_end; h0 += 192) {
                const int64_t h1 = min(h0 + 192, h_end);
                /* key_22 = (key_21 * 0.5f) * (tanh((key_21 + (((key_21 * key_21) * key_21) * 0.044715f)) * 0.7978846f)
                   + 1.0f) */
                for (int64_t j = 0; j < j1 - j0; j += 4) {
                    for (int64_t h = h0; h < h1; h++) {
                        const vec_any key_21_34 = load_any(key_21 + h * 144 + j);
                        store_any(key_22 + (h - h0) * 144 + j, (key_21_34 * 0.5f) * (tanh_any((key_21_34 + (((key_21_34
                            * key_21_34) * key_21_34) * 0.044715f)) * 0.7978846f) + 1.0f));
                    }
                }
                /* key_23[r][j] += sum over h of sketch_g2_w1 * key_22 */
                dot15_any(round_up(j1 - j0, 8), h1 - h0, sketch_g2_w1 + h0 * 64, key_22, key_23);
            }
        }
        /* key_24 = 0.0f */
        for (int64_t j = 0; j < j1 - j0; j += 4) {
            store_any(key_24 + j, splat_any(0.0f));
        }
        /* key_24 += key_23 */
        for (int64_t j_first = 0; j_first < j1 - j0; j_first += 8) {
            vec_any key_24_in[2];
            UNROLL for (int64_t u = 0, j = j_first; u < 2; u++, j += 4) {
                key_24_in[u] = (vec_any){0};
            }
            for (int64_t r = 0; r < 64; r++) {
                UNROLL for (int64_t u = 0, j = j_first; u < 2; u++, j += 4) {
                    key_24_in[u] += load_any(key_23 + r * 144 + j);
                }
            }
            UNROLL for (int64_t u = 0, j = j_first; u < 2; u++, j += 4) {
                store_any(key_24 + j, load_any(key_24 + j) + key_24_in[u]);
            }
        }
        /* key_26 = 0.0f */
        for (int64_t j = 0; j < j1 - j0; j += 4) {
            store_any(key_26 + j, splat_any(0.0f));
        }
        /* key_23 = key_23 - (key_24 * 0.015625f); key_26 += key_23 * key_23 */
        for (int64_t j = 0; j < j1 - j0; j += 4) {
            const vec_any t_36 = load_any(key_24 + j) * 0.015625f;
            vec_any key_26_in = (vec_any){0};
            for (int64_t r = 0; r < 64; r++) {
                const vec_any key_23_35 = load_any(key_23 + r * 144 + j);
                const vec_any key_23_new37 = key_23_35 - t_36;
                store_any(key_23 + r * 144 + j, key_23_new37);
                key_26_in += key_23_new37 * key_23_new37;
            }
            store_any(key_26 + j, load_any(key_26 + j) + key_26_in);
        }
        /* key_23 = ((key_23 * (1.0f / sqrt((key_26 * 0.015625f) + 1e-05f))) * sketch.g2.norm1.weight) +
           sketch.g2.norm1.bias */
        for (int64_t j = 0; j < j1 - j0; j += 4) {
            const vec_any t_38 = 1.0f / sqrt_any((load_any(key_26 + j) * 0.015625f) + 1e-05f);
            for (int64_t r = 0; r < 64; r++) {
                store_any(key_23 + r * 144 + j, ((load_any(key_23 + r * 144 + j) * t_38) * sketch_g2_norm1_weight[r]) +
                    sketch_g2_norm1_bias[r]);
            }
        }
        /* key_28[h][j] = sum over r of sketch_g2_w2 * key_23 */
        dot14_any(round_up(j1 - j0, 8), sketch_g2_w2, key_23, key_28);
        /* key_30 = 0.0f */
        for (int64_t j_first = 0; j_first < j1 - j0; j_first += 8) {
            for (int64_t r = 0; r < 64; r++) {
                UNROLL for (int64_t u = 0, j = j_first; u < 2; u++, j += 4) {
                    store_any(key_30 + r * 144 + j, splat_any(0.0f));
                }
            }
        }
        {
            for (int64_t h0 = 0, h_end = 512; h0 < h_end; h0 += 192) {
                const int64_t h1 = min(h0 + 192, h_end);
                /* key_29 = (key_28 * 0.5f) * (tanh((key_28 + (((key_28 * key_28) * key_28) * 0.044715f)) * 0.7978846f)
                   + 1.0f) */
                for (int64_t j = 0; j < j1 - j0; j += 4) {
                    for (int64_t h = h0; h < h1; h++) {
                        const vec_any key_28_39 = load_any(key_28 + h * 144 + j);
                        store_any(key_29 + (h - h0) * 144 + j, (key_28_39 * 0.5f) * (tanh_any((key_28_39 + (((key_28_39
                            * key_28_39) * key_28_39) * 0.044715f)) * 0.7978846f) + 1.0f));
                    }
                }
                /* key_30[r][j] += sum over h of sketch_g2_w3 * key_29 */
                dot15_any(round_up(j1 - j0, 8), h1 - h0, sketch_g2_w3 + h0 * 64, key_29, key_30);
            }
        }
        /* key_19 = tanh((key_19 * key_30) * 0.125f) * 8.0f */
        for (int64_t j = 0; j < j1 - j0; j += 4) {
            for (int64_t r = 0; r < 64; r++) {
                store_any(key_19 + r * 144 + j, tanh_any((load_any(key_19 + r * 144 + j) * load_any(key_30 + r * 144 +
                    j)) * 0.125f) * 8.0f);
            }
        }
        /* score[r_q][j] = sum over r of query_31 * key_19 */
        dot16_any(round_up(j1 - j0, 8), rows, query_31, key_19, score);
        /* score_2[r_q][j] = sum over d of query_4 * k_tile */
        dot16_any(round_up(j1 - j0, 8), rows, query_4, k_tile, score_2);
        /* score = select(((((r_q % n_q) + (n_k - n_q)) - floormod((r_q % n_q) + (n_k - n_q),
           256)) / 256) == ((j - floormod(j, 256)) / 256 ... */
        for (int64_t j = 0; j < j1 - j0; j += 4) {
            const ints_any t_40 = j0 + j + lane_any;
            const ints_any r41 = t_40 % 256;
            const ints_any t_42 = (t_40 - (r41 + (((r41 != 0) & ((r41 < 0) != (256 < 0))) & 256))) / 256;
            for (int64_t r_q = 0; r_q < rows; r_q++) {
                const vec_any score_2_43 = load_any(score_2 + r_q * 144 + j);
                const vec_any t_44 = score_2_43 * score_2_43;
                const vec_any score_45 = load_any(score + r_q * 144 + j);
                store_any(score + r_q * 144 + j, pick_any(__builtin_convertvector((((r_q % n_q) + n_k - n_q -
                    floor_mod((r_q % n_q) + n_k - n_q, 256)) / 256) == t_42, mask_any), t_44 * t_44,
                    score_45 * score_45));
            }
        }
        if ((n_k - n_q + 1) < j1) { /* the tile is not wholly inside the mask */
            /* score = select(j <= ((r_q % n_q) + (n_k - n_q)), score, 0.0f) */
            for (int64_t j = 0; j < j1 - j0; j += 4) {
                const ints_any t_46 = j0 + j + lane_any;
                for (int64_t r_q = 0; r_q < rows; r_q++) {
                    store_any(score + r_q * 144 + j, pick_any(__builtin_convertvector(t_46 <= ((r_q % n_q) + n_k - n_q),
                        mask_any), load_any(score + r_q * 144 + j), splat_any(0.0f)));
                }
            }
        }
        /* state += score */
        for (int64_t r_q = 0; r_q < rows; r_q++) {
            vec_any lane_sums = splat_any(0);
            for (int64_t j = 0; j < j1 - j0; j += 4) {
                const vec_any term = load_any(score + r_q * 144 + j);
                lane_sums += j + 4 <= j1 - j0 ? term : pick_any(__builtin_convertvector(j + lane_any < j1 - j0,
                    mask_any), term, splat_any(0));
            }
            const float total = lane_sum_any(lane_sums);
            state[(chunk - chunk0) * 4160 + r_q] += total;
        }
        /* state_2[r_q][e] += sum over j of score * v */
        if (__builtin_expect(((n_k - n_q + 1) < j1) && !finite_any(v + j0 * v_row, v_row, j1 - j0, 64),
            0)) { /* infinity and NaN reach only what sees them */
            dot17_any(rows, j1 - j0, score, v + j0 * v_row, v_row, state_2 + (chunk - chunk0) * 4160);
            for (int64_t r_q = 0; r_q < rows; r_q++) {
                mask_any seen[32];
                const int64_t t_47 = (r_q % n_q) + n_k - n_q;
                for (int64_t j = 0; j < j1 - j0; j += 4) {
                    seen[j / 4] = __builtin_convertvector((j0 + j + lane_any) <= t_47, mask_any);
                }
                add_seen_lanes_any(64, state_2 + (chunk - chunk0) * 4160 + r_q * 64, score + r_q * 144, v + j0 * v_row,
                    v_row, j1 - j0, seen);
            }
        } else
            dot18_any(rows, j1 - j0, score, v + j0 * v_row, v_row, state_2 + (chunk - chunk0) * 4160);
    }
}

/* Some elements of the states take in the chunks at hand, one after the other. */
APART void polysketch_learned_r64_local_few_fold_any(const struct call *call, int64_t task, const struct part *part,
    int64_t turn)
{
    (void)task;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t r_q0 = turn * 16, r_q1 = min(r_q0 + 16, rows);
    const int64_t chunk0 = part->chunk0;
    const int64_t chunk1 = part->chunk1;
    float *const state = (float *)(void *)(part->slots + 0); /* [chunk, r_q: 64] */
    float *const state_2 = (float *)(void *)(part->slots + 256); /* [chunk, r_q: 64, e: 64] */
    float *const carried = (float *)(void *)(part->shared + 1280256); /* [r_q: 64] */
    float *const carried_compensation = (float *)(void *)(part->shared + 1296896); /* [r_q: 64] */
    float *const carried_2 = (float *)(void *)(part->shared + 1280512); /* [r_q: 64, e: 64] */
    float *const carried_2_compensation = (float *)(void *)(part->shared + 1297152); /* [r_q: 64, e: 64] */
    for (int64_t chunk = chunk0; chunk < chunk1; chunk++) {
        /* before = carried; carried += state */
        for (int64_t r_q = r_q0; r_q < r_q1; r_q += 4) {
            add_any(carried + r_q, carried_compensation + r_q, load_any(state + (chunk - chunk0) * 4160 + r_q),
                splat_any(1));
        }
        /* before_2 = carried_2; carried_2 += state_2 */
        for (int64_t r_q = r_q0; r_q < r_q1; r_q++) {
            for (int64_t e_first = 0; e_first < 64; e_first += 8) {
                UNROLL for (int64_t u = 0, e = e_first; u < 2; u++, e += 4) {
                    add_any(carried_2 + r_q * 64 + e, carried_2_compensation + r_q * 64 + e,
                        load_any(state_2 + (chunk - chunk0) * 4160 + r_q * 64 + e), splat_any(1));
                }
            }
        }
    }
}

/* A tile of queries meets the states. */
APART void polysketch_learned_r64_local_few_queries_any(const struct call *call, int64_t task, const struct part *part,
    int64_t turn)
{
    const int64_t kv_heads = call->p.kv_heads;
    const int64_t members = call->p.heads / call->p.kv_heads;
    const int64_t n_q = call->p.n_q;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t r_q0 = turn * 16, r_q1 = min(r_q0 + 16, rows);
    const int64_t g = task % kv_heads;
    const int64_t b = task / kv_heads;
    float *const carried = (float *)(void *)(part->shared + 1280256); /* [r_q: 64] */
    float *const carried_2 = (float *)(void *)(part->shared + 1280512); /* [r_q: 64, e: 64] */
    float *const result = (float *)(void *)(part->work + 0); /* [r_q: 64, e: 64] */
    float *const out = call->out + b * call->p.out.batch + g * members * call->p.out.head;
    const int64_t out_row = call->p.out.row;
    const int64_t out_head = call->p.out.head;
    /* result = select((carried + 1.0f) == 0.0f, 0.0f, carried_2 / (carried + 1.0f)) */
    for (int64_t r_q = r_q0; r_q < r_q1; r_q++) {
        for (int64_t e_first = 0; e_first < 64; e_first += 8) {
            UNROLL for (int64_t u = 0, e = e_first; u < 2; u++, e += 4) {
                const float t_48 = carried[r_q] + 1.0f;
                store_any(result + r_q * 64 + e, (t_48 == 0.0f) ? splat_any(0.0f) : load_any(carried_2 + r_q * 64 + e) /
                    t_48);
            }
        }
    }
    /* out = result */
    for (int64_t e = 0; e < 64; e++)
        for (int64_t r_q = r_q0; r_q < r_q1; r_q++)
            out[r_q / n_q * out_head + r_q % n_q * out_row + e] = result[r_q * 64 + e];
}

/* All of a head: every thread whose part this is calls it. */
static void polysketch_learned_r64_local_few_any(const struct call *call, int64_t task, struct part *part)
{
    const int64_t n_k = call->p.n_k;
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    const int64_t chunks = n_k > 0 ? (n_k - 1) / 1024 + 1 : 1;
    for (int64_t turn = part->number; turn < ((rows + 63) / 64);
        turn += part->threads) polysketch_learned_r64_local_few_begin_any(call, task, part, turn);
    for (int64_t turn = part->number; turn < ((rows + 15) / 16);
        turn += part->threads) polysketch_learned_r64_local_few_begin_2_any(call, task, part, turn);
    meet(part);
    const int64_t first = 0;
    const int64_t length = segment_length(part, chunks - first);
    for (int64_t segment = part->number; first + segment * length < chunks; segment += part->threads) {
        part->chunk0 = first + segment * length;
        part->chunk1 = min(part->chunk0 + length, chunks);
        for (int64_t turn = part->chunk0; turn < part->chunk1; turn++) polysketch_learned_r64_local_few_keys_any(call,
            task, part, turn);
        for (int64_t group = 0; group < 16; group++) {
            await_segment(part, group, segment);
            for (int64_t turn = group * ((rows + 15) / 16) / 16; turn < (group + 1) * ((rows + 15) / 16) / 16; turn++)
                polysketch_learned_r64_local_few_fold_any(call, task, part, turn);
            pass_segment(part, group, segment);
        }
    }
    part->segments += (max(chunks - first, 0) + length - 1) / length;
    meet(part);
    for (int64_t turn = part->number; turn < ((rows + 15) / 16);
        turn += part->threads) polysketch_learned_r64_local_few_queries_any(call, task, part, turn);
    meet(part);
}

/* ==== which of them this machine runs ==== */
struct version {
    void (*rows)(const struct call *, int64_t, unsigned char *);
    void (*head)(const struct call *, int64_t, struct part *); /* instead of rows */
    int64_t tile; /* queries of a task; 0: all of a key/value head, -1: all of a query head */
    size_t own;   /* bytes of workspace a thread */
    size_t shared, slot, slots; /* of the threads on a head; for a chunk; such slots that a thread brings */
    int together; /* heads that all threads work on together, 0: none, 1: those that are left over, 2: all */
};

/* By the number of keys: with more the linear form takes less work. */
/* For up to some rows, the queries of all heads that share keys, keys are in the lanes. */
static struct version version(int64_t n_k, int64_t rows)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl")) {
        if (n_k >= 867 && rows <= 64) return (struct version){.head = polysketch_learned_r64_local_few_v4, .tile = 0,
            .own = 517120, .shared = 1313536, .slot = 16640, .slots = 1, .together = 1};
        if (n_k >= 867) return (struct version){.head = polysketch_learned_r64_local_linear_v4, .tile = 0,
            .own = 229888, .shared = 1081600, .slot = 540800, .slots = 1, .together = 1};
        if (rows <= 64) return (struct version){.head = polysketch_learned_r64_local_few_v4, .tile = 0, .own = 517120,
            .shared = 1313536, .slot = 16640, .slots = 1, .together = 1};
        return (struct version){.rows = polysketch_learned_r64_local_rows_v4, .tile = 256, .own = 617216};
    }
#endif
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
        if (n_k >= 867 && rows <= 64) return (struct version){.head = polysketch_learned_r64_local_few_v3, .tile = 0,
            .own = 517120, .shared = 1313536, .slot = 16640, .slots = 1, .together = 1};
        if (n_k >= 867) return (struct version){.head = polysketch_learned_r64_local_linear_v3, .tile = 0,
            .own = 229888, .shared = 1081600, .slot = 540800, .slots = 1, .together = 1};
        if (rows <= 64) return (struct version){.head = polysketch_learned_r64_local_few_v3, .tile = 0, .own = 517120,
            .shared = 1313536, .slot = 16640, .slots = 1, .together = 1};
        return (struct version){.rows = polysketch_learned_r64_local_rows_v3, .tile = 256, .own = 613120};
    }
#endif
    if (n_k >= 867 && rows <= 64) return (struct version){.head = polysketch_learned_r64_local_few_any, .tile = 0,
        .own = 517120, .shared = 1313536, .slot = 16640, .slots = 1, .together = 1};
    if (n_k >= 867) return (struct version){.head = polysketch_learned_r64_local_linear_any, .tile = 0, .own = 229888,
        .shared = 1081600, .slot = 540800, .slots = 1, .together = 1};
    if (rows <= 64) return (struct version){.head = polysketch_learned_r64_local_few_any, .tile = 0, .own = 517120,
        .shared = 1313536, .slot = 16640, .slots = 1, .together = 1};
    return (struct version){.rows = polysketch_learned_r64_local_rows_any, .tile = 128, .own = 481024};
}

enum { MANY_ROWS = 1 << 30 };

/* The rows of a problem; where there are many queries, or where what is saved of each has its place, MANY_ROWS. */
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
/* OpenMP's default may change between the call of _workspace and that of _forward, or be another in the thread that
   makes it. So the workspace serves at least as many threads as there are processors, and what it is not known to serve
   more than that is not run on more. */
static size_t threads_served(const struct attn_problem *p)
{
    if (p->threads > 0) return (size_t)p->threads;
#ifdef _OPENMP
    return (size_t)max(omp_get_max_threads(), omp_get_num_procs());
#else
    return 1;
#endif
}

static int thread_count(const struct attn_problem *p, size_t workspace_bytes, size_t bytes_a_thread)
{
    if (p->threads > 0) return p->threads;
#ifdef _OPENMP
    const int64_t served = (int64_t)(workspace_bytes / bytes_a_thread);
    return (int)min(omp_get_max_threads(), max(omp_get_num_procs(), served));
#else
    (void)workspace_bytes;
    (void)bytes_a_thread;
    return 1;
#endif
}

/* The part of thread `number` of `there` in what they do together, in the workspace of the `threads` that were asked
   for. */
static void together(const struct version *v, int threads, int number, int there, unsigned char *workspace,
    struct part *part)
{
    const size_t all = (size_t)threads;
    part->number = number;
    part->threads = there;
    part->segments = 0;
    part->work = workspace + (size_t)number * v->own;
    part->shared = workspace + all * v->own;
    part->window = (int64_t)(((all - 1) * v->shared + all * v->slots * v->slot) / v->slot) / part->threads;
    part->slots = part->shared + v->shared + (size_t)(number * part->window) * v->slot;
}

size_t polysketch_learned_r64_local_params_size(void)
{
    return 0;
}

int polysketch_learned_r64_local_params_init(struct polysketch_learned_r64_local_params *params, uint64_t seed,
    void *storage)
{
    (void)seed;
    (void)storage;
    if (!params) return ATTN_EPOINTER;
    *params = (struct polysketch_learned_r64_local_params){0};
    return 0;
}

/* The most of all that runs for n_k keys or fewer, however many queries there are. */
static size_t max_bytes_a_thread(int64_t n_k)
{
    static const int64_t from[] = {0, 867};
    size_t bytes = 0;
    for (size_t k = 0; k < sizeof from / sizeof *from; k++) {
        const struct version few = version(from[k], 0), v = version(from[k], MANY_ROWS);
        if ((k == 0 || from[k] <= n_k) && bytes_a_thread(&few) > bytes) bytes = bytes_a_thread(&few);
        if ((k == 0 || from[k] <= n_k) && bytes_a_thread(&v) > bytes) bytes = bytes_a_thread(&v);
    }
    return bytes;
}

size_t polysketch_learned_r64_local_workspace(const struct attn_problem *problem)
{
    if (!problem) return 0;
    return max_bytes_a_thread(problem->n_k) * threads_served(problem);
}

/* Whether this machine runs it. */
static int runs(const struct version *v)
{
    return v->rows || v->head;
}

/* A call at work. */
struct work {
    const struct call *call;
    const struct version *this;
    int64_t tasks, alone; /* after these, all threads work on one head together */
    int threads;          /* that were asked for; there may be fewer */
    int there;            /* that have come so far */
    int64_t next;         /* the first task that none has taken */
    unsigned char *workspace;
    size_t bytes; /* of it, a thread's */
    _Alignas(64) int64_t folded[16 * NUMBERS_OF_LINE];
};

/* Threads number themselves: omp_get_thread_num may be of another OpenMP library than they are. */
INLINE int take_number(struct work *w) { return __atomic_fetch_add(&w->there, 1, __ATOMIC_RELAXED); }
INLINE int64_t take_task(struct work *w) { return __atomic_fetch_add(&w->next, 1, __ATOMIC_RELAXED); }

/* Calls `on`, which takes a struct work, in all threads at once. */
static void in_threads(struct work *w, void (*on)(void *work))
{
    const struct attn_team *const team = w->call->p.team;
    if (w->threads == 1)
        on(w);
    else if (team)
        team->run(on, w, (unsigned)w->threads, 0);
    else {
#ifdef _OPENMP
#pragma omp parallel num_threads(w->threads)
#endif
        on(w);
    }
}

static void work_on(void *work)
{
    struct work *const w = (struct work *)work;
    const struct version *const this = w->this;
    const int number = take_number(w);
    unsigned char *const own = w->workspace + (size_t)number * w->bytes;
    struct part part = {.threads = 1, .window = 1, .work = own, .shared = own + this->own,
        .slots = own + this->own + this->shared, .folded = w->folded, .team = w->call->p.team};
    for (int64_t task; (task = take_task(w)) < w->alone;) {
        if (this->head)
            this->head(w->call, task, &part);
        else
            this->rows(w->call, task, own);
    }
    if (!this->head || w->alone == w->tasks) return;
    part.threads = w->threads;
    meet(&part); /* all have arrived, and none uses its own part of the workspace any more */
    together(this, w->threads, number, w->there, w->workspace, &part);
    for (int64_t task = w->alone; task < w->tasks; task++) this->head(w->call, task, &part);
}

/* Runs all tasks of a call; a thread has `bytes` bytes of the workspace. */
static int run(const struct call *call, const struct version *this, int threads, unsigned char *workspace, size_t bytes)
{
    const struct attn_problem *const p = &call->p;
    struct work work = {.call = call, .this = this, .threads = threads, .workspace = workspace, .bytes = bytes};
    const int64_t heads = this->tile == 0 ? p->kv_heads : p->heads, positions = p->n_q;
    int64_t tasks = p->batch * heads;
    tasks *= this->tile > 0 ? (positions + this->tile - 1) / this->tile : 1;
    work.tasks = work.alone = tasks;
    if (this->head && this->together) work.alone = this->together > 1 ? 0 : tasks / threads * threads;
    in_threads(&work, work_on);
    return 0;
}

int polysketch_learned_r64_local_forward(const struct attn_problem *problem,
    const struct polysketch_learned_r64_local_params *params, const float *q, const float *k, const float *v,
    float *out, void *workspace)
{
    if (!problem) return ATTN_EPOINTER;
    struct call call = {.params = params, .q = q, .k = k, .v = v, .out = out};
    const int error = attn_problem_check(problem, 64, 64, &call.p);
    if (error) return error;
    if (call.p.batch == 0 || call.p.heads == 0 || call.p.n_q == 0) return 0;
    if (!q || !out || !workspace || (call.p.n_k > 0 && (!k || !v))) return ATTN_EPOINTER;
    if (!params || !params->sketch_g1_norm0_weight || !params->sketch_g1_norm0_bias || !params->sketch_g1_w0 ||
        !params->sketch_g1_w1 || !params->sketch_g1_norm1_weight || !params->sketch_g1_norm1_bias ||
        !params->sketch_g1_w2 || !params->sketch_g1_w3 || !params->sketch_g2_norm0_weight ||
        !params->sketch_g2_norm0_bias || !params->sketch_g2_w0 || !params->sketch_g2_w1 ||
        !params->sketch_g2_norm1_weight || !params->sketch_g2_norm1_bias || !params->sketch_g2_w2 ||
        !params->sketch_g2_w3) return ATTN_EPARAM;
    if ((uintptr_t)workspace % 64) return ATTN_EALIGN;
    const struct version this = version(call.p.n_k, rows_of(&call.p));
    if (!runs(&this)) return ATTN_EMACHINE;
    const size_t given = problem->workspace_bytes, bytes = bytes_a_thread(&this);
    const size_t max_bytes = max_bytes_a_thread(call.p.n_k);
    const int threads = thread_count(problem, given, max_bytes);
    if (given && given < max_bytes * (size_t)threads) return ATTN_EWORKSPACE;
    return run(&call, &this, threads, (unsigned char *)workspace, bytes);
}

static const struct attn_param param[] = {
    {"sketch.g1.norm0.weight", ATTN_F32, 1, {64}, offsetof(struct polysketch_learned_r64_local_params,
        sketch_g1_norm0_weight), 0},
    {"sketch.g1.norm0.bias", ATTN_F32, 1, {64}, offsetof(struct polysketch_learned_r64_local_params,
        sketch_g1_norm0_bias), 0},
    {"sketch.g1.w0", ATTN_F32, 2, {64, 512}, offsetof(struct polysketch_learned_r64_local_params, sketch_g1_w0), 0},
    {"sketch.g1.w1", ATTN_F32, 2, {512, 64}, offsetof(struct polysketch_learned_r64_local_params, sketch_g1_w1), 0},
    {"sketch.g1.norm1.weight", ATTN_F32, 1, {64}, offsetof(struct polysketch_learned_r64_local_params,
        sketch_g1_norm1_weight), 0},
    {"sketch.g1.norm1.bias", ATTN_F32, 1, {64}, offsetof(struct polysketch_learned_r64_local_params,
        sketch_g1_norm1_bias), 0},
    {"sketch.g1.w2", ATTN_F32, 2, {64, 512}, offsetof(struct polysketch_learned_r64_local_params, sketch_g1_w2), 0},
    {"sketch.g1.w3", ATTN_F32, 2, {512, 64}, offsetof(struct polysketch_learned_r64_local_params, sketch_g1_w3), 0},
    {"sketch.g2.norm0.weight", ATTN_F32, 1, {64}, offsetof(struct polysketch_learned_r64_local_params,
        sketch_g2_norm0_weight), 0},
    {"sketch.g2.norm0.bias", ATTN_F32, 1, {64}, offsetof(struct polysketch_learned_r64_local_params,
        sketch_g2_norm0_bias), 0},
    {"sketch.g2.w0", ATTN_F32, 2, {64, 512}, offsetof(struct polysketch_learned_r64_local_params, sketch_g2_w0), 0},
    {"sketch.g2.w1", ATTN_F32, 2, {512, 64}, offsetof(struct polysketch_learned_r64_local_params, sketch_g2_w1), 0},
    {"sketch.g2.norm1.weight", ATTN_F32, 1, {64}, offsetof(struct polysketch_learned_r64_local_params,
        sketch_g2_norm1_weight), 0},
    {"sketch.g2.norm1.bias", ATTN_F32, 1, {64}, offsetof(struct polysketch_learned_r64_local_params,
        sketch_g2_norm1_bias), 0},
    {"sketch.g2.w2", ATTN_F32, 2, {64, 512}, offsetof(struct polysketch_learned_r64_local_params, sketch_g2_w2), 0},
    {"sketch.g2.w3", ATTN_F32, 2, {512, 64}, offsetof(struct polysketch_learned_r64_local_params, sketch_g2_w3), 0},
};

static int params_init_any(void *params, uint64_t seed, void *storage)
{
    return polysketch_learned_r64_local_params_init((struct polysketch_learned_r64_local_params *)params, seed,
        storage);
}

static int forward_any(const struct attn_problem *problem, const void *params, const void *q, const void *k,
    const void *v, void *out, void *workspace)
{
    return polysketch_learned_r64_local_forward(problem, (const struct polysketch_learned_r64_local_params *)params,
        (const float *)q, (const float *)k, (const float *)v, (float *)out, workspace);
}


const struct attn_kernel polysketch_learned_r64_local_kernel = {
    .name = "polysketch_learned_r64_local", .version = "0.1.0", .dtype = ATTN_F32, .head_dim = 64, .value_dim = 64,
    .params = 16, .param = param, .params_bytes = sizeof(struct polysketch_learned_r64_local_params),
    .params_size = polysketch_learned_r64_local_params_size, .params_init = params_init_any,
        .workspace = polysketch_learned_r64_local_workspace,
    .forward = forward_any,
};
