/* hedgehog.c, made by attnc 0.1.0: attnc hedgehog.yaml
   C11 with GNU extensions, for a C compiler; C++ includes hedgehog.h.
   Hedgehog attention, a learned feature map that mimics the softmax
   Zhang et al., The Hedgehog and the Porcupine (2024), section 4

   What it computes, over axes b (batch), g (key/value head), m (query head of g), i (query), j (key):
     graph hedgehog f32
     axis b batch
     axis g kv_heads
     axis m members
     axis i n_q
     axis j n_k
     axis d 64
     axis e 64
     axis c 64
     %0 = input q [b g m i d]
     %1 = input k [b g j d]
     %2 = input v [b g j e]
     %3 = param features.wq [g m d c]
     %4 = contract [b g m i c] %0 %3
     %5 = reduce max -inf [b g m i] %4
     %6 = map [b g m i c] exp(sub(%4, %5))
     %7 = reduce sum 0 [b g m i] %6
     %8 = map [b g m i c] div(%6, %7)
     %9 = map [b g m i c] neg(%4)
     %10 = reduce max -inf [b g m i] %9
     %11 = map [b g m i c] exp(sub(%9, %10))
     %12 = reduce sum 0 [b g m i] %11
     %13 = map [b g m i c] div(%11, %12)
     %14 = param features.wk [g d c]
     %15 = contract [b g j c] %1 %14
     %16 = reduce max -inf [b g j] %15
     %17 = map [b g j c] exp(sub(%15, %16))
     %18 = reduce sum 0 [b g j] %17
     %19 = map [b g j c] div(%17, %18)
     %20 = map [b g j c] neg(%15)
     %21 = reduce max -inf [b g j] %20
     %22 = map [b g j c] exp(sub(%20, %21))
     %23 = reduce sum 0 [b g j] %22
     %24 = map [b g j c] div(%22, %23)
     %25 = contract [b g m i j] %8 %19
     %26 = contract [b g m i j] %13 %24
     %27 = map [b g m i j] add(%25, %26)
     %28 = reduce sum 0 [b g m i] %27 where le(j, add(i, sub(size(j), size(i))))
     %29 = contract [b g m i e] %27 %2 where le(j, add(i, sub(size(j), size(i))))
     %30 = map [b g m i e] select(eq(%28, 0.0), 0.0, div(%29, %28))
     output %30

   How: a tile of queries, one to a lane, meets the keys tile by tile, so that sums over keys and the running
   maximum need no step across lanes. Sums over a tile of keys start from zero and are added to what came before.
   Keys that no query of the tile sees are skipped.
   Linear from 253 keys on: the weight is an inner product of 128 features,
   whose sum over keys is a state of 128 x 65 numbers that queries meet.
     x86-64-v4  quadratic tiles of 32 queries and 96 keys, in blocks of 256 queries; 342272 bytes of workspace a thread
     x86-64-v4  linear    tiles of 32 queries and 32 keys; 261888 bytes of workspace a thread
     x86-64-v3  quadratic tiles of 16 queries and 96 keys, in blocks of 256 queries; 327808 bytes of workspace a thread
     x86-64-v3  linear    tiles of 32 queries and 32 keys; 261888 bytes of workspace a thread
     generic    quadratic tiles of 16 queries and 96 keys, in blocks of 128 queries; 195712 bytes of workspace a thread
     generic    linear    tiles of 32 queries and 32 keys; 261888 bytes of workspace a thread
   Compile with: cc -O2 -fopenmp hedgehog.c … -lattnrt -lm */
#ifdef __cplusplus
#error "hedgehog.c is C, not C++: a C compiler has to compile it"
#endif
#include "hedgehog.h"

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
    const struct hedgehog_params *params;
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

TARGET_v4 INLINE vec_v4 max_v4(vec_v4 a, vec_v4 b) { return pick_v4((mask_v4)(a < b), b, a); }

/* 2^x; off by less than 1e-8 of the value. 0 below -126.0f, as numbers without a leading 1 are slow on many
   machines; NaN stays. */
TARGET_v4 INLINE vec_v4 exp2_v4(vec_v4 x)
{
    vec_v4 f, y;
    uint16_t normal;
    __asm__("vcmpps $0x15, %2, %1, %0" : "=Yk"(normal) : "v"(x), "v"(splat_v4(-126.0f))); /* not less */
    __asm__("vreduceps $0, %1, %0" : "=v"(f) : "v"(x)); /* x without the nearest integer, 0 for infinity */
    vec_v4 p = f * 0.00015453163f + 0.0013390863f;
    p = p * f + 0.0096180826f;
    p = p * f + 0.055503571f;
    p = p * f + 0.24022651f;
    p = p * f + 0.69314719f;
    p = p * f + 1.0f;
    __asm__("vscalefps %2, %1, %0%{%3%}%{z%}" : "=v"(y) : "v"(p), "v"(x - f), "Yk"(normal)); /* p * 2^(x - f) */
    return y;
}

/* e^x, as 2^n 2^f with f from a remainder in two parts. NaN stays. */
TARGET_v4 INLINE vec_v4 exp_v4(vec_v4 x)
{
    x = pick_v4((mask_v4)(x < -89.0f), splat_v4(-89.0f), x);
    x = pick_v4((mask_v4)(x > 89.0f), splat_v4(89.0f), x);
    const vec_v4 t = x * 1.44269504f + 12582912.0f, n = t - 12582912.0f;
    const vec_v4 r = (x - n * 0.693145751953125f) - n * 1.4286068203094172e-06f;
    return exp2_v4(r * 1.44269504f) * exp2_v4(n);
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

/* c[r][x] = sum over t of a[r][t] * b[t][x] for up to 6 rows and `vectors` vectors of x, the sums in registers;
   `then` says what becomes of c: 0 the sum, 1 c + sum, 2 c * factor[x] + sum, 3 the same with a compensation.
   `early`, where it is there: how many rows ahead a row of b is asked for at each step, or 0: none is.
   Not all at once, for a core can have only a few lines under way. */
TARGET_v4 INLINE void block_v4(const int rows, const int vectors, int64_t steps, const float *a, int64_t a_row,
    int64_t a_step,
    const float *b, int64_t b_step, float *c, int64_t c_row, const int then,
    const float *factor, float *compensation)
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

/* The same; where it sets the sum, more than 2 * `part` terms are summed in parts of `part`: rounding grows with the
   length of one. */
TARGET_v4 INLINE void parts_v4(const int rows, const int vectors, int64_t steps, const int64_t part, const float *a,
    int64_t a_row, int64_t a_step, const float *b, int64_t b_step, float *c, int64_t c_row, const int then,
    const float *factor, float *compensation)
{
    const int64_t first = then == 0 && steps > 2 * part ? part : steps;
    block_v4(rows, vectors, first, a, a_row, a_step, b, b_step, c, c_row, then,
        factor, compensation);
    if (then == 0)
        for (int64_t t = first; t < steps; t += part)
            block_v4(rows, vectors, min(part, steps - t), a + t * a_step, a_row, a_step, b + t * b_step, b_step, c,
                c_row, 1, NULL, NULL);
}

/* The same for any number of rows and `lanes` lanes, a multiple of `vectors` vectors; `odd`: rows % 6 if that is
   constant, else -1. */
TARGET_v4 INLINE void dot_v4(const int vectors, const int64_t lanes, int64_t rows, const int odd, int64_t steps,
    const int64_t part, const float *a, int64_t a_row, int64_t a_step, const float *b, int64_t b_step, float *c,
        int64_t c_row,
    const int then, const float *factor, float *compensation)
{
    for (int64_t x = 0; x < lanes; x += vectors * 16) {
        const float *const f = factor ? factor + x : NULL;
        float *const left = compensation ? compensation + x : NULL;
        int64_t r = 0;
        for (; r + 6 <= rows; r += 6)
            parts_v4(6, vectors, steps, part, a + r * a_row, a_row, a_step, b + x, b_step,
                c + r * c_row + x, c_row, then, f, left ? left + r * c_row : NULL);
        switch (odd >= 0 ? odd : rows - r) {
        case 5: parts_v4(5, vectors, steps, part, a + r * a_row, a_row, a_step, b + x, b_step, c + r * c_row + x, c_row,
            then, f, left ? left + r * c_row : NULL); break;
        case 4: parts_v4(4, vectors, steps, part, a + r * a_row, a_row, a_step, b + x, b_step, c + r * c_row + x, c_row,
            then, f, left ? left + r * c_row : NULL); break;
        case 3: parts_v4(3, vectors, steps, part, a + r * a_row, a_row, a_step, b + x, b_step, c + r * c_row + x, c_row,
            then, f, left ? left + r * c_row : NULL); break;
        case 2: parts_v4(2, vectors, steps, part, a + r * a_row, a_row, a_step, b + x, b_step, c + r * c_row + x, c_row,
            then, f, left ? left + r * c_row : NULL); break;
        case 1: parts_v4(1, vectors, steps, part, a + r * a_row, a_row, a_step, b + x, b_step, c + r * c_row + x, c_row,
            then, f, left ? left + r * c_row : NULL); break;
        }
    }
}

/* The same with 0 for what is infinite or NaN in a: row by row, for a copy of few numbers. The last
   of the pairs is whole. */
TARGET_v4 INLINE void dot_finite_v4(const int vectors, const int64_t lanes, int64_t rows, const int odd, int64_t steps,
    const int64_t part, const float *a, int64_t a_row, int64_t a_step, const float *b, int64_t b_step, float *c,
        int64_t c_row,
    const int then, const float *factor, float *compensation)
{
    float row[96];
    (void)odd;
    for (int64_t r = 0; r < rows; r++, a += a_row) {
        for (int64_t t = 0; t < steps; t++)
            for (int k = 0; k < 1; k++)
                row[1 * t + k] = finite_v4(a + t * a_step + k, 0, 1, 1) ? a[t * a_step + k] : 0;
        dot_v4(vectors, lanes, 1, 1, steps, part, row, 0, 1, b, b_step, c + r * c_row, c_row,
            then, factor, compensation ? compensation + r * c_row : NULL);
    }
}

/* The products of the code below: dot_v4 with what is constant in them. */
TARGET_v4 APART void dot0_v4(const float *a, const float *b, float *c)
{
    dot_v4(2, 32, 64, 4, 64, 32, a, 1, 64, b, 32, c, 32, 0, NULL, NULL);
}
TARGET_v4 APART void dot1_v4(int64_t lanes, const float *a, const float *b, float *c)
{
    dot_v4(3, lanes, 64, 4, 64, 32, a, 1, 64, b, 96, c, 96, 0, NULL, NULL);
}
TARGET_v4 APART void dot2_v4(int64_t rows, const float *a, const float *b, float *c)
{
    dot_v4(2, 32, rows, -1, 64, 32, a, 1, 96, b, 32, c, 32, 0, NULL, NULL);
}
TARGET_v4 APART void dot3_v4(int64_t steps, const float *a, int64_t a_step, const float *b, float *c,
    float *compensation)
{
    dot_finite_v4(2, 32, 64, 4, steps, 192, a, 1, a_step, b, 32, c, 32, 3, NULL, compensation);
}
TARGET_v4 APART void dot4_v4(int64_t steps, const float *a, int64_t a_step, const float *b, float *c,
    float *compensation)
{
    dot_v4(2, 32, 64, 4, steps, 192, a, 1, a_step, b, 32, c, 32, 3, NULL, compensation);
}
TARGET_v4 APART void dot5_v4(int64_t steps, const float *a, const float *b, int64_t b_step, float *c)
{
    dot_v4(4, 64, 128, 2, steps, 192, a, 32, 1, b, b_step, c, 64, 0, NULL, NULL);
}
TARGET_v4 APART void dot6_v4(const float *a, const float *b, float *c)
{
    dot_v4(2, 32, 64, 4, 128, 32, a, 1, 64, b, 32, c, 32, 0, NULL, NULL);
}
TARGET_v4 APART void dot7_v4(int64_t rows, const float *a, const float *b, float *c)
{
    dot_v4(2, 32, rows, -1, 64, 32, a, 1, 32, b, 32, c, 32, 0, NULL, NULL);
}

/* Task number `task`: one tile of queries of one head; `work` is the thread's part of the workspace. */
TARGET_v4 static void hedgehog_rows_v4(const struct call *call, int64_t task, unsigned char *work)
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
    const float *const features_wq = call->params->features_wq + (g * members + m) * 64 * 64;
    const float *const features_wk = call->params->features_wk + g * 64 * 64;
    float *const query = (float *)(void *)(work + 0); /* [c: 64, i: 32] */
    float *const query_2 = (float *)(void *)(work + 8192); /* [i: 32] */
    float *const query_3 = (float *)(void *)(work + 8320); /* [c: 64, i: 32] */
    float *const query_4 = (float *)(void *)(work + 16512); /* [i: 32] */
    float *const all_query_5 = (float *)(void *)(work + 16640); /* [c: 64, i: 32, 8 times] */
    float *const query_7 = (float *)(void *)(work + 8192); /* [i: 32] */
    float *const query_9 = (float *)(void *)(work + 8320); /* [i: 32] */
    float *const all_query_10 = (float *)(void *)(work + 82176); /* [c: 64, i: 32, 8 times] */
    float *const key = (float *)(void *)(work + 147712); /* [c: 64, j: 96] */
    float *const key_2 = (float *)(void *)(work + 0); /* [j: 96] */
    float *const key_3 = (float *)(void *)(work + 172288); /* [c: 64, j: 96] */
    float *const key_4 = (float *)(void *)(work + 384); /* [j: 96] */
    float *const key_7 = (float *)(void *)(work + 0); /* [j: 96] */
    float *const key_9 = (float *)(void *)(work + 384); /* [j: 96] */
    float *const score = (float *)(void *)(work + 0); /* [j: 96, i: 32] */
    float *const score_2 = (float *)(void *)(work + 196864); /* [j: 96, i: 32] */
    float *const all_row_sum = (float *)(void *)(work + 209152); /* [i: 32, 8 times] */
    float *const all_row_sum_compensation = (float *)(void *)(work + 210176); /* [i: 32, 8 times] */
    float *const all_sum = (float *)(void *)(work + 211200); /* [e: 64, i: 32, 8 times] */
    float *const all_sum_compensation = (float *)(void *)(work + 276736); /* [e: 64, i: 32, 8 times] */
    float *const result = (float *)(void *)(work + 0); /* [e: 64, i: 32] */
    float *const out = call->out + b * call->p.out.batch + (g * members + m) * call->p.out.head;
    const int64_t out_row = call->p.out.row;
    float *const q_tile = (float *)(void *)(work + 8192); /* [d: 64, i: 32] */
    float *const k_tile = (float *)(void *)(work + 172288); /* [d: 64, j: 96] */
    for (int64_t i_next = i0, i_block = i0, i_end = i1; i_next < i_end; i_next += 32) {
        const int64_t i0 = i_next, i1 = min(i0 + 32, i_end);
        float *const query_5 = all_query_5 + (i0 - i_block) / 32 * 2048;
        float *const query_10 = all_query_10 + (i0 - i_block) / 32 * 2048;
        float *const row_sum = all_row_sum + (i0 - i_block) / 32 * 32;
        float *const row_sum_compensation = all_row_sum_compensation + (i0 - i_block) / 32 * 32;
        float *const sum = all_sum + (i0 - i_block) / 32 * 2048;
        float *const sum_compensation = all_sum_compensation + (i0 - i_block) / 32 * 2048;
        /* q_tile = q, with zeros beyond the last row */
        transpose_v4(q + i0 * q_row, q_row, i1 - i0, 64, q_tile, 32);
        for (int64_t i = i1 - i0; i < round_up(i1 - i0, 16); i++)
            for (int64_t d = 0; d < 64; d++) q_tile[d * 32 + i] = 0;
        /* query[c][i] = sum over d of features_wq * q_tile */
        dot0_v4(features_wq, q_tile, query);
        /* query_2 = -INFINITY */
        for (int64_t i = 0; i < i1 - i0; i += 16) {
            store_v4(query_2 + i, splat_v4(-INFINITY));
        }
        /* query_2 max= query */
        for (int64_t i_first = 0; i_first < i1 - i0; i_first += 32) {
            vec_v4 query_2_in[2][2];
            UNROLL for (int64_t u = 0, i = i_first; u < 2; u++, i += 16) {
                UNROLL for (int c_chain = 0; c_chain < 2; c_chain++) query_2_in[u][c_chain] = splat_v4(-INFINITY);
            }
            for (int64_t c_first = 0; c_first < 64; c_first += 2) {
                UNROLL for (int c_chain = 0; c_chain < 2; c_chain++) {
                    const int64_t c = min(c_first + c_chain, 64 - 1);
                    UNROLL for (int64_t u = 0, i = i_first; u < 2; u++, i += 16) {
                        query_2_in[u][c_chain] = max_v4(query_2_in[u][c_chain], load_v4(query + c * 32 + i));
                    }
                }
            }
            UNROLL for (int64_t u = 0, i = i_first; u < 2; u++, i += 16) {
                store_v4(query_2 + i, max_v4(load_v4(query_2 + i), max_v4(query_2_in[u][0], query_2_in[u][1])));
            }
        }
        /* query_4 = 0.0f */
        for (int64_t i = 0; i < i1 - i0; i += 16) {
            store_v4(query_4 + i, splat_v4(0.0f));
        }
        /* query_3 = exp(query - query_2); query_4 += query_3 */
        for (int64_t i = 0; i < i1 - i0; i += 16) {
            const vec_v4 query_2_0 = load_v4(query_2 + i);
            vec_v4 query_4_in = (vec_v4){0};
            for (int64_t c = 0; c < 64; c++) {
                const vec_v4 query_3_new1 = exp_v4(load_v4(query + c * 32 + i) - query_2_0);
                store_v4(query_3 + c * 32 + i, query_3_new1);
                query_4_in += query_3_new1;
            }
            store_v4(query_4 + i, load_v4(query_4 + i) + query_4_in);
        }
        /* query_7 = -INFINITY */
        for (int64_t i = 0; i < i1 - i0; i += 16) {
            store_v4(query_7 + i, splat_v4(-INFINITY));
        }
        /* query_5 = query_3 / query_4; query = neg(query); query_7 max= query */
        for (int64_t i = 0; i < i1 - i0; i += 16) {
            const vec_v4 query_4_2 = load_v4(query_4 + i);
            vec_v4 query_7_in = load_v4(query_7 + i);
            for (int64_t c = 0; c < 64; c++) {
                store_v4(query_5 + c * 32 + i, load_v4(query_3 + c * 32 + i) / query_4_2);
                const vec_v4 query_6 = load_v4(query + c * 32 + i);
                const vec_v4 query_new7 = -query_6;
                store_v4(query + c * 32 + i, query_new7);
                query_7_in = max_v4(query_7_in, query_new7);
            }
            store_v4(query_7 + i, query_7_in);
        }
        /* query_9 = 0.0f */
        for (int64_t i = 0; i < i1 - i0; i += 16) {
            store_v4(query_9 + i, splat_v4(0.0f));
        }
        /* query = exp(query - query_7); query_9 += query */
        for (int64_t i = 0; i < i1 - i0; i += 16) {
            const vec_v4 query_7_9 = load_v4(query_7 + i);
            vec_v4 query_9_in = (vec_v4){0};
            for (int64_t c = 0; c < 64; c++) {
                const vec_v4 query_8 = load_v4(query + c * 32 + i);
                const vec_v4 query_new10 = exp_v4(query_8 - query_7_9);
                store_v4(query + c * 32 + i, query_new10);
                query_9_in += query_new10;
            }
            store_v4(query_9 + i, load_v4(query_9 + i) + query_9_in);
        }
        /* query_10 = query / query_9 */
        for (int64_t i = 0; i < i1 - i0; i += 16) {
            const vec_v4 query_9_11 = load_v4(query_9 + i);
            for (int64_t c = 0; c < 64; c++) {
                store_v4(query_10 + c * 32 + i, load_v4(query + c * 32 + i) / query_9_11);
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
        /* key[c][j] = sum over d of features_wk * k_tile */
        dot1_v4(round_up(j1 - j0, 48), features_wk, k_tile, key);
        /* key_2 = -INFINITY */
        for (int64_t j = 0; j < j1 - j0; j += 16) {
            store_v4(key_2 + j, splat_v4(-INFINITY));
        }
        /* key_2 max= key */
        for (int64_t j_first = 0; j_first < j1 - j0; j_first += 48) {
            vec_v4 key_2_in[3];
            UNROLL for (int64_t u = 0, j = j_first; u < 3; u++, j += 16) {
                key_2_in[u] = load_v4(key_2 + j);
            }
            for (int64_t c = 0; c < 64; c++) {
                UNROLL for (int64_t u = 0, j = j_first; u < 3; u++, j += 16) {
                    key_2_in[u] = max_v4(key_2_in[u], load_v4(key + c * 96 + j));
                }
            }
            UNROLL for (int64_t u = 0, j = j_first; u < 3; u++, j += 16) {
                store_v4(key_2 + j, key_2_in[u]);
            }
        }
        /* key_4 = 0.0f */
        for (int64_t j = 0; j < j1 - j0; j += 16) {
            store_v4(key_4 + j, splat_v4(0.0f));
        }
        /* key_3 = exp(key - key_2); key_4 += key_3 */
        for (int64_t j = 0; j < j1 - j0; j += 16) {
            const vec_v4 key_2_12 = load_v4(key_2 + j);
            vec_v4 key_4_in = (vec_v4){0};
            for (int64_t c = 0; c < 64; c++) {
                const vec_v4 key_3_new13 = exp_v4(load_v4(key + c * 96 + j) - key_2_12);
                store_v4(key_3 + c * 96 + j, key_3_new13);
                key_4_in += key_3_new13;
            }
            store_v4(key_4 + j, load_v4(key_4 + j) + key_4_in);
        }
        /* key_7 = -INFINITY */
        for (int64_t j = 0; j < j1 - j0; j += 16) {
            store_v4(key_7 + j, splat_v4(-INFINITY));
        }
        /* key_3 = key_3 / key_4; key = neg(key); key_7 max= key */
        for (int64_t j = 0; j < j1 - j0; j += 16) {
            const vec_v4 key_4_14 = load_v4(key_4 + j);
            vec_v4 key_7_in = load_v4(key_7 + j);
            for (int64_t c = 0; c < 64; c++) {
                store_v4(key_3 + c * 96 + j, load_v4(key_3 + c * 96 + j) / key_4_14);
                const vec_v4 key_15 = load_v4(key + c * 96 + j);
                const vec_v4 key_new16 = -key_15;
                store_v4(key + c * 96 + j, key_new16);
                key_7_in = max_v4(key_7_in, key_new16);
            }
            store_v4(key_7 + j, key_7_in);
        }
        /* key_9 = 0.0f */
        for (int64_t j = 0; j < j1 - j0; j += 16) {
            store_v4(key_9 + j, splat_v4(0.0f));
        }
        /* key = exp(key - key_7); key_9 += key */
        for (int64_t j = 0; j < j1 - j0; j += 16) {
            const vec_v4 key_7_18 = load_v4(key_7 + j);
            vec_v4 key_9_in = (vec_v4){0};
            for (int64_t c = 0; c < 64; c++) {
                const vec_v4 key_17 = load_v4(key + c * 96 + j);
                const vec_v4 key_new19 = exp_v4(key_17 - key_7_18);
                store_v4(key + c * 96 + j, key_new19);
                key_9_in += key_new19;
            }
            store_v4(key_9 + j, load_v4(key_9 + j) + key_9_in);
        }
        /* key = key / key_9 */
        for (int64_t j = 0; j < j1 - j0; j += 16) {
            const vec_v4 key_9_20 = load_v4(key_9 + j);
            for (int64_t c = 0; c < 64; c++) {
                store_v4(key + c * 96 + j, load_v4(key + c * 96 + j) / key_9_20);
            }
        }
        for (int64_t i_next = i0, i_block = i0, i_end = i1; i_next < i_end; i_next += 32) {
            const int64_t i0 = i_next, i1 = min(i0 + 32, i_end);
            float *const query_5 = all_query_5 + (i0 - i_block) / 32 * 2048;
            float *const query_10 = all_query_10 + (i0 - i_block) / 32 * 2048;
            float *const row_sum = all_row_sum + (i0 - i_block) / 32 * 32;
            float *const row_sum_compensation = all_row_sum_compensation + (i0 - i_block) / 32 * 32;
            float *const sum = all_sum + (i0 - i_block) / 32 * 2048;
            float *const sum_compensation = all_sum_compensation + (i0 - i_block) / 32 * 2048;
            if (!(j0 < (i1 + n_k - n_q))) continue; /* nothing in the tile can be seen */
            /* score[j][i] = sum over c of key_3 * query_5 */
            dot2_v4(j1 - j0, key_3, query_5, score);
            /* score_2[j][i] = sum over c of key * query_10 */
            dot2_v4(j1 - j0, key, query_10, score_2);
            /* score = score + score_2 */
            for (int64_t i_first = 0; i_first < i1 - i0; i_first += 32) {
                for (int64_t j = 0; j < j1 - j0; j++) {
                    UNROLL for (int64_t u = 0, i = i_first; u < 2; u++, i += 16) {
                        store_v4(score + j * 32 + i, load_v4(score + j * 32 + i) + load_v4(score_2 + j * 32 + i));
                    }
                }
            }
            if ((i0 + n_k - n_q + 1) < j1) { /* the tile is not wholly inside the mask */
                /* score = select(j <= (i + (n_k - n_q)), score, 0.0f) */
                const int64_t t_21 = n_k - n_q;
                for (int64_t i = 0; i < i1 - i0; i += 16) {
                    const ints_v4 t_22 = (i0 + i + lane_v4) + t_21;
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        store_v4(score + j * 32 + i, pick_v4(__builtin_convertvector((j0 + j) <= t_22, mask_v4),
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
                dot3_v4(j1 - j0, v + j0 * v_row, v_row, score, sum, sum_compensation);
                for (int64_t j = 0; j < j1 - j0; j++) {
                    mask_v4 seen[2];
                    if (finite_v4(v + j0 * v_row + j * v_row, 1, 64, 1)) continue;
                    const int64_t t_23 = n_k - n_q;
                    for (int64_t i = 0; i < i1 - i0; i += 16) {
                        seen[i / 16] = __builtin_convertvector((j0 + j) <= ((i0 + i + lane_v4) + t_23), mask_v4);
                    }
                    add_seen_v4(64, sum, 32, v + j0 * v_row + j * v_row, 1, score + j * 32, seen, i1 - i0);
                }
            } else
                dot4_v4(j1 - j0, v + j0 * v_row, v_row, score, sum, sum_compensation);
        }
    }
    {
        for (int64_t i_next = i0, i_block = i0, i_end = i1; i_next < i_end; i_next += 32) {
            const int64_t i0 = i_next, i1 = min(i0 + 32, i_end);
            float *const row_sum = all_row_sum + (i0 - i_block) / 32 * 32;
            float *const sum = all_sum + (i0 - i_block) / 32 * 2048;
            /* result = select(row_sum == 0.0f, 0.0f, sum / row_sum) */
            for (int64_t i = 0; i < i1 - i0; i += 16) {
                const vec_v4 row_sum_24 = load_v4(row_sum + i);
                const mask_v4 t_25 = row_sum_24 == 0.0f;
                for (int64_t e = 0; e < 64; e++) {
                    store_v4(result + e * 32 + i, pick_v4(t_25, splat_v4(0.0f),
                        load_v4(sum + e * 32 + i) / row_sum_24));
                }
            }
            /* out = result, transposed back */
            transpose_v4(result, 32, 64, i1 - i0, out + i0 * out_row, out_row);
        }
    }
}

/* States begin with no key. */
TARGET_v4 APART void hedgehog_begin_v4(const struct call *call, int64_t task, const struct part *part, int64_t turn)
{
    (void)call;
    (void)task;
    const int64_t f0 = turn * 32, f1 = min(f0 + 32, 128);
    float *const carried = (float *)(void *)(part->shared + 0); /* [f: 128] */
    float *const carried_compensation = (float *)(void *)(part->shared + 33280); /* [f: 128] */
    float *const carried_2 = (float *)(void *)(part->shared + 512); /* [f: 128, e: 64] */
    float *const carried_2_compensation = (float *)(void *)(part->shared + 33792); /* [f: 128, e: 64] */
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
TARGET_v4 APART void hedgehog_keys_v4(const struct call *call, int64_t task, const struct part *part, int64_t turn)
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
    const float *const features_wk = call->params->features_wk + g * 64 * 64;
    float *const key = (float *)(void *)(part->work + 0); /* [c: 64, j: 32] */
    float *const key_2 = (float *)(void *)(part->work + 8192); /* [j: 32] */
    float *const key_3 = (float *)(void *)(part->work + 8320); /* [c: 64, j: 32] */
    float *const key_4 = (float *)(void *)(part->work + 16512); /* [j: 32] */
    float *const key_7 = (float *)(void *)(part->work + 8192); /* [j: 32] */
    float *const key_9 = (float *)(void *)(part->work + 16512); /* [j: 32] */
    float *const key_11 = (float *)(void *)(part->work + 16512); /* [f: 128, j: 32] */
    float *const state = (float *)(void *)(part->slots + 0); /* [chunk, f: 128 of 144] */
    float *const state_2 = (float *)(void *)(part->slots + 576); /* [chunk, f: 128, e: 64] */
    float *const k_tile = (float *)(void *)(part->work + 8192); /* [d: 64, j: 32] */
    /* state = 0.0f */
    for (int64_t f = 0; f < 128; f += 16) {
        store_v4(state + (chunk - chunk0) * 8336 + f, splat_v4(0.0f));
    }
    for (int64_t j0 = chunk * 32, j_end = min(n_k, (chunk + 1) * 32); j0 < j_end; j0 += 32) {
        const int64_t j1 = min(j0 + 32, j_end);
        /* k_tile = k, with zeros beyond the last row */
        transpose_v4(k + j0 * k_row, k_row, j1 - j0, 64, k_tile, 32);
        for (int64_t j = j1 - j0; j < round_up(j1 - j0, 16); j++)
            for (int64_t d = 0; d < 64; d++) k_tile[d * 32 + j] = 0;
        /* key[c][j] = sum over d of features_wk * k_tile */
        dot0_v4(features_wk, k_tile, key);
        /* key_2 = -INFINITY */
        for (int64_t j = 0; j < j1 - j0; j += 16) {
            store_v4(key_2 + j, splat_v4(-INFINITY));
        }
        /* key_2 max= key */
        for (int64_t j_first = 0; j_first < j1 - j0; j_first += 32) {
            vec_v4 key_2_in[2][2];
            UNROLL for (int64_t u = 0, j = j_first; u < 2; u++, j += 16) {
                UNROLL for (int c_chain = 0; c_chain < 2; c_chain++) key_2_in[u][c_chain] = splat_v4(-INFINITY);
            }
            for (int64_t c_first = 0; c_first < 64; c_first += 2) {
                UNROLL for (int c_chain = 0; c_chain < 2; c_chain++) {
                    const int64_t c = min(c_first + c_chain, 64 - 1);
                    UNROLL for (int64_t u = 0, j = j_first; u < 2; u++, j += 16) {
                        key_2_in[u][c_chain] = max_v4(key_2_in[u][c_chain], load_v4(key + c * 32 + j));
                    }
                }
            }
            UNROLL for (int64_t u = 0, j = j_first; u < 2; u++, j += 16) {
                store_v4(key_2 + j, max_v4(load_v4(key_2 + j), max_v4(key_2_in[u][0], key_2_in[u][1])));
            }
        }
        /* key_4 = 0.0f */
        for (int64_t j = 0; j < j1 - j0; j += 16) {
            store_v4(key_4 + j, splat_v4(0.0f));
        }
        /* key_3 = exp(key - key_2); key_4 += key_3 */
        for (int64_t j = 0; j < j1 - j0; j += 16) {
            const vec_v4 key_2_0 = load_v4(key_2 + j);
            vec_v4 key_4_in = (vec_v4){0};
            for (int64_t c = 0; c < 64; c++) {
                const vec_v4 key_3_new1 = exp_v4(load_v4(key + c * 32 + j) - key_2_0);
                store_v4(key_3 + c * 32 + j, key_3_new1);
                key_4_in += key_3_new1;
            }
            store_v4(key_4 + j, load_v4(key_4 + j) + key_4_in);
        }
        /* key_7 = -INFINITY */
        for (int64_t j = 0; j < j1 - j0; j += 16) {
            store_v4(key_7 + j, splat_v4(-INFINITY));
        }
        /* key_3 = key_3 / key_4; key = neg(key); key_7 max= key */
        for (int64_t j = 0; j < j1 - j0; j += 16) {
            const vec_v4 key_4_2 = load_v4(key_4 + j);
            vec_v4 key_7_in = load_v4(key_7 + j);
            for (int64_t c = 0; c < 64; c++) {
                store_v4(key_3 + c * 32 + j, load_v4(key_3 + c * 32 + j) / key_4_2);
                const vec_v4 key_5 = load_v4(key + c * 32 + j);
                const vec_v4 key_new6 = -key_5;
                store_v4(key + c * 32 + j, key_new6);
                key_7_in = max_v4(key_7_in, key_new6);
            }
            store_v4(key_7 + j, key_7_in);
        }
        /* key_9 = 0.0f */
        for (int64_t j = 0; j < j1 - j0; j += 16) {
            store_v4(key_9 + j, splat_v4(0.0f));
        }
        /* key = exp(key - key_7); key_9 += key */
        for (int64_t j = 0; j < j1 - j0; j += 16) {
            const vec_v4 key_7_9 = load_v4(key_7 + j);
            vec_v4 key_9_in = (vec_v4){0};
            for (int64_t c = 0; c < 64; c++) {
                const vec_v4 key_8 = load_v4(key + c * 32 + j);
                const vec_v4 key_new10 = exp_v4(key_8 - key_7_9);
                store_v4(key + c * 32 + j, key_new10);
                key_9_in += key_new10;
            }
            store_v4(key_9 + j, load_v4(key_9 + j) + key_9_in);
        }
        /* key = key / key_9 */
        for (int64_t j = 0; j < j1 - j0; j += 16) {
            const vec_v4 key_9_11 = load_v4(key_9 + j);
            for (int64_t c = 0; c < 64; c++) {
                store_v4(key + c * 32 + j, load_v4(key + c * 32 + j) / key_9_11);
            }
        }
        /* key_11 = select(f < 64, key_3, key) */
        for (int64_t j_first = 0; j_first < j1 - j0; j_first += 32) {
            for (int64_t f = 0; f < 128; f++) {
                UNROLL for (int64_t u = 0, j = j_first; u < 2; u++, j += 16) {
                    store_v4(key_11 + f * 32 + j, (f < 64) ? load_v4(key_3 + min(f,
                        63) * 32 + j) : load_v4(key + max(f - 64, 0) * 32 + j));
                }
            }
        }
        /* state += key_11 */
        for (int64_t f = 0; f < 128; f++) {
            vec_v4 lane_sums = splat_v4(0);
            for (int64_t j = 0; j < j1 - j0; j += 16) {
                const vec_v4 term = load_v4(key_11 + f * 32 + j);
                lane_sums += j + 16 <= j1 - j0 ? term : pick_v4(__builtin_convertvector(j + lane_v4 < j1 - j0, mask_v4),
                    term, splat_v4(0));
            }
            const float total = lane_sum_v4(lane_sums);
            state[(chunk - chunk0) * 8336 + f] += total;
        }
        /* state_2[f][e] = sum over j of key_11 * v */
        dot5_v4(j1 - j0, key_11, v + j0 * v_row, v_row, state_2 + (chunk - chunk0) * 8336);
    }
}

/* Some elements of the states take in the chunks at hand, one after the other. */
TARGET_v4 APART void hedgehog_fold_v4(const struct call *call, int64_t task, const struct part *part, int64_t turn)
{
    (void)call;
    (void)task;
    const int64_t f0 = turn * 32, f1 = min(f0 + 32, 128);
    const int64_t chunk0 = part->chunk0;
    const int64_t chunk1 = part->chunk1;
    float *const state = (float *)(void *)(part->slots + 0); /* [chunk, f: 128 of 144] */
    float *const state_2 = (float *)(void *)(part->slots + 576); /* [chunk, f: 128, e: 64] */
    float *const carried = (float *)(void *)(part->shared + 0); /* [f: 128] */
    float *const carried_compensation = (float *)(void *)(part->shared + 33280); /* [f: 128] */
    float *const carried_2 = (float *)(void *)(part->shared + 512); /* [f: 128, e: 64] */
    float *const carried_2_compensation = (float *)(void *)(part->shared + 33792); /* [f: 128, e: 64] */
    for (int64_t chunk = chunk0; chunk < chunk1; chunk++) {
        /* before = carried; carried += state; state = before */
        for (int64_t f = f0; f < f1; f += 16) {
            const vec_v4 before_new12 = load_v4(carried + f);
            add_v4(carried + f, carried_compensation + f, load_v4(state + (chunk - chunk0) * 8336 + f), splat_v4(1));
            store_v4(state + (chunk - chunk0) * 8336 + f, before_new12);
        }
        /* before_2 = carried_2; carried_2 += state_2; state_2 = before_2 */
        for (int64_t f = f0; f < f1; f++) {
            for (int64_t e_first = 0; e_first < 64; e_first += 64) {
                UNROLL for (int64_t u = 0, e = e_first; u < 4; u++, e += 16) {
                    const vec_v4 before_2_new13 = load_v4(carried_2 + f * 64 + e);
                    add_v4(carried_2 + f * 64 + e, carried_2_compensation + f * 64 + e,
                        load_v4(state_2 + (chunk - chunk0) * 8336 + f * 64 + e), splat_v4(1));
                    store_v4(state_2 + (chunk - chunk0) * 8336 + f * 64 + e, before_2_new13);
                }
            }
        }
    }
}

/* The queries of a chunk meet the states before it, and its own keys. */
TARGET_v4 APART void hedgehog_queries_v4(const struct call *call, int64_t task, const struct part *part, int64_t turn)
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
    const float *const features_wq = call->params->features_wq + g * members * 64 * 64;
    const float *const features_wk = call->params->features_wk + g * 64 * 64;
    float *const state = (float *)(void *)(part->slots + 0); /* [chunk, f: 128 of 144] */
    float *const state_2 = (float *)(void *)(part->slots + 576); /* [chunk, f: 128, e: 64] */
    float *const query = (float *)(void *)(part->work + 0); /* [c: 64, i: 32] */
    float *const query_2 = (float *)(void *)(part->work + 8192); /* [i: 32] */
    float *const query_3 = (float *)(void *)(part->work + 8320); /* [c: 64, i: 32] */
    float *const query_4 = (float *)(void *)(part->work + 16512); /* [i: 32] */
    float *const query_7 = (float *)(void *)(part->work + 8192); /* [i: 32] */
    float *const query_9 = (float *)(void *)(part->work + 16512); /* [i: 32] */
    float *const key_12 = (float *)(void *)(part->work + 16512); /* [c: 64, j: 32] */
    float *const key_13 = (float *)(void *)(part->work + 8192); /* [j: 32] */
    float *const key_14 = (float *)(void *)(part->work + 24704); /* [c: 64, j: 32] */
    float *const key_15 = (float *)(void *)(part->work + 32896); /* [j: 32] */
    float *const key_18 = (float *)(void *)(part->work + 8192); /* [j: 32] */
    float *const key_20 = (float *)(void *)(part->work + 32896); /* [j: 32] */
    float *const score = (float *)(void *)(part->work + 32896); /* [j: 32, i: 32] */
    float *const score_2 = (float *)(void *)(part->work + 24704); /* [j: 32, i: 32] */
    float *const query_11 = (float *)(void *)(part->work + 16512); /* [f: 128, i: 32] */
    float *const query_12 = (float *)(void *)(part->work + 36992); /* [i: 32] */
    float *const row_sum = (float *)(void *)(part->work + 37120); /* [i: 32] */
    float *const row_sum_compensation = (float *)(void *)(part->work + 37248); /* [i: 32] */
    float *const query_13 = (float *)(void *)(part->work + 37376); /* [e: 64, i: 32] */
    float *const sum = (float *)(void *)(part->work + 45568); /* [e: 64, i: 32] */
    float *const sum_compensation = (float *)(void *)(part->work + 53760); /* [e: 64, i: 32] */
    float *const out = call->out + b * call->p.out.batch + g * members * call->p.out.head;
    const int64_t out_row = call->p.out.row;
    const int64_t out_head = call->p.out.head;
    float *const q_tile = (float *)(void *)(part->work + 8192); /* [d: 64, i: 32] */
    float *const k_tile_2 = (float *)(void *)(part->work + 24704); /* [d: 64, j: 32] */
    for (int64_t m = 0; m < members; m++) {
        for (int64_t i0 = (chunk == 0) ? 0 : max(0, (chunk * 32) - (n_k - n_q)), i_end = min(n_q,
            ((chunk + 1) * 32) - (n_k - n_q)); i0 < i_end; i0 += 32) {
            const int64_t i1 = min(i0 + 32, i_end);
            /* q_tile = q, with zeros beyond the last row */
            transpose_v4(q + m * q_head + i0 * q_row, q_row, i1 - i0, 64, q_tile, 32);
            for (int64_t i = i1 - i0; i < round_up(i1 - i0, 16); i++)
                for (int64_t d = 0; d < 64; d++) q_tile[d * 32 + i] = 0;
            /* query[c][i] = sum over d of features_wq * q_tile */
            dot0_v4(features_wq + m * 4096, q_tile, query);
            /* query_2 = -INFINITY */
            for (int64_t i = 0; i < i1 - i0; i += 16) {
                store_v4(query_2 + i, splat_v4(-INFINITY));
            }
            /* query_2 max= query */
            for (int64_t i_first = 0; i_first < i1 - i0; i_first += 32) {
                vec_v4 query_2_in[2][2];
                UNROLL for (int64_t u = 0, i = i_first; u < 2; u++, i += 16) {
                    UNROLL for (int c_chain = 0; c_chain < 2; c_chain++) query_2_in[u][c_chain] = splat_v4(-INFINITY);
                }
                for (int64_t c_first = 0; c_first < 64; c_first += 2) {
                    UNROLL for (int c_chain = 0; c_chain < 2; c_chain++) {
                        const int64_t c = min(c_first + c_chain, 64 - 1);
                        UNROLL for (int64_t u = 0, i = i_first; u < 2; u++, i += 16) {
                            query_2_in[u][c_chain] = max_v4(query_2_in[u][c_chain], load_v4(query + c * 32 + i));
                        }
                    }
                }
                UNROLL for (int64_t u = 0, i = i_first; u < 2; u++, i += 16) {
                    store_v4(query_2 + i, max_v4(load_v4(query_2 + i), max_v4(query_2_in[u][0], query_2_in[u][1])));
                }
            }
            /* query_4 = 0.0f */
            for (int64_t i = 0; i < i1 - i0; i += 16) {
                store_v4(query_4 + i, splat_v4(0.0f));
            }
            /* query_3 = exp(query - query_2); query_4 += query_3 */
            for (int64_t i = 0; i < i1 - i0; i += 16) {
                const vec_v4 query_2_14 = load_v4(query_2 + i);
                vec_v4 query_4_in = (vec_v4){0};
                for (int64_t c = 0; c < 64; c++) {
                    const vec_v4 query_3_new15 = exp_v4(load_v4(query + c * 32 + i) - query_2_14);
                    store_v4(query_3 + c * 32 + i, query_3_new15);
                    query_4_in += query_3_new15;
                }
                store_v4(query_4 + i, load_v4(query_4 + i) + query_4_in);
            }
            /* query_7 = -INFINITY */
            for (int64_t i = 0; i < i1 - i0; i += 16) {
                store_v4(query_7 + i, splat_v4(-INFINITY));
            }
            /* query_3 = query_3 / query_4; query = neg(query); query_7 max= query */
            for (int64_t i = 0; i < i1 - i0; i += 16) {
                const vec_v4 query_4_16 = load_v4(query_4 + i);
                vec_v4 query_7_in = load_v4(query_7 + i);
                for (int64_t c = 0; c < 64; c++) {
                    store_v4(query_3 + c * 32 + i, load_v4(query_3 + c * 32 + i) / query_4_16);
                    const vec_v4 query_17 = load_v4(query + c * 32 + i);
                    const vec_v4 query_new18 = -query_17;
                    store_v4(query + c * 32 + i, query_new18);
                    query_7_in = max_v4(query_7_in, query_new18);
                }
                store_v4(query_7 + i, query_7_in);
            }
            /* query_9 = 0.0f */
            for (int64_t i = 0; i < i1 - i0; i += 16) {
                store_v4(query_9 + i, splat_v4(0.0f));
            }
            /* query = exp(query - query_7); query_9 += query */
            for (int64_t i = 0; i < i1 - i0; i += 16) {
                const vec_v4 query_7_20 = load_v4(query_7 + i);
                vec_v4 query_9_in = (vec_v4){0};
                for (int64_t c = 0; c < 64; c++) {
                    const vec_v4 query_19 = load_v4(query + c * 32 + i);
                    const vec_v4 query_new21 = exp_v4(query_19 - query_7_20);
                    store_v4(query + c * 32 + i, query_new21);
                    query_9_in += query_new21;
                }
                store_v4(query_9 + i, load_v4(query_9 + i) + query_9_in);
            }
            /* query = query / query_9 */
            for (int64_t i = 0; i < i1 - i0; i += 16) {
                const vec_v4 query_9_22 = load_v4(query_9 + i);
                for (int64_t c = 0; c < 64; c++) {
                    store_v4(query + c * 32 + i, load_v4(query + c * 32 + i) / query_9_22);
                }
            }
            /* query_12 = 0.0f */
            for (int64_t i = 0; i < i1 - i0; i += 16) {
                store_v4(query_12 + i, splat_v4(0.0f));
            }
            /* query_11 = select(f < 64, query_3, query); query_12 += query_11 * state */
            for (int64_t i_first = 0; i_first < i1 - i0; i_first += 32) {
                vec_v4 query_12_in[2], query_12_in_whole[2];
                UNROLL for (int64_t u = 0, i = i_first; u < 2; u++, i += 16) {
                    query_12_in[u] = (vec_v4){0};
                    query_12_in_whole[u] = (vec_v4){0};
                }
                for (int64_t f = 0; f < 128; f++) {
                    UNROLL for (int64_t u = 0, i = i_first; u < 2; u++, i += 16) {
                        const vec_v4 query_11_new23 = (f < 64) ? load_v4(query_3 + min(f,
                            63) * 32 + i) : load_v4(query + max(f - 64, 0) * 32 + i);
                        store_v4(query_11 + f * 32 + i, query_11_new23);
                        query_12_in[u] += query_11_new23 * (state[(chunk - chunk0) * 8336 + f]);
                        if (f % 32 == 31) {
                            query_12_in_whole[u] += query_12_in[u];
                            query_12_in[u] = (vec_v4){0};
                        }
                    }
                }
                UNROLL for (int64_t u = 0, i = i_first; u < 2; u++, i += 16) {
                    query_12_in[u] += query_12_in_whole[u];
                    store_v4(query_12 + i, load_v4(query_12 + i) + query_12_in[u]);
                }
            }
            /* row_sum = 0.0f; row_sum_compensation = 0.0f */
            for (int64_t i = 0; i < i1 - i0; i += 16) {
                store_v4(row_sum + i, splat_v4(0.0f));
                store_v4(row_sum_compensation + i, splat_v4(0.0f));
            }
            /* query_13[e][i] = sum over f of state_2 * query_11 */
            dot6_v4(state_2 + (chunk - chunk0) * 8336, query_11, query_13);
            /* sum = 0.0f; sum_compensation = 0.0f */
            for (int64_t i_first = 0; i_first < i1 - i0; i_first += 32) {
                for (int64_t e = 0; e < 64; e++) {
                    UNROLL for (int64_t u = 0, i = i_first; u < 2; u++, i += 16) {
                        store_v4(sum + e * 32 + i, splat_v4(0.0f));
                        store_v4(sum_compensation + e * 32 + i, splat_v4(0.0f));
                    }
                }
            }
            for (int64_t j0 = max(0, chunk * 32), j_end = min(n_k, i1 + n_k - n_q); j0 < j_end; j0 += 32) {
                const int64_t j1 = min(j0 + 32, j_end);
                /* k_tile_2 = k, with zeros beyond the last row */
                transpose_v4(k + j0 * k_row, k_row, j1 - j0, 64, k_tile_2, 32);
                for (int64_t j = j1 - j0; j < round_up(j1 - j0, 16); j++)
                    for (int64_t d = 0; d < 64; d++) k_tile_2[d * 32 + j] = 0;
                /* key_12[c][j] = sum over d of features_wk * k_tile_2 */
                dot0_v4(features_wk, k_tile_2, key_12);
                /* key_13 = -INFINITY */
                for (int64_t j = 0; j < j1 - j0; j += 16) {
                    store_v4(key_13 + j, splat_v4(-INFINITY));
                }
                /* key_13 max= key_12 */
                for (int64_t j_first = 0; j_first < j1 - j0; j_first += 32) {
                    vec_v4 key_13_in[2][2];
                    UNROLL for (int64_t u = 0, j = j_first; u < 2; u++, j += 16) {
                        UNROLL for (int c_chain = 0; c_chain < 2; c_chain++) key_13_in[u][c_chain] =
                            splat_v4(-INFINITY);
                    }
                    for (int64_t c_first = 0; c_first < 64; c_first += 2) {
                        UNROLL for (int c_chain = 0; c_chain < 2; c_chain++) {
                            const int64_t c = min(c_first + c_chain, 64 - 1);
                            UNROLL for (int64_t u = 0, j = j_first; u < 2; u++, j += 16) {
                                key_13_in[u][c_chain] = max_v4(key_13_in[u][c_chain], load_v4(key_12 + c * 32 + j));
                            }
                        }
                    }
                    UNROLL for (int64_t u = 0, j = j_first; u < 2; u++, j += 16) {
                        store_v4(key_13 + j, max_v4(load_v4(key_13 + j), max_v4(key_13_in[u][0], key_13_in[u][1])));
                    }
                }
                /* key_15 = 0.0f */
                for (int64_t j = 0; j < j1 - j0; j += 16) {
                    store_v4(key_15 + j, splat_v4(0.0f));
                }
                /* key_14 = exp(key_12 - key_13); key_15 += key_14 */
                for (int64_t j = 0; j < j1 - j0; j += 16) {
                    const vec_v4 key_13_24 = load_v4(key_13 + j);
                    vec_v4 key_15_in = (vec_v4){0};
                    for (int64_t c = 0; c < 64; c++) {
                        const vec_v4 key_14_new25 = exp_v4(load_v4(key_12 + c * 32 + j) - key_13_24);
                        store_v4(key_14 + c * 32 + j, key_14_new25);
                        key_15_in += key_14_new25;
                    }
                    store_v4(key_15 + j, load_v4(key_15 + j) + key_15_in);
                }
                /* key_18 = -INFINITY */
                for (int64_t j = 0; j < j1 - j0; j += 16) {
                    store_v4(key_18 + j, splat_v4(-INFINITY));
                }
                /* key_14 = key_14 / key_15; key_12 = neg(key_12); key_18 max= key_12 */
                for (int64_t j = 0; j < j1 - j0; j += 16) {
                    const vec_v4 key_15_26 = load_v4(key_15 + j);
                    vec_v4 key_18_in = load_v4(key_18 + j);
                    for (int64_t c = 0; c < 64; c++) {
                        store_v4(key_14 + c * 32 + j, load_v4(key_14 + c * 32 + j) / key_15_26);
                        const vec_v4 key_12_27 = load_v4(key_12 + c * 32 + j);
                        const vec_v4 key_12_new28 = -key_12_27;
                        store_v4(key_12 + c * 32 + j, key_12_new28);
                        key_18_in = max_v4(key_18_in, key_12_new28);
                    }
                    store_v4(key_18 + j, key_18_in);
                }
                /* key_20 = 0.0f */
                for (int64_t j = 0; j < j1 - j0; j += 16) {
                    store_v4(key_20 + j, splat_v4(0.0f));
                }
                /* key_12 = exp(key_12 - key_18); key_20 += key_12 */
                for (int64_t j = 0; j < j1 - j0; j += 16) {
                    const vec_v4 key_18_30 = load_v4(key_18 + j);
                    vec_v4 key_20_in = (vec_v4){0};
                    for (int64_t c = 0; c < 64; c++) {
                        const vec_v4 key_12_29 = load_v4(key_12 + c * 32 + j);
                        const vec_v4 key_12_new31 = exp_v4(key_12_29 - key_18_30);
                        store_v4(key_12 + c * 32 + j, key_12_new31);
                        key_20_in += key_12_new31;
                    }
                    store_v4(key_20 + j, load_v4(key_20 + j) + key_20_in);
                }
                /* key_12 = key_12 / key_20 */
                for (int64_t j = 0; j < j1 - j0; j += 16) {
                    const vec_v4 key_20_32 = load_v4(key_20 + j);
                    for (int64_t c = 0; c < 64; c++) {
                        store_v4(key_12 + c * 32 + j, load_v4(key_12 + c * 32 + j) / key_20_32);
                    }
                }
                /* score[j][i] = sum over c of key_14 * query_3 */
                dot7_v4(j1 - j0, key_14, query_3, score);
                /* score_2[j][i] = sum over c of key_12 * query */
                dot7_v4(j1 - j0, key_12, query, score_2);
                /* score = score + score_2 */
                for (int64_t i_first = 0; i_first < i1 - i0; i_first += 32) {
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        UNROLL for (int64_t u = 0, i = i_first; u < 2; u++, i += 16) {
                            store_v4(score + j * 32 + i, load_v4(score + j * 32 + i) + load_v4(score_2 + j * 32 + i));
                        }
                    }
                }
                if ((j0 < (((chunk + 1) - 1) * 32)) || ((i0 + n_k - n_q + 1) < j1)) { /* the tile is not wholly inside
                    the mask */
                    /* score = select((j <= (i + (n_k - n_q))) && ((chunk * 32) <= j), score, 0.0f) */
                    const int64_t t_33 = n_k - n_q;
                    for (int64_t i = 0; i < i1 - i0; i += 16) {
                        const ints_v4 t_34 = (i0 + i + lane_v4) + t_33;
                        for (int64_t j = 0; j < j1 - j0; j++) {
                            store_v4(score + j * 32 + i, pick_v4(__builtin_convertvector(((j0 + j) <= t_34) &
                                (-(int64_t)((chunk * 32) <= (j0 + j))), mask_v4), load_v4(score + j * 32 + i),
                                splat_v4(0.0f)));
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
                if (__builtin_expect(((j0 < (((chunk + 1) - 1) * 32)) || ((i0 + n_k - n_q + 1) < j1)) && !finite_v4(v +
                    j0 * v_row, v_row, j1 - j0, 64), 0)) { /* infinity and NaN reach only what sees them */
                    dot3_v4(j1 - j0, v + j0 * v_row, v_row, score, sum, sum_compensation);
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        mask_v4 seen[2];
                        if (finite_v4(v + j0 * v_row + j * v_row, 1, 64, 1)) continue;
                        const int64_t t_35 = n_k - n_q;
                        const int t_36 = (chunk * 32) <= (j0 + j);
                        for (int64_t i = 0; i < i1 - i0; i += 16) {
                            seen[i / 16] = __builtin_convertvector(((j0 + j) <= ((i0 + i + lane_v4) + t_35)) &
                                (-(int64_t)t_36), mask_v4);
                        }
                        add_seen_v4(64, sum, 32, v + j0 * v_row + j * v_row, 1, score + j * 32, seen, i1 - i0);
                    }
                } else
                    dot4_v4(j1 - j0, v + j0 * v_row, v_row, score, sum, sum_compensation);
            }
            /* sum = select((row_sum + query_12) == 0.0f, 0.0f, (sum + query_13) / (row_sum + query_12)) */
            for (int64_t i = 0; i < i1 - i0; i += 16) {
                const vec_v4 t_37 = load_v4(row_sum + i) + load_v4(query_12 + i);
                const mask_v4 t_38 = t_37 == 0.0f;
                for (int64_t e = 0; e < 64; e++) {
                    store_v4(sum + e * 32 + i, pick_v4(t_38, splat_v4(0.0f),
                        (load_v4(sum + e * 32 + i) + load_v4(query_13 + e * 32 + i)) / t_37));
                }
            }
            /* out = sum, transposed back */
            transpose_v4(sum, 32, 64, i1 - i0, out + m * out_head + i0 * out_row, out_row);
        }
    }
}

/* All of a head: every thread whose part this is calls it. */
TARGET_v4 static void hedgehog_linear_v4(const struct call *call, int64_t task, struct part *part)
{
    const int64_t n_k = call->p.n_k;
    const int64_t chunks = n_k > 0 ? (n_k - 1) / 32 + 1 : 1;
    for (int64_t turn = part->number; turn < ((128 + 31) / 32); turn += part->threads) hedgehog_begin_v4(call, task,
        part, turn);
    meet(part);
    const int64_t first = 0;
    const int64_t length = segment_length(part, chunks - first);
    for (int64_t segment = part->number; first + segment * length < chunks; segment += part->threads) {
        part->chunk0 = first + segment * length;
        part->chunk1 = min(part->chunk0 + length, chunks);
        for (int64_t turn = part->chunk0; turn < part->chunk1; turn++) hedgehog_keys_v4(call, task, part, turn);
        for (int64_t group = 0; group < 16; group++) {
            await_segment(part, group, segment);
            for (int64_t turn = group * ((128 + 31) / 32) / 16; turn < (group + 1) * ((128 + 31) / 32) / 16; turn++)
                hedgehog_fold_v4(call, task, part, turn);
            pass_segment(part, group, segment);
        }
        for (int64_t turn = part->chunk0; turn < part->chunk1; turn++) hedgehog_queries_v4(call, task, part, turn);
    }
    part->segments += (max(chunks - first, 0) + length - 1) / length;
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

TARGET_v3 INLINE vec_v3 max_v3(vec_v3 a, vec_v3 b) { return pick_v3((mask_v3)(a < b), b, a); }

/* 2^x; off by less than 1e-8 of the value. 0 below -127.0f, NaN stays. */
TARGET_v3 INLINE vec_v3 exp2_v3(vec_v3 x)
{
    x = pick_v3((mask_v3)(x < -127.0f), splat_v3(-127.0f), x);
    x = pick_v3((mask_v3)(x > 128.0f), splat_v3(128.0f), x);
    const vec_v3 t = x + 12582912.0f; /* the integer nearest to x is in the low bits of t */
    const vec_v3 f = x - (t - 12582912.0f);
    vec_v3 p = f * 0.00015453163f + 0.0013390863f;
    p = p * f + 0.0096180826f;
    p = p * f + 0.055503571f;
    p = p * f + 0.24022651f;
    p = p * f + 0.69314719f;
    p = p * f + 1.0f;
    return p * (vec_v3)(((mask_v3)t + 127) << 23);
}

/* e^x, as 2^n 2^f with f from a remainder in two parts. NaN stays. */
TARGET_v3 INLINE vec_v3 exp_v3(vec_v3 x)
{
    x = pick_v3((mask_v3)(x < -89.0f), splat_v3(-89.0f), x);
    x = pick_v3((mask_v3)(x > 89.0f), splat_v3(89.0f), x);
    const vec_v3 t = x * 1.44269504f + 12582912.0f, n = t - 12582912.0f;
    const vec_v3 r = (x - n * 0.693145751953125f) - n * 1.4286068203094172e-06f;
    return exp2_v3(r * 1.44269504f) * exp2_v3(n);
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

/* The same with 0 for what is infinite or NaN in a: row by row, for a copy of few numbers. The last
   of the pairs is whole. */
TARGET_v3 INLINE void dot_finite_v3(const int vectors, const int64_t lanes, int64_t rows, const int odd, int64_t steps,
    const int64_t part, const float *a, int64_t a_row, int64_t a_step, const float *b, int64_t b_step, float *c,
        int64_t c_row,
    const int then, const float *factor, float *compensation)
{
    float row[96];
    (void)odd;
    for (int64_t r = 0; r < rows; r++, a += a_row) {
        for (int64_t t = 0; t < steps; t++)
            for (int k = 0; k < 1; k++)
                row[1 * t + k] = finite_v3(a + t * a_step + k, 0, 1, 1) ? a[t * a_step + k] : 0;
        dot_v3(vectors, lanes, 1, 1, steps, part, row, 0, 1, b, b_step, c + r * c_row, c_row,
            then, factor, compensation ? compensation + r * c_row : NULL);
    }
}

/* The products of the code below: dot_v3 with what is constant in them. */
TARGET_v3 APART void dot0_v3(const float *a, const float *b, float *c)
{
    dot_v3(2, 16, 64, 4, 64, 32, a, 1, 64, b, 16, c, 16, 0, NULL, NULL);
}
TARGET_v3 APART void dot1_v3(int64_t lanes, const float *a, const float *b, float *c)
{
    dot_v3(2, lanes, 64, 4, 64, 32, a, 1, 64, b, 96, c, 96, 0, NULL, NULL);
}
TARGET_v3 APART void dot2_v3(int64_t rows, const float *a, const float *b, float *c)
{
    dot_v3(2, 16, rows, -1, 64, 32, a, 1, 96, b, 16, c, 16, 0, NULL, NULL);
}
TARGET_v3 APART void dot3_v3(int64_t steps, const float *a, int64_t a_step, const float *b, float *c,
    float *compensation)
{
    dot_finite_v3(2, 16, 64, 4, steps, 192, a, 1, a_step, b, 16, c, 16, 3, NULL, compensation);
}
TARGET_v3 APART void dot4_v3(int64_t steps, const float *a, int64_t a_step, const float *b, float *c,
    float *compensation)
{
    dot_v3(2, 16, 64, 4, steps, 192, a, 1, a_step, b, 16, c, 16, 3, NULL, compensation);
}
TARGET_v3 APART void dot5_v3(int64_t lanes, const float *a, const float *b, float *c)
{
    dot_v3(2, lanes, 64, 4, 64, 32, a, 1, 64, b, 32, c, 32, 0, NULL, NULL);
}
TARGET_v3 APART void dot6_v3(int64_t steps, const float *a, const float *b, int64_t b_step, float *c)
{
    dot_v3(2, 64, 128, 2, steps, 192, a, 32, 1, b, b_step, c, 64, 0, NULL, NULL);
}
TARGET_v3 APART void dot7_v3(int64_t lanes, const float *a, const float *b, float *c)
{
    dot_v3(2, lanes, 64, 4, 128, 32, a, 1, 64, b, 32, c, 32, 0, NULL, NULL);
}
TARGET_v3 APART void dot8_v3(int64_t lanes, int64_t rows, const float *a, const float *b, float *c)
{
    dot_v3(2, lanes, rows, -1, 64, 32, a, 1, 32, b, 32, c, 32, 0, NULL, NULL);
}
TARGET_v3 APART void dot9_v3(int64_t lanes, int64_t steps, const float *a, int64_t a_step, const float *b, float *c,
    float *compensation)
{
    dot_finite_v3(2, lanes, 64, 4, steps, 192, a, 1, a_step, b, 32, c, 32, 3, NULL, compensation);
}
TARGET_v3 APART void dot10_v3(int64_t lanes, int64_t steps, const float *a, int64_t a_step, const float *b, float *c,
    float *compensation)
{
    dot_v3(2, lanes, 64, 4, steps, 192, a, 1, a_step, b, 32, c, 32, 3, NULL, compensation);
}

/* Task number `task`: one tile of queries of one head; `work` is the thread's part of the workspace. */
TARGET_v3 static void hedgehog_rows_v3(const struct call *call, int64_t task, unsigned char *work)
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
    const float *const features_wq = call->params->features_wq + (g * members + m) * 64 * 64;
    const float *const features_wk = call->params->features_wk + g * 64 * 64;
    float *const query = (float *)(void *)(work + 0); /* [c: 64, i: 16] */
    float *const query_2 = (float *)(void *)(work + 4096); /* [i: 16] */
    float *const query_3 = (float *)(void *)(work + 4160); /* [c: 64, i: 16] */
    float *const query_4 = (float *)(void *)(work + 8256); /* [i: 16] */
    float *const all_query_5 = (float *)(void *)(work + 8320); /* [c: 64, i: 16, 16 times] */
    float *const query_7 = (float *)(void *)(work + 4096); /* [i: 16] */
    float *const query_9 = (float *)(void *)(work + 4160); /* [i: 16] */
    float *const all_query_10 = (float *)(void *)(work + 73856); /* [c: 64, i: 16, 16 times] */
    float *const key = (float *)(void *)(work + 139392); /* [c: 64, j: 96] */
    float *const key_2 = (float *)(void *)(work + 0); /* [j: 96] */
    float *const key_3 = (float *)(void *)(work + 163968); /* [c: 64, j: 96] */
    float *const key_4 = (float *)(void *)(work + 384); /* [j: 96] */
    float *const key_7 = (float *)(void *)(work + 0); /* [j: 96] */
    float *const key_9 = (float *)(void *)(work + 384); /* [j: 96] */
    float *const score = (float *)(void *)(work + 0); /* [j: 96, i: 16] */
    float *const score_2 = (float *)(void *)(work + 188544); /* [j: 96, i: 16] */
    float *const all_row_sum = (float *)(void *)(work + 194688); /* [i: 16, 16 times] */
    float *const all_row_sum_compensation = (float *)(void *)(work + 195712); /* [i: 16, 16 times] */
    float *const all_sum = (float *)(void *)(work + 196736); /* [e: 64, i: 16, 16 times] */
    float *const all_sum_compensation = (float *)(void *)(work + 262272); /* [e: 64, i: 16, 16 times] */
    float *const result = (float *)(void *)(work + 0); /* [e: 64, i: 16] */
    float *const out = call->out + b * call->p.out.batch + (g * members + m) * call->p.out.head;
    const int64_t out_row = call->p.out.row;
    float *const q_tile = (float *)(void *)(work + 4096); /* [d: 64, i: 16] */
    float *const k_tile = (float *)(void *)(work + 163968); /* [d: 64, j: 96] */
    for (int64_t i_next = i0, i_block = i0, i_end = i1; i_next < i_end; i_next += 16) {
        const int64_t i0 = i_next, i1 = min(i0 + 16, i_end);
        float *const query_5 = all_query_5 + (i0 - i_block) / 16 * 1024;
        float *const query_10 = all_query_10 + (i0 - i_block) / 16 * 1024;
        float *const row_sum = all_row_sum + (i0 - i_block) / 16 * 16;
        float *const row_sum_compensation = all_row_sum_compensation + (i0 - i_block) / 16 * 16;
        float *const sum = all_sum + (i0 - i_block) / 16 * 1024;
        float *const sum_compensation = all_sum_compensation + (i0 - i_block) / 16 * 1024;
        /* q_tile = q, with zeros beyond the last row */
        transpose_v3(q + i0 * q_row, q_row, i1 - i0, 64, q_tile, 16);
        for (int64_t i = i1 - i0; i < round_up(i1 - i0, 8); i++)
            for (int64_t d = 0; d < 64; d++) q_tile[d * 16 + i] = 0;
        /* query[c][i] = sum over d of features_wq * q_tile */
        dot0_v3(features_wq, q_tile, query);
        /* query_2 = -INFINITY */
        for (int64_t i = 0; i < i1 - i0; i += 8) {
            store_v3(query_2 + i, splat_v3(-INFINITY));
        }
        /* query_2 max= query */
        for (int64_t i_first = 0; i_first < i1 - i0; i_first += 16) {
            vec_v3 query_2_in[2][2];
            UNROLL for (int64_t u = 0, i = i_first; u < 2; u++, i += 8) {
                UNROLL for (int c_chain = 0; c_chain < 2; c_chain++) query_2_in[u][c_chain] = splat_v3(-INFINITY);
            }
            for (int64_t c_first = 0; c_first < 64; c_first += 2) {
                UNROLL for (int c_chain = 0; c_chain < 2; c_chain++) {
                    const int64_t c = min(c_first + c_chain, 64 - 1);
                    UNROLL for (int64_t u = 0, i = i_first; u < 2; u++, i += 8) {
                        query_2_in[u][c_chain] = max_v3(query_2_in[u][c_chain], load_v3(query + c * 16 + i));
                    }
                }
            }
            UNROLL for (int64_t u = 0, i = i_first; u < 2; u++, i += 8) {
                store_v3(query_2 + i, max_v3(load_v3(query_2 + i), max_v3(query_2_in[u][0], query_2_in[u][1])));
            }
        }
        /* query_4 = 0.0f */
        for (int64_t i = 0; i < i1 - i0; i += 8) {
            store_v3(query_4 + i, splat_v3(0.0f));
        }
        /* query_3 = exp(query - query_2); query_4 += query_3 */
        for (int64_t i = 0; i < i1 - i0; i += 8) {
            const vec_v3 query_2_0 = load_v3(query_2 + i);
            vec_v3 query_4_in = (vec_v3){0};
            for (int64_t c = 0; c < 64; c++) {
                const vec_v3 query_3_new1 = exp_v3(load_v3(query + c * 16 + i) - query_2_0);
                store_v3(query_3 + c * 16 + i, query_3_new1);
                query_4_in += query_3_new1;
            }
            store_v3(query_4 + i, load_v3(query_4 + i) + query_4_in);
        }
        /* query_7 = -INFINITY */
        for (int64_t i = 0; i < i1 - i0; i += 8) {
            store_v3(query_7 + i, splat_v3(-INFINITY));
        }
        /* query_5 = query_3 / query_4; query = neg(query); query_7 max= query */
        for (int64_t i = 0; i < i1 - i0; i += 8) {
            const vec_v3 query_4_2 = load_v3(query_4 + i);
            vec_v3 query_7_in = load_v3(query_7 + i);
            for (int64_t c = 0; c < 64; c++) {
                store_v3(query_5 + c * 16 + i, load_v3(query_3 + c * 16 + i) / query_4_2);
                const vec_v3 query_6 = load_v3(query + c * 16 + i);
                const vec_v3 query_new7 = -query_6;
                store_v3(query + c * 16 + i, query_new7);
                query_7_in = max_v3(query_7_in, query_new7);
            }
            store_v3(query_7 + i, query_7_in);
        }
        /* query_9 = 0.0f */
        for (int64_t i = 0; i < i1 - i0; i += 8) {
            store_v3(query_9 + i, splat_v3(0.0f));
        }
        /* query = exp(query - query_7); query_9 += query */
        for (int64_t i = 0; i < i1 - i0; i += 8) {
            const vec_v3 query_7_9 = load_v3(query_7 + i);
            vec_v3 query_9_in = (vec_v3){0};
            for (int64_t c = 0; c < 64; c++) {
                const vec_v3 query_8 = load_v3(query + c * 16 + i);
                const vec_v3 query_new10 = exp_v3(query_8 - query_7_9);
                store_v3(query + c * 16 + i, query_new10);
                query_9_in += query_new10;
            }
            store_v3(query_9 + i, load_v3(query_9 + i) + query_9_in);
        }
        /* query_10 = query / query_9 */
        for (int64_t i = 0; i < i1 - i0; i += 8) {
            const vec_v3 query_9_11 = load_v3(query_9 + i);
            for (int64_t c = 0; c < 64; c++) {
                store_v3(query_10 + c * 16 + i, load_v3(query + c * 16 + i) / query_9_11);
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
        /* key[c][j] = sum over d of features_wk * k_tile */
        dot1_v3(round_up(j1 - j0, 16), features_wk, k_tile, key);
        /* key_2 = -INFINITY */
        for (int64_t j = 0; j < j1 - j0; j += 8) {
            store_v3(key_2 + j, splat_v3(-INFINITY));
        }
        /* key_2 max= key */
        for (int64_t j_first = 0; j_first < j1 - j0; j_first += 16) {
            vec_v3 key_2_in[2][2];
            UNROLL for (int64_t u = 0, j = j_first; u < 2; u++, j += 8) {
                UNROLL for (int c_chain = 0; c_chain < 2; c_chain++) key_2_in[u][c_chain] = splat_v3(-INFINITY);
            }
            for (int64_t c_first = 0; c_first < 64; c_first += 2) {
                UNROLL for (int c_chain = 0; c_chain < 2; c_chain++) {
                    const int64_t c = min(c_first + c_chain, 64 - 1);
                    UNROLL for (int64_t u = 0, j = j_first; u < 2; u++, j += 8) {
                        key_2_in[u][c_chain] = max_v3(key_2_in[u][c_chain], load_v3(key + c * 96 + j));
                    }
                }
            }
            UNROLL for (int64_t u = 0, j = j_first; u < 2; u++, j += 8) {
                store_v3(key_2 + j, max_v3(load_v3(key_2 + j), max_v3(key_2_in[u][0], key_2_in[u][1])));
            }
        }
        /* key_4 = 0.0f */
        for (int64_t j = 0; j < j1 - j0; j += 8) {
            store_v3(key_4 + j, splat_v3(0.0f));
        }
        /* key_3 = exp(key - key_2); key_4 += key_3 */
        for (int64_t j = 0; j < j1 - j0; j += 8) {
            const vec_v3 key_2_12 = load_v3(key_2 + j);
            vec_v3 key_4_in = (vec_v3){0};
            for (int64_t c = 0; c < 64; c++) {
                const vec_v3 key_3_new13 = exp_v3(load_v3(key + c * 96 + j) - key_2_12);
                store_v3(key_3 + c * 96 + j, key_3_new13);
                key_4_in += key_3_new13;
            }
            store_v3(key_4 + j, load_v3(key_4 + j) + key_4_in);
        }
        /* key_7 = -INFINITY */
        for (int64_t j = 0; j < j1 - j0; j += 8) {
            store_v3(key_7 + j, splat_v3(-INFINITY));
        }
        /* key_3 = key_3 / key_4; key = neg(key); key_7 max= key */
        for (int64_t j = 0; j < j1 - j0; j += 8) {
            const vec_v3 key_4_14 = load_v3(key_4 + j);
            vec_v3 key_7_in = load_v3(key_7 + j);
            for (int64_t c = 0; c < 64; c++) {
                store_v3(key_3 + c * 96 + j, load_v3(key_3 + c * 96 + j) / key_4_14);
                const vec_v3 key_15 = load_v3(key + c * 96 + j);
                const vec_v3 key_new16 = -key_15;
                store_v3(key + c * 96 + j, key_new16);
                key_7_in = max_v3(key_7_in, key_new16);
            }
            store_v3(key_7 + j, key_7_in);
        }
        /* key_9 = 0.0f */
        for (int64_t j = 0; j < j1 - j0; j += 8) {
            store_v3(key_9 + j, splat_v3(0.0f));
        }
        /* key = exp(key - key_7); key_9 += key */
        for (int64_t j = 0; j < j1 - j0; j += 8) {
            const vec_v3 key_7_18 = load_v3(key_7 + j);
            vec_v3 key_9_in = (vec_v3){0};
            for (int64_t c = 0; c < 64; c++) {
                const vec_v3 key_17 = load_v3(key + c * 96 + j);
                const vec_v3 key_new19 = exp_v3(key_17 - key_7_18);
                store_v3(key + c * 96 + j, key_new19);
                key_9_in += key_new19;
            }
            store_v3(key_9 + j, load_v3(key_9 + j) + key_9_in);
        }
        /* key = key / key_9 */
        for (int64_t j = 0; j < j1 - j0; j += 8) {
            const vec_v3 key_9_20 = load_v3(key_9 + j);
            for (int64_t c = 0; c < 64; c++) {
                store_v3(key + c * 96 + j, load_v3(key + c * 96 + j) / key_9_20);
            }
        }
        for (int64_t i_next = i0, i_block = i0, i_end = i1; i_next < i_end; i_next += 16) {
            const int64_t i0 = i_next, i1 = min(i0 + 16, i_end);
            float *const query_5 = all_query_5 + (i0 - i_block) / 16 * 1024;
            float *const query_10 = all_query_10 + (i0 - i_block) / 16 * 1024;
            float *const row_sum = all_row_sum + (i0 - i_block) / 16 * 16;
            float *const row_sum_compensation = all_row_sum_compensation + (i0 - i_block) / 16 * 16;
            float *const sum = all_sum + (i0 - i_block) / 16 * 1024;
            float *const sum_compensation = all_sum_compensation + (i0 - i_block) / 16 * 1024;
            if (!(j0 < (i1 + n_k - n_q))) continue; /* nothing in the tile can be seen */
            /* score[j][i] = sum over c of key_3 * query_5 */
            dot2_v3(j1 - j0, key_3, query_5, score);
            /* score_2[j][i] = sum over c of key * query_10 */
            dot2_v3(j1 - j0, key, query_10, score_2);
            /* score = score + score_2 */
            for (int64_t i_first = 0; i_first < i1 - i0; i_first += 16) {
                for (int64_t j = 0; j < j1 - j0; j++) {
                    UNROLL for (int64_t u = 0, i = i_first; u < 2; u++, i += 8) {
                        store_v3(score + j * 16 + i, load_v3(score + j * 16 + i) + load_v3(score_2 + j * 16 + i));
                    }
                }
            }
            if ((i0 + n_k - n_q + 1) < j1) { /* the tile is not wholly inside the mask */
                /* score = select(j <= (i + (n_k - n_q)), score, 0.0f) */
                const int64_t t_21 = n_k - n_q;
                for (int64_t i = 0; i < i1 - i0; i += 8) {
                    const ints_v3 t_22 = (i0 + i + lane_v3) + t_21;
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        store_v3(score + j * 16 + i, pick_v3(__builtin_convertvector((j0 + j) <= t_22, mask_v3),
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
                dot3_v3(j1 - j0, v + j0 * v_row, v_row, score, sum, sum_compensation);
                for (int64_t j = 0; j < j1 - j0; j++) {
                    mask_v3 seen[2];
                    if (finite_v3(v + j0 * v_row + j * v_row, 1, 64, 1)) continue;
                    const int64_t t_23 = n_k - n_q;
                    for (int64_t i = 0; i < i1 - i0; i += 8) {
                        seen[i / 8] = __builtin_convertvector((j0 + j) <= ((i0 + i + lane_v3) + t_23), mask_v3);
                    }
                    add_seen_v3(64, sum, 16, v + j0 * v_row + j * v_row, 1, score + j * 16, seen, i1 - i0);
                }
            } else
                dot4_v3(j1 - j0, v + j0 * v_row, v_row, score, sum, sum_compensation);
        }
    }
    {
        for (int64_t i_next = i0, i_block = i0, i_end = i1; i_next < i_end; i_next += 16) {
            const int64_t i0 = i_next, i1 = min(i0 + 16, i_end);
            float *const row_sum = all_row_sum + (i0 - i_block) / 16 * 16;
            float *const sum = all_sum + (i0 - i_block) / 16 * 1024;
            /* result = select(row_sum == 0.0f, 0.0f, sum / row_sum) */
            for (int64_t i = 0; i < i1 - i0; i += 8) {
                const vec_v3 row_sum_24 = load_v3(row_sum + i);
                const mask_v3 t_25 = row_sum_24 == 0.0f;
                for (int64_t e = 0; e < 64; e++) {
                    store_v3(result + e * 16 + i, pick_v3(t_25, splat_v3(0.0f),
                        load_v3(sum + e * 16 + i) / row_sum_24));
                }
            }
            /* out = result, transposed back */
            transpose_v3(result, 16, 64, i1 - i0, out + i0 * out_row, out_row);
        }
    }
}

/* States begin with no key. */
TARGET_v3 APART void hedgehog_begin_v3(const struct call *call, int64_t task, const struct part *part, int64_t turn)
{
    (void)call;
    (void)task;
    const int64_t f0 = turn * 32, f1 = min(f0 + 32, 128);
    float *const carried = (float *)(void *)(part->shared + 0); /* [f: 128] */
    float *const carried_compensation = (float *)(void *)(part->shared + 33280); /* [f: 128] */
    float *const carried_2 = (float *)(void *)(part->shared + 512); /* [f: 128, e: 64] */
    float *const carried_2_compensation = (float *)(void *)(part->shared + 33792); /* [f: 128, e: 64] */
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
TARGET_v3 APART void hedgehog_keys_v3(const struct call *call, int64_t task, const struct part *part, int64_t turn)
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
    const float *const features_wk = call->params->features_wk + g * 64 * 64;
    float *const key = (float *)(void *)(part->work + 0); /* [c: 64, j: 32] */
    float *const key_2 = (float *)(void *)(part->work + 8192); /* [j: 32] */
    float *const key_3 = (float *)(void *)(part->work + 8320); /* [c: 64, j: 32] */
    float *const key_4 = (float *)(void *)(part->work + 16512); /* [j: 32] */
    float *const key_7 = (float *)(void *)(part->work + 8192); /* [j: 32] */
    float *const key_9 = (float *)(void *)(part->work + 16512); /* [j: 32] */
    float *const key_11 = (float *)(void *)(part->work + 16512); /* [f: 128, j: 32] */
    float *const state = (float *)(void *)(part->slots + 0); /* [chunk, f: 128 of 144] */
    float *const state_2 = (float *)(void *)(part->slots + 576); /* [chunk, f: 128, e: 64] */
    float *const k_tile = (float *)(void *)(part->work + 8192); /* [d: 64, j: 32] */
    /* state = 0.0f */
    for (int64_t f = 0; f < 128; f += 8) {
        store_v3(state + (chunk - chunk0) * 8336 + f, splat_v3(0.0f));
    }
    for (int64_t j0 = chunk * 32, j_end = min(n_k, (chunk + 1) * 32); j0 < j_end; j0 += 32) {
        const int64_t j1 = min(j0 + 32, j_end);
        /* k_tile = k, with zeros beyond the last row */
        transpose_v3(k + j0 * k_row, k_row, j1 - j0, 64, k_tile, 32);
        for (int64_t j = j1 - j0; j < round_up(j1 - j0, 8); j++)
            for (int64_t d = 0; d < 64; d++) k_tile[d * 32 + j] = 0;
        /* key[c][j] = sum over d of features_wk * k_tile */
        dot5_v3(round_up(j1 - j0, 16), features_wk, k_tile, key);
        /* key_2 = -INFINITY */
        for (int64_t j = 0; j < j1 - j0; j += 8) {
            store_v3(key_2 + j, splat_v3(-INFINITY));
        }
        /* key_2 max= key */
        for (int64_t j_first = 0; j_first < j1 - j0; j_first += 16) {
            vec_v3 key_2_in[2][2];
            UNROLL for (int64_t u = 0, j = j_first; u < 2; u++, j += 8) {
                UNROLL for (int c_chain = 0; c_chain < 2; c_chain++) key_2_in[u][c_chain] = splat_v3(-INFINITY);
            }
            for (int64_t c_first = 0; c_first < 64; c_first += 2) {
                UNROLL for (int c_chain = 0; c_chain < 2; c_chain++) {
                    const int64_t c = min(c_first + c_chain, 64 - 1);
                    UNROLL for (int64_t u = 0, j = j_first; u < 2; u++, j += 8) {
                        key_2_in[u][c_chain] = max_v3(key_2_in[u][c_chain], load_v3(key + c * 32 + j));
                    }
                }
            }
            UNROLL for (int64_t u = 0, j = j_first; u < 2; u++, j += 8) {
                store_v3(key_2 + j, max_v3(load_v3(key_2 + j), max_v3(key_2_in[u][0], key_2_in[u][1])));
            }
        }
        /* key_4 = 0.0f */
        for (int64_t j = 0; j < j1 - j0; j += 8) {
            store_v3(key_4 + j, splat_v3(0.0f));
        }
        /* key_3 = exp(key - key_2); key_4 += key_3 */
        for (int64_t j = 0; j < j1 - j0; j += 8) {
            const vec_v3 key_2_0 = load_v3(key_2 + j);
            vec_v3 key_4_in = (vec_v3){0};
            for (int64_t c = 0; c < 64; c++) {
                const vec_v3 key_3_new1 = exp_v3(load_v3(key + c * 32 + j) - key_2_0);
                store_v3(key_3 + c * 32 + j, key_3_new1);
                key_4_in += key_3_new1;
            }
            store_v3(key_4 + j, load_v3(key_4 + j) + key_4_in);
        }
        /* key_7 = -INFINITY */
        for (int64_t j = 0; j < j1 - j0; j += 8) {
            store_v3(key_7 + j, splat_v3(-INFINITY));
        }
        /* key_3 = key_3 / key_4; key = neg(key); key_7 max= key */
        for (int64_t j = 0; j < j1 - j0; j += 8) {
            const vec_v3 key_4_2 = load_v3(key_4 + j);
            vec_v3 key_7_in = load_v3(key_7 + j);
            for (int64_t c = 0; c < 64; c++) {
                store_v3(key_3 + c * 32 + j, load_v3(key_3 + c * 32 + j) / key_4_2);
                const vec_v3 key_5 = load_v3(key + c * 32 + j);
                const vec_v3 key_new6 = -key_5;
                store_v3(key + c * 32 + j, key_new6);
                key_7_in = max_v3(key_7_in, key_new6);
            }
            store_v3(key_7 + j, key_7_in);
        }
        /* key_9 = 0.0f */
        for (int64_t j = 0; j < j1 - j0; j += 8) {
            store_v3(key_9 + j, splat_v3(0.0f));
        }
        /* key = exp(key - key_7); key_9 += key */
        for (int64_t j = 0; j < j1 - j0; j += 8) {
            const vec_v3 key_7_9 = load_v3(key_7 + j);
            vec_v3 key_9_in = (vec_v3){0};
            for (int64_t c = 0; c < 64; c++) {
                const vec_v3 key_8 = load_v3(key + c * 32 + j);
                const vec_v3 key_new10 = exp_v3(key_8 - key_7_9);
                store_v3(key + c * 32 + j, key_new10);
                key_9_in += key_new10;
            }
            store_v3(key_9 + j, load_v3(key_9 + j) + key_9_in);
        }
        /* key = key / key_9 */
        for (int64_t j = 0; j < j1 - j0; j += 8) {
            const vec_v3 key_9_11 = load_v3(key_9 + j);
            for (int64_t c = 0; c < 64; c++) {
                store_v3(key + c * 32 + j, load_v3(key + c * 32 + j) / key_9_11);
            }
        }
        /* key_11 = select(f < 64, key_3, key) */
        for (int64_t j_first = 0; j_first < j1 - j0; j_first += 16) {
            for (int64_t f = 0; f < 128; f++) {
                UNROLL for (int64_t u = 0, j = j_first; u < 2; u++, j += 8) {
                    store_v3(key_11 + f * 32 + j, (f < 64) ? load_v3(key_3 + min(f,
                        63) * 32 + j) : load_v3(key + max(f - 64, 0) * 32 + j));
                }
            }
        }
        /* state += key_11 */
        for (int64_t f = 0; f < 128; f++) {
            vec_v3 lane_sums = splat_v3(0);
            for (int64_t j = 0; j < j1 - j0; j += 8) {
                const vec_v3 term = load_v3(key_11 + f * 32 + j);
                lane_sums += j + 8 <= j1 - j0 ? term : pick_v3(__builtin_convertvector(j + lane_v3 < j1 - j0, mask_v3),
                    term, splat_v3(0));
            }
            const float total = lane_sum_v3(lane_sums);
            state[(chunk - chunk0) * 8336 + f] += total;
        }
        /* state_2[f][e] = sum over j of key_11 * v */
        dot6_v3(j1 - j0, key_11, v + j0 * v_row, v_row, state_2 + (chunk - chunk0) * 8336);
    }
}

/* Some elements of the states take in the chunks at hand, one after the other. */
TARGET_v3 APART void hedgehog_fold_v3(const struct call *call, int64_t task, const struct part *part, int64_t turn)
{
    (void)call;
    (void)task;
    const int64_t f0 = turn * 32, f1 = min(f0 + 32, 128);
    const int64_t chunk0 = part->chunk0;
    const int64_t chunk1 = part->chunk1;
    float *const state = (float *)(void *)(part->slots + 0); /* [chunk, f: 128 of 144] */
    float *const state_2 = (float *)(void *)(part->slots + 576); /* [chunk, f: 128, e: 64] */
    float *const carried = (float *)(void *)(part->shared + 0); /* [f: 128] */
    float *const carried_compensation = (float *)(void *)(part->shared + 33280); /* [f: 128] */
    float *const carried_2 = (float *)(void *)(part->shared + 512); /* [f: 128, e: 64] */
    float *const carried_2_compensation = (float *)(void *)(part->shared + 33792); /* [f: 128, e: 64] */
    for (int64_t chunk = chunk0; chunk < chunk1; chunk++) {
        /* before = carried; carried += state; state = before */
        for (int64_t f = f0; f < f1; f += 8) {
            const vec_v3 before_new12 = load_v3(carried + f);
            add_v3(carried + f, carried_compensation + f, load_v3(state + (chunk - chunk0) * 8336 + f), splat_v3(1));
            store_v3(state + (chunk - chunk0) * 8336 + f, before_new12);
        }
        /* before_2 = carried_2; carried_2 += state_2; state_2 = before_2 */
        for (int64_t f = f0; f < f1; f++) {
            for (int64_t e_first = 0; e_first < 64; e_first += 16) {
                UNROLL for (int64_t u = 0, e = e_first; u < 2; u++, e += 8) {
                    const vec_v3 before_2_new13 = load_v3(carried_2 + f * 64 + e);
                    add_v3(carried_2 + f * 64 + e, carried_2_compensation + f * 64 + e,
                        load_v3(state_2 + (chunk - chunk0) * 8336 + f * 64 + e), splat_v3(1));
                    store_v3(state_2 + (chunk - chunk0) * 8336 + f * 64 + e, before_2_new13);
                }
            }
        }
    }
}

/* The queries of a chunk meet the states before it, and its own keys. */
TARGET_v3 APART void hedgehog_queries_v3(const struct call *call, int64_t task, const struct part *part, int64_t turn)
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
    const float *const features_wq = call->params->features_wq + g * members * 64 * 64;
    const float *const features_wk = call->params->features_wk + g * 64 * 64;
    float *const state = (float *)(void *)(part->slots + 0); /* [chunk, f: 128 of 144] */
    float *const state_2 = (float *)(void *)(part->slots + 576); /* [chunk, f: 128, e: 64] */
    float *const query = (float *)(void *)(part->work + 0); /* [c: 64, i: 32] */
    float *const query_2 = (float *)(void *)(part->work + 8192); /* [i: 32] */
    float *const query_3 = (float *)(void *)(part->work + 8320); /* [c: 64, i: 32] */
    float *const query_4 = (float *)(void *)(part->work + 16512); /* [i: 32] */
    float *const query_7 = (float *)(void *)(part->work + 8192); /* [i: 32] */
    float *const query_9 = (float *)(void *)(part->work + 16512); /* [i: 32] */
    float *const key_12 = (float *)(void *)(part->work + 16512); /* [c: 64, j: 32] */
    float *const key_13 = (float *)(void *)(part->work + 8192); /* [j: 32] */
    float *const key_14 = (float *)(void *)(part->work + 24704); /* [c: 64, j: 32] */
    float *const key_15 = (float *)(void *)(part->work + 32896); /* [j: 32] */
    float *const key_18 = (float *)(void *)(part->work + 8192); /* [j: 32] */
    float *const key_20 = (float *)(void *)(part->work + 32896); /* [j: 32] */
    float *const score = (float *)(void *)(part->work + 32896); /* [j: 32, i: 32] */
    float *const score_2 = (float *)(void *)(part->work + 24704); /* [j: 32, i: 32] */
    float *const query_11 = (float *)(void *)(part->work + 16512); /* [f: 128, i: 32] */
    float *const query_12 = (float *)(void *)(part->work + 36992); /* [i: 32] */
    float *const row_sum = (float *)(void *)(part->work + 37120); /* [i: 32] */
    float *const row_sum_compensation = (float *)(void *)(part->work + 37248); /* [i: 32] */
    float *const query_13 = (float *)(void *)(part->work + 37376); /* [e: 64, i: 32] */
    float *const sum = (float *)(void *)(part->work + 45568); /* [e: 64, i: 32] */
    float *const sum_compensation = (float *)(void *)(part->work + 53760); /* [e: 64, i: 32] */
    float *const out = call->out + b * call->p.out.batch + g * members * call->p.out.head;
    const int64_t out_row = call->p.out.row;
    const int64_t out_head = call->p.out.head;
    float *const q_tile = (float *)(void *)(part->work + 8192); /* [d: 64, i: 32] */
    float *const k_tile_2 = (float *)(void *)(part->work + 24704); /* [d: 64, j: 32] */
    for (int64_t m = 0; m < members; m++) {
        for (int64_t i0 = (chunk == 0) ? 0 : max(0, (chunk * 32) - (n_k - n_q)), i_end = min(n_q,
            ((chunk + 1) * 32) - (n_k - n_q)); i0 < i_end; i0 += 32) {
            const int64_t i1 = min(i0 + 32, i_end);
            /* q_tile = q, with zeros beyond the last row */
            transpose_v3(q + m * q_head + i0 * q_row, q_row, i1 - i0, 64, q_tile, 32);
            for (int64_t i = i1 - i0; i < round_up(i1 - i0, 8); i++)
                for (int64_t d = 0; d < 64; d++) q_tile[d * 32 + i] = 0;
            /* query[c][i] = sum over d of features_wq * q_tile */
            dot5_v3(round_up(i1 - i0, 16), features_wq + m * 4096, q_tile, query);
            /* query_2 = -INFINITY */
            for (int64_t i = 0; i < i1 - i0; i += 8) {
                store_v3(query_2 + i, splat_v3(-INFINITY));
            }
            /* query_2 max= query */
            for (int64_t i_first = 0; i_first < i1 - i0; i_first += 16) {
                vec_v3 query_2_in[2][2];
                UNROLL for (int64_t u = 0, i = i_first; u < 2; u++, i += 8) {
                    UNROLL for (int c_chain = 0; c_chain < 2; c_chain++) query_2_in[u][c_chain] = splat_v3(-INFINITY);
                }
                for (int64_t c_first = 0; c_first < 64; c_first += 2) {
                    UNROLL for (int c_chain = 0; c_chain < 2; c_chain++) {
                        const int64_t c = min(c_first + c_chain, 64 - 1);
                        UNROLL for (int64_t u = 0, i = i_first; u < 2; u++, i += 8) {
                            query_2_in[u][c_chain] = max_v3(query_2_in[u][c_chain], load_v3(query + c * 32 + i));
                        }
                    }
                }
                UNROLL for (int64_t u = 0, i = i_first; u < 2; u++, i += 8) {
                    store_v3(query_2 + i, max_v3(load_v3(query_2 + i), max_v3(query_2_in[u][0], query_2_in[u][1])));
                }
            }
            /* query_4 = 0.0f */
            for (int64_t i = 0; i < i1 - i0; i += 8) {
                store_v3(query_4 + i, splat_v3(0.0f));
            }
            /* query_3 = exp(query - query_2); query_4 += query_3 */
            for (int64_t i = 0; i < i1 - i0; i += 8) {
                const vec_v3 query_2_14 = load_v3(query_2 + i);
                vec_v3 query_4_in = (vec_v3){0};
                for (int64_t c = 0; c < 64; c++) {
                    const vec_v3 query_3_new15 = exp_v3(load_v3(query + c * 32 + i) - query_2_14);
                    store_v3(query_3 + c * 32 + i, query_3_new15);
                    query_4_in += query_3_new15;
                }
                store_v3(query_4 + i, load_v3(query_4 + i) + query_4_in);
            }
            /* query_7 = -INFINITY */
            for (int64_t i = 0; i < i1 - i0; i += 8) {
                store_v3(query_7 + i, splat_v3(-INFINITY));
            }
            /* query_3 = query_3 / query_4; query = neg(query); query_7 max= query */
            for (int64_t i = 0; i < i1 - i0; i += 8) {
                const vec_v3 query_4_16 = load_v3(query_4 + i);
                vec_v3 query_7_in = load_v3(query_7 + i);
                for (int64_t c = 0; c < 64; c++) {
                    store_v3(query_3 + c * 32 + i, load_v3(query_3 + c * 32 + i) / query_4_16);
                    const vec_v3 query_17 = load_v3(query + c * 32 + i);
                    const vec_v3 query_new18 = -query_17;
                    store_v3(query + c * 32 + i, query_new18);
                    query_7_in = max_v3(query_7_in, query_new18);
                }
                store_v3(query_7 + i, query_7_in);
            }
            /* query_9 = 0.0f */
            for (int64_t i = 0; i < i1 - i0; i += 8) {
                store_v3(query_9 + i, splat_v3(0.0f));
            }
            /* query = exp(query - query_7); query_9 += query */
            for (int64_t i = 0; i < i1 - i0; i += 8) {
                const vec_v3 query_7_20 = load_v3(query_7 + i);
                vec_v3 query_9_in = (vec_v3){0};
                for (int64_t c = 0; c < 64; c++) {
                    const vec_v3 query_19 = load_v3(query + c * 32 + i);
                    const vec_v3 query_new21 = exp_v3(query_19 - query_7_20);
                    store_v3(query + c * 32 + i, query_new21);
                    query_9_in += query_new21;
                }
                store_v3(query_9 + i, load_v3(query_9 + i) + query_9_in);
            }
            /* query = query / query_9 */
            for (int64_t i = 0; i < i1 - i0; i += 8) {
                const vec_v3 query_9_22 = load_v3(query_9 + i);
                for (int64_t c = 0; c < 64; c++) {
                    store_v3(query + c * 32 + i, load_v3(query + c * 32 + i) / query_9_22);
                }
            }
            /* query_12 = 0.0f */
            for (int64_t i = 0; i < i1 - i0; i += 8) {
                store_v3(query_12 + i, splat_v3(0.0f));
            }
            /* query_11 = select(f < 64, query_3, query); query_12 += query_11 * state */
            for (int64_t i_first = 0; i_first < i1 - i0; i_first += 16) {
                vec_v3 query_12_in[2], query_12_in_whole[2];
                UNROLL for (int64_t u = 0, i = i_first; u < 2; u++, i += 8) {
                    query_12_in[u] = (vec_v3){0};
                    query_12_in_whole[u] = (vec_v3){0};
                }
                for (int64_t f = 0; f < 128; f++) {
                    UNROLL for (int64_t u = 0, i = i_first; u < 2; u++, i += 8) {
                        const vec_v3 query_11_new23 = (f < 64) ? load_v3(query_3 + min(f,
                            63) * 32 + i) : load_v3(query + max(f - 64, 0) * 32 + i);
                        store_v3(query_11 + f * 32 + i, query_11_new23);
                        query_12_in[u] += query_11_new23 * (state[(chunk - chunk0) * 8336 + f]);
                        if (f % 32 == 31) {
                            query_12_in_whole[u] += query_12_in[u];
                            query_12_in[u] = (vec_v3){0};
                        }
                    }
                }
                UNROLL for (int64_t u = 0, i = i_first; u < 2; u++, i += 8) {
                    query_12_in[u] += query_12_in_whole[u];
                    store_v3(query_12 + i, load_v3(query_12 + i) + query_12_in[u]);
                }
            }
            /* row_sum = 0.0f; row_sum_compensation = 0.0f */
            for (int64_t i = 0; i < i1 - i0; i += 8) {
                store_v3(row_sum + i, splat_v3(0.0f));
                store_v3(row_sum_compensation + i, splat_v3(0.0f));
            }
            /* query_13[e][i] = sum over f of state_2 * query_11 */
            dot7_v3(round_up(i1 - i0, 16), state_2 + (chunk - chunk0) * 8336, query_11, query_13);
            /* sum = 0.0f; sum_compensation = 0.0f */
            for (int64_t i_first = 0; i_first < i1 - i0; i_first += 16) {
                for (int64_t e = 0; e < 64; e++) {
                    UNROLL for (int64_t u = 0, i = i_first; u < 2; u++, i += 8) {
                        store_v3(sum + e * 32 + i, splat_v3(0.0f));
                        store_v3(sum_compensation + e * 32 + i, splat_v3(0.0f));
                    }
                }
            }
            for (int64_t j0 = max(0, chunk * 32), j_end = min(n_k, i1 + n_k - n_q); j0 < j_end; j0 += 32) {
                const int64_t j1 = min(j0 + 32, j_end);
                /* k_tile_2 = k, with zeros beyond the last row */
                transpose_v3(k + j0 * k_row, k_row, j1 - j0, 64, k_tile_2, 32);
                for (int64_t j = j1 - j0; j < round_up(j1 - j0, 8); j++)
                    for (int64_t d = 0; d < 64; d++) k_tile_2[d * 32 + j] = 0;
                /* key_12[c][j] = sum over d of features_wk * k_tile_2 */
                dot5_v3(round_up(j1 - j0, 16), features_wk, k_tile_2, key_12);
                /* key_13 = -INFINITY */
                for (int64_t j = 0; j < j1 - j0; j += 8) {
                    store_v3(key_13 + j, splat_v3(-INFINITY));
                }
                /* key_13 max= key_12 */
                for (int64_t j_first = 0; j_first < j1 - j0; j_first += 16) {
                    vec_v3 key_13_in[2][2];
                    UNROLL for (int64_t u = 0, j = j_first; u < 2; u++, j += 8) {
                        UNROLL for (int c_chain = 0; c_chain < 2; c_chain++) key_13_in[u][c_chain] =
                            splat_v3(-INFINITY);
                    }
                    for (int64_t c_first = 0; c_first < 64; c_first += 2) {
                        UNROLL for (int c_chain = 0; c_chain < 2; c_chain++) {
                            const int64_t c = min(c_first + c_chain, 64 - 1);
                            UNROLL for (int64_t u = 0, j = j_first; u < 2; u++, j += 8) {
                                key_13_in[u][c_chain] = max_v3(key_13_in[u][c_chain], load_v3(key_12 + c * 32 + j));
                            }
                        }
                    }
                    UNROLL for (int64_t u = 0, j = j_first; u < 2; u++, j += 8) {
                        store_v3(key_13 + j, max_v3(load_v3(key_13 + j), max_v3(key_13_in[u][0], key_13_in[u][1])));
                    }
                }
                /* key_15 = 0.0f */
                for (int64_t j = 0; j < j1 - j0; j += 8) {
                    store_v3(key_15 + j, splat_v3(0.0f));
                }
                /* key_14 = exp(key_12 - key_13); key_15 += key_14 */
                for (int64_t j = 0; j < j1 - j0; j += 8) {
                    const vec_v3 key_13_24 = load_v3(key_13 + j);
                    vec_v3 key_15_in = (vec_v3){0};
                    for (int64_t c = 0; c < 64; c++) {
                        const vec_v3 key_14_new25 = exp_v3(load_v3(key_12 + c * 32 + j) - key_13_24);
                        store_v3(key_14 + c * 32 + j, key_14_new25);
                        key_15_in += key_14_new25;
                    }
                    store_v3(key_15 + j, load_v3(key_15 + j) + key_15_in);
                }
                /* key_18 = -INFINITY */
                for (int64_t j = 0; j < j1 - j0; j += 8) {
                    store_v3(key_18 + j, splat_v3(-INFINITY));
                }
                /* key_14 = key_14 / key_15; key_12 = neg(key_12); key_18 max= key_12 */
                for (int64_t j = 0; j < j1 - j0; j += 8) {
                    const vec_v3 key_15_26 = load_v3(key_15 + j);
                    vec_v3 key_18_in = load_v3(key_18 + j);
                    for (int64_t c = 0; c < 64; c++) {
                        store_v3(key_14 + c * 32 + j, load_v3(key_14 + c * 32 + j) / key_15_26);
                        const vec_v3 key_12_27 = load_v3(key_12 + c * 32 + j);
                        const vec_v3 key_12_new28 = -key_12_27;
                        store_v3(key_12 + c * 32 + j, key_12_new28);
                        key_18_in = max_v3(key_18_in, key_12_new28);
                    }
                    store_v3(key_18 + j, key_18_in);
                }
                /* key_20 = 0.0f */
                for (int64_t j = 0; j < j1 - j0; j += 8) {
                    store_v3(key_20 + j, splat_v3(0.0f));
                }
                /* key_12 = exp(key_12 - key_18); key_20 += key_12 */
                for (int64_t j = 0; j < j1 - j0; j += 8) {
                    const vec_v3 key_18_30 = load_v3(key_18 + j);
                    vec_v3 key_20_in = (vec_v3){0};
                    for (int64_t c = 0; c < 64; c++) {
                        const vec_v3 key_12_29 = load_v3(key_12 + c * 32 + j);
                        const vec_v3 key_12_new31 = exp_v3(key_12_29 - key_18_30);
                        store_v3(key_12 + c * 32 + j, key_12_new31);
                        key_20_in += key_12_new31;
                    }
                    store_v3(key_20 + j, load_v3(key_20 + j) + key_20_in);
                }
                /* key_12 = key_12 / key_20 */
                for (int64_t j = 0; j < j1 - j0; j += 8) {
                    const vec_v3 key_20_32 = load_v3(key_20 + j);
                    for (int64_t c = 0; c < 64; c++) {
                        store_v3(key_12 + c * 32 + j, load_v3(key_12 + c * 32 + j) / key_20_32);
                    }
                }
                /* score[j][i] = sum over c of key_14 * query_3 */
                dot8_v3(round_up(i1 - i0, 16), j1 - j0, key_14, query_3, score);
                /* score_2[j][i] = sum over c of key_12 * query */
                dot8_v3(round_up(i1 - i0, 16), j1 - j0, key_12, query, score_2);
                /* score = score + score_2 */
                for (int64_t i_first = 0; i_first < i1 - i0; i_first += 16) {
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        UNROLL for (int64_t u = 0, i = i_first; u < 2; u++, i += 8) {
                            store_v3(score + j * 32 + i, load_v3(score + j * 32 + i) + load_v3(score_2 + j * 32 + i));
                        }
                    }
                }
                if ((j0 < (((chunk + 1) - 1) * 32)) || ((i0 + n_k - n_q + 1) < j1)) { /* the tile is not wholly inside
                    the mask */
                    /* score = select((j <= (i + (n_k - n_q))) && ((chunk * 32) <= j), score, 0.0f) */
                    const int64_t t_33 = n_k - n_q;
                    for (int64_t i = 0; i < i1 - i0; i += 8) {
                        const ints_v3 t_34 = (i0 + i + lane_v3) + t_33;
                        for (int64_t j = 0; j < j1 - j0; j++) {
                            store_v3(score + j * 32 + i, pick_v3(__builtin_convertvector(((j0 + j) <= t_34) &
                                (-(int64_t)((chunk * 32) <= (j0 + j))), mask_v3), load_v3(score + j * 32 + i),
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
                            row_sum_in[u] += load_v3(score + j * 32 + i);
                        }
                    }
                    UNROLL for (int64_t u = 0, i = i_first; u < 2; u++, i += 8) {
                        add_v3(row_sum + i, row_sum_compensation + i, row_sum_in[u], splat_v3(1));
                    }
                }
                /* sum[e][i] += sum over j of v * score */
                if (__builtin_expect(((j0 < (((chunk + 1) - 1) * 32)) || ((i0 + n_k - n_q + 1) < j1)) && !finite_v3(v +
                    j0 * v_row, v_row, j1 - j0, 64), 0)) { /* infinity and NaN reach only what sees them */
                    dot9_v3(round_up(i1 - i0, 16), j1 - j0, v + j0 * v_row, v_row, score, sum, sum_compensation);
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        mask_v3 seen[4];
                        if (finite_v3(v + j0 * v_row + j * v_row, 1, 64, 1)) continue;
                        const int64_t t_35 = n_k - n_q;
                        const int t_36 = (chunk * 32) <= (j0 + j);
                        for (int64_t i = 0; i < i1 - i0; i += 8) {
                            seen[i / 8] = __builtin_convertvector(((j0 + j) <= ((i0 + i + lane_v3) + t_35)) &
                                (-(int64_t)t_36), mask_v3);
                        }
                        add_seen_v3(64, sum, 32, v + j0 * v_row + j * v_row, 1, score + j * 32, seen, i1 - i0);
                    }
                } else
                    dot10_v3(round_up(i1 - i0, 16), j1 - j0, v + j0 * v_row, v_row, score, sum, sum_compensation);
            }
            /* sum = select((row_sum + query_12) == 0.0f, 0.0f, (sum + query_13) / (row_sum + query_12)) */
            for (int64_t i = 0; i < i1 - i0; i += 8) {
                const vec_v3 t_37 = load_v3(row_sum + i) + load_v3(query_12 + i);
                const mask_v3 t_38 = t_37 == 0.0f;
                for (int64_t e = 0; e < 64; e++) {
                    store_v3(sum + e * 32 + i, pick_v3(t_38, splat_v3(0.0f),
                        (load_v3(sum + e * 32 + i) + load_v3(query_13 + e * 32 + i)) / t_37));
                }
            }
            /* out = sum, transposed back */
            transpose_v3(sum, 32, 64, i1 - i0, out + m * out_head + i0 * out_row, out_row);
        }
    }
}

/* All of a head: every thread whose part this is calls it. */
TARGET_v3 static void hedgehog_linear_v3(const struct call *call, int64_t task, struct part *part)
{
    const int64_t n_k = call->p.n_k;
    const int64_t chunks = n_k > 0 ? (n_k - 1) / 32 + 1 : 1;
    for (int64_t turn = part->number; turn < ((128 + 31) / 32); turn += part->threads) hedgehog_begin_v3(call, task,
        part, turn);
    meet(part);
    const int64_t first = 0;
    const int64_t length = segment_length(part, chunks - first);
    for (int64_t segment = part->number; first + segment * length < chunks; segment += part->threads) {
        part->chunk0 = first + segment * length;
        part->chunk1 = min(part->chunk0 + length, chunks);
        for (int64_t turn = part->chunk0; turn < part->chunk1; turn++) hedgehog_keys_v3(call, task, part, turn);
        for (int64_t group = 0; group < 16; group++) {
            await_segment(part, group, segment);
            for (int64_t turn = group * ((128 + 31) / 32) / 16; turn < (group + 1) * ((128 + 31) / 32) / 16; turn++)
                hedgehog_fold_v3(call, task, part, turn);
            pass_segment(part, group, segment);
        }
        for (int64_t turn = part->chunk0; turn < part->chunk1; turn++) hedgehog_queries_v3(call, task, part, turn);
    }
    part->segments += (max(chunks - first, 0) + length - 1) / length;
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

INLINE vec_any max_any(vec_any a, vec_any b) { return pick_any((mask_any)(a < b), b, a); }

/* 2^x; off by less than 1e-8 of the value. 0 below -127.0f, NaN stays. */
INLINE vec_any exp2_any(vec_any x)
{
    x = pick_any((mask_any)(x < -127.0f), splat_any(-127.0f), x);
    x = pick_any((mask_any)(x > 128.0f), splat_any(128.0f), x);
    const vec_any t = x + 12582912.0f; /* the integer nearest to x is in the low bits of t */
    const vec_any f = x - (t - 12582912.0f);
    vec_any p = f * 0.00015453163f + 0.0013390863f;
    p = p * f + 0.0096180826f;
    p = p * f + 0.055503571f;
    p = p * f + 0.24022651f;
    p = p * f + 0.69314719f;
    p = p * f + 1.0f;
    return p * (vec_any)(((mask_any)t + 127) << 23);
}

/* e^x, as 2^n 2^f with f from a remainder in two parts. NaN stays. */
INLINE vec_any exp_any(vec_any x)
{
    x = pick_any((mask_any)(x < -89.0f), splat_any(-89.0f), x);
    x = pick_any((mask_any)(x > 89.0f), splat_any(89.0f), x);
    const vec_any t = x * 1.44269504f + 12582912.0f, n = t - 12582912.0f;
    const vec_any r = (x - n * 0.693145751953125f) - n * 1.4286068203094172e-06f;
    return exp2_any(r * 1.44269504f) * exp2_any(n);
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

/* The same with 0 for what is infinite or NaN in a: row by row, for a copy of few numbers. The last
   of the pairs is whole. */
INLINE void dot_finite_any(const int vectors, const int64_t lanes, int64_t rows, const int odd, int64_t steps,
    const int64_t part, const float *a, int64_t a_row, int64_t a_step, const float *b, int64_t b_step, float *c,
        int64_t c_row,
    const int then, const float *factor, float *compensation)
{
    float row[96];
    (void)odd;
    for (int64_t r = 0; r < rows; r++, a += a_row) {
        for (int64_t t = 0; t < steps; t++)
            for (int k = 0; k < 1; k++)
                row[1 * t + k] = finite_any(a + t * a_step + k, 0, 1, 1) ? a[t * a_step + k] : 0;
        dot_any(vectors, lanes, 1, 1, steps, part, row, 0, 1, b, b_step, c + r * c_row, c_row,
            then, factor, compensation ? compensation + r * c_row : NULL);
    }
}

/* The products of the code below: dot_any with what is constant in them. */
APART void dot0_any(int64_t lanes, const float *a, const float *b, float *c)
{
    dot_any(2, lanes, 64, 4, 64, 32, a, 1, 64, b, 16, c, 16, 0, NULL, NULL);
}
APART void dot1_any(int64_t lanes, const float *a, const float *b, float *c)
{
    dot_any(2, lanes, 64, 4, 64, 32, a, 1, 64, b, 96, c, 96, 0, NULL, NULL);
}
APART void dot2_any(int64_t lanes, int64_t rows, const float *a, const float *b, float *c)
{
    dot_any(2, lanes, rows, -1, 64, 32, a, 1, 96, b, 16, c, 16, 0, NULL, NULL);
}
APART void dot3_any(int64_t lanes, int64_t steps, const float *a, int64_t a_step, const float *b, float *c,
    float *compensation)
{
    dot_finite_any(2, lanes, 64, 4, steps, 192, a, 1, a_step, b, 16, c, 16, 3, NULL, compensation);
}
APART void dot4_any(int64_t lanes, int64_t steps, const float *a, int64_t a_step, const float *b, float *c,
    float *compensation)
{
    dot_any(2, lanes, 64, 4, steps, 192, a, 1, a_step, b, 16, c, 16, 3, NULL, compensation);
}
APART void dot5_any(int64_t lanes, const float *a, const float *b, float *c)
{
    dot_any(2, lanes, 64, 4, 64, 32, a, 1, 64, b, 32, c, 32, 0, NULL, NULL);
}
APART void dot6_any(int64_t steps, const float *a, const float *b, int64_t b_step, float *c)
{
    dot_any(2, 64, 128, 2, steps, 192, a, 32, 1, b, b_step, c, 64, 0, NULL, NULL);
}
APART void dot7_any(int64_t lanes, const float *a, const float *b, float *c)
{
    dot_any(2, lanes, 64, 4, 128, 32, a, 1, 64, b, 32, c, 32, 0, NULL, NULL);
}
APART void dot8_any(int64_t lanes, int64_t rows, const float *a, const float *b, float *c)
{
    dot_any(2, lanes, rows, -1, 64, 32, a, 1, 32, b, 32, c, 32, 0, NULL, NULL);
}
APART void dot9_any(int64_t lanes, int64_t steps, const float *a, int64_t a_step, const float *b, float *c,
    float *compensation)
{
    dot_finite_any(2, lanes, 64, 4, steps, 192, a, 1, a_step, b, 32, c, 32, 3, NULL, compensation);
}
APART void dot10_any(int64_t lanes, int64_t steps, const float *a, int64_t a_step, const float *b, float *c,
    float *compensation)
{
    dot_any(2, lanes, 64, 4, steps, 192, a, 1, a_step, b, 32, c, 32, 3, NULL, compensation);
}

/* Task number `task`: one tile of queries of one head; `work` is the thread's part of the workspace. */
static void hedgehog_rows_any(const struct call *call, int64_t task, unsigned char *work)
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
    const float *const features_wq = call->params->features_wq + (g * members + m) * 64 * 64;
    const float *const features_wk = call->params->features_wk + g * 64 * 64;
    float *const query = (float *)(void *)(work + 0); /* [c: 64, i: 16] */
    float *const query_2 = (float *)(void *)(work + 4096); /* [i: 16] */
    float *const query_3 = (float *)(void *)(work + 4160); /* [c: 64, i: 16] */
    float *const query_4 = (float *)(void *)(work + 8256); /* [i: 16] */
    float *const all_query_5 = (float *)(void *)(work + 8320); /* [c: 64, i: 16, 8 times] */
    float *const query_7 = (float *)(void *)(work + 4096); /* [i: 16] */
    float *const query_9 = (float *)(void *)(work + 4160); /* [i: 16] */
    float *const all_query_10 = (float *)(void *)(work + 41088); /* [c: 64, i: 16, 8 times] */
    float *const key = (float *)(void *)(work + 73856); /* [c: 64, j: 96] */
    float *const key_2 = (float *)(void *)(work + 0); /* [j: 96] */
    float *const key_3 = (float *)(void *)(work + 98432); /* [c: 64, j: 96] */
    float *const key_4 = (float *)(void *)(work + 384); /* [j: 96] */
    float *const key_7 = (float *)(void *)(work + 0); /* [j: 96] */
    float *const key_9 = (float *)(void *)(work + 384); /* [j: 96] */
    float *const score = (float *)(void *)(work + 0); /* [j: 96, i: 16] */
    float *const score_2 = (float *)(void *)(work + 123008); /* [j: 96, i: 16] */
    float *const all_row_sum = (float *)(void *)(work + 129152); /* [i: 16, 8 times] */
    float *const all_row_sum_compensation = (float *)(void *)(work + 129664); /* [i: 16, 8 times] */
    float *const all_sum = (float *)(void *)(work + 130176); /* [e: 64, i: 16, 8 times] */
    float *const all_sum_compensation = (float *)(void *)(work + 162944); /* [e: 64, i: 16, 8 times] */
    float *const result = (float *)(void *)(work + 0); /* [e: 64, i: 16] */
    float *const out = call->out + b * call->p.out.batch + (g * members + m) * call->p.out.head;
    const int64_t out_row = call->p.out.row;
    float *const q_tile = (float *)(void *)(work + 4096); /* [d: 64, i: 16] */
    float *const k_tile = (float *)(void *)(work + 98432); /* [d: 64, j: 96] */
    for (int64_t i_next = i0, i_block = i0, i_end = i1; i_next < i_end; i_next += 16) {
        const int64_t i0 = i_next, i1 = min(i0 + 16, i_end);
        float *const query_5 = all_query_5 + (i0 - i_block) / 16 * 1024;
        float *const query_10 = all_query_10 + (i0 - i_block) / 16 * 1024;
        float *const row_sum = all_row_sum + (i0 - i_block) / 16 * 16;
        float *const row_sum_compensation = all_row_sum_compensation + (i0 - i_block) / 16 * 16;
        float *const sum = all_sum + (i0 - i_block) / 16 * 1024;
        float *const sum_compensation = all_sum_compensation + (i0 - i_block) / 16 * 1024;
        /* q_tile = q, with zeros beyond the last row */
        transpose_any(q + i0 * q_row, q_row, i1 - i0, 64, q_tile, 16);
        for (int64_t i = i1 - i0; i < round_up(i1 - i0, 4); i++)
            for (int64_t d = 0; d < 64; d++) q_tile[d * 16 + i] = 0;
        /* query[c][i] = sum over d of features_wq * q_tile */
        dot0_any(round_up(i1 - i0, 8), features_wq, q_tile, query);
        /* query_2 = -INFINITY */
        for (int64_t i = 0; i < i1 - i0; i += 4) {
            store_any(query_2 + i, splat_any(-INFINITY));
        }
        /* query_2 max= query */
        for (int64_t i_first = 0; i_first < i1 - i0; i_first += 8) {
            vec_any query_2_in[2][2];
            UNROLL for (int64_t u = 0, i = i_first; u < 2; u++, i += 4) {
                UNROLL for (int c_chain = 0; c_chain < 2; c_chain++) query_2_in[u][c_chain] = splat_any(-INFINITY);
            }
            for (int64_t c_first = 0; c_first < 64; c_first += 2) {
                UNROLL for (int c_chain = 0; c_chain < 2; c_chain++) {
                    const int64_t c = min(c_first + c_chain, 64 - 1);
                    UNROLL for (int64_t u = 0, i = i_first; u < 2; u++, i += 4) {
                        query_2_in[u][c_chain] = max_any(query_2_in[u][c_chain], load_any(query + c * 16 + i));
                    }
                }
            }
            UNROLL for (int64_t u = 0, i = i_first; u < 2; u++, i += 4) {
                store_any(query_2 + i, max_any(load_any(query_2 + i), max_any(query_2_in[u][0], query_2_in[u][1])));
            }
        }
        /* query_4 = 0.0f */
        for (int64_t i = 0; i < i1 - i0; i += 4) {
            store_any(query_4 + i, splat_any(0.0f));
        }
        /* query_3 = exp(query - query_2); query_4 += query_3 */
        for (int64_t i = 0; i < i1 - i0; i += 4) {
            const vec_any query_2_0 = load_any(query_2 + i);
            vec_any query_4_in = (vec_any){0};
            for (int64_t c = 0; c < 64; c++) {
                const vec_any query_3_new1 = exp_any(load_any(query + c * 16 + i) - query_2_0);
                store_any(query_3 + c * 16 + i, query_3_new1);
                query_4_in += query_3_new1;
            }
            store_any(query_4 + i, load_any(query_4 + i) + query_4_in);
        }
        /* query_7 = -INFINITY */
        for (int64_t i = 0; i < i1 - i0; i += 4) {
            store_any(query_7 + i, splat_any(-INFINITY));
        }
        /* query_5 = query_3 / query_4; query = neg(query); query_7 max= query */
        for (int64_t i = 0; i < i1 - i0; i += 4) {
            const vec_any query_4_2 = load_any(query_4 + i);
            vec_any query_7_in = load_any(query_7 + i);
            for (int64_t c = 0; c < 64; c++) {
                store_any(query_5 + c * 16 + i, load_any(query_3 + c * 16 + i) / query_4_2);
                const vec_any query_6 = load_any(query + c * 16 + i);
                const vec_any query_new7 = -query_6;
                store_any(query + c * 16 + i, query_new7);
                query_7_in = max_any(query_7_in, query_new7);
            }
            store_any(query_7 + i, query_7_in);
        }
        /* query_9 = 0.0f */
        for (int64_t i = 0; i < i1 - i0; i += 4) {
            store_any(query_9 + i, splat_any(0.0f));
        }
        /* query = exp(query - query_7); query_9 += query */
        for (int64_t i = 0; i < i1 - i0; i += 4) {
            const vec_any query_7_9 = load_any(query_7 + i);
            vec_any query_9_in = (vec_any){0};
            for (int64_t c = 0; c < 64; c++) {
                const vec_any query_8 = load_any(query + c * 16 + i);
                const vec_any query_new10 = exp_any(query_8 - query_7_9);
                store_any(query + c * 16 + i, query_new10);
                query_9_in += query_new10;
            }
            store_any(query_9 + i, load_any(query_9 + i) + query_9_in);
        }
        /* query_10 = query / query_9 */
        for (int64_t i = 0; i < i1 - i0; i += 4) {
            const vec_any query_9_11 = load_any(query_9 + i);
            for (int64_t c = 0; c < 64; c++) {
                store_any(query_10 + c * 16 + i, load_any(query + c * 16 + i) / query_9_11);
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
        /* key[c][j] = sum over d of features_wk * k_tile */
        dot1_any(round_up(j1 - j0, 8), features_wk, k_tile, key);
        /* key_2 = -INFINITY */
        for (int64_t j = 0; j < j1 - j0; j += 4) {
            store_any(key_2 + j, splat_any(-INFINITY));
        }
        /* key_2 max= key */
        for (int64_t j_first = 0; j_first < j1 - j0; j_first += 8) {
            vec_any key_2_in[2][2];
            UNROLL for (int64_t u = 0, j = j_first; u < 2; u++, j += 4) {
                UNROLL for (int c_chain = 0; c_chain < 2; c_chain++) key_2_in[u][c_chain] = splat_any(-INFINITY);
            }
            for (int64_t c_first = 0; c_first < 64; c_first += 2) {
                UNROLL for (int c_chain = 0; c_chain < 2; c_chain++) {
                    const int64_t c = min(c_first + c_chain, 64 - 1);
                    UNROLL for (int64_t u = 0, j = j_first; u < 2; u++, j += 4) {
                        key_2_in[u][c_chain] = max_any(key_2_in[u][c_chain], load_any(key + c * 96 + j));
                    }
                }
            }
            UNROLL for (int64_t u = 0, j = j_first; u < 2; u++, j += 4) {
                store_any(key_2 + j, max_any(load_any(key_2 + j), max_any(key_2_in[u][0], key_2_in[u][1])));
            }
        }
        /* key_4 = 0.0f */
        for (int64_t j = 0; j < j1 - j0; j += 4) {
            store_any(key_4 + j, splat_any(0.0f));
        }
        /* key_3 = exp(key - key_2); key_4 += key_3 */
        for (int64_t j = 0; j < j1 - j0; j += 4) {
            const vec_any key_2_12 = load_any(key_2 + j);
            vec_any key_4_in = (vec_any){0};
            for (int64_t c = 0; c < 64; c++) {
                const vec_any key_3_new13 = exp_any(load_any(key + c * 96 + j) - key_2_12);
                store_any(key_3 + c * 96 + j, key_3_new13);
                key_4_in += key_3_new13;
            }
            store_any(key_4 + j, load_any(key_4 + j) + key_4_in);
        }
        /* key_7 = -INFINITY */
        for (int64_t j = 0; j < j1 - j0; j += 4) {
            store_any(key_7 + j, splat_any(-INFINITY));
        }
        /* key_3 = key_3 / key_4; key = neg(key); key_7 max= key */
        for (int64_t j = 0; j < j1 - j0; j += 4) {
            const vec_any key_4_14 = load_any(key_4 + j);
            vec_any key_7_in = load_any(key_7 + j);
            for (int64_t c = 0; c < 64; c++) {
                store_any(key_3 + c * 96 + j, load_any(key_3 + c * 96 + j) / key_4_14);
                const vec_any key_15 = load_any(key + c * 96 + j);
                const vec_any key_new16 = -key_15;
                store_any(key + c * 96 + j, key_new16);
                key_7_in = max_any(key_7_in, key_new16);
            }
            store_any(key_7 + j, key_7_in);
        }
        /* key_9 = 0.0f */
        for (int64_t j = 0; j < j1 - j0; j += 4) {
            store_any(key_9 + j, splat_any(0.0f));
        }
        /* key = exp(key - key_7); key_9 += key */
        for (int64_t j = 0; j < j1 - j0; j += 4) {
            const vec_any key_7_18 = load_any(key_7 + j);
            vec_any key_9_in = (vec_any){0};
            for (int64_t c = 0; c < 64; c++) {
                const vec_any key_17 = load_any(key + c * 96 + j);
                const vec_any key_new19 = exp_any(key_17 - key_7_18);
                store_any(key + c * 96 + j, key_new19);
                key_9_in += key_new19;
            }
            store_any(key_9 + j, load_any(key_9 + j) + key_9_in);
        }
        /* key = key / key_9 */
        for (int64_t j = 0; j < j1 - j0; j += 4) {
            const vec_any key_9_20 = load_any(key_9 + j);
            for (int64_t c = 0; c < 64; c++) {
                store_any(key + c * 96 + j, load_any(key + c * 96 + j) / key_9_20);
            }
        }
        for (int64_t i_next = i0, i_block = i0, i_end = i1; i_next < i_end; i_next += 16) {
            const int64_t i0 = i_next, i1 = min(i0 + 16, i_end);
            float *const query_5 = all_query_5 + (i0 - i_block) / 16 * 1024;
            float *const query_10 = all_query_10 + (i0 - i_block) / 16 * 1024;
            float *const row_sum = all_row_sum + (i0 - i_block) / 16 * 16;
            float *const row_sum_compensation = all_row_sum_compensation + (i0 - i_block) / 16 * 16;
            float *const sum = all_sum + (i0 - i_block) / 16 * 1024;
            float *const sum_compensation = all_sum_compensation + (i0 - i_block) / 16 * 1024;
            if (!(j0 < (i1 + n_k - n_q))) continue; /* nothing in the tile can be seen */
            /* score[j][i] = sum over c of key_3 * query_5 */
            dot2_any(round_up(i1 - i0, 8), j1 - j0, key_3, query_5, score);
            /* score_2[j][i] = sum over c of key * query_10 */
            dot2_any(round_up(i1 - i0, 8), j1 - j0, key, query_10, score_2);
            /* score = score + score_2 */
            for (int64_t i_first = 0; i_first < i1 - i0; i_first += 8) {
                for (int64_t j = 0; j < j1 - j0; j++) {
                    UNROLL for (int64_t u = 0, i = i_first; u < 2; u++, i += 4) {
                        store_any(score + j * 16 + i, load_any(score + j * 16 + i) + load_any(score_2 + j * 16 + i));
                    }
                }
            }
            if ((i0 + n_k - n_q + 1) < j1) { /* the tile is not wholly inside the mask */
                /* score = select(j <= (i + (n_k - n_q)), score, 0.0f) */
                const int64_t t_21 = n_k - n_q;
                for (int64_t i = 0; i < i1 - i0; i += 4) {
                    const ints_any t_22 = (i0 + i + lane_any) + t_21;
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        store_any(score + j * 16 + i, pick_any(__builtin_convertvector((j0 + j) <= t_22, mask_any),
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
                dot3_any(round_up(i1 - i0, 8), j1 - j0, v + j0 * v_row, v_row, score, sum, sum_compensation);
                for (int64_t j = 0; j < j1 - j0; j++) {
                    mask_any seen[4];
                    if (finite_any(v + j0 * v_row + j * v_row, 1, 64, 1)) continue;
                    const int64_t t_23 = n_k - n_q;
                    for (int64_t i = 0; i < i1 - i0; i += 4) {
                        seen[i / 4] = __builtin_convertvector((j0 + j) <= ((i0 + i + lane_any) + t_23), mask_any);
                    }
                    add_seen_any(64, sum, 16, v + j0 * v_row + j * v_row, 1, score + j * 16, seen, i1 - i0);
                }
            } else
                dot4_any(round_up(i1 - i0, 8), j1 - j0, v + j0 * v_row, v_row, score, sum, sum_compensation);
        }
    }
    {
        for (int64_t i_next = i0, i_block = i0, i_end = i1; i_next < i_end; i_next += 16) {
            const int64_t i0 = i_next, i1 = min(i0 + 16, i_end);
            float *const row_sum = all_row_sum + (i0 - i_block) / 16 * 16;
            float *const sum = all_sum + (i0 - i_block) / 16 * 1024;
            /* result = select(row_sum == 0.0f, 0.0f, sum / row_sum) */
            for (int64_t i = 0; i < i1 - i0; i += 4) {
                const vec_any row_sum_24 = load_any(row_sum + i);
                const mask_any t_25 = row_sum_24 == 0.0f;
                for (int64_t e = 0; e < 64; e++) {
                    store_any(result + e * 16 + i, pick_any(t_25, splat_any(0.0f),
                        load_any(sum + e * 16 + i) / row_sum_24));
                }
            }
            /* out = result, transposed back */
            transpose_any(result, 16, 64, i1 - i0, out + i0 * out_row, out_row);
        }
    }
}

/* States begin with no key. */
APART void hedgehog_begin_any(const struct call *call, int64_t task, const struct part *part, int64_t turn)
{
    (void)call;
    (void)task;
    const int64_t f0 = turn * 32, f1 = min(f0 + 32, 128);
    float *const carried = (float *)(void *)(part->shared + 0); /* [f: 128] */
    float *const carried_compensation = (float *)(void *)(part->shared + 33280); /* [f: 128] */
    float *const carried_2 = (float *)(void *)(part->shared + 512); /* [f: 128, e: 64] */
    float *const carried_2_compensation = (float *)(void *)(part->shared + 33792); /* [f: 128, e: 64] */
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
APART void hedgehog_keys_any(const struct call *call, int64_t task, const struct part *part, int64_t turn)
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
    const float *const features_wk = call->params->features_wk + g * 64 * 64;
    float *const key = (float *)(void *)(part->work + 0); /* [c: 64, j: 32] */
    float *const key_2 = (float *)(void *)(part->work + 8192); /* [j: 32] */
    float *const key_3 = (float *)(void *)(part->work + 8320); /* [c: 64, j: 32] */
    float *const key_4 = (float *)(void *)(part->work + 16512); /* [j: 32] */
    float *const key_7 = (float *)(void *)(part->work + 8192); /* [j: 32] */
    float *const key_9 = (float *)(void *)(part->work + 16512); /* [j: 32] */
    float *const key_11 = (float *)(void *)(part->work + 16512); /* [f: 128, j: 32] */
    float *const state = (float *)(void *)(part->slots + 0); /* [chunk, f: 128 of 144] */
    float *const state_2 = (float *)(void *)(part->slots + 576); /* [chunk, f: 128, e: 64] */
    float *const k_tile = (float *)(void *)(part->work + 8192); /* [d: 64, j: 32] */
    /* state = 0.0f */
    for (int64_t f = 0; f < 128; f += 4) {
        store_any(state + (chunk - chunk0) * 8336 + f, splat_any(0.0f));
    }
    for (int64_t j0 = chunk * 32, j_end = min(n_k, (chunk + 1) * 32); j0 < j_end; j0 += 32) {
        const int64_t j1 = min(j0 + 32, j_end);
        /* k_tile = k, with zeros beyond the last row */
        transpose_any(k + j0 * k_row, k_row, j1 - j0, 64, k_tile, 32);
        for (int64_t j = j1 - j0; j < round_up(j1 - j0, 4); j++)
            for (int64_t d = 0; d < 64; d++) k_tile[d * 32 + j] = 0;
        /* key[c][j] = sum over d of features_wk * k_tile */
        dot5_any(round_up(j1 - j0, 8), features_wk, k_tile, key);
        /* key_2 = -INFINITY */
        for (int64_t j = 0; j < j1 - j0; j += 4) {
            store_any(key_2 + j, splat_any(-INFINITY));
        }
        /* key_2 max= key */
        for (int64_t j_first = 0; j_first < j1 - j0; j_first += 8) {
            vec_any key_2_in[2][2];
            UNROLL for (int64_t u = 0, j = j_first; u < 2; u++, j += 4) {
                UNROLL for (int c_chain = 0; c_chain < 2; c_chain++) key_2_in[u][c_chain] = splat_any(-INFINITY);
            }
            for (int64_t c_first = 0; c_first < 64; c_first += 2) {
                UNROLL for (int c_chain = 0; c_chain < 2; c_chain++) {
                    const int64_t c = min(c_first + c_chain, 64 - 1);
                    UNROLL for (int64_t u = 0, j = j_first; u < 2; u++, j += 4) {
                        key_2_in[u][c_chain] = max_any(key_2_in[u][c_chain], load_any(key + c * 32 + j));
                    }
                }
            }
            UNROLL for (int64_t u = 0, j = j_first; u < 2; u++, j += 4) {
                store_any(key_2 + j, max_any(load_any(key_2 + j), max_any(key_2_in[u][0], key_2_in[u][1])));
            }
        }
        /* key_4 = 0.0f */
        for (int64_t j = 0; j < j1 - j0; j += 4) {
            store_any(key_4 + j, splat_any(0.0f));
        }
        /* key_3 = exp(key - key_2); key_4 += key_3 */
        for (int64_t j = 0; j < j1 - j0; j += 4) {
            const vec_any key_2_0 = load_any(key_2 + j);
            vec_any key_4_in = (vec_any){0};
            for (int64_t c = 0; c < 64; c++) {
                const vec_any key_3_new1 = exp_any(load_any(key + c * 32 + j) - key_2_0);
                store_any(key_3 + c * 32 + j, key_3_new1);
                key_4_in += key_3_new1;
            }
            store_any(key_4 + j, load_any(key_4 + j) + key_4_in);
        }
        /* key_7 = -INFINITY */
        for (int64_t j = 0; j < j1 - j0; j += 4) {
            store_any(key_7 + j, splat_any(-INFINITY));
        }
        /* key_3 = key_3 / key_4; key = neg(key); key_7 max= key */
        for (int64_t j = 0; j < j1 - j0; j += 4) {
            const vec_any key_4_2 = load_any(key_4 + j);
            vec_any key_7_in = load_any(key_7 + j);
            for (int64_t c = 0; c < 64; c++) {
                store_any(key_3 + c * 32 + j, load_any(key_3 + c * 32 + j) / key_4_2);
                const vec_any key_5 = load_any(key + c * 32 + j);
                const vec_any key_new6 = -key_5;
                store_any(key + c * 32 + j, key_new6);
                key_7_in = max_any(key_7_in, key_new6);
            }
            store_any(key_7 + j, key_7_in);
        }
        /* key_9 = 0.0f */
        for (int64_t j = 0; j < j1 - j0; j += 4) {
            store_any(key_9 + j, splat_any(0.0f));
        }
        /* key = exp(key - key_7); key_9 += key */
        for (int64_t j = 0; j < j1 - j0; j += 4) {
            const vec_any key_7_9 = load_any(key_7 + j);
            vec_any key_9_in = (vec_any){0};
            for (int64_t c = 0; c < 64; c++) {
                const vec_any key_8 = load_any(key + c * 32 + j);
                const vec_any key_new10 = exp_any(key_8 - key_7_9);
                store_any(key + c * 32 + j, key_new10);
                key_9_in += key_new10;
            }
            store_any(key_9 + j, load_any(key_9 + j) + key_9_in);
        }
        /* key = key / key_9 */
        for (int64_t j = 0; j < j1 - j0; j += 4) {
            const vec_any key_9_11 = load_any(key_9 + j);
            for (int64_t c = 0; c < 64; c++) {
                store_any(key + c * 32 + j, load_any(key + c * 32 + j) / key_9_11);
            }
        }
        /* key_11 = select(f < 64, key_3, key) */
        for (int64_t j_first = 0; j_first < j1 - j0; j_first += 8) {
            for (int64_t f = 0; f < 128; f++) {
                UNROLL for (int64_t u = 0, j = j_first; u < 2; u++, j += 4) {
                    store_any(key_11 + f * 32 + j, (f < 64) ? load_any(key_3 + min(f,
                        63) * 32 + j) : load_any(key + max(f - 64, 0) * 32 + j));
                }
            }
        }
        /* state += key_11 */
        for (int64_t f = 0; f < 128; f++) {
            vec_any lane_sums = splat_any(0);
            for (int64_t j = 0; j < j1 - j0; j += 4) {
                const vec_any term = load_any(key_11 + f * 32 + j);
                lane_sums += j + 4 <= j1 - j0 ? term : pick_any(__builtin_convertvector(j + lane_any < j1 - j0,
                    mask_any), term, splat_any(0));
            }
            const float total = lane_sum_any(lane_sums);
            state[(chunk - chunk0) * 8336 + f] += total;
        }
        /* state_2[f][e] = sum over j of key_11 * v */
        dot6_any(j1 - j0, key_11, v + j0 * v_row, v_row, state_2 + (chunk - chunk0) * 8336);
    }
}

/* Some elements of the states take in the chunks at hand, one after the other. */
APART void hedgehog_fold_any(const struct call *call, int64_t task, const struct part *part, int64_t turn)
{
    (void)call;
    (void)task;
    const int64_t f0 = turn * 32, f1 = min(f0 + 32, 128);
    const int64_t chunk0 = part->chunk0;
    const int64_t chunk1 = part->chunk1;
    float *const state = (float *)(void *)(part->slots + 0); /* [chunk, f: 128 of 144] */
    float *const state_2 = (float *)(void *)(part->slots + 576); /* [chunk, f: 128, e: 64] */
    float *const carried = (float *)(void *)(part->shared + 0); /* [f: 128] */
    float *const carried_compensation = (float *)(void *)(part->shared + 33280); /* [f: 128] */
    float *const carried_2 = (float *)(void *)(part->shared + 512); /* [f: 128, e: 64] */
    float *const carried_2_compensation = (float *)(void *)(part->shared + 33792); /* [f: 128, e: 64] */
    for (int64_t chunk = chunk0; chunk < chunk1; chunk++) {
        /* before = carried; carried += state; state = before */
        for (int64_t f = f0; f < f1; f += 4) {
            const vec_any before_new12 = load_any(carried + f);
            add_any(carried + f, carried_compensation + f, load_any(state + (chunk - chunk0) * 8336 + f), splat_any(1));
            store_any(state + (chunk - chunk0) * 8336 + f, before_new12);
        }
        /* before_2 = carried_2; carried_2 += state_2; state_2 = before_2 */
        for (int64_t f = f0; f < f1; f++) {
            for (int64_t e_first = 0; e_first < 64; e_first += 8) {
                UNROLL for (int64_t u = 0, e = e_first; u < 2; u++, e += 4) {
                    const vec_any before_2_new13 = load_any(carried_2 + f * 64 + e);
                    add_any(carried_2 + f * 64 + e, carried_2_compensation + f * 64 + e,
                        load_any(state_2 + (chunk - chunk0) * 8336 + f * 64 + e), splat_any(1));
                    store_any(state_2 + (chunk - chunk0) * 8336 + f * 64 + e, before_2_new13);
                }
            }
        }
    }
}

/* The queries of a chunk meet the states before it, and its own keys. */
APART void hedgehog_queries_any(const struct call *call, int64_t task, const struct part *part, int64_t turn)
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
    const float *const features_wq = call->params->features_wq + g * members * 64 * 64;
    const float *const features_wk = call->params->features_wk + g * 64 * 64;
    float *const state = (float *)(void *)(part->slots + 0); /* [chunk, f: 128 of 144] */
    float *const state_2 = (float *)(void *)(part->slots + 576); /* [chunk, f: 128, e: 64] */
    float *const query = (float *)(void *)(part->work + 0); /* [c: 64, i: 32] */
    float *const query_2 = (float *)(void *)(part->work + 8192); /* [i: 32] */
    float *const query_3 = (float *)(void *)(part->work + 8320); /* [c: 64, i: 32] */
    float *const query_4 = (float *)(void *)(part->work + 16512); /* [i: 32] */
    float *const query_7 = (float *)(void *)(part->work + 8192); /* [i: 32] */
    float *const query_9 = (float *)(void *)(part->work + 16512); /* [i: 32] */
    float *const key_12 = (float *)(void *)(part->work + 16512); /* [c: 64, j: 32] */
    float *const key_13 = (float *)(void *)(part->work + 8192); /* [j: 32] */
    float *const key_14 = (float *)(void *)(part->work + 24704); /* [c: 64, j: 32] */
    float *const key_15 = (float *)(void *)(part->work + 32896); /* [j: 32] */
    float *const key_18 = (float *)(void *)(part->work + 8192); /* [j: 32] */
    float *const key_20 = (float *)(void *)(part->work + 32896); /* [j: 32] */
    float *const score = (float *)(void *)(part->work + 32896); /* [j: 32, i: 32] */
    float *const score_2 = (float *)(void *)(part->work + 24704); /* [j: 32, i: 32] */
    float *const query_11 = (float *)(void *)(part->work + 16512); /* [f: 128, i: 32] */
    float *const query_12 = (float *)(void *)(part->work + 36992); /* [i: 32] */
    float *const row_sum = (float *)(void *)(part->work + 37120); /* [i: 32] */
    float *const row_sum_compensation = (float *)(void *)(part->work + 37248); /* [i: 32] */
    float *const query_13 = (float *)(void *)(part->work + 37376); /* [e: 64, i: 32] */
    float *const sum = (float *)(void *)(part->work + 45568); /* [e: 64, i: 32] */
    float *const sum_compensation = (float *)(void *)(part->work + 53760); /* [e: 64, i: 32] */
    float *const out = call->out + b * call->p.out.batch + g * members * call->p.out.head;
    const int64_t out_row = call->p.out.row;
    const int64_t out_head = call->p.out.head;
    float *const q_tile = (float *)(void *)(part->work + 8192); /* [d: 64, i: 32] */
    float *const k_tile_2 = (float *)(void *)(part->work + 24704); /* [d: 64, j: 32] */
    for (int64_t m = 0; m < members; m++) {
        for (int64_t i0 = (chunk == 0) ? 0 : max(0, (chunk * 32) - (n_k - n_q)), i_end = min(n_q,
            ((chunk + 1) * 32) - (n_k - n_q)); i0 < i_end; i0 += 32) {
            const int64_t i1 = min(i0 + 32, i_end);
            /* q_tile = q, with zeros beyond the last row */
            transpose_any(q + m * q_head + i0 * q_row, q_row, i1 - i0, 64, q_tile, 32);
            for (int64_t i = i1 - i0; i < round_up(i1 - i0, 4); i++)
                for (int64_t d = 0; d < 64; d++) q_tile[d * 32 + i] = 0;
            /* query[c][i] = sum over d of features_wq * q_tile */
            dot5_any(round_up(i1 - i0, 8), features_wq + m * 4096, q_tile, query);
            /* query_2 = -INFINITY */
            for (int64_t i = 0; i < i1 - i0; i += 4) {
                store_any(query_2 + i, splat_any(-INFINITY));
            }
            /* query_2 max= query */
            for (int64_t i_first = 0; i_first < i1 - i0; i_first += 8) {
                vec_any query_2_in[2][2];
                UNROLL for (int64_t u = 0, i = i_first; u < 2; u++, i += 4) {
                    UNROLL for (int c_chain = 0; c_chain < 2; c_chain++) query_2_in[u][c_chain] = splat_any(-INFINITY);
                }
                for (int64_t c_first = 0; c_first < 64; c_first += 2) {
                    UNROLL for (int c_chain = 0; c_chain < 2; c_chain++) {
                        const int64_t c = min(c_first + c_chain, 64 - 1);
                        UNROLL for (int64_t u = 0, i = i_first; u < 2; u++, i += 4) {
                            query_2_in[u][c_chain] = max_any(query_2_in[u][c_chain], load_any(query + c * 32 + i));
                        }
                    }
                }
                UNROLL for (int64_t u = 0, i = i_first; u < 2; u++, i += 4) {
                    store_any(query_2 + i, max_any(load_any(query_2 + i), max_any(query_2_in[u][0], query_2_in[u][1])));
                }
            }
            /* query_4 = 0.0f */
            for (int64_t i = 0; i < i1 - i0; i += 4) {
                store_any(query_4 + i, splat_any(0.0f));
            }
            /* query_3 = exp(query - query_2); query_4 += query_3 */
            for (int64_t i = 0; i < i1 - i0; i += 4) {
                const vec_any query_2_14 = load_any(query_2 + i);
                vec_any query_4_in = (vec_any){0};
                for (int64_t c = 0; c < 64; c++) {
                    const vec_any query_3_new15 = exp_any(load_any(query + c * 32 + i) - query_2_14);
                    store_any(query_3 + c * 32 + i, query_3_new15);
                    query_4_in += query_3_new15;
                }
                store_any(query_4 + i, load_any(query_4 + i) + query_4_in);
            }
            /* query_7 = -INFINITY */
            for (int64_t i = 0; i < i1 - i0; i += 4) {
                store_any(query_7 + i, splat_any(-INFINITY));
            }
            /* query_3 = query_3 / query_4; query = neg(query); query_7 max= query */
            for (int64_t i = 0; i < i1 - i0; i += 4) {
                const vec_any query_4_16 = load_any(query_4 + i);
                vec_any query_7_in = load_any(query_7 + i);
                for (int64_t c = 0; c < 64; c++) {
                    store_any(query_3 + c * 32 + i, load_any(query_3 + c * 32 + i) / query_4_16);
                    const vec_any query_17 = load_any(query + c * 32 + i);
                    const vec_any query_new18 = -query_17;
                    store_any(query + c * 32 + i, query_new18);
                    query_7_in = max_any(query_7_in, query_new18);
                }
                store_any(query_7 + i, query_7_in);
            }
            /* query_9 = 0.0f */
            for (int64_t i = 0; i < i1 - i0; i += 4) {
                store_any(query_9 + i, splat_any(0.0f));
            }
            /* query = exp(query - query_7); query_9 += query */
            for (int64_t i = 0; i < i1 - i0; i += 4) {
                const vec_any query_7_20 = load_any(query_7 + i);
                vec_any query_9_in = (vec_any){0};
                for (int64_t c = 0; c < 64; c++) {
                    const vec_any query_19 = load_any(query + c * 32 + i);
                    const vec_any query_new21 = exp_any(query_19 - query_7_20);
                    store_any(query + c * 32 + i, query_new21);
                    query_9_in += query_new21;
                }
                store_any(query_9 + i, load_any(query_9 + i) + query_9_in);
            }
            /* query = query / query_9 */
            for (int64_t i = 0; i < i1 - i0; i += 4) {
                const vec_any query_9_22 = load_any(query_9 + i);
                for (int64_t c = 0; c < 64; c++) {
                    store_any(query + c * 32 + i, load_any(query + c * 32 + i) / query_9_22);
                }
            }
            /* query_12 = 0.0f */
            for (int64_t i = 0; i < i1 - i0; i += 4) {
                store_any(query_12 + i, splat_any(0.0f));
            }
            /* query_11 = select(f < 64, query_3, query); query_12 += query_11 * state */
            for (int64_t i_first = 0; i_first < i1 - i0; i_first += 8) {
                vec_any query_12_in[2], query_12_in_whole[2];
                UNROLL for (int64_t u = 0, i = i_first; u < 2; u++, i += 4) {
                    query_12_in[u] = (vec_any){0};
                    query_12_in_whole[u] = (vec_any){0};
                }
                for (int64_t f = 0; f < 128; f++) {
                    UNROLL for (int64_t u = 0, i = i_first; u < 2; u++, i += 4) {
                        const vec_any query_11_new23 = (f < 64) ? load_any(query_3 + min(f,
                            63) * 32 + i) : load_any(query + max(f - 64, 0) * 32 + i);
                        store_any(query_11 + f * 32 + i, query_11_new23);
                        query_12_in[u] += query_11_new23 * (state[(chunk - chunk0) * 8336 + f]);
                        if (f % 32 == 31) {
                            query_12_in_whole[u] += query_12_in[u];
                            query_12_in[u] = (vec_any){0};
                        }
                    }
                }
                UNROLL for (int64_t u = 0, i = i_first; u < 2; u++, i += 4) {
                    query_12_in[u] += query_12_in_whole[u];
                    store_any(query_12 + i, load_any(query_12 + i) + query_12_in[u]);
                }
            }
            /* row_sum = 0.0f; row_sum_compensation = 0.0f */
            for (int64_t i = 0; i < i1 - i0; i += 4) {
                store_any(row_sum + i, splat_any(0.0f));
                store_any(row_sum_compensation + i, splat_any(0.0f));
            }
            /* query_13[e][i] = sum over f of state_2 * query_11 */
            dot7_any(round_up(i1 - i0, 8), state_2 + (chunk - chunk0) * 8336, query_11, query_13);
            /* sum = 0.0f; sum_compensation = 0.0f */
            for (int64_t i_first = 0; i_first < i1 - i0; i_first += 8) {
                for (int64_t e = 0; e < 64; e++) {
                    UNROLL for (int64_t u = 0, i = i_first; u < 2; u++, i += 4) {
                        store_any(sum + e * 32 + i, splat_any(0.0f));
                        store_any(sum_compensation + e * 32 + i, splat_any(0.0f));
                    }
                }
            }
            for (int64_t j0 = max(0, chunk * 32), j_end = min(n_k, i1 + n_k - n_q); j0 < j_end; j0 += 32) {
                const int64_t j1 = min(j0 + 32, j_end);
                /* k_tile_2 = k, with zeros beyond the last row */
                transpose_any(k + j0 * k_row, k_row, j1 - j0, 64, k_tile_2, 32);
                for (int64_t j = j1 - j0; j < round_up(j1 - j0, 4); j++)
                    for (int64_t d = 0; d < 64; d++) k_tile_2[d * 32 + j] = 0;
                /* key_12[c][j] = sum over d of features_wk * k_tile_2 */
                dot5_any(round_up(j1 - j0, 8), features_wk, k_tile_2, key_12);
                /* key_13 = -INFINITY */
                for (int64_t j = 0; j < j1 - j0; j += 4) {
                    store_any(key_13 + j, splat_any(-INFINITY));
                }
                /* key_13 max= key_12 */
                for (int64_t j_first = 0; j_first < j1 - j0; j_first += 8) {
                    vec_any key_13_in[2][2];
                    UNROLL for (int64_t u = 0, j = j_first; u < 2; u++, j += 4) {
                        UNROLL for (int c_chain = 0; c_chain < 2; c_chain++) key_13_in[u][c_chain] =
                            splat_any(-INFINITY);
                    }
                    for (int64_t c_first = 0; c_first < 64; c_first += 2) {
                        UNROLL for (int c_chain = 0; c_chain < 2; c_chain++) {
                            const int64_t c = min(c_first + c_chain, 64 - 1);
                            UNROLL for (int64_t u = 0, j = j_first; u < 2; u++, j += 4) {
                                key_13_in[u][c_chain] = max_any(key_13_in[u][c_chain], load_any(key_12 + c * 32 + j));
                            }
                        }
                    }
                    UNROLL for (int64_t u = 0, j = j_first; u < 2; u++, j += 4) {
                        store_any(key_13 + j, max_any(load_any(key_13 + j), max_any(key_13_in[u][0], key_13_in[u][1])));
                    }
                }
                /* key_15 = 0.0f */
                for (int64_t j = 0; j < j1 - j0; j += 4) {
                    store_any(key_15 + j, splat_any(0.0f));
                }
                /* key_14 = exp(key_12 - key_13); key_15 += key_14 */
                for (int64_t j = 0; j < j1 - j0; j += 4) {
                    const vec_any key_13_24 = load_any(key_13 + j);
                    vec_any key_15_in = (vec_any){0};
                    for (int64_t c = 0; c < 64; c++) {
                        const vec_any key_14_new25 = exp_any(load_any(key_12 + c * 32 + j) - key_13_24);
                        store_any(key_14 + c * 32 + j, key_14_new25);
                        key_15_in += key_14_new25;
                    }
                    store_any(key_15 + j, load_any(key_15 + j) + key_15_in);
                }
                /* key_18 = -INFINITY */
                for (int64_t j = 0; j < j1 - j0; j += 4) {
                    store_any(key_18 + j, splat_any(-INFINITY));
                }
                /* key_14 = key_14 / key_15; key_12 = neg(key_12); key_18 max= key_12 */
                for (int64_t j = 0; j < j1 - j0; j += 4) {
                    const vec_any key_15_26 = load_any(key_15 + j);
                    vec_any key_18_in = load_any(key_18 + j);
                    for (int64_t c = 0; c < 64; c++) {
                        store_any(key_14 + c * 32 + j, load_any(key_14 + c * 32 + j) / key_15_26);
                        const vec_any key_12_27 = load_any(key_12 + c * 32 + j);
                        const vec_any key_12_new28 = -key_12_27;
                        store_any(key_12 + c * 32 + j, key_12_new28);
                        key_18_in = max_any(key_18_in, key_12_new28);
                    }
                    store_any(key_18 + j, key_18_in);
                }
                /* key_20 = 0.0f */
                for (int64_t j = 0; j < j1 - j0; j += 4) {
                    store_any(key_20 + j, splat_any(0.0f));
                }
                /* key_12 = exp(key_12 - key_18); key_20 += key_12 */
                for (int64_t j = 0; j < j1 - j0; j += 4) {
                    const vec_any key_18_30 = load_any(key_18 + j);
                    vec_any key_20_in = (vec_any){0};
                    for (int64_t c = 0; c < 64; c++) {
                        const vec_any key_12_29 = load_any(key_12 + c * 32 + j);
                        const vec_any key_12_new31 = exp_any(key_12_29 - key_18_30);
                        store_any(key_12 + c * 32 + j, key_12_new31);
                        key_20_in += key_12_new31;
                    }
                    store_any(key_20 + j, load_any(key_20 + j) + key_20_in);
                }
                /* key_12 = key_12 / key_20 */
                for (int64_t j = 0; j < j1 - j0; j += 4) {
                    const vec_any key_20_32 = load_any(key_20 + j);
                    for (int64_t c = 0; c < 64; c++) {
                        store_any(key_12 + c * 32 + j, load_any(key_12 + c * 32 + j) / key_20_32);
                    }
                }
                /* score[j][i] = sum over c of key_14 * query_3 */
                dot8_any(round_up(i1 - i0, 8), j1 - j0, key_14, query_3, score);
                /* score_2[j][i] = sum over c of key_12 * query */
                dot8_any(round_up(i1 - i0, 8), j1 - j0, key_12, query, score_2);
                /* score = score + score_2 */
                for (int64_t i_first = 0; i_first < i1 - i0; i_first += 8) {
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        UNROLL for (int64_t u = 0, i = i_first; u < 2; u++, i += 4) {
                            store_any(score + j * 32 + i, load_any(score + j * 32 + i) + load_any(score_2 + j * 32 +
                                i));
                        }
                    }
                }
                if ((j0 < (((chunk + 1) - 1) * 32)) || ((i0 + n_k - n_q + 1) < j1)) { /* the tile is not wholly inside
                    the mask */
                    /* score = select((j <= (i + (n_k - n_q))) && ((chunk * 32) <= j), score, 0.0f) */
                    const int64_t t_33 = n_k - n_q;
                    for (int64_t i = 0; i < i1 - i0; i += 4) {
                        const ints_any t_34 = (i0 + i + lane_any) + t_33;
                        for (int64_t j = 0; j < j1 - j0; j++) {
                            store_any(score + j * 32 + i, pick_any(__builtin_convertvector(((j0 + j) <= t_34) &
                                (-(int64_t)((chunk * 32) <= (j0 + j))), mask_any), load_any(score + j * 32 + i),
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
                            row_sum_in[u] += load_any(score + j * 32 + i);
                        }
                    }
                    UNROLL for (int64_t u = 0, i = i_first; u < 2; u++, i += 4) {
                        add_any(row_sum + i, row_sum_compensation + i, row_sum_in[u], splat_any(1));
                    }
                }
                /* sum[e][i] += sum over j of v * score */
                if (__builtin_expect(((j0 < (((chunk + 1) - 1) * 32)) || ((i0 + n_k - n_q + 1) < j1)) && !finite_any(v +
                    j0 * v_row, v_row, j1 - j0, 64), 0)) { /* infinity and NaN reach only what sees them */
                    dot9_any(round_up(i1 - i0, 8), j1 - j0, v + j0 * v_row, v_row, score, sum, sum_compensation);
                    for (int64_t j = 0; j < j1 - j0; j++) {
                        mask_any seen[8];
                        if (finite_any(v + j0 * v_row + j * v_row, 1, 64, 1)) continue;
                        const int64_t t_35 = n_k - n_q;
                        const int t_36 = (chunk * 32) <= (j0 + j);
                        for (int64_t i = 0; i < i1 - i0; i += 4) {
                            seen[i / 4] = __builtin_convertvector(((j0 + j) <= ((i0 + i + lane_any) + t_35)) &
                                (-(int64_t)t_36), mask_any);
                        }
                        add_seen_any(64, sum, 32, v + j0 * v_row + j * v_row, 1, score + j * 32, seen, i1 - i0);
                    }
                } else
                    dot10_any(round_up(i1 - i0, 8), j1 - j0, v + j0 * v_row, v_row, score, sum, sum_compensation);
            }
            /* sum = select((row_sum + query_12) == 0.0f, 0.0f, (sum + query_13) / (row_sum + query_12)) */
            for (int64_t i = 0; i < i1 - i0; i += 4) {
                const vec_any t_37 = load_any(row_sum + i) + load_any(query_12 + i);
                const mask_any t_38 = t_37 == 0.0f;
                for (int64_t e = 0; e < 64; e++) {
                    store_any(sum + e * 32 + i, pick_any(t_38, splat_any(0.0f),
                        (load_any(sum + e * 32 + i) + load_any(query_13 + e * 32 + i)) / t_37));
                }
            }
            /* out = sum, transposed back */
            transpose_any(sum, 32, 64, i1 - i0, out + m * out_head + i0 * out_row, out_row);
        }
    }
}

/* All of a head: every thread whose part this is calls it. */
static void hedgehog_linear_any(const struct call *call, int64_t task, struct part *part)
{
    const int64_t n_k = call->p.n_k;
    const int64_t chunks = n_k > 0 ? (n_k - 1) / 32 + 1 : 1;
    for (int64_t turn = part->number; turn < ((128 + 31) / 32); turn += part->threads) hedgehog_begin_any(call, task,
        part, turn);
    meet(part);
    const int64_t first = 0;
    const int64_t length = segment_length(part, chunks - first);
    for (int64_t segment = part->number; first + segment * length < chunks; segment += part->threads) {
        part->chunk0 = first + segment * length;
        part->chunk1 = min(part->chunk0 + length, chunks);
        for (int64_t turn = part->chunk0; turn < part->chunk1; turn++) hedgehog_keys_any(call, task, part, turn);
        for (int64_t group = 0; group < 16; group++) {
            await_segment(part, group, segment);
            for (int64_t turn = group * ((128 + 31) / 32) / 16; turn < (group + 1) * ((128 + 31) / 32) / 16; turn++)
                hedgehog_fold_any(call, task, part, turn);
            pass_segment(part, group, segment);
        }
        for (int64_t turn = part->chunk0; turn < part->chunk1; turn++) hedgehog_queries_any(call, task, part, turn);
    }
    part->segments += (max(chunks - first, 0) + length - 1) / length;
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
static struct version version(int64_t n_k)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl")) {
        if (n_k >= 253) return (struct version){.head = hedgehog_linear_v4, .tile = 0, .own = 61952, .shared = 66560,
            .slot = 33344, .slots = 4, .together = 1};
        return (struct version){.rows = hedgehog_rows_v4, .tile = 256, .own = 342272};
    }
#endif
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
        if (n_k >= 253) return (struct version){.head = hedgehog_linear_v3, .tile = 0, .own = 61952, .shared = 66560,
            .slot = 33344, .slots = 4, .together = 1};
        return (struct version){.rows = hedgehog_rows_v3, .tile = 256, .own = 327808};
    }
#endif
    if (n_k >= 253) return (struct version){.head = hedgehog_linear_any, .tile = 0, .own = 61952, .shared = 66560,
        .slot = 33344, .slots = 4, .together = 1};
    return (struct version){.rows = hedgehog_rows_any, .tile = 128, .own = 195712};
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

size_t hedgehog_params_size(void)
{
    return 0;
}

int hedgehog_params_init(struct hedgehog_params *params, uint64_t seed, void *storage)
{
    (void)seed;
    (void)storage;
    if (!params) return ATTN_EPOINTER;
    *params = (struct hedgehog_params){0};
    return 0;
}

/* The most of all that runs for n_k keys or fewer, however many queries there are. */
static size_t max_bytes_a_thread(int64_t n_k)
{
    static const int64_t from[] = {0, 253};
    size_t bytes = 0;
    for (size_t k = 0; k < sizeof from / sizeof *from; k++) {
        const struct version v = version(from[k]);
        if ((k == 0 || from[k] <= n_k) && bytes_a_thread(&v) > bytes) bytes = bytes_a_thread(&v);
    }
    return bytes;
}

size_t hedgehog_workspace(const struct attn_problem *problem)
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

int hedgehog_forward(const struct attn_problem *problem, const struct hedgehog_params *params, const float *q,
    const float *k, const float *v,
    float *out, void *workspace)
{
    if (!problem) return ATTN_EPOINTER;
    struct call call = {.params = params, .q = q, .k = k, .v = v, .out = out};
    const int error = attn_problem_check(problem, 64, 64, &call.p);
    if (error) return error;
    if (call.p.batch == 0 || call.p.heads == 0 || call.p.n_q == 0) return 0;
    if (!q || !out || !workspace || (call.p.n_k > 0 && (!k || !v))) return ATTN_EPOINTER;
    if (!params || !params->features_wq || !params->features_wk) return ATTN_EPARAM;
    if ((uintptr_t)workspace % 64) return ATTN_EALIGN;
    const struct version this = version(call.p.n_k);
    if (!runs(&this)) return ATTN_EMACHINE;
    const size_t given = problem->workspace_bytes, bytes = bytes_a_thread(&this);
    const size_t max_bytes = max_bytes_a_thread(call.p.n_k);
    const int threads = thread_count(problem, given, max_bytes);
    if (given && given < max_bytes * (size_t)threads) return ATTN_EWORKSPACE;
    return run(&call, &this, threads, (unsigned char *)workspace, bytes);
}

static const struct attn_param param[] = {
    {"features.wq", ATTN_F32, 3, {ATTN_HEADS, 64, 64}, offsetof(struct hedgehog_params, features_wq), 0},
    {"features.wk", ATTN_F32, 3, {ATTN_KV_HEADS, 64, 64}, offsetof(struct hedgehog_params, features_wk), 0},
};

static int params_init_any(void *params, uint64_t seed, void *storage)
{
    return hedgehog_params_init((struct hedgehog_params *)params, seed, storage);
}

static int forward_any(const struct attn_problem *problem, const void *params, const void *q, const void *k,
    const void *v, void *out, void *workspace)
{
    return hedgehog_forward(problem, (const struct hedgehog_params *)params, (const float *)q, (const float *)k,
        (const float *)v, (float *)out, workspace);
}


const struct attn_kernel hedgehog_kernel = {
    .name = "hedgehog", .version = "0.1.0", .dtype = ATTN_F32, .head_dim = 64, .value_dim = 64,
    .params = 2, .param = param, .params_bytes = sizeof(struct hedgehog_params),
    .params_size = hedgehog_params_size, .params_init = params_init_any, .workspace = hedgehog_workspace,
    .forward = forward_any,
};
